"""What a fork of the template process does to become the kernel, or the program, asked for."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import importlib.util
import inspect
import os
import signal
import sys
import traceback
from typing import NoReturn

from course_utils.kernels import confinement
from course_utils.kernels.template import Request
from course_utils.prctl import PR_SET_PDEATHSIG, prctl
from course_utils.system import cores

STDERR = 2
INLINE_BACKEND = "module://matplotlib_inline.backend_inline"


def run_kernel(request: Request, descriptors: list[int]) -> NoReturn:
    """Become the kernel that was asked for; never return."""
    status, stderr = 1, sys.__stderr__
    try:
        os.setsid()
        if request.sandbox is not None:
            confinement.confine(request.sandbox["user"], request.sandbox["limits"])
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        wanted = dict(zip(request.descriptors, descriptors, strict=False))
        # The template process's, which is logged: until another's code may run here.
        number = max([*wanted, STDERR]) + 1
        place_descriptors({**wanted, number: STDERR})
        stderr = os.fdopen(number, "w")
        os.chdir(request.folder)
        become_fresh(request)
        for path, text in request.connection.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        stderr.close()
        stderr = sys.__stderr__
        if request.program:
            importlib.import_module(request.program).main(request.arguments)
            status = 0
        else:
            status = run_application(request.arguments)
    except SystemExit as exit:
        status = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    except BaseException:
        traceback.print_exc(file=stderr)
    finally:
        # What the interpreter does at its end, but for taking torch apart, which takes long.
        with contextlib.suppress(BaseException):
            atexit._run_exitfuncs()
        with contextlib.suppress(BaseException):
            for stream in (sys.__stdout__, sys.__stderr__, stderr):
                if stream is not None:
                    stream.flush()
        os._exit(status)


def place_descriptors(wanted: dict[int, int]) -> None:
    """Give descriptors the wanted numbers, and close every other.

    Args:
        wanted: from the number that each is to have to the number that it has.
    """
    import fcntl

    above = max([*wanted, *wanted.values(), 2]) + 1
    # First out of each other's way, then into place.
    apart = {
        number: fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, above)
        for number, descriptor in wanted.items()
    }
    for number, descriptor in apart.items():
        os.dup2(descriptor, number, inheritable=number <= 2)
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in wanted:
            with contextlib.suppress(OSError):  # the listing's own is gone already
                os.close(int(name))


def become_fresh(request: Request) -> None:
    """Renew what a new process would have of its own and a fork has from its parent."""
    import multiprocessing.process
    import random
    import tempfile
    import time

    import matplotlib
    import numpy
    import torch

    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    tempfile.tempdir = None
    matplotlib.rcParams["backend"] = os.environ.get("MPLBACKEND", INLINE_BACKEND)
    multiprocessing.process.ORIGINAL_DIR = os.getcwd()  # ty: ignore[missing-attribute]  private
    multiprocessing.process.current_process().authkey = os.urandom(32)
    # Where a Python that starts looks for modules.
    extra = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:0] = [path for path in extra if path not in sys.path]
    random.seed(os.urandom(32))
    numpy.random.seed()
    torch.manual_seed(int.from_bytes(os.urandom(7), sys.byteorder))
    wanted = request.threads or int(os.environ.get("OMP_NUM_THREADS") or 0)
    torch.set_num_threads(wanted or cores())


class Modules(dict):
    """For ``inspect``, by a file's name the module that comes from it: none comes from a cell's.

    It would look through all modules to find that out, thousands of them where torch is, several
    times for each error that a cell raises.
    """

    def __init__(self, known: dict[str, str]) -> None:
        from ipykernel.compiler import get_tmp_directory

        super().__init__(known)
        self.cells = get_tmp_directory() + os.sep

    def __contains__(self, file: object) -> bool:
        return super().__contains__(file) or str(file).startswith(self.cells)

    def __missing__(self, file: str) -> str:
        return ""


def run_application(arguments: list[str]) -> int:
    """Run the kernel's application as ``python -m ipykernel_launcher`` does, to its end."""
    from ipykernel.kernelapp import IPKernelApp

    launcher = importlib.util.find_spec("ipykernel_launcher")
    assert launcher is not None
    assert launcher.origin is not None
    # 1 is a parent that never goes away: the kernel need not look every second.
    sys.argv = [launcher.origin, *arguments, "--IPKernelApp.parent_handle=1"]
    application = IPKernelApp.instance()
    application.initialize(sys.argv[1:])
    # As it is, the logger makes a record of every message, which its handler then drops.
    application.log.setLevel(application.log_level)
    inspect.modulesbyfile = Modules(inspect.modulesbyfile)
    application.start()
    return 0
