"""A Python as on Windows, for cells and the course's own code: processes are spawned, not forked.

Each Python that has this folder on its ``PYTHONPATH`` runs it as it starts, spawned ones too. What
Windows lacks is missing for whoever is not a library: libraries here are those of a POSIX system,
and need it.
"""

import builtins
import multiprocessing
import os
import signal
import sys
import sysconfig

BY_FILES = "file_system"
MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"}
MISSING = {
    os: "fork forkpty killpg setsid getsid getpgid getpgrp setpgid getuid geteuid getgid getegid "
    "name chown mkfifo uname getloadavg wait wait3 wait4 WNOHANG WIFEXITED WEXITSTATUS WIFSIGNALED "
    "WTERMSIG posix_spawn register_at_fork sysconf nice statvfs sched_getaffinity "
    "sched_setaffinity memfd_create pidfd_open sendfile O_CLOEXEC O_NONBLOCK O_DIRECTORY",
    signal: "SIGKILL SIGUSR1 SIGUSR2 SIGALRM SIGHUP SIGQUIT SIGCHLD SIGBUS SIGCONT SIGSTOP "
    "SIGPIPE alarm setitimer pause pthread_kill pthread_sigmask sigwait",
}
LIBRARIES = tuple(
    os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "purelib", "platlib")
)


def of_a_library(variables: dict) -> bool:
    """Whether the code with these globals is a library's: not a cell's, which has no file."""
    name = variables.get("__name__", "")
    file = str(variables.get("__file__") or "")
    if name.startswith("importlib") or file == __file__:
        return True
    return os.path.realpath(file).startswith(LIBRARIES) and not name.startswith("course_utils")


def hide(module, names, others=()) -> None:
    kept = {name: vars(module).pop(name) for name in names if name in vars(module)}

    def missing(name):
        if name in kept and of_a_library(sys._getframe(1).f_globals):
            return kept[name]
        if name in dict(others):
            return dict(others)[name]
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    module.__getattr__ = missing


def imported(name, variables=None, *rest, **more):
    if name.partition(".")[0] in MODULES and not of_a_library(variables or {}):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    module = real_import(name, variables, *rest, **more)
    share_by_files()
    return module


def share_by_files() -> None:
    """Have PyTorch send tensors by files, as on Windows and macOS: Linux sends descriptors.

    A descriptor goes with its tensor, before a process that is started afresh could open it.
    """
    sharing = sys.modules.get("torch.multiprocessing")
    if hasattr(sharing, "set_sharing_strategy") and sharing.get_sharing_strategy() != BY_FILES:
        sharing.set_sharing_strategy(BY_FILES)


def opened(path, flags, *rest, **more):
    if not of_a_library(sys._getframe(1).f_globals) and os.path.isdir(path):
        raise PermissionError(13, "Permission denied", path)
    return real_open(path, flags, *rest, **more)


def killed(process, number):
    if not of_a_library(sys._getframe(1).f_globals):
        # No handler runs there: whatever the number, the process is over, with that status.
        if process == os.getpid():
            os._exit(number)
        number = 9 if number else 0
    real_kill(process, number)


multiprocessing.set_start_method("spawn")
# What these need of the names is taken as they are imported.
for needed in (
    "multiprocessing.popen_spawn_posix",
    "multiprocessing.resource_tracker",
    "subprocess",
):
    __import__(needed)
real_open, real_kill = os.open, os.kill
real_import, builtins.__import__ = builtins.__import__, imported
for module, names in MISSING.items():
    hide(module, names.split(), [("name", "nt")] if module is os else ())
os.open, os.kill = opened, killed
