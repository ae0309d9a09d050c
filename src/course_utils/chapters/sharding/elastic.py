"""Exercise 18.7: a training that goes on when a worker dies."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from course_utils.chapters.sharding.jobs import attempt, random_like
from course_utils.learner.checks import check_close, check_equal
from course_utils.learner.tracebacks import ends_in_notebook


class Training:
    """A model, its optimizer and one step of training; it dies where it is told to."""

    def __init__(self, rank: int, world_size: int, start: int, trouble: tuple, log: Path) -> None:
        self.rank, self.world_size, self.start = rank, world_size, start
        self.trouble, self.log = trouble, log
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)

    def run(self, step: int) -> None:
        """One step on all ranks."""
        if self.start == 0 and self.trouble == ("run", step, self.rank):
            os._exit(1)
        step_of_training(self.model, self.optimizer, step, [self.rank], self.average)
        with open(self.log, "a") as file:
            file.write(f"{self.rank} run {self.start} {step}\n")

    def average(self, gradient: torch.Tensor) -> None:
        dist.all_reduce(gradient)
        gradient /= self.world_size


def step_of_training(model, optimizer, step, ranks, average):
    losses = []
    for rank in ranks:
        x = random_like((6, 3), step, rank)
        losses.append(F.mse_loss(model(x), x.sum(1, keepdim=True).sin()))
    optimizer.zero_grad()
    (sum(losses[1:], losses[0]) / len(losses)).backward()
    for parameter in model.parameters():
        average(parameter.grad)
    optimizer.step()


def run_elastic(rank, world_size, elastic, folder, log, start, steps, every, trouble):
    training, whole_save, saves = (
        Training(rank, world_size, start, trouble, Path(log)),
        torch.save,
        [],
    )

    def save(obj, f, *args, **options):
        saves.append(f)
        with open(log, "a") as notes:
            notes.write(f"{rank} save {start} 0\n")
        if start == 0 and trouble[0] == "save" and trouble[1] == len(saves):
            whole = io.BytesIO()
            whole_save(obj, whole)
            half = whole.getvalue()[: len(whole.getvalue()) // 2]
            f.write(half) if hasattr(f, "write") else Path(f).write_bytes(half)
            f.flush() if hasattr(f, "flush") else None
            os._exit(1)
        whole_save(obj, f, *args, **options)

    torch.save = save  # ty: ignore[invalid-assignment]  the answer calls this one
    elastic(training, folder, rank, steps, every)
    torch.save = whole_save  # pickling a tensor uses it too
    return [parameter.detach().clone() for parameter in training.model.parameters()]


def undisturbed(steps, resumed_at=None, repeated=False):
    """The weights; with a slip: momentum lost, or the last saved step run twice."""
    training = Training(0, 2, 0, ("",), Path())
    for step in range(steps):
        if step == resumed_at and not repeated:
            training.optimizer.state.clear()
        for _ in range(2 if repeated and step + 1 == resumed_at else 1):
            step_of_training(training.model, training.optimizer, step, [0, 1], lambda grad: None)
    return [parameter.detach() for parameter in training.model.parameters()]


def same(found, truth):
    return all(torch.allclose(a, b, 1e-4, 1e-5) for a, b in zip(found, truth, strict=True))


@ends_in_notebook
def check_elastic(found, steps, every, trouble):
    ran, weights = found["ran"], found["weights"]
    assert any(ran) or isinstance(weights, str), (
        "training.run was not called: is there an answer yet?"
    )
    if isinstance(weights, str):
        torn = trouble[0] == "save" and found["starts"] == 2
        reason = "the torn file was read: write beside it, then os.replace. " if torn else ""
        raise AssertionError(f"the job does not come to its end: {reason}{weights}")
    assert found["savers"] == ([0] if steps >= every else []) or not found["savers"], (
        f"ranks {found['savers']} called torch.save: rank 0 alone saves, after every {every} steps"
    )
    died = found["starts"] == 2
    if died:
        at = trouble[1] if trouble[0] == "run" else trouble[1] * every
        behind = at // every * every if trouble[0] == "run" else at - every
        first = ran[1][0] if ran[1] else steps
        again = f"the second start begins with step {first}, expected {behind}"
        assert first != 0 or behind == 0, f"{again}: it begins from scratch"
        assert first != behind - 1, f"{again}: the save already holds step {first}"
        assert first >= behind, f"{again}: is there a save after every {every} steps?"
        assert first <= (ran[0][-1] if ran[0] else -1) + 1, f"{again}: steps are left out"
    wanted = list(range(ran[-1][0] if died and ran[-1] else 0, steps))
    check_equal(ran[1] if died else ran[0], wanted, "the steps of the last start")
    truth = undisturbed(steps)
    apart = any(not same(values, weights[0]) for values in weights)
    assert not apart, (
        "the ranks end with different weights: after a restart every rank loads what was saved"
    )
    for rank, values in enumerate(weights):
        if died and ran[1] and not same(values, truth):
            lost = same(values, undisturbed(steps, ran[1][0]))
            assert not lost, (
                "the weights are those of a job that lost its momentum: save the optimizer"
            )
        for n, (value, right) in enumerate(zip(values, truth, strict=True)):
            check_close(
                value, right, f"parameter {n} on rank {rank} at the end", rtol=1e-4, atol=1e-5
            )


def elastic_trial(elastic, steps: int, every: int, trouble: tuple) -> dict:
    """Start the job on two ranks, again when it fails: weights, steps of each start, savers."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as beside:
        log = Path(beside) / "log"
        for start in range(2):
            found = attempt(run_elastic, 2, elastic, folder, str(log), start, steps, every, trouble)
            if not isinstance(found, str) or "exit status" not in found:
                break
        lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        ran = [
            [int(s) for r, w, n, s in lines if (r, w, n) == ("0", "run", str(k))] for k in (0, 1)
        ]
        savers = sorted({int(r) for r, w, *_ in lines if w == "save"})
        return {"weights": found, "ran": ran, "savers": savers, "starts": start + 1}
