"""Operators on statements: deleted, exchanged, a branch taken always or never, state misplaced."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

Change = tuple[str, ast.AST | list[ast.stmt]]
MUTABLE = (ast.List, ast.Dict, ast.Set)


def changes(node: ast.AST) -> Iterator[Change]:
    """Every way in which one statement is changed; a list stands in its place."""
    if not isinstance(node, ast.stmt):
        return
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Delete, ast.Continue, ast.Break)):
        yield "statement deleted", []
    if isinstance(node, (ast.If, ast.For, ast.Raise, ast.Assert)):
        yield "statement deleted", []
    if isinstance(node, ast.If):
        yield from _branches(node)
    elif isinstance(node, (ast.For, ast.While)):
        yield from _loops(node)
    elif isinstance(node, ast.With):
        yield "with block taken away", node.body
    elif isinstance(node, ast.Try):
        if node.finalbody:
            yield "finally taken away", [*node.body]
            yield "finally not in case of an error", [*node.body, *node.finalbody]
    elif isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Name):
        target = copy.deepcopy(node.target)
        target.ctx = ast.Load()
        value = ast.BinOp(target, node.op, node.value)
        yield "out of place", ast.Assign([node.target], value, lineno=node.lineno)
    elif isinstance(node, ast.Assign):
        yield from _in_place(node)
    elif isinstance(node, ast.FunctionDef):
        for place in range(len(node.decorator_list)):
            changed = copy.deepcopy(node)
            del changed.decorator_list[place]
            yield "decorator taken away", changed


def _branches(node: ast.If) -> Iterator[Change]:
    yield "branch always taken", node.body
    if node.orelse:
        yield "branch never taken", node.orelse


def _loops(node: ast.For | ast.While) -> Iterator[Change]:
    once = copy.deepcopy(node)
    once.body.append(ast.Break())
    yield "the first alone", once
    if isinstance(node, ast.For):
        short = copy.deepcopy(node)
        whole = ast.Call(ast.Name("list", ast.Load()), [short.iter], [])
        end = ast.Slice(upper=ast.UnaryOp(ast.USub(), ast.Constant(1)))
        short.iter = ast.Subscript(whole, end, ast.Load())
        yield "the last forgotten", short


def _in_place(node: ast.Assign) -> Iterator[Change]:
    """``x = x + y`` as ``x += y``."""
    target, value = node.targets[0], node.value
    same = (
        isinstance(target, (ast.Name, ast.Attribute))
        and isinstance(value, ast.BinOp)
        and ast.unparse(value.left) == ast.unparse(target)
    )
    if same:
        yield "in place", ast.AugAssign(target, value.op, value.right)


def exchanges(node: ast.AST) -> Iterator[tuple[str, int, list[ast.stmt]]]:
    """Two neighbours exchanged: the field, the place of the first, and both.

    Not where one of them defines or leaves, or where it can't matter: two names that are given.
    """
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if not isinstance(block, list):
            continue
        for place in range(len(block) - 1):
            first, second = block[place], block[place + 1]
            simple = (ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.For, ast.With)
            if isinstance(first, simple) and isinstance(second, simple) and _meet(first, second):
                yield field, place, [second, first]


def _meet(first: ast.stmt, second: ast.stmt) -> bool:
    """Whether one of two statements uses what the other may change."""

    def names(statement: ast.stmt, kinds: tuple) -> set[str]:
        return {
            each.id
            for each in ast.walk(statement)
            if isinstance(each, ast.Name) and isinstance(each.ctx, kinds)
        }

    given = names(first, (ast.Store,)) | names(second, (ast.Store,))
    both = names(first, (ast.Load, ast.Store)) & names(second, (ast.Load, ast.Store))
    return bool((given & both) or ("self" in both))


def class_state(node: ast.AST) -> Iterator[ast.ClassDef]:
    """A class whose empty list, dict or set is the class's instead of each object's."""
    if not isinstance(node, ast.ClassDef):
        return
    for number, method in enumerate(node.body):
        if not isinstance(method, ast.FunctionDef) or method.name != "__init__":
            continue
        for place, line in enumerate(method.body):
            if (
                isinstance(line, (ast.Assign, ast.AnnAssign))
                and isinstance(line.value, (*MUTABLE, ast.Call))
                and (not isinstance(line.value, ast.Call) or not line.value.args)
            ):
                target = line.targets[0] if isinstance(line, ast.Assign) else line.target
                if not isinstance(target, ast.Attribute):
                    continue
                changed = copy.deepcopy(node)
                init = changed.body[number]
                init.body[place : place + 1] = []  # ty: ignore[missing-attribute]
                if not init.body:  # ty: ignore[missing-attribute]
                    init.body.append(ast.Pass())  # ty: ignore[missing-attribute]
                given = ast.Assign([ast.Name(target.attr, ast.Store())], line.value, lineno=1)
                changed.body.insert(number, given)
                yield changed
