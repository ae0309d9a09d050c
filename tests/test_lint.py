"""ruff's rules and format over the package, the tests and the sources; ty over the package."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.answers import ROOT, chapters

BIN = Path(sys.executable).parent


def run(tool, *arguments, cwd=ROOT):
    command = [BIN / tool, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)


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
    wanted += [*ROOT.glob("src/**/*.py"), *ROOT.glob("tests/**/*.py")]
    missing = [path for path in wanted if str(path) not in read]
    assert not missing


def test_ty_has_nothing_to_say():
    done = ty(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ty_reads_the_whole_package(tmp_path):
    """A slip in a new file of any folder of the package is found, with the project's settings."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    folders = {path.parent.relative_to(ROOT) for path in ROOT.glob("src/**/*.py")}
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "slip.py").write_text('number: int = "one"\n')
    found = ty(tmp_path).stdout
    missing = [folder for folder in folders if f"{folder / 'slip.py'}:1:" not in found]
    assert not missing, found


def test_no_file_on_the_learners_side_is_long():
    files = ROOT.glob("src/course_utils/learner/**/*.py")
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert lengths
    long = {name: length for name, length in lengths.items() if length > 400}
    assert not long, "cut them at their seams, into files whose names say what they hold"
