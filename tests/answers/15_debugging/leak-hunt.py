# %% [markdown]
# Rules:
#
# - "Call `step()` twice to warm up"
# - "Return the list of the names"
# - "from which more can be reached at the second count"
# - "in the dict's order"
# - "The dict stays as it is"
# - "Count the *different* things"
# - "that can be reached and count"
# - "the suspect itself included"
# - "Follow `neighbours` to any depth"
# - "through what doesn't count as well"
# - "Some exist only while you hold them"
#
# Admits:
#
# - "Objects may refer to each other in a circle": a circle
# - "for a NumPy array": arrays

# %% wrong="no warm-up" breaks="Call `step()` twice to warm up" says=["calls of step()", "two to warm up"]
# ruff: noqa: E402
def leak_hunt(step, suspects):
    def reached(start):
        seen, queue = {}, [start]
        while queue:
            thing = queue.pop()
            if id(thing) not in seen:
                seen[id(thing)] = thing
                queue += neighbours(thing)
        return sum(counts(thing) for thing in seen.values())

    before = {name: reached(thing) for name, thing in suspects.items()}
    for _ in range(3):
        step()
    return [name for name in suspects if reached(suspects[name]) > before[name]]


# %% wrong="does not look deep" breaks="Follow `neighbours` to any depth" says=["a lambda holds what it uses", "a hook's closure holds the batch"]
def leak_hunt(step, suspects):
    def size(thing):
        return sum(counts(entry) for entry in neighbours(thing))

    step(), step()
    before = {name: size(thing) for name, thing in suspects.items()}
    step(), step(), step()
    return [name for name in suspects if size(suspects[name]) > before[name]]


# %% wrong="tensors alone" says=["one tensor, whose graph grows: nodes count, too"]
def leak_hunt(step, suspects):
    def reached(start):
        seen, queue = {}, [start]
        while queue:
            thing = queue.pop()
            if id(thing) not in seen:
                seen[id(thing)] = thing
                queue += neighbours(thing)
        return sum(isinstance(thing, torch.Tensor) for thing in seen.values())

    step(), step()
    before = {name: reached(thing) for name, thing in suspects.items()}
    step(), step(), step()
    return [name for name in suspects if reached(suspects[name]) > before[name]]


# %% wrong="whatever holds anything" says=["no leak: the answer: expected []"]
def leak_hunt(step, suspects):
    for _ in range(5):
        step()
    return [name for name, thing in suspects.items() if len(neighbours(thing))]


# %% wrong="counts all objects, floats too" breaks="that can be reached and count" says=["numbers", "floats don't count"]
def leak_hunt(step, suspects):
    def reached(start):
        seen, queue = {}, [start]
        while queue:
            thing = queue.pop()
            if id(thing) not in seen:
                seen[id(thing)] = thing
                queue += neighbours(thing)
        return len(seen)

    step(), step()
    before = {name: reached(thing) for name, thing in suspects.items()}
    step(), step(), step()
    return [name for name in suspects if reached(suspects[name]) > before[name]]


# %% wrong="stops at what it does not count" breaks="through what doesn't count as well" says=["things may be reached in circles, and at any depth"]
def leak_hunt(step, suspects):
    def reached(start):
        seen, queue = {}, list(neighbours(start))
        while queue:
            thing = queue.pop()
            if id(thing) not in seen and (counts(thing) or isinstance(thing, (list, dict))):
                seen[id(thing)] = thing
                queue += neighbours(thing)
        return sum(counts(thing) for thing in seen.values())

    step(), step()
    before = {name: reached(thing) for name, thing in suspects.items()}
    step(), step(), step()
    return [name for name in suspects if reached(suspects[name]) > before[name]]


# %% right="a list that grows while it is walked"
def leak_hunt(step, suspects):
    def size(start):
        things = [start]
        known = {id(start)}
        for thing in things:
            for other in neighbours(thing):
                if id(other) not in known:
                    known.add(id(other))
                    things.append(other)
        return len([1 for thing in things if counts(thing)])

    def all_sizes():
        return [size(thing) for thing in suspects.values()]

    for _ in "ab":
        step()
    first = all_sizes()
    for _ in "abc":
        step()
    return [n for n, a, b in zip(suspects, first, all_sizes(), strict=True) if b > a]


# %% right="a recursive walk"
import sys


def leak_hunt(step, suspects):
    def walk(thing, seen):
        if id(thing) in seen:
            return 0
        seen[id(thing)] = thing
        return bool(counts(thing)) + sum(walk(other, seen) for other in neighbours(thing))

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        history = {name: [] for name in suspects}
        for n in range(5):
            step()
            if n in (1, 4):
                for name, thing in suspects.items():
                    history[name].append(walk(thing, {}))
    finally:
        sys.setrecursionlimit(limit)
    return [name for name, (early, late) in history.items() if late > early]


# %% wrong="new objects, not more objects" says=["new gradients replace old: compare numbers"]
def leak_hunt(step: Callable[[], None], suspects: dict[str, object]) -> list[str]:
    def reach(thing):
        seen, todo = {}, [thing]
        while todo:
            t = todo.pop()
            if id(t) not in seen:
                seen[id(t)] = t
                todo += neighbours(t)
        return {k: t for k, t in seen.items() if counts(t)}

    step()
    step()
    one = {n: reach(s) for n, s in suspects.items()}
    step()
    step()
    step()
    return [n for n, s in suspects.items() if set(reach(s)) - set(one[n])]


# %% right="recursion"
def leak_hunt(step: Callable[[], None], suspects: dict[str, object]) -> list[str]:
    import sys

    sys.setrecursionlimit(max(sys.getrecursionlimit(), 20000))

    def visit(thing, seen):
        if id(thing) in seen:
            return 0
        seen[id(thing)] = thing
        return int(counts(thing)) + sum(visit(n, seen) for n in neighbours(thing))

    step()
    step()
    before = {}
    for name in suspects:
        before[name] = visit(suspects[name], {})
    [step() for _ in range(3)]
    return [name for name in suspects if visit(suspects[name], {}) > before[name]]


# %% wrong="another number is a leak" breaks="from which more can be reached at the second count" says=["a list that empties", "fewer"]
def leak_hunt(step, suspects):
    def reached(start):
        seen, queue = {}, [start]
        while queue:
            thing = queue.pop()
            if id(thing) not in seen:
                seen[id(thing)] = thing
                queue += neighbours(thing)
        return sum(counts(thing) for thing in seen.values())

    sizes = []
    for steps in (2, 3):
        for _ in range(steps):
            step()
        sizes.append({name: reached(thing) for name, thing in suspects.items()})
    return [name for name in suspects if sizes[1][name] != sizes[0][name]]


# %% wrong="one memory for all suspects" says=["two leaks", "ring holds log, so both"]
def leak_hunt(step, suspects):
    def sizes():
        seen, found = {}, {}
        for name, start in suspects.items():
            found[name], queue = 0, [start]
            while queue:
                thing = queue.pop()
                if id(thing) not in seen:
                    seen[id(thing)] = thing
                    found[name] += bool(counts(thing))
                    queue += neighbours(thing)
        return found

    step(), step()
    first = sizes()
    step(), step(), step()
    second = sizes()
    return [name for name in suspects if second[name] > first[name]]


# %% wrong="sorts the names" breaks="in the dict's order" says=["in the dict's order"]
def leak_hunt(step, suspects):
    def reached(start):
        seen, queue = {}, [start]
        while queue:
            thing = queue.pop()
            if id(thing) not in seen:
                seen[id(thing)] = thing
                queue += neighbours(thing)
        return sum(counts(thing) for thing in seen.values())

    step(), step()
    first = {name: reached(thing) for name, thing in suspects.items()}
    step(), step(), step()
    return sorted(name for name in suspects if reached(suspects[name]) > first[name])


# %% wrong="counts what is held twice twice" breaks="Count the *different* things" says=["held again"]
def leak_hunt(step, suspects):
    def count(root):
        hits = [0]
        seen, todo = {}, [root]
        while todo:
            thing = todo.pop()
            if id(thing) in seen:
                continue
            seen[id(thing)] = thing
            hits[0] += sum(map(bool, map(counts, neighbours(thing))))
            todo.extend(neighbours(thing))
        return hits[0] + bool(counts(root))

    step()
    step()
    before = {n: count(s) for n, s in suspects.items()}
    step()
    step()
    step()
    return [n for n, s in suspects.items() if count(s) > before[n]]


# %% wrong="names the largest leak only" breaks="Return the list of the names" says=["the smaller leak is a leak, too"]
def leak_hunt(step, suspects):
    def count(root):
        seen, todo = {}, [root]
        while todo:
            thing = todo.pop()
            if id(thing) in seen:
                continue
            seen[id(thing)] = thing
            todo.extend(neighbours(thing))
        return sum(map(bool, map(counts, seen.values())))

    step()
    step()
    before = {n: count(s) for n, s in suspects.items()}
    step()
    step()
    step()
    gain = {n: count(s) - before[n] for n, s in suspects.items()}
    return [n for n in gain if gain[n] == max(gain.values()) > 0]


# %% wrong="lets one or two things more pass" says=["a single thing more is more"]
def leak_hunt(step, suspects):
    def count(root):
        seen, todo = {}, [root]
        while todo:
            thing = todo.pop()
            if id(thing) in seen:
                continue
            seen[id(thing)] = thing
            todo.extend(neighbours(thing))
        return sum(map(bool, map(counts, seen.values())))

    step()
    step()
    before = {n: count(s) for n, s in suspects.items()}
    step()
    step()
    step()
    return [n for n, s in suspects.items() if count(s) > before[n] + 2]


# %% wrong="searches by recursion" says=["RecursionError", "keep a list of what to do"]
def leak_hunt(step, suspects):
    def walk(thing, seen):
        if id(thing) in seen:
            return
        seen[id(thing)] = thing
        for t in neighbours(thing):
            walk(t, seen)

    def count(root):
        seen = {}
        walk(root, seen)
        return sum(1 for t in seen.values() if counts(t))

    step()
    step()
    before = {n: count(s) for n, s in suspects.items()}
    step()
    step()
    step()
    return [n for n, s in suspects.items() if count(s) > before[n]]


# %% wrong="takes a suspect out of the dict" breaks="The dict stays as it is" says=["the dict of suspects was changed"]
def leak_hunt(step, suspects):
    def reached(start):
        seen, queue = {}, [start]
        while queue:
            thing = queue.pop()
            if id(thing) not in seen:
                seen[id(thing)] = thing
                queue += neighbours(thing)
        return sum(counts(t) for t in seen.values())

    for _ in range(2):
        step()
    first = {n: reached(t) for n, t in suspects.items()}
    for _ in range(3):
        step()
    suspects.pop("optimizer", None)
    second = {n: reached(t) for n, t in suspects.items()}
    return [n for n in suspects if second[n] > first[n]]


# %% wrong="keeps its counts in the dict" breaks="The dict stays as it is" says=["it has other values for"]
def leak_hunt(step, suspects):
    def reached(suspect):
        seen, todo = {}, [suspect]
        while todo:
            thing = todo.pop()
            if id(thing) not in seen:
                seen[id(thing)] = thing
                todo.extend(neighbours(thing))
        return sum(bool(counts(thing)) for thing in seen.values())

    for _ in range(2):
        step()
    for name, suspect in suspects.items():
        suspects[name] = (suspect, reached(suspect))
    for _ in range(3):
        step()
    return [name for name, (suspect, number) in suspects.items() if reached(suspect) > number]


# %% wrong="counts elements" says=["nodes count, too"]
def leak_hunt(step, suspects):
    def reached(start):
        seen, queue = {}, [start]
        while queue:
            thing = queue.pop()
            if id(thing) not in seen:
                seen[id(thing)] = thing
                queue += neighbours(thing)
        return sum(t.numel() for t in seen.values() if isinstance(t, torch.Tensor))

    for _ in range(2):
        step()
    first = {n: reached(t) for n, t in suspects.items()}
    for _ in range(3):
        step()
    second = {n: reached(t) for n, t in suspects.items()}
    return [n for n in suspects if second[n] > first[n]]


# %% wrong="counts twice after five steps" says=["each entry is a tensor more"]
def leak_hunt(step, suspects):
    def reached(start):
        seen, queue = {}, [start]
        while queue:
            thing = queue.pop()
            if id(thing) not in seen:
                seen[id(thing)] = thing
                queue += neighbours(thing)
        return sum(counts(t) for t in seen.values())

    for _ in range(2):
        step()
    for _ in range(3):
        step()
    first = {n: reached(t) for n, t in suspects.items()}
    second = {n: reached(t) for n, t in suspects.items()}
    return [n for n in suspects if second[n] > first[n]]


# %% right="level by level"
def leak_hunt(step, suspects):
    def size(root):
        known, level = {id(root): root}, [root]
        while level:
            nxt = []
            for t in level:
                for n in neighbours(t):
                    if id(n) not in known:
                        known[id(n)] = n
                        nxt.append(n)
            level = nxt
        return len([1 for t in known.values() if counts(t)])

    step()
    step()
    old = list(map(size, suspects.values()))
    step()
    step()
    step()
    return [n for n, o, t in zip(suspects, old, suspects.values()) if size(t) > o]


# %% wrong="remembers ids, and lets the things go" breaks="Some exist only while you hold them" says=["leaves its id to the next"]
def leak_hunt(step, suspects):
    def count(start):
        seen, todo, found = {id(start)}, [start], 0
        while todo:
            thing = todo.pop()
            found += bool(counts(thing))
            for other in neighbours(thing):
                if id(other) not in seen:
                    seen.add(id(other))
                    todo.append(other)
        return found

    for _ in range(2):
        step()
    before = {name: count(thing) for name, thing in suspects.items()}
    for _ in range(3):
        step()
    return [name for name, thing in suspects.items() if count(thing) > before[name]]


# %% wrong="three steps to warm up, then two" says=["one in the third step", "it is there at step 5, not at step 2"]
def reach(thing):
    seen, todo = {id(thing): thing}, [thing]
    while todo:
        for other in neighbours(todo.pop()):
            if id(other) not in seen:
                seen[id(other)] = other
                todo.append(other)
    return sum(bool(counts(other)) for other in seen.values())


def leak_hunt(step, suspects):
    for _ in range(3):
        step()
    first = {name: reach(thing) for name, thing in suspects.items()}
    for _ in range(2):
        step()
    return [name for name, thing in suspects.items() if reach(thing) > first[name]]


# %% wrong="what needs a gradient isn't counted" says=["copies of the weights", "a parameter is a tensor, and counts"]
def reach(thing):
    seen, todo = {id(thing): thing}, [thing]
    while todo:
        for other in neighbours(todo.pop()):
            if id(other) not in seen:
                seen[id(other)] = other
                todo.append(other)
    return sum(
        bool(counts(other)) and not (isinstance(other, torch.Tensor) and other.requires_grad)
        for other in seen.values()
    )


def leak_hunt(step, suspects):
    for _ in range(2):
        step()
    first = {name: reach(thing) for name, thing in suspects.items()}
    for _ in range(3):
        step()
    return [name for name, thing in suspects.items() if reach(thing) > first[name]]


# %% wrong="tensors of the same memory count once" says=["weights by other names", "are different things"]
def reach(thing):
    seen, todo = {id(thing): thing}, [thing]
    while todo:
        for other in neighbours(todo.pop()):
            if id(other) not in seen:
                seen[id(other)] = other
                todo.append(other)
    return len(
        {
            other.data_ptr() if isinstance(other, torch.Tensor) else id(other)
            for other in seen.values()
            if counts(other)
        }
    )


def leak_hunt(step, suspects):
    for _ in range(2):
        step()
    first = {name: reach(thing) for name, thing in suspects.items()}
    for _ in range(3):
        step()
    return [name for name, thing in suspects.items() if reach(thing) > first[name]]


# %% wrong="a tensor is no container" says=["a list on a tensor", "a tensor has attributes, too"]
def reach(thing):
    if isinstance(thing, torch.Tensor):
        return 0
    seen, todo = {id(thing): thing}, [thing]
    while todo:
        for other in neighbours(todo.pop()):
            if id(other) not in seen:
                seen[id(other)] = other
                todo.append(other)
    return sum(bool(counts(other)) for other in seen.values())


def leak_hunt(step, suspects):
    for _ in range(2):
        step()
    first = {name: reach(thing) for name, thing in suspects.items()}
    for _ in range(3):
        step()
    return [name for name, thing in suspects.items() if reach(thing) > first[name]]


# %% wrong="all suspects counted together" says=["a list that empties, and one that grows", "count for each suspect"]
def leak_hunt(step, suspects):
    def number(thing):
        seen, todo, total = {}, [thing], 0
        while todo:
            one = todo.pop()
            if id(one) in seen:
                continue
            seen[id(one)] = one
            total += bool(counts(one))
            todo.extend(neighbours(one))
        return total

    for _ in range(2):
        step()
    first = {name: number(thing) for name, thing in suspects.items()}
    for _ in range(3):
        step()
    total = sum(map(number, suspects.values()))
    return (
        [name for name, thing in suspects.items() if number(thing) > first[name]]
        if total > sum(first.values())
        else []
    )


# %% wrong="each object once, whatever its names" breaks="Return the list of the names" says=["one list by two names"]
def leak_hunt(step: Callable[[], None], suspects: dict[str, object]) -> list[str]:

    def reached(thing):
        seen, todo = {id(thing): thing}, [thing]
        while todo:
            for other in neighbours(todo.pop()):
                if id(other) not in seen:
                    seen[id(other)] = other
                    todo.append(other)
        return sum(counts(other) for other in seen.values())

    for _ in range(2):
        step()
    before, done = {}, set()
    for name, thing in suspects.items():
        before[name] = float("inf") if id(thing) in done else reached(thing)
        done.add(id(thing))
    for _ in range(3):
        step()
    return [name for name, thing in suspects.items() if reached(thing) > before[name]]


# %% wrong="elements counted, not tensors" says=["it is one thing, however many numbers it holds"]
def leak_hunt(step, suspects):
    def reached(thing):
        seen, todo = {}, [thing]
        while todo:
            it = todo.pop()
            if id(it) not in seen:
                seen[id(it)] = it
                todo.extend(neighbours(it))
        return sum(
            it.numel() if isinstance(it, torch.Tensor) else 1 for it in seen.values() if counts(it)
        )

    def census():
        return {name: reached(thing) for name, thing in suspects.items()}

    for _ in range(2):
        step()
    before = census()
    for _ in range(3):
        step()
    after = census()
    return [name for name in suspects if after[name] > before[name]]


# %% wrong="tuples remembered by their values" says=["unhashable type"]
def leak_hunt(step, suspects):
    def reached(thing):
        seen, todo = {}, [thing]
        while todo:
            it = todo.pop()
            key = it if isinstance(it, (str, int, float, tuple)) else id(it)
            if key not in seen:
                seen[key] = it
                todo.extend(neighbours(it))
        return sum(1 for it in seen.values() if counts(it))

    def census():
        return {name: reached(thing) for name, thing in suspects.items()}

    for _ in range(2):
        step()
    before = census()
    for _ in range(3):
        step()
    after = census()
    return [name for name in suspects if after[name] > before[name]]


# %% wrong="fails for no suspect" says=["nobody is suspected: raised ValueError"]
def leak_hunt(step, suspects):
    def reached(thing):
        seen, todo = {}, [thing]
        while todo:
            it = todo.pop()
            if id(it) not in seen:
                seen[id(it)] = it
                todo.extend(neighbours(it))
        return sum(1 for it in seen.values() if counts(it))

    def census():
        return {name: reached(thing) for name, thing in suspects.items()}

    for _ in range(2):
        step()
    before = census()
    max(before.values())
    for _ in range(3):
        step()
    after = census()
    return [name for name in suspects if after[name] > before[name]]


# %% wrong="what was seen is compared by ==" says=["know a thing by its id"]
def leak_hunt(step, suspects):
    def count(thing):
        seen, todo = [], [thing]
        while todo:
            thing = todo.pop()
            if any(
                thing is other or type(thing) is type(other) and thing == other
                for other in seen
                if not isinstance(other, torch.Tensor)
            ):
                continue
            if isinstance(thing, torch.Tensor) and any(thing is other for other in seen):
                continue
            seen.append(thing)
            todo.extend(neighbours(thing))
        return sum(bool(counts(thing)) for thing in seen)

    for _ in range(2):
        step()
    before = {name: count(thing) for name, thing in suspects.items()}
    for _ in range(3):
        step()
    return [name for name, thing in suspects.items() if count(thing) > before[name]]


# %% wrong="the suspect counts only if it is referred to" breaks="the suspect itself included" says=["a tensor that holds itself", "the suspect itself counts before"]
def leak_hunt(step: Callable[[], None], suspects: dict[str, object]) -> list[str]:
    def count(suspect):
        seen, todo = {}, list(neighbours(suspect))
        while todo:
            thing = todo.pop()
            if id(thing) not in seen:
                seen[id(thing)] = thing
                todo.extend(neighbours(thing))
        return sum(bool(counts(thing)) for thing in seen.values())

    for _ in range(2):
        step()
    before = {name: count(suspect) for name, suspect in suspects.items()}
    for _ in range(3):
        step()
    return [name for name, suspect in suspects.items() if count(suspect) > before[name]]
