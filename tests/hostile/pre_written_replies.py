"""Replies are written into the judge's sockets, all that are open, before it asks."""

from support.hostile import add_cell

WRITE = """
import json, os, stat, struct
reply = {"result": ["tuple", []], "operators": [], "contents": [], "layouts": [], "states": []}
for number in range(3, 100):
    try:
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            for message in ([["predict_warm_up", ["dict", []]]], reply, reply, reply):
                text = json.dumps([message, []]).encode()
                os.set_blocking(number, False)
                if number >= 20:
                    os.write(number, struct.pack("!II", len(text), 0) + text)
    except OSError:
        pass
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, WRITE)
