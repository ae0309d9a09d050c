"""Exercise ``network-drawn``: a network's modules as a table."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np
import torch
import torch.nn as nn

from course_utils.chapters.visualization.comparing import (
    FAILED,
    Before,
    as_somebody_left_it,
    check_left,
    tried,
)
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook


class Twice(nn.Module):
    """Its modules are called in another order than they are listed in, and one twice."""

    def __init__(self) -> None:
        super().__init__()
        self.head, self.act = nn.Linear(6, 2, bias=False), nn.Tanh()
        self.body = nn.Sequential(nn.Linear(5, 6), nn.Dropout(0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.act(self.act(self.body(x))))


class Renamed(nn.Module):
    """One layer under two names, called by both."""

    def __init__(self) -> None:
        super().__init__()
        self.lift = nn.Linear(4, 4)
        self.again = self.lift

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.again(self.lift(x).tanh())


class Spoken(nn.Module):
    """It calls its layers by keyword."""

    def __init__(self) -> None:
        super().__init__()
        self.plane, self.head = nn.Conv2d(2, 3, 2), nn.Linear(4, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(input=self.plane(input=x).flatten(2))


class Window(nn.Conv2d):
    """A convolution by another name."""


class Parts(nn.Module):
    """With a part that isn't called, a parameter beside its parts, one dropout in two of them."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.idle = nn.Parameter(torch.ones(1)), nn.Linear(3, 3)
        self.line, self.plane = nn.Conv1d(2, 3, 3), Window(3, 4, 1)
        self.plane.register_module("next", None)  # no child
        self.one = nn.Sequential(nn.Dropout(0.5))
        self.other = nn.Sequential(self.one[0])
        self.way = nn.Sequential()  # it hands on what it gets

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.one(self.line(x)).unflatten(2, (2, 2))
        return self.way(self.other(self.plane(x))) * self.scale


PARTS = "a part that isn't called, a Conv1d"
TWO_NAMES = "one layer under two names"
NO_ROWS = "a batch of no rows, one weight in two layers"
BY_KEYWORD = "layers that are called by keyword"
BY_WORDS = "paddings 'same' and 'valid'"
TOO_WIDE = "rows too long, so that the model raises"


class Gain(nn.Module):
    """A factor for each feature, in a parameter that is called neither weight nor bias."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.gain


class Projection(nn.Linear):
    """A linear layer by another name."""


def make_drawn(kind: str) -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    if kind == "the example":
        return nn.Sequential(nn.Conv2d(4, 8, 3, padding=1)).to(device), torch.ones(1, 4, 10, 10).to(
            device
        )
    if kind == "strides and groups, batch 7":
        layers += [nn.Conv2d(4, 8, 3, stride=2, bias=False), nn.BatchNorm2d(8), nn.ReLU()]
        layers += [nn.Conv2d(8, 6, (2, 3), groups=2), nn.Flatten(), nn.Linear(54, 5)]
        return nn.Sequential(*layers).to(device), torch.rand(7, 4, 9, 11).to(device)
    if kind == "one linear layer alone, one dimension":
        return nn.Linear(3, 4).to(device), torch.rand(3).to(device)
    if kind == "other layers, a derived class":
        layers += [nn.ConvTranspose2d(4, 3, 2, stride=2), nn.Conv2d(3, 1, 1)]
        layers += [nn.Flatten(), Projection(36, 2), Gain(2)]
        return nn.Sequential(*layers).to(device), torch.rand(2, 4, 3, 3).to(device)
    if kind == "a dilated kernel, grouped":
        return nn.Conv2d(6, 6, 5, groups=6, dilation=2).to(device), torch.rand(2, 6, 12, 12).to(
            device
        )
    if kind == PARTS:
        return Parts().to(device), torch.rand(2, 2, 6).to(device)
    if kind == NO_ROWS:
        layers += [nn.Linear(4, 4, bias=False), nn.ReLU(), nn.Linear(4, 4, bias=False)]
        layers[2].weight = layers[0].weight
        return nn.Sequential(*layers).to(device), torch.rand(0, 4).to(device)
    if kind == BY_KEYWORD:
        return Spoken().to(device), torch.rand(2, 2, 3, 3).to(device)
    if kind == BY_WORDS:
        layers += [nn.Conv2d(2, 3, 3, padding="same"), nn.Conv2d(3, 2, (1, 3), padding="valid")]
        return nn.Sequential(*layers).to(device), torch.rand(2, 2, 5, 6).to(device)
    if kind == TWO_NAMES:
        return Renamed().to(device), torch.rand(3, 4).to(device)
    return Twice().to(device), torch.rand(2, 7, 5).to(device)


TABLES = {
    "the example": [("0", (1, 8, 10, 10), 296, 28800)],
    "strides and groups, batch 7": [
        ("0", (7, 8, 4, 5), 288, 7 * 8 * 4 * 5 * 4 * 9),
        ("1", (7, 8, 4, 5), 16, 0),
        ("2", (7, 8, 4, 5), 0, 0),
        ("3", (7, 6, 3, 3), 6 * 4 * 6 + 6, 7 * 6 * 3 * 3 * 4 * 6),
        ("4", (7, 54), 0, 0),
        ("5", (7, 5), 275, 7 * 5 * 54),
    ],
    "called twice, three dimensions": [
        ("body.0", (2, 7, 6), 36, 2 * 7 * 6 * 5),
        ("body.1", (2, 7, 6), 0, 0),
        ("act", (2, 7, 6), 0, 0),
        ("act", (2, 7, 6), 0, 0),
        ("head", (2, 7, 2), 12, 2 * 7 * 2 * 6),
    ],
    "one linear layer alone, one dimension": [("", (4,), 16, 12)],
    "other layers, a derived class": [
        ("0", (2, 3, 6, 6), 51, 0),
        ("1", (2, 1, 6, 6), 4, 2 * 36 * 3),
        ("2", (2, 36), 0, 0),
        ("3", (2, 2), 74, 2 * 2 * 36),
        ("4", (2, 2), 2, 0),
    ],
    PARTS: [
        ("line", (2, 3, 4), 21, 0),
        ("one.0", (2, 3, 4), 0, 0),
        ("plane", (2, 4, 2, 2), 16, 2 * 4 * 4 * 3),
        ("one.0", (2, 4, 2, 2), 0, 0),
        ("way", (2, 4, 2, 2), 0, 0),
    ],
    BY_KEYWORD: [
        ("plane", (2, 3, 2, 2), 27, 2 * 3 * 4 * 2 * 4),
        ("head", (2, 3, 5), 25, 2 * 3 * 5 * 4),
    ],
    BY_WORDS: [
        ("0", (2, 3, 5, 6), 57, 2 * 3 * 30 * 2 * 9),
        ("1", (2, 2, 5, 4), 20, 2 * 2 * 20 * 3 * 3),
    ],
    NO_ROWS: [("0", (0, 4), 16, 0), ("1", (0, 4), 0, 0), ("2", (0, 4), 16, 0)],
    TWO_NAMES: [("lift", (3, 4), 20, 3 * 4 * 4)] * 2,
    "a dilated kernel, grouped": [("", (2, 6, 4, 4), 6 * 25 + 6, 2 * 6 * 16 * 25)],
}


INPUT_PIXELS = {"0": 9 * 11, "3": 4 * 5}  # of the convolutions with strides and groups


def seen_network_drawn(answer: Callable, kind: str) -> tuple:
    """The table, and what is not as it was."""
    model, x = make_drawn(kind)
    ran = []
    as_somebody_left_it(model.train()).register_forward_hook(lambda *_: ran.append(1))
    parts = list(model.modules())
    parts[len(parts) // 2].eval()
    if kind == PARTS:
        model.get_submodule("one.0").eval()
    for parameter in list(model.parameters())[:2]:
        parameter.requires_grad_(False)
    with torch.set_grad_enabled(kind != TWO_NAMES):
        before = Before(model)
        if kind == TOO_WIDE:
            with contextlib.suppress(Exception):
                answer(model, torch.cat([x, x], -1))
            return None, before.changes()
        table = answer(model, x)
        left = before.changes()
    if len(ran) > 1 and list(model.children()):
        left.append(f"the model ran {len(ran)} times; once is asked for")
    if isinstance(table, (list, tuple)):
        table = [list(row) if isinstance(row, (list, tuple)) else row for row in table]
        table = [
            [int(v) if isinstance(v, (torch.Tensor, np.generic)) else v for v in row]
            if isinstance(row, list)
            else row
            for row in table
        ]
    return table, left


def why_count(mine: int, row: tuple, again: bool) -> str:
    """Words for a wrong number of parameters; ``again`` if the row before was of this module."""
    right = row[2]
    if again and not mine:
        return "a module that is called twice has its parameters in each of its rows"
    if row[1][0] == 0 and not mine:  # both layers have one weight
        return "each row has its own module's: a weight that two layers share counts in both"
    if (mine, right) == (0, 2):  # those of a Gain
        return "a parameter counts, whatever it is called"
    words = {
        0: "frozen parameters count, too",
        2 * right + 1: "buffers are no parameters",  # BatchNorm's
        right - (row[1][1] if len(row[1]) == 4 else row[1][-1]): "biases too",
    }
    return words.get(mine, "weights and biases, frozen or not")


def why_work(mine: int, row: tuple, kind: str) -> str:
    """Words for wrong MACs."""
    name, shape, _, macs = row
    if kind == NO_ROWS:
        return "a batch of no rows costs nothing"
    if not macs:
        return "only nn.Linear and nn.Conv2d have MACs here, whatever else has a weight"
    if not mine and name == "3" and kind.endswith("a derived class"):
        return "a class derived from nn.Linear is an nn.Linear"
    if not mine and name == "plane":
        return "a class derived from nn.Conv2d is an nn.Conv2d"
    batch, pixels = shape[0], int(np.prod(shape[2:])) if len(shape) == 4 else 1
    reasons = {
        macs // batch // pixels: "at each output pixel, and for the whole batch",
        macs // pixels: "a kernel is used again at each output pixel",
        macs // batch: "for the whole batch, not one sample",
        6 * macs: "a group sees only its own input channels",
        2 * macs: "these are FLOPs: one MAC is two",
        macs + int(np.prod(shape)): "without biases",
    }
    if len(shape) == 3:
        words = "a sum for each position of the middle dimension, too"
        reasons |= {macs // shape[1]: words, macs // batch // shape[1]: words}
    if kind == "a dilated kernel, grouped":
        reasons[macs * 81 // 25] = "the gaps of a dilated kernel are multiplied with nothing"
    if kind.startswith("strides") and name in INPUT_PIXELS:
        seen = macs // pixels * INPUT_PIXELS[name]
        reasons[seen] = "a sum for each output pixel; the input has more of them"
    if kind.startswith("strides") and name == "3":  # a kernel of 2 x 3, two groups
        reasons[2 * macs] = "twice as many: FLOPs, or the channels of both groups"
        for height_or_width in (macs // 3, macs * 4 // 6, macs // 2, macs * 9 // 6):
            reasons[height_or_width] = "both sides of the kernel count, its height and its width"
        reasons[macs // 6] = "each output sums over the kernel, too"
        reasons[macs // 4] = "each output sums over the input channels, too"
    elif macs and "Conv" not in kind and name in ("0", "") and len(shape) == 4:
        reasons[macs // 9] = "each output sums over the kernel, too"
    return reasons.get(mine, "outputs times what each sums over")


def why_raised(error: Exception, kind: str) -> str:
    """Words for an answer that looks at more than the output, which has all that a row needs."""
    text, output = str(error), "the output has all that a row needs"
    if kind == BY_KEYWORD and any(word in text for word in ("index", "unpack", "argument")):
        return f"a hook gets no inputs of a call by keyword, layer(input=x): {output}"
    if kind == BY_WORDS and "str" in text:
        return f"a convolution's padding may be a word, 'same' or 'valid': {output}"
    return ""


@ends_in_notebook
def check_table(case, attempt, kind: str) -> None:
    found = tried(case, kind, attempt, kind, why=lambda error: why_raised(error, kind))
    if found is FAILED:
        return
    table, left = found
    if kind == TOO_WIDE:
        with case(f"{kind}: the model afterwards"):
            check_left(left, raised=True)
        return
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
            else "a module that isn't called has no row"
            if "idle" in names
            else "no row for a module with children"
            if len(names) > len(truth) or (kind == PARTS and "" in names)
            else "an empty Sequential has no children: it is called, and has a row"
            if kind == PARTS and names == [row[0] for row in truth[:-1]]
            else "a part that is None, as in 'plane', is no child: ask children() for them"
            if kind == PARTS and names == [row[0] for row in truth if row[0] != "plane"]
            else "the names of named_modules(), not those of classes"
            if any(str(name)[:1].isupper() for name in names)
            else "a module with two names is in named_modules() once, under the first"
            if "again" in names
            else "in the order of the calls, one for each call"
        )
        check_equal(names, [row[0] for row in truth], "the names", why)
    names_fit = isinstance(table, list) and [row[0] for row in table if isinstance(row, list)] == [
        row[0] for row in truth
    ]
    came = [tuple(make_drawn(kind)[1].shape), *(row[1] for row in truth)]  # into each module
    rows = table if names_fit else ()
    for mine, row, into, last in zip(rows, truth, came, [None, *rows], strict=False):
        name, _, parameters, macs = row
        with case(f"{kind}: {name or 'the module itself'}, shape"):
            listed = "a list, or another kind of sequence; a tuple is asked for"
            assert isinstance(mine[1], tuple), f"the output's shape, {mine[1]!r}, is {listed}"
            why = "that is the input's" if mine[1] == into else ""
            check_equal(mine[1], row[1], "the output's shape", why)
        with case(f"{kind}: {name or 'the module itself'}, parameters"):
            again = bool(last) and last[0] == name and last[2] == parameters
            why = why_count(mine[2], row, again)
            check_equal(mine[2], parameters, "the number of parameters", why)
        with case(f"{kind}: {name or 'the module itself'}, MACs"):
            check_equal(mine[3], macs, "the MACs", why_work(mine[3], row, kind))
    with case(f"{kind}: the model afterwards"):
        check_left(left)
