"""How the exercise on an operator of one's own is tried."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from course_utils.chapters.internals.lazy import Logger
from course_utils.chapters.internals.scenarios import Scenario, error_of, given
from course_utils.chapters.internals.small_torch import plain


def truth(x: torch.Tensor, decay: float) -> torch.Tensor:
    """The decayed sum along the last dimension, in float64, rounded once."""
    total, steps = torch.zeros(x.shape[:-1], dtype=torch.float64), []
    for step in x.detach().double().unbind(-1):
        total = step + decay * total
        steps.append(total)
    return (torch.stack(steps, -1) if steps else x.detach().double()).to(x.dtype)


def _tensor(*size: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*size, generator=generator, dtype=torch.float64).to(dtype)


def _facts(y: Any, x: torch.Tensor, decay: float) -> tuple:
    given(y, "what the operator returned")
    name = type(y).__name__
    assert isinstance(y, torch.Tensor), f"the operator returned a {name}, not a tensor"
    note = tuple(y.shape), str(y.dtype), y.is_contiguous()
    right = truth(x, decay)
    loose = 1e-13 if right.dtype == torch.float64 else 2e-6
    close = y.shape == right.shape and torch.allclose(
        y.detach().double(),
        right.double(),
        rtol=2 * torch.finfo(right.dtype).eps,
        atol=loose,
        equal_nan=True,
    )
    return *note, "right values" if close else "wrong values"


def _values(x: torch.Tensor, decay: float, because: str) -> Scenario:
    def run(op):
        mine = deepcopy(x)
        result = _facts(op(mine, decay), x, decay)
        same = torch.allclose(mine, x, rtol=0, atol=0, equal_nan=True)
        assert same, "x was changed: write into a new tensor"
        assert op(mine, decay) is not mine, "the result is x itself: a new tensor is asked for"
        return result

    right = tuple(x.shape), str(x.dtype), True, "right values"
    return Scenario(run, right, because)


def _error(x: torch.Tensor, right: str, because: str) -> Scenario:
    return Scenario(lambda op: error_of(lambda: op(deepcopy(x), 0.5), right), right, because)


_strides = "any strides will do; the result is new and contiguous"
_switch = "half types are added up in float32 or better, and rounded once, at the end"
KERNEL = {
    "the example": _values(torch.tensor([1.0, 1.0, 1.0]), 0.5, "each step adds to the last"),
    "two rows": _values(_tensor(2, 5), 0.9, "each row begins anew"),
    "decay 0": _values(_tensor(3, 2).t(), 0.0, "nothing is carried; still new and contiguous"),
    "decay 1": _values(_tensor(4), 1.0, "a running sum"),
    "a decay above 1": _values(_tensor(2, 5), 1.5, "any decay will do: this one grows"),
    "a decay of -2": _values(_tensor(5), -2.0, "any decay will do: this one grows"),
    "a negative decay": _values(_tensor(2, 2, 4), -0.7, "any number of dimensions before the last"),
    "transposed": _values(_tensor(5, 3).t(), 0.5, _strides),
    "every second step": _values(_tensor(3, 8)[1:, ::2], 0.5, _strides),
    "an expanded column": _values(_tensor(3, 1).expand(3, 4), 0.5, _strides),
    "float64": _values(_tensor(2, 6, dtype=torch.float64), 0.99, "float64 in, float64 out"),
    "huge and tiny numbers": _values(
        torch.tensor([[1e300, -3e300], [1e-6, 3e-6]], dtype=torch.float64),
        0.5,
        "float64 in, float64 out: numbers stay as large or small as they are",
    ),
    "float16": _values(_tensor(2, 300, dtype=torch.float16), 0.99, _switch),
    "bfloat16": _values(_tensor(300, dtype=torch.bfloat16), 0.99, _switch),
    "two thousand steps": _values(
        _tensor(2000), 0.5, "0.5 ** 2000 is 0, and its inverse infinite: carry the total along"
    ),
    "one step": _values(_tensor(3, 1), 0.5, "nothing comes before the first step"),
    "one step, the rows transposed": _values(
        _tensor(2, 3, 1).transpose(0, 1),
        0.5,
        "the result is contiguous, whatever the strides of x are: clone() keeps them",
    ),
    "one step, of NaN and infinities": _values(
        torch.tensor([[torch.nan], [torch.inf], [-torch.inf], [1.0]]),
        0.5,
        "what isn't finite stays as it is: nothing is replaced",
    ),
    "NaN and infinity among the steps": _values(
        torch.tensor([[1.0, torch.nan, 2.0], [1.0, 2.0, torch.inf]], dtype=torch.float64),
        0.5,
        "what isn't finite reaches no earlier step: 0 times NaN is NaN",
    ),
    "no step": _values(_tensor(2, 0), 0.5, "an empty result of the same shape"),
    "no row": _values(_tensor(0, 4), 0.5, "an empty result of the same shape"),
    "x requires grad": _values(_tensor(3).requires_grad_(), 0.5, "the kernel sees the numbers"),
    "whole numbers": _error(
        torch.arange(3), "TypeError", "a dtype that isn't floating raises a TypeError"
    ),
    "booleans": _error(
        torch.tensor([True, False]), "TypeError", "a dtype that isn't floating raises a TypeError"
    ),
    "complex numbers": _error(
        torch.ones(2, dtype=torch.complex64),
        "TypeError",
        "a dtype that isn't floating raises a TypeError",
    ),
    "no dimension": _error(
        torch.tensor(1.0), "ValueError", "a tensor without a dimension raises a ValueError"
    ),
}


def _fake(size: tuple, dtype: torch.dtype, transposed: bool) -> Callable:
    def run(op):
        with FakeTensorMode():
            x = torch.empty(size, dtype=dtype)
            x = x.transpose(-1, -2) if transposed else x
            y = given(op(x, 0.5), "what the operator returned")
            return tuple(y.shape), y.stride(), str(y.dtype)

    return run


def _on_meta(op):
    y = given(op(torch.empty(4, 2, device="meta").t(), 0.5), "what the operator returned")
    return tuple(y.shape), y.stride(), str(y.device)


def _opcheck(x: torch.Tensor) -> Callable:
    def run(op):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tests = torch.library.opcheck(op, (deepcopy(x), 0.5), raise_exception=False)
        return {name: str(found).splitlines()[0][:160] for name, found in tests.items()}

    return run


def _slope(op):
    x = _tensor(2, 4, dtype=torch.float64).requires_grad_()
    g = _tensor(2, 4, dtype=torch.float64, seed=1)
    with torch.enable_grad():
        y = op(x, 0.5)
        assert y.requires_grad, "the result doesn't require grad: register_autograd is missing"
        (slope,) = torch.autograd.grad(y, x, g)
    return plain(slope)


def _names(op):
    with Logger() as operators:
        given(op(torch.ones(2), 0.5), "what the operator returned")
    return [name for name in operators.names if not name.startswith("aten")]


def _slope_through_vmap(op):
    x = _tensor(2, 4, dtype=torch.float64).requires_grad_()
    g = _tensor(2, 4, dtype=torch.float64, seed=1)
    with torch.enable_grad():
        y = _by_vmap(op, 0, x)
        assert y.requires_grad, "the rule for vmap detaches: no gradient comes through it"
        (slope,) = torch.autograd.grad(y, x, g)
    return plain(slope)


def _slope_truth() -> list:
    g = _tensor(2, 4, dtype=torch.float64, seed=1)
    return plain(truth(g.flip(-1), 0.5).flip(-1))


def _slope_slips() -> tuple:
    g = _tensor(2, 4, dtype=torch.float64, seed=1)
    return (
        (plain(truth(g, 0.5)), "backward runs the other way: from the last step to the first"),
        (plain(g), "that is the gradient as it arrived: each x reaches all later results"),
        (plain(truth(g.flip(-1), 0.5)), "turn the result of backward around again"),
        (plain(truth(g.flip(-1), 2.0).flip(-1)), "backward decays like forward: by decay"),
    )


def _two_decays(op):
    x = _tensor(3, dtype=torch.float64).requires_grad_()
    with torch.enable_grad():
        one, other = op(x, 0.5), op(x, 0.1)
        return plain(torch.autograd.grad(one.sum(), x)[0]), plain(
            torch.autograd.grad(other.sum(), x)[0]
        )


def _undecayed(op):
    x = _tensor(3, dtype=torch.float64).requires_grad_()
    with torch.enable_grad():
        return plain(torch.autograd.grad(op(x, 0.0).sum(), x)[0])


def _slope_of_nan(op):
    x = _tensor(3, dtype=torch.float64).requires_grad_()
    g = torch.tensor([1.0, torch.nan, 2.0], dtype=torch.float64)
    with torch.enable_grad():
        return plain(torch.autograd.grad(op(x, 0.5), x, g)[0])


def _slope_is_close(size: tuple, dtype: torch.dtype, decay: float) -> Scenario:
    """Whether the slopes are as near to those in float64 as the dtype allows."""

    def run(op):
        x, g = (_tensor(*size, dtype=dtype, seed=seed) for seed in (0, 1))
        x.requires_grad_()
        with torch.enable_grad():
            y = given(op(x, decay), "the result")
            (slope,) = torch.autograd.grad(y, x, g)
        note = tuple(slope.shape), str(slope.dtype)
        right = truth(g.flip(-1), decay).flip(-1)
        near = 1e-12 if dtype == torch.float64 else 2 * torch.finfo(dtype).eps
        close = torch.allclose(slope.double(), right.double(), rtol=near, atol=near)
        return *note, "right values" if close else "wrong values"

    because = "slopes are a decayed sum like the result: as exact, and empty where x is empty"
    return Scenario(run, (size, str(dtype), "right values"), because)


def _gradcheck(op):
    x = _tensor(2, 3, dtype=torch.float64).t().requires_grad_()
    with torch.enable_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call = lambda x: op(x, 0.5)  # noqa: E731
        return (
            torch.autograd.gradcheck(call, x, raise_exception=False),
            torch.autograd.gradgradcheck(call, x, raise_exception=False),
        )


def _compiled(op):
    torch.compiler.reset()
    call = torch.compile(lambda x: op(x, 0.5) * 2, backend="aot_eager", fullgraph=True)
    return plain(call(torch.tensor([[1.0, 2.0], [4.0, 8.0]]).t()))


def _by_vmap(op: Callable, in_dim: int, x: torch.Tensor) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return torch.vmap(op, in_dims=(in_dim, None))(x, 0.5)
        except UserWarning as warning:
            if "batching rule" not in str(warning):
                raise
            words = "vmap found no rule and ran the kernel row by row: is register_vmap called yet?"
            raise AssertionError(words) from None


def _no_steps_left(op):
    """What vmap over the only dimension of a vector raises."""
    try:
        _by_vmap(op, 0, _tensor(3))
    except ValueError:
        return "ValueError"
    return "no error"


def _vmapped(in_dim: int, *size: int) -> Scenario:
    x = _tensor(*size)
    wanted = truth(x.movedim(in_dim, 0), 0.5)

    def run(op):
        y = _by_vmap(op, in_dim, x.clone())
        return tuple(y.shape), bool(torch.allclose(y, wanted))

    because = "any dimension may be the batch's: move it to the front"
    return Scenario(run, (tuple(wanted.shape), True), because)


_contiguous = "the fake has the shape, dtype and strides of what the kernel makes: contiguous ones"
_passes = {
    "test_schema": "SUCCESS",
    "test_autograd_registration": "SUCCESS",
    "test_faketensor": "SUCCESS",
    "test_aot_dispatch_dynamic": "SUCCESS",
}
REGISTERED = {
    "a fake matrix": Scenario(
        _fake((2, 3), torch.float32, False), ((2, 3), (3, 1), "torch.float32"), _contiguous
    ),
    "a fake one without a step": Scenario(
        _fake((2, 0), torch.float32, False), ((2, 0), (1, 1), "torch.float32"), _contiguous
    ),
    "a fake transposed matrix": Scenario(
        _fake((2, 3), torch.float16, True), ((3, 2), (2, 1), "torch.float16"), _contiguous
    ),
    "the gradient": Scenario(
        _slope,
        _slope_truth(),
        "the gradient is a decayed sum of what arrives, from the end to the start",
        _slope_slips(),
    ),
    "two calls with other decays": Scenario(
        _two_decays,
        ([1.75, 1.5, 1.0], [1.11, 1.1, 1.0]),
        "the slopes of each call, by the decay that it keeps on its ctx",
        (
            (
                ([1.0, 1.5, 1.75], [1.0, 1.1, 1.11]),
                "the slopes run from the last step to the first: turn the steps around and back",
            ),
            (([1.75, 1.5, 1.0],) * 2, "each call keeps its decay on its ctx: both had the first's"),
            (([1.11, 1.1, 1.0],) * 2, "each call keeps its decay on its ctx: both had the last's"),
        ),
    ),
    "the gradient with decay 0": Scenario(
        _undecayed, [1.0, 1.0, 1.0], "with decay 0 each x reaches its own result, and no later one"
    ),
    "the gradient where a NaN arrives": Scenario(
        _slope_of_nan, [torch.nan, torch.nan, 2.0], "what arrives at a step reaches no later x"
    ),
    "the gradient in bfloat16": _slope_is_close((2, 200), torch.bfloat16, 0.99),
    "the gradient in float64, to all digits": _slope_is_close((2, 6), torch.float64, 0.3),
    "the gradient with a decay of -0.7": _slope_is_close((2, 4), torch.float64, -0.7),
    "the gradient of no step": _slope_is_close((2, 0), torch.float32, 0.5),
    "the gradient of no row": _slope_is_close((0, 3), torch.float32, 0.5),
    "gradcheck, once and twice": Scenario(
        _gradcheck,
        (True, True),
        "against differences; the first is for the slopes, the second for those of the slopes",
    ),
    "vmap over dimension 0": _vmapped(0, 3, 4),
    "vmap over dimension 1": _vmapped(1, 4, 3),
    "vmap over the last of three": _vmapped(-1, 2, 4, 3),
    "vmap over a vector's only dimension": Scenario(
        _no_steps_left,
        "ValueError",
        "each entry is a tensor without a dimension, which raises a ValueError",
        (("no error", "the steps ran over the batch: no dimension is left for them, an error"),),
    ),
    "the gradient through vmap": Scenario(
        _slope_through_vmap, _slope_truth(), "a rule that calls the operator on x has its slopes"
    ),
    "torch.compile": Scenario(
        _compiled, [[2.0, 9.0], [4.0, 18.0]], "the compiled values are wrong"
    ),
    "opcheck": Scenario(
        _opcheck(_tensor(3, 2).t().requires_grad_()), _passes, "opcheck found this"
    ),
    "a matrix on meta": Scenario(
        _on_meta, ((2, 4), (4, 1), "meta"), "the fake is on the device of x, whichever that is"
    ),
    "a fake one in bfloat16, of three dimensions": Scenario(
        _fake((2, 3, 4), torch.bfloat16, True),
        ((2, 4, 3), (12, 3, 1), "torch.bfloat16"),
        _contiguous,
    ),
    "its name": Scenario(
        _names, ["internals.decayed_sum.default"], "it is registered as internals::decayed_sum"
    ),
}
