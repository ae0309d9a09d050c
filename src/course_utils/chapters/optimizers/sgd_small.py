"""SGD as an optimizer, on a few small parameters of rare shapes."""

from __future__ import annotations

import torch
import torch.nn as nn

from course_utils.learner.checks import check_close
from course_utils.learner.devices import device

SGD_SMALL = {  # what is more in each run of a few parameters
    "parameters of rare shapes, and gradients that are infinite or NaN": {},
    "a group to which OneCycleLR has added max_lr": {"max_lr": 0.2},
    "a group whose rate is 0 in the second step": {"resting": True},
}


def run_small(kind, resting=False, **more):
    """Parameters of no dimension, of one row and of no number, in float32, after three steps.

    A fourth has a gradient with an infinity, and one with a NaN. With ``resting`` the second step's
    rate is 0; what is ``more`` goes into the group.
    """
    shapes = ((), (1, 3), (0, 2), (3,))
    own = [nn.Parameter(torch.ones(shape, device=device)) for shape in shapes]
    optimizer = kind([{"params": own, **more}], lr=0.1, momentum=0.5, weight_decay=0.1)
    for step in range(3):
        optimizer.param_groups[0]["lr"] = 0.0 if resting and step == 1 else 0.1
        for p in own:
            p.grad = torch.full_like(p, step - 0.5)
        odd = [place if step == n else 0.5 for n, place in enumerate((torch.inf, torch.nan))]
        own[-1].grad = torch.tensor([*odd, step - 0.5], device=device)
        optimizer.step()
    return [p.detach().clone() for p in own]


def check_small(found, more):
    """Compare parameters of rare shapes with those that torch.optim.SGD leaves."""
    right = run_small(torch.optim.SGD, **more)
    rests = "a step whose rate is 0 moves no p, but its gradient goes into the buffer"
    because = rests if more.get("resting") else ""
    for actual, expected in zip(found[:-1], right[:-1], strict=True):
        what = f"a parameter of shape {tuple(expected.shape)}"
        check_close(actual, expected, what, rtol=1e-5, because=because)
    words = "a gradient that is infinite or NaN is a gradient: what it does to p has to be seen"
    same = torch.allclose(found[-1], right[-1], rtol=1e-5, equal_nan=True)
    assert same, f"p is {found[-1].tolist()}, expected {right[-1].tolist()}: {words}"
