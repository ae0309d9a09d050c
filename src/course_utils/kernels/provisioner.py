"""Warm kernels behind Jupyter's own interface: a kernel provisioner.

Set ``JUPYTER_DEFAULT_PROVISIONER_NAME=course-warm`` and whatever starts kernels through
jupyter_client (nbclient, nbconvert, nbgrader, nbval, ``jupyter execute``) gets warm ones.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from queue import Empty
from typing import Any

import zmq
from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

from course_utils.kernels.sandbox import Sandbox
from course_utils.kernels.template import (
    Request,
    TemplateError,
    WarmProcess,
    launch,
    shared_address,
    supported,
)
from course_utils.kernels.workplace import Workplace

CHANNELS = ("shell", "iopub", "stdin", "hb", "control")
KILL_SECONDS = 5
# Settings of a kernel that nobody types into: no history on disk, and no waiting for outputs that
# are to arrive together, or that there are none of.
QUICK = [
    "--HistoryManager.hist_file=:memory:",
    "--IPythonKernel._execute_sleep=0",
    "--IPKernelApp.outstream_class=course_utils.kernels.streams.PromptStream",
]
RECONNECT_MILLISECONDS = 5
# A kernel that sends a longer message is cut off before anybody decodes it: 60 MB of JSON take
# 1.4 GB.
LONGEST_MESSAGE = 16 * 2**20
# How many of a channel may wait to be read: of the kernel's memory they take nothing, but of ours.
MOST_WAITING = 16
# What a warm kernel understands of the keywords that reach a provisioner. Any other one wants
# something of the new process that a fork can't give.
KEYWORDS = {
    *("cwd", "env", "stdin", "stdout", "stderr", "independent", "kernel_id"),
    *("fds", "threads", "workplace", "variables"),
}


class WarmProvisioner(LocalProvisioner):
    """Starts this Python's kernels as forks of a template process, any other kernel as usual.

    ``start_kernel`` takes these keywords more:

    - ``fds``: from descriptor numbers in the kernel to descriptors here. Those here stay open.
    - ``threads``: how many threads torch computes with; ``OMP_NUM_THREADS`` or one per core if not
      given.
    - ``workplace``: where an untrusted kernel runs. Then it has the workplace's folder and
      environment, and nothing of this process's.
    - ``variables``: what its environment has beside that.
    """

    async def launch_kernel(self, cmd: list[str], **keywords: Any) -> KernelConnectionInfo:
        arguments = launcher_arguments(cmd)
        workplace: Workplace | None = keywords.get("workplace")
        if arguments is None or not supported() or not KEYWORDS.issuperset(keywords):
            if workplace is not None:
                raise TemplateError(f"this kernel cannot run in a workplace: {' '.join(cmd)}")
            for name in ("fds", "threads", "workplace", "variables"):
                keywords.pop(name, None)
            return await super().launch_kernel(cmd, **keywords)
        with open(os.devnull, "r+b") as nothing:
            outward = nothing.fileno() if workplace else None
            streams = {
                0: descriptor_of(keywords.get("stdin"), nothing.fileno()),
                1: descriptor_of(keywords.get("stdout"), outward or 1),
                2: descriptor_of(keywords.get("stderr"), outward or 2),
            }
            descriptors = {**streams, **(keywords.get("fds") or {})}
            request = Request(
                arguments=arguments,
                environment={**keywords["env"], **(keywords.get("variables") or {})},
                folder=os.path.abspath(keywords.get("cwd") or os.getcwd()),
                threads=keywords.get("threads"),
                descriptors=list(descriptors),
            )
            sent = list(descriptors.values())
            if workplace is not None:
                request = self._moved(request, workplace, keywords.get("variables") or {})
                sent += [workplace.pidfd] if isinstance(workplace, Sandbox) else []
            address = await asyncio.to_thread(shared_address)
            self.process = await launch(address, request, sent)
        if workplace is not None:
            workplace.watch(self.process)
        # The kernel leads a process group of its own.
        self.pid = self.pgid = self.process.pid
        self.cwd = request.folder
        return self.connection_info

    def _moved(self, request: Request, workplace: Workplace, variables: dict) -> Request:
        """The request for a kernel inside a workplace, which has its sockets there."""
        outside, inside = str(workplace.sockets), workplace.inside
        ip = str(self.connection_info.get("ip"))
        if self.connection_info.get("transport") != "ipc" or not ip.startswith(outside):
            raise TemplateError("a kernel in a workplace has its sockets there: see kernel_manager")
        connection = {**self.connection_info, "ip": inside + ip.removeprefix(outside)}
        path = f"{connection['ip']}.json"
        text = json.dumps(connection, default=bytes.decode)
        arguments = ["-f", path, *request.arguments[request.arguments.index("-f") + 2 :]]
        return replace(
            inside_of(workplace, request, variables), arguments=arguments, connection={path: text}
        )

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


def inside_of(workplace: Workplace, request: Request, variables: Mapping[str, str]) -> Request:
    """The request for a process that has the workplace's folder and environment."""
    return replace(
        request,
        environment={**workplace.environment, **variables},
        folder=workplace.inside,
        sandbox=workplace.rules() if isinstance(workplace, Sandbox) else None,
    )


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


def without_date(part: Any) -> Any:
    """A part of a message without its ``date``: only headers have one."""
    if isinstance(part, dict):
        part.pop("date", None)
    return part


class PromptClient(AsyncKernelClient):
    """A client that is ready as soon as the kernel is.

    Jupyter's own waits until the kernel has been silent for 0.2 s, so that what the first request
    caused can't be taken for an answer to the second. Here the first request's last message is
    waited for instead.
    """

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        # Milliseconds, not a tenth of a second, until sockets look again for a kernel that starts.
        self.context.setsockopt(zmq.RECONNECT_IVL, RECONNECT_MILLISECONDS)
        self.context.setsockopt(zmq.MAXMSGSIZE, LONGEST_MESSAGE)
        self.context.setsockopt(zmq.RCVHWM, MOST_WAITING)
        # When a message was sent is nothing to anybody here, and to read that takes as long as to
        # read the rest.
        unpack = self.session.unpack
        self.session.unpack = lambda text: without_date(unpack(text))

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


class WarmManager(AsyncKernelManager):
    """A kernel manager whose kernels start warm, whatever the environment says."""

    async def _async_pre_start_kernel(self, **keywords: Any) -> tuple[list[str], dict[str, Any]]:
        if self.provisioner is None:
            kernel_id = self.kernel_id or str(uuid.uuid4())
            self.kernel_id = kernel_id  # ty: ignore[invalid-assignment]  its hint is the trait
            self.provisioner = WarmProvisioner(
                kernel_id=self.kernel_id, kernel_spec=self.kernel_spec, parent=self
            )
        return await super()._async_pre_start_kernel(**keywords)


class WorkplaceManager(WarmManager):
    """A kernel manager that writes no connection file: the kernel gets it with the request."""

    def write_connection_file(self, **_: Any) -> None:
        pass


def kernel_manager(workplace: Workplace) -> AsyncKernelManager:
    """A manager of warm kernels in ``workplace``, not started yet.

    Start it with ``await manager.start_kernel(workplace=workplace, …)``; see ``WarmProvisioner``
    for the keywords.
    """
    manager = WorkplaceManager(
        client_factory=PromptClient,
        transport="ipc",
        ip=str(workplace.sockets / ".kernel"),
        **{f"{channel}_port": number for number, channel in enumerate(CHANNELS, start=1)},
    )
    manager._kernel_spec = KernelSpec(
        argv=[
            *(sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"),
            "--IPKernelApp.kernel_class=course_utils.kernels.many_cells.ManyCellsKernel",
        ],
        display_name="warm Python",
        language="python",
    )
    return manager


@asynccontextmanager
async def running_kernel(
    workplace: Workplace,
    *,
    fds: Mapping[int, int] | None = None,
    env: Mapping[str, str] | None = None,
    threads: int = 1,
    startup_seconds: float = 60,
) -> AsyncGenerator[tuple[AsyncKernelManager, PromptClient]]:
    """A warm kernel in ``workplace`` that answers, killed at the end of the block.

    Args:
        workplace: a ``Sandbox`` or a ``Scratch``.
        fds: from descriptor numbers in the kernel to descriptors here.
        env: variables beside ``workplace.environment``.
        threads: how many threads torch computes with.
        startup_seconds: how long to wait for its first answer.
    """
    manager = kernel_manager(workplace)
    await manager.start_kernel(
        workplace=workplace,
        fds=dict(fds or {}),
        variables={"OMP_NUM_THREADS": str(threads), **(env or {})},
        threads=threads,
        extra_arguments=QUICK,
    )
    client = manager.client()
    assert isinstance(client, PromptClient)
    try:
        # No channel that nobody reads, where messages could pile up. And no heartbeat: its thread
        # can't be ended when a kernel has closed the heartbeat's socket.
        client.start_channels(stdin=False, control=False, hb=False)
        await client.wait_for_ready(timeout=startup_seconds)
        workplace.close_sockets()
        yield manager, client
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


async def start_program(
    workplace: Workplace,
    program: str,
    arguments: list[str],
    *,
    fds: Mapping[int, int],
    env: Mapping[str, str],
    threads: int = 1,
) -> WarmProcess:
    """Run a module, not a kernel, in a fork of the template process; it writes to nowhere.

    Args:
        workplace: a ``Sandbox`` or a ``Scratch``.
        program: the module's name; its ``main`` is called with ``arguments``.
        arguments: what it is told.
        fds: from descriptor numbers in the process to descriptors here.
        env: variables beside ``workplace.environment``.
        threads: how many threads torch computes with.

    Raises:
        TemplateError: the process could not be started.
    """
    with open(os.devnull, "r+b") as nothing:
        descriptors = {**dict.fromkeys((0, 1, 2), nothing.fileno()), **fds}
        request = Request(arguments, {}, "", threads, list(descriptors), program=program)
        sent = list(descriptors.values())
        sent += [workplace.pidfd] if isinstance(workplace, Sandbox) else []
        address = await asyncio.to_thread(shared_address)
        process = await launch(address, inside_of(workplace, request, env), sent)
    workplace.close_sockets()
    workplace.watch(process)
    return process
