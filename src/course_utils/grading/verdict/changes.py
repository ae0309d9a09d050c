"""What an answer did to the arguments of a check, and whether the check lets it."""

from __future__ import annotations

from itertools import chain
from operator import is_
from typing import Any

import torch

from course_utils.grading.verdict import encoding, memory
from course_utils.grading.verdict.choices import containers
from course_utils.grading.verdict.messages import (
    Called,
)
from course_utils.learner.changes import CHANGED, allow_changes, forbid_changes


def copied(
    storages: memory.Storages,
    tensors: list[torch.Tensor],
    contents: dict[int, bytes],
    layouts: dict[int, list],
) -> tuple[memory.Storages, list[torch.Tensor]]:
    """Storages and tensors as an answer left them, apart from the arguments.

    Args:
        storages: those of the arguments.
        tensors: the arguments.
        contents: of those storages that were changed, by number.
        layouts: of those arguments whose layout was changed, by number.
    """
    known = list(storages.known)
    for number, content in contents.items():
        known[number] = memory.new_storage(content)
    found = []
    for number, tensor in enumerate(tensors):
        place, start = storages.find(tensor.untyped_storage()) or (None, 0)
        if place in contents or number in layouts:
            size, stride, offset, dtype = memory.layout_of(tensor)
            own = [size, stride, offset + start // tensor.element_size(), dtype]
            tensor = memory.lay_out(
                known[place] if place is not None else tensor.untyped_storage(),
                layouts.get(number, own),
            )
        found.append(tensor)
    return memory.Storages(known, list(storages.contents)), found


def unasked_change(
    reply: Called, blobs: list[bytes], given: encoding.Encoder, trial: bool
) -> str | None:
    """What an answer changed of arguments that its check does not let it change.

    A check computes the truth from its arguments, often after the call: an answer that could
    change them would choose it. The length of a storage stays in any case, for there may be other
    tensors over it.

    Args:
        reply: to the call.
        blobs: that came with it.
        given: what encoded the arguments.
        trial: whether a locked function was called, which tells by itself what was changed.

    Returns:
        Words for it; none for a trial, or where the answer raised, unless the check forbids the
        change; None if there was none.
    """

    def place(tensor: torch.Tensor) -> int | None:
        return (given.storages.find(tensor.untyped_storage()) or [None])[0]

    known = given.storages.known
    lengths = {n for n, blob in reply.contents if known[n].nbytes() != len(blobs[blob])}
    layouts = {place(given.sent[number]) for number, _ in reply.layouts}
    changed = layouts | {number for number, _ in reply.contents}
    allowed = {place(tensor) for tensor in allow_changes.allowed} - {None}
    if not lengths and not changed - allowed:
        return None
    left_to_the_check = trial or reply.error is not None
    if left_to_the_check and not changed & {place(one) for one in forbid_changes.forbidden}:
        return ""
    return CHANGED.format("shape, stride or storage" if lengths | layouts else "values")


def items_of(value: Any) -> list[list]:
    """What each list and dict in a value holds, at any depth; of a dict its keys and values."""
    return [
        [*part, *(part.values() if isinstance(part, dict) else ())] for part in containers(value)
    ]


def all_there(before: list[list], now: list[list]) -> bool:
    """Whether lists hold the same objects."""
    if list(map(len, before)) != list(map(len, now)):
        return False
    return all(map(is_, chain.from_iterable(before), chain.from_iterable(now)))


def differing(before: list, now: list) -> list[list]:
    """Number and new value of each entry that is not what it was."""
    pairs = enumerate(zip(before, now, strict=True))
    return [[number, new] for number, (old, new) in pairs if old != new]
