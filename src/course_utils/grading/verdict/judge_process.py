"""The process that judges one submission: the chapter's locked cells and checks run here.

It is forked from the template process, in a sandbox of its own. It is no Jupyter kernel, for nobody
but the grader talks to it: the grader sends one line of JSON, the order; a line comes back when the
process is ready, and one for each cell that has run: its ``outputs``, and the ``fault`` that the
check's snapshot told of itself. What goes wrong here, Python's or not, is written to stderr.
"""

from __future__ import annotations

import faulthandler
import io
import json
import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from ipykernel.jsonutil import encode_images, json_clean
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from course_utils import leave_unwatched
from course_utils.grading.verdict.judging import Judge

# What it ends with is written there, whatever a cell has done to ``sys.stderr``.
STDERR = 2
UNTOLD = "This check failed, and what it had to say could not be told."


def main(arguments: list[str]) -> None:
    """Judge as the order says, and end.

    The order is an object: ``seed``; ``names``, the learner's; ``trials``, those among them that
    are locked functions; ``skipped``, the names that other cells than the locked ones bind;
    ``output_bytes``, how much a check may say; ``cells``, each with its ``source`` and, if it is a
    check, the ``descriptor`` of the socket to its snapshot and the ``names`` that it uses.

    Args:
        arguments: the descriptor of the socket to the grader.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable(STDERR)
    with socket.socket(fileno=int(arguments[0])) as connection, connection.makefile("rw") as lines:
        order = json.loads(lines.readline())
        cells = order.pop("cells")
        checks = Checks(**order)
        tell(lines, None)
        for cell in cells:
            outputs = checks.run(**cell)
            tell(lines, {"outputs": outputs, "fault": checks.judge.fault()})


def tell(lines: Any, message: Any) -> None:
    lines.write(json.dumps(message) + "\n")
    lines.flush()


class Checks:
    """The namespace of the locked cells and checks, and the IPython that runs them.

    Args:
        seed: what ``seed_everything`` is called with.
        names: the learner's; see :class:`Judge`.
        trials: likewise.
        skipped: likewise.
        output_bytes: how many characters of output a check may have.
    """

    def __init__(
        self,
        seed: int,
        names: list[str],
        trials: list[str],
        skipped: list[str],
        output_bytes: int,
    ) -> None:
        # Not at the top: it looks for a GPU, and a process that is forked later must not have.
        from course_utils.learner.devices import seed_everything

        seed_everything(seed)
        settings = Config()
        settings.HistoryManager.enabled = False
        self.shell = InteractiveShell.instance(config=settings)
        leave_unwatched(self.shell)
        self.judge = Judge(self.shell.user_ns, names, trials, skipped, self.shell)
        self.output_bytes = output_bytes

    def run(
        self, source: str, descriptor: int | None = None, names: list[str] | None = None
    ) -> list[dict]:
        """Run a locked cell, or a check that takes names from the snapshot behind ``descriptor``.

        Returns:
            Its outputs, as a notebook has them; an error among them if it failed.
        """
        self.judge.failure = None
        outputs: list[dict] = []
        try:
            with interruptible():
                if descriptor is None or self.judge.begin(descriptor, names or [], source):
                    outputs = self.run_cell(source)
        except KeyboardInterrupt as error:
            self.judge.show(KeyboardInterrupt, error, [])
        if self.judge.failure is not None:
            name, words, lines = self.judge.failure
            outputs.append(
                {"output_type": "error", "ename": name, "evalue": words, "traceback": lines}
            )
        return outputs

    def run_cell(self, source: str) -> list[dict]:
        """Run a cell, and return what it printed and displayed."""
        with captured(self.shell) as (text, displayed):
            succeeded = self.shell.run_cell(source, store_history=False).success
        if not succeeded and self.judge.failure is None:
            self.judge.failure = ("NotRun", UNTOLD, [UNTOLD])
        return self.fitting(text.getvalue(), displayed)

    def fitting(self, text: str, displayed: list[dict]) -> list[dict]:
        """Outputs of what was printed and displayed, as far as there is room for it."""
        outputs: list[dict] = []
        if text:
            left = len(text) - self.output_bytes
            rest = f"\n[{left} characters more are left out]\n" if left > 0 else ""
            said = text[: self.output_bytes].encode(errors="replace").decode() + rest
            outputs.append({"output_type": "stream", "name": "stdout", "text": said})
        for shown in displayed:
            output = {
                "output_type": "display_data",
                **shown.get("kind", {}),
                "data": json_clean(encode_images(shown["data"])),
                "metadata": json_clean(shown["metadata"] or {}),
            }
            if sum(len(json.dumps(one)) for one in [*outputs, output]) <= self.output_bytes:
                outputs.append(output)
        return outputs


@contextmanager
def captured(shell: InteractiveShell) -> Generator[tuple[io.StringIO, list[dict]]]:
    """Take what is printed in the block, and what is displayed, in order."""
    text, publisher = io.StringIO(), CapturingDisplayPublisher(shell=shell)

    def keep(result: Any) -> None:
        """A cell's last value: nbgrader takes a number for the points that a check gives."""
        if result is not None:
            assert shell.display_formatter is not None
            data, metadata = shell.display_formatter.format(result)
            kind = {"output_type": "execute_result", "execution_count": None}
            publisher.outputs.append({"kind": kind, "data": data, "metadata": metadata})

    shell.display_pub, shell.display_trap.hook = publisher, keep
    # Both in one: nbgrader gives nothing to a check that wrote to stderr, and a check may warn.
    with redirect_stdout(text), redirect_stderr(text):
        yield text, publisher.outputs


@contextmanager
def interruptible() -> Generator[None]:
    """Let an interrupt end what runs in the block; elsewhere it comes too late, and is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
