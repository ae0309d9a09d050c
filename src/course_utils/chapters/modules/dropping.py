"""Exercise 8.5: dropout."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn as nn
from torch.overrides import TorchFunctionMode

from course_utils.learner.checks import check_close, check_equal


def _random_states():
    """The state of every generator that a dropout may draw from."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return torch.cat([torch.get_rng_state(), *cuda])


class _NoDropout(TorchFunctionMode):
    """Refuses PyTorch's own dropouts."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        assert "dropout" not in name, f"torch's own {name} was called: write it yourself"
        return func(*args, **(kwargs or {}))


def run_dropout(
    dropout_that_listens: Callable, x: torch.Tensor, p: float, training: bool, seed: int = 0
) -> dict:
    """The result, the gradient at x, and whether the generator moved."""
    torch.manual_seed(seed)
    leaf = x.clone().requires_grad_()
    x = leaf * 1
    before = _random_states(), x.detach().clone()
    with _NoDropout():
        y = dropout_that_listens(x, p, training)
    assert y is not None, "dropout_that_listens returned None: is there an answer yet?"
    assert isinstance(y, torch.Tensor), f"the result is of type {type(y).__name__}, not a tensor"
    quiet = torch.equal(_random_states(), before[0])
    assert torch.equal(x.detach(), before[1]), "x was changed: return a new tensor"
    assert y.requires_grad, "no gradient flows from the result to x"
    (gradient,) = torch.autograd.grad(y.sum(), leaf)
    return {"y": y.detach(), "gradient": gradient, "quiet": quiet}


def run_module(module_class: type[nn.Module], p: float, x: torch.Tensor) -> list:
    """The share of zeros that a model with the module in it gives, in four modes."""
    model, shares = nn.Sequential(nn.Identity(), nn.Sequential(module_class(p))), []
    for mode in (True, False, True):
        with _NoDropout():
            y = model.train(mode)(x)
        assert isinstance(y, torch.Tensor), f"ListeningDropout gives {y!r}: is there an answer yet?"
        shares.append(y.eq(0).float().mean().item())
    return shares


def check_training(trial, x, p, seed=0):
    found = trial(x, p, True, seed)
    y, tolerance = found["y"], 6 * (p * (1 - p) / max(x.numel(), 1)) ** 0.5
    check_equal((tuple(y.shape), y.dtype), (tuple(x.shape), x.dtype), "shape and dtype")
    assert not y.isnan().any(), f"p = {p}: there are NaNs (what is 0 times infinity?)"
    dropped = y == 0
    share = dropped.float().mean().item() if x.numel() else p
    if x.dim() > 1 and x.numel() > 2000 and 0.1 < p < 0.9:
        lines = [dropped.float().mean(dim) for dim in (0, -1)]
        alone = all(
            ((line > 0) & (line < 1)).any() for line in lines if line.numel() < x.numel() / 4
        )
        assert alone, (
            "whole rows or columns are dropped together: each element has a draw of its own"
        )
    slip = abs(share - (1 - p)) <= tolerance and abs(share - p) > tolerance
    assert not slip, f"{share:.2f} of the elements are 0: p is the share that is dropped, not kept"
    assert abs(share - p) <= tolerance, f"{share:.3f} of the elements are 0, expected about {p}"
    kept, values = ~dropped, (x / (1 - p) if p < 1 else x)
    words = f"p = {p}: what survived is not x / (1 - p), so the expectation is not that of x"
    assert torch.allclose(y[kept], values[kept], rtol=5e-3), words
    slope = kept / (1 - p) if p < 1 else kept * 0.0
    assert not found["gradient"].isnan().any(), (
        f"p = {p}: the gradient holds NaNs (0 times infinity)"
    )
    words = "the gradient is 1 / (1 - p) where an element survived, 0 elsewhere"
    assert torch.allclose(found["gradient"].float(), slope.float(), rtol=5e-3), words
    return dropped


def check_still(trial, x, p):
    found = trial(x, p, False)
    words = "training is False: the values have to be those of x"
    check_close(found["y"], x, words, rtol=0, atol=0)
    assert found["quiet"], "training is False, and still random numbers were drawn"
    check_close(found["gradient"], torch.ones_like(x), "the gradient, training=False")


def check_draws(trial, case, ones, ramp):
    """Each element has a draw of its own, from the global generator."""
    for p in (0.75, 0.9, 0.0, 1.0):
        with case(f"a 50 × 400 tensor of ones, p = {p}"):
            check_training(trial, ones, p)
    with case("the same seed twice, then another"):
        masks = [check_training(trial, ramp, 0.5, seed) for seed in (1, 1, 2)]
        assert torch.equal(masks[0], masks[1]), "torch.manual_seed does not make the draws repeat"
        assert not torch.equal(masks[0], masks[2]), "another seed drops the same elements"
    with case("how many of 200 are dropped, eight times"):
        counts = {int(check_training(trial, ones[0, :200], 0.5, seed).sum()) for seed in range(8)}
        assert len(counts) > 1, "always exactly as many: each element has a draw of its own"


def check_range(dropout_that_listens, case, ones):
    """A probability lies between 0 and 1."""
    for p, training in ((-0.1, True), (1.5, True), (1.5, False), (-0.1, False)):
        with case(f"p = {p}" if training else f"p = {p}, training=False"):
            try:
                dropout_that_listens(ones, p, training)
            except ValueError:
                continue
            raise AssertionError("no ValueError")


def check_shares(trial, case, p, ones):
    """The module, in three modes."""
    with case(f"ListeningDropout({p}) in a model: train, eval, train"):
        shares = trial(p, ones)
        right = [abs(shares[0] - p) < 0.03, shares[1] == 0, abs(shares[2] - p) < 0.03]
        told = f"shares of zeros {[round(share, 2) for share in shares]}"
        assert all(right), f"{told}, expected about {p}, 0, {p}"
