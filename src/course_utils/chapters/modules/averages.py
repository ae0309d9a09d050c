"""Exercise 8.6: a moving average."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import torch
import torch.nn as nn

from course_utils.chapters.modules.precision import check_digits
from course_utils.chapters.modules.surroundings import untouched
from course_utils.learner.checks import check_close, check_equal
from course_utils.learner.tracebacks import what_was_raised


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors are equal, a NaN equal to a NaN."""
    return one.shape == other.shape and torch.equal(one.nan_to_num(0.5), other.nan_to_num(0.5))


def run_average(
    moving_average_buffer: Callable,
    batches: list,
    modes: list,
    momentum: float | None = None,
    mode_of_autograd: str = "enable_grad",
) -> dict:
    """The results and the means, batch by batch, and what kind of thing ``mean`` is.

    A second module is made first; at the end it loads the state of the first, and is called once
    in training, and then again with the same tensor. Before that, a copy of the first is called.

    Args:
        mode_of_autograd: ``"enable_grad"``, ``"no_grad"`` or ``"inference_mode"``.
    """
    grad = mode_of_autograd == "enable_grad"
    size, dtype = batches[0].shape[1], batches[0].dtype
    options = {} if momentum is None else {"momentum": momentum}
    other = moving_average_buffer(size, **options)
    module = moving_average_buffer(size, *options.values())
    kind = type(module).__name__
    words = f"it returned {kind}, not a module: is there an answer yet?"
    assert isinstance(module, nn.Module), words
    assert hasattr(module, "mean"), "the module has no attribute mean"
    fresh = module.mean.detach().clone()
    module = module.to(batches[0].device, dtype)
    # While there is a second tensor in the first memory, no other memory has its address.
    held, first = module.mean, module.mean.detach()
    found: dict = {"crossed": _two_calls(moving_average_buffer(size, **options).to(first), batches)}
    found |= {"y": [], "mean": [], "gradient": [], "fresh": fresh}
    for values, mode in zip(batches, modes, strict=True):
        leaf = values.clone().requires_grad_(grad)
        with getattr(torch, mode_of_autograd)(), untouched():
            x = leaf * 1
            y = module.train(mode)(x)
        assert isinstance(y, torch.Tensor), f"the module returned {y!r}, not a tensor"
        assert _same(x.detach(), values), "x was changed: return a new tensor"
        gradient = None
        if grad:
            words = "no gradient flows from the result to x: only the update belongs under no_grad"
            assert y.requires_grad, words
            (gradient,) = torch.autograd.grad((y * torch.arange(1, 1 + size).to(y)).sum(), leaf)
        found["y"].append(y.detach().clone())
        found["mean"].append(module.mean.detach().clone())
        found["gradient"].append(gradient)
    found |= {"parameters": len(list(module.parameters())), "graph": module.mean.requires_grad}
    found |= {"state": sorted(module.state_dict()), "same": module.mean is held}
    found |= {"memory": module.mean.data_ptr() == first.data_ptr()}
    loaded = other.to(module.mean)
    found["apart"] = not other.mean.any().item()
    loaded.load_state_dict(module.state_dict())
    same = batches[-1].clone()
    if not module.mean.requires_grad:
        copy = deepcopy(module).train()
        right = torch.allclose(copy(same), same - copy.mean, equal_nan=True)
        found["copied"] = right and _same(module.mean, found["mean"][-1])
    for key in ("loaded", "again"):
        loaded.train()(same)
        assert _same(same, batches[-1]), "x was changed: return a new tensor"
        found[key] = loaded.mean.detach().clone()
    return found | {"held": held.detach().clone()}


def _two_calls(module: nn.Module, batches: list) -> str:
    """What comes of a backward through two calls, made after both; empty where nothing does."""
    x = batches[0].clone().requires_grad_()
    with torch.enable_grad():
        first, second = module(x * 1), module(batches[-1].clone())
    assert isinstance(first, torch.Tensor), f"the module returned {first!r}, not a tensor"
    try:
        if first.requires_grad:
            (first.sum() + second.sum()).backward()
    except RuntimeError as error:
        return what_was_raised(error)
    return ""


def check_average(trial, batches, modes, momentum=None, mode_of_autograd="enable_grad"):
    """Compare with the averages of ``batches``, each (batch, size), in the given modes."""
    found = trial(batches, modes, momentum, mode_of_autograd)
    share = 0.1 if momentum is None else momentum
    size, dtype = batches[0].shape[1], batches[0].dtype
    near = (
        {"rtol": 1e-10, "atol": 1e-10} if dtype == torch.float64 else {"rtol": 1e-4, "atol": 1e-5}
    )
    check_equal(found["parameters"], 0, "its parameters", "it would be trained")
    words = "mean is not in its state dict (a plain attribute, or not persistent?): it isn't saved"
    assert "mean" in found["state"], words
    words = "two calls, then a backward through both: it"
    why = "the second call wrote into a mean that the graph of the first one holds"
    assert not found["crossed"], f"{words} {found['crossed']}; {why}"
    check_close(found["fresh"].cpu(), torch.zeros(size), "mean at first, in a new module")
    assert found["apart"], "another module's mean has moved with it: each has its own tensor"
    assert not found["graph"], "mean requires grad: the graph of each batch hangs on it"
    mean = batches[0].new_zeros(size)
    for number, (x, mode) in enumerate(zip(batches, modes, strict=True), start=1):
        old, call = mean, f"call {number}, {'train' if mode else 'eval'}"
        got = found["mean"][number - 1]
        if mode and len(x):
            mean = (1 - share) * mean + share * x.mean(0)
            swapped = share * old + (1 - share) * x.mean(0)
            rows = old
            for row in x:
                rows = (1 - share) * rows + share * row
            slips = {
                "one update for each batch, by its mean; not one for each row": rows,
                "momentum is an argument; 0.1 is only its default": 0.9 * old + 0.1 * x.mean(0),
                "the old mean keeps a share of 1 - momentum only": old + share * x.mean(0),
                "a mean for each feature, over the batch alone": (1 - share) * old
                + share * x.mean(),
                "the first batch has a share of momentum, as any other": x.mean(0),
            }
            for words, wrong in slips.items():
                hit = torch.allclose(got, wrong) and not torch.allclose(wrong, mean)
                assert not hit, f"{call}: mean: {words}"
            slip = torch.allclose(got, swapped) and not torch.allclose(got, mean)
            assert not slip, f"{call}: momentum is the share of the new batch, not of the old mean"
            still = torch.equal(got, old) and not torch.allclose(old, mean)
            words = f"{call}: mean was not updated by {len(x)} row{'s'[: len(x) > 1]}"
            words += " (only a batch without rows is left out, not one with a NaN)" * bool(
                x.isnan().any()
            )
            assert not still, words
        words = f"{call}: mean is nan: a batch without rows has no mean, and changes nothing"
        assert len(x) or not got.isnan().any(), words
        words = f"{call}: mean was changed by a batch without rows (the old mean keeps all of it)"
        shrunk = torch.allclose(got, (1 - share) * old) and not torch.allclose(got, mean)
        assert len(x) or not shrunk, words
        check_digits(got, mean, f"{call}: mean")
        why = "" if mode else " (eval mode: it stays)"
        check_close(got, mean, f"{call}: mean{why}", **near)
        got = found["y"][number - 1]
        stale = got.shape == x.shape and torch.allclose(got, x - old)
        stale = stale and not torch.allclose(old, mean)
        assert not stale, f"{call}: the result is x minus the old mean: first update, then subtract"
        check_digits(got, x - mean, f"{call}: the result")
        check_close(got, x - mean, f"{call}: the result", **near)
        if mode_of_autograd == "enable_grad":
            right = torch.arange(1, 1 + size).to(x).expand_as(x)
            what = f"{call}: the gradient at x (mean is a constant)"
            check_close(found["gradient"][number - 1], right, what, **near)
    words = "a call of a copy.deepcopy has changed the first module's mean, or has taken that off x"
    assert found["copied"], words
    same = found["same"] and _same(found["held"], found["mean"][-1])
    assert same, "module.mean is another tensor than at first: update it in place"
    assert found["memory"], "mean is in other memory than at first: write into it (not .data =)"
    x = batches[-1]
    mean = (1 - share) * mean + share * x.mean(0) if len(x) else mean
    still = torch.equal(found["loaded"], found["mean"][-1]) and not torch.allclose(
        mean, found["mean"][-1]
    )
    words = "a new module loaded this state, and a call in training did not update mean (its x"
    assert not still, f"{words} needs no gradient, but autograd is on)"
    words = "mean, after a new module loaded this state and was called (what else holds it?)"
    check_close(found["loaded"], mean, words, **near)
    mean = (1 - share) * mean + share * x.mean(0) if len(x) else mean
    words = "mean, after the very same tensor came a second time (each call in training updates it)"
    check_close(found["again"], mean, words, **near)
