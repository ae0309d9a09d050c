"""The build: deterministic, checked cell by cell, and clear about what it cannot build."""

import json
import os
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner

from course_utils.authoring import build as building
from course_utils.command.cli import main
from course_utils.errors import CourseError
from course_utils.project import Chapter
from support.answers import ROOT
from support.tiny import SOURCE, make_tiny_course

WORKER = "def work():\n    return 42\n"


@pytest.fixture(scope="session")
def built_course(tmp_path_factory) -> Path:
    """The tiny course with a worker module beside its notebook, built once."""
    root = tmp_path_factory.mktemp("built")
    chapter = make_tiny_course(root)
    (chapter.source.parent / "worker.py").write_text(WORKER, encoding="utf-8")
    building.build_into_place(chapter)
    return root


@pytest.fixture
def chapter(built_course, tmp_path) -> Chapter:
    """A copy of the built course, to be spoilt."""
    root = tmp_path / "course"
    shutil.copytree(built_course, root)
    return Chapter("01_tiny", root)


@pytest.fixture
def quick_build(built_course, monkeypatch):
    """Let ``check`` take what was built once instead of building again."""
    pristine = Chapter("01_tiny", built_course)

    def build(chapter: Chapter, workspace: Path, *, run: bool = True):
        files = [pristine.solution, *sorted(pristine.release.parent.iterdir())]
        return [(path, chapter.root / path.relative_to(built_course)) for path in files]

    monkeypatch.setattr(building, "build", build)


def files_of(root: Path) -> dict[str, bytes]:
    """Every file of a course, by its path."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def course(chapter: Chapter, monkeypatch, *arguments: str):
    """What the ``course`` command answers in the chapter's course."""
    monkeypatch.chdir(chapter.root)
    return CliRunner().invoke(main, arguments)


def edit(path: Path, change) -> None:
    """Change a notebook in place."""
    notebook = nbformat.read(path, as_version=4)
    change(notebook)
    nbformat.write(notebook, path)


# What is built


def test_a_release_with_answers_is_not_written_over(chapter, monkeypatch):
    def answer(notebook):
        cell = next(cell for cell in notebook.cells if cell.id == "halve")
        cell.source = "def halve(x):\n    return x / 2"

    edit(chapter.release, answer)
    before = files_of(chapter.root)
    outcome = course(chapter, monkeypatch, "build", "01")
    assert outcome.exit_code == 1
    assert "notebooks/01_tiny/01_tiny.ipynb holds answers (halve)" in outcome.output
    assert files_of(chapter.root) == before
    chapter.release.rename(chapter.root / "mine.ipynb")
    assert course(chapter, monkeypatch, "build", "01").exit_code == 0
    assert chapter.release.exists()


def test_a_varying_output_is_kept_as_long_as_its_source_stays(chapter):
    varying = '\n\n# %% tags=["nbval-ignore-output"]\nimport os\nos.urandom(8).hex()\n'
    chapter.source.write_text(SOURCE + varying, encoding="utf-8")

    def build_and_read():
        building.build_into_place(chapter)
        cell = nbformat.read(chapter.solution, as_version=4).cells[-1]
        (output,) = cell.outputs
        assert output.execution_count == cell.execution_count
        return output.data["text/plain"], chapter.solution.read_bytes()

    first, same = build_and_read(), build_and_read()
    assert same == first
    # A cell before it moves it, and does not touch its source.
    moved = SOURCE.replace("import math", "import math\n\n# %%\nmath.pi")
    chapter.source.write_text(moved + varying, encoding="utf-8")
    assert build_and_read()[0] == first[0]
    chapter.source.write_text(moved + varying.replace("(8)", "(9)"), encoding="utf-8")
    assert build_and_read()[0] != first[0]


def test_a_varying_picture_is_kept_until_it_is_drawn_in_another_way(chapter):
    varying = """

# %% tags=["nbval-ignore-output"]
import os
from IPython.display import display
dots = f'width="4" height="3" src="data:image/png;base64,{os.urandom(8).hex()}"'
display({"text/html": f'<img alt="a line" {dots}>'}, raw=True)
"""
    chapter.source.write_text(SOURCE + varying, encoding="utf-8")

    def build_and_read():
        building.build_into_place(chapter)
        (output,) = nbformat.read(chapter.solution, as_version=4).cells[-1].outputs
        return output.data["text/html"]

    first = build_and_read()
    assert build_and_read() == first
    # As if it had been built when pictures had another form.
    notebook = nbformat.read(chapter.solution, as_version=4)
    output = notebook.cells[-1].outputs[0]
    output.data["text/html"] = output.data["text/html"].replace("<img ", '<img class="card" ')
    nbformat.write(notebook, chapter.solution)
    assert build_and_read() != first


def test_a_broken_notebook_is_built_anew(chapter):
    before = chapter.solution.read_bytes()
    chapter.solution.write_text("{", encoding="utf-8")
    building.build_into_place(chapter)
    assert chapter.solution.read_bytes() == before


def test_two_builds_give_the_same_bytes(chapter, monkeypatch):
    before = files_of(chapter.root)
    chapter.solution.unlink()
    shutil.rmtree(chapter.release.parent)
    outcome = course(chapter, monkeypatch, "build")
    assert (outcome.exit_code, outcome.output) == (0, "01_tiny: built\n")
    assert files_of(chapter.root) == before


def test_a_build_is_as_built_from_its_source(chapter, monkeypatch):
    before = files_of(chapter.root)
    outcome = course(chapter, monkeypatch, "build", "--check", "01_tiny")
    assert (outcome.exit_code, outcome.output) == (0, "01_tiny: as built from its source\n")
    assert files_of(chapter.root) == before


def test_ids_are_grade_ids_and_positions(chapter):
    cells = building.read_notebook(chapter.solution).cells
    assert [cell.id for cell in cells] == [
        "cell-000", "setup", "cell-002", "double", "double-check",
        "cell-005", "halve", "halve-check", "progress", "cell-008",
    ]  # fmt: skip
    released = building.read_notebook(chapter.release).cells
    assert [cell.id for cell in released] == [cell.id for cell in cells]


def test_the_solution_is_executed_and_keeps_no_trace_of_when(chapter):
    notebook = building.read_notebook(chapter.solution)
    assert notebook.cells[-1].outputs[0].text == "2\n"
    assert [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"] == [
        1, 2, 3, 4, 5, 6, 7
    ]  # fmt: skip
    assert all("execution" not in cell.metadata for cell in notebook.cells)
    assert notebook.metadata.course == {"title": "A tiny chapter", "minutes": 2}
    assert notebook.metadata.language_info == {"name": "python"}


def test_the_release_holds_no_solution_no_hidden_test_no_output_and_no_source(chapter):
    names = sorted(path.name for path in chapter.release.parent.iterdir())
    assert names == ["01_tiny.ipynb", "worker.py"]
    assert (chapter.release.parent / "worker.py").read_text(encoding="utf-8") == WORKER
    text = chapter.release.read_text(encoding="utf-8")
    for secret in ("SOLUTION", "return 2 * x", "HIDDEN", "double(-3)", "x / 2"):
        assert secret not in text, secret
        assert secret in SOURCE, secret
    notebook = building.read_notebook(chapter.release)
    double = next(cell for cell in notebook.cells if cell.id == "double")
    assert double.source == 'def double(x):\n    """Twice x."""\n    # YOUR CODE HERE'
    assert not any(cell.get("outputs") for cell in notebook.cells)


def test_checks_and_locked_cells_cannot_be_edited_by_accident(chapter):
    cells = {cell.id: cell for cell in building.read_notebook(chapter.release).cells}
    for name in ("setup", "double-check", "halve-check"):
        assert cells[name].metadata.editable is False, name
        assert cells[name].metadata.deletable is False, name
        assert cells[name].metadata.nbgrader.locked is True, name
    for name in ("double", "cell-008"):
        assert "editable" not in cells[name].metadata, name


# --check


def set_source(notebook):
    notebook.cells[3].source += "\n"


def set_output(notebook):
    notebook.cells[-1].outputs[0].text = "3\n"


def set_metadata(notebook):
    notebook.cells[4].metadata.nbgrader.points = 5


def drop_cell(notebook):
    del notebook.cells[-1]


def swap_cells(notebook):
    notebook.cells[5], notebook.cells[6] = notebook.cells[6], notebook.cells[5]


def add_cell(notebook):
    notebook.cells.append(nbformat.v4.new_code_cell("1", id="extra"))


def set_title(notebook):
    notebook.metadata.course.title = "Another"


def set_kind(notebook):
    notebook.cells[0] = nbformat.v4.new_raw_cell(notebook.cells[0].source, id="cell-000")


SOLUTION, RELEASE = "solutions/01_tiny/01_tiny.ipynb", "notebooks/01_tiny/01_tiny.ipynb"
EDITS = {
    "source": (SOLUTION, set_source, "cell double: its source differs"),
    "output": (SOLUTION, set_output, "cell cell-008: its output differs"),
    "metadata": (SOLUTION, set_metadata, "cell double-check: its metadata differs"),
    "kind": (SOLUTION, set_kind, "cell cell-000: its cell type differs"),
    "dropped cell": (SOLUTION, drop_cell, "cell cell-008: it is in the built file alone"),
    "added cell": (SOLUTION, add_cell, "cell extra: it is in the committed file alone"),
    "swapped": (SOLUTION, swap_cells, "cell cell-005: another cell (halve) stands in its place"),
    "title": (SOLUTION, set_title, "the notebook's metadata differs"),
    "release": (RELEASE, set_source, "cell double: its source differs"),
    "points of the release": (RELEASE, set_metadata, "cell double-check: its metadata differs"),
}


@pytest.mark.usefixtures("quick_build")
def test_nothing_differs_where_nothing_was_edited(chapter):
    assert building.check(chapter) is None


@pytest.mark.usefixtures("quick_build")
@pytest.mark.parametrize(("path", "change", "words"), EDITS.values(), ids=EDITS)
def test_an_edit_is_named_by_file_and_cell(chapter, path, change, words):
    edit(chapter.root / path, change)
    care = "if these are your answers, keep a copy; then " if "notebooks" in path else ""
    assert building.check(chapter) == f"{path}: {words}; {care}run: course build 01_tiny"


def test_an_edited_source_is_noticed_by_a_whole_check(chapter, monkeypatch):
    edited = SOURCE.replace("2 * x", "x + x").replace("floor(2.5)", "floor(7.5)")
    chapter.source.write_text(edited, encoding="utf-8")
    before = files_of(chapter.root)
    outcome = course(chapter, monkeypatch, "build", "--check")
    assert outcome.exit_code == 1
    assert outcome.output.splitlines() == [
        f"{SOLUTION}: cell double: its source differs; run: course build 01_tiny",
        "Error: out of step with the source: 01_tiny",
    ]
    assert files_of(chapter.root) == before


@pytest.mark.usefixtures("quick_build")
@pytest.mark.parametrize("path", [SOLUTION, RELEASE, "notebooks/01_tiny/worker.py"])
def test_a_missing_file_is_named(chapter, path):
    (chapter.root / path).unlink()
    assert building.check(chapter) == f"{path} is missing; run: course build 01_tiny"


@pytest.mark.usefixtures("quick_build")
def test_an_edited_worker_module_is_named(chapter):
    (chapter.release.parent / "worker.py").write_text("broken", encoding="utf-8")
    assert building.check(chapter).startswith("notebooks/01_tiny/worker.py: differs")


@pytest.mark.usefixtures("quick_build")
def test_a_file_that_nothing_builds_is_named(chapter):
    (chapter.release.parent / ".ipynb_checkpoints").mkdir()
    (chapter.release.parent / ".ipynb_checkpoints" / "left.ipynb").write_text("{}")
    assert building.check(chapter) is None
    (chapter.release.parent / "solution.py").write_text("x = 1\n")
    words = "notebooks/01_tiny/solution.py is not built from anything: remove it"
    assert building.check(chapter) == words


@pytest.mark.usefixtures("quick_build")
@pytest.mark.parametrize("text", ["{", "[]", '{"cells": 3}', ""])
def test_what_is_no_notebook_is_named_with_the_reason(chapter, text):
    chapter.solution.write_text(text, encoding="utf-8")
    with pytest.raises(CourseError, match=r"01_tiny\.ipynb: not a notebook \(.+\)$") as caught:
        building.check(chapter)
    assert "\n" not in str(caught.value)


def one_cell(output: dict, *tags: str) -> nbformat.NotebookNode:
    """A notebook of one code cell with one output."""
    cell = nbformat.v4.new_code_cell("x", id="x", outputs=[nbformat.from_dict(output)])
    cell.metadata["tags"] = list(tags)
    return nbformat.v4.new_notebook(cells=[cell])


def picture(data: str, alt: str = "a line", width: int = 900) -> dict:
    return {
        "output_type": "display_data",
        "data": {"image/png": data, "text/plain": "<Figure>"},
        "metadata": {"image/png": {"alt": alt, "width": width}},
    }


def stream(text: str) -> dict:
    return {"output_type": "stream", "name": "stdout", "text": text}


def failure(words: str) -> dict:
    return {"output_type": "error", "ename": "KeyError", "evalue": words, "traceback": []}


SANITIZERS = [(re.compile(r"0x[0-9a-f]{6,}"), "ADDRESS")]
IGNORE = "nbval-ignore-output"


@pytest.mark.parametrize(
    ("old", "new", "tags", "same"),
    [
        (picture("AAAA"), picture("BBBB"), (), True),
        (picture("AAAA"), picture("BBBB", width=901), (), True),
        (picture("AAAA"), stream("AAAA"), (), False),
        (stream("at 0xdeadbeef"), stream("at 0x12345678"), (), True),
        (stream("1"), stream("2"), (), False),
        (stream("1"), stream("2"), (IGNORE,), True),
        (failure("a"), failure("b"), (), False),
        (failure("0xaaaaaaa"), failure("0xbbbbbbb"), (), True),
        (picture("AAAA"), picture("AAAA", alt="a curve"), (), False),
    ],
)
def test_what_may_vary_is_no_difference(old, new, tags, same):
    difference = building.first_difference(one_cell(old, *tags), one_cell(new, *tags), SANITIZERS)
    assert difference == (None if same else "cell x: its output differs")


def test_the_projects_own_rules_leave_out_addresses_times_and_the_device():
    rules = building.read_sanitizers(ROOT)
    old = "device: cpu\n<f at 0x7f00aa11> took 1.25 ms on 2026-11-20 at 10:11:12"
    new = "device: cuda:0\n<f at 0x7f99bb22> took 3 s on 2027-01-01 at 01:02:03"
    assert building.first_difference(one_cell(stream(old)), one_cell(stream(new)), rules) is None
    kept = one_cell(stream("size (2, 3)")), one_cell(stream("size (3, 2)"))
    assert building.first_difference(*kept, rules) == "cell x: its output differs"


# What cannot be built


def source_with(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "source.py"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("print(1)\n", "not a percent source: no line starts with '# %%'"),
        (SOURCE.replace('"halve"', '"double"'), "two cells have the grade id 'double'"),
        (SOURCE.replace('"grade_id": "halve", ', ""), "cell 6 has nbgrader metadata without a g"),
        (SOURCE.replace('"halve"', '"halve it"'), "the grade id 'halve it' may hold letters, "),
        (SOURCE.replace('"halve"', "5"), "the grade id 5 may hold letters, "),
        (SOURCE.replace("A tiny chapter", "A: tiny", 1), "not a percent source (mapping values"),
        (
            SOURCE.replace("  course:", "  course: 3", 1).replace(
                "#     title: A tiny chapter\n#     minutes: 2\n", ""
            ),
            "the header's course needs",
        ),
        (SOURCE + '\n# %% tags="x"\n1\n', "not a percent source ('x' is not of"),
        (SOURCE.replace('"halve", ', '"halve" '), "cell 6 has metadata that is not JSON: nbgrader"),
    ],
)
def test_a_source_that_cannot_be_read_is_named_with_the_reason(tmp_path, text, words):
    path = source_with(tmp_path, text)
    with pytest.raises(CourseError) as caught:
        building.read_source(path)
    assert str(caught.value).startswith(f"{path}: {words}")
    assert "\n" not in str(caught.value)


def test_a_source_of_other_bytes_is_named(tmp_path):
    path = tmp_path / "source.py"
    path.write_bytes(b"# %%\n\xff\xfe\n")
    with pytest.raises(CourseError, match="cannot be read"):
        building.read_source(path)


def test_an_unknown_chapter_gets_the_list_of_chapters(chapter, monkeypatch):
    outcome = course(chapter, monkeypatch, "build", "01_tiny", "02_tony")
    assert outcome.exit_code == 1
    assert outcome.output == "Error: no chapter named '02_tony'; the chapters are 01_tiny\n"


FAILING = {
    "a failing cell": (
        "return x / 2",
        "return x // 2",
        "cell halve-check failed (# 2 Halve a number)",
    ),
    "a failing plain cell": ("math.floor(2.5)", "math.flor(2.5)", "cell cell-008 failed (print("),
    "a kernel that dies": ("math.floor(2.5)", "__import__('os')._exit(3)", "cell cell-008 failed"),
    "an open solution": (
        "return x / 2\n    ### END SOLUTION",
        "return x / 2",
        "(RuntimeError: no end solution statement found)",
    ),
    "an unmarked solution": (
        '# %% nbgrader={"grade_id": "halve", "solution": true}',
        "# %%",
        "nbgrader could not make the release",
    ),
}


@pytest.mark.parametrize(("old", "new", "words"), FAILING.values(), ids=FAILING)
def test_a_build_that_fails_says_where_and_changes_nothing(chapter, monkeypatch, old, new, words):
    assert SOURCE.count(old) == 1
    chapter.source.write_text(SOURCE.replace(old, new), encoding="utf-8")
    before = files_of(chapter.root)
    outcome = course(chapter, monkeypatch, "build")
    assert outcome.exit_code == 1
    assert outcome.output.startswith("Error: 01_tiny: ")
    assert words in outcome.output
    assert files_of(chapter.root) == before


def test_a_cell_that_fails_shows_its_traceback_in_lines_that_can_be_read(chapter, monkeypatch):
    chapter.source.write_text(SOURCE.replace("return x / 2", "return x // 2"), encoding="utf-8")
    lines = course(chapter, monkeypatch, "build").output.splitlines()
    assert lines[0].startswith("Error: 01_tiny: cell halve-check failed (")
    assert lines[-1] == "  AssertionError: halve(3) is 1.5: keep the fraction"
    assert all(line.startswith("  ") or not line for line in lines[1:])
    assert "x1b" not in "".join(lines)


@pytest.mark.usefixtures("quick_build")
def test_a_full_disk_leaves_the_old_files(chapter, monkeypatch):
    chapter.solution.write_text("old", encoding="utf-8")
    before = files_of(chapter.root)
    copy, calls = shutil.copy, []

    def failing_copy(source, target):
        calls.append(target)
        if len(calls) > 1:
            Path(target).write_bytes(b"half")
            raise OSError(28, "No space left on device")
        return copy(source, target)

    monkeypatch.setattr(shutil, "copy", failing_copy)
    with pytest.raises(CourseError, match=r"cannot be written \(No space left on device\)"):
        building.build_into_place(chapter)
    assert len(calls) == 2
    assert files_of(chapter.root) == before


@pytest.mark.parametrize("place", ["solution", "release"])
def test_a_folder_that_cannot_be_written_is_said_before_the_work(chapter, monkeypatch, place):
    folder = getattr(chapter, place).parent
    folder.mkdir(parents=True, exist_ok=True)
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != folder and access(path, mode))
    monkeypatch.setattr(building, "build", None)
    with pytest.raises(CourseError) as caught:
        building.build_into_place(chapter)
    assert caught.value.message == f"{folder} cannot be written: give yourself the right"


def test_a_cell_that_is_meant_to_fail_does_not_stop_the_build(chapter):
    text = SOURCE.replace("# %%\nprint", '# %% tags=["raises-exception"]\n1 / 0\n\n# %%\nprint')
    notebook = building.execute(building.read_source(source_with(chapter.root, text)), chapter)
    assert notebook.cells[-2].outputs[0].ename == "ZeroDivisionError"
    assert notebook.cells[-1].outputs[0].text == "2\n"


def test_what_is_written_is_a_valid_notebook_that_ends_in_a_newline(chapter):
    for path in (chapter.solution, chapter.release):
        text = path.read_text(encoding="utf-8")
        assert text.endswith("}\n")
        assert not text.endswith("\n\n")
        nbformat.validate(json.loads(text))


def test_a_check_without_running_sees_sources_and_releases_not_outputs(tiny_chapter):
    building.build_into_place(tiny_chapter)
    assert building.check(tiny_chapter, run=False) is None
    built = tiny_chapter.solution.read_text(encoding="utf-8")
    tiny_chapter.solution.write_text(built.replace('"2\\n"', '"3\\n"'), encoding="utf-8")
    assert building.check(tiny_chapter, run=False) is None
    assert "its output differs" in building.check(tiny_chapter)
    tiny_chapter.solution.write_text(built, encoding="utf-8")
    text = tiny_chapter.source.read_text(encoding="utf-8")
    tiny_chapter.source.write_text(text.replace("keep the fraction", "exactly"), encoding="utf-8")
    assert "cell halve-check: its source differs" in building.check(tiny_chapter, run=False)


def test_a_check_without_running_sees_a_changed_release(tiny_chapter):
    building.build_into_place(tiny_chapter)
    released = tiny_chapter.release.read_text(encoding="utf-8")
    tiny_chapter.release.write_text(released.replace("Twice x", "Thrice x"), encoding="utf-8")
    assert "cell double: its source differs" in building.check(tiny_chapter, run=False)
