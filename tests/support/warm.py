"""Run cells in a warm kernel, and look at the processes around it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from course_utils.kernels.provisioner import running_kernel
from course_utils.kernels.workplace import Scratch, Workplace


def text_of(outputs: list[dict]) -> str:
    """What was printed, and the name and words of an error."""
    words = []
    for content in outputs:
        words.append(content.get("text", ""))
        if "ename" in content:
            words.append(f"{content['ename']}: {content['evalue']}")
    return "".join(words)


async def run_code(client, source: str, seconds: float = 60) -> str:
    """What one cell prints, and its error."""
    outputs: list[dict] = []
    await client.execute_interactive(
        source, output_hook=lambda message: outputs.append(message["content"]), timeout=seconds
    )
    return text_of(outputs)


def run_in(workplace: Workplace, *sources: str, **keywords) -> list[str]:
    """What each of these cells prints in one fresh kernel in ``workplace``."""

    async def run() -> list[str]:
        async with running_kernel(workplace, **keywords) as (_, client):
            return [await run_code(client, source) for source in sources]

    return asyncio.run(run())


def run_warm(*sources: str, **keywords) -> list[str]:
    """What each of these cells prints in one fresh kernel that is warm and in no sandbox."""
    with Scratch() as scratch:
        return run_in(scratch, *sources, **keywords)


def eventually(happens: Callable[[], bool], seconds: float = 10) -> bool:
    """Whether something comes true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if happens():
            return True
        time.sleep(0.02)
    return happens()


def gone(pid: int) -> bool:
    """Whether a process has ended, reaped or not."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def variables_of(pid: int) -> bytes:
    """The environment that a process was started with."""
    return Path(f"/proc/{pid}/environ").read_bytes()
