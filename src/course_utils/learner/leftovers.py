"""Processes that outlive the one that started them: found, and ended."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Generator

from course_utils.prctl import PR_SET_CHILD_SUBREAPER, adopts_orphans, prctl

# What is killed is gone at once, unless the system itself is at work for it.
MOST_SECONDS = 5.0


@contextlib.contextmanager
def no_process_left() -> Generator[None]:
    """End, after a ``with`` block, what processes started in it have left behind.

    On Linux this process adopts every process whose parent ends meanwhile, also one that has gone
    into a session of its own: none can hide behind another. Elsewhere nothing is done. What another
    thread of this process starts during the block can't be told from it, and ends as well.
    """
    if sys.platform != "linux":
        yield
        return
    import psutil

    adopted_before = adopts_orphans()
    this = psutil.Process()
    known = set(this.children())
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        limit = time.monotonic() + MOST_SECONDS
        # In rounds: the children of what has just ended come to this process.
        while (left := set(this.children()) - known) and time.monotonic() < limit:
            for process in left:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(left, timeout=0.1)
        prctl(PR_SET_CHILD_SUBREAPER, int(adopted_before))
