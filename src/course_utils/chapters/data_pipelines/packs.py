"""Many items packed into few files."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import Any

import lmdb
from torch.utils.data import DataLoader

from course_utils.chapters.data_pipelines.folders import words_of
from course_utils.chapters.data_pipelines.pickles import through_pickle
from course_utils.learner.checks import check_equal


def make_items(sizes: list[int]) -> list[bytes]:
    return [bytes([n % 251]) * size for n, size in enumerate(sizes)]


class counted_opens:
    """Notes, inside a block, in which process LMDB files are opened for reading."""

    def __enter__(self) -> list[int]:
        self.kept, pids = (lmdb.open, lmdb.Environment), []

        def opens(*args, **options):
            pids.append(os.getpid())
            return self.kept[1](*args, **options)

        vars(lmdb).update(open=opens, Environment=opens)
        return pids

    def __exit__(self, *error) -> None:
        lmdb.open, lmdb.Environment = self.kept


def run_pack(
    PackedDataset, pack_it, sizes: list[int], workers: int = 0, used: bool = False
) -> dict:
    """What a packed file gives back: checksums, and how often it was opened in each process."""
    try:
        return _pack_and_read(PackedDataset, pack_it, sizes, workers, used)
    except lmdb.Error as error:
        raise AssertionError(f"LMDB raised {words_of(error)}") from error


def _pack_and_read(PackedDataset, pack_it, sizes: list[int], workers: int, used: bool) -> dict:
    path = Path(tempfile.mkdtemp()) / "pack.lmdb"
    pack_it(iter(make_items(sizes)), path)
    assert path.is_file(), f"after pack_it there is no file {path.name}: is there an answer yet?"
    with counted_opens() as pids:
        dataset = PackedDataset(path)
        said: dict[str, Any] = {"length": 0, "past": "nothing", "pickled": ""}
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
            collate_fn=lambda item: (item, os.getpid(), pids.count(os.getpid())),
        )
        rows = [*loader]
        try:
            dataset[len(sizes)]
        except Exception as error:
            said["past"] = type(error).__name__
    said["kinds"] = sorted({type(item).__name__ for item, _, _ in rows})
    said["sums"] = (
        [zlib.crc32(item) for item, _, _ in rows] if said["kinds"] in ([], ["bytes"]) else []
    )
    shutil.rmtree(path.parent)
    said["opens"] = (
        sorted({count for _, _, count in rows}) if workers else [pids.count(os.getpid())]
    )
    return said


def run_forked(PackedDataset, pack_it) -> tuple:
    """How often a forked process opened a file that its parent had read, and what it then read."""
    path = Path(tempfile.mkdtemp()) / "pack.lmdb"
    pack_it(iter(make_items([7, 3, 9])), path)
    hear, tell = multiprocessing.Pipe(duplex=False)
    with counted_opens() as pids:
        dataset = PackedDataset(path)
        assert len(dataset) == 3, f"len is {len(dataset)}, expected 3"
        dataset[0]

        def read():
            try:
                sums = [zlib.crc32(dataset[n]) for n in range(3)]
            except Exception as error:
                sums = words_of(error)
            tell.send((pids.count(os.getpid()), sums))

        child: Any = multiprocessing.get_context("fork").Process(target=read)
        child.start()
        child.join()
    return hear.recv() if hear.poll() else (0, f"it ended with exit code {child.exitcode}")


def run_copied(PackedDataset, pack_it) -> list | str:
    """What a copy reads that was pickled before any use, alone in its process."""
    path = Path(tempfile.mkdtemp()) / "pack.lmdb"
    pack_it(iter(make_items([7, 3, 9])), path)
    dataset = PackedDataset(path)
    try:
        copy = through_pickle(dataset)
        del dataset
        return [zlib.crc32(copy[n]) for n in range(len(copy))]
    except Exception as error:
        return words_of(error)


def check_pack(run, sizes, workers, used, what):
    said = run(sizes, workers, used)
    check_equal(said["length"], len(sizes), f"{what}: len")
    kinds = f"{what}: items are {said['kinds']}, expected bytes"
    assert said["kinds"] in ([], ["bytes"]), kinds
    right = [zlib.crc32(item) for item in make_items(sizes)]
    wrong = [n for n, (a, b) in enumerate(zip(said["sums"], right, strict=False)) if a != b]
    assert not wrong, f"{what}: items {wrong[:5]} are not those that were packed (in whose order?)"
    check_equal(len(said["sums"]), len(right), f"{what}: items that were read")
    check_equal(said["past"], "IndexError", f"{what}: what an index past the end raises")
    eager = (
        " (unpickling opened it: open at first use)" if "already open" in said["pickled"] else ""
    )
    assert not said["pickled"], f"{what}: it can't be pickled: {said['pickled']}{eager}"
    if sizes:
        opens, where = said["opens"], "a worker" if workers else "the process"
        words = f"{what}: {where} opened the file {opens} times, expected once"
        hint = ": it used what it inherited" if 0 in opens else ""
        hint = " (once more for the length?)" if opens == [2] else hint
        assert opens == [1], words + hint


def check_forked(run):
    opens, sums = run()
    words = f"it opened the file {opens} times, expected once"
    hint = ": it used what its parent had opened; compare os.getpid()" if opens == 0 else ""
    assert opens == 1, words + hint
    check_equal(sums, [zlib.crc32(item) for item in make_items([7, 3, 9])], "what it read")


def check_copied(run):
    found = run()
    assert not isinstance(found, str), f"a copy that was pickled before use: {found}"
    check_equal(found, [zlib.crc32(item) for item in make_items([7, 3, 9])], "what the copy read")
