"""What runs at exit, at a fork or at a signal hands out the points."""

from support.hostile import ERROR, SHAPES, add_cell, answer

ARRIVED = ["kernel had ended before this check"]
HOOKS = """
import atexit, faulthandler, os, signal, sys, threading, weakref
def forge(*args):
    print("all checks passed")
    os._exit(0)
atexit.register(forge)
os.register_at_fork(before=lambda: None, after_in_child=forge, after_in_parent=lambda: None)
for number in (signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGUSR1, signal.SIGPIPE):
    signal.signal(number, forge)
signal.setitimer(signal.ITIMER_REAL, 1)
sys.excepthook = threading.excepthook = sys.unraisablehook = lambda *args: None
sys.settrace(lambda *args: None)
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, HOOKS)
    answer(notebook, SHAPES, "predict_warm_up = {}")
    answer(notebook, ERROR, "def root_mean_square_error(outputs, targets):\n    return None")
