"""A copy that is older than the course is told what to do, where it imports what was moved."""

import subprocess
import sys

import pytest

import course_utils


@pytest.mark.parametrize(
    ("line", "missing", "folder", "number"),
    [
        ("from course_utils.learner.walks import check_walk", "learner.walks", "05_autograd", "05"),
        ("from course_utils import device, dry_run", "dry_run", "notes", "and its number"),
        ("from course_utils.chapters.losses import x", "chapters.losses.x", "10_losses", "10"),
    ],
)
def test_an_import_of_an_older_release_says_how_to_renew(tmp_path, line, missing, folder, number):
    (tmp_path / folder).mkdir()
    run = subprocess.run(
        [sys.executable, "-c", line], cwd=tmp_path / folder, capture_output=True, text=True
    )
    *_, said = run.stderr.splitlines()
    assert said == (
        f"ImportError: there is no course_utils.{missing} in this release: if the name is spelt "
        f"right, your notebook is of an older one. Save it; then in a terminal: "
        f"course renew {number}"
    )


def test_other_modules_and_other_questions_are_answered_as_ever():
    assert not hasattr(course_utils, "dry_run")
    with pytest.raises(AttributeError, match="has no attribute 'dry_run'"):
        course_utils.dry_run  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_module'"):
        import no_such_module  # noqa: F401
