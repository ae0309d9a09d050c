"""Where a warm kernel's prints go."""

from __future__ import annotations

from ipykernel.iostream import OutStream


class PromptStream(OutStream):
    """ipykernel's ``sys.stdout``, whose ``flush`` waits only if there is something to send.

    A kernel flushes both streams twice for every cell, and each time two threads wait for each
    other, which takes longer than a small cell.
    """

    _written = False

    def write(self, string: str) -> int | None:
        self._written = True
        return super().write(string)

    def flush(self) -> None:
        if self._written:
            self._written = False
            super().flush()
