"""Sockets to whoever listens on this machine, and to the world outside."""

from support.hostile import add_cell, listening_at

ARRIVED = ["Connection refused"]
NEEDS_SANDBOX = True
CONNECT = """
import socket
kinds = [(socket.AF_INET, ("127.0.0.1", {port})), (socket.AF_UNIX, "\\0" + {abstract!r}),
         (socket.AF_UNIX, {path!r}), (socket.AF_INET, ("192.0.2.1", 80)),
         (socket.AF_INET, ("1.1.1.1", 53)), (socket.AF_INET6, ("::1", {port}))]
for family, address in kinds:
    try:
        with socket.socket(family) as connection:
            connection.settimeout(0.3)
            connection.connect(address)
            print("connection " + "made", address)
    except OSError as error:
        print(error)
try:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"hello", ("127.0.0.1", {packets}))
        sender.sendto(b"hello", ("192.0.2.1", 53))
        print("connection " + "made by packet")
except OSError as error:
    print(error)
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, CONNECT.format(**listening_at(chapter)))


def harm(graded):
    assert "connection made (" not in graded.said
    assert "connection made \\u" not in graded.said
