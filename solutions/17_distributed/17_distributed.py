# ---
# jupyter:
#   course:
#     title: Distributed training
#     minutes: 230
#     core: 110
# ---

# %% [markdown]
# # Distributed training: how do many processes agree on one set of weights?
#
# Eight processes each hold a copy of a model, and each sees other samples. After a thousand steps
# their weights are equal, to the last bit. No process was in charge, and no weights were sent
# around after the first second. This chapter takes that apart and builds it again.
#
# **After this chapter you can**
#
# - start several processes, let them find each other, and say what each of them knows;
# - build broadcast, reduce, all-gather and reduce-scatter from `send` and `recv`, and the ring that
#   makes an all-reduce cheap;
# - write data-parallel training by hand: shards, first weights, averaged gradients, buckets;
# - keep it right when shards are unequal, gradients accumulate, or a layer looks at the whole batch;
# - read the stacks of a program that hangs, name the cause and repair it;
# - predict from a few measurements what eight ranks will gain.
#
# **It leans on** chapters 05 and 07 (gradients, hooks), on 06 for exercise 17.10, and on any training loop. All processes run on
# this machine's CPU; with several GPUs the same cells use NCCL. **Time:** under four hours, without
# section 10, which is optional and takes another twenty minutes. The **core path**, marked *· core*,
# takes less than two hours.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.distributed as dist
import torch.nn as nn
from course_utils import check_predictions, count_traffic
from course_utils import launch, rank_device, runs_with_the_answer, show

# %% nbgrader={"grade_id": "tools", "locked": true} jupyter={"source_hidden": true}
import os
import pickle
import random
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from course_utils.chapters.distributed.pictures import draw_buckets, draw_collectives
from course_utils.chapters.distributed.pictures import draw_dealt, draw_ring_steps
from course_utils.chapters.distributed.pictures import draw_two_norms

import matplotlib.pyplot as plt
import torch.nn.functional as F
from course_utils.chapters.distributed import bn_case, check_collectives, check_compress
from course_utils.chapters.distributed import check_ddp, check_no_sync, check_repair, check_ring
from course_utils.chapters.distributed import check_sampler, check_scaling, check_sync_bn
from course_utils.chapters.distributed import check_unequal, run_collectives, run_compress
from course_utils.chapters.distributed import run_ddp, run_no_sync, run_repair, run_ring
from course_utils.chapters.distributed import run_sampler, run_scaling, run_sync_bn
from course_utils.chapters.distributed import run_unequal, stuck
from course_utils.chapters.distributed import SIDES, Branches, launched
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data.distributed import DistributedSampler


# %% [markdown]
# ## 1. Many processes, one program · core
#
# Who are "the processes", and how does each know which one it is? `launch`, a helper of this course,
# runs a function on several processes of this machine. Each is called a **rank** and has a number.
# **Predict** what the cell prints before you run it.


# %% topics=["ddp-concept"]
def roll_call(rank: int, world_size: int) -> int:
    print(f"I am {rank} of {world_size}")
    return 10 * rank


launch(roll_call, 3)

# %% [markdown]
# Three processes ran the *same* function. Only `rank` differs, so whatever differs between processes
# has to follow from it. `world_size` is their number. `launch` gives back what each rank returned.
#
# Processes share no memory. What a rank appends to a list is lost for the others and for the
# notebook:

# %%
notes = []
launch(lambda rank, world_size: notes.append(rank), 3)
print("notes in the notebook:", notes)

# %% [markdown]
# They have to send each other what they know. Before they can, they must find each other. Somewhere
# a small server, the **store**, answers at an address that all of them know. It holds names and
# values, and `get` waits until a name has a value. Environment variables say where the store is,
# and who is who:


# %%
def meet(rank: int, world_size: int) -> tuple[str, str, str]:
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    store = dist.TCPStore(address, port, world_size, is_master=rank == 0)
    if rank == 0:
        store.set("greeting", "rank 0 was here")
    greeting = store.get("greeting").decode()
    store.set(f"read by {rank}", "yes")
    if rank == 0:  # the store ends with it, so it stays until all have read
        store.wait([f"read by {reader}" for reader in range(world_size)])
    return os.environ["RANK"], os.environ["WORLD_SIZE"], greeting


# %%
launch(meet, 2, backend=None)

# %% [markdown]
# `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and `MASTER_PORT` are the four variables that
# `init_process_group` reads by default. `LOCAL_RANK` is the number within one machine: it picks the
# GPU, by `torch.cuda.set_device(local_rank)` before anything else. With four GPUs per machine, rank
# 5 is local rank 1 of the second machine.
#
# The **backend** moves the bytes: `nccl` between GPUs, `gloo` between CPUs. Usually `launch` makes
# the group; with `backend=None` the function does it itself.


# %% topics=["process-group-init"]
def by_hand(rank: int, world_size: int) -> tuple:
    dist.init_process_group("gloo", timeout=timedelta(seconds=30))
    found = dist.get_rank(), dist.get_world_size(), dist.get_backend()
    dist.barrier()  # wait for the others: none may lose its store while it is still joining
    dist.destroy_process_group()
    return found


# %%
launch(by_hand, 2, backend=None)

# %% [markdown]
# > **Often said.** *"`torch.distributed` uses MPI on the CPU and NCCL on the GPU."* On the CPU it is
# > gloo. The MPI backend needs a PyTorch that you compiled yourself.

# %% errata=["mpi-is-the-cpu-backend"] tags=["shows-false"]
print("gloo:", dist.is_gloo_available(), "  mpi:", dist.is_mpi_available())

# %% [markdown]
# Why the helper, when there is `torch.multiprocessing.spawn`? `spawn` starts a fresh Python and sends
# it the function by pickle. What pickle writes down for a function is its *name* only:

# %% topics=["mp-spawn"] tags=["shows-false"]
sent = pickle.dumps(roll_call)
print(len(sent), "bytes;", "the name is in it:", b"roll_call" in sent)
print("its text is in it:", b"I am" in sent)

# %% [markdown]
# The fresh process would look for `__main__.roll_call` in vain, because the cell was never run
# there. In a script, `mp.spawn(function, args, nprocs)` under `if __name__ ==
# "__main__":` works well.
#
# The first thing that ranks need from each other is a sum. `all_reduce` adds up a tensor over all
# ranks and leaves the sum on *every* rank. `barrier` waits until all ranks have reached it.
# `rank_device()`, a helper, is the rank's GPU, or the CPU where there are too few.


# %%
def add_up(rank: int, world_size: int) -> float:
    x = torch.tensor([rank + 1.0], device=rank_device())
    dist.all_reduce(x)
    return x.item()


launch(add_up, 2)

# %% [markdown]
# ### Exercise 17.1 — Rank and file ★ · 3 min · 2 points · core
#
# Predict, with Python values. `add_up` is the function above; a rank counts from 0.
#
# - `"sum on rank 2"`: what rank 2 of `launch(add_up, 3)` returns;
# - `"sum on rank 0"`: what rank 0 returns there;
# - `"length of notes"`: each of 3 ranks appends one entry to the notebook's empty list; its length
#   in the notebook afterwards;
# - `"A before B"`: each of 3 ranks prints `A`, calls `dist.barrier()`, prints `B`. How many `A` are
#   certainly printed before the first `B`?
# - `"WORLD_SIZE"`: `os.environ["WORLD_SIZE"]` in a rank of `launch(roll_call, 3)`;
# - `"local rank of 6"`: 2 machines with 4 GPUs each, one rank for each GPU: the local rank of rank 6.

# %% nbgrader={"grade_id": "rank-and-file", "solution": true}
rank_and_file = {
    "sum on rank 2": None,
    "sum on rank 0": None,
    "length of notes": None,
    "A before B": None,
    "WORLD_SIZE": None,
    "local rank of 6": None,
}
### BEGIN SOLUTION
rank_and_file = {
    "sum on rank 2": 6.0,
    "sum on rank 0": 6.0,
    "length of notes": 0,
    "A before B": 3,
    "WORLD_SIZE": "3",
    "local rank of 6": 2,
}
### END SOLUTION

# %% nbgrader={"grade_id": "rank-and-file-check", "grade": true, "points": 2} jupyter={"source_hidden": true}
assert not any(
    isinstance(value, torch.Tensor) and value.dim() for value in rank_and_file.values()
), "a tensor with dimensions is among the predictions: write plain numbers; .item() gives one"
check_predictions(
    rank_and_file,
    {
        "sum on rank 2": 6.0,
        "sum on rank 0": 6.0,
        "length of notes": 0,
        "A before B": 3,
        "WORLD_SIZE": "3",
        "local rank of 6": 2,
    },
    because={
        "sum on rank 2": "each rank hands in rank + 1, and the sum is over all three",
        "sum on rank 0": "an all-reduce leaves the same sum on every rank",
        "length of notes": "each rank appends to a list in its own memory",
        "A before B": "no rank leaves the barrier before the last has come to it",
        "WORLD_SIZE": "the number of ranks; an environment variable is always a string",
        "local rank of 6": "ranks 0 to 3 are on the first machine; count from 0 on each machine",
    },
)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Run `launch(add_up, 3)` in a cell of your own. The values of `os.environ` are of one type only.
# </details>

# %% [markdown]
# ## 2. Collectives: what they all do together · core
#
# A sum over all ranks is one of a family. A **collective** is a call that every rank makes, in the
# same order, with tensors of fitting shapes. Each row of a panel is a rank. The letter shows whose
# data it is, the number which part.

# %% topics=["collectives"]
draw_collectives()

# %% [markdown]
# Read two of them together: a reduce-scatter followed by an all-gather is an all-reduce. Section 3
# builds on that.
#
# Three more move data without adding: **scatter** deals rank 0's parts out, **gather** collects
# them again, and in **all-to-all** every rank has a part for every other. `x` of rank r holds 10 r,
# 10 r + 1, 10 r + 2:


# %%
def the_rest(rank: int, world_size: int) -> tuple:
    x = torch.arange(world_size, device=rank_device()) + 10 * rank
    part, turned = torch.empty_like(x[:1]), torch.empty_like(x)
    dist.scatter(part, list(x.split(1)) if rank == 0 else None, src=0)
    dist.all_to_all_single(turned, x)
    return part.item(), turned.tolist()


# %%
for rank, (part, turned) in enumerate(launch(the_rest, 3)):
    print(f"rank {rank}: scatter {part}, all-to-all {turned}")

# %% [markdown]
# What isn't a tensor is pickled (`all_gather_object`, `broadcast_object_list`). And a collective
# may belong to a **group** of some ranks. *Every* rank makes the group, also those outside:


# %%
def some_of_them(rank: int, world_size: int) -> tuple:
    words, x = [None] * world_size, torch.tensor([10.0**rank], device=rank_device())
    dist.all_gather_object(words, f"{rank} is well")
    group = dist.new_group([0, 2])
    if rank in (0, 2):
        dist.all_reduce(x, group=group)
    return words, x.item()


# %%
print(*launch(some_of_them, 3), sep="\n")

# %% [markdown]
# Beneath all collectives are two calls between two ranks: `send(x, dst)`, and `recv(y, src)`, which
# fills `y` in place. Here rank 0 passes a number to 1, and 1 passes it on to 2:


# %%
def pass_on(rank: int, world_size: int) -> float:
    x = torch.full((1,), 7.0 if rank == 0 else 0.0, device=rank_device())
    if rank > 0:
        dist.recv(x, rank - 1)
    if rank < world_size - 1:
        dist.send(x, rank + 1)
    return x.item()


# %%
launch(pass_on, 3)

# %% [markdown]
# The order matters. With gloo, `send` returns when the other side has taken the data. If two ranks
# both send first, each waits for the other to receive, for ever. `launch` has a time limit and
# reports where each rank was:


# %% tags=["raises-exception", "nbval-ignore-output"]
def both_send_first(rank: int, world_size: int) -> None:
    x = torch.ones(1, device=rank_device())
    dist.send(x, 1 - rank)
    dist.recv(x, 1 - rank)


launch(both_send_first, 2, timeout=1)

# %% [markdown]
# That is a **deadlock**. Two ways out: let one of them receive first, or start the send without
# waiting: `request = dist.isend(x, dst)`, receive, then `request.wait()`. (`irecv` is the same for
# receiving. `batch_isend_irecv` starts several of both together; between GPUs, prefer it.) Two more
# rules: a tensor that is sent must be contiguous, and the receiver provides a tensor of the right
# shape and dtype.
#
# ### Exercise 17.2 — Collectives from send and recv ★★ · 15 min · 4 points · core
#
# Write four of the collectives above. Every rank calls `collectives_from_sendrecv(kind, x, root)`. `x` has the same shape
# and dtype on every rank: floating point or integer, any number of dimensions, perhaps empty or not contiguous.
# Return
#
# | kind | result on this rank |
# | --- | --- |
# | `"broadcast"` | a tensor like `x` with the values of rank `root` |
# | `"reduce"` | on rank `root` the sum over all ranks; `None` on the others |
# | `"all_gather"` | shape `(world_size, *x.shape)`: row r is the `x` of rank r |
# | `"reduce_scatter"` | `x` is `(world_size, …)`; on rank r the sum over all ranks of `x[r]` |
#
# - All values travel by `send`, `recv`, `isend`, `irecv` and `batch_isend_irecv` of
#   `torch.distributed`, and by nothing else.
# - It must work for any number of ranks, also one.
# - Results have the dtype of `x`, and large integers are added up exactly. Leave `x` as it is.
#
# Example, on two ranks with `x = [1, 2]` and `x = [10, 20]`: reduce_scatter gives a 0-D `11` on rank 0
# and `22` on rank 1.


# %% nbgrader={"grade_id": "try-collectives", "locked": true}
@runs_with_the_answer
def try_collectives(world_size: int, cases: list) -> list | str:
    """For each rank and case: the result, whether x is as before, and the calls that were made."""
    return run_collectives(collectives_from_sendrecv, world_size, cases)


# %% nbgrader={"grade_id": "collectives-from-sendrecv", "solution": true}
def collectives_from_sendrecv(kind: str, x: torch.Tensor, root: int = 0) -> torch.Tensor | None:
    """One collective, made of ``send`` and ``recv``.

    ``kind`` is ``"broadcast"``, ``"reduce"``, ``"all_gather"`` or ``"reduce_scatter"``.
    """
    ### BEGIN SOLUTION
    rank, world_size = dist.get_rank(), dist.get_world_size()
    x = x.contiguous()
    gathered = torch.stack([x] * world_size)
    for first in range(world_size):  # every pair once; the lower rank sends first
        for second in range(first + 1, world_size):
            if rank == first:
                dist.send(x, second)
                dist.recv(gathered[second], second)
            elif rank == second:
                dist.recv(gathered[first], first)
                dist.send(x, first)
    if kind == "broadcast":
        return gathered[root].clone()
    if kind == "reduce":
        return gathered.sum(0, dtype=x.dtype) if rank == root else None
    return gathered if kind == "all_gather" else gathered[:, rank].sum(0, dtype=x.dtype)
    ### END SOLUTION


# %% nbgrader={"grade_id": "collectives-from-sendrecv-check", "grade": true, "points": 4}
kinds = ["broadcast", "reduce", "all_gather", "reduce_scatter"]
two = [torch.tensor([1, 2]), torch.tensor([10, 20])]
wide = [torch.arange(6.0).view(3, 2).t(), 10 + torch.arange(6.0).view(2, 3)]  # rank 0's is turned
large = [torch.tensor([2**60 + 1, 3]), torch.tensor([5, 2**62])]
small = [torch.tensor([2**24 + 1, 3]).int(), torch.tensor([2, 2**28 + 1]).int()]
fine = [torch.tensor([1.0, 2.0], dtype=torch.float64) / 3] * 2
half, bfloat = ([torch.tensor([1.5, 2]).to(kind)] * 2 for kind in (torch.half, torch.bfloat16))
tiny = [torch.tensor([7, -3], dtype=torch.int8)] * 2
cases = [(kind, x, root) for x, root in ((two, 1), (wide, 0), (large, 0)) for kind in kinds]
ends = [torch.tensor([torch.nan, 1e-20]), torch.tensor([2.0, 2e-20]), torch.tensor([torch.inf, 1])]
ends, bits = [ends[:2], ends[1:]], [torch.tensor([100, 3], dtype=torch.uint8)] * 2
deep, flat = list(torch.arange(32.0).view([2] * 5)), [torch.ones(2, 1).expand(2, 3)] * 2
cases += [(kind, x, 1) for x in (half, bfloat, tiny, small, fine, bits, deep) for kind in kinds]
cases += [(kind, x, root) for x in (flat, *ends) for root in (0, 1) for kind in kinds]
cases += [("broadcast", two, None), ("reduce", two, None)]  # root is left out
check_collectives(try_collectives, 2, cases)
three = [torch.full((3, 1), 10.0**rank) for rank in range(3)]
cases = [(kind, three, root) for root in (2, 1) for kind in kinds]
cases += [(kind, list(torch.arange(1.0, 4)), 0) for kind in kinds[:3]]  # 0-D
cases += [(kind, [torch.zeros(3, 0)] * 3, 1) for kind in kinds]
check_collectives(try_collectives, 3, cases)
alone = [(kind, [torch.tensor([[3.0]])], 0) for kind in kinds]
check_collectives(try_collectives, 1, alone)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(17)
four = [torch.randint(-9, 9, (4, 2, 3), generator=generator) for _ in range(4)]
cases = [(kind, four, root) for root, kind in enumerate(kinds)]
check_collectives(try_collectives, 4, cases)
check_collectives(try_collectives, 3, [(kind, three, 0) for kind in kinds])
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write all-gather first. The three others can be made from it: it sends more than needed, but it is right.
# </details>
# <details><summary>Hint 2</summary>
#
# Broadcast: `root` sends to every other rank in turn, every other rank receives once. Reduce: the same
# the other way round. A rank never sends to itself.
# </details>
# <details><summary>Hint 3</summary>
#
# All-gather is a broadcast from each rank in turn. As long as all ranks walk through the same loop,
# nothing can wait for ever.
# </details>

# %% [markdown]
# ## 3. Bytes: the ring
#
# You can add up now. What does it cost? Gradients of a model are large, and every step needs
# their sum. Suppose all ranks send everything to rank 0, which adds up and sends back. With n ranks
# and a tensor of B bytes, rank 0 takes in (n − 1) · B and sends out as much again, while all the
# others wait for its wire.
#
# The **ring all-reduce** uses all wires all the time. Cut the tensor into n chunks. Each rank sends
# only to its right neighbour. In each step it passes on one chunk, and takes one from the left.
#
# 1. *Reduce-scatter*, n − 1 steps: the incoming chunk is **added** to the rank's own. Walk it with
#    three ranks. First, rank 0 gives chunk 0 to rank 1. Then rank 1 gives its chunk 0, now a sum of
#    two, to rank 2. After two steps rank 2 has the whole sum of chunk 0.
# 2. *All-gather*, n − 1 steps: the finished chunks go round once more and **replace** what is
#    there.
#
# The invariant: in step s, rank r gives chunk (r − s) mod n and takes chunk (r − s − 1) mod n. What
# it took is what it gives next. Here are four ranks. Watch how many ranks' numbers each chunk holds:

# %%
draw_ring_steps()

# %% [markdown]
# A thick frame marks the chunk that the rank gives next. After three steps each rank owns one
# finished chunk (4); three more steps carry these round.
#
# Each rank gave 2 (n − 1) chunks of B / n bytes: about 2 B, *however many ranks there are*. Where
# only ranks add, no algorithm lets its busiest rank send less. (With a switch that adds up on the
# way, as NVLink SHARP does, it is about half.) The price is the number of steps: each costs at
# least the time that a message needs to arrive, its **latency**. For comparison the naive way, four
# ranks with 4000 bytes each. By the ring, each of them would send 2 · 3 · 1000 = 6000.
# (`count_traffic` counts what a rank sends to the others.)


# %%
def naive_all_reduce(rank: int, world_size: int) -> tuple[float, int]:
    x = torch.full((1000,), float(rank), device=rank_device())
    with count_traffic() as traffic:
        for other in range(1, world_size):
            if rank == other:
                dist.send(x, 0)
            elif rank == 0:
                part = torch.empty_like(x)
                dist.recv(part, other)
                x += part
        for other in range(1, world_size):
            if rank == 0:
                dist.send(x, other)
            elif rank == other:
                dist.recv(x, 0)
    return x[0].item(), traffic.nbytes("send")


for rank, (total, nbytes) in enumerate(launch(naive_all_reduce, 4)):
    print(f"rank {rank}: sum {total}, sent {nbytes} bytes of 4000")

# %% [markdown]
# ### Exercise 17.3 — The ring ★★★ · 25 min · 4 points
#
# Build the ring: `ring_all_reduce(x)` returns, on every rank, the sum of all ranks' `x`, in the shape and
# dtype of `x`. `x` is a floating-point tensor of any shape and strides, the same shape on every rank; it may
# have fewer elements than there are ranks, or none. Leave it as it is.
#
# - All values travel by `send`, `recv`, `isend`, `irecv` or `batch_isend_irecv`, and a rank sends
#   only to its right neighbour, `(rank + 1) % world_size`.
# - Each rank sends at most 2 (n − 1) · ⌈elements / n⌉ elements in all, in the dtype of `x`.
# - All ranks return the same bits. One rank alone returns a copy.
#
# Example: three ranks with `[1, 2, 3, 4]`, `[10, 20, 30, 40]` and `[100, 200, 300, 400]` all return
# `[111, 222, 333, 444]`, and none sends more than 2 · 2 · 2 elements, 32 bytes.


# %% nbgrader={"grade_id": "try-ring", "locked": true}
@runs_with_the_answer
def try_ring(world_size: int, cases: list) -> list | str:
    """For each rank and case: the result, whether x is as before, and the calls that were made."""
    return run_ring(ring_all_reduce, world_size, cases)


# %% nbgrader={"grade_id": "ring-all-reduce", "solution": true}
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    """The sum of ``x`` over all ranks, by a ring: 2 (n - 1) steps, one chunk in each."""
    ### BEGIN SOLUTION
    rank, ranks = dist.get_rank(), dist.get_world_size()
    y = x.contiguous().flatten().clone()
    chunks = y.tensor_split(ranks)
    for step in range(2 * (ranks - 1)):
        give, take = chunks[(rank - step) % ranks], chunks[(rank - step - 1) % ranks]
        came = torch.empty_like(take)
        both = [
            dist.P2POp(dist.isend, give, (rank + 1) % ranks),
            dist.P2POp(dist.irecv, came, (rank - 1) % ranks),
        ]
        for request in dist.batch_isend_irecv(both):
            request.wait()
        take.copy_(take + came if step < ranks - 1 else came)
    return y.view(x.shape)
    ### END SOLUTION


# %% nbgrader={"grade_id": "ring-all-reduce-check", "grade": true, "points": 4}
example = [torch.tensor([1.0, 2.0, 3.0, 4.0]) * 10**rank for rank in range(3)]
thirds = torch.arange(12.0, dtype=torch.float64).view(3, 4) / 3
turned = [thirds.t(), thirds.reshape(4, 3) * 10, thirds.t() * 100]  # rank 1's strides differ
doubled = [torch.tensor([1.0, 2.0, 3.0, 4.0]) * 2**rank for rank in range(3)]
half, bfloat = ([x.to(kind) for x in doubled] for kind in (torch.float16, torch.bfloat16))
fine = [torch.tensor([257.0 * 2**rank]).half() for rank in range(3)]
short, none = [torch.tensor([[2.0]])] * 3, [torch.zeros(0, 3, dtype=torch.float16)] * 3
cases = [example, turned, half, bfloat, short, none, [torch.tensor(1.5)] * 3]
cases += [fine, [x.expand(2, 4) for x in half]]
cases += [[torch.tensor([-0.0, torch.inf, -0.0, 1.0])] * 3]  # a zero has a sign
ends = torch.tensor([[torch.nan, 1, 1], [1, torch.inf, 1], [1, 1, 1], [1e-31, 1e-31, 1e-31]]).t()
check_ring(try_ring, 3, [*cases, list(ends), doubled])  # a NaN on a rank, and the same shape again
drawn = torch.randn(4, 53, generator=torch.Generator().manual_seed(2))  # sums are rounded
check_ring(try_ring, 4, [[torch.ones(3)] * 4, list(drawn)])  # fewer elements than ranks, and more
check_ring(try_ring, 2, [example[:2], turned[:2]])
check_ring(try_ring, 1, [example[:1]])
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(3)
shapes = [(13,), (2, 5), (4, 1, 4), (3,), (100,)]
check_ring(
    try_ring, 4, [[torch.randn(shape, generator=generator) for _ in range(4)] for shape in shapes]
)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Work on a flat contiguous copy. `tensor_split(n)` cuts it into n views that differ by at most one
# element, some perhaps empty. What you write into a view is in the copy.
# </details>
# <details><summary>Hint 2</summary>
#
# Use the invariant for all 2 (n − 1) steps, with one running step number. Only what is done with the
# incoming chunk changes at step n − 1.
# </details>
# <details><summary>Hint 3</summary>
#
# All ranks send at once, so a blocking `send` before `recv` is a deadlock. Start the send, receive, then wait.
# </details>

# %% [markdown]
# ## 4. Who gets which samples · core
#
# Sums are settled. Next: each rank should see different samples, and all of them together every
# sample. No messages are needed for that. Every rank shuffles the whole list of indices with the
# *same* seed and takes every n-th, from its own number on. Six samples, two ranks, no shuffling:

# %% topics=["distributed-sampler"]
for rank in range(2):
    sampler = DistributedSampler(range(6), num_replicas=2, rank=rank, shuffle=False)
    print(f"rank {rank}:", list(sampler))

# %% [markdown]
# **Predict** what happens with seven samples on three ranks. Every rank must make equally many
# steps, or the last all-reduce waits for a rank that has finished.

# %%
draw_dealt()

# %% [markdown]
# The list is **padded** by its own beginning (orange) until it can be dealt out evenly. `drop_last`
# cuts the tail instead. For training neither matters much. For a metric it does: repeated samples
# count twice. Suppose a model is right on all of seven samples but number 0:

# %%
right = torch.tensor([0, 1, 1, 1, 1, 1, 1])
dealt = [list(DistributedSampler(right, 3, rank, shuffle=False)) for rank in range(3)]
padded = right[torch.tensor(dealt)]
print(f"true accuracy {right.float().mean():.3f}, over what was dealt {padded.float().mean():.3f}")

# %% [markdown]
# For a metric, evaluate on one rank, or deal without padding and add up counts, as section 6 does.
#
# > **Then and now.** Many old examples leave out `sampler.set_epoch(epoch)`. The shuffle is seeded
# > by `seed + epoch`, and the epoch stays 0 until you set it: every epoch then has the same order.

# %% errata=["sampler-without-set-epoch"]
sampler = DistributedSampler(range(8), num_replicas=2, rank=0)
first, second = list(sampler), list(sampler)
sampler.set_epoch(1)
print("epoch 0:                   ", first)
print("epoch 1, set_epoch left out:", second)
print("epoch 1, set_epoch(1):      ", list(sampler))

# %% [markdown]
# ### Exercise 17.4 — A sampler by hand ★★ · 10 min · 3 points · core
#
# Return the indices of one rank as a list of `int`, equal to those of `DistributedSampler`:
#
# 1. The order is `range(length)`, or with `shuffle` the permutation that `torch.randperm(length)` draws
#    after seeding with `seed + epoch`. Afterwards the global random state is as before.
# 2. Each rank gets ⌈length / world_size⌉ indices: pad with the order's beginning, repeated as often
#    as needed. With `drop_last` each rank gets ⌊length / world_size⌋, and the order is cut.
# 3. Rank r takes entries r, r + world_size, r + 2 · world_size, …
#
# `length` is 1 or more. Do not make a `DistributedSampler`. Example: `sampler_by_hand(7, 1, 3,
# shuffle=False)` is `[1, 4, 0]`.


# %% nbgrader={"grade_id": "try-sampler", "locked": true}
@runs_with_the_answer
def try_sampler(cases: list) -> list:
    """The indices for each case, and whether the global random state is as before."""
    return run_sampler(sampler_by_hand, cases)


# %% nbgrader={"grade_id": "sampler-by-hand", "solution": true}
def sampler_by_hand(
    length: int,
    rank: int,
    world_size: int,
    epoch: int = 0,
    shuffle: bool = True,
    seed: int = 0,
    drop_last: bool = False,
) -> list[int]:
    """The indices that rank ``rank`` sees in this epoch."""
    ### BEGIN SOLUTION
    order = list(range(length))
    if shuffle:
        generator = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(length, generator=generator).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    return [order[place % length] for place in range(rank, each * world_size, world_size)]
    ### END SOLUTION


# %% nbgrader={"grade_id": "sampler-by-hand-check", "grade": true, "points": 3}
plain, cut = {"shuffle": False}, {"shuffle": False, "drop_last": True}
several = ((7, 1, 3), (6, 1, 2), (12, 3, 5), (2, 4, 5), (201, 0, 200), (7, 4, 5))
check_sampler(
    try_sampler,
    [(args, plain) for args in several],
    [((1, 1, 2), plain), ((1, 0, 1), {}), ((5, 0, 1), {})],
    [((7, 2, 3), cut), ((2, 1, 3), cut), ((6, 1, 2), cut), ((9, 1, 2), {"drop_last": True})],
    [((1, 0, 2), {"drop_last": True})],  # shuffled, and nothing is left
    [((8, 0, 2), {"epoch": 3, "seed": seed}) for seed in (4, 5, -9)],
    [((8, 0, 2), {"epoch": 10**6}), ((8, 1, 2), {"seed": 4}), ((8, 2, 3), {"seed": 4})],
    [((8, 1, 2), {"shuffle": False, "epoch": 3, "seed": 4})],
    [((7, rank, 5), {"epoch": epoch}) for rank in (0, 4) for epoch in (0, 1)],
    [((7, rank, 8), {"epoch": 1}) for rank in (0, 7)],  # the same order for more ranks
)
### BEGIN HIDDEN TESTS
numbers, cases = random.Random(2), []
for _ in range(40):
    ranks = numbers.randint(1, 6)
    options = {"shuffle": numbers.random() < 0.6, "drop_last": numbers.random() < 0.4}
    options |= {"epoch": numbers.randint(0, 3), "seed": numbers.randint(0, 3)}
    cases.append(((numbers.randint(1, 20), numbers.randrange(ranks), ranks), options))
check_sampler(try_sampler, cases)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Make the whole list first, long enough for all ranks, and deal at the very end with a slice `[rank::world_size]`.
# </details>
# <details><summary>Hint 2</summary>
#
# With 2 samples on 5 ranks, one copy of the beginning is not enough. `place % length` never runs out.
# </details>

# %% [markdown]
# ## 5. Data-parallel training, by hand · core
#
# Every rank has its own samples now, and all can add up. What is missing is one set of weights. Two
# things make it:
#
# 1. all ranks **start** from the same weights;
# 2. all ranks make the same **step**, because each uses the *average* of all ranks' gradients.
#
# Equal start, equal steps: equal for ever. Weights are never sent again. And the average of the
# ranks' gradients is the gradient of the whole batch, if each rank's loss is a mean over equally
# many samples. Check the second claim first, with an average after `backward()`:


# %% topics=["ddp-concept"]
def naive_step(rank: int, world_size: int) -> torch.Tensor:
    torch.manual_seed(0)
    model, x, y = nn.Linear(3, 1), torch.randn(4, 3), torch.randn(4, 1)
    mine = slice(rank * 4 // world_size, (rank + 1) * 4 // world_size)
    F.mse_loss(model(x[mine]), y[mine]).backward()
    gradient = model.weight.grad.to(rank_device())
    dist.all_reduce(gradient)
    return gradient.cpu() / world_size


alone, split = launch(naive_step, 1)[0], launch(naive_step, 2)
print(alone)
print([torch.allclose(gradient, alone) for gradient in split])

# %% [markdown]
# Now the start. `DistributedDataParallel`, **DDP** for short, is PyTorch's own wrapper for all of
# this. Two ranks with different seeds wrap a layer in it. **Predict:** are the weights equal then?


# %% topics=["ddp-initial-sync"] errata=["ddp-needs-equal-seeds"]
def wrap(rank: int, world_size: int) -> tuple:
    torch.manual_seed(100 + rank)
    layer = nn.Linear(1, 1).to(rank_device())
    before = round(layer.weight.item(), 3)
    DDP(layer)
    return before, round(layer.weight.item(), 3)


# %%
for rank, (before, after) in enumerate(launch(wrap, 2)):
    print(f"rank {rank}: {before} becomes {after}")

# %% [markdown]
# > **Often said.** *"All processes need the same seed, or synchronising gradients is meaningless."*
# > DDP broadcasts rank 0's parameters and buffers when it is made. Equal seeds afterwards do harm:
# > every rank would draw the same dropout masks and the same augmentations. Use `seed + rank`.
#
# Averaging *after* backward leaves the wires idle while gradients are computed. But the last
# layer's gradient is ready first, long before the first layer's. Its all-reduce can start at once,
# from a hook (chapter 07): `parameter.register_post_accumulate_grad_hook(f)` calls `f(parameter)`
# as soon as its `.grad` is there. `dist.all_reduce(x, async_op=True)` returns at once; `.wait()` on
# its result waits (with NCCL it is the GPU's stream that waits).
#
# In the smallest form, with a call for each parameter:


# %%
def as_they_come(rank: int, world_size: int) -> list[str]:
    model, order, works = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1)).to(rank_device()), [], []
    names = {parameter: name for name, parameter in model.named_parameters()}

    def start(parameter):
        order.append(names[parameter])
        works.append(dist.all_reduce(parameter.grad, async_op=True))

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(start)
    model(torch.ones(1, 3, device=rank_device())).sum().backward()
    for work in works:
        work.wait()  # from here on .grad is the sum over all ranks
    return order


print(launch(as_they_come, 2)[0])

# %% [markdown]
# The last layer, `1`, comes first. But one call for each small bias costs too many latencies. DDP
# therefore fills **buckets**: gradients in the order in which they become ready, last parameter first.
# A bucket leaves when it is full. As an example, let each layer take ten units of time in backward,
# and its gradients ten on the wire:

# %%
draw_buckets()

# %% [markdown]
# Backward and wire work at the same time; only the last bucket is left over at the end. Three
# things can go wrong here:
#
# - **Unused parameters.** A parameter that took no part on one rank gets no gradient there, and its
#   hook never fires. The others' bucket waits for it. It has to be sent as zeros.
# - **Order.** If each rank sends buckets in the order in which *its* gradients became ready, ranks
#   with different unused parameters mix buckets up. Bucket 0 first, everywhere, then 1, then 2.
# - **Tied parameters.** A weight that two layers share is one parameter and is sent once.
#
# **Buffers** have no gradient. DDP sends rank 0's buffers to all before each forward.
#
# ### Exercise 17.5 — DDP by hand ★★★ · 30 min · 6 points · core
#
# `ddp_by_hand(model, bucket_bytes)` prepares a model, on every rank, and returns a function
# `finish()`, which the training loop calls after each `backward()`:
#
# 1. At once: rank 0's parameters and buffers are sent to all ranks, also buffers that
#    `state_dict()` leaves out.
# 2. Before each forward, in training or not: rank 0's buffers are sent to all ranks. A forward may
#    have replaced a buffer by another tensor.
# 3. Parameters with `requires_grad`, from the last of `model.parameters()` to the first, go into
#    buckets. A bucket is closed when the next gradient would bring it above `bucket_bytes`; a
#    single larger gradient has a bucket to itself. All have one dtype, whichever. Example: with
#    `bucket_bytes=100`, gradients of 8, 32, 16, 64 and 120 bytes (last parameter first) make
#    buckets of 56, 64 and 120 bytes.
# 4. While backward runs, a bucket is all-reduced as soon as it is complete *and* all buckets before
#    it have been. One `all_reduce` for each bucket; during backward and `finish` nothing else is
#    sent.
# 5. After `finish()`, `.grad` of each parameter that any rank used is the average over all ranks; a
#    rank that did not use it counts as zero. Then all is ready for the next step.
#
# Before each backward all `.grad` are `None`. There is one backward a step. Do not use DDP itself;
# the modes stay as they are.
# The test's model has tied, frozen and, on some ranks, unused layers. Sketch of its loop, after
# `finish = ddp_by_hand(model, 100)`: `model(x)`, `loss.backward()`, `finish()`, `optimizer.step()`.


# %% nbgrader={"grade_id": "try-ddp", "locked": true}
@runs_with_the_answer
def try_ddp(world_size: int, bucket_bytes: int, batches: list, mixed: bool) -> list | str:
    """For each rank: weights at the start, gradients, buffer, calls, how many were early."""
    return run_ddp(ddp_by_hand, world_size, bucket_bytes, batches, mixed)


# %% nbgrader={"grade_id": "ddp-by-hand", "solution": true}
def ddp_by_hand(model: nn.Module, bucket_bytes: int) -> Callable[[], None]:
    """Make ``model`` one of many equal copies; the function returned ends each backward."""

    ### BEGIN SOLUTION
    def share(tensors):
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)

    buckets, ready, started, filled = [], set(), [], 0
    for parameter in reversed([p for p in model.parameters() if p.requires_grad]):
        if not buckets or filled + parameter.nbytes > bucket_bytes:
            buckets.append([])
            filled = 0
        buckets[-1].append(parameter)
        filled += parameter.nbytes

    def start_next():
        bucket = buckets[len(started)]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([grad.flatten() for grad in grads])
        started.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def note(parameter):
        ready.add(parameter)
        while len(started) < len(buckets) and ready.issuperset(buckets[len(started)]):
            start_next()

    def finish():
        while len(started) < len(buckets):
            start_next()
        for bucket, flat, work in started:
            work.wait()
            parts = (flat / dist.get_world_size()).split([p.numel() for p in bucket])
            for p, part in zip(bucket, parts, strict=True):
                p.grad = part.view_as(p)
        ready.clear()
        started.clear()

    share([*model.parameters(), *model.buffers()])
    model.register_forward_pre_hook(lambda *_: share(model.buffers()))
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(note)
    return finish
    ### END SOLUTION


# %% nbgrader={"grade_id": "ddp-by-hand-check", "grade": true, "points": 4}
check_ddp(try_ddp, 2, 100)  # several buckets, every layer used
check_ddp(try_ddp, 2, 80)  # buckets that are exactly full
check_ddp(try_ddp, 2, 160, dtype=torch.float64)
check_ddp(try_ddp, 2, 50)  # gradients larger than a bucket
check_ddp(try_ddp, 1, 10_000)  # one bucket, one rank
check_ddp(try_ddp, 3, 130)

# %% nbgrader={"grade_id": "ddp-by-hand-check-2", "grade": true, "points": 2}
check_ddp(try_ddp, 2, 100, mixed=True)  # each rank leaves another layer unused
check_ddp(try_ddp, 2, 150, mixed=True, dtype=torch.float64)  # a bucket that is unused as a whole
check_ddp(try_ddp, 1, 4)  # each gradient is larger than a bucket, also the first
### BEGIN HIDDEN TESTS
check_ddp(try_ddp, 3, 70, mixed=True, seed=3)
check_ddp(try_ddp, 2, 10_000, mixed=True, seed=4)
check_ddp(try_ddp, 3, 130, seed=5)
check_ddp(try_ddp, 2, 96, seed=6, dtype=torch.float64)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Work out the buckets once, outside the hooks. Keep two notes: the set of parameters whose gradient is
# ready, and how many buckets have been started.
# </details>
# <details><summary>Hint 2</summary>
#
# In the hook, add the parameter to the set. *While* the next bucket in order is complete, flatten its
# gradients into one tensor and start its all-reduce. A parameter without `.grad` gives zeros.
# </details>
# <details><summary>Hint 3</summary>
#
# `finish` starts what is left (the buckets with unused parameters), waits for all, divides, writes the
# pieces back, and clears both notes.
# </details>

# %% [markdown]
# The real one does the same. `Branches` is the model of the check: here rank 0 leaves its layer `right`
# unused, rank 1 its layer `left`. `count_traffic` lists all that a rank sends in a step:


# %%
def real_ddp(rank: int, world_size: int) -> tuple:
    model = DDP(Branches(rank).to(rank_device()), find_unused_parameters=True)
    x = torch.full((3, 4), rank + 1.0, device=rank_device())
    with count_traffic() as traffic:
        model(x, SIDES[rank]).square().mean().backward()
    return traffic.count(), model.module.left.bias.grad.norm().item()


# %%
for rank, (calls, norm) in enumerate(launch(real_ddp, 2)):
    print(f"rank {rank}: {calls}, norm of left.bias.grad {norm:.4f}")

# %% [markdown]
# Layer `left` was used on rank 0 alone, and its gradient is equal on both. The second all-reduce is
# the price of `find_unused_parameters`: a number for each parameter, so that all know what was used. DDP's
# buckets hold 25 MB; the first, 1 MB, so that something leaves early.
#
# > **Then and now.** *"Give each DDP process several GPUs by `device_ids=[0, 1]`; DDP copies the model
# > to each."* That mode is gone. One process drives one device. Chapter 18 splits a model over several.


# %% errata=["ddp-many-devices-per-process"]
def devices(rank: int, world_size: int) -> str:
    try:
        DDP(nn.Linear(2, 2), device_ids=[0, 1])
    except ValueError as error:
        return str(error).split(",")[0]
    return "it works"


launch(devices, 2)[0]

# %% [markdown]
# ## 6. Shards of unequal size
#
# "The average of the gradients is the gradient of the whole batch, *if* each rank has equally many
# samples." What if not? Rank 0 has three samples with gradient 1 each, rank 1 has one sample with
# gradient 5. **Predict** the two numbers:

# %%
gradients, counts = torch.tensor([1.0, 5.0]), torch.tensor([3.0, 1.0])
print("mean of the ranks' means:", gradients.mean().item())
print("mean of all samples:     ", ((gradients * counts).sum() / counts.sum()).item())

# %% [markdown]
# The lone sample counted for half. It is a small error in each last batch of an epoch, and a
# large one where sequence lengths differ: there, "samples" are tokens.
#
# ### Exercise 17.6 — Unequal shards ★★ · 8 min · 3 points
#
# Each rank calls `unequal_shards(gradient, count)` with the gradient of *its* mean loss and the number
# of its samples. Return the gradient of the mean loss over all ranks' samples, on every rank.
#
# - `gradient`: floating point, any shape; strides may differ from rank to rank. Keep shape and dtype,
#   and leave it as it is.
# - `count` may be 0 on some ranks. The mean over no samples is NaN, and so is the gradient there:
#   it must not spoil the others. At least one rank has a sample. NaN or an infinity on a rank *with*
#   samples is a fault that must be seen: it is in the result as well.
# - Right to the last digits of the dtype, also with millions of samples. Few dtypes can count
#   so far: float16 has no 2049 and ends at 65504, bfloat16 has no 257, float32 no 16 777 217.
# - Any collective is allowed.
#
# Example: `[1.0]` with count 3 and `[5.0]` with count 1 give `[2.0]` on both ranks.


# %% nbgrader={"grade_id": "try-unequal", "locked": true}
@runs_with_the_answer
def try_unequal(world_size: int, cases: list) -> list | str:
    """For each rank and case: the result, and whether the gradient is as before."""
    return run_unequal(unequal_shards, world_size, cases)


# %% nbgrader={"grade_id": "unequal-shards", "solution": true}
def unequal_shards(gradient: torch.Tensor, count: int) -> torch.Tensor:
    """The gradient of the mean loss over the samples of all ranks."""
    ### BEGIN SOLUTION
    # Sums in float64, in one contiguous tensor, with the count as its last element.
    sums = torch.zeros(gradient.numel() + 1, dtype=torch.float64, device=gradient.device)
    if count:
        sums[:-1] = gradient.flatten()
        sums[:-1] *= count
        sums[-1] = count
    dist.all_reduce(sums)
    return (sums[:-1] / sums[-1]).view(gradient.shape).to(gradient.dtype)
    ### END SOLUTION


# %% nbgrader={"grade_id": "unequal-shards-check", "grade": true, "points": 3}
nothing, high = torch.full((2,), float("nan")), [torch.full((2,), 3e38)] * 2
thirds = torch.arange(6, dtype=torch.float64).view(2, 3) / 3
turned = [thirds.t(), 4 * thirds.reshape(3, 2)]  # rank 1's strides differ from rank 0's
heavy = [torch.tensor([value, 1.0], dtype=torch.float16) for value in (100.0, -2.0)]
broken = [torch.tensor([1.0, torch.nan]), torch.ones(2)]
pairs = [([torch.tensor([1.0]), torch.tensor([5.0])], [3, 1]), (turned, [1, 7])]
pairs += [([torch.tensor([1.0, 2.0]), nothing], [4, 0]), ([nothing, torch.ones(2)], [0, 2])]
pairs += [(heavy, [3000, 1]), (broken, [2, 2]), ([torch.zeros(0)] * 2, [1, 2])]
cancel = [torch.tensor([value], dtype=torch.float16) for value in (300.0, -100.0)]
pairs += [(cancel, [2049, 6150]), ([-x.bfloat16() for x in cancel], [257, 770])]  # many samples
endless, many = [torch.tensor([torch.inf, 1.0]), torch.ones(2)], [thirds[0, 1], thirds[1, 2]]
pairs += [(cancel, [257, 770]), (endless, [2, 2]), (many, [2**24 + 1, 2**23]), (high, [30, 1])]
pairs += [([-x.double() for x in endless], [1, 3]), ([torch.nan * turned[0], turned[1]], [0, 2])]
pairs += [([nothing, torch.ones(2)], [1, 2]), ([thirds[1, :1].expand(3), thirds[0]], [2, 3])]
apart = [torch.tensor([value]) for value in (1.1e6, -1.10168e6)]  # the sums nearly cancel
check_unequal(try_unequal, 2, [*pairs, (apart, [7919, 7907])])
check_unequal(try_unequal, 3, [([torch.ones(2), nothing, -torch.ones(2)], [2, 0, 6])])
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(6)


def draw(*shape):
    return torch.randn(shape, generator=generator)


cases = [([draw(2), nothing, draw(2)], [5, 0, 2]), ([draw(3, 2) for _ in range(3)], [1, 2, 9])]
check_unequal(try_unequal, 3, [*cases, ([draw() for _ in range(3)], [2, 2, 3])])
check_unequal(try_unequal, 1, [([draw(4)], [3])])
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Turn means back into sums: mean times count. Add up the sums and the counts in float64, then divide.
# </details>
# <details><summary>Hint 2</summary>
#
# Where `count` is 0, hand in zeros that you made, not the gradient times 0. Contiguous ones: `gradient * 1`
# keeps the strides, and gloo adds up memory.
# </details>

# %% [markdown]
# And if one rank has more *batches* than another? Its last all-reduce would wait for ever. `Join` lets
# the ranks that have finished take part with zeros until the last is done:


# %% topics=["ddp-skew-timeouts"]
from torch.distributed.algorithms.join import Join


def uneven_batches(rank: int, world_size: int) -> int:
    model, steps = DDP(nn.Linear(1, 1).to(rank_device())), 0
    with Join([model]):
        for _ in range(2 + 3 * rank):
            model(torch.ones(1, 1, device=rank_device())).sum().backward()
            steps += 1
    return steps


print("steps of each rank:", launch(uneven_batches, 2))

# %% [markdown]
# ## 7. Accumulate without sending
#
# Agreement costs one round of all-reduces for each backward. If you gather gradients over four
# small batches before a step, three of the four rounds are wasted. `with ddp.no_sync():` leaves them
# out. But look at what decides. **Predict** how many all-reduces each line makes:


# %%
def count_syncs(rank: int, world_size: int) -> list:
    model, x = DDP(nn.Linear(2, 1).to(rank_device())), torch.ones(1, 2, device=rank_device())
    counts = []
    for outside, inside in ((model.no_sync, nullcontext), (nullcontext, model.no_sync)):
        with count_traffic() as traffic, outside():
            y = model(x).sum()
            with inside():
                y.backward()
        counts.append(traffic.count().get("all_reduce", 0))
    return counts


# %%
around_both, around_backward = launch(count_syncs, 2)[0]
print(
    f"no_sync around forward and backward: {around_both}, around backward alone: {around_backward}"
)

# %% [markdown]
# DDP prepares its hooks in **forward**. Around `backward()` alone the block is too late.
#
# ### Exercise 17.7 — Accumulate, then send once ★★ · 10 min · 3 points
#
# Write `no_sync(ddp, batches)`, which gathers gradients over several batches and sends them once. It gets a
# DDP model without gradients and a list of one or more `(x, y)`, of equal size; the same batch may be
# in it twice. Each rank has its own batches, equally many.
#
# - Afterwards `.grad` on every rank holds the gradient of `F.mse_loss` averaged over all batches *of all
#   ranks*, as if they were one.
# - The ranks send as much as in *one* backward: one all-reduce for this model.
# - Nothing but the model's `.grad` changes: weights, modes (a part of the model is in eval), the batches
#   and the global random state stay as they are.
# - The next ordinary forward and backward must synchronise again.
#
# What the function returns is not looked at.


# %% nbgrader={"grade_id": "try-no-sync", "locked": true}
@runs_with_the_answer
def try_no_sync(world_size: int, batches: list) -> list | str:
    """For each rank: gradient and all-reduces, also of the step after it; was a step made?"""
    return run_no_sync(no_sync, world_size, batches)


# %% nbgrader={"grade_id": "no-sync", "solution": true}
def no_sync(ddp: DDP, batches: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    """Leave the gradient of the mean loss over all batches of all ranks in ``.grad``."""
    ### BEGIN SOLUTION
    for number, (x, y) in enumerate(batches):
        last = number == len(batches) - 1
        with nullcontext() if last else ddp.no_sync():
            (F.mse_loss(ddp(x), y) / len(batches)).backward()
    ### END SOLUTION


# %% nbgrader={"grade_id": "no-sync-check", "grade": true, "points": 3}
check_no_sync(try_no_sync, 2, steps=3, seed=0)
check_no_sync(try_no_sync, 2, steps=1, seed=1, dtype=torch.float64)
### BEGIN HIDDEN TESTS
check_no_sync(try_no_sync, 3, steps=2, seed=2)
check_no_sync(try_no_sync, 2, steps=4, seed=3, dtype=torch.float64)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `contextlib.nullcontext()` is a `with` block that does nothing: good for the last batch.
# </details>
# <details><summary>Hint 2</summary>
#
# Gradients add up over backward calls. What must each loss be divided by, so that the sum is a mean?
# </details>

# %% [markdown]
# **Clipping and mixed precision** need nothing new. When `backward()` returns, `.grad` is the
# average on every rank, so `clip_grad_norm_` finds the same norm everywhere; with accumulation,
# clip after the last backward. `torch.autocast` wraps each rank's forward, as in the script of
# section 12. With float16 and a `GradScaler`, an infinity of one rank is in the average of all, so
# all skip the same step.


# %% [markdown]
# ## 8. When agreement fails: the deadlock clinic · core
#
# Every collective trusts that all ranks make the same calls in the same order. When one does not,
# there is rarely an error. The program waits for ever, and the GPUs cost as much as before. What
# you have then are the **stacks**: where each rank was. Learn to read them.
#
# Rule one: look for the rank that is *not* where the others are. The waiting ranks are the victims.
# Here a rank returns early. **Predict** what each rank's line will show.


# %% tags=["nbval-ignore-output"]
def no_work_for_me(rank: int, world_size: int) -> None:
    if rank == 1:
        return  # "I have nothing to add"
    dist.all_reduce(torch.zeros(1, device=rank_device()))


print(stuck(no_work_for_me, 2))

# %% [markdown]
# Rank 0 is in `all_reduce`, rank 1 has *returned*: it never made the call. Below are six patients.
# Their code is folded away, as it often is in real life: you see the report only.


# %% jupyter={"source_hidden": true} tags=["nbval-ignore-output"]
def reports(*patients):
    for number, patient in patients:
        print(f"patient {number}: {stuck(patient, 2)}\n")


def step_one(rank, world_size):
    for batch in range(3 if rank == 0 else 2):
        print("batch", batch)
        dist.all_reduce(torch.ones(1, device=rank_device()))


def step_two(rank, world_size):
    gradient = torch.ones(1, device="meta" if rank == 1 else rank_device())
    print("gradient on", gradient.device.type)
    dist.all_reduce(gradient)


def step_three(rank, world_size):
    total, flag = torch.ones(1, device=rank_device()), torch.ones(1, device=rank_device())
    if rank == 0:
        dist.all_reduce(total)
        dist.broadcast(flag, 0)
    else:
        dist.broadcast(flag, 0)
        dist.all_reduce(total)


reports((1, step_one), (2, step_two), (3, step_three))


# %% jupyter={"source_hidden": true} tags=["nbval-ignore-output"]
def step_four(rank, world_size):
    if rank == 0:
        print("saved")
        dist.barrier()
    dist.all_reduce(torch.ones(1, device=rank_device()))


def step_five(rank, world_size):
    total = torch.ones(1, device=rank_device())
    print("world size", world_size, "- I am rank", rank)
    if rank == 1:
        return
    dist.all_reduce(total)


def step_six(rank, world_size):
    samples = ["3", "4"] if rank == 0 else ["5", "six"]
    for sample in samples:
        value = torch.tensor([float(sample)], device=rank_device())
        dist.all_reduce(value)


reports((4, step_four), (5, step_five), (6, step_six))

# %% [markdown]
# ### Exercise 17.8 — The deadlock clinic ★★ · 10 min · 3 points · core
#
# Give each patient its cause. Each cause fits once.
#
# | cause | meaning |
# | --- | --- |
# | `"order"` | both make the same calls, in another order |
# | `"skip"` | one rank leaves before it has made a single call |
# | `"exception"` | one rank stumbled over its data, and its partner waits for it |
# | `"uneven"` | one rank has more batches than the other |
# | `"branch"` | a barrier that only one rank reaches |
# | `"device"` | one rank's tensor is where this backend doesn't look |
#
# Three of the reports look the same: one rank waits in `all_reduce`, the other has returned. What
# the ranks printed tells them apart.

# %% nbgrader={"grade_id": "deadlock-clinic", "solution": true}
deadlock_clinic = {
    "patient 1": None,
    "patient 2": None,
    "patient 3": None,
    "patient 4": None,
    "patient 5": None,
    "patient 6": None,
}
### BEGIN SOLUTION
found = ["uneven", "device", "order", "branch", "skip", "exception"]
deadlock_clinic = {f"patient {number}": cause for number, cause in enumerate(found, start=1)}
### END SOLUTION

# %% nbgrader={"grade_id": "deadlock-clinic-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
causes = ["order", "skip", "exception", "uneven", "branch", "device"]
for patient, cause in deadlock_clinic.items():
    assert cause is None or cause in causes, f"{patient}: {cause!r} is none of {causes}"
found = ["uneven", "device", "order", "branch", "skip", "exception"]
check_predictions(
    deadlock_clinic,
    {f"patient {number}": cause for number, cause in enumerate(found, start=1)},
    because={
        "patient 1": "count the batches that each rank printed",
        "patient 2": "both made the call; look at what each printed of its tensor",
        "patient 3": "the ranks are in two different collectives, and each would come to the "
        "other's",
        "patient 4": "one rank waits at a barrier while the other is already one call further",
        "patient 5": "it said who it was and returned; no loop, no device was printed",
        "patient 6": "one rank raised: read its error before the other's stack",
    },
)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Go by elimination. An exception names itself. Different calls on the two ranks: order or branch. The same call on
# one rank, and the other has returned: count what was printed.
# </details>

# %% [markdown]
# ### Exercise 17.9 — Repair ★★ · 8 min · 2 points
#
# This program adds up numbers given as text. It has three diseases of the clinic at once:
#
# ```python
# def clinic_repair(rank, world_size, batches, saved):
#     total = 0.0
#     for text in batches[rank]:                 # not equally many on all ranks
#         value = torch.zeros(1)
#         value += float(text)                   # may raise ValueError
#         dist.all_reduce(value)
#         total += value.item()
#     if rank == 0:
#         saved.append(total)
#         dist.barrier()
#     return total
# ```
#
# Repair it. How you do it is up to you. Put tensors on `rank_device()`.
#
# - On every rank it returns the sum, as a `float` with all its digits, of all numbers of *all* ranks.
# - The text that `float` refuses (`"six"`) counts as nothing, and what it accepts counts (`" 8 "`, `"1e2"`,
#   `"inf"`, `"nan"`).
# - `batches` has a list for each rank, some perhaps empty, and stays as it is. Rank `r` reads
#   `batches[r]` only.
# - Rank 0 alone appends the total to `saved`, once, and no rank returns before that.
#
# Example: `[["1", "six"], ["2", "3", "4"]]` gives `10.0` on both ranks.


# %% nbgrader={"grade_id": "try-repair", "locked": true}
@runs_with_the_answer
def try_repair(world_size: int, cases: list) -> list | str:
    """For each rank and case: what it returned, and what it found in ``saved``."""
    return run_repair(clinic_repair, world_size, cases)


# %% nbgrader={"grade_id": "clinic-repair", "solution": true}
def clinic_repair(rank: int, world_size: int, batches: list[list[str]], saved: list) -> float:
    """The sum of all numbers of all ranks; rank 0 appends it to ``saved``."""
    ### BEGIN SOLUTION
    own = 0.0
    for text in batches[rank]:
        try:
            own += float(text)
        except ValueError:
            continue
    total = torch.tensor([own], dtype=torch.float64, device=rank_device())
    dist.all_reduce(total)
    if rank == 0:
        saved.append(total.item())
    dist.barrier()
    return total.item()
    ### END SOLUTION


# %% nbgrader={"grade_id": "clinic-repair-check", "grade": true, "points": 2}
cases = [[["1", "six"], ["2", "3", "4"]], [[" 8 ", "", "1e2"], ["+.5", "1_000", "²"]]]
cases += [[["16777217"], ["2"]], [["3", "inf"], ["2"]]]
cases += [[["3"], [" -Infinity", "2"]], [["nan", "3"], ["2"]], [["3.1234567890123"], ["0.5"]]]
cases += [[["++7", "4,5"], ["2", "- 3"]], [["inf", "-inf"], ["2"]], [["six"], []]]
check_repair(try_repair, 2, *cases)
check_repair(try_repair, 3, [[], ["five", "-2.5", "10"], ["7"]])
check_repair(try_repair, 1, [["0x10", "4"]], [["4", "0.5", "four"]])
### BEGIN HIDDEN TESTS
check_repair(try_repair, 2, [["8", "-2", "x", "1"], []])
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# No call of the group may depend on the data of one rank. How many do you need for one sum?
# </details>
# <details><summary>Hint 2</summary>
#
# Add up locally, with `try` and `except` around `float` alone. Then one all-reduce on every rank, and
# the barrier outside every `if`.
# </details>

# %% [markdown]
# **On GPUs it looks different.** These reports are gloo's, where a call returns when its work is done.
# NCCL's calls return once they are queued on the GPU. The stack of a rank that hangs then ends where Python first
# needs a result, at `.item()` or `synchronize()`, perhaps many lines below the collective. Four tools help:
#
# | tool | what it tells |
# | --- | --- |
# | `TORCH_DISTRIBUTED_DEBUG=DETAIL` | compares each collective over the ranks before it runs; slow |
# | `dist.monitored_barrier()` | which rank did not come; gloo only |
# | `py-spy dump --pid …` | the stack of a running process, from outside |
# | flight recorder, read by `torchfrtrace` | the last collectives of each rank, kept by NCCL's watchdog |
#
# With the first, patient 3 no longer hangs. It raises, and names both calls:


# %%
def in_detail(rank: int, world_size: int) -> str:
    dist.set_debug_level_from_env()  # read when torch was imported, which was before this process
    dist.init_process_group("gloo")
    try:
        step_three(rank, world_size)
    except RuntimeError as error:
        return str(error).split(".")[0] + ": " + str(error).split("aspects:")[-1].strip()
    return "it went through"


# %% tags=["nbval-ignore-output"]
print(*launch(in_detail, 2, backend=None, env={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}), sep="\n")

# %% [markdown]
# **In practice.** A rank may also be merely slow: it loads a large file, or evaluates. The others
# wait at the next collective, and lose patience after the `timeout` that `init_process_group` was
# given: by default half an hour with gloo, ten minutes with NCCL. Then gloo raises, and NCCL's
# watchdog ends the process. Here a single call gets one second:


# %% topics=["ddp-skew-timeouts"]
def lose_patience(rank: int, world_size: int) -> str:
    try:
        if rank == 0:  # rank 1 never comes
            dist.all_reduce(torch.ones(1), async_op=True).wait(timedelta(seconds=1))
    except RuntimeError as error:
        return f"{type(error).__name__}, timed out: {'timed out' in str(error).lower()}"
    return "elsewhere"


# %%
print(launch(lose_patience, 2, backend="gloo"))

# %% [markdown]
# Saving a **checkpoint** is full of traps from the clinic. Weights are equal, so one rank writes:
# into another file, which is then renamed, so that half a file is never found. The others must not
# read before that: a barrier, *outside* the `if`. Each rank loads with `map_location`; without it a
# tensor returns to where it was saved from, and all copies would land on rank 0's GPU. And save
# `model.module`, whose names have no `module.` in front: a single process can load them. The script
# of section 12 saves in this way.
#
# ## 9. A layer that looks at the whole batch: SyncBatchNorm
#
# Averaged gradients equal the whole batch's, as long as each sample goes through the model alone.
# Batch norm breaks this: it subtracts the mean *of the batch it sees*. Two ranks with two samples
# each normalise by the statistics of two samples, not of four. **Predict** whether the outputs
# below are equal.


# %% topics=["syncbn-why"]
x = torch.tensor([[1.0], [3.0], [10.0], [14.0]])  # (batch, channel), two samples for each rank
whole = F.batch_norm(x, None, None, training=True).flatten()
split = torch.cat([F.batch_norm(part, None, None, training=True) for part in x.split(2)]).flatten()
print("whole batch:  ", [round(value, 2) for value in whole.tolist()])
print("rank by rank: ", [round(value, 2) for value in split.tolist()])

# %% [markdown]
# Rank by rank, sample 3 and sample 14 become the same number. With many samples on each rank this
# is harmless, even a little noise that regularises. With one or two large images per GPU, as in
# detection and segmentation, it hurts.
#
# The ranks must therefore agree on mean and variance. Each knows its count n, its mean m and M, its
# sum of squared deviations from m. Averaging the ranks' variances is wrong: it misses that their
# *means* differ. Merge them instead:
#
# $$N = \sum n_r, \qquad \mu = \frac{1}{N}\sum n_r m_r, \qquad M = \sum \left( M_r + n_r (m_r - \mu)^2 \right), \qquad \sigma^2 = M / N$$
#
# Tempting, and shorter, is the mean of the squares minus the square of the mean. It subtracts two
# large numbers. Far from zero, nothing is left of their difference:

# %% topics=["syncbn-forward-math"]
x = 1000 + torch.randn(4096, generator=torch.Generator().manual_seed(0))
parts = [(len(p), p.mean(), ((p - p.mean()) ** 2).sum()) for p in x.split([1000, 3096])]
mean = sum(n * m for n, m, _ in parts) / len(x)
merged = sum(M + n * (m - mean) ** 2 for n, m, M in parts) / len(x)
one_pass = x.square().mean() - x.mean().square()
print(f"true {x.double().var(correction=0):.4f}   merged {merged:.4f}   one pass {one_pass:.4f}")

# %%
draw_two_norms()

# %% [markdown]
# In the middle picture the difference between the ranks is gone: what told their samples apart was
# thrown away.
#
# The backward pass needs the other ranks too, because the mean and variance depend on every sample. With
# x̂ the normalised input, g the gradient of the loss by x̂, and both sums over *all* samples of *all* ranks:
#
# $$\frac{\partial L}{\partial x} = \frac{1}{\sigma} \left( g - \frac{1}{N}\sum g - \hat{x} \, \frac{1}{N}\sum g \hat{x} \right)$$
#
# Two numbers for each channel: one all-reduce of both together. Check the formula alone, in one process:

# %% topics=["syncbn-backward-math"]
x = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
g = torch.randn(6, 2, dtype=torch.float64)
(by_autograd,) = torch.autograd.grad((F.batch_norm(x, None, None, training=True) * g).sum(), x)
sigma = (x.var(0, correction=0) + 1e-5).sqrt()
hat = (x - x.mean(0)) / sigma
by_formula = (g - g.mean(0) - hat * (g * hat).mean(0)) / sigma
torch.allclose(by_formula, by_autograd)

# %% [markdown]
# ### Exercise 17.10 — Batch norm over all ranks ★★★ · 25 min · 5 points
#
# `sync_bn(x, weight, bias, eps)` normalises `x`, of shape (batch, channel) or (batch, channel, …),
# each channel by the mean and the biased variance over all samples and positions *of all ranks*,
# with `eps` added to the variance, then multiplies by `weight` and adds `bias`, both of shape
# (channel,). Ranks may hold differently many samples, at least one, all of one size. The arguments stay as
# they are.
#
# - The result can be differentiated: by `x` for the sum of all ranks' losses, also where `weight`
#   and `bias` are frozen; by `weight` and `bias` for this rank's own output only (DDP averages
#   those).
# - **One** collective call on tensors in forward and **one** in backward, of any kind. (An object
#   collective makes two: the sizes go first.)
# - All is float32 or float64, any strides. It must hold for float32 with a mean of 1000 and a
#   deviation of 1.
#
# A custom `torch.autograd.Function` (chapter 06) is the usual way; a differentiable collective is
# another. Example: two ranks with the one-channel samples `[[1.], [3.]]` and `[[10.], [14.]]`
# together return the line "whole batch" above.


# %% nbgrader={"grade_id": "try-sync-bn", "locked": true}
@runs_with_the_answer
def try_sync_bn(world_size: int, cases: list) -> list | str:
    """For each rank and case: output, gradients by x, weight, bias, and the calls of each pass."""
    return run_sync_bn(sync_bn, world_size, cases)


# %% nbgrader={"grade_id": "sync-bn", "solution": true}
class SyncBN(torch.autograd.Function):
    """A place for your forward and backward, if you like; it may stay empty."""

    ### BEGIN SOLUTION
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [dim for dim in range(x.dim()) if dim != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        count = torch.full_like(mean, x.numel() // x.shape[1])
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([count, mean, squares])
        dist.all_reduce(table)  # every rank adds its row to zeros
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (squares + counts * (means - mean) ** 2).sum(0) / total
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims = [dim for dim in range(grad.dim()) if dim != 1]
        shape = [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        grad_x = weight.view(shape) * scale * (grad - first - hat * second)
        return grad_x, own[1], own[0], None

    ### END SOLUTION


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    """Batch norm of ``x`` with the statistics of all ranks."""
    ### BEGIN SOLUTION
    return SyncBN.apply(x, weight, bias, eps)
    ### END SOLUTION


# %% nbgrader={"grade_id": "sync-bn-check", "grade": true, "points": 5}
case, one = bn_case, torch.ones(1)
example = [torch.tensor([[1.0], [3.0]]), torch.tensor([[10.0], [14.0]])]
upstream = [torch.tensor([[1.0], [2.0]]), torch.tensor([[-1.0], [0.5]])]
cases = [(example, upstream, one, 0 * one, 1e-5), case((3, 5), 2)]
cases += [case((2, 1), 3, (2, 2), eps=0.5), case((4, 2), 2, (5,)), case((2, 3), 2, (2, 3, 2))]
cases += [case((40, 24), 8, mean=1000.0, dtype=torch.float32)]
check_sync_bn(try_sync_bn, 2, cases)
dead = case((2, 3), 2, eps=None)  # a weight is 0, and eps is left out
dead[2][0] = 0
small = case((3, 2), 2, seed=5)
small[0][:] = [x / 100 for x in small[0]]
check_sync_bn(try_sync_bn, 2, [dead, small, case((3, 1), 2)])  # rank 1 has a single sample
check_sync_bn(try_sync_bn, 3, [case((3, 1, 2), 2)])
### BEGIN HIDDEN TESTS
cases = [case((3, 1, 6), 4, seed=1), case((1, 1, 2), 2, (3, 4), seed=2)]
cases += [case((64, 20, 9), 3, mean=-1000.0, dtype=torch.float32, seed=3)]
check_sync_bn(try_sync_bn, 3, cases)
check_sync_bn(try_sync_bn, 1, [case((5,), 2, (3,), seed=4)])
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# "One call" for three numbers a channel: stack them. To hand each rank's numbers to all with one all-reduce,
# let every rank fill its own row of a table of zeros; `all_gather` does the same.
# </details>
# <details><summary>Hint 2</summary>
#
# Deviations are taken from the rank's own mean first; the merge adds n (m − μ)². No large squares are ever subtracted.
# </details>
# <details><summary>Hint 3</summary>
#
# In backward, g of the formula is the incoming gradient times `weight`. The two sums before the all-reduce are
# the gradients of `bias` and `weight` already.
# </details>

# %% [markdown]
# PyTorch's layer does this, on GPUs only. One call changes all batch norms of a model:


# %%
def real_sync_bn(rank: int, world_size: int) -> str:
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)).to(rank_device())
    model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    try:
        return f"ran: {tuple(model(torch.rand(2, 1, 4, 4, device=rank_device())).shape)}"
    except ValueError as error:
        return f"{type(model[1]).__name__}: {error}"


# %%
launch(real_sync_bn, 2)[0]

# %% [markdown]
# ## 10. Agree with fewer bytes · optional
#
# Must gradients travel whole? DDP lets you replace its all-reduce by a **communication hook**: it
# gets a bucket and returns a future of the average. In half precision, half the bytes:


# %%
def half(state: None, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    small = bucket.buffer().half() / dist.get_world_size()
    future = dist.all_reduce(small, async_op=True).get_future()
    return future.then(lambda done: bucket.buffer().copy_(done.value()[0]))


# %%
def bytes_of_a_step(rank: int, world_size: int, hook) -> tuple:
    model = DDP(nn.Linear(100, 10).to(rank_device()))
    if hook is not None:
        model.register_comm_hook(None, hook)
    with count_traffic() as traffic:
        model(torch.ones(1, 100, device=rank_device())).sum().backward()
    return traffic.nbytes("all_reduce"), round(model.module.weight.grad[0, 0].item(), 3)


# %%
for name, hook in (("whole", None), ("half", half)):
    print(name, launch(bytes_of_a_step, 2, hook)[0])

# %% [markdown]
# `torch.distributed.algorithms.ddp_comm_hooks.default_hooks.fp16_compress_hook` is the library's. To save
# more, send only the k entries of largest magnitude: **top-k**. What a rank leaves out must not be lost,
# or small gradients would never count. It keeps the rest as a **residual** and adds it to its next gradient: *error feedback*.
#
# Walk it with k = 1. Gradient `[3, 2]`, residual `[0, 0]`: send 3, keep `[0, 2]`. The next gradient is `[1, 2]`; with
# the residual it is `[1, 4]`: send 4, keep `[1, 0]`. Sent and kept together always make up all gradients so far.
#
# ### Exercise 17.11 — Top-k with error feedback ★★ · 14 min · 4 points
#
# Write one step of it: `compress(gradient, residual, k)` returns `(average, rest)`, both of the shape and dtype of `gradient`:
#
# 1. Add the residual to the gradient. Of the sum, this rank sends the k entries of largest magnitude, with their
#    positions; all of them if there are fewer than k.
# 2. `average`: the sum over all ranks of what was sent, divided by the number of ranks. Equal on all ranks,
#    but for rounding. It may fit into the dtype where the sum doesn't: the average of 40000 and 40000 is
#    40000 in float16 too, which has no 80000.
# 3. `rest`: this rank's sum without what it sent itself.
#
# A rank hands at most k · (8 + itemsize) bytes to collectives: k values and k positions, which are integers.
# (What it receives does not count.)
# k ≥ 1 is equal on all ranks. Floating point, half precision too, any shape, at least one element, any strides;
# arguments stay as they are. There are no ties.
#
# Example: `[3, -5, 1]` and `[4, 1, 2]`, residuals zero, k = 1: `average` is `[2, -2.5, 0]`; the rests are `[3, 0, 1]` and `[0, 1, 2]`.


# %% nbgrader={"grade_id": "try-compress", "locked": true}
@runs_with_the_answer
def try_compress(world_size: int, cases: list) -> list | str:
    """For each rank and case: what was returned, whether arguments are as before, the bytes."""
    return run_compress(compress, world_size, cases)


# %% nbgrader={"grade_id": "compress", "solution": true}
def compress(
    gradient: torch.Tensor, residual: torch.Tensor, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The average of all ranks' k largest entries, and what this rank keeps for the next time."""
    ### BEGIN SOLUTION
    total = (gradient + residual).contiguous().flatten()
    where = total.abs().topk(min(k, total.numel())).indices
    values = total[where]
    ranks = dist.get_world_size()
    all_values = [torch.empty_like(values) for _ in range(ranks)]
    all_places = [torch.empty_like(where) for _ in range(ranks)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_places, where)
    average = torch.zeros_like(total)
    average.index_add_(0, torch.cat(all_places), torch.cat(all_values) / ranks)
    rest = total.clone()
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)
    ### END SOLUTION


# %% nbgrader={"grade_id": "compress-check", "grade": true, "points": 4}
vectors = [torch.tensor([3.0, -5.0, 1.0]), torch.tensor([4.0, 1.0, 2.0])]
zeros = [torch.zeros(3)] * 2
square = torch.tensor([[3.0, -7.0], [0.5, 2.0], [1.0, 6.0]], dtype=torch.float64).t()
matrix = [square / 7, square * 3]
kept = [torch.tensor([[1.0, 0.25, -9.0], [0.0, 5.0, 0.0]], dtype=torch.float64) / 3] * 2
long = [torch.zeros(500, dtype=torch.bfloat16) for _ in range(2)]
long[0][[257, 302]], long[1][[257, 399]] = (x.bfloat16() for x in torch.tensor([[6, -4], [2, 8.0]]))
cases = [(vectors, zeros, 1), (vectors, vectors[::-1], 2), (matrix, kept, 2), (vectors, zeros, 9)]
big, small = [torch.tensor([-3e4, 4e4, 1]).half()] * 2, [x.double() / 1e9 for x in vectors]
cases += [(x, [zeros[0].to(x[0])] * 2, 1) for x in ([x.half() for x in vectors], big, small)]
cases += [([x] * 2, [x / 4] * 2, 1) for x in (torch.tensor(2.0), torch.tensor([2.0]))]
check_compress(try_compress, 2, [*cases, (long, [torch.zeros_like(long[0])] * 2, 2)])
columns = [x[:, None] for x in (*vectors, vectors[0])]
check_compress(try_compress, 3, [(columns, [zeros[0][:, None]] * 3, 1)])
check_compress(try_compress, 1, [([x[0]], [y[0]], k) for x, y, k in cases[:4]])
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(11)


def draw(*shape):
    return [torch.randn(shape, generator=generator) for _ in range(3)]


cases = [(draw(20), draw(20), 4), (draw(3, 2, 4), draw(3, 2, 4), 7), (draw(1), draw(1), 2)]
check_compress(try_compress, 3, cases)
check_compress(try_compress, 1, [(draw(6)[:1], draw(6)[:1], 3)])
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `x.abs().topk(k).indices` on the flat sum gives the positions; the values, with their signs, come from the sum itself.
# </details>
# <details><summary>Hint 2</summary>
#
# Gather values and positions of all ranks. Two ranks may name the same position: add, don't overwrite
# (`index_add_`, `scatter_add_`).
# </details>

# %% [markdown]
# What is error feedback worth? Two ranks fit a linear model of 40 weights, sending two entries a step. If your
# `compress` is not there yet, the cell draws the uncompressed curve alone.


# %% jupyter={"source_hidden": true}
def fit(rank: int, world_size: int, how: str) -> list[float]:
    generator = torch.Generator().manual_seed(rank)
    truth = torch.linspace(-1, 1, 40)
    x = torch.randn(200, 40, generator=generator)
    y, weight, residual, losses = x @ truth, torch.zeros(40), torch.zeros(40), []
    for _ in range(200):
        error = x @ weight - y
        average = (x.t() @ error / len(x)).to(rank_device())
        if how == "whole":
            dist.all_reduce(average.div_(world_size))
        else:
            average, rest = compress(average, residual.to(rank_device()), 2)
            residual = rest.cpu() if how == "feedback" else residual
        weight = weight - 0.05 * average.cpu()
        losses.append(error.square().mean().item())
    return losses


figure, axis = plt.subplots(figsize=(8, 3))
names = {"whole": "all 40 entries", "feedback": "top 2, rest kept", "forget": "top 2, rest dropped"}
curves = {name: launched(fit, 2, name) for name in names}
for (how, curve), style in zip(curves.items(), ("-", "--", ":"), strict=True):
    if not isinstance(curve, str):
        axis.semilogy(curve[0], style, label=names[how], lw=2)
axis.set(xlabel="step", ylabel="loss of rank 0")
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False)
show(figure, "Loss over 200 steps, on a logarithmic scale, for whole and compressed gradients.")

# %% [markdown]
# With the rest dropped, the loss falls slowly, and twelve of the forty weights are never sent at
# all. With the rest kept, two entries a step do the work of forty, here even a little faster.
# Compression pays where you wait for the wire.

# %% [markdown]
# ## 11. What will eight ranks gain?
#
# The ranks agree. Was it worth it? There are two questions. **Strong scaling**: the same batch, on more ranks, so each
# has fewer samples. **Weak scaling**: the same batch on *each* rank, so the whole batch grows.
#
# A model of the cost needs three measured numbers: s, the seconds that one sample takes forward and backward; α, the latency of one
# message; β, the bytes that a wire moves in a second. A step computes, then runs the ring of section 3 for B bytes of gradients:
#
# $$T(n) = s \cdot \text{samples of the fullest rank} + 2 (n - 1) \left( \alpha + \frac{B}{n \beta} \right)$$
#
# With s = 1 ms, α = 1 ms, β = 100 MB/s, B = 10 MB, a batch of 64 and two ranks, strong: 32 ms + 2 · (1 ms + 50 ms) = 134 ms. One rank
# alone: 64 ms. Two ranks are *slower*: 100 MB/s is a poor network. At 10 GB/s it is 35 ms.
#
# And the learning rate? With a batch n times as large, one step takes the place of n. A rule of thumb that carries far, with a warm-up
# at the start: multiply the **rate by n** as well. With strong scaling the whole batch, and so the rate, stays.
#
# ### Exercise 17.12 — Scaling ★★ · 10 min · 4 points
#
# `scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate)` returns a dict of four numbers:
#
# - `"step"`: T(n) in seconds. With `kind="weak"` every rank has `batch` samples. With `"strong"` the `batch` is divided as evenly
#   as possible, and the fullest rank sets the pace.
# - `"speedup"`: samples a second of all ranks, divided by those of one rank alone (`1 / s`).
# - `"efficiency"`: speedup divided by the number of ranks.
# - `"rate"`: the learning rate by the linear rule; `rate` belongs to one rank with `batch`.
#
# Example: `scaling("strong", 2, 64, 0.001, 10_000_000, 0.001, 1e8, 0.1)` has step 0.134, speedup 0.478, efficiency 0.239 and rate 0.1.


# %% nbgrader={"grade_id": "try-scaling", "locked": true}
@runs_with_the_answer
def try_scaling(cases: list) -> list:
    """The dict for each case."""
    return run_scaling(scaling, cases)


# %% nbgrader={"grade_id": "scaling", "solution": true}
def scaling(
    kind: str,
    ranks: int,
    batch: int,
    s: float,
    nbytes: int,
    latency: float,
    bandwidth: float,
    rate: float,
) -> dict[str, float]:
    """Step time in seconds, speedup, efficiency and learning rate of data-parallel training.

    ``kind`` is ``"strong"`` or ``"weak"``; ``s`` and ``latency`` in seconds, ``bandwidth`` in
    bytes a second.
    """
    ### BEGIN SOLUTION
    fullest = batch if kind == "weak" else -(-batch // ranks)
    whole = batch * ranks if kind == "weak" else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / ranks / bandwidth)
    speedup = whole / step * s
    found = {"step": step, "speedup": speedup, "efficiency": speedup / ranks}
    return {**found, "rate": rate * whole / batch}
    ### END SOLUTION


# %% nbgrader={"grade_id": "scaling-check", "grade": true, "points": 4}
example = (0.001, 10_000_000, 0.001, 1e8, 0.1)
cases = [("strong", 2, 64), ("weak", 2, 64), ("strong", 8, 20), ("weak", 1, 5), ("strong", 6, 4)]
cases += [("weak", 16, 3), ("strong", 9, 1)]
check_scaling(try_scaling, [(*case, *example) for case in cases])
check_scaling(try_scaling, [("weak", 4, 8, 0.001, 10, 0.001, 100.0, 0.1)])  # 2.5 bytes a chunk
check_scaling(try_scaling, [("strong", n, 64, 0.001, 0, 0.001, 1e8, 0.1) for n in (3, 12)])
check_scaling(try_scaling, [("weak", 2, 3, 1e-9, 10, 1e-9, 1e12, 0.1)])  # nanoseconds
### BEGIN HIDDEN TESTS
numbers, cases = random.Random(12), []
for _ in range(20):
    case = (numbers.choice(["weak", "strong"]), numbers.randint(1, 9), numbers.randint(1, 99))
    case += (numbers.uniform(1e-4, 1e-2), numbers.randint(1, 10**8), numbers.uniform(0, 1e-3))
    cases.append((*case, numbers.uniform(1e7, 1e10), numbers.uniform(0.01, 1)))
check_scaling(try_scaling, cases)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `-(-a // b)` or `math.ceil(a / b)` rounds up. Work out two numbers first: the samples of the fullest rank and the samples of all ranks.
# </details>
# <details><summary>Hint 2</summary>
#
# Samples a second of all ranks is all samples divided by `step`. Divide by `1 / s`.
# </details>

# %% [markdown]
# ### The payoff: predict this machine
#
# Measure, predict, compare. The next cell trains with *your* `ddp_by_hand` (or with DDP, where that
# is unsolved) on one and two ranks and measures s, α and β. Your `scaling` then draws what it
# expects of up to eight. Two ranks are measured, and no more: eight on a few cores would show how
# they share the cores. Of three runs the fastest counts. If two ranks seem more than twice as fast as
# one, the machine was busy: run it again.


# %% jupyter={"source_hidden": true}
from course_utils.chapters.distributed import seconds


def measure(rank: int, world_size: int) -> dict:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).to(rank_device())
    try:
        finish = ddp_by_hand(model, 10**6)
        finish()
        trained, by = model, "ddp_by_hand"
    except Exception:
        trained, finish, by = DDP(model), lambda: None, "DDP"
    x = torch.randn(256, 256, device=rank_device())

    def step(samples):
        model.zero_grad()
        trained(x[:samples]).square().mean().backward()
        finish()

    plain = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).to(rank_device())
    tiny, large = torch.ones(1, device=rank_device()), torch.ones(2**19, device=rank_device())
    return {
        "by": by,
        "s": seconds(lambda: plain(x).square().mean().backward(), 15) / len(x),
        "tiny": seconds(lambda: dist.all_reduce(tiny), 20),
        "large": seconds(lambda: dist.all_reduce(large), 9),
        "strong": seconds(lambda: step(len(x) // world_size), 15),
        "weak": seconds(lambda: step(len(x)), 15),
        "nbytes": sum(p.nbytes for p in model.parameters()),
    }


# %% jupyter={"source_hidden": true} tags=["nbval-ignore-output"]
runs = [(launch(measure, 1)[0], launch(measure, 2)[0]) for _ in range(3)]
one, two = (
    {key: min(run[key] for run in part) for key in part[0]} for part in zip(*runs, strict=True)
)
latency = two["tiny"] / 2
bandwidth = 2**21 / max(two["large"] - two["tiny"], 1e-6)
print(
    f"trained by {two['by']}: {1e6 * one['s']:.0f} µs a sample, latency {1e6 * latency:.0f} µs, ",
    end="",
)
print(f"{bandwidth / 1e6:.0f} MB/s")

# %% jupyter={"source_hidden": true} tags=["nbval-ignore-output"]
figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
numbers = range(1, 9)
try:
    for axis, kind in zip(axes, ("strong", "weak"), strict=True):
        want = [
            scaling(kind, n, 256, one["s"], one["nbytes"], latency, bandwidth, 0.1) for n in numbers
        ]
        axis.plot(numbers, [each["speedup"] for each in want], "o-", label="your model predicts")
except Exception:
    print("solve exercise 17.12 to see the predictions")
for axis, kind, samples in zip(axes, ("strong", "weak"), (256, 512), strict=True):
    measured = samples / two[kind] * one["s"]
    axis.plot([2], [measured], "s", color="#b04500", ms=9, label="measured here")
    axis.plot(numbers, numbers, color="#6b6b6b", ls=":", label="ideal")
    axis.set(title=f"{kind} scaling", xlabel="ranks", xticks=list(numbers), ylim=(0, 8.5))
    axis.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("speedup")
axes[1].legend(frameon=False)
show(
    figure,
    "Speedup over the number of ranks, up to eight, for strong and weak scaling: the model's "
    "prediction, the ideal diagonal, and the points measured on two ranks of this machine.",
)

# %% [markdown]
# Weak scaling is nearer to the ideal line than strong: the computation stays the same, and only the
# message grows, towards 2 B. With strong scaling each rank computes less but sends as much. A
# measured point below the curve: the two ranks share more than the model knows, such as memory and
# caches. Above it: backward hid some of the bytes, by your buckets.

# %% [markdown]
# ## 12. Starting for real: torchrun
#
# `launch` is for notebooks. A training script is started by `torchrun`, which sets the same
# variables. On one machine: `torchrun --standalone --nproc-per-node=2 train.py`. On several, each
# machine runs it with `--nnodes` and a common `--rdzv-endpoint`. It also watches: chapter 18 kills
# a worker and lets `torchrun` start all of them again.
#
# ### The payoff: a whole training script
#
# All of this chapter in one file, as people write it: who am I, my GPU, my samples, one model. Each
# rank takes its part of a batch of 64, so that any number of ranks makes the same steps.

# %% topics=["launch-vs-torchrun"]
import subprocess
import sys

SETUP = """
import os
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

"""

# %%
SETUP += """
rank, world, local = (int(os.environ[k]) for k in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
device = torch.device("cuda", local) if gpus else torch.device("cpu")
if gpus:
    torch.cuda.set_device(local)
dist.init_process_group("nccl" if gpus else "gloo")
images, labels = (torch.tensor(part) for part in load_digits(return_X_y=True))
x, y = images.float().to(device) / 16, labels.to(device)
train = TensorDataset(x[:1536], y[:1536])
sampler = DistributedSampler(train)
loader = DataLoader(train, 64 // world, sampler=sampler)
torch.manual_seed(rank)
model = DDP(nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 10)).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
"""

# %% [markdown]
# The loop: `set_epoch`, the loss averaged over all ranks, accuracy over samples that are dealt without padding, and
# rank 0 alone prints and saves, in one move.

# %% topics=["ddp-checkpointing"]
LOOP = """
for epoch in range(4):
    sampler.set_epoch(epoch)
    sums = torch.zeros(2, device=device)  # losses, hits
    for images, labels in loader:
        with torch.autocast(device.type, torch.bfloat16, enabled=gpus):
            loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # of the average
        optimizer.step()
        sums[0] += loss.detach() * len(labels)
    with torch.no_grad():
        mine = slice(1536 + rank, None, world)  # no sample twice
        sums[1] = (model.module(x[mine]).argmax(1) == y[mine]).sum()
    dist.all_reduce(sums)
    if rank == 0:
        print(f"epoch {epoch}: loss {sums[0] / 1536:.3f}, accuracy {sums[1] / 261:.2f}")
        torch.save({"epoch": epoch, "model": model.module.state_dict()}, "last.part")
        os.replace("last.part", "last.pt")
    dist.barrier()
dist.destroy_process_group()
"""


# %%
def torchrun(ranks: int) -> tuple:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text(SETUP + LOOP)
        options = ["--standalone", f"--nproc-per-node={ranks}", "train.py"]
        command = [sys.executable, "-m", "torch.distributed.run", *options]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        return done.stdout.splitlines(), torch.load(Path(folder, "last.pt"))["model"]


# %%
lines, two = torchrun(2)
print(*lines, sep="\n")

# %% [markdown]
# **Predict**: what does one process print, with the whole batch of 64?

# %%
alone, one = torchrun(1)
print("the same lines:", alone == lines)
print(
    "the same weights, to four digits:", all(torch.allclose(one[k], two[k], atol=1e-4) for k in one)
)

# %% [markdown]
# ## Heard elsewhere
#
# *"`nn.DataParallel` is slow because one process computes the weights and sends them to every GPU
# over the network."* It has one process, and no network. In **every forward** it copies the model
# to each GPU, scatters the batch and collects the outputs, and its threads share the interpreter's
# lock. DDP is recommended on one machine too. Without GPUs it merely calls the module:

# %% topics=["data-parallel"] errata=["dataparallel-bottleneck"]
layer, x = nn.Linear(2, 2), torch.ones(1, 2)
wrapped = nn.DataParallel(layer)
print("wraps the same module:", wrapped.module is layer)
print(
    "on the CPU the same result:", torch.equal(wrapped(x.to("cpu")), layer(x)) or "GPUs were used"
)

# %% [markdown]
# *"Start with `python -m torch.distributed.launch` and parse `--local_rank`."* The old launcher is deprecated, and it passes `--local-rank`, with a dash. An
# old script's parser refuses that. Read `os.environ["LOCAL_RANK"]`.

# %% errata=["launch-local-rank"]
import argparse
import contextlib
import io

parser = argparse.ArgumentParser(prog="train.py")
parser.add_argument("--local_rank", type=int, default=0)
with contextlib.redirect_stderr(io.StringIO()) as words, contextlib.suppress(SystemExit):
    parser.parse_args(["--local-rank=1"])
print(words.getvalue().splitlines()[-1])

# %% [markdown]
# *"Use Apex: `apex.parallel.DistributedDataParallel(model, device_ids=[…])` and
# `convert_syncbn_model`."* Apex's class took no `device_ids`. All of it is in PyTorch now: DDP,
# `torch.amp`, `convert_sync_batchnorm`. *"Horovod scales better."* It made the ring popular in
# 2017; its last release is from 2023. What `hvd.broadcast_parameters` and
# `hvd.DistributedOptimizer` did is step 1 and step 4 of exercise 17.5.

# %% topics=["horovod"] errata=["apex-ddp-args"] tags=["shows-false"]
import importlib.util

for name in ("apex", "horovod"):
    print(name, "is installed:", importlib.util.find_spec(name) is not None)
print(
    "in PyTorch:",
    all(map(callable, [DDP, torch.amp.autocast, nn.SyncBatchNorm.convert_sync_batchnorm])),
)

# %% [markdown]
# ## Summary
#
# | question | answer |
# | --- | --- |
# | who am I? | `RANK`, `WORLD_SIZE`, `LOCAL_RANK`; found through the store |
# | how do we add up? | all-reduce: reduce-scatter, then all-gather; a ring sends 2 (n − 1) / n · B bytes |
# | who sees what? | same shuffle everywhere, every n-th sample; padded; `set_epoch` |
# | why are weights equal? | equal start (broadcast), equal steps (averaged gradients) |
# | when is the average wrong? | unequal shards: weight by counts; batch norm: merge statistics |
# | why does it hang? | some rank made other calls: find the one that is not where the others are |
# | is it worth it? | the computation shrinks or stays, 2 B bytes don't shrink |
#
# **Three mistakes to remember.** A collective inside `if rank == 0`. A sampler without `set_epoch`.
# A mean of means over unequal shards.
#
# **Read on.** In PyTorch's documentation: *torch.distributed*, *DistributedDataParallel*,
# *torchrun*, the note *Distributed Data Parallel*. Papers: Li and others, *PyTorch Distributed:
# Experiences on Accelerating Data Parallel Training* (2020); Goyal and others, *Accurate, Large
# Minibatch SGD* (2017); Chan, Golub and LeVeque, *Updating Formulae and a Pairwise Algorithm for
# Computing Sample Variances* (1979). Chapter 18 asks the next question: what if one model does not
# fit?
