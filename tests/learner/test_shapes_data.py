"""The images of the course: the same everywhere, mended when damaged, else one clear line."""

import errno
import hashlib
import json
import multiprocessing
import os
import stat
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from course_utils import cache_folder, draw_shapes, shapes_folder
from course_utils.learner import shapes_data

# Of the first 40 pictures of seed 0. It changes with VERSION alone.
DIGEST = "e08f78a5b4ae44fe85906ff565ca94d0dab4f78359c9aa683d96231e737e75d6"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_pixels_are_those_that_were_drawn_when_this_was_written():
    digest = hashlib.sha256()
    for n in range(40):
        for array in draw_shapes(n)[:]:
            digest.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).data)
    assert digest.hexdigest() == DIGEST


def test_boxes_are_those_of_the_masks_and_shapes_lie_inside():
    seen = set()
    for n in range(150):
        picture = draw_shapes(n, seed=3)
        height, width = picture.mask.shape
        assert picture.image.shape == (height, width, 3)
        assert picture.image.dtype == picture.mask.dtype == np.uint8
        assert 64 <= min(height, width) <= max(height, width) <= 128
        assert picture.label == n % 3
        for k, box in enumerate(picture.boxes, start=1):
            rows, columns = np.nonzero(picture.mask == k)
            truth = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
            assert box.tolist() == truth
        seen.add(len(picture.boxes))
    assert seen == {1, 2, 3, 4}


def test_pictures_differ_by_index_and_by_seed():
    assert draw_shapes(0).image.tobytes() != draw_shapes(3).image.tobytes()
    assert draw_shapes(0).image.tobytes() != draw_shapes(0, seed=1).image.tobytes()


def test_the_folder_holds_what_was_drawn():
    folder = shapes_folder(7, seed=2)
    notes = json.loads((folder / "annotations.json").read_text())
    assert sorted(path.name for path in (folder / "images").iterdir()) == sorted(shapes_data.SHAPES)
    assert len(notes) == 7
    for n in range(7):
        picture, name = draw_shapes(n, seed=2), f"{shapes_data.SHAPES[n % 3]}/{n:04}"
        assert notes[name]["boxes"] == picture.boxes.tolist()
        assert notes[name]["size"] == list(picture.mask.shape)
        mask = Image.open(folder / "masks" / f"{name}.png")
        assert np.array_equal(np.array(mask), picture.mask)
        image = Image.open(folder / "images" / f"{name}.jpg")
        assert (image.format, image.mode) == ("JPEG", "RGB")
        near = np.abs(np.array(image).astype(int) - picture.image)
        assert near.mean() < 4


def test_the_same_bytes_again_in_another_folder(monkeypatch, tmp_path):
    first = contents(shapes_folder(5))
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "other"))
    assert contents(shapes_folder(5)) == first


def test_nothing_is_written_when_all_is_well(monkeypatch):
    folder = shapes_folder(4)
    monkeypatch.setattr(shapes_data, "_put", None)
    assert shapes_folder(4) == folder


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "images/circle/0000.jpg").unlink(),
        lambda folder: (folder / "images/circle/0003.jpg").write_bytes(b"cut"),
        lambda folder: (folder / "masks/square/0001.png").write_bytes(b""),
        lambda folder: (folder / "annotations.json").write_text("{}"),
        lambda folder: (folder / "checksums.json").write_text("{not json"),
        lambda folder: (folder / "checksums.json").write_text("[]"),
        lambda folder: (folder / "checksums.json").unlink(),
        lambda folder: (folder / "images/circle/copy.jpg").write_bytes(b"a stray"),
        lambda folder: (folder / "images/hexagon").mkdir(),
        lambda folder: (
            (folder / "images/triangle/0002.jpg").unlink()
            or (folder / "images/triangle/0002.jpg").mkdir()
        ),
        lambda folder: (
            [p.unlink() for p in (folder / "images/square").iterdir()]
            and (folder / "images/square").rmdir()
        ),
    ],
    ids=range(11),
)
def test_damage_is_mended(damage):
    folder = shapes_folder(5)
    whole = contents(folder)
    damage(folder)
    assert shapes_folder(5) == folder
    assert contents(folder) == whole
    assert len(list((folder / "images").iterdir())) == 3


def _make(ready, results):
    ready.wait()
    results.put(str(shapes_folder(30)))


def test_processes_may_make_it_at_once(cache):
    context = multiprocessing.get_context("spawn")
    ready, results = context.Event(), context.Queue()
    processes = [context.Process(target=_make, args=(ready, results)) for _ in range(3)]
    for process in processes:
        process.start()
    ready.set()
    folders = {results.get(timeout=120) for _ in processes}
    for process in processes:
        process.join()
        assert process.exitcode == 0
    (folder,) = map(Path, folders)
    together = contents(folder)
    assert contents(shapes_folder(30)) == together
    assert len(together) == 62
    assert not list(cache.glob(".new-*"))


def test_what_a_killed_process_left_is_removed_after_a_while(cache):
    cache.mkdir()
    old, new = cache / ".new-old", cache / ".new-new"
    old.touch()
    new.touch()
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    shapes_folder(1)
    assert not old.exists()
    assert new.exists()


def test_a_full_disk_is_one_clear_line(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shapes_data.Path, "write_bytes", full)
    with pytest.raises(OSError, match="free some space, or set COURSE_CACHE") as raised:
        shapes_folder(2)
    assert raised.value.errno == errno.ENOSPC
    assert "\n" not in str(raised.value)


def test_a_named_folder_that_is_none_is_one_clear_line(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "file"))
    with pytest.raises(OSError, match="set COURSE_CACHE to a folder that you can write"):
        cache_folder()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_that_cannot_be_written_is_one_clear_line(monkeypatch, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    monkeypatch.setenv("COURSE_CACHE", str(locked / "cache"))
    with pytest.raises(OSError, match="COURSE_CACHE"):
        shapes_folder(1)


def test_without_a_home_that_can_be_written_it_is_a_temporary_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("COURSE_CACHE")
    (tmp_path / "home").touch()  # a file: no folder can be made in it, by root neither
    monkeypatch.setattr(shapes_data, "_user_cache", lambda: tmp_path / "home")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cache_folder().parent == tmp_path
    assert shapes_folder(1).is_dir()


@pytest.mark.parametrize("arguments", [(0,), (-1,), (100_001,), (3, -1)])
def test_what_is_out_of_range_is_refused(arguments):
    with pytest.raises(ValueError, match="count must be"):
        shapes_folder(*arguments)


def test_a_negative_index_is_refused():
    with pytest.raises(ValueError, match="must not be negative"):
        draw_shapes(-1)
