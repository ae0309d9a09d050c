"""Exercise 15.9: checkpoints, most of them spoilt."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import torch
import torch.nn as nn

from course_utils.learner.devices import device


class Payload:
    """A pickle of this makes a folder when it is loaded without care."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.target),)


def small_model() -> nn.Module:
    """Three layers with buffers among them; the same weights every time."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).to(device)


def write_checkpoint(kind: str, path: Path) -> None:
    """A file of some kind; the weights in it are the small model's plus one."""
    state = {name: value.cpu() + 1 for name, value in small_model().state_dict().items()}
    torch.save(state, path)
    whole = path.read_bytes()
    if kind == "one name missing, one too many":
        state["2.offset"] = state.pop("2.bias")
    if kind == "a prefix":
        state = {f"module.{name}": value for name, value in state.items()}
    if kind in ("two other shapes", "keys and shapes"):
        state["2.weight"], state["0.bias"] = torch.zeros(7, 4), torch.zeros(4, 1)
    if kind == "keys and shapes":
        state["extra"] = torch.zeros(1)
    content = {
        "epoch and weights": {"epoch": 3, "weights": state},
        "numbers": dict.fromkeys(state, 1.0),
        "a list": [*state.values()],
        "an empty dict": {},
        "arguments": {"weights": state, "args": argparse.Namespace(lr=1)},
        "a payload": {"weights": Payload(path.with_suffix(".opened"))},
        "a whole module": nn.Linear(3, 4),
    }
    torch.save(
        content.get(kind, state), path, _use_new_zipfile_serialization=kind != "the old format"
    )
    spoilt: dict[str, bytes] = {
        "cut short": whole[: len(whole) // 2],
        "its last bytes lost": whole[:-9],
        "empty": b"",
        "a web page": b"<!DOCTYPE html><html></html>",
    }
    if kind in spoilt:
        path.write_bytes(spoilt[kind])
