"""A web server for a notebook: a process of its own on loopback, gone with whoever started it.

The server's process never imports PyTorch. What it serves is a function that makes an application;
it travels by cloudpickle, so it may be defined in a notebook.
"""

from __future__ import annotations

import contextlib
import dis
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import cloudpickle

from course_utils.learner.servers import ServerError, end, free_port, last_line, show_page

READY_SECONDS = 40


class WebServer:
    """A process that serves ``make(*arguments)``, an ASGI application; use it in ``with``.

    Attributes:
        url: its address, ``http://127.0.0.1:PORT``.
        pid: its process.
    """

    def __init__(self, make: Callable, *arguments: Any, page: str = "") -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = tempfile.TemporaryDirectory(prefix="course-serving-")
        parcel = Path(self._folder.name) / "application"
        whole = _by_value(make), arguments, page, _named_in_classes(make)
        parcel.write_bytes(cloudpickle.dumps(whole))
        self._log = (Path(self._folder.name) / "log").open("w+b")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "course_utils.chapters.deployment.server_process",
             str(parcel), str(self.port), str(os.getpid())],
            stdin=subprocess.PIPE, stdout=self._log, stderr=self._log, start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def _wait(self) -> None:
        import socket

        limit = time.monotonic() + READY_SECONDS
        while time.monotonic() < limit:
            if self._process.poll() is not None:
                raise ServerError(f"the server ended at once: {last_line(self._log)}")
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self.port), timeout=1),
            ):
                return
            time.sleep(0.05)
        raise ServerError(f"the server did not answer within {READY_SECONDS} s")

    def alive(self) -> bool:
        return self._process.poll() is None

    def peak_bytes(self) -> int:
        """The most memory that its process ever held; 0 where the system doesn't tell."""
        with contextlib.suppress(OSError, ValueError):
            for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
                if line.startswith("VmHWM"):
                    return int(line.split()[1]) * 1024
        return 0

    def said(self) -> str:
        """The last line of its log."""
        return last_line(self._log)

    def ask(
        self, path: str = "/health", content: bytes | Iterator[bytes] | None = None
    ) -> tuple[int, Any]:
        """One request, GET or, with a body, POST: the status, and the JSON or text that came."""
        import httpx

        # No certificates are read: that takes longer than the request.
        options: dict[str, Any] = {"trust_env": False, "verify": False, "timeout": 30}
        with httpx.Client(base_url=self.url, **options) as client:
            got = client.get(path) if content is None else client.post(path, content=content)
        with contextlib.suppress(ValueError):
            return got.status_code, got.json()
        return got.status_code, got.text

    def show(self, height: int = 330) -> None:
        """Show its page below a notebook's cell, so high in pixels."""
        show_page("the server", f"{self.url}/", "in JupyterLab its page stands here", height=height)

    def stop(self) -> None:
        """End it; does nothing when it has ended."""
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()
        end(self._process)
        self._log.close()
        self._folder.cleanup()

    def __enter__(self) -> WebServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _by_value(function: Callable) -> Callable:
    """A function of a cell is sent whole, whatever module's name it bears."""
    if getattr(function, "__module__", None) not in sys.modules:
        function.__module__ = "__main__"
    return function


def _named_in_classes(function: Callable) -> dict[str, Any]:
    """The globals that bodies of classes inside a function name: cloudpickle overlooks these."""
    known, found = getattr(function, "__globals__", {}), {}
    codes = [getattr(function, "__code__", None)]
    while codes:
        code = codes.pop()
        if code is not None:
            codes += [one for one in code.co_consts if isinstance(one, CodeType)]
            names = [one.argval for one in dis.get_instructions(code) if one.opname == "LOAD_NAME"]
            found |= {n: known[n] for n in names if n in known and not n.startswith("__")}
    return found
