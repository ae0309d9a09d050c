"""Exercises 15.3 and 15.4: functions that were repaired, and a guard."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn as nn
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.learner.changes import forbid_changes
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook

# What each result of exercise 15.3 depends on.
NEEDS = {
    "photo": "the layer takes float32 alone",
    "rows": "the layer takes its own dtype alone, float32",
    "labels": "each label is the number of a class, as many as there are scores in a row",
    "hits": "hits are int64, scores are float32",
    "number": "0 … n - 1 belong along the last dimension, of length n",
    "frames": "two images of one shape, in uint8",
}


def repaired(functions: dict, name: str, *args: Any, place: str | torch.device = device) -> tuple:
    """What a repaired function returns, and the dtype of the layer that it was handed, if any.

    A layer that was of another dtype for a while has that one.
    """
    function = functions.get(name) if isinstance(functions, dict) else None
    assert function is not None, "there is no function: is there an answer yet?"
    assert callable(function), f"{name} holds {function!r}, which can't be called"
    kept = [arg.copy() if isinstance(arg, np.ndarray) else None for arg in args]
    try:
        result, weight = _called(function, name, *args, place=place)
    except (RuntimeError, IndexError) as error:
        if str(place) == "meta":
            raise
        told = f"{type(error).__name__}: {str(error).splitlines()[0]} ({NEEDS[name]})"
        raise AssertionError(told) from error
    for arg, was in zip(args, kept, strict=True):
        same = was is None or np.array_equal(arg, was)
        assert same, f"{name}: the array was changed: torch.from_numpy shares its memory"
    return result, weight


def _called(function: Callable, name: str, *args: Any, place: str | torch.device) -> tuple:
    if name not in ("photo", "rows"):
        return function(*args), "float32"
    layer = nn.Linear(3, 1, device=place)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2, 3]]))
        layer.bias.fill_(0.5)
    seen: list[torch.dtype] = []
    layer.register_forward_pre_hook(lambda module, _: seen.append(module.weight.dtype))
    result = function(layer, *args)
    result = result.detach() if isinstance(result, torch.Tensor) else result
    assert len(seen) < 2, f"{name}: the layer ran {len(seen)} times, expected once"
    others = [dtype for dtype in [*seen, layer.weight.dtype] if dtype != torch.float32]
    return result, str([*others, torch.float32][0])[6:]


def unusual_mixes() -> list[tuple]:
    """Arguments of an unusual kind, new ones at each call, with what is right: as cases.

    The layer of "photo" and "rows" has the weight (1, 2, 3) and the bias 0.5.
    """
    photo = torch.tensor([[0, 51], [255, 0], [0, 255]], dtype=torch.uint8, device=device).T
    array = np.asfortranarray([[0.25, 0, 1], [1, 2, 3]])
    flat = torch.tensor([0.0, 7.0], device=device)
    like_a_row = torch.arange(3.0, device=device)
    far = torch.tensor([[0.0, 200.0]], device=device)
    small = torch.tensor([1e-6, 0, 0], device=device)
    grey = torch.tensor([[3, 200, 0], [0, 255, 7]], dtype=torch.uint8, device=device)
    other = torch.tensor([[5, 1], [100, 0], [1, 7]], dtype=torch.uint8, device=device).T
    colours = (image.expand(3, 2, 3) for image in (grey, other))
    return [
        ("photo, turned in memory", "photo", torch.tensor([[2.5], [3.7]], device=device), photo),
        ("photo, a batch of none", "photo", torch.zeros(0, 1, device=device), photo[:0]),
        ("rows, column by column in memory", "rows", flat.new_tensor([[3.75], [14.5]]), array),
        ("rows, a batch of none", "rows", torch.zeros(0, 1, device=device), array[:0]),
        ("labels, scores 200 apart", "labels", flat.new_tensor(200), far, far[0, :1].int()),
        ("number, turned in memory", "number", like_a_row + flat[:, None], flat.expand(3, 2).mT),
        (
            "number, blocks turned in memory",
            "number",
            (like_a_row + flat[:, None, None]).expand(2, 2, 3),
            flat.expand(3, 2, 2).transpose(0, 2),
        ),
        ("number, a millionth", "number", (like_a_row + small).expand(2, 3), small.expand(2, 3)),
        ("number, rows of one", "number", flat[:, None], flat[:, None]),
        ("number, no row", "number", flat[:, None][:0], flat[:, None][:0]),
        ("frames, one turned in memory", "frames", flat.new_tensor(359 / 6), grey, other),
        ("frames in colour", "frames", flat.new_tensor(359 / 6), *colours),
        ("hits, a single number each", "hits", flat[1] + 0.5, flat[1].long(), flat[1] - 6.5),
    ]


class _Zeros(TorchDispatchMode):
    """Who reads a value on the device meta, where there are none, gets a 0."""

    read = False

    def __torch_dispatch__(self, func, types, args: tuple = (), kwargs=None) -> Any:
        if func is torch.ops.aten._local_scalar_dense.default and args[0].is_meta:
            self.read = True
            return torch.zeros((), dtype=args[0].dtype).item()
        return func(*args, **(kwargs or {}))


def _on_meta(functions: dict, name: str, *args: Any, **options: Any) -> tuple[str, str]:
    with _Zeros() as zeros:
        try:
            result, _ = repaired(functions, name, *args, **options)
        except Exception as error:
            if zeros.read and "expected device" not in str(error):
                return "meta", ""  # to read a value is not forbidden, and 0 may not fit
            if not isinstance(error, RuntimeError):
                raise
            return "", str(error).splitlines()[0]
    return str(getattr(result, "device", result)), ""


ON_META = {
    "photo": [((2, 3), torch.uint8)],
    "labels": [((2, 3), torch.float32), ((2,), torch.int32)],
    "hits": [((3,), torch.int64), ((3,), torch.float32)],
    "number": [((2, 3), torch.float32)],
    "frames": 2 * [((2, 3), torch.uint8)],
}


def on_meta(functions: dict, name: str) -> tuple[str, str]:
    """The device of a repaired function's result where all is on meta; what it raises instead."""
    if name == "rows":
        return _on_meta(functions, name, np.ones((2, 3)), place="meta")
    args = [torch.empty(shape, dtype=dtype, device="meta") for shape, dtype in ON_META[name]]
    return _on_meta(functions, name, *args, place="meta")


@ends_in_notebook
def check_device(outcome: tuple[str, str], because: str) -> None:
    """Check that a program of the device meta stayed there.

    Raises:
        AssertionError: it raised, or its result is somewhere else.
    """
    __tracebackhide__ = True
    place, raised = outcome
    moved = "Cannot copy out of meta tensor" in raised
    because = "it was moved to the CPU; the data stays where it is" if moved else because
    why = f": {because}" if re.search("meta|device|cpu", raised) else ""
    why = ": int64 labels are taken everywhere" if "int32/int64 for index" in raised else why
    assert not raised, f"on another device (meta) it raised {raised!r}{why}"
    made = "; what torch.tensor makes of a number is on the CPU" if place == "cpu" else ""
    assert place == "meta", f"its result is on {place!r}, the input was on 'meta': {because}{made}"


# Exercise 15.4: a guard.


def class_ids(values: list, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Labels on the course's device."""
    return torch.tensor(values, dtype=dtype, device=device)


def unusual_labels() -> list[tuple]:
    """Labels of an unusual kind, new ones at each call: as cases of the check."""
    far = 2**60  # what follows it is no float64
    return [
        ("int16", (2, 3), class_ids([0, 1], torch.int16), "torch.int16"),
        ("bool", (2, 3), class_ids([False, True], torch.bool), "torch.bool"),
        ("maps without a pixel", (2, 3, 0, 4), class_ids([[], []]).view(2, 0, 4)),
        ("a volume", (1, 3, 2, 1, 2), class_ids([[[[0, 9]], [[8, 1]]]]), "9", "(0, 0, 0, 1)"),
        ("int32 and a wrong label", (2, 3), class_ids([0, 7], torch.int32), "torch.int32"),
        ("scores of no class", (2, 0), class_ids([0, 0]), "0", "(0,)"),
        ("one class alone", (2, 1), class_ids([0, 1]), "1", "(1,)"),
        ("a label beyond int32 and floats", (2, 3), class_ids([0, far + 1]), str(far + 1), "(1,)"),
        ("too large, then too small: the first", (3, 3), class_ids([0, 7, -5]), "7", "(1,)"),
        ("one label, expanded", (3, 3), class_ids([9]).expand(3), "9", "(0,)"),
    ]


def ignored_labels() -> list[tuple]:
    """Labels for three classes, an ignore_index, and what a refusal of them holds."""
    return [
        (class_ids([0, 255], torch.uint8), 255),
        (class_ids([-1, 0]), -1),
        (class_ids([0, -100]), 0, "-100", "(1,)"),
    ]


def _how_it_prints(part: str, refused: str) -> str:
    if not part.startswith("("):
        return ""
    if "int64(" in refused:
        return ": NumPy's numbers print like this, int() makes plain ones"
    if "torch.Size" in refused:
        return ": a torch.Size prints like this, tuple() makes a tuple"
    entries = [len(re.findall(r"\d+", found)) for found in re.findall(r"\([-\d, ]+\)", refused)]
    as_long = len(re.findall(r"\d+", part)) in entries
    return "" if as_long else ": a tuple has an entry for each dimension"


@ends_in_notebook
def check_guard(
    guard: Callable, shape: tuple, labels: torch.Tensor, *parts: str, **options: int
) -> None:
    """Check a guard of labels: no ``parts``, no refusal; else a ValueError that holds each part.

    Raises:
        AssertionError: it does otherwise.
    """
    __tracebackhide__ = True
    scores, refused = torch.zeros(shape, device=labels.device), None
    with forbid_changes(scores, labels):
        try:
            result = guard(scores, labels, **options)
        except ValueError as error:
            refused = str(error)
        except Exception as error:
            words = "expected a ValueError of your own" if parts else "but these labels are fine"
            raise AssertionError(f"raised {type(error).__name__} ({error}), {words}") from error
    if refused is None:
        assert result is None, f"returned {result!r}, expected None or a ValueError"
        assert not parts, (
            "no ValueError, although the loss can't take these labels; or is there no answer yet?"
        )
        return
    assert parts, f"these labels are fine, but they were refused with {refused!r}"
    for part in parts:
        found = re.search(rf"(?<![\d-]){re.escape(part)}(?!\d)", refused)
        assert found, (
            f"the message {refused!r} does not contain {part}{_how_it_prints(part, refused)}"
        )
