"""How the exercise on type promotion is tried: all pairs of operands, in one call."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from course_utils import count_operators, every_case
from course_utils.chapters.internals.scenarios import given, refused
from course_utils.learner.awkward import default_dtype
from course_utils.learner.tracebacks import ends_in_notebook

DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
)


# Tensors that are easily given another rank, and what to say if all that is wrong is theirs.
ODD = {
    "an empty int8 tensor": (
        torch.ones(0, dtype=torch.int8),
        "without entries it has a dimension all the same: its rank is by x.dim()",
    ),
    "an int8 tensor with a single entry": (
        torch.ones(1, dtype=torch.int8),
        "a single entry, and a dimension all the same: its rank is by x.dim()",
    ),
    "a float16 parameter": (
        torch.nn.Parameter(torch.ones(2, dtype=torch.float16)),
        "a parameter is a tensor, of a subclass: ask with isinstance",
    ),
}


def operands() -> dict[str, Any]:
    """Tensors of one dimension, of none, and Python numbers, by what they are called."""
    found: dict[str, Any] = {}
    for dtype in DTYPES:
        name = str(dtype).removeprefix("torch.")
        article = "an" if name.startswith("i") else "a"
        found[f"{article} {name} tensor"] = torch.ones(2, dtype=dtype)
        found[f"a 0-D {name} tensor"] = torch.ones((), dtype=dtype)
    extra = {name: tensor for name, (tensor, _) in ODD.items()}
    found |= extra | {"an int8 matrix": torch.ones(2, 2, dtype=torch.int8)}
    found |= {"True": True, "False": False, "the number 3": 3, "the number 2**40": 2**40}
    return found | {
        "the number 0": 0,
        "the number 2.5": 2.5,
        "the number 2.0": 2.0,
        "infinity": math.inf,
    }


_FLOATS = {"the number 2.0", "the number 2.5", "infinity"}
ASKS = "the answer asks PyTorch for the dtype: find it by the rules"


def run_promotion(answer: Callable, default: torch.dtype) -> dict[tuple[str, str], str]:
    """What the answer says for every pair of operands, under a default dtype."""
    names, found = operands(), {}
    with default_dtype(default):
        with (
            refused(torch, "result_type", ASKS),
            refused(torch, "promote_types", ASKS),
            count_operators() as counts,
        ):
            for one, x in names.items():
                for other, y in names.items():
                    result = given(answer(x, y), "what type_promotion returned")
                    kind = type(result).__name__
                    words = f"type_promotion returned a {kind}, not a dtype"
                    assert isinstance(result, torch.dtype), words
                    found[one, other] = str(result)
                    words = f"an operation ran on tensors ({', '.join(counts)}): use their dtypes"
                    assert not counts, words
        left = torch.get_default_dtype()
        assert left == default, "the default dtype was changed: leave it as it is"
    return found


def _kind(value: Any) -> tuple[int, int]:
    """The rank of an operand (0 for a tensor with dimensions), and its category."""
    if not isinstance(value, torch.Tensor):
        return 2, (bool, int, float).index(type(value))
    dtype = value.dtype
    return int(value.dim() == 0), 0 if dtype == torch.bool else 1 + dtype.is_floating_point


def _reason(x: Any, y: Any) -> str:
    (rank, category), (other_rank, other) = _kind(x), _kind(y)
    if rank == other_rank and category != other:
        return "of the same rank, and the higher category decides"
    if rank == other_rank == 2:
        return (
            "two Python numbers: int64, or the default dtype" if category else "two bools: a bool"
        )
    if rank == other_rank and category == 1 and torch.uint8 in (x.dtype, y.dtype):
        return "unsigned and signed: what holds all the values of both"
    if rank == other_rank and category == 2 and x.dtype != y.dtype:
        return "the smallest type that holds all the values of both"
    if rank == other_rank:
        return "of the same rank and category: the larger type"
    if category == other:
        return "of the same category: the operand with the higher rank decides alone"
    if (category > other) == (rank < other_rank):
        return "the one with the higher rank has the higher category too: it decides alone"
    return "the lower rank has the higher category, so its dtype decides, as it is"


@ends_in_notebook
def check_promotion(outcome: tuple[str, Any], default: torch.dtype) -> None:
    """Check what :func:`run_promotion` gave against ``torch.result_type``; at most eight words.

    Raises:
        AssertionError: listing pairs that are wrong, and the rule that each falls under.
    """
    __tracebackhide__ = True
    kind, found = outcome
    assert kind != "refused", found
    assert kind == "gave", f"the call raised {found}"
    names = operands()
    with default_dtype(default):
        right = {
            (one, other): str(torch.result_type(x, y))
            for one, x in names.items()
            for other, y in names.items()
        }
    wrong = [pair for pair in right if found.get(pair) != right[pair]]
    told: dict[str, tuple[str, str]] = {}
    for pair in wrong:
        told.setdefault(_reason(names[pair[0]], names[pair[1]]), pair)
    odd = [next((name for name in ODD if name in pair), "") for pair in wrong]
    if all(odd):
        told = {ODD[name][1]: pair for name, pair in zip(odd, wrong, strict=True)}
    under = str(default).removeprefix("torch.")
    with every_case() as case:
        for words, (one, other) in told.items():
            asks = default != torch.float32 and not _FLOATS.isdisjoint((one, other))
            with case(f"{one} and {other}" + f", the default dtype being {under}" * asks):
                raise AssertionError(f"not {found.get((one, other))}: {words}")
