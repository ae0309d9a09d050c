"""What instructors and authors read: the documents of ``docs/``, the command, the checkers.

The documents are taken as they are; links between them lead to their pages here. The command's
reference is made from click, what notebooks import from the package by Sphinx's autodoc.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import click

import course_utils
from course_utils.command.cli import main
from course_utils.errors import CourseError

# Each document of docs/, and its page.
PAGES = {
    "editors": "editors/index",
    "instructors": "instructors/index",
    "class-server": "instructors/class-server",
    "authoring": "authors/index",
    "rules": "authors/rules",
    "architecture": "authors/architecture",
}
# Made from the code, in place of a document of that name.
REFERENCE = {"command": "instructors/command", "library": "authors/library"}
TREES = {
    "instructors/index": {
        "instructors/class-server": "A class server",
        "instructors/command": "The course command",
    },
    "authors/index": {
        "authors/rules": "Rules",
        "authors/architecture": "Architecture",
        "authors/library": "What notebooks import",
    },
}
LINK = re.compile(r"\]\((?P<to>[\w./-]+\.(?:md|png))(?P<anchor>#[\w-]+)?\)")


def document_pages(root: Path) -> dict[str, str | bytes]:
    """The sources of the documents' pages and their pictures by their names.

    Raises:
        CourseError: docs/ holds a document that has no page here, or lacks one that has.
    """
    found = {path.stem for path in (root / "docs").glob("*.md")} - set(REFERENCE)
    if found != set(PAGES):
        raise CourseError(
            f"docs/ holds {sorted(found)}; course_site/documents.py has pages for {sorted(PAGES)}"
        )
    pages: dict[str, str | bytes] = {}
    for name, page in PAGES.items():
        text = (root / "docs" / f"{name}.md").read_text(encoding="utf-8")
        pages[f"{page}.md"] = _placed(text, page) + _tree(page)
    for path in (root / "docs" / "images").glob("*.png"):
        pages[f"images/{path.name}"] = path.read_bytes()
    pages[f"{REFERENCE['command']}.md"] = command_reference()
    pages[f"{REFERENCE['library']}.md"] = library_reference()
    return pages


def _placed(text: str, page: str) -> str:
    """The same text, each link as seen from its page."""
    up = "../" * page.count("/")

    def moved(link: re.Match[str]) -> str:
        stem, anchor = Path(link["to"]).stem, link["anchor"] or ""
        if link["to"].startswith("images/"):
            return f"]({up}{link['to']})"
        pages = PAGES | REFERENCE
        return f"]({up}{pages[stem]}.md{anchor})" if stem in pages else link[0]

    return LINK.sub(moved, text)


def _tree(page: str) -> str:
    if page not in TREES:
        return ""
    entries = "\n".join(f"{title} </{target}>" for target, title in TREES[page].items())
    return f"\n\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"


def command_reference() -> str:
    """Every command with its arguments and options, as its own help says."""
    context = click.Context(main, info_name="course")
    lines = ["# The course command", "", inspect.getdoc(main) or "", ""]
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        below = click.Context(command, info_name=name, parent=context)
        usage = command.get_usage(below).removeprefix("Usage: ")
        lines += [f"## course {name}", "", "```text", usage, "```", ""]
        lines += [_help(command), ""]
        lines += _options(command, below)
    return "\n".join(lines) + "\n"


def _help(command: click.Command) -> str:
    # What click sets apart with \b is text that keeps its lines.
    return inspect.cleandoc(command.help or "").replace("\b\n", "")


def _options(command: click.Command, context: click.Context) -> list[str]:
    rows = [
        record
        for option in command.get_params(context)
        if isinstance(option, click.Option) and "--help" not in option.opts
        for record in [option.get_help_record(context)]
        if record
    ]
    if not rows:
        return []
    table = ["| option | what it does |", "| --- | --- |"]
    for option, words in rows:
        words = words.replace("|", r"\|")
        table.append(f"| `{option}` | {words} |")
    return [*table, ""]


def library_reference() -> str:
    """Everything that ``course_utils`` offers notebooks, module by module."""
    homes: dict[str, list[str]] = {}
    for name in course_utils.__all__:
        home = getattr(course_utils, name)
        module = getattr(home, "__module__", None) or type(home).__module__
        module = module if module.startswith("course_utils") else "course_utils"
        homes.setdefault(module, []).append(name)
    lines = [
        "# What notebooks import",
        "",
        "All of it from `course_utils`. How to use the checkers when you write an exercise is told "
        "in [Writing for the course](index.md#the-checkers).",
        "",
    ]
    for module, names in homes.items():
        words = (inspect.getdoc(importlib.import_module(module)) or "").partition("\n\n")[0]
        lines += [f"## {' · '.join(f'`{name}`' for name in names)}", ""]
        lines += [" ".join(words.split()), ""] if module != "course_utils" else []
        for name in names:
            lines += _entry(name, getattr(course_utils, name))
    return "\n".join(lines) + "\n"


def _entry(name: str, value: object) -> list[str]:
    if inspect.isclass(value) or callable(value):
        kind = "autoclass" if inspect.isclass(value) else "autofunction"
        return ["```{eval-rst}", f".. {kind}:: course_utils.{name}", "```", ""]
    return [f"`{name}` is `{value!r}` where no GPU is found.", ""]
