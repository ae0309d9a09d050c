"""Exercise 17.6: shards of unequal size."""

from __future__ import annotations

import torch

from course_utils.chapters.distributed.collectives import near, own_copy
from course_utils.chapters.distributed.launches import (
    OVERWRITTEN,
    check_ran,
    launched,
    told_in_place,
    try_states,
    with_lasts,
)
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
