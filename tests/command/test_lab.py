"""`make lab`, from a terminal: it starts, a kernel runs in it, and Ctrl-C ends all of it."""

import contextlib
import fcntl
import json
import os
import pty
import re
import subprocess
import sys
import termios
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from support.answers import ROOT
from support.lab import (
    START_SECONDS,
    STOP_SECONDS,
    MarkedProcesses,
    browser_page,
    find_browser,
    free_port,
    wait_for_page,
)

pytestmark = pytest.mark.timeout(600)


def ask(url, token):
    """The answer of Jupyter's REST interface."""
    request = urllib.request.Request(url, headers={"Authorization": f"token {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


class Terminal:
    """A command in a terminal of its own: it can be read, and Ctrl-C can be pressed."""

    def __init__(self, command, environment):
        self.keyboard, screen = pty.openpty()
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=screen,
            stdout=screen,
            stderr=screen,
            start_new_session=True,
            # Only in a terminal that is its session's own does Ctrl-C become a signal.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(screen)
        self._shown = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        # Linux says EIO when the last process has closed its end of the terminal.
        with contextlib.suppress(OSError):
            while text := os.read(self.keyboard, 4096):
                self._shown.append(text)

    def press_control_c(self):
        os.write(self.keyboard, b"\x03")

    def so_far(self):
        return b"".join(self._shown).decode(errors="replace")

    def wait_for(self, pattern):
        """The first text on the screen that fits ``pattern``."""
        limit = time.monotonic() + START_SECONDS
        while time.monotonic() < limit:
            if found := re.search(pattern, self.so_far()):
                return found[0]
            time.sleep(0.1)
        raise TimeoutError(f"{pattern} is not in:\n{self.so_far()}")

    def shown(self):
        self._reader.join(timeout=5)
        return self.so_far()


def wait_for_kernels(address: str, token: str, fit: Callable[[list[dict]], bool]) -> None:
    """Wait until the server's kernels are as wanted."""
    limit, kernels = time.monotonic() + START_SECONDS, []
    while True:
        # Asked while a kernel starts, the server may not know its state yet, and answers with 500.
        with contextlib.suppress(urllib.error.HTTPError):
            if fit(kernels := ask(f"{address}/api/kernels", token)):
                return
        assert time.monotonic() < limit, f"after {START_SECONDS} s: {kernels}"
        time.sleep(0.2)


def all_are_idle(kernels: list[dict]) -> bool:
    return bool(kernels) and all(kernel["execution_state"] == "idle" for kernel in kernels)


def kernels_commands(marked: MarkedProcesses) -> list[list[str]]:
    commands = [process.cmdline() for process in marked.alive()]
    return [command for command in commands if "ipykernel_launcher" in command]


def no_page_listens(kernels: list[dict]) -> bool:
    return not any(kernel["connections"] for kernel in kernels)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """One run of `make lab` from start to Ctrl-C, and what was seen on the way."""
    marked, port = MarkedProcesses(), free_port()
    options = f"--no-browser --ServerApp.port={port} --ServerApp.port_retries=0"
    folder = tmp_path_factory.mktemp("lab")
    command = ["make", "lab", f"LAB_ARGS={options}"]
    environment = {**marked.environment(folder), "COURSE_FOLDER": str(folder / "mine")}
    terminal = Terminal(command, environment)
    seen = {}
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for_page(f"{address}/api", terminal.process)
        seen["printed address"] = terminal.wait_for(r"http://127\S+token=\w+")
        token = seen["printed address"].rpartition("=")[2]
        seen["chapters"] = [
            entry["name"] for entry in ask(f"{address}/api/contents", token)["content"]
        ]
        with urllib.request.urlopen(f"{address}/lab?token={token}", timeout=60) as page:
            seen["page"] = page.read().decode()
        if find_browser():
            with browser_page(find_browser(), marked) as page:
                page.goto(seen["printed address"])
                tab = page.locator(".lm-TabBar-tabLabel", has_text="00_start_here.ipynb")
                expect(tab).to_be_visible()
                heading = page.locator(".jp-Notebook h1").first
                expect(heading).to_contain_text("Start here")
                seen["opened"] = heading.inner_text()
                # A kernel that Ctrl-C meets while it starts says so in a traceback of its own.
                wait_for_kernels(address, token, all_are_idle)
                seen["kernels' commands"] = kernels_commands(marked)
            # What the server still says to a page that has gone is noise of its own.
            wait_for_kernels(address, token, no_page_listens)
        began = time.monotonic()
        terminal.press_control_c()
        with contextlib.suppress(subprocess.TimeoutExpired):
            terminal.process.wait(timeout=STOP_SECONDS)
        seen["seconds to stop"] = time.monotonic() - began
    finally:
        seen["left behind"] = marked.end()
        seen["status"] = terminal.process.wait(timeout=5)
        seen["terminal"] = terminal.shown()
    return seen


def test_the_file_browser_starts_at_the_chapters(session):
    folders = sorted(path.name for path in (ROOT / "notebooks").iterdir() if path.is_dir())
    assert sorted(session["chapters"]) == folders


def test_the_printed_address_opens_the_first_chapter(session):
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/lab\?token=\w+", session["printed address"])
    if "opened" not in session:
        pytest.skip("no Chromium or Chrome on this machine")
    assert session["opened"].startswith("Start here")


def test_it_says_where_answers_are_saved(session):
    assert re.search(r"your answers are saved in \S+mine\r?\n", session["terminal"])


def test_kernels_run_in_the_course_environment(session):
    if "kernels' commands" not in session:
        pytest.skip("no Chromium or Chrome on this machine")
    pythons = {command[0] for command in session["kernels' commands"]}
    assert pythons == {str(ROOT / ".venv" / "bin" / "python")}


def test_panels_that_a_learner_does_not_need_are_off(session):
    for name in (
        "@jupyterlab/apputils-extension:announcements",
        "@jupyter/nbgrader:assignment-list",
        "@jupyter/nbgrader:course-list",
        "@jupyter/nbgrader:create-assignment",
        "@jupyter/nbgrader:formgrader",
        "@jupyterlab/debugger-extension",
        "@jupyterlab/extensionmanager-extension",
    ):
        assert f'"{name}"' in session["page"], f"{name} is not switched off"


def test_the_terminal_shows_no_noise(session):
    noise = ("Traceback", "Error", "Warning", "encryption", "Shut down this Jupyter server")
    found = [word for word in noise if word in session["terminal"]]
    assert found == [], session["terminal"]


def test_control_c_ends_everything(session):
    assert session["status"] in (0, 130, -2), session["terminal"]
    assert session["seconds to stop"] < 10
    assert session["left behind"] == [], "these processes were left behind"


def test_nothing_is_installed_when_nothing_changed():
    done = subprocess.run(
        ["make", "--dry-run", "lab"], cwd=ROOT, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    assert "course lab" in done.stdout
    assert "pip install" not in done.stdout


@pytest.mark.parametrize("changed", ["pyproject.toml", "requirements.lock"])
def test_a_changed_requirement_is_installed(changed):
    done = subprocess.run(
        ["make", "--dry-run", f"--what-if={changed}", "lab"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert "pip install" in done.stdout


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run ``make`` on the project's Makefile in an otherwise empty folder."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        (folder / name).write_bytes((ROOT / name).read_bytes())
    return subprocess.run(
        ["make", *arguments],
        cwd=folder,
        # As from a terminal, and not from within `make test`.
        env={name: text for name, text in os.environ.items() if not name.startswith("MAKE")},
        capture_output=True,
        text=True,
        timeout=120,
    )


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_python_that_is_too_old_or_too_new_is_refused(tmp_path):
    old = script(tmp_path / "old-python", "exit 1")
    done = make(tmp_path, ".venv/bin/uv", f"PYTHON={old}")
    assert done.returncode != 0
    assert "needs Python 3.11 to 3.13" in done.stdout
    assert not (tmp_path / ".venv").exists()


def test_without_a_network_it_says_what_to_do(tmp_path):
    offline = f'case "$*" in "-m pip"*) exit 1;; *) exec {sys.executable} "$@";; esac'
    done = make(tmp_path, "install", f"PYTHON={script(tmp_path / 'python', offline)}")
    assert done.returncode != 0
    (line,) = done.stdout.splitlines()
    assert "is there a network? Run make again when there is." in line


def test_a_half_made_environment_says_what_to_do(tmp_path):
    script(tmp_path / ".venv" / "bin" / "uv", "exit 1")
    done = make(tmp_path, "install")
    assert done.returncode != 0
    (line,) = done.stdout.splitlines()
    assert line.endswith("If it stops once more: make clean, then make again.")
    assert not (tmp_path / ".venv" / "installed").exists()
