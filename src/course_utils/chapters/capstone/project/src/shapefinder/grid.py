"""From the network's numbers back to boxes."""

import torch
from torchvision.ops import nms


def decode(output: torch.Tensor, threshold: float = 0.5) -> list[torch.Tensor]:
    """Read boxes from the network's output.

    Args:
        output: (n, 8, h, w), raw numbers.
        threshold: the smallest probability of an object that counts.

    Returns:
        For each image (k, 6): confidence, label, and left, top, right, bottom as shares of the
        image's width and height; the surest comes first.
    """
    n, _, height, width = output.shape
    output = output.float() if output.dtype.itemsize < 4 else output  # nms takes no half ones
    there = output[:, 0].sigmoid()
    x, y, wide, high = output[:, 4:].sigmoid().unbind(1)
    column = torch.arange(width, device=output.device)
    row = torch.arange(height, device=output.device)[:, None]
    x, y = (x + column) / width, (y + row) / height
    boxes = torch.stack([x - wide / 2, y - high / 2, x + wide / 2, y + high / 2], -1)
    labels = output[:, 1:4].argmax(1)
    found = []
    for image in range(n):
        keep = there[image] > threshold
        sure, mine = there[image][keep], boxes[image][keep].clamp(0, 1)
        best = nms(mine, sure, 0.3)
        kinds = labels[image][keep].to(sure.dtype)
        found.append(torch.cat([sure[best, None], kinds[best, None], mine[best]], 1))
    return found
