"""The log of ``course grade``: whole where something went wrong, and no place for a student."""

import asyncio
import json
import logging
import os
import re
import stat

import pytest
from click.testing import CliRunner

from course_utils.authoring.build import build_into_place
from course_utils.command import grade as command
from course_utils.command.cli import main
from course_utils.gradebook import grade_class, log
from course_utils.gradebook.feedback import Renderer
from course_utils.gradebook.record import RecordMarks, WriteFeedback
from course_utils.grading.pool import Pool
from course_utils.grading.submission import Settings, Submission
from course_utils.grading.verdict.judgement import Judgement, NotJudged
from course_utils.grading.verdict.messages import LONGEST_FAULT
from course_utils.kernels import template
from course_utils.kernels.sandbox import why_not
from course_utils.kernels.template import Request, Template, TemplateError
from course_utils.kernels.workplace import Workplace
from course_utils.notebooks import read_notebook
from support.answers import ROOT
from support.classroom import fill_in
from support.hostile import ERROR_CHECK, add_cell
from support.light import ALL, points, run, solved
from support.quick import Here, misbehave, own_course
from support.tiny import make_tiny_course
from support.warm import eventually

LINE = f"log: {log.NAME}"
OWN = logging.getLogger(log.OWN)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The tiny course, built, with one honest submission."""
    chapter = make_tiny_course(tmp_path_factory.mktemp("built"))
    build_into_place(chapter)
    notebook = read_notebook(chapter.release)
    fill_in(notebook, {"double": "def double(x):\n    return x + x"})
    folder = chapter.root / "submitted" / "ada" / chapter.name
    folder.mkdir(parents=True)
    (folder / f"{chapter.name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    return chapter


@pytest.fixture
def chapter(built, tmp_path, monkeypatch):
    return own_course(built, tmp_path / "course", monkeypatch)


@pytest.fixture
def about(monkeypatch):
    """Whom each entry is about: there are only so many about one submission."""
    students, emit = [], log.GradeLog.emit

    def note(self, record):
        students.append(getattr(record, "student", None))
        emit(self, record)

    monkeypatch.setattr(log.GradeLog, "emit", note)
    return students


def grade(*options):
    """The command's status and its lines; it starts no process."""
    command = ["grade", "01_tiny", "--scheduler", "inproc://here", "--isolation", "none", *options]
    result = CliRunner().invoke(main, command)
    assert isinstance(result.exception, (SystemExit, type(None))), result.exc_info
    return result.exit_code, result.output.splitlines()


def written(root):
    path = root / log.NAME
    return path.read_text(encoding="utf-8") if path.exists() else ""


def entries(text):
    """The log's entries: only the first line of each begins at the margin."""
    return re.split(r"\n(?! )", text)


def raise_key_error(*_, **__):
    return {}["no such key"]


def test_a_quiet_run_prints_no_path_and_writes_no_log(chapter):
    status, lines = grade()
    assert status == 0, lines
    assert not any("log" in line for line in lines)
    assert written(chapter.root) == ""


def test_a_student_s_own_fault_is_none_for_the_log(chapter):
    (chapter.root / "submitted" / "ada" / chapter.name / f"{chapter.name}.ipynb").write_text("{")
    status, lines = grade()
    assert status == 0, lines
    assert LINE not in lines


def test_what_is_expected_is_noted_and_prints_no_path(tmp_path):
    said = []
    with log.kept(tmp_path, said.append):
        OWN.info("this happens with some submissions")
        logging.getLogger(log.NANNY).warning("a process of Dask's ended")
    assert said == []
    assert "this happens with some submissions" in written(tmp_path)
    assert "a process of Dask's ended" in written(tmp_path)


@pytest.mark.parametrize("step", [RecordMarks, WriteFeedback])
def test_what_a_step_of_recording_raises(chapter, monkeypatch, about, step):
    monkeypatch.setattr(step, "start", raise_key_error)
    status, lines = grade()
    assert status == 1
    assert lines.count(LINE) == 1
    assert lines[-1].startswith("Error: "), "what to do comes last"
    text = written(chapter.root)
    assert "ERROR course_utils.gradebook." in text
    assert " ada: " in text
    assert "Traceback (most recent call last)" in text
    assert "in raise_key_error" in text
    assert "KeyError: 'no such key'" in text
    assert set(about) == {"ada"}


def test_a_submission_that_was_not_graded(chapter, monkeypatch, about):
    monkeypatch.setattr(Here, "ends", {"ada": "not graded: the process that judges ended, twice"})
    status, lines = grade()
    assert status == 1
    assert LINE in lines
    assert "ada: not graded: the process that judges ended, twice" in written(chapter.root)
    assert about == ["ada"]


@pytest.mark.parametrize(
    ("module", "name", "caller"),
    [(grade_class, "export", "gradebook/grade_class.py"), (command, "show", "command/cli.py")],
)
def test_what_nobody_foresaw_is_one_line_and_the_log_s_path(
    chapter, monkeypatch, module, name, caller
):
    monkeypatch.setattr(module, name, raise_key_error)
    status, lines = grade()
    assert status == 1
    assert lines[-2:] == [LINE, "Error: nobody foresaw this: KeyError: 'no such key'"]
    assert not any("Traceback" in line for line in lines)
    text = written(chapter.root)
    assert "in raise_key_error" in text
    assert f"course_utils/{caller}" in text


def test_a_log_that_cannot_be_written_is_named_to_no_one(chapter, monkeypatch):
    (chapter.root / log.NAME).mkdir(parents=True)
    monkeypatch.setattr(grade_class, "export", raise_key_error)
    status, lines = grade()
    assert status == 1
    assert lines[-1] == "Error: nobody foresaw this: KeyError: 'no such key'"
    assert LINE not in lines
    assert "Logging error" not in "".join(lines)


@pytest.mark.parametrize("callback", ["started", "keep"])
def test_a_pool_s_callback_that_fails_ends_the_run(callback):
    """Nobody looks at what it raised: the run would wait for ever."""
    submissions = [(key, Submission(key, "01_tiny", "", "")) for key in ("first", "second")]

    def fail(key, outcome=None):
        # The second is handed out in a thread of Dask's, when the first is done.
        if key == "second":
            raise KeyError("no such key")

    with Pool(1, "", misbehave, **{callback: fail}) as workers, pytest.raises(KeyError):
        list(workers.run(submissions, Settings()))


def test_a_worker_that_raises_and_one_that_dies(tmp_path, about):
    said = []
    names = ("raises", "killer")
    with log.kept(tmp_path, said.append), Pool(1, "", misbehave) as workers:
        submissions = [(name, Submission(name, "01_tiny", "", "")) for name in names]
        assert len(dict(workers.run(submissions, Settings()))) == 2
    assert said == [LINE]
    text = written(tmp_path)
    (tried,) = (entry for entry in entries(text) if "is tried once again" in entry)
    assert "raises: execution failed" in tried, "as the worker logged it"
    assert "in misbehave" in tried
    assert "raises: no outcome" in text
    assert "in misbehave" in text, "the worker's part of the traceback"
    assert "ValueError: two\n    lines" in text
    assert "killer: no outcome" in text
    assert "KilledWorker" in text
    assert "signal 9" in text, "what Dask saw of its end"
    assert (about.count("raises"), about.count("killer")) == (2, 1)


def test_a_judge_that_raises(monkeypatch):
    begin = Judgement.__init__

    def with_another_seed(self, *arguments):
        begin(self, *arguments)
        self.order["seed"] = "no number"

    monkeypatch.setattr(Judgement, "__init__", with_another_seed)
    with pytest.raises(NotJudged, match="the process that judges failed before") as raised:
        run(solved())
    (note,) = raised.value.__notes__
    assert "Traceback (most recent call last)" in note
    assert "judge_process.py" in note
    assert "TypeError" in note


def test_a_judge_that_crashes(monkeypatch):
    """No exception of Python's: the crash itself is told, with the judge's lines."""
    begin = Judgement.__init__

    def with_a_crash(self, *arguments):
        begin(self, *arguments)
        source = "import ctypes\nctypes.string_at(0)"
        self.order["cells"] = [{"source": source}, *self.order["cells"]]

    monkeypatch.setattr(Judgement, "__init__", with_a_crash)
    with pytest.raises(NotJudged) as raised:
        run(solved())
    (note,) = raised.value.__notes__
    assert "Fatal Python error: Segmentation fault" in note
    assert "string_at" in note


class Unseen(Workplace):
    """A workplace whose processes can't be looked at."""

    def __init__(self, error):
        super().__init__()
        self.error, self.pid, self.looks = error, os.getpid(), 0

    def excess(self):
        self.looks += 1
        raise self.error


@pytest.mark.parametrize(
    ("error", "heard"),
    [(PermissionError("no right"), True), (FileNotFoundError("it has ended"), False)],
)
def test_a_watchdog_that_cannot_look_says_so_and_goes_on(caplog, error, heard):
    with Unseen(error) as place:
        place.watch(place)
        assert eventually(lambda: place.looks >= 2)
    assert ("PermissionError: no right" in caplog.text) == heard
    assert bool(caplog.text) == heard


def test_a_template_that_cannot_fork(caplog, tmp_path):
    with Template() as own:
        request = Request([], {}, str(tmp_path), 1, [0, 1, 2], sandbox={"no": "namespaces"})
        with open(os.devnull, "r+b") as nothing:
            sent = [nothing.fileno()] * 4
            for _ in range(2):
                caplog.clear()
                with pytest.raises(TemplateError, match="namespaces"):
                    asyncio.run(template.launch(own.address, request, sent))
                assert eventually(lambda: "in accept" in caplog.text)
    assert "the process that starts kernels says:" in caplog.text
    assert "in fork_into_sandbox" in caplog.text
    assert "KeyError: 'namespaces'" in caplog.text


def test_a_kernel_that_cannot_be_made_ready(caplog, tmp_path):
    """It has a stderr that nobody reads; what goes wrong before its first cell is heard."""
    with Template() as own:
        request = Request([], {}, str(tmp_path / "missing"), 1, [0, 1, 2])
        with open(os.devnull, "r+b") as nothing:
            kernel = asyncio.run(template.launch(own.address, request, [nothing.fileno()] * 3))
        assert kernel.wait(60) == 1
        assert eventually(lambda: "FileNotFoundError" in caplog.text)
    assert "the process that starts kernels says:" in caplog.text
    assert "in run_kernel" in caplog.text


def test_a_template_that_ends_by_itself(caplog):
    with Template() as own:
        assert own.process is not None
        own.process.kill()
        ended = "the process that starts kernels ended with -9"
        assert eventually(lambda: ended in caplog.text)


def test_a_template_that_is_asked_to_end(caplog):
    with Template() as own:
        process = own.process
    assert process is not None
    assert process.poll() is not None
    assert caplog.text == ""


FLOOD = "\\x1b[2J\\n2026-01-01 00:00:00,000 ERROR course_utils: forged " + "x" * 100_000
BROKEN_SNAPSHOTS = f"""
from course_utils.grading.verdict import answering
def fail(*_):
    raise RuntimeError("{FLOOD}")
answering.named_values = fail
"""


def test_a_snapshot_that_fails_is_heard_and_floods_nothing(tmp_path, about):
    notebook = solved()
    add_cell(notebook, BROKEN_SNAPSHOTS)
    said = []
    with log.kept(tmp_path, said.append):
        outcome = run(notebook)
    text = written(tmp_path)
    assert said == [LINE]
    assert f"kind: a snapshot of the notebook failed at {ERROR_CHECK}" in text
    assert outcome.messages
    assert max(map(len, entries(text))) < LONGEST_FAULT + 1000
    assert "\x1b" not in text
    assert not any(line.startswith("2026-01-01") for line in text.splitlines())
    assert set(about) == {"kind"}


def test_a_kernel_without_a_snapshot_is_heard(tmp_path, about):
    notebook = solved()
    broken = "from course_utils.grading.verdict import answering\ndel answering.wait_for_the_judge"
    add_cell(notebook, broken)
    said = []
    with log.kept(tmp_path, said.append):
        assert ERROR_CHECK in run(notebook).messages
    assert said == [LINE]
    text = written(tmp_path)
    assert "kind: a line of ours failed in the notebook's kernel: " in text
    assert "AttributeError: module" in text
    assert set(about) == {"kind"}


def test_honest_snapshots_are_not_heard(tmp_path):
    said = []
    with log.kept(tmp_path, said.append):
        assert points(run(solved())) == ALL
    assert (said, written(tmp_path)) == ([], "")


def test_no_student_fills_the_log(tmp_path):
    forged = "\x1b[2Ja\r\n2026-01-01 00:00:00,000 ERROR course_utils: forged\u202e"
    with log.kept(tmp_path, print):
        for _ in range(1000):
            about_eve = {"student": "eve"}
            OWN.warning("eve: %s %s raised", forged, "x" * 10**5, extra=about_eve)
        OWN.warning("ada: one entry", extra={"student": "ada"})
    text = written(tmp_path)
    most = log.HEAD_CHARACTERS + log.TAIL_CHARACTERS + 1000
    assert len(text) < log.MOST_ENTRIES * most
    assert text.endswith("ada: one entry\n")
    assert text.count("eve: ") == log.MOST_ENTRIES
    assert text.count("raised") == log.MOST_ENTRIES, "what a traceback ends with"
    assert text.count("raised (no more like this in this run)\n") == 1
    assert all(sign.isprintable() or sign == "\n" for sign in text)
    assert sum(not line.startswith("    ") for line in text.splitlines()) == log.MOST_ENTRIES + 1


def test_the_log_is_rotated_by_the_run_that_holds_the_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(log, "LOG_BYTES", 5000)
    folder = (tmp_path / log.NAME).parent
    with log.kept(tmp_path, print):
        for number in range(15):
            OWN.warning("%s", "x" * 1000, extra={"student": str(number)})
        assert [path.name for path in folder.iterdir()] == ["grade.log"], "another may have it open"
        with log.rotating():
            for number in range(60):
                OWN.warning("%s", "x" * 1000, extra={"student": f"other {number}"})
        logs = sorted(folder.iterdir())
        assert [path.name for path in logs] == ["grade.log", *(f"grade.log.{n}" for n in (1, 2, 3))]
        assert all(path.stat().st_size <= 5000 for path in logs)
        assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in logs)
        for number in range(15):
            OWN.warning("%s", "x" * 1000, extra={"student": f"late {number}"})
        assert logs[0].stat().st_size > 15_000, "the lock is free again"


def test_a_run_rotates(chapter, monkeypatch):
    rotated = []
    monkeypatch.setattr(
        grade_class, "check_folders", lambda *_: rotated.append(OWN.handlers[-1].maxBytes)
    )
    assert grade()[0] == 0
    assert rotated == [log.LOG_BYTES]


@pytest.mark.skipif(bool(why_not()), reason="no sandbox here")
def test_the_log_is_not_to_be_read_in_a_sandbox(tmp_path):
    with log.kept(tmp_path, print):
        OWN.warning("a name")
        notebook = solved()
        # And what lies where the log of a course does, for a sandbox has a /tmp of its own.
        paths = [str(tmp_path / log.NAME), str(ROOT / "nbgrader_config.py")]
        assert all(map(os.path.exists, paths))
        add_cell(notebook, f"import os\nprint('there:', *map(os.path.exists, {paths!r}))")
        outcome = run(notebook)
    assert "there: False False" in outcome.notebook


def test_a_notebook_that_is_not_laid_out_says_why(monkeypatch, caplog):
    renderer = Renderer()
    monkeypatch.setattr(json, "dumps", lambda *_: "no notebook")
    with caplog.at_level(logging.INFO, log.OWN):
        assert renderer.body({}) is None
    renderer.stop()
    assert "the process that lays out feedback ended" in caplog.text
    assert "JSONDecodeError" in caplog.text


@pytest.mark.parametrize("name", [log.OWN, log.NANNY])
def test_loggers_are_left_as_they_were(tmp_path, name):
    logger = logging.getLogger(name)
    before = (logger.level, logger.propagate, list(logger.handlers))
    with log.kept(tmp_path, print):
        assert not logger.propagate
    assert (logger.level, logger.propagate, list(logger.handlers)) == before
