"""Run a function on several processes of this machine, for tests."""

import multiprocessing
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import cloudpickle
import torch
import torch.distributed as dist

SECONDS = 60


def run_ranks(function: Callable, world_size: int) -> list:
    """What ``function(rank)`` returned on each rank, in a gloo group.

    Raises:
        AssertionError: with the words of the ranks that failed, or did not end in time.
    """
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    # A fresh Python can't import a function that a test defines, so it is sent whole.
    sent = function if sys.platform == "linux" else cloudpickle.dumps(function)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{rank}.pt" for rank in range(world_size)]
        ranks = [
            context.Process(target=_run, args=(sent, rank, world_size, folder, files[rank]))
            for rank in range(world_size)
        ]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join(SECONDS)
        late = [process.kill() for process in ranks if process.is_alive()]
        assert not late, f"{len(late)} of {world_size} ranks did not end within {SECONDS} s"
        results = [torch.load(file, weights_only=False) for file in files if file.exists()]
    wrong = [words for fine, words in results if not fine]
    assert not wrong and len(results) == world_size, wrong[0] if wrong else "a rank ended early"
    return [value for _, value in results]


def _run(function: Callable | bytes, rank: int, world_size: int, folder: str, file: Path) -> None:
    torch.set_num_threads(1)
    function = cloudpickle.loads(function) if isinstance(function, bytes) else function
    try:
        dist.init_process_group(
            "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world_size
        )
        result = True, function(rank)
    except BaseException:
        result = False, traceback.format_exc(limit=-3)
    torch.save(result, file)
    os._exit(0)  # without the end of the interpreter, in which gloo may abort
