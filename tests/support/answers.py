"""The named answers under ``tests/answers/``: read them, and run one against its check cells.

``tests/answers/CHAPTER/GRADE_ID.py`` is a percent file. Each cell is what one learner might type
into that exercise's cell::

    # %% wrong="counts bytes" says=["in elements, not bytes"]
    def element_offset(...): ...

    # %% right="recursion over the dimensions"
    def element_offset(...): ...

``says`` lists the words that the failing check's message must contain. ``judge="passes"`` says that
the judge cannot tell this wrong answer: it hands over tensors of its own with each call.
``judge="differs"``: both refuse it, in other cases: it goes by addresses in memory, or keeps
something from one check to the next.
"""

from __future__ import annotations

import ast
import linecache
import os
import random
import sys
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from types import CodeType, SimpleNamespace
from unittest.mock import patch

from nbformat import NotebookNode

from course_utils.authoring.answer_files import read_cells
from course_utils.authoring.mutants.running import MODEL
from course_utils.authoring.source import read_source
from course_utils.cells import marks_of as grader_of
from course_utils.kernels import template, template_process
from course_utils.learner import as_it_was
from course_utils.learner.own_names import respelt, spelt_otherwise
from course_utils.project import Chapter, all_chapters, pick_chapters

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = ROOT / "tests" / "answers"

# The name of the only chapter to be tested (pytest's option ``--chapter``); empty for all of them.
# To read the others would take most of a minute.
only = ""
# Whether every answer is tried, or a sample of each exercise (tried).
every = False

# Exercises whose answers start servers, workers or ranks, compile, export or train: each takes a
# third of a second of a processor, or a second of waiting, up to ten times that.
SLOW = {
    "06_custom_gradients": {"hessian-vector", "per-sample-grads", "jacobian-both-ways"},
    "09_layers": {"tiny-transformer"},
    "11_optimizers": {"sgd-family"},
    "12_data_pipelines": {
        *("worker-rng", "shard-iterable", "pack-it", "resumable", "find-the-bottleneck"),
        *("tsn-segments", "bucket-sampler"),
    },
    "13_training": {"best-checkpoint", "deterministic", "exact-resume"},
    "14_visualization": {"loss-landscape", "diagnose"},
    "15_debugging": {"loader-autopsy"},
    "16_performance": {"graph-breaks"},
    "17_distributed": {
        *("ddp-by-hand", "collectives-from-sendrecv", "ring-all-reduce", "no-sync"),
        *("clinic-repair", "sync-bn", "unequal-shards", "compress"),
    },
    "18_sharding": {
        *("sharded-optimizer", "fully-sharded", "tensor-parallel", "pipeline"),
        *("sharded-checkpoint", "elastic"),
    },
    "19_deployment": {
        *("serve-it", "onnx-parity", "dynamic-batching", "export-it", "preprocess-parity"),
    },
    "20_internals": {"custom-operator"},
    "21_capstone": {"fit"},
}
# So many answers are tried beside the model solution, which nbval runs.
RIGHT_OF_SLOW, WRONG_OF_SLOW = 1, 1
RIGHT_OF_OTHERS, WRONG_OF_OTHERS = 2, 2


@dataclass(frozen=True)
class Answer:
    """One learner's text for one exercise, and what its checks have to make of it."""

    chapter: str
    exercise: str
    name: str
    right: bool
    says: tuple[str, ...]
    source: str
    judge: str = ""


@cache
def notebook_of(chapter: Chapter) -> NotebookNode:
    """The chapter's solution notebook, without outputs, as the build reads it."""
    return read_source(chapter.source)


def exercises(chapter: Chapter) -> list[str]:
    """The grade ids of the cells that learners fill in, in order."""
    cells = notebook_of(chapter).cells
    return [grader_of(cell)["grade_id"] for cell in cells if grader_of(cell).get("solution")]


def checks_of(chapter: Chapter, exercise: str) -> list[NotebookNode]:
    """The check cells of an exercise: grade ids ``EXERCISE-check``, ``EXERCISE-check-2``, …"""
    wanted = exercise + "-check"
    return [
        cell
        for cell in notebook_of(chapter).cells
        if grader_of(cell).get("grade")
        and (
            grader_of(cell)["grade_id"] == wanted
            or grader_of(cell)["grade_id"].startswith(wanted + "-")
        )
    ]


def model_answer(chapter: Chapter, exercise: str) -> Answer:
    """The chapter's own solution, as an answer like any other."""
    cell = next(
        cell for cell in notebook_of(chapter).cells if grader_of(cell).get("grade_id") == exercise
    )
    return Answer(chapter.name, exercise, MODEL, True, (), cell.source)


@cache
def read_answers(chapter: Chapter) -> tuple[Answer, ...]:
    """Every named answer of a chapter, in the order of the files' names; read once.

    Raises:
        ValueError: a cell says neither ``right`` nor ``wrong``, or a wrong one promises no words.
    """
    answers = []
    for path in sorted((ANSWERS / chapter.name).glob("*.py")):
        for cell in read_cells(path):
            if cell.is_text:
                continue
            right, wrong = cell.options.get("right"), cell.options.get("wrong")
            says, judge = cell.options.get("says", []), cell.options.get("judge", "")
            if (
                bool(right) == bool(wrong)
                or bool(wrong) != bool(says)
                # Of a text every letter would be looked for, and found.
                or not isinstance(says, list)
                or not all(isinstance(words, str) and words.strip() for words in says)
                or judge not in (("", "passes", "differs") if wrong else ("",))
            ):
                raise ValueError(
                    f'{path}: each cell needs right="…", or wrong="…" and says=["…"]: '
                    f"{cell.source[:60]!r}"
                )
            known = chapter.name, path.stem, right or wrong, bool(right), tuple(says), cell.source
            answers.append(Answer(*known, judge=judge))
    return tuple(answers)


def is_slow(chapter: Chapter, exercise: str) -> bool:
    """Whether an exercise is slow, and answers are sampled this time."""
    return not every and exercise in SLOW.get(chapter.name, ())


def tried(chapter: Chapter, exercise: str) -> list[Answer]:
    """The named answers of an exercise that are run: all, or a seeded sample."""
    found = [answer for answer in read_answers(chapter) if answer.exercise == exercise]
    if every:
        return found
    if is_slow(chapter, exercise):
        limits = RIGHT_OF_SLOW, WRONG_OF_SLOW
    else:
        limits = RIGHT_OF_OTHERS, WRONG_OF_OTHERS
    kept = []
    for right, most in zip((True, False), limits, strict=True):
        kind = [answer for answer in found if answer.right == right]
        kept += random.Random(exercise).sample(kind, min(most, len(kind)))
    return [answer for answer in found if answer in kept]


@cache
def drawn_for_the_judge(chapter: Chapter, exercise: str) -> Answer | None:
    """The answer of an exercise that the judge runs where answers are sampled; None is the stub."""
    drawn = random.Random(exercise).choice(("right", "wrong", "stub"))
    if is_slow(chapter, exercise):
        drawn = "right"
    if drawn == "stub":
        return None
    return next(one for one in tried(chapter, exercise) if one.right == (drawn == "right"))


# Pictures are words, as in grading. Once for all cells: to bring the whole environment back takes
# as long as most cells.
as_in_grading = patch.dict(os.environ, COURSE_PICTURES="words")


@cache
def settle() -> None:
    """Import what every chapter uses, once for a process, and make forks of it quick.

    All of it stays: a check that collects garbage need not look through it. And forks, hundreds of
    them, copy a shorter table of pages.
    """
    for name in ("torch", "matplotlib.pyplot"):
        import_module(name)
    if template.supported():
        template_process.make_forks_quick()
    seed_without_stacks()


def seed_without_stacks() -> None:
    """Where no accelerator is, ``torch.manual_seed`` formats a stack for each kind of it, unread.

    A seed then takes half a millisecond below pytest's frames, and some checks seed hundreds of
    times.
    """
    import torch

    if not torch.accelerator.is_available():
        for kind in (torch.cuda, torch.xpu, torch.mtia):
            kind.traceback = SimpleNamespace(format_stack=list)


@as_in_grading
def run_answer(chapter: Chapter, answer: Answer) -> dict[str, BaseException | None]:
    """Run one answer and its check cells, hidden tests included, in a namespace of its own.

    Only what a check may lean on is there: the locked cells (the set-up cell among them) that come
    before the check, and the answer.

    Returns:
        For each check cell's grade id, what it raised, or None where it passed. An answer that
        raises by itself fails every check with that exception.
    """
    settle()
    namespace: dict = {"__name__": "__main__"}
    verdicts: dict[str, BaseException | None] = {}
    checks = {grader_of(cell)["grade_id"]: cell for cell in checks_of(chapter, answer.exercise)}
    broken: BaseException | None = None
    for cell in notebook_of(chapter).cells:
        grader = grader_of(cell)
        if cell.cell_type != "code" or not grader:
            continue
        name = grader["grade_id"]
        if name == answer.exercise:
            before = as_it_was.State()
            try:
                run_cell(answer.source, answer.name, namespace)
            except Exception as error:
                broken = error
        elif name in checks:
            aside = as_it_was.put_aside(as_it_was.stored_names(cell.source), namespace)
            taken = frozenset(aside if as_it_was.may_be_respelt(cell.source) else ())
            try:
                if broken is not None:
                    raise broken
                as_it_was.begin(cell.source, f"<{answer.name}>")
                run_cell(cell.source, name, namespace, taken)
                verdicts[name] = None
            except Exception as error:
                verdicts[name] = error
            namespace.update(aside)
            left = as_it_was.end()
            if left and verdicts[name] is not None:
                tell_what_is_left(verdicts[name], left)
        elif grader["locked"] and not grader["grade"]:
            run_cell(cell.source, name, namespace)
        if len(verdicts) == len(checks):
            break
    before.put_back()
    return verdicts


def tell_what_is_left(error: BaseException, left: list[str]) -> None:
    """Put what an answer left behind under what its check said; a notebook prints it there."""
    error.args = (f"{error}\n{as_it_was.LEFT.format('; '.join(left))}",)


@cache
def verdicts_of(chapter: Chapter, answer: Answer) -> dict[str, BaseException | None]:
    """What :func:`run_answer` found, run once however often it is asked for."""
    limit = sys.getrecursionlimit()
    verdicts = run_answer(chapter, answer)
    sys.setrecursionlimit(limit)  # some answers raise it
    for error in verdicts.values():
        if error is not None:
            # The frames would hold every tensor of the answer.
            error.with_traceback(None)
            error.__context__ = error.__cause__ = None
    return verdicts


def run_cell(source: str, name: str, namespace: dict, taken: frozenset[str] = frozenset()) -> None:
    """Execute a cell's text, in a traceback ``<name>``; names ``taken`` stay as they are."""
    namespace.update(spelt_otherwise(namespace, taken))
    exec(_compiled(source, f"<{name}>", taken), namespace)


@lru_cache(maxsize=200)
def _compiled(source: str, name: str, taken: frozenset[str]) -> CodeType:
    # A chapter's locked cells are run before every answer. Not with this file's own future: a
    # learner's annotations are looked up.
    # As IPython does: a traceback shows the lines.
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    tree = compile(source, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    return compile(respelt(tree, taken), name, "exec", dont_inherit=True)


def chapters() -> list[Chapter]:
    """Every chapter of this checkout; with ``--chapter`` that one."""
    return pick_chapters(ROOT, [only]) if only else all_chapters(ROOT)
