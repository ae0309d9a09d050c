"""Plots as every chapter draws them, in the house's colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
