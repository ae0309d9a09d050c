"""Spoken by the student: a message that is short to send and takes all memory to read."""

from support.hostile import PROTOCOL, add_cell

ARRIVED = ["what the answer gave back cannot be read", "is too long"]
ANSWER = """
def answer(connection, request):
    if isinstance(request, list):
        send(connection, Names([[name, of_the_answer(0, "a", "f", "f")] for name in request]))
        return
    text = b"[" + b"[]," * 60_000_000 + b"[]]"
    connection.sendall(struct.pack("!II", len(text), 0))
    connection.sendall(text)
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, PROTOCOL + ANSWER)
