"""A student's JupyterLab: a learner's, and nbgrader's list of what to fetch and to submit."""

from course_utils.gradebook.validating import be_quiet

c = get_config()  # noqa: F821 -- traitlets defines it when it loads this file

c.ServerApp.jpserver_extensions = {
    "jupyter_lsp": False,
    "jupyterlab_jupytext": False,
    "nbgrader.server_extensions.assignment_list": True,
    "nbgrader.server_extensions.course_list": False,
    "nbgrader.server_extensions.formgrader": False,
    "notebook": False,
}

# Validate names the checks that fail, and doesn't print what they explain.
be_quiet()

# A login shell would forget where the course's commands are.
c.ServerApp.terminado_settings = {"shell_command": ["bash"]}
