"""Exercises 17.6 and 17.7: shards of unequal size, and gradients that are accumulated first."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from course_utils.chapters.distributed.collectives import near, own_copy
from course_utils.chapters.distributed.launches import (
    OVERWRITTEN,
    check_ran,
    launched,
    told_in_place,
    try_states,
    with_lasts,
)
from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_close
from course_utils.learner.ranks import count_traffic, rank_device
from course_utils.learner.tracebacks import ends_in_notebook

CHANGED = "the gradient that was handed in was changed"


def run_unequal(answer, world_size: int, cases: list) -> list | str:
    """For each rank and case: the result, whether the gradient is as before, and the calls."""

    def work(rank, world_size):
        found, given = [], []
        for gradients, counts in cases:
            print(f"counts {counts}")
            x = own_copy(gradients[rank])
            before = x.clone()
            with count_traffic() as traffic, told_in_place(CHANGED):
                y = answer(x, counts[rank])
            given.append(y)
            y = y.cpu().clone() if isinstance(y, torch.Tensor) else y
            found.append((y, torch.allclose(before, x, equal_nan=True), traffic.count()))
        found = with_lasts(found, given)
        if world_size == 3:
            x = torch.arange(6.0, device=rank_device()).view(3, 2) + 10.0**rank
            try_states(answer, x, 1 + rank, what="unequal_shards(gradient, count)")
        return found

    return launched(work, world_size)


@ends_in_notebook
def check_unequal(try_unequal, world_size, cases):
    found = try_unequal(world_size, cases)
    check_ran(found, world_size, "unequal_shards")
    wide, own = wrong_in_wide_dtypes(found, cases), by_own_counts(found, cases)
    with every_case() as case:
        for number, (gradients, counts) in enumerate(cases):
            right = weighted_mean(gradients, counts)
            for rank in range(world_size):
                result, kept, calls, lasts = found[rank][number]
                strides = "" if gradients[rank].is_contiguous() else ", not contiguous here"
                with case(f"counts {counts}, {right.dtype}{strides}, rank {rank}"):
                    check_company([each[number][2] for each in found], rank)
                    of_others = [y[number][0] for r, y in enumerate(found) if r != rank]
                    hints = wide, any(near(y, right) for y in of_others), own
                    check_weighted(result, right, gradients, counts, rank, hints)
                    assert kept, CHANGED
                    assert lasts, OVERWRITTEN
                    assert calls or world_size == 1, (
                        "no collective was called: how did the others' gradients come here?"
                    )


def wrong_in_wide_dtypes(found, cases):
    """Is a result already wrong where the dtype holds sums and counts easily?"""
    for number, (gradients, counts) in enumerate(cases):
        right = weighted_mean(gradients, counts)
        easy = right.dtype.itemsize >= 4 and sum(counts) < 20
        if easy and not all(near(of_rank[number][0], right) for of_rank in found):
            return True
    return False


def by_own_counts(found, cases):
    """Has each rank divided the sum by its own count, wherever that can be seen?"""
    seen = False
    for number, (gradients, counts) in enumerate(cases):
        right = weighted_mean(gradients, counts)
        for of_rank, count in zip(found, counts, strict=True):
            y, slip = of_rank[number][0], right.double() * sum(counts) / max(count, 1)
            if right.dtype.itemsize >= 4 and sum(counts) < 20 and right.isfinite().all():
                if not near(y, slip.to(right)):
                    return False
                seen = seen or not near(y, right)
    return seen


def weighted_mean(gradients, counts, total=None):
    """The mean over all samples, in the gradients' dtype; a rank without any is left out."""
    used = [g.double() * n for g, n in zip(gradients, counts, strict=True) if n]
    return (sum(used[1:], used[0]) / (total or sum(counts))).to(gradients[0].dtype)


def check_company(calls, rank):
    calls = [  # who sends and who receives may differ
        {name: times for name, times in each.items() if name not in ("send", "recv")}
        for each in calls
    ]
    other = next((each for each, of_it in enumerate(calls) if of_it != calls[rank]), rank)
    if other != rank:
        first, last = sorted((rank, other))
        raise AssertionError(
            f"rank {first} called {calls[first] or 'nothing'}, rank {last} called "
            f"{calls[last] or 'nothing'}: every "
            "rank has to make the same calls, also one without samples"
        )


def check_weighted(result, right, gradients, counts, rank, hints):
    shaped = isinstance(result, torch.Tensor) and result.shape == right.shape and result.numel()
    if shaped and result.dtype == right.dtype:
        close = {"rtol": 1e-13, "atol": 1e-13} if right.dtype == torch.float64 else {}
        if not torch.allclose(result, right, **(close or {"rtol": 2e-3}), equal_nan=True):
            check_weighted_slips(result, right, gradients, counts, rank, hints)
        check_close(result, right, "the gradient of the mean over all samples", **close)
    check_close(result, right, "the gradient of the mean over all samples")


def check_weighted_slips(result, right, gradients, counts, rank, hints):
    ranks, dtype, doubles = len(counts), right.dtype, [g.double() for g in gradients]
    wide, others_right, by_own = hints
    own = torch.allclose(result, gradients[rank], equal_nan=True)
    if not counts[rank] and own and others_right:
        raise AssertionError(
            "that is this rank's own gradient, of no sample: it gets the others' mean as well"
        )
    if not right.isnan().any():
        assert not result.isnan().any() or not any(g.isnan().any() for g in gradients), (
            "NaN: a rank without samples spoils the sum, for 0 * NaN is NaN"
        )
    elif not result.isnan().any():
        raise AssertionError(
            "a rank that has samples handed in NaN, and the result hides it: leave out a rank by "
            "its count, not each NaN"
        )
    if right.isinf().any() and result.isfinite().all():
        raise AssertionError(
            "a rank that has samples handed in an infinity, and the result hides it: leave out a "
            "rank by its count alone"
        )
    assert not by_own, (
        "the weighted sum was divided by this rank's own count: divide by the samples of all ranks"
    )
    by_memory = [flat_in_memory(g) * n for g, n in zip(doubles, counts, strict=True) if n]
    in_memory = torch.empty_like(gradients[rank], dtype=torch.float64)
    in_memory.as_strided((right.numel(),), (1,)).copy_(sum(by_memory) / sum(counts))
    slips = {
        "that is the mean of the ranks' means: weight each by its count": (
            sum(doubles[1:], doubles[0]) / ranks
        ),
        "the weighted sum was divided by the number of ranks: divide by all samples": (
            right.double() * sum(counts) / ranks
        ),
        "the weighted sum was divided by the number of ranks with samples: divide by all samples": (
            right.double() * sum(counts) / sum(count > 0 for count in counts)
        ),
        "the weighted sum was divided by the largest count: divide by all samples": (
            right.double() * sum(counts) / max(counts)
        ),
        "the division was rounded down: `//` gives whole numbers": right.double().floor(),
        "this rank's own part was divided, not the sum over all ranks": (
            doubles[rank] * counts[rank] / sum(counts)
        ),
        "that is this rank's own gradient: the mean over all ranks is wanted on every rank": (
            doubles[rank]
        ),
        "elements were added up in the order of memory, and the ranks' strides differ: hand in a "
        "contiguous tensor": in_memory,
    }
    for words, slip in slips.items():
        fits = torch.allclose(result.double(), slip, 1e-5, 1e-6)
        if fits and not torch.allclose(slip, right.double(), 1e-5, 1e-6):
            raise AssertionError(words)
    if others_right and not near(result, right):
        raise AssertionError(
            "another rank has the right result, and this one hasn't: it is wanted on every rank"
        )
    if dtype in (torch.float16, torch.bfloat16) and not wide:
        raise AssertionError(
            f"{result.flatten()[0].item():.6g} where {right.flatten()[0].item():.6g} is right: "
            f"sums, counts and shares don't fit into {dtype}; work in a wider dtype, and turn the "
            "result back at the end"
        )
    assert not (result.isinf() & right.isfinite()).any(), (
        f"infinity: a product or a sum went beyond {dtype}: work in float64 until the end"
    )
    if dtype == torch.float32 and torch.allclose(result, right, 0.1):
        raise AssertionError(
            "right to a few digits only: the ranks' parts nearly cancel here, and products, shares "
            "or sums were rounded to float32: work in float64, and turn the result back at the end"
        )
    if dtype == torch.float64 and torch.allclose(result, right, 1e-6, 1e-6):
        raise AssertionError(
            "right to seven digits only: on the way the gradient, its sum or a count was rounded "
            "to float32"
        )


def flat_in_memory(x):
    """The elements in the order in which a dense tensor's memory holds them."""
    dense = x.clone()  # keeps strides that leave no gaps
    return dense.as_strided((dense.numel(),), (1,)).clone()


def accumulating_model(dtype=torch.float32):
    """In training with a part in eval, and one parameter frozen."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5).eval(), nn.Linear(4, 5)).to(dtype)
    model[0].bias.requires_grad_(False)
    return model


def flat_gradient(model):
    """The gradients of all that trains, side by side; None where one is missing."""
    grads = [p.grad for p in model.parameters() if p.requires_grad]
    return None if None in grads else torch.cat([g.detach().flatten() for g in grads]).cpu()


def run_no_sync(answer, world_size: int, batches: list) -> list | str:
    """For each rank: gradient, calls, those of an ordinary step after it, what else changed."""

    def work(rank, world_size):
        inner = accumulating_model(batches[0][0][0].dtype).to(rank_device())
        model = DDP(inner)
        mine = [(x.to(rank_device()), y.to(rank_device())) for x, y in batches[rank]]
        handed, copies = list(mine), [(x.clone(), y.clone()) for x, y in mine]
        state, modes = torch.get_rng_state(), modes_of_torch()
        with count_traffic() as traffic, forbid_side_effects(inner, but=tuple(ALL)) as watch:
            answer(model, handed)
        drawn = not torch.equal(state, torch.get_rng_state())
        watch.but = ("grad",)
        changes = watch.changes()
        if model.training != inner.training:
            changes.append("the mode of the DDP model was changed")
        changes += ["the global random state was changed"] if drawn else []
        same = modes == modes_of_torch()
        changes += [] if same else ["the default dtype, or whether gradients are recorded, changed"]
        frozen = [p for p in inner.parameters() if not p.requires_grad and p.grad is not None]
        changes += ["a frozen parameter has a .grad now"] if frozen else []
        same = len(handed) == len(mine) and all(map(same_pair, handed, copies))
        changes += [] if same else ["the list of batches, or a batch in it, was changed"]
        asked = any(t.requires_grad or t.grad is not None for pair in mine for t in pair)
        changes += ["a tensor of a batch requires grad now"] if asked else []
        grad = flat_gradient(inner)
        model.zero_grad()
        with count_traffic() as later:
            F.mse_loss(model(copies[0][0]), copies[0][1]).backward()
        calls = [call.name for call in traffic.calls]
        names = [call.name for call in later.calls]
        return grad, calls, (names, flat_gradient(inner)), changes

    return launched(work, world_size)


def modes_of_torch():
    return torch.get_default_dtype(), torch.is_grad_enabled(), torch.is_inference_mode_enabled()


ALL = ("mode", "requires_grad", "grad", "hooks", "values", "names")


def same_pair(pair, copy):
    return all(map(torch.equal, pair, copy))


@ends_in_notebook
def check_no_sync(try_no_sync, world_size, steps, seed, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)

    def draw(n):
        return torch.randn(4, n, generator=generator).to(dtype)

    batches = [[(draw(3), draw(5)) for _ in range(steps)] for _ in range(world_size)]
    found = try_no_sync(world_size, batches)
    check_ran(found, world_size, f"no_sync with {steps} batches")
    flat = [pair for rank in batches for pair in rank]
    right = gradient_over(flat)
    parts = [gradient_over([rank[step] for rank in batches]) for step in range(steps)]
    words = (
        "in an ordinary step after it, .grad is no longer the average over the ranks: leave "
        "nothing on the DDP model, such as a communication hook"
    )
    grads = [grad for grad, *_ in found]
    with every_case() as case:
        for rank, (grad, calls, later, changes) in enumerate(found):
            with case(f"{steps} batches, rank {rank} of {world_size}, gradient"):
                check_accumulated(grad, right, parts, grads, changes)
            with case(f"{steps} batches, rank {rank} of {world_size}, calls"):
                check_rounds(calls, later[0])
            with case(f"{steps} batches, rank {rank} of {world_size}, what else changed"):
                assert not changes, "; ".join(changes) + ": only .grad may change, no step is made"
                assert torch.allclose(later[1], parts[0], 1e-4, 1e-6), words


def gradient_over(batches):
    """The gradient of the mean loss over all of them, as one batch."""
    x, y = (torch.cat(part) for part in zip(*batches, strict=True))
    model = accumulating_model(x.dtype)
    F.mse_loss(model(x), y).backward()
    return flat_gradient(model)


def check_accumulated(grad, right, parts, of_all, changes):
    def is_(slip):
        same = isinstance(grad, torch.Tensor) and grad.shape == slip.shape
        return same and torch.allclose(grad, slip, 1e-4, 1e-6)

    steps, ranks = len(parts), len(of_all)
    assert grad is None or grad.shape == right.shape, (
        f"{grad.numel()} numbers have a .grad, expected {right.numel()}: was a parameter frozen or "
        "thawed?"
    )
    if is_(right * 20):
        raise AssertionError(
            "the gradient is 20 times too large, and a batch has 4 times 5 numbers: `F.mse_loss` "
            "is their mean, not their sum"
        )
    if is_(right * 5):
        raise AssertionError(
            "the gradient is 5 times too large, and y has 5 numbers for each sample: `F.mse_loss` "
            "is the mean over all numbers, not over samples alone"
        )
    if steps > 1 and is_(right * steps):
        raise AssertionError(
            f"the gradient is {steps} times too large: a sum of means, not their mean"
        )
    if ranks > 1 and ranks != steps and is_(right * ranks):
        raise AssertionError(
            f"the gradient is {ranks} times too large: the sum over the ranks, not their mean"
        )
    for which, words in ((-1, "last"), (0, "first")):
        if steps > 1 and (is_(parts[which]) or is_(parts[which] / steps)):
            raise AssertionError(
                f"that is the gradient of the {words} batch alone: the others are lost"
            )
    if steps > 1 and is_(sum(parts[:-1]) / steps + parts[-1]):
        raise AssertionError(f"the last batch's loss was not divided by {steps}, as the others'")
    if ranks > 1 and is_(right / ranks):
        raise AssertionError(
            f"the gradient is 1/{ranks} of what it should be: DDP averages over the ranks already"
        )
    there = all(isinstance(other, torch.Tensor) for other in of_all)
    if not is_(right) and any("mode" in words for words in changes):
        raise AssertionError("it was computed in another mode: leave the model in its modes")
    if there and not is_(right) and any(not is_(other) for other in of_all):
        raise AssertionError(
            "the ranks have different gradients: what was gathered *before* the synchronising "
            "backward goes along with it, and what comes later stays on its rank"
        )
    if there and all(other.shape == right.shape for other in of_all):
        factor = (grad @ right / (right @ right)).item()
        assert not is_(factor * right) or is_(right), (
            f"the gradient is {factor:.4g} times what it should be, in every number: was it "
            "divided, scaled or clipped?"
        )
    if there and steps > 1 and not is_(right):
        check_shares(grad, parts)
    fine = {"rtol": 1e-4, "atol": 1e-6}
    if is_(right) and grad.dtype == right.dtype == torch.float64:
        fine = {"rtol": 1e-10, "atol": 1e-12}
        assert torch.allclose(grad, right, 1e-10, 1e-12), (
            ".grad is right to seven digits only: the model is float64, and on the way the "
            "gradient was rounded to float32"
        )
    check_close(grad, right, ".grad over all batches of all ranks", **fine)


def check_shares(grad, parts):
    """Refuse a sum of all batches' gradients in which they don't count alike."""
    table = torch.stack(parts, 1).double()
    shares = torch.linalg.lstsq(table, grad.double()[:, None]).solution[:, 0]
    told = ", ".join(f"{round(share, 3):g}" for share in shares.tolist())
    assert not torch.allclose(table @ shares, grad.double(), 1e-4, 1e-6), (
        f"the batches' gradients were added up with the factors {told}: each counts alike"
    )


def check_rounds(calls, later):
    rounds = [name for name in calls if name != "broadcast"]
    assert rounds, (
        "the ranks sent nothing: the last batch's backward has to synchronise; or is there no "
        "answer yet?"
    )
    assert rounds == ["all_reduce"], (
        f"{len(rounds)} calls ({', '.join(rounds)}), expected one all_reduce: forward *and* "
        "backward of all batches but the last belong in no_sync, and DDP's own all_reduce of the "
        "last does the rest"
    )
    assert "all_reduce" in later, "after it an ordinary backward no longer synchronises"
