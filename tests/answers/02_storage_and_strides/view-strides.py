# %% [markdown]
# Rules:
#
# - "return the strides of the view"
# - "or `None` if there is no such view"
# - "If the two sizes hold different numbers of elements, return `None`"
# - "A dimension of size 1 may have any stride"
# - "without making a tensor"
# - "If they hold no element at all, any whole numbers will do"
#
# Admits:
#
# - "If they hold no element at all": (2, 0), (1, 1), (0, 5, 2)
# - "a size may be `()`": ((1, 1), (3, 5), (), ()
# - "A dimension of size 1 may have any stride": (3, 1, 2), (2, 7, 1)
# - "the size and stride of a tensor": an expanded dimension stays apart

# %% wrong="only contiguous tensors" breaks="return the strides of the view" says=["a split is always possible: view_strides((3, 4), (6, 1), (3, 2, 2)): None, as if only a copy could do it"]
def view_strides(size, stride, new_size):
    def fresh(shape):
        strides, step = [], 1
        for n in reversed(shape):
            strides.insert(0, step)
            step *= max(n, 1)
        return tuple(strides)

    import math

    if math.prod(size) != math.prod(new_size) or tuple(stride) != fresh(size):
        return None
    return fresh(new_size)


# %% wrong="always the strides of a fresh tensor" breaks="or `None` if there is no such view" says=["a split is always possible: view_strides((3, 4), (6, 1), (3, 2, 2)): expected (6, 2, 1), got (4, 2, 1)"]
def view_strides(size, stride, new_size):
    strides, step = [], 1
    for n in reversed(new_size):
        strides.insert(0, step)
        step *= max(n, 1)
    return tuple(strides)


# %% wrong="forgets to compare the numbers of elements" breaks="If the two sizes hold different numbers of elements, return `None`" says=["12 elements are not 6: view_strides((3, 4), (4, 1), (3, 2)): expected None, got (2, 1)"]
def view_strides(size, stride, new_size):
    runs = []
    for n, step in zip(size, stride):
        if runs and runs[-1][1] == n * step:
            runs[-1] = [runs[-1][0] * n, step]
        elif n > 1:
            runs.append([n, step])
    strides, room, step = [], 1, 1
    for n in reversed(new_size):
        if n > 1 and room == 1:
            if not runs:
                return None
            room, step = runs.pop()
        if room % n:
            return None
        strides.append(step)
        room, step = room // n, step * n
    return tuple(reversed(strides))


# %% wrong="stumbles over dimensions of size 1" breaks="A dimension of size 1 may have any stride" says=["a dimension of size 1 may have any stride"]
def view_strides(size, stride, new_size):
    import math

    if math.prod(size) != math.prod(new_size):
        return None
    if math.prod(size) == 0:
        return (1,) * len(new_size)
    runs = []
    for n, step in zip(size, stride):
        if runs and runs[-1][1] == n * step:
            runs[-1] = [runs[-1][0] * n, step]
        else:
            runs.append([n, step])
    strides, (room, step) = [], runs.pop() if runs else (1, 1)
    for n in reversed(new_size):
        if room == 1 and n > 1 and runs:
            room, step = runs.pop()
        if room % n:
            return None
        strides.append(step)
        room, step = room // n, step * n
    return tuple(reversed(strides))


# %% wrong="asks PyTorch about a contiguous tensor" breaks="without making a tensor" says=["a split is always possible: view_strides((3, 4), (6, 1), (3, 2, 2)): expected (6, 2, 1), got (4, 2, 1)"]
def view_strides(size, stride, new_size):
    try:
        return torch.empty(size).view(new_size).stride()
    except RuntimeError:
        return None


# %% wrong="nothing yet" says=["view_strides((3, 4), (4, 1), (2, 6)): None, as if only a copy could do it; expected (6, 1)"]
def view_strides(size, stride, new_size):
    """Strides, in elements, of a view of shape ``new_size``; None where only a copy can do it."""
    # YOUR CODE HERE


# %% right="solves for each stride from the positions in memory"
def view_strides(size, stride, new_size):
    """List every position in reading order, read off each stride, and see whether they fit."""
    positions = [0]
    for n, step in zip(size, stride):
        positions = [start + i * step for start in positions for i in range(n)]
    total = 1
    for n in new_size:
        total *= n
    if len(positions) != total:
        return None
    if total == 0:
        return (0,) * len(new_size)
    strides, jump = [], total
    for n in new_size:
        jump //= n
        strides.append(positions[jump] - positions[0] if n > 1 else 0)
    check = [0]
    for n, step in zip(new_size, strides):
        check = [start + i * step for start in check for i in range(n)]
    return tuple(strides) if check == positions else None


# %% right="two pointers from the right, a list as the result"
def view_strides(size, stride, new_size):
    old = [(n, s) for n, s in zip(size, stride) if n != 1]
    if 0 in size or 0 in new_size:
        return [7] * len(new_size) if 0 in size and 0 in new_size else None
    out = [0] * len(new_size)
    d = len(new_size) - 1
    while old:
        block, base = old.pop()
        span = block
        while old and old[-1][1] == span * base:
            span *= old.pop()[0]
        filled = 1
        while d >= 0 and (filled < span or new_size[d] == 1):
            out[d] = base * filled
            filled *= new_size[d]
            d -= 1
        if filled != span:
            return None
    if any(n != 1 for n in new_size[: d + 1]):
        return None
    return out


# %% wrong="lets an empty tensor do the work" says=["without making a tensor", "empty_strided"]
def view_strides(size, stride, new_size):
    try:
        return torch.empty_strided(size, stride, device="meta").view(new_size).stride()
    except RuntimeError:
        return None


# %% right="asks whether the new size fits: what does not divide is missing later"
def view_strides(size, stride, new_size):
    if torch.Size(size).numel() != torch.Size(new_size).numel():
        return None
    if 0 in size:
        return (1,) * len(new_size)
    runs = []
    for n, step in zip(size, stride):
        if runs and runs[-1][1] == n * step:
            runs[-1] = [runs[-1][0] * n, step]
        elif n > 1:
            runs.append([n, step])
    strides, room, step = [], 1, 1
    for n in reversed(new_size):
        if n > 1 and room <= 1 and runs:
            room, step = runs.pop()
        if n > room:
            return None
        strides.append(step)
        room, step = room // n, step * n
    return tuple(reversed(strides))


# %% wrong="one number instead of a tuple" says=["is not its strides"]
def view_strides(size, stride, new_size):
    return 6


# %% wrong="no element, no view" breaks="If they hold no element at all, any whole numbers will do" says=["without elements any strides will do", "None, as if only a copy could do it"]
def view_strides(size, stride, new_size):
    if 0 in size or 0 in new_size:
        return None
    x = [(n, s) for n, s in zip(size, stride) if n != 1]
    new = list(new_size)
    import math

    if math.prod(size) != math.prod(new_size):
        return None
    blocks = []
    for n, s in x:
        if blocks and blocks[-1][1] == n * s:
            blocks[-1] = (blocks[-1][0] * n, s)
        else:
            blocks.append((n, s))
    result, left = [], list(blocks)
    current, step = left.pop() if left else (1, 1)
    for n in reversed(new):
        while current == 1 and n > 1 and left:
            current, step = left.pop()
        if current % n:
            return None
        result.append(step)
        current, step = current // n, step * n
    return tuple(reversed(result))


# %% wrong="steps of 0 never merge" says=["1 of 18 cases fail", "these two merge, in one box"]
def view_strides(size, stride, new_size):
    if torch.Size(size).numel() != torch.Size(new_size).numel():
        return None
    if 0 in size:
        return (1,) * len(new_size)
    runs = []
    for n, step in zip(size, stride):
        if n > 1 and runs and step and runs[-1][1] == n * step:
            runs[-1] = [runs[-1][0] * n, step]
        elif n > 1:
            runs.append([n, step])
    strides, room, step = [], 1, 1
    for n in reversed(new_size):
        if n > 1 and room == 1:
            room, step = runs.pop()
        if room % n:
            return None
        strides.append(step)
        room, step = room // n, step * n
    return tuple(reversed(strides))


# %% wrong="the size () has no view" says=["2 of 18 cases fail", "one element of size () may get dimensions of size 1", "one element of size () stays as it is"]
def view_strides(size, stride, new_size):
    if not size or torch.Size(size).numel() != torch.Size(new_size).numel():
        return None
    if 0 in size:
        return (1,) * len(new_size)
    runs = []
    for n, step in zip(size, stride):
        if n > 1 and runs and runs[-1][1] == n * step:
            runs[-1] = [runs[-1][0] * n, step]
        elif n > 1:
            runs.append([n, step])
    strides, room, step = [], 1, 1
    for n in reversed(new_size):
        if n > 1 and room == 1:
            room, step = runs.pop()
        if room % n:
            return None
        strides.append(step)
        room, step = room // n, step * n
    return tuple(reversed(strides))


# %% wrong="no element: the strides of the old size" says=["1 of 18 cases fail", "without elements any strides will do", "is not its strides"]
def view_strides(size, stride, new_size):
    if torch.Size(size).numel() != torch.Size(new_size).numel():
        return None
    if 0 in size:
        return tuple(stride)
    runs = []
    for n, step in zip(size, stride):
        if n > 1 and runs and runs[-1][1] == n * step:
            runs[-1] = [runs[-1][0] * n, step]
        elif n > 1:
            runs.append([n, step])
    strides, room, step = [], 1, 1
    for n in reversed(new_size):
        if n > 1 and room == 1:
            room, step = runs.pop()
        if room % n:
            return None
        strides.append(step)
        room, step = room // n, step * n
    return tuple(reversed(strides))


# %% wrong="takes what fits, whether or not it divides" says=["1 of 18 cases fail", "a row of three cannot be cut into pairs"]
def view_strides(size, stride, new_size):
    if torch.Size(size).numel() != torch.Size(new_size).numel():
        return None
    if 0 in size:
        return (1,) * len(new_size)
    runs = []
    for n, step in zip(size, stride):
        if n > 1 and runs and runs[-1][1] == n * step:
            runs[-1] = [runs[-1][0] * n, step]
        elif n > 1:
            runs.append([n, step])
    strides, room, step = [], 1, 1
    for n in reversed(new_size):
        if n > 1 and room == 1:
            room, step = runs.pop()
        if room < n:
            return None
        strides.append(step)
        room, step = room // n, step * n
    return tuple(reversed(strides))


# %% wrong="no element before the numbers are compared" says=["1 of 18 cases fail", "no element is not two", "expected None, got (1,)"]
def view_strides(size, stride, new_size):
    if 0 in size:
        return (1,) * len(new_size)
    if torch.Size(size).numel() != torch.Size(new_size).numel():
        return None
    runs = []
    for n, step in zip(size, stride):
        if n > 1 and runs and runs[-1][1] == n * step:
            runs[-1] = [runs[-1][0] * n, step]
        elif n > 1:
            runs.append([n, step])
    strides, room, step = [], 1, 1
    for n in reversed(new_size):
        if n > 1 and room == 1:
            room, step = runs.pop()
        if room % n:
            return None
        strides.append(step)
        room, step = room // n, step * n
    return tuple(reversed(strides))


# %% wrong="remembers by the sizes alone" says=["1 of 18 cases fail", "other strides than in the first case: the strides decide", "expected None, got (6, 1)"]
known = {}


def view_strides(size, stride, new_size):
    if (size, new_size) not in known:
        known[size, new_size] = compute_strides(size, stride, new_size)
    return known[size, new_size]


def compute_strides(size, stride, new_size):
    import math

    if math.prod(size) != math.prod(new_size):
        return None
    if 0 in size:
        return (1,) * len(new_size)
    runs = []
    for n, step in zip(size, stride):
        if n != 1 and runs and runs[-1][1] == n * step:
            runs[-1] = (runs[-1][0] * n, step)
        elif n != 1:
            runs.append((n, step))
    strides, room, step = [], 1, 1
    for n in reversed(new_size):
        if n != 1 and room == 1:
            room, step = runs.pop()
        if room % n:
            return None
        strides.insert(0, step)
        room, step = room // n, step * n
    return tuple(strides)


# %% wrong="row-major where the size stays" says=["PyTorch's own view"]
def view_strides(size, stride, new_size):
    import math

    if math.prod(size) != math.prod(new_size):
        return None
    if math.prod(size) == 0:
        return tuple(1 for _ in new_size)
    if tuple(size) == tuple(new_size):
        return tuple(math.prod(size[d + 1 :]) for d in range(len(size)))
    runs = []
    for n, s in zip(size, stride):
        if n == 1:
            continue
        if runs and runs[-1][1] == n * s:
            runs[-1] = (runs[-1][0] * n, s)
        else:
            runs.append((n, s))
    out = []
    left, step = runs.pop() if runs else (1, 1)
    for n in reversed(new_size):
        if n == 1:
            out.append(step)
            continue
        if left == 1:
            left, step = runs.pop()
        if left % n:
            return None
        out.append(step)
        step, left = step * n, left // n
    return tuple(reversed(out))


# %% wrong="the same strides where the sizes are the same numbers" says=["rows of four cannot be cut into rows of three"]
def view_strides(size, stride, new_size):
    import math

    if math.prod(size) != math.prod(new_size):
        return None
    if math.prod(size) == 0:
        return tuple(1 for _ in new_size)
    if sorted(size) == sorted(new_size):
        return tuple(stride)
    runs = []
    for n, s in zip(size, stride):
        if n == 1:
            continue
        if runs and runs[-1][1] == n * s:
            runs[-1] = (runs[-1][0] * n, s)
        else:
            runs.append((n, s))
    out = []
    left, step = runs.pop() if runs else (1, 1)
    for n in reversed(new_size):
        if n == 1:
            out.append(step)
            continue
        if left == 1:
            left, step = runs.pop()
        if left % n:
            return None
        out.append(step)
        step, left = step * n, left // n
    return tuple(reversed(out))
