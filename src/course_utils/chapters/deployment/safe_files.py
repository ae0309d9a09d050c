"""Exercise 19.2: files with weights in them, good and lying, and what a loader makes of them."""

from __future__ import annotations

import json
import struct
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch

from course_utils.learner.drawings import FAINT, LINES, TINTS, show
from course_utils.learner.tracebacks import ends_in_notebook

KINDS = {"F32": torch.float32, "F16": torch.float16, "I64": torch.int64}
WANTED = {"weight": ((2, 3), torch.float32), "bias": ((2,), torch.float32)}
OTHERS = {
    "scale": ((), torch.float32),
    "none": ((0, 4), torch.float32),
    "half": ((3,), torch.float16),
    "steps": ((2, 1), torch.int64),
}


def pack(header: Any, body: bytes, length: int | None = None) -> bytes:
    """A file by hand: 8 bytes that say how long the header is, the header, then the numbers.

    Args:
        header: what becomes JSON; bytes are taken as they are.
        body: the numbers.
        length: what the first 8 bytes say, if not the truth.
    """
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def entry(kind: str, shape: list, begin: Any, end: Any) -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}


def body_of(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def _plain() -> dict[str, Any]:
    return {"weight": entry("F32", [2, 3], 0, 24), "bias": entry("F32", [2], 24, 32)}


def _changed(name: str, **changes: Any) -> dict[str, Any]:
    header = _plain()
    header[name] = header[name] | changes
    return header


NUMBERS = body_of(1, 2, 3, 4, 5, 6, 7, 8)


def good_files() -> dict[str, tuple[bytes, dict]]:
    """Files to be loaded: what each is about, its bytes and what is wanted of it."""
    turned = {"bias": entry("F32", [2], 0, 8), "weight": entry("F32", [2, 3], 8, 32)}
    backwards = {"weight": entry("F32", [2, 3], 8, 32), "bias": entry("F32", [2], 0, 8)}
    others = {
        "none": entry("F32", [0, 4], 0, 0),
        "steps": entry("I64", [2, 1], 0, 16),
        "scale": entry("F32", [], 16, 20),
        "half": entry("F16", [3], 20, 26),
    }
    mixed = struct.pack("<qqf3e", 7, -9, 2.5, 1.0, -0.5, 4.0)
    behind = {"steps": entry("I64", [2, 1], 0, 16), "none": entry("F32", [0, 4], 0, 0)}
    exact = {"steps": entry("I64", [2, 1], 0, 16)}
    steps = {name: OTHERS[name] for name in ("steps", "none")}
    odd = {"half": entry("F16", [3], 0, 6), "steps": entry("I64", [2, 1], 6, 22)}
    foreign = json.dumps({"größe 1": entry("F32", [2], 0, 8)}, ensure_ascii=False).encode()
    large = {"single": entry("F32", [3], 0, 12), "half": entry("F16", [3], 12, 18)}
    wanted = {"single": ((3,), torch.float32), "half": ((3,), torch.float16)}
    return {
        "two tensors": (pack(_plain(), NUMBERS), WANTED),
        "bias in front of weight": (pack(turned, NUMBERS), WANTED),
        "the header names weight first, its bytes come second": (pack(backwards, NUMBERS), WANTED),
        "0-D, empty, float16 and int64 tensors": (pack(others, mixed), OTHERS),
        "an empty tensor, named behind one that begins at the same byte": (
            pack(behind, struct.pack("<qq", 7, -9)), steps,
        ),
        "int64 numbers that begin at byte 6": (
            pack(odd, struct.pack("<3eqq", 1, 2, 3, 7, -9)),
            {name: OTHERS[name] for name in ("half", "steps")},
        ),
        "a name with a blank and letters beyond ASCII": (
            pack(foreign, body_of(1, 2)), {"größe 1": ((2,), torch.float32)},
        ),
        "int64 numbers beyond 2**53": (
            pack(exact, struct.pack("<qq", 2**53 + 1, 1 - 2**63)), {"steps": OTHERS["steps"]},
        ),
        "large and very small numbers, finite ones": (
            pack(large, struct.pack("<3f3e", 3e38, 3e38, 1e-40, 6e4, 6e4, 6e-8)), wanted,
        ),
        "with __metadata__": (pack({"__metadata__": {"by": "me"}} | _plain(), NUMBERS), WANTED),
        "no tensor at all, and none is wanted": (pack({}, b""), {}),
        "a header padded with spaces": (
            pack(json.dumps(_plain()).encode() + b"   ", NUMBERS), WANTED,
        ),
    }  # fmt: skip


def bad_files() -> dict[str, tuple[bytes, dict, str]]:
    """Files to be refused: what each is about, its bytes, what is wanted, and words on why."""
    whole = pack(_plain(), NUMBERS)
    seven = body_of(1, 2, 3, 4, 5, 6, 7)
    wide = _plain() | {"extra": entry("F32", [1], 32, 36)}
    overlap = {"weight": entry("F32", [2, 3], 0, 24), "bias": entry("F32", [2], 16, 24)}
    late = {"weight": entry("F32", [2, 3], 4, 28), "bias": entry("F32", [2], 28, 36)}
    gap = {"weight": entry("F32", [2, 3], 0, 24), "bias": entry("F32", [2], 28, 36)}
    minus = {"weight": entry("F32", [2, 3], 0, 24), "bias": entry("F32", [2], -8, 0)}
    nan, endless = body_of(1, 2, 3, 4, 5, float("nan"), 7, 8), body_of(1, 2, float("inf"), *[0] * 5)
    files = {
        "no byte at all": (b"", "the first 8 bytes are missing"),
        "7 bytes": (whole[:7], "the first 8 bytes are incomplete"),
        "cut within the header": (whole[:40], "the header is shorter than the file says"),
        "cut within the numbers": (whole[:-3], "the last tensor isn't whole"),
        "a header of 2**63 bytes, it says": (
            pack(_plain(), NUMBERS, 2**63), "the header would end behind the file",
        ),
        "a header that isn't JSON": (pack(b"{weight: 1}", NUMBERS), "it can't be read"),
        "a header that isn't UTF-8": (pack(b'{"\xff\xfe": 1}', NUMBERS), "it can't be read"),
        "a header of 200,000 brackets": (
            pack(b"[" * 100_000 + b"]" * 100_000, NUMBERS), "JSON may be too deep to be read",
        ),
        "a header that is a list": (pack([1, 2], NUMBERS), "a dict was expected"),
        "a header that is a number": (pack(b"7", NUMBERS), "a dict was expected"),
        "an entry without a shape": (
            pack(_plain() | {"bias": {"dtype": "F32", "data_offsets": [24, 32]}}, NUMBERS),
            "not even the entry is whole",
        ),
        "one name too many": (pack(wide, NUMBERS + body_of(9)), "nobody wanted `extra`"),
        "a tensor named __hidden__ that nobody wanted": (
            pack(_plain() | {"__hidden__": entry("F32", [1], 32, 36)}, NUMBERS + body_of(9)),
            "of all names `__metadata__` alone isn't a tensor's",
        ),
        "one name too many, of an empty tensor": (
            pack(_plain() | {"extra": entry("F32", [0], 32, 32)}, NUMBERS),
            "nobody wanted `extra`, though it has no numbers",
        ),
        "offset where bias is wanted": (
            pack({"weight": entry("F32", [2, 3], 0, 24), "offset": entry("F32", [2], 24, 32)},
                 NUMBERS),
            "as many names, and one is another",
        ),
        "Bias where bias is wanted": (
            pack({"weight": entry("F32", [2, 3], 0, 24), "Bias": entry("F32", [2], 24, 32)},
                 NUMBERS),
            "a large letter is another letter",
        ),
        "model.weight where weight is wanted": (
            pack({"model.weight": entry("F32", [2, 3], 0, 24), "bias": entry("F32", [2], 24, 32)},
                 NUMBERS),
            "a name is all of it, what stands in front as well",
        ),
        "bias is missing": (
            pack({"weight": entry("F32", [2, 3], 0, 24)}, NUMBERS[:24]), "all names are wanted",
        ),
        "float16 where float32 is wanted": (
            pack(
                {"weight": entry("F32", [2, 3], 0, 24), "bias": entry("F16", [2], 24, 28)},
                NUMBERS[:28],
            ), "the dtype is not the one that was wanted",
        ),
        "shape (3, 2) where (2, 3) is wanted": (
            pack(_changed("weight", shape=[3, 2]), NUMBERS), "as many numbers, another shape",
        ),
        "shape (2, 4) where (2, 3) is wanted": (
            pack({"weight": entry("F32", [2, 4], 0, 32), "bias": entry("F32", [2], 32, 40)},
                 NUMBERS + body_of(9, 10)),
            "as many dimensions, and the second size is another",
        ),
        "shape (2, 3, 1) where (2, 3) is wanted": (
            pack(_changed("weight", shape=[2, 3, 1]), NUMBERS), "a size of 1 is a size as well",
        ),
        "two tensors over the same bytes": (pack(overlap, NUMBERS[:24]), "they overlap"),
        "bytes that belong to no tensor, between": (pack(gap, NUMBERS + body_of(9)), "a gap"),
        "bytes that belong to no tensor, in front": (
            pack(late, body_of(9) + NUMBERS), "a gap before the first tensor",
        ),
        "bytes that belong to no tensor, at the end": (pack(_plain(), NUMBERS + seven), "a rest"),
        "a negative offset": (pack(minus, NUMBERS[:24]), "offsets count from 0"),
        "offsets that don't fit the shape": (
            pack(_changed("bias", data_offsets=[24, 36]), NUMBERS + body_of(9)),
            "2 float32 numbers take 8 bytes",
        ),
        "offsets that are texts": (
            pack(_changed("bias", data_offsets=["24", "32"]), NUMBERS), "numbers were expected",
        ),
        "a nan among the numbers": (pack(_plain(), nan), "every number has to be finite"),
        "an infinite number": (pack(_plain(), endless), "every number has to be finite"),
        "an infinite number below 0": (
            pack(_plain(), body_of(1, 2, 3, 4, 5, 6, 7, float("-inf"))),
            "minus infinity isn't finite either",
        ),
    }  # fmt: skip
    half = pack({"half": entry("F16", [3], 0, 6)}, struct.pack("<3e", 1, float("inf"), 2))
    why = "every number has to be finite, those of float16 as well"
    found: dict[str, tuple[bytes, dict, str]] = {
        name: (content, WANTED, words) for name, (content, words) in files.items()
    }
    places = {"one": (0, 8), "two": (4, 12), "three": (16, 24)}
    balanced = {name: entry("F32", [2], *place) for name, place in places.items()}
    found["a number in two tensors, and another one in none"] = (
        pack(balanced, NUMBERS[:24]), {name: ((2,), torch.float32) for name in places},
        "their lengths add up to the file's, and yet two overlap",
    )  # fmt: skip
    found["an infinite float16"] = (half, {"half": OTHERS["half"]}, why)
    found["bfloat16 where float16 is wanted"] = (
        pack({"half": entry("BF16", [3], 0, 6)}, bytes(6)), {"half": OTHERS["half"]},
        "as many bytes a number, and another dtype",
    )  # fmt: skip
    found["a dtype that `load` doesn't know"] = (
        pack({"half": entry("F6_E2M3", [4], 0, 3)}, bytes(3)), {"half": OTHERS["half"]},
        "the file is whole; its numbers have six bits, and PyTorch has no such dtype",
    )  # fmt: skip
    for words, kind, there in (
        ("int64 where float32 is wanted", "I64", torch.float32),
        ("float32 where int64 is wanted", "F32", torch.int64),
    ):
        size = KINDS[kind].itemsize
        found[words] = (
            pack({"one": entry(kind, [2], 0, 2 * size)}, bytes(2 * size)), {"one": ((2,), there)},
            "the dtype is not the one that was wanted, though 0 is 0 in both",
        )  # fmt: skip
    found["a name with a blank behind it"] = (
        pack({"one ": entry("F32", [1], 0, 4)}, body_of(3)), {"one": ((1,), torch.float32)},
        "a blank is a letter as well",
    )  # fmt: skip
    found["an empty tensor that begins behind the last byte"] = (
        pack({"none": entry("F32", [0, 4], 8, 8)}, b""), {"none": OTHERS["none"]},
        "it has no numbers, and its offsets are untrue all the same",
    )  # fmt: skip
    found["a nan alone, without dimensions"] = (
        pack({"scale": entry("F32", [], 0, 4)}, body_of(float("nan"))), {"scale": OTHERS["scale"]},
        "every number has to be finite, a single one as well",
    )  # fmt: skip
    for here, there in (([], [1]), ([1], [])):
        found[f"shape {tuple(here)} where {tuple(there)} is wanted"] = (
            pack({"one": entry("F32", here, 0, 4)}, body_of(3)),
            {"one": (tuple(there), torch.float32)},
            "a tensor without dimensions and one of one entry have different shapes",
        )
    found["an empty header, ten bytes long, it says"] = (
        pack({}, b"", 10), {}, "the header is shorter than the file says; nothing is wanted here",
    )  # fmt: skip
    return found


def try_loader(loader: Callable, name: str) -> dict[str, Any]:
    """Load one of the files: plain values of what came, or the words of what was raised."""
    content, wanted = (good_files() | bad_files())[name][:2]
    before, asked = bytes(bytearray(content)), dict(wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.frombuffer warns that bytes can't be written
        try:
            found = loader(content, asked)
        except Exception as error:
            return {"raised": type(error).__name__, "value": isinstance(error, ValueError),
                    "words": str(error).strip()}  # fmt: skip
    if not isinstance(found, dict):
        return {"kind": type(found).__name__}
    said: dict[str, Any] = {"wanted is as before": asked == wanted, "tensors": {}}
    for key, value in found.items():
        if not isinstance(value, torch.Tensor):
            said["tensors"][str(key)] = type(value).__name__
            continue
        said["tensors"][str(key)] = (tuple(value.shape), str(value.dtype), value.tolist())
        if value.numel() and not value.is_inference():
            value.detach().zero_()
    said["content is as before"] = content == before
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        said["again"] = {k: v.tolist() for k, v in loader(content, asked).items()}
    tensors = [one for one in found.values() if isinstance(one, torch.Tensor)]
    said["first is as before"] = not any(one.any() for one in tensors if not one.is_inference())
    return said


@ends_in_notebook
def check_loaded(name: str, said: dict[str, Any]) -> None:
    """Check what :func:`try_loader` says of a good file."""
    __tracebackhide__ = True
    content, wanted = good_files()[name]
    assert "raised" not in said, (
        f"this file is sound, and {said.get('raised')} was raised: {said.get('words')}"
        + ("; an empty tensor ends where it begins" if "same byte" in name else "")
    )
    assert "kind" not in said, (
        f"a {said.get('kind')} came back, not a dict: is there an answer yet?"
    )
    tensors = said["tensors"]
    assert set(tensors) == set(wanted), (
        f"the names are {sorted(tensors)}, wanted were {sorted(wanted)}"
    )
    for key, (shape, kind, values) in _truth(content).items():
        got = tensors[key]
        assert isinstance(got, tuple), f"`{key}` is of type {got}, not a tensor"
        assert got[0] == shape, f"`{key}` has shape {got[0]}, expected {shape}"
        assert got[1] == kind, f"`{key}` has dtype {got[1]}, expected {kind}"
        assert "2**53" not in name or got[2] == values, (
            f"`{key}` holds {got[2]}, expected {values}: floating-point numbers don't hold every "
            "int64; leave them int64 all the way"
        )
        assert got[2] == values, (
            f"`{key}` holds other numbers: each tensor's offsets count from the end of the header, "
            "and say where its bytes are, whatever the order of the names"
        )
    assert said["content is as before"], (
        "writing into a tensor changed the bytes object: the tensor needs memory that it owns"
    )
    assert said["wanted is as before"], "the argument `wanted` was changed"
    same = said.get("again") == {key: values for key, (*_, values) in _truth(content).items()}
    apart = same and said["first is as before"]
    assert apart, (
        "a second call for the same file gave the tensors of the first one, which the caller had "
        "set to zero, or wrote into them: each call makes its own"
    )


def _truth(content: bytes) -> dict[str, tuple]:
    (length,) = struct.unpack("<Q", content[:8])
    header, body = json.loads(content[8 : 8 + length]), content[8 + length :]
    header.pop("__metadata__", None)
    result = {}
    for name, one in header.items():
        kind, part = KINDS[one["dtype"]], body[slice(*one["data_offsets"])]
        values = torch.frombuffer(bytearray(part), dtype=kind) if part else torch.empty(0)
        values = values.to(kind).view(one["shape"])
        result[name] = (tuple(one["shape"]), str(kind), values.tolist())
    return result


@ends_in_notebook
def check_refused(name: str, said: dict[str, Any]) -> None:
    """Check what :func:`try_loader` says of a bad file: a ``ValueError`` with words."""
    __tracebackhide__ = True
    why = bad_files()[name][2]
    if said.get("kind") == "NoneType":
        raise AssertionError("None came back: is there an answer yet?")
    assert "raised" in said, f"this file was loaded ({why})"
    assert said["value"], f"{said['raised']} was raised, not a ValueError ({why})"
    assert said["words"], "the ValueError has no words: say what is wrong with the file"


def draw_bytes(content: bytes) -> None:
    """Draw a small file as a row of its parts, with what each of them is."""
    import matplotlib.pyplot as plt

    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    parts = [("8 bytes:\nhow long the\nheader is", 8, 2.0), ("header: JSON", length, 4.0)]
    parts += [
        (f"{name}\n{one['dtype']} {tuple(one['shape'])}", one["data_offsets"], 2.4)
        for name, one in header.items()
    ]
    figure, ax = plt.subplots(figsize=(9, 1.9))
    x = 0.0
    for (label, size, width), tint in zip(parts, TINTS, strict=False):
        ax.barh(0, width, left=x, color=tint, edgecolor="black", height=0.9)
        ax.text(x + width / 2, 0, label, ha="center", va="center", fontsize=9)
        words = f"{size} bytes" if isinstance(size, int) else f"offsets {size[0]} to {size[1]}"
        ax.text(x + width / 2, 0.56, words, ha="center", va="bottom", fontsize=8, color=LINES[0])
        x += width
    ax.annotate("offsets count from here", (6.0, -0.46), (6.0, -0.85), ha="center", fontsize=8,
                arrowprops={"arrowstyle": "->", "color": FAINT})  # fmt: skip
    ax.set(ylim=(-1.0, 0.85), xlim=(-0.05, x + 0.05))
    ax.axis("off")
    show(figure, "A file in a row: 8 bytes that say how long the header is, the header in JSON, "
         "then the bytes of each tensor; offsets count from the end of the header.")  # fmt: skip
