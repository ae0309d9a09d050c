"""Exercise 17.5: data-parallel training, by hand."""

from __future__ import annotations

from operator import ge, gt

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from course_utils.chapters.distributed.launches import check_ran, launched, refusing
from course_utils.chapters.distributed.two_models import check_two, two_at_once
from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_close
from course_utils.learner.gradients import grad_of
from course_utils.learner.ranks import count_traffic, rank_device
from course_utils.learner.tracebacks import ends_in_notebook

MANY = 2**24 + 1  # float32 has no such number


class Branches(nn.Module):
    """Two tied layers, a frozen one, one that is used only on request, and two buffers.

    One buffer is a layer's own, holds whole numbers that float32 can't, and isn't saved.
    """

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
        self.last.register_buffer("count", torch.tensor(MANY + seed), persistent=False)
        self.reached = lambda: None

    def forward(self, x, side):
        self.seen = self.seen + x.detach().mean()  # another tensor at each step
        self.last.get_buffer("count").add_(whole_number(x))  # in place, as batch norm does
        x = torch.tanh(self.first(x))
        if x.requires_grad:
            x.register_hook(lambda grad: self.reached())
        x = torch.tanh(self.frozen(self.again(x)))
        for name in side:
            x = torch.tanh(getattr(self, name)(x)) + x
        return self.last(x)


def whole_number(x):
    """One that depends on a rank's samples."""
    return (1000 * x.detach().mean()).round().long()


SIDES = [["left"], ["right"], ["right", "left"]]
"""The layers between that a rank uses. Both come in another order than in the model: backward then
completes a later bucket first."""


def sides_of(rank, mixed):
    """The layers that a rank uses in each of two steps: other ones, if they are mixed."""
    return [SIDES[(rank + step) % 3 if mixed else 2] for step in range(2)]


def train_branches(model, finish, batches, sides, at):
    """Two steps of SGD; the gradients of each. `at` is called before backward and after finish."""
    optimizer, kept = torch.optim.SGD(model.parameters(), lr=0.1), []
    for (x, y), side in zip(batches, sides, strict=True):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x, side), y)
        at()
        loss.backward()
        finish()
        at()
        kept.append({n: p.grad for n, p in model.named_parameters() if p.requires_grad})
        kept[-1] = {n: None if g is None else g.detach().clone().cpu() for n, g in kept[-1].items()}
        optimizer.step()
    return kept


def run_ddp(answer, world_size: int, bucket_bytes: int, batches: list, mixed: bool) -> list | str:
    """For each rank: weights at the start, gradients, buffer, calls, and how many were early."""

    def work(rank, world_size):
        words = "this uses DistributedDataParallel itself: do its work by hand"
        with refusing(DDP, words), count_traffic() as traffic:
            model, early = Branches(rank).to(rank_device(), batches[0][0][0].dtype), []
            model.frozen.eval()
            with forbid_side_effects(model, but=("values", "hooks", "names")):
                finish = answer(model, bucket_bytes)
            assert finish is not None, "ddp_by_hand returned None: is there an answer yet?"
            assert callable(finish), f"ddp_by_hand returned {finish!r}, no function to call"
            start = {n: t.detach().clone().cpu() for n, t in all_tensors(model)}
            model.reached = lambda: early.append(traffic.count().get("all_reduce", 0))
            mine = [(x.to(rank_device()), y.to(rank_device())) for x, y in batches[rank]]
            sides, places = sides_of(rank, mixed), [len(traffic.calls)]
            grads = train_branches(
                model, finish, mine, sides, lambda: places.append(len(traffic.calls))
            )
            calls, seen = [tuple(call) for call in traffic.calls], [buffers_of(model)]
            with torch.no_grad():
                model.eval()(mine[0][0], sides[0])
            seen.append(buffers_of(model))
        return start, grads, seen, calls, early, places, two_at_once(answer, rank, world_size)

    return launched(work, world_size)


def buffers_of(model):
    return model.seen.item(), model.last.get_buffer("count").item()


def all_tensors(model):
    return [*model.named_parameters(), *model.named_buffers()]


def whole_batch(world_size, batches, mixed):
    """The same training in one process: the gradients of both steps."""
    model, kept = Branches(0).to(batches[0][0][0].dtype), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        for rank in range(world_size):
            x, y = batches[rank][step]
            loss = F.mse_loss(model(x, sides_of(rank, mixed)[step]), y)
            (loss / world_size).backward()
        kept.append({n: grad_of(p).clone() for n, p in model.named_parameters() if p.requires_grad})
        optimizer.step()
    return kept


def buckets_of(bucket_bytes, itemsize, *, full=gt, width=None, kind="", late=False):
    """The bytes of each bucket, by the rule of the statement or by one that is close to it."""
    sizes, held, model = [], 0, Branches(0)
    named = model.named_parameters(remove_duplicate=kind != "tied")
    parameters = [p for _, p in named if p.requires_grad or kind == "frozen"]
    for parameter in parameters if kind == "forward" else reversed(parameters):
        nbytes = parameter.numel() * (width or itemsize)
        if not sizes or full(held + (0 if late else nbytes), bucket_bytes):
            sizes.append(0)
            held = 0
        sizes[-1] += nbytes
        held += 0 if kind == "joined" and nbytes > bucket_bytes else nbytes
    return [nbytes * itemsize // (width or itemsize) for nbytes in sizes]


@ends_in_notebook
def check_ddp(try_ddp, world_size, bucket_bytes, mixed=False, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)

    def shape(n):
        return torch.randn(3, n, generator=generator).to(dtype)

    batches = [[(shape(4), shape(2)) for _ in range(2)] for _ in range(world_size)]
    found = try_ddp(world_size, bucket_bytes, batches, mixed)
    words = "ddp_by_hand" + (", other layers unused on each rank," if mixed else "")
    check_ran(found, world_size, words)
    right = whole_batch(world_size, batches, mixed)
    first = dict(all_tensors(Branches(0).to(dtype)))
    alike = all(torch.equal(of_rank[0][name], first[name]) for of_rank in found for name in first)
    with every_case() as case:
        for rank, (start, grads, seen, calls, early, places, two) in enumerate(found):
            kind = "" if dtype == torch.float32 else f", {dtype}"
            name = f"rank {rank} of {world_size}, buckets of {bucket_bytes} bytes{kind}"
            with case(f"{name}, before the first step"):
                check_start(start, seen[0], batches, rank)
            with case(f"{name}, a forward pass in eval mode"):
                now = found[0][2][0][0] + batches[rank][0][0].mean().item()
                assert abs(seen[1][0] - now) < 1e-4, (
                    "in eval mode the buffer isn't rank 0's: send it before *each* forward"
                )
            if alike:  # the gradients of other weights say nothing
                with case(f"{name}, gradients"):
                    check_gradients(grads, right, [of_rank[1] for of_rank in found], dtype, mixed)
            with case(f"{name}, calls"):
                check_calls(calls, early, bucket_bytes, dtype.itemsize, not mixed)
                check_quiet(calls, places, dtype)
            with case(f"{name}, two models at once"):
                check_two(two, world_size)


def check_start(start, seen, batches, rank):
    model = Branches(0).to(batches[0][0][0].dtype)
    for key, value in all_tensors(model):
        what = "the buffer" if key in ("seen", "last.count") else "the parameter"
        kind = start[key].dtype
        assert kind == value.dtype, f"{what} {key} has become {kind}: it was {value.dtype}"
        rounded = key == "last.count" and bool(start[key] < value)
        assert not rounded, (
            "the buffer last.count was rounded: it holds whole numbers above 2**24, which float32 "
            "can't; send it as it is"
        )
        assert torch.equal(start[key], value), f"{what} {key} is not rank 0's: broadcast it"
    first, own = batches[0][0][0].mean(), batches[rank][1][0].mean()
    alone = batches[rank][0][0].mean() + own
    if abs(seen[0] - (first + own).item()) > 1e-4:
        why = " (each rank kept its own)" if abs(seen[0] - alone.item()) < 1e-4 else ""
        why += (
            ": send them before each forward; ask the model for its buffers each time, a forward "
            "may put in other tensors"
        )
        raise AssertionError(f"before the second forward the buffer is not rank 0's{why}")
    count = sum(whole_number(batches[source][step][0]) for source, step in ((0, 0), (rank, 1)))
    assert seen[1] == MANY + count, (
        "before the second forward the buffer `last.count`, of whole numbers, is not rank 0's: "
        "send all buffers, whatever their dtype, also those of layers inside"
    )


def check_gradients(grads, right, of_all, dtype, mixed=False):
    world_size = len(of_all)
    close = (
        {"rtol": 1e-9, "atol": 1e-11} if dtype == torch.float64 else {"rtol": 1e-4, "atol": 1e-6}
    )
    for step, (mine, whole) in enumerate(zip(grads, right, strict=True)):
        for name, gradient in whole.items():
            what = f"step {step}, {name}.grad"
            got = mine[name]
            assert got is not None, f"{what} is None; some rank used it, and its average is wanted"
            if torch.allclose(got, world_size * gradient, 1e-4, 1e-6):
                assert torch.allclose(gradient, got, 1e-4, 1e-6), (
                    f"{what} is the sum, not the average"
                )
            if step and gradient.any() and not got.any():
                raise AssertionError(
                    f"{what} is zero, and in step 0 it was right: are the notes of a step cleared "
                    "when it ends?"
                )
            if dtype == torch.float64 and torch.allclose(got, gradient, 1e-5, 1e-7):
                assert torch.allclose(got, gradient, close["rtol"], close["atol"]), (
                    f"{what} is right to seven digits only: on the way it was rounded to float32"
                )
            others = [of_rank[step][name] for of_rank in of_all]
            if not torch.allclose(got, gradient, 1e-4, 1e-6):
                same = [o is not None and torch.allclose(got, o, 1e-4, 1e-6) for o in others]
                assert all(same), (
                    f"{what} is wrong, and the ranks have different ones: is each all-reduce "
                    "waited for, and its result written back?"
                )
            if mixed and step and name.startswith(("left.", "right.")):
                what += " (a rank doesn't use the layer in this step: is its part of step 0 left?)"
            check_close(got, gradient, what, **close)


def check_calls(calls, early, bucket_bytes, itemsize, all_used):
    want = buckets_of(bucket_bytes, itemsize)
    sums = [nbytes for name, nbytes, _ in calls if name == "all_reduce"]
    others = {name for name, _, _ in calls} - {"all_reduce", "broadcast", "barrier"}
    wrong = []
    if [sums[: len(sums) // 2], sums[len(sums) // 2 :]] != [want, want]:
        wrong.append(
            f"in two steps all-reduces of {sums} bytes; the buckets of one step are {want} bytes"
            + (f"; and there was {', '.join(sorted(others))}" if others else "")
            + bucket_slip(sums, want, bucket_bytes, itemsize)
        )
    if all_used and (not wrong or not all(early)):
        wrong += was_late(early, want, itemsize, len(sums) // 2)
    assert not wrong, "; ".join(wrong)


def check_quiet(calls, places, dtype):
    """Refuse what is sent besides the buckets: in backward and finish, and before a forward."""
    at_first, *rest = places
    for step in range(2):
        begin, end = rest[2 * step : 2 * step + 2]
        more = sorted({name for name, *_ in calls[begin:end]} - {"all_reduce"})
        assert not more, (
            f"step {step}: {', '.join(more)} was called in backward or finish: one all_reduce for "
            "each bucket is all that is sent there"
        )
        earlier = calls[(at_first, rest[1])[step] : begin]
        before = sum(nbytes for name, nbytes, _ in earlier if name == "broadcast")
        model = Branches(0).to(dtype)
        buffers, whole = (
            sum(t.nbytes for t in part) for part in (model.buffers(), everything(model))
        )
        assert before < whole, (
            f"step {step}: {before} bytes were broadcast before the forward, and the buffers have "
            f"{buffers}: parameters are sent once, when ddp_by_hand is called"
        )


def everything(model):
    return [tensor for _, tensor in all_tensors(model)]


def bucket_slip(sums, want, bucket_bytes, itemsize):
    """Words for rules that are close to the right one."""
    full = buckets_of(bucket_bytes, itemsize, full=ge)
    four = buckets_of(bucket_bytes, itemsize, width=4)
    if 0 in sums:
        return ": a bucket is empty: the first gradient above the limit has one to itself"
    if sums == full * 2 and full != want:
        return ": a bucket that is exactly full is not above the limit yet"
    if sums == four * 2 and four != want:
        return f": these gradients have {itemsize} bytes an element, not 4"
    others = {
        "each gradient has a bucket to itself: put as many into one as fit": (0, itemsize),
        "all gradients are in one bucket: close it before it is above the limit, which counts "
        "bytes": (2**40, itemsize),
        "the limit counts bytes, not numbers": (bucket_bytes * itemsize, itemsize),
    }
    for words, (limit, width) in others.items():
        slip = buckets_of(limit, width)
        if sums == slip * 2 and slip != want:
            return f": {words}"
    near = {
        "joined": "a gradient above the limit has a bucket to itself, and no other joins it",
        "forward": "these are the buckets from the first parameter to the last: turn the order",
        "frozen": "frozen parameters went into the buckets: they get no gradient",
        "tied": "a weight that two layers share is one parameter, and goes along once",
    }
    for kind, words in near.items():
        slip = buckets_of(bucket_bytes, itemsize, kind=kind)
        if sums == slip * 2 and slip != want:
            return f": {words}"
    late = buckets_of(bucket_bytes, itemsize, late=True)
    if sums == late * 2 and late != want:
        return ": each bucket is closed one gradient too late: look before it goes in"
    more = [nbytes for nbytes in sums[: len(sums) // 2] if nbytes not in want]
    if len(sums) == 2 * len(want) + 2 and len(more) == 1:
        return f": an all-reduce of {more[0]} bytes more in each step; nothing else is sent"
    return ""


def was_late(early, want, itemsize, calls_a_step):
    """Words where all-reduces began late: how many had when backward came to the first layer.

    By then the layers last, right and left have all their gradients: 50 numbers.
    """
    done = sum(sum(want[: place + 1]) <= 50 * itemsize for place in range(len(want)))
    for step, begun in enumerate(early):
        begun -= step * calls_a_step
        if begun < done and not begun:
            return [
                "no all-reduce had begun when backward reached the first layer: start a bucket "
                "from the hook that completes it"
            ]
        if begun < done:
            return [
                f"in step {step} {begun} all-reduces had begun when backward reached the first "
                f"layer, and {done} buckets were complete: start each as soon as it is; one hook "
                "may have to start several that waited for an earlier one (`while`, not `if`)"
            ]
    return []
