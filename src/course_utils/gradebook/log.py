"""The log of ``course grade``: what went wrong, with whole tracebacks, in ``.course-grade``.

Only the command's own process writes it, for it is rotated, and a second process would go on
writing into a file that the first has renamed. What goes wrong elsewhere is told to this process on
a way that is there already:

- a worker logs as usual, and Dask hands its records over (``Pool.connect``);
- the template process writes to stderr, a pipe to the process that started it (``Template``), and
  so does a kernel that cannot be made ready (``run_kernel``);
- the judge writes to stderr, a pipe that is read when the judge has ended (``Judgement``);
- a snapshot tells the judge, which passes it on with the verdict (``wait_for_the_judge``);
- what a line of the grader's raises in a student's kernel is among its outputs (``set_up``).

The last two are text of a student's process. So each entry is short, has signs that cannot be seen
spelled out, and nothing in it begins a line; and there are only so many about one submission.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

import click

from course_utils.errors import CourseError, kind_and_words, visible
from course_utils.grading.cache import FOLDER

NAME = f"{FOLDER}/grade.log"
OWN = "course_utils"
# Dask's, which sees how a worker process ended.
NANNY = "distributed.nanny"
LOG_BYTES = 2**20
OLDER_LOGS = 3
# Of one entry: its beginning says what it is about, and the end of a traceback what was raised.
HEAD_CHARACTERS, TAIL_CHARACTERS = 2000, 14_000
# About one submission, or from one part of the grader where it is about none.
MOST_ENTRIES = 20
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

LOGGER = logging.getLogger(OWN)


class EntryFormatter(logging.Formatter):
    """An entry that cannot pass for two, give orders to a terminal, or fill the log alone."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        left_out = len(text) - HEAD_CHARACTERS - TAIL_CHARACTERS
        if left_out > 0:
            head, tail = text[:HEAD_CHARACTERS], text[-TAIL_CHARACTERS:]
            text = f"{head}\n[{left_out} characters are left out]\n{tail}"
        return "\n    ".join(visible(line) for line in text.rstrip("\n").split("\n"))


class GradeLog(RotatingFileHandler):
    """Writes the log; the file is made for its first entry.

    Args:
        root: the course's folder.

    Attributes:
        trouble: whether there is an entry about something that went wrong.
    """

    def __init__(self, root: Path) -> None:
        # Never rotated but within ``rotating``.
        super().__init__(root / NAME, backupCount=OLDER_LOGS, encoding="utf-8", delay=True)
        self.setFormatter(EntryFormatter(FORMAT))
        self.trouble = False
        self.entries: Counter[str] = Counter()

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(exist_ok=True)
        # It names students: not for other users of the machine, nor for a sandbox's.
        path.touch(mode=0o600)
        return super()._open()

    def emit(self, record: logging.LogRecord) -> None:
        about = getattr(record, "student", record.name)
        self.entries[about] += 1
        if self.entries[about] > MOST_ENTRIES:
            return
        if self.entries[about] == MOST_ENTRIES:
            record.msg, record.args = f"{record.getMessage()} (no more like this in this run)", None
        super().emit(record)
        if record.levelno >= logging.WARNING and record.name.startswith(OWN):
            # Unless it could not be written: then there is nothing to be read.
            self.trouble = self.trouble or self.stream is not None

    def handleError(self, record: logging.LogRecord) -> None:
        # A full disk, or no right to write: the command says that itself, where it matters.
        self.close()


@contextmanager
def kept(root: Path, say: Callable[[str], None]) -> Generator[None]:
    """Keep the log while the block runs, and say where it is if something went wrong in there.

    Args:
        root: the course's folder.
        say: prints a line.

    Raises:
        CourseError: in place of an exception that nobody foresaw.
    """
    log = GradeLog(root)
    loggers = [LOGGER, logging.getLogger(NANNY)]
    before = [(logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.INFO)
        logger.propagate = False  # no handler of anybody else's writes to the terminal
        logger.addHandler(log)
    try:
        yield
    except click.ClickException:
        raise
    except Exception as error:
        LOGGER.exception("the command ended")
        raise CourseError(f"nobody foresaw this: {kind_and_words(error)}") from error
    finally:
        for logger, (level, propagate) in zip(loggers, before, strict=True):
            logger.removeHandler(log)
            logger.setLevel(level)
            logger.propagate = propagate
        log.close()
        if log.trouble:
            say(f"log: {NAME}")


@contextmanager
def rotating() -> Generator[None]:
    """Let the log be rotated in the block, in which no other process writes it."""
    logs = [handler for handler in LOGGER.handlers if isinstance(handler, GradeLog)]
    for log in logs:
        log.maxBytes = LOG_BYTES
    try:
        yield
    finally:
        for log in logs:
            log.maxBytes = 0
