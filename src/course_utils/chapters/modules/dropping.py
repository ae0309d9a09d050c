"""Exercise 8.5: dropout."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn as nn
from torch.overrides import TorchFunctionMode

from course_utils.chapters.modules.precision import check_digits
from course_utils.chapters.modules.surroundings import untouched
from course_utils.learner.checks import check_close, check_equal

# How far a value may be from x / (1 - p), relatively: a few steps of the dtype.
CLOSE = {torch.float64: 1e-14, torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 2e-2}


def _random_states() -> torch.Tensor:
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
    dropout_that_listens: Callable,
    x: torch.Tensor,
    p: float,
    training: bool,
    seed: int | None = 0,
    calls: int = 1,
) -> dict:
    """What calls after one seed give: the last result, its gradient, whether draws were made."""
    torch.manual_seed(seed)
    leaf = x.clone().requires_grad_()
    x = leaf * 1
    values, results = x.detach().clone(), []
    for _ in range(calls):
        before = _random_states()
        with untouched(), _NoDropout():
            y = dropout_that_listens(x, p, training)
        assert y is not None, "dropout_that_listens returned None: is there an answer yet?"
        kind = type(y).__name__
        assert isinstance(y, torch.Tensor), f"the result is of type {kind}, not a tensor"
        quiet = torch.equal(_random_states(), before)
        results.append(y.detach())
    assert torch.equal(x.detach(), values), "x was changed: return a new tensor"
    gradient = torch.zeros_like(x)
    # Where all is dropped, a constant has the right gradient as well.
    if p != 1 or not training or y.requires_grad:
        assert y.requires_grad, "no gradient flows from the result to x"
        (gradient,) = torch.autograd.grad(y.sum(), leaf, allow_unused=True)
        assert gradient is not None, "the result has a graph that doesn't lead to x: no gradient"
    same = calls > 1 and torch.equal(results[0] == 0, results[1] == 0)
    return {"y": results[-1], "gradient": gradient, "quiet": quiet, "same": same}


def run_unrecorded(
    dropout_that_listens: Callable, x: torch.Tensor, p: float, training: bool = True
) -> torch.Tensor:
    """What a call gives while autograd doesn't record."""
    torch.manual_seed(0)
    given, x = x, x.clone()
    with torch.no_grad(), untouched(), _NoDropout():
        y = dropout_that_listens(x, p, training)
        kept = y.clone() if isinstance(y, torch.Tensor) else None
        dropout_that_listens(2 * x, p, training)
    words = "the next call changed what this one gave: make a new tensor in each call"
    assert kept is None or torch.equal(y, kept), words
    assert torch.equal(x, given), "x was changed: return a new tensor (under no_grad, too)"
    assert not x.requires_grad, "x requires a gradient now: only read it"
    return y


def run_module(module_class: type[nn.Module], p: float, x: torch.Tensor) -> tuple:
    """The share of zeros that the module gives in five calls, and whether two masks are equal.

    It is part of a model, beside a module with another probability.
    """
    other = module_class(0.5 * p)
    module = module_class(p)
    model, masks = nn.Sequential(other, nn.Sequential(module)), []
    held = [name for name, _ in (*module.named_parameters(), *module.named_buffers())]
    assert not held, f"the module holds {held[0]}: p is a plain number, nothing to train or to save"
    modes = ((True, True), (False, True), (False, False), (True, False), (True, True))
    # Where p is too large, the first call is one in evaluation.
    for mode, grad in modes[p > 1 :]:
        model.train(mode)
        with _NoDropout(), torch.set_grad_enabled(grad):
            given = x.clone()
            y = module(given)
        assert torch.equal(x, given), "x was changed: return a new tensor"
        assert isinstance(y, torch.Tensor), f"ListeningDropout gives {y!r}: is there an answer yet?"
        words = "a call changed the module's mode: train() and eval() set it, forward only reads it"
        assert module.training == mode, words
        masks.append(y.eq(0))
    # In float64, three tenths that went through float32 show in the eighth digit.
    with _NoDropout():
        tenths = module_class(0.3)
        for mode in (False, True):
            y = tenths.train(mode)(torch.ones(200, dtype=torch.float64))
            what = f"ListeningDropout(0.3), a float64 input, training={mode}"
            check_equal(y.dtype, torch.float64, f"{what}: dtype")
    right = torch.full_like(y[y != 0], 1 / 0.7)
    check_digits(y[y != 0], right, f"{what}: what survived")
    pairs = ((0, 3), (3, 4)) if p <= 1 else ()
    same = any(torch.equal(masks[a], masks[b]) for a, b in pairs)
    return [mask.float().mean().item() for mask in masks], same


def _check_apart(dropped: torch.Tensor) -> None:
    """Check that elements don't share a draw, along any dimension of the mask."""
    whole = "whole rows, columns or channels are dropped together: each element has its own draw"
    for dim in range(1, dropped.dim()):
        block = dropped.flatten(dim)
        if block.shape[-1] >= 30:
            share = block.float().mean(-1)
            assert ((share > 0) & (share < 1)).any(), whole
    if dropped.dim() > 1:
        share = dropped.flatten(0, -2).float().mean(0)
        assert dropped[..., 0].numel() < 30 or ((share > 0) & (share < 1)).any(), whole
    for dim, size in enumerate(dropped.shape):
        if size > 1:
            first, second = dropped.select(dim, 0), dropped.select(dim, 1)
            words = f"the same elements at index 0 and 1 of dimension {dim}: each has its own draw"
            assert first.numel() < 30 or not torch.equal(first, second), words


def check_training(trial, x, p, seed=0):
    """Check one call in training for ``x`` of any shape; gives the mask of what was dropped."""
    found = trial(x, p, True, seed)
    y, tolerance = found["y"], 6 * (p * (1 - p) / max(x.numel(), 1)) ** 0.5
    why = "a tensor without dimensions in the formula decides the dtype here: p is a plain number"
    why = "" if x.dim() else why
    check_equal((tuple(y.shape), y.dtype), (tuple(x.shape), x.dtype), "shape and dtype", why)
    assert not y.isnan().any(), f"p = {p}: there are NaNs (what is 0 times infinity?)"
    dropped = y == 0
    share = dropped.float().mean().item() if x.numel() else p
    words = "p is 0, and some elements are dropped: a draw may be 0 itself, and 0 is not below p"
    assert p > 0 or not dropped[x != 0].any(), words
    if x.numel() >= 2000 and 0.1 < p < 0.9:
        _check_apart(dropped)
    slip = abs(share - (1 - p)) <= tolerance and abs(share - p) > tolerance
    assert not slip, f"{share:.2f} of the elements are 0: p is the share that is dropped, not kept"
    if x.numel() > 1:
        words = f"{share:.{3 if p > 5e-4 else 5}f} of the elements are 0, expected about {p}"
        assert abs(share - p) <= tolerance, words
    kept, values = ~dropped, (x / (1 - p) if p < 1 else x)
    close, got = CLOSE[x.dtype], y[kept].double()
    right = values[kept].double()
    exact, near = (torch.allclose(got, right, rtol=r, atol=0) for r in (close, 1e-9))
    check_digits(y[kept], values[kept], f"p = {p}, what survived")
    words = f"p = {p}: what survived was not divided by 1 - p, so the expectation is not that of x"
    assert exact or not torch.equal(y[kept], x[kept]), words
    words = f"p = {p}: what survived is not x / (1 - p), so the expectation is not that of x"
    words += " (very near: is there a small number in the divisor?)" * near
    assert exact, words
    slope = kept / (1 - p) if p < 1 else kept * 0.0
    words = f"p = {p}: the gradient holds NaNs (0 times infinity)"
    assert not found["gradient"].isnan().any(), words
    words = "the gradient is 1 / (1 - p) where an element survived, 0 elsewhere"
    assert torch.allclose(found["gradient"].double(), slope.double(), rtol=max(close, 1e-6)), words
    return dropped


def check_still(trial, x, p):
    """Check one call outside of training: values, gradient, and that nothing is drawn."""
    found = trial(x, p, False)
    words = "training is False: the values have to be those of x"
    check_close(found["y"], x, words, rtol=0, atol=0)
    assert found["quiet"], "training is False, and still random numbers were drawn"
    check_close(found["gradient"], torch.ones_like(x), "the gradient, training=False")


def check_draws(trial, case, ones, ramp):
    """Each element has a draw of its own, from the global generator; so has each call."""
    for p in (0.75, 0.9, 0.0, 1.0):
        with case(f"a 50 × 400 tensor of ones, p = {p}"):
            check_training(trial, ones, p)
    with case("the same seed twice, then another"):
        masks = [check_training(trial, ramp, 0.5, seed) for seed in (1, 1, 2)]
        assert torch.equal(masks[0], masks[1]), "torch.manual_seed does not make the draws repeat"
        assert not torch.equal(masks[0], masks[2]), "another seed drops the same elements"
    with case("two calls after one seed"):
        found = trial(ramp, 0.5, True, 1, 2)
        assert not found["same"], "both drop the same elements: each call draws anew"
    with case("how many of 200 are dropped, eight times"):
        counts = {int(check_training(trial, ones[0, :200], 0.5, seed).sum()) for seed in range(8)}
        assert len(counts) > 1, "always exactly as many: each element has a draw of its own"


def check_shapes(trial, case, ramp):
    """No dimension, a batch of images, no element."""
    with case("a number, a tensor without dimensions"):
        dropped = [bool(check_training(trial, ramp[0, 0, 1], 0.5, seed)) for seed in range(16)]
        assert 0 < sum(dropped) < 16, f"dropped {sum(dropped)} times in 16 calls with p = 0.5"
    with case("images (2, 3, 20, 25)"):
        check_training(trial, ramp.view(2, 3, 20, 25), 0.5)
    with case("bfloat16, p = 0 (of the draws in bfloat16, one in 256 is 0)"):
        check_training(trial, ramp.repeat(4, 1, 1).bfloat16(), 0.0)
    many = ramp.repeat(34, 1, 1)
    with case("100 000 elements, p = 0.005"):
        check_training(trial, many, 0.005)
    with case("100 000 elements in bfloat16, p = 0.001 (there 1 - p is 1, and draws are n / 256)"):
        check_training(trial, many.bfloat16(), 0.001)
    with case("400 000 elements in float16, p = 0.0001 (there draws are n / 2048)"):
        check_training(trial, many.repeat(4, 1, 1).half(), 0.0001)
    with case("float64, p = 1.0"):
        check_training(trial, ramp.double(), 1.0)
    with case("float16, near the largest number, p = 0.5: twice as much is infinite"):
        y = trial(torch.full_like(ramp, 6e4, dtype=torch.float16), 0.5, True)["y"]
        words = "a dropped element is NaN: it was divided, became infinite, and was multiplied by 0"
        assert not y.isnan().any(), words
        assert abs(y.eq(0).float().mean().item() - 0.5) < 0.1, "about half of them should be 0"
    with case("half of the elements are 0, as after a ReLU"):
        x = (ramp - 2).relu()
        share = trial(x, 0.5, True)["gradient"][x == 0].eq(0).float().mean().item()
        words = "a zero in the result may also be a zero of x that survived"
        told = f"where x is 0, {share:.2f} of the gradients are 0, expected about 0.5: {words}"
        assert abs(share - 0.5) < 0.1, told
    with case("an empty tensor"):
        check_training(trial, ramp[:0], 0.5)


def check_unrecorded(trial, case, ones):
    """Training is training, with autograd or without it."""
    with case("training=True under no_grad"):
        share = trial(ones, 0.75).eq(0).float().mean().item()
        told = f"{share:.2f} of the elements are 0, expected about 0.75"
        assert abs(share - 0.75) < 0.03, f"{told}: the mode decides, not autograd"
    with case("training=False under no_grad, float64"):
        third = ones.double() / 3
        words = "training is False: the values have to be those of x, to the last digit"
        check_close(trial(third, 0.75, False), third, words, rtol=0, atol=0)


def check_range(dropout_that_listens, case, ones):
    """A probability lies between 0 and 1."""
    outside = [(-0.1, True), (1.01, True), (1.5, True), (1.5, False), (-0.1, False)]
    outside += [(-1e-6, True), (1 + 1e-6, True), (1 + 1e-6, False)]
    trials = [(p, training, ones) for p, training in outside] + [
        (2.0, mode, ones[:0]) for mode in (True, False)
    ]
    for p, training, x in trials:
        told = f"p = {p}" + ", training=False" * (not training)
        with case(told + ", a tensor without elements" * (x.numel() == 0)):
            try:
                dropout_that_listens(x, p, training)
            except ValueError:
                continue
            except Exception as error:
                told = f"raised {type(error).__name__}, where a ValueError belongs: {error}"
                raise AssertionError(told) from None
            raise AssertionError("no ValueError")


def check_shares(trial, case, p, ones):
    """The module, in both modes and with or without autograd, beside another probability."""
    with case(f"ListeningDropout({p}) in a model: train, eval; under no_grad eval, train"):
        shares, same = trial(p, ones)
        near, still = [abs(share - p) < 0.03 for share in shares], [not share for share in shares]
        right = [near[0], still[1], still[2], near[3]]
        told = f"shares of zeros {[round(share, 2) for share in shares[:4]]}"
        told = f"{told}, expected about {p}, 0, 0, {p}"
        deaf = all(near[:4]) or all(still[:4])
        told += " (the mode at the call counts: self.training)" if deaf else ""
        assert all(right), told
        assert not same, "in both training calls the same elements: each call draws anew"
    for wrong in (1.5, -0.5):
        with case(f"ListeningDropout({wrong}), in {'evaluation' if wrong > 1 else 'training'}"):
            _check_module_refuses(trial, wrong, ones)


def _check_module_refuses(trial, p, ones):
    """A module whose p is no probability."""
    try:
        trial(p, ones)
    except ValueError:
        return
    except Exception as error:
        if isinstance(error, AssertionError) and str(error):
            raise
        told = f"raised {type(error).__name__}, where a ValueError belongs: {error}"
        raise AssertionError(told) from None
    raise AssertionError("no ValueError, neither when it is made nor when it is called")
