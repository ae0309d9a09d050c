"""What the grader's environment holds: passwords, tokens, addresses."""

from support.hostile import GRADERS_SECRET, add_cell

ARRIVED = ["GLOO_SOCKET_IFNAME"]
NEEDS_SANDBOX = True
TELL = """
import glob, os
print(dict(os.environ))
for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
    try:
        with open(path, "rb") as file:
            print(path, file.read())
    except OSError:
        pass
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, TELL)


def harm(graded):
    assert GRADERS_SECRET not in graded.said
