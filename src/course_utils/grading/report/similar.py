"""Near-identical answers, side by side for a person to look at. Nothing here judges anybody.

An answer's normal form is its syntax tree with the learner's names replaced in their order of
appearance, without docstrings, comments, type hints and formatting. Answers of one normal form are
the same but for names. Other pairs are compared token by token. Answers that many people gave,
that come close to the model solution or that are short say nothing, and are left out.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Indel

from course_utils.cells import SOLUTION

SHORTEST_ANSWER = 40  # tokens of the normal form, beyond those of the stub
LONGEST_ANSWER = 20_000  # characters: what is longer is no answer to an exercise
NEARLY = 0.9
# How many people may give one answer before it counts as the usual one: this many, or a part of
# the class where that is more.
USUAL_ANSWER = 5
USUAL_PART = 1 / 20

THE_SAME = "the same text"
BUT_FOR_NAMES = "the same but for names and comments"
NEARLY_THE_SAME = "nearly the same"

TOKEN = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|\w+|[^\w\s]")


@dataclass(frozen=True)
class SimilarAnswers:
    """Answers of several students that are alike.

    ``kind`` is one of this module's ``THE_SAME``, ``BUT_FOR_NAMES`` and ``NEARLY_THE_SAME``;
    ``ratio`` is the share of tokens in common, 1.0 for one normal form. ``sources`` holds two
    texts to compare, each with its student's name.
    """

    exercise: str
    students: tuple[str, ...]
    kind: str
    ratio: float
    sources: tuple[tuple[str, str], tuple[str, str]]


def similar_answers(
    answers: Mapping[str, Mapping[str, str]], solutions: Mapping[str, str]
) -> list[SimilarAnswers]:
    """Find the near-identical answers of a class.

    Args:
        answers: for each exercise's grade id, each student's text of that cell.
        solutions: for each exercise's grade id, the text of the solution notebook's cell, with
            nbgrader's solution marks. Where that defines no function and no class,
            learners predict values, and nothing is compared.

    Returns:
        In the exercises' order, the most alike first.
    """
    found = []
    for exercise, texts in answers.items():
        found += _in_exercise(exercise, texts, solutions.get(exercise, ""))
    return found


def _in_exercise(exercise: str, texts: Mapping[str, str], solution: str) -> list[SimilarAnswers]:
    students_of: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for student, text in sorted(texts.items()):
        if len(text) <= LONGEST_ANSWER:
            students_of[normal_form(text)].append(student)
    if solution and not re.search(r"^ *(async )?(def|class) ", solution, re.MULTILINE):
        return []  # predicted values: whoever is right writes the same
    ours = [normal_form(solution), normal_form(SOLUTION.sub("", solution))]
    forms = [form for form in students_of if len(form) - len(ours[1]) >= SHORTEST_ANSWER]
    if not forms:
        return []
    ratios = _ratios([*forms, *ours])
    # Who comes close to the model solution, or gives what many give, may well have come alone.
    usual = max(USUAL_ANSWER, USUAL_PART * len(texts))
    people = np.array([len(students_of[form]) for form in forms])
    alike = ratios[: len(forms), : len(forms)] >= NEARLY
    told = (alike @ people <= usual) & (ratios[: len(forms), len(forms) :] < NEARLY).all(axis=1)
    found = []
    for i, form in enumerate(forms):
        students = students_of[form]
        if told[i] and len(students) > 1:
            first, second = _two(students, texts)
            kind = THE_SAME if texts[first] == texts[second] else BUT_FOR_NAMES
            found.append(_pair(exercise, students, kind, 1.0, (first, second), texts))
        for j in range(i + 1, len(forms)):
            if told[i] and told[j] and alike[i, j]:
                others = students_of[forms[j]]
                both = (students[0], others[0])
                ratio = float(ratios[i, j])
                found.append(
                    _pair(exercise, [*students, *others], NEARLY_THE_SAME, ratio, both, texts)
                )
    return sorted(found, key=lambda pair: (-pair.ratio, pair.students))


def _two(students: list[str], texts: Mapping[str, str]) -> tuple[str, str]:
    """Two students of one normal form, their texts different ones where there are such."""
    first = students[0]
    return first, next((s for s in students if texts[s] != texts[first]), students[1])


def _pair(exercise, students, kind, ratio, shown, texts) -> SimilarAnswers:
    first, second = shown
    sources = ((first, texts[first]), (second, texts[second]))
    return SimilarAnswers(exercise, tuple(sorted(students)), kind, round(ratio, 3), sources)


def _ratios(forms: list[tuple[str, ...]]) -> np.ndarray:
    """The share of tokens that each pair of forms has in common; 0 below the threshold."""
    # rapidfuzz is quickest on text, so each different token becomes one character.
    numbers: dict[str, int] = {}
    texts = [
        "".join(chr(0x100 + numbers.setdefault(token, len(numbers)) % 0xD000) for token in form)
        for form in forms
    ]
    return process.cdist(
        texts, texts, scorer=Indel.normalized_similarity, score_cutoff=NEARLY, dtype=np.float32
    )


def normal_form(text: str) -> tuple[str, ...]:
    """An answer's tokens without what is easily changed; words and signs if it is no Python."""
    try:
        tree = ast.parse(text)
        _Plain(_own_names(tree)).visit(tree)
        plain = ast.unparse(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        plain = re.sub(r"#[^\n]*", "", text)
    return tuple(TOKEN.findall(plain))


def _own_names(tree: ast.Module) -> set[str]:
    """What the cell itself gives a name to: arguments, variables, functions, classes."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
    return names - set(dir(builtins))


class _Plain(ast.NodeTransformer):
    """Replaces the cell's own names and drops docstrings and type hints."""

    def __init__(self, own: set[str]) -> None:
        self.own = own
        self.names: dict[str, str] = {}

    def rename(self, name: str) -> str:
        if name not in self.own:
            return name
        return self.names.setdefault(name, f"name{len(self.names)}")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.rename(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg, node.annotation = self.rename(node.arg), None
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        # f(width=3) of the cell's own f; a keyword of PyTorch's keeps its name.
        node.arg = self.names.get(node.arg, node.arg) if node.arg else None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if node.value is None:
            return ast.Pass()
        return ast.Assign(targets=[node.target], value=node.value, lineno=node.lineno)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.name, node.returns = self.rename(node.name), None
        return self.visit_block(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self.rename(node.name)
        return self.visit_block(node)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self.visit_block(node)

    def visit_block(self, node):
        # A text that stands alone does nothing: a docstring, or code put out of use.
        node.body = [
            entry
            for entry in node.body
            if not (isinstance(entry, ast.Expr) and isinstance(entry.value, ast.Constant))
        ] or [ast.Pass()]
        return self.generic_visit(node)
