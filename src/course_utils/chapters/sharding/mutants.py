"""What a slip makes of an answer whose parts are on several ranks: for ``course mutants``."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

# Also the operators on ranks that several chapters share.
FAMILIES = ("ranks",)
# name(x) becomes x.
HANDED_ON = {"gather_rows", "scatter_mean_rows"}


def calls(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """A rank's shard in place of the whole, or a file that is written where it belongs."""
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Name) and node.func.id in HANDED_ON:
        yield f"{node.func.id} taken away", copy.deepcopy(node.args[0])
    if isinstance(node.func, ast.Attribute) and node.func.attr == "with_suffix":
        yield "written in place", copy.deepcopy(node.func.value)


def stages(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """A stage is taken as the first, or the stages are counted from 1."""
    if isinstance(node, ast.Name) and node.id == "stage" and isinstance(node.ctx, ast.Load):
        yield "stage is 0", ast.Constant(0)
        yield "stages from 1", ast.BinOp(copy.deepcopy(node), ast.Add(), ast.Constant(1))


CHANGES = (calls, stages)
