"""The pool of workers: a bad submission stops nobody else, and no process stays behind."""

import gc
import os
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec

import psutil
import pytest

from course_utils.errors import CourseError
from course_utils.grading import pool, worker
from course_utils.grading.pool import Pool
from course_utils.grading.scheduler import DASK_SETTINGS, PRELOADED, check_address
from course_utils.grading.submission import Outcome, Settings, Submission
from course_utils.kernels.holder import SandboxError
from course_utils.kernels.template import TemplateError
from support.quick import meet, misbehave

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


def grade_all(names, workers, upcoming=None):
    return dict(workers.run(upcoming or submissions(*names), SETTINGS))


def test_bad_submissions_are_named_and_the_others_go_on():
    before = set(family())
    good = [f"good-{number}" for number in range(12)]
    asked, answered, waiting = 0, 0, []

    def upcoming():
        nonlocal asked
        for item in submissions(*good[:3], "killer", "raises", "late", *good[3:]):
            asked += 1
            waiting.append(asked - answered)
            yield item

    started, kept = [], {}
    results = {}
    with Pool(2, "", misbehave, started.append, kept.__setitem__) as workers:
        for key, result in workers.run(upcoming(), SETTINGS):
            answered += 1
            results[key] = result
    assert kept == {key: results[key] for key in good}
    assert results.pop("killer") == "not graded: the process that ran it ended, 3 times"
    assert results.pop("raises") == "not graded: it could not be run (ValueError: two)"
    assert results.pop("late") == "not graded: it could not be run (TimeoutError: a kernel)"
    assert sorted(results) == sorted(good)
    assert all(isinstance(result, Outcome) for result in results.values())
    assert all(result.notebook == name for name, result in results.items())
    assert sorted(started) == sorted([*good, "killer", "raises", "late"])
    assert max(waiting) <= 8, "a class of any size takes the same memory"
    own = {process for process in family() if is_pythons_own(process)}
    _, alive = psutil.wait_procs(set(family()) - before - own, timeout=10)
    assert not alive


def test_two_processes_work_at_the_same_time(tmp_path):
    with Pool(2, execute=partial(meet, tmp_path)) as workers:
        results = grade_all(["ada", "bob"], workers)
    assert all(isinstance(result, Outcome) for result in results.values()), results
    assert len({result.memory_bytes for result in results.values()}) == 2


def test_what_is_done_is_forgotten():
    """A class of any size takes the same memory; Dask's copies count too."""
    names = [f"good-{number}" for number in range(40)]
    with Pool(2, execute=misbehave) as workers:
        for number, _ in enumerate(workers.run(submissions(*names), SETTINGS), start=1):
            if number == 36:
                gc.collect()
                kept = [one for one in gc.get_objects() if type(one) is Submission]
                assert len(kept) <= len(names) + 10


def test_what_is_wrong_with_the_machine_ends_the_run():
    with (
        pytest.raises(CourseError, match="no isolation here"),
        Pool(1, execute=misbehave) as workers,
    ):
        grade_all(["good", "stops", "good-2"], workers)


def test_a_kernel_that_does_not_start_once_or_for_one(monkeypatch):
    monkeypatch.setattr(worker, "PAUSE_SECONDS", 0)
    (_, submission), tries = submissions("ada")[0], []

    def execute(submission, settings):
        tries.append(submission.student)
        if len(tries) < 2:
            raise SandboxError("no sandbox")
        return "an outcome"

    assert worker.run_one(submission, SETTINGS, "", execute) == "an outcome"

    def never(submission, settings):
        raise TemplateError("it does not answer")

    with pytest.raises(worker.NoKernel, match="no kernel can be started: it does not answer"):
        worker.run_one(submission, SETTINGS, "", never)


class FakeClient:
    """A client of a scheduler that answers or not, and gives what a test wants."""

    def __init__(self, *results, answers=True):
        self.results, self.answers = list(results), answers
        # One thread, as Dask has, and so results come back in order.
        self.callbacks = ThreadPoolExecutor(1)

    def nthreads(self):
        if not self.answers:
            raise OSError("gone")
        return {"worker": 1}

    def submit(self, *arguments, **options):
        return FakeFuture(self.results.pop(0), self.callbacks)

    def close(self, timeout):
        self.callbacks.shutdown()


class FakeFuture:
    def __init__(self, result, callbacks):
        self.done, self.callbacks = result, callbacks
        # What a task raised has this status; what Dask raised for it has not.
        self.status = "cancelled" if isinstance(result, CancelledError) else "error"

    def result(self, timeout):
        if isinstance(self.done, BaseException):
            raise self.done
        return self.done

    def add_done_callback(self, call):
        self.callbacks.submit(call, self)


def run_with(client, *names):
    with Pool(1) as faked:
        faked.client, faked.starting = client, Future()
        faked.fetchers = ThreadPoolExecutor(1)
        faked.starting.set_result(None)
        return grade_all(names, faked)


def test_workers_that_cannot_be_ended_cost_no_outcome(monkeypatch):
    """As where one is just being started anew."""
    from distributed import LocalCluster

    close = LocalCluster.close

    def close_and_fail(self, timeout=None):
        close(self, timeout)
        raise AssertionError("can only join a started process")

    monkeypatch.setattr(LocalCluster, "close", close_and_fail)
    with Pool(1, execute=misbehave) as workers:
        results = grade_all(["good-1"], workers)
    assert isinstance(results["good-1"], Outcome)


def test_an_outcome_that_is_lost_is_made_again():
    lost = CancelledError("lost")
    assert run_with(FakeClient(lost, "here"), "ada") == {"ada": "here"}
    twice = {"ada": "not graded: what came of it was lost, twice (CancelledError)"}
    assert run_with(FakeClient(lost, lost), "ada") == twice


def test_a_scheduler_that_is_gone_ends_the_run():
    with pytest.raises(CourseError, match="the Dask scheduler is gone"):
        run_with(FakeClient(CancelledError("lost"), answers=False), "ada")


def test_kernels_that_do_not_start_cost_one_and_three_in_a_row_end_the_run():
    bad, good = worker.NoKernel("no kernel can be started: why"), "here"
    results = run_with(FakeClient(bad, bad, good, bad, bad), "a", "b", "c", "d", "e")
    assert list(results.values()).count("not graded: no kernel can be started: why") == 4
    assert results["c"] == "here"
    with pytest.raises(CourseError, match="no kernel can be started: why"):
        run_with(FakeClient(bad, bad, bad, good), "a", "b", "c", "d")


@pytest.mark.parametrize(
    "address",
    ["tcp://10.0.0.1:8786", "tcp://grading.example:8786", "grading:8786", "ws://[2001:db8::1]:80"],
)
def test_another_machine_without_encryption_is_refused(address):
    with pytest.raises(CourseError, match=r"reached without encryption: .* tls://HOST:PORT"):
        check_address(address)


@pytest.mark.parametrize(
    "address",
    ["", "tls://grading:8786", "tcp://127.0.0.1:9", "tcp://localhost:9", "tcp://[::1]:9"],
)
def test_this_machine_and_an_encrypted_one_are_not(address):
    check_address(address)


def test_no_scheduler_at_the_address(monkeypatch):
    monkeypatch.setitem(DASK_SETTINGS, "distributed.comm.timeouts.connect", "1s")
    with (
        pytest.raises(CourseError, match=r"no Dask scheduler to use at tcp://127\.0\.0\.1:9"),
        Pool(1, "tcp://127.0.0.1:9", misbehave) as workers,
    ):
        grade_all(["good"], workers)


def test_nothing_to_do_starts_nothing():
    before = family()
    with Pool(2, execute=misbehave) as workers:
        assert grade_all([], workers) == {}
        assert family() == before


def test_an_outcome_is_waited_for_as_long_as_it_may_take():
    """Twice: the worker may die with it, and then Dask does it again."""
    settings = Settings(notebook_seconds=100, checks_seconds=1000)
    assert pool.longest_wait(settings) > 2 * 1100


def test_what_workers_are_forked_with_is_there():
    """Dask's forkserver goes on where one is missing, and each worker imports it again."""
    assert [name for name in PRELOADED if find_spec(name) is None] == []
