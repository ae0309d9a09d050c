"""SGD written by hand, step by step and as an optimizer."""

from __future__ import annotations

import copy
import traceback
from typing import Any, cast

import torch
import torch.nn as nn

from course_utils.chapters.optimizers.sgd_slips import CLOSURE_KINDS, KINDS, SGD_SLIPS
from course_utils.chapters.optimizers.sgd_small import run_small
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close, check_copied
from course_utils.learner.devices import device


def told(actual, right, what, slips, atol=1e-4, near=None):
    """Refuse a number that is not the right one, with the words of the slip that gives it.

    ``near`` is how close a slip's number has to lie: ``atol``, unless that is wide.
    """
    near = atol if near is None else near
    assert actual is not None, f"{what} is None: is there an answer yet?"
    got = actual.item() if isinstance(actual, torch.Tensor) and actual.numel() == 1 else actual
    assert isinstance(got, (int, float)), f"{what} is of type {type(got).__name__}, not a number"
    if abs(got - right) > atol or got != got:
        known = {number: said for number, said in slips.items() if number != "nan"}
        words = [said for number, said in known.items() if abs(number - got) <= near]
        words = list(dict.fromkeys(words))
        words += [slips["nan"]] if got != got and "nan" in slips else []
        raise AssertionError(
            f"{what}: expected {right:g}, got {got:.5g}. {' '.join(words)}".strip()
        )


def pair_of(answer, what):
    """A pair, or words for what came instead."""
    assert answer is not None, f"{what} returned None: is there an answer yet?"
    kind = type(answer).__name__
    pair = isinstance(answer, (tuple, list)) and len(answer) == 2
    assert pair, f"{what} returned {kind}, expected a pair"
    assert isinstance(answer[0], torch.Tensor), f"{what}: the first of the pair is no tensor"
    return answer


RUNNING = "Momentum is a sum; this is a running mean."


AHEAD = "That is momentum without the look ahead. Nesterov takes the new buffer, not the old one."


UP = "the step goes uphill."


INSIDE = "the rate is inside the buffer: only the step is multiplied by it."


SGD_CASES = {  # the old buffer, the options, the new p, the new buffer, and known slips by their p
    "a plain step": (None, {}, 2.9, None, {3.1: UP}),
    "a plain step, lr 0.5": (
        None,
        {"lr": 0.5},
        2.5,
        None,
        {2.9: "lr is the argument's, not always 0.1."},
    ),
    "a plain step with decay 0.25": (
        None,
        {"weight_decay": 0.25},
        2.825,
        None,
        {2.9: "weight_decay is left out."},
    ),
    "a first step with momentum and decay 0.25": (
        None,
        {"momentum": 0.5, "weight_decay": 0.25},
        2.825,
        1.75,
        {2.9: "weight_decay is left out: the first buffer is the gradient with the decay in it."},
    ),
    "a later step, momentum 0.5": (
        2,
        {"momentum": 0.5},
        2.8,
        2,
        {2.85: RUNNING},
    ),
    "a later step, momentum 0.05": (2, {"momentum": 0.05}, 2.89, 1.1, {2.9: "0.05 is momentum."}),
    "a first step with dampening 0.5": (
        None,
        {"momentum": 0.5, "dampening": 0.5},
        2.9,
        1,
        {2.95: "the first buffer is the gradient itself, undamped."},
    ),
    "a later step with dampening 0.5": (
        2,
        {"momentum": 0.5, "dampening": 0.5},
        2.85,
        1.5,
        {2.8: "dampening is left out."},
    ),
    "a later step with dampening 0.5, whose buffer is 0": (
        0,
        {"momentum": 0.5, "dampening": 0.5},
        2.95,
        0.5,
        {2.9: "a buffer of zeros isn't None: only the very first gradient is undamped."},
    ),
    "a later step, lr 0": (2, {"momentum": 0.5, "lr": 0.0}, 3.0, 2, {}),
    "a first Nesterov step": (None, {"momentum": 0.5, "nesterov": True}, 2.85, 1, {2.9: AHEAD}),
    "a later Nesterov step": (
        4,
        {"momentum": 0.5, "nesterov": True},
        2.75,
        3,
        {2.7: AHEAD, 2.8: AHEAD},
    ),
    "a later Nesterov step with decay 0.25": (
        4,
        {"momentum": 0.5, "nesterov": True, "weight_decay": 0.25},
        2.6375,
        3.75,
        {
            2.7125: "the look ahead adds the gradient with the decay in it, as the buffer does.",
            2.75: "weight_decay is left out.",
        },
    ),
    "a later step with dampening 0.5 and decay 0.25": (
        2,
        {"momentum": 0.5, "dampening": 0.5, "weight_decay": 0.25},
        2.8125,
        1.875,
        {
            2.775: "the decay is a part of the gradient, and is damped with it.",
            2.85: "weight_decay is left out.",
        },
    ),
    "a later step with decay 0.25": (
        2,
        {"momentum": 0.5, "weight_decay": 0.25},
        2.725,
        2.75,
        {2.8: "weight_decay is left out."},
    ),
}


def check_sgd_step(answer, name, dtype):
    """One of the cases above, with p = 3 and grad = 1, in tensors of two rows."""
    buffer, options, p, b, slips = SGD_CASES[name]
    x, g = (torch.full((2, 1), value, dtype=dtype, device=device) for value in (3.0, 1.0))
    old = None if buffer is None else torch.full_like(x, buffer)
    with forbid_changes(x, g, *([] if old is None else [old])):
        new, found = pair_of(answer(x, g, old, **{"lr": 0.1, **options}), "sgd_family")
    told(new[0], p, "the new p", {**slips, **_rate_inside(p, buffer, **options)})
    check_close(new, torch.full_like(x, p), "the new p")
    if b is None:
        assert found is None, "without momentum there is no buffer: expected None for it"
    else:
        check_copied(found, g, "the new buffer, beside grad,")
        words = "p is right, but the decay belongs to the gradient before it enters the buffer."
        known = {2: words, 1: words} if "weight_decay" in options else {}
        told(found[0], b, "the new buffer", {0.1 * b: INSIDE, **known})
        check_close(found, torch.full_like(x, b), "the new buffer")


def _rate_inside(right, buffer, lr=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=0):
    """The p at which a rate inside of the buffer ends, where that isn't the right one."""
    g = lr * (1 + 3 * weight_decay)
    new = g if buffer is None else momentum * buffer + (1 - dampening) * g
    p = 3 - (g + momentum * new if nesterov else new)
    return {p: INSIDE} if momentum and abs(p - right) > 1e-3 else {}


def run_sgd(kind, steps, cut=None, by_closure=False, keep=True, slip="", **options):
    """Two groups of two parameters (one never has a gradient); new from its state at step cut.

    A third group joins by add_param_group after the first step; its parameter requires no gradient
    and has a .grad. The last parameter is a transposed one.
    The second parameter of the first group has its first gradient in the third step. Every third
    step all gradients are zeros. The second group has options of its own. After five
    steps all groups get half their rate and momentum, as from a scheduler. ``slip`` makes torch's
    optimizer do what a known slip does.
    """
    draw = torch.Generator().manual_seed(1)
    shapes = ((3,), (2, 2), (2,), (3, 2))
    tensors = [torch.randn(s, generator=draw, dtype=torch.float64).to(device) for s in shapes]
    tensors[3] = tensors[3].t()
    a, b, idle, c = cast(Any, map(nn.Parameter, tensors))
    late = nn.Parameter(torch.ones_like(tensors[0]), requires_grad=False)  # it has a .grad, though

    second = {"params": [idle, b]}
    if slip not in ("the defaults", "the first group", "the defaults' rate"):
        second["lr"] = 0.02
    if slip not in ("the defaults", "the first group", "the defaults' momentum"):
        second |= {"momentum": options["momentum"] / 2} if options.get("momentum") else {}

    def make():
        return kind([{"params": [a, c]}, second], lr=0.1, **options)

    def loss():
        nonlocal calls
        calls += 1
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        value = (1 + step % 3) * a.square().sum() / 9 + (b - a[:2]).square().sum() / 5
        if step >= 2:  # until then c has no gradient
            value = value + (c - 1).square().sum() / 7
        value = value * (step % 3 != 1)
        value.backward()
        late.grad = torch.ones_like(late)
        if slip == "zeros skipped" and step % 3 == 1:
            optimizer.zero_grad()
        if slip == "no past":
            optimizer.state.clear()
        return value

    optimizer, calls = make(), 0
    places = [tensor.data_ptr() for tensor in (a, b)]
    for step in range(steps):
        if step == 1:
            optimizer.add_param_group({"params": [late]})
        if step == 5 and slip not in ("the first rate", "the defaults"):
            for group in optimizer.param_groups:
                group["initial_lr"] = group["lr"]  # as a scheduler notes it
                group["lr"] /= 1 if slip == "the defaults' rate" else 2
                bound = slip in ("the defaults' momentum", "the first momentum")
                if group["momentum"] and not bound:
                    group["momentum"] /= 2
        if step == cut:
            state, optimizer = copy.deepcopy(optimizer.state_dict()), make()
            optimizer.add_param_group({"params": [late]})
            optimizer.load_state_dict(state if keep else {**state, "state": {}})
        if by_closure:
            value = optimizer.step(loss)
            times = calls - step
            assert times == 1, f"step called the closure {times} times: once is asked for"
            assert value is not None, (
                "step(closure) returned None: return what the closure returned"
            )
            words = "return the loss itself, as the closure gave it"
            assert isinstance(value, torch.Tensor), (
                f"step(closure) returned a {type(value).__name__}: {words}"
            )
            assert value.requires_grad, f"step(closure) returned something else: {words}"
        else:
            loss()
            before = None if a.grad is None else a.grad.clone()
            value = optimizer.step()
            assert value is None, f"step() without a closure returned {value!r}, expected None"
            same = before is None or (a.grad is not None and torch.equal(a.grad, before))
            assert same, "step() changed .grad"
    assert places == [tensor.data_ptr() for tensor in (a, b)], (
        "a parameter has other memory now (.data = …?): whoever held a view of it sees old "
        "numbers; write into it, by copy_ or by operators in place"
    )
    if options.get("momentum") and steps:
        kept = [bool(optimizer.state.get(part)) for part in (a, c, b)]
        assert not any(kept) or all(kept), (
            "only some of the parameters have a buffer in self.state: go through all groups and "
            "all of their parameters, and skip one without .grad by continue, not by break"
        )
        assert all(kept), (
            "the buffers are not in self.state: self.state[p] is a dict for what belongs to p"
        )
    return [tensor.detach().clone() for tensor in (a, c, b, late, idle)]


def check_sgd_run(found, steps, options):
    """Compare with torch.optim.SGD, and with what known slips of an optimizer give."""
    right = run_sgd(torch.optim.SGD, steps, **options)
    start = run_sgd(torch.optim.SGD, 0)
    idle = found.pop() - right.pop()
    assert not idle.any(), (
        "a parameter without a gradient was moved: skip those whose .grad is None"
    )
    every = list(zip(found, right, start, (1, 1, 2, 3), strict=False))
    for actual, expected, before, which in every:
        if torch.equal(actual, before) and not torch.equal(expected, before):
            assert which < 3, (
                "a parameter has a .grad and doesn't move: it joined by add_param_group, and its "
                "requires_grad is False; go through self.param_groups, and ask for .grad alone"
            )
            raise AssertionError(
                f"a parameter of group {which} has moved nothing: is there an answer yet, and "
                "does step() write into p itself?"
            )
    for place, (actual, expected, _, which) in enumerate(every):
        words = " (each group has its own lr and momentum)" if which == 2 else ""
        try:
            check_close(actual, expected, f"a parameter of group {which}{words}", rtol=1e-6)
        except AssertionError:
            # Only now: the runs with slips take seconds, and right answers need none of them.
            check_slips(actual, expected, place, steps, options)
            raise
        near = f"a parameter of group {which} is near, but rounded on the way: is a buffer float32?"
        assert torch.allclose(actual, expected, rtol=1e-9, atol=1e-12), near


def check_slips(actual, expected, place, steps, options):
    """Refuse a parameter that came out as a known slip of an optimizer leaves it."""

    def is_found(kind, **how):
        wrong = run_sgd(kind, steps, **how, **options)[place]
        differs = not torch.allclose(wrong, expected, rtol=1e-6, atol=1e-9)
        return differs and torch.allclose(actual, wrong, rtol=1e-6, atol=1e-9)

    if options.get("cut"):
        assert not is_found(torch.optim.SGD, keep=False), (
            "the run goes elsewhere from there on: the buffers are not in self.state"
        )
    for slip, said in SGD_SLIPS.items():
        assert not is_found(torch.optim.SGD, slip=slip), said
    more = CLOSURE_KINDS if options.get("by_closure") else {}
    for said, kind in {**more, **KINDS}.items():
        assert not is_found(kind), said


def run_sgd_with(Sgd, steps, cut=None, by_closure=False, small=False, **options):
    """The parameters after these steps of the learner's Sgd; or with ``small`` of rare shapes."""
    try:
        if small:
            return run_small(Sgd, **options)
        return run_sgd(Sgd, steps, cut, by_closure, **options)
    except (KeyError, IndexError) as error:
        if any(frame.name == "state_dict" for frame in traceback.extract_tb(error.__traceback__)):
            words = "does self.state have keys that are no parameters of a group?"
            raise AssertionError(f"state_dict() failed: {words}") from None
        if "differentiable" in str(error):
            words = "load_state_dict adds 'differentiable' to self.defaults: name the five options"
            raise AssertionError(f"step() raised KeyError: {error}: {words}") from None
        if "0-dim" in str(error):
            words = (
                "a parameter may have no dimensions: p.copy_ writes into any shape, p[:] doesn't"
            )
            raise AssertionError(f"step() raised IndexError: {error} {words}") from None
        # A number is an id, which is another one in each run.
        told = "" if str(error).isdigit() else f": {error}"
        words = (
            f"step() raised {type(error).__name__}{told}. A group may join later, by "
            "add_param_group, and options may change: read them from the group anew in each step"
        )
        raise AssertionError(words) from None
    except TypeError as error:
        added = [name for name in ("initial_lr", "max_lr") if f"argument '{name}'" in str(error)]
        if not added:
            raise
        words = f"a scheduler adds {added[0]} to each group: hand over those options that are meant"
        raise AssertionError(f"{error}: {words}") from None
    except RuntimeError as error:
        if by_closure and "does not require grad" in str(error):
            words = "the closure ran without gradients: wrap it in torch.enable_grad()"
            raise AssertionError(words) from None
        if "Boolean value" in str(error):
            words = (
                "a tensor was asked for true or false: ask whether it is None; and the keys of "
                "self.state are the parameters themselves, not their id"
            )
            raise AssertionError(words) from None
        if "must match the size" in str(error) or "the broadcast shape" in str(error):
            words = (
                "a buffer met another parameter's size: keep it in self.state[p], under p itself"
            )
            raise AssertionError(words) from None
        raise
