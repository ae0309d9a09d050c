"""Where a warm kernel's prints go."""

from __future__ import annotations

from collections.abc import Iterator

from ipykernel.iostream import OutStream

# Characters; as JSON each takes twelve bytes at most. A grader refuses very long messages, and
# keeps what fits into its limit, as the first part should. Many short parts will not do:
# ipykernel's thread sends to itself what it publishes, and waits for ever when two thousand are
# under way.
FIRST_PART = 2**16
LONGEST_PART = 2**20


class PromptStream(OutStream):
    """ipykernel's ``sys.stdout``, whose ``flush`` waits only if there is something to send.

    A kernel flushes both streams twice for every cell, and each time two threads wait for each
    other, which takes longer than a small cell.

    All that is printed within some tenths of a second is one message of ipykernel's; here it is
    several if it is long, so that what is printed first is kept where the rest is too much.
    """

    _written = False

    def write(self, string: str) -> int | None:
        self._written = True
        return super().write(string)

    def flush(self) -> None:
        if self._written:
            self._written = False
            super().flush()

    def _flush_buffers(self) -> Iterator[tuple[dict, str]]:
        for parent, text in super()._flush_buffers():
            yield parent, text[:FIRST_PART]
            for start in range(FIRST_PART, len(text), LONGEST_PART):
                yield parent, text[start : start + LONGEST_PART]
