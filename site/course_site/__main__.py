"""``python -m course_site``: write the sources, then let Sphinx make the pages that changed.

``COURSE_SITE_CHAPTERS`` names chapters by their numbers, ``00 02``: a small site, for tests.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from course_site.sources import write_sources
from course_utils.project import find_root

SITE = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(prog="course_site", description=__doc__)
    parser.add_argument(
        "--folder", type=Path, help="where the site is made; build/site if left out"
    )
    options = parser.parse_args()
    root = find_root()
    folder = (options.folder or root / "build" / "site").resolve()
    wanted = os.environ.get("COURSE_SITE_CHAPTERS", "").split()
    write_sources(root, folder / "source", wanted)
    status = build_pages(folder)
    if status == 0:
        print(f"the site: {folder / 'html' / 'index.html'}")
    return status


def build_pages(folder: Path) -> int:
    """Sphinx's pages from ``folder/source`` in ``folder/html``; its exit status.

    Whatever Sphinx warns of, a link that leads nowhere above all, is an error.
    """
    # Later than the sources: without what `make site` installs the sources can still be made.
    from sphinx.cmd.build import main as sphinx

    how = ["-b", "html", "-q", "-W", "--keep-going", "-j", str(min(2, os.cpu_count() or 1))]
    where = ["-c", SITE, "-d", folder / "doctrees", folder / "source", folder / "html"]
    return sphinx([*how, *map(str, where)])


if __name__ == "__main__":
    sys.exit(main())
