"""What is not a student's doing costs no marks, and a setting that makes no sense is refused."""

import pytest
from click.testing import CliRunner

from course_utils.command.cli import main
from course_utils.grading import pool
from course_utils.grading.submission import NOT_GRADED, Settings, Submission
from course_utils.grading.verdict.judgement import Judgement, NotJudged
from course_utils.grading.verdict.wording import TOO_LONG
from course_utils.grading.worker import run_one
from support.hostile import ERROR, ERROR_CHECK, SHAPES_CHECK, add_cell, answer
from support.light import ALL, points, run, solved

PROGRESS_BARS = {
    "updates of one display": """
from IPython.display import display
handle = display("0", display_id=True)
for step in range(5_000):
    handle.update(f"step {step} of 5000")
""",
    "a line that is written over": """
for step in range(20_000):
    print(f"\\r{step}", end="", flush=True)
""",
    "many displays": """
from IPython.display import display
for step in range(3_000):
    display(step)
""",
}


@pytest.mark.parametrize("source", PROGRESS_BARS.values(), ids=PROGRESS_BARS)
def test_a_long_progress_bar_costs_nothing(source):
    notebook = solved()
    add_cell(notebook, source)
    # As long as a class's cells may take: a slow machine shows 20,000 lines slowly.
    outcome = run(notebook, cell_seconds=60)
    assert outcome.died == ""
    assert points(outcome) == ALL
    assert "interrupted" not in outcome.notebook


@pytest.mark.parametrize("lines", [0, 1, 3])
def test_a_judge_that_ends_judges_no_one(monkeypatch, lines):
    message, heard = Judgement.message, iter(range(lines))

    async def ending(self, reader, seconds):
        if next(heard, None) is None:
            self.process.kill()
        return await message(self, reader, seconds)

    monkeypatch.setattr(Judgement, "message", ending)
    with pytest.raises(NotJudged, match="the process that judges failed"):
        run(solved())


def test_a_submission_that_was_not_judged_is_tried_once_again():
    tried = []

    def execute(submission, settings):
        tried.append(submission)
        if len(tried) == 1:
            raise NotJudged("it ended")
        return "an outcome"

    submission = Submission("ada", "00_start_here", "", "")
    assert run_one(submission, Settings(), "", execute) == "an outcome"
    assert tried == [submission] * 2


class Done:
    """A task of Dask's that ended with an error."""

    status = "error"

    def result(self, timeout):
        raise NotJudged("the process that judges failed in halve-check: it ended")


def test_what_is_said_of_it():
    assert pool.result_of(Done(), 1, "ada") == (
        f"{NOT_GRADED}: the process that judges failed in halve-check: it ended, twice"
    )


def test_all_checks_share_one_budget_of_time():
    notebook = solved()
    answer(notebook, ERROR, "def root_mean_square_error(x, y):\n    while True:\n        pass")
    # The checks before these take no time; each of the two would take as long as a cell may.
    outcome = run(notebook, cell_seconds=60, checks_seconds=8)
    first, second = (outcome.messages[check] for check in (ERROR_CHECK, f"{ERROR_CHECK}-2"))
    assert TOO_LONG in first
    assert "the checks before it took 8 s" in second
    assert outcome.phases["judge"] < 30
    assert points(outcome)[SHAPES_CHECK] == 1


@pytest.mark.parametrize("seed", [-1, 2**32, "x"])
def test_a_seed_that_no_generator_takes_is_refused(seed):
    outcome = CliRunner().invoke(main, ["grade", "00", "--seed", str(seed)])
    assert outcome.exit_code == 2
    assert "Invalid value for '--seed'" in outcome.output


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cell_seconds", -1),
        ("cell_seconds", float("nan")),
        ("notebook_seconds", 0),
        ("checks_seconds", 0),
        ("memory_bytes", -5),
        ("processes", 0),
        ("output_bytes", 0),
        ("seed", -1),
        ("seed", 2**32),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} is .*: it has to be"):
        Settings(**{name: value})
