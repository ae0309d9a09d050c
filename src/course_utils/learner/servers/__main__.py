"""What runs in the server's process: ``python -m course_utils.learner.servers KIND …``."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
from typing import Any

from course_utils.learner.servers.server import LOOPBACK

WATCH_SECONDS = 0.2


def _end_with(parent: int, work: str) -> None:
    """Wait until standard input is closed or the parent is gone; clear up; end the process."""
    closed = threading.Event()

    def read() -> None:
        with contextlib.suppress(OSError, ValueError):
            while os.read(0, 4096):
                pass
        closed.set()

    threading.Thread(target=read, daemon=True).start()
    # A fork of the parent holds the pipe open too, so the parent's id is watched as well.
    while os.getppid() == parent and not closed.wait(WATCH_SECONDS):
        pass
    if work:
        os.chdir(os.path.abspath(os.sep))
        shutil.rmtree(work, ignore_errors=True)
    os._exit(0)


def _serve_visdom(folder: str, port: int, *options: str) -> None:
    # Its clients may use PyTorch, and import it if they can; a server would only wait for it.
    sys.modules["torch"] = None  # ty: ignore[invalid-assignment]  as Python's import documents it
    from tornado.ioloop import IOLoop
    from tornado.web import RequestHandler
    from visdom.server import app

    # visdom asks for debug mode, which would watch its sources.
    settings: dict[str, Any] = {"autoreload": False}
    for option in options:
        static = option.removeprefix("--static=")
        settings |= {"static_path": static, "template_path": static}
    app.tornado_settings.update(settings)
    # Behind JupyterLab the page is not at the root of its address, from where visdom names scripts.
    RequestHandler.static_url = _relative_static_url
    # visdom puts its paths together from strings, so the folder ends in a separator.
    application = app.Application(port=port, base_url="", env_path=folder + os.sep)
    application.listen(port, address=LOOPBACK, max_buffer_size=2**30)
    IOLoop.instance().start()


def _relative_static_url(page: Any, path: str, *_: Any, **__: Any) -> str:
    """tornado's ``static_url``, as seen from the page that is asked for."""
    return "../" * max(0, page.request.path.count("/") - 1) + f"static/{path}"


def _serve_tensorboard(folder: str, port: int, *options: str) -> None:
    from tensorboard import main

    where = ["--logdir", folder, "--host", LOOPBACK, "--port", str(port)]
    # The fast loader is a second process, which would have to be ended, too.
    sys.argv = ["tensorboard", *where, "--load_fast=false", "--reload_interval=1", *options]
    main.run_main()


def main(kind: str, folder: str, port: str, parent: str, work: str, *options: str) -> None:
    if int(parent):
        threading.Thread(target=_end_with, args=(int(parent), work), daemon=True).start()
    serve = {"visdom": _serve_visdom, "tensorboard": _serve_tensorboard}[kind]
    serve(folder, int(port), *options)


if __name__ == "__main__":
    main(*sys.argv[1:])
