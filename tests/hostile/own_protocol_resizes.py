"""Spoken by the student: arguments get other contents, sizes and layouts, to trip up the judge."""

from support.hostile import add_cell

PROTOCOL = """
import json, os, socket, struct, sys, types
def send(connection, message, blobs=()):
    text, data = json.dumps([message, list(map(len, blobs))]).encode(), b"".join(blobs)
    connection.sendall(struct.pack("!II", len(text), len(data)) + text + data)
def receive(connection):
    stream = connection.makefile("rb")
    text, data = struct.unpack("!II", stream.read(8))
    message, lengths = json.loads(stream.read(text))
    return message, stream.read(data), lengths
def speak(descriptor, *_):
    if os.fork():
        os.close(descriptor)
        return
    os.setpgid(0, 0)  # out of the group that ends with the kernel
    try:
        connection = socket.socket(fileno=descriptor)
        while True:
            request, data, lengths = receive(connection)
            answer(connection, request, data, lengths)
    finally:
        os._exit(0)
module = types.ModuleType("course_utils.grading.answering")
module.wait_for_the_judge = speak
sys.modules["course_utils.grading.answering"] = module
import course_utils.grading
course_utils.grading.answering = module
"""

ANSWER = """
turn = 0
def answer(connection, request, data, lengths):
    global turn
    kind, *rest = request
    turn += 1
    five = struct.pack("f", 5.0)
    new = ["tensor", 9, 0, [[], [], 0, "torch.float32"], False, True]
    if kind == "names":
        send(connection, [[name, ["object", 0, "a", "function", "f"]] for name in rest[0]])
        return
    replies = [
        ({"result": ["same", 0], "contents": [[0, 0], [1, 0]], "layouts": []}, [b""]),
        ({"result": ["same", 1], "contents": [[0, 0]], "layouts": []}, [five * 100]),
        ({"result": ["same", 0], "layouts": [[0, [[], [], 0, "torch.float32"]]]}, []),
        ({"result": ["same", 0], "layouts": [[0, [[9], [9], 9, "torch.int8"]]]}, []),
        ({"result": ["same", -1], "contents": [[-1, -1]], "layouts": [[-1, None]]}, [five]),
        ({"result": new, "contents": [[True, True]], "layouts": 5}, [five]),
        ({"result": ["same", 0], "states": [[0, 0]]}, [bytes(5056)]),
        ({"result": ["same", 0], "states": [[0, 0], [1, 0], [-1, 0]]}, [five]),
        ({"error": {"classes": [["builtins", "ValueError"]], "lines": 5, "message": [1]}}, []),
        ({"error": 5}, []), (None, []), ([], []), ("error", []), ({"operators": 5}, []),
    ]
    reply, blobs = replies[turn % len(replies)]
    if isinstance(reply, dict):
        reply = {"operators": [], "contents": [], "layouts": [], "states": [], **reply}
    send(connection, reply, blobs)
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, PROTOCOL + ANSWER)
