"""An instructor's folder without a checkout: what grading needs, out of the source distribution."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from course_utils.errors import CourseError
from course_utils.project import has_sources

PACKAGE = "pytorch-notebook-course"
VERSION = f"{PACKAGE} {importlib.metadata.version(PACKAGE)}"
# What of the source distribution an instructor works with; tests and the package's code stay out.
WANTED = (
    *("solutions", "notebooks", "etc", "docs"),
    *("nbgrader_config.py", "nbval_sanitize.cfg", "LICENSE", "LICENSE-TEXT"),
)


def lay_out(folder: Path, archive: Path | None = None) -> None:
    """Make a folder with the chapters' sources and releases and nbgrader's settings.

    Args:
        folder: a new or empty one. It is there whole or not at all.
        archive: the source distribution of the installed version; by default pip downloads it.

    Raises:
        CourseError: the folder holds something, the archive is of another version or none at all,
            or it can't be downloaded or written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CourseError(f"{folder} is not empty: name a new folder")
    try:
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            dir=folder.absolute().parent, prefix=".course-init-"
        ) as name:
            made = unpack(archive or download(Path(name)), Path(name))
            if folder.exists():
                folder.rmdir()
            made.rename(folder)
    except OSError as error:
        raise CourseError(f"{folder} can't be made ({error.strerror or error})") from error


def unpack(archive: Path, scratch: Path) -> Path:
    """Unpack what is wanted of a source distribution; returns the folder, not yet in its place.

    Raises:
        CourseError: the file is no source distribution of the installed version.
    """
    made = scratch / "made"
    made.mkdir()
    top = f"{PACKAGE.replace('-', '_')}-{importlib.metadata.version(PACKAGE)}"
    try:
        with tarfile.open(archive, "r:gz") as tar:
            wanted = [member for member in tar if is_wanted(member.name, top)]
            tar.extractall(scratch, wanted, filter="data")
    except (tarfile.TarError, EOFError) as error:
        raise CourseError(f"{archive}: no source distribution ({error})") from error
    for name in WANTED:
        if (scratch / top / name).exists():
            shutil.move(scratch / top / name, made / name)
    if not has_sources(made):
        raise CourseError(f"{archive}: not the sources of {VERSION}, which is installed here")
    return made


def is_wanted(name: str, top: str) -> bool:
    """Whether a member of the archive belongs into an instructor's folder."""
    parts = Path(name).parts
    return len(parts) > 1 and parts[0] == top and parts[1] in WANTED


def download(scratch: Path) -> Path:
    """Have pip download the source distribution of the installed version; returns the file.

    Raises:
        CourseError: there is no pip, no network, or no such distribution.
    """
    wanted = VERSION.replace(" ", "==")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:all:"]
    done = subprocess.run(
        [*command, wanted, f"--dest={scratch}"], capture_output=True, text=True, errors="replace"
    )
    archives = list(scratch.glob("*.tar.gz"))
    if done.returncode or not archives:
        last = done.stderr.strip().splitlines()[-1:] or ["nothing came"]
        raise CourseError(
            f"pip could not download the sources of {VERSION} ({last[0]}); "
            "with the file at hand: course init FOLDER --sources FILE.tar.gz"
        )
    return archives[0]
