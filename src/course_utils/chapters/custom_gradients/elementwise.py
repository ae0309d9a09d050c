"""Exercises 6.2 and 6.3: a length, an ELU."""

from __future__ import annotations

import torch

from course_utils.chapters.custom_gradients.watching import (
    AGAIN,
    ANEW,
    OVERWRITTEN,
    WRITES,
    grad_again,
    gradient_words,
    require_digits,
    require_written,
    same_gradients,
)
from course_utils.learner.changes import forbid_changes
from course_utils.learner.devices import device
from course_utils.learner.operators import forbid_operators
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_value


def run_length(function, x, g):
    """Value and gradient of a Length where the gradient g arrives."""
    require_written(function)
    again, arrives = x.detach().clone().requires_grad_(), g.clone()
    x = x.detach().requires_grad_()
    y = function.apply(x)
    assert isinstance(y, torch.Tensor), f"Length.apply gives {type(y).__name__}, not a tensor"
    assert y.shape == g.shape, f"the lengths have shape {tuple(y.shape)}, expected {tuple(g.shape)}"
    value, (gradient,) = y.detach(), gradient_words(lambda: torch.autograd.grad(y, x, g))
    assert torch.equal(g, arrives), WRITES
    y = function.apply(again)
    function.apply(1 - again.detach())
    late, last = grad_again(y, [again], arrives)
    assert same_gradients(late, [gradient]), OVERWRITTEN
    anew = same_gradients(late, last)
    assert anew or same_gradients(late, [2 * x for x in last]), AGAIN
    return value, gradient, anew


def length_inputs():
    """Inputs for Length, by name."""
    few = torch.tensor([3.0, 4.0])
    return {
        "x = (3, 4)": few,
        "x = (0, 0)": torch.zeros(2),
        "shape (2, 3, 4), float64": torch.arange(-12.0, 12, dtype=torch.float64).view(2, 3, 4),
        "a transposed matrix": torch.arange(6.0).view(2, 3).t(),
        "one number a row, (3, 1)": torch.tensor([[-2.0], [0.0], [3.0]]),
        "a single row, (1, 2)": few[None],
        "shape (2, 1, 3)": torch.arange(6.0).view(2, 1, 3),
        "shape (3, 2, 2), transposed": torch.arange(12.0).view(2, 3, 2).transpose(0, 1),
        "rows (3e-6, 4e-6), (0, 0), (3, 4)": torch.stack([few * 1e-6, few * 0, few]),
        "rows (3, -3), (0, 5), (-0.0, 0)": torch.tensor([[3.0, -3], [0, 5], [-0.0, 0]]),
        "x = (3e-15, 4e-15)": few * 1e-15,
        "x = (3e18, 4e18)": few * 1e18,
        "rows (3e-15, 4e-15), (3e18, 4e18)": torch.stack([few * 1e-15, few * 1e18]),
        "one row three times, expanded": few.expand(3, 2),
        "no vectors at all, (0, 3)": torch.zeros(0, 3),
        "float64 beyond float32": 1e100 * few.double(),
        "float64 below float32": 1e-100 * few.double(),
    }


@ends_in_notebook
def check_length(try_length, x):
    """Check one case of the safe length."""
    __tracebackhide__ = True
    x = x.to(device)
    length = x.square().sum(-1).sqrt()
    g = torch.linspace(1, 2, length.numel(), dtype=x.dtype, device=device).view(length.shape)
    g = g.mT.contiguous().mT if g.dim() > 1 else g  # laid out column by column
    unit = torch.where(length == 0, 0.0, 1 / length).nan_to_num(0).unsqueeze(-1) * x
    with forbid_changes(x):
        value, gradient, anew = try_length(x, g)
    if value.shape == length.shape:
        zero = value[length == 0]
        assert not zero.any(), (
            f"a zero vector has the length {zero.max():.3g}: what was added to it?"
        )
    check_value(value, length, "the length", {"this is the square of the length": length**2})
    assert not gradient.isnan().any(), "NaN in the gradient where the length is 0: that is 0 / 0"
    if gradient.shape == x.shape:
        got = gradient.norm(dim=-1)
        short, off = (length > 0) & (length < 1e-3), (got - g).abs() > 0.001 * g
        weak = short & off & (got < g)
        assert not weak.any() or (off & (length >= 1e-3)).any(), (
            "short vectors get too little: was something added to the length, or cut off below?"
        )
    slips = {
        "it forgets the gradient that arrives: multiply by it": unit,
        "that is the slope of the squared length": 2 * x * g.unsqueeze(-1),
        "divided once too often: the slope is x / length": unit * (g / length).unsqueeze(-1),
        "this is x times what arrives: divide by the length": x * g.unsqueeze(-1),
        "a zero vector makes every gradient 0: choose for each vector by itself": 0 * x,
        "3 - 3 is 0, and the vector (3, -3) is not: ask whether its length is 0": torch.where(
            x.sum(-1, keepdim=True) == 0, x, unit
        )
        * g.unsqueeze(-1),
    }
    check_value(gradient, unit * g.unsqueeze(-1), "the gradient", slips)
    require_digits(value, length, "the length")
    require_digits(gradient, unit * g.unsqueeze(-1), "the gradient")
    assert anew, ANEW


def run_elu(elu, x, alpha, g):
    """Value and gradient of an elu where the gradient g arrives."""
    plain, x = x.detach().clone(), x.detach().requires_grad_()
    x.grad = torch.full_like(x, 7)
    with forbid_operators(
        "elu", "celu", "selu", "elu_backward", because="write it out, by ordinary operations"
    ):
        y = elu(x, alpha)
        assert y is not None, "elu gives None: is there an answer yet?"
        assert isinstance(y, torch.Tensor), f"elu gives {type(y).__name__}, not a tensor"
        assert y.shape == x.shape, f"elu gives shape {tuple(y.shape)} for x {tuple(x.shape)}"
        kept = x.grad is not None and bool((x.grad == 7).all())
        assert kept, "x had a gradient in .grad, and elu changed it: leave x as it is"
        elu(plain, alpha)
        assert not plain.requires_grad, "elu makes x require a gradient: leave x as it is"
        same = torch.equal(plain, x)
        assert same, "elu writes into an x that requires no grad: leave x as it is"
        return y.detach(), gradient_words(lambda: torch.autograd.grad(y, x, g.to(y.dtype)))[0]


def elu_inputs():
    """Inputs for elu, each with its alpha, by name."""
    few = torch.tensor([-2.0, 5.0])
    return {
        "the example, alpha 1": (torch.tensor([-1.0, 2.0]), 1.0),
        "the example, alpha 0.5": (torch.tensor([-1.0, 2.0]), 0.5),
        "far from the kink": (torch.tensor([100.0, 1000.0, 3e38, -1000.0, -3e38]), 1.0),
        "far from it, alpha 3": (torch.tensor([89.0, 1000.0, -1000.0]), 3.0),
        "far from it, alpha 30": (torch.tensor([89.0, 1000.0, -1000.0]), 30.0),
        "where exp has just become infinite": (torch.tensor([88.0, 88.73, 88.76]), 1.0),
        "where it has in float64": (torch.tensor([88.75, 709.5, 709.79, 711]).double(), 1.0),
        "at the kink": (torch.tensor([0.0]), 1.0),
        "at the kink, alpha 0.5": (torch.tensor([0.0, -0.0, 1e-7, -1e-7]), 0.5),
        "next to the kink, alpha 0.5": (torch.tensor([1e-30, -1e-30]), 0.5),
        "float64, shape (2, 3)": (torch.linspace(-900, 900, 6).double().view(2, 3), 2.5),
        "(-0.3, 0.7) in float64": (torch.tensor([-0.3, 0.7], dtype=torch.float64), 1.0),
        "a single number": (torch.tensor(-0.5), 1.5),
        "a single number, 2": (torch.tensor(2.0), 1.5),
        "no numbers at all": (torch.zeros(0, 2), 1.0),
        "alpha 0": (few, 0.0),
        "transposed": (torch.linspace(-3, 3, 6).view(2, 3).t(), 1.0),
        "expanded": (few.expand(3, 2), 1.5),
        "float64, alpha 0.1": (few.double(), 0.1),
        "alpha -0.7": (few, -0.7),
    }


def _places(x: torch.Tensor, where: torch.Tensor) -> str:
    """The first few numbers of x there, as people write them."""
    return ", ".join(f"{number:.6g}" for number in x[where].tolist()[:4])


@ends_in_notebook
def check_elu(try_elu, x, alpha):
    """Check one case of the repaired ELU."""
    __tracebackhide__ = True
    x = x.to(device)
    g = torch.linspace(1, 2, x.numel(), dtype=x.dtype, device=device).view(x.shape)
    with forbid_changes(x):
        value, gradient = try_elu(x, alpha, g)
    low = x.clamp(max=0).exp()
    slope = torch.where(x > 0, 1.0, alpha * low)
    slips = {"alpha scales the lower branch": torch.where(x > 0, x, low - 1)}
    slips["alpha scales the lower branch alone"] = alpha * torch.where(x > 0, x, low - 1)
    slips["alpha scales the whole of exp(x) - 1"] = torch.where(x > 0, x, alpha * low - 1)
    slips["what goes into exp is cut off too early"] = torch.where(
        x > 0, x, alpha * (x.clamp(-1, 0).exp() - 1)
    )
    slips["the larger of the two is taken: what counts is whether x > 0"] = torch.maximum(
        x, alpha * (low - 1)
    )
    nan = _places(x, value.isnan())
    assert not nan, f"the value is NaN at x = {nan}: zero times infinity; choose, don't multiply"
    truth = torch.where(x > 0, x, alpha * (low - 1))
    loose = 1e-12 if x.dtype == torch.float64 else 1e-5
    near = [value.dtype == x.dtype and torch.allclose(value, truth, r, r) for r in (1e-5, loose)]
    few = near == [True, False]
    assert not few, "the value is right to seven digits alone: was it computed in float32?"
    check_value(value, truth, "the value", slips, loose, loose)
    nan, infinite = _places(x, gradient.isnan()), _places(x, gradient.isinf())
    assert not nan, (
        f"the gradient is NaN at x = {nan}: zero times infinity, in the branch not taken"
    )
    assert not infinite, f"the gradient is infinite at x = {infinite}"
    at_zero = torch.where(x == 0, 0.0, slope)
    slips = {
        "0 at the kink: whatever cuts x off there (a clamp, a relu) passes no gradient at its very "
        "end": at_zero * g,
        "1 at the kink, for every alpha: x = 0 is not above 0, so the slope there is alpha": (
            torch.where(x >= 0, 1.0, slope) * g
        ),
        "a small x above 0 is above 0: compare without a tolerance": slope.where(
            (x <= 0) | (x > 0.01), alpha
        )
        * g,
        "a small x above 0 is above 0, and its slope 1: compare without a tolerance": slope.where(
            (x <= 0) | (x > 0.01), 0
        )
        * g,
        "0.5 at the kink: a minimum shares its gradient out at a tie": (at_zero + slope) / 2 * g,
        "it forgets alpha": torch.where(x > 0, 1.0, low) * g,
        "1 in the lower branch: was it written without being recorded?": g,
        "none comes out of the lower branch here (was its input cut off?)": (x > 0) * g,
    }
    check_value(gradient, slope * g, "the gradient", slips, 1e-5, 1e-5)
    require_digits(gradient, slope * g, "the gradient", atol=1e-12)
