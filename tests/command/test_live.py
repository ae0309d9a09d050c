"""The live table counts right, shows who runs, and keeps quiet where nobody watches."""

import threading
from io import StringIO

import pytest
from rich.console import Console

from course_utils.command.live import SHOWN_RUNNING, LiveTable, Output, clock_time
from course_utils.errors import CourseError


class Clock:
    seconds = 0.0

    def __call__(self):
        return self.seconds


def terminal(width=100):
    return Console(file=StringIO(), force_terminal=True, width=width, height=40, color_system=None)


def drawn(table):
    console = Console(file=StringIO(), width=100)
    console.print(table.render())
    return console.file.getvalue()


def test_what_is_done_running_and_waiting_is_counted():
    clock = Clock()
    table = LiveTable(terminal(), 5, clock)
    assert table.seconds_left() is None
    for student in ("ada", "bob"):
        table.started(student)
    clock.seconds = 30
    table.finished("ada", "31 of 34")
    table.started("[b]eve[/b]")
    clock.seconds = 60
    text = drawn(table)
    assert "1 done" in text
    assert "2 running" in text
    assert "2 waiting" in text
    assert "1 a minute, about 4:00 left" in text
    assert "✓ ada" in text
    assert "31 of 34" in text
    assert "▸ bob         1:00" in text
    assert "▸ [b]eve[/b]  0:30" in text


def test_names_are_seen_on_a_narrow_terminal():
    console = Console(file=StringIO(), width=80)
    table = LiveTable(console, 300, Clock())
    table.finished("ada.lovelace@example.org", "not a notebook (" + "very long words " * 20)
    table.started("grace.hopper@example.org")
    table.started("x" * 60)
    console.print(table.render())
    lines = console.file.getvalue().splitlines()
    assert all(len(line) <= 80 for line in lines)
    text = "\n".join(lines)
    assert "✓ ada.lovelace@example.org" in text
    assert "▸ grace.hopper@example.org" in text
    assert "2 running  297 waiting" in text


def test_what_could_not_be_graded_is_not_counted_as_graded():
    table = LiveTable(Console(file=StringIO()), 3, Clock())
    table.finished("ada")
    table.finished("bob", "not a notebook", graded=False)
    assert table.summary().plain == "1 of 3 graded, 1 could not be"


def test_a_name_gives_the_terminal_no_orders():
    table = LiveTable(terminal(), 2, Clock())
    table.started("\x1b[2Jeve")
    table.finished("\x1b[31mmal", "said \x1b]0;pwned\x07")
    text = drawn(table)
    assert "\x1b" not in text
    assert "\\x1b[2Jeve" in text


@pytest.mark.parametrize("error", [BrokenPipeError(32, "Broken pipe"), OSError(28, "disk full")])
def test_an_output_that_cannot_be_written_is_said(error):
    class Closed(StringIO):
        def write(self, text):
            raise error

    console = Output(file=Closed())
    with pytest.raises(CourseError, match="output could not be written"):
        console.print("marks")
    console.print("nothing more is tried")


def test_outcomes_that_were_there_do_not_count_for_the_rate():
    clock = Clock()
    table = LiveTable(terminal(), 11, clock)
    for number in range(9):
        table.finished(f"student-{number}", "as before")
    table.started("ada")
    clock.seconds = 60
    assert table.seconds_left() is None
    table.finished("ada")
    assert table.per_minute() == pytest.approx(1)
    assert table.seconds_left() == pytest.approx(60)


def test_a_submission_that_starts_over_runs_once():
    table = LiveTable(terminal(), 1, Clock())
    table.started("ada")
    table.started("ada")
    assert (len(table.running), table.waiting) == (1, 0)
    table.finished("ada")
    assert (table.done, table.executed, table.running) == (1, 1, {})


def test_a_large_cluster_does_not_fill_the_screen():
    table = LiveTable(terminal(), 300, Clock())
    for number in range(200):
        table.started(f"student-{number}")
    text = drawn(table)
    assert text.count("▸") == SHOWN_RUNNING
    assert f"and {200 - SHOWN_RUNNING} more" in text


def test_a_terminal_shows_the_table_and_is_clean_afterwards():
    console = terminal()
    with LiveTable(console, 2) as table:
        table.started("ada")
        table.live.refresh()
        table.finished("ada")
    written = console.file.getvalue()
    assert "▸ ada" in written
    assert "\x1b[2K" in written, "the table is erased"
    assert not table.live.is_started


def test_the_table_goes_when_grading_fails():
    console = terminal()
    table = LiveTable(console, 2)
    with pytest.raises(RuntimeError), table:
        raise RuntimeError
    assert not table.live.is_started


def test_no_terminal_gets_a_line_for_ten():
    clock = Clock()
    console = Console(file=StringIO(), width=40)
    with LiveTable(console, 25, clock) as table:
        for number in range(25):
            table.started(f"student-{number}")
            clock.seconds += 2
            table.finished(f"student-{number}")
    assert console.file.getvalue().splitlines() == [
        "10 of 25 graded, 30 a minute, about 0:30 left",
        "20 of 25 graded, 30 a minute, about 0:10 left",
        "25 of 25 graded, 30 a minute",
    ]


def test_threads_may_report_at_once():
    table = LiveTable(Console(file=StringIO()), 400)

    def report(first):
        for number in range(first, first + 100):
            table.started(f"student-{number}")
            table.finished(f"student-{number}")

    threads = [threading.Thread(target=report, args=(first,)) for first in range(0, 400, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert (table.done, table.executed, table.waiting) == (400, 400, 0)
    assert len(table.console.file.getvalue().splitlines()) == 40


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (7.4, "0:07"), (59.7, "1:00"), (750, "12:30"), (3723, "1:02:03")],
)
def test_times_are_written_as_on_a_clock(seconds, text):
    assert clock_time(seconds) == text
