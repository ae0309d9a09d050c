"""Two files that leave the project: weights alone, and a program that needs none of its code."""

import json
from pathlib import Path

import torch
import torch.nn as nn
from safetensors.torch import load_file, save_file

from .folder import SIDE
from .model import build_model


def save_weights(model: nn.Module, folder: str | Path, width: int) -> None:
    """Write ``model.safetensors`` and ``config.json``, as on a hub."""
    state = {name: value.contiguous() for name, value in model.state_dict().items()}
    save_file(state, Path(folder) / "model.safetensors")
    (Path(folder) / "config.json").write_text(json.dumps({"width": width}))


def load_weights(folder: str | Path) -> nn.Module:
    """The model that ``save_weights`` wrote, in evaluation mode."""
    model = build_model(**json.loads((Path(folder) / "config.json").read_text()))
    model.load_state_dict(load_file(Path(folder) / "model.safetensors"))
    return model.eval()


def export_program(model: nn.Module, file: str | Path) -> None:
    """Write a ``.pt2`` program for batches of any size from 1."""
    example = torch.zeros(2, 3, SIDE, SIDE)
    shapes = ({0: torch.export.Dim("batch", min=1)},)
    program = torch.export.export(model.eval(), (example,), dynamic_shapes=shapes)
    torch.export.save(program, file)
