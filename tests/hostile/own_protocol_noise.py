"""Spoken by the student: noise, huge frames, one byte a second, and descriptors of files."""

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
import time
turn = os.getpid()
def answer(connection, request, data, lengths):
    global turn
    turn += 1
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
