"""The digits, a small network for them, and its training, as the whole chapter uses them."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

from course_utils.learner.devices import device


def digits(where: torch.device | str = device) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Images (n, 1, 8, 8) from 0 to 1 and labels (n,), under "train", "val" and "test"."""
    data = load_digits()
    x = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16
    y = torch.tensor(data.target, dtype=torch.int64)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    parts = zip(("train", "val", "test"), order.split([1197, 300, 300]), strict=True)
    return {name: (x[index].to(where), y[index].to(where)) for name, index in parts}


def make_model(seed: int = 0, classes: int = 10, width: int = 16) -> nn.Sequential:
    """A small CNN for 8 × 8 images; the global random state stays as it is."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.Flatten(),
            nn.Dropout(0.2),
        )
        return nn.Sequential(body, nn.Linear(32 * width, classes)).to(device)


def train_epoch(model, x, y, optimizer, generator, size: int = 64) -> None:
    """One pass over shuffled batches."""
    model.train()
    for index in torch.randperm(len(x), generator=generator).split(size):
        optimizer.zero_grad()
        F.cross_entropy(model(x[index.to(x.device)]), y[index.to(x.device)]).backward()
        optimizer.step()


def score(model, x, y) -> tuple[float, float]:
    """Loss and accuracy over all samples, in evaluation mode."""
    model.eval()
    with torch.no_grad():
        logits = model(x)
    right = (logits.argmax(1) == y).float().mean()
    return F.cross_entropy(logits, y).item(), right.item()
