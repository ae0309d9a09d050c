"""A folder of images in which something is wrong."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from course_utils.learner.checks import check_equal
from course_utils.learner.shapes_data import draw_shapes

CUT_SHORT = 1500  # bytes that are left of the damaged image


def damaged_folder() -> Path:
    """A new temporary folder of three classes, one of them empty, with traps among the files.

    ::

        a_circle/   9.jpg (RGB)   10.jpg (grey)   2.JPG (CMYK)   notes.txt
        b_square/   x.jpeg (RGB)  z.jpg (grey)    cut.jpg (RGB, cut short)
        c_empty/
        readme.jpg  (no image, in no class)
    """
    from PIL import Image

    root = Path(tempfile.mkdtemp())
    for folder in ("b_square", "a_circle", "c_empty"):
        (root / folder).mkdir()
    (root / "readme.jpg").write_bytes(b"directly in the root: in no class")
    (root / "a_circle" / "notes.txt").write_text("no image")
    files = {"a_circle/9.jpg": "RGB", "a_circle/10.jpg": "L", "a_circle/2.JPG": "CMYK"}
    files |= {"b_square/x.jpeg": "RGB", "b_square/cut.jpg": "RGB", "b_square/z.jpg": "L"}
    for n, (name, mode) in enumerate(files.items()):
        buffer = io.BytesIO()
        Image.fromarray(draw_shapes(n).image).convert(mode).save(buffer, "JPEG")
        end = CUT_SHORT if "cut" in name else None
        (root / name).write_bytes(buffer.getvalue()[:end])
    return root


def run_on_error(folder_dataset, on_error: object) -> str:
    """The name of what folder_dataset raises."""
    try:
        folder_dataset(damaged_folder(), None, on_error)
    except Exception as error:
        return type(error).__name__
    return "nothing"


def check_on_error(run, on_error: object) -> None:
    """Whether what is neither of the two texts is refused with a ValueError.

    What is no text at all and has no hash may be a TypeError: a set of the two texts raises it.
    """
    found = run(on_error)
    if found == "TypeError" and isinstance(on_error, list):
        return
    why = "the two texts as they are written, and no other"
    check_equal(found, "ValueError", "what folder_dataset raises at once", why)
