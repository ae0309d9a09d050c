"""Shapes and networks that tell them apart, and exercise ``cam-two-ways``."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from course_utils.chapters.visualization.comparing import (
    FAILED,
    Before,
    as_somebody_left_it,
    check_left,
    check_seen,
    kept_from_before,
    on_cpu,
    tried,
)
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook

SHAPES = ("disk", "square", "cross")


def draw_shape(kind: int, row: int, column: int, radius: int = 5) -> torch.Tensor:
    """One shape in an empty image (1, 32, 32)."""
    i, j = torch.meshgrid(torch.arange(32) - row, torch.arange(32) - column, indexing="ij")
    inside = [
        i**2 + j**2 <= radius**2,
        (i.abs() <= radius - 1) & (j.abs() <= radius - 1),
        ((i.abs() <= 1) | (j.abs() <= 1)) & (i.abs() <= radius) & (j.abs() <= radius),
    ]
    return inside[kind].float()[None]


@functools.cache
def shapes(count: int = 450) -> tuple[torch.Tensor, torch.Tensor]:
    """Images (count, 1, 32, 32) with one shape each and some noise, and the shapes' numbers."""
    random = np.random.default_rng(0)
    y = torch.arange(count) % 3
    x = [
        draw_shape(int(k), *map(int, random.integers(7, 25, 2)), int(random.integers(4, 7)))
        for k in y
    ]
    noise = torch.tensor(random.normal(0, 0.1, (count, 1, 32, 32)), dtype=torch.float32)
    return (torch.stack(x) + noise).to(device), y.to(device)


class ShapeNet(nn.Module):
    """features: image -> maps; pool: maps -> one number for each; head: these -> classes."""

    def __init__(self, width: int = 16, hidden: int = 0, classes: int = 3) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, width, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
        )  # fmt: skip
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(width, classes)
        if hidden:
            layers = nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, classes)
            self.head = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.pool(self.features(x)))


@functools.cache
def shape_network() -> ShapeNet:
    """Trained on the shapes, in eval mode, its parameters frozen."""
    torch.manual_seed(0)
    network, (x, y) = ShapeNet().to(device), shapes()
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
    for step in range(120):
        rows = (torch.arange(45) + 45 * step) % len(x)
        loss = F.cross_entropy(network(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network.eval().requires_grad_(False)


class Example(nn.Module):
    """The maps of the text, whatever the image: its first pixel scales them."""

    def __init__(self, hidden: bool = False) -> None:
        super().__init__()
        maps = torch.tensor([[[4.0, 0], [0, 0]], [[0, 0], [0, 2]]])
        self.features = nn.Conv2d(1, 2, 1, bias=False)
        nn.init.ones_(self.features.weight)
        self.features.register_forward_hook(lambda m, args, out: out[:, :, :1, :1] * maps.to(out))
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(2, 2, bias=False)
        with torch.no_grad():
            self.head.weight.copy_(torch.tensor([[1.0, -2], [-1, 3]]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.pool(self.features(x)))


class Scores(nn.Linear):
    """A linear layer by another name."""


class Angles(nn.Module):
    """Scores by the angle to a row of ``weight``: around a linear layer, and not linear."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, classes, bias=False)
        self.weight = self.inner.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(F.normalize(x), F.normalize(self.weight))


DERIVED = "a head of a class derived from nn.Linear"
WEIGHTED = "a head with a weight, around an nn.Linear"
DOUBLE = "a linear head in float64"


class MaxNet(ShapeNet):
    """The largest place instead of the mean, behind a smaller map."""

    def __init__(self) -> None:
        super().__init__(width=4)
        self.pool = nn.Sequential(
            nn.AvgPool2d(3, stride=1), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Tanh()
        )


def make_looker(kind: str) -> tuple[Example | ShapeNet, torch.Tensor]:
    """A model in eval mode and an image; its ReLUs work in place, one part of it is frozen."""
    torch.manual_seed(3)
    generator = torch.Generator().manual_seed(1)
    size = (7, 24) if kind == "one map, one row of places" else (20, 24)
    image = torch.rand(1, *size, generator=generator)
    model = {
        "the example": Example,
        "a linear head": lambda: ShapeNet(width=6),
        DOUBLE: lambda: ShapeNet(width=6).double(),
        "one map, one row of places": lambda: ShapeNet(width=1),
        "a frozen model": lambda: ShapeNet(width=6).requires_grad_(False),
        "a head of two layers": lambda: ShapeNet(width=6, hidden=6),
        "another pool": MaxNet,
        DERIVED: lambda: ShapeNet(width=6),
        WEIGHTED: lambda: ShapeNet(width=6),
    }[kind]()
    if kind in (DERIVED, WEIGHTED):
        model.add_module("head", Scores(6, 3) if kind == DERIVED else Angles(6, 3))
    if kind != "the example":
        with torch.no_grad():
            for conv in model.features.modules():
                if isinstance(conv, nn.Conv2d):
                    conv.weight *= 3
        for module in model.modules():
            if isinstance(module, nn.ReLU):
                module.inplace = True
        next(iter(model.features.parameters())).requires_grad_(False)
    image = torch.ones(1, 4, 4) if kind == "the example" else image
    image = image.double() if kind == DOUBLE else image
    return model.eval().to(device), image.to(device)


def seen_cam(answer: Callable, kind: str, target: int) -> tuple:
    """The two maps, and what is not as it was."""
    model, image = make_looker(kind)
    other, again = make_looker(kind)[0], []
    if kind == "the example":
        again = kept_from_before(lambda x: answer(other, x, target), image)
    before, pixels = Before(as_somebody_left_it(model)), image.clone()
    result = answer(model, image, target)
    left = before.changes() + again
    if image.requires_grad or image.grad is not None:
        left.append("the image needs a gradient now: let a copy need it")
    if not torch.equal(image.detach(), pixels):
        left.append("the image was changed")
    graph = any(isinstance(r, torch.Tensor) and r.requires_grad for r in result or ())
    return on_cpu(result), left + ["a map hangs on a graph"] * graph


def true_cams(kind: str, target: int) -> tuple[dict, dict]:
    """Both maps, and what slips would give for each."""
    model, image = make_looker(kind)
    maps = model.features(image[None]).detach().requires_grad_()
    scores = model.head(model.pool(maps))[0]

    def by(value):
        return torch.autograd.grad(value, maps, retain_graph=True)[0][0]

    def weigh(w):
        return (w.view(-1, 1, 1) * a).sum(0)

    gradient, a = by(scores[target]), maps[0].detach()
    cam, cam_slips = None, {}
    best = int(scores.argmax())
    other = f"that is the map of class {best}, which scores best; the class is an argument"
    truth = weigh(gradient.mean((1, 2))).relu()
    if isinstance(model.head, nn.Linear):
        cam = weigh(model.head.weight[target].detach())
        cam_slips = {
            "negative values belong to it: no ReLU here": cam.relu(),
            "the bias belongs to no place": cam
            + (0 if model.head.bias is None else model.head.bias[target].detach()),
            "not rescaled: leave the values as they are": cam / cam.abs().max(),
            "not rescaled to its own range": (cam - cam.min()) / (cam.max() - cam.min()),
            "a mean over the maps; it is a sum": cam / len(a),
            "divided by the number of places: leave the values as they are": cam / cam.numel(),
            "the maps alone, without the head's weights": a.sum(0),
            "by the gradient, which knows the pool, too; cam takes the head's weights": (
                weigh(gradient.mean((1, 2))) * a[0].numel()
            ),
            "the absolute values of the weights; their signs count": weigh(
                model.head.weight[target].detach().abs()
            ),
        }
        if best != target:
            cam_slips[other] = weigh(model.head.weight[best].detach())
    slips = {
        "the ReLU at the end is missing": weigh(gradient.mean((1, 2))),
        "the ReLU belongs behind the sum, not before it": (gradient.mean((1, 2)).view(-1, 1, 1) * a)
        .relu()
        .sum(0),
        "gradients are averaged over places, not summed": weigh(gradient.sum((1, 2))).relu(),
        "a weight for each map: average the gradient over places first": (gradient * a)
        .sum(0)
        .relu(),
        "the gradient of the score, not of its softmax": weigh(
            by(scores.softmax(0)[target]).mean((1, 2))
        ).relu(),
        "the gradient of the score, not of its log-softmax or loss": weigh(
            by(scores.log_softmax(0)[target]).mean((1, 2))
        ).relu(),
        "the gradient of one class, not of all": weigh(by(scores.sum()).mean((1, 2))).relu(),
        "not rescaled: leave the values as they are": truth / truth.max().clamp(min=1e-12),
        "a mean over the maps; it is a sum": truth / len(a),
        "the weights are gradients with their signs, not absolute values": weigh(
            gradient.abs().mean((1, 2))
        ).relu(),
        "cut off at 0, not turned round: a ReLU, no absolute value": weigh(
            gradient.mean((1, 2))
        ).abs(),
        "a mean over the places where the map is not 0; over all places is asked for": weigh(
            (gradient * (a > 0)).sum((1, 2)) / (a > 0).sum((1, 2)).clamp(min=1)
        ).relu(),
        "the largest gradient of each map; its mean over places is asked for": weigh(
            gradient.amax((1, 2))
        ).relu(),
    }
    if cam is not None:
        of_cam = "cam cut off at 0, over the number of places: that fits a mean pool alone"
        slips[of_cam] = cam.relu() / cam.numel()
        slips["cam cut off at 0: here the gradient is asked, which knows the pool"] = cam.relu()
    if best != target:
        slips[other] = weigh(by(scores[best]).mean((1, 2))).relu()
    return {"cam": cam, "grad_cam": truth}, {"cam": cam_slips, "grad_cam": slips}


@ends_in_notebook
def check_size(mine, kind: str) -> None:
    size, shape = make_looker(kind)[1].shape[1:], tuple(getattr(mine, "shape", ()))
    assert shape != tuple(size), f"{shape}, as large as the image; the last maps are smaller"


@ends_in_notebook
def check_cams(case, attempt, kind, target):
    def why(error: Exception) -> str:
        cut = kind == "a frozen model" and "does not require grad" in str(error)
        return "the maps of a frozen model need no gradient until you ask for one" * cut

    found = tried(case, f"{kind}, class {target}", attempt, kind, target, why=why)
    if found is FAILED:
        return
    result, left = found
    ok = isinstance(result, (tuple, list)) and len(result) == 2
    assert ok, f"{result!r} is not (cam, grad_cam): is there an answer yet?"
    truth, slips = true_cams(kind, target)
    with case(f"{kind}, class {target}: cam"):
        if truth["cam"] is None:
            parts = "; ask for its class, isinstance(head, nn.Linear), not for its parts"
            parts *= kind == WEIGHTED
            assert result[0] is None, (
                f"the head is not a single nn.Linear: there is no such map, None{parts}"
            )
        else:
            derived = "a class derived from nn.Linear is an nn.Linear: there is such a map"
            assert result[0] is not None or kind != DERIVED, derived
            check_size(result[0], kind)
            check_seen(
                result[0],
                truth["cam"].cpu(),
                "cam (maps times the head's weights of the class)",
                {w: s.cpu() for w, s in slips["cam"].items()},
            )
    with case(f"{kind}, class {target}: grad_cam"):
        check_size(result[1], kind)
        check_seen(
            result[1],
            truth["grad_cam"].cpu(),
            "grad_cam (maps times the gradient's mean over places, cut off at 0)",
            {w: s.cpu() for w, s in slips["grad_cam"].items()},
            atol=1e-6,
        )
    with case(f"{kind}, class {target}: the model afterwards"):
        check_left(left)
