"""One submission: the student's notebook in one kernel, the verdict in a process of its own.

The student's kernel runs every cell but the checks. Where a check stands it forks a snapshot of
itself, which waits. When the notebook is through, its kernel is ended, and a second process, which
never sees a student's code, runs the locked cells and the checks; it asks the snapshots for what
the checks need. Each of the two is in a sandbox of its own.
"""

from __future__ import annotations

import asyncio
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import nbformat

from course_utils.grading.held import held_back
from course_utils.grading.scan import scan
from course_utils.grading.solution import read_solution
from course_utils.grading.students_notebook import StudentsNotebook
from course_utils.grading.submission import Outcome, Settings, Submission
from course_utils.grading.verdict.judgement import Judgement, hold, take_over_verdicts
from course_utils.kernels.sandbox import Sandbox
from course_utils.kernels.workplace import Scratch, Workplace
from course_utils.notebooks import as_json

# The sockets to the snapshots have these numbers and the following ones in both processes.
FIRST_DESCRIPTOR = 20


def execute(submission: Submission, settings: Settings) -> Outcome:
    """Run a submission's notebook and judge its answers.

    Raises:
        TemplateError, SandboxError: no kernel could be started; nothing that the student did.
        NotJudged: the process that judges ended; the submission has no marks then, not even zero.
    """
    # In a thread of its own: formgrader's button asks for this inside a running event loop.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(_execute(submission, settings))).result()


async def _execute(submission: Submission, settings: Settings) -> Outcome:
    began = time.monotonic()
    # It was validated when it was sanitised.
    notebook = nbformat.v4.reads(submission.notebook)
    solution = read_solution(submission.source)
    pairs = {name: socket.socketpair() for name in solution.names}
    phases: dict[str, float] = {}
    with workplace(settings) as sandbox:
        try:
            numbers = {name: FIRST_DESCRIPTOR + i for i, name in enumerate(solution.names)}
            answering = {numbers[name]: theirs.fileno() for name, (_, theirs) in pairs.items()}
            sandbox.put(submission.files)
            student = StudentsNotebook(
                notebook, settings, numbers, solution.names, submission.student
            )
            await student.run(sandbox, answering)
        finally:
            for _, theirs in pairs.values():
                theirs.close()
        try:
            judging = {numbers[name]: ours.fileno() for name, (ours, _) in pairs.items()}
            judge = Judgement(solution, settings, numbers, submission.student)
            with workplace(settings) as place:
                await judge.run(place, judging, partial(student.look_at_snapshot, sandbox))
        finally:
            for ours, _ in pairs.values():
                ours.close()
    messages = take_over_verdicts(notebook, judge, student.died)
    held = held_back(notebook, solution) if settings.hold_back else {}
    flags = hold(notebook, held, messages)
    phases = {
        "start": student.start_seconds + judge.start_seconds,
        "cells": sum(cell["seconds"] for cell in student.cells),
        "judge": judge.seconds,
        "all": time.monotonic() - began,
    }
    return Outcome(
        notebook=as_json(notebook),
        cells=student.cells,
        phases={name: round(seconds, 4) for name, seconds in phases.items()},
        messages=messages,
        died=student.died,
        flags=[*flags, *scan(notebook, solution.notebook)],
        memory_bytes=student.memory_bytes,
    )


def workplace(settings: Settings) -> Workplace:
    """A new place for one kernel, as isolated as the settings say."""
    return (
        Sandbox(settings.limits()) if settings.isolation == "bwrap" else Scratch(settings.limits())
    )
