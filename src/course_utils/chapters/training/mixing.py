"""Exercise 13.10: mixup and CutMix with known shares."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from course_utils.learner.checks import check_close
from course_utils.learner.devices import device


def right_mix(x, y, classes, order, weight=1.0, box=None):
    """Images mixed pixel by pixel, their labels, and the share of the first."""
    own = torch.ones(x.shape[2:], dtype=torch.bool, device=x.device)
    for row in range(x.shape[2]):
        for column in range(x.shape[3]):
            if box and box[0] <= row < box[0] + box[2] and box[1] <= column < box[1] + box[3]:
                own[row, column] = False
    share = own.double().mean().item() if box else weight
    mixed = torch.where(own, x, x[order]) if box else weight * x + (1 - weight) * x[order]
    labels = torch.zeros(len(y), classes, device=x.device, dtype=x.dtype)
    for i in range(len(y)):
        labels[i, y[i]] += share
        labels[i, y[order[i]]] += 1 - share
    return mixed, labels, share


BOXES = [
    *((1, 2, 3, 2), (-2, 6, 4, 4), (5, -3, 9, 5), (0, 0, 8, 8)),
    *((9, 1, 3, 3), (-5, -5, 3, 3), (2, 2, 0, 4)),
]


def make_mix(n, size, classes, seed, dtype, gaps):
    """Seeded images, labels, the number of classes, and an order to mix them in."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n, *size, generator=generator).to(device, dtype)
    x = x.transpose(2, 3).contiguous().transpose(2, 3) if gaps else x
    y = torch.randint(classes, (n,), generator=generator).to(device)
    return x, y, classes, torch.randperm(n, generator=generator).to(device)


def check_soft(soft, right, y, order, share, planned, loose):
    """Compare the labels; known slips in words."""
    slips = {"the weights are swapped: weight belongs to image i": 1 - share}
    slips["this is the planned area; count the pixels inside the image"] = planned
    hard = F.one_hot(y, right.shape[1]).to(right.dtype)
    same_form = isinstance(soft, torch.Tensor) and soft.shape == right.shape
    for words, slip in slips.items():
        wrong = slip * hard + (1 - slip) * hard[order]
        if same_form and not torch.allclose(wrong, right, atol=3e-3):
            assert not torch.allclose(soft.to(right.dtype), wrong, atol=2e-3), f"soft: {words}"
    check_close(soft, right, "soft", **loose)
