# ---
# jupyter:
#   course:
#     title: Performance
#     minutes: 100
#     core: 60
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
# takes about two.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_predictions, count_operators, device
from course_utils import every_case, runs_with_the_answer

# %% nbgrader={"grade_id": "tools", "locked": true} jupyter={"source_hidden": true}
import statistics
from collections.abc import Callable


# %% [markdown]
# ## 1. Who waits for whom? · core
#
# A program on a GPU is two programs. The **host** runs Python and *launches* work: it puts a
# **kernel** into the device's queue and continues at once. The **device** takes kernels from the queue,
# one after another. Nobody has to wait until the host asks for a value. So a step can be slow in three
# ways, and they look the same from outside.
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
# `t` makes a new tensor object over the same storage: nothing is launched, whatever the size.
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
# ### Exercise 16.2 — Measure it right ★★ · 12 min · 4 points · core
#
# `measure_it_right(run, synchronise, clock, warmup, repeats)` returns `(median, spread)`.
#
# - `run()` launches the work, `synchronise()` waits until the queue is empty, `clock()` tells the time.
# - Call `run` `warmup` times without timing it (0 is possible), then `repeats` times (1 or more), each
#   call timed alone, from an empty queue until its work is done.
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
    """The median and the spread (longest less shortest) of ``repeats`` times, as ``clock`` counts."""
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
    "an even number": dict(kernels=[500, 300, 40, 10, 20, 90], warmup=2, repeats=4),
    "no warm-up, earlier work": dict(kernels=[20, 30, 25], warmup=0, repeats=3, pending=400),
    "one slow call": dict(kernels=[9, 10, 11, 900, 12, 14], warmup=1, repeats=5),
    "tiny kernels": dict(kernels=[80, 1, 2, 3], launch=7, warmup=1, repeats=3, pending=50),
    "once": dict(kernels=[300, 60], warmup=1, repeats=1),
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
# The library does all of this: `torch.utils.benchmark.Timer` warms up, synchronises, repeats until
# the spread is known, and uses one thread unless told otherwise, so that numbers from two machines can be
# compared. It gives the median, and as its spread the distance between the quartiles.

# %% topics=["measure-before-optimising"] tags=["nbval-ignore-output"]
from course_utils.chapters.performance.profiles import quietly
from torch.utils.benchmark import Timer

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
        result = collect(rows)
    assert torch.equal(result, rows)
    print(f"{collect.__name__:13} {written.nbytes:>9,} bytes, {written.kernels:3} kernels")

# %% [markdown]
# The list writes each byte once, with *one* kernel. Preallocating writes as many bytes with 200
# kernels. Concatenating writes a hundred times as many: for n rows, n²/2.

# %% [markdown]
# ## 3. Where does the time go? · core
#
# A clock tells how long the whole takes, and not which part. A **profiler** notes when every operator
# begins and ends. It sits below autograd, so it sees backward as well. `ProfilerActivity.CUDA`
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
# An operator calls others: `linear` calls `addmm`. So there are two times. The **total** is from
# begin to end. The **self** time is the total less what was spent in the operators that it called
# directly. Totals overlap, and their sum means nothing. Self times add up to the whole. Sort by self
# time to find the work, by total time to find the line that asked for it.

# %%
from course_utils.chapters.performance.pictures import draw_flame

walked = [("linear", 1, 0, 100), ("t", 1, 5, 15), ("addmm", 1, 20, 90), ("copy_", 1, 25, 65)]
draw_flame(
    walked,
    "Bars over time: linear from 0 to 100; below it t and addmm; below addmm copy_.",
    "linear 100 = 20 itself + 10 t + 70 addmm;  addmm 70 = 30 itself + 40 copy_",
)

# %% [markdown]
# Walk it by hand: `linear` lasts 100, its two children 10 and 70, so it spent 20 itself. `copy_` isn't
# taken off again: it is inside `addmm`, which was taken off as a whole. And the surprise is at the
# bottom: more than half of `addmm` was a copy.
#
# ### Exercise 16.3 — Read the profile ★★ · 14 min · 4 points · core
#
# `read_the_profile(events)` gets a list of `(name, thread, start, end)`: a string and three integers, in
# *any order*, each with `start < end`. Return a dict: for each name `(calls, self_time)`.
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
from course_utils.chapters.performance.profiles import check_profile

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
    "side by side": [("mul", 1, 0, 5), ("mul", 1, 5, 9), ("add", 1, 9, 30)],
    "a recursion": [("backward", 1, 0, 90), ("backward", 1, 10, 60), ("mm", 1, 20, 50)],
    "equal ends": [("relu", 1, 0, 9), ("clamp", 1, 0, 9), ("fill", 1, 0, 4), ("copy", 1, 4, 9)],
    "nothing": [],
}
### BEGIN HIDDEN TESTS
logs["deep"] = [("a", 3, 0, 64), ("b", 3, 1, 60), ("a", 3, 2, 50), ("c", 3, 3, 9), ("b", 3, 9, 40)]
logs["deep, twice"] = logs["deep"][::-1] + [(n, 7, s + 5, e + 5) for n, _, s, e in logs["deep"]]
### END HIDDEN TESTS
with every_case() as case:
    for name, log in logs.items():
        with case(name):
            check_profile(read_the_profile(list(log)), log)

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
# A profile is read for what surprises. Three programs, each with a waste; look at calls and bytes, which are the same
# on every machine. **Find** the waste before you read on.


# %%
def normalised(x):
    return torch.stack([(row - row.mean()) / row.std() for row in x])


def attended(x):
    return (x.double() @ x.double().T).softmax(-1).float()


def windows(x):
    return torch.cat([x[:, n : n + 8].clone() for n in range(32)]).contiguous().clone()


# %% topics=["autograd-profiler"]
x = torch.rand(64, 40, device=device)
for program in (normalised, attended, windows):
    program(x)  # warm-up
    with quietly(), profile(activities=[ProfilerActivity.CPU]) as profiled:
        program(x)
    rows = sorted(profiled.key_averages(), key=lambda e: -e.count)
    rows = [row for row in rows if row.key.startswith("aten::")][:4]
    print(f"{program.__name__:10}", "  ".join(f"{row.key[6:]} ×{row.count}" for row in rows))

# %% [markdown]
# - `normalised` runs hundreds of operators where four on the whole tensor would do: a Python loop
#   over rows. The device waits for launches.
# - `attended` converts (`to`, `_to_copy`, `copy_`) more often than it computes, and its product runs in
#   float64.
# - `windows` clones 32 pieces that `cat` copies anyway, and then clones the result.
#
# The same profile as a **timeline**: `profiled.export_chrome_trace("trace.json")` writes a file that
# `chrome://tracing` and ui.perfetto.dev open. It is JSON, so it can be drawn here:

# %% topics=["autograd-profiler"] tags=["nbval-ignore-output"]
import json
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    profiled.export_chrome_trace(f"{folder}/trace.json")
    trace = json.loads(Path(folder, "trace.json").read_text())["traceEvents"]
spans = [(e["name"], 1, e["ts"], e["ts"] + e["dur"]) for e in trace if e.get("cat") == "cpu_op"]
draw_flame(
    spans,
    "The timeline: many small clones, then cat, then one long clone.",
    "windows(x), from its trace",
)

# %% [markdown]
# Python itself is not in that picture. For Python's functions there is **cProfile**, which notes
# every call, and slows each one down. **py-spy** looks at a running process from outside, a hundred
# times a second, and needs no change to the program: `py-spy top --pid 1234`, or `py-spy record -o
# flame.svg -- python train.py`; `py-spy dump --pid 1234` shows where it hangs, and `--subprocesses`
# looks at loader workers as well. `hotshot` and `torch.utils.bottleneck` are no more.

# %% topics=["python-profilers"]
import cProfile
import pstats

python_profile = cProfile.Profile()
python_profile.runcall(normalised, x)
calls = {key[2]: row[0] for key, row in pstats.Stats(python_profile).stats.items()}
print({name: calls[name] for name in calls if "mean" in name or "std" in name})

# %% topics=["py-spy"]
import shutil
import sysconfig

found = shutil.which("py-spy", path=sysconfig.get_path("scripts"))
print("py-spy is installed:", found is not None)

# %% [markdown]
# > **Then and now.** *"`torch.autograd.profiler.profile(use_cuda=True)`, printed inside the block"*
# > and *"`python -m torch.utils.bottleneck main.py`"*. The argument and the module are gone.
# > `torch.profiler.profile(activities=[…])` is what stayed, and it is read after its block has ended.

# %% errata=["profiler-use-cuda", "torch-utils-bottleneck", "hotshot"]
import importlib.util

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
# Five lines, six waits (`cpu` waits; `numpy` would, on a GPU it comes after). Each of these empties the
# queue. Two ways out. Keep values on the device: sums, maxima and histories are tensors as well.
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
# NumPy inside a `forward` is the same wait, twice: to the host, and back. It also cuts the graph, and a
# compiler stops there (section 12). `torch` has nearly everything that NumPy has:


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
# ### Exercise 16.4 — Hidden synchronisations ★★ · 12 min · 4 points · core
#
# This loop waits in every step. Read it, then write `hidden_syncs(model, optimizer, batches)`, which
# does the same without a single wait inside. `batches` is a list of `(x, y)` on the model's device, perhaps
# empty; the optimizer is SGD; some parameters may be frozen, and old gradients may be there.
#
# Return `(losses, hits)`: a floating-point tensor (steps,), and a 0-dim int64 tensor. `losses` has no graph and
# has the dtype of the losses (float32 where there are none). The weights afterwards are those of
# `chatty`, up to rounding.


# %% nbgrader={"grade_id": "chatty", "locked": true} tags=["to-be-read"]
def chatty(model: nn.Module, optimizer: torch.optim.SGD, batches: list) -> tuple[list, int]:
    """Train over the batches; gradients whose norm, taken over all of them, is above 1 are clipped."""
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
settings = {
    "steep and flat batches": dict(batches=[(8, 5.0), (8, 0.1), (3, 1.0)]),
    "flat batches": dict(batches=[(4, 0.01), (64, 0.01)], seed=4),
    "one row": dict(batches=[(1, 1.0)], seed=2),
    "no batch": dict(batches=[]),
    "float64": dict(batches=[(5, 2.0), (6, 0.5)], dtype="float64", seed=3),
}
### BEGIN HIDDEN TESTS
settings["longer"] = dict(batches=[(4, 0.3 * n) for n in range(1, 9)], seed=7)
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
