"""What is executed, how, and what came of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from course_utils.kernels.forked_kernel import INLINE_BACKEND
from course_utils.kernels.workplace import Limits

# Of processor time, beside what a kernel's threads can use while its cells may run; and at most.
CPU_ROOM_SECONDS, MOST_CPU_SECONDS = 60, 10**8
# All cells together may say as much as this many may at most.
LOUD_CELLS = 10
# How a problem begins that is not the student's: the submission has no marks then.
NOT_GRADED = "not graded"


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
        hold_back: whether the points of answers that may have read what a trial knows wait for a
            person; see ``held``.
        pictures: whether the course's own drawings are drawn; else their words stand for them.
        cell_seconds: how long a cell may run before it is interrupted.
        notebook_seconds: how long all cells together may run.
        checks_seconds: how long all checks together may run.
        patience_seconds: after how much of either the execution ends although there may be more: an
            outcome that took so long isn't the submission's own. No other limit goes by it.
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
    hold_back: bool = True
    pictures: bool = False
    cell_seconds: float = 60
    notebook_seconds: float = 600
    checks_seconds: float = 600
    patience_seconds: float = math.inf
    memory_bytes: int = Limits.memory_bytes
    processes: int = Limits.processes
    file_bytes: int = Limits.file_bytes
    output_bytes: int = 1_000_000
    grace_seconds: float = 5

    def __post_init__(self) -> None:
        for name in ("threads", "processes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: it has to be at least 1")
        for name in (
            *("cell_seconds", "notebook_seconds", "checks_seconds", "patience_seconds"),
            "grace_seconds",
            *("memory_bytes", "file_bytes", "output_bytes"),
        ):
            # Also refuses what is no number.
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}: it has to be above 0")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed is {self.seed}: it has to be from 0 to 2**32 - 1")

    def for_cells(self) -> float:
        """How long all cells run at most, with this much patience."""
        return min(self.notebook_seconds, self.patience_seconds)

    def for_checks(self) -> float:
        """How long all checks run at most, with this much patience."""
        return min(self.checks_seconds, self.patience_seconds)

    def cpu_seconds(self) -> int:
        """The processor time of a process that is busy as long as it may be, and some room."""
        # The kernel works while the notebook runs, its snapshots while the checks do.
        busy = self.threads * max(self.notebook_seconds, self.checks_seconds)
        return math.ceil(min(busy, MOST_CPU_SECONDS)) + CPU_ROOM_SECONDS

    def all_output_bytes(self) -> int:
        """What all cells together may print and show."""
        return LOUD_CELLS * self.output_bytes

    def variables(self) -> dict[str, str]:
        """The environment of a kernel, beside that of its workplace."""
        threads = str(self.threads)
        return {
            "MPLBACKEND": INLINE_BACKEND,
            "NBGRADER_EXECUTION": "autograde",
            "COURSE_DEVICE": "cpu",
            "COURSE_PICTURES": "drawn" if self.pictures else "words",
            "CUDA_VISIBLE_DEVICES": "",
            "OMP_NUM_THREADS": threads,
            "MKL_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
        }

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
        memory_bytes: how much more memory the student's kernel, or a copy of it that answered a
            check, had at most than the kernel at its start.
    """

    notebook: str
    cells: list[dict]
    phases: dict[str, float]
    messages: dict[str, str]
    died: str
    flags: list[str]
    memory_bytes: int

    def cut_short(self, settings: Settings) -> bool:
        """Whether the settings' patience ended its cells or its checks, and not their own limit."""
        patience = settings.patience_seconds
        return (
            self.phases.get("cells", 0) >= patience < settings.notebook_seconds
            or self.phases.get("judge", 0) >= patience < settings.checks_seconds
        )
