import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count
