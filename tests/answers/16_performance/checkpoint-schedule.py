# %% [markdown]
# Rules:
#
# - "a list with the number of layers in each segment"
# - "leaves it as it is"
# - "perhaps billions"
# - "so that the peak is as small as possible"
# - "and that peak"
# - "the sum of all segments' first inputs"
# - "the largest "rest of a segment""
#
# Admits:
#
# - "1 to 14 integers": [5]
# - "from 0 on": [0, 2, 0, 0, 6]
# - "perhaps billions": gigabytes last

# %% wrong="first inputs twice" breaks="the largest \"rest of a segment\"" says=["counted twice"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    best: tuple[list[int], int] | None = None
    for cuts in range(2 ** (len(saved) - 1)):  # bit n: a segment begins at layer n + 1
        segments = [[saved[0]]]
        for n, size in enumerate(saved[1:]):
            if cuts >> n & 1:
                segments.append([size])
            else:
                segments[-1].append(size)
        peak = sum(part[0] for part in segments) + max(sum(part) for part in segments)
        if best is None or peak < best[1]:
            best = [len(part) for part in segments], peak
    return best


# %% wrong="without the kept inputs" breaks="the sum of all segments' first inputs" says=["kept of all segments are missing"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    best: tuple[list[int], int] | None = None
    for cuts in range(2 ** (len(saved) - 1)):  # bit n: a segment begins at layer n + 1
        segments = [[saved[0]]]
        for n, size in enumerate(saved[1:]):
            if cuts >> n & 1:
                segments.append([size])
            else:
                segments[-1].append(size)
        peak = max(sum(part) for part in segments)
        if best is None or peak < best[1]:
            best = [len(part) for part in segments], peak
    return best


# %% wrong="all segments at once" says=["has a smaller peak"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    best: tuple[list[int], int] | None = None
    for cuts in range(2 ** (len(saved) - 1)):  # bit n: a segment begins at layer n + 1
        segments = [[saved[0]]]
        for n, size in enumerate(saved[1:]):
            if cuts >> n & 1:
                segments.append([size])
            else:
                segments[-1].append(size)
        peak = sum(part[0] for part in segments) + sum(sum(part[1:]) for part in segments)
        if best is None or peak < best[1]:
            best = [len(part) for part in segments], peak
    return best


# %% wrong="the largest peak" says=["has a smaller peak"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    best: tuple[list[int], int] | None = None
    for cuts in range(2 ** (len(saved) - 1)):  # bit n: a segment begins at layer n + 1
        segments = [[saved[0]]]
        for n, size in enumerate(saved[1:]):
            if cuts >> n & 1:
                segments.append([size])
            else:
                segments[-1].append(size)
        peak = sum(part[0] for part in segments) + max(sum(part[1:]) for part in segments)
        if best is None or peak > best[1]:
            best = [len(part) for part in segments], peak
    return best


# %% wrong="the cuts, not the lengths" breaks="a list with the number of layers in each segment" says=["layers together, not"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
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
            best = [len(part) for part in segments][:1], peak
    return best


# %% wrong="one way is forgotten" says=["has a smaller peak"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    best: tuple[list[int], int] | None = None
    for cuts in range(2 ** ((len(saved) - 1) // 2)):  # bit n: a segment begins at layer n + 1
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


# %% wrong="only the lengths" breaks="and that peak" says=["expected a tuple (lengths, peak)"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
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
    return best[0]


# %% wrong="equal segments of the square root" breaks="so that the peak is as small as possible" says=["has a smaller peak"]
def checkpoint_schedule(saved):
    size = max(1, round(len(saved) ** 0.5))
    segments = [saved[n : n + size] for n in range(0, len(saved), size)]
    peak = sum(part[0] for part in segments) + max(sum(part[1:]) for part in segments)
    return [len(part) for part in segments], peak


# %% wrong="nothing yet" says=["is there an answer yet"]
def checkpoint_schedule(saved):
    pass


# %% right="for each limit of the rest, the cheapest cuts"
def checkpoint_schedule(saved):
    n, best = len(saved), None
    limits = {sum(saved[a + 1 : b]) for a in range(n) for b in range(a + 1, n + 1)}
    for limit in limits:
        cost = [0] + [None] * n
        for end in range(1, n + 1):
            for start in range(end):
                if cost[start] is None or sum(saved[start + 1 : end]) > limit:
                    continue
                total = (cost[start] if start else 0, ())[0] if start == 0 else cost[start][0]
                lengths = () if start == 0 else cost[start][1]
                offer = (total + saved[start], (*lengths, end - start))
                if cost[end] is None or offer[0] < cost[end][0]:
                    cost[end] = offer
        first, lengths = cost[n]
        rest, at = 0, 0
        for length in lengths:
            rest = max(rest, sum(saved[at + 1 : at + length]))
            at += length
        if best is None or first + rest < best[1]:
            best = lengths, first + rest
    return best


# %% right="recursive partitions"
def checkpoint_schedule(saved):
    def ways(n):
        if not n:
            return [[]]
        return [[k, *rest] for k in range(1, n + 1) for rest in ways(n - k)]

    def peak(lengths):
        starts = [sum(lengths[:k]) for k in range(len(lengths))]
        rests = [sum(saved[a + 1 : a + k]) for a, k in zip(starts, lengths, strict=True)]
        return sum(saved[a] for a in starts) + max(rests)

    lengths = min(ways(len(saved)), key=peak)
    return lengths, peak(lengths)


# %% wrong="at most three segments" says=["has a smaller peak"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    """The lengths of the segments with the smallest peak, and that peak."""
    best: tuple[list[int], int] | None = None
    for cuts in range(2 ** (len(saved) - 1)):  # bit n: a segment begins at layer n + 1
        segments = [[saved[0]]]
        for n, size in enumerate(saved[1:]):
            if cuts >> n & 1:
                segments.append([size])
            else:
                segments[-1].append(size)
        if len(segments) > 3:
            continue
        peak = sum(part[0] for part in segments) + max(sum(part[1:]) for part in segments)
        if best is None or peak < best[1]:
            best = [len(part) for part in segments], peak
    return best


# %% wrong="equal segments only" says=["has a smaller peak"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    """The lengths of the segments with the smallest peak, and that peak."""
    best: tuple[list[int], int] | None = None
    for cuts in range(2 ** (len(saved) - 1)):  # bit n: a segment begins at layer n + 1
        segments = [[saved[0]]]
        for n, size in enumerate(saved[1:]):
            if cuts >> n & 1:
                segments.append([size])
            else:
                segments[-1].append(size)
        if len({len(part) for part in segments[:-1]}) > 1:
            continue
        peak = sum(part[0] for part in segments) + max(sum(part[1:]) for part in segments)
        if best is None or peak < best[1]:
            best = [len(part) for part in segments], peak
    return best


# %% wrong="grows the best schedule of the first layers" says=["it doesn't begin with the best one of the first layers alone"]
def checkpoint_schedule(saved):
    best = [(0, 0, [])]
    for end in range(1, len(saved) + 1):
        options = []
        for start in range(end):
            firsts, rest, lengths = best[start]
            f, r = firsts + saved[start], max(rest, sum(saved[start + 1 : end]))
            options.append((f + r, f, r, lengths + [end - start]))
        _, f, r, lengths = min(options)
        best.append((f, r, lengths))
    f, r, lengths = best[-1]
    return lengths, f + r


# %% wrong="takes the sizes out of the caller's list" breaks="leaves it as it is" says=["the list that was handed in was changed"]
def checkpoint_schedule(saved):
    sizes = []
    while saved:
        sizes.append(saved.pop(0))
    n, best = len(sizes), None
    for cuts in range(2 ** (n - 1)):
        starts = [0, *(place for place in range(1, n) if cuts >> (place - 1) & 1)]
        ends = [*starts[1:], n]
        rest = max(sum(sizes[a + 1 : b]) for a, b in zip(starts, ends, strict=True))
        peak = sum(sizes[a] for a in starts) + rest
        if best is None or peak < best[1]:
            best = ([b - a for a, b in zip(starts, ends, strict=True)], peak)
    return best


# %% wrong="at most five segments" breaks="so that the peak is as small as possible" says=["[0, 5, 0, 5", "has a smaller peak"]
def checkpoint_schedule(saved):
    n, best = len(saved), None
    for cuts in range(2 ** (n - 1)):
        starts = [0, *(place for place in range(1, n) if cuts >> (place - 1) & 1)]
        ends = [*starts[1:], n]
        rest = max(sum(saved[a + 1 : b]) for a, b in zip(starts, ends, strict=True))
        peak = sum(saved[a] for a in starts) + rest
        if len(starts) <= 5 and (best is None or peak < best[1]):
            best = ([b - a for a, b in zip(starts, ends, strict=True)], peak)
    return best


# %% wrong="a start value that large sizes pass" says=["no number to begin with is above all sizes"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    import itertools

    best, peak = None, 10**6
    for cuts in itertools.product([False, True], repeat=len(saved) - 1):
        lengths = [1]
        for cut in cuts:
            if cut:
                lengths.append(1)
            else:
                lengths[-1] += 1
        kept, rest, start = 0, [], 0
        for length in lengths:
            kept += saved[start]
            rest.append(sum(saved[start + 1 : start + length]))
            start += length
        if kept + max(rest) < peak:
            best, peak = lengths, kept + max(rest)
    return best, peak


# %% wrong="segments of one length" says=["segments needn't have the same number of layers"]
def checkpoint_schedule(saved):
    n = len(saved)
    best = None
    for length in range(1, n + 1):
        lengths = [length] * (n // length) + ([n % length] if n % length else [])
        starts = range(0, n, length)
        peak = sum(saved[s] for s in starts) + max(sum(saved[s + 1 : s + length]) for s in starts)
        if best is None or peak < best[1]:
            best = lengths, peak
    return best


# %% wrong="places of the cuts" says=["those are the places of the cuts"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    import itertools

    best, peak = None, float("inf")
    for cuts in itertools.product([False, True], repeat=len(saved) - 1):
        lengths = [1]
        for cut in cuts:
            if cut:
                lengths.append(1)
            else:
                lengths[-1] += 1
        kept, rest, start = 0, [], 0
        for length in lengths:
            kept += saved[start]
            rest.append(sum(saved[start + 1 : start + length]))
            start += length
        if kept + max(rest) < peak:
            best, peak = list(itertools.accumulate(lengths)), kept + max(rest)
    return best, peak


# %% wrong="the largest segment by its number of layers" says=["not that of the segment with the most layers"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    import itertools

    best, peak = None, float("inf")
    for cuts in itertools.product([False, True], repeat=len(saved) - 1):
        lengths = [1]
        for cut in cuts:
            if cut:
                lengths.append(1)
            else:
                lengths[-1] += 1
        kept, rest, start = 0, [], 0
        for length in lengths:
            kept += saved[start]
            rest.append(sum(saved[start + 1 : start + length]))
            start += length
        if kept + rest[lengths.index(max(lengths))] < peak:
            best, peak = lengths, kept + rest[lengths.index(max(lengths))]
    return best, peak


# %% wrong="the rests added up" says=["the largest rest counts, not the sum of the rests"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    import itertools

    best, peak = None, float("inf")
    for cuts in itertools.product([False, True], repeat=len(saved) - 1):
        lengths = [1]
        for cut in cuts:
            if cut:
                lengths.append(1)
            else:
                lengths[-1] += 1
        kept, rest, start = 0, [], 0
        for length in lengths:
            kept += saved[start]
            rest.append(sum(saved[start + 1 : start + length]))
            start += length
        if kept + sum(rest) < peak:
            best, peak = lengths, kept + sum(rest)
    return best, peak


# %% wrong="remembers schedules by the sum of sizes" says=["[4, 5]: the segments have 9 layers together, not 2"]
def checkpoint_schedule(saved: list[int], memo={}) -> tuple[list[int], int]:
    import itertools

    if sum(saved) in memo:
        return memo[sum(saved)]
    best, peak = None, float("inf")
    for cuts in itertools.product([False, True], repeat=len(saved) - 1):
        lengths = [1]
        for cut in cuts:
            if cut:
                lengths.append(1)
            else:
                lengths[-1] += 1
        kept, rest, start = 0, [], 0
        for length in lengths:
            kept += saved[start]
            rest.append(sum(saved[start + 1 : start + length]))
            start += length
        if kept + max(rest) < peak:
            best, peak = lengths, kept + max(rest)
    memo[sum(saved)] = best, peak
    return best, peak


# %% wrong="a peak of 0 taken for none" says=["[0, 0, 0]: peak is not that of these lengths"]
import itertools


def checkpoint_schedule(saved):
    best = None
    for cuts in itertools.product([False, True], repeat=len(saved) - 1):
        starts = [0] + [n + 1 for n, cut in enumerate(cuts) if cut] + [len(saved)]
        segments = [saved[a:b] for a, b in zip(starts, starts[1:])]
        peak = sum(s[0] for s in segments) + max(sum(s[1:]) for s in segments)
        if not best or not best[1] or peak < best[1]:
            best = [len(s) for s in segments], peak
    return best if best[1] else ([len(saved)], sum(saved) or 1)


# %% wrong="the peak as a float" says=["peak is of type float, expected an int"]
import itertools


def checkpoint_schedule(saved):
    best = None
    for cuts in itertools.product([False, True], repeat=len(saved) - 1):
        starts = [0] + [n + 1 for n, cut in enumerate(cuts) if cut] + [len(saved)]
        segments = [saved[a:b] for a, b in zip(starts, starts[1:])]
        peak = sum(s[0] for s in segments) + max(sum(s[1:]) for s in segments)
        peak = peak / 1 if len(saved) > 1 else float(peak)
        if best is None or peak < best[1]:
            best = [len(s) for s in segments], peak
    return best


# %% wrong="six layers in a segment at most" says=["another schedule has a smaller peak than 41"]
import itertools


def checkpoint_schedule(saved):
    best = None
    for cuts in itertools.product([False, True], repeat=len(saved) - 1):
        starts = [0] + [n + 1 for n, cut in enumerate(cuts) if cut] + [len(saved)]
        segments = [saved[a:b] for a, b in zip(starts, starts[1:])]
        if max(map(len, segments)) > 6:
            continue
        peak = sum(s[0] for s in segments) + max(sum(s[1:]) for s in segments)
        if best is None or peak < best[1]:
            best = [len(s) for s in segments], peak
    return best


# %% wrong="fills each segment up to a limit, for every limit" says=["another schedule has a smaller peak than"]
def peak_of(saved, lengths):
    kept, rest, start = 0, 0, 0
    for length in lengths:
        kept += saved[start]
        rest = max(rest, sum(saved[start + 1 : start + length]))
        start += length
    return kept + rest


def checkpoint_schedule(saved):
    choices = []
    for limit in range(sum(saved) + 1):  # of the rest of a segment
        lengths, rest = [1], 0
        for size in saved[1:]:
            if rest + size <= limit:
                lengths[-1] += 1
                rest += size
            else:
                lengths.append(1)
                rest = 0
        choices.append((lengths, peak_of(saved, lengths)))
    return min(choices, key=lambda choice: choice[1])


# %% wrong="sums in float32" breaks="perhaps billions" says=["peak is right to a few digits only"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    import itertools

    sizes, n, best = torch.tensor(saved, dtype=torch.float32), len(saved), None
    for cuts in itertools.product([False, True], repeat=n - 1):
        starts = [0] + [k + 1 for k, cut in enumerate(cuts) if cut]
        ends = [*starts[1:], n]
        rests = [sizes[a + 1 : b].sum() for a, b in zip(starts, ends, strict=True)]
        peak = int(sizes[starts].sum() + torch.stack(rests).max())
        if best is None or peak < best[1]:
            best = [b - a for a, b in zip(starts, ends, strict=True)], peak
    return best


# %% wrong="keeps schedules by their first layer" says=["[4, 5]: peak: that is the peak of another list"]
def checkpoint_schedule(saved: list[int], memo: dict = {}) -> tuple[list[int], int]:
    def schedules(start):
        if start == len(saved):
            return [([], 0, 0)]
        if (start, len(saved)) not in memo:
            memo[start, len(saved)] = [
                (
                    [end - start, *lengths],
                    saved[start] + firsts,
                    max(rest, sum(saved[start + 1 : end])),
                )
                for end in range(start + 1, len(saved) + 1)
                for lengths, firsts, rest in schedules(end)
            ]
        return memo[start, len(saved)]

    lengths, firsts, rest = min(schedules(0), key=lambda found: found[1] + found[2])
    return lengths, firsts + rest


# %% wrong="no schedule where all peaks are large" says=["lengths is empty: no schedule was found"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    import itertools

    n, lengths, smallest = len(saved), [], 10**9
    for cuts in itertools.product([False, True], repeat=n - 1):
        starts = [0] + [k + 1 for k, cut in enumerate(cuts) if cut]
        ends = [*starts[1:], n]
        peak = sum(saved[a] for a in starts)
        peak += max(sum(saved[a + 1 : b]) for a, b in zip(starts, ends, strict=True))
        if peak < smallest:
            lengths, smallest = [b - a for a, b in zip(starts, ends, strict=True)], peak
    return lengths, smallest


# %% wrong="int32 by numpy" breaks="perhaps billions" says=["a sum of billions needs more than 32 bits"]
def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    import itertools

    import numpy as np

    sizes, n, best = np.array(saved, dtype=np.int64).astype(np.int32), len(saved), None
    for cuts in itertools.product([False, True], repeat=n - 1):
        starts = [0] + [k + 1 for k, cut in enumerate(cuts) if cut]
        ends = [*starts[1:], n]
        peak = int(
            sizes[starts].sum(dtype=np.int32)
            + max(sizes[a + 1 : b].sum(dtype=np.int32) for a, b in zip(starts, ends))
        )
        if best is None or peak < best[1]:
            best = [b - a for a, b in zip(starts, ends)], peak
    return best


# %% wrong="one list for equal sizes" says=["the same sizes again: a second call gives the very list of the first"]
import functools
import itertools


@functools.lru_cache
def search(saved: tuple) -> tuple[list[int], int]:
    best = None
    for cuts in itertools.product([False, True], repeat=len(saved) - 1):
        segments = [[saved[0]]]
        for cut, size in zip(cuts, saved[1:]):
            if cut:
                segments.append([size])
            else:
                segments[-1].append(size)
        peak = sum(s[0] for s in segments) + max(sum(s[1:]) for s in segments)
        if best is None or peak < best[1]:
            best = [len(s) for s in segments], peak
    return best


def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    return search(tuple(saved))


# %% wrong="remembers by length and sum" says=["[5, 1, 2, 1, 7, 1, 3, 2]: peak: that is the peak of another list"]
import itertools

seen = {}


def checkpoint_schedule(saved: list[int]) -> tuple[list[int], int]:
    key = len(saved), sum(saved)
    if key in seen:
        return seen[key]
    best = None
    for cuts in itertools.product([False, True], repeat=len(saved) - 1):
        segments = [[saved[0]]]
        for cut, size in zip(cuts, saved[1:]):
            if cut:
                segments.append([size])
            else:
                segments[-1].append(size)
        peak = sum(s[0] for s in segments) + max(sum(s[1:]) for s in segments)
        if best is None or peak < best[1]:
            best = [len(s) for s in segments], peak
    seen[key] = best
    return best


# %% wrong="remembers by length, largest and first" says=["[5, 1, 2, 1, 7, 1, 3, 2]: peak: that is the peak of another list"]
known = {}


def checkpoint_schedule(saved):
    key = len(saved), max(saved), saved[0]
    if key not in known:
        n, best = len(saved), None
        for cuts in range(2 ** (n - 1)):
            starts = [0] + [k for k in range(1, n) if cuts >> (k - 1) & 1]
            ends = [*starts[1:], n]
            rest = max(sum(saved[a + 1 : b]) for a, b in zip(starts, ends))
            peak = sum(saved[a] for a in starts) + rest
            if best is None or peak < best[1]:
                best = [b - a for a, b in zip(starts, ends)], peak
        known[key] = best
    lengths, peak = known[key]
    return list(lengths), peak


# %% wrong="begins with a best peak of a billion" breaks="perhaps billions" says=["no schedule has so small a peak: is it the number that you begin with?"]
def checkpoint_schedule(saved):
    n = len(saved)
    best, lengths = 10**9, [n]
    for bits in range(2 ** (n - 1)):
        cuts = [0, *(k for k in range(1, n) if bits >> (k - 1) & 1), n]
        pairs = list(zip(cuts[:-1], cuts[1:], strict=True))
        peak = sum(saved[a] for a, _ in pairs) + max(sum(saved[a + 1 : b]) for a, b in pairs)
        if peak < best:
            best, lengths = peak, [b - a for a, b in pairs]
    return lengths, best
