"""Replies are written into the judge's sockets before it asks."""

from support.hostile import add_cell

ARRIVED = ["written before", "is of type tuple"]
WRITE = """
import os, stat
from course_utils.grading.verdict import wire
from course_utils.grading.verdict.messages import Called, Names, of_the_answer
function = of_the_answer(0, "a", "function", "f")
early = ["dict", [["a + b", "written before"]]]
names = Names([["predict_warm_up", early], ["root_mean_square_error", function]])
reply = Called(["tuple", []], None, operators=[], events=None, contents=[], layouts=[], states=[])
# The checks' own: the kernel would not go on if its other sockets were written to.
for number in range(20, 23):
    if stat.S_ISSOCK(os.fstat(number).st_mode):
        for message in (names, reply, reply, reply):
            os.write(number, wire.pack(message.fields(), []))
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, WRITE)
