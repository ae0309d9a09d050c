"""Adam's family: the cases of its exercise, and torch's own steps."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn as nn

from course_utils.chapters.optimizers.adam_slips import slips_of
from course_utils.chapters.optimizers.steps import pair_of
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close, check_copied
from course_utils.learner.devices import device
from course_utils.learner.other_states import check_states

ADAM_OPTIONS = {"plain": {}, "weight_decay 0.5": {"weight_decay": 0.5}, "eps 0.5": {"eps": 0.5}}


FORGETS = "the state is forgotten from step to step."


NAN = {"nan": "Is 0 / 0 in it? The first step is step 1, and 1 - beta ** 0 is 0."}


# p after three steps: for each kind and options the right one, and slips that forget or add a part
ADAM_CASES = {
    ("rmsprop", "plain"): (0.6453, {0.8209: "RMSprop has no m.", 0.6838: FORGETS}),
    ("rmsprop", "weight_decay 0.5"): (0.5728, {}),
    ("rmsprop", "eps 0.5"): (0.8016, {0.7906: FORGETS}),
    ("adam", "plain"): (0.7667, {0.9: FORGETS}),
    ("adam", "weight_decay 0.5"): (0.7417, {0.7: FORGETS}),
    ("adam", "eps 0.5"): (0.8236, {}),
    ("amsgrad", "plain"): (0.7714, {0.9: FORGETS}),
    ("amsgrad", "weight_decay 0.5"): (0.7451, {}),
    ("amsgrad", "eps 0.5"): (0.826, {}),
    ("adamw", "plain"): (0.7667, {0.9: FORGETS}),
    ("adamw", "weight_decay 0.5"): (0.6379, {}),
    ("adamw", "eps 0.5"): (0.8236, {}),
}


ADAM_CASES = {
    (kind, name): (right, {**slips_of(kind, ADAM_OPTIONS[name]), **slips})
    for (kind, name), (right, slips) in ADAM_CASES.items()
}


def _rate(lr, step, halved, resting):
    """The rate of a step, which counts from 0."""
    if resting and step == 1:
        return 0.0
    return lr / 2**step if halved else lr


def torch_adam(
    kind,
    start,
    gradients,
    lr,
    betas,
    eps=1e-8,
    weight_decay=0.0,
    halved=False,
    moved=False,
    resting=False,
):
    """p after these steps of torch's optimizer; with ``halved``, lr is halved after each.

    With ``moved`` somebody adds 1 to p after each step; with ``resting`` the second step's rate
    is 0.
    """
    p = nn.Parameter(start.clone())
    kinds: dict[str, Any] = {"rmsprop": torch.optim.RMSprop, "adamw": torch.optim.AdamW}
    means = {"alpha": betas[1]} if kind == "rmsprop" else {"betas": betas}
    means |= {"amsgrad": True} if kind == "amsgrad" else {}
    options = {"lr": lr, "eps": eps, "weight_decay": weight_decay, **means}
    optimizer = kinds.get(kind, torch.optim.Adam)([p], **options)
    for step, gradient in enumerate(gradients):
        optimizer.param_groups[0]["lr"] = _rate(lr, step, halved, resting)
        p.grad = gradient.clone()
        optimizer.step()
        p.data.add_(float(moved))
    return p.detach()


ANY = "a gradient of zero is a step like any, which p and the state feel"
AS_IT_IS = "no gradient is replaced: what it does to p has to be seen"
A_BETA = "a beta of 0 is a number, and no default stands in for it"
SMALL = "nothing stands below the fraction bar but the root and eps"
GIVEN = "start from the p that is given, which somebody may have moved"
EACH = "each step has its own lr, in the decay too"
RESTS = "a step whose rate is 0 leaves p as it was, and the state feels its gradient all the same"
NONE = "there is nothing to move, and nothing to raise"
TURNED = "strides are none of its business; .view() goes by them"


# The gradients, betas and the rest of runs in which a slip shows that shows nowhere else.
_ODD = {
    "gradients of zero in between": ([2.0, 0.0, 0.0, -0.25], {"weight_decay": 0.5}, ANY),
    "a first gradient of zero": ([0.0, 2.0, 0.5], {}, ANY),
    "an infinite gradient": ([2.0, torch.inf, 0.5], {}, AS_IT_IS),
    "a gradient of NaN": ([torch.nan, 2.0], {}, AS_IT_IS),
    "gradients of a ten-millionth": ([1e-7, 2e-7, -1e-7], {}, SMALL),
    "betas of 0 and 0.9": ([2.0, 0.5, -0.25], {"betas": (0.0, 0.9)}, A_BETA),
    "betas of 0.9 and 0": ([2.0, 0.5, -0.25], {"betas": (0.9, 0.0)}, A_BETA),
    "a p to which 1 is added between two steps": ([2.0, 0.5, -0.25], {"moved": True}, GIVEN),
    "lr halved after each step, with decay": (
        [2.0, 0.5, -0.25],
        {"halved": True, "weight_decay": 0.5},
        EACH,
    ),
    "a rate of 0 in the second step": ([2.0, 0.5, -0.25], {"resting": True}, RESTS),
    "a tensor without elements": ([], {}, NONE),
    "a matrix that was transposed": ([2.0, 0.5, -0.25], {"weight_decay": 0.5}, TURNED),
}


def check_odd_runs(case, trial, start):
    """Compare p with torch's in runs that are rare, each a case of its own."""
    for name, (numbers, options, because) in _ODD.items():
        with case(name):
            for kind in ("rmsprop", "adam", "amsgrad", "adamw"):
                at = start
                if because == TURNED:
                    at = start * torch.tensor([[1.0, 3.0, -2.0], [0.5, 2.0, -1.0]], device=device).T
                gradients = [at * number for number in numbers]
                if not numbers:
                    at = start.new_ones(0, 3)
                    gradients = [at, at]
                elif because == AS_IT_IS:  # beside it an entry that feels nothing of it
                    at = start.new_ones(2)
                    gradients = [torch.stack([one, start]) for one in gradients]
                given = {"lr": 0.1, "betas": (0.8, 0.9), **options}
                right = torch_adam(kind, at, gradients, **given)
                try:
                    found = trial(kind, at, gradients, **given)
                except (RuntimeError, IndexError) as error:
                    words = f"{kind}, gradients {numbers}: raised {error}; {because}"
                    raise AssertionError(words) from error
                assert found.shape == right.shape, f"{kind}: p has shape {tuple(found.shape)}"
                same = torch.allclose(found, right, rtol=1e-6, atol=1e-9, equal_nan=True)
                told = f"{kind}, gradients {numbers}: p is {found.tolist()}"
                assert same, f"{told}, expected {right.tolist()}; {because}"
    for kind in ("adam", "adamw"):  # whoever keeps all gradients takes too long for AMSGrad's
        with case(f"{kind}, three hundred steps"):
            _check_long_run(trial, kind, start)


def _check_long_run(trial, kind, start):
    """Compare p with torch's after three hundred steps; say so where it goes astray late."""
    gradients = [start * ((k % 7 - 2) / 2) for k in range(300)]
    given = {"lr": 0.01, "betas": (0.9, 0.999)}
    found, right = (
        trial(kind, start, gradients, **given),
        torch_adam(kind, start, gradients, **given),
    )
    words = ""
    if not torch.allclose(found, right, rtol=1e-6):
        first = trial(kind, start, gradients[:50], **given)
        if torch.allclose(first, torch_adam(kind, start, gradients[:50], **given), rtol=1e-6):
            words = "after fifty steps it was right: is the bias correction left out, or fixed, "
            words += "from some step on? 1 - 0.999 ** 300 is 0.26, far from 1"
    check_close(found, right, "p", rtol=1e-6, because=words)


def check_adam_run(found, right, kind, gradients, **options):
    """Compare p after many steps with the right one, and its first entry with what slips give."""
    exact = found is not None and found.shape == right.shape
    exact = exact and torch.allclose(found, right, rtol=1e-9, atol=1e-11)
    if found is not None and found.shape == right.shape and not exact:
        first = [gradient.flatten()[0].item() for gradient in gradients]
        far = abs(found.flatten()[0].item() - right.flatten()[0].item())
        value = found.flatten()[0].item()
        slips = slips_of(kind, {"gradients": first, **options}, least=far / 2)
        near = min(1e-7, far / 1000)  # some slips move p by less than float32 would
        words = [said for number, said in slips.items() if abs(number - value) < near]
        assert not words, f"p: {words[0]}"
    check_close(found, right, "p", rtol=1e-5)
    words = "p is near, but rounded on the way: is the state, or a part of the step, float32?"
    assert torch.allclose(found, right, rtol=1e-9, atol=1e-11), words


def check_defaults(trial, start, gradients):
    """Three of Adam's steps with betas, eps and weight_decay left out, beside them given."""
    right = torch_adam("adam", start, gradients, 0.1, (0.9, 0.999))
    given = trial("adam", start, gradients, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    words = "p"
    if given.shape == right.shape and torch.allclose(given, right, rtol=1e-6):
        words = "p (by default the betas are 0.9 and 0.999, eps is 1e-8 and weight_decay 0)"
    found = trial("adam", start, gradients, betas=None)
    if words == "p":
        _name_slips(found, right, "adam", gradients, betas=(0.9, 0.999))
    check_close(found, right, words, rtol=1e-6)


def check_halved(found, kind, start, gradients, lr=0.1, betas=(0.8, 0.9)):
    """Compare p after steps whose rate is halved after each with torch's."""
    right = torch_adam(kind, start, gradients, lr, betas, halved=True)
    constant = torch_adam(kind, start, gradients, lr, betas)
    same = found is not None and found.shape == right.shape and torch.allclose(found, constant)
    assert not same, "lr has changed, and the steps stayed as they were: use the argument's lr"
    _name_slips(found, right, kind, gradients, lr=lr, betas=betas, halved=True)
    check_close(found, right, "p", rtol=1e-6)


def _name_slips(found, right, kind, gradients, **options):
    """Refuse a p that a known slip leads to, in the slip's words."""
    if isinstance(found, torch.Tensor) and found.shape == right.shape == ():
        given = {"gradients": [gradient.item() for gradient in gradients], **options}
        slips = slips_of(kind, given, least=1e-5).items()
        words = [said for number, said in slips if abs(number - found.item()) < 1e-7]
        numbers = f"p: expected {right.item():.6g}, got {found.item():.6g}. "
        assert not words, numbers + words[0]


def run_adam(
    adam_family,
    kind,
    start,
    gradients,
    lr=0.1,
    betas=(0.8, 0.9),
    halved=False,
    beside=False,
    moved=False,
    states=False,
    resting=False,
    **options,
):
    """p after these steps of the learner's function; with ``halved``, lr is halved after each.

    With ``beside`` another tensor is stepped in turn, with a state that is its own. ``betas`` may
    be None: then they are left out. With ``moved`` 1 is added to p after each step; with
    ``resting`` the second step's rate is 0. With ``states`` the first step alone is taken, in other
    states of its tensors.
    """
    options |= {} if betas is None else {"betas": betas}
    if states:

        def first_step(p, grad):
            answer = adam_family(p, grad, {}, kind, lr=lr, **options)
            return pair_of(answer, "adam_family")[0]

        what, but = "adam_family(p, grad, {}, …)", ["old_gradient", "inside_a_graph"]
        return check_states(first_step, start, gradients[0], what=what, but=but)
    (p, state), seen = (start.clone(), {}), []
    other, others = torch.ones_like(start), {}
    for step, given in enumerate(gradients):
        gradient = given.clone()  # another case has it, too
        seen.append(gradient)
        rate = _rate(lr, step, halved, resting)
        if beside:
            answer = adam_family(other, -gradient, others, kind, lr=rate, **options)
            other, others = pair_of(answer, "adam_family")
        with forbid_changes(p, gradient):
            answer = adam_family(p, gradient, state, kind, lr=rate, **options)
        before, (p, state) = p, pair_of(answer, "adam_family")
        assert isinstance(state, dict) or hasattr(state, "items"), (
            f"the state is {state!r}, no dict"
        )
        assert p.shape == start.shape, (
            f"p has shape {tuple(p.shape)}, expected {tuple(start.shape)}"
        )
        assert p.dtype == start.dtype, f"p has dtype {p.dtype}, expected {start.dtype}"
        check_copied(p, before, "the new p, beside the old,")
        p = p.detach() + 1 if moved else p
    same = all(
        torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(seen, gradients, strict=True)
    )
    assert same, "the gradient of an earlier step was changed: put a copy into the state, not it"
    return p.detach()
