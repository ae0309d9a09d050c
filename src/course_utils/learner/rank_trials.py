"""How the exercises of the chapter on distributed training are tried and judged.

For each there is a function ``run_…``, which a locked function of the notebook calls with the
learner's answer: it launches ranks and returns plain values. A function ``check_…`` compares these
with the truth that it works out by itself, in one process.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch._dynamo  # or each rank would load it for itself
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data.distributed import DistributedSampler

from course_utils.learner.checks import check_close, check_equal, every_case
from course_utils.learner.gradients import grad_of
from course_utils.learner.launching import LaunchError, launch
from course_utils.learner.ranks import count_traffic, rank_device
from course_utils.learner.tracebacks import ends_in_notebook

with count_traffic():
    torch.zeros(1).add(1)  # loads what each rank would have to load for itself


def launched(function, world_size, *args, timeout=10):
    """What each rank returned, or the words of what went wrong."""
    try:
        return launch(function, world_size, *args, timeout=timeout, quiet=True)
    except LaunchError as error:
        return str(error)


def stuck(function, world_size, *args, timeout=0.8):
    """The report on ranks that can't go on, whenever they have come to where they stand still.

    On a busy machine a rank may still be on its way when time is up: then it gets more.
    """
    for patience in (timeout, 4 * timeout, 16 * timeout):
        try:
            launch(function, world_size, *args, timeout=patience, quiet=True)
        except LaunchError as error:
            words = str(error)
            waiting = [r for r in error.reports if r.status == "waited"]
            places = [r.stack[-1] for r in waiting if r.stack]
            if len(waiting) == len(set(places) & STANDSTILLS):
                break  # each in a collective, and not all on their way through the same one
        else:
            return "every rank returned"
    return words


STANDSTILLS = {"all_reduce", "broadcast", "barrier", "send", "recv", "wait"}


def check_ran(found, world_size, what):
    """Refuse, in words, what did not return on every rank."""
    __tracebackhide__ = True
    if isinstance(found, str):
        if any(words in found for words in ("SIGABRT", "mismatch", "match expected size")):
            found = (
                "the ranks' collectives do not fit each other: do all ranks hand in the same "
                "sizes, in the same order?"
            )
        raise AssertionError(f"{what} on {world_size} ranks: {found}")


def run_collectives(answer, world_size: int, cases: list) -> list | str:
    """For each rank and case: the result, whether x is as before, and the calls that were made."""

    def work(rank, world_size):
        found = []
        for kind, tensors, root in cases:
            print(f"{kind}, shape {tuple(tensors[rank].shape)}, root {root}")
            x = tensors[rank].to(rank_device())
            before = x.clone()
            with count_traffic() as traffic:
                y = answer(kind, x, root)
            y = y.cpu() if isinstance(y, torch.Tensor) else y
            found.append((y, torch.equal(before, x), sorted(traffic.count())))
        return found

    return launched(work, world_size)


@ends_in_notebook
def check_collectives(try_collectives, world_size, cases):
    found = try_collectives(world_size, cases)
    check_ran(found, world_size, "collectives_from_sendrecv")
    with every_case() as case:
        for number, (kind, tensors, root) in enumerate(cases):
            whole = torch.stack([x.contiguous() for x in tensors])
            for rank in range(world_size):
                shape = tuple(tensors[0].shape)
                with case(f"{kind}, root {root}, shape {shape}, rank {rank} of {world_size}"):
                    check_one_collective(kind, whole, root, rank, *found[rank][number])


def check_one_collective(kind, whole, root, rank, result, untouched, calls):
    right = {
        "broadcast": whole[root],
        "reduce": whole.sum(0, dtype=whole.dtype) if rank == root else None,
        "all_gather": whole,
        "reduce_scatter": whole[:, rank].sum(0, dtype=whole.dtype) if whole.dim() > 1 else None,
    }[kind]
    used = sorted(set(calls) - {"send", "recv"})
    assert not used, f"only send and recv are allowed, and {', '.join(used)} was called"
    assert untouched, "x was changed: receive into a tensor of your own (torch.empty_like, clone)"
    if right is None:
        assert result is None, f"the sum is wanted on rank {root} alone; elsewhere return None"
        return
    if isinstance(result, torch.Tensor) and result.shape == right.shape and result.numel():
        own = {"reduce_scatter": whole[rank, rank] if whole.dim() > 1 else None}.get(kind)
        if own is not None and torch.equal(result, own) and not torch.equal(own, right):
            raise AssertionError("that is the rank's own x[rank]: nothing was added to it")
        of_rank_0 = kind == "broadcast" and torch.equal(result, whole[0])
        if of_rank_0 and not torch.equal(whole[0], right):
            raise AssertionError(f"that is the x of rank 0, and root is {root}")
    check_close(result, right, "the result")


def run_ring(answer, world_size: int, cases: list) -> list | str:
    """For each rank and case: the result, whether x is as before, and the calls that were made."""

    def work(rank, world_size):
        found = []
        for tensors in cases:
            print(f"shape {tuple(tensors[rank].shape)}")
            x = tensors[rank].to(rank_device())
            before = x.clone()
            with count_traffic() as traffic:
                y = answer(x)
            kept = torch.equal(before, x) and (world_size > 1 or y is not x)
            y = y.cpu() if isinstance(y, torch.Tensor) else y
            found.append((y, kept, [tuple(call) for call in traffic.calls]))
        return found

    return launched(work, world_size)


@ends_in_notebook
def check_ring(try_ring, world_size, cases):
    found = try_ring(world_size, cases)
    check_ran(found, world_size, "ring_all_reduce")
    with every_case() as case:
        for number, tensors in enumerate(cases):
            x = tensors[0]
            most = 2 * (world_size - 1) * -(-x.numel() // world_size) * x.itemsize
            right = sum(x.double() for x in tensors).to(x.dtype)
            for rank in range(world_size):
                result, kept, calls = found[rank][number]
                with case(f"shape {tuple(x.shape)}, {x.dtype}, rank {rank} of {world_size}"):
                    used = sorted({name for name, _, _ in calls} - {"send", "recv"})
                    assert not used, f"only send and recv are allowed, not {', '.join(used)}"
                    check_ring_slips(result, right, tensors, rank)
                    check_close(result, right, "the sum")
                    assert kept, "x was changed, or returned itself: work on a copy"
                    assert torch.equal(result, found[0][number][0]), "not the bits of rank 0's sum"
                    check_bytes(calls, rank, world_size, most)


def check_ring_slips(result, right, tensors, rank):
    same = isinstance(result, torch.Tensor) and result.shape == right.shape
    if not same or result.dtype != right.dtype or torch.allclose(result, right):
        return
    if torch.allclose(result, ring_that_only_adds(tensors)[rank].view(right.shape).to(right)):
        raise AssertionError(
            "what comes in was added in the second half as well: by then it is a finished sum, and "
            "replaces what is there"
        )
    mine, wrong = tensors[rank], ~torch.isclose(result, right)
    first = int(wrong.flatten().nonzero()[0])
    if wrong.flatten()[first:].all() and torch.equal(result[wrong], mine[wrong]):
        raise AssertionError(
            f"from element {first} on it is this rank's own x: the remainder of "
            f"{mine.numel()} elements cut into {len(tensors)} chunks was left out"
        )


def ring_that_only_adds(tensors):
    ranks = len(tensors)
    held = [x.double().flatten() for x in tensors]
    chunks = [x.clone().tensor_split(ranks) for x in held]
    for step in range(2 * (ranks - 1)):
        before = [[chunk.clone() for chunk in row] for row in chunks]
        for rank in range(ranks):
            place = (rank - step - 1) % ranks
            chunks[rank][place].add_(before[(rank - 1) % ranks][place])
    return [torch.cat(row) for row in chunks]


def check_bytes(calls, rank, world_size, most):
    peers = {peer for name, nbytes, peer in calls if name == "send" and nbytes}
    right = (rank + 1) % world_size
    assert peers <= {right}, f"it sent to ranks {sorted(peers)}, not only to {right}, on its right"
    sent = sum(nbytes for name, nbytes, _ in calls if name == "send")
    assert sent <= most, (
        f"{sent} bytes were sent, at most {most} are allowed: in each step one chunk, not the whole"
    )


def run_sampler(answer, cases: list) -> list:
    """The indices for each case, and whether the global random state is as before."""
    refused = AssertionError("this makes a DistributedSampler: deal the indices out by hand")
    found = []
    with mock.patch.object(DistributedSampler, "__init__", side_effect=refused):
        for args, options in cases:
            torch.manual_seed(2**40 + len(found))  # a state that no answer's own seed leads to
            before = torch.get_rng_state()
            result = answer(*args, **options)
            found.append((result, torch.equal(before, torch.get_rng_state())))
    return found


@ends_in_notebook
def check_sampler(try_sampler, cases):
    with every_case() as case:
        for (args, options), (result, kept) in zip(cases, try_sampler(cases), strict=True):
            length, rank, ranks = args
            words = "".join(f", {key}={value}" for key, value in options.items())
            wanted = dict(options)
            epoch = wanted.pop("epoch", 0)
            samples: Any = range(length)  # of a data set it asks only the length
            library = DistributedSampler(samples, ranks, rank, **wanted)
            library.set_epoch(epoch)
            with case(f"sampler_by_hand({length}, {rank}, {ranks}{words})"):
                check_indices(result, list(library), length, ranks, options)
                assert kept, "the global random state changed: draw from a torch.Generator()"


def check_indices(result, right, length, ranks, options):
    assert result is not None, "it returned None: is there an answer yet?"
    kind = type(result).__name__
    assert isinstance(result, list), f"expected a list of int, got {kind}"
    assert all(type(index) is int for index in result), "the entries are not int: use .tolist()"
    cut = options.get("drop_last")
    count = f"{'⌊' if cut else '⌈'}{length} / {ranks}{'⌋' if cut else '⌉'} = {len(right)}"
    assert len(result) == len(right), f"{len(result)} indices; each rank gets {count}"
    check_equal(result, right, "the indices", explain(result, right, options, length // ranks))


def explain(result, right, options, whole_rounds):
    if right and result[:whole_rounds] == right[:whole_rounds] and whole_rounds < len(right):
        return "only the padding differs: it is the beginning of the order, shuffled or not"
    if options.get("epoch", 0) and options.get("shuffle", True):
        return "the seed of the shuffle is seed + epoch"
    if options.get("shuffle", True):
        return "randperm from a generator seeded with seed + epoch; then deal, not cut into blocks"
    return (
        "deal like cards: entries rank, rank + world_size, …; padding starts over at the beginning"
    )


class Branches(nn.Module):
    """Two tied layers, a frozen one, one that is used only on request, and a buffer."""

    seen: torch.Tensor

    def __init__(self, seed):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.first, self.again = nn.Linear(4, 4), nn.Linear(4, 4)
            self.again.weight = self.first.weight
            self.frozen = nn.Linear(4, 4).requires_grad_(False)
            self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)
            self.last = nn.Linear(4, 2)
        self.register_buffer("seen", torch.tensor(float(seed)))
        self.reached = lambda: None

    def forward(self, x, side):
        self.seen += x.detach().mean()
        x = torch.tanh(self.first(x))
        x.register_hook(lambda grad: self.reached())
        x = torch.tanh(self.frozen(self.again(x)))
        for name in side:
            x = torch.tanh(getattr(self, name)(x)) + x
        return self.last(x)


SIDES = [["left"], ["right"], ["left", "right"]]


def train_branches(model, finish, batches, side, at_end=lambda: None):
    """Two steps of SGD; the gradients of each."""
    optimizer, kept = torch.optim.SGD(model.parameters(), lr=0.1), []
    for x, y in batches:
        optimizer.zero_grad()
        F.mse_loss(model(x, side), y).backward()
        at_end()
        finish()
        kept.append({n: p.grad for n, p in model.named_parameters() if p.requires_grad})
        kept[-1] = {n: None if g is None else g.detach().clone().cpu() for n, g in kept[-1].items()}
        optimizer.step()
    return kept


def run_ddp(answer, world_size: int, bucket_bytes: int, batches: list, mixed: bool) -> list | str:
    """For each rank: weights at the start, gradients, buffer, calls, and how many were early."""

    def work(rank, world_size):
        refused = AssertionError("this uses DistributedDataParallel itself: do its work by hand")
        with mock.patch.object(DDP, "__init__", side_effect=refused), count_traffic() as traffic:
            model, early = Branches(rank).to(rank_device()), []
            finish = answer(model, bucket_bytes)
            assert finish is not None, "ddp_by_hand returned None: is there an answer yet?"
            assert callable(finish), f"ddp_by_hand returned {finish!r}, no function to call"
            start = {n: t.detach().clone().cpu() for n, t in model.state_dict().items()}
            model.reached = lambda: early.append(traffic.count().get("all_reduce", 0))
            mine = [(x.to(rank_device()), y.to(rank_device())) for x, y in batches[rank]]
            side = SIDES[rank % 3] if mixed else SIDES[2]
            grads = train_branches(model, finish, mine, side)
        calls = [tuple(call) for call in traffic.calls]
        return start, grads, model.seen.item(), calls, early

    return launched(work, world_size)


def whole_batch(world_size, batches, mixed):
    """The same training in one process: the gradients of both steps."""
    model, kept = Branches(0), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        for rank in range(world_size):
            x, y = batches[rank][step]
            loss = F.mse_loss(model(x, SIDES[rank % 3] if mixed else SIDES[2]), y)
            (loss / world_size).backward()
        kept.append({n: grad_of(p).clone() for n, p in model.named_parameters() if p.requires_grad})
        optimizer.step()
    return kept


def buckets_of(bucket_bytes):
    """The bytes of each bucket, by the rule of the statement."""
    sizes = []
    for parameter in reversed([p for p in Branches(0).parameters() if p.requires_grad]):
        if not sizes or sizes[-1] + parameter.nbytes > bucket_bytes:
            sizes.append(0)
        sizes[-1] += parameter.nbytes
    return sizes


@ends_in_notebook
def check_ddp(try_ddp, world_size, bucket_bytes, mixed=False, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def shape(n):
        return torch.randn(3, n, generator=generator)

    batches = [[(shape(4), shape(2)) for _ in range(2)] for _ in range(world_size)]
    found = try_ddp(world_size, bucket_bytes, batches, mixed)
    words = "ddp_by_hand" + (", other layers unused on each rank," if mixed else "")
    check_ran(found, world_size, words)
    right, want = whole_batch(world_size, batches, mixed), buckets_of(bucket_bytes)
    with every_case() as case:
        for rank, (start, grads, seen, calls, early) in enumerate(found):
            name = f"rank {rank} of {world_size}, buckets of {bucket_bytes} bytes"
            with case(f"{name}, before the first step"):
                check_start(start, seen, batches, rank)
            with case(f"{name}, gradients"):
                check_gradients(grads, right, world_size)
            with case(f"{name}, calls"):
                check_calls(calls, early, want, not mixed)


def check_start(start, seen, batches, rank):
    model = Branches(0)
    for key, value in model.state_dict().items():
        what = "the buffer" if key == "seen" else "the parameter"
        assert torch.equal(start[key], value), f"{what} {key} is not rank 0's: broadcast it"
    first, own = batches[0][0][0].mean(), batches[rank][1][0].mean()
    alone = batches[rank][0][0].mean() + own
    if abs(seen - (first + own).item()) > 1e-4:
        why = " (each rank kept its own)" if abs(seen - alone.item()) < 1e-4 else ""
        raise AssertionError(f"before the second forward the buffer is not rank 0's{why}")


def check_gradients(grads, right, world_size):
    for step, (mine, whole) in enumerate(zip(grads, right, strict=True)):
        for name, gradient in whole.items():
            what = f"step {step}, {name}.grad"
            got = mine[name]
            assert got is not None, f"{what} is None; some rank used it, and its average is wanted"
            if torch.allclose(got, world_size * gradient, 1e-4, 1e-6):
                assert torch.allclose(gradient, got, 1e-4, 1e-6), (
                    f"{what} is the sum, not the average"
                )
            check_close(got, gradient, what, rtol=1e-4, atol=1e-6)


def check_calls(calls, early, want, late_is_wrong):
    sums = [nbytes for name, nbytes, _ in calls if name == "all_reduce"]
    others = {name for name, _, _ in calls} - {"all_reduce", "broadcast", "barrier"}
    wrong = []
    if late_is_wrong and len(want) > 2 and not early[0]:
        wrong.append(
            "no all-reduce had begun when backward reached the first layer: start a bucket from "
            "the hook that completes it"
        )
    if [sums[: len(sums) // 2], sums[len(sums) // 2 :]] != [want, want]:
        wrong.append(
            f"in two steps all-reduces of {sums} bytes; the buckets of one step are {want} bytes"
            + (f"; and there was {', '.join(sorted(others))}" if others else "")
        )
    assert not wrong, "; ".join(wrong)


def run_unequal(answer, world_size: int, cases: list) -> list | str:
    """For each rank and case: the result, whether the gradient is as before, and the calls."""

    def work(rank, world_size):
        found = []
        for gradients, counts in cases:
            print(f"counts {counts}")
            x = gradients[rank].to(rank_device())
            before = x.clone()
            with count_traffic() as traffic:
                y = answer(x, counts[rank])
            y = y.cpu() if isinstance(y, torch.Tensor) else y
            found.append((y, torch.allclose(before, x, equal_nan=True), traffic.count()))
        return found

    return launched(work, world_size)


@ends_in_notebook
def check_unequal(try_unequal, world_size, cases):
    found = try_unequal(world_size, cases)
    check_ran(found, world_size, "unequal_shards")
    with every_case() as case:
        for number, (gradients, counts) in enumerate(cases):
            used = [g.double() * n for g, n in zip(gradients, counts, strict=True) if n]
            right = (sum(used) / sum(counts)).to(gradients[0].dtype)
            plain = sum(g.double() for g in gradients) / world_size
            for rank in range(world_size):
                result, kept, calls = found[rank][number]
                with case(f"counts {counts}, {right.dtype}, rank {rank}"):
                    check_company(calls, found[0][number][2], rank)
                    check_weighted(result, right, plain.to(right.dtype), sum(counts) / world_size)
                    assert kept, "the gradient that was handed in was changed"


def check_company(calls, of_rank_0, rank):
    calls, of_rank_0 = (  # who sends and who receives may differ
        {name: times for name, times in each.items() if name not in ("send", "recv")}
        for each in (calls, of_rank_0)
    )
    if calls != of_rank_0:
        raise AssertionError(
            f"rank 0 called {of_rank_0 or 'nothing'}, rank {rank} called "
            f"{calls or 'nothing'}: every "
            "rank has to make the same calls, also one without samples"
        )


def check_weighted(result, right, plain, samples_a_rank):
    if isinstance(result, torch.Tensor) and result.shape == right.shape and result.numel():
        assert not result.isnan().any(), (
            "NaN: a rank without samples spoils the sum, for 0 * NaN is NaN"
        )
        if torch.allclose(result.to(plain), plain) and not torch.allclose(plain, right):
            raise AssertionError("that is the mean of the ranks' means: weight each by its count")
        many = samples_a_rank * right
        if torch.allclose(result.to(many), many) and not torch.allclose(many, right):
            raise AssertionError(
                "the weighted sum was divided by the number of ranks: divide by all samples"
            )
    check_close(result, right, "the gradient of the mean over all samples")


def run_no_sync(answer, world_size: int, batches: list) -> list | str:
    """For each rank: gradient, calls, those of an ordinary step after it; are weights kept?"""

    def work(rank, world_size):
        torch.manual_seed(0)
        layer = nn.Linear(3, 1).to(rank_device())
        model, mine = (
            DDP(layer),
            [(x.to(rank_device()), y.to(rank_device())) for x, y in batches[rank]],
        )
        before = layer.weight.detach().clone()
        with count_traffic() as traffic:
            answer(model, mine)
        grad = layer.weight.grad
        grad = grad if grad is None else grad.detach().clone().cpu()
        model.zero_grad()
        with count_traffic() as later:
            F.mse_loss(model(mine[0][0]), mine[0][1]).backward()
        calls = [call.name for call in traffic.calls]
        kept = torch.equal(before, layer.weight)
        return grad, calls, [call.name for call in later.calls], kept

    return launched(work, world_size)


@ends_in_notebook
def check_no_sync(try_no_sync, world_size, steps, seed):
    generator = torch.Generator().manual_seed(seed)

    def draw(n):
        return torch.randn(4, n, generator=generator)

    batches = [[(draw(3), draw(1)) for _ in range(steps)] for _ in range(world_size)]
    found = try_no_sync(world_size, batches)
    check_ran(found, world_size, f"no_sync with {steps} batches")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer = nn.Linear(3, 1)
    flat = [pair for rank in batches for pair in rank]
    x, y = (torch.cat(part) for part in zip(*flat, strict=True))
    (right,) = torch.autograd.grad(F.mse_loss(layer(x), y), layer.weight)
    ends = [torch.cat(part) for part in zip(*(rank[-1] for rank in batches), strict=True)]
    (alone,) = torch.autograd.grad(F.mse_loss(layer(ends[0]), ends[1]), layer.weight)
    last = [alone, alone / steps] if steps > 1 else []
    with every_case() as case:
        for rank, (grad, calls, later, kept) in enumerate(found):
            with case(f"{steps} batches, rank {rank} of {world_size}, gradient"):
                check_accumulated(grad, right, steps, last)
            with case(f"{steps} batches, rank {rank} of {world_size}, calls"):
                check_rounds(calls, later)
                assert kept, "the weights have changed: no step is asked for"


def check_accumulated(grad, right, steps, last):
    if (
        isinstance(grad, torch.Tensor)
        and steps > 1
        and torch.allclose(grad, right * steps, 1e-4, 1e-6)
    ):
        raise AssertionError(
            f"the gradient is {steps} times too large: a sum of means, not their mean"
        )
    if isinstance(grad, torch.Tensor) and any(torch.allclose(grad, g, 1e-4, 1e-6) for g in last):
        raise AssertionError("that is the gradient of the last batch alone: the others are lost")
    check_close(grad, right, ".grad over all batches of all ranks", rtol=1e-4, atol=1e-6)


def check_rounds(calls, later):
    rounds = [name for name in calls if name != "broadcast"]
    assert rounds, (
        "the ranks never talked: the last batch's backward has to synchronise; or is there no "
        "answer yet?"
    )
    assert rounds == ["all_reduce"], (
        f"{len(rounds)} calls ({', '.join(rounds)}), expected one all_reduce: forward *and* "
        "backward of all batches but the last belong into no_sync, and DDP's own all_reduce of the "
        "last does the rest"
    )
    assert "all_reduce" in later, "after it an ordinary backward no longer synchronises"


class Unread(list):
    """A list that tells who reads another rank's data."""

    def __init__(self, batches, rank):
        super().__init__(batches)
        self.rank = rank

    def __getitem__(self, key):
        allowed = key == self.rank
        assert allowed, (
            f"rank {self.rank} read batches[{key}]: read your own, and let the ranks talk"
        )
        return super().__getitem__(key)

    def __iter__(self):
        raise AssertionError(
            f"rank {self.rank} read all batches: read your own, and let the ranks talk"
        )


class Saved(list):
    """A list to which rank 0 appends slowly: meanwhile it looks whether another rank is through."""

    def __init__(self, rank, folder):
        super().__init__()
        self.rank, self.folder, self.alone = rank, folder, False

    def append(self, value):
        until = time.monotonic() + (0.3 if self.rank == 0 else 0)
        while time.monotonic() < until and not self.alone:
            self.alone = any(self.folder.iterdir())
            time.sleep(0.01)
        super().append(value)

    def extend(self, values):
        for value in values:
            self.append(value)

    def __iadd__(self, values):
        self.extend(values)
        return self

    def insert(self, place, value):
        self.append(value)


def run_repair(answer, world_size: int, batches: list) -> list | str:
    """What each rank returned, what it found in ``saved``, and whether others were through then."""

    with tempfile.TemporaryDirectory() as folder:

        def work(rank, world_size):
            saved = Saved(rank, Path(folder))
            total = answer(rank, world_size, Unread(batches, rank), saved)
            if rank > 0:
                Path(folder, str(rank)).touch()
            return total, list(saved), saved.alone

        return launched(work, world_size, timeout=5)


@ends_in_notebook
def check_repair(try_repair, world_size, batches):
    found = try_repair(world_size, batches)
    check_ran(found, world_size, f"clinic_repair with {batches}")
    with every_case() as case:
        for rank, (total, saved, alone) in enumerate(found):
            with case(f"{batches}, rank {rank}"):
                check_total(total, batches, rank)
                want = [total_of(batches)] if rank == 0 else []
                check_equal(saved, want, "saved", "rank 0 alone saves the total, once")
                assert not alone, (
                    "another rank had returned before rank 0 saved the total: all wait for it, "
                    "at a barrier that every rank comes to after rank 0 has saved"
                )


def is_number(text):
    return text[0] in "-0123456789"


def total_of(batches, counts=is_number):
    return sum(float(text) for mine in batches for text in mine if counts(text))


def check_total(total, batches, rank):
    assert total is not None, "it returned None: is there an answer yet?"
    right = total_of(batches)
    first = [list(itertools.takewhile(is_number, mine)) for mine in batches]
    slips = {
        "that is this rank's own sum: the ranks have to add theirs up": total_of([batches[rank]]),
        "one text that is no number ends a rank's sum: go on with the next text": total_of(first),
        "it leaves out numbers that float accepts, such as '-2.5'": total_of(batches, str.isdigit),
    }
    for words, slip in slips.items():
        if isinstance(total, float) and total == slip != right:
            raise AssertionError(f"the total over all ranks is {right}, got {total}: {words}")
    check_equal(total, right, "the total over all ranks")


def run_sync_bn(answer, world_size: int, cases: list) -> list | str:
    """For each rank and case: output, gradients by x, weight, bias, and the calls of each pass."""

    def work(rank, world_size):
        found = []
        for shards, upstream, weight, bias in cases:
            print(f"shape {tuple(shards[rank].shape)}, {shards[rank].dtype}")
            x, w, b = (t.detach().to(rank_device()) for t in (shards[rank], weight, bias))
            inputs = [t.requires_grad_() for t in (x.clone(), w.clone(), b.clone())]
            with count_traffic() as forward:
                y = answer(*inputs, 1e-5)
            if not isinstance(y, torch.Tensor) or y.shape != x.shape:
                found.append((y, None, [], []))
                continue
            assert y.requires_grad, "the result can't be differentiated: it has no grad_fn"
            with count_traffic() as backward:
                loss = (y * upstream[rank].to(y)).sum()
                grads = torch.autograd.grad(loss, inputs, allow_unused=True)
            grads = [None if g is None else g.cpu() for g in grads]
            calls = [[c.name for c in t.calls if "wrap" not in c.name] for t in (forward, backward)]
            found.append((y.detach().cpu(), grads, *calls))
        return found

    return launched(work, world_size)


def normalised(x, weight, bias):
    return F.batch_norm(x, None, None, weight, bias, training=True)


@ends_in_notebook
def check_sync_bn(try_sync_bn, world_size, cases):
    found = try_sync_bn(world_size, cases)
    check_ran(found, world_size, "sync_bn")
    with every_case() as case:
        for number, (shards, upstream, weight, bias) in enumerate(cases):
            x = torch.cat(shards).double().contiguous().requires_grad_()
            w, b = (t.double().requires_grad_() for t in (weight, bias))
            y = normalised(x, w, b)
            g = torch.cat(upstream).double()
            (grad_x,) = torch.autograd.grad((y * g).sum(), x, retain_graph=True)
            sizes = [len(shard) for shard in shards]
            kind = shards[0].dtype
            loose = (
                dict(rtol=1e-2, atol=1e-2) if kind == torch.float32 else dict(rtol=1e-7, atol=1e-7)
            )
            for rank, (part, part_grad) in enumerate(
                zip(y.split(sizes), grad_x.split(sizes), strict=True)
            ):
                result, grads, forward, backward = found[rank][number]
                name = f"samples {sizes}, {kind}, rank {rank}"
                with case(f"{name}, output"):
                    alone = (
                        normalised(shards[rank].double(), w, b)
                        if shards[rank][:, 0].numel() > 1
                        else part
                    )
                    check_bn_slips(result, shards, rank, w.detach(), b.detach(), part, loose)
                    check_normalised(result, part.detach().to(kind), alone.detach(), loose)
                    assert len(forward) == 1, (
                        f"{len(forward)} collective calls in forward ({forward}), not 1: put "
                        "the numbers side by side into one tensor"
                    )
                if grads is None:
                    continue
                with case(f"{name}, gradients"):
                    rows = slice(sum(sizes[:rank]), sum(sizes[: rank + 1]))
                    own = torch.autograd.grad((part * g[rows]).sum(), (w, b), retain_graph=True)
                    check_sync_grads(grads, part_grad.to(kind), [o.to(kind) for o in own], loose)
                    assert len(backward) == 1, (
                        f"{len(backward)} collective calls in backward ({backward}), not 1: put "
                        "the numbers side by side into one tensor"
                    )


def check_bn_slips(result, shards, rank, weight, bias, right, loose):
    """What comes out when the ranks' means and variances are merged in ways that are often seen."""
    if not isinstance(result, torch.Tensor) or result.shape != right.shape:
        return
    if torch.allclose(result.double(), right, **loose):
        return
    flat = [x.double().movedim(1, 0).flatten(1) for x in shards]
    counts = torch.tensor([[x.shape[1]] for x in flat], dtype=torch.float64)
    means = torch.stack([x.mean(1) for x in flat])
    squares = torch.stack([x.var(1, correction=0) for x in flat])
    shares, equal = counts / counts.sum(), torch.full_like(counts, 1 / len(shards))
    true, plain = (shares * means).sum(0), means.mean(0)
    misses = "that is the average of the ranks' variances: it misses that their means differ"
    weights = "that weights all ranks alike: one with more samples counts for more"
    slips = [(true, (shares * squares).sum(0), misses), (plain, squares.mean(0), misses)]
    slips += [(true, squares.mean(0), misses), (plain, (shares * squares).sum(0), misses)]
    for mean in (plain, true):
        spread = squares + (means - mean) ** 2
        slips += [(mean, (part * spread).sum(0), weights) for part in (equal, shares)]
    x = shards[rank].double().movedim(1, -1)
    for mean, square, words in slips:
        y = ((x - mean) * (square + 1e-5).rsqrt() * weight + bias).movedim(-1, 1)
        if torch.allclose(result.double(), y, **loose) and not torch.allclose(y, right, **loose):
            raise AssertionError(f"the output: {words}")
    if shards[0].dtype == torch.float32 and abs(float(true.mean())) > 100:
        raise AssertionError(
            "the output is far off in float32, where the mean is 1000 times the deviation: a "
            "difference of large numbers cancels; take deviations from a mean first, then merge"
        )


def check_normalised(result, right, alone, loose):
    if isinstance(result, torch.Tensor) and result.shape == right.shape:
        assert not result.isnan().any(), (
            "NaN: a variance below zero? The difference of two large numbers cancels"
        )
        if torch.allclose(result.double(), alone, **loose) and not torch.allclose(
            alone.to(right), right, **loose
        ):
            raise AssertionError(
                "normalised by this rank's own statistics, not by those of all ranks"
            )
    check_close(result, right, "the output", **loose)


def check_sync_grads(grads, grad_x, own, loose):
    for got, right, name in zip(grads, [grad_x, *own], ("x", "weight", "bias"), strict=True):
        assert got is not None, f"no gradient comes back for {name}"
        why = "" if name == "x" else ", of this rank's own samples"
        if name == "x":
            why = (
                " (the sums in backward go over all ranks; only autograd of a local mean does not)"
            )
        check_close(got, right, f"the gradient by {name}{why}", **loose)


def run_compress(answer, world_size: int, cases: list) -> list | str:
    """For each rank and case: what was returned, whether arguments are as before, the bytes."""

    def work(rank, world_size):
        found = []
        for gradients, residuals, k in cases:
            print(f"shape {tuple(gradients[rank].shape)}, k = {k}")
            pair = [gradients[rank].to(rank_device()), residuals[rank].to(rank_device())]
            before = [x.clone() for x in pair]
            with count_traffic() as traffic:
                result = answer(*pair, k)
            kept = all(map(torch.equal, pair, before))
            if isinstance(result, (tuple, list)):
                result = [x.cpu() if isinstance(x, torch.Tensor) else x for x in result]
            found.append((result, kept, traffic.nbytes()))
        return found

    return launched(work, world_size)


def top(total, k):
    """Of ``total`` the k entries of largest magnitude, zeros elsewhere."""
    flat = total.flatten()
    index = flat.abs().topk(min(k, flat.numel())).indices
    return torch.zeros_like(flat).index_copy(0, index, flat[index]).view(total.shape)


@ends_in_notebook
def check_compress(try_compress, world_size, cases):
    found = try_compress(world_size, cases)
    check_ran(found, world_size, "compress")
    with every_case() as case:
        for number, (gradients, residuals, k) in enumerate(cases):
            totals = [(g + r).contiguous() for g, r in zip(gradients, residuals, strict=True)]
            sent = [top(total, k) for total in totals]
            average = sum(sent) / world_size
            for rank in range(world_size):
                result, kept, nbytes = found[rank][number]
                x = gradients[rank]
                with case(
                    f"shape {tuple(x.shape)}, {x.dtype}, k = {k}, rank {rank} of {world_size}"
                ):
                    assert result is not None, "it returned None: is there an answer yet?"
                    pair = isinstance(result, list) and len(result) == 2
                    assert pair, "expected a tuple of two tensors: (average, rest)"
                    check_choice(result[0], totals, gradients, k, average)
                    known_slips(*result, gradients[rank], totals[rank], sent, average, k)
                    check_close(result[0], average, "average", rtol=1e-5, atol=1e-6)
                    check_close(result[1], totals[rank] - sent[rank], "rest", rtol=1e-5, atol=1e-6)
                    most = k * (8 + x.itemsize)
                    assert nbytes <= most, (
                        f"{nbytes} bytes were handed in, at most {most} are allowed: k values and "
                        "their positions, not the whole"
                    )
                    assert kept, "the gradient or the residual that was handed in was changed"


def check_choice(average, totals, gradients, k, right):
    """Which entries were sent, and how those of several ranks were put together."""

    def chosen(total, by):
        index = by.flatten().topk(min(k, by.numel())).indices
        flat = total.flatten()
        return torch.zeros_like(flat).index_copy(0, index, flat[index]).view(total.shape)

    n, pairs = len(totals), list(zip(totals, gradients, strict=True))
    sent = [top(total, k) for total in totals]
    last = torch.zeros_like(sent[0])
    for mine in sent:
        last = torch.where(mine != 0, mine, last)
    slips = {
        "the largest by sign were sent, not the largest in magnitude": [
            chosen(total, total) for total in totals
        ],
        "the entries were chosen by the gradient: choose by its sum with the residual": [
            chosen(total, gradient.abs()) for total, gradient in pairs
        ],
        "the residual was left out": [top(gradient, k) for gradient in gradients],
        "where ranks sent the same position, one overwrote the other: add": [last],
    }
    for words, parts in slips.items():
        slip = sum(parts[1:], parts[0]) / n
        same = isinstance(average, torch.Tensor) and average.shape == slip.shape
        same = same and torch.allclose(average.to(slip), slip, 1e-5, 1e-6)
        if same and not torch.allclose(slip, right, 1e-5, 1e-6):
            raise AssertionError(f"average: {words}")


def known_slips(average, rest, gradient, total, sent, right, k):
    def like(x, y):
        same = isinstance(x, torch.Tensor) and x.shape == y.shape and x.dtype == y.dtype
        return same and torch.allclose(x, y, 1e-5, 1e-6)

    if like(average, sum(sent)) and not like(right, sum(sent)):
        raise AssertionError("average is the sum of what was sent: divide by the number of ranks")
    own = next(s for s in sent if torch.equal(s, top(total, k)))
    wrong = {
        "the whole sum: what was sent must not be kept as well": total,
        "the sum minus the average: keep what *this* rank did not send": total - right,
        "the gradient without what was sent: the old residual is lost": gradient - own,
    }
    for words, value in wrong.items():
        if like(rest, value) and not like(value, total - own):
            raise AssertionError(f"rest is {words}")


def bn_case(sizes, channels, places=(), dtype=torch.float64, mean=0.0, seed=0):
    """Shards whose means differ, upstream gradients, weight and bias."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    shards = [mean + rank + draw(n, channels, *places) for rank, n in enumerate(sizes)]
    if len(places) == 2:
        shards = [shard.contiguous(memory_format=torch.channels_last) for shard in shards]
    return (
        shards,
        [draw(n, channels, *places) for n in sizes],
        1 + draw(channels) / 4,
        draw(channels),
    )


@ends_in_notebook
def check_scaling(scaling, cases):
    with every_case() as case:
        for values in cases:
            with case(f"{values[0]}, {values[1]} ranks, batch {values[2]}"):
                check_one_scaling(scaling, *values)


def check_one_scaling(scaling, kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    weak = kind == "weak"
    fullest = batch if weak else (batch + ranks - 1) // ranks
    ring = 2 * (ranks - 1) * (latency + nbytes / (ranks * bandwidth))
    step, whole = s * fullest + ring, batch * (ranks if weak else 1)
    right = {"step": step, "speedup": whole * s / step, "rate": rate * (ranks if weak else 1)}
    right["efficiency"] = right["speedup"] / ranks
    result = scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate)
    assert result is not None, "it returned None: is there an answer yet?"
    assert isinstance(result, dict), f"expected a dict, got {type(result).__name__}"
    words = {
        "step": [
            (s * batch / ranks + ring, "the fullest rank has ⌈batch / ranks⌉ samples"),
            (
                s * fullest + 2 * (ranks - 1) * (latency + nbytes / bandwidth),
                "a message is one chunk",
            ),
            (s * fullest, "the ring's messages are missing"),
            (s * batch + ring, "in strong scaling the ranks share the batch"),
        ],
        "speedup": [
            (batch * s / step, "all ranks' samples count"),
            (s * batch * ranks / step, "in strong scaling there are `batch` samples in all"),
            (s * fullest * ranks / step, "not every rank is as full as the fullest"),
        ],
        "rate": [
            (rate, "the whole batch has grown"),
            (rate * ranks, "the whole batch has not grown"),
        ],
    }
    wrong = []
    for key, value in right.items():
        got = result.get(key)
        got = got.item() if hasattr(got, "item") else got
        number = isinstance(got, (int, float)) and not isinstance(got, bool)
        if number and abs(got - value) <= 1e-6 * abs(value):
            continue
        slip = [
            why
            for slip, why in words.get(key, [])
            if number and abs(got - slip) <= 1e-6 * abs(slip)
        ]
        wrong.append(
            f"{key}: expected {value:.6g}, got {f'{got:.6g}' if number else repr(got)}"
            + (f" ({slip[0]})" if slip else "")
        )
    assert not wrong, "; ".join(wrong)
