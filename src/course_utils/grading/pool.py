"""Many submissions at once, on Dask's scheduler: processes of this machine, or a cluster's."""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future as StartFuture
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from course_utils.errors import CourseError, kind_and_words, one_line
from course_utils.grading import execution
from course_utils.grading.cache import installation
from course_utils.grading.scheduler import (
    ATTEMPTS,
    DASK_SETTINGS,
    PRELOADED,
    SECONDS_TO_CONNECT,
    check_address,
)
from course_utils.grading.submission import NOT_GRADED, Outcome, Settings, Submission
from course_utils.grading.verdict.judgement import NotJudged
from course_utils.grading.worker import Execute, NoKernel, run_one
from course_utils.kernels.template import ADDRESS_VARIABLE, shared_address

if TYPE_CHECKING:
    from distributed import Client, Future

FETCHERS = 4
LOG = logging.getLogger(__name__)
# All that the course logs, here and in the workers.
LOGGED = "course_utils"
# So many submissions in a row without a kernel, and it is the machine that starts none.
WITHOUT_KERNEL = 3
# Of submissions for each that runs: a worker never waits for the one process that records.
AHEAD = 4


class Lost(RuntimeError):
    """What came of a submission did not arrive here."""


# What came of a submission; an exception, but for these two, ends the run.
Result = Outcome | str | Exception


class Pool:
    """Workers that execute submissions.

    A worker that dies is replaced, and what it was doing is done again elsewhere. Only as many
    submissions as there are free workers are under way, and a few wait, so that a class of any size
    takes the same memory.

    Args:
        workers: how many processes to start on this machine.
        scheduler: the address of a running Dask scheduler, whose workers are used instead.
        execute: what a worker does with a submission.
        started: called with a submission's key when a worker gets it, from any thread.
        keep: called with a key and its outcome, from any thread, as soon as the outcome is here:
            those that wait to be recorded are not lost when this process is killed.
    """

    def __init__(
        self,
        workers: int,
        scheduler: str = "",
        execute: Execute = execution.execute,
        started: Callable[[str], None] = lambda key: None,
        keep: Callable[[str, Outcome], None] = lambda key, outcome: None,
    ) -> None:
        self.workers = workers
        self.scheduler = scheduler
        self.execute = execute
        self.tell_started = started
        self.keep = keep
        self.warm = not scheduler and execute is execution.execute
        self.cluster = None
        self.client: Client | None = None
        self.starter = ThreadPoolExecutor(1, thread_name_prefix="start-pool")
        # Dask has one thread for all callbacks: who waits for an outcome must not wait there.
        self.fetchers = ThreadPoolExecutor(FETCHERS, thread_name_prefix="fetch-outcome")
        self.starting: StartFuture | None = None
        self.lock = threading.Lock()
        self.ready: deque[tuple[str, Submission]] = deque()
        self.finished: queue.SimpleQueue[tuple[str, Result]] = queue.SimpleQueue()
        self.running = 0

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exception: object) -> None:
        with self.lock:
            self.ready.clear()
        self.starter.shutdown(wait=True)
        if self.client is not None:
            self.client.close(timeout=2)
        self.fetchers.shutdown(wait=False, cancel_futures=True)
        if self.cluster is not None:
            try:
                self.cluster.close(timeout=10)
            except Exception:
                # Nothing more is wanted of them. Dask can't end a worker that it is just starting
                # anew; that one ends with this process.
                LOG.info("the workers did not end in order", exc_info=True)

    def start(self) -> StartFuture:
        """Begin to start the workers, and return at once; a second call changes nothing."""
        if self.starting is None:
            self.starting = self.starter.submit(self.connect)
        return self.starting

    def connect(self) -> None:
        """Start the workers of this machine, or find those of the scheduler.

        Raises:
            CourseError: nothing answers at the scheduler's address, or it has no worker.
        """
        import dask
        from distributed import Client, LocalCluster
        from distributed.security import Security
        from distributed.utils import get_mp_context

        check_address(self.scheduler)
        dask.config.set(DASK_SETTINGS)
        # A death is told below, in our words. Their defaults name some loggers one by one.
        for name in (
            *("distributed", "distributed.client"),
            *("tornado", "tornado.application", "asyncio"),
        ):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        if not self.scheduler:
            get_mp_context().set_forkserver_preload(list(PRELOADED))
            # Certificates made for this run: other users of the machine cannot give orders.
            try:
                self.cluster = LocalCluster(
                    n_workers=self.workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    protocol="tls://",
                    security=Security.temporary(),
                    dashboard_address=None,
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                    memory_limit=0,
                    env=self.worker_variables(),
                    silence_logs=logging.CRITICAL,
                )
                self.client = Client(self.cluster)
            except (OSError, RuntimeError, TimeoutError) as error:
                LOG.exception("no worker can be started here")
                raise CourseError(f"no worker can be started here: {one_line(error)}") from error
            self.listen()
            return
        try:
            # No time limit of ours: a client takes as long to notice that the scheduler is gone.
            self.client = Client(self.scheduler)
            self.client.wait_for_workers(1, timeout=SECONDS_TO_CONNECT)
        except (OSError, TypeError, ValueError, TimeoutError) as error:
            reason = "it has no worker" if self.client else one_line(error)
            raise CourseError(f"no Dask scheduler to use at {self.scheduler}: {reason}") from error
        self.listen()

    def listen(self) -> None:
        """Have what workers log handed over to this process."""
        assert self.client is not None
        self.client.forward_logging(LOGGED, logging.WARNING)

    def worker_variables(self) -> dict[str, str]:
        """The variables of this machine's workers: those of the command, as they are now.

        All workers share one process that warm kernels are forked from; it starts here.
        """
        warm = {ADDRESS_VARIABLE: shared_address()} if self.warm else {}
        return dict(os.environ) | warm

    def run(
        self, submissions: Iterable[tuple[str, Submission]], settings: Settings, ahead: int = AHEAD
    ) -> Iterator[tuple[str, Outcome | str]]:
        """Execute submissions and give the outcomes as they come, in any order.

        Args:
            submissions: keys and submissions; the next one is asked for when there is room.
            settings: how they are executed.
            ahead: how many may be here for each that runs: itself, those that wait for their turn
                or to be recorded.

        Yields:
            A key, and the outcome or the words that say why there is none.

        Raises:
            CourseError: the scheduler is gone, a worker's installation is another, or no kernel
                can be started.
        """
        upcoming = iter(submissions)
        under_way, more, in_a_row = 0, True, 0
        while True:
            while more and under_way < self.room(ahead):
                item = next(upcoming, None)
                more = item is not None
                if item is not None:
                    starting = self.start()
                    under_way += 1
                    with self.lock:
                        self.ready.append(item)
                    if starting.done():
                        self.hand_out(settings)
            if not under_way:
                return
            self.start().result()
            self.hand_out(settings)
            key, result = self.finished.get()
            under_way -= 1
            if isinstance(result, Exception) and not isinstance(result, (NoKernel, Lost)):
                raise result
            in_a_row = in_a_row + 1 if isinstance(result, NoKernel) else 0
            if isinstance(result, NoKernel) and in_a_row == WITHOUT_KERNEL:
                raise CourseError(str(result)) from result
            if isinstance(result, (NoKernel, Lost)):
                result = f"{NOT_GRADED}: {one_line(result)}"
            yield key, result

    def room(self, ahead: int) -> int:
        """How many submissions may be here at once: running, waiting or finished."""
        return ahead * (self.capacity() if self.client is not None else self.workers)

    def capacity(self) -> int:
        """How many submissions run at once.

        Raises:
            CourseError: the scheduler is gone.
        """
        if not self.scheduler:
            return self.workers
        assert self.client is not None
        try:
            return max(1, sum(self.client.nthreads().values()))
        except Exception as error:  # a lost connection shows in many ways
            raise scheduler_is_gone() from error

    def hand_out(self, settings: Settings) -> None:
        """Give waiting submissions to free workers, one each: a death then has one cause."""
        free = self.capacity()
        with self.lock:
            while self.ready and self.running < free:
                key, submission = self.ready.popleft()
                self.running += 1
                self.submit(key, submission, settings)
                self.tell_started(key)

    def submit(
        self, key: str, submission: Submission, settings: Settings, again: bool = False
    ) -> None:
        """Give a submission to the scheduler.

        Args:
            key: its key.
            submission: itself.
            settings: how it is executed.
            again: whether an outcome of it was lost before.
        """
        expected = installation() if self.scheduler else ""
        assert self.client is not None
        future = self.client.submit(
            run_one, submission, settings, expected, self.execute, pure=False
        )
        retry = None if again else submission
        future.add_done_callback(partial(self.take_back, key, settings, submission.student, retry))

    def take_back(
        self,
        key: str,
        settings: Settings,
        student: str,
        retry: Submission | None,
        future: Future,
    ) -> None:
        """Called in a thread of Dask's: the freed worker goes on while the outcome is fetched."""
        with self.lock:
            self.running -= 1
        try:
            self.hand_out(settings)
        except Exception as error:  # Dask would drop it, and the run would wait for ever
            self.finished.put((key, error))
            return
        # At once, for the outcome lies in the worker, which may die.
        with suppress(RuntimeError):  # the pool is closed: nobody waits for it any more
            self.fetchers.submit(self.fetch, key, settings, student, retry, future)

    def fetch(
        self,
        key: str,
        settings: Settings,
        student: str,
        retry: Submission | None,
        future: Future,
    ) -> None:
        """Put what came of a submission to what is finished, unless it is run once again."""
        try:
            result = self.fetched(key, settings, student, retry, future)
        except Exception as error:  # as in take_back
            result = error
        if result is not None:
            self.finished.put((key, result))

    def fetched(
        self,
        key: str,
        settings: Settings,
        student: str,
        retry: Submission | None,
        future: Future,
    ) -> Result | None:
        """Bring an outcome here, and keep it; where it was lost on the way, run it once again.

        Returns:
            What came of it; None where it is run again.
        """
        assert self.client is not None
        result = result_of(future, longest_wait(settings), student)
        if isinstance(result, Lost):
            try:
                # Answers where only this outcome is lost, and not the scheduler.
                self.client.nthreads()
                if retry is not None:
                    with self.lock:
                        self.submit(key, retry, settings, again=True)
                        self.running += 1
                    return None
            except Exception:  # a lost connection shows in many ways
                result = scheduler_is_gone()
        if isinstance(result, Outcome):
            try:
                self.keep(key, result)
            except OSError as error:
                LOG.exception("%s: an outcome can't be stored", student)
                result = CourseError(
                    f"an outcome can't be stored: {one_line(error)}; "
                    "that mended, go on with: course grade --resume"
                )
        return result


def scheduler_is_gone() -> CourseError:
    """What ends the run when the scheduler no longer answers; the exception at hand is logged."""
    LOG.exception("the scheduler does not answer")
    return CourseError("the Dask scheduler is gone; go on with: course grade --resume")


def longest_wait(settings: Settings) -> float:
    """How long an outcome may be on its way, in seconds: Dask may do the submission again first."""
    return SECONDS_TO_CONNECT + 2 * (settings.notebook_seconds + settings.checks_seconds)


def result_of(future: Future, seconds: float, student: str) -> Result:
    """What came of a task: an outcome, why there is none, or what has to end the run.

    Args:
        future: a task that is done.
        seconds: how long to wait; Dask does a task again when its worker dies with the result.
        student: whose submission it was.
    """
    from distributed import KilledWorker

    # No student's code runs in a worker: none of these ends is known to be a student's doing.
    try:
        return future.result(timeout=seconds)
    except CourseError as error:
        return error
    except Exception as error:  # whatever execution raised for this one submission, or Dask
        # With the worker's part of the traceback.
        LOG.exception("%s: no outcome", student, extra={"student": student})
        if isinstance(error, KilledWorker):
            return f"{NOT_GRADED}: the process that ran it ended, {ATTEMPTS} times"
        if isinstance(error, NoKernel):
            return error
        # Both may raise the same kinds: a worker that waited too long for something, for one.
        if future.status != "error":
            return Lost(f"what came of it was lost, twice ({type(error).__name__})")
        if isinstance(error, NotJudged):
            return f"{NOT_GRADED}: {one_line(error)}, twice"
        return f"{NOT_GRADED}: it could not be run ({kind_and_words(error)})"
