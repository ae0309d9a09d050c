"""What the chapter on custom gradients is checked with."""

import pytest
import torch

from course_utils.chapters import custom_gradients
from course_utils.chapters.custom_gradients import BASES, LANDSCAPES, LiveBytes, line_up, solve


@pytest.mark.parametrize("base", BASES)
def test_gradcheck_finds_three_suspects_and_trusts_the_right_one(base):
    x = torch.tensor([-1.2, 0.4, 0.7], dtype=torch.float64, requires_grad=True)
    found = [
        torch.autograd.gradcheck(line_up(base, number), [x], raise_exception=False)
        for number in (0, 1, 2, 3)
    ]
    assert found == [True, False, False, True]
    assert not torch.autograd.gradgradcheck(line_up(base, 3), [x], raise_exception=False)


def test_the_largest_storage_counts_and_no_view_does():
    with custom_gradients.Largest() as largest:
        torch.zeros(3).expand(1000, 3)
        torch.zeros(5, dtype=torch.float64)
    assert largest.most == 40


def test_live_bytes_counts_what_lives():
    with LiveBytes() as live:
        x = torch.zeros(100)
        y = x + 1
        del x
        y.view(10, 10)
    assert live.curve == [400, 800, 400]


def test_solve_finds_what_the_product_undoes():
    x = torch.tensor([0.3, -0.2, 1.0]).double()
    matrix = torch.func.hessian(LANDSCAPES["bowl"])(x)
    p = solve(lambda v: matrix @ v, x)
    assert torch.allclose(matrix @ p, x)


def test_an_error_about_gradients_is_told_in_words():
    def twice():
        x = torch.ones(1, requires_grad=True)
        y = x * x
        y.backward()
        y.backward()

    with pytest.raises(AssertionError, match="retain_graph=True keeps it"):
        custom_gradients.gradient_words(twice)
    with pytest.raises(RuntimeError, match="else"):
        custom_gradients.gradient_words(lambda: (_ for _ in ()).throw(RuntimeError("else")))
