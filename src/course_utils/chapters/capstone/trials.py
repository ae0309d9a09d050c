"""The project's own tests, run on a learner's function or on the text of a module.

They are ordinary functions, ``test_…``; pytest runs the same ones. Here they run in the process of
the answer: a copy of the package is imported from the course's own folder, with the answer in its
place, and is forgotten afterwards.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from course_utils.learner.cases import every_case
from course_utils.learner.launch_reports import LaunchError, LaunchTimeout
from course_utils.learner.launching import launch
from course_utils.learner.tracebacks import ends_in_notebook

PROJECT = Path(__file__).parent / "project"
PACKAGE = "shapefinder"
# The modules that the tests import besides the package's.
HELPERS = ("expect", "ranks", "runs")
SECONDS = 30.0  # on a busy machine a right answer's two ranks have taken 22


def run_tests(module: str, answer: Callable | None) -> list[tuple[str, str]]:
    """The names of a module's tests, each with what is wrong, or with nothing.

    Args:
        module: whose tests, such as ``"losses"``.
        answer: takes the place of the module's function of its name.
    """
    with own_package() as package:
        place = importlib.import_module(f"{package}.{module}")
        name = getattr(answer, "__name__", "")
        if not callable(answer) or not hasattr(place, name):
            return [("the function", "is there an answer yet? No function of its name is defined")]
        setattr(place, name, answer)
        return _outcomes(module)


def run_tests_of_text(module: str, text: str) -> list[tuple[str, str]]:
    """The same for the text of a whole module, as it would be in a file."""
    with own_package() as package:
        place = importlib.import_module(f"{package}.{module}")
        fresh = ModuleType(place.__name__)
        fresh.__file__, fresh.__package__ = place.__file__, package
        sys.modules[place.__name__] = fresh
        setattr(sys.modules[package], module, fresh)
        try:
            exec(compile(text, f"{module}.py", "exec"), vars(fresh))
        except Exception as error:
            return [("the file", f"{type(error).__name__}: {error}")]
        return _outcomes(module)


def without_folders(words: str) -> str:
    """Words that name temporary files by their last part alone: the rest is another each time."""
    start = re.escape(tempfile.gettempdir()) + r"[\\/]"
    return re.sub(rf"{start}(?:[^'\"\s]*[\\/])?", "", words)


@ends_in_notebook
def check_tests(found: Any) -> None:
    """Refuse, in words, whatever the project's tests found wrong."""
    __tracebackhide__ = True
    with every_case() as case:
        for name, words in found:
            with case(name):
                assert not words, words


@contextmanager
def own_package() -> Generator[str]:
    """Inside the block the package is the course's own, as it was written."""
    mine = {
        name: sys.modules.pop(name)
        for name in list(sys.modules)
        if name.partition(".")[0] in (PACKAGE, *HELPERS)
    }
    places, written = sys.path[:], sys.dont_write_bytecode
    sys.path[:0] = [str(PROJECT / "src"), str(PROJECT / "tests")]
    sys.dont_write_bytecode = True
    try:
        yield importlib.import_module(PACKAGE).__name__
    finally:
        sys.path[:], sys.dont_write_bytecode = places, written
        for name in list(sys.modules):
            if name.partition(".")[0] in (PACKAGE, *HELPERS):
                del sys.modules[name]
        sys.modules.update(mine)


def _outcomes(module: str) -> list[tuple[str, str]]:
    ranks = importlib.import_module("ranks")
    setattr(ranks, "run_ranks", run_ranks)  # noqa: B010  the course's launcher tells more
    spec = importlib.util.spec_from_file_location(
        f"test_{module}", PROJECT / "tests" / f"test_{module}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    tests = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(tests)
    except ImportError as error:
        return [("the file", str(error))]
    return [
        (name.removeprefix("test_").replace("_", " "), _words_of(test))
        for name, test in vars(tests).items()
        if name.startswith("test_")
    ]


def _words_of(test: Callable[[], None]) -> str:
    """What a test says is wrong; empty where it passes."""
    before = _state()
    try:
        test()
    except AssertionError as error:
        return str(error) or "this does not hold"
    except SystemExit as error:
        return f"it ended the program with status {error.code}"
    except Exception as error:
        return f"raised {type(error).__name__}: {without_folders(str(error))}"
    finally:
        after = _state()
        _restore(before)
    left = [name for name in before if before[name] != after[name]]
    return f"{left[0]} is not as it was before the call" if left else ""


def _state() -> dict[str, Any]:
    return {
        "the gradient mode": torch.is_grad_enabled(),
        "torch's default dtype": torch.get_default_dtype(),
        "the deterministic mode": torch.are_deterministic_algorithms_enabled(),
        "the number of threads": torch.get_num_threads(),
        "the handler of SIGTERM": signal.getsignal(signal.SIGTERM),
    }


def _restore(state: dict[str, Any]) -> None:
    torch.set_grad_enabled(state["the gradient mode"])
    torch.set_default_dtype(state["torch's default dtype"])
    torch.use_deterministic_algorithms(state["the deterministic mode"])
    torch.set_num_threads(state["the number of threads"])
    signal.signal(signal.SIGTERM, state["the handler of SIGTERM"])


def run_ranks(function: Callable, world_size: int) -> list:
    """As the project's ``ranks.run_ranks``, with the course's words for what fails."""
    try:
        return launch(lambda rank, _: function(rank), world_size, timeout=SECONDS, quiet=True)
    except LaunchTimeout as error:
        waiting = [one for one in error.reports if one.status == "waited"]
        if all(one.status == "returned" for one in error.reports):
            return [one.value for one in error.reports]  # a moment late, and none of them waits
        where = "; ".join(
            f"rank {one.rank} was in {one.stack[-1] if one.stack else 'its code'}"
            for one in waiting
        )
        raise AssertionError(
            f"the ranks wait for each other: {where}. Every rank makes the same collective calls, "
            "in the same order"
        ) from None
    except LaunchError as error:
        told = [one for one in error.reports if one.status in ("raised", "ended")]
        # What a test asserts comes first: what other ranks raise is often its consequence, or not
        # raised in time.
        told.sort(
            key=lambda one: (not one.error.startswith("AssertionError"), one.status == "raised")
        )
        words = told[0].error.removeprefix("AssertionError: ") if told else str(error)
        if told and told[0].status == "ended":
            words = f"its process ended {words}, without a word"
            words += "; so gloo ends it where the ranks' calls don't fit" * ("SIGABRT" in words)
        words = without_folders(words)
        raise AssertionError(f"rank {told[0].rank if told else 0}: {words}") from None
