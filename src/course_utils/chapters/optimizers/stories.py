"""Exercise 11.1: what the calls of a training step leave behind."""

from __future__ import annotations

from typing import Any, cast

import torch
import torch.nn as nn

from course_utils.learner.devices import device


def tell_story(name):
    """Let the machine do what a line of the exercise says; what is then to be seen."""
    # b: backward, s: step, z: zero_grad, n: a new Parameter
    stories = {
        "grad after two backwards": "bb",
        "zero_grad() leaves a tensor of zeros": "bz",
        "w after two steps, cleared in between": "bszbs",
        "w after two steps, never cleared": "bsbs",
        "w when cleared between backward and step": "bzs",
        "a Parameter made after the optimizer moves": "nbs",
    }
    w: Any = nn.Parameter(torch.tensor(1.0, device=device))
    optimizer = torch.optim.SGD([w], lr=0.25)
    for call in stories[name]:
        before = w.item()
        w = cast(Any, nn.Parameter)(w.detach().clone()) if call == "n" else w
        if call == "b":
            (2 * w).backward()
        elif call == "s":
            optimizer.step()
        elif call == "z":
            optimizer.zero_grad()
    if name.startswith("a "):
        return w.item() != before
    seen = {"grad": lambda: w.grad.item(), "zero": lambda: w.grad is not None}
    return seen.get(name[:4], w.item)()
