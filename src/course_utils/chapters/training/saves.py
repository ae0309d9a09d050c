"""Exercise 13.4: the folder of the best and the newest checkpoints."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from functools import partial
from pathlib import Path

import torch

from course_utils.chapters.training.killed import (
    contents,
    done_elsewhere,
    every_moment,
    told_of_each,
    without_waiting,
)
from course_utils.learner.awkward import elsewhere_is_another_disk
from course_utils.learner.checks import check_equal


def state_of(step: int, fate: object = None) -> dict:
    """A model's state, for short: its sum is twice the step."""
    return {"weight": torch.full((2,), float(step)), "note": fate}


def save_all(best_checkpoint, runs: list[tuple[str, list[tuple], int]]) -> list[str]:
    """Saves in a process of their own, for each run its folder, the saves and ``keep``: words.

    A save is (step, score), or (step, score, keep); with a text behind, another process makes it.
    """

    def work(folder: str, saves: list[tuple], keep: int, elsewhere: str, other_run: str) -> None:
        os.chdir(elsewhere)
        best_checkpoint(other_run, state_of(0), 0, 9e9, 1)  # that one has a best of its own
        for step, score, *other in saves:
            state = state_of(step)
            with elsewhere_is_another_disk(Path(folder) / "best.pt"):
                given = folder, state, step, score, (other or [keep])[0]
                done_elsewhere(best_checkpoint, *given) if other[1:] else best_checkpoint(*given)
            same = list(state) == ["weight", "note"] and bool((state["weight"] == step).all())
            assert same, "state was changed: it is the caller's"
            moved = not os.path.samefile(os.getcwd(), elsewhere)
            assert not moved, "the working folder was changed: it is the process's"
            strays = ", ".join(os.listdir(elsewhere))
            words = "was written into the working folder: join folder and name"
            assert not strays, f"{strays} {words}"

    with tempfile.TemporaryDirectory() as place, without_waiting():
        works = [
            partial(work, *run, *(tempfile.mkdtemp(dir=place) for _ in ("elsewhere", "other run")))
            for run in runs
        ]
        told = told_of_each(works)
    return [_explained(words, run[0]) for words, run in zip(told, runs, strict=True)]


def _explained(words: str, folder: str) -> str:
    if "UnpicklingError" in words:
        words = "it raised UnpicklingError: does it load a file of another name, which may be "
        words += "anything?"
    if "FileNotFoundError" in words and os.path.exists(os.path.join(folder, SHORT)):
        words = (
            f"it raised FileNotFoundError beside a file {SHORT}: remove a file by the name that it "
            "has, not by one made anew of its number"
        )
    return words + "; a rename works within one disk: write in the folder" * (
        "cross-device" in words
    )


def _new_folder(place: str, others: list[str]) -> str:
    """A folder "run [1]" with ``others`` in it, in a new one in ``place``."""
    folder = os.path.join(tempfile.mkdtemp(dir=place), "run [1]")
    os.mkdir(folder)
    for name in others:
        path = Path(folder, name)
        path.write_text("not a checkpoint")
        if name == SHORT:
            torch.save({"state": state_of(0), "step": 0, "score": NAN}, path)
    return folder


def run_saves(best_checkpoint, cases: list[tuple]) -> list[tuple]:
    """For each case, saves, keep and names of files beside ``OTHERS`` that were there before: what
    the folder holds then, and all names in it; or words and no names.

    The last save of a case is made in another process than those before it.
    """
    with tempfile.TemporaryDirectory() as place:
        folders = [_new_folder(place, [*OTHERS, *more]) for _, _, *more in cases]
        runs = [(to, saves, keep) for to, (saves, keep, *_) in zip(folders, cases, strict=True)]
        early = save_all(best_checkpoint, [(to, saves[:-1], keep) for to, saves, keep in runs])
        for folder in folders:
            for age, name in enumerate(sorted(os.listdir(folder))):
                os.utime(os.path.join(folder, name), (10**9 - age, 10**9 - age))  # no clue
        late = save_all(best_checkpoint, [(to, saves[-1:], keep) for to, saves, keep in runs])
        found = []
        for folder, *words in zip(folders, early, late, strict=True):
            beside = [f"../{name}" for name in os.listdir(Path(folder).parent) if name != "run [1]"]
            found.append((contents(folder), sorted(os.listdir(folder) + beside)))
            if any(words):
                found[-1] = (words[0] or words[1], [])
        return found


def run_kills(best_checkpoint, saves: list[tuple], step: int, score: float, keep: int) -> list:
    """Killed at each moment of the save of ``step``: where; what is in the folder then; what is in
    it after the same save was made again; and after a later one was made instead, or words."""

    def save(folder: str, fate: object) -> None:
        with elsewhere_is_another_disk(Path(folder) / "best.pt"), without_waiting():
            best_checkpoint(folder, state_of(step, fate), step, score, keep)

    with tempfile.TemporaryDirectory() as place:
        path, left = os.path.join(place, "template"), []

        def look(folder: str) -> dict:
            left.append(os.path.join(place, f"left {len(left)}"))
            shutil.copytree(folder, left[-1], symlinks=True)
            return contents(folder)

        def resume(folder: str) -> None:
            for end, more in zip(ENDS, ((step, score), (step + 1, 0.0)), strict=True):
                to = f"{folder} {end}"
                shutil.copytree(folder, to, symlinks=True)
                with without_waiting():
                    best_checkpoint(to, state_of(more[0]), *more, keep)

        os.mkdir(path)
        (words,) = save_all(best_checkpoint, [(path, saves, keep)])
        assert not words, words
        moments = every_moment(
            lambda folder: shutil.copytree(path, folder, dirs_exist_ok=True), save, look
        )
        told = told_of_each([partial(resume, folder) for folder in left])
        return [
            (*moment, *([words] * 2 if words else [contents(f"{to} {end}") for end in ENDS]))
            for moment, to, words in zip(moments, left, told, strict=True)
        ]


def right_folder(saves: list[tuple], keep: int) -> dict:
    """What the folder should hold after these saves; a save may bring a ``keep`` of its own."""
    entries = {step: (step, score, 2.0 * step) for step, score, *_ in saves}
    keep = [keep, *saves[-1][2:3]][-1]
    files = {f"step-{step:06d}.pt": entries[step] for step in sorted(entries)[-keep:]}
    scored = [(score, -number) for number, (_, score, *_) in enumerate(saves) if score == score]
    if not scored:
        return files
    step, score = saves[-max(scored)[1]][:2]
    return files | {"best.pt": (step, score, 2.0 * step)}


ENDS = "again", "later"  # the same save once more, or a later one, after a kill
OTHERS = ["init.pt", "notes.txt"]
NAN = float("nan")
THREE = [(1, 0.1), (2, 0.2), (3, 0.3)]
SHORT = "step-0.pt"  # written by hand, with a score of NaN: the answer may take it for step 0
OLD = ["step-final.pt", "step-000001.pt.old", "best.pt.old"]
ODD = ["step-1_000.pt", "step-+7.pt", "step-000001-pt", "notes.part"]
BETWEEN = "by another process"
# Saves, keep, and what the folder holds before, beside OTHERS.
SAVES: dict[str, tuple] = {
    "the example": ([(1, 0.8), (2, 0.9), (3, 0.7)], 2),
    "negative scores, the best one's own file is gone": (
        [(1, -5.0), (2, -9.0), (3, -7.0), (4, -6.0)],
        1,
    ),
    "a tie, and NaN between": ([(1, 0.5), (2, NAN), (3, 0.5)], 3),
    "a score of 0, the highest of three": ([(1, -0.5), (2, 0.0), (3, -0.25)], 2),
    "nothing but NaN": ([(1, NAN), (2, NAN)], 2),
    "NaN first": ([(1, NAN), (2, 0.1)], 1),
    "seven digits": ([(999_998, 0.1), (999_999, 0.2), (1_000_000, 0.3), (1_000_001, 0.1)], 2),
    "the last step again, with another score": ([(1, 0.1), (2, 0.2), (2, 0.3)], 2),
    "the best step again, with a lower score": ([(0, 0.1), (1, 0.3), (1, 0.2)], 2),
    "step 0 twice, one kept": ([(0, 0.3), (0, 0.3)], 1),
    "keep falls from 4 to 2": (
        [(1, 0.1, 4), (2, 0.1, 4), (3, 0.2, 4), (4, 0.3, 4), (5, 0.1, 2)],
        2,
    ),
    "keep rises from 1 to 3": (
        [(1, 0.1, 1), (2, 0.1, 1), (3, 0.2, 3), (4, 0.3, 3), (5, 0.1, 3)],
        3,
    ),
    "another process saves between two calls of this one": (
        [(1, 0.5, 2), (2, 0.9, 2, BETWEEN), (3, 0.7, 2), (4, 0.1, 2)],
        2,
    ),
    "scores that differ in the eighth digit": (
        [(1, 0.1), (2, 0.41234567), (3, 0.41234568), (4, 0.2)],
        2,
    ),
    "other files: step-final.pt, step-000001.pt.old, best.pt.old": (THREE, 2, *OLD),
    "a file by hand, step-0.pt, beside the steps": (THREE, 2, SHORT),
    "other files: step-1_000.pt, step-+7.pt, step-000001-pt, notes.part": (THREE, 2, *ODD),
}


def _taken_by_int(steps: list[str], others: list[str], keep: int) -> list[str]:
    """The files of steps that are left where whatever int() reads is taken for a step's number."""
    numbers = {name: int(name[5:-3]) for name in steps}
    for name in others:
        with contextlib.suppress(ValueError):
            numbers[name] = int(name.removeprefix("step-").removesuffix(".pt"))
    left = sorted(numbers, key=lambda name: numbers[name])[-keep:]
    return sorted(name for name in left if name in steps) if len(numbers) > len(steps) else ["?"]


def check_files(files, names, saves, keep, *more):
    """What a folder holds after these saves, beside ``OTHERS`` and ``more``; or words."""
    assert not isinstance(files, str), files
    others = [*OTHERS, *more]
    gone = sorted(set(others) - {*names, SHORT})
    words = "files of other names aren't yours: leave them alone"
    assert not gone, f"gone: {', '.join(gone)}; {words}"
    mine = {name: entry for name, entry in files.items() if name not in others}
    assert mine, "no file ends in .pt: is there an answer yet?"
    right = right_folder(saves, keep)
    steps, wanted = ([n for n in part if n != "best.pt"] for part in (sorted(mine), sorted(right)))
    because = f"the {len(wanted)} highest, compared as numbers"
    every = sorted({f"step-{step:06d}.pt" for step, *_ in saves})
    all_there = steps == every and len(every) > len(wanted) + 1  # by one more, it is a slip of one
    if all_there and len({len(name) for name in every}) == 1:
        because = "none was removed: in a pattern the brackets of the folder's name, run [1], mean "
        because += "something else; glob.escape"
    if set(steps) < set(wanted):
        because = "too many were removed: where there are fewer than keep, a slice from the end, "
        because += "such as names[:2 - 3], still takes some"
        if len({save[2] for save in saves if save[2:]}) > 1:
            because = (
                "keep may differ from call to call: each goes by its own, not by an earlier one"
            )
    if steps == _taken_by_int(every, others, len(wanted)):
        because = (
            "a name with + or _ was taken for a step: int() reads them, but they aren't digits"
        )
    check_equal(steps, wanted, "the files of steps", because)
    strays = sorted(set(names) - {*mine, *others})
    because = (
        "was left behind: what a save doesn't need any more, it removes; scores are in best.pt"
    )
    assert not strays, f"{strays[0]} {because}"
    more = [f"{name} holds {entry[3]}" for name, entry in mine.items() if entry and entry[3:]]
    assert not more, f"{more[0]}: an entry has state, step and score, and nothing else"
    best = mine.get("best.pt", "no file")
    words = f"best.pt holds (step, score, sum of the state) {best}"
    if "best.pt" not in right:
        assert best == "no file", f"{words}: NaN is never the best"
    text = f"{words}, expected {right.get('best.pt')}: the highest score ever, the earlier at a tie"
    text += " (of this folder: another run has its own)"
    own = right_folder([save for save in saves if not save[3:]], keep).get("best.pt")
    if best == own != right.get("best.pt"):
        text += "; another process saved that one, so read in each call what is in the folder"
    assert best == right.get("best.pt", best), text
    for name in wanted:
        words = f"{name} holds (step, score, sum of the state) {mine[name]}, expected {right[name]}"
        words += ": a step that is saved again is written again"
        assert repr(mine[name]) == repr(right[name]), words


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


def check_again(again, later, saves, keep):
    """The folder after a killed save was made again, and after a later one was made instead."""
    there = isinstance(again, str) and "FileExistsError" in again
    words = f"after a kill came another save: {again}"
    words += "; that is what the killed save left: remove or overwrite it (mode w, not x)" * there
    assert not isinstance(again, str), words
    after = (saves[-1][0] + 1, 0.0)
    text = "after a kill the same save was made again; the folder is not what it should be"
    assert again == right_folder(saves, keep), f"{text}: it has {again}"
    found = [right_folder([*part, after], keep) for part in (saves, saves[:-1])]
    best = [right["best.pt"] for right in found]
    steps = [dict(sorted(right.items())[1:]) for right in found]  # best.pt is the first name
    words = "after a kill came a later save; the folder is not what it should be: it has "
    assert {name: later[name] for name in later if name != "best.pt"} in steps, words + str(later)
    assert later.get("best.pt") in best, words + str(later)
