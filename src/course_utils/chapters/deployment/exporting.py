"""Exercise 19.3: programs that ``torch.export`` refuses, and what became of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from course_utils.chapters.deployment.noise import quiet
from course_utils.learner.tracebacks import ends_in_notebook


def night(x: torch.Tensor) -> torch.Tensor:
    return 1 - x if x.mean() < 0.5 else x * 1


def settle(x: torch.Tensor) -> torch.Tensor:
    while x.abs().max() > 1:
        x = x / 2
    return x


def crop(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    width = int(n)
    if not 0 <= width <= x.shape[1]:
        raise ValueError(f"no {width} columns")
    return x[:, :width]


def bright(x: torch.Tensor) -> torch.Tensor:
    return x[[row for row in range(len(x)) if x[row].mean() > 0.5]]


REFUSED = {"night": night, "settle": settle, "crop": crop, "bright": bright}
# What each of them is about, said where an answer gives something that no known slip gives.
ASKED = {
    "night": "One mean, of all numbers, chooses between all of 1 - x and all of x",
    "settle": "All of x is halved while a number's size is above 1. A loop's condition is one "
    "truth value, and its body gives a tuple of tensors that are shaped like its inputs",
    "crop": "0 to 6 columns are allowed, none and all as well: the first n of every row",
    "bright": "The rows whose own mean is above a half, whole and in their order: a mask has one "
    "truth value for each row",
}


class Wrapped(nn.Module):
    """A module whose forward is ``function(program, …)``."""

    def __init__(self, function: Callable, program: str) -> None:
        super().__init__()
        self.function, self.program = function, program

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(self.program, *inputs)


def inputs_of(program: str) -> dict[str, tuple]:
    """What each exported program is run on; the first is also what it is exported with."""
    generator = torch.Generator().manual_seed(19)
    draw = lambda *shape: torch.rand(*shape, generator=generator)  # noqa: E731
    rows = draw(5, 6)
    rows[1], rows[3] = 0.9 * draw(6) * 0.5, 0.6 + 0.4 * draw(6)
    signed = draw(3, 6) - 0.5
    if program == "crop":
        widths = {"2 columns": 2, "no column": 0, "one": 1, "all six": 6}
        cases = {words: (draw(4, 6), torch.tensor(n)) for words, n in widths.items()}
        cases["two rows"] = (draw(2, 6), torch.tensor(4))
        cases["one row"] = (draw(1, 6), torch.tensor(2))
        cases["7 columns of 6"] = (draw(4, 6), torch.tensor(7))
        return cases | {"minus 2 columns": (draw(4, 6), torch.tensor(-2))}
    if program == "settle":
        cases = {"large numbers": (9 * signed,), "small numbers": (0.5 * signed,)}
        cases["a large negative number"] = (torch.tensor([[0.5, -100.0, 0.0]] * 2).repeat(1, 2),)
        cases["very large numbers, seven rows"] = (1e6 * draw(7, 6),)
        cases["near float32's largest number"] = (torch.full((2, 6), 3e38),)
        cases["one row"] = (9 * signed[:1],)
        cases["just above a power of two"] = (torch.full((3, 6), 1024.0001),)
        unknown = 9 * signed
        unknown[1, 2] = torch.nan
        cases["a NaN among large numbers"] = (unknown,)
        return cases | {"the largest is exactly 1": (signed / signed.abs().max(),)}
    if program == "night":
        cases = {"a dark picture": (0.4 * draw(4, 6),), "a bright one": (0.6 + 0.4 * draw(4, 6),)}
        cases["a dark one of seven rows"] = (0.4 * draw(7, 6),)
        cases["one row"] = (0.4 * draw(1, 6),)
        mixed = torch.cat([0.3 * draw(3, 6), 0.6 + 0.4 * draw(1, 6)])
        mixed[3, 0] = 0.3  # a dark number in a bright row
        cases["dark as a whole, with a bright row"] = (mixed,)
        cases["dark as a whole, its first row bright"] = (mixed.flip(0),)
        cases["dark as a whole, with numbers above 1"] = (torch.tensor([[1.5, -1.0] * 3] * 3),)
        cases["bright as a whole, with numbers below 0"] = (torch.tensor([[2.5, -0.5] * 3] * 3),)
        endless, unknown = draw(3, 6), draw(3, 6)
        endless[1, 2], unknown[1, 2] = torch.inf, torch.nan
        cases |= {"an infinite number": (endless,), "a NaN among the numbers": (unknown,)}
        return cases | {"a mean of exactly a half": (torch.tensor([[0.25, 0.75] * 3] * 3),)}
    cases = {"some rows are bright": (rows,), "all are": (0.6 + 0.4 * draw(3, 6),)}
    cases["one row"] = (0.6 + 0.4 * draw(1, 6),)
    cases["none is"] = (0.4 * draw(4, 6),)
    cases["one dark row"] = (0.4 * draw(1, 6),)
    cases["a row's mean is just above a half"] = (torch.full((2, 6), 0.501),)
    half = torch.tensor([[0.25, 0.75] * 3])
    unknown = rows.clone()
    unknown[1, 2] = unknown[3, 4] = torch.nan  # in a dark row, and in a bright one
    cases["a NaN in a row"] = (unknown,)
    beyond = torch.tensor([[3.0, 0, 0, 0, 0, 0.3], [-2, 1, 1, 1, 1, 0.9]])
    cases["numbers above 1 and below 0"] = (beyond,)
    cases["a row's mean is exactly a half"] = (torch.cat([half, rows[3:4]]),)
    return cases | {"seven rows": (torch.cat([rows, rows[:2]]),)}


def reference(program: str, *inputs: torch.Tensor) -> torch.Tensor | None:
    """What the refused program gives; ``None`` where it raises."""
    try:
        return REFUSED[program](*inputs)
    except ValueError:
        return None


def try_program(export_it: Callable, program: str) -> dict[str, Any]:
    """Run the answer plainly, export it with a free number of rows, run what came of it.

    Returns:
        ``"plain"`` and ``"exported"``: for each case a tensor or the words of an error;
        ``"refused"``: why ``torch.export`` refused it, if so.
    """
    cases = inputs_of(program)
    said: dict[str, Any] = {"plain": {}, "exported": {}, "refused": "", "changed": []}
    for name, inputs in cases.items():
        # Bytes: a NaN equals none, not even itself.
        copies = [x.numpy().tobytes() for x in inputs]
        said["plain"][name] = _run(lambda *given: export_it(program, *given), inputs)
        if copies != [x.numpy().tobytes() for x in inputs]:
            said["changed"].append(name)
            return said
    free = ({0: torch.export.Dim.DYNAMIC}, None)[: len(next(iter(cases.values())))]
    try:
        with quiet():
            exported = torch.export.export(
                Wrapped(export_it, program), next(iter(cases.values())), dynamic_shapes=(free,)
            ).module()
    except Exception as error:
        words = str(error).strip().split(" (unhinted")[0]
        said["refused"] = f"{type(error).__name__}: {words}"[:180]
        return said
    for name, inputs in cases.items():
        said["exported"][name] = _run(exported, inputs)
    return said


def _run(call: Callable, inputs: tuple) -> Any:
    try:
        with quiet():
            result = call(*inputs)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip()[:90]}"
    return result.detach() if isinstance(result, torch.Tensor) else [type(result).__name__]


def _until_positives_fit(x: torch.Tensor) -> torch.Tensor:
    while x.max() > 1:
        x = x / 2
    return x


@ends_in_notebook
def check_program(program: str, said: dict[str, Any]) -> None:
    """Check what :func:`try_program` says: right as it is, accepted by export, right afterwards."""
    __tracebackhide__ = True
    assert not said["changed"], "an argument was changed: work on a copy, not in place"
    for name, inputs in inputs_of(program).items():
        _check_one(program, name, said["plain"][name], inputs, "run as it is")
    assert not said["refused"], (
        f"torch.export refuses it: {said['refused']}. No Python `if`, `while`, `for` or `int()` "
        "may depend on a tensor's values or on the number of rows"
    )
    for name, inputs in inputs_of(program).items():
        _check_one(program, name, said["exported"][name], inputs, "exported")


def _check_one(program: str, name: str, got: Any, inputs: tuple, how: str) -> None:
    right = reference(program, *inputs)
    where = f"{how}, {name}"
    assert not isinstance(got, list), f"{where}: a {got[0]} came back; is there an answer yet?"
    if right is None:
        assert isinstance(got, str), (
            f"{where}: it has to raise; without a check the slice is cut short in silence"
        )
        return
    assert not isinstance(got, str), f"{where}: {got}. {ASKED[program]}"
    for words, wrong in _slips(program, name, right, *inputs).items():
        assert not _same(got, wrong) or _same(wrong, right), f"{where}: {words}"
    assert got.shape == right.shape, (
        f"{where}: shape {tuple(got.shape)}, expected {tuple(right.shape)}. {ASKED[program]}"
    )
    assert got.dtype == right.dtype, f"{where}: dtype {got.dtype}, expected {right.dtype}"
    if program == "settle":
        assert not name.startswith("small") or torch.equal(got, right), (
            f"{where}: none is above 1 here, and x comes back as it is: halved no time"
        )
        assert "NaN" not in name or _same(got, right), (
            f"{where}: the largest size is a NaN, which isn't above 1: the program halves no time"
        )
        assert "NaN" in name or not bool((got.abs() > 1).any()), (
            f"{where}: a number is still above 1: halve until none is, however often that takes"
        )
    assert not bool(got.isnan().any()) or bool(right.isnan().any()), (
        f"{where}: a NaN came of it. To multiply by 0 doesn't take an infinite number out: choose"
    )
    assert _same(got, right), (
        f"{where}: the values differ from the refused program's. {ASKED[program]}"
    )


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return (one.shape, one.dtype) == (other.shape, other.dtype) and torch.allclose(
        one, other, equal_nan=True
    )


def _slips(program: str, name: str, right: torch.Tensor, *inputs: torch.Tensor) -> dict:
    """What slips give for these inputs, each under the words for it."""
    x, *rest = inputs
    if program == "crop":
        n = int(rest[0])
        return {
            "the columns behind the first n; the first n are meant": x[:, n:],
            "the last n columns; the first n are meant": x[:, x.shape[1] - n :],
            "the first n rows; columns are meant": x[:n],
            "one column too few": x[:, : max(n - 1, 0)],
            "one column too many": x[:, : n + 1],
        }
    if program == "bright":
        means, half = x.mean(1), "a mean of exactly a half isn't above a half"
        return {
            half: x[means >= 0.5],
            "numbers above 1 and below 0 count in a mean as they are": (
                x[x.clamp(0, 1).mean(1) > 0.5]
            ),
            "the dark rows came; the bright ones are meant": x[means <= 0.5],
            "a row whose mean is a NaN isn't above a half: ask for what is, not for what isn't": (
                x[~(means <= 0.5)]
            ),
            "a NaN isn't left out of a row's mean: the mean is a NaN then, and not above a half": (
                x[x.nanmean(1) > 0.5]
            ),
            "one bright number is enough; a row's mean is meant": x[(x > 0.5).any(1)],
            "every number has to be bright; a row's mean is meant": x[(x > 0.5).all(1)],
        }
    if program == "night":
        if name.endswith("half"):
            return {"a mean of exactly a half isn't below a half": 1 - right}
        if "NaN" in name:
            return {"a mean that is a NaN isn't below a half, and nothing is inverted": 1 - right}
        slips = {
            "the size of what was asked for: numbers below 0 stay below 0": right.abs(),
            "the branch of the other case was taken": 1 - right,
            "x - 1 in place of 1 - x": x - 1,
        }
        if name.startswith("dark as a whole"):
            rows, single = x.mean(1, keepdim=True) < 0.5, x < 0.5
            slips |= {
                "each row by itself; the mean is over all of x": torch.where(rows, 1 - x, x),
                "each number by itself; the mean is over all of x": torch.where(single, 1 - x, x),
            }
        return slips
    if name.startswith("small"):
        return {}
    if name.endswith("exactly 1"):
        return {"divided once too often: exactly 1 isn't above 1": x / 2}
    return {
        "halved once, and not until it fits": x / 2,
        "divided once too often: exactly 1 isn't above 1": right / 2,
        "the size of a negative number counts as well": _until_positives_fit(x),
        "divided by the largest: it is halved, again and again": x / x.abs().max(),
        "a logarithm is rounded, a power of two may be infinite: halve while it is above 1": (
            x / 2 ** x.abs().max().log2().ceil().clamp(min=0)
        ),
    }
