"""Exercise 12.2: a dataset of a folder, its items and its errors."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import ExifTags, Image
from torch.utils.data import Dataset
from torchvision.datasets import DatasetFolder

from course_utils.chapters.data_pipelines.damaged import damaged_folder
from course_utils.chapters.data_pipelines.files import check_what_pillow_raises, look_at, words_of
from course_utils.chapters.data_pipelines.pickles import through_pickle
from course_utils.learner.awkward import replaced
from course_utils.learner.checks import check_equal


@contextlib.contextmanager
def _counted(place: Any, name: str) -> Generator[list]:
    """Notes, inside a block, each call of a class's or a module's function."""
    kept, calls = getattr(place, name), []

    def noted(*arguments, **others):
        calls.append(name)
        return kept(*arguments, **others)

    setattr(place, name, noted)
    try:
        yield calls
    finally:
        setattr(place, name, kept)


def _made(folder_dataset, root: Path, on_error: str) -> Any:
    """A dataset; words where making it raises what only an image can raise."""
    try:
        return folder_dataset(root, on_error=on_error)
    except Exception as error:
        raise AssertionError(f"making it opens no image, but raised {words_of(error)}") from error


def run_folder(folder_dataset, on_error: str = "raise") -> dict:
    """What a dataset over the zoo says of itself and of each item."""
    root, said = damaged_folder(), {}
    shutil.copytree(root / "b_square", root / "a_circle" / "more")
    (root / "a_circle" / "9.jpg").rename(root / "later.jpg")
    (root / "a_circle" / "9.jpg").write_bytes(b"no image yet")
    # An ImageFolder is also counted as the base of another class.
    with _counted(DatasetFolder, "__init__") as folders, _counted(Image, "open") as opened:
        dataset = _made(folder_dataset, root, on_error)
    assert not opened, f"making it opened {len(opened)} images: open when an item is asked for"
    assert dataset is not None, "folder_dataset returned None: is there an answer yet?"
    (root / "later.jpg").replace(root / "a_circle" / "9.jpg")
    for name in ("__len__", "__getitem__"):
        assert hasattr(type(dataset), name), f"the dataset has no {name}: is there an answer yet?"
    said["base"] = isinstance(dataset, Dataset) and not folders
    said["classes"] = getattr(dataset, "classes", "missing")
    said["length"] = len(dataset)
    said["items"] = [look_at(dataset, index) for index in range(len(dataset))]
    try:
        copy = through_pickle(dataset)
        said["copy"] = [look_at(copy, index) for index in range(len(copy))]
    except Exception as error:
        said["copy"] = words_of(error)
    return said


def run_too_large(folder_dataset, on_error: str) -> tuple:
    """What becomes of an image whose header claims 14 000 by 14 000 pixels."""
    path = damaged_folder() / "a_circle" / "10.jpg"
    content = bytearray(path.read_bytes())
    frame = content.index(b"\xff\xc0")  # the segment of JPEG that holds height and width
    content[frame + 5 : frame + 9] = (14_000).to_bytes(2, "big") * 2
    path.write_bytes(content)
    dataset = _made(folder_dataset, path.parents[1], on_error)
    found = [look_at(dataset, index) for index in range(3)]
    return next((look for look in found if look[0] != "RGB"), found[0])


DAMAGED_PNG = "10 a.jpg"  # a name with a blank
LARGE = 2200, 2100  # so large that a draft of a quarter is no small image


def run_other_files(folder_dataset) -> list:
    """Items whose files are a PNG that is damaged inside, with either ``on_error``, and a large
    image: what each item is, and words or the size."""
    root = damaged_folder() / "a_circle"
    buffer = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (300, 300), dtype=np.uint8)
    Image.fromarray(noise).save(buffer, "PNG")
    png = bytearray(buffer.getvalue())
    second = png.index(b"IDAT", png.index(b"IDAT") + 4)
    png[second : second + 4] = bytes(4)  # no chunk of a PNG is called that
    (root / "10.jpg").unlink()
    (root / DAMAGED_PNG).write_bytes(png)
    Image.new("L", LARGE).save(root / "2.JPG", "JPEG")
    check_what_pillow_raises(folder_dataset)
    found = []
    for on_error in ("raise", "skip"):
        found.append(look_at(folder_dataset(root.parent, on_error=on_error), 0)[:2])
    with replaced(Image, "MAX_IMAGE_PIXELS", 4_000_000):  # Pillow warns of more
        kind, content, _ = look_at(folder_dataset(root.parent), 1)
    size = content.shape[:2] if isinstance(content, np.ndarray) else str(content)
    return [*found, (kind, size)]


def check_other_files(run):
    *damaged, large = run()
    for on_error, right, (kind, words) in zip(
        ("raise", "skip"), ("raised", "None"), damaged, strict=True
    ):
        why = "Pillow raises a SyntaxError for a PNG that is damaged inside: catch Exception"
        where = f"on_error={on_error!r}, a damaged PNG named {DAMAGED_PNG}"
        check_equal(kind, right, f"{where}: what dataset[0] does", why)
        if DAMAGED_PNG.replace(" ", "%20") in words:
            why = "as a URI the name has %20 where the file's has a blank"
        named = DAMAGED_PNG in words
        assert named, f"{where}: the words {words[:60]!r} don't name the file ({why})"
    words = "an image of 2200 × 2100 pixels (as (height, width))"
    why = "no draft, no thumbnail: the image as it is"
    if large[0] in ("raised", "None"):
        why = "what Pillow only warns of can be decoded"
    check_equal(large, ("RGB", LARGE[::-1]), words, why)


def check_too_large(run):
    for on_error, right in {"raise": "raised", "skip": "None"}.items():
        kind, words, _ = run(on_error)
        why = "Pillow raises DecompressionBombError, which isn't an OSError"
        check_equal(kind, right, f"on_error={on_error!r}: what dataset[0] does ({why})")
        text = f"on_error={on_error!r}: the words {str(words)[:60]!r} don't name the file 10.jpg"
        assert "10.jpg" in words, f"{text} ({why})"


def run_transform(folder_dataset, fails: bool, on_error: str = "skip") -> tuple:
    """What the transform was given, what came out, and what happened to its own error."""
    seen = []

    def transform(image):
        seen.append(image.mode)
        if fails:
            raise OSError("from the transform")
        return image.size

    dataset = folder_dataset(damaged_folder(), transform, on_error)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            item = dataset[0]
    except Exception as error:
        return seen, None, words_of(error)
    _pickle_with_transform(folder_dataset)
    if isinstance(item, (tuple, list)) and item[-1] == 0:
        _transform_to_nothing(folder_dataset)
    return seen, item, ""


def _transform_to_nothing(folder_dataset) -> None:
    """What a transform returns takes the image's place, whatever it is."""
    item = folder_dataset(damaged_folder(), lambda image: None)[0]
    why = "an item is None where its file can't be decoded, and nowhere else"
    check_equal(item, (None, 0), "an item whose transform returned None", why)


def _size_of(image: Image.Image) -> tuple:
    return image.size


def _pickle_with_transform(folder_dataset) -> None:
    """A dataset travels to a worker together with its transform."""
    dataset = folder_dataset(damaged_folder(), _size_of)
    right = dataset[0]
    try:
        copy = through_pickle(dataset)
    except Exception as error:
        words = "with a transform that can be pickled, the dataset can't be, after use"
        raise AssertionError(f"{words}: {words_of(error)}") from error
    check_equal(copy[0], right, "the first item of a pickled copy, with a transform")


FILES = {
    ".f": [".e.jpg"],
    "Empty": [],
    "Zoo": ["D.jpg", "b.JPEG"],
    "_g": ["_h.jpg"],
    "a": ["c-1.jpg", "c.JpEg", "c2.JPG", "d" + "-of-a-long-name" * 7 + ".jpg"],
    "a-b": ["c.jpeg"],
}
PLACES = [f"{folder}/{name}" for folder, names in FILES.items() for name in names]
PAINTED = 200, 30, 60  # the first and only colour of a palette
FOREIGN = "c.jpg.txt", "c_jpg", "c.jpeg2"


def _listed_folder() -> Path:
    """A folder whose images are told apart by their width: 2, 3, 4 … in the order of ``FILES``.

    The file ``c2.JPG`` holds a PNG with a palette, painted ``PAINTED``, ``c.jpeg`` a tag that says
    how it was held.
    """
    root = Path(tempfile.mkdtemp()) / "run [1]"
    for folder in FILES:
        (root / folder).mkdir(parents=True)
    for width, place in reversed([*enumerate(PLACES, 2)]):
        mode, kind = ("P", "PNG") if place == "a/c2.JPG" else ("RGB", "JPEG")
        turned = Image.Exif()
        turned[ExifTags.Base.Orientation] = 6  # a viewer shows it turned by 90°, 1 × width
        exif = turned if place == "a-b/c.jpeg" else b""
        image = Image.new(mode, (width, 1))
        if mode == "P":
            image.putpalette(PAINTED)
        image.save(root / place, kind, exif=exif)
    (root / "a" / "old.jpg").mkdir()
    shutil.copy(root / "a-b" / "c.jpeg", root / "a" / "old.jpg" / "c.jpeg")
    for name in FOREIGN:
        (root / "a" / name).write_text("no image")
    Image.new("RGB", (40, 1)).save(root / "a" / "c.png")
    return root


def run_listing(folder_dataset) -> tuple:
    """How many items a dataset has, and the width and the label of each, or what it raises."""
    dataset = folder_dataset(_listed_folder())
    found, why = [], "its numbers are places in the palette, no greys"
    for index in range(len(dataset)):
        try:
            image, label = dataset[index]
        except Exception as error:
            found.append((words_of(error), -1))
            continue
        words = f"an image comes in mode {image.mode}, expected RGB: c2.JPG is a PNG with a palette"
        assert image.mode == "RGB", words
        words = f"an image came as {image.size}, its file's size is {image.size[::-1]}"
        assert image.size[1] == 1, f"{words}: turned by its EXIF tag? The item has the file's size"
        if image.size[0] == 2 + PLACES.index("a/c2.JPG"):
            words = f"c2.JPG, a PNG with a palette, has a pixel of {{}}, expected {PAINTED}: {why}"
            pixel = image.getpixel((0, 0))
            assert pixel == PAINTED, words.format(pixel)
        found.append((image.size[0], int(label)))
    return getattr(dataset, "classes", "missing"), found


def check_listing(said):
    classes, found = said
    places = [(name, n) for n, names in enumerate(FILES.values()) for name in names]
    right = [(width, label) for width, (_, label) in enumerate(places, 2)]
    lost = [name for name in FILES if isinstance(classes, list) and name not in classes]
    why = "names may begin with a dot or an underscore" if {".f", "_g"} & set(lost) else ""
    why = "the folders without images count as well" if lost == ["Empty"] else why
    check_equal(classes, [*FILES], "classes", why)
    failed = [row[0] for row in found if isinstance(row[0], str)]
    why = ": old.jpg is a folder, not a file" if "old.jpg" in str(failed) else ""
    why = ": c2.JPG holds a PNG, and Pillow can decode that" if "c2.JPG" in str(failed) else why
    for name in FOREIGN:
        why = f": the name {name} ends in neither .jpg nor .jpeg" if name in str(failed) else why
    why = ": a name may be longer than that: is it cut?" if "-of-a-long" in str(failed) else why
    assert not failed, f"an item raised {failed[0]}{why}"
    lost = [places[width - 2][0] for width, _ in right if width not in [row[0] for row in found]]
    ending = "case does not matter, letter by letter"
    ending = "a name that ends in .jpeg counts, too" if "c.jpeg" in lost else ending
    if set(lost) <= {".e.jpg", "_h.jpg"}:
        ending = "names may begin with a dot or an underscore"
    if not found:
        ending = "the folder's name is run [1], which glob takes for a pattern"
    assert not lost, f"left out: {', '.join(lost)}; {ending}"
    foreign = f"{len(found)} items, expected {len(right)}: the names c.png, {', '.join(FOREIGN)}"
    assert len(found) == len(right), f"{foreign} end in neither .jpg nor .jpeg"
    labels = [label for _, label in found]
    by_class = f"the labels come as {labels}: class by class, in the order of classes"
    assert labels == sorted(labels), by_class
    names = [places[width - 2][0] for width, _ in found]
    check_equal(
        names, [name for name, _ in places], "the files' order", "sorted by name in a class"
    )
    why = "the position of its class in classes, in which folders without images count as well"
    check_equal(labels, [label for _, label in right], "the labels", why)


names = ["a_circle/10.jpg", "a_circle/2.JPG", "a_circle/9.jpg"]


names += ["b_square/cut.jpg", "b_square/x.jpeg", "b_square/z.jpg"]


def check_said(root, said, on_error):
    """Compare what a dataset over the zoo says of itself and of each item."""
    words = "write your own subclass of Dataset, without ImageFolder, beneath it or inside it"
    assert said["base"], words
    right = ["a_circle", "b_square", "c_empty"]
    lost = isinstance(said["classes"], list) and said["classes"] == right[:2]
    why = "the folders without images count as well" if lost else ""
    check_equal(said["classes"], right, "classes", why)
    kind = type(said["classes"]).__name__
    assert kind == "list", f"classes is of type {kind}: a list is asked for"
    because = "6 files of three classes end in .jpg or .jpeg, .JPG too; notes.txt does not"
    deep = ", and those in a_circle/more are deeper" if said["length"] > 6 else ""
    check_equal(said["length"], 6, f"len: {because}{deep}")
    check_items(root, said["items"], on_error, "the dataset")
    check_items(root, said["copy"], on_error, "a pickled copy of it")


def _holds(path: Path, content: np.ndarray) -> bool:
    return np.array_equal(np.array(Image.open(path).convert("RGB")), content)


def check_items(root, found, on_error, what):
    assert not isinstance(found, str), f"{what} can't be pickled: {found}"
    check_equal(len(found), len(names), f"{what}: items that can be reached")
    for name, (kind, content, label) in zip(names, found, strict=True):
        if "cut" in name:
            assert kind != "opened", f"{what}, {name}: {content}"
            gone = "raised" if on_error == "raise" else "None"
            check_equal(kind, gone, f"{what}, {name}, cut short: what dataset[i] does")
            warned = content or on_error == "raise"
            assert warned, f"{what}, {name}: no warning came: warnings.warn, with the file's name"
            assert "cut.jpg" in content, (
                f"{what}: the words {content!r} don't name the file cut.jpg"
            )
            continue
        words = content if kind == "opened" else f"{kind} {content}"
        assert kind not in ("raised", "None", "opened"), f"{what}, {name}: {words}"
        check_equal(kind, "RGB", f"{what}, {name}: the mode")
        right = np.array(Image.open(root / name).convert("RGB"))
        same = [n for n in names if "cut" not in n and _holds(root / n, content)]
        words = f": they are those of {same[0]}: sorted as Python sorts texts" if same else ""
        assert np.array_equal(content, right), f"{what}, {name}: these are not its pixels{words}"
        check_equal(label, 0 if "circle" in name else 1, f"{what}, {name}: the label")
