"""Operators on what several ranks run, for the chapters whose own operators ask for them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from course_utils.authoring.mutants.expressions import Change

# What holds how many ranks there are.
SIZES = {"world_size", "ranks", "stages"}
REDUCES = {"all_reduce", "reduce_scatter_tensor"}
# What cuts or joins along the first dimension, if it isn't told another.
CUTS = {"chunk", "tensor_split", "cat", "stack"}


def sizes(node: ast.AST) -> Iterator[Change]:
    """The number of ranks is taken as 1, or is one less."""
    if isinstance(node, ast.expr) and is_size(node):
        yield "world size is 1", ast.Constant(1)
        yield "world size one less", ast.BinOp(copy.deepcopy(node), ast.Sub(), ast.Constant(1))


def is_size(node: ast.AST) -> bool:
    """Whether a node is the number of ranks."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value in SIZES
    loaded = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    return (loaded and node.id in SIZES) or called(node) == "get_world_size"


def reductions(node: ast.AST) -> Iterator[Change]:
    """Another operation than the sum, or its result on rank 0 alone."""
    if not isinstance(node, ast.Call) or called(node) not in REDUCES:
        return
    for operation in ("AVG", "MAX"):
        changed = copy.deepcopy(node)
        changed.keywords.append(ast.keyword("op", of_dist("ReduceOp", operation)))
        yield f"{operation} in place of the sum", changed
    if called(node) == "all_reduce" and not node.keywords:
        argument = copy.deepcopy(node.args[0])
        call = ast.Call(of_dist("reduce"), [argument, ast.Constant(0)], [])
        yield "the sum on rank 0 alone", call


def cuts(node: ast.AST) -> Iterator[Change]:
    """A tensor is cut, or parts are joined, along another dimension."""
    if isinstance(node, ast.Call) and called(node) in CUTS and not node.keywords:
        of_torch = ast.unparse(node.func).startswith("torch.")
        known = 2 if of_torch and called(node) in ("chunk", "tensor_split") else 1
        if len(node.args) == known:
            changed = copy.deepcopy(node)
            changed.keywords.append(ast.keyword("dim", ast.Constant(1)))
            yield "another dimension cut or joined", changed


def shards(node: ast.AST) -> Iterator[Change]:
    """The shard of the rank before this one."""
    if isinstance(node, ast.Subscript) and ast.unparse(node.slice) == "rank":
        changed = copy.deepcopy(node)
        changed.slice = ast.BinOp(node.slice, ast.Sub(), ast.Constant(1))
        yield "another rank's shard", changed


def rounding(node: ast.AST) -> Iterator[Change]:
    """``-(-a // b)`` becomes ``a // b``: a share that is rounded down."""
    match node:
        case ast.UnaryOp(
            ast.USub(), ast.BinOp(ast.UnaryOp(ast.USub(), above), ast.FloorDiv(), below)
        ):
            yield "rounded down", ast.BinOp(above, ast.FloorDiv(), below)


def called(node: ast.AST) -> str:
    """The last name of what a node calls; empty where it is no call."""
    if not isinstance(node, ast.Call):
        return ""
    return ast.unparse(node.func).rpartition(".")[2]


def of_dist(*names: str) -> ast.expr:
    """``dist.name``, or ``dist.name.name``."""
    found: ast.expr = ast.Name("dist", ast.Load())
    for name in names:
        found = ast.Attribute(found, name, ast.Load())
    return found


CHANGES = (sizes, reductions, cuts, shards, rounding)
