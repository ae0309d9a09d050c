"""Every port that is open on this machine is tried: the scheduler, Jupyter, databases."""

from support.hostile import add_cell, listening_at

ARRIVED = ["reached ports []"]
NEEDS_SANDBOX = True
SCAN = """
import socket
for table in ("/proc/net/tcp", "/proc/net/unix", "/proc/1/net/tcp"):
    try:
        print(table, len(open(table).readlines()))
    except OSError:
        pass
# Not the ports that connections get: a socket that tries its own reaches itself.
reached = []
for port in [*range(8000, 9000), *range(20000, 32000, 3), {port}]:
    with socket.socket() as connection:
        if connection.connect_ex(("127.0.0.1", port)) == 0:
            reached.append(port)
print("reached " + "ports", reached)
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, SCAN.format(**listening_at(chapter)))


def harm(graded):
    assert "reached ports []" in graded.said
