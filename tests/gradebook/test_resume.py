"""Killed at any moment, ``course grade --resume`` makes the same class of it, and nothing twice."""

import asyncio
import multiprocessing
import os
import random
import shutil
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import forkserver
from unittest.mock import patch

import nbformat
import psutil
import pytest
from distributed import Client

from course_utils.authoring.build import build_into_place
from course_utils.errors import CourseError
from course_utils.grading.cache import FOLDER
from course_utils.grading.scheduler import DASK_SETTINGS
from course_utils.notebooks import read_notebook
from support import answers
from support.answers import ROOT
from support.classroom import fill_in
from support.quick import LOG, quick_grade, quick_resume, state_of
from support.tiny import make_tiny_course

STUDENTS = ["ada", "bob", "cleo", "dan", "fay", "gus"]
WORKERS = 2
# Far more than anything takes: a busy machine is no failure.
SECONDS = 120

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The tiny course with six submissions and one that is no notebook."""
    chapter = make_tiny_course(tmp_path_factory.mktemp("course"))
    build_into_place(chapter)
    for number, student in enumerate(STUDENTS):
        notebook = read_notebook(chapter.release)
        fill_in(
            notebook,
            {
                "double": f"def double(x):\n    return {number % 2 + 1} * x",
                "halve": f"def halve(x):\n    return x / 2  # {student}",
            },
        )
        folder = chapter.root / "submitted" / student / chapter.name
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / f"{chapter.name}.ipynb")
    broken = chapter.root / "submitted" / "eve" / chapter.name
    broken.mkdir(parents=True)
    (broken / f"{chapter.name}.ipynb").write_text("{")
    return chapter.root


@pytest.fixture(scope="module")
def start():
    """A process that calls a function, forked from one that has imported everything already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["support.quick", "support.preloaded"])
    # It looks for them where the environment says, and passes over what it does not find.
    with patch.dict(os.environ, PYTHONPATH=str(ROOT / "tests")):
        forkserver.ensure_running()
    begun = []

    def begin(function, *arguments, **options):
        process = context.Process(target=function, args=arguments, kwargs=options)
        process.start()
        begun.append(process)
        return process

    yield begin
    for process in begun:
        process.kill()
        process.join()


class Cluster:
    """A Dask scheduler and two workers that execute, each a process of its own."""

    def __init__(self, start, folder):
        self.log = folder / "executed.txt"
        note = folder / "address"
        self.scheduler = start(serve_scheduler, note)
        wait_until(lambda: note.exists() and note.read_text().endswith("\n"))
        self.address = note.read_text().strip()
        self.workers = [start(serve_worker, self.address, str(self.log)) for _ in range(WORKERS)]

    def end(self):
        for process in (self.scheduler, *self.workers):
            process.kill()
            process.join()


@pytest.fixture
def cluster(start, tmp_path):
    cluster = Cluster(start, tmp_path)
    yield cluster
    cluster.end()


@dataclass(frozen=True)
class Calm:
    """A class that nothing disturbed.

    Attributes:
        state: what it came to.
        seconds: of processor time, of the command until the first submission was recorded.
    """

    state: dict
    seconds: float


@pytest.fixture(scope="module")
def calm(course, start, tmp_path_factory):
    folder = tmp_path_factory.mktemp("calm")
    cluster = Cluster(start, folder)
    root = folder / "calm"
    shutil.copytree(course, root)
    process = start(quick_grade, root, scheduler=cluster.address)
    wait_until(lambda: recorded(root))
    seconds = sum(psutil.Process(process.pid).cpu_times()[:2])
    finish(process)
    cluster.end()
    return Calm(state_of(root), seconds)


def serve_scheduler(note):
    """What ``dask scheduler`` does."""
    from distributed import Scheduler

    async def serve():
        async with Scheduler(host="127.0.0.1", port=0, dashboard_address="127.0.0.1:0") as one:
            note.write_text(f"{one.address}\n")
            await one.finished()

    asyncio.run(serve())


def serve_worker(address, log):
    """What ``dask worker --nthreads 1 --no-nanny`` does."""
    from distributed import Worker

    os.environ[LOG] = log

    async def serve():
        async with Worker(address, nthreads=1) as one:
            await one.finished()

    asyncio.run(serve())


def grade_in_a_session_of_its_own(root, log):
    """What ``course grade`` does in a terminal of its own."""
    os.setsid()
    os.environ[LOG] = log
    quick_grade(root, workers=WORKERS)


def wait_until(true):
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline, "this takes too long"
        time.sleep(0.005)


def finish(process):
    process.join(SECONDS)
    assert process.exitcode == 0


def kill_when(process, reached):
    """Kill a process as soon as ``reached`` says so.

    Returns:
        Whether it was killed; it may have ended before.
    """
    with suppress(psutil.NoSuchProcess):
        while process.is_alive() and not reached():
            time.sleep(0.002)
    process.kill()
    process.join(SECONDS)
    return process.exitcode == -signal.SIGKILL


def has_computed(process, seconds):
    """Whether a process has computed for so long, busy machine or not."""
    return sum(psutil.Process(process.pid).cpu_times()[:2]) >= seconds


def has_recorded(root, count):
    """Whether so many submissions are recorded."""
    return recorded(root) >= count


def never():
    return False


def begun(log):
    """Who was executed, and by which process, as often as it began."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [line.split() for line in lines if " " in line]


def idle(log):
    """Whether all that began has ended: what a killed run had given to the workers goes on."""
    lines = log.read_text().splitlines() if log.exists() else []
    return len(lines) == 2 * len(begun(log))


def stored(root):
    return len(list((root / FOLDER / "outcomes").glob("[!.]*.json")))


def recorded(root):
    return len(list((root / FOLDER / "recorded").glob("*/[!.]*.json")))


@pytest.mark.timeout(600)
def test_kills_at_any_moment(course, start, cluster, calm, tmp_path):
    """Classes are killed, resumed and killed again until each is done, or all kills are.

    There are six, and twenty in the weekly run.
    """
    count = 20 if answers.every else 6
    assert {row[0] for row in calm.state["marks"]} == {*STUDENTS, "eve"}
    assert calm.state["version"], "nbgrader's own note of the tables' version"
    assert not calm.state["left over"]

    chance = random.Random(2026)
    # Half of them before the first is recorded, where a run spends most of its time; the others as
    # soon as one more is recorded.
    half = count // 2
    moments = [calm.seconds * (number + chance.random()) / half for number in range(half)]
    moments += [None] * (count - half)
    chance.shuffle(moments)
    kills = between = classes = 0
    while kills < count:
        classes += 1
        root = tmp_path / f"class-{classes}"
        shutil.copytree(course, root)
        done = False
        while not done:
            before, known = len(begun(cluster.log)), stored(root)
            # Killed before the run was noted down, there is nothing to go on with yet.
            noted = (root / FOLDER / "runs" / "01_tiny.json").exists()
            call = quick_resume if noted else quick_grade
            process = start(call, root, scheduler=cluster.address)
            if kills == count:
                reached = never
            elif moments[kills] is None:
                reached = partial(has_recorded, root, recorded(root) + 1)
            else:
                reached = partial(has_computed, process, moments[kills])
            if kill_when(process, reached):
                kills += 1
                between += 0 < recorded(root) < len(STUDENTS) + 1
                wait_until(lambda: idle(cluster.log))
                again = len(begun(cluster.log)) - before - (stored(root) - known)
                # Those that ran, and those whose outcomes were on their way.
                assert 0 <= again <= 2 * WORKERS
            else:
                finish(process)
                executed = len(begun(cluster.log)) - before
                assert executed == len(STUDENTS) - known, "executed twice, or not at all"
                # A run that is faster than the one on the clock: the next moment is earlier.
                moments[kills:] = [moment and 0.9 * moment for moment in moments[kills:]]
                done = True
        assert state_of(root) == calm.state
        assert recorded(root) == len(STUDENTS) + 1
        assert quick_resume(root) == [], "it is finished"
        shutil.rmtree(root)
    # Half of them are aimed there; one that is the last to be recorded misses.
    assert between >= half // 2, "too few fell between the first and the last recorded one"


def test_a_worker_is_killed_in_the_middle(course, start, cluster, calm, tmp_path):
    root = tmp_path / "shot"
    shutil.copytree(course, root)
    process = start(quick_grade, root, scheduler=cluster.address)
    wait_until(lambda: begun(cluster.log))
    victim = int(begun(cluster.log)[0][1])
    next(worker for worker in cluster.workers if worker.pid == victim).kill()
    finish(process)
    names = [name for name, _ in begun(cluster.log)]
    assert set(names) == set(STUDENTS)
    assert len(names) <= len(STUDENTS) + 2, "what it did, and what it had just done"
    assert state_of(root) == calm.state


def test_the_scheduler_is_killed_in_the_middle(course, start, cluster, calm, tmp_path, monkeypatch):
    # How long it is looked for.
    monkeypatch.setitem(DASK_SETTINGS, "distributed.comm.timeouts.connect", "3s")
    root = tmp_path / "shot"
    shutil.copytree(course, root)
    # One that never reached a scheduler waits for it; that is not what is tested.
    with Client(cluster.address) as client:
        client.wait_for_workers(WORKERS, timeout=SECONDS)

    def shoot():
        wait_until(lambda: stored(root))
        cluster.scheduler.kill()

    shooter = threading.Thread(target=shoot)
    shooter.start()
    with pytest.raises(CourseError, match="scheduler is gone; go on with: course grade --resume"):
        quick_grade(root, scheduler=cluster.address)
    shooter.join()
    assert 0 < stored(root) < len(STUDENTS)
    # Nobody is left to give them orders.
    for worker in cluster.workers:
        worker.join(SECONDS)
        assert worker.exitcode is not None
    (tmp_path / "second").mkdir()
    second = Cluster(start, tmp_path / "second")
    known = stored(root)
    finish(start(quick_resume, root, scheduler=second.address))
    assert len(begun(second.log)) == len(STUDENTS) - known
    second.end()
    assert state_of(root) == calm.state


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_its_own_workers_end_with_the_command(course, start, cluster, calm, tmp_path, number):
    """However the command ends, its workers do, and the class can be resumed."""
    if number != signal.SIGINT and not answers.every:
        pytest.skip("make test ends it by Ctrl-C alone, the weekly run in each way")
    root, log = tmp_path / "killed", tmp_path / "own.txt"
    shutil.copytree(course, root)
    command = start(grade_in_a_session_of_its_own, root, str(log))
    wait_until(lambda: begun(log))
    where = {"scheduler": cluster.address}
    if number == signal.SIGKILL:
        # Workers take seconds to start: in one of the three a worker is killed first, and another
        # takes its place; that one resumes with workers of its own.
        os.kill(int(begun(log)[0][1]), signal.SIGKILL)
        wait_until(lambda: len({pid for _, pid in begun(log)}) > WORKERS or recorded(root) > 3)
        where = {"workers": WORKERS}
    family = psutil.Process(command.pid).children(recursive=True)
    assert family
    # A terminal tells Ctrl-C to all that it started, and its end to the command alone.
    tell = os.killpg if number == signal.SIGINT else os.kill
    tell(command.pid, number)
    command.join(SECONDS)
    assert command.exitcode not in (None, 0)
    _, alive = psutil.wait_procs(family, timeout=SECONDS)
    assert not alive
    assert len(begun(log)) <= len(STUDENTS) + 2 * WORKERS
    finish(start(quick_resume, root, **where))
    assert state_of(root) == calm.state
