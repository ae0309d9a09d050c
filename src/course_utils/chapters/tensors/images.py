"""Exercise 1.4: how both ways between an image and a tensor are checked."""

from __future__ import annotations

import numpy as np
import torch

from course_utils.learner.awkward import default_dtype
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close, check_equal


def check_planes(answer, image):
    pixels = torch.tensor(image)
    planes = pixels[None] if pixels.dim() == 2 else pixels.movedim(-1, -3)
    expected, before = planes.float() * (1 / 255), image.copy()
    result = answer(image)
    if isinstance(result, torch.Tensor) and result.shape == expected.shape and result.numel() > 4:
        reread = (pixels.float() * (1 / 255)).reshape(expected.shape)
        turned = torch.equal(result, reread) and not torch.equal(reread, expected)
        assert not turned, "reshape keeps the order of the numbers: move the channel instead"
    check_close(result, expected, "the result")
    why = "multiply by 1 / 255 in float32; a division or a product in float64 gives other last bits"
    assert torch.equal(result, expected), f"some values differ in the last bit: {why}"
    assert np.array_equal(image, before), "the image is not what it was: it is the caller's"
    answer(255 - image)
    words = "the next call has changed an earlier result: make a new tensor in each"
    assert torch.equal(result, expected), words


def check_image(answer, x, image, name, because=""):
    call, image = f"tensor_to_image(x) with x {name}", np.array(image, dtype="uint8")
    with forbid_changes(x):
        result = answer(x)
    blank = "None: is there an answer yet, and does it return a value?"
    kind = blank if result is None else f"a {type(result).__name__}"
    assert isinstance(result, np.ndarray), f"{call}: expected a NumPy array, got {kind}"
    check_equal(str(result.dtype), "uint8", f"the dtype of {call}")
    check_equal(result.shape, image.shape, f"the shape of {call}", because)
    for slip, scaled in _slips(x) if x.numel() > 100 else ():
        wrong = scaled.clamp(0, 255).byte().movedim(-3, -1).numpy().reshape(image.shape)
        known = np.array_equal(wrong, result) and not np.array_equal(wrong, image)
        assert not known, f"{call}: {slip}"
    check_close(torch.tensor(result), torch.tensor(image), call)
    answer(1 - x)
    words = "the next call has changed an earlier result: make a new array in each"
    assert np.array_equal(result, image), words


def _slips(x):
    inside = x.detach().cpu().clamp(0, 1)
    yield "the factor is 255.999, not 255", inside * 255
    yield "this is rounded; the fraction is to be cut off", (inside * 255).round()
    yield "this is rounded; the fraction is to be cut off", (inside * 255.999).round()


def dtype_under_float64(answer, image):
    with default_dtype(torch.float64):
        return getattr(answer(image), "dtype", None)


def check_by_hand(library, still=True):
    assert not library, f"{library[0]} ran: write it without torchvision"
    assert still, "x required a gradient and does not afterwards: detach() makes another tensor"
