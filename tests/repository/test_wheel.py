"""The wheel is the course: it works where there is no checkout; the sdist serves an instructor.

Both are built, and the wheel is installed where this checkout's package is not. What it depends on
is borrowed from the tests' own environment: to install PyTorch again would take minutes.
"""

import json
import os
import subprocess
import sysconfig
import tarfile
import venv
import zipfile

import nbformat
import pytest

from course_utils.project import all_chapters
from support.answers import ROOT

UV = ROOT / ".venv" / "bin" / "uv"
RIGHT = """
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("two shapes")
    return ((outputs - targets) ** 2).mean().sqrt()
"""
# The tests build with what the installation of this checkout has left in uv's cache.
NEEDS_UV = pytest.mark.skipif(
    not UV.exists() and not os.environ.get("CI"), reason="uv builds: run make install"
)
pytestmark = [NEEDS_UV, pytest.mark.timeout(300)]


def run(command, folder, **variables):
    """A command's exit status, and all that it printed."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHONPATH", "COURSE_", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**kept, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=200,
    )
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the sdist and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    status, said = run([UV, "build", "--offline", "--quiet", "--out-dir", folder], ROOT)
    assert status == 0, said
    return folder


@pytest.fixture(scope="module")
def course(built, tmp_path_factory):
    """The command of an environment in which the wheel is installed, and no checkout."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    packages = sysconfig.get_path("purelib", vars={"base": str(home)})
    (wheel,) = built.glob("*.whl")
    status, said = run(
        [UV, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, wheel], home
    )
    assert status == 0, said
    # A path in a .pth file, but no .pth file of that path: the editable checkout stays out.
    with open(os.path.join(packages, "borrowed.pth"), "w") as file:
        file.write(sysconfig.get_path("purelib"))
    status, said = run([python, "-c", "import course_utils; print(course_utils.__file__)"], home)
    assert said.startswith(packages), said
    return home / "bin" / "course"


@pytest.fixture(scope="module")
def learner(course, tmp_path_factory):
    """An empty folder in which a learner typed `course lab`, and what it said."""
    folder = tmp_path_factory.mktemp("learner")
    status, said = run([course, "lab", "--version"], folder)
    assert status == 0, said
    return folder, said


def test_the_lab_fills_a_folder_with_every_release(learner):
    folder, said = learner
    assert f"your answers are saved in {folder}/my-notebooks" in said
    copies = sorted(path.stem for path in (folder / "my-notebooks").glob("[0-9][0-9]_*/*.ipynb"))
    assert copies == [chapter.name for chapter in all_chapters(ROOT)]


def test_progress_is_told_in_the_folder_and_below_it(course, learner):
    for where in (".", "my-notebooks", "my-notebooks/02_storage_and_strides"):
        status, said = run([course, "progress", "--json"], learner[0] / where)
        assert status == 0, said
        told = json.loads(said)
        assert told["folder"] == f"{learner[0]}/my-notebooks"
        assert len(told["chapters"]) == len(all_chapters(ROOT))


def test_a_copy_is_renewed(course, learner):
    copy = learner[0] / "my-notebooks" / "00_start_here" / "00_start_here.ipynb"
    assert "your copy is of today's release" in run([course, "renew", "00"], learner[0])[1]
    whole = copy.read_text()
    copy.write_text(whole[:100])
    status, said = run([course, "renew", "00"], learner[0])
    assert status == 0, said
    assert "brought back: the release" in said
    assert nbformat.read(copy, 4).cells == nbformat.reads(whole, 4).cells


def test_ones_own_copy_is_run_again_and_what_was_run_is_compared(course, learner):
    copy = learner[0] / "my-notebooks" / "00_start_here" / "00_start_here.ipynb"
    status, said = run([course, "verify", "00"], learner[0])
    assert (status, "same outputs" in said) == (0, True), said
    whole = nbformat.read(copy, 4)
    cell = next(cell for cell in whole.cells if cell.cell_type == "code")
    cell.execution_count, cell.outputs = 1, [nbformat.v4.new_output("stream", text="not this\n")]
    changed = nbformat.v4.writes(whole)
    before = copy.read_text()
    copy.write_text(changed)
    status, said = run([course, "verify", "00"], learner[0])
    copy.write_text(before)
    assert (status, "1 failed" in said, "not this" in said) == (1, True, True), said


@pytest.mark.parametrize(
    "arguments",
    [["build"], ["test", "00"], ["grade", "00"], ["mutants", "00"], ["new", "30_mine"]],
    ids=lambda arguments: arguments[0],
)
def test_what_needs_the_sources_says_how_to_get_them(course, learner, arguments):
    status, said = run([course, *arguments], learner[0])
    assert status == 1
    assert said.startswith("Error: no course in ")
    assert said.rstrip().endswith("course init FOLDER makes one")
    assert said.count("\n") == 1


def test_an_instructors_folder_grades_a_class(course, built, learner, tmp_path):
    (archive,) = built.glob("*.tar.gz")
    folder = tmp_path / "class"
    status, said = run([course, "init", folder, "--sources", archive], tmp_path)
    assert status == 0, said
    own = learner[0] / "my-notebooks" / "00_start_here" / "00_start_here.ipynb"
    submitted = folder / "submitted" / "ada" / "00_start_here" / "00_start_here.ipynb"
    submitted.parent.mkdir(parents=True)
    notebook = nbformat.read(own, 4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "root-mean-square-error":
            cell.source = RIGHT
    nbformat.write(notebook, submitted)
    status, said = run([course, "grade", "00", "--isolation", "none"], folder)
    assert status == 0, said
    lines = (folder / "grades.csv").read_text().splitlines()
    marks = dict(zip(lines[0].split(","), lines[1].split(","), strict=True))
    assert (marks["student_id"], float(marks["score"])) == ("ada", 2.0), marks


def test_a_folder_is_made_whole_or_not_at_all(course, built, tmp_path):
    (archive,) = built.glob("*.tar.gz")
    (wheel,) = built.glob("*.whl")
    full, new = tmp_path / "full", tmp_path / "new"
    full.mkdir()
    (full / "mine").touch()
    other = tmp_path / "other.tar.gz"
    with tarfile.open(other, "w:gz") as tar:
        tar.add(ROOT / "nbgrader_config.py", "pytorch_notebook_course-9.9/nbgrader_config.py")
    for folder, sources, words in (
        (full, archive, "is not empty: name a new folder"),
        (new, wheel, "no source distribution (not a gzip file)"),
        (new, other, "not the sources of pytorch-notebook-course"),
    ):
        status, said = run([course, "init", folder, "--sources", sources], tmp_path)
        assert (status, said.count("\n")) == (1, 1), said
        assert words in said
        assert not new.exists()
    assert [path.name for path in full.iterdir()] == ["mine"]
    assert not list(tmp_path.glob(".course-init-*"))


def test_the_wheel_holds_no_solution(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert not [name for name in names if "solutions/" in name or ".ipynb_checkpoints" in name]
        releases = [name for name in names if name.endswith(".ipynb")]
        assert len(releases) == len(all_chapters(ROOT))
        for name in releases:
            assert b"BEGIN SOLUTION" not in archive.read(name)


def test_inside_a_checkout_its_own_files_are_the_course(course):
    status, said = run([course, "verify", "--mine", "00"], ROOT / "solutions")
    assert status == 1
    assert f"no copy of 00_start_here in {ROOT / 'my-notebooks'} yet" in said
