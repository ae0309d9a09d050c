"""The gradebook's database: made whole, asked seldom, and written once a submission."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from course_utils.errors import CourseError, one_line
from course_utils.files import replacing


@contextmanager
def one_connection() -> Generator[None]:
    """Let nbgrader's steps share one connection to the gradebook.

    Each of them opens the gradebook for itself, a dozen times per submission, and each time
    nbgrader asks the database for all its tables. And each asks for one cell's entry after the
    other: here it gets all of a submission's at once.
    """
    from nbgrader.api import Comment, Grade, Gradebook

    opened: dict[tuple[str, str], Gradebook] = {}
    # Some steps name the course, others leave it at nbgrader's default: one connection for both.
    connections: dict[str, tuple] = {}
    connect, close = Gradebook.__init__, Gradebook.close

    def share(self, db_url, course_id="default_course", authenticator=None) -> None:
        if (db_url, course_id) not in opened:
            first = Gradebook.__new__(Gradebook)
            connect(first, db_url, course_id, authenticator)
            if db_url in connections:
                close(first)
            first.engine, first.db = connections.setdefault(db_url, (first.engine, first.db))
            opened[db_url, course_id] = first
        vars(self).update(vars(opened[db_url, course_id]))

    def leave(self) -> None:
        self.db.remove()

    ours = {
        "__init__": share,
        "close": leave,
        "find_grade": found_at_once(Grade, Gradebook.find_grade),
        "find_comment": found_at_once(Comment, Gradebook.find_comment),
    }
    before = {name: getattr(Gradebook, name) for name in ours}
    for name, method in ours.items():
        setattr(Gradebook, name, method)
    try:
        yield
    finally:
        for name, method in before.items():
            setattr(Gradebook, name, method)
        for gradebook in opened.values():
            close(gradebook)


def found_at_once(kind: Any, find: Callable) -> Callable:
    """A method of nbgrader's ``Gradebook`` that asks once for all entries of a submission.

    Args:
        kind: ``Grade`` or ``Comment``.
        find: nbgrader's method, which asks for one; it has the last word on what is not there.
    """
    from nbgrader.api import (
        Assignment,
        BaseCell,
        Grade,
        Notebook,
        SubmittedAssignment,
        SubmittedNotebook,
    )
    from sqlalchemy.orm import undefer

    def found(self, cell: str, notebook: str, assignment: str, student: str):
        # As long as the gradebook is open: each step opens it anew.
        entries = vars(self).setdefault("found_at_once", {})
        asked = kind, notebook, assignment, student
        if asked not in entries:
            query = (
                self.db.query(BaseCell.name, kind)
                .join(kind, kind.cell_id == BaseCell.id)
                .join(SubmittedNotebook, SubmittedNotebook.id == kind.notebook_id)
                .join(Notebook, Notebook.id == SubmittedNotebook.notebook_id)
                .join(
                    SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id
                )
                .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
                .filter(
                    Notebook.name == notebook,
                    Assignment.name == assignment,
                    SubmittedAssignment.student_id == student,
                )
            )
            if kind is Grade:
                query = query.options(undefer(Grade.max_score))
            entries[asked] = {name: entry for name, entry in query}
        entry = entries[asked].get(cell)
        return entry if entry is not None else find(self, cell, notebook, assignment, student)

    return found


@contextmanager
def one_transaction(db_url: str, course_id: str) -> Generator[None]:
    """Make nbgrader's commits in the block one: all that it enters there is entered, or nothing.

    nbgrader commits after each cell, and each time the database waits for the disk. Within
    :func:`one_connection`.
    """
    from nbgrader.api import Gradebook

    gradebook = Gradebook(db_url, course_id)
    # Before the block, for it enters its own default course, and the database is locked in there.
    Gradebook(db_url).close()
    with gradebook.engine.begin() as connection:
        # A session's own commit writes out what it holds, and no more; its rollback takes it back.
        gradebook.db.configure(
            bind=connection, join_transaction_mode="rollback_only", expire_on_commit=False
        )
        try:
            yield
        finally:
            gradebook.db.remove()
            gradebook.db.configure(
                bind=gradebook.engine,
                join_transaction_mode="conditional_savepoint",
                expire_on_commit=True,
            )


@contextmanager
def blaming_the_gradebook(db_url: str) -> Generator[None]:
    """Say in one line what is wrong with the gradebook.

    Raises:
        CourseError: instead of what the database raised.
    """
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, ImportError) as error:
        try:
            address = make_url(db_url).render_as_string(hide_password=True)
        except SQLAlchemyError:
            address = "that CourseDirectory.db_url names"
        reason = one_line(getattr(error, "orig", None) or error)
        raise CourseError(f"the gradebook {address} cannot be used: {reason}") from error


def prepare_gradebook(db_url: str, course_id: str) -> None:
    """Make the gradebook if there is none, and see whether it can be written.

    Raises:
        CourseError: it is locked, read-only, out of reach or no database.
    """
    from nbgrader.api import Course, Gradebook
    from sqlalchemy import update

    with blaming_the_gradebook(db_url):
        make_gradebook(db_url, course_id)
        with Gradebook(db_url, course_id) as gradebook:
            # It changes nothing, and waits for whoever else is writing.
            gradebook.db.execute(update(Course).values(id=Course.id))
            gradebook.db.rollback()


def make_gradebook(db_url: str, course_id: str) -> None:
    """Make a missing SQLite gradebook, whole or not at all.

    nbgrader makes the tables first and notes their version afterwards: a kill in between leaves a
    gradebook that no later version of nbgrader can bring up to date. And it starts a process to ask
    for that version, which takes seconds.
    """
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from nbgrader.api import Base, Gradebook
    from nbgrader.dbutil import ALEMBIC_DIR
    from sqlalchemy.engine import create_engine, make_url

    address = make_url(db_url)
    path = Path(address.database or ":memory:")
    if address.get_backend_name() != "sqlite" or path.name == ":memory:" or path.exists():
        return
    with replacing(path) as unfinished:
        unfinished.unlink(missing_ok=True)
        engine = create_engine(f"sqlite:///{unfinished}")
        with engine.begin() as connection:
            Base.metadata.create_all(connection)
            MigrationContext.configure(connection).stamp(ScriptDirectory(ALEMBIC_DIR), "head")
        engine.dispose()
        Gradebook(f"sqlite:///{unfinished}", course_id).close()
