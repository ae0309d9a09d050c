"""Processes that leave the kernel that started them end with it, before the judge begins."""

import ast
import asyncio
import os
import signal

import pytest
from nbformat.v4 import new_code_cell

from course_utils.grading import submission
from course_utils.grading.students_notebook import CONFINEMENT
from course_utils.kernels.provisioner import running_kernel
from course_utils.kernels.sandbox import Sandbox, why_not
from course_utils.kernels.workplace import Limits, Scratch
from support.hostile import ERROR, ERROR_CHECK, RIGHT_SHAPES, SHAPES, SHAPES_CHECK, answer
from support.light import points, run, solved
from support.warm import eventually, run_code

PLACES = [
    pytest.param(Sandbox, marks=pytest.mark.skipif(bool(why_not()), reason=why_not())),
    Scratch,
]
NAME = f"runaway{os.getpid()}"
# Each process takes that name, leaves in its own way, and lives for ten minutes.
RUNAWAYS = f"""
import ctypes, os, subprocess, time
def live():
    ctypes.CDLL(None).prctl(15, b"{NAME}", 0, 0, 0)
    time.sleep(600)
    os._exit(0)
def twice():
    os.setsid()
    if os.fork() == 0: live()
    os._exit(0)
def without_a_trace():
    os.setsid()
    os.chdir("/")
    os.closerange(3, 4096)
    if os.fork() == 0: live()
    os._exit(0)
for leave in (os.setsid, lambda: os.setpgid(0, 0), twice, without_a_trace, lambda: None):
    if os.fork() == 0:
        leave()
        live()
subprocess.Popen(["bash", "-c", "exec -a {NAME} sleep 600"], start_new_session=True, cwd="/")
def names():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{{pid}}/stat") as stat, open(f"/proc/{{pid}}/cmdline") as command:
                name, state = stat.read().split(")")[:2]
                found.append(name + command.read().split("\\0")[0] + " ended" * ("Z" in state))
        except OSError:
            pass
    return sum("{NAME}" in name and "ended" not in name for name in found)
while names() < 6:
    time.sleep(0.05)
"""
COUNTING = """
import os
def root_mean_square_error(outputs, targets):
    raise RuntimeError(f"runaways at the check: {names()}")
"""


@pytest.mark.parametrize("place", PLACES)
def test_none_is_left_when_the_judge_begins(place):
    notebook = solved()
    answer(notebook, SHAPES, RUNAWAYS + RIGHT_SHAPES)
    answer(notebook, ERROR, COUNTING)
    isolation = "none" if place is Scratch else "bwrap"
    outcome = run(notebook, isolation=isolation, cell_seconds=60)
    assert outcome.died == ""
    assert "runaways at the check: 0" in outcome.messages[ERROR_CHECK]
    assert points(outcome)[SHAPES_CHECK] == 1


@pytest.mark.parametrize("place", PLACES)
def test_none_is_left_of_a_kernel_that_ended_by_itself(place):
    notebook = solved()
    answer(notebook, SHAPES, RUNAWAYS + RIGHT_SHAPES)
    answer(notebook, ERROR, COUNTING)
    notebook.cells.append(new_code_cell("import os, time\ntime.sleep(2)\nos._exit(1)"))
    outcome = run(notebook, isolation="none" if place is Scratch else "bwrap", cell_seconds=60)
    assert outcome.died
    assert "runaways at the check: 0" in outcome.messages[ERROR_CHECK]
    assert points(outcome)[SHAPES_CHECK] == 1


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_what_a_process_leaves_behind_in_a_sandbox_is_reaped():
    async def work():
        with Sandbox() as sandbox:
            async with running_kernel(sandbox) as (_, client):
                await run_code(
                    client,
                    "import os\n"
                    "if os.fork() == 0:\n"
                    "    for _ in range(3):\n"
                    "        if os.fork() == 0: os._exit(0)\n"
                    "    os._exit(0)\n"
                    "os.wait()",
                )
                return await run_code(
                    client,
                    "import time\n"
                    "listed = lambda: [name for name in os.listdir('/proc') if name.isdigit()]\n"
                    "end = time.monotonic() + 20\n"
                    "while len(listed()) > 2 and time.monotonic() < end: time.sleep(0.05)\n"
                    "print(listed())",
                )

    assert len(ast.literal_eval(asyncio.run(work()))) == 2


@pytest.mark.parametrize("place", PLACES)
def test_a_busy_process_ends_when_its_processor_time_is_used_up(place):
    async def work():
        with place(Limits(cpu_seconds=1)) as workplace:
            async with running_kernel(workplace) as (manager, client):
                await run_code(
                    client,
                    "import os, signal, time\n"
                    "kernel = os.getpid()\n"
                    "if os.fork() == 0:\n"
                    "    os.setsid()\n"
                    "    signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
                    # Both at once, the two would use up what all may use together.
                    "    while os.getppid() == kernel: time.sleep(0.01)\n"
                    "    while True: pass",
                )
                assert len(workplace.processes()) == 2
                client.execute("while True: pass")
                status = await asyncio.wait_for(manager.provisioner.process.ended(), 120)
                # Who does not hear the signal is killed, two seconds of work later.
                ended = lambda: not workplace.processes()  # noqa: E731
                return status, await asyncio.to_thread(eventually, ended, 120)

    assert asyncio.run(work()) == (-signal.SIGXCPU, True)


# Each is busy for less than one may be, and together they are for more than all may.
BURSTS = """
import os, time
def burst(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
    os._exit(0)
"""
LEAVING = """
for _ in range(60):
    child = os.fork()
    if child == 0:
        {leave}
        burst(0.3)
    os.waitpid(child, 0)
"""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("leave", ["pass", "if os.fork(): time.sleep(0.5); os._exit(0)"])
def test_many_short_processes_share_one_budget(place, leave):
    """Also when the parent of each is gone before it ends."""

    async def work():
        with place(Limits(cpu_seconds=2)) as workplace:
            async with running_kernel(workplace) as (manager, client):
                if place is Scratch:
                    await run_code(client, f"{CONFINEMENT}.adopt_orphans()")
                client.execute(BURSTS + LEAVING.format(leave=leave))
                await asyncio.wait_for(manager.provisioner.process.ended(), 120)
                return workplace.killed_because

    assert asyncio.run(work()) == "they used more than 4 s of processor time"


def test_the_student_is_told(monkeypatch):
    monkeypatch.setattr(submission, "CPU_ROOM_SECONDS", -598)
    notebook = solved()
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, "while True:\n    pass")
    outcome = run(notebook, cell_seconds=120)
    assert outcome.died == f"{ERROR}: it used 2 s of processor time"
    assert points(outcome)[SHAPES_CHECK] == 1


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({}, 660),
        ({"threads": 4, "checks_seconds": 10}, 2460),
        ({"notebook_seconds": 0.5, "checks_seconds": 90}, 150),
        ({"notebook_seconds": float("inf")}, 100_000_060),
    ],
)
def test_the_budget_follows_the_limits_of_time(settings, seconds):
    assert submission.Settings(**settings).limits().cpu_seconds == seconds
