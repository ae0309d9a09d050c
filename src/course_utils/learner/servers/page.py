"""The page of visdom, and the scripts that its wheel lacks."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from course_utils.learner.servers.server import ServerError

FETCH_SECONDS = 60

# What visdom's page asks for, by npm package: file there -> file below visdom's static folder.
PAGE_FILES = {
    "jquery@3.1.1": {"dist/jquery.min.js": "js/jquery.min.js"},
    "bootstrap@3.3.7": {
        "dist/js/bootstrap.min.js": "js/bootstrap.min.js",
        "dist/css/bootstrap.min.css": "css/bootstrap.min.css",
        "dist/fonts/glyphicons-halflings-regular.woff2": (
            "fonts/glyphicons-halflings-regular.woff2"
        ),
    },
    "react@16.2.0": {"umd/react.production.min.js": "js/react-react.min.js"},
    "react-dom@16.2.0": {"umd/react-dom.production.min.js": "js/react-dom.min.js"},
    "layout-bin-packer@1.4.0": {"dist/layout-bin-packer.js": "js/layout_bin_packer.js"},
    "plotly.js-dist-min@2.11.1": {"plotly.min.js": "js/plotly-plotly.min.js"},
    "d3@3.5.17": {"d3.min.js": "js/d3.v3.min.js"},
    "d3-selection-multi@1.0.1": {"build/d3-selection-multi.min.js": "js/d3-selection-multi.v1.js"},
    "save-svg-as-png@1.4.17": {"lib/saveSvgAsPng.js": "js/saveSvgAsPng.js"},
    "react-resizable@1.4.6": {"css/styles.css": "css/react-resizable-styles.css"},
    "react-grid-layout@0.16.3": {"css/styles.css": "css/react-grid-layout-styles.css"},
}
# Without these the page stays white.
NEEDED = [name for files in PAGE_FILES.values() for name in files.values() if "js/" in name]


def page_folder() -> Path:
    """Where the fetched page of this visdom is kept: in the user's cache."""
    from importlib.metadata import version

    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    cache = Path(base) if base else Path.home() / ".cache"
    return cache / "pytorch-notebook-course" / f"visdom-{version('visdom')}"


def visdom_page(fetch: bool = True) -> tuple[Path, str]:
    """The static folder that visdom's page is served from.

    visdom's wheel holds its page without the scripts of others that it needs, and visdom's own
    command fetches them whenever it starts. Here they are fetched once, into the user's cache.

    Args:
        fetch: whether to fetch them if they are nowhere yet.

    Returns:
        The folder, and words that say why scripts are missing; empty if they are all there.
    """
    from importlib.util import find_spec

    visdom = find_spec("visdom")
    assert visdom is not None
    assert visdom.origin is not None
    own = Path(visdom.origin).parent / "static"
    for folder in (own, page_folder()):
        if is_whole(folder):
            return folder, ""
    if not fetch:
        return own, "visdom's page lacks its scripts"
    try:
        return fetch_page(own, page_folder()), ""
    except (OSError, ServerError) as error:
        words = f"visdom's page would stay white, its scripts are missing: {error}"
        return own, words + "; everything but looking at the page works"


def is_whole(folder: Path) -> bool:
    """Whether every script that visdom's page needs is there."""
    return all((folder / name).is_file() and (folder / name).stat().st_size for name in NEEDED)


def fetch_page(own: Path, target: Path) -> Path:
    """Copy the static folder of visdom's wheel and add what it lacks.

    Raises:
        ServerError: there is no network, or neither npm nor visdom's own downloader got the files.
        OSError: the cache cannot be written.
    """
    if not has_network():
        raise ServerError("there is no network to fetch them from")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        new = Path(name) / "static"
        shutil.copytree(own, new)
        words = _fetch_by_npm(new, Path(name))
        if not is_whole(new):
            words += "; " + _fetch_by_visdom(new)
        if not is_whole(new):
            raise ServerError(words)
        if is_whole(target):  # another process was faster
            return target
        shutil.rmtree(target, ignore_errors=True)
        new.rename(target)
    return target


def has_network() -> bool:
    """Whether this machine has an interface besides the loopback that is up."""
    import psutil

    up = psutil.net_if_stats()
    return any(state.isup and not name.lower().startswith("lo") for name, state in up.items())


def _fetch_by_npm(static: Path, scratch: Path) -> str:
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    settings = ["--silent", "--fetch-retries=0", "--fetch-timeout=20000"]
    try:
        done = subprocess.run(
            [npm, "pack", *settings, *PAGE_FILES],
            cwd=scratch, stdin=subprocess.DEVNULL, capture_output=True, timeout=FETCH_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"npm did not get them within {FETCH_SECONDS} s"
    if done.returncode:
        return "npm could not fetch them"
    for package, files in PAGE_FILES.items():
        with tarfile.open(scratch / f"{package.replace('@', '-')}.tgz") as archive:
            for source, name in files.items():
                (static / name).parent.mkdir(exist_ok=True)
                content = archive.extractfile(f"package/{source}")
                assert content is not None, f"{source} is no file"
                (static / name).write_bytes(content.read())
    return ""


def _fetch_by_visdom(static: Path) -> str:
    program = (
        "import socket, sys; socket.setdefaulttimeout(10); "
        "from visdom.server.build import download_scripts; "
        "download_scripts(install_dir=sys.argv[1])"
    )
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-c", program, static.parent],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=FETCH_SECONDS,
        )  # fmt: skip
    return "" if is_whole(static) else "visdom's own downloader did not get them"
