"""Memory that no process owns, keys that all share, namespaces of one's own: all are asked for."""

import platform

from support.hostile import ERROR, EVERYTHING, RIGHT_ERROR, RIGHT_SHAPES, SHAPES, add_cell, answer

EARNS = EVERYTHING
NEEDS_SANDBOX = True
ARRIVED = ["given: []"] if platform.machine() == "x86_64" else ["given: "]
ASK = """
import ctypes, os, socket
libc = ctypes.CDLL(None)
new_user, new_mounts = 0x10000000, 0x20000
given = []
def ask(what, *arguments):
    if libc.syscall(*arguments) >= 0:
        given.append(what)
ask("a System V segment", 29, 0, 2**30, 0o1600)
ask("a System V queue", 68, 0, 0o1600)
ask("a file in memory", 319, b"kept", 0)
ask("a user namespace", 272, new_user)
ask("a mount namespace", 272, new_mounts)
ask("a file system in memory", 165, b"tmpfs", b"/tmp", b"tmpfs", 0, None)
ask("a key", 248, b"user", b"note", b"for the next", 12, -3)
ask("a ring", 425, 8, None)
one, two = socket.socketpair()
one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**28)
if one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) > 2**20:
    given.append("a large socket")
print("given:", given)
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, ASK)
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, RIGHT_ERROR)
