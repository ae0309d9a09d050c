"""Exercise 8.6: a moving average."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn as nn

from course_utils.learner.checks import check_close, check_equal


def run_average(
    moving_average_buffer: Callable, batches: list, modes: list, momentum: float | None = None
) -> dict:
    """The results and the means, batch by batch, and what kind of thing ``mean`` is."""
    size, dtype = batches[0].shape[1], batches[0].dtype
    module = (
        moving_average_buffer(size) if momentum is None else moving_average_buffer(size, momentum)
    )
    kind = type(module).__name__
    assert isinstance(module, nn.Module), (
        f"it returned {kind}, not a module: is there an answer yet?"
    )
    assert hasattr(module, "mean"), "the module has no attribute mean"
    fresh = module.mean.detach().clone()
    module = module.to(batches[0].device, dtype)
    held, found = module.mean, {"y": [], "mean": [], "gradient": [], "fresh": fresh}
    for x, mode in zip(batches, modes, strict=True):
        x = x.clone().requires_grad_()
        y = module.train(mode)(x)
        assert isinstance(y, torch.Tensor), f"the module returned {y!r}, not a tensor"
        words = "no gradient flows from the result to x: only the update belongs under no_grad"
        assert y.requires_grad, words
        (gradient,) = torch.autograd.grad((y * torch.arange(1, 1 + size).to(y)).sum(), x)
        found["y"].append(y.detach())
        found["mean"].append(module.mean.detach().clone())
        found["gradient"].append(gradient)
    found |= {"parameters": len(list(module.parameters())), "graph": module.mean.requires_grad}
    found |= {"state": sorted(module.state_dict()), "same": module.mean is held}
    return found | {"held": held.detach().clone()}


def check_average(trial, batches, modes, momentum=None):
    found, share = trial(batches, modes, momentum), 0.1 if momentum is None else momentum
    size = batches[0].shape[1]
    check_equal(found["parameters"], 0, "its parameters", "it would be trained")
    words = "what its state dict holds: a plain attribute is neither saved nor moved"
    check_equal(found["state"], ["mean"], words)
    check_close(found["fresh"].cpu(), torch.zeros(size), "mean at first")
    assert not found["graph"], "mean requires grad: the graph of each batch hangs on it"
    mean = torch.zeros_like(batches[0][0]) if len(batches[0]) else batches[0].new_zeros(size)
    for number, (x, mode) in enumerate(zip(batches, modes, strict=True), start=1):
        old, call = mean, f"call {number}, {'train' if mode else 'eval'}"
        if mode and len(x):
            mean = (1 - share) * mean + share * x.mean(0)
            swapped = share * old + (1 - share) * x.mean(0)
            got = found["mean"][number - 1]
            slip = torch.allclose(got, swapped) and not torch.allclose(got, mean)
            assert not slip, f"{call}: momentum is the share of the new batch, not of the old mean"
        why = "" if mode else " (eval mode: it stays)"
        check_close(found["mean"][number - 1], mean, f"{call}: mean{why}", rtol=1e-4, atol=1e-5)
        got = found["y"][number - 1]
        stale = (
            got.shape == x.shape and torch.allclose(got, x - old) and not torch.allclose(old, mean)
        )
        assert not stale, f"{call}: the result is x minus the old mean: first update, then subtract"
        check_close(got, x - mean, f"{call}: the result", rtol=1e-4, atol=1e-5)
        right = torch.arange(1, 1 + size).to(x).expand_as(x)
        what = f"{call}: the gradient at x (mean is a constant)"
        check_close(found["gradient"][number - 1], right, what, rtol=1e-4, atol=1e-5)
    same = found["same"] and torch.equal(found["held"], found["mean"][-1])
    assert same, "module.mean is another tensor than at first: update it in place"
