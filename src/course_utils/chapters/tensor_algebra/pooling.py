"""Bilinear pooling: what a wrong result may have come from."""

from __future__ import annotations

import torch
import torch.nn.functional as F


def slip_of_pooling(result, x: torch.Tensor) -> str:
    """Words for the slip that gives just this result; none where no such slip is known."""
    flat = x.detach().flatten(2).double()
    pooled = flat @ flat.mT / max(flat.shape[2], 1)
    apart = flat - flat.mean(2, keepdim=True)
    size = (pooled.abs() + 1e-12).sqrt()
    rooted = pooled.sign() * size
    row, right = rooted.flatten(1), F.normalize(rooted.flatten(1))
    first = F.normalize(pooled.flatten(1))
    centred = apart @ apart.mT / max(flat.shape[2], 1)
    slips = {
        "the sign is lost: small and large are told apart, + and - are not": F.normalize(
            size.flatten(1)
        ),
        "the root is missing": first,
        "a vector is not divided by its length": row,
        "one length for all images: each has its own": row / row.norm().clamp_min(1e-12),
        "the length is taken over the images: which dim?": F.normalize(row, dim=0),
        "each row of a matrix has a length of its own: flatten first": F.normalize(
            rooted, dim=2
        ).flatten(1),
        "divided by the sum of the absolute values, which is not the length": F.normalize(row, p=1),
        "first the root, then the length": first.sign() * (first.abs() + 1e-12).sqrt(),
        "the channels' means were taken away: nobody asked for that": F.normalize(
            (centred.sign() * (centred.abs() + 1e-12).sqrt()).flatten(1)
        ),
    }
    if not isinstance(result, torch.Tensor) or result.shape != right.shape:
        return ""
    result = result.detach().double()
    for words, wrong in slips.items():
        near = torch.allclose(result, wrong, atol=1e-5)
        if near and not torch.allclose(wrong, right, atol=1e-4):
            return words
    return ""


def further_images(x: torch.Tensor) -> list[tuple]:
    """Images, made of x (2, 4, 5, 3) in float64: tensor, name, tolerance, words where it fails."""
    pixel = torch.tensor([[[[3.0]], [[-4.0]]]], device=x.device)
    tiny, shorter = "add 1e-12 at most", "is what you add to a length tiny?"
    signs = torch.tensor([1.0, -1.0, 1.0, 1.0]).to(x)[:, None, None]
    holed = x.clone()
    holed[0, 0, 0, 0] = torch.nan
    return [
        (pixel * 1e-5, "of one pixel, 3e-05 and -4e-05", 1e-3, tiny),
        (pixel * 1e-6, "of one pixel, 3e-06 and -4e-06", 0.05, shorter),
        ((x.abs() + 0.3) * signs, "with no zeros", 1e-9, "has a step only float32's digits?"),
        (x.view(10, 4, 1, 3), "of ten images with three pixels", 2e-6, ""),
        (holed, "with a NaN in the first image", 2e-6, "NaN stays, in its own image"),
        (x[:, :1], "of one channel", 2e-6, ""),
    ]
