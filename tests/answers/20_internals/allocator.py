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


# %% wrong="rounds down" says=["is off"]
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


# %% wrong="rounds to the next, always" says=["is off"]
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


# %% wrong="kinds by the size before rounding" says=["is off"]
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


# %% wrong="1 MiB is large" says=["is off"]
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


# %% wrong="small blocks split like large ones" says=["is off"]
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


# %% wrong="no merging" says=["free neighbours"]
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


# %% wrong="merges with the next alone" says=["is off"]
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


# %% wrong="empties all that is free" says=["is off"]
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


# %% wrong="a freed segment goes at once" says=["is off"]
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


# %% wrong="small segments as large as asked" says=["is off"]
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


# %% wrong="20 MiB for large ones" says=["is off"]
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


# %% wrong="what was asked is allocated" says=["is off"]
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


# %% wrong="numbers at the end alone" says=["a pair after each step"]
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


# %% wrong="reserved first" says=["is off"]
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
