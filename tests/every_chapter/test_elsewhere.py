"""Every cell runs where processes are started afresh, as on Windows and macOS."""

import re

import pytest

from course_utils.authoring.source import read_source
from support.answers import chapters
from support.spawning import failures

pytestmark = pytest.mark.timeout(3600)

# Some chapters' own ways of starting processes, or of ending them: `make test` runs these cells,
# the weekly run all of every chapter.
QUICK = {
    "12_data_pipelines": r"DataLoader\(Stream\(\)",
    "21_capstone": r"raise_signal",
}
POSIX = re.compile(
    r"\bos\.(fork|killpg|setsid|getuid|wait\d?)\b|\bsignal\.SIG(KILL|USR|ALRM|HUP|BUS)"
    r"|\bimport (resource|fcntl|pwd|grp)\b|get_context\(.fork"
)


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_every_cell_runs_without_fork(chapter, request):
    wanted = None
    if not request.config.getoption("--every-answer"):
        if chapter.name not in QUICK:
            pytest.skip("the weekly run runs the chapter")
        wanted = re.compile(QUICK[chapter.name])
    told, cells = failures(chapter, wanted)
    assert told == []
    assert cells > 1


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_no_cell_names_what_windows_lacks(chapter):
    code = [cell.source for cell in read_source(chapter.source).cells if cell.cell_type == "code"]
    assert [source for source in code if POSIX.search(source)] == []
