"""Pictures of chapter 16."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
import torch

from course_utils.chapters.performance.waiting import PretendDevice
from course_utils.learner.drawings import FAINT, INK, LINES, TINTS, show

_COLOURS = {"launch": TINTS[0], "wait": "#e4e4e4", "earlier": "#d9d9d9"}


def draw_lanes(devices: Mapping[str, PretendDevice], alt: str) -> None:
    """What host and device did over time, a pair of lanes for each pretend device."""
    end = max(max(device.now, device.idle_from) for device in devices.values())
    figure, axes = plt.subplots(len(devices), 1, figsize=(9, 1.35 * len(devices)), sharex=True)
    for ax, (title, device) in zip(axes, devices.items(), strict=True):
        for lane, what, start, stop in device.log:
            row = 1 if lane == "host" else 0
            colour = _COLOURS.get(what, TINTS[5])
            ax.barh(row, stop - start, left=start, height=0.7, color=colour, edgecolor=INK, lw=0.6)
            if what == "wait" and stop - start > 0.04 * end:
                ax.text((start + stop) / 2, row, "wait", ha="center", va="center", fontsize=8)
        ax.set_yticks([0, 1], ["device", "host"])
        ax.set_title(title, loc="left", fontsize=10)
        ax.set(xlim=(0, end * 1.02), ylim=(-0.5, 1.5))
        ax.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("microseconds")
    figure.tight_layout()
    show(figure, alt)


def draw_flame(events: Sequence[tuple[str, int, int, int]], alt: str, title: str = "") -> None:
    """Events of one thread as nested bars over time; deeper means called by what is above."""
    first = min(start for _, _, start, _ in events)
    names = list(dict.fromkeys(name for name, *_ in events))
    colours = {name: TINTS[n % len(TINTS)] for n, name in enumerate(names)}
    figure, ax = plt.subplots(figsize=(9, 2.2))
    span, open_until = max(end for *_, end in events) - first, []
    for name, _, start, end in sorted(events, key=lambda event: (event[2], -event[3])):
        while open_until and open_until[-1] <= start:
            open_until.pop()
        row = -len(open_until)
        ax.barh(
            row, end - start, left=start - first, height=0.9, color=colours[name], edgecolor=INK,
            lw=0.6,
        )  # fmt: skip
        short = name.removeprefix("aten::")
        if (end - start) > 0.009 * span * len(short):
            ax.text((start + end) / 2 - first, row, short, ha="center", va="center", fontsize=8)
        open_until.append(end)
    ax.set_yticks([])
    ax.set(xlabel="time", title=title)
    ax.spines[["top", "right", "left"]].set_visible(False)
    show(figure, alt)


def draw_roof(
    operators: Mapping[str, tuple[float, float]], peak: float, bandwidth: float, alt: str
) -> None:
    """A machine's roof over flops per byte, and what it allows each operator.

    Args:
        operators: flops and bytes of each.
        peak: flops a second.
        bandwidth: bytes a second.
        alt: what the picture shows, in words.
    """
    figure, ax = plt.subplots(figsize=(9, 3.6))
    low, high, ridge = 0.02, 1000.0, peak / bandwidth
    ax.plot([low, ridge, high], [low * bandwidth / 1e9, peak / 1e9, peak / 1e9], color=INK, lw=2)
    ax.axvline(ridge, color=FAINT, ls=":", lw=1)
    ax.text(ridge * 1.1, bandwidth / 1e9 * low * 1.3, f"{ridge:.0f} flops per byte", color=FAINT)
    for (name, (flops, nbytes)), colour in zip(operators.items(), LINES, strict=False):
        intensity = flops / nbytes
        speed = min(peak, intensity * bandwidth) / 1e9
        ax.plot(intensity, speed, "o", color=colour, markersize=9)
        ax.annotate(
            f"{name}: {speed:.3g}", (intensity, speed), (7, -13), textcoords="offset points",
            color=colour,
        )  # fmt: skip
    ax.set(
        xscale="log", yscale="log", xlabel="flops per byte", ylabel="Gflop/s at best",
        xlim=(low, high), title="slope: waits for memory      roof: waits for arithmetic",
    )  # fmt: skip
    ax.spines[["top", "right"]].set_visible(False)
    show(figure, alt)


def draw_memory(histories: Mapping[str, Sequence[float]], alt: str) -> None:
    """KiB alive after each operator of a step, a line for each history."""
    figure, ax = plt.subplots(figsize=(9, 3.2))
    for (name, history), colour in zip(histories.items(), LINES, strict=False):
        ax.fill_between(range(len(history)), history, color=colour, alpha=0.12)
        ax.plot(history, color=colour, label=f"{name}: peak {max(history):.0f} KiB")
    ax.set(xlabel="operators that have run", ylabel="KiB alive", ylim=(0, None))
    ax.legend(loc="upper right", fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    show(figure, alt)


def draw_exponents(groups: Mapping[str, torch.Tensor], alt: str) -> None:
    """Histograms of exponents to base 2, with the range of float16 shaded."""
    figure, axes = plt.subplots(len(groups), 1, figsize=(9, 1.8 * len(groups)), sharex=True)
    for ax, (name, values) in zip(axes, groups.items(), strict=True):
        ax.axvspan(-24, 16, color=TINTS[2], alpha=0.6, lw=0)
        exponents = values.abs().log2()
        ax.hist(exponents.numpy(), bins=range(-36, 18), color=LINES[0])
        share = (exponents < -24.99).float().mean().item()
        ax.set_title(f"{name}: {share:.0%} become 0", loc="left", fontsize=10)
        ax.set_yticks([])
        ax.spines[["top", "right", "left"]].set_visible(False)
    axes[-1].set_xlabel("exponent to base 2; green: what float16 can hold")
    figure.tight_layout()
    show(figure, alt)


def draw_kernels(kernels: Mapping[str, torch.Tensor], alt: str) -> None:
    """The kernels between the first two channels, each in the middle of a 3 × 3 grid."""
    figure, axes = plt.subplots(1, len(kernels), figsize=(9, 2.3))
    for n, (ax, (name, kernel)) in enumerate(zip(axes, kernels.items(), strict=True)):
        height, width = kernel.shape[2:]
        pad = (3 - width) // 2, (3 - width) // 2, (3 - height) // 2, (3 - height) // 2
        grid = torch.nn.functional.pad(kernel, pad)[0, 0]
        ax.imshow(grid, cmap="Blues", vmin=0, vmax=2.5)
        for row in range(3):
            for column in range(3):
                value = grid[row, column].item()
                text = f"{value:.2f}" if value else "0"
                ax.text(column, row, text, ha="center", va="center", color=INK, fontsize=9)
        sign = "" if n == 0 else "= " if n == len(kernels) - 1 else "+ "
        ax.set(title=f"{sign}{name}", xticks=[], yticks=[])
    show(figure, alt)


def draw_waterfall(stages: Mapping[str, Mapping[str, float]], alt: str) -> None:
    """Operators, megabytes and waits of each stage, in rows of bars that share their columns."""
    rows = {"operators": "operators", "MB": "MB written", "waits": "waits"}
    figure, axes = plt.subplots(len(rows), 1, figsize=(9, 5), sharex=True)
    names = list(stages)
    for ax, (key, label), colour in zip(axes, rows.items(), LINES, strict=False):
        values = [stages[name][key] for name in names]
        drops = [a - b for a, b in pairwise(values)]
        largest = drops.index(max(drops)) + 1
        bars = ax.bar(names, values, color=[TINTS[0]] * len(names), edgecolor=colour)
        ax.bar(names[largest], max(drops), bottom=values[largest], color=TINTS[1], width=0.8)
        labels = [f"{value:,.3g}" if value < 100 else f"{value:,.0f}" for value in values]
        ax.bar_label(bars, labels)
        ax.set_ylabel(label)
        ax.margins(y=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    show(figure, alt)
