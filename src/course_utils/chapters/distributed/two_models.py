"""Exercise 17.5: two models at once, each prepared by a call of its own."""

from __future__ import annotations

import torch
import torch.nn as nn

from course_utils.learner.ranks import rank_device


def two_at_once(answer, rank, world_size):
    """The gradients of two models with one loss, or what was raised; rank 0's hold a NaN.

    The second model's bias has gradients that cancel over the ranks.
    """
    models, inputs = [nn.Linear(2, 1), nn.Linear(3, 2)], inputs_of_two(rank)
    models = [model.to(rank_device()) for model in models]
    for model in models:
        model.register_buffer("table", torch.zeros(2, 3, device=rank_device()))
    try:
        finishes = [answer(model, 8) for model in models]
        first, second = (
            model(x.to(rank_device())).sum() for model, x in zip(models, inputs, strict=True)
        )
        (first + second * sign_of(rank, world_size)).backward()
        for finish in finishes:
            finish()
        models[0].table = torch.full((2, 3), rank + 1.0, device=rank_device())
        with torch.inference_mode():
            models[0](inputs[0].to(rank_device()))
        given = [models[0].weight.grad, models[1].weight.grad, models[1].bias.grad]
        rows = [None if grad is None else grad.cpu()[:1].flatten() for grad in given]
        return [*rows, models[0].get_buffer("table").clone().cpu()]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def inputs_of_two(rank):
    first = torch.tensor([[1.0, torch.nan if rank == 0 else 2.0]])
    return first, torch.tensor([[100.0, 2.0, 3.0]]) * (rank + 1)


def sign_of(rank, world_size):
    """By what the second model's loss is multiplied: over all ranks these add up to 0."""
    return torch.linspace(1, -1, world_size)[rank].item()


def check_two(found, world_size):
    """Each gradient is the average over the ranks of what went into the layer."""
    assert not isinstance(found, str), (
        f"two models don't work at once: {found}; does each call of ddp_by_hand have notes of its "
        "own?"
    )
    signs = torch.tensor([[sign_of(rank, world_size)] for rank in range(world_size)])
    inputs = [inputs_of_two(rank) for rank in range(world_size)]
    first, second = (torch.cat(part) for part in zip(*inputs, strict=True))
    first, second, bias = first.mean(0), (second * signs).mean(0), signs.mean(0)
    *grads, table = found
    assert grads[2] is not None, (
        "a bias has no .grad, and all ranks used it: its gradients cancel, and their average is 0"
    )
    missing = any(grad is None for grad in grads)
    assert not missing, "with two models, a parameter that all ranks used has no .grad"
    near = torch.isclose(grads[1], second)
    assert near[0] or not near[1:].all(), (
        f"a gradient of {second[0]:g} is not the average over the ranks, and smaller ones are: was "
        "it clipped?"
    )
    summed = world_size > 1 and torch.allclose(grads[1], world_size * second)
    assert not summed, "a gradient is the sum, not the average, with two models as well"
    right = bool(near.all()) and torch.allclose(grads[0][:1], first[:1])
    assert right, (
        "with two models, whose losses go back together before each finish(), gradients are wrong: "
        "each call of ddp_by_hand needs notes of its own"
    )
    assert torch.allclose(grads[2], bias), (
        f"the ranks' gradients of a bias cancel, their average is {bias.item():g}, and .grad has "
        f"{grads[2].item():g}"
    )
    assert torch.equal(table, torch.ones(2, 3)), (
        "a buffer of two dimensions is not rank 0's after a forward in torch.inference_mode(): "
        "send all buffers before each forward"
    )
    assert grads[0][1].isnan(), (
        "rank 0's gradient holds a NaN, and the average hides it: a fault must be seen on all ranks"
    )
