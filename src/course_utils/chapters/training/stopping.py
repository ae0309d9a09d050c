"""Exercise 13.8: when training stops, and with which weights."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn as nn

from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device


def run_early_stopping(
    early_stopping, losses: list[float], patience: int, min_delta: float, most: int
) -> dict:
    """What came back, the model's weight and buffer, and whether its parameter is the same."""
    model: Any = nn.BatchNorm1d(2).to(device)
    weight, calls = model.weight, []

    def epoch() -> float:
        assert len(calls) < len(losses), "epoch() was called after the run should have stopped"
        calls.append(losses[len(calls)])
        with torch.no_grad():
            model.weight.fill_(len(calls))  # after epoch n, everything is n
            model.running_mean.fill_(len(calls))
            model.num_batches_tracked.fill_(len(calls))
        return calls[-1]

    result = early_stopping(model, epoch, patience, min_delta, most)
    found = [model.weight[0].item(), model.running_mean[0].item(), model.num_batches_tracked.item()]
    return {
        "result": result,
        "epochs": len(calls),
        "weight": found[0],
        "buffers": found[1:],
        "same": model.weight is weight and weight.requires_grad,
    }


def right_stop(losses, patience, min_delta, most) -> tuple[int, int]:
    best, best_epoch, bad = float("inf"), 0, 0
    for number, loss in enumerate(losses[:most], start=1):
        if loss < best - min_delta:
            best, best_epoch, bad = loss, number, 0
        else:
            bad += 1
        if bad == patience:
            break
    return best_epoch, number


NAN = float("nan")


SLOW = [1.0, 0.97, 0.94, 0.91, 0.88, 0.85, 0.85, 0.85]


STOPS = {  # losses, patience, min_delta, most
    "the example": ([1.0, 0.8, 0.79, 0.85, 0.1], 2, 0.05),
    "slow progress adds up, 1.0, 0.97, 0.94, … with min_delta 0.05": (SLOW, 2, 0.05),
    "the best is the last, all epochs done": ([0.9, 0.8, 0.7, 0.1], 2, 0.0, 3),
    "most reached before patience": ([0.5, 0.6, 0.7, 0.1], 5, 0.0, 3),
    "a tie is no improvement": ([0.5, 0.5, 0.5, 0.1], 2, 0.0),
    "NaN first, NaN between": ([NAN, 0.5, NAN, 0.4, NAN, NAN, 0.1], 2, 0.0),
    "nothing but NaN": ([NAN, NAN, NAN, 0.1], 3, 0.0),
    "patience 1, negative losses": ([-1.0, -2.0, -1.5, -9.0], 1, 0.1),
}


def check_stopped(seen, right):
    assert seen["result"] is not None or seen["epochs"], "it returned None: is there an answer yet?"
    check_equal(seen["epochs"], right[1], "how often epoch() was called")
    check_equal(seen["result"], right, "(best epoch, epochs run)")
    wanted = right[0] or right[1]
    words = (
        ": the last epoch's; state_dict() hands out the live tensors, so keep a copy, and load it"
    )
    for name, values in {"weight": [seen["weight"]], "buffers": seen["buffers"]}.items():
        slip = words if set(values) == {right[1]} else ""
        if name == "buffers" and slip:  # the weight was right
            slip = ": the last epoch's; only the parameters were kept, keep the buffers too"
        text = f"the model's {name} {values} are not those of epoch {wanted}{slip}"
        assert set(values) == {wanted}, text
    assert seen["same"], "the parameter is another object, or frozen: an optimizer would lose it"
