"""nbgrader's settings for this course. Every nbgrader command run in this folder reads them."""

from pathlib import Path

c = get_config()  # noqa: F821 -- traitlets defines it when it loads this file

c.CourseDirectory.course_id = "pytorch"

# Any SQLAlchemy address will do. nbgrader's own default ends a whole run when another command holds
# the file for 5 seconds; this one waits for 60.
COURSE = Path(__file__).resolve().parent
c.CourseDirectory.db_url = f"sqlite:///{COURSE}/gradebook.db?timeout=60"

# solutions/ is what nbgrader calls the source step, notebooks/ the release step.
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "notebooks"

# nbgrader copies every other file of a chapter into what learners get: keep the percent source,
# which holds the solutions, out of it.
c.CourseDirectory.ignore = [
    ".ipynb_checkpoints",
    "__pycache__",
    "*.pyc",
    "[0-9][0-9]_*.py",
]

# From nbgrader's exchange, nothing that one student handed in under another's name.
c.ExchangeFactory.collect = "course_utils.gradebook.collecting.CollectFromOwners"

# A stub that only says where to write. It is valid inside a function with a docstring and after a
# dict of blanks, and nothing has to be deleted before an answer can work.
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE"}

# nbgrader's own steps, and one more: a check that fails does not stop *Run All Cells*.
c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors.IncludeHeaderFooter",
    "nbgrader.preprocessors.LockCells",
    "nbgrader.preprocessors.ClearSolutions",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "course_utils.gradebook.preprocessors.LetRunAllGoOn",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# A cell that a student deleted comes back before grading, and students' code runs in a sandbox:
# nbgrader's own steps, but for three of ours.
c.OverwriteCells.add_missing_cells = True
c.Autograde.sanitize_preprocessors = [
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "course_utils.gradebook.preprocessors.RestoreCells",
    "course_utils.gradebook.preprocessors.CheckMarks",
]
c.Autograde.autograde_preprocessors = [
    "course_utils.gradebook.preprocessors.ExecuteSandboxed",
    "nbgrader.preprocessors.IgnorePattern",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "course_utils.gradebook.preprocessors.CheckMarks",
]

# A cell that runs for longer than this is interrupted, costs its own points, and grading goes on.
# All limits: the settings of course_utils.gradebook.preprocessors.ExecuteSandboxed.
c.ExecuteSandboxed.cell_seconds = 60

# Feedback does not show the hidden tests.
c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades",
    "course_utils.gradebook.preprocessors.HideTests",
]
c.GenerateFeedback.exporter_class = "course_utils.gradebook.feedback.FeedbackExporter"

# What students wrote, or their code printed as HTML, runs no script in formgrader.
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.preprocessors = ["course_utils.gradebook.pages.SafeOutputs"]
c.HTMLExporter.filters = {
    "clean_html": "course_utils.gradebook.pages.safe_html",
    "highlight_code": "course_utils.gradebook.pages.highlight_code",
    "markdown2html": "course_utils.gradebook.pages.safe_markdown",
}

# What a notebook and its kernel say to each other is not for other users of the machine.
c.KernelManager.transport_encryption = "auto"
