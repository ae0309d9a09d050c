"""A check's own names: an answer that has a helper called ``case`` finds its helper, no case.

A check and an answer share the notebook's names, and a check says ``with every_case() as case``.
Names that are taken are therefore spelt otherwise in the check, before it is compiled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from contextlib import contextmanager
from typing import Any

PREFIX = "_of_the_check_"


def respelt(tree: ast.Module, taken: Iterable[str]) -> ast.Module:
    """A check that means the same, and leaves the notebook's names ``taken`` alone.

    What it reads under such a name before it binds it has to be there under the other spelling
    (:func:`spelt_otherwise`).

    Args:
        tree: the check, which is changed.
        taken: names that it binds.
    """
    names = frozenset(taken)
    return ast.fix_missing_locations(_Respell(names).visit(tree)) if names else tree


def spelt_otherwise(names: dict[str, Any], taken: Iterable[str]) -> dict[str, Any]:
    """What a notebook's names ``taken`` are, under the spelling that :func:`respelt` gives them."""
    return {PREFIX + name: names[name] for name in taken}


class _Respell(ast.NodeTransformer):
    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.in_class = False

    def _spelling(self, name: str) -> str:
        return PREFIX + name if name in self.names else name

    @contextmanager
    def _within(self, names: frozenset[str], in_class: bool):
        before = self.names, self.in_class
        self.names, self.in_class = names, in_class
        yield
        self.names, self.in_class = before

    def visit_Name(self, node: ast.Name) -> ast.Name:
        # What a class's body binds is an attribute.
        if not (self.in_class and isinstance(node.ctx, ast.Store)):
            node.id = self._spelling(node.id)
        return node

    def visit_alias(self, node: ast.alias) -> ast.alias:
        bound = node.asname or node.name
        if self._spelling(bound) != bound:
            node.asname = self._spelling(bound)
        return node

    def _visit_definition(self, node):
        if not self.in_class:
            node.name = self._spelling(node.name)
        node.decorator_list = [self.visit(one) for one in node.decorator_list]
        if isinstance(node, ast.ClassDef):
            node.bases = [self.visit(one) for one in node.bases]
            node.keywords = [self.visit(one) for one in node.keywords]
            names = self.names
        else:
            names = self._visit_arguments(node.args)
            node.returns = self.visit(node.returns) if node.returns else None
        with self._within(names, isinstance(node, ast.ClassDef)):
            node.body = [self.visit(one) for one in node.body]
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _visit_definition

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        with self._within(self._visit_arguments(node.args), False):
            node.body = self.visit(node.body)
        return node

    def _visit_arguments(self, arguments: ast.arguments) -> frozenset[str]:
        """The names that mean the same in a function; defaults belong to where it is defined."""
        self.visit(arguments)
        parameters = {node.arg for node in ast.walk(arguments) if isinstance(node, ast.arg)}
        return self.names - parameters

    def _visit_named(self, node):
        if node.name:
            node.name = self._spelling(node.name)
        return self.generic_visit(node)

    visit_ExceptHandler = visit_MatchAs = visit_MatchStar = _visit_named

    def _visit_names(self, node):
        node.names = [self._spelling(name) for name in node.names]
        return node

    visit_Global = visit_Nonlocal = _visit_names
