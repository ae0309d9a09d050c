"""Exercise ``visdom-live``: the windows that a second server would show."""

from __future__ import annotations

import base64
import copy
import io
import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from course_utils.chapters.visualization.comparing import FAILED, check_seen, tried
from course_utils.learner.checks import check_equal
from course_utils.learner.servers import visdom_server
from course_utils.learner.tracebacks import ends_in_notebook


def seen_visdom_live(answer: Callable, steps: list[tuple], about: dict) -> dict:
    """How many points were there before each step, and the windows that a second server would show.

    It would read them from the files that the first one saved.
    """
    late, held = [], {}
    mine = copy.deepcopy(about)  # the answer's: what it does to it is looked for

    def points_of(client) -> list[int]:
        text = client.get_window_data("loss", "run")
        return [len(curve["x"]) for curve in json.loads(text)["content"]["data"]] if text else []

    with tempfile.TemporaryDirectory() as folder:
        with visdom_server(folder, page=False) as server:
            watcher = server.client("watch")

            def training():
                for done, entry in enumerate(steps):
                    if done and points_of(watcher) != [done, done]:
                        late.append((done, points_of(watcher)))
                    yield entry

            answer(server.client(), training(), mine)
        for env in ("run", "evaluation"):
            saved = Path(folder, f"{env}.json")
            held[env] = json.loads(saved.read_text())["jsons"] if saved.exists() else {}
    changed = [
        f"about[{key!r}] was {'changed' if key in mine else 'taken away'}"
        for key, value in about.items()
        if key not in mine or not torch.equal(*map(_as_tensor, (value, mine[key])))
    ]
    added = [f"about[{key!r}] was added" for key in mine if key not in about]
    return {"late": late, "held": held, "changed": changed + added}


def _as_tensor(value: torch.Tensor | str) -> torch.Tensor:
    if isinstance(value, str):
        return torch.tensor(list(value.encode()))
    return torch.as_tensor(value)


def traces(window: dict) -> list[dict]:
    return window["content"]["data"]


@ends_in_notebook
def check_windows(case, attempt, steps: list, about: dict) -> None:
    """Each window of the table, as a second server would show it."""

    def why(error: Exception) -> str:
        labels = "labels are assumed" in str(error)
        return FROM_1 * labels

    found = tried(case, "the whole", attempt, steps, about, why=why)
    if found is FAILED:
        return
    with case("live"):
        done, points = (found["late"] or [(0, [])])[0]
        words = f"step {done} was over, and the curves of window 'loss' held {points} points: "
        words += "send both numbers, by update='append', before you take the next entry"
        if len(points) == 1:
            words += "; both lines belong into this window, each with its name"
        if done and steps[done - 1][1] != steps[done - 1][1] and done - 1 in points:
            words += "; a number that is NaN is sent, too"
        assert not found["late"], words
    with case("about"):
        changed = "; ".join(found["changed"])
        assert not changed, f"{changed}: the dict and its tensors are the caller's"
    wanted = {
        "run": ("loss", "map", "cloud", "spikes"), "evaluation": ("confusion", "samples", "note")
    }  # fmt: skip
    for env, names in wanted.items():
        held = found["held"][env]
        for name in names:
            with case(f"{env}/{name}"):
                other = next((e for e in wanted if name in found["held"][e]), None)
                missing = (
                    f"it is in environment {other!r}"
                    if other
                    else "a second server has no such window"
                )
                no_windows = (
                    ": no environment was saved, its windows went elsewhere (env=…), or there is "
                    "no answer yet"
                )
                elsewhere = "" if other else f": does its call say env={env!r}, before the save?"
                hint = elsewhere if any(found["held"].values()) else no_windows
                assert name in held, missing + hint
                kind = held[name]["type"]
                said = f"a window of the kind {kind!r}; {KINDS[name]} is asked for"
                assert kind == {"samples": "image", "note": "text"}.get(name, "plot"), said
                WINDOWS[name](held[name], steps, about)


@ends_in_notebook
def check_loss(window, steps, about) -> None:
    curves = {curve["name"]: curve for curve in traces(window)}
    both = "a call for each with name=…, or a legend"
    check_equal(sorted(curves), ["train", "validation"], "the names of the lines", both)
    for column, name in enumerate(("train", "validation"), start=1):
        mine, right = [float(v) for v in curves[name]["x"]], [float(s[0]) for s in steps]
        why = "an entry's step is its first number; it isn't counted" * (
            mine in ([*range(len(right))], [*range(1, len(right) + 1)])
        )
        why = why or "update='append' adds a point; without it the line is replaced" * (
            mine == right[-1:]
        )
        gone = [s for s in steps if float(s[0]) not in mine]
        why = why or "a loss of 0 is sent, too" * (bool(gone) and all(s[column] == 0 for s in gone))
        if gone and all(math.isnan(s[1]) for s in gone):
            why = why or "a step of which a loss is NaN is sent, too"
        check_equal(mine, right, f"the steps of {name}", why)
        other = torch.tensor([s[3 - column] for s in steps])
        truth = torch.tensor([s[column] for s in steps])
        rounded = {
            f"rounded to {n} places; send the numbers as they are": (truth * 10**n).round() / 10**n
            for n in (1, 2, 3, 4)
        }
        slips = {"train and validation have changed places": other} | rounded
        heights = [math.nan if v is None else v for v in curves[name]["y"]]  # so JSON has a NaN
        check_seen(torch.tensor(heights), truth, name, slips)


FROM_1 = "those of about['classes'] count from 0, visdom's from 1"


@ends_in_notebook
def check_names(mine: list[str], classes: list[int], legend: bool) -> None:
    """What visdom calls the classes is each one's number, plus 1; a ``legend`` may say its number.

    From classes that are handed over as they are it would take the name before.
    """
    ends = [name.rpartition(" ")[2] for name in mine]
    assert ends != [str(n - 1) for n in classes], f"{FROM_1}: each has the name of the one before"
    slips = {
        "the classes that are there were counted": range(1, len(classes) + 1),
        "they were counted from the smallest that is there": [n - classes[0] + 1 for n in classes],
        FROM_1: classes,
    }
    for words, numbers in slips.items():
        told = f"a class has its own number, plus 1, whichever are there; here {words}"
        assert legend or mine != [str(n) for n in numbers], told


@ends_in_notebook
def check_scatter(window, steps, about) -> None:
    classes = about["classes"].cpu()
    why = "hand the classes over as well, counted from 1"
    number = len(classes.unique())
    check_equal(len(traces(window)), number, "the number of classes that are shown", why)
    names, legend = [curve["name"] for curve in traces(window)], window["content"]["layout"]
    check_names(names, classes.unique().tolist(), bool(legend.get("showlegend")))
    for curve, number in zip(traces(window), classes.unique(), strict=True):
        check_equal((curve["type"], curve["mode"]), ("scatter", "markers"), "the kind of plot")
        mine = torch.tensor([curve["x"], curve["y"]]).T
        check_seen(
            mine, about["points"].cpu()[classes == number], f"the points of class {number}", {}
        )


@ends_in_notebook
def check_cloud(window, steps, about) -> None:
    kinds = [curve["type"] for curve in traces(window)]
    check_equal(kinds, ["scatter3d"], "the kind of plot", "three columns make it 3-D")
    mine = torch.tensor([traces(window)[0][axis] for axis in "xyz"]).T
    check_seen(mine, about["cloud"].cpu(), "the points", {})


@ends_in_notebook
def check_spikes(window, steps, about) -> None:
    heights = traces(window)[0]["y"]
    check_equal(
        heights[:3:2],
        [0.0, None],
        "the foot of a spike, and the gap behind it (is it a stem plot?)",
    )
    check_seen(torch.tensor(heights[1::3]), about["spikes"].cpu(), "the heights", {})


@ends_in_notebook
def check_heat(window, steps, about) -> None:
    check_equal(traces(window)[0]["type"], "heatmap", "the kind of plot")
    slips = {
        "upside down": about["confusion"].cpu().flip(0),
        "transposed": about["confusion"].cpu().T,
        "divided by the sums of its rows; the numbers as they are": (
            about["confusion"].cpu() / about["confusion"].cpu().sum(1, keepdim=True)
        ),
        "divided by their sum; the numbers as they are": (
            about["confusion"].cpu() / about["confusion"].cpu().sum()
        ),
    }
    check_seen(torch.tensor(traces(window)[0]["z"]), about["confusion"].cpu(), "the numbers", slips)


def _missing(samples: torch.Tensor, picture: torch.Tensor) -> list[int]:
    """Which samples (batch, 3, height, width) are nowhere in a picture (3, height, width)."""

    def flat(patches: torch.Tensor) -> torch.Tensor:  # brightness and contrast are free
        patches = patches.double() - patches.double().mean(1, keepdim=True)
        return patches / patches.norm(dim=1, keepdim=True).clamp(min=1e-9)

    windows = F.unfold(picture[None], samples.shape[-2:])[0].T  # (place, number of a window)
    alike = (flat(samples.flatten(1)) @ flat(windows).T).amax(1)
    return (alike < 0.95).nonzero().flatten().tolist()


@ends_in_notebook
def check_samples(window, steps, about) -> None:
    from PIL import Image

    code = base64.b64decode(window["content"]["src"].partition(",")[2])
    picture = np.asarray(Image.open(io.BytesIO(code)).convert("RGB"))
    height, width, _ = picture.shape
    batch, _, h, w = about["samples"].shape
    assert width * height >= batch * h * w, (
        f"a picture of {width} x {height} can't hold {batch} images, and all are asked for"
    )
    gone = _missing(about["samples"].cpu(), torch.tensor(picture).permute(2, 0, 1).float())
    more = f" and {len(gone) - 6} more" * (len(gone) > 6)
    words = f"samples {gone[:6]}{more} are not in the picture: all {batch} are asked for"
    assert not gone, words


@ends_in_notebook
def check_note(window, steps, about) -> None:
    check_equal(window["content"], about["note"], "the text")


KINDS = {
    "loss": "a plot (line)", "map": "a plot (scatter)", "cloud": "a plot (scatter)",
    "spikes": "a plot (stem)", "confusion": "a plot (heatmap)", "samples": "images",
    "note": "text",
}  # fmt: skip
WINDOWS = {
    "loss": check_loss, "map": check_scatter, "cloud": check_cloud, "spikes": check_spikes,
    "confusion": check_heat, "samples": check_samples, "note": check_note,
}  # fmt: skip
