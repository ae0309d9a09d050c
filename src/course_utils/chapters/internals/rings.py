"""Chapter 05's network and its two rings, trained by an engine of handles and by PyTorch."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from course_utils.chapters.internals.small_torch import Handle, MyTensor

Weights = list[np.ndarray]


@cache
def points_and_labels() -> tuple[np.ndarray, np.ndarray]:
    """200 points (200, 2) on two rings, and their classes (200,)."""
    generator = torch.Generator().manual_seed(0)
    angle = 2 * math.pi * torch.rand(200, generator=generator)
    labels = torch.arange(200) % 2
    radius = 1 + 0.8 * labels + 0.15 * torch.randn(200, generator=generator)
    points = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
    return points.double().numpy(), labels.numpy()


def start() -> Weights:
    """The weights that both engines begin with: w1, b1, w2, b2."""
    generator = torch.Generator().manual_seed(1)
    w1 = torch.randn(2, 16, generator=generator).double()
    w2 = torch.randn(16, 2, generator=generator).double() / 4
    return [w1.numpy(), np.zeros(16), w2.numpy(), np.zeros(2)]


def on(key: str, array: np.ndarray, grad: bool = False) -> Handle:
    """A handle for an array on the backend ``"List"`` or ``"NumPy"``."""
    if key == "List":
        return Handle(MyTensor(array.flatten().tolist(), array.shape), key, requires_grad=grad)
    return Handle(array, key, requires_grad=grad)


def loss_of(call: Any, x: Handle, chosen: Handle, weights: list[Handle]) -> Handle:
    """The cross-entropy of the network, by calls of a dispatcher."""
    w1, b1, w2, b2 = weights
    hidden = call("relu", call("add", call("matmul", x, w1), b1))
    return call("cross_entropy", call("add", call("matmul", hidden, w2), b2), chosen)


def _number(handle: Handle) -> float:
    value = handle.stored.tolist()
    while isinstance(value, list):
        value = value[0]
    return float(value)


def gradients(engine: Any, key: str, weights: Weights) -> tuple[float, Weights]:
    """The loss of all points and its gradients, on one backend of ``(dispatcher, backward)``.

    With ``backward`` as ``None`` the gradients are PyTorch's.
    """
    dispatcher, backward = engine
    points, labels = points_and_labels()
    x, chosen = on(key, points), on(key, np.eye(2)[labels])
    handles = [on(key, weight, grad=backward is not None) for weight in weights]
    loss = loss_of(dispatcher.call, x, chosen, handles)
    if backward is None:
        return _number(loss), [slope.numpy() for slope in _step_of_torch(weights)[1]]
    backward(dispatcher, loss, on(key, np.ones(1 if key == "List" else ())))
    return _number(loss), [np.asarray(handle.grad.stored.tolist()) for handle in handles]


def train(engine: Any, key: str, steps: int, rate: float = 0.5) -> tuple[list[float], Weights]:
    """The loss at each step, and the weights after the last."""
    losses, weights = [], start()
    for _ in range(steps):
        loss, slopes = gradients(engine, key, weights)
        losses.append(loss)
        weights = [w - rate * g for w, g in zip(weights, slopes, strict=True)]
    return losses, weights


def one_step(engine: Any, key: str) -> float:
    """The loss after a single step."""
    _, weights = train(engine, key, steps=1)
    return gradients(engine, "NumPy", weights)[0]


def _scores(x: torch.Tensor, weights: list[torch.Tensor]) -> torch.Tensor:
    w1, b1, w2, b2 = weights
    return (x @ w1 + b1).relu() @ w2 + b2


def _step_of_torch(weights: Weights) -> tuple[float, tuple[torch.Tensor, ...]]:
    """The loss of all points and its gradients, by PyTorch."""
    x, labels = (torch.from_numpy(part) for part in points_and_labels())
    leaves = [torch.from_numpy(w).clone().requires_grad_() for w in weights]
    loss = F.cross_entropy(_scores(x, leaves), labels)
    return loss.item(), torch.autograd.grad(loss, leaves)


def train_torch(steps: int, rate: float = 0.5) -> tuple[list[float], Weights]:
    """The same training by PyTorch."""
    weights, losses = start(), []
    for _ in range(steps):
        loss, slopes = _step_of_torch(weights)
        losses.append(loss)
        weights = [w - rate * g.numpy() for w, g in zip(weights, slopes, strict=True)]
    return losses, weights


def shares(weights: Weights) -> np.ndarray:
    """The share of class 1 on a grid of 60 by 60 places from -2.5 to 2.5."""
    grid = torch.linspace(-2.5, 2.5, 60, dtype=torch.float64)
    places = torch.cartesian_prod(grid, grid)
    scores = _scores(places, [torch.from_numpy(w) for w in weights])
    return scores.softmax(1)[:, 1].reshape(60, 60).t().numpy()


def right_answers(weights: Weights) -> int:
    """How many of the 200 points the network puts into their class."""
    points, labels = points_and_labels()
    scores = _scores(torch.from_numpy(points), [torch.from_numpy(w) for w in weights])
    return int((scores.argmax(1).numpy() == labels).sum())
