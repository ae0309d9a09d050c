# ---
# jupyter:
#   course:
#     title: Sharding
#     minutes: 220
#     core: 135
# ---

# %% [markdown]
# # Sharding: what if one model does not fit?
#
# In chapter 17 every process held the whole model. That makes training faster; it doesn't make
# the model any smaller. Take seven billion parameters, trained with Adam in float32. **Predict:**
# do they fit on an accelerator with 80 GB? On four of them, with DDP?

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_predictions, every_case, show

# %%
parameters = 7_000_000_000
whole = parameters * 4  # bytes of the weights in float32
print("weights, gradients, two moments of Adam:", 4 * whole // 10**9, "GB")

# %% [markdown]
# 112 GB, and DDP asks for 112 GB on *each* of the four. Yet together they have 320 GB. The question
# of this chapter is how to spread one model over several processes so that the result stays the
# same, number for number.
#
# **After this chapter you can**
#
# - say how many bytes each rank needs under DDP and under each stage of sharding, before you start;
# - shard Adam's state and a stack of layers by hand, equal to the real thing;
# - cut a matrix over ranks, or a stack of layers into a pipeline, and count what it costs;
# - save on two ranks and load on three, and lose nothing when a worker dies;
# - choose a layout for a model, a machine and a budget.
#
# **It leans on** chapter 17 (processes, `launch`, collectives, DDP) and chapters 06
# (`autograd.Function`) and 07 (hooks). **Time:** sections marked *core* take about 135 minutes with
# their exercises, everything 220, without section 7, which is optional and takes another half hour.
# The ranks are processes on this machine's CPU, connected by gloo. The same calls run on GPUs with
# NCCL.

# %% nbgrader={"grade_id": "tools", "locked": true} jupyter={"source_hidden": true}
# The machinery: imports once here, so that each rank finds them ready.
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import torch.distributed.checkpoint as dcp
from course_utils import runs_with_the_answer
from course_utils.chapters.sharding import Training, attempt, check_bubble, check_checkpoint
from course_utils.chapters.sharding import check_elastic, check_fully_sharded, check_run
from course_utils.chapters.sharding import check_schedules, check_sharded_optimizer
from course_utils.chapters.sharding import check_tensor_parallel, in_time
from course_utils.chapters.sharding import checkpoint_trial, draw_mesh, draw_overlap, draw_timeline
from course_utils.chapters.sharding import elastic_trial, overlap
from course_utils.chapters.sharding import gather_rows, local, make_stage, on_ranks, random_like
from course_utils.chapters.sharding import run_fully_sharded, run_stage, run_tensor_parallel
from course_utils.chapters.sharding import scatter_mean_rows, train_sharded, why_not
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

_ = torch.optim.Adam([torch.zeros(1)])  # the first optimizer loads much


# %% [markdown]
# ## 1. Where do the bytes go? · core
#
# Training keeps four numbers for each parameter: the **parameter**, its **gradient**, and Adam's
# two **moments**. DDP keeps all four on every rank. But the moments are read in the optimizer's
# step alone, and one rank could take that step for a parameter and send the result to the others.
#
# Sharding therefore has three stages, known as **ZeRO**. With a world of $W$ ranks each stage lets
# a rank keep only the $W$-th part of one thing more:
#
# | stage | optimizer state | gradients | parameters |
# | --- | --- | --- | --- |
# | DDP | whole | whole | whole |
# | 1 | a part | whole | whole |
# | 2 | a part | a part | whole |
# | 3 (FSDP) | a part | a part | a part |
#
# ### Exercise 18.1 — Bytes per rank ★ · 3 min · 2 points · core
#
# A model has 262 144 parameters in float32, so its weights take exactly **1 MiB**. It is trained
# with Adam on **four** ranks. Predict how many MiB parameters, gradients and Adam's two moments
# take together on *one* rank, right before an optimizer's step. (Not the first one: Adam makes its
# moments in it.)
#
# Example: on one rank alone, without any sharding, it is 1 + 1 + 2 = 4 MiB.

# %% nbgrader={"grade_id": "bytes-per-rank", "solution": true}
bytes_per_rank = {
    "DDP": None,
    "stage 1": None,
    "stage 2": None,
    "stage 3": None,
}
### BEGIN SOLUTION
bytes_per_rank = {"DDP": 4, "stage 1": 2.5, "stage 2": 1.75, "stage 3": 1}
### END SOLUTION

# %% nbgrader={"grade_id": "bytes-per-rank-check", "grade": true, "points": 2}
names, kept = ("DDP", "stage 1", "stage 2", "stage 3"), [1.0, 1.0, 2.0]
truth = {name: sum(kept[: 3 - n]) + sum(kept[3 - n :]) / 4 for n, name in enumerate(names)}
reasons = {
    "DDP": "every rank has all of it, the two moments as well; more ranks save no byte",
    "stage 1": "the two moments are divided by four, weights and gradients are whole",
    "stage 2": "it adds to stage 1: moments and gradients are divided by four, the weights are "
    "whole",
    "stage 3": "all four numbers of each parameter are divided by four",
}
units = {
    4: "that is what all four ranks keep together: one rank is asked for",
    2**20: "that is in bytes: a MiB has 2**20 of them",
    2**20 / 10**6: "that is in MB, of a million bytes: a MiB has 2**20",
}
for factor, words in units.items():
    assert bytes_per_rank != {name: factor * n for name, n in truth.items()}, words
check_predictions(bytes_per_rank, truth, reasons)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write three terms for each row: parameters + gradients + moments. The moments are two numbers a
# parameter.
# </details>
# <details><summary>Hint 2</summary>
#
# Where the table says "a part", divide that term by four.
# </details>
#
# Now measure. Each branch below sets up one layout on each rank, runs a backward pass and one step,
# and counts the numbers that this rank really holds. `fully_shard` is PyTorch's FSDP, in its second
# edition (FSDP2).


# %% nbgrader={"grade_id": "measure", "locked": true}
def measure(rank, world_size, layout, width=256, depth=4):
    """Bytes of parameters, gradients and moments that this rank holds when it takes a step."""
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(width, width, bias=False) for _ in range(depth)])
    net = DistributedDataParallel(model) if layout != "stage 3" else model
    if layout == "stage 3":
        mesh = init_device_mesh("cpu", (world_size,))
        for module in (*model, model):
            fully_shard(module, mesh=mesh)
    kind = torch.optim.Adam
    if layout in ("stage 1", "stage 2"):
        adam = ZeroRedundancyOptimizer(model.parameters(), kind).optim
    else:
        adam = kind(model.parameters())
    net(torch.ones(1, width)).sum().backward()
    weights = list(model.parameters())
    adam.step()
    grads = [p.grad for p in adam.param_groups[0]["params"]] if layout == "stage 2" else None
    grads = grads or [p.grad for p in weights]
    moments = [v for state in adam.state.values() for v in state.values() if v.dim() > 0]
    return [sum(local(t).numel() * 4 for t in part) for part in (weights, grads, moments)]


# %%
layouts = ["DDP", "stage 1", "stage 2", "stage 3"]
measured = {layout: on_ranks(measure, 4, layout)[0] for layout in layouts}
for layout, parts in measured.items():
    print(f"{layout:8}", [n / 2**20 for n in parts], "MiB, together", sum(parts) / 2**20)

# %%
figure, axes = plt.subplots(figsize=(7, 2.6))
left = torch.zeros(4)
for part, name, colour in zip(
    range(3),
    ("parameters", "gradients", "Adam's moments"),
    ("#0072b2", "#e69f00", "#009e73"),
    strict=True,
):
    wide = torch.tensor([measured[layout][part] / 2**20 for layout in layouts])
    axes.barh(layouts, wide, left=left, label=name, color=colour)
    left += wide
axes.set(xlabel="MiB on one of four ranks", title="Each stage divides one part more")
axes.invert_yaxis()
axes.legend(loc="lower right")
show(figure, "Stacked bars of bytes on one rank: 4 MiB for DDP, 2.5, 1.75 and 1 for stages 1 to 3.")

# %% [markdown]
# The green part shrinks first, because it is the biggest and costs nothing to divide. In the branch
# of stage 2 we counted only those gradients that the rank's own optimizer reads: the others can be
# freed as soon as they are reduced. What no stage divides are the **activations**: each rank computes
# its own batch.
#
# ## 2. Stage 1: each rank is responsible for a part · core
#
# Why does this cost nothing? DDP all-reduces the gradients, and an all-reduce is a **reduce-scatter**
# (each rank gets the sum of its part) followed by an **all-gather** (all parts go to everyone).
# Between the two there is a place to do something useful. Step by step, for four parameters on two
# ranks:


# %%
def reduce_scatter_then_gather(rank, world_size):
    gradient = torch.tensor([1.0, 2.0, 3.0, 4.0]) * (10**rank)  # another on each rank
    mine = torch.empty(2)
    dist.reduce_scatter_tensor(mine, gradient)  # the sum of my half
    mine /= world_size
    back = torch.empty(4)
    dist.all_gather_into_tensor(back, mine)  # everyone's half
    return mine.tolist(), back.tolist()


# %%
for rank, (mine, back) in enumerate(on_ranks(reduce_scatter_then_gather, 2)):
    print(f"rank {rank}: my part of the mean {mine}, all parts {back}")

# %% [markdown]
# Sharded training gathers something else: each rank first updates its part of the **parameters**,
# and these are gathered. The traffic is the same, and no rank ever needs the other moments.
#
# The easiest division is by whole tensors. PyTorch's `ZeroRedundancyOptimizer` does that: each
# parameter goes to the rank that has the least so far, and after the step that rank broadcasts it.
# **Predict:** how many bytes of moments does each of two ranks keep, for two matrices of 8000 and
# 2000 numbers?


# %%
def lopsided(rank, world_size):
    model = nn.Sequential(nn.Linear(8, 1000, bias=False), nn.Linear(1000, 2, bias=False))
    zero = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam)
    model(torch.ones(1, 8)).sum().backward()
    zero.step()
    return sum(v.numel() * 4 for s in zero.optim.state.values() for v in s.values() if v.dim())


# %%
print("bytes of moments on the two ranks:", on_ranks(lopsided, 2))

# %% [markdown]
# 64 000 against 16 000: the biggest tensor decides. The cure is to forget the borders between the
# tensors. Lay all parameters end to end in one flat row, pad it with zeros until $W$ divides its
# length, and cut it into $W$ equal slices:

# %%
weight, bias = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([5.0])
flat = torch.cat([weight.flatten(), bias.flatten()])
flat = F.pad(flat, (0, -len(flat) % 2))  # to a multiple of the world's size, 2
print("rank 0 owns", flat[:3].tolist(), "and rank 1", flat[3:].tolist())

# %% [markdown]
# The border of the slices runs through the weight. Adam doesn't mind: it updates each number by
# itself.
#
# ### Exercise 18.2 — A sharded optimizer ★★ · 20 min · 3 points · core
#
# Write `sharded_optimizer(parameters, rank, world_size, options)`: stage 1, on slices of the flat row. It runs
# on every rank, in a process group that is ready, and returns a pair `(step, adam)`:
#
# - `step()` takes the place of `optimizer.step()`: all ranks call it when each parameter has its
#   own rank's `.grad`. Afterwards the parameters are on all ranks what
#   `torch.optim.Adam(parameters, **options)` would have made of the **mean** of the ranks' gradients.
#   They are changed **in place**: the same `Parameter` objects hold the new values. `.grad` stays as
#   it is. A gradient may be zero.
# - `adam` is the `torch.optim.Adam` that does this rank's work, the only optimizer on this rank. It
#   keeps moments for at most ⌈n / world_size⌉ numbers, where n counts all numbers in all parameters,
#   whatever their shapes.
#
# Parameters and their gradients are float32, contiguous, on the CPU, of any shapes. Parameters start
# equal on all ranks and have no gradients yet when you are called; between steps nothing changes them.
# A second call is independent of the first; `options` stays as it is.
# Example: parameters of shapes (2, 2) and (1,) on two ranks: each `adam` has moments for at most three
# numbers, so six numbers of state.


# %% nbgrader={"grade_id": "try-sharded-optimizer", "locked": true}
@runs_with_the_answer
def try_sharded_optimizer(world_size: int, shapes: list, steps: int, options: dict) -> list | str:
    """From each rank its parameters after the steps, and how many numbers its Adam keeps."""
    return attempt(train_sharded, world_size, sharded_optimizer, shapes, steps, options)


# %% nbgrader={"grade_id": "sharded-optimizer", "solution": true}
def sharded_optimizer(
    parameters: list[nn.Parameter], rank: int, world_size: int, options: dict
) -> tuple[Callable[[], None], torch.optim.Optimizer]:
    """(step, adam): Adam with mean gradients; this rank keeps the state of its slice alone."""
    ### BEGIN SOLUTION
    count = sum(p.numel() for p in parameters)

    def flatten(tensors):
        return F.pad(torch.cat([t.flatten() for t in tensors]), (0, -count % world_size))

    mine = flatten([p.detach() for p in parameters]).chunk(world_size)[rank].clone()
    adam = torch.optim.Adam([mine], **options)

    @torch.no_grad()
    def step():
        mine.grad = torch.empty_like(mine)
        whole = flatten([p.grad for p in parameters])
        dist.reduce_scatter_tensor(mine.grad, whole)
        mine.grad /= world_size
        adam.step()
        dist.all_gather_into_tensor(whole, mine)
        for p, new in zip(
            parameters, whole[:count].split([p.numel() for p in parameters]), strict=True
        ):
            p.copy_(new.view_as(p))

    return step, adam
    ### END SOLUTION


# %% nbgrader={"grade_id": "sharded-optimizer-check", "grade": true, "points": 3}
def check_case(*job):
    check_sharded_optimizer(try_sharded_optimizer(*job), *job)


with every_case() as case:
    with case("2 ranks, shapes (2, 2) and (1,), weight_decay"):
        check_case(2, [(2, 2), (1,)], 3, {"lr": 0.1, "weight_decay": 0.5})
    with case("2 ranks, one big parameter and one small"):
        check_case(2, [(30, 4), (3,)], 2, {"lr": 0.05, "betas": (0.5, 0.9), "eps": 0.1})
    with case("3 ranks, a parameter without dimensions and one without numbers"):
        check_case(3, [(), (5, 1, 2), (0, 3), (3, 3)], 3, {"lr": 0.02, "weight_decay": 0.3})
    with case("2 ranks, a single number, no options"):
        check_case(2, [(1, 1)], 2, {})
    with case("2 ranks, a single parameter of four numbers"):
        check_case(2, [(4, 1)], 2, {"lr": 0.1, "maximize": True})
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("3 ranks, four numbers"):
        check_case(3, [(2, 1), (), (1,)], 2, {"lr": 0.1, "weight_decay": 0.2})
    with case("1 rank"):
        check_case(1, [(3,)], 2, {"lr": 0.1})
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Make the flat row and take this rank's slice as a separate tensor (`clone`). Give Adam only that.
# </details>
# <details><summary>Hint 2</summary>
#
# In `step`: flatten the gradients the same way, reduce-scatter them into the slice's `.grad`, divide,
# let Adam step, all-gather the slices, copy the pieces back with `copy_` under `torch.no_grad()`.
# </details>
# <details><summary>Hint 3</summary>
#
# `whole.split([p.numel() for p in parameters])` cuts the flat row at the old borders. Leave out the
# padding first.
# </details>

# %% [markdown]
# ## 3. Stage 3: the parameters themselves · core
#
# The weights are still whole on each rank. But a forward pass needs only one layer at a time. FSDP
# uses that. Each rank keeps its **rows** of every matrix, and for each layer:
#
# 1. *gather*: all ranks put their rows together; now the layer is whole;
# 2. *compute*: an ordinary forward on this rank's own batch;
# 3. *free*: the whole matrix is dropped, the rows stay.
#
# The backward pass goes through the layers in reverse. It needs each matrix once more, so it gathers
# again, computes, frees, and then **reduce-scatters** the gradient: each rank is left with the mean of
# its own rows. The invariant: between two layers, no rank holds more than rows.
#
# Here is the real one. **Predict** the shape of the weight (8, 4) that each of two ranks keeps.


# %%
def shard_a_layer(rank, world_size):
    layer = fully_shard(nn.Linear(4, 8, bias=False), mesh=init_device_mesh("cpu", (world_size,)))
    kept = tuple(layer.weight.to_local().shape)
    seen = []
    layer.register_forward_hook(
        lambda module, args, output: seen.append(tuple(module.weight.shape))
    )
    layer(torch.ones(1, 4)).sum().backward()
    return kept, seen, tuple(layer.weight.grad.to_local().shape)


# %%
for rank, (kept, seen, gradient) in enumerate(on_ranks(shard_a_layer, 2)):
    print(f"rank {rank}: keeps {kept}, computes with {seen[0]}, has a gradient of {gradient}")

# %% [markdown]
# Outside of `forward` the weight is a `DTensor`: a tensor that knows it is a shard of a bigger one.
# Inside it is an ordinary one, whole.
#
# When is "free" done? Let's count whole layers at each moment of a forward and backward pass through
# six layers. `reshard_after_forward=False` keeps them from the forward to the backward pass: that is
# stage 2, with less traffic.


# %%
class Look(torch.autograd.Function):
    """Changes nothing, and calls `note` in the forward pass and in the backward pass."""

    @staticmethod
    def forward(ctx, x, note):
        note()
        ctx.note = note
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        ctx.note()
        return grad, None


# %%
class Watched(nn.Linear):
    def forward(self, x):
        return Look.apply(super().forward(x), self.note)


def whole_layers(rank, world_size, root, **options):
    mesh, counts = init_device_mesh("cpu", (world_size,)), []
    layers = nn.Sequential(*[Watched(8, 8, bias=False) for _ in range(6)])

    def note():
        counts.append(sum(not isinstance(layer.weight, DTensor) for layer in layers))

    for layer in layers:
        layer.note = note
    for module in (*layers, layers) if root else layers:
        fully_shard(module, mesh=mesh, **options)
    with CommDebugMode() as traffic:
        out = layers(torch.ones(2, 8))
        note()
        out.sum().backward()
    note()
    return counts, {str(op).split(".")[-1]: n for op, n in traffic.get_comm_counts().items()}


def reshard(rank, world_size, after_forward):
    return whole_layers(rank, world_size, root=True, reshard_after_forward=after_forward)


# %%
freed, traffic_freed = on_ranks(reshard, 2, True)[0]
kept, traffic_kept = on_ranks(reshard, 2, False)[0]
print("whole layers, freed:", freed, traffic_freed)
print("whole layers, kept: ", kept, traffic_kept)

# %%
figure, axes = plt.subplots(figsize=(7.5, 2.6))
numbers = range(1, 7)
places = [*numbers, "forward\ndone", *reversed(numbers), "backward\ndone"]
axes.step(range(14), kept, where="mid", label="kept until backward", color="#d55e00", lw=2)
axes.step(range(14), freed, where="mid", label="freed at once", color="#0072b2", lw=2)
axes.set_xticks(range(14), places, fontsize=8)
axes.set(xlabel="layer at work", ylabel="whole layers", title="How many of six layers are whole?")
axes.legend(loc="center")
show(figure, "Kept layers climb to 6 and fall in the backward pass; freed ones stay at 1.")

# %% [markdown]
# The blue line is FSDP: one whole layer, however many there are, in the forward pass and in the
# backward pass. It pays with six more all-gathers. That makes three transfers of the parameters'
# size a step, where DDP needs two.
#
# But while a layer is gathered, nothing computes. On GPUs transfers run beside the computation.
# FSDP therefore **prefetches**: it gathers layer 2 while layer 1 computes. **Predict:** how many
# layers are then whole at once?

# %%
figure, axes = plt.subplots(2, 1, figsize=(7.5, 4.2), sharex=True, layout="constrained")
for ahead, axis in enumerate(axes):
    rows = overlap(layers=5, gather=1, compute=2, ahead=ahead)
    draw_overlap(axis, rows, ("in turn", "prefetched")[ahead])
axes[1].set(xlabel="ticks (a model, not a measurement)")
show(figure, "Gathers and computations in turn: 15 ticks, 1 whole. Prefetched: 11 ticks, 2 whole.")

# %% [markdown]
# Two: the one that computes and the next one. Prefetching hides the traffic as long as a gather takes
# less time than a computation. Only the first gather is still waited for. That is why section 8 counts
# room for two whole layers. (Our CPU ranks do without; there the blue line is 1.)
#
# How do you *free* a matrix that autograd wants to see again? `h @ whole.T` saves `whole` for
# backward. **Predict:** who still holds it after `del whole`?

# %%
x, whole = torch.ones(1, 3, requires_grad=True), torch.ones(2, 3)
place, h = whole.data_ptr(), x @ whole.T
del whole
print("the graph still holds the matrix:", h.grad_fn._saved_mat2.data_ptr() == place)

# %% [markdown]
# The layer has to be one operation, which saves the **shard**, and gathers again in its
# backward. Two tools from chapter 06 do that: an `autograd.Function`, or checkpointing (run the
# forward once more during backward).
#
# ### Exercise 18.3 — Fully sharded ★★★ · 30 min · 4 points · core
#
# Write `fully_sharded(x, shards)`: the forward pass of a stack of layers whose matrices no rank keeps whole.
# Begin with `h = x`, take a layer `h = tanh(h @ W.T)`, one for each entry of `shards`, and return the last `h`.
# `x` (batch, features) is this rank's own batch. `shards[l]` holds this rank's rows of the l-th matrix $W$
# (out, in): a float32 leaf that requires grad. One shard may stand there twice.
#
# After the `backward()` of this rank's own loss:
#
# - `shards[l].grad` holds this rank's rows of the **mean** over the ranks of the gradient of $W$, added, as
#   ever, to what was there;
# - `x.grad` is what an ordinary stack would give (`x` requires grad on all
#   ranks or on none, and may come from a layer);
# - at no time, forward or backward, are more than **two** whole matrices alive, copies included (their
#   gradients are not counted).
#
# It may be called again with the same `x` and `shards`, also when they hold other numbers by then, and under
# `torch.no_grad()`: a call leaves nothing behind on them. A backward pass doesn't change the gradient that
# it is handed.
#
# Send to the other ranks, and receive from them, only through two functions:
#
# - `gather_rows(shard)` returns the new whole matrix $W$, made of all ranks' rows;
# - `scatter_mean_rows(gradient)` takes a rank's whole gradient (out, in), returns its rows of the mean.
#
# Neither is differentiable. All ranks must call them in the same order.
# Example: two ranks with shards (2, 3) compute with a matrix (4, 3): `x` (5, 3) becomes (5, 4).


# %% nbgrader={"grade_id": "try-fully-sharded", "locked": true}
@runs_with_the_answer
def try_fully_sharded(world_size: int, sizes: list, batch: int, with_input: bool) -> list | str:
    """From each rank: output, gradients of shards and x, the ledger after forward and last."""
    return attempt(run_fully_sharded, world_size, fully_sharded, sizes, batch, with_input)


# %% nbgrader={"grade_id": "fully-sharded", "solution": true}
def fully_sharded(x: torch.Tensor, shards: list[torch.Tensor]) -> torch.Tensor:
    """tanh(h @ W.T) for each layer; each rank keeps rows, at most two matrices are whole."""
    ### BEGIN SOLUTION

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, h, shard):
            out = torch.tanh(h @ gather_rows(shard).T)
            ctx.save_for_backward(h, shard, out)
            return out

        @staticmethod
        def backward(ctx, grad):
            h, shard, out = ctx.saved_tensors
            grad = grad * (1 - out**2)
            return grad @ gather_rows(shard), scatter_mean_rows(grad.T @ h)

    for shard in shards:
        x = Layer.apply(x, shard)
    return x
    ### END SOLUTION


# %% nbgrader={"grade_id": "fully-sharded-check", "grade": true, "points": 4}
def check_case(*job):
    check_fully_sharded(try_fully_sharded(*job), *job)


with every_case() as case:
    with case("2 ranks, 1 layer"):
        check_case(2, [(4, 3)], 5, True)
    with case("2 ranks, 5 layers"):
        check_case(2, [(8, 6), (4, 8), (6, 4), (6, 6), (2, 6)], 3, True)
    with case("2 ranks, x does not require grad"):
        check_case(2, [(4, 3), (2, 4)], 5, False)
    with case("2 ranks, 5 large matrices, a single row"):
        check_case(2, [(8, 6), (4, 8), (6, 4), (6, 6), (4, 6)], 1, True)
### BEGIN HIDDEN TESTS
with every_case() as case, case("3 ranks, 4 layers"):
    check_case(3, [(3, 6), (9, 3), (6, 9), (3, 6)], 2, True)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write an `autograd.Function` for one layer, with `forward(ctx, h, shard)`. Save `h`, `shard` and the
# output: none of them is a whole matrix.
# </details>
# <details><summary>Hint 2</summary>
#
# The derivative of tanh is one minus the output squared. Multiply the incoming gradient by it: that
# is the gradient $g$ of `h @ W.T`. Then the gradient of `h` is $g W$ and that of $W$ is $g^T h$.
# </details>
# <details><summary>Hint 3</summary>
#
# In `backward`, gather again for $g W$. Hand $g^T h$ to `scatter_mean_rows`, and return the rows as
# the gradient of `shard`.
# </details>
#
# The library does the same with one call a layer. Does it equal one process on the whole batch?


# %%
def fsdp_against_one(rank, world_size):
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
    x, y = random_like((4, 6), 1), random_like((4, 2), 2)  # the whole batch of both ranks
    expected = torch.autograd.grad(F.mse_loss(plain(x), y), plain.parameters())
    mesh = init_device_mesh("cpu", (world_size,))
    for module in (plain[0], plain[2], plain):
        fully_shard(module, mesh=mesh)
    F.mse_loss(plain(x.chunk(2)[rank]), y.chunk(2)[rank]).backward()
    found = [parameter.grad.full_tensor() for parameter in plain.parameters()]
    return all(torch.allclose(a, b, atol=1e-6) for a, b in zip(found, expected, strict=True))


# %%
equal = on_ranks(fsdp_against_one, 2)

# %%
assert all(equal)
print("FSDP2 on two halves equals one process on the whole batch:", equal)

# %% [markdown]
# **In practice.** Call `fully_shard` on each block, then on the whole model. The last call looks
# superfluous: no parameter is left for it. **Predict** what happens without it, in the six layers
# above, with the default options:


# %%
for name, root in (("layers only:    ", False), ("the model too:  ", True)):
    counts, traffic = on_ranks(whole_layers, 2, root)[0]
    print(name, counts[:6], "whole,", traffic["_allgather_base_"], "all-gathers")

# %% [markdown]
# The outermost wrapped module, the *root*, stays whole after its forward pass by default: its backward
# pass usually follows at once. Without the last call each layer is a root, and nothing is freed. No
# error tells you, and the result is right; only the memory is that of stage 2.
#
# And make the optimizer *afterwards*: it must see the DTensors. One that was made before holds the old
# parameters:


# %%
def optimizer_too_early(rank, world_size, early):
    layer = nn.Linear(4, 4)
    if early:
        sgd = torch.optim.SGD(layer.parameters(), lr=0.1)
    fully_shard(layer, mesh=init_device_mesh("cpu", (world_size,)))
    if not early:
        sgd = torch.optim.SGD(layer.parameters(), lr=0.1)
    before = layer.weight.to_local().clone()
    layer(torch.ones(1, 4)).sum().backward()
    sgd.step()
    return bool((layer.weight.to_local() != before).any())


# %%
print("made before fully_shard, the weights move:", on_ranks(optimizer_too_early, 2, True))
print("made after fully_shard, the weights move: ", on_ranks(optimizer_too_early, 2, False))

# %% [markdown]
# **The question of the title.** So far each rank built the whole model and then cut it. What if one rank
# can't even do that? On the device `meta` a tensor has a shape and a dtype, and no storage. Build there,
# shard, and only then ask for memory: `to_empty` gets it for this rank's rows. They hold nothing yet, so
# each module resets its parameters.


# %%
def build_sharded(rank, mesh, policy):
    with torch.device("meta"):
        blocks = [nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64)) for _ in range(4)]
        model = nn.Sequential(*blocks)
    for module in (*model, model):
        fully_shard(module, mesh=mesh, mp_policy=policy)
    model.to_empty(device="cpu")
    torch.manual_seed(rank)  # on the CPU, equal seeds would give all ranks the same rows
    for module in model.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()
    return model


# %% [markdown]
# A step of training has three more parts at work. `MixedPrecisionPolicy` gathers and computes in bfloat16,
# and keeps the shards in float32. `clip_grad_norm_` gives the norm over all ranks, as a DTensor. And
# `get_model_state_dict` with `full_state_dict=True` gathers a whole copy, tensor by tensor, on rank 0's CPU:


# %%
def train_sharded_model(rank, world_size):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = build_sharded(rank, init_device_mesh("cpu", (world_size,)), policy)
    adam = torch.optim.AdamW(model.parameters())
    out = model(random_like((8, 64), rank))
    out.float().square().mean().backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    adam.step()
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    whole = get_model_state_dict(model, options=options)
    kept = sum(local(p).numel() for p in model.parameters())
    return kept, out.dtype, type(norm).__name__, len(whole)


# %%
for rank, (kept, dtype, norm, whole) in enumerate(on_ranks(train_sharded_model, 4)):
    print(f"rank {rank} keeps {kept} numbers, computes in {dtype}, ", end="")
    print(f"has the norm as a {norm}, gets {whole} whole tensors")

# %% [markdown]
# No rank ever had more than its quarter of 17 152 numbers and the layers at work. The seed needs care: with equal seeds on
# all CPU ranks, each of them draws the *same* rows, and the matrix repeats itself.
#
# > **Then and now.** *"Wrap the model in `FullyShardedDataParallel`."* The first edition of FSDP lays all
# > parameters of a wrapped module end to end in one flat row, as you did in 18.2. Frozen and trained
# > parameters, or two dtypes, don't mix well in a row, and names get lost. `fully_shard` cuts each
# > parameter by its rows and keeps it, under its name. The first edition also refuses to run without an
# > accelerator.


# %%
def names_and_shards(rank, world_size):
    model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    model[0].weight.requires_grad_(False)  # a frozen one among the others
    fully_shard(model, mesh=init_device_mesh("cpu", (world_size,)))
    return {name: tuple(local(p).shape) for name, p in model.named_parameters()}


# %%
print(on_ranks(names_and_shards, 2)[0])

# %% [markdown]
# What FSDP never cuts are the activations. **Activation checkpointing** (chapter 06) combines well
# with it: checkpoint the inside of each block, then shard the block. The forward pass that runs
# again finds the layer whole, so it costs no further all-gather.
#
# ## 4. Cut the matrix: tensor parallelism
#
# FSDP moves the weights to the data. For a huge matrix and a small batch the other way is cheaper:
# leave the weights where they are and move **activations**. Take an MLP, `gelu(x @ up.T) @ down.T +
# bias`. Each rank gets the *same* batch and a slice of the hidden units.
#
# Cut `up` (hidden, in) by rows: each rank computes some of the hidden units, complete. The GELU
# acts on each unit alone. Cut `down` (out, hidden) by columns: each rank computes what *its* units
# contribute to every output. The sum of these contributions is the answer, and that is one
# all-reduce:

# %% tags=["shows-false"]
x, up, down = random_like((2, 3), 1), random_like((4, 3), 2), random_like((3, 4), 3)
parts = [F.gelu(x @ up[a:b].T) @ down[:, a:b].T for a, b in ((0, 2), (2, 4))]
print("the parts add up:", torch.allclose(parts[0] + parts[1], F.gelu(x @ up.T) @ down.T))
print("one part alone:  ", torch.allclose(parts[0], F.gelu(x @ up.T) @ down.T))

# %%
figure, axes = plt.subplots(figsize=(7.5, 2.4))
blocks = [(0, 0, 1.5, 2, "x"), (5.5, 0, 2, 2, "hidden"), (11.3, 0, 1.5, 2, "y")]
for left, low, width, height, name in blocks:
    half = width / 2 if name == "hidden" else 0
    axes.add_patch(plt.Rectangle((left, low), width, height, fc="#dddddd", ec="black"))
    if half:
        axes.add_patch(plt.Rectangle((left, low), half, height, fc="#56b4e9", ec="black"))
        axes.add_patch(plt.Rectangle((left + half, low), half, height, fc="#e69f00", ec="black"))
    axes.text(left + width / 2, low - 0.35, name, ha="center")
for left, low, width, height, colour in (
    (2.5, 0.25, 1, 1.5, "#56b4e9"),
    (3.5, 0.25, 1, 1.5, "#e69f00"),
    (8.5, 1, 1.5, 1, "#56b4e9"),
    (8.5, 0, 1.5, 1, "#e69f00"),
):
    axes.add_patch(plt.Rectangle((left, low), width, height, fc=colour, ec="black"))
for where, text in ((2, "@"), (5, "GELU\n→"), (8, "@"), (10.65, "all-\nreduce\n→")):
    axes.text(where, 1, text, ha="center", va="center", fontsize=9)
axes.text(3.5, -0.35, "up.T", ha="center")
axes.text(9.25, -0.35, "down.T", ha="center")
axes.set(
    xlim=(-0.2, 13), ylim=(-0.7, 2.2), title="Blue lives on rank 0, orange on rank 1, grey on both"
)
axes.axis("off")
show(
    figure,
    "x times up.T, cut by columns, and GELU give hidden units in two halves; each meets its rows "
    "of down.T; an all-reduce adds the two parts of y.",
)

# %% [markdown]
# In the picture each colour meets only itself until the very end. Cut both matrices the other way
# round, and you need a transfer between them.
#
# The **backward** pass mirrors it. The gradient of `y` is whole on each rank, and the same: it must
# go back through the sum unchanged. But each rank finds only its own units' part of the gradient of
# `x`: these must be summed. There are therefore two small operations, each of which is the other's
# mirror:
#
# | | forward | backward |
# | --- | --- | --- |
# | at the entry, on `x` | nothing | all-reduce |
# | at the exit, on the parts of `y` | all-reduce | nothing |
#
# Here a common slip shows. PyTorch's differentiable all-reduce has an all-reduce in its backward
# too. It is right when each rank has another loss, and all losses count. Here all ranks compute the
# *same* loss once. Each of two ranks has a `w`, and `y` is their sum: raise one `w` by 1, and `y`
# grows by 1. **Predict** the gradient of `w`:


# %%
def differentiable_sum(rank, world_size):
    w = torch.ones(1, requires_grad=True)
    y = dist._functional_collectives.all_reduce(w, "sum", dist.group.WORLD)
    y.sum().backward()
    return w.grad.item()


# %%
print("gradient of w on each rank:", on_ranks(differentiable_sum, 2))

# %% [markdown]
# Twice what it should be, and eight times on eight ranks. Adam hides that; gradient clipping doesn't.
#
# ### Exercise 18.4 — Tensor parallel ★★ · 25 min · 3 points
#
# Write `tensor_parallel(x, up, down, bias)`, the MLP of the picture. It runs on every rank of a ready group.
# `x` (batch, in) and `bias` (out,) are equal on all ranks; `up` (hidden / world, in) and `down`
# (out, hidden / world) are this rank's slices. All are float32 leaves that require grad.
#
# - Return `y` (batch, out), on all ranks equal to `gelu(x @ up.T) @ down.T + bias` with the whole matrices.
# - After `backward()` of the same loss of `y` on all ranks, each of the four has the gradient that
#   one process would find: `x.grad` and `bias.grad` whole and equal on all ranks, `up.grad` and `down.grad`
#   for this rank's slices.
# - There is **one** collective in the forward pass and **one** in the backward pass, each an all-reduce.
# - It may be called again with the same tensors, also where no backward pass followed, when they hold other
#   numbers by then, and under `torch.no_grad()`: a call leaves nothing behind on them.
#
# Example: with one rank it is the formula itself.


# %% nbgrader={"grade_id": "try-tensor-parallel", "locked": true}
@runs_with_the_answer
def try_tensor_parallel(world_size: int, sizes: tuple) -> list | str:
    """From each rank: y, the gradients, and the number of collectives forward and backward."""
    return attempt(run_tensor_parallel, world_size, tensor_parallel, sizes)


# %% nbgrader={"grade_id": "tensor-parallel", "solution": true}
def tensor_parallel(
    x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """gelu(x @ up.T) @ down.T + bias, where each rank holds some of the hidden units."""
    ### BEGIN SOLUTION

    class Enter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            grad = grad.clone()
            dist.all_reduce(grad)
            return grad

    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part):
            whole = part.clone()
            dist.all_reduce(whole)
            return whole

        @staticmethod
        def backward(ctx, grad):
            return grad

    return Leave.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T) + bias
    ### END SOLUTION


# %% nbgrader={"grade_id": "tensor-parallel-check", "grade": true, "points": 3}
def check_case(*job):
    check_tensor_parallel(try_tensor_parallel(*job), *job)


with every_case() as case:
    with case("1 rank: the formula"):
        check_case(1, (2, 3, 4, 3))
    with case("2 ranks, 4 hidden units"):
        check_case(2, (2, 3, 4, 3))
    with case("2 ranks, a single row, one hidden unit on each"):
        check_case(2, (1, 3, 2, 1))
### BEGIN HIDDEN TESTS
with every_case() as case, case("3 ranks, 9 hidden units"):
    check_case(3, (5, 2, 9, 4))
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Two classes, each an `autograd.Function`: one for the entry, one for the exit. Each has an all-reduce
# in only one of its two methods.
# </details>
# <details><summary>Hint 2</summary>
#
# `dist.all_reduce` works in place: `clone()` first. Add the bias once, behind the exit.
# </details>
#
# The library says it in a plan: the first layer *columnwise*, the second *rowwise* (its names count by
# $W^T$). **Predict** how many all-reduces a forward and backward pass makes.


# %%
def by_the_library(rank, world_size):
    torch.manual_seed(0)
    mlp = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
    x = torch.ones(2, 4, requires_grad=True)
    expected = mlp(x).detach()
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    parallelize_module(mlp, init_device_mesh("cpu", (world_size,)), plan)
    with CommDebugMode() as traffic:
        y = mlp(x)
        y.sum().backward()
    counts = {str(op).split(".")[-1]: n for op, n in traffic.get_comm_counts().items()}
    return torch.allclose(y, expected, atol=1e-6), tuple(mlp[0].weight.to_local().shape), counts


# %%
for rank, (equal, shape, counts) in enumerate(on_ranks(by_the_library, 2)):
    assert equal
    print(
        f"rank {rank}: equal to one process: {equal}, keeps {shape} of (8, 4), collectives: "
        f"{counts}"
    )

# %% [markdown]
# Two: one forward, one backward, as in the table above.
#
# **Attention** is cut the same way, by *heads*: they are as independent as hidden units. `q`, `k` and `v` are
# cut columnwise, so that each rank gets whole heads, and the output layer rowwise. Here is a
# transformer block with four heads of two numbers. **Predict:** how many heads does each of two ranks
# compute, and how many all-reduces has the forward pass?


# %%
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(8, 8) for _ in range(4))
        self.up, self.down = nn.Linear(8, 32), nn.Linear(32, 8)
        self.norms = nn.ModuleList([nn.LayerNorm(8), nn.LayerNorm(8)])

    def forward(self, x):  # (batch, time, 8)
        h = self.norms[0](x)
        q, k, v = (f(h).unflatten(-1, (-1, 2)).transpose(1, 2) for f in (self.q, self.k, self.v))
        self.heads = q.shape[1]  # q is (batch, heads, time, 2)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


# %%
def block_by_the_library(rank, world_size):
    torch.manual_seed(0)
    block, x = Block(), random_like((2, 5, 8), 1)
    expected = block(x).detach()
    plan = dict.fromkeys(("q", "k", "v", "up"), ColwiseParallel())
    plan |= dict.fromkeys(("out", "down"), RowwiseParallel())
    parallelize_module(block, init_device_mesh("cpu", (world_size,)), plan)
    with CommDebugMode() as traffic:
        y = block(x)
        forward = traffic.get_total_counts()
        y.sum().backward()
    equal = torch.allclose(y, expected, atol=1e-5)
    return equal, block.heads, forward, traffic.get_total_counts() - forward


# %%
for rank, (equal, heads, forward, backward) in enumerate(on_ranks(block_by_the_library, 2)):
    assert equal
    print(f"rank {rank}: {heads} heads of 4, {forward} all-reduces forward, {backward} backward")

# %% [markdown]
# Two forward: one for attention, one for the MLP. Backward it is four, because `q`, `k` and `v`
# each send the gradient of the same `h`. Large codebases add these three up first, and then send
# once.
#
# The other dimensions of a batch of texts can be cut, too. You should know the names:
#
# - **Sequence parallelism** cuts what is between the matrices, such as LayerNorm and dropout, along
#   the time; each all-reduce becomes a reduce-scatter and an all-gather, at the same price.
# - **Context parallelism** cuts attention itself along the time, for very long texts; keys and
#   values travel around the ranks.
# - **Expert parallelism** puts the experts of a mixture-of-experts layer on different ranks; each
#   token is sent to its experts and back by two all-to-alls.
#
# Tensor parallelism and FSDP combine. On a *mesh* of 2 × 2 ranks, one axis cuts the matrices. The
# next layer can't begin before its all-reduce is through, so these ranks should be close together.
# Along the other axis each rank has different data, and FSDP shards what is left; its gathers can
# be prefetched:


# %%
def two_directions(rank, world_size):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
    mlp = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
    mlp[0].weight.detach().copy_(torch.arange(8.0)[:, None].expand(8, 4))  # each row its number
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    parallelize_module(mlp, mesh["tensor"], plan)
    fully_shard(mlp, mesh=mesh["data"])
    return tuple(mesh.get_coordinate()), mlp[0].weight.to_local()[:, 0].int().tolist()


# %%
places, rows = zip(*on_ranks(two_directions, 4), strict=True)
for rank, (place, kept) in enumerate(zip(places, rows, strict=True)):
    print(f"rank {rank} at (data, tensor) = {place} keeps rows {kept} of 8")

# %%
figure, axes = plt.subplots(figsize=(7.5, 3))
draw_mesh(axes, places, rows, height=8)
axes.set(title="A mesh of 2 × 2 (data, tensor), and who keeps which rows of the first matrix")
show(figure, "Ranks 0 and 1 above 2 and 3; tensor cuts the 8 rows in halves, data each half again.")

# %% [markdown]
# Tensor parallelism halves the matrix first: rows 0 to 3 belong to the left column of the mesh, 4
# to 7 to the right. FSDP halves each of these once more.
#
# ## 5. Cut the stack: pipelines
#
# Matrices were cut in every layer, and every layer paid for it. The third way is to cut *between*
# layers: the first half of the stack lives on rank 0, the second on rank 1, and only the
# activations at the border travel.
#
# The oldest form is one process with a module whose halves are on two devices, and DDP around it,
# without `device_ids` because there is no single device:


# %% topics=["ddp-model-parallel"]
class TwoHalves(nn.Module):
    def __init__(self, places=("cpu", "cpu")):  # with two GPUs for each process: their two names
        super().__init__()
        self.places = places
        self.first, self.second = nn.Linear(4, 8).to(places[0]), nn.Linear(8, 2).to(places[1])

    def forward(self, x):
        h = torch.tanh(self.first(x.to(self.places[0])))
        return self.second(h.to(self.places[1]))


def ddp_over_halves(rank, world_size):
    model = DistributedDataParallel(TwoHalves())
    model(random_like((3, 4), rank)).sum().backward()
    return model.module.first.weight.grad


# %% topics=["ddp-model-parallel"]
first, second = on_ranks(ddp_over_halves, 2)
print("DDP around two halves, the same gradients on both ranks:", torch.equal(first, second))

# %% [markdown]
# > **Then and now.** *"If a model is too big for one device, put its parts on several and wrap it in
# > DDP."* That still runs. But while one half computes, the other waits, forward and backward.
#
# To see the waiting we need a clock. A *schedule* is a list of tasks for each stage: `"F2"` is the
# forward pass of micro-batch 2, `"B2"` its backward pass. `F2` can start when the stage before has
# finished its `F2`; `B2` when the stage after has finished its `B2`. A forward takes one tick, a
# backward two.


# %% nbgrader={"grade_id": "clock", "locked": true} topics=["ddp-model-parallel"]
def clock(schedules: list[list[str]], lengths: dict | None = None) -> list[tuple]:
    """(stage, task, start, end) of each task, if every stage works off its list in order."""
    if lengths is None:
        lengths = {(s, t): 1 + (t[0] == "B") for s, tasks in enumerate(schedules) for t in tasks}
    waiting, ends, rows = [list(tasks) for tasks in schedules], {}, []
    free = [0] * len(schedules)
    while any(waiting):
        before = len(rows)
        for stage, tasks in enumerate(waiting):
            if not tasks:
                continue
            kind, task = tasks[0][0], tasks[0]
            needs = [(stage - 1, task)] if kind == "F" and stage else []
            if kind == "B":
                needs = [(stage, "F" + task[1:])]
                needs += [(stage + 1, task)] if stage + 1 < len(schedules) else []
            if all(need in ends for need in needs):
                start = max([free[stage], *(ends[need] for need in needs)])
                free[stage] = ends[stage, tasks.pop(0)] = start + lengths[stage, task]
                rows.append((stage, task, start, free[stage]))
        if len(rows) == before:
            stuck = {stage: tasks[0] for stage, tasks in enumerate(waiting) if tasks}
            raise ValueError(f"deadlock: these tasks wait for ever: {stuck}")
    return rows


# %%
naive = [["F0", "B0"]] * 2
print("one batch on two stages, idle:", 1 - sum(e - s for *_, s, e in clock(naive)) / (2 * 6))

# %% [markdown]
# Half of the time is lost, and on four stages three quarters. The cure: cut the batch into
# **micro-batches**, and send each on as soon as it is through. **GPipe** runs all forwards, then all
# backwards. By hand, for two stages and four micro-batches, where stage 0 and stage 1 have the same list:

# %%
gpipe = [[f"F{n}" for n in range(4)] + [f"B{n}" for n in range(4)]] * 2

# %%
figure, axes = plt.subplots(2, 1, figsize=(7, 3.6), sharex=True, layout="constrained")
one = [(s, t, 4 * a, 4 * b) for s, t, a, b in clock(naive)]
draw_timeline(axes[0], one, "One batch: a stage waits half of the time")
draw_timeline(axes[1], clock(gpipe), "The same batch in four pieces: GPipe")
axes[1].set(xlabel="ticks")
show(figure, "Timelines of two stages: whole batch, 24 ticks, half idle; four pieces, 15 ticks.")

# %% [markdown]
# The white rest is the **bubble**. With $p$ stages and $m$ micro-batches, each of 3 ticks, a stage
# is busy for $3m$ ticks. The last stage begins $p - 1$ forwards late, and after its last backward
# the first stage still has $p - 1$ backwards to wait for. The whole takes $3(m + p - 1)$ ticks.
# Here: 15, of which 3 are idle.
#
# GPipe has a price. In the picture stage 0 runs its first backward after all four forwards. It
# keeps the activations of every micro-batch until then, so the memory grows with $m$. **1F1B**
# repairs this. A micro-batch goes back as soon as it can:
#
# 1. *warm-up*: stage $s$ (from 0) runs $p - s - 1$ forwards, just enough for the stages after it;
# 2. *steady*: one forward, one backward, and again, until there is no forward left;
# 3. *drain*: the backwards that remain.
#
# The invariant: stage $s$ never holds more than $p - s$ micro-batches. For two stages and four
# micro-batches stage 1 does `F0 B0 F1 B1 F2 B2 F3 B3`, and stage 0 does `F0 F1 B0 F2 B1 F3 B2 B3`.
# For comparison, a wrong version: without the warm-up, stage 0 does `F0 B0 F1 B1 …` too. It runs,
# and it waits for each micro-batch to return:

# %%
no_warm_up = [["F0", "B0", "F1", "B1", "F2", "B2", "F3", "B3"]] * 2
for name, schedules in (("GPipe", gpipe), ("no warm-up", no_warm_up)):
    print(f"{name:10} takes", max(end for *_, end in clock(schedules)), "ticks")

# %% [markdown]
# ### Exercise 18.5 — Two schedules ★★★ · 25 min · 4 points
#
# Write `pipeline(kind, stage, stages, micro_batches)`: the list of tasks of one stage, as texts like
# `"F0"` and `"B0"`, for any number of stages and micro-batches from 1. `kind` is `"gpipe"` or `"1f1b"`.
#
# - Each stage runs the forward and the backward of every micro-batch once.
# - All stages together take $3(m + p - 1)$ ticks by `clock`, no more.
# - `"gpipe"`: no backward before the last forward.
# - `"1f1b"`: stage $s$ never holds more than $p - s$ micro-batches (forward done, backward not yet).
#
# And write `bubble(stages, micro_batches)`: the share of the whole time in which a stage is idle, between
# 0 and 1. Example: `pipeline("1f1b", 0, 2, 4)` is the list for stage 0 above, and
# `bubble(2, 4)` is 3 / 15 = 0.2.


# %% nbgrader={"grade_id": "try-pipeline", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_pipeline(kind: str, stages: int, micro_batches: int) -> list | str:
    """Run the learner's schedules on real processes: from each rank its gradients, most held."""
    schedules = [list(pipeline(kind, stage, stages, micro_batches)) for stage in range(stages)]
    found = attempt(run_stage, stages, schedules)
    return found if isinstance(found, str) else [one[:2] for one in found]


@runs_with_the_answer
def try_schedules(cases: list) -> list:
    """The lists of all stages of each case, one after the other."""
    return in_time(pipeline, [(k, stage, p, m) for k, p, m in cases for stage in range(p)])


@runs_with_the_answer
def try_bubbles(cases: list) -> list:
    """The bubble of each case."""
    return in_time(bubble, cases)


# %% nbgrader={"grade_id": "pipeline", "solution": true}
def pipeline(kind: str, stage: int, stages: int, micro_batches: int) -> list[str]:
    """The tasks of one stage in order: "F0" is micro-batch 0's forward, "B0" its backward."""
    ### BEGIN SOLUTION
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks
    ### END SOLUTION


def bubble(stages: int, micro_batches: int) -> float:
    """The share of the time in which a stage is idle."""
    ### BEGIN SOLUTION
    return (stages - 1) / (micro_batches + stages - 1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "pipeline-check", "grade": true, "points": 3}
def check_cases(cases):
    found, place = try_schedules(cases), 0
    with every_case() as case:
        for kind, stages, micro_batches in cases:
            with case(f"{kind}, stages: {stages}, micro-batches: {micro_batches}"):
                check_schedules(found, place, clock, kind, stages, micro_batches)
            place += stages


sizes = [(2, 4), (4, 12), (3, 2), (4, 1), (6, 4), (1, 3), (3, 3), (7, 9)]
cases = [(kind, *size) for kind in ("gpipe", "1f1b") for size in sizes]
check_cases([*cases, ("1f1b", 2, 1500), *cases[:2], *cases[-2:]])  # some of them twice
with every_case() as case:
    for kind in ("gpipe", "1f1b"):
        with case(f"{kind}, run on 2 processes"):
            check_run(try_pipeline(kind, 2, 4), 2, 4)
### BEGIN HIDDEN TESTS
check_cases([("1f1b", 6, 13), ("gpipe", 5, 11), ("1f1b", 5, 4)])
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "pipeline-check-2", "grade": true, "points": 1}
def check_cases(cases):
    found = try_bubbles(cases)
    with every_case() as case:
        for place, (stages, micro_batches) in enumerate(cases):
            with case(f"{stages} stages, {micro_batches} micro-batches"):
                check_bubble(found, place, cases)


check_cases([(2, 4), (4, 8), (1, 3), (3, 1), (3, 3), (1, 1)])
### BEGIN HIDDEN TESTS
check_cases([(7, 5)])
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# GPipe's list does not depend on the stage. For 1F1B, count the forwards of the warm-up first; there
# can't be more of them than micro-batches.
# </details>
# <details><summary>Hint 2</summary>
#
# Go through the backwards, n = 0, 1, …: before each, run the next forward, if there is one left.
# GPipe is the same loop with a warm-up of all.
# </details>
#
# The library's schedules do the sending and receiving as well. The losses of the four micro-batches are
# known on the last stage only; their mean is the loss of the whole batch:


# %%
from torch.distributed.pipelining import PipelineStage, Schedule1F1B


def by_the_library(rank, world_size):
    modules = [make_stage(stage, 2, 4, 1) for stage in range(2)]
    x, y = random_like((8, 4), 1), random_like((8, 4), 2)
    expected = F.mse_loss(nn.Sequential(*modules)(x), y)
    whole = torch.autograd.grad(expected, modules[rank].parameters())
    stage = PipelineStage(modules[rank], rank, world_size, torch.device("cpu"))
    schedule, losses = Schedule1F1B(stage, 4, loss_fn=F.mse_loss), []
    schedule.step(
        *((x,) if rank == 0 else ()), **({} if rank == 0 else {"target": y, "losses": losses})
    )
    equal = [
        torch.allclose(p.grad, g, atol=1e-6)
        for p, g in zip(modules[rank].parameters(), whole, strict=True)
    ]
    return all(equal), len(losses)


# %%
found = on_ranks(by_the_library, 2)
assert all(equal for equal, _ in found)
print("gradients equal one process:", [e for e, _ in found], "losses known:", [n for _, n in found])

# %% [markdown]
# A schedule in ticks is a promise. By the clock GPipe and 1F1B take equally long:

# %%
one_f_one_b = [["F0", "F1", "B0", "F2", "B1", "F3", "B2", "B3"], no_warm_up[0]]
for name, schedules in (("GPipe", gpipe), ("1F1B", one_f_one_b)):
    ticks = max(end for *_, end in clock(schedules))
    print(f"{name:5} takes {ticks} ticks; a stage is busy for 12, idle {1 - 12 / ticks:.0%}")

# %% [markdown]
# And here both run on two real processes with four micro-batches. Each box is as long as its task took in
# the fastest of 24 rounds, so that a busy machine doesn't spoil the picture. `clock` puts the boxes in
# their places, as if sending took no time:

# %% tags=["nbval-ignore-output"]
figure, axes = plt.subplots(2, 1, figsize=(7, 3.6), sharex=True, layout="constrained")
for axis, name, schedules in zip(axes, ("GPipe", "1F1B"), (gpipe, one_f_one_b), strict=True):
    found = on_ranks(run_stage, 2, schedules, 256, 384, 4, 24)
    fastest = [tasks.items() for _, _, tasks in found]
    lengths = {(s, task): 1000 * time for s, tasks in enumerate(fastest) for task, time in tasks}
    rows = clock(schedules, lengths)
    idle = 1 - sum(lengths.values()) / 2 / max(end for *_, end in rows)
    draw_timeline(
        axis, rows, f"{name}: idle {idle:.0%}; held {[most for _, most, _ in found]} at most"
    )
axes[1].set(xlabel="milliseconds")
show(figure, "Timelines of GPipe and 1F1B from measured tasks; GPipe holds 4 and 4, 1F1B 2 and 1.")

# %% [markdown]
# Both take about as long. The milliseconds depend on your machine, and one thing doesn't. Read the titles:
# GPipe held four micro-batches on both stages, 1F1B two and one. 1F1B saves memory, not ticks. It is memory that lets you raise $m$, and
# that shrinks the bubble.
#
# ## 6. Save what no rank has whole · core
#
# With DDP, saving is simple, because every rank has everything: rank 0 writes, and the others wait at a
# barrier (chapter 17). Now the weights are sharded. **Predict:** what does rank 0 hold of a (7, 2) weight, on two ranks and on
# three?


# %% topics=["ddp-checkpointing"]
def make_state(world_size, full):
    mesh = init_device_mesh("cpu", (world_size,))
    return {"weight": distribute_tensor(full.clone(), mesh, [Shard(0)])}


def rows_of(rank, world_size):
    return make_state(world_size, torch.zeros(7, 2))["weight"].to_local().shape[0]


# %% topics=["ddp-checkpointing"]
print("rows on two ranks:  ", on_ranks(rows_of, 2))
print("rows on three ranks:", on_ranks(rows_of, 3))

# %% [markdown]
# Rank 0's file would hold four of seven rows, and they fit no rank of three. You could gather
# everything on rank 0, but the whole was too big for one rank: that's why we are here.
#
# `torch.distributed.checkpoint`, **DCP** for short, lets each rank write its own shards into one
# folder, and adds a table of contents: which rows of which tensor are in which file. On loading,
# each rank looks up the rows that *it* needs now. It loads **in place**: you hand it a state of the
# right shapes on the new ranks, and it fills it.


# %% topics=["ddp-checkpointing"]
def save(rank, world_size, folder):
    dcp.save(make_state(world_size, torch.arange(14.0).view(7, 2)), checkpoint_id=folder)
    return sorted(os.listdir(folder))


def load(rank, world_size, folder):
    state = make_state(world_size, torch.zeros(7, 2))
    dcp.load(state, checkpoint_id=folder)
    return state["weight"].to_local()[:, 0].tolist()


# %% topics=["ddp-checkpointing"]
with tempfile.TemporaryDirectory() as folder:
    print("written by two ranks:", on_ranks(save, 2, folder)[0])
    print("loaded by three, first column:", on_ranks(load, 3, folder))

# %% [markdown]
# The hidden file `.metadata` is the table of contents, and rank 0 writes it **last**, when all ranks have
# written their shards. That order is worth a lot. A folder without `.metadata` is a save that was killed in
# the middle.
#
# But suppose that you save into the *same* folder each time. Then a killed save leaves new shards under an
# old table of contents. **Predict** what the first column is, when a save of sevens over a save of ones
# is killed before `.metadata`:


# %%
def save_over(rank, world_size, folder):
    dcp.save(make_state(world_size, torch.full((7, 2), 1.0)), checkpoint_id=folder)
    dcp.FileSystemWriter.finish = lambda *_, **__: os._exit(1)  # dies before .metadata
    dcp.save(make_state(world_size, torch.full((7, 2), 7.0)), checkpoint_id=folder)


# %%
with tempfile.TemporaryDirectory() as folder:
    words = attempt(save_over, 2, folder)
    print("the save failed:", "failed" in words or "ended" in words)
    print("then loaded:", on_ranks(load, 2, folder))

# %% [markdown]
# Sevens, from a save that was never completed. This time at least every row is a seven. Had rank 1 died
# a moment earlier, you would have loaded a mixture of two models, without any error. Give each save a
# separate folder.
#
# A training needs its optimizer as well, and Adam numbers its states by position, which doesn't survive
# another way of sharding. `get_state_dict` names them like the parameters, and `set_state_dict` puts them
# back. And `dcp.async_save` copies the state first and writes it in the background, so that training
# continues at once. The ranks agree on the files meanwhile, in a second group: in the training's own
# group, their messages would get mixed up with the gradients. Below, a step changes the weights while the save is written. **Predict:** does the
# checkpoint notice?


# %%
def start(world_size):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    fully_shard(model, mesh=init_device_mesh("cpu", (world_size,)))
    return model, torch.optim.AdamW(model.parameters(), lr=0.1)


def one_step(model, adam):
    model(torch.ones(3, 4)).sum().backward()
    adam.step()
    adam.zero_grad()
    return round(model[0].weight.full_tensor().sum().item(), 4)


# %%
def save_in_the_background(rank, world_size, folder):
    model, adam = start(world_size)
    one_step(model, adam)
    weights, moments = get_state_dict(model, adam)
    group, state = dist.new_group(), {"model": weights, "adam": moments}
    saving = dcp.async_save(state, checkpoint_id=folder, process_group=group)
    second = one_step(model, adam)  # while it is written
    saving.result()  # wait until the save is complete
    return second


def resume(rank, world_size, folder):
    model, adam = start(world_size)
    weights, moments = get_state_dict(model, adam)
    dcp.load({"model": weights, "adam": moments}, checkpoint_id=folder)
    set_state_dict(model, adam, model_state_dict=weights, optim_state_dict=moments)
    return one_step(model, adam)


# %%
with tempfile.TemporaryDirectory() as folder:
    print("step 2 on two ranks:            ", on_ranks(save_in_the_background, 2, folder))
    print("step 2 again, resumed on three: ", on_ranks(resume, 3, folder))

# %% [markdown]
# It doesn't: the resumed job takes step 2 from the weights and moments after step 1, with the same
# result. Don't begin the next save before the last one is complete, and count a save only then.
#
# ### Exercise 18.6 — A sharded checkpoint ★★ · 20 min · 3 points · core
#
# Write two functions that save and load a sharded state. Both run on all ranks of a ready group. `state` is a dict of tensors and
# DTensors, `folder` a path that may not exist yet, and holds nothing but what you put there.
#
# - `sharded_checkpoint(folder, step, state)` saves `state` under this step (an `int` from 0) with
#   `dcp.save`. No rank has room for a whole DTensor.
# - `newest_checkpoint(folder, state)` fills `state`, in place, from the **highest** step whose save
#   was completed, with `dcp.load`, and returns this step. If there is none, it returns -1 and
#   leaves `state` alone. The number of ranks may differ from that at the save.
#
# A save that is killed at any moment must not spoil what was saved under other steps, and its step
# may be saved once more. `state` keeps its entries: add none to the caller's dict. The system lists
# a folder's entries in any order.
#
# Example: steps 9 and 10 are saved by two ranks, then a save of step 11 is killed. On three ranks,
# `newest_checkpoint` fills `state` with step 10 and returns 10.


# %% nbgrader={"grade_id": "try-sharded-checkpoint", "locked": true}
@runs_with_the_answer
def try_checkpoint(save_ranks: int, steps: list, killed_in: str, load_ranks: int) -> tuple | str:
    """Save under these steps, the last ones killed perhaps; from each new rank what it loads."""
    mine = sharded_checkpoint, newest_checkpoint
    return checkpoint_trial(*mine, save_ranks, steps, killed_in, load_ranks)


# %% nbgrader={"grade_id": "sharded-checkpoint", "solution": true}
def sharded_checkpoint(folder: str, step: int, state: dict) -> None:
    """Save ``state`` under this step, so that a kill spoils no other step."""
    ### BEGIN SOLUTION
    dcp.save(state, checkpoint_id=Path(folder) / str(step))
    ### END SOLUTION


def newest_checkpoint(folder: str, state: dict) -> int:
    """Fill ``state`` from the highest completed step and return it; -1 if there is none."""
    ### BEGIN SOLUTION
    step = max((int(p.parent.name) for p in Path(folder).glob("*/.metadata")), default=-1)
    if step >= 0:
        dcp.load(state, checkpoint_id=Path(folder) / str(step))
    return step
    ### END SOLUTION


# %% nbgrader={"grade_id": "sharded-checkpoint-check", "grade": true, "points": 3}
def check_case(*job):
    check_checkpoint(try_checkpoint(*job), *job)


with every_case() as case:
    with case("nothing was saved"):
        check_case(2, [], "", 2)
    with case("the only save was killed"):
        check_case(2, [3], "table", 2)
    with case("steps 8, 9 and 10 by 2 ranks, loaded by 3"):
        check_case(2, [8, 9, 10], "", 3)
    with case("after step 0, step 1 is killed before its table of contents, loaded by 1"):
        check_case(2, [0, 1], "table", 1)
    with case("steps 3, 5 and 4, then step 6 is killed while the shards are written"):
        check_case(2, [3, 5, 4, 6], "shards", 2)
    with case("after steps 3 and 4, the saves of 6 and 7 are both killed"):
        check_case(1, [3, 4, 6, 7], "twice", 1)
    with case("steps 13, 22, 15 and 17"):
        check_case(1, [13, 22, 15, 17], "", 2)
    with case("steps 10, 50, 999999 and 1000000"):
        check_case(1, [10, 50, 999_999, 1_000_000], "", 1)
    with case("step 6 is killed before its table of contents, and saved once more"):
        check_case(2, [4, 6], "once", 2)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("the only save was killed while the shards were written"):
        check_case(2, [12], "shards", 3)
    with case("step 0 alone"):
        check_case(3, [0], "", 2)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Name the folder of a save after its step. Which file tells that it was completed?
# </details>
# <details><summary>Hint 2</summary>
#
# `Path(folder).glob("*/.metadata")` finds the completed ones; it finds nothing if `folder` doesn't exist.
# Turn the names into `int` before you take the maximum. Step 0 is a step.
# </details>
#
# ## 7. When a worker dies · optional
#
# A checkpoint makes a restart possible. Who restarts? Llama 3's training on 16 384 GPUs had 419
# unplanned interruptions in 54 days: one every three hours. On a thousand devices that is about one in two
# days. And one dead rank stops all: the others wait for it in a collective. **`torchrun`** starts the
# workers and watches them. When one fails, it stops the rest and restarts *all* of them, up to
# `--max-restarts` times.
#
# Here is a worker so small that it needs no torch. Its "model" is a number, counted up to 6. Before each
# count the two wait for each other, as in a collective. Worker 1 dies at 3, once. **Predict:** from
# what number does each of them continue?

# %% topics=["torchelastic", "launch-vs-torchrun"]
worker = """
import json, os, pathlib, sys, time
rank, attempt = int(os.environ["LOCAL_RANK"]), os.environ["TORCHELASTIC_RESTART_COUNT"]
folder = pathlib.Path(sys.argv[1])
file, part = folder / f"{rank}.json", folder / f"{rank}.part"
number = json.loads(file.read_text()) if file.exists() else 0
with open(folder / f"{rank}.log", "a") as log:
    size = os.environ["WORLD_SIZE"]
    print(f"attempt {attempt}, worker {rank} of {size} begins at {number}", file=log)

def wait_for(other):
    while not (folder / f"{other} at {number}").exists():
        time.sleep(0.01)

while number < 6:
    if number == 3 and rank == 1 and attempt == "0":
        wait_for(0)
        sys.exit("I die")
    (folder / f"{rank} at {number}").touch()
    wait_for(1 - rank)
    number += 1
    part.write_text(json.dumps(number))
    part.replace(file)  # all or nothing
"""

# %% topics=["torchelastic", "launch-vs-torchrun"]
import subprocess
import sys

with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "worker.py").write_text(worker)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    options = ["--local-addr=127.0.0.1", "--max-restarts=1", "--monitor-interval=0.1"]
    done = subprocess.run([*torchrun, *options, f"{folder}/worker.py", folder], capture_output=True)
    print("torchrun ended with", done.returncode)
    for rank in range(2):
        print((Path(folder) / f"{rank}.log").read_text(), end="")

# %% [markdown]
# Both continue from 3. Worker 0 was fine, but it waited for the other, and `torchrun` restarted it
# as well. A worker finds its place in environment variables: `LOCAL_RANK`, `RANK`, `WORLD_SIZE`,
# and `TORCHELASTIC_RESTART_COUNT`. This is all that `torchrun` does for you. It does not know what
# a model is; **what to save and where to resume is your part**.
#
# > **Then and now.** *"For fault-tolerant training, install TorchElastic, and launch by
# > `torch.distributed.launch`."* TorchElastic became `torch.distributed.elastic`, and `torchrun` is
# > its front door. Chapter 17 shows why the old launcher breaks old scripts.
#
# What must a checkpoint hold, so that the job ends with **the same weights** as the undisturbed
# one? All that the next step depends on: the model, the optimizer's state, the number of the next
# step (it decides about batch, learning rate, random numbers). Leave out the momentum, and nothing
# fails:


# %%
def descend(forget_at=None):
    w, momentum = 1.0, 0.0
    for step in range(6):
        momentum = (0.0 if step == forget_at else 0.9 * momentum) + w  # the gradient of w ** 2 / 2
        w -= 0.1 * momentum
    return round(w, 4)


# %%
print("undisturbed:", descend(), "| resumed without the momentum:", descend(forget_at=3))

# %%
ways = {
    "no checkpoint": [*range(8), *range(11)],
    "checkpoint every 3 steps": [*range(8), *range(6, 11)],
    "undisturbed": [*range(11)],
}

# %%
figure, axes = plt.subplots(figsize=(7, 2.8))
for (name, steps), colour in zip(ways.items(), ("#d55e00", "#0072b2", "#555555"), strict=True):
    axes.plot(range(1, len(steps) + 1), steps, "o-", ms=4, label=name, color=colour)
axes.set(
    xlabel="steps computed", ylabel="step of the training", title="A death in step 8 of 0 to 10"
)
axes.set_xticks(range(1, 20, 2))
axes.legend(loc="upper left", fontsize=8)
show(figure, "Progress over work: 11 steps undisturbed, 13 with checkpoints, 19 from the start.")

# %% [markdown]
# A death costs the steps since the last save, here two (6 and 7). And the save itself may be killed:
# `torch.save` writes for a while. Write into another file, then rename it with `os.replace`, which happens all
# at once or not at all, as the worker above did.
#
# ### Exercise 18.7 — Elastic ★★★ · 25 min · 4 points
#
# Write `elastic(training, folder, rank, steps, every)`: a training that deaths don't spoil. It runs on every
# rank each time the job is started, perhaps once more after its end; `folder` is the same for all ranks and
# starts, exists, and is empty at first.
#
# - `training.model` and `training.optimizer` (SGD with momentum) are new at each start, equal on all
#   ranks. `training.run(step)` is one whole step on all ranks: the backward pass, the mean of the
#   gradients, `optimizer.step()`. Its batch depends on `step` and rank alone. Run each of the steps
#   0, …, `steps` - 1.
# - After every `every` steps (that is, after step `every` - 1, 2 `every` - 1, …) **rank 0 alone** saves with
#   `torch.save`, and at no other time. One save may be one file or several, so one call of `torch.save`
#   or more; it is completed when a restart can use all of it. A restarted rank resumes after the last
#   completed save.
# - A rank can die in any `run`, and rank 0 in any `torch.save`. After the restart the job must end with
#   the same weights as the undisturbed one.
#
# Example: `steps=8, every=3`, a death in step 5: the next start runs 3, 4, 5, 6, 7.


# %% nbgrader={"grade_id": "try-elastic", "locked": true}
@runs_with_the_answer
def try_elastic(steps: int, every: int, trouble: tuple) -> dict:
    """Start the job on two ranks, again when it fails: weights, steps of each start, savers."""
    return elastic_trial(elastic, steps, every, trouble)


# %% nbgrader={"grade_id": "elastic", "solution": true}
def elastic(training: "Training", folder: str, rank: int, steps: int, every: int) -> None:
    """Train for ``steps`` steps on all ranks; resume after the last completed save."""
    ### BEGIN SOLUTION
    file, first = Path(folder) / "newest.pt", 0
    if file.exists():
        saved = torch.load(file)
        training.model.load_state_dict(saved["model"])
        training.optimizer.load_state_dict(saved["optimizer"])
        first = saved["next"]
    for step in range(first, steps):
        training.run(step)
        if rank == 0 and (step + 1) % every == 0:
            model, optimizer = training.model.state_dict(), training.optimizer.state_dict()
            part = file.with_suffix(".part")
            torch.save({"model": model, "optimizer": optimizer, "next": step + 1}, part)
            os.replace(part, file)
    ### END SOLUTION


# %% nbgrader={"grade_id": "elastic-check", "grade": true, "points": 4}
def check_case(*job):
    check_elastic(try_elastic(*job), *job)


jobs = [
    ("undisturbed", 8, 3, ("",)),
    ("rank 1 dies in step 5", 8, 3, ("run", 5, 1)),
    ("rank 0 dies in the middle of the third save", 10, 3, ("save", 3, "first")),
    ("rank 0 dies in the last torch.save of the third save", 10, 3, ("save", 3, "last")),
    ("undisturbed", 6, 3, ("",)),
    ("rank 0 dies in the middle of the first save", 6, 3, ("save", 1, "first")),
    ("rank 1 dies in step 103", 104, 2, ("run", 103, 1)),
    ("rank 1 dies in step 5, and in step 7 after the restart", 8, 2, ("run", 5, 1, 7)),
    ("started once more after the end", 6, 3, ("done",)),
]
with every_case() as case:
    for words, *job in jobs:
        with case(f"{job[0]} steps, a save every {job[1]}, {words}"):
            check_case(*job)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("5 steps, a save every 2, rank 0 dies in step 1, before any save"):
        check_case(5, 2, ("run", 1, 0))
    with case("4 steps, a save after each, rank 0 dies in step 3"):
        check_case(4, 1, ("run", 3, 0))
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Save three things: the model's state, the optimizer's state, and the number of the **next** step.
# </details>
# <details><summary>Hint 2</summary>
#
# At the start, on all ranks: if the file is there, load it and begin at its number. In the loop, after
# `run(step)`: does `every` divide `step + 1`?
# </details>
# <details><summary>Hint 3</summary>
#
# Rank 0 saves to a second name in `folder`, then `os.replace(second, first)`.
# </details>
#
# ## 8. Choose the layout · core
#
# Each way has its price. Put together, for one rank of $W$ and $P$ parameters of 4 bytes:
#
# | layout | bytes on a rank, without activations | bytes sent a step |
# | --- | --- | --- |
# | `"DDP"` | $16 P$ | $2 \cdot 4P (W-1)/W$ |
# | `"stage 1"` | $8 P + 8 S$ | the same |
# | `"stage 2"` | $4 P + 12 S$ | the same |
# | `"stage 3"` | $16 S + 8 L$ | $3 \cdot 4P (W-1)/W$ |
#
# $S = \lceil P / W \rceil$ is the size of a shard. $L$ counts the parameters of the largest layer; stage 3
# needs room for two whole layers, the one that computes and the one that is prefetched. Whatever memory is
# left takes the activations: the more samples a rank computes at a time, the more of them share one
# transfer. More sharding can be *faster*, although it sends more. This is how long a step takes for each
# sample **without overlap**, that is, if sending and computing take turns. Prefetching hides a part of the
# sending, so a real step may be shorter:


# %% nbgrader={"grade_id": "cost-model", "locked": true}
def seconds_per_sample(layout: str, samples: int, job: dict) -> float:
    """A step's time on a rank for each of its samples: computing and sending, without overlap."""
    share = (job["world_size"] - 1) / job["world_size"]
    sent = (3 if layout == "stage 3" else 2) * 4 * job["parameters"] * share
    return job["seconds"] + sent / job["bandwidth"] / samples


# %%
job = {"parameters": 1000, "largest": 250, "sample": 500, "batch": 32, "world_size": 4}
job |= {"budget": 8_500, "bandwidth": 10_000, "seconds": 0.01}
print(f"stage 2, 3 samples at a time: {seconds_per_sample('stage 2', 3, job):.4f} s a sample")
print(f"stage 3, 5 samples at a time: {seconds_per_sample('stage 3', 5, job):.4f} s a sample")

# %% [markdown]
# ### Exercise 18.8 — The plan ★★ · 20 min · 3 points · core
#
# Write `plan(job)`, which chooses the fastest layout that a budget has room for. `job` is a dict as above:
# `parameters` ($P$), `largest` ($L$), `sample` (bytes of one sample's activations), `batch` (the most samples
# that a rank may take at a time), `world_size` ($W$), `budget` (bytes of one rank), all of them `int`s from 1 of
# at most 15 digits (`batch` of at most 6; `budget` may be 0), and what `seconds_per_sample` needs. It stays as
# it is. Return `(layout, samples)`, a string and an `int`:
#
# - of all layouts, and all whole numbers of samples from 1 to `batch` that fit into the budget (exactly full
#   fits), those with the fewest seconds a sample;
# - if several need the same, the layout that is higher in the table, with the most samples.
#
# If nothing fits, return `None`.
#
# Example: in the job above DDP doesn't fit at all. Stage 2 takes 7 000 bytes and leaves room for 3
# samples; stage 3 takes 4 000 + 2 000, room for 5. The plan is `("stage 3", 5)`. With a budget of a
# million all four take the whole batch, and the plan is `("DDP", 32)`.


# %% nbgrader={"grade_id": "try-plan", "locked": true}
@runs_with_the_answer
def try_plan(job: dict) -> tuple:
    """The plan, and the job as it is afterwards."""
    return plan(job), job


# %% nbgrader={"grade_id": "plan", "solution": true}
def plan(job: dict) -> tuple[str, int] | None:
    """The fastest layout that fits, and its number of samples; None if nothing fits."""
    ### BEGIN SOLUTION
    whole, largest = job["parameters"], job["largest"]
    shard = -(-whole // job["world_size"])
    need = {
        "DDP": 16 * whole,
        "stage 1": 8 * whole + 8 * shard,
        "stage 2": 4 * whole + 12 * shard,
        "stage 3": 16 * shard + 8 * largest,
    }
    room = {layout: (job["budget"] - taken) // job["sample"] for layout, taken in need.items()}
    fits = [(layout, min(most, job["batch"])) for layout, most in room.items() if most >= 1]
    return min(fits, key=lambda one: seconds_per_sample(*one, job), default=None)
    ### END SOLUTION


# %% nbgrader={"grade_id": "plan-check", "grade": true, "points": 3}
def check_case(right, slips=None, **changes):
    job = {"parameters": 1000, "largest": 250, "sample": 500, "batch": 32, "world_size": 4}
    job |= {"budget": 8_500, "bandwidth": 10_000, "seconds": 0.01, **changes}
    found, after = try_plan(dict(job))
    of = f"for the example's job with {changes}" if changes else "for the example's job"
    assert after == job, f"`job` was changed: it is the caller's dict; {of}"
    empty = found is None and right is not None
    assert not empty, f"it is None, but {right[0]} fits: is there an answer yet? {of}"
    found = tuple(found) if isinstance(found, list) else found
    why = why_not(found, right, job, seconds_per_sample, slips)
    assert found == right and not why, f"the plan is not {found!r}: {why}; {of}"


first, gathered = (
    "the first layout that fits is not always the fastest",
    "stage 3 gathers two layers",
)
capped, fits = "a rank takes at most `batch` samples", "it does not fit into the budget"
with every_case() as case:
    with case("the example"):
        check_case(("stage 3", 5), {("stage 2", 3): first, ("stage 3", 9): gathered})
    with case("twice the room"):
        known = {("DDP", 2): first, ("stage 3", 22): "the most samples, and more traffic"}
        check_case(("stage 2", 20), known | {("stage 3", 26): gathered}, budget=17_000)
    with case("much room"):
        known = {("stage 3", 32): "of equals, take the upper one", ("DDP", 1968): capped}
        check_case(("DDP", 32), known, budget=10**6)
    with case("one rank: nothing is sent"):
        known = {("DDP", 1): "of equals, take the most samples"}
        check_case(("DDP", 2), known, world_size=1, budget=17_000)
    with case("one rank, and a byte too little"):
        check_case(None, {("DDP", 1): fits}, world_size=1, budget=16_499)
    with case("room for one sample from stage 1 on"):
        known = {("stage 3", 1): "stage 3 sends more for the same sample", ("DDP", 1): fits}
        known[("stage 2", 1)] = "of equals, take the upper one"
        check_case(("stage 1", 1), known, sample=6_500, budget=17_000)
    with case("a world of two"):
        known = {("stage 2", 10): "a shard has ⌈P / W⌉ numbers, and W is 2 here"}
        check_case(("stage 2", 4), known, world_size=2, budget=12_000)
    with case("stage 3 with one layer more"):
        check_case(("stage 3", 2), {("stage 3", 4): gathered}, budget=7_000)
    with case("nothing fits"):
        check_case(None, {("stage 3", 0): "no samples are no plan"}, budget=6_499)
    with case("a budget of 0: nothing fits"):
        check_case(None, budget=0)
    with case("exactly one sample"):
        check_case(("stage 3", 1), budget=6_500)
    with case("room for the whole batch from stage 2 on"):
        known = {("stage 3", 32): "the most samples, and more traffic", ("stage 2", 34): capped}
        check_case(("stage 2", 32), known, budget=24_000)
    with case("7 ranks: 1000 / 7 is rounded up"):
        known = {("stage 3", 1): "a shard is rounded up, so it doesn't fit"}
        check_case(None, known, world_size=7, budget=4_787)
    with case("two layouts with the same seconds"):
        known = {("stage 2", 2): "of equals, take the upper one, also if it is exactly full"}
        check_case(("stage 1", 2), known, budget=17_000, sample=3_500, largest=1_000)
    with case("a byte less: stage 1 has room for one sample"):
        known = {("stage 1", 2): fits}
        check_case(("stage 2", 2), known, budget=16_999, sample=3_500, largest=1_000)
    with case("stage 2 with 2 samples and stage 3 with 3 take the same time"):
        known = {("stage 3", 3): "of equals, take the upper one"}
        check_case(("stage 2", 2), known, budget=8_000, largest=312, bandwidth=3_000)
    with case("six ranks"):
        check_case(("stage 3", 7), world_size=6)
    with case("seconds that differ in the tenth digit"):
        known = {("stage 2", 20_000): "the seconds are not equal: compare all their digits"}
        large = {"parameters": 10**9, "largest": 249_987_500, "sample": 10**5, "batch": 10**5}
        large |= {"budget": 9 * 10**9, "bandwidth": 10**10, "seconds": 10.0}
        check_case(("stage 3", 30_001), known, **large)
    with case("seconds that are all far below a microsecond"):
        large |= {"bandwidth": 10**15, "seconds": 1e-7}
        check_case(("stage 3", 30_001), known, **large)
### BEGIN HIDDEN TESTS
import random

with every_case() as case:
    for number in range(30):
        draw = random.Random(number)
        job = {
            "parameters": draw.randint(500, 2000),
            "largest": draw.randint(50, 900),
            "sample": draw.choice((100, 900, 4000)),
            "batch": draw.randint(1, 40),
            "world_size": draw.randint(1, 9),
            "budget": draw.randint(4000, 40_000),
            "bandwidth": draw.choice((100, 10_000, 10**6)),
        }
        whole, shard = job["parameters"], -(-job["parameters"] // job["world_size"])
        need = [16 * whole, 8 * whole + 8 * shard, 4 * whole + 12 * shard]
        need.append(16 * shard + 8 * job["largest"])
        names = ("DDP", "stage 1", "stage 2", "stage 3")
        room = [min((job["budget"] - n) // job["sample"], job["batch"]) for n in need]
        plans = [one for one in zip(names, room, strict=True) if one[1] >= 1]
        with case(f"drawn job {number}"):
            costs = [seconds_per_sample(*one, {**job, "seconds": 0.01}) for one in plans]
            check_case(plans[costs.index(min(costs))] if plans else None, **job)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For each layout, take its bytes from the budget and divide what is left by `sample`, rounding
# down; `batch` is the upper limit. More samples are never slower, so only this largest number counts.
# </details>
# <details><summary>Hint 2</summary>
#
# Drop the layouts without room for one sample. `min(…, key=…, default=None)` takes the first of
# equals, and None from an empty list.
# </details>

# %% [markdown]
# Does the plan hold? Here it is for four budgets, and the layout it chose **run** on four processes, with
# the measuring function of section 1. The state is measured; the activations (and the layers at work in
# stage 3) are what the job assumes. Where your `plan` isn't solved yet, a ready-made plan is used.

# %%
small = {
    "parameters": 8 * 64**2,
    "largest": 64**2,
    "sample": 1000,
    "batch": 64,
    "world_size": 4,
    "bandwidth": 10**7,
    "seconds": 0.001,
}
table = {
    200_000: ("stage 3", 36),
    300_000: ("stage 2", 64),
    400_000: ("stage 1", 64),
    600_000: ("DDP", 64),
}

# %%
bars = []
for budget, ready in table.items():
    try:
        layout, samples = plan({**small, "budget": budget}) or ready
    except Exception:
        layout, samples = ready
    used = sum(on_ranks(measure, 4, layout, 64, 8)[0])
    used += 8 * small["largest"] if layout == "stage 3" else 0
    bars.append((budget, f"{layout}, {samples} samples", used, samples * small["sample"]))
    free = budget - used - samples * small["sample"]
    print(f"{budget:,} bytes: {bars[-1][1]} at a time; state {used:,}, left over {free:,}")

# %%
figure, axes = plt.subplots(figsize=(7, 2.8))
for line, (budget, _, used, activations) in enumerate(bars):
    axes.barh(line, used / 1000, color="#0072b2", label="state" if line == 0 else None)
    label = "activations, assumed" if line == 0 else None
    axes.barh(line, activations / 1000, left=used / 1000, color="#e69f00", label=label)
    axes.plot([budget / 1000] * 2, [line - 0.45, line + 0.45], color="black", lw=3)
axes.set(
    yticks=range(4), yticklabels=[name for _, name, *_ in bars], xlabel="thousand bytes on a rank"
)
axes.set(title="The plan for four budgets (black marks)")
axes.invert_yaxis()
axes.legend(loc="upper right")
show(
    figure,
    "Four budgets as black marks; for each, the planned layout's state and activations stay below.",
)

# %% [markdown]
# The more memory there is, the less gets sharded. That's the rule of thumb in one picture: **shard
# as little as you must**, and when the batch fits, stop. Where even stage 3 leaves no room because one
# *layer* is too big, or a batch too small to divide, turn to section 4, inside a machine; between
# machines with a slow network, to section 5.
#
# ## What to take home
#
# | what doesn't fit | cut | each step sends | watch out for |
# | --- | --- | --- | --- |
# | Adam's moments | stage 1 | as DDP | whole tensors divide badly |
# | gradients | stage 2 | as DDP | with accumulation, a reduce-scatter for each pass |
# | parameters | stage 3: `fully_shard` | half as much again | each block, then the model; optimizer last |
# | one layer | tensor parallel | activations, once in each MLP and pass | fast links only |
# | the stack, slow network | pipeline | activations at the borders | the bubble: many micro-batches |
# | the checkpoint | `torch.distributed.checkpoint` | nothing | a folder for each save |
#
# **Three mistakes to remember**
#
# 1. Sharding the model and expecting the activations to shrink. Take fewer samples, or checkpoint
#    activations.
# 2. Making the optimizer before `fully_shard`: the loss stays where it is, without an error. Or sharding
#    each block and not the model: nothing is freed, without an error.
# 3. Saving the model without the optimizer, or over the last checkpoint. You notice on the day of the
#    crash.
#
# **Read more.** *ZeRO: Memory Optimizations Toward Training Trillion Parameter Models* has the three
# stages, *Megatron-LM* the two operations of section 4, *GPipe* and *PipeDream* the two schedules. In
# the PyTorch documentation: `torch.distributed.fsdp.fully_shard`, *Tensor Parallelism*, *Pipeline
# Parallelism*, *Distributed Checkpoint*, and *torchrun (Elastic Launch)*.
