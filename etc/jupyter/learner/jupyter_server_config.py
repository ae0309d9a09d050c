"""What `make lab` sets beyond ../jupyter_server_config.py."""

import sys
from pathlib import Path

c = get_config()  # noqa: F821 -- traitlets defines it when it loads this file

c.ServerApp.root_dir = "notebooks"

# Of the extensions on the server's side, nbgrader's Validate is all that a learner needs.
c.ServerApp.jpserver_extensions = {
    "jupyter_lsp": False,
    "jupyterlab_jupytext": False,
    "nbgrader.server_extensions.assignment_list": False,
    "nbgrader.server_extensions.course_list": False,
    "nbgrader.server_extensions.formgrader": False,
    "notebook": False,
}

workspaces = Path(sys.prefix, "var", "jupyterlab", "learner")
c.LabApp.workspaces_dir = str(workspaces)

# The first time the first chapter opens, later the tabs that were open; the file browser shows
# the list of chapters.
if not any(workspaces.glob("*")):
    c.LabApp.default_url = "/lab/tree/00_start_here/00_start_here.ipynb?file-browser-path=/"
