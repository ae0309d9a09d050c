"""A PostgreSQL server for a test, of its own, on a Unix socket."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

START_SECONDS = 60
# PostgreSQL refuses to run as root.
ACCOUNT = "nobody" if os.geteuid() == 0 else None


def find(command: str) -> str | None:
    """Where one of PostgreSQL's own commands lies; Debian keeps them off the PATH."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return shutil.which(command, path=os.pathsep.join([os.environ["PATH"], *map(str, folders)]))


@contextlib.contextmanager
def running_postgresql() -> Iterator[str]:
    """The SQLAlchemy address of an empty database, on a server that ends with the block."""
    with tempfile.TemporaryDirectory(prefix="course-postgresql-") as folder:
        if ACCOUNT:
            shutil.chown(folder, ACCOUNT)
        data = Path(folder) / "data"
        make = [find("initdb"), "--auth=trust", "--username=grader", "--no-sync", str(data)]
        subprocess.run(
            [*make, "--locale=C", "--encoding=UTF8"],
            user=ACCOUNT,
            cwd=folder,
            check=True,
            capture_output=True,
        )
        # No TCP port: other users of the machine can't reach the socket's folder.
        options = ["-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
        server = subprocess.Popen(
            [find("postgres"), "-D", str(data), *options],
            user=ACCOUNT,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + START_SECONDS
            ask = [find("pg_isready"), "--quiet", "--host", folder]
            while subprocess.run(ask, check=False).returncode != 0:
                assert server.poll() is None, "PostgreSQL ended"
                assert time.monotonic() < deadline, "PostgreSQL does not answer"
                time.sleep(0.1)
            yield f"postgresql+psycopg://grader@/postgres?host={folder}"
        finally:
            server.terminate()
            try:
                server.wait(START_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
