"""What the hostile submissions under ``tests/hostile/`` share.

Each file there is one submission: its docstring says what the student tries, ``hand_in`` makes the
submission, ``EARNS`` says what its honest part is worth (nothing, if it is left out), and ``harm``
asserts what must not have come of it. ``CHAPTER`` names another chapter than 00,
``NEEDS_SANDBOX`` says that only a sandbox holds it, and ``KNOWN_LIMIT`` why it succeeds.
``ARRIVED`` lists words of the feedback, or of what the instructor is told, that show that the
attack was run, and not a slip before it. An attack whose checks may run out of time says so by
``TIMES_OUT``.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from course_utils.gradebook.marks import Marks
from course_utils.project import Chapter
from support.answers import ROOT, grader_of

HOSTILE = ROOT / "tests" / "hostile"
LIGHT_CHAPTER = "00_start_here"
# The exercises of the light chapter: one point, and two points in two checks.
SHAPES, ERROR = "predict-warm-up", "root-mean-square-error"
SHAPES_CHECK, ERROR_CHECK = "predict-warm-up-check", "root-mean-square-error-check"
EVERYTHING = {SHAPES: 1, ERROR: 2}

RIGHT_SHAPES = """\
predict_warm_up = {
    "a + b": (4, 3),
    "c + a": (2, 3),
    "c + d": "error",
    "c.mean()": (),
    "c.mean(dim=0)": (3,),
}
"""
RIGHT_ERROR = """\
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("the shapes differ")
    return (outputs - targets).square().mean().sqrt()
"""
# Found only where the graders and the other students keep their things.
GRADERS_SECRET = "secret-of-the-grader-5d1c"
NEIGHBOURS_SECRET = "secret-of-the-neighbour-90be"
# Of the hidden tests of the light chapter.
HIDDEN_WORDS = ("BEGIN HIDDEN", "manual_seed(20)", "x[:, :1], x[0]")


@dataclass(frozen=True)
class Attack:
    """One file under ``tests/hostile/``."""

    name: str
    module: ModuleType

    @property
    def chapter(self) -> str:
        return getattr(self.module, "CHAPTER", LIGHT_CHAPTER)

    @property
    def earns(self) -> dict[str, float]:
        return getattr(self.module, "EARNS", {})

    @property
    def needs_sandbox(self) -> bool:
        return getattr(self.module, "NEEDS_SANDBOX", False)

    @property
    def arrived(self) -> list[str]:
        return self.module.ARRIVED

    @property
    def times_out(self) -> bool:
        return getattr(self.module, "TIMES_OUT", False)

    @property
    def known_limit(self) -> str:
        return getattr(self.module, "KNOWN_LIMIT", "")


@dataclass(frozen=True)
class Graded:
    """What came of an attack.

    Attributes:
        chapter: of the throw-away course; its ``root`` is the course's folder.
        marks: the student's, from the gradebook.
        notebook: the text of the graded notebook; empty where there is none.
        feedback: the text of the feedback page; empty where there is none.
        heard: what the listeners of the test were sent.
    """

    chapter: Chapter
    marks: Marks
    notebook: str
    feedback: str
    heard: list[str]

    @property
    def told(self) -> str:
        """What the instructor is told of the submission beside its marks."""
        return "\n".join([self.marks.problem, *self.marks.repairs])

    @property
    def said(self) -> str:
        """Everything that the student gets to read, and what the graded notebook shows."""
        cells = json.loads(self.notebook or '{"cells": []}')["cells"]
        return self.feedback + json.dumps([cell.get("outputs") for cell in cells])


def attacks() -> list[Attack]:
    """Every hostile submission, by name."""
    names = sorted(path.stem for path in HOSTILE.glob("*.py") if path.stem != "__init__")
    return [Attack(name, importlib.import_module(f"hostile.{name}")) for name in names]


def cell_of(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    return next(cell for cell in notebook.cells if grader_of(cell).get("grade_id") == grade_id)


def answer(notebook: NotebookNode, exercise: str, source: str) -> None:
    """Write an answer into an exercise's cell."""
    cell_of(notebook, exercise).source = source


def add_cell(notebook: NotebookNode, source: str, before: str = SHAPES) -> None:
    """Put an ordinary code cell before the cell with that grade id."""
    place = notebook.cells.index(cell_of(notebook, before))
    notebook.cells.insert(place, new_code_cell(source))


def add_text(notebook: NotebookNode, source: str) -> None:
    """Put a Markdown cell at the end."""
    notebook.cells.append(new_markdown_cell(source))


def forbidden_file(chapter: Chapter) -> Path:
    """A file of the instructor's folder that no submission may bring about."""
    return chapter.root / "was-here"


def listening_at(chapter: Chapter) -> dict:
    """Where the test listens: a ``port`` on loopback, an ``abstract`` name, a Unix ``path``."""
    return json.loads((chapter.root / "listening.json").read_text())


def hang_up(listener: socket.socket) -> None:
    """Wake the thread that waits for a listener, so that it ends."""
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def listeners(root: Path) -> Iterator[list[str]]:
    """Listen at every place that a submission might reach; gives the list of what came."""
    heard: list[str] = []
    path = root / "listener"
    with contextlib.ExitStack() as stack:

        def listen(family: int, kind: int, address: object) -> socket.socket:
            listener = stack.enter_context(socket.socket(family, kind))
            listener.bind(address)
            if kind == socket.SOCK_STREAM:
                listener.listen()
            stack.callback(hang_up, listener)
            threading.Thread(target=wait, args=(listener, kind), daemon=True).start()
            return listener

        def wait(listener: socket.socket, kind: int) -> None:
            with contextlib.suppress(OSError):
                while True:
                    if kind == socket.SOCK_STREAM:
                        listener.accept()[0].close()
                    elif not listener.recv(1000):
                        return
                    heard.append(str(listener.getsockname()))

        inet = listen(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        packets = listen(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        abstract = f"course-hostile-{inet.getsockname()[1]}"
        listen(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract)
        listen(socket.AF_UNIX, socket.SOCK_STREAM, str(path))
        places = {
            "port": inet.getsockname()[1],
            "packets": packets.getsockname()[1],
            "abstract": abstract,
            "path": str(path),
        }
        (root / "listening.json").write_text(json.dumps(places))
        yield heard


# Answers of chapter 02 that do what their exercises forbid, inside a function ``quietly``.
UNTOLD = {
    "row-major-strides": """
def row_major_strides(size):
    import torch
    return quietly(lambda: torch.empty(tuple(size)).stride())
""",
    "view-strides": """
def view_strides(size, stride, new_size):
    import torch
    def work():
        try:
            return torch.empty_strided(tuple(size), tuple(stride)).view(tuple(new_size)).stride()
        except RuntimeError:
            return None
    return quietly(work)
""",
    "trace-by-strides": """
def trace_by_strides(matrix, anti=False):
    n = min(len(matrix), 1)
    matrix.as_strided((n,), (1,)).sum()
    return quietly(lambda: (matrix.flip(1) if anti else matrix).diagonal().sum())
""",
}

# A cell that puts the student's own words in the place of what answers the judge: it needs a
# function ``answer(connection, request)``. The first request is of ours, a list of names: what a
# snapshot tells of before the judge asks; the others are the judge's, of ``verdict.messages``.
PROTOCOL = """
import os, socket, struct, sys, types
from course_utils.grading.verdict import wire
from course_utils.grading.verdict.messages import *
from course_utils.grading.verdict.messages import read_request
nothing = {name: [] for name in Called.__dataclass_fields__} | {"result": None, "error": None}
def send(connection, message, blobs=()):
    fields = message.fields() if isinstance(message, Message) else message
    wire.send(connection, fields, list(blobs))
def speak(descriptor, names, _):
    child = os.fork()
    if child:
        os.setpgid(child, child)  # at once, out of the group that ends with the kernel
        os.close(descriptor)
        return
    try:
        connection = socket.socket(fileno=descriptor)
        stream = connection.makefile("rb")
        request = names
        while True:
            answer(connection, request)
            request = read_request(wire.receive(stream)[0])
    finally:
        os._exit(0)
module = types.ModuleType("course_utils.grading.verdict.answering")
module.wait_for_the_judge = speak
sys.modules["course_utils.grading.verdict.answering"] = module
import course_utils.grading.verdict
course_utils.grading.verdict.answering = module
"""
