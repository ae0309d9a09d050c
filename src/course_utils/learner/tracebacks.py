"""A refusal shows the notebook's own lines: not the course's frames below them, nor PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from types import FrameType, TracebackType


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
