"""JupyterLab as ``make lab`` starts it, with a browser in front of it.

For the browser's test, and for the README's picture::

    PYTHONPATH=tests .venv/bin/python -m support.lab docs/images/learner.png
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import psutil
import pytest
from playwright.sync_api import Locator, Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from course_utils.command.doctor import free_port
from support.answers import ROOT

CHAPTER = "02_storage_and_strides"
PICTURED_EXERCISE = "sliding-windows"

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
START_SECONDS = 180
STOP_SECONDS = 20
# Between two looks at whether Validate is at work, or waits for its button to be pressed again.
GOES_ON_SECONDS = 20
CELL_SECONDS = 120
KEY_SECONDS = 15
MARK = "COURSE_TEST_MARK"
# How JupyterLab's dialog begins where a file has changed since it was read.
TWO_SAVINGS = "File Changed"


def find_browser() -> str | None:
    """The full name of a Chromium or Chrome on this machine, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def needed_browser() -> str:
    """The browser of a test that can't do without one.

    Where there is none, the test is skipped; it fails where ``COURSE_REQUIRE_BROWSER`` is 1.
    """
    executable = find_browser()
    if executable is None:
        reason = "no Chromium or Chrome on this machine"
        if os.environ.get("COURSE_REQUIRE_BROWSER") == "1":
            pytest.fail(f"{reason}, and COURSE_REQUIRE_BROWSER=1 asks for one")
        pytest.skip(reason)
    return executable


@dataclass
class MarkedProcesses:
    """Processes that carry a mark in their environment, which their children inherit.

    So every one of them is found again, whoever its parent is by then.
    """

    mark: str = field(default_factory=lambda: secrets.token_hex(8))

    def environment(self, folder: Path) -> dict[str, str]:
        """This process's environment with the mark, and with ``folder`` for Jupyter's files."""
        jupyter = {
            f"JUPYTER_{kind}_DIR": str(folder / kind.lower())
            for kind in ("CONFIG", "DATA", "RUNTIME")
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        return {**kept, **jupyter, "IPYTHONDIR": str(folder / "ipython"), MARK: self.mark}

    def alive(self) -> list[psutil.Process]:
        """The marked processes that run now."""
        found = []
        for process in psutil.process_iter():
            try:
                marked = process.environ().get(MARK) == self.mark
                if marked and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def end(self) -> list[str]:
        """Wait a moment for them to end by themselves, and kill the rest.

        Returns:
            The command lines of those that had to be killed: empty when all went well.
        """
        limit = time.monotonic() + STOP_SECONDS
        while (alive := self.alive()) and time.monotonic() < limit:
            time.sleep(0.2)
        killed = []
        for process in alive:
            try:
                killed.append(" ".join(process.cmdline()))
                process.kill()
            except psutil.NoSuchProcess:
                continue
        return killed


def wait_for_page(url: str, process: subprocess.Popen) -> None:
    """Wait until ``url`` answers.

    Raises:
        TimeoutError: it did not within ``START_SECONDS``, or the server ended before.
    """
    limit = time.monotonic() + START_SECONDS
    while time.monotonic() < limit and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise TimeoutError(f"no answer from {url} (exit status of the server: {process.poll()})")


def stop(process: subprocess.Popen) -> int:
    """Ask the server to end, with its kernels. Returns the exit status.

    Not by Ctrl-C: without a terminal that is an exception, raised wherever the server happens to
    be, and is lost in some places.
    """
    process.terminate()
    return process.wait(timeout=STOP_SECONDS)


@contextmanager
def learner_lab(
    marked: MarkedProcesses,
    chapters: Path = ROOT / "notebooks",
    program: str = "lab",
    options: Sequence[str] = (),
) -> Iterator[tuple[str, str, Path]]:
    """JupyterLab with a learner's settings on a copy of the folder ``chapters``.

    Args:
        program: ``"notebook"`` for plain Jupyter Notebook, without any settings of the course's.
        options: further ones of the command line.

    Yields:
        The server's address, its token, and the folder with the copied chapters.
    """
    with tempfile.TemporaryDirectory(prefix="course-lab-") as name:
        folder = Path(name)
        notebooks = folder / "notebooks"
        shutil.copytree(chapters, notebooks, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
        port, token = free_port(), secrets.token_hex(16)
        options, search = [*options, "--allow-root"], {}
        if program == "lab":
            settings = ROOT / "etc" / "jupyter"
            options.append(f"--LabApp.workspaces_dir={folder / 'workspaces'}")
            places = os.pathsep.join(map(str, (settings / "learner", settings)))
            search["JUPYTER_CONFIG_PATH"] = places
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(
                [
                    Path(sys.executable).with_name("jupyter"),
                    program,
                    "--no-browser",
                    f"--ServerApp.port={port}",
                    "--ServerApp.port_retries=0",
                    f"--ServerApp.root_dir={notebooks}",
                    f"--IdentityProvider.token={token}",
                    *options,
                ],
                cwd=ROOT,
                env={**marked.environment(folder), **search},
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for_page(f"{address}/api?token={token}", server)
            yield address, token, notebooks
        except BaseException:
            print((folder / "log").read_text(encoding="utf-8"), file=sys.stderr)
            raise
        finally:
            if server.poll() is None:
                stop(server)


@contextmanager
def browser_page(
    executable: str, marked: MarkedProcesses, options: Sequence[str] = ()
) -> Iterator[Page]:
    """A fresh page of a browser without a window, 1400 by 900 pixels."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=executable,
            # Chromium's own sandbox refuses to run as root, which CI often is.
            args=["--no-sandbox", *options],
            env=marked.environment(Path(folder)),
        )
        try:
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.set_default_timeout(CELL_SECONDS * 1000)
            expect.set_options(timeout=CELL_SECONDS * 1000)
            yield page
        finally:
            browser.close()


class OpenNotebook:
    """A notebook open in JupyterLab, driven by mouse and keyboard as a learner drives it."""

    # Where the program shows a notebook, and what it shows of an idle kernel.
    place = "lab/tree/{path}?token={token}&file-browser-path=/"
    idle = '.jp-NotebookPanel-toolbar [data-status="idle"]'

    def __init__(self, page: Page, address: str, token: str, notebooks: Path, chapter: str):
        self.page = page
        self.path = notebooks / chapter / f"{chapter}.ipynb"
        self.notebook = nbformat.read(self.path, as_version=4)
        place = self.place.format(path=f"{chapter}/{chapter}.ipynb", token=token)
        page.goto(f"{address}/{place}")
        self.cells = page.locator(".jp-Notebook .jp-Cell")
        self.dialog = page.locator(".jp-Dialog")
        expect(self.cells).to_have_count(len(self.notebook.cells))
        self.wait_for_kernel()

    def wait_for_kernel(self) -> None:
        """Wait until the kernel has nothing to do."""
        expect(self.page.locator(self.idle)).to_be_visible()

    def position(self, grade_id: str) -> int:
        """Where the cell with this nbgrader grade id stands.

        Raises:
            KeyError: the notebook has no such cell.
        """
        for position, cell in enumerate(self.notebook.cells):
            if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id:
                return position
        raise KeyError(grade_id)

    def _focus(self, position: int) -> Locator:
        cell = self.cells.nth(position)
        cell.scroll_into_view_if_needed()
        content = cell.locator(".cm-content")
        try:
            content.click(timeout=KEY_SECONDS * 1000)
        except PlaywrightTimeoutError:
            self._answer_about_saving()
            content.click()
        return cell

    def _answer_about_saving(self) -> None:
        """Answer JupyterLab's question of which one to keep, where two savings met.

        That happens on a slow machine.

        Raises:
            AssertionError: another dialog lies over the notebook: its text.
        """
        for text in self.dialog.all_inner_texts():
            assert text.startswith(TWO_SAVINGS), f"a dialog lies over the cell: {text}"
            self.dialog.get_by_role("button").last.click()
            expect(self.dialog.filter(has_text=TWO_SAVINGS)).to_have_count(0)

    def show_above(self, position: int) -> None:
        """Select a code cell and scroll until it stands at the lower edge of the screen."""
        self._focus(position)
        self.page.keyboard.press("Escape")
        self.cells.nth(position).evaluate("cell => cell.scrollIntoView({block: 'end'})")

    def type_into(self, position: int, text: str) -> None:
        """Replace everything in a code cell by ``text``."""
        self._focus(position)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)

    def run(self, position: int) -> str:
        """Run one code cell by Shift+Enter, wait for its end, and return the text it shows."""
        prompt = self.cells.nth(position).locator(".jp-InputArea-prompt")
        before = prompt.inner_text()
        # JupyterLab shows an idle kernel a moment before it listens to the keys.
        for seconds in (KEY_SECONDS, KEY_SECONDS, CELL_SECONDS):
            self._focus(position)
            self.page.keyboard.press("Shift+Enter")
            try:
                expect(prompt).not_to_have_text(before, timeout=seconds * 1000)
                break
            except AssertionError:
                if seconds == CELL_SECONDS:
                    raise
        expect(prompt).to_have_text(re.compile(r"\[\d+\]"))
        self.wait_for_kernel()
        return "\n".join(self.outputs(position).all_inner_texts())

    def run_all(self) -> None:
        """Run every cell by JupyterLab's menu, and wait until the last code cell has run."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_text("Run All Cells", exact=True).click()
        codes = [i for i, cell in enumerate(self.notebook.cells) if cell.cell_type == "code"]
        prompt = self.cells.nth(codes[-1]).locator(".jp-InputArea-prompt")
        expect(prompt).to_have_text(re.compile(r"\[\d+\]"))
        self.wait_for_kernel()

    def outputs(self, position: int) -> Locator:
        """The outputs of a code cell."""
        return self.cells.nth(position).locator(".jp-OutputArea-output")

    def errors(self, position: int) -> Locator:
        """Those outputs of a code cell that are tracebacks or were written to stderr."""
        return self.outputs(position).and_(
            self.page.locator('[data-mime-type="application/vnd.jupyter.stderr"]')
        )

    def validate(self) -> str:
        """Press nbgrader's Validate button and return what its dialog says."""
        button = self.page.locator(".jp-NotebookPanel-toolbar").get_by_text("Validate")
        button.click()
        limit = time.monotonic() + 4 * CELL_SECONDS
        while True:
            try:
                expect(self.dialog).to_be_visible(timeout=GOES_ON_SECONDS * 1000)
            except AssertionError:
                if time.monotonic() > limit:
                    raise
                # The button says "Validating..." as long as it is at work, and a dialog may
                # come before the click does. It says "Validate" where nothing goes on.
                with suppress(PlaywrightTimeoutError):
                    button.click(timeout=KEY_SECONDS * 1000)
                continue
            text = self.dialog.inner_text()
            if text.startswith(TWO_SAVINGS):
                self._answer_about_saving()
                continue
            self.dialog.get_by_role("button").last.click()
            expect(self.dialog).to_be_hidden()
            return text


def take_picture(target: Path) -> None:
    """Write a PNG of a learner's screen: a drawing, and the exercise that follows it."""
    executable = find_browser()
    if executable is None:
        raise SystemExit(f"no browser found: install one of {', '.join(BROWSERS)}")
    marked = MarkedProcesses()
    try:
        with learner_lab(marked) as lab, browser_page(executable, marked) as page:
            opened = OpenNotebook(page, *lab, CHAPTER)
            opened.run_all()
            opened.show_above(opened.position(PICTURED_EXERCISE))
            page.screenshot(path=target)
    finally:
        marked.end()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m support.lab PICTURE.png")
    take_picture(Path(sys.argv[1]))
