"""Exercise ``loss-landscape``: networks near a minimum, and directions to walk in."""

from __future__ import annotations

import copy
import functools

import torch
import torch.nn as nn
import torch.nn.functional as F

from course_utils.chapters.visualization.trainings import digits
from course_utils.learner.devices import device


@torch.no_grad()
def loss_at(
    model: nn.Module, weights: list[torch.Tensor], x: torch.Tensor, y: torch.Tensor
) -> float:
    """The loss with other weights; the model's own stay."""
    names = [name for name, _ in model.named_parameters()]
    output = torch.func.functional_call(model, dict(zip(names, weights, strict=True)), (x,))
    return F.cross_entropy(output, y).item()


NORMED = "a BatchNorm, a frozen layer"
LINES = "a Conv1d, a faint filter"
PLACES = "a bias of two dimensions"
TIED = "one weight in two layers, float64"
FAR = "dense, a huge alpha first"
MANY = "dense, 1026 images"
PLACES_OF = {
    NORMED: "a frozen parameter has its place in direction, too, and a buffer has none",
    TIED: "a weight that two layers share has one place in direction, as in model.parameters()",
}


class Placed(nn.Module):
    """Adds a number for each place, (row, column), learned like any other."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.full((8, 8), 0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.bias


class Tied(nn.Module):
    """Its third layer has the weight of the second."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = (nn.Linear(n, 16) for n in (64, 16, 16))
        self.third.weight = self.second.weight
        self.head = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.second(self.first(x.flatten(1)).relu()).relu()
        return self.head(self.third(x).relu())


def make_valley(factor: float = 1.0, kind: str = "dense") -> nn.Module:
    """A network near a minimum; ``factor`` rescales two of its layers, not the function."""
    model = copy.deepcopy(_trained(kind))
    weight, bias, next_weight, *_ = (p.data for p in model.parameters())
    weight *= factor
    bias *= factor
    next_weight /= factor
    return model.eval()


@functools.cache
def _trained(kind: str) -> nn.Module:
    torch.manual_seed(4)
    if kind == "dense":
        model = nn.Sequential(nn.Flatten(), nn.Linear(64, 20), nn.ReLU(), nn.Linear(20, 10))
    elif kind == NORMED:
        layers = nn.Linear(64, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU()
        model = nn.Sequential(nn.Flatten(), *layers, nn.Linear(16, 10))
    elif kind == LINES:
        lines = nn.Flatten(1, 2), nn.Conv1d(8, 4, 3), nn.ReLU(), nn.Flatten()
        model = nn.Sequential(*lines, nn.Linear(24, 10))
    elif kind == PLACES:
        model = nn.Sequential(Placed(), nn.Flatten(), nn.Linear(64, 12), nn.ReLU())
        model.append(nn.Linear(12, 10, bias=False))  # its last parameter moves as well
    elif kind == TIED:
        model = Tied()
    else:
        convs = nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Conv2d(3, 4, 3), nn.ReLU()
        model = nn.Sequential(*convs, nn.Flatten(), nn.Linear(64, 10))
    model, (x, y, *_) = model.to(device), digits()
    if kind == NORMED:  # in float32 where it ends depends on the number of threads
        model, x = model.double(), x.double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        loss = F.cross_entropy(model(x[:200]), y[:200])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model.float()


def make_direction(model: nn.Module, seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(p.shape, generator=generator).to(p.device) for p in model.parameters()]


def make_slice(kind: str) -> tuple:
    """A model, a direction, images and labels."""
    x, y = digits()[0][:60], digits()[1][:60]
    if kind == MANY:  # the last two are labelled wrongly: alone, they have a large loss
        x, y = (torch.cat([part, part])[:1026] for part in digits()[:2])
        y = torch.cat([y[:-2], (y[-2:] + 1) % 10])
    if kind == "the example":
        model = nn.Sequential(nn.Linear(2, 2)).to(device)
        with torch.no_grad():
            model.get_parameter("0.weight").copy_(torch.tensor([[3.0, 4], [0, 1]]))
            model.get_parameter("0.bias").copy_(torch.tensor([0.5, -0.5]))
        direction = [torch.tensor([[1.0, 0], [0, -2]]).to(device), torch.ones(2).to(device)]
        return (
            model,
            direction,
            torch.tensor([[1.0, 2], [0, -1]]).to(device),
            torch.tensor([0, 1]).to(device),
        )
    form = next((form for form in (NORMED, LINES, PLACES, TIED, "conv") if form in kind), "dense")
    model = make_valley(10 if "rescaled" in kind else 1, form)
    if kind == NORMED:
        next(iter(model.parameters())).requires_grad_(False)
    direction = make_direction(model)
    if "zeros" in kind:
        direction[0][1] = 0
        with torch.no_grad():
            next(iter(model.parameters()))[2] = 0
    if kind == TIED:
        model, x, direction = model.double(), x.double(), [d.double() for d in direction]
    if "conv" in kind:  # its weights have gaps in memory
        model.to(memory_format=torch.channels_last)
    if kind == LINES:
        direction[0][1] *= 1e-8
        direction[0][2] *= 1e-14
    return model, direction, x, y
