"""Draw what an einsum does with its letters."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.patches import Rectangle

from course_utils.learner.drawings import DOTS_PER_INCH, INK, LINES, TINTS, Drawing, words_only

GAP = 1.6  # between two operands; a cell is one wide
UNIT = 0.44  # inches
RESULT, OPERANDS, KNOTS = 0.0, 2.6, 5.0  # heights of the three rows


def draw_einsum(
    equation: str, names: Sequence[str] | None = None, result: str = "result"
) -> Drawing:
    """Draw an einsum as boxes of letters: a line leads from each letter to what becomes of it.

    A letter that the result keeps leads down to its place there; one that it lacks leads up to a
    knot marked with the sign of a sum.

    Args:
        equation: with an arrow, as ``"ij,jk->ik"``; letters only, no ellipsis.
        names: what to call the operands; by default ``A``, ``B``, …
        result: what to call the result.

    Returns:
        The figure. In a notebook the last line of a cell shows it.

    Raises:
        ValueError: there is no arrow, the result has a letter that no operand has, or the names
            are too many or too few.
    """
    terms, arrow, kept = equation.replace(" ", "").partition("->")
    operands = terms.split(",")
    if not arrow:
        raise ValueError(f"{equation!r} has no arrow: write out which letters the result keeps")
    letters = list(dict.fromkeys(terms.replace(",", "")))
    if not set(kept) <= set(letters) or not all(map(str.isalpha, letters)):
        raise ValueError(f"{equation!r}: the result's letters must come from the operands")
    names = [chr(ord("A") + n) for n in range(len(operands))] if names is None else list(names)
    if len(names) != len(operands):
        raise ValueError(f"{len(names)} names for {len(operands)} operands: give one name to each")
    summed = [letter for letter in letters if letter not in kept]

    starts, width = [], 0.0
    for operand in operands:
        starts.append(width)
        width += max(len(operand), 1) + GAP
    own, width = width - GAP, max(width - GAP, len(kept), 3.0)
    starts = [start + (width - own) / 2 for start in starts]
    places = [
        (letter, start + n + 0.5)
        for operand, start in zip(operands, starts, strict=True)
        for n, letter in enumerate(operand)
    ]
    first = (width - len(kept)) / 2
    ends = {letter: first + n + 0.5 for n, letter in enumerate(kept)}
    knots = {letter: _middle([x for one, x in places if one == letter]) for letter in summed}

    height = (KNOTS + 0.6 if summed else OPERANDS + 1.8) + 0.7
    figure = Drawing(figsize=((width + 1.0) * UNIT, height * UNIT), dpi=DOTS_PER_INCH)
    figure.alt = (
        f"The einsum {equation} of {', '.join(names)}. "
        f"Kept: {', '.join(kept) or 'none'}. Summed over: {', '.join(summed) or 'none'}."
    )
    if words_only():
        return figure
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.5, width + 0.5)
    axes.set_ylim(-0.7, height - 0.7)
    style = {
        letter: (LINES[n % len(LINES)], TINTS[n % len(TINTS)]) for n, letter in enumerate(letters)
    }
    for letter, x in places:
        colour = style[letter][0]
        if letter in ends:
            axes.plot([x, ends[letter]], [OPERANDS, RESULT + 1], color=colour, linewidth=2)
        else:
            axes.plot([x, knots[letter]], [OPERANDS + 1, KNOTS], color=colour, linewidth=2)
    for letter, x in knots.items():
        colour = style[letter][0]
        axes.plot([x], [KNOTS], marker="o", markersize=19, color=colour)
        axes.text(x, KNOTS, "Σ", color="white", ha="center", va="center", fontsize=11)
    for operand, start, name in zip(operands, starts, names, strict=True):
        _box(axes, start, OPERANDS, operand, style)
        side = start - 0.12
        axes.text(side, OPERANDS + 0.5, name, ha="right", va="center", fontsize=11, color=INK)
    _box(axes, first, RESULT, kept, style)
    axes.text(
        width / 2, RESULT - 0.38, f"{result}: one number" if not kept else result,
        ha="center", va="center", fontsize=10.5, color=INK,
    )  # fmt: skip
    return figure


def _middle(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def _box(axes, start: float, bottom: float, letters: str, style: dict) -> None:
    """A tensor: one cell for each letter; with no letter, one empty cell."""
    if not letters:
        cell = (start - 0.35, bottom + 0.15), 0.7, 0.7
        axes.add_patch(Rectangle(*cell, facecolor="white", edgecolor=INK, linewidth=1.2))
    for n, letter in enumerate(letters):
        line, tint = style[letter]
        axes.add_patch(
            Rectangle((start + n, bottom), 1, 1, facecolor=tint, edgecolor=line, linewidth=1.2)
        )
        axes.text(
            start + n + 0.5, bottom + 0.46, letter,
            ha="center", va="center", fontsize=13, color=INK,
        )  # fmt: skip
