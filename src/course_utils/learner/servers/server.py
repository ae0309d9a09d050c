"""A server as a notebook sees it: started, asked, and ended."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
READY_SECONDS = 60
END_SECONDS = 5
PORT_TRIES = 3


class ServerError(RuntimeError):
    """A server did not start; the message says what it said last."""


class Server:
    """A server that runs while a ``with`` block does, or from ``start()`` to ``stop()``.

    Attributes:
        kind: ``"visdom"`` or ``"tensorboard"``.
        folder: where it keeps its files, or reads them from.
        port: its port on the loopback; ``None`` while it does not run.
        page: what there is to say about its page: empty, or why the page would stay white.
    """

    def __init__(
        self, kind: str, folder: str | os.PathLike | None, options: tuple[str, ...], seconds: float
    ) -> None:
        self.kind = kind
        self.options = options
        self.seconds = seconds
        self.port: int | None = None
        self.page = ""
        self._given = None if folder is None else Path(folder).absolute()
        self._work: Path | None = None
        self._process: subprocess.Popen | None = None

    @property
    def folder(self) -> Path | None:
        if self._given is not None:
            return self._given
        return self._work and self._work / "data"

    @property
    def url(self) -> str:
        """The page's address.

        Raises:
            ServerError: the server does not run.
        """
        if self.port is None:
            raise ServerError(f"{self.kind} does not run: use `with`, or call start()")
        return f"http://{LOOPBACK}:{self.port}/"

    def start(self) -> Server:
        """Start it and wait until its page is there.

        Raises:
            ServerError: it ended at once or did not answer in time, or it runs already.
        """
        if self._process is not None:
            raise ServerError(f"{self.kind} runs already, at {self.url}")
        work = self._work = Path(tempfile.mkdtemp(prefix=f"course-{self.kind}-"))
        try:
            folder = self._given or work / "data"
            folder.mkdir(parents=True, exist_ok=True)
            for attempt in range(PORT_TRIES):
                words = self._try_a_port(folder, work)
                if not words:
                    _running.add(self)
                    return self
                taken = "in use" in words or "already" in words
                if not taken or attempt == PORT_TRIES - 1:
                    raise ServerError(f"{self.kind} {words}")
        except BaseException:
            self.stop()
            raise
        raise AssertionError("unreachable")

    def _try_a_port(self, folder: Path, work: Path) -> str:
        """Start on a free port; empty if it answers, otherwise what went wrong."""
        port = free_port()
        with (work / "log").open("w+b") as log:
            self._process = subprocess.Popen(
                server_command(
                    self.kind, folder, port, *self.options, parent=os.getpid(), work=work
                ),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=work,
                env={**os.environ, "TMPDIR": str(work)},
                start_new_session=True,
            )
            words = wait_until_ready(self._process, port, self.seconds)
            if words:
                end(self._process)
                self._process = None
                return f"{words} ({last_line(log)})"
        self.port = port
        return ""

    def stop(self) -> None:
        """End it, and remove the folder if it was not yours. Does nothing if it does not run."""
        process, self._process, self.port = self._process, None, None
        _running.discard(self)
        if process is not None:
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.close()
            end(process)
        if self._work is not None:
            shutil.rmtree(self._work, ignore_errors=True)
            self._work = None

    def show(self, path: str = "", height: int = 480) -> None:
        """Show its page below a notebook's cell; where no JupyterLab is, only say its address.

        A browser that reaches JupyterLab by another name than this machine's own is led through
        JupyterLab, by jupyter-server-proxy, which comes with the course.

        Args:
            path: which of its pages, such as ``"env/main"`` of visdom.
            height: in pixels.

        Raises:
            ServerError: it does not run.
        """
        show_page(self.kind, self.url, repr(self), path, height)

    def read(self, path: str = "") -> str:
        """The text of a page of the server, such as ``"data/runs"`` of TensorBoard."""
        with _opener().open(self.url + path.lstrip("/"), timeout=self.seconds) as page:
            return page.read().decode()

    def client(self, env: str = "main", **options: Any) -> Any:
        """A ``visdom.Visdom`` that talks to this server and raises what goes wrong.

        No proxy of the environment comes in between.

        Args:
            env: the environment that is written to by default.
            options: of ``Visdom``.

        Raises:
            ServerError: this is no visdom server, or it does not run.
        """
        if self.kind != "visdom":
            raise ServerError(f"{self.kind} has no client: write event files into its folder")
        import logging

        import requests
        from visdom import Visdom

        class Client(Visdom):
            @property
            def session(self):
                if self._session is None:
                    self._session = requests.Session()
                    self._session.trust_env = False  # no proxy between here and the loopback
                return self._session

        logging.getLogger("visdom").setLevel(logging.ERROR)
        host = self.url.rpartition(":")[0]
        assert self.port is not None, "url has refused"
        settings = {"use_incoming_socket": False, "raise_exceptions": True, "base_url": ""}
        chosen: dict[str, Any] = {**settings, **options}
        return Client(host, port=self.port, env=env, **chosen)

    def __enter__(self) -> Server:
        return self if self._process is not None else self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        if self.port is None:
            return f"{self.kind}, which does not run"
        return f"{self.kind} at {self.url}" + (f"\n{self.page}" if self.page else "")


FRAME = """\
<iframe id="{name}" title="{kind}'s page" hidden width="100%" height="{height}"></iframe>
<script>{{
const frame = document.getElementById("{name}");
const settings = document.getElementById("jupyter-config-data");
const here = ["127.0.0.1", "localhost", "[::1]"].includes(location.hostname);
if (settings) {{
  const through = JSON.parse(settings.textContent).baseUrl + "proxy/{port}/";
  frame.src = (here ? "{url}" : through) + "{path}";
  frame.hidden = false;
}}
}}</script>"""


def show_page(kind: str, url: str, words: str, path: str = "", height: int = 480) -> None:
    """Show a server's page below a notebook's cell; where no JupyterLab is, only ``words``.

    Args:
        kind: what serves it.
        url: its address on this machine, with the last slash.
        words: text in place of the page.
        path: which of its pages.
        height: in pixels.
    """
    from IPython.display import display

    # Jupyter's server sets this for the kernels of its notebooks.
    inside = os.environ.get("JPY_SESSION_NAME")
    shown = {"text/html": frame_of(kind, url, path, height)} if inside else {}
    display({"text/plain": words, **shown}, raw=True)


def frame_of(kind: str, url: str, path: str, height: int) -> str:
    """HTML that shows a server's page in JupyterLab, and nothing on any other page."""
    name = f"course-{kind}-{secrets.token_hex(4)}"
    port = url.rstrip("/").rpartition(":")[2]
    return FRAME.format(name=name, kind=kind, height=height, port=port, url=url, path=path)


_running: set[Server] = set()  # a server is not ended because its name was used again


def server_command(
    kind: str,
    folder: str | os.PathLike,
    port: int,
    *options: str,
    parent: int = 0,
    work: str | os.PathLike = "",
) -> list[str]:
    """The command line of a server.

    Args:
        kind: ``"visdom"`` or ``"tensorboard"``.
        folder: what it shows, or where it saves.
        port: on the loopback.
        options: passed on.
        parent: the process whose end is the server's; 0 for none, and then standard input is
            not watched either.
        work: a folder to remove when the parent ends.
    """
    fixed = [kind, str(folder), str(port), str(parent), str(work)]
    return [sys.executable, "-m", "course_utils.learner.servers", *fixed, *options]


def free_port() -> int:
    """A port of the loopback that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return probe.getsockname()[1]


def wait_until_ready(process: subprocess.Popen, port: int, seconds: float) -> str:
    """Wait for a server's page; empty if it is there, otherwise words for what happened."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if process.poll() is not None:
            return "ended at once"
        if page_is_there(port):
            return ""
        time.sleep(0.05)
    return f"did not answer within {seconds:g} s"


def _opener() -> urllib.request.OpenerDirector:
    # No proxy of the environment may come between this process and the loopback.
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))


def page_is_there(port: int) -> bool:
    """Whether a server answers on this port of the loopback."""
    try:
        with _opener().open(f"http://{LOOPBACK}:{port}/", timeout=5) as page:
            return page.status == 200
    except (urllib.error.URLError, OSError):
        return False


def last_line(log) -> str:
    """The last line of an open log file, or that there is none."""
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it says nothing"


def end(process: subprocess.Popen) -> None:
    """Ask a server to end; after five seconds, kill it and whatever it started."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=END_SECONDS)
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
