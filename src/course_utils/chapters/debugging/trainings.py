"""Exercises 15.10 and 15.11: trainings that do not learn, and pairs of models."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F

from course_utils.chapters.debugging.findings import Lambda, was_used_before
from course_utils.chapters.debugging.suspects import Calls, Counted
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook


class Patient:
    """A training: ``model``, ``optimizer``, ``x``, ``y``, ``loss(scores, y)``, ``step()``."""

    def __init__(self, model, optimizer, x, y, loss, wiped: bool, zeros: bool = False) -> None:
        self.model, self.optimizer, self.x, self.y, self.loss = model, optimizer, x, y, loss

        def step() -> float:
            value = loss(model(x), y)
            optimizer.zero_grad()
            value.backward()
            if wiped:
                optimizer.zero_grad(set_to_none=not zeros)
            optimizer.step()
            return value.item()

        self.step = step


class Cut(nn.Module):
    """Hands on its input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.detach()


def _squared_error(scores: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (scores - y).square().mean()


SHARES = "healthy with shares for targets"


def make_patient(illness: str, seed: int = 0) -> Patient:
    """A training on 96 points with six features, with one fault or none ("healthy…").

    Three of the points are equal, the last too. In a "broadcast regression" scores have three
    columns, targets one.
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(96, 6, generator=generator)
    x[1] = x[-1] = x[0]
    y = (x @ torch.randn(6, 3, generator=generator)).argmax(1)
    shares, off = illness == SHARES, illness == "healthy with units that are off"
    regression = illness.startswith("broadcast") or " regression" in illness or shares
    torch.manual_seed(seed)
    wide = not regression or shares or illness == "broadcast regression"
    head_size = 3 if wide else 1
    layers: list[nn.Module] = [nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, head_size)]
    if illness.startswith("dead head"):
        nn.init.constant_(layers[2].get_parameter("bias"), -30.0)
        layers.append(nn.ReLU())
    if illness == "healthy with scores from 0 to 1":
        with torch.no_grad():
            layers[2].get_parameter("weight").mul_(0.1)
            layers[2].get_parameter("bias").fill_(0.5)
    if illness == "healthy regression":  # a score of 0 for a point of zeros, the first
        x[0] = 0
        for layer in (layers[0], layers[2]):
            nn.init.zeros_(layer.get_parameter("bias"))
    if illness == "healthy with a ReLU at its end":
        nn.init.constant_(layers[2].get_parameter("bias"), 2.0)
        layers.append(nn.ReLU())
    if illness == "healthy with a head that starts at 0":
        nn.init.zeros_(layers[2].get_parameter("weight"))
    if illness == "healthy with scores that sum to 1":
        with torch.no_grad():
            for part, total in (("weight", 0), ("bias", 1)):
                head = layers[2].get_parameter(part)
                head += (total - head.sum(0)) / 3
    if illness == "healthy with constant features":
        x[:, [0, 2, -1]] = 0.5
    if off:  # a class that no point has, and a unit that no point wakes
        y = y.clamp(min=1)
        with torch.no_grad():
            layers[0].get_parameter("bias")[0] = -30
            layers[2].get_parameter("bias")[:] = torch.tensor([-30.0, 2, 2])
        layers.append(nn.ReLU())
    if illness == "healthy with features in metres":  # of nanometres
        x, rows = x * 1e-9, Lambda(lambda m, x: x * 1e9)
        layers.insert(0, rows)
    if illness == "softmax twice" or shares:
        layers.append(nn.Softmax(-1))
    if illness == "softmax twice with no layer of its own":
        layers.append(Lambda(lambda m, x: x.softmax(-1)))
    if illness == "cut":
        layers.insert(2, Cut())
    if illness == "cut with a branch beside":
        parts = {"body": nn.Linear(6, 24), "head": nn.Linear(24, 3), "side": nn.Linear(6, 3)}
        layers = [Lambda(lambda m, x: m.head(m.body(x).relu()) + m.side(x).detach(), **parts)]
    if illness == "softmax twice with probabilities of 0":
        with torch.no_grad():
            layers[2].get_parameter("weight").mul_(1000)
        layers.append(nn.Softmax(-1))
    if illness == "broadcast with a flat output":
        layers.append(nn.Flatten(0))
    if illness == "same inputs":
        x = (x.mean(0) / x.std()).expand(96, 6).contiguous()
    if illness == "same inputs with one feature":  # its std is rounded, and not 0
        x, layers[0] = torch.full((96, 1), 1000.3), nn.Linear(1, 24)
    if regression:
        y = x[:, 0].tanh() if illness == "broadcast" else x[:, :1].tanh()
        y = x[:, :3].softmax(1) if shares else y
    rate = 1e-6 if illness == "rate" else 0.1 if regression else 0.3
    if illness == "rate with nothing that moves":
        rate = 1e-20
    model = nn.Sequential(*layers).to(device)
    optimizer: torch.optim.Optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    if illness == "healthy with a rate of 0.009":
        optimizer = torch.optim.Adam(model.parameters(), lr=0.009)
    if illness == "rate with Adam":
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-7)
    if illness.startswith("healthy with a slow"):
        fast = 2 if "body" in illness else 0
        parts = ((model[part], 0.3 if part == fast else 1e-5) for part in (0, 2))
        optimizer = torch.optim.SGD([{"params": m.parameters(), "lr": at} for m, at in parts])
    if illness == "rate with a group of its own":
        optimizer = torch.optim.SGD([{"params": [*model.parameters()], "lr": 1e-6}], lr=0.3)
    if illness == "not in the optimizer with all but the last bias":
        optimizer = torch.optim.SGD([*model.parameters()][:-1], lr=rate)
    if illness == "not in the optimizer":
        model[0] = nn.Linear(6, 24).to(device)
        model[2] = nn.Linear(24, 3).to(device)
    if illness == "not in the optimizer with a copy of each":
        model.load_state_dict(copy.deepcopy(model.state_dict()), assign=True)
    if illness == "not in the optimizer with a new head":
        model[2] = nn.Linear(24, 3).to(device)
    loss = _squared_error if regression else F.cross_entropy
    wiped, zeros = illness.startswith("wiped"), illness == "wiped with zeros left"
    return Patient(model, optimizer, x.to(device), y.to(device), loss, wiped, zeros)


ILLNESSES = (
    "dead head", "not in the optimizer", "cut", "wiped", "rate", "softmax twice", "same inputs",
    "broadcast",
)  # fmt: skip


SLOW_GROUP = "it learns: optimizer.param_groups has two entries, and only one of them is slow"

# How each kind of patient is recognised, in words.
SIGNS = {
    "same inputs": "compare the rows of x",
    "broadcast": "compare the shapes of model(x) and y",
    "broadcast regression": "compare the whole shapes of model(x) and y, (96, 3) and (96, 1) here",
    "broadcast with a flat output": "model(x) is (96,), y is (96, 1): other shapes",
    "softmax twice": "its scores are from 0 to 1 and sum to 1 in each row",
    "dead head": "look at the scores themselves",
    "dead head regression": "look at the scores themselves: in a regression, too, all are 0",
    "cut": "after backward(), some .grad is None, though the others have one",
    "not in the optimizer": "look for the model's parameters in optimizer.param_groups",
    "wiped": "after step(), look at .grad: what is left of it?",
    "rate": "gradients arrive and stay; how far does a step move a parameter?",
    "healthy": "it learns, so no rung may fail",
    "healthy regression": "it learns; a regression's scores may be anything, and the first is 0",
    "healthy with scores from 0 to 1": "it learns; probabilities sum to 1 in each row, these don't",
    "softmax twice with no layer of its own": "look at the scores, not at the names of layers",
    "not in the optimizer with a new head": "the body is in the optimizer, the new head isn't",
    "not in the optimizer with a copy of each": "it holds equal numbers in other tensors",
    "healthy with scores that sum to 1": "it learns; some of its scores are below 0",
    "wiped with zeros left": "zero_grad(set_to_none=False) leaves zeros",
    "rate with nothing that moves": "the gradients are still there after step()",
    "healthy with a ReLU at its end": "it learns: look at the scores, not at the names of layers",
    "healthy with a head that starts at 0": "the body's .grad is 0 at first, but it is there",
    "healthy with features in metres": "it learns; its rows are close, as features are 1e-9",
    "healthy with constant features": "it learns; compare whole rows",
    SHARES: "it learns: probabilities are right here, as its loss is no cross-entropy",
    "healthy with units that are off": "it learns: some gradients are 0, and others aren't",
    "healthy with a rate of 0.009": "it learns: Adam's steps are as long as its rate, not tiny",
    "same inputs with one feature": "its rows are equal; a mean or a std of them is rounded",
    "cut with a branch beside": "body and head have a .grad after backward(); side has None",
    "softmax twice with probabilities of 0": "some round to 0; each row still sums to 1",
    "not in the optimizer with all but the last bias": "a single parameter is not in it",
    "rate with Adam": "its steps are as long as its rate, 1e-7: next to nothing moves",
    "rate with a group of its own": "its group has the rate 1e-6; defaults has another, not used",
    "healthy with a slow body": SLOW_GROUP,
    "healthy with a slow head": SLOW_GROUP,
}

# What holds for each patient that doesn't have the illness.
ELSE = {
    "same inputs": "; and not all rows of x are equal",
    "broadcast": "; and its y is of integers, or has the shape of the output",
    "dead head": "; and not all of its scores are 0",
    "cut": "; and each parameter has a .grad after backward()",
}


@ends_in_notebook
def check_verdict(answer: Any, illness: str) -> None:
    """Check what was said of a patient.

    Raises:
        AssertionError: it has another illness.
    """
    __tracebackhide__ = True
    words = [word for word in SIGNS if " regression" not in word and " with " not in word]
    assert answer is not None, "the answer is None: is there an answer yet?"
    known = isinstance(answer, str) and answer in words
    assert known, f"the answer is {answer!r}, expected one of {', '.join(words)}"
    right = illness.removesuffix(" regression").partition(" with ")[0]
    assert answer == right, f"it was taken for {answer!r}: {SIGNS[illness]}{ELSE.get(answer, '')}"


# Exercise 15.11: pairs of models.


def _pair_member(last=nn.Tanh, shift=0.0, p=0.5, tail=None, middle=None) -> nn.Module:
    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(4, 4), middle or nn.ReLU(), nn.Linear(4, 4))
    model = nn.Sequential(body, nn.Dropout(p), nn.Sequential(last(), nn.Linear(4, 2)))
    if tail is not None:
        model.append(tail if isinstance(tail, nn.Module) else Lambda(lambda m, x: tail(x)))
    with torch.no_grad():
        body.get_parameter("2.bias")[1] += shift
    return was_used_before(model.to(device))


# Pairs whose runs are unusual: as cases of the check.
UNUSUAL_PAIRS: list[tuple] = [
    ("alike in the end", False, ("3", "mul"), "they differ on the way, whatever the last results"),
    ("zeros of two signs", False, None, "0 and -0 are equal here: compare values, not bytes"),
    ("NaN of two signs", False, None, "two NaN are equal here, whatever their bits"),
    ("memory in one run alone", False, None, "leave new_empty out before you pair the two runs"),
    ("a bias in bfloat16", False, ("0.2", "addmm"), "models may be of any dtype"),
    ("a part that calls itself", False, ("0", "mul"), "its inner call was over, not its outer"),
]


def make_pair(kind: str) -> tuple[nn.Module, nn.Module]:
    """Two models with the same weights, and one difference at most."""
    make = _pair_member

    def write(factor: float) -> nn.Module:
        return Lambda(lambda m, x: x.add_(1).sub_(1).mul_(factor))

    def own(factor: float) -> nn.Module:
        return Lambda(lambda m, x: m.a(x) * factor, a=nn.ReLU()).to(device)

    def twice(factor: float) -> nn.Module:
        """One part at two places; only at the second the factor shows."""
        part = Lambda(lambda m, x: x.mul(2) if x.min() < 0 else x.mul(factor))
        return nn.Sequential(part, nn.ReLU(), nn.Sequential(part)).to(device)

    def again(factor: float) -> nn.Module:
        """A part that calls itself, and then multiplies."""
        part = Lambda(lambda m, x: m(x[:, 2:]).mul(factor) if x.shape[1] > 2 else x)
        return nn.Sequential(part).to(device)

    def buffers() -> nn.Module:
        return nn.Sequential(nn.BatchNorm1d(2), Calls())

    def hooked() -> nn.Module:
        model = make()
        model.get_submodule("0").register_forward_hook(lambda _, __, output: output * 2)
        return model

    def begin(factor: float) -> nn.Module:
        torch.manual_seed(0)
        first = Lambda(lambda m, x: x.mul_(2))
        scale = Lambda(lambda m, x: x * factor)
        return nn.Sequential(first, nn.Linear(4, 4), scale).to(device)

    def spoil(x: torch.Tensor) -> torch.Tensor:
        return x / 0 * 0

    pairs = {
        "the same": ({}, {}),
        "a bias": ({}, {"shift": 1e-6}),
        "another activation": ({}, {"last": nn.Sigmoid}),
        "another dropout": ({}, {"p": 0.4}),
        "one goes on": ({"tail": lambda x: x.relu().neg()}, {}),
        "the other goes on": ({}, {"tail": lambda x: x.sigmoid().neg()}),
        "only the dtype": (
            {"tail": lambda x: x.round().double()},
            {"tail": lambda x: x.round().half()},
        ),
        "NaN on both sides": ({"tail": spoil}, {"tail": spoil}),
        "equal results": ({"tail": nn.ReLU()}, {"tail": nn.Hardtanh(0, 1e3)}),
        "in place": ({"middle": write(2)}, {"middle": write(3)}),
        "the second result": (
            {"tail": lambda x: x.mul(0).kthvalue(1)},
            {"tail": lambda x: x.mul(0).kthvalue(2)},
        ),
        "only the shape": (
            {"tail": lambda x: x.new_zeros(3, 2)},
            {"tail": lambda x: x.new_zeros(3, 1)},
        ),
        "the first result": (
            {"tail": lambda x: torch.std_mean(x, 1, correction=0)},
            {"tail": lambda x: torch.std_mean(x, 1, correction=1)},
        ),
        "only the order": ({"tail": lambda x: x.roll(1, 0)}, {"tail": lambda x: x.roll(2, 0)}),
        "a part that notes its runs": ({"tail": Counted()}, {"tail": Counted()}),
        "NaN against 0": ({"tail": lambda x: x * math.nan}, {"tail": lambda x: x * 0}),
        "NaN of two signs": ({"tail": lambda x: x * math.nan}, {"tail": lambda x: x * -math.nan}),
        "zeros of two signs": (
            {"tail": lambda x: x.mul(0).abs().mul(2)},
            {"tail": lambda x: x.mul(0).abs().mul(-2)},
        ),
        "alike in the end": (
            {"tail": lambda x: x.mul(2).mul(0)},
            {"tail": lambda x: x.mul(3).mul(0)},
        ),
        "memory in one run alone": (
            {"tail": lambda x: x.mul(2).neg()},
            {"tail": lambda x: (x.new_empty(1), x.mul(2).neg())[1]},
        ),
        "infinities of two signs": (
            {"tail": lambda x: x.mul(0).add(1).mul(math.inf)},
            {"tail": lambda x: x.mul(0).add(1).mul(-math.inf)},
        ),
        "infinity against the largest number": (
            {"tail": lambda x: x.mul(0).add(1).mul(math.inf)},
            {"tail": lambda x: x.mul(0).add(1).mul(torch.finfo(torch.float32).max)},
        ),
        "a part with buffers": ({"tail": buffers()}, {"tail": buffers()}),
        "a mask": 2 * ({"tail": lambda x: (x > 0).logical_not()},),
        "no row": ({}, {}),
        "another shape of as many": (
            {"tail": lambda x: x.view(2, 3)},
            {"tail": lambda x: x.view(6)},
        ),
        "a list of results": (
            {"tail": lambda x: torch._foreach_mul([x * 0, x], 2)[0]},
            {"tail": lambda x: torch._foreach_mul([x * 0, x], 3)[0]},
        ),
        "two results": (
            {"tail": lambda x: x.topk(1)},
            {"tail": lambda x: x.topk(1, largest=False)},
        ),
    }
    if kind.startswith("a bias in"):
        dtype, shift = getattr(torch, kind.split()[-1]), 1e-12 if "float64" in kind else 0.25
        one, other = make().to(dtype), make().to(dtype)
        with torch.no_grad():
            other.get_parameter("0.2.bias")[1] += shift
        return one, other
    if kind == "one model for both":
        return (both := make(), both)
    if kind.startswith("begins in place"):
        return begin(1), begin(3 if "differs" in kind else 1)
    if kind == "its own forward":
        return own(2), own(3)
    if kind == "a part's own forward":
        return nn.Sequential(own(2)), nn.Sequential(own(3))
    if kind == "one part at two places":
        return twice(2), twice(3)
    if kind == "a part that calls itself":
        return again(2), again(3)
    if kind == "a hook of its own":
        return make(), hooked()
    if kind == "other names":
        return own(2), nn.Sequential(nn.ReLU(), Lambda(lambda m, x: x * 3)).to(device)
    first, second = pairs[kind]
    return make(**first), make(**second)
