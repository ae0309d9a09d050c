"""Pictures of what a module holds."""

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
        axes.text(sum(sizes) / 1000 + 0.05, y, text, va="center", fontsize=9)
    for y, (name, _) in enumerate(rows):
        below = [
            i for i, (n, _) in enumerate(rows) if n and n.rpartition(".")[0] == name and i != y
        ]
        if below:
            x = -2.83 + 0.28 * (name.count(".") + bool(name))
            axes.plot([x, x], [y + 0.35, max(below) + 0.1], color="#666666", linewidth=1)
    axes.axvline(0, color="#666666", linewidth=1)
    axes.set(xlim=(-3, 6), ylim=(len(rows) - 0.4, -0.6), yticks=[], xticks=range(6))
    axes.set_xlabel("kilobytes held by the module itself", loc="right")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(loc="upper right", frameon=False)
    show(figure, alt)


DRAWERS = (
    ("_parameters", "Parameter", "a", "#0072b2"),
    ("_modules", "Module", "b", "#00805c"),
    ("_buffers", "buffer", "d", "#b35c00"),
)


def draw_drawers() -> None:
    """Assignment as a door to three drawers and a heap, and what looks into the drawers."""
    figure, axes = plt.subplots(figsize=(9, 3.2), layout="constrained")
    axes.set(xlim=(0, 9), ylim=(0, 4.1))
    axes.set_axis_off()

    def box(x, y, width, height, color, words, **style):
        axes.add_patch(plt.Rectangle((x, y), width, height, fill=False, edgecolor=color, **style))
        axes.text(x + width / 2, y + height / 2, words, ha="center", va="center", color=color)

    def arrow(x, y, to_x, to_y, color):
        style = {"arrowstyle": "-|>", "color": color, "linewidth": 1.4}
        axes.annotate("", (to_x, to_y), (x, y), arrowprops=style)

    axes.text(0, 2.35, "box.name = value", family="monospace")
    box(1.8, 0.1, 1.3, 3.8, "#444444", "__setattr__\n\nlooks at\nthe type", linewidth=2)
    arrow(0.1, 2.15, 1.75, 2.15, "#444444")
    for row, (name, kind, content, color) in enumerate(DRAWERS):
        y = 3.1 - row
        box(4.7, y, 1.8, 0.8, color, f"{name}\n{content}", linewidth=2)
        arrow(3.15, y + 0.4, 4.65, y + 0.4, color)
        axes.text(3.85, y + 0.5, kind, ha="center", color=color)
        arrow(7.05, y + 0.4, 6.55, y + 0.4, color)
    box(4.7, 0.1, 1.8, 0.7, "#666666", "the heap\nc", linewidth=1.5, linestyle="--")
    arrow(3.15, 0.45, 4.65, 0.45, "#666666")
    axes.text(3.85, 0.55, "anything else", ha="center", color="#666666")
    calls = "parameters()\n\nstate_dict()\n\nto(), double()\n\ntrain(), eval()"
    box(7.1, 1.1, 1.8, 2.8, "#444444", calls, linewidth=2)
    axes.text(8.0, 0.45, "nothing looks here", ha="center", va="center", color="#666666")
    alt = "An assignment passes __setattr__, which sorts by type: parameters, modules and buffers "
    alt += "into three drawers that parameters() and state_dict() open, the rest on a heap."
    show(figure, alt)
