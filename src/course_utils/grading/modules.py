"""Which names of a notebook stand for certain modules, and which are a learner's own.

``gc`` may be the garbage collector, or the gradients of a critic. What a cell imports or binds
tells. Where both is possible, it is the module.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import lru_cache

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)
IMPORT = re.compile(r"\bimport\b(.*)")


@lru_cache(maxsize=1000)
def module_names(source: str, modules: frozenset[str]) -> frozenset[str]:
    """The names by which a notebook's cell has some of ``modules`` outside its functions.

    A cell that is no Python, as one with a magic, and a text that a cell runs, are read for the
    word ``import``. A class's submissions share most of their cells, so it is remembered what was
    read.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset(_in_a_text(source, modules))
    names = set(_Scope(tree, modules).imported)
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS):
            scope = _Scope(node, modules)
            names |= scope.imported & scope.shared
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= _in_a_text(node.value, modules)
    return frozenset(names)


def modules_meant(
    tree: ast.Module, modules: frozenset[str], known: Iterable[str] = ()
) -> set[ast.Name]:
    """The places in a cell where a name is read that stands for one of ``modules``.

    Args:
        tree: the cell's.
        modules: the modules' names.
        known: the names that the notebook has for them.
    """
    found: set[ast.Name] = set()
    scopes: dict[ast.AST, _Scope] = {
        node: _Scope(node, modules) for node in ast.walk(tree) if isinstance(node, SCOPES)
    }
    everywhere = set(known) | _Scope(tree, modules).imported
    # What a function imports for others makes a module of their own variables.
    lent = {name for scope in scopes.values() for name in scope.imported & scope.shared}
    done: set[ast.AST] = set()

    def look(node: ast.AST, seen: set[str]) -> None:
        done.add(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in seen:
            found.add(node)
        inside = seen
        if scope := scopes.get(node):
            inside = (seen - (scope.own - lent)) | scope.imported | (everywhere & scope.shared)
            for part in _read_outside(node):
                look(part, seen)
        for part in ast.iter_child_nodes(node):
            if part not in done:
                look(part, inside)

    look(tree, everywhere)
    return found


def _read_outside(node: ast.AST) -> list[ast.AST]:
    """What stands in a scope and is read in the one around it."""
    if isinstance(node, COMPREHENSIONS):
        return [node.generators[0].iter]
    outside: list[ast.AST | None] = []
    if isinstance(node, FUNCTIONS):
        outside += [*node.args.defaults, *node.args.kw_defaults]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        outside += [*node.decorator_list, node.returns]
    if isinstance(node, ast.ClassDef):
        outside += [*node.decorator_list, *node.bases, *node.keywords]
    return [part for part in outside if part is not None]


class _Scope:
    """What a function, a class, a comprehension or a cell binds, not what stands inside of those.

    Attributes:
        own: names that it binds to what is no module; none of a class, whose methods don't see
            them.
        imported: those that it binds to one of the modules.
        shared: those that it declares ``global`` or ``nonlocal``.
    """

    def __init__(self, node: ast.AST, modules: frozenset[str]) -> None:
        self.modules = modules
        self.bound: set[str] = set()
        self.imported: set[str] = set()
        self.shared: set[str] = set()
        if isinstance(node, COMPREHENSIONS):
            # What ``:=`` binds in it belongs to the scope around it.
            for part in node.generators:
                self.read(part.target)
        else:
            if isinstance(node, FUNCTIONS):
                self.bound |= {
                    part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)
                }
            for part in ast.iter_child_nodes(node):
                self.read(part)
        is_class = isinstance(node, ast.ClassDef)
        self.own = set() if is_class else self.bound - self.imported - self.shared

    def read(self, node: ast.AST) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.bound.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for part in node.names:
                self.take(part, isinstance(node, ast.Import))
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            self.shared |= set(node.names)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self.bound.add(node.id)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            self.bound.add(node.name)
        if not isinstance(node, SCOPES):
            for part in ast.iter_child_nodes(node):
                self.read(part)

    def take(self, part: ast.alias, whole: bool) -> None:
        """Note what an import binds: ``from os import sys`` brings the module, too."""
        name = part.asname or part.name.split(".")[0]
        if part.name == "*":
            self.imported |= self.modules
        elif (part.name.split(".")[0] if whole else part.name) in self.modules:
            self.imported.add(name)
        else:
            self.bound.add(name)


def _in_a_text(text: str, modules: frozenset[str]) -> set[str]:
    """The names that a text's imports may bind: every word behind one that names a module."""
    names: set[str] = set()
    for match in IMPORT.finditer(text):
        words = re.findall(r"\w+", match[1])
        if modules.intersection(words):
            names |= set(words) - {"as"}
    return names
