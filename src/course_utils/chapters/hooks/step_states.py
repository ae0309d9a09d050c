"""Awkward states of exercise 7.8, steps inside backward: a check tries each by its words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import course_utils
from course_utils.chapters.hooks.counting import bystander


def _steps(
    step_in_backward: Callable, start: Tensor, factors: list, words: str, **how: Any
) -> None:
    """Compare steps on one parameter, whose gradient is each of the factors, with SGD's.

    ``how`` goes to ``backward()``.
    """
    own, right = (nn.Parameter(start.clone()) for _ in range(2))
    step_in_backward([own], 0.1, 0.7)
    optimizer = torch.optim.SGD([right], lr=0.1, momentum=0.7)
    for number, factor in enumerate(factors, 1):
        (own * factor).sum().backward(**how)
        optimizer.zero_grad()
        (right * factor).sum().backward()
        optimizer.step()
        found, truth = own.detach(), right.detach()
        close = torch.allclose(found, truth, rtol=1e-12, atol=1e-12, equal_nan=True)
        told = f"after backward number {number} it is {found.tolist()}, expected {truth.tolist()}"
        near = " (was it in float32?)" * torch.allclose(found, truth, 1e-5, 1e-5)
        assert close, f"{words}: {told}{near}"


def _double() -> Tensor:
    numbers = torch.tensor([1.0, 2, 3], dtype=torch.float64)
    return numbers.to(course_utils.device)


def _zero_gradient(step: Callable) -> None:
    _steps(step, _double(), [1, 0, 0], "a gradient of zero still moves by the velocity")


def _infinite(step: Callable) -> None:
    _steps(step, _double(), [1, torch.inf], "an infinite gradient is a step, as SGD's")


def _transposed(step: Callable) -> None:
    start = torch.arange(6.0, dtype=torch.float64, device=course_utils.device).view(2, 3).t()
    _steps(step, start, [1, 2], "a transposed parameter")


def _no_dimensions(step: Callable) -> None:
    _steps(step, _double()[0], [1, 1], "a parameter without dimensions")


def _every_digit(step: Callable) -> None:
    _steps(step, _double(), [1 / 3, 0.7, 0.1], "a parameter of torch.float64, in every digit")


def _joins_later(step: Callable) -> None:
    own, right = ([nn.Parameter(_double()) for _ in range(2)] for _ in range(2))
    step(own, 0.1, 0.7)
    optimizer = torch.optim.SGD(right, lr=0.1, momentum=0.7)
    for used in (1, 1, 2, 1, 2):
        for parameters in (own, right):
            optimizer.zero_grad()
            torch.stack([one * 1 for one in parameters[:used]]).sum().backward()
        optimizer.step()
        found, truth = ([one.tolist() for one in some] for some in (own, right))
        close = all(map(torch.allclose, own, right))
        words = "two parameters, of which the second has no gradient at first, are"
        assert close, f"{words} {found}, expected {truth}: velocities are each parameter's own"


def _frozen_grad(step: Callable) -> None:
    for start in (_double(), _double()[0]):
        frozen, free = nn.Parameter(start.clone(), requires_grad=False), nn.Parameter(_double())
        frozen.grad = torch.ones_like(frozen)
        step([frozen, free], 0.1, 0.5)
        (frozen * free).sum().backward()
        kept = frozen.grad is not None and bool((frozen.grad == 1).all())
        assert kept, "the .grad that a frozen parameter had is gone: leave such a parameter be"
        moved = "a frozen parameter with a .grad moved: an optimizer steps where there is a .grad"
        assert torch.equal(frozen, start), moved
        assert not frozen.requires_grad, "a frozen parameter was given requires_grad=True"


def _makes_a_graph(step: Callable) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the circle between a parameter and such a gradient
        words = "backward(create_graph=True), in which autograd is on"
        _steps(step, _double(), [1, 2], words, create_graph=True)


def _memory_exchanged(step: Callable) -> None:
    own, right = ([nn.Parameter(_double()), nn.Parameter(3 * _double())] for _ in range(2))
    step(own, 0.1, 0.7)
    optimizer = torch.optim.SGD(right, lr=0.1, momentum=0.7)
    for number in (1, 2, 3):
        for pair in (own, right):
            optimizer.zero_grad()
            (pair[0] + pair[1] * number).sum().backward()
        optimizer.step()
        for pair in (own, right):
            pair[0].data, pair[1].data = pair[1].data, pair[0].data
    words = "two parameters exchange their memory (.data) after each step, and end at"
    told = "a velocity is the parameter's, wherever its numbers are"
    found, truth = ([one.tolist() for one in some] for some in (own, right))
    assert all(map(torch.allclose, own, right)), f"{words} {found}, expected {truth}: {told}"


def _equal_values(step: Callable) -> None:
    for order in ((1, 0, 1), (0, 1, 0)):
        own, right = ([nn.Parameter(_double()) for _ in range(2)] for _ in range(2))
        step(own, 0.1, 0.7)
        optimizer = torch.optim.SGD(right, lr=0.1, momentum=0.7)
        for index in order:
            own[index].sum().backward()
            optimizer.zero_grad()
            right[index].sum().backward()
            optimizer.step()
        found, truth = ([one.tolist() for one in some] for some in (own, right))
        words = f"two parameters of equal numbers, used in turn: they end at {found}"
        told = f"expected {truth}; each has its own velocity, and isn't found by its numbers"
        assert all(map(torch.allclose, own, right)), f"{words}, {told}"


def _two_groups(step: Callable) -> None:
    own, right = ([nn.Parameter(torch.ones(2)) for _ in range(2)] for _ in range(2))
    own[0].register_post_accumulate_grad_hook(bystander)
    groups = [{"params": [right[0]], "lr": 0.1, "momentum": 0.5}]
    optimizer = torch.optim.SGD([*groups, {"params": [right[1]], "lr": 0.4, "momentum": 0.0}])
    step([own[0]], 0.1, 0.5)
    for number in range(3):
        if number == 1:
            step([own[1]], 0.4, 0.0)
        for pair in (own, right):
            optimizer.zero_grad()
            (pair[0] * pair[1] if number else pair[0]).sum().backward()
        optimizer.step()
    found, truth = ([one.tolist() for one in some] for some in (own, right))
    words = "two calls, for a parameter each, of lr 0.1 and 0.4, momentum 0.5 and 0, with one"
    words += f" backward between them and two after: the parameters are {found}, expected {truth}"
    told = "each call has its own velocities, lr and momentum, and leaves those of others alone"
    assert all(map(torch.allclose, own, right)), f"{words}: {told}"
    kept = bystander in (own[0]._post_accumulate_grad_hooks or {}).values()
    assert kept, "a hook that the parameter had before is gone: leave other people's hooks alone"


def _limits_of_steps(step: Callable) -> None:
    for start, lr, momentum in (([1.0], 0.5, 1.0), ([1.0], 0.0, 0.5), ([], 1.0, 0.5)):
        own, right = (nn.Parameter(torch.tensor(start)) for _ in range(2))
        step([own], lr, momentum)
        optimizer = torch.optim.SGD([right], lr=lr, momentum=momentum)
        for _ in range(3):
            own.sum().backward()
            optimizer.zero_grad()
            right.sum().backward()
            optimizer.step()
        words = f"a parameter {start}, lr {lr:g}, momentum {momentum:g}, three backwards: it is"
        close = torch.allclose(own, right)
        assert close, f"{words} {own.tolist()}, expected {right.tolist()}: as they are given"


STATES: dict[str, dict[str, Callable[..., Any]]] = {
    "steps": {
        "a gradient of zero": _zero_gradient,
        "an infinite gradient": _infinite,
        "a transposed parameter": _transposed,
        "a parameter without dimensions": _no_dimensions,
        "every digit of torch.float64": _every_digit,
        "a parameter that joins later": _joins_later,
        "a frozen parameter that has a .grad": _frozen_grad,
        "a backward that makes a graph": _makes_a_graph,
        "memory that is exchanged": _memory_exchanged,
        "two parameters of equal numbers": _equal_values,
        "two calls at once": _two_groups,
        "momentum 1, lr 0, and no number": _limits_of_steps,
    },
}
