"""Exercise ``histograms-that-tell``: histograms of an event file, and dead units."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

from course_utils.chapters.visualization.comparing import (
    FAILED,
    Before,
    as_somebody_left_it,
    check_left,
    check_seen,
    tried,
)
from course_utils.chapters.visualization.trainings import digits
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook


class Scaled(nn.Module):
    """x / 4 + 0.5, written into x."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.div_(4).add_(0.5)


class Rectifier(nn.ReLU):
    """A ReLU by another name."""


class Leaky(nn.ReLU):
    """A class derived from ReLU that puts out a tenth of what is below 0."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return torch.where(input > 0, input, input / 10)


ALONE, NONE = "a ReLU alone", "no ReLU"
BELOW = "a derived ReLU that puts out numbers below 0"
ONE = "one unit, one image, under no_grad"
RAISES = "images too small, so that the model raises"
FAINT_UNITS = "faint units, in float64"
SMALL = (ALONE, NONE, ONE, BELOW, FAINT_UNITS)


def make_small(kind: str) -> nn.Module:
    """A model that is a ReLU itself, one without, one whose ReLUs have a single unit.

    Or one of whose five units the first is dead, the second is never above 0, and the third always
    below; or, in float64, one of whose five is dead, and two put out next to nothing.
    """
    torch.manual_seed(0)
    model = nn.ReLU() if kind == ALONE else nn.Sequential(nn.Flatten(), nn.Linear(64, 5))
    if kind == BELOW:
        layer = nn.Linear(64, 5)
        with torch.no_grad():
            layer.weight[:3], layer.bias[:] = 0, torch.tensor([0.0, 0, -1, 0, 50])
            layer.weight[1:3, 12] = -1  # of a pixel that is 0 in some images, not in the first
        model = nn.Sequential(nn.Flatten(), layer, Leaky())
    if kind == FAINT_UNITS:
        layer = nn.Linear(64, 5).double()
        with torch.no_grad():
            layer.weight[:3], layer.bias[:] = 0, torch.tensor([-1.0, 0, 0, 50, 50])
            layer.weight[1], layer.weight[2] = 1e-30, 1e-60  # the second is 0 in float32
        model = nn.Sequential(nn.Flatten(), layer, nn.ReLU())
    if kind == ONE:
        model = nn.Sequential(nn.Conv2d(1, 1, 3), nn.ReLU(), nn.Flatten(), nn.Linear(36, 1))
        model.extend([nn.ReLU(), nn.Linear(1, 1), nn.ReLU()])
        nn.init.constant_(model.get_parameter("3.bias"), 50)  # lives
        nn.init.constant_(model.get_parameter("5.bias"), -500)
    return as_somebody_left_it(model.to(device).train())


def make_suspect(kind: str) -> nn.Module:
    """A model with dead units; of images (batch, 1, 8, 8). In training mode, one part in eval.

    One unit puts out next to nothing, and lives. The first parameter is frozen; there are somebody
    else's hooks and two old gradients, and where there are convolutions, a module that works in
    place follows each ReLU.
    """
    if kind in SMALL:
        return make_small(kind)
    torch.manual_seed(0)
    dense = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 6), nn.ReLU(), nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2)
    )
    block = nn.Sequential(nn.Conv2d(1, 5, 3), nn.BatchNorm2d(5), nn.ReLU(inplace=True), Scaled())
    conv = nn.Sequential()
    for name, part in {"block": block, "drop": nn.Dropout(0.5), "flat": nn.Flatten()}.items():
        conv.add_module(name, part)
    last = nn.Linear(180, 8), Rectifier(), Scaled(), conv.get_submodule("drop").eval()
    conv.add_module("head", nn.Sequential(*last))  # the dropout belongs to two modules
    with torch.no_grad():
        dense.get_parameter("1.bias")[:2] = -50
        dense.get_parameter("3.bias")[0] = -50
        dense.get_parameter("1.weight")[2] = 1e-30  # faint, as the images are not negative
        dense.get_parameter("1.bias")[2] = 0
        conv.get_parameter("block.1.bias")[3] = -50
        conv.get_parameter("head.0.bias")[:6] = -50
        conv.get_buffer("block.1.running_mean").add_(0.2)
    model = (dense if kind == "dense" else conv).to(device).train()
    conv.get_submodule("drop").eval()
    as_somebody_left_it(model)
    next(iter(model.parameters())).requires_grad_(False)
    list(model.modules())[2].eval()
    return model


def batch_for(kind: str, size: int) -> torch.Tensor:
    """Images (batch, 1, 8, 8), of the dtype of the model."""
    x = digits()[0][:size].clone()
    return x.double() if kind == FAINT_UNITS else x


def _numbers(event) -> tuple:
    value = event.histogram_value
    return event.step, value.min, value.max, value.num, value.sum


def seen_histograms(answer: Callable, kind: str, size: int, step: int) -> dict:
    """What was returned, what is in the event file, and what became of the model."""
    model, found = make_suspect(kind), {}
    x = batch_for(kind, size)
    with tempfile.TemporaryDirectory() as folder, torch.set_grad_enabled(kind != ONE):
        before, writer = Before(model), SummaryWriter(folder)
        try:
            found["shares"] = answer(writer, model, x[..., 1:] if kind == RAISES else x, step)
        except Exception:
            if kind != RAISES:
                raise
        finally:  # its thread must not write into a folder that has gone
            writer.close()
        left = before.changes()
        events = EventAccumulator(folder, size_guidance={"histograms": 0}).Reload()
        for tag in events.Tags()["histograms"]:
            found[tag] = [_numbers(e) for e in events.Histograms(tag)]
    if kind == RAISES:
        return {"left": left}
    found["tensors"] = isinstance(found["shares"], dict) and any(
        isinstance(share, torch.Tensor) for share in found["shares"].values()
    )
    if isinstance(found["shares"], dict):
        found["shares"] = {str(name): float(share) for name, share in found["shares"].items()}
    return found | {"left": left}


def true_histograms(kind: str, size: int) -> tuple[dict, dict]:
    """The tensors behind each tag, and the outputs of each ReLU."""
    model: Any = make_suspect(kind).eval()
    x = batch_for(kind, size)
    with torch.no_grad():
        if kind == NONE:
            outputs = {}
        elif kind == ALONE:
            outputs = {"": model(x)}
        elif kind == ONE:
            outputs = {"1": model[:2](x), "4": model[:5](x), "6": model(x)}
        elif kind in (BELOW, FAINT_UNITS):
            outputs = {"2": model(x)}
        elif kind == "dense":
            outputs = {"2": model[:3](x), "4": model[:5](x)}
        else:
            block, head = (nn.Sequential(*part.children()) for part in (model[0], model[3]))
            outputs = {"block.2": block[:3](x), "head.1": head[:2](block(x).flatten(1))}
    tags = {f"parameters/{name}": p.detach() for name, p in model.named_parameters()}
    return tags | {f"activations/{name}": y for name, y in outputs.items()}, outputs


def by_unit(out: torch.Tensor) -> torch.Tensor:
    """(unit, everything else)."""
    return out.transpose(0, 1).flatten(1)


@ends_in_notebook
def check_shares(shares: dict, outputs: dict, last: str, in_place: bool) -> None:
    """The returned dict: its names, and each share of dead units."""
    words = f"it returned {shares!r}, not a dict: is there an answer yet?"
    assert isinstance(shares, dict), words
    late = "was the loop's variable looked up too late?" if set(shares) == {last} else ""
    inner = "a ReLU inside another module counts, too, and one of a class derived from nn.ReLU"
    inner *= set(shares) < set(outputs)
    if set(outputs) == {""}:
        inner = "the model itself is a ReLU: named_modules() has it, by the name ''"
    check_equal(sorted(shares), sorted(outputs), "the names of the ReLUs", inner or late)
    for name, out in outputs.items():
        dead = by_unit(out == 0).all(1).float().mean()
        slips = {
            "a unit that puts out the same number everywhere lives, unless that is 0": (
                by_unit(out).amax(1) == by_unit(out).amin(1)
            )
            .float()
            .mean(),
            "that is the share of zeros; a unit is dead if all of its outputs are 0": (out == 0)
            .float()
            .mean(),
            "each place of a map was counted as a unit; here a unit is a whole channel": (out == 0)
            .all(0)
            .float()
            .mean(),
            "that is the share of units that are 0 for the first sample; look at all of them": (
                (out[0] == 0).flatten(1).all(1) if out.dim() > 2 else out[0] == 0
            )
            .float()
            .mean(),
            "a unit that puts out numbers below 0 lives: dead is 0 everywhere": (
                (by_unit(out).amax(1) <= 0).float().mean()
            ),
            "a unit whose largest output is 0, and others below 0, lives: dead is 0 everywhere": (
                (by_unit(out).amax(1) == 0).float().mean()
            ),
            "rounded to float32, where numbers as small as 1e-60 are 0; in float64 they aren't": (
                by_unit(out.float() == 0).all(1).float().mean()
            ),
            "that is the share of units that live": 1 - dead,
            "that is the number of dead units, not their share": dead * out.shape[1],
            "a unit that puts out next to nothing lives: compare with 0 itself": (
                by_unit(out).abs().amax(1) < 1e-8
            )
            .float()
            .mean(),
        }
        squeezed = out.squeeze()
        if out.shape[0] == 1 and squeezed.dim() > 1:
            words = "a batch of one image is a batch, too: squeeze() takes away its dimension"
            slips[words] = by_unit(squeezed == 0).all(1).float().mean()
        alive, first = "that is the share of units that live", "0 for the first sample"
        first = next(words for words in slips if first in words)
        if torch.isclose(slips[alive], slips[first]):  # which of the two it was can't be seen here
            slips[f"{alive}, or {first.removeprefix('that is ')}"] = slips.pop(alive)
            del slips[first]
        if not in_place:
            none = "no unit was found dead: look at the ReLU's output, unit by unit"
            slips[none] = torch.zeros(())
        if in_place:
            late = "did a later module that works in place change the output since? keep a copy"
            slips[late] = torch.zeros(())
        check_seen(torch.tensor(shares[name]), dead.cpu(), f"{name}, share of dead units", slips)


@ends_in_notebook
def check_histogram(found: list[tuple], value: torch.Tensor, tag: str, step: int) -> None:
    """One histogram: its steps, and what the file holds of its numbers."""

    def summary(x: torch.Tensor) -> torch.Tensor:
        ends = x.flatten()[:1] if x.numel() == 0 else torch.stack([x.min(), x.max()])
        return torch.tensor([*ends, x.numel(), x.sum()])

    steps = [entry[0] for entry in found]
    why = "logged more than once" if set(steps) == {step} else "hand step to add_histogram"
    check_equal(steps, [step], "its steps", why)
    slips, value = {}, value.double()
    if tag.startswith("activations"):
        slips = {
            "the zeros are missing; all outputs are asked for": summary(value[value > 0]),
            "that is the histogram of the units' largest outputs; all outputs are asked for": (
                summary(by_unit(value).amax(1))
            ),
            "that is a histogram of the units' means; all outputs are asked for": (
                summary(by_unit(value).mean(1))
            ),
            "a later module that works in place has changed it since: keep a copy, or log it in "
            "the hook": summary(value / 4 + 0.5),
        }
    seen = torch.tensor(found[0][1:])
    told = "training mode, or another tensor?" if tag.startswith("activ") else "another tensor?"
    what = f"its minimum, maximum, count and sum ({told})"
    check_seen(seen, summary(value), what, slips, rtol=1e-3, atol=1e-3)


@ends_in_notebook
def check_histograms(case, attempt, kind, size, step):
    found = tried(case, kind, attempt, kind, size, step)
    if found is FAILED:
        return
    if kind == RAISES:
        with case(f"{kind}, the model afterwards"):
            check_left(found["left"], raised=True)
        return
    tags, outputs = true_histograms(kind, size)
    shares, left, tensors = found.pop("shares"), found.pop("left"), found.pop("tensors")
    with case(f"{kind}, what is returned"):
        check_shares(
            shares, outputs, list(dict(make_suspect(kind).named_modules()))[-1], "conv" in kind
        )
        assert not tensors, "a share is a float, and a tensor came back: .item() gives one"
    first = next(iter(tags))
    for tag in sorted(set(tags) | set(found)) if isinstance(shares, dict) else ():
        with case(f"{kind}, {tag}"):
            frozen = tag == first and kind not in SMALL
            why = ": frozen parameters have one, too" if frozen else ""
            assert tag in found, f"the event file has no such histogram{why}"
            assert tag in tags, "the event file has this histogram, which was not asked for"
            check_histogram(found[tag], tags[tag], tag, step)
    with case(f"{kind}, the model afterwards"):
        check_left(left)
