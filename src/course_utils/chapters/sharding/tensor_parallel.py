"""Exercise 18.4: a matrix that is cut."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.debug import CommDebugMode

from course_utils.chapters.sharding.fully_sharded import known_slip, some_of
from course_utils.chapters.sharding.jobs import local, random_like
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
    found = _forward_and_backward(tensor_parallel, leaves, sizes)
    tensor_parallel(*leaves)  # as in an evaluation: no backward pass follows
    hooked = [name for name, leaf in zip(NAMES, leaves, strict=True) if leaf._backward_hooks]
    for leaf in leaves:
        leaf.grad = None
    again = _forward_and_backward(tensor_parallel, leaves, sizes)
    return *found, hooked, again[1]


def _forward_and_backward(tensor_parallel, leaves, sizes):
    with CommDebugMode() as traffic:
        y = tensor_parallel(*leaves)
        is_tensor = isinstance(y, torch.Tensor)
        assert is_tensor, (
            f"tensor_parallel returned {y!r}, which isn't a tensor: is there an answer yet?"
        )
        forward = sum(traffic.get_comm_counts().values())
        assert tuple(y.shape) == (sizes[0], sizes[3]), f"y has shape {tuple(y.shape)}"
        assert y.requires_grad, "y has no graph: autograd can't go back from it"
        (y.full_tensor() if isinstance(y, DTensor) else y).mul(
            random_like(y.shape, 90)
        ).sum().backward()
        both = sum(traffic.get_comm_counts().values())
    grads = [None if leaf.grad is None else leaf.grad.clone() for leaf in leaves]
    kinds = {str(op).split(".")[-1].strip("_") for op in traffic.get_comm_counts()}
    others = sorted(kind for kind in kinds if "allreduce" not in kind.replace("_", ""))
    return local(y.detach()), grads, forward, both - forward, others


@ends_in_notebook
def check_tensor_parallel(found, world_size, sizes):
    assert not isinstance(found, str), found
    x, up, down, bias = (t.requires_grad_() for t in mlp_parts(sizes))
    truth, coefficients = F.gelu(x @ up.T) @ down.T + bias, random_like((sizes[0], sizes[3]), 90)
    expected = torch.autograd.grad((truth * coefficients).sum(), (x, up, down, bias))
    wrong = []
    for rank, (y, grads, forward, backward, others, hooked, again) in enumerate(found):
        if world_size > 1 and torch.allclose(y, truth + (world_size - 1) * bias, 1e-4, 1e-4):
            wrong.append(f"y holds the bias {world_size} times: add it after the sum")
        else:
            check_close(y, truth.detach(), f"rank {rank}'s y", rtol=1e-4, atol=1e-4)
        mine = (up.chunk(world_size)[rank], down.chunk(world_size, 1)[rank])
        part = (F.gelu(x @ mine[0].T) @ mine[1].T * coefficients).sum()
        own = torch.autograd.grad(part, x)[0]
        slices = [
            expected[0],
            expected[1].chunk(world_size)[rank],
            expected[2].chunk(world_size, 1)[rank],
        ]
        for name, grad, right in zip(NAMES, grads, [*slices, expected[3]], strict=True):
            by_slip = own if name == "x" else None
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
        if hooked:
            wrong.append(
                f"a hook on {', '.join(hooked)} is still there when the next call begins, and runs "
                "in its backward pass: a second call must not meet what the first one left"
            )
        elif changed:
            wrong.append(f"a second call with the same tensors gives another {changed[0]}.grad")
    wrong = [words for words in wrong if words]
    assert not wrong, some_of(wrong)
