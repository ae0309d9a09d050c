"""A second witness of the operators that an answer runs: PyTorch's profiler.

The recorder in the answer's process is a dispatch mode, and a mode can be left out: PyTorch has
switches for it. The profiler works below, in C++, and sees every operator. It says less (no
storages), so it only confirms: the judge refuses an answer whose profile holds an operator that the
recorder did not tell of.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import torch
from torch._C._profiler import _ExperimentalConfig, _RecordFunctionFast
from torch.autograd import (
    ProfilerConfig,
    ProfilerState,
    _disable_profiler_legacy,
    _enable_profiler_legacy,
)

# The profile of a call lies between the beginning and the end of this; another profile does not.
CALL = "the answer"
# PyTorch prints a tensor with its modes off, and an answer may print.
PRINTING = "printing a tensor"
POP = -1
# PyTorch writes these around what a mode, or a tensor of a class of its own, is told of.
TOLD_HERE = frozenset({"PythonDispatchMode", "PythonSubclass"})
# PyTorch's own functions run these without a mode. They compute nothing: forward mode compares two
# layouts, fake tensors are empty ones, and a dropout that drops nothing gives its argument back.
NEVER_TOLD = frozenset(
    {
        *("alias", "detach", "detach_", "_local_scalar_dense", "dropout"),
        *("_has_same_storage_numel", "is_same_size", "empty_strided"),
    }
)


class Profile:
    """A ``with`` block whose operators the profiler writes down, in order.

    Attributes:
        events: the operators' names, each once, and a list of numbers: that of a name where an
            operator begins, ``POP`` where one ends. None if the profiler was stopped meanwhile.
    """

    def __init__(self) -> None:
        self.events: tuple[list[str], list[int]] | None = None

    def __enter__(self) -> Profile:
        nothing = (False, False, False, False, False)
        _enable_profiler_legacy(ProfilerConfig(ProfilerState.CPU, *nothing, _ExperimentalConfig()))
        self.call = _RecordFunctionFast(CALL)
        self.call.__enter__()
        self.print_tensor = torch._tensor_str._str
        # Replaced on purpose, here and below.
        torch._tensor_str._str = self.print_aloud  # ty: ignore[invalid-assignment]
        return self

    def __exit__(self, *exception: object) -> None:
        torch._tensor_str._str = self.print_tensor  # ty: ignore[invalid-assignment]
        self.call.__exit__(None, None, None)
        try:
            threads = _disable_profiler_legacy()
        except RuntimeError:  # the answer has stopped it
            return
        if len(threads) == 1:
            self.events = compact(threads[0])

    def print_aloud(self, *args: Any, **kwargs: Any) -> str:
        with _RecordFunctionFast(PRINTING):
            return self.print_tensor(*args, **kwargs)


def compact(events: list[Any]) -> tuple[list[str], list[int]]:
    """The profiler's events as :class:`Profile` keeps them."""
    numbers: dict[str, int] = {}
    codes = []
    for event in events:
        kind = event.kind()
        if kind == "push":
            codes.append(numbers.setdefault(event.name(), len(numbers)))
        elif kind == "pop":
            codes.append(POP)
    return list(numbers), codes


def hidden_operators(events: Any, told: list[str], failed: bool) -> list[str]:
    """The operators that a profile holds and the recorder did not tell of.

    Args:
        events: what a :class:`Profile` kept; it may have been tampered with.
        told: the operators that the recorder told of, as ``count_operators`` shows them.
        failed: whether the call ended in an error.

    Returns:
        Their names, sorted.

    Raises:
        ValueError: this is not the profile of a whole call.
    """
    allowed = Counter(told)
    # torch.tensor makes an empty one before anyone is told; then lift_fresh follows, or an error.
    allowed["empty"] += allowed["lift_fresh"] + failed
    # What forward mode does with its zeros runs as a primitive, whose shape an empty one, without
    # memory, finds out.
    allowed["empty_permuted"] += sum(name.startswith("prims.") for name in told)
    # Told of as a whole, it runs as its part.
    allowed["_to_copy"] += allowed["to"]
    ran = Counter(operators_of(events, frozenset(told)))
    return sorted(name for name in ran - allowed if name not in NEVER_TOLD)


def operators_of(events: Any, told: frozenset[str]) -> list[str]:
    """The outermost operators of a profile that a recorder hears of, in order.

    An operator that is told of appears twice: around the place where a mode was told, and below it
    again. What lies below that, and what a composite operator is around its parts, is not told.

    Args:
        events: what a :class:`Profile` kept; it may have been tampered with.
        told: the operators that the recorder told of: one that is composite may be among them.

    Raises:
        ValueError: this is not the profile of a whole call.
    """
    try:
        names, codes = events
        texts = [names[code] if code != POP else POP for code in codes]
    except (TypeError, ValueError, IndexError):
        raise ValueError("no profile") from None
    found: list[str] = []
    # Of each operator that has begun: its name, where its parts begin, whether a mode heard of it,
    # how often it ran directly inside itself.
    begun: list[list] = []
    for place, text in enumerate(texts):
        if text != POP:
            if not isinstance(text, str) or (not begun and (place or text != CALL)):
                raise ValueError("not the profile of a call")
            begun.append([text, len(found), False, 0])
            continue
        if not begun:
            raise ValueError("an operator ends that did not begin")
        text, first, heard, twins = begun.pop()
        parent = begun[-1] if begun else [CALL, 0, False, 0]
        name = text.removeprefix("aten::").replace("::", ".")
        below_told = parent[0] in TOLD_HERE and name in told and packet_of(text) is not None
        if text == PRINTING:
            del found[first:]
        elif text in TOLD_HERE or heard:
            parent[2] = True
            # Functionalization runs an operator beside the one that is told, without memory.
            for _ in range(twins):
                found.remove(name)
        elif below_told or is_basic(text):
            found[first:] = [name]
            parent[3] += text == parent[0]
    if begun or not texts:
        raise ValueError("the profile has no end")
    return found


def packet_of(text: str) -> Any:
    """The operator that a profile calls ``aten::view``; None if this process has none."""
    namespace, _, name = text.partition("::")
    return getattr(getattr(torch.ops, namespace, None), name, None) if name else None


@cache
def is_basic(text: str) -> bool:
    """Whether a mode is told of this operator itself, not of its parts, whatever its arguments.

    Overloads with names of dimensions, and those that write into a given tensor, are left aside.
    """
    packet = packet_of(text)
    if packet is None:
        return False
    operators = [getattr(packet, overload) for overload in packet.overloads()]
    return not any(
        torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), "CompositeImplicitAutograd")
        for operator in operators
        if torch._C._dispatch_has_kernel(operator.name())
        and "Dimname" not in str(operator._schema)
        and not operator.name().endswith("out")
    )
