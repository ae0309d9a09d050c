"""What goes wrong around training loops alone: the mutants of this chapter."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Change = tuple[str, ast.AST]


def part_forgotten(node: ast.AST) -> Iterator[Change]:
    """An entry of a dict, or of names in a row, is left out: a checkpoint without its scaler."""
    if isinstance(node, ast.Dict) and not all(map(is_constant, node.values)):
        for place in range(len(node.keys)):
            yield (
                "a part forgotten",
                ast.Dict(without(node.keys, place), without(node.values, place)),
            )
    elif isinstance(node, ast.Tuple) and len(node.elts) > 2 and all(map(is_text, node.elts)):
        for place in range(len(node.elts)):
            yield "a part forgotten", ast.Tuple(without(node.elts, place), ast.Load())


def is_constant(node: ast.AST) -> bool:
    """Whether this is a number, a text or None, as in a dict of blanks."""
    return isinstance(node, ast.Constant)


def is_text(node: ast.AST) -> bool:
    """Whether this is a text."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def without(entries: list, place: int) -> list:
    """The entries without the one at a place."""
    return [*entries[:place], *entries[place + 1 :]]


def step_off(node: ast.AST) -> Iterator[Change]:
    """The next step's number, or place, in place of this one's."""
    if not isinstance(node, (ast.Attribute, ast.Name)) or not isinstance(node.ctx, ast.Load):
        return
    name = node.attr if isinstance(node, ast.Attribute) else node.id
    counts = ("position",) if isinstance(node, ast.Attribute) else ("step", "number")
    if name in counts:
        yield f"{name} is 1 more", ast.BinOp(node, ast.Add(), ast.Constant(1))


def batches_counted(node: ast.AST) -> Iterator[Change]:
    """Batches are counted where samples should be."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "len":
        yield "a batch counted as 1", ast.Constant(1)


def written_in_place(node: ast.AST) -> Iterator[Change]:
    """The file is written under its final name."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "atomic_save":
        saved = ast.Attribute(ast.Name("torch", ast.Load()), "save", ast.Load())
        yield "written in place", ast.Call(saved, node.args, [])


def seeds_added(node: ast.AST) -> Iterator[Change]:
    """Seed and epoch are added where they should be kept apart."""
    if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith("default_rng"):
        return
    if node.args and isinstance(node.args[0], ast.List) and len(node.args[0].elts) == 2:
        first, second = node.args[0].elts
        yield "seed and epoch added", ast.Call(node.func, [ast.BinOp(first, ast.Add(), second)], [])


CHANGES = (part_forgotten, step_off, batches_counted, written_in_place, seeds_added)
