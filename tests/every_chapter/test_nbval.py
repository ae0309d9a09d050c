"""nbval over the solutions, as ``course verify`` runs it: every output is as it is stored."""

import pytest

from course_utils.command.verify import verify_chapter
from course_utils.kernels.template import warm_environment
from support.answers import chapters


# Between two chapters a process runs other files' tests, and a template takes seconds to start.
@pytest.fixture(scope="session")
def kernels():
    with warm_environment() as variables:
        yield variables


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_every_output_is_as_stored(chapter, kernels):
    verdict = verify_chapter(chapter, workers=2, advance=lambda: None, kernels=kernels)
    assert verdict.problem == ""
    assert verdict.failures == []
    assert verdict.cells > 0
