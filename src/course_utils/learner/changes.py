"""Whether an answer may change the tensors that it is handed."""

from __future__ import annotations

from typing import ClassVar

import torch

from course_utils.learner.tracebacks import ends_in_notebook

CHANGED = (
    "an argument was changed (its {}): operators such as += and methods ending in _ work in "
    "place; leave the argument alone and return a new tensor"
)
ITEMS = (
    "an argument was changed (its items): append, pop, sort, del and an item set anew change the "
    "caller's list or dict; work on a copy"
)
ASKED = "an argument was changed (its requires_grad): let a copy need it"
NOTED = (
    "an argument was changed (its .{}): put no gradient on a tensor that asked for none, and no "
    "note; work on a copy, and return what was found"
)


class forbid_changes:
    """Refuse that the given tensors are changed inside a ``with`` block.

    ::

        with forbid_changes(x):
            result = the_learners_function(x)

    Args:
        tensors: strided tensors; their values are copied when the block begins.

    Raises:
        AssertionError: at the end of the block one has other values, another shape, stride,
            offset or ``requires_grad``, its storage another size, or something is noted on it.
    """

    forbidden: ClassVar[list[torch.Tensor]] = []

    def __init__(self, *tensors: torch.Tensor) -> None:
        self.tensors = tensors

    def __enter__(self) -> None:
        self.asked = [tensor.requires_grad for tensor in self.tensors]
        self.notes = [notes_on(tensor) for tensor in self.tensors]
        self.layouts = [layout_of(tensor) for tensor in self.tensors]
        self.values = [tensor.detach().clone() for tensor in self.tensors]
        # Last: where one is no tensor, the block doesn't begin, and nothing would take it out.
        self.forbidden.extend(self.tensors)

    @ends_in_notebook
    def __exit__(self, kind, error, traceback) -> None:
        __tracebackhide__ = True
        del self.forbidden[len(self.forbidden) - len(self.tensors) :]
        if error is not None:
            return
        before = zip(self.tensors, self.layouts, self.values, self.asked, self.notes, strict=True)
        for tensor, layout, values, asked, notes in before:
            # The layout first: a storage that was cut short has no values that could be read.
            if layout_of(tensor) != layout:
                changed = "shape, stride or storage"
            elif not same_values(tensor.detach(), values):
                changed = "values"
            elif tensor.requires_grad != asked:
                raise AssertionError(ASKED)
            elif more := notes_on(tensor) - notes:
                raise AssertionError(NOTED.format(min(more)))
            else:
                continue
            raise AssertionError(CHANGED.format(changed))


class allow_changes:
    """Ask for work in place: let the given tensors be changed inside a ``with`` block.

    ::

        with allow_changes(x):
            the_learners_function(x)

    When a submission is graded, a call that changes any other argument is refused: the truth is
    often computed from the arguments, and must not be what an answer makes of them. In a notebook
    the block does nothing; there, :class:`forbid_changes` refuses.

    Args:
        tensors: what may be changed, and all that shares memory with it.
    """

    allowed: ClassVar[list[torch.Tensor]] = []

    def __init__(self, *tensors: torch.Tensor) -> None:
        self.tensors = tensors

    def __enter__(self) -> None:
        self.allowed.extend(self.tensors)

    def __exit__(self, *_: object) -> None:
        del self.allowed[len(self.allowed) - len(self.tensors) :]


def layout_of(tensor: torch.Tensor) -> tuple:
    """How a tensor lies in its storage, and how large that is, in bytes."""
    storage = tensor.untyped_storage()
    return tensor.shape, tensor.stride(), tensor.storage_offset(), storage.nbytes(), tensor.dtype


def notes_on(tensor: torch.Tensor) -> set[str]:
    """What was put on a tensor: names of attributes, and ``grad`` where it asks for none."""
    found = {name for name in vars(tensor) if not name.startswith("_")}
    return found | ({"grad"} if not tensor.requires_grad and tensor.grad is not None else set())


def same_values(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Whether the shapes and all values are equal; a NaN equals a NaN."""
    return x.shape == y.shape and bool(((x == y) | ((x != x) & (y != y))).all())
