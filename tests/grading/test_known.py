"""What judge and answer know of the call before: the same tensors and results, on both sides."""

import functools

import pytest
import torch

from course_utils import allow_changes, check_states
from course_utils.grading.verdict import known as known_module
from support.judged import answered

KEPT = []
BUFFER = torch.zeros(3)


def keep(x):
    KEPT[:] = [x]
    return x.sum()


def write_into_what_was_kept():
    KEPT[0].fill_(7)
    return 1


def versions(x):
    KEPT.append((x, x._version))
    same = [version for known, version in KEPT[:-1] if known is x]
    return [x._version > version for version in same]


def break_off(x):
    raise ValueError("no")


NAMES = {
    "is_kept": lambda x: bool(KEPT) and KEPT[0] is x,
    "keep": keep,
    "keep_and_break_off": lambda x: break_off(keep(x)),
    "write_into_what_was_kept": write_into_what_was_kept,
    "by_its_tensor": functools.cache(lambda x: x.sum() + 0),
    "into_one_buffer": lambda x: BUFFER.copy_(x),
    "the_buffer": lambda: BUFFER.tolist(),
    "make_the_buffer_longer": lambda x: BUFFER.resize_(4) is x,
    "ones": functools.cache(lambda n: torch.ones(n)),
    "versions": versions,
    "double": lambda x: x * 2,
    "needs_grad": lambda x: x.requires_grad,
    "shape": lambda x: list(x.shape),
    "center": lambda x: x - x.mean(),
}


@pytest.fixture
def names():
    with answered(NAMES) as found:
        yield found


def test_a_tensor_that_is_handed_over_again_is_the_one_that_it_was(names):
    x, other = torch.arange(3.0), torch.arange(3.0)
    names["keep"](x)
    assert names["is_kept"](x)
    assert not names["is_kept"](other)


def test_it_holds_what_the_check_wrote_into_it_since(names):
    x = torch.arange(3.0)
    assert names["by_its_tensor"](x) == 3
    x.add_(1)
    assert names["by_its_tensor"](x) == 3  # the slip, and no other
    assert torch.equal(names["double"](x), torch.tensor([2.0, 4.0, 6.0]))


def test_what_is_written_into_it_counts_its_version_up(names):
    x = torch.arange(3.0)
    assert names["versions"](x) == []
    assert names["versions"](x) == [False]
    x.add_(1)
    assert names["versions"](x) == [True, True]


def test_an_earlier_result_changes_where_the_answer_writes_into_it(names):
    first = names["into_one_buffer"](torch.ones(3))
    kept = first.clone()
    second = names["into_one_buffer"](torch.full((3,), 2.0))
    assert torch.equal(first, second)
    assert not torch.equal(first, kept)
    assert torch.equal(names["double"](torch.ones(3)), kept * 2)


def test_an_earlier_result_that_becomes_longer_stays_as_it_was_here(names):
    first = names["into_one_buffer"](torch.ones(3))
    names["make_the_buffer_longer"](1)
    assert torch.equal(first, torch.ones(3))
    assert first.untyped_storage().nbytes() == 12


def test_what_the_check_writes_into_a_result_the_answer_has_too(names):
    names["into_one_buffer"](torch.ones(3)).fill_(5)
    assert names["the_buffer"]() == [5, 5, 5]


def test_an_argument_of_the_call_before_is_not_to_be_changed_either(names):
    x = torch.arange(3.0)
    names["keep"](x)
    with pytest.raises(AssertionError, match="an argument was changed"):
        names["write_into_what_was_kept"]()
    assert torch.equal(x, torch.arange(3.0))
    names["keep"](x)
    with allow_changes(x):
        names["write_into_what_was_kept"]()
    assert torch.equal(x, torch.full((3,), 7.0))


def test_a_result_that_is_handed_back_is_an_argument(names):
    result = names["double"](torch.ones(3))
    names["keep"](result)
    with pytest.raises(AssertionError, match="an argument was changed"):
        names["write_into_what_was_kept"]()
    assert torch.equal(result, torch.full((3,), 2.0))


def test_after_an_error_a_call_begins_with_nothing(names):
    x = torch.arange(3.0)
    with pytest.raises(ValueError, match="no"):
        names["keep_and_break_off"](x)
    assert not names["is_kept"](x)


def test_what_is_large_is_not_kept(names):
    x = torch.zeros(known_module.MOST_BYTES // 4 + 1)
    names["keep"](x)
    assert not names["is_kept"](x)


def test_a_tensor_that_was_laid_out_anew_or_asks_for_gradients_since_travels_anew(names):
    x = torch.arange(4.0)
    assert not names["needs_grad"](x)
    assert names["needs_grad"](x.requires_grad_())
    y = torch.arange(4.0)
    assert names["shape"](y) == [4]
    assert names["shape"](y.resize_(2, 2)) == [2, 2]
    y.data = torch.arange(9.0, 13.0).view(2, 2)
    assert torch.equal(names["double"](y), y * 2)
    y.untyped_storage().resize_(80)
    assert torch.equal(names["double"](y), y * 2)


def test_a_result_in_inference_mode_may_change_too(names):
    with torch.inference_mode():
        first = names["into_one_buffer"](torch.ones(3))
        names["into_one_buffer"](torch.zeros(3))
        assert torch.equal(first, torch.zeros(3))
        first.fill_(2)
        assert names["the_buffer"]() == [2, 2, 2]


@pytest.mark.parametrize("name", ["by_its_tensor", "into_one_buffer"])
def test_the_judge_refuses_what_a_notebook_does(names, name):
    x = torch.arange(3.0)
    check_states(names["center"], x, what="center(x)")
    for answer in (names[name], NAMES[name]):
        with pytest.raises(AssertionError, match="had other numbers the first time"):
            check_states(answer, x, what="f(x)", but=["old_gradient", "inside_a_graph"])
    with pytest.raises(AssertionError, match="after the first result was set to zero"):
        check_states(names["ones"], 3, what="ones(3)")
