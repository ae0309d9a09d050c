"""The pictures of the chapter on numerics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from course_utils.learner.drawings import show

RED, BLUE, GREEN, GREY = "#b04500", "#0072b2", "#00805c", "#6b6b6b"


def draw_gaps(digits: Mapping[str, int], marked: tuple[str, float, float], alt: str) -> None:
    """The gap from a number to the next one, for dtypes with so many binary digits each."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3))
    size = torch.logspace(-2, 9, 2000, dtype=torch.float64)
    for (name, p), colour in zip(digits.items(), (GREEN, RED, BLUE), strict=True):
        fits = size < (65504 if "float16" in name and "b" not in name else torch.inf)
        gap = 2.0 ** (size.log2().floor() + 1 - p)
        axes.loglog(size[fits], gap[fits], color=colour, label=name)
    axes.axhline(1, color=GREY, linewidth=1, linestyle="--")
    name, x, y = marked
    axes.plot(x, y, "o", color="#1a1a1a")
    axes.annotate(name, (x, y), (x / 100, y * 1e-6), arrowprops={"arrowstyle": "-"})
    axes.set(xlabel="a number", ylabel="gap to the next one", title="The marks on three rulers")
    axes.legend()
    show(figure, alt)


def draw_window(scores: torch.Tensor, alt: str) -> None:
    """Scores, and the same minus the largest, beside the numbers whose power of e is a float32."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 1.9))
    axes.axvspan(-104, 88.7, color="#bfe0f5")
    for place, words in ((-8, "eˣ is a float32"), (-210, "eˣ is 0"), (205, "eˣ is ∞")):
        axes.text(place, 0.5, words, ha="center", va="center", color="#1a1a1a")
    axes.plot(scores, torch.ones(len(scores)), "o", color=RED, markersize=8)
    axes.plot(scores - scores.max(), torch.zeros(len(scores)), "o", color=BLUE, markersize=8)
    axes.set(xlim=(-260, 340), ylim=(-0.4, 1.4), xlabel="x")
    axes.set_yticks([0, 1], ["minus the largest", "the scores"])
    ticks = [-200, -104, 0, 88.7, 200, 300]
    axes.set_xticks(ticks, [f"{tick:g}".replace("-", "−") for tick in ticks])
    show(figure, alt)


def draw_bands(*matrices: torch.Tensor, alt: str) -> None:
    """For each 2 × 2 matrix, where each of its equations holds up to a rounding of b."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(matrices), figsize=(3.7 * len(matrices), 3), sharey=True)
    side = torch.linspace(-2, 2, 301)
    grid = torch.stack(torch.meshgrid(side, side, indexing="xy"), dim=-1)  # (y, x, 2)
    for panel, a in zip(panels, matrices, strict=True):
        near = ((grid @ a.T).abs() < 0.15).sum(-1)
        panel.imshow(near, extent=(-2, 2, -2, 2), origin="lower", cmap="Blues", vmax=2.4)
        panel.set(xlabel="first unknown", title=f"condition number {torch.linalg.cond(a):.0f}")
    panels[0].set_ylabel("second unknown")
    show(figure, alt)


def draw_errors(
    conditions: Sequence[float],
    errors: Mapping[str, Sequence[float]],
    rules: Mapping[str, torch.Tensor],
    alt: str,
) -> None:
    """Errors over condition numbers, with the rules of thumb as dashed lines."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.1))
    marks = (("o-", RED), ("s-", BLUE), ("^:", GREEN))
    for (name, values), (mark, colour) in zip(errors.items(), marks, strict=True):
        axes.loglog(conditions, values, mark, color=colour, markersize=4, label=name)
    for (name, values), (_, colour) in zip(rules.items(), marks, strict=False):
        axes.loglog(conditions, values, "--", color=colour, label=name)
    axes.set(ylim=(1e-8, 10), xlabel="condition number of A", ylabel="error")
    axes.set_title("Least squares in float32")
    axes.legend(fontsize=8.5)
    show(figure, alt)


def draw_guesses(
    along: torch.Tensor,
    across: torch.Tensor,
    row: torch.Tensor,
    guesses: Mapping[str, torch.Tensor],
    alt: str,
) -> None:
    """A map for each way of guessing a plant's row, with a ring around each wrong guess."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(len(guesses), 1, figsize=(7.6, 4.8), sharex=True)
    for panel, (name, guess) in zip(panels, guesses.items(), strict=True):
        wrong = guess != row
        panel.scatter(along, across, c=row, cmap="viridis", s=12)
        panel.scatter(along[wrong], across[wrong], s=45, facecolors="none", edgecolors="#d00000")
        panel.set(title=f"{name}: {(~wrong).float().mean():.0%} right", ylabel="metres")
    panels[-1].set_xlabel("metres along the valley; a ring marks a plant in the wrong row")
    figure.tight_layout()
    show(figure, alt)
