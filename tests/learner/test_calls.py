"""What is called is noted by its name, and what a rule forbids is refused in words."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_utils.learner.calls import check_no_loop, check_rules, python_calls, watched

X = torch.tensor([1.0, 2.0])


def refusal(call, *args, **kwargs) -> str:
    with pytest.raises(AssertionError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: F.linear(x, torch.ones(3, 2)), "linear"),
        (lambda x: nn.Linear(2, 3)(x), "linear"),
        (lambda x: nn.GRUCell(2, 3)(x), "gru_cell"),
        (lambda x: F.layer_norm(x, (2,)), "layer_norm"),
    ],
)
def test_what_is_called_is_noted_by_its_name(call, name):
    names = watched(call, X)[1]
    assert name in names


def test_a_gradient_that_is_asked_for_is_noted():
    def answer(x):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(x.square().sum(), x)

    assert "grad" in watched(answer, X)[1]


@pytest.mark.parametrize(
    ("spoil", "changed"),
    [
        (lambda x: x + 1, ""),
        (lambda x: x.add_(1), "its values"),
        (lambda x: x.requires_grad_(), "its requires_grad"),
        (lambda x: setattr(x, "grad", torch.ones_like(x)), "its grad"),
        (lambda x: x.clone().requires_grad_().sum().backward(), ""),
        (lambda x: x.resize_(1), "its values"),
    ],
)
def test_a_changed_argument_is_noted(spoil, changed):
    assert watched(lambda pair: spoil(pair["x"]), {"x": X.clone()})[2] == changed


def test_a_nan_that_stays_is_no_change():
    x = torch.tensor([1.0, float("nan")], requires_grad=True)
    x.grad = torch.tensor([float("nan"), 2.0])
    assert watched(lambda x: x + 1, x)[2] == ""


def test_rules_list_all_that_was_broken():
    check_rules(["add", "linear"], False, "*gru*")
    said = refusal(check_rules, ["gru_cell", "add"], True, "*gru*")
    assert "the answer calls gru_cell" in said
    assert "an argument was changed" in said
    assert "changed (its grad)" in refusal(check_rules, [], "its grad")


def test_python_calls_name_what_ran_and_leaves_no_profiler():
    x = torch.ones(2)
    result, names = python_calls(lambda: torch.func.jvp(torch.sin, (x,), (x,)))
    assert len(result) == 2
    assert names["torch.autograd.forward_ad.make_dual"] == 1
    _, names = python_calls(torch.sin, x)
    assert not any("make_dual" in name for name in names)


def test_a_loop_is_told_by_its_operators_and_by_what_it_takes_out():
    check_no_loop(4, 4)
    assert "4 operations for a few rows, 80 for many" in refusal(check_no_loop, 4, 80)
    assert "tolist, unbind takes the numbers" in refusal(check_no_loop, 4, 4, ["tolist", "unbind"])
