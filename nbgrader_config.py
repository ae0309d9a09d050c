"""nbgrader's settings for this course. Every nbgrader command run in this folder reads them."""

c = get_config()  # noqa: F821 -- traitlets defines it when it loads this file

c.CourseDirectory.course_id = "pytorch"

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
    "course_utils.command.preprocessors.LetRunAllGoOn",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# A cell that a student deleted comes back before grading, and a check that never ran scores
# nothing: nbgrader's own steps, but for the two of ours, which close a gap each.
c.OverwriteCells.add_missing_cells = True
c.Autograde.sanitize_preprocessors = [
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "course_utils.command.preprocessors.RestoreCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "course_utils.command.preprocessors.ExecuteEveryCheck",
    "nbgrader.preprocessors.IgnorePattern",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# A cell that runs for longer than this is interrupted, costs its own points, and grading goes on.
c.Execute.timeout = 60
c.Execute.interrupt_on_timeout = True
c.Execute.shutdown_kernel = "immediate"
# A busy machine is no reason to refuse a submission: nbclient's 4 seconds for an output's last
# message, and 60 for a kernel's start, are short on one.
c.Execute.iopub_timeout = 60
c.Execute.startup_timeout = 180

# What a notebook and its kernel say to each other is not for other users of the machine.
c.KernelManager.transport_encryption = "auto"
