"""Exercises 5.5 and 5.6: undoing a broadcast, and vector-Jacobian products."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor

import course_utils
from course_utils.chapters.autograd.raised import ALL_SUMMED, said_in_words
from course_utils.learner.calls import check_rules
from course_utils.learner.cases import every_case
from course_utils.learner.changes import forbid_changes
from course_utils.learner.operators import count_operators
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_parts, check_value

FEW_DIGITS = "is right to a few digits alone: was float32 on the way, or a difference quotient?"
NO_AUTOGRAD = ("grad", "backward", "*_make_dual", "*_backward", "*_backward_data")


# Undoing a broadcast.


@contextmanager
def _nan_where_nothing_is_written() -> Generator[None]:
    """``torch.empty`` and its kin give NaN here, so that nobody is lucky with what they find."""
    before = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    # torch.use_deterministic_algorithms imports the compiler, which takes seconds.
    torch._C._set_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch._C._set_deterministic_algorithms(before, warn_only=warn_only)


@ends_in_notebook
def check_sum(try_unbroadcast: Callable, gradient: Tensor, shape: tuple, because: str) -> None:
    """Compare what undoes a broadcast with what autograd has for ``expand``.

    Args:
        try_unbroadcast: from the gradient and the shape to what ``watched`` says of the call.
        gradient: of the result.
        shape: of the operand.
        because: words that say what was broadcast.
    """
    operand = torch.zeros(shape, dtype=gradient.dtype, device=gradient.device, requires_grad=True)
    (truth,) = torch.autograd.grad(operand.expand(gradient.shape), operand, gradient)
    with forbid_changes(gradient), _nan_where_nothing_is_written(), said_in_words(because):
        answer, _, changed = try_unbroadcast(gradient, shape)
    # Where a gradient has nan, `watched` finds it unequal to itself; the block above does not.
    check_rules([], changed if not gradient.isnan().any() else "")
    slips = {}
    if gradient.numel():
        front = (0,) * (gradient.dim() - len(shape))
        first = gradient[front][tuple(slice(0, n) for n in shape)]
        mean = truth * (truth.numel() / gradient.numel())
        slips = {
            "that is the mean; every copy was paid, so the payments are added": mean,
            "that is one of the payments; all that were made to an element are added": first,
        }
    rtol = {torch.float16: 2e-3, torch.bfloat16: 2e-2}.get(gradient.dtype, 1e-5)
    try:
        check_value(answer, truth, f"the gradient ({because})", slips, rtol=rtol, atol=1e-5)
    except AssertionError as error:
        all_summed = isinstance(answer, Tensor) and answer.numel() == 1 < truth.numel()
        words = f"; {ALL_SUMMED}" * all_summed
        raise AssertionError(f"{error}{words}") from None


@ends_in_notebook
def check_sums(
    try_unbroadcast: Callable, *groups: tuple[Tensor, Mapping[tuple[int, ...], str]]
) -> None:
    """:func:`check_sum` for several gradients, each with shapes and what is said of them."""
    with every_case() as case:
        for gradient, shapes in groups:
            for shape, because in shapes.items():
                kind = str(gradient.dtype).removeprefix("torch.")
                with case(f"{tuple(gradient.shape)} to {shape}, {kind}"):
                    fresh = gradient.to(course_utils.device).detach()
                    check_sum(try_unbroadcast, fresh, shape, because)


def more_sums() -> list[tuple[Tensor, dict[tuple[int, ...], str]]]:
    """Gradients for `check_sums`: huge, equal sizes or sizes of 0, five dimensions, half."""
    huge = 1e200 * torch.arange(6.0, dtype=torch.float64).reshape(1, 2, 3)
    cube, five = torch.arange(27.0).reshape(3, 3, 3), torch.arange(32.0).reshape(2, 2, 2, 2, 2)
    place, many = "all sizes are equal here: places count, from the end", "of five dimensions"
    none, ones = "the sum over nothing is 0", "sizes of 1 on both sides"
    small, generator = "many small payments", torch.Generator().manual_seed(3)
    empty = torch.zeros(2, 0, 3)
    shapes = [(0, 3), (1, 3), (0, 1), (1, 1), (3,), (1,), (), (1, 0, 1), (2, 1, 1), (2, 0, 3)]
    one = torch.randn(1, 2, 1, generator=generator, dtype=torch.float64)
    return [
        *((empty.to(kind), dict.fromkeys(shapes, none))
          for kind in (torch.float64, torch.float32, torch.bfloat16)),
        (torch.zeros(0).half(), {(0,): "nothing was broadcast", (1,): none, (): none}),
        (one, dict.fromkeys([(1, 2, 1), (2, 1), (1, 1), (1, 1, 1), (1,), ()], ones)),
        *((torch.ones(3000, 1, dtype=kind), {(1,): small, (1, 1): small, (): small})
          for kind in (torch.float16, torch.bfloat16)),
        (torch.tensor([[torch.nan, 1.0, torch.inf], [2.0, 3.0, -1.0]]),
         dict.fromkeys([(3,), (2, 1), (2, 3)], "a sum with nan is nan: leave nothing out")),
        (one.expand(3, 4, 2, 5), dict.fromkeys([(4, 2, 1), (2, 1)], "an expanded gradient")),
        (huge, dict.fromkeys([(1, 2, 3), (2, 3)], "numbers of 1e200, which float32 can't hold")),
        (cube, dict.fromkeys([(3,), (3, 3), (3, 1), (1, 3), (3, 1, 3), (1, 1, 3)], place)),
        (cube[:2].transpose(0, 1), dict.fromkeys([(3,), (1,), ()], "a transposed gradient")),
        (torch.ones(2, *[1] * 30, 3), dict.fromkeys([(3,), (1, 1), (1,) * 32], "of 32 dims")),
        (five.bfloat16(), dict.fromkeys([(2, 1, 2), (1, 2, 1, 1, 2), (2,)], many)),
    ]  # fmt: skip


# Vector-Jacobian products.

OPERATIONS = {
    "matmul": torch.matmul,
    "softmax": lambda x: x.softmax(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "layer_norm": lambda x, weight, bias: F.layer_norm(x, x.shape[-1:], weight, bias, eps=1e-5),
}


def _matmul_slips(g: Tensor, a: Tensor, b: Tensor) -> list[dict[str, Tensor]]:
    if not a.shape == b.shape == g.shape:
        turned = "the right numbers, transposed: compare the shapes"
        return [{turned: b @ g.t()}, {turned: g.t() @ a}]
    swapped = "that is the gradient of the other factor: compare the shapes"
    bare = "the other factor has to be transposed"
    return [{swapped: a.t() @ g, bare: g @ b}, {swapped: g @ b.t(), bare: a @ g}]


def _softmax_rule(g: Tensor, y: Tensor) -> Tensor:
    return y * (g - (g * y).sum(-1, keepdim=True))


def _softmax_slips(g: Tensor, y: Tensor) -> list[dict[str, Tensor]]:
    along = (g * y).sum(-1, keepdim=True)
    every = "every entry of y depends on every entry of x in its row"
    other = (g * y).sum(1, keepdim=True) if y.dim() > 2 else along
    return [
        {
            "softmax runs along the last dimension, not along dimension 1": y * (g - other),
            f"{every}; y · (1 - y) is the diagonal alone": g * y * (1 - y),
            f"{every}; subtract what the whole row has in common": g * y,
            "the common part is taken away, but y in front is missing": g - along,
            "sum g · y along the row, not g alone": y * (g - g.sum(-1, keepdim=True)),
            "the sum along the row, not the mean": y * (g - (g * y).mean(-1, keepdim=True)),
            "the sum runs along each row, not over everything": y * (g - (g * y).sum()),
            "y is the result: softmax was taken already": _softmax_rule(g, y.softmax(-1)),
        }
    ]


def _logsumexp_slips(g: Tensor, x: Tensor) -> list[dict[str, Tensor]]:
    place = "the dimension that is missing in the gradient is the last one of x, not dimension 1"
    square = x.dim() == 3 and x.shape[1] == x.shape[2]
    other = g.unsqueeze(1 if square else -1)
    g = g.unsqueeze(-1)
    return [
        {
            place: other * x.softmax(-1),
            "the shares are right; the upstream gradient is missing": x.softmax(-1),
            "that is log-softmax; the slope is the share itself": g * x.log_softmax(-1),
            "each entry takes part by its share, not equally": g * torch.ones_like(x),
            "each row has shares of its own; these are taken along the other dimension": (
                g * x.softmax(0)
            ),
            "exp of large numbers is infinite: subtract each row's maximum first": (
                g * x.exp() / x.exp().sum(-1, keepdim=True)
            ),
            "subtract each row's own maximum, not that of all": (
                g * (x - x.max()).exp() / (x - x.max()).exp().sum(-1, keepdim=True)
                if x.numel()
                else x
            ),
        }
    ]


def _layer_norm_slips(g: Tensor, x: Tensor, weight: Tensor) -> list[dict[str, Tensor]]:
    def normal_of(correction=0, eps=1e-5, outside=False) -> tuple[Tensor, Tensor]:
        variance = x.var(-1, correction=correction, keepdim=True)
        scale = 1 / (variance.sqrt() + eps) if outside else (variance + eps).rsqrt()
        return (x - x.mean(-1, keepdim=True)) * scale, scale

    def of_x(g: Tensor, mean=True, var=True, **division) -> Tensor:
        normal, scale = normal_of(**division)
        left = g - g.mean(-1, keepdim=True) if mean else g
        return scale * (left - normal * (g * normal).mean(-1, keepdim=True) if var else left)

    normal, _ = normal_of()
    divisions = {
        "eps is missing under the root": {"eps": 0.0},
        "eps is added to the variance, under the root, not to the deviation": {"outside": True},
    }
    if x.shape[-1] > 1:
        divisions["divide the variance by d, not by d - 1"] = {"correction": 1}
    first = {
        "mean and variance depend on x as well": of_x(g * weight, mean=False, var=False),
        "the variance depends on x as well": of_x(g * weight, var=False),
        "the mean depends on x as well": of_x(g * weight, mean=False),
        "the weight is missing": of_x(g),
        "the weight comes first: multiply g by it, not the slope at the end": of_x(g) * weight,
    }
    first |= {words: of_x(g * weight, **division) for words, division in divisions.items()}
    added = "the payments of the rows are added, not averaged"
    second = {
        "the weight multiplies the normalised x, not x itself": (g * x).sum(0),
        "that is the gradient of the bias": g.sum(0),
        added: (g * normal).mean(0),
        "the weight is not in its own slope": (g * normal * weight).sum(0),
    }
    second |= {
        words: (g * normal_of(**division)[0]).sum(0) for words, division in divisions.items()
    }
    third = {
        "that is the gradient of the weight": (g * normal).sum(0),
        added: g.mean(0),
        "the weight plays no part in the slope of the bias": (g * weight).sum(0),
    }
    return [first, second, third]


VJP_SLIPS = {
    "matmul": _matmul_slips,
    "softmax": _softmax_slips,
    "logsumexp": _logsumexp_slips,
    "layer_norm": _layer_norm_slips,
}
VJP_PARTS = {
    "matmul": ("the gradient of a", "the gradient of b"),
    "layer_norm": ("the gradient of x", "the gradient of weight", "the gradient of bias"),
}


def check_each(names, answers, truths, slips) -> None:
    """Compare several tensors, and say what is wrong with each that is wrong."""
    wrong = []
    for name, yours, right, known in zip(names, answers, truths, slips, strict=True):
        # exp(x - logsumexp(x)) is right, too, and rounds x: near 1000 by 1e-4, in float32.
        rtol, atol = (1e-11, 1e-11) if right.dtype == torch.float64 else (1e-3, 1e-5)
        try:
            check_value(yours, right, name, known, rtol=rtol, atol=atol)
        except AssertionError as error:
            words = str(error)
            alike = isinstance(yours, Tensor) and (yours.shape, yours.dtype) == (
                right.shape,
                right.dtype,
            )
            named = any(slip in words for slip in known)
            if alike and not named and torch.allclose(yours, right, rtol=1e-4, atol=1e-5):
                words = f"{name} {FEW_DIGITS}"
            if (
                isinstance(yours, Tensor)
                and yours.shape != right.shape
                and yours.dim() > right.dim()
            ):
                words += "; what was broadcast over the batch gets the sum of all payments"
            wrong.append(words)
    assert not wrong, "; ".join(wrong)


@ends_in_notebook
def check_vjp(try_vjp: Callable, rule: str, g: Tensor, *inputs: Tensor) -> None:
    """Compare an answer's rule with what autograd says of the operation.

    Args:
        try_vjp: from the rule's name and its arguments to what ``watched`` says of the call.
        rule: a key of ``OPERATIONS``.
        g: the gradient of the result.
        inputs: of the operation.
    """
    inputs = tuple(x.detach().to(course_utils.device).requires_grad_() for x in inputs)
    result, g = OPERATIONS[rule](*inputs), g.to(course_utils.device).detach()
    truth = torch.autograd.grad(result, inputs, g)
    given = [result] if rule == "softmax" else inputs[: 2 if rule != "logsumexp" else 1]
    given = [x.detach() for x in given]
    with count_operators() as counts, said_in_words():
        answer, names, changed = try_vjp(rule, g, *given)
    check_rules(names, changed, *NO_AUTOGRAD)
    check_rules(sorted(counts), False, *NO_AUTOGRAD)
    parts = VJP_PARTS.get(rule, ("the gradient of x",))
    answers = check_parts(answer, *parts) if len(truth) > 1 else [answer]
    check_each(parts, answers, truth, VJP_SLIPS[rule](g, *given))


# Cases of `check_vjps` without a row, a column, or anything to sum over.
EMPTY_VJPS: list[tuple] = [
    (f"n, k, m = {n, k, m}" + ", float64" * (kind == torch.float64), "matmul",
     *(torch.zeros(size, dtype=kind) for size in ((n, m), (n, k), (k, m))))
    for kind in (torch.float32, torch.float64)
    for n, k, m in ((3, 0, 2), (0, 3, 2), (2, 3, 0), (0, 0, 0))
]  # fmt: skip
EMPTY_VJPS += [
    (f"x of shape {size}" + ", float64" * (kind == torch.float64), "softmax",
     *(torch.zeros(size, dtype=kind) for _ in range(2)))
    for kind in (torch.float32, torch.float64)
    for size in ((0, 3), (2, 0), (0,), (2, 0, 3), (0, 2, 3))
]  # fmt: skip


def further_vjps() -> list[tuple]:
    """Cases of `check_vjps` in which a rule that is right elsewhere may fail."""
    rows, bias = torch.tensor([[1.0, 2.0, 4.0], [0.0, -1.0, 3.0]]), torch.tensor([0.5, 0.0, 1.0])
    three = torch.tensor([[1.0, -2.0, 0.5], [0.0, 1.0, 3.0], [2.0, 0.5, -1.0]])
    cube = torch.arange(27.0).reshape(3, 3, 3).sin()
    wide = torch.tensor([[1000.0, -1000.0, 999.0], [0.0, 200.0, 199.0], [-500.0, 3.0, 500.0]])
    masked = torch.tensor([[1.0, -torch.inf, 2.0], [-torch.inf, -torch.inf, 0.0], [0.0, 1.0, 5.0]])
    weight = torch.tensor([1.0, 0.0, -1.0])
    four = torch.cat([three, three[:, :1]], 1)
    found: list[tuple] = [
        ("x (3,), a negative gradient ()", "logsumexp", three[0, 1], three[1]),
        ("a of one row, b of one column", "matmul", three[:1, :1], three[:1], three[:, :1]),
        ("a of one column, b of one row", "matmul", three, three[:, :1], three[:1]),
        ("one row", "softmax", three[:1], three[:1]),
        ("shares of exactly 0, by which nothing can be divided", "softmax", three, 300 * three),
        ("shares of exactly 0 in float64", "softmax", three.double(), 3000 * three.double()),
        ("shares of a millionth and less", "softmax", three.double(), 8 * three.double()),
        ("one entry in each row", "softmax", three[:, :1], three[:, :1]),
        ("x (3, 3, 3)", "softmax", cube, cube.roll(1, 0)),
        ("x (2, 1, 3, 2), float64", "softmax",
         *(cube.double().flatten()[n : n + 12].reshape(2, 1, 3, 2) for n in (0, 13))),
        ("a gradient as sum() sends it", "softmax", torch.ones(1).expand(3, 3), three),
        ("a gradient as sum() sends it", "matmul", torch.ones(1).expand(3, 3), three, three.t()),
        ("a gradient as sum() sends it", "logsumexp", torch.ones(1).expand(3), three),
        ("a gradient as sum() sends it", "layer_norm", torch.ones(1).expand(3, 3), three, weight,
         bias),
        ("a gradient with turned dimensions", "softmax", cube.transpose(0, 1), cube.roll(1, 0)),
        ("turned dimensions", "logsumexp", cube[0].t(), cube.transpose(0, 1)),
        ("numbers far from each other in a row", "logsumexp", three[0], wide),
        ("numbers far from each other in a row, float64", "logsumexp", three[0].double(),
         wide.double()),
        ("an entry of -inf, as a mask makes it: its slope is 0", "logsumexp", three[0], masked),
        ("x (3, 3, 3)", "logsumexp", cube[0], cube.roll(1, 0)),
        ("x (2, 1, 3, 2)", "logsumexp", cube.flatten()[:6].reshape(2, 1, 3),
         cube.flatten()[13:25].reshape(2, 1, 3, 2)),
        ("one entry in each row", "logsumexp", three[:, 0], three[:, :1]),
        ("no row", "logsumexp", torch.zeros(0), torch.zeros(0, 3)),
        ("a weight of 0", "layer_norm", three[:2], rows, weight, bias),
        ("rows around 1000, whose squares lose digits", "layer_norm", three[:2], 1000 + rows,
         1 + weight, bias),
        ("nearly flat rows in float64", "layer_norm", three[:2].double(), 0.001 * rows.double(),
         1 + weight.double(), bias.double()),
        # Four columns: by a product with 1/3, three equal numbers have no mean of their own.
        ("rows of equal numbers", "layer_norm", four, torch.tensor([[3.0, 0.0, -2.0]] * 4).t(),
         1 + torch.cat([weight, weight[:1]]), torch.cat([bias, bias[:1]])),
        ("as many rows as columns", "layer_norm", three, three.t(), weight, bias),
        ("one column", "layer_norm", three[:, :1], three[:, 1:2], bias[:1], bias[:1]),
    ]  # fmt: skip
    single = [case for case in found if case[2].dtype == torch.float32]
    found += [
        (f"{name}, in float64", rule, *(x.double() for x in xs)) for name, rule, *xs in single
    ]
    return found


@ends_in_notebook
def check_vjps(try_vjp: Callable, *cases: tuple) -> None:
    """:func:`check_vjp` for several cases: a name, a rule, the gradient and the inputs."""
    with every_case() as case:
        for name, rule, *tensors in cases:
            with case(f"{rule}, {name}"):
                check_vjp(try_vjp, rule, *tensors)
