"""The kernel that takes all cells with one request: each is run, told of and ended by itself."""

from __future__ import annotations

import asyncio
import socket
import uuid

import pytest

from course_utils.kernels.many_cells import RUN_CELLS, TURN, TURNS
from course_utils.kernels.provisioner import running_kernel
from course_utils.kernels.workplace import Scratch
from support.warm import text_of

CANCELLED = "import asyncio; asyncio.current_task().cancel()"
FOR_EVER = "while True: pass"


class Client:
    """The other side of a kernel that takes many cells."""

    def __init__(self, manager, client, turns: socket.socket) -> None:
        self.manager, self.client, self.turns = manager, client, turns

    def ask(self, *sources: str) -> None:
        self.names = [uuid.uuid4().hex for _ in sources]
        pairs = zip(self.names, sources, strict=True)
        cells = [{"id": name, "code": source, "silent": False} for name, source in pairs]
        request = self.client.session.msg(RUN_CELLS, {"cells": cells})
        self.client.shell_channel.send(request)

    async def turn(self) -> None:
        """Give the next cell its turn, and wait until it has run."""
        self.turns.send(TURN)
        loop = asyncio.get_running_loop()
        await asyncio.wait_for(loop.sock_recv(self.turns, len(TURN)), 20)

    async def told(self, number: int) -> tuple[int, str]:
        """The count and the text of a cell, once it is done; messages of others are an error."""
        outputs, count = [], 0
        while True:
            message = await self.client.get_iopub_msg(timeout=20)
            assert message["parent_header"]["msg_id"] == self.names[number]
            content = message["content"]
            if content.get("execution_state") == "idle":
                return count, text_of(outputs)
            count = content.get("execution_count", count)
            outputs.append(content)

    async def run(self, number: int) -> tuple[int, str]:
        await self.turn()
        return await self.told(number)


def with_kernel(scenario):
    """Run a scenario, an asynchronous function of a :class:`Client`."""

    async def run():
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with ours, theirs, Scratch() as scratch:
            fds = {TURNS: theirs.fileno()}
            async with running_kernel(scratch, fds=fds) as (manager, client):
                return await scenario(Client(manager, client, ours))

    return asyncio.run(run())


def cells(*sources: str) -> list[tuple[int, str]]:
    async def scenario(client: Client):
        client.ask(*sources)
        # The request's own message that the kernel is busy.
        await client.client.get_iopub_msg(timeout=20)
        return [await client.run(number) for number in range(len(sources))]

    return with_kernel(scenario)


def test_each_cell_has_its_number_and_its_own_messages():
    assert cells("x = 1; print(x)", "1 / 0", "print(x + 1)") == [
        (1, "1\n"),
        (2, "ZeroDivisionError: division by zero"),
        (3, "2\n"),
    ]


def test_a_cell_waits_for_its_turn(tmp_path):
    mark = tmp_path / "mark"

    async def scenario(client: Client):
        client.ask("1", f"open({str(mark)!r}, 'w').close()")
        await client.turn()
        await asyncio.sleep(0.3)
        early = mark.exists()
        await client.turn()
        return early, mark.exists()

    assert with_kernel(scenario) == (False, True)


@pytest.mark.parametrize("source", [CANCELLED, f"{CANCELLED}; await asyncio.sleep(1)"])
def test_a_cell_that_cancels_its_task_ends_no_other(source):
    assert cells(source, "print('on')")[1] == (2, "on\n")


def test_an_interrupt_ends_the_cell_that_runs_and_no_other():
    async def scenario(client: Client):
        client.ask(
            "print(1)", FOR_EVER, "print(3)", "import asyncio; await asyncio.sleep(60)", "print(5)"
        )
        await client.client.get_iopub_msg(timeout=20)
        texts = []
        for number in range(3):
            # Before its turn, an interrupt is nobody's.
            await client.manager.interrupt_kernel()
            await asyncio.sleep(0.1)
            running = asyncio.ensure_future(client.run(number))
            if number == 1:
                await asyncio.sleep(0.3)
                await client.manager.interrupt_kernel()
            texts.append((await running)[1])
        return texts

    one, endless, three = with_kernel(scenario)
    assert (one, three) == ("1\n", "3\n")
    assert "KeyboardInterrupt" in endless


def test_what_a_cell_sets_is_there_in_the_next():
    """Its context too, in which NumPy keeps what it does about a division by zero."""
    set_up = "import numpy; _ = numpy.seterr(divide='raise')"
    assert cells(set_up, "print(numpy.geterr()['divide'])")[1] == (2, "raise\n")
