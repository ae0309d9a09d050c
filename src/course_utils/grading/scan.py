"""What a person should look at in a submission: lines to read, which never change a mark.

The scan reads the student's own cells and runs nothing. It finds what is written plainly; someone
who hides on purpose gets past it. What keeps marks right is the judge, not this.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from functools import lru_cache

from nbformat import NotebookNode

from course_utils.cells import gives_points, grade_id, is_locked, marks_of
from course_utils.grading.noteworthy import (
    ATTRIBUTES,
    HARMLESS_MAGICS,
    METHODS,
    NAMES,
    OPENERS,
    PREFIXES,
)

MOST_FLAGS = 40
MOST_CHARACTERS = 50_000  # of a cell that is read
LONG_WORD = 300  # characters without a space: hardly typed by hand
LONG_TEXT = 5_000
LONGEST_NAME = 64  # of a cell, as nbgrader has it


OUTSIDE = re.compile(r"/|~|[A-Za-z]:\\|(.*[/\\])?\.\.([/\\]|$)")
SYSTEM_PATH = re.compile(r"/(proc|dev|etc|sys|home|root|tmp|var|usr|mnt)\b")
MAGIC = re.compile(r"(?P<indent>\s*)(?:[\w., ]+=\s*)?(?P<sign>%%?|!!?)\s*(?P<word>\w*)")
PROMPT = re.compile(r"^(>>> ?|\.\.\. ?|In \[\d+\]: ?)", re.MULTILINE)

Finding = tuple[int, str]  # a line of the cell, and words


def scan(notebook: NotebookNode, source: NotebookNode) -> list[str]:
    """Say what a person should look at in the cells that are the student's own.

    What the chapter itself does, in its solutions and in the cells it shows, is no finding.

    Args:
        notebook: the submission, after nbgrader restored its locked cells.
        source: the chapter's solution notebook.

    Returns:
        One readable line for each finding, such as ``element-offset, line 3: starts or ends
        processes (os.fork)``. Nothing is raised: a cell that is no Python is no finding.
    """
    shown = _code_cells(source)
    texts = tuple(cell.source for _, cell in shown)
    ours = {cell.source.strip() for _, cell in shown}
    locked = {grade_id(cell) for _, cell in shown if marks_of(cell).get("locked")}
    free = tuple(cell.source for _, cell in shown if not gives_points(cell))
    aliases, usual = _of_the_chapter(texts, free)
    fixed = _fixed_names(tuple((cell.source, is_locked(cell)) for _, cell in shown))
    own = [
        (number, cell)
        for number, cell in _code_cells(notebook)
        if cell.source.strip() not in ours and (not grade_id(cell) or grade_id(cell) not in locked)
    ]
    aliases = aliases | _aliases([cell.source for _, cell in own])
    flags = []
    for number, cell in own:
        name = grade_id(cell)[:LONGEST_NAME] or f"cell {number}"
        seen = set(usual)
        findings = [*_findings(cell.source, aliases), *_redefined(cell.source, fixed)]
        for line, words in sorted(findings):
            if words not in seen:
                seen.add(words)
                flags.append(f"{name}, line {line}: {words}")
    if len(flags) > MOST_FLAGS:
        flags[MOST_FLAGS:] = [f"and {len(flags) - MOST_FLAGS} more findings"]
    return flags


@lru_cache(maxsize=4)
def _fixed_names(cells: tuple[tuple[str, bool], ...]) -> frozenset[str]:
    """The functions and classes of the chapter's locked cells that no other cell of it binds.

    Args:
        cells: each cell's text, and whether it is such a locked cell.
    """
    fixed: set[str] = set()
    other: set[str] = set()
    for text, is_helper in cells:
        if is_helper:
            body = _parse(text)[0].body
            fixed |= {
                part.name for part in body if isinstance(part, (ast.FunctionDef, ast.ClassDef))
            }
        else:
            other |= {name for _, name in _bound(text)}
    return frozenset(fixed - other)


def _redefined(text: str, fixed: frozenset[str]) -> Iterator[Finding]:
    """Where a cell gives names of locked cells another meaning."""
    for line, name in _bound(text):
        if name in fixed:
            yield line, f"gives a name of a locked cell another meaning ({name[:60]})"


def _bound(text: str) -> Iterator[Finding]:
    """The names that the statements of a cell bind outside any function, each with its line."""
    for statement in _parse(text)[0].body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield statement.lineno, statement.name
            continue
        for part in ast.walk(statement):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.lineno, part.id
            elif isinstance(part, ast.alias):
                yield statement.lineno, part.asname or part.name.split(".")[0]


def _code_cells(notebook: NotebookNode) -> list[tuple[int, NotebookNode]]:
    """The code cells that hold text, each with its number in the notebook, from 1."""
    return [
        (number, cell)
        for number, cell in enumerate(notebook.cells, start=1)
        if cell.cell_type == "code" and isinstance(cell.get("source"), str)
    ]


@lru_cache(maxsize=4)
def _of_the_chapter(
    texts: tuple[str, ...], free: tuple[str, ...]
) -> tuple[dict[str, str], frozenset[str]]:
    """The chapter's imports, and the findings in its own cells, its checks left out."""
    aliases = _aliases(texts)
    findings = {words for text in free for _, words in _findings(text, aliases)}
    return aliases, frozenset(findings)


def _aliases(texts) -> dict[str, str]:
    """What each imported name stands for, by its full dotted name."""
    aliases: dict[str, str] = {}
    for text in texts:
        for node in ast.walk(_parse(text)[0]):
            if isinstance(node, ast.Import):
                for name in node.names:
                    first = name.name.split(".")[0]
                    aliases[name.asname or first] = name.name if name.asname else first
            elif isinstance(node, ast.ImportFrom) and node.module:
                for name in node.names:
                    aliases[name.asname or name.name] = f"{node.module}.{name.name}"
    return aliases


def _parse(text: str) -> tuple[ast.Module, list[Finding]]:
    """A cell's syntax tree and what its magics do; an empty tree where it is no Python."""
    if len(text) > MOST_CHARACTERS:
        return ast.Module([], []), [(1, f"is {len(text)} characters long, too long to be scanned")]
    tree = _tree(text)
    if tree is not None:
        return tree, []
    lines = textwrap.dedent(PROMPT.sub("", text)).split("\n")
    magics = []
    for number, line in enumerate(lines):
        match = MAGIC.match(line)
        if match:
            magics.append((number + 1, match["sign"], match["word"]))
            # A magic may be all that stands in a block, and %time's line is Python too.
            timed = match["sign"] == "%" and match["word"] in ("time", "timeit")
            rest = line[match.end() :].strip() if timed else ""
            lines[number] = match["indent"] + (rest if _tree(rest) is not None else "") + "\n"
            if not lines[number].strip():
                lines[number] = match["indent"] + "pass"
    tree = _tree("\n".join(line.rstrip("\n") for line in lines))
    findings = []
    for number, sign, word in magics:
        if sign.startswith("!"):
            findings.append((number, "starts or ends processes (a shell command)"))
        elif word not in HARMLESS_MAGICS:
            findings.append((number, f"uses the magic {sign}{word[:40]}"))
    # A lone % is a slip, not a magic: a cell of magics alone, or one that is Python without them.
    return (tree, findings) if tree is not None else (ast.Module([], []), [])


def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _findings(text: str, aliases: dict[str, str]) -> Iterator[Finding]:
    """Everything to look at in one cell; a line may come up twice."""
    tree, magics = _parse(text)
    yield from magics
    nodes = list(ast.walk(tree))
    functions = {node.func for node in nodes if isinstance(node, ast.Call)}
    # The torch of torch.nn: the whole name is looked up, not its parts.
    inner = {node.value for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        line = getattr(node, "lineno", 1)
        for words in _of_node(node, aliases, inner, functions):
            yield line, words
    for node in tree.body:
        for name, words in _rebound(node, aliases):
            yield node.lineno, f"{words} ({name[:60]})"


def _of_node(node: ast.AST, aliases: dict, inner: set, functions: set) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for name in node.names:
            yield from _named(name.name)
    elif isinstance(node, ast.ImportFrom) and node.module:
        for name in node.names:
            yield from _named(f"{node.module}.{name.name}")
    elif isinstance(node, (ast.Name, ast.Attribute)):
        if isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES:
            yield f"{ATTRIBUTES[node.attr]} ({node.attr})"
        elif isinstance(node, ast.Name) and node.id in ATTRIBUTES:
            yield f"{ATTRIBUTES[node.id]} ({node.id})"
        if node not in inner:
            yield from _used(node, aliases, called=node in functions)
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield from _patched(_dotted(node, aliases), aliases)
    elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        name = _dotted(node.value, aliases)
        if name.endswith(".__dict__"):
            yield from _patched(name, aliases)
    elif isinstance(node, ast.Call):
        yield from _called(node, aliases)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in METHODS:
        yield f"defines an object that {METHODS[node.name]} ({node.name})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
        yield from _text(node.value)


def _dotted(node: ast.AST, aliases: dict[str, str]) -> str:
    """``torch.nn.functional.pad`` for the syntax ``F.pad``; empty for what is no name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Call):  # get_ipython().events: what is asked of the result
        node = node.func
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([aliases.get(node.id, node.id), *reversed(parts)])


def _named(name: str) -> Iterator[str]:
    """The words for a full dotted name, if there are any."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        known = ".".join(parts[:end])
        if known in NAMES:
            if NAMES[known]:
                yield f"{NAMES[known]} ({known})"
            return
    for prefix, words in PREFIXES.items():
        if name.startswith(prefix):
            yield f"{words} ({name[:60]})"


def _used(node: ast.Name | ast.Attribute, aliases: dict, called: bool) -> Iterator[str]:
    name = _dotted(node, aliases)
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    known = isinstance(root, ast.Name) and root.id in aliases
    # Without an import, a name is the learner's own: signal[0] is no use of the module signal.
    if known or name.split(".")[0] in ("get_ipython", "In", "_ih"):
        if isinstance(node.ctx, ast.Load):
            yield from _named(name)
    elif called and name in ("exit", "quit"):
        yield from _named(name)


def _patched(name: str, aliases: dict[str, str]) -> Iterator[str]:
    """Words for a change of ``name``, where that belongs to an imported module."""
    modules = {target.split(".")[0] for target in aliases.values()} | {"builtins", "get_ipython"}
    harmless = name.startswith(("torch.backends.", "matplotlib."))
    if "." in name and name.split(".")[0] in modules and not harmless:
        yield f"replaces a part of a module ({name[:60]})"


def _called(node: ast.Call, aliases: dict[str, str]) -> Iterator[str]:
    name = _dotted(node.func, aliases)
    first = node.args[0] if node.args else None
    if name in ("setattr", "delattr") and first is not None:
        target = _dotted(first, aliases)
        yield from _patched(f"{target}.…" if target else "", aliases)
    if name in ("exec", "eval", "compile", "__import__"):
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            if name == "__import__":
                yield from _named(first.value)
            elif first.value.strip():
                inner = _findings(first.value, aliases) if len(first.value) < LONG_TEXT else ()
                yield from (words for _, words in inner)
        else:
            yield f"runs code that it does not show ({name})"
    if name in ("getattr", "hasattr", "setattr") and len(node.args) > 1:
        asked = node.args[1].value if isinstance(node.args[1], ast.Constant) else None
        if isinstance(asked, str) and asked in ATTRIBUTES:
            yield f"{ATTRIBUTES[asked]} ({asked})"
    opener = node.func.attr if isinstance(node.func, ast.Attribute) else name
    if opener.rpartition(".")[2] in OPENERS:
        for part in (entry for argument in node.args for entry in _beginnings(argument)):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                if OUTSIDE.match(part.value):
                    yield f"names a path outside its folder ({part.value[:60]!r})"
                break


def _beginnings(node: ast.AST) -> Iterator[ast.AST]:
    """A node and those below it, where a path can begin: not later in a text put together."""
    yield node
    parts = ast.iter_child_nodes(node)
    if isinstance(node, ast.JoinedStr):
        parts = node.values[:1]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [node.left]
    for part in parts:
        yield from _beginnings(part)


def _text(value: str | bytes) -> Iterator[str]:
    text = value if isinstance(value, str) else value.decode("latin-1")
    longest = max((len(word) for word in text.split()), default=0)
    if longest > LONG_WORD:
        yield f"holds a word of {longest} characters, perhaps data in disguise"
    elif len(text) > LONG_TEXT:
        yield f"holds a text of {len(text)} characters"
    if SYSTEM_PATH.match(text):
        yield f"names a path outside its folder ({text[:60]!r})"


def _rebound(node: ast.stmt, aliases: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Names of the course that a statement outside any function gives another meaning."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        names = [node.name]
    else:
        names = [
            part.id
            for part in ast.walk(node)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        ]
    for name in names:
        home = aliases.get(name, "")
        # A device of one's own is an everyday line, not a trick; `passed` each check imports anew.
        everyday = home in ("course_utils.device", "course_utils.passed")
        if home.startswith("course_utils.") and not everyday:
            yield name, "gives one of the course's names another meaning"
