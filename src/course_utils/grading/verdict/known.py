"""What the judge and the answer's process know by number: storages, and tensors over them.

A call begins with what the call before it mentioned. So a tensor that a check hands over again is
the tensor that it was for the answer too, and where the answer writes into an earlier result, the
check's own changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch.autograd.graph import increment_version

from course_utils.grading.verdict.memory import Storages, differing, fill_storage, storage_bytes

# Of all storages together that are kept for the next call.
MOST_BYTES = 2**20


@dataclass
class Named:
    """A tensor that travelled.

    Attributes:
        tensor: this side's; one of nobody's where it has changed since, and has to travel anew.
        place: the number of its storage.
        requires_grad: as it travelled.
        look: how it lay in memory when the call before ended.
    """

    tensor: torch.Tensor
    place: int
    requires_grad: bool
    look: tuple = ()


@dataclass
class Known:
    """Storages and tensors by their numbers, which are the same on both sides.

    Attributes:
        storages: with what lay in them when it was last told.
        tensors: those that travelled, in order.
        mentioned: the storages that this call has to do with.
        results: the storages that came with a result, and were no argument since.
    """

    storages: Storages = field(default_factory=Storages)
    tensors: list[Named] = field(default_factory=list)
    mentioned: set[int] = field(default_factory=set)
    results: set[int] = field(default_factory=set)

    def name(self, tensor: torch.Tensor, place: int, requires_grad: bool) -> None:
        """Give a tensor the next number."""
        self.tensors.append(Named(tensor, place, requires_grad))

    def number_of(self, tensor: torch.Tensor) -> int | None:
        """A tensor's number, if it has one; it is mentioned then."""
        for number, named in enumerate(self.tensors):
            if named.tensor is tensor:
                self.mentioned.add(named.place)
                return number
        return None

    def write(self, number: int, content: bytes) -> None:
        """Let a storage hold what the other side has in it."""
        fill_storage(self.storages.known[number], content)
        self.storages.contents[number] = content
        for named in self.tensors:
            if named.place == number and not named.tensor.is_inference():
                increment_version(named.tensor)

    def kept(self) -> Known:
        """What the next call begins with: what was mentioned, but for tensors in a graph."""
        order = sorted(self.mentioned)
        known, contents = self.storages.known, self.storages.contents
        if sum(len(contents[number]) for number in order) > MOST_BYTES:
            return Known()
        place = {old: new for new, old in enumerate(order)}
        return Known(
            Storages([known[number] for number in order], [contents[number] for number in order]),
            [
                Named(named.tensor, place[named.place], False, _look(named.tensor))
                for named in self.tensors
                if named.place in place and not named.requires_grad
            ],
            set(),
            {place[number] for number in self.results & self.mentioned},
        )

    def written(self) -> list[list] | None:
        """What was written into the storages since: the number and content of each that it was.

        Tensors that were laid out anew since, or ask for gradients now, are not known any more.

        Returns:
            None where a storage has another length by now: all has to begin anew.
        """
        for named in self.tensors:
            if _look(named.tensor) != named.look:
                named.tensor = torch.empty(0)
        before, now = self.storages.contents, list(map(storage_bytes, self.storages.known))
        if list(map(len, before)) != list(map(len, now)):
            return None
        self.storages.contents = now
        return differing(before, now)


def _look(tensor: torch.Tensor) -> tuple:
    """Where a tensor lies, and whether it asks for gradients."""
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.data_ptr(), tensor.requires_grad
