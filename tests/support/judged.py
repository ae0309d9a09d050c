"""Run a named answer with the judge: the answer in a process of its own, its checks in this one."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from functools import cache

import nbformat
import torch

# What PyTorch imports when it first tells a mode of an operator: once here, not in every fork.
import torch._dynamo
from nbformat import NotebookNode

from course_utils.grading.solution import Solution, read_solution
from course_utils.grading.verdict.answering import Answering
from course_utils.grading.verdict.genuine import Trials
from course_utils.grading.verdict.snapshot import Snapshot
from course_utils.learner import as_it_was
from course_utils.project import Chapter
from support.answers import (
    Answer,
    as_in_grading,
    checks_of,
    grader_of,
    notebook_of,
    run_cell,
)


@as_in_grading
def judge_answer(chapter: Chapter, answer: Answer) -> dict[str, BaseException | None]:
    """What each check of an answer's exercise raises when the judge runs it; None where it passed.

    As :func:`support.answers.run_answer`, but in two processes, as ``course grade`` does it.
    """
    verdicts: dict[str, BaseException | None] = {}
    for check in checks_of(chapter, answer.exercise):
        name = grader_of(check)["grade_id"]
        namespace = after_locked_cells(chapter, answer, check)
        try:
            with names_answered(namespace, chapter, answer, check):
                as_it_was.begin(check.source)
                run_cell(check.source, "check", namespace)
            verdicts[name] = None
        except Exception as error:
            verdicts[name] = error
        finally:
            as_it_was.end()
    return verdicts


def after_locked_cells(chapter: Chapter, answer: Answer, check: NotebookNode) -> dict:
    """The namespace that a check has without the answer."""
    namespace: dict = {"__name__": "__main__"}
    for cell in cells_before(chapter, check):
        if grader_of(cell).get("grade_id") != answer.exercise:
            run_cell(cell.source, "locked", namespace)
    return namespace


@contextlib.contextmanager
def names_answered(
    namespace: dict, chapter: Chapter, answer: Answer, check: NotebookNode
) -> Iterator[Snapshot]:
    """In a check's namespace the answer's names, answered by a process that ends with the block.

    Yields:
        That process, as the judge has it.
    """
    source = source_of(chapter)
    names = source.names[grader_of(check)["grade_id"]]
    pid, connection = fork_answer(answer, cells_before(chapter, check), names)
    try:
        snapshot = Snapshot(connection, as_it_was.may_seed(check.source))
        own = {name: namespace[name] for name in source.trials if name in namespace}
        trials = Trials(namespace, frozenset(source.skipped), own)
        namespace.update(snapshot.names(names, trials))
        yield snapshot
    finally:
        snapshot.hang_up()
        os.waitpid(pid, 0)


@cache
def source_of(chapter: Chapter) -> Solution:
    """What grading knows of a chapter: which names are the learner's, and which a check uses."""
    return read_solution(nbformat.writes(notebook_of(chapter)))


def cells_before(chapter: Chapter, check: NotebookNode) -> list[NotebookNode]:
    """The locked cells and exercises that stand before a check."""
    cells = notebook_of(chapter).cells
    before = cells[: next(i for i, cell in enumerate(cells) if cell is check)]
    return [
        cell
        for cell in before
        if cell.cell_type == "code" and grader_of(cell) and not grader_of(cell)["grade"]
    ]


def fork_answer(
    answer: Answer, cells: list[NotebookNode], names: list[str]
) -> tuple[int, socket.socket]:
    """Start a process with the locked cells and the answer; its pid and the judge's socket."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid:
        theirs.close()
        return pid, ours
    try:
        ours.close()
        torch.set_num_threads(1)
        namespace: dict = {"__name__": "__main__"}
        for cell in cells:
            if grader_of(cell).get("grade_id") == answer.exercise:
                run_cell(answer.source, "answer", namespace)
            elif not grader_of(cell)["solution"]:
                run_cell(cell.source, "locked", namespace)
        Answering(theirs, namespace, "<answer>").serve(names)
    finally:
        os._exit(0)


def answered(namespace, trials=()):
    """The names of a namespace, as a check sees them, answered by a process of their own.

    Args:
        namespace: the answer's.
        trials: the names in it of locked functions that try an answer.
    """
    return answered_by(lambda: namespace, namespace, trials)


@contextlib.contextmanager
def answered_by(notebook, chapter, trials, skipped=()):
    """The names of a notebook, as a check of the chapter sees them.

    Args:
        notebook: a function that makes the notebook's namespace, in the answer's process.
        chapter: the namespace of the locked cells.
        trials: the names in it of locked functions that try an answer.
        skipped: names that other cells bind.
    """
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            ours.close()
            torch.set_num_threads(1)
            namespace = notebook()
            Answering(theirs, namespace, "<answer>").serve(list(namespace))
        os._exit(0)
    theirs.close()
    answers = Snapshot(ours)
    try:
        own = {name: chapter[name] for name in trials}
        known = Trials(chapter, frozenset(skipped), own)
        yield answers.names([*chapter, *skipped], known)
    finally:
        answers.hang_up()
        os.waitpid(pid, 0)
