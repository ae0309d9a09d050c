# %% [markdown]
# Rules:
#
# - "a list of lines, in their order, that fails"
# - "from which no *single* line can be left out"
# - "It need not hold that more lines fail if fewer do"
# - "`lines` itself stays as it is"
# - "If `lines` doesn't fail, raise a `ValueError`"
# - "if the empty list fails then, the answer is `[]`"
# - "`fails` is called at most 150 times"
#
# Admits:
#
# - "`fails` may be any function": more lines need not fail

# %% wrong="one by one, once" breaks="from which no *single* line can be left out" says=["leave out whole blocks first"]
def shrink_it(lines, fails):
    if not fails(lines):
        raise ValueError("it does not fail")
    n = 0
    while n < len(lines):
        shorter = lines[:n] + lines[n + 1 :]
        if fails(shorter):
            lines = shorter
        else:
            n += 1
    return lines


# %% wrong="in the given list" breaks="`lines` itself stays as it is" says=["the given list was changed"]
def shrink_it(lines, fails):
    if not fails(lines):
        raise ValueError("it does not fail")
    size = max(1, len(lines) // 2)
    while True:
        n, went = 0, False
        while n < len(lines):
            block = lines[n : n + size]
            del lines[n : n + size]
            if fails(lines):
                went = True
            else:
                lines[n:n] = block
                n += size
        if size == 1 and not went:
            return lines
        size = max(1, size // 2)


# %% wrong="halves alone" says=["can still be left out of"]
def shrink_it(lines, fails):
    if not fails(lines):
        raise ValueError("it does not fail")
    while len(lines) > 1:
        half = len(lines) // 2
        if fails(lines[:half]):
            lines = lines[:half]
        elif fails(lines[half:]):
            lines = lines[half:]
        else:
            break
    return lines


# %% wrong="no ValueError" breaks="If `lines` doesn't fail, raise a `ValueError`" says=["expected a ValueError"]
def shrink_it(lines, fails):
    lines, size = list(lines), max(1, len(lines) // 2)
    while True:
        n, went = 0, False
        while n < len(lines):
            shorter = lines[:n] + lines[n + size :]
            if fails(shorter):
                lines, went = shorter, True
            else:
                n += size
        if size == 1 and not went:
            return lines
        size = max(1, size // 2)


# %% wrong="blocks, without a last round" says=["go round again: 0 can go once 1 is gone"]
def shrink_it(lines, fails):
    if not fails(lines):
        raise ValueError("it does not fail")
    lines, size = list(lines), max(1, len(lines) // 2)
    while size:
        n = 0
        while n < len(lines):
            shorter = lines[:n] + lines[n + size :]
            if fails(shorter):
                lines = shorter
            else:
                n += size
        size //= 2
    return lines


# %% wrong="each line by its text" says=["twins"]
def shrink_it(lines, fails):
    if not fails(lines):
        raise ValueError("it does not fail")
    went = True
    while went:
        went = False
        for line in list(lines):
            shorter = [other for other in lines if other != line]
            if len(shorter) < len(lines) and fails(shorter):
                lines, went = shorter, True
    return sorted(set(lines))


# %% right="Zeller's ddmin"
def shrink_it(lines, fails):
    if not fails(list(lines)):
        raise ValueError("these lines do not fail")
    rest, parts = list(lines), 2
    while len(rest) >= 2:
        size = -(-len(rest) // parts)
        blocks = [rest[k : k + size] for k in range(0, len(rest), size)]
        for n in range(len(blocks)):
            candidate = [line for m, block in enumerate(blocks) if m != n for line in block]
            if fails(candidate):
                rest, parts = candidate, max(parts - 1, 2)
                break
        else:
            if parts >= len(rest):
                break
            parts = min(len(rest), 2 * parts)
    return [] if len(rest) == 1 and fails([]) else rest


# %% right="recursive halves, then single lines"
def shrink_it(lines, fails):
    if not fails(lines):
        raise ValueError

    def needed(before, part, after):
        if fails(before + after):
            return []
        if len(part) == 1:
            return part
        half = len(part) // 2
        left = needed(before, part[:half], part[half:] + after)
        return left + needed(before + left, part[half:], after)

    rest = needed([], lines, []) if lines else []
    while True:
        for n in range(len(rest)):
            if fails(rest[:n] + rest[n + 1 :]):
                rest = rest[:n] + rest[n + 1 :]
                break
        else:
            return rest


# %% wrong="halves blocks, one round at size 1" says=["go round again: 0 can go once 1 is gone"]
def shrink_it(lines: list[str], fails: Callable[[list[str]], bool]) -> list[str]:
    if not fails(lines):
        raise ValueError("it doesn't fail")
    lines, size = list(lines), max(len(lines) // 2, 1)
    while size:
        start = 0
        while start < len(lines):
            shorter = lines[:start] + lines[start + size :]
            if fails(shorter):
                lines = shorter
            else:
                start += size
        size //= 2
    return lines


# %% right="masks of kept indices, halving, then until stable"
def shrink_it(lines: list[str], fails: Callable[[list[str]], bool]) -> list[str]:
    keep = list(range(len(lines)))
    test = lambda indices: fails([lines[i] for i in indices])
    if not test(keep):
        raise ValueError
    size = len(keep)
    while True:
        gone, start = False, len(keep)
        while start > 0:
            rest = keep[: max(start - size, 0)] + keep[start:]
            if test(rest):
                keep, gone = rest, True
            start = max(start - size, 0)
        if size > 1:
            size = (size + 1) // 2
        elif not gone or not keep:
            return [lines[i] for i in keep]


# %% wrong="leaves out whatever equals the line" says=["one of the twins"]
def shrink_it(lines, fails):
    if not fails(lines):
        raise ValueError("it does not fail")
    lines, size = list(lines), max(1, len(lines) // 2)
    while True:
        n, went = 0, False
        while n < len(lines):
            block = lines[n : n + size]
            shorter = [line for line in lines if line not in block]
            if fails(shorter):
                lines, went = shorter, True
            else:
                n += size
        if size == 1 and not went:
            return lines
        size = max(1, size // 2)


# %% wrong="bisects, as if more lines always failed" breaks="It need not hold that more lines fail if fewer do" says=["more lines need not fail"]
def shrink_it(lines, fails):
    if not fails(lines):
        raise ValueError("it does not fail")
    rest, kept = list(lines), []
    while not fails(kept):
        low, high = 0, len(rest)
        while low < high:
            middle = (low + high) // 2
            if fails(rest[:middle] + kept):
                high = middle
            else:
                low = middle + 1
        kept = [*rest[low - 1 : low], *kept]
        rest = rest[: max(0, low - 1)]
        if not rest and not fails(kept):
            break
    return kept


# %% wrong="from the back, one round at size 1" says=["go round again"]
def shrink_it(lines, fails):
    if not fails(lines):
        raise ValueError("it does not fail")
    lines, size = list(lines), max(1, len(lines) // 2)
    while size:
        stop = len(lines)
        while stop > 0:
            start = max(0, stop - size)
            shorter = lines[:start] + lines[stop:]
            if fails(shorter):
                lines = shorter
            stop = start
        size //= 2
    return lines


# %% wrong="stops at 150 calls" says=["40 of 120 matter", "the limit is for 2 lines of 400"]
def shrink_it(lines, fails):
    calls = [0]

    def asks(tried):
        calls[0] += 1
        return calls[0] <= 150 and fails(tried)

    if not asks(lines):
        raise ValueError("it does not fail")
    lines, size = list(lines), max(1, len(lines) // 2)
    while True:
        n, went = 0, False
        while n < len(lines):
            shorter = lines[:n] + lines[n + size :]
            if asks(shorter):
                lines, went = shorter, True
            else:
                n += size
        if size == 1 and not went:
            return lines
        size = max(1, size // 2)


# %% wrong="one line is taken for minimal" says=["anything (1 lines)", "the empty list fails, too"]
def shrink_it(lines: list[str], fails: Callable[[list[str]], bool]) -> list[str]:
    """Lines of a program that fails, from which no single line can be left out."""
    if len(lines) == 1 and fails(lines):
        return list(lines)
    if not fails(lines):
        raise ValueError("the program does not fail")
    lines, size, shrunk = list(lines), len(lines), True
    while size > 1 or shrunk:
        size, shrunk, stop = max(1, size // 2), False, len(lines)
        while stop > 0:
            start = max(0, stop - size)
            shorter = lines[:start] + lines[stop:]
            if fails(shorter):
                lines, shrunk = shorter, True
            stop = start
    return lines


# %% wrong="one round in each direction" says=["an onion"]
def shrink_it(lines, fails):
    if not fails(lines):
        raise ValueError("it does not fail")
    lines, size = list(lines), len(lines)
    while size > 1:
        size, stop = max(1, size // 2), len(lines)
        while stop > 0:
            start = max(0, stop - size)
            shorter = lines[:start] + lines[stop:]
            if fails(shorter):
                lines = shorter
            stop = start
    for line in list(lines):
        n = lines.index(line)
        if fails(lines[:n] + lines[n + 1 :]):
            lines = lines[:n] + lines[n + 1 :]
    return lines


# %% wrong="remembers tests by sets of lines" says=["twins"]
def shrink_it(lines, fails_):
    if not fails_(lines):
        raise ValueError("it does not fail")
    memo = {}
    real = fails_

    def fails(kept):
        k = frozenset(kept)
        if k not in memo:
            memo[k] = real(kept)
        return memo[k]

    lines, size, shrunk = list(lines), len(lines), True
    while size > 1 or shrunk:
        size, shrunk, stop = max(1, size // 2), False, len(lines)
        while stop > 0:
            start = max(0, stop - size)
            shorter = lines[:start] + lines[stop:]
            if fails(shorter):
                lines, shrunk = shorter, True
            stop = start
    return lines


# %% wrong="never asks about the empty list" breaks="if the empty list fails then, the answer is `[]`" says=["the empty list fails, too"]
def shrink_it(lines, fails):
    if not fails(lines):
        raise ValueError("it does not fail")
    lines, size, shrunk = list(lines), len(lines), True
    while size > 1 or shrunk:
        size, shrunk, stop = max(1, size // 2), False, len(lines)
        while stop > 0:
            start = max(0, stop - size)
            shorter = lines[:start] + lines[stop:]
            if shorter and fails(shorter):
                lines, shrunk = shorter, True
            stop = start
    return lines


# %% right="blocks from the front"
def shrink_it(lines, fails):
    current = list(lines)
    if not fails(current):
        raise ValueError("nothing to shrink")
    n = 1
    while current:
        size = -(-len(current) // n)
        for start in range(0, len(current), size):
            rest = current[:start] + current[start + size :]
            if fails(rest):
                current, n = rest, max(n - 1, 1)
                break
        else:
            if size == 1:
                break
            n = min(2 * n, len(current))
    return current


# %% wrong="the lines the other way round" breaks="a list of lines, in their order, that fails" says=["in their order"]
def shrink_it(lines, fails):
    lines = list(lines)
    if not fails(list(lines)):
        raise ValueError("it doesn't fail")
    size = max(len(lines) // 2, 1)
    while True:
        removed, start = False, 0
        while start < len(lines):
            shorter = lines[:start] + lines[start + size :]
            if fails(list(shorter)):
                lines, removed = shorter, True
            else:
                start += size
        if size == 1 and not removed:
            return lines[::-1]
        if size > 1:
            size //= 2


# %% wrong="one by one, round after round" breaks="`fails` is called at most 150 times" says=["leave out whole blocks first"]
def shrink_it(lines, fails):
    lines = list(lines)
    if not fails(list(lines)):
        raise ValueError("it doesn't fail")
    size = 1
    while True:
        removed, start = False, 0
        while start < len(lines):
            shorter = lines[:start] + lines[start + size :]
            if fails(list(shorter)):
                lines, removed = shorter, True
            else:
                start += size
        if size == 1 and not removed:
            return lines
        if size > 1:
            size //= 2


# %% wrong="strips the lines" says=["in their order"]
def shrink_it(lines, fails):
    lines = [line.strip() for line in lines]
    if not fails(list(lines)):
        raise ValueError("it doesn't fail")
    size = max(len(lines) // 2, 1)
    while True:
        removed, start = False, 0
        while start < len(lines):
            shorter = lines[:start] + lines[start + size :]
            if fails(list(shorter)):
                lines, removed = shorter, True
            else:
                start += size
        if size == 1 and not removed:
            return lines
        if size > 1:
            size //= 2


# %% wrong="raises an AssertionError" says=["raised AssertionError, expected a ValueError"]
def shrink_it(lines, fails):
    lines, size, went = list(lines), max(1, len(lines) // 2), True
    assert fails(lines), "it does not fail"
    while size > 1 or went:
        start, went = 0, False
        while start < len(lines):
            shorter = lines[:start] + lines[start + size :]
            if fails(shorter):
                lines, went = shorter, True
            else:
                start += size
        if not went and size > 1:
            size, went = size // 2, True
    return lines


# %% wrong="remembers tests by the set of their lines" says=["twins", "equal lines are different lines"]
def shrink_it(lines, fails):
    lines, size, went, known = list(lines), max(1, len(lines) // 2), True, {}
    if not fails(lines):
        raise ValueError("it does not fail")
    while size > 1 or went:
        start, went = 0, False
        while start < len(lines):
            shorter = lines[:start] + lines[start + size :]
            key = frozenset(shorter)
            if key not in known:
                known[key] = fails(shorter)
            if known[key]:
                lines, went = shorter, True
            else:
                start += size
        if not went and size > 1:
            size, went = size // 2, True
    return lines


# %% wrong="asks at the end whether it fails" says=["not as a whole", "the lines as given don't fail"]
def shrink_it(lines, fails):
    lines = list(lines)
    size = max(len(lines) // 2, 1)
    while True:
        start, shrunk = 0, False
        while start < len(lines):
            shorter = lines[:start] + lines[start + size :]
            if fails(shorter):
                lines, shrunk = shorter, True
            else:
                start += size
        if size > 1:
            size = (size + 1) // 2
        elif not shrunk:
            if not fails(lines):
                raise ValueError
            return lines


# %% wrong="the first block begins below 0" breaks="a list of lines, in their order, that fails" says=["everything", "a line is in it twice", "below 0"]
def shrink_it(lines, fails):
    if not fails(lines):
        raise ValueError("it does not fail")
    lines = list(lines)
    size, again = len(lines), True
    while size > 1 or again:
        size, again = max(1, size // 2), False
        end = len(lines)
        while end > 0:
            begin = end - size
            without = lines[:begin] + lines[end:]
            if fails(without):
                lines, again = without, True
            end = begin
    return lines


# %% wrong="asks for no line before it asks for all" says=["no line at all (3 lines): the lines as given don't fail"]
def shrink_it(lines, fails):
    left = list(lines)
    if fails([]):
        return []
    if not fails(list(left)):
        raise ValueError("these lines don't fail")
    size = max(len(left) // 2, 1)
    while True:
        start, went = 0, False
        while start < len(left):
            shorter = left[:start] + left[start + size :]
            if fails(list(shorter)):
                left, went = shorter, True
            else:
                start += size
        if size == 1 and not went:
            return left
        size = max(size // 2, 1)


# %% wrong="answers are remembered by the joined text" says=["a line of two letters", "a, b is another than ab"]
def shrink_it(lines, fails):
    left, known, ask = list(lines), {}, fails

    def fails(some):
        key = "".join(some)
        if key not in known:
            known[key] = ask(some)
        return known[key]

    if not fails(list(left)):
        raise ValueError("these lines don't fail")
    size = max(len(left) // 2, 1)
    while True:
        start, went = 0, False
        while start < len(left):
            shorter = left[:start] + left[start + size :]
            if fails(list(shorter)):
                left, went = shorter, True
            else:
                start += size
        if size == 1 and not went:
            return left
        size = max(size // 2, 1)


# %% wrong="takes out an equal line before it" says=["a, and later b", "not an equal one before"]
def shrink_it(lines, fails):
    left = list(lines)
    if not fails(list(left)):
        raise ValueError("these lines don't fail")
    size = max(1, len(left) // 2)
    while True:
        n, gone = 0, False
        while n < len(left):
            shorter = list(left)
            for line in left[n : n + size]:
                shorter.remove(line)
            if fails(list(shorter)):
                left, gone = shorter, True
            else:
                n += size
        if size > 1:
            size //= 2
        elif not gone:
            return left


# %% wrong="empty lines never matter" says=["two empty lines", "a ValueError"]
def shrink_it(lines, fails):
    left = [line for line in lines if line.strip()]
    if not fails(list(left)):
        raise ValueError("these lines don't fail")
    size = max(1, len(left) // 2)
    while True:
        n, gone = 0, False
        while n < len(left):
            shorter = left[:n] + left[n + size :]
            if fails(list(shorter)):
                left, gone = shorter, True
            else:
                n += size
        if size > 1:
            size //= 2
        elif not gone:
            return left


# %% wrong="remembers by the text" says=["an empty line (2 lines): the result [] does not fail any more", "another than the empty list"]
def shrink_it(lines: list[str], fails: Callable[[list[str]], bool]) -> list[str]:
    """Lines of a program that fails, from which no single line can be left out."""
    lines, known = list(lines), {}

    def still_fails(tried):
        text = "\n".join(tried)
        if text not in known:
            known[text] = fails(list(tried))
        return known[text]

    if not still_fails(lines):
        raise ValueError("the program doesn't fail")
    size = max(1, len(lines) // 2)
    while True:
        start, went = 0, False
        while start < len(lines):
            shorter = lines[:start] + lines[start + size :]
            if still_fails(shorter):
                lines, went = shorter, True
            else:
                start += size
        if size > 1:
            size //= 2
        elif not went:
            return lines


# %% wrong="cuts the given list, and puts it back in the end" breaks="`lines` itself stays as it is" says=["the given list was changed when fails was asked"]
def shrink_it(lines: list[str], fails: Callable[[list[str]], bool]) -> list[str]:
    if not fails(list(lines)):
        raise ValueError("these lines don't fail")
    if fails([]):
        return []
    original, size = list(lines), max(1, len(lines) // 2)
    while True:
        start, removed = 0, False
        while start < len(lines):
            block = lines[start : start + size]
            del lines[start : start + size]
            if fails(list(lines)):
                removed = True
            else:
                lines[start:start] = block
                start += size
        if size == 1 and not removed:
            break
        size = max(1, size // 2)
    answer = list(lines)
    lines[:] = original
    return answer
