"""Broken things to practise on: models, trainings, datasets, files; and what was done to them.

Everything here is made on purpose, for the chapter on debugging. A function that makes a broken
thing takes the name of what is wrong with it and gives the same thing every time.
"""

from __future__ import annotations

import argparse
import gc
import math
import multiprocessing
import os
import re
import threading
import traceback
import types
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, get_worker_info

from course_utils.learner.checks import check_equal, forbid_changes
from course_utils.learner.devices import device
from course_utils.learner.gradients import grad_of
from course_utils.learner.tracebacks import ends_in_notebook


@ends_in_notebook
def check_finding(answer: Any, right: tuple | None, what: str, because: str = "") -> None:
    """Check what a search found: a pair, or ``None`` where there was nothing to find.

    Raises:
        AssertionError: it found something else; the message says why.
    """
    __tracebackhide__ = True
    why = f": {because}" if because else ""
    if right is None:
        assert answer is None, f"{what}: found {answer!r}, but there is nothing to find{why}"
        return
    assert answer is not None, (
        f"{what}: None, but there is something to find{why}; or is there no answer yet?"
    )
    pair = isinstance(answer, (tuple, list)) and len(answer) == 2
    assert pair, f"{what}: {answer!r}, expected a pair such as {('name', 'other')!r}"
    check_equal(answer, right, what, because)


class Lambda(nn.Module):
    """A module whose forward is ``function(module, x)``."""

    def __init__(self, function: Callable, **modules: nn.Module) -> None:
        super().__init__()
        self.function = function
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(self, x)


def state_of(*models: nn.Module) -> dict[str, Any]:
    """What an onlooker can see of models and of the random state, under plain names."""
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    modules = [module for model in models for module in model.modules()]
    states = [value for model in models for value in model.state_dict().values()]
    parameters = [parameter for model in models for parameter in model.parameters()]
    return {
        "parameters or buffers": [(str(value.device), value.tolist()) for value in states],
        "modes": [module.training for module in modules],
        "hooks": [len(getattr(module, hook)) for module in modules for hook in hooks],
        ".grad": [parameter.grad is None for parameter in parameters],
        "requires_grad": [parameter.requires_grad for parameter in parameters],
        "random state": torch.get_rng_state().tolist(),
    }


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The names of what differs between two states."""
    return [what for what in before if before[what] != after[what]]


# Exercise 15.1: programs that fail.

PROGRAMS = {
    "A": """hidden = nn.Linear(8, 4)
head = nn.Linear(8, 2)
x = torch.ones(3, 8)
y = head(hidden(x))""",
    "B": """layers = [nn.Linear(2, 2), nn.ReLU()]
model = nn.Squential(*layers)
y = model(torch.ones(1, 2))""",
    "C": """layer = nn.Linear(3, 1)
photo = torch.tensor([[255, 0, 7]], dtype=torch.uint8)
y = layer(photo)""",
    "D": """table = nn.Embedding(10, 4)
words = torch.tensor([1, 9, 10])
vectors = table(words)""",
    "E": """x = torch.ones(2, 3, device="meta")
layer = nn.Linear(3, 1)
y = layer(x)""",
    "F": """class Double(nn.Module):
    def forward(self, x):
        2 * x

y = Double()(torch.ones(1, 2))
z = nn.Linear(2, 2)(y)""",
    "G": """w = torch.ones(2, requires_grad=True)
y = w.exp()
y += 1
y.sum().backward()""",
    "H": """def scale(x):
    return x / x.mean()

counts = torch.tensor([1, 2, 3])
y = scale(counts)""",
}


def run_program(source: str) -> tuple[str, int]:
    """The message of what a program raises, and the number of its lowest line in the traceback."""
    try:
        exec(compile(source, "the program", "exec"), {"torch": torch, "nn": nn, "F": F})
    except Exception as error:
        entries = traceback.extract_tb(error.__traceback__)
        lines = [entry.lineno or 0 for entry in entries if entry.filename == "the program"]
        return f"{type(error).__name__}: {error}", lines[-1]
    return "", 0


@ends_in_notebook
def check_pairs(guesses: dict, names: Iterable[str]) -> None:
    """Check the form of predictions: each a word and a line number, or still blank.

    Raises:
        AssertionError: one has another form.
    """
    __tracebackhide__ = True
    for name in names:
        guess = guesses.get(name)
        pair = isinstance(guess, (tuple, list)) and [type(part) for part in guess] == [str, int]
        assert guess is None or pair, f"{name}: {guess!r}? Write a pair such as ('range', 2)"


# Exercise 15.3: functions that were repaired.


def repaired(functions: dict, name: str, *args: Any) -> tuple:
    """What a repaired function returns, and the dtype of the layer that it was handed, if any."""
    function = functions.get(name) if isinstance(functions, dict) else None
    assert function is not None, f"{name}: there is no function: is there an answer yet?"
    assert callable(function), f"{name} holds {function!r}, which can't be called"
    if name not in ("photo", "rows"):
        return function(*args), "float32"
    layer = nn.Linear(3, 1, device=device)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2, 3]]))
        layer.bias.fill_(0.5)
    result = function(layer, *args)
    result = result.detach() if isinstance(result, torch.Tensor) else result
    return result, str(layer.weight.dtype)[6:]


def number_on_meta(functions: dict, shape: tuple[int, ...]) -> str:
    """The device of ``number(x)`` for an x on the device meta, or what it raises."""
    try:
        result, _ = repaired(functions, "number", torch.empty(shape, device="meta"))
    except (RuntimeError, NotImplementedError) as error:
        return str(error).splitlines()[0]
    return str(getattr(result, "device", result))


# Exercise 15.4: a guard.


@ends_in_notebook
def check_guard(
    guard: Callable, shape: tuple, labels: torch.Tensor, *parts: str, **options: int
) -> None:
    """Check a guard of labels: no ``parts``, no refusal; else a ValueError that holds each part.

    Raises:
        AssertionError: it does otherwise.
    """
    __tracebackhide__ = True
    scores, refused = torch.zeros(shape, device=labels.device), None
    try:
        with forbid_changes(scores, labels):
            result = guard(scores, labels, **options)
    except ValueError as error:
        refused = str(error)
    except (IndexError, RuntimeError, TypeError) as error:
        words = "expected None or a ValueError of your own"
        raise AssertionError(f"raised {type(error).__name__} ({error}), {words}") from error
    if refused is None:
        assert result is None, f"returned {result!r}, expected None or a ValueError"
        assert not parts, (
            "no ValueError, although the loss can't take these labels; or is there no answer yet?"
        )
        return
    assert parts, f"these labels are fine, but they were refused with {refused!r}"
    for part in parts:
        found = re.search(rf"(?<![\d-]){re.escape(part)}(?!\d)", refused)
        assert found, f"the message {refused!r} does not contain {part}"


# Exercise 15.2: models that an input may not fit.


def make_suspect(name: str) -> nn.Module:
    """A model of that name, on the course's device."""
    torch.manual_seed(0)
    linear, chain = nn.Linear, nn.Sequential

    def stack(model: Any, x: torch.Tensor) -> torch.Tensor:
        return torch.stack([model.left(x), model.right(x)])

    def twice(model: Any, x: torch.Tensor) -> torch.Tensor:
        return model.tail(model.block(model.block(x)))

    makers: dict[str, Callable[[], nn.Module]] = {
        "classifier": lambda: chain(
            nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), linear(576, 10)
        ),
        "branches": lambda: chain(
            linear(4, 4), Lambda(stack, left=linear(4, 2), right=linear(4, 3))
        ),
        "called twice": lambda: Lambda(twice, tail=linear(6, 6), block=chain(linear(4, 6))),
        "batchnorm": lambda: chain(
            linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.ReLU(), linear(5, 2)
        ),
        "its own forward": lambda: Lambda(lambda m, x: m.layer(x).view(-1, 7), layer=linear(4, 4)),
        "other order": lambda: Lambda(lambda m, x: m.a(m.b(x)), a=linear(3, 2), b=linear(4, 5)),
        "nested": lambda: chain(linear(4, 4), chain(nn.ReLU(), chain(linear(4, 4), linear(3, 1)))),
        "channels": lambda: chain(nn.Conv2d(3, 2, 3), nn.ReLU()),
        "one sample": lambda: chain(linear(4, 4), nn.BatchNorm1d(4)),
    }
    return makers[name]().to(device)


# Exercise 15.5: programs whose operators are written down.


def _gradient_of_square(x: torch.Tensor) -> torch.Tensor:
    w = x.clone().requires_grad_()
    w.mul(w).sum().backward()
    return grad_of(w)


LOGGED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "add": lambda x: torch.add(x, x, alpha=2),
    "in place": lambda x: x.clone().unsqueeze_(0),
    "two results": lambda x: x.max(1)[0],
    "keyword": lambda x: x.sum(1, dtype=torch.float64),
    "list": lambda x: torch.cat([x, x[:1]]),
    "misfit": lambda x: x @ x,
    "backward": _gradient_of_square,
    "linear": lambda x: F.linear(x, x[:1], x[0, :1]).tanh(),
    "resize": lambda x: x.clone().t_().mul_(2).squeeze_(0),
}


# Exercise 15.6: losses, some with a NaN or an infinity on the way.


def _in_place(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.sub_(1).log_()
    return y.sum()


def _from_empty(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    return (y.copy_(x) * 2).sum()


def _masked(x: torch.Tensor, rows: int) -> torch.Tensor:
    """Softmax of two rows of three; the first column is masked, and so are whole rows."""
    mask = torch.zeros(2, 3, dtype=torch.bool, device=x.device)
    mask[:rows] = True
    mask[:, 0] = True
    return x.view(2, 3).masked_fill(mask, -math.inf).softmax(-1).square().sum()


HUNTED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "fine": lambda x: (x * x).sum(),
    "entropy": lambda x: -(x * x.log()).sum(),
    "root": lambda x: (x.sqrt() * 0).sum(),
    "in place": _in_place,
    "a masked softmax": lambda x: _masked(x, 0),
    "a row all masked": lambda x: _masked(x, 1),
    "division by the number 0": lambda x: (x / 0).sum(),
    "a NaN in the data": lambda x: (x + math.nan).sum(),
    "uninitialised memory": _from_empty,
    "two results": lambda x: torch.frexp(x / x)[0].sum(),
    "in a list": lambda x: torch.stack([x, x * math.inf]).sum(),
    "half": lambda x: ((x + 300).half() * (x + 300).half()).sum(),
    "power": lambda x: x.pow(0.5).sum(),
    "no gradient": lambda x: (x.detach() * 2).sum(),
    "integers": lambda x: (x.detach().long() + 1).sum() * x.sum(),
    "inf minus inf": lambda x: (x.exp() * math.inf - math.inf).sum(),
    "twice": lambda x: ((x - 5).sqrt() + x.log()).sum(),
}


def hunt_with(nan_hunt: Callable, program: str, values: list[float]) -> tuple:
    """What ``nan_hunt`` says of a loss, how often it computed it, and how often it went back."""
    x, calls, backwards = torch.tensor(values, device=device, requires_grad=True), [], []

    def forward() -> torch.Tensor:
        calls.append(1)
        loss = HUNTED[program](x)
        if loss.requires_grad:
            loss.register_hook(lambda gradient: backwards.append(1))
        return loss

    strict = torch.are_deterministic_algorithms_enabled()
    if program == "uninitialised memory":
        torch.use_deterministic_algorithms(True)  # fills such memory with NaN
    try:
        answer = nan_hunt(forward)
    finally:
        torch.use_deterministic_algorithms(strict)
    return answer, len(calls), len(backwards)


# Exercise 15.7: trainings, some of which keep what they should let go.


def neighbours(thing: Any) -> list:
    """What a thing refers to: entries, attributes, closures, hooks; for a tensor also its graph."""
    skipped = (type, types.ModuleType, types.FrameType, types.TracebackType, types.CodeType)
    if hasattr(thing, "next_functions"):  # a node of a graph
        found = [node for node, _ in thing.next_functions]
    elif isinstance(thing, torch.Tensor):
        found = [thing.grad_fn, thing.grad if thing.is_leaf else None, vars(thing)]
    elif isinstance(thing, types.FunctionType):
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        found = [*cells, *(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()]
    else:
        found = gc.get_referents(thing)
    return [entry for entry in found if entry is not None and not isinstance(entry, skipped)]


def counts(thing: Any) -> bool:
    """Tensors count, and so do nodes of a graph."""
    return isinstance(thing, torch.Tensor) or hasattr(thing, "next_functions")


class Holder:
    """An object with attributes."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


def make_training(leak: str) -> tuple[Callable[[], None], dict[str, Any], list]:
    """A step, the suspects (a model, an optimizer, and what the leak needs), and its calls."""
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    log, calls, recent = [], [], deque(maxlen=2)
    meter: Any = Holder(total=0.0, last=None)
    ring: Any = Holder(log=log)
    ring.me = ring

    def hold(x: torch.Tensor, loss: torch.Tensor) -> None:
        if leak == "a list of losses":
            log.append(loss)
        if leak == "a sum of losses":
            meter.total = meter.total + loss
        if leak == "a hook in every step":
            model[1].register_forward_hook(lambda *_: x.sum() and None)
        if leak in ("a window of two", "two leaks"):
            recent.append(loss.detach())
        if leak == "numbers":
            log.append(loss.item())
        if leak in ("callbacks", "two leaks"):
            log.append(lambda: x)
        if leak == "the last one":
            meter.last = loss
        if leak == "a circle":
            ring.next = Holder(before=getattr(ring, "next", ring), x=x)

    def step() -> None:
        calls.append(1)
        x = torch.ones(4, 3, device=device)
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hold(x, loss)

    needed = {
        "a list of losses": {"log": log},
        "a sum of losses": {"meter": meter},
        "numbers": {"log": log},
        "a window of two": {"recent": recent},
        "callbacks": {"log": log},
        "the last one": {"meter": meter},
        "a circle": {"ring": ring},
        "two leaks": {"ring": ring, "recent": recent, "log": log},
    }
    return step, {"model": model, "optimizer": optimizer, **needed.get(leak, {})}, calls


# Exercise 15.8: a dataset with a trouble.


class Patchy(Dataset):
    """Ten items, and one trouble."""

    def __init__(self, trouble: str) -> None:
        self.trouble = trouble
        self.opened = (lambda: 0) if "unpicklable" in trouble else None

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> torch.Tensor:
        index = range(10)[index]  # 10 is an IndexError
        away = get_worker_info() is not None
        if self.trouble == "a bad item" and index in (7, 8):
            raise ValueError(f"no label for item {index}")
        if away and index == 5 and "hangs" in self.trouble:
            threading.Event().wait()
        if away and index == 0 and self.trouble == "dies":
            os._exit(1)
        if away and self.trouble == "raises in the worker":
            raise RuntimeError("the file was opened by another process")
        return torch.zeros(3 if self.trouble == "a long item" and index == 6 else 2)


@contextmanager
def short_farewell() -> Generator[None]:
    """Inside, a loader waits half a second for a worker that doesn't end, instead of five."""
    import torch.utils.data._utils as settings

    usual = settings.MP_STATUS_CHECK_INTERVAL
    settings.MP_STATUS_CHECK_INTERVAL = 0.5
    try:
        yield
    finally:
        settings.MP_STATUS_CHECK_INTERVAL = usual


def end_new_processes(known: list) -> int:
    """End this process's children that are not in ``known``; how many there were."""
    left = [child for child in multiprocessing.active_children() if child not in known]
    for child in left:
        child.terminate()
        child.join()
    gc.collect()  # a loader that failed is let go here, not in the next worker
    return len(left)


# Exercise 15.9: checkpoints, most of them spoilt.


class Payload:
    """A pickle of this makes a folder when it is loaded without care."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.target),)


def small_model() -> nn.Module:
    """Three layers with buffers among them; the same weights every time."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).to(device)


def write_checkpoint(kind: str, path: Path) -> None:
    """A file of some kind; the weights in it are the small model's plus one."""
    state = {name: value.cpu() + 1 for name, value in small_model().state_dict().items()}
    torch.save(state, path)
    whole = path.read_bytes()
    if kind == "one name missing, one too many":
        state["2.offset"] = state.pop("2.bias")
    if kind == "a prefix":
        state = {f"module.{name}": value for name, value in state.items()}
    if kind in ("two other shapes", "keys and shapes"):
        state["2.weight"], state["0.bias"] = torch.zeros(7, 4), torch.zeros(4, 1)
    if kind == "keys and shapes":
        state["extra"] = torch.zeros(1)
    content = {
        "epoch and weights": {"epoch": 3, "weights": state},
        "numbers": dict.fromkeys(state, 1.0),
        "a list": [*state.values()],
        "an empty dict": {},
        "arguments": {"weights": state, "args": argparse.Namespace(lr=1)},
        "a payload": {"weights": Payload(path.with_suffix(".opened"))},
        "a whole module": nn.Linear(3, 4),
    }
    torch.save(
        content.get(kind, state), path, _use_new_zipfile_serialization=kind != "the old format"
    )
    spoilt: dict[str, bytes] = {
        "cut short": whole[: len(whole) // 2],
        "its last bytes lost": whole[:-9],
        "empty": b"",
        "a web page": b"<!DOCTYPE html><html></html>",
    }
    if kind in spoilt:
        path.write_bytes(spoilt[kind])


# Exercise 15.10: trainings that don't learn.


class Patient:
    """A training: ``model``, ``optimizer``, ``x``, ``y``, ``loss(scores, y)``, ``step()``."""

    def __init__(self, model, optimizer, x, y, loss, wiped: bool) -> None:
        self.model, self.optimizer, self.x, self.y, self.loss = model, optimizer, x, y, loss

        def step() -> float:
            value = loss(model(x), y)
            optimizer.zero_grad()
            value.backward()
            if wiped:
                optimizer.zero_grad()
            optimizer.step()
            return value.item()

        self.step = step


class Cut(nn.Module):
    """Hands on its input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.detach()


def _squared_error(scores: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (scores - y).square().mean()


def make_patient(illness: str, seed: int = 0) -> Patient:
    """A training on 96 points with six features, with one fault or none ("healthy…")."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(96, 6, generator=generator)
    y = (x @ torch.randn(6, 3, generator=generator)).argmax(1)
    regression = illness in ("broadcast", "healthy regression")
    torch.manual_seed(seed)
    head_size = 1 if regression else 3
    layers: list[nn.Module] = [nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, head_size)]
    if illness == "dead head":
        nn.init.constant_(layers[2].get_parameter("bias"), -30.0)
        layers.append(nn.ReLU())
    if illness == "softmax twice":
        layers.append(nn.Softmax(-1))
    if illness == "cut":
        layers.insert(2, Cut())
    if illness == "same inputs":
        x = (x.mean(0) / x.std()).expand(96, 6).contiguous()
    if regression:
        y = x[:, 0].tanh() if illness == "broadcast" else x[:, :1].tanh()
    rate = 1e-6 if illness == "rate" else 0.1 if regression else 0.3
    model = nn.Sequential(*layers).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    if illness == "not in the optimizer":
        model[0] = nn.Linear(6, 24).to(device)
        model[2] = nn.Linear(24, 3).to(device)
    loss = _squared_error if regression else F.cross_entropy
    return Patient(model, optimizer, x.to(device), y.to(device), loss, illness == "wiped")


ILLNESSES = (
    "dead head", "not in the optimizer", "cut", "wiped", "rate", "softmax twice", "same inputs",
    "broadcast",
)  # fmt: skip


# Exercise 15.11: pairs of models.


def _pair_member(last=nn.Tanh, shift=0.0, p=0.5, tail=None, middle=None) -> nn.Module:
    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(4, 4), middle or nn.ReLU(), nn.Linear(4, 4))
    model = nn.Sequential(body, nn.Dropout(p), nn.Sequential(last(), nn.Linear(4, 2)))
    if tail is not None:
        model.append(tail if isinstance(tail, nn.Module) else Lambda(lambda m, x: tail(x)))
    with torch.no_grad():
        body.get_parameter("2.bias")[1] += shift
    return model.to(device)


def make_pair(kind: str) -> tuple[nn.Module, nn.Module]:
    """Two models with the same weights, and one difference at most."""
    make = _pair_member

    def write(factor: float) -> nn.Module:
        return Lambda(lambda m, x: x.add_(1).sub_(1).mul_(factor))

    def own(factor: float) -> nn.Module:
        return Lambda(lambda m, x: m.a(x) * factor, a=nn.ReLU()).to(device)

    def spoil(x: torch.Tensor) -> torch.Tensor:
        return x / 0 * 0

    pairs = {
        "the same": ({}, {}),
        "a bias": ({}, {"shift": 1e-6}),
        "another activation": ({}, {"last": nn.Sigmoid}),
        "another dropout": ({}, {"p": 0.4}),
        "one goes on": ({"tail": nn.ReLU()}, {}),
        "the other goes on": ({}, {"tail": nn.Sigmoid()}),
        "only the dtype": (
            {"tail": lambda x: x.round().double()},
            {"tail": lambda x: x.round().half()},
        ),
        "NaN on both sides": ({"tail": spoil}, {"tail": spoil}),
        "in place": ({"middle": write(2)}, {"middle": write(3)}),
        "two results": (
            {"tail": lambda x: x.topk(1)},
            {"tail": lambda x: x.topk(1, largest=False)},
        ),
    }
    if kind == "its own forward":
        return own(2), own(3)
    first, second = pairs[kind]
    return make(**first), make(**second)


# Exercise 15.12: what a shorter program has to satisfy, and a script.

SHRUNK: dict[str, Callable[[list[str]], bool]] = {
    "3 and 6": lambda lines: {"3", "6"} <= set(lines),
    "the last": lambda lines: "399" in lines,
    "7 and 390": lambda lines: {"7", "390"} <= set(lines),
    "everything": lambda lines: len(lines) == 8,
    "anything": lambda lines: True,
    "nothing": lambda lines: False,
    "twins": lambda lines: lines.count("same") >= 2,
    "order": lambda lines: lines == sorted(lines, key=int) and {"2", "5"} <= set(lines),
    "a stack": lambda lines: lines == [*map(str, range(len(lines) - 1)), "x"],
    "an odd number": lambda lines: len(lines) % 2 == 1 and "1" in lines,
    "brackets": lambda lines: "1" in lines and lines.count("(") == lines.count(")"),
    "one of two": lambda lines: "1" in lines or {"4", "5"} <= set(lines),
}


def shrink_with(shrink_it: Callable, test: str, lines: list[str]) -> tuple:
    """The answer, or the words of its ValueError; the calls of the test; the lines afterwards."""
    calls, given = [], list(lines)

    def fails(tried: list[str]) -> bool:
        assert isinstance(tried, list), f"fails was called with {tried!r}, expected a list of lines"
        calls.append(1)
        assert len(calls) <= 20_000, "fails was called 20000 times: does the loop end?"
        return SHRUNK[test](tried)

    try:
        answer = shrink_it(given, fails)
    except ValueError as error:
        answer = f"ValueError: {error}"
    return answer, len(calls), given


@ends_in_notebook
def check_shrunk(
    result: tuple, test: str, lines: list[str], because: str, most: int | None
) -> None:
    """Check what :func:`shrink_with` gave: it fails, and no single line can be left out of it.

    Raises:
        AssertionError: one of the rules of the exercise is broken.
    """
    __tracebackhide__ = True
    (answer, calls, after), fails = result, SHRUNK[test]
    check_equal(after, lines, "the given list afterwards")
    if not fails(lines):
        raised = isinstance(answer, str) and answer.startswith("ValueError")
        assert raised, f"it does not fail at all, expected a ValueError, got {answer!r}"
        return
    assert not isinstance(answer, str), f"it raised a {answer}, although the given lines fail"
    assert answer is not None, "the answer is None: is there an answer yet?"
    assert isinstance(answer, list), f"the answer is {answer!r}, expected a list of lines"
    rest = iter(lines)
    assert all(line in rest for line in answer), f"{answer[:9]} are not lines of it, in their order"
    assert fails(answer), f"the result {answer[:9]} does not fail any more"
    for n, line in enumerate(answer):
        left = answer[:n] + answer[n + 1 :]
        why = f": {because}" if because else ""
        assert not fails(left), f"{line!r} can still be left out of {answer[:9]}{why}"
    said = "leave out whole blocks first"
    assert most is None or calls <= most, f"{calls} calls of fails, at most {most}: {said}"


SCRIPT = """\
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
width, batch, depth = 8, 16, 3
rate, decay, momentum = 0.05, 1e-4, 0.9
device = "cpu"
h = torch.randn(16, 8, requires_grad=True)
x = h
y = torch.randint(3, (batch,))
mean = x.mean(0)
std = x.std(0)
h = (x - mean) / std
order = torch.randperm(batch)
h, y = h[order], y[order]
w1 = torch.randn(8, 8) / math.sqrt(8)
b1 = torch.zeros(8)
w2 = torch.randn(8, 8) / math.sqrt(8)
b2 = torch.zeros(8)
w3 = torch.randn(8, 3) / math.sqrt(8)
parameters = [w1, b1, w2, b2, w3]
for p in parameters: p.requires_grad_()
count = sum(p.numel() for p in parameters)
optimizer = torch.optim.SGD(parameters, lr=rate, momentum=momentum)
losses, accuracies = [], []
best = math.inf
h = F.linear(h, w1, b1)
h = h - h.mean(0)
h = h / (h.std(0) + 1e-5)
h = torch.tanh(h)
kept = h.detach().clone()
residual = h
norm = nn.LayerNorm(width)
h = norm(h)
h = F.linear(h, w2, b2)
h = F.dropout(h, 0.1)
h = h + residual
h = torch.sigmoid(h)
size = h.detach().abs().mean().item()
gate = (h > 0.5).float()
h *= 0.9
h = h + 0.1 * kept
scores = h @ w3
probabilities = scores.softmax(-1)
predicted = scores.argmax(-1)
accuracy = (predicted == y).float().mean().item()
accuracies.append(accuracy)
loss = h.square().mean()
loss = loss + F.cross_entropy(scores, y)
losses.append(loss.item())
best = min(best, losses[-1])
penalty = sum(p.square().sum() for p in parameters)
loss = loss + decay * penalty
logs = probabilities.log()
entropy = -(probabilities * logs).sum(-1).mean()
loss = loss - 0.01 * entropy
optimizer.zero_grad()
loss.backward()
optimizer.step()
""".splitlines()
