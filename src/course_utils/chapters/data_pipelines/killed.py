"""A writer that is killed: while it draws items, and at each step that changes files."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

import lmdb

from course_utils.chapters.data_pipelines.files import words_of
from course_utils.chapters.data_pipelines.packs import make_items
from course_utils.learner.awkward import elsewhere_is_another_disk
from course_utils.learner.processes import end_at_once, exit_status, run_in_process

OLD, NEW = [3, 4], [5] * 9  # the sizes of the items of an old file and of the killed writer's
MOST = 40  # steps of a writer that are tried
# What items raise, by name: an exception of each family that an answer might catch.
KINDS = RuntimeError, ValueError, OSError, TypeError, KeyboardInterrupt
RAISED = {kind.__name__: kind for kind in KINDS}


def crcs(sizes: list[int]) -> list[int]:
    return [zlib.crc32(item) for item in make_items(sizes)]


def _read(PackedDataset, path: Path) -> list[int] | str:
    """What a reader finds at a path: checksums of its items, or words."""
    if not path.exists():
        return "no file"
    try:
        dataset = PackedDataset(path)
        return [zlib.crc32(dataset[n]) for n in range(len(dataset))]
    except Exception as error:
        return words_of(error)


def _end(how: str) -> None:
    if how == "killed":
        end_at_once()
    raise RAISED.get(how.removeprefix("raises "), RuntimeError)("from the items")


def run_killed(PackedDataset, pack_it, how: str, before: bool) -> tuple:
    """Whether the writer's end came out, and what a reader finds afterwards: a list, or no file."""
    path = Path(tempfile.mkdtemp()) / "pack.lmdb"
    if before:
        pack_it(make_items(OLD), path)

    def items():
        yield from make_items([5] * 40)
        _end(how)

    raised = "nothing"
    if how == "killed":
        raised = str(exit_status(run_in_process(lambda: pack_it(items(), path))))
    else:
        try:
            pack_it(items(), path)
        except (Exception, KeyboardInterrupt) as error:
            raised = words_of(error)
    return raised, _read(PackedDataset, path)


def run_other_names(PackedDataset, pack_it) -> dict:
    """What a reader finds at paths that are named as a half-written file might be, where new items
    came to an end by an exception."""
    found = {}
    for ending in ENDINGS:
        path = Path(tempfile.mkdtemp()) / f"pack{ending}"
        try:
            pack_it(make_items(OLD), path)
        except (OSError, lmdb.Error) as error:
            words = f"for a path whose name has {len(path.name)} letters: {words_of(error)}"
            raise AssertionError(words) from None

        def items():
            yield from make_items(NEW)
            _end("raises")

        with contextlib.suppress(RuntimeError):
            pack_it(items(), path)
        found[path.name] = _read(PackedDataset, path)
    _without_a_folder(PackedDataset, pack_it)
    return found


def _without_a_folder(PackedDataset, pack_it) -> None:
    """A path that is a name alone lies in the folder where the process is."""
    path, words = Path("pack.lmdb"), "path is a name alone, Path('pack.lmdb')"
    with contextlib.chdir(tempfile.mkdtemp()), elsewhere_is_another_disk(path.absolute()):
        try:
            pack_it(make_items(OLD), path)
        except OSError as error:
            raise AssertionError(
                f"{words}: {words_of(error)}: is its folder path.parent?"
            ) from None
        assert _read(PackedDataset, path) == crcs(OLD), f"{words}: the items aren't there"


ENDINGS = ".tmp", ".temp", ".part", ".partial", ".new", ".bak", "", "-of-a-long-name" * 13


def check_other_names(run):
    for name, found in run().items():
        words = f"{len(found)} items" if isinstance(found, list) else found
        because = (
            f"a reader finds {words} at {name}, expected the two old ones: is the file that is "
        )
        assert found == crcs(OLD), f"{because}written first at path itself?"


def run_repacked(PackedDataset, pack_it) -> int:
    """How many items a file holds that was packed with two, after a longer attempt was killed."""
    path = Path(tempfile.mkdtemp()) / "pack.lmdb"

    def items():
        yield from make_items([5] * 40)
        _end("killed")

    run_in_process(lambda: pack_it(items(), path))
    given = make_items(OLD)
    pack_it(given, path)
    assert given == make_items(OLD), "the list of items that came in was changed"
    dataset = PackedDataset(path)
    count = len(dataset)
    del dataset
    if count == len(OLD):
        _read_and_packed_again(PackedDataset, pack_it, path)
    return count


def _read_and_packed_again(PackedDataset, pack_it, path: Path) -> None:
    """A process reads a file, packs other items to its path, and makes another dataset."""
    found = []
    for sizes in (OLD, NEW):
        pack_it(make_items(sizes), path)
        found.append(_read(PackedDataset, path))
    words = "read, then packed again in the same process with nine items: a new PackedDataset"
    reads = f"{len(found[1])} items" if isinstance(found[1], list) else found[1]
    why = ", those of before: is a file kept open by its path, when another one lies there?"
    words = f"{words} gives {reads}{why if found[1] == crcs(OLD) else ''}"
    assert found == [crcs(OLD), crcs(NEW)], words


def _die_at(step: int, path: Path, tell: Path) -> None:
    """Kill this process at its ``step``-th step that changes files, and tell which that was.

    Steps are the calls of Python that move, remove or open files for writing, and LMDB's opening.
    """
    target, count = os.path.realpath(path), 0
    told = os.open(tell, os.O_WRONLY | os.O_CREAT)

    def reach(name: str, flags: int = 0) -> None:
        nonlocal count
        count += 1
        if count == step:
            if flags & os.O_TRUNC:
                os.truncate(os.open(target, flags), 0)
            os.write(told, name.encode())
            end_at_once()

    def hook(event: str, given: tuple) -> None:
        if event in ("os.rename", "os.remove", "os.link"):
            reach("before " + event)
        elif event == "open" and isinstance(given[0], (str, bytes, os.PathLike)):
            writes = given[2] & (os.O_WRONLY | os.O_RDWR | os.O_TRUNC) and count < step
            if writes and os.path.realpath(os.fsdecode(given[0])) == target:
                reach("after open() for writing", given[2])

    def around(function, name: str):
        def call(*args: Any, **options: Any) -> Any:
            reach(f"before {name}")
            result = function(*args, **options)
            reach(f"after {name}")
            return result

        return call

    opens: Any = around(lmdb.Environment, "lmdb.open")
    vars(lmdb).update(open=opens, Environment=opens)
    for name in ("replace", "rename"):
        setattr(os, name, around(getattr(os, name), f"os.{name}"))
    sys.addaudithook(hook)


def run_steps(PackedDataset, pack_it, before: bool) -> list:
    """For each step of a writer: its name, what a reader finds, and what it finds packed anew."""
    found = []
    for step in range(1, MOST + 1):
        path = Path(tempfile.mkdtemp()) / "pack.lmdb"
        if before:
            pack_it(make_items(OLD), path)
        tell = Path(tempfile.mkdtemp()) / "step"

        def write(step=step, path=path, tell=tell):
            _die_at(step, path, tell)
            pack_it(iter(make_items(NEW)), path)

        run_in_process(write)
        name = tell.read_text(encoding="utf-8")
        if not name:
            return found
        left = _read(PackedDataset, path)
        again = Path(tempfile.mkdtemp()) / "pack.lmdb"
        for file in path.parent.iterdir():
            file.rename(again.with_name(file.name))
        try:
            pack_it(make_items(OLD), again)
            anew = _read(PackedDataset, again)
        except Exception as error:
            anew = words_of(error)
        found.append((name, left, anew))
    return found


def check_steps(run, before: bool):
    """Whether each step leaves what was there or all that is new, and nothing in the next's way."""
    found = run(before)
    assert found, "no file was opened by LMDB: is there an answer yet?"
    old = crcs(OLD) if before else "no file"
    names = {str(old): "what was there", str(crcs(NEW)): "all new items"}
    expected = "the two old items" if before else "no file"
    for name, left, anew in found:
        words = f"{len(left)} items" if isinstance(left, list) else left
        where = f"killed {name}, a reader finds {words}"
        assert str(left) in names, f"{where}, expected {expected} or all nine new items"
        words = f"{len(anew)} items" if isinstance(anew, list) else anew
        where = f"killed {name}, and two items packed then: a reader finds {words}"
        assert anew == crcs(OLD), (
            f"{where}: what the killed writer left came back, or was in the way"
        )
