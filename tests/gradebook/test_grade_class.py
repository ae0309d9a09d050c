"""``course grade`` on input that is wrong: one clear line, nothing lost, nobody else harmed."""

import errno
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest
from click.testing import CliRunner
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy.engine.default import DefaultDialect

from course_utils.authoring.build import build_into_place
from course_utils.command.cli import main
from course_utils.errors import CourseError
from course_utils.gradebook import grade_class
from course_utils.gradebook.database import prepare_gradebook
from course_utils.gradebook.export import plain_cell
from course_utils.gradebook.grader import open_grader
from course_utils.gradebook.record import Recorder, WriteFeedback
from course_utils.grading.cache import FOLDER
from course_utils.notebooks import read_notebook
from support.answers import ROOT, grader_of
from support.classroom import fill_in
from support.quick import Here, own_course
from support.tiny import make_tiny_course

RIGHT = {"double": "def double(x):\n    return x + x", "halve": "def halve(x):\n    return x / 2"}
RESUME = "course grade 01_tiny --resume"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The tiny course, built, with one honest submission and a new gradebook."""
    chapter = make_tiny_course(tmp_path_factory.mktemp("built"))
    build_into_place(chapter)
    submit(chapter, "ada")
    courses = open_grader(chapter.root).coursedir
    prepare_gradebook(courses.db_url, courses.course_id)
    return chapter


@pytest.fixture
def chapter(built, tmp_path, monkeypatch):
    return own_course(built, tmp_path / "course", monkeypatch)


def submit(chapter, student, edit=lambda notebook: None):
    notebook = read_notebook(chapter.release)
    fill_in(notebook, RIGHT)
    edit(notebook)
    folder = os.path.join(os.fsencode(chapter.root / "submitted"), os.fsencode(student))
    folder = os.path.join(folder, chapter.name.encode())
    os.makedirs(folder)
    with open(os.path.join(folder, f"{chapter.name}.ipynb".encode()), "w") as file:
        # nbformat's own writer fails on what is nested too deep.
        json.dump(notebook, file)
    return folder


def run(*arguments):
    """The command's status and its words; it starts no process."""
    options = ["--isolation", "none"] if "--resume" not in arguments else []
    command = ["grade", "01_tiny", "--scheduler", "inproc://here", *options, *arguments]
    result = CliRunner().invoke(main, command)
    assert isinstance(result.exception, (SystemExit, type(None))), result.exc_info
    return result.exit_code, result.output


def nothing_written(chapter):
    made = ("autograded", "feedback", "reports", "grades.csv")
    return not any((chapter.root / name).is_dir() for name in made) and not scores(chapter)


def last_line(output):
    return output.splitlines()[-1]


def scores(chapter):
    with sqlite3.connect(chapter.root / "gradebook.db") as book:
        rows = book.execute(
            "SELECT student_id, sum(coalesce(auto_score, 0)) FROM submitted_assignment AS a "
            "JOIN submitted_notebook AS n ON n.assignment_id = a.id "
            "JOIN grade ON grade.notebook_id = n.id GROUP BY student_id"
        )
        return dict(rows.fetchall())


def nest_the_marks(notebook):
    deep: dict = {}
    for _ in range(400):
        deep = {"a": deep}
    for cell in notebook.cells:
        if grader_of(cell):
            cell.metadata["nbgrader"]["schema_version"] = deep


def test_one_submission_costs_itself_alone(chapter):
    submit(chapter, "deep", nest_the_marks)
    submit(chapter, "l" * 252)
    submit(chapter, b"caf\xe9")
    submit(chapter, "line\nbreak")
    submit(chapter, "\x1b[31mred")
    folder = submit(chapter, "copy")
    os.rename(folder + b"/01_tiny.ipynb", folder + b"/01_tiny-1.ipynb")
    status, output = run()
    assert status == 0, output
    assert scores(chapter) == {"ada": 3, "copy": 0, "deep": 0}
    assert "deep: not a notebook (it is nested more than 50 deep)" in output
    assert "l" * 252 + ": the folder's name is longer than 128 letters" in output
    assert "caf\\udce9: the folder's name is not allowed" in output
    assert "line\\nbreak: the folder's name is not allowed" in output
    assert "\\x1b[31mred: the folder's name is not allowed" in output
    assert "\x1b" not in output
    assert "there is 01_tiny-1.ipynb" in output
    assert "1 of 7 could be graded" in output
    report = json.loads((chapter.root / "reports" / "01_tiny" / "report.json").read_text())
    assert "caf\\udce9" in json.dumps(report).replace("\\\\", "\\")


def test_whatever_a_step_raises_costs_one_alone(chapter, monkeypatch):
    """Also what nobody thought of: here, while taking in and while recording."""
    for student in ("bob", "cleo"):
        submit(chapter, student)
    sanitise = grade_class.Grading.sanitise

    def fail_for_bob(self, student):
        if student == "bob":
            raise RecursionError("too deep")
        return sanitise(self, student)

    record = grade_class.Grading.record

    def fail_for_cleo(self, student, *arguments):
        if student == "cleo":
            monkeypatch.setattr(self.recorder.marks, "start", lambda: {}["no such key"])
        record(self, student, *arguments)

    monkeypatch.setattr(grade_class.Grading, "sanitise", fail_for_bob)
    monkeypatch.setattr(grade_class.Grading, "record", fail_for_cleo)
    status, output = run()
    assert status == 1
    assert "bob: not graded: RecursionError: too deep" in output
    assert "cleo: not graded: KeyError" in output
    assert last_line(output) == (
        f"Error: not graded, through no fault of theirs: bob, cleo; to try again: {RESUME}"
    )
    assert scores(chapter)["ada"] == 3
    monkeypatch.setattr(grade_class.Grading, "sanitise", sanitise)
    monkeypatch.setattr(grade_class.Grading, "record", record)
    status, output = run("--resume")
    assert status == 0, output
    assert scores(chapter) == {"ada": 3, "bob": 3, "cleo": 3}


def test_not_graded_is_no_zero(chapter, monkeypatch):
    submit(chapter, "bob", lambda notebook: fill_in(notebook, {"halve": "halve = abs"}))
    monkeypatch.setattr(Here, "ends", {"bob": "not graded: the process that judges ended, twice"})
    status, output = run()
    assert status == 1
    assert "│ bob     │  – / 3 │" in output
    rows = (chapter.root / "grades.csv").read_text().splitlines()
    assert rows[1].endswith(",3.0,0.0,3.0,3.0")
    assert rows[2].endswith(",,0.0,,3.0")
    with sqlite3.connect(chapter.root / "gradebook.db") as book:
        marks = book.execute("SELECT auto_score, needs_manual_grade FROM grade").fetchall()
    assert marks.count((None, 1)) == 2
    monkeypatch.setattr(Here, "ends", {})
    assert run("--resume")[0] == 0
    assert scores(chapter) == {"ada": 3, "bob": 1}
    status, output = run("--resume")
    assert status == 1
    assert "nothing to resume" in output


def page(chapter):
    return chapter.root / "feedback" / "ada" / "01_tiny" / "01_tiny.html"


def test_feedback_that_fails_is_said_and_resumed(chapter, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(WriteFeedback, "start", lambda self: {}["no such key"])
        status, output = run()
    assert status == 1
    assert "ada: graded, but without feedback: KeyError" in output
    assert last_line(output) == f"Error: without feedback: ada; to try again: {RESUME}"
    assert scores(chapter) == {"ada": 3}
    assert not page(chapter).exists()
    assert run("--resume")[0] == 0
    assert page(chapter).exists()


@pytest.mark.parametrize("place", ["feedback", "journal", "export"])
def test_a_full_disk_ends_the_run_which_goes_on_later(chapter, monkeypatch, place):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    targets = {
        "feedback": (WriteFeedback, "start"),
        "journal": (grade_class.Journal, "write"),
        "export": (grade_class, "export"),
    }
    with monkeypatch.context() as patch:
        patch.setattr(*targets[place], full)
        status, output = run()
    assert status == 1
    assert last_line(output) == (
        f"Error: No space left on device; that mended, go on with: {RESUME}"
    )
    status, output = run("--resume")
    assert status == 0, output
    assert scores(chapter) == {"ada": 3}
    assert page(chapter).exists()


def test_the_recorder_has_the_outcome_and_executes_nothing(chapter, monkeypatch):
    class Forgets(Here):
        def run(self, submissions, settings, ahead=1):
            for result in super().run(submissions, settings, ahead):
                shutil.rmtree(chapter.root / FOLDER / "outcomes")
                yield result

    def never(submission, settings):
        raise AssertionError("a student's code in the process that writes the gradebook")

    monkeypatch.setattr("course_utils.grading.pool.Pool", Forgets)
    monkeypatch.setattr("course_utils.gradebook.preprocessors.execute", never)
    status, output = run()
    assert status == 0, output
    assert scores(chapter) == {"ada": 3}


def test_a_submission_is_entered_whole_or_not_at_all(chapter, monkeypatch):
    def fail(self, *arguments):
        assert self.config
        raise KeyError("after the marks")

    with monkeypatch.context() as patch:
        patch.setattr(AssignLatePenalties, "preprocess", fail)
        patch.setattr(Recorder, "leave_ungraded", lambda self, student: None)
        status, output = run()
    assert status == 1
    assert "ada: not graded: KeyError" in output
    assert scores(chapter) == {}
    assert run("--resume")[0] == 0
    assert scores(chapter) == {"ada": 3}


def test_a_report_that_fails_costs_no_marks(chapter, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(
            "course_utils.grading.report.contents.class_report", lambda *a: {}["no such key"]
        )
        status, output = run()
    assert status == 1
    assert "the report could not be written (KeyError: 'no such key')" in output
    assert "│ ada     │  3 / 3 │" in output
    assert last_line(output) == f"Error: there is no report; to try again: {RESUME}"
    assert run("--resume")[0] == 0


TERMINATED = """
import os, signal, sys, time
from course_utils.gradebook import grade_class
from course_utils.command.cli import main
from course_utils.gradebook.record import WriteFeedback
from support.quick import Here, execute

def ended(self):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)

grade_class.Grading.execute = staticmethod(execute)
import course_utils.grading.pool
course_utils.grading.pool.Pool = Here
WriteFeedback.start = ended
main(["grade", "01_tiny", "--scheduler", "inproc://here", "--isolation", "none"])
"""


def test_sigterm_while_recording_ends_the_run_which_goes_on_later(chapter):
    finished = subprocess.run(
        [sys.executable, "-c", TERMINATED],
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 128 + signal.SIGTERM, finished.stderr
    assert finished.stdout.endswith(f"interrupted; to go on: {RESUME}\n")
    status, output = run("--resume")
    assert status == 0, output
    assert page(chapter).exists()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "",
        "{}",
        '{"name": "x"}',
        '{"name": "x", "students": "ada", "settings": {}, "finished": false}',
        '{"name": "x", "students": [3], "settings": {}, "finished": false}',
        '{"name": "x", "students": ["ada"], "settings": {"cell_seconds": 1}}',
        '{"name": "x", "students": ["ada"], "settings": {"seed": "1"}}',
        '{"name": "x", "students": ["ada"], "settings": {}, "strange": 1}',
    ],
)
def test_a_broken_note_of_the_last_run(chapter, text):
    path = chapter.root / FOLDER / "runs" / "01_tiny.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    status, output = run("--resume")
    assert status == 1
    assert output == (
        f"Error: {path} is broken: grade without --resume, "
        "which executes nothing again that is done\n"
    )
    assert nothing_written(chapter)


@pytest.mark.parametrize(
    ("slip", "words"),
    [
        ("c.ExecuteSandboxed.cell_seconds = = 1", "line {line}: invalid syntax (SyntaxError)"),
        ("c.ExecuteSandboxed.cell_seconds = x", "line {line}: name 'x' is not defined (NameError)"),
        ("c.ExecuteSandboxed.cell_seconds = 'x'", "cell_seconds"),
        ("c.ExecuteSandboxed.cell_seconds = -1", "cell_seconds is -1"),
        ("c.ExecuteSandboxed.cell_second = 3", "c.ExecuteSandboxed.cell_second: there is no such"),
        ("c.CourseDirectory.db_url = 3", "db_url"),
        ("c.CourseDirectory.db_url = 'nonsense'", "the gradebook"),
        ("c.CourseDirectory.db_url = 'oracle://x/y'", "the gradebook"),
        ("c.Autograde.sanitize_preprocessors = ['no.such.Step']", "no"),
    ],
)
def test_a_slip_in_the_settings(chapter, slip, words):
    path = chapter.root / "nbgrader_config.py"
    text = path.read_text() + slip + "\n"
    path.write_text(text)
    status, output = run()
    assert status == 1
    assert output.startswith("Error: "), output
    assert output.count("\n") == 1, output
    assert words.format(line=text.count("\n")) in output
    assert nothing_written(chapter)


def shorten_the_wait(chapter):
    path = chapter.root / "nbgrader_config.py"
    path.write_text(path.read_text().replace("?timeout=60", "?timeout=0.1"))


def test_a_gradebook_that_is_none(chapter):
    (chapter.root / "gradebook.db").write_text("marks of the class\n" * 100)
    status, output = run()
    assert status == 1
    assert output.startswith("Error: the gradebook sqlite:///")
    assert output.endswith(" cannot be used: file is not a database\n")


def test_a_gradebook_that_cannot_take_the_chapter(chapter, monkeypatch):
    """All that nbgrader enters of a chapter is written at the end, by our own transaction."""

    def fail(engine, connection):
        raise sqlite3.OperationalError("disk I/O error")

    def enter(*arguments):
        entered(*arguments)
        monkeypatch.setattr(DefaultDialect, "do_commit", fail)

    entered = grade_class.enter_chapter
    monkeypatch.setattr(grade_class, "enter_chapter", enter)
    status, output = run()
    assert status == 1
    assert output.splitlines()[-1].startswith("Error: the gradebook sqlite:///"), output
    assert output.endswith(" cannot be used: disk I/O error\n")
    with pytest.raises(CourseError, match=r"^the gradebook \S+ cannot be used: disk I/O error$"):
        build_into_place(chapter)


@pytest.mark.parametrize("kind", ["EXCLUSIVE", "IMMEDIATE"])
def test_a_gradebook_that_is_locked(chapter, kind):
    shorten_the_wait(chapter)
    book = sqlite3.connect(chapter.root / "gradebook.db", isolation_level=None)
    book.execute(f"BEGIN {kind}")
    status, output = run()
    book.close()
    assert status == 1
    assert output.startswith("Error: the gradebook sqlite:///")
    assert output.endswith(" cannot be used: database is locked\n")


def test_a_gradebook_that_is_locked_in_the_middle(chapter):
    shorten_the_wait(chapter)
    opened = []

    class Locks(Here):
        def run(self, submissions, settings, ahead=1):
            for result in super().run(submissions, settings):
                opened.append(sqlite3.connect("gradebook.db", isolation_level=None))
                opened[-1].execute("BEGIN IMMEDIATE")
                yield result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("course_utils.grading.pool.Pool", Locks)
        status, output = run()
    opened[0].close()
    assert status == 1
    assert last_line(output) == (
        f"Error: the gradebook: database is locked; that mended, go on with: {RESUME}"
    )
    assert run("--resume")[0] == 0
    assert scores(chapter) == {"ada": 3}


@pytest.mark.parametrize("name", ["feedback", "autograded", "reports", f"{FOLDER}/staging"])
def test_a_folder_that_cannot_be_written_is_said_before_the_work(chapter, monkeypatch, name):
    place = chapter.root / name
    place.mkdir(parents=True)
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != place and access(path, mode))
    status, output = run()
    assert status == 1
    assert output == f"Error: {place} cannot be written: give yourself the right\n"
    assert scores(chapter) == {}
    place.rmdir()
    place.touch()
    status, output = run()
    assert status == 1
    assert output.startswith(f"Error: {place} is not a folder")


def test_a_hidden_folder_is_told_and_nobodys(chapter):
    submit(chapter, ".kim")
    _, output = run()
    assert "it begins with a dot, so it is hidden" in output
    assert list(scores(chapter)) == ["ada"]


def of_another_chapter(notebook):
    for cell in notebook.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.grade_id = f"other-{cell.metadata.nbgrader.grade_id}"


def test_another_chapters_notebook_is_told(chapter):
    submit(chapter, "kim", of_another_chapter)
    _, output = run()
    assert "01_tiny.ipynb is another chapter's notebook ('A tiny chapter')" in output
    assert scores(chapter) == {"ada": 3, "kim": 0}


def test_a_folder_that_cannot_be_made(chapter):
    (chapter.root / FOLDER).touch()
    status, output = run()
    assert status == 1
    assert output.startswith(f"Error: {chapter.root / FOLDER}")
    assert output.count("\n") == 1


def test_feedback_holds_the_page_and_no_file_of_the_student_s(chapter):
    folder = os.fsdecode(submit(chapter, "eve"))
    for name in ("index.html", "01_tiny.html", "evil.js"):
        with open(os.path.join(folder, name), "w") as file:
            file.write("<script>alert(1)</script>")
    with open(os.path.join(folder, "timestamp.txt"), "w") as file:
        file.write("2026-11-21 10:00:00 UTC")
    assert run()[0] == 0
    place = chapter.root / "feedback" / "eve" / "01_tiny"
    assert sorted(path.name for path in place.iterdir()) == ["01_tiny.html", "timestamp.txt"]
    assert "alert(1)" not in (place / "01_tiny.html").read_text()
    assert (chapter.root / "autograded" / "eve" / "01_tiny" / "evil.js").exists()


def test_grades_csv_holds_no_formula(chapter):
    names = ["=cmd|' -C calc'!A1", "@SUM(1)", "-1", '"quoted', "ada"]
    for name in names[:-1]:
        submit(chapter, name)
    status, output = run()
    assert status == 0, output
    import csv

    with (chapter.root / "grades.csv").open(newline="") as file:
        heading, *rows = csv.reader(file)
    assert all(len(row) == len(heading) for row in rows)
    cells = {row[heading.index("student_id")] for row in rows}
    assert cells == {"'=cmd|' -C calc'!A1", "'@SUM(1)", "'-1", '"quoted', "ada"}
    assert {row[heading.index("score")] for row in rows} == {"3.0"}


def test_numbers_stay_numbers():
    assert [plain_cell(value) for value in (-1.5, None, "ada", "\tx", "\uff1dx")] == [
        "-1.5",
        "",
        "ada",
        "'\tx",
        "'\uff1dx",
    ]


def test_a_scheduler_elsewhere_is_refused_before_anything_is_written(chapter):
    result = CliRunner().invoke(main, ["grade", "01_tiny", "--scheduler", "tcp://10.0.0.1:8786"])
    assert result.exit_code == 1
    assert result.output.startswith("Error: tcp://10.0.0.1:8786 is another machine")
    assert not (chapter.root / FOLDER).exists()


def test_words_of_others_give_the_terminal_no_orders():
    error = CourseError("there are \x1b[2Jeve, mal\nError: all is well")
    assert error.format_message() == "there are \\x1b[2Jeve, mal\\nError: all is well"
    error = CourseError("eve's cell failed", details="\x1b[2J\nError: all is well")
    assert error.format_message() == "eve's cell failed\n  \\x1b[2J\n  Error: all is well"
