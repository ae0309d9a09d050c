"""Exercise 19.6: serving transforms with known faults, and a parity test that has to find them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

from course_utils.chapters.deployment.detector import SIDE, prepare
from course_utils.learner.tracebacks import ends_in_notebook

FAULTS = ("channel order", "scale", "antialias", "mode")
# What training's values go through where they aren't from 0 to 1: a factor, and what is added.
RANGES: dict[str, tuple[float, float]] = {
    "-1 to 1 in training": (2, -1),
    "0 to 255 in training": (255, 0),
    "0 to 0.01 in training": (0.01, 0),
    "-0.5 to 0.5 in training": (1, -0.5),
    "-1 to 0 in training": (1, -1),
}

# The servers of the visible check: which faults they have, and of what kind.
SERVERS: list[tuple[list[str], str]] = [
    ([], "sound"),
    ([], "float"),
    ([], "float rounded"),
    ([], "blue first"),
    ([], "-1 to 1 in training"),
    (["scale"], "-1 to 1 in training"),
    ([], "rounded, 0 to 255 in training"),
    (["channel order"], ""),
    (["scale"], "bytes"),
    (["scale"], "signed"),
    (["antialias"], "nearest"),
    (["antialias"], "thin"),
    (["mode"], "crash"),
    (["mode"], "palette"),
    (["mode"], "alpha"),
    (["mode"], "grey"),
    (["mode"], "blend"),
    (["mode"], "blend over black"),
    (["mode"], "alpha, 0 to 0.01 in training"),
    (["channel order", "scale"], "signed"),
    (["scale", "antialias"], "bytes thin"),
    (["mode", "scale"], "bytes palette"),
    (list(FAULTS), "signed nearest crash"),
    (["scale"], "-0.5 to 0.5 in training"),
    ([], "rounded, -1 to 0 in training"),
    ([], "double"),
    ([], "transposed in memory"),
    (["scale"], "narrow"),
    (["channel order", "scale"], "narrow"),
    (["mode"], "crash by a KeyError"),
    (["mode"], "faded"),
    (["mode"], "dim"),
    (["mode"], "L unknown"),
    ([], "L off by one"),
    (["mode"], "P shrunk"),
    (["mode"], "RGBA shrunk"),
    (["scale"], "bytes, L off by one"),
    (["mode", "scale"], "palette, 0 to 255 in training"),
]


def transform(
    faults: Collection[str] = (), kind: str = ""
) -> Callable[[Image.Image], torch.Tensor]:
    """A serving transform with these faults; ``kind`` picks among the ways to make them.

    Kinds: ``"bytes"``, ``"signed"`` or ``"narrow"`` for the scale, ``"nearest"`` or ``"thin"``
    for the resizing, ``"crash"``, ``"crash by a KeyError"``, ``"palette"``, ``"alpha"``,
    ``"grey"``, ``"faded"``, ``"dim"``, ``"L unknown"``, ``"blend"`` or ``"blend over black"`` for
    the mode, and ``"P shrunk"`` or ``"RGBA shrunk"``, made small before it is converted. No faults
    are ``"float"`` for resizing in float32 with antialias (it rounds elsewhere), ``"rounded"`` for
    values that are off by two of 255, ``"L off by one"`` for the same in one mode, ``"double"``
    for float64, ``"transposed"`` for strides.
    """

    def serve(picture: Image.Image) -> torch.Tensor:
        off = 1 if "L off by one" in kind and picture.mode == "L" else 0
        lost = "mode" in faults and "unknown" in kind and picture.mode == "L"
        if "shrunk" in kind or "unknown" in kind:
            if "shrunk" in kind and "mode" in faults and kind.startswith(f"{picture.mode} "):
                picture = picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR)
            picture = picture.convert("RGB")
        x = _channels(picture, "mode" in faults, kind)
        if "antialias" in faults and "nearest" in kind:
            small = F.interpolate(x[None].float(), (SIDE, SIDE), mode="nearest")[0]
        elif "antialias" in faults or "float" in kind:
            small = F.interpolate(
                x[None].float(), (SIDE, SIDE), mode="bilinear", antialias="antialias" not in faults
            )[0]
        else:
            resized = [
                Image.fromarray(channel.numpy()).resize((SIDE, SIDE), Image.Resampling.BILINEAR)
                for channel in x
            ]
            small = torch.stack([torch.from_numpy(np.array(one)) for one in resized]).float()
        if "channel order" in faults:
            small = small.flip(0)
        if "rounded" in kind:
            small = small + 2
        small = small + off
        if lost:
            small = torch.full_like(small, torch.nan)
        if "double" in kind:
            small = small.double()
        if "transposed" in kind:
            small = small.mT.contiguous().mT
        if "scale" not in faults:
            return small / 255
        if "narrow" in kind:
            return 0.25 + small / 510
        return small / 127.5 - 1 if "signed" in kind else small

    return serve


def _channels(picture: Image.Image, faulty: bool, kind: str) -> torch.Tensor:
    """(3, height, width), uint8; a faulty one looks away from the picture's mode."""
    # The only mode that goes wrong.
    alone = {"palette": "P", "grey": "L", "faded": "L", "dim": "L", "blend": "RGBA"}
    if not faulty or any(picture.mode != mode and word in kind for word, mode in alone.items()):
        picture = picture.convert("RGB")
    if picture.mode == "RGB":
        return torch.from_numpy(np.array(picture)).permute(2, 0, 1)
    if "blend" in kind:  # right where nothing is transparent
        paper = Image.new("RGBA", picture.size, "black" if "black" in kind else "white")
        picture = Image.alpha_composite(paper, picture).convert("RGB")
        return torch.from_numpy(np.array(picture)).permute(2, 0, 1)
    if "alpha" in kind:  # right for all but RGBA, whose channels it takes one too late
        if picture.mode != "RGBA":
            return torch.from_numpy(np.array(picture.convert("RGB"))).permute(2, 0, 1)
        return torch.from_numpy(np.array(picture)).permute(2, 0, 1)[1:]
    values = np.array(picture)
    if values.ndim == 2 and "palette" in kind:
        return torch.from_numpy(values).expand(3, -1, -1)
    if "faded" in kind or "dim" in kind:
        values = values // 2 + (128 if "faded" in kind else 0)
        return torch.from_numpy(values).expand(3, -1, -1)
    if "KeyError" in kind:
        raise KeyError(picture.mode)
    raise RuntimeError(f"expected three channels, got an array of shape {values.shape}")


def try_parity_test(parity: Callable, faults: Collection[str], kind: str) -> Any:
    """What the answer says of a transform with these faults: a sorted list, or words."""
    train = prepare
    if "blue first" in kind:  # training itself has blue first, and so the sound server has
        train = lambda picture: prepare(picture).flip(0)  # noqa: E731
        faults = set(faults) ^ {"channel order"}
    serve = transform(faults, kind)
    words = next((words for words in RANGES if kind.endswith(words)), None)
    if words is not None:
        factor, plus = RANGES[words]
        train = lambda picture: prepare(picture) * factor + plus  # noqa: E731
        plain = transform(set(faults) - {"scale"}, kind)
        # What was 0 to 1 is a fault of the scale here; what is sound has training's range.
        serve = plain if "scale" in faults else lambda picture: plain(picture) * factor + plus
    state = torch.get_rng_state(), np.random.get_state()
    try:
        found = parity(train, serve)
    except Exception as error:
        return f"raised {type(error).__name__}: {str(error)[:120]}"
    finally:
        torch.set_rng_state(state[0])
        np.random.set_state(state[1])
    if isinstance(found, (set, frozenset)):
        return sorted(map(str, found))
    return f"a {type(found).__name__} came back, not a set" + (
        ": is there an answer yet?" if found is None else ""
    )


@ends_in_notebook
def check_found(found: Any, faults: Collection[str], kind: str = "") -> None:
    """Check what :func:`try_parity_test` says against the faults that were made."""
    __tracebackhide__ = True
    raises = "crash" in kind or "grey" in kind
    raised = isinstance(found, str) and found.startswith("raised") and raises
    assert not isinstance(found, str), found + (
        "; the server raises that for a picture of this mode, and any exception is a fault"
        if raised
        else ""
    )
    strange = [name for name in found if name not in FAULTS]
    assert not strange, f"the set holds {strange}; the names are {', '.join(FAULTS)}"
    ways = {
        "nearest": "nearest pixel",
        "thin": "bilinear without antialias",
        "signed": "-1 to 1",
        "narrow": "0.25 to 0.75, with the same grey in the middle",
        "faded": "L alone, which comes too light: only its white is right",
        "dim": "L alone, which comes too dark: only its black is right",
        "bytes": "0 to 255",
        "alpha": "RGBA alone",
        "grey": "L alone",
        "blend": "RGBA alone, and only where it is transparent",
        "over black": "black shows through there",
        "0 to 0.01 in training": "training has 0 to 0.01 here, and 0.02 of that are 0.0002",
        "-1 to 1 in training": "training has -1 to 1 here; compare with `train`",
        "-0.5 to 0.5 in training": "training has -0.5 to 0.5 here, and 0 to 1 is as wide; compare "
        "black with black, and white with white",
        "palette": "P alone",
        "unknown": "L alone, for which it gives NaN; a NaN is no number that is too far off: ask "
        "whether all are near enough",
        "P shrunk": "P alone, made small before it is converted; a large picture shows it",
        "RGBA shrunk": "RGBA alone, made small before it is converted; a large picture with "
        "opaque and transparent places shows it",
    }
    how = ", ".join(words for key, words in ways.items() if key in kind)
    missed = [name for name in FAULTS if name in faults and name not in found]
    extra = [name for name in found if name not in faults]
    if extra and not faults and "float" in kind:
        raise AssertionError(
            f"{', '.join(extra)}: this server resizes in float32 and so differs by rounding alone"
        )
    if extra and "off by one" in kind:
        raise AssertionError(
            f"{', '.join(extra)}: for mode L this server is off by one of 255, which is rounding; "
            "compare by the server's own range"
        )
    if extra and not faults and "blue first" in kind:
        raise AssertionError(
            f"{', '.join(extra)}: training has blue first here, and the server does the same; "
            "compare with `train`, not with what you know of it"
        )
    for words in [one for one in RANGES if kind.endswith(one) and extra and not faults]:
        raise AssertionError(
            f"{', '.join(extra)}: training has values from {words.removesuffix(' in training')} "
            "here, and the server does the same"
            + (", up to rounding: less than 0.02 of that range" if "rounded" in kind else "")
            + "; compare with `train`, not with what you know of it"
        )
    assert not missed, (
        f"not found: {', '.join(missed)}"
        + (f" ({how})" if how else "")
        + ("; it has to be seen through the other faults" if len(faults) > 1 else "")
    )
    assert not extra, (
        f"found, though it isn't there: {', '.join(extra)}; "
        + ("another fault was taken for it" if faults else "the two are the same")
        + (f": {how}" if how else "")
    )
