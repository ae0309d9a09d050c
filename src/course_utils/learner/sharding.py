"""What chapter 18 tries its exercises with: small jobs on several processes, and their checks.

Functions named ``check_…`` compare what came back from the ranks with one process's own result, and
say which known slip an answer shows. The others run inside the ranks.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode
from torch.multiprocessing.reductions import StorageWeakRef

from course_utils.learner.checks import check_close, check_equal
from course_utils.learner.gradients import grad_of
from course_utils.learner.launching import LaunchError, LaunchTimeout, launch
from course_utils.learner.tracebacks import ends_in_notebook


def local(tensor: torch.Tensor) -> torch.Tensor:
    """What this rank holds of a tensor."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def on_ranks(function: Callable, world_size: int, *args, timeout: float = 30) -> list:
    """``launch`` on the CPU, whatever this machine has."""
    return launch(function, world_size, *args, backend="gloo", timeout=timeout, quiet=True)


PATIENCE, AFTER_A_HANG = 12.0, 6.0
_patience = {"seconds": PATIENCE}


def attempt(function: Callable, world_size: int, *args) -> list | str:
    """What each rank returned, or the words of what went wrong.

    Where one job hung, the next one often does: it gets less time, so that a check of many cases
    comes to its end.
    """
    try:
        found = on_ranks(function, world_size, *args, timeout=_patience["seconds"])
    except LaunchError as error:
        hung = isinstance(error, LaunchTimeout)
        _patience["seconds"] = AFTER_A_HANG if hung else PATIENCE
        return _words_of(error)[:1500]
    _patience["seconds"] = PATIENCE
    return found


def _words_of(error: LaunchError) -> str:
    """What went wrong, without what differs from run to run: folders, and who else failed then."""
    words = str(error)
    failed = [r for kind in ("ended", "raised") for r in error.reports if r.status == kind]
    if failed and not isinstance(error, LaunchTimeout):
        failed[0].output = ""
        words = failed[0].tell().split("Traceback (most")[0].rstrip()
    words = words.replace("\n    in __torch_dispatch__", "")  # of the mode that counts collectives
    return re.sub(re.escape(tempfile.gettempdir()) + r"/\w+/?", "", words)


def draw_timeline(axes, rows, title):
    """One line a stage, one box a task: blue forward, orange backward."""
    last = max(end for *_, end in rows)
    for stage, task, start, end in rows:
        colour = "#56b4e9" if task[0] == "F" else "#e69f00"
        axes.barh(
            stage, end - start, left=start, height=0.8, color=colour, edgecolor="black", lw=0.6
        )
        if end - start > last / 40:
            axes.text((start + end) / 2, stage, task, ha="center", va="center", fontsize=8)
    axes.set(title=title, yticks=sorted({row[0] for row in rows}), ylabel="stage")
    axes.invert_yaxis()


def random_like(shape: tuple, *seeds: int) -> torch.Tensor:
    """Normal numbers, the same for the same seeds."""
    seed = sum((7919**place) * (number + 1) for place, number in enumerate(seeds))
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def train_sharded(rank, world_size, sharded_optimizer, shapes, steps, options):
    parameters = [nn.Parameter(random_like(s, n)) for n, s in enumerate(shapes)]
    mine = list(parameters)
    answer = sharded_optimizer(parameters, rank, world_size, dict(options))
    fits = isinstance(answer, (tuple, list)) and len(answer) == 2 and callable(answer[0])
    assert fits, f"it returned {answer!r}, not the pair (step, adam): is there an answer yet?"
    step, adam = answer
    is_adam = isinstance(adam, torch.optim.Optimizer)
    assert is_adam, f"the second result is of type {type(adam).__name__}, no optimizer"
    for number in range(steps):
        for n, parameter in enumerate(mine):
            parameter.grad = random_like(shapes[n], n, number, rank)
        step()
    values = [v for state in adam.state.values() for v in state.values()]
    numbers = sum(v.numel() for v in values if torch.is_tensor(v) and v.dim() > 0)
    return [parameter.detach().clone() for parameter in mine], numbers


ledger = {"gathers": 0, "scatters": 0, "most": 0}
still_alive: list = []


def gather_rows(shard: torch.Tensor) -> torch.Tensor:
    """The whole matrix, from the rows of every rank. It notes how many are alive."""
    rows, columns = shard.shape
    whole = torch.empty(rows * dist.get_world_size(), columns)
    dist.all_gather_into_tensor(whole, shard.detach().contiguous())
    still_alive.append(StorageWeakRef(whole.untyped_storage()))
    still_alive[:] = [matrix for matrix in still_alive if not matrix.expired()]
    ledger["gathers"] += 1
    ledger["most"] = max(ledger["most"], len(still_alive))
    return whole


def scatter_mean_rows(gradient: torch.Tensor) -> torch.Tensor:
    """This rank's rows of the mean of all ranks' gradients."""
    rows, columns = gradient.shape
    mine = torch.empty(rows // dist.get_world_size(), columns)
    dist.reduce_scatter_tensor(mine, gradient.detach().contiguous())
    ledger["scatters"] += 1
    return mine / dist.get_world_size()


def run_fully_sharded(rank, world_size, fully_sharded, sizes, batch, with_input):
    whole = [random_like((o, i), n) / i**0.5 for n, (o, i) in enumerate(sizes)]
    shards = [w.chunk(world_size)[rank].clone().requires_grad_() for w in whole]
    x = random_like((batch, sizes[0][1]), 50, rank).requires_grad_(with_input)
    with CommDebugMode() as traffic:
        result = _forward_and_backward(rank, fully_sharded, x, shards, batch, sizes)
    asked = ledger["gathers"] + ledger["scatters"]
    return *result, sum(traffic.get_comm_counts().values()) - asked


def _forward_and_backward(rank, fully_sharded, x, shards, batch, sizes):
    out = fully_sharded(x, shards)
    is_tensor = isinstance(out, torch.Tensor)
    assert is_tensor, f"fully_sharded returned {out!r}, no tensor: is there an answer yet?"
    forward = dict(ledger)
    assert tuple(out.shape) == (batch, sizes[-1][0]), (
        f"the result has shape {tuple(out.shape)}, expected {(batch, sizes[-1][0])}: "
        "each layer needs the whole matrix"
    )
    assert out.requires_grad, "the result has no graph: nothing leads back to the shards"
    (out * random_like(out.shape, 60, rank)).sum().backward()
    return out.detach(), [shard.grad for shard in shards], x.grad, forward, dict(ledger)


def mlp_parts(sizes: tuple) -> list[torch.Tensor]:
    """x, up, down and bias, whole."""
    batch, inner, hidden, outer = sizes
    shapes = [(batch, inner), (hidden, inner), (outer, hidden), (outer,)]
    return [random_like(shape, 80, n) for n, shape in enumerate(shapes)]


def run_tensor_parallel(rank, world_size, tensor_parallel, sizes):
    x, up, down, bias = mlp_parts(sizes)
    up, down = up.chunk(world_size)[rank].clone(), down.chunk(world_size, 1)[rank].clone()
    leaves = [t.requires_grad_() for t in (x, up, down, bias)]
    with CommDebugMode() as traffic:
        y = tensor_parallel(*leaves)
        is_tensor = isinstance(y, torch.Tensor)
        assert is_tensor, f"tensor_parallel returned {y!r}, no tensor: is there an answer yet?"
        forward = sum(traffic.get_comm_counts().values())
        assert tuple(y.shape) == (sizes[0], sizes[3]), f"y has shape {tuple(y.shape)}"
        assert y.requires_grad, "y has no graph: autograd can't go back from it"
        (y.full_tensor() if isinstance(y, DTensor) else y).mul(
            random_like(y.shape, 90)
        ).sum().backward()
        both = sum(traffic.get_comm_counts().values())
    grads = [None if leaf.grad is None else leaf.grad.clone() for leaf in leaves]
    kinds = {str(op).split(".")[-1].strip("_") for op in traffic.get_comm_counts()}
    others = sorted(kind for kind in kinds if "allreduce" not in kind.replace("_", ""))
    return local(y.detach()), grads, forward, both - forward, others


def make_stage(stage: int, stages: int, width: int, depth: int) -> nn.Module:
    torch.manual_seed(stage)
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.Tanh())]
    return nn.Sequential(*layers)


def run_stage(rank, world_size, schedules, size=2, width=4, depth=1, rounds=1):
    """Work off a schedule with a mean squared loss: gradients, most held, times of the tasks.

    Of several rounds the times are those of the shortest: the first one opens the connections, and
    the machine may be busy in some.
    """
    stage, shortest, fastest = make_stage(rank, world_size, width, depth), torch.inf, []
    for _ in range(rounds):
        stage.zero_grad()
        most, times = _work_off(stage, rank, world_size, schedules[rank], size, width)
        length = torch.tensor(times[-1][-1] if times else 0.0)
        dist.all_reduce(length, dist.ReduceOp.MAX)
        if length < shortest:
            shortest, fastest = length, times
    return [grad_of(p).clone() for p in stage.parameters()], most, fastest


def _work_off(stage, rank, world_size, tasks, size, width):
    pieces, last = len(tasks) // 2, rank == world_size - 1
    held, on_their_way, most, times = {}, [], 0, []

    def receive(source, number):
        tensor = torch.empty(size, width)
        dist.recv(tensor, source, tag=number)
        return tensor

    def send(tensor, goal, number):
        tensor = tensor.detach().contiguous()
        on_their_way.append((dist.isend(tensor, goal, tag=number), tensor))

    dist.barrier()
    begin = time.perf_counter()
    for task in tasks:
        number = int(task[1:])
        if task[0] == "F":
            h = receive(rank - 1, number) if rank else random_like((size, width), 40, number)
            start = time.perf_counter()
            out = stage(h.requires_grad_())
            if last:
                out = F.mse_loss(out, random_like((size, width), 41, number)) / pieces
            held[number] = h, out
            most = max(most, len(held))
        else:
            coming = None if last else receive(rank + 1, number)
            start = time.perf_counter()
            h, out = held.pop(number)
            out.backward(coming)
        times.append((rank, task, start - begin, time.perf_counter() - begin))
        if task[0] == "F" and not last:
            send(out, rank + 1, number)
        if task[0] == "B" and rank:
            send(h.grad, rank - 1, number)
    for work, _ in on_their_way:
        work.wait()
    return most, times


def state_of(world_size: int, value: float) -> dict:
    """A sharded weight (7, 2) whose numbers are value + 0, 1, 2, …, and a count on every rank."""
    full = value + torch.arange(14.0).view(7, 2)
    mesh = init_device_mesh("cpu", (world_size,))
    weight = distribute_tensor(full, mesh, [Shard(0)])
    return {"weight": weight, "count": torch.full((2,), value)}


def run_saves(rank, world_size, sharded_checkpoint, folder, steps, killed_in):
    whole_write = dcp.FileSystemWriter.write_data

    def write_and_die(self, *args, **options):
        done = whole_write(self, *args, **options)
        return os._exit(1) if rank == 1 else done

    for step in steps:
        if step == steps[-1] and killed_in == "shards":
            dcp.FileSystemWriter.write_data = write_and_die
        if step == steps[-1] and killed_in == "table":
            dcp.FileSystemWriter.finish = lambda *_, **__: os._exit(1)
        sharded_checkpoint(folder, step, state_of(world_size, 100.0 * step))


def run_load(rank, world_size, newest_checkpoint, folder):
    state = state_of(world_size, -1.0)
    held = dict(state)
    step = newest_checkpoint(folder, state)
    assert step is not None, "newest_checkpoint returned None, not a step: is there an answer yet?"
    in_place = all(state[name] is held[name] for name in held)
    return step, local(held["weight"]).clone(), held["count"].clone(), in_place


class Training:
    """A model, its optimizer and one step of training; it dies where it is told to."""

    def __init__(self, rank: int, world_size: int, start: int, trouble: tuple, log: Path) -> None:
        self.rank, self.world_size, self.start = rank, world_size, start
        self.trouble, self.log = trouble, log
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)

    def run(self, step: int) -> None:
        """One step on all ranks."""
        if self.start == 0 and self.trouble == ("run", step, self.rank):
            os._exit(1)
        step_of_training(self.model, self.optimizer, step, [self.rank], self.average)
        with open(self.log, "a") as file:
            file.write(f"{self.rank} run {self.start} {step}\n")

    def average(self, gradient: torch.Tensor) -> None:
        dist.all_reduce(gradient)
        gradient /= self.world_size


def step_of_training(model, optimizer, step, ranks, average):
    losses = []
    for rank in ranks:
        x = random_like((6, 3), step, rank)
        losses.append(F.mse_loss(model(x), x.sum(1, keepdim=True).sin()))
    optimizer.zero_grad()
    (sum(losses[1:], losses[0]) / len(losses)).backward()
    for parameter in model.parameters():
        average(parameter.grad)
    optimizer.step()


def run_elastic(rank, world_size, elastic, folder, log, start, steps, every, trouble):
    training, whole_save, saves = (
        Training(rank, world_size, start, trouble, Path(log)),
        torch.save,
        [],
    )

    def save(obj, f, *args, **options):
        saves.append(f)
        with open(log, "a") as notes:
            notes.write(f"{rank} save {start} 0\n")
        if start == 0 and trouble[0] == "save" and trouble[1] == len(saves):
            whole = io.BytesIO()
            whole_save(obj, whole)
            half = whole.getvalue()[: len(whole.getvalue()) // 2]
            f.write(half) if hasattr(f, "write") else Path(f).write_bytes(half)
            f.flush() if hasattr(f, "flush") else None
            os._exit(1)
        whole_save(obj, f, *args, **options)

    torch.save = save  # ty: ignore[invalid-assignment]  the answer calls this one
    elastic(training, folder, rank, steps, every)
    torch.save = whole_save  # pickling a tensor uses it too
    return [parameter.detach().clone() for parameter in training.model.parameters()]


def one_process(world_size, shapes, steps, options, combine, forgets=False):
    parameters = [nn.Parameter(random_like(s, n)) for n, s in enumerate(shapes)]
    adam = torch.optim.Adam(parameters, **options)
    for number in range(steps):
        for n, p in enumerate(parameters):
            p.grad = combine([random_like(shapes[n], n, number, r) for r in range(world_size)])
        if forgets:
            adam.state.clear()
        adam.step()
    return [p.detach() for p in parameters]


@ends_in_notebook
def check_sharded_optimizer(found, world_size, shapes, steps, options):
    assert not isinstance(found, str), found
    job = (world_size, shapes, steps, options)

    def mean(gradients):
        return sum(gradients) / world_size

    truth = one_process(*job, mean)
    slips = {
        "Adam got the sum of the gradients; divide by the world's size": one_process(*job, sum),
        "Adam's moments begin anew in each step; make one Adam, and keep its tensor": one_process(
            *job, mean, forgets=True
        ),
        "of `options` the learning rate alone got to Adam; hand on all of them": one_process(
            world_size, shapes, steps, {"lr": options["lr"]}, mean
        ),
    }
    same = [
        all(torch.equal(a, b) for a, b in zip(found[0][0], one[0], strict=True)) for one in found
    ]
    assert all(same), "the ranks end with different parameters: does each get the others' parts?"
    start = one_process(world_size, shapes, 0, options, sum)
    for n, (values, right) in enumerate(zip(found[0][0], truth, strict=True)):
        name = f"parameter {n} of shape {tuple(shapes[n])} after {steps} steps"
        assert not torch.equal(values, start[n]), f"{name} did not move: change it in place"
        for words, slip in slips.items():
            slipped = torch.allclose(values, slip[n], 1e-4, 1e-5)
            slipped = slipped and not torch.allclose(right, slip[n], 1e-4, 1e-5)
            assert not slipped, f"{name}: {words}"
        check_close(values, right, name, rtol=1e-4, atol=1e-5)
    most = 2 * -(-sum(torch.Size(s).numel() for s in shapes) // world_size)
    for rank, (_, numbers) in enumerate(found):
        words = f"rank {rank}'s Adam keeps {numbers} numbers, at most {most}"
        assert numbers <= most, words + ": cut through the tensors, don't deal them out whole"


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
                f"{others} collectives beside gather_rows and scatter_mean_rows: talk to the other "
                "ranks only through these two"
            )
        if forward["gathers"] < len(sizes):
            wrong.append("gather_rows was called less than once a layer in the forward pass")
        if end["most"] > 2:
            wrong.append(
                f"{end['most']} of {len(sizes)} whole matrices were alive at once: what holds "
                "them? An operator of autograd saves its operands; gather again in backward"
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


@ends_in_notebook
def check_tensor_parallel(found, world_size, sizes):
    assert not isinstance(found, str), found
    x, up, down, bias = (t.requires_grad_() for t in mlp_parts(sizes))
    truth, coefficients = F.gelu(x @ up.T) @ down.T + bias, random_like((sizes[0], sizes[3]), 90)
    expected = torch.autograd.grad((truth * coefficients).sum(), (x, up, down, bias))
    wrong = []
    for rank, (y, grads, forward, backward, others) in enumerate(found):
        if world_size > 1 and torch.allclose(y, truth + (world_size - 1) * bias, 1e-4, 1e-4):
            wrong.append(f"y holds the bias {world_size} times: add it after the sum")
        else:
            check_close(y, truth.detach(), f"rank {rank}'s y", rtol=1e-4, atol=1e-4)
        mine = (up.chunk(world_size)[rank], down.chunk(world_size, 1)[rank])
        part = (F.gelu(x @ mine[0].T) @ mine[1].T * coefficients).sum()
        own = torch.autograd.grad(part, x)[0]
        slices = [
            expected[0],
            expected[1].chunk(world_size)[rank],
            expected[2].chunk(world_size, 1)[rank],
        ]
        for name, grad, right in zip(
            ("x", "up", "down", "bias"), grads, [*slices, expected[3]], strict=True
        ):
            by_slip = own if name == "x" else None
            wrong.append(known_slip(f"{name}.grad", grad, right, world_size, by_slip))
        if (forward, backward) != (1, 1) and world_size > 1:
            wrong.append(f"{forward} collectives forward and {backward} backward, expected 1 and 1")
        if others and world_size > 1:
            wrong.append(f"{', '.join(others)} was called: the two collectives are all-reduces")
    wrong = [words for words in wrong if words]
    assert not wrong, some_of(wrong)


@ends_in_notebook
def check_schedules(pipeline, clock, kind, stages, micro_batches):
    schedules = []
    for stage in range(stages):
        what = f'pipeline("{kind}", {stage}, {stages}, {micro_batches})'
        tasks = pipeline(kind, stage, stages, micro_batches)
        assert tasks is not None, f"{what} is None: is there an answer yet?"
        assert isinstance(tasks, (list, tuple)), f"{what} is a {type(tasks).__name__}, not a list"
        texts = all(isinstance(task, str) for task in tasks)
        assert texts, f"{what} is {tasks!r}: each task is a text such as 'F0'"
        wanted = sorted(f"{letter}{n}" for letter in "FB" for n in range(micro_batches))
        missing = ", ".join(task for task in wanted if task not in tasks)
        extra = ", ".join(dict.fromkeys(t for t in tasks if tasks.count(t) > wanted.count(t)))
        once = f"{what} is {list(tasks)}: each micro-batch's F and B belongs there once"
        once += f"; missing: {missing}" if missing else ""
        once += f"; too many: {extra}" if extra else ""
        assert sorted(tasks) == wanted, once
        held = most = 0
        for task in tasks:
            held += 1 if task[0] == "F" else -1
            most = max(most, held)
        backwards_last = all(task[0] == "F" for task in tasks[:micro_batches])
        assert kind != "gpipe" or backwards_last, (
            f"{what} is {list(tasks)}: all forwards come first"
        )
        words = f"{what} holds {most} micro-batches, at most {stages - stage}: go back sooner"
        assert kind != "1f1b" or most <= stages - stage, words
        schedules.append(list(tasks))
    try:
        ticks = max(end for *_, end in clock(schedules))
    except ValueError as error:
        raise AssertionError(f"{schedules}: {error}") from None
    most = 3 * (micro_batches + stages - 1)
    reason = "a stage waits where it could compute; does the warm-up depend on the stage?"
    assert ticks <= most, f"{schedules} takes {ticks} ticks, at most {most}: {reason}"
    return schedules


@ends_in_notebook
def check_run(found, stages, micro_batches):
    assert not isinstance(found, str), found
    model = nn.Sequential(*[make_stage(stage, stages, 4, 1) for stage in range(stages)])
    x = torch.cat([random_like((2, 4), 40, n) for n in range(micro_batches)])
    F.mse_loss(
        model(x), torch.cat([random_like((2, 4), 41, n) for n in range(micro_batches)])
    ).backward()
    for stage, (grads, _) in enumerate(found):
        for grad, parameter in zip(grads, model[stage].parameters(), strict=True):
            check_close(
                grad, parameter.grad, f"the gradient on stage {stage}", rtol=1e-4, atol=1e-5
            )


@ends_in_notebook
def check_checkpoint(found, save_ranks, steps, killed_in, load_ranks):
    if isinstance(found, str) and " seconds rank" in found:
        found = "the ranks wait for each other; dcp.save and dcp.load are for all of them\n" + found
    elif isinstance(found, str) and killed_in and "CheckpointException" in found:
        found = (
            "loading fails after a killed save: take only a step that has .metadata (it can't be "
            f"caught as an Exception: CheckpointException is a BaseException)\n{found}"
        )
    assert not isinstance(found, str), found
    complete = steps[:-1] if killed_in else steps
    truth = max(complete, default=-1)
    full = (100.0 * truth if complete else -1.0) + torch.arange(14.0).view(7, 2)
    for rank, (step, weight, count, in_place) in enumerate(found):
        reason = ""
        if killed_in and step == steps[-1]:
            reason = ": that save was killed; complete is a folder of its own that has .metadata"
        elif complete and step == complete[-1] != truth:
            reason = ": the highest step counts, not the one saved last"
        elif step in complete:
            reason = ": compare steps as numbers, as texts '9' comes behind '10'"
        elif step == -1 and truth == 0:
            reason = ": 0 is a step as well"
        assert step == truth, f"the step on rank {rank} is {step}, expected {truth}{reason}"
        assert in_place, "an entry of state was replaced: dcp.load fills the tensors in place"
        mine = full.chunk(load_ranks)[rank]
        blank = (torch.arange(14.0).view(7, 2) - 1.0).chunk(load_ranks)[rank]
        assert not complete or not torch.equal(weight, blank), (
            f"rank {rank}'s weight holds what it held before: dcp.load must be handed the tensors "
            "of `state` itself, and fills them in place"
        )
        mixed = complete and not torch.equal(weight, mine) and killed_in
        assert not mixed, (
            f"rank {rank} loads numbers of the killed save: give each step its own folder"
        )
        check_close(weight, mine, f"rank {rank}'s rows of the weight")
        check_close(
            count, torch.full((2,), 100.0 * truth if complete else -1.0), f"rank {rank}'s count"
        )


def undisturbed(steps, resumed_at=None, repeated=False):
    """The weights; with a slip: momentum lost, or the last saved step run twice."""
    training = Training(0, 2, 0, ("",), Path())
    for step in range(steps):
        if step == resumed_at and not repeated:
            training.optimizer.state.clear()
        for _ in range(2 if repeated and step + 1 == resumed_at else 1):
            step_of_training(training.model, training.optimizer, step, [0, 1], lambda grad: None)
    return [parameter.detach() for parameter in training.model.parameters()]


def same(found, truth):
    return all(torch.allclose(a, b, 1e-4, 1e-5) for a, b in zip(found, truth, strict=True))


@ends_in_notebook
def check_elastic(found, steps, every, trouble):
    ran, weights = found["ran"], found["weights"]
    assert any(ran) or isinstance(weights, str), (
        "training.run was not called: is there an answer yet?"
    )
    if isinstance(weights, str):
        torn = trouble[0] == "save" and found["starts"] == 2
        reason = "the torn file was read: write beside it, then os.replace. " if torn else ""
        raise AssertionError(f"the job does not come to its end: {reason}{weights}")
    assert found["savers"] == ([0] if steps >= every else []) or not found["savers"], (
        f"ranks {found['savers']} called torch.save: rank 0 alone saves, after every {every} steps"
    )
    died = found["starts"] == 2
    if died:
        at = trouble[1] if trouble[0] == "run" else trouble[1] * every
        behind = at // every * every if trouble[0] == "run" else at - every
        first = ran[1][0] if ran[1] else steps
        again = f"the second start begins with step {first}, expected {behind}"
        assert first != 0 or behind == 0, f"{again}: it begins from scratch"
        assert first != behind - 1, f"{again}: the save already holds step {first}"
        assert first >= behind, f"{again}: is there a save after every {every} steps?"
        assert first <= (ran[0][-1] if ran[0] else -1) + 1, f"{again}: steps are left out"
    wanted = list(range(ran[-1][0] if died and ran[-1] else 0, steps))
    check_equal(ran[1] if died else ran[0], wanted, "the steps of the last start")
    truth = undisturbed(steps)
    apart = any(not same(values, weights[0]) for values in weights)
    assert not apart, (
        "the ranks end with different weights: after a restart every rank loads what was saved"
    )
    for rank, values in enumerate(weights):
        if died and ran[1] and not same(values, truth):
            lost = same(values, undisturbed(steps, ran[1][0]))
            assert not lost, (
                "the weights are those of a job that lost its momentum: save the optimizer"
            )
        for n, (value, right) in enumerate(zip(values, truth, strict=True)):
            check_close(
                value, right, f"parameter {n} on rank {rank} at the end", rtol=1e-4, atol=1e-5
            )


def checkpoint_trial(
    save, load, save_ranks: int, steps: list[int], killed_in: str, load_ranks: int
) -> list | str:
    """Save under these steps, the last one killed perhaps; from each new rank what it loads."""
    with tempfile.TemporaryDirectory() as folder:
        inside = str(Path(folder) / "checkpoints")
        if steps:
            words = attempt(run_saves, save_ranks, save, inside, steps, killed_in)
            if isinstance(words, str) and "exit status" not in words:
                return words
            if killed_in and not isinstance(words, str):
                return (
                    "no save of a shard by dcp.save was seen: is there an answer yet, and does it "
                    "save with dcp.save?"
                )
        return attempt(run_load, load_ranks, load, inside)


def elastic_trial(elastic, steps: int, every: int, trouble: tuple) -> dict:
    """Start the job on two ranks, again when it fails: weights, steps of each start, savers."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as beside:
        log = Path(beside) / "log"
        for start in range(2):
            found = attempt(run_elastic, 2, elastic, folder, str(log), start, steps, every, trouble)
            if not isinstance(found, str) or "exit status" not in found:
                break
        lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        ran = [
            [int(s) for r, w, n, s in lines if (r, w, n) == ("0", "run", str(k))] for k in (0, 1)
        ]
        savers = sorted({int(r) for r, w, *_ in lines if w == "save"})
        return {"weights": found, "ran": ran, "savers": savers, "starts": start + 1}
