"""Exercise 17.11: the largest entries alone, with error feedback."""

from __future__ import annotations

import torch
from torch.utils._pytree import tree_leaves

from course_utils.chapters.distributed.launches import check_ran, launched
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


def run_compress(answer, world_size: int, cases: list) -> list | str:
    """For each rank and case: what was returned, whether arguments are as before, the bytes."""

    def work(rank, world_size):
        found = []
        for gradients, residuals, k in cases:
            print(f"shape {tuple(gradients[rank].shape)}, k = {k}")
            pair = [gradients[rank].to(rank_device()), residuals[rank].to(rank_device())]
            before = [x.clone() for x in pair]
            with count_dtypes() as traffic:
                result = answer(*pair, k)
            kept = all(map(torch.equal, pair, before))
            if isinstance(result, (tuple, list)):
                result = [x.cpu() if isinstance(x, torch.Tensor) else x for x in result]
            found.append((result, kept, traffic.nbytes(), sorted(traffic.dtypes, key=str)))
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
                result, kept, nbytes, dtypes = found[rank][number]
                x = gradients[rank]
                with case(
                    f"shape {tuple(x.shape)}, {x.dtype}, k = {k}, rank {rank} of {world_size}"
                ):
                    assert result is not None, "it returned None: is there an answer yet?"
                    pair = isinstance(result, list) and len(result) == 2
                    assert pair, "expected a tuple of two tensors: (average, rest)"
                    check_choice(result[0], totals, gradients, k, average)
                    known_slips(*result, gradients[rank], totals[rank], sent, average, k)
                    near = {"rtol": 1e-5, "atol": 1e-6}
                    close = dict.fromkeys(near, 1e-13) if x.dtype == torch.float64 else near
                    check_close(result[0], average, "average", **close)
                    check_close(result[1], totals[rank] - sent[rank], "rest", **close)
                    exact = any(not d.is_floating_point or d.itemsize == 8 for d in dtypes)
                    dense = nbytes == x.nbytes and k < x.numel()
                    assert exact or not dense, (
                        "the whole tensor was handed in: hand in the k values and their positions"
                    )
                    assert exact or not dtypes, (
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
        f"positions were sent as {right.dtype}, which doesn't hold all whole numbers: they are "
        "int64": [rounded_places(mine) for mine in sent],
    }
    senders = torch.stack([mine != 0 for mine in sent]).sum(0)
    if senders.max() > 1:
        words = "what was sent was divided by the number of ranks that sent it: divide by all ranks"
        slips[words] = [right * n / senders.clamp(min=1) * n]
    for words, parts in slips.items():
        slip = sum(parts[1:], parts[0]) / n
        same = isinstance(average, torch.Tensor) and average.shape == slip.shape
        same = same and torch.allclose(average.to(slip), slip, 1e-5, 1e-6)
        if same and not torch.allclose(slip, right, 1e-5, 1e-6):
            raise AssertionError(f"average: {words}")


def rounded_places(sent):
    """What was sent, each entry where its position is when that is rounded to the dtype."""
    flat = sent.flatten()
    where = flat.nonzero().flatten()
    there = where.to(flat.dtype).long().clamp(max=flat.numel() - 1)
    return torch.zeros_like(flat).index_add(0, there, flat[where]).view(sent.shape)


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
        "the sum without what any rank sent: keep what *this* rank did not send": torch.where(
            torch.stack([part != 0 for part in sent]).any(0), torch.zeros_like(total), total
        ),
    }
    for words, value in wrong.items():
        if like(rest, value) and not like(value, total - own):
            raise AssertionError(f"rest is {words}")
