"""What is said of the ranks of a launch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class RankReport:
    """What became of one rank.

    Attributes:
        rank: its number, from 0.
        status: ``"returned"``, ``"raised"``, ``"ended"`` (the process ended without a word),
            ``"waited"`` (it was still at work when the others had failed or time was up).
        value: what the function returned.
        error: for ``"raised"``, the exception's kind and message; for ``"ended"``, how.
        stack: where it was when it raised or waited, each ``"function, line N: the line"``,
            outermost first; last the library's function that was called there, if one was.
        output: what it printed, errors included.
    """

    rank: int
    status: str = "waited"
    value: Any = None
    error: str = ""
    stack: list[str] = field(default_factory=list)
    output: str = ""

    def tell(self) -> str:
        """One paragraph about this rank."""
        if self.status == "returned":
            words = "returned"
        elif self.status == "raised":
            words = "raised " + self.error.replace("\n", "\n    ")
        elif self.status == "ended":
            words = f"ended {self.error}"
        else:
            words = "was in " + (self.stack[-1] if self.stack else "code that can't be looked into")
        lines = [f"rank {self.rank} {words}"]
        above = self.stack if self.status == "raised" else self.stack[:-1]
        lines += [f"    in {frame}" for frame in reversed(above)]
        if self.output.strip():
            lines += ["  it printed:"]
            lines += [f"    {line}" for line in self.output.rstrip().splitlines()]
        return "\n".join(lines)

    def tell_for_a_check(self) -> str:
        """As :meth:`tell`, where what a rank asserts are the words of a check."""
        return self.tell().replace(" raised AssertionError: ", ": ", 1)


class LaunchError(RuntimeError):
    """A rank failed, or time was up. ``reports`` holds a :class:`RankReport` for each rank."""

    def __init__(self, summary: str, reports: list[RankReport]) -> None:
        super().__init__("\n".join([summary, *(report.tell() for report in reports)]))
        self.reports = reports

    def _render_traceback_(self) -> list[str]:
        # IPython asks for this: the frames of launch itself tell a reader nothing.
        return [f"{type(self).__name__}: {self}"]


class LaunchTimeout(LaunchError, TimeoutError):
    """Time was up before every rank had returned."""

    @property
    def all_had_begun(self) -> bool:
        """Whether every rank that was waited for had begun; on a busy machine one may not have."""
        return all(report.stack for report in self.reports if report.status == "waited")
