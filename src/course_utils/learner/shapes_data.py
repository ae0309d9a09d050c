"""Images of coloured shapes with boxes and masks, drawn by the course and kept as real JPEG files.

What rests on what:

- The *pixels* that are drawn, the boxes and the masks come from NumPy's PCG64 bit stream, which
  NumPy promises to keep, and from whole-number arithmetic alone. They are equal on every machine.
- The *bytes* of a JPEG file, and so the pixels that come out of it, also rest on the encoder and
  decoder. Their settings are pinned here, and the course pins Pillow, which brings its own
  libjpeg-turbo. Another Pillow may write other bytes for the same picture.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import sys
import tempfile
import uuid
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from course_utils.files import remove_unfinished, replacing, unfinished_in

SHAPES = ("circle", "square", "triangle")
SMALLEST, LARGEST = 64, 128  # height and width of an image, in pixels
MOST_IMAGES = 100_000
# Raise it when the drawing changes: an old cache is then no longer used.
VERSION = 1
JPEG: dict[str, Any] = {"format": "JPEG", "quality": 90, "subsampling": 0, "optimize": False}
PNG: dict[str, Any] = {"format": "PNG", "compress_level": 1}
COLOURS = (
    (214, 69, 65), (38, 124, 190), (46, 160, 100), (232, 170, 32), (140, 86, 178), (20, 170, 180),
)  # fmt: skip


class Picture(NamedTuple):
    """One drawn image and what is in it.

    Attributes:
        image: (height, width, 3), uint8.
        boxes: (shapes, 4), int64: left, top, right, bottom; right and bottom are edges, one past
            the last pixel.
        labels: (shapes,), int64: positions in ``SHAPES``.
        mask: (height, width), uint8: 0 is background, k the k-th shape, counted from 1.
    """

    image: np.ndarray
    boxes: np.ndarray
    labels: np.ndarray
    mask: np.ndarray

    @property
    def label(self) -> int:
        """The class of the whole image: that of its first shape, which is the largest."""
        return int(self.labels[0])


class _Numbers:
    """Whole numbers from PCG64's raw stream, without NumPy's distributions, which may change."""

    def __init__(self, *seed: int) -> None:
        self.bits = np.random.PCG64(np.random.SeedSequence(seed))

    def below(self, n: int) -> int:
        return int(self.bits.random_raw()) % n

    def between(self, low: int, high: int) -> int:
        return low + self.below(high - low + 1)

    def octets(self, count: int) -> np.ndarray:
        raw = self.bits.random_raw(-(-count // 8)).astype("<u8")
        return np.frombuffer(raw.tobytes(), dtype=np.uint8)[:count]


def draw_shapes(index: int, seed: int = 0) -> Picture:
    """Draw one image: one to four shapes that don't touch, on a shaded, noisy ground.

    Height and width lie between 64 and 128 pixels. The shapes lie in the quarters of the image; the
    first is the largest and gives the image its class, ``index % 3``.

    Args:
        index: which image, from 0.
        seed: which set of images, from 0.

    Returns:
        The picture. Equal arguments give equal arrays on every machine.

    Raises:
        ValueError: an argument is negative.
    """
    if index < 0 or seed < 0:
        raise ValueError(f"index and seed must not be negative, got {index} and {seed}")
    numbers = _Numbers(VERSION, seed, index)
    height, width = numbers.between(SMALLEST, LARGEST), numbers.between(SMALLEST, LARGEST)
    y, x = (axis.astype(np.int16) for axis in np.ogrid[:height, :width])
    slope = 40 * x // width * numbers.between(-1, 1) + 40 * y // height * numbers.between(-1, 1)
    ground = np.array([numbers.between(70, 150) for _ in range(3)], dtype=np.int16)
    image = ground + slope[:, :, None]
    noise = numbers.octets(height * width).reshape(height, width, 1) % 25
    mask = np.zeros((height, width), dtype=np.uint8)
    boxes, labels = [], []
    quarters = [(0, 0), (0, 1), (1, 0), (1, 1)]
    largest = min(height, width) // 4 - 1
    for k in range(1, numbers.between(1, 4) + 1):
        row, column = quarters.pop(numbers.below(len(quarters)))
        label = index % len(SHAPES) if k == 1 else numbers.below(len(SHAPES))
        radius = largest if k == 1 else numbers.between(largest // 2, largest - 2)
        top, left = row * height // 2, column * width // 2
        cy = top + numbers.between(radius, max(radius, height // 2 - radius - 1))
        cx = left + numbers.between(radius, max(radius, width // 2 - radius - 1))
        inside = _inside(SHAPES[label], y - cy, x - cx, radius)
        mask[inside] = k
        image[inside] = COLOURS[numbers.below(len(COLOURS))]
        rows, columns = np.flatnonzero(inside.any(1)), np.flatnonzero(inside.any(0))
        boxes.append([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])
        labels.append(label)
    image = np.clip(image + noise - 12, 0, 255).astype(np.uint8)
    return Picture(image, np.array(boxes, np.int64), np.array(labels, np.int64), mask)


def _inside(shape: str, dy: np.ndarray, dx: np.ndarray, radius: int) -> np.ndarray:
    """Which pixels belong to a shape, by their distances from its centre."""
    if shape == "circle":
        return dy * dy + dx * dx <= radius * radius
    if shape == "square":
        side = radius * 7 // 8
        return (abs(dy) <= side) & (abs(dx) <= side)
    return (dy <= radius) & (2 * abs(dx) <= dy + radius)


def cache_folder() -> Path:
    """The folder in which the course keeps what it draws; made if it is not there.

    It is the folder that ``COURSE_CACHE`` names, if that is set. Otherwise it is a folder of the
    user's cache (``XDG_CACHE_HOME`` or ``~/.cache`` on Linux, ``~/Library/Caches`` on macOS,
    ``LOCALAPPDATA`` on Windows), or, where that can't be written, one in the folder for temporary
    files.

    Raises:
        OSError: no such folder can be written; the message is one line that says which and why.
    """
    wanted = os.environ.get("COURSE_CACHE")
    if wanted:
        candidates = [Path(wanted)]
    else:
        user = getattr(os, "getuid", lambda: "user")()
        candidates = [Path(tempfile.gettempdir()) / f"course_utils-{user}"]
        with contextlib.suppress(RuntimeError):  # a user without a home
            candidates.insert(0, _user_cache() / "course_utils")
    for folder in candidates:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            probe = folder / f".probe-{uuid.uuid4().hex}"
            probe.touch()
            probe.unlink()
            return folder
        except OSError as error:
            reason = error
    hint = "set COURSE_CACHE to a folder that you can write"
    raise OSError(
        reason.errno, f"nothing can be kept in {candidates[-1]} ({reason.strerror}): {hint}"
    ) from None


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def shapes_folder(count: int = 2000, seed: int = 0) -> Path:
    """A folder with ``count`` images of shapes as JPEG files, drawn now or on an earlier call.

    ::

        images/circle/0000.jpg   images/square/0001.jpg   images/triangle/0002.jpg   …
        masks/circle/0000.png    …
        annotations.json         {"circle/0000": {"size": [h, w], "boxes": …, "labels": …}, …}

    ``images`` is laid out as ``torchvision.datasets.ImageFolder`` wants it. A mask is a greyscale
    PNG that holds the number of the shape at each pixel. Boxes and labels are those of
    ``draw_shapes``.

    The files are kept in ``cache_folder()``, and every call compares them with checksums. A file
    that is missing, cut short or changed is made again, and what does not belong there is removed.
    Each file is written elsewhere and put in its place whole, so processes may call this at once.
    To try what damage does, copy files to a folder of your own.

    Args:
        count: how many images, up to 100 000. Two thousand take a few seconds and about 11 MB.
        seed: which set of images.

    Returns:
        The folder.

    Raises:
        ValueError: ``count`` or ``seed`` is out of range.
        OSError: the files can't be written; the message is one line that says what to do.
    """
    if not 0 < count <= MOST_IMAGES or seed < 0:
        raise ValueError(f"count must be 1 to {MOST_IMAGES}, seed 0 or more: {count}, {seed}")
    cache = cache_folder()
    folder = cache / f"shapes-{VERSION}-{count}-{seed}"
    try:
        _mend(folder, count, seed, cache)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        hint = "free some space" if full else "make it writable"
        raise OSError(
            error.errno,
            f"the images can't be written to {folder} ({error.strerror}): {hint}, "
            "or set COURSE_CACHE to another folder",
        ) from None
    return folder


def _mend(folder: Path, count: int, seed: int, cache: Path) -> None:
    """Make whatever is missing or damaged, and remove what is in the way."""
    sums = _read_sums(folder, count)
    bad = {n for n in range(count) if not _is_whole(folder, n, sums)}
    annotations = folder / "annotations.json"
    if bad or not _matches(annotations, sums):
        with contextlib.suppress(OSError):  # another user's, or just gone
            remove_unfinished(cache)
        for kind in ("images", "masks"):
            for shape in SHAPES:
                _make_folder(folder / kind / shape)
        entries = {}
        for n in range(count):
            picture = draw_shapes(n, seed)
            entries[f"{SHAPES[picture.label]}/{n:04}"] = {
                "size": list(picture.mask.shape),
                "boxes": picture.boxes.tolist(),
                "labels": picture.labels.tolist(),
            }
            if n not in bad:
                continue
            for name, content in _files_of(n, picture).items():
                sums[name] = zlib.crc32(content)
                _put(folder / name, content, cache)
        content = json.dumps(entries).encode()
        sums[annotations.name] = zlib.crc32(content)
        _put(annotations, content, cache)
        _put(folder / "checksums.json", json.dumps(sums).encode(), cache)
    known = {"images", "masks", *(f"{kind}/{s}" for kind in ("images", "masks") for s in SHAPES)}
    known |= {*sums, "checksums.json"}
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.relative_to(folder).as_posix() not in known:
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def _names_of(n: int) -> tuple[str, str]:
    name = f"{SHAPES[n % len(SHAPES)]}/{n:04}"
    return f"images/{name}.jpg", f"masks/{name}.png"


def _files_of(n: int, picture: Picture) -> dict[str, bytes]:
    from PIL import Image

    contents = []
    for pixels, settings in ((picture.image, JPEG), (picture.mask, PNG)):
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, **settings)
        contents.append(buffer.getvalue())
    return dict(zip(_names_of(n), contents, strict=True))


def _read_sums(folder: Path, count: int) -> dict[str, int]:
    """The checksums that were written down; none, if that file is missing or no such thing."""
    try:
        sums = json.loads((folder / "checksums.json").read_bytes())
    except (OSError, ValueError):
        return {}
    names = {"annotations.json", *(name for n in range(count) for name in _names_of(n))}
    return sums if isinstance(sums, dict) and set(sums) == names else {}


def _is_whole(folder: Path, n: int, sums: dict[str, int]) -> bool:
    return all(_matches(folder / name, sums, name) for name in _names_of(n))


def _matches(path: Path, sums: dict[str, int], name: str | None = None) -> bool:
    try:
        with open(path, "rb") as file:
            return zlib.crc32(file.read()) == sums.get(name or path.name)
    except OSError:
        return False


def _make_folder(path: Path) -> None:
    """Make a folder, also where a file of that name is in the way."""
    for part in (path.parent.parent, path.parent, path):
        if part.exists() and not part.is_dir():
            part.unlink()
    path.mkdir(parents=True, exist_ok=True)


def _put(target: Path, content: bytes, cache: Path) -> None:
    """Write a file whole, also where an empty folder of that name is in the way."""
    with replacing(target, unfinished_in(cache)) as unfinished:
        unfinished.write_bytes(content)
        if target.is_dir() and not target.is_symlink():
            target.rmdir()
