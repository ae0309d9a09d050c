"""A check that never ends is stopped, in words."""

import signal
import threading
import time

import pytest

from course_utils.learner import time_limits
from course_utils.learner.time_limits import CheckTimeout
from support.kernel import run_cells, traceback_of

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no such timers here")


@pytest.fixture(autouse=True)
def as_before():
    handler, timer = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    yield
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, *timer)


def waits_for_ever():
    threading.Event().wait(20)


def passes_over_every_exception():
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        try:
            sum(range(1000))
        except Exception:
            continue


@pytest.mark.parametrize("loop", [waits_for_ever, passes_over_every_exception])
def test_what_never_ends_is_stopped(loop):
    started = time.monotonic()
    time_limits.start(0.2)
    with pytest.raises(CheckTimeout, match="does a loop in your answer never end"):
        loop()
    time_limits.stop()
    assert time.monotonic() - started < 5


def test_after_the_check_there_is_no_limit():
    time_limits.start(0.2)
    time_limits.stop()
    time.sleep(0.5)


def test_elsewhere_than_in_the_main_thread_nothing_is_limited():
    before = signal.getsignal(signal.SIGALRM)
    thread = threading.Thread(target=time_limits.start, args=(0.1,))
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGALRM) is before


CELLS = [
    "from course_utils import passed\nfrom course_utils.learner import time_limits\n"
    "time_limits.start.__defaults__ = (1.0,)",
    "def answer():\n    while True:\n        try:\n            1 / 0\n"
    "        except Exception:\n            pass",
    "answer()\npassed('1.1 Loop', 1)",
    "import time\ntime.sleep(1.5)\nprint('no check, no limit')",
]


def test_in_a_notebook_a_check_is_limited_and_another_cell_is_not():
    *_, check, other = run_cells(*CELLS)
    told = traceback_of(check)
    assert "does a loop in your answer never end" in told
    assert "answer()" in told
    assert [output.text for output in other.outputs] == ["no check, no limit\n"]
