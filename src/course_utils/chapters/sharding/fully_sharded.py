"""Exercise 18.3: parameters that no rank has whole."""

from __future__ import annotations

import operator

import torch

from course_utils.chapters.sharding.gathering import LargeTensors, ledger
from course_utils.chapters.sharding.jobs import (
    Sent,
    Untouched,
    check_evaluations,
    gradients_are_on,
    random_like,
)
from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook


def whole_matrices(sizes: list) -> list[torch.Tensor]:
    return [random_like((o, i), n) / i**0.5 for n, (o, i) in enumerate(sizes)]


def run_fully_sharded(rank, world_size, fully_sharded, sizes, batch, with_input):
    shards = [w.chunk(world_size)[rank].clone().requires_grad_() for w in whole_matrices(sizes)]
    x = random_like((batch, sizes[0][1]), 50, rank).requires_grad_(with_input)
    handed = list(shards)
    leaves = {f"shards[{n}]": shard for n, shard in enumerate(shards)} | {"x": x}
    untouched = Untouched(leaves)
    with Sent() as traffic:
        found = _forward_and_backward(rank, fully_sharded, x, shards, sizes)
    others = len(traffic.names) - ledger["gathers"] - ledger["scatters"]
    same = len(shards) == len(handed) and all(map(operator.is_, shards, handed))
    assert same, "the list `shards` was changed: it is the caller's"
    changes = untouched.changes()
    assert not changes, "; ".join(changes[:2])
    first = [leaf.grad for leaf in leaves.values()]
    _clear(leaves)
    _forward_and_backward(rank, fully_sharded, x, shards, sizes)
    other = _unlike(leaves, first)
    assert not other, (
        f"a second call with the same x and shards gives another {other}.grad: does the first one "
        "remember something?"
    )
    _clear(leaves)
    _backward_behind_another_call(rank, fully_sharded, x, shards)
    other = _unlike(leaves, first)
    assert not other, (
        f"another call before the backward pass of the first gives another {other}.grad: what a "
        "backward pass needs belongs on the ctx of its call"
    )
    _clear(leaves)
    out = fully_sharded(x * 1.0, shards)
    out.backward(random_like(out.shape, 60, rank))
    assert not _unlike({"x": x}, first[-1:]), (
        "where x comes from a layer, no right gradient comes back to that layer: x.grad is not for "
        "you to write; return it from a Function's backward"
    )
    _forward_and_backward(rank, fully_sharded, x, shards, sizes)
    other = _unlike(leaves, [grad if grad is None else 2 * grad for grad in first])
    assert not other, (
        f"{other}.grad is not added to what was there before the backward pass: return the "
        "gradient from a Function's backward, or add to .grad"
    )
    _one_shard_twice(rank, fully_sharded, shards, sizes)
    found[1]["three calls"] = _alive_after_three_calls(fully_sharded, x, shards, sizes)
    _one_rank_has_no_gradient(rank, fully_sharded, x, shards)
    check_evaluations(
        "fully_sharded", lambda x, *shards: fully_sharded(x, list(shards)), [x, *shards], found[0]
    )
    return found[0], first[:-1], first[-1], *found[1:], others


def _clear(leaves: dict) -> None:
    for leaf in leaves.values():
        leaf.grad = None


def _unlike(leaves: dict, grads: list) -> str | None:
    """The first leaf whose .grad is another than the one given for it."""
    for (name, leaf), grad in zip(leaves.items(), grads, strict=True):
        if grad is None or leaf.grad is None:
            if leaf.grad is not grad:
                return name
        elif not torch.allclose(grad, leaf.grad, 1e-4, 1e-5):
            return name
    return None


def _one_shard_twice(rank, fully_sharded, shards, sizes):
    """A square matrix that is two layers: its gradient is that of two matrices of its numbers."""
    for (out, width), shard in zip(sizes, shards, strict=True):
        if out != width:
            continue
        pair = [shard.detach().clone().requires_grad_() for _ in range(2)]
        tied = shard.detach().clone().requires_grad_()
        x = random_like((3, width), 52, rank)
        for both in (pair, [tied, tied]):
            fully_sharded(x, both).square().sum().backward()
        if tied.grad is None or any(one.grad is None for one in pair):
            raise AssertionError("of a list of two square shards one gets no gradient")
        assert torch.allclose(tied.grad, pair[0].grad + pair[1].grad, 1e-4, 1e-5), (
            "where one shard stands in the list twice, its gradient is the sum of both places"
        )
        return


def _alive_after_three_calls(fully_sharded, x, shards, sizes):
    """The most whole matrices in three forward passes, whose backward passes are still to come."""
    with LargeTensors(whole_matrices(sizes)) as large:
        graphs = [fully_sharded(x, shards) for _ in range(3)]
    return large.most if graphs else 0


def _one_rank_has_no_gradient(rank, fully_sharded, x, shards):
    """Zeros come back on rank 0 alone: the others' mean needs its part all the same."""
    calls = []
    for factor in (1, rank):
        out, before = fully_sharded(x, shards), dict(ledger)
        out.backward(factor * random_like(out.shape, 60, rank))
        calls.append({name: ledger[name] - before[name] for name in before})
    assert calls[0] == calls[1], (
        "where a rank's own gradient is zero, its backward pass leaves out calls of gather_rows or "
        "scatter_mean_rows, and the other ranks wait for it: all ranks call them in the same order"
    )


def _backward_behind_another_call(rank, fully_sharded, x, shards):
    """Two calls, and then the backward pass of the first."""
    out = fully_sharded(x, shards)
    fully_sharded(random_like(x.shape, 51, rank), shards)
    out.backward(random_like(out.shape, 60, rank))


def _forward_and_backward(rank, fully_sharded, x, shards, sizes):
    """Output; the ledger after the forward pass and at the end; large tensors alive at each."""
    wholes = [o * i for o, i in sizes]
    apart = min(wholes) > max(len(x) * width for size in sizes for width in size)
    with LargeTensors(whole_matrices(sizes)) as large:
        out = fully_sharded(x, shards)
        gradients_are_on("fully_sharded")
        is_tensor = isinstance(out, torch.Tensor)
        assert is_tensor, f"fully_sharded returned {out!r}, no tensor: is there an answer yet?"
        forward = {**ledger, "most": large.most, "large": large.alive() if apart else 0}
        shape = (len(x), sizes[-1][0])
        assert tuple(out.shape) == shape, (
            f"the result has shape {tuple(out.shape)}, expected {shape}: "
            + (
                "each layer needs the whole matrix"
                if out.shape[-1:] == (len(shards[-1]),)
                else "there is a layer for each entry of `shards`"
            )
        )
        assert out.requires_grad, "the result has no graph: nothing leads back to the shards"
        upstream = random_like(out.shape, 60, rank)
        handed = upstream.clone()
        values = out.detach().clone()
        out.backward(handed)
        assert torch.equal(out, values), (
            "the backward pass changed the result of the call, which is the caller's: it works in "
            "place on what was returned or saved"
        )
        assert torch.equal(handed, upstream), (
            "the backward pass changed the gradient that it was handed, which isn't its own: "
            "multiply into a new tensor, not in place"
        )
    end = {**ledger, "most": large.most, "large": large.alive() if apart else 0}
    return out.detach(), forward, end


def ordinary_stack(rank, world_size, sizes, batch, slope=None):
    """One process's output and gradients; with a slip: as if tanh had this derivative."""
    whole = [w.requires_grad_() for w in whole_matrices(sizes)]
    h = x = random_like((batch, sizes[0][1]), 50, rank).requires_grad_()
    for w in whole:
        z = h @ w.T
        h = torch.tanh(z)
        if slope is not None:
            h = h.detach() + slope(h.detach()) * (z - z.detach())
    (h * random_like(h.shape, 60, rank)).sum().backward()
    return h.detach(), [w.grad for w in whole], x.grad


SLOPES = {
    "is what comes out without the derivative of tanh": torch.ones_like,
    "is what comes out where tanh has the derivative 1 - tanh: its square is missing": (
        lambda out: 1 - out
    ),
    "is what comes out where tanh is taken once more in its derivative: one minus the output "
    "squared is enough": lambda out: 1 - torch.tanh(out).square(),
    "is what comes out where tanh has the derivative 1 - 2 tanh: it is the square that is "
    "subtracted, not the double": lambda out: 1 - 2 * out,
    "is what comes out where tanh has the derivative 1 + tanh²: the square is subtracted": (
        lambda out: 1 + out.square()
    ),
    "is what comes out where tanh has the derivative tanh² - 1: that is turned round": (
        lambda out: out.square() - 1
    ),
    "is what comes out where the derivative of tanh is one minus the square of its input: it is "
    "its output's": lambda out: 1 - torch.atanh(out).square(),
    "is what comes out where a gradient is divided by the derivative of tanh: multiply by it": (
        lambda out: 1 / (1 - out.square())
    ),
}


@ends_in_notebook
def check_fully_sharded(found, world_size, sizes, batch, with_input):
    if isinstance(found, str) and "returned an invalid gradient" in found:
        found = (
            "a backward returns for each tensor a gradient of its shape, for a shard that of its "
            f"own rows\n{found}"
        )
    assert not isinstance(found, str), found
    truths = [ordinary_stack(r, world_size, sizes, batch) for r in range(world_size)]
    odd = {
        words: [ordinary_stack(r, world_size, sizes, batch, slope) for r in range(world_size)]
        for words, slope in SLOPES.items()
    }
    wrong = []
    for rank, (out, grads, x_grad, forward, end, others) in enumerate(found):
        check_output(out, truths[rank][0], rank, sizes, batch)
        if others:
            wrong.append(
                f"{others} collectives beside gather_rows and scatter_mean_rows: reach the other "
                "ranks only through these two"
            )
        if forward["gathers"] < len(sizes):
            wrong.append("gather_rows was called less than once a layer in the forward pass")
        if end["most"] > 2:
            wrong.append(
                f"{end['most']} whole matrices were alive at once in the "
                f"{'forward' if forward['most'] > 2 else 'backward'} pass, copies included, and "
                "two may be: what holds them? A list does, a copy (also one that is turned), and "
                "an operator of autograd, which saves its operands. Free each matrix after its "
                "layer, and gather it again in backward"
            )
        elif forward["three calls"] > 2:
            wrong.append(
                f"{forward['three calls']} whole matrices were alive at once after three calls "
                "without a backward pass, and two may be: a call keeps one for its backward pass; "
                "gather it again there"
            )
        for when, kept in (("after the forward pass", forward), ("after the backward pass", end)):
            if kept["large"] > 2 and end["most"] <= 2:
                wrong.append(
                    f"{when} {kept['large']} tensors as large as a whole matrix are alive: "
                    "a matrix is freed only if no one keeps a copy of it"
                )
        wrong += _wrong_gradients(grads, truths, odd, rank, batch)
        if with_input and x_grad is None:
            wrong.append("x.grad is None, though x requires grad")
        elif with_input:
            wrong.append(_wrong_input_gradient(x_grad, truths, odd, rank))
    wrong = [words for words in wrong if words]
    assert not wrong, some_of(wrong)


def check_output(out, right, rank, sizes, batch):
    """The output, with words for other layers."""
    h = random_like((batch, sizes[0][1]), 50, rank)
    *first, last = whole_matrices(sizes)
    for w in first:
        h = torch.tanh(h @ w.T)
    slips = {"the last layer has its tanh as well": h @ last.T}
    h = random_like((batch, sizes[0][1]), 50, rank)
    for w in (*first, last):
        h = torch.relu(h @ w.T)
    slips["each layer ends with tanh, not with relu"] = h
    for words, slip in slips.items():
        close = torch.allclose(out, slip, 1e-4, 1e-5)
        assert not close or torch.allclose(slip, right, 1e-4, 1e-5), (
            f"rank {rank}'s output: {words}"
        )
    check_close(out, right, f"rank {rank}'s output", rtol=1e-4, atol=1e-5)


def _wrong_gradients(grads, truths, odd, rank, batch):
    """Words for wrong gradients of the shards; a slip is named where it explains all of them."""
    world_size, numbers = len(truths), range(len(grads))

    def mean_rows(all_ranks):
        means = [sum(one[1][n] for one in all_ranks) / world_size for n in numbers]
        return [mean.chunk(world_size)[rank] for mean in means]

    def close(a, b):
        return a.shape == b.shape and torch.allclose(a, b, 1e-4, 1e-6)

    wrong, right = [], mean_rows(truths)
    for n in numbers:
        if grads[n] is None or not grads[n].any():
            what = "None" if grads[n] is None else "all zeros"
            where = f"shards[{n}].grad on rank {rank} is {what}"
            wrong.append(f"{where}: no gradient comes back to it from the loss")
    there = [n for n in numbers if grads[n] is not None and grads[n].any()]
    failing = [n for n in there if not close(grads[n], right[n])]
    slips = {
        "comes from this rank's batch alone: average over the ranks": [
            truths[rank][1][n].chunk(world_size)[rank] for n in numbers
        ],
        **{words: mean_rows(stacks) for words, stacks in odd.items()},
        f"is 1/{batch} of the mean: it was divided by the rows of x, and the loss sums or averages "
        "over them by itself": [mean / batch for mean in right],
        f"is 1/{world_size} of the mean: scatter_mean_rows gives the mean already": [
            mean / world_size for mean in right
        ],
        f"is {world_size} times what it should be: the sum, not the mean": [
            mean * world_size for mean in right
        ],
        f"is 1/{world_size} of it for each layer after it: only the shards get a mean, and not "
        "the gradient that a layer hands on": [
            mean / world_size ** (len(grads) - 1 - n) for n, mean in enumerate(right)
        ],
    }
    names = ", ".join(f"shards[{n}].grad" for n in failing) + f" on rank {rank}"
    for words, slip in slips.items():
        if failing and all(close(grads[n], slip[n]) for n in there):
            return [*wrong, f"{names} {words}"]
    for n in failing:
        try:
            name = f"shards[{n}].grad on rank {rank}"
            check_close(grads[n], right[n], name, rtol=1e-4, atol=1e-5)
        except AssertionError as error:
            wrong.append(str(error))
    return wrong


def _wrong_input_gradient(found, truths, odd, rank):
    """Words for a wrong x.grad, or None."""
    name, truth, layers = f"x.grad on rank {rank}", truths[rank][2], len(truths[rank][1])
    world_size = len(truths)
    slips = {
        "is the mean over the ranks: each rank has its own x, so its gradient is averaged with "
        "no other": sum(one[2] for one in truths) / world_size,
        **{words: stacks[rank][2] for words, stacks in odd.items()},
        f"is 1/{world_size} of what it should be: x is this rank's own, and only the shards get "
        "a mean": truth / world_size,
        f"is 1/{world_size**layers} of what it should be: each layer divides it by the number of "
        "ranks; only the shards get a mean": truth / world_size**layers,
    }
    if found.shape == truth.shape and world_size > 1 and not torch.allclose(found, truth, 1e-4):
        for words, slip in slips.items():
            if torch.allclose(found, slip, 1e-4, 1e-6):
                return f"{name} {words}"
    try:
        check_close(found, truth, name, rtol=1e-4, atol=1e-5)
    except AssertionError as error:
        return str(error)


def some_of(wrong: list[str], most: int = 4) -> str:
    """The first few, those that name a slip before bare numbers, and how many more there are."""
    wrong = sorted(dict.fromkeys(wrong), key=lambda words: "differs in" in words)
    more = f"; and {len(wrong) - most} more" if len(wrong) > most else ""
    return "; ".join(wrong[:most]) + more
