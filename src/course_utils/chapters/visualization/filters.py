"""Exercise ``filters-and-features``: filters, maps and a dream."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
import torch.nn as nn

from course_utils.chapters.visualization.comparing import FAILED, check_seen, on_cpu, tried
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook


def make_filters(kind: str) -> nn.Sequential:
    torch.manual_seed(5)
    if kind == "the example":
        model = nn.Sequential(nn.Conv2d(1, 1, (1, 2), bias=False))
        nn.init.constant_(model.get_parameter("0.weight"), 3.0)
        with torch.no_grad():
            model.get_parameter("0.weight")[..., 1] = 4
        return model.to(device).eval()
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Conv2d(4, 3, 3, stride=2), nn.Softplus()
    )
    with torch.no_grad():
        model.get_parameter("0.weight")[1] = 0.25  # equal numbers
        model.get_parameter("2.weight")[2] = 0  # this map has no gradient
    return model.to(device).eval().requires_grad_(kind != "a frozen model")


def seen_filters(answer: Callable, kind: str, image: torch.Tensor, *arguments) -> tuple:
    """What was returned, and what is not as it was."""
    model = make_filters(kind)
    before = [p.detach().clone() for p in model.parameters()]
    result, left = answer(model, image, *arguments), []
    if image.requires_grad:
        left.append("the image needs a gradient now: let a copy need it")
    if not all(map(torch.equal, before, model.parameters())):
        left.append("a weight has changed: stretch a copy")
    if any(p.grad is not None for p in model.parameters()):
        left.append("a parameter has a .grad: take the gradient by the image alone")
    if any(p.requires_grad == (kind == "a frozen model") for p in model.parameters()):
        left.append("requires_grad of a parameter has changed")
    graph = any(isinstance(r, torch.Tensor) and r.requires_grad for r in result or ())
    return on_cpu(result), left + ["a result hangs on a graph"] * graph


def climb(model, image, channel, steps, rate, sign=1, unit=True, low=0, whole=False):
    """The dream; the last arguments are for known slips."""
    x = image.detach()
    for _ in range(steps):
        x = x.clone().requires_grad_()
        y = model(x[None])[0]
        (g,) = torch.autograd.grad((y if whole else y[channel]).mean(), x)
        length = unit(g) if callable(unit) else g.norm() if unit else torch.ones(())
        x = x.detach() + sign * rate * (g / length if length > 0 else 0)
        x = x.clamp(0, 1) if low is not None else x
    return x.detach()


@ends_in_notebook
def check_filters(case, attempt, kind, image, channel, steps, rate):
    image, model = image.to(device), make_filters(kind)
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
        },
        {
            "the maps of the first layer; the model's output is asked for": model[0](image[None])[
                0
            ].detach()
        },
        {
            "downhill: climb": run_it(rate, sign=-1),
            "the gradient was not divided by its norm": run_it(rate, unit=False),
            "the norm is the root of the sum of squares, not the largest entry": run_it(
                rate, unit=lambda g: g.abs().max()
            ),
            "cut off at 0 and 1 after each step": run_it(rate, low=None),
            "cut off after each step, not only at the end": run_it(rate, low=None).clamp(0, 1),
            "the gradient of one map, not of all": run_it(rate, whole=True),
            "one step only": climb(model, image, channel, 1, rate),
            "the image as it was": image,
        },
    ]
    for name, mine, right, words in zip(
        ("filters", "maps", "dream"), result, truth, slips, strict=True
    ):
        with case(f"{kind}, {steps} steps: {name}"):
            words = {w: s.cpu() for w, s in words.items()}
            why = {"filters": "a filter of equal numbers", "dream": "where the gradient is 0"}
            is_nan = isinstance(mine, torch.Tensor) and mine.isnan().any()
            assert not (is_nan and name in why), f"{name}: {nothing}{why.get(name)}"
            check_seen(mine, right.cpu(), name, words, rtol=1e-3, atol=1e-4)
    with case(f"{kind}: model and image afterwards"):
        check_equal(left, [], "what is not as it was")
