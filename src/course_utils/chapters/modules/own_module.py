"""Exercise 8.4: how the learner's own Module is tried."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn as nn

from course_utils.chapters.modules.surroundings import untouched
from course_utils.learner.tracebacks import what_was_raised


def _tree(mini_module: Callable, parameter: type) -> tuple:
    """The learner's class, a class of leaves, and the root of a small tree of such modules."""
    Mini = mini_module()
    assert isinstance(Mini, type), f"mini_module() returned {Mini!r}, not a class"
    assert not issubclass(Mini, nn.Module), (
        "MiniModule is derived from nn.Module: write it yourself"
    )

    class Leaf(Mini):
        def __init__(self, start):
            super().__init__()
            self.weight = parameter(torch.tensor([start, start + 1.0]))
            self.register_buffer("seen", torch.zeros(2))
            self.register_buffer("cache", torch.zeros(3), persistent=False)
            self.note = "plain"

        def forward(self, x):
            return x * self.weight

    class Root(Mini):
        def __init__(self):
            super().__init__()
            self.left = Leaf(1.0)
            self.scale = parameter(torch.tensor(3.0))
            self.right = Leaf(5.0)
            self.again = self.left
            self.tied = self.right.weight
            self.inner = Mini()
            self.inner.leaf = Leaf(7.0)
            self.last = Leaf(9.0)
            self.last.weight = parameter(torch.tensor([9.0, 10.0]), requires_grad=False)
            self.last.register_buffer("twin", self.left.seen)

        def forward(self, x, shift=0.0):
            return self.scale * self.right(self.left(x)) + shift

    try:
        return Mini, Leaf, Root()
    except AttributeError as error:
        raise AssertionError(f"AttributeError: {error}: is there an answer yet?") from error


def _names_in(root, method: str) -> list:
    """The names that a method lists, after a look at its form."""
    try:
        pairs = getattr(root, method)()
        assert pairs is not None, f"{method}() returned None: is there an answer yet?"
        pairs = list(pairs)
    except RecursionError:
        words = "is a module found below itself? Each has drawers of its own, made in __init__"
        raise AssertionError(f"{method}() never ends: {words}") from None
    right = all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs)
    assert right, f"{method}() gives {pairs[:1]}, expected pairs of a full name and a tensor"
    again = [name for name, _ in getattr(root, method)()]
    names = [name for name, _ in pairs]
    told = f"{method}() gives {names}, and {again} when it is called once more"
    assert again == names, told
    return names


def run_tree(mini_module: Callable, parameter: type, what: str) -> object:
    """One question to the tree."""
    Mini, leaf, root = _tree(mini_module, parameter)
    if what == "call":
        return root(torch.tensor([1.0, 2.0]), shift=1.0)
    if what == "plain":
        return root.left.note, root.left.training
    if what == "unknown":
        try:
            return [name for name in ("nose", "weight", "__nose__", "bias") if hasattr(root, name)]
        except Exception as error:
            words = f"raised {type(error).__name__}, where an AttributeError belongs: {error}"
            raise AssertionError(words) from None
    if what == "grandchild":
        module = Mini()
        module.part = type("Derived", (leaf,), {})(1.0)
        return _names_in(module, "named_parameters"), _names_in(module, "named_buffers")
    if what == "trains":
        (root(torch.ones(2))).sum().backward()
        return [None if p.grad is None else p.grad.tolist() for _, p in root.named_parameters()]
    if what == "same objects":
        tensors = {id(tensor) for _, tensor in root.named_parameters()}
        return {id(root.scale), id(root.left.weight), id(root.tied)} <= tensors
    if what == "equal values":
        module = Mini()
        module.first, module.second = (parameter(torch.zeros(2)) for _ in range(2))
        return _names_in(module, "named_parameters")
    if what == "one memory":
        module, shared = Mini(), torch.zeros(2)
        module.first, module.second = parameter(shared), parameter(shared)
        module.register_buffer("third", shared)
        module.register_buffer("fourth", shared[:])
        return [_names_in(module, method) for method in ("named_parameters", "named_buffers")]
    if what == "mixed":
        module = Mini()
        for number in range(4):
            module.register_buffer(f"b{number}", torch.zeros(1), persistent=number % 2 == 1)
        return _names_in(module, "named_buffers")
    if what == "later":
        for method in ("named_parameters", "named_buffers"):
            _names_in(root, method)
        root.left.late = parameter(torch.zeros(1))
        root.left.register_buffer("late_too", torch.zeros(1))
        pairs = [*root.named_parameters(), *root.named_buffers()]
        return [name for name, _ in pairs if "late" in name]
    if what == "list":
        module = Mini()
        module.stages = [leaf(1.0), leaf(3.0)]
        module.coefficients = [parameter(torch.zeros(1))]
        lists = [_names_in(module, method) for method in ("named_parameters", "named_buffers")]
        return [*lists, sorted(module.state_dict()), type(module.stages).__name__]
    if what == "asleep":
        root.last.eval()
        root.part = root.last
        return root.part.training, root.training
    if what == "new value":
        old, new = root.last.seen, torch.ones(2, dtype=torch.float64)
        root.last.seen = new
        return root.last.seen.tolist(), str(root.last.seen.dtype), old.tolist()
    if what == "another object":
        old, new = root.last.seen, torch.ones(2)
        root.last.seen = new
        return root.last.seen is new, old.tolist()
    return _names_in(root, what)


def _assign(module, change: str, value: object) -> None:
    """Assign to the name ``x``, and say of what an error came."""
    try:
        module.x = value
    except (TypeError, ValueError, KeyError, RuntimeError) as error:
        told = f"module.x = ({change}) {what_was_raised(error)}"
        raise AssertionError(f"{told}: a name takes any value, whatever it held") from None


def run_names(mini_module: Callable, parameter: type, changes: list[str]) -> tuple:
    """Parameters, buffers, state and the value of ``x`` after assignments to one name."""
    Mini, leaf, _ = _tree(mini_module, parameter)
    before, module = Mini(), Mini()
    before.register_buffer("x", torch.zeros(1), False)
    special = type("Special", (parameter,), {})
    values = {
        "parameter": lambda: parameter(torch.tensor([1.0])),
        "special parameter": lambda: special(torch.tensor([1.0])),
        "whole numbers": lambda: torch.tensor([2]),
        "longer tensor": lambda: torch.tensor([2.0, 3.0]),
        "None": lambda: None,
        "module": lambda: leaf(1.0),
        "tensor": lambda: torch.tensor([2.0]),
        "tensor that requires grad": lambda: torch.tensor([2.0], requires_grad=True),
        "text": lambda: "word",
        "number": lambda: 5,
    }
    for change in changes:
        if change == "counter":
            module.register_buffer("x", torch.tensor(4))
        elif change in ("buffer", "fleeting"):
            module.register_buffer("x", torch.zeros(1), persistent=change == "buffer")
        else:
            _assign(module, change, values[change]())
    state = module.state_dict()
    assert state is not None, "state_dict() returned None: is there an answer yet?"
    kind = "module" if isinstance(module.x, Mini) else type(module.x).__name__
    value = module.x.tolist() if isinstance(module.x, torch.Tensor) else None
    lists = [_names_in(module, method) for method in ("named_parameters", "named_buffers")]
    other = _names_in(before, "named_buffers"), sorted(before.state_dict())
    return *lists, sorted(state), kind, value, other


def run_modes(
    mini_module: Callable, parameter: type, deep: bool, mode: bool, mixed: bool = False
) -> tuple:
    """The modes in the tree after a call, and whether the call returned the module.

    ``mixed``: the root is in that mode already, one leaf below it isn't.
    """
    Mini, leaf, root = _tree(mini_module, parameter)
    root.inner.leaf.more = Mini()
    root.inner.leaf.more.end = leaf(1.0)
    root.inner.leaf.more.empty = Mini()
    part = root if deep else root.left
    root.train() if not mode else root.eval()
    if mixed:
        root.train(mode)
        root.inner.leaf.train(not mode)
    told = [parameter.requires_grad for parameter in (root.tied, root.left.weight)]
    returned = (part.train() if mode else part.eval()) if deep else part.train(mode)
    words = "train() and eval() set modes; a parameter's requires_grad was changed"
    assert told == [parameter.requires_grad for parameter in (root.tied, root.left.weight)], words
    inner, more = root.inner, root.inner.leaf.more
    modules = (root, root.left, root.right, inner, inner.leaf, more.end, more.empty)
    return [module.training for module in modules], returned is part


def _load_exactly(module, parameter: type, state: dict) -> tuple:
    """Load ``state`` into a large whole number and a fraction in float64; the error, and both."""
    module.third = parameter(torch.zeros(1, dtype=torch.float64))
    module.register_buffer("count", torch.tensor(4))
    error = ""
    try:
        with torch.no_grad(), untouched():
            module.load_state_dict(state)
    except (RuntimeError, KeyError) as caught:
        error = f"{type(caught).__name__}: {caught}"
    return error, module.count.item(), module.third.item()


def run_state(
    mini_module: Callable, parameter: type, what: str, state: dict | None = None
) -> object:
    """The tree's state, and what loading one does to it."""
    _, _, root = _tree(mini_module, parameter)
    found = root.state_dict()
    assert isinstance(found, dict), f"state_dict() returned {type(found).__name__}, not a dict"
    if what == "state":
        return {name: tensor.clone() for name, tensor in found.items()}
    if what == "exact":
        return _load_exactly(type(root.inner)(), parameter, state or {})
    if what == "detached":
        root.last.seen = torch.ones(2, requires_grad=True) * 2
        state = root.state_dict()
        return [name for name, tensor in state.items() if tensor.requires_grad]
    if what == "later":
        root.left.late = parameter(torch.zeros(1))
        return sorted(name for name in root.state_dict() if "late" in name)
    if what == "namesakes":
        root.inner.other = type(root.inner)()
        for module in (root, root.inner.other):
            module.register_buffer("seen", torch.zeros(1), persistent=False)
        return sorted(name for name in root.state_dict() if name.endswith("seen"))
    if what in ("memory", "views"):
        if what == "views":
            root.left.weight = parameter(torch.zeros(2, 2).t()[:1])
            root.left.seen = torch.zeros(4)[::2]
            found = root.state_dict()
        with torch.no_grad():
            root.left.weight.fill_(9)
            root.left.seen.fill_(8)
        return found["left.weight"].tolist(), found["left.seen"].tolist()

    def own():
        return root.scale, root.left.weight, root.left.seen, root.last.weight, root.last.twin

    old, error, given = own(), "", {n: t.clone() for n, t in (state or {}).items()}
    loaded = dict(given)
    try:
        with untouched():
            root.load_state_dict(given)
    except RuntimeError as caught:
        error = str(caught) or "a RuntimeError without a message"
    except KeyError as caught:
        words = "first collect all that is wrong, then raise a RuntimeError, and only then copy"
        raise AssertionError(f"load_state_dict raised KeyError: {caught}: {words}") from None
    except ValueError as caught:
        told = f"load_state_dict raised ValueError: {caught}: a RuntimeError belongs there"
        raise AssertionError(told) from None
    same = all(a is b for a, b in zip(old, own(), strict=True)) and root.scale.is_leaf
    flags = [tensor.requires_grad for tensor in own()], list(given) == list(state or {})
    after = {name: t.detach().clone() for name, t in root.state_dict().items()}
    with torch.no_grad():
        for tensor in own():
            tensor.add_(1)
    apart = all(torch.equal(tensor, (state or {})[name]) for name, tensor in loaded.items())
    return error, same, *flags, apart, after
