"""Files that are the old one or the new one, never a part of it."""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

LOG = logging.getLogger(__name__)
UNFINISHED = ".new-"
LONGEST_WRITE_SECONDS = 3600


@contextmanager
def replacing(path: Path, unfinished: Path | None = None) -> Generator[Path]:
    """A place to write to; it takes the place of ``path`` when the block ends without an error.

    Args:
        path: the file that is to be made or replaced.
        unfinished: the place; by default beside ``path``, with ``.new`` behind its name. What a
            killed writer left there is written over by the next one: two must not write at once.
    """
    unfinished = unfinished or path.with_name(path.name + ".new")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_whole(path: Path, text: str, *, private: bool = False) -> None:
    """Write a file so that nobody ever sees a part of it, also after a kill or a power cut.

    Several may write the same file at once: the last one stays.

    Args:
        path: the file; its folder is made where it is missing.
        text: what it is to hold.
        private: whether other users of the machine must not read it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, unfinished_in(path.parent)) as unfinished:
        mode = 0o600 if private else 0o666
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


def unfinished_in(folder: Path) -> Path:
    """A place to write to that is nobody else's.

    Its name is its own, and not one made of the file's, which may leave no room for more.
    """
    return folder / (UNFINISHED + secrets.token_hex(8))


def remove_unfinished(folder: Path) -> None:
    """Remove what writers left that were killed; not what one may be writing now."""
    for path in folder.rglob(f"{UNFINISHED}*"):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > LONGEST_WRITE_SECONDS:
                path.unlink()


def read_json(path: Path) -> dict:
    """A JSON object out of a file; empty where the file is missing or broken."""
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        # What it held is made again; who can't make it again says that it is broken.
        LOG.info("%s is broken", path, exc_info=True)
        return {}
    if not isinstance(content, dict):
        LOG.info("%s is broken: it holds no object", path)
        return {}
    return content
