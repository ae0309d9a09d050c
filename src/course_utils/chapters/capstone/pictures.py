"""The chapter's pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn as nn
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from course_utils.learner.drawings import INK, LINES, TINTS

CLASSES = ("circle", "square", "triangle")
PLACES = {
    "targets": (0, 2), "folder": (1, 2), "model": (2, 2), "losses": (3, 2), "train": (4, 2),
    "export": (5, 2), "config": (3, 1), "evaluate": (4, 1), "grid": (5, 1), "predict": (6, 1),
    "service": (6, 0), "server": (5, 0),
}  # fmt: skip
ARROWS = (
    ("targets", "folder"), ("folder", "model"), ("model", "losses"), ("losses", "train"),
    ("config", "train"), ("train", "export"), ("export", "grid"), ("grid", "evaluate"),
    ("grid", "predict"), ("predict", "service"), ("service", "server"),
)  # fmt: skip
YOURS = ("config", "targets", "model", "losses", "train", "evaluate", "predict", "service")


def draw_modules() -> Figure:
    """The project's modules, and who uses whose work; those that are exercises are tinted."""
    figure, axis = plt.subplots(figsize=(8.6, 2.8), layout="constrained")
    patches = {}
    for name, (x, y) in PLACES.items():
        face = TINTS[0] if name in YOURS else "white"
        patches[name] = FancyBboxPatch(
            (x - 0.36, y - 0.2), 0.72, 0.4, boxstyle="round,pad=0.03", facecolor=face, edgecolor=INK
        )
        axis.add_patch(patches[name])
        axis.text(x, y, name, ha="center", va="center", fontsize=10)
    for start, end in ARROWS:
        arrow = {"arrowstyle": "-|>", "color": INK, "shrinkA": 2, "shrinkB": 2,
                 "patchA": patches[start], "patchB": patches[end]}  # fmt: skip
        axis.annotate("", PLACES[end], PLACES[start], arrowprops=arrow)
    axis.set(xlim=(-0.5, 6.5), ylim=(-0.4, 2.4))
    axis.axis("off")
    return figure


def draw_boxes(axis: Any, image: np.ndarray | None, boxes: Any, style: str = "-") -> None:
    """An image, if there is one, and boxes (label, left, top, right, bottom) in its pixels."""
    if image is not None:
        axis.imshow(image)
    for label, left, top, right, bottom in boxes:
        edge = Rectangle(
            (left - 0.5, top - 0.5), right - left, bottom - top, fill=False, linewidth=1.8,
            linestyle=style, edgecolor=("#ffffff", "#ffe14d", "#7dffef")[int(label)],
        )  # fmt: skip
        axis.add_patch(edge)
    axis.set(xticks=[], yticks=[])


def draw_cells(pictures: Sequence, targets: Sequence[torch.Tensor]) -> Figure:
    """Drawn pictures with their boxes, the grid, and the cells that hold a centre."""
    figure, axes = plt.subplots(1, len(pictures), figsize=(8.6, 3.0), layout="constrained")
    for axis, picture, target in zip(axes, pictures, targets, strict=True):
        height, width = picture.mask.shape
        boxes = np.concatenate([picture.labels[:, None], picture.boxes], 1)
        draw_boxes(axis, picture.image, boxes)
        cells = target.shape[-1]
        for k in range(1, cells):
            axis.axhline(k * height / cells - 0.5, color="white", linewidth=0.5, alpha=0.6)
            axis.axvline(k * width / cells - 0.5, color="white", linewidth=0.5, alpha=0.6)
        for row, column in (target[0] == 1).nonzero().tolist():
            corner = column * width / cells - 0.5, row * height / cells - 0.5
            axis.add_patch(Rectangle(corner, width / cells, height / cells, color="#ffffff88"))
        axis.set_title(f"{height} high, {width} wide", fontsize=10)
    return figure


def sight_of(layers: nn.Sequential, side: int = 128) -> np.ndarray:
    """Which pixels the middle number of a stack of layers depends on: (side, side), bool."""
    x = torch.randn(1, 3, side, side, generator=torch.Generator().manual_seed(0))
    x.requires_grad_()
    y = layers(x)
    y[0, :, y.shape[2] // 2, y.shape[3] // 2].square().sum().backward()
    assert x.grad is not None
    return (x.grad[0].abs().sum(0) > 0).numpy()


def draw_sight(stacks: Mapping[str, nn.Sequential]) -> Figure:
    """For each stack: the pixels that one cell sees, and a large shape of 32 pixels for scale."""
    figure, axes = plt.subplots(1, len(stacks), figsize=(8.6, 2.9), layout="constrained")
    for axis, (name, layers) in zip(axes, stacks.items(), strict=True):
        seen = sight_of(layers)
        axis.imshow(np.where(seen, 0.75, 1.0), cmap="gray", vmin=0, vmax=1)
        rows = np.flatnonzero(seen.any(1))
        axis.add_patch(Rectangle((64, 64), 7, 7, facecolor=LINES[0]))
        axis.add_patch(plt.Circle((67, 67), 16, fill=False, edgecolor=LINES[5], linewidth=1.8))
        axis.set(xticks=[], yticks=[], xlim=(20, 114), ylim=(114, 20))
        axis.set_title(f"{name}: {rows[-1] - rows[0] + 1} pixels", fontsize=10)
    return figure


def draw_pulls(shares: Mapping[str, tuple[float, float]]) -> Figure:
    """For each prior: how hard empty cells and cells with an object pull at the object number."""
    figure, axis = plt.subplots(figsize=(6.4, 2.2), layout="constrained")
    names, (empty, full) = list(shares), zip(*shares.values(), strict=True)
    axis.barh(names, empty, color=TINTS[0], edgecolor=LINES[0], label="empty cells")
    axis.barh(names, full, left=empty, color=TINTS[5], edgecolor=LINES[5], label="objects")
    axis.invert_yaxis()
    axis.set(xlabel="sum of the gradients' absolute values")
    axis.legend(frameon=False, loc="lower right")
    return figure


def draw_run(rows: Sequence[Mapping], kept: int) -> Figure:
    """The losses of a run by step, and where it was stopped."""
    figure, axis = plt.subplots(figsize=(7.4, 2.7), layout="constrained")
    steps = [row["step"] for row in rows]
    for part, name in enumerate(("object", "class", "box")):
        axis.plot(steps, [row["loss"][part] for row in rows], color=LINES[part], label=name,
                  linewidth=1.1)  # fmt: skip
    axis.axvline(kept + 0.5, color=INK, linestyle="--", linewidth=1)
    axis.text(kept + 2, axis.get_ylim()[1] * 0.9, "SIGTERM", fontsize=9)
    axis.set(xlabel="step", ylabel="loss on rank 0's half")
    axis.legend(frameon=False)
    return figure


def draw_found(images: Sequence, true: Sequence, found: Sequence) -> Figure:
    """Photographs with true boxes dashed and found boxes drawn through."""
    figure, axes = plt.subplots(2, (len(images) + 1) // 2, figsize=(8.6, 4.4), layout="constrained")
    for axis, image, right, mine in zip(axes.flat, images, true, found, strict=True):
        draw_boxes(axis, image, right, ":")
        draw_boxes(axis, None, mine)
    return figure


def drawn_scores(evaluate: Callable, found: list, true: list, draws: int = 200) -> torch.Tensor:
    """F1 of each drawn set, (draws,): the sets of ``evaluate`` with the seed 0."""
    alone = [evaluate([f], [t], 1) for f, t in zip(found, true, strict=True)]
    hits = torch.tensor([one["precision"] * len(f) for one, f in zip(alone, found, strict=True)])
    boxes = torch.tensor([len(f) + len(t) for f, t in zip(found, true, strict=True)])
    generator = torch.Generator().manual_seed(0)
    chosen = torch.randint(len(found), (draws, len(found)), generator=generator)
    return 2 * hits[chosen].sum(1) / boxes[chosen].sum(1)


def draw_interval(scores: np.ndarray, value: float, low: float, high: float) -> Figure:
    """The scores of many drawn sets, the interval, and the score itself."""
    figure, axis = plt.subplots(figsize=(6.4, 2.5), layout="constrained")
    axis.hist(scores, bins=16, color=TINTS[0], edgecolor=LINES[0])
    axis.axvspan(low, high, color=TINTS[1], alpha=0.5, zorder=0)
    axis.axvline(value, color=LINES[5])
    axis.set(xlabel="F1 of a drawn set of photographs", ylabel="sets")
    return figure


def draw_parts(parts: Mapping[str, float]) -> Figure:
    """Milliseconds by part, as bars."""
    figure, axis = plt.subplots(figsize=(6.4, 2.2), layout="constrained")
    axis.barh(list(parts), list(parts.values()), color=TINTS[0], edgecolor=LINES[0])
    axis.invert_yaxis()
    axis.set(xlabel="milliseconds for a step of 32 photographs")
    return figure


def draw_bytes(text: str, lost: Sequence[int]) -> Figure:
    """A text's characters over their bytes in UTF-8; the bytes that were lost are marked."""
    count = len(text.encode())
    figure, axis = plt.subplots(figsize=(8.6, 1.6), layout="constrained")
    place = 0
    for number, character in enumerate(text, start=1):
        octets = character.encode()
        axis.add_patch(Rectangle((place, 1), len(octets), 0.9, facecolor=TINTS[0], edgecolor=INK))
        axis.text(place + len(octets) / 2, 1.45, f"U+{ord(character):04X}\n({number})",
                  ha="center", va="center", fontsize=8)  # fmt: skip
        for octet in octets:
            gone = place in lost
            axis.add_patch(
                Rectangle((place, 0), 1, 0.9, facecolor=TINTS[5] if gone else "white",
                          edgecolor=INK, hatch="//" if gone else None)
            )  # fmt: skip
            axis.text(place + 0.5, 0.45, f"{octet:02X}", ha="center", va="center", fontsize=8)
            place += 1
    axis.set(xlim=(-0.1, count + 0.1), ylim=(-0.1, 2))
    axis.axis("off")
    return figure


def draw_dates(rows: Sequence[tuple]) -> Figure:
    """Bars from first release to end, or to today; the colour says how a network is run."""
    figure, axis = plt.subplots(figsize=(8.6, 4.6), layout="constrained")
    today, tints = 2026.9, {"static": TINTS[5], "eager": TINTS[0], "both": TINTS[2]}
    for place, (name, start, end, how) in enumerate(rows):
        axis.barh(place, (end or today) - start, left=start, height=0.6, color=tints[how],
                  edgecolor=INK, linewidth=0.6)  # fmt: skip
        axis.text(start - 0.15, place, name, ha="right", va="center", fontsize=9)
    keys = [Rectangle((0, 0), 1, 1, facecolor=tint, edgecolor=INK) for tint in tints.values()]
    axis.legend(keys, tints, frameon=False, loc="lower left")
    axis.set(xlim=(1997, today), yticks=[], xlabel="year")
    axis.invert_yaxis()
    for side in ("left", "right", "top"):
        axis.spines[side].set_visible(False)
    return figure
