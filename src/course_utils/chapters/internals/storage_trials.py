"""How the exercise on a tensor of one's own is tried."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable
from copy import deepcopy

from course_utils import check_equal
from course_utils.chapters.internals.scenarios import Scenario, error_of, given
from course_utils.chapters.internals.small_torch import MyTensor, fresh_strides
from course_utils.learner.tracebacks import ends_in_notebook


@ends_in_notebook
def check_spread(answer: Callable, size, stride, shape, right, because: str = "") -> None:
    """Check ``broadcast_strides`` on one case."""
    __tracebackhide__ = True
    call = f"broadcast_strides({size}, {stride}, {shape})"
    try:
        found = answer(size, stride, shape)
    except ValueError as error:
        raise AssertionError(f"{call} raised ValueError: {error}; it fits: {because}") from error
    kind = type(given(found, "what broadcast_strides returned")).__name__
    assert isinstance(found, tuple), f"the steps are a {kind}; a tuple is asked for: tuple(steps)"
    check_equal(tuple(found), right, call, because)


@ends_in_notebook
def check_merge(answer: Callable, shape, strides, right: tuple, because: str = "") -> None:
    """Check ``merge_dimensions`` on one case, with words for known slips."""
    __tracebackhide__ = True
    mine = list(strides)
    plan = answer(shape, mine)
    words = "merge_dimensions has changed the list of strides that it was handed: return a new one"
    assert mine == list(strides), words
    found = plain_plan(plan)
    if found == right:
        kinds = {type(part).__name__ for part in (plan[0], *plan[1])} - {"tuple"}
        kind = type(plan[1]).__name__
        assert isinstance(plan[1], list), f"the merged strides are in a {kind}, expected a list"
        words = "the merged shape is a tuple, and so are the strides of each operand; here is a "
        assert not kinds, words + ", a ".join(sorted(kinds))
        return
    for words, slip in merged_slips(shape, strides).items():
        assert found != slip, words
    call = f"merge_dimensions({shape}, {strides})"
    raise AssertionError(f"{call} gave {found}" + (f": {because}" if because else ""))


def random_merges(count: int) -> list[tuple]:
    """Seeded shapes, strides and what merging leaves of them."""
    draw, found = random.Random(5), []
    for _ in range(count):
        shape = tuple(draw.choice((1, 2, 3, 4)) for _ in range(draw.randint(0, 5)))
        strides = []
        for _ in range(draw.randint(1, 3)):
            fresh = fresh_strides(shape)
            kind = draw.randrange(3)
            cut = draw.randint(0, len(shape))
            stride = [2 * s if kind == 1 and d < cut else s for d, s in enumerate(fresh)]
            strides.append(tuple(0 if kind == 2 and d < cut else s for d, s in enumerate(stride)))
        found.append((shape, strides, _merge(shape, strides)))
    return found


def merged_slips(shape: tuple, strides: list) -> dict[str, tuple]:
    """What known mistakes make of a shape and strides, by the words for each."""
    first = _merge(shape, strides, first_only=True)
    ones = _merge(shape, strides, keep_ones=True)
    outer = _merge(shape, strides, outer=True)
    return {
        "the rule has to hold for every operand, not for the first alone": first,
        "dimensions of size 1 are still there": ones,
        "a merged dimension steps like the inner of the two": outer,
    }


def _merge(shape, strides, first_only=False, keep_ones=False, outer=False):
    kept = [d for d, n in enumerate(shape) if n != 1 or keep_ones]
    sizes, steps = [], []
    for d in kept:
        now = [s[d] for s in strides]
        pairs = list(zip(steps[-1], now, strict=True)) if steps else []
        if pairs and all(a == shape[d] * b for a, b in pairs[: 1 if first_only else None]):
            sizes[-1] *= shape[d]
            steps[-1] = steps[-1] if outer else now
        else:
            sizes.append(shape[d])
            steps.append(now)
    return tuple(sizes), [tuple(s[i] for s in steps) for i in range(len(strides))]


def plain_plan(plan) -> tuple:
    """A plan as tuples, whatever kinds of sequence it was made of."""
    assert plan is not None, "merge_dimensions returned None: is there an answer yet?"
    words = "merge_dimensions returns two things: a shape, and strides for each operand"
    assert isinstance(plan, (tuple, list)), words
    assert len(plan) == 2, words
    shape, strides = plan
    kind = type(shape).__name__
    assert isinstance(shape, (tuple, list)), f"the merged shape is a {kind}, expected a tuple"
    try:
        return tuple(shape), [tuple(stride) for stride in strides]
    except TypeError:
        raise AssertionError(words) from None


def _facts(result: MyTensor, *operands: MyTensor) -> dict:
    given(result, "what elementwise returned")
    kind = type(result).__name__
    assert isinstance(result, MyTensor), f"elementwise returned a {kind}, not a MyTensor"
    words = "the result has an operand's list: it is written into a new one, and begins at 0 there"
    assert all(result.storage is not x.storage for x in operands), words
    return {
        "values": result.tolist(),
        "size": tuple(result.size),
        "stride": tuple(result.stride),
        "offset": result.offset,
        "storage": len(result.storage),
    }


def _right(values, size, stride) -> dict:
    facts = {"values": values, "size": size, "stride": stride, "offset": 0}
    return facts | {"storage": math.prod(size)}


def _sum(x: MyTensor, y: MyTensor) -> Callable:
    def run(elementwise):
        one, other = deepcopy(x), deepcopy(y)
        return _facts(elementwise(operator.add, one, other), one, other)

    return run


def _negative(x: MyTensor) -> Callable:
    def run(elementwise):
        one = deepcopy(x)
        result = given(elementwise(operator.neg, one), "what elementwise returned")
        offset = getattr(result, "offset", 0)
        words = f"the result's offset is {offset}: a new list is read from its start, 0"
        assert offset == 0, words
        return _facts(result, one)

    return run


def _handed_on(elementwise):
    """A function that gives its entry back: the result equals the operand, in a list of its own."""
    x = MyTensor([1, 2, 3, 4], (2, 2))
    return _facts(elementwise(lambda entry: entry, x), x)


def _once(elementwise):
    calls = []
    x, y = MyTensor([1, 1], (2, 1)), MyTensor([10, 20, 10], (3,))
    elementwise(lambda a, b: calls.append((a, b)) or 0, x, y)
    return sorted(calls)


def _repeated(elementwise):
    """An operand that says the same entry three times."""
    calls = []
    elementwise(lambda a: calls.append(a) or 0, MyTensor([7], (3,), (0,)))
    return calls


def _raises(elementwise):
    """What comes out where the function raises, if it is another class."""
    found = {}
    kinds = (KeyError, ZeroDivisionError, TypeError, IndexError, RuntimeError, StopIteration)
    for error in kinds:

        def function(entry, error=error):
            raise error(entry)

        call = lambda f=function: elementwise(f, MyTensor([1, 2], (2,)))  # noqa: E731
        found[error.__name__] = error_of(call)
    return {name: said for name, said in found.items() if name != said}


def _twice(elementwise):
    """The first result, after a second call."""
    x = MyTensor([1, 2], (2,))
    first = given(elementwise(operator.neg, x), "what elementwise returned")
    elementwise(operator.pos, x)
    return first.tolist()


def _arguments(elementwise):
    x, y = MyTensor([1, 2, 3, 4], (2, 2), (1, 2)), MyTensor([5, 6], (1, 2))
    elementwise(operator.mul, x, y)
    return [(t.storage, t.size, t.stride, t.offset) for t in (x, y)]


def _empty(elementwise):
    calls = []
    x, y = MyTensor([], (0, 3)), MyTensor([1, 2, 3], (1, 3))
    result = elementwise(lambda a, b: calls.append(1), x, y)
    return result.size, result.storage, len(calls)


def _empty_row(elementwise):
    calls = []
    result = elementwise(lambda a, b: calls.append(1), MyTensor([], (0,)), MyTensor([1], (1,)))
    return result.size, result.storage, len(calls)


def _any_entries(elementwise):
    x, y, z = MyTensor([2**53 + 1, True, 0.5], (3,)), MyTensor(["a"], (1,)), MyTensor([None], ())
    return elementwise(lambda a, b, c: (a, b, c), x, y, z).tolist()


def _mixed(elementwise):
    x = MyTensor(list(range(24)), (2, 3, 4)).view((2, 3, 2), (12, 4, 2), 1)
    y = MyTensor([100, 200], (2, 1, 1))
    z = MyTensor([0.5], ())
    return _facts(elementwise(lambda a, b, c: a + b + c, x, y, z), x, y, z)


def _widest_last(elementwise):
    x, y, z = MyTensor([1, 2, 3], (3,)), MyTensor([10], ()), MyTensor([100, 200], (2, 1))
    return _facts(elementwise(lambda a, b, c: a + b + c, x, y, z), x, y, z)


def _unequal(*sizes: tuple) -> Callable:
    def run(elementwise):
        tensors = [MyTensor([*range(math.prod(size))], size) for size in sizes]
        try:
            elementwise(lambda *entries: 0, *tensors)
        except ValueError:
            return "ValueError"
        return "no ValueError"

    return run


_matrix = MyTensor([1, 2, 3, 4, 5, 6], (2, 3))
_turned = MyTensor([1, 2, 3, 4, 5, 6], (3, 2), (1, 3))
_row = MyTensor([10, 20, 30], (3,))
ELEMENTWISE = {
    "a matrix and a row": Scenario(
        _sum(_matrix, _row),
        _right([[11, 22, 33], [14, 25, 36]], (2, 3), (3, 1)),
        "the row is added to both rows; the result is new and contiguous",
    ),
    "two transposed matrices": Scenario(
        _sum(_turned, _turned),
        _right([[2, 8], [4, 10], [6, 12]], (3, 2), (2, 1)),
        "the result is in order row by row, whatever the order of the operands",
    ),
    "a transposed matrix and a fresh one": Scenario(
        _sum(_turned, MyTensor([0, 10, 20, 30, 40, 50], (3, 2))),
        _right([[1, 14], [22, 35], [43, 56]], (3, 2), (2, 1)),
        "each operand is read by strides that are its alone",
    ),
    "a column and a row": Scenario(
        _sum(MyTensor([1, 2], (2, 1)), _row),
        _right([[11, 21, 31], [12, 22, 32]], (2, 3), (3, 1)),
        "both are repeated",
    ),
    "a column of a matrix": Scenario(
        _sum(_matrix.view((2,), (3,), 1), MyTensor([10, 20], (2,))),
        _right([12, 25], (2,), (1,)),
        "a view begins at its offset and steps by its stride",
    ),
    "two single numbers": Scenario(
        _sum(MyTensor([3], ()), MyTensor([0, 4], (), (), 1)),
        _right(7, (), ()),
        "no dimension, and still one entry",
    ),
    "three operands": Scenario(
        _mixed,
        _right(
            [
                [[101.5, 103.5], [105.5, 107.5], [109.5, 111.5]],
                [[213.5, 215.5], [217.5, 219.5], [221.5, 223.5]],
            ],
            (2, 3, 2),
            (6, 2, 1),
        ),
        "any number of operands, with gaps, repeated along two dimensions, or of none",
    ),
    "three operands, the last with most dimensions": Scenario(
        _widest_last,
        _right([[111, 112, 113], [211, 212, 213]], (2, 3), (3, 1)),
        "the common shape is that of all operands, not of the first two",
    ),
    "two columns": Scenario(
        _sum(MyTensor([1, 2], (2, 1)), MyTensor([10], (1, 1))),
        _right([[11], [12]], (2, 1), (1, 1)),
        "where every operand has size 1 the result has it too",
    ),
    "one operand, a view": Scenario(
        _negative(_matrix.view((2,), (3,), 1)),
        _right([-2, -5], (2,), (1,)),
        "a view begins at its offset, the result at 0",
    ),
    "one operand": Scenario(
        _negative(_turned),
        _right([[-1, -4], [-2, -5], [-3, -6]], (3, 2), (2, 1)),
        "one operand is an operand",
    ),
    "one operand of one entry": Scenario(
        _negative(MyTensor([5], (1,))),
        _right([-5], (1,), (1,)),
        "the result is a new tensor, also where it has a single entry",
    ),
    "one operand, in a longer list": Scenario(
        _negative(MyTensor([1, 2, 3, 4, 5], (2, 2))),
        _right([[-1, -2], [-3, -4]], (2, 2), (2, 1)),
        "a list may hold more than the tensor: read by size and stride",
    ),
    "two rows, in longer lists": Scenario(
        _sum(MyTensor([1, 2, 3], (2,)), MyTensor([10, 20, 30], (2,))),
        _right([11, 22], (2,), (1,)),
        "a list may hold more than the tensor: read by size and stride",
    ),
    "an operand that is turned around": Scenario(
        _negative(MyTensor([1, 2, 3], (3,), (-1,), 2)),
        _right([-3, -2, -1], (3,), (1,)),
        "a step below 0 is a step: begin at the offset",
    ),
    "one operand, its entries handed on": Scenario(
        _handed_on,
        _right([[1, 2], [3, 4]], (2, 2), (2, 1)),
        "the result is a new tensor, also where it equals the operand",
    ),
    "an empty one": Scenario(
        _empty,
        ((0, 3), [], 0),
        "nothing to compute: the shape is right, the function is not called",
    ),
    "an empty one of one dimension": Scenario(
        _empty_row,
        ((0,), [], 0),
        "nothing to compute: the shape is right, the function is not called",
    ),
    "how often the function is called": Scenario(
        _once,
        [(1, 10), (1, 10), (1, 10), (1, 10), (1, 20), (1, 20)],
        "once for each entry of the result, no more; and no less, where two entries are equal",
    ),
    "how often, where an operand has step 0": Scenario(
        _repeated,
        [7, 7, 7],
        "once for each entry of the result, also where the same entry is read again",
    ),
    "an error of the function's": Scenario(
        _raises,
        {},
        "what the function raises passes through as it is, whatever its class",
        (
            (
                {"StopIteration": "RuntimeError"},
                "a StopIteration passes through as it is, too: in a generator Python makes a "
                "RuntimeError of it, so call the function outside of one",
            ),
        ),
    ),
    "entries of any kind": Scenario(
        _any_entries,
        [(2**53 + 1, "a", None), (True, "a", None), (0.5, "a", None)],
        "the function gets the entries themselves, as the list has them: plain Python, no arrays",
    ),
    "the operands afterwards": Scenario(
        _arguments,
        [([1, 2, 3, 4], (2, 2), (1, 2), 0), ([5, 6], (1, 2), (2, 1), 0)],
        "an operand was changed: leave their lists and notes as they are",
    ),
    "one operand of no dimension, a view": Scenario(
        _negative(MyTensor([0, 4], (), (), 1)),
        _right(-4, (), ()),
        "no dimension, and still one entry, at its offset",
    ),
    "a result, after a second call": Scenario(
        _twice, [-1, -2], "each result has a new list to itself: a second call leaves the first"
    ),
    "sizes that don't fit": Scenario(
        _unequal((2,), (3,)), "ValueError", "2 and 3 entries: raise ValueError"
    ),
    "a third size that doesn't fit": Scenario(
        _unequal((2,), (1,), (3,)), "ValueError", "2, 1 and 3 entries: raise ValueError"
    ),
    "no entry and three": Scenario(
        _unequal((0,), (3,)), "ValueError", "size 0 fits 0 and 1 alone: raise ValueError"
    ),
}
