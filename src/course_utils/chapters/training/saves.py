"""Exercise 13.4: the folder of the best and the newest checkpoints."""

from __future__ import annotations

import os
import tempfile

import torch

from course_utils.chapters.training.killed import Fate, contents, every_moment, in_a_child
from course_utils.learner.checks import check_equal


def state_of(step: int, fate: object = None) -> dict:
    """A model's state, for short: its sum is twice the step."""
    return {"weight": torch.full((2,), float(step)), "note": fate}


def run_saves(best_checkpoint, saves: list[tuple[int, float]], keep: int) -> tuple[dict, list[str]]:
    """What the folder holds after these saves, beside two files that were there before."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        for name in ("notes.txt", "init.pt"):
            with open(os.path.join(folder, name), "w") as file:
                file.write("not a checkpoint")
        best_checkpoint(other, state_of(1), 1, 1e9, keep)  # another run, which must not matter
        for step, score in saves:
            best_checkpoint(folder, state_of(step), step, score, keep)
        others = [name for name in sorted(os.listdir(folder)) if not name.endswith(".pt")]
        return contents(folder), others


def run_kills(
    best_checkpoint, saves: list[tuple[int, float]], step: int, score: float, keep: int
) -> list:
    """Killed at each moment of the save of ``step``; and the folder after it is saved again."""

    def prepare(folder):
        with tempfile.TemporaryDirectory() as other:  # another run, which must not matter
            best_checkpoint(other, state_of(1), 1, 1e9, keep)
        for earlier, value in saves:
            best_checkpoint(folder, state_of(earlier), earlier, value, keep)

    return every_moment(
        prepare,
        lambda folder, fate: best_checkpoint(folder, state_of(step, fate), step, score, keep),
    )


def run_again(best_checkpoint, saves: list[tuple[int, float]], keep: int) -> list[dict]:
    """The folder after a save that was killed, at each moment, and then made again."""
    found = []
    for moment in range(60):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
            best_checkpoint(other, state_of(1), 1, 1e9, keep)
            for step, score in saves[:-1]:
                best_checkpoint(folder, state_of(step), step, score, keep)
            step, score = saves[-1]
            ours, theirs = os.pipe()

            def work(n=moment, to=theirs, step=step, score=score):
                fate = Fate(n, folder, to)
                best_checkpoint(folder, state_of(step, fate), step, score, keep)

            whole = in_a_child(work)
            os.close(ours), os.close(theirs)
            best_checkpoint(folder, state_of(step), step, score, keep)
            found.append(contents(folder))
        if whole:
            break
    return found


def right_folder(saves: list[tuple[int, float]], keep: int) -> dict:
    """What the folder should hold after these saves."""
    entries = {step: (step, score, 2.0 * step) for step, score in saves}
    files = {f"step-{step:06d}.pt": entries[step] for step in sorted(entries)[-keep:]}
    scored = [(score, -step) for step, score in saves if score == score]
    return files | ({"best.pt": entries[-max(scored)[1]]} if scored else {})


def check_files(files, others, saves, keep):
    mine = {name: entry for name, entry in files.items() if name != "init.pt"}
    assert "init.pt" in files, "init.pt was there before and is not yours: leave other files alone"
    assert "notes.txt" in others, "notes.txt was there before and is not yours to remove"
    assert mine, "no file ends in .pt: is there an answer yet?"
    right = right_folder(saves, keep)
    steps, wanted = ([n for n in part if n != "best.pt"] for part in (sorted(mine), sorted(right)))
    check_equal(
        steps, wanted, "the files of steps", f"the {keep} highest steps, compared as numbers"
    )
    best = mine.get("best.pt", "no file")
    words = f"best.pt holds (step, score, sum of the state) {best}"
    if "best.pt" not in right:
        assert best == "no file", f"{words}: NaN is never the best"
    text = f"{words}, expected {right.get('best.pt')}: the highest score ever, the earlier at a tie"
    assert best == right.get("best.pt", best), text
    assert repr([mine[n] for n in wanted]) == repr([right[n] for n in wanted]), (
        f"a file holds another entry: {mine}"
    )


def check_remains(files, before, after_all):
    """What a killed save may leave, from what was there before and what would be there after."""
    odd = sorted(set(files) - {*before, *after_all})
    assert not odd, f"{odd[0]} is left: what is half written must not end in .pt"
    broken = [name for name, entry in files.items() if entry is None]
    assert not broken, f"{broken[0]} is broken: write beside it, then rename"
    steps, earlier = ([name for name in part if name != "best.pt"] for part in (files, before))
    words = f"{sorted(steps)} are left, there were {sorted(earlier)}: remove the old ones last"
    assert len(steps) >= len(earlier), words
    newest = max(files[name][0] for name in steps)
    assert newest >= max(before[name][0] for name in earlier), "the newest step is gone"
    words = "best.pt is gone, or worse than before"
    assert "best.pt" in files, words
    assert files["best.pt"][1] >= before["best.pt"][1], words
