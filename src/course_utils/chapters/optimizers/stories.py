"""Exercise 11.1: what the calls of a training step leave behind."""

from __future__ import annotations

from typing import Any, cast

import torch
import torch.nn as nn

from course_utils.learner.devices import device


def tell_story(name):
    """Let the machine do what a line of the exercise says; what is then to be seen."""
    # b: backward, s: step, z: zero_grad, 0: zero_grad that writes zeros, n: a new Parameter
    stories = {
        "grad after two backwards": "bb",
        "zero_grad() leaves a tensor of zeros": "bz",
        "w after two steps, cleared in between": "bszbs",
        "w after two steps, never cleared": "bsbs",
        "w when cleared between backward and step": "bzs",
        "a cleared weight moves on, momentum 0.9": "bszs",
        "the same after zero_grad(set_to_none=False)": "bs0s",
        "a Parameter made after the optimizer moves": "nbs",
    }
    w: Any = nn.Parameter(torch.tensor(1.0, device=device))
    optimizer = torch.optim.SGD([w], lr=0.25, momentum=0.9 * (stories[name] in ("bszs", "bs0s")))
    for call in stories[name]:
        before = w.item()
        w = cast(Any, nn.Parameter)(w.detach().clone()) if call == "n" else w
        if call == "b":
            (2 * w).backward()
        elif call == "s":
            optimizer.step()
        elif call in "z0":
            optimizer.zero_grad(call == "z")
    if name.startswith(("a ", "the same")):
        return w.item() != before
    seen = {"grad": lambda: w.grad.item(), "zero": lambda: w.grad is not None}
    return seen.get(name[:4], w.item)()
