"""Run a function that was just written in a cell on several processes, and get their answers back.

Where it is safe, the processes are forks of the notebook's kernel: a function needs no file to be
imported from, and starting takes milliseconds. A kernel that has used CUDA can't be forked,
and Windows and macOS don't fork reliably; there a fresh Python is started for each rank, and the
function travels by `cloudpickle <https://github.com/cloudpipe/cloudpickle>`_.

Each rank has a *control pipe* from the kernel, and files in a folder of the launch's own for its
answer, its output and its stack. A byte in it asks for the rank's stack; its end means
that the kernel is gone, and the rank ends itself with everything that it started.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from course_utils.learner.launch_reports import LaunchError, LaunchTimeout, RankReport
from course_utils.learner.launched_rank import LOOPBACK, START_SECONDS, Order, run_rank
from course_utils.learner.leftovers import no_process_left
from course_utils.learner.processes import forks

# When one rank fails, how long the others may go on: often they fail for a reason worth seeing.
GRACE_SECONDS = 0.5
STACK_SECONDS = 2.0
POLL_SECONDS = 0.01
# Bytes. Whoever prints more prints without end; of what is shown, the middle may be left out.
MOST_OUTPUT = 2**24
SHOWN_OUTPUT = 2**16


def launch(
    function: Callable[..., Any],
    world_size: int = 2,
    *args: Any,
    backend: str | None = "auto",
    timeout: float = 60.0,
    env: dict[str, str] | None = None,
    quiet: bool = False,
) -> list[Any]:
    """Run ``function(rank, world_size, *args)`` in ``world_size`` processes of this machine.

    Every process finds the variables that ``torchrun`` sets (``RANK``, ``WORLD_SIZE``,
    ``LOCAL_RANK``, ``LOCAL_WORLD_SIZE``, ``MASTER_ADDR``, ``MASTER_PORT``), computes with one
    thread and, unless ``backend`` is None, has the default process group ready. What the ranks
    print is printed in the order of the ranks when all is done. What they start ends with them.

    Args:
        function: any function, also one that was defined in a notebook's cell.
        world_size: the number of processes, at least 1.
        args: handed to the function behind rank and world size.
        backend: ``"gloo"``, ``"nccl"``, or ``"auto"``: NCCL where there is a GPU for each rank (it
            is then that rank's current CUDA device), gloo elsewhere. None makes no process group,
            for a function that calls ``init_process_group`` itself.
        timeout: seconds for the function, counted from when every rank is ready.
        env: further environment variables for the ranks.
        quiet: whether to leave out what the ranks print.

    Returns:
        What each rank's function returned, in the order of the ranks. It travels by pickle.

    Raises:
        LaunchError: a rank raised, its process ended, or it printed more than 16 MiB. The others
            are ended as well; the message holds each rank's traceback or stack and what it printed.
        LaunchTimeout: time was up; the message says where each rank was waiting.
        ValueError: ``world_size`` is below 1, or ``timeout`` is not above 0.
    """
    if not isinstance(world_size, int) or world_size < 1:
        raise ValueError(f"world_size is the number of processes, at least 1: got {world_size!r}")
    if not timeout > 0:
        raise ValueError(f"timeout is in seconds and above 0: got {timeout!r}")
    if backend == "auto":
        backend = "nccl" if torch.cuda.device_count() >= world_size else "gloo"
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryDirectory(prefix="course-launch-") as folder, no_process_left():
        order = Order(function, args, world_size, backend, Path(folder), dict(env or {}))
        ranks: list[_Rank] = []
        start = _fork if _may_fork() else _spawn
        try:
            with socket.socket() as listener:
                listener.bind((LOOPBACK, 0))
                listener.listen(128)
                order.port = listener.getsockname()[1]
                if backend is None:
                    # The function's own rank 0 will listen there.
                    listener.close()
                for rank in range(world_size):
                    ranks.append(start(order, rank, listener, ranks))
            summary, kind = _wait(ranks, order, timeout)
            reports = [_report(rank, order) for rank in ranks]
        finally:
            for rank in ranks:
                rank.end()
    if summary:
        raise kind(summary, reports)
    if not quiet:
        for report in reports:
            for line in report.output.splitlines():
                print(f"rank {report.rank}: {line}")
    return [report.value for report in reports]


class _Rank:
    """One process, as the kernel sees it."""

    def __init__(self, number: int, pid: int, control: int, process: subprocess.Popen | None):
        self.number, self.pid, self.control, self.process = number, pid, control, process
        self.exit: int | None = None
        self.told: tuple[str, Any, list[str]] | None = None

    def is_over(self) -> bool:
        """Whether the process has ended; its exit status is then in ``exit``."""
        if self.exit is None:
            if self.process is not None:
                self.exit = self.process.poll()
            else:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.exit = os.waitstatus_to_exitcode(status)
        return self.exit is not None

    def ask_for_stack(self) -> None:
        with contextlib.suppress(OSError):
            os.write(self.control, b"s")

    def end(self) -> None:
        """End the process and all that it started, and wait until it is gone."""
        if hasattr(os, "killpg"):
            # Also when the rank itself is over: what it left behind is in its group.
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        elif self.process is not None:
            self.process.kill()
        if self.exit is None and self.process is not None:
            self.exit = self.process.wait()
        elif self.exit is None:
            _, status = os.waitpid(self.pid, 0)
            self.exit = os.waitstatus_to_exitcode(status)
        with contextlib.suppress(OSError):
            os.close(self.control)


def _may_fork() -> bool:
    return forks() and not torch.cuda.is_initialized()


def _fork(order: Order, rank: int, listener: socket.socket, before: list[_Rank]) -> _Rank:
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # From Python 3.12 on: "this process is multi-threaded". See run_rank for the care taken.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            os.close(writer)
            for other in before:
                os.close(other.control)
            listener_fd = listener.fileno()
            run_rank(order, rank, reader, listener_fd if rank == 0 and listener_fd >= 0 else None)
        finally:
            # Never back into the notebook's own loop.
            os._exit(1)
    os.close(reader)
    with contextlib.suppress(OSError):
        # Here as well as in the rank: whoever comes first.
        os.setpgid(pid, pid)
    return _Rank(rank, pid, writer, None)


def _spawn(order: Order, rank: int, listener: socket.socket, before: list[_Rank]) -> _Rank:
    import cloudpickle

    wanted = order.file(rank, "order")
    # First where modules are found: what travels may be defined in a folder that a cell added.
    wanted.write_bytes(pickle.dumps(sys.path) + cloudpickle.dumps((order, rank)))
    # The group's store listens anew in rank 0, at the port that is free from here on.
    listener.close()
    with open(order.file(rank, "output"), "wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "course_utils.learner.launched_rank", str(wanted)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env={**os.environ, **order.variables(rank)},
            start_new_session=hasattr(os, "setsid"),
        )
    assert process.stdin is not None
    control = os.dup(process.stdin.fileno())
    process.stdin.close()
    return _Rank(rank, process.pid, control, process)


def _wait(ranks: list[_Rank], order: Order, timeout: float) -> tuple[str, type[LaunchError]]:
    """Wait until all is done (no words), one has failed, or time is up (words for either)."""
    started, ready_at, failed_at = time.monotonic(), None, math.inf
    while True:
        open_ranks = [rank for rank in ranks if not order.file(rank.number, "result").exists()]
        # In this order: a rank that has ended may have left its result a moment before.
        ended = [rank for rank in open_ranks if rank.is_over()]
        ended = [rank for rank in ended if not order.file(rank.number, "result").exists()]
        failed = ended + [rank for rank in ranks if _told(rank, order)[0] == "raised"]
        now = time.monotonic()
        if failed:
            failed_at = min(failed_at, now)
        waiting = [rank for rank in open_ranks if rank not in ended]
        if failed and (not waiting or now - failed_at > GRACE_SECONDS):
            _ask_for_stacks(waiting, order)
            # A process that ended comes first: what others raise is often its consequence.
            first = (ended or failed)[0]
            others = f" ({len(failed)} of {len(ranks)} ranks failed)" if len(failed) > 1 else ""
            return f"rank {first.number} failed{others}", LaunchError
        loud = [rank.number for rank in ranks if _output_size(rank, order) > MOST_OUTPUT]
        if loud:
            _ask_for_stacks(waiting, order)
            words = f"rank {loud[0]} printed more than {MOST_OUTPUT >> 20} MiB"
            return f"{words}: does a loop print without end?", LaunchError
        if not waiting:
            return "", LaunchError
        if ready_at is None and all(order.file(r.number, "ready").exists() for r in open_ranks):
            ready_at = now
        if now - (ready_at or started) > (timeout if ready_at else START_SECONDS + timeout):
            _ask_for_stacks(waiting, order)
            names = ", ".join(str(rank.number) for rank in waiting)
            which = f"rank {names} was" if len(waiting) == 1 else f"ranks {names} were"
            plural = "" if timeout == 1 else "s"
            return f"after {timeout:g} second{plural} {which} not through", LaunchTimeout
        time.sleep(POLL_SECONDS)


def _ask_for_stacks(waiting: list[_Rank], order: Order) -> None:
    for rank in waiting:
        rank.ask_for_stack()
    limit = time.monotonic() + STACK_SECONDS
    while time.monotonic() < limit:
        if all(order.file(rank.number, "stack").exists() for rank in waiting):
            return
        time.sleep(POLL_SECONDS)


def _told(rank: _Rank, order: Order) -> tuple[str, Any, list[str]]:
    """What a rank left as its result; ``("", None, [])`` where there is none yet."""
    if rank.told is None:
        with contextlib.suppress(FileNotFoundError):
            rank.told = pickle.loads(order.file(rank.number, "result").read_bytes())
    return rank.told or ("", None, [])


def _output_size(rank: _Rank, order: Order) -> int:
    with contextlib.suppress(FileNotFoundError):
        return order.file(rank.number, "output").stat().st_size
    return 0


def _output(rank: _Rank, order: Order) -> str:
    """What a rank printed; of very much, the beginning and the end."""
    size = _output_size(rank, order)
    if size == 0:
        return ""
    with order.file(rank.number, "output").open("rb") as file:
        if size <= SHOWN_OUTPUT:
            return file.read(size).decode("utf-8", "replace")
        half = SHOWN_OUTPUT // 2
        first = file.read(half)
        file.seek(size - half)
        last = file.read(half)
    gap = f"\n… {size - SHOWN_OUTPUT:,} bytes left out …\n"
    return first.decode("utf-8", "replace") + gap + last.decode("utf-8", "replace")


def _report(rank: _Rank, order: Order) -> RankReport:
    report = RankReport(rank.number, output=_output(rank, order))
    status, what, places = _told(rank, order)
    if status == "returned":
        report.status, report.value = "returned", what
    elif status == "raised":
        report.status, report.error, report.stack = "raised", what, places
    elif rank.exit is not None:
        report.status, report.error = "ended", _exit_words(rank.exit)
    else:
        with contextlib.suppress(FileNotFoundError):
            text = order.file(rank.number, "stack").read_text("utf-8")
            report.stack = text.splitlines()
    return report


def _exit_words(status: int) -> str:
    if status < 0:
        return f"by {signal.Signals(-status).name}"
    return f"with exit status {status}"
