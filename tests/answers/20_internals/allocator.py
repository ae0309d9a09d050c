# %% [markdown]
# Rules:
#
# - "one after each step"
# - "bytes allocated, bytes reserved"
# - "A name may be used again once it was freed"
# - "`b` keeps the whole of its segment"
# - "Follow the six rules"
# - "The trace stays as it is"
#
# Admits:
#
# - "with at least one byte": sizes are rounded
# - "with at least one byte": more bytes than a float counts
# - "A name may be used again": a name used again
# - "a list of steps": nothing at all

# %% wrong="no rounding" says=["a multiple of 512"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = step[2]
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="rounds down" says=["a multiple of 512, not down"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = max(step[2] // 512, 1) * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="rounds to the next, always" says=["already stays as it is"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] // 512 + 1) * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="kinds by the size before rounding" says=["is off", "rules 1 and 4"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = step[2] < 2**20 - 5
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="1 MiB is large" says=["a request of 1 MiB, after rounding, is still small"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size < 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="one pool" says=["have segments apart"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size)
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="first fit" says=["the smallest is taken"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = options[0]
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="worst fit" says=["the smallest is taken"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return max(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = max(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="never splits" says=["stays free"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if False:
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="always splits" says=["isn't split off"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > 0:
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="splits at exactly 1 MiB" says=["a rest of 1 MiB or less"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest >= (512 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="small blocks split like large ones" says=["in a small segment what is left over is always split off"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > 2**20:
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="no merging" breaks="Follow the six rules" says=["free neighbours"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in ():
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="merges with the next alone" says=["free neighbours on both sides"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in (start,):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="empties nothing" says=["gives back segments"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            pass
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="empties all that is free" says=["empty_cache gives back whole segments"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
            for segment in segments:
                segment.size -= sum(segment.holes.values())
                segment.holes = {}
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="a freed segment goes at once" says=["empty_cache alone gives it back"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
            segments = [segment for segment in segments if segment.used]
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="small segments as large as asked" says=["has 2 MiB, whatever was asked for"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 512 if small else 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="20 MiB for large ones" says=["the six rules know no segments of 20 MiB"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = (2 if small else 20) * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="what was asked is allocated" says=["all of it counts as allocated"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            pass
        self.used[name] = (start, size)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="numbers at the end alone" breaks="one after each step" says=["a pair after each step"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer[-1:]


# %% wrong="reserved first" breaks="bytes allocated, bytes reserved" says=["a pair has the bytes allocated first"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((sum(s.size for s in segments), allocated))
    return answer


# %% wrong="the rest of the newest segment" says=["in the oldest segment is taken"]
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: (option[0], -option[1]))
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="gives back what begins free" says=["not the first alone", "the middle lives"]
def allocator(trace):
    K, M = 512, 2**20
    segs, out = [], []
    for step in trace:
        if step[0] == "malloc":
            need = -(-step[2] // K) * K
            small = need <= M
            best = None
            for s in segs:
                if s["small"] != small:
                    continue
                for b in s["blocks"]:
                    if b[1] is None and b[0] >= need and (best is None or b[0] < best[1][0]):
                        best = (s, b)
            if best is None:
                size = 2 * M if small else -(-need // (2 * M)) * 2 * M
                s = {"small": small, "blocks": [[size, None]]}
                segs.append(s)
                best = (s, s["blocks"][0])
            s, b = best
            rest = b[0] - need
            if rest > 0 and (small or rest > M):
                i = next(i for i, c in enumerate(s["blocks"]) if c is b)
                s["blocks"].insert(i + 1, [rest, None])
                b[0] = need
            b[1] = step[1]
        elif step[0] == "free":
            for s in segs:
                bl = s["blocks"]
                for i, b in enumerate(bl):
                    if b[1] == step[1]:
                        b[1] = None
                        if i + 1 < len(bl) and bl[i + 1][1] is None:
                            b[0] += bl.pop(i + 1)[0]
                        if i > 0 and bl[i - 1][1] is None:
                            bl[i - 1][0] += bl.pop(i)[0]
                        break
        else:
            segs = [
                s
                for s in segs
                if any(b[1] is not None for b in (s["blocks"] if s["small"] else s["blocks"][:1]))
            ]
        out.append(
            (
                sum(b[0] for s in segs for b in s["blocks"] if b[1] is not None),
                sum(b[0] for s in segs for b in s["blocks"]),
            )
        )
    return out


# %% wrong="borrows the picture's allocator" says=["write your own"]
allocator = allocators.replayed


# %% right="segments with holes"
class Segment:
    def __init__(self, size, small):
        self.size, self.small = size, small
        self.used = {}
        self.holes = {0: size}

    def best(self, size):
        fits = [(length, start) for start, length in self.holes.items() if length >= size]
        return min(fits, default=None)

    def take(self, name, start, size):
        length = self.holes.pop(start)
        rest = length - size
        if rest > (0 if self.small else 2**20):
            self.holes[start + size] = rest
            length = size
        self.used[name] = (start, length)

    def give(self, name):
        start, length = self.used.pop(name)
        self.holes[start] = length
        for place in sorted(self.holes):
            after = place + self.holes.get(place, 0)
            while place in self.holes and after in self.holes and after != place:
                self.holes[place] += self.holes.pop(after)
                after = place + self.holes[place]


def allocator(trace):
    segments, answer = [], []
    for step in trace:
        if step[0] == "malloc":
            size = (step[2] + 511) // 512 * 512
            small = size <= 2**20
            options = []
            for segment in segments:
                found = segment.best(size) if segment.small == small else None
                if found is not None:
                    options.append((found[0], len(options), found[1], segment))
            if options:
                _, _, start, segment = min(options, key=lambda option: option[:2])
            else:
                unit = 2 * 2**20
                segment, start = Segment(-(-size // unit) * unit, small), 0
                segments.append(segment)
            segment.take(step[1], start, size)
        elif step[0] == "free":
            for segment in segments:
                if step[1] in segment.used:
                    segment.give(step[1])
        else:
            segments = [segment for segment in segments if segment.used]
        allocated = sum(length for s in segments for _, length in s.used.values())
        answer.append((allocated, sum(s.size for s in segments)))
    return answer


# %% wrong="a rest that is kept counts as free" breaks="`b` keeps the whole of its segment" says=["all of it counts as allocated"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    asked = {}
    segments, numbers = [], []  # a segment: (small, blocks); a block: [size, name or None]
    for kind, *rest in trace:
        if kind == "malloc":
            size = -(-rest[1] // 512) * 512
            pool = [blocks for small, blocks in segments if small == (size <= MIB)]
            fits = [b for blocks in pool for b in blocks if b[1] is None and b[0] >= size]
            if not fits:
                fits = [[2 * MIB * -(-size // (2 * MIB)), None]]
                segments.append((size <= MIB, fits))
            best = min(fits, key=lambda block: block[0])
            blocks = next(b for _, b in segments if any(block is best for block in b))
            if best[0] - size >= (512 if size <= MIB else MIB + 1):
                blocks.insert([b is best for b in blocks].index(True) + 1, [best[0] - size, None])
                best[0] = size
            best[1] = rest[0]
            asked[rest[0]] = size
        for _, blocks in segments if kind == "free" else ():
            for block in blocks:
                block[1] = None if block[1] == rest[0] else block[1]
            for i in range(len(blocks) - 1, 0, -1):
                if blocks[i][1] is None and blocks[i - 1][1] is None:
                    blocks[i - 1][0] += blocks.pop(i)[0]
        if kind == "empty_cache":
            segments = [s for s in segments if any(name is not None for _, name in s[1])]
        every = [block for _, blocks in segments for block in blocks]
        numbers.append(
            (sum(asked[name] for n, name in every if name is not None), sum(n for n, _ in every))
        )
    return numbers


# %% wrong="large segments as large as asked" says=["rounded up to a multiple of 2 MiB"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    segments, numbers = [], []  # a segment: (small, blocks); a block: [size, name or None]
    for kind, *rest in trace:
        if kind == "malloc":
            size = -(-rest[1] // 512) * 512
            pool = [blocks for small, blocks in segments if small == (size <= MIB)]
            fits = [b for blocks in pool for b in blocks if b[1] is None and b[0] >= size]
            if not fits:
                fits = [[2 * MIB if size <= MIB else size, None]]
                segments.append((size <= MIB, fits))
            best = min(fits, key=lambda block: block[0])
            blocks = next(b for _, b in segments if any(block is best for block in b))
            if best[0] - size >= (512 if size <= MIB else MIB + 1):
                blocks.insert([b is best for b in blocks].index(True) + 1, [best[0] - size, None])
                best[0] = size
            best[1] = rest[0]
        for _, blocks in segments if kind == "free" else ():
            for block in blocks:
                block[1] = None if block[1] == rest[0] else block[1]
            for i in range(len(blocks) - 1, 0, -1):
                if blocks[i][1] is None and blocks[i - 1][1] is None:
                    blocks[i - 1][0] += blocks.pop(i)[0]
        if kind == "empty_cache":
            segments = [s for s in segments if any(name is not None for _, name in s[1])]
        every = [block for _, blocks in segments for block in blocks]
        numbers.append((sum(n for n, name in every if name is not None), sum(n for n, _ in every)))
    return numbers


# %% wrong="merges with the one before alone" says=["free neighbours on both sides"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    """Bytes allocated and reserved after each step of a trace."""
    segments, numbers = [], []  # a segment: (small, blocks); a block: [size, name or None]
    for kind, *rest in trace:
        if kind == "malloc":
            size = -(-rest[1] // 512) * 512
            pool = [blocks for small, blocks in segments if small == (size <= MIB)]
            fits = [b for blocks in pool for b in blocks if b[1] is None and b[0] >= size]
            if not fits:
                fits = [[2 * MIB * -(-size // (2 * MIB)), None]]
                segments.append((size <= MIB, fits))
            best = min(fits, key=lambda block: block[0])
            blocks = next(b for _, b in segments if any(block is best for block in b))
            if best[0] - size >= (512 if size <= MIB else MIB + 1):
                blocks.insert([b is best for b in blocks].index(True) + 1, [best[0] - size, None])
                best[0] = size
            best[1] = rest[0]
        for _, blocks in segments if kind == "free" else ():
            gone = next((block for block in blocks if block[1] == rest[0]), None)
            if gone:
                gone[1] = None
            freed = [i for i, block in enumerate(blocks) if block is gone]
            for i in freed:
                if i > 0 and blocks[i - 1][1] is None:
                    blocks[i - 1][0] += blocks.pop(i)[0]
        if kind == "empty_cache":
            segments = [s for s in segments if any(name is not None for _, name in s[1])]
        every = [block for _, blocks in segments for block in blocks]
        numbers.append((sum(n for n, name in every if name is not None), sum(n for n, _ in every)))
    return numbers


# %% wrong="small segments of 1 MiB" says=["a segment for small requests has 2 MiB"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    """Bytes allocated and reserved after each step of a trace."""
    segments, numbers = [], []  # a segment: (small, blocks); a block: [size, name or None]
    for kind, *rest in trace:
        if kind == "malloc":
            size = -(-rest[1] // 512) * 512
            pool = [blocks for small, blocks in segments if small == (size <= MIB)]
            fits = [b for blocks in pool for b in blocks if b[1] is None and b[0] >= size]
            if not fits:
                fits = [[(MIB if size <= MIB else 2 * MIB * -(-size // (2 * MIB))), None]]
                segments.append((size <= MIB, fits))
            best = min(fits, key=lambda block: block[0])
            blocks = next(b for _, b in segments if any(block is best for block in b))
            if best[0] - size >= (512 if size <= MIB else MIB + 1):
                blocks.insert([b is best for b in blocks].index(True) + 1, [best[0] - size, None])
                best[0] = size
            best[1] = rest[0]
        for _, blocks in segments if kind == "free" else ():
            for block in blocks:
                block[1] = None if block[1] == rest[0] else block[1]
            for i in range(len(blocks) - 1, 0, -1):
                if blocks[i][1] is None and blocks[i - 1][1] is None:
                    blocks[i - 1][0] += blocks.pop(i)[0]
        if kind == "empty_cache":
            segments = [s for s in segments if any(name is not None for _, name in s[1])]
        every = [block for _, blocks in segments for block in blocks]
        numbers.append((sum(n for n, name in every if name is not None), sum(n for n, _ in every)))
    return numbers


# %% wrong="rounds to 1,024" says=["a multiple of 512, not of 1,024"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    """Bytes allocated and reserved after each step of a trace."""
    segments, numbers = [], []  # a segment: (small, blocks); a block: [size, name or None]
    for kind, *rest in trace:
        if kind == "malloc":
            size = -(-rest[1] // 1024) * 1024
            pool = [blocks for small, blocks in segments if small == (size <= MIB)]
            fits = [b for blocks in pool for b in blocks if b[1] is None and b[0] >= size]
            if not fits:
                fits = [[2 * MIB * -(-size // (2 * MIB)), None]]
                segments.append((size <= MIB, fits))
            best = min(fits, key=lambda block: block[0])
            blocks = next(b for _, b in segments if any(block is best for block in b))
            if best[0] - size >= (512 if size <= MIB else MIB + 1):
                blocks.insert([b is best for b in blocks].index(True) + 1, [best[0] - size, None])
                best[0] = size
            best[1] = rest[0]
        for _, blocks in segments if kind == "free" else ():
            for block in blocks:
                block[1] = None if block[1] == rest[0] else block[1]
            for i in range(len(blocks) - 1, 0, -1):
                if blocks[i][1] is None and blocks[i - 1][1] is None:
                    blocks[i - 1][0] += blocks.pop(i)[0]
        if kind == "empty_cache":
            segments = [s for s in segments if any(name is not None for _, name in s[1])]
        every = [block for _, blocks in segments for block in blocks]
        numbers.append((sum(n for n, name in every if name is not None), sum(n for n, _ in every)))
    return numbers


# %% wrong="Replay from the module" says=["write your own"]
from course_utils.chapters.internals.allocators import Replay


def allocator(trace):
    replay = Replay()
    return [replay.step(s) for s in trace]


# %% wrong="a name keeps its first size" breaks="A name may be used again once it was freed" says=["may have another size", "a name used again"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    """Bytes allocated and reserved after each step of a trace."""
    sizes = {}
    segments, numbers = [], []  # a segment: (small, blocks); a block: [size, name or None]
    for kind, *rest in trace:
        if kind == "malloc":
            sizes[rest[0]] = size = sizes.get(rest[0], -(-rest[1] // 512) * 512)
            pool = [blocks for small, blocks in segments if small == (size <= MIB)]
            fits = [b for blocks in pool for b in blocks if b[1] is None and b[0] >= size]
            if not fits:
                fits = [[2 * MIB * -(-size // (2 * MIB)), None]]
                segments.append((size <= MIB, fits))
            best = min(fits, key=lambda block: block[0])
            blocks = next(b for _, b in segments if any(block is best for block in b))
            if best[0] - size >= (512 if size <= MIB else MIB + 1):
                blocks.insert([b is best for b in blocks].index(True) + 1, [best[0] - size, None])
                best[0] = size
            best[1] = rest[0]
        for _, blocks in segments if kind == "free" else ():
            for block in blocks:
                block[1] = None if block[1] == rest[0] else block[1]
            for i in range(len(blocks) - 1, 0, -1):
                if blocks[i][1] is None and blocks[i - 1][1] is None:
                    blocks[i - 1][0] += blocks.pop(i)[0]
        if kind == "empty_cache":
            segments = [s for s in segments if any(name is not None for _, name in s[1])]
        every = [block for _, blocks in segments for block in blocks]
        numbers.append((sum(n for n, name in every if name is not None), sum(n for n, _ in every)))
    return numbers


# %% wrong="a rest of 512 in a small segment isn't split off" says=["a rest of 512 bytes"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    """Bytes allocated and reserved after each step of a trace."""
    segments, numbers = [], []  # a segment: (small, blocks); a block: [size, name or None]
    for kind, *rest in trace:
        if kind == "malloc":
            size = -(-rest[1] // 512) * 512
            pool = [blocks for small, blocks in segments if small == (size <= MIB)]
            fits = [b for blocks in pool for b in blocks if b[1] is None and b[0] >= size]
            if not fits:
                fits = [[2 * MIB * -(-size // (2 * MIB)), None]]
                segments.append((size <= MIB, fits))
            best = min(fits, key=lambda block: block[0])
            blocks = next(b for _, b in segments if any(block is best for block in b))
            if best[0] - size >= (1024 if size <= MIB else MIB + 1):
                blocks.insert([b is best for b in blocks].index(True) + 1, [best[0] - size, None])
                best[0] = size
            best[1] = rest[0]
        for _, blocks in segments if kind == "free" else ():
            for block in blocks:
                block[1] = None if block[1] == rest[0] else block[1]
            for i in range(len(blocks) - 1, 0, -1):
                if blocks[i][1] is None and blocks[i - 1][1] is None:
                    blocks[i - 1][0] += blocks.pop(i)[0]
        if kind == "empty_cache":
            segments = [s for s in segments if any(name is not None for _, name in s[1])]
        every = [block for _, blocks in segments for block in blocks]
        numbers.append((sum(n for n, name in every if name is not None), sum(n for n, _ in every)))
    return numbers


# %% wrong="the rest goes to the end" says=["right behind its block"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    """Bytes allocated and reserved after each step of a trace."""
    segments, numbers = [], []  # a segment: (small, blocks); a block: [size, name or None]
    for kind, *rest in trace:
        if kind == "malloc":
            size = -(-rest[1] // 512) * 512
            pool = [blocks for small, blocks in segments if small == (size <= MIB)]
            fits = [b for blocks in pool for b in blocks if b[1] is None and b[0] >= size]
            if not fits:
                fits = [[2 * MIB * -(-size // (2 * MIB)), None]]
                segments.append((size <= MIB, fits))
            best = min(fits, key=lambda block: block[0])
            blocks = next(b for _, b in segments if any(block is best for block in b))
            if best[0] - size >= (512 if size <= MIB else MIB + 1):
                blocks.append([best[0] - size, None])
                best[0] = size
            best[1] = rest[0]
        for _, blocks in segments if kind == "free" else ():
            for block in blocks:
                block[1] = None if block[1] == rest[0] else block[1]
            for i in range(len(blocks) - 1, 0, -1):
                if blocks[i][1] is None and blocks[i - 1][1] is None:
                    blocks[i - 1][0] += blocks.pop(i)[0]
        if kind == "empty_cache":
            segments = [s for s in segments if any(name is not None for _, name in s[1])]
        every = [block for _, blocks in segments for block in blocks]
        numbers.append((sum(n for n, name in every if name is not None), sum(n for n, _ in every)))
    return numbers


# %% wrong="empties the trace" breaks="The trace stays as it is" says=["the trace has changed: it stays as it is"]
def allocator(trace):
    MIB = 2**20
    segments, pairs = [], []  # a segment: kind, list of [size, name]

    for step in trace:
        if step[0] == "malloc":
            _, name, size = step
            size = -(-size // 512) * 512
            kind = "small" if size <= MIB else "large"
            fits = [
                (s, b)
                for s in segments
                if s["kind"] == kind
                for b in s["blocks"]
                if b[1] is None and b[0] >= size
            ]
            if fits:
                segment, block = min(fits, key=lambda f: f[1][0])
            else:
                whole = 2 * MIB if kind == "small" else -(-size // (2 * MIB)) * 2 * MIB
                block = [whole, None]
                segment = {"kind": kind, "blocks": [block]}
                segments.append(segment)
            rest = block[0] - size
            block[1] = name
            if rest > (0 if kind == "small" else MIB):
                block[0] = size
                place = next(i for i, b in enumerate(segment["blocks"]) if b is block)
                segment["blocks"].insert(place + 1, [rest, None])
        elif step[0] == "free":
            for segment in segments:
                blocks = segment["blocks"]
                for block in blocks:
                    if block[1] == step[1]:
                        block[1] = None
                merged = []
                for block in blocks:
                    if merged and merged[-1][1] is None and block[1] is None:
                        merged[-1][0] += block[0]
                    else:
                        merged.append(block)
                segment["blocks"] = merged
        else:
            segments = [s for s in segments if any(b[1] is not None for b in s["blocks"])]
        blocks = [b for s in segments for b in s["blocks"]]
        pairs.append((sum(b[0] for b in blocks if b[1] is not None), sum(b[0] for b in blocks)))
    trace.clear()
    return pairs


# %% wrong="rounds to 256" says=["not of 256"]
def allocator(trace):
    MIB = 2**20
    segments, pairs = [], []  # a segment: kind, list of [size, name]

    for step in trace:
        if step[0] == "malloc":
            _, name, size = step
            size = -(-size // 256) * 256
            kind = "small" if size <= MIB else "large"
            fits = [
                (s, b)
                for s in segments
                if s["kind"] == kind
                for b in s["blocks"]
                if b[1] is None and b[0] >= size
            ]
            if fits:
                segment, block = min(fits, key=lambda f: f[1][0])
            else:
                whole = 2 * MIB if kind == "small" else -(-size // (2 * MIB)) * 2 * MIB
                block = [whole, None]
                segment = {"kind": kind, "blocks": [block]}
                segments.append(segment)
            rest = block[0] - size
            block[1] = name
            if rest > (0 if kind == "small" else MIB):
                block[0] = size
                place = next(i for i, b in enumerate(segment["blocks"]) if b is block)
                segment["blocks"].insert(place + 1, [rest, None])
        elif step[0] == "free":
            for segment in segments:
                blocks = segment["blocks"]
                for block in blocks:
                    if block[1] == step[1]:
                        block[1] = None
                merged = []
                for block in blocks:
                    if merged and merged[-1][1] is None and block[1] is None:
                        merged[-1][0] += block[0]
                    else:
                        merged.append(block)
                segment["blocks"] = merged
        else:
            segments = [s for s in segments if any(b[1] is not None for b in s["blocks"])]
        blocks = [b for s in segments for b in s["blocks"]]
        pairs.append((sum(b[0] for b in blocks if b[1] is not None), sum(b[0] for b in blocks)))
    return pairs


# %% wrong="small blocks keep a small rest" says=["also if it is 512"]
def allocator(trace):
    MIB = 2**20
    segments, pairs = [], []  # a segment: kind, list of [size, name]

    for step in trace:
        if step[0] == "malloc":
            _, name, size = step
            size = -(-size // 512) * 512
            kind = "small" if size <= MIB else "large"
            fits = [
                (s, b)
                for s in segments
                if s["kind"] == kind
                for b in s["blocks"]
                if b[1] is None and b[0] >= size
            ]
            if fits:
                segment, block = min(fits, key=lambda f: f[1][0])
            else:
                whole = 2 * MIB if kind == "small" else -(-size // (2 * MIB)) * 2 * MIB
                block = [whole, None]
                segment = {"kind": kind, "blocks": [block]}
                segments.append(segment)
            rest = block[0] - size
            block[1] = name
            if rest > (512 if kind == "small" else MIB):
                block[0] = size
                place = next(i for i, b in enumerate(segment["blocks"]) if b is block)
                segment["blocks"].insert(place + 1, [rest, None])
        elif step[0] == "free":
            for segment in segments:
                blocks = segment["blocks"]
                for block in blocks:
                    if block[1] == step[1]:
                        block[1] = None
                merged = []
                for block in blocks:
                    if merged and merged[-1][1] is None and block[1] is None:
                        merged[-1][0] += block[0]
                    else:
                        merged.append(block)
                segment["blocks"] = merged
        else:
            segments = [s for s in segments if any(b[1] is not None for b in s["blocks"])]
        blocks = [b for s in segments for b in s["blocks"]]
        pairs.append((sum(b[0] for b in blocks if b[1] is not None), sum(b[0] for b in blocks)))
    return pairs


# %% wrong="merges segments that are free" says=["two segments stay two pieces"]
def allocator(trace):
    MiB = 2**20
    segments = []
    rounded = lambda n, to: -(-n // to) * to
    history = []
    for step in trace:
        if step[0] == "malloc":
            name, size = step[1], rounded(step[2], 512)
            small = size <= MiB
            fits = [
                (segment, block)
                for segment in segments
                if segment["small"] == small
                for block in segment["blocks"]
                if block[1] is None and block[0] >= size
            ]
            if fits:
                segment, block = min(fits, key=lambda pair: pair[1][0])
            else:
                block = [2 * MiB if small else rounded(size, 2 * MiB), None]
                segment = {"small": small, "blocks": [block]}
                segments.append(segment)
            rest = block[0] - size
            block[1] = name
            if rest > (0 if small else MiB):
                block[0] = size
                place = [k for k, b in enumerate(segment["blocks"]) if b is block][0]
                segment["blocks"].insert(place + 1, [rest, None])
        elif step[0] == "free":
            for segment in segments:
                blocks = segment["blocks"]
                for block in blocks:
                    if block[1] == step[1] and block[1] is not None:
                        block[1] = None
                merged = []
                for block in blocks:
                    if merged and merged[-1][1] is None and block[1] is None:
                        merged[-1][0] += block[0]
                    else:
                        merged.append(block)
                segment["blocks"] = merged
        else:
            segments = [s for s in segments if any(b[1] is not None for b in s["blocks"])]
        if (
            step[0] == "free"
            and len(segments) > 1
            and all(b[1] is None for s in segments for b in s["blocks"])
        ):
            segments = [
                {
                    "small": segments[0]["small"],
                    "blocks": [[sum(b[0] for s in segments for b in s["blocks"]), None]],
                }
            ]
        everything = [b for s in segments for b in s["blocks"]]
        history.append(
            (sum(b[0] for b in everything if b[1] is not None), sum(b[0] for b in everything))
        )
    return history


# %% wrong="no pair where nothing was given back" breaks="one after each step" says=["2 pairs for 5 steps"]
def allocator(trace):
    MiB = 2**20
    segments = []
    rounded = lambda n, to: -(-n // to) * to
    history = []
    for step in trace:
        if step[0] == "malloc":
            name, size = step[1], rounded(step[2], 512)
            small = size <= MiB
            fits = [
                (segment, block)
                for segment in segments
                if segment["small"] == small
                for block in segment["blocks"]
                if block[1] is None and block[0] >= size
            ]
            if fits:
                segment, block = min(fits, key=lambda pair: pair[1][0])
            else:
                block = [2 * MiB if small else rounded(size, 2 * MiB), None]
                segment = {"small": small, "blocks": [block]}
                segments.append(segment)
            rest = block[0] - size
            block[1] = name
            if rest > (0 if small else MiB):
                block[0] = size
                place = [k for k, b in enumerate(segment["blocks"]) if b is block][0]
                segment["blocks"].insert(place + 1, [rest, None])
        elif step[0] == "free":
            for segment in segments:
                blocks = segment["blocks"]
                for block in blocks:
                    if block[1] == step[1] and block[1] is not None:
                        block[1] = None
                merged = []
                for block in blocks:
                    if merged and merged[-1][1] is None and block[1] is None:
                        merged[-1][0] += block[0]
                    else:
                        merged.append(block)
                segment["blocks"] = merged
        else:
            segments = [s for s in segments if any(b[1] is not None for b in s["blocks"])]
        everything = [b for s in segments for b in s["blocks"]]
        if step[0] == "empty_cache" and not segments:
            continue
        history.append(
            (sum(b[0] for b in everything if b[1] is not None), sum(b[0] for b in everything))
        )
    return history


# %% wrong="a block has to be larger than the request" says=["exactly as large as the request is large enough"]
def allocator(trace):
    MiB = 2**20
    segments = []
    rounded = lambda n, to: -(-n // to) * to
    history = []
    for step in trace:
        if step[0] == "malloc":
            name, size = step[1], rounded(step[2], 512)
            small = size <= MiB
            fits = [
                (segment, block)
                for segment in segments
                if segment["small"] == small
                for block in segment["blocks"]
                if block[1] is None and block[0] > size
            ]
            if fits:
                segment, block = min(fits, key=lambda pair: pair[1][0])
            else:
                block = [2 * MiB if small else rounded(size, 2 * MiB), None]
                segment = {"small": small, "blocks": [block]}
                segments.append(segment)
            rest = block[0] - size
            block[1] = name
            if rest > (0 if small else MiB):
                block[0] = size
                place = [k for k, b in enumerate(segment["blocks"]) if b is block][0]
                segment["blocks"].insert(place + 1, [rest, None])
        elif step[0] == "free":
            for segment in segments:
                blocks = segment["blocks"]
                for block in blocks:
                    if block[1] == step[1] and block[1] is not None:
                        block[1] = None
                merged = []
                for block in blocks:
                    if merged and merged[-1][1] is None and block[1] is None:
                        merged[-1][0] += block[0]
                    else:
                        merged.append(block)
                segment["blocks"] = merged
        else:
            segments = [s for s in segments if any(b[1] is not None for b in s["blocks"])]
        everything = [b for s in segments for b in s["blocks"]]
        history.append(
            (sum(b[0] for b in everything if b[1] is not None), sum(b[0] for b in everything))
        )
    return history


# %% wrong="empties the cache with what is in use" says=["empty_cache leaves a segment alone in which a block is in use"]
def allocator(trace):
    MiB = 2**20
    segments = []
    rounded = lambda n, to: -(-n // to) * to
    history = []
    for step in trace:
        if step[0] == "malloc":
            name, size = step[1], rounded(step[2], 512)
            small = size <= MiB
            fits = [
                (segment, block)
                for segment in segments
                if segment["small"] == small
                for block in segment["blocks"]
                if block[1] is None and block[0] >= size
            ]
            if fits:
                segment, block = min(fits, key=lambda pair: pair[1][0])
            else:
                block = [2 * MiB if small else rounded(size, 2 * MiB), None]
                segment = {"small": small, "blocks": [block]}
                segments.append(segment)
            rest = block[0] - size
            block[1] = name
            if rest > (0 if small else MiB):
                block[0] = size
                place = [k for k, b in enumerate(segment["blocks"]) if b is block][0]
                segment["blocks"].insert(place + 1, [rest, None])
        elif step[0] == "free":
            for segment in segments:
                blocks = segment["blocks"]
                for block in blocks:
                    if block[1] == step[1] and block[1] is not None:
                        block[1] = None
                merged = []
                for block in blocks:
                    if merged and merged[-1][1] is None and block[1] is None:
                        merged[-1][0] += block[0]
                    else:
                        merged.append(block)
                segment["blocks"] = merged
        else:
            segments = []
        everything = [b for s in segments for b in s["blocks"]]
        history.append(
            (sum(b[0] for b in everything if b[1] is not None), sum(b[0] for b in everything))
        )
    return history


# %% wrong="large segments in steps of 1 MiB" says=["a multiple of 2 MiB, not of 1"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    MIB = 2**20
    segments = []
    answer = []
    for step in trace:
        if step[0] == "malloc":
            size = -(-step[2] // 512) * 512
            small = size <= MIB
            best = None
            for segment in segments:
                if segment["small"] != small:
                    continue
                for block in segment["blocks"]:
                    if block[1] is None and block[0] >= size:
                        if best is None or block[0] < best[1][0]:
                            best = segment, block
            if best is None:
                total = 2 * MIB if small else -(-size // MIB) * MIB
                segment = {"small": small, "blocks": [[total, None]]}
                segments.append(segment)
                best = segment, segment["blocks"][0]
            segment, block = best
            rest = block[0] - size
            block[1] = step[1]
            if rest > (0 if small else MIB):
                block[0] = size
                place = [b is block for b in segment["blocks"]].index(True)
                segment["blocks"].insert(place + 1, [rest, None])
        elif step[0] == "free":
            for segment in segments:
                for block in segment["blocks"]:
                    if block[1] == step[1]:
                        block[1] = None
                merged = []
                for block in segment["blocks"]:
                    if merged and merged[-1][1] is None and block[1] is None:
                        merged[-1][0] += block[0]
                    else:
                        merged.append(block)
                segment["blocks"] = merged
        else:
            segments = [s for s in segments if any(b[1] is not None for b in s["blocks"])]
        blocks = [b for s in segments for b in s["blocks"]]
        answer.append((sum(b[0] for b in blocks if b[1] is not None), sum(b[0] for b in blocks)))
    return answer


# %% wrong="a large segment never filled" says=["already fills its segment"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    MIB = 2**20
    segments = []
    answer = []
    for step in trace:
        if step[0] == "malloc":
            size = -(-step[2] // 512) * 512
            small = size <= MIB
            best = None
            for segment in segments:
                if segment["small"] != small:
                    continue
                for block in segment["blocks"]:
                    if block[1] is None and block[0] >= size:
                        if best is None or block[0] < best[1][0]:
                            best = segment, block
            if best is None:
                total = 2 * MIB if small else (size // (2 * MIB) + 1) * 2 * MIB
                segment = {"small": small, "blocks": [[total, None]]}
                segments.append(segment)
                best = segment, segment["blocks"][0]
            segment, block = best
            rest = block[0] - size
            block[1] = step[1]
            if rest > (0 if small else MIB):
                block[0] = size
                place = [b is block for b in segment["blocks"]].index(True)
                segment["blocks"].insert(place + 1, [rest, None])
        elif step[0] == "free":
            for segment in segments:
                for block in segment["blocks"]:
                    if block[1] == step[1]:
                        block[1] = None
                merged = []
                for block in segment["blocks"]:
                    if merged and merged[-1][1] is None and block[1] is None:
                        merged[-1][0] += block[0]
                    else:
                        merged.append(block)
                segment["blocks"] = merged
        else:
            segments = [s for s in segments if any(b[1] is not None for b in s["blocks"])]
        blocks = [b for s in segments for b in s["blocks"]]
        answer.append((sum(b[0] for b in blocks if b[1] is not None), sum(b[0] for b in blocks)))
    return answer


# %% wrong="small segments are never given back" says=["the small ones too"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    MIB = 2**20
    segments = []
    answer = []
    for step in trace:
        if step[0] == "malloc":
            size = -(-step[2] // 512) * 512
            small = size <= MIB
            best = None
            for segment in segments:
                if segment["small"] != small:
                    continue
                for block in segment["blocks"]:
                    if block[1] is None and block[0] >= size:
                        if best is None or block[0] < best[1][0]:
                            best = segment, block
            if best is None:
                total = 2 * MIB if small else -(-size // (2 * MIB)) * 2 * MIB
                segment = {"small": small, "blocks": [[total, None]]}
                segments.append(segment)
                best = segment, segment["blocks"][0]
            segment, block = best
            rest = block[0] - size
            block[1] = step[1]
            if rest > (0 if small else MIB):
                block[0] = size
                place = [b is block for b in segment["blocks"]].index(True)
                segment["blocks"].insert(place + 1, [rest, None])
        elif step[0] == "free":
            for segment in segments:
                for block in segment["blocks"]:
                    if block[1] == step[1]:
                        block[1] = None
                merged = []
                for block in segment["blocks"]:
                    if merged and merged[-1][1] is None and block[1] is None:
                        merged[-1][0] += block[0]
                    else:
                        merged.append(block)
                segment["blocks"] = merged
        else:
            segments = [
                s for s in segments if s["small"] or any(b[1] is not None for b in s["blocks"])
            ]
        blocks = [b for s in segments for b in s["blocks"]]
        answer.append((sum(b[0] for b in blocks if b[1] is not None), sum(b[0] for b in blocks)))
    return answer


# %% wrong="segments are kept between calls" says=["each call begins anew"]
SEGMENTS = []


def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    MIB = 2**20
    segments = SEGMENTS
    answer = []
    for step in trace:
        if step[0] == "malloc":
            size = -(-step[2] // 512) * 512
            small = size <= MIB
            best = None
            for segment in segments:
                if segment["small"] != small:
                    continue
                for block in segment["blocks"]:
                    if block[1] is None and block[0] >= size:
                        if best is None or block[0] < best[1][0]:
                            best = segment, block
            if best is None:
                total = 2 * MIB if small else -(-size // (2 * MIB)) * 2 * MIB
                segment = {"small": small, "blocks": [[total, None]]}
                segments.append(segment)
                best = segment, segment["blocks"][0]
            segment, block = best
            rest = block[0] - size
            block[1] = step[1]
            if rest > (0 if small else MIB):
                block[0] = size
                place = [b is block for b in segment["blocks"]].index(True)
                segment["blocks"].insert(place + 1, [rest, None])
        elif step[0] == "free":
            for segment in segments:
                for block in segment["blocks"]:
                    if block[1] == step[1]:
                        block[1] = None
                merged = []
                for block in segment["blocks"]:
                    if merged and merged[-1][1] is None and block[1] is None:
                        merged[-1][0] += block[0]
                    else:
                        merged.append(block)
                segment["blocks"] = merged
        else:
            segments = [s for s in segments if any(b[1] is not None for b in s["blocks"])]
        blocks = [b for s in segments for b in s["blocks"]]
        answer.append((sum(b[0] for b in blocks if b[1] is not None), sum(b[0] for b in blocks)))
    return answer


# %% wrong="a free block has the name free" says=["tell a free block by something else"]
MB = 2**20


def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    segments = []
    answer = []
    for step in trace:
        if step[0] == "malloc":
            _, name, size = step
            size = (size + 511) // 512 * 512
            small = size <= MB
            fits = [
                (blocks, block)
                for kind, blocks in segments
                for block in blocks
                if kind == small and block[1] == "free" and block[0] >= size
            ]
            if fits:
                blocks, block = min(fits, key=lambda pair: pair[1][0])
            else:
                block = [2 * MB if small else (size + 2 * MB - 1) // (2 * MB) * 2 * MB, "free"]
                blocks = [block]
                segments.append((small, blocks))
            rest = block[0] - size
            if rest > (0 if small else MB):
                block[0] = size
                place = [b is block for b in blocks].index(True)
                blocks.insert(place + 1, [rest, "free"])
            block[1] = name
        elif step[0] == "free":
            for _, blocks in segments:
                for i, block in enumerate(blocks):
                    if block[1] == step[1]:
                        block[1] = "free"
                        if i + 1 < len(blocks) and blocks[i + 1][1] == "free":
                            block[0] += blocks.pop(i + 1)[0]
                        if i > 0 and blocks[i - 1][1] == "free":
                            blocks[i - 1][0] += blocks.pop(i)[0]
                        break
        else:
            segments = [s for s in segments if any(b[1] != "free" for b in s[1])]
        used = sum(b[0] for _, blocks in segments for b in blocks if b[1] != "free")
        answer.append((used, sum(b[0] for _, blocks in segments for b in blocks)))
    return answer


# %% wrong="an empty name is a free block" says=["tell a free block by something else"]
MB = 2**20


def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    segments = []
    answer = []
    for step in trace:
        if step[0] == "malloc":
            _, name, size = step
            size = (size + 511) // 512 * 512
            small = size <= MB
            fits = [
                (blocks, block)
                for kind, blocks in segments
                for block in blocks
                if kind == small and not block[1] and block[0] >= size
            ]
            if fits:
                blocks, block = min(fits, key=lambda pair: pair[1][0])
            else:
                block = [2 * MB if small else (size + 2 * MB - 1) // (2 * MB) * 2 * MB, None]
                blocks = [block]
                segments.append((small, blocks))
            rest = block[0] - size
            if rest > (0 if small else MB):
                block[0] = size
                place = [b is block for b in blocks].index(True)
                blocks.insert(place + 1, [rest, None])
            block[1] = name
        elif step[0] == "free":
            for _, blocks in segments:
                for i, block in enumerate(blocks):
                    if block[1] == step[1]:
                        block[1] = None
                        if i + 1 < len(blocks) and blocks[i + 1][1] is None:
                            block[0] += blocks.pop(i + 1)[0]
                        if i > 0 and blocks[i - 1][1] is None:
                            blocks[i - 1][0] += blocks.pop(i)[0]
                        break
        else:
            segments = [s for s in segments if any(b[1] for b in s[1])]
        used = sum(b[0] for _, blocks in segments for b in blocks if b[1])
        answer.append((used, sum(b[0] for _, blocks in segments for b in blocks)))
    return answer


# %% wrong="empty_cache turns the segments around" says=["empty_cache leaves the segments in order"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    """Bytes allocated and reserved after each step of a trace."""
    mib = 2**20
    segments, result = [], []
    for step in trace:
        if step[0] == "malloc":
            _, name, size = step
            size = -(-size // 512) * 512
            small = size <= mib
            fits = [
                (s, b)
                for s in segments
                if s["small"] == small
                for b in s["blocks"]
                if b[1] is None and b[0] >= size
            ]
            if fits:
                segment, block = min(fits, key=lambda f: f[1][0])
            else:
                total = 2 * mib if small else -(-size // (2 * mib)) * 2 * mib
                block = [total, None]
                segment = {"small": small, "blocks": [block]}
                segments.append(segment)
            rest = block[0] - size
            block[1] = name
            if rest and (small or rest > mib):
                block[0] = size
                place = next(i for i, b in enumerate(segment["blocks"]) if b is block)
                segment["blocks"].insert(place + 1, [rest, None])
        elif step[0] == "free":
            for segment in segments:
                for block in segment["blocks"]:
                    if block[1] == step[1]:
                        block[1] = None
                merged = []
                for block in segment["blocks"]:
                    if merged and merged[-1][1] is None and block[1] is None:
                        merged[-1][0] += block[0]
                    else:
                        merged.append(block)
                segment["blocks"] = merged
        else:
            segments = [s for s in segments[::-1] if any(b[1] is not None for b in s["blocks"])]
        blocks = [b for s in segments for b in s["blocks"]]
        result.append((sum(b[0] for b in blocks if b[1] is not None), sum(b[0] for b in blocks)))
    return result


# %% wrong="a single large segment stays" says=["all is given back: after step 3"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    """Bytes allocated and reserved after each step of a trace."""
    mib = 2**20
    segments, result = [], []
    for step in trace:
        if step[0] == "malloc":
            _, name, size = step
            size = -(-size // 512) * 512
            small = size <= mib
            fits = [
                (s, b)
                for s in segments
                if s["small"] == small
                for b in s["blocks"]
                if b[1] is None and b[0] >= size
            ]
            if fits:
                segment, block = min(fits, key=lambda f: f[1][0])
            else:
                total = 2 * mib if small else -(-size // (2 * mib)) * 2 * mib
                block = [total, None]
                segment = {"small": small, "blocks": [block]}
                segments.append(segment)
            rest = block[0] - size
            block[1] = name
            if rest and (small or rest > mib):
                block[0] = size
                place = next(i for i, b in enumerate(segment["blocks"]) if b is block)
                segment["blocks"].insert(place + 1, [rest, None])
        elif step[0] == "free":
            for segment in segments:
                for block in segment["blocks"]:
                    if block[1] == step[1]:
                        block[1] = None
                merged = []
                for block in segment["blocks"]:
                    if merged and merged[-1][1] is None and block[1] is None:
                        merged[-1][0] += block[0]
                    else:
                        merged.append(block)
                segment["blocks"] = merged
        else:
            segments = [
                s
                for s in segments
                if any(b[1] is not None for b in s["blocks"])
                or (not s["small"] and len(segments) == 1)
            ]
        blocks = [b for s in segments for b in s["blocks"]]
        result.append((sum(b[0] for b in blocks if b[1] is not None), sum(b[0] for b in blocks)))
    return result


# %% wrong="a freed segment counts as the newest" says=["the older of two, freed last"]
def allocator(trace):
    MIB = 2**20
    segments, where, pairs = [], {}, []
    for step in trace:
        if step[0] == "malloc":
            _, name, size = step
            size = -(-size // 512) * 512
            small = size <= MIB
            fits = [
                (s, b)
                for s in segments
                if s["small"] == small
                for b in s["blocks"]
                if b[1] is None and b[0] >= size
            ]
            if fits:
                segment, block = min(fits, key=lambda fit: fit[1][0])
            else:
                total = 2 * MIB if small else -(-size // (2 * MIB)) * 2 * MIB
                block = [total, None]
                segment = {"small": small, "blocks": [block]}
                segments.append(segment)
            rest = block[0] - size
            if (small and rest > 0) or rest > MIB:
                blocks = segment["blocks"]
                place = next(i for i, b in enumerate(blocks) if b is block)
                blocks.insert(place + 1, [rest, None])
                block[0] = size
            block[1] = name
            where[name] = segment, block
        elif step[0] == "free":
            segment, block = where.pop(step[1])
            block[1] = None
            merged = []
            for b in segment["blocks"]:
                if merged and merged[-1][1] is None and b[1] is None:
                    merged[-1][0] += b[0]
                else:
                    merged.append(b)
            segment["blocks"] = merged
            if all(b[1] is None for b in merged):
                segments.remove(segment)
                segments.append(segment)
        else:
            segments = [
                s for s in segments if len(s["blocks"]) > 1 or s["blocks"][0][1] is not None
            ]
        allocated = sum(b[0] for s in segments for b in s["blocks"] if b[1] is not None)
        reserved = sum(b[0] for s in segments for b in s["blocks"])
        pairs.append((allocated, reserved))
    return pairs


# %% wrong="floats for bytes" says=["bytes are whole numbers"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    MIB = 2**20
    segments = []  # [small, blocks]
    where, answer = {}, []
    for step in trace:
        if step[0] == "malloc":
            size = -(-step[2] // 512) * 512
            small = size <= MIB
            fits = [
                (blocks, block)
                for kind, blocks in segments
                if kind == small
                for block in blocks
                if not block[1] and block[0] >= size
            ]
            if not fits:
                total = 2 * MIB if small else -(-size // (2 * MIB)) * 2 * MIB
                blocks = [[total, False]]
                segments.append((small, blocks))
                fits = [(blocks, blocks[0])]
            blocks, block = min(fits, key=lambda pair: pair[1][0])
            rest = block[0] - size
            if rest > (0 if small else MIB):
                place = next(i for i, b in enumerate(blocks) if b is block)
                blocks.insert(place + 1, [rest, False])
                block[0] = size
            block[0] = float(block[0])
            block[1] = True
            where[step[1]] = blocks, block
        elif step[0] == "free":
            blocks, block = where.pop(step[1])
            block[1] = False
            i = next(i for i, b in enumerate(blocks) if b is block)
            if i + 1 < len(blocks) and not blocks[i + 1][1]:
                block[0] += blocks.pop(i + 1)[0]
            if i and not blocks[i - 1][1]:
                blocks[i - 1][0] += blocks.pop(i)[0]
        else:
            segments = [(kind, blocks) for kind, blocks in segments if any(b[1] for b in blocks)]
        everything = [b for _, blocks in segments for b in blocks]
        answer.append((sum(n for n, used in everything if used), sum(n for n, _ in everything)))
    return answer


# %% wrong="the last of the oldest segment" says=["of several that are equal in a segment the first is taken"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    MIB = 2**20
    segments = []  # [small, blocks]
    where, answer = {}, []
    for step in trace:
        if step[0] == "malloc":
            size = -(-step[2] // 512) * 512
            small = size <= MIB
            fits = [
                (blocks, block)
                for kind, blocks in segments
                if kind == small
                for block in blocks
                if not block[1] and block[0] >= size
            ]
            if not fits:
                total = 2 * MIB if small else -(-size // (2 * MIB)) * 2 * MIB
                blocks = [[total, False]]
                segments.append((small, blocks))
                fits = [(blocks, blocks[0])]
            blocks, block = min(
                fits[::-1],
                key=lambda pair: (
                    pair[1][0],
                    [i for i, s in enumerate(segments) if s[1] is pair[0]][0],
                ),
            )
            rest = block[0] - size
            if rest > (0 if small else MIB):
                place = next(i for i, b in enumerate(blocks) if b is block)
                blocks.insert(place + 1, [rest, False])
                block[0] = size
            block[1] = True
            where[step[1]] = blocks, block
        elif step[0] == "free":
            blocks, block = where.pop(step[1])
            block[1] = False
            i = next(i for i, b in enumerate(blocks) if b is block)
            if i + 1 < len(blocks) and not blocks[i + 1][1]:
                block[0] += blocks.pop(i + 1)[0]
            if i and not blocks[i - 1][1]:
                blocks[i - 1][0] += blocks.pop(i)[0]
        else:
            segments = [(kind, blocks) for kind, blocks in segments if any(b[1] for b in blocks)]
        everything = [b for _, blocks in segments for b in blocks]
        answer.append((sum(n for n, used in everything if used), sum(n for n, _ in everything)))
    return answer


# %% wrong="a name keeps its first block" breaks="A name may be used again once it was freed" says=["a name used again"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    """Bytes allocated and reserved after each step of a trace."""
    mib = 2**20
    segments = []  # (small, [[size, name], ...])
    history, where = [], {}
    for step in trace:
        if step[0] == "malloc":
            _, name, size = step
            size = -(-size // 512) * 512
            small = size <= mib
            fits = [
                (blocks, block)
                for kind, blocks in segments
                if kind == small
                for block in blocks
                if block[1] is None and block[0] >= size
            ]
            if fits:
                blocks, block = min(fits, key=lambda fit: fit[1][0])
            else:
                block = [2 * mib if small else -(-size // (2 * mib)) * 2 * mib, None]
                blocks = [block]
                segments.append((small, blocks))
            rest = block[0] - size
            if rest > (0 if small else mib):
                place = next(i for i, b in enumerate(blocks) if b is block)
                blocks.insert(place + 1, [rest, None])
                block[0] = size
            block[1] = (name,)
            where.setdefault(name, block)
        elif step[0] == "free":
            for _, blocks in segments:
                for i, block in enumerate(blocks):
                    if block is where[step[1]]:
                        block[1] = None
                        if i + 1 < len(blocks) and blocks[i + 1][1] is None:
                            block[0] += blocks.pop(i + 1)[0]
                        if i > 0 and blocks[i - 1][1] is None:
                            blocks[i - 1][0] += blocks.pop(i)[0]
                        break
        else:
            segments = [s for s in segments if any(block[1] is not None for block in s[1])]
        blocks = [block for _, blocks in segments for block in blocks]
        allocated = sum(block[0] for block in blocks if block[1] is not None)
        history.append((allocated, sum(block[0] for block in blocks)))
    return history


# %% wrong="tells a segment's kind by its size" breaks="Follow the six rules" says=["a large segment of 2 MiB, a small request", "segments apart"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    """Bytes allocated and reserved after each step of a trace."""
    mib = 2**20
    segments, result = [], []  # a segment is (small, blocks), a block [size, name]
    for step in trace:
        if step[0] == "malloc":
            size = -(-step[2] // 512) * 512
            small = size <= mib
            fits = [
                (blocks, block)
                for kind, blocks in segments
                if (sum(size for size, _ in blocks) == 2 * mib) == small
                for block in blocks
                if block[1] is None and block[0] >= size
            ]
            if not fits:
                new = 2 * mib if small else -(-size // (2 * mib)) * 2 * mib
                segments.append((small, [[new, None]]))
                fits = [(segments[-1][1], segments[-1][1][0])]
            blocks, block = min(fits, key=lambda pair: pair[1][0])
            rest = block[0] - size
            if rest > (0 if small else mib):
                block[0] = size
                place = next(i for i, other in enumerate(blocks) if other is block)
                blocks.insert(place + 1, [rest, None])
            block[1] = step[1]
        elif step[0] == "free":
            for _, blocks in segments:
                for place, block in enumerate(blocks):
                    if block[1] == step[1]:
                        block[1] = None
                        if place + 1 < len(blocks) and blocks[place + 1][1] is None:
                            block[0] += blocks.pop(place + 1)[0]
                        if place and blocks[place - 1][1] is None:
                            blocks[place - 1][0] += blocks.pop(place)[0]
                        break
        else:
            segments = [
                (small, blocks)
                for small, blocks in segments
                if len(blocks) > 1 or blocks[0][1] is not None
            ]
        blocks = [block for _, row in segments for block in row]
        allocated = sum(size for size, name in blocks if name is not None)
        result.append((allocated, sum(size for size, _ in blocks)))
    return result


# %% wrong="frees the first block of that name" breaks="A name may be used again once it was freed" says=["a name used again", "free the block that has it now"]
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    """Bytes allocated and reserved after each step of a trace."""
    mib = 2**20
    segments, result = [], []
    for action, *rest in trace:
        if action == "malloc":
            name, size = rest[0], (rest[1] + 511) // 512 * 512
            small = size <= mib
            best = None
            for segment in segments:
                for block in segment["blocks"]:
                    if segment["small"] == small and block["free"] and block["size"] >= size:
                        if best is None or block["size"] < best[1]["size"]:
                            best = segment, block
            if best is None:
                whole = 2 * mib if small else (size + 2 * mib - 1) // (2 * mib) * (2 * mib)
                block = {"size": whole, "free": True, "name": None}
                segments.append({"small": small, "blocks": [block]})
                best = segments[-1], block
            segment, block = best
            left = block["size"] - size
            if left > mib or (small and left):
                place = [other is block for other in segment["blocks"]].index(True)
                new = {"size": left, "free": True, "name": None}
                segment["blocks"].insert(place + 1, new)
                block["size"] = size
            block.update(free=False, name=name)
        elif action == "free":
            segment, place = next(
                (segment, place)
                for segment in segments
                for place, block in enumerate(segment["blocks"])
                if block["name"] == rest[0]
            )
            blocks = segment["blocks"]
            blocks[place]["free"] = True
            if place + 1 < len(blocks) and blocks[place + 1]["free"]:
                blocks[place]["size"] += blocks.pop(place + 1)["size"]
            if place > 0 and blocks[place - 1]["free"]:
                blocks[place - 1]["size"] += blocks.pop(place)["size"]
        else:
            segments = [s for s in segments if not all(b["free"] for b in s["blocks"])]
        every = [block for segment in segments for block in segment["blocks"]]
        used = sum(block["size"] for block in every if not block["free"])
        result.append((used, sum(block["size"] for block in every)))
    return result


# %% wrong="rounding by floats, which is off for very large requests" breaks="Follow the six rules" says=["more bytes than a float counts"]
import math

MIB_BYTES = 1 << 20


def round_up(number, unit):
    return int(math.ceil(number / unit)) * unit


def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    segments, result = [], []
    for step in trace:
        match step:
            case ("malloc", name, size):
                size = round_up(size, 512)
                small = size <= MIB_BYTES
                best = None
                for kind, blocks in segments:
                    for place, (length, owner) in enumerate(blocks):
                        if kind == small and owner is None and length >= size:
                            if best is None or length < best[0][best[1]][0]:
                                best = blocks, place
                if best is None:
                    whole = 2 * MIB_BYTES if small else round_up(size, 2 * MIB_BYTES)
                    segments.append((small, [(whole, None)]))
                    best = segments[-1][1], 0
                blocks, place = best
                length = blocks[place][0]
                if length - size > (0 if small else MIB_BYTES):
                    blocks[place : place + 1] = [(size, (name,)), (length - size, None)]
                else:
                    blocks[place] = (length, (name,))
            case ("free", name):
                for _, blocks in segments:
                    after = []
                    for length, owner in blocks:
                        owner = None if owner == (name,) else owner
                        if after and owner is None and after[-1][1] is None:
                            length += after.pop()[0]
                        after.append((length, owner))
                    blocks[:] = after
            case _:
                segments = [s for s in segments if any(owner for _, owner in s[1])]
        every = [block for _, blocks in segments for block in blocks]
        result.append((sum(n for n, owner in every if owner), sum(n for n, _ in every)))
    return result
