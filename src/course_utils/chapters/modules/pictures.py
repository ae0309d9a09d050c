"""The picture of a model as a tree."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch.nn as nn

from course_utils.learner.drawings import show


def draw_tree(model: nn.Module, alt: str) -> None:
    """The modules of a model as an indented tree, with the bytes that each one holds itself."""
    rows = list(model.named_modules())
    figure, axes = plt.subplots(figsize=(9, 0.36 * len(rows) + 0.9))
    for y, (name, module) in enumerate(rows):
        depth = name.count(".") + bool(name)
        label = f"{name.rpartition('.')[2] or 'model'}: {type(module).__name__}"
        axes.text(-2.9 + 0.28 * depth, y, label, va="center", fontsize=9)
        sizes = [
            sum(t.nbytes for t in group(recurse=False))
            for group in (module.parameters, module.buffers)
        ]
        axes.barh(y, sizes[0] / 1000, color="#0072b2", label="parameters" if y == 0 else None)
        axes.barh(
            y,
            sizes[1] / 1000,
            left=sizes[0] / 1000,
            color="#e69f00",
            label="buffers" if y == 0 else None,
        )
        text = " + ".join(f"{n:,}" for n in sizes if n)
        axes.text(sum(sizes) / 1000 + 0.05, y, text, va="center", fontsize=8)
    for y, (name, _) in enumerate(rows):
        below = [
            i for i, (n, _) in enumerate(rows) if n and n.rpartition(".")[0] == name and i != y
        ]
        if below:
            x = -2.83 + 0.28 * (name.count(".") + bool(name))
            axes.plot([x, x], [y + 0.35, max(below) + 0.1], color="#8a8a8a", linewidth=1)
    axes.axvline(0, color="#8a8a8a", linewidth=1)
    axes.set(xlim=(-3, 6), ylim=(len(rows) - 0.4, -0.6), yticks=[], xticks=range(6))
    axes.set_xlabel("kilobytes held by the module itself", loc="right")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(loc="upper right", frameon=False)
    show(figure, alt)
