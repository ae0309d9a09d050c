"""Counting and forbidding operators, below autograd and without leaving a mode behind."""

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from course_utils.learner.operators import count_operators, forbid_copies, forbid_operators


@pytest.fixture(autouse=True)
def no_mode_left_behind():
    yield
    assert _get_current_dispatch_mode_stack() == []


def test_what_runs_is_counted_by_name():
    x = torch.arange(6.0).reshape(2, 3)
    with count_operators() as counts:
        x.t().contiguous()
        x.t()
    assert counts == {"t": 2, "clone": 1}
    x.t()
    assert counts == {"t": 2, "clone": 1}
    assert counts["matmul"] == 0


def test_each_block_counts_for_itself_and_an_outer_one_counts_on():
    x = torch.ones(2)
    with count_operators() as outer:
        x + x
        with count_operators() as inner:
            x * x
    assert inner == {"mul": 1}
    assert outer == {"add": 1, "mul": 1}


def test_a_composite_function_is_counted_by_its_parts():
    with count_operators() as counts:
        torch.einsum("bij,bjk->bik", torch.ones(2, 3, 4), torch.ones(2, 4, 5))
    assert counts["bmm"] == 1
    assert "einsum" not in counts


def test_forward_and_backward_are_both_counted():
    x = torch.ones(3, requires_grad=True)
    with count_operators() as counts:
        x.exp().sum().backward()
    assert counts["exp"] == 1
    assert counts["sum"] == 1
    assert counts["mul"] == 1  # the gradient of exp
    torch.testing.assert_close(x.grad, x.detach().exp())


def test_an_operator_of_another_library_carries_its_name():
    with torch.library._scoped_library("course_test", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: 2 * x, "CPU")
        with count_operators() as counts:
            torch.ops.course_test.twice(torch.ones(2))
    assert counts["course_test.twice"] == 1


def test_results_are_untouched():
    x = torch.arange(6.0).reshape(2, 3)
    with count_operators(), forbid_operators("mm"), forbid_copies(up_to=100):
        y = x.t()
        total = (x * 2).sum()
    assert y.data_ptr() == x.data_ptr()
    assert total == 30


def test_a_forbidden_operator_is_named_with_the_reason():
    x = torch.ones(2, 2)
    with (
        pytest.raises(AssertionError) as caught,
        forbid_operators("mm", "clone", because="use strides"),
    ):
        torch.mm(x, x)
    assert str(caught.value) == "the operator mm is not allowed here: use strides"
    with pytest.raises(AssertionError, match=r"mm is not allowed here$"), forbid_operators("mm"):
        x @ x


def test_what_is_not_forbidden_runs_on():
    x = torch.ones(2, 2)
    with forbid_operators("mm"):
        assert (x + x).sum() == 8
    assert (x @ x).sum() == 8


def test_a_forbidden_operator_inside_a_composite_or_a_backward_is_found():
    with pytest.raises(AssertionError, match="operator bmm is not"), forbid_operators("bmm"):
        torch.einsum("bij,bjk->bik", torch.ones(2, 3, 4), torch.ones(2, 4, 5))
    x = torch.ones(3, requires_grad=True)
    y = x.exp().sum()
    with pytest.raises(AssertionError, match="operator mul is not"), forbid_operators("mul"):
        y.backward()


VIEWS = {
    "slice": lambda x: x[1:, ::2],
    "transpose": lambda x: x.t(),
    "permute": lambda x: x.permute(1, 0),
    "view": lambda x: x.view(3, 2),
    "reshape": lambda x: x.reshape(-1),
    "expand": lambda x: x[:, :1].expand(-1, 100),
    "unfold": lambda x: x.flatten().unfold(0, 2, 1),
    "as_strided": lambda x: torch.as_strided(x, (2, 2), (1, 1)),
    "split": lambda x: x.split(1),
    "unbind": lambda x: x.unbind(),
    "contiguous of a contiguous": lambda x: x.contiguous(),
    "detach": lambda x: x.detach(),
    "in place": lambda x: x.mul_(2),
    "into a slice": lambda x: x[0].copy_(x[1]),
    "out=": lambda x: torch.add(x, x, out=x),
    "a tensor set onto the storage": lambda x: x.new_empty(0).set_(x.untyped_storage(), 1, (2, 2)),
}
ALLOCATIONS = {
    "clone": (lambda x: x.clone(), "clone"),
    "contiguous": (lambda x: x.t().contiguous(), "clone"),
    "reshape of a transpose": (lambda x: x.t().reshape(-1), "clone"),
    "fancy index": (lambda x: x[[1, 0]], "index"),
    "mask": (lambda x: x[torch.ones(2, 3, dtype=torch.bool)], "ones"),
    "repeat": (lambda x: x.repeat(2, 1), "repeat"),
    "sum": (lambda x: x + x, "add"),
    "dtype": (lambda x: x.double(), "_to_copy"),
    "pad": (lambda x: F.pad(x, (1, 1)), "constant_pad_nd"),
    "empty": (lambda x: torch.empty(4), "empty"),
    "one of several results": (lambda x: x.max(dim=0), "max"),
}


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
def test_views_and_in_place_work_are_no_copies(make):
    x = torch.arange(6.0).reshape(2, 3)
    with forbid_copies():
        make(x)


@pytest.mark.parametrize(("make", "name"), ALLOCATIONS.values(), ids=ALLOCATIONS)
def test_a_new_storage_is_refused_by_operator_and_bytes(make, name):
    x = torch.arange(6.0).reshape(2, 3)
    with (
        pytest.raises(AssertionError, match=rf"^a copy was made: {name} allocated .* \d+ bytes$"),
        forbid_copies(),
    ):
        make(x)


def test_small_results_are_let_through_up_to_a_number_of_bytes():
    x = torch.ones(10)
    with forbid_copies(up_to=4):
        assert x.sum() == 10
    with (
        pytest.raises(AssertionError, match="sum allocated a new storage of 8 bytes"),
        forbid_copies(up_to=4),
    ):
        x.sum(dtype=torch.float64)
    with forbid_copies(up_to=40):
        x * 2


def test_a_result_in_memory_that_was_given_is_no_copy():
    x, y = torch.ones(3), torch.empty(3)
    with forbid_copies():
        torch.add(x, x, out=y)
    assert y.tolist() == [2, 2, 2]


def test_a_storage_of_nothing_is_no_copy():
    with forbid_copies():
        torch.empty(0, 3).clone()


def test_a_copy_in_the_backward_pass_is_found():
    x = torch.ones(3, requires_grad=True)
    y = x.exp().sum()
    with pytest.raises(AssertionError, match="a copy was made"), forbid_copies(up_to=4):
        y.backward()


@pytest.mark.parametrize("mode", [count_operators, forbid_operators, forbid_copies])
def test_an_exception_leaves_no_mode_behind(mode):
    with pytest.raises(ZeroDivisionError), mode():
        1 / 0  # noqa: B018
    torch.ones(3).clone()


@pytest.mark.parametrize("mode", [count_operators, forbid_copies])
def test_zeros_without_memory_are_let_through(mode):
    def half_square(x):
        return (x * x).sum() / 2

    x, v = torch.ones(3), torch.ones(3)
    with mode() if mode is count_operators else mode(up_to=100):
        _, product = torch.func.jvp(torch.func.grad(half_square), (x,), (v,))
        torch._efficientzerotensor((3,)) + x
    assert torch.equal(product, v)
