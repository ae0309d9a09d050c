"""Every notebook that is committed is what its source builds."""

import pytest

from course_utils.authoring import build as building
from support.answers import ROOT, chapters


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_the_notebooks_are_as_built_from_the_source(chapter):
    # What the cells show is nbval's to compare (test_nbval): one execution is enough.
    assert building.check(chapter, run=False) is None


def test_every_notebook_belongs_to_a_chapter():
    known = {path for chapter in chapters() for path in (chapter.solution, chapter.release)}
    found = {
        path
        for folder in ("solutions", "notebooks")
        for path in (ROOT / folder).rglob("*.ipynb")
        if ".ipynb_checkpoints" not in path.parts
    }
    assert found == known
