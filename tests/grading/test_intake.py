"""What was handed in is read without trust, and each refusal is one line."""

import json
import os

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, writes

from course_utils.errors import CourseError, one_line
from course_utils.grading import intake
from course_utils.grading.intake import check_chapter, check_student, take_in

IGNORE = ["__pycache__", "*.pyc"]


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "submitted" / "eve" / "01_tiny"
    folder.mkdir(parents=True)
    (folder / "01_tiny.ipynb").write_text(writes(new_notebook(cells=[new_code_cell("1")])))
    return folder


def take(folder):
    return take_in(folder, "01_tiny", IGNORE)


def put(folder, content):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    (folder / "01_tiny.ipynb").write_bytes(data)


def test_a_submission_and_its_files(folder):
    (folder / "data").mkdir()
    (folder / "data" / "table.csv").write_bytes(b"1,2")
    (folder / "timestamp.txt").write_text("2026-11-21 10:00:00.000 UTC")
    (folder / "other.ipynb").write_text("{}")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.py").write_text("")
    handed_in = take(folder)
    assert [cell.source for cell in handed_in.notebook.cells] == ["1"]
    assert handed_in.files == {"data/table.csv": b"1,2"}
    assert list(handed_in.notes) == ["timestamp.txt"]


def test_outputs_are_left_out_before_anything_is_measured(folder):
    cell = new_code_cell("1", outputs=[new_output("stream", text="x" * 2 * intake.SOURCES_BYTES)])
    put(folder, writes(new_notebook(cells=[cell])).encode())
    assert take(folder).notebook.cells[0].outputs == []


def test_an_old_notebook(folder):
    cell = {"cell_type": "code", "input": "1", "outputs": [], "language": "python"}
    sheet = {"cells": [cell], "metadata": {}}
    put(folder, {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [sheet]})
    assert take(folder).notebook.cells[0].source == "1"


def nested(depth):
    innermost: dict = {}
    for _ in range(depth):
        innermost = {"a": innermost}
    return innermost


def of_kernel(language):
    metadata = {"kernelspec": {"name": "k", "display_name": "k", "language": language}}
    return json.loads(writes(new_notebook(metadata=metadata)))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"cells": [', "not a notebook"),
        (b"\xff\xfe{", "not a notebook"),
        (b"[1, 2]", "not a notebook"),
        (b'"text"', "not a notebook"),
        (b"[" * 200_000, "not a notebook"),
        ({"nbformat": 4}, "not a notebook"),
        ({"nbformat": 99, "nbformat_minor": 0, "metadata": {}, "cells": []}, "not a notebook"),
        ({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [3]}, "not a notebook"),
        (b'{"nbformat": 4, "cells": [], "metadata": {"a": "\\ud800"}}', "not a notebook"),
        ({"nbformat": 4, "cells": [{}] * (intake.CELLS + 1)}, "more than 2000 cells"),
        ({"nbformat": None, "nbformat_minor": None, "cells": []}, "does not say of which format"),
        ({"nbformat": 4, "nbformat_minor": 5, "metadata": nested(400), "cells": []}, "nested more"),
        (of_kernel("R"), "another kernel's language: 'r'"),
    ],
)
def test_what_is_no_notebook(folder, content, words):
    put(folder, content)
    with pytest.raises(CourseError) as caught:
        take(folder)
    assert words in caught.value.message
    assert "\n" not in caught.value.message


def test_a_notebook_that_is_too_large_is_not_parsed(folder, monkeypatch):
    monkeypatch.setattr(intake, "NOTEBOOK_BYTES", 1000)
    monkeypatch.setattr(intake, "parse", None)
    put(folder, b" " * 1001)
    with pytest.raises(CourseError, match=r"01_tiny.ipynb is larger than"):
        take(folder)


def link_notebook(folder):
    (folder / "01_tiny.ipynb").rename(folder.parent / "elsewhere")
    (folder / "01_tiny.ipynb").symlink_to("../elsewhere")


def link_folder(folder):
    folder.rename(folder.parent / "elsewhere")
    folder.symlink_to("elsewhere")


def link_student(folder):
    folder.parent.rename(folder.parent.with_name("ada"))
    folder.parent.symlink_to("ada")


def link_file(folder):
    (folder / "book.db").symlink_to("/etc/passwd")


def link_inner_folder(folder):
    (folder / "etc").symlink_to("/etc")


def name_with_dots(folder):
    (folder / "..\\..\\gradebook.db").write_text("")


def name_with_line_break(folder):
    (folder / "a\nb").write_text("")


def pipe(folder):
    os.mkfifo(folder / "pipe")


def pipe_for_notebook(folder):
    (folder / "01_tiny.ipynb").unlink()
    os.mkfifo(folder / "01_tiny.ipynb")


def no_time(folder):
    (folder / "timestamp.txt").write_text("yesterday")


def many(folder):
    for number in range(intake.FILES + 1):
        (folder / str(number)).write_text("")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (link_notebook, "01_tiny.ipynb is a symbolic link"),
        (link_folder, "01_tiny is a symbolic link"),
        (link_student, "eve is a symbolic link"),
        (link_file, "book.db is a symbolic link"),
        (link_inner_folder, "etc is a symbolic link"),
        (name_with_dots, "a file's name is not allowed"),
        (name_with_line_break, "a file's name is not allowed"),
        (pipe, "pipe is not a regular file"),
        (pipe_for_notebook, "01_tiny.ipynb is not a regular file"),
        (no_time, "timestamp.txt holds no time"),
        (many, "more than 200 files"),
    ],
)
def test_what_is_no_file_of_the_student_s_own(folder, change, words):
    change(folder)
    with pytest.raises(CourseError) as caught:
        take(folder)
    assert words in caught.value.message
    assert "\n" not in caught.value.message


def test_files_that_are_too_large_together(folder, monkeypatch):
    monkeypatch.setattr(intake, "FILES_BYTES", 10)
    (folder / "a").write_bytes(b"123456")
    (folder / "b").write_bytes(b"12345")
    with pytest.raises(CourseError, match="b is larger than"):
        take(folder)


def test_a_notebook_of_another_name_is_named_as_found(folder):
    (folder / "01_tiny.ipynb").rename(folder / "01_tiny (1).ipynb")
    with pytest.raises(CourseError, match=r"is missing from .*; there is 01_tiny \(1\).ipynb"):
        take(folder)


@pytest.mark.parametrize("text", ["2026-11-21" + " " * 100 + "x", "1e999999", "0" * 5000, "\ud800"])
def test_a_time_that_is_none(folder, text):
    (folder / "timestamp.txt").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(CourseError, match=r"timestamp.txt holds no time"):
        take(folder)


def test_an_error_whose_words_cannot_be_made():
    class Endless(Exception):
        def __str__(self):
            return str(self)

    assert one_line(Endless()) == "Endless"
    assert one_line(KeyError("cells")) == "KeyError: 'cells'"


@pytest.mark.parametrize(
    "name", ["a*", "b[1]", "c?", "{d}", "e,f", "g\nh", " i", "j" * 129, os.fsdecode(b"k\xff")]
)
def test_a_student_s_folder_that_nbgrader_takes_for_a_pattern(name):
    with pytest.raises(CourseError, match=r"the folder's name is (not allowed|longer)"):
        check_student(name)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a*", "it holds *; rename it"),
        ("a ", "it begins or ends with a blank; rename it"),
        ("a\u200b", r"it holds '\u200b', which can't be seen; rename it"),
        ("a\u202eb", r"it holds '\u202e', which can't be seen"),
        ("a\nb", r"it holds '\n', which can't be seen"),
        (".a", "it begins with a dot, so it is hidden"),
        ("a[1]", "it holds [, it holds ]"),
    ],
)
def test_a_refused_name_is_told_what_is_wrong_with_it(name, words):
    with pytest.raises(CourseError) as caught:
        check_student(name)
    assert words in caught.value.message


@pytest.mark.parametrize("name", [".kernel-1", ".kernel-3/data.csv"])
def test_a_file_in_the_place_of_the_kernels_sockets(folder, name):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("")
    with pytest.raises(CourseError, match=r"a file's name is not allowed: '\.kernel-"):
        take(folder)


def with_checks(*names, title=""):
    cells = [new_markdown_cell(f"# {title}\nText")] if title else []
    for name in names:
        cells.append(new_code_cell("assert True"))
        cells[-1].metadata["nbgrader"] = {"grade_id": name, "grade": True, "locked": True}
    return new_notebook(cells=cells)


def test_another_chapters_notebook_is_told():
    checks = ["double-check", "halve-check"]
    for notebook in (with_checks("double-check", "old-check"), with_checks(), new_notebook()):
        check_chapter(notebook, "01_tiny", checks)
    with pytest.raises(
        CourseError, match=r"another chapter's notebook \('Layers'\): hand in 01_tiny"
    ):
        check_chapter(with_checks("conv-check", title="Layers"), "01_tiny", checks)
    with pytest.raises(CourseError, match=r"01_tiny.ipynb is another chapter's notebook: hand in"):
        check_chapter(with_checks("conv-check"), "01_tiny", checks)


@pytest.mark.parametrize("name", ["ada", "Ada Lovelace", "ada.b-c_d@example.org", "Ádám", "1234"])
def test_a_student_s_name(name):
    check_student(name)
