"""What an answer did to the arguments of a check, and whether the check lets it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from operator import is_
from typing import Any

import torch

from course_utils.grading.verdict import memory
from course_utils.grading.verdict.choices import containers
from course_utils.grading.verdict.known import Known, Named
from course_utils.learner.changes import CHANGED, allow_changes, forbid_changes


@dataclass
class Changes:
    """What an answer did to tensors that both sides know.

    Attributes:
        known: the judge's.
        contents: of those storages that were changed, by number.
        layouts: of those tensors whose layout was changed, by number.
    """

    known: Known
    contents: dict[int, bytes]
    layouts: dict[int, list]

    def __post_init__(self) -> None:
        lengths = [storage.nbytes() for storage in self.known.storages.known]
        self.resized = {n for n, content in self.contents.items() if lengths[n] != len(content)}

    def unasked(self, trial: bool, raised: bool) -> str | None:
        """What was changed of arguments that the check does not let the answer change.

        A check computes the truth from its arguments, often after the call: an answer that could
        change them would choose it. The length of a storage stays in any case, for there may be
        other tensors over it. An earlier result is the answer's own.

        Args:
            trial: whether a locked function was called, which tells by itself what was changed.
            raised: whether the answer raised an error.

        Returns:
            Words for it; none for a trial, or where the answer raised, unless the check forbids
            the change; None if there was none.
        """

        def places(tensors: list[torch.Tensor]) -> set[int]:
            found = (self.known.storages.find(tensor.untyped_storage()) for tensor in tensors)
            return {place[0] for place in found if place is not None}

        results = self.known.results
        lengths = self.resized - results
        layouts = {self.known.tensors[number].place for number in self.layouts} - results
        changed = layouts | self.contents.keys() - results
        if not lengths and not changed - places(allow_changes.allowed):
            return None
        if (trial or raised) and not changed & places(forbid_changes.forbidden):
            return ""
        return CHANGED.format("shape, stride or storage" if lengths | layouts else "values")

    def do(self) -> None:
        """Do the same to the judge's tensors; but no storage gets another length."""
        for number in self.contents.keys() - self.resized:
            self.known.write(number, self.contents[number])
        for number, layout in self.layouts.items():
            named = self.known.tensors[number]
            if named.place not in self.resized:
                changed = memory.lay_out(named.tensor.untyped_storage(), layout)
                with torch.no_grad():
                    named.tensor.data = changed

    def copied(self) -> Known:
        """Storages and tensors as the answer left them, apart from the judge's own."""
        storages = list(self.known.storages.known)
        for number, content in self.contents.items():
            storages[number] = memory.new_storage(content)
        found = Known(memory.Storages(storages, list(self.known.storages.contents)))
        for number, named in enumerate(self.known.tensors):
            tensor = named.tensor
            if named.place in self.contents or number in self.layouts:
                _, start = self.known.storages.find(tensor.untyped_storage()) or (None, 0)
                size, stride, offset, dtype = memory.layout_of(tensor)
                own = [size, stride, offset + start // tensor.element_size(), dtype]
                tensor = memory.lay_out(storages[named.place], self.layouts.get(number, own))
            found.tensors.append(Named(tensor, named.place, named.requires_grad))
        return found


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
