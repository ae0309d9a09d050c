"""Chapter 14's data, its small trainings, and what its checks look at and compare.

What an answer makes here are figures, event files, windows of a server, changes to a model: none of
that travels to a judge. So for each exercise there is a function ``seen_…``, which calls the answer
and returns plain values, and a function ``check_…``, which compares them with its own truth. In the
notebook a locked function ``try_…`` hands the answer to the first.
"""

from __future__ import annotations

import base64
import functools
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from matplotlib.patches import Rectangle
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

from course_utils.learner.checks import (
    check_close,
    check_equal,
    check_predictions,
    forbid_changes,
)
from course_utils.learner.devices import device
from course_utils.learner.drawings import show_difference
from course_utils.learner.gradients import grad_of
from course_utils.learner.layers import python_calls
from course_utils.learner.servers import visdom_server
from course_utils.learner.tracebacks import ends_in_notebook

# --- data, and a training that can be spoilt ---------------------------------------------------


@functools.cache
def digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """1000 digits (1, 8, 8) from 0 to 1 with their labels, and 500 others for validation."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    x = torch.tensor(images[order], dtype=torch.float32, device=device).view(-1, 1, 8, 8) / 16
    y = torch.tensor(labels[order], device=device)
    return x[:1000], y[:1000], x[1000:1500], y[1000:1500]


FAILED = object()


def tried(case, name: str, attempt: Callable, *arguments):
    """What an attempt gives; ``FAILED`` if it raised, which is then a failure of the case."""
    try:
        return attempt(*arguments)
    except Exception as error:
        with case(name):
            raise error
    return FAILED


def on_cpu(value):
    """Tensors, alone or in lists, tuples and dicts, without a graph and on the CPU."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if isinstance(value, dict):
        return {key: on_cpu(entry) for key, entry in value.items()}
    return type(value)(map(on_cpu, value)) if type(value) in (list, tuple) else value


@ends_in_notebook
def check_named(actual, truth, what, slips, rtol=1e-4, atol=1e-5) -> None:
    """Compare tensors; a known slip gets words of its own. ``slips``: words -> what it gives."""
    if isinstance(actual, (np.ndarray, list, tuple)):
        actual = torch.as_tensor(np.asarray(actual))
    if isinstance(actual, torch.Tensor):
        actual = actual.detach().to(truth)
        if actual.shape != truth.shape or not torch.allclose(actual, truth, rtol, atol):
            for words, slip in slips.items():
                if slip.shape == actual.shape and torch.allclose(
                    actual, slip.to(truth), rtol, atol
                ):
                    raise AssertionError(f"{what}: {words}")
    check_close(actual, truth, what, rtol=rtol, atol=atol)


HEALTHY: dict[str, Any] = {
    "rate": 0.1, "zero": True, "pairs": True, "logits": True, "bias": 0.0, "dead": 0, "deep": False,
    "scale": 1.0, "data": 1000, "shuffle": True, "safe": True, "decay": 0.0, "seed": 0,
}  # fmt: skip


def make_network(plan: dict) -> nn.Sequential:
    torch.manual_seed(plan["seed"])
    widths = [64, 48, 48, 48, 48, 10] if plan["deep"] else [64, 48, 48, 10]
    modules: list[nn.Module] = [nn.Flatten()]
    for n in range(len(widths) - 1):
        linear = nn.Linear(widths[n], widths[n + 1])
        if plan["deep"]:
            nn.init.normal_(linear.weight, std=0.1)
        if n == 1:
            nn.init.constant_(linear.bias[: plan["dead"]], -20.0)
            nn.init.constant_(linear.bias, plan["bias"]) if plan["bias"] else None
        modules += [linear, nn.Sigmoid() if plan["deep"] else nn.ReLU()]
    return nn.Sequential(*modules[:-1]).to(device)


def loss_of(plan: dict, output: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if not plan["safe"]:
        chances = output.half().exp() / output.half().exp().sum(1, keepdim=True)
        return -chances.float().log()[range(len(y)), y].mean()
    return F.cross_entropy(output if plan["logits"] else output.softmax(1), y)


def data_of(plan: dict) -> tuple[torch.Tensor, ...]:
    x, y, x_validation, y_validation = digits()
    x, y = x[: plan["data"]] * plan["scale"], y[: plan["data"]]
    y = y if plan["pairs"] else y.roll(1)
    order = torch.arange(len(y), device=device) if plan["shuffle"] else y.argsort(stable=True)
    return x[order], y[order], x_validation * plan["scale"], y_validation


@functools.cache
@torch.enable_grad()
def run(steps: int = 200, **changes) -> dict:
    """Train on the digits; what was seen at each step, and the network. ``changes`` to HEALTHY."""
    plan = HEALTHY | changes
    network, (x, y, x_validation, y_validation) = make_network(plan), data_of(plan)
    optimizer = torch.optim.SGD(
        network.parameters(), lr=plan["rate"], momentum=0.9, weight_decay=plan["decay"]
    )
    linear = [module for module in network if isinstance(module, nn.Linear)]
    generator = torch.Generator().manual_seed(plan["seed"])
    seen = {"loss": [], "validation": [], "accuracy": [], "gradients": [], "weights": []}
    for step in range(steps):
        rows = (torch.arange(50) + 50 * step) % len(x)
        if plan["shuffle"]:
            rows = torch.randint(len(x), (50,), generator=generator)
        loss = loss_of(plan, network(x[rows]), y[rows])
        if plan["zero"] or step == 0:
            optimizer.zero_grad()
        loss.backward()
        seen["loss"].append(loss.item())
        seen["gradients"].append([grad_of(layer.weight).norm().item() for layer in linear])
        seen["weights"].append([layer.weight.norm().item() for layer in linear])
        optimizer.step()
        with torch.no_grad():
            output = network(x_validation)
            seen["validation"].append(loss_of(plan, output, y_validation).item())
            seen["accuracy"].append((output.argmax(1) == y_validation).float().mean().item())
    return seen | {"network": network, "plan": plan}


# --- show-batch --------------------------------------------------------------------------------


def seen_show_batch(answer: Callable, *arguments) -> dict:
    """The titles and pictures in the figure, or what went wrong."""
    try:
        figure = answer(*arguments)
    except Exception as error:
        return {"error": f"it raised {type(error).__name__}: {error}"}
    finally:
        plt.close("all")
    if not isinstance(figure, plt.Figure):
        return {"error": f"it returned {figure!r}, not the figure"}
    shown, pictures = [axes for axes in figure.axes if axes.images], []
    for axes in shown:
        array = np.asarray(axes.images[0].get_array())
        pictures.append(torch.tensor(array / (255 if array.dtype == np.uint8 else 1)).float())
    titles = [[axes.get_title(loc=side) for side in ("left", "center", "right")] for axes in shown]
    return {"titles": ["".join(title) for title in titles], "pictures": pictures}


@ends_in_notebook
def check_batch(attempt, images, labels, names, mean, std) -> None:
    with forbid_changes(images, mean, std):
        found = attempt(images, labels, names, mean, std)
    hint = "; is there an answer yet? imshow wants (height, width, channel)"
    hint = hint if "Invalid shape" in str(found) else ""
    assert "error" not in found, found["error"] + hint
    wanted = [names[label] for label in labels]
    check_equal(found["titles"], wanted, "the titles, one axes for each image, in order")
    images, m, s = images.detach().cpu(), mean.cpu()[:, None, None], std.cpu()[:, None, None]
    for n, (x, picture) in enumerate(zip(images, found["pictures"], strict=True)):
        truth, back = (x * s + m).clamp(0, 1), x * s + m
        stretched = (back - back.min()) / (back.max() - back.min() + 1e-12)
        slips = {
            "it is still normalised: times std, plus mean": x.clamp(0, 1).permute(1, 2, 0),
            "mean and std have changed places": (x * m + s).clamp(0, 1).permute(1, 2, 0),
            "that normalises it once more; go back": ((x - m) / s).clamp(0, 1).permute(1, 2, 0),
            "plus mean comes after times std": ((x + m) * s).clamp(0, 1).permute(1, 2, 0),
            "height and width have changed places": truth.permute(2, 1, 0),
            "view and reshape don't move the channel": truth.reshape(*x.shape[1:], 3),
            "stretched to its own range: cut off at 0 and 1 instead": stretched.permute(1, 2, 0),
            "stretched to its own range instead of times std, plus mean": (
                (x - x.min()) / (x.max() - x.min() + 1e-12)
            ).permute(1, 2, 0),
            "clamp comes last, after times std, plus mean": (x.clamp(0, 1) * s + m).permute(
                1, 2, 0
            ),
            "bytes wrap around: clamp first": ((back * 255).long() % 256).permute(1, 2, 0) / 255,
        }
        check_named(picture, truth.permute(1, 2, 0), f"picture {n}", slips, atol=0.005)


@ends_in_notebook
def check_example(attempt, batch, needs_gradient=False, seed=0, even=False):
    generator = torch.Generator().manual_seed(seed)
    images = 2 * torch.randn(batch, 3, 4, 6, generator=generator).to(device)
    mean = torch.full((3,), 0.5) if even else torch.tensor([0.5, 0.3, 0.6])
    std = torch.full((3,), 0.25) if even else torch.tensor([0.25, 0.3, 0.2])
    labels = torch.randint(3, (batch,), generator=generator).tolist()
    images = images.requires_grad_(needs_gradient)
    check_batch(attempt, images, labels, ["cat", "dog", "owl"], mean.to(device), std.to(device))


# --- training-dashboard ------------------------------------------------------------------------


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
            check_named(torch.tensor(logged), torch.tensor(values), "the values", mine, rtol=1e-3)
    with case(f"{name}, the training"):
        same = found and all(map(torch.allclose, weights, true_weights))
        assert same or not found, "other weights came out: does a line change gradients or rate?"


# --- histograms-that-tell ----------------------------------------------------------------------


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
            check_named(
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
            check_named(
                seen,
                torch.tensor(truth),
                "its minimum, maximum, count and sum (eval mode?)",
                {},
                rtol=1e-3,
                atol=1e-3,
            )
    with case(f"{kind}, the model afterwards"):
        check_equal(left, [], "what is not as it was")


# --- lie-detector ------------------------------------------------------------------------------


def smoothed(values: list[float], weight: float) -> list[float]:
    """TensorBoard's smoothing: an exponential mean, corrected for its start."""
    mean, shown = 0.0, []
    for n, value in enumerate(values, start=1):
        mean = weight * mean + (1 - weight) * value
        shown.append(mean / (1 - weight**n))
    return shown


@functools.cache
def two_settings() -> dict:
    """What A and B left behind: curves as lists, errors as 10 x 10 arrays of counts."""
    runs = [run(data=100, seed=seed, rate=0.2) for seed in range(5)]
    errors = {}
    for name, seen in {"A": runs[0], "B": run(data=100, rate=0.02)}.items():
        guess, truth = seen["network"](digits()[2]).argmax(1), digits()[3]
        table = torch.zeros(10, 10)
        for right, wrong in zip(
            truth[guess != truth].tolist(), guess[guess != truth].tolist(), strict=True
        ):
            table[right, wrong] += 1
        errors[name] = table.numpy()
    return {
        "accuracy": {name: 1 - table.sum() / 500 for name, table in errors.items()},
        "loss": runs[0]["loss"], "validation": runs[0]["validation"],
        "seeds": [seen["accuracy"] for seen in runs], "errors": errors,
    }  # fmt: skip


def draw_lies(data: dict) -> tuple[plt.Figure, dict[str, plt.Axes]]:
    figure, grid = plt.subplots(2, 3, figsize=(10, 5), layout="constrained")
    names = ["cut axis", "smoothed away", "two scales", "one seed", "stopped early", "own colours"]
    plots = dict(zip(names, grid.flat, strict=True))
    for name, axes in plots.items():
        axes.set_title(name)
    low, high = sorted(data["accuracy"].values())
    plots["cut axis"].bar(data["accuracy"].keys(), data["accuracy"].values())
    plots["cut axis"].set(
        ylim=(low - 0.1 * (high - low), high + 0.1 * (high - low)), ylabel="accuracy"
    )
    plots["smoothed away"].plot(smoothed(data["loss"], 0.97))
    plots["smoothed away"].set(xlabel="step", ylabel="training loss")
    plots["two scales"].plot(data["loss"], label="training loss")
    plots["two scales"].set_xlabel("step")
    plots["two scales"].set_ylabel("training loss", color="C0")
    twin = plots["two scales"].twinx()
    twin.plot(data["validation"], color="C1", label="validation loss")
    twin.set_ylabel("validation loss", color="C1")
    twin.set_ylim(0.4, 2.5)
    best = max(data["seeds"], key=lambda curve: curve[-1])
    plots["one seed"].plot(best)
    plots["one seed"].set(xlabel="step", ylabel="accuracy")
    stop = int(np.argmin(data["validation"]))
    plots["stopped early"].plot(data["validation"])
    plots["stopped early"].set(xlim=(0, stop), xlabel="step", ylabel="validation loss")
    for n, table in enumerate(data["errors"].values()):
        area = (11 * n, 11 * n + 10, 10, 0)
        plots["own colours"].imshow(table, extent=area, cmap="Blues", vmin=0, vmax=table.max())
    plots["own colours"].axvline(10.5, color="gray", lw=1)
    plots["own colours"].set(
        xlim=(0, 21), ylim=(10, 0), xlabel="errors of A, and of B", xticks=[], yticks=[]
    )
    return figure, plots


def seen_lie_detector(answer: Callable) -> dict:
    """For each plot, its axes (a twin counts) with limits, lines, bars and images."""
    data = two_settings()
    figure, plots = draw_lies(data)
    answer(plots, data)
    found = {}
    for name, axes in plots.items():
        siblings = axes.get_shared_x_axes().get_siblings(axes)
        found[name] = []
        for one in figure.axes:
            if one.get_visible() and (one is axes or one in siblings):
                lines = [line for line in one.lines if line.get_visible()]
                images = [image for image in one.images if image.get_visible()]
                about: dict[str, list] = {
                    "xlim": sorted(one.get_xlim()),
                    "ylim": sorted(one.get_ylim()),
                }
                about["lines"] = [
                    (
                        np.array(line.get_xdata(), float).tolist(),
                        np.array(line.get_ydata(), float).tolist(),
                    )
                    for line in lines
                ]
                bars = [bar for bar in one.patches if isinstance(bar, Rectangle)]
                about["bars"] = [bar.get_height() for bar in bars if bar.get_visible()]
                about["images"] = [
                    (
                        list(map(float, image.get_clim())),
                        np.array(image.get_array(), float).tolist(),
                    )
                    for image in images
                ]
                found[name].append(about)
    plt.close(figure)
    return found


def has_curve(about: dict, curve: list[float]) -> bool:
    """Whether a visible line has this curve, over the steps."""
    steps = np.arange(len(curve))
    return any(
        len(ys) == len(curve) and np.allclose(xs, steps) and np.allclose(ys, curve)
        for xs, ys in about["lines"]
    )


@ends_in_notebook
def check_curve(parts: list[dict], curve: list[float], missing: str) -> None:
    """Refuse where no visible line has this curve, and say why."""
    check_axes(parts)
    elsewhere = any(
        len(ys) == len(curve) and np.allclose(ys, curve)
        for part in parts
        for _, ys in part["lines"]
    )
    late = "the line is there, but its x are not the steps, counted from 0"
    assert any(has_curve(part, curve) for part in parts), late if elsewhere else missing


@ends_in_notebook
def check_axes(parts: list[dict]) -> None:
    assert parts, "this axes is hidden, or no longer in its figure: repair it in place"


def inside(about: dict, curve: list[float]) -> bool:
    """Whether the limits of both axes hold the whole curve."""
    (left, right), (low, high) = about["xlim"], about["ylim"]
    return left <= 0 and right >= len(curve) - 1 and low <= min(curve) and high >= max(curve)


@ends_in_notebook
def check_two_scales(parts: list[dict], data: dict) -> None:
    limits = []
    for name in ("loss", "validation"):
        check_curve(parts, data[name], f"data[{name!r}] is no line of it any more")
        holder = [part for part in parts if has_curve(part, data[name])]
        assert inside(holder[0], data[name]), f"points of data[{name!r}] lie outside the limits"
        limits.append(holder[0]["ylim"])
    shown = np.round(limits, 2).tolist()
    assert np.allclose(*limits), f"the two losses still have two scales: {shown}"


@ends_in_notebook
def check_own_colours(parts: list[dict], data: dict) -> None:
    images = [image for part in parts for image in part["images"]]
    found = [[c for c, a in images if np.array_equal(a, t)] for t in data["errors"].values()]
    assert all(found), "one of the two images is gone"
    shown = [limits[0] for limits in found]
    assert np.allclose(shown[0], shown[1]), f"the colour limits still differ: {shown}"
    most = max(table.max() for table in data["errors"].values())
    holds = shown[0][0] <= 0 and shown[0][1] >= most
    assert holds, f"numbers up to {most:g} lie outside {shown[0]}"


@ends_in_notebook
def check_lies(case, attempt) -> None:
    """Each of the six plots, a case of its own."""
    data = two_settings()
    found = tried(case, "the repair", attempt)
    if found is FAILED:
        return
    with case("cut axis"):
        check_axes(found["cut axis"])
        bars, (low, high) = found["cut axis"][0]["bars"], found["cut axis"][0]["ylim"]
        assert np.allclose(sorted(bars), sorted(data["accuracy"].values())), "the bars have changed"
        assert low <= 0, (
            f"the axis begins at {low:.3f}: a bar's length means nothing unless it begins at 0"
        )
        assert high >= max(bars), "the bars reach beyond the axis"
    with case("smoothed away"):
        check_curve(found["smoothed away"], data["loss"], "no visible line holds the raw loss")
    with case("two scales"):
        check_two_scales(found["two scales"], data)
    with case("one seed"):
        shown = sum(any(has_curve(p, c) for p in found["one seed"]) for c in data["seeds"])
        words = "the number of seeds with a visible line: expected 5, got"
        for curve in data["seeds"]:
            check_curve(found["one seed"], curve, f"{words} {shown} (draw each seed's own curve)")
    with case("stopped early"):
        check_curve(
            found["stopped early"],
            data["validation"],
            "the whole validation loss is no line of it any more",
        )
        holder = [part for part in found["stopped early"] if has_curve(part, data["validation"])]
        assert any(inside(part, data["validation"]) for part in holder), (
            "points still lie outside the limits"
        )
    with case("own colours"):
        check_axes(found["own colours"])
        check_own_colours(found["own colours"], data)


# --- embedding-map -----------------------------------------------------------------------------


def seen_embedding_map(answer: Callable, features: torch.Tensor, labels: list[str]) -> dict:
    """What was returned, and the files for the projector."""
    with tempfile.TemporaryDirectory() as folder:
        writer = SummaryWriter(folder)
        result = answer(writer, features, labels)
        writer.close()
        tables = [np.loadtxt(file, ndmin=2) for file in Path(folder).rglob("tensors.tsv")]
        words = [file.read_text().splitlines() for file in Path(folder).rglob("metadata.tsv")]
    found = {"tables": [torch.tensor(table) for table in tables], "labels": words}
    return found | {"result": on_cpu(result)}


@ends_in_notebook
def check_pca(mine: torch.Tensor, features: torch.Tensor) -> None:
    x = features.detach().double().cpu()
    centred = x - x.mean(0)
    u, _, v = torch.linalg.svd(centred, full_matrices=False)
    truth, raw = centred @ v[:2].T, torch.linalg.svd(x, full_matrices=False)
    assert isinstance(mine, torch.Tensor), f"the coordinates are {mine!r}, no tensor"
    check_equal(tuple(mine.shape), (len(x), 2), "the shape of the coordinates")
    mine = mine.double()
    flips = (mine * truth).sum(0).sign()
    flips[flips == 0] = 1
    slips = {
        "the features were not centred": x @ raw.Vh[:2].T,
        "the directions fit, but the features were not centred before they were projected": x
        @ v[:2].T,
        "scaled to equal lengths (that is U alone); times the singular values": u[:, :2],
        "one mean was taken over everything; each feature has its own": (x - x.mean())
        @ torch.linalg.svd(x - x.mean(), full_matrices=False).Vh[:2].T,
        "the last two directions, the shortest; take the first": centred @ v[-2:].T,
        "the first two features are no principal directions": centred[:, :2],
        "columns of V were taken; what torch calls Vh has the directions in its rows": centred
        @ v[:, :2]
        if v.shape[0] == v.shape[1]
        else truth + 1,
    }
    for words, slip in slips.items():
        signs = (mine * slip).sum(0).sign() if slip.shape == mine.shape else 1
        same = slip.shape == mine.shape and torch.allclose(mine * signs, slip, 1e-3, 1e-3)
        if same and not torch.allclose(mine * flips, truth, 1e-3, 1e-3):
            raise AssertionError(f"the coordinates: {words}")
    check_named(mine * flips, truth, "the coordinates", {}, rtol=1e-3, atol=1e-3)


@ends_in_notebook
def check_neighbours(mine: torch.Tensor, features: torch.Tensor) -> None:
    far = torch.cdist(features.detach().double().cpu(), features.detach().double().cpu())
    mine = torch.as_tensor(mine)
    check_equal(tuple(mine.shape), (len(far),), "the shape of the neighbours")
    rows = torch.arange(len(far))
    assert mine.dtype not in (torch.float32, torch.float64), (
        "the neighbours are floats, not indices"
    )
    assert not (mine == rows).all(), "each sample is its own neighbour: leave it out"
    own = rows[mine == rows].tolist()
    assert not own, f"samples {own} are their own neighbours"
    best = far.masked_fill(torch.eye(len(far), dtype=torch.bool), float("inf")).amin(1)
    wrong = rows[far[rows, mine] > best + 1e-6].tolist()
    where = "a nearer sample exists (by all the features, not in the map?)"
    assert not wrong, f"{where} for samples {wrong[:6]}"


@ends_in_notebook
def check_map(case, attempt, name, features):
    labels, features = [f"sample {n}" for n in range(len(features))], features.to(device)
    with forbid_changes(features):
        found = tried(case, name, attempt, features, labels)
    if found is FAILED:
        return
    parts = found["result"]
    is_pair = isinstance(parts, (tuple, list)) and len(parts) == 2
    assert is_pair, f"{parts!r} is no pair: is there an answer yet?"
    with case(f"{name}: coordinates"):
        check_pca(parts[0], features)
    with case(f"{name}: neighbours"):
        check_neighbours(parts[1], features)
    with case(f"{name}: the projector's files"):
        assert found["tables"], "nothing was handed to the projector"
        check_named(
            found["tables"][0],
            features.cpu().double(),
            "the projector's table",
            {"centred; it gets the features as they are": (features - features.mean(0)).cpu()},
            rtol=1e-3,
            atol=1e-4,
        )
    with case(f"{name}: the projector's labels"):
        check_equal(found["labels"], [labels], "the projector's labels", "metadata=labels")


# --- pr-and-confusion --------------------------------------------------------------------------


def seen_pr(
    answer: Callable, scores: torch.Tensor, labels: torch.Tensor, threshold: float
) -> tuple:
    """What was returned, and whether a function of scikit-learn ran."""
    result, names = python_calls(answer, scores, labels, threshold)
    return on_cpu(result), any(name.startswith("sklearn.") for name in names)


def true_pr(scores, labels, strict=False):
    """Precision and recall at each distinct score; strictly above it, for a known slip."""
    scores, labels = scores.double().cpu(), labels.cpu().bool()
    steps = scores.unique()
    said = scores > steps[:, None] if strict else scores >= steps[:, None]  # (threshold, sample)
    hits = (said & labels).sum(1)
    return hits / said.sum(1), hits / labels.sum(), steps


@ends_in_notebook
def check_pr(case, attempt, name, scores, labels, threshold) -> None:
    """All four results, each a case of its own."""
    with forbid_changes(scores, labels):
        found = tried(case, name, attempt, scores, labels, threshold)
    if found is FAILED:
        return
    result, by_library = found
    ok = isinstance(result, (tuple, list)) and len(result) == 4
    assert ok, f"{result!r} is not (precision, recall, thresholds, matrix): is there an answer yet?"
    assert not by_library, "scikit-learn ran; here it is done by hand"
    truth, above = true_pr(scores, labels), true_pr(scores, labels, strict=True)
    every = torch.stack(
        [(scores.cpu() >= s) & labels.cpu().bool() for s in scores.cpu().sort().values]
    ).sum(1)
    for n, part in enumerate(("precision", "recall", "thresholds")):
        slips = {
            "above the threshold; equal counts as called, too": above[n],
            "descending; wanted ascending": truth[n].flip(0),
        }
        if n < 2:
            slips["precision and recall have changed places"] = truth[1 - n]
        if n == 0:
            each = (scores.cpu() >= scores.cpu().sort().values[:, None]).sum(1)
            slips["one entry for each sample; equal scores are one threshold"] = every / each
        if n == 1:
            slips["one entry for each sample; equal scores are one threshold"] = (
                every / labels.cpu().sum()
            )
        if n == 2:
            slips["equal scores are one threshold"] = scores.cpu().double().sort().values
        with case(f"{name}: {part}"):
            mine = result[n].double() if isinstance(result[n], torch.Tensor) else result[n]
            size, steps = getattr(mine, "shape", None), len(truth[2])
            if n == 2 and size is not None and size not in ((steps,), (steps + 1,), (len(scores),)):
                raise AssertionError(
                    f"thresholds: of shape {tuple(size)}, and there are {steps} distinct scores"
                )
            more = isinstance(mine, torch.Tensor) and mine.shape == (len(truth[n]) + 1,)
            if more and torch.allclose(mine[:-1], truth[n].double()):
                raise AssertionError("one entry too many: without the point (1, 0) of libraries")
            check_named(mine, truth[n].double(), part, slips)
    said, is_one = scores.cpu() >= threshold, labels.cpu().bool()
    table = torch.tensor(
        [[((is_one == i) & (said == j)).sum() for j in (False, True)] for i in (False, True)]
    )
    mine = torch.as_tensor(result[3])
    strict = scores.cpu() > threshold
    slips = {
        "rows and columns have changed places: rows are the truth": table.T,
        "1 comes before 0": table.flip(0, 1),
        "equal to the threshold counts as called": torch.tensor(
            [[((is_one == i) & (strict == j)).sum() for j in (False, True)] for i in (False, True)]
        ),
        "counts were asked for, not shares": table / table.sum(),
        "counts were asked for, not shares of the rows": table / table.sum(1, keepdim=True),
    }
    with case(f"{name}: matrix"):
        if name == "the example" and mine.tolist() != table.tolist():
            show_difference(mine, table, "the matrix")
        check_named(mine.double(), table.double(), "the matrix", slips)


# --- visdom-live -------------------------------------------------------------------------------


def seen_visdom_live(answer: Callable, steps: list[tuple], about: dict) -> dict:
    """How many points were there before each step, and the windows that a second server would show.

    It would read them from the files that the first one saved.
    """
    late, held = [], {}

    def points_of(client) -> list[int]:
        text = client.get_window_data("loss", "run")
        return [len(curve["x"]) for curve in json.loads(text)["content"]["data"]] if text else []

    with tempfile.TemporaryDirectory() as folder:
        with visdom_server(folder, page=False) as server:
            watcher = server.client("watch")

            def training():
                for done, entry in enumerate(steps):
                    if done and points_of(watcher) != [done, done]:
                        late.append((done, points_of(watcher)))
                    yield entry

            answer(server.client(), training(), about)
        for env in ("run", "evaluation"):
            saved = Path(folder, f"{env}.json")
            held[env] = json.loads(saved.read_text())["jsons"] if saved.exists() else {}
    return {"late": late, "held": held}


def traces(window: dict) -> list[dict]:
    return window["content"]["data"]


@ends_in_notebook
def check_windows(case, attempt, steps: list, about: dict) -> None:
    """Each window of the table, as a second server would show it."""
    found = tried(case, "the whole", attempt, steps, about)
    if found is FAILED:
        return
    with case("live"):
        words = "step {} was over, and the curves of window 'loss' held {} points: "
        words += "send both numbers, by update='append', before you take the next entry"
        assert not found["late"], words.format(*found["late"][0]) if found["late"] else ""
    wanted = {
        "run": ("loss", "map", "cloud", "spikes"), "evaluation": ("confusion", "samples", "note")
    }  # fmt: skip
    for env, names in wanted.items():
        held = found["held"][env]
        for name in names:
            with case(f"{env}/{name}"):
                other = next((e for e in wanted if name in found["held"][e]), None)
                missing = (
                    f"it is in environment {other!r}"
                    if other
                    else "a second server has no such window"
                )
                no_windows = (
                    ": no environment was saved, its windows went elsewhere (env=…), or there is "
                    "no answer yet"
                )
                hint = "" if any(found["held"].values()) else no_windows
                assert name in held, missing + hint
                WINDOWS[name](held[name], steps, about)


@ends_in_notebook
def check_loss(window, steps, about) -> None:
    curves = {curve["name"]: curve for curve in traces(window)}
    check_equal(sorted(curves), ["train", "validation"], "the names of the lines")
    for column, name in enumerate(("train", "validation"), start=1):
        check_equal(
            [float(v) for v in curves[name]["x"]],
            [float(s[0]) for s in steps],
            f"the steps of {name}",
        )
        check_named(
            torch.tensor(curves[name]["y"]), torch.tensor([s[column] for s in steps]), name, {}
        )


@ends_in_notebook
def check_scatter(window, steps, about) -> None:
    classes = about["classes"].cpu()
    check_equal(len(traces(window)), len(classes.unique()), "the number of classes that are shown")
    for curve, number in zip(traces(window), classes.unique(), strict=True):
        check_equal((curve["type"], curve["mode"]), ("scatter", "markers"), "the kind of plot")
        mine = torch.tensor([curve["x"], curve["y"]]).T
        check_named(
            mine, about["points"].cpu()[classes == number], f"the points of class {number}", {}
        )


@ends_in_notebook
def check_cloud(window, steps, about) -> None:
    check_equal([curve["type"] for curve in traces(window)], ["scatter3d"], "the kind of plot")
    mine = torch.tensor([traces(window)[0][axis] for axis in "xyz"]).T
    check_named(mine, about["cloud"].cpu(), "the points", {})


@ends_in_notebook
def check_spikes(window, steps, about) -> None:
    heights = traces(window)[0]["y"]
    check_equal(
        heights[:3:2],
        [0.0, None],
        "the foot of a spike, and the gap behind it (is it a stem plot?)",
    )
    check_named(torch.tensor(heights[1::3]), about["spikes"].cpu(), "the heights", {})


@ends_in_notebook
def check_heat(window, steps, about) -> None:
    check_equal(traces(window)[0]["type"], "heatmap", "the kind of plot")
    slips = {
        "upside down": about["confusion"].cpu().flip(0),
        "transposed": about["confusion"].cpu().T,
    }
    check_named(
        torch.tensor(traces(window)[0]["z"]), about["confusion"].cpu(), "the numbers", slips
    )


@ends_in_notebook
def check_samples(window, steps, about) -> None:
    from PIL import Image

    check_equal(window["type"], "image", "the kind of window")
    code = base64.b64decode(window["content"]["src"].partition(",")[2])
    width, height = Image.open(io.BytesIO(code)).size
    batch, _, h, w = about["samples"].shape
    assert width * height >= batch * h * w, (
        f"a picture of {width} x {height} can't hold {batch} images"
    )


@ends_in_notebook
def check_note(window, steps, about) -> None:
    check_equal(window["type"], "text", "the kind of window")
    check_equal(window["content"], about["note"], "the text")


WINDOWS = {
    "loss": check_loss, "map": check_scatter, "cloud": check_cloud, "spikes": check_spikes,
    "confusion": check_heat, "samples": check_samples, "note": check_note,
}  # fmt: skip


# --- network-drawn -----------------------------------------------------------------------------


class Twice(nn.Module):
    """Its modules are called in another order than they are listed in, and one twice."""

    def __init__(self) -> None:
        super().__init__()
        self.head, self.act = nn.Linear(6, 2, bias=False), nn.Tanh()
        self.body = nn.Sequential(nn.Linear(5, 6), nn.Dropout(0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.act(self.act(self.body(x))))


def make_drawn(kind: str) -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    if kind == "the example":
        return nn.Sequential(nn.Conv2d(4, 8, 3, padding=1)).to(device), torch.ones(1, 4, 10, 10).to(
            device
        )
    if kind == "strides and groups, batch 3":
        layers: list[nn.Module] = []
        layers += [nn.Conv2d(4, 8, 3, stride=2, bias=False), nn.BatchNorm2d(8), nn.ReLU()]
        layers += [nn.Conv2d(8, 6, (1, 3), groups=2), nn.Flatten(), nn.Linear(72, 5)]
        return nn.Sequential(*layers).to(device), torch.rand(3, 4, 9, 11).to(device)
    if kind == "one linear layer alone, one dimension":
        return nn.Linear(3, 4).to(device), torch.rand(3).to(device)
    if kind == "grouped pixels":
        return nn.Conv2d(6, 6, 5, groups=6, dilation=2).to(device), torch.rand(2, 6, 12, 12).to(
            device
        )
    return Twice().to(device), torch.rand(2, 7, 5).to(device)


TABLES = {
    "the example": [("0", (1, 8, 10, 10), 296, 28800)],
    "strides and groups, batch 3": [
        ("0", (3, 8, 4, 5), 288, 3 * 8 * 4 * 5 * 4 * 9),
        ("1", (3, 8, 4, 5), 16, 0),
        ("2", (3, 8, 4, 5), 0, 0),
        ("3", (3, 6, 4, 3), 6 * 4 * 3 + 6, 3 * 6 * 4 * 3 * 4 * 3),
        ("4", (3, 72), 0, 0),
        ("5", (3, 5), 365, 3 * 5 * 72),
    ],
    "called twice, three dimensions": [
        ("body.0", (2, 7, 6), 36, 2 * 7 * 6 * 5),
        ("body.1", (2, 7, 6), 0, 0),
        ("act", (2, 7, 6), 0, 0),
        ("act", (2, 7, 6), 0, 0),
        ("head", (2, 7, 2), 12, 2 * 7 * 2 * 6),
    ],
    "one linear layer alone, one dimension": [("", (4,), 16, 12)],
    "grouped pixels": [("", (2, 6, 4, 4), 6 * 25 + 6, 2 * 6 * 16 * 25)],
}


INPUT_PIXELS = {"0": 9 * 11, "3": 4 * 5}  # of the convolutions with strides and groups


def seen_network_drawn(answer: Callable, kind: str) -> tuple:
    """The table, and what is not as it was."""
    model, x = make_drawn(kind)
    model.train()
    for module in list(model.modules())[-1:]:
        module.eval()
    modes, buffers = [m.training for m in model.modules()], [b.clone() for b in model.buffers()]
    table = answer(model, x)
    left = {
        "a hook is left": any(m._forward_hooks or m._forward_pre_hooks for m in model.modules()),
        "a mode has changed": modes != [m.training for m in model.modules()],
        "a buffer has changed: it ran in training mode": not all(
            map(torch.equal, buffers, model.buffers())
        ),
        "a parameter has a gradient": any(p.grad is not None for p in model.parameters()),
    }
    if isinstance(table, (list, tuple)):
        table = [list(row) if isinstance(row, (list, tuple)) else row for row in table]
        table = [
            [int(v) if isinstance(v, (torch.Tensor, np.generic)) else v for v in row]
            if isinstance(row, list)
            else row
            for row in table
        ]
    return table, [words for words, is_so in left.items() if is_so]


@ends_in_notebook
def check_table(case, attempt, kind: str) -> None:
    found = tried(case, kind, attempt, kind)
    if found is FAILED:
        return
    table, left = found
    truth = TABLES[kind]
    with case(f"{kind}: rows"):
        assert isinstance(table, list), f"it returned {table!r}, no list: is there an answer yet?"
        assert all(isinstance(row, list) and len(row) == 4 for row in table), (
            f"rows need four entries: {table!r}"
        )
        names = [row[0] for row in table]
        why = (
            "the model itself, if it has no children, is called ''"
            if truth[0][0] == ""
            else "no row for a module with children"
            if len(names) > len(truth)
            else "in the order of the calls, one for each call"
        )
        check_equal(names, [row[0] for row in truth], "the names", why)
    names_fit = isinstance(table, list) and [row[0] for row in table if isinstance(row, list)] == [
        row[0] for row in truth
    ]
    for mine, row in zip(table if names_fit else (), truth, strict=names_fit):
        name, _, parameters, macs = row
        with case(f"{kind}: {name or 'the module itself'}, shape"):
            check_equal(mine[1], row[1], "the output's shape")
        with case(f"{kind}: {name or 'the module itself'}, parameters"):
            check_equal(mine[2], parameters, "the number of parameters, biases too")
        with case(f"{kind}: {name or 'the module itself'}, MACs"):
            batch, pixels = row[1][0], int(np.prod(row[1][2:])) if len(row[1]) == 4 else 1
            reasons = {
                macs // batch // pixels: "at each output pixel, and for the whole batch",
                macs // pixels: "a kernel is used again at each output pixel",
                macs // batch: "for the whole batch, not one sample",
                6 * macs: "a group sees only its own input channels",
                2 * macs: "these are FLOPs: one MAC is two",
                macs + int(np.prod(row[1])): "without biases",
            }
            if len(row[1]) == 3:
                words = "a sum for each position of the middle dimension, too"
                reasons |= {macs // row[1][1]: words, macs // batch // row[1][1]: words}
            if kind.startswith("strides") and name in INPUT_PIXELS:
                seen = macs // pixels * INPUT_PIXELS[name]
                reasons[seen] = "a sum for each output pixel; the input has more of them"
            if name == "3":
                reasons[2 * macs] = "twice as many: FLOPs, or the channels of both groups"
            because = reasons.get(mine[3], "") if mine[3] != macs else ""
            check_equal(mine[3], macs, "the MACs", because or "outputs times what each sums over")
    with case(f"{kind}: the model afterwards"):
        check_equal(left, [], "what is not as it was")


# --- shapes, cam-two-ways ----------------------------------------------------------------------


SHAPES = ("disk", "square", "cross")


def draw_shape(kind: int, row: int, column: int, radius: int = 5) -> torch.Tensor:
    """One shape in an empty image (1, 32, 32)."""
    i, j = torch.meshgrid(torch.arange(32) - row, torch.arange(32) - column, indexing="ij")
    inside = [
        i**2 + j**2 <= radius**2,
        (i.abs() <= radius - 1) & (j.abs() <= radius - 1),
        ((i.abs() <= 1) | (j.abs() <= 1)) & (i.abs() <= radius) & (j.abs() <= radius),
    ]
    return inside[kind].float()[None]


@functools.cache
def shapes(count: int = 450) -> tuple[torch.Tensor, torch.Tensor]:
    """Images (count, 1, 32, 32) with one shape each and some noise, and the shapes' numbers."""
    random = np.random.default_rng(0)
    y = torch.arange(count) % 3
    x = [
        draw_shape(int(k), *map(int, random.integers(7, 25, 2)), int(random.integers(4, 7)))
        for k in y
    ]
    noise = torch.tensor(random.normal(0, 0.1, (count, 1, 32, 32)), dtype=torch.float32)
    return (torch.stack(x) + noise).to(device), y.to(device)


class ShapeNet(nn.Module):
    """features: image -> maps; pool: maps -> one number for each; head: these -> classes."""

    def __init__(self, width: int = 16, hidden: int = 0, classes: int = 3) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, width, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
        )  # fmt: skip
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(width, classes)
        if hidden:
            layers = nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, classes)
            self.head = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.pool(self.features(x)))


@functools.cache
def shape_network() -> ShapeNet:
    """Trained on the shapes, in eval mode, its parameters frozen."""
    torch.manual_seed(0)
    network, (x, y) = ShapeNet().to(device), shapes()
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
    for step in range(120):
        rows = (torch.arange(45) + 45 * step) % len(x)
        loss = F.cross_entropy(network(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network.eval().requires_grad_(False)


class Example(nn.Module):
    """The maps of the text, whatever the image: its first pixel scales them."""

    def __init__(self, hidden: bool = False) -> None:
        super().__init__()
        maps = torch.tensor([[[4.0, 0], [0, 0]], [[0, 0], [0, 2]]])
        self.features = nn.Conv2d(1, 2, 1, bias=False)
        nn.init.ones_(self.features.weight)
        self.features.register_forward_hook(lambda m, args, out: out[:, :, :1, :1] * maps.to(out))
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(2, 2, bias=False)
        with torch.no_grad():
            self.head.weight.copy_(torch.tensor([[1.0, -2], [-1, 3]]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.pool(self.features(x)))


class MaxNet(ShapeNet):
    """The largest place instead of the mean, behind a smaller map."""

    def __init__(self) -> None:
        super().__init__(width=4)
        self.pool = nn.Sequential(
            nn.AvgPool2d(3, stride=1), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Tanh()
        )


def make_looker(kind: str) -> tuple[Example | ShapeNet, torch.Tensor]:
    torch.manual_seed(3)
    generator = torch.Generator().manual_seed(1)
    image = torch.rand(1, 20, 24, generator=generator)
    model = {
        "the example": Example,
        "a linear head": lambda: ShapeNet(width=6),
        "a frozen model": lambda: ShapeNet(width=6).requires_grad_(False),
        "a head of two layers": lambda: ShapeNet(width=6, hidden=5),
        "another pool": MaxNet,
    }[kind]()
    if kind != "the example":
        with torch.no_grad():
            for conv in model.features.modules():
                if isinstance(conv, nn.Conv2d):
                    conv.weight *= 3
    return model.eval().to(device), (torch.ones(1, 4, 4) if kind == "the example" else image).to(
        device
    )


def seen_cam(answer: Callable, kind: str, target: int) -> tuple:
    """The two maps, and what is not as it was."""
    model, image = make_looker(kind)
    hooks = [len(m._forward_hooks) + len(m._backward_hooks) for m in model.modules()]
    needs = [p.requires_grad for p in model.parameters()]
    result, left = answer(model, image, target), []
    if hooks != [len(m._forward_hooks) + len(m._backward_hooks) for m in model.modules()]:
        left.append("a hook is left")
    if needs != [p.requires_grad for p in model.parameters()]:
        left.append("requires_grad of a parameter has changed")
    if any(p.grad is not None for p in model.parameters()):
        left.append("a parameter has a .grad: take the gradient of the maps alone")
    graph = any(isinstance(r, torch.Tensor) and r.requires_grad for r in result or ())
    return on_cpu(result), left + ["a map hangs on a graph"] * graph


def true_cams(kind: str, target: int) -> tuple[dict, dict]:
    """Both maps, and what slips would give for each."""
    model, image = make_looker(kind)
    maps = model.features(image[None]).detach().requires_grad_()
    scores = model.head(model.pool(maps))[0]

    def by(value):
        return torch.autograd.grad(value, maps, retain_graph=True)[0][0]

    def weigh(w):
        return (w.view(-1, 1, 1) * a).sum(0)

    gradient, a = by(scores[target]), maps[0].detach()
    cam, cam_slips = None, {}
    truth = weigh(gradient.mean((1, 2))).relu()
    if isinstance(model.head, nn.Linear):
        cam = weigh(model.head.weight[target].detach())
        cam_slips = {
            "negative values belong to it: no ReLU here": cam.relu(),
            "the bias belongs to no place": cam
            + (0 if model.head.bias is None else model.head.bias[target].detach()),
            "not rescaled: leave the values as they are": cam / cam.abs().max(),
            "not rescaled to its own range": (cam - cam.min()) / (cam.max() - cam.min()),
            "a mean over the maps; it is a sum": cam / len(a),
        }
    slips = {
        "the ReLU at the end is missing": weigh(gradient.mean((1, 2))),
        "the ReLU belongs behind the sum, not before it": (gradient.mean((1, 2)).view(-1, 1, 1) * a)
        .relu()
        .sum(0),
        "gradients are averaged over places, not summed": weigh(gradient.sum((1, 2))).relu(),
        "a weight for each map: average the gradient over places first": (gradient * a)
        .sum(0)
        .relu(),
        "the gradient of the score, not of its softmax": weigh(
            by(scores.softmax(0)[target]).mean((1, 2))
        ).relu(),
        "the gradient of the score, not of its log-softmax or loss": weigh(
            by(scores.log_softmax(0)[target]).mean((1, 2))
        ).relu(),
        "the gradient of one class, not of all": weigh(by(scores.sum()).mean((1, 2))).relu(),
        "not rescaled: leave the values as they are": truth / truth.max().clamp(min=1e-12),
        "a mean over the maps; it is a sum": truth / len(a),
    }
    return {"cam": cam, "grad_cam": truth}, {"cam": cam_slips, "grad_cam": slips}


@ends_in_notebook
def check_size(mine, kind: str) -> None:
    size, shape = make_looker(kind)[1].shape[1:], tuple(getattr(mine, "shape", ()))
    assert shape != tuple(size), f"{shape}, as large as the image; the last maps are smaller"


@ends_in_notebook
def check_cams(case, attempt, kind, target):
    found = tried(case, f"{kind}, class {target}", attempt, kind, target)
    if found is FAILED:
        return
    result, left = found
    ok = isinstance(result, (tuple, list)) and len(result) == 2
    assert ok, f"{result!r} is not (cam, grad_cam): is there an answer yet?"
    truth, slips = true_cams(kind, target)
    with case(f"{kind}, class {target}: cam"):
        if truth["cam"] is None:
            assert result[0] is None, (
                "the head is not a single nn.Linear: there is no such map, None"
            )
        else:
            check_size(result[0], kind)
            check_named(
                result[0], truth["cam"].cpu(), "cam", {w: s.cpu() for w, s in slips["cam"].items()}
            )
    with case(f"{kind}, class {target}: grad_cam"):
        check_size(result[1], kind)
        check_named(
            result[1],
            truth["grad_cam"].cpu(),
            "grad_cam",
            {w: s.cpu() for w, s in slips["grad_cam"].items()},
            atol=1e-6,
        )
    with case(f"{kind}, class {target}: the model afterwards"):
        check_equal(left, [], "what is not as it was")


# --- filters-and-features ----------------------------------------------------------------------


def make_filters(kind: str) -> nn.Sequential:
    torch.manual_seed(5)
    if kind == "the example":
        model = nn.Sequential(nn.Conv2d(1, 1, (1, 2), bias=False))
        nn.init.constant_(model.get_parameter("0.weight"), 3.0)
        with torch.no_grad():
            model.get_parameter("0.weight")[..., 1] = 4
        return model.to(device).eval()
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Conv2d(4, 3, 3, stride=2), nn.Softplus()
    )
    with torch.no_grad():
        model.get_parameter("0.weight")[1] = 0.25  # equal numbers
        model.get_parameter("2.weight")[2] = 0  # this map has no gradient
    return model.to(device).eval().requires_grad_(kind != "a frozen model")


def seen_filters(answer: Callable, kind: str, image: torch.Tensor, *arguments) -> tuple:
    """What was returned, and what is not as it was."""
    model = make_filters(kind)
    before = [p.detach().clone() for p in model.parameters()]
    result, left = answer(model, image, *arguments), []
    if image.requires_grad:
        left.append("the image needs a gradient now: let a copy need it")
    if not all(map(torch.equal, before, model.parameters())):
        left.append("a weight has changed: stretch a copy")
    if any(p.grad is not None for p in model.parameters()):
        left.append("a parameter has a .grad: take the gradient by the image alone")
    if any(p.requires_grad == (kind == "a frozen model") for p in model.parameters()):
        left.append("requires_grad of a parameter has changed")
    graph = any(isinstance(r, torch.Tensor) and r.requires_grad for r in result or ())
    return on_cpu(result), left + ["a result hangs on a graph"] * graph


def climb(model, image, channel, steps, rate, sign=1, unit=True, low=0, whole=False):
    """The dream; the last arguments are for known slips."""
    x = image.detach()
    for _ in range(steps):
        x = x.clone().requires_grad_()
        y = model(x[None])[0]
        (g,) = torch.autograd.grad((y if whole else y[channel]).mean(), x)
        length = unit(g) if callable(unit) else g.norm() if unit else torch.ones(())
        x = x.detach() + sign * rate * (g / length if length > 0 else 0)
        x = x.clamp(0, 1) if low is not None else x
    return x.detach()


@ends_in_notebook
def check_filters(case, attempt, kind, image, channel, steps, rate):
    image, model = image.to(device), make_filters(kind)
    with forbid_changes(image):
        found = tried(case, f"{kind}, {steps} steps", attempt, kind, image, channel, steps, rate)
    if found is FAILED:
        return
    result, left = found
    ok = isinstance(result, (tuple, list)) and len(result) == 3
    assert ok, f"{result!r} is not (filters, maps, dream): is there an answer yet?"
    w = model.get_parameter("0.weight").detach()
    run_it = functools.partial(climb, model, image, channel, steps)
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    truth = [
        (w - low) / (high - low).where(high > low, 1),
        model(image[None])[0].detach(),
        run_it(rate),
    ]
    lows, highs = w.amin((2, 3), keepdim=True), w.amax((2, 3), keepdim=True)
    nothing = "NaN, from 0 / 0: "
    slips = [
        {
            "a filter has one range, over all its input channels": (w - lows)
            / (highs - lows).where(highs > lows, 1),
            "each filter has its own range, not all together": (w - w.min()) / (w.max() - w.min()),
            "the weights as they are; stretch them": w,
        },
        {
            "the maps of the first layer; the model's output is asked for": model[0](image[None])[
                0
            ].detach()
        },
        {
            "downhill: climb": run_it(rate, sign=-1),
            "the gradient was not divided by its norm": run_it(rate, unit=False),
            "the norm is the root of the sum of squares, not the largest entry": run_it(
                rate, unit=lambda g: g.abs().max()
            ),
            "cut off at 0 and 1 after each step": run_it(rate, low=None),
            "cut off after each step, not only at the end": run_it(rate, low=None).clamp(0, 1),
            "the gradient of one map, not of all": run_it(rate, whole=True),
            "one step only": climb(model, image, channel, 1, rate),
            "the image as it was": image,
        },
    ]
    for name, mine, right, words in zip(
        ("filters", "maps", "dream"), result, truth, slips, strict=True
    ):
        with case(f"{kind}, {steps} steps: {name}"):
            words = {w: s.cpu() for w, s in words.items()}
            why = {"filters": "a filter of equal numbers", "dream": "where the gradient is 0"}
            is_nan = isinstance(mine, torch.Tensor) and mine.isnan().any()
            assert not (is_nan and name in why), f"{name}: {nothing}{why.get(name)}"
            check_named(mine, right.cpu(), name, words, rtol=1e-3, atol=1e-4)
    with case(f"{kind}: model and image afterwards"):
        check_equal(left, [], "what is not as it was")


# --- loss-landscape ----------------------------------------------------------------------------


@torch.no_grad()
def loss_at(
    model: nn.Module, weights: list[torch.Tensor], x: torch.Tensor, y: torch.Tensor
) -> float:
    """The loss with other weights; the model's own stay."""
    names = [name for name, _ in model.named_parameters()]
    output = torch.func.functional_call(model, dict(zip(names, weights, strict=True)), (x,))
    return F.cross_entropy(output, y).item()


def make_valley(factor: float = 1.0, kind: str = "dense") -> nn.Module:
    """A network near a minimum; ``factor`` rescales two of its layers, not the function."""
    torch.manual_seed(4)
    if kind == "dense":
        model = nn.Sequential(nn.Flatten(), nn.Linear(64, 20), nn.ReLU(), nn.Linear(20, 10))
    else:
        convs = nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Conv2d(3, 4, 3), nn.ReLU()
        model = nn.Sequential(*convs, nn.Flatten(), nn.Linear(64, 10))
    model, (x, y, *_) = model.to(device), digits()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        loss = F.cross_entropy(model(x[:200]), y[:200])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    weight, bias, next_weight, *_ = model.parameters()
    with torch.no_grad():
        weight *= factor
        bias *= factor
        next_weight /= factor
    model.zero_grad()
    return model.eval()


def make_direction(model: nn.Module, seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(p.shape, generator=generator).to(p.device) for p in model.parameters()]


def make_slice(kind: str) -> tuple:
    """A model, a direction, images and labels."""
    x, y = digits()[0][:60], digits()[1][:60]
    if kind == "the example":
        model = nn.Sequential(nn.Linear(2, 2)).to(device)
        with torch.no_grad():
            model.get_parameter("0.weight").copy_(torch.tensor([[3.0, 4], [0, 1]]))
            model.get_parameter("0.bias").copy_(torch.tensor([0.5, -0.5]))
        direction = [torch.tensor([[1.0, 0], [0, -2]]).to(device), torch.ones(2).to(device)]
        return (
            model,
            direction,
            torch.tensor([[1.0, 2], [0, -1]]).to(device),
            torch.tensor([0, 1]).to(device),
        )
    model = make_valley(10 if "rescaled" in kind else 1, "conv" if "conv" in kind else "dense")
    direction = make_direction(model)
    if "zeros" in kind:
        direction[0][1] = 0
    return model, direction, x, y


def seen_landscape(answer: Callable, kind: str, alphas: list[float]) -> tuple:
    """The losses, and what is not as it was."""
    model, direction, x, y = make_slice(kind)
    before, plan = [p.detach().clone() for p in model.parameters()], [d.clone() for d in direction]
    losses, left = answer(model, direction, alphas, x, y), []
    if not all(map(torch.equal, before, model.parameters())):
        pairs = zip(before, model.parameters(), strict=True)
        near = all(torch.allclose(p, q, 1e-3, 1e-4) for p, q in pairs)
        why = "keep a copy, subtracting rounds" if near else "put them back at the end"
        left.append(f"the weights are not exactly what they were: {why}")
    if not all(map(torch.equal, plan, direction)):
        left.append("the direction has changed")
    if any(p.grad is not None for p in model.parameters()):
        left.append("a parameter has a gradient")
    if isinstance(losses, (list, tuple)):
        losses = [float(v) for v in losses]
    return on_cpu(losses), left


def true_landscape(kind: str, alphas: list[float]) -> tuple[torch.Tensor, dict]:
    model, direction, x, y = make_slice(kind)
    weights = [p.detach() for p in model.parameters()]

    def norm(t, dims=None):
        return t.norm() if dims is None else t.flatten(1).norm(dim=1).view(-1, *[1] * (t.dim() - 1))

    def along(scale, biases=False, pile=False):
        moves = [
            scale(w, d) if w.dim() > 1 else (d * norm(w) / norm(d) if biases else 0 * d)
            for w, d in zip(weights, direction, strict=True)
        ]
        moves = [torch.nan_to_num(m, 0, 0, 0) for m in moves]
        sums = np.cumsum(alphas).tolist() if pile else alphas
        return torch.tensor(
            [
                loss_at(model, [w + a * m for w, m in zip(weights, moves, strict=True)], x, y)
                for a in sums
            ]
        )

    def right(w, d):
        return d * norm(w, 1) / norm(d, 1)

    def drifting():
        now, losses = list(weights), []
        for a in alphas:
            now = [
                w + a * torch.nan_to_num(right(w, d), 0, 0, 0) if w.dim() > 1 else w
                for w, d in zip(now, direction, strict=True)
            ]
            losses.append(loss_at(model, now, x, y))
        return torch.tensor(losses)

    slips = {
        "the direction is not normalised": along(lambda w, d: d),
        "scaled by the whole tensor's norm; each filter has its own": along(
            lambda w, d: d * norm(w) / norm(d)
        ),
        "scaled to norm 1; wanted is the norm of the weight's filter": along(
            lambda w, d: d / norm(d, 1)
        ),
        "multiplied by the filter's norm, but not divided by the direction's own": along(
            lambda w, d: d * norm(w, 1)
        ),
        "biases are not moved": along(right, biases=True),
        "each alpha counts from the start, not from where the last one ended": along(
            right, pile=True
        ),
        "measure by the weights that the model came with, and count from them": drifting(),
        "a filter is all of p[i], not each of its kernels": along(
            lambda w, d: (
                d * w.norm(dim=(2, 3), keepdim=True) / d.norm(dim=(2, 3), keepdim=True)
                if w.dim() > 2
                else right(w, d)
            )
        ),
        "filters are along the first dimension, p[i], not the second": along(
            lambda w, d: d * w.norm(dim=0, keepdim=True) / d.norm(dim=0, keepdim=True)
        ),
        "filters are along the first dimension, p[i]": along(
            lambda w, d: (
                d * (w.norm(dim=1, keepdim=True) / d.norm(dim=1, keepdim=True))
                if w.dim() > 2
                else d * w.norm(dim=0) / d.norm(dim=0)
            )
        ),
    }
    return along(right), slips


@ends_in_notebook
def check_slice(case, attempt, kind, alphas):
    found = tried(case, kind, attempt, kind, alphas)
    if found is FAILED:
        return
    losses, left = found
    assert losses is not None, "it returned None: is there an answer yet?"
    truth, slips = true_landscape(kind, alphas)
    with case(f"{kind}: losses"):
        values = torch.as_tensor(losses)
        assert not values.isnan().any(), (
            "NaN: where a filter of the direction is 0, its norm is, too; it stays 0"
            if "zeros" in kind
            else "NaN among the losses"
        )
        check_named(torch.as_tensor(losses), truth, "the losses", slips, rtol=2e-3, atol=1e-4)
    with case(f"{kind}: the model afterwards"):
        check_equal(left, [], "what is not as it was")


# --- diagnose ----------------------------------------------------------------------------------


ILLNESSES = {
    "rate too high": {"rate": 2.0}, "rate too low": {"rate": 1e-4},
    "gradients pile up": {"zero": False}, "labels of other images": {"pairs": False, "data": 300},
    "softmax twice": {"logits": False}, "dead units": {"bias": -20.0},
    "vanishing gradients": {"deep": True}, "inputs not scaled": {"scale": 1000.0},
    "overfitting": {"data": 30}, "not shuffled": {"shuffle": False},
    "exp overflows": {"safe": False}, "weight decay too strong": {"decay": 0.5},
}  # fmt: skip
CURES: dict[str, dict[str, Any]] = {
    "lower the rate": {}, "raise the rate": {},
    "zero the gradients in each step": {"zero": True}, "pair images and labels": {"pairs": True},
    "give the loss logits": {"logits": True}, "start biases at 0": {"bias": 0.0},
    "ReLU and Kaiming's start": {"deep": False}, "scale the inputs": {"scale": 1.0},
    "get more data": {"data": 1000}, "shuffle": {"shuffle": True},
    "compute the loss by log_softmax": {"safe": True}, "decay less": {"decay": 0.0},
}  # fmt: skip
PATIENTS = {
    letter: ILLNESSES[list(ILLNESSES)[n]]
    for letter, n in zip("ABCDEFGHIJKL", np.random.default_rng(7).permutation(12), strict=True)
}


def healed(letter: str, cure: str) -> dict:
    """The run of a patient with a cure."""
    changes = PATIENTS[letter] | CURES[cure]
    rate = changes.get("rate", HEALTHY["rate"])
    if cure == "lower the rate":
        changes["rate"] = min(0.1, rate / 5)
    if cure == "raise the rate":
        changes["rate"] = max(0.1, rate * 5)
    return run(**{key: value for key, value in changes.items() if HEALTHY[key] != value})


def after_cure(letter: str, cures: dict) -> dict:
    """The run of a patient with the cure that was chosen for it, or else with the table's."""
    cure = cures.get(letter) if isinstance(cures, dict) else None
    if not isinstance(cure, str) or cure not in CURES:
        illness = next(word for word, changes in ILLNESSES.items() if changes == PATIENTS[letter])
        cure = dict(zip(ILLNESSES, CURES, strict=True))[illness]
    return healed(letter, cure)


def draw_runs(runs: dict[str, dict]) -> plt.Figure:
    """A row for each run: losses, gradients' norms, weights' norms."""
    figure, grid = plt.subplots(
        len(runs), 3, figsize=(10, 1.55 * len(runs)), squeeze=False, layout="constrained"
    )
    for (name, seen), row in zip(runs.items(), grid, strict=True):
        top = max([v for v in seen["loss"] + seen["validation"] if np.isfinite(v)] or [1])
        row[0].plot(seen["loss"], lw=0.8, label="training")
        row[0].plot(seen["validation"], lw=0.8, label="validation")
        row[0].set_ylabel(name, rotation=0, labelpad=14, fontsize=13, ha="right")
        row[0].set(ylim=(0, 1.05 * top), xlim=(-5, 205))
        if top > 20:
            row[0].set_yscale("symlog", linthresh=3)
            row[0].set_yticks([0] + [10.0**n for n in range(1, 9, 2 if top > 1e3 else 1)])
            row[0].set_ylim(0, 1.5 * top)
        for n, norms in enumerate(np.array(seen["gradients"]).T):
            row[1].plot(np.maximum(norms, 1e-8), lw=0.8, color=plt.cm.viridis(n / 4))
        row[1].set(yscale="log", ylim=(5e-9, 1e4), xlim=(-5, 205))
        for n, norms in enumerate(np.array(seen["weights"]).T):
            row[2].plot(norms, lw=0.8, color=plt.cm.viridis(n / 4), label=f"layer {n + 1}")
        row[2].set(xlim=(-5, 205))
        row[2].set_ylim(0)
    for axes, title in zip(grid[0], ("loss", "norm of gradients", "norm of weights"), strict=True):
        axes.set_title(title)
    grid[0, 0].legend(fontsize=7, loc="lower left" if len(runs) > 1 else "upper right")
    grid[0, 2].legend(fontsize=7, loc="lower right")
    return figure


TRACES = {
    "rate too high": "the start is healthy, 2.3; within some steps loss and weights shoot up",
    "rate too low": "loss and weights stand still, and the gradients are there",
    "gradients pile up": "the gradients rise and never fall again, and the weights grow and grow",
    "labels of other images": "training loss falls a little, validation rises above 2.3",
    "softmax twice": "it learns, slowly, and the loss stays above 1.46",
    "dead units": "all gradients are 0 from the first step on",
    "vanishing gradients": "the layers' gradients lie in steps, each ten times smaller",
    "inputs not scaled": "look at the very first loss",
    "overfitting": "training loss 0, validation loss rising again",
    "not shuffled": "the training loss goes in waves, as class follows class; validation stays bad",
    "exp overflows": "the curves end in the middle: after that there are no numbers",
    "weight decay too strong": "the norms of the weights fall to 0",
}


@ends_in_notebook
def check_diagnosis(diagnose) -> None:
    """The illness of each patient."""
    truth = {
        letter: next(w for w, c in ILLNESSES.items() if c == changes)
        for letter, changes in PATIENTS.items()
    }
    given = diagnose if isinstance(diagnose, dict) else {}
    unknown = sorted(
        {str(word) for word in given.values() if word is not None and word not in ILLNESSES}
    )
    assert not unknown, f"no illness of the table: {', '.join(unknown)}"
    because = {
        letter: f"of {word!r} you would see: {TRACES[word]}"
        for letter, word in given.items()
        if word
    }
    check_predictions(diagnose, truth, because=because)


@ends_in_notebook
def check_cures(case, cures) -> None:
    """A cure for each patient, tried out."""
    assert isinstance(cures, dict), f"cures is {cures!r}, not a dict"
    blank = [letter for letter in PATIENTS if cures.get(letter) is None]
    assert not blank, f"no cure yet for {', '.join(blank)}"
    for letter in PATIENTS:
        with case(letter):
            known = isinstance(cures[letter], str) and cures[letter] in CURES
            assert known, f"{cures[letter]!r} is no cure of the table"
            accuracy = healed(letter, cures[letter])["accuracy"][-1]
            assert accuracy >= 0.85, f"with {cures[letter]!r} the accuracy is {accuracy:.2f}"
