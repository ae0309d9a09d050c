"""What code in a sandbox can reach, take and break; and what it can't."""

import asyncio
import contextlib
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from queue import Empty

import pytest

import course_utils
from course_utils.kernels import processes, provisioner, system_calls
from course_utils.kernels import sandbox as module
from course_utils.kernels.confinement import MOST_OPEN_FILES
from course_utils.kernels.holder import SandboxError
from course_utils.kernels.provisioner import running_kernel
from course_utils.kernels.sandbox import Sandbox, why_not
from course_utils.kernels.workplace import Limits, Scratch, Workplace
from support.answers import ROOT
from support.warm import eventually, gone, run_code, run_in

MIB = 2**20


@pytest.fixture(autouse=True)
def _sandboxes_work():
    reason = why_not()
    if reason and os.environ.get("COURSE_REQUIRE_SANDBOX") == "1":
        pytest.fail(f"COURSE_REQUIRE_SANDBOX=1, and there is no sandbox: {reason}")
    if reason:
        pytest.skip(reason)


def in_sandbox(*sources, limits=None, **keywords):
    with Sandbox(limits) as sandbox:
        return run_in(sandbox, *sources, **keywords)


def test_a_notebook_works_as_outside():
    texts = in_sandbox(
        "import torch, getpass, tempfile, pathlib\n"
        "print(torch.ones(2) @ torch.ones(2), getpass.getuser(), pathlib.Path.home(),\n"
        "      pathlib.Path.cwd(), tempfile.gettempdir())",
        "import torch.distributed as dist\n"
        "store = dist.HashStore()\n"
        "dist.init_process_group('gloo', store=store, rank=0, world_size=1)\n"
        "x = torch.ones(1); dist.all_reduce(x); print(x); dist.destroy_process_group()",
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "data = TensorDataset(torch.arange(6))\n"
        "print(sum(len(batch[0]) for batch in DataLoader(data, batch_size=2, num_workers=2)))",
        "import subprocess, sys\n"
        "program = 'import torch; print(torch.ones(1))'\n"
        "print(subprocess.run([sys.executable, '-c', program], capture_output=True).stdout)",
        "import torchvision.models, course_utils; print(course_utils.check_close.__name__)",
        "from multiprocessing import get_context; import math\n"
        "with get_context('spawn').Pool(1) as pool: print(pool.map(math.sqrt, [4.0]))",
    )
    assert texts[0] == "tensor(2.) student /scratch /scratch /tmp\n"
    assert texts[1] == "tensor([1.])\n"
    assert texts[2:] == ["6\n", "b'tensor([1.])\\n'\n", "check_close\n", "[2.0]\n"]


def test_files_put_in_can_be_read_and_changed_and_come_out():
    with Sandbox() as sandbox:
        sandbox.put({"data/numbers.txt": b"1 2 3", "worker.py": b"word = 'hello'"})
        (text,) = run_in(
            sandbox,
            "import worker, pathlib\n"
            "numbers = pathlib.Path('data/numbers.txt')\n"
            "print(worker.word, numbers.read_text())\n"
            "numbers.write_text('4'); pathlib.Path('data/more').write_text('5')",
        )
        assert text == "hello 1 2 3\n"
        assert (sandbox.scratch / "data/numbers.txt").read_bytes() == b"4"
        assert (sandbox.scratch / "data/more").read_bytes() == b"5"
        for name in ("../out", "/etc/x", "a/../../b", ""):
            with pytest.raises(ValueError, match="no path inside"):
                sandbox.put({name: b""})


def test_no_file_of_the_outside_is_there(tmp_path):
    secret = tmp_path / "gradebook.db"
    secret.write_text("marks")
    secret.chmod(0o666)
    root = os.path.dirname(os.path.dirname(os.path.dirname(course_utils.__file__)))
    wanted = [
        *(str(secret), str(tmp_path), root + "/solutions", root + "/pyproject.toml"),
        *(root + "/.git", os.path.expanduser("~/.bashrc"), "/etc/shadow", "/etc/hostname"),
        *("/var", "/run", "/sys", "/home", "/srv", "/opt", "/mnt", "/media", "/boot"),
    ]
    with Sandbox() as other:
        other.put({"answer": b"42"})
        text, found, names = in_sandbox(
            f"import os; print([path for path in {wanted!r} if os.path.exists(path)])",
            "import subprocess\n"
            "print(subprocess.getoutput('find / -xdev -name answer 2>/dev/null'))",
            # Nor through what the holder has, nor through a descriptor.
            "print(os.listdir('/proc/1/root') if os.access('/proc/1/root', os.R_OK) else [],\n"
            "  sorted({os.readlink(f'/proc/self/fd/{n}').split(':')[0].split('-')[0] for n in\n"
            "          os.listdir('/proc/self/fd') if os.path.lexists(f'/proc/self/fd/{n}')}))",
        )
    assert text == "[]\n"
    assert found == "\n"
    for name in ("solutions", "home", str(tmp_path), root):
        assert name not in names


def test_nothing_can_be_written_but_the_scratch_folders():
    (text,) = in_sandbox(
        "import os, pathlib\n"
        "written = []\n"
        "for folder in ['/', '/etc', '/dev', '/usr', '/usr/bin', '/root', '/work', '/proc',\n"
        "               '/proc/sys/kernel', os.path.dirname(os.__file__),\n"
        "               os.path.dirname(__import__('course_utils').__file__),\n"
        "               os.path.dirname(__import__('torch').__file__),\n"
        "               '/scratch', '/tmp', '/dev/shm']:\n"
        "    try: pathlib.Path(folder, 'mine').write_text('x'); written.append(folder)\n"
        "    except OSError: pass\n"
        "print(written)\n"
        "for path in ['/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger',\n"
        "             '/sys/kernel/uevent_helper']:\n"
        "    try: open(path, 'w'); print('opened', path)\n"
        "    except OSError: pass\n"
        "print(os.system('mount -o remount,rw /usr 2>/dev/null') != 0)"
    )
    assert text == "['/scratch', '/tmp', '/dev/shm']\nTrue\n"


def test_the_course_is_read_only_even_where_root_could_write():
    """The sources of the package are the course's own: a student's patch would reach the next."""
    package = os.path.dirname(course_utils.__file__)
    before = sorted(os.listdir(package))
    (text,) = in_sandbox(
        "import course_utils, os\n"
        "try: os.rename(course_utils.__file__, course_utils.__file__ + '.old')\n"
        "except OSError as error: print(type(error).__name__)"
    )
    assert text in ("OSError\n", "PermissionError\n")
    assert sorted(os.listdir(package)) == before


def test_no_network():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as named:
        abstract = f"course-test-{os.getpid()}"
        named.bind("\0" + abstract)
        named.listen()
        (text,) = in_sandbox(
            "import socket\n"
            "def tried(family, address):\n"
            "    with socket.socket(family) as one:\n"
            "        one.settimeout(3)\n"
            "        try: one.connect(address); return 'connected'\n"
            "        except OSError as error: return error.strerror\n"
            f"print(tried(socket.AF_INET, {server.getsockname()!r}))\n"
            f"print(tried(socket.AF_UNIX, {chr(0) + abstract!r}))\n"
            "print(tried(socket.AF_INET, ('1.1.1.1', 53)))\n"
            "print(sorted(name for _, name in socket.if_nameindex()))\n"
            # Loopback of its own, for distributed chapters.
            "own = socket.create_server(('127.0.0.1', 0))\n"
            "print(tried(socket.AF_INET, own.getsockname()))"
        )
    lines = text.splitlines()
    assert lines[:2] == ["Connection refused", "Connection refused"]
    assert lines[2] == "Network is unreachable"
    assert lines[3] == "['lo']" or "lo" in lines[3]
    assert lines[4] == "connected"


def test_no_process_of_the_outside_is_seen_or_reached():
    (text,) = in_sandbox(
        "import os, signal\n"
        "names = [n for n in os.listdir('/proc') if n.isdigit()]\n"
        "print(len(names), os.getppid())\n"
        f"try: os.kill({os.getpid()}, 0)\n"
        "except ProcessLookupError: print('nobody')\n"
        "import multiprocessing.shared_memory as shared\n"
        "print(os.listdir('/dev/shm'))"
    )
    assert text == "2 0\nnobody\n[]\n"


def test_no_variable_of_the_outside_is_in_any_environment(monkeypatch):
    monkeypatch.setenv("COURSE_TEST_SECRET", "swordfish")
    (text,) = in_sandbox(
        "import glob, os\n"
        "seen = b''\n"
        "for path in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline'):\n"
        "    try: seen += open(path, 'rb').read()\n"
        "    except OSError: pass\n"
        "print(b'swordfish' in seen, 'COURSE_TEST_SECRET' in os.environ, len(seen) > 0)\n"
        "print(sorted(os.environ))",
        env={"COLOUR": "green"},
    )
    first, second = text.splitlines()
    assert first == "False False True"
    assert "COLOUR" in second
    for name in ("COURSE", "PWD", "SSH", "JUPYTER", "JPY", "PYTEST", "VIRTUAL_ENV"):
        assert name not in second


def test_there_is_no_privilege_to_be_had():
    (text,) = in_sandbox(
        "import os, re, subprocess\n"
        "status = open('/proc/self/status').read()\n"
        "print(re.findall(r'Cap(?:Eff|Prm|Bnd|Inh|Amb):\\t(\\w+)', status), \n"
        "      re.search(r'NoNewPrivs:\\t(\\d)', status)[1], os.getuid() == os.getgid() != 0)\n"
        "for change in (lambda: os.setuid(0), lambda: os.setgroups([0]), lambda: os.chroot('/')):\n"
        "    try: change(); print('changed')\n"
        "    except OSError: pass\n"
        "import resource\n"
        "for kind in (resource.RLIMIT_NPROC, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE):\n"
        "    try: resource.setrlimit(kind, (-1, -1)); print('raised')\n"
        "    except (PermissionError, ValueError): pass"
    )
    assert text == f"{['0' * 16] * 5} 1 True\n"


def test_memory_of_one_process_is_limited_and_the_kernel_goes_on():
    texts = in_sandbox(
        "import torch\nx = torch.ones(400 * 2**20, dtype=torch.uint8)",
        "print('goes on')",
        limits=Limits(memory_bytes=256 * MIB),
    )
    assert "DefaultCPUAllocator" in texts[0] or "allocate memory" in texts[0]
    assert texts[1] == "goes on\n"


@pytest.mark.parametrize(
    "source",
    [
        # Each within its own limit.
        "for _ in range(10):\n"
        "    if os.fork() == 0: x = bytearray(b'x') * (100 * 2**20); time.sleep(60)",
        # Shared memory, which that limit does not count.
        "x = [mmap.mmap(-1, 100 * 2**20) for _ in range(10)]\n"
        "for each in x: each.write(b'x' * len(each))",
        # Memory that processes share with each other, and none has for itself.
        "x = mmap.mmap(-1, 1000 * 2**20)\n"
        "for _ in range(10): x.write(b'x' * (100 * 2**20))\n"
        "for _ in range(3):\n"
        "    if os.fork() == 0: time.sleep(60)",
    ],
    ids=["processes", "shared", "forks"],
)
def test_memory_of_all_together_is_limited(source):
    async def run():
        with Sandbox(Limits(memory_bytes=300 * MIB, file_bytes=200 * MIB)) as sandbox:
            async with running_kernel(sandbox) as (_, client):
                client.execute(f"import mmap, os, time\n{source}\ntime.sleep(60)")
                assert await asyncio.to_thread(eventually, lambda: sandbox.killed_because, 30)
                # What takes most goes first, until the rest is little enough.
                assert await asyncio.to_thread(eventually, lambda: not sandbox.excess(), 30)
                return sandbox.killed_because

    assert asyncio.run(run()) == "they took more than 300 MiB of memory"


def test_memory_that_forks_share_is_counted_once():
    async def run():
        with Sandbox() as sandbox:
            async with running_kernel(sandbox) as (_, client):
                await run_code(
                    client,
                    "import os, time\n"
                    "x = bytearray(b'x') * (300 * 2**20)\n"
                    "for _ in range(3):\n"
                    "    if os.fork() == 0: time.sleep(60); os._exit(0)",
                )
                folders = sandbox._process_folders()
                assert len(folders) == 4
                return [
                    processes.exceeds(folders, sandbox._inherited, most * MIB)
                    for most in (200, 700)
                ]

    assert asyncio.run(run()) == [True, False]


def test_a_snapshot_that_waits_outlives_the_kernel_that_takes_too_much():
    """And the memory that it shares with the kernel is counted once."""

    async def run():
        with Sandbox(Limits(memory_bytes=400 * MIB)) as sandbox:
            here, there = socket.socketpair()
            async with running_kernel(sandbox, fds={9: there.fileno()}) as (manager, client):
                there.close()
                await run_code(
                    client,
                    "import mmap, os, time\n"
                    # Piece by piece: what is written lies beside it for a moment.
                    "x = mmap.mmap(-1, 300 * 2**20)\n"
                    "for _ in range(30): x.write(b'x' * (10 * 2**20))\n"
                    "if os.fork() == 0:\n"
                    "    os.setsid()\n"
                    "    os.write(9, os.read(9, 100).upper()); os._exit(0)",
                )
                await asyncio.sleep(0.5)
                assert sandbox.killed_because == ""
                client.execute(
                    "y = mmap.mmap(-1, 1000 * 2**20)\n"
                    "for _ in range(10): y.write(b'x' * (100 * 2**20))\n"
                    "time.sleep(60)"
                )
                await asyncio.wait_for(manager.provisioner.process.ended(), 30)
                await asyncio.sleep(0.5)
                assert len(sandbox.processes()) == 1
                with here:
                    here.sendall(b"alive")
                    here.settimeout(10)
                    return here.recv(100), sandbox.killed_because

    assert asyncio.run(run()) == (b"ALIVE", "they took more than 400 MiB of memory")


def test_many_processes_are_refused_and_another_sandbox_does_not_notice():
    bomb = (
        "import os, time\n"
        "count = 0\n"
        "try:\n"
        "    for _ in range(300):\n"
        "        if os.fork() == 0: time.sleep(120); os._exit(0)\n"
        "        count += 1\n"
        "except BlockingIOError: print('refused', count < 60)"
    )
    with Sandbox(Limits(processes=64)) as one, Sandbox(Limits(processes=64)) as two:
        assert one.user is None or one.user != two.user

        async def run():
            async with running_kernel(one) as (_, first), running_kernel(two) as (_, second):
                text = await run_code(first, bomb)
                return (
                    text,
                    len(one.processes()),
                    await run_code(
                        second, "import os\nif os.fork() == 0: os._exit(0)\nprint(os.wait()[1])"
                    ),
                )

        text, count, other = asyncio.run(run())
    assert text == "refused True\n"
    assert count > 30
    assert other == "0\n"


def test_files_are_limited_in_size_together_and_in_number():
    limits = Limits(file_bytes=8 * MIB, scratch_bytes=20 * MIB)
    texts = in_sandbox(
        "print(open('one', 'wb').write(b'x' * (9 * 2**20)))",
        "import os; print(os.path.getsize('one') <= 8 * 2**20)",
        *[
            "for number in range(9):\n"
            f"    with open(f'{folder}/{{number}}', 'wb') as file: file.write(b'x' * (7 * 2**20))"
            for folder in ("/scratch", "/tmp", "/dev/shm")
        ],
        "print('goes on')",
        limits=limits,
    )
    assert "File too large" in texts[0]
    assert texts[1] == "True\n"
    for text in texts[2:5]:
        assert "No space left" in text
    assert texts[5] == "goes on\n"


def test_a_flood_of_files_ends_the_sandbox(monkeypatch):
    monkeypatch.setattr(module, "MOST_FILES", 2000)

    async def run():
        with Sandbox() as sandbox:
            async with running_kernel(sandbox) as (manager, client):
                client.execute("for n in range(10**6): open(f'/tmp/{n}', 'w').close()")
                await asyncio.wait_for(manager.provisioner.process.ended(), 30)
                return sandbox.killed_because

    assert asyncio.run(run()) == "they made more than 2,000 files"


@pytest.mark.parametrize(
    "source",
    ["import os; os._exit(0)", "!kill -9 -1", "import os; os.kill(os.getpid(), 9)"],
)
def test_however_a_kernel_ends_its_sandbox_stays(source):
    with Sandbox() as sandbox:

        async def run():
            async with running_kernel(sandbox) as (manager, client):
                client.execute(source)
                await asyncio.wait_for(manager.provisioner.process.ended(), 10)

        asyncio.run(run())
        assert sandbox._holder.process.poll() is None


def test_nothing_is_left_when_a_sandbox_closes(tmp_path):
    async def run():
        with Sandbox() as sandbox:
            holder = sandbox._holder.pid
            bwrap = sandbox._holder.process.pid
            async with running_kernel(sandbox) as (manager, client):
                text = await run_code(
                    client,
                    "import os, time\n"
                    "if os.fork() == 0:\n"
                    "    os.setsid()\n"
                    "    if os.fork() == 0: time.sleep(600)\n"
                    "    os._exit(0)\n"
                    "print('daemon')",
                )
                assert text == "daemon\n"
                assert len(sandbox.processes()) >= 2
                kernel = manager.provisioner.process.pid
        return [holder, bwrap, kernel]

    before = set(os.listdir("/proc/self/fd"))
    threads = set(os.listdir("/proc/self/task"))
    pids = asyncio.run(run())
    assert eventually(lambda: all(gone(pid) for pid in pids))
    # A template of this process may have been started, and shows as no descriptor.
    assert len(set(os.listdir("/proc/self/fd"))) <= len(before)
    assert eventually(lambda: len(os.listdir("/proc/self/task")) <= len(threads) + 2)


def test_memory_is_told():
    async def run():
        with Sandbox() as sandbox:
            async with running_kernel(sandbox) as (_, client):
                idle = sandbox.memory_bytes()
                await run_code(client, "x = bytearray(b'x') * (100 * 2**20)")
                return idle, sandbox.memory_bytes()

    idle, busy = asyncio.run(run())
    assert 0 < idle < 120 * MIB
    assert 90 * MIB < busy - idle < 140 * MIB


HIDDEN = """
import os, sys, time
from pathlib import Path
from course_utils.kernels import processes
from course_utils.prctl import PR_SET_DUMPABLE, prctl
if os.geteuid() == 0:
    os.setgid(61184)
    os.setuid(61184)
prctl(PR_SET_DUMPABLE, 1)
reader, writer = os.pipe()
pid = os.fork()
if pid == 0:
    prctl(PR_SET_DUMPABLE, 0)
    kept = bytearray(b"x") * (100 * 2**20)
    os.write(writer, b"x")
    time.sleep(60)
os.read(reader, 1)
folder = Path(f"/proc/{pid}")
try:
    (folder / "smaps_rollup").read_text()
except PermissionError:
    print(processes.private_memory(folder), processes.shared_out_memory(folder))
    print(processes.nameless_files([folder]), processes.exceeds([folder], 0, 50 * 2**20))
os.kill(pid, 9)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
print(processes.nameless_files([folder]))
"""


def test_a_process_that_forbids_a_look_is_counted():
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN], capture_output=True, text=True, timeout=120, check=True
    )
    private, shared_out, nameless, exceeds, ended = done.stdout.split()
    assert 100 * MIB <= int(private) < 200 * MIB
    assert 100 * MIB <= int(shared_out) < 200 * MIB
    assert int(nameless) == MOST_OPEN_FILES * processes.socket_bytes()
    assert exceeds == "True"
    assert ended == "0"


ORDINARY = """
import json, sys
from course_utils.kernels.sandbox import Sandbox, why_not
from course_utils.kernels.workplace import Limits
from support.warm import run_in
assert why_not() == "", why_not()
with Sandbox(Limits(memory_bytes=256 * 2**20)) as sandbox:
    sandbox.put({"given": b"word"})
    texts = run_in(
        sandbox,
        "import os; print(os.getuid(), open('given').read(), os.path.exists(sys.argv[1]))"
        .replace("sys.argv[1]", repr(sys.argv[1])),
        "x = bytearray(400 * 2**20)",
        "import ctypes; print(ctypes.CDLL(None).unshare(0x10000000))",
        "for folder in ('/', '/etc', '/dev', '/root', '/usr', '/scratch'):\\n"
        "    try: open(folder + '/mine', 'w'); print(folder)\\n"
        "    except OSError: pass",
    )
    print(json.dumps(texts))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="this is an ordinary user already")
@pytest.mark.skipif(shutil.which("unshare") is None, reason="util-linux is not installed")
def test_an_ordinary_user_needs_no_root(tmp_path):
    """In a user namespace of its own a process has no more rights here than an ordinary user."""
    secret = tmp_path / "secret"
    secret.write_text("x")
    done = subprocess.run(
        [
            *("unshare", "--user", "--map-user=1000", "--map-group=1000"),
            *(sys.executable, "-c", ORDINARY, str(secret)),
        ],
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    identity, memory, namespaces, written = json.loads(done.stdout)
    assert identity == "1000 word False\n"
    assert "MemoryError" in memory
    assert namespaces == "-1\n"
    assert written == "/scratch\n"


@pytest.fixture
def _ask_again():
    why_not.cache_clear()
    yield
    why_not.cache_clear()


@pytest.mark.usefixtures("_ask_again")
@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("nothing", "sudo apt install bubblewrap"),
        ("exit 1", "bubblewrap is installed and does not work here: bwrap ended without a word"),
        ("echo 'bwrap: No way' >&2; exit 1", "does not work here: bwrap: No way"),
    ],
)
def test_where_there_is_none_one_line_says_what_to_do(monkeypatch, tmp_path, what, words):
    if what != "nothing":
        (tmp_path / "bwrap").write_text(f"#!/bin/sh\n{what}\n")
        (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert words in why_not()
    assert "\n" not in why_not()
    with pytest.raises(SandboxError):
        Sandbox()


@pytest.mark.parametrize(
    ("release", "user", "words"),
    [
        ("5.4.0-generic", 1000, "Linux 5.8 or later, and this is 5.4.0-generic"),
        ("6.8.0", 0, "root has no CAP_SYS_ADMIN"),
        ("6.8.0-45", 1000, "does not work here: bwrap: it"),
    ],
)
def test_the_remedy_fits_the_cause(monkeypatch, release, user, words):
    monkeypatch.setattr(os, "uname", lambda: type("Names", (), {"release": release}))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(module, "has_capability", lambda number: False)
    assert words in module.remedy("bwrap: it")


def test_a_scratch_folder_is_there_and_gone_again():
    with Scratch(Limits(memory_bytes=300 * MIB)) as scratch:
        scratch.put({"given": b"word"})
        (text,) = run_in(scratch, "import os; print(os.getcwd(), open('given').read())")
        assert text == f"{scratch.inside} word\n"
        assert scratch.inside == str(scratch.scratch)

        async def run():
            async with running_kernel(scratch) as (manager, client):
                client.execute("x = bytearray(b'x') * (1200 * 2**20); import time; time.sleep(60)")
                return await asyncio.wait_for(manager.provisioner.process.ended(), 30)

        assert asyncio.run(run()) == -signal.SIGKILL
        assert scratch.killed_because == "they took more than 300 MiB of memory"
    assert not scratch.scratch.exists()


def test_the_session_keyring_is_new():
    """A student read a secret of the grader's there, and left a note for the next one."""
    (text,) = in_sandbox(
        "import ctypes\n"
        "print(next(line for line in open('/proc/self/status') if 'Seccomp:' in line).split()[1])\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.syscall(250, 0, -3, 1), ctypes.get_errno())"
    )
    if platform.machine() == "x86_64":
        assert text == "2\n-1 1\n"


KEYRINGS = """
import ctypes, sys
from course_utils.kernels.system_calls import join_new_keyring
libc = ctypes.CDLL(None, use_errno=True)
def find(name): return libc.syscall(250, 10, -3, b"user", name, 0)
assert libc.syscall(250, 1, None) > 0
assert libc.syscall(248, b"user", b"secret", b"swordfish", 9, -3) > 0
assert find(b"secret") > 0
join_new_keyring()
print(find(b"secret"))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the calls' numbers are x86_64's")
def test_a_new_keyring_holds_no_key_of_the_old_one():
    done = subprocess.run(
        [sys.executable, "-c", KEYRINGS], capture_output=True, text=True, timeout=100
    )
    assert done.stdout == "-1\n", done.stderr


REFUSED = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def tried(*arguments):
    ctypes.set_errno(0)
    value = libc.syscall(*arguments)
    return errno.errorcode.get(ctypes.get_errno(), value)
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter is x86_64's")
def test_system_calls_that_no_notebook_needs_are_refused():
    numbers = list(system_calls.REFUSED.values())
    refused, clones, others = in_sandbox(
        f"{REFUSED}\nprint({{tried(number, 0, 0, 0, 0, 0, 0) for number in {numbers!r}}})",
        # A user namespace, by each way to get one; 32-bit numbers; a socket's larger buffer.
        "print(tried(56, 0x10000011, 0, 0, 0, 0), tried(56, 0x20011, 0, 0, 0, 0),\n"
        "      tried(435, 0, 0), tried(0x40000000 + 39))",
        "import socket, threading, subprocess, os\n"
        "one, two = socket.socketpair()\n"
        "before = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)\n"
        "one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**22)\n"
        "one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
        "print(one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == before,\n"
        "      one.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR))\n"
        "thread = threading.Thread(target=print, args=['a thread']); thread.start()\n"
        "thread.join()\n"
        "print(subprocess.run(['echo', 'a process'], capture_output=True, text=True).stdout)\n"
        "print(tried(39) == os.getpid())",
    )
    assert refused == "{'EPERM'}\n"
    assert clones == "EPERM EPERM ENOSYS ENOSYS\n"
    assert others == "True 1\na thread\na process\n\nTrue\n"


def test_on_another_machine_there_is_no_filter(monkeypatch):
    monkeypatch.setattr(system_calls.platform, "machine", lambda: "riscv64")
    assert not system_calls.refuse_system_calls()
    system_calls.join_new_keyring()


@pytest.mark.parametrize(
    "source",
    [
        # What Unix sockets hold for readers who never come.
        "for _ in range(12):\n"
        "    if os.fork() == 0:\n"
        "        kept = []\n"
        "        while len(kept) < 400:\n"
        "            one, two = socket.socketpair(); one.setblocking(False); kept += [one, two]\n"
        "            try:\n"
        "                while True: one.send(b'x' * 2**16)\n"
        "            except BlockingIOError: pass\n"
        "        time.sleep(60)",
        # The same over loopback.
        "listener = socket.create_server(('127.0.0.1', 0), backlog=1000); kept = []\n"
        "while len(kept) < 900:\n"
        "    one = socket.create_connection(listener.getsockname()); one.setblocking(False)\n"
        "    kept += [one, listener.accept()[0]]\n"
        "    try:\n"
        "        while True: one.send(b'x' * 2**20)\n"
        "    except BlockingIOError: pass",
        # Tables of pages: a byte here and there of memory that is never written.
        "kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE\n"
        "kept = mmap.mmap(-1, 2**38, flags=kind, prot=mmap.PROT_READ)\n"
        "kept.madvise(mmap.MADV_NOHUGEPAGE); sum(kept[:: 2**21])",
    ],
    ids=["unix", "loopback", "tables"],
)
def test_memory_that_no_process_has_is_counted(source):
    async def run():
        with Sandbox(Limits(memory_bytes=300 * MIB, file_bytes=200 * MIB)) as sandbox:
            async with running_kernel(sandbox) as (_, client):
                client.execute(f"import mmap, os, socket, time\n{source}\ntime.sleep(60)")
                assert await asyncio.to_thread(eventually, lambda: sandbox.killed_because, 60)
                return sandbox.killed_because

    assert asyncio.run(run()) == "they took more than 300 MiB of memory"


@pytest.mark.parametrize(("sockets", "there", "queued"), [(1, 1, 0), (2, 2, 512), (2, 1, 512)])
def test_what_sockets_hold_is_looked_for_where_there_are_some(tmp_path, sockets, there, queued):
    """Linux looks through the whole machine's for a list: one alone, a kernel's, holds little."""
    line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000100 00:00000000 0 0 0 1\n"
    other = f"TCP6: inuse {sockets - 1}\n" if there == 2 else ""
    (tmp_path / "sockstat").write_text(
        f"sockets: used 9\nTCP: inuse {1 if other else sockets} orphan 0 tw 0 alloc 9 mem 64\n"
        "UDP: inuse 0 mem 0\nRAW: inuse 0\n"
    )
    if other:  # else a machine without IPv6
        (tmp_path / "sockstat6").write_text(f"{other}UDP6: inuse 0\n")
    (tmp_path / "tcp").write_text("  sl  local_address ...\n" + line)
    assert processes.queued_bytes(tmp_path) == queued


class Busy(Workplace):
    """A workplace on a busy machine: a look takes long, and hardly any of it is work."""

    def __init__(self):
        super().__init__()
        self.pid, self.looks = os.getpid(), []

    def excess(self):
        self.looks.append(time.monotonic())
        time.sleep(1)
        return ""


def test_a_busy_machine_does_not_put_off_the_next_look():
    with Busy() as place:
        place.watch(place)
        assert eventually(lambda: len(place.looks) > 2, 60)
    assert place.looks[2] - place.looks[1] < 5


@pytest.mark.parametrize(
    ("busy", "nice"), [(0, 0), (1, 0), (2, 0), (3, 2), (5, 5), (20, 11), (100, 18), (1000, 19)]
)
def test_many_busy_threads_weigh_as_much_as_two(busy, nice):
    assert processes.nice_of(busy) == nice
    assert nice == 19 or busy / 1.25**nice <= max(busy and processes.SHARE, 0)


def test_many_busy_processes_leave_the_neighbours_the_machine():
    async def run():
        with Sandbox(Limits(processes=128)) as sandbox:
            async with running_kernel(sandbox) as (manager, client):

                def priority():
                    return os.getpriority(os.PRIO_PROCESS, manager.provisioner.pid)

                idle = priority()
                client.execute(
                    "import os\n"
                    "for _ in range(24):\n"
                    "    if os.fork() == 0:\n"
                    "        while True: pass\n"
                    "while True: pass"
                )

                def is_nice():
                    return sandbox._nice > 8 and priority() == min(19, own + sandbox._nice)

                assert await asyncio.to_thread(eventually, is_nice, 200)
                return idle

    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert asyncio.run(run()) == own


def test_a_message_that_is_too_long_is_not_decoded(monkeypatch):
    monkeypatch.setattr(provisioner, "LONGEST_MESSAGE", 2**20)

    async def run():
        with Sandbox() as sandbox:
            async with running_kernel(sandbox) as (_, client):
                short = await run_code(client, "print('short')")
                request = client.execute("print('x' * 2**22)")
                lengths = []
                with contextlib.suppress(Empty):
                    while True:
                        message = await client.get_iopub_msg(timeout=3)
                        lengths.append(len(str(message["content"])))
                reply = await client.get_shell_msg(timeout=30)
                assert reply["parent_header"]["msg_id"] == request
                return short, max(lengths, default=0)

    short, longest = asyncio.run(run())
    assert short == "short\n"
    assert longest < 2**20


FLOOD = """
kernel, ident = get_ipython().kernel, {ident!r}
text = b"x" * 2**22
for _ in range(150):
    kernel.iopub_socket.send_multipart([b"flood", text])
    kernel.stdin_socket.send_multipart([ident, text])
"""


def test_messages_that_nobody_reads_yet_take_little_memory():
    """A kernel may send faster than anybody reads, and on channels that nobody asked anything."""

    async def run():
        with Sandbox() as sandbox:
            async with running_kernel(sandbox) as (_, client):
                before = processes.resident_memory(Path("/proc/self"))
                client.execute(FLOOD.format(ident=client.session.bsession))
                await client.get_shell_msg(timeout=100)
                await asyncio.sleep(2)
                return processes.resident_memory(Path("/proc/self")) - before

    assert asyncio.run(run()) < 250 * MIB
