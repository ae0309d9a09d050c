"""Exercise 18.3: parameters that no rank has whole."""

from __future__ import annotations

import operator
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch.distributed.tensor.debug import CommDebugMode
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.chapters.sharding.jobs import random_like
from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook

ledger = {"gathers": 0, "scatters": 0, "most": 0}
still_alive: list = []
unseen = {"now": False}  # while one of the two functions below works, its own tensors don't count


def gather_rows(shard: torch.Tensor) -> torch.Tensor:
    """The whole matrix, from the rows of every rank. It notes how many are alive."""
    rows, columns = shard.shape
    unseen["now"] = True
    gathered = torch.empty(rows * dist.get_world_size(), columns)
    dist.all_gather_into_tensor(gathered, shard.detach().contiguous())
    unseen["now"] = False
    # A copy is counted: gloo's thread may hold what it has written to for a moment longer.
    whole = gathered.clone()
    still_alive.append(StorageWeakRef(whole.untyped_storage()))
    still_alive[:] = [matrix for matrix in still_alive if not matrix.expired()]
    ledger["gathers"] += 1
    ledger["most"] = max(ledger["most"], len(still_alive))
    return whole


def scatter_mean_rows(gradient: torch.Tensor) -> torch.Tensor:
    """This rank's rows of the mean of all ranks' gradients."""
    rows, columns = gradient.shape
    unseen["now"] = True
    mine = torch.empty(rows // dist.get_world_size(), columns)
    dist.reduce_scatter_tensor(mine, gradient.detach().contiguous())
    unseen["now"] = False
    ledger["scatters"] += 1
    return mine / dist.get_world_size()


class LargeTensors(TorchDispatchMode):
    """Notes each new storage as large as a whole matrix; `alive()` counts those that live."""

    def __init__(self, numbers: int) -> None:
        super().__init__()
        self.bytes, self.made = 4 * numbers, {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, (tuple, list)) else (result,):
            if type(tensor) is torch.Tensor and not unseen["now"]:
                storage = tensor.untyped_storage()
                if storage.nbytes() >= self.bytes:
                    reference = StorageWeakRef(storage)
                    self.made[reference.cdata] = reference
        return result

    def alive(self) -> int:
        return sum(not reference.expired() for reference in self.made.values())


def run_fully_sharded(rank, world_size, fully_sharded, sizes, batch, with_input):
    whole = [random_like((o, i), n) / i**0.5 for n, (o, i) in enumerate(sizes)]
    shards = [w.chunk(world_size)[rank].clone().requires_grad_() for w in whole]
    x = random_like((batch, sizes[0][1]), 50, rank).requires_grad_(with_input)
    handed = list(shards)
    with CommDebugMode() as traffic:
        found = _forward_and_backward(rank, fully_sharded, x, shards, sizes)
        asked = ledger["gathers"] + ledger["scatters"]
        others = sum(traffic.get_comm_counts().values()) - asked
        same = len(shards) == len(handed) and all(map(operator.is_, shards, handed))
        assert same, "the list `shards` was changed: it is the caller's"
        assert with_input or not x.requires_grad, (
            "x requires grad after the call, and it didn't before: leave the caller's x as it is"
        )
        first = [t.grad for t in (*shards, x)]
        for leaf in (*shards, x):
            leaf.grad = None
        _forward_and_backward(rank, fully_sharded, x, shards, sizes)
    for n, (grad, leaf) in enumerate(zip(first, (*shards, x), strict=True)):
        name = f"shards[{n}].grad" if leaf is not x else "x.grad"
        if grad is None or leaf.grad is None:
            again = grad is leaf.grad
        else:
            again = torch.allclose(grad, leaf.grad, 1e-4, 1e-5)
        assert again, (
            f"a second call with the same x and shards gives another {name}: does the first one "
            "leave a hook on them, or remember something?"
        )
    with CommDebugMode():
        _forward_and_backward(rank, fully_sharded, x, shards, sizes)
    for n, (grad, leaf) in enumerate(zip(first, (*shards, x), strict=True)):
        name = f"shards[{n}].grad" if leaf is not x else "x.grad"
        assert (
            grad is None or leaf.grad is None or torch.allclose(grad + grad, leaf.grad, 1e-4, 1e-5)
        ), (
            f"{name} is not added to what was there before the backward pass: return the gradient "
            "from a Function's backward, or add to .grad"
        )
    return found[0], first[:-1], first[-1], *found[1:], others


def _forward_and_backward(rank, fully_sharded, x, shards, sizes):
    """Output; the ledger after the forward pass and at the end; large tensors alive at each."""
    wholes = [o * i for o, i in sizes]
    apart = min(wholes) > max(len(x) * width for size in sizes for width in size)
    large = LargeTensors(min(wholes)) if apart else None
    with large or nullcontext():
        out = fully_sharded(x, shards)
        is_tensor = isinstance(out, torch.Tensor)
        assert is_tensor, f"fully_sharded returned {out!r}, no tensor: is there an answer yet?"
        forward = {**ledger, "large": large.alive() if large else 0}
        shape = (len(x), sizes[-1][0])
        assert tuple(out.shape) == shape, (
            f"the result has shape {tuple(out.shape)}, expected {shape}: "
            "each layer needs the whole matrix"
        )
        assert out.requires_grad, "the result has no graph: nothing leads back to the shards"
        (out * random_like(out.shape, 60, rank)).sum().backward()
    return out.detach(), forward, {**ledger, "large": large.alive() if large else 0}


def ordinary_stack(rank, world_size, sizes, batch, without_tanh=False):
    """One process's output and gradients; with a slip: as if tanh had the derivative 1."""
    whole = [random_like((o, i), n) / i**0.5 for n, (o, i) in enumerate(sizes)]
    whole = [w.requires_grad_() for w in whole]
    h = x = random_like((batch, sizes[0][1]), 50, rank).requires_grad_()
    for w in whole:
        z = h @ w.T
        h = z + (torch.tanh(z) - z).detach() if without_tanh else torch.tanh(z)
    (h * random_like(h.shape, 60, rank)).sum().backward()
    return h.detach(), [w.grad for w in whole], x.grad


@ends_in_notebook
def check_fully_sharded(found, world_size, sizes, batch, with_input):
    assert not isinstance(found, str), found
    truths = [ordinary_stack(r, world_size, sizes, batch) for r in range(world_size)]
    straight = [ordinary_stack(r, world_size, sizes, batch, True) for r in range(world_size)]
    wrong = []
    for rank, (out, grads, x_grad, forward, end, others) in enumerate(found):
        check_close(out, truths[rank][0], f"rank {rank}'s output", rtol=1e-4, atol=1e-5)
        if others:
            wrong.append(
                f"{others} collectives beside gather_rows and scatter_mean_rows: reach the other "
                "ranks only through these two"
            )
        if forward["gathers"] < len(sizes):
            wrong.append("gather_rows was called less than once a layer in the forward pass")
        if end["most"] > 2:
            wrong.append(
                f"{end['most']} of {len(sizes)} whole matrices were alive at once: what holds "
                "them? A list does, and an operator of autograd, which saves its operands. Free "
                "each matrix after its layer, and gather it again in backward"
            )
        for when, kept in (("after the forward pass", forward), ("after the backward pass", end)):
            if kept["large"] > 2 and end["most"] <= 2:
                wrong.append(
                    f"{when} {kept['large']} tensors as large as a whole matrix are alive: "
                    "a matrix is freed only if no one keeps a copy of it"
                )
        for n, grad in enumerate(grads):
            name = f"shards[{n}].grad on rank {rank}"
            if grad is None or not grad.any():
                what = "None" if grad is None else "all zeros"
                wrong.append(f"{name} is {what}: no gradient comes back to it from the loss")
                continue
            own = truths[rank][1][n].chunk(world_size)[rank]
            if grad.shape == own.shape and torch.allclose(grad, own, 1e-4, 1e-5) and world_size > 1:
                wrong.append(f"{name} comes from this rank's batch alone: average over the ranks")
                continue
            mean, no_tanh = (
                (sum(one[1][n] for one in all_ranks) / world_size).chunk(world_size)[rank]
                for all_ranks in (truths, straight)
            )
            slips = {
                "is what comes out without the derivative of tanh": no_tanh,
                f"is 1/{world_size} of the mean: scatter_mean_rows gives the mean already": mean
                / world_size,
                f"is {world_size} times what it should be: the sum, not the mean": mean
                * world_size,
            }
            known = [
                words
                for words, slip in slips.items()
                if grad.shape == slip.shape
                and torch.allclose(grad, slip, 1e-4, 1e-6)
                and not torch.allclose(mean, slip, 1e-4, 1e-6)
            ]
            if known:
                wrong.append(f"{name} {known[0]}")
                continue
            try:
                check_close(grad, mean, name, rtol=1e-4, atol=1e-5)
            except AssertionError as error:
                wrong.append(str(error))
        if with_input and x_grad is None:
            wrong.append("x.grad is None, though x requires grad")
        elif with_input:
            try:
                check_close(x_grad, truths[rank][2], f"x.grad on rank {rank}", rtol=1e-4, atol=1e-5)
            except AssertionError as error:
                wrong.append(str(error))
    assert not wrong, some_of(wrong)


def some_of(wrong: list[str], most: int = 4) -> str:
    """The first few, those that name a slip before bare numbers, and how many more there are."""
    wrong = sorted(dict.fromkeys(wrong), key=lambda words: "differs in" in words)
    more = f"; and {len(wrong) - most} more" if len(wrong) > most else ""
    return "; ".join(wrong[:most]) + more


def known_slip(name, found, truth, world_size, own):
    """Words for a gradient that a known slip would give."""
    if found is None:
        return f"{name} is None: no gradient comes back to it"
    if found.shape == truth.shape and world_size > 1:
        if torch.allclose(found, truth * world_size, 1e-4, 1e-4):
            slip = "the sum at the exit was summed again"
            return f"{name} is {world_size} times what it should be: {slip}"
        if name == "bias.grad" and torch.allclose(found, truth / world_size, 1e-4, 1e-4):
            return (
                f"{name} is 1/{world_size} of what it should be: add the whole bias after the sum"
            )
        if own is not None and torch.allclose(found, own, 1e-4, 1e-4):
            return f"{name} holds only what this rank's hidden units contribute: sum over the ranks"
    try:
        check_close(found, truth, name, rtol=1e-4, atol=1e-4)
    except AssertionError as error:
        return str(error)
