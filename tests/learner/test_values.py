"""Results are compared with what they should be, and known slips are called by their names."""

import pytest
import torch

from course_utils.learner.values import agrees, check_parts, check_value

X = torch.tensor([1.0, 2.0])


def refusal(call, *args, **kwargs) -> str:
    with pytest.raises(AssertionError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize(
    ("result", "words"),
    [(None, "is there an answer yet"), (X, "a Tensor came back"), ((X,), "1 parts came back")],
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


def test_one_slip_may_lead_to_several_results():
    slips = {"scaled": (2 * X, X.clone(), 3 * X)}
    for wrong in (2 * X, 3 * X):
        assert refusal(check_value, wrong, X, "y", slips) == "y: scaled"
    assert "scaled" not in refusal(check_value, 4 * X, X, "y", slips)


def test_slips_that_are_computed_are_computed_for_a_wrong_result_alone():
    asked = []

    def slips():
        asked.append("slips")
        return {"twice too much": 2 * X}

    check_value(X, X, "y", slips)
    assert asked == []
    assert refusal(check_value, 2 * X, X, "y", slips) == "y: twice too much"
    assert asked == ["slips"]


def test_a_slip_of_rounding_and_one_of_complex_numbers_are_named():
    third = torch.tensor([1 / 3 + 1j], dtype=torch.complex128)
    slips = {"it was rounded": third.to(torch.complex64).to(third.dtype)}
    rounded = slips["it was rounded"]
    assert refusal(check_value, rounded, third, "y", slips, 0, 0) == "y: it was rounded"


def test_a_slip_in_whole_numbers_is_compared_exactly():
    large = torch.tensor(2**60 + 1)
    slips = {"one too few": large - 1}
    words = refusal(check_value, large + 2, large, "y", slips, 0, 0)
    assert "one too few" not in words
    assert f"expected {2**60 + 1}, got {2**60 + 3}" in words
    assert refusal(check_value, large - 1, large, "y", slips, 0, 0) == "y: one too few"
    check_value(large.clone(), large, "y", slips, 0, 0)


def test_an_answer_agrees_or_it_does_not_whatever_it_does():
    assert agrees(lambda: X + 1e-7, X)
    assert agrees(lambda: {"a": X, "more": None}, {"a": X})
    assert not agrees(lambda: 2 * X, X)
    assert not agrees(lambda: None, X)
    assert not agrees(lambda: {}, {"a": X})
    assert not agrees(lambda: 1 / 0, X)
