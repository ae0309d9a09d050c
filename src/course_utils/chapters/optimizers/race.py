"""The race of optimizers on two spirals."""

from __future__ import annotations

from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import nn

from course_utils.chapters.optimizers.steps import pair_of
from course_utils.learner.changes import forbid_changes, same_values
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook

BUDGET, TARGET = 150, 0.01


def spirals():
    """200 points (200, 2) on two spirals, and which one, in float64."""
    turn = torch.linspace(0.25, 1, 100, dtype=torch.float64) * 3 * torch.pi
    arm = torch.stack([turn.cos(), turn.sin()], 1) * turn[:, None] / 10
    which = torch.cat([torch.zeros(100), torch.ones(100)]).double()
    return torch.cat([arm, -arm]).to(device), which.to(device)


def racers():
    """The parameters that all start with: weight, bias, weight, …

    With biases of zero, the spirals' symmetry would make the biases' gradients zero but for
    rounding, and Adam would make whole steps of that.
    """
    draw, params = torch.Generator().manual_seed(0), []
    for n, m in ((2, 24), (24, 24), (24, 1)):
        params.append(5 / 3 * torch.randn(m, n, generator=draw, dtype=torch.float64) / n**0.5)
        params.append(0.1 * torch.randn(m, generator=draw, dtype=torch.float64))
    return [p.to(device) for p in params]


def race_loss(params, x, y):
    h = torch.tanh(F.linear(x, *params[:2]))
    h = torch.tanh(F.linear(h, *params[2:4]))
    return F.binary_cross_entropy_with_logits(F.linear(h, *params[4:])[:, 0], y)


def run_race(take_step):
    """The loss before each step and after the last.

    ``take_step(step, params, gradients)`` gives the parameters of the next step.
    """
    (x, y), losses = spirals(), []
    params = [p.requires_grad_() for p in racers()]
    for step in range(1, BUDGET + 1):
        loss = race_loss(params, x, y)
        losses.append(loss.item())
        gradients = torch.autograd.grad(loss, params)
        params = [p.detach().requires_grad_() for p in take_step(step, params, gradients)]
    return [*losses, race_loss(params, x, y).item()]


def by_library(make):
    """A take_step that lets an optimizer of torch.optim do it."""
    optimizer = None

    def take_step(step, params, gradients):
        nonlocal optimizer
        optimizer = optimizer or make([nn.Parameter(p.detach().clone()) for p in params])
        own = optimizer.param_groups[0]["params"]
        for p, gradient in zip(own, gradients, strict=True):
            p.grad = gradient
        optimizer.step()
        return own

    return take_step


def _one_step(race, step, p, gradient, state):
    """What the answer returns; in words, where it mixed up two parameters."""
    try:
        return race(step, p, gradient, state)
    except RuntimeError as error:
        if "must match the size" not in str(error):
            raise
        words = (
            "what is remembered of a parameter met another parameter's size: keep it in the "
            "state that is handed over, which belongs to this parameter"
        )
        raise AssertionError(words) from None


@ends_in_notebook
def run_race_with(race):
    """The losses of the learner's optimizer."""
    states, seen, begun = [{} for _ in range(6)], [], []

    def take_step(step, params, gradients):
        news = []
        for k, (p, gradient) in enumerate(zip(params, gradients, strict=True)):
            seen.extend((one.detach(), one.detach().clone()) for one in (p, gradient))
            old = p.detach()
            with forbid_changes(old, gradient), _seeded(step):
                answer = _one_step(race, step, old, gradient, states[k])
            new, states[k] = pair_of(answer, "race")
            if k == 3 and step <= 3:
                begun.append((step, old.clone(), gradient.clone(), new.detach().clone()))
            assert new.shape == p.shape, (
                f"p has shape {tuple(new.shape)}, expected {tuple(p.shape)}"
            )
            assert new.dtype == p.dtype, f"p has dtype {new.dtype}, expected {p.dtype}"
            news.append(new)
        return news

    losses = run_race(take_step)
    words = "p or grad of an earlier step was changed: keep a copy in the state, not it"
    assert all(same_values(a, b) for a, b in seen), words
    weight = racers()[0]
    large = 50 * weight
    with forbid_changes(weight, large):
        race(1, weight, large, {})
    _begin_again(race, begun)
    return losses


@contextmanager
def _seeded(step):
    """The same seed for each of the first steps: a right answer may draw numbers."""
    with torch.random.fork_rng(devices=[], enabled=step <= 3):
        if step <= 3:
            torch.manual_seed(step)
        yield


def _begin_again(race, begun):
    """The first steps of a tensor once more, from an empty state: they have to end as before."""
    state = {}
    words = (
        "the first steps of a tensor, once more from an empty state, end elsewhere: what is "
        "remembered outside of state is an earlier race's, or another tensor's: keep it in state"
    )
    for step, p, gradient, right in begun:
        with _seeded(step):
            new, state = pair_of(_one_step(race, step, p, gradient, state), "race")
        assert torch.allclose(new, right, rtol=1e-9, atol=1e-12, equal_nan=True), words
