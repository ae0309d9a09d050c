"""Exercise 17.11: the largest entries alone, with error feedback."""

from __future__ import annotations

import torch
from torch.utils._pytree import tree_leaves

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


class count_dtypes(count_traffic):
    """Also notes the dtypes of the tensors that are handed to collectives."""

    def __init__(self) -> None:
        super().__init__()
        self.dtypes: set[torch.dtype] = set()

    def _note(self, func, args, kwargs):
        super()._note(func, args, kwargs)
        leaves = tree_leaves((args, kwargs))
        self.dtypes |= {leaf.dtype for leaf in leaves if isinstance(leaf, torch.Tensor)}


CHANGED = "the gradient or the residual that was handed in was changed"


def run_compress(answer, world_size: int, cases: list) -> list | str:
    """For each rank and case: what was returned, whether arguments are as before, the bytes."""

    def work(rank, world_size):
        found, given = [], []
        for gradients, residuals, k in cases:
            print(f"shape {tuple(gradients[rank].shape)}, k = {k}")
            pair = [x[rank].to(rank_device(), copy=True) for x in (gradients, residuals)]
            before = [x.clone() for x in pair]
            with count_dtypes() as traffic, told_in_place(CHANGED):
                result = answer(*pair, k)
            given.append(result)
            kept = all(map(torch.equal, pair, before))
            if isinstance(result, (tuple, list)):
                result = [x.cpu().clone() if isinstance(x, torch.Tensor) else x for x in result]
            found.append((result, kept, traffic.nbytes(), sorted(traffic.dtypes, key=str)))
        found = with_lasts(found, given)
        if world_size == 3:
            gradient = torch.tensor([[9.0, -7], [2, 5], [-3, 1]], device=rank_device())
            gradient = gradient + rank / 4  # no ties
            what = "compress(gradient, residual, 2)"
            try_states(lambda *pair: answer(*pair, 2), gradient, gradient / 8, what=what)
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
    hint = "Where there are fewer than k entries, all of them are sent."
    check_ran(found, world_size, "compress", [("k out of range", hint)])
    slips = slips_of(found, cases)
    with every_case() as case:
        for number, (gradients, residuals, k) in enumerate(cases):
            totals = [(g + r).contiguous() for g, r in zip(gradients, residuals, strict=True)]
            sent = [top(total, k) for total in totals]
            average = average_of(sent, world_size)
            for rank in range(world_size):
                result, kept, nbytes, dtypes, lasts = found[rank][number]
                x = gradients[rank]
                with case(
                    f"shape {tuple(x.shape)}, {x.dtype}, k = {k}, rank {rank} of {world_size}"
                ):
                    assert result is not None, "it returned None: is there an answer yet?"
                    pair = isinstance(result, list) and len(result) == 2
                    assert pair, "expected a tuple of two tensors: (average, rest)"
                    rest = totals[rank] - sent[rank]
                    for name, got, right in zip(NAMES, result, (average, rest), strict=True):
                        fits = like(got, right) or beyond(got, right) or name not in slips
                        assert fits, f"{name}{slips.get(name)}"
                    lost = like(result[0], average) and ((result[0] == 0) & (average != 0)).any()
                    assert not lost, (
                        "average is 0 where a small number was sent: choose the largest, however "
                        "small they are"
                    )
                    assert not beyond(result[0], average), (
                        f"average is not finite where {average.abs().max():g} is right: the sum "
                        f"over the ranks went beyond {x.dtype}; divide each part before you add "
                        "it, or add up in a wider dtype"
                    )
                    near = {"rtol": 1e-5, "atol": 1e-6}
                    close = dict.fromkeys(near, 1e-13) if x.dtype == torch.float64 else near
                    rounded = x.dtype == torch.float64 and like(result[0], average)
                    assert not rounded or like(result[0], average, 1e-13, 1e-13), (
                        "average is right to seven digits only: the gradient is float64, and on "
                        "the way it was rounded to float32"
                    )
                    check_close(result[0], average, "average", **close)
                    check_close(result[1], totals[rank] - sent[rank], "rest", **close)
                    exact = any(not d.is_floating_point or d.itemsize == 8 for d in dtypes)
                    dense = nbytes == x.nbytes and k < x.numel()
                    assert exact or not dense, (
                        "the whole tensor was handed in: hand in the k values and their positions"
                    )
                    assert exact or not dtypes or k >= x.numel(), (
                        f"positions travelled as {dtypes[-1]}: float32 holds whole numbers up to "
                        "2**24 only, and gradients are longer; send integers"
                    )
                    most = k * (8 + x.itemsize)
                    least = min(k, x.numel()) * x.itemsize
                    assert nbytes >= least or world_size == 1, (
                        f"{nbytes} bytes were handed to collectives, and the values alone are "
                        f"{least}: how did the others come by them?"
                    )
                    assert nbytes <= most, (
                        f"{nbytes} bytes were handed in, at most {most} are allowed: "
                        + too_many(dtypes, x.dtype)
                    )
                    assert kept, CHANGED
                    assert lasts, OVERWRITTEN


NAMES = ("average", "rest")


def too_many(dtypes, dtype):
    """Why more bytes travelled than k values and positions have."""
    wide = [d for d in dtypes if d.is_floating_point and d.itemsize > dtype.itemsize]
    if wide:
        return f"values travelled as {wide[0]}, and the gradient is {dtype}: send them in its dtype"
    return "k values and their positions, not the whole"


def like(got, right, far=1e-5, away=1e-6):
    same = isinstance(got, torch.Tensor) and got.shape == right.shape
    return same and torch.allclose(got.to(right), right, far, away)


def average_of(sent, ranks):
    """The sum, added up in float64, divided by the number of ranks."""
    return (sum(part.double() for part in sent) / ranks).to(sent[0].dtype)


def beyond(got, right):
    """Is it infinite or NaN where the right number isn't?"""
    same = isinstance(got, torch.Tensor) and got.shape == right.shape
    return same and bool((right.isfinite() & ~got.isfinite()).any())


def slips_of(found, cases):
    """For average and rest, words for a slip that explains each of its wrong values."""
    known = {}
    for number, (gradients, residuals, k) in enumerate(cases):
        totals = [(g + r).contiguous() for g, r in zip(gradients, residuals, strict=True)]
        sent = [top(total, k) for total in totals]
        average = average_of(sent, len(sent))
        averages = average_slips(totals, gradients, sent, k, average)
        for rank, of_rank in enumerate(found):
            result = of_rank[number][0]
            if not isinstance(result, list) or len(result) != 2:
                continue
            rests = rest_slips(gradients[rank], totals[rank], sent, rank, average)
            rights = average, totals[rank] - sent[rank]
            whole = {
                ": all of this rank's sum is in it: of its own, too, add only what it sent": (
                    average + rights[1] / len(sent)
                )
            }
            for name, got, right, slips in zip(
                NAMES, result, rights, (averages | whole, rests), strict=True
            ):
                if not like(got, right) and not beyond(got, right):
                    fit = [words for words, slip in slips.items() if like(got, slip)]
                    known[name] = [words for words in known.get(name, fit) if words in fit]
    return {name: fit[0] for name, fit in known.items() if fit}


def average_slips(totals, gradients, sent, k, right):
    """What comes out when other entries are sent, or the ranks' are put together otherwise."""

    def chosen(values, by, many=k):
        index = by.flatten().topk(min(many, by.numel())).indices
        flat = values.flatten()
        return torch.zeros_like(flat).index_copy(0, index, flat[index]).view(values.shape)

    def largest(total):
        return total.flatten().abs().topk(min(k, total.numel())).indices

    n, pairs = len(totals), list(zip(totals, gradients, strict=True))
    last = torch.zeros_like(sent[0])
    for mine in sent:
        last = torch.where(mine != 0, mine, last)
    slips = {
        ": the largest by sign were sent, not the largest in magnitude": [
            chosen(total, total) for total in totals
        ],
        ": the largest squares were sent, and a square may be infinite or 0: choose by abs()": [
            chosen(total, total.square()) for total in totals
        ],
        ": all entries were sent, not the k largest": totals,
        ": the smallest were sent": [chosen(total, -total.abs()) for total in totals],
        ": the entries were chosen by the gradient: choose by its sum with the residual": [
            chosen(total, gradient.abs()) for total, gradient in pairs
        ],
        ": the gradient's values were sent: send those of its sum with the residual": [
            chosen(gradient, total.abs()) for total, gradient in pairs
        ],
        ": the residual was left out": [top(gradient, k) for gradient in gradients],
        ": where ranks sent the same position, one overwrote the other: add": [last],
        ": magnitudes were sent, and their signs are lost": [mine.abs() for mine in sent],
        ": signs alone were sent": [mine.sign() for mine in sent],
        ": positions were sent in the values' dtype, which doesn't hold all whole numbers: send "
        "integers": [rounded_places(mine) for mine in sent],
        ": one entry more than k was sent": [top(total, k + 1) for total in totals],
        ": the ranks share k entries here: each sends k": [
            top(total, max(1, min(k, total.numel()) // n)) for total in totals
        ],
        ": all ranks' values were put at rank 0's positions": [
            torch.zeros_like(right)
            .flatten()
            .index_copy(0, largest(totals[0]), total.flatten()[largest(total)])
            .view(right.shape)
            for total in totals
        ],
    }
    slips = {words: average_of(parts, n) for words, parts in slips.items()}
    senders = torch.stack([mine != 0 for mine in sent]).sum(0)
    slips |= {
        " is zero everywhere: was it added into a copy? reshape() and flatten() copy where strides "
        "ask for it": torch.zeros_like(right),
        " is the sum of what was sent: divide by the number of ranks": right * n,
        ": what was sent was divided by k: divide by the number of ranks": right * n / k,
        ": what was sent was divided by the number of ranks that sent it: divide by all ranks": (
            right * n / senders.clamp(min=1)
        ),
    }
    return slips


def rest_slips(gradient, total, sent, rank, right):
    """What is kept when this rank keeps something else than what it didn't send."""
    return {
        " is the whole sum: what was sent must not be kept as well": total,
        " is zero: keep what this rank did not send, and add it to the next gradient": (
            torch.zeros_like(total)
        ),
        " is the sum minus the average: keep what *this* rank did not send": total - right,
        " is the gradient without what was sent: the old residual is lost": gradient - sent[rank],
        " is the gradient where nothing was sent: the old residual is lost": torch.where(
            sent[rank] != 0, torch.zeros_like(total), gradient
        ),
        " is the sum without what any rank sent: keep what *this* rank did not send": torch.where(
            torch.stack([part != 0 for part in sent]).any(0), torch.zeros_like(total), total
        ),
        " still has a part of what was sent: take off all that left, not its part of the average": (
            total - sent[rank] / len(sent)
        ),
        " was divided by the number of ranks: it stays on this rank as it is": (
            (total - sent[rank]) / len(sent)
        ),
    }


def rounded_places(sent):
    """What was sent, each entry where its position is when that is rounded to the dtype."""
    flat = sent.flatten()
    where = flat.nonzero().flatten()
    there = where.to(flat.dtype).long().clamp(max=flat.numel() - 1)
    return torch.zeros_like(flat).index_add(0, there, flat[where]).view(sent.shape)
