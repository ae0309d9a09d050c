"""Exercise 12.2: files that are read again, and what comes between."""

from __future__ import annotations

import gc
import os
import re
import shutil
import struct
import tracemalloc
import warnings
import weakref
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

from course_utils.chapters.data_pipelines.damaged import damaged_folder
from course_utils.learner.awkward import replaced


def words_of(error: BaseException) -> str:
    """The last line of what was raised, with files' names in place of their paths."""
    last = (str(error).strip().splitlines() or [""])[-1]
    return f"{type(error).__name__}: " + re.sub(r"(?<!\w)/[^\s']*/", "", last)


def look_at(dataset, index: int) -> tuple:
    """An item as plain values: mode, pixels and label, or the exception; and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            item = dataset[index]
        except Exception as error:
            return "raised", words_of(error), None
    said = " ".join(str(warning.message) for warning in caught if "Resource" not in str(warning))
    if item is None:
        return "None", said, None
    assert isinstance(item, (tuple, list)), f"dataset[{index}] is {type(item).__name__}, not a pair"
    assert len(item) == 2, f"dataset[{index}] has {len(item)} entries: expected (image, label)"
    image, label = item
    if not isinstance(image, Image.Image):
        kind = "(None, label)" if image is None else type(image).__name__
        return kind, "not a PIL image", label
    if getattr(image, "tile", None):
        words = (
            "it was opened and is not decoded yet: load() or convert() decodes, inside of the try"
        )
        return "opened", words, label
    return image.mode, np.array(image), label


def _replace_all(root: Path) -> None:
    for path in (root / "a_circle").iterdir():
        shutil.copy(root / "b_square" / "x.jpeg", path)


def run_replaced(folder_dataset) -> bool:
    """Whether an item is read again when its file has changed."""
    root = damaged_folder()
    dataset = folder_dataset(root)
    old = np.array(dataset[0][0])
    _replace_all(root)
    read_again = not np.array_equal(np.array(dataset[0][0]), old)
    _damage_and_mend(folder_dataset)
    _interrupt(folder_dataset)
    if read_again:
        _keep(folder_dataset)
        _replace_unseen(folder_dataset)
    return read_again


def _replace_unseen(folder_dataset) -> None:
    """A file gets another content, of its size and its date, as a synchronised disk may give it."""
    root = damaged_folder()
    path = root / "a_circle" / "10.jpg"
    contents = [path.read_bytes(), (root / "b_square" / "x.jpeg").read_bytes()]
    first, second = (content.ljust(max(map(len, contents)), b"\0") for content in contents)
    path.write_bytes(first)
    about, dataset = path.stat(), folder_dataset(root)
    old = np.array(dataset[0][0])
    path.write_bytes(second)
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    words = "a file whose content changed, and neither its date nor its size, gave the old image: "
    assert not np.array_equal(np.array(dataset[0][0]), old), words + "keep none, read it each time"


def _damage_and_mend(folder_dataset) -> None:
    root = damaged_folder()
    for path in (root / "a_circle").iterdir():
        path.write_bytes(b"no image")
    dataset = folder_dataset(root, on_error="skip")
    kind, said, _ = look_at(dataset, 0)
    assert kind == "None", "a file of the words 'no image' made no None"
    words = "a damaged file that is asked for again is warned of again, with its name"
    assert not said or "10.jpg" in look_at(dataset, 0)[1], words
    _replace_all(root)
    kind, said, _ = look_at(dataset, 0)
    assert kind != "opened", said
    words = "a file that was damaged is whole again, and its item is still None: read it each time"
    assert kind == "RGB", words


def _keep(folder_dataset) -> None:
    """Whether an image lives on when nobody but the dataset can hold it."""
    dataset = folder_dataset(damaged_folder())
    alive = weakref.ref(dataset[0][0])
    gc.collect()
    words = "the image of an item that was read before is still in memory: keep no images"
    assert alive() is None, words
    other = folder_dataset(damaged_folder())
    tracemalloc.start()
    try:
        for index in range(3):
            other[index]
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    words = "after three items were read many bytes more are held: keep no images, nor their pixels"
    assert held < 20_000, words


def _opening_raises(error: BaseException) -> replaced:
    """Inside a block, Pillow opens nothing."""

    def opens(*arguments, **others):
        raise error

    return replaced(Image, "open", opens)


def check_what_pillow_raises(folder_dataset) -> None:
    """Pillow raises whatever a decoder raises: of a TIFF, a GIF, an icon."""
    dataset = folder_dataset(damaged_folder(), on_error="skip")
    of_a_plugin = type("PluginError", (Exception,), {})
    kinds = ValueError, EOFError, IndexError, struct.error, zlib.error, MemoryError, of_a_plugin
    for error in [kind() for kind in kinds]:
        with _opening_raises(error):
            kind, *_ = look_at(dataset, 0)
        words = f"Pillow raised {type(error).__name__}, and the item isn't None: whatever it is, "
        assert kind in ("None", "RGB"), words + "the file can't be decoded (catch Exception)"


def _interrupt(folder_dataset) -> None:
    """A learner presses Ctrl-C while a file is read."""
    dataset = folder_dataset(damaged_folder(), on_error="skip")
    try:
        with _opening_raises(KeyboardInterrupt()):
            kind, *_ = look_at(dataset, 0)
    except KeyboardInterrupt:
        return
    words = "Ctrl-C while a file was read was taken for a damaged file: catch Exception, not all"
    assert kind == "RGB", words
