"""What a run consists of, as plain values to compare."""

from __future__ import annotations

import random

import numpy as np
import torch
from torch.utils._pytree import tree_map


def frozen(value: object) -> str:
    """A text that is the same for the same tensors, arrays and numbers."""

    def plain(leaf):
        return leaf.tolist() if isinstance(leaf, (torch.Tensor, np.ndarray)) else leaf

    return repr(tree_map(plain, value))


def not_plain(state: object, where: str = "state") -> list[str]:
    """Where in a state there is what a plain ``torch.load`` refuses, and what it is."""
    if isinstance(state, dict):
        parts = [(f"{where}[{key!r}]", value) for key, value in state.items()]
    elif isinstance(state, (list, tuple)):
        parts = [(f"{where}[{n}]", value) for n, value in enumerate(state)]
    elif isinstance(state, (np.ndarray, np.generic)):
        return [f"{where} is NumPy's {type(state).__name__}: turn it into plain numbers, tolist()"]
    else:
        plain = state is None or isinstance(state, (torch.Tensor, int, float, complex, str, bytes))
        return [] if plain else [f"{where} is a {type(state).__name__}"]
    return [words for path, value in parts for words in not_plain(value, path)]


def parts_of(run) -> dict[str, str]:
    """Everything that decides how a run continues."""
    numpy = np.random.get_state(legacy=False)
    held = {id(p) for group in run.optimizer.param_groups for p in group["params"]}
    return {
        "the optimizer's hold on the model's parameters: they are other objects": frozen(
            held == {id(p) for p in run.model.parameters()}
        ),
        "the scheduler's hold on the optimizer: it is another object": frozen(
            run.scheduler.optimizer is run.optimizer
        ),
        "the model": frozen(dict(run.model.named_parameters())),
        "the model's buffers, such as batch norm's": frozen(dict(run.model.named_buffers())),
        "the optimizer": frozen(run.optimizer.state_dict()["state"]),
        "the optimizer's settings": frozen(
            [
                {k: v for k, v in group.items() if k not in ("params", "lr")}
                for group in run.optimizer.param_groups
            ]
        ),
        "the learning rate": frozen([group["lr"] for group in run.optimizer.param_groups]),
        "the scheduler": frozen(run.scheduler.state_dict()),
        "the scaler": frozen(run.scaler.state_dict()),
        "the generator that shuffles": frozen(run.generator.get_state()),
        "the order of this epoch and the position in it": frozen(
            (run.order[run.position :], min(run.position, 0))
        ),
        "Python's random state": frozen(random.getstate()[:2]),
        "the normal number that Python keeps in reserve": frozen(random.getstate()[2:]),
        "NumPy's random state": frozen(numpy["state"]),
        "the normal number that NumPy keeps in reserve": frozen(
            (numpy["has_gauss"], numpy["gauss"])
        ),
        "PyTorch's random state": frozen(torch.get_rng_state()),
    }
