"""What a learner needs imports on Windows and macOS, where POSIX's and Linux's own are missing."""

import subprocess
import sys

from support.answers import ROOT

ELSEWHERE = """
import os, signal, sys
# Other people's packages ask the system themselves.
import click, matplotlib.pyplot, nbclient, nbformat, nbgrader.apps, psutil, rich.table, torch
import IPython.display, jupyter_client.provisioning, multiprocessing.resource_tracker
import torch.utils._python_dispatch, torch.utils.tensorboard, torch.profiler
sys.platform = "win32"
for name in ("fcntl", "resource", "grp", "termios", "pty"):
    sys.modules[name] = None
for name in ("fork", "pidfd_open", "killpg", "geteuid", "sched_getaffinity", "setpgid", "setsid"):
    if hasattr(os, name):
        delattr(os, name)
del signal.SIGKILL
"""


def elsewhere(code):
    """Run ``code`` in a Python that lacks what other systems lack."""
    return subprocess.run(
        [sys.executable, "-c", ELSEWHERE + code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_learners_names_and_commands_are_there_and_grading_says_what_it_needs():
    done = elsewhere(
        "import course_utils\n"
        "for name in course_utils.__all__: getattr(course_utils, name)\n"
        "import course_utils.command.cli as cli\n"
        "import course_utils.command.doctor, course_utils.command.lab\n"
        "import course_utils.authoring.build, course_utils.command.verify\n"
        "for command in ('doctor', 'lab', 'renew', 'progress', 'build', 'verify'):\n"
        "    cli.main([command, '--help'], standalone_mode=False)\n"
        "cli.main(['grade', '00', '--isolation', 'none'])\n"
    )
    assert done.stdout.count("Usage:") == 6, done.stderr
    assert done.returncode == 1
    assert done.stderr.startswith("Error: grading needs Linux: ")
    assert done.stderr.count("\n") == 1, done.stderr
