"""Small jobs on several processes, and the words of what went wrong there."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable

import torch
from torch.distributed.tensor import DTensor

from course_utils.learner.launch_reports import LaunchError, LaunchTimeout
from course_utils.learner.launching import launch


def local(tensor: torch.Tensor) -> torch.Tensor:
    """What this rank holds of a tensor."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def on_ranks(function: Callable, world_size: int, *args, timeout: float = 30) -> list:
    """``launch`` on the CPU, whatever this machine has."""
    return launch(function, world_size, *args, backend="gloo", timeout=timeout, quiet=True)


PATIENCE, AFTER_A_HANG = 8.0, 4.0
_patience = {"seconds": PATIENCE}


def attempt(function: Callable, world_size: int, *args) -> list | str:
    """What each rank returned, or the words of what went wrong.

    Where one job hung, the next one often does: it gets less time, so that a check of many cases
    comes to its end.
    """
    try:
        found = on_ranks(function, world_size, *args, timeout=_patience["seconds"])
    except LaunchError as error:
        hung = isinstance(error, LaunchTimeout)
        _patience["seconds"] = AFTER_A_HANG if hung else PATIENCE
        return _words_of(error)[:1500]
    _patience["seconds"] = PATIENCE
    return found


def _words_of(error: LaunchError) -> str:
    """What went wrong, without what differs from run to run: folders, and who else failed then."""
    words = str(error)
    failed = [r for kind in ("ended", "raised") for r in error.reports if r.status == kind]
    if failed and not isinstance(error, LaunchTimeout):
        failed[0].output = ""
        words = failed[0].tell().split("Traceback (most")[0].rstrip()
    words = words.replace("\n    in __torch_dispatch__", "")  # of the mode that counts collectives
    return re.sub(re.escape(tempfile.gettempdir()) + r"/\w+/?", "", words)


def random_like(shape: tuple, *seeds: int) -> torch.Tensor:
    """Normal numbers, the same for the same seeds."""
    seed = sum((7919**place) * (number + 1) for place, number in enumerate(seeds))
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
