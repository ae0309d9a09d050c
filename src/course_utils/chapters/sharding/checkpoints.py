"""Exercise 18.6: a sharded checkpoint."""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

from course_utils.chapters.sharding.jobs import Sent, attempt, local
from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook

NAME = "run [1]"  # somewhere in the folder's path
EXTRA = {"once": "step"}  # in this case an entry has the name that people give to one of their own


def state_of(world_size: int, value: float, extra: str) -> dict:
    """A sharded weight (7, 2) whose numbers are value + 0, 1, 2, …; on every rank two more."""
    full = value + torch.arange(14.0).view(7, 2)
    mesh = init_device_mesh("cpu", (world_size,))
    weight = distribute_tensor(full, mesh, [Shard(0)])
    own = torch.tensor(value + 0.5, dtype=torch.float64)
    return {"weight": weight, "count": torch.full((2,), value), extra: own}


def run_saves(rank, world_size, sharded_checkpoint, folder, extra, steps, killed_in):
    whole_write, whole_finish = dcp.FileSystemWriter.write_data, dcp.FileSystemWriter.finish
    finished = []

    def finish(self, *args, **options):
        whole_finish(self, *args, **options)
        finished.append(True)

    def write_and_die(self, *args, **options):
        done = whole_write(self, *args, **options)
        return os._exit(1) if rank == 1 else done

    dcp.FileSystemWriter.finish = finish
    for step in steps:
        finished.clear()
        state = state_of(world_size, 100.0 * step, extra)
        held, place = dict(state), os.getcwd()
        if step == steps[-1] and killed_in == "shards":
            dcp.FileSystemWriter.write_data = write_and_die
        if step == steps[-1] and killed_in in ("table", "once"):
            dcp.FileSystemWriter.finish = lambda *_, **__: os._exit(1)
        with Sent() as traffic:
            sharded_checkpoint(folder, step, state)
        assert "all_gather_into_tensor" not in traffic.names, (
            "sharded_checkpoint gathers a whole tensor, as full_tensor() does, and no rank has "
            "room for it: hand dcp.save the DTensors as they are"
        )
        written = rank != 0 or bool(finished)  # rank 0 finishes a save
        _no_save_goes_on(written)
        _same_entries(state, held, "sharded_checkpoint")
        assert os.getcwd() == place, "the current folder was changed by sharded_checkpoint"


def _no_save_goes_on(written: bool) -> None:
    """Wait for what async_save left in the background, so that no later case meets it."""
    threads = [t for t in threading.enumerate() if t.name.startswith("AsyncCheckpointExecutor")]
    for thread in threads:
        thread.join(3)
    assert written or not threads, (
        "sharded_checkpoint returned while dcp.async_save was still writing: use dcp.save, or wait "
        "for its result()"
    )


def _same_entries(state: dict, held: dict, where: str) -> None:
    names = [str(name) for name in (*state, *held) if (name in state) != (name in held)]
    assert not names, (
        f"`state` was changed by {where}, in the entry {', '.join(names)}: it is the caller's dict"
    )
    replaced = any(state[name] is not held[name] for name in held)
    assert not replaced, (
        f"an entry of `state` was replaced by {where}: dcp.load fills the tensors in place"
    )


def _list_in_any_order() -> None:
    """List folders of four entries or more with the highest number neither first nor last."""
    listed, scanned = os.listdir, os.scandir

    def shuffle(entries: list, name) -> list:
        numbers = {entry: int("".join(filter(str.isdigit, name(entry))) or -1) for entry in entries}
        entries = sorted(entries, key=lambda entry: (numbers[entry], name(entry)))
        return entries[1:] + entries[:1] if len(entries) > 3 else entries

    class Scan:
        def __init__(self, path=".") -> None:
            with scanned(path) as entries:
                self.entries = iter(shuffle(list(entries), lambda entry: entry.name))

        def __iter__(self):
            return self

        def __next__(self):
            return next(self.entries)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.close()

        def close(self) -> None:
            self.entries = iter(())

    def in_any_order(path="."):
        return shuffle(listed(path), str)

    os.listdir = in_any_order  # ty: ignore[invalid-assignment]  strings are what a path lists
    os.scandir = Scan  # ty: ignore[invalid-assignment]  what a listing is asked for, no more


def run_load(rank, world_size, newest_checkpoint, folder, extra):
    state = state_of(world_size, -1.0, extra)
    held = dict(state)
    _list_in_any_order()
    first = newest_checkpoint(folder, state)
    for name, value in state_of(world_size, -1.0, extra).items():
        held[name].copy_(value)
    step = newest_checkpoint(folder, state)
    assert step is not None, "newest_checkpoint returned None, not a step: is there an answer yet?"
    assert isinstance(step, int), (
        f"newest_checkpoint returned {step!r}, "
        f"{'a text' if isinstance(step, str) else 'a ' + type(step).__name__}: return an int"
    )
    _same_entries(state, held, "newest_checkpoint")
    assert step == first, f"a second newest_checkpoint returned {step}, and the first one {first}"
    return step, local(held["weight"]).clone(), held["count"].clone(), held[extra].item()


@ends_in_notebook
def check_checkpoint(found, save_ranks, steps, killed_in, load_ranks):
    found, kept, elsewhere = found if isinstance(found, tuple) else (found, None, None)
    if isinstance(found, str) and " seconds rank" in found:
        found = "the ranks wait for each other; dcp.save and dcp.load are for all of them\n" + found
    elif isinstance(found, str) and killed_in and "CheckpointException" in found:
        found = (
            "loading fails after a killed save: take only a step that has .metadata (it can't be "
            f"caught as an Exception: CheckpointException is a BaseException)\n{found}"
        )
    assert not isinstance(found, str), found
    killed = {"shards": 1, "table": 1, "twice": 2}.get(killed_in, 0)
    complete = steps[: len(steps) - killed]
    truth = max(complete, default=-1)
    full = (100.0 * truth if complete else -1.0) + torch.arange(14.0).view(7, 2)
    for rank, (step, weight, count, own) in enumerate(found):
        reason = "" if step == truth else _why_that_step(step, complete, steps, truth)
        if step == -1 and complete and save_ranks != load_ranks:
            reason = (
                f": no completed save was found; {save_ranks} ranks saved, and "
                f"{load_ranks} load{reason.replace(':', ', and', 1)}"
            )
        if step != truth and complete and torch.equal(weight, full.chunk(load_ranks)[rank]):
            reason = f": the numbers are those of step {truth}: return the step that was loaded"
        if kept is not None and kept < len(complete) and step != truth:
            reason = (
                f": of {len(complete)} completed saves {kept or 'none'} was left before the "
                "loading; remove an old one, if at all, when a newer one is complete"
            )
        if isinstance(elsewhere, list) and elsewhere[rank][0] == truth:
            reason = (
                f": the folder's path has a part {NAME!r}, and glob.glob takes brackets for a "
                "pattern; Path(folder).glob doesn't"
            )
        assert step == truth, f"the step on rank {rank} is {step}, expected {truth}{reason}"
        mine = full.chunk(load_ranks)[rank]
        blank = (torch.arange(14.0).view(7, 2) - 1.0).chunk(load_ranks)[rank]
        assert not complete or not torch.equal(weight, blank), (
            f"rank {rank}'s weight holds what it held before: dcp.load must be handed the tensors "
            "of `state` itself, and fills them in place" + (", for step 0 too" if not truth else "")
        )
        alone = complete or torch.equal(weight, mine)
        assert alone, "no save is complete, and `state` was changed: leave it alone then"
        mixed = complete and not torch.equal(weight, mine) and killed_in
        assert not mixed, (
            f"rank {rank} loads numbers of the killed save: give each step its own folder"
        )
        check_close(weight, mine, f"rank {rank}'s rows of the weight")
        base = 100.0 * truth if complete else -1.0
        check_close(count, torch.full((2,), base), f"rank {rank}'s count")
        assert own == base + 0.5, (
            f'state["{EXTRA.get(killed_in, "epoch")}"] is {own} on rank {rank}, expected '
            f"{base + 0.5}: the caller may have an entry of any name, so save none of your own "
            "beside them"
        )


def _why_that_step(step: int, complete: list[int], steps: list[int], truth: int) -> str:
    by_number = sorted(complete)
    if not complete and step >= 0 and step not in steps:
        return ": no save is complete"
    if step not in complete and steps and step == steps[-1]:
        return ": that save was killed; a completed one is a folder of its own that has .metadata"
    if step == -1 and truth == 0:
        return ": 0 is a step as well"
    if step == -1 or step not in complete:
        return ""
    if step == complete[-1]:
        return ": the highest step counts, not the one saved last"
    if any(step == int(max(f"{n:0{width}}" for n in complete)) for width in range(1, 9)):
        low, high = (9, 10) if truth < 100 else (999999, 1000000)
        return (
            f": compare steps as numbers (as texts '{low}' comes behind '{high}'), and take the "
            "highest"
        )
    if len(complete) > 3 and step in by_number[:2]:
        return ": a folder's entries come in any order; take the highest step"
    return ": the highest step counts"


def checkpoint_trial(
    save, load, save_ranks: int, steps: list[int], killed_in: str, load_ranks: int
) -> tuple | str:
    """Save under these steps, the last ones killed perhaps.

    From each new rank what it loads, and how many saves were complete before.
    """
    with tempfile.TemporaryDirectory() as folder:
        extra = EXTRA.get(killed_in, "epoch")
        above = Path(folder) / NAME
        above.mkdir()
        inside = str(above / "checkpoints")
        place = save, inside, extra
        if killed_in == "twice":
            first = attempt(run_saves, save_ranks, *place, steps[:-1], "table")
            if isinstance(first, str) and "exit status" not in first:
                return first
            steps, killed_in = steps[-1:], "table"
        if steps:
            words = attempt(run_saves, save_ranks, *place, steps, killed_in)
            if isinstance(words, str) and "exit status" not in words:
                return words
            if killed_in and not isinstance(words, str):
                return (
                    "no save of a shard by dcp.save was seen: is there an answer yet, and does it "
                    "save with dcp.save?"
                )
        if killed_in == "once":
            words = attempt(run_saves, save_ranks, *place, steps[-1:], "")
            if isinstance(words, str):
                return f"step {steps[-1]}, whose save was killed, is saved once more: {words}"
        kept = len(list(Path(folder).rglob(".metadata")))
        found = attempt(run_load, load_ranks, load, inside, extra)
        if isinstance(found, str):
            return found
        elsewhere = None
        if kept and all(step == -1 for step, *_ in found):
            moved = above.rename(Path(folder) / "run 1")
            elsewhere = attempt(run_load, load_ranks, load, str(moved / "checkpoints"), extra)
        return found, kept, elsewhere
