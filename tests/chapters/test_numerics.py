"""What the chapter on numerics checks with: right functions pass, slips have names."""

import pytest
import torch

from course_utils.chapters import numerics
from course_utils.learner.cases import every_case


def distances(x, y, how="cdist"):
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


def test_operators_are_noted_with_sizes_and_new_bytes():
    x = torch.ones(3, 2)
    lines, raised, result = numerics.operators_of(lambda a: a.t() @ a, x)
    assert raised == ""
    assert torch.equal(result, torch.full((2, 2), 3.0))
    assert [line[0] for line in lines] == ["t", "mm"]
    assert lines[0][3] == 0
    assert lines[1][1:] == [[[2, 3], [3, 2]], [2, 2], 16]


def test_what_ended_a_call_is_noted():
    assert numerics.operators_of(lambda: 1 / 0) == ([], "ZeroDivisionError", None)


def test_a_form_is_checked_without_the_values():
    numerics.check_form(torch.full((2,), torch.nan), torch.ones(2), "x")
    for wrong in (None, torch.ones(3), torch.ones(2).double()):
        with pytest.raises(AssertionError, match=r"^x "):
            numerics.check_form(wrong, torch.ones(2), "x")


def test_a_slip_of_a_softmax_under_a_mask_has_words():
    scores, mask = torch.tensor([2.0, 2.0, 100.0]), torch.tensor([True, True, False])
    with pytest.raises(AssertionError, match="still count in the sum below"), every_case() as case:
        numerics.check_masked(
            lambda scores, mask, dim: scores.softmax(dim) * mask, case, scores, mask, -1, "it"
        )


def test_products_with_a_matrix_are_counted_and_squares_by_einsum_are_not():
    def gram(x, y, how):
        squares = torch.einsum("nd,nd->n", x, x)[:, None] + torch.einsum("md,md->m", y, y)
        return (squares - 2 * x @ y.T).clamp_min(0).sqrt()

    def operators(name, *args):
        return numerics.operators_of(gram, *args)

    x, y = torch.ones(6, 2), torch.zeros(5, 2)
    with pytest.raises(AssertionError) as refused, every_case() as case:
        numerics.check_distance_cost(operators, case, x, y, "it")
    assert "2 of 3 cases fail" in str(refused.value)
    assert '"gram"' not in str(refused.value)


def nothing(*args):
    return None


@pytest.mark.parametrize("name", list(numerics.LIBRARY))
def test_the_library_steps_in_for_what_is_not_solved(name, capsys):
    library, _ = numerics.LIBRARY[name]
    assert numerics.solved({name: nothing}, name) is library
    assert numerics.solved({}, name) is library
    assert capsys.readouterr().out.count("is not solved yet") == 2


def test_a_solved_function_is_taken(capsys):
    names = {"pairwise_three_ways": distances}
    assert numerics.solved(names, "pairwise_three_ways") is distances
    assert capsys.readouterr().out == ""
