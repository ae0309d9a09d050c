"""Operators on what writes files, for the chapters whose own operators ask for them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from course_utils.authoring.mutants.expressions import Change


def written_in_place(node: ast.AST) -> Iterator[Change]:
    """The file is written under its final name."""
    called = node.func if isinstance(node, ast.Call) and node.args else None
    if isinstance(called, ast.Attribute) and called.attr in ("with_name", "with_suffix"):
        yield "written in place", copy.deepcopy(called.value)


CHANGES = (written_in_place,)
