"""Pictures of attention: what flows where, and vectors that turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch

from course_utils.learner.drawings import show

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#b35c00", "#00805c", "#444444"


def _matrix(axes: Any, values: torch.Tensor, left: float, top: float, colour: str) -> None:
    """Draw a matrix as cells with their numbers, the upper left corner at ``(left, top)``."""
    for i, row in enumerate(values.tolist()):
        for j, value in enumerate(row):
            style: dict = {"facecolor": "white", "edgecolor": colour, "linewidth": 1.2}
            axes.add_patch(plt.Rectangle((left + j, top - i - 1), 1, 1, **style))
            words = "−∞" if value == -torch.inf else f"{value:.2g}".replace("-", "−")
            middle = left + j + 0.5, top - i - 0.5
            axes.text(*middle, words, ha="center", va="center", fontsize=9, color=colour)


def draw_attention_flow(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, words: Sequence[str]
) -> None:
    """Causal attention of three words, matrix by matrix, each with its numbers.

    Args:
        q: the queries, (3, 2).
        k: the keys, (3, 2).
        v: the values, (3, 2).
        words: a name for each of the three.
    """
    scores = q @ k.t() / q.shape[-1] ** 0.5
    masked = scores.masked_fill(torch.ones(3, 3).triu(1).bool(), -torch.inf)
    weights = masked.softmax(-1)
    figure, axes = plt.subplots(figsize=(10, 4.6), layout="constrained")
    axes.set(xlim=(-1.6, 18.6), ylim=(-5.4, 4.4), aspect="equal")
    axes.set_axis_off()
    upper = (
        ("q: looks for", q, 0, BLUE),
        ("kᵀ: offers", k.t(), 3.4, ORANGE),
        ("scores q kᵀ / √2", scores, 8.2, GREY),
        ("after the causal mask", masked, 13.6, GREY),
    )
    lower = (
        ("weights: rows sum to 1", weights, 3.4, GREY),
        ("v: hands over", v, 8.2, GREEN),
        ("answers", weights @ v, 13.6, GREEN),
    )
    for row, top in ((upper, 3.3), (lower, -1.9)):
        for title, values, left, colour in row:
            _matrix(axes, values, left, top, colour)
            middle = left + values.shape[1] / 2
            axes.text(middle, top + 0.25, title, ha="center", fontsize=9, color=colour)
    for y, names in ((3.3, words), (-1.9, words)):
        left = -0.15 if y > 0 else 3.25
        for i, name in enumerate(names):
            axes.text(left, y - i - 0.5, name, ha="right", va="center", fontsize=9)
    for x, y, sign in ((2.7, 1.8, "@"), (7.3, 1.8, "="), (7.3, -3.4, "@"), (11.9, -3.4, "=")):
        axes.text(x, y, sign, ha="center", va="center", fontsize=13)
    style = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.4}
    axes.annotate("", (13.4, 1.8), (11.4, 1.8), arrowprops=style)
    axes.text(12.4, 2.0, "mask", ha="center", fontsize=9, color=GREY)
    axes.plot([15.1, 15.1, 0.7, 0.7], [0.1, -0.7, -0.7, -3.4], color=GREY, linewidth=1.4)
    axes.annotate("", (1.6, -3.4), (0.66, -3.4), arrowprops=style)
    axes.text(8.2, -0.6, "softmax along each row", ha="center", fontsize=9, color=GREY)
    alt = "Queries times keys give a 3 by 3 matrix of scores. The mask puts minus infinity above "
    alt += "the diagonal, softmax makes weights of each row, and weights times values are answers."
    show(figure, alt)


def draw_turning(turned: torch.Tensor, scores: torch.Tensor) -> None:
    """Two pairs of features at the first places, and scores of equal vectors by distance.

    Args:
        turned: the same vector at each place, turned, (places, 4).
        scores: of a query and a key with the same features, by their distance, (distances,).
    """
    figure, panels = plt.subplots(1, 3, figsize=(9.5, 2.9), layout="constrained")
    for panel, pair, title in zip(panels, (0, 1), ("first pair", "second pair"), strict=False):
        shades = plt.get_cmap("viridis")(torch.linspace(0, 0.85, len(turned)).numpy())
        for place, (x, y) in enumerate(turned[:, 2 * pair : 2 * pair + 2].tolist()):
            style = {"arrowstyle": "-|>", "color": shades[place], "linewidth": 1.6}
            panel.annotate("", (x, y), (0, 0), arrowprops=style)
            if pair == 0 or place in (0, len(turned) - 1):
                x, y = 1.2 * x, (1.2 if pair == 0 else 3) * y
                panel.text(x, y, place, ha="center", va="center", fontsize=9)
        panel.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), aspect="equal", title=title)
        panel.set(xticks=[], yticks=[])
    panels[2].plot(scores, color=BLUE)
    panels[2].set(xlabel="words between query and key", ylabel="score", title="64 features, all 1")
    alt = "Arrows at places 0 to 7: the first pair turns by a radian a place, the second hardly. "
    alt += "The score of two equal vectors falls with their distance, in waves."
    show(figure, alt)
