"""Exercise 13.10: mixup and CutMix with known shares."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from course_utils.learner.cases import every_case
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
    *((9, 1, 3, 3), (1, 10, 3, 3), (-5, -5, 3, 3), (2, 2, 0, 4), (-5, 2, 3, 4), (2, -5, 4, 3)),
]


def make_mix(n, size, classes, seed, dtype, gaps, flat=False):
    """Seeded images, labels, the number of classes, and an order to mix them in.

    ``flat``: all pixels are equal, so that they don't tell what was pasted.
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n, *size, generator=generator).to(device, dtype)
    x = torch.full_like(x, 0.5) if flat else x
    x = x.transpose(2, 3).contiguous().transpose(2, 3) if gaps else x
    y = torch.randint(classes, (n,), generator=generator).to(device)
    return x, y, classes, torch.randperm(n, generator=generator).to(device)


def labels_of(share, y, order, right):
    hard = F.one_hot(y, right.shape[1]).to(right.dtype)
    return share * hard + (1 - share) * hard[order]


SLIPS = {
    "the weights are swapped: weight belongs to image i": lambda case: 1 - case["share"],
    "this is the planned area; count the pixels inside the image": lambda case: case["planned"],
    "image i keeps its own label, unmixed": lambda case: 1.0,
}


def one_slip_of(tried: list[dict]) -> str:
    """Words for the slip that gives the labels found in every one of the cases, or ""."""
    for words, share_of in SLIPS.items():
        gives = [
            labels_of(share_of(case), case["y"], case["order"], case["soft"]) for case in tried
        ]
        if tried and all(map(close, [case["found"] for case in tried], gives)):
            return words
    turned = [
        labels_of(case["share"], case["y"], case["order"].argsort(), case["soft"]) for case in tried
    ]
    if tried and all(map(close, [case["found"] for case in tried], turned)):
        return "image i is mixed with image order[i]; this is the other way round, order.argsort()"
    return ""


def close(found, right, tolerance=2e-3) -> bool:
    """Whether a tensor of the right shape has these values."""
    fits = isinstance(found, torch.Tensor) and found.shape == right.shape
    return fits and torch.allclose(found.to(right.dtype), right, atol=tolerance)


def check_soft(soft, right, slip, loose):
    """Compare the labels; ``slip`` has words that explain all of them."""
    assert not slip or close(soft, right), f"soft: {slip}"
    check_close(soft, right, "soft", **loose)


def check_mix(seen, slip=""):
    """Compare images and labels, each by itself."""
    half = seen["mixed"].dtype == torch.float16
    loose = dict.fromkeys(("rtol", "atol"), 2e-3 if half else 1e-5)
    with every_case() as part:
        with part("images"):
            check_close(seen["images"], seen["mixed"], "mixed", **loose)
        with part("labels"):
            check_soft(seen["found"], seen["soft"], slip, loose)
