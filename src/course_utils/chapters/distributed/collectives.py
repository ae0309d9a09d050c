"""Exercises 17.2 and 17.3: collectives from send and recv, and the ring."""

from __future__ import annotations

from itertools import combinations

import torch

from course_utils.chapters.distributed.launches import (
    OVERWRITTEN,
    alike,
    check_bytes,
    check_ran,
    launched,
    left_out,
    told_in_place,
    try_states,
    with_lasts,
)
from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_close
from course_utils.learner.ranks import count_traffic, rank_device
from course_utils.learner.tracebacks import ends_in_notebook

KINDS = ("broadcast", "all_gather", "reduce_scatter", "reduce")
CHANGED = "x was changed: receive into a tensor of your own (torch.empty_like, clone)"


def run_collectives(answer, world_size: int, cases: list) -> list | str:
    """For each rank and case: the result, whether x is as before, and the calls that were made."""

    def work(rank, world_size):
        found, given = [], []
        for kind, tensors, root in cases:
            print(f"{kind}, shape {tuple(tensors[rank].shape)}, root {root}")
            last = left_out(answer, "root", 0) if root is None else [root]
            x = own_copy(tensors[rank])  # a case doesn't see what another changed
            before = x.clone()
            with count_traffic() as traffic, told_in_place(CHANGED):
                y = answer(kind, x, *last)
            given.append(y)
            y = y.cpu().clone() if isinstance(y, torch.Tensor) else y
            came = "recv" in traffic.count()
            kept = alike(before, x)
            found.append((y, kept, sorted(traffic.count()), traffic.nbytes("send"), came))
        found = with_lasts(found, given)
        for kind in KINDS if world_size == 3 else ():
            x = torch.arange(6.0, device=rank_device()).view(3, 2) + 10.0**rank
            what = f"collectives_from_sendrecv({kind!r}, x, 0)"
            try_states(lambda x, kind=kind: answer(kind, x, 0), x, what=what)
        return found

    return launched(work, world_size)


def own_copy(x):
    """A copy with the strides of ``x``, also where it is expanded."""
    x = x.to(rank_device())
    dense = x[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in x.stride())]
    return dense.clone().expand(x.shape)


@ends_in_notebook
def check_collectives(try_collectives, world_size, cases):
    found = try_collectives(world_size, cases)
    check_ran(found, world_size, "collectives_from_sendrecv")
    with every_case() as case:
        for number, (kind, tensors, root) in enumerate(cases):
            whole = torch.stack([x.contiguous() for x in tensors])
            where, root = ("left out" if root is None else root), root or 0
            elsewhere = any(of_rank[number][0] is not None for of_rank in found)
            for rank in range(world_size):
                shape = tuple(tensors[0].shape)
                with case(f"{kind}, root {where}, shape {shape}, rank {rank} of {world_size}"):
                    assert kind != "reduce" or rank != root or found[rank][number][0] is not None, (
                        f"it returned None, and rank {root} is the root: the sum is wanted here"
                        if elsewhere
                        else "it returned None: is there an answer yet?"
                    )
                    check_one_collective(kind, whole, root, rank, *found[rank][number])


def check_one_collective(kind, whole, root, rank, result, untouched, calls, sent, came, lasts):
    right = {
        "broadcast": whole[root],
        "reduce": whole.sum(0, dtype=whole.dtype) if rank == root else None,
        "all_gather": whole,
        "reduce_scatter": whole[:, rank].sum(0, dtype=whole.dtype) if whole.dim() > 1 else None,
    }[kind]
    used = sorted(set(calls) - {"send", "recv"})
    assert not used, f"only send and recv are allowed, and {', '.join(used)} was called"
    assert untouched, CHANGED
    assert lasts, OVERWRITTEN
    if right is None:
        assert result is None, f"the sum is wanted on rank {root} alone; elsewhere return None"
        check_travelled(kind, whole, root, rank, sent, came)
        return
    if kind.startswith("reduce"):
        check_integers(result, right, whole if kind == "reduce" else whole[:, rank])
    if isinstance(result, torch.Tensor) and result.shape == right.shape and result.numel():
        if kind.startswith("reduce"):
            check_sum_slips(result, right, whole if kind == "reduce" else whole[:, rank], rank)
        if kind == "reduce_scatter":
            check_part_of_another(result, whole, rank)
        same = result.dtype == right.dtype and torch.equal(result, right)
        if kind == "all_gather" and not same and same_rows(result, right):
            raise AssertionError("the rows are there in another order: row r is the x of rank r")
        of_rank_0 = kind == "broadcast" and torch.equal(result, whole[0])
        if of_rank_0 and not torch.equal(whole[0], right):
            raise AssertionError(f"that is the x of rank 0, and root is {root}")
        if kind == "broadcast" and root == 0 and not same and in_rows(result, whole):
            raise AssertionError(
                "that is the x of another rank: root is 0 here, also where it is left out"
            )
        if not same:
            check_came(kind, whole, root, rank, result, right)
    check_every_digit(result, right, "the result")
    check_travelled(kind, whole, root, rank, sent, came)


def check_came(kind, whole, root, rank, result, right):
    """Refuse a result in which this rank's own x stands where another's should have come."""
    for other in set(range(len(whole))) - {rank}:
        held = whole.double().clone()
        held[other] = held[rank]
        slip = {
            "broadcast": lambda held=held: held[root],
            "reduce": lambda held=held: held.sum(0),
            "all_gather": lambda held=held: held,
            "reduce_scatter": lambda held=held: held[:, rank].sum(0),
        }[kind]()
        if torch.allclose(result.double(), slip) and not torch.allclose(right.double(), slip):
            raise AssertionError(
                f"the x of rank {other} did not come here: this rank's own is in its place"
            )


def in_rows(result, whole):
    return any(torch.equal(result.to(row), row) for row in whole)


def same_rows(result, right):
    """Has it the same rows, in whatever order?"""
    return sorted(map(torch.Tensor.tolist, result)) == sorted(map(torch.Tensor.tolist, right))


def check_part_of_another(result, whole, rank):
    """Refuse the sum that belongs to another rank."""
    sums = whole.sum(0, dtype=whole.dtype)
    for other, part in enumerate(sums):
        same = result.dtype == part.dtype and torch.equal(result, part)
        if same and not torch.equal(part, sums[rank]):
            raise AssertionError(
                f"that is the sum of x[{other}], and this is rank {rank}: on rank r of x[r]"
            )


def check_sum_slips(result, right, parts, rank):
    """Words for sums in which a part is missing, comes twice, or all are divided."""
    slips = {
        "that is the rank's own part: nothing was added to it": parts[rank].double(),
        "the rank's own part is missing in the sum": right.double() - parts[rank].double(),
        "the rank's own part is in the sum twice": right.double() + parts[rank].double(),
        "that is the mean of the ranks: the sum is wanted": parts.double().mean(0),
    }
    check_ends_kept(result, right)
    for words, slip in slips.items():
        if torch.allclose(result.double(), slip) and not torch.allclose(right.double(), slip):
            raise AssertionError(words)


def check_ends_kept(result, right):
    """Refuse a sum in which a NaN, an infinity or small numbers are lost."""
    assert not (right.isnan() & ~result.isnan()).any(), (
        "a rank's NaN, or infinity minus infinity, is missing in the sum: NaN plus a number is NaN"
    )
    assert not (right.isinf() & result.isfinite()).any(), (
        "a rank's infinity became a finite number: add the numbers as they are"
    )
    lost = result.isfinite() & ~torch.isclose(result.double(), right.double(), 1e-2, 0)
    assert not (lost & (right.abs() < 1e-6)).any(), (
        "small numbers are lost in the sum: add them as they are, without a limit"
    )


def check_every_digit(result, right, what):
    """As `check_close`; for float64 to 13 digits, and a result that has only seven is told so."""
    close = {"rtol": 1e-13, "atol": 1e-13} if right.dtype == torch.float64 else {}
    fits = isinstance(result, torch.Tensor) and result.shape == right.shape
    if close and fits and result.dtype == right.dtype:
        near, exact = (torch.allclose(result, right, tol, tol) for tol in (1e-6, 1e-13))
        assert exact or not near, (
            f"{what} is right to seven digits only: x is float64, and on the way it was rounded "
            "to float32"
        )
    if fits and result.dtype == right.dtype == torch.float16:
        near, exact = (torch.allclose(result, right, tol, 1e-5) for tol in (1e-2, 1e-3))
        assert exact or not near, f"{what} is right to two digits only: was it bfloat16 on the way?"
    check_close(result, right, what, **close)


def check_integers(result, right, parts):
    if not isinstance(result, torch.Tensor) or right.is_floating_point():
        return
    assert result.dtype != torch.int64 or right.dtype == torch.int64, (
        f"the result is int64, and x is {right.dtype}: sum() makes int64 of smaller integers, if "
        "it isn't told a dtype"
    )
    rounded = (parts.to(dtype).sum(0).to(right) for dtype in (torch.float64, torch.float32))
    if result.shape == right.shape and any(torch.equal(result.to(right), r) for r in rounded):
        if result.dtype != right.dtype and not result.is_floating_point():
            return
        assert torch.equal(result, right), (
            "the integers were added up in floating point, which rounds large ones: add them in "
            "the dtype of x"
        )


def check_travelled(kind, whole, root, rank, sent, came):
    """Refuse a result that didn't come by ``send`` and ``recv``: who holds x has to send it."""
    ranks = len(whole)
    if ranks == 1 or not whole.numel():
        return
    gives = {"broadcast": rank == root, "reduce": rank != root}.get(kind, True)
    takes = {"broadcast": rank != root, "reduce": rank == root}.get(kind, True)
    rows = (ranks - 1, ranks) if kind == "reduce_scatter" else (1, 1)  # its own row stays
    least = whole[rank].nbytes * rows[0] // rows[1]
    assert not gives or sent >= least, (
        f"this rank handed {sent} bytes to send, and others need {least} of it: how did they come "
        "by them? Values travel by send and recv alone"
    )
    assert not takes or came, "this rank received nothing by recv, and its result needs the others"


def run_ring(answer, world_size: int, cases: list) -> list | str:
    """For each rank and case: the result, whether x is as before, and the calls that were made."""

    def work(rank, world_size):
        found, given = [], []
        for tensors in cases:
            print(f"shape {tuple(tensors[rank].shape)}")
            x = own_copy(tensors[rank])
            before = x.clone()
            with count_traffic() as traffic, told_in_place("x was changed: work on a copy"):
                y = answer(x)
            kept, copied = alike(before, x), not share_memory(x, y)
            given.append(y)
            y = y.cpu().clone() if isinstance(y, torch.Tensor) else y
            found.append((y, kept, copied, [tuple(call) for call in traffic.calls]))
        found = with_lasts(found, given)
        if world_size == 2:
            x = torch.arange(6.0, device=rank_device()).view(3, 2) + 10.0**rank
            try_states(answer, x, what="ring_all_reduce(x)")
        return found

    return launched(work, world_size)


def share_memory(x, y):
    if not isinstance(y, torch.Tensor) or not x.numel():
        return False
    return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()


@ends_in_notebook
def check_ring(try_ring, world_size, cases):
    found = try_ring(world_size, cases)
    hint = "Are there as many chunks as ranks? chunk(n) can make fewer, tensor_split(n) never."
    check_ran(found, world_size, "ring_all_reduce", [("IndexError", hint)])
    with every_case() as case:
        for number, tensors in enumerate(cases):
            x = tensors[0]
            right = sum(x.double() for x in tensors).to(x.dtype)
            for rank in range(world_size):
                result, kept, copied, calls, lasts = found[rank][number]
                with case(f"shape {tuple(x.shape)}, {x.dtype}, rank {rank} of {world_size}"):
                    used = sorted({name for name, _, _ in calls} - {"send", "recv"})
                    assert not used, f"only send and recv are allowed, not {', '.join(used)}"
                    check_ring_slips(result, right, tensors, rank)
                    check_every_digit(result, right, "the sum")
                    assert kept, "x was changed: work on a copy"
                    assert copied, "the result lies in the memory of x: return a copy"
                    assert lasts, OVERWRITTEN
                    check_bytes(calls, rank, world_size, x)
                    first = found[0][number][0]
                    assert alike(result, first) or not near(first, right), (
                        "these are not the bits of rank 0's sum: a chunk's sum is finished on one "
                        "rank, and all others take it as it is"
                    )
                    check_went_round(calls, tensors[rank], world_size)


def near(first, right):
    same = isinstance(first, torch.Tensor) and first.shape == right.shape
    return same and torch.allclose(first.to(right), right, 1e-2, 1e-2, equal_nan=True)


def check_went_round(calls, x, world_size):
    """Refuse a sum that didn't come by ``send`` and ``recv``: each rank's x has to leave it."""
    sent = sum(nbytes for name, nbytes, _ in calls if name == "send")
    came = any(name == "recv" for name, _, _ in calls)
    if world_size > 1 and x.numel() and (sent < x.nbytes or not came):
        raise AssertionError(
            f"this rank handed {sent} bytes to send, and its x has {x.nbytes}"
            + ("" if came else "; it received nothing by recv")
            + ": values travel by send and recv alone"
        )


def check_ring_slips(result, right, tensors, rank):
    same = isinstance(result, torch.Tensor) and result.shape == right.shape
    if not same or result.dtype != right.dtype:
        return
    check_ends_kept(result, right)
    if torch.allclose(result, right, equal_nan=True):
        return
    lost = result.isnan().any() and not right.isnan().any()
    assert not lost, (
        "NaN: infinity times 0 is NaN, or minus itself; a finished chunk is copied over what is "
        "there"
    )
    if torch.allclose(result, ring_that_only_adds(tensors)[rank].view(right.shape).to(right)):
        raise AssertionError(
            "what comes in was added in the second half as well: by then it is a finished sum, and "
            "replaces what is there"
        )
    slips = {
        "that is the mean of the ranks: the sum is wanted": right / len(tensors),
        "that is this rank's own x: nothing was added to it": tensors[rank],
    }
    copied = (
        "; reshape(), flatten() and contiguous() copy where strides ask for it: return what you "
    )
    copied = "" if tensors[rank].is_contiguous() else copied + "added into"
    for words, slip in slips.items():
        if torch.allclose(result, slip) and not torch.allclose(right, slip):
            raise AssertionError(words + copied)
    for steps, words in (
        ((1, 0), "one step of adding too many: after n - 1 steps what comes in replaces"),
        ((-1, 0), "one step of adding too few: n - 1 steps add, n - 1 more replace"),
        ((0, -1), "the last step is missing: n - 1 steps add, n - 1 more replace"),
        ((0, 1 - len(tensors)), "one chunk alone is finished: n - 1 more steps bring the others"),
    ):
        slip = ring_by_steps(tensors, *steps)[rank].view(right.shape).to(right)
        if torch.allclose(result, slip) and not torch.allclose(right, slip):
            raise AssertionError(words)
    if torch.allclose(*(values.flatten().sort().values for values in (result, right))):
        raise AssertionError(
            "the sums are right and stand in another order: give the flat row the shape of x "
            "(view, reshape), whatever the strides of x"
        )
    mine, wrong = tensors[rank], ~torch.isclose(result, right)
    first = int(wrong.flatten().nonzero()[0])
    if wrong.flatten()[first:].all() and torch.equal(result[wrong], mine[wrong]):
        raise AssertionError(
            f"from element {first} on it is this rank's own x: the remainder of "
            f"{mine.numel()} elements cut into {len(tensors)} chunks was left out"
        )
    of_some = [
        torch.isclose(result, sum(x.double() for x in some).to(right))
        for count in range(1, len(tensors))
        for some in combinations(tensors, count)
    ]
    if of_some and torch.stack(of_some).any(0)[wrong].all():
        raise AssertionError(
            f"element {first} is the sum over some ranks alone: the second half passes finished "
            "chunks on, and begins with the one that this rank has finished"
        )


def ring_that_only_adds(tensors):
    return ring_by_steps(tensors, len(tensors) - 1, 0)


def ring_by_steps(tensors, more, later):
    """What each rank has if so many steps more add, and the ring ends so many steps later."""
    ranks = len(tensors)
    held = [x.double().flatten() for x in tensors]
    chunks = [x.clone().tensor_split(ranks) for x in held]
    adds = ranks - 1 + more
    for step in range(2 * (ranks - 1) + later):
        before = [[chunk.clone() for chunk in row] for row in chunks]
        for rank in range(ranks):
            place = (rank - step - 1) % ranks
            came = before[(rank - 1) % ranks][place]
            chunks[rank][place].copy_(came + chunks[rank][place] if step < adds else came)
    return [torch.cat(row) for row in chunks]
