"""A check that runs without end is stopped, in words: an answer's loop may never end."""

from __future__ import annotations

import signal
import threading

# The slowest check takes some twenty seconds on a quiet machine of two cores.
CHECK_SECONDS = 180.0
AGAIN_SECONDS = 3.0


class CheckTimeout(KeyboardInterrupt):
    """A check was stopped. No ``Exception``, so that an answer that catches all lets it pass."""


def start(seconds: float = CHECK_SECONDS) -> None:
    """Raise :class:`CheckTimeout` in the main thread after ``seconds``, until :func:`stop`.

    Only where there are timers that interrupt a program (not on Windows), and in the main thread.
    """
    if not _has_timers():
        return

    def interrupt(number: int, frame: object) -> None:
        raise CheckTimeout(
            f"this check has run for {seconds:g} seconds and is stopped: does a loop in your "
            "answer never end, or wait for what never comes? It was at the last line shown above"
        )

    signal.signal(signal.SIGALRM, interrupt)
    # Again and again: what is raised may be caught, or raised where it is passed over. Not at once:
    # it would end the printing of the first.
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)


def stop() -> None:
    """No limit from here on."""
    if _has_timers():
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _has_timers() -> bool:
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
