"""Slips that an optimizer invites: they concern its state, its decay and its groups."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

Change = tuple[str, ast.AST]


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _is(node: ast.AST, *texts: str) -> bool:
    return ast.unparse(node) in texts


def _product(node: ast.AST) -> ast.BinOp | None:
    return node if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else None


def forgotten(node: ast.AST) -> Iterator[Change]:
    """What was remembered is made anew, or the steps are not counted."""
    power = node if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "get" and "state" in ast.unparse(node.func.value):
            default = node.args[1] if len(node.args) > 1 else ast.Constant(None)
            yield "state made anew at each step", default
    elif power and _is(power.right, "t", "step"):
        yield "the steps not counted", ast.BinOp(power.left, ast.Pow(), ast.Constant(1))


def running_means(node: ast.AST) -> Iterator[Change]:
    """``a * old + (1 - a) * new`` without the second share, or without the past."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return
    old, new = _product(node.left), _product(node.right)
    if old and new and isinstance(new.left, ast.BinOp) and _is(new.left.left, "1"):
        yield "a sum for a running mean", ast.BinOp(old, ast.Add(), new.right)
        if isinstance(old.right, ast.Name):
            yield "the past forgotten", copy.deepcopy(new)


def misplaced_state(node: ast.AST) -> Iterator[Change]:
    """One state for all parameters, or state under a key that a new run doesn't know."""
    if not isinstance(node, ast.FunctionDef):
        return
    if "self.state[p]" in ast.unparse(node):
        for operator, key in (
            ("state shared by all parameters", "self.param_groups[0]['params'][0]"),
            ("state under the id of its parameter", "id(p)"),
        ):
            text = ast.unparse(node).replace("self.state[p]", f"self.state[{key}]")
            yield operator, ast.parse(text).body[0]
    if _takes(node, "state"):
        kept, changed = f"vars({node.name})", copy.deepcopy(node)
        changed.body[_first(node) : _first(node)] = ast.parse(f"state = dict({kept})").body
        for leaving in ast.walk(changed):
            if isinstance(leaving, ast.Return) and isinstance(leaving.value, ast.Tuple):
                new = ast.unparse(leaving.value.elts[-1])
                leaving.value.elts[-1] = _expression(f"{kept}.update({new}) or dict({kept})")
        yield "state shared by all parameters", changed


def decay(node: ast.AST) -> Iterator[Change]:
    """A decay that goes into the gradient, where it goes past it, or the other way round."""
    if isinstance(node, ast.FunctionDef) and _takes(node, "p", "grad", "lr", "weight_decay"):
        operator, line = "decay decoupled", "p = p - lr * weight_decay * p"
        if "lr * weight_decay" in ast.unparse(node):
            operator, line = "decay coupled", "grad = grad + weight_decay * p"
        changed = copy.deepcopy(node)
        lines = ast.parse(f"{line}\nweight_decay = 0").body
        changed.body[_first(node) : _first(node)] = lines
        yield operator, changed


def options_of_all(node: ast.AST) -> Iterator[Change]:
    """The defaults' options, where a group has its own."""
    called = isinstance(node, ast.Call) and _is(node.func, "group.items")
    read = isinstance(node, ast.Subscript) and _is(node.value, "group")
    if called or (read and not _is(node.slice, "'params'")):
        text = ast.unparse(node).replace("group", "self.defaults", 1)
        yield "the defaults for the group's options", _expression(text)


def _takes(node: ast.FunctionDef, *names: str) -> bool:
    return set(names) <= {argument.arg for argument in node.args.args}


def _first(node: ast.FunctionDef) -> int:
    """Where a function's lines begin, behind its docstring."""
    return int(ast.get_docstring(node) is not None)


CHANGES = (forgotten, running_means, misplaced_state, decay, options_of_all)
