"""A place for untrusted kernels, and the watchdog over it; ``Scratch`` is one without a sandbox."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from course_utils.kernels.confinement import cpu_limits
from course_utils.kernels.processes import (
    ENDED,
    Process,
    exceeds,
    in_words,
    inside_number,
    most_memory,
    private_memory,
    resident_memory,
)

LOG = logging.getLogger(__name__)
WATCH_SECONDS = 0.1
# So many times one process's processor time may be used by all together: ranks work side by side.
TOGETHER = 2
# For all processes of a notebook to be gone once they are killed.
END_SECONDS = 10


@dataclass(frozen=True)
class Limits:
    """What the processes of one sandbox may use.

    Attributes:
        memory_bytes: of one process beside what it starts with, and of all together. How much of
            what it starts with it shares varies, so the sum is taken that much too low at most.
        processes: and threads, all together.
        cpu_seconds: of processor time, of one process; of all together twice as much.
        file_bytes: of one file.
        scratch_bytes: of the scratch folder; of /tmp and of /dev/shm as much again each.
    """

    memory_bytes: int = 4 * 2**30
    processes: int = 128
    cpu_seconds: int = 3600
    file_bytes: int = 256 * 2**20
    scratch_bytes: int = 512 * 2**20


class Guarded(Protocol):
    """The kernel that a watchdog looks after; ``WarmProcess`` is one."""

    pid: int

    def poll(self) -> int | None: ...

    def kill(self) -> None: ...


class Workplace:
    """A place for untrusted kernels: what ``Sandbox`` and ``Scratch`` have in common.

    Attributes:
        limits: what the processes may use.
        scratch: the kernels' working folder, as seen from here.
        inside: the same folder, as seen by the kernels.
        environment: the variables of a kernel.
        killed_because: why the watchdog killed a process; empty if it did not.
    """

    scratch: Path
    inside: str

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.killed_because = ""
        self._kernel: Guarded | None = None
        self._inherited = 0
        # What each process was last seen to have used, by its number and start.
        self._seconds: dict[tuple[str, int], float] = {}
        self._closed = threading.Event()
        self._watchdog: threading.Thread | None = None

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def environment(self) -> dict[str, str]:
        libraries = os.environ.get("LD_LIBRARY_PATH")  # where some Pythons find themselves
        return {
            **({"LD_LIBRARY_PATH": libraries} if libraries else {}),
            "HOME": self.inside,
            "LANG": "C.UTF-8",
            "LOGNAME": "student",
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
            "USER": "student",
            # torch.distributed asks for the address of the host's name, which leads nowhere here.
            "GLOO_SOCKET_IFNAME": "lo",
        }

    @property
    def sockets(self) -> Path:
        """The scratch folder, as who connects to a kernel's sockets names it."""
        return self.scratch

    def close_sockets(self) -> None:
        """Let nobody connect to the sockets of the scratch folder any more."""

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files into the scratch folder, before a kernel runs there.

        Args:
            files: contents by relative POSIX path.

        Raises:
            ValueError: a path leads out of the folder.
        """
        for name, content in files.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.parts:
                raise ValueError(f"{name!r} is no path inside the scratch folder")
            target = self.scratch
            for part in path.parts[:-1]:
                target = target / part
                if not target.is_dir():
                    target.mkdir()
                    self._give(target)
            target = target / path.name
            target.write_bytes(content)
            self._give(target)

    def _give(self, path: Path) -> None:
        """Make the kernels' user the owner."""

    def watch(self, kernel: Guarded) -> None:
        """Kill ``kernel``, or whatever takes most, when the processes exceed the limits."""
        self._kernel = kernel
        self._inherited = resident_memory(Path("/proc") / str(kernel.pid))
        if self._watchdog is None:
            self._watchdog = threading.Thread(target=self._watch, daemon=True)
            self._watchdog.start()

    def _watch(self) -> None:
        kills, pause = 0, WATCH_SECONDS
        while not self._closed.wait(pause):
            start = time.thread_time()
            try:
                self._share_processors()
                reason = self.excess()
                if reason:
                    self.killed_because = self.killed_because or reason
                    kills += 1
                    self._kill_one(kills)
            except (FileNotFoundError, ProcessLookupError):
                pass  # processes and the sandbox end while they are read
            except Exception:
                # It goes on: without it nothing would limit the memory.
                LOG.exception("a look at the processes of a sandbox failed")
            # Looking at much memory takes long: spend a tenth of a processor on it. By the clock, a
            # look would take seconds on a busy machine, and the next would come a minute later.
            pause = max(WATCH_SECONDS, 9 * (time.thread_time() - start))

    def processes(self) -> list[int]:
        """The ids of the processes here, as they are inside."""
        raise NotImplementedError

    def leaders(self) -> set[int]:
        """Those children of the kernel, as they are inside, that lead a process group."""
        if self._kernel is None:
            return set()
        found = set()
        with contextlib.suppress(OSError):  # it has ended
            for thread in Path(f"/proc/{self._kernel.pid}/task").iterdir():
                for pid in map(int, (thread / "children").read_text().split()):
                    with contextlib.suppress(OSError):
                        if os.getpgid(pid) == pid:
                            found.add(inside_number(pid))
        return found

    def end_all_but(self, kept: Container[int]) -> None:
        """Kill the kernel and everything that it started, and wait until none is left.

        Args:
            kept: the processes that go on, as they are inside.
        """
        deadline = time.monotonic() + END_SECONDS
        while left := [pid for pid in self.processes() if pid not in kept]:
            if time.monotonic() > deadline:
                self.killed_because = self.killed_because or "its processes would not end"
                self._kill_all()
                return
            for pid in left:
                with contextlib.suppress(OSError):  # it has ended
                    self._kill(pid)
            time.sleep(0.005)

    def excess(self) -> str:
        """What exceeds the limits now, in words; empty if nothing does."""
        raise NotImplementedError

    def _overworked(self, folders: list[Path]) -> str:
        """That processes have used more processor time than they may, in words; or nothing."""
        # Who waited for an ended process knows what it used, also if it was too short to be seen
        # here; but nobody needs to wait.
        known = 0.0
        for folder in folders:
            with contextlib.suppress(OSError):  # it has ended
                process = Process.of(folder)
                self._seconds[folder.name, process.start] = process.seconds
                known += process.seconds + process.children_seconds
        most = TOGETHER * self.limits.cpu_seconds
        if max(known, sum(self._seconds.values())) > most:
            return f"they used more than {most:,} s of processor time"
        return ""

    def _kill(self, pid: int) -> None:
        """Kill the process of that number inside."""
        raise NotImplementedError

    def _folder_of(self, pid: int) -> Path:
        """The /proc folder of the process of that number inside."""
        raise NotImplementedError

    def _process_folders(self) -> list[Path]:
        """The /proc folders of the processes here."""
        return [self._folder_of(pid) for pid in self.processes()]

    def most_memory(self, pids: Iterable[int]) -> int:
        """The most memory that one of these processes, numbered as inside, has had, in bytes."""
        return max((most_memory(self._folder_of(pid)) for pid in pids), default=0)

    def _kill_all(self) -> None:
        """Kill every process here."""
        raise NotImplementedError

    def _share_processors(self) -> None:
        """Give way to others where many threads are busy here."""

    def _kill_one(self, kills: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """End every process and forget every file."""
        self._closed.set()
        if self._watchdog is not None and self._watchdog is not threading.current_thread():
            self._watchdog.join()


class Scratch(Workplace):
    """No sandbox: a temporary folder. A kernel here may do what its user may."""

    def __init__(self, limits: Limits | None = None) -> None:
        super().__init__(limits)
        # When each process started that was found here: its number may be another's later.
        self._known: dict[int, int] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="course-", ignore_cleanup_errors=True)
        self.scratch = Path(self._folder.name)
        self.inside = str(self.scratch)

    def watch(self, kernel: Guarded) -> None:
        import resource

        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(kernel.pid, resource.RLIMIT_CPU, cpu_limits(self.limits.cpu_seconds))
        super().watch(kernel)

    def processes(self) -> list[int]:
        """The ids of the kernel, of the processes of its session, and of what they started.

        A process that leaves the session is known by its parent: the kernel adopts the orphans
        (:func:`adopt_orphans`), and what was found once is not forgotten when the kernel has ended.
        """
        if self._kernel is None:
            return []
        found: dict[int, Process] = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):  # it has ended
                found[int(name)] = Process.of(Path("/proc") / name)
        known: set[int] = set()
        more = {
            pid
            for pid, process in found.items()
            if process.session == self._kernel.pid or self._known.get(pid) == process.start
        }
        while more:
            known |= more
            more = {pid for pid, process in found.items() if process.parent in more} - known
        self._known = {pid: found[pid].start for pid in known}
        return sorted(pid for pid in known if found[pid].state != ENDED)

    def memory_bytes(self) -> int:
        """The memory that processes here have for themselves alone, in bytes."""
        return sum(private_memory(folder) for folder in self._process_folders())

    def _folder_of(self, pid: int) -> Path:
        return Path("/proc") / str(pid)

    def excess(self) -> str:
        if exceeds(self._process_folders(), self._inherited, self.limits.memory_bytes):
            return f"they took more than {in_words(self.limits.memory_bytes)} of memory"
        # Those too that have ended, and for which nobody has waited yet.
        return self._overworked([Path("/proc") / str(pid) for pid in self._known])

    def _kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)

    def _kill_all(self) -> None:
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                self._kill(pid)

    def _kill_one(self, kills: int) -> None:
        self._kill_all()

    def close(self) -> None:
        super().close()
        self._kill_all()
        self._folder.cleanup()
