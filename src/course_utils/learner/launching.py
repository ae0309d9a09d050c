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
import io
import math
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch

LOOPBACK = "127.0.0.1"
# How long the ranks may take to start and find each other, beside the caller's time limit.
START_SECONDS = 60.0
# When one rank fails, how long the others may go on: often they fail for a reason worth seeing.
GRACE_SECONDS = 0.5
STACK_SECONDS = 2.0
POLL_SECONDS = 0.01

# Where a frame is a library's, not the reader's.
LIBRARIES = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
LIBRARIES |= {str(Path(__file__).parents[1])}
# What libraries wrap around their functions, in place of the function's own name.
WRAPPERS = {"wrapper", "inner", "_fn", "decorate_context", "_wrapped_call_impl", "_call_impl"}


@dataclass
class RankReport:
    """What became of one rank.

    Attributes:
        rank: its number, from 0.
        status: ``"returned"``, ``"raised"``, ``"ended"`` (the process ended without a word),
            ``"waited"`` (it was still at work when the others had failed or time was up).
        value: what the function returned.
        error: for ``"raised"``, the exception's kind and message; for ``"ended"``, how.
        stack: where it was when it raised or waited, each ``"function, line N: the line"``,
            outermost first; last the library's function that was called there, if one was.
        output: what it printed, errors included.
    """

    rank: int
    status: str = "waited"
    value: Any = None
    error: str = ""
    stack: list[str] = field(default_factory=list)
    output: str = ""

    def tell(self) -> str:
        """One paragraph about this rank."""
        if self.status == "returned":
            words = "returned"
        elif self.status == "raised":
            words = "raised " + self.error.replace("\n", "\n    ")
        elif self.status == "ended":
            words = f"ended {self.error}"
        else:
            words = "was in " + (self.stack[-1] if self.stack else "code that can't be looked into")
        lines = [f"rank {self.rank} {words}"]
        above = self.stack if self.status == "raised" else self.stack[:-1]
        lines += [f"    in {frame}" for frame in reversed(above)]
        if self.output.strip():
            lines += ["  it printed:"]
            lines += [f"    {line}" for line in self.output.rstrip().splitlines()]
        return "\n".join(lines)


class LaunchError(RuntimeError):
    """A rank failed, or time was up. ``reports`` holds a :class:`RankReport` for each rank."""

    def __init__(self, summary: str, reports: list[RankReport]) -> None:
        super().__init__("\n".join([summary, *(report.tell() for report in reports)]))
        self.reports = reports

    def _render_traceback_(self) -> list[str]:
        # IPython asks for this: the frames of launch itself tell a reader nothing.
        return [f"{type(self).__name__}: {self}"]


class LaunchTimeout(LaunchError, TimeoutError):
    """Time was up before every rank had returned."""


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
    print is printed in the order of the ranks when all is done.

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
        LaunchError: a rank raised, or its process ended. The others are ended as well; the message
            holds each rank's traceback or stack and what it printed.
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
    with tempfile.TemporaryDirectory(prefix="course-launch-") as folder:
        order = _Order(function, args, world_size, backend, Path(folder), dict(env or {}))
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


@dataclass
class _Order:
    """What every rank is told."""

    function: Callable
    args: tuple
    world_size: int
    backend: str | None
    folder: Path
    env: dict[str, str]
    port: int = 0

    def file(self, rank: int, kind: str) -> Path:
        return self.folder / f"{rank}.{kind}"

    def variables(self, rank: int) -> dict[str, str]:
        return {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(self.world_size),
            "LOCAL_WORLD_SIZE": str(self.world_size),
            "MASTER_ADDR": LOOPBACK,
            "MASTER_PORT": str(self.port),
            "OMP_NUM_THREADS": "1",
            # Without it gloo asks for the address of the machine's name, which a sandbox and many
            # a laptop can't answer.
            **({"GLOO_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {}),
            **self.env,
        }


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
    return sys.platform == "linux" and not torch.cuda.is_initialized()


def _fork(order: _Order, rank: int, listener: socket.socket, before: list[_Rank]) -> _Rank:
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # From Python 3.12 on: "this process is multi-threaded". See _run_rank for the care taken.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            os.close(writer)
            for other in before:
                os.close(other.control)
            listener_fd = listener.fileno()
            _run_rank(order, rank, reader, listener_fd if rank == 0 and listener_fd >= 0 else None)
        finally:
            # Never back into the notebook's own loop.
            os._exit(1)
    os.close(reader)
    with contextlib.suppress(OSError):
        # Here as well as in the rank: whoever comes first.
        os.setpgid(pid, pid)
    return _Rank(rank, pid, writer, None)


def _spawn(order: _Order, rank: int, listener: socket.socket, before: list[_Rank]) -> _Rank:
    import cloudpickle

    wanted = order.file(rank, "order")
    wanted.write_bytes(cloudpickle.dumps((order, rank)))
    # The group's store listens anew in rank 0, at the port that is free from here on.
    listener.close()
    with open(order.file(rank, "output"), "wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "course_utils.learner.launching", str(wanted)],
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


def _run_rank(order: _Order, rank: int, control: int, listener_fd: int | None) -> None:
    """A rank's whole life, in its own process; it ends the process."""
    torch.set_num_threads(1)  # first of all: the threads of the kernel's maths are not in a fork
    if hasattr(os, "setpgid"):
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.update(order.variables(rank))
    output = open(order.file(rank, "output"), "ab", buffering=0)  # noqa: SIM115
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    sys.stdout = sys.stderr = io.TextIOWrapper(output, "utf-8", "replace", write_through=True)
    threading.Thread(target=_obey, args=(order, rank, control), daemon=True).start()
    result = order.file(rank, "result")
    try:
        if order.backend is not None:
            _join_group(order, rank, listener_fd)
        order.file(rank, "ready").touch()
        told = _told_value(order.function(rank, order.world_size, *order.args))
    except BaseException as error:
        places = _places(traceback.extract_tb(error.__traceback__))
        told = pickle.dumps(("raised", _one_line(error), places))
    part = result.with_suffix(".part")
    part.write_bytes(told)
    part.replace(result)
    # No clean shutdown: destroying a group waits for the others, and this interpreter may abort
    # when it ends with gloo's threads alive. The kernel ends every rank when all have answered.
    sys.stdout.flush()
    threading.Event().wait()


def _join_group(order: _Order, rank: int, listener_fd: int | None) -> None:
    import torch.distributed as dist

    if order.backend == "nccl":
        torch.cuda.set_device(rank)
    limit = timedelta(seconds=START_SECONDS)
    store = dist.TCPStore(
        LOOPBACK,
        order.port,
        order.world_size,
        is_master=rank == 0,
        timeout=limit,
        master_listen_fd=listener_fd,
    )
    # Beyond any limit of ours, so that it is launch which says where each rank waits.
    dist.init_process_group(
        order.backend,
        store=store,
        rank=rank,
        world_size=order.world_size,
        timeout=timedelta(hours=1),
    )


def _obey(order: _Order, rank: int, control: int) -> None:
    """In a rank's own thread: tell the stack when asked, end everything when the kernel is gone."""
    main = threading.main_thread().ident
    assert main is not None
    while os.read(control, 1):
        stack = traceback.extract_stack(sys._current_frames()[main])
        part = order.file(rank, "part-of-stack")
        part.write_text("\n".join(_places(stack)), encoding="utf-8")
        part.replace(order.file(rank, "stack"))
    shutil.rmtree(order.folder, ignore_errors=True)
    if hasattr(os, "killpg"):
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def _places(stack: traceback.StackSummary) -> list[str]:
    """The frames that a reader wrote, outermost first, and the library's function that they called.

    Frames above the launched function, and those inside a library, tell a reader nothing.
    """
    below = [place for place, frame in enumerate(stack) if frame.filename == __file__]
    frames = list(stack)[below[-1] + 1 :] if below else list(stack)
    own = [frame for frame in frames if not _is_library(frame.filename)]
    told = [f"{frame.name}, line {frame.lineno}: {frame.line}".rstrip(": ") for frame in own]
    if own:
        inside = frames[frames.index(own[-1]) + 1 :]
        named = [frame.name for frame in inside if frame.name not in WRAPPERS]
        told += named[:1]
    return told


def _is_library(filename: str) -> bool:
    return filename.startswith("<frozen") or any(
        Path(filename).is_relative_to(folder) for folder in LIBRARIES
    )


def _one_line(error: BaseException) -> str:
    words = str(error).strip().split("\n\n")[0]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _told_value(value: Any) -> bytes:
    try:
        return pickle.dumps(("returned", value, []))
    except Exception as error:
        return pickle.dumps(
            (
                "raised",
                f"{type(error).__name__}: what the function returned can't be sent back ({error}); "
                "return numbers, texts, tensors, or lists and dicts of them",
                [],
            )
        )


def _wait(ranks: list[_Rank], order: _Order, timeout: float) -> tuple[str, type[LaunchError]]:
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


def _ask_for_stacks(waiting: list[_Rank], order: _Order) -> None:
    for rank in waiting:
        rank.ask_for_stack()
    limit = time.monotonic() + STACK_SECONDS
    while time.monotonic() < limit:
        if all(order.file(rank.number, "stack").exists() for rank in waiting):
            return
        time.sleep(POLL_SECONDS)


def _told(rank: _Rank, order: _Order) -> tuple[str, Any, list[str]]:
    """What a rank left as its result; ``("", None, [])`` where there is none yet."""
    if rank.told is None:
        with contextlib.suppress(FileNotFoundError):
            rank.told = pickle.loads(order.file(rank.number, "result").read_bytes())
    return rank.told or ("", None, [])


def _report(rank: _Rank, order: _Order) -> RankReport:
    report = RankReport(rank.number)
    with contextlib.suppress(FileNotFoundError):
        report.output = order.file(rank.number, "output").read_text("utf-8", "replace")
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


def main() -> None:
    """A rank in a fresh Python: ``python -m course_utils.learner.launching FILE``."""
    # By its own name: what travelled was made there, not in __main__.
    from course_utils.learner import launching

    with open(sys.argv[1], "rb") as file:
        order, rank = pickle.load(file)
    launching._run_rank(order, rank, sys.stdin.fileno(), None)


if __name__ == "__main__":
    main()
