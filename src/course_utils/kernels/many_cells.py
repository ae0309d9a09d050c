"""A kernel that takes all cells with one request, and starts each when it is told to.

By Jupyter's own messages, a cell that does nothing takes 3 ms of a processor: five messages, and
threads that wait for each other. Without those that nobody reads it takes a third of that.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Generator
from typing import Any

from ipykernel.ipkernel import IPythonKernel

RUN_CELLS = "run_cells_request"
# The number that a kernel's end of the pair of sockets has, by which it and its client take turns.
TURNS = 19
TURN = b"."


class ManyCellsKernel(IPythonKernel):
    """ipykernel's kernel, with one kind of request more.

    The content of a ``run_cells_request`` is ``{"cells": [{"id": …, "code": …, "silent": …}, …]}``.
    Before each cell the kernel waits for a byte from the socket ``TURNS``, and sends one when it
    has run the cell. Messages about a cell have its ``id`` as the ``msg_id`` of their parent, as if
    each were a request of its own: its number, what it says, and at last that the kernel is idle.
    """

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.shell_handlers[RUN_CELLS] = self.run_cells_request

    async def run_cells_request(self, stream: Any, ident: Any, parent: dict) -> None:
        # As between two requests, where an interrupt that comes late is nobody's.
        self.post_handler_hook()
        with turns() as client:
            for cell in parent["content"]["cells"]:
                if not await its_turn(client):
                    return
                request = {**parent, "header": {**parent["header"], "msg_id": cell["id"]}}
                self.set_parent(ident, request)
                self.pre_handler_hook()
                try:
                    await self.run_one(cell, request)
                except (Exception, KeyboardInterrupt, asyncio.CancelledError):
                    # Whatever it was, it does not end the cells behind it.
                    self.log.error("Exception in a cell's execution:", exc_info=True)
                finally:
                    self.post_handler_hook()
                # First the turn: who hears that the kernel is idle finds no old one later.
                client.send(TURN)
                self._publish_status("idle", "shell")

    async def run_one(self, cell: dict, request: dict) -> None:
        if not cell["silent"]:
            self._publish_execute_input("", request, self.execution_count)
        await self.do_execute(cell["code"], cell["silent"], store_history=not cell["silent"])
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()


async def its_turn(client: socket.socket) -> bool:
    """Wait for the client's byte; whether it came, for a client that has ended sends none."""
    while True:
        # A cell may have cancelled its own task, which is this one.
        with contextlib.suppress(asyncio.CancelledError):
            return bool(await asyncio.get_running_loop().sock_recv(client, len(TURN)))


@contextlib.contextmanager
def turns() -> Generator[socket.socket]:
    """The socket ``TURNS``, which stays open."""
    client = socket.socket(fileno=TURNS)
    client.setblocking(False)
    try:
        yield client
    finally:
        client.detach()
