# ---
# jupyter:
#   course:
#     title: Performance
#     minutes: 240
#     core: 140
# ---

# %% [markdown]
# # Performance: what is this program waiting for?
#
# A training step takes 80 milliseconds. You buy a device that multiplies twice as fast, and the
# step takes 78. Nothing is broken. The step was hardly ever waiting for a multiplication. A program
# can wait for arithmetic, for memory, for Python, for a copy, or for an answer that it asked for too
# early. Only one of these is the slowest at a time, and work on any other is wasted. This chapter is
# about finding out which, before changing a line.
#
# **After this chapter you can**
#
# - say of a line whether it waits, copies, computes, or does nothing;
# - time a piece of code so that the number means something;
# - read a profile, and find the line that wastes the time;
# - say from flops and bytes how fast an operator can be at best;
# - predict the memory of a training step, and trade it for time;
# - use fewer bits, fewer operators and fewer graphs, and see what each is worth.
#
# **It leans on** chapter 02 (storages), 05 (autograd), 08 (modules) and 13 (a training loop, mixed
# precision). Times are shown and never graded: marks depend on operators, bytes, flops and graphs,
# which are counted. **Time:** four hours with all twelve exercises; the core path, marked `· core`,
# takes less than two and a half.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_predictions, count_operators, device
from course_utils import check_states, every_case, runs_with_the_answer

# %% nbgrader={"grade_id": "tools", "locked": true} jupyter={"source_hidden": true}
import copy
import importlib.util
import json
import shutil
import statistics
import sysconfig
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from course_utils import saved_bytes
from course_utils.chapters.performance.profiles import quietly
from torch.utils.flop_counter import FlopCounterMode

with quietly():
    from torch.utils.benchmark import Timer

# %% [markdown]
# ## 1. Who waits for whom? · core
#
# A program on a GPU is two programs. The **host** runs Python and *launches* work: it puts a
# **kernel** into the device's queue and continues at once. The **device** takes kernels from the queue,
# one after another. The host waits only when it asks for a value. A step can therefore be slow
# in three ways, and they look the same from outside.
#
# `PretendDevice`, a helper, plays host and device on a clock of its own, so that the numbers are the
# same on every machine. A launch costs the host 5 µs. **Predict** the time of six kernels that take
# 20 µs each, of six that take 2 µs, and of six of 10 µs where the host asks for each result.

# %%
from course_utils.chapters.performance.waiting import PretendDevice

large, tiny, asked = PretendDevice([20]), PretendDevice([2]), PretendDevice([10])
for _ in range(6):
    large.run()
    tiny.run()
    asked.run()
    asked.synchronise()
large.synchronise()
tiny.synchronise()
for name, pretend in {"large": large, "tiny": tiny, "asked": asked}.items():
    print(f"{name:6} {pretend.now:.0f} µs")

# %%
from course_utils.chapters.performance.pictures import draw_lanes

draw_lanes(
    {
        "large kernels: the host waits once, for the device": large,
        "tiny kernels: the device waits for the host": tiny,
        "each result asked for: each waits for the other": asked,
    },
    "Two lanes for each of three programs. Large kernels: the device is always busy. Tiny kernels: "
    "gaps on the device. Asked for: host and device take turns.",
)

# %% [markdown]
# In the first program the device is busy all the time. A faster device helps. In the second it is idle
# more than half of the time. There a faster device changes nothing; fewer launches would. In the third
# host and device take turns: neither works while the other does. Such a place is a
# **synchronisation**: the host needs a value that isn't there yet.
#
# The CPU has no queue: an operator has finished when its call returns. But the same lines launch the
# same operators there, so we can count them. What does a line do at all?

# %%
x = torch.arange(12.0, device=device).reshape(3, 4)
lines = {
    "x.T": lambda: x.T,
    "x.T.contiguous()": lambda: x.T.contiguous(),
    "x * 2": lambda: x * 2,
    "x.sum().item()": lambda: x.sum().item(),
}
for name, line in lines.items():
    with count_operators() as counts:
        line()
    print(f"{name:18}", dict(counts))

# %% [markdown]
# `permute` makes a new tensor object over the same storage: nothing is launched, whatever the size.
# `clone` copies. `mul` computes into new memory. `_local_scalar_dense` is the operator under `.item()`:
# it brings one number to the host, and the host waits for it.
#
# An operator whose result has a *shape* that depends on values waits as well, because the host has
# to know how much memory to allocate. `nonzero` and indexing by a mask are the usual ones.
#
# ### Exercise 16.1 — Predict the wait ★ · 3 min · 2 points · core
#
# `x` is a contiguous float32 tensor (1000, 1000) on a GPU. For each line choose one word:
#
# - `"nothing"`: no kernel is launched (a view, the same tensor, or only memory is set aside);
# - `"copies"`: new memory gets the same values;
# - `"computes"`: a kernel computes new values, and the host continues at once;
# - `"waits"`: the host can't continue before the device has finished.
#
# For example `y = x.T` is `"nothing"`.

# %% nbgrader={"grade_id": "predict-the-wait", "solution": true}
predict_the_wait = {
    "x.reshape(-1)": None,
    "x.T.reshape(-1)": None,
    "x.add_(1)": None,
    "if (x > 0).any(): pass": None,
    "x.to(torch.float32)": None,
    "x[x > 0]": None,
    "torch.where(x > 0, x, 0)": None,
    "print(x)": None,
    "x.expand(8, 1000, 1000)": None,
    "torch.empty_like(x)": None,
}
### BEGIN SOLUTION
words = [
    "nothing",
    "copies",
    "computes",
    "waits",
    "nothing",
    "waits",
    "computes",
    "waits",
    "nothing",
    "nothing",
]
predict_the_wait = dict(zip(predict_the_wait, words, strict=True))
### END SOLUTION

# %% nbgrader={"grade_id": "predict-the-wait-check", "grade": true, "points": 2} jupyter={"source_hidden": true}
truth = {name: "nothing" for name in ("x.reshape(-1)", "x.to(torch.float32)")}
truth |= {name: "nothing" for name in ("x.expand(8, 1000, 1000)", "torch.empty_like(x)")}
truth |= {name: "waits" for name in ("if (x > 0).any(): pass", "x[x > 0]", "print(x)")}
truth |= {name: "computes" for name in ("x.add_(1)", "torch.where(x > 0, x, 0)")}
truth["x.T.reshape(-1)"] = "copies"
because = {
    "x.reshape(-1)": "x is contiguous, so a row of all elements is a view of it",
    "x.T.reshape(-1)": "the elements of x.T don't follow each other in memory in that order",
    "x.add_(1)": "in place means no new memory; the numbers still have to be computed",
    "if (x > 0).any(): pass": "Python has to know which way to take",
    "x.to(torch.float32)": "it is float32 already: the same tensor comes back",
    "x[x > 0]": "how many elements does the result have?",
    "torch.where(x > 0, x, 0)": "the shape is known beforehand, and Python needs no value",
    "print(x)": "the digits are made by the host",
    "x.expand(8, 1000, 1000)": "stride 0: eight times the same memory",
    "torch.empty_like(x)": "memory is set aside, and nothing is written into it",
}
check_predictions(predict_the_wait, truth, because)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Ask two questions. Does Python need a value, or a number of elements? Then it waits. Does any element
# have to be read or written? If not, nothing is launched.
# </details>

# %% [markdown]
# ## 2. What does the clock say? · core
#
# The queue has a consequence for every stopwatch. The host's clock measures what the host does, and the host
# returns from a launch long before the work is done. Here are 100 kernels of 2000 µs each, timed in the
# way that most people write first. **Predict** the number for one call.

# %% topics=["measure-before-optimising"]
pretend = PretendDevice([2000])
begin = pretend.clock()
for _ in range(100):
    pretend.run()
print("a call takes", (pretend.clock() - begin) / 100, "µs")

# %% [markdown]
# 5 µs: that is the launch. The kernels are still in the queue. With `synchronise` before the clock is
# read, the number is right. On a real device that is `torch.accelerator.synchronize()`; on the CPU
# there is no queue, and it isn't needed.

# %% topics=["measure-before-optimising"]
pretend = PretendDevice([2000])
begin = pretend.clock()
for _ in range(100):
    pretend.run()
pretend.synchronise()
print("a call takes", (pretend.clock() - begin) / 100, "µs")

# %% [markdown]
# Four more ways to get a wrong number, each seen in published benchmarks:
#
# - **The first call counts.** It loads libraries, fills caches, picks an algorithm, compiles. Call the
#   function a few times first, and throw these times away: the **warm-up**.
# - **Earlier work counts.** What is still in the queue when the clock starts is paid by you.
#   Synchronise before the start, too.
# - **One slow call counts.** A garbage collection, another program. A mean is pulled up by it; a
#   **median** isn't.
# - **One number alone.** Is 10 % faster a gain, or weather? Give the **spread** with the median.

# %% topics=["measure-before-optimising"]
times = [104, 101, 102, 990, 103, 101, 102]  # µs; the fourth call met a garbage collection
print("mean  ", statistics.fmean(times))
print("median", statistics.median(times), " spread", max(times) - min(times))

# %% [markdown]
# ### Exercise 16.2 — Measure it right ★★ · 10 min · 4 points · core
#
# `measure_it_right(run, synchronise, clock, warmup, repeats)` returns `(median, spread)`.
#
# - `run()` launches the work, `synchronise()` waits until the queue is empty, `clock()` tells the time,
#   perhaps in large whole numbers.
# - Call `run` `warmup` times without timing it (0 is possible), then `repeats` times (1 or more), each
#   call timed alone, from an empty queue until its work is done. Left out, they are 3 and 7.
# - The median of an even number of times is half-way between the two in the middle. The spread is the
#   longest time less the shortest.
# - Something may be in the queue when your function is called.
#
# For example, kernels of 900, 20, 30, 40 µs, a launch of 5 µs, `warmup=1`, `repeats=3`: the times
# are 25, 35, 45, so `(35, 20)`.

# %% nbgrader={"grade_id": "try-measure", "locked": true}
from course_utils.chapters.performance.waiting import check_measure, run_measure


@runs_with_the_answer
def try_measure(case: dict) -> dict:
    """What measure_it_right makes of a PretendDevice: its result, calls of run, work left over."""
    return run_measure(measure_it_right, case)


# %% nbgrader={"grade_id": "measure-it-right", "solution": true}
def measure_it_right(
    run: Callable, synchronise: Callable, clock: Callable, warmup: int = 3, repeats: int = 7
) -> tuple[float, float]:
    """The median and the spread (longest less shortest) of ``repeats`` times by ``clock``."""
    ### BEGIN SOLUTION
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return statistics.median(times), max(times) - min(times)
    ### END SOLUTION


# %% nbgrader={"grade_id": "measure-it-right-check", "grade": true, "points": 4}
cases = {
    "the example": dict(kernels=[900, 20, 30, 40], warmup=1, repeats=3),
    "an even number": dict(kernels=[500, 300, 40, 10, 21, 80], warmup=2, repeats=4),
    "no warm-up, earlier work": dict(kernels=[20, 30, 25], warmup=0, repeats=3, pending=400),
    "one slow call": dict(kernels=[9, 11, 10, 900, 14, 12], warmup=1, repeats=5),
    "tiny kernels": dict(kernels=[80, 1, 2, 3], launch=7, warmup=1, repeats=3, pending=50),
    "once": dict(kernels=[300, 60], warmup=1, repeats=1),
    "twice": dict(kernels=[30, 14], warmup=0, repeats=2),
    "fractions": dict(kernels=[3, 0.2173, 0.4519, 1.7237], launch=0.25, warmup=1, repeats=3),
    "equal times": dict(kernels=[20] * 7, warmup=2, repeats=5),
    "a time of 0": dict(kernels=[5, 0, 3, 0], launch=0, warmup=1, repeats=3),
    "warmup and repeats left out": dict(kernels=[900, 800, 700, *range(50, 10, -4)]),
    "repeats left out": dict(kernels=[900, *range(50, 10, -4)], warmup=1),
    "nanoseconds since 1970": dict(
        kernels=[900, 21, 32, 45], warmup=1, repeats=3, start=17 * 10**17
    ),
}
### BEGIN HIDDEN TESTS
cases["many"] = dict(kernels=[700, 600, *range(50, 10, -3)], launch=2, warmup=2, repeats=11)
cases["two"] = dict(kernels=[40, 10], launch=3, warmup=0, repeats=2, pending=90)
### END HIDDEN TESTS
with every_case() as case:
    for name, setting in cases.items():
        with case(name):
            check_measure(try_measure(setting), setting)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Synchronise twice around each call: so that nothing is left from before, and so that all is done.
# </details>
# <details><summary>Hint 2</summary>
#
# `statistics.median` knows what to do with an even number.
# </details>
#
# The library does all of this: `torch.utils.benchmark.Timer` warms up, synchronises and repeats for as
# long as you say. It uses one thread unless told to use more, so that numbers from two machines can be
# compared. It gives the median, and as its spread the distance between the quartiles.

# %% topics=["measure-before-optimising"] tags=["nbval-ignore-output"]
x = torch.rand(256, 256, device=device)
for statement in ("x @ x", "x + x"):
    with quietly():
        found = Timer(statement, globals={"x": x}).blocked_autorange(min_run_time=0.2)
    print(f"{statement}  {found.median * 1e6:6.1f} µs, spread {found.iqr * 1e6:.1f}")

# %% [markdown]
# A speed claim belongs to a machine, a version and a size. Test it on yours, with your sizes, before you
# rewrite anything. This one has been repeated for years:
#
# > **Often said.** *"Appending to a list is slow; allocate the tensor first."* Collecting in a list
# > and stacking once copies each element once, as filling a tensor does. What is slow is a `torch.cat`
# > in each round: it copies all that is there, again and again.


# %% topics=["append-vs-preallocate"]
def appended(rows):
    kept = []
    for row in rows:
        kept.append(row)
    return torch.stack(kept)


def preallocated(rows):
    kept = rows.new_empty(rows.shape)
    for n, row in enumerate(rows):
        kept[n] = row
    return kept


def concatenated(rows):
    kept = rows[:0]
    for row in rows:
        kept = torch.cat([kept, row[None]])
    return kept


# %% [markdown]
# Bytes that are written don't depend on the weather, so count them:

# %% topics=["append-vs-preallocate"]
from course_utils.chapters.performance.bytes_written import count_written

rows = torch.rand(200, 32, device=device)  # 25,600 bytes
for collect in (appended, preallocated, concatenated):
    with count_written() as written:
        assert torch.equal(collect(rows), rows)
    print(f"{collect.__name__:13} {written.nbytes:>9,} bytes, {written.kernels:3} kernels")

# %% [markdown]
# The list writes each byte once, with *one* kernel. Preallocating writes as many bytes with 200
# kernels. Concatenating writes a hundred times as many: for n rows, n²/2.

# %% [markdown]
# ## 3. Where does the time go? · core
#
# A clock tells how long the whole takes, and not which part. A **profiler** notes when every operator
# begins and ends, in every thread, so it sees the backward pass as well. `ProfilerActivity.CUDA`
# adds the kernels on a GPU.

# %% topics=["autograd-profiler"] tags=["nbval-ignore-output"]
from torch.profiler import ProfilerActivity, profile

model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 10)).to(device)
batch = torch.rand(512, 64, device=device)
model(batch)  # warm-up
with quietly(), profile(activities=[ProfilerActivity.CPU]) as profiled:
    model(batch).sum().backward()
rows = sorted(profiled.key_averages(), key=lambda row: -row.self_cpu_time_total)
for row in rows[:5]:
    print(f"{row.key:32} self {row.self_cpu_time_total:6.0f} µs, total {row.cpu_time_total:6.0f}")

# %% [markdown]
# An operator calls others: `linear`, further down the list, calls `addmm`. That gives it two times.
# The **total** is from beginning to end. The **self** time is the total less what was spent in the
# operators that it called directly. Totals overlap, and their sum means nothing. Self times add up
# to the whole. Sort by self time to find the work, by total time to find the line that asked for
# it.

# %%
from course_utils.chapters.performance.pictures import draw_flame

walked = [("linear", 1, 0, 100), ("t", 1, 5, 15), ("addmm", 1, 20, 90), ("copy_", 1, 25, 65)]
alt = "Bars over time: linear from 0 to 100; below it t and addmm; below addmm copy_."
title = "linear 100 = 20 itself + 10 t + 70 addmm;  addmm 70 = 30 itself + 40 copy_"
draw_flame(walked, alt, title)

# %% [markdown]
# Walk it by hand: `linear` lasts 100, its two children 10 and 70, so it spent 20 itself. `copy_` isn't
# taken off again: it is inside `addmm`, which was taken off as a whole. And the surprise is at the
# bottom: more than half of `addmm` was a copy.
#
# ### Exercise 16.3 — Read the profile ★★ · 12 min · 4 points · core
#
# `read_the_profile(events)` gets a list of `(name, thread, start, end)`: a string and three integers, in
# *any order*, each with `start < end`, and leaves it as it is. Return a dict: for each name `(calls, self_time)`.
#
# - An event is inside another if both are of the same thread and it begins no earlier and ends no
#   later. Of two with equal begin and end, the first in the list encloses the second.
# - An event's self time is its length less the lengths of the events *directly* inside it. Events of one
#   thread never overlap partly.
# - Several events may have one name, also one inside another (a recursion): add up.
#
# The events of the picture give `{"linear": (1, 20), "t": (1, 10), "addmm": (1, 30), "copy_": (1, 40)}`.


# %% nbgrader={"grade_id": "read-the-profile", "solution": true}
def read_the_profile(events: list[tuple[str, int, int, int]]) -> dict[str, tuple[int, int]]:
    """For each name how many events it has, and the time spent in them themselves."""
    ### BEGIN SOLUTION
    found: dict[str, tuple[int, int]] = {}
    inside: list[tuple[str, int, int]] = []  # (name, thread, end) of what is open, outermost first
    for name, thread, start, end in sorted(events, key=lambda e: (e[1], e[2], -e[3])):
        while inside and (inside[-1][1] != thread or inside[-1][2] <= start):
            inside.pop()
        if inside:
            calls, time = found[inside[-1][0]]
            found[inside[-1][0]] = calls, time - (end - start)
        calls, time = found.get(name, (0, 0))
        found[name] = calls + 1, time + end - start
        inside.append((name, thread, end))
    return found
    ### END SOLUTION


# %% nbgrader={"grade_id": "read-the-profile-check", "grade": true, "points": 4}
from course_utils.chapters.performance.profiles import check_profiles

walked = [("linear", 1, 0, 100), ("t", 1, 5, 15), ("addmm", 1, 20, 90), ("copy_", 1, 25, 65)]
logs = {
    "the example": walked,
    "in another order": walked[::-1],
    "two threads": [
        ("step", 1, 0, 50),
        ("load", 2, 10, 40),
        ("mm", 1, 20, 30),
        ("decode", 2, 10, 20),
    ],
    "one name in two threads": [("mm", 1, 0, 5), ("step", 2, 0, 9), ("mm", 2, 1, 8)],
    "side by side": [("mul", 1, 0, 5), ("mul", 1, 5, 9), ("add", 1, 9, 30)],
    "a recursion": [("backward", 1, 0, 90), ("backward", 1, 10, 60), ("mm", 1, 20, 50)],
    "a recursion by way of another": [("call", 1, 0, 90), ("lin", 1, 10, 70), ("call", 1, 20, 50)],
    "the inner one is listed first": [("mm", 1, 0, 5), ("linear", 1, 0, 10), ("t", 1, 5, 10)],
    "equal ends": [("relu", 1, 0, 9), ("clamp", 1, 0, 9), ("fill", 1, 0, 4), ("copy", 1, 4, 8)],
    "equal ends, in the order of names": [("clamp", 1, 0, 9), ("relu", 1, 0, 9)],
    "one begins at 0, where another ends": [("mm", 1, -5, 0), ("mm ", 1, 0, 4), (" mm", 1, 4, 6)],
    "two equal events": [("mm", 1, 0, 9), ("mm", 1, 0, 9), ("t", 1, 2, 4)],
    "nothing": [],
    "five deep, one without a name": [
        (name, 1, 2 * n, 50 - n**2) for n, name in enumerate(["step", "forward", "", "mm", "copy_"])
    ],
    "threads 0 and -1, times below 0": [
        ("load", -1, -20, 40),
        ("open", -1, -19, -2),
        ("seek", -1, -15, -5),
        ("step", 0, -10, 30),
        ("mm", 0, 5, 10),
    ],
    "threads 1 and -1": [
        ("wait", -1, 10, 30),
        ("copy", 1, 5, 40),
        ("open", -1, 1, 4),
        ("load", -1, 0, 60),
    ],
    "nanoseconds since 1970": [
        (
            name,
            1,
            1_764_288_000_000_000_001 + start * 90_000_001,
            1_764_288_000_000_000_001 + end * 90_000_001,
        )
        for name, _, start, end in walked
    ],
}
### BEGIN HIDDEN TESTS
logs["deep"] = [("a", 3, 0, 64), ("b", 3, 1, 60), ("a", 3, 2, 50), ("c", 3, 3, 9), ("b", 3, 9, 40)]
logs["deep, twice"] = logs["deep"][::-1] + [(n, 7, s + 5, e + 5) for n, _, s, e in logs["deep"]]
### END HIDDEN TESTS
check_profiles(read_the_profile, logs)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Sort by thread, then by start, then longest first. Then every event comes after the one that
# encloses it. Python's sort keeps the order of equal entries.
# </details>
# <details><summary>Hint 2</summary>
#
# Keep a list of the events that are still open. Before each event take off the end of the list what has ended, or
# belongs to another thread. What is then last is the direct parent.
# </details>
#
# The profiler's own table says the same. Here its events, in the form of the exercise, are compared with
# what it calls *self CPU time*:

# %% topics=["autograd-profiler"]
from course_utils.chapters.performance.profiles import events_of, self_times

mine = self_times(events_of(profiled))
library = {e.key: (e.count, e.self_cpu_time_total) for e in profiled.key_averages()}
print("names and calls agree:", all(mine[n][0] == library[n][0] for n in mine))
print("self times agree:", all(abs(mine[n][1] / 1000 - library[n][1]) < 0.1 for n in mine))

# %% [markdown]
# A profile is read for what surprises. Three programs, each with a waste. Look at the number of calls,
# which doesn't depend on the machine. **Find** the waste before you read on.


# %%
x = torch.rand(64, 40, device=device)


def normalised(x):
    return torch.stack([(row - row.mean()) / row.std() for row in x])


def attended(x):
    return (x.double() @ x.double().T).softmax(-1).float()


def windows(x):
    return torch.cat([x[:, n : n + 8].clone() for n in range(32)]).contiguous().clone()


# %% topics=["autograd-profiler"]
for program in (normalised, attended, windows):
    program(x)  # warm-up
    with quietly(), profile(activities=[ProfilerActivity.CPU]) as profiled:
        program(x)
    rows = sorted(profiled.key_averages(), key=lambda e: (e.key[:6] != "aten::", -e.count))[:4]
    print(f"{program.__name__:10}", "  ".join(f"{row.key[6:]} ×{row.count}" for row in rows))

# %% [markdown]
# - `normalised` runs hundreds of operators where four on the whole tensor would do: a Python loop
#   over rows. The device waits for launches.
# - `attended` converts (`to`, `_to_copy`, `copy_`) more often than it computes, and its product runs in
#   float64.
# - `windows` clones 32 pieces that `cat` copies anyway, and then clones the result.
#
# The same profile as a **timeline**: `profiled.export_chrome_trace("trace.json")` writes a file
# that `chrome://tracing` and ui.perfetto.dev open. It is JSON, so it can be drawn here (from the
# quickest of eight runs, which was interrupted least):


# %% topics=["autograd-profiler"] tags=["nbval-ignore-output"]
def traced(program: Callable) -> list:
    """A program's operators as (name, thread, start, end)."""
    with quietly(), profile(activities=[ProfilerActivity.CPU]) as profiled:
        program(x)
    with tempfile.TemporaryDirectory() as folder:
        profiled.export_chrome_trace(f"{folder}/trace.json")
        trace = json.loads(Path(folder, "trace.json").read_text())["traceEvents"]
    return [(e["name"], 1, e["ts"], e["ts"] + e["dur"]) for e in trace if e.get("cat") == "cpu_op"]


def lasted(spans: list) -> float:
    return max(end for *_, end in spans) - min(start for _, _, start, _ in spans)


draw_flame(
    min((traced(windows) for _ in range(8)), key=lasted),
    "The timeline: many small clones, then cat, then one more clone.",
    "windows(x), from its trace",
)

# %% [markdown]
# Time goes to the right; what an operator calls is drawn below it. The comb is the 32 slices and
# their clones, and then follow `cat` and the last clone. Each element is copied three times.
#
# Python itself is not in that picture. For Python's functions there is **cProfile**, which notes
# every call, and slows each one down. **py-spy** looks at a running process from outside, a hundred
# times a second, and needs no change to the program: `py-spy top --pid 1234`, or
# `py-spy record -o flame.svg -- python train.py`; `py-spy dump --pid 1234` shows where it hangs,
# and `--subprocesses` looks at loader workers as well. `hotshot` and `torch.utils.bottleneck` are
# gone.

# %% topics=["python-profilers"]
import cProfile
import pstats

python_profile = cProfile.Profile()
python_profile.runcall(normalised, x)
calls = {key[2]: row[0] for key, row in pstats.Stats(python_profile).stats.items()}
print({name: calls[name] for name in calls if "mean" in name or "std" in name})

# %% topics=["py-spy"]
found = shutil.which("py-spy", path=sysconfig.get_path("scripts"))
print("py-spy is installed:", found is not None)

# %% [markdown]
# > **Then and now.** *"`torch.autograd.profiler.profile(use_cuda=True)`, printed inside the block"*
# > and *"`python -m torch.utils.bottleneck main.py`"*. The argument and the module are gone.
# > `torch.profiler.profile(activities=[…])` is what stayed, and it is read after its block has ended.

# %% errata=["profiler-use-cuda", "torch-utils-bottleneck", "hotshot"]
try:
    torch.autograd.profiler.profile(use_cuda=True)
except TypeError as error:
    print("TypeError:", str(error)[-42:])
for name in ("torch.utils.bottleneck", "hotshot", "cProfile", "torch.profiler"):
    print(f"{name:23}", "gone" if importlib.util.find_spec(name) is None else "here")

# %% [markdown]
# ## 4. Answers that are asked for too early · core
#
# Section 1 showed what waiting costs: host and device take turns. A profile shows it as a long `item` or
# `copy_`, in which the host does nothing. The waits in a training loop rarely look like waits.
# `count_syncs`, a helper, counts them on the CPU, too. (On a GPU,
# `torch.cuda.set_sync_debug_mode("warn")` reports each with its line.) **Predict** how many there are:

# %% topics=["avoid-transfers"]
from course_utils.chapters.performance.syncs import count_syncs

loss = torch.tensor(0.7, device=device)
with count_syncs() as counts:
    if loss > 0.5:
        text = f"loss {loss:.2f}"
    total = 0.0 + float(loss)
    history = [loss.item()]
    array = loss.cpu().numpy()
dict(counts)

# %% [markdown]
# Five lines, six values brought to the host. (On a GPU the last line waits once: after `cpu`, `numpy` is
# free.) Each wait empties the queue. Two ways out. Keep values on the device: sums, maxima and histories are tensors as well.
# And if you must look, look every hundredth step.
#
# A branch on a value can often be computed instead. "If the norm is above 1, divide by it" is the
# same as multiplying by `(1 / norm).clamp(max=1)`, for every norm, and the host needn't know it.
# `torch.where(condition, a, b)` is the general form.

# %% topics=["avoid-transfers"]
for norm in torch.tensor([0.5, 1.0, 4.0], device=device):
    branch = 1 / norm if norm > 1 else torch.ones_like(norm)
    assert torch.equal(branch, (1 / norm).clamp(max=1))
print("equal, and only one of them waits")

# %% [markdown]
# NumPy inside a `forward` is the same wait, and two copies: to the host, and back. It also cuts the graph
# of gradients. `torch` has nearly everything that NumPy has:


# %% topics=["no-numpy-in-forward", "avoid-transfers"]
class Detour(nn.Module):
    def forward(self, x):
        import numpy as np

        return torch.from_numpy(np.log1p(x.detach().cpu().numpy())).to(x.device)


x = torch.rand(3, device=device, requires_grad=True)
with count_syncs() as counts:
    away, here = Detour()(x), torch.log1p(x)
print(dict(counts), " equal:", torch.allclose(away, here))
print("has a graph: detour", away.grad_fn is not None, "; torch", here.grad_fn is not None)

# %% [markdown]
# ### Exercise 16.4 — Hidden synchronisations ★★ · 10 min · 4 points · core
#
# This loop waits in every step. Read it, then write `hidden_syncs(model, optimizer, batches)`,
# which does the same without a single wait inside. Return `(losses, hits)`: a floating-point tensor
# (steps,), and a 0-dim int64 tensor.
#
# - `batches` is a list of `(x, y)` on the model's device, perhaps empty; the optimizer is SGD.
# - Some parameters may be frozen, or not used by the model, or not held by the optimizer, and old
#   gradients may be there, also of these.
# - `losses` has no graph and has the dtype of the losses (float32 where there are none).
# - The weights afterwards are those of `chatty`, up to rounding.


# %% nbgrader={"grade_id": "chatty", "locked": true} tags=["to-be-read"]
def chatty(model: nn.Module, optimizer: torch.optim.SGD, batches: list) -> tuple[list, int]:
    """Train over the batches; gradients with a norm above 1, over all of them, are clipped."""
    losses, hits = [], 0
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = sum(g.square().sum().item() for g in grads) ** 0.5
        if norm > 1:
            for g in grads:
                g.mul_(1 / norm)
        optimizer.step()
        losses.append(loss.item())
        hits += (scores.argmax(1) == y).sum().item()
    return losses, hits


# %% nbgrader={"grade_id": "try-syncs", "locked": true}
from course_utils.chapters.performance.syncs import check_loop, run_loop


@runs_with_the_answer
def try_syncs(case: dict) -> dict:
    """Train a small model with hidden_syncs: what it returned, the weights, and the waits."""
    return run_loop(hidden_syncs, case)


# %% nbgrader={"grade_id": "hidden-syncs", "solution": true}
def hidden_syncs(
    model: nn.Module, optimizer: torch.optim.SGD, batches: list
) -> tuple[torch.Tensor, torch.Tensor]:
    """Train as ``chatty`` does; losses (steps,) and hits () as tensors on the device."""
    ### BEGIN SOLUTION
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        scale = (1 / norm).clamp(max=1)
        for g in grads:
            g.mul_(scale)
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits
    ### END SOLUTION


# %% nbgrader={"grade_id": "hidden-syncs-check", "grade": true, "points": 4}
from course_utils.chapters.performance.syncs import LOOPS

settings = {name: dict(setting) for name, setting in LOOPS.items()}
### BEGIN HIDDEN TESTS
settings["longer still"] = dict(batches=[(5, 0.2 * n) for n in range(1, 10)], seed=12)
### END HIDDEN TESTS
with every_case() as case:
    for name, setting in settings.items():
        with case(name):
            setting["device"] = str(device)
            check_loop(try_syncs(setting), setting)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `.detach()` cuts the graph and waits for nothing. `torch.stack` makes one tensor of many.
# </details>
# <details><summary>Hint 2</summary>
#
# The norm over all gradients is a 0-dim tensor: a sum of sums of squares, and a root. Multiplying by a
# 0-dim tensor works in place.
# </details>

# %% [markdown]
# ## 5. How fast could it be? · core
#
# Nothing waits for an answer any more. Is the program fast now? To say so you need to know how fast it
# *could* be. An operator has to do two things: compute its flops, and move its bytes between memory and
# the arithmetic units. Both happen at the same time, so it takes at least as long as the slower one:
#
# `seconds ≥ max(flops / peak, bytes / bandwidth)`
#
# A **flop** is one addition or one multiplication. **Intensity** is flops per byte. Below
# `peak / bandwidth` an operator waits for memory, above it for arithmetic. Drawn over the intensity,
# the best speed is a slope and then a flat roof: the **roofline**. For an imaginary machine of 100 Gflop/s
# and 10 GB/s, **predict**: which of these four reach the roof?

# %% topics=["measure-before-optimising"]
n, side = 1_000_000, 512
operators = {  # flops, bytes in float32
    "x + y": (n, 3 * 4 * n),
    "x @ v": (2 * side * side, 4 * (side * side + 2 * side)),
    "x @ y": (2 * side**3, 4 * 3 * side * side),
    "5 · x": (n, 2 * 4 * n),
}
for name, (flops, nbytes) in operators.items():
    print(f"{name}: {flops / nbytes:7.3f} flops per byte")

# %%
from course_utils.chapters.performance.pictures import draw_roof

alt = "Speed over intensity: a slope up to 10 flops per byte, then a roof; only x @ y is on it."
draw_roof(operators, 100e9, 10e9, alt)

# %% [markdown]
# Only the matrix product. Elementwise work is at the bottom of the slope: at a twelfth of a flop for each
# byte this machine computes at less than 1 % of its peak, and no better kernel will help. What helps is
# fewer bytes: a smaller dtype, or *fusing* several operators, so that a value is read once for all of them.
#
# And this machine? Its roof can be measured: a large product for the peak, a large copy for the bandwidth.

# %% topics=["measure-before-optimising"] tags=["nbval-ignore-output"]
with quietly():
    a, big = torch.rand(512, 512, device=device), torch.rand(2**23, device=device)
    product = Timer("a @ a", globals={"a": a}).blocked_autorange(min_run_time=0.2).median
    copying = Timer("big.clone()", globals={"big": big}).blocked_autorange(min_run_time=0.2).median
roof = {"peak": 2 * 512**3 / product, "bandwidth": 2 * big.nbytes / copying}
print(f"peak {roof['peak'] / 1e9:.0f} Gflop/s, bandwidth {roof['bandwidth'] / 1e9:.1f} GB/s")
print(f"memory-bound below {roof['peak'] / roof['bandwidth']:.0f} flops per byte")

# %% [markdown]
# ### Exercise 16.5 — Roofline ★★ · 10 min · 4 points · core
#
# `roofline(kind, sizes, itemsize, peak, bandwidth)` returns `(flops, bytes, bound)` of one operator.
# Each operand is read once and each result written once, `itemsize` bytes an element. A size may be 0,
# or huge: flops and bytes are exact. An addition is one flop, a multiplication one. `bound` is
# `"compute"` if the flops take longer than the bytes, else `"memory"`; `peak` is in flops a second,
# `bandwidth` in bytes a second.
#
# | kind | sizes | computes |
# | --- | --- | --- |
# | `"copy"` | `(n,)` | `x.clone()` |
# | `"add"` | `(n,)` | `x + y` |
# | `"add_"` | `(n,)` | `x.add_(y)`, in place |
# | `"axpy"` | `(n,)` | `3 * x + y` in one kernel |
# | `"bias"` | `(rows, columns)` | `x + b` with `b` of shape (columns,) |
# | `"linear"` | `(batch, inputs, outputs)` | `x @ w.T`, no bias |
# | `"conv"` | `(batch, inputs, outputs, height, width, kernel)` | a square convolution, stride 1, no bias, padded to keep the size, also for an even kernel; count the padding's flops too |
# | `"depthwise"` | `(batch, channels, height, width, kernel)` | the same with a group for each channel |
#
# A product of n terms counts n multiplications and n additions. Example: `roofline("add", (10,), 4, 1e9,
# 1e9)` is `(10, 120, "memory")`.


# %% nbgrader={"grade_id": "roofline", "solution": true}
def roofline(
    kind: str, sizes: tuple[int, ...], itemsize: int, peak: float, bandwidth: float
) -> tuple[int, int, str]:
    """Flops, bytes, and what is waited for: ``"compute"`` or ``"memory"``."""
    ### BEGIN SOLUTION
    if kind == "linear":
        batch, inputs, outputs = sizes
        flops = 2 * batch * inputs * outputs
        elements = batch * inputs + inputs * outputs + batch * outputs
    elif kind == "bias":
        rows, columns = sizes
        flops, elements = rows * columns, 2 * rows * columns + columns
    elif kind in ("conv", "depthwise"):
        *channels, height, width, kernel = sizes[1:]
        places = sizes[0] * height * width
        weight = kernel**2 * (channels[0] * channels[1] if kind == "conv" else channels[0])
        flops, elements = 2 * places * weight, places * (channels[0] + channels[-1]) + weight
    else:
        flops = {"copy": 0, "add": 1, "add_": 1, "axpy": 2}[kind] * sizes[0]
        elements = (2 if kind == "copy" else 3) * sizes[0]
    nbytes = elements * itemsize
    return flops, nbytes, "compute" if flops / peak > nbytes / bandwidth else "memory"
    ### END SOLUTION


# %% nbgrader={"grade_id": "roofline-check", "grade": true, "points": 4}
from course_utils.chapters.performance.rooflines import MORE_SIZES, check_roofline

tries = [("add", (10,), 4), ("copy", (7,), 4), ("add_", (9,), 4), ("axpy", (6,), 2)]
tries += [("bias", (5, 3), 4), ("linear", (2, 3, 5), 4), ("linear", (64, 256, 128), 2)]
tries += [("conv", (2, 3, 8, 5, 7, 3), 4), ("depthwise", (2, 6, 5, 7, 3), 4), ("copy", (9,), 8)]
tries += [("add", (0,), 4), ("bias", (0, 5), 2)]
tries += [("conv", (2, 3, 4, 6, 5, 1), 8), ("depthwise", (2, 5, 6, 7, 5), 2), *MORE_SIZES]
machines = [(1e9, 1e9), (100e9, 10e9), (1e9, 100e9), (1.0, 12.0)]  # the last: a tie for "add"
machines += [(1e12, 1e14)]  # far below a nanosecond
machines += [(1e9, 4e9)]  # the roof begins at a quarter of a flop for each byte
machines += [(0.45, 5.0)]  # no whole numbers
### BEGIN HIDDEN TESTS
tries += [("conv", (1, 16, 16, 4, 6, 1), 8), ("depthwise", (3, 8, 4, 9, 5), 2), ("bias", (1, 9), 8)]
tries += [("linear", (1, 7, 11), 8), ("axpy", (1,), 4)]
### END HIDDEN TESTS
with every_case() as case:
    for n, setting in enumerate(tries):
        with case(f"{setting[0]}, sizes {setting[1]}, itemsize {setting[2]}"):
            for machine in machines[n % 5 :] + machines[: n % 5]:
                check_roofline(roofline(*setting, *machine), *setting, *machine)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write down the shapes of all operands and of the result. Their elements, added up, times `itemsize`, are
# the bytes.
# </details>
# <details><summary>Hint 2</summary>
#
# A convolution makes batch · outputs · height · width sums. Each has inputs · kernel · kernel terms; in a
# depthwise one, kernel · kernel.
# </details>
#
# ### Few flops, many bytes
#
# Networks for phones are built of **depthwise** convolutions, because they take few flops. Here is a
# 3 × 3 convolution of 64 channels, and the depthwise one, on images of 56 × 56. **Predict** by which
# factors flops and bytes shrink.

# %% topics=["shufflenetv2-rules"]
places, channels = 56 * 56, 64
full = 2 * places * 9 * channels**2, 4 * (2 * places * channels + 9 * channels**2)
depthwise = 2 * places * 9 * channels, 4 * (2 * places * channels + 9 * channels)
for name, (flops, nbytes) in {"full": full, "depthwise": depthwise}.items():
    print(f"{name:9} {flops:>11,} flops {nbytes:>9,} bytes {flops / nbytes:6.1f} flops per byte")

# %% [markdown]
# 64 times fewer flops, and hardly fewer bytes. It left the roof and sits on the slope: it isn't 64 times
# faster. The authors of ShuffleNetV2 measured such networks and wrote down four rules. All of them are
# about bytes and kernels, which flops don't show:
#
# 1. A 1 × 1 convolution with as many inputs as outputs moves the fewest bytes.
# 2. Many groups cost bytes: at equal flops there are more channels.
# 3. Many small branches cost kernels.
# 4. Elementwise operators cost bytes and have no flops to speak of.

# %% topics=["shufflenetv2-rules"]
print("rule 1: equal flops, 56 × 56 places, inputs × outputs = 4096")
for inputs, outputs in ((64, 64), (32, 128), (16, 256)):
    print(f"   {inputs:3} → {outputs:3}: {4 * places * (inputs + outputs):>9,} bytes")
print("rule 2: equal flops, groups × as many channels")
for groups in (1, 4, 16):
    c = int(64 * groups**0.5)
    print(f"   {groups:2} groups of {c // groups:2} channels: {4 * places * 2 * c:>9,} bytes")

# %% topics=["shufflenetv2-rules"]
x, w = torch.rand(1, 64, 56, 56, device=device), torch.rand(64, 64, 3, 3, device=device)
blocks = {
    "one convolution": lambda: F.conv2d(x, w),
    "four branches": lambda: torch.cat([F.conv2d(part, w[:16, :16]) for part in x.chunk(4, 1)], 1),
    "convolution, shift, ReLU": lambda: (F.conv2d(x, w) + 1).relu(),
}
for name, block in blocks.items():
    with count_written() as written:
        block()
    print(f"{name:25} {written.kernels} kernels, {written.nbytes:>9,} bytes written")

# %% [markdown]
# ## 6. Who counts the flops?
#
# By hand you count eight operators. For a whole model something has to count while it runs. A
# `TorchDispatchMode` sees every operator below autograd, with its arguments, so also those of the
# backward pass. PyTorch's `FlopCounterMode` is such a mode. It keeps its counts by module:

# %% topics=["flops-counting"]
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10))
net, images = net.to(device), torch.rand(4, 3, 8, 8, device=device)
with FlopCounterMode(display=False) as counter:
    net(images).sum().backward()
for module, counted in sorted(counter.get_flop_counts().items()):
    print(f"{module:18}", {str(name)[5:]: flops for name, flops in counted.items()})

# %% [markdown]
# By hand: the convolution makes 4 · 8 · 8 · 8 sums of 27 terms, so 2 · 2048 · 27 = 110,592. Backward
# needs two products for each layer, one by the weight and one by the input. The first layer's input
# is the batch, which needs no gradient, so it is left out there. Hence the rule of thumb: *a training step costs
# three forward passes*.
#
# Other tools count something else under the same name. thop and torchinfo report **multiply-adds**,
# half of the flops. torchstat's "Flops" are multiply-adds, and its "MAdd" are flops. (thop and
# torchstat are no longer maintained.)

# %% topics=["flops-counting"]
import torchinfo

macs = torchinfo.summary(net, input_data=images, verbose=0).total_mult_adds
with FlopCounterMode(display=False) as forward:
    net(images)
print("torchinfo, multiply-adds:", f"{macs:,}")
print("FlopCounterMode, flops:  ", f"{forward.get_total_flops():,}")

# %% [markdown]
# Half would be 75,776; torchinfo adds the biases. Elementwise operators are left out by both; thop adds
# batch norm, torchstat ReLU as well. And each has its own errors. Here is one of `FlopCounterMode`: the backward pass of a depthwise
# convolution takes twice the flops of its forward pass. It says:

# %% topics=["flops-counting"]
w = torch.rand(3, 1, 3, 3, device=device, requires_grad=True)
with FlopCounterMode(display=False) as forward:
    y = F.conv2d(images.requires_grad_(), w, groups=3)
with FlopCounterMode(display=False) as backward:
    y.sum().backward()
print("backward / forward:", backward.get_total_flops() / forward.get_total_flops())

# %% [markdown]
# Four: with three groups, it takes the weight's gradient for three times what it is. Count once
# yourself.
#
# ### Exercise 16.6 — A counter of flops ★★★ · 23 min · 5 points
#
# `flop_counter(run)` calls `run()` once and returns a dict: for each operator that does products,
# its name and the flops of all its calls. What `run` computes stays the same, and what it raises
# goes on to the caller.
#
# - The operators are `mm`, `addmm`, `bmm`, `baddbmm`, `convolution` and `convolution_backward`; any
#   other isn't counted, nor are biases. One that doesn't run is left out, or is 0.
# - Convolutions have one to three dimensions, any stride, padding, dilation and groups, and are
#   never transposed.
# - Don't use `FlopCounterMode`: it is wrong for groups.
#
# In a `TorchDispatchMode`, `func.overloadpacket.__name__` is the name. The arguments:
#
# - `mm(x, y)`, `bmm(x, y)`; `addmm(bias, x, y)`, `baddbmm(bias, x, y)`; perhaps with `out=` or
#   with factors, `beta=` and `alpha=`;
# - `convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)`;
# - `convolution_backward(grad_output, x, weight, bias_sizes, stride, padding, dilation, transposed,
#   output_padding, groups, output_mask)`. The mask tells which gradients are computed: by `x`, by
#   `weight`, by the bias. Each of the first two takes as many flops as the forward pass.
#
# Example: `F.linear(x, w)` of shapes (5, 3) and (7, 3) without a bias gives `{"mm": 210}`.

# %% nbgrader={"grade_id": "try-flops", "locked": true}
from course_utils.chapters.performance.flops import check_flops, run_counter
from torch.utils._python_dispatch import TorchDispatchMode


@runs_with_the_answer
def try_flops(names: list, device: str) -> dict:
    """What flop_counter says of programs that run one after another."""
    return run_counter(flop_counter, names, device)


# %% nbgrader={"grade_id": "flop-counter", "solution": true}
def flop_counter(run: Callable) -> dict[str, int]:
    """Flops by operator, of one call of ``run``."""
    ### BEGIN SOLUTION
    counts: dict[str, int] = {}

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            flops = 0
            if name in ("mm", "bmm"):
                flops = 2 * result.numel() * args[0].shape[-1]
            elif name in ("addmm", "baddbmm"):
                flops = 2 * result.numel() * args[1].shape[-1]
            elif name == "convolution":
                flops = 2 * result.numel() * args[1][0].numel()
            elif name == "convolution_backward":
                flops = 2 * args[0].numel() * args[2][0].numel() * sum(args[10][:2])
            if flops:
                counts[name] = counts.get(name, 0) + flops
            return result

    with Mode():
        run()
    return counts
    ### END SOLUTION


# %% nbgrader={"grade_id": "flop-counter-check", "grade": true, "points": 5}
programs = ["linear", "two layers, backward", "attention, backward", "baddbmm", "convolution"]
programs += ["strided, dilated", "groups, backward", "no gradient by the image"]
programs += ["one dimension, backward", "three dimensions", "one filter, backward"]
programs += ["backward by the image alone", "nothing to multiply", "no rows"]
programs += ["a factor made with a dtype", "without a bias, backward", "in inference mode"]
programs += ["factors beta and alpha", "edited in place", "drawn numbers"]
programs += ["terms: none", "without gradients", "a batch, beta and alpha", "out=, twice"]
programs += ["mm and others", "the same shapes, other strides", "backward by the bias alone"]
programs += ["baddbmm, one row for all"]
several = [[name] for name in programs] + [["linear", "linear", "convolution"]]
### BEGIN HIDDEN TESTS
several += [["depthwise, backward"], programs]
### END HIDDEN TESTS
with every_case() as case:
    for names in several:
        with case(", then ".join(names)):
            check_flops(try_flops(names, str(device)), names, str(device))

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For products: each element of the result is a sum over the last dimension of the first factor.
# </details>
# <details><summary>Hint 2</summary>
#
# For convolutions: each element of the result is a sum over one filter, `weight[0]`. A weight of
# a grouped convolution has inputs / groups channels already.
# </details>

# %% [markdown]
# ## 7. What fills the memory? · core
#
# Time is half of the bill. A step also has to fit. When it doesn't, the batch shrinks, and a device that
# was waiting for arithmetic waits for launches again. What is in the memory of a training step? Four
# things: parameters, their gradients, the optimizer's averages, and the **activations** that the
# forward pass saves for the backward pass. `track_memory`, a helper, notes after each operator what is
# alive:

# %% topics=["memory-estimation"]
from course_utils.chapters.performance.ledger import track_memory

deep = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(16)]).to(device)
x = torch.rand(1024, 64, device=device)  # 256 KiB
with track_memory() as memory:
    deep(x).sum().backward()
print("peak:", round(max(n for _, n in memory.history) / x.nbytes, 1), "times the batch")

# %%
from course_utils.chapters.performance.pictures import draw_memory

draw_memory(
    {"16 layers": [nbytes / 1024 for _, nbytes in memory.history]},
    "Bytes alive over a step: a straight climb in the forward pass up to the loss, and a descent "
    "in the backward pass. What is left at the end are the gradients.",
)

# %% [markdown]
# The forward pass climbs: every `tanh` leaves its result for the backward pass. The peak is at the loss. On
# the way down each gradient frees what it used. What remains at the end is the parameters' gradients.
#
# What does a layer save? What its own gradient needs, and only that:
#
# - a **linear** layer its input: the gradient of the weight is made of it;
# - **ReLU** and **tanh** their result: their slope can be read off it;
# - **GELU** its input: its slope can't be read off the result.
#
# And a tensor that two layers save is there once. **Predict** the two numbers:

# %% topics=["memory-estimation"]
rows = torch.rand(8, 4, device=device)  # 128 bytes
first, second = nn.Linear(4, 4, device=device), nn.Linear(4, 4, device=device)
for name, middle in {"ReLU": nn.ReLU(), "GELU": nn.GELU()}.items():
    model = nn.Sequential(first, middle, second)
    kept = saved_bytes(partial(model, rows)) - second.weight.nbytes
    print(f"linear, {name}, linear: {kept} bytes")

# %% [markdown]
# 256 with ReLU: the batch, and the ReLU's result, which is the second layer's input as well. 384 with
# GELU: its input is one more.
#
# > **Often said.** *"Use in-place operators wherever you can: they save memory. Switch `inplace` on for
# > every ReLU."* Between two linear layers it saves nothing of what is kept: the tensor that it
# > overwrites was kept by nobody. Where it is kept, the backward pass fails. And your caller's data may
# > be overwritten.

# %% topics=["inplace-memory"] errata=["inplace-wherever-possible"]
for inplace in (False, True):
    model = nn.Sequential(first, nn.ReLU(inplace), second)
    saved = saved_bytes(partial(model, rows)) - second.weight.nbytes
    print(f"inplace={inplace!s:5} saves {saved} bytes")
mine = torch.tensor([-1.0, 1.0])
nn.Sequential(nn.ReLU(inplace=True))(mine)
print("the caller's tensor is now", mine.tolist())
try:
    F.relu(torch.sigmoid(first(rows)), inplace=True).sum().backward()
except RuntimeError as error:
    print(str(error)[:95])

# %% [markdown]
# (In-place batch norm with activation, and DenseNets that recompute their concatenations, are two published ways of
# saving activations by recomputing them. Section 8 does that for any layer.)
#
# **`del` and rebinding** free a tensor when the *last* reference goes. A graph is a reference, too:

# %% topics=["del-intermediates"]
with track_memory() as memory:
    a = torch.rand(1000, device=device)
    b = a.exp()
    del a
    print("nobody needs a: ", memory.nbytes, "bytes alive")
    leaf = torch.rand(1000, device=device, requires_grad=True)
    c = leaf.exp()
    d = c.sin()
    del c
    print("the graph needs c:", memory.nbytes, "bytes alive")
    del d
    print("the graph is gone:", memory.nbytes, "bytes alive")

# %% [markdown]
# First 4000 bytes: `a` is gone. Then 16,000: `b`, `leaf`, `d`, and `c`, whose name is gone, but `sin`
# kept it. Dropping the end of the graph frees all that the graph kept. In a loop, the old graph lives until
# `loss` is bound anew, and by then the next forward pass has filled memory again. `del loss` before it
# lowers the peak. A layer that is never called costs as well:

# %% topics=["unused-layers-cost"]
with_spare = nn.ModuleDict({"used": nn.Linear(4, 4), "spare": nn.Linear(400, 400)}).to(device)
with_spare["used"](rows).sum().backward()
print("parameters:", sum(p.nbytes for p in with_spare.parameters()), "bytes")
print("without a gradient:", [name for name, p in with_spare.named_parameters() if p.grad is None])

# %% [markdown]
# It takes memory, it goes into every checkpoint, and DDP waits in vain for its gradients (chapter 17).
#
# ### The allocator
#
# On a GPU a freed tensor's memory isn't given back to the device. It goes into a **cache**, because asking the
# device is slow. `nvidia-smi` therefore shows what is *reserved*, not what is *allocated*.
# `torch.cuda.empty_cache()` gives the cached blocks back. It frees no tensor, and the next step has to ask again.
# A pretend allocator, so that the numbers are the same everywhere:

# %% topics=["empty-cache"]
from course_utils.chapters.performance.ledger import PretendAllocator

for clearing in (False, True):
    allocator = PretendAllocator()
    for _ in range(3):  # three steps of the same shapes
        blocks = [allocator.malloc(100), allocator.malloc(50)]
        for block in blocks:
            allocator.free(block)
        if clearing:
            allocator.empty_cache()
    print("emptied in each step:" if clearing else "left alone:          ", allocator)

# %% [markdown]
# Use it before *another process* needs the memory, and hardly ever otherwise. (If there is memory enough but in
# pieces, `PYTORCH_ALLOC_CONF=expandable_segments:True` helps.) To see who holds what:
#
# - `torch.cuda.memory_stats()` and `memory_summary()`: allocated, reserved, peak;
# - `torch.cuda.memory._record_memory_history()` and `_dump_snapshot()`: every block with the stack
#   that made it, drawn by pytorch.org/memory_viz;
# - gpustat, nvitop, `nvidia-smi`: all processes, from outside;
# - the profiler, which also counts bytes on a CPU:

# %% topics=["memory-tools"]
with quietly(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
    grown = [rows.repeat(2**n, 1) for n in range(4)]
found = {
    e.key: e.self_device_memory_usage or e.self_cpu_memory_usage for e in profiled.key_averages()
}
print({name: nbytes for name, nbytes in found.items() if nbytes > 0})

# %% [markdown]
# ### Exercise 16.7 — The memory ledger ★★ · 10 min · 4 points · core
#
# `memory_ledger(layers, batch, optimizer, itemsize)` predicts, without computing the step (on the device
# `meta` it may run), the bytes of a training step: a dict with `"parameters"`, `"gradients"` (after
# backward), `"optimizer"` (after one step) and `"activations"`: all that the forward pass saves, the
# batch included where it is saved, parameters not.
#
# - `layers` is a list such as `[("linear", 784, 64), ("relu",), ("linear", 64, 10)]`: linear layers with a
#   bias, and `("relu",)`, `("tanh",)`, `("gelu",)`, in any order behind a first linear layer. All parameters are trained.
# - `batch` is the number of rows, `itemsize` the bytes of an element: 2, 4 or 8. Sizes may be huge.
# - `optimizer` is `"sgd"`, `"momentum"` (one buffer the size of each parameter) or `"adam"` (two).
#   Adam's step counters don't count.
#
# Example: `memory_ledger([("linear", 4, 4), ("relu",), ("linear", 4, 4)], 8, "adam", 4)` gives 160, 160,
# 320, 256.


# %% nbgrader={"grade_id": "memory-ledger", "solution": true}
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    """Bytes of ``parameters``, ``gradients``, ``optimizer`` and ``activations``."""
    ### BEGIN SOLUTION
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1 if name in ("relu", "tanh") else k)  # tensor k goes into layer k
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "memory-ledger-check", "grade": true, "points": 4}
from course_utils.chapters.performance.ledger import check_ledgers

small, relu, gelu, tanh = ("linear", 4, 4), ("relu",), ("gelu",), ("tanh",)
most = [("linear", 10**9, 13 * 10**8), ("linear", 13 * 10**8, 10**9)]
ledgers = {
    "the example": ([small, relu, small], 8, "adam", 4),
    "GELU": ([("linear", 3, 5), gelu, ("linear", 5, 2)], 7, "momentum", 4),
    "ends with tanh": ([("linear", 6, 5), tanh], 3, "sgd", 4),
    "activations in a row": (
        [("linear", 3, 5), relu, relu, gelu, tanh, ("linear", 5, 2)],
        4,
        "adam",
        4,
    ),
    "two linear layers": ([("linear", 3, 7), ("linear", 7, 2)], 5, "momentum", 4),
    "ends with GELU": ([("linear", 3, 5), tanh, ("linear", 5, 4), gelu], 5, "sgd", 4),
    "ends with ReLU": ([("linear", 2, 6), gelu, ("linear", 6, 5), relu], 3, "sgd", 4),
    "ends with tanh twice": ([("linear", 2, 6), tanh, tanh], 3, "sgd", 4),
    "ends with four": ([("linear", 2, 6), relu, relu, tanh, relu], 3, "sgd", 4),
    "float64, one row": ([("linear", 5, 3), relu, ("linear", 3, 4)], 1, "adam", 8),
    "bfloat16": ([("linear", 3, 4), tanh, ("linear", 4, 2)], 6, "adam", 2),
    "no row": ([small, relu, ("linear", 4, 3), gelu], 0, "momentum", 4),
    "one number": ([("linear", 1, 1)], 1, "sgd", 8),
    "one column": ([("linear", 3, 1), gelu, ("linear", 1, 2), tanh], 3, "adam", 4),
    "huge": ([("linear", 9_000_001, 8_000_003), gelu, ("linear", 8_000_003, 3)], 99_991, "adam", 4),
    "huge, together above 2**63": (most, 7, "sgd", 4),
}
### BEGIN HIDDEN TESTS
wide = [("linear", 9, 8), gelu, gelu, ("linear", 8, 6), relu, relu, ("linear", 6, 1), tanh, gelu]
ledgers["wide"], ledgers["one layer"] = (
    (wide, 11, "momentum", 8),
    ([("linear", 2, 3)], 2, "adam", 4),
)
### END HIDDEN TESTS
check_ledgers(memory_ledger, ledgers)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Number the tensors: tensor k goes into layer k, tensor k + 1 comes out. Which numbers are kept?
# </details>
# <details><summary>Hint 2</summary>
#
# A set of numbers counts each tensor once. Don't forget that a bias is a parameter.
# </details>

# %% [markdown]
# ## 8. Pay with time, get memory
#
# The climb in the picture is what stops a batch from fitting. Must all of it be kept? No: it can be
# computed again when it is needed. **Activation checkpointing** keeps only the input of each *segment* of
# layers, and runs the segment's forward pass once more when the backward pass arrives there.

# %% topics=["gradient-checkpointing"]
from torch.utils.checkpoint import checkpoint_sequential

histories, forwards = {}, {}
for segments in (1, 2, 4, 8, 16):
    deep.zero_grad()
    with track_memory() as memory, count_operators() as counts:
        checkpoint_sequential(deep, segments, x, use_reentrant=False).sum().backward()
    histories[f"segments: {segments}"] = [nbytes / 1024 for _, nbytes in memory.history]
    forwards[segments] = counts["addmm"]
print("layers run forward:", forwards)
print(
    "peak in batches:   ",
    {n: round(max(h) / 256, 1) for n, h in zip(forwards, histories.values(), strict=True)},
)

# %% [markdown]
# **Predict** from these which number of segments is best for 16 layers, before you look at the picture.

# %%
draw_memory(
    {name: histories[name] for name in ("segments: 1", "segments: 4", "segments: 16")},
    "Bytes alive over a step. One segment: a mountain. Four: a low ridge of four teeth, half as "
    "high. Sixteen: as high as one, and longer.",
)

# %% [markdown]
# Each tooth is a segment that is run again. With s segments of n / s layers, about s inputs are kept, and
# n / s activations while a segment is worked on. The sum s + n / s is smallest at s = √n: four
# for 16. The price is at most one more forward pass, so four thirds of the arithmetic (the last segment
# isn't run again, its activations are needed at once).
#
# The gradients are the same, to the last bit. What draws random numbers is given the same ones again:

# %% topics=["gradient-checkpointing"]
from torch.utils.checkpoint import checkpoint

dropped = nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.5), nn.Tanh()).to(device)
gradients = []
for again in (False, True):
    torch.manual_seed(0)
    y = checkpoint(dropped, x, use_reentrant=False) if again else dropped(x)
    gradients.append(torch.autograd.grad(y.sum(), dropped[0].weight)[0])
print("equal gradients:", torch.equal(*gradients))

# %% [markdown]
# Layers are rarely equal. Walk through `saved = [8, 1, 1, 8, 1, 1]`, the size of each layer's input, cut into
# segments of 3 and 3. Kept are the first inputs, 8 + 8. While one segment is worked on, the rest of it
# is there as well: 1 + 1. The peak is 18. Cut into 1 and 5: 8 + 1 are kept, and the rest is
# 1 + 8 + 1 + 1 = 11, so the peak is 20. (Wrong would be 8 + 1 + 12: the segment's first input is counted twice.)
#
# ### Exercise 16.8 — A schedule for checkpoints ★★ · 14 min · 4 points
#
# `checkpoint_schedule(saved)` finds the segments with the smallest peak. It gets the sizes of the
# layers' inputs, a list of 1 to 14 integers from 0 on, perhaps billions, and leaves it as it is.
#
# Return `(lengths, peak)`: a list with the number of layers in each segment, in order (a tuple will
# do), so that the peak is as small as possible, and that peak: the sum of all segments' first inputs, plus the
# largest "rest of a segment". Of several best schedules any will do.
#
# Example: nine layers of size 1 give `([3, 3, 3], 5)`.

# %% nbgrader={"grade_id": "try-schedules", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.performance.schedules import check_apart, check_schedule


@runs_with_the_answer
def try_schedules(saved: list) -> None:
    """Two calls with equal sizes: is each result its caller's?"""
    check_apart(*(checkpoint_schedule(list(saved)) for _ in range(2)))


# %% nbgrader={"grade_id": "checkpoint-schedule", "solution": true}
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    """The lengths of the segments with the smallest peak, and that peak."""
    ### BEGIN SOLUTION
    best: tuple[list[int], int] | None = None
    for cuts in range(2 ** (len(saved) - 1)):  # bit n: a segment begins at layer n + 1
        segments = [[saved[0]]]
        for n, size in enumerate(saved[1:]):
            if cuts >> n & 1:
                segments.append([size])
            else:
                segments[-1].append(size)
        peak = sum(part[0] for part in segments) + max(sum(part[1:]) for part in segments)
        if best is None or peak < best[1]:
            best = [len(part) for part in segments], peak
    return best
    ### END SOLUTION


# %% nbgrader={"grade_id": "checkpoint-schedule-check", "grade": true, "points": 4}
chains = [[1] * 9, [8, 1, 1, 8, 1, 1], [5], [3, 4], [4, 5], [5, 1, 2, 7, 1, 1, 3, 2]]
chains += [[1, 9, 1, 1, 1, 9, 1, 4], [0, 2, 0, 0, 6], [2] * 7]
chains += [[13, 2, 11, 1, 7, 3, 5, 5, 3, 7, 1, 2], [0, 5] * 6]
chains += [[20, 19] + [1] * 10, [0], [0, 0, 0], [6, 0, 7, 2, 0, 0, 9, 1, 1, 4, 8, 3, 0, 5]]
chains += [[0, 1, 3, 2, 0, 4, 1, 1]]  # the best schedule doesn't begin with the best for a part
chains += [[5, 1, 2, 1, 7, 1, 3, 2]]  # two sizes of an earlier list exchanged
rounds = [chains, [[(n << 30) + n for n in (3, 2, 1, 5, 2)]]]  # gigabytes last: a loop may hang
### BEGIN HIDDEN TESTS
rounds += [[[3, 1, 4, 1, 5, 9, 2, 6, 5, 3], [1] * 14, [6, 2, 9, 1, 8, 3, 7, 5, 2, 9, 1, 4]]]
### END HIDDEN TESTS
for chains in rounds:
    with every_case() as case:
        for chain in chains:
            with case(str(chain)):
                mine = list(chain)
                check_schedule(checkpoint_schedule(mine), chain, chains)
                assert mine == chain, "the list that was handed in was changed: work on a copy"
        with case("the same sizes again"):
            try_schedules(chains[0])

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Between each two layers there is a cut or there isn't: for 14 layers 8192 ways. Trying them all is
# quick.
# </details>
# <details><summary>Hint 2</summary>
#
# `itertools.product([False, True], repeat=n - 1)` lists the ways. Write the peak of one schedule first.
# </details>

# %% [markdown]
# ## 9. Half the bits
#
# Waiting for memory means waiting for bytes, and a number with half the bits has half of them. Chapter 13
# trained with `autocast` and a `GradScaler`. Here is what these two guard against. float16 has 5 bits for the exponent: nothing
# between 0 and 6 · 10⁻⁸, and nothing above 65,504. bfloat16 has the range of float32, and only 8 bits
# of precision. **Predict** the three lines:

# %%
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    x = torch.tensor([1e-8, 70000.0, 1.001], dtype=dtype)
    print(f"{str(dtype)[6:]:9} {[round(value, 9) for value in x.tolist()]}")

# %% [markdown]
# float16 loses the small one and the large one, bfloat16 the third: 1.001 becomes 1. Gradients are small
# numbers: float16 loses them, while bfloat16 needs no scaler. Here a weight has gradients as
# small as those behind a long chain of layers, and is trained in float16 as it is:


# %%
def steps_in_half(scale: float) -> float:
    """How far a weight moves in ten steps whose gradient is 1e-8, made in float16."""
    weight = torch.zeros(1)  # the master weight stays in float32
    for _ in range(10):
        half = weight.half().requires_grad_()
        (half * torch.tensor(1e-8 * scale).half()).sum().backward()
        weight -= 1e6 * half.grad.float() / scale
    return weight.item()


for scale in (1.0, 2.0**10):
    print(f"scale {scale:6.0f}: weight {steps_in_half(scale):.3f}")

# %% [markdown]
# Without a scale the gradient is 0 and nothing is learned. Nothing fails, either. **Loss scaling**
# multiplies the loss, and with it every gradient, by a power of two, which moves them into float16's range,
# and divides before the step. A histogram shows what it does:

# %%
from course_utils.chapters.performance.pictures import draw_exponents

generator = torch.Generator().manual_seed(0)
spread = 2.0 ** (3.5 * torch.randn(4000, generator=generator) - 21)
draw_exponents(
    {"as they are": spread, "times 2¹⁶": spread * 2**16},
    "Two histograms over float16's range. An eighth of the first is below it, all of the second "
    "inside.",
)

# %% [markdown]
# Multiplying shifts the histogram to the right. Too far, and the largest become `inf`. The best scale is the
# largest that fits: `GradScaler` finds it by trying, halves it when an `inf` appears (and skips that
# step), and doubles it after 2000 good ones.
#
# Which operators run in half is written in lists, one for each kind of device. Products do, for they are
# what gets faster. Losses are kept in float32, where sums would lose too much. What is in no list follows
# promotion. **Predict** which are float32 here:

# %%
with torch.autocast("cpu", torch.float16):
    product = torch.rand(2, 2) @ torch.rand(2, 2)
    results = {
        "product": product,
        "its ReLU": product.relu(),
        "cross-entropy of it": F.cross_entropy(product, torch.tensor([0, 1])),
        "sum with a float32": product + torch.rand(2, 2),
    }
print({name: str(result.dtype)[6:] for name, result in results.items()})

# %% [markdown]
# ### Exercise 16.9 — Which scale fits? ★★ · 6 min · 3 points
#
# `mixed_precision_errors(gradients)` says which scale fits, and what it saves. It gets a list of
# finite float32 tensors of any shapes, perhaps empty, and leaves the list and the tensors as they
# are. Return `(scale, lost, lost_scaled)`, plain numbers:
#
# - `scale`: the largest power of two, at most 2²⁴, for which no entry times `scale` becomes `inf`
#   in float16;
# - `lost`: how many entries that aren't 0 become 0 in float16 without a scale;
# - `lost_scaled`: how many do so after scaling.
#
# For example `[torch.tensor([1.0, 1e-8])]` gives `(32768.0, 1, 0)`. Large gradients may need a
# scale below 1.


# %% nbgrader={"grade_id": "try-precision-errors", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_precision_errors(gradients: list) -> tuple:
    """The answer's numbers; are the list and its tensors as they were?"""
    mine, before = list(gradients), [gradient.clone() for gradient in gradients]
    found = mixed_precision_errors(mine)
    kept = list(map(id, mine)) == list(map(id, gradients))
    same = all(map(torch.equal, gradients, before))
    return found, kept, same and not any(gradient.requires_grad for gradient in gradients)


# %% nbgrader={"grade_id": "mixed-precision-errors", "solution": true}
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:
    """The scale, and how many entries underflow in float16 without it and with it."""

    ### BEGIN SOLUTION
    def lost(scale):
        return sum(int(((g != 0) & ((g * scale).half() == 0)).sum()) for g in gradients)

    scale = 2.0**24
    while any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
    return scale, lost(1.0), lost(scale)
    ### END SOLUTION


# %% nbgrader={"grade_id": "mixed-precision-errors-check", "grade": true, "points": 3}
from course_utils.chapters.performance.precision import check_scale

lists = {
    "the example": [[1.0, 1e-8]],
    "two tensors, a negative giant": [[1e-3, 0.0, 2e-8, 1e-6, 0.0], [-300.0, 1e-9]],
    "65,519 still rounds down": [[65519.0, 1e-30]],
    "1e-7 is still there": [[1e-7, 2.0]],
    "65,520 rounds to inf": [[65520.0, 0.0]],
    "about half of float16's smallest": [[2.0**-25, 3e-8, 4e-8, 1e-6, 1.0]],
    "about half of it once scaled": [[2.3e-15, 2.0**-49, 1e-12, 1e-10, 1e-6]],
    "far too large": [[3e9, 5.0, 1e-3, 1e-40]],
    "near float32's largest": [[-3e38, 1.0]],
    "all small": [[1e-12, 1e-12, -1e-13, -0.0, 1e-6, -0.0]],
    "a matrix and two numbers": [[[1e-9, 3.0], [0.0, 5.0]], 7e4, 1e-9],
    "an empty tensor": [[]],
    "an empty list": [],
}
twice = [torch.tensor([[1e-9, 1e-6, 0.0, 0.0], [4e-8, 5.0, 0.0, 3.0]], device=device)] * 2
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(9)
drawn = 2.0 ** (6 * torch.randn(300, generator=generator) - 18)
lists["drawn"], lists["zeros"] = [drawn[:100].tolist(), drawn[100:].tolist()], [[0.0, 0.0]]
### END HIDDEN TESTS
with every_case() as case:
    for name, values in lists.items():
        with case(name):
            tensors = [torch.tensor(row, device=device) for row in values]
            found, kept, same = try_precision_errors(tensors)
            assert kept, "the caller's list was changed: leave its tensors in it"
            assert same, "the gradients themselves were changed"
            check_scale(found, tensors)
    with case("one tensor twice in the list"):
        check_scale(mixed_precision_errors(twice), twice)
    with case("other states of the tensors"):
        check_states(mixed_precision_errors, twice, what="mixed_precision_errors([x, x])")

# %% [markdown]
# <details><summary>Hint</summary>
#
# Begin with 2²⁴ and halve until it fits. `.half()` rounds, and gives `inf` where it is too large.
# </details>

# %% [markdown]
# ## 10. Fewer operators at inference
#
# A trained model is used far more often than it is trained, and then some of its operators can be
# worked out beforehand. Batch norm in eval mode is a fixed scale and shift for each channel, and the
# convolution before it is linear as well. Two linear maps in a row are one:
#
# `norm(w·x + b) = (w·x + b − mean) · γ/√(var + eps) + β`
#
# so the folded weight is `w · γ/√(var + eps)`, and the bias `(b − mean) · γ/√(var + eps) + β`.

# %% topics=["conv-bn-fusion"]
torch.manual_seed(0)
conv, norm = nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3)
images = torch.rand(4, 2, 6, 6) * 2
norm(conv(images))  # training mode: it collects statistics
conv, norm = conv.eval(), norm.eval()
factor = norm.weight / (norm.running_var + norm.eps).sqrt()

# %% topics=["conv-bn-fusion"]
from torch.nn.utils.fusion import fuse_conv_bn_eval

weight = conv.weight * factor.view(-1, 1, 1, 1)
bias = (conv.bias - norm.running_mean) * factor + norm.bias
by_hand, library = F.conv2d(images, weight, bias, padding=1), fuse_conv_bn_eval(conv, norm)(images)
assert torch.allclose(norm(conv(images)), by_hand, atol=1e-5)
assert torch.allclose(by_hand, library, atol=1e-5)

# %% [markdown]
# The idea goes further. **RepVGG** trains three branches, a 3 × 3 and a 1 × 1 convolution and the input itself, each
# with its norm, because that trains better, and folds them into one convolution afterwards. Two
# facts: a 1 × 1 kernel is a 3 × 3 kernel with zeros around it, and the identity is a 1 × 1 kernel with a 1
# where output and input channel agree. Sums of convolutions are convolutions with summed kernels.
# **ACNet** adds a 1 × 3 and a 3 × 1 convolution to a 3 × 3 one in the same way:

# %% topics=["repvgg-acnet"]
square, flat, tall = torch.rand(2, 2, 3, 3), torch.rand(2, 2, 1, 3), torch.rand(2, 2, 3, 1)
branches = F.conv2d(images, square, padding=1)
branches = (
    branches + F.conv2d(images, flat, padding=(0, 1)) + F.conv2d(images, tall, padding=(1, 0))
)
folded = square.clone()
folded[:, :, 1:2, :] += flat
folded[:, :, :, 1:2] += tall
assert torch.allclose(F.conv2d(images, folded, padding=1), branches, atol=1e-5)

# %%
from course_utils.chapters.performance.pictures import draw_kernels

draw_kernels(
    {"3 × 3": square, "1 × 3": flat, "3 × 1": tall, "folded": folded},
    "Four 3 by 3 grids: a full kernel, a row, a column, and their sum, a full kernel.",
)

# %% [markdown]
# ### Exercise 16.10 — Three branches, one convolution ★★★ · 18 min · 5 points
#
# `fold_batch_norm(block)` gets a `RepBlock` in eval mode (printed below) and returns one
# `nn.Conv2d` with the same output: 3 × 3, padding 1, with a bias, and the groups, stride, dtype and
# device of the block's 3 × 3 convolution.
#
# - The two convolutions may have a bias or none, norms may have `affine=False`, each has its own
#   `eps`. `skip` may be `None`.
# - The block stays as it is.
#
# With groups a weight has shape `(outputs, inputs / groups, 3, 3)`: input channels are counted anew
# in each group. With 4 channels in 2 groups, output channel 3 is the second of its group, so its
# identity is at `[3, 1, 1, 1]`.

# %% nbgrader={"grade_id": "try-fold", "locked": true}
from course_utils.chapters.performance.folding import MORE_BLOCKS, RepBlock, check_fold, run_fold


@runs_with_the_answer
def try_fold(case: dict) -> dict:
    """Fold a block; the convolution's output, shape and dtype, and whether the block changed."""
    return run_fold(fold_batch_norm, case)


print(RepBlock(4, 4, groups=2, skip=True))


# %% nbgrader={"grade_id": "fold-batch-norm", "solution": true}
def fold_batch_norm(block: RepBlock) -> nn.Conv2d:
    """One convolution that does what the block does in eval mode."""

    ### BEGIN SOLUTION
    def scaled(kernel, bias, norm):
        factor = (norm.running_var + norm.eps).rsqrt()
        factor = factor * norm.weight if norm.affine else factor
        shift = (-norm.running_mean if bias is None else bias - norm.running_mean) * factor
        return kernel * factor.view(-1, 1, 1, 1), shift + norm.bias if norm.affine else shift

    wide, narrow = block.wide, block.narrow
    parts = [scaled(wide.weight, wide.bias, block.wide_norm)]
    parts += [scaled(F.pad(narrow.weight, (1, 1, 1, 1)), narrow.bias, block.narrow_norm)]
    if block.skip is not None:
        identity = torch.zeros_like(wide.weight)
        for n in range(len(identity)):
            identity[n, n % identity.shape[1], 1, 1] = 1
        parts += [scaled(identity, None, block.skip)]
    options = {"stride": wide.stride, "padding": 1, "groups": wide.groups}
    conv = nn.Conv2d(wide.in_channels, wide.out_channels, 3, **options).to(wide.weight)
    with torch.no_grad():
        conv.weight.copy_(sum(kernel for kernel, _ in parts))
        conv.bias.copy_(sum(bias for _, bias in parts))
    return conv
    ### END SOLUTION


# %% nbgrader={"grade_id": "fold-batch-norm-check", "grade": true, "points": 5}
blocks = {
    "two branches": dict(inputs=3, outputs=5),
    "with the input's own": dict(inputs=4, outputs=4, skip=True),
    "groups": dict(inputs=4, outputs=4, skip=True, groups=2),
    "two groups of three": dict(inputs=6, outputs=6, skip=True, groups=2, seed=7),
    "stride 2, with biases": dict(inputs=2, outputs=6, stride=2, bias=True),
    "stride (2, 1)": dict(inputs=2, outputs=3, stride=(2, 1)),
    "no bias, norms without weights": dict(inputs=3, outputs=2, affine=False, seed=3),
    "norms without weights": dict(inputs=3, outputs=3, skip=True, bias=True, affine=False),
    "float64": dict(inputs=2, outputs=2, skip=True, dtype="float64"),
    "a bias and a norm's weights here, none there": dict(
        inputs=4, outputs=4, bias=True, skip=True, mixed=True, seed=6
    ),
}
half = {t: dict(inputs=2, outputs=4, bias=True, dtype=t) for t in ("bfloat16", "float16")}
blocks |= half | MORE_BLOCKS
blocks["on the device meta"] = dict(inputs=4, outputs=4, skip=True, groups=2, where="meta")
### BEGIN HIDDEN TESTS
blocks["four groups"] = dict(inputs=8, outputs=8, skip=True, groups=4, seed=9)
### END HIDDEN TESTS
with every_case() as case:
    for name, setting in blocks.items():
        with case(name):
            setting["device"] = str(device)
            check_fold(try_fold(setting), setting)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write a function that turns a kernel, a bias (or None) and a norm into a folded kernel and bias. Use it
# three times and add up.
# </details>
# <details><summary>Hint 2</summary>
#
# `F.pad(kernel, (1, 1, 1, 1))` puts zeros around a 1 × 1 kernel. `nn.Conv2d(…).to(some_weight)` takes over
# dtype and device.
# </details>

# %% [markdown]
# ## 11. Eight bits, and fewer numbers
#
# Folding keeps every number. Can the model do with worse ones? An int8 has 256 values. **Affine
# quantisation** spreads them over a range from `low` to `high`: `x ≈ (q − zero) · scale`. Walk it for values from −1 to
# 4. The 256 values have 255 steps, so `scale = 5/255 ≈ 0.0196`. −1 must become −128, so
# `zero = round(−128 − (−1)/scale) = −77`. The value 0 becomes exactly −77. That matters: zeros of padding and ReLU
# stay zeros. That is why 0 must always be in the range.

# %% topics=["quantization"]
x = torch.tensor([-1.0, 0.0, 0.5, 4.0])
scale, zero = 5 / 255, -77
q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
print("int8:", q.tolist(), " back:", [round(v, 3) for v in ((q.float() - zero) * scale).tolist()])

# %% [markdown]
# ### Exercise 16.11 — Quantise ★★ · 10 min · 4 points
#
# `quantise(x, dim=None)` returns `(q, scale, zero)` for a float32 tensor that isn't empty, and
# leaves `x` as it is. With `dim=None` there is one range for the whole tensor, and `scale` and
# `zero` have shape `()`. With a `dim` (perhaps negative) each index along it has its own: they have
# the shape of `x` with size 1 in all other dimensions.
#
# - `low` is the smallest value, but at most 0; `high` the largest, but at least 0.
# - `scale = (high − low) / 255`, float32; where that is 0 in float32, the scale is 1.
# - `zero = round(−128 − low / scale)`, int32.
# - `q = round(x / scale) + zero`, limited to −128…127, int8, in the shape of `x`.
#
# Example: `quantise(torch.tensor([-1.0, 0.0, 0.5, 4.0]))` has the `q` of the cell above.


# %% nbgrader={"grade_id": "quantise", "solution": true}
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``q`` (int8), ``scale`` (float32) and ``zero`` (int32), so that x ≈ (q - zero) * scale."""
    ### BEGIN SOLUTION
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero
    ### END SOLUTION


# %% nbgrader={"grade_id": "quantise-check", "grade": true, "points": 4}
from course_utils.chapters.performance.quantising import check_quantised

generator = torch.Generator().manual_seed(11)
drawn = torch.randn(3, 4, 5, generator=generator).to(device)
rows = torch.tensor([[-1.0, 0.5, 2.0], [3.0, 5.0, 9.0], [0.0, 0.0, 0.0]], device=device)
inputs = {
    "the example": (torch.tensor([-1.0, 0.0, 0.5, 4.0], device=device), None),
    "all positive": (rows[1] + 1, None),
    "all negative": (-rows[1], None),
    "zeros": (rows[2], None),
    "a scale for each row": (rows, 0),
    "for each column": (rows, -1),
    "three dimensions": (drawn, 1),
    "not contiguous": (drawn.transpose(0, 2), -3),
    "four dimensions": (drawn.view(3, 2, 2, 5), -3),
    "the last but one": (rows[:2], -2),
    "large numbers": (drawn[:1] * 1e30, 2),
    "the last of three dimensions": (drawn.flip(0) + 1, -1),
    "a dimension of size 1": (drawn[:, :1], 1),
    "two halves": (torch.tensor([-243.5, 0.0, 11.5], device=device), None),
    "one dimension, a scale for each": (rows[1], 0),
    "a number": (torch.tensor(-2.5, device=device), None),
    "small numbers": (drawn * 1e-7, None),
    "far smaller numbers": (drawn * 1e-15, 1),
    "a range of 255, with halves": (torch.tensor([-127.0, 0.5, 1.5, 128.0], device=device), None),
    "too small for a scale": (torch.tensor([0.0, 1e-44], device=device), None),
    "hardly enough for one": (torch.tensor([0.0, 8e-39, 2e-38], device=device), None),
}
### BEGIN HIDDEN TESTS
inputs["drawn"], inputs["the last"] = (drawn * 100, None), (drawn - 3, -1)
### END HIDDEN TESTS
with every_case() as case:
    for name, (x, dim) in inputs.items():
        with case(name):
            mine = x.clone()
            found = quantise(mine, dim)
            same = torch.equal(mine, x) and not mine.requires_grad
            assert same, "x itself was changed"
            check_quantised(found, x, dim)
    for dim in (None, 1):
        with case(f"other states of x, dim={dim}"):
            check_states(quantise, drawn, dim, what="quantise(x, dim)")

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `x.amin(dims, keepdim=True)` takes a list of dimensions: all but `dim`.
# </details>
# <details><summary>Hint 2</summary>
#
# `clamp(max=0)` of the smallest value is "at most 0". `torch.where(scale == 0, 1.0, scale)` mends the zeros.
# </details>
#
# ### Where the range comes from
#
# Weights are known. Activations aren't: their range is **calibrated** on some data. One outlier stretches
# the range, and all others share few values. Calibration may therefore cut outliers off, by a percentile, or as TensorRT
# does, by **entropy**: the threshold whose quantised histogram resembles the original most.

# %% topics=["quantization", "tensorrt-calibration"]
from course_utils.chapters.performance.quantising import digits, entropy_threshold, trained

train_x, train_y, test_x, test_y = (part.to(device) for part in digits())
classifier = trained(train_x, train_y)

# %% topics=["quantization", "tensorrt-calibration"]
with torch.no_grad():
    hidden = classifier[:2](train_x)
hidden[0, 0] = 60.0  # one broken sensor
limits = {"range": hidden.max().item(), "99.9 %": hidden.flatten().quantile(0.999).item()}
limits["entropy"] = entropy_threshold(hidden)

# %% topics=["quantization", "tensorrt-calibration"]
for name, limit in limits.items():
    step = limit / 255
    back = (hidden / step).round().clamp(0, 255) * step
    ordinary = hidden < 5
    error = (back - hidden)[ordinary].square().mean().sqrt()
    print(f"{name:8} up to {limit:5.1f}: error of ordinary values {error:.4f}")

# %% [markdown]
# Both limits clip the outlier, and the error of all others is about a tenth of what the plain range gives.
#
# Now a linear layer in integers. Products of int8 are summed in int32, exactly, and one multiplication by both
# scales follows. **Fake quantisation**, rounding and going back to floats, gives the same result, which
# is how training for int8 (QAT) sees its rounding:

# %% topics=["quantization"]
x, w = train_x[:32], classifier[0].weight.detach()
x_step, w_step = x.max() / 127, w.abs().amax(1) / 127  # symmetric: zero is 0
x8, w8 = (x / x_step).round().to(torch.int8), (w / w_step[:, None]).round().to(torch.int8)
integer = (x8.int().cpu() @ w8.int().cpu().T).to(device) * x_step * w_step  # sums in int32, exact
fake = (x8 * x_step) @ (w8 * w_step[:, None]).T
print("equal:", torch.allclose(integer, fake, atol=1e-5))

# %% [markdown]
# > **Then and now.** *"Quantise with `torch.quantization`: dynamic, static, QAT, and `fuse_modules`."*
# > That package is deprecated. **torchao** takes its place; a call exchanges the weights in place.

# %% topics=["quantization"] errata=["eager-quantization"] tags=["shows-deprecated"]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(2, 2)), {nn.Linear})
print("names torchao:", any("torchao" in str(entry.message) for entry in caught))

# %% topics=["quantization"]
with quietly():
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    small = copy.deepcopy(classifier)
    quantize_(small, Int8WeightOnlyConfig(version=2))
for name, model in {"float32": classifier, "int8": small}.items():
    right = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"{name:8} accuracy {right:.2f}")
agree = (small(test_x).argmax(1) == classifier(test_x).argmax(1)).float().mean().item()
print("same answer:", agree > 0.99, f" weight bytes: {w.nbytes} and {small[0].weight.qdata.nbytes}")

# %% [markdown]
# A quarter of the bytes, the same answers. (With another config the same call makes float8, for GPUs that have it.)
#
# ### Zeros alone save no time
#
# **Pruning** sets the smallest weights to 0. **Predict**: 80 % zeros, how many flops fewer?

# %% topics=["pruning"]
from torch.nn.utils import prune

pruned = copy.deepcopy(classifier)
prune.l1_unstructured(pruned[0], "weight", amount=0.8)
prune.remove(pruned[0], "weight")
print("zeros:", round((pruned[0].weight == 0).float().mean().item(), 2))

# %% topics=["pruning"]
for name, model in {"dense": classifier, "pruned": pruned}.items():
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        right = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"{name:6} {counter.get_total_flops():,} flops, accuracy {right:.2f}")

# %% [markdown]
# None. A zero is multiplied like any other number. What makes zeros fast is a *pattern* that kernels
# know: **2:4** (two of each four are zero; a GPU's sparse units, about twice as fast at best), or whole
# rows, which is **structured** pruning: the matrix gets smaller. **Low rank** replaces a matrix by two thin ones:

# %% topics=["pruning"]
w = classifier[0].weight.detach()  # (128, 64)
groups = w.reshape(-1, 4)
kept = torch.zeros_like(groups).scatter_(1, groups.abs().topk(2, 1).indices, 1.0)
print("2:4, share of zeros:", 1 - kept.mean().item())
rows = w.norm(dim=1).topk(64).indices
print("half of the rows:", tuple(w[rows].shape), "and half of the columns of the next layer")
u, s, v = torch.linalg.svd(w, full_matrices=False)
rank = 16
thin = [u[:, :rank] * s[:rank], v[:rank]]
print("rank 16:", sum(part.numel() for part in thin), "numbers instead of", w.numel())

# %% [markdown]
# ## 12. What a compiler can and can't see · core
#
# All of this was work by hand: fusing, folding, avoiding waits. `torch.compile` does much of it. It runs a
# function once with pretend values, records the operators as a **graph**, and hands the graph to a
# *backend*, which fuses its operators. The default one, inductor, needs a C++ compiler, or Triton on a GPU. Recording
# doesn't: any function can be a backend. `count_graphs`, a helper, is one that runs a graph as it is and
# counts.

# %% topics=["torch-compile-gap"]
from course_utils.chapters.performance.breaks import count_graphs, graphs_of

backend = count_graphs()
compiled = torch.compile(lambda x: (x.sin() * 2 + 1).relu().sum(), backend=backend)
print("equal:", torch.equal(compiled(torch.ones(3)), (torch.ones(3).sin() * 2 + 1).relu().sum()))
print("graphs:", len(backend.graphs), "with", backend.graphs[0], "operators")

# %% [markdown]
# One graph, five operators: a backend can make one kernel of them, which reads `x` once. But where Python
# needs a *value*, recording has to stop: a **graph break**. The function falls apart into graphs with plain
# Python between them, and nothing is fused across. **Predict** how many graphs:


# %% topics=["torch-compile-gap"]
def branchy(x):
    y = x.sin()
    if y.sum() > 0:
        y = y * 2
    return y.cos()


# %% topics=["torch-compile-gap"]
positive, negative = torch.ones(3), -torch.ones(3)
print("one input:", graphs_of(branchy, [(positive,)]))
print("both ways:", graphs_of(branchy, [(positive,), (negative,)]))

# %% [markdown]
# Two, then three: up to the branch, and one for each way on. These are the waits of section 4, seen by the
# compiler. `torch.compile(f, fullgraph=True)` raises at a break, and
# `torch._dynamo.explain(f)(x)` tells the reason and the line:

# %% topics=["torch-compile-gap"]
with quietly():
    explained = torch._dynamo.explain(branchy)(positive)
line = explained.break_reasons[0].user_stack[-1].line
print("breaks:", explained.graph_break_count, " at", line)

# %% [markdown]
# The second waste is **recompiling**. A graph is valid under *guards*: these shapes, these dtypes, this value
# of an attribute. If a guard fails, everything is recorded again. A shape that changes is made symbolic the
# second time. The length of a list that grows with each call isn't:


# %% topics=["torch-compile-gap"]
class Remembers:
    def __init__(self):
        self.history = []

    def __call__(self, x):
        self.history.append(x.mean())
        return x * 2


# %% topics=["torch-compile-gap"]
backend, remembers = count_graphs(), Remembers()
compiled = torch.compile(remembers.__call__, backend=backend)
for _ in range(5):
    compiled(positive)
print("graphs, a list that grows:", len(backend.graphs))

# %% topics=["torch-compile-gap"]
several = [(torch.ones(n),) for n in range(2, 7)]
print("graphs, five lengths:", graphs_of(lambda x: x * 2, several))

# %% [markdown]
# Five calls, five recordings, each slower than any kernel. Append outside, to what the function returns.
# After eight recordings of one function the compiler gives up and leaves it to Python.
#
# ### Exercise 16.12 — Graph breaks ★★ · 8 min · 3 points · core
#
# Three programs, each in several graphs. Put into the dict functions (a `lambda` or a name) with the same
# result, up to rounding, for every float32 tensor with at least one element, whose numbers are 0 or
# between 10⁻³⁰ and 10³⁰ in size. `torch.compile` has to make **one** graph of each, the same for all
# values, and nothing in it may wait.
#
# | name | broken |
# | --- | --- |
# | `branch` | `lambda x: x * 2 if x.sum() > 0 else x - 1` |
# | `scale` | `lambda x: x / x.abs().max().item() if x.any() else x` |
# | `positive` | `lambda x: x[x > 0].sum()` |

# %% nbgrader={"grade_id": "try-breaks", "locked": true}
from course_utils.chapters.performance.breaks import check_mended, run_mended


@runs_with_the_answer
def try_breaks(name: str, rows: list) -> dict:
    """Values, waits and graphs of one of the functions over several inputs."""
    return run_mended(graph_breaks, name, rows)


# %% nbgrader={"grade_id": "graph-breaks", "solution": true}
graph_breaks = {
    "branch": None,
    "scale": None,
    "positive": None,
}
### BEGIN SOLUTION
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.any(), x.abs().max(), 1.0),
    "positive": lambda x: x.clamp(min=0).sum(),
}
### END SOLUTION

# %% nbgrader={"grade_id": "graph-breaks-check", "grade": true, "points": 3}
values = [[1.0, 2.0, -0.5], [-1.0, -4.0, 2.0], [0.0, 0.0, 0.0], [1e-12, -4e-12, 2e-12]]
values += [[1e-30, -2e-30, 5e-30], [3e25, -2e30, 1e30], [-1e20, 1.0, 2.0]]
values = [torch.tensor(row, device=device) for row in values]
matrices = [sign * torch.arange(6.0, device=device).view(3, 2).t() for sign in (1, -1, 0.25)]
numbers = [torch.tensor(value, device=device) for value in (2.0, -3.0, 0.0)]
cubes = [(sign * torch.arange(-3.0, 3.0, device=device)).view(3, 1, 2) for sign in (1, -1, 0)]
### BEGIN HIDDEN TESTS
values += [torch.tensor([5.0, -9.0, 0.0], device=device), torch.full((3,), -0.1, device=device)]
### END HIDDEN TESTS
with every_case() as case:
    for name in ("branch", "scale", "positive"):
        with case(name):
            check_mended(try_breaks(name, values), name, values)
        with case(f"{name}, two dimensions"):
            check_mended(try_breaks(name, matrices), name, matrices)
        with case(f"{name}, a single number"):
            check_mended(try_breaks(name, numbers), name, numbers)
        with case(f"{name}, three dimensions, one of size 1"):
            check_mended(try_breaks(name, cubes), name, cubes)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `torch.where(condition, a, b)` computes both sides and picks; the condition may have no dimension.
# </details>
# <details><summary>Hint 2</summary>
#
# A sum of the positive elements is a sum of all, with zeros for the others: the shape stays.
# For `scale`, what may be divided by when all elements are 0?
# </details>

# %% [markdown]
# ## Payoff: one step, as cheap as it can be · core
#
# Here is a training step as people write it: rows normalised in a loop, float64 from NumPy, metrics by
# `.item()`, a history by `cat`. Each repair is one from this chapter. Operators, bytes and waits are
# counted after each, and the loss must stay the same.

# %% nbgrader={"grade_id": "stages", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.performance.payoff import measure_stages

# %%
measured = measure_stages(train_x[:256].double(), train_y[:256])
for name, found in measured.items():
    operators, waits = found["operators"], found["waits"]
    print(f"{name:22} {operators:>5} operators {found['MB']:6.2f} MB {waits:>4} waits")
losses = [found["loss"] for found in measured.values()]
print("losses differ by less than 0.001:", max(losses) - min(losses) < 1e-3)

# %%
from course_utils.chapters.performance.pictures import draw_waterfall

draw_waterfall(
    measured,
    "Three rows of bars over five stages, the largest fall of each in orange. Operators fall at "
    "the loop over rows, bytes at float32, waits at metrics on the device.",
)

# %% [markdown]
# Orange is the largest fall of each row. Each repair shows in *its* row: the loop was operators, float64
# was bytes, `.item()` was waits. The history was short, so `cat` cost little: that repair is hardly worth
# its line here. Ask what a slow program waits for, and change that. And the seconds, on this machine
# today:

# %% tags=["nbval-ignore-output"]
for name, found in measured.items():
    print(f"{name:22} {1000 * found['seconds']:7.1f} ms")

# %% [markdown]
# With a C++ compiler at hand (`g++`), inductor goes further, and fuses what is left. Compiling takes more
# than ten seconds, so it is off here; set `try_inductor` to True to see it.

# %% topics=["torch-compile-gap"] tags=["nbval-ignore-output"]
try_inductor = False


def function(x: torch.Tensor) -> torch.Tensor:
    return ((x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)).relu().sum(1)


if try_inductor and shutil.which("g++"):
    fast = torch.compile(function)
    print("equal:", torch.allclose(fast(train_x), function(train_x), atol=1e-4))
    for name in ("function", "fast"):
        timer = Timer(f"{name}(x)", globals={"x": train_x, "function": function, "fast": fast})
        print(name, timer.blocked_autorange(min_run_time=0.2).median)
else:
    print("not tried")

# %% [markdown]
# ## Heard elsewhere
#
# | heard | today |
# | --- | --- |
# | "`cudnn.benchmark = True` makes everything faster" | it tries algorithms for each *new input size*; with sizes that vary it tries all the time. It picks by the clock, so runs may differ. No effect on a CPU |
# | "compress with Distiller or NNI" | both are archived; torchao quantises and sparsifies, Optuna searches |
# | "Apex, levels O0 to O3" | `torch.amp` (chapter 13) |
# | "append is slow, CuPy and numba make NumPy fast" | tensors on the device do what CuPy does; numba and CuPy kernels are in chapter 20 |
# | "TensorRT calibration makes INT8 for free" | it needs data like yours; today by Torch-TensorRT or ModelOpt, on a GPU |
# | a speed tip from a page whose text was damaged | test it: a lost "not" turns its sense |

# %% topics=["cudnn-benchmark"] tags=["shows-false"]
print("tries algorithms unless told to:", torch.backends.cudnn.benchmark)

# %% topics=["distiller-nni"]
for name in ("distiller", "nni", "torchao"):
    print(f"{name:10}", "installed" if importlib.util.find_spec(name) else "not installed")

# %% [markdown]
# The last row is about old notes in general. A file that was decoded with the wrong code page can often be
# recovered, by encoding it back. Not always: bytes without a character were dropped, and with them letters.

# %% topics=["recover-mojibake"] errata=["mojibake-loses-negations"]
tip = "不能用"  # "can NOT be used"
damaged = tip.encode("utf-8").decode("cp1252", errors="ignore")
recovered = damaged.encode("cp1252").decode("utf-8", errors="ignore")
print("recovered:", recovered)  # "can be used"
print("the lost byte of 不 (not):", hex("不".encode()[-1]))

# %% [markdown]
# The recovered tip says the opposite, and reads well. Only trying it out finds the mistake: this chapter's
# rule, for sentences.

# %% [markdown]
# ## What to remember
#
# | it waits for | you see | what helps |
# | --- | --- | --- |
# | Python and launches | many tiny operators, gaps on the device | vectorise, fold, compile |
# | an answer | `item`, `nonzero`, `copy_` that last long | keep values on the device, look rarely |
# | memory's speed | low flops per byte | fewer bits, fewer passes, fusing |
# | arithmetic | high flops per byte, a busy device | half precision, a better algorithm |
# | memory's size | small batches | checkpointing, half precision, fewer states |
#
# **Three mistakes.** Timing without synchronising. Counting flops where bytes are waited for. Making
# faster what nobody was waiting for.
#
# **Where to read more.** The *PyTorch Performance Tuning Guide* and *torch.profiler* tutorials; the docs of
# `torch.utils.benchmark`, `torch.utils.checkpoint` and `torch.compile` (*Programming Model*). Williams and others,
# *Roofline* (2009); Chen and others, *Training Deep Nets with Sublinear Memory Cost* (2016); Micikevicius and others,
# *Mixed Precision Training* (2018); Ma and others, *ShuffleNet V2* (2018); Ding and others, *RepVGG* (2021);
# Jacob and others, *Quantization and Training … for Efficient Integer-Arithmetic-Only Inference* (2018).
