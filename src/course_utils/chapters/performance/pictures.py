"""Pictures of chapter 16."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt

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
        if (end - start) > 0.009 * span * len(name):
            short = name.removeprefix("aten::")
            ax.text((start + end) / 2 - first, row, short, ha="center", va="center", fontsize=8)
        open_until.append(end)
    ax.set_yticks([])
    ax.set(xlabel="time", title=title)
    ax.spines[["top", "right", "left"]].set_visible(False)
    show(figure, alt)


def draw_bars(values: Mapping[str, float], label: str, alt: str, log: bool = False) -> None:
    """One horizontal bar a name, with its number behind it."""
    figure, ax = plt.subplots(figsize=(9, 0.42 * len(values) + 0.9))
    bars = ax.barh(list(values), list(values.values()), color=TINTS[0], edgecolor=LINES[0])
    ax.bar_label(bars, [f"{value:,.4g}" for value in values.values()], padding=4, fontsize=9)
    ax.invert_yaxis()
    if log:
        ax.set_xscale("log")
    ax.margins(x=0.12)
    ax.set_xlabel(label)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(colors=INK)
    ax.xaxis.label.set_color(FAINT)
    figure.tight_layout()
    show(figure, alt)
