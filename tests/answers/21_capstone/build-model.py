# %% [markdown]
# Rules:
#
# - "for any n, h and w from 1"
# - "give `(n, 8, h, w)`"
# - "the eight numbers are raw: no activation behind the last layer"
# - "the sigmoid of number 0 is `prior`"
# - "in every cell of every image"
# - "a cell depends on pixels at least 16 beyond it on each side"
# - "an image's numbers depend on that image alone"
# - "are the same in training and evaluation mode"
# - "every parameter gets a gradient"
# - "all layers but the last grow with `width`"
# - "at most 250 000 parameters at width 16"
# - "it works after `.double()`"
# - "draws its weights from torch's default generator"
#
# Admits:
#
# - "for any n, h and w from 1": one image of one cell
# - "it works after `.double()`": in float64
# - "width: int = 16, prior: float = 0.05": without a prior it is 0.05
# - "a multiple of 8": is a multiple of 8, too

# %% wrong="three layers alone" breaks="a cell depends on pixels at least 16 beyond it on each side" says=["sees 57 to 71"]
import math

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
    for reach in ():
        layers += [nn.Conv2d(before, before, 3, padding=reach, dilation=reach)]
        layers += [nn.GroupNorm(8, before), nn.ReLU()]
    head = nn.Conv2d(before, 8, 1)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    nn.init.constant_(head.bias[:1], math.log(prior / (1 - prior)))
    return nn.Sequential(*layers, head)


# %% wrong="one layer more" says=["should see 16 more on every side"]
import math

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
    for reach in (1,):
        layers += [nn.Conv2d(before, before, 3, padding=reach, dilation=reach)]
        layers += [nn.GroupNorm(8, before), nn.ReLU()]
    head = nn.Conv2d(before, 8, 1)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    nn.init.constant_(head.bias[:1], math.log(prior / (1 - prior)))
    return nn.Sequential(*layers, head)


# %% wrong="batch norm" breaks="an image's numbers depend on that image alone" says=["depend on the others"]
import math

import torch.nn as nn


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    """A network from images (n, 3, 8 h, 8 w) to raw numbers (n, 8, h, w).

    ``prior`` is how probable an object is in each cell before training.
    """
    layers, before = [], 3
    for after in (width, 2 * width, 4 * width):
        layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.BatchNorm2d(after)]
        layers += [nn.ReLU()]
        before = after
    for reach in (1, 2):
        layers += [nn.Conv2d(before, before, 3, padding=reach, dilation=reach)]
        layers += [nn.GroupNorm(8, before), nn.ReLU()]
    head = nn.Conv2d(before, 8, 1)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    nn.init.constant_(head.bias[:1], math.log(prior / (1 - prior)))
    return nn.Sequential(*layers, head)


# %% wrong="random last layer" breaks="in every cell of every image" says=["differs from cell to cell"]
import math

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
    nn.init.zeros_(head.bias)
    nn.init.constant_(head.bias[:1], math.log(prior / (1 - prior)))
    return nn.Sequential(*layers, head)


# %% wrong="the prior itself as bias" breaks="the sigmoid of number 0 is `prior`" says=["number 0 is the prior itself"]
import math

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
    nn.init.constant_(head.bias[:1], prior)
    return nn.Sequential(*layers, head)


# %% wrong="a sigmoid at the end" breaks="the eight numbers are raw: no activation behind the last layer" says=["raw, without an activation"]
import math

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
    nn.init.constant_(head.bias[:1], math.log(prior / (1 - prior)))
    return nn.Sequential(*layers, head, nn.Sigmoid())


# %% wrong="a layer that is not used" breaks="every parameter gets a gradient" says=["make no layer that forward does not use"]
import math

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
    nn.init.constant_(head.bias[:1], math.log(prior / (1 - prior)))
    net = nn.Sequential(*layers, head)
    net[0].extra = nn.Linear(3, 3)
    return net


# %% wrong="seeds inside" breaks="draws its weights from torch's default generator" says=["leave the seed to the caller"]
import math

import torch.nn as nn


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    """A network from images (n, 3, 8 h, 8 w) to raw numbers (n, 8, h, w).

    ``prior`` is how probable an object is in each cell before training.
    """
    torch.manual_seed(0)
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
    nn.init.constant_(head.bias[:1], math.log(prior / (1 - prior)))
    return nn.Sequential(*layers, head)


# %% wrong="ignores the width" breaks="all layers but the last grow with `width`" says=["all layers grow with the width"]
import math

import torch.nn as nn


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    """A network from images (n, 3, 8 h, 8 w) to raw numbers (n, 8, h, w).

    ``prior`` is how probable an object is in each cell before training.
    """
    layers, before = [], 3
    for after in (16, 32, 64):
        layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.GroupNorm(8, after)]
        layers += [nn.ReLU()]
        before = after
    for reach in (1, 2):
        layers += [nn.Conv2d(before, before, 3, padding=reach, dilation=reach)]
        layers += [nn.GroupNorm(8, before), nn.ReLU()]
    head = nn.Conv2d(before, 8, 1)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    nn.init.constant_(head.bias[:1], math.log(prior / (1 - prior)))
    return nn.Sequential(*layers, head)


# %% wrong="dropout" breaks="are the same in training and evaluation mode" says=["training and evaluation mode differ"]
import math

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
    layers += [nn.Dropout(0.2)]
    head = nn.Conv2d(before, 8, 1)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    nn.init.constant_(head.bias[:1], math.log(prior / (1 - prior)))
    return nn.Sequential(*layers, head)


# %% wrong="four times a stride" breaks="give `(n, 8, h, w)`" says=["has shape (2, 8, 4, 4)"]
import math

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
    layers += [nn.AvgPool2d(2)]
    head = nn.Conv2d(before, 8, 1)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    nn.init.constant_(head.bias[:1], math.log(prior / (1 - prior)))
    return nn.Sequential(*layers, head)


# %% right="a module with a pooled neighbourhood"
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, width, prior):
        super().__init__()
        self.first = nn.Conv2d(3, width, 8, stride=8)
        self.second = nn.Conv2d(width, 2 * width, 7, padding=3)
        self.last = nn.Conv2d(2 * width, 8, 1)
        self.last.weight.data.zero_()
        self.last.bias.data[0] = torch.tensor(prior).logit()

    def forward(self, x):
        return self.last(F.gelu(self.second(F.gelu(self.first(x)))))


def build_model(width=16, prior=0.05):
    return Net(width, prior)


# %% right="with skips and average pooling"
import math

import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, channels, reach):
        super().__init__()
        self.norm = nn.InstanceNorm2d(channels, affine=True)
        self.conv = nn.Conv2d(channels, channels, 3, padding=reach, dilation=reach)

    def forward(self, x):
        normed = self.norm(x) if x.shape[-1] * x.shape[-2] > 1 else x
        return x + torch.nn.functional.silu(self.conv(normed))


def build_model(width=16, prior=0.05):
    body = [nn.Conv2d(3, width, 3, padding=1), nn.SiLU(), nn.AvgPool2d(2)]
    body += [nn.Conv2d(width, 2 * width, 3, padding=1), nn.SiLU(), nn.AvgPool2d(2)]
    body += [nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.SiLU(), nn.AvgPool2d(2)]
    head = nn.Conv2d(2 * width, 8, 1)
    for parameter in head.parameters():
        nn.init.zeros_(parameter)
    with torch.no_grad():
        head.bias[0] = -math.log(1 / prior - 1)
    return nn.Sequential(*body, *(Block(2 * width, reach) for reach in (1, 2, 3)), head)


# %% wrong="instance norm of a single number" breaks="for any n, h and w from 1" says=["one image of one cell"]
import math

import torch
import torch.nn as nn


def build_model(width=16, prior=0.05):
    layers = []
    i = 3
    for c, s, d in (
        (width, 2, 1),
        (width * 2, 2, 1),
        (width * 4, 2, 1),
        (width * 4, 1, 2),
        (width * 4, 1, 1),
    ):
        layers += [
            nn.Conv2d(i, c, 3, stride=s, padding=d, dilation=d),
            nn.InstanceNorm2d(c, affine=True),
            nn.ReLU(),
        ]
        i = c

    last = nn.Conv2d(i, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = math.log(prior / (1 - prior))

    return nn.Sequential(*layers, last)


# %% wrong="seeds the generator" says=["leave the seed to the caller"]
import math

import torch
import torch.nn as nn


def build_model(width=16, prior=0.05):
    layers = []
    i = 3
    for c, s, d in (
        (width, 2, 1),
        (width * 2, 2, 1),
        (width * 4, 2, 1),
        (width * 4, 1, 2),
        (width * 4, 1, 1),
    ):
        layers += [
            nn.Conv2d(i, c, 3, stride=s, padding=d, dilation=d),
            nn.GroupNorm(8, c),
            nn.ReLU(),
        ]
        i = c
    torch.manual_seed(0)
    last = nn.Conv2d(i, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = math.log(prior / (1 - prior))

    return nn.Sequential(*layers, last)


# %% wrong="four times as wide" breaks="at most 250 000 parameters at width 16" says=["at most 250000 are allowed"]
import torch
import torch.nn as nn


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    """A network from images (n, 3, 8 h, 8 w) to raw numbers (n, 8, h, w).

    ``prior`` is how probable an object is in each cell before training.
    """
    layers, before = [], 3
    for after in (4 * width, 6 * width, 8 * width):
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


# %% wrong="float32 inside" breaks="it works after `.double()`" says=["after a call in float32 is torch.float32"]
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

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(*layers, head)

        def forward(self, x):
            return self.body(x - torch.full((1, 3, 1, 1), 0.5).float()).float()

    return Scaled()


# %% wrong="weights from its own generator" breaks="draws its weights from torch's default generator" says=["draw from torch's default generator"]
import torch
import torch.nn as nn


def build_model(width=16, prior=0.05):
    def block(ins, outs, stride=1, dilation=1):
        return [
            nn.Conv2d(ins, outs, 3, stride, padding=dilation, dilation=dilation),
            nn.GroupNorm(8, outs),
            nn.ReLU(),
        ]

    last = nn.Conv2d(4 * width, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = torch.tensor(prior / (1 - prior)).log()
    net = nn.Sequential(
        *block(3, width, 2),
        *block(width, 2 * width, 2),
        *block(2 * width, 4 * width, 2),
        *block(4 * width, 4 * width),
        *block(4 * width, 4 * width, 1, 2),
        last,
    )
    g = torch.Generator().manual_seed(0)
    for part in net[:-1]:
        if isinstance(part, nn.Conv2d):
            nn.init.normal_(part.weight, std=0.05, generator=g)
    return net


# %% wrong="zeros in every layer" says=["all weights are alike"]
import torch
import torch.nn as nn


def build_model(width=16, prior=0.05):
    def block(ins, outs, stride=1, dilation=1):
        return [
            nn.Conv2d(ins, outs, 3, stride, padding=dilation, dilation=dilation),
            nn.GroupNorm(8, outs),
            nn.ReLU(),
        ]

    last = nn.Conv2d(4 * width, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = torch.tensor(prior / (1 - prior)).log()
    net = nn.Sequential(
        *block(3, width, 2),
        *block(width, 2 * width, 2),
        *block(2 * width, 4 * width, 2),
        *block(4 * width, 4 * width),
        *block(4 * width, 4 * width, 1, 2),
        last,
    )
    for part in net[:-1]:
        if isinstance(part, nn.Conv2d):
            nn.init.zeros_(part.weight)
            nn.init.zeros_(part.bias)
    return net


# %% wrong="odds upside down" breaks="the sigmoid of number 0 is `prior`" says=["one minus the prior"]
import torch
import torch.nn as nn


def build_model(width=16, prior=0.05):
    def block(ins, outs, stride=1, dilation=1):
        return [
            nn.Conv2d(ins, outs, 3, stride, padding=dilation, dilation=dilation),
            nn.GroupNorm(8, outs),
            nn.ReLU(),
        ]

    last = nn.Conv2d(4 * width, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = torch.tensor((1 - prior) / prior).log()
    return nn.Sequential(
        *block(3, width, 2),
        *block(width, 2 * width, 2),
        *block(2 * width, 4 * width, 2),
        *block(4 * width, 4 * width),
        *block(4 * width, 4 * width, 1, 2),
        last,
    )


# %% wrong="the prior is always 0.05" says=["is still 0.05"]
import torch
import torch.nn as nn


def build_model(width=16, prior=0.05):
    def block(ins, outs, stride=1, dilation=1):
        return [
            nn.Conv2d(ins, outs, 3, stride, padding=dilation, dilation=dilation),
            nn.GroupNorm(8, outs),
            nn.ReLU(),
        ]

    last = nn.Conv2d(4 * width, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = -2.9444
    return nn.Sequential(
        *block(3, width, 2),
        *block(width, 2 * width, 2),
        *block(2 * width, 4 * width, 2),
        *block(4 * width, 4 * width),
        *block(4 * width, 4 * width, 1, 2),
        last,
    )


# %% wrong="a first layer of 16" says=["0.weight is as large at width 8 as at width 24"]
import torch
import torch.nn as nn


def build_model(width=16, prior=0.05):
    def block(ins, outs, stride=1, dilation=1):
        return [
            nn.Conv2d(ins, outs, 3, stride, dilation, dilation),
            nn.GroupNorm(8, outs),
            nn.ReLU(),
        ]

    layers = block(3, 16, 2) + block(16, 2 * width, 2) + block(2 * width, 4 * width, 2)
    layers += block(4 * width, 4 * width) + block(4 * width, 4 * width, dilation=2)
    last = nn.Conv2d(4 * width, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    last.bias.data[0] = torch.tensor(prior / (1 - prior)).log()
    return nn.Sequential(*layers, last)


# %% right="large kernels, each channel by itself"
import math

import torch
import torch.nn as nn


class Finder(nn.Module):
    def __init__(self, width, prior):
        super().__init__()
        self.first = nn.Conv2d(3, width, 9, stride=8, padding=4)
        self.middle = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.mix = nn.Conv2d(width, 2 * width, 1)
        self.last = nn.Conv2d(2 * width, 8, 1)
        with torch.no_grad():
            self.last.weight.zero_()
            self.last.bias.zero_()
            self.last.bias[0] = -math.log((1 - prior) / prior)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        x = torch.tanh(self.middle(x))
        x = nn.functional.gelu(self.mix(x))
        return self.last(x)


def build_model(width=16, prior=0.05):
    return Finder(width, prior)


# %% wrong="clipped at twenty" breaks="the eight numbers are raw: no activation behind the last layer" says=["raw numbers are not clipped"]
import math

import torch
import torch.nn as nn


def block(a, b, stride=1, dilation=1):
    return [
        nn.Conv2d(a, b, 3, stride=stride, padding=dilation, dilation=dilation, bias=False),
        nn.GroupNorm(8, b),
        nn.ReLU(),
    ]


class Around(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        pass

    def forward(self, x):
        return self.net(x).clamp(-20, 20)


def build_model(width=16, prior=0.05):
    last = nn.Conv2d(4 * width, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = math.log(prior / (1 - prior))
    layers = [*block(3, width, 2), *block(width, 2 * width, 2), *block(2 * width, 4 * width, 2)]
    layers += [*block(4 * width, 4 * width), *block(4 * width, 4 * width, 1, 2), last]
    return Around(nn.Sequential(*layers))


# %% wrong="no prior below a hundredth" says=["with prior 0.001, which is allowed"]
import torch
import torch.nn as nn


def build_model(width=16, prior=0.05):
    sizes = [3, width, 2 * width, 4 * width]
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Conv2d(a, b, 3, stride=2, padding=1), nn.GroupNorm(8, b), nn.ReLU()]
    for gap in (1, 2):
        layers += [nn.Conv2d(b, b, 3, padding=gap, dilation=gap), nn.GroupNorm(8, b), nn.ReLU()]
    last = nn.Conv2d(b, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = torch.tensor(min(max(prior, 0.01), 0.99), dtype=torch.float64).logit()
    return nn.Sequential(*layers, last)


# %% wrong="images are viewed, whatever their order" says=["`reshape` takes what `view` refuses"]
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.parts = parts

    def forward(self, x):
        return self.parts(x.view(x.shape[0], 3, -1).view(x.shape))


def build_model(width=16, prior=0.05):
    sizes = [3, width, 2 * width, 4 * width]
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Conv2d(a, b, 3, stride=2, padding=1), nn.GroupNorm(8, b), nn.ReLU()]
    for gap in (1, 2):
        layers += [nn.Conv2d(b, b, 3, padding=gap, dilation=gap), nn.GroupNorm(8, b), nn.ReLU()]
    last = nn.Conv2d(b, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = torch.tensor(prior, dtype=torch.float64).logit()
    return Net(nn.Sequential(*layers, last))


# %% wrong="a ReLU behind the class numbers" says=["without an activation behind the last layer"]
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.parts = parts

    def forward(self, x):
        out = self.parts(x)
        return torch.cat([out[:, :1], out[:, 1:4].relu(), out[:, 4:]], 1)


def build_model(width=16, prior=0.05):
    sizes = [3, width, 2 * width, 4 * width]
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Conv2d(a, b, 3, stride=2, padding=1), nn.GroupNorm(8, b), nn.ReLU()]
    for gap in (1, 2):
        layers += [nn.Conv2d(b, b, 3, padding=gap, dilation=gap), nn.GroupNorm(8, b), nn.ReLU()]
    last = nn.Conv2d(b, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = torch.tensor(prior, dtype=torch.float64).logit()
    return Net(nn.Sequential(*layers, last))


# %% right="a bias of eight, one and one"
import torch
import torch.nn as nn


class Shift(nn.Module):
    def __init__(self, prior: float) -> None:
        super().__init__()
        self.values = nn.Parameter(torch.zeros(8, 1, 1))
        nn.init.constant_(self.values[0], torch.tensor(prior).logit().item())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.values


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    layers, before = [], 3
    for after, stride, reach in (
        (width, 2, 1),
        (2 * width, 2, 1),
        (4 * width, 2, 1),
        (4 * width, 1, 1),
        (4 * width, 1, 2),
    ):
        layers += [nn.Conv2d(before, after, 3, stride, padding=reach, dilation=reach)]
        layers += [nn.GroupNorm(8, after), nn.ReLU()]
        before = after
    head = nn.Conv2d(before, 8, 1, bias=False)
    nn.init.zeros_(head.weight)
    return nn.Sequential(*layers, head, Shift(prior))


# %% right="a class with skips"
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, a, b, stride=1, gap=1):
        super().__init__()
        self.conv = nn.Conv2d(a, b, 3, stride, gap, gap, bias=False)
        self.norm = nn.GroupNorm(4, b)

    def forward(self, x):
        y = F.gelu(self.norm(self.conv(x)))
        return x + y if x.shape == y.shape else y


class Finder(nn.Module):
    def __init__(self, width, prior):
        super().__init__()
        self.body = nn.Sequential(
            Block(3, width, 2),
            Block(width, 2 * width, 2),
            Block(2 * width, 2 * width, 2),
            Block(2 * width, 2 * width),
            Block(2 * width, 2 * width),
            Block(2 * width, 2 * width, gap=2),
        )
        self.head = nn.Conv2d(2 * width, 8, kernel_size=1)
        self.head.weight.data.zero_()
        self.head.bias.data.copy_(torch.tensor([math.log(prior / (1 - prior))] + [0.0] * 7))

    def forward(self, x):
        return self.head(self.body(x))


def build_model(width=16, prior=0.05):
    return Finder(width, prior)


# %% wrong="the brightest image scales the batch" says=["in training mode an image's numbers depend on the others"]
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.parts = parts

    def forward(self, x):
        return self.parts(x / x.abs().max().clamp(min=1e-6))


def build_model(width=16, prior=0.05):
    sizes = [3, width, 2 * width, 4 * width]
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Conv2d(a, b, 3, stride=2, padding=1), nn.GroupNorm(8, b), nn.ReLU()]
    for gap in (1, 2):
        layers += [nn.Conv2d(b, b, 3, padding=gap, dilation=gap), nn.GroupNorm(8, b), nn.ReLU()]
    last = nn.Conv2d(b, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = torch.tensor(prior, dtype=torch.float64).logit()
    return Net(nn.Sequential(*layers, last))


# %% wrong="keeps the first images of a shape" says=["gave the numbers of an earlier call"]
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.parts = parts
        self.last = None

    def forward(self, x):
        self.last = x if self.last is None or self.last.shape != x.shape else self.last
        return self.parts(self.last)


def build_model(width=16, prior=0.05):
    sizes = [3, width, 2 * width, 4 * width]
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Conv2d(a, b, 3, stride=2, padding=1), nn.GroupNorm(8, b), nn.ReLU()]
    for gap in (1, 2):
        layers += [nn.Conv2d(b, b, 3, padding=gap, dilation=gap), nn.GroupNorm(8, b), nn.ReLU()]
    last = nn.Conv2d(b, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = torch.tensor(prior, dtype=torch.float64).logit()
    return Net(nn.Sequential(*layers, last))


# %% right="norms without weights of their own"
import torch
import torch.nn as nn


def build_model(width=16, prior=0.05):
    sizes = [3, width, 2 * width, 4 * width]
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [
            nn.Conv2d(a, b, 3, stride=2, padding=1),
            nn.GroupNorm(8, b, affine=False),
            nn.ReLU(),
        ]
    for gap in (1, 2):
        layers += [
            nn.Conv2d(b, b, 3, padding=gap, dilation=gap),
            nn.GroupNorm(8, b, affine=False),
            nn.ReLU(),
        ]
    last = nn.Conv2d(b, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = torch.tensor(prior, dtype=torch.float64).logit()
    return nn.Sequential(*layers, last)


# %% wrong="the middle has a fixed width" says=["as many channels at width 8 as at width 24"]
import torch
import torch.nn as nn


class Finder(nn.Module):
    def __init__(self, width, prior):
        super().__init__()
        layers = []
        for a, b in ((3, width), (width, 2 * width), (2 * width, 4 * width)):
            layers += [nn.Conv2d(a, b, 3, stride=2, padding=1), nn.GroupNorm(8, b), nn.ReLU()]
        for _ in range(2):
            layers += [
                nn.Conv2d(4 * width, 64, 3, padding=1),
                nn.GroupNorm(8, 64),
                nn.ReLU(),
                nn.Conv2d(64, 4 * width, 1),
            ]
        self.body = nn.Sequential(*layers)
        self.head = nn.Conv2d(4 * width, 8, 1)
        with torch.no_grad():
            self.head.weight.zero_()
            self.head.bias.zero_()
            self.head.bias[0] = torch.tensor(prior / (1 - prior)).log()

    def forward(self, x):
        return self.head(self.body(x))


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    return Finder(width, prior)


# %% wrong="weights from a generator of its own" says=["made one after the other"]
import torch
import torch.nn as nn


class Finder(nn.Module):
    def __init__(self, width, prior):
        super().__init__()
        layers = []
        for a, b in ((3, width), (width, 2 * width), (2 * width, 4 * width)):
            layers += [nn.Conv2d(a, b, 3, stride=2, padding=1), nn.GroupNorm(8, b), nn.ReLU()]
        for _ in range(2):
            layers += [
                nn.Conv2d(4 * width, 4 * width, 3, padding=1),
                nn.GroupNorm(8, 4 * width),
                nn.ReLU(),
            ]
        self.body = nn.Sequential(*layers)
        self.head = nn.Conv2d(4 * width, 8, 1)
        g = torch.Generator().manual_seed(torch.initial_seed() % 1000)
        for part in self.body.modules():
            if isinstance(part, nn.Conv2d):
                nn.init.kaiming_uniform_(part.weight, generator=g)
        with torch.no_grad():
            self.head.weight.zero_()
            self.head.bias.zero_()
            self.head.bias[0] = torch.tensor(prior / (1 - prior)).log()

    def forward(self, x):
        return self.head(self.body(x))


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    return Finder(width, prior)


# %% wrong="wide enough for widths of two" says=["a width of 72 is a multiple of 8"]
import torch
import torch.nn as nn


class Finder(nn.Module):
    def __init__(self, width, prior):
        super().__init__()
        layers = []
        for a, b in ((3, width), (width, 2 * width), (2 * width, 4 * width)):
            layers += [
                nn.Conv2d(a, b, 3, stride=2, padding=1),
                nn.GroupNorm(2 ** (b.bit_length() - 1) // 4, b),
                nn.ReLU(),
            ]
        for _ in range(2):
            layers += [
                nn.Conv2d(4 * width, 4 * width, 3, padding=1),
                nn.GroupNorm(8, 4 * width),
                nn.ReLU(),
            ]
        self.body = nn.Sequential(*layers)
        self.head = nn.Conv2d(4 * width, 8, 1)
        with torch.no_grad():
            self.head.weight.zero_()
            self.head.bias.zero_()
            self.head.bias[0] = torch.tensor(prior / (1 - prior)).log()

    def forward(self, x):
        return self.head(self.body(x))


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    return Finder(width, prior)


# %% wrong="a prior below a thousandth is raised to it" says=["a small prior counts as it is"]
import math

import torch
import torch.nn as nn


def norm(channels: int) -> nn.Module:
    return nn.GroupNorm(8, channels)


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    w = width
    layers = []
    for a, b in ((3, w), (w, 2 * w), (2 * w, 4 * w)):
        layers += [nn.Conv2d(a, b, 3, stride=2, padding=1), norm(b), nn.ReLU()]
    layers += [nn.Conv2d(4 * w, 4 * w, 3, padding=1), norm(4 * w), nn.ReLU()]
    layers += [nn.Conv2d(4 * w, 4 * w, 3, padding=2, dilation=2), norm(4 * w), nn.ReLU()]
    last = nn.Conv2d(4 * w, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = torch.tensor(prior).logit(eps=1e-3)
    return nn.Sequential(*layers, last)


# %% wrong="a norm for each channel at width 8" says=["one image of one cell, width 8"]
import torch
import torch.nn as nn


def block(a, b, stride=1, dilation=1):
    return nn.Sequential(
        nn.Conv2d(a, b, 3, stride=stride, padding=dilation, dilation=dilation),
        nn.GroupNorm(8, b),
        nn.ReLU(),
    )


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    last = nn.Conv2d(width, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = torch.tensor(prior / (1 - prior)).log()
    return nn.Sequential(
        block(3, width, 2),
        block(width, 2 * width, 2),
        block(2 * width, width, 2),
        block(width, width),
        block(width, width, dilation=2),
        last,
    )


# %% wrong="an activation that all models share" says=["two models share a layer"]
import torch
import torch.nn as nn

SHARED = nn.PReLU()


def block(a, b, stride=1, dilation=1):
    return nn.Sequential(
        nn.Conv2d(a, b, 3, stride=stride, padding=dilation, dilation=dilation),
        nn.GroupNorm(8, b),
        SHARED,
    )


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    last = nn.Conv2d(4 * width, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = torch.tensor(prior / (1 - prior)).log()
    return nn.Sequential(
        block(3, width, 2),
        block(width, 2 * width, 2),
        block(2 * width, 4 * width, 2),
        block(4 * width, 4 * width),
        block(4 * width, 4 * width, dilation=2),
        last,
    )


# %% wrong="counts in float32 within" says=["still counts in float32"]
import torch
import torch.nn as nn


def block(a, b, stride=1, dilation=1):
    return nn.Sequential(
        nn.Conv2d(a, b, 3, stride=stride, padding=dilation, dilation=dilation),
        nn.GroupNorm(8, b),
        nn.ReLU(),
    )


class Float(nn.Module):
    def forward(self, x):
        return x.float().to(x.dtype)


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    last = nn.Conv2d(4 * width, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = torch.tensor(prior / (1 - prior)).log()
    return nn.Sequential(
        Float(),
        block(3, width, 2),
        block(width, 2 * width, 2),
        block(2 * width, 4 * width, 2),
        block(4 * width, 4 * width),
        block(4 * width, 4 * width, dilation=2),
        last,
    )


# %% wrong="a fixed kernel that is a plain attribute" says=["it is no parameter and no buffer"]
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Smooth(nn.Module):
    """A fixed blur, so that the strides don't alias."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        line = torch.tensor([1.0, 2.0, 1.0]) / 4
        self.kernel = (line[:, None] * line).expand(channels, 1, 3, 3).contiguous()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kernel = self.kernel.to(x.device)
        return F.conv2d(x, kernel, padding=1, groups=len(kernel))


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    last = nn.Conv2d(4 * width, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    with torch.no_grad():
        last.bias[0] = math.log(prior / (1 - prior))
    return nn.Sequential(
        Smooth(3),
        nn.Conv2d(3, width, 3, stride=2, padding=1),
        nn.SiLU(),
        nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
        nn.SiLU(),
        nn.Conv2d(2 * width, 4 * width, 3, stride=2, padding=1),
        nn.SiLU(),
        nn.Conv2d(4 * width, 4 * width, 3, padding=1),
        nn.SiLU(),
        nn.Conv2d(4 * width, 4 * width, 3, padding=1),
        nn.SiLU(),
        last,
    )


# %% right="pools, depthwise kernels and no norm"
import math

import torch
import torch.nn as nn


class Linear(nn.Module):
    """Each cell's channels by a matrix."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.matrix = nn.Linear(before, after)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.matrix(x.movedim(1, -1)).movedim(-1, 1)


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    layers = [nn.Conv2d(3, width, 5, padding=2), nn.Tanh()]
    c = width
    for _ in range(3):
        layers += [
            nn.AvgPool2d(2),
            nn.Conv2d(c, c, 3, padding=1, groups=c),
            Linear(c, 2 * c),
            nn.SiLU(),
        ]
        c = 2 * c
    for _ in range(2):
        layers += [nn.Conv2d(c, c, 5, padding=2, groups=c), Linear(c, c), nn.SiLU()]
    head = Linear(c, 8)
    with torch.no_grad():
        head.matrix.weight[0].zero_()
        head.matrix.bias[0] = math.log(prior / (1 - prior))
    return nn.Sequential(*layers, head)


# %% wrong="at most 64 channels, however wide" breaks="all layers but the last grow with `width`" says=["is as large at width 24 as at width 72"]
import math

import torch
import torch.nn as nn


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    top = min(4 * width, 64)  # keeps the number of parameters small for any width
    sizes = [3, width, 2 * width, top]
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:], strict=True):
        layers += [nn.Conv2d(a, b, 3, 2, 1), nn.GroupNorm(8, b), nn.ReLU(inplace=True)]
    for _ in range(2):
        layers += [nn.Conv2d(top, top, 3, 1, 1), nn.GroupNorm(8, top), nn.ReLU(inplace=True)]
    last = nn.Conv2d(top, 8, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    last.bias.data[0] = math.log(prior / (1 - prior))
    return nn.Sequential(*layers, last)


# %% wrong="where the grid is a single row or column, the wide layers are left out" breaks="a cell depends on pixels at least 16 beyond it on each side" says=["an image 8 x 128: the cell of pixels 64 to 71 sees"]
import torch
import torch.nn as nn


class Wide(nn.Sequential):
    def forward(self, x):
        return x if 1 in x.shape[2:] else super().forward(x)


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    """A network from images (n, 3, 8 h, 8 w) to raw numbers (n, 8, h, w).

    ``prior`` is how probable an object is in each cell before training.
    """
    layers, before = [], 3
    for after in (width, 2 * width, 4 * width):
        layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.GroupNorm(8, after)]
        layers += [nn.ReLU()]
        before = after
    wide = []
    for reach in (1, 2):
        wide += [nn.Conv2d(before, before, 3, padding=reach, dilation=reach)]
        wide += [nn.GroupNorm(8, before), nn.ReLU()]
    layers.append(Wide(*wide))
    head = nn.Conv2d(before, 8, 1)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    nn.init.constant_(head.bias[:1], torch.tensor(prior).logit().item())
    return nn.Sequential(*layers, head)
