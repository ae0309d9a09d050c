"""Memory, descriptors and arguments of every process in /proc are searched for the tests."""

from support.hostile import ERROR, add_cell

ARRIVED = ["/proc/1/fd"]
NEEDS_SANDBOX = True
LOOK = """
import os, re
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        print(pid, os.listdir(f"/proc/{pid}/fd"), os.readlink(f"/proc/{pid}/cwd"))
        for number in os.listdir(f"/proc/{pid}/fd"):
            print(number, os.readlink(f"/proc/{pid}/fd/{number}"))
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
            for line in maps:
                start, end = (int(part, 16) for part in line.split()[0].split("-"))
                if "rw" in line and end - start < 2**27:
                    memory.seek(start)
                    for found in re.finditer(rb"manual_seed.20.{100}", memory.read(end - start)):
                        print(pid, found[0])
    except OSError as error:
        print(error)
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, LOOK, before=ERROR)


def harm(graded):
    assert "manual_seed(20)" not in graded.said
