"""A course of one small chapter without torch, for tests of the commands."""

from __future__ import annotations

import shutil
from pathlib import Path

from course_utils.project import Chapter
from support.answers import ROOT

SOURCE = '''# ---
# jupyter:
#   course:
#     title: A tiny chapter
#     minutes: 2
# ---

# %% [markdown]
# # A tiny chapter

# %% nbgrader={"grade_id": "setup", "locked": true}
import math

# %% [markdown]
# ### Exercise 1 — Double a number ★ · 1 min · 1 point

# %% nbgrader={"grade_id": "double", "solution": true}
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION

# %% nbgrader={"grade_id": "double-check", "grade": true, "points": 1}
assert double(2) == 4, f"double(2) is 4, not {double(2)}"
### BEGIN HIDDEN TESTS
assert double(-3) == -6, "double(-3) is -6"
### END HIDDEN TESTS

# %% [markdown]
# ### Exercise 2 — Halve a number ★ · 1 min · 2 points

# %% nbgrader={"grade_id": "halve", "solution": true}
def halve(x):
    """Half of x."""
    ### BEGIN SOLUTION
    return x / 2
    ### END SOLUTION

# %% nbgrader={"grade_id": "halve-check", "grade": true, "points": 2}
assert halve(3) == 1.5, "halve(3) is 1.5: keep the fraction"

# %%
print(math.floor(2.5))
'''


def make_tiny_course(root: Path) -> Chapter:
    """Write the course into ``root`` and return its only chapter, not yet built."""
    chapter = Chapter("01_tiny", root)
    chapter.source.parent.mkdir(parents=True)
    chapter.source.write_text(SOURCE, encoding="utf-8")
    (root / "notebooks").mkdir()
    for name in ("nbgrader_config.py", "nbval_sanitize.cfg"):
        shutil.copy(ROOT / name, root / name)
    return chapter
