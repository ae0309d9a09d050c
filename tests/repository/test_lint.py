"""ruff's rules and format over the package, the tests and the sources; ty over the package.

And import-linter: what each room of the package may import.
"""

import ast
import os
import shutil
import subprocess
import sys
import warnings
from importlib.resources import files
from pathlib import Path

import pytest

from support.answers import ROOT, chapters
from support.package import PACKAGE

BIN = Path(sys.executable).parent


def run(tool, *arguments, cwd=ROOT, **variables):
    command = [BIN / tool, *arguments]
    env = os.environ | variables
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=300)


def ruff(*arguments):
    return run("ruff", *arguments)


def ty(folder):
    """ty's word on a project, with the libraries of this Python."""
    form = ["--output-format", "concise", "--color", "never"]
    return run("ty", "check", "--project", folder, "--python", sys.prefix, *form, cwd=folder)


@pytest.mark.parametrize("rule", ["check", "format --check"])
def test_ruff_has_nothing_to_say(rule):
    done = ruff(*rule.split())
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_reads_every_source():
    read = set(ruff("check", "--show-files").stdout.split("\n"))
    wanted = [chapter.source for chapter in chapters()]
    wanted += [*PACKAGE, *ROOT.glob("tests/**/*.py")]
    missing = [path for path in wanted if str(path) not in read]
    assert not missing


def test_ty_has_nothing_to_say():
    done = ty(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ty_reads_the_whole_package(tmp_path):
    """A slip in a new file of any folder of the package is found, with the project's settings."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    folders = {path.parent.relative_to(ROOT) for path in PACKAGE}
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "slip.py").write_text('number: int = "one"\n')
    found = ty(tmp_path).stdout
    missing = [folder for folder in folders if f"{folder / 'slip.py'}:1:" not in found]
    assert not missing, found


def lint_imports(folder, package):
    """import-linter's word on the package in a folder, with that project's contract."""
    return run("lint-imports", "--no-cache", "--no-logo", cwd=folder, PYTHONPATH=str(package))


def copy_of_the_rooms(folder):
    """A package with the course's rooms, all of them empty, and the project's contracts."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    package = folder / "course_utils"
    rooms = {path.stem for path in (ROOT / "src" / "course_utils").iterdir()}
    for room in rooms - {"__init__", "__pycache__", "py"}:
        (package / room).mkdir(parents=True)
        (package / room / "__init__.py").touch()
    (package / "__init__.py").touch()
    return package


def test_no_room_imports_what_stands_above_it_or_beside_it():
    done = lint_imports(ROOT, ROOT / "src")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("kernels", "grading"),
        ("kernels", "learner"),
        ("learner", "kernels"),
        ("learner", "grading"),
        ("grading", "gradebook"),
        ("gradebook", "command"),
        ("project", "kernels"),
        ("errors", "project"),
        ("files", "errors"),
        ("exercises", "learner"),
    ],
)
def test_an_import_against_the_order_of_the_rooms_is_found(tmp_path, importer, imported):
    package = copy_of_the_rooms(tmp_path)
    assert lint_imports(tmp_path, tmp_path).returncode == 0
    slip = f"def late():\n    from course_utils.{imported} import anything\n"
    (package / importer / "__init__.py").write_text(slip)
    done = lint_imports(tmp_path, tmp_path)
    assert done.returncode == 1
    assert (
        f"course_utils.{importer} is not allowed to import course_utils.{imported}" in done.stdout
    )


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("chapters.hooks", "chapters.layers"),
        ("chapters.hooks", "kernels"),
        ("chapters.hooks", "grading"),
        ("grading", "chapters.hooks"),
        ("command", "chapters.hooks"),
        ("learner", "chapters.hooks"),
    ],
)
def test_a_chapters_package_is_the_chapters_alone(tmp_path, importer, imported):
    package = copy_of_the_rooms(tmp_path)
    for topic in ("hooks", "layers"):
        (package / "chapters" / topic).mkdir()
        slip = "from course_utils.learner import anything\n"
        (package / "chapters" / topic / "__init__.py").write_text(slip)
    assert lint_imports(tmp_path, tmp_path).returncode == 0
    slip = f"def late():\n    from course_utils.{imported} import anything\n"
    (package.joinpath(*importer.split(".")) / "__init__.py").write_text(slip)
    done = lint_imports(tmp_path, tmp_path)
    assert done.returncode == 1
    assert f"course_utils.{importer} -> course_utils.{imported}" in done.stdout


def test_no_file_of_the_package_is_long():
    paths = ROOT.glob("src/**/*.py")
    lengths = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    assert lengths
    long = {path: length for path, length in lengths.items() if length > 400}
    assert not long, "cut them at their seams, into files whose names say what they hold"


def imported_names(path):
    """What a file imports, by full names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_the_package_itself_mocks_nothing():
    found = {name: path for path in PACKAGE for name in imported_names(path)}
    assert "json" in found
    assert not [(name, path) for name, path in found.items() if name.startswith("unittest")]


def test_the_package_says_that_it_has_types():
    assert files("course_utils").joinpath("py.typed").is_file()


def test_a_warning_is_an_error():
    with pytest.raises(UserWarning):
        warnings.warn("nobody reads this", stacklevel=1)
