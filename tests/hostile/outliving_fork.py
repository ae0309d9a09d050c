"""A process leaves the kernel's group and session, to live on after the grading."""

import time

import psutil

from support.hostile import ERROR, EVERYTHING, RIGHT_ERROR, RIGHT_SHAPES, SHAPES, add_cell, answer

ARRIVED = ["the daemon is born"]
EARNS = EVERYTHING
NEEDS_SANDBOX = True
NAME = "outliver"
DAEMON = f"""
import ctypes, os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        ctypes.CDLL(None).prctl(15, b"{NAME}", 0, 0, 0)
        time.sleep(600)
    os._exit(0)
os.wait()
print("the daemon is born")
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, DAEMON)
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, RIGHT_ERROR)


def harm(graded):
    deadline = time.monotonic() + 5
    while any(process.name() == NAME for process in psutil.process_iter()):
        assert time.monotonic() < deadline, "a process of the submission lives on"
        time.sleep(0.1)
