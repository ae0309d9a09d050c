"""The helpers of chapter 19: files, transforms, a server that ends, a clock that jumps."""

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from itertools import combinations

import psutil
import pytest
import torch
from PIL import Image
from safetensors.torch import load, save

from course_utils.chapters.deployment import (
    batching,
    detector,
    exporting,
    int8,
    loads,
    preprocessing,
    runtime,
    safe_files,
    serving_trials,
)
from course_utils.chapters.deployment.noise import refusal
from course_utils.chapters.deployment.operator_tables import one_table
from course_utils.chapters.deployment.serving import WebServer
from course_utils.learner.servers import ServerError
from support.warm import eventually


def make_echo(words):
    from fastapi import FastAPI

    app = FastAPI()
    app.get("/health")(lambda: {"words": words})
    return app


def make_nothing():
    raise RuntimeError("no application today")


for _made in (make_echo, make_nothing):
    _made.__module__ = "__main__"  # as if a cell had defined them: they travel whole


def test_good_files_load_and_each_is_what_it_promises():
    for name, (content, wanted) in safe_files.good_files().items():
        tensors = load(content)
        assert {key: (tuple(t.shape), t.dtype) for key, t in tensors.items()} == wanted, name


def test_bad_files_differ_from_the_good_one_in_what_their_name_says():
    loaded = [name for name in safe_files.bad_files() if refusal_of(name) == "accepted"]
    assert loaded == [
        "one name too many", "a tensor named __hidden__ that nobody wanted",
        "one name too many, of an empty tensor",
        "offset where bias is wanted", "Bias where bias is wanted",
        "model.weight where weight is wanted", "bias is missing", "float16 where float32 is wanted",
        "shape (3, 2) where (2, 3) is wanted", "shape (2, 4) where (2, 3) is wanted",
        "shape (2, 3, 1) where (2, 3) is wanted",
        "a nan among the numbers", "an infinite number", "an infinite number below 0",
        "an infinite float16", "bfloat16 where float16 is wanted",
        "int64 where float32 is wanted", "float32 where int64 is wanted",
        "a name with a blank behind it", "a nan alone, without dimensions",
        "shape () where (1,) is wanted", "shape (1,) where () is wanted",
    ]  # fmt: skip
    with pytest.raises(KeyError):  # and no SafetensorError: the exercise's statement says it
        load(safe_files.bad_files()["a dtype that `load` doesn't know"][0])


def refusal_of(name):
    return refusal(lambda: load(safe_files.bad_files()[name][0]))


def test_a_packed_file_is_the_librarys():
    weight = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    mine = safe_files.good_files()["two tensors"][0]
    assert torch.equal(load(mine)["weight"], load(save({"weight": weight}))["weight"])


@pytest.mark.parametrize("program", list(exporting.REFUSED))
def test_each_program_is_refused_as_it_is(program):
    said = exporting.try_program(lambda name, *given: exporting.REFUSED[name](*given), program)
    assert said["refused"]
    with pytest.raises(AssertionError, match="refuses it"):
        exporting.check_program(program, said)


def test_a_transform_without_faults_is_the_training_one():
    for index in range(3):
        picture = detector.picture_of(index)
        right = detector.prepare(picture)
        assert torch.equal(preprocessing.transform()(picture), right)
        assert (preprocessing.transform((), "float")(picture) - right).abs().max() < 0.02
        assert (torch.from_numpy(runtime.prepare(picture)) - right).abs().max() < 1e-6


def test_each_fault_changes_what_it_should():
    picture = detector.picture_of(3)
    for count in (1, 2, 3):
        for faults in combinations(preprocessing.FAULTS[:3], count):
            served = preprocessing.transform(faults, "bytes nearest")(picture)
            assert not torch.equal(served, detector.prepare(picture)), faults
    with pytest.raises(RuntimeError):
        preprocessing.transform({"mode"}, "crash")(picture.convert("L"))


def test_a_server_answers_and_leaves_no_process():
    with WebServer(make_echo, "here") as server:
        pid = server.pid
        assert server.ask("/health") == (200, {"words": "here"})
        assert psutil.pid_exists(pid)
    assert eventually(lambda: not psutil.pid_exists(pid))


def test_a_server_that_cannot_start_says_why():
    with pytest.raises(ServerError, match="no application today"):
        WebServer(make_nothing)


def test_a_server_ends_with_the_process_that_started_it():
    program = (
        "import sys\nfrom course_utils.chapters.deployment.serving import WebServer\n"
        "from fastapi import FastAPI\nserver = WebServer(FastAPI)\n"
        "print(server.pid, flush=True)\nsys.stdin.read()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    pid = int(parent.stdout.readline())
    assert psutil.pid_exists(pid)
    os.kill(parent.pid, signal.SIGKILL)
    parent.communicate()
    assert eventually(lambda: not psutil.pid_exists(pid), 20)


def test_the_bomb_is_small_and_large():
    content = serving_trials.bomb(3000, 2000)
    assert len(content) < 10_000
    with Image.open(io.BytesIO(content)) as picture:
        assert picture.size == (3000, 2000)
        assert picture.convert("L").getextrema() == (0, 0)


def test_damaged_files_are_the_same_each_time():
    assert serving_trials.damaged(20) == serving_trials.damaged(20)
    assert serving_trials.damaged(20, seed=1) != serving_trials.damaged(20)


def test_virtual_time_costs_no_time_and_keeps_its_order():
    async def work():
        seen = []

        async def say(when):
            await asyncio.sleep(when)
            seen.append(asyncio.get_running_loop().time())

        await asyncio.gather(say(3600), say(5), say(60))
        return seen

    assert batching.in_virtual_time(work) == pytest.approx([5, 60, 3600])


def test_waiting_for_nothing_is_told():
    async def work():
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match="never comes"):
        batching.in_virtual_time(work)


def test_the_servers_of_the_simulation_agree_with_a_count_by_hand():
    due = torch.tensor([0.0, 0.5, 0.6, 5.0], dtype=torch.float64)
    assert loads.served_singly(due, 1.0).tolist() == [1.0, 2.0, 3.0, 6.0]
    batched = loads.served_in_batches(due, 1.0, 0.5, most=2, wait=0.2)
    assert batched.tolist() == pytest.approx([1.7, 3.7, 3.7, 6.7])
    assert loads.truth(due, due + 2)["in flight"] == pytest.approx(8 / 7)


def test_the_slips_of_whole_numbers_differ_somewhere():
    for slip in int8.SLIPS:
        kinds = ["in range", "beyond low and high", "large sums", "down to 0, beyond"]
        cases = [int8.layer(kind) for kind in [*kinds, "a row of zeros"]]
        pairs = [(int8.truth(*case)[0], int8.truth(*case, slip=slip)[0]) for case in cases]
        assert any(not torch.equal(*pair) for pair in pairs), slip


def test_what_a_server_says_is_plain():
    assert json.dumps(runtime.Examiner()(Image.new("RGB", (9, 9), "red")))
    with pytest.raises(ValueError, match="too small"):
        runtime.Examiner()(Image.new("RGB", (3, 3)))


SWALLOWS_ITS_END = """
import gc
from course_utils.chapters.deployment.batching import try_batching

async def worker(queue, predict, most, wait):
    while True:
        try:
            x, future = await queue.get()
        except BaseException:
            continue
        future.set_result(predict([x])[0])

said = try_batching(worker, "most is 1")
gc.collect()
print(said["stops"])
"""


def test_who_swallows_the_end_holds_up_nobody_later():
    """Neither whatever collects garbage next, nor the process's end."""
    command = [sys.executable, "-c", SWALLOWS_ITS_END]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


def test_one_table_of_operators_is_shared_and_taken_back():
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    before = vars(ONNXRegistry)["from_torchlib"]
    with one_table():
        first, second = ONNXRegistry.from_torchlib(), ONNXRegistry.from_torchlib()
        assert first.functions == second.functions
        first.functions.clear()
        assert ONNXRegistry.from_torchlib().functions == second.functions
    assert vars(ONNXRegistry)["from_torchlib"] is before
