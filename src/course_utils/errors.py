"""What goes wrong, in one line that a person can read."""

from __future__ import annotations

import click


class CourseError(click.ClickException):
    """Something the person at the keyboard can put right; its message says how, in one line.

    Args:
        message: that line.
        details: lines to be shown below it, set in, such as a traceback.
    """

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message)
        self.details = details

    def format_message(self) -> str:
        below = (f"  {visible(line)}".rstrip() for line in self.details.splitlines())
        return "\n".join([visible(self.message), *below])


def visible(text: str) -> str:
    """A text with the signs that cannot be seen spelled out, such as orders to a terminal.

    Names and error messages come from students; a line break in one could pass for a line of ours.
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def one_line(error: BaseException) -> str:
    """What an exception says, in at most 200 characters of its first line."""
    kind = type(error).__name__
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # a message that is made of deeply nested data runs out of the stack
        lines = []
    # What a KeyError says is the key alone.
    said = f"{kind}: {lines[0]}" if lines and isinstance(error, KeyError) else "".join(lines[:1])
    return (said or kind)[:200]


def kind_and_words(error: BaseException) -> str:
    """An exception's kind, and what it says, in one line."""
    kind, words = type(error).__name__, one_line(error)
    return words if words.startswith(kind) else f"{kind}: {words}"
