"""Exercise 18.5: schedules of a pipeline."""

from __future__ import annotations

import time
from collections import Counter

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from course_utils.chapters.sharding.jobs import attempt, random_like
from course_utils.learner.checks import check_close
from course_utils.learner.gradients import grad_of
from course_utils.learner.tracebacks import ends_in_notebook


def draw_timeline(axes, rows, title):
    """One line a stage, one box a task: blue forward, orange backward."""
    last = max(end for *_, end in rows)
    for stage, task, start, end in rows:
        colour = "#56b4e9" if task[0] == "F" else "#e69f00"
        axes.barh(
            stage, end - start, left=start, height=0.8, color=colour, edgecolor="black", lw=0.6
        )
        if end - start > last / 40:
            axes.text((start + end) / 2, stage, task, ha="center", va="center", fontsize=8)
    axes.set(title=title, yticks=sorted({row[0] for row in rows}), ylabel="stage")
    axes.invert_yaxis()


def make_stage(stage: int, stages: int, width: int, depth: int) -> nn.Module:
    torch.manual_seed(stage)
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.Tanh())]
    return nn.Sequential(*layers)


def run_stage(rank, world_size, schedules, size=2, width=4, depth=1, rounds=1):
    """Work off a schedule with a mean squared loss: gradients, most held, seconds of each task.

    Of several rounds a task's seconds are its shortest: the first one opens the connections, and
    the machine may be busy in some.
    """
    stage, fastest = make_stage(rank, world_size, width, depth), {}
    for _ in range(rounds):
        stage.zero_grad()
        most, times = _work_off(stage, rank, world_size, schedules[rank], size, width)
        for task, seconds in times:
            fastest[task] = min(seconds, fastest.get(task, torch.inf))
    return [grad_of(p).clone() for p in stage.parameters()], most, fastest


def _work_off(stage, rank, world_size, tasks, size, width):
    pieces, last = len(tasks) // 2, rank == world_size - 1
    held, on_their_way, most, times = {}, [], 0, []

    def receive(source, number):
        tensor = torch.empty(size, width)
        dist.recv(tensor, source, tag=number)
        return tensor

    def send(tensor, goal, number):
        tensor = tensor.detach().contiguous()
        on_their_way.append((dist.isend(tensor, goal, tag=number), tensor))

    dist.barrier()
    for task in tasks:
        number = int(task[1:])
        if task[0] == "F":
            h = receive(rank - 1, number) if rank else random_like((size, width), 40, number)
            start = time.perf_counter()
            out = stage(h.requires_grad_())
            if last:
                out = F.mse_loss(out, random_like((size, width), 41, number)) / pieces
            held[number] = h, out
            most = max(most, len(held))
        else:
            coming = None if last else receive(rank + 1, number)
            start = time.perf_counter()
            h, out = held.pop(number)
            out.backward(coming)
        times.append((task, time.perf_counter() - start))
        if task[0] == "F" and not last:
            send(out, rank + 1, number)
        if task[0] == "B" and rank:
            send(h.grad, rank - 1, number)
    for work, _ in on_their_way:
        work.wait()
    return most, times


def in_time(function, cases: list[tuple]) -> list:
    """What it returns for each case, in a process that ends after some seconds.

    Where a case comes again, the list of its first time is emptied: it has been worked off.

    Raises:
        AssertionError: it was not through in time; the words say where it was.
    """

    def work(rank, world_size):
        found, given = [], {}
        for case in cases:
            earlier = given.get(case)
            if isinstance(earlier, list):
                earlier.clear()
            try:
                result = given[case] = function(*case)
            except Exception as error:
                found.append(("raised", f"{type(error).__name__}: {error}"))
                continue
            if isinstance(result, list):
                used_up = result is earlier and not result
                found.append(("used up", "") if used_up else ("returned", list(result)))
            else:
                found.append(("returned", result))
        return found

    found = attempt(work, 1)
    assert not isinstance(found, str), f"{function.__name__} gave no result: {found}"
    return found[0]


def result_of(found: list, place: int, what: str):
    """The result of one case; refused in words where it raised."""
    how, value = found[place]
    words = "is the list of an earlier call. Whoever got the list before has worked it off: return"
    assert how != "used up", f"{what} {words} a new one"
    assert how == "returned", f"{what} raised {value}"
    return value


@ends_in_notebook
def check_schedules(found, place, clock, kind, stages, micro_batches):
    """`found` holds the lists of all cases, and those of this one begin at `place`."""
    schedules = []
    for stage in range(stages):
        what = f'pipeline("{kind}", {stage}, {stages}, {micro_batches})'
        tasks = result_of(found, place + stage, what)
        assert tasks is not None, f"{what} is None: is there an answer yet?"
        assert isinstance(tasks, (list, tuple)), f"{what} is a {type(tasks).__name__}, not a list"
        texts = all(isinstance(task, str) for task in tasks)
        assert texts, f"{what} is {tasks!r}: each task is a text such as 'F0'"
        wrong = _not_once(tasks, micro_batches)
        assert not wrong, f"{what} is {_brief(tasks)}: {wrong}"
        places = {task: place for place, task in enumerate(tasks)}
        early = [n for n in range(micro_batches) if places[f"B{n}"] < places[f"F{n}"]]
        assert not early, (
            f"{what} runs B{early[0]} before F{early[0]}: the backward of a micro-batch needs its "
            "forward"
        )
        held = most = 0
        for task in tasks:
            held += 1 if task[0] == "F" else -1
            most = max(most, held)
        backwards_last = all(task[0] == "F" for task in tasks[:micro_batches])
        assert kind != "gpipe" or backwards_last, (
            f"{what} is {_brief(tasks)}: all forwards come first"
        )
        words = f"{what} holds {most} micro-batches, at most {stages - stage}: go back sooner"
        assert kind != "1f1b" or most <= stages - stage, words
        schedules.append(list(tasks))
    try:
        ticks = max(end for *_, end in clock(schedules))
    except ValueError as error:
        raise AssertionError(f"{schedules}: {error}") from None
    most = 3 * (micro_batches + stages - 1)
    if ticks > most:
        reason = _why_late(schedules, clock, kind, most)
        raise AssertionError(f"{ticks} ticks, at most {most}: {reason}{_shown(schedules)}")
    return schedules


def _brief(tasks, most: int = 24) -> str:
    """The list, or its beginning."""
    if len(tasks) <= most:
        return str(list(tasks))
    return f"[{', '.join(map(repr, tasks[:most]))}, …], {len(tasks)} tasks"


def _not_once(tasks, micro_batches: int) -> str:
    """What is missing or too many among the tasks of one stage; empty if nothing is."""
    wanted = Counter(f"{letter}{n}" for letter in "FB" for n in range(micro_batches))
    found = Counter(tasks)
    if found == wanted:
        return ""
    words = "each micro-batch's F and B belongs there once"
    for name, some in (("missing", wanted - found), ("too many", found - wanted)):
        words += f"; {name}: {', '.join(list(some)[:8])}" if some else ""
    if len(tasks) > 2 * len(wanted):
        words += "; are the tasks of other calls still in the list?"
    if found == Counter(f"{letter}{n + 1}" for letter in "FB" for n in range(micro_batches)):
        words += "; micro-batches count from 0"
    return words


def _shown(schedules):
    """The lists, where they are short enough to be read."""
    return f"; the lists: {schedules}" if len(schedules[0]) * len(schedules) <= 32 else ""


def _why_late(schedules: list[list[str]], clock, kind: str, most: int) -> str:
    """Which known slip makes the schedules late, if putting it right makes them quick enough."""
    for letter, what in (("B", "backwards"), ("F", "forwards")):
        orders = [[task for task in tasks if task[0] == letter] for tasks in schedules]
        upwards = [f"{letter}{n}" for n in range(len(orders[0]))]
        places = [iter(upwards) for _ in schedules]
        sorted_out = [
            [next(place) if task[0] == letter else task for task in tasks]
            for tasks, place in zip(schedules, places, strict=True)
        ]
        unlike = [stage for stage, order in enumerate(orders) if order != upwards]
        try:
            quick = max(end for *_, end in clock(sorted_out)) <= most
        except ValueError:
            quick = False
        if unlike and quick:
            return (
                f"stage {unlike[0]} runs its {what} in another order than the other stages send "
                f"them: {letter}0 before {letter}1, and so on"
            )
    warm = {next(n for n, task in enumerate(tasks) if task[0] == "B") for tasks in schedules}
    words = "a stage waits where it could compute"
    if kind == "1f1b" and len(warm) == 1:
        words += "; does the warm-up depend on the stage?"
    first = next(n for n, task in enumerate([*schedules[0], "B"]) if task[0] == "B")
    may = min(len(schedules), len(schedules[0]) // 2)
    if kind == "1f1b" and first < may:
        words += f"; stage 0 goes back after {first} forwards, and may hold {may} micro-batches"
    return words


@ends_in_notebook
def check_run(found, stages, micro_batches):
    assert not isinstance(found, str), found
    model = nn.Sequential(*[make_stage(stage, stages, 4, 1) for stage in range(stages)])
    x = torch.cat([random_like((2, 4), 40, n) for n in range(micro_batches)])
    F.mse_loss(
        model(x), torch.cat([random_like((2, 4), 41, n) for n in range(micro_batches)])
    ).backward()
    for stage, (grads, _) in enumerate(found):
        for grad, parameter in zip(grads, model[stage].parameters(), strict=True):
            check_close(
                grad, parameter.grad, f"the gradient on stage {stage}", rtol=1e-4, atol=1e-5
            )


BUBBLES = {  # by words, what a slip makes of p stages and m micro-batches
    "that is idle over busy time; divide by the whole time": lambda p, m: (p - 1) / m,
    "that is the idle time of all stages over the time of one": (
        lambda p, m: p * (p - 1) / (m + p - 1)
    ),
    "that is the share in which a stage is busy; the idle one is asked for": (
        lambda p, m: m / (m + p - 1)
    ),
    "that is a percentage; a share lies between 0 and 1": lambda p, m: 100 * (p - 1) / (m + p - 1),
    "the idle time is 3 (p - 1) ticks of 3 (m + p - 1); its 3 is missing": (
        lambda p, m: (p - 1) / (3 * (m + p - 1))
    ),
    "it was rounded down: `//` gives whole numbers": lambda p, m: (p - 1) // (m + p - 1),
    "that is the bubble of two stages, however many there are": lambda p, m: 1 / (m + 1),
    "p stages have a bubble of p - 1 micro-batches": lambda p, m: p / (m + p),
}


@ends_in_notebook
def check_bubble(found, place, cases):
    """`found` holds the bubbles of all cases; a slip is named where it explains all of them."""
    stages, micro_batches = cases[place]
    what = f"bubble({stages}, {micro_batches})"
    share = result_of(found, place, what)
    assert share is not None, f"{what} is None: is there an answer yet?"
    is_number = isinstance(share, (int, float, torch.Tensor)) and not isinstance(share, bool)
    assert is_number, f"{what} is a {type(share).__name__}, expected a number"
    share, right = float(share), (stages - 1) / (micro_batches + stages - 1)
    wrong = abs(share - right) > 1e-6
    for words, slip in BUBBLES.items():
        explains = all(
            isinstance(value, (int, float, torch.Tensor)) and abs(value - slip(*one)) < 1e-9
            for (_, value), one in zip(found, cases, strict=True)
        )
        assert not (wrong and explains), f"{what} is {share}: {words}"
    assert 0 <= share <= 1, f"{what} is {share}: a share lies between 0 and 1"
    rounded = wrong and share in map(round, [right] * 5, range(5))
    assert not rounded or share in (0, 1), f"{what} is {share}: that is rounded; leave all digits"
    assert not wrong, f"{what} is {share}, expected {right:.4f}"
