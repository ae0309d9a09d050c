"""Run mutants against an exercise's checks: each in a fork that has the chapter's set-up behind it.

One process runs the locked cells of a chapter from the top; where a check stands, it forks for each
mutant. A fork runs the answer, then each check without its hidden tests, then each whole.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import os
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from course_utils.authoring.answer_files import read_cells
from course_utils.authoring.mutants.making import domain_of, mutants
from course_utils.authoring.mutants.trees import Mutant
from course_utils.authoring.source import read_source
from course_utils.cells import (
    HIDDEN_TESTS,
    exercise_of,
    grade_id,
    is_check,
    is_code,
    is_exercise,
    is_locked,
)
from course_utils.errors import CourseError
from course_utils.prctl import end_with
from course_utils.project import Chapter

# How a mutant ends.
VISIBLE, HIDDEN, SURVIVED = "visible", "hidden", "survived"
# A habit that had nothing to work on: no mutant at all.
IDLE = "idle"
SECONDS = 20
TIMES = 10
MEMORY_BYTES = 6 * 2**30
MODEL = "the model solution"


@dataclass(frozen=True)
class Answer:
    """A right answer that mutants are made of."""

    name: str
    source: str


@dataclass(frozen=True)
class Result:
    """What the checks made of one mutant.

    Attributes:
        verdict: refused by a visible case, by hidden tests alone, or not at all.
        kind: the name of the exception; ``"hangs"`` or ``"dies"`` where there was none.
        words: what the check said.
    """

    exercise: str
    answer: str
    mutant: Mutant
    verdict: str
    kind: str = ""
    words: str = ""


def right_answers(chapter: Chapter, exercise: str) -> list[Answer]:
    """The model solution, and every right answer under ``tests/answers``."""
    cells = read_source(chapter.source).cells
    found = [Answer(MODEL, cell.source) for cell in cells if grade_id(cell) == exercise]
    path = chapter.root / "tests" / "answers" / chapter.name / f"{exercise}.py"
    if path.exists():
        for cell in read_cells(path):
            if cell.options.get("right"):
                found.append(Answer(cell.options["right"], cell.source))
    return found


def mutants_of(chapter: Chapter, exercise: str) -> Iterator[tuple[Answer, Mutant]]:
    """All mutants of an exercise's right answers, each once; the model solution's come first.

    They are made as they are asked for: making them takes longer than running a few.
    """
    domain, seen = domain_of(chapter.name), set()
    for answer in right_answers(chapter, exercise):
        for mutant in mutants(answer.source, domain):
            if mutant.source not in seen:
                seen.add(mutant.source)
                yield answer, mutant


def mutants_of_the_model(chapter: Chapter, exercise: str) -> list[tuple[Answer, Mutant]]:
    """The mutants of the model solution alone, without making the others."""
    made = mutants_of(chapter, exercise)
    return list(itertools.takewhile(lambda entry: entry[0].name == MODEL, made))


def sampled(found: list, size: int | None, seed: str) -> list:
    """A seeded sample in the old order; a larger one has a smaller one. All if ``size`` is None."""
    if size is None or size >= len(found):
        return found
    chosen = set(random.Random(seed).sample(range(len(found)), len(found))[:size])
    return [entry for number, entry in enumerate(found) if number in chosen]


def run(
    chapter: Chapter,
    choose: Callable[[str], list[tuple[Answer, Mutant]]],
    exercises: list[str],
    seconds: float = SECONDS,
) -> Iterator[Result]:
    """Run the mutants of a chapter's exercises, in order.

    This process runs the locked cells, which stay in it: see :func:`apart`.

    Args:
        choose: an exercise's mutants, from its name.
        exercises: which.
        seconds: the limit of one mutant; at least ten times what the model solution takes.
    """
    cells = [cell for cell in read_source(chapter.source).cells if is_code(cell)]
    settle()
    namespace: dict[str, Any] = {"__name__": "__main__"}
    left = set(exercises)
    for place, cell in enumerate(cells):
        if not left:
            return
        name = exercise_of(grade_id(cell)) if is_check(cell) else ""
        if is_locked(cell):
            execute(cell.source, grade_id(cell), namespace)
        elif name in left:
            checks = [
                later
                for later in cells[place:]
                if is_locked(later) or (is_check(later) and exercise_of(grade_id(later)) == name)
            ]
            last = max(n for n, later in enumerate(checks) if is_check(later))
            left.discard(name)
            trial = Trial(checks[: last + 1], namespace)
            model = right_answers(chapter, name)[0]
            began = time.monotonic()
            right = trial.run(model.source, seconds * TIMES)
            limit = max(seconds, TIMES * (time.monotonic() - began))
            if right["verdict"] != SURVIVED:
                raise RuntimeError(f"{chapter.name}, {name}: the model solution fails: {right}")
            for answer, mutant in choose(name):
                came = trial.run(mutant.source, limit)
                if came["verdict"] != IDLE:
                    yield Result(name, answer.name, mutant, **came)


def apart(
    chapter: Chapter,
    choose: Callable[[str], list[tuple[Answer, Mutant]]],
    exercises: list[str],
) -> Iterator[Result]:
    """As :func:`run`, in a process that ends with it: nothing of the chapter stays in this one.

    Raises:
        CourseError: that process fails; its traceback stands below.
    """
    reader, writer = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            _end_with(parent)
            os.close(reader)
            with os.fdopen(writer, "w") as lines:
                try:
                    for result in run(chapter, choose, exercises):
                        lines.write(json.dumps(asdict(result)) + "\n")
                        lines.flush()
                    lines.write("null\n")
                    status = 0
                except BaseException:
                    lines.write(json.dumps(traceback.format_exc()) + "\n")
        finally:
            os._exit(status)
    os.close(writer)
    end: Any = "it ended without a word"
    with os.fdopen(reader) as lines:
        for line in lines:
            end = json.loads(line)
            if isinstance(end, dict):
                end["mutant"] = Mutant(**end["mutant"])
                yield Result(**end)
    os.waitpid(pid, 0)
    if end is not None:
        raise CourseError(f"{chapter.name}: its mutants could not be run", str(end))


def _end_with(parent: int) -> None:
    """End when the parent is killed, where the system can do that: a mutant may never end."""
    if sys.platform.startswith("linux"):
        end_with(parent)


def settle() -> None:
    """Import what every chapter uses, once, and compute in one thread: forks have no other."""
    from course_utils.kernels import template, template_process

    os.environ["COURSE_PICTURES"] = "words"
    torch = importlib.import_module("torch")
    importlib.import_module("torch._dynamo")
    importlib.import_module("matplotlib.pyplot").switch_backend("agg")
    torch.set_num_threads(1)
    if template.supported():
        template_process.make_forks_quick()


def execute(source: str, name: str, namespace: dict[str, Any]) -> None:
    """Run a cell's text; nothing that it prints is seen."""
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        exec(compile(source, f"<{name}>", "exec", dont_inherit=True), namespace)


class Trial:
    """An exercise's checks, and the namespace that they start from.

    Args:
        cells: the checks, and the locked cells between them.
        namespace: what the locked cells above made.
    """

    def __init__(self, cells: list, namespace: dict[str, Any]) -> None:
        self.cells, self.namespace = cells, namespace

    def run(self, source: str, seconds: float) -> dict[str, str]:
        """Run one answer in a fork; its verdict, kind and words."""
        reader, writer = os.pipe()
        folder = tempfile.mkdtemp(prefix="course-mutant-")
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                _end_with(parent)
                os.close(reader)
                self._in_the_fork(source, writer, folder)
            finally:
                os._exit(0)
        os.close(writer)
        try:
            return _heard(reader, seconds)
        finally:
            os.close(reader)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            shutil.rmtree(folder, ignore_errors=True)

    def _in_the_fork(self, source: str, writer: int, folder: str) -> None:
        import torch

        os.setsid()
        os.chdir(folder)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
        torch.set_num_threads(1)
        warnings.simplefilter("ignore")
        told = json.dumps(self._judged(source)).encode(errors="replace")
        with os.fdopen(writer, "wb") as file:
            file.write(told)

    def _judged(self, source: str) -> dict[str, str]:
        from course_utils.learner import as_it_was

        try:
            execute(source, "the answer", self.namespace)
            verdict = HIDDEN
            for text in (_visible, str):
                for cell in self.cells:
                    if is_check(cell):
                        as_it_was.begin(cell.source, "<the answer>")
                        verdict = VISIBLE if text is _visible else HIDDEN
                        execute(text(cell.source), grade_id(cell), self.namespace)
                    elif text is _visible:
                        execute(cell.source, grade_id(cell), self.namespace)
        except BaseException as error:
            left = as_it_was.end()
            words = "\n".join([str(error), *left])[:4000]
            kind = type(error).__name__
            return {"verdict": locals().get("verdict", VISIBLE), "kind": kind, "words": words}
        return {"verdict": IDLE if self.namespace.get("_acted") == [] else SURVIVED}


def _visible(source: str) -> str:
    return HIDDEN_TESTS.sub("", source)


def _heard(reader: int, seconds: float) -> dict[str, str]:
    """What a fork says before it closes its pipe, or that it hangs or died."""
    said, end = b"", time.monotonic() + seconds
    while True:
        if not select.select([reader], [], [], max(0.0, end - time.monotonic()))[0]:
            return {"verdict": VISIBLE, "kind": "hangs", "words": f"no end in {seconds:.0f} s"}
        part = os.read(reader, 2**16)
        if not part:
            break
        said += part
    try:
        return json.loads(said)
    except ValueError:
        return {"verdict": VISIBLE, "kind": "dies", "words": "the process ended"}


def exercises_in(chapter: Chapter) -> list[str]:
    """The exercises of a chapter that have a check, in order."""
    cells = read_source(chapter.source).cells
    checked = {exercise_of(grade_id(cell)) for cell in cells if is_check(cell)}
    return [grade_id(cell) for cell in cells if is_exercise(cell) and grade_id(cell) in checked]


def list_of(chapter: Chapter) -> Path:
    """The file that lists a chapter's known survivors."""
    return chapter.root / "tests" / "mutants" / f"{chapter.name}.toml"
