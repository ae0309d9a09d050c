"""The detector as a server runs it: Pillow, NumPy and ONNX Runtime, no PyTorch."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

SIDE = 32
NAMES = ("circle", "square", "triangle")
# So long may the second of two requests take to arrive, on a busy machine.
MEET_SECONDS = 12


def prepare(picture: Image.Image) -> np.ndarray:
    """The training transform without PyTorch: (3, 32, 32), float32, red first, 0 to 1."""
    small = picture.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    return np.array(small).transpose(2, 0, 1).astype(np.float32) / np.float32(255)


class OnnxDetector:
    """Call it with a PIL image: ``{"shape": …, "box": [left, top, right, bottom]}`` in pixels.

    It travels to another process as the path of its file.
    """

    def __init__(self, path: str | Path) -> None:
        import onnxruntime

        self.path = str(path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        self.session: Any = onnxruntime.InferenceSession(
            self.path, options, providers=["CPUExecutionProvider"]
        )

    def __reduce__(self) -> tuple:
        return OnnxDetector, (self.path,)

    def __call__(self, picture: Image.Image) -> dict[str, Any]:
        name = self.session.get_inputs()[0].name
        scores, boxes = self.session.run(None, {name: prepare(picture)[None]})
        width, height = picture.size
        box = (boxes[0] * np.array([width, height, width, height])).round(1).tolist()
        return {"shape": NAMES[int(scores[0].argmax())], "box": box}


# By a picture's side; Pillow raises an OSError for a broken file as well.
BUGS = {5: KeyError, 7: OSError, 11: TypeError, 13: ZeroDivisionError, 17: RuntimeError}


class Examiner:
    """What the server of exercise 19.7 is tried with instead of a detector.

    It says a picture's mode, size and first pixel, and the number of the call. Pictures of 40
    by 40 wait until two of them are looked at, so they need two threads; those of 3 by 3 and 4 by 4
    are refused, those of 6 by 6 without a word; the squares of ``BUGS`` meet a bug of this kind.
    """

    def __init__(self) -> None:
        self.meeting = threading.Barrier(2, timeout=MEET_SECONDS)
        self.counter = itertools.count(1)

    def __reduce__(self) -> tuple:
        return Examiner, ()

    def __call__(self, picture: Image.Image) -> dict[str, Any]:
        if picture.size == (3, 3):
            raise ValueError("too small to see anything")
        if picture.size == (4, 4):  # a ValueError as well
            raise UnicodeError("too small to see anything")
        if picture.size == (6, 6):
            raise ValueError
        if picture.width == picture.height and picture.width in BUGS:
            raise BUGS[picture.width]("a bug of the detector")
        met = None
        if picture.size == (40, 40):
            try:
                self.meeting.wait()
                met = True
            except threading.BrokenBarrierError:  # it stays broken: the other needn't wait, too
                met = False
        pixel = picture.getpixel((0, 0))
        return {"mode": picture.mode, "size": list(picture.size), "met": met,
                "call": next(self.counter),
                "pixel": list(pixel) if isinstance(pixel, tuple) else pixel}  # fmt: skip
