import torch
import torch.nn as nn


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    """A network from images (n, 3, 8 h, 8 w) to raw numbers (n, 8, h, w).

    ``prior`` is how probable an object is in each cell before training.
    """
    layers, before = [], 3
    for after in (width, 2 * width, 4 * width):
        layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.GroupNorm(8, after)]
        layers += [nn.ReLU()]
        before = after
    for reach in (1, 2):
        layers += [nn.Conv2d(before, before, 3, padding=reach, dilation=reach)]
        layers += [nn.GroupNorm(8, before), nn.ReLU()]
    head = nn.Conv2d(before, 8, 1)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    nn.init.constant_(head.bias[:1], torch.tensor(prior).logit().item())
    return nn.Sequential(*layers, head)
