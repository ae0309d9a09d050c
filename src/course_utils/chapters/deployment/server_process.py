"""What runs in the server's process: ``python -m …server_process PARCEL PORT PARENT``."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from pathlib import Path

MOST_SECONDS = 3600.0  # a server that was forgotten ends by itself


def end_with(parent: int) -> None:
    """End this process when standard input closes, the parent is gone, or an hour has passed."""
    closed = threading.Event()

    def read() -> None:
        while os.read(0, 4096):
            pass
        closed.set()

    threading.Thread(target=read, daemon=True).start()
    limit = time.monotonic() + MOST_SECONDS
    while os.getppid() == parent and time.monotonic() < limit and not closed.wait(0.2):
        pass
    os._exit(0)


def main(parcel: str, port: str, parent: str) -> None:
    threading.Thread(target=end_with, args=(int(parent),), daemon=True).start()
    import uvicorn

    make, arguments, page, named = pickle.loads(Path(parcel).read_bytes())
    for name, value in named.items():
        make.__globals__.setdefault(name, value)
    application = make(*arguments)
    if application is None:
        sys.exit("None came back, not an application: is there an answer yet?")
    if not hasattr(application, "router"):
        sys.exit(f"a {type(application).__name__} came back, not an application")
    if page:
        from fastapi.responses import HTMLResponse

        application.add_api_route("/", lambda: HTMLResponse(page), methods=["GET"])
    uvicorn.run(application, host="127.0.0.1", port=int(port), log_level="warning")


if __name__ == "__main__":
    main(*sys.argv[1:])
