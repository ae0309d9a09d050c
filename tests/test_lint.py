"""ruff's rules and ruff's format, over the package, the tests and the percent sources."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.answers import ROOT, chapters

RUFF = Path(sys.executable).with_name("ruff")


def ruff(*arguments):
    return subprocess.run([RUFF, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120)


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
