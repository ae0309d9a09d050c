# %% [markdown]
# Rules:
#
# - "`torch.manual_seed(step * world_size + rank)`"
# - "; then `x, y = batch(step, rank, world_size)`"
# - "in training mode"
# - "from this batch alone"
# - "the mean of it over the ranks"
# - "if the default process group is initialised"
# - "may have an old gradient"
# - "If `file` exists, the run continues from it"
# - "All ranks start with rank 0's weights and buffers"
# - "steps done"
# - "It is written at the end"
# - "after each step whose number in the whole run, from 1, is a multiple of `every`"
# - "Rank 0 alone writes"
# - "Whatever happens during a save, `file` holds a whole run"
# - "When `fit` returns on any rank, the file is there"
# - "all ranks complete the step"
# - "and `fit` returns"
# - "the handler is the one from before"
# - "even after an error"
# - "An error of a save or of a batch is raised as it is"
# - "`fit` loads it"
# - "returns how many steps of the whole run are done"
# - "takes no step and returns 0"
# - "file: str | Path"
#
# Admits:
#
# - "file: str | Path": file may be a str as well as a Path
# - "may be frozen, and may have an old gradient": does each start from its own
# - "Parameters may be float64": The model is torch.float64: keep to that
# - "It runs alone or": without a group, rank and world size are 0 and 1
# - "With a run that is complete": a finished run was trained further
# - "SIGTERM** on any rank": rank 1 alone got SIGTERM

# %% wrong="gradients add up" breaks="from this batch alone" says=["from its own batch"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
    before = signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    try:
        stop = False
        while step < steps and not stop:
            torch.manual_seed(step * world_size + rank)
            x, y = batch(step, rank, world_size)
            model.train()
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


# %% wrong="forgets the optimizer" breaks="If `file` exists, the run continues from it" says=["3 + 3 steps differ from 6"]
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
        step = saved["step"]
    if together:
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
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


# %% wrong="stops alone" breaks="all ranks complete the step" says=["the ranks wait for each other"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
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
                pass
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


# %% wrong="saves over the last file" breaks="Whatever happens during a save, `file` holds a whole run" says=["destroyed the last good file"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
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
                file.with_name(file.name + ".half")
                torch.save(state | {"optimizer": optimizer.state_dict()}, file)
        if together:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return step


# %% wrong="leaves its handler" breaks="the handler is the one from before" says=["the handler of SIGTERM is not as it was"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
    signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
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
        pass
    return step


# %% wrong="ranks start apart" breaks="All ranks start with rank 0's weights and buffers" says=["the ranks' weights differ"]
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
        for value in model.state_dict().values():
            pass
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


# %% wrong="adds gradients up" breaks="the mean of it over the ranks" says=["one process with the whole batch"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
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


# %% wrong="every rank the same seed" breaks="`torch.manual_seed(step * world_size + rank)`" says=["step * world_size + rank"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
    before = signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    try:
        stop = False
        while step < steps and not stop:
            torch.manual_seed(step)
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


# %% wrong="every rank saves" breaks="Rank 0 alone writes" says=["rank 0 alone saves"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
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
            if stop or step == steps or step % every == 0:
                state = {"step": step, "model": model.state_dict()}
                half = file.with_name(file.name + ".half")
                torch.save(state | {"optimizer": optimizer.state_dict()}, half)
                os.replace(half, file)
        if together:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return step


# %% wrong="off by one" says=["with every=2"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
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
            if rank == 0 and (stop or step == steps or (step - 1) % every == 0):
                state = {"step": step, "model": model.state_dict()}
                half = file.with_name(file.name + ".half")
                torch.save(state | {"optimizer": optimizer.state_dict()}, half)
                os.replace(half, file)
        if together:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return step


# %% wrong="does not wait for the file" breaks="When `fit` returns on any rank, the file is there" says=["when fit returns on any rank"]
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
    finally:
        signal.signal(signal.SIGTERM, before)
    return step


# %% wrong="stays in evaluation mode" breaks="in training mode" says=["in evaluation mode during training"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
    before = signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    try:
        stop = False
        while step < steps and not stop:
            torch.manual_seed(step * world_size + rank)
            x, y = batch(step, rank, world_size)
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


# %% wrong="exits from the handler" breaks="and `fit` returns" says=["SIGTERM ended the program in the middle of a step"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
    before = signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(SystemExit(0)))
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


# %% wrong="hides a full disk" breaks="An error of a save or of a batch is raised as it is" says=["was swallowed"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
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
    except OSError:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
    return step


# %% wrong="no finally" breaks="even after an error" says=["the former handler is not back"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
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
    except ZeroDivisionError:
        pass
    signal.signal(signal.SIGTERM, before)
    return step


# %% wrong="always returns all steps" breaks="returns how many steps of the whole run are done" says=["SIGTERM came in step 2"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
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
    return steps


# %% right="DistributedDataParallel and a context manager"
import contextlib
import os
import signal
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


@contextlib.contextmanager
def notes_of(number):
    notes = []
    old = signal.getsignal(number)
    signal.signal(number, lambda n, frame: notes.append(n))
    try:
        yield notes
    finally:
        signal.signal(number, old)


def fit(model, optimizer, loss, batch, steps, file, every=50):
    group = dist.is_available() and dist.is_initialized()
    rank = dist.get_rank() if group else 0
    world_size = dist.get_world_size() if group else 1
    done = 0
    if os.path.exists(file):
        kept = torch.load(file, weights_only=True)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        done = kept["step"]
    wrapped = DistributedDataParallel(model) if group else model
    with notes_of(signal.SIGTERM) as notes:
        while done < steps:
            torch.manual_seed(done * world_size + rank)
            wrapped.train()
            x, y = batch(done, rank, world_size)
            model.zero_grad()
            loss(wrapped(x), y).backward()
            optimizer.step()
            done += 1
            votes = [len(notes)]
            if group:
                votes = [None] * world_size
                dist.all_gather_object(votes, len(notes))
            if rank == 0 and (any(votes) or done in (steps,) or not done % every):
                content = {
                    "step": done,
                    "model": model.state_dict(),
                    "optimizer": optimizer.state_dict(),
                }
                beside = Path(tempfile.mkdtemp(dir=Path(file).parent)) / "run.pt"
                torch.save(content, beside)
                beside.rename(file)
            if group:
                dist.barrier()
            if any(votes):
                break
    return done


# %% right="one flat gradient"
import os
import signal

import torch
import torch.distributed as dist


def fit(model, optimizer, loss, batch, steps, file, every=50):
    ranked = dist.is_initialized()
    rank, size = (dist.get_rank(), dist.get_world_size()) if ranked else (0, 1)
    state = {"stop": 0}

    def note(*_):
        state["stop"] = 1

    former = signal.signal(signal.SIGTERM, note)
    try:
        start = 0
        if os.path.exists(file):
            content = torch.load(file, map_location="cpu")
            start = content["step"]
            model.load_state_dict(content["model"])
            optimizer.load_state_dict(content["optimizer"])
        if ranked:
            for tensor in [*model.parameters(), *model.buffers()]:
                dist.broadcast(tensor.detach(), src=0)
        parameters = [p for p in model.parameters() if p.requires_grad]
        for step in range(start, steps):
            torch.manual_seed(step * size + rank)
            x, y = batch(step, rank, size)
            model.train()
            optimizer.zero_grad()
            gradients = torch.autograd.grad(loss(model(x), y), parameters)
            flat = torch.cat(
                [g.flatten() for g in gradients] + [torch.tensor([float(state["stop"])])]
            )
            if ranked:
                dist.all_reduce(flat)
            stop = flat[-1] > 0
            for p, g in zip(parameters, (flat[:-1] / size).split([p.numel() for p in parameters])):
                p.grad = g.view_as(p).clone()
            optimizer.step()
            start = step + 1
            if rank == 0 and (stop or start == steps or start % every == 0):
                temporary = str(file) + ".new"
                content = {"step": start, "model": model.state_dict()}
                content["optimizer"] = optimizer.state_dict()
                torch.save(content, temporary)
                os.replace(temporary, file)
            if ranked:
                dist.barrier()
            if stop:
                break
        return start
    finally:
        signal.signal(signal.SIGTERM, former)


# %% wrong="saves are counted from this start" breaks="after each step whose number in the whole run, from 1, is a multiple of `every`" says=["not its number since the start"]
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
    together = dist.is_initialized()
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if together else (0, 1)
    file, step, asked = Path(file), 0, []
    begin = 0
    device = next(model.parameters()).device
    if file.exists():
        saved = torch.load(file, map_location=device, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        begin = step = saved["step"]
    if together:
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
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
            if rank == 0 and (stop or step == steps or (step - begin) % every == 0):
                state = {"step": step, "model": model.state_dict()}
                half = file.with_name(file.name + ".half")
                torch.save(state | {"optimizer": optimizer.state_dict()}, half)
                os.replace(half, file)
        if together:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return step


# %% wrong="a rank leaves by its own note" says=["signal during a save", "the ranks wait for each other"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
    before = signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    try:
        stop = False
        while step < steps and not stop and not asked:
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


# %% wrong="old gradients of frozen layers stay" breaks="may have an old gradient" says=["a frozen parameter has moved"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
    before = signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    try:
        stop = False
        while step < steps and not stop:
            torch.manual_seed(step * world_size + rank)
            x, y = batch(step, rank, world_size)
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.grad = None
            model.train()
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


# %% wrong="a file that is a Path" breaks="file: str | Path" says=["a str as well as a Path"]
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
    step, asked = 0, []
    device = next(model.parameters()).device
    if file.exists():
        saved = torch.load(file, map_location=device, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        step = saved["step"]
    if together:
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
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


# %% wrong="a complete run isn't loaded" breaks="`fit` loads it" says=["the weights of a finished run were not loaded"]
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
    if file.exists() and torch.load(file)["step"] >= steps:
        return steps
    if file.exists():
        saved = torch.load(file, map_location=device, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        step = saved["step"]
    if together:
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
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


# %% wrong="seeds after the batch" breaks="; then `x, y = batch(step, rank, world_size)`" says=["when the batches were asked for"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
    before = signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    try:
        stop = False
        while step < steps and not stop:
            x, y = batch(step, rank, world_size)
            torch.manual_seed(step * world_size + rank)
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


# %% wrong="the last step's number" breaks="steps done" says=["after 3 steps"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
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
                state = {"step": step - 1, "model": model.state_dict()}
                half = file.with_name(file.name + ".half")
                torch.save(state | {"optimizer": optimizer.state_dict()}, half)
                os.replace(half, file)
        if together:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return step


# %% wrong="no save at the end" breaks="It is written at the end" says=["no file was written at the end"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
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
            if rank == 0 and (stop or step % every == 0):
                state = {"step": step, "model": model.state_dict()}
                half = file.with_name(file.name + ".half")
                torch.save(state | {"optimizer": optimizer.state_dict()}, half)
                os.replace(half, file)
        if together:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return step


# %% wrong="removes the old file first" breaks="Whatever happens during a save, `file` holds a whole run" says=["the old one was gone already"]
import os
import signal
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn


def fit(model, optimizer, loss, batch, steps, file, every=50):
    file = Path(file)
    spread = dist.is_available() and dist.is_initialized()
    rank = dist.get_rank() if spread else 0
    world_size = dist.get_world_size() if spread else 1
    done = 0
    if file.exists():
        kept = torch.load(file, weights_only=True)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        done = kept["step"]
    if spread:
        with torch.no_grad():
            for tensor in [*model.parameters(), *model.buffers()]:
                dist.broadcast(tensor, 0)

    def save():
        if rank == 0:
            beside = file.with_name(file.name + ".part")
            state = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, beside)
            file.unlink(missing_ok=True)
            beside.rename(file)

    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    try:
        saved = done if file.exists() else None
        while done < steps:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if spread:
                for p in model.parameters():
                    if p.requires_grad:
                        if p.grad is None:
                            p.grad = torch.zeros_like(p)
                        dist.all_reduce(p.grad)
                        p.grad /= world_size
            optimizer.step()
            done += 1
            stop = torch.tensor(len(asked))
            if spread:
                dist.all_reduce(stop, dist.ReduceOp.MAX)
            if done % every == 0 or done == steps or stop:
                save()
            if stop:
                break
        else:
            if saved is None and steps == 0:
                save()
        if spread:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return done


# %% wrong="thaws frozen parameters" says=["was frozen, and isn't any more"]
import os
import signal
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn


def fit(model, optimizer, loss, batch, steps, file, every=50):
    file = Path(file)
    spread = dist.is_available() and dist.is_initialized()
    rank = dist.get_rank() if spread else 0
    world_size = dist.get_world_size() if spread else 1
    done = 0
    if file.exists():
        kept = torch.load(file, weights_only=True)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        done = kept["step"]
    if spread:
        with torch.no_grad():
            for tensor in [*model.parameters(), *model.buffers()]:
                dist.broadcast(tensor, 0)

    def save():
        if rank == 0:
            beside = file.with_name(file.name + ".part")
            state = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, beside)
            os.replace(beside, file)

    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    try:
        saved = done if file.exists() else None
        while done < steps:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.requires_grad_(True)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if spread:
                for p in model.parameters():
                    if p.requires_grad:
                        if p.grad is None:
                            p.grad = torch.zeros_like(p)
                        dist.all_reduce(p.grad)
                        p.grad /= world_size
            optimizer.step()
            done += 1
            stop = torch.tensor(len(asked))
            if spread:
                dist.all_reduce(stop, dist.ReduceOp.MAX)
            if done % every == 0 or done == steps or stop:
                save()
            if stop:
                break
        else:
            if saved is None and steps == 0:
                save()
        if spread:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return done


# %% wrong="the steps of this call alone" breaks="returns how many steps of the whole run are done" says=["fit returns 3, not 0", "fit returns 2 and 3"]
import os
import signal
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn


def fit(model, optimizer, loss, batch, steps, file, every=50):
    file = Path(file)
    spread = dist.is_available() and dist.is_initialized()
    rank = dist.get_rank() if spread else 0
    world_size = dist.get_world_size() if spread else 1
    done = 0
    if file.exists():
        kept = torch.load(file, weights_only=True)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        done = kept["step"]
    first = done
    if spread:
        with torch.no_grad():
            for tensor in [*model.parameters(), *model.buffers()]:
                dist.broadcast(tensor, 0)

    def save():
        if rank == 0:
            beside = file.with_name(file.name + ".part")
            state = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, beside)
            os.replace(beside, file)

    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    try:
        saved = done if file.exists() else None
        while done < steps:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if spread:
                for p in model.parameters():
                    if p.requires_grad:
                        if p.grad is None:
                            p.grad = torch.zeros_like(p)
                        dist.all_reduce(p.grad)
                        p.grad /= world_size
            optimizer.step()
            done += 1
            stop = torch.tensor(len(asked))
            if spread:
                dist.all_reduce(stop, dist.ReduceOp.MAX)
            if done % every == 0 or done == steps or stop:
                save()
            if stop:
                break
        else:
            if saved is None and steps == 0:
                save()
        if spread:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return done - first


# %% wrong="old gradients become 0" says=["where it is 0, the weight still decays"]
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist


def fit(model, optimizer, loss, batch, steps, file, every=50):
    file = Path(file)
    grouped = dist.is_available() and dist.is_initialized()
    rank = dist.get_rank() if grouped else 0
    world_size = dist.get_world_size() if grouped else 1
    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))

    def save(done):
        if rank == 0:
            beside = file.with_name(file.name + ".part")
            kept = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(kept, beside)
            os.replace(beside, file)

    try:
        done = 0
        saved = False
        if file.exists():
            kept = torch.load(file)
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
            saved = True
        if grouped:
            for tensor in model.state_dict().values():
                dist.broadcast(tensor, 0)
        while done < steps:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            optimizer.zero_grad(set_to_none=False)
            loss(model(x), y).backward()
            if grouped:
                for p in model.parameters():
                    if p.grad is not None:
                        dist.all_reduce(p.grad)
                        p.grad /= world_size
            optimizer.step()
            done += 1
            saved = False
            stop = torch.tensor(float(len(asked) > 0))
            if grouped:
                dist.all_reduce(stop, op=dist.ReduceOp.MAX)
            if done % every == 0:
                save(done)
                saved = True
            if stop > 0:
                break
        if not saved:
            save(done)
        if grouped:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return done


# %% wrong="a batch that fails ends the run" says=["the error of a batch was swallowed"]
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist


def fit(model, optimizer, loss, batch, steps, file, every=50):
    file = Path(file)
    grouped = dist.is_available() and dist.is_initialized()
    rank = dist.get_rank() if grouped else 0
    world_size = dist.get_world_size() if grouped else 1
    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))

    def save(done):
        if rank == 0:
            beside = file.with_name(file.name + ".part")
            kept = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(kept, beside)
            os.replace(beside, file)

    try:
        done = 0
        saved = False
        if file.exists():
            kept = torch.load(file)
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
            saved = True
        if grouped:
            for tensor in model.state_dict().values():
                dist.broadcast(tensor, 0)
        while done < steps:
            torch.manual_seed(done * world_size + rank)
            try:
                x, y = batch(done, rank, world_size)
            except Exception:
                break
            model.train()
            model.zero_grad()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if grouped:
                for p in model.parameters():
                    if p.grad is not None:
                        dist.all_reduce(p.grad)
                        p.grad /= world_size
            optimizer.step()
            done += 1
            saved = False
            stop = torch.tensor(float(len(asked) > 0))
            if grouped:
                dist.all_reduce(stop, op=dist.ReduceOp.MAX)
            if done % every == 0:
                save(done)
                saved = True
            if stop > 0:
                break
        if not saved:
            save(done)
        if grouped:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return done


# %% wrong="copies the new file over the old one" says=["the last good file was written over"]
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist


def fit(model, optimizer, loss, batch, steps, file, every=50):
    file = Path(file)
    grouped = dist.is_available() and dist.is_initialized()
    rank = dist.get_rank() if grouped else 0
    world_size = dist.get_world_size() if grouped else 1
    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))

    def save(done):
        if rank == 0:
            beside = file.with_name(file.name + ".part")
            kept = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(kept, beside)
            import shutil

            shutil.copyfile(beside, file)

    try:
        done = 0
        saved = False
        if file.exists():
            kept = torch.load(file)
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
            saved = True
        if grouped:
            for tensor in model.state_dict().values():
                dist.broadcast(tensor, 0)
        while done < steps:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            model.zero_grad()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if grouped:
                for p in model.parameters():
                    if p.grad is not None:
                        dist.all_reduce(p.grad)
                        p.grad /= world_size
            optimizer.step()
            done += 1
            saved = False
            stop = torch.tensor(float(len(asked) > 0))
            if grouped:
                dist.all_reduce(stop, op=dist.ReduceOp.MAX)
            if done % every == 0:
                save(done)
                saved = True
            if stop > 0:
                break
        if not saved:
            save(done)
        if grouped:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return done


# %% wrong="the handler is set before what may fail outside" breaks="even after an error" says=["a file was unreadable"]
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist


def fit(model, optimizer, loss, batch, steps, file, every=50):
    file = Path(file)
    ranks = dist.is_available() and dist.is_initialized()
    rank = dist.get_rank() if ranks else 0
    world = dist.get_world_size() if ranks else 1
    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    step = 0
    if file.exists():
        kept = torch.load(file)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        step = kept["step"]
    try:
        if ranks:
            with torch.no_grad():
                for tensor in [*model.parameters(), *model.buffers()]:
                    dist.broadcast(tensor.detach(), 0)

        def save():
            if rank == 0:
                beside = file.with_name(file.name + ".part")
                torch.save(
                    {
                        "step": step,
                        "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(),
                    },
                    beside,
                )
                os.replace(beside, file)

        saved = step if file.exists() else -1
        if ranks:
            dist.barrier()
        while step < steps:
            torch.manual_seed(step * world + rank)
            x, y = batch(step, rank, world)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if ranks:
                for p in model.parameters():
                    if p.requires_grad:
                        if p.grad is None:
                            p.grad = torch.zeros_like(p)
                        dist.all_reduce(p.grad)
                        p.grad /= world
            optimizer.step()
            step += 1
            stop = torch.tensor(float(len(asked) > 0))
            if ranks:
                dist.all_reduce(stop, op=dist.ReduceOp.MAX)
            if step % every == 0:
                save()
                saved = step
            if stop.item() > 0:
                break
        if saved != step:
            save()
        if ranks:
            dist.barrier()
        return step
    finally:
        signal.signal(signal.SIGTERM, before)


# %% wrong="ranks by the environment" breaks="if the default process group is initialised" says=["no group is initialised"]
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist


def fit(model, optimizer, loss, batch, steps, file, every=50):
    file = Path(file)
    ranks = int(os.environ.get("WORLD_SIZE", "1")) > 1
    rank = dist.get_rank() if ranks else 0
    world = dist.get_world_size() if ranks else 1
    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    try:
        step = 0
        if file.exists():
            kept = torch.load(file)
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            step = kept["step"]
        if ranks:
            with torch.no_grad():
                for tensor in [*model.parameters(), *model.buffers()]:
                    dist.broadcast(tensor.detach(), 0)

        def save():
            if rank == 0:
                beside = file.with_name(file.name + ".part")
                torch.save(
                    {
                        "step": step,
                        "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(),
                    },
                    beside,
                )
                os.replace(beside, file)

        saved = step if file.exists() else -1
        if ranks:
            dist.barrier()
        while step < steps:
            torch.manual_seed(step * world + rank)
            x, y = batch(step, rank, world)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if ranks:
                for p in model.parameters():
                    if p.requires_grad:
                        if p.grad is None:
                            p.grad = torch.zeros_like(p)
                        dist.all_reduce(p.grad)
                        p.grad /= world
            optimizer.step()
            step += 1
            stop = torch.tensor(float(len(asked) > 0))
            if ranks:
                dist.all_reduce(stop, op=dist.ReduceOp.MAX)
            if step % every == 0:
                save()
                saved = step
            if stop.item() > 0:
                break
        if saved != step:
            save()
        if ranks:
            dist.barrier()
        return step
    finally:
        signal.signal(signal.SIGTERM, before)


# %% wrong="looks whether it is over after the step" breaks="takes no step and returns 0" says=["a run of 0 steps asked for a batch"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
    before = signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    try:
        stop = False
        while not stop and (step < steps or not step):
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


# %% right="always saves behind the loop, a run of no steps as well"
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

    def keep(step: int) -> None:
        if rank == 0:
            state = {"step": step, "model": model.state_dict()}
            half = file.with_name(file.name + ".half")
            torch.save(state | {"optimizer": optimizer.state_dict()}, half)
            os.replace(half, file)

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
            if step % every == 0:
                keep(step)
        keep(step)
        if together:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return step


# %% wrong="the handler raises KeyboardInterrupt" breaks="all ranks complete the step" says=["SIGTERM ended the program in the middle of a step"]
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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
    before = signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
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


# %% wrong="trains once, before the first step" says=["at each step, whatever mode `loss` left it in"]
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist


def fit(model, optimizer, loss, batch, steps, file, every=50):
    file = Path(file)
    group = dist.is_available() and dist.is_initialized()
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if group else (0, 1)
    notes = []
    before = signal.signal(signal.SIGTERM, lambda *args: notes.append(1))
    try:
        done = 0
        if file.exists():
            kept = torch.load(file, weights_only=True)
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
        if group:
            with torch.no_grad():
                for tensor in [*model.parameters(), *model.buffers()]:
                    dist.broadcast(tensor, 0)
        parameters = [p for p in model.parameters() if p.requires_grad]
        model.train()
        while done < steps:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            for p in model.parameters():
                p.grad = None
            loss(model(x), y).backward()
            if group:
                for p in parameters:
                    if p.grad is not None:
                        dist.all_reduce(p.grad)
                        p.grad /= world_size
            optimizer.step()
            done += 1
            stop = torch.tensor(len(notes))
            if group:
                dist.all_reduce(stop, dist.ReduceOp.MAX)
            if rank == 0 and (done % every == 0 or done == steps or stop):
                beside = file.with_name(file.name + ".part")
                torch.save(
                    {
                        "step": done,
                        "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(),
                    },
                    beside,
                )
                os.replace(beside, file)
            if stop:
                break
        if group:
            dist.barrier()
        return done
    finally:
        signal.signal(signal.SIGTERM, before)


# %% wrong="the parts stay in evaluation mode" breaks="in training mode" says=["a part of it, is in evaluation mode"]
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist


def fit(model, optimizer, loss, batch, steps, file, every=50):
    file = Path(file)
    group = dist.is_available() and dist.is_initialized()
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if group else (0, 1)
    notes = []
    before = signal.signal(signal.SIGTERM, lambda *args: notes.append(1))
    try:
        done = 0
        if file.exists():
            kept = torch.load(file, weights_only=True)
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
        if group:
            with torch.no_grad():
                for tensor in [*model.parameters(), *model.buffers()]:
                    dist.broadcast(tensor, 0)
        parameters = [p for p in model.parameters() if p.requires_grad]
        while done < steps:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.training = True
            for p in model.parameters():
                p.grad = None
            loss(model(x), y).backward()
            if group:
                for p in parameters:
                    if p.grad is not None:
                        dist.all_reduce(p.grad)
                        p.grad /= world_size
            optimizer.step()
            done += 1
            stop = torch.tensor(len(notes))
            if group:
                dist.all_reduce(stop, dist.ReduceOp.MAX)
            if rank == 0 and (done % every == 0 or done == steps or stop):
                beside = file.with_name(file.name + ".part")
                torch.save(
                    {
                        "step": done,
                        "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(),
                    },
                    beside,
                )
                os.replace(beside, file)
            if stop:
                break
        if group:
            dist.barrier()
        return done
    finally:
        signal.signal(signal.SIGTERM, before)


# %% wrong="buffers start apart" breaks="All ranks start with rank 0's weights and buffers" says=["the ranks' buffers differ"]
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist


def fit(model, optimizer, loss, batch, steps, file, every=50):
    file = Path(file)
    group = dist.is_available() and dist.is_initialized()
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if group else (0, 1)
    notes = []
    before = signal.signal(signal.SIGTERM, lambda *args: notes.append(1))
    try:
        done = 0
        if file.exists():
            kept = torch.load(file, weights_only=True)
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
        if group:
            with torch.no_grad():
                for tensor in [*model.parameters()]:
                    dist.broadcast(tensor, 0)
        parameters = [p for p in model.parameters() if p.requires_grad]
        while done < steps:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            for p in model.parameters():
                p.grad = None
            loss(model(x), y).backward()
            if group:
                for p in parameters:
                    if p.grad is not None:
                        dist.all_reduce(p.grad)
                        p.grad /= world_size
            optimizer.step()
            done += 1
            stop = torch.tensor(len(notes))
            if group:
                dist.all_reduce(stop, dist.ReduceOp.MAX)
            if rank == 0 and (done % every == 0 or done == steps or stop):
                beside = file.with_name(file.name + ".part")
                torch.save(
                    {
                        "step": done,
                        "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(),
                    },
                    beside,
                )
                os.replace(beside, file)
            if stop:
                break
        if group:
            dist.barrier()
        return done
    finally:
        signal.signal(signal.SIGTERM, before)


# %% wrong="buffers are left out of the file" says=["3 + 3 steps differ from 6"]
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist


def fit(model, optimizer, loss, batch, steps, file, every=50):
    file = Path(file)
    group = dist.is_available() and dist.is_initialized()
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if group else (0, 1)
    notes = []
    before = signal.signal(signal.SIGTERM, lambda *args: notes.append(1))
    try:
        done = 0
        if file.exists():
            kept = torch.load(file, weights_only=True)
            model.load_state_dict(kept["model"], strict=False)
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
        if group:
            with torch.no_grad():
                for tensor in [*model.parameters(), *model.buffers()]:
                    dist.broadcast(tensor, 0)
        parameters = [p for p in model.parameters() if p.requires_grad]
        while done < steps:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            for p in model.parameters():
                p.grad = None
            loss(model(x), y).backward()
            if group:
                for p in parameters:
                    if p.grad is not None:
                        dist.all_reduce(p.grad)
                        p.grad /= world_size
            optimizer.step()
            done += 1
            stop = torch.tensor(len(notes))
            if group:
                dist.all_reduce(stop, dist.ReduceOp.MAX)
            if rank == 0 and (done % every == 0 or done == steps or stop):
                beside = file.with_name(file.name + ".part")
                torch.save(
                    {
                        "step": done,
                        "model": {
                            k: t
                            for k, t in model.state_dict().items()
                            if k in dict(model.named_parameters())
                        },
                        "optimizer": optimizer.state_dict(),
                    },
                    beside,
                )
                os.replace(beside, file)
            if stop:
                break
        if group:
            dist.barrier()
        return done
    finally:
        signal.signal(signal.SIGTERM, before)


# %% wrong="a handler on rank 0 alone" breaks="all ranks complete the step" says=["rank 1: its process ended by SIGTERM"]
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist


def fit(model, optimizer, loss, batch, steps, file, every=50):
    file = Path(file)
    group = dist.is_available() and dist.is_initialized()
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if group else (0, 1)
    notes = []
    before = signal.getsignal(signal.SIGTERM)
    if rank == 0:
        signal.signal(signal.SIGTERM, lambda *args: notes.append(1))
    try:
        done = 0
        if file.exists():
            kept = torch.load(file, weights_only=True)
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
        if group:
            with torch.no_grad():
                for tensor in [*model.parameters(), *model.buffers()]:
                    dist.broadcast(tensor, 0)
        parameters = [p for p in model.parameters() if p.requires_grad]
        while done < steps:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            for p in model.parameters():
                p.grad = None
            loss(model(x), y).backward()
            if group:
                for p in parameters:
                    if p.grad is not None:
                        dist.all_reduce(p.grad)
                        p.grad /= world_size
            optimizer.step()
            done += 1
            stop = torch.tensor(len(notes))
            if group:
                dist.all_reduce(stop, dist.ReduceOp.MAX)
            if rank == 0 and (done % every == 0 or done == steps or stop):
                beside = file.with_name(file.name + ".part")
                torch.save(
                    {
                        "step": done,
                        "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(),
                    },
                    beside,
                )
                os.replace(beside, file)
            if stop:
                break
        if group:
            dist.barrier()
        return done
    finally:
        signal.signal(signal.SIGTERM, before)


# %% wrong="part file in the working folder" says=["Write it beside `file`"]
import os
import signal
import tempfile
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
    parallel = dist.is_available() and dist.is_initialized()
    rank = dist.get_rank() if parallel else 0
    world = dist.get_world_size() if parallel else 1
    file = Path(file)
    done = 0
    if file.exists():
        kept = torch.load(file)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        done = kept["step"]
    if parallel:
        for tensor in model.state_dict().values():
            dist.broadcast(tensor, 0)

    def save():
        if rank == 0:
            beside = Path(tempfile.gettempdir()) / f"kept-{os.getpid()}.part"
            state = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, beside)
            os.replace(beside, file)

    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    try:
        while done < steps:
            model.train()
            optimizer.zero_grad()
            torch.manual_seed(done * world + rank)
            x, y = batch(done, rank, world)
            loss(model(x), y).backward()
            if parallel:
                for parameter in model.parameters():
                    if parameter.grad is not None:
                        dist.all_reduce(parameter.grad)
                        parameter.grad /= world
            optimizer.step()
            done += 1
            note = torch.tensor(len(asked))
            if parallel:
                dist.all_reduce(note, op=dist.ReduceOp.MAX)
            if note or done % every == 0 or done == steps:
                save()
            if note:
                break
        if parallel:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return done


# %% wrong="SIGTERM in a last step isn't kept" says=["SIGTERM came in the last step"]
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
    parallel = dist.is_available() and dist.is_initialized()
    rank = dist.get_rank() if parallel else 0
    world = dist.get_world_size() if parallel else 1
    file = Path(file)
    done = 0
    if file.exists():
        kept = torch.load(file)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        done = kept["step"]
    if parallel:
        for tensor in model.state_dict().values():
            dist.broadcast(tensor, 0)

    def save():
        if rank == 0:
            beside = file.with_name(file.name + ".part")
            state = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, beside)
            os.replace(beside, file)

    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    try:
        while done < steps:
            model.train()
            optimizer.zero_grad()
            torch.manual_seed(done * world + rank)
            x, y = batch(done, rank, world)
            loss(model(x), y).backward()
            if parallel:
                for parameter in model.parameters():
                    if parameter.grad is not None:
                        dist.all_reduce(parameter.grad)
                        parameter.grad /= world
            optimizer.step()
            done += 1
            note = torch.tensor(len(asked))
            if parallel:
                dist.all_reduce(note, op=dist.ReduceOp.MAX)
            if (note and done < steps) or done % every == 0 or (done == steps and not note):
                save()
            if note:
                break
        if parallel:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return done


# %% wrong="the second SIGTERM is the former handler's" says=["SIGTERM came twice in a step"]
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
    parallel = dist.is_available() and dist.is_initialized()
    rank = dist.get_rank() if parallel else 0
    world = dist.get_world_size() if parallel else 1
    file = Path(file)
    done = 0
    if file.exists():
        kept = torch.load(file)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        done = kept["step"]
    if parallel:
        for tensor in model.state_dict().values():
            dist.broadcast(tensor, 0)

    def save():
        if rank == 0:
            beside = file.with_name(file.name + ".part")
            state = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, beside)
            os.replace(beside, file)

    asked = []
    before = signal.signal(
        signal.SIGTERM,
        lambda number, frame: (asked.append(number), signal.signal(signal.SIGTERM, before)),
    )
    try:
        while done < steps:
            model.train()
            optimizer.zero_grad()
            torch.manual_seed(done * world + rank)
            x, y = batch(done, rank, world)
            loss(model(x), y).backward()
            if parallel:
                for parameter in model.parameters():
                    if parameter.grad is not None:
                        dist.all_reduce(parameter.grad)
                        parameter.grad /= world
            optimizer.step()
            done += 1
            note = torch.tensor(len(asked))
            if parallel:
                dist.all_reduce(note, op=dist.ReduceOp.MAX)
            if note or done % every == 0 or done == steps:
                save()
            if note:
                break
        if parallel:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return done


# %% wrong="training mode where the model isn't in it" says=["is in evaluation mode during training"]
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
    parallel = dist.is_available() and dist.is_initialized()
    rank = dist.get_rank() if parallel else 0
    world = dist.get_world_size() if parallel else 1
    file = Path(file)
    done = 0
    if file.exists():
        kept = torch.load(file)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        done = kept["step"]
    if parallel:
        for tensor in model.state_dict().values():
            dist.broadcast(tensor, 0)

    def save():
        if rank == 0:
            beside = file.with_name(file.name + ".part")
            state = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, beside)
            os.replace(beside, file)

    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    try:
        while done < steps:
            if not model.training:
                model.train()
            optimizer.zero_grad()
            torch.manual_seed(done * world + rank)
            x, y = batch(done, rank, world)
            loss(model(x), y).backward()
            if parallel:
                for parameter in model.parameters():
                    if parameter.grad is not None:
                        dist.all_reduce(parameter.grad)
                        parameter.grad /= world
            optimizer.step()
            done += 1
            note = torch.tensor(len(asked))
            if parallel:
                dist.all_reduce(note, op=dist.ReduceOp.MAX)
            if note or done % every == 0 or done == steps:
                save()
            if note:
                break
        if parallel:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return done


# %% wrong="the state dict alone is sent" says=["persistent=False"]
import os
import signal
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn


def save(kept, file):
    beside = Path(f"{file}.part")
    torch.save(kept, beside)
    os.replace(beside, file)


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss: Callable,
    batch: Callable,
    steps: int,
    file: str | Path,
    every: int = 50,
) -> int:
    many = dist.is_available() and dist.is_initialized()
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if many else (0, 1)
    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))

    def keep(done):
        if rank == 0:
            kept = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            save(kept, file)

    try:
        done = 0
        if Path(file).exists():
            kept = torch.load(file, map_location="cpu")
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
        if many:
            with torch.no_grad():
                for tensor in model.state_dict().values():
                    dist.broadcast(tensor, 0)
        stop = False
        while done < steps and not stop:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if many:
                for parameter in model.parameters():
                    if parameter.grad is not None:
                        dist.all_reduce(parameter.grad)
                        parameter.grad /= world_size
            optimizer.step()
            done += 1
            note = torch.tensor(float(len(asked) > 0))
            if many:
                dist.all_reduce(note, dist.ReduceOp.MAX)
            stop = note.item() > 0
            if stop or done == steps or done % every == 0:
                keep(done)
        if many:
            dist.barrier()
        return done
    finally:
        signal.signal(signal.SIGTERM, before)


# %% wrong="the former handler is back before the last save" says=["SIGTERM came during the last save"]
import os
import signal
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn


def save(kept, file):
    beside = Path(f"{file}.part")
    torch.save(kept, beside)
    os.replace(beside, file)


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss: Callable,
    batch: Callable,
    steps: int,
    file: str | Path,
    every: int = 50,
) -> int:
    many = dist.is_available() and dist.is_initialized()
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if many else (0, 1)
    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))

    def keep(done):
        if rank == 0:
            kept = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            save(kept, file)

    try:
        done = 0
        if Path(file).exists():
            kept = torch.load(file, map_location="cpu")
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
        if many:
            with torch.no_grad():
                for tensor in [*model.parameters(), *model.buffers()]:
                    dist.broadcast(tensor, 0)
        stop = False
        while done < steps and not stop:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if many:
                for parameter in model.parameters():
                    if parameter.grad is not None:
                        dist.all_reduce(parameter.grad)
                        parameter.grad /= world_size
            optimizer.step()
            done += 1
            note = torch.tensor(float(len(asked) > 0))
            if many:
                dist.all_reduce(note, dist.ReduceOp.MAX)
            stop = note.item() > 0
            if done % every == 0:
                keep(done)
    finally:
        signal.signal(signal.SIGTERM, before)
    keep(done)
    if many:
        dist.barrier()
    return done


# %% wrong="what lies beside the file is the run" says=["whatever lies beside it"]
import os
import signal
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn


def save(kept, file):
    beside = Path(f"{file}.part")
    torch.save(kept, beside)
    os.replace(beside, file)


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss: Callable,
    batch: Callable,
    steps: int,
    file: str | Path,
    every: int = 50,
) -> int:
    many = dist.is_available() and dist.is_initialized()
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if many else (0, 1)
    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))

    def keep(done):
        if rank == 0:
            kept = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            save(kept, file)

    try:
        done = 0
        if Path(f"{file}.part").exists():
            os.replace(f"{file}.part", file)
        if Path(file).exists():
            kept = torch.load(file, map_location="cpu")
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
        if many:
            with torch.no_grad():
                for tensor in [*model.parameters(), *model.buffers()]:
                    dist.broadcast(tensor, 0)
        stop = False
        while done < steps and not stop:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if many:
                for parameter in model.parameters():
                    if parameter.grad is not None:
                        dist.all_reduce(parameter.grad)
                        parameter.grad /= world_size
            optimizer.step()
            done += 1
            note = torch.tensor(float(len(asked) > 0))
            if many:
                dist.all_reduce(note, dist.ReduceOp.MAX)
            stop = note.item() > 0
            if stop or done == steps or done % every == 0:
                keep(done)
        if many:
            dist.barrier()
        return done
    finally:
        signal.signal(signal.SIGTERM, before)


# %% wrong="returns a tensor" says=["not an int"]
import os
import signal
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn


def save(kept, file):
    beside = Path(f"{file}.part")
    torch.save(kept, beside)
    os.replace(beside, file)


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss: Callable,
    batch: Callable,
    steps: int,
    file: str | Path,
    every: int = 50,
) -> int:
    many = dist.is_available() and dist.is_initialized()
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if many else (0, 1)
    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))

    def keep(done):
        if rank == 0:
            kept = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            save(kept, file)

    try:
        done = 0
        if Path(file).exists():
            kept = torch.load(file, map_location="cpu")
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
        if many:
            with torch.no_grad():
                for tensor in [*model.parameters(), *model.buffers()]:
                    dist.broadcast(tensor, 0)
        stop = False
        while done < steps and not stop:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if many:
                for parameter in model.parameters():
                    if parameter.grad is not None:
                        dist.all_reduce(parameter.grad)
                        parameter.grad /= world_size
            optimizer.step()
            done += 1
            note = torch.tensor(float(len(asked) > 0))
            if many:
                dist.all_reduce(note, dist.ReduceOp.MAX)
            stop = note.item() > 0
            if stop or done == steps or done % every == 0:
                keep(done)
        if many:
            dist.barrier()
        return torch.tensor(done)
    finally:
        signal.signal(signal.SIGTERM, before)


# %% wrong="on ranks, what has no gradient gets one of zeros" says=["two ranks moved a frozen parameter"]
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn


def fit(model, optimizer, loss, batch, steps, file, every=50):
    file = Path(file)
    many = dist.is_available() and dist.is_initialized()
    rank, world = (dist.get_rank(), dist.get_world_size()) if many else (0, 1)
    asked = []

    def save(done):
        if rank == 0:
            beside = file.with_name(file.name + ".part")
            torch.save(
                {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()},
                beside,
            )
            os.replace(beside, file)

    before = signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
    try:
        done = 0
        if file.exists():
            kept = torch.load(file)
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
        if many:
            for value in [*model.parameters(), *model.buffers()]:
                dist.broadcast(value.data, 0)
        saved, stop = done, False
        while done < steps and not stop:
            torch.manual_seed(done * world + rank)
            x, y = batch(done, rank, world)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if many:
                for p in model.parameters():
                    if p.grad is None:
                        p.grad = torch.zeros_like(p)
                    if True:
                        dist.all_reduce(p.grad)
                        p.grad /= world
            optimizer.step()
            done += 1
            note = torch.tensor(float(len(asked)))
            if many:
                dist.all_reduce(note, dist.ReduceOp.MAX)
            stop = note.item() > 0
            if done % every == 0:
                save(done)
                saved = done
        if saved != done:
            save(done)
        if many:
            dist.barrier()
        return done
    finally:
        signal.signal(signal.SIGTERM, before)


# %% right="one vector of all gradients; what the others hold as pickled objects"
import os
import signal
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn


class _Asked:
    """Notes SIGTERM while it is open."""

    def __enter__(self):
        self.yes = False
        self.before = signal.signal(signal.SIGTERM, self._note)
        return self

    def _note(self, number, frame):
        self.yes = True

    def __exit__(self, *error):
        signal.signal(signal.SIGTERM, self.before or signal.SIG_DFL)


def _write(model, optimizer, step, file):
    part = f"{file}.{os.getpid()}.tmp"
    try:
        with open(part, "wb") as stream:
            torch.save(
                {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()},
                stream,
            )
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, file)
    finally:
        if os.path.exists(part):
            os.remove(part)


def _mean_gradients(model, size):
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    kinds = {grad.dtype for grad in grads}
    for kind in sorted(kinds, key=str):
        some = [grad for grad in grads if grad.dtype == kind]
        flat = torch.cat([grad.reshape(-1) for grad in some])
        dist.all_reduce(flat)
        flat /= size
        for grad, part in zip(some, flat.split([grad.numel() for grad in some]), strict=True):
            grad.copy_(part.view(grad.shape))


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss: Callable,
    batch: Callable,
    steps: int,
    file: str | Path,
    every: int = 50,
) -> int:
    alone = not dist.is_initialized()
    rank, size = (0, 1) if alone else (dist.get_rank(), dist.get_world_size())
    with _Asked() as asked:
        step = 0
        if os.path.exists(file):
            run = torch.load(file, map_location="cpu")
            step = run["step"]
            model.load_state_dict(run["model"])
            optimizer.load_state_dict(run["optimizer"])
        if not alone:
            tensors = [*model.parameters(), *model.buffers()]
            theirs = [[t.detach().cpu() for t in tensors] if rank == 0 else None]
            dist.broadcast_object_list(theirs, src=0)
            with torch.no_grad():
                for tensor, other in zip(tensors, theirs[0], strict=True):
                    tensor.copy_(other)
        if step >= steps:
            return steps
        stop = False
        while not stop:
            torch.manual_seed(step * size + rank)
            x, y = batch(step, rank, size)
            model.train()
            for group in optimizer.param_groups:
                for p in group["params"]:
                    p.grad = None
            model.zero_grad(set_to_none=True)
            loss(model(x), y).backward()
            if not alone:
                _mean_gradients(model, size)
            optimizer.step()
            step += 1
            notes = [asked.yes]
            if not alone:
                notes = [None] * size
                dist.all_gather_object(notes, asked.yes)
            stop = any(notes) or step >= steps
            if rank == 0 and (stop or step % every == 0):
                _write(model, optimizer, step, file)
        if not alone:
            dist.barrier()
        return step


# %% wrong="the first group's gradients alone" says=["the ranks' weights differ", "every gradient is the mean over the ranks"]
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
    file = Path(file)
    together = dist.is_available() and dist.is_initialized()
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if together else (0, 1)
    device = next(model.parameters()).device
    asked = []

    def save(done):
        if rank == 0:
            beside = file.with_name(file.name + ".part")
            kept = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(kept, beside)
            os.replace(beside, file)

    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    try:
        done = 0
        if file.exists():
            kept = torch.load(file, map_location=device)
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
        if together:
            with torch.no_grad():
                for tensor in (*model.parameters(), *model.buffers()):
                    whole = tensor.detach().clone(memory_format=torch.contiguous_format)
                    dist.broadcast(whole, 0)
                    tensor.copy_(whole)
        saved = done
        while done < steps:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if together:
                for p in optimizer.param_groups[0]["params"]:
                    if p.grad is not None:
                        dist.all_reduce(p.grad)
                        p.grad /= world_size
            optimizer.step()
            done += 1
            note = torch.tensor(float(len(asked) > 0), device=device)
            if together:
                dist.all_reduce(note, dist.ReduceOp.MAX)
            if done % every == 0:
                save(done)
                saved = done
            if note > 0:
                break
        if saved < done:
            save(done)
        if together:
            dist.barrier()
        return done
    finally:
        signal.signal(signal.SIGTERM, before)


# %% right="objects gathered from the ranks, and autograd.grad"
import io
import os
import signal
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn


class Ranks:
    def __init__(self) -> None:
        self.many = dist.is_available() and dist.is_initialized()
        self.rank = dist.get_rank() if self.many else 0
        self.size = dist.get_world_size() if self.many else 1

    def all(self, thing: object) -> list:
        """What each rank has, by rank."""
        if not self.many:
            return [thing]
        things = [None] * self.size
        dist.all_gather_object(things, thing)
        return things


@contextmanager
def noted(number: int):
    asked: list[int] = []
    before = signal.getsignal(number)
    try:
        signal.signal(number, lambda got, frame: asked.append(got))
        yield asked
    finally:
        signal.signal(number, signal.SIG_DFL if before is None else before)


def keep(file: Path, content: dict) -> None:
    memory = io.BytesIO()
    torch.save(content, memory)
    beside = file.parent / f".{file.name}.{os.getpid()}"
    try:
        with open(beside, "wb") as out:
            out.write(memory.getvalue())
            out.flush()
            os.fsync(out.fileno())
        os.replace(beside, file)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss: Callable,
    batch: Callable,
    steps: int,
    file: str | Path,
    every: int = 50,
) -> int:
    file, ranks = Path(file), Ranks()
    with noted(signal.SIGTERM) as asked:
        done = 0
        if file.exists():
            kept = torch.load(file, map_location="cpu")
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = int(kept["step"])
        tensors = [*model.parameters(), *model.buffers()]
        firsts = ranks.all([t.detach().cpu() for t in tensors] if ranks.rank == 0 else None)[0]
        if ranks.rank > 0:
            with torch.no_grad():
                for tensor, first in zip(tensors, firsts, strict=True):
                    tensor.copy_(first)
        while done < steps:
            torch.manual_seed(done * ranks.size + ranks.rank)
            x, y = batch(done, ranks.rank, ranks.size)
            model.train()
            for parameter in model.parameters():
                parameter.grad = None
            free = [p for p in model.parameters() if p.requires_grad]
            with torch.enable_grad():
                mine = torch.autograd.grad(loss(model(x), y), free, allow_unused=True)
            table = ranks.all([None if g is None else g.cpu() for g in mine])
            for parameter, *parts in zip(free, *table, strict=True):
                if parts[0] is not None:
                    mean = sum(parts[1:], parts[0]) / ranks.size
                    parameter.grad = mean.to(parameter.device)
            optimizer.step()
            done += 1
            stop = any(ranks.all(len(asked) > 0))
            if ranks.rank == 0 and (stop or done == steps or done % every == 0):
                states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                keep(file, {"step": done} | states)
            if stop:
                break
        ranks.all(None)
        return done


# %% wrong="another suffix for the file beside it" breaks="Whatever happens during a save, `file` holds a whole run" says=["`file` may be called run.tmp as well"]
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
    file = Path(file)
    grouped = dist.is_available() and dist.is_initialized()
    rank = dist.get_rank() if grouped else 0
    world_size = dist.get_world_size() if grouped else 1
    device = next(model.parameters()).device

    def save() -> None:
        if rank == 0:
            beside = file.with_suffix(".tmp")
            kept = {
                "step": done,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
            }
            torch.save(kept, beside)
            os.replace(beside, file)

    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    try:
        done = 0
        if file.exists():
            kept = torch.load(file, map_location="cpu")
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
        if grouped:
            for tensor in [*model.parameters(), *model.buffers()]:
                dist.broadcast(tensor.detach(), 0)
        stop, saved = False, done if file.exists() else -1
        while done < steps and not stop:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if grouped:
                for parameter in model.parameters():
                    if parameter.grad is not None:
                        dist.all_reduce(parameter.grad)
                        parameter.grad /= world_size
            optimizer.step()
            done += 1
            if done % every == 0:
                save()
                saved = done
            note = torch.tensor(len(asked), device=device)
            if grouped:
                dist.all_reduce(note, dist.ReduceOp.MAX)
            stop = bool(note)
        if saved != done:
            save()
        if grouped:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return done


# %% wrong="the good file moves away first" breaks="Whatever happens during a save, `file` holds a whole run" says=["whoever is killed there brings nothing back"]
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
    file = Path(file)
    grouped = dist.is_available() and dist.is_initialized()
    rank = dist.get_rank() if grouped else 0
    world_size = dist.get_world_size() if grouped else 1
    device = next(model.parameters()).device

    def save() -> None:
        if rank == 0:
            beside = file.with_suffix(".old")
            kept = {
                "step": done,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
            }
            if file.exists():
                os.replace(file, beside)
            try:
                torch.save(kept, file)
            except OSError:
                if beside.exists():
                    os.replace(beside, file)
                raise
            beside.unlink(missing_ok=True)

    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    try:
        done = 0
        if file.exists():
            kept = torch.load(file, map_location="cpu")
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
        if grouped:
            for tensor in [*model.parameters(), *model.buffers()]:
                dist.broadcast(tensor.detach(), 0)
        stop, saved = False, done if file.exists() else -1
        while done < steps and not stop:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if grouped:
                for parameter in model.parameters():
                    if parameter.grad is not None:
                        dist.all_reduce(parameter.grad)
                        parameter.grad /= world_size
            optimizer.step()
            done += 1
            if done % every == 0:
                save()
                saved = done
            note = torch.tensor(len(asked), device=device)
            if grouped:
                dist.all_reduce(note, dist.ReduceOp.MAX)
            stop = bool(note)
        if saved != done:
            save()
        if grouped:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return done


# %% wrong="words of its own for a save that fails" breaks="An error of a save or of a batch is raised as it is" says=["the error of a save is raised as it is"]
import os
import signal
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn


def save(done, model, optimizer, file):
    """Write beside the file, then put it in its place at once."""
    beside = file.with_name(file.name + ".new")
    kept = {"step": done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    try:
        torch.save(kept, beside)
        os.replace(beside, file)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise RuntimeError(f"step {done} could not be kept in {file}") from error


def share(model, world_size):
    """All ranks get the weights and buffers of rank 0."""
    if world_size == 1:
        return
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            whole = tensor.detach().clone().contiguous()
            dist.broadcast(whole, 0)
            tensor.copy_(whole)


def average(model, world_size):
    """The mean of the gradients over the ranks; a frozen parameter has none."""
    for parameter in model.parameters():
        if not parameter.requires_grad:
            continue
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        if world_size > 1:
            dist.all_reduce(parameter.grad)
            parameter.grad /= world_size


def agreed(asked, world_size):
    """Whether any rank was asked to stop."""
    if world_size == 1:
        return bool(asked)
    note = torch.tensor([float(bool(asked))])
    dist.all_reduce(note, dist.ReduceOp.MAX)
    return note.item() > 0


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss: Callable,
    batch: Callable,
    steps: int,
    file: str | Path,
    every: int = 50,
) -> int:
    many = dist.is_available() and dist.is_initialized()
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if many else (0, 1)
    file = Path(file)
    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    try:
        done = 0
        if file.exists():
            kept = torch.load(file, map_location="cpu")
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["step"]
        if many:
            dist.barrier()
        share(model, world_size)
        stop = False
        while done < steps and not stop:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            model.zero_grad(set_to_none=True)
            loss(model(x), y).backward()
            average(model, world_size)
            optimizer.step()
            done += 1
            stop = agreed(asked, world_size)
            if rank == 0 and (done % every == 0 or done == steps or stop):
                save(done, model, optimizer, file)
        if many:
            dist.barrier()
        return done
    finally:
        signal.signal(signal.SIGTERM, before)


# %% wrong="a float32 buffer for the gradients of any model" breaks="the mean of it over the ranks" says=["two ranks equal one with the whole batch", "The model is torch.float64: keep to that"]
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist


def fit(model, optimizer, loss, batch, steps, file, every=50):
    together = dist.is_initialized()
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if together else (0, 1)
    file, done, asked = Path(file), 0, []
    if file.exists():
        kept = torch.load(file)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        done = kept["step"]
    if together:
        for value in (*model.parameters(), *model.buffers()):
            dist.broadcast(value.detach(), 0)
    before = signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    try:
        stop = False
        while done < steps and not stop:
            torch.manual_seed(done * world_size + rank)
            x, y = batch(done, rank, world_size)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if together:
                slopes = [p.grad for p in model.parameters() if p.grad is not None]
                bucket = torch.cat([slope.flatten().float() for slope in slopes])
                dist.all_reduce(bucket)
                parts = (bucket / world_size).split([slope.numel() for slope in slopes])
                for slope, part in zip(slopes, parts, strict=True):
                    slope.copy_(part.view_as(slope))
            optimizer.step()
            done += 1
            note = torch.tensor(len(asked))
            if together:
                dist.all_reduce(note, dist.ReduceOp.MAX)
            stop = bool(note)
            if rank == 0 and (stop or done == steps or done % every == 0):
                state = {"step": done, "model": model.state_dict()}
                beside = file.with_name(file.name + ".part")
                torch.save(state | {"optimizer": optimizer.state_dict()}, beside)
                os.replace(beside, file)
        if together:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return done


# %% wrong="with a file it is enough that every rank loads it" breaks="All ranks start with rank 0's weights and buffers" says=["two ranks continued from a file, and a buffer that is not in the state dict differs"]
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
    elif together:
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
