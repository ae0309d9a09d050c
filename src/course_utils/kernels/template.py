"""Warm kernels: ``Template`` starts the process that forks them, and ``launch`` asks it for one.

A request is one message of JSON with file descriptors on a Unix socket, a connection per kernel.
The answers are ``{"pid": …}`` with a descriptor of the process (a pidfd), and ``{"status": …}``
once the kernel has ended. Who closes the connection ends the kernel.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import logging
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
from typing import IO, Any

LOG = logging.getLogger(__name__)
# The kernel provisioner's, in pyproject.toml.
NAME = "course-warm"
ADDRESS_VARIABLE = "COURSE_KERNEL_TEMPLATE"
# By its name: what runs there need not be imported here.
PROCESS = "course_utils.kernels.template_process"
# What a kernel may find in /proc/self/environ, whatever its own environment is.
INHERITED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH")
MESSAGE_BYTES = 2**20
EXIT_SECONDS = 5
# Within which the next line of a traceback follows.
PAUSE_SECONDS = 0.2


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
            self.process = subprocess.Popen(
                [sys.executable, "-m", PROCESS, str(descriptor), str(os.getpid())],
                env={**inherited, **single, **huge, **self.environment},
                # Python looks for modules where it is started: not among somebody's own files.
                cwd="/",
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        threading.Thread(target=self.listen, args=(self.process,), daemon=True).start()

    def listen(self, process: subprocess.Popen) -> None:
        """Log what the process says, and its end, unless it was asked to end."""
        assert process.stderr is not None
        log_what_it_says(process.stderr)
        status = process.wait()
        if self.process is process:
            LOG.warning("the process that starts kernels ended with %s", status)

    def stop(self) -> None:
        """End the process and every kernel it forked."""
        process, self.process = self.process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(EXIT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def log_what_it_says(stderr: IO[bytes]) -> None:
    """Log what the template process writes to stderr, to its end; no cell has that descriptor."""
    with stderr:
        while text := os.read(stderr.fileno(), MESSAGE_BYTES):
            while select.select([stderr], [], [], PAUSE_SECONDS)[0]:
                more = os.read(stderr.fileno(), MESSAGE_BYTES)
                text += more
                if not more or len(text) > MESSAGE_BYTES:
                    break
            words = text.decode(errors="replace").strip()
            LOG.warning("the process that starts kernels says:\n%s", words)


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
