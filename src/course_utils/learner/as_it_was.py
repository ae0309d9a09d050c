"""The process as it was: what an answer leaves behind is told in words, and put back.

A check begins and ends with a look at what the whole process shares (:mod:`settings`) and at the
attributes of torch, its layers and functions. So a right answer passes after any wrong one. A check
in turn leaves an answer's names alone (:mod:`own_names`): its ``step`` is no learner's ``step``.
"""

from __future__ import annotations

import ast
import dis
import random
import re
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from operator import is_
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from course_utils import exercises
from course_utils.cells import exercise_of
from course_utils.learner import time_limits
from course_utils.learner.changes import same_values
from course_utils.learner.own_names import respelt, spelt_otherwise
from course_utils.learner.settings import SETTINGS
from course_utils.learner.tracebacks import ANSWER, ends_in_notebook

LEFT = "your answer leaves something behind: {}"
NOT_HERE = object()
# The names of modules and classes whose attributes an answer has no reason to change.
MODULES = {"torch": torch, "torch.nn": nn, "F": F, "torch.optim": torch.optim}
SEEDED = (
    "{}'s global generator is seeded: whoever draws after it gets the same numbers each time; "
    "draw from a generator of your own"
)


def _owners() -> list[tuple[str, Any]]:
    owners: list[tuple[str, Any]] = list(MODULES.items())
    for where, module in (("nn", nn), ("torch.optim", torch.optim)):
        owners += [
            (f"{where}.{name}", value)
            for name, value in vars(module).items()
            if isinstance(value, type)
        ]
    return [*owners, ("torch.Tensor", torch.Tensor)]


OWNERS = _owners()


def same(before: Any, now: Any) -> bool:
    """Whether two states of a setting are equal; tensors and arrays by their values."""
    if before is now:
        return True
    if isinstance(before, torch.Tensor):
        alike = isinstance(now, torch.Tensor) and before.dtype == now.dtype
        return alike and same_values(before, now)
    if isinstance(before, np.ndarray):
        return isinstance(now, np.ndarray) and np.array_equal(before, now)
    if isinstance(before, tuple) and isinstance(now, tuple) and len(before) == len(now):
        if set(map(type, before)) == {int}:  # the hundreds of numbers of a generator
            return before == now
        return all(map(same, before, now))
    if isinstance(before, dict) and isinstance(now, dict):
        return before.keys() == now.keys() and all(same(before[k], now[k]) for k in before)
    return bool(before is now or before == now)


def _plainly_equal(before: Any, now: Any) -> bool:
    """Whether Python finds two values equal at once, where :func:`same` goes through each part."""
    try:
        return bool(before == now)
    except Exception:  # arrays of many numbers are neither
        return False


class State:
    """What the process shares, as it is when this is made and after each :meth:`put_back`."""

    def __init__(self) -> None:
        self.values = {name: one.read() for name, one in SETTINGS.items() if one.there()}
        self.attributes = [dict(vars(owner)) for _, owner in OWNERS]

    def put_back(self) -> list[str]:
        """Make everything what it was when this was made.

        What may be another is kept as it is now.

        Returns:
            Words for each thing that was changed, and is of interest.
        """
        told = []
        for name, before in self.values.items():
            setting = SETTINGS[name]
            now = setting.read()
            if _plainly_equal(before, now) or same(before, now):
                continue
            words = setting.words(before, now)
            if words:
                setting.put(before)
                told += [] if setting.silent else [words]
            else:
                self.values[name] = now
        for name in SETTINGS.keys() - self.values.keys():
            if SETTINGS[name].there():
                self.values[name] = SETTINGS[name].read()
        # Last: another default dtype brings another torch.Storage.
        return told + self._put_attributes()

    def _put_attributes(self) -> list[str]:
        told = []
        for number, (where, owner) in enumerate(OWNERS):
            now, before = vars(owner), self.attributes[number]
            # Thousands of attributes, at each call of an answer: no loop of Python's.
            if [*now] == [*before] and all(map(is_, now.values(), before.values())):
                continue
            for name in sorted(now.keys() | before.keys()):
                old, new = before.get(name, NOT_HERE), now.get(name, NOT_HERE)
                if old is new or _is_librarys(name, old, new):
                    continue
                if old is NOT_HERE:
                    told.append(f"{where}.{name} is added")
                    delattr(owner, name)
                else:
                    told.append(f"{where}.{name} is {'gone' if new is NOT_HERE else 'replaced'}")
                    setattr(owner, name, old)
            self.attributes[number] = dict(now)
        return told


def _is_librarys(name: str, old: Any, new: Any) -> bool:
    """Whether an attribute is what a library keeps, or loads when it is first used."""
    if isinstance(new, ModuleType) and (old is NOT_HERE or isinstance(old, ModuleType)):
        return True
    private = name.startswith("_") and not name.endswith("__")
    # An optimizer's step is wrapped when the first is made, and manual_seed by TorchDynamo.
    if getattr(new, "hooked", False) or getattr(new, "_torchdynamo_orig_callable", None) is old:
        return True
    code = getattr(new, "__code__", None)
    if getattr(new, "__wrapped__", None) is old and code is not None:
        return code.co_filename == torch._compile.__file__
    home = str(getattr(new, "__module__", ""))
    # The first compilation has modules tell when they are made.
    if home.startswith("torch._dynamo."):
        return True
    if old is NOT_HERE:
        return (
            private
            or name in ("__warningregistry__", "__abstractmethods__", "__slotnames__")
            or (home.startswith("torch.") and not isinstance(new, torch.Tensor))
        )
    return (private or name.startswith("__")) and not callable(old)


GENERATORS: dict[str, tuple[Callable, Callable]] = {
    "torch": (torch.get_rng_state, torch.set_rng_state),
    "NumPy": (np.random.get_state, np.random.set_state),
    "random": (random.getstate, random.setstate),
}


# What may be told of an answer that knows hidden tests: nothing in it was chosen.
FIXED = {
    *(SEEDED.format(whose) for whose in GENERATORS),
    *(SETTINGS["gradients"].words(not now, now) for now in (True, False)),
}


class Seeds:
    """Notes which global generators a certain file's code seeds, and by what.

    Args:
        file: as the code's ``co_filename`` has it; nothing is noted where it is empty.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.noted: dict[str, int] = {}
        self.places = [(torch, "torch"), (np.random, "NumPy"), (random, "random")] if file else []
        self.states = {whose: GENERATORS[whose][0]() for _, whose in self.places}
        self.before = [getattr(place, _seeder(whose)) for place, whose in self.places]
        for (place, whose), seed in zip(self.places, self.before, strict=True):
            setattr(place, _seeder(whose), self._noting(whose, seed))

    def _noting(self, whose: str, seed: Callable) -> Callable:
        @wraps(seed)
        def call(*args, **kwargs):
            frame = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename != self.file:
                frame = frame.f_back
            result = seed(*args, **kwargs)
            if frame is not None:
                self.noted[whose] = torch.initial_seed()
            return result

        return call

    def finish(self) -> list[str]:
        """Let the generators be seeded unseen again; words for each that is left seeded."""
        for (place, whose), seed in zip(self.places, self.before, strict=True):
            setattr(place, _seeder(whose), seed)
        told = []
        for whose, seed in self.noted.items():
            read, put = GENERATORS[whose]
            others = whose == "torch" and torch.initial_seed() != seed
            if not others and not same(self.states[whose], read()):
                put(self.states[whose])
                told.append(SEEDED.format(whose))
        return told


def _seeder(whose: str) -> str:
    return "manual_seed" if whose == "torch" else "seed"


class Watch:
    """What :func:`begin` and :func:`end` of a check know of each other.

    Attributes:
        home: the process as it was when the chapter's set-up had run.
        before: as it was when the check began.
        seeds: who seeds what meanwhile.
        files: by an exercise's grade id, what its answer's code has for a file name.
        of_checks: the names in the notebook that were last bound by a check.
        put_aside: what the names that a check binds were before it ran, by name.
        respelt: those of them that the check spells otherwise.
    """

    def __init__(self) -> None:
        self.home: State | None = None
        self.before: State | None = None
        self.seeds: Seeds | None = None
        self.files: dict[str, str] = {}
        self.of_checks: set[str] = set()
        self.put_aside: dict[str, Any] = {}
        self.respelt: set[str] = set()


WATCH = Watch()


def remember() -> None:
    """Take the process as it is for what it has to be before every check; once."""
    if WATCH.home is None:
        WATCH.home = State()


def begin(source: str, file: str = "") -> list[str]:
    """Before a check runs: put back what was left behind, and look.

    Args:
        source: the check's text, for :func:`may_seed`.
        file: what the answer's code has for a file name.

    Returns:
        Words for what was put back.
    """
    told = [] if WATCH.home is None else WATCH.home.put_back()
    WATCH.before = State()
    WATCH.seeds = Seeds("" if may_seed(source) else file)
    ANSWER.file = file
    return told


def may_seed(check: str) -> bool:
    """Whether an answer may seed global generators: where the text of its check speaks of seeds."""
    # Not where the check only draws numbers of its own.
    return "seed" in check.replace("manual_seed(", "").replace("seeded(", "")


def end() -> list[str]:
    """When a check has run: put back what was changed since :func:`begin`; words for each."""
    ANSWER.file = ""
    before, seeds, WATCH.before, WATCH.seeds = WATCH.before, WATCH.seeds, None, None
    if before is None or seeds is None:
        return []
    return [*seeds.finish(), *before.put_back()]


@ends_in_notebook
def refuse_what_is_left() -> None:
    """Refuse an answer that changed what the whole process shares; called by ``passed``.

    Raises:
        AssertionError: something was left behind since the check began; it is put back.
    """
    __tracebackhide__ = True
    left = end()
    if left:
        raise AssertionError(LEFT.format("; ".join(left)))


exercises.before_passing.append(refuse_what_is_left)


def stored_names(source: str) -> set[str]:
    """The names that a cell's text binds in the notebook; none where it isn't plain Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python tells them when the cell runs
        try:
            code = compile(source, "<cell>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return set()
    return {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_NAME"}


def put_aside(binds: set[str], names: dict[str, Any]) -> dict[str, Any]:
    """What a notebook's names are before a check runs, of those that it binds."""
    return {name: names[name] for name in binds & names.keys()}


def may_be_respelt(check: str) -> bool:
    """Whether a check's names may be spelt otherwise: where it evaluates no text that has them."""
    return "eval(" not in check.replace(".eval(", "")


class OwnNames(ast.NodeTransformer):
    """IPython shows it each cell's tree before that is compiled."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        return respelt(node, WATCH.respelt)


# In a notebook: IPython calls these around each cell. A cell's id is its grade id, where the
# front end tells it.

IS_A_CHECK = re.compile(r"^passed\(", re.MULTILINE)


def _notebook() -> Any:
    """IPython's shell, whose kernel this is."""
    return sys.modules["IPython"].get_ipython()


def before_a_cell(info: Any) -> None:
    """Put back, before a check, what a cell above it left behind, and say so."""
    source = info.raw_cell or ""
    binds = stored_names(source)
    if not IS_A_CHECK.search(source):
        WATCH.of_checks -= binds
    else:
        names = _notebook().user_ns
        WATCH.put_aside = put_aside(binds - WATCH.of_checks, names)
        WATCH.of_checks |= binds - WATCH.put_aside.keys()
        WATCH.respelt = set(WATCH.put_aside) if may_be_respelt(source) else set()
        names.update(spelt_otherwise(names, WATCH.respelt))
        exercise = exercise_of(info.cell_id or "")
        for words in begin(source, WATCH.files.get(exercise, "")):
            print(f"put back before this check: {words}")
        time_limits.start()


def after_a_cell(result: Any) -> None:
    """Take the first cell, the set-up, for what is right; after a check put back what is left."""
    time_limits.stop()
    remember()
    names = _notebook().user_ns
    names.update(WATCH.put_aside)
    for name in spelt_otherwise(names, WATCH.respelt):
        del names[name]
    WATCH.put_aside, WATCH.respelt = {}, set()
    info = result.info
    if info is not None and info.cell_id:
        compiler = _notebook().compile
        WATCH.files[info.cell_id] = compiler.get_code_name(info.raw_cell, info.raw_cell, 0)
    for words in end():
        print(f"the answer left something behind, which is put back: {words}")


def watch_notebook(shell: Any) -> None:
    """Have this kernel's checks begin and end with a look at the process."""
    shell.events.register("pre_run_cell", before_a_cell)
    shell.events.register("post_run_cell", after_a_cell)
    shell.ast_transformers.append(OwnNames())
