"""The parts of the documents that are made from the code: ``make docs`` writes them.

README's map of the chapters, the tables of evidence and of limits for instructors, and the page of
rules for authors. A test compares what is committed with what is made here.
"""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

from nbformat import NotebookNode

import course_utils
from course_utils.gradebook.preprocessors import ExecuteSandboxed
from course_utils.grading.solution import bound_names, names_of_the_answer
from course_utils.outline import COURSE
from course_utils.project import Chapter
from support import structure
from support.answers import ROOT, chapters, checks_of, exercises, grader_of, notebook_of
from support.curriculum import meanings

OPERATORS = re.compile(r"\b(count_operators|forbid_operators|forbid_copies)\b")
LAYOUT = re.compile(
    r"\b(check_layout|check_shares_storage|check_copied)\b|untyped_storage\(\)\.nbytes"
)
# Limits that an instructor may set, in the order of the table.
LIMITS = (
    "cell_seconds",
    "notebook_seconds",
    "checks_seconds",
    "first_seconds",
    "slow_seconds",
    "memory_bytes",
    "processes",
    "file_bytes",
    "output_bytes",
    "isolation",
)


def table(*rows: tuple[object, ...]) -> str:
    """Rows as a Markdown table; the first is its heading."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    lines.insert(1, "| " + " | ".join("---" for _ in rows[0]) + " |")
    return re.sub(r"  +", " ", "\n".join(lines))


# README's map


def course_map() -> str:
    """Every chapter by part: title, minutes, core minutes and points of those that are written."""
    written = {chapter.name: chapter for chapter in chapters()}
    rows = [("part", "chapter", "what it teaches", "minutes", "core", "points")]
    planned = {name for names in COURSE.values() for name in names}
    more = {name: name for name in written if name not in planned}
    for part, names in {**COURSE, "More": more}.items():
        for place, (name, title) in enumerate(names.items()):
            shown = part if place == 0 else ""
            if name not in written:
                rows.append((shown, name, title, "to come", "", ""))
                continue
            notebook = notebook_of(written[name])
            course = notebook.metadata.course
            points = sum(grader_of(cell).get("points", 0) for cell in notebook.cells)
            rows.append(
                (shown, name, course.title, course.minutes, course.get("core", ""), f"{points:g}")
            )
    return table(*rows)


# What marks rest on


def evidence() -> str:
    """For every exercise, whether its marks rest on layout, on operators, on what it tells."""
    rows = [("chapter", "exercise", "layout", "operators", "told")]
    for chapter in chapters():
        for exercise in exercises(chapter):
            marks = ("yes" if mark else "" for mark in evidence_of(chapter, exercise))
            rows.append((chapter.name[:2], exercise, *marks))
    return table(*rows)


def evidence_of(chapter: Chapter, exercise: str) -> tuple[bool, bool, bool]:
    """Whether an exercise's checks look at layout, watch operators, and ask what is told."""
    checked = "\n".join(check.source for check in checks_of(chapter, exercise))
    told, sources = False, [checked]
    # From below: a helper may use those above it.
    for cell in reversed(notebook_of(chapter).cells):
        if cell.cell_type != "code" or not grader_of(cell) or grader_of(cell)["grade"]:
            continue
        mine = grader_of(cell)["grade_id"] == exercise
        told |= mine and brings_a_function(cell)
        if grader_of(cell)["solution"] and not mine:
            continue
        lent = [] if mine else names_of_the_answer(cell)
        if _uses(checked, lent):
            told = True
        elif not mine and _uses("\n".join(sources), bound_names(ast.parse(cell.source))):
            sources.append(cell.source)
        sources += package_sources(cell, "\n".join(sources))
    layout = any(LAYOUT.search(text) for text in sources)
    return layout, any(OPERATORS.search(text) for text in sources), told


def package_sources(cell: NotebookNode, used: str) -> list[str]:
    """The functions that a cell imports from its chapter's package, where ``used`` names them."""
    found = []
    for node in ast.parse(cell.source).body:
        module = getattr(node, "module", None) or ""
        if isinstance(node, ast.ImportFrom) and module.startswith("course_utils.chapters"):
            for alias in node.names:
                name = alias.asname or alias.name
                if not _uses(used, [name]):
                    continue
                values = [getattr(import_module(module), alias.name, None)]
                if values[0] is None or inspect.ismodule(values[0]):
                    part = import_module(f"{module}.{alias.name}")
                    names = set(re.findall(rf"\b{name}\.(\w+)", used))
                    values = [getattr(part, each, None) for each in sorted(names)]
                found += [inspect.getsource(value) for value in values if inspect.isfunction(value)]
    return found


def brings_a_function(cell: NotebookNode) -> bool:
    """Whether an exercise's own cell asks the answer by a written function, its last."""
    last = ast.parse(structure.stub_of(cell.source)).body[-1]
    wanted = grader_of(cell)["grade_id"].replace("-", "_")
    written = isinstance(last, ast.FunctionDef) and not isinstance(last.body[-1], ast.Expr)
    return (
        written
        and last.name == wanted
        and "### END SOLUTION" not in cell.source.split(f"def {wanted}(")[-1]
    )


def _uses(source: str, names: set[str] | list[str]) -> bool:
    return any(re.search(rf"\b{name}\b", source) for name in names)


# Limits


def limits() -> str:
    """The settings that limit a submission, with what they are if not set."""
    rows = [("setting", "if not set", "limits")]
    traits = ExecuteSandboxed.class_traits()
    for name in LIMITS:
        trait = traits[name]
        rows.append((f"`{name}`", _readable(trait.default_value, name), trait.help))
    return table(*rows)


def _readable(value: object, name: str) -> str:
    if isinstance(value, str):
        return f'`"{value}"`'
    if name.endswith("_bytes"):
        for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
            if value % size == 0:
                return f"{value // size} {unit}"
    return f"{value:g}" if value < 1e6 else str(value)


# The rules for authors


def rules() -> str:
    """A page with every rule that is enforced, and what a cell may name."""
    lines = [
        "# What is enforced of a chapter",
        "",
        "Made from `tests/support/structure.py` and `tests/curriculum/` by `make docs`. Each rule",
        "is a test of every chapter; its name is the test's. How to write a chapter:",
        "[authoring.md](authoring.md).",
        "",
        "## Rules",
        "",
    ]
    for name, rule in {**structure.RULES, **structure.FORM}.items():
        lines.append(f"- **{name}**: {' '.join(inspect.getdoc(rule).split())}")
    for kind in ("topics", "errata"):
        lines += ["", f"## What a cell may name in `{kind}`", ""]
        lines += [f"- `{name}`: {meaning}" for name, meaning in meanings(kind).items()]
    return "\n".join(lines) + "\n"


# The learner's library


def library() -> str:
    """A page with every name that a notebook may import, by module, and what it is for."""
    modules: dict[str, list[str]] = {}
    for name, home in course_utils._HOME.items():
        modules.setdefault(home, []).append(name)
    lines = [
        "# The learner's library",
        "",
        "Made from the docstrings by `make docs`. These are the names that",
        "`from course_utils import …` gives; `help(name)` in a notebook tells the rest.",
    ]
    for home, names in sorted(modules.items()):
        module = import_module(f"course_utils.{home}")
        lines += ["", f"## `{home}`", "", first_sentence(inspect.getdoc(module)), ""]
        rows = [("name", "what it is for")]
        for name in sorted(names):
            said = NOTES.get(name) or first_sentence(inspect.getdoc(getattr(course_utils, name)))
            rows.append((f"`{name}`", said.replace("|", "\\|")))
        lines.append(table(*rows))
    return "\n".join(lines) + "\n"


# What has no docstring of its own.
NOTES = {
    "device": "the device on which the notebook computes: a GPU where there is one, or the CPU"
}


def first_sentence(text: str | None) -> str:
    """A docstring's first paragraph, on one line, with Markdown's marks around code."""
    paragraph = " ".join((text or "").split("\n\n")[0].split())
    return re.sub(r":\w+:`([^`]*)`", r"`\1`", paragraph).replace("``", "`")


# Writing and comparing

PARTS = {
    ("README.md", "map"): course_map,
    ("docs/instructors.md", "evidence"): evidence,
    ("docs/instructors.md", "limits"): limits,
}
PAGES = {"docs/library.md": library, "docs/rules.md": rules}


def marks(name: str) -> tuple[str, str]:
    """The lines between which a made part stands."""
    return f"<!-- {name}: made by make docs -->", f"<!-- end of {name} -->"


def made() -> dict[Path, str]:
    """Each document as it should be."""
    texts = {ROOT / name: page() for name, page in PAGES.items()}
    for (name, part), make in PARTS.items():
        path = ROOT / name
        text = texts.get(path) or path.read_text(encoding="utf-8")
        begin, end = marks(part)
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"{name} lacks the lines {begin} and {end}")
        texts[path] = f"{before}{begin}\n\n{make()}\n\n{end}{after}"
    return texts


if __name__ == "__main__":
    for path, text in made().items():
        changed = text != path.read_text(encoding="utf-8")
        if changed:
            path.write_text(text, encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {'written' if changed else 'as it was'}")
