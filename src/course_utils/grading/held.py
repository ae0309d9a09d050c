"""Answers that may have read what their trial holds: their points wait for a person.

A trial runs in the answer's process. From an answer the frames of Python lead to the trial that
called it, and there stands what the answer should have found out: the illness, the other ranks'
tensors. Nothing can forbid an answer to look. So where it is written that it does, a check that
goes by a trial gives its points only when a person has read the answer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from nbformat import NotebookNode

from course_utils.cells import exercise_of, grade_id, is_code, is_exercise
from course_utils.grading.modules import module_names, modules_meant
from course_utils.grading.solution import Solution, bound_names, statements_of, used_names

# Names that lead from code to whoever called it, or to any object of the process.
LEADING = {
    *("_getframe", "_current_frames", "currentframe", "getouterframes", "walk_stack", "f_back"),
    *("get_objects", "get_referrers", "get_referents", "settrace", "setprofile", "monitoring"),
    *("call_tracing", "ctypes", "_ctypes"),
}
# Of these modules an answer may use what has a name; what is asked of the whole can't be read.
MODULES = frozenset({"sys", "gc", "inspect"})
IMPORTS_BY_A_TEXT = {"__import__", "import_module"}
RUNS_A_TEXT = {"exec", "eval", "compile", "__import__"}
WORDS = (
    "this check passes, but its points wait for a person: {} may read what the check's trial knows"
)


def held_back(notebook: NotebookNode, solution: Solution) -> dict[str, str]:
    """The checks whose points a person has to release, and why, in words for the student.

    Only checks that go by a trial: whatever else an answer is asked comes from the judge's process,
    and its frames hold nothing but the arguments.

    Args:
        notebook: the submission, after nbgrader restored its locked cells.
        solution: the chapter.
    """
    tried = {
        check: exercise_of(check)
        for check, names in solution.names.items()
        if set(names).intersection(solution.trials)
    }
    if not tried:
        return {}
    ours = {cell.source.strip() for cell in solution.notebook.cells}
    cells = [
        cell for cell in notebook.cells if is_code(cell) and isinstance(cell.get("source"), str)
    ]
    # A cell may use the module that another one imports.
    modules = frozenset().union(*(module_names(cell.source, MODULES) for cell in cells))
    # What an exercise asks for, or has in its cell from the start.
    usual = {
        grade_id(cell): {name for _, name in looks(cell.source, modules)}
        for cell in solution.notebook.cells
        if is_code(cell) and is_exercise(cell)
    }
    answers = {grade_id(cell): cell for cell in cells if is_exercise(cell)}
    held: dict[str, str] = {}
    for number, cell in enumerate(cells, start=1):
        if cell.source.strip() in ours:
            continue
        found = [
            f"line {line} ({name})"
            for line, name in looks(cell.source, modules)
            if name not in usual.get(grade_id(cell), ())
        ]
        if not found:
            continue
        name = f"{grade_id(cell) or f'code cell {number}'}, {found[0]},"
        made = {name for part in statements_of(cell) for name in bound_names(part)}
        for check, exercise in tried.items():
            answer = answers.get(exercise)
            uses = answer is None or made & {
                name for part in statements_of(answer) for name in used_names(part)
            }
            # A cell that is no exercise may lend what it makes to any answer.
            if cell is answer or uses or not is_exercise(cell):
                held.setdefault(check, WORDS.format(name))
    return held


@lru_cache(maxsize=1000)
def looks(source: str, known: frozenset[str] = frozenset()) -> tuple[tuple[int, str], ...]:
    """Where a text looks at other code's frames, or at any object: lines and names.

    A class's submissions share most of their cells, so what was read is remembered.

    Args:
        source: a cell's.
        known: the names by which the notebook's cells know the modules.
    """
    return tuple(_looks(source, known))


def _looks(source: str, known: frozenset[str]) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # A cell with a magic is no Python, and yet it runs.
        lines = source.splitlines()
        for name in sorted(LEADING):
            yield from ((at, name) for at, line in enumerate(lines, start=1) if name in line)
        return
    nodes = list(ast.walk(tree))
    inner = {node.value for node in nodes if isinstance(node, ast.Attribute)}
    modules = modules_meant(tree, MODULES, known)
    for node in nodes:
        for name in _leading(node, inner, modules):
            yield getattr(node, "lineno", 1), name


def _leading(node: ast.AST, inner: set[ast.expr], modules: set[ast.Name]) -> Iterator[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for part in node.names:
            asked = {*part.name.split("."), *(getattr(node, "module", None) or "").split(".")}
            yield from sorted(asked & LEADING)
            if getattr(node, "module", None) == "inspect" and part.name in ("stack", "*"):
                yield f"inspect.{part.name}"
    elif isinstance(node, ast.Attribute):
        of_a_module = node.value in modules
        if node.attr in LEADING or (of_a_module and node.attr in ("stack", "__dict__", "modules")):
            yield node.attr
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        if node.id in LEADING or (node in modules and node not in inner):
            yield node.id
    elif isinstance(node, ast.Call):
        name = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
        asked = [part.value for part in node.args if isinstance(part, ast.Constant)]
        if name in IMPORTS_BY_A_TEXT and MODULES.intersection(asked) and node not in inner:
            yield name
        name = getattr(node.func, "id", "")
        if name in RUNS_A_TEXT and not isinstance(
            node.args[0] if node.args else None, ast.Constant
        ):
            yield name
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from sorted(name for name in LEADING if name in node.value)
