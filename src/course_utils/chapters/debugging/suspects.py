"""Exercise 15.2: models that an input may not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn

from course_utils.chapters.debugging.findings import Lambda, check_finding, was_used_before
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook

RUNS: list[int] = []  # an entry for each run of a Renamer, a Counted or a copy of one


class Renamer(nn.Module):
    """Its forward puts another tensor in its argument's place, and then fails."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        RUNS.append(1)
        x = self.layer(x)
        return x.view(-1, 7)


class Calls(nn.Module):
    """Counts its calls in a buffer that no state_dict holds."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.get_buffer("calls").add_(1)
        return x


class Unhappy(Exception):
    """An exception whose class nobody lists."""


class Picky(nn.Module):
    """Hands back a pair, and raises an exception of a class of its own for rows of four."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None]:
        if x.shape[-1] == 4:
            raise Unhappy("four again")
        return x, None


class Counted(nn.Module):
    """Hands on its argument, and leaves an entry."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        RUNS.append(1)
        return x


def make_suspect(name: str, training: bool = True) -> nn.Module:
    """A model of that name, on the course's device; one has a part that stays in eval mode."""
    torch.manual_seed(0)
    linear, chain = nn.Linear, nn.Sequential

    def stack(model: Any, x: torch.Tensor) -> torch.Tensor:
        return torch.stack([model.left(x), model.right(x)])

    def careful(model: Any, x: torch.Tensor) -> torch.Tensor:
        try:
            return model.first(x)
        except RuntimeError:
            return model.second(x)

    def twice(model: Any, x: torch.Tensor) -> torch.Tensor:
        return model.tail(model.block(model.block(x)))

    def again(model: Any, x: torch.Tensor) -> torch.Tensor:
        return model(x[:, 2:]).view(-1, 7) if x.shape[1] > 2 else x

    def shared() -> nn.Module:
        layer = linear(4, 6)
        return chain(layer, chain(nn.ReLU(), Lambda(lambda m, x: m.own(x), own=layer)))

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
        "another x": Renamer,
        "it fits": lambda: chain(linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(), Counted()),
        "turned in place": lambda: chain(
            linear(4, 6), Lambda(lambda m, x: x.t_().view(-1, 7), act=nn.ReLU())
        ),
        "two arguments": lambda: chain(
            linear(4, 4),
            Lambda(lambda m, x: m.join(x, x[:, :2]), join=nn.Bilinear(4, 3, 2)),
        ),
        "one layer, two names": lambda: chain(*2 * [linear(4, 6)]),
        "None beside a tensor": lambda: chain(
            Lambda(lambda m, x: m.rnn(x, None)[0], rnn=nn.GRU(4, 3)), linear(4, 2)
        ),
        "a KeyError": lambda: chain(
            linear(4, 4), Lambda(lambda m, x: x * {3: 0.5}[x.shape[1]], act=nn.ReLU())
        ),
        "an IndexError": lambda: chain(linear(4, 4), Lambda(lambda m, x: x.select(1, 4))),
        "one sample": lambda: chain(linear(4, 4), nn.BatchNorm1d(4)),
        "a part that calls itself": lambda: chain(linear(4, 4), Lambda(again)),
        "a layer shared with a deeper part": shared,
        "float64 weights": lambda: Lambda(
            lambda m, x: m.layer({torch.float32: x.double()}[x.dtype]), layer=linear(4, 4).double()
        ),
        "a norm in eval mode": lambda: chain(linear(4, 4), nn.BatchNorm1d(4), nn.ReLU()),
        "a slope in float64": lambda: chain(linear(4, 4), nn.PReLU().double(), nn.ReLU()),
        "a count that isn't saved": lambda: chain(Calls(), linear(4, 4), nn.ReLU()),
        "its own hook flattens": lambda: chain(nn.ReLU(), linear(4, 2), nn.ReLU()),
        "its own pre-hook flattens": lambda: chain(nn.ReLU(), linear(4, 2), nn.ReLU()),
        "an exception of its own": lambda: chain(linear(4, 4), Picky()),
        "a part that returns a pair": lambda: Lambda(
            lambda m, x: m.tail(m.pair(x)[0]), pair=Picky(), tail=linear(4, 2)
        ),
        "a single layer": lambda: linear(4, 2),
        "no dimension": lambda: chain(nn.ReLU(), linear(4, 2), nn.ReLU()),
        "no parameters": lambda: chain(nn.ReLU(), Lambda(lambda m, x: x.view(-1, 7)), nn.Tanh()),
        "a part that helps itself": lambda: chain(
            Lambda(careful, first=linear(3, 2), second=linear(4, 2)), nn.ReLU()
        ),
    }
    model = was_used_before(makers[name]().to(device)).train(training)
    if name == "a norm in eval mode":
        model.get_submodule("1").eval()
    if name == "its own hook flattens":
        model.get_submodule("0").register_forward_hook(lambda _, __, output: output.flatten(1))
    if name == "its own pre-hook flattens":
        model.get_submodule("1").register_forward_pre_hook(lambda _, args: args[0].flatten(1))
    return model


# Models that are tried in an unusual state: as a case of the check.
UNUSUAL_SUSPECTS: list[tuple] = [
    ("float64 weights", (2, 4), None, True, "the input is float32, whatever the weights"),
    ("a norm in eval mode", (1, 4), None, True, "each part in the mode that it is in"),
    ("a slope in float64", (2, 4), ("1", (2, 4)), True, "float32 is refused: don't convert it"),
    ("a count that isn't saved", (2, 4), None, True, "it is a buffer, though no state_dict has it"),
    ("its own hook flattens", (3, 2, 2), None, True, "the model runs with its own hooks"),
    ("its own pre-hook flattens", (3, 2, 2), None, True, "the model runs with its own pre-hooks"),
    ("no parameters", (2, 4), ("1", (2, 4)), True, "a model without parameters runs, too"),
    ("an exception of its own", (2, 4), ("1", (2, 4)), True, "of whatever class: catch Exception"),
    ("a part that returns a pair", (2, 3), ("tail", (2, 3)), True, "an output may be anything"),
    ("a single layer", (2, 3), ("", (2, 3)), True, "a layer is a model: the empty name"),
    ("None beside a tensor", (2, 4), ("1", (2, 3)), True, "an argument behind x may be anything"),
    ("no dimension", (), ("1", ()), True, "a shape may be empty, and the input has no dimension"),
    ("called twice", (0, 4), ("block.0", (0, 6)), True, "a batch of no row"),
    (
        "a part that calls itself",
        (2, 4),
        ("1", (2, 4)),
        True,
        "its inner call finished, not its outer",
    ),
    (
        "a layer shared with a deeper part",
        (2, 4),
        ("0", (2, 6)),
        True,
        "1.1 runs it, under the name 0",
    ),
    ("a part that helps itself", (2, 4), None, True, "it catches what its child raises: it works"),
]


@ends_in_notebook
def check_detective(outcome: tuple, shape: tuple, right: tuple | None, because: str) -> None:
    """Check what a detective said of a model and an input of a shape.

    Args:
        outcome: the answer, what was changed, and how often the model ran.
        shape: of the input.
        right: the module and the shape of its argument, or ``None``.
        because: words for who found something else.

    Raises:
        AssertionError: the answer is wrong, something was changed, or the model ran twice.
    """
    __tracebackhide__ = True
    answer, changed, runs = outcome
    check_finding(answer, right, f"input {shape}", because)
    listed = f"the shape is {answer[1]!r}, expected a tuple" if right else ""
    assert not right or isinstance(answer[1], tuple), listed
    assert not changed, f"the model or the random state was changed: {', '.join(changed)}"
    assert runs < 2, f"the model ran {runs} times, expected once"
