"""Pictures of a small matrix beside the one that was expected."""

from __future__ import annotations

import sys

import torch
from matplotlib.patches import Rectangle

from course_utils.learner.drawings import (
    DOTS_PER_INCH,
    EMPTY,
    FAINT,
    INK,
    LINES,
    TINTS,
    WIDTH_INCHES,
    Drawing,
    text_of,
    words_only,
)

# What is still readable, cell by cell.
MOST_LINES = 12


def draw_difference(actual: torch.Tensor, expected: torch.Tensor, what: str) -> Drawing | None:
    """Draw a small matrix beside the one that was expected, and mark where they differ.

    Args:
        actual: the learner's matrix.
        expected: the right one.
        what: what was asked.

    Returns:
        The figure; None where the two are no matrices of real numbers with at most 12 rows and
        columns.
    """
    pair = [tensor.detach().cpu() for tensor in (actual, expected)]
    for tensor in pair:
        small = tensor.dim() == 2 and min(tensor.shape) > 0 and max(tensor.shape) <= MOST_LINES
        if not small or tensor.is_complex():
            return None
    same_shape = pair[0].shape == pair[1].shape
    if same_shape:
        # What looks alike in the picture is alike.
        wrong = torch.tensor(
            [
                [text_of(a) != text_of(b) for a, b in zip(*rows, strict=True)]
                for rows in zip(*(t.tolist() for t in pair), strict=True)
            ]
        )
    else:
        wrong = torch.zeros(pair[0].shape, dtype=torch.bool)
    lines, columns = max(t.shape[0] for t in pair), sum(t.shape[1] for t in pair) + 1
    side = min(0.6, (WIDTH_INCHES - 0.2) / columns)
    figure = Drawing(figsize=(side * columns, side * lines + 0.35), dpi=DOTS_PER_INCH)
    places = ", ".join(str(tuple(place)) for place in wrong.nonzero().tolist())
    figure.alt = f"{what}: the answer {pair[0].tolist()} beside the expected {pair[1].tolist()}."
    where = f"They differ at {places or 'none that three digits show'}."
    figure.alt += f" {where}" if same_shape else " Their shapes differ."
    if words_only():
        return figure
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.1, columns - 0.9)
    axes.set_ylim(-lines - 0.1, 0.35 / side)
    left = 0
    for title, tensor in zip(("your answer", "expected"), pair, strict=True):
        for (row, column), value in _cells(tensor):
            bad = same_shape and bool(wrong[row, column])
            axes.add_patch(
                Rectangle(
                    (left + column, -row - 1), 1, 1, facecolor=TINTS[5] if bad else EMPTY,
                    edgecolor=LINES[5] if bad else FAINT, linewidth=2.2 if bad else 0.8,
                    zorder=2 if bad else 1,
                )
            )  # fmt: skip
            text = text_of(value)
            axes.text(
                left + column + 0.5, -row - 0.5, text, ha="center", va="center", color=INK,
                fontsize=72 * side * min(0.3, 1.2 / len(text)), zorder=3,
                weight="bold" if bad else "normal",
            )  # fmt: skip
        axes.text(left, 0.15, title, ha="left", va="bottom", color=INK, fontsize=9.5)
        left += tensor.shape[1] + 1
    return figure


def _cells(matrix: torch.Tensor) -> list[tuple[tuple[int, int], float | int | bool]]:
    """Each element of a matrix behind its row and column."""
    return [
        ((row, column), value)
        for row, values in enumerate(matrix.tolist())
        for column, value in enumerate(values)
    ]


def show_difference(actual: torch.Tensor, expected: torch.Tensor, what: str) -> None:
    """Show :func:`draw_difference` in a notebook that somebody looks at; elsewhere do nothing."""
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None or words_only():
        return
    figure = draw_difference(actual, expected, what)
    if figure is not None:
        ipython.display.display(figure)
