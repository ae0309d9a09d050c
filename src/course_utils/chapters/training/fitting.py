"""Exercise 13.2: how a training loop calls a model, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from operator import is_not
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F

from course_utils.chapters.training.spies import Elsewhere, Spy, spy_batches
from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.checks import check_close, check_equal
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook


def _optimizer(spy: Spy) -> torch.optim.Optimizer:
    """One that also moves a parameter whose gradient is 0: where it is frozen, that shows."""
    return torch.optim.SGD(spy.parameters(), lr=0.5, momentum=0.5, weight_decay=0.01)


@contextmanager
def notebook_elsewhere(function: Callable, elsewhere: bool) -> Generator[None]:
    """The name ``device`` in the notebook means another device than the model's."""
    names = getattr(function, "__globals__", {})
    kept = names.get("device")
    if elsewhere and isinstance(kept, torch.device):
        names["device"] = torch.device("meta")
    try:
        yield
    finally:
        if isinstance(kept, torch.device):
            names["device"] = kept


GRAD_OFF = (
    "gradients were switched off and not on again: set_grad_enabled(False) holds until it is "
    "undone, for the next epoch too; with torch.no_grad(): ends with its block"
)

WHOLE = (
    "the batches hold whole numbers here, for an embedding, and other numbers came to the model: x "
    "keeps its dtype, whatever that of the parameters is; to(device) moves it, and no more"
)
HOOKS = "the model's hooks did not run: call model(x), which runs them; model.forward(x) does not"

# Sizes of the batches, epochs, options. At steep=4.0 gradients are longer than 10; at 0.0 the model
# has no buffers.
FITS: list[tuple] = list(
    {
        "one epoch": (([6, 6, 2], [5, 5, 2]), 1, {}),
        "three epochs": (([6, 6, 2], [5, 5, 2]), 3, {}),
        "long gradients": (([6, 6, 2], [5, 5, 2]), 1, {"steep": 4.0}),
        "batches on another device": (([6, 2], [5, 2]), 1, {"elsewhere": True, "steep": 0.0}),
        "a last batch of one sample": (([4, 1], [3, 1]), 2, {}),
        "no epoch": (([4, 3], [2]), 0, {}),
        "no answer is right, an accuracy of 0.0": (([4], [2]), 1, {}),
        "a model in float64": (([5, 3], [4, 2]), 1, {"dtype": torch.float64}),
        "whole numbers, for an embedding": (([5, 3], [4, 2]), 2, {"dtype": torch.int64}),
    }.values()
)


@ends_in_notebook
def run_fit(
    fit,
    sizes: tuple,
    epochs: int,
    elsewhere: bool = False,
    steep: float = 1.0,
    dtype: torch.dtype = torch.float32,
) -> tuple:
    """The history, the types in it, the spy's notes, graphs kept alive, the weights, and words
    for what was changed of ``train`` and ``val``, and of the model's hooks and what is frozen."""
    home = torch.device("cpu") if dtype == torch.float64 else device  # where it rounds alike
    spy = Spy(steep, dtype).to(home)
    parts = [spy_batches(part, n, dtype) for n, part in enumerate(sizes, start=1)]
    place = Elsewhere if elsewhere else lambda part: part.to(home)
    train, val = ([(place(x), place(y)) for x, y in part] for part in parts)
    before: list[Any] = [list(train), list(val)]
    values = [[x.clone() for batch in part for x in batch] for part in before if not elsewhere]
    optimizer, ran = _optimizer(spy), []
    spy.register_forward_hook(lambda *_: ran.append(1))
    if steep > 1:
        spy.train()
        spy.body.eval()  # a part in evaluation mode, within a model in training mode
    watch = forbid_side_effects(spy, but=("mode", "grad", "values")).__enter__()
    try:
        with notebook_elsewhere(fit, elsewhere):
            history = fit(spy, train, val, optimizer, epochs)
    except StopIteration as error:
        words = "it raised StopIteration: next() found nothing. A model may have no buffers; ask a "
        raise AssertionError(words + "parameter for the device") from error
    except (RuntimeError, IndexError, ValueError) as error:
        assert torch.is_grad_enabled(), GRAD_OFF
        if "for argument #1 'indices'" in str(error):
            raise AssertionError(WHOLE) from error
        if spy.calls and spy.calls[-1][0] == 1:
            what = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            words = "does squeeze() take the batch's axis away, too?"
            raise AssertionError(
                f"after a batch of one sample it raised {what} ({words})"
            ) from error
        raise
    assert torch.is_grad_enabled(), GRAD_OFF
    assert history is not None, "fit returned None: is there an answer yet, and does it return?"
    assert isinstance(history, (list, tuple)), f"fit returned {type(history).__name__}, not a list"
    assert all(isinstance(entry, dict) for entry in history), "an entry of the history isn't a dict"
    check_equal(len(history), epochs, "the number of dicts in the history", "a dict for each epoch")
    kinds = [{name: type(value).__name__ for name, value in entry.items()} for entry in history]
    plain = [{name: float(value) for name, value in entry.items()} for entry in history]
    weights = [value.detach().clone().cpu() for value in spy.state_dict().values()]
    now, kept = [[x for batch in part for x in batch] for part in before], ""
    if any(map(is_not, [*train, *val], [*before[0], *before[1]])) or len(train) != len(before[0]):
        kept = "the lists of batches are not what they were"
    elif not all(
        torch.equal(a, b)
        for old, new in zip(values, now, strict=False)
        for a, b in zip(old, new, strict=True)
    ):
        kept = "values in the batches were changed"
    elif any(x.requires_grad for part in now for x in part if not elsewhere):
        kept = "a batch requires a gradient now"
    kept = kept or "; ".join(watch.changes())
    kept = kept or HOOKS * (len(ran) != len(spy.calls))
    return plain, kinds, spy.calls, spy.alive, weights, kept


def true_fit(
    sizes: tuple,
    epochs: int,
    steep: float = 1.0,
    forgets: str = "before each backward()",
    longest: float = float("inf"),
    loss_of: Callable = F.cross_entropy,
    steps: str = "each batch",
    dtype: torch.dtype = torch.float32,
) -> tuple:
    """What is right, each batch's loss by itself, which tells slips apart, and the weights.

    ``forgets`` says when gradients are set to zero, ``longest`` at which norm they are clipped,
    ``loss_of`` what is minimised, ``steps`` when a step is taken; all but the defaults is a slip.
    """
    spy = Spy(steep, dtype)
    optimizer = _optimizer(spy)
    train, val, seen = spy_batches(sizes[0], 1, dtype), spy_batches(sizes[1], 2, dtype), []
    for _ in range(epochs):
        losses = []
        if forgets == "once an epoch":
            optimizer.zero_grad()
        for x, y in train:
            loss = loss_of(spy.train()(x), y)
            if forgets == "before each backward()":
                optimizer.zero_grad()
            loss.backward()
            if longest < float("inf"):
                nn.utils.clip_grad_norm_(spy.parameters(), longest)
            if steps == "each batch":
                optimizer.step()
            if forgets == "after each step":
                optimizer.zero_grad()
            losses.append(loss.item())
        if steps == "each epoch":
            optimizer.step()
        with torch.no_grad():
            logits = [spy.eval()(x) for x, _ in val]
        tests = [F.cross_entropy(z, y).item() for z, (_, y) in zip(logits, val, strict=True)]
        hits = [
            (z.argmax(1) == y).float().mean().item() for z, (_, y) in zip(logits, val, strict=True)
        ]
        seen.append({"train_loss": losses, "val_loss": tests, "val_accuracy": hits})
    return seen, [value.detach() for value in spy.state_dict().values()]


def slip_of(value, means, sizes):
    """Words for a wrong average, if a known slip gives it."""
    total = sum(mean * size for mean, size in zip(means, sizes, strict=True))
    slips = {
        "the mean of the batch means, so a short last batch counts too much": sum(means)
        / len(means),
        "the last batch's value alone": means[-1],
        "the first batch's value alone": means[0],
        "a sum of batch means divided by the number of samples": sum(means) / sum(sizes),
        "a sum of batch means, never divided": sum(means),
        "a sum over the samples, never divided": total,
        "as if each batch were as long as the first": total / (len(sizes) * sizes[0]),
        "a sum over the samples divided by the batches; divide by the samples": total / len(sizes),
        "in percent; a share from 0 to 1 is asked for": 100 * total / sum(sizes),
    }
    close = [words for words, slip in slips.items() if abs(value - slip) < 1e-4 * (1 + abs(slip))]
    if not close and (alone := sum(p for p, n in zip(means, sizes, strict=True) if n == 1)):
        times = 1 + (value * sum(sizes) - total) / alone
        if abs(times - round(times)) < 1e-3 and 0 <= round(times) != 1:
            words = f": a batch of a single sample counts as {times:.0f}"
            return f"{words}: is its batch dimension still there? squeeze() takes it away"
    return f": this is {close[0]}" if close else ""


def check_numbers(history, seen, sizes, weights):
    """The averages; ``weights``, those found and the right ones, may explain what is off."""
    led = [not torch.allclose(a, b, rtol=1e-3, atol=1e-4) for a, b in zip(*weights, strict=True)]
    other = ": other weights gave it; look at them first" if any(led) else ""
    for number, (entry, means) in enumerate(zip(history, seen, strict=True), start=1):
        for name, parts in means.items():
            assert name in entry, f"epoch {number}: the dict has no {name!r}"
            mine = sizes[0] if name == "train_loss" else sizes[1]
            right = sum(p * n for p, n in zip(parts, mine, strict=True)) / sum(mine)
            words = slip_of(entry[name], parts, mine)
            so_far = [value for earlier in seen[:number] for value in earlier[name]]
            all_of = sum(p * n for p, n in zip(so_far, number * mine, strict=True))
            if number > 1 and abs(entry[name] - all_of / sum(number * mine)) < 1e-4:
                words = ": this is over all epochs so far: begin each epoch's sums at 0"
            last = seen[-1][name]
            last = sum(p * n for p, n in zip(last, mine, strict=True)) / sum(mine)
            if number < len(seen) and abs(entry[name] - last) < 1e-4:
                words = ": this is the last epoch's: a dict of its own for each epoch"
            text = f"epoch {number}: {name} is {entry[name]:.4f}, expected {right:.4f}"
            text += other or words
            assert abs(entry[name] - right) < 2e-3 * (1 + abs(right)), text
            exact = device.type != "cpu" or abs(entry[name] - right) < 1e-4 * (1 + abs(right))
            text = f"epoch {number}: {name} is {entry[name]:.6f}, expected {right:.6f}"
            assert exact, text + (other or ": rounded, or in half precision?")
            rounded = entry[name] == round(entry[name], 4) and abs(entry[name] - right) > 1e-6
            rounded |= name != "val_accuracy" and entry[name] == round(entry[name], 6) != right
            assert not rounded, f"epoch {number}: {name} is {entry[name]}: give it with all digits"


FORGETS = {
    "after each step": "the first step used a gradient that was there before fit was called; "
    "zero_grad() has to come before the first backward() too",
    "once an epoch": "gradients are forgotten once an epoch; it has to be once a batch",
    "never": "no gradient is ever forgotten: each step uses the sum of all before",
}
LOSSES: dict[str, dict[str, Any]] = {
    "the step's loss is summed over the batch; it is the mean, as cross_entropy gives it": {
        "loss_of": partial(F.cross_entropy, reduction="sum")
    },
    "softmax comes before cross_entropy, which takes logits": {
        "loss_of": lambda z, y: F.cross_entropy(z.softmax(1), y)
    },
    "the step's loss has smoothed labels; the loss is cross-entropy as it is": {
        "loss_of": partial(F.cross_entropy, label_smoothing=0.1)
    },
    "one step an epoch, from all its gradients: one for each batch": {
        "forgets": "once an epoch",
        "steps": "each epoch",
    },
}
CLIPS = "the gradient was clipped at a norm of {}; step() takes it as backward() left it"


def check_weights(mine, right, sizes, epochs, steep=1.0, dtype=torch.float32):
    """The weights and buffers after training; a known slip in its own words."""
    pairs = list(zip(mine, right, strict=True))
    same = all(torch.allclose(a.float(), b.float(), rtol=1e-3, atol=1e-4) for a, b in pairs)
    slips: list[tuple[dict[str, Any], str]] = [
        ({"forgets": forgets}, words) for forgets, words in FORGETS.items()
    ]
    slips += [({"longest": norm}, CLIPS.format(norm)) for norm in (0.5, 1.0, 5.0, 10.0)]
    slips += [(how, words) for words, how in LOSSES.items()]
    for how, words in slips * (not same):
        slip = true_fit(sizes, epochs, steep, dtype=dtype, **how)[1]
        near = [
            torch.allclose(a.float(), b.float(), rtol=1e-3, atol=1e-4)
            for a, b in zip(mine, slip, strict=True)
        ]
        far = [not torch.allclose(a, b, 1e-3, 1e-4) for a, b in zip(slip, right, strict=True)]
        assert not all(near) or not any(far), words
    words = "a frozen parameter moved: it was thawed, or step() used an old .grad not forgotten"
    words += ", or one of zeros, by which weight decay moves it; where .grad is None, nothing does"
    assert torch.equal(mine[-1], Spy(steep, dtype).state_dict()["body.5.bias"]), words
    for a, b in zip(mine, right, strict=True):
        words = "a weight or buffer (one step a batch? from that batch's gradient alone?)"
        check_close(a, b, words, rtol=1e-3, atol=1e-4)


def check_plain(kinds):
    odd = sorted({f"{k} is a {t}" for kind in kinds for k, t in kind.items() if t != "float"})
    assert not odd, f"{', '.join(odd)}: return Python floats, by item()"


def check_calls(calls, sizes, epochs):
    """The order of the training batches, the modes, and whether evaluation recorded a graph."""
    train, position = sizes[0], 0
    steps = sum(training for _, training, _ in calls)
    tests, expected = len(calls) - steps, epochs * len(sizes[1])
    words = (
        f"the model was evaluated {tests} times, expected {expected}, once for each batch of val "
        "in each epoch; train_loss is of the losses that the steps saw, without another pass"
    )
    assert steps != epochs * len(train) or tests <= expected, words
    for n, training, graph in calls:
        if position == len(train) and n == train[0]:
            position = 0  # a new epoch
        if position < len(train):
            words = (
                f"the model saw a batch of {n} where the training batch of {train[position]} comes"
            )
            assert n == train[position], f"{words}: one step for each, in order"
            words = "a training batch ran in evaluation mode, or a part of the model did: call "
            assert training, words + "model.train() in every epoch, whatever the mode was"
            position += 1
        else:
            words = "a validation batch ran in training mode: call model.eval() before it"
            assert not training, words
            words = "a validation batch recorded a graph: torch.no_grad() is missing"
            assert not graph, f"{words}; eval() doesn't do that"
