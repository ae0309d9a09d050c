"""Exercise ``lie-detector``: what a figure's axes show of two settings."""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.colors import same_color, to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from course_utils.chapters.visualization.comparing import FAILED, tried
from course_utils.chapters.visualization.trainings import digits, run
from course_utils.learner.tracebacks import ends_in_notebook


def smoothed(values: list[float], weight: float) -> list[float]:
    """TensorBoard's smoothing: an exponential mean, corrected for its start."""
    mean, shown = 0.0, []
    for n, value in enumerate(values, start=1):
        mean = weight * mean + (1 - weight) * value
        shown.append(mean / (1 - weight**n))
    return shown


@functools.cache
def two_settings() -> dict:
    """What A and B left behind: curves as lists, errors as 10 x 10 arrays of counts."""
    runs = [run(data=100, seed=seed, rate=0.2) for seed in range(5)]
    errors = {}
    for name, seen in {"A": runs[0], "B": run(data=100, rate=0.02)}.items():
        guess, truth = seen["network"](digits()[2]).argmax(1), digits()[3]
        table = torch.zeros(10, 10)
        for right, wrong in zip(
            truth[guess != truth].tolist(), guess[guess != truth].tolist(), strict=True
        ):
            table[right, wrong] += 1
        errors[name] = table.numpy()
    return {
        "accuracy": {name: 1 - table.sum() / 500 for name, table in errors.items()},
        "loss": runs[0]["loss"], "validation": runs[0]["validation"],
        "seeds": [seen["accuracy"] for seen in runs], "errors": errors,
    }  # fmt: skip


def other_settings() -> dict:
    """Two settings with other numbers: A is the better one and makes more errors.

    The validation loss is the higher one, and ends above its start. The best seed isn't the first.
    """
    data = two_settings()
    return {
        "accuracy": {"A": np.float32(0.972), "B": np.float32(0.934)},
        "loss": [1.5 * value for value in data["loss"]],
        "validation": [
            2.5 * value + 0.5 + max(0, n - 120) / 10 for n, value in enumerate(data["validation"])
        ],
        "seeds": [[value / (n + 1) for value in data["seeds"][n]] for n in (4, 0, 1, 2, 3)],
        "errors": {"A": 3 * data["errors"]["B"], "B": data["errors"]["A"]},
    }


def spiked_settings() -> dict:
    """The two settings, with a training loss that goes up to 30 for a step.

    Two of the seeds, none of them the best, have the same curve.
    """
    data = two_settings()
    worst, _, *better = sorted(data["seeds"], key=lambda curve: curve[-1])
    loss = [30.0 if n == 60 else v for n, v in enumerate(data["loss"])]
    return data | {"loss": loss, "seeds": [worst, *reversed(better), [*worst]]}


OTHER = "other numbers, "
SETTINGS = {"": two_settings, OTHER: other_settings, "a spike, ": spiked_settings}


def draw_lies(data: dict) -> tuple[plt.Figure, dict[str, plt.Axes]]:
    figure, grid = plt.subplots(2, 3, figsize=(10, 5), layout="constrained")
    names = ["cut axis", "smoothed away", "two scales", "one seed", "stopped early", "own colours"]
    plots = dict(zip(names, grid.flat, strict=True))
    for name, axes in plots.items():
        axes.set_title(name)
    low, high = sorted(data["accuracy"].values())
    plots["cut axis"].bar(data["accuracy"].keys(), data["accuracy"].values())
    plots["cut axis"].set(
        ylim=(low - 0.1 * (high - low), high + 0.1 * (high - low)), ylabel="accuracy"
    )
    plots["smoothed away"].plot(smoothed(data["loss"], 0.97))
    plots["smoothed away"].set(xlabel="step", ylabel="training loss")
    plots["two scales"].plot(data["loss"], label="training loss")
    plots["two scales"].set_xlabel("step")
    plots["two scales"].set_ylabel("training loss", color="C0")
    twin = plots["two scales"].twinx()
    twin.plot(data["validation"], color="C1", label="validation loss")
    twin.set_ylabel("validation loss", color="C1")
    twin.set_ylim(0.75, 2.4)  # the best part is below
    best = max(data["seeds"], key=lambda curve: curve[-1])
    plots["one seed"].plot(best)
    plots["one seed"].set(xlabel="step", ylabel="accuracy")
    stop = int(np.argmin(data["validation"]))
    plots["stopped early"].plot(data["validation"])
    early = data["validation"][: stop + 1]
    room = 0.05 * (max(early) - min(early))
    plots["stopped early"].set(
        xlim=(0, stop), ylim=(min(early) - room, max(early) + room), xlabel="step",
        ylabel="validation loss",
    )  # fmt: skip
    tables = data["errors"].values()
    _draw_errors(plots["own colours"], tables, [table.max() for table in tables])
    return figure, plots


def _draw_errors(axes: plt.Axes, tables: Iterable, darkest: Iterable) -> Any:
    """The two tables beside each other; ``darkest`` are the numbers that get the darkest colour."""
    for n, (table, most) in enumerate(zip(tables, darkest, strict=True)):
        area = (11 * n, 11 * n + 10, 10, 0)
        drawn = axes.imshow(table, extent=area, cmap="Blues", vmin=0, vmax=most)
    axes.axvline(10.5, color="gray", lw=1)
    axes.set(xlim=(0, 21), ylim=(10, 0), xlabel="errors of A, and of B", xticks=[], yticks=[])
    return drawn


def draw_honest(data: dict) -> plt.Figure:
    """What ``draw_lies`` hides of the same data."""
    figure, grid = plt.subplots(2, 3, figsize=(10, 5), layout="constrained")
    bars, raw, one_scale, seeds, whole, colours = grid.flat
    bars.bar(data["accuracy"].keys(), data["accuracy"].values())
    bars.set(title="bars from 0", ylabel="accuracy", ylim=(0, 1))
    raw.plot(data["loss"], color="C0", alpha=0.4)
    raw.plot(smoothed(data["loss"], 0.97), color="C0")
    raw.set(title="raw, and smoothed", ylabel="training loss", ylim=(0, None))
    one_scale.plot(data["loss"], label="training")
    one_scale.plot(data["validation"], color="C1", label="validation")
    one_scale.set(title="one scale", ylabel="loss", ylim=(0, None))
    one_scale.legend(fontsize=8)
    stop = int(np.argmin(data["validation"]))
    whole.plot(data["validation"], color="C1", label="validation")
    whole.set(title="to the end", ylabel="validation loss", ylim=(0, None))
    whole.axvline(stop, color="#6b6b6b", linestyle="--", lw=1, label="it stopped here")
    whole.legend(fontsize=8)
    for curve in data["seeds"]:
        seeds.plot(curve, lw=0.8)
    seeds.set(title="all five seeds", ylabel="accuracy", ylim=(0, 1))
    for axes in (raw, one_scale, seeds, whole):
        axes.set_xlabel("step")
    tables = data["errors"].values()
    drawn = _draw_errors(colours, tables, 2 * [max(table.max() for table in tables)])
    colours.set_title("one scale of colours")
    figure.colorbar(drawn, ax=colours, shrink=0.7)
    return figure


FAINTEST = 0.04  # what covers less of what is behind it can't be seen


def can_be_seen(artist, ground: Any) -> bool:
    """Whether a line, a bar or an image is drawn so that an eye sees it before its ground."""
    alpha = artist.get_alpha()
    if not artist.get_visible() or np.mean(1.0 if alpha is None else alpha) < FAINTEST:
        return False
    if isinstance(artist, Line2D):
        stroke = artist.get_linewidth() > 0.02 and artist.get_linestyle() not in ("None", "", " ")
        marks = (
            artist.get_marker() not in ("None", None, "", " ") and artist.get_markersize() > 0.02
        )
        colour = to_rgba(artist.get_color(), alpha)
        return (stroke or marks) and colour[3] >= FAINTEST and not same_color(colour, ground)
    if isinstance(artist, Rectangle):
        return to_rgba(artist.get_facecolor())[3] >= FAINTEST
    return True


def seen_lie_detector(answer: Callable, which: str = "") -> dict:
    """For each plot, its axes (a twin counts) with limits, lines, bars and images."""
    data = copy.deepcopy(SETTINGS[which]())
    figure, plots = draw_lies(data)
    before = {key: pickle.dumps(value) for key, value in data.items()}
    current = [plt.subplots()] if which == OTHER else []
    answer(plots, data)
    now = {key: pickle.dumps(value) for key, value in data.items()}
    found: dict = {"changed": [key for key in before if now.get(key) != before[key]]}
    for other, beside in current:
        touched = other.axes != [beside] or beside.has_data() or beside.get_ylim() != (0, 1)
        found["other"] = touched or beside.get_xlim() != (0, 1) or not beside.get_visible()
        plt.close(other)
    for name, axes in plots.items():
        siblings = axes.get_shared_x_axes().get_siblings(axes)
        found[name] = []
        for one in figure.axes:
            if one.get_visible() and (one is axes or one in siblings):
                ground = plots[name].get_facecolor()
                lines = [line for line in one.lines if can_be_seen(line, ground)]
                images = [image for image in one.images if can_be_seen(image, ground)]
                about: dict[str, Any] = {
                    "xlim": sorted(one.get_xlim()),
                    "ylim": sorted(one.get_ylim()),
                    "scale": one.get_yscale(),
                    "turned": one.yaxis_inverted(),
                    "backwards": one.xaxis_inverted(),
                    "hidden": [
                        np.array(line.get_ydata(), float).tolist()
                        for line in one.lines
                        if line not in lines
                    ],
                }
                if not one.axison and not lines and one is not axes:
                    continue  # nothing of it is drawn
                about["lines"] = [
                    (
                        np.array(line.get_xdata(), float).tolist(),
                        np.array(line.get_ydata(), float).tolist(),
                    )
                    for line in lines
                ]
                bars = [bar for bar in one.patches if isinstance(bar, Rectangle)]
                bars = [bar for bar in bars if can_be_seen(bar, ground)]
                about["bars"] = [bar.get_height() for bar in bars]
                about["sides"] = [x for bar in bars for x in (bar.get_x(), bar.get_bbox().x1)]
                about["images"] = [
                    (
                        list(map(float, image.get_clim())),
                        np.array(image.get_array(), float).tolist(),
                        image.get_cmap().name,
                        _middle_of(image),
                    )
                    for image in images
                ]
                found[name].append(about)
    plt.close(figure)
    return found


def _middle_of(image: Any) -> float:
    """Where the norm of an image puts the number between its colour limits, from 0 to 1."""
    return np.array(image.norm(np.mean(image.get_clim(), keepdims=True)), float).item()


def times_shown(about: dict, curve: list[float]) -> int:
    """How many visible lines have this curve, over the steps."""
    steps = np.arange(len(curve))
    return sum(
        len(ys) == len(curve) and np.allclose(xs, steps) and np.allclose(ys, curve)
        for xs, ys in about["lines"]
    )


def has_curve(about: dict, curve: list[float]) -> bool:
    """Whether a visible line has this curve, over the steps."""
    return times_shown(about, curve) > 0


@ends_in_notebook
def check_curve(parts: list[dict], curve: list[float], missing: str, whole: bool = False) -> None:
    """Refuse where no visible line has this curve, and say why.

    If it has to be seen ``whole``, the limits of its axes hold all of its points.
    """
    check_axes(parts)
    elsewhere = any(
        len(ys) == len(curve) and np.allclose(ys, curve)
        for part in parts
        for _, ys in part["lines"]
    )
    hidden = any(
        len(ys) == len(curve) and np.allclose(ys, curve) for part in parts for ys in part["hidden"]
    )
    if elsewhere:
        missing = "the line is there, but its x are not the steps, counted from 0"
    elif hidden:
        missing += "; it is drawn so that it can't be seen"
    holders = [part for part in parts if has_curve(part, curve)]
    assert holders, missing
    outside = "the line is there, but points of it are outside the limits of the axes"
    assert not whole or any(inside(part, curve) for part in holders), outside


@ends_in_notebook
def check_axes(parts: list[dict]) -> None:
    assert parts, "this axes is hidden, or no longer in its figure: repair it in place"
    for part in parts:
        plot = (part["lines"] or part["bars"]) and not part["images"]
        assert not (plot and part["turned"]), "the y-axis is turned round: up is more"
        words = "the x-axis is turned round: later steps are on the right"
        assert not (part["lines"] and part["backwards"]), words


def inside(about: dict, curve: list[float]) -> bool:
    """Whether the limits of both axes hold the whole curve."""
    (left, right), (low, high) = about["xlim"], about["ylim"]
    return left <= 0 and right >= len(curve) - 1 and low <= min(curve) and high >= max(curve)


@ends_in_notebook
def check_two_scales(parts: list[dict], data: dict) -> None:
    holders = {}
    for name in ("loss", "validation"):
        check_curve(parts, data[name], f"data[{name!r}] is no line of it any more")
        holders[name] = next(part for part in parts if has_curve(part, data[name]))
    kinds = sorted({part["scale"] for part in parts})
    assert len(kinds) == 1, f"the two losses still have two scales: {' and '.join(kinds)}"
    limits = [part["ylim"] for part in holders.values()]
    shown = np.round(limits, 2).tolist()
    assert np.allclose(*limits), f"the two losses still have two scales: {shown}"
    for name, part in holders.items():
        assert inside(part, data[name]), f"points of data[{name!r}] lie outside the limits"
    for part in parts:
        still = f"the second axes is still there, with the limits {np.round(part['ylim'], 2)}"
        same = np.allclose(part["ylim"], limits[0])
        assert same, f"{still}, beside {shown[0]}: give it the same, or remove it"


@ends_in_notebook
def check_own_colours(parts: list[dict], data: dict) -> None:
    images = [image for part in parts for image in part["images"]]
    found = [[c for c, a, *_ in images if np.array_equal(a, t)] for t in data["errors"].values()]
    assert all(found), "one of the two images is gone"
    maps = sorted({name for *_, name, _ in images})
    assert len(maps) == 1, f"the two images have different colours, {maps}: the same for both"
    shown = [limits[0] for limits in found]
    assert np.allclose(shown[0], shown[1]), f"the colour limits still differ: {shown}"
    middles = [middle for *_, middle in images]
    words = "one number still has two colours: give both images one norm, such as the linear one"
    assert np.allclose(middles, middles[0]), words
    most = max(table.max() for table in data["errors"].values())
    holds = shown[0][0] <= 0 and shown[0][1] >= most
    assert holds, f"numbers up to {most:g} lie outside {shown[0]}"


@ends_in_notebook
def check_lies(case, attempt, which: str = "") -> None:
    """Each of the six plots, a case of its own."""
    data = SETTINGS[which]()
    found = tried(case, f"{which}the repair", attempt, which)
    if found is FAILED:
        return
    with case(f"{which}the data afterwards"):
        changed = ", ".join(f"data[{key!r}]" for key in found["changed"])
        assert not changed, f"{changed} was changed; it is the caller's"
        words = (
            "another figure, pyplot's current one, was changed: ask an axes of plots for its own,"
        )
        assert not found.get("other"), f"{words} plots['two scales'].figure"
    with case(f"{which}cut axis"):
        check_axes(found["cut axis"])
        bars, (low, high) = found["cut axis"][0]["bars"], found["cut axis"][0]["ylim"]
        words = f"bars that can be seen: {len(bars)}; A and B have one each"
        assert len(bars) == len(data["accuracy"]), words
        assert np.allclose(sorted(bars), sorted(data["accuracy"].values())), "the bars have changed"
        scale = found["cut axis"][0]["scale"]
        assert scale == "linear", (
            f"the scale is {scale!r}: a bar begins at 0, and only a linear one has it"
        )
        assert low <= 0, (
            f"the axis begins at {low:.3f}: a bar's length means nothing unless it begins at 0"
        )
        assert high >= max(bars), "the bars reach beyond the axis"
        sides, (left, right) = found["cut axis"][0]["sides"], found["cut axis"][0]["xlim"]
        beside = min(sides) < left or max(sides) > right
        assert not beside, "a bar is outside the limits of the x-axis"
    with case(f"{which}smoothed away"):
        words = "no visible line holds the raw loss"
        check_curve(found["smoothed away"], data["loss"], words, whole=True)
    with case(f"{which}two scales"):
        check_two_scales(found["two scales"], data)
    with case(f"{which}one seed"):
        shown = sum(any(has_curve(p, c) for p in found["one seed"]) for c in data["seeds"])
        words = "the number of seeds with a visible line: expected 5, got"
        for curve in data["seeds"]:
            missing = f"{words} {shown} (draw each seed's own curve)"
            check_curve(found["one seed"], curve, missing, whole=True)
            lines = sum(times_shown(part, curve) for part in found["one seed"])
            both = "two seeds have the same curve here: a line each, also where one covers another"
            assert lines >= data["seeds"].count(curve), both
    with case(f"{which}stopped early"):
        check_curve(
            found["stopped early"],
            data["validation"],
            "the whole validation loss is no line of it any more",
        )
        holder = [part for part in found["stopped early"] if has_curve(part, data["validation"])]
        whole = any(inside(part, data["validation"]) for part in holder)
        later = any(part["xlim"][1] >= len(data["validation"]) - 1 for part in holder)
        axis = ": those of the y-axis don't hold all of them" * later
        assert whole, f"points still lie outside the limits{axis}"
    with case(f"{which}own colours"):
        check_axes(found["own colours"])
        check_own_colours(found["own colours"], data)
