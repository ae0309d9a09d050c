"""L-BFGS: losses to minimise, and what a minimum has to be."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from course_utils.learner.changes import forbid_changes
from course_utils.learner.devices import device


def problem(name):
    """A loss, and where to start."""
    draw = torch.Generator().manual_seed(8)
    if name == "the banana":
        return (lambda w: (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2), torch.tensor(
            [-1.2, 1.0], dtype=torch.float64
        )
    if name == "a bowl a thousand times as steep one way":
        steep = torch.logspace(0, 3, 12, dtype=torch.float64).view(3, 4).to(device)
        return lambda w: (steep * (w - 1) ** 2).sum() / 2, torch.zeros(3, 4, dtype=torch.float64)
    if name == "a bowl a million times as steep one way":
        steep = torch.tensor([1.0, 1e6], dtype=torch.float64).to(device)
        return lambda w: (steep * (w - 1) ** 2).sum() / 2, torch.zeros(2, dtype=torch.float64)
    if name == "walls that flatten, as sqrt(1 + w ** 2) does":
        start = torch.full((2,), 2.5, dtype=torch.float64)
        return lambda w: (1 + (w - 1).square()).sqrt().sum(), start
    if name.startswith("too hard, sharp"):  # a line search takes several calls in each iteration
        sharp = {"0": 1e-6, "1": 1e-7, "2": 1e-8, "3": 1e-10}[name[-1]]
        steep = torch.logspace(0, 3, 6, dtype=torch.float64).to(device)
        start = torch.zeros(6, dtype=torch.float64)
        return lambda w: ((steep * (w - 1)).square() + sharp).sqrt().sum(), start
    if name.startswith("too hard for 100 calls"):
        steep = torch.logspace(0, 4, 40, dtype=torch.float64).to(device)
        return lambda w: (steep * (w - 1) ** 2).sum() / 2, torch.zeros(40, dtype=torch.float64)
    if name == "another loss from the banana's start":
        return (lambda w: (w - 2).square().sum()), torch.tensor([-1.2, 1.0], dtype=torch.float64)
    if name == "a floor as flat as w ** 4":
        steep = torch.logspace(0, 2, 6, dtype=torch.float64).to(device)
        return lambda w: (steep * (w - 1) ** 4).sum(), torch.linspace(-3, 3, 6, dtype=torch.float64)
    if name == "200 entries, one of them on a floor as flat as w ** 4":
        return (lambda w: (w[:-1] - 1).square().sum() + w[-1] ** 4), torch.ones(
            200, dtype=torch.float64
        )
    if name == "a minimum far from 0":
        far = torch.tensor([1000.3, -2000.7], dtype=torch.float64).to(device)
        return lambda w: 50 * (w - far).square().sum(), torch.zeros(2, dtype=torch.float64)
    if name == "one number, 0-D":
        return lambda w: (w - 3) ** 2 + torch.exp(-w), torch.tensor(0.0, dtype=torch.float64)
    x = torch.randn(60, 5, generator=draw, dtype=torch.float64)
    y = (x.sum(1) + torch.randn(60, generator=draw, dtype=torch.float64) > 0).double().to(device)
    x = x.to(device)

    def loss(w):
        return F.binary_cross_entropy_with_logits(x @ w, y) + 0.05 * w.square().sum()

    return loss, torch.zeros(5, dtype=torch.float64)


def run_lbfgs(lbfgs_closure, name):
    """The minimum that was found, and how often the loss was evaluated."""
    if name.startswith("too hard, in four valleys"):
        runs = [run_lbfgs(lbfgs_closure, f"too hard, sharp {k}") for k in range(4)]
        return max(runs, key=lambda run: run[1])
    loss, start = problem(name)
    calls, start, stale = 0, start.to(device), False

    def loss_of(w):
        nonlocal calls, stale
        calls += 1
        words = f"loss_of was given a tensor of {w.dtype}: it takes {start.dtype}, as start is"
        assert w.dtype == start.dtype, words
        words = f"loss_of was given a tensor of shape {tuple(w.shape)}"
        assert w.shape == start.shape, f"{words}: it takes {tuple(start.shape)}, as start has it"
        stale = stale or bool(w.is_leaf and w.grad is not None and w.grad.any())
        if calls > 20_000:
            raise AssertionError("loss_of was called 20000 times, and there is no end")
        return loss(w)

    with forbid_changes(start):
        try:
            w = lbfgs_closure(loss_of, start)
        except TypeError as error:
            words = "the closure returned nothing: LBFGS compares the losses that it returns"
            raise AssertionError(words) if "float() argument" in str(error) else error from None
        except torch.linalg.LinAlgError:
            words = "Newton's step is too long where walls flatten: shorten it until the loss falls"
            raise AssertionError(f"the Hessian can't be inverted any more: {words}") from None
    if name == "one number, 0-D" and isinstance(w, torch.Tensor):
        kept, budget = w.detach().clone(), calls
        lbfgs_closure(loss_of, start + 1)
        calls, words = budget, "the w of one call was changed by the next: give each call its own"
        assert torch.equal(w, kept), words
    plain = not isinstance(w, torch.Tensor) or type(w) is torch.Tensor
    assert plain, (
        f"the result is of type {type(w).__name__}: a plain tensor is asked for, w.detach()"
    )
    assert not start.requires_grad, "start was changed: it requires a gradient now"
    assert start.grad is None, "start was changed: it has a gradient now"
    return w, calls, stale


def check_minimum(found, name):
    """Few calls, a plain tensor, and a gradient that is nearly zero."""
    loss, start = problem("too hard, sharp 0" if "in four valleys" in name else name)
    w, calls, stale = found
    assert w is not None, "lbfgs_closure returned None: is there an answer yet?"
    assert isinstance(w, torch.Tensor), f"the result is of type {type(w).__name__}, not a tensor"
    assert w.shape == start.shape, (
        f"the result has shape {tuple(w.shape)}, expected {tuple(start.shape)}"
    )
    assert w.dtype == start.dtype, f"the result has dtype {w.dtype}, expected {start.dtype}"
    assert not w.requires_grad, "the result requires a gradient: detach it"
    many = f"loss_of was called {calls} times, at most 100 are allowed: max_eval stops LBFGS"
    if calls <= 125:
        many += ", but between two line searches alone, and one may take 25 calls"
    wrong = [many] if calls > 100 else []
    w = w.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(w), w)
    steepest = gradient.abs().max().item()
    if not steepest <= 1e-3 and not name.startswith("too hard"):
        words = "w is still at start" if torch.equal(w.detach().cpu(), start) else "not there yet"
        more = "; by default LBFGS stops after max_iter=20 iterations" if 10 < calls < 40 else ""
        if steepest < 0.05:
            more = "; near, though: what ended it, max_iter, tolerance_grad or tolerance_change?"
        rounded = torch.equal(w.detach().float().double(), w.detach())
        more = "; w was rounded to float32 on the way" if rounded and steepest < 0.05 else more
        mean = gradient.abs().mean().item() <= 1e-3 < steepest
        more = "; their mean alone is as small as that: each entry has to be" if mean else more
        more = "; gradients add up: does the closure clear them?" if stale else more
        wrong.append(f"an entry of the gradient is {steepest:.5g}, at most 0.001: {words}{more}")
    assert not wrong, "; ".join(wrong)
