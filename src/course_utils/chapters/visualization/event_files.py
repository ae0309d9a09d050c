"""Exercises ``training-dashboard`` and ``histograms-that-tell``: what an event file holds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

from course_utils.chapters.visualization.comparing import FAILED, check_seen, on_cpu, tried
from course_utils.chapters.visualization.trainings import digits
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook


def make_training(frozen: bool, sizes: list[int]) -> tuple:
    torch.manual_seed(len(sizes))
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10)).to(device)
    model[1].requires_grad_(not frozen)
    groups = [{"params": model[3].parameters()}, {"params": model[1].parameters(), "lr": 0.01}]
    optimizer = torch.optim.SGD(groups, lr=0.5)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    ends = torch.tensor(sizes).cumsum(0).tolist()
    batches = [
        (digits()[0][e - n : e], digits()[1][e - n : e]) for n, e in zip(sizes, ends, strict=True)
    ]
    return model, optimizer, scheduler, batches


def read_scalars(folder) -> dict[str, list]:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
    return {
        tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]
    }


def seen_training_dashboard(answer: Callable, frozen: bool, sizes: list[int]) -> tuple:
    """The scalars in the event file, and the weights after the training."""
    training = make_training(frozen, sizes)
    with tempfile.TemporaryDirectory() as folder:
        writer = SummaryWriter(folder)
        answer(writer, *training)
        writer.close()
        scalars = read_scalars(folder)
        apart = sorted(path.name for path in Path(folder).iterdir() if path.is_dir())
    return scalars, apart, on_cpu([p for p in training[0].parameters()])


def true_dashboard(frozen: bool, sizes: list[int]) -> tuple:
    """What should be in the file, what known slips would put there, and the weights."""
    model, optimizer, scheduler, batches = make_training(frozen, sizes)
    right, slips = {"loss": [], "accuracy": [], "rate": [], "gradient_norm": []}, {}
    for x, y in batches:
        logits = model(x)
        loss, hits = F.cross_entropy(logits, y), (logits.argmax(1) == y).float()
        optimizer.zero_grad()
        loss.backward()
        norms = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None])
        values = [loss.item(), hits.mean(), optimizer.param_groups[0]["lr"], norms.norm()]
        for tag, value in zip(right, values, strict=True):
            right[tag].append(float(value))
        second = optimizer.param_groups[1]["lr"]
        optimizer.step()
        scheduler.step()
        for words, value in {
            "accuracy: a count; divide by the size of the batch": hits.sum(),
            "accuracy: in per cent": 100 * hits.mean(),
            "accuracy: divided by 8; each batch has a size of its own": hits.sum() / 8,
            "accuracy: divided by the size of the first batch; this one has its own": hits.sum()
            / sizes[0],
            "rate: that is the rate of the step after": optimizer.param_groups[0]["lr"],
            "rate: that is the rate of the second group": second,
            "gradient_norm: a sum of norms is no norm of the whole: sum the squares": norms.sum(),
            "gradient_norm: the root is missing": norms.norm() ** 2,
            "gradient_norm: the mean of the norms; the whole is one vector": norms.mean(),
            "gradient_norm: the norm of one parameter alone": norms[0],
            "gradient_norm: the norm of the last parameter alone": norms[-1],
            "gradient_norm: the largest of the norms; the whole is one vector": norms.max(),
        }.items():
            slips.setdefault(words, []).append(float(value))
    return right, slips, on_cpu([p for p in model.parameters()])


@ends_in_notebook
def check_dashboard(case, attempt, name, frozen, sizes):
    found = None
    with case(name):
        try:
            found, apart, weights = attempt(frozen, sizes)
        except Exception as error:
            if frozen and "NoneType" in str(error):
                said = f"raised {type(error).__name__}: {error}"
                raise AssertionError(f"{said}; a frozen parameter's .grad is None") from None
            raise
        assert found or not apart, (
            "add_scalars makes a run of its own for each curve; call add_scalar for each tag"
        )
        assert found, "the event file holds no scalar: is there an answer yet?"
    right, slips, true_weights = true_dashboard(frozen, sizes)
    for tag, values in right.items() if found else ():
        with case(f"{name}, train/{tag}"):
            assert f"train/{tag}" in found, f"no such tag; the file holds {sorted(found)}"
            steps, logged = zip(*found[f"train/{tag}"], strict=True)
            check_equal(list(steps), list(range(len(sizes))), "the steps")
            mine = {
                w.split(": ")[1]: torch.tensor(v) for w, v in slips.items() if w.startswith(tag)
            }
            check_seen(torch.tensor(logged), torch.tensor(values), "the values", mine, rtol=1e-3)
    with case(f"{name}, the training"):
        same = found and all(map(torch.allclose, weights, true_weights))
        assert same or not found, "other weights came out: does a line change gradients or rate?"


def make_suspect(kind: str) -> nn.Sequential:
    """A model with dead units; of images (batch, 1, 8, 8). In training mode, one part in eval."""
    torch.manual_seed(0)
    dense = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 6), nn.ReLU(), nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2)
    )
    block = nn.Sequential(nn.Conv2d(1, 5, 3), nn.BatchNorm2d(5), nn.ReLU(inplace=True))
    conv = nn.Sequential()
    for name, part in {"block": block, "drop": nn.Dropout(0.5), "flat": nn.Flatten()}.items():
        conv.add_module(name, part)
    conv.add_module("head", nn.Sequential(nn.Linear(180, 8), nn.ReLU()))
    with torch.no_grad():
        dense.get_parameter("1.bias")[:2] = -50
        dense.get_parameter("3.bias")[0] = -50
        conv.get_parameter("block.1.bias")[3] = -50
        conv.get_parameter("head.0.bias")[:6] = -50
        conv.get_buffer("block.1.running_mean").add_(0.2)
    model = (dense if kind == "dense" else conv).to(device).train()
    list(model.modules())[2].eval()
    return model


def _numbers(event) -> tuple:
    value = event.histogram_value
    return event.step, value.min, value.max, value.num, value.sum


def seen_histograms(answer: Callable, kind: str, size: int, step: int) -> dict:
    """What was returned, what is in the event file, and what became of the model."""
    model, found = make_suspect(kind), {}
    modes = [module.training for module in model.modules()]
    buffers = [buffer.clone() for buffer in model.buffers()]
    with tempfile.TemporaryDirectory() as folder:
        writer = SummaryWriter(folder)
        found["shares"] = answer(writer, model, digits()[0][:size], step)
        writer.close()
        events = EventAccumulator(folder, size_guidance={"histograms": 0}).Reload()
        for tag in events.Tags()["histograms"]:
            found[tag] = [_numbers(e) for e in events.Histograms(tag)]
    if isinstance(found["shares"], dict):
        found["shares"] = {str(name): float(share) for name, share in found["shares"].items()}
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks")
    left = {
        "a hook is left": any(len(getattr(m, k)) for m in model.modules() for k in kinds),
        "a module's mode has changed": modes != [module.training for module in model.modules()],
        "a buffer has changed: BatchNorm saw the batch in training mode": not all(
            map(torch.equal, buffers, model.buffers())
        ),
        "a parameter has a gradient": any(p.grad is not None for p in model.parameters()),
    }
    return found | {"left": [words for words, is_so in left.items() if is_so]}


def true_histograms(kind: str, size: int) -> tuple[dict, dict]:
    """The tensors behind each tag, and the outputs of each ReLU."""
    model, x, outputs = make_suspect(kind).eval(), digits()[0][:size], {}
    if kind == "dense":
        outputs["2"] = model[:3](x).detach()
        outputs["4"] = model[:5](x).detach()
    else:
        outputs["block.2"] = model.get_submodule("block")(x).detach()
        outputs["head.1"] = model(x).detach()
    tags = {f"parameters/{name}": p.detach() for name, p in model.named_parameters()}
    return tags | {f"activations/{name}": y for name, y in outputs.items()}, outputs


@ends_in_notebook
def check_histograms(case, attempt, kind, size, step):
    found = tried(case, kind, attempt, kind, size, step)
    if found is FAILED:
        return
    tags, outputs = true_histograms(kind, size)
    shares, left = found.pop("shares"), found.pop("left")
    with case(f"{kind}, what is returned"):
        words = f"it returned {shares!r}, not a dict: is there an answer yet?"
        assert isinstance(shares, dict), words
        last = list(dict(make_suspect(kind).named_modules()))[-1]
        why = (
            "a ReLU inside another module counts, too"
            if set(shares) < set(outputs)
            else "was the loop's variable looked up too late?"
            if set(shares) == {last}
            else ""
        )
        check_equal(sorted(shares), sorted(outputs), "the names of the ReLUs", why)
        for name, out in outputs.items():
            dead = (out == 0).transpose(0, 1).flatten(1).all(1).float().mean()
            slips = {
                "that is the share of zeros; a unit is dead if all of its outputs are 0": (out == 0)
                .float()
                .mean(),
                "each place of a map was counted as a unit; here a unit is a whole channel": (
                    out == 0
                )
                .all(0)
                .float()
                .mean(),
                "that is the share of units that live": 1 - dead,
                "that is the number of dead units, not their share": dead * out.shape[1],
            }
            check_seen(
                torch.tensor(shares[name]), dead.cpu(), f"{name}, share of dead units", slips
            )
    for tag in sorted(set(tags) | set(found)) if shares else ():
        with case(f"{kind}, {tag}"):
            assert tag in found, "the event file has no such histogram"
            assert tag in tags, "the event file has this histogram, which was not asked for"
            check_equal([entry[0] for entry in found[tag]], [step], "its steps")
            value = tags[tag].double()
            truth = [value.min(), value.max(), value.numel(), value.sum()]
            seen = torch.tensor(found[tag][0][1:])
            check_seen(
                seen,
                torch.tensor(truth),
                "its minimum, maximum, count and sum (eval mode?)",
                {},
                rtol=1e-3,
                atol=1e-3,
            )
    with case(f"{kind}, the model afterwards"):
        check_equal(left, [], "what is not as it was")
