"""Every notebook that is committed is what its source builds."""

import pytest
from click.testing import CliRunner

from course_utils.command.cli import main
from support.answers import ROOT, chapters


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_the_notebooks_are_as_built_from_the_source(chapter, monkeypatch):
    monkeypatch.chdir(ROOT)
    outcome = CliRunner().invoke(main, ["build", "--check", chapter.name])
    assert outcome.output == f"{chapter.name}: as built from its source\n"
    assert outcome.exit_code == 0


def test_every_notebook_belongs_to_a_chapter():
    known = {path for chapter in chapters() for path in (chapter.solution, chapter.release)}
    found = {
        path
        for folder in ("solutions", "notebooks")
        for path in (ROOT / folder).rglob("*.ipynb")
        if ".ipynb_checkpoints" not in path.parts
    }
    assert found == known
