"""See whether this machine can run the course, and say what to do where it cannot.

Each check is a function that returns ``(ok, text)``: what was found, or what to do.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.text import Text

from course_utils.copies.copying import learner_folder
from course_utils.errors import CourseError, kind_and_words, one_line
from course_utils.learner.servers import (
    end,
    free_port,
    last_line,
    server_command,
    visdom_page,
    wait_until_ready,
)
from course_utils.project import find_course, has_sources
from course_utils.system import cores, memory_gib

DISTRIBUTION = "pytorch-notebook-course"
SERVER_SECONDS = 60
# torch, a kernel and JupyterLab, with something left for the data of a chapter.
MEMORY_GIB = 2.0
NBGRADER_SERVER_EXTENSIONS = ("assignment_list", "course_list", "formgrader", "validate_assignment")
INSTALL_AGAIN = "install the course again: make clean lab"

Diagnosis = tuple[bool, str]


def python() -> Diagnosis:
    from importlib.metadata import metadata

    from packaging.specifiers import SpecifierSet

    wanted = SpecifierSet(metadata(DISTRIBUTION)["Requires-Python"])
    version = ".".join(str(part) for part in sys.version_info[:3])
    if version in wanted:
        return True, version
    return False, f"{version} is not {wanted}: make clean, then make PYTHON=python3.12 lab"


def torch_and_torchvision() -> Diagnosis:
    try:
        import torch
        import torchvision

        boxes = torch.tensor([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9]])
        kept = torchvision.ops.nms(boxes, torch.tensor([0.9, 0.8]), iou_threshold=0.5).tolist()
    except Exception as error:  # a bad pair of builds fails in many ways, while being imported too
        reason = one_line(error)
        return (
            False,
            f"do not fit each other ({reason}): install both from the same place, {INSTALL_AGAIN}",
        )
    if kept != [0]:
        return False, f"compute wrong results: {INSTALL_AGAIN}"
    return True, f"torch {torch.__version__}, torchvision {torchvision.__version__}"


def device() -> Diagnosis:
    try:
        import torch

        from course_utils.learner.devices import device as chosen

        torch.ones(2, device=chosen).sum().item()
    except (ImportError, RuntimeError) as error:
        return False, one_line(error)
    if chosen.type == "cuda":
        return True, f"{chosen}: {torch.cuda.get_device_name(chosen)}"
    return True, f"{chosen}, which is enough for every chapter"


def processor() -> Diagnosis:
    count = cores()
    return True, f"{count} core" + ("s" if count > 1 else "")


def memory() -> Diagnosis:
    free, total = memory_gib()
    text = f"{free:.1f} of {total:.1f} GiB free"
    if free < MEMORY_GIB:
        return False, f"{text}: close other programs or kernels until {MEMORY_GIB:g} GiB are free"
    return True, text


def folders() -> Diagnosis:
    from jupyter_core.paths import jupyter_runtime_dir

    wanted = [Path(tempfile.gettempdir()), Path(jupyter_runtime_dir())]
    try:
        root = find_course()
    except CourseError:
        where = "this is no course folder, only Jupyter's were tried"
    else:
        own = learner_folder(root)
        wanted += [root, root / "notebooks"] if has_sources(root) else [own.parent]
        where = f"yours is {own}; Jupyter's"
    for folder in wanted:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            return False, f"{folder} cannot be written ({error.strerror}): give yourself the right"
    return True, where


def kernel() -> Diagnosis:
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    repair = f"{sys.executable} -m ipykernel install --sys-prefix"
    try:
        started = KernelSpecManager().get_kernel_spec("python3").argv[0]
    except NoSuchKernel:
        return False, f"there is no kernel named python3: {repair}"
    # jupyter_client puts its own Python in place of these bare names.
    if started in ("python", "python3", f"python3.{sys.version_info[1]}"):
        started = sys.executable
    # The folders are compared: a virtual environment's python is a link to the common one.
    if Path(started).parent.resolve() != Path(sys.executable).parent.resolve():
        return False, f"python3 starts {started}, not the course's Python: {repair}"
    return True, f"python3 starts {started}"


def isolation() -> Diagnosis:
    from course_utils.kernels.sandbox import why_not

    reason = why_not()
    if reason and not sys.platform.startswith("linux"):
        # Nothing that could be installed here would help, and learners need none.
        return True, f"none here, which only who grades others' code needs: {reason}"
    if reason:
        return False, f"{reason}; only who grades others' code needs it"
    return True, "bubblewrap: others' code can be graded in a sandbox"


def nbgrader_extensions() -> Diagnosis:
    from jupyter_core.paths import jupyter_config_path, jupyter_path
    from jupyter_server.extension.config import ExtensionConfigManager
    from jupyterlab_server.config import get_federated_extensions

    enabled = ExtensionConfigManager(
        read_config_path=jupyter_config_path()
    ).get_jpserver_extensions()
    for name in NBGRADER_SERVER_EXTENSIONS:
        name = f"nbgrader.server_extensions.{name}"
        if not enabled.get(name):
            return False, f"{name} is off: jupyter server extension enable --sys-prefix {name}"
    if "@jupyter/nbgrader" not in get_federated_extensions(jupyter_path("labextensions")):
        return False, f"JupyterLab does not find @jupyter/nbgrader: {INSTALL_AGAIN}"
    return True, "Validate, assignment list, course list and formgrader are on"


def visdom() -> Diagnosis:
    static, lacks = visdom_page(fetch=False)
    with tempfile.TemporaryDirectory(prefix="course-doctor-") as folder:
        port = free_port()
        command = server_command("visdom", folder, port, f"--static={static}")
        ok, text = server_answers(command, port)
    if ok and lacks:
        text += "; visdom_server() will fetch the scripts of its page, once"
    return ok, text


def tensorboard() -> Diagnosis:
    with tempfile.TemporaryDirectory(prefix="course-doctor-") as folder:
        port = free_port()
        return server_answers(server_command("tensorboard", folder, port), port)


def server_answers(command: list[str], port: int) -> Diagnosis:
    """Start a server, wait until its page is there, and end it with everything it started."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        try:
            what = wait_until_ready(process, port, SERVER_SECONDS)
            if not what:
                return True, f"answers after {time.monotonic() - start:.0f} s"
        finally:
            end(process)
        return False, f"{what} ({last_line(log)}): {INSTALL_AGAIN}"


CHECKS: dict[str, Callable[[], Diagnosis]] = {
    "Python": python,
    "torch and torchvision": torch_and_torchvision,
    "device": device,
    "processor": processor,
    "memory": memory,
    "folders": folders,
    "kernel": kernel,
    "isolation": isolation,
    "nbgrader in JupyterLab": nbgrader_extensions,
    "visdom": visdom,
    "TensorBoard": tensorboard,
}


def examine(console: Console) -> bool:
    """Run every check and print a line for each.

    Returns:
        Whether there is nothing to do.
    """
    width = max(len(name) for name in CHECKS)
    findings = []
    for name, check in CHECKS.items():
        with console.status(name):
            try:
                ok, text = check()
            except Exception as error:  # a half-broken installation fails in any way
                ok, text = False, f"{kind_and_words(error)}: {INSTALL_AGAIN}"
        findings.append(ok)
        line = Text.assemble(("ok   ", "green") if ok else ("to do", "bold red"))
        line.append(f"  {name:<{width}}  {text}")
        console.print(line, soft_wrap=True)
    return all(findings)
