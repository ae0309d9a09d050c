"""``launch``: values come back, failures are told, and nothing stays behind."""

import gc
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

import psutil
import pytest
import torch
import torch.distributed as dist

from course_utils import LaunchError, LaunchTimeout, launch
from course_utils.learner.launching import SHOWN_OUTPUT
from course_utils.prctl import adopts_orphans


@pytest.fixture(autouse=True)
def nothing_stays_behind(tmp_path, monkeypatch):
    def children():
        return set(psutil.Process().children(recursive=True))

    # The folder for temporary files is the whole machine's: other tests launch as well.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # Another file's tests may have run in this process and left a kernel that is kept warm, or an
    # open file that the garbage collector would close during this test.
    gc.collect()
    children_before = children()
    files_before = psutil.Process().num_fds()
    yield
    assert children() <= children_before
    assert not list(tmp_path.glob("course-launch-*"))
    assert psutil.Process().num_fds() == files_before


def test_each_ranks_value_comes_back_in_order():
    def total(rank, world_size, scale):
        x = torch.tensor([scale * rank])
        dist.all_reduce(x)
        return rank, world_size, x

    got = launch(total, 3, 2.0)
    assert [value[:2] for value in got] == [(0, 3), (1, 3), (2, 3)]
    assert all(torch.equal(value[2], torch.tensor([6.0])) for value in got)


def test_it_works_behind_multithreaded_maths_and_a_backward():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    weight = torch.randn(300, 300, requires_grad=True)
    (weight @ weight).sum().backward()

    def gradient(rank, world_size):
        weight = torch.full((200, 200), rank + 1.0, requires_grad=True)
        (weight @ weight).sum().backward()
        dist.all_reduce(weight.grad)
        return weight.grad

    try:
        first, second = launch(gradient, 2)
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(first, second)


def test_the_ranks_find_what_torchrun_would_set():
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "EXTRA")

    def variables(rank, world_size):
        dist.init_process_group("gloo")  # by MASTER_ADDR and MASTER_PORT
        return [os.environ[name] for name in names]

    got = launch(variables, 2, backend=None, env={"EXTRA": "yes"})
    assert got == [[str(n), str(n), "2", "2", "127.0.0.1", "yes"] for n in range(2)]
    assert "RANK" not in os.environ


def test_what_ranks_print_is_printed_in_order(capsys):
    def speak(rank, world_size):
        time.sleep(0.05 * (1 - rank))
        print("one\ntwo")
        sys.stderr.write("three")

    launch(speak, 2, backend=None)
    words = ["one", "two", "three"]
    assert capsys.readouterr().out.splitlines() == [
        f"rank {rank}: {word}" for rank in range(2) for word in words
    ]
    launch(speak, 2, backend=None, quiet=True)
    assert capsys.readouterr() == ("", "")


def test_a_failure_tells_the_traceback_the_print_and_where_the_others_were():
    def fail(rank, world_size):
        print("so far")
        if rank == 1:
            raise ValueError("no luck")
        dist.barrier()

    with pytest.raises(LaunchError) as caught:
        launch(fail, 2)
    words = str(caught.value)
    assert words.startswith("rank 1 failed\nrank 0 was in barrier\n    in fail, line ")
    assert "rank 1 raised ValueError: no luck\n    in fail, line " in words
    assert words.count("it printed:\n    so far") == 2
    assert [report.status for report in caught.value.reports] == ["waited", "raised"]
    assert not isinstance(caught.value, LaunchTimeout)


def test_time_is_up_and_it_says_which_rank_waits_where():
    def hang(rank, world_size):
        if rank == 0:
            return dist.all_reduce(torch.ones(1))
        while True:
            time.sleep(0.01)

    with pytest.raises(LaunchTimeout) as caught:
        launch(hang, 2, timeout=0.5)
    words = str(caught.value)
    assert words.startswith("after 0.5 seconds ranks 0, 1 were not through\nrank 0 was in all_red")
    assert "rank 1 was in hang, line " in words
    assert "time.sleep(0.01)" in words
    assert isinstance(caught.value, TimeoutError)


def test_a_process_that_ends_without_a_word_is_named_first():
    def die(rank, world_size):
        if rank == 1:
            os._exit(3)
        dist.barrier()

    with pytest.raises(LaunchError) as caught:
        launch(die, 2)
    assert str(caught.value).startswith("rank 1 failed")
    assert "rank 1 ended with exit status 3" in str(caught.value)


def test_a_value_that_cannot_travel_is_told_in_words():
    with pytest.raises(LaunchError, match="what the function returned can't be sent back"):
        launch(lambda rank, world_size: lambda: 0, 1, backend=None)


def test_what_a_rank_leaves_running_ends_with_it():
    def leave(rank, world_size):
        return subprocess.Popen(["sleep", "60"]).pid

    (pid,) = launch(leave, 1, backend=None)
    deadline = time.monotonic() + 5
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def started_in_a_session_of_its_own(rank, world_size):
    return subprocess.Popen(["sleep", "60"], start_new_session=True).pid


def forked_twice(rank, world_size):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if child := os.fork():
            os.write(writer, str(child).encode())
            os._exit(0)
        os.close(writer)
        time.sleep(60)
    os.close(writer)
    return int(os.read(reader, 20))


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
@pytest.mark.parametrize("hide", [started_in_a_session_of_its_own, forked_twice])
def test_what_hides_from_its_rank_ends_as_well(hide):
    pids = launch(hide, 2, backend=None)
    # Ended, and its parent knows: it is gone, not just dead.
    assert not any(psutil.pid_exists(pid) for pid in pids)


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
def test_processes_that_ran_before_a_launch_and_orphans_after_it_are_left_alone():
    before = subprocess.Popen(["sleep", "60"])
    launch(lambda rank, world_size: None, 1, backend=None)
    assert before.poll() is None
    before.kill()
    before.wait()
    assert not adopts_orphans()


def print_lines(rank):
    while rank == 1:
        print("x" * 1000)


def write_bytes(rank):
    while rank == 1:
        os.write(1, b"x" * 2**16)


@pytest.mark.parametrize("loop", [print_lines, write_bytes])
def test_a_rank_that_prints_without_end_is_ended_and_says_so(loop):
    def rank_prints(rank, world_size):
        loop(rank)

    started = time.monotonic()
    with pytest.raises(LaunchError, match="rank 1 printed more than 16 MiB") as caught:
        launch(rank_prints, 2, backend=None, timeout=60)
    assert time.monotonic() - started < 20
    message = str(caught.value)
    assert loop.__name__ in message
    assert "bytes left out" in message
    assert len(message) < 2 * SHOWN_OUTPUT


def test_of_a_long_print_the_beginning_and_the_end_are_shown(capsys):
    def count(rank, world_size):
        for number in range(40_000):
            print("line", number)

    launch(count, 1, backend=None)
    shown = capsys.readouterr().out.splitlines()
    assert (shown[0], shown[-1]) == ("rank 0: line 0", "rank 0: line 39999")
    assert sum("left out" in line for line in shown) == 1


@pytest.mark.parametrize(("size", "timeout"), [(0, 1), (-1, 1), (1.5, 1), (1, 0), (1, -1)])
def test_nonsense_is_refused_before_anything_starts(size, timeout):
    with pytest.raises(ValueError, match="got"):
        launch(lambda rank, world_size: None, size, timeout=timeout)


SCRIPT = """
import os, sys, time
from course_utils import launch
from course_utils.learner import launching
folder = sys.argv[1]
{before}
def work(rank, world_size):
    open(os.path.join(folder, str(rank)), "w").write(str(os.getpid()))
    {body}
if __name__ == "__main__":
    launch(work, 2, quiet={quiet})
    print("went on")
"""


def start(folder, body, before="", quiet=False):
    """A Python of its own that launches; the ranks write their pids into ``folder``."""
    script = folder / "script.py"
    script.write_text(SCRIPT.format(body=body, before=before, quiet=quiet), encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, script, folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )


def pids(folder):
    deadline = time.monotonic() + 60
    while not all((folder / str(n)).exists() and (folder / str(n)).read_text() for n in range(2)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return [int((folder / str(n)).read_text()) for n in range(2)]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_the_ranks_end_with_the_kernel_however_it_ends(tmp_path, how):
    process = start(tmp_path, "time.sleep(60)")
    ranks = pids(tmp_path)
    process.send_signal(how)
    _, errors = process.communicate(timeout=30)
    assert process.returncode != 0
    assert ("KeyboardInterrupt" in errors) == (how == signal.SIGINT)
    deadline = time.monotonic() + 10
    while any(psutil.pid_exists(pid) for pid in ranks) or list(tmp_path.glob("course-launch-*")):
        assert time.monotonic() < deadline, "ranks or files are left"
        time.sleep(0.02)


FRESH = "launching._may_fork = lambda: False"


def test_ranks_in_a_fresh_python_answer_as_well(tmp_path):
    body = textwrap.dedent(
        """
        import torch, torch.distributed as dist
            x = torch.tensor([rank + 1.0])
            dist.all_reduce(x)
            print("sum", x.item())
        """
    ).strip()
    process = start(tmp_path, body, before=FRESH)
    output, errors = process.communicate(timeout=90)
    assert (process.returncode, errors) == (0, "")
    assert output.splitlines() == ["rank 0: sum 3.0", "rank 1: sum 3.0", "went on"]


def test_ranks_in_a_fresh_python_find_the_modules_of_a_folder_that_was_added(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "ours.py").write_text("class Thing:\n    size = 3\n")
    added = f"sys.path.insert(0, {str(tmp_path / 'mine')!r}); import ours; kept = ours.Thing()"
    process = start(tmp_path, 'print("size", kept.size)', before=f"{FRESH}; {added}")
    output, errors = process.communicate(timeout=90)
    assert (process.returncode, errors) == (0, "")
    assert output.splitlines() == ["rank 0: size 3", "rank 1: size 3", "went on"]


def test_ranks_in_a_fresh_python_end_with_the_kernel(tmp_path):
    process = start(tmp_path, "time.sleep(60)", before=FRESH)
    ranks = pids(tmp_path)
    process.kill()
    process.communicate(timeout=30)
    deadline = time.monotonic() + 10
    while any(psutil.pid_exists(pid) for pid in ranks) or list(tmp_path.glob("course-launch-*")):
        assert time.monotonic() < deadline, "ranks or files are left"
        time.sleep(0.02)
