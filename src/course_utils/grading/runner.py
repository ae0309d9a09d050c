"""Runs a notebook's cells in a kernel that may be hostile."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import time
from collections.abc import AsyncGenerator
from typing import Any

import nbformat
import zmq
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete
from nbformat import NotebookNode
from nbformat.v4 import new_output

from course_utils.grading.submission import Settings
from course_utils.kernels.provisioner import (
    LONGEST_MESSAGE,
    PromptClient,
    WarmProvisioner,
    running_kernel,
)
from course_utils.kernels.workplace import Workplace

START_SECONDS = 120
# For a line of ours in a kernel: to seed it, to fork a snapshot.
SETUP_SECONDS = 20
# How long a kernel may be silent after its shell has replied, before the cell counts as done: what
# it publishes may be dropped on the way when there is very much of it, its last word included.
SILENT_SECONDS = 1.0
# How many messages about one cell are listened to.
MOST_MESSAGES = 200_000
CUT_OFF = f"[more than {LONGEST_MESSAGE} bytes in one piece: it is left out, and what follows it]\n"
OUTPUTS = frozenset({"stream", "display_data", "execute_result", "update_display_data", "error"})


class KernelEnded(Exception):
    """The kernel is gone; the message says why."""


class Runner(NotebookClient):
    """Runs cells of one notebook in a kernel that may be hostile.

    nbclient turns the kernel's messages into outputs; waiting, time limits and the limit on
    outputs are ours, because a kernel that dies, hangs or floods must not cost more than its cell.
    """

    # nbclient's may be None; where cells run, there are always both.
    km: AsyncKernelManager  # ty: ignore[incompatible-mutable-override]
    kc: PromptClient  # ty: ignore[incompatible-mutable-override]

    def __init__(self, notebook: NotebookNode, settings: Settings) -> None:
        super().__init__(notebook, allow_errors=True, record_timing=False)
        self.settings = settings
        self.room = 0
        self.total_room = settings.all_output_bytes()
        self.left_out = False
        self.updated = False

    @contextlib.asynccontextmanager
    async def kernel(self, sandbox: Workplace, descriptors: dict[int, int]) -> AsyncGenerator[None]:
        """Start this runner's kernel in ``sandbox``; at the end it is killed."""
        began = time.monotonic()
        async with running_kernel(
            sandbox,
            fds=descriptors,
            env=self.settings.variables(),
            threads=self.settings.threads,
            startup_seconds=START_SECONDS,
        ) as (self.km, self.kc):
            self.start_seconds = time.monotonic() - began
            provisioner = self.km.provisioner
            assert isinstance(provisioner, WarmProvisioner)
            self.provisioner = provisioner
            self.ended = asyncio.ensure_future(provisioner.wait())
            outputs = self.kc.iopub_channel.socket
            self.disconnections = outputs.get_monitor_socket(zmq.EVENT_DISCONNECTED)
            try:
                yield
            finally:
                self.ended.cancel()
                outputs.disable_monitor()

    async def run_code(self, code: str) -> list[NotebookNode]:
        """Run code that is not in the notebook.

        Returns:
            What it said, which is no part of the notebook.

        Raises:
            KernelEnded: as ``run_cell`` says.
        """
        # By hand: nbformat would check the cell against its schema each time.
        cell = NotebookNode(cell_type="code", source=code, metadata=NotebookNode(), outputs=[])
        self.nb.cells.append(cell)
        try:
            await self.run_cell(cell, len(self.nb.cells) - 1, SETUP_SECONDS, silent=True)
            return cell.outputs
        finally:
            self.nb.cells.remove(cell)

    async def run_cell(
        self, cell: NotebookNode, index: int, seconds: float, *, silent: bool = False
    ) -> None:
        """Run a cell and keep its outputs.

        Raises:
            KernelEnded: the kernel died, or had to be killed because it would not be interrupted.
        """
        self.room, self.left_out = self.settings.output_bytes, False
        self.largest_updates: dict[str, int] = {}
        self.clear_before_next_output = False
        cell.outputs = []
        if self.ended.done():
            raise KernelEnded(self.how_it_ended())
        request = self.kc.execute(
            cell.source, silent=silent, allow_stdin=False, stop_on_error=False
        )
        replied = asyncio.ensure_future(self.reply(request))
        listening = asyncio.ensure_future(self.listen(request, cell, index, replied))
        late = False
        try:
            await self.first(listening, seconds, replied)
            if replied.done() and not listening.done():
                # It has run; what it said is still being read, which is not its time.
                await self.first(listening, seconds)
                if not listening.done() and not self.ended.done():
                    self.left_out = True
                    return
            if not listening.done() and not self.ended.done():
                late = True
                await self.interrupt()
                await self.first(listening, self.settings.grace_seconds)
            if self.ended.done() and not listening.done():
                # What it said last may still be on its way.
                await self.first(listening, 0.1)
                raise KernelEnded(self.how_it_ended())
            if not listening.done():
                await self.km.shutdown_kernel(now=True)
                raise KernelEnded(f"it ran for {seconds:g} s and would not be interrupted")
            listening.result()
            if not silent and await self.was_cut_off():
                cell.outputs.append(new_output("stream", name="stdout", text=CUT_OFF))
        finally:
            listening.cancel()
            replied.cancel()
            if late:
                text = f"[interrupted after {seconds:g} s]\n"
                cell.outputs.append(new_output("stream", name="stdout", text=text))
            if self.left_out:
                text = f"[more than {self.settings.output_bytes} bytes: the rest is left out]\n"
                cell.outputs.append(new_output("stream", name="stdout", text=text))

    async def was_cut_off(self) -> bool:
        """Whether the kernel has sent a message that is too long, since this was asked last."""
        if not await self.disconnections.poll(0):
            return False
        await self.disconnections.recv_multipart()
        return True

    def how_it_ended(self) -> str:
        if self.ended.result() == -signal.SIGXCPU:
            return f"it used {self.settings.cpu_seconds()} s of processor time"
        return "it ended"

    async def first(
        self, listening: asyncio.Future, seconds: float, *others: asyncio.Future
    ) -> None:
        """Wait until the cell is done, the kernel has ended, or the time is over."""
        await asyncio.wait(
            {listening, self.ended, *others}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )

    async def interrupt(self) -> None:
        with contextlib.suppress(OSError, RuntimeError):  # it has ended
            await self.km.interrupt_kernel()

    async def reply(self, request: str) -> None:
        """Wait until the kernel's shell has replied to a request."""
        while True:
            await asyncio.sleep(0)
            # As in ``listen``: a student's code may send anything.
            with contextlib.suppress(Exception):
                message = await self.next_message(self.kc.shell_channel)
                if message["parent_header"].get("msg_id") == request:
                    return

    async def listen(
        self, request: str, cell: NotebookNode, index: int, replied: asyncio.Future
    ) -> None:
        """Take the kernel's messages about one request until it says that it is done.

        It is done as well when its shell has replied and it says nothing more.
        """
        for _ in range(MOST_MESSAGES):
            # Messages may come without end, and the time limit must be heard all the same.
            await asyncio.sleep(0)
            upcoming = asyncio.ensure_future(self.next_message(self.kc.iopub_channel))
            try:
                await asyncio.wait({upcoming, replied}, return_when=asyncio.FIRST_COMPLETED)
                if not upcoming.done():
                    await asyncio.wait({upcoming}, timeout=SILENT_SECONDS)
                if not upcoming.done():
                    return
            finally:
                upcoming.cancel()
            # A kernel's own messages can be read; what a student's code sends may be anything.
            with contextlib.suppress(Exception):
                message = upcoming.result()
                if message["parent_header"].get("msg_id") != request:
                    continue
                # Widgets have no front end here that could answer them.
                if "comm" in message["msg_type"]:
                    continue
                if message["msg_type"] in OUTPUTS and not await self.fits(message):
                    continue
                # nbclient checks each output, but not what an update makes of an earlier one.
                self.updated |= bool((message["content"].get("transient") or {}).get("display_id"))
                try:
                    self.process_message(message, cell, index)
                except CellExecutionComplete:
                    return

    async def next_message(self, channel: Any) -> dict:
        """What the kernel says next. Jupyter's channel asks first whether there is anything."""
        _, parts = channel.session.feed_identities(await channel.socket.recv_multipart())
        return channel.session.deserialize(parts)

    async def fits(self, message: dict) -> bool:
        """Whether an output is within what the cell, and all cells together, may still say."""
        size = len(json.dumps(message["content"], default=str))
        if message["msg_type"] == "update_display_data":
            # It takes the place of what was shown: only what it adds counts.
            name = str(message["content"].get("transient", {}).get("display_id"))
            largest = self.largest_updates.get(name, 0)
            self.largest_updates[name] = max(largest, size)
            size = max(0, size - largest)
        self.room -= size
        self.total_room -= size
        if self.room >= 0 and self.total_room >= 0:
            return True
        if self.room < 0 and not self.left_out:
            await self.interrupt()
        self.left_out = True
        return False

    def drop_malformed(self) -> None:
        """Keep what a notebook may hold: no kernel says anything else."""
        for cell in self.nb.cells:
            if cell.cell_type == "code":
                if type(cell.execution_count) is not int or cell.execution_count < 0:
                    cell.execution_count = None
                if self.updated:
                    cell.outputs = [output for output in cell.outputs if well_formed(output)]


def well_formed(output: NotebookNode) -> bool:
    try:
        nbformat.validate(output, ref="output", version=4)
    except nbformat.ValidationError:
        return False
    return True
