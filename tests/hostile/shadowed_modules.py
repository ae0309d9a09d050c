"""Files beside the notebook bear the names of what the checks import."""

from support.hostile import add_cell

ARRIVED = ["sitecustomize.py"]
NOTHING = """
def __getattr__(name):
    return lambda *args, **keywords: True
check_close = check_equal = check_predictions = check_raises = __getattr__("x")
"""


def hand_in(chapter, notebook, folder):
    for name in ("torch", "course_utils", "random", "itertools", "sitecustomize", "ast", "json"):
        (folder / f"{name}.py").write_text(NOTHING)
    (folder / ".ipython" / "profile_default" / "startup").mkdir(parents=True)
    (folder / ".ipython" / "profile_default" / "startup" / "a.py").write_text("raise SystemExit")
    add_cell(notebook, "import os\nprint(os.listdir())")
