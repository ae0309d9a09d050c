"""A student's notebook, run; snapshots of its kernel are made where the checks stand."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from pathlib import Path

from ipykernel.compiler import get_file_name
from nbformat import NotebookNode

from course_utils.cells import exercise_of, grade_id, is_check
from course_utils.grading.runner import KernelEnded, Runner
from course_utils.grading.submission import Settings
from course_utils.grading.verdict.messages import LONGEST_FAULT
from course_utils.kernels.workplace import Scratch, Workplace

LOG = logging.getLogger(__name__)
# For a line of ours in a kernel: to seed it, to fork a snapshot.
OUR_SECONDS = 20
# An expression, so that nothing is bound in the student's namespace.
ANSWERING = "__import__('course_utils.grading.verdict.answering', fromlist=['_'])"
CONFINEMENT = "__import__('course_utils.kernels.confinement', fromlist=['_'])"


class StudentsNotebook(Runner):
    """A student's notebook: every cell is run but the checks, in whose place snapshots are made."""

    def __init__(
        self,
        notebook: NotebookNode,
        settings: Settings,
        descriptors: dict[str, int],
        names: dict[str, list[str]],
        student: str,
    ) -> None:
        super().__init__(notebook, settings)
        self.student = student
        self.descriptors, self.names = descriptors, names
        self.answers = {grade_id(cell): cell.source for cell in notebook.cells}
        self.cells: list[dict] = []
        # By the grade id of a check, the process that waits for it, as it is inside.
        self.snapshots: dict[str, int] = {}
        self.died = ""
        self.memory_bytes = self.inherited = 0
        self.start_seconds = 0.0

    async def run(self, sandbox: Workplace, descriptors: dict[int, int]) -> None:
        left = self.settings.for_cells()
        async with self.kernel(sandbox, descriptors):
            cells = [cell for cell in self.nb.cells if cell.cell_type == "code"]
            steps = [self.step(cell) for cell in cells]
            beginning = self.beginning(sandbox)
            self.ask([*beginning, *(step for step in steps if step is not None)])
            for line in beginning:
                await self.run_ours(line)
            self.inherited = self.memory("VmRSS")
            for number, (cell, step) in enumerate(zip(cells, steps, strict=True), start=1):
                began = time.monotonic()
                try:
                    if step is cell:
                        await self.run_next(min(left, self.settings.cell_seconds))
                    elif step is not None:
                        await self.make_snapshot(sandbox, grade_id(cell), step)
                except KernelEnded as error:
                    why = sandbox.killed_because or str(error)
                    self.died = f"{name_of(cell, number)}: {why}"
                seconds = time.monotonic() - began
                self.memory_bytes = max(self.memory_bytes, self.memory("VmHWM") - self.inherited)
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
            await asyncio.to_thread(sandbox.end_all_but, set(self.snapshots.values()))
        self.drop_malformed()

    def beginning(self, sandbox: Workplace) -> list[NotebookNode]:
        """Lines of ours that run before the first cell."""
        seed = f"import course_utils; course_utils.seed_everything({self.settings.seed})"
        lines = [line(f"{seed}; del course_utils")]
        if isinstance(sandbox, Scratch):
            lines.append(line(f"{CONFINEMENT}.adopt_orphans()"))
        return lines

    def step(self, cell: NotebookNode) -> NotebookNode | None:
        """What is run where a cell stands: itself, a line in place of a check, or nothing."""
        descriptor = self.descriptors.get(grade_id(cell)) if is_check(cell) else None
        if descriptor is None:
            return cell if cell.source.strip() else None
        answer = self.answers.get(exercise_of(grade_id(cell)), "")
        name = Path(get_file_name(answer)).name
        arguments = f"{descriptor}, {self.names[grade_id(cell)]!r}, {name!r}"
        return line(f"{ANSWERING}.wait_for_the_judge({arguments})")

    async def run_ours(self, step: NotebookNode) -> None:
        """Run a line of ours, and log where it fails. The notebook may have made that up."""
        for output in await self.run_next(OUR_SECONDS):
            if output.output_type == "error":
                said = f"{output.ename}: {output.evalue}"[:LONGEST_FAULT]
                words = "%s: a line of ours failed in the notebook's kernel: %s; it says:\n%s"
                LOG.warning(words, self.student, step.source, said, extra={"student": self.student})

    async def make_snapshot(self, sandbox: Workplace, check: str, step: NotebookNode) -> None:
        before = sandbox.leaders()
        await self.run_ours(step)
        # One at most, whatever else the notebook started meanwhile.
        for pid in sorted(sandbox.leaders() - before)[:1]:
            self.snapshots[check] = pid

    def memory(self, name: str) -> int:
        """A line of the kernel's ``/proc/PID/status``, in bytes; 0 once it has ended."""
        try:
            text = Path("/proc", str(self.provisioner.pid), "status").read_text()
        except OSError:
            return 0
        found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
        return int(found[1]) * 1024 if found else 0

    def look_at_snapshot(self, sandbox: Workplace, check: str) -> None:
        """Note the memory of what answers the judge for a check: the check's calls run there."""
        pids = [self.snapshots[check]] if check in self.snapshots else []
        most = sandbox.most_memory(pids) - self.inherited
        self.memory_bytes = max(self.memory_bytes, most)


def line(code: str) -> NotebookNode:
    """A line of ours, as a cell. By hand: nbformat would check it against its schema."""
    return NotebookNode(cell_type="code", source=code, metadata=NotebookNode(), outputs=[])


def name_of(cell: NotebookNode, number: int) -> str:
    """What to call a code cell: its grade id, else its number among the code cells."""
    return grade_id(cell) or f"code cell {number}"
