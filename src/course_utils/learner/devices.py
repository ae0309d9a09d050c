"""The one device that a notebook works on, the one way to seed it, and random numbers on it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import torch

import course_utils


def _choose_device() -> torch.device:
    """The device named by ``COURSE_DEVICE``, else a CUDA GPU if there is one, else the CPU."""
    wanted = os.environ.get("COURSE_DEVICE")
    if wanted:
        try:
            chosen = torch.device(wanted)
            torch.empty(1, device=chosen)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise RuntimeError(
                f"COURSE_DEVICE={wanted} cannot be used here ({reason}); "
                "unset it, or set it to cpu, and restart the kernel"
            ) from error
        return chosen
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


device: torch.device = _choose_device()


def seed_everything(seed: int = 0) -> None:
    """Seed Python's, NumPy's and PyTorch's generators (CPU and every GPU) with ``seed``.

    NumPy's legacy global generator is the one that is seeded; a ``numpy.random.Generator`` of
    your own is seeded where you make it.

    Args:
        seed: a whole number from 0 to 2**32 - 1, the range that NumPy accepts.

    Raises:
        ValueError: ``seed`` is outside that range.
    """
    import numpy as np

    if not 0 <= seed < 2**32:
        raise ValueError(f"seed must be from 0 to 2**32 - 1, got {seed}")
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def seeded(seed: int) -> Callable[..., torch.Tensor]:
    """A function from a shape to normally distributed numbers on ``device``, fixed by the seed."""
    generator = torch.Generator().manual_seed(seed)
    # The package's name, asked for at each call: a test may have changed it.
    return lambda *shape: torch.randn(*shape, generator=generator).to(course_utils.device)
