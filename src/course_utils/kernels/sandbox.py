"""Where untrusted kernels live: a bubblewrap sandbox, or a plain folder where there is none.

``Sandbox`` starts ``bwrap`` around a process that only waits. It holds the namespaces open, and a
warm kernel, forked elsewhere with everything imported, joins them. When the holder dies, the
kernel of the system ends every process inside and forgets every file they wrote: nothing of a
sandbox is on the disk.

The holder dies with the process that made the sandbox, because it waits for the end of a pipe.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import logging
import math
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Container, Generator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from course_utils.kernels.system_calls import join_new_keyring, refuse_system_calls

LOG = logging.getLogger(__name__)
INSIDE = "/scratch"
START_SECONDS = 20
# The user and group inside, where the sandbox has users of its own.
INSIDE_USER = 1000
# Started as root, each sandbox that runs takes one of these users; no account may have them.
FIRST_USER, USERS = 61184, 4096
WATCH_SECONDS = 0.1
# As many busy threads weigh what they weigh anywhere; more than these share their weight.
SHARE = 2
LOOKS = 5
MOST_FILES = 100_000
# Also how many may be on their way in messages, where nobody counts the memory that they stand for.
MOST_OPEN_FILES = 1024
ENOUGH_KILLS = 20
# Between a signal that says that the processor time is used up, and the end.
CPU_GRACE_SECONDS = 2
# For all processes of a notebook to be gone once they are killed.
END_SECONDS = 10

# What libraries read: where shared libraries, commands and fonts are, and the time zone.
SYSTEM_FOLDERS = ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin")
SETTINGS = ("/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/localtime")
# Inside /usr, and nothing that a submission may see: nbgrader's exchange holds everybody's.
HIDDEN = ("/usr/local/share/nbgrader",)

# The state of a process that has ended, and whose parent has not asked how.
ENDED = "Z"

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS = 0x00020000, 0x02000000, 0x04000000
CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID = 0x08000000, 0x10000000, 0x20000000
CLONE_NEWNET = 0x40000000
CAP_SYS_ADMIN = 21
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 36, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4


class SandboxError(RuntimeError):
    """There is no sandbox to be had; the message is one line that says why."""


@dataclass(frozen=True)
class Limits:
    """What the processes of one sandbox may use.

    Attributes:
        memory_bytes: of one process beside what it starts with, and of all together. How much of
            what it starts with it shares varies, so the sum is taken that much too low at most.
        processes: and threads, all together.
        cpu_seconds: of processor time, of one process.
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
    def door(self) -> Path:
        """The scratch folder, as who connects to a kernel's sockets names it."""
        return self.scratch

    def close_door(self) -> None:
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
            start = time.monotonic()
            try:
                self._share_processors()
                reason = self.excess()
                if reason:
                    self.killed_because = self.killed_because or reason
                    kills += 1
                    self._kill_one(kills)
            except OSError:
                pass  # processes and the sandbox end while they are read
            except Exception:
                # It goes on: without it nothing would limit the memory.
                LOG.exception("a look at the processes of a sandbox failed")
            # Looking at much memory takes long: spend a tenth of the time on it.
            pause = max(WATCH_SECONDS, 9 * (time.monotonic() - start))

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

    def _kill(self, pid: int) -> None:
        """Kill the process of that number inside."""
        raise NotImplementedError

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

    def _process_folders(self) -> list[Path]:
        return [Path("/proc") / str(pid) for pid in self.processes()]

    def excess(self) -> str:
        if exceeds(self._process_folders(), self._inherited, self.limits.memory_bytes):
            return f"they took more than {in_words(self.limits.memory_bytes)} of memory"
        return ""

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
            self._proc = stack.enter_context(opened(root + "/proc"))
            self._storage = [
                self._scratch,
                stack.enter_context(opened(root + "/tmp")),
                stack.enter_context(opened(root + "/dev/shm")),
            ]
            self.scratch = Path(f"/proc/self/fd/{self._scratch}")
            self._door = stack.enter_context(opened(root + INSIDE))
            self._stack = stack.pop_all()

    @property
    def pidfd(self) -> int:
        """A descriptor of the process that holds the sandbox, for ``enter``."""
        return self._holder.pidfd

    @property
    def door(self) -> Path:
        return Path(f"/proc/self/fd/{self._door}")

    def close_door(self) -> None:
        # A client connects again by itself when it is cut off, and by then a link may have taken
        # the place of the socket, and lead anywhere.
        nowhere = os.open(os.devnull, os.O_PATH)
        os.dup2(nowhere, self._door, inheritable=False)
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
        folder = Path(f"/proc/self/fd/{self._proc}")
        found = []
        for name in os.listdir(folder):
            if name.isdigit() and name != "1":
                with contextlib.suppress(OSError):  # it has ended
                    if Process.of(folder / name).state != ENDED:
                        found.append(int(name))
        return sorted(found)

    def _process_folders(self) -> list[Path]:
        folder = Path(f"/proc/self/fd/{self._proc}")
        return [folder / str(pid) for pid in self.processes()]

    def memory_bytes(self) -> int:
        """The memory that processes inside have for themselves alone, in bytes."""
        return sum(private_memory(folder) for folder in self._process_folders())

    def excess(self) -> str:
        queued = queued_bytes(Path(f"/proc/self/fd/{self._proc}/1/net"))
        most = self.limits.memory_bytes - queued
        if exceeds(self._process_folders(), self._inherited, most):
            return f"they took more than {in_words(self.limits.memory_bytes)} of memory"
        for storage in self._storage:
            counts = os.fstatvfs(storage)
            if counts.f_files - counts.f_ffree > MOST_FILES:
                return f"they made more than {MOST_FILES:,} files"
        return ""

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
        namespace = os.stat(f"/proc/self/fd/{self._proc}/1/ns/pid").st_ino
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):  # it has ended, or is not ours to look at
                if os.stat(f"/proc/{name}/ns/pid").st_ino == namespace:
                    for thread in os.listdir(f"/proc/{name}/task"):
                        os.setpriority(os.PRIO_PROCESS, int(thread), value)

    def _kill_one(self, kills: int) -> None:
        """Kill the process that takes most; everything when that has not helped for long."""
        folders = self._process_folders()
        if kills > ENOUGH_KILLS or self.killed_because.endswith("files"):
            self._kill_all()
        elif folders:
            with contextlib.suppress(OSError):
                self._kill(int(max(folders, key=resident_memory).name))

    def _kill(self, pid: int) -> None:
        with opened(f"/proc/self/fd/{self._proc}/{pid}", os.O_RDONLY) as process:
            send_signal(process, signal.SIGKILL)

    def _kill_all(self) -> None:
        self._holder.kill()

    def close(self) -> None:
        super().close()
        self._stack.close()


class Holder:
    """The process that holds the namespaces of a sandbox open, and ``bwrap`` around it."""

    def __init__(self, limits: Limits, user: int | None) -> None:
        self.limits, self.user = limits, user

    def __enter__(self) -> Holder:
        command = find_bwrap()
        information, told = os.pipe()
        passwd = (
            f"root:x:0:0::/:/bin/false\nstudent:x:{self.user or INSIDE_USER}:"
            f"{self.user or INSIDE_USER}::{INSIDE}:/bin/sh\n"
        )
        with (
            file_of(passwd) as users,
            file_of("127.0.0.1 localhost sandbox\n::1 localhost\n") as hosts,
        ):
            arguments = [
                *namespace_options(command, self.user),
                *mount_options(self.limits),
                *("--perms", "0644", "--ro-bind-data", str(users), "/etc/passwd"),
                *("--perms", "0644", "--ro-bind-data", str(hosts), "/etc/hosts"),
                *("--remount-ro", "/dev", "--remount-ro", "/"),
                *("--chdir", "/", "--clearenv", "--info-fd", str(told)),
            ]
            self.process = subprocess.Popen(
                [command, *arguments, "--", "/bin/sh", "-c", f"echo; exec {waiting()} >/dev/null"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[told, users, hosts],
                start_new_session=True,
            )
        os.close(told)
        try:
            with open(information, "rb") as file:
                said = self.process.stdout
                assert said is not None
                ready = select.select([said], [], [], START_SECONDS)[0]
                if not ready or not said.read(1):
                    raise SandboxError(self._complaint())
                self.pid = json.load(file)["child-pid"]
            self.pidfd = os.pidfd_open(self.pid)
            self.namespaces = self._namespaces()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._end()
        os.close(self.pidfd)

    def _namespaces(self) -> int:
        """The kinds of namespaces that differ from this process's own, as flags of setns(2)."""
        kinds = {
            "user": CLONE_NEWUSER,
            "mnt": CLONE_NEWNS,
            "pid": CLONE_NEWPID,
            "net": CLONE_NEWNET,
            "ipc": CLONE_NEWIPC,
            "uts": CLONE_NEWUTS,
            "cgroup": CLONE_NEWCGROUP,
        }
        flags = 0
        for name, flag in kinds.items():
            mine, its = os.stat(f"/proc/self/ns/{name}"), os.stat(f"/proc/{self.pid}/ns/{name}")
            if mine.st_ino != its.st_ino:
                flags |= flag
        return flags

    def kill(self) -> None:
        """End every process of the sandbox: they can't outlive the first."""
        with contextlib.suppress(ProcessLookupError):
            send_signal(self.pidfd, signal.SIGKILL)

    def _end(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        if self.process.poll() is None:
            # Not Popen.wait with a time limit: it sleeps between its looks.
            with os.fdopen(os.pidfd_open(self.process.pid), "rb", buffering=0) as ended:
                if not select.select([ended], [], [], START_SECONDS)[0]:
                    self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def _complaint(self) -> str:
        self.process.kill()
        assert self.process.stderr is not None
        said = self.process.stderr.read().decode(errors="replace").strip()
        return " ".join(said.split()) or "bwrap ended without a word"


def find_bwrap() -> str:
    command = shutil.which("bwrap")
    if command is None:
        raise SandboxError("bubblewrap is not installed")
    return command


@functools.cache
def bwrap_help(command: str) -> str:
    return subprocess.run([command, "--help"], capture_output=True, text=True, check=False).stdout


@functools.cache
def waiting() -> str:
    """The command of the process that waits in a sandbox until its pipe closes.

    It lets the system reap the orphans that become its own, where ``env`` can do that: else they
    stay in the list of processes. A shell can't: dash does not ignore the signal that is meant.
    """
    ignoring = ["env", "--ignore-signal=CHLD"]
    with contextlib.suppress(OSError):
        tried = subprocess.run([*ignoring, "true"], stderr=subprocess.DEVNULL, check=False)
        if tried.returncode == 0:
            return " ".join([*ignoring, "cat"])
    return "cat"


def namespace_options(command: str, user: int | None) -> list[str]:
    """Everything unshared; users too, unless root gives each sandbox a user of its own."""
    options = [
        *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"),
        *("--unshare-cgroup-try", "--hostname", "sandbox"),
        *("--new-session", "--as-pid-1", "--cap-drop", "ALL"),
    ]
    if user is None:
        options += ["--unshare-user", "--uid", str(INSIDE_USER), "--gid", str(INSIDE_USER)]
        if "--disable-userns" in bwrap_help(command):  # bubblewrap 0.8
            options.append("--disable-userns")
    return options


def mount_options(limits: Limits) -> list[str]:
    """The file system of a sandbox, as options of ``bwrap``."""
    options = ["--ro-bind", "/usr", "/usr"]
    for folder in SYSTEM_FOLDERS:
        if os.path.islink(folder):
            options += ["--symlink", os.readlink(folder), folder]
        else:
            options += ["--ro-bind-try", folder, folder]
    for path in HIDDEN:
        if os.path.isdir(path):
            options += ["--tmpfs", path, "--remount-ro", path]
    size = str(limits.scratch_bytes)
    # Before Python's folders, which may lie in it.
    options += ["--perms", "1777", "--size", size, "--tmpfs", "/tmp"]
    folders = python_folders()
    # What bwrap makes by itself, on the way to a folder, nobody but its own user may enter.
    ways = {way for folder in [*folders, *SETTINGS] for way in PurePosixPath(folder).parents[:-1]}
    for way in sorted(ways):
        options += ["--perms", "0755", "--dir", str(way)]
    for path in SETTINGS:
        options += ["--ro-bind-try", path, path]
    for folder in folders:
        options += ["--ro-bind", folder, folder]
    options += ["--proc", "/proc", "--dev", "/dev"]
    for folder, mode in {"/dev/shm": "1777", INSIDE: "0777"}.items():
        options += ["--perms", mode, "--size", size, "--tmpfs", folder]
    return options


def python_folders() -> list[str]:
    """This Python, its packages, and the course's own package alone of where that lies."""
    package = Path(__file__).resolve().parents[1]
    wanted = [Path("/usr"), Path(sys.base_prefix), Path(sys.prefix), package]
    folders: list[Path] = []
    for folder in wanted:
        if not any(folder.is_relative_to(other) for other in folders):
            folders.append(folder)
    return [str(folder) for folder in folders[1:]]


@contextlib.contextmanager
def own_user() -> Generator[int]:
    """The number of a user that no other sandbox of this machine has."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as lock:
        for user in range(FIRST_USER, FIRST_USER + USERS):
            # A name that can be taken once, and is free again when its process ends.
            try:
                lock.bind(f"\0course-sandbox-user-{user}")
            except OSError:
                continue
            yield user
            return
        raise SandboxError("too many sandboxes at once")


@contextlib.contextmanager
def opened(path: str, mode: int = os.O_PATH) -> Generator[int]:
    """A descriptor of a folder; by default one that only names it."""
    descriptor = os.open(path, mode | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def file_of(text: str) -> Generator[int]:
    """A descriptor of a nameless file that holds ``text``."""
    descriptor = os.memfd_create("course")
    try:
        os.write(descriptor, text.encode())
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def send_signal(process: int, number: int) -> None:
    """Signal the process of a pidfd or of an opened /proc folder."""
    signal.pidfd_send_signal(process, number)


@dataclass(frozen=True)
class Process:
    """What the system says of a process.

    Attributes:
        state: a letter, as ``ps`` shows it.
        parent: its parent's number.
        session: its session's number.
        start: when it started, in ticks of the system's clock.
    """

    state: str
    parent: int
    session: int
    start: int

    @classmethod
    def of(cls, folder: Path) -> Process:
        """The process of a /proc folder, its numbers as the folder has them.

        Raises:
            OSError: it has ended, and its parent knows.
        """
        # After the command, which may hold anything.
        fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        return cls(fields[0], int(fields[1]), int(fields[3]), int(fields[19]))


def inside_number(pid: int) -> int:
    """The number that a process has in the innermost of its process namespaces.

    Raises:
        OSError: it has ended.
    """
    status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    return int(status.split("\nNSpid:")[1].splitlines()[0].split()[-1])


def resident_memory(folder: Path) -> int:
    """The memory of the process of a /proc folder, what it shares included, in bytes."""
    # What a process maps costs the tables of its pages as well.
    return status_bytes(folder, "VmRSS", "VmPTE")


def page_tables(folder: Path) -> int:
    """The memory that the system needs to map the process of a /proc folder, in bytes."""
    return status_bytes(folder, "VmPTE")


def status_bytes(folder: Path, *names: str) -> int:
    """The sum of some lines of a /proc folder's status, in bytes; 0 where the process has ended."""
    try:
        text = (folder / "status").read_text()
    except OSError:
        return 0
    found = re.findall(rf"^(?:{'|'.join(names)}):\s+(\d+) kB", text, re.MULTILINE)
    return sum(map(int, found)) * 1024


def private_memory(folder: Path) -> int:
    """The memory of the process of a /proc folder that no other process shares, in bytes."""
    counts = memory_counts(folder)
    return counts.get("Private_Clean", 0) + counts.get("Private_Dirty", 0)


def shared_out_memory(folder: Path) -> int:
    """The written memory of the process of a /proc folder, and its share of what is shared."""
    counts = memory_counts(folder)
    return counts.get("Pss_Anon", 0) + counts.get("Pss_Shmem", 0)


def memory_counts(folder: Path) -> dict[str, int]:
    """The system's account of the memory of the process of a /proc folder, in bytes."""
    try:
        lines = (folder / "smaps_rollup").read_text().splitlines()[1:]
    except OSError:  # it has ended
        return {}
    return {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}


def exceeds(folders: list[Path], inherited: int, most: int) -> bool:
    """Whether processes take more memory than they may.

    Args:
        folders: their /proc folders.
        inherited: the bytes that each has from the process that it was forked from.
        most: the bytes that they may take beside that, all together.
    """
    # The exact account takes long where processes are large, so first what can't be too little.
    # What one process has alone is too little: a fork shares what the other has.
    beside = sum(max(0, resident_memory(folder) - inherited) for folder in folders)
    nameless = nameless_files(folders)
    if beside + nameless <= most:
        return False
    exact = sum(shared_out_memory(folder) + page_tables(folder) for folder in folders)
    return exact + nameless > most + inherited


def nameless_files(folders: list[Path]) -> int:
    """The bytes that only descriptors of these processes name.

    Files in memory, and what sockets may hold for their readers: a Unix socket does not say how
    much it holds, so each counts with the most that it may.
    """
    sizes: dict[tuple[int, int], int] = {}
    sockets: set[str] = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            for entry in os.scandir(folder / "fd"):
                with contextlib.suppress(OSError):
                    name = os.readlink(entry.path)
                    if name.startswith("/memfd:"):
                        status = os.stat(entry.path)
                        sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
                    elif name.startswith("socket:"):
                        sockets.add(name)
    return sum(sizes.values()) + len(sockets) * socket_bytes()


@functools.cache
def socket_bytes() -> int:
    """What a Unix socket may hold, where its sender can't ask for more: see ``system_calls``."""
    return int(Path("/proc/sys/net/core/wmem_default").read_text())


def queued_bytes(network: Path) -> int:
    """What the sockets of a /proc/PID/net folder hold that go by an address."""
    total = 0
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        with contextlib.suppress(OSError):
            for line in (network / kind).read_text().splitlines()[1:]:
                sending, receiving = line.split()[4].split(":")
                total += int(sending, 16) + int(receiving, 16)
    # Packets take about as much again.
    return 2 * total


def busy_threads(folders: list[Path]) -> int:
    """How many threads of the processes of /proc folders run, or would if a processor were free."""
    count = 0
    for folder in folders:
        with contextlib.suppress(OSError):
            for thread in os.listdir(folder / "task"):
                with contextlib.suppress(OSError):
                    count += Process.of(folder / "task" / thread).state == "R"
    return count


def nice_of(busy: int) -> int:
    """The nice value at which so many threads weigh as much as ``SHARE`` of them at 0."""
    # Each step takes a fifth of the weight.
    return min(19, math.ceil(math.log(busy / SHARE, 1.25))) if busy > SHARE else 0


def in_words(count: int) -> str:
    if count < 2**30:
        return f"{count / 2**20:.0f} MiB"
    return f"{count / 2**30:.1f} GiB"


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
                [sys.executable, "-P", "-m", __name__, json.dumps(sandbox.rules())],
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


# What follows runs in the process that becomes a kernel.


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


def prctl(option: int, argument: int) -> None:
    """Set an attribute of this process, as prctl(2) does."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(argument), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}, {argument}): {os.strerror(number)}")


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
