"""Exercise ``training-dashboard``: the scalars of an event file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

from course_utils.chapters.visualization.comparing import (
    Before,
    check_left,
    check_seen,
    on_cpu,
)
from course_utils.chapters.visualization.trainings import digits
from course_utils.learner.changes import same_values
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook, what_was_raised

LARGE = "large pixels"  # and so large gradients
SHARING = "a weight of two layers, and one that takes no part"
NAN = "a pixel that is nan"
SHARED = "BatchNorm, dropout, a rate that is a tensor"  # a second forward pass would be seen


def make_training(kind: str, sizes: list[int]) -> tuple:
    """A model, its optimizer and scheduler, and batches; each parameter has an old gradient."""
    torch.manual_seed(len(sizes))
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10)).to(device)
    model[1].requires_grad_(kind != "frozen")
    if kind == SHARED:
        norm = nn.BatchNorm1d(64, affine=False).to(device).eval()
        model[0] = nn.Sequential(nn.Flatten(), norm, nn.Dropout(0.5))
        model[2] = nn.Sequential(nn.BatchNorm1d(16).to(device), nn.ReLU())
    if kind == SHARING:
        one, two = nn.Linear(16, 16).to(device), nn.Linear(16, 16).to(device)
        one.weight = two.weight = nn.Parameter(one.weight.detach().t())  # not contiguous
        model[2] = nn.Sequential(nn.ReLU(), one, nn.ReLU(), two)
        model[2].register_parameter("spare", nn.Parameter(torch.ones(3, device=device)))
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 0.25)
    second = {"params": [*model[1].parameters(), *model[2].parameters()]}
    second["lr"] = 0.6 if kind == SHARING else 0.01  # there it is the larger one
    rate = torch.tensor(0.4567) if kind == SHARED else 0.4567
    decay = 0.1 if kind == SHARING else 0.0  # moves what has a gradient of zeros, not of None
    groups = [{"params": model[3].parameters()}, second]
    optimizer = torch.optim.SGD(groups, lr=rate, weight_decay=decay)
    if kind == LARGE:
        for group in optimizer.param_groups:
            group["lr"] *= 1e-9
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    if kind == "frozen":
        scheduler.last_epoch = 7  # as if it had been in use before
        optimizer.param_groups[0]["lr"] = 0.321  # set by hand since
    if kind == SHARED:
        optimizer.param_groups[0]["lr"] = torch.tensor(0.321)
    ends = torch.tensor(sizes).cumsum(0).tolist()
    scale = 1e7 if kind == LARGE else 1
    batches = [
        (scale * digits()[0][e - n : e], digits()[1][e - n : e].clone())
        for n, e in zip(sizes, ends, strict=True)
    ]
    if kind == NAN:
        batches[-1] = (
            batches[-1][0].clone().index_fill(0, torch.tensor(0), torch.nan),
            batches[-1][1],
        )
    torch.manual_seed(len(sizes))
    return model, optimizer, scheduler, batches


def read_scalars(folder) -> dict[str, list]:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
    return {
        tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]
    }


def seen_training_dashboard(answer: Callable, kind: str, sizes: list[int]) -> tuple:
    """The scalars in the event file, what is different in the model, and the weights afterwards."""
    training, ran = make_training(kind, sizes), []
    training[0].register_forward_hook(lambda *_: ran.append(1))
    before, pairs = Before(training[0]), [(x.clone(), y.clone()) for x, y in training[3]]
    with tempfile.TemporaryDirectory() as folder:
        with SummaryWriter(folder) as writer:
            answer(writer, *training)
        scalars = read_scalars(folder)
        apart = sorted(path.name for path in Path(folder).iterdir() if path.is_dir())
    left = [words for words in before.changes() if not words.startswith(("the values", "the grad"))]
    if len(training[3]) != len(sizes):
        left.append("the list of batches has changed: it is the caller's")
    elif not all(
        same_values(*two)
        for pair in zip(pairs, training[3], strict=True)
        for two in zip(*pair, strict=True)
    ):
        left.append("images or labels of the batches were changed, in place: they are the caller's")
    if len(ran) > len(sizes):
        words = f"the model ran {len(ran)} times for {len(sizes)} steps: in a second pass"
        left.append(words + " dropout draws again and BatchNorm counts twice; the logits are there")
    return scalars, apart, left, on_cpu([p for p in training[0].state_dict().values()])


TAGS = {
    "loss": "the loss of this batch, before the step,",
    "accuracy": "the share of this batch that was right, by the logits of this step,",
    "rate": "the rate of the first group that the step is taken with",
    "gradient_norm": "the 2-norm of all gradients as one vector, between backward and step,",
}


def true_dashboard(kind: str, sizes: list[int]) -> tuple:
    """What should be in the file, what known slips would put there, and the weights."""
    model, optimizer, scheduler, batches = make_training(kind, sizes)
    right, slips = {tag: [] for tag in TAGS}, {}
    start, losses, shares = float(optimizer.param_groups[0]["lr"]), [], []
    for x, y in batches:
        logits = model(x)
        loss, hits = F.cross_entropy(logits, y), (logits.argmax(1) == y).float()
        old = [p.grad.norm() for p in model.parameters() if p.grad is not None]
        stale = torch.stack(old).norm() if old else torch.zeros(())
        optimizer.zero_grad()
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norms = torch.stack([grad.norm() for grad in grads])
        weights = torch.cat([p.detach().flatten() for p in model.parameters()]).norm()
        told = scheduler.get_last_lr()[0]
        rate = float(optimizer.param_groups[0]["lr"])  # a tensor is changed by the scheduler
        values = [loss.item(), hits.mean(), rate, norms.norm()]
        for tag, value in zip(right, values, strict=True):
            right[tag].append(float(value))
        second = optimizer.param_groups[1]["lr"]
        group = [p.grad.norm() for p in optimizer.param_groups[0]["params"] if p.grad is not None]
        matrices = [p.grad.norm() for p in model.parameters() if p.grad is not None and p.dim() > 1]
        layers = [p for m in model.modules() for p in m.parameters(recurse=False)]
        twice = torch.stack([p.grad.norm() for p in layers if p.grad is not None]).norm()
        mean_square = norms.norm() / sum(grad.numel() for grad in grads) ** 0.5
        losses.append(loss.item())
        shares.append(float(hits.mean()))
        optimizer.step()
        scheduler.step()
        later, past = loss, hits
        if kind != SHARED:  # there it would count as a pass
            after = model(x).detach()
            later, past = F.cross_entropy(after, y), (after.argmax(1) == y).float()
        for words, value in {
            "loss: that is the loss of this batch after the step": later,
            "loss: a sum over the batch; cross_entropy's mean is the loss": loss * len(y),
            "accuracy: that is the accuracy of this batch after the step": past.mean(),
            "accuracy: the share that was wrong": 1 - hits.mean(),
            "accuracy: a count; divide by the size of the batch": hits.sum(),
            "accuracy: in per cent": 100 * hits.mean(),
            "accuracy: divided by 8; each batch has its own size": hits.sum() / 8,
            "accuracy: divided by the size of the first batch; this one has its own": hits.sum()
            / sizes[0],
            "rate: rounded; log it as it is": round(values[2], 3),
            "rate: that is the rate of the step after": optimizer.param_groups[0]["lr"],
            "rate: that is the rate of the second group": second,
            "rate: what the scheduler set last; since then it was set by hand, in the group": told,
            "rate: that is the rate of the start; look it up at each step": start,
            "loss: a mean over the steps so far; each batch's own is asked for": (
                sum(losses) / len(losses)
            ),
            "accuracy: a mean over the steps so far; each batch's own is asked for": (
                sum(shares) / len(shares)
            ),
            "gradient_norm: the first group's alone; all parameters count": torch.stack(
                group
            ).norm(),
            "gradient_norm: without the biases; all parameters count": torch.stack(matrices).norm(),
            "gradient_norm: a parameter that two layers share counts once": twice,
            "gradient_norm: a mean of squares; the norm is the root of their sum": mean_square,
            "gradient_norm: a sum of norms is no norm of the whole: sum the squares": norms.sum(),
            "gradient_norm: the root is missing": norms.norm() ** 2,
            "gradient_norm: the mean of the norms; the whole is one vector": norms.mean(),
            "gradient_norm: the norm of one parameter alone": norms[0],
            "gradient_norm: the norm of the last parameter alone": norms[-1],
            "gradient_norm: the largest of the norms; the whole is one vector": norms.max(),
            "gradient_norm: the largest entry; the 2-norm is asked for": max(
                grad.abs().max() for grad in grads
            ),
            "gradient_norm: the 1-norm; the 2-norm is asked for": sum(
                grad.abs().sum() for grad in grads
            ),
            "gradient_norm: that is the norm of the weights": weights,
            "gradient_norm: of the gradients that zero_grad takes away; this step's own": stale,
        }.items():
            slips.setdefault(words, []).append(float(torch.as_tensor(value).detach()))
    last = float(optimizer.param_groups[0]["lr"])  # what a tensor that was kept holds by now
    slips["rate: a tensor, which the scheduler changes: keep its number"] = [last] * len(sizes)
    return right, slips, on_cpu([p for p in model.state_dict().values()])


def why_steps(steps: tuple[int, ...]) -> str:
    """Words for the steps of a curve that are not 0, 1, 2, …"""
    if len(steps) > 1 and not any(steps):
        return "each entry is at step 0: hand the step over, add_scalar(tag, value, step)"
    if steps == tuple(range(1, len(steps) + 1)):
        return "counted from 0"
    if steps == tuple(range(7, 7 + len(steps))):
        return "this scheduler was in use before, and counts on; the batches are counted from 0"
    return "one entry for each step, in order, counted from 0"


@ends_in_notebook
def check_dashboard(case, attempt, name, kind, sizes):
    found = None
    with case(name):
        try:
            found, apart, left, weights = attempt(kind, sizes)
        except Exception as error:
            said = what_was_raised(error)
            if ("NoneType" in said or "to be defined" in said) and kind in ("frozen", SHARING):
                which = {SHARING: "of a parameter that took no part"}.get(
                    kind, "of a frozen parameter"
                )
                raise AssertionError(f"{said}; the .grad {which} is None") from None
            raise
        assert found or not apart, (
            "add_scalars makes a run of its own for each curve; call add_scalar for each tag"
        )
        assert found, "the event file holds no scalar: is there an answer yet?"
    right, slips, true_weights = true_dashboard(kind, sizes)
    same = found and all(
        torch.allclose(*pair, equal_nan=True) for pair in zip(weights, true_weights, strict=True)
    )
    told = slice(None) if same else slice(1)  # another training has other numbers from then on
    for tag, values in right.items() if found else ():
        with case(f"{name}, train/{tag}"):
            assert f"train/{tag}" in found, f"no such tag; the file holds {sorted(found)}"
            steps, logged = zip(*found[f"train/{tag}"], strict=True)
            check_equal(list(steps), list(range(len(sizes))), "the steps", why_steps(steps))
            mine = {
                w.split(": ", 1)[1]: torch.tensor(v[told])
                for w, v in slips.items()
                if w.startswith(tag)
            }
            seen, truth = torch.tensor(logged[told]), torch.tensor(values[told])
            check_seen(seen, truth, TAGS[tag], mine, rtol=1e-3)
    with case(f"{name}, the training"):
        check_left(left if found else [])
        why = "does a line change gradients or rate?"
        if found and not same and kind == SHARING:
            pairs = zip(weights, true_weights, strict=True)
            if [len(b) for a, b in pairs if not torch.allclose(a, b)] == [3]:  # spare alone
                why = "what takes no part has None as its gradient: one of zeros lets decay move it"
        assert same or not found, f"other weights came out: {why}"
