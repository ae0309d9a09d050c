"""nbval over the solutions, by ``course verify``: every output comes out as it is stored."""

import subprocess
import sys
from pathlib import Path

from support.answers import ROOT, chapters


def test_every_output_of_every_solution_is_as_stored():
    done = subprocess.run(
        [Path(sys.executable).with_name("course"), "verify"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for chapter in chapters():
        assert chapter.name in done.stdout
