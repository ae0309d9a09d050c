"""A process that has torch and its friends imported, and forks kernels that have them at once.

``python -m course_utils.kernels.template`` is that process. ``Template`` starts it and asks it for
kernels. It imports, and computes nothing: a thread that it started would be missing in its forks.

A request is one message of JSON with file descriptors on a Unix socket, a connection per kernel.
The answers are ``{"pid": …}`` with a descriptor of the process (a pidfd), and ``{"status": …}``
once the kernel has ended. Who closes the connection ends the kernel.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ctypes
import importlib
import importlib.util
import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from course_utils.kernels import sandbox
from course_utils.kernels.sandbox import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, prctl

# The kernel provisioner's, in pyproject.toml.
NAME = "course-warm"
ADDRESS_VARIABLE = "COURSE_KERNEL_TEMPLATE"
# What a kernel may find in /proc/self/environ, whatever its own environment is.
INHERITED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH")
MESSAGE_BYTES = 2**20
MOST_DESCRIPTORS = 64
EXIT_SECONDS = 5

# What a notebook of the course imports sooner or later. The grading modules are there only where
# a kernel answers for, or judges, another.
MODULES = (
    # In the order of a notebook: later warning filters come first.
    *("ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.zmqshell"),
    "course_utils.kernels.streams",
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
        "course_utils.grading.wire",
        "course_utils.grading.answering",
        "course_utils.grading.judge_process",
    ),
)
INLINE_BACKEND = "module://matplotlib_inline.backend_inline"


@dataclass(frozen=True)
class Request:
    """One kernel, as its requester wants it.

    Attributes:
        arguments: what follows ``python -m ipykernel_launcher``.
        environment: the kernel's whole environment.
        folder: its working folder.
        threads: how many threads torch computes with; None for one per core.
        descriptors: the numbers that the descriptors sent along get in the kernel, with 0 to 2.
        sandbox: ``Sandbox.rules()``, or None; the sandbox's pidfd is sent after the descriptors.
        connection: the text of a connection file to write before the kernel starts, by its path.
        program: a module whose ``main(arguments)`` runs in place of ipykernel; none if empty.
    """

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    threads: int | None
    descriptors: list[int]
    sandbox: dict | None = None
    connection: dict[str, str] = field(default_factory=dict)
    program: str = ""


def supported() -> bool:
    """Whether this system has what warm kernels need: Linux, and Python's pidfd."""
    return sys.platform == "linux" and hasattr(os, "pidfd_open")


class TemplateError(RuntimeError):
    """The template process could not start a kernel; the message says why."""


class WarmProcess:
    """A kernel that the template process forked, with the face of ``subprocess.Popen``."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int, pidfd: int, connection: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._pidfd = pidfd
        self._connection = connection

    def poll(self) -> int | None:
        """The exit status, minus the signal's number where one ended it; None while it runs."""
        if self.returncode is None and select.select([self._pidfd], [], [], 0)[0]:
            self._finish()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait at most ``timeout`` seconds for the end, and return the exit status."""
        if self.returncode is None:
            if not select.select([self._pidfd], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("kernel", timeout or 0)
            self._finish()
        assert self.returncode is not None
        return self.returncode

    async def ended(self) -> int:
        """Wait for the end without blocking the event loop, and return the exit status."""
        if self.poll() is None:
            loop = asyncio.get_running_loop()
            end = loop.create_future()
            # A descriptor of this wait's own: several may wait for one kernel.
            watched = os.dup(self._pidfd)
            loop.add_reader(watched, lambda: end.done() or end.set_result(None))
            try:
                await end
            finally:
                loop.remove_reader(watched)
                os.close(watched)
        return self.wait()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _finish(self) -> None:
        """Fetch the status of a process that has ended, and let go of everything."""
        self.returncode = -signal.SIGKILL  # where the template process is gone as well
        self._connection.settimeout(EXIT_SECONDS)
        with contextlib.suppress(OSError, ValueError):
            self.returncode = json.loads(self._connection.recv(MESSAGE_BYTES))["status"]
        self._connection.close()
        os.close(self._pidfd)

    def __del__(self) -> None:
        # Closing the connection ends the kernel: nobody is left to do it.
        if self.returncode is None:
            self._connection.close()
            os.close(self._pidfd)


class Template:
    """The template process: ``with Template() as template: template.launch(…)``.

    It dies with the process that started it, however that ends, and its kernels die with it.

    Args:
        environment: variables that the template process gets beside the few it inherits. They are
            in force while it imports, and every kernel can read them.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        # An abstract socket: no file that could be left behind.
        self.address = f"@course-kernels-{secrets.token_hex(8)}"
        self.environment = {"PYTHONHASHSEED": "0", **(environment or {})}
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> Template:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the process. It takes requests at once and answers them when it has imported."""
        inherited = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
        # One thread each: a pool of threads started by an import would be missing in the kernels.
        single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        # glibc asks for huge pages: half of what ``collapse_memory`` would have to copy.
        huge = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
        with _socket() as listener:
            listener.bind(_socket_address(self.address))
            listener.listen(socket.SOMAXCONN)
            descriptor = listener.fileno()
            assert __spec__ is not None
            self.process = subprocess.Popen(
                [sys.executable, "-m", __spec__.name, str(descriptor), str(os.getpid())],
                env={**inherited, **single, **huge, **self.environment},
                # Python looks for modules where it is started: not among somebody's own files.
                cwd="/",
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )

    def stop(self) -> None:
        """End the process and every kernel it forked."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(EXIT_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None


@contextlib.contextmanager
def warm_environment() -> Generator[dict[str, str]]:
    """Variables with which another process's kernels start warm, as long as the block lasts.

    There are none where warm kernels are not supported: kernels then start as usual.
    """
    if not supported():
        yield {}
        return
    # Strings hash differently in each run, as usual: what depends on it should be seen.
    with Template({"PYTHONHASHSEED": "random"}) as template:
        yield {"JUPYTER_DEFAULT_PROVISIONER_NAME": NAME, ADDRESS_VARIABLE: template.address}


_shared: Template | None = None
_shared_owner = 0
_shared_lock = threading.Lock()


def shared_address() -> str:
    """The address of this process's template: the one that the environment names, else its own.

    Its own is started at the first call and stopped at exit.
    """
    global _shared, _shared_owner
    named = os.environ.get(ADDRESS_VARIABLE)
    if named and _answers(named):
        return named
    with _shared_lock:
        # A forked process must not count on its parent's template.
        alive = _shared is not None and _shared.process is not None
        if not alive or _shared_owner != os.getpid() or _shared.process.poll() is not None:
            _shared, _shared_owner = Template(), os.getpid()
            _shared.start()
            atexit.register(_shared.stop)
        return _shared.address


def _answers(address: str) -> bool:
    with _socket() as probe:
        return probe.connect_ex(_socket_address(address)) == 0


def _socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _socket_address(address: str) -> str:
    """``@name`` names an abstract socket, as ``ss`` and ``lsof`` write it."""
    return "\0" + address[1:] if address.startswith("@") else address


async def launch(address: str, request: Request, descriptors: list[int]) -> WarmProcess:
    """Have the template process at ``address`` fork a kernel.

    Args:
        address: of the template process.
        request: what kernel.
        descriptors: what the kernel gets as ``request.descriptors``, then the sandbox's, if any.

    Raises:
        TemplateError: there is no such process, or it could not start the kernel.
    """
    connection = _socket()
    try:
        connection.setblocking(False)
        connection.connect(_socket_address(address))
        socket.send_fds(connection, [json.dumps(asdict(request)).encode()], descriptors)
        await _readable(connection)
        message, pidfds, *_ = socket.recv_fds(connection, MESSAGE_BYTES, 1)
    except OSError as error:
        connection.close()
        raise TemplateError(f"the process that starts kernels does not answer ({error})") from error
    except BaseException:
        connection.close()
        raise
    ended = {"error": "the process that starts kernels ended"}
    answer: dict[str, Any] = json.loads(message) if message else ended
    if "error" in answer:
        connection.close()
        raise TemplateError(answer["error"])
    return WarmProcess(answer["pid"], pidfds[0], connection)


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(connection, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(connection)


# What follows runs in the template process, and in the kernels that it forks.


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
    import gc

    # The collector leaves what is there now alone, so that forks keep sharing its memory.
    gc.collect()
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
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != template:
            os._exit(1)
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
            sandbox.enter(holder, rules["namespaces"])
            kernel = os.fork()
            if kernel == 0:
                if not os.read(go_reader, 1):
                    os._exit(1)
                for descriptor in (answer_reader, answer_writer, go_reader, holder):
                    os.close(descriptor)
                return 0
            answer = {"pid": kernel}
        except OSError as error:
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


def run_kernel(request: Request, descriptors: list[int]) -> NoReturn:
    """Become the kernel that was asked for; never return."""
    status = 1
    try:
        os.setsid()
        if request.sandbox is not None:
            sandbox.confine(request.sandbox["user"], request.sandbox["limits"])
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        place_descriptors(dict(zip(request.descriptors, descriptors, strict=False)))
        os.chdir(request.folder)
        become_fresh(request)
        for path, text in request.connection.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        if request.program:
            importlib.import_module(request.program).main(request.arguments)
            status = 0
        else:
            status = run_application(request.arguments)
    except SystemExit as exit:
        status = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc(file=sys.__stderr__)
    finally:
        # What the interpreter does at its end, but for taking torch apart, which takes long.
        with contextlib.suppress(BaseException):
            atexit._run_exitfuncs()
        with contextlib.suppress(BaseException):
            for stream in (sys.__stdout__, sys.__stderr__):
                if stream is not None:
                    stream.flush()
        os._exit(status)


def place_descriptors(wanted: dict[int, int]) -> None:
    """Give descriptors the wanted numbers, and close every other.

    Args:
        wanted: from the number that each is to have to the number that it has.
    """
    import fcntl

    above = max([*wanted, *wanted.values(), 2]) + 1
    # First out of each other's way, then into place.
    apart = {
        number: fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, above)
        for number, descriptor in wanted.items()
    }
    for number, descriptor in apart.items():
        os.dup2(descriptor, number, inheritable=number <= 2)
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in wanted:
            with contextlib.suppress(OSError):  # the listing's own is gone already
                os.close(int(name))


def become_fresh(request: Request) -> None:
    """Renew what a new process would have of its own and a fork has from its parent."""
    import multiprocessing.process
    import random
    import tempfile
    import time

    import matplotlib
    import numpy
    import torch

    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    tempfile.tempdir = None
    matplotlib.rcParams["backend"] = os.environ.get("MPLBACKEND", INLINE_BACKEND)
    multiprocessing.process.ORIGINAL_DIR = os.getcwd()  # ty: ignore[missing-attribute]  private
    multiprocessing.process.current_process().authkey = os.urandom(32)
    # Where a Python that starts looks for modules.
    extra = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:0] = [path for path in extra if path not in sys.path]
    random.seed(os.urandom(32))
    numpy.random.seed()
    torch.manual_seed(int.from_bytes(os.urandom(7), sys.byteorder))
    wanted = request.threads or int(os.environ.get("OMP_NUM_THREADS") or 0)
    torch.set_num_threads(wanted or len(os.sched_getaffinity(0)))


def run_application(arguments: list[str]) -> int:
    """Run the kernel's application as ``python -m ipykernel_launcher`` does, to its end."""
    from ipykernel.kernelapp import IPKernelApp

    launcher = importlib.util.find_spec("ipykernel_launcher")
    assert launcher is not None
    assert launcher.origin is not None
    # 1 is a parent that never goes away: the kernel need not look every second.
    sys.argv = [launcher.origin, *arguments, "--IPKernelApp.parent_handle=1"]
    application = IPKernelApp.instance()
    application.initialize(sys.argv[1:])
    # As it is, the logger makes a record of every message, which its handler then drops.
    application.log.setLevel(application.log_level)
    application.start()
    return 0


if __name__ == "__main__":
    main()
