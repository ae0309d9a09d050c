"""A rank's whole life, in its own process: ``launching`` forks it or starts it afresh."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import pickle
import shutil
import signal
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch

LOOPBACK = "127.0.0.1"
# How long the ranks may take to start and find each other, beside the caller's time limit.
START_SECONDS = 60.0

# Where a frame is a library's, not the reader's.
LIBRARIES = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
LIBRARIES |= {str(Path(__file__).parents[1])}
# What libraries wrap around their functions, in place of the function's own name.
WRAPPERS = {"wrapper", "inner", "_fn", "decorate_context", "_wrapped_call_impl", "_call_impl"}


@dataclass
class Order:
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


def run_rank(order: Order, rank: int, control: int, listener_fd: int | None) -> None:
    """A rank's whole life, in its own process; it ends the process."""
    torch.set_num_threads(1)  # first of all: the threads of the kernel's maths are not in a fork
    gc.freeze()  # what a fork inherits stays shared: a collection would write to each page of it
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


def _join_group(order: Order, rank: int, listener_fd: int | None) -> None:
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


def _obey(order: Order, rank: int, control: int) -> None:
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


def main() -> None:
    """A rank in a fresh Python: ``python -m course_utils.learner.launched_rank FILE``."""
    # By its own name: what travelled was made there, not in __main__.
    from course_utils.learner import launched_rank

    with open(sys.argv[1], "rb") as file:
        sys.path[:] = pickle.load(file)
        order, rank = pickle.load(file)
    launched_rank.run_rank(order, rank, sys.stdin.fileno(), None)


if __name__ == "__main__":
    main()
