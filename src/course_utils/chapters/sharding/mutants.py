"""What a slip makes of an answer whose parts are on several ranks: for ``course mutants``."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

# Also the operators on ranks and on files that several chapters share.
FAMILIES = ("ranks", "files")
# name(x) becomes x.
HANDED_ON = {"gather_rows", "scatter_mean_rows"}


def handed_on(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """A rank's shard in place of the whole."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in HANDED_ON:
        yield f"{node.func.id} taken away", copy.deepcopy(node.args[0])


def stages(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """A stage is taken as the first, or the stages are counted from 1."""
    if isinstance(node, ast.Name) and node.id == "stage" and isinstance(node.ctx, ast.Load):
        yield "stage is 0", ast.Constant(0)
        yield "stages from 1", ast.BinOp(copy.deepcopy(node), ast.Add(), ast.Constant(1))


CHANGES = (handed_on, stages)
