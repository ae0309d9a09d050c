"""The pool of workers: a bad submission stops nobody else, and no process stays behind."""

import gc
import os

import psutil
import pytest

from course_utils.command.project import CourseError
from course_utils.grading.execution import Outcome, Settings, Submission
from course_utils.grading.pool import DASK_SETTINGS, Pool
from support.quick import misbehave

SETTINGS = Settings(isolation="none")
# What Python's multiprocessing keeps until this process ends, and no longer.
PYTHONS_OWN = ("resource_tracker", "forkserver")

pytestmark = pytest.mark.timeout(180)


def submissions(*names):
    return [(name, Submission(name, "01_tiny", "", "", {})) for name in names]


def family():
    return psutil.Process().children(recursive=True)


def is_pythons_own(process):
    # A worker is forked from the fork server and has its command line.
    return process.ppid() == os.getpid() and any(
        name in str(process.cmdline()) for name in PYTHONS_OWN
    )


def grade_all(names, pool, upcoming=None):
    return dict(pool.run(upcoming or submissions(*names), SETTINGS))


def test_bad_submissions_are_named_and_the_others_go_on():
    before = set(family())
    good = [f"good-{number}" for number in range(12)]
    asked, answered, waiting = 0, 0, []

    def upcoming():
        nonlocal asked
        for item in submissions(*good[:3], "killer", "raises", *good[3:]):
            asked += 1
            waiting.append(asked - answered)
            yield item

    started, kept = [], {}
    results = {}
    with Pool(2, "", misbehave, started.append, kept.__setitem__) as pool:
        for key, result in pool.run(upcoming(), SETTINGS):
            answered += 1
            results[key] = result
    assert kept == {key: results[key] for key in good}
    assert results.pop("killer") == "it ended the process that ran it, 3 times"
    assert results.pop("raises") == "it could not be run (ValueError: two)"
    assert sorted(results) == sorted(good)
    assert all(isinstance(result, Outcome) for result in results.values())
    assert all(result.notebook == name for name, result in results.items())
    assert len({result.memory_bytes for result in results.values()}) > 1, "one process did it all"
    assert sorted(started) == sorted([*good, "killer", "raises"])
    assert max(waiting) <= 8, "a class of any size takes the same memory"
    own = {process for process in family() if is_pythons_own(process)}
    _, alive = psutil.wait_procs(set(family()) - before - own, timeout=10)
    assert not alive


def test_what_is_done_is_forgotten():
    """A class of any size takes the same memory; Dask's copies count too."""
    names = [f"good-{number}" for number in range(40)]
    with Pool(2, execute=misbehave) as pool:
        for number, _ in enumerate(pool.run(submissions(*names), SETTINGS), start=1):
            if number == 36:
                gc.collect()
                kept = [one for one in gc.get_objects() if type(one) is Submission]
                assert len(kept) <= len(names) + 10


def test_what_is_wrong_with_the_machine_ends_the_run():
    with (
        pytest.raises(CourseError, match="no isolation here"),
        Pool(1, execute=misbehave) as pool,
    ):
        grade_all(["good", "stops", "good-2"], pool)


def test_no_scheduler_at_the_address(monkeypatch):
    monkeypatch.setitem(DASK_SETTINGS, "distributed.comm.timeouts.connect", "1s")
    with (
        pytest.raises(CourseError, match=r"no Dask scheduler to use at tcp://127\.0\.0\.1:9"),
        Pool(1, "tcp://127.0.0.1:9", misbehave) as pool,
    ):
        grade_all(["good"], pool)


def test_nothing_to_do_starts_nothing():
    before = family()
    with Pool(2, execute=misbehave) as pool:
        assert grade_all([], pool) == {}
        assert family() == before
