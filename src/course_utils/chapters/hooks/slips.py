"""What known slips make of an answer in the chapter on hooks, so that a check can name them.

Each function returns what is right and, from the words for a misconception, what that leads to; or
the slips alone.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.learner.tracebacks import ends_in_notebook


def reversal(x: Tensor, strength: float, weight: float) -> tuple[Tensor, dict[str, Tensor]]:
    """The gradient of ``sum((y + weight * x) ** 2) / 2`` at x, where y is x, reversed."""
    through, beside = (1 + weight) * x, weight * (1 + weight) * x
    return beside - strength * through, {
        "the gradient is not reversed at all: does the hook return what it computes?": beside
        + through,
        "the gradient through y is multiplied by strength, and the minus is missing": beside
        + strength * through,
        "the gradient through y is negated, whatever the strength": beside - through,
        "what reaches x beside y was reversed as well: a hook sits on x itself, or writes to the "
        "gradient that it is handed": -strength * (through + beside),
        "nothing comes back through y: was it detached?": beside,
    }


def frozen_rows(gradient: Tensor, rows: list[int]) -> tuple[Tensor, dict[str, Tensor]]:
    """A table's gradient when these rows are frozen."""
    frozen = torch.zeros(len(gradient), 1, dtype=torch.bool, device=gradient.device)
    frozen[rows] = True
    counted = torch.zeros_like(frozen)
    counted[[row for row in rows if row >= 0]] = True
    negative = {
        "a negative index counts from the end: -1 is the last row": gradient.masked_fill(counted, 0)
    }
    places = torch.tensor([row % len(gradient) for row in rows], dtype=torch.long)
    named = places.bincount(minlength=len(gradient)).to(gradient)[:, None]
    twice = {
        "a row that is named twice is taken off twice: it is zero all the same": gradient
        * (1 - named)
    }
    known = (negative if min(rows, default=0) < 0 else {}) | (twice if (named > 1).any() else {})
    return gradient.masked_fill(frozen, 0), known | {
        "these rows alone get a gradient: it is they that should stay": gradient.masked_fill(
            ~frozen, 0
        ),
        "every row's gradient is zero. The gradient of a sum is one expanded number: a hook that "
        "writes to it writes to all rows. Return a new tensor": torch.zeros_like(gradient),
        "no row is frozen: does the hook return the new gradient?": gradient,
    }


def norms(grad_output: Tensor, grad_input: Tensor) -> tuple[float, dict[str, float]]:
    """The norm that a monitor should note of one module."""
    right = grad_output.norm().item()
    return right, {
        "this is the norm of the gradient of the module's input": grad_input.norm().item(),
        "this is the squared norm: the root is missing": right**2,
        "this is the mean of the absolute values, not the norm": grad_output.abs().mean().item(),
        "this is the largest absolute value, not the norm": grad_output.abs().max().item(),
        "this is the sum of the absolute values, not the norm": grad_output.abs().sum().item(),
        "this is the root of the mean square: the norm does not divide by the number": right
        / grad_output.numel() ** 0.5,
        "this is the largest singular value: one norm goes over all elements": (
            torch.linalg.matrix_norm(grad_output, 2).item()
        ),
        "this is the mean over the rows: one norm goes over all elements": grad_output.norm(dim=-1)
        .mean()
        .item(),
        "this is the sum over the rows: one norm goes over all elements": grad_output.norm(dim=-1)
        .sum()
        .item(),
    }


def heat_maps(
    scores: Callable[[Tensor], Tensor], maps: Tensor, target: int
) -> tuple[Tensor, dict[str, Tensor]]:
    """Grad-CAM's map for one class.

    Args:
        scores: from the layer's maps (1, channels, h, w) to the scores (1, classes).
        maps: what the layer puts out.
        target: the class.
    """
    maps = maps.detach().requires_grad_()
    output = scores(maps)

    def weighted(score: Tensor, signs: Tensor = maps) -> Tensor:
        (gradient,) = torch.autograd.grad(score, maps, retain_graph=True)
        return (gradient.mean(dim=(2, 3), keepdim=True) * signs).detach()

    parts = weighted(output[0, target])
    cam = parts.sum(dim=1)[0]
    right = _scaled(cam.relu())
    (gradient,) = torch.autograd.grad(output[0, target], maps, retain_graph=True)
    small = ", which is small here, and not zero" * bool(0 < cam.amax() < 1e-4)
    slips = {
        "without the relu: what speaks against the class has to become 0": cam / cam.amax(),
        "without the relu: what speaks against the class has to become 0. (divided by the largest "
        "absolute value)": cam / cam.abs().amax(),
        f"the map is not divided by its largest value{small}": cam.relu(),
        "this is the gradient of the softmax's probability: use the score itself, before any "
        "softmax": _scaled(weighted(output.softmax(dim=1)[0, target]).sum(dim=1)[0].relu()),
        "this is the gradient of the log-softmax: use the score itself": _scaled(
            weighted(output.log_softmax(dim=1)[0, target]).sum(dim=1)[0].relu()
        ),
        "the absolute value is not the relu": _scaled(cam.abs()),
        "the relu comes after the sum over the channels, not before it": _scaled(
            parts.relu().sum(dim=1)[0]
        ),
        "it is stretched from its least to its largest value: divide by the largest alone": (
            (cam - cam.amin()) / (cam.amax() - cam.amin()).clamp(min=1e-30)
        ),
        "each place has its own weight here: the weight of a map is the mean of its gradient": (
            _scaled((gradient * maps).sum(dim=1)[0].relu().detach())
        ),
        "the weight of a map is the mean of its gradient, not of the absolute values": _scaled(
            (gradient.abs().mean(dim=(2, 3), keepdim=True) * maps).sum(dim=1)[0].relu().detach()
        ),
        "this is the gradient alone: it should weigh the maps": _scaled(
            gradient.sum(dim=1)[0].relu()
        ),
    }
    if cam.numel() == 1:  # zero says nothing about how it came about
        slips = {words: slip for words, slip in slips.items() if slip.any()}
    if output[0, target] < 0:
        against = _scaled(weighted(-output[0, target]).sum(dim=1)[0].relu())
        negative = "where the score is negative it is taken as it is"
        slips[f"the sign is turned around: {negative}, without an absolute value"] = against
        slips[f"the map is all zeros: {negative}, without a relu"] = torch.zeros_like(cam)
    for other in range(output.shape[1]):
        if other != target:
            heat = _scaled(weighted(output[0, other]).sum(dim=1)[0].relu())
            slips[f"this is the map of class {other}"] = heat
    return right, slips


def _scaled(heat: Tensor) -> Tensor:
    return (heat / heat.amax().clamp(min=1e-30)).detach()


def descent(
    network: nn.Module,
    batches: Iterable[Tensor],
    lr: float,
    momentum: float,
    rule: str = "",
    earlier: Tensor | None = None,
) -> list[list[Tensor]]:
    """All parameters after each batch's ``square().mean().backward()`` and a step of SGD.

    Args:
        network: it is trained.
        batches: inputs.
        lr: learning rate.
        momentum: of the velocity.
        rule: a key of :data:`DESCENTS`, or nothing for the right rule.
        earlier: the batch of a step that was taken before, if there was one.
    """
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    velocities, kept = (
        [torch.zeros_like(p) for p in trained],
        [torch.zeros_like(p) for p in trained],
    )
    weights = []
    if rule == "shape":
        shared: dict[torch.Size, Tensor] = {}
        velocities = [shared.setdefault(p.shape, torch.zeros_like(p)) for p in trained]
    if rule == "earlier" and earlier is not None:
        velocities = torch.autograd.grad(network(earlier).square().mean(), trained)
    for x in batches:
        gradients = torch.autograd.grad(network(x).square().mean(), trained)
        # As backward meets them: the last layer's first.
        for parameter, gradient, velocity, old in reversed(
            list(zip(trained, gradients, velocities, kept, strict=True))
        ):
            if rule == "kept":
                gradient = old.add_(gradient)
            late = rule == "damped later" and len(weights) > 0
            part = 1 - momentum if rule == "damped" or late else 1
            velocity.mul_(0 if rule == "plain" else momentum).add_(part * gradient)
            step = gradient + momentum * velocity if rule == "nesterov" else velocity
            with torch.no_grad():
                parameter.sub_({"uphill": -lr, "no lr": 1}.get(rule, lr) * step)
        weights.append([parameter.detach().clone() for parameter in network.parameters()])
    return weights


DESCENTS = {
    "plain": "the velocity is missing: what is kept from one backward to the next?",
    "damped later": "from the second backward on the gradient is multiplied by (1 - momentum): SGD "
    "adds it whole",
    "no lr": "the step is the velocity itself: it should be lr times that",
    "damped": "the gradient is multiplied by (1 - momentum): SGD adds it whole",
    "nesterov": "the step is lr * (gradient + momentum * velocity), as Nesterov's: subtract lr * "
    "velocity, which is the gradient alone the first time",
    "kept": "the gradients of earlier backwards are added in: set .grad to None after its use",
    "earlier": "the velocities of an earlier call of step_in_backward go on: each has its own",
    "uphill": "the step goes uphill: subtract",
    "shape": "parameters of one shape share a velocity: keep one for each parameter",
}

ORDER_REASONS = {
    "model: forward pre-hook": "it comes before everything inside the model",
    "model: forward hook": "it sees the model's output: all inside is done by then",
    "model: full backward pre-hook": "it needs the gradient of the model's output and no more",
    "model: full backward hook": "it shows the gradient of x, the last of all to be known",
    "a: forward hook": "a is the first layer that runs inside the model",
    "a: full backward pre-hook": "it needs the gradient of h, and h's own hook comes before it",
    "a: full backward hook": "it shows the gradient of a's input: everything inside a is done",
    "b: forward pre-hook": "b runs as soon as a has returned h",
    "b: forward hook": "it sees b's output, before the model has returned",
    "b: full backward pre-hook": "b is the last to run inside the model, so the first on the way "
    "back",
    "b: full backward hook": "it shows the gradient of b's input, not of its output; and what ends "
    "in a parameter goes first",
    "b.weight: tensor hook": "what ends in a parameter goes first",
    "b.weight: post-accumulate hook": "it runs as soon as .grad is filled, not at the very end",
    "h: tensor hook": "h is what a returns and b takes in: whose hooks are on which side of it?",
}


@ends_in_notebook
def check_near(actual: float, expected: float, what: str, slips: Mapping[str, float]) -> None:
    """Check one number to a thousandth, whatever its size; a known slip is called by its name.

    Raises:
        AssertionError: it differs.
    """
    __tracebackhide__ = True

    def near(x: float, y: float) -> bool:
        return abs(x - y) <= 2e-3 * abs(y)

    if near(actual, expected):
        return
    for words, wrong in slips.items():
        if near(actual, wrong) and not near(wrong, expected):
            raise AssertionError(f"{what}: {words}")
    raise AssertionError(f"{what}: expected {expected:.4g}, got {actual:.4g}")


@ends_in_notebook
def check_entries(actual: Mapping, expected: Mapping, of: str, because: str) -> None:
    """Compare two mappings from names to counts and show only what differs.

    Args:
        actual: the learner's.
        expected: the right one.
        of: what is counted, in the plural.
        because: added to the complaint.

    Raises:
        AssertionError: they differ.
    """
    __tracebackhide__ = True
    wrong = [f"{name!r} is missing" for name in expected if name not in actual]
    wrong += [f"{name!r} does not belong here" for name in actual if name not in expected]
    wrong += [
        f"{name!r} has {actual[name]} {of}, expected {count}"
        for name, count in expected.items()
        if name in actual and actual[name] != count
    ]
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise AssertionError(f"{'; '.join(wrong[:3])}{more}: {because}")


def lengths(weight: Tensor) -> dict[str, Tensor]:
    """What known slips make of the length of each output's weights, (out, 1, …)."""
    shape, flat = (len(weight), *[1] * (weight.dim() - 1)), weight.flatten(1)
    return {
        "this is the squared length: the root is missing": flat.square().sum(1).view(shape),
        "this is the largest absolute value, not the length": flat.abs().amax(1).view(shape),
        "this is the sum of the absolute values, not the length": flat.abs().sum(1).view(shape),
        "this is the norm of the whole weight: each output has its own": weight.norm(),
        "each output has the norm of the whole weight: it has its own": weight.norm().expand(shape),
        "the norm is taken over the outputs: it belongs over all the other dimensions": weight.norm(
            dim=0, keepdim=True
        ),
        "the norm is taken over one dimension: it belongs over all but the first": weight.norm(
            dim=1, keepdim=True
        ),
        "the dimensions are gone: keepdim": flat.norm(dim=1),
        "the length is 1: at first it is that of the weight": torch.ones_like(flat[:, 0]).view(
            shape
        ),
        "this is v: right_inverse gives (g, v) in this order": weight,
    }


@ends_in_notebook
def check_log(found: Any, expected: list[str]) -> None:
    """Compare the log of renamed keys, in any order, and show only what differs.

    Raises:
        AssertionError: lines are missing, or there are others.
    """
    __tracebackhide__ = True
    found = list(found)
    missing, more = expected.copy(), []
    for line in found:
        if line in missing:
            missing.remove(line)
        else:
            more.append(line)
    if missing or more:
        words = [f"{len(missing)} lines are missing, such as {missing[0]!r}"] if missing else []
        words += ["at each load, each renamed key adds one"] if missing and not more else []
        words += [f"{len(more)} are not expected, such as {more[0]!r}"] if more else []
        raise AssertionError(f"the log: {'; '.join(words)}")


def patched(donor: nn.Module, model: nn.Module, names: Sequence[str], a: Any, b: Any) -> Tensor:
    """``model(b)`` with these modules' outputs replaced by those that ``donor(a)`` has."""
    kept = {}

    def keep(name):
        return lambda module, args, output: kept.update({name: copy.deepcopy(output)})

    def put(name):
        return lambda *_: kept[name]

    with torch.no_grad():
        with contextlib.ExitStack() as hooks:
            for name in names:
                module = donor.get_submodule(name)
                hooks.enter_context(module.register_forward_hook(keep(name)))
            donor(a)
        with contextlib.ExitStack() as hooks:
            for name in names:
                module = model.get_submodule(name)
                hooks.enter_context(module.register_forward_hook(put(name)))
            return model(b)


def directions(weight: Tensor) -> dict[str, Tensor]:
    """What known slips make of v, which at first is the weight."""
    flat = weight.flatten(1)
    unit = (flat / flat.norm(dim=1, keepdim=True)).view_as(weight)
    return {"it has length 1: at first v is the old weight as it is": unit}
