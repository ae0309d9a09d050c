"""Plots as every chapter draws them, in the house's colours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from course_utils.learner.drawings import LINES, show


def draw_curves(
    x: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    title: str,
    labels: tuple[str, str],
    alt: str,
) -> None:
    """Draw curves over a common axis, with a legend, and show them.

    Args:
        x: where the values lie.
        curves: label and values of each curve.
        title: the picture's title.
        labels: of the two axes.
        alt: what the picture shows, in words.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.5, 2.8))
    for (label, values), colour, line in zip(curves.items(), LINES, ("-", "--", ":"), strict=False):
        axes.plot(x, values, line, color=colour, marker="o" if len(x) < 12 else None, label=label)
    axes.set(xlabel=labels[0], ylabel=labels[1], title=title, ylim=(0, None))
    axes.legend(fontsize=8)
    show(figure, alt)


def panels_of(number: int, height: float = 2.8, width: float = 9, **options: Any) -> tuple:
    """A figure and its axes, side by side.

    Args:
        number: how many axes; one is returned by itself, several as an array.
        height: of the figure, in inches.
        width: likewise.
        options: as ``plt.subplots`` takes them.
    """
    import matplotlib.pyplot as plt

    return plt.subplots(1, number, figsize=(width, height), layout="constrained", **options)


def draw_lines(axes: Any, lines: Mapping, x: Any = None, style: str = "-", **labels: Any) -> None:
    """Draw a line for each name, over its steps or over x, in the house's colours.

    Args:
        axes: where to draw.
        lines: values of each name.
        x: where the values lie; by default 0, 1, 2, …
        style: matplotlib's, such as ``"-"`` or ``"o--"``.
        labels: what ``axes.set`` takes: ``title``, ``xlabel``, ``yscale``, …
    """
    for (name, line), colour in zip(lines.items(), LINES, strict=False):
        axes.plot(range(len(line)) if x is None else x, line, style, color=colour, label=name)
    axes.set(**labels)


def draw_paths(
    axes: Any,
    paths: Mapping[str, torch.Tensor],
    box: tuple[float, float, float, float],
    loss: Callable,
    **labels: Any,
) -> None:
    """Draw contours of a loss of two numbers, and on them a path for each name.

    Args:
        axes: where to draw.
        paths: the points of each name, of shape (steps, 2).
        box: left, right, lowest and highest of what is shown.
        loss: of a tensor of shape (2, …), of which it gives the losses; they are at least 0.
        labels: what ``axes.set`` takes.
    """
    x, y = torch.linspace(box[0], box[1], 150), torch.linspace(box[2], box[3], 150)
    height = loss(torch.stack(torch.meshgrid(x, y, indexing="xy")))
    axes.contour(x, y, height.sqrt(), levels=14, colors="#b5b5b5", linewidths=0.7)
    for (name, path), colour in zip(paths.items(), LINES, strict=False):
        axes.plot(*path.T, ".-", color=colour, linewidth=1.3, markersize=5, label=name)
    axes.set(xlim=box[:2], ylim=box[2:], **labels)
