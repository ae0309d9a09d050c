"""Awkward fixtures for checks: models and tensors in the states in which slips show.

A model that is freshly made and a tensor of consecutive numbers let many a slip change nothing.
These have a frozen parameter, a part in eval, an old gradient; no row, one row, gaps.
"""

from __future__ import annotations

import builtins
import errno
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from course_utils.learner.checks import TOLERANCES
from course_utils.learner.tracebacks import ends_in_notebook


class Scaled(nn.Linear):
    """A subclass of Linear, which holds another Linear: a match inside a match."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.inner = nn.Linear(outputs, outputs)

    def forward(self, input: Tensor) -> Tensor:
        return self.inner(super().forward(input))


class Normed(nn.Module):
    """A norm that counts its calls, with a table that is not saved and may be another's too."""

    def __init__(self, size: int, table: Tensor) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(size)
        self.register_buffer("table", table)
        self.register_buffer("scratch", torch.linspace(0.5, 1.5, size), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x) * self.scratch + self.table


class AwkwardModel(nn.Module):
    """See :func:`awkward_model`; (rows, 4) -> (rows, 3)."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Linear(4, 6)
        self.blocks = nn.ModuleList([nn.Linear(6, 6) for _ in range(11)])
        self.scaled = Scaled(6, 6)
        table = torch.linspace(-1, 1, 6)
        self.first, self.second = Normed(6, table), Normed(6, table)
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(6, 3, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(self.stem(x).tanh())
        for block in self.blocks:
            x = x + block(x) / 8
        return self.head(self.drop(self.second(self.scaled(x))))


def awkward_model(seed: int = 0, dtype: torch.dtype = torch.float32) -> AwkwardModel:
    """A model, (rows, 4) -> (rows, 3), in a state in which slips show.

    In training, but ``first`` and ``drop`` are in eval; ``blocks.2`` is frozen; ``head.weight`` and
    ``blocks.10.bias`` have an old gradient. Eleven equal layers (``blocks.10`` comes before
    ``blocks.2`` where names are sorted as texts); one buffer that two modules share, and one in
    each that is not saved; a layer without bias; a subclass of Linear with a Linear inside; a
    forward hook of somebody else's on ``stem``.

    Args:
        seed: of the weights; the global generator is left as it was.
        dtype: of parameters and buffers.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AwkwardModel()
    model = model.to(dtype)
    shared = model.first.get_buffer("table")
    model.second.register_buffer("table", shared)  # to() makes two of one
    model.first.eval()
    model.drop.eval()
    model.blocks[2].requires_grad_(False)
    for name in ("head.weight", "blocks.10.bias"):
        parameter = model.get_parameter(name)
        parameter.grad = torch.full_like(parameter, 0.25)
    model.stem.register_forward_hook(_somebody_elses)
    return model


def _somebody_elses(module: nn.Module, arguments: tuple, output: Tensor) -> None:
    """A hook that was there before: it looks, and changes nothing."""


def awkward_tensors(columns: int = 5, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    """Matrices of ``columns`` columns that aren't what a slip counts on, by what each is.

    No row; one row; seven rows (a prime); a transposed, an expanded and a sliced view, so that
    strides and an offset matter; numbers that are neither consecutive nor sorted, with a tie; far
    from the origin; float64, and half. The first axis is free: take ``x[0]`` for one dimension.

    Args:
        columns: how many.
        dtype: of all but the last two.
    """
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(14, 2 * columns, generator=generator).to(dtype)
    x[3] = x[1]
    return {
        "no row": x[:0, :columns].clone(),
        "one row": x[:1, :columns].clone(),
        "seven rows, two of them equal": x[:7, :columns].clone(),
        "a transposed view": x[:columns, :7].t(),
        "an expanded view": x[:1, :columns].expand(3, columns),
        "a slice with gaps and an offset": x[1::3, 1::2],
        "far from the origin": x[:4, :columns] / 8 + 1000,
        "in float64": x[:4, :columns].double() / 3,
        "in half": x[:4, :columns].half(),
    }


@contextmanager
def default_dtype(dtype: torch.dtype) -> Generator[None]:
    """Make ``dtype`` PyTorch's default in the block; afterwards it is what it was before."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class other_hashes:
    """Let strings hash, inside of a ``with`` block, as they may hash in another process.

    ::

        with other_hashes():
            order = the_learners_function(names)

    Python salts the hashes of strings anew in each process, and so those of tuples that hold one.
    ``hash()`` gives other values inside of the block; sets and dicts keep their order.
    """

    def __enter__(self) -> None:
        self.kept = plain = builtins.hash

        def other(value: object) -> int:
            return plain(("another process", value) if _is_salted(value) else value)

        vars(builtins)["hash"] = other

    def __exit__(self, *error: object) -> None:
        vars(builtins)["hash"] = self.kept


class another_process(other_hashes):
    """Let strings hash as in another process, and this one have another number, in a block.

    Not around a DataLoader's workers: they are only ended by the process that started them.
    """

    def __enter__(self) -> None:
        super().__enter__()
        self.number = replaced(os, "getpid", lambda: 4_000_001)
        self.number.__enter__()

    def __exit__(self, *error: object) -> None:
        self.number.__exit__(*error)
        super().__exit__(*error)


def _is_salted(value: object) -> bool:
    """Whether a hash holds that of a string, which Python salts."""
    inside = isinstance(value, (tuple, frozenset)) and any(map(_is_salted, value))
    return inside or isinstance(value, (str, bytes))


class replaced:
    """Let an attribute of a module or a class have another value, in a block."""

    def __init__(self, owner: Any, name: str, value: Any) -> None:
        self.owner, self.name, self.value = owner, name, value

    def __enter__(self) -> None:
        self.kept = getattr(self.owner, self.name)
        setattr(self.owner, self.name, self.value)

    def __exit__(self, *error: object) -> None:
        setattr(self.owner, self.name, self.kept)


class elsewhere_is_another_disk:
    """Let the folder for temporary files be on another disk than ``path``, in a block."""

    def __init__(self, path: Path) -> None:
        self.mine = os.path.realpath(path.parent)

    def __enter__(self) -> None:
        self.kept = {name: getattr(os, name) for name in ("rename", "replace", "link")}

        def moves(function):
            def move(source: Any, target: Any, **options: Any) -> None:
                inside = [
                    Path(os.path.realpath(os.fsdecode(place))).is_relative_to(self.mine)
                    for place in (source, target)
                ]
                if inside[0] != inside[1]:
                    raise OSError(errno.EXDEV, "Invalid cross-device link")
                function(source, target, **options)

            return move

        vars(os).update({name: moves(function) for name, function in self.kept.items()})

    def __exit__(self, *error: object) -> None:
        vars(os).update(self.kept)


@ends_in_notebook
def called_twice(call: Callable[[], Any], what: str = "the call") -> Any:
    """What ``call()`` gives, called twice: an answer must not remember the first time.

    Tensors that compute with random numbers differ rightly: don't use it for those.

    Raises:
        AssertionError: the second result is another one.
    """
    __tracebackhide__ = True
    first, second = tree_flatten(call()), tree_flatten(call())
    same = first[1] == second[1] and all(map(_equal, first[0], second[0]))
    assert same, f"{what} gives another result the second time: what is kept from the first?"
    return tree_unflatten(*second)


def _equal(x: Any, y: Any) -> bool:
    if not isinstance(x, Tensor) or not isinstance(y, Tensor):
        return type(x) is type(y) and bool(x == y)
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    rtol, atol = TOLERANCES.get(x.dtype, (0.0, 0.0))
    return bool(torch.isclose(x.detach(), y.detach(), rtol, atol, equal_nan=True).all())


# What a module has, and words for a change of it.
ASPECTS = {
    "mode": "the mode of {} was changed (train or eval)",
    "requires_grad": "requires_grad of {} was changed: was something frozen or thawed?",
    "grad": "the gradient (.grad) of {} was changed: it is the caller's",
    "hooks": "the hooks of {} are not those that were there before",
    "values": "the values of {} were changed",
    "names": "modules, parameters or buffers were added, taken away or replaced: {}",
}
HOOKS = [name for name in vars(nn.Module()) if "hooks" in name and "with_kwargs" not in name]


class forbid_side_effects:
    """Refuse that a module is not as it was when a ``with`` block ends.

    ::

        with forbid_side_effects(model):
            result = the_learners_function(model)

    Compared are the mode of each part, each parameter's ``requires_grad`` and ``.grad``, all hooks,
    the values of parameters and buffers, and what is registered where.

    Args:
        model: any module.
        but: what may change: some of ``"mode"``, ``"requires_grad"``, ``"grad"``, ``"hooks"``,
            ``"values"``, ``"names"``.

    Raises:
        AssertionError: at the end of the block something else changed; all of it is named.
    """

    def __init__(self, model: nn.Module, but: tuple[str, ...] = ()) -> None:
        self.model, self.but = model, but

    def __enter__(self) -> forbid_side_effects:
        self.before = _state(self.model)
        return self

    @ends_in_notebook
    def __exit__(self, kind, error, traceback) -> None:
        __tracebackhide__ = True
        if error is None:
            wrong = self.changes()
            assert not wrong, "; ".join(wrong)

    def changes(self) -> list[str]:
        """Words for what is not as it was when the block began, and may not change."""
        now, told = _state(self.model), []
        for aspect, words in ASPECTS.items():
            before, after = self.before[aspect], now[aspect]
            names = [name for name in before if not _same(before[name], after.get(name))]
            names += [name for name in after if name not in before]
            if aspect != "names":  # what came or went is told there
                names = [name for name in names if name in before and name in after]
            if names and aspect not in self.but:
                shown = ", ".join(name or "the model" for name in names[:3])
                more = f" and {len(names) - 3} more" if len(names) > 3 else ""
                told.append(words.format(shown + more))
        return told


def _state(model: nn.Module) -> dict[str, dict[str, Any]]:
    parts = dict(model.named_modules())
    parameters = dict(model.named_parameters(remove_duplicate=False))
    tensors = {**parameters, **dict(model.named_buffers(remove_duplicate=False))}
    return {
        "mode": {name: part.training for name, part in parts.items()},
        "requires_grad": {name: one.requires_grad for name, one in parameters.items()},
        "grad": {
            name: None if one.grad is None else one.grad.detach().clone()
            for name, one in parameters.items()
        },
        "hooks": {
            name: [list(getattr(part, hooks).values()) for hooks in HOOKS]
            for name, part in parts.items()
        },
        "values": {name: one.detach().clone() for name, one in tensors.items()},
        "names": {name: id(one) for name, one in {**parts, **tensors}.items()},
    }


def _same(before: Any, now: Any) -> bool:
    if isinstance(before, Tensor):
        same = isinstance(now, Tensor) and before.shape == now.shape and before.dtype == now.dtype
        return same and torch.equal(before.nan_to_num(), now.nan_to_num())
    return type(before) is type(now) and before == now
