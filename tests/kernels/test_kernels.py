"""A warm kernel is a kernel like any other, and nothing of it stays behind."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest
from jupyter_client.provisioning import KernelProvisionerFactory
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from course_utils.kernels import template, template_process
from course_utils.kernels.provisioner import (
    LONGEST_MESSAGE,
    WarmManager,
    WarmProvisioner,
    kernel_manager,
    launcher_arguments,
    running_kernel,
)
from course_utils.kernels.sandbox import Sandbox, why_not
from course_utils.kernels.template import ADDRESS_VARIABLE, NAME, Request, Template, WarmProcess
from course_utils.kernels.workplace import Limits, Scratch
from support.warm import eventually, gone, run_code, run_in, run_warm, variables_of

pytestmark = pytest.mark.skipif(not template.supported(), reason="warm kernels need Linux")


# The variables that say who started a kernel, and how.
STARTED_BY = {"JPY_PARENT_PID", "JPY_SESSION_NAME", "JUPYTER_DEFAULT_PROVISIONER_NAME"}
# What an import leaves in the environment; a warm kernel imported it before it had its own.
LEFT_BY_IMPORTS = {"PYDEVD_USE_FRAME_EVAL", "TORCHINDUCTOR_CACHE_DIR"}


@pytest.fixture
def warm(monkeypatch):
    """Everything that starts kernels through Jupyter gets warm ones."""
    monkeypatch.setenv("JUPYTER_DEFAULT_PROVISIONER_NAME", NAME)
    # It reads the variable once.
    KernelProvisionerFactory.clear_instance()
    yield
    KernelProvisionerFactory.clear_instance()


def run_notebook(*sources, **keywords):
    """The outputs of each cell, run by nbclient as it is."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    NotebookClient(
        notebook, timeout=60, kernel_name="python3", allow_errors=True, **keywords
    ).execute()
    return [cell.outputs for cell in notebook.cells]


def printed(outputs):
    return "".join(output.get("text", "") for output in outputs)


def test_everything_heavy_is_there_before_the_first_cell(warm):
    modules = ["torch", "torch._dynamo", "torchvision", "matplotlib.pyplot", "numpy"]
    (outputs,) = run_notebook(f"import sys; print([name in sys.modules for name in {modules}])")
    assert printed(outputs) == "[True, True, True, True, True]\n"


def test_the_gpu_is_not_asked_for_before_the_fork():
    """A process that forked from one that used CUDA can't use it."""
    (text,) = run_warm("import sys; print('course_utils.learner.devices' in sys.modules)")
    assert text == "False\n"


def test_figures_are_shown(warm):
    plot = "import matplotlib.pyplot as plt; plt.plot([1, 2]);"
    one, two = run_notebook(plot, plot + "print(plt.get_backend())")
    assert [output.output_type for output in one] == ["display_data"]
    assert "image/png" in one[0].data
    assert sum("image/png" in output.get("data", {}) for output in two) == 1
    assert "inline" in printed(two)


def test_a_long_print_arrives_whole():
    """As one message the client would refuse it; as thousands the kernel would hang."""
    length = 9 * LONGEST_MESSAGE
    (said,) = run_warm(f"print('x' * {length})")
    assert len(said) == length + 1


def test_another_backend_is_heeded():
    (text,) = run_warm(
        "import matplotlib.pyplot as plt; plt.plot([1]); print(plt.get_backend())",
        env={"MPLBACKEND": "agg"},
    )
    assert text == "agg\n"


def test_a_notebook_cannot_tell_a_warm_kernel_from_another(warm, monkeypatch):
    source = (
        "import gc, json, locale, logging, os, signal, sys, warnings\n"
        "import matplotlib, matplotlib.pyplot, multiprocessing, numpy, torch, torch._dynamo\n"
        "import threading\n"
        "main = sys.modules['__main__']\n"
        "print(json.dumps({\n"
        "    'path': sys.path,\n"
        "    'argument': sys.argv[0],\n"
        "    'environment': sorted(os.environ),\n"
        "    'signals': [str(signal.getsignal(n)).split(' at ')[0] for n in (2, 13, 15, 17)],\n"
        "    'blocked': sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),\n"
        "    'umask': os.umask(0o022),\n"
        "    'recursion': sys.getrecursionlimit(),\n"
        "    'locale': locale.getlocale(),\n"
        "    'encodings': [sys.stdout.encoding, sys.__stdout__.encoding, sys.stdin.encoding],\n"
        "    'warnings': sorted(repr(each[:2]) for each in warnings.filters),\n"
        "    'drawing': {k: repr(v) for k, v in matplotlib.rcParams.items()},\n"
        "    'main': sorted(name for name in vars(main) if not name.startswith('_i')),\n"
        "    'preloaded': 'torchvision' in sys.modules,\n"
        "    'module': [str(type(main)), main.__name__, str(main.__spec__)],\n"
        "    'threads': [torch.get_num_threads(), torch.get_num_interop_threads()],\n"
        "    'more threads': sorted(t.name for t in threading.enumerate()),\n"
        "    'types': [str(torch.get_default_dtype()), str(numpy.geterr())],\n"
        "    'starting': multiprocessing.get_start_method(allow_none=True),\n"
        "    'collector': [gc.isenabled(), gc.get_threshold()],\n"
        "    'loggers': [len(logging.root.handlers), logging.root.level],\n"
        "    'hooks': [str(type(sys.displayhook)), repr(sys.settrace), sys.gettrace() is None],\n"
        "}))"
    )
    (one,) = run_notebook(source)
    monkeypatch.delenv("JUPYTER_DEFAULT_PROVISIONER_NAME")
    KernelProvisionerFactory.clear_instance()
    (other,) = run_notebook(source)
    cold, like_it = json.loads(printed(other)), json.loads(printed(one))
    assert (like_it.pop("preloaded"), cold.pop("preloaded")) == (True, False)
    # Only a cold kernel has a thread that looks for its parent every second.
    cold["more threads"].remove("Thread-1")
    for facts in (cold, like_it):
        facts["environment"] = sorted(set(facts["environment"]) - STARTED_BY - LEFT_BY_IMPORTS)
    assert like_it == cold
    assert "" in cold["path"]


WATCHED_MODULE = """
import inspect, sys, types

class Watched(types.ModuleType):
    looks = 0

    @property
    def __file__(self):
        Watched.looks += 1
        return "/nowhere.py"

sys.modules["watched"] = Watched("watched")
def fails():
    raise ValueError("on purpose")
"""


def test_an_error_of_a_cell_is_told_without_a_look_at_every_module(warm):
    """There are thousands where torch is imported, and a look at them takes longer than a cell."""
    looks = "print(Watched.looks)"
    found = (
        "print(inspect.getmodule(fails) is sys.modules['__main__'], inspect.getmodule(json),\n"
        "      inspect.getmodule(fails.__code__), inspect.getsource(fails))"
    )
    _, failed, looked, known = run_notebook(
        WATCHED_MODULE, "fails()", looks, f"import json\n{found}"
    )
    told = re.sub(r"\x1b\[[0-9;]*m", "", "".join(failed[0].traceback))
    assert 'raise ValueError("on purpose")' in told
    assert printed(looked) == "0\n"
    assert printed(known).startswith("True <module 'json'")
    assert printed(known).endswith('> None def fails():\n    raise ValueError("on purpose")\n\n')


def test_no_two_kernels_draw_the_same_random_numbers():
    source = (
        "import torch, numpy, random, tempfile, multiprocessing\n"
        "print(torch.rand(1), torch.initial_seed(), numpy.random.rand(), random.random(),\n"
        "      multiprocessing.current_process().authkey.hex(), sep='|', end='')"
    )
    (one,), (two,) = run_warm(source), run_warm(source)
    for left, right in zip(one.split("|"), two.split("|"), strict=True):
        assert left != right


def test_a_kernel_has_the_arguments_environment_folder_and_threads_it_was_given(tmp_path):
    async def run():
        manager = WarmManager(kernel_name="python3")
        environment = {"PATH": "/usr/bin", "COLOUR": "green", "PYTHONPATH": "/somewhere/else"}
        await manager.start_kernel(cwd=str(tmp_path), env=environment, threads=3)
        client = manager.client()
        client.start_channels()
        await client.wait_for_ready(60)
        try:
            return json.loads(
                await run_code(
                    client,
                    "import json, multiprocessing, os, subprocess, sys, tempfile, torch\n"
                    "import multiprocessing.process\n"
                    "print(json.dumps([sys.argv[0], sys.argv[1], os.getcwd(),\n"
                    "    os.environ.get('COLOUR'), os.environ.get('HOME'), os.environ['PATH'],\n"
                    "    subprocess.getoutput('echo $COLOUR'),\n"
                    "    torch.get_num_threads(), '/somewhere/else' in sys.path, sys.executable,\n"
                    "    multiprocessing.process.ORIGINAL_DIR,\n"
                    "    os.getsid(0) == os.getpid()]))",
                )
            )
        finally:
            client.stop_channels()
            await manager.shutdown_kernel(now=True)

    values = asyncio.run(run())
    assert values[0].endswith("ipykernel_launcher.py")
    assert values[1:] == [
        *("-f", str(tmp_path), "green", None, "/usr/bin", "green", 3, True, sys.executable),
        *(str(tmp_path), True),
    ]


def test_a_kernel_keeps_the_descriptors_it_was_given_and_no_other():
    here, there = socket.socketpair()
    with here, there:
        (text,) = run_warm(
            "import os, socket\n"
            "socket.socket(fileno=os.dup(5)).sendall(b'hello')\n"
            "kinds = {os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')\n"
            "         if os.path.exists(f'/proc/self/fd/{n}')}\n"
            "print(sorted(kind for kind in kinds if kind.startswith('/') and '/dev/' not in kind\n"
            "             and 'fd' not in kind), os.read(0, 1))",
            fds={5: there.fileno()},
        )
        assert here.recv(100) == b"hello"
        # A connection is inherited by no program that the kernel starts.
        assert not os.get_inheritable(there.fileno())
    assert text == "[] b''\n"


OPEN_FILES = """
import gc, io
gc.unfreeze()
files = [found for found in gc.get_objects() if type(found) is io.FileIO]
names = [getattr(file, "name", "a file") for file in files if not file.closed]
print([name for name in names if isinstance(name, str) and not name.startswith("<")])
"""


def test_no_object_of_the_template_holds_a_file_open():
    """Its number is another file's in the kernel, which whoever frees the object would close."""
    with Scratch() as scratch:
        # What has a number for a name is the kernel's own.
        assert run_in(scratch, OPEN_FILES) == ["[]\n"]


def test_interrupt_and_restart():
    async def run():
        with Scratch() as scratch:
            async with running_kernel(scratch) as (manager, client):
                before = await run_code(client, "import os; mark = 1; print(os.getpid())")
                endless = asyncio.create_task(run_code(client, "while True: pass"))
                await asyncio.sleep(0.3)
                await manager.interrupt_kernel()
                interrupted = await asyncio.wait_for(endless, 10)
                kept = await run_code(client, "print(mark)")
                await manager.restart_kernel(now=True)
                await client.wait_for_ready(60)
                after = await run_code(client, "import os; print(os.getpid())")
                lost = await run_code(client, "mark")
                return before, interrupted, kept, after, lost

    before, interrupted, kept, after, lost = asyncio.run(run())
    assert "KeyboardInterrupt" in interrupted
    assert kept == "1\n"
    assert int(before) != int(after)
    assert "NameError" in lost


def test_a_kernel_that_is_asked_to_end_ends_in_order(tmp_path):
    async def run():
        with Scratch() as scratch:
            async with running_kernel(scratch) as (manager, client):
                note = f"import atexit; atexit.register(open({str(tmp_path / 'note')!r}, 'w').write"
                await run_code(client, f"{note}, 'left in order')")
                process = manager.provisioner.process
                await manager.shutdown_kernel()
                return process.returncode

    assert asyncio.run(run()) == 0
    assert (tmp_path / "note").read_text() == "left in order"


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("import os; os._exit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV),
    ],
)
def test_death_is_seen_at_once_with_its_status(source, status):
    async def run():
        with Scratch() as scratch:
            async with running_kernel(scratch) as (manager, client):
                process = manager.provisioner.process
                assert isinstance(process, WarmProcess)
                assert process.poll() is None
                start = time.monotonic()
                client.execute(source)
                returned = await asyncio.wait_for(process.ended(), 10)
                seconds = time.monotonic() - start
                return returned, seconds, await manager.is_alive()

    returned, seconds, alive = asyncio.run(run())
    assert returned == status
    assert seconds < 2
    assert alive is False


def test_workers_of_loaders_and_spawned_processes_run(tmp_path):
    texts = run_warm(
        "import torch\n"
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "torch.rand(400, 400) @ torch.rand(400, 400)\n"
        "data = TensorDataset(torch.arange(6))\n"
        "print(sum(len(batch[0]) for batch in DataLoader(data, batch_size=2, num_workers=2)))",
        "import math, multiprocessing\n"
        "with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "    print(pool.map(math.sqrt, [4.0, 9.0]))",
        env={"PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert texts == ["6\n", "[2.0, 3.0]\n"]


@pytest.mark.parametrize(
    "command",
    [
        ["/usr/bin/another-python", "-m", "ipykernel_launcher", "-f", "file"],
        [sys.executable, "-m", "other_kernel", "-f", "file"],
        ["R", "--slave"],
    ],
)
def test_kernels_of_others_are_none_of_ours(command):
    assert launcher_arguments(command) is None


def test_what_a_fork_cannot_give_is_started_as_usual():
    """A keyword of ``subprocess.Popen`` wants a new process, and gets one."""

    async def run():
        manager = WarmManager(kernel_name="python3")
        await manager.start_kernel(umask=0o077, fds={}, threads=None)
        client = manager.client()
        client.start_channels()
        await client.wait_for_ready(60)
        try:
            return manager.provisioner, await run_code(client, "import os; print(os.umask(0))")
        finally:
            client.stop_channels()
            await manager.shutdown_kernel(now=True)

    provisioner, text = asyncio.run(run())
    assert isinstance(provisioner, WarmProvisioner)
    assert text == f"{0o077}\n"


def test_a_workplace_is_never_left_out():
    """Where the warm way is not open, untrusted code does not run at all."""

    async def run():
        with Scratch() as scratch:
            manager = kernel_manager(scratch)
            await manager.start_kernel(workplace=scratch, umask=0o077)

    with pytest.raises(template.TemplateError, match="cannot run in a workplace"):
        asyncio.run(run())


def test_the_template_takes_little_of_its_parents_environment(monkeypatch):
    monkeypatch.setenv("COURSE_TEST_SECRET", "swordfish")
    monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)
    with Template() as one:
        assert b"swordfish" not in variables_of(one.process.pid)
        monkeypatch.setenv(ADDRESS_VARIABLE, one.address)
        assert template.shared_address() == one.address
    # Nobody is there any more: a template of this process's own takes its place.
    assert template.shared_address() != one.address


def test_a_template_ends_its_kernels_when_it_ends(monkeypatch):
    async def run():
        with Scratch() as scratch, Template() as own:
            monkeypatch.setenv(ADDRESS_VARIABLE, own.address)
            async with running_kernel(scratch) as (manager, _):
                pid = manager.provisioner.process.pid
                own.stop()
                assert eventually(lambda: gone(pid))
                # The template can't tell the status any more.
                assert await manager.provisioner.poll() == -signal.SIGKILL

    asyncio.run(run())


def test_a_template_that_cannot_start_a_kernel_says_why_and_goes_on(monkeypatch, tmp_path):
    async def run():
        with open(os.devnull, "r+b") as nothing, Template() as own:
            sent = [nothing.fileno()]
            bad = Request([], {}, "/", 1, [0], sandbox={"namespaces": 0x40000000})
            with pytest.raises(template.TemplateError, match="cannot join its sandbox"):
                # A descriptor of a file where that of a process should be.
                await template.launch(own.address, bad, [*sent, *sent])
            monkeypatch.setenv(ADDRESS_VARIABLE, own.address)
            with Scratch() as scratch:
                async with running_kernel(scratch) as (_, client):
                    return await run_code(client, "print('goes on')")

    assert asyncio.run(run()) == "goes on\n"


def test_no_template_is_an_error_in_words():
    async def run():
        await template.launch("@nobody-is-here", Request([], {}, "/", 1, []), [])

    with pytest.raises(template.TemplateError, match="does not answer"):
        asyncio.run(run())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_gets_no_kernel():
    program = (
        "import asyncio, os, sys\n"
        "from course_utils.kernels import template\n"
        "with template.Template() as own:\n"
        "    if os.fork() == 0:\n"
        "        os.setresuid(61000, 61000, 61000)\n"
        "        request = template.Request(['-f', 'x'], {}, '/', 1, [])\n"
        "        try:\n"
        "            asyncio.run(template.launch(own.address, request, []))\n"
        "        except template.TemplateError as error:\n"
        "            print(error, flush=True)\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert "another user" in done.stdout, done


HOLD_A_KERNEL = """
import asyncio, os, sys
from course_utils.kernels import template
from course_utils.kernels.provisioner import running_kernel
from course_utils.kernels.sandbox import Sandbox
from course_utils.kernels.workplace import Limits, Scratch

async def run():
    with {place}(Limits()) as place:
        async with running_kernel(place) as (manager, client):
            # A process that left the kernel's session, and would outlive it.
            client.execute("import os, time\\nif os.fork() == 0: os.setsid()\\ntime.sleep(600)")
            await asyncio.sleep(0.5)
            print(template._shared.process.pid, manager.provisioner.process.pid, flush=True)
            {end}

asyncio.run(run())
"""


@pytest.mark.parametrize(
    ("place", "end"),
    [("Scratch", "kill"), ("Scratch", "sys.exit(0)"), ("Sandbox", "kill"), ("Sandbox", "a thread")],
)
def test_nothing_outlives_the_process_that_asked(place, end):
    """However it ends; and it does not end because a thread of it does."""
    if place == "Sandbox" and why_not():
        pytest.skip(why_not())
    command = "await asyncio.sleep(600)" if end == "kill" else end
    program = HOLD_A_KERNEL.format(place=place, end=command)
    if end == "a thread":
        # Started from a thread that is gone when the kernel is used.
        program = HOLD_A_KERNEL.format(place=place, end="await asyncio.sleep(600)").replace(
            "async def run():",
            "import threading\n"
            "starter = threading.Thread(target=template.shared_address)\n"
            "starter.start(); starter.join()\n\n"
            "async def run():",
        )
    asking = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        pids = [int(word) for word in asking.stdout.readline().split()]
        assert len(pids) == 2
        if end in ("kill", "a thread"):
            assert not any(gone(pid) for pid in pids)
            asking.kill()
        asking.wait(20)
    finally:
        asking.kill()
        asking.wait()
        asking.stdout.close()
    assert eventually(lambda: all(gone(pid) for pid in pids))
    assert eventually(lambda: not processes_of(asking.pid)), processes_of(asking.pid)


def processes_of(pid):
    """Command lines that name a process: of its template, and of the kernels forked from that."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", encoding="utf-8") as file:
                    words = file.read().split("\0")
            except OSError:
                continue
            if str(pid) in words and template.PROCESS in words:
                found.append((name, words))
    return found


def test_sandboxes_start_in_threads_that_end():
    """bwrap is not told to die with the thread that started it."""
    if why_not():
        pytest.skip(why_not())
    import threading

    made = []
    starter = threading.Thread(target=lambda: made.append(Sandbox(Limits())))
    starter.start()
    starter.join()
    with made[0] as sandbox:
        time.sleep(0.2)
        sandbox.put({"here": b"still"})
        assert (sandbox.scratch / "here").read_bytes() == b"still"


def test_the_modules_that_the_template_imports_are_there():
    """It goes on where one is missing, as in an older library: not for a module of ours."""
    ours = [name for name in template_process.MODULES if name.startswith("course_utils.")]
    assert ours
    assert [name for name in ours if find_spec(name) is None] == []
