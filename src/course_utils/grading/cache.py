"""Outcomes by content, and the journal of what is recorded: a killed run loses and doubles nothing.

Everything lies in the course's ``.course-grade`` folder. All of it can be deleted: then the next
run executes every submission again.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import site
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import course_utils
from course_utils.files import read_json, write_whole
from course_utils.grading.submission import Outcome, Settings, Submission

LOG = logging.getLogger(__name__)
FOLDER = ".course-grade"


@functools.cache
def installation() -> str:
    """A hash of what an outcome depends on besides the submission and the settings.

    That is Python, the versions of everything installed, and the course's own code.
    """
    package = Path(course_utils.__file__).parent
    sources = sorted(package.rglob("*.py"))
    # An installed version is the name of a folder; reading 250 metadata files takes a second.
    installed = {
        path.name
        # Not sys.path: setuptools and others add folders to it when they are imported.
        for place in site.getsitepackages()
        for path in Path(place).glob("*.dist-info")
    }
    return digest(
        {
            "python": sys.version,
            "installed": sorted(installed),
            "code": [
                [path.relative_to(package).as_posix(), digest(path.read_bytes())]
                for path in sources
            ],
        }
    )


def digest(content: object) -> str:
    """The SHA-256 of bytes, or of anything that JSON can write."""
    if not isinstance(content, bytes):
        content = json.dumps(content, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()


def what_counts(notebook: str) -> list:
    """What execution depends on in a notebook: its cells' kinds, sources, marks and tags.

    Cell ids are left out: nbformat makes new ones whenever it reads an older notebook.
    """
    # Read as JSON: nbformat checks every cell again, which takes longer than all of this.
    return [
        [
            cell["cell_type"],
            "".join(cell["source"]),
            cell["metadata"].get("nbgrader", {}),
            cell["metadata"].get("tags", []),
            cell.get("attachments", {}),
        ]
        for cell in json.loads(notebook)["cells"]
    ]


@functools.lru_cache(maxsize=8)
def source_digest(source: str) -> str:
    return digest(what_counts(source))


def key_of(submission: Submission, settings: Settings) -> str:
    """The name of the outcome that this submission has under these settings.

    Whose submission it is does not count, and neither does the number of threads, or how much
    patience there was: an outcome that this cut short is never kept.
    """
    limits = asdict(settings)
    del limits["threads"], limits["patience_seconds"]
    return digest(
        {
            "chapter": submission.chapter,
            "notebook": what_counts(submission.notebook),
            "files": {name: digest(data) for name, data in submission.files.items()},
            "source": source_digest(submission.source),
            "settings": limits,
            "installation": installation(),
        }
    )


class Outcomes:
    """The outcomes under ``.course-grade/outcomes``.

    Args:
        root: the course's folder.
        only_of: the name of a run; outcomes that other runs stored are then left aside.
    """

    def __init__(self, root: Path, only_of: str = "") -> None:
        self.folder = root / FOLDER / "outcomes"
        self.only_of = only_of

    def get(self, key: str) -> Outcome | None:
        """The stored outcome; None where there is none that can be read."""
        path = self.folder / f"{key}.json"
        content = read_json(path)
        if not content or (self.only_of and content.get("run") != self.only_of):
            return None
        try:
            return Outcome(**content["outcome"])
        except (KeyError, TypeError):
            LOG.info("%s is broken: it holds no outcome", path, exc_info=True)
            return None

    def put(self, key: str, outcome: Outcome) -> None:
        """Store an outcome, whole or not at all."""
        content = {"run": self.only_of, "outcome": asdict(outcome)}
        write_whole(self.folder / f"{key}.json", json.dumps(content), private=True)


@dataclass(frozen=True)
class Entry:
    """What the journal says of one student's submission.

    Attributes:
        run: the name of the run that recorded it; empty where nothing is recorded.
        key: the outcome's; empty where the submission could not be executed.
        problem: why it could not be graded, or has no feedback; empty where all is well.
        repairs: in words, which cells were put right.
        answers: by exercise, what the student's cell holds.
        cached: whether the outcome was there already, so that nothing was executed.
        phases: seconds by phase, those of the outcome among them.
        cells: the outcome's, as everything that follows.
        messages: see ``Outcome``.
        died: see ``Outcome``.
        flags: see ``Outcome``.
        memory_bytes: see ``Outcome``.
    """

    run: str = ""
    key: str = ""
    problem: str = ""
    repairs: list[str] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    cached: bool = False
    phases: dict[str, float] = field(default_factory=dict)
    cells: list[dict[str, Any]] = field(default_factory=list)
    messages: dict[str, str] = field(default_factory=dict)
    died: str = ""
    flags: list[str] = field(default_factory=list)
    memory_bytes: int = 0


class Journal:
    """What is recorded of one chapter: one file per student, written when all else is done.

    Files are named by digest: a student's folder may have a name that leaves no room for more.
    """

    def __init__(self, root: Path, chapter: str) -> None:
        self.folder = root / FOLDER / "recorded" / chapter

    def read(self, student: str) -> Entry:
        """A student's entry; an empty one where there is none that can be read."""
        path = self.path(student)
        try:
            return Entry(**read_json(path))
        except TypeError:
            LOG.info("%s is of another version of the course", path, exc_info=True)
            return Entry()

    def write(self, student: str, entry: Entry) -> None:
        write_whole(self.path(student), json.dumps(asdict(entry)), private=True)

    def path(self, student: str) -> Path:
        return self.folder / f"{digest(student)}.json"
