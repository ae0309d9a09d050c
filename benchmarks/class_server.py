"""How many students a class server carries: the time until all can work, and what each one takes.

As root, with the packages of ``make install-hub``::

    PYTHONPATH=tests .venv/bin/python benchmarks/class_server.py --students 30

Accounts are made for it and removed. Everybody logs in at once, then everybody opens a notebook at
once, then everybody imports torch at once.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import click

from support.class_server import Visitor, class_server, processes_of, why_not

# A matrix product makes torch load what an import alone leaves for later.
WORK = "import torch; print(float((torch.ones(9, 9) @ torch.ones(9, 9)).sum()))"


def memory_mib(users: list[int]) -> float:
    """What the processes of accounts hold: a page that several have counts once, in shares."""
    return sum(process.memory_full_info().pss for process in processes_of(users)) / 2**20


@click.command()
@click.option("--students", type=click.IntRange(min=1), default=30, show_default=True)
def main(students: int) -> None:
    """Measure a class server with so many students."""
    reason = why_not()
    if reason:
        raise click.ClickException(reason)
    click.echo(f"{students} students, {os.cpu_count()} cores")
    with class_server() as server, ThreadPoolExecutor(students) as pool:
        names = [server.add(f"s{number}") for number in range(students)]
        server.choose(memory=8.0)
        server.start()
        visitors = [Visitor(server, name) for name in names]
        users = [os.stat(server.home(name)).st_uid for name in names]

        def together(what: str, do) -> None:
            begin, cpu = time.monotonic(), processor_seconds(users)
            list(pool.map(do, visitors))
            seconds = time.monotonic() - begin
            each = memory_mib(users) / students
            busy = processor_seconds(users) - cpu
            click.echo(
                f"{what}: {seconds:.0f} s until the last, {busy / students:.1f} s of processor "
                f"time and {each:.0f} MiB a student"
            )

        together("JupyterLabs", lambda visitor: visitor.open())
        kernels: dict[Visitor, str] = {}

        def open_a_notebook(visitor: Visitor) -> None:
            kernels[visitor] = visitor.start_kernel()
            visitor.run(kernels[visitor], "pass")

        together("kernels", open_a_notebook)
        together("import torch", lambda visitor: visitor.run(kernels[visitor], WORK))


def processor_seconds(users: list[int]) -> float:
    """The processor time that the accounts' processes have taken."""
    times = [process.cpu_times() for process in processes_of(users)]
    return sum(taken.user + taken.system for taken in times)


if __name__ == "__main__":
    main()
