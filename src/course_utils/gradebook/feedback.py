"""The feedback page: a table of the exercises, then the notebook.

The notebook's cells hold whatever a student wrote or printed, and some texts take minutes and
gigabytes to be laid out. A process of its own does that, with a limit of time and of memory, for
one notebook after another; a notebook that it can't lay out is shown as plain text.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import logging
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from markupsafe import Markup
from nbformat import NotebookNode

from course_utils.cells import exercise_of, gives_points, grade_id, is_exercise, marks_of
from course_utils.gradebook.exporters import WithoutChecks
from course_utils.grading.report.misunderstandings import statements
from course_utils.grading.report.page import page_style, page_templates, policy_hash
from course_utils.kernels.overheard import Overheard

LOG = logging.getLogger(__name__)
TEMPLATES = Path(__file__).with_name("templates")
# For one notebook: of the processor's time, since a busy machine is not the student's fault. An
# ordinary one takes half a second and 150 MB.
SECONDS = 15
MEMORY_BYTES = 2**30
BODY_BYTES = 30 * 2**20
WORDS_CHARACTERS = 1000  # of what one check said
PLAIN_CHARACTERS = 20_000  # of one text
TITLE = re.compile(r"# *(\d[\d.]* .+)")
MATHJAX_HOST = "https://cdnjs.cloudflare.com"
MATHJAX = f"{MATHJAX_HOST}/ajax/libs/mathjax/2.7.7/latest.js?config=TeX-AMS_CHTML-full,Safe"


class FeedbackExporter(WithoutChecks):
    """Writes a graded notebook, its points and comments in the cells' metadata, as one page."""

    default_preprocessors: list = []  # noqa: RUF012 -- a trait; nbgrader adds those that it needs

    def _file_extension_default(self) -> str:
        return ".html"

    def from_notebook_node(  # ty: ignore[incompatible-method-override]  as nbconvert's own: text
        self, nb: NotebookNode, resources: dict | None = None, **keywords
    ) -> tuple[str, dict]:
        notebook, resources = super().from_notebook_node(nb, resources, **keywords)
        body = shared_renderer().body(notebook)
        return page_of(notebook, resources["nbgrader"], body), resources


def page_of(notebook: NotebookNode, names: dict, body: str | None) -> str:
    """The whole page.

    Args:
        notebook: the graded notebook.
        names: what nbgrader says of it: ``notebook``, ``score``, ``max_score``, ``late_penalty``.
        body: its cells as safe HTML; None where they can't be had.
    """
    script = (TEMPLATES / "feedback.js").read_text(encoding="utf-8")
    return (
        page_templates(TEMPLATES)
        .get_template("feedback.html")
        .render(
            names=names,
            rows=list(rows_of(notebook)),
            body=None if body is None else Markup(body),
            plain=[] if body is not None else plain_cells(notebook),
            style=Markup(page_style(TEMPLATES / "feedback.css")),
            script=Markup(script),
            script_hash=policy_hash(script),
            mathjax=MATHJAX,
            mathjax_host=MATHJAX_HOST,
        )
    )


def rows_of(notebook: NotebookNode) -> Iterator[dict]:
    """What the table says of each check, and of each answer that a person gives points."""
    comments = {grade_id(cell) for cell in notebook.cells if marks_of(cell).get("comment")}
    answer = ""
    for cell in notebook.cells:
        marks, name = marks_of(cell), grade_id(cell)
        if is_exercise(cell):
            answer = name
        if not gives_points(cell):
            continue
        points, possible = marks.get("score") or 0, marks.get("points") or 0
        title = check_title(cell)
        yield {
            "cell": answer if exercise_of(name) == answer else name,
            "title": title,
            "points": points,
            "possible": possible,
            "kind": "all" if points >= possible else "some" if points > 0 else "none",
            "words": words_of(cell).removeprefix(f"✓ {title}: "),
            # Told once, at the first check below it.
            "commented": answer if answer in comments else "",
        }
        comments.discard(answer)


def check_title(cell: NotebookNode) -> str:
    """The number and name of a check's exercise, which its first line says; else its grade id."""
    named = TITLE.match(cell.source) if cell.cell_type == "code" else None
    return named[1] if named else grade_id(cell)


def words_of(cell: NotebookNode) -> str:
    """What a check said: its error, or what it printed."""
    said = [
        line
        for output in cell.get("outputs", [])
        if output.output_type == "error"
        for line in statements(f"{output.ename}: {output.evalue}")
    ] or [output.text.strip() for output in cell.get("outputs", []) if "text" in output]
    words = "\n".join(said)
    return words if len(words) <= WORDS_CHARACTERS else words[:WORDS_CHARACTERS] + " …"


def plain_cells(notebook: NotebookNode) -> list[dict]:
    """Each cell's grade id, and its texts: the source, and what it printed and showed as text."""
    cells = []
    left = BODY_BYTES // 10
    for cell in notebook.cells:
        texts = [cell.source]
        for output in cell.get("outputs", []):
            texts.append(output.get("text") or output.get("data", {}).get("text/plain") or "")
            texts += output.get("traceback", [])
        shown = []
        for text in filter(None, texts):
            most = min(left, PLAIN_CHARACTERS)
            shown.append(text if len(text) <= most else text[:most] + " …")
            left = max(0, left - len(text))
        cells.append({"grade_id": grade_id(cell), "texts": shown})
    return cells


class Renderer:
    """The process that lays notebooks out; another one takes its place when it fails.

    A line of JSON goes in, the notebook, and one comes out, the HTML of its cells. The process
    limits itself, and ends when the pipe to it closes: it never outlives this one for long.

    Args:
        seconds: of the processor's time, for one notebook.
        memory_bytes: of the process.
    """

    def __init__(self, seconds: int = SECONDS, memory_bytes: int = MEMORY_BYTES) -> None:
        self.limits = (str(seconds), str(memory_bytes))
        self.process: subprocess.Popen | None = None
        self.overheard: Overheard | None = None
        self.used = False
        self.last_words = ""

    def start(self) -> subprocess.Popen:
        """The process, started if there is none; it gets ready while others work."""
        if self.process is None:
            self.used = False
            self.overheard = Overheard()
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "course_utils.gradebook.feedback", *self.limits],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.overheard.writer,
            )
        return self.process

    def stop(self) -> int:
        """End the process and return its exit status, minus the signal's number if one ended it."""
        process, self.process = self.process, None
        if process is None:
            return 0
        # If it has ended by itself, its status stays.
        process.kill()
        for pipe in (process.stdout, process.stdin):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        status = process.wait()
        assert self.overheard is not None
        with self.overheard:
            self.last_words = self.overheard.text()
        return status

    def body(self, notebook: NotebookNode) -> str | None:
        """A notebook's cells as safe HTML; None if they can't be had within the limits."""
        process = self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        used, self.used = self.used, True
        line = b""
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(notebook).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline(BODY_BYTES)
        if line.endswith(b"\n"):
            return json.loads(line)
        status = self.stop()
        # Expected of some notebooks; yet a slip of our own would look the same.
        words = "the process that lays out feedback ended with %s; it said:\n%s"
        LOG.info(words, status, self.last_words)
        self.start()
        # What earlier notebooks left in its memory is not this one's fault.
        return self.body(notebook) if used and status != -signal.SIGPROF else None


@functools.cache
def shared_renderer() -> Renderer:
    """This process's renderer, which ends with it."""
    renderer = Renderer()
    atexit.register(renderer.stop)
    return renderer


# What follows runs in the process that lays out.


def main() -> None:
    import resource

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever the time is spent on, the system ends the process.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    seconds, memory_bytes = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from course_utils.gradebook.pages import cells_exporter

    exporter = cells_exporter()
    # What is read and compiled at first use costs no student's time.
    exporter.from_notebook_node(small_notebook())
    for line in sys.stdin.buffer:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        body, _ = exporter.from_notebook_node(notebook_of(line))
        answer = json.dumps(body).encode() + b"\n"
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()


def small_notebook() -> NotebookNode:
    """A notebook with a little of everything."""
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

    printed = new_output("stream", text="x")
    shown = new_output("display_data", {"text/html": "<b>x</b>", "text/plain": "x"})
    cells = [new_markdown_cell("# *x* `x`"), new_code_cell("x = 1", outputs=[printed, shown])]
    return new_notebook(cells=cells)


def notebook_of(line: bytes) -> NotebookNode:
    from nbformat import from_dict

    return from_dict(json.loads(line))


if __name__ == "__main__":
    main()
