# %% [markdown]
# Rules:
#
# - "a list of `segments` frame numbers"
# - "`seconds * rate` rounded"
# - "and at least 1"
# - "segment k (from 0) begins at frame ⌊kF/K⌋"
# - "ends before frame ⌊(k+1)F/K⌋"
# - "it holds the frame at which it begins"
# - "of two the earlier"
# - "by a separate draw for each"
# - "all its frames equally likely"
# - "Draw from this generator alone"
# - "don't seed it: a second call continues where the first one stopped"
#
# Admits:
#
# - "at least 1": (0.01, 25, 1, 3)
# - "because the clip is short": (2, 1, 2, 4)
# - "Without a generator (`None`)": the middle frames
# - "a second call continues where the first one stopped": two calls with one generator

# %% wrong="the rate is cut to an int" says=["the rate was cut to an int"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames, chosen = max(1, round(seconds * int(rate))), []
    for k in range(segments):
        a = k * frames // segments
        b = max((k + 1) * frames // segments, a + 1)
        chosen.append(
            (a + b - 1) // 2
            if generator is None
            else torch.randint(a, b, (), generator=generator).item()
        )
    return chosen


# %% wrong="true division gives floats" says=["for testing, 1.0 is a float, expected an int"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames = max(1, round(seconds * rate))
    size = frames / segments
    return [size // 2 + size * k for k in range(segments)]


# %% wrong="padded by arange" breaks="it holds the frame at which it begins" says=["2 s at 1 a second in 4", "the middle frames"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames = max(1, round(seconds * rate))
    if frames < segments:
        return list(range(segments))
    chosen = []
    for k in range(segments):
        a, b = k * frames // segments, (k + 1) * frames // segments
        chosen.append(
            (a + b - 1) // 2
            if generator is None
            else torch.randint(a, b, (), generator=generator).item()
        )
    return chosen


# %% wrong="draws globally" breaks="Draw from this generator alone" says=["it drew from a global generator"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames, chosen = max(1, round(seconds * rate)), []
    for k in range(segments):
        a = k * frames // segments
        b = max((k + 1) * frames // segments, a + 1)
        chosen.append((a + b - 1) // 2 if generator is None else random.randrange(a, b))
    return chosen


# %% wrong="never the last frame of a segment" says=["never came in 40 tries"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames, chosen = max(1, round(seconds * rate)), []
    for k in range(segments):
        a = k * frames // segments
        b = max((k + 1) * frames // segments, a + 1)
        if generator is None:
            chosen.append((a + b - 1) // 2)
        else:
            chosen.append(torch.randint(a, max(b - 1, a + 1), (), generator=generator).item())
    return chosen


# %% wrong="of two, the later" breaks="of two the earlier" says=["the middle frames, of two the earlier"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames, chosen = max(1, round(seconds * rate)), []
    for k in range(segments):
        a = k * frames // segments
        b = max((k + 1) * frames // segments, a + 1)
        chosen.append(
            (a + b) // 2
            if generator is None
            else torch.randint(a, b, (), generator=generator).item()
        )
    return chosen


# %% wrong="sorted draws from the whole clip" breaks="ends before frame ⌊(k+1)F/K⌋" says=["is not in its segment"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames = max(1, round(seconds * rate))
    if generator is not None:
        return sorted(torch.randint(0, frames, (segments,), generator=generator).tolist())
    edges = [k * frames // segments for k in range(segments + 1)]
    return [(a + max(b, a + 1) - 1) // 2 for a, b in zip(edges, edges[1:])]


# %% right="NumPy edges, a fraction of each segment"
def tsn_segments(seconds, rate, segments, generator=None):
    frames = max(1, int(np.rint(seconds * rate)))
    edges = (np.arange(segments + 1) * frames) // segments
    begin, length = edges[:-1], np.maximum(np.diff(edges), 1)
    if generator is None:
        return list(begin + (length - 1) // 2)
    u = torch.rand(segments, generator=generator, dtype=torch.float64).numpy()
    return list(begin + np.minimum((u * length).astype(int), length - 1))


# %% right="ranges and a permutation"
def tsn_segments(seconds, rate, segments, generator=None):
    frames = round(seconds * rate) or 1
    out = []
    for k in range(segments):
        part = range(int(k * frames / segments), int((k + 1) * frames / segments))
        part = part or range(part.start, part.start + 1)
        if generator:
            out.append(part[torch.randperm(len(part), generator=generator)[0].item()])
        else:
            out.append(part[(len(part) - 1) // 2])
    return tuple(out)


# %% wrong="round() of a draw: the ends are half as likely" breaks="all its frames equally likely" says=["not equally likely"]
def tsn_segments(seconds, rate, segments, generator=None):
    F = max(1, round(seconds * rate))
    out = []
    for k in range(segments):
        a = k * F // segments
        b = max((k + 1) * F // segments, a + 1)
        if generator is None:
            out.append((a + b - 1) // 2)
        else:
            u = torch.rand((), generator=generator).item()
            out.append(round(a + u * (b - 1 - a)))
    return out


# %% wrong="one draw for all segments" breaks="by a separate draw for each" says=["each segment needs its own draw"]
def tsn_segments(seconds, rate, segments, generator=None):
    F = max(1, round(seconds * rate))
    u = (
        None
        if generator is None
        else torch.rand((), generator=generator, dtype=torch.float64).item()
    )
    out = []
    for k in range(segments):
        a = k * F // segments
        b = max((k + 1) * F // segments, a + 1)
        out.append((a + b - 1) // 2 if u is None else a + int(u * (b - a)))
    return out


# %% right="lists of frames, statistics.median_low and randperm"
import statistics


def tsn_segments(seconds, rate, segments, generator=None):
    total = int(seconds * rate + 0.5) or 1
    chosen = []
    for k in range(segments):
        first = int(np.floor(k * total / segments + 1e-9))
        last = int(np.floor((k + 1) * total / segments + 1e-9))
        part = list(range(first, last)) or [first]
        if generator is None:
            chosen.append(statistics.median_low(part))
        else:
            chosen.append(part[torch.randperm(len(part), generator=generator)[0].item()])
    return chosen


# %% wrong="cut, not rounded" breaks="`seconds * rate` rounded" says=["seconds * rate was cut, not rounded"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames, chosen = max(1, int(seconds * rate)), []
    for k in range(segments):
        a = k * frames // segments
        b = max((k + 1) * frames // segments, a + 1)
        if generator is None:
            chosen.append((a + b - 1) // 2)
        else:
            chosen.append(int(torch.randint(a, b, (), generator=generator)))
    return chosen


# %% wrong="a step that is a float" breaks="segment k (from 0) begins at frame ⌊kF/K⌋" says=["30 s at 1 a second in 22"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames, chosen = max(1, round(seconds * rate)), []
    step = frames / segments
    for k in range(segments):
        a = int(k * step)
        b = max(int((k + 1) * step), a + 1)
        if generator is None:
            chosen.append((a + b - 1) // 2)
        else:
            chosen.append(int(torch.randint(a, b, (), generator=generator)))
    return chosen


# %% wrong="a generator made from the generator's seed" says=["the generator that it was given was not drawn from"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames, chosen = max(1, round(seconds * rate)), []
    rng = None if generator is None else np.random.default_rng(generator.initial_seed())
    for k in range(segments):
        a = k * frames // segments
        b = max((k + 1) * frames // segments, a + 1)
        chosen.append((a + b - 1) // 2 if rng is None else int(rng.integers(a, b)))
    return chosen


# %% wrong="starts the generator anew" breaks="don't seed it: a second call continues where the first one stopped" says=["called twice with one generator"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames, chosen = max(1, round(seconds * rate)), []
    if generator is not None:
        generator.manual_seed(generator.initial_seed())
    for k in range(segments):
        a = k * frames // segments
        b = max((k + 1) * frames // segments, a + 1)
        if generator is None:
            chosen.append((a + b - 1) // 2)
        else:
            chosen.append(int(torch.randint(a, b, (), generator=generator)))
    return chosen


# %% wrong="tensors for numbers" breaks="a list of `segments` frame numbers" says=["is a Tensor, expected an int"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames, chosen = max(1, round(seconds * rate)), []
    for k in range(segments):
        a = k * frames // segments
        b = max((k + 1) * frames // segments, a + 1)
        if generator is None:
            chosen.append((a + b - 1) // 2)
        else:
            chosen.append(torch.randint(a, b, (), generator=generator))
    return chosen


# %% wrong="three tensors for the middles" says=["is a Tensor, expected an int"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames, chosen = max(1, round(seconds * rate)), []
    for k in range(segments):
        a = k * frames // segments
        b = max((k + 1) * frames // segments, a + 1)
        if generator is None:
            chosen.append(torch.tensor((a + b - 1) // 2))
        else:
            chosen.append(int(torch.randint(a, b, (), generator=generator)))
    return chosen


# %% wrong="edges by shares of the whole" says=["up to 40 frames in up to 40 segments", "may fall short of one"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames, chosen = max(1, round(seconds * rate)), []
    edges = [int(k / segments * frames) for k in range(segments + 1)]
    for begin, end in itertools.pairwise(edges):
        end = max(end, begin + 1)
        if generator is None:
            chosen.append((begin + end - 1) // 2)
        else:
            chosen.append(int(torch.randint(begin, end, (), generator=generator)))
    return chosen


# %% wrong="edges by linspace in float32" says=["up to 40 frames in up to 40 segments", "may fall short of one"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames, chosen = max(1, round(seconds * rate)), []
    edges = torch.linspace(0, frames, segments + 1).int().tolist()
    for begin, end in itertools.pairwise(edges):
        end = max(end, begin + 1)
        if generator is None:
            chosen.append((begin + end - 1) // 2)
        else:
            chosen.append(int(torch.randint(begin, end, (), generator=generator)))
    return chosen


# %% wrong="a byte for a draw" says=["70 000 000 frames in 700 segments", "the six parts of a segment"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames, chosen = max(1, round(seconds * rate)), []
    edges = [k * frames // segments for k in range(segments + 1)]
    for begin, end in itertools.pairwise(edges):
        end = max(end, begin + 1)
        if generator is None:
            chosen.append((begin + end - 1) // 2)
        else:
            chosen.append(begin + int(torch.randint(256, (), generator=generator)) % (end - begin))
    return chosen


# %% wrong="rounded up" says=["seconds * rate was rounded up"]
import math


def tsn_segments(seconds, rate, segments, generator=None):
    frames, chosen = max(1, math.ceil(seconds * rate - 1e-6)), []
    edges = [k * frames // segments for k in range(segments + 1)]
    for begin, end in itertools.pairwise(edges):
        end = max(end, begin + 1)
        if generator is None:
            chosen.append((begin + end - 1) // 2)
        else:
            chosen.append(int(torch.randint(begin, end, (), generator=generator)))
    return chosen


# %% wrong="seed drawn once for a new generator" says=["draw each frame from it, and no seed for another one"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames = max(1, round(seconds * rate))
    out = []
    if generator is not None:
        generator = torch.Generator().manual_seed(
            generator.initial_seed() + int(torch.randint(1000, (), generator=generator))
        )
    for k in range(segments):
        begin, end = k * frames // segments, (k + 1) * frames // segments
        end = max(end, begin + 1)
        if generator is None:
            out.append((begin + end - 1) // 2)
        else:
            out.append(int(torch.randint(begin, end, (), generator=generator)))
    return out


# %% wrong="modulo of 1000" says=["not equally likely"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames = max(1, round(seconds * rate))
    out = []
    for k in range(segments):
        begin, end = k * frames // segments, (k + 1) * frames // segments
        end = max(end, begin + 1)
        if generator is None:
            out.append((begin + end - 1) // 2)
        else:
            out.append(begin + int(torch.randint(1000, (), generator=generator)) % (end - begin))
    return out


# %% wrong="offset in hundredths" says=["of a segment's 100000 places"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames = max(1, round(seconds * rate))
    out = []
    for k in range(segments):
        begin, end = k * frames // segments, (k + 1) * frames // segments
        end = max(end, begin + 1)
        if generator is None:
            out.append((begin + end - 1) // 2)
        else:
            out.append(
                begin + int(torch.randint(100, (), generator=generator)) * (end - begin) // 100
            )
    return out


# %% wrong="rate rounded" says=["the rate was rounded"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames = max(1, round(seconds * round(rate)))
    out = []
    for k in range(segments):
        begin, end = k * frames // segments, (k + 1) * frames // segments
        end = max(end, begin + 1)
        if generator is None:
            out.append((begin + end - 1) // 2)
        else:
            out.append(int(torch.randint(begin, end, (), generator=generator)))
    return out


# %% wrong="rate to two places" says=["the rate was rounded to two places"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames = max(1, round(seconds * round(rate, 2)))
    out = []
    for k in range(segments):
        begin, end = k * frames // segments, (k + 1) * frames // segments
        end = max(end, begin + 1)
        if generator is None:
            out.append((begin + end - 1) // 2)
        else:
            out.append(int(torch.randint(begin, end, (), generator=generator)))
    return out


# %% wrong="no frame at all where the clip is short" breaks="and at least 1" says=["0.01 s at 25 a second in 3"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames = round(seconds * rate)
    if not frames:
        return []
    chosen = []
    for k in range(segments):
        start = k * frames // segments
        end = max((k + 1) * frames // segments, start + 1)
        if generator is None:
            chosen.append((start + end - 1) // 2)
        else:
            chosen.append(int(torch.randint(start, end, (), generator=generator)))
    return chosen


# %% wrong="multiplies in float32" says=["43200 s at 59.94 a second"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames = max(round(float(torch.tensor(seconds) * torch.tensor(rate))), 1)
    result = []
    for k in range(segments):
        start = k * frames // segments
        stop = max((k + 1) * frames // segments, start + 1)
        if generator is None:
            result.append((start + stop - 1) // 2)
        else:
            result.append(int(torch.randint(start, stop, (), generator=generator)))
    return result


# %% wrong="seconds rounded to tenths" says=["the seconds were rounded to tenths"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames = max(1, round(round(seconds, 1) * rate))
    out = []
    for k in range(segments):
        begin = k * frames // segments
        end = max(begin + 1, (k + 1) * frames // segments)
        if generator is None:
            out.append((begin + end - 1) // 2)
        else:
            out.append(int(torch.randint(begin, end, (), generator=generator)))
    return out


# %% wrong="offset of the largest, cut" says=["segments of 2 frames", "not equally likely"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames = max(1, round(seconds * rate))
    out = []
    for k in range(segments):
        begin = k * frames // segments
        end = max(begin + 1, (k + 1) * frames // segments)
        if generator is None:
            out.append((begin + end - 1) // 2)
        else:
            out.append(
                min(
                    end - 1,
                    begin + int(torch.randint(-(-frames // segments), (), generator=generator)),
                )
            )
    return out


# %% wrong="float32 rand" says=["float32 doesn't hold"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames = max(1, round(seconds * rate))
    out = []
    for k in range(segments):
        begin = k * frames // segments
        end = max(begin + 1, (k + 1) * frames // segments)
        if generator is None:
            out.append((begin + end - 1) // 2)
        else:
            out.append(int(begin + torch.rand((), generator=generator) * (end - begin)))
    return out


# %% wrong="one segment: not drawn" breaks="all its frames equally likely" says=["never came in 40 tries"]
import torch


def tsn_segments(seconds, rate, segments, generator=None):
    frames = max(1, round(seconds * rate))
    chosen = []
    for k in range(segments):
        start = k * frames // segments
        end = max((k + 1) * frames // segments, start + 1)
        if generator is None or segments == 1:
            chosen.append((start + end - 1) // 2)
        else:
            chosen.append(start + int(torch.randint(end - start, (), generator=generator)))
    return chosen


# %% wrong="seconds cut to thousandths" says=["the seconds were cut to thousandths"]
def tsn_segments(seconds, rate, segments, generator=None):
    frames = max(1, round(int(seconds * 1000) * rate / 1000))
    chosen = []
    for k in range(segments):
        begin = k * frames // segments
        end = max((k + 1) * frames // segments, begin + 1)
        if generator is None:
            chosen.append((begin + end - 1) // 2)
        else:
            chosen.append(int(torch.randint(begin, end, (), generator=generator)))
    return chosen


# %% right="a generator that calls itself for the next segment"
def tsn_segments(seconds, rate, segments, generator=None):
    frames = round(seconds * rate) or 1
    step, left = divmod(frames, segments)

    def walk(k, begin, rest):
        if k == segments:
            return
        rest += left
        size = step + (rest >= segments)
        inside = max(size, 1)
        if generator is None:
            yield begin + (inside - 1) // 2
        else:
            yield begin + torch.randint(inside, [], generator=generator).item()
        yield from walk(k + 1, begin + size, rest % segments)

    return list(walk(0, 0, 0))


# %% wrong="the remainder of a number below F" breaks="all its frames equally likely" says=["7 frames in 2 segments, two thousand calls: not equally likely", "the remainders of a number below 7"]
def tsn_segments(
    seconds: float, rate: float, segments: int, generator: torch.Generator | None = None
) -> list[int]:
    frames = max(1, round(seconds * rate))
    edges = torch.arange(segments + 1) * frames // segments
    begin = edges[:-1]
    width = edges.diff().clamp(min=1)
    if generator is None:
        return (begin + (width - 1) // 2).tolist()
    draws = torch.randint(frames, (segments,), generator=generator)
    return (begin + draws % width).tolist()
