"""Exercises 17.6 and 17.7: shards of unequal size, and gradients that are accumulated first."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from course_utils.chapters.distributed.launches import check_ran, launched
from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_close
from course_utils.learner.ranks import count_traffic, rank_device
from course_utils.learner.tracebacks import ends_in_notebook


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
