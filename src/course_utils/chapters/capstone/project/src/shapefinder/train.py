import os
import signal
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss: Callable,
    batch: Callable,
    steps: int,
    file: str | Path,
    every: int = 50,
) -> int:
    """Train up to ``steps`` steps, on every rank of the default group if there is one.

    Args:
        model: its parameters are also the optimizer's.
        optimizer: as it was made; where ``file`` is there, it gets the state from there.
        loss: ``loss(model(x), y)`` is a number, the mean over this rank's samples.
        batch: ``batch(step, rank, world_size)`` gives ``x, y``, this rank's share of a step.
        steps: how many steps the whole run has; they count from 0.
        file: where the run is kept: ``{"step": …, "model": …, "optimizer": …}``.
        every: the run is also kept after each step whose number, from 1, it divides.

    Returns:
        How many steps of the whole run are done.
    """
    together = dist.is_initialized()
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if together else (0, 1)
    file, step, asked = Path(file), 0, []
    device = next(model.parameters()).device
    if file.exists():
        saved = torch.load(file, map_location=device, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        step = saved["step"]
    if together:
        for value in (*model.parameters(), *model.buffers()):
            dist.broadcast(value.detach(), 0)
    before = signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    try:
        stop = False
        while step < steps and not stop:
            torch.manual_seed(step * world_size + rank)
            x, y = batch(step, rank, world_size)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if together:
                for parameter in model.parameters():
                    if parameter.grad is not None:
                        dist.all_reduce(parameter.grad)
                        parameter.grad /= world_size
            optimizer.step()
            step += 1
            flag = torch.tensor(float(bool(asked)), device=device)
            if together:
                dist.all_reduce(flag, dist.ReduceOp.MAX)
            stop = bool(flag)
            if rank == 0 and (stop or step == steps or step % every == 0):
                state = {"step": step, "model": model.state_dict()}
                half = file.with_name(file.name + ".half")
                torch.save(state | {"optimizer": optimizer.state_dict()}, half)
                os.replace(half, file)
        if together:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return step
