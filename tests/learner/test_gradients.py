"""gradient_of: right gradients, and words for a result that hangs on nothing."""

import pytest
import torch

from course_utils import gradient_of


def cube(x):
    return x**3


def test_one_argument_gives_a_tensor_and_several_a_list():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    assert gradient_of(cube, x).tolist() == [3, 12]
    assert [g.tolist() for g in gradient_of(torch.mul, x, y)] == [[3, 4], [1, 2]]


def test_weights_are_multiplied_and_other_arguments_are_handed_on():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    weights = torch.tensor([1.0, 10.0])
    assert gradient_of(torch.sum, x, 1, weights=weights).tolist() == [[1, 1], [10, 10]]
    index = torch.tensor([1])
    assert gradient_of(torch.index_select, x, 0, index).tolist() == [[0, 0], [1, 1]]


def test_the_arguments_stay_as_they_are():
    x = torch.ones(2, requires_grad=True)
    gradient_of(cube, x)
    assert x.grad is None
    with torch.no_grad():
        assert gradient_of(cube, torch.ones(1)).tolist() == [3]


def test_an_argument_that_is_not_used_has_the_gradient_zero():
    first, second = gradient_of(lambda x, y: cube(x), torch.ones(2), torch.ones(3))
    assert (first.tolist(), second.tolist()) == ([3, 3], [0, 0, 0])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x.detach() * 2, "no gradient flows back"),
        (lambda x: torch.tensor(x.tolist()), "no gradient flows back"),
        (lambda x: 1.0, "of type float, not a tensor"),
        (lambda x: None, "the result is None: is there an answer yet"),
    ],
)
def test_what_has_no_gradient_is_refused_in_words(function, words):
    with pytest.raises(AssertionError, match=words):
        gradient_of(function, torch.ones(2))


def test_weights_that_do_not_fit_the_result_are_refused_in_words():
    with pytest.raises(AssertionError, match=r"has shape \(2,\), expected \(3,\)"):
        gradient_of(cube, torch.ones(2), weights=torch.ones(3))
