"""Spoken by the student: noise, huge frames, one byte a second, and descriptors of files."""

from support.hostile import PROTOCOL, add_cell

ARRIVED = ["kernel had ended before this check", "did not return in time"]
TIMES_OUT = True
ANSWER = """
import time
def answer(connection, request):
    # Each check's own number, from 20 on.
    turn = connection.fileno()
    if turn % 3 == 0:
        connection.sendall(struct.pack("!II", 2**32 - 1, 2**32 - 1))
    elif turn % 3 == 1:
        socket.send_fds(connection, [os.urandom(64)], [0, 1, 2])
    connection.sendall(struct.pack("!II", 100, 0))
    while True:
        connection.sendall(b"[")
        time.sleep(0.5)
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, PROTOCOL + ANSWER)
