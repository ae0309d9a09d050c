"""Run the solution notebooks again with nbval and compare every output with the stored one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table
from rich.text import Text

from course_utils.authoring.build import CELL_TIMEOUT_SECONDS
from course_utils.command.progress import progress_bar
from course_utils.copies.copying import add_other_files, copy_of
from course_utils.errors import CourseError
from course_utils.kernels.template import warm_environment
from course_utils.notebooks import read_notebook, write_notebook
from course_utils.project import Chapter
from course_utils.system import cores

# Colour codes, as they are and as pytest's XML spells them.
COLOUR_CODE = re.compile(r"(?:\x1b|#x1B)\[[0-9;]*m")


@dataclass(frozen=True)
class Verdict:
    """What nbval made of one chapter.

    ``failures`` holds pairs of a cell's name and nbval's report on it; ``problem`` says why the
    notebook could not be run at all, and is empty where it could.
    """

    chapter: str
    cells: int
    seconds: float
    failures: list[tuple[str, str]]
    problem: str = ""

    @property
    def good(self) -> bool:
        return not self.failures and not self.problem


def verify(
    chapters: list[Chapter],
    workers: int | None = None,
    *,
    console: Console,
    own: Path | None = None,
) -> list[Verdict]:
    """Verify the chapters, several at once, each in a process of its own.

    Args:
        chapters: which ones; their solution notebooks have to be built.
        workers: how many at once; by default one per core.
        console: where the progress bar is drawn.
        own: a learner's folder, whose copies are run instead of the solution notebooks.

    Returns:
        One verdict per chapter, in the chapters' order.
    """
    workers = max(1, min(len(chapters), workers or cores()))
    with progress_bar(console) as progress:
        total = sum(count_cells(stored(chapter, own)) for chapter in chapters)
        task = progress.add_task("cells", total=total)
        with warm_environment() as kernels, ThreadPoolExecutor(workers) as pool:
            return list(
                pool.map(
                    lambda chapter: verify_chapter(
                        chapter, workers, lambda: progress.advance(task), kernels, own
                    ),
                    chapters,
                )
            )


def stored(chapter: Chapter, own: Path | None) -> Path:
    """The notebook whose outputs are compared: a chapter's solution, or a learner's copy."""
    return copy_of(own, chapter) if own else chapter.solution


def what_was_run(copy: Path, into: Path) -> Path:
    """A learner's copy for nbval: only of a cell that was run there is an output to compare."""
    notebook = read_notebook(copy)
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.execution_count is None:
            cell.metadata["tags"] = [*cell.metadata.get("tags", []), "nbval-ignore-output"]
    write_notebook(notebook, into / copy.name)
    return into / copy.name


def count_cells(notebook: Path) -> int:
    try:
        return len(code_cells(notebook))
    except CourseError:
        return 0


def code_cells(notebook: Path) -> list[str]:
    """The ids of a notebook's code cells: nbval counts these alone, from zero."""
    cells = read_notebook(notebook).cells
    return [cell.get("id", "?") for cell in cells if cell.cell_type == "code"]


def verify_chapter(
    chapter: Chapter,
    workers: int,
    advance: Callable[[], None],
    kernels: Mapping[str, str] | None = None,
    own: Path | None = None,
) -> Verdict:
    """Run nbval on one chapter and call ``advance`` after every cell.

    Args:
        chapter: which one.
        workers: how many share the cores.
        advance: called after every cell.
        kernels: variables that say how kernels start; as usual if not given.
        own: a learner's folder, whose copy is run.
    """
    start = time.monotonic()
    notebook = stored(chapter, own)
    try:
        names = code_cells(notebook)
    except CourseError as error:
        return Verdict(chapter.name, 0, 0.0, [], error.message)
    with tempfile.TemporaryDirectory(prefix="course-verify-") as folder:
        results = Path(folder) / "results.xml"
        if own:
            notebook = what_was_run(notebook, Path(folder))
            add_other_files(chapter, Path(folder))
        process = subprocess.Popen(
            nbval_command(notebook, chapter.root, results),
            cwd=folder,
            env=nbval_environment(workers) | dict(kernels or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        output = []
        try:
            assert process.stdout is not None
            for line in process.stdout:
                output.append(line)
                if re.search(r"::Cell \d+ [A-Z]+", line):
                    advance()
            process.wait()
        finally:
            process.kill()
            process.wait()
        seconds = time.monotonic() - start
        failures = read_failures(results, names) if results.exists() else []
    problem = ""
    if process.returncode != 0 and not failures:
        problem = f"{stored(chapter, own)}: nbval ended without a result\n{''.join(output)}"
    return Verdict(chapter.name, len(names), seconds, failures, problem)


def nbval_command(notebook: Path, root: Path, results: Path) -> list[str]:
    """pytest with nbval and nothing else: no settings, plugins or caches of the project."""
    return [
        *(sys.executable, "-m", "pytest"),
        *("-c", os.devnull, "--rootdir", str(results.parent), "--noconftest"),
        # Or pytest looks through the folders around it, up to the top: where tens of thousands of
        # files lie beside the course, that takes longer than the chapter.
        *("--confcutdir", str(notebook.parent)),
        *("-p", "course_utils.lean_imports", "-p", "nbval", "-p", "no:cacheprovider"),
        "--nbval",
        *("--nbval-sanitize-with", str(root / "nbval_sanitize.cfg")),
        *("--nbval-cell-timeout", str(CELL_TIMEOUT_SECONDS)),
        *("--verbose", "--color=no", f"--junitxml={results}"),
        str(notebook),
    ]


def nbval_environment(workers: int) -> dict[str, str]:
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("PYTEST_")}
    # Two kernels that each compute with every core are slower than two that share them.
    threads = str(max(1, cores() // workers))
    return environment | {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "COURSE_PICTURES": "rough",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", threads),
    }


def read_failures(results: Path, names: list[str]) -> list[tuple[str, str]]:
    """Pairs of cell name and report, out of pytest's XML."""
    failures = []
    for case in ElementTree.parse(results).iter("testcase"):
        for kind in ("failure", "error"):
            report = case.find(kind)
            if report is None:
                continue
            number = re.fullmatch(r"Cell (\d+)", case.get("name", ""))
            name = f"cell {names[int(number[1])]}" if number else "the notebook"
            failures.append((name, COLOUR_CODE.sub("", report.text or "").strip()))
    return failures


def show(verdicts: list[Verdict], console: Console) -> None:
    """Print the failing cells' reports, then the table of chapters."""
    for verdict in verdicts:
        if verdict.problem:
            console.print(Text(verdict.problem), soft_wrap=True)
        for name, report in verdict.failures:
            console.rule(Text(f"{verdict.chapter}: {name}", style="red"))
            console.print(Text(report), soft_wrap=True)
    table = Table()
    table.add_column("chapter", no_wrap=True)
    for heading in ("cells", "seconds"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    for verdict in verdicts:
        words = "[green]same outputs[/green]"
        if verdict.problem:
            words = "[red]not run[/red]"
        elif verdict.failures:
            words = f"[red]{len(verdict.failures)} failed[/red]"
        table.add_row(verdict.chapter, str(verdict.cells), f"{verdict.seconds:.1f}", words)
    console.print(table)
