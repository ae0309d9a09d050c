"""visdom and TensorBoard for a notebook: on a free loopback port, and gone with the kernel.

::

    with tensorboard_server(folder) as server:
        print(server.url)

Or ``server = tensorboard_server(folder).start()`` in one cell and ``server.stop()`` in a later one.

The server is a process of its own. It watches the pipe that is its standard input, and the process
that started it: when that one ends, by a signal that no program can catch too, the server clears up
and ends. Nothing here needs a network, apart from the script files of visdom's page, which
visdom's wheel lacks; see ``visdom_page``.
"""

from __future__ import annotations

import os

from course_utils.learner.servers.page import visdom_page
from course_utils.learner.servers.server import (
    READY_SECONDS,
    Server,
    ServerError,
    end,
    free_port,
    last_line,
    server_command,
    show_page,
    wait_until_ready,
)


def tensorboard_server(
    folder: str | os.PathLike | None = None, *options: str, seconds: float = READY_SECONDS
) -> Server:
    """TensorBoard on a free loopback port; use it in ``with``, or call ``start()`` and ``stop()``.

    Args:
        folder: the log folder that it shows; by default an empty one of its own,
            ``server.folder``, which is removed when it ends.
        options: of TensorBoard's command, such as ``"--samples_per_plugin=images=100"``.
        seconds: how long starting may take.
    """
    return Server("tensorboard", folder, options, seconds)


def visdom_server(
    folder: str | os.PathLike | None = None, *, page: bool = True, seconds: float = READY_SECONDS
) -> Server:
    """visdom on a free loopback port; use it in ``with``, or call ``start()`` and ``stop()``.

    ``server.client()`` gives a ``visdom.Visdom`` that talks to it.

    Args:
        folder: where environments are saved, and read from at the start; by default an empty one
            of its own, which is removed when the server ends.
        page: whether a browser will look: then the page's missing script files are fetched, once,
            where there is a network. If they can't be had, ``server.page`` says why; windows and
            their data work without.
        seconds: how long starting may take.
    """
    static, words = visdom_page(fetch=page)
    server = Server("visdom", folder, (f"--static={static}",), seconds)
    server.page = words if page else ""
    return server
