"""What a rank hands to the other ranks: calls, bytes and destinations, counted."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

# What torch.distributed calls them; the operators below it have names of their own.
NAMES = {
    "allreduce": "all_reduce",
    "allreduce_coalesced": "all_reduce",
    "allgather": "all_gather",
    "allgather_base": "all_gather",
    "allgather_coalesced": "all_gather",
    "allgather_into_tensor_coalesced": "all_gather",
    "all_gather_into_tensor": "all_gather",
    "reduce_scatter_base": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all",
    "all_to_all_single": "all_to_all",
    "recv_any_source": "recv",
}


class Call(NamedTuple):
    """One call of a communication operator on this rank.

    Attributes:
        name: as in ``torch.distributed``: ``"send"``, ``"recv"``, ``"all_reduce"``, …
        nbytes: the bytes of the tensors that this rank handed in; 0 for ``"recv"``, and for a
            ``"broadcast"`` on the ranks that take part to receive.
        peer: for ``"send"`` and ``"recv"`` the other rank, elsewhere None.
    """

    name: str
    nbytes: int
    peer: int | None


class count_traffic(TorchDispatchMode):
    """Count what this rank communicates inside a ``with`` block, backward passes included.

    Attributes:
        calls: a :class:`Call` for each operator, in order.

    Raises:
        ValueError: a rank that isn't there is sent to or received from; gloo would wait for it, or
            end the process.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace in ("c10d", "_c10d_functional", "_c10d_functional_autograd"):
            self._note(func, args, kwargs or {})
        return func(*args, **(kwargs or {}))

    def _note(self, func: Any, args: tuple, kwargs: dict) -> None:
        name = func._schema.name.split("::")[1].strip("_")
        name = NAMES.get(name, name)
        if name in ("wait_tensor", "monitored_barrier"):
            return
        given = dict(zip((arg.name for arg in func._schema.arguments), args, strict=False)) | kwargs
        inputs = [key for key in given if key.startswith("input")]
        inputs = inputs or [key for key in given if key.startswith(("tensor", "self"))]
        takes = name in ("recv", "barrier") or (name == "broadcast" and _receives(given))
        nbytes = 0 if takes else sum(map(_nbytes, map(given.get, inputs[:1])))
        peer = given.get("dst", given.get("src")) if name in ("send", "recv") else None
        if peer is not None:
            last = dist.ProcessGroup.unbox(given["process_group"]).size() - 1
            if not 0 <= peer <= last:
                raise ValueError(
                    f"{name} was called with rank {peer}, which isn't there: ranks go from 0 to "
                    f"{last}"
                )
        self.calls.append(Call(name, nbytes, peer))

    def count(self) -> dict[str, int]:
        """How often each operation was called."""
        return dict(Counter(call.name for call in self.calls))

    def nbytes(self, name: str | None = None) -> int:
        """The bytes that this rank handed in, for one operation or for all."""
        return sum(call.nbytes for call in self.calls if name in (None, call.name))


def _receives(given: dict) -> bool:
    """Whether this rank is another than the one that a broadcast comes from."""
    group = given.get("process_group")
    return group is not None and given["root_rank"] != dist.ProcessGroup.unbox(group).rank()


def _nbytes(given: Any) -> int:
    if isinstance(given, torch.Tensor):
        return given.numel() * given.itemsize
    return sum(map(_nbytes, given)) if isinstance(given, (list, tuple)) else 0


def rank_device() -> torch.device:
    """Where this rank's tensors live: its current GPU under NCCL, the CPU elsewhere."""
    if dist.is_initialized() and dist.get_backend() == "nccl":
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")
