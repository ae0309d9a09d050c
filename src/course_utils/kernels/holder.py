"""The process that holds a sandbox's namespaces open, and ``bwrap`` around it."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path, PurePosixPath

from course_utils.kernels.processes import (
    send_signal,
)
from course_utils.kernels.workplace import Limits

INSIDE = "/scratch"
START_SECONDS = 20
# The user and group inside, where the sandbox has users of its own.
INSIDE_USER = 1000
# Started as root, each sandbox that runs takes one of these users; no account may have them.
FIRST_USER, USERS = 61184, 4096
# What libraries read: where shared libraries, commands and fonts are, and the time zone.
SYSTEM_FOLDERS = ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin")
SETTINGS = ("/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/localtime")
# Inside /usr, and nothing that a submission may see: nbgrader's exchange holds everybody's.
HIDDEN = ("/usr/local/share/nbgrader",)
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS = 0x00020000, 0x02000000, 0x04000000
CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID = 0x08000000, 0x10000000, 0x20000000
CLONE_NEWNET = 0x40000000


class SandboxError(RuntimeError):
    """There is no sandbox to be had; the message is one line that says why."""


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
