"""The payoff's parts from PyTorch alone, for those whose exercises are unsolved."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F


def library_groups(model: nn.Module, backbone: str, lr: float, weight_decay: float) -> list[dict]:
    """Groups for AdamW: decay for what has two dimensions or more, one rate for all."""
    params = [p for p in model.parameters() if p.requires_grad]
    return [
        {
            "params": [p for p in params if (p.ndim < 2) == flat],
            "lr": lr,
            "weight_decay": 0.0 if flat else weight_decay,
        }
        for flat in (False, True)
    ]


def library_schedule(base: float, warmup: int, total: int, floor: float) -> list[float]:
    """Rates that rise and fall in straight lines, by PyTorch's schedulers."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=base)
    kinds = torch.optim.lr_scheduler
    rise = kinds.LinearLR(optimizer, 1 / warmup, total_iters=warmup - 1)
    fall = kinds.LinearLR(optimizer, 1, floor / base, total_iters=total - warmup)
    scheduler, rates = kinds.SequentialLR(optimizer, [rise, fall], milestones=[warmup]), []
    for _ in range(total):
        rates.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        scheduler.step()
    return rates


def library_clip(
    model: nn.Module, pieces: list[tuple[torch.Tensor, torch.Tensor]], max_norm: float
) -> torch.Tensor:
    """Fill .grad as one batch of all pieces would, clipped; the norm before, of shape ()."""
    model.zero_grad()
    x, y = (torch.cat(parts) for parts in zip(*pieces, strict=True))
    F.cross_entropy(model(x), y).backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm)
