"""The pictures of the chapter on internals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from course_utils import show
from course_utils.chapters.internals.dispatch import keys_of, table_of

ORANGE, BLUE, GREY, DARK = "#b04500", "#0072b2", "#e8e8e8", "#1a1a1a"


def _box(axes: Axes, x: float, y: float, text: str, colour: str, ink: str = DARK) -> None:
    axes.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        fontsize=8,
        color=ink,
        bbox={"boxstyle": "round,pad=0.4", "facecolor": colour, "edgecolor": "#555555"},
    )


def draw_paths(calls: Sequence[tuple], alt: str) -> None:
    """Each call as a column: its keys from above, filled where a kernel runs.

    Args:
        calls: for each call its title, the operator and the arguments.
        alt: what the picture shows, in words.
    """
    columns = [(title, keys_of(*values), table_of(op)) for title, op, *values in calls]
    figure, axes = plt.subplots(figsize=(9, 3.2))
    for x, (title, keys, table) in enumerate(columns):
        axes.text(x, 0.9, title, ha="center", fontsize=9, family="monospace")
        last = None
        for y, key in enumerate(keys):
            runs = table.get(key, ("fallthrough",))[0] != "fallthrough"
            _box(axes, x, -y, key, BLUE if runs else GREY, "white" if runs else "#777777")
            if runs:
                if last is not None:
                    arrow = {"arrowstyle": "-|>", "color": DARK, "connectionstyle": "arc3,rad=-0.5"}
                    axes.annotate("", (x + 0.3, -y + 0.1), (x + 0.3, -last - 0.1), arrowprops=arrow)
                last = y
    axes.set(xlim=(-0.6, len(columns) - 0.4), ylim=(-max(len(k) for _, k, _ in columns), 1.4))
    axes.axis("off")
    figure.tight_layout()
    show(figure, alt)


def draw_loops(rows: Sequence[tuple[str, Sequence[int]]], alt: str) -> None:
    """Loops before and after merging, as nested brackets: how often each level starts anew."""
    figure, axes = plt.subplots(figsize=(9, 0.9 + 0.75 * len(rows)))
    for y, (title, shape) in enumerate(rows):
        axes.text(-0.02, -y, title, ha="right", va="center", fontsize=9)
        total = 1
        for n in shape:
            total *= n
        inner = shape[-1] if shape else 1
        for start in range(0, total, inner):
            colour = BLUE if (start // inner) % 2 == 0 else ORANGE
            axes.barh(-y, inner - 0.12, left=start, height=0.5, color=colour)
    axes.set(xlabel="entry of the result", yticks=[], ylim=(-len(rows) + 0.4, 0.6))
    for side in ("left", "top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    show(figure, alt)


def draw_lattice(alt: str) -> None:
    """The joins of dtypes within a rank: an arrow leads to the next type that holds more."""
    places = {
        "bool": (0, 0),
        "uint8": (1, 0.7),
        "int8": (1, -0.7),
        "int16": (2, 0),
        "int32": (3, 0),
        "int64": (4, 0),
        "float16": (5.2, 0.7),
        "bfloat16": (5.2, -0.7),
        "float32": (6.4, 0),
        "float64": (7.4, 0),
    }
    chains = ["bool uint8 int16 int32 int64 float16 float32 float64"]
    chains += ["bool int8 int16", "int64 bfloat16 float32"]
    figure, axes = plt.subplots(figsize=(9, 1.9))
    for chain in chains:
        names = chain.split()
        for one, other in pairwise(names):
            arrow = {"arrowstyle": "-|>", "color": DARK, "shrinkA": 24, "shrinkB": 24}
            axes.annotate("", places[other], places[one], arrowprops=arrow)
    for name, (x, y) in places.items():
        colour = GREY if name == "bool" else BLUE if "float" in name else ORANGE
        _box(axes, x, y, name, colour, DARK if name == "bool" else "white")
    for x, category in ((0, "bool"), (2.5, "whole numbers"), (6.3, "floating point")):
        axes.text(x, 1.4, category, ha="center", fontsize=9)
    axes.set(xlim=(-0.5, 7.9), ylim=(-1.2, 1.7))
    axes.axis("off")
    figure.tight_layout()
    show(figure, alt)


def draw_rings(courses: dict, surfaces: dict, points, labels, alt: str) -> None:
    """The losses of several engines on one axis, and what each network learned beside it.

    Args:
        courses: for each engine its loss after each step.
        surfaces: for each engine the share of class 1 on a grid of 60 by 60 places.
        points: (n, 2) places; ``labels``: (n,) classes 0 and 1.
        alt: what the picture shows, in words.
    """
    figure, axes = plt.subplots(1, 1 + len(surfaces), figsize=(9, 3.1), layout="constrained")
    for (name, losses), style in zip(courses.items(), ("-", ":", "--"), strict=False):
        axes[0].plot(losses, style, label=name, linewidth=3 if style == "-" else 2)
    axes[0].set(xlabel="step", ylabel="loss", ylim=(0, None), title="The way down")
    axes[0].legend(fontsize=8)
    images = []
    for ax, (name, share) in zip(axes[1:], surfaces.items(), strict=True):
        extent = (-2.5, 2.5, -2.5, 2.5)
        options = {"extent": extent, "cmap": "cividis", "vmin": 0, "vmax": 1}
        images.append(ax.imshow(share, origin="lower", **options))
        for label, mark, colour in ((0, "o", "#fdf3b4"), (1, "^", DARK)):
            chosen = points[labels == label]
            ax.scatter(*chosen.T, s=8, marker=mark, c=colour, edgecolors=DARK, linewidths=0.3)
        ax.set(title=name, xlabel="x₀", ylabel="x₁" if ax is axes[1] else "")
    figure.colorbar(images[0], ax=axes[1:], label="share of class 1")
    show(figure, alt)
