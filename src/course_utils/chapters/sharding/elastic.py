"""Exercise 18.7: a training that goes on when a worker dies."""

from __future__ import annotations

import io
import os
import re
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from course_utils.chapters.sharding.jobs import attempt, random_like
from course_utils.learner.checks import check_close, check_equal
from course_utils.learner.tracebacks import ends_in_notebook

# What torch.load says of a file that was begun.
TORN = "zip archive|central directory|EOF|Unpickling|truncated|Ran out of input|invalid load key"


class Training:
    """A model, its optimizer and one step of training; it dies where it is told to."""

    def __init__(self, rank: int, world_size: int, start: int, trouble: tuple, log: Path) -> None:
        self.rank, self.world_size, self.start = rank, world_size, start
        self.trouble, self.log, self.last = trouble, log, -1
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)

    def run(self, step: int) -> None:
        """One step on all ranks."""
        mine = self.trouble[0] == "run" and self.trouble[2] == self.rank
        dies_in = self.trouble[1::2] if mine else ()  # of each start
        if dies_in[self.start : self.start + 1] == (step,):
            os._exit(1)
        with open(self.log, "a") as file:
            file.write(f"{self.rank} begin {self.start} {step}\n")
        if self.last < 0:
            self.begin_together(step)
        step_of_training(self.model, self.optimizer, step, [self.rank], self.average)
        with open(self.log, "a") as file:
            file.write(f"{self.rank} run {self.start} {step}\n")
        self.last = step

    def begin_together(self, step: int) -> None:
        """Fail at once where the ranks begin with different steps: later they wait in vain."""
        steps = [torch.empty(1, dtype=torch.int64) for _ in range(self.world_size)]
        dist.all_gather(steps, torch.tensor([step]))
        words = f"rank {self.rank} runs step {step}, and not all ranks do"
        assert all(other.item() == step for other in steps), words

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
    training = Training(rank, world_size, start, trouble, Path(log))
    whole_save, calls = torch.save, {}  # how often torch.save was called after which step

    def save(obj, f, *args, **options):
        if isinstance(obj, (torch.UntypedStorage, torch.TypedStorage)):
            return whole_save(obj, f, *args, **options)  # it is pickle that writes a tensor
        with open(log, "a") as notes:
            notes.write(f"{rank} save {start} {training.last}\n")
        calls[training.last] = calls.get(training.last, 0) + 1
        if start == 0 and trouble[0] == "save" and trouble[1] == len(calls):
            dies_in = next(iter(calls.values())) if trouble[2] == "last" else 1
            if calls[training.last] == dies_in:
                write_torn(whole_save, obj, f, 0 if trouble[1] == 1 else trouble[2])
                os._exit(1)
        return whole_save(obj, f, *args, **options)

    torch.save = save  # ty: ignore[invalid-assignment]  the answer calls this one
    elastic(training, folder, rank, steps, every)
    torch.save = whole_save  # pickling a tensor uses it too
    return [parameter.detach().clone() for parameter in training.model.parameters()]


def write_torn(whole_save, obj, f, kind):
    """Nothing yet, half, or of the last file a few bytes: each is another error to load."""
    whole = io.BytesIO()
    whole_save(obj, whole)
    some = whole.getvalue()
    some = some[: {0: 0, "first": len(some) // 2, "last": 3}[kind]]
    f.write(some) if hasattr(f, "write") else Path(f).write_bytes(some)
    f.flush() if hasattr(f, "flush") else None


def undisturbed(steps):
    """The weights of a job in which no rank dies."""
    training = Training(0, 2, 0, ("",), Path())
    advance(training, range(steps))
    return [parameter.detach() for parameter in training.model.parameters()]


def advance(training, steps):
    for step in steps:
        step_of_training(training.model, training.optimizer, step, [0, 1], lambda grad: None)


def resumed(first, steps, model_at, optimizer_at):
    """The weights of a job that resumes with these: its model and optimizer as they were then."""
    training, other = (Training(0, 2, 0, ("",), Path()) for _ in range(2))
    advance(training, range(model_at))
    advance(other, range(optimizer_at))
    training.optimizer.load_state_dict(other.optimizer.state_dict())
    advance(training, range(first, steps))
    return [parameter.detach() for parameter in training.model.parameters()]


def same(found, truth):
    return all(torch.allclose(a, b, 1e-4, 1e-5) for a, b in zip(found, truth, strict=True))


@ends_in_notebook
def check_elastic(found, steps, every, trouble):
    ran, weights = found["ran"], found["weights"]
    assert any(ran) or isinstance(weights, str), (
        "training.run was not called: is there an answer yet?"
    )
    assert found["savers"] in ([], [0]), (
        f"ranks {found['savers']} called torch.save: rank 0 alone saves, after every {every} steps"
    )
    if isinstance(weights, str):
        torn = trouble[0] == "save" and found["starts"] == 2 and re.search(TORN, weights)
        reason = "the torn file was read: write beside it, then os.replace. " if torn else ""
        if trouble[:2] == ("save", 1) and found["starts"] == 2:
            reason += "No save is complete yet: the second start begins with step 0. "
        if len(set(found["begun"])) > 1:
            reason = f"the ranks' last start begins with the steps {found['begun']}: after a "
            reason += "restart every rank loads what was saved. "
        raise AssertionError(f"the job does not come to its end: {reason}{weights}")
    last = found["starts"] - 1
    ran, died = ran[: last + 1], last > 0
    if died:
        at, behind = _dies_and_resumes(trouble, every, steps)
        first = ran[last][0] if ran[last] else steps
        again = f"the {('second', 'third')[last - 1]} start begins with step {first}, expected "
        again += str(behind)
        if last == 2:
            begun = ran[1][0]
            assert first != behind - begun, (
                f"{again}: the number that was saved counts from the start before, which began "
                f"with step {begun}; save the number of the next step"
            )
        assert first != 0 or behind == 0, f"{again}: it begins from scratch"
        assert first != behind - 1, f"{again}: the save already holds step {first}"
        done = range(every, behind + 1, every)
        by_text = {int(max(map(str, done), default="0"))}
        by_text.add(1 + int(max((str(n - 1) for n in done), default="-1")))
        assert first >= behind or first not in by_text, (
            f"{again}: compare steps as numbers; as texts '99' comes behind '100'"
        )
        assert first >= behind, f"{again}: is there a save after every {every} steps?"
        assert first <= behind, again + _why_too_far(weights[0], first, behind, steps)
        assert first < steps or not ran[last], (
            f"all {steps} steps were run and saved, and a start after that runs step {first}: only "
            f"the steps before {steps} are run, and none is left"
        )
    elif trouble[0] == "":
        _check_moments(found["moments"], steps, every)
    wanted = list(range(first if died else 0, steps))
    check_equal(ran[last], wanted, "the steps of the last start")
    truth = undisturbed(steps)
    apart = any(not same(values, weights[0]) for values in weights)
    assert not apart, (
        "the ranks end with different weights: after a restart every rank loads what was saved"
    )
    for rank, values in enumerate(weights):
        if died and ran[last] and not same(values, truth):
            assert not same(values, resumed(first, steps, first, 0)), (
                "the weights are those of a job that lost its momentum: save the optimizer"
            )
            assert not same(values, resumed(first, steps, 0, first)), (
                "the weights are those of a job whose model began anew: load its state as well, "
                "not the optimizer's alone"
            )
            pairs = ((at, behind), (behind, at)) if trouble[0] == "save" else ()
            assert not any(same(values, resumed(first, steps, *pair)) for pair in pairs), (
                "the weights are those of a job that loads the model of one save and the optimizer "
                "of another: a save of several files is completed at one moment"
            )
            assert not (pairs and same(values, resumed(first, steps, at, at))), (
                "the weights are those of a job that loads the model of one save and the number of "
                "the next step of another: a save of several files is completed at one moment"
            )
            assert not (first and same(values, resumed(first, steps, first, first - 1))), (
                "the weights are those of a job whose optimizer is a step behind its model: save "
                "both after the step"
            )
        assert not died or ran[last] or not same(values, resumed(steps, steps, 0, 0)), (
            "no step is left after the restart, and the model is as new: load what was saved then, "
            "too"
        )
        for n, (value, right) in enumerate(zip(values, truth, strict=True)):
            check_close(
                value, right, f"parameter {n} on rank {rank} at the end", rtol=1e-4, atol=1e-5
            )


def _dies_and_resumes(trouble: tuple, every: int, steps: int) -> tuple[int, int]:
    """The step in which the last start but one ends, and the one with which the last begins."""
    if trouble[0] == "save":
        return trouble[1] * every, (trouble[1] - 1) * every
    at = trouble[1::2][-1] if trouble[0] == "run" else steps
    return at, at // every * every


def _why_too_far(values, first: int, behind: int, steps: int) -> str:
    """What the last weights say of a start that leaves out steps, or nothing."""
    if same(values, resumed(first, steps, first, first)):
        return f": something was saved after step {first - 1}, where no completed save is due"
    if same(values, resumed(first, steps, behind, behind)):
        return (
            ": its weights are those of the last completed save, and the steps since then are left "
            "out; the number of the next step belongs in the same save, and is the first that runs"
        )
    pairs = (first, behind), (behind, first)
    if any(same(values, resumed(first, steps, *pair)) for pair in pairs):
        return (
            ": it loads the model of one save and the optimizer of another; a save of several "
            "files is completed at one moment"
        )
    return ": the steps between are left out"


def _check_moments(moments: list[int], steps: int, every: int) -> None:
    """Steps after which rank 0 saved in a job in which no rank dies."""
    wanted = list(range(every - 1, steps, every))
    for step in moments:
        where = f"after step {step}" if step >= 0 else "before the first step"
        assert step in wanted, f"there is a save {where}, expected after {wanted}"
    assert moments or not wanted, "torch.save was not called: after what does a restart resume?"
    missing = [step for step in wanted if step not in moments]
    assert not missing, (
        f"there is no save after step {missing[0]}: rank 0 saves after every {every} steps, the "
        "last ones as well"
    )


def elastic_trial(elastic, steps: int, every: int, trouble: tuple) -> dict:
    """Start the job on two ranks, again when it fails: weights, steps of each start, savers.

    The trouble: ("run", step, rank), perhaps with the step in which that rank dies after the first
    restart; ("save", which one, "first" or "last" of its files); or ("done",), where the job is
    started once more when it has come to its end.
    """
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as beside:
        log = Path(beside) / "log"
        for start in range(1 + (len(trouble) // 2 if trouble[0] == "run" else 1)):
            found = attempt(run_elastic, 2, elastic, folder, str(log), start, steps, every, trouble)
            ended = isinstance(found, str) and "exit status" in found
            if not ended and (trouble[0] != "done" or isinstance(found, str)):
                break
        lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        ran = [
            [int(s) for r, w, n, s in lines if (r, w, n) == ("0", "run", str(k))] for k in range(3)
        ]
        begun = [
            [int(s) for r, w, n, s in lines if (r, w, n) == (rank, "begin", str(start))][:1]
            for rank in "01"
        ]
        savers = sorted({int(r) for r, w, *_ in lines if w == "save"})
        moments = sorted({int(s) for _, w, n, s in lines if w == "save" and n == str(start)})
        return {
            "weights": found,
            "ran": ran,
            "begun": [step for steps_begun in begun for step in steps_begun],
            "savers": savers,
            "moments": moments,
            "starts": start + 1,
        }
