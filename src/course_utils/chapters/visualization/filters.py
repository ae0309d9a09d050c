"""Exercise ``filters-and-features``: filters, maps and a dream."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
import torch.nn as nn

from course_utils.chapters.visualization.comparing import (
    FAILED,
    Before,
    as_somebody_left_it,
    check_left,
    check_seen,
    kept_from_before,
    on_cpu,
    tried,
)
from course_utils.learner.changes import forbid_changes
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook

FAINT = "a faint filter, a faint gradient"
FAINTER = "a gradient below 1e-12"
DOUBLE = "two layers in float64"
SHORT = "a small rate, in float64"


def make_filters(kind: str) -> nn.Sequential:
    torch.manual_seed(5)
    if kind == "the example":
        model = nn.Sequential(nn.Conv2d(1, 1, (1, 2), bias=False))
        nn.init.constant_(model.get_parameter("0.weight"), 3.0)
        with torch.no_grad():
            model.get_parameter("0.weight")[..., 1] = 4
        return model.to(device).eval()
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.ReLU(inplace=True), nn.Conv2d(4, 3, 3, stride=2), nn.Softplus()
    )
    with torch.no_grad():
        model.get_parameter("0.weight")[1] = 0.25  # equal numbers
        model.get_parameter("2.weight")[2] = 0  # this map has no gradient
        if kind == FAINT:
            model.get_parameter("0.weight")[2] *= 1e-12
            model.get_parameter("2.weight")[0] *= 1e-8
        if kind == FAINTER:
            model.get_parameter("2.weight")[0] *= 1e-13
    if kind == "a frozen model":
        del model[3]  # its maps have numbers below 0
    model.requires_grad_(kind != "a frozen model")[0].requires_grad_(False)
    return model.to(device, torch.float64 if kind in (DOUBLE, SHORT) else torch.float32).eval()


def seen_filters(answer: Callable, kind: str, image: torch.Tensor, *arguments) -> tuple:
    """What was returned, and what is not as it was."""
    model, other, again = make_filters(kind), make_filters(kind), []

    def with_weight(x: torch.Tensor, weight: torch.Tensor) -> tuple:
        other.load_state_dict({"0.weight": weight}, strict=False)
        return answer(other, x, *arguments)

    if kind == "a frozen model":
        again = kept_from_before(with_weight, image, model.get_parameter("0.weight"))
    before = Before(as_somebody_left_it(model))
    result = answer(model, image, *arguments)
    left = before.changes() + again
    if image.requires_grad:
        left.append("the image needs a gradient now: let a copy need it")
    named = zip(ASKED, result or (), strict=False)
    graph = [name for name, r in named if isinstance(r, torch.Tensor) and r.requires_grad]
    return on_cpu(result), left + [f"a result hangs on a graph: {', '.join(graph)}"] * bool(graph)


def _each_by_its_norm(g: torch.Tensor) -> torch.Tensor:
    """Each channel of a gradient (channel, height, width) divided by its own norm."""
    norms = g.flatten(1).norm(dim=1)[:, None, None]
    return g / norms.where(norms > 0, 1)


def climb(
    model, image, channel, steps, rate, sign=1, unit=True, low=0, whole=False, once=False,
    most=False, signs=False, apart=False, squared=False,
):  # fmt: skip
    """The dream; the last arguments are for known slips."""
    x = image.detach()
    for n in range(steps):
        x = x.clone().requires_grad_()
        if n == 0 or not once:
            y = model(x[None])[0]
            y = y.square() if squared else y
            goal = y.mean() if whole else y[channel].max() if most else y[channel].mean()
            (g,) = torch.autograd.grad(goal, x)
        g = g.sign() if signs else _each_by_its_norm(g) if apart else g
        length = unit(g) if callable(unit) else g.norm() if unit else torch.ones(())
        length = torch.ones(()) if signs or apart else length
        x = x.detach() + sign * rate * (g / length if length > 0 else 0)
        x = low(x) if callable(low) else x.clamp(0, 1) if low is not None else x
    return x.detach()


ASKED = {
    "filters": "filters (each less its smallest number, divided by its range)",
    "maps": "maps (the model's output for the image)",
    "dream": "dream (the image after all steps, each of length rate, cut off at 0 and 1)",
}


@ends_in_notebook
def check_filters(case, attempt, kind, image, channel, steps, rate):
    model = make_filters(kind)
    image = image.to(device, next(iter(model.parameters())).dtype)
    with forbid_changes(image):
        found = tried(case, f"{kind}, {steps} steps", attempt, kind, image, channel, steps, rate)
    if found is FAILED:
        return
    result, left = found
    ok = isinstance(result, (tuple, list)) and len(result) == 3
    assert ok, f"{result!r} is not (filters, maps, dream): is there an answer yet?"
    w = model.get_parameter("0.weight").detach()
    run_it = functools.partial(climb, model, image, channel, steps)
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    truth = [
        (w - low) / (high - low).where(high > low, 1),
        model(image[None])[0].detach(),
        run_it(rate),
    ]
    lows, highs = w.amin((2, 3), keepdim=True), w.amax((2, 3), keepdim=True)
    nothing = "NaN, from 0 / 0: "
    slips = [
        {
            "a filter has one range, over all its input channels": (w - lows)
            / (highs - lows).where(highs > lows, 1),
            "each filter has its own range, not all together": (w - w.min()) / (w.max() - w.min()),
            "the weights as they are; stretch them": w,
            "divided by its largest number: subtract the smallest first": (
                w / torch.where(high > low, high, 1) * (high > low)
            ),
            "its smallest number was subtracted; divide by its range, too": w - low,
            "a filter of small numbers is stretched, too: by its range as it is, to which nothing "
            "is added, and which has no least value": (w - low) / (high - low + 1e-8),
            "a filter of equal numbers becomes 0": ((w - low) / (high - low)).nan_to_num(1),
            "a filter of equal numbers becomes 0, not a half": (
                (w - low) / (high - low).where(high > low, 1)
            ).where(high > low, 0.5),
            "a filter of equal numbers becomes 0, whatever they are": (
                (w - low) / (high - low).where(high > low, 1)
            ).where(high > low, w),
            "each filter, p[i], has its own range, not each input channel over all filters": (
                (w - w.amin((0, 2, 3), keepdim=True))
                / (w.amax((0, 2, 3), keepdim=True) - w.amin((0, 2, 3), keepdim=True))
            ),
            "mean 0 and standard deviation 1; from 0 to 1 is asked for": (
                (w - w.mean((1, 2, 3), keepdim=True)) / w.std((1, 2, 3), keepdim=True)
            ).nan_to_num(0, 0, 0),
            "from -1 to 1; from 0 to 1 is asked for": (
                2 * (w - low) / (high - low).where(high > low, 1) - 1
            ),
        },
        {
            "the maps of the first layer; the model's output is asked for": model[0](image[None])[
                0
            ].detach(),
            "the model's output as it is, without a ReLU behind it": (
                model(image[None])[0].detach().relu()
            ),
            "those are the maps of the dream; the image's are asked for": (
                model(run_it(rate)[None])[0].detach()
            ),
        },
        {
            "downhill: climb": run_it(rate, sign=-1),
            "the gradient was not divided by its norm": run_it(rate, unit=False),
            "the norm is the root of the sum of squares, not the largest entry": run_it(
                rate, unit=lambda g: g.abs().max()
            ),
            "the 1-norm of the gradient; the root of the sum of squares is asked for": run_it(
                rate, unit=lambda g: g.abs().sum()
            ),
            "the signs of the gradient, without its sizes": run_it(rate, signs=True),
            "the gradient of the map's mean, not of its largest number": run_it(rate, most=True),
            "the gradient of the map's mean, not of the mean of its squares": run_it(
                rate, squared=True
            ),
            "divided by 1e-12 at least, as F.normalize does: divide by the norm itself": run_it(
                rate, unit=lambda g: g.norm().clamp(min=1e-12)
            ),
            "one norm for the whole gradient, not one for each channel of the image": run_it(
                rate, apart=True
            ),
            "cut off at 0 and 1 after each step": run_it(rate, low=None),
            "cut off after each step, not only at the end": run_it(rate, low=None).clamp(0, 1),
            "cut off at 1 as well, not only at 0": run_it(rate, low=lambda x: x.clamp(min=0)),
            "cut off at 0 as well, not only at 1": run_it(rate, low=lambda x: x.clamp(max=1)),
            "the norm is the root of the sum of squares, not of their mean": run_it(
                rate, unit=lambda g: g.square().mean().sqrt()
            ),
            "the gradient of one map, not of all": run_it(rate, whole=True),
            "nothing is added to the norm: a faint gradient has a direction, too": run_it(
                rate, unit=lambda g: g.norm() + 1e-8
            ),
            "cut off at 0 and 1: it was stretched from 0 to 1": run_it(
                rate, low=lambda x: (x - x.min()) / (x.max() - x.min())
            ),
            "cut off at 0 and 1: it was wrapped round": run_it(rate, low=lambda x: x.remainder(1)),
            "one step too many": climb(model, image, channel, steps + 1, rate),
            "a new gradient for each step, where the image is by then": run_it(rate, once=True),
            "where the gradient is 0, the image stays as it is": 0 * image,
            "each step is divided by its own gradient's norm, not by the first one's": run_it(
                rate, unit=lambda g, kept=[]: kept.append(g.norm()) or kept[0]
            ),
            "one step only": climb(model, image, channel, 1, rate),
            "the image as it was": image,
        },
    ]
    others = set(range(len(truth[1]))) - {channel}
    for other in () if kind in (FAINT, FAINTER, SHORT) else others:
        told = f"the gradient of map {other}; that of map {channel} is asked for"
        slips[2][told] = climb(model, image, other, steps, rate)
    if kind in (FAINT, FAINTER):  # an undivided step is no step here
        del slips[2]["the gradient was not divided by its norm"]
        still = slips[2].pop("the image as it was")
        slips[2]["it did not move: a step has the length rate, however faint the gradient"] = still
    if kind == SHORT:
        early = f"{steps} steps are asked for, however little each of them changes: it "
        slips[2][early + "stopped after the first"] = slips[2].pop("one step only")
        slips[2][early + "did not move at all"] = slips[2].pop("the image as it was")
    for name, mine, right, words in zip(
        ("filters", "maps", "dream"), result, truth, slips, strict=True
    ):
        with case(f"{kind}, {steps} steps: {name}"):
            words = {w: s.cpu() for w, s in words.items()}
            why = {"filters": "a filter of equal numbers", "dream": "where the gradient is 0"}
            is_nan = isinstance(mine, torch.Tensor) and mine.isnan().any()
            assert not (is_nan and name in why), f"{name}: {nothing}{why.get(name)}"
            with_batch = getattr(mine, "shape", None) == (1, *right.shape)
            assert not with_batch, f"{name}: without the dimension of the batch"
            theirs = getattr(mine, "dtype", right.dtype)
            own = f"{name}: {theirs} came back; of a model in {right.dtype} it is that, too"
            assert theirs == right.dtype, own
            rtol, atol = (0, 1e-12) if kind == SHORT and name == "dream" else (1e-3, 1e-4)
            check_seen(mine, right.cpu(), ASKED[name], words, rtol, atol)
    with case(f"{kind}: model and image afterwards"):
        check_left(left)
