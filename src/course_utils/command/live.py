"""What happens while a class is graded: done, running, waiting, how fast, how long still."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from types import TracebackType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from course_utils.errors import CourseError, visible

SHOWN_RUNNING = 12
SHOWN_FINISHED = 3
LINE_EVERY = 10  # submissions, where the output is no terminal
NAME_CELLS = 40
BAR_CELLS = 30


class Output(Console):
    """A console that says in one line that its output cannot be written: closed, or a full disk."""

    def print(self, *objects: Any, **options: Any) -> None:
        try:
            super().print(*objects, **options)
        except OSError as error:
            self.give_up(error.strerror or "it is closed")

    def on_broken_pipe(self) -> None:
        self.give_up("nobody reads it any more")

    def give_up(self, reason: str) -> None:
        """Write nowhere from now on.

        Raises:
            CourseError: always.
        """
        self.quiet = True
        # Else Python fails once more, at its end, on what it could not write.
        with suppress(OSError, ValueError, AttributeError), open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), self.file.fileno())
        raise CourseError(f"the output could not be written to its end: {reason}")


class LiveTable(AbstractContextManager):
    """A table that is redrawn while submissions are graded, and goes when all is done.

    Where the output is no terminal, one line for every ten finished submissions is printed.
    :meth:`started` and :meth:`finished` may be called from any thread.

    Args:
        console: where to draw.
        total: how many submissions there are.
        clock: seconds that only grow; for tests.
    """

    def __init__(
        self, console: Console, total: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.console = console
        self.total = total
        self.clock = clock
        self.begun = clock()
        self.running: dict[str, float] = {}  # student: since when
        self.last: list[tuple[str, str]] = []
        self.done = 0
        self.failed = 0
        self.executed = 0
        self.lock = threading.RLock()
        self.live = Live(
            console=console, get_renderable=self.render, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> LiveTable:
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.live.stop()

    def started(self, student: str) -> None:
        """A submission runs now; said again where it has to start over."""
        with self.lock:
            self.running[student] = self.clock()

    def finished(self, student: str, words: str = "", *, graded: bool = True) -> None:
        """A submission is through.

        Args:
            student: whose it is. One that never started, because its outcome was there already,
                counts as done, but not for the rate.
            words: a few words on how it went.
            graded: whether it could be graded.
        """
        with self.lock:
            self.failed += not graded
            self.executed += self.running.pop(student, None) is not None
            self.done += 1
            self.last = [*self.last, (student, words)][-SHOWN_FINISHED:]
            if not self.console.is_terminal and (
                self.done % LINE_EVERY == 0 or self.done == self.total
            ):
                self.console.print(self.summary(), highlight=False, soft_wrap=True)

    @property
    def waiting(self) -> int:
        """How many submissions have not started."""
        return max(0, self.total - self.done - len(self.running))

    def per_minute(self) -> float:
        """Executed submissions per minute so far; 0 before the first."""
        return 60 * self.executed / max(self.clock() - self.begun, 1e-6)

    def seconds_left(self) -> float | None:
        """About how long the rest will take; None before the first was executed."""
        rate = self.per_minute()
        return 60 * (self.total - self.done) / rate if rate else None

    def summary(self) -> Text:
        """One line: how many are graded, how many could not be, how fast, how long still."""
        parts = [f"{self.done - self.failed} of {self.total} graded"]
        if self.failed:
            parts.append(f"{self.failed} could not be")
        if self.executed:
            parts.append(f"{self.per_minute():.0f} a minute")
            left = self.seconds_left()
            if left:
                parts.append(f"about {clock_time(left)} left")
        return Text(", ".join(parts))

    def render(self) -> RenderableType:
        """The table as it stands now."""
        with self.lock:
            now = self.clock()
            counts = Table.grid(padding=(0, 2))
            words = f"{self.done} done  {len(self.running)} running  {self.waiting} waiting"
            room = self.console.width - len(words) - 2
            bar = ProgressBar(
                total=max(1, self.total), completed=self.done, width=max(1, min(BAR_CELLS, room))
            )
            counts.add_row(bar, Text(words, no_wrap=True, overflow="ellipsis"))
            rate = Text(self.summary().plain, no_wrap=True, overflow="ellipsis")
            rows = [(f"✓ {student}", words, "dim") for student, words in self.last]
            oldest = sorted(self.running.items(), key=lambda entry: entry[1])
            rows += [
                (f"▸ {student}", clock_time(now - since), "")
                for student, since in oldest[:SHOWN_RUNNING]
            ]
            if len(oldest) > SHOWN_RUNNING:
                rows.append((f"  and {len(oldest) - SHOWN_RUNNING} more", "", ""))
            names = [Text(visible(name)) for name, _, _ in rows]
            width = min(NAME_CELLS, max((name.cell_len for name in names), default=0))
            lines = []
            for name, (_, words, style) in zip(names, rows, strict=True):
                # By hand: a table would take the room for long words from the names.
                name.truncate(width, overflow="ellipsis", pad=True)
                line = Text.assemble(name, "  ", visible(words), style=style)
                line.no_wrap, line.overflow = True, "ellipsis"
                lines.append(line)
            return Group(counts, rate, *lines)


def clock_time(seconds: float) -> str:
    """``0:07``, ``12:30``, ``1:02:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
