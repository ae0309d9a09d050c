"""What the chapter on optimizers compares with, and the payoff's own parts."""

import itertools

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

from course_utils.chapters.optimizers import (
    RANGE_CASES,
    check_adam_run,
    library_clip,
    library_groups,
    library_schedule,
    torch_adam,
)
from course_utils.chapters.optimizers.adam_slips import MAX_KEPT, SLIPS, adam_with
from course_utils.chapters.optimizers.range_slips import LINE_SLIPS, range_of_line
from support.mutants import changes_of

RISING = [torch.tensor(g, dtype=torch.float64) for g in (2.0, 0.1, 0.2, 3.0, 0.1)]
OPTIONS = {"lr": 0.1, "betas": (0.8, 0.9)}


@pytest.mark.parametrize("kind", ["rmsprop", "adam", "amsgrad", "adamw"])
def test_without_a_slip_it_steps_as_torch_does(kind):
    start = torch.ones((), dtype=torch.float64)
    right = torch_adam(kind, start, RISING, weight_decay=0.5, **OPTIONS).item()
    numbers = [g.item() for g in RISING]
    assert adam_with("", kind, numbers, weight_decay=0.5, **OPTIONS) == pytest.approx(right)
    assert len(set(SLIPS)) == len(SLIPS)


def test_a_long_run_names_its_slip():
    start = torch.ones((), dtype=torch.float64)
    right = torch_adam("amsgrad", start, RISING, **OPTIONS)
    wrong = adam_with(MAX_KEPT, "amsgrad", [g.item() for g in RISING], **OPTIONS)
    check_adam_run(right, right, "amsgrad", RISING, **OPTIONS)
    with pytest.raises(AssertionError, match="the largest v is beside v"):
        check_adam_run(torch.full_like(right, wrong), right, "amsgrad", RISING, **OPTIONS)


def test_the_librarys_groups_hold_each_free_parameter_once():
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2))
    model[0].weight.requires_grad_(False)
    groups = library_groups(model, "0", 0.1, 0.2)
    decays = {id(p): group["weight_decay"] for group in groups for p in group["params"]}
    expected = {id(p): 0.2 if p.ndim > 1 else 0.0 for p in model.parameters() if p.requires_grad}
    assert decays == expected
    assert sum(len(group["params"]) for group in groups) == len(expected)


def test_the_librarys_schedule_rises_and_falls_in_straight_lines():
    rates = library_schedule(2.0, 4, 12, 0.0)
    assert rates[:5] == pytest.approx([0.5, 1.0, 1.5, 2.0, 2.0])
    assert len(rates) == 12
    falls = [a - b for a, b in itertools.pairwise(rates[4:])]
    assert falls == pytest.approx([0.25] * 7)


def test_the_librarys_clipping_is_that_of_one_batch():
    torch.manual_seed(0)
    model, x, y = nn.Linear(3, 2), torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
    norm = library_clip(model, [(x[:4], y[:4]), (x[4:], y[4:])], 0.01)
    (slope,) = torch.autograd.grad(F.cross_entropy(model(x), y), [model.weight])
    assert torch.allclose(model.weight.grad, slope * 0.01 / norm, rtol=1e-3)


DECAYED = "def f(p, grad, lr, weight_decay):\n    return (1 - lr * weight_decay) * p - lr * grad"


@pytest.mark.parametrize(
    ("source", "operator", "now"),
    [
        ("m = state.get('m', 0)", "state made anew at each step", "m = 0"),
        ("b = self.state[p].get('b')", "state made anew at each step", "b = None"),
        ("m = m / (1 - b ** t)", "the steps not counted", "m = m / (1 - b ** 1)"),
        ("m = a * m + (1 - a) * g", "a sum for a running mean", "m = a * m + g"),
        ("m = a * m + (1 - a) * g", "the past forgotten", "m = (1 - a) * g"),
        (
            "def step(self):\n    self.state[p]['m'] = g",
            "state under the id of its parameter",
            "self.state[id(p)]['m'] = g",
        ),
        (
            "def f(state):\n    return (1, {'m': 2})",
            "state shared by all parameters",
            "state = dict(vars(f))\nreturn (1, vars(f).update({'m': 2}) or dict(vars(f)))",
        ),
        (DECAYED, "decay coupled", "grad = grad + weight_decay * p\nweight_decay = 0"),
        ("x -= group['lr']", "the defaults for the group's options", "x -= self.defaults['lr']"),
    ],
)
def test_an_optimizer_is_changed_as_its_subject_invites(source, operator, now):
    assert (operator, now) in changes_of("11_optimizers", source)


@pytest.mark.parametrize("name", RANGE_CASES)
def test_the_range_test_of_a_line_gives_what_its_cases_say(name):
    start, arguments, (rates, losses, *_) = RANGE_CASES[name]
    found = range_of_line(start, *arguments)
    for mine, right in zip(found, (rates, losses), strict=True):
        assert mine == pytest.approx(right, rel=1e-3, nan_ok=True)


def test_every_slip_of_the_range_test_shows_in_some_case():
    for slip in LINE_SLIPS:
        cases = [(start, arguments) for start, arguments, _ in RANGE_CASES.values()]
        others = [range_of_line(s, *a, slip) for s, a in cases if s == 1.0]
        assert others != [range_of_line(s, *a) for s, a in cases if s == 1.0], slip
