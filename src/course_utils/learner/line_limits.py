"""A block that runs too many lines of Python is stopped: its work may double with each step."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class TooManyLines(Exception):
    """More lines of Python ran in an :func:`at_most_lines` block than it allows."""


@contextmanager
def at_most_lines(count: int) -> Generator[None]:
    """Raise :class:`TooManyLines` where more lines of Python than this run in the block.

    Each call and each return counts as a line, too.
    """
    left, before = count, sys.gettrace()

    def note(frame: Any, event: str, value: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise TooManyLines  # which ends the tracing, too
        return note

    sys.settrace(note)
    try:
        yield
    finally:
        sys.settrace(before)
