"""Bilinear pooling: what a wrong result may have come from."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from course_utils.learner.operators import forbid_copies


def small_storages(x: torch.Tensor) -> forbid_copies:
    """Refuse what is larger than x and the result: a matrix for each pixel, or wider numbers."""
    most = max(x.nbytes, len(x) * x.shape[1] ** 2 * x.element_size())
    words = "a matrix for each pixel is larger, and so is a copy in a wider dtype"
    return forbid_copies(most, f"the larger of x and the result has {most}: {words}")


def slip_of_pooling(result, x: torch.Tensor, because: str) -> str:
    """Words for the slip that gives just this result, or else ``because``; none of another kind."""
    if not x.any():
        return because  # an image of zeros gives many slips the same result
    flat = x.detach().flatten(2).double()
    pooled = flat @ flat.mT / max(flat.shape[2], 1)
    apart = flat - flat.mean(2, keepdim=True)
    size = (pooled.abs() + 1e-12).sqrt()
    rooted = pooled.sign() * size
    row, right = rooted.flatten(1), F.normalize(rooted.flatten(1))
    first = F.normalize(pooled.flatten(1))
    centred = apart @ apart.mT / max(flat.shape[2], 1)
    mixed = torch.einsum("bcp,adp->bcd", flat, flat)
    across = flat.sum(2)[:, :, None] * flat.sum(2)[:, None]

    def finished(g):
        return F.normalize((g.sign() * (g.abs() + 1e-12).sqrt()).flatten(1))

    slips = {
        "every image met every other": finished(mixed),
        "every pixel met every other, not only itself": finished(across),
        "one half of each matrix is missing": finished(pooled.triu()),
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
        "each column of a matrix has a length of its own: flatten first": F.normalize(
            rooted, dim=1
        ).flatten(1),
        "divided by the sum of the absolute values, which is not the length": F.normalize(row, p=1),
        "first the root, then the length": first.sign() * (first.abs() + 1e-12).sqrt(),
        "the channels' means were taken away: nobody asked for that": finished(centred),
    }
    if isinstance(result, torch.Tensor) and result.shape == (len(x), flat.shape[2] ** 2):
        turned = "pixels met pixels: turn one factor of the product, so that channels meet channels"
        return turned if flat.shape[2] != flat.shape[1] else ""
    if not isinstance(result, torch.Tensor) or result.shape != right.shape:
        return ""
    if result.dtype != x.dtype:
        return ""
    result = result.detach().double()
    for words, wrong in slips.items():
        near = torch.allclose(result, wrong, atol=1e-5)
        if near and not torch.allclose(wrong, right, atol=1e-4):
            return words
    return because


def images_to_pool(x: torch.Tensor) -> list[tuple]:
    """Images, made of x (2, 4, 5, 3) in float64: tensor, name, words where it fails, tolerance."""
    pixel = torch.tensor([[[[3.0]], [[-4.0]]]], device=x.device)
    tiny = "what you add, in the root or to a length, is 1e-12 at most"
    digits = "has a step only float32's digits?"
    signs = torch.tensor([1.0, -1.0, 1.0, 1.0]).to(x)[:, None, None]
    full, some = (x.abs() + 0.3) * signs, torch.cat([0 * x[:1], x])
    return [
        (pixel.double(), "of one pixel, 3 and -4"),
        (x, "of shape (2, 4, 5, 3)"),
        (x.mT[:, 1:], "that is a transposed slice", "in memory its numbers stand in another order"),
        (x.float(), "in float32", "", 1e-5),
        (x / 1024, "of small numbers", tiny),
        (torch.zeros_like(x), "of zeros", "an image of zeros gives zeros"),
        (pixel * 1e-5, "of one pixel, 3e-05 and -4e-05", tiny, 1e-3),
        (pixel * 1e-6, "of one pixel, 3e-06 and -4e-06", tiny, 0.05),
        (full, "with no zeros", digits, 1e-9),
        (full.view(10, 4, 1, 3), "of ten images with three pixels", digits, 1e-9),
        (x * 1000, "of large numbers"),
        (x[:, :1], "of one channel"),
        (x[..., :1], "of a single column"),
        (x[:, :, :1, :1].float(), "of one pixel for each image, in float32", "", 1e-5),
        (some, "with an image of zeros among others", "each image by itself, whatever the others"),
        (x[:1].expand(3, 4, 5, 3), "of one image three times, expanded"),
    ]


def slopes_to_pool(x: torch.Tensor) -> list[tuple]:
    """Where the gradient is asked for, from x (2, 4, 5, 3) in float64: tensor and name."""
    drawn = torch.randn(2, 5, 6, 8, generator=torch.Generator().manual_seed(4), dtype=x.dtype)
    gap = torch.arange(4, device=x.device)[:, None, None] != 1
    return [
        (x, "of shape (2, 4, 5, 3)"),
        (drawn.to(x.device), "of drawn numbers in float64"),
        (x * gap, "with a channel that is all zero"),
        ((x * gap).float(), "the same in float32"),
        (torch.zeros_like(x), "of zeros"),
        (torch.cat([0 * x[:1], x]), "with an image of zeros among others"),
        (x[:1], "of one image"),
        (x[:, :1], "of one channel"),
        (x[..., :1, :1], "of one pixel"),
        (x.mT, "transposed"),
    ]
