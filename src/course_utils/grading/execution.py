"""One submission: the student's notebook in one kernel, the verdict in a process of its own.

The student's kernel runs every cell but the checks. Where a check stands it forks a snapshot of
itself, which waits. When the notebook is through, its kernel is ended, and a second process, which
never sees a student's code, runs the locked cells and the checks; it asks the snapshots for what
the checks need. Each of the two is in a sandbox of its own.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import functools
import json
import logging
import math
import re
import signal
import socket
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete
from nbformat import NotebookNode
from nbformat.v4 import new_output

from course_utils.grading.scan import scan
from course_utils.kernels.overheard import Overheard
from course_utils.kernels.provisioner import (
    PromptClient,
    WarmProvisioner,
    running_kernel,
    start_program,
)
from course_utils.kernels.sandbox import Limits, Sandbox, Scratch, Workplace

LOG = logging.getLogger(__name__)
# The sockets to the snapshots have these numbers and the following ones in both processes.
FIRST_DESCRIPTOR = 20
# The socket between grader and judge, in the judge's process.
JUDGES_DESCRIPTOR = 19
STDERR = 2
# For a judge that has failed to say why, and end.
LAST_WORDS_SECONDS = 2
START_SECONDS = 120
# For a line of ours in a kernel: to seed it, to fork a snapshot.
SETUP_SECONDS = 20
# All cells together may say as much as this many may at most.
LOUD_CELLS = 10
# How long a kernel may be silent after its shell has replied, before the cell counts as done: what
# it publishes may be dropped on the way when there is very much of it, its last word included.
SILENT_SECONDS = 1.0
# How many messages about one cell are listened to.
MOST_MESSAGES = 200_000
# Of processor time, beside what a kernel's threads can use while its cells may run; and at most.
CPU_ROOM_SECONDS, MOST_CPU_SECONDS = 60, 10**8
# Of one message of the judge's, beside what a check may print and show.
LONGEST_MESSAGE = 2**20
# How a problem begins that is not the student's: the submission has no marks then.
NOT_GRADED = "not graded"
MARK = "runs_with_the_answer"
# An expression, so that nothing is bound in the student's namespace.
ANSWERING = "__import__('course_utils.grading.answering', fromlist=['_'])"
WORKPLACE = "__import__('course_utils.kernels.sandbox', fromlist=['_'])"
OUTPUTS = frozenset({"stream", "display_data", "execute_result", "update_display_data", "error"})


@dataclass(frozen=True)
class Submission:
    """What a student handed in, as it travels to whoever executes it.

    Attributes:
        student: whose it is.
        chapter: of which chapter.
        notebook: the sanitised notebook, as JSON text.
        source: the chapter's solution notebook, as JSON text: what the judge goes by.
        files: other files that the notebook may read, by relative POSIX path.
    """

    student: str
    chapter: str
    notebook: str
    source: str
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Settings:
    """How submissions are executed; times in seconds, sizes in bytes.

    Attributes:
        isolation: ``bwrap``, or ``none``: students' code runs as whoever grades.
        seed: what ``seed_everything`` is called with before the first cell.
        threads: how many threads a kernel computes with.
        pictures: whether the course's own drawings are drawn; else their words stand for them.
        cell_seconds: how long a cell may run before it is interrupted.
        notebook_seconds: how long all cells together may run.
        checks_seconds: how long all checks together may run.
        memory_bytes: of one process, and of all of a submission's processes together.
        processes: how many processes and threads there may be at once.
        file_bytes: of one file, and of all files together.
        output_bytes: what one cell may print and show before it is interrupted; all together may
            say ten times as much.
        grace_seconds: how long an interrupted cell may take to end before its kernel is killed.
    """

    isolation: str = "bwrap"
    seed: int = 0
    threads: int = 1
    pictures: bool = False
    cell_seconds: float = 60
    notebook_seconds: float = 600
    checks_seconds: float = 600
    memory_bytes: int = 4 * 2**30
    processes: int = 128
    file_bytes: int = 256 * 2**20
    output_bytes: int = 1_000_000
    grace_seconds: float = 5

    def __post_init__(self) -> None:
        for name in ("threads", "processes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: it has to be at least 1")
        for name in (
            *("cell_seconds", "notebook_seconds", "checks_seconds", "grace_seconds"),
            *("memory_bytes", "file_bytes", "output_bytes"),
        ):
            # Also refuses what is no number.
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}: it has to be above 0")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed is {self.seed}: it has to be from 0 to 2**32 - 1")

    def cpu_seconds(self) -> int:
        """The processor time of a process that is busy as long as it may be, and some room."""
        # The kernel works while the notebook runs, its snapshots while the checks do.
        busy = self.threads * max(self.notebook_seconds, self.checks_seconds)
        return math.ceil(min(busy, MOST_CPU_SECONDS)) + CPU_ROOM_SECONDS

    def limits(self) -> Limits:
        return Limits(
            memory_bytes=self.memory_bytes,
            processes=self.processes,
            cpu_seconds=self.cpu_seconds(),
            file_bytes=self.file_bytes,
            scratch_bytes=self.file_bytes,
        )


@dataclass(frozen=True)
class Outcome:
    """What came of a submission.

    Attributes:
        notebook: the executed notebook, as JSON text; its checks carry what the judge says.
        cells: for each code cell its ``id``, ``grade_id`` (or "") and ``seconds``, in order.
        phases: seconds for ``start`` (both processes), ``cells``, ``judge`` and ``all``.
        messages: by the grade id of each check that failed, the first words of what it said.
        died: where and why the student's kernel ended too early; "" if it did not.
        flags: what a person should look at; see ``scan``.
        memory_bytes: how much more memory the student's kernel had at most than at its start.
    """

    notebook: str
    cells: list[dict]
    phases: dict[str, float]
    messages: dict[str, str]
    died: str
    flags: list[str]
    memory_bytes: int


class KernelEnded(Exception):
    """The kernel is gone; the message says why."""


class NotJudged(RuntimeError):
    """The judge did not get ready, or ended before its last check: no one's marks can be told."""


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
    source = read_source(submission.source)
    pairs = {name: socket.socketpair() for name in source.names}
    phases: dict[str, float] = {}
    with workplace(settings) as sandbox:
        try:
            numbers = {name: FIRST_DESCRIPTOR + i for i, name in enumerate(source.names)}
            answering = {numbers[name]: theirs.fileno() for name, (_, theirs) in pairs.items()}
            sandbox.put(submission.files)
            student = StudentsNotebook(notebook, settings, numbers, source.names)
            await student.run(sandbox, answering)
        finally:
            for _, theirs in pairs.values():
                theirs.close()
        try:
            judging = {numbers[name]: ours.fileno() for name, (ours, _) in pairs.items()}
            judge = Judgement(source, settings, numbers, submission.student)
            with workplace(settings) as court:
                await judge.run(court, judging)
        finally:
            for ours, _ in pairs.values():
                ours.close()
    messages = take_over_verdicts(notebook, judge, student.died)
    phases = {
        "start": student.start_seconds + judge.start_seconds,
        "cells": sum(cell["seconds"] for cell in student.cells),
        "judge": judge.seconds,
        "all": time.monotonic() - began,
    }
    return Outcome(
        notebook=nbformat.v4.writes(notebook),
        cells=student.cells,
        phases={name: round(seconds, 4) for name, seconds in phases.items()},
        messages=messages,
        died=student.died,
        flags=scan(notebook, source.notebook),
        memory_bytes=student.memory_bytes,
    )


def grade_id(cell: NotebookNode) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def is_check(cell: NotebookNode) -> bool:
    """Whether the judge runs this cell: it gives points, and the learner writes nothing in it."""
    marks = cell.metadata.get("nbgrader", {})
    return cell.cell_type == "code" and bool(marks.get("grade")) and not marks.get("solution")


def is_locked(cell: NotebookNode) -> bool:
    """Whether this is a code cell that learners have as it is, neither exercise nor check."""
    marks = cell.metadata.get("nbgrader", {})
    unlike = marks.get("solution") or marks.get("grade")
    return cell.cell_type == "code" and bool(marks.get("locked")) and not unlike


def workplace(settings: Settings) -> Workplace:
    """A new place for one kernel, as isolated as the settings say."""
    return (
        Sandbox(settings.limits()) if settings.isolation == "bwrap" else Scratch(settings.limits())
    )


def environment(settings: Settings) -> dict[str, str]:
    """The variables of a kernel beside those of its workplace."""
    threads = str(settings.threads)
    return {
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "NBGRADER_EXECUTION": "autograde",
        "COURSE_DEVICE": "cpu",
        "COURSE_PICTURES": "drawn" if settings.pictures else "words",
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
    }


class Runner(NotebookClient):
    """Runs cells of one notebook in a kernel that may be hostile.

    nbclient turns the kernel's messages into outputs; waiting, time limits and the limit on
    outputs are ours, because a kernel that dies, hangs or floods must not cost more than its cell.
    """

    # nbclient's may be None; where cells run, there are always both.
    km: AsyncKernelManager  # ty: ignore[incompatible-mutable-override]
    kc: PromptClient  # ty: ignore[incompatible-mutable-override]

    def __init__(self, notebook: NotebookNode, settings: Settings) -> None:
        super().__init__(notebook, allow_errors=True, record_timing=False)
        self.settings = settings
        self.room = 0
        self.total_room = LOUD_CELLS * settings.output_bytes
        self.left_out = False
        self.updated = False

    @contextlib.asynccontextmanager
    async def kernel(self, sandbox: Workplace, descriptors: dict[int, int]) -> AsyncGenerator[None]:
        """Start this runner's kernel in ``sandbox``; at the end it is killed."""
        began = time.monotonic()
        async with running_kernel(
            sandbox,
            fds=descriptors,
            env=environment(self.settings),
            threads=self.settings.threads,
            startup_seconds=START_SECONDS,
        ) as (self.km, self.kc):
            self.start_seconds = time.monotonic() - began
            provisioner = self.km.provisioner
            assert isinstance(provisioner, WarmProvisioner)
            self.provisioner = provisioner
            self.ended = asyncio.ensure_future(provisioner.wait())
            try:
                yield
            finally:
                self.ended.cancel()

    async def run_code(self, code: str) -> None:
        """Run code that is not in the notebook; nothing that it says is kept.

        Raises:
            KernelEnded: as ``run_cell`` says.
        """
        # By hand: nbformat would check the cell against its schema each time.
        cell = NotebookNode(cell_type="code", source=code, metadata=NotebookNode(), outputs=[])
        self.nb.cells.append(cell)
        try:
            await self.run_cell(cell, len(self.nb.cells) - 1, SETUP_SECONDS, silent=True)
        finally:
            self.nb.cells.remove(cell)

    async def run_cell(
        self, cell: NotebookNode, index: int, seconds: float, *, silent: bool = False
    ) -> None:
        """Run a cell and keep its outputs.

        Raises:
            KernelEnded: the kernel died, or had to be killed because it would not be interrupted.
        """
        self.room, self.left_out = self.settings.output_bytes, False
        self.largest_updates: dict[str, int] = {}
        self.clear_before_next_output = False
        cell.outputs = []
        if self.ended.done():
            raise KernelEnded(self.how_it_ended())
        request = self.kc.execute(
            cell.source, silent=silent, allow_stdin=False, stop_on_error=False
        )
        replied = asyncio.ensure_future(self.reply(request))
        listening = asyncio.ensure_future(self.listen(request, cell, index, replied))
        late = False
        try:
            await self.first(listening, seconds, replied)
            if replied.done() and not listening.done():
                # It has run; what it said is still being read, which is not its time.
                await self.first(listening, seconds)
                if not listening.done() and not self.ended.done():
                    self.left_out = True
                    return
            if not listening.done() and not self.ended.done():
                late = True
                await self.interrupt()
                await self.first(listening, self.settings.grace_seconds)
            if self.ended.done() and not listening.done():
                # What it said last may still be on its way.
                await self.first(listening, 0.1)
                raise KernelEnded(self.how_it_ended())
            if not listening.done():
                await self.km.shutdown_kernel(now=True)
                raise KernelEnded(f"it ran for {seconds:g} s and would not be interrupted")
            listening.result()
        finally:
            listening.cancel()
            replied.cancel()
            if late:
                text = f"[interrupted after {seconds:g} s]\n"
                cell.outputs.append(new_output("stream", name="stdout", text=text))
            if self.left_out:
                text = f"[more than {self.settings.output_bytes} bytes: the rest is left out]\n"
                cell.outputs.append(new_output("stream", name="stdout", text=text))

    def how_it_ended(self) -> str:
        if self.ended.result() == -signal.SIGXCPU:
            return f"it used {self.settings.cpu_seconds()} s of processor time"
        return "it ended"

    async def first(
        self, listening: asyncio.Future, seconds: float, *others: asyncio.Future
    ) -> None:
        """Wait until the cell is done, the kernel has ended, or the time is over."""
        await asyncio.wait(
            {listening, self.ended, *others}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )

    async def interrupt(self) -> None:
        with contextlib.suppress(OSError, RuntimeError):  # it has ended
            await self.km.interrupt_kernel()

    async def reply(self, request: str) -> None:
        """Wait until the kernel's shell has replied to a request."""
        while True:
            await asyncio.sleep(0)
            # As in ``listen``: a student's code may send anything.
            with contextlib.suppress(Exception):
                message = await self.next_message(self.kc.shell_channel)
                if message["parent_header"].get("msg_id") == request:
                    return

    async def listen(
        self, request: str, cell: NotebookNode, index: int, replied: asyncio.Future
    ) -> None:
        """Take the kernel's messages about one request until it says that it is done.

        It is done as well when its shell has replied and it says nothing more.
        """
        for _ in range(MOST_MESSAGES):
            # Messages may come without end, and the time limit must be heard all the same.
            await asyncio.sleep(0)
            upcoming = asyncio.ensure_future(self.next_message(self.kc.iopub_channel))
            try:
                await asyncio.wait({upcoming, replied}, return_when=asyncio.FIRST_COMPLETED)
                if not upcoming.done():
                    await asyncio.wait({upcoming}, timeout=SILENT_SECONDS)
                if not upcoming.done():
                    return
            finally:
                upcoming.cancel()
            # A kernel's own messages can be read; what a student's code sends may be anything.
            with contextlib.suppress(Exception):
                message = upcoming.result()
                if message["parent_header"].get("msg_id") != request:
                    continue
                # Widgets have no front end here that could answer them.
                if "comm" in message["msg_type"]:
                    continue
                if message["msg_type"] in OUTPUTS and not await self.fits(message):
                    continue
                # nbclient checks each output, but not what an update makes of an earlier one.
                self.updated |= bool((message["content"].get("transient") or {}).get("display_id"))
                try:
                    self.process_message(message, cell, index)
                except CellExecutionComplete:
                    return

    async def next_message(self, channel: Any) -> dict:
        """What the kernel says next. Jupyter's channel asks first whether there is anything."""
        _, parts = channel.session.feed_identities(await channel.socket.recv_multipart())
        return channel.session.deserialize(parts)

    async def fits(self, message: dict) -> bool:
        """Whether an output is within what the cell, and all cells together, may still say."""
        size = len(json.dumps(message["content"], default=str))
        if message["msg_type"] == "update_display_data":
            # It takes the place of what was shown: only what it adds counts.
            name = str(message["content"].get("transient", {}).get("display_id"))
            largest = self.largest_updates.get(name, 0)
            self.largest_updates[name] = max(largest, size)
            size = max(0, size - largest)
        self.room -= size
        self.total_room -= size
        if self.room >= 0 and self.total_room >= 0:
            return True
        if self.room < 0 and not self.left_out:
            await self.interrupt()
        self.left_out = True
        return False

    def drop_malformed(self) -> None:
        """Keep what a notebook may hold: no kernel says anything else."""
        for cell in self.nb.cells:
            if cell.cell_type == "code":
                if type(cell.execution_count) is not int or cell.execution_count < 0:
                    cell.execution_count = None
                if self.updated:
                    cell.outputs = [output for output in cell.outputs if well_formed(output)]


def well_formed(output: NotebookNode) -> bool:
    try:
        nbformat.validate(output, ref="output", version=4)
    except nbformat.ValidationError:
        return False
    return True


class StudentsNotebook(Runner):
    """A student's notebook: every cell is run but the checks, in whose place snapshots are made."""

    def __init__(
        self,
        notebook: NotebookNode,
        settings: Settings,
        descriptors: dict[str, int],
        names: dict[str, list[str]],
    ) -> None:
        super().__init__(notebook, settings)
        self.descriptors, self.names = descriptors, names
        self.cells: list[dict] = []
        self.snapshots: set[int] = set()
        self.died = ""
        self.memory_bytes = 0
        self.start_seconds = 0.0

    async def run(self, sandbox: Workplace, descriptors: dict[int, int]) -> None:
        left = self.settings.notebook_seconds
        async with self.kernel(sandbox, descriptors):
            seed = f"import course_utils; course_utils.seed_everything({self.settings.seed})"
            await self.run_code(f"{seed}; del course_utils")
            if isinstance(sandbox, Scratch):
                await self.run_code(f"{WORKPLACE}.adopt_orphans()")
            inherited = self.memory("VmRSS")
            cells = [cell for cell in self.nb.cells if cell.cell_type == "code"]
            for number, cell in enumerate(cells, start=1):
                began = time.monotonic()
                try:
                    await self.run_one(sandbox, cell, min(left, self.settings.cell_seconds))
                except KernelEnded as error:
                    why = sandbox.killed_because or str(error)
                    self.died = f"{name_of(cell, number)}: {why}"
                seconds = time.monotonic() - began
                self.memory_bytes = max(self.memory_bytes, self.memory("VmHWM") - inherited)
                left -= seconds
                self.cells.append(
                    {"id": cell.get("id", ""), "grade_id": grade_id(cell), "seconds": seconds}
                )
                if not self.died and left <= 0:
                    most = self.settings.notebook_seconds
                    self.died = f"{name_of(cell, number)}: the notebook ran for {most:g} s"
                if self.died:
                    break
            # With all that it started, wherever that went: nothing disturbs the judge.
            await asyncio.to_thread(sandbox.end_all_but, self.snapshots)
        self.drop_malformed()

    def memory(self, name: str) -> int:
        """A line of the kernel's ``/proc/PID/status``, in bytes; 0 once it has ended."""
        try:
            text = Path("/proc", str(self.provisioner.pid), "status").read_text()
        except OSError:
            return 0
        found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
        return int(found[1]) * 1024 if found else 0

    async def run_one(self, sandbox: Workplace, cell: NotebookNode, seconds: float) -> None:
        descriptor = self.descriptors.get(grade_id(cell)) if is_check(cell) else None
        if descriptor is None:
            if cell.source.strip():
                await self.run_cell(cell, self.nb.cells.index(cell), seconds)
            return
        names, before = self.names[grade_id(cell)], sandbox.leaders()
        await self.run_code(f"{ANSWERING}.wait_for_the_judge({descriptor}, {names!r})")
        # One at most, whatever else the notebook started meanwhile.
        self.snapshots.update(sorted(sandbox.leaders() - before)[:1])


class Judgement:
    """What the checks of the chapter's own notebook say, in a process that runs no student's code.

    Attributes:
        verdicts: the outputs of each check, by its grade id; those that did not run are missing.
        start_seconds: until the process was ready.
        seconds: what its cells took.
    """

    def __init__(
        self, source: Source, settings: Settings, descriptors: dict[str, int], student: str
    ) -> None:
        self.settings, self.student = settings, student
        self.cells = [cell for cell in source.notebook.cells if is_check(cell) or is_locked(cell)]
        orders: list[dict[str, Any]] = [{"source": cell.source} for cell in self.cells]
        for cell, order in zip(self.cells, orders, strict=True):
            if is_check(cell):
                name = grade_id(cell)
                order |= {"descriptor": descriptors[name], "names": source.names[name]}
        self.order = {
            "seed": settings.seed,
            "names": source.learner_names,
            "trials": source.trials,
            "output_bytes": settings.output_bytes,
            "cells": orders,
        }
        self.verdicts: dict[str, list[NotebookNode]] = {}
        self.start_seconds = self.seconds = 0.0

    async def run(self, court: Workplace, descriptors: dict[int, int]) -> None:
        """Run them all.

        Args:
            court: where the process runs.
            descriptors: the sockets to the snapshots, by their numbers there.
        """
        began = time.monotonic()
        ours, theirs = socket.socketpair()
        with ours, Overheard() as overheard:
            with theirs:
                self.process = await start_program(
                    court,
                    "course_utils.grading.judge_process",
                    [str(JUDGES_DESCRIPTOR)],
                    fds={
                        STDERR: overheard.writer,
                        JUDGES_DESCRIPTOR: theirs.fileno(),
                        **descriptors,
                    },
                    env=environment(self.settings),
                    threads=self.settings.threads,
                )
            try:
                await self.listen(ours, began)
            except NotJudged as error:
                # It closes the connection first, and then says what was raised.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.process.ended(), LAST_WORDS_SECONDS)
                error.add_note(f"what that process said: {overheard.text() or 'nothing'}")
                raise
            finally:
                self.process.kill()
                await self.process.ended()

    async def listen(self, connection: socket.socket, began: float) -> None:
        """Send the order and take the verdicts.

        Raises:
            NotJudged: the process did not get ready, or ended before the last cell.
        """
        longest = LOUD_CELLS * self.settings.output_bytes + LONGEST_MESSAGE
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
                    left = self.settings.checks_seconds - self.seconds
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


@dataclass(frozen=True)
class Source:
    """A chapter's solution notebook, read for grading.

    Attributes:
        notebook: itself; not to be changed.
        learner_names: the names that the judge takes from the student's kernel.
        trials: those among them that locked cells bind.
        names: by the grade id of each check, in order, those of them that it uses.
    """

    notebook: NotebookNode
    learner_names: list[str]
    trials: list[str]
    names: dict[str, list[str]]


@functools.lru_cache(maxsize=4)
def read_source(text: str) -> Source:
    """Read a solution notebook; a class's submissions all have the same."""
    notebook = nbformat.v4.reads(text)
    bound = [(cell, name) for cell in notebook.cells for name in names_of_the_answer(cell)]
    learner_names = [name for _, name in bound]
    trials = [name for cell, name in bound if is_locked(cell)]
    return Source(notebook, learner_names, trials, names_of_checks(notebook, learner_names))


def names_of_checks(notebook: NotebookNode, learner_names: list[str]) -> dict[str, list[str]]:
    """By the grade id of each check, in order, the names of the learner's that it uses.

    It may use them by way of the locked cells: a check calls ``check_rows``, a locked function,
    and that calls the learner's ``rows``.
    """
    leads_to: dict[str, set[str]] = {}
    for cell in notebook.cells:
        if is_locked(cell):
            for statement in statements_of(cell):
                for name in bound_names(statement):
                    leads_to.setdefault(name, set()).update(used_names(statement))
    names = {}
    for cell in notebook.cells:
        if is_check(cell):
            used, new = set(), used_names(ast.parse(cell.source))
            while new:
                used |= new
                new = {far for name in new for far in leads_to.get(name, ())} - used
            names[grade_id(cell)] = sorted(used.intersection(learner_names))
    return names


def statements_of(cell: NotebookNode) -> list[ast.stmt]:
    """A cell's statements; none where it is no plain Python, but a ``%`` or a ``!``."""
    try:
        return ast.parse(cell.source).body
    except SyntaxError:
        return []


def used_names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def names_of_the_answer(cell: NotebookNode) -> list[str]:
    """The names that the judge takes from the student's kernel.

    What an exercise cell binds; of a locked cell, the functions that it marks by
    ``@runs_with_the_answer``: they try the answer on what cannot travel, such as a module.
    """
    if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution"):
        return bound_names(ast.parse(cell.source))
    if not is_locked(cell) or MARK not in cell.source:
        return []
    return [
        node.name
        for node in ast.parse(cell.source).body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id == MARK for mark in node.decorator_list)
    ]


def bound_names(tree: ast.AST) -> list[str]:
    """The names that statements bind, not those inside their functions."""
    names: list[str] = []

    class Binder(ast.NodeVisitor):
        def visit_FunctionDef(self, node):
            names.append(node.name)

        visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

        def visit_Lambda(self, node):
            pass

        def visit_comprehension(self, node):
            # Its variable is its own; what ``:=`` binds inside is the cell's.
            for part in (node.iter, *node.ifs):
                self.visit(part)

        def visit_Name(self, node):
            if isinstance(node.ctx, ast.Store):
                names.append(node.id)

    Binder().visit(tree)
    return list(dict.fromkeys(names))


def name_of(cell: NotebookNode, number: int) -> str:
    """What to call a code cell: its grade id, else its number among the code cells."""
    return grade_id(cell) or f"code cell {number}"
