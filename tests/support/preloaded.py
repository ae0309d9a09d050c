"""What a run of ``course grade`` imports sooner or later, for tests that fork runs."""
# ruff: noqa: F401

import distributed.nanny
import distributed.scheduler
import distributed.worker
import nbgrader.apps
import nbgrader.plugins

import course_utils.gradebook.pages
import course_utils.gradebook.record
import course_utils.grading.pool
import course_utils.grading.report.contents
import course_utils.grading.report.similar
from course_utils.grading.cache import installation

# Once for all that is forked: somebody may edit the course while its tests run.
installation()
