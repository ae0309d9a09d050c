"""System calls that no notebook needs, and that a sandbox refuses by a seccomp filter.

A filter is a small program that Linux runs before each system call of a process and of its
children. No process can take it away again. Ours looks at the number of the call, at the flags of
``clone``, and at what a socket is to change.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
# Opcodes of classic BPF: load a word of the call's description; jump if equal, if not less, if any
# of these bits is set; and return.
LOAD, IF_EQUAL, IF_AT_LEAST, IF_ANY, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000  # to refuse is to fail with the number that is added
NUMBER, MACHINE, FIRST_ARGUMENT = 0, 4, 16  # where they stand in the description
X86_64, X32_CALLS = 0xC000003E, 0x40000000
NAMESPACES = 0x7E020080  # all of clone(2)'s CLONE_NEW… flags
CLONE, CLONE3, SET_SOCKET_OPTION = 56, 435, 54
LEVEL, OPTION = 24, 32  # of SET_SOCKET_OPTION, where they stand in the description
SOL_SOCKET, SO_SNDBUF = 1, 7
JOIN_SESSION_KEYRING = 1
KEYCTL = {"x86_64": 250, "aarch64": 219}

# By their names, with their numbers on x86_64.
REFUSED = {
    # The kernel's store of keys is shared by all that one user runs.
    **{"add_key": 248, "request_key": 249, "keyctl": 250},
    # Does other calls' work, past this filter.
    **{"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427},
    # In a user namespace of its own a process may mount and make memory that nobody counts.
    **{"unshare": 272, "setns": 308, "chroot": 161, "pivot_root": 155},
    **{"mount": 165, "umount2": 166, "open_tree": 428, "move_mount": 429, "fsopen": 430},
    **{"fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442},
    # Memory that belongs to no process, or to whoever has a message with it.
    **{"shmget": 29, "msgget": 68, "semget": 64, "memfd_create": 319, "memfd_secret": 447},
    # To look into other processes, and at the system's inside.
    **{"ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_getfd": 438},
    **{"bpf": 321, "perf_event_open": 298, "userfaultfd": 323},
}


def join_new_keyring() -> None:
    """Leave the session keyring that this process shares with who started it.

    Raises:
        OSError: the system refuses.
    """
    number = KEYCTL.get(platform.machine())
    if number is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, JOIN_SESSION_KEYRING, None) < 0 and ctypes.get_errno() != errno.ENOSYS:
        raise OSError(ctypes.get_errno(), "a kernel cannot leave the session keyring")


def refuse_system_calls() -> bool:
    """Load the filter, for ever; the process must have given up new privileges.

    Returns:
        Whether there is one for this machine; it is written for x86_64.

    Raises:
        OSError: the system refuses.
    """
    if platform.machine() != "x86_64":
        return False
    steps = program()
    code = ctypes.create_string_buffer(b"".join(steps))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))

    filter = Program(len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filter), 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"a kernel cannot refuse system calls: {os.strerror(number)}")
    return True


def program() -> list[bytes]:
    """The filter's steps; a jump says how many steps to skip if its question holds, and if not."""
    not_allowed = step(RETURN, REFUSE | errno.EPERM)
    unknown = step(RETURN, REFUSE | errno.ENOSYS)
    # Nothing happens, and the caller hears that all is well.
    ignored = step(RETURN, REFUSE | 0)
    allowed = step(RETURN, ALLOW)
    steps = [
        # Calls of another kind have other numbers.
        *(step(LOAD, MACHINE), step(IF_EQUAL, X86_64, 1, 0), unknown),
        *(step(LOAD, NUMBER), step(IF_AT_LEAST, X32_CALLS, 0, 1), unknown),
        # Its flags lie in memory, where a filter can't read; the C library takes clone then.
        *(step(IF_EQUAL, CLONE3, 0, 1), unknown),
    ]
    for number in REFUSED.values():
        steps += [step(IF_EQUAL, number, 0, 1), not_allowed]
    return [
        *steps,
        *(step(IF_EQUAL, CLONE, 0, 4), step(LOAD, FIRST_ARGUMENT)),
        *(step(IF_ANY, NAMESPACES, 0, 1), not_allowed, allowed),
        # A larger buffer is asked for as a hint, and would be memory of no process.
        *(step(IF_EQUAL, SET_SOCKET_OPTION, 0, 5), step(LOAD, LEVEL)),
        *(step(IF_EQUAL, SOL_SOCKET, 0, 3), step(LOAD, OPTION)),
        *(step(IF_EQUAL, SO_SNDBUF, 0, 1), ignored),
        allowed,
    ]


def step(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_so, if_not, value)
