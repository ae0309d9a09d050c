"""Exercise 18.3: the two functions that reach other ranks, and how many matrices are whole."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

ledger = {"gathers": 0, "scatters": 0}
unseen = {"now": False}  # while one of the two functions below works, its own tensors don't count


def gather_rows(shard: torch.Tensor) -> torch.Tensor:
    """The whole matrix, from the rows of every rank."""
    rows, columns = shard.shape
    unseen["now"] = True
    gathered = torch.empty(rows * dist.get_world_size(), columns)
    dist.all_gather_into_tensor(gathered, shard.detach().contiguous())
    unseen["now"] = False
    ledger["gathers"] += 1
    return gathered.clone()  # gloo's thread may hold what it has written to for a moment longer


def scatter_mean_rows(gradient: torch.Tensor) -> torch.Tensor:
    """This rank's rows of the mean of all ranks' gradients."""
    rows, columns = gradient.shape
    if rows % dist.get_world_size():
        raise ValueError(
            f"scatter_mean_rows was handed shape {tuple(gradient.shape)}, and its rows don't go "
            "round: it takes the whole gradient of W, of shape (out, in); is this one turned?"
        )
    unseen["now"] = True
    mine = torch.empty(rows // dist.get_world_size(), columns)
    dist.reduce_scatter_tensor(mine, gradient.detach().contiguous())
    unseen["now"] = False
    ledger["scatters"] += 1
    return mine / dist.get_world_size()


class LargeTensors(TorchDispatchMode):
    """Follows storages as large as a whole matrix, and those that hold a whole matrix's numbers.

    `alive()` counts the large ones that live; `most` says how many copies of whole matrices did
    at once, in whatever order their numbers are.
    """

    def __init__(self, matrices: list[torch.Tensor]) -> None:
        super().__init__()
        self.numbers = {w.numel(): [] for w in matrices}
        for w in matrices:
            self.numbers[w.numel()].append(w.flatten().sort().values)
        self.bytes = 4 * min(self.numbers)
        self.made, self.copies, self.most = {}, {}, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, (tuple, list)) else (result,):
            if type(tensor) is torch.Tensor and not unseen["now"]:
                self.look_at(tensor)
        return result

    def look_at(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        reference = StorageWeakRef(storage)
        if storage.nbytes() >= self.bytes:
            self.made[reference.cdata] = reference
        same_size = self.numbers.get(tensor.numel(), ())
        if same_size and reference.cdata not in self.live(self.copies):
            values = tensor.detach().flatten().float().sort().values
            if any(torch.allclose(values, w, 1e-2, 1e-3) for w in same_size):
                self.copies[reference.cdata] = reference
        self.most = max(self.most, len(self.live(self.copies)))

    @staticmethod
    def live(references: dict) -> dict:
        return {key: one for key, one in references.items() if not one.expired()}

    def alive(self) -> int:
        return len(self.live(self.made))
