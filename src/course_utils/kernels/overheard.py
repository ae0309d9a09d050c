"""What another process writes to stderr, for the log."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

# As much as Linux lets a pipe hold; who writes more is refused, and goes on.
MOST_BYTES = 2**16


class Overheard(AbstractContextManager):
    """A pipe for another process's stderr that nobody has to read meanwhile.

    Attributes:
        writer: the descriptor to hand over.
    """

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        for descriptor in (self.reader, self.writer):
            os.set_blocking(descriptor, False)

    def text(self) -> str:
        """The first that was written."""
        try:
            return os.read(self.reader, MOST_BYTES).decode(errors="replace").strip()
        except BlockingIOError:  # nothing was
            return ""

    def __exit__(self, *_: object) -> None:
        os.close(self.reader)
        os.close(self.writer)
