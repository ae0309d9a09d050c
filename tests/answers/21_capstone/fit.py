# %% wrong="gradients add up" says=["from its own batch"]
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
        model.train()
        while step < steps and not stop:
            torch.manual_seed(step * world_size + rank)
            x, y = batch(step, rank, world_size)
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


# %% wrong="forgets the optimizer" says=["3 + 3 steps differ from 6"]
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
        model.train()
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


# %% wrong="stops alone" says=["the ranks wait for each other"]
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
        model.train()
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


# %% wrong="saves over the last file" says=["destroyed the last good file"]
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
        model.train()
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
                file.with_name(file.name + ".half")
                torch.save(state | {"optimizer": optimizer.state_dict()}, file)
        if together:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return step


# %% wrong="leaves its handler" says=["the handler of SIGTERM is not as it was"]
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
        model.train()
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
        pass
    return step


# %% wrong="ranks start apart" says=["the ranks' weights differ"]
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
        model.train()
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


# %% wrong="adds gradients up" says=["one process with the whole batch"]
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
        model.train()
        while step < steps and not stop:
            torch.manual_seed(step * world_size + rank)
            x, y = batch(step, rank, world_size)
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


# %% wrong="every rank the same seed" says=["step * world_size + rank"]
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
        model.train()
        while step < steps and not stop:
            torch.manual_seed(step)
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


# %% wrong="every rank saves" says=["rank 0 alone saves"]
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
        model.train()
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
        model.train()
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


# %% wrong="does not wait for the file" says=["when fit returns on any rank"]
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
        model.train()
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
    finally:
        signal.signal(signal.SIGTERM, before)
    return step


# %% wrong="stays in evaluation mode" says=["in evaluation mode during training"]
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


# %% wrong="exits from the handler" says=["ended the program with status 0"]
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
        model.train()
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


# %% wrong="hides a full disk" says=["was swallowed"]
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
        model.train()
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
    except OSError:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
    return step


# %% wrong="no finally" says=["the former handler is not back"]
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
        model.train()
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
    except ZeroDivisionError:
        pass
    signal.signal(signal.SIGTERM, before)
    return step


# %% wrong="always returns all steps" says=["SIGTERM came in step 2"]
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
        model.train()
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


# %% wrong="saves are counted from this start" says=["not its number since the start"]
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
        model.train()
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
        model.train()
        while step < steps and not stop and not asked:
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


# %% wrong="old gradients of frozen layers stay" says=["the weights after three steps"]
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
        model.train()
        while step < steps and not stop:
            torch.manual_seed(step * world_size + rank)
            x, y = batch(step, rank, world_size)
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.grad = None
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
