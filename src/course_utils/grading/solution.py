"""A chapter's solution notebook, read for grading: which names each check takes of a learner's."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass

import nbformat
from nbformat import NotebookNode

from course_utils.cells import (
    gives_points,
    grade_id,
    is_check,
    is_code,
    is_exercise,
    is_locked,
)

MARK = "runs_with_the_answer"


@dataclass(frozen=True)
class Solution:
    """A chapter's solution notebook, read for grading.

    Attributes:
        notebook: itself; not to be changed.
        learner_names: the names that the judge takes from the student's kernel.
        trials: those among them that locked cells bind.
        skipped: the names that other cells than the locked ones bind: a learner may change them.
        names: by the grade id of each check, in order, those of them that it uses.
    """

    notebook: NotebookNode
    learner_names: list[str]
    trials: list[str]
    skipped: list[str]
    names: dict[str, list[str]]


@functools.lru_cache(maxsize=4)
def read_solution(text: str) -> Solution:
    """Read a solution notebook; a class's submissions all have the same."""
    notebook = nbformat.v4.reads(text)
    bound = [(cell, name) for cell in notebook.cells for name in names_of_the_answer(cell)]
    learner_names = [name for _, name in bound]
    trials = [name for cell, name in bound if is_locked(cell)]
    free = [cell for cell in notebook.cells if is_code(cell) and not gives_points(cell)]
    skipped = {
        name
        for cell in free
        if not is_locked(cell)
        for statement in statements_of(cell)
        for name in bound_names(statement)
    }
    names = names_of_checks(notebook, learner_names)
    return Solution(notebook, learner_names, trials, sorted(skipped), names)


def names_of_checks(notebook: NotebookNode, learner_names: list[str]) -> dict[str, list[str]]:
    """By the grade id of each check, in order, the names of the learner's that it uses.

    It may use them by way of the locked cells: a check calls ``check_rows``, a locked function,
    and that calls the learner's ``rows``.
    """
    leads_to: dict[str, set[str]] = {}
    for cell in notebook.cells:
        if is_locked(cell):
            for statement in statements_of(cell):
                for name in bound_names(statement):
                    leads_to.setdefault(name, set()).update(used_names(statement))
    names = {}
    for cell in notebook.cells:
        if is_check(cell):
            used, new = set(), used_names(ast.parse(cell.source))
            while new:
                used |= new
                new = {far for name in new for far in leads_to.get(name, ())} - used
            names[grade_id(cell)] = sorted(used.intersection(learner_names))
    return names


def statements_of(cell: NotebookNode) -> list[ast.stmt]:
    """A cell's statements; none where it is no plain Python, but a ``%`` or a ``!``."""
    try:
        return ast.parse(cell.source).body
    except SyntaxError:
        return []


def used_names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def names_of_the_answer(cell: NotebookNode) -> list[str]:
    """The names that the judge takes from the student's kernel.

    What an exercise cell binds; of a locked cell, the functions that it marks by
    ``@runs_with_the_answer``: they try the answer on what cannot travel, such as a module.
    """
    if is_code(cell) and is_exercise(cell):
        return bound_names(ast.parse(cell.source))
    if not is_locked(cell) or MARK not in cell.source:
        return []
    return [
        node.name
        for node in ast.parse(cell.source).body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id == MARK for mark in node.decorator_list)
    ]


def bound_names(tree: ast.AST) -> list[str]:
    """The names that statements bind, not those inside their functions."""
    names: list[str] = []

    class Binder(ast.NodeVisitor):
        def visit_FunctionDef(self, node):
            names.append(node.name)

        visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

        def visit_Lambda(self, node):
            pass

        def visit_comprehension(self, node):
            # Its variable is its own; what ``:=`` binds inside is the cell's.
            for part in (node.iter, *node.ifs):
                self.visit(part)

        def visit_Name(self, node):
            if isinstance(node.ctx, ast.Store):
                names.append(node.id)

    Binder().visit(tree)
    return list(dict.fromkeys(names))
