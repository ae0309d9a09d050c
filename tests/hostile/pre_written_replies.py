"""Replies are written into the judge's sockets, all that are open, before it asks."""

from support.hostile import add_cell

WRITE = """
import os, stat
from course_utils.grading import wire
from course_utils.grading.messages import Called, Names
names = Names([["predict_warm_up", ["dict", []]]])
reply = Called(["tuple", []], None, operators=[], events=None, contents=[], layouts=[], states=[])
for number in range(3, 100):
    try:
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            for message in (names, reply, reply, reply):
                os.set_blocking(number, False)
                if number >= 20:
                    os.write(number, wire.pack(message.fields(), []))
    except OSError:
        pass
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, WRITE)
