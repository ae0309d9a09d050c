"""Exercise 18.4: a matrix that is cut."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.distributed.tensor import DTensor

from course_utils.chapters.sharding.fully_sharded import some_of
from course_utils.chapters.sharding.jobs import (
    Sent,
    Untouched,
    check_evaluations,
    gradients_are_on,
    local,
    random_like,
)
from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook

NAMES = ("x", "up", "down", "bias")


def mlp_parts(sizes: tuple) -> list[torch.Tensor]:
    """x, up, down and bias, whole."""
    batch, inner, hidden, outer = sizes
    shapes = [(batch, inner), (hidden, inner), (outer, hidden), (outer,)]
    return [random_like(shape, 80, n) for n, shape in enumerate(shapes)]


def run_tensor_parallel(rank, world_size, tensor_parallel, sizes):
    x, up, down, bias = mlp_parts(sizes)
    up, down = up.chunk(world_size)[rank].clone(), down.chunk(world_size, 1)[rank].clone()
    leaves = [t.requires_grad_() for t in (x, up, down, bias)]
    untouched = Untouched(dict(zip(NAMES, leaves, strict=True)))
    found = _forward_and_backward(tensor_parallel, leaves, sizes)
    tensor_parallel(*leaves)  # no backward pass follows
    left = untouched.changes()
    for leaf in leaves:
        leaf.grad = None
    again = _forward_and_backward(tensor_parallel, leaves, sizes)
    added = _forward_and_backward(tensor_parallel, leaves, sizes)  # the old .grad is still there
    other = (x.detach() + 1).requires_grad_()
    twice = torch.cat([x.detach(), x.detach()]).requires_grad_()
    try:
        later = local(tensor_parallel(other, *leaves[1:]).detach())
        longer = local(tensor_parallel(twice, *leaves[1:]).detach()).shape == (2 * len(x), sizes[3])
    except RuntimeError:
        later, longer = None, False
    if not left:
        check_evaluations("tensor_parallel", tensor_parallel, leaves, found[0])
    return *found, left, (again[1], added[1]), later, longer


def _forward_and_backward(tensor_parallel, leaves, sizes):
    with Sent() as traffic:
        y = tensor_parallel(*leaves)
        gradients_are_on("tensor_parallel")
        is_tensor = isinstance(y, torch.Tensor)
        assert is_tensor, (
            f"tensor_parallel returned {y!r}, which isn't a tensor: is there an answer yet?"
        )
        forward = len(traffic.names)
        shape = sizes[0], sizes[3]
        assert tuple(y.shape) == shape, f"y has shape {tuple(y.shape)}, expected {shape}"
        assert y.requires_grad, "y has no graph: autograd can't go back from it"
        (y.full_tensor() if isinstance(y, DTensor) else y).mul(
            random_like(y.shape, 90)
        ).sum().backward()
        both = len(traffic.names)
    grads = [None if leaf.grad is None else leaf.grad.clone() for leaf in leaves]
    others = sorted({n for n in traffic.names if "allreduce" not in n.replace("_", "")})
    return local(y.detach()).clone(), grads, forward, both - forward, others


@ends_in_notebook
def check_tensor_parallel(found, world_size, sizes):
    assert not isinstance(found, str), found
    x, up, down, bias = (t.requires_grad_() for t in mlp_parts(sizes))
    truth, coefficients = F.gelu(x @ up.T) @ down.T + bias, random_like((sizes[0], sizes[3]), 90)
    for_more = (F.gelu((x + 1) @ up.T) @ down.T + bias).detach()
    expected = torch.autograd.grad((truth * coefficients).sum(), (x, up, down, bias))
    wrong, slip_of_y = [], _slip_of_y([each[0] for each in found], truth, (x, up, down, bias))
    for rank, (*first, left, (again, added), later, longer) in enumerate(found):
        y, grads, forward, backward, others = first
        wrong += left[:2]
        wrong_y = slip_of_y or _differs(y, truth.detach(), f"rank {rank}'s y")
        wrong.append(wrong_y)
        mine = (up.chunk(world_size)[rank], down.chunk(world_size, 1)[rank])
        part = (F.gelu(x @ mine[0].T) @ mine[1].T * coefficients).sum()
        own = torch.autograd.grad(part, x)[0]
        slices = [
            expected[0],
            expected[1].chunk(world_size)[rank],
            expected[2].chunk(world_size, 1)[rank],
        ]
        for name, grad, right in zip(NAMES, grads, [*slices, expected[3]], strict=True):
            of_all = sum(expected[1].chunk(world_size))
            by_slip = {"x": own, "up": of_all if world_size > 1 else None}.get(name)
            wrong.append(known_slip(f"{name}.grad", grad, right, world_size, by_slip))
        if (forward, backward) != (1, 1) and world_size > 1:
            wrong.append(f"{forward} collectives forward and {backward} backward, expected 1 and 1")
        if others and world_size > 1:
            wrong.append(f"{', '.join(others)} was called: the two collectives are all-reduces")
        changed = [
            name
            for name, a, b in zip(NAMES, grads, again, strict=True)
            if a is not None and not (b is not None and torch.allclose(a, b, 1e-4, 1e-5))
        ]
        if not longer:
            wrong.append(
                "after a first call one with twice as many rows fails, or gives too few: what does "
                "a call keep for the next one?"
            )
        elif not wrong_y and _differs(later, for_more, "a later y"):
            wrong.append(
                "a later call, with other numbers in an x of the same shape, doesn't give their y: "
                "what does a call keep for the next one?"
            )
        if changed and not left:
            wrong.append(f"a second call with the same tensors gives another {changed[0]}.grad")
        lost = [
            name
            for name, a, b in zip(NAMES, again, added, strict=True)
            if a is not None and not (b is not None and torch.allclose(a, b / 2, 1e-4, 1e-5))
        ]
        if lost and not changed:
            wrong.append(
                f"{lost[0]}.grad is not added to what was there before: leave the caller's .grad "
                "alone, and let a Function's backward return gradients"
            )
    wrong = [words for words in wrong if words]
    assert not wrong, some_of(wrong)


def known_slip(name, found, truth, world_size, own):
    """Words for a gradient that a known slip would give."""
    if found is None:
        return f"{name} is None: no gradient comes back to it"
    if found.shape == truth.shape and world_size > 1:
        if name == "bias.grad" and truth.any() and not found.any():
            return (
                f"{name} is zero on a rank: each rank adds the whole bias itself, after the sum, "
                "and so each has its gradient"
            )
        if name == "bias.grad" and torch.allclose(found, truth * world_size, 1e-4, 1e-4):
            return (
                f"{name} is {world_size} times what it should be: the bias is whole on each rank, "
                "and so is its gradient; it isn't summed over the ranks"
            )
        if name == "x.grad" and torch.allclose(found, truth / world_size, 1e-4, 1e-4):
            return (
                f"{name} is 1/{world_size} of what it should be: the ranks' parts of it are added "
                "up, not averaged"
            )
        if torch.allclose(found, truth * world_size, 1e-4, 1e-4):
            slip = "the sum at the exit was summed again"
            return f"{name} is {world_size} times what it should be: {slip}"
        if name == "bias.grad" and torch.allclose(found, truth / world_size, 1e-4, 1e-4):
            return (
                f"{name} is 1/{world_size} of what it should be: add the whole bias after the sum"
            )
        if torch.allclose(found, truth / world_size, 1e-4, 1e-4):
            slip = "the gradient of a sum goes back to each part as it is, and no one divides it"
            return f"{name} is 1/{world_size} of what it should be: {slip}"
        if own is not None and torch.allclose(found, own, 1e-4, 1e-4):
            if name == "up.grad":
                return f"{name} is the sum of all ranks' slices: this rank's own stays as it is"
            return f"{name} holds only what this rank's hidden units contribute: sum over the ranks"
        if name == "x.grad" and torch.allclose(found, own * world_size, 1e-4, 1e-4):
            return (
                f"{name} holds only what this rank's hidden units contribute, {world_size} times: "
                "sum over the ranks at the entry, and not once more at the exit"
            )
    try:
        check_close(found, truth, name, rtol=1e-4, atol=1e-4)
    except AssertionError as error:
        return str(error)


def _differs(found, truth, name):
    """What `check_close` says of it, or None."""
    try:
        check_close(found, truth, name, rtol=1e-4, atol=1e-4)
    except AssertionError as error:
        return str(error)


def _slip_of_y(ys, truth, leaves):
    """Words for the slip that explains every rank's y that is wrong; else None."""
    same = all(y.shape == truth.shape and y.dtype == truth.dtype for y in ys)
    right = [same and torch.allclose(y, truth, 1e-4, 1e-4) for y in ys]
    if not same or all(right):
        return None
    for words, slips in _slips_of_y(truth, leaves, len(ys)).items():
        pairs = zip(ys, right, slips, strict=True)
        if all(fine or torch.allclose(y, slip, 1e-5, 1e-6) for y, fine, slip in pairs):
            return words
    if all(torch.allclose(y, truth, 2e-2, 2e-2) for y in ys):
        return "y is right to two or three digits: it was rounded to half precision"
    if any(right):
        good, bad = right.index(True), right.index(False)
        return f"rank {good} has the right y, and rank {bad} hasn't: every rank needs the whole sum"


def _slips_of_y(truth, leaves, world_size):
    """By the words of a slip, what it makes of each rank's y."""
    x, up, down, bias = leaves
    h = x @ up.T
    parts = [
        F.gelu(a) @ b.T
        for a, b in zip(h.chunk(world_size, 1), down.chunk(world_size, 1), strict=True)
    ]
    alike = {
        "y holds the mean of the ranks' parts: it is their sum": (truth - bias) / world_size + bias,
        f"y holds the bias {world_size} times: add it after the sum": (
            truth + (world_size - 1) * bias
        ),
        "the bias is missing in y": truth - bias,
        "y comes from gelu's approximation by tanh: call F.gelu as it is": (
            F.gelu(h, approximate="tanh") @ down.T + bias
        ),
        "y comes from relu: the statement asks for gelu": F.relu(h) @ down.T + bias,
        "there is no gelu in y": h @ down.T + bias,
        "gelu comes between the two matrices, before the ranks' parts are added up": (
            F.gelu(h @ down.T) + bias
        ),
        "gelu comes between the two matrices, and not after the second": (
            sum(
                F.gelu(a @ b.T)
                for a, b in zip(h.chunk(world_size, 1), down.chunk(world_size, 1), strict=True)
            )
            + bias
        ),
    }
    found = {words: [slip] * world_size for words, slip in alike.items()}
    found["y holds this rank's part alone: all ranks' parts are added up"] = [
        part + bias for part in parts
    ]
    added = F.gelu(sum(h.chunk(world_size, 1)))
    found["the ranks' hidden units are added up, each to another one: the parts of y are to be"] = [
        added @ slice_of_down.T + bias for slice_of_down in down.chunk(world_size, 1)
    ]
    largest = torch.stack(parts).amax(0) + bias
    return {
        **found,
        "y holds the largest of the ranks' parts: it is their sum": [largest] * len(parts),
    }
