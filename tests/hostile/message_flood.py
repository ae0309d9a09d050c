"""The kernel floods the grader with messages about nothing, and runs for ever."""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, answer

ARRIVED = ["would not be interrupted"]
EARNS = {SHAPES: 1}
FLOOD = """
import signal, sys
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
kernel = get_ipython().kernel
session, socket = kernel.session, kernel.iopub_socket
while True:
    session.send(socket, "stream", {"name": "stdout", "text": "x"}, parent={"msg_id": "nobody"})
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, FLOOD)
