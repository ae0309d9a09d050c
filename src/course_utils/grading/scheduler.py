"""What Dask is told, and which schedulers may be used."""

from __future__ import annotations

import ipaddress

from course_utils.errors import CourseError

# A submission that ends its worker process this often is given up.
ATTEMPTS = 3
SECONDS_TO_CONNECT = 60
DASK_SETTINGS = {
    "distributed.scheduler.allowed-failures": ATTEMPTS - 1,
    "distributed.scheduler.work-stealing": False,
    # A submission of a few megabytes is no mistake.
    "distributed.admin.large-graph-warning-threshold": "1GB",
    # How long a scheduler is looked for, and an outcome asked of a worker that is gone before the
    # submission is done again.
    "distributed.comm.timeouts.connect": "10s",
    # Its log of the last messages would hold a thousand submissions.
    "distributed.admin.low-level-log-length": 1,
    # Workers are forked from a process that has imported everything, a dead one's successor too.
    "distributed.worker.multiprocessing-method": "forkserver",
    # No web pages: other users of the machine could read them.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
PRELOADED = (
    # First: it keeps a slow import out of the others.
    *("course_utils.lean_imports", "distributed.nanny", "distributed.worker"),
    *("course_utils.grading.execution", "course_utils.grading.worker"),
    "course_utils.grading.worker_signals",
)


def check_address(scheduler: str) -> None:
    """Refuse a scheduler on another machine whose connections are not encrypted.

    Who can listen on the way reads submissions, and who can reach the port gives the workers
    orders.

    Raises:
        CourseError: it is such an address.
    """
    protocol, _, place = scheduler.rpartition("://")
    if not scheduler or protocol in ("tls", "wss", "inproc"):
        return
    host = place.partition("/")[0].rpartition(":")[0].strip("[]") or place
    try:
        here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        here = host == "localhost"
    if not here:
        raise CourseError(
            f"{scheduler} is another machine, reached without encryption: start scheduler and "
            "workers with TLS and name it tls://HOST:PORT; docs/instructors.md says how"
        )
