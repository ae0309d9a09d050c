"""Exercise 18.6: a sharded checkpoint."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

from course_utils.chapters.sharding.jobs import attempt, local
from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook


def state_of(world_size: int, value: float) -> dict:
    """A sharded weight (7, 2) whose numbers are value + 0, 1, 2, …, and a count on every rank."""
    full = value + torch.arange(14.0).view(7, 2)
    mesh = init_device_mesh("cpu", (world_size,))
    weight = distribute_tensor(full, mesh, [Shard(0)])
    return {"weight": weight, "count": torch.full((2,), value)}


def run_saves(rank, world_size, sharded_checkpoint, folder, steps, killed_in):
    whole_write = dcp.FileSystemWriter.write_data

    def write_and_die(self, *args, **options):
        done = whole_write(self, *args, **options)
        return os._exit(1) if rank == 1 else done

    for step in steps:
        if step == steps[-1] and killed_in == "shards":
            dcp.FileSystemWriter.write_data = write_and_die
        if step == steps[-1] and killed_in == "table":
            dcp.FileSystemWriter.finish = lambda *_, **__: os._exit(1)
        sharded_checkpoint(folder, step, state_of(world_size, 100.0 * step))


def run_load(rank, world_size, newest_checkpoint, folder):
    state = state_of(world_size, -1.0)
    held = dict(state)
    step = newest_checkpoint(folder, state)
    assert step is not None, "newest_checkpoint returned None, not a step: is there an answer yet?"
    in_place = all(state[name] is held[name] for name in held)
    return step, local(held["weight"]).clone(), held["count"].clone(), in_place


@ends_in_notebook
def check_checkpoint(found, save_ranks, steps, killed_in, load_ranks):
    if isinstance(found, str) and " seconds rank" in found:
        found = "the ranks wait for each other; dcp.save and dcp.load are for all of them\n" + found
    elif isinstance(found, str) and killed_in and "CheckpointException" in found:
        found = (
            "loading fails after a killed save: take only a step that has .metadata (it can't be "
            f"caught as an Exception: CheckpointException is a BaseException)\n{found}"
        )
    assert not isinstance(found, str), found
    complete = steps[:-1] if killed_in else steps
    truth = max(complete, default=-1)
    full = (100.0 * truth if complete else -1.0) + torch.arange(14.0).view(7, 2)
    for rank, (step, weight, count, in_place) in enumerate(found):
        reason = ""
        if killed_in and step == steps[-1]:
            reason = ": that save was killed; complete is a folder of its own that has .metadata"
        elif complete and step == complete[-1] != truth:
            reason = ": the highest step counts, not the one saved last"
        elif step in complete:
            reason = ": compare steps as numbers, as texts '9' comes behind '10'"
        elif step == -1 and truth == 0:
            reason = ": 0 is a step as well"
        assert step == truth, f"the step on rank {rank} is {step}, expected {truth}{reason}"
        assert in_place, "an entry of state was replaced: dcp.load fills the tensors in place"
        mine = full.chunk(load_ranks)[rank]
        blank = (torch.arange(14.0).view(7, 2) - 1.0).chunk(load_ranks)[rank]
        assert not complete or not torch.equal(weight, blank), (
            f"rank {rank}'s weight holds what it held before: dcp.load must be handed the tensors "
            "of `state` itself, and fills them in place"
        )
        mixed = complete and not torch.equal(weight, mine) and killed_in
        assert not mixed, (
            f"rank {rank} loads numbers of the killed save: give each step its own folder"
        )
        check_close(weight, mine, f"rank {rank}'s rows of the weight")
        check_close(
            count, torch.full((2,), 100.0 * truth if complete else -1.0), f"rank {rank}'s count"
        )


def checkpoint_trial(
    save, load, save_ranks: int, steps: list[int], killed_in: str, load_ranks: int
) -> list | str:
    """Save under these steps, the last one killed perhaps; from each new rank what it loads."""
    with tempfile.TemporaryDirectory() as folder:
        inside = str(Path(folder) / "checkpoints")
        if steps:
            words = attempt(run_saves, save_ranks, save, inside, steps, killed_in)
            if isinstance(words, str) and "exit status" not in words:
                return words
            if killed_in and not isinstance(words, str):
                return (
                    "no save of a shard by dcp.save was seen: is there an answer yet, and does it "
                    "save with dcp.save?"
                )
        return attempt(run_load, load_ranks, load, inside)
