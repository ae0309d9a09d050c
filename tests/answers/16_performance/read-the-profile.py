# %% [markdown]
# Rules:
#
# - "a string and three integers"
# - "in *any order*"
# - "and leaves it as it is"
# - "for each name `(calls, self_time)`"
# - "if both are of the same thread"
# - "begins no earlier and ends no later"
# - "Of two with equal begin and end, the first in the list encloses the second"
# - "An event's self time is its length less"
# - "the events *directly* inside it"
# - "Several events may have one name"
# - "add up"
#
# Admits:
#
# - "in *any order*": in another order
# - "also one inside another (a recursion)": a recursion
# - "Of two with equal begin and end": two equal events
# - "gets a list of": nothing
# - "a string and three integers": threads 0 and -1

# %% wrong="total times" breaks="An event's self time is its length less" says=["that is the total time"]
def read_the_profile(events):
    found = {}
    for name, _, start, end in events:
        calls, time = found.get(name, (0, 0))
        found[name] = calls + 1, time + end - start
    return found


# %% wrong="all descendants are taken off" breaks="the events *directly* inside it" says=["taken off twice: only direct children count"]
def read_the_profile(events):
    found = {}
    for n, (name, thread, start, end) in enumerate(events):
        own = end - start
        for m, (_, other, first, last) in enumerate(events):
            same = (first, last) == (start, end)
            if other == thread and start <= first and last <= end and (not same or m > n):
                own -= last - first
        calls, time = found.get(name, (0, 0))
        found[name] = calls + 1, time + own
    return found


# %% wrong="threads are mixed" breaks="if both are of the same thread" says=["an event of another thread is not inside"]
def read_the_profile(events):
    found, inside = {}, []
    for name, _, start, end in sorted(events, key=lambda e: (e[2], -e[3])):
        while inside and inside[-1][1] <= start:
            inside.pop()
        if inside:
            calls, time = found[inside[-1][0]]
            found[inside[-1][0]] = calls, time - (end - start)
        calls, time = found.get(name, (0, 0))
        found[name] = calls + 1, time + end - start
        inside.append((name, end))
    return found


# %% wrong="takes the list's order for granted" breaks="in *any order*" says=["in another order", "the list is in any order: sort it"]
def read_the_profile(events):
    found, inside = {}, []
    for name, thread, start, end in events:
        while inside and (inside[-1][1] != thread or inside[-1][2] <= start):
            inside.pop()
        if inside:
            calls, time = found[inside[-1][0]]
            found[inside[-1][0]] = calls, time - (end - start)
        calls, time = found.get(name, (0, 0))
        found[name] = calls + 1, time + end - start
        inside.append((name, thread, end))
    return found


# %% wrong="the last call replaces the others" breaks="Several events may have one name" says=["each event with that name is a call"]
def read_the_profile(events):
    found = {}
    for name, _, start, end in sorted(events, key=lambda e: (e[1], e[2], -e[3])):
        found[name] = 1, end - start
    return found


# %% wrong="touching counts as inside" says=["side by side"]
def read_the_profile(events):
    found, inside = {}, []
    for name, thread, start, end in sorted(events, key=lambda e: (e[1], e[2], -e[3])):
        while inside and (inside[-1][1] != thread or inside[-1][2] < start):
            inside.pop()
        if inside:
            calls, time = found[inside[-1][0]]
            found[inside[-1][0]] = calls, time - (end - start)
        calls, time = found.get(name, (0, 0))
        found[name] = calls + 1, time + end - start
        inside.append((name, thread, end))
    return found


# %% wrong="shorter first where both begin together" breaks="begins no earlier and ends no later" says=["equal ends"]
def read_the_profile(events):
    found, inside = {}, []
    for name, thread, start, end in sorted(events, key=lambda e: (e[1], e[2], e[3])):
        while inside and (inside[-1][1] != thread or inside[-1][2] <= start):
            inside.pop()
        if inside:
            calls, time = found[inside[-1][0]]
            found[inside[-1][0]] = calls, time - (end - start)
        calls, time = found.get(name, (0, 0))
        found[name] = calls + 1, time + end - start
        inside.append((name, thread, end))
    return found


# %% wrong="only the self time" breaks="for each name `(calls, self_time)`" says=["no pair (calls, self time)"]
def read_the_profile(events):
    return {name: end - start for name, _, start, end in events}


# %% wrong="nothing yet" says=["is there an answer yet"]
def read_the_profile(events):
    pass


# %% right="for each event the smallest that encloses it"
def read_the_profile(events):
    order = list(enumerate(events))
    own = [end - start for *_, start, end in events]

    def around(n, event):
        return [
            (end - start, -m, m)
            for m, (_, thread, start, end) in order
            if thread == event[1]
            and start <= event[2]
            and event[3] <= end
            and (m < n or (start, end) != event[2:])
            and m != n
        ]

    for n, event in order:
        if outer := around(n, event):
            own[min(outer)[2]] -= event[3] - event[2]
    names = {name for name, *_ in events}
    return {
        name: [
            sum(event[0] == name for event in events),
            sum(t for t, event in zip(own, events, strict=True) if event[0] == name),
        ]
        for name in names
    }


# %% right="recursive, a thread at a time"
def read_the_profile(events):
    from collections import defaultdict

    calls, times = defaultdict(int), defaultdict(int)

    def walk(queue, until):
        spent = 0
        while queue and queue[0][2] < until:
            name, _, start, end = queue.pop(0)
            inner = walk(queue, end)
            calls[name] += 1
            times[name] += end - start - inner
            spent += end - start
        return spent

    for thread in {event[1] for event in events}:
        mine = [event for event in events if event[1] == thread]
        walk(sorted(mine, key=lambda e: (e[2], -e[3])), float("inf"))
    return {name: (calls[name], times[name]) for name in calls}


# %% wrong="equal events are sorted by name" breaks="Of two with equal begin and end, the first in the list encloses the second" says=["the first in the list encloses the second"]
def read_the_profile(events):
    found, inside = {}, []
    for name, thread, start, end in sorted(events, key=lambda e: (e[1], e[2], -e[3], e[0])):
        while inside and (inside[-1][1] != thread or inside[-1][2] <= start):
            inside.pop()
        if inside:
            calls, time = found[inside[-1][0]]
            found[inside[-1][0]] = calls, time - (end - start)
        calls, time = found.get(name, (0, 0))
        found[name] = calls + 1, time + end - start
        inside.append((name, thread, end))
    return found


# %% wrong="the last thread's events stay open" says=["when another thread begins"]
def read_the_profile(events):
    found, inside = {}, []
    for name, _, start, end in sorted(events, key=lambda e: (e[1], e[2], -e[3])):
        while inside and inside[-1][1] <= start:
            inside.pop()
        if inside:
            calls, time = found[inside[-1][0]]
            found[inside[-1][0]] = calls, time - (end - start)
        calls, time = found.get(name, (0, 0))
        found[name] = calls + 1, time + end - start
        inside.append((name, end))
    return found


# %% wrong="sorted by thread and start alone" says=["the inner one is listed first", "of events that begin together, the longest encloses the others"]
def read_the_profile(events: list[tuple[str, int, int, int]]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    inside: list[tuple[str, int, int]] = []  # (name, thread, end) of what is open, outermost first
    for name, thread, start, end in sorted(events, key=lambda e: (e[1], e[2])):
        while inside and (inside[-1][1] != thread or inside[-1][2] < end):
            inside.pop()
        if inside:
            calls, time = found[inside[-1][0]]
            found[inside[-1][0]] = calls, time - (end - start)
        calls, time = found.get(name, (0, 0))
        found[name] = calls + 1, time + end - start
        inside.append((name, thread, end))
    return found


# %% wrong="a set of the events" says=["two equal events", "each event with that name is a call"]
def read_the_profile(events: list[tuple[str, int, int, int]]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    inside: list[tuple[str, int, int]] = []  # (name, thread, end) of what is open, outermost first
    for name, thread, start, end in sorted(set(events), key=lambda e: (e[1], e[2], -e[3])):
        while inside and (inside[-1][1] != thread or inside[-1][2] <= start):
            inside.pop()
        if inside:
            calls, time = found[inside[-1][0]]
            found[inside[-1][0]] = calls, time - (end - start)
        calls, time = found.get(name, (0, 0))
        found[name] = calls + 1, time + end - start
        inside.append((name, thread, end))
    return found


# %% wrong="sorted by time alone" says=["two threads", "sort by thread first"]
def read_the_profile(events: list[tuple[str, int, int, int]]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    inside: list[tuple[str, int, int]] = []  # (name, thread, end) of what is open, outermost first
    for name, thread, start, end in sorted(events, key=lambda e: (e[2], -e[3])):
        while inside and (inside[-1][1] != thread or inside[-1][2] <= start):
            inside.pop()
        if inside:
            calls, time = found[inside[-1][0]]
            found[inside[-1][0]] = calls, time - (end - start)
        calls, time = found.get(name, (0, 0))
        found[name] = calls + 1, time + end - start
        inside.append((name, thread, end))
    return found


# %% wrong="the time of the last event of a name" breaks="add up" says=["add their times up"]
def read_the_profile(events: list[tuple[str, int, int, int]]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    inside: list[tuple[str, int, int]] = []  # (name, thread, end) of what is open, outermost first
    for name, thread, start, end in sorted(events, key=lambda e: (e[1], e[2], -e[3])):
        while inside and (inside[-1][1] != thread or inside[-1][2] <= start):
            inside.pop()
        if inside:
            calls, time = found[inside[-1][0]]
            found[inside[-1][0]] = calls, time - (end - start)
        calls, time = found.get(name, (0, 0))
        found[name] = calls + 1, end - start
        inside.append((name, thread, end))
    return found


# %% wrong="a recursion counts once" says=["each event with that name is a call"]
def read_the_profile(events: list[tuple[str, int, int, int]]) -> dict[str, tuple[int, int]]:
    """For each name how many events it has, and the time spent in them themselves."""
    found: dict[str, tuple[int, int]] = {}
    inside: list[tuple[str, int, int]] = []  # (name, thread, end) of what is open, outermost first
    for name, thread, start, end in sorted(events, key=lambda e: (e[1], e[2], -e[3])):
        while inside and (inside[-1][1] != thread or inside[-1][2] <= start):
            inside.pop()
        if inside:
            calls, time = found[inside[-1][0]]
            found[inside[-1][0]] = calls, time - (end - start)
        calls, time = found.get(name, (0, 0))
        calls -= any(name == one for one, _, _ in inside)
        found[name] = calls + 1, time + end - start
        inside.append((name, thread, end))
    return found


# %% wrong="an event that touches another is inside it" says=["an event that begins where another ends isn't inside it"]
def read_the_profile(events):
    found, open_ = {}, []
    order = sorted(events, key=lambda e: (e[1], e[2], -e[3]))
    for name, thread, start, end in order:
        while open_ and (open_[-1][1] != thread or open_[-1][2] < start):
            open_.pop()
        if open_:
            parent = open_[-1][0]
            calls, own = found[parent]
            found[parent] = calls, own - (end - start)
        calls, own = found.get(name, (0, 0))
        found[name] = calls + 1, own + end - start
        open_.append((name, thread, end))
    return found


# %% wrong="equal events by name, the later name first" says=["the first in the list encloses the second"]
def read_the_profile(events):
    order = sorted(
        sorted(events, key=lambda e: e[0], reverse=True), key=lambda e: (e[1], e[2], -e[3])
    )
    found, open_ = {}, []
    for name, thread, start, end in order:
        while open_ and (open_[-1][1] != thread or open_[-1][3] < end):
            open_.pop()
        calls, own = found.get(name, (0, 0))
        found[name] = (calls + 1, own + end - start)
        if open_:
            parent = open_[-1][0]
            found[parent] = (found[parent][0], found[parent][1] - (end - start))
        open_.append((name, thread, start, end))
    return found


# %% wrong="in floating point" breaks="a string and three integers" says=["nanoseconds since 1970: 'linear': times are whole numbers"]
def read_the_profile(events):
    order = sorted(
        enumerate(events), key=lambda pair: (pair[1][1], pair[1][2], -pair[1][3], pair[0])
    )
    found, stack = {}, []
    for _, (name, thread, start, end) in order:
        while stack and (stack[-1][2] != thread or stack[-1][1] <= start):
            stack.pop()
        calls, own = found.get(name, (0, 0))
        found[name] = (calls + 1, own + float(end) - float(start))
        if stack:
            parent = stack[-1][0]
            found[parent] = (found[parent][0], found[parent][1] - (float(end) - float(start)))
        stack.append((name, end, thread))
    return {n: (c, int(t)) for n, (c, t) in found.items()}


# %% wrong="in 32 bits" says=["nanoseconds since 1970: 'addmm': a time needn't fit into 32 bits"]
def read_the_profile(events):
    order = sorted(
        enumerate(events), key=lambda pair: (pair[1][1], pair[1][2], -pair[1][3], pair[0])
    )
    found, stack = {}, []
    for _, (name, thread, start, end) in order:
        while stack and (stack[-1][2] != thread or stack[-1][1] <= start):
            stack.pop()
        calls, own = found.get(name, (0, 0))
        found[name] = (calls + 1, own + end - start)
        if stack:
            parent = stack[-1][0]
            found[parent] = (found[parent][0], found[parent][1] - (end - start))
        stack.append((name, end, thread))
    import numpy as np

    return {n: (c, int(np.int64(t).astype(np.int32))) for n, (c, t) in found.items()}


# %% wrong="thread 0 is taken for none" says=["threads 0 and -1, times below 0: 'seek': an event of another thread is not inside"]
def read_the_profile(events):
    order = sorted(
        enumerate(events), key=lambda pair: (pair[1][1], pair[1][2], -pair[1][3], pair[0])
    )
    found, stack = {}, []
    for _, (name, thread, start, end) in order:
        while stack and ((thread and stack[-1][2] != thread) or stack[-1][1] <= start):
            stack.pop()
        calls, own = found.get(name, (0, 0))
        found[name] = (calls + 1, own + end - start)
        if stack:
            parent = stack[-1][0]
            found[parent] = (found[parent][0], found[parent][1] - (end - start))
        stack.append((name, end, thread))
    return found


# %% wrong="times begin at 0" says=["times may be below 0"]
def read_the_profile(events):
    order = sorted(
        enumerate(events), key=lambda pair: (pair[1][1], pair[1][2], -pair[1][3], pair[0])
    )
    found, stack = {}, []
    for _, (name, thread, start, end) in order:
        start, end = max(start, 0), max(end, 0)
        while stack and (stack[-1][2] != thread or stack[-1][1] <= start):
            stack.pop()
        calls, own = found.get(name, (0, 0))
        found[name] = (calls + 1, own + end - start)
        if stack:
            parent = stack[-1][0]
            found[parent] = (found[parent][0], found[parent][1] - (end - start))
        stack.append((name, end, thread))
    return found


# %% wrong="sorts the caller's list" breaks="and leaves it as it is" says=["the list of events was changed"]
def read_the_profile(events):
    found, open_ = {}, []
    events.sort(key=lambda event: (event[1], event[2], -event[3]))
    for name, thread, start, end in events:
        while open_ and (open_[-1][1] != thread or open_[-1][2] <= start):
            open_.pop()
        calls, own = found.get(name, (0, 0))
        found[name] = (calls + 1, own + end - start)
        if open_:
            parent = open_[-1][0]
            calls, own = found[parent]
            found[parent] = (calls, own - (end - start))
        open_.append((name, thread, end))
    return found


# %% wrong="sorted by the thread's size" breaks="if both are of the same thread" says=["threads 1 and -1: 'load': an event of another thread closes nothing"]
def read_the_profile(events):
    found, open_ = {}, []
    for name, thread, start, end in sorted(events, key=lambda e: (abs(e[1]), e[2], -e[3])):
        while open_ and (open_[-1][1] != thread or open_[-1][2] <= start):
            open_.pop()
        calls, own = found.get(name, (0, 0))
        found[name] = (calls + 1, own + end - start)
        if open_:
            parent = open_[-1][0]
            calls, own = found[parent]
            found[parent] = (calls, own - (end - start))
        open_.append((name, thread, end))
    return found


# %% wrong="three open events at most" breaks="the events *directly* inside it" says=["five deep, one without a name"]
def read_the_profile(events):
    found, open_ = {}, []
    for name, thread, start, end in sorted(events, key=lambda e: (e[1], e[2], -e[3])):
        while open_ and (open_[-1][1] != thread or open_[-1][2] <= start):
            open_.pop()
        calls, own = found.get(name, (0, 0))
        found[name] = (calls + 1, own + end - start)
        if open_:
            parent = open_[-1][0]
            calls, own = found[parent]
            found[parent] = (calls, own - (end - start))
        open_ = [*open_, (name, thread, end)][:3]
    return found


# %% wrong="an empty name is taken for none" says=["five deep, one without a name: the self time of ''"]
def read_the_profile(events):
    found, open_ = {}, []
    for name, thread, start, end in sorted(events, key=lambda e: (e[1], e[2], -e[3])):
        while open_ and (open_[-1][1] != thread or open_[-1][2] <= start):
            open_.pop()
        calls, own = found.get(name, (0, 0))
        found[name] = (calls + 1, own + end - start)
        parent = open_[-1][0] if open_ else None
        if parent:
            calls, own = found[parent]
            found[parent] = (calls, own - (end - start))
        open_.append((name, thread, end))
    return found


# %% wrong="a recursion by way of another isn't counted" says=["a recursion by way of another: the self time of 'call' is wrong"]
def read_the_profile(events):
    calls, spent, ends = {}, {}, []
    for name, thread, start, end in sorted(events, key=lambda e: (e[1], e[2], -e[3])):
        ends = [o for o in ends if o[1] == thread and o[2] > start]
        calls[name] = calls.get(name, 0) + 1
        if name not in [o[0] for o in ends]:
            spent[name] = spent.get(name, 0) + end - start
            if ends:
                spent[ends[-1][0]] -= end - start
        ends.append((name, thread, end))
    return {n: (calls[n], spent[n]) for n in calls}


# %% wrong="times before 0 do not count as open" says=["threads 0 and -1, times below 0: the self time"]
def read_the_profile(events: list[tuple[str, int, int, int]]) -> dict[str, tuple[int, int]]:
    found = {}
    opened = []
    for name, thread, start, end in sorted(events, key=lambda e: (e[1], e[2], -e[3])):
        while opened and (opened[-1][1] != thread or opened[-1][2] <= max(start, 0)):
            opened.pop()
        calls, spent = found.get(name, (0, 0))
        found[name] = (calls + 1, spent + end - start)
        if opened:
            parent = opened[-1][0]
            calls, spent = found[parent]
            found[parent] = (calls, spent - (end - start))
        opened.append((name, thread, end))
    return found


# %% wrong="all that lies within, equal ones too" says=["taken off twice: only direct children count"]
def read_the_profile(events):
    found = {}
    for i, (name, thread, start, end) in enumerate(events):
        inside = sum(
            e - s
            for j, (_, t, s, e) in enumerate(events)
            if j != i and t == thread and start <= s and e <= end
        )
        calls, spent = found.get(name, (0, 0))
        found[name] = (calls + 1, spent + end - start - inside)
    return found


# %% wrong="self times as floats" says=["so are calls and self time"]
def read_the_profile(events):
    found, stack = {}, []
    for name, thread, start, end in sorted(events, key=lambda e: (e[1], e[2], -e[3])):
        while stack and (stack[-1][1] != thread or stack[-1][2] <= start):
            stack.pop()
        calls, time = found.get(name, (0, 0))
        found[name] = (calls + 1, time + float(end - start))
        if stack:
            outer = stack[-1][0]
            found[outer] = (found[outer][0], found[outer][1] - (end - start))
        stack.append((name, thread, end))
    return found


# %% wrong="a begin of 0 taken for none" says=["one begins at 0, where another ends: the self time of 'mm'"]
def read_the_profile(events):
    found, stack = {}, []
    for name, thread, start, end in sorted(events, key=lambda e: (e[1], e[2], -e[3])):
        while stack and (stack[-1][1] != thread or start and stack[-1][2] <= start):
            stack.pop()
        calls, time = found.get(name, (0, 0))
        found[name] = (calls + 1, time + end - start)
        if stack:
            outer = stack[-1][0]
            found[outer] = (found[outer][0], found[outer][1] - (end - start))
        stack.append((name, thread, end))
    return found


# %% wrong="names without their blanks" says=["2 names are missing in the dict"]
def read_the_profile(events):
    found, stack = {}, []
    for name, thread, start, end in sorted(
        (((e[0].strip() or "?"), *e[1:]) for e in events)
        if any(" " in e[0] for e in events)
        else events,
        key=lambda e: (e[1], e[2], -e[3]),
    ):
        while stack and (stack[-1][1] != thread or stack[-1][2] <= start):
            stack.pop()
        calls, time = found.get(name, (0, 0))
        found[name] = (calls + 1, time + end - start)
        if stack:
            outer = stack[-1][0]
            found[outer] = (found[outer][0], found[outer][1] - (end - start))
        stack.append((name, thread, end))
    return found


# %% wrong="each thread's dict over the one before" says=["one name in two threads: the calls of 'mm' are wrong"]
def read_the_profile(events):
    def of_one_thread(spans):
        found, stack = {}, []
        for name, _, start, end in sorted(spans, key=lambda event: (event[2], -event[3])):
            while stack and stack[-1][1] <= start:
                stack.pop()
            found.setdefault(name, [0, 0])
            found[name][0] += 1
            found[name][1] += end - start
            if stack:
                found[stack[-1][0]][1] -= end - start
            stack.append((name, end))
        return {name: tuple(pair) for name, pair in found.items()}

    result = {}
    for thread in {event[1] for event in events}:
        result.update(of_one_thread([event for event in events if event[1] == thread]))
    return result


# %% wrong="times in a dict by event" says=["two equal events: 'mm': two equal events are two"]
def read_the_profile(events: list[tuple[str, int, int, int]]) -> dict[str, tuple[int, int]]:
    own, still_open = {}, []
    ordered = sorted(events, key=lambda e: (e[1], e[2], -e[3]))
    for event in ordered:
        _, thread, start, end = event
        while still_open and (still_open[-1][1] != thread or still_open[-1][3] <= start):
            still_open.pop()
        own[event] = end - start
        if still_open:
            own[still_open[-1]] -= end - start
        still_open.append(event)
    found = {}
    for event in ordered:
        calls, spent = found.get(event[0], (0, 0))
        found[event[0]] = (calls + 1, spent + own[event])
    return found
