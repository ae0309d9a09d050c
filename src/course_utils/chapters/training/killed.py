"""Exercise 13.4: a process that is killed at every moment of a save."""

from __future__ import annotations

import collections
import contextlib
import os
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import cloudpickle
import torch

from course_utils.learner.awkward import replaced
from course_utils.learner.processes import forks, run_in_process
from course_utils.learner.tracebacks import what_was_raised


class Killed(BaseException):
    """What ends the work where no process can be killed for it; no file is changed after it."""


class Fate:
    """Ends this process at its n-th dangerous moment in ``folder``. Being pickled is one.

    Where a process can't be forked, one that is started afresh for each moment would take minutes.
    There it is the work that ends, by an exception; and whatever it still tries, the folder stays.
    """

    def __init__(self, moment: int, folder: str, report: str) -> None:
        self.moment, self.folder, self.report, self.busy = moment, folder, report, False
        self.dead = False
        sys.addaudithook(self.hook)

    def here(self, what: str) -> None:
        if self.moment == 0:
            self.busy = True
            _tell(self.report, what)
            if forks():
                os._exit(9)
            self.dead, self.busy = True, False
        if self.dead:
            raise Killed
        self.moment -= 1

    def hook(self, event: str, args: tuple) -> None:
        if event not in ("open", "os.rename", "os.remove", "os.link", "os.symlink") or self.busy:
            return
        paths = [os.fspath(arg) for arg in args[:2] if isinstance(arg, (str, os.PathLike))]
        mine = [path for path in paths if path.startswith(self.folder)]
        self.busy = True
        try:
            if mine and self.dead:
                raise Killed
            if mine:
                self.look(event, mine, args)
        finally:
            self.busy = False

    def __reduce__(self):
        self.here("in the middle of torch.save")
        return collections.OrderedDict, ()

    def look(self, event: str, paths: list[str], args: tuple) -> None:
        """The dangerous moments of one event."""
        name = os.path.basename(paths[-1])
        if event != "open":
            self.here(f"before the {event[3:]} of {name}")
        elif args[2] is not None and args[2] & (os.O_WRONLY | os.O_RDWR):
            self.here(f"before {name} is opened for writing")
            if args[2] & os.O_TRUNC:
                os.close(os.open(paths[0], os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
                self.here(f"while {name} is being written")


def in_a_child(work) -> bool:
    """Do ``work()`` in a copy of this process; whether it came to its end.

    The copy is a fork; where there is none, a fresh Python that is sent what ``work`` uses.
    """
    if not forks():
        return run_in_process(_do, work).exitcode == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads
        pid = os.fork()
    if pid == 0:
        _do(work)
    return os.waitpid(pid, 0)[1] == 0


def _as_in_a_child(work: Callable, *given: Any) -> bool:
    """Do ``work(*given)`` here, with copies of what it uses; whether it came to its end.

    What it changes of a notebook's names, its caller doesn't see.
    """
    copy, here = cloudpickle.loads(cloudpickle.dumps(work)), os.getcwd()
    try:
        copy(*given)
    except Killed:
        return False
    finally:
        os.chdir(here)
    return True


def _do(work) -> NoReturn:
    code = 1
    try:
        torch.set_num_threads(1)
        work()
        code = 0
    finally:
        os._exit(code)


def done_elsewhere(work: Callable, *given: Any) -> None:
    """Do ``work(*given)`` in another process than this one, which then knows nothing of it."""
    ended = in_a_child(lambda: work(*given)) if forks() else _as_in_a_child(work, *given)
    assert ended, "called in another process, it did not come to its end"


def told_of_each(works: Sequence[Callable]) -> list[str]:
    """Words for what each of these raised, in a process that knows nothing of earlier calls.

    All run in one, one after the other: a fork takes its time.
    """
    with tempfile.TemporaryDirectory() as folder:
        notes = [os.path.join(folder, str(number)) for number in range(len(works))]

        def telling() -> None:
            for work, note in zip(works, notes, strict=True):
                words = ""
                try:
                    work()
                except AssertionError as error:
                    words = str(error)
                except Exception as error:
                    words = f"it {what_was_raised(error)}"
                _tell(note, words)

        in_a_child(telling) if forks() else _as_in_a_child(telling)
        return [_told(note) if os.path.exists(note) else "its process was ended" for note in notes]


def without_waiting() -> replaced:
    """A context in which fsync() returns at once: no disk is switched off in it."""
    return replaced(os, "fsync", lambda fd: None)


def made_in_a_child(make: Callable, *given: Any) -> Any:
    """What ``make(*given)`` returns in a process that ends then, as a plain ``torch.load`` has it.

    Raises AssertionError where that process doesn't come to its end.
    """
    python = random.getstate()
    with _note() as note:

        def making(*given: Any) -> None:
            random.setstate(python)  # a fork seeds this one anew
            torch.save(make(*given), note)

        done_elsewhere(making, *given)
        return torch.load(note)


def resume_from_a_child(resume: Callable, run: Any, state: Any) -> None:
    """``resume(run, state)``, with words for a state that needs what another process holds."""
    try:
        resume(run, state)
    except (LookupError, TypeError, AttributeError) as error:
        words = f"exact_resume {what_was_raised(error)}; another process saved the "
        raise AssertionError(words + "state, so all that it takes has to be in it") from error
    except RuntimeError as error:
        if "must match the size" not in str(error):
            raise
        words = f"exact_resume raised RuntimeError: {error}; was a tensor of the state written "
        words += "into the run's own? Before its first step run.order is empty: assign it"
        raise AssertionError(words) from error


@contextlib.contextmanager
def _note() -> Generator[str]:
    """A file for what another process tells, in a folder that no answer looks into."""
    with tempfile.TemporaryDirectory() as folder:
        yield os.path.join(folder, "note")


def _tell(note: str, words: str) -> None:
    Path(note).write_text(words[:2000], encoding="utf-8", errors="replace")


def _told(note: str) -> str:
    return Path(note).read_text(encoding="utf-8") if os.path.exists(note) else ""


def contents(folder: str) -> dict:
    """For each file ``*.pt``: its step, score and state's sum, or None where it can't be loaded.

    Where it holds more than these three, the names of what is too much stand behind them.
    """
    found = {}
    for name in sorted(name for name in os.listdir(folder) if name.endswith(".pt")):
        try:
            entry = torch.load(os.path.join(folder, name))
            more = [f"and {key!r}" for key in entry if key not in ("state", "step", "score")]
            total = float(entry["state"]["weight"].sum())
            found[name] = (entry["step"], entry["score"], total, *more)
        except Exception:
            found[name] = None
    return found


def every_moment(prepare, work, look=contents) -> list[tuple[str, Any]]:
    """Kill ``work(folder, fate)`` at each moment in turn: where, and ``look(folder)`` then."""
    outcomes = []
    for moment in range(60):
        with tempfile.TemporaryDirectory() as folder, _note() as note:
            prepare(folder)
            if forks():
                whole = in_a_child(lambda n=moment, to=note: work(folder, Fate(n, folder, to)))
            else:
                fate = Fate(moment, folder, note)
                whole = _as_in_a_child(work, folder, fate)
                fate.busy = True  # a hook stays for good: from here on it looks away
            outcomes.append((_told(note) or "at the end", look(folder)))
        if whole or outcomes[-1][0] == "at the end":
            break
    return outcomes
