"""One call of ``course grade``, noted down so that a later call can go on with it."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from course_utils.errors import CourseError
from course_utils.files import read_json, remove_unfinished, write_whole
from course_utils.gradebook.log import rotating
from course_utils.grading.cache import (
    FOLDER,
)
from course_utils.project import Chapter

# Of a run's settings, what kind each is.
KINDS = {"isolation": str, "seed": int, "pictures": bool}


@dataclass(frozen=True)
class Run:
    """One call of ``course grade``, as it is noted down so that a later call can go on with it.

    Attributes:
        name: tells runs apart.
        students: whose submissions.
        settings: of the execution, where they are not those of ``nbgrader_config.py``.
        again: whether outcomes of earlier runs are left aside.
        finished: whether all of it is done: recorded, with feedback and report.
    """

    name: str
    students: list[str]
    settings: dict
    again: bool = False
    finished: bool = False


@contextmanager
def only_run(root: Path) -> Generator[None]:
    """Hold the lock that one run at a time holds; the system frees it when the process ends.

    Raises:
        CourseError: another run holds it.
    """
    import fcntl

    path = root / FOLDER / "lock"
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CourseError("another course grade is under way here: wait for its end") from error
        with rotating():
            remove_unfinished(path.parent)
            yield


def run_path(chapter: Chapter) -> Path:
    return chapter.root / FOLDER / "runs" / f"{chapter.name}.json"


def unfinished_run(chapter: Chapter) -> Run | None:
    """The last run of the chapter, if it was cut off or left something undone.

    Raises:
        CourseError: what is noted down of it is broken.
    """
    path = run_path(chapter)
    if not path.exists():
        return None
    try:
        run = Run(**read_json(path))
        kinds = {"name": str, "students": list, "settings": dict, "again": bool, "finished": bool}
        right = all(type(getattr(run, name)) is kind for name, kind in kinds.items())
        right = right and all(type(student) is str for student in run.students)
        right = right and all(type(run.settings[name]) is KINDS[name] for name in run.settings)
    except (TypeError, KeyError):
        right = False
    if not right:
        raise CourseError(
            f"{path} is broken: grade without --resume, which executes nothing again that is done"
        )
    return None if run.finished else run


def note_down(chapter: Chapter, run: Run) -> None:
    write_whole(run_path(chapter), json.dumps(asdict(run)), private=True)
