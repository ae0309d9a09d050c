"""Exercises 15.5 and 15.6: programs to watch, some with a NaN or an infinity on the way."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.chapters.debugging.findings import no_mode_left
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device
from course_utils.learner.gradients import grad_of
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_value


def _gradient_of_square(x: torch.Tensor) -> torch.Tensor:
    w = x.clone().requires_grad_()
    w.mul(w).sum().backward()
    return grad_of(w)


def _through_a_view(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.select(1, 0).zero_()
    return y


def _nothing_comes_back(x: torch.Tensor) -> torch.Tensor:
    torch._foreach_mul_([x := x.clone()], 2)
    return x


def _after_an_error(x: torch.Tensor) -> torch.Tensor:
    with contextlib.suppress(RuntimeError):
        x @ x
    return x.neg()


COLUMNS = torch.tensor([0, 2], device=device)

LOGGED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "add": lambda x: torch.add(x, x, alpha=2),
    "in place": lambda x: x.clone().unsqueeze_(0),
    "two results": lambda x: x.max(1)[0],
    "keyword": lambda x: x.sum(1, dtype=torch.float64),
    "list": lambda x: torch.cat([x, x[:1]]),
    "a text among the arguments": lambda x: torch.linalg.qr(x, "r")[1],
    "three keywords": lambda x: x.new_zeros(3, dtype=torch.float64, device=x.device),
    "the same call twice": lambda x: (x * 0.125, x * 0.125)[1],
    "one call, two sizes": lambda x: [x.nonzero(), (x * 0).nonzero()][1],
    "misfit": lambda x: x @ x,
    "after an error": _after_an_error,
    "out of range": lambda x: x.select(0, 9),
    "nothing comes back": _nothing_comes_back,
    "empty, detached, of no dimension": lambda x: [x.new_empty(0), x.detach() * x.sum()][1],
    "a keyword that is None": lambda x: torch.div(x, 2, rounding_mode=None),
    "None among the arguments": lambda x: x.clamp(None, 2),
    "None in a list": lambda x: x[:, COLUMNS],
    "out=": lambda x: torch.add(x, x, out=x.clone()),
    "out=, which grows": lambda x: torch.add(x, x, out=x.new_empty(0)),
    "one operator, two shapes": lambda x: [x.neg(), x[0].neg()][1],
    "through a view": _through_a_view,
    "backward": _gradient_of_square,
    "linear": lambda x: F.linear(x, x[:1], x[0, :1]).tanh(),
    "turned in place": lambda x: x.clone().t_().mul_(2).squeeze_(0),
}


class Beneath(TorchDispatchMode):
    """Below a logger: keeps the last exception that an operator raised."""

    raised: Exception | None = None

    def __torch_dispatch__(self, func, types, args: tuple = (), kwargs=None) -> Any:
        try:
            return func(*args, **(kwargs or {}))
        except Exception as error:
            self.raised = error
            raise

    def name_of(self, error: Exception) -> str:
        """The class of what came out of a logger's block, "new" if no operator raised it."""
        new = self.raised is not None and error is not self.raised
        return "a new " * new + type(error).__name__


# Exercise 15.6: losses, some with a NaN or an infinity on the way.


def _in_place(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.sub_(1).log_()
    return y.sum()


def _from_empty(x: torch.Tensor) -> torch.Tensor:
    y, z = torch.empty_like(x), x.new_empty(len(x))
    return (y.copy_(x) * z.copy_(x)).sum()


def _gradient_in_the_loss(x: torch.Tensor) -> torch.Tensor:
    (gradient,) = torch.autograd.grad(x.sqrt().sum(), x, create_graph=True)
    return gradient.sum()


def _a_steep_gradient(x: torch.Tensor) -> torch.Tensor:
    """It is taken without a graph; the slope of gelu is above 1 at 1.4."""
    (gradient,) = torch.autograd.grad(F.gelu(x).sum(), x, torch.full_like(x[0], 3.2e38))
    return (gradient * x).sum()


def _sampled(x: torch.Tensor) -> torch.Tensor:
    """Four pixels, large and of both signs, sampled between them: the gradient by the place is
    infinity minus infinity, the one by the image finite."""
    image = (x[0] * torch.tensor([1.0, -1, -1, 1], device=x.device)).view(1, 1, 2, 2)
    place = x[1].expand(1, 1, 1, 2)
    return (F.grid_sample(image, place, align_corners=False) * 10).sum()


def _masked(x: torch.Tensor, rows: int) -> torch.Tensor:
    """Softmax of two rows of three; the first column is masked, and so are whole rows."""
    mask = torch.zeros(2, 3, dtype=torch.bool, device=x.device)
    mask[:rows] = True
    mask[:, 0] = True
    return x.view(2, 3).masked_fill(mask, -math.inf).softmax(-1).square().sum()


HUNTED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "fine": lambda x: (x[:0] * 2).sum() + (x.double().mul(1e38).pow(8) * 1e-306).sum(),
    "entropy": lambda x: -(x * x.log()).sum(),
    "root": lambda x: (x.sqrt() * 0).sum(),
    "in place": _in_place,
    "a masked softmax": lambda x: _masked(x, 0),
    "a row all masked": lambda x: _masked(x, 1),
    "division by the number 0": lambda x: (x / 0).sum(),
    "a NaN in the data": lambda x: (x + math.nan).sum(),
    "uninitialised memory": _from_empty,
    "two results": lambda x: torch.frexp(x / x)[0].sum(),
    "a tuple of results": lambda x: F.layer_norm(x, x.shape, eps=0.0).sum(),
    "an infinite keyword argument": lambda x: torch.add(x, x, alpha=math.inf).sum(),
    "a NaN beside a zero": lambda x: torch.cat([x + math.nan, x]).log().sum(),
    "large and finite": lambda x: (x * 3e38 * 1e-38).sum(),
    "in a list": lambda x: torch.stack([x, x * math.inf]).sum(),
    "the second of its results": lambda x: torch.linalg.slogdet(x.diag())[1],
    "two gradients": _sampled,
    "a list of results": lambda x: torch._foreach_log([x + 5, x])[0].sum(),
    "an infinite tensor of no dimension": lambda x: (x * torch.full_like(x[0], math.inf)).sum(),
    "a number of no dimension": lambda x: x.sum().log(),
    "a gradient in the loss": _gradient_in_the_loss,
    "a steep gradient in the loss": _a_steep_gradient,
    "a number beyond float32": lambda x: (x * 1e300).sum(),
    "bfloat16": lambda x: (x.bfloat16() * 1e38 * 10).sum(),
    "half": lambda x: ((x + 300).half() * (x + 300).half()).sum(),
    "power": lambda x: x.pow(0.5).sum(),
    "the loss is the parameter": lambda x: x,
    "no gradient": lambda x: (x.detach() * 2).sum(),
    "integers": lambda x: (x.detach().long() + 1).sum() * x.sum(),
    "inf minus inf": lambda x: (x.exp() * math.inf - math.inf).sum(),
    "twice": lambda x: ((x - 5).sqrt() + x.log()).sum(),
}


# Nothing to blame, and a way back: as cases of the check.
NOT_TO_BLAME = [
    ("a NaN beside a zero", [0.0, 1], None, "log: not all of its inputs are finite", True),
    ("the loss is the parameter", 1.0, None, "no operator ran, and it requires a gradient", True),
]
# Numbers and dtypes of another range than float32: as cases of the check.
WIDE_AND_NARROW = [
    ("half", [1.0, 5], ("forward", "mul"), "300 * 300 is too much for float16"),
    ("bfloat16", [1.0], ("forward", "mul"), "1e38 * 10 is too much for bfloat16"),
    ("a number beyond float32", [1.0], ("forward", "mul"), "1e300 is finite in Python"),
]


def hunt_with(nan_hunt: Callable, program: str, values: list[float]) -> tuple:
    """What ``nan_hunt`` says of a loss, how often it computed it, and how often it went back.

    Raises:
        AssertionError: it left its mode switched on, or went back where there is no way.
    """
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
        with no_mode_left():
            answer = nan_hunt(forward)
    except RuntimeError as error:
        where = "does not require grad" in str(error)
        assert not where, "backward() was called, although the loss requires no gradient"
        raise
    finally:
        torch.use_deterministic_algorithms(strict)
    return answer, len(calls), len(backwards)


@ends_in_notebook
def check_logged(
    outcome: tuple, program: Callable, x: torch.Tensor, expected: list[str], slips: dict[str, str]
) -> None:
    """Check what a logger wrote of a program.

    Args:
        outcome: the lines, the result, what was raised, how many lines were written only when the
            block ended, how many after it, and how many by another logger's ``write``.
        program: what ran on x inside the block.
        x: its argument; for a program that works in place through a view, also what copies give.
        expected: the right lines. If the last ends in an exception's name, the program raises that.
        slips: how a known wrong line begins, and words for it.

    Raises:
        AssertionError: a rule of the exercise is broken.
    """
    __tracebackhide__ = True
    lines, result, raised, late, after, elsewhere = outcome
    ends = expected[-1].rpartition(" ")[2]
    fails = ends if ends.endswith("Error") else ""
    why = (
        "the exception that the operator raised, raised again"
        if fails
        else "no operator raises anything here"
    )
    check_equal(raised, fails, "what came out of the block", why)
    lent = "another logger was made meanwhile, and the lines went to its write"
    assert not elsewhere, lent
    check_equal(late, 0, "lines at the block's end", "when it has run, not when the block ends")
    raising = f": an operator that raises gets its line, too, here {fails}" if fails else ""
    assert lines, f"no line was written{raising}"
    for got, right in zip(lines, expected, strict=False):
        known = [words for start, words in slips.items() if got.startswith(start)]
        if re.match(r"\w+\.\w+\(", got):
            known = ["the overload, behind the dot, is left out: func.overloadpacket.__name__"]
        why = "; ".join(known)
        check_equal(got, right, "a line", why)
    check_equal(len(lines), len(expected), "the number of lines", "one for each operator")
    check_equal(after, 0, "lines written after the block")
    if not fails:
        copied = {"hand out what the operator returned, not a copy": x}
        check_value(result, program(x), "the result inside the block", copied)
