"""The digits, and a training on them that can be spoilt."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from course_utils.learner.devices import device
from course_utils.learner.gradients import grad_of


@functools.cache
def digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """1000 digits (1, 8, 8) from 0 to 1 with their labels, and 500 others for validation."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    x = torch.tensor(images[order], dtype=torch.float32, device=device).view(-1, 1, 8, 8) / 16
    y = torch.tensor(labels[order], device=device)
    return x[:1000], y[:1000], x[1000:1500], y[1000:1500]


HEALTHY: dict[str, Any] = {
    "rate": 0.1, "zero": True, "pairs": True, "logits": True, "bias": 0.0, "dead": 0, "deep": False,
    "scale": 1.0, "data": 1000, "shuffle": True, "safe": True, "decay": 0.0, "seed": 0,
}  # fmt: skip


def make_network(plan: dict) -> nn.Sequential:
    torch.manual_seed(plan["seed"])
    widths = [64, 48, 48, 48, 48, 10] if plan["deep"] else [64, 48, 48, 10]
    modules: list[nn.Module] = [nn.Flatten()]
    for n in range(len(widths) - 1):
        linear = nn.Linear(widths[n], widths[n + 1])
        if plan["deep"]:
            nn.init.normal_(linear.weight, std=0.1)
        if n == 1:
            nn.init.constant_(linear.bias[: plan["dead"]], -20.0)
            nn.init.constant_(linear.bias, plan["bias"]) if plan["bias"] else None
        modules += [linear, nn.Sigmoid() if plan["deep"] else nn.ReLU()]
    return nn.Sequential(*modules[:-1]).to(device)


def loss_of(plan: dict, output: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if not plan["safe"]:
        chances = output.half().exp() / output.half().exp().sum(1, keepdim=True)
        return -chances.float().log()[range(len(y)), y].mean()
    return F.cross_entropy(output if plan["logits"] else output.softmax(1), y)


def data_of(plan: dict) -> tuple[torch.Tensor, ...]:
    x, y, x_validation, y_validation = digits()
    x, y = x[: plan["data"]] * plan["scale"], y[: plan["data"]]
    y = y if plan["pairs"] else y.roll(1)
    order = torch.arange(len(y), device=device) if plan["shuffle"] else y.argsort(stable=True)
    return x[order], y[order], x_validation * plan["scale"], y_validation


NOTED = ("loss", "validation", "accuracy", "gradients", "weights", "updates")


@functools.cache
@torch.enable_grad()
def run(steps: int = 200, **changes) -> dict:
    """Train on the digits; what was seen at each step, and the network. ``changes`` to HEALTHY.

    Losses and accuracies are numbers; gradients and weights the norms of each layer, updates the
    lengths of its steps beside its weights.
    """
    plan = HEALTHY | changes
    network, (x, y, x_validation, y_validation) = make_network(plan), data_of(plan)
    optimizer = torch.optim.SGD(
        network.parameters(), lr=plan["rate"], momentum=0.9, weight_decay=plan["decay"]
    )
    linear = [module for module in network if isinstance(module, nn.Linear)]
    generator = torch.Generator().manual_seed(plan["seed"])
    seen = {name: [] for name in NOTED}
    for step in range(steps):
        rows = (torch.arange(50) + 50 * step) % len(x)
        if plan["shuffle"]:
            rows = torch.randint(len(x), (50,), generator=generator)
        loss = loss_of(plan, network(x[rows]), y[rows])
        if plan["zero"] or step == 0:
            optimizer.zero_grad()
        loss.backward()
        seen["loss"].append(loss.item())
        seen["gradients"].append([grad_of(layer.weight).norm().item() for layer in linear])
        seen["weights"].append([layer.weight.norm().item() for layer in linear])
        old = [layer.weight.detach().clone() for layer in linear]
        optimizer.step()
        with torch.no_grad():
            seen["updates"].append(
                [
                    ((layer.weight - before).norm() / before.norm()).item()
                    for layer, before in zip(linear, old, strict=True)
                ]
            )
            output = network(x_validation)
            seen["validation"].append(loss_of(plan, output, y_validation).item())
            seen["accuracy"].append((output.argmax(1) == y_validation).float().mean().item())
    return seen | {"network": network, "plan": plan}
