"""Exercise 13.4: a process that is killed at every moment of a save."""

from __future__ import annotations

import collections
import os
import sys
import tempfile
import warnings
from typing import Any

import torch


class Fate:
    """Ends this process at its n-th dangerous moment in ``folder``. Being pickled is one."""

    def __init__(self, moment: int, folder: str, report: int) -> None:
        self.moment, self.folder, self.report, self.busy = moment, folder, report, False
        sys.addaudithook(self.hook)

    def here(self, what: str) -> None:
        if self.moment == 0:
            os.write(self.report, what.encode())
            os._exit(9)
        self.moment -= 1

    def hook(self, event: str, args: tuple) -> None:
        if event not in ("open", "os.rename", "os.remove", "os.link", "os.symlink") or self.busy:
            return
        paths = [os.fspath(arg) for arg in args[:2] if isinstance(arg, (str, os.PathLike))]
        mine = [path for path in paths if path.startswith(self.folder)]
        self.busy = True
        if mine:
            self.look(event, mine, args)
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
    """Do ``work()`` in a forked copy of this process; whether it came to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads
        child = os.fork()
    if child == 0:
        code = 1
        try:
            torch.set_num_threads(1)
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def told_by_a_child(work) -> str:
    """Do ``work()`` in a process that knows nothing of earlier calls; words for what it raised."""
    ours, theirs = os.pipe()

    def telling() -> None:
        try:
            work()
        except AssertionError as error:
            os.write(theirs, str(error)[:2000].encode())
        except Exception as error:
            os.write(theirs, f"it raised {type(error).__name__}: {error}"[:2000].encode())

    ended = in_a_child(telling)
    os.close(theirs)
    words = os.read(ours, 4000).decode(errors="replace")
    os.close(ours)
    return words if ended or words else "its process was ended"


def contents(folder: str) -> dict:
    """For each file ``*.pt``: its step, score and state's sum, or None where it can't be loaded."""
    found = {}
    for name in sorted(name for name in os.listdir(folder) if name.endswith(".pt")):
        try:
            entry = torch.load(os.path.join(folder, name))
            found[name] = (entry["step"], entry["score"], float(entry["state"]["weight"].sum()))
        except Exception:
            found[name] = None
    return found


def every_moment(prepare, work, look=contents) -> list[tuple[str, Any]]:
    """Kill ``work(folder, fate)`` at each moment in turn: where, and ``look(folder)`` then."""
    outcomes = []
    for moment in range(60):
        with tempfile.TemporaryDirectory() as folder:
            prepare(folder)
            ours, theirs = os.pipe()
            whole = in_a_child(lambda n=moment, to=theirs: work(folder, Fate(n, folder, to)))
            os.close(theirs)
            outcomes.append((os.read(ours, 500).decode() or "at the end", look(folder)))
            os.close(ours)
        if whole or outcomes[-1][0] == "at the end":
            break
    return outcomes
