"""Outcomes by content: what makes another outcome, what does not, and what survives a kill."""

import dataclasses
import json
import logging
import math
import os

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, writes

from course_utils.files import write_whole
from course_utils.grading.cache import Entry, Journal, Outcomes, installation, key_of
from course_utils.grading.submission import Outcome, Settings, Submission

OUTCOME = Outcome("{}", [{"id": "a", "grade_id": "", "seconds": 1.0}], {}, {"a": "b"}, "", ["f"], 7)


def notebook(source="1 + 1", marks=None, tags=(), cell_id="first"):
    metadata = {"nbgrader": marks or {}, "tags": list(tags)}
    cells = [new_markdown_cell("text", id="text"), new_code_cell(source, metadata=metadata)]
    cells[1].id = cell_id
    return writes(new_notebook(cells=cells))


BASE = Submission("ada", "01_tiny", notebook(), notebook("2"), {"data.csv": b"1,2"})


def key(submission=BASE, settings=None, **changes):
    return key_of(dataclasses.replace(submission, **changes), settings or Settings())


@pytest.mark.parametrize(
    "changes",
    [
        {"notebook": notebook("1 + 2")},
        {"notebook": notebook(marks={"points": 3})},
        {"notebook": notebook(tags=["skip-execution"])},
        {"source": notebook("3")},
        {"files": {"data.csv": b"1,3"}},
        {"files": {"other.csv": b"1,2"}},
        {"files": {}},
        {"chapter": "02_other"},
    ],
)
def test_another_submission_has_another_key(changes):
    assert key(**changes) != key()


def test_who_and_which_cell_ids_do_not_count():
    assert key(student="bob") == key()
    assert key(notebook=notebook(cell_id="another")) == key()


def test_every_setting_but_the_threads_and_the_patience_counts():
    for field in dataclasses.fields(Settings):
        value = getattr(Settings(), field.name)
        other = "none" if isinstance(value, str) else 1 if value == math.inf else value + 1
        changed = key(settings=dataclasses.replace(Settings(), **{field.name: other}))
        assert (changed == key()) == (field.name in ("threads", "patience_seconds")), field.name


def test_the_course_s_own_code_counts(monkeypatch, tmp_path):
    import course_utils

    (tmp_path / "module.py").write_text("1")
    monkeypatch.setattr(course_utils, "__file__", str(tmp_path / "__init__.py"))
    seen = set()
    for text in ("1", "2"):
        (tmp_path / "module.py").write_text(text)
        installation.cache_clear()
        seen.add(installation())
    installation.cache_clear()
    assert len(seen) == 2


def test_an_outcome_comes_back_as_it_was(tmp_path, caplog):
    outcomes = Outcomes(tmp_path)
    with caplog.at_level(logging.INFO):
        assert outcomes.get("k") is None
    assert caplog.text == "", "none is none yet"
    outcomes.put("k", OUTCOME)
    assert Outcomes(tmp_path).get("k") == OUTCOME


@pytest.mark.parametrize("text", ["", "{", "[]", '{"outcome": 3}', '{"outcome": {"x": 1}}', "\xff"])
def test_a_broken_file_is_no_outcome(tmp_path, text, caplog):
    outcomes = Outcomes(tmp_path)
    outcomes.put("k", OUTCOME)
    (path,) = outcomes.folder.iterdir()
    path.write_text(text, encoding="latin-1")
    with caplog.at_level(logging.INFO):
        assert outcomes.get("k") is None
    assert f"{path} is broken" in caplog.text
    outcomes.put("k", OUTCOME)
    assert outcomes.get("k") == OUTCOME


def test_a_run_that_executes_again_takes_its_own_outcomes_alone(tmp_path):
    Outcomes(tmp_path).put("k", OUTCOME)
    again = Outcomes(tmp_path, only_of="run-2")
    assert again.get("k") is None
    again.put("k", OUTCOME)
    assert again.get("k") == Outcomes(tmp_path).get("k") == OUTCOME


def test_the_journal(tmp_path):
    journal = Journal(tmp_path, "01_tiny")
    assert journal.read("ada") == Entry()
    entry = Entry("1", repairs=["a check came back"], phases={"cells": 0.5}, cells=[{"id": "a"}])
    journal.write("ada", entry)
    assert Journal(tmp_path, "01_tiny").read("ada") == entry
    assert Journal(tmp_path, "02_other").read("ada") == Entry()
    (path,) = journal.folder.iterdir()
    assert json.loads(path.read_text())["run"] == "1"


@pytest.mark.parametrize("text", ['{"run": "1", "of_another_version": 1}', '{"run": "1"', "[]", ""])
def test_an_entry_that_cannot_be_read(tmp_path, text, caplog):
    journal = Journal(tmp_path, "01_tiny")
    write_whole(journal.path("ada"), text)
    with caplog.at_level(logging.INFO):
        assert journal.read("ada") == Entry()
    assert f"{journal.path('ada')} is " in caplog.text


@pytest.mark.parametrize("student", ["x" * 252, os.fsdecode(b"caf\xe9"), "a/b", "a\nb", "=1"])
def test_the_journal_takes_any_name(tmp_path, student):
    journal = Journal(tmp_path, "01_tiny")
    journal.write(student, Entry("1"))
    assert journal.read(student) == Entry("1")
    assert journal.read("ada") == Entry()
