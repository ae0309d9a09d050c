"""The pictures of the chapter on distributed training."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import torch
from torch.utils.data.distributed import DistributedSampler

from course_utils.learner.drawings import show


def draw_collectives() -> None:
    """Five collectives on three ranks, before and after."""
    colours = {"a": "#bfe0f5", "b": "#fbdcb0", "c": "#c2e8d9", "Σ": "#f3d3e4"}
    own = [[name] for name in "abc"]
    parts = [[f"{name}{part}" for part in range(3)] for name in "abc"]
    panels = {
        "broadcast from 0": (own, [["a"]] * 3),
        "reduce to 0": (own, [["Σ"], [""], [""]]),
        "all-gather": (own, [["a", "b", "c"]] * 3),
        "reduce-scatter": (parts, [["Σ0"], ["Σ1"], ["Σ2"]]),
        "all-reduce": (own, [["Σ"]] * 3),
    }
    figure, axes = plt.subplots(2, 5, figsize=(10, 3.6))
    for column, (name, states) in enumerate(panels.items()):
        for row, state in enumerate(states):
            axis = axes[row, column]
            for rank, boxes in enumerate(state):
                for place, text in enumerate(boxes):
                    colour = colours.get(text[:1], "white")
                    axis.add_patch(plt.Rectangle((place, -rank), 0.9, 0.8, fc=colour, ec="#555555"))
                    axis.text(place + 0.45, 0.4 - rank, text, ha="center", va="center")
            axis.set(xlim=(-0.2, 3.1), ylim=(-2.2, 1.0), xticks=[], yticks=[0.4, -0.6, -1.6])
            axis.set_yticklabels(["rank 0", "rank 1", "rank 2"] if column == 0 else [])
            axis.tick_params(length=0)
            axis.spines[:].set_visible(False)
            axis.set_title(name if row == 0 else "then", fontsize=10, loc="left")
    figure.tight_layout()
    show(
        figure,
        "Five collectives, before and after, on three ranks: broadcast leaves a "
        "everywhere, reduce the sum on rank 0, all-gather a, b, c everywhere, reduce- "
        "scatter one part of the sum on each rank, all-reduce the whole sum everywhere.",
    )


def draw_ring_steps() -> None:
    """How many ranks' numbers each chunk holds, after each step of a ring of four."""
    ranks, held, states = 4, torch.ones(4, 4, dtype=torch.int64), []
    for step in range(2 * (ranks - 1)):
        states.append(held.clone())
        for rank in range(ranks):
            chunk = (rank - step - 1) % ranks
            came = states[-1][(rank - 1) % ranks, chunk]
            held[rank, chunk] = came + held[rank, chunk] if step < ranks - 1 else came
    states.append(held.clone())
    figure, axes = plt.subplots(1, len(states), figsize=(10, 2.1))
    for step, (axis, state) in enumerate(zip(axes, states, strict=True)):
        axis.imshow(state, cmap="Blues", vmin=0, vmax=6)
        for rank in range(ranks):
            for chunk in range(ranks):
                axis.text(chunk, rank, int(state[rank, chunk]), ha="center", va="center")
            if step < len(states) - 1:
                given = (rank - step) % ranks
                axis.add_patch(
                    plt.Rectangle((given - 0.46, rank - 0.46), 0.92, 0.92, fill=False, lw=2)
                )
        title = "start" if step == 0 else f"after {step}"
        axis.set(xticks=range(ranks), yticks=range(ranks), title=title, xlabel="chunk")
        axis.set_ylabel("rank" if step == 0 else "")
    figure.tight_layout()
    show(
        figure,
        "Seven grids of four ranks by four chunks: how many ranks' numbers each chunk "
        "holds, from ones at the start, through one full chunk on each rank after three "
        "steps, to fours everywhere after six.",
    )


def draw_dealt() -> None:
    """Seven samples dealt out to three ranks, padded and cut."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 1.9))
    for axis, drop in zip(axes, (False, True), strict=True):
        for rank in range(3):
            samples: Any = range(7)  # of a data set it asks only the length
            sampler = DistributedSampler(samples, 3, rank, shuffle=False, drop_last=drop)
            for place, index in enumerate(sampler):
                colour = "#fbdcb0" if not drop and place == 2 and rank > 0 else "#bfe0f5"
                axis.add_patch(plt.Rectangle((place, -rank), 0.9, 0.8, fc=colour, ec="#555555"))
                axis.text(place + 0.45, 0.4 - rank, index, ha="center", va="center")
        axis.set(xlim=(-0.1, 3), ylim=(-2.1, 0.9), xticks=[], yticks=[0.4, -0.6, -1.6])
        axis.set_yticklabels(["rank 0", "rank 1", "rank 2"])
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
        axis.set_title(f"7 samples, 3 ranks, drop_last={drop}", fontsize=10)
    figure.tight_layout()
    show(
        figure,
        "Without drop_last rank 0 gets 0, 3, 6, rank 1 gets 1, 4, 0 and rank 2 gets 2, 5, "
        "1: samples 0 and 1 come twice. With drop_last each rank gets two samples and "
        "sample 6 is left out.",
    )


def draw_buckets() -> None:
    """Backward and all-reduce over time, one after the other and in buckets."""
    figure, axes = plt.subplots(2, 1, figsize=(9, 3.2), sharex=True)
    rows = {
        "average after backward": [(60, 80)],
        "one bucket for two layers": [(20, 40), (40, 60), (60, 80)],
    }
    for axis, (title, sent) in zip(axes, rows.items(), strict=True):
        for layer in range(6):
            axis.add_patch(plt.Rectangle((10 * layer, 1.1), 9.6, 0.8, fc="#bfe0f5", ec="#555555"))
            axis.text(
                10 * layer + 5, 1.5, f"layer {6 - layer}", ha="center", va="center", fontsize=9
            )
        wide = 60 if len(sent) == 1 else 19.6
        for start, _ in sent:
            axis.add_patch(plt.Rectangle((start, 0.1), wide, 0.8, fc="#fbdcb0", ec="#555555"))
            label = "all-reduce, layers 6 to 1" if wide == 60 else "all-reduce"
            axis.text(start + wide / 2, 0.5, label, ha="center", va="center", fontsize=9)
        axis.set(xlim=(0, 122), ylim=(0, 2), yticks=[0.5, 1.5], title=title)
        axis.set_yticklabels(["on the wire", "backward"])
        axis.spines[["top", "right"]].set_visible(False)
    axes[1].set_xlabel("time")
    figure.tight_layout()
    show(
        figure,
        "Two timelines. Above, six layers' backward and after it one long all-reduce, 120 "
        "units in all. Below, each bucket of two layers leaves as soon as it is full: "
        "only the last one, 20 units long, is left when backward ends.",
    )


def draw_two_norms() -> None:
    """Two ranks' values, normalised each by its own and by merged statistics."""
    generator = torch.Generator().manual_seed(1)
    near, far = torch.randn(400, generator=generator), 5 + torch.randn(400, generator=generator)
    both = torch.cat([near, far])
    figure, axes = plt.subplots(1, 3, figsize=(10, 2.4))
    own = [(part - part.mean()) / part.std() for part in (near, far)]
    together = [(part - both.mean()) / both.std() for part in (near, far)]
    titles = ["what the ranks hold", "each by its own statistics", "by merged statistics"]
    for axis, pair, title in zip(axes, [(near, far), own, together], titles, strict=True):
        for part, name, colour in zip(
            pair, ("rank 0", "rank 1"), ("#0072b2", "#b86e00"), strict=True
        ):
            axis.hist(part.tolist(), bins=24, alpha=0.6, label=name, color=colour)
        axis.set(title=title, xlabel="value", yticks=[])
        axis.spines[["top", "right", "left"]].set_visible(False)
    axes[0].set_xlim(-4, 17)
    axes[0].legend(frameon=False, loc="upper right")
    figure.tight_layout()
    show(
        figure,
        "Three histograms: two ranks' values apart from each other; normalised each by "
        "its own statistics they lie on top of each other; by merged statistics they stay "
        "apart around zero.",
    )
