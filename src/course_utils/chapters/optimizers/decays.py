"""Weight decay: inside the gradient, or beside it."""

from __future__ import annotations

import torch
import torch.nn as nn


def decay_of(name):
    """Let the machine do what a line of the exercise says: is it the same, or where is w?"""
    if not name.startswith("same"):
        kind, decay, gradient = name.split(", ")
        w = nn.Parameter(torch.tensor(1.0))
        w.grad = None if "None" in gradient else torch.tensor(float(gradient.split()[1]))
        getattr(torch.optim, kind)([w], lr=0.1, weight_decay=float(decay.split("=")[1])).step()
        return round(w.item(), 3)
    kind, ends = name[6:].split(",")[0], []
    options = {"momentum": 0.9, "nesterov": True} if "nesterov" in name else {}
    for decay, l2 in ((0.5, 0.0), (0.0, 0.5)):
        w = nn.Parameter(torch.tensor([1.0, -2.0]))
        optimizer = getattr(torch.optim, kind)([w], lr=0.1, weight_decay=decay, **options)
        for _ in range(5):
            optimizer.zero_grad()
            (w.sin().sum() + l2 / 2 * w.square().sum()).backward()
            optimizer.step()
        ends.append(w.detach())
    return torch.allclose(*ends, atol=1e-5)
