"""The project's folder: written out whole, with a learner's modules in the course's place."""

from __future__ import annotations

import atexit
import linecache
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import psutil

from course_utils.chapters.capstone.trials import run_tests_of_text

TEMPLATE = Path(__file__).parent / "project"
PACKAGE = "shapefinder"


class Workshop:
    """The project in a folder of its own, which the notebook imports from.

    Until a module of the learner's passes its tests, the course's own is in its place.

    Args:
        folder: where to; by default a new folder for temporary files, removed at the end.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        if folder is None:
            folder = tempfile.mkdtemp(prefix=f"{PACKAGE}-")
            atexit.register(_remove, folder, os.getpid())
        self.folder = Path(folder)
        self.owners: dict[str, str] = {}
        for path in sorted(TEMPLATE.rglob("*")):
            inner = path.relative_to(TEMPLATE)
            if path.is_file() and not any(part.startswith((".", "__pyc")) for part in inner.parts):
                (self.folder / inner).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, self.folder / inner)
        sys.path[:] = [str(self.source), *(one for one in sys.path if f"{PACKAGE}-" not in one)]
        forget()

    @property
    def source(self) -> Path:
        return self.folder / "src"

    def keep(self, module: str, answer: Callable) -> None:
        """Write the cell of ``answer`` into the project as ``module``.py, if it passes its tests.

        Else the course's own module stays, and the first test that fails is named.
        """
        text = text_of(answer)
        wrong = [name for name, words in run_tests_of_text(module, text) if words]
        place = self.source / PACKAGE / f"{module}.py"
        if wrong:
            text = (TEMPLATE / "src" / PACKAGE / f"{module}.py").read_text(encoding="utf-8")
        self.owners[module] = "the course's" if wrong else "yours"
        place.write_text(text, encoding="utf-8")
        forget()
        why = f" (yours fails {wrong[0]})" if wrong else ""
        print(f"{module}.py: {self.owners[module]}{why}")

    def run(self, *words: str, timeout: float = 120) -> str:
        """Run ``python words`` in the project's folder and return what it printed.

        Raises:
            RuntimeError: it failed; the message is the end of what it printed.
        """
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
        )
        if done.returncode:
            raise RuntimeError(f"python {' '.join(words)} failed:\n{done.stdout[-2000:]}")
        return done.stdout

    def run_until(self, file: str, *words: str, timeout: float = 100) -> str:
        """Run ``python words``, and send SIGTERM as soon as ``file`` is there.

        Where no signal can be sent to another process (Windows), it is killed with all it started.

        Returns:
            What was printed, by all processes.
        """
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        end = time.monotonic() + timeout
        try:
            while process.poll() is None and time.monotonic() < end:
                if (self.folder / file).exists():
                    if hasattr(signal, "SIGKILL"):
                        process.terminate()
                    else:
                        for child in psutil.Process(process.pid).children(recursive=True):
                            child.kill()
                        process.kill()
                    break
                time.sleep(0.05)
            return process.communicate(timeout=timeout)[0]
        finally:
            process.kill()

    @contextmanager
    def served(self, *words: str, timeout: float = 60) -> Generator[str]:
        """Inside the block ``python -m shapefinder serve words`` answers at the address given.

        Raises:
            RuntimeError: it ended, or told no address in time.
        """
        process = subprocess.Popen(
            [sys.executable, "-m", PACKAGE, "serve", *words],
            cwd=self.folder,
            env={**self.environment(), "PORT": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert process.stdout is not None
            lines: queue.Queue[str] = queue.Queue()
            read = process.stdout.readline
            threading.Thread(target=lambda: lines.put(read()), daemon=True).start()
            try:
                address = lines.get(timeout=timeout).strip()
            except queue.Empty:
                address = ""
            if not address.startswith("http://"):
                raise RuntimeError("the service did not tell its address")
            yield address
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def environment(self) -> dict[str, str]:
        """What the project's processes find in their environment."""
        own = {"PYTHONPATH": str(self.source), "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        quiet = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return {**os.environ, **own, **quiet}

    def tree(self) -> str:
        """The files, as a drawing of letters."""
        lines = [f"{PACKAGE}/"]
        for path in sorted(self.folder.rglob("*")):
            if "__pycache__" not in path.parts:
                depth = len(path.relative_to(self.folder).parts)
                lines.append("    " * depth + path.name + "/" * path.is_dir())
        return "\n".join(lines)


def forget() -> None:
    """Let the next import of the package read its files again."""
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def text_of(answer: Callable) -> str:
    """The text of the cell that defined a function; empty where it can't be found."""
    code = getattr(answer, "__code__", None)
    return "".join(linecache.getlines(code.co_filename)) if code else ""


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # a fork leaves it to the process that made it
        shutil.rmtree(folder, ignore_errors=True)
