"""Exercise 13.8: when training stops, and with which weights."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn as nn

from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device


class TooLong(Exception):
    """epoch() was called after the run should have stopped."""


def run_early_stopping(
    early_stopping, losses: list[float], patience: int, min_delta: float, most: int = 99
) -> dict:
    """What came back, the model's weight and buffer, and whether its parameter is the same."""
    norm: Any = nn.BatchNorm1d(2)
    norm.bias.requires_grad_(False)
    model: Any = nn.Sequential(norm, nn.Dropout()).double().append(nn.LayerNorm(1)).to(device)
    model.append(nn.LayerNorm(1, device=device, dtype=torch.bfloat16))
    model[1].eval()
    if patience == 1:
        model.eval()  # an epoch() that trains may begin here, too
    modes = [part.training for part in model.modules()]
    weight, calls, notes = norm.weight, [], []
    weight.grad = torch.full_like(weight, 0.5)
    model.register_forward_hook(lambda *_: None)

    def values() -> list[float]:
        return [norm.weight[0].item(), norm.running_mean[0].item(), norm.bias[0].item()]

    def look() -> None:
        """Note what changed beside values."""
        grad = weight.grad is not None and bool((weight.grad == 0.5).all())
        kept = {
            "a mode (train or eval)": [part.training for part in model.modules()] == modes,
            "requires_grad": weight.requires_grad and not norm.bias.requires_grad,
            "the gradient": grad,
            "a hook": len(model._forward_hooks) == 1,
        }
        changed = [name for name, same in kept.items() if not same]
        if changed and norm.weight is weight:
            notes.append(f"{', '.join(changed)} was changed: that is epoch()'s to do")

    def epoch() -> float:
        if len(calls) == len(losses):
            raise TooLong
        if not torch.is_grad_enabled():
            notes.append("gradients were off when epoch() was called: it trains")
        if values() != [value_of(len(calls))] * 3:
            told = f"epoch {len(calls) + 1} began with the values of epoch {int(values()[0])}"
            notes.append(f"{told}: put the best back once, at the end")
        look()
        calls.append(losses[len(calls)])
        fill(len(calls))  # after epoch n, everything is n
        return calls[-1]

    def fill(number: int) -> None:
        with torch.no_grad():
            for value in model.state_dict().values():
                whole = not value.is_floating_point()
                value.fill_(COUNTED + number if whole else value_of(number))
            norm.running_mean = norm.running_mean.clone()  # a new tensor under the old name

    fill(0)
    result, over = None, 0
    try:
        result = early_stopping(model, epoch, patience, min_delta, most)
    except TooLong:
        over = 1
    except TypeError as error:
        if "BFloat16" not in str(error):
            raise
        notes.insert(0, "a parameter is of bfloat16, which NumPy doesn't know: keep tensors")
    look()
    norm = model[0]  # an answer may have put another one there
    count = norm.num_batches_tracked.item() - COUNTED
    found = [norm.weight[0].item(), norm.running_mean[0].item(), count]
    exact = all(value == value_of(int(value)) for value in found[:2])
    notes += [] if exact else [f"the values {found[:2]} lost digits: what dtype were they kept in?"]
    for kind, part in {"float32": model[2], "bfloat16": model[3]}.items():
        other = part.weight
        if other.dtype != getattr(torch, kind):
            now = str(other.dtype).removeprefix("torch.")
            notes.append(f"a parameter of {kind} is of {now} now: each comes back in its own dtype")
        elif exact and not torch.equal(other, torch.full_like(other, value_of(int(found[0])))):
            words = "was not put back with the others, or lost digits"
            notes.append(f"the parameter of {kind} {words}")
    rounded = exact and count == 0 and int(found[0]) > 0
    words = "num_batches_tracked lost digits: what dtype was it kept in? No float holds so large a "
    notes += [words + "number exactly, and in one vector all are of one dtype"] if rounded else []
    found = [int(value) for value in found]
    left = len(set(found)) == 1 and int(norm.bias[0].item()) != found[0]
    notes += ["a parameter with requires_grad=False was not put back"] if left else []
    return {
        "result": result,
        "epochs": len(calls) + over,
        "weight": found[0],
        "buffers": found[1:],
        "same": norm.weight is weight and weight.requires_grad,
        "notes": notes[:1],
        "over": over,
    }


COUNTED = 2**60  # batches before the first epoch: no float can tell them from one more


def value_of(number: int) -> float:
    """What weights and buffers are after an epoch: all digits fit into float64 alone, those of the
    first fraction into float32, but not into half precision."""
    return number + 2**-12 + 2**-40


def right_stop(losses, patience, min_delta, most=99, slip=""):
    """(best epoch, epochs run), or what a slip gives: None if it runs past the losses."""
    best, best_epoch, bad, number = float("inf"), 0, 0, 0
    losses = [round(loss, 6) for loss in losses] if slip == "round" else losses
    delta = {"no delta": 0.0, "plus": -min_delta}.get(slip, min_delta)
    most -= slip == "few"
    for number, loss in enumerate(losses[:most], start=1):
        delta = best * min_delta if slip == "share" and best < float("inf") else delta
        better = loss <= best - delta if slip == "tie" else loss < best - delta
        better = better or (slip == "turned" and loss != loss)
        better = better or (slip == "zero best" and best == 0 and loss == loss)
        better = better or (slip == "anyway" and number == 1)
        if better:
            best, best_epoch, bad = loss, number, 0 if slip != "total" else bad
        else:
            bad += 1
        best = loss if slip == "before" else min(best, loss) if slip == "lowest" else best
        if bad == patience + (slip == "late") or (slip == "NaN ends" and loss != loss):
            break
    else:
        number += len(losses) < most
    best_epoch = 1 if slip == "first" and not best_epoch else best_epoch
    if slip == "least" and best_epoch:
        best_epoch = 1 + losses.index(min(loss for loss in losses[:number] if loss == loss))
    result = (best_epoch - (slip == "zero" and best_epoch > 0), number)
    result = result[::-1] if slip == "order" else result
    return None if number > len(losses) else result


SLIPS = {
    "before": "compared with the epoch before, not with the last improvement",
    "lowest": "best moves with each lower loss; it is the loss of the last improvement",
    "tie": "a loss that equals best - min_delta is no improvement",
    "no delta": "min_delta is not used: an improvement is a loss below best - min_delta",
    "plus": "min_delta is added; an improvement is a loss below best - min_delta",
    "share": "min_delta isn't a share of best: an improvement is a loss below best - min_delta",
    "late": "one epoch too many: stop when patience epochs in a row brought no improvement",
    "total": "the epochs without improvement are counted in total, not in a row",
    "turned": "NaN counts as an improvement",
    "zero": "the best epoch is counted from 0",
    "few": "one epoch too few where patience doesn't end it: most epochs may be run",
    "anyway": "the first epoch counts as an improvement, whatever its loss; NaN and infinity don't",
    "NaN ends": "NaN ends the run; it is an epoch without improvement like others",
    "least": "that is the epoch of the lowest loss; the best one is that of the last improvement",
    "order": "the two have changed places: (best epoch, epochs run)",
    "zero best": "a best loss of 0 is taken for none; begin with infinity, and compare with best",
    "round": "a loss is compared with all its digits: neither rounded nor in float32",
    "first": "without any improvement the best epoch is 0, not 1",
}


def one_slip(try_early_stopping) -> str:
    """Words for the slip that gives what the answer gives in every case of STOPS, or ""."""
    seen = {}
    for name, given in STOPS.items():
        try:
            found = try_early_stopping(*given)
        except Exception:
            return ""
        seen[name] = None if found["over"] else tuple(found["result"] or ())
    for slip, words in SLIPS.items():
        gives = {name: right_stop(*given, slip=slip) for name, given in STOPS.items()}
        if gives == seen:
            return words
    return ""


NAN, INF = float("nan"), float("inf")


SLOW = [1.0, 0.97, 0.94, 0.91, 0.88, 0.85, 0.85, 0.85]


STOPS = {  # losses, patience, min_delta, most
    "the example": ([1.0, 0.8, 0.79, 0.85, 0.1], 2, 0.05),
    "slow progress adds up, 1.0, 0.97, 0.94, … with min_delta 0.05": (SLOW, 2, 0.05),
    "the best is the last, all epochs done": ([0.9, 0.8, 0.7, 0.1], 2, 0.0, 3),
    "most reached before patience": ([0.5, 0.6, 0.7, 0.1], 5, 0.0, 3),
    "a tie is no improvement": ([0.5, 0.5, 0.5, 0.1], 2, 0.0),
    "exactly min_delta below is none": ([1.0, 0.5, 0.25, 0.1], 1, 0.5),
    "one bad epoch, then a good one, twice": ([0.9, 1.0, 0.8, 1.0, 0.7, 1.0, 1.0, 0.1], 2, 0.0),
    "NaN first, NaN between": ([NAN, 0.5, NAN, 0.4, NAN, NAN, 0.1], 2, 0.0),
    "nothing but NaN": ([NAN, NAN, NAN, 0.1], 3, 0.0),
    "infinity first": ([INF, 0.5, 0.6, 0.7, 0.1], 2, 0.0),
    "infinity twice": ([INF, INF, 0.5, 0.1], 2, 0.0),
    "losses near 10": ([10.0, 9.8, 9.6, 9.55, 9.9, 9.9, 0.1], 2, 0.1),
    "losses above 1e12: best begins at infinity": ([3e12, 2e12, 2.5e12, 2.6e12, 0.1], 2, 0.1),
    "losses that differ in the ninth digit": (
        [0.5, 0.5 - 1e-9, 0.5 - 3e-9, 0.5 - 2e-9, 0.5 - 2e-9, 0.1],
        *(2, 0.0),
    ),
    "a best loss of 0": ([0.5, 0.0, 0.3, 0.4, 0.1], 2, 0.0),
    "patience 1, negative losses": ([-1.0, -2.0, -1.5, -9.0], 1, 0.1),
    "a single epoch, most = 1": ([0.5, 0.4, 0.1], 2, 0.0, 1),
}


def check_stopped(seen, right, slip=""):
    """Compare with ``right``. ``slip``: words that explain every case in which it is wrong."""
    assert seen["result"] is not None or seen["epochs"], "it returned None: is there an answer yet?"
    assert not seen["notes"], seen["notes"][0]
    why = f": {slip}" if slip else ""
    assert not seen["over"], f"epoch() was called after the run should have stopped{why}"
    check_equal(seen["epochs"], right[1], "how often epoch() was called", slip or None)
    check_equal(seen["result"], right, "(best epoch, epochs run)", slip or None)
    wanted = right[0] or right[1]
    last = ": the last epoch's; load the best ones at the end, and from a copy: what state_dict() "
    last += "hands out are the live tensors"
    if not right[0]:
        last = ": without any improvement the model stays as it is"
    for name, values in {"weight": [seen["weight"]], "buffers": seen["buffers"]}.items():
        slip = last if set(values) == {right[1]} or not right[0] else ""
        if name == "buffers" and set(values) == {right[1]}:  # the weight was right
            slip = ": the last epoch's; only the parameters were kept, keep the buffers too"
        elif name == "buffers" and values[0] in (1, right[1]) and values[0] != wanted == values[1]:
            slip = ": epoch() may put a new tensor in a buffer's place, under the old name; ask "
            slip += "model.state_dict() anew at each improvement, and at the end"
        values_of = " (running_mean, num_batches_tracked)" * (name == "buffers")
        text = f"the model's {name} {values}{values_of} are not those of epoch {wanted}{slip}"
        assert set(values) == {wanted}, text
    assert seen["same"], "the parameter is another object, or frozen: an optimizer would lose it"
