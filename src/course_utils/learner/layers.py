"""What the chapter on layers checks and draws with: calls that are noted, slips that have names."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatch
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

import course_utils
from course_utils.learner.checks import check_close
from course_utils.learner.drawings import LINES, show
from course_utils.learner.tracebacks import ends_in_notebook

# What a name alone doesn't say: torch.func.vjp ends in a call that the learner never typed.
SPOKEN = {"grad": "autograd.grad (torch.func goes through it, too)"}


class Calls(TorchFunctionMode):
    """A ``with`` block that notes the name of each PyTorch function called inside it.

    Unlike operators, these are the names that a caller writes: ``linear``, ``gru_cell``.

    Attributes:
        names: the names so far.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.add(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


def watched(function: Callable, *args: Any) -> tuple[Any, list[str], bool]:
    """Call a function and watch it; for a locked function that :func:`runs_with_the_answer`.

    Returns:
        What ``function(*args)`` returned; the names of the PyTorch functions that it called;
        whether a tensor among its arguments has other values, another ``requires_grad`` or a
        ``grad`` afterwards.
    """
    tensors = [leaf for leaf in tree_leaves(args) if isinstance(leaf, torch.Tensor)]
    before = [(tensor.detach().clone(), tensor.requires_grad) for tensor in tensors]
    with Calls() as calls:
        result = function(*args)
    changed = any(
        tensor.shape != values.shape
        or not torch.equal(tensor.detach(), values)
        or tensor.requires_grad != flag
        or (tensor.is_leaf and tensor.grad is not None)
        for tensor, (values, flag) in zip(tensors, before, strict=True)
    )
    return result, sorted(calls.names), changed


@ends_in_notebook
def check_rules(names: Sequence[str], changed: bool, *patterns: str) -> None:
    """Check what :func:`watched` says of a call: nothing forbidden, no argument changed.

    Args:
        names: the names of what was called.
        changed: whether an argument is no longer as it was.
        patterns: what is forbidden, by name or pattern, such as ``"*gru*"``.

    Raises:
        AssertionError: one of the two happened; both are listed.
    """
    __tracebackhide__ = True
    found = [name for name in names if any(fnmatch(name, pattern) for pattern in patterns)]
    wrong = []
    if found:
        spoken = [SPOKEN.get(name, name) for name in found]
        wrong.append(f"the answer calls {', '.join(spoken)}: write it without the library's own")
    if changed:
        wrong.append("an argument was changed (values, requires_grad or grad): leave it as it is")
    if wrong:
        raise AssertionError("; ".join(wrong))


@ends_in_notebook
def check_no_loop(few: int, many: int, taken: Sequence[str] = ()) -> None:
    """Check that a function's work is not done row by row.

    Args:
        few: how many operators ran for a few rows.
        many: how many ran for many rows; without a loop they are as many.
        taken: what took the numbers out of the tensors, by name, of what :func:`watched` lists.

    Raises:
        AssertionError: the two differ, or something was taken out.
    """
    __tracebackhide__ = True
    words = f"{few} operations for a few rows, {many} for many: that is a loop over the rows"
    assert many == few, words
    names = ", ".join(taken)
    assert not names, f"{names} takes the numbers out of the tensors: that is a loop in disguise"


@ends_in_notebook
def check_parts(result: Any, *names: str) -> Sequence:
    """Check that a result is a tuple or list with one part for each name, and return it.

    Raises:
        AssertionError: it is something else; the message says what was expected.
    """
    __tracebackhide__ = True
    expected = f"expected a tuple ({', '.join(names)})"
    if result is None:
        raise AssertionError(f"the answer returned None: is there one yet? {expected}")
    if not isinstance(result, (tuple, list)):
        raise AssertionError(f"a {type(result).__name__} came back, {expected}")
    if len(result) != len(names):
        raise AssertionError(f"{len(result)} parts came back, {expected}")
    return result


@ends_in_notebook
def check_value(
    actual: Any,
    expected: torch.Tensor,
    what: str = "the result",
    slips: Mapping[str, torch.Tensor] | None = None,
    rtol: float = 2e-4,
    atol: float = 2e-5,
) -> None:
    """Like ``check_close``, and a known slip is called by its name.

    Args:
        actual: the learner's result, of any type.
        expected: the right tensor.
        what: what was asked, as the message will call it.
        slips: words for a misconception, each with the tensor that it leads to. One that does not
            differ from ``expected`` is passed over.
        rtol: relative tolerance.
        atol: absolute tolerance.

    Raises:
        AssertionError: the result differs.
    """
    __tracebackhide__ = True
    if isinstance(actual, torch.Tensor) and not _close(actual, expected, rtol, atol):
        for words, wrong in (slips or {}).items():
            if _close(actual, wrong, rtol, atol) and not _close(wrong, expected, rtol, atol):
                raise AssertionError(f"{what}: {words}")
    check_close(actual, expected, what, rtol=rtol, atol=atol)


def _close(x: torch.Tensor, y: torch.Tensor, rtol: float, atol: float) -> bool:
    """Whether two tensors have one shape and nearly the same values, whatever their dtypes."""
    if x.shape != y.shape:
        return False
    wide = torch.complex128 if x.is_complex() or y.is_complex() else torch.float64
    x, y = (tensor.detach().cpu().to(wide) for tensor in (x, y))
    return torch.allclose(x, y, rtol, atol, equal_nan=True)


def refused(call: Callable[[], Any]) -> str:
    """The name of the exception that ``call()`` raises, or ``"nothing"``."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"


def seeded(seed: int) -> Callable[..., torch.Tensor]:
    """A function from a shape to normally distributed numbers on ``device``, fixed by the seed."""
    generator = torch.Generator().manual_seed(seed)
    # The package's name, asked for at each call: a test may have changed it.
    return lambda *shape: torch.randn(*shape, generator=generator).to(course_utils.device)


def dry_run(layers: Sequence[Mapping[str, Any]], size: int) -> list[int] | str:
    """The sizes after each layer, along one dimension, as PyTorch's modules have them.

    Args:
        layers: mappings with ``kind`` (conv, pool or transposed), ``kernel`` and the options of
            ``nn.Conv1d``, ``nn.MaxPool1d`` or ``nn.ConvTranspose1d``.
        size: of the input.

    Returns:
        The sizes, or ``"ValueError"`` where a module refuses its input.
    """
    x, sizes = torch.empty(1, 1, size, device="meta"), []
    for layer in layers:
        options = {key: value for key, value in layer.items() if key not in ("kind", "kernel")}
        if layer["kind"] == "pool":
            module = nn.MaxPool1d(layer["kernel"], **options)
        else:
            kind = nn.Conv1d if layer["kind"] == "conv" else nn.ConvTranspose1d
            module = kind(1, 1, layer["kernel"], device="meta", **options)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # "same" with an even reach tells of a copy
                x = module(x)
        except RuntimeError:
            return "ValueError"
        sizes.append(x.shape[-1])
    return sizes


def bytes_of(tensors: Any, without: Iterable[torch.Tensor] = ()) -> int:
    """Bytes of the storages of tensors, each counted once, except those that others lie in.

    Args:
        tensors: tensors, in any nest of lists, tuples and dicts; other values are passed over.
        without: tensors whose storages do not count.
    """
    storages = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes()
        for tensor in tree_leaves(tensors)
        if isinstance(tensor, torch.Tensor)
    }
    for tensor in without:
        storages.pop(tensor.untyped_storage().data_ptr(), None)
    return sum(storages.values())


def saved_bytes(run: Callable[[], Any]) -> int:
    """Bytes of all that ``run()`` saves for a backward pass, each storage counted once."""
    saved = []  # as long as a tensor lies here, no other gets its address
    hooks = torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: saved.append(tensor) or tensor, lambda tensor: tensor
    )
    with hooks:
        run()
    return bytes_of(saved)


def agrees(call: Callable[[], Any], truth: Any, atol: float = 1e-5) -> bool:
    """Whether ``call()`` gives the tensor, or the dict of tensors, that it should.

    Whatever an unfinished answer does or raises, it does not agree.
    """
    try:
        mine = call()
        if isinstance(truth, Mapping):
            return all(torch.allclose(mine[key], truth[key], atol=atol) for key in truth)
        return torch.allclose(mine, truth, atol=atol)
    except Exception:
        return False


def python_calls(function: Callable, *args: Any) -> tuple[Any, Counter]:
    """What ``function(*args)`` gives, and how often each Python function ran meanwhile.

    The names are those of the modules and functions: ``"torch.func.vmap"``.
    """
    names, before = Counter(), sys.getprofile()

    def note(frame, event, _):
        if event == "call":
            names[f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_name}"] += 1

    sys.setprofile(note)
    try:
        return function(*args), names
    finally:
        sys.setprofile(before)


def draw_curves(
    x: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    title: str,
    labels: tuple[str, str],
    alt: str,
) -> None:
    """Draw curves over a common axis, with a legend, and show them.

    Args:
        x: where the values lie.
        curves: label and values of each curve.
        title: the picture's title.
        labels: of the two axes.
        alt: what the picture shows, in words.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.5, 2.8))
    for (label, values), colour, line in zip(curves.items(), LINES, ("-", "--", ":"), strict=False):
        axes.plot(x, values, line, color=colour, marker="o" if len(x) < 12 else None, label=label)
    axes.set(xlabel=labels[0], ylabel=labels[1], title=title, ylim=(0, None))
    axes.legend(fontsize=8)
    show(figure, alt)
