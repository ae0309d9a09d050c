"""visdom and TensorBoard for a notebook: on a free loopback port, and gone with the kernel.

::

    with tensorboard_server(folder) as server:
        print(server.url)

Or ``server = tensorboard_server(folder).start()`` in one cell and ``server.stop()`` in a later one.

The server is a process of its own. It watches the pipe that is its standard input, and the process
that started it: when that one ends, by a signal that no program can catch too, the server clears up
and ends. Nothing here needs a network, apart from the script files of visdom's page, which
visdom's wheel lacks; see ``visdom_page``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
READY_SECONDS = 60
END_SECONDS = 5
FETCH_SECONDS = 60
WATCH_SECONDS = 0.2
PORT_TRIES = 3

# What visdom's page asks for, by npm package: file there -> file below visdom's static folder.
PAGE_FILES = {
    "jquery@3.1.1": {"dist/jquery.min.js": "js/jquery.min.js"},
    "bootstrap@3.3.7": {
        "dist/js/bootstrap.min.js": "js/bootstrap.min.js",
        "dist/css/bootstrap.min.css": "css/bootstrap.min.css",
        "dist/fonts/glyphicons-halflings-regular.woff2": (
            "fonts/glyphicons-halflings-regular.woff2"
        ),
    },
    "react@16.2.0": {"umd/react.production.min.js": "js/react-react.min.js"},
    "react-dom@16.2.0": {"umd/react-dom.production.min.js": "js/react-dom.min.js"},
    "layout-bin-packer@1.4.0": {"dist/layout-bin-packer.js": "js/layout_bin_packer.js"},
    "plotly.js-dist-min@2.11.1": {"plotly.min.js": "js/plotly-plotly.min.js"},
    "d3@3.5.17": {"d3.min.js": "js/d3.v3.min.js"},
    "d3-selection-multi@1.0.1": {"build/d3-selection-multi.min.js": "js/d3-selection-multi.v1.js"},
    "save-svg-as-png@1.4.17": {"lib/saveSvgAsPng.js": "js/saveSvgAsPng.js"},
    "react-resizable@1.4.6": {"css/styles.css": "css/react-resizable-styles.css"},
    "react-grid-layout@0.16.3": {"css/styles.css": "css/react-grid-layout-styles.css"},
}
# Without these the page stays white.
NEEDED = [name for files in PAGE_FILES.values() for name in files.values() if "js/" in name]


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


_running: set[Server] = set()  # a server is not ended because its name was used again


def tensorboard_server(
    folder: str | os.PathLike | None = None, *options: str, seconds: float = READY_SECONDS
) -> Server:
    """TensorBoard on a free loopback port; use it in ``with``, or call ``start()`` and ``stop()``.

    Args:
        folder: the log folder that it shows; by default an empty one of its own,
            ``server.folder``, which is removed when it ends.
        options: of TensorBoard's command, such as ``"--samples_per_plugin=images=100"``.
        seconds: how long starting may take.
    """
    return Server("tensorboard", folder, options, seconds)


def visdom_server(
    folder: str | os.PathLike | None = None, *, page: bool = True, seconds: float = READY_SECONDS
) -> Server:
    """visdom on a free loopback port; use it in ``with``, or call ``start()`` and ``stop()``.

    ``server.client()`` gives a ``visdom.Visdom`` that talks to it.

    Args:
        folder: where environments are saved, and read from at the start; by default an empty one
            of its own, which is removed when the server ends.
        page: whether a browser will look: then the page's missing script files are fetched, once,
            where there is a network. If they can't be had, ``server.page`` says why; windows and
            their data work without.
        seconds: how long starting may take.
    """
    static, words = visdom_page(fetch=page)
    server = Server("visdom", folder, (f"--static={static}",), seconds)
    server.page = words if page else ""
    return server


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


# --- visdom's page ---------------------------------------------------------------------------


def page_folder() -> Path:
    """Where the fetched page of this visdom is kept: in the user's cache."""
    from importlib.metadata import version

    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    cache = Path(base) if base else Path.home() / ".cache"
    return cache / "pytorch-notebook-course" / f"visdom-{version('visdom')}"


def visdom_page(fetch: bool = True) -> tuple[Path, str]:
    """The static folder that visdom's page is served from.

    visdom's wheel holds its page without the scripts of others that it needs, and visdom's own
    command fetches them whenever it starts. Here they are fetched once, into the user's cache.

    Args:
        fetch: whether to fetch them if they are nowhere yet.

    Returns:
        The folder, and words that say why scripts are missing; empty if they are all there.
    """
    from importlib.util import find_spec

    visdom = find_spec("visdom")
    assert visdom is not None
    assert visdom.origin is not None
    own = Path(visdom.origin).parent / "static"
    for folder in (own, page_folder()):
        if is_whole(folder):
            return folder, ""
    if not fetch:
        return own, "visdom's page lacks its scripts"
    try:
        return fetch_page(own, page_folder()), ""
    except (OSError, ServerError) as error:
        words = f"visdom's page would stay white, its scripts are missing: {error}"
        return own, words + "; everything but looking at the page works"


def is_whole(folder: Path) -> bool:
    """Whether every script that visdom's page needs is there."""
    return all((folder / name).is_file() and (folder / name).stat().st_size for name in NEEDED)


def fetch_page(own: Path, target: Path) -> Path:
    """Copy the static folder of visdom's wheel and add what it lacks.

    Raises:
        ServerError: there is no network, or neither npm nor visdom's own downloader got the files.
        OSError: the cache cannot be written.
    """
    if not has_network():
        raise ServerError("there is no network to fetch them from")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        new = Path(name) / "static"
        shutil.copytree(own, new)
        words = _fetch_by_npm(new, Path(name))
        if not is_whole(new):
            words += "; " + _fetch_by_visdom(new)
        if not is_whole(new):
            raise ServerError(words)
        if is_whole(target):  # another process was faster
            return target
        shutil.rmtree(target, ignore_errors=True)
        new.rename(target)
    return target


def has_network() -> bool:
    """Whether this machine has an interface besides the loopback that is up."""
    import psutil

    up = psutil.net_if_stats()
    return any(state.isup and not name.lower().startswith("lo") for name, state in up.items())


def _fetch_by_npm(static: Path, scratch: Path) -> str:
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    settings = ["--silent", "--fetch-retries=0", "--fetch-timeout=20000"]
    try:
        done = subprocess.run(
            [npm, "pack", *settings, *PAGE_FILES],
            cwd=scratch, stdin=subprocess.DEVNULL, capture_output=True, timeout=FETCH_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"npm did not get them within {FETCH_SECONDS} s"
    if done.returncode:
        return "npm could not fetch them"
    for package, files in PAGE_FILES.items():
        with tarfile.open(scratch / f"{package.replace('@', '-')}.tgz") as archive:
            for source, name in files.items():
                (static / name).parent.mkdir(exist_ok=True)
                content = archive.extractfile(f"package/{source}")
                assert content is not None, f"{source} is no file"
                (static / name).write_bytes(content.read())
    return ""


def _fetch_by_visdom(static: Path) -> str:
    program = (
        "import socket, sys; socket.setdefaulttimeout(10); "
        "from visdom.server.build import download_scripts; "
        "download_scripts(install_dir=sys.argv[1])"
    )
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-c", program, static.parent],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=FETCH_SECONDS,
        )  # fmt: skip
    return "" if is_whole(static) else "visdom's own downloader did not get them"


# --- in the server's process -----------------------------------------------------------------


def _end_with(parent: int, work: str) -> None:
    """Wait until standard input is closed or the parent is gone; clear up; end the process."""
    closed = threading.Event()

    def read() -> None:
        with contextlib.suppress(OSError, ValueError):
            while os.read(0, 4096):
                pass
        closed.set()

    threading.Thread(target=read, daemon=True).start()
    # A fork of the parent holds the pipe open too, so the parent's id is watched as well.
    while os.getppid() == parent and not closed.wait(WATCH_SECONDS):
        pass
    if work:
        os.chdir(os.path.abspath(os.sep))
        shutil.rmtree(work, ignore_errors=True)
    os._exit(0)


def _serve_visdom(folder: str, port: int, *options: str) -> None:
    # Its clients may use PyTorch, and import it if they can; a server would only wait for it.
    sys.modules["torch"] = None  # ty: ignore[invalid-assignment]  as Python's import documents it
    from tornado.ioloop import IOLoop
    from visdom.server import app

    # visdom asks for debug mode, which would watch its sources.
    settings: dict[str, Any] = {"autoreload": False}
    for option in options:
        static = option.removeprefix("--static=")
        settings |= {"static_path": static, "template_path": static}
    app.tornado_settings.update(settings)
    # visdom puts its paths together from strings, so the folder ends in a separator.
    application = app.Application(port=port, base_url="", env_path=folder + os.sep)
    application.listen(port, address=LOOPBACK, max_buffer_size=2**30)
    IOLoop.instance().start()


def _serve_tensorboard(folder: str, port: int, *options: str) -> None:
    from tensorboard import main

    where = ["--logdir", folder, "--host", LOOPBACK, "--port", str(port)]
    # The fast loader is a second process, which would have to be ended, too.
    sys.argv = ["tensorboard", *where, "--load_fast=false", "--reload_interval=1", *options]
    main.run_main()


def main(kind: str, folder: str, port: str, parent: str, work: str, *options: str) -> None:
    if int(parent):
        threading.Thread(target=_end_with, args=(int(parent), work), daemon=True).start()
    serve = {"visdom": _serve_visdom, "tensorboard": _serve_tensorboard}[kind]
    serve(folder, int(port), *options)


if __name__ == "__main__":
    main(*sys.argv[1:])
