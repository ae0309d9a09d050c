"""Seeded cases beyond the project's own tests, compared with what the course's modules give.

A function ``run_…`` is called by a locked function of the notebook, on the side of the answer, and
returns plain values. A function ``check_…`` works out the truth by itself.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image

from course_utils.chapters.capstone.trials import own_package, run_ranks
from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_close
from course_utils.learner.shapes_data import draw_shapes
from course_utils.learner.tracebacks import ends_in_notebook

FUNCTIONS = {
    "config": "read_config",
    "targets": "make_targets",
    "model": "build_model",
    "losses": "detection_loss",
    "train": "fit",
    "evaluate": "evaluate",
    "predict": "find_shapes",
    "service": "answer_request",
}


def own(module: str) -> Callable:
    """The course's own function of a module."""
    with own_package() as package:
        return getattr(importlib.import_module(f"{package}.{module}"), FUNCTIONS[module])


def run_config(answer: Callable, cases: list) -> list:
    """For each (fields, words): names, types' names and values, or how it ended."""
    found = []
    for fields, words in cases:
        made_of = [(name, type(value), dataclasses.field(default=value)) for name, value in fields]
        kind = dataclasses.make_dataclass("Made", made_of)
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                made = answer(list(words), kind)
            found.append([(n, type(v).__name__, v) for n, v in sorted(vars(made).items())])
        except SystemExit as error:
            found.append(f"status {error.code}")
    return found


@ends_in_notebook
def check_config(try_values: Callable) -> None:
    """Three made-up dataclasses and their command lines."""
    fields = [("layers", 4), ("decay", 0.5), ("place", "here"), ("bias", True), ("tied", False)]
    cases = [
        (fields, []),
        (fields, ["--layers", "-2", "--decay", "1e-4", "--place", "", "--tied"]),
        (fields, ["--no-bias", "--no-tied", "--bias"]),
        (fields[:1], ["--decay", "1"]),
        (fields[3:], ["--bias", "True"]),
        (fields[1:2], ["--decay", "fast"]),
    ]
    right = run_config(own("config"), cases)
    with every_case() as case:
        for (_, words), mine, wanted in zip(cases, try_values(cases), right, strict=True):
            with case(f"the words {words}"):
                assert mine == wanted, "another configuration came out, or it ended otherwise"


@ends_in_notebook
def check_targets(answer: Callable, seeds: range) -> None:
    """Random boxes in images of all forms, several to a cell."""
    right = own("targets")
    with every_case() as case:
        for seed in seeds:
            draw = torch.Generator().manual_seed(seed)
            height, width, n = (
                int(torch.randint(low, high, (), generator=draw))
                for low, high in ((20, 120), (20, 120), (0, 9))
            )
            corner = torch.rand(n, 2, generator=draw) * 0.8
            extent = torch.rand(n, 2, generator=draw) * 0.19 + 0.01
            boxes = torch.cat([corner, corner + extent], 1) * torch.tensor([width, height] * 2)
            boxes = [boxes.round().long(), boxes, boxes.double()][seed % 3]
            labels = torch.randint(0, 3, (n,), generator=draw)
            size, cells = (height, width), (8, 4, 2)[seed % 3]
            with case(f"{n} boxes, {boxes.dtype}, image {height} x {width}, {cells} cells"):
                mine = answer(boxes, labels, size, cells)
                check_close(mine, right(boxes, labels, size, cells), "the target", atol=1e-5)


def run_model(answer: Callable, cases: list) -> list:
    """For each (n, height, width, channels, prior): the output's numbers before any training."""
    found = []
    for n, height, width, channels, prior in cases:
        torch.manual_seed(n)
        found.append(answer(channels, prior)(torch.randn(n, 3, height, width)).detach())
    return found


@ends_in_notebook
def check_model(try_values: Callable) -> None:
    """The first probabilities, for several sizes."""
    cases = [(1, 72, 40, 8, 0.01), (2, 24, 24, 24, 0.2), (3, 64, 64, 16, 0.5)]
    with every_case() as case:
        for (n, height, width, channels, prior), mine in zip(cases, try_values(cases), strict=True):
            with case(f"{n} images {height} x {width}, width {channels}, prior {prior}"):
                assert mine.shape == (n, 8, height // 8, width // 8), "the shape is another"
                there = mine[:, 0].sigmoid()
                check_close(there, torch.full_like(there, prior), "the probability of an object")


@ends_in_notebook
def check_losses(answer: Callable, seeds: range) -> None:
    """Random outputs and targets."""
    right = own("losses")
    with every_case() as case:
        for seed in seeds:
            draw = torch.Generator().manual_seed(seed)
            n, h, w = (int(torch.randint(1, 6, (), generator=draw)) for _ in range(3))
            output = torch.randn(n, 8, h, w, generator=draw) * 4
            has = torch.rand(n, h, w, generator=draw) < (0.0, 0.2, 0.7)[seed % 3]
            kinds = F.one_hot(torch.randint(0, 3, (n, h, w), generator=draw), 3)
            target = torch.rand(n, 8, h, w, generator=draw)
            target[:, 0], target[:, 1:4] = 1, kinds.movedim(-1, 1)
            target *= has[:, None]
            with case(f"{int(has.sum())} objects in {n} images of {h} x {w} cells"):
                check_close(
                    answer(output, target), right(output, target), "the three losses", rtol=1e-4
                )


class Small(nn.Module):
    """With dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 6), nn.Dropout(0.3), nn.ReLU(), nn.Linear(6, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)


def run_fit(answer: Callable, world_size: int, legs: list[int], seed: int) -> torch.Tensor:
    """The weights after runs up to each of ``legs``, one after the other, on every rank."""

    def work(rank: int) -> torch.Tensor:
        def batch(step: int, rank: int, world_size: int) -> tuple[torch.Tensor, torch.Tensor]:
            draw = torch.Generator().manual_seed(100 * seed + step)
            x = torch.randn(4 * world_size, 2, generator=draw)[rank::world_size]
            return x, x.prod(1, keepdim=True)

        file = Path(folder) / "kept.pt"
        for leg in legs:
            torch.manual_seed(seed + 10 * rank)
            model = Small()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
            answer(model, optimizer, F.smooth_l1_loss, batch, leg, file, 3)
        return torch.cat([p.detach().flatten() for p in model.parameters()])

    with tempfile.TemporaryDirectory() as folder:
        if world_size == 1:
            return work(0)[None]
        return torch.stack(run_ranks(work, world_size))


@ends_in_notebook
def check_fit(try_values: Callable) -> None:
    """Runs in several legs, on one rank and on three."""
    right = own("train")
    with every_case() as case:
        for seed, (world_size, legs) in enumerate([(1, [7]), (1, [2, 5, 6]), (3, [2, 4])]):
            with case(f"{world_size} ranks, legs up to {legs}"):
                mine = try_values(world_size, legs, seed)
                wanted = run_fit(right, world_size, legs, seed)
                check_close(mine, wanted, "the weights", rtol=1e-4, atol=1e-6)


@ends_in_notebook
def check_evaluate(answer: Callable, seeds: range) -> None:
    """Random boxes near true ones."""
    right = own("evaluate")
    with every_case() as case:
        for seed in seeds:
            draw = torch.Generator().manual_seed(seed)
            found, true = [], []
            for _ in range(int(torch.randint(1, 8, (), generator=draw))):
                m = int(torch.randint(0, 5, (), generator=draw))
                corner = torch.rand(m, 2, generator=draw) * 0.5
                boxes = torch.cat(
                    [corner, corner + 0.2 + 0.2 * torch.rand(m, 2, generator=draw)], 1
                )
                labels = torch.randint(0, 2, (m, 1), generator=draw).float()
                true.append(torch.cat([labels, boxes], 1))
                k = torch.randint(0, m, (m + 1,), generator=draw) if m else torch.zeros(0).long()
                moved = true[-1][k] + 0
                moved[:, 1:] += 0.05 * torch.randn(len(k), 1, generator=draw)
                found.append(torch.cat([torch.rand(len(k), 1, generator=draw), moved], 1))
            with case(f"{len(true)} images, seed {seed}"):
                mine, wanted = answer(found, true, 50, seed), right(found, true, 50, seed)
                for name, value in wanted.items():
                    near = name in mine and abs(mine[name] - value) < 1e-6
                    assert near, f"{name} is another"


def run_predict(answer: Callable, seeds: range) -> list[list[dict]]:
    """What is found by a random network in drawn images."""
    found = []
    with torch.random.fork_rng():
        for seed in seeds:
            torch.manual_seed(seed)
            model = own("model")(8, 0.5)
            nn.init.normal_(model[-1].weight, std=0.2)
            found.append(answer(model, Image.fromarray(draw_shapes(seed).image)))
    return found


@ends_in_notebook
def check_predict(try_values: Callable, seeds: range) -> None:
    """The same, number by number."""
    with every_case() as case:
        right = run_predict(own("predict"), seeds)
        for seed, mine, wanted in zip(seeds, try_values(seeds), right, strict=True):
            with case(f"image {seed}"):
                assert len(mine) == len(wanted), "another number of shapes"
                for one, other in zip(mine, wanted, strict=True):
                    assert one["shape"] == other["shape"], "another name"
                    values = [[*each["box"], each["confidence"]] for each in (one, other)]
                    check_close(*map(torch.tensor, values), "box and confidence", rtol=1e-3)


def run_service(answer: Callable, bodies: list[bytes], limit: int, fails: bool) -> list[Any]:
    """What each body is answered with; the finder tells size and mode."""

    def find(image: Image.Image) -> list[dict]:
        if fails:
            raise OSError("inside")
        return [
            {"shape": image.mode, "confidence": 0.5, "box": [*map(float, image.size), 0.0, 0.0]}
        ]

    return [answer(body, find, limit) for body in bodies]


@ends_in_notebook
def check_service(try_values: Callable) -> None:
    """Files of several kinds, whole and cut."""
    bodies = [b"", b"\x89PNG", b"GIF89a"]
    for kind, mode, size in (
        ("PNG", "LA", (5, 9)),
        ("WEBP", "RGB", (40, 30)),
        ("TIFF", "I", (9, 9)),
    ):
        file = io.BytesIO()
        Image.new(mode, size).save(file, kind)
        bodies += [file.getvalue()]
    bodies.append(bodies[3][: len(bodies[3]) // 2])
    right = own("service")
    with every_case() as case:
        for limit, fails in ((1_000_000, False), (60, False), (1_000_000, True)):
            mine = try_values(bodies, limit, fails)
            wanted = run_service(right, bodies, limit, fails)
            for number, (one, other) in enumerate(zip(mine, wanted, strict=True)):
                with case(f"body {number}, limit {limit}, find {'fails' if fails else 'works'}"):
                    assert one[0] == other[0], f"the status is {one[0]}"
                    assert other[0] != 200 or one[1] == other[1], "something else was answered"
