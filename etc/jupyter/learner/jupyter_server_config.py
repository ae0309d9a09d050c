"""What `course lab` sets beyond ../jupyter_server_config.py."""

from course_utils.gradebook.validating import be_quiet

c = get_config()  # noqa: F821 -- traitlets defines it when it loads this file

# Of the extensions on the server's side, nbgrader's Validate is all that a learner needs.
c.ServerApp.jpserver_extensions = {
    "jupyter_lsp": False,
    "jupyterlab_jupytext": False,
    "nbgrader.server_extensions.assignment_list": False,
    "nbgrader.server_extensions.course_list": False,
    "nbgrader.server_extensions.formgrader": False,
    "notebook": False,
}

# Validate names the checks that fail, and doesn't print what they explain.
be_quiet()
