"""A training step in five stages, each with one repair, and what each costs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from course_utils.chapters.performance.bytes_written import count_written
from course_utils.chapters.performance.syncs import count_syncs
from course_utils.learner.operators import count_operators

STEPS, CHUNKS = 3, 4
# What is repaired, from one stage to the next.
STAGES = ("as it was", "no loop over rows", "float32", "metrics stay there", "history in a list")


def _stage(number: int, x: Tensor, y: Tensor) -> Callable[[], Tensor]:
    """A few training steps with the first ``number`` repairs made; they return the last loss."""
    dtype = torch.float32 if number >= 2 else torch.float64
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(0.2 * torch.randn(p.shape, generator=generator))
    model.to(x.device, dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    images = x.to(dtype)

    def normalise(rows: Tensor) -> Tensor:
        if number >= 1:
            return (rows - rows.mean(1, keepdim=True)) / rows.std(1, keepdim=True)
        return torch.stack([(row - row.mean()) / row.std() for row in rows])

    def run() -> Tensor:
        history: Tensor | list = [] if number >= 4 else images[:0, 0]
        for _ in range(STEPS):
            for rows, labels in zip(images.chunk(CHUNKS), y.chunk(CHUNKS), strict=True):
                optimizer.zero_grad()
                scores = model(normalise(rows))
                loss = F.cross_entropy(scores, labels)
                loss.backward()
                optimizer.step()
                hits = (scores.argmax(1) == labels).sum()
                if number < 3:
                    loss.item(), hits.item()
                if isinstance(history, list):
                    history.append(loss.detach())
                else:
                    history = torch.cat([history, loss.detach()[None]])
        done = torch.stack(history) if isinstance(history, list) else history
        return done[-1]

    return run


def measure_stages(x: Tensor, y: Tensor) -> dict[str, dict]:
    """Operators, megabytes written, waits, seconds and the last loss of each stage."""
    found: dict[str, dict] = {}
    for number, name in enumerate(STAGES):
        with count_operators() as operators:
            _stage(number, x, y)()
        run = _stage(number, x, y)
        with count_written() as written, count_syncs() as waits:
            loss = run()
        found[name] = {
            "operators": sum(operators.values()),
            "MB": written.nbytes / 1e6,
            "waits": sum(waits.values()),
            "loss": float(loss),
        }
    # Round by round: what slows the machine down for a while meets every stage.
    runs = [_stage(number, x, y) for number in range(len(STAGES))]
    times: dict[str, list[float]] = {name: [] for name in STAGES}
    for _ in range(9):
        for name, run in zip(STAGES, runs, strict=True):
            begin = time.perf_counter()
            float(run())
            times[name].append(time.perf_counter() - begin)
    for name in STAGES:
        found[name]["seconds"] = statistics.median(times[name][1:])
    return found
