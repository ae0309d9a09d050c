"""The range test: its cases, and what known slips give."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

from course_utils.chapters.optimizers.range_slips import CONSTANT, LINE_SLIPS, range_of_line


class _Counts(nn.Module):
    """Hands on what it is given; each call puts a new tensor in its buffer's place."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen = self.seen + 1
        return x


def _network(inputs, outputs, like):
    """A small network in training, a part of it in eval, another frozen; its buffers move.

    Two layers share a weight, and one buffer is another tensor after each call. Device and dtype
    are those of the tensor ``like``.
    """
    model = nn.Sequential(
        nn.Linear(inputs, 6),
        nn.BatchNorm1d(6),
        nn.Tanh(),
        nn.Dropout(0.5).eval(),
        nn.Linear(6, 6),
        nn.Linear(6, 6),
        _Counts(),
        nn.Linear(6, outputs),
    )
    model[5].weight = model[4].weight
    model[-1].bias.requires_grad_(False)
    model = model.to(like.device, like.dtype)
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            if tensor.is_floating_point():  # in float64, what float32 would round
                tensor.mul_(1.1).add_(0.001)
    return model


def run_range(lr_range, weights, x, y, lowest, highest, steps):
    """The rates and the losses of a range test on a linear model, or on a small network."""
    torch.manual_seed(0)
    model = _network(x.shape[1], y.shape[1], x)
    if weights is not None:
        model = nn.Linear(len(weights), 1, bias=False)
        nn.init.constant_(model.weight, weights[0])
    model = model.to(device=x.device, dtype=x.dtype)
    before = [(p, p.detach().clone()) for p in model.parameters()]
    buffers = [value.clone() for value in model.buffers()]
    model.register_forward_hook(lambda *_: None)
    hooks = [list(part._forward_hooks) for part in model.modules()]
    modes, free = [part.training for part in model.modules()], [p.requires_grad for p, _ in before]
    given = x.clone(), y.clone()
    try:
        rates, losses = numbers_of(lr_range(model, *given, lowest, highest, steps))
    except (TypeError, AttributeError) as error:
        words = "a frozen parameter has .grad None: a plain SGD step leaves it alone"
        raise AssertionError(words) if "NoneType" in str(error) else error from None
    except RuntimeError as error:
        words = "a frozen parameter has no gradient: ask those whose requires_grad is True"
        frozen = "One of the differentiated" in str(error)
        raise AssertionError(f"raised {error}: {words}") if frozen else error from None
    whole = all(
        torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(given, (x, y), strict=True)
    )
    assert whole, "x or y was changed: leave them as they are"
    now = list(model.parameters())
    assert all(p is q for q, (p, _) in zip(now, before, strict=True)), (
        "the model has other Parameters than before, which an optimizer made earlier doesn't hold: "
        "write the old numbers into the old ones; load_state_dict does, without assign=True"
    )
    words = "the model does not have the weights that it came with: "
    near = all(torch.allclose(p, old, rtol=1e-6, atol=1e-9) for p, old in before)
    words += "they were rounded, as in float32: copy them in their dtype" if near else ""
    words += "" if near else "the test has trained it"
    assert all(torch.equal(p, old) for p, old in before), words
    moved = [
        name
        for (name, buffer), old in zip(model.named_buffers(), buffers, strict=True)
        if not torch.equal(buffer, old)
    ]
    words = (
        "BatchNorm's running mean has moved with each forward pass; put back the whole state_dict"
    )
    if all(name.endswith("seen") for name in moved):
        words = (
            "forward may put a new tensor in a buffer's place, as self.seen = self.seen + 1 does; "
        )
        words += "load_state_dict writes into those that the model has after the run"
    assert not moved, f"the model does not have the buffers that it came with: {words}"
    assert all(p.grad is None for p in now), (
        "the model came with .grad None and goes with gradients"
    )
    assert modes == [part.training for part in model.modules()], (
        "the model's mode was changed: a part of it is in eval, the rest in training, and stays so"
    )
    assert free == [p.requires_grad for p in now], "a parameter's requires_grad was changed"
    same = hooks == [list(part._forward_hooks) for part in model.modules()]
    assert same, "the hooks of the model are not those that were there before"
    return rates, losses


def _range_of_network(
    *given,
    frozen=True,
    reduction="mean",
    momentum=0.0,
    longer=1.0,
    constant=False,
    tied="",
    mode=None,
):
    """The rates and the losses that the small network should give, or with a slip.

    Nothing is frozen, the loss is a sum, there is momentum, steps are longer by a factor, the
    rate is constant, or the shared weight is stepped "twice", or its layers go "apart". With a
    ``mode`` all of it is in training (True) or in eval (False).
    """
    x, y, lowest, highest, steps = given
    torch.manual_seed(0)
    model, rates, losses = _network(x.shape[1], y.shape[1], x), [], []
    if mode is not None:
        model.train(mode)
    if not frozen:
        model.requires_grad_(True)
    if tied == "apart":
        model[5].weight = nn.Parameter(model[5].weight.detach().clone())
    params = [p for p in model.parameters() if p.requires_grad]
    params += [model[5].weight] if tied == "twice" else []
    buffers = [torch.zeros_like(p) for p in params]
    for k in range(steps):
        loss = F.mse_loss(model(x), y, reduction=reduction)
        rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
        losses.append(loss.item())
        if losses[-1] > 4 * min(losses):
            break
        gradients = torch.autograd.grad(loss, params)
        for p, g, buffer in zip(params, gradients, buffers, strict=True):
            rate = longer * rates[0 if constant else -1]
            p.detach().sub_(rate * buffer.mul_(momentum).add_(g))
    return rates, losses


def numbers_of(answer):
    """Two lists of numbers, or words for what came instead."""
    assert answer is not None, "lr_range returned None: is there an answer yet?"
    pair = isinstance(answer, (tuple, list)) and len(answer) == 2
    assert pair, f"lr_range returned {type(answer).__name__}, expected a pair: rates and losses"
    for name, numbers in zip(("rates", "losses"), answer, strict=True):
        fine = hasattr(numbers, "__len__") and all(isinstance(n, (int, float)) for n in numbers)
        assert fine, f"the {name} are no list of plain numbers: {str(numbers)[:60]}"
    rates, losses = map(list, answer)
    assert len(rates) == len(losses), f"{len(rates)} rates and {len(losses)} losses"
    return rates, losses


def _agree(numbers, others):
    """Whether two lists have the same numbers, as far as both go."""
    return all(
        abs(a - b) <= 1e-3 * abs(b) + 1e-6 or a == b or (a != a and b != b)
        for a, b in zip(numbers, others, strict=False)
    )


def check_range(found, rates, losses, slips=(), runs=()):
    """Compare with the right rates and losses.

    Args:
        found: the rates and the losses that were found.
        rates: the right ones.
        losses: likewise.
        slips: (losses or rates, words).
        runs: (rates and losses, words) of known slips; both have to be like those found.
    """
    fitting = [words for run, words in runs if _same_run(found, run)]
    parts = [("rates", rates, found[0]), ("losses", losses, found[1])]
    if _agree(found[0], rates) and not _agree(found[1], losses):
        parts.reverse()  # it stopped elsewhere because the losses are others
    for name, right, got in parts:
        shown = [round(n, 4) for n in got]
        close = len(got) == len(right) and _agree(got, right)
        said = [*fitting, *(said for slip, said in slips if shown == slip)]
        words = f": {'; or '.join(dict.fromkeys(said))}" if said else ""
        if not close and not words:
            words = _rate_slip(got, right) if name == "rates" else _late(got, right)
        if not close and len(got) != len(right):
            words = words or f": {len(got)} of them, expected {len(right)}"
        assert close, f"the {name}: expected {[round(n, 4) for n in right]}, got {shown}{words}"


def _same_run(found, run):
    """Whether rates and losses are those of a run, as many and as large."""
    pairs = list(zip(found, run, strict=True))
    return all(len(mine) == len(other) and _agree(mine, other) for mine, other in pairs)


def _rate_slip(got, right):
    """Words for rates that grow by a wrong factor, or by equal differences."""
    if min(len(got), len(right)) < 2 or abs(got[0] - right[0]) > 1e-6 or min(got) <= 0:
        return ""
    logs = [math.log(b / a) for a, b in pairwise(got)]
    gaps = [b - a for a, b in pairwise(got)]
    if len(gaps) > 1 and max(gaps) - min(gaps) < 1e-6 * gaps[0]:
        return ": equal differences; each rate should be the one before times a factor"
    share = 1 - logs[0] / math.log(right[1] / right[0])
    steps = 1 / share if share > 1e-6 else 0
    if max(logs) - min(logs) < 1e-6 and steps > 1.5 and abs(steps - round(steps)) < 1e-3:
        return ": highest is one of the rates: there are steps - 1 factors between steps rates"
    return ""


def _late(got, right):
    """Words for losses that were noted after the step, each one step later."""
    early = list(zip(got, right[1:], strict=False))
    late = bool(early) and all(abs(a - b) <= 1e-3 * abs(b) for a, b in early)
    return ": the loss is noted after the step" if late and got[0] != right[0] else ""


RANGE_CASES = {  # the input; lowest, highest, steps; the rates, the losses, known slips
    "the example": (
        1.0,
        (0.01, 1.0, 3),
        (
            [0.01, 0.1, 1.0],
            [1.0, 0.9604, 0.6147],
            (
                (
                    [0.01, 0.505, 1.0],
                    "equal differences; each rate should be the one before times a factor",
                ),
                ([0.9604, 0.6147, 0.6147], "the loss is noted after the step"),
                (
                    [0.01, 0.0464, 0.2154],
                    "highest is one of the rates: there are steps - 1 factors between steps rates",
                ),
            ),
        ),
    ),
    "seven rates up to 100, and the loss jumps at the fifth": (
        1.0,
        (0.1, 100.0, 7),
        (
            [0.1, 0.31623, 1.0, 3.1623, 10.0],
            [1.0, 0.64, 0.08649, 0.08649, 2.4497],
            (),
        ),
    ),
    "a slow climb: four times the smallest loss, not the one before": (
        1.0,
        (1.1, 1.6, 6),
        (
            [1.1, 1.1856, 1.2779, 1.3773],
            [1.0, 1.44, 2.7075, 6.5528],
            (),
        ),
    ),
    "a loss of 4.41 times the smallest": (
        1.0,
        (1.55, 1.6, 3),
        (
            [1.55, 1.5748],
            [1.0, 4.41],
            (([1.55, 1.5748, 1.6], "it exceeds four times the smallest loss: stop there"),),
        ),
    ),
    "a loss of 3.61 times the smallest": (
        1.0,
        (1.45, 1.5, 3),
        (
            [1.45, 1.47479, 1.5],
            [1.0, 3.61, 13.7211],
            (([1.45, 1.4748], "it stopped at less than four times the smallest loss"),),
        ),
    ),
    "nothing to learn: zero doesn't exceed four times zero": (
        0.0,
        (0.1, 0.4, 3),
        (
            [0.1, 0.2, 0.4],
            [0.0, 0.0, 0.0],
            (
                ([0.1], "a loss that equals four times the smallest does not exceed it"),
                ([0.1, 0.2], "a loss that equals four times the smallest does not exceed it"),
                ([], "a loss that equals four times the smallest does not exceed it"),
            ),
        ),
    ),
    "a loss that is infinite at once": (
        1e300,
        (0.1, 1.0, 4),
        (
            [0.1],
            [float("inf")],
            (
                ([], "the rate and the loss that end the run are noted, too"),
                ([0.1, 0.2154, 0.4642, 1.0], "an infinite loss isn't finite: it ends the run"),
            ),
        ),
    ),
    "a loss that is nan at once": (
        float("nan"),
        (0.1, 1.0, 4),
        (
            [0.1],
            [float("nan")],
            (
                ([], "the rate and the loss that end the run are noted, too"),
                ([0.1, 0.2154, 0.4642, 1.0], "nan isn't finite: it ends the run, as infinity does"),
            ),
        ),
    ),
}


for _name, _x, _run in (
    ("two rates", 1.0, (0.1, 0.4, 2)),
    ("losses above 1", 3.0, (0.001, 0.01, 3)),
    ("a loss that climbs for sixteen steps", 1.0, (1.02, 1.03, 25)),
):
    RANGE_CASES[_name] = (_x, _run, (*range_of_line(_x, *_run), ()))


def check_range_of_line(found, start, arguments, expected):
    """Compare a range test of one weight with one of the cases, and with what known slips give."""
    right, runs = range_of_line(start, *arguments), []
    for slip, words in LINE_SLIPS.items():
        run = range_of_line(start, *arguments, slip)
        runs += [] if _same_run(run, right) else [(run, words)]
    check_range(found, *expected, runs)


MODE = "it runs in the modes in which it came, a part in eval, the rest in training"


def check_range_of_network(found, x, y, lowest, highest, steps):
    """Compare with what a range test of the small network gives."""
    arguments = x, y, lowest, highest, steps
    _, losses = _range_of_network(*arguments, frozen=False)
    _, sums = _range_of_network(*arguments, reduction="sum")
    _, swings = _range_of_network(*arguments, momentum=0.9)
    _, long = _range_of_network(*arguments, longer=len(x))
    _, constant = _range_of_network(*arguments, constant=True)
    _, twice = _range_of_network(*arguments, tied="twice")
    _, apart = _range_of_network(*arguments, tied="apart")
    _, training = _range_of_network(*arguments, mode=True)
    _, still = _range_of_network(*arguments, mode=False)
    slips = (
        (twice, "a weight that two layers share takes one step, not two"),
        (apart, "a weight that two layers share became two weights"),
        (training, f"all of it was in training mode: {MODE}"),
        (still, f"all of it was in eval mode: {MODE}"),
        (long, "the step is that of a sum over the batch; the loss is a mean"),
        (constant, CONSTANT),
        (losses, "a frozen parameter was trained"),
        (sums, "F.mse_loss takes the mean"),
        (swings, "that is SGD with momentum; a plain step was asked for"),
    )
    known = [([round(loss, 4) for loss in wrong], words) for wrong, words in slips]
    check_range(found, *_range_of_network(*arguments), known)
