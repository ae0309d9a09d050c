"""Where a syntax tree may be changed, and the text of a tree in which one place was."""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Path = tuple[tuple[str, int | None], ...]
# What stands in these says something to people, or to nobody.
UNTOUCHED = {"annotation", "returns", "type_params", "decorator_list", "type_comment"}


@dataclass(frozen=True)
class Mutant:
    """An answer with one thing changed.

    Attributes:
        operator: what kind of change.
        was: the lines of the answer that it replaces, as ``ast.unparse`` writes them.
        now: what stands there now.
        source: the whole text.
    """

    operator: str
    was: str
    now: str
    source: str


def places(node: ast.AST, path: Path = ()) -> Iterator[tuple[Path, ast.AST]]:
    """Every node that may be changed, and how to reach it.

    Left out: annotations, docstrings, what is raised, asserted and printed, and functions that the
    exercise gives.
    """
    if is_given(node):
        return
    yield path, node
    if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
        return
    for field, value in ast.iter_fields(node):
        if field in UNTOUCHED:
            continue
        if isinstance(value, ast.AST):
            yield from places(value, (*path, (field, None)))
        elif isinstance(value, list):
            for number, entry in enumerate(value):
                if isinstance(entry, ast.AST) and not is_text(entry) and not is_strict(entry):
                    yield from places(entry, (*path, (field, number)))


def is_given(node: ast.AST) -> bool:
    """Whether this is a function of which the docstring says that it is given: no learner's."""
    if not isinstance(node, ast.FunctionDef):
        return False
    return (ast.get_docstring(node) or "").startswith("Given:")


def is_text(node: ast.AST) -> bool:
    """Whether this statement is a docstring, or another text by itself."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, (str, type(...)))


def is_strict(node: ast.AST) -> bool:
    """Whether this is zip's ``strict=``, which matters only where lengths differ."""
    return isinstance(node, ast.keyword) and node.arg == "strict"


def at(tree: ast.AST, path: Path) -> ast.AST:
    """The node at a path."""
    node = tree
    for field, number in path:
        value = getattr(node, field)
        node = value if number is None else value[number]
    return node


def with_node(tree: ast.AST, path: Path, new: ast.AST | list[ast.stmt]) -> str:
    """The text of a tree in which another node, or several statements, stand at a path."""
    # Only what lies on the path is copied: the tree is as it was, and most of a copy is never read.
    changed = parent = copy.copy(tree)
    for field, number in path[:-1]:
        value = getattr(parent, field)
        child = copy.copy(value if number is None else value[number])
        put(parent, field, number, [child])
        parent = child
    field, number = path[-1]
    put(parent, field, number, new if isinstance(new, list) else [new])
    return ast.unparse(ast.fix_missing_locations(changed))


def put(parent: ast.AST, field: str, number: int | None, new: Sequence[ast.AST]) -> None:
    """Give a node other children in a place; a list of them is copied first."""
    if number is None:
        setattr(parent, field, new[0])
        return
    entries = list(getattr(parent, field))
    entries[number : number + 1] = new
    if not entries and field == "body":
        entries.append(ast.Pass())
    setattr(parent, field, entries)


def as_mutant(operator: str, before: str, source: str) -> Mutant:
    """A mutant, with the lines in which it differs from ``before``, the answer unparsed."""
    was, now = [], []
    for line in difflib.ndiff(before.splitlines(), source.splitlines()):
        if line[0] in "-+":
            (was if line[0] == "-" else now).append(line[2:].strip())
    return Mutant(operator, "\n".join(was), "\n".join(now), source)
