"""What a worker does with a submission."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from course_utils.errors import CourseError, one_line
from course_utils.grading.cache import installation
from course_utils.grading.submission import Outcome, Settings, Submission
from course_utils.kernels.holder import SandboxError
from course_utils.kernels.template import TemplateError

LOG = logging.getLogger(__name__)
# Between two tries to start a kernel: it may have been this machine's moment.
PAUSE_SECONDS = 2
Execute = Callable[[Submission, Settings], Outcome]


class NoKernel(RuntimeError):
    """A worker could start no kernel for a submission, twice; nothing that the student did."""


def about(submission: Submission) -> dict[str, str]:
    """What a record of the log says beside its words."""
    return {"student": submission.student}


def run_one(submission: Submission, settings: Settings, expected: str, execute: Execute) -> Outcome:
    """What a worker does.

    Args:
        submission: what is executed.
        settings: how.
        expected: the command's installation, for a worker that may have another.
        execute: what executes it.

    Raises:
        CourseError: the worker's installation is not the command's.
        NoKernel: no kernel could be started for it, twice.
    """
    if expected and installation() != expected:
        raise CourseError(
            "a worker has another Python, other packages or another version of the course than "
            "this command: install the same on both"
        )
    try:
        try:
            return execute(submission, settings)
        except CourseError:
            raise
        except Exception:
            # Once again: it may have been this machine's moment.
            words = "%s: execution failed, and is tried once again"
            LOG.warning(words, submission.student, exc_info=True, extra=about(submission))
            time.sleep(PAUSE_SECONDS)
            return execute(submission, settings)
    except (SandboxError, TemplateError) as error:
        raise NoKernel(f"no kernel can be started: {one_line(error)}") from error
