"""One call in other states: each of them finds the slip that it is for, and right answers pass."""

import functools

import pytest
import torch

from course_utils import check_states
from course_utils.learner.other_states import STATES


def center(x):
    return x - x.mean()


def asks_for_gradients(x):
    return center(x) if torch.is_grad_enabled() else x


def asks_for_inference(x):
    return x if torch.is_inference_mode_enabled() else center(x)


def views(x):
    return center(x).view(-1).view(x.shape) + 0 * x.view(-1)[0]


def empties(x):
    x.grad = None
    return center(x)


def asks_whether_a_leaf(x):
    return center(x) if x.is_leaf else x


KEPT = torch.arange(6.0).reshape(2, 3)


def keeps(x):
    return KEPT.expand(2, 3)


remembered = functools.cache(center)


SLIPS = {
    "no_grad": asks_for_gradients,
    "inference_mode": asks_for_inference,
    "gaps": views,
    "old_gradient": empties,
    "inside_a_graph": asks_whether_a_leaf,
    "result_overwritten": keeps,
    "other_numbers": lambda x: remembered(x).clone(),
}


@pytest.fixture
def x():
    return torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("answer", [center, lambda x: [{"a": center(x), "mean": x.mean().item()}]])
def test_right_answers_pass_and_give_their_result(answer, x):
    assert str(check_states(answer, x, what="center(x)")) == str(answer(x))


@pytest.mark.parametrize("state", STATES)
def test_each_state_finds_its_slip_and_names_itself(state, x):
    with pytest.raises(AssertionError) as caught:
        check_states(SLIPS[state], x, what="center(x)")
    assert str(caught.value).startswith(f"center(x) {STATES[state][0]} ")
    assert STATES[state][1] in str(caught.value)


@pytest.mark.parametrize("shape", [(-1, 4), (2, -1)])
def test_a_view_with_gaps_merges_no_two_dimensions(shape):
    cube = torch.arange(24.0).reshape(2, 3, 4)
    with pytest.raises(AssertionError, match=r"gaps in memory.*raised RuntimeError: view size is"):
        check_states(lambda x: x.view(shape).sum(), cube, what="the sum")


@pytest.mark.parametrize("slip", [lambda x: True, lambda x: x.requires_grad])
def test_an_argument_whose_storage_is_gone_is_told_and_not_read(slip, x):
    def frees(x):
        result = center(x)
        if slip(x):
            x.untyped_storage().resize_(0)
        return result

    with pytest.raises(AssertionError, match="its shape, stride or storage"):
        check_states(frees, x, what="center(x)")


@pytest.mark.parametrize("right", [torch.sum, torch.unique, lambda x: x.sum().item()])
@pytest.mark.parametrize("x", [torch.arange(4.0), torch.arange(4), torch.tensor([True, False])])
def test_a_result_that_no_order_changes_is_other_with_other_numbers(right, x):
    with pytest.raises(AssertionError, match="had other numbers the first time gives"):
        check_states(functools.cache(right), x, what="f(x)", but=["result_overwritten"])


def test_other_numbers_may_be_refused():
    def one_apart(x):
        assert bool((x.diff() == 1).all()), "not 1 apart"
        return x[-1] - x[0]

    assert check_states(one_apart, torch.arange(4.0), what="f(x)") == 3


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.float32])
def test_an_argument_may_have_no_dimension(dtype):
    values = {"count": torch.ones((), dtype=dtype), "x": torch.arange(3.0)}
    assert check_states(lambda d: d["x"] + d["count"], values, what="f(d)").tolist() == [1, 2, 3]


def test_without_other_numbers_there_is_no_call_more():
    def calls_of(x):
        calls = []
        check_states(lambda x: x + len(calls) * 0 if calls.append(1) is None else x, x, what="f")
        return len(calls)

    assert calls_of(torch.zeros(3)) + 2 == calls_of(torch.arange(3.0))


def test_a_state_may_be_left_out(x):
    check_states(asks_for_inference, x, what="center(x)", but=["inference_mode"])


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda x: x.mul_(2), "its values"),
        (lambda x: center(x.requires_grad_()), "its requires_grad"),
        (lambda x: setattr(x, "grad", torch.ones_like(x)) or center(x), "its .grad"),
        (lambda x: setattr(x, "mean_is", 3) or center(x), "its .mean_is"),
        (
            lambda x: center(x.detach()) if torch.set_grad_enabled(True) else x,
            "inside torch.no_grad() changes the caller's grad mode",
        ),
        (lambda x: center(x.float()) if x.is_contiguous() else [center(x), 0], "2 values, and 1"),
        (lambda x: KEPT.copy_(center(x).detach()), "changes the result of the first time"),
        (lambda x: x.is_contiguous(), "gives False, and True without"),
        (lambda x: 1.0 if x.is_contiguous() else float("nan"), "gives nan, and 1.0 without"),
        (lambda x: x if x.is_contiguous() else x.double(), "gives a torch.float64 of shape (2, 3)"),
    ],
)
def test_words_say_what_differs(answer, words, x):
    with pytest.raises(AssertionError) as caught:
        check_states(answer, x, what="center(x)")
    assert words in str(caught.value)


def test_arguments_may_be_nested_and_nothing_is_left_behind(x):
    given = {"x": x, "rows": (x.long(), None)}
    check_states(lambda given, times: given["x"] * times + given["rows"][0], given, 3, what="f")
    assert torch.equal(x, torch.arange(6.0).reshape(2, 3))
    assert not x.requires_grad
