"""A refusal shows the notebook's own lines: not the course's frames below them, nor PyTorch's."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial, wraps
from types import FrameType, SimpleNamespace, TracebackType

# Of the answer that is being checked: what its code has for a file name; empty where none is known.
ANSWER = SimpleNamespace(file="")
RAISED = "raised"
LONGEST_LINE = 80  # what is shown of it, in characters


def ends_in_notebook(checker: Callable) -> Callable:
    """Make a notebook's traceback of what ``checker`` refuses end at the notebook's last line.

    Functions whose names begin with ``check_`` are a check cell's own, and are left out as well.

    ``__tracebackhide__`` alone does not do it: IPython always shows the innermost frame, with the
    path of its file.
    """

    @wraps(checker)
    def call(*args, **kwargs):
        __tracebackhide__ = True
        try:
            return checker(*args, **kwargs)
        except AssertionError as error:
            # IPython asks an exception for this method before it formats a traceback itself.
            error._render_traceback_ = partial(_render, error)  # ty: ignore[missing-attribute]
            raise

    return call


def _is_the_checks_own(frame: FrameType) -> bool:
    """Whether a frame belongs to a checker, or to a function of a check cell that calls one."""
    in_notebook = frame.f_globals.get("__name__") == "__main__"
    return not in_notebook or frame.f_code.co_name.startswith("check_")


def _render(error: BaseException) -> list[str]:
    from IPython import get_ipython

    entries, entry = [], error.__traceback__
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    while len(entries) > 1 and _is_the_checks_own(entries[-1].tb_frame):
        entries.pop()
    shown = None
    for entry in reversed(entries):
        shown = TracebackType(shown, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return get_ipython().InteractiveTB.structured_traceback(type(error), error, shown)


def lines_in(error: BaseException, file: str) -> list[tuple[int, str]]:
    """Number and text of a file's lines that an exception passed, outermost first."""
    frames = traceback.extract_tb(error.__traceback__)
    return [(one.lineno or 0, in_one(one.line or "")) for one in frames if one.filename == file]


def in_one(line: str) -> str:
    """A line without indentation or line feeds, a space where several are."""
    return " ".join(line.split())


def add_words(error: BaseException, words: str) -> None:
    """Put words behind those of an exception, which is then raised again: its lines stay."""
    error.args = (f"{error}; {words}",)


@contextmanager
def about_bfloat16() -> Generator[None]:
    """Put words behind what is raised where NumPy is handed bfloat16."""
    try:
        yield
    except TypeError as error:
        if "BFloat16" in str(error):  # of no use to the caller of .numpy()
            add_words(error, "NumPy has no bfloat16: convert before, or stay with tensors")
        raise


def what_was_raised(error: BaseException) -> str:
    """An exception that an answer raised in words, and the answer's line where it did."""
    words = f"{RAISED} {type(error).__name__}: {error}"
    # A judge is told the lines; here they stand in the traceback.
    lines = getattr(error, "of_the_answer", None) or lines_in(error, ANSWER.file)
    line = lines[-1][1] if lines else ""
    if not line:
        return words
    shown = line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"
    return f"{words} (your line: {shown})"
