"""All mutants of one answer."""

from __future__ import annotations

import ast
import copy
import importlib
from collections.abc import Iterator
from importlib.resources import files

from course_utils.authoring.mutants import expressions, statements, trees, wrappers
from course_utils.authoring.mutants.trees import Mutant


def mutants(source: str, domain: dict | None = None) -> list[Mutant]:
    """Every answer that differs from ``source`` in one thing, each once, in a fixed order.

    Args:
        source: an answer's text.
        domain: a chapter's own operators; see :func:`domain_of`.
    """
    tree = ast.parse(source)
    before = ast.unparse(tree)
    seen, found = {code_of(before)}, []
    for mutant in _all(tree, before, domain or {}):
        code = code_of(mutant.source)
        if code is not None and code not in seen:
            seen.add(code)
            found.append(mutant)
    return found


def _all(tree: ast.Module, before: str, domain: dict) -> Iterator[Mutant]:
    for path, node in trees.places(tree):
        for field, place, pair in statements.exchanges(node):
            yield trees.as_mutant("exchanged", before, _exchanged(tree, path, field, place, pair))
        if not path:
            continue
        for change in statements.class_state(node):
            text = trees.with_node(tree, path, change)
            yield trees.as_mutant("state on the class", before, text)
        for makes in (statements.changes, expressions.changes, *domain.get("CHANGES", ())):
            for operator, new in makes(node):
                if is_turned_dimension(path, tree, node, new):
                    continue
                yield trees.as_mutant(operator, before, trees.with_node(tree, path, new))
    functions = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not trees.is_given(node)
    ]
    for name in functions[-1:]:
        for habit in wrappers.HABITS:
            text = wrappers.wrapped(before, name, habit)
            yield Mutant(habit, "", f"# {habit}", text)


def _exchanged(tree: ast.Module, path, field: str, place: int, pair: list[ast.stmt]) -> str:
    block = list(getattr(trees.at(tree, path), field))
    block[place : place + 2] = pair
    if path:
        node = copy.copy(trees.at(tree, path))
        setattr(node, field, block)
        return trees.with_node(tree, path, node)
    return ast.unparse(ast.Module(block, []))


def is_turned_dimension(path: trees.Path, tree: ast.AST, node: ast.AST, new) -> bool:
    """Whether a dimension is only counted from the other end: seldom a slip."""
    if not isinstance(node, ast.Constant) or not isinstance(new, ast.Constant):
        return False
    turned = type(node.value) is int and node.value > 0 and new.value == -node.value
    around = [trees.at(tree, path[:end]) for end in range(len(path))]
    return turned and any(
        isinstance(each, (ast.Subscript, ast.Slice))
        or (isinstance(each, ast.keyword) and each.arg in ("dim", "dims", "axis", "shape"))
        for each in around
    )


def code_of(source: str) -> bytes | None:
    """What Python makes of a text, to tell equal ones; None where it can't be compiled."""
    try:
        return ast.unparse(ast.parse(source)).encode()
    except (SyntaxError, ValueError):
        return None


def domain_of(chapter: str) -> dict:
    """A chapter's own operators: ``CHANGES`` of ``course_utils.chapters.TOPIC.mutants``, if any.

    ``CHANGES`` is a tuple of functions: from a node of the syntax tree to pairs of the change's
    name and what stands there instead. ``FAMILIES`` there names operators that several chapters
    share: modules of this package.
    """
    topic = chapter.partition("_")[2]
    # find_spec would do, but for a name that is missing this package raises what a learner reads.
    if not files("course_utils").joinpath("chapters", topic, "mutants.py").is_file():
        return {}
    own = vars(importlib.import_module(f"course_utils.chapters.{topic}.mutants"))
    shared = [
        importlib.import_module(f"{__package__}.{family}").CHANGES
        for family in own.get("FAMILIES", ())
    ]
    return {"CHANGES": sum(shared, own["CHANGES"])}
