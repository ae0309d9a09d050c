"""The bubblewrap sandbox, and why there is none.

``Sandbox`` starts ``bwrap`` around a process that only waits. It holds the namespaces open, and a
warm kernel, forked elsewhere with everything imported, joins them. When the holder dies, the
kernel of the system ends every process inside and forgets every file they wrote: nothing of a
sandbox is on the disk.

The holder dies with the process that made the sandbox, because it waits for the end of a pipe.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import deque
from dataclasses import asdict
from pathlib import Path

from course_utils.kernels import confinement
from course_utils.kernels.holder import (
    INSIDE,
    START_SECONDS,
    Holder,
    SandboxError,
    opened,
    own_user,
)
from course_utils.kernels.processes import (
    ENDED,
    Process,
    busy_threads,
    exceeds,
    in_words,
    nice_of,
    private_memory,
    queued_bytes,
    resident_memory,
    send_signal,
)
from course_utils.kernels.workplace import Limits, Workplace

LOOKS = 5
MOST_FILES = 100_000
ENOUGH_KILLS = 20
CAP_SYS_ADMIN = 21


class Sandbox(Workplace):
    """A bubblewrap sandbox, alive from its making to ``close``.

    Inside: the system and this Python, read-only; a scratch folder, /tmp and /dev/shm in memory;
    no other file, no process and no network of the outside.

    Raises:
        SandboxError: bubblewrap is missing or does not work here.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        super().__init__(limits)
        self.inside = INSIDE
        self._nice = 0
        self._busy: deque[int] = deque(maxlen=LOOKS)
        with contextlib.ExitStack() as stack:
            self.user = stack.enter_context(own_user()) if os.geteuid() == 0 else None
            self._holder = stack.enter_context(Holder(self.limits, self.user))
            root = f"/proc/{self._holder.pid}/root"
            # Descriptors: a number of a process may be another's tomorrow.
            self._scratch = stack.enter_context(opened(root + INSIDE))
            proc = stack.enter_context(opened(root + "/proc"))
            self._proc = Path(f"/proc/self/fd/{proc}")
            self._storage = [
                self._scratch,
                stack.enter_context(opened(root + "/tmp")),
                stack.enter_context(opened(root + "/dev/shm")),
            ]
            self.scratch = Path(f"/proc/self/fd/{self._scratch}")
            self._sockets = stack.enter_context(opened(root + INSIDE))
            self._stack = stack.pop_all()

    @property
    def pidfd(self) -> int:
        """A descriptor of the process that holds the sandbox, for ``enter``."""
        return self._holder.pidfd

    @property
    def sockets(self) -> Path:
        return Path(f"/proc/self/fd/{self._sockets}")

    def close_sockets(self) -> None:
        # A client connects again by itself when it is cut off, and by then a link may have taken
        # the place of the socket, and lead anywhere.
        nowhere = os.open(os.devnull, os.O_PATH)
        os.dup2(nowhere, self._sockets, inheritable=False)
        os.close(nowhere)

    def rules(self) -> dict:
        """What ``confine`` and ``enter`` need to know, fit for JSON."""
        return {
            "namespaces": self._holder.namespaces,
            "user": self.user,
            "limits": asdict(self.limits),
        }

    def _give(self, path: Path) -> None:
        if self.user is not None:
            os.chown(path, self.user, self.user, follow_symlinks=False)

    def processes(self) -> list[int]:
        """The ids of the processes inside, as they are inside, but for the one that waits."""
        found = []
        for name in os.listdir(self._proc):
            if name.isdigit() and name != "1":
                with contextlib.suppress(OSError):  # it has ended
                    if Process.of(self._proc / name).state != ENDED:
                        found.append(int(name))
        return sorted(found)

    def _folder_of(self, pid: int) -> Path:
        return self._proc / str(pid)

    def memory_bytes(self) -> int:
        """The memory that processes inside have for themselves alone, in bytes."""
        return sum(private_memory(folder) for folder in self._process_folders())

    def excess(self) -> str:
        queued = queued_bytes(self._proc / "1/net")
        most = self.limits.memory_bytes - queued
        if exceeds(self._process_folders(), self._inherited, most):
            return f"they took more than {in_words(self.limits.memory_bytes)} of memory"
        for storage in self._storage:
            counts = os.fstatvfs(storage)
            if counts.f_files - counts.f_ffree > MOST_FILES:
                return f"they made more than {MOST_FILES:,} files"
        # The ended ones too, and the one that waits.
        names = filter(str.isdigit, os.listdir(self._proc))
        return self._overworked([self._proc / name for name in names])

    def _share_processors(self) -> None:
        """Let all that run here weigh as much as two threads do elsewhere, however many they are.

        A hundred busy processes of one sandbox would leave its neighbours a hundredth of the
        machine.
        """
        self._busy.append(busy_threads(self._process_folders()))
        # Threads wake for a moment all the time: what counts is how many stay busy.
        wanted = nice_of(min(self._busy)) if len(self._busy) == LOOKS else 0
        if wanted <= self._nice:
            return
        self._nice = wanted
        # Who grades may be nice already.
        value = min(19, os.getpriority(os.PRIO_PROCESS, 0) + wanted)
        namespace = os.stat(self._proc / "1/ns/pid").st_ino
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):  # it has ended, or is not ours to look at
                if os.stat(f"/proc/{name}/ns/pid").st_ino == namespace:
                    for thread in os.listdir(f"/proc/{name}/task"):
                        os.setpriority(os.PRIO_PROCESS, int(thread), value)

    def _kill_one(self, kills: int) -> None:
        """Kill the process that takes most; everything when that does not help."""
        folders = self._process_folders()
        if kills > ENOUGH_KILLS or not self.killed_because.endswith("memory"):
            self._kill_all()
        elif folders:
            with contextlib.suppress(OSError):
                self._kill(int(max(folders, key=resident_memory).name))

    def _kill(self, pid: int) -> None:
        with opened(f"{self._proc}/{pid}", os.O_RDONLY) as process:
            send_signal(process, signal.SIGKILL)

    def _kill_all(self) -> None:
        self._holder.kill()

    def close(self) -> None:
        super().close()
        self._stack.close()


@functools.cache
def why_not() -> str:
    """Why there is no sandbox here, and how to get one, in a line; empty where it works.

    A sandbox is made and a process confined in it, once per process.
    """
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        return "a sandbox needs Linux: use a Linux machine, a virtual one or WSL 2"
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed: sudo apt install bubblewrap, or dnf, pacman, zypper"
    try:
        with Sandbox() as sandbox:
            trial = subprocess.run(
                [sys.executable, "-P", "-m", confinement.__name__, json.dumps(sandbox.rules())],
                stdin=sandbox.pidfd,
                capture_output=True,
                text=True,
                timeout=START_SECONDS,
                check=False,
            )
    except (SandboxError, OSError, subprocess.TimeoutExpired) as error:
        return remedy(str(error))
    if trial.returncode != 0:
        return remedy((trial.stderr.strip().splitlines() or ["it died"])[-1])
    return ""


def remedy(complaint: str) -> str:
    """What to do where bubblewrap is installed and does not work."""
    release = tuple(int(part) for part in os.uname().release.split(".")[:2])
    if release < (5, 8):
        return f"a sandbox needs Linux 5.8 or later, and this is {os.uname().release}"
    if os.geteuid() == 0 and not has_capability(CAP_SYS_ADMIN):
        return (
            "root has no CAP_SYS_ADMIN here, as in a container: grade as an ordinary user, "
            f"or start the container with it ({complaint})"
        )
    for setting, wrong, right in (
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("user.max_user_namespaces", "0", "15000"),
    ):
        path = Path("/proc/sys", *setting.split("."))
        if os.geteuid() != 0 and path.exists() and path.read_text().strip() == wrong:
            return f"this system lets no ordinary user make one: sudo sysctl {setting}={right}"
    return f"bubblewrap is installed and does not work here: {complaint}"


def has_capability(number: int) -> bool:
    """Whether this process has a capability."""
    status = Path("/proc/self/status").read_text()
    return bool(int(status.split("CapEff:")[1].split()[0], 16) >> number & 1)
