"""JupyterLab's settings for this course, for learners (make lab) and instructors alike."""

import logging
import sys
from pathlib import Path

from tornado.websocket import WebSocketClosedError

c = get_config()  # noqa: F821 -- traitlets defines it when it loads this file

# Ctrl-C stops the server at once, without a question.
c.ServerApp.answer_yes = True

# In a container one is often root.
c.ServerApp.allow_root = True

# Say where the page is and what fails, and nothing else.
c.Application.log_level = "ERROR"

# Which tabs were open is remembered for this course alone: tabs of another project, whose files
# are not here, would otherwise come back.
c.LabApp.workspaces_dir = str(Path(sys.prefix, "var", "jupyterlab", "instructor"))

# What a notebook and its kernel say to each other is not for other users of the machine.
# Without this a kernel warns about it in the notebook's log.
c.KernelManager.transport_encryption = "auto"


def has_a_reader(record: logging.LogRecord) -> bool:
    """Whether it says more than that a page was closed while a message for it was on its way."""
    return not (record.exc_info and isinstance(record.exc_info[1], WebSocketClosedError))


# Tornado leaves this to asyncio, which prints two tracebacks where a tab is closed too early.
logging.getLogger("asyncio").addFilter(has_a_reader)
