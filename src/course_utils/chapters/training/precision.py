"""Exercise 13.7: the dtypes and scales of a mixed-precision step."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F


def seen_dtypes() -> list:
    """The dtypes that the machine gives."""
    a = b = torch.ones(3, 3)
    d, layer = a.double(), nn.Linear(3, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h = a @ b
        found = [h, a + b, h.relu(), h + a, d @ d, layer(a), layer.weight, F.mse_loss(h, a)]
    found += [h + h, a @ b]
    return [str(value.dtype)[6:] for value in found]


def seen_scales() -> list:
    """The first gradient, the scales and the last weight, as the machine gives them."""
    weight: Any = nn.Parameter(torch.tensor(1.0))
    optimizer, trace = torch.optim.SGD([weight], lr=1.0), []
    scaler = torch.amp.GradScaler("cpu", init_scale=16.0, growth_interval=2)
    for slope in (0.25, float("inf"), 0.25, 0.25, float("nan")):
        optimizer.zero_grad()
        scaler.scale(weight * slope).backward()
        trace += [weight.grad.item()] if not trace else []
        scaler.step(optimizer)
        scaler.update()
        trace.append(scaler.get_scale())
    return [*trace, weight.item()]


BECAUSE = {
    "a @ b": "a product is on the list of what runs in half",
    "a + b": "a sum is on no list: it takes the dtype of what it gets",
    "h.relu()": "relu is on no list, and h is bfloat16",
    "h + a": "on no list, and of two dtypes the ordinary promotion takes the wider",
    "d @ d": "autocast touches float32 only, never float64",
    "layer(a)": "linear is a product: input and weight are cast",
    "layer.weight": "the weight itself is never cast in place; a cast copy is used",
    "F.mse_loss(h, a)": "losses are on the list of what runs in float32",
}


BECAUSE |= {
    "h + h, after the block": "h keeps its dtype when the block ends",
    "a @ b, after the block": "outside of the block nothing is cast",
    ".grad after the first backward()": "the loss was multiplied by the scale, 16, so its "
    "gradient was too",
    "scale after step 1": "one good step; it grows after two in a row",
    "scale after step 2": "infinity: halved, and the count of good steps starts again",
    "scale after step 3": "one good step since the overflow",
    "scale after step 4": "two good steps in a row: doubled",
    "scale after step 5": "NaN counts like infinity: halved",
    "weight at the end": "three good steps of 0.25 each; the skipped ones leave it, and the "
    "scale is divided out",
}


def amp_plain(given):
    """The predictions, with dtypes as the names that PyTorch has for them."""
    if not isinstance(given, dict):
        return given
    short = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64"}
    short |= {"half": "float16", "float": "float32", "double": "float64"}
    dtypes = {k: v for k, v in given.items() if isinstance(v, (str, torch.dtype))}
    names = {key: str(value).removeprefix("torch.").strip() for key, value in dtypes.items()}
    return given | {key: short.get(name, name) for key, name in names.items()}
