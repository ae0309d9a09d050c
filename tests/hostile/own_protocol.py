"""The student speaks the judge's protocol and says yes to everything: any name, any value."""

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
def answer(connection, request, data, lengths):
    kind, *rest = request
    if kind == "names":
        names = rest[0] + ["check_close", "check_predictions", "torch", "device", "round"]
        anything = ["object", 0, "torch", "Tensor", "tensor(5.)"]
        send(connection, [[name, anything] for name in names])
    elif kind == "call":
        one = ["tensor", 0, None, [[], [], 0, "torch.float32"], False, True]
        reply = {"result": one, "operators": [], "contents": [], "layouts": [], "states": []}
        # What is expected might lie in the memory that came along.
        send(connection, reply)
    else:
        send(connection, "anything")
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, PROTOCOL + ANSWER)
