"""Exercise 12.2: a dataset of a folder, its items and its errors."""

from __future__ import annotations

import re
import shutil
import warnings

import numpy as np
from PIL import Image
from torch.utils.data import Dataset

from course_utils.chapters.data_pipelines.damaged import damaged_folder
from course_utils.chapters.data_pipelines.pickles import through_pickle
from course_utils.learner.checks import check_equal


def words_of(error: BaseException) -> str:
    """The last line of what was raised, with files' names in place of their paths."""
    last = (str(error).strip().splitlines() or [""])[-1]
    return f"{type(error).__name__}: " + re.sub(r"/[^\s']*/", "", last)


def run_folder(folder_dataset, on_error: str = "raise") -> dict:
    """What a dataset over the zoo says of itself and of each item."""
    root, said = damaged_folder(), {}
    shutil.copytree(root / "b_square", root / "a_circle" / "more")
    (root / "a_circle" / "9.jpg").rename(root / "later.jpg")
    (root / "a_circle" / "9.jpg").write_bytes(b"no image yet")
    try:
        dataset = folder_dataset(root, on_error=on_error)
    except Exception as error:
        raise AssertionError(f"making it opens no image, but raised {words_of(error)}") from error
    assert dataset is not None, "folder_dataset returned None: is there an answer yet?"
    (root / "later.jpg").replace(root / "a_circle" / "9.jpg")
    for name in ("__len__", "__getitem__"):
        assert hasattr(type(dataset), name), f"the dataset has no {name}: is there an answer yet?"
    said["base"] = isinstance(dataset, Dataset) and type(dataset).__name__ != "ImageFolder"
    said["classes"] = getattr(dataset, "classes", "missing")
    said["length"] = len(dataset)
    said["items"] = [_look(dataset, index) for index in range(len(dataset))]
    try:
        copy = through_pickle(dataset)
        said["copy"] = [_look(copy, index) for index in range(len(copy))]
    except Exception as error:
        said["copy"] = words_of(error)
    return said


def _look(dataset, index: int) -> tuple:
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
    assert isinstance(item, (tuple, list)), f"dataset[{index}] is {type(item).__name__}, no pair"
    assert len(item) == 2, f"dataset[{index}] has {len(item)} entries: expected (image, label)"
    image, label = item
    if not isinstance(image, Image.Image):
        return type(image).__name__, "no PIL image", label
    return image.mode, np.array(image), label


def run_transform(folder_dataset, fails: bool) -> tuple:
    """What the transform was given, what came out, and what happened to its own error."""
    seen = []

    def transform(image):
        seen.append(image.mode)
        if fails:
            raise OSError("from the transform")
        return image.size

    dataset = folder_dataset(damaged_folder(), transform, "skip")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return seen, dataset[0], ""
    except Exception as error:
        return seen, None, words_of(error)


def run_replaced(folder_dataset) -> bool:
    """Whether an item is read again when its file has changed."""
    root = damaged_folder()
    dataset = folder_dataset(root)
    old = np.array(dataset[0][0])
    (root / "b_square" / "x.jpeg").replace(root / "a_circle" / "10.jpg")
    return not np.array_equal(np.array(dataset[0][0]), old)


def run_on_error(folder_dataset, on_error: str) -> str:
    """The name of what folder_dataset raises."""
    try:
        folder_dataset(damaged_folder(), None, on_error)
    except Exception as error:
        return type(error).__name__
    return "nothing"


names = ["a_circle/10.jpg", "a_circle/2.JPG", "a_circle/9.jpg"]


names += ["b_square/cut.jpg", "b_square/x.jpeg", "b_square/z.jpg"]


def check_items(root, found, on_error, what):
    assert not isinstance(found, str), f"{what} can't be pickled: {found}"
    check_equal(len(found), len(names), f"{what}: items that can be reached")
    for name, (kind, content, label) in zip(names, found, strict=True):
        if "cut" in name:
            gone = "raised" if on_error == "raise" else "None"
            check_equal(kind, gone, f"{what}, {name}, cut short: what dataset[i] does")
            assert "cut.jpg" in content, (
                f"{what}: the words {content!r} don't name the file cut.jpg"
            )
            continue
        assert kind not in ("raised", "None"), f"{what}, {name}: {kind} {content}"
        check_equal(kind, "RGB", f"{what}, {name}: the mode")
        right = np.array(Image.open(root / name).convert("RGB"))
        assert np.array_equal(content, right), f"{what}, {name}: these are not its pixels"
        check_equal(label, 0 if "circle" in name else 1, f"{what}, {name}: the label")
