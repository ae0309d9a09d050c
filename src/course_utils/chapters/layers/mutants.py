"""Slips that layers invite: they concern dimensions, gates and what stands under a root."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

Change = tuple[str, ast.AST]

ACTIVATIONS = {"sigmoid": "tanh", "tanh": "sigmoid", "gelu": "relu", "relu": "gelu"}


def _method(node: ast.AST) -> tuple[str, ast.expr | None]:
    """Which method a node calls, and what of; an empty name where it calls none."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr, node.func.value
    return "", None


def dimensions(node: ast.AST) -> Iterator[Change]:
    """Two dimensions that don't change places, or only seem to: the same numbers, cut anew."""
    name, values = _method(node)
    if values is not None and name in ("t", "transpose", "permute"):
        yield f"{name} taken away", copy.deepcopy(values)
        text = f"{ast.unparse(values)}.reshape({ast.unparse(node)}.shape)"
        yield f"reshape for {name}", ast.parse(text, mode="eval").body


def eps_outside(node: ast.AST) -> Iterator[Change]:
    """``(var + eps).sqrt()`` as ``var.sqrt() + eps``."""
    name, inside = _method(node)
    if name == "sqrt" and isinstance(inside, ast.BinOp) and isinstance(inside.op, ast.Add):
        root = ast.Call(ast.Attribute(inside.left, "sqrt", ast.Load()), [], [])
        yield "eps outside the root", ast.BinOp(root, ast.Add(), inside.right)


def activations(node: ast.AST) -> Iterator[Change]:
    """Another activation."""
    name, values = _method(node)
    if isinstance(node, ast.Call) and values is not None and name in ACTIVATIONS:
        other = ast.Attribute(values, ACTIVATIONS[name], ast.Load())
        yield "another activation", ast.Call(other, node.args, node.keywords)


def order(node: ast.AST) -> Iterator[Change]:
    """Gates, or queries, keys and values, unpacked in another order; results handed back so."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        for turned in _turned(node.targets[0]):
            yield "neighbours in another order", ast.Assign([turned], node.value, lineno=1)
    elif isinstance(node, ast.Return):
        for turned in _turned(node.value):
            yield "neighbours in another order", ast.Return(turned)


def _turned(places: ast.expr | None) -> Iterator[ast.Tuple]:
    """A tuple, two neighbours exchanged."""
    entries = places.elts if isinstance(places, ast.Tuple) else []
    for first in range(len(entries) - 1):
        pair = entries[first + 1], entries[first]
        yield ast.Tuple([*entries[:first], *pair, *entries[first + 2 :]], ast.Load())


CHANGES = (dimensions, eps_outside, activations, order)
