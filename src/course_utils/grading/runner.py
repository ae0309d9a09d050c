"""Runs a notebook's cells in a kernel that may be hostile."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import time
import uuid
from collections.abc import AsyncGenerator, Iterable

import nbformat
import zmq
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete
from nbformat import NotebookNode
from nbformat.v4 import new_output

from course_utils.grading.submission import Settings
from course_utils.kernels.many_cells import RUN_CELLS, TURN, TURNS
from course_utils.kernels.provisioner import (
    LONGEST_MESSAGE,
    PromptClient,
    WarmProvisioner,
    running_kernel,
)
from course_utils.kernels.workplace import Workplace

START_SECONDS = 120
# How long a kernel may be silent after it has run a cell, before the cell counts as done: what
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
        self.turns, theirs = socket.socketpair()
        self.turns.setblocking(False)
        with self.turns, theirs:
            async with running_kernel(
                sandbox,
                fds={**descriptors, TURNS: theirs.fileno()},
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

    def ask(self, cells: Iterable[NotebookNode]) -> None:
        """Send the kernel all that it is to run; it starts each when ``run_next`` says so.

        Args:
            cells: the notebook's, and lines of ours.
        """
        places = {id(cell): place for place, cell in enumerate(self.nb.cells)}
        self.asked = [(uuid.uuid4().hex, cell, places.get(id(cell))) for cell in cells]
        content = [
            {"id": request, "code": cell.source, "silent": place is None}
            for request, cell, place in self.asked
        ]
        self.kc.shell_channel.send(self.kc.session.msg(RUN_CELLS, {"cells": content}))

    async def run_next(self, seconds: float) -> list[NotebookNode]:
        """Run the next of the cells that were asked for, and keep its outputs.

        Returns:
            Its outputs.

        Raises:
            KernelEnded: the kernel died, or had to be killed because it would not be interrupted.
        """
        request, cell, place = self.asked.pop(0)
        self.room, self.left_out = self.settings.output_bytes, False
        self.largest_updates: dict[str, int] = {}
        self.clear_before_next_output = False
        cell.outputs = []
        if self.ended.done():
            raise KernelEnded(self.how_it_ended())
        self.give_turn()
        replied = asyncio.ensure_future(self.turn())
        index = len(self.nb.cells) if place is None else place
        listening = asyncio.ensure_future(self.listen(request, cell, index, replied))
        late = False
        try:
            await self.first(listening, seconds, replied)
            if replied.done() and not listening.done():
                # It has run; what it said is still being read, which is not its time.
                await self.first(listening, seconds)
                if not listening.done() and not self.ended.done():
                    self.left_out = True
                    return cell.outputs
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
            if place is not None and await self.was_cut_off():
                cell.outputs.append(new_output("stream", name="stdout", text=CUT_OFF))
            return cell.outputs
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

    def give_turn(self) -> None:
        """Have the kernel start the next cell. What it sent before is of no interest any more."""
        with contextlib.suppress(OSError):  # it has sent nothing; it has ended
            self.turns.recv(2**16)
        with contextlib.suppress(OSError):
            self.turns.send(TURN)

    async def turn(self) -> None:
        """Wait until the kernel has run a cell; where it has ended, for ever."""
        with contextlib.suppress(OSError):
            if await asyncio.get_running_loop().sock_recv(self.turns, len(TURN)):
                return
        await asyncio.Event().wait()

    async def listen(
        self, request: str, cell: NotebookNode, index: int, replied: asyncio.Future
    ) -> None:
        """Take the kernel's messages about one request until it says that it is done.

        It is done as well when it has run the cell and says nothing more.
        """
        for _ in range(MOST_MESSAGES):
            # Messages may come without end, and the time limit must be heard all the same.
            await asyncio.sleep(0)
            upcoming = asyncio.ensure_future(self.next_message())
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

    async def next_message(self) -> dict:
        """What the kernel says next. Jupyter's channel asks first whether there is anything."""
        channel = self.kc.iopub_channel
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
