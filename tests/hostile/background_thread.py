"""Threads patch the comparisons again and again, and edit the results later."""

from support.hostile import ERROR, SHAPES, add_cell, answer

ARRIVED = ["threads: True"]
THREADS = """
import gc, os, threading, time, torch
def work():
    while True:
        torch.equal = torch.isclose = lambda *args, **keywords: torch.ones((), dtype=torch.bool)
        for known in gc.get_objects():
            if isinstance(known, torch.Tensor) and known.shape == ():
                known.data.fill_(5.0)
        time.sleep(0.05)
threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
time.sleep(0.2)
print("threads:", all(thread.is_alive() for thread in threads))
os.register_at_fork(after_in_child=lambda: threading.Thread(target=work, daemon=True).start())
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, THREADS)
    answer(notebook, SHAPES, "predict_warm_up = {}")
    answer(notebook, ERROR, "def root_mean_square_error(outputs, targets):\n    return None")
