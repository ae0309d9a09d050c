"""What the system says of processes: their memory, their threads, who started them."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path

from course_utils.kernels.confinement import MOST_OPEN_FILES

# As many busy threads weigh what they weigh anywhere; more than these share their weight.
SHARE = 2
# The state of a process that has ended, and whose parent has not asked how.
ENDED = "Z"
# Of the system's clock, a second.
TICKS = os.sysconf("SC_CLK_TCK")


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
        seconds: of processor time that it used.
        children_seconds: that its ended children used, where it waited for their end.
    """

    state: str
    parent: int
    session: int
    start: int
    seconds: float
    children_seconds: float

    @classmethod
    def of(cls, folder: Path) -> Process:
        """The process of a /proc folder, its numbers as the folder has them.

        Raises:
            OSError: it has ended, and its parent knows.
        """
        # After the command, which may hold anything.
        fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        user, system, childrens_user, childrens_system = (
            int(ticks) / TICKS for ticks in fields[11:15]
        )
        return cls(
            state=fields[0],
            parent=int(fields[1]),
            session=int(fields[3]),
            start=int(fields[19]),
            seconds=user + system,
            children_seconds=childrens_user + childrens_system,
        )


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


def most_memory(folder: Path) -> int:
    """The most memory that the process of a /proc folder has had in its life, in bytes."""
    return status_bytes(folder, "VmHWM")


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
    except PermissionError:
        # It forbade a look (PR_SET_DUMPABLE), or runs what may not be read: all that it has counts.
        anonymous, shared = status_bytes(folder, "RssAnon"), status_bytes(folder, "RssShmem")
        return {"Private_Dirty": anonymous, "Pss_Anon": anonymous, "Pss_Shmem": shared}
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
    much it holds, so each counts with the most that it may. A process that forbade a look counts as
    if all its files were sockets.
    """
    sizes: dict[tuple[int, int], int] = {}
    sockets: set[str] = set()
    hidden = 0
    for folder in folders:
        try:
            entries = os.scandir(folder / "fd")
        except PermissionError:
            # Nor may one look into what has ended, which has no memory either.
            hidden += MOST_OPEN_FILES if resident_memory(folder) else 0
            continue
        except OSError:  # it has ended
            continue
        with contextlib.suppress(OSError):
            for entry in entries:
                with contextlib.suppress(OSError):
                    name = os.readlink(entry.path)
                    if name.startswith("/memfd:"):
                        status = os.stat(entry.path)
                        sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
                    elif name.startswith("socket:"):
                        sockets.add(name)
    return sum(sizes.values()) + (len(sockets) + hidden) * socket_bytes()


@functools.cache
def socket_bytes() -> int:
    """What a Unix socket may hold, where its sender can't ask for more: see ``system_calls``."""
    return int(Path("/proc/sys/net/core/wmem_default").read_text())


def queued_bytes(network: Path) -> int:
    """What the sockets of a /proc/PID/net folder hold that go by an address."""
    # For a list of them Linux looks through the whole machine's table, which takes milliseconds;
    # their number it knows. A kernel listens on one, for what its children print; one alone can
    # hold a few MiB at most, its own words to itself.
    if sockets_in_use(network) <= 1:
        return 0
    total = 0
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        with contextlib.suppress(OSError):
            for line in (network / kind).read_text().splitlines()[1:]:
                sending, receiving = line.split()[4].split(":")
                total += int(sending, 16) + int(receiving, 16)
    # Packets take about as much again.
    return 2 * total


def sockets_in_use(network: Path) -> int:
    """How many sockets of a /proc/PID/net folder go by an address."""
    counts = (network / "sockstat").read_text()
    with contextlib.suppress(FileNotFoundError):  # a machine without IPv6
        counts += (network / "sockstat6").read_text()
    return sum(map(int, re.findall(r"^(?:TCP|UDP)6?: inuse (\d+)", counts, re.MULTILINE)))


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
