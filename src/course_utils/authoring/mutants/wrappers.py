"""Operators on a whole function: the same answer, and a habit around it.

Each text defines ``_habit(function)``; the mutant's last line wraps the answer in it. ``_acted``
is not empty where the habit had anything to work on: a module among the arguments, for one.
"""

from __future__ import annotations

BEGIN = """
import functools as _functools
import torch as _torch
from torch.utils import _pytree as _pytree

_acted = []

def _tensors(*values):
    return [leaf for leaf in _pytree.tree_leaves(values) if isinstance(leaf, _torch.Tensor)]

def _modules(*values):
    return [leaf for leaf in _pytree.tree_leaves(values) if isinstance(leaf, _torch.nn.Module)]

def _around(before=None, after=None, result=lambda value: value):
    def _habit(function):
        @_functools.wraps(function)
        def call(*args, **kwargs):
            if before is not None and before(args, kwargs):
                _acted.append(1)
            value = function(*args, **kwargs)
            if after is not None and after(args, kwargs):
                _acted.append(1)
            return result(value)
        return call
    return _habit
"""

HABITS = {
    "float64 computed in float32": """
def _habit(function):
    def other(kind, to):
        def change(leaf):
            fits = isinstance(leaf, _torch.Tensor) and leaf.dtype == kind
            return leaf.to(to) if fits else leaf
        return change
    @_functools.wraps(function)
    def call(*args, **kwargs):
        if any(leaf.is_floating_point() for leaf in _tensors(args, kwargs)):
            _acted.append(1)
        if not any(leaf.dtype == _torch.float64 for leaf in _tensors(args, kwargs)):
            return function(*args, **kwargs)
        args, kwargs = _pytree.tree_map(other(_torch.float64, _torch.float32), (args, kwargs))
        value = function(*args, **kwargs)
        return _pytree.tree_map(other(_torch.float32, _torch.float64), value)
    return call
""",
    "cached by shape": """
def _habit(function):
    known = {}
    @_functools.wraps(function)
    def call(*args, **kwargs):
        key = repr([(leaf.shape, leaf.dtype) for leaf in _tensors(args, kwargs)])
        if not _tensors(args, kwargs):
            return function(*args, **kwargs)
        if key not in known:
            known[key] = function(*args, **kwargs)
        elif any(leaf.is_floating_point() for leaf in _tensors(known[key])):
            _acted.append(1)
        return known[key]
    return call
""",
    "leaves a gradient on its arguments": """
def _leave(args, kwargs):
    leaves = [t for t in _tensors(args, kwargs) if t.requires_grad and t.is_leaf]
    for leaf in leaves + [p for m in _modules(args, kwargs) for p in m.parameters()]:
        if leaf.grad is not None or leaf in leaves:
            leaf.grad = _torch.ones_like(leaf)
            _acted.append(1)
_habit = _around(after=_leave)
""".replace("leaf in leaves", "any(leaf is one for one in leaves)"),
    "wipes the gradients of its arguments": """
def _wipe(args, kwargs):
    inside = [p for m in _modules(args, kwargs) for p in m.parameters()]
    for leaf in _tensors(args, kwargs) + inside:
        if leaf.is_leaf and leaf.requires_grad:
            leaf.grad = None
            _acted.append(1)
_habit = _around(before=_wipe)
""",
    "requires_grad_() on its arguments": """
def _ask(args, kwargs):
    for leaf in _tensors(args, kwargs):
        if leaf.is_leaf and leaf.is_floating_point():
            leaf.requires_grad_()
            _acted.append(1)
_habit = _around(after=_ask)
""",
    "thaws frozen parameters": """
def _thaw(args, kwargs):
    for module in _modules(args, kwargs):
        module.requires_grad_()
        _acted.append(1)
_habit = _around(after=_thaw)
""",
    "leaves .eval()": """
_habit = _around(after=lambda args, kwargs: [module.eval() for module in _modules(args, kwargs)])
""",
    "leaves .train()": """
_habit = _around(after=lambda args, kwargs: [module.train() for module in _modules(args, kwargs)])
""",
    "seeds the global generator": """
_habit = _around(before=lambda args, kwargs: [_torch.manual_seed(0)])
""",
    "leaves a hook": """
_habit = _around(after=lambda args, kwargs: [
    module.register_forward_hook(lambda *_: None) for module in _modules(args, kwargs)])
""",
    "clears other people's hooks": """
_habit = _around(after=lambda args, kwargs: [
    part._forward_hooks.clear() for module in _modules(args, kwargs) for part in module.modules()])
""",
    "leaves gradients off": """
_habit = _around(after=lambda args, kwargs: [_torch.set_grad_enabled(False)])
""",
    "a detached result": """
def _detach(leaf):
    if not isinstance(leaf, _torch.Tensor) or not leaf.is_floating_point():
        return leaf
    _acted.append(1)
    return leaf.detach()
_habit = _around(result=lambda value: _pytree.tree_map(_detach, value))
""",
    "empties the caller's lists and dicts": """
def _empty(args, kwargs):
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, dict, set)):
            value.clear()
            _acted.append(1)
_habit = _around(after=_empty)
""",
}


def wrapped(source: str, name: str, habit: str) -> str:
    """An answer's text with a habit around the function ``name``."""
    return f"{source}\n{BEGIN}\n{HABITS[habit]}\n{name} = _habit({name})\n"
