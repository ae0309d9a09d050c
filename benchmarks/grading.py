"""How long grading a class takes: nbgrader as it ships, ``course grade`` plain, and sandboxed.

Run it with ``make bench``. Every way grades the same submissions in a throw-away course of its own.
The ways take turns, round by round, so that a machine's moods meet all of them. A submission is the
released notebook with a named right or wrong answer of ``tests/answers/`` in each exercise; no two
submissions are the same.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean

import click
import nbformat
import psutil
from rich.console import Console
from rich.table import Table

from course_utils.learner.servers.server import free_port
from course_utils.project import Chapter, pick_chapters
from support.answers import ROOT, exercises, model_answer, read_answers
from support.classroom import fill_in, make_course

FLAGSHIP = "02_storage_and_strides"
TOOLS = Path(sys.executable).parent
STOCK_SETTINGS = """c = get_config()
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "notebooks"
c.CourseDirectory.ignore = [".ipynb_checkpoints", "__pycache__", "*.pyc", "[0-9][0-9]_*.py"]
"""


@dataclass
class Run:
    """One way of grading, measured.

    Attributes:
        name: what the table calls it.
        submissions: how many were graded.
        seconds: wall time of the whole command.
        phases: median seconds per submission, by phase, where the command tells.
        memory: bytes of the whole process tree, shared pages once, each few seconds.
        points: every student's score, to see that all ways agree.
    """

    name: str
    submissions: int
    seconds: float
    phases: dict[str, float] = field(default_factory=dict)
    memory: list[int] = field(default_factory=list)
    points: dict[str, float] = field(default_factory=dict)

    @property
    def a_submission(self) -> float:
        """Seconds of wall time for each submission."""
        return self.seconds / self.submissions

    @property
    def share_of_cells(self) -> float:
        """What part of the work on a submission is the student's own cells, from 0 to 1."""
        work = sum(self.phases.get(name, 0) for name in ("sanitise", "all", "record"))
        return self.phases.get("cells", 0) / work if work else 0

    def mean_memory_of_halves(self) -> tuple[float, float]:
        """Bytes, on average, in the first and in the second half of the run."""
        middle = len(self.memory) // 2
        return fmean(self.memory[:middle] or [0]), fmean(self.memory[middle:] or [0])

    def limit(self, workers: int) -> float:
        """Seconds for each submission, if there were nothing to do but the student's own cells."""
        return self.phases.get("cells", 0) / min(workers, os.cpu_count() or 1)


def hand_in(course: Chapter, count: int) -> None:
    """Make ``count`` submissions, each another choice among the named answers."""
    named = read_answers(course)
    choices = {
        exercise: [model_answer(course, exercise).source]
        + [answer.source for answer in named if answer.exercise == exercise]
        for exercise in exercises(course)
    }
    release = course.release.read_text(encoding="utf-8")
    for number in range(count):
        notebook = nbformat.reads(release, as_version=4)
        fill_in(
            notebook,
            {
                exercise: f"# submission {number}\n"
                + sources[(number // (place + 1)) % len(sources)]
                for place, (exercise, sources) in enumerate(choices.items())
            },
        )
        path = course.root / "submitted" / f"student-{number:03}" / course.name
        path.mkdir(parents=True)
        nbformat.write(notebook, path / f"{course.name}.ipynb")


def prepare(chapter: Chapter, folder: Path, count: int) -> Chapter:
    folder.mkdir()
    course = make_course(chapter, folder)
    hand_in(course, count)
    return course


def measure(name: str, command: list[str], folder: Path, count: int = 1) -> Run:
    """Run a command to its end and watch the memory of everything that it starts."""
    began = time.monotonic()
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    memory: list[int] = []
    done = threading.Event()

    def watch() -> None:
        # Adding up the memory of large processes takes time of its own.
        while not done.wait(5):
            memory.append(tree_memory(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    output, _ = process.communicate()
    done.set()
    watcher.join()
    seconds = time.monotonic() - began
    if process.returncode != 0:
        raise click.ClickException(
            f"{' '.join(command)} ended with {process.returncode}:\n{output}"
        )
    return Run(name, count, seconds, memory=memory)


def tree_memory(pid: int) -> int:
    """The proportional memory of a process and its descendants, in bytes."""
    total = 0
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    for member in family:
        try:
            lines = Path(f"/proc/{member.pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def scores(folder: Path, chapter: str) -> dict[str, float]:
    """Every student's score, out of the gradebook."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        return {
            submission.student_id: submission.score
            for submission in gradebook.assignment_submissions(chapter)
        }


def stock(chapter: Chapter, folder: Path, count: int) -> Run:
    """nbgrader with no setting of ours but where the folders are."""
    course = prepare(chapter, folder, count)
    (folder / "nbgrader_config.py").write_text(STOCK_SETTINGS, encoding="utf-8")
    shutil.rmtree(folder / "notebooks")
    (folder / "gradebook.db").unlink()
    nbgrader = str(TOOLS / "nbgrader")
    subprocess.run(
        [nbgrader, "generate_assignment", course.name], cwd=folder, check=True, capture_output=True
    )
    command = [nbgrader, "autograde", course.name]
    run = measure("nbgrader autograde, as it ships", command, folder, count)
    run.points = scores(folder, course.name)
    return run


def ours(chapter: Chapter, folder: Path, count: int, name: str, options: list[str]) -> Run:
    """``course grade``, which also judges apart, writes feedback, exports and reports."""
    course = prepare(chapter, folder, count)
    run = measure(name, [str(TOOLS / "course"), "grade", course.name, *options], folder, count)
    run.points = scores(folder, course.name)
    report = json.loads((folder / "reports" / course.name / "report.json").read_text())
    run.phases = report["run"]["phases"]
    return run


@contextmanager
def cluster(workers: int) -> Generator[str]:
    """The address of a Dask scheduler on this machine with so many workers."""
    address = f"tcp://127.0.0.1:{free_port()}"
    dask = str(TOOLS / "dask")
    scheduler = [dask, "scheduler", "--host", address, "--no-dashboard"]
    worker = [dask, "worker", address, "--nworkers", str(workers), "--nthreads", "1"]
    worker += ["--memory-limit", "0", "--no-dashboard"]
    with tempfile.TemporaryDirectory(prefix="course-bench-dask-") as folder:
        started = [
            subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
            for command in (scheduler, worker)
        ]
        try:
            yield address
        finally:
            for process in reversed(started):
                process.terminate()
            for process in started:
                process.wait(30)


def verify(plain: bool) -> float:
    """Seconds that nbval takes over the course's notebooks: as it is, or by ``course verify``."""
    if plain:
        notebooks = [str(chapter.solution) for chapter in pick_chapters(ROOT, [])]
        sanitize = str(ROOT / "nbval_sanitize.cfg")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval"]
        command += ["-c", os.devnull, "--nbval-sanitize-with", sanitize, *notebooks]
    else:
        command = [str(TOOLS / "course"), "verify", "--workers", "1"]
    return measure("verify", command, ROOT).seconds


Way = Callable[[Path], Run]


@click.command()
@click.option("--chapter", default=FLAGSHIP, show_default=True)
@click.option("--submissions", default=40, show_default=True)
@click.option("--workers", default=2, show_default=True)
@click.option("--rounds", default=2, show_default=True, help="How often the ways take turns.")
@click.option("--without-stock", is_flag=True, help="Leave out nbgrader as it ships, the slow one.")
@click.option("--scheduler", is_flag=True, help="Also by a Dask scheduler on this machine.")
@click.option(
    "--growth",
    is_flag=True,
    help="Only sandboxed, for as many submissions, for six and for ten times as many: does each "
    "cost the same in a large class, and does memory stay?",
)
def main(
    chapter: str,
    submissions: int,
    workers: int,
    rounds: int,
    without_stock: bool,
    scheduler: bool,
    growth: bool,
) -> None:
    """Measure ways of grading a class, and two of re-executing the course."""
    (source,) = pick_chapters(ROOT, [chapter])
    console = Console()

    def here(isolation: str, folder: Path, count: int = submissions) -> Run:
        options = ["--workers", str(workers), "--isolation", isolation]
        return ours(source, folder, count, f"course grade --isolation {isolation}", options)

    with tempfile.TemporaryDirectory(prefix="course-bench-") as temporary:
        place = Path(temporary)
        if growth:
            counts = (submissions, 6 * submissions, 10 * submissions)
            runs: list[Run] = []
            for count in counts:
                runs.append(here("bwrap", place / str(count), count))
                console.print(f"{count} submissions: {runs[-1].a_submission:.2f} s each")
            show(console, runs, workers)
            few = runs[0]
            for many in runs[1:]:
                more = many.submissions - few.submissions
                marginal = (many.seconds - few.seconds) / more
                console.print(
                    f"each submission from {few.submissions} to {many.submissions}: "
                    f"{marginal:.2f} s, {marginal / many.limit(workers):.2f} of the limit"
                )
                # A peak is higher the longer a run is looked at, though nothing grows.
                first, second = many.mean_memory_of_halves()
                console.print(
                    f"{many.submissions} submissions: {first / 2**20:.0f} MiB on average in the "
                    f"first half of the run, {second / 2**20:.0f} MiB in the second"
                )
            return
        ways: list[Way] = [] if without_stock else [lambda place: stock(source, place, submissions)]
        ways += [partial(here, isolation) for isolation in ("none", "bwrap")]
        if scheduler:
            ways.append(lambda place: by_scheduler(source, place, submissions, workers))
        runs = take_turns(ways, rounds, place)
    show(console, runs, workers)
    agree(runs)
    plain, warm = verify(plain=True), verify(plain=False)
    console.print(
        f"nbval over the course: {plain:.1f} s; course verify, one at a time on warm kernels: "
        f"{warm:.1f} s, {plain / warm:.1f} times as fast"
    )


def by_scheduler(chapter: Chapter, folder: Path, count: int, workers: int) -> Run:
    with cluster(workers) as address:
        name = "course grade --scheduler"
        return ours(chapter, folder, count, name, ["--scheduler", address])


def take_turns(ways: list[Way], rounds: int, place: Path) -> list[Run]:
    """Every way once a round; of each the run in the middle, the slower one of two."""
    found: list[list[Run]] = [[] for _ in ways]
    for turn in range(rounds):
        for number, way in enumerate(ways):
            found[number].append(way(place / f"{turn}-{number}"))
    return [sorted(runs, key=lambda run: run.seconds)[len(runs) // 2] for runs in found]


def show(console: Console, runs: list[Run], workers: int) -> None:
    """Print a table: the limit is what the student's own cells alone would take on these cores."""
    table = Table(title=f"{workers} workers, {os.cpu_count()} cores")
    for heading in (
        *("way", "submissions", "seconds", "a submission", "ratio", "of the limit"),
        "peak memory, MiB",
    ):
        table.add_column(heading, justify="left" if heading == "way" else "right")
    for run in runs:
        limit = run.limit(workers)
        table.add_row(
            run.name,
            f"{run.submissions}",
            f"{run.seconds:.1f}",
            f"{run.a_submission:.2f}",
            f"{runs[0].a_submission / run.a_submission:.1f}",
            f"{run.a_submission / limit:.2f}" if limit else "",
            f"{max(run.memory, default=0) / 2**20:.0f}",
        )
    console.print(table)
    for run in runs:
        if run.phases:
            words = ", ".join(f"{name} {seconds:.3f}" for name, seconds in run.phases.items())
            console.print(
                f"{run.name}: median seconds of a submission: {words}; "
                f"{run.share_of_cells:.0%} of the work is the student's own cells"
            )


def agree(runs: list[Run]) -> None:
    """Make sure that all ways of ours gave the same marks."""
    ours = [run for run in runs if run.phases]
    if len({tuple(sorted(run.points.items())) for run in ours}) > 1:
        raise click.ClickException("two ways gave different marks")


if __name__ == "__main__":
    main()
