"""The process that has torch and its friends imported, and forks kernels that have them at once.

``python -m course_utils.kernels.template_process`` is that process; ``template.py`` starts it and
asks it for kernels. It imports, and computes nothing: a thread that it started would be missing in
its forks.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import json
import os
import select
import signal
import socket
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

from course_utils.kernels import confinement
from course_utils.kernels.forked_kernel import INLINE_BACKEND, run_kernel
from course_utils.kernels.template import EXIT_SECONDS, MESSAGE_BYTES, Request
from course_utils.prctl import PR_SET_CHILD_SUBREAPER, end_with, prctl

MOST_DESCRIPTORS = 64
# What a notebook of the course imports sooner or later. The grading modules are there only where
# a kernel answers for, or judges, another.
MODULES = (
    # In the order of a notebook: later warning filters come first.
    *("ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.zmqshell"),
    *("course_utils.kernels.streams", "course_utils.kernels.many_cells"),
    *("ipykernel.debugger", "sqlite3", "tornado.platform.asyncio"),
    *("IPython.core.completer", "IPython.core.magics", "IPython.extensions.storemagic"),
    *("IPython.core.completerlib", "IPython.core.debugger", "IPython.core.logger"),
    *("numpy", "torch", "torch._dynamo", "torch.nn.functional", "torch.utils.data"),
    *("torchvision", "torchvision.transforms.v2"),
    # Not matplotlib_inline.backend_inline: when it is imported, it looks for its kernel.
    *("matplotlib.pyplot", "matplotlib.figure", "matplotlib.backends.backend_agg"),
    # Not learner.devices: it asks CUDA for a GPU, and a fork can't use CUDA after that.
    *("course_utils.learner.checks", "course_utils.learner.cases", "course_utils.learner.changes"),
    *("course_utils.learner.operators", "course_utils.learner.storage_drawings"),
    *(
        "course_utils.grading.verdict.wire",
        "course_utils.grading.verdict.answering",
        "course_utils.grading.verdict.judge_process",
    ),
)


def main() -> None:
    listener, parent = int(sys.argv[1]), int(sys.argv[2])
    try:
        parent_pidfd = os.pidfd_open(parent)
    except ProcessLookupError:
        return
    if os.getppid() != parent:
        return
    sys.path.remove("/")  # where this was started
    import_modules(parent)
    with Server(socket.socket(fileno=listener), parent_pidfd) as server:
        request = server.serve()
    if request is None:
        end_children()
        os._exit(0)  # taking everything apart would take long, and libraries complain meanwhile
    else:
        run_kernel(*request)


def end_children() -> None:
    """Kill the kernels and what they started, to the last: an orphan of theirs is a child here."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while pids := children.read_text().split():
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.wait()


def import_modules(parent: int) -> None:
    """Import what kernels use, and touch what is made at first use.

    Args:
        parent: the process that this one is for; without it, this one ends between two imports.
    """
    import gc

    # Else the collector would go through all that was imported again and again.
    often = gc.get_threshold()
    gc.set_threshold(10_000)
    # IPython's debugger support starts threads when it is imported, and nobody debugs here.
    sys.modules["debugpy"] = None  # ty: ignore[invalid-assignment]  None: it can't be had
    # matplotlib takes the backend from here when it is imported.
    os.environ["MPLBACKEND"] = INLINE_BACKEND
    for name in MODULES:
        if os.getppid() != parent:
            os._exit(0)
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)
    draw_text()
    make_forks_quick()
    gc.set_threshold(*often)


def make_forks_quick() -> None:
    """Keep all that is there now: forks are quicker to make, and share it."""
    import gc

    gc.collect()
    # The collector leaves it alone from here on, so that it does not write to it.
    gc.freeze()
    collapse_memory()


def collapse_memory() -> None:
    """Lay this process's memory out in huge pages, where Linux can (6.1 and later).

    A fork copies the table of pages, and a table of huge pages is five hundred times shorter:
    forking a process that has imported torch takes a third of the time. A fork that writes to a
    huge page gets a copy of the small page that it writes to.
    """
    madvise_collapse = 25
    libc = ctypes.CDLL(None)
    with open("/proc/self/maps", encoding="utf-8") as file:
        for line in file:
            addresses, permissions, _, _, inode, *name = line.split()
            if inode == "0" and "w" in permissions and (not name or name[0] == "[heap]"):
                start, end = (int(address, 16) for address in addresses.split("-"))
                length = ctypes.c_size_t(end - start)
                libc.madvise(ctypes.c_void_p(start), length, madvise_collapse)


def draw_text() -> None:
    """Draw one small figure, so that fonts are found.

    No formula: matplotlib would keep the fonts of one, and with them open files.
    """
    import io

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1, 1))
    FigureCanvasAgg(figure)
    figure.subplots().set_title("text")
    figure.savefig(io.BytesIO(), format="png")


@dataclass
class Kernel:
    """A kernel that runs, and the connection whose end is its end."""

    pid: int
    connection: socket.socket


class Server:
    """Takes requests and forks; a fork returns from ``serve`` with its request."""

    def __init__(self, listener: socket.socket, parent_pidfd: int) -> None:
        self.listener = listener
        self.parent_pidfd = parent_pidfd
        self.kernels: dict[int, Kernel] = {}
        self.asked_to_end = False
        self.woken_reader, self.woken_writer = socket.socketpair()

    def __enter__(self) -> Server:
        self.woken_reader.setblocking(False)
        self.woken_writer.setblocking(False)
        # The byte that a signal writes wakes the loop.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self.ask_to_end)
        signal.set_wakeup_fd(self.woken_writer.fileno(), warn_on_full_buffer=False)
        # A kernel in a sandbox is a grandchild whose parent ends at once; it becomes a child.
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for kernel in self.kernels.values():
            kernel.connection.close()
        for end in (self.listener, self.woken_reader, self.woken_writer):
            end.close()
        os.close(self.parent_pidfd)

    def ask_to_end(self, *_: object) -> None:
        self.asked_to_end = True

    def serve(self) -> tuple[Request, list[int]] | None:
        """Serve until the parent dies, or asks this process to end.

        Returns:
            In the template process, at the end, None; in a kernel its request and descriptors.
        """
        while True:
            connections = {kernel.connection: kernel for kernel in self.kernels.values()}
            readable, _, _ = select.select(
                [self.listener, self.woken_reader, self.parent_pidfd, *connections], [], []
            )
            if self.asked_to_end or self.parent_pidfd in readable:
                return None
            if self.woken_reader in readable:
                with contextlib.suppress(BlockingIOError):
                    self.woken_reader.recv(4096)
                self.reap()
            for connection in readable:
                if connection in connections:
                    kill_group(connections[connection].pid)
            self.reap()
            if self.listener in readable:
                forked = self.accept()
                if forked is not None:
                    return forked

    def reap(self) -> None:
        """Collect the processes that have ended and pass their status on."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            kernel = self.kernels.pop(pid, None)
            if kernel is not None:
                message = {"status": os.waitstatus_to_exitcode(status)}
                with contextlib.suppress(OSError):
                    kernel.connection.send(json.dumps(message).encode())
                kernel.connection.close()

    def accept(self) -> tuple[Request, list[int]] | None:
        """Answer one connection; in the fork, return its request and descriptors."""
        connection, _ = self.listener.accept()
        descriptors: list[int] = []
        try:
            connection.settimeout(EXIT_SECONDS)
            message, descriptors, *_ = socket.recv_fds(connection, MESSAGE_BYTES, MOST_DESCRIPTORS)
            if peer_user(connection) not in (0, os.geteuid()):
                raise PermissionError("a process of another user asks for a kernel")
            if not message:
                connection.close()  # somebody only looked whether anybody is here
                return None
            request = Request(**json.loads(message))
            pid = fork_kernel(request, descriptors)
            if pid == 0:
                connection.close()
                return request, descriptors
            with Closing(os.pidfd_open(pid)) as pidfd:
                socket.send_fds(connection, [json.dumps({"pid": pid}).encode()], [pidfd])
            connection.setblocking(False)
            self.kernels[pid] = Kernel(pid, connection)
        except Exception as error:  # whatever it is, the requester is told and the next one served
            if not isinstance(error, PermissionError):  # of which others could make any number
                traceback.print_exc()
            with contextlib.suppress(OSError):
                reason = f"{type(error).__name__}: {error}"
                connection.send(json.dumps({"error": reason}).encode())
            connection.close()
        for descriptor in descriptors:
            os.close(descriptor)
        return None


class Closing:
    """A descriptor that is closed at the end of a ``with`` block."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __enter__(self) -> int:
        return self.descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)


def peer_user(connection: socket.socket) -> int:
    """The user of the process at the other end of a Unix socket."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[4:8], sys.byteorder)


def kill_group(pid: int) -> None:
    """Kill a kernel and the processes that share its process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def fork_kernel(request: Request, descriptors: list[int]) -> int:
    """Fork, into the request's sandbox where it names one.

    Returns:
        The process id of the kernel, as seen from here; 0 in the kernel.
    """
    if request.sandbox is not None:
        return fork_into_sandbox(request.sandbox, descriptors.pop())
    template = os.getpid()
    pid = os.fork()
    if pid == 0:
        end_with(template)
    return pid


def fork_into_sandbox(rules: dict, holder: int) -> int:
    """Fork a process that joins a sandbox and forks the kernel there.

    The process in between ends at once, so that the kernel becomes a child of this one.

    Args:
        rules: ``Sandbox.rules()``.
        holder: a pidfd of the process that holds the sandbox; it is closed here.

    Returns:
        As ``fork_kernel``.

    Raises:
        OSError: the sandbox can't be joined.
    """
    answer_reader, answer_writer = os.pipe()
    go_reader, go_writer = os.pipe()
    between = os.fork()
    if between == 0:
        os.close(go_writer)
        try:
            confinement.enter(holder, rules["namespaces"])
            kernel = os.fork()
            if kernel == 0:
                if not os.read(go_reader, 1):
                    os._exit(1)
                for descriptor in (answer_reader, answer_writer, go_reader, holder):
                    os.close(descriptor)
                return 0
            answer = {"pid": kernel}
        except Exception as error:  # nothing may lead back into the loop of the template process
            traceback.print_exc()
            answer = {"error": str(error)}
        os.write(answer_writer, json.dumps(answer).encode())
        os._exit(0)
    for descriptor in (answer_writer, go_reader, holder):
        os.close(descriptor)
    answer = json.loads(os.read(answer_reader, MESSAGE_BYTES) or '{"error": "it died"}')
    os.close(answer_reader)
    os.waitpid(between, 0)
    # Now the kernel is this process's child, and may ask to die with its parent.
    if "pid" in answer:
        os.write(go_writer, b"!")
    os.close(go_writer)
    if "error" in answer:
        raise OSError(answer["error"])
    return answer["pid"]


if __name__ == "__main__":
    main()
