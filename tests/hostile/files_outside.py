"""Files are left in the instructor's folder, in the course's code and in the system."""

from pathlib import Path

import course_utils
from support.hostile import add_cell, forbidden_file

ARRIVED = ["FileNotFoundError"]
NEEDS_SANDBOX = True
NAME = "left-by-a-submission"
WRITE = """
import os, site, sys, tempfile
import course_utils, torch
folders = [{root!r}, {root!r} + "/autograded", {root!r} + "/feedback", "/", "/etc", "/usr", "/var",
           "/root", "/home", "/opt", os.path.dirname(course_utils.__file__),
           os.path.dirname(torch.__file__), *site.getsitepackages(), *sys.path, sys.prefix]
for folder in folders:
    for name in ("{name}", "{name}.pth", "sitecustomize.py", "usercustomize.py"):
        try:
            with open(os.path.join(folder, name), "x") as file:
                file.write("raise SystemExit")
        except OSError:
            pass
open({marker!r}, "w").close()
"""


def hand_in(chapter, notebook, folder):
    names = {"root": str(chapter.root), "name": NAME, "marker": str(forbidden_file(chapter))}
    add_cell(notebook, WRITE.format(**names))


def harm(graded):
    assert not forbidden_file(graded.chapter).exists()
    assert not list(graded.chapter.root.rglob(f"{NAME}*"))
    assert not list(Path(course_utils.__file__).parent.glob(f"{NAME}*"))
