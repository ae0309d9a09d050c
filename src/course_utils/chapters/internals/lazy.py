"""What the exercise on a lazy tensor is given, and how it is tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from course_utils.chapters.internals.scenarios import Scenario, error_of, given
from course_utils.chapters.internals.small_torch import plain

aten = torch.ops.aten


def as_meta(values: Any) -> Any:
    """Nested values with each tensor replaced by one on ``meta``: its note without its numbers."""

    def twin(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return torch.device("meta") if isinstance(value, torch.device) else value
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")

    return tree_map(twin, values)


class Noted(torch.Tensor):
    """A tensor that is a note alone: size, strides and dtype of ``like``, on the CPU, no numbers.

    Attributes:
        call: how it would be computed, ``(function, args, kwargs)``.
        known: its value once it was computed, at first ``None``.
    """

    @staticmethod
    def __new__(cls, like: torch.Tensor, call: tuple):
        note: dict[str, Any] = {"strides": like.stride(), "dtype": like.dtype, "device": "cpu"}
        return torch.Tensor._make_wrapper_subclass(cls, like.shape, **note)

    def __init__(self, like: torch.Tensor, call: tuple) -> None:
        self.call, self.known = call, None

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"Lazy(size={tuple(self.shape)}, dtype={self.dtype})"


class Logger(TorchDispatchMode):
    """A ``with`` block that notes the operators that reach a kernel, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class _RealWork(TorchDispatchMode):
    """Notes the operators whose results are plain tensors with numbers, also inside an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        for leaf in tree_leaves((args, kwargs)):
            if isinstance(leaf, Noted):
                with self:
                    return type(leaf).__torch_dispatch__(func, types, args, kwargs or {})
        result = func(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        if any(type(t) is torch.Tensor and t.device.type != "meta" for t in tensors):
            self.names.append(func._schema.name.split("::")[1])
        return result


def _source(values: Any, **options: Any) -> torch.Tensor:
    return torch.tensor(values, **options)


def _lazy(Lazy: type, x: torch.Tensor) -> Any:
    return Lazy(x, (lambda: x, (), {}))


def _facts(result: Any, Lazy: type) -> tuple:
    given(result, "the result of an operation")
    name = type(result).__name__
    assert isinstance(result, Lazy), f"the result of an operation is a {name}, not Lazy"
    note, strides = (tuple(result.shape), str(result.dtype)), result.stride()
    value = given(result.value(), "what value() returned")
    assert type(value) is torch.Tensor, f"value() gives a {type(value).__name__}, not a tensor"
    words = "value() gives a tensor on meta: it has no numbers"
    assert value.device.type != "meta", words
    same = (tuple(value.shape), str(value.dtype)) == note
    assert same, "shape or dtype was promised differently from what value() gives"
    words = "the strides were promised differently from those of value(): keep the note as it is"
    assert value.stride() == strides, words
    return *note, plain(value)


def _case(program: Callable, right: Callable, because: str) -> Scenario:
    """A program on two lazy matrices, and the same on plain ones."""
    a, b = _source([[1.0, -2.0], [3.0, 4.0]]), _source([[0.5, 1.0], [-1.0, 2.0]])
    truth = right(a, b)
    facts = tuple(truth.shape), str(truth.dtype), plain(truth)

    def run(Lazy):
        x, y = a.clone(), b.clone()
        return _facts(program(_lazy(Lazy, x), _lazy(Lazy, y), x, y), Lazy)

    return Scenario(run, facts, because)


def _nothing_before(Lazy):
    x = _source([[1.0, 2.0], [3.0, 4.0]])
    with _RealWork() as work:
        a = _lazy(Lazy, x)
        result = given((a @ x).relu() + 1, "the result of an operation")
        before = list(work.names)
        result.value()
    return before, sorted(work.names)


def _nothing_of_views(Lazy):
    """What is computed before value() of a view, and of a single number."""
    x = _source([[1.0, 2.0], [3.0, 4.0]])
    with _RealWork() as work:
        a = _lazy(Lazy, x)
        both = torch.cat([given(a.exp(), "the result of an operation").t(), a])
        result: Any = (both > 1).sum()
        before = list(work.names)
        result.value()
    return before, sorted(work.names)


def _nothing_of_lazy_ones(Lazy):
    """What is computed before value() where all operands are lazy."""
    x, y = _source([[1.0, 2.0], [3.0, 4.0]]), _source([[1.0, 0.0], [0.0, 1.0]])
    with _RealWork() as work:
        a, b = _lazy(Lazy, x).exp(), _lazy(Lazy, y).sin()
        result: Any = torch.cat([a @ b, torch.where(a > b, a, b)])
        before = list(work.names)
        given(result, "the result of an operation").value()
    return before, sorted(work.names)


def _two_keywords(Lazy):
    """Two calls of one operator on the same tensors, with other keywords."""
    a = _lazy(Lazy, _source([1.0, 2.0]))
    one: Any = torch.add(a, a, alpha=2)
    other: Any = torch.add(a, a, alpha=3)
    return plain(given(one, "the result").value()), plain(other.value())


def _equal_calls(Lazy):
    """The same call twice: a plain operand changes in between; the operator draws."""
    a, b = _lazy(Lazy, torch.zeros(64)), torch.ones(64)
    one = plain(given(a + b, "the result of an operation").value())[0]
    b.fill_(5.0)
    other = plain((a + b).value())[0]
    with torch.random.fork_rng(devices=[]):
        draws: list[Any] = [torch.rand_like(a) for _ in range(2)]
        drawn = [draw.value() for draw in draws]
    return one, other, torch.equal(*drawn)


def _once(Lazy):
    x = _source([1.0, 2.0])
    with _RealWork() as work:
        a = _lazy(Lazy, x)
        shared = a.exp()
        result = shared * shared + shared
        given(result, "the result of an operation").value()
        first = sorted(work.names)
        result.value()
        shared.value()
        second = len(work.names) - len(first)
    return first, second


def _later(Lazy):
    """Two further results on top of one that has been computed."""
    source = _source([1.0, 2.0])
    with _RealWork() as work:
        a = _lazy(Lazy, source)
        b = a.exp()
        b.value()
        before = len(work.names)
        more = [given(step, "the result of an operation") for step in (b + 1, b.sin())]
        noted = work.names[before:]
        for step in more:
            step.value()
    return noted, work.names[before:]


def _hidden_in_a_dict(Lazy):
    """The value of a call whose one argument is a dict that holds a lazy tensor in a list."""
    x = _source([1.0, 2.0])
    call = (lambda given: given["pair"][0] + 1, ({"pair": [_lazy(Lazy, x)]},), {})
    value = Lazy(x, call).value()
    words = "a lazy tensor in a dict, or in a list in it, wasn't asked for its value: tree_map is"
    assert type(value) is torch.Tensor, f"{words} there to reach it"
    return plain(value)


def _two_at_once(Lazy):
    a, b = _lazy(Lazy, _source([1.0])), _lazy(Lazy, _source([10.0]))
    x, y = a + 1, b + 1
    return plain(y.value()), plain(x.value())


def _zero(Lazy):
    """A value of which all entries are 0 is a value, too."""
    zero = _source(0.0)
    with _RealWork() as work:
        x = _lazy(Lazy, zero).sin()
        given(x.value(), "what value() returned")
        x.value()
    return work.names


def _no_numbers(Lazy):
    """A value without any entry is a value, too."""
    empty = torch.ones(0)
    with _RealWork() as work:
        x = _lazy(Lazy, empty).sin()
        given(x.value(), "what value() returned")
        x.value()
    return work.names


def _broken(Lazy):
    a = _lazy(Lazy, torch.ones(2, 3))
    return error_of(lambda: a @ a)


def _writes(program: Callable) -> Scenario:
    def run(Lazy):
        x = _source([1.0, 2.0])
        a = _lazy(Lazy, x)
        return error_of(lambda: program(a), "RuntimeError"), plain(x)

    return Scenario(
        run,
        ("RuntimeError", [1.0, 2.0]),
        "an operator that writes is refused: func._schema.is_mutable tells",
    )


def _into_a_plain_one(program: Callable) -> Scenario:
    def run(Lazy):
        target = _source([1.0, 2.0])
        a = _lazy(Lazy, _source([3.0, 4.0]))
        return error_of(lambda: program(target, a), "RuntimeError"), plain(target)

    return Scenario(
        run,
        ("RuntimeError", [1.0, 2.0]),
        "an operator that writes is refused, whatever it writes into: func._schema.is_mutable",
    )


LAZY = {
    "a sum": _case(lambda a, b, x, y: a + b, lambda a, b: a + b, "the values are wrong"),
    "three steps": _case(
        lambda a, b, x, y: (a @ b).relu().sum(dim=1),
        lambda a, b: (a @ b).relu().sum(dim=1),
        "the values are wrong",
    ),
    "a plain tensor on the left": _case(
        lambda a, b, x, y: x - b, lambda a, b: a - b, "plain tensors are handed on as they are"
    ),
    "a list of tensors": _case(
        lambda a, b, x, y: torch.cat([a, y, b], dim=1),
        lambda a, b: torch.cat([a, b, b], dim=1),
        "tensors hide in lists: tree_map reaches them",
    ),
    "a keyword": _case(
        lambda a, b, x, y: torch.add(a, b, alpha=3),
        lambda a, b: torch.add(a, b, alpha=3),
        "keywords are handed on",
    ),
    "a tensor as a keyword": _case(
        lambda a, b, x, y: torch.searchsorted(x[1], x[1], sorter=(a[1] < b[1]).long()),
        lambda a, b: torch.searchsorted(a[1], a[1], sorter=(a[1] < b[1]).long()),
        "lazy tensors among the keyword arguments are asked for their values, too",
    ),
    "kwargs is None": _case(
        lambda a, b, x, y: type(a).__torch_dispatch__(aten.exp.default, (type(a),), (a,), None),
        lambda a, b: a.exp(),
        "kwargs may be None",
    ),
    "another dtype": _case(
        lambda a, b, x, y: (a > b).to(torch.float64) + a.long(),
        lambda a, b: (a > b).to(torch.float64) + a.long(),
        "the dtype is what the operator makes of it",
    ),
    "half": _case(
        lambda a, b, x, y: a.half() * b.half(),
        lambda a, b: a.half() * b.half(),
        "the dtype is what the operator makes of it",
    ),
    "views": _case(
        lambda a, b, x, y: a.t()[1] + b.reshape(4)[::2],
        lambda a, b: a.t()[1] + b.reshape(4)[::2],
        "a view is an operation like any other",
    ),
    "a transposed sum": _case(
        lambda a, b, x, y: (a + b).t(), lambda a, b: (a + b).t(), "the values are wrong"
    ),
    "behind a transposed one": _case(
        lambda a, b, x, y: a.t().exp() * 2,
        lambda a, b: a.t().exp() * 2,
        "operators keep the order in memory, so the twins need strides: as_meta",
    ),
    "nothing is computed before value()": Scenario(
        _nothing_before,
        ([], ["add", "mm", "relu"]),
        "before value() no operator may run but on meta; then each runs once",
        slips=((([], []), "no operator ran at all"),),
    ),
    "nothing of a view, a list, a comparison, a sum": Scenario(
        _nothing_of_views,
        ([], ["cat", "exp", "gt", "sum", "t"]),
        "before value() no operator may run but on meta, whatever the operator and the shape",
    ),
    "two calls with other keywords": Scenario(
        _two_keywords,
        ([3.0, 6.0], [4.0, 8.0]),
        "each tensor has a call and a value to itself: what is known of one isn't the other's",
    ),
    "the same call a second time": Scenario(
        _equal_calls,
        (1.0, 5.0, False),
        "two equal calls are two operations: a plain tensor may have changed, rand draws anew",
    ),
    "used three times": Scenario(
        _once,
        (["add", "exp", "mul"], 0),
        "each operation runs once, however often its result is used or asked for",
    ),
    "a call with a list in a dict": Scenario(
        _hidden_in_a_dict, [2.0, 3.0], "lazy tensors in lists and dicts are asked for their values"
    ),
    "a step after value()": Scenario(
        _later,
        ([], ["add", "sin"]),
        "what is known isn't computed again for a later step, and the step waits for its value()",
    ),
    "two at once": Scenario(
        _two_at_once, ([11.0], [2.0]), "each tensor keeps its call to itself, not on the class"
    ),
    "a value of 0": Scenario(_zero, ["sin"], "a 0 is known as well: compare with None"),
    "a value without numbers": Scenario(
        _no_numbers, ["sin"], "an empty tensor is known as well: compare with None"
    ),
    "add_": _writes(lambda a: a.add_(1)),
    "out=": _writes(lambda a: torch.exp(torch.ones(2), out=a)),
    "add_ of it to a plain tensor": _into_a_plain_one(lambda p, a: p.add_(a)),
    "out= a plain tensor": _into_a_plain_one(lambda p, a: torch.exp(a, out=p)),
    "zero_ on a view": _writes(lambda a: a[:1].zero_()),
    "written, and neither _ nor out": _writes(
        lambda a: aten.rrelu_with_noise(a + 1, a, 0.125, 0.25, True)
    ),
    "sizes that don't fit": Scenario(
        _broken, "RuntimeError", "the error comes at the call, since meta checks the shapes there"
    ),
    "a plain float64 tensor": _case(
        lambda a, b, x, y: torch.add(a, x.double() / 3),
        lambda a, b: torch.add(a, a.double() / 3),
        "plain tensors are used as they are, in the dtype that they have",
    ),
    "a plain tensor of places": _case(
        lambda a, b, x, y: a.index_select(1, torch.tensor([1, 1, 0])),
        lambda a, b: a.index_select(1, torch.tensor([1, 1, 0])),
        "plain tensors are used as they are, in the dtype that they have",
    ),
    "nothing where all operands are lazy": Scenario(
        _nothing_of_lazy_ones,
        ([], ["cat", "exp", "gt", "mm", "sin", "where"]),
        "before value() no operator may run but on meta, also where all operands are lazy",
    ),
}
