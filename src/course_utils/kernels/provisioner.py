"""Warm kernels behind Jupyter's own interface: a kernel provisioner.

Set ``JUPYTER_DEFAULT_PROVISIONER_NAME=course-warm`` and whatever starts kernels through
jupyter_client (nbclient, nbconvert, nbgrader, nbval, ``jupyter execute``) gets warm ones.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import LocalProvisioner

from course_utils.kernels.template import (
    Request,
    WarmProcess,
    launch,
    shared_address,
    supported,
)

NAME = "course-warm"
KILL_SECONDS = 5
# What a warm kernel understands of the keywords that reach a provisioner. Any other one wants
# something of the new process that a fork can't give.
KEYWORDS = {"cwd", "env", "stdin", "stdout", "stderr", "independent", "kernel_id", "fds", "threads"}


class WarmProvisioner(LocalProvisioner):
    """Starts this Python's kernels as forks of a template process, any other kernel as usual.

    ``start_kernel`` takes these keywords more:

    - ``fds``: from descriptor numbers in the kernel to descriptors here. Those here stay open.
    - ``threads``: how many threads torch computes with; ``OMP_NUM_THREADS`` or one per core if not
      given.
    """

    async def launch_kernel(self, cmd: list[str], **keywords: Any) -> KernelConnectionInfo:
        arguments = launcher_arguments(cmd)
        if arguments is None or not supported() or not KEYWORDS.issuperset(keywords):
            for name in ("fds", "threads"):
                keywords.pop(name, None)
            return await super().launch_kernel(cmd, **keywords)
        folder = os.path.abspath(keywords.get("cwd") or os.getcwd())
        with open(os.devnull, "r+b") as nothing:
            descriptors = {
                0: descriptor_of(keywords.get("stdin"), nothing.fileno()),
                1: descriptor_of(keywords.get("stdout"), 1),
                2: descriptor_of(keywords.get("stderr"), 2),
                **(keywords.get("fds") or {}),
            }
            request = Request(
                arguments=arguments,
                environment=keywords["env"],
                folder=folder,
                threads=keywords.get("threads"),
                descriptors=list(descriptors),
            )
            address = await asyncio.to_thread(shared_address)
            self.process = await launch(address, request, list(descriptors.values()))
        # The kernel leads a process group of its own.
        self.pid = self.pgid = self.process.pid
        self.cwd = folder
        return self.connection_info

    async def wait(self) -> int | None:
        if not isinstance(self.process, WarmProcess):
            return await super().wait()
        status = await self.process.ended()
        self.process = None
        return status

    async def kill(self, restart: bool = False) -> None:
        await super().kill(restart=restart)
        if isinstance(self.process, WarmProcess):
            # Who asks next whether it is alive hears at once that it is not.
            await asyncio.wait_for(self.process.ended(), KILL_SECONDS)


def launcher_arguments(command: list[str]) -> list[str] | None:
    """What follows ``python -m ipykernel_launcher``, where ``command`` is that of this Python."""
    if command[1:3] != ["-m", "ipykernel_launcher"]:
        return None
    # The folders: python, python3 and python3.11 of one environment are the same.
    if Path(command[0]).parent.resolve() != Path(sys.executable).parent.resolve():
        return None
    return command[3:]


def descriptor_of(stream: Any, otherwise: int) -> int:
    """The descriptor that ``subprocess.Popen`` would take ``stream`` for."""
    if stream is None:
        return otherwise
    return stream if isinstance(stream, int) else stream.fileno()


class PromptClient(AsyncKernelClient):
    """A client that is ready as soon as the kernel is.

    Jupyter's own waits until the kernel has been silent for 0.2 s, so that what the first request
    caused can't be taken for an answer to the second. Here the first request's last message is
    waited for instead.
    """

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        """Wait until the kernel answers and its outputs arrive here.

        Args:
            timeout: seconds; None to wait for as long as the kernel lives.

        Raises:
            RuntimeError: the kernel died, or did not answer in time.
        """
        deadline = time.monotonic() + (float("inf") if timeout is None else timeout)
        while time.monotonic() < deadline:
            request = self.kernel_info()
            # Until outputs are subscribed to, they are lost: then ask again.
            if await self._idle(request, within=0.1):
                await self._reply(request)
                return
            if not await self.is_alive():
                raise RuntimeError("Kernel died before replying to kernel_info")
        raise RuntimeError(f"Kernel didn't respond in {timeout} seconds")

    async def _idle(self, request: str, within: float) -> bool:
        """Whether the kernel says, in time, that it is done with a request."""
        deadline = time.monotonic() + within
        while (left := deadline - time.monotonic()) > 0:
            try:
                message = await self.get_iopub_msg(timeout=left)
            except Empty:
                return False
            if (
                message["parent_header"].get("msg_id") == request
                and message["content"].get("execution_state") == "idle"
            ):
                return True
        return False

    async def _reply(self, request: str) -> None:
        while True:
            message = await self.get_shell_msg(timeout=1)
            if message["parent_header"].get("msg_id") == request:
                self._handle_kernel_info_reply(message)
                return
