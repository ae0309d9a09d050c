"""The judge as the grader sees it: a process that gets an order and answers with verdicts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_output

from course_utils.cells import grade_id, is_check, is_locked
from course_utils.grading.runner import START_SECONDS, KernelEnded
from course_utils.grading.solution import Solution
from course_utils.grading.submission import Settings
from course_utils.kernels.overheard import Overheard
from course_utils.kernels.provisioner import (
    start_program,
)
from course_utils.kernels.workplace import Workplace

LOG = logging.getLogger(__name__)
# The socket between grader and judge, in the judge's process.
JUDGES_DESCRIPTOR = 19
STDERR = 2
# For a judge that has failed to say why, and end.
LAST_WORDS_SECONDS = 2
# Of one message of the judge's, beside what a check may print and show.
LONGEST_MESSAGE = 2**20


class NotJudged(RuntimeError):
    """The judge did not get ready, or ended before its last check: no one's marks can be told."""


class Judgement:
    """What the checks of the chapter's own notebook say, in a process that runs no student's code.

    Attributes:
        verdicts: the outputs of each check, by its grade id; those that did not run are missing.
        start_seconds: until the process was ready.
        seconds: what its cells took.
    """

    def __init__(
        self, solution: Solution, settings: Settings, descriptors: dict[str, int], student: str
    ) -> None:
        self.settings, self.student = settings, student
        self.cells = [cell for cell in solution.notebook.cells if is_check(cell) or is_locked(cell)]
        orders: list[dict[str, Any]] = [{"source": cell.source} for cell in self.cells]
        for cell, order in zip(self.cells, orders, strict=True):
            if is_check(cell):
                name = grade_id(cell)
                order |= {"descriptor": descriptors[name], "names": solution.names[name]}
        self.order = {
            "seed": settings.seed,
            "names": solution.learner_names,
            "trials": solution.trials,
            "skipped": solution.skipped,
            "output_bytes": settings.output_bytes,
            "cells": orders,
        }
        self.verdicts: dict[str, list[NotebookNode]] = {}
        self.start_seconds = self.seconds = 0.0

    async def run(
        self, place: Workplace, descriptors: dict[int, int], after_a_check: Callable[[str], None]
    ) -> None:
        """Run them all.

        Args:
            place: where the process runs.
            descriptors: the sockets to the snapshots, by their numbers there.
            after_a_check: is called with its grade id while its snapshot is still there.
        """
        began = time.monotonic()
        ours, theirs = socket.socketpair()
        with ours, Overheard() as overheard:
            with theirs:
                self.process = await start_program(
                    place,
                    "course_utils.grading.verdict.judge_process",
                    [str(JUDGES_DESCRIPTOR)],
                    fds={
                        STDERR: overheard.writer,
                        JUDGES_DESCRIPTOR: theirs.fileno(),
                        **descriptors,
                    },
                    env=self.settings.variables(),
                    threads=self.settings.threads,
                )
            try:
                await self.listen(ours, began, after_a_check)
            except NotJudged as error:
                # It closes the connection first, and then says what was raised.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.process.ended(), LAST_WORDS_SECONDS)
                error.add_note(f"what that process said: {overheard.text() or 'nothing'}")
                raise
            finally:
                self.process.kill()
                await self.process.ended()

    async def listen(
        self, connection: socket.socket, began: float, after_a_check: Callable[[str], None]
    ) -> None:
        """Send the order and take the verdicts.

        Raises:
            NotJudged: the process did not get ready, or ended before the last cell.
        """
        longest = self.settings.all_output_bytes() + LONGEST_MESSAGE
        reader, writer = await asyncio.open_unix_connection(sock=connection, limit=longest)
        where = "before it was ready"
        with contextlib.closing(writer):
            try:
                writer.write(json.dumps(self.order).encode() + b"\n")
                await self.message(reader, START_SECONDS)
                ready = time.monotonic()
                self.start_seconds = ready - began
                for cell in self.cells:
                    where = f"in {grade_id(cell)}"
                    left = self.settings.for_checks() - self.seconds
                    if left <= 0:
                        words = NO_TIME_LEFT.format(self.settings.checks_seconds)
                        outputs = [error_output(words)]
                    else:
                        seconds = min(left, self.settings.cell_seconds)
                        told = await self.message(reader, seconds)
                        outputs = told["outputs"]
                        self.seconds = time.monotonic() - ready
                        self.log(grade_id(cell), told["fault"])
                    if is_check(cell):
                        after_a_check(grade_id(cell))
                        self.verdicts[grade_id(cell)] = [nbformat.from_dict(one) for one in outputs]
            except (KernelEnded, OSError) as error:
                raise NotJudged(f"the process that judges failed {where}: {error}") from error

    def log(self, check: str, fault: str) -> None:
        """Log what a snapshot told of its own failure. It may have made that up."""
        if fault:
            words = "%s: a snapshot of the notebook failed at %s; it says:\n%s"
            LOG.warning(words, self.student, check, fault, extra={"student": self.student})

    async def message(self, reader: asyncio.StreamReader, seconds: float) -> Any:
        """The next line; a cell that takes too long is interrupted.

        Raises:
            KernelEnded: there is none, and there will be none.
        """
        line = asyncio.ensure_future(reader.readline())
        try:
            for patience in (seconds, self.settings.grace_seconds):
                await asyncio.wait({line}, timeout=patience)
                if line.done():
                    break
                self.process.send_signal(signal.SIGINT)
            if line.done() and line.result():
                return json.loads(line.result())
        except ValueError as error:
            raise KernelEnded("it said what cannot be read") from error
        finally:
            line.cancel()
        raise KernelEnded("it ended, or would not be interrupted")


NO_TIME_LEFT = "This check was not run: the checks before it took {:g} s, all that there is."
HELD_BACK = "HeldBack"
NOT_JUDGED = "This check was not run: the process that judges ended."


def error_output(words: str) -> NotebookNode:
    return new_output("error", ename="NotRun", evalue=words, traceback=[words])


def take_over_verdicts(notebook: NotebookNode, judge: Judgement, died: str) -> dict[str, str]:
    """Put what the judge says into the student's check cells.

    Returns:
        For each check that failed, the first words of its error.
    """
    messages = {}
    for cell in notebook.cells:
        if not is_check(cell):
            continue
        cell.outputs = judge.verdicts.get(grade_id(cell), [error_output(NOT_JUDGED)])
        cell.execution_count = None
        for output in cell.outputs:
            if output.output_type == "error":
                if output.ename == "NoAnswer" and died:
                    output.traceback = [*output.traceback, f"  it ended in {died}"]
                messages[grade_id(cell)] = f"{output.ename}: {output.evalue}"[:4000]
    return messages


def hold(notebook: NotebookNode, held: dict[str, str], messages: dict[str, str]) -> list[str]:
    """Let checks that passed give no points until a person has read the answer.

    Args:
        notebook: the student's, with the verdicts in it.
        held: by the grade id of a check, why, in words for the student.
        messages: those of the checks that failed; what is held goes in, too.

    Returns:
        A line for the instructor for each check that is held.
    """
    lines = []
    for cell in notebook.cells:
        name = grade_id(cell)
        if not is_check(cell) or name in messages or name not in held:
            continue
        output = error_output(held[name])
        output.ename = HELD_BACK
        cell.outputs.append(output)
        messages[name] = f"{HELD_BACK}: {held[name]}"
        lines.append(f"{name}: {held[name]}. If you find that it doesn't, enter its points by hand")
    return lines
