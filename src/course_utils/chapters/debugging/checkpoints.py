"""Exercise 15.9: checkpoints, most of them spoilt."""

from __future__ import annotations

import argparse
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn as nn

from course_utils.chapters.debugging.findings import check_finding, was_used_before
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook


class Payload:
    """A pickle of this makes a folder when it is loaded without care."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.target),)


def small_model() -> nn.Module:
    """Three layers with buffers among them; the same weights every time.

    One of the buffers is in no state dict.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).to(device)
    model[1].eval()
    model[1].register_buffer("not_saved", torch.zeros(2, device=device), persistent=False)
    return was_used_before(model)


def write_checkpoint(kind: str, path: Path) -> None:
    """A file of some kind; the weights in it are the small model's plus one."""
    state: Any = small_model().state_dict()  # an OrderedDict
    for name, value in [*state.items()]:
        state[name] = value.cpu() + 1
    torch.save(state, path)
    whole = path.read_bytes()
    if kind == "one name missing, one too many":
        state["2.offset"] = state.pop("2.bias")
    if kind == "two names missing, two too many":
        state["0.offset"], state["1.offset"] = state.pop("1.bias"), state.pop("2.bias")
    if kind == "a prefix":
        state = {f"module.{name}": value for name, value in state.items()}
    if kind in ("other shapes", "keys and shapes"):
        state["2.weight"], state["0.bias"] = torch.zeros(7, 4), torch.zeros(4, 1)
        state["0.weight"], state["2.bias"] = torch.zeros(3, 4), torch.zeros(1)
    if kind == "keys and shapes":
        state["extra"] = torch.zeros(1)
    if kind == "a counter of one dimension":
        state["1.num_batches_tracked"] = state["1.num_batches_tracked"].view(1)
    content = {
        "epoch and weights": {"epoch": 3, "state_dict": state, "model": state},
        "weights and an epoch": {**state, "epoch": 3},
        "a plain dict": dict(state),
        "names in another order": dict(reversed(state.items())),
        "weights in float64": {
            name: value.double() if value.is_floating_point() else value
            for name, value in state.items()
        },
        "weights in transposed memory": {
            name: value.mT.contiguous().mT if value.dim() == 2 else value
            for name, value in state.items()
        },
        "parameters among the values": {
            name: nn.Parameter(value) if value.is_floating_point() else value
            for name, value in state.items()
        },
        "a number among the names": {**state, 7: torch.zeros(1)},
        "numbers for names": dict(enumerate(state.values())),
        "numbers": dict.fromkeys(state, 1.0),
        "a list": [*state.values()],
        "an empty dict": {},
        "arguments": (arguments := {"weights": state, "args": argparse.Namespace(lr=1)}),
        "arguments in the old format": arguments,
        "a payload": {"weights": Payload(path.with_suffix(".opened"))},
        "a whole module": nn.Linear(3, 4),
    }
    old = "the old format" in kind
    torch.save(content.get(kind, state), path, _use_new_zipfile_serialization=not old)
    spoilt: dict[str, bytes] = {
        "cut short": whole[: len(whole) // 2],
        "its last bytes lost": whole[:-9],
        "empty": b"",
        "a web page": b"<!DOCTYPE html><html></html>",
        "a table of losses": b"epoch,loss\n1,0.5\n",
        "a spoilt pickle": whole.replace(b"\x80\x02ccoll", b"h\xffccoll"),
    }
    if kind == "a wrong checksum":
        with zipfile.ZipFile(path) as archive:
            ends = [archive.read(name) for name in archive.namelist() if name.endswith("_id")]
        spoilt[kind] = whole.replace(ends[0], ends[0][::-1])  # an entry without weights
    if kind == "an archive of NumPy's":
        with path.open("wb") as file:
            np.savez(file, weight=np.ones(3))
    if kind in ("no file", "a folder"):
        path.unlink()
    if kind == "a folder":
        path.mkdir()
    if kind in spoilt:
        path.write_bytes(spoilt[kind])


# Files of an unusual kind: as cases of the check.
UNUSUAL_FILES: list[tuple] = [
    ("no file", "unreadable", [], "FileNotFoundError: there is no zip archive either"),
    ("a folder", "unreadable", [], "a folder is no zip archive"),
    (
        "arguments in the old format",
        "unreadable",
        [],
        "torch.load refuses it; it is no zip archive",
    ),
    (
        "two names missing, two too many",
        "keys",
        ["0.offset", "1.bias", "1.offset", "2.bias"],
        "names of both kinds",
    ),
    ("a number among the names", "no state dict", [], "all keys are strings but the last, 7"),
    ("a whole module", "refused", [], "a zip archive that names a class"),
    ("a table of losses", "unreadable", [], "an IndexError: any class counts"),
    ("a spoilt pickle", "refused", [], "a KeyError: any class counts; it is a zip archive"),
    ("a counter of one dimension", "shapes", ["1.num_batches_tracked"], "(1,) is not ()"),
]


def not_saved(answer: Any) -> str:
    """Words for an answer that asks for the buffer that no state dict has."""
    return "state_dict() leaves 1.not_saved out" if "1.not_saved" in str(answer) else ""


@ends_in_notebook
def check_load(outcome: tuple, verdict: str, names: list[str], because: str) -> None:
    """Check what was said of a checkpoint that must not be loaded.

    Args:
        outcome: the answer, the weights before and after, what else of the model changed, and
            whether the program inside the file was run.
        verdict: the right verdict.
        names: the names that it is about.
        because: words for who gave another verdict.

    Raises:
        AssertionError: the answer is wrong, the model was changed, or the program ran.
    """
    __tracebackhide__ = True
    answer, before, after, changed, opened = outcome
    assert answer is not None, "it returned None: is there an answer yet?"
    assert not opened, "the program inside the file was run: leave weights_only on"
    if isinstance(answer, (list, tuple)) and [*answer[:1]] == [verdict]:
        every = {"keys": "names of both kinds, missing and too many", "shapes": "every such name"}
        counter = names == sorted(before)
        because = every.get(verdict, "")
        if counter:
            because = "all are missing, the BatchNorm's counter as well"
        if isinstance(answer[-1], (list, tuple)) and sorted(map(str, answer[-1])) == names:
            because = "the names are right, but not sorted"
    check_finding(answer, (verdict, names), "the answer", not_saved(answer) or because)
    touched = [name for name in before if not torch.equal(before[name], after[name])]
    said = "load_state_dict copies what fits before it raises"
    assert not touched, f"the model was changed, in {touched[0]}: {said}"
    assert not changed, f"the model was changed: {', '.join(changed)}"
