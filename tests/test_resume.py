"""Killed at any moment, ``course grade --resume`` makes the same class of it, and nothing twice."""

import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import psutil
import pytest

from course_utils.command.build import build_into_place, read_notebook
from course_utils.grading.cache import FOLDER
from support.answers import ROOT
from support.classroom import fill_in
from support.quick import LOG, quick_grade, quick_resume, state_of
from support.tiny import make_tiny_course

DASK = Path(sys.executable).with_name("dask")
STUDENTS = ["ada", "bob", "cleo", "dan"]
MOMENTS = 20
# Far more than anything takes: a busy machine is no failure.
SECONDS = 240


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The tiny course with four submissions and one that is no notebook."""
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
    context.set_forkserver_preload(
        ["support.quick", "course_utils.command.record", "course_utils.grading.pool", "distributed"]
    )

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


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A Dask scheduler and two workers, each a process of its own."""
    folder = tmp_path_factory.mktemp("cluster")
    note = folder / "scheduler.json"
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]),
        LOG: str(folder / "executed.txt"),
    }
    address = ["--scheduler-file", str(note)]
    commands = [
        ["scheduler", "--host=127.0.0.1", "--port=0", "--no-dashboard", *address],
        *2 * [["worker", "--nthreads=1", "--no-nanny", "--no-dashboard", *address]],
    ]
    processes = [
        subprocess.Popen(
            [DASK, *command],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for command in commands
    ]
    try:
        deadline = time.monotonic() + SECONDS
        while not note.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        yield note_address(note), processes, folder / "executed.txt"
    finally:
        for process in processes:
            process.kill()
            process.wait()


def note_address(note):
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            return json.loads(note.read_text())["address"]
        except (OSError, ValueError):
            time.sleep(0.05)
    raise TimeoutError("the scheduler does not start")


def finish(process):
    process.join(SECONDS)
    assert process.exitcode == 0


def executed(log):
    return log.read_text().split() if log.exists() else []


def test_twenty_kills(course, start, cluster, tmp_path):
    address, _, log = cluster
    calm, timed = tmp_path / "calm", tmp_path / "timed"
    shutil.copytree(course, calm)
    shutil.copytree(course, timed)
    finish(start(quick_grade, calm, scheduler=address))
    expected = state_of(calm)
    # The first run waited for the workers to import everything.
    begin = time.monotonic()
    finish(start(quick_grade, timed, scheduler=address))
    duration = time.monotonic() - begin
    assert state_of(timed) == expected, "two undisturbed runs differ"
    assert len({row[0] for row in expected["marks"]}) == len(STUDENTS) + 1
    assert expected["version"], "nbgrader's own note of the tables' version"

    chance = random.Random(2026)
    ends = {"killed": 0, "between": 0}
    for number in range(MOMENTS):
        # One moment in each twentieth of the run.
        moment = duration * (number + chance.random()) / MOMENTS
        root = tmp_path / f"killed-{number}"
        shutil.copytree(course, root)
        process = start(quick_grade, root, scheduler=address)
        process.join(moment)
        process.kill()
        process.join(SECONDS)
        ends["killed"] += process.exitcode == -signal.SIGKILL
        known = len(list((root / FOLDER / "outcomes").glob("*.json")))
        recorded = len(list((root / FOLDER / "recorded").glob("*/*.json")))
        ends["between"] += 0 < recorded < len(STUDENTS) + 1
        # What the killed run had given to the workers is over before the log is read.
        time.sleep(0.3)
        before = len(executed(log))
        finish(start(quick_resume, root, scheduler=address))
        begun = (root / FOLDER / "runs").exists()
        if not begun:
            # Killed before the run was noted down: there is nothing to go on with yet.
            finish(start(quick_grade, root, scheduler=address))
        assert state_of(root) == expected, f"killed after {moment:.2f} s of {duration:.2f}"
        assert len(executed(log)) - before == len(STUDENTS) - known, "executed twice"
        shutil.rmtree(root)
    assert ends["killed"] >= MOMENTS // 2
    assert ends["between"] >= 2, "no moment fell between the first and the last recorded one"


def test_a_worker_is_killed_in_the_middle(course, start, cluster, tmp_path):
    """Last in this file that uses the cluster, since it loses a worker."""
    address, processes, log = cluster
    calm, root = tmp_path / "calm", tmp_path / "shot"
    for copy in (calm, root):
        shutil.copytree(course, copy)
    finish(start(quick_grade, calm, scheduler=address))
    before = len(executed(log))
    process = start(quick_grade, root, scheduler=address)
    deadline = time.monotonic() + SECONDS
    while len(executed(log)) == before and time.monotonic() < deadline:
        time.sleep(0.01)
    processes[-1].kill()
    finish(process)
    assert state_of(root) == state_of(calm)


def test_its_own_workers_end_with_a_killed_command(course, start, tmp_path, monkeypatch):
    monkeypatch.setenv(LOG, str(tmp_path / "executed.txt"))
    calm, root = tmp_path / "calm", tmp_path / "killed"
    for copy in (calm, root):
        shutil.copytree(course, copy)
    process = start(quick_grade, root, workers=2)
    own = psutil.Process(process.pid)
    deadline = time.monotonic() + SECONDS
    while not (root / FOLDER / "outcomes").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    family = own.children(recursive=True)
    assert family
    process.kill()
    process.join(SECONDS)
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive
    finish(start(quick_resume, root, workers=2))
    finish(start(quick_grade, calm, workers=2))
    assert state_of(root) == state_of(calm)
