"""``course verify`` sees every kind of change, and says where it is."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_utils.authoring.source import NOTEBOOK_METADATA
from course_utils.command.verify import nbval_command, nbval_environment, verify_chapter
from course_utils.project import Chapter


def printed(text):
    return new_output("stream", name="stdout", text=text)


def value(text):
    return new_output("execute_result", {"text/plain": text}, execution_count=1)


def run_cell(name, source, *outputs, tags=()):
    """A cell as it is after a run that gave these outputs."""
    metadata = {"tags": list(tags)}
    return new_code_cell(
        source, id=name, outputs=list(outputs), execution_count=1, metadata=metadata
    )


def write_chapter(root, name, *cells):
    chapter = Chapter(name, root)
    chapter.source.parent.mkdir(parents=True)
    chapter.source.write_text("# %%\n", encoding="utf-8")
    heading = new_markdown_cell(f"# {name}", id="heading")
    nbformat.write(
        new_notebook(cells=[heading, *cells], metadata=NOTEBOOK_METADATA), chapter.solution
    )
    return chapter


ERROR = new_output("error", ename="ZeroDivisionError", evalue="division by zero", traceback=[])
GOOD = (
    run_cell("setup", "import random"),
    run_cell("sum", "1 + 1", value("2")),
    run_cell("text", "print('one')", printed("one\n")),
    run_cell("varies", "random.random()", value("0.5"), tags=["nbval-ignore-output"]),
    run_cell(
        "on-purpose",
        "1 / 0",
        ERROR,
        tags=["raises-exception"],
    ),
    run_cell("address", "print('at 0x7f0000000000')", printed("at 0x7fffffffffff\n")),
)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course whose chapters are right, or wrong in one way each, and one run over all of it."""
    root = tmp_path_factory.mktemp("course")
    (root / "nbgrader_config.py").write_text("c = get_config()\n", encoding="utf-8")
    (root / "nbval_sanitize.cfg").write_text(
        "[memory address]\nregex: 0x[0-9a-f]+\nreplace: ADDRESS\n", encoding="utf-8"
    )
    # What pytest finds in a project must not decide how notebooks are verified.
    (root / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n", encoding="utf-8")
    (root / "conftest.py").write_text("raise SystemExit('conftest was read')\n", encoding="utf-8")
    write_chapter(root, "00_good", *GOOD)
    write_chapter(root, "01_value", GOOD[1], run_cell("product", "2 * 3", value("5")))
    write_chapter(
        root, "02_text", run_cell("greeting", "print('new words')", printed("old words\n"))
    )
    write_chapter(root, "03_fails", run_cell("inverse", "1 / 0"), GOOD[1])
    write_chapter(root, "04_calm", run_cell("calm", "1", ERROR, tags=["raises-exception"]))
    write_chapter(root, "05_broken").solution.write_text('{"cells": [', encoding="utf-8")
    write_chapter(root, "06_missing").solution.unlink()
    return root


def course_verify(root, *arguments):
    return subprocess.run(
        [Path(sys.executable).with_name("course"), "verify", *arguments],
        cwd=root,
        env=os.environ | {"COLUMNS": "200", "PYTEST_ADDOPTS": "--no-such-option"},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def run(course):
    before = sorted(course.rglob("*"))
    finished = course_verify(course)
    assert sorted(course.rglob("*")) == before, "verify must leave nothing behind"
    return finished


def row(run, chapter):
    (line,) = [line for line in run.stdout.splitlines() if line.startswith(f"│ {chapter}")]
    return [part.strip() for part in line.strip("│").split("│")]


def test_an_unchanged_chapter_passes(run):
    name, cells, _, verdict = row(run, "00_good")
    assert (name, cells, verdict) == ("00_good", "6", "same outputs")


@pytest.mark.parametrize(
    ("chapter", "cell", "words"),
    [
        ("01_value", "product", ["2 * 3", "'5' == '6'"]),
        ("02_text", "greeting", ["old words", "new words"]),
        ("03_fails", "inverse", ["1 / 0", "ZeroDivisionError"]),
        ("04_calm", "calm", ["Missing output fields", "ename"]),
    ],
)
def test_a_change_is_named_and_shown(run, chapter, cell, words):
    assert row(run, chapter)[3] == "1 failed"
    after = run.stdout.split(f" {chapter}: cell {cell} ")[1].split("\n", 1)[1]
    report = re.split(r"^[─┏]{3}", after, flags=re.MULTILINE)[0]
    for word in words:
        assert word in report
    assert "\x1b" not in report
    assert "#x1B" not in report


def test_a_broken_and_a_missing_notebook_cost_one_line_each(run, course):
    assert row(run, "05_broken")[3] == row(run, "06_missing")[3] == "not run"
    broken = Path("solutions") / "05_broken" / "05_broken.ipynb"
    missing = Path("solutions") / "06_missing" / "06_missing.ipynb"
    assert f"{course / broken}: not a notebook (" in run.stdout
    assert f"{course / missing}: no such notebook; build it with: course build" in run.stdout


def test_the_exit_status_and_the_last_line_tell(run):
    assert run.returncode == 1
    assert run.stderr.splitlines() == [
        "Error: not as stored: 01_value, 02_text, 03_fails, 04_calm, 05_broken, 06_missing"
    ]


def test_an_unknown_chapter_is_answered_with_the_list(course):
    finished = course_verify(course, "99_nowhere")
    assert finished.returncode == 1
    assert "no chapter named '99_nowhere'; the chapters are 00_good, 01_value" in finished.stderr


def test_progress_advances_by_cell(course):
    advanced = []
    verdict = verify_chapter(Chapter("00_good", course), 1, lambda: advanced.append(1))
    assert verdict.good
    assert len(advanced) == verdict.cells == 6


def test_pytest_looks_through_no_folder_around_the_chapter(course, tmp_path):
    """Beside a course may lie tens of thousands of files."""
    chapter = Chapter("00_good", course)
    command = nbval_command(chapter.solution, course, tmp_path / "results.xml")
    finished = subprocess.run(
        [*command, "--collect-only"],
        cwd=tmp_path,
        env=nbval_environment(1),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert re.findall(r"<Dir (.+)>", finished.stdout) == ["00_good"]
