"""The tools of the chapter on layers: what was called is noted, and slips are called by name."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_utils.learner.byte_counts import bytes_of, saved_bytes
from course_utils.learner.calls import check_no_loop, check_rules, python_calls, watched
from course_utils.learner.layers import draw_curves, dry_run, refused, seeded
from course_utils.learner.values import agrees, check_parts, check_value

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
        (lambda x: x + 1, False),
        (lambda x: x.add_(1), True),
        (lambda x: x.requires_grad_(), True),
        (lambda x: x.clone().requires_grad_().sum().backward(), False),
        (lambda x: x.resize_(1), True),
    ],
)
def test_a_changed_argument_is_noted(spoil, changed):
    assert watched(lambda pair: spoil(pair["x"]), {"x": X.clone()})[2] is changed


def test_rules_list_all_that_was_broken():
    check_rules(["add", "linear"], False, "*gru*")
    said = refusal(check_rules, ["gru_cell", "add"], True, "*gru*")
    assert "the answer calls gru_cell" in said
    assert "an argument was changed" in said


@pytest.mark.parametrize(
    ("result", "words"),
    [(None, "is there one yet"), (X, "a Tensor came back"), ((X,), "1 parts came back")],
)
def test_parts_are_asked_for_in_words(result, words):
    said = refusal(check_parts, result, "y", "mean")
    assert words in said
    assert "expected a tuple (y, mean)" in said
    assert check_parts([X, X], "y", "mean") == [X, X]


def test_a_slip_is_called_by_its_name():
    slips = {"twice too much": 2 * X, "no slip at all": X.clone()}
    check_value(X + 1e-7, X, "y", slips)
    assert refusal(check_value, 2 * X, X, "y", slips) == "y: twice too much"
    assert "expected 1, got 3" in refusal(check_value, 3 * X, X, "y", slips)
    assert "y is None" in refusal(check_value, None, X, "y", slips)
    assert "has dtype torch.float64" in refusal(check_value, X.double(), X, "y", slips)


def test_a_slip_of_rounding_and_one_of_complex_numbers_are_named():
    third = torch.tensor([1 / 3 + 1j], dtype=torch.complex128)
    slips = {"it was rounded": third.to(torch.complex64).to(third.dtype)}
    rounded = slips["it was rounded"]
    assert refusal(check_value, rounded, third, "y", slips, 0, 0) == "y: it was rounded"


def test_python_calls_name_what_ran_and_leaves_no_profiler():
    x = torch.ones(2)
    result, names = python_calls(lambda: torch.func.jvp(torch.sin, (x,), (x,)))
    assert len(result) == 2
    assert names["torch.autograd.forward_ad.make_dual"] == 1
    _, names = python_calls(torch.sin, x)
    assert not any("make_dual" in name for name in names)


def test_bytes_are_counted_once_and_not_those_of_others():
    x, y = torch.ones(4), torch.ones(2)
    assert bytes_of([x, x[1:], {"y": (y, 3)}]) == 24
    assert bytes_of([x, y], without=[x[:1]]) == 8


def test_an_answer_agrees_or_it_does_not_whatever_it_does():
    assert agrees(lambda: X + 1e-7, X)
    assert agrees(lambda: {"a": X, "more": None}, {"a": X})
    assert not agrees(lambda: 2 * X, X)
    assert not agrees(lambda: None, X)
    assert not agrees(lambda: {}, {"a": X})
    assert not agrees(lambda: 1 / 0, X)


def test_what_a_call_raises_is_named():
    assert refused(lambda: 1 / 0) == "ZeroDivisionError"
    assert refused(lambda: 1) == "nothing"


def test_seeded_numbers_repeat_and_leave_the_global_generator_alone():
    state = torch.get_rng_state()
    assert torch.equal(seeded(3)(2, 2), seeded(3)(2, 2))
    assert torch.equal(torch.get_rng_state(), state)


def test_a_dry_run_gives_sizes():
    layers = [{"kind": "conv", "kernel": 5}, {"kind": "pool", "kernel": 2}]
    assert dry_run(layers, 28) == [24, 12]
    assert dry_run([{"kind": "transposed", "kernel": 3, "stride": 2}], 4) == [9]
    assert dry_run(layers, 3) == "ValueError"


def test_saved_bytes_count_each_storage_once():
    x = torch.ones(10, requires_grad=True)
    assert saved_bytes(lambda: x * 2) == 0
    assert saved_bytes(lambda: x.exp()) == 40
    assert saved_bytes(lambda: x * x) == 40


def test_curves_are_drawn_with_words(monkeypatch):
    shown = []
    monkeypatch.setattr(
        "course_utils.learner.layers.show", lambda figure, alt: shown.append((figure, alt))
    )
    draw_curves([1, 2], {"one": [3, 4], "two": [5, 6]}, title="t", labels=("x", "y"), alt="two")
    figure, alt = shown[0]
    assert alt == "two"
    assert [line.get_label() for line in figure.axes[0].lines] == ["one", "two"]


def test_a_loop_is_told_by_its_operators_and_by_what_it_takes_out():
    check_no_loop(4, 4)
    assert "4 operations for a few rows, 80 for many" in refusal(check_no_loop, 4, 80)
    assert "tolist, unbind takes the numbers" in refusal(check_no_loop, 4, 4, ["tolist", "unbind"])
