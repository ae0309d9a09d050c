"""Many items packed into few files."""

from __future__ import annotations

import gc
import multiprocessing
import os
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import Any

import lmdb
from torch.utils.data import DataLoader

from course_utils.chapters.data_pipelines.files import words_of
from course_utils.chapters.data_pipelines.pickles import through_pickle
from course_utils.learner.awkward import elsewhere_is_another_disk
from course_utils.learner.checks import check_equal
from course_utils.learner.garbage import what_is_new_alone
from course_utils.learner.processes import forks, run_in_process


def make_items(sizes: list[int]) -> list[bytes]:
    return [bytes([n % 251]) * size for n, size in enumerate(sizes)]


# In which processes LMDB files were opened, and what was opened. A worker that was started afresh
# has lists of its own.
OPENS: list[int] = []
OPENED: list[Any] = []
# How each was opened: whether for reading alone, and whether with a lock.
HOW: list[tuple[bool, bool]] = []


class counted_opens:
    """Notes, inside a block, in which process LMDB files are opened for reading."""

    def __enter__(self) -> None:
        self.kept = lmdb.open, lmdb.Environment
        OPENS.clear()
        HOW.clear()

        def opens(*args, **options):
            OPENS.append(os.getpid())
            OPENED.append(self.kept[1](*args, **options))
            HOW.append((OPENED[-1].flags()["readonly"], OPENED[-1].flags()["lock"]))
            return OPENED[-1]

        vars(lmdb).update(open=opens, Environment=opens)

    def __exit__(self, *error) -> None:
        lmdb.open, lmdb.Environment = self.kept
        OPENED.clear()


def _close_inherited() -> None:
    """Close what the parent had opened, so that who uses it is told."""
    for opened in OPENED:
        opened.close()


def _count_from_here(worker: int) -> None:
    if not forks():
        counted_opens().__enter__()


def _described(item: Any) -> tuple:
    """What can travel of an item; a view of the file can't."""
    crc = zlib.crc32(item) if isinstance(item, bytes) else 0
    return type(item).__name__, crc, os.getpid(), OPENS.count(os.getpid())


def run_pack(
    PackedDataset, pack_it, sizes: list[int], workers: int = 0, used: bool = False
) -> dict:
    """What a packed file gives back: checksums, and how often it was opened in each process."""
    try:
        return _pack_and_read(PackedDataset, pack_it, sizes, workers, used)
    except lmdb.Error as error:
        why = " (it was closed, where it was pickled or read, and is used again)"
        why = why if "closed" in str(error) else ""
        if "already open" in str(error):
            why = " (where a fork inherited what its parent opened: close it, then open the file)"
        raise AssertionError(f"LMDB raised {words_of(error)}{why}") from error
    except IndexError as error:
        empty = ": b'' is an item as well, and false; what isn't there is None" * (0 in sizes)
        words = f"reading an item that was packed raised IndexError{empty}"
        raise AssertionError(words) from error


def _raised(dataset: Any, index: int) -> str:
    try:
        dataset[index]
    except Exception as error:
        return type(error).__name__
    return "nothing"


def _pack_and_read(PackedDataset, pack_it, sizes: list[int], workers: int, used: bool) -> dict:
    path = Path(tempfile.mkdtemp()) / "pack.lmdb"
    pack_it(iter(make_items(sizes)), path)
    assert path.is_file(), f"after pack_it there is no file {path.name}: is there an answer yet?"
    with counted_opens():
        dataset = PackedDataset(path)
        said: dict[str, Any] = {"length": 0, "pickled": ""}
        said["length"] = len(dataset)
        if used and sizes:
            dataset[0]
        try:
            through_pickle(dataset)
        except Exception as error:
            said["pickled"] = words_of(error)
        loader = DataLoader(
            dataset,
            None,
            num_workers=workers,
            collate_fn=_described,
            worker_init_fn=_count_from_here,
        )
        rows = [*loader]
        said["past"] = [_raised(dataset, len(sizes) + further) for further in (0, 7, 2**40)]
    for readonly, lock in HOW:
        assert readonly, "the reader opened the file for writing, too: readonly=True"
        words = "the reader opened the file with a lock, which is a file beside it: lock=False"
        assert not lock, words
    said["kinds"] = sorted({kind for kind, *_ in rows})
    said["sums"] = [total for _, total, *_ in rows]
    shutil.rmtree(path.parent)
    said["opens"] = sorted({count for *_, count in rows}) if workers else [OPENS.count(os.getpid())]
    return said


def _read_in_a_child(dataset: Any, tell: Any) -> None:
    _count_from_here(0)
    _close_inherited()
    try:
        length = len(dataset)
    except Exception as error:
        length = words_of(error)
    try:
        sums = [zlib.crc32(dataset[n]) for n in range(3)]
    except Exception as error:
        sums = words_of(error)
    tell.send((OPENS.count(os.getpid()), sums, length))


def run_forked(PackedDataset, pack_it) -> tuple:
    """How often another process opened a file that its parent had read, what it then read, and
    the length that it told before.

    It is forked; where there is no fork, it is sent the dataset, as a worker would be.
    """
    path = Path(tempfile.mkdtemp()) / "pack.lmdb"
    pack_it(iter(make_items([7, 3, 9])), path)
    hear, tell = multiprocessing.Pipe(duplex=False)
    with counted_opens():
        dataset = PackedDataset(path)
        assert len(dataset) == 3, f"len is {len(dataset)}, expected 3"
        dataset[0]
        child = run_in_process(_read_in_a_child, dataset, tell, name="MainProcess")
    return hear.recv() if hear.poll() else (0, f"it ended with exit code {child.exitcode}", "")


def run_on_another_disk(PackedDataset, pack_it) -> list | str:
    """What is read from a file that was packed where temporary files are on another disk, or what
    is wrong."""
    path = Path(tempfile.mkdtemp()) / "pack.lmdb"
    pack_it(iter(make_items([1])), path)
    before = path.stat().st_ino
    with elsewhere_is_another_disk(path):
        try:
            pack_it(iter(make_items([7, 3, 9])), path)
        except OSError as error:
            return f"it raised {words_of(error)}"
    if path.stat().st_ino == before:
        return "the old file was written over, which a kill can cut short"
    dataset = PackedDataset(path)
    return [zlib.crc32(dataset[n]) for n in range(len(dataset))]


def check_on_another_disk(run):
    found = run()
    words = f"{found}: a rename works within one disk; write in the folder of path"
    assert not isinstance(found, str), words
    check_equal(found, [zlib.crc32(item) for item in make_items([7, 3, 9])], "what was read")


class smaller_maps:
    """Note the map sizes of LMDB files opened in a block, and divide them by ``by``."""

    def __init__(self, by: int = 1) -> None:
        self.by, self.sizes = by, []

    def __enter__(self) -> smaller_maps:
        self.kept = lmdb.open, lmdb.Environment

        def opens(*args: Any, map_size: int = 10 * 2**20, **options: Any) -> Any:
            self.sizes.append(map_size)
            return self.kept[1](*args, map_size=max(map_size // self.by, 2**15), **options)

        vars(lmdb).update(open=opens, Environment=opens)
        return self

    def __exit__(self, *error: object) -> None:
        lmdb.open, lmdb.Environment = self.kept


def run_gigabyte(PackedDataset, pack_it) -> str:
    """Words if a gigabyte of items, 2**30 bytes, would not fit. A map of one size for few items
    and for many is tried in small: a 1024th of it, and a 1024th of a gigabyte."""
    path, most = Path(tempfile.mkdtemp()) / "pack.lmdb", []
    for count in (1, 20):
        with smaller_maps() as maps:
            pack_it(iter(make_items([100_000] * count)), path)
        most.append(max(maps.sizes, default=0))
    if most[0] != most[1]:
        return ""
    try:
        with smaller_maps(by=1024):
            pack_it(iter(make_items([2**17] * 8)), path)
    except lmdb.MapFullError:
        words = f"map_size is {most[0]:,}, whatever comes: a gigabyte of items doesn't fit"
        return words + " (with its pages' heads it takes more than its bytes)" * (most[0] >= 10**9)
    return ""


class nothing_is_synced:
    """LMDB files that are opened in a block don't wait for the disk: a commit for each of many
    items would take minutes."""

    def __enter__(self) -> None:
        self.kept = lmdb.open, lmdb.Environment

        def opens(*args: Any, **options: Any) -> Any:
            return self.kept[1](*args, **options | {"sync": False})

        vars(lmdb).update(open=opens, Environment=opens)

    def __exit__(self, *error: object) -> None:
        lmdb.open, lmdb.Environment = self.kept


def run_many(PackedDataset, pack_it) -> list:
    """The length of a file of 70 001 items, and some of them, where numbers of two bytes or four
    digits would end: each item, or the name of its type if that isn't bytes (a view of the file
    ends with the file)."""
    path = Path(tempfile.mkdtemp()) / "pack.lmdb"
    try:
        with nothing_is_synced():
            pack_it((str(n).encode() for n in range(70_001)), path)
        dataset = PackedDataset(path)
        if len(dataset) != 70_001:
            return [len(dataset)]
        items = [item if type(item) is bytes else type(item).__name__ for item in _some(dataset)]
        return [len(dataset), *items]
    except Exception as error:
        return [words_of(error)]


def _some(dataset):
    for n in MANY:
        yield dataset[n]


MANY = [0, 1, 9, 10, 255, 256, 9_999, 10_000, 10_001, 65_535, 65_536, 70_000]


def check_many_items(run):
    found = run()
    raised = found[0] if isinstance(found[0], str) else ""
    why = "for how many items are there keys?"
    why = "each item's key and head take room, too" if "MAP_FULL" in raised else why
    assert not raised, f"it raised {raised}: {why}"
    check_equal(found[0], 70_001, "len", "does a key come twice? Is one left out?")
    kinds = sorted({item for item in found[1:] if isinstance(item, str)})
    assert not kinds, f"items are {kinds}, expected bytes"
    wrong = [n for n, item in zip(MANY, found[1:], strict=True) if item != str(n).encode()]
    assert not wrong, f"items {wrong} are not those that were packed: for how many are there keys?"


def check_gigabyte(run):
    words = run()
    assert not words, words


@what_is_new_alone()
def run_copied(PackedDataset, pack_it) -> list:
    """What a copy reads that was pickled, alone in its process: before any use, and after; and
    what is read of a list of two equal items."""
    found = []
    for used in (False, True):
        path = Path(tempfile.mkdtemp()) / "pack.lmdb"
        pack_it(iter(make_items([7, 3, 9])), path)
        dataset = PackedDataset(path)
        try:
            _ = [len(dataset), dataset[0]] if used else []
            copy = through_pickle(dataset)
            del dataset
            gc.collect()  # a process may not open the file twice
            found.append([zlib.crc32(copy[n]) for n in range(len(copy))])
        except Exception as error:
            found.append(words_of(error))
    path = Path(tempfile.mkdtemp()) / "pack.lmdb"
    pack_it([bytes(2)] * 2, path)
    try:
        dataset = PackedDataset(path)
        found.append([zlib.crc32(dataset[n]) for n in range(len(dataset))])
    except Exception as error:
        found.append(words_of(error))
    return found


def check_pack(run, sizes, workers, used, what):
    said = run(sizes, workers, used)
    check_equal(said["length"], len(sizes), f"{what}: len")
    kinds = f"{what}: items are {said['kinds']}, expected bytes"
    assert said["kinds"] in ([], ["bytes"]), kinds
    right = [zlib.crc32(item) for item in make_items(sizes)]
    wrong = [n for n, (a, b) in enumerate(zip(said["sums"], right, strict=False)) if a != b]
    assert not wrong, f"{what}: items {wrong[:5]} are not those that were packed (in whose order?)"
    check_equal(len(said["sums"]), len(right), f"{what}: items that were read")
    for past, by in zip(said["past"], ("", ", by eight", ", by 2**40"), strict=True):
        because = "any index may be asked for, however large"
        check_equal(past, "IndexError", f"{what}: what an index past the end raises{by}", because)
    eager = (
        " (unpickling opened it: open at first use)" if "already open" in said["pickled"] else ""
    )
    assert not said["pickled"], f"{what}: it can't be pickled: {said['pickled']}{eager}"
    if sizes:
        opens, where = said["opens"], "a worker" if workers else "the process"
        words = f"{what}: {where} opened the file {opens} times, expected once"
        hint = ": it used what it inherited" if 0 in opens else ""
        more = opens in ([2], [3], [4])
        hint = " (once more for the length? Or for an index past the end?)" if more else hint
        assert opens == [1], words + hint


def check_forked(run):
    opens, sums, length = run()
    words = f"it opened the file {opens} times, expected once"
    hint = ": it used what its parent had opened; compare os.getpid()" if opens == 0 else ""
    assert opens == 1, words + hint
    check_equal(sums, [zlib.crc32(item) for item in make_items([7, 3, 9])], "what it read")
    words = (
        "asked for its length, it used what its parent had opened; compare os.getpid() there too"
    )
    assert not isinstance(length, str), f"{words} ({length})"
    check_equal(length, 3, "its length")


def check_copied(run):
    *copies, equal = run()
    for found, used in zip(copies, ("before use", "after use"), strict=True):
        why = " (the copy has opened nothing yet: its state says so of file and process)"
        why = why if used == "after use" else ""
        assert not isinstance(found, str), f"a copy that was pickled {used}: {found}{why}"
        right = [zlib.crc32(item) for item in make_items([7, 3, 9])]
        check_equal(found, right, f"what the copy read that was pickled {used}")
    right = [zlib.crc32(bytes(2))] * 2
    check_equal(equal, right, "a list", "two equal items in a list are two items")
