"""What the chapter on layers tries and draws with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

import course_utils
from course_utils.learner.drawings import LINES, show


def refused(call: Callable[[], Any]) -> str:
    """The name of the exception that ``call()`` raises, or ``"nothing"``."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"


def seeded(seed: int) -> Callable[..., torch.Tensor]:
    """A function from a shape to normally distributed numbers on ``device``, fixed by the seed."""
    generator = torch.Generator().manual_seed(seed)
    # The package's name, asked for at each call: a test may have changed it.
    return lambda *shape: torch.randn(*shape, generator=generator).to(course_utils.device)


def dry_run(layers: Sequence[Mapping[str, Any]], size: int) -> list[int] | str:
    """The sizes after each layer, along one dimension, as PyTorch's modules have them.

    Args:
        layers: mappings with ``kind`` (conv, pool or transposed), ``kernel`` and the options of
            ``nn.Conv1d``, ``nn.MaxPool1d`` or ``nn.ConvTranspose1d``.
        size: of the input.

    Returns:
        The sizes, or ``"ValueError"`` where a module refuses its input.
    """
    x, sizes = torch.empty(1, 1, size, device="meta"), []
    for layer in layers:
        options = {key: value for key, value in layer.items() if key not in ("kind", "kernel")}
        if layer["kind"] == "pool":
            module = nn.MaxPool1d(layer["kernel"], **options)
        else:
            kind = nn.Conv1d if layer["kind"] == "conv" else nn.ConvTranspose1d
            module = kind(1, 1, layer["kernel"], device="meta", **options)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # "same" with an even reach tells of a copy
                x = module(x)
        except RuntimeError:
            return "ValueError"
        sizes.append(x.shape[-1])
    return sizes


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
