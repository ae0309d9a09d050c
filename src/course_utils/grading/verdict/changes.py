"""What an answer did to the arguments of a check, and whether the check lets it."""

from __future__ import annotations

from itertools import chain
from operator import is_
from typing import Any

import torch

from course_utils.grading.verdict import memory
from course_utils.grading.verdict.choices import containers
from course_utils.grading.verdict.known import Known, Named
from course_utils.grading.verdict.messages import Called
from course_utils.learner.changes import CHANGED, allow_changes, forbid_changes


def changed_alike(reply: Called, blobs: list[bytes], known: Known) -> None:
    """Do to the judge's tensors what the answer did to its own; but no storage gets another length.

    Args:
        reply: to the call.
        blobs: that came with it.
        known: the judge's.
    """
    longer = resized(reply, blobs, known)
    for number, blob in reply.contents:
        if number not in longer:
            known.write(number, blobs[blob])
    for number, layout in reply.layouts:
        tensor, place = known.tensors[number].tensor, known.tensors[number].place
        if place not in longer:
            changed = memory.lay_out(tensor.untyped_storage(), layout)
            with torch.no_grad():
                tensor.data = changed


def copied(reply: Called, blobs: list[bytes], known: Known) -> Known:
    """Storages and tensors as an answer left them, apart from the judge's own: see above."""
    contents = {number: blobs[blob] for number, blob in reply.contents}
    layouts = dict(reply.layouts)
    storages = list(known.storages.known)
    for number, content in contents.items():
        storages[number] = memory.new_storage(content)
    found = Known(memory.Storages(storages, list(known.storages.contents)))
    for number, named in enumerate(known.tensors):
        tensor = named.tensor
        if named.place in contents or number in layouts:
            _, start = known.storages.find(tensor.untyped_storage()) or (None, 0)
            size, stride, offset, dtype = memory.layout_of(tensor)
            own = [size, stride, offset + start // tensor.element_size(), dtype]
            tensor = memory.lay_out(storages[named.place], layouts.get(number, own))
        found.tensors.append(Named(tensor, named.place, named.requires_grad))
    return found


def unasked_change(reply: Called, blobs: list[bytes], known: Known, trial: bool) -> str | None:
    """What an answer changed of arguments that its check does not let it change.

    A check computes the truth from its arguments, often after the call: an answer that could
    change them would choose it. The length of a storage stays in any case, for there may be other
    tensors over it. An earlier result is the answer's own.

    Args:
        reply: to the call.
        blobs: that came with it.
        known: what both sides know, the arguments among it.
        trial: whether a locked function was called, which tells by itself what was changed.

    Returns:
        Words for it; none for a trial, or where the answer raised, unless the check forbids the
        change; None if there was none.
    """

    def places(tensors: list[torch.Tensor]) -> set[int]:
        found = (known.storages.find(tensor.untyped_storage()) for tensor in tensors)
        return {place[0] for place in found if place is not None}

    lengths = resized(reply, blobs, known) - known.results
    layouts = {known.tensors[number].place for number, _ in reply.layouts} - known.results
    changed = layouts | {number for number, _ in reply.contents} - known.results
    if not lengths and not changed - places(allow_changes.allowed):
        return None
    left_to_the_check = trial or reply.error is not None
    if left_to_the_check and not changed & places(forbid_changes.forbidden):
        return ""
    return CHANGED.format("shape, stride or storage" if lengths | layouts else "values")


def resized(reply: Called, blobs: list[bytes], known: Known) -> set[int]:
    """The numbers of storages that have another length after a call."""
    before = known.storages.known
    return {
        number for number, blob in reply.contents if before[number].nbytes() != len(blobs[blob])
    }


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
