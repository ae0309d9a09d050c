"""The instructors' JupyterLab."""

c = get_config()  # noqa: F821 -- traitlets defines it when it loads this file

# Formgrader is a page inside a page of the same server.
c.ServerApp.tornado_settings = {"headers": {"Content-Security-Policy": "frame-ancestors 'self'"}}

# A login shell would forget where the course's commands are.
c.ServerApp.terminado_settings = {"shell_command": ["bash"]}
