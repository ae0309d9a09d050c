# %% [markdown]
# Rules:
#
# - "as texts like `"F0"` and `"B0"`"
# - "Each stage runs the forward and the backward of every micro-batch once"
# - "take $3(m + p - 1)$ ticks by `clock`, no more"
# - "no backward before the last forward"
# - "never holds more than $p - s$ micro-batches"
# - "any number of stages and micro-batches from 1"
# - ""F0" is micro-batch 0's forward"
# - "the share of the whole time"
# - "in which a stage is idle"
# - "between 0 and 1"
#
# Admits:
#
# - "any number of stages and micro-batches from 1": (4, 1), (6, 4), (1, 3)

# %% wrong="1F1B without a warm-up" breaks="take $3(m + p - 1)$ ticks by `clock`, no more" says=["a stage waits where it could compute"]
def pipeline(kind, stage, stages, micro_batches):
    if kind == "gpipe":
        return [f"F{n}" for n in range(micro_batches)] + [f"B{n}" for n in range(micro_batches)]
    return [f"{letter}{n}" for n in range(micro_batches) for letter in "FB"]


def bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)


# %% wrong="GPipe for both" breaks="never holds more than $p - s$ micro-batches" says=["holds 4 micro-batches, at most 2: go back sooner"]
def pipeline(kind, stage, stages, micro_batches):
    return [f"F{n}" for n in range(micro_batches)] + [f"B{n}" for n in range(micro_batches)]


def bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)


# %% wrong="a warm-up longer than the batch" breaks="any number of stages and micro-batches from 1" says=["1f1b, stages: 4, micro-batches: 1", "belongs there once"]
def pipeline(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else stages - stage - 1
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)


# %% wrong="a warm-up one too long" says=["holds 3 micro-batches, at most 2"]
def pipeline(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else min(stages - stage, micro_batches)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)


# %% wrong="the bubble over the busy time" breaks="the share of the whole time" says=["that is idle over busy time"]
def pipeline(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages, micro_batches):
    return (stages - 1) / micro_batches


# %% wrong="numbers, not texts" breaks="as texts like `\"F0\"` and `\"B0\"`" says=["each task is a text such as 'F0'"]
def pipeline(kind, stage, stages, micro_batches):
    return list(range(micro_batches)) * 2


def bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)


# %% right="a tuple, GPipe backwards from the last"
def pipeline(kind, stage, stages, micro_batches):
    forwards = tuple(f"F{n}" for n in range(micro_batches))
    if kind == "gpipe":
        return forwards + tuple(f"B{n}" for n in reversed(range(micro_batches)))
    warm = min(stages - stage - 1, micro_batches)
    backwards = tuple(f"B{n}" for n in range(micro_batches))
    pairs = zip(forwards[warm:], backwards)
    steady = tuple(task for pair in pairs for task in pair)
    return forwards[:warm] + steady + backwards[micro_batches - warm :]


def bubble(stages, micro_batches):
    return 1 - micro_batches / (micro_batches + stages - 1)


# %% right="greedy: back as soon as the limit is reached"
def pipeline(kind, stage, stages, micro_batches):
    limit = micro_batches if kind == "gpipe" else stages - stage
    tasks, forward, backward = [], 0, 0
    while backward < micro_batches:
        if (
            forward < micro_batches
            and forward - backward < limit
            and (kind != "gpipe" or not backward)
        ):
            tasks.append("F" + str(forward))
            forward += 1
        else:
            tasks.append("B" + str(backward))
            backward += 1
    return tasks


def bubble(stages, micro_batches):
    from fractions import Fraction

    whole = 3 * (micro_batches + stages - 1)
    return float(Fraction(whole - 3 * micro_batches, whole))


# %% wrong="bubble in ticks" breaks="between 0 and 1" says=["bubble(2, 4) is 3", "a share lies between 0 and 1"]
def pipeline(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages, micro_batches):
    return 3 * (stages - 1)


# %% wrong="1F1B forgets the drain" breaks="Each stage runs the forward and the backward of every micro-batch once" says=["missing: B3"]
def pipeline(kind, stage, stages, micro_batches):
    m = micro_batches
    if kind == "gpipe":
        return [f"F{n}" for n in range(m)] + [f"B{n}" for n in range(m)]
    warm = min(stages - stage - 1, m)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(warm, m):
        tasks += [f"F{n}", f"B{n - warm}"]
    return tasks


def bubble(stages, micro_batches):
    return (stages - 1) / micro_batches


# %% wrong="1F1B drains from the last micro-batch back" says=["backwards in another order", "B0 before B1"]
def pipeline(kind, stage, stages, micro_batches):
    if kind == "gpipe":
        return [f"F{n}" for n in range(micro_batches)] + [f"B{n}" for n in range(micro_batches)]
    warm = min(stages - stage - 1, micro_batches)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(warm, micro_batches):
        tasks += [f"F{n}", f"B{n - warm}"]
    return tasks + [f"B{n}" for n in reversed(range(micro_batches - warm, micro_batches))]


def bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)


# %% wrong="sorted as texts" says=["1f1b, stages: 4, micro-batches: 12"]
def pipeline(kind, stage, stages, micro_batches):
    forwards = sorted(f"F{n}" for n in range(micro_batches))
    backwards = sorted(f"B{n}" for n in range(micro_batches))
    if kind == "gpipe":
        return forwards + backwards
    warm = min(stages - stage - 1, micro_batches)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        tasks += forwards[warm + n : warm + n + 1] + backwards[n : n + 1]
    return tasks


def bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)


# %% wrong="the bubble is rounded" says=["that is rounded; leave all digits"]
def pipeline(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else min(micro_batches, stages - stage - 1)
    tasks = [f"F{n}" for n in range(warm)]
    forward = warm
    for n in range(micro_batches):
        if forward < micro_batches:
            tasks.append(f"F{forward}")
            forward += 1
        tasks.append(f"B{n}")
    return tasks


def bubble(stages, micro_batches):
    return round((stages - 1) / (micro_batches + stages - 1), 4)


# %% wrong="the bubble of all stages together" says=["the idle time of all stages"]
def pipeline(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else min(micro_batches, stages - stage - 1)
    tasks = [f"F{n}" for n in range(warm)]
    forward = warm
    for n in range(micro_batches):
        if forward < micro_batches:
            tasks.append(f"F{forward}")
            forward += 1
        tasks.append(f"B{n}")
    return tasks


def bubble(stages, micro_batches):
    return stages * (stages - 1) / (micro_batches + stages - 1)


# %% wrong="backward before forward in the steady phase" says=["runs B0 before F0"]
def pipeline(kind: str, stage: int, stages: int, micro_batches: int) -> list[str]:
    """The tasks of one stage in order: "F0" is micro-batch 0's forward, "B0" its backward."""
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        tasks.append(f"B{n}")
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
    return tasks


def bubble(stages: int, micro_batches: int) -> float:
    """The share of the time in which a stage is idle."""
    return (stages - 1) / (micro_batches + stages - 1)


# %% wrong="micro-batches count from 1" breaks="\"F0\" is micro-batch 0's forward" says=["micro-batches count from 0"]
def pipeline(kind: str, stage: int, stages: int, micro_batches: int) -> list[str]:
    """The tasks of one stage in order: "F0" is micro-batch 0's forward, "B0" its backward."""
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    tasks = [f"F{n + 1}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n + 1}")
        tasks.append(f"B{n + 1}")
    return tasks


def bubble(stages: int, micro_batches: int) -> float:
    """The share of the time in which a stage is idle."""
    return (stages - 1) / (micro_batches + stages - 1)


# %% wrong="a bubble of p - 1 ticks" says=["its 3 is missing"]
def pipeline(kind: str, stage: int, stages: int, micro_batches: int) -> list[str]:
    """The tasks of one stage in order: "F0" is micro-batch 0's forward, "B0" its backward."""
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages: int, micro_batches: int) -> float:
    """The share of the time in which a stage is idle."""
    return (stages - 1) / (3 * (micro_batches + stages - 1))


# %% wrong="the busy share" breaks="in which a stage is idle" says=["in which a stage is busy"]
def pipeline(kind: str, stage: int, stages: int, micro_batches: int) -> list[str]:
    """The tasks of one stage in order: "F0" is micro-batch 0's forward, "B0" its backward."""
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages: int, micro_batches: int) -> float:
    """The share of the time in which a stage is idle."""
    return micro_batches / (micro_batches + stages - 1)


# %% wrong="a bubble of p micro-batches" says=["p stages have a bubble of p - 1"]
def pipeline(kind: str, stage: int, stages: int, micro_batches: int) -> list[str]:
    """The tasks of one stage in order: "F0" is micro-batch 0's forward, "B0" its backward."""
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages: int, micro_batches: int) -> float:
    """The share of the time in which a stage is idle."""
    return stages / (micro_batches + stages)


# %% wrong="the bubble in percent" says=["that is a percentage"]
def pipeline(kind: str, stage: int, stages: int, micro_batches: int) -> list[str]:
    """The tasks of one stage in order: "F0" is micro-batch 0's forward, "B0" its backward."""
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages: int, micro_batches: int) -> float:
    """The share of the time in which a stage is idle."""
    return 100 * (stages - 1) / (micro_batches + stages - 1)


# %% wrong="whole division" says=["it was rounded down"]
def pipeline(kind: str, stage: int, stages: int, micro_batches: int) -> list[str]:
    """The tasks of one stage in order: "F0" is micro-batch 0's forward, "B0" its backward."""
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages: int, micro_batches: int) -> float:
    """The share of the time in which a stage is idle."""
    return (stages - 1) // (micro_batches + stages - 1)


# %% wrong="a loop that never ends" judge="differs" says=["pipeline gave no result", "was in pipeline"]
def pipeline(kind, stage, stages, micro_batches):
    tasks, n = [], 0
    while len(tasks) < 2 * micro_batches:
        if kind == "gpipe":
            tasks.append(f"F{n}")
            n = n + 1 if n < micro_batches else 0
        if stage > 0:
            tasks = tasks[:1]
    return tasks


def bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)


# %% wrong="a bubble that never ends" says=["bubble gave no result"]
def pipeline(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages, micro_batches):
    idle = 0
    while idle != stages - 1:
        idle += 2
    return idle / (micro_batches + stages - 1)


# %% right="a queue"
from collections import deque


def pipeline(kind, stage, stages, micro_batches):
    room = micro_batches if kind == "gpipe" else stages - stage
    ready, held, tasks = deque(range(micro_batches)), deque(), []
    while ready or held:
        if ready and len(held) < room:
            held.append(ready.popleft())
            tasks.append(f"F{held[-1]}")
        else:
            tasks.append(f"B{held.popleft()}")
    return tasks


def bubble(stages, micro_batches):
    return 1 - micro_batches / (micro_batches + stages - 1)


# %% wrong="1F1B for both" breaks="no backward before the last forward" says=["all forwards come first"]
def pipeline(kind, stage, stages, micro_batches):
    warm = min(micro_batches, stages - stage - 1)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)


# %% wrong="the bubble is rounded to two digits" says=["that is rounded; leave all digits"]
def pipeline(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else min(micro_batches, stages - stage - 1)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages, micro_batches):
    return round((stages - 1) / (micro_batches + stages - 1), 2)


# %% wrong="the bubble of two stages always" says=["that is the bubble of two stages"]
def pipeline(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm < micro_batches:
            tasks.append(f"F{warm}")
            warm += 1
        tasks.append(f"B{n}")
    return tasks


def bubble(stages, micro_batches):
    return 1 / (micro_batches + 1)


# %% wrong="the drain begins at a negative number" says=["1f1b, stages: 6, micro-batches: 4", "missing: B0"]
def pipeline(kind, stage, stages, micro_batches):
    forwards = [f"F{n}" for n in range(micro_batches)]
    backwards = [f"B{n}" for n in range(micro_batches)]
    if kind == "gpipe":
        return forwards + backwards
    warm = stages - stage - 1
    tasks = forwards[:warm]
    for f, b in zip(forwards[warm:], backwards):
        tasks += [f, b]
    return tasks + backwards[micro_batches - warm :]


def bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)


# %% wrong="a warm-up of at most half of the micro-batches" says=["1f1b, stages: 6, micro-batches: 4", "a stage waits where it could compute"]
def pipeline(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, (micro_batches + 1) // 2)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)


# %% wrong="a recursion, too deep for many micro-batches" breaks="any number of stages and micro-batches from 1" says=["micro-batches: 1500: ", "raised RecursionError"]
def rest(done, back, micro_batches):
    """The tasks that remain after so many forwards and backwards."""
    if back == micro_batches:
        return []
    if done < micro_batches:
        return [f"F{done}", f"B{back}", *rest(done + 1, back + 1, micro_batches)]
    return [f"B{back}", *rest(done, back + 1, micro_batches)]


def pipeline(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    return [f"F{n}" for n in range(warm)] + rest(warm, 0, micro_batches)


def bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)


# %% wrong="one list for all calls" says=["are the tasks of other calls still in the list?", ", …], "]
def pipeline(kind, stage, stages, micro_batches, tasks=[]):
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    for n in range(warm):
        tasks.append(f"F{n}")
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)


# %% wrong="a bubble at both ends" says=["bubble(2, 4) is 0.3333333333333333, expected 0.2"]
def pipeline(kind, stage, stages, micro_batches):
    warm = min(stages - stage - 1, micro_batches) if kind == "1f1b" else micro_batches
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages, micro_batches):
    return 2 * (stages - 1) / (micro_batches + 2 * (stages - 1))


# %% right="greedy, and a bubble that is measured"
def pipeline(kind, stage, stages, micro_batches):
    limit = micro_batches if kind == "gpipe" else stages - stage
    tasks = []
    ahead, back = iter(range(micro_batches)), 0
    coming = next(ahead, None)
    done = 0
    while back < micro_batches:
        if coming is not None and done - back < limit:
            tasks += ["F" + str(coming)]
            coming = next(ahead, None)
            done += 1
        else:
            tasks += ["B" + str(back)]
            back += 1
    return tasks


def bubble(stages, micro_batches):
    rows = clock([pipeline("gpipe", s, stages, micro_batches) for s in range(stages)])
    whole = max(end for *_, end in rows)
    return 1 - sum(end - start for stage, _, start, end in rows if stage == 0) / whole


# %% wrong="a warm-up of four micro-batches at most" breaks="take $3(m + p - 1)$ ticks by `clock`, no more" says=["1f1b, stages: 7, micro-batches: 9", "stage 0 goes back after 4 forwards, and may hold 7"]
def pipeline(kind, stage, stages, micro_batches):
    most = micro_batches if kind == "gpipe" else min(stages - stage, 4)
    tasks, forwards = [], 0
    for n in range(micro_batches):
        while forwards < min(n + most, micro_batches):
            tasks.append(f"F{forwards}")
            forwards += 1
        tasks.append(f"B{n}")
    return tasks


def bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)


# %% wrong="one list for equal arguments" says=["Whoever got the list before has worked it off"]
from functools import cache


@cache
def pipeline(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    tasks = [f"F{n}" for n in range(warm)]
    for n in range(micro_batches):
        if warm + n < micro_batches:
            tasks.append(f"F{warm + n}")
        tasks.append(f"B{n}")
    return tasks


def bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)
