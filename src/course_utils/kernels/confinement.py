"""What a process does to itself to become one that lives in a sandbox.

A module for the process that becomes a kernel: it imports little.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path

from course_utils.kernels.system_calls import join_new_keyring, refuse_system_calls
from course_utils.prctl import (
    PR_CAP_AMBIENT,
    PR_CAP_AMBIENT_CLEAR_ALL,
    PR_CAPBSET_DROP,
    PR_SET_CHILD_SUBREAPER,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    prctl,
)

# Also how many may be on their way in messages, where nobody counts the memory that they stand for.
MOST_OPEN_FILES = 1024
# Between a signal that says that the processor time is used up, and the end.
CPU_GRACE_SECONDS = 2


def enter(pidfd: int, namespaces: int) -> None:
    """Join the namespaces of a sandbox. A process that this one then forks is inside.

    Args:
        pidfd: of the process that holds the sandbox.
        namespaces: the kinds to join, as ``Sandbox.rules`` says.

    Raises:
        OSError: the system refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(pidfd, namespaces) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"a kernel cannot join its sandbox: {os.strerror(number)}")


def confine(user: int | None, limits: dict[str, int]) -> None:
    """Give up every privilege and accept the limits, for ever.

    Args:
        user: the user and group to become; None to stay who this is.
        limits: the fields of ``Limits``.

    Raises:
        OSError: the system refuses; the process must not go on.
    """
    import resource

    Path("/proc/self/oom_score_adj").write_text("1000")
    set_limits(limits)
    resource.setrlimit(resource.RLIMIT_NPROC, (limits["processes"], limits["processes"]))
    for capability in range(int(Path("/proc/sys/kernel/cap_last_cap").read_text()) + 1):
        prctl(PR_CAPBSET_DROP, capability)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    drop_capabilities()
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    join_new_keyring()
    # A process that changed its user may not look at itself in /proc until it says so.
    prctl(PR_SET_DUMPABLE, 1)
    refuse_system_calls()
    status = Path("/proc/self/status").read_text()
    for line in ("CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"):
        if line not in status:
            raise OSError(f"a kernel kept privileges: {line.split(':')[0]}")
    if user is not None and os.getresuid() != (user, user, user):
        raise OSError("a kernel kept its user")


def set_limits(limits: dict[str, int]) -> None:
    """Limit this process and its children, beside what is counted per user."""
    import resource

    status = Path("/proc/self/status").read_text()
    data = int(status.split("VmData:")[1].split()[0]) * 1024 + limits["memory_bytes"]
    resource.setrlimit(resource.RLIMIT_DATA, (data, data))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file_bytes"], limits["file_bytes"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, cpu_limits(limits["cpu_seconds"]))
    most = min(MOST_OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def cpu_limits(seconds: int) -> tuple[int, int]:
    """The limits of RLIMIT_CPU: SIGXCPU comes at the first, SIGKILL at the second."""
    import resource

    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    first, second = seconds, seconds + CPU_GRACE_SECONDS
    if most != resource.RLIM_INFINITY:
        first, second = min(first, most), min(second, most)
    return first, second


def adopt_orphans() -> None:
    """Become the parent of every process that this one's children leave behind."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def drop_capabilities() -> None:
    class Header(ctypes.Structure):
        _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))

    header = Header(0x20080522, 0)  # version 3: 64 capabilities, in two halves
    nothing = (ctypes.c_uint32 * 6)()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.capset(ctypes.byref(header), nothing) != 0:
        raise OSError(ctypes.get_errno(), "a kernel cannot give up its capabilities")


def trial(rules: dict) -> None:
    """Do what a kernel does to get into the sandbox that standard input names, and end."""
    enter(0, rules["namespaces"])
    child = os.fork()
    if child == 0:
        confine(rules["user"], rules["limits"])
        os._exit(0)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    trial(json.loads(sys.argv[1]))
