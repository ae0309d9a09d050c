# %% [markdown]
# Rules:
#
# - "returns the strides of a contiguous tensor"
# - "Where a size is 0, compute as if it were 1"
# - "without making a tensor"
# - "`()` gives `()`"
# - "The stride of a dimension of size 1 does not count"
# - "which is how both can be true at once"
#
# Admits:
#
# - "`()` gives `()`": (): ((),
# - "a 4-D tensor": ((2, 3, 1, 1), (3, 1, 9, 9)
# - "`(2, 0, 3)` gives `(3, 3, 1)`": (2, 0, 3)

# %% wrong="column-major" breaks="returns the strides of a contiguous tensor" says=["7 of 8 cases fail", "row_major_strides((3, 4)): expected (4, 1), got (1, 3)"]
def row_major_strides(size: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for n in size:
        strides.append(step)
        step *= n
    return tuple(strides)


def memory_format(size, stride):
    return "neither"


# %% wrong="lets a zero through" breaks="Where a size is 0, compute as if it were 1" says=["a size of 0 counts as 1", "expected (3, 3, 1), got (0, 3, 1)"]
def row_major_strides(size):
    strides, step = [], 1
    for n in reversed(size):
        strides.insert(0, step)
        step *= n
    return tuple(strides)


def memory_format(size, stride):
    return "contiguous" if stride == row_major_strides(size) else "channels_last"


# %% wrong="asks PyTorch" breaks="without making a tensor" says=["without making a tensor", "empty ran"]
def row_major_strides(size):
    return torch.empty(size).stride()


def memory_format(size, stride):
    x = torch.empty_strided(size, stride)
    planes, pixels = x.is_contiguous(), x.is_contiguous(memory_format=torch.channels_last)
    return {3: "both", 1: "contiguous", 2: "channels_last", 0: "neither"}[planes + 2 * pixels]


# %% wrong="fails without dimensions" breaks="`()` gives `()`" says=["row_major_strides(())", "got (1,)"]
def row_major_strides(size):
    strides = [1]
    for n in reversed(size[1:]):
        strides.append(strides[-1] * max(n, 1))
    return tuple(reversed(strides))


def memory_format(size, stride):
    return "contiguous" if stride[3] == 1 else "channels_last" if stride[1] == 1 else "neither"


# %% wrong="each stride is the next size" says=["row_major_strides((2, 3, 4))", "got (3, 4, 1)"]
def row_major_strides(size):
    return tuple(size[1:]) + (1,) if len(size) else ()


def memory_format(size, stride):
    return "both"


# %% wrong="one channel is always both" says=["the second image begins too late", "expected 'neither', got 'both'"]
def row_major_strides(size):
    import math

    return tuple(math.prod(max(n, 1) for n in size[d + 1 :]) for d in range(len(size)))


def memory_format(size, stride):
    n, c, h, w = size
    if c == 1 or h == w == 1:
        return "both"
    if tuple(stride) == (c * h * w, h * w, w, 1):
        return "contiguous"
    return "channels_last" if tuple(stride) == (c * h * w, 1, c * w, c) else "neither"


# %% wrong="asks only which stride is 1" breaks="which is how both can be true at once" says=["the stride of the only channel does not count", "the channel first, but then the height", "expected 'neither', got 'channels_last'"]
def row_major_strides(size):
    import math

    return tuple(math.prod(max(n, 1) for n in size[d + 1 :]) for d in range(len(size)))


def memory_format(size, stride):
    return "contiguous" if stride[3] == 1 else "channels_last" if stride[1] == 1 else "neither"


# %% wrong="counts strides that are never used" breaks="The stride of a dimension of size 1 does not count" says=["expected 'both'"]
def row_major_strides(size):
    import math

    return tuple(math.prod(max(n, 1) for n in size[d + 1 :]) for d in range(len(size)))


def memory_format(size, stride):
    n, c, h, w = size
    planes = tuple(stride) == row_major_strides(size)
    pixels = tuple(stride) == (c * h * w, 1, c * w, c)
    if planes and pixels:
        return "both"
    return "contiguous" if planes else "channels_last" if pixels else "neither"


# %% wrong="the second half is open" says=["expected 'contiguous', got None"]
def row_major_strides(size):
    import math

    return tuple(math.prod(max(n, 1) for n in size[d + 1 :]) for d in range(len(size)))


def memory_format(size, stride):
    pass


# %% right="a product for each dimension, a set of dimensions that count"
def row_major_strides(size):
    import math

    return tuple(math.prod(max(n, 1) for n in size[d + 1 :]) for d in range(len(size)))


def memory_format(size, stride):
    n, c, h, w = size
    used = [d for d in range(4) if size[d] != 1]
    fits = {
        "contiguous": (c * h * w, h * w, w, 1),
        "channels_last": (h * w * c, 1, w * c, c),
    }
    names = [name for name, steps in fits.items() if all(stride[d] == steps[d] for d in used)]
    return "both" if len(names) == 2 else names[0] if names else "neither"


# %% right="accumulate, as a list, and a walk that stops"
def row_major_strides(size):
    from itertools import accumulate
    from operator import mul

    if not size:
        return []
    return list(accumulate([1, *(n or 1 for n in size[:0:-1])], mul))[::-1]


def memory_format(size, stride):
    def walk(order):
        step = 1
        for dim in order:
            if size[dim] > 1 and stride[dim] != step:
                return False
            step *= size[dim]
        return True

    match walk((3, 2, 1, 0)), walk((1, 3, 2, 0)):
        case True, True:
            return "both"
        case True, False:
            return "contiguous"
        case False, True:
            return "channels_last"
    return "neither"


# %% wrong="the innermost stride is taken for granted" says=["size (1, 3, 2, 2)", "one step to the right passes one element"]
def row_major_strides(size):
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def memory_format(size, stride):
    found = []
    for name, order in (("contiguous", (0, 1, 2, 3)), ("channels_last", (0, 2, 3, 1))):
        steps = row_major_strides([size[dim] for dim in order])
        fits = [size[dim] == 1 or stride[dim] == step for dim, step in zip(order, steps)]
        found += [name] * all(fits[:3])
    return "both" if len(found) == 2 else "".join(found) or "neither"


# %% wrong="no element, every stride 1" says=["1 of 8 cases fail", "row_major_strides((0, 2)): expected (2, 1), got (1, 1)"]
def row_major_strides(size):
    if 0 in size and len(size) == 2:
        return 1, 1
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def memory_format(size, stride):
    names = []
    for name, order in (("contiguous", (0, 1, 2, 3)), ("channels_last", (0, 2, 3, 1))):
        steps = row_major_strides([size[d] for d in order])
        if all(size[d] == 1 or stride[d] == step for d, step in zip(order, steps)):
            names.append(name)
    return "both" if len(names) == 2 else names[0] if names else "neither"


# %% wrong="four dimensions at most" says=["1 of 8 cases fail", "got (10, 5, 5, 1) (each size of 0 counts as 1)"]
def row_major_strides(size):
    strides, step = [], 1
    for n in reversed(size[-4:]):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def memory_format(size, stride):
    names = []
    for name, order in (("contiguous", (0, 1, 2, 3)), ("channels_last", (0, 2, 3, 1))):
        steps = row_major_strides([size[d] for d in order])
        if all(size[d] == 1 or stride[d] == step for d, step in zip(order, steps)):
            names.append(name)
    return "both" if len(names) == 2 else names[0] if names else "neither"


# %% wrong="in int32" says=["1 of 8 cases fail", "the numbers may be large"]
def row_major_strides(size):
    if size and 0 not in size[:-1]:
        sizes = np.array([1, *size[:0:-1]], dtype=np.int32).clip(1)
        return tuple(sizes.cumprod(dtype=np.int32)[::-1].tolist())
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def memory_format(size, stride):
    names = []
    for name, order in (("contiguous", (0, 1, 2, 3)), ("channels_last", (0, 2, 3, 1))):
        steps = row_major_strides([size[d] for d in order])
        if all(size[d] == 1 or stride[d] == step for d, step in zip(order, steps)):
            names.append(name)
    return "both" if len(names) == 2 else names[0] if names else "neither"


# %% wrong="the stride of the only image counts" says=["the stride of the only image does not count"]
def row_major_strides(size):
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def memory_format(size, stride):
    names = []
    for name, order in (("contiguous", (0, 1, 2, 3)), ("channels_last", (0, 2, 3, 1))):
        steps = row_major_strides([size[d] for d in order])
        if all((d and size[d] == 1) or stride[d] == step for d, step in zip(order, steps)):
            names.append(name)
    return "both" if len(names) == 2 else names[0] if names else "neither"


# %% wrong="a stride of 0 is passed over" says=["an expanded image: 0 is not 12"]
def row_major_strides(size):
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def memory_format(size, stride):
    names = []
    for name, order in (("contiguous", (0, 1, 2, 3)), ("channels_last", (0, 2, 3, 1))):
        steps = row_major_strides([size[d] for d in order])
        if all(size[d] == 1 or stride[d] in (0, step) for d, step in zip(order, steps)):
            names.append(name)
    return "both" if len(names) == 2 else names[0] if names else "neither"


# %% wrong="a single number is contiguous alone" says=["of a single number no stride counts"]
def row_major_strides(size):
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def memory_format(size, stride):
    names = []
    for name, order in (("contiguous", (0, 1, 2, 3)), ("channels_last", (0, 2, 3, 1))):
        steps = row_major_strides([size[d] for d in order])
        if all(size[d] == 1 or stride[d] == step for d, step in zip(order, steps)):
            names.append(name)
    if set(size) == {1}:
        return "contiguous"
    return "both" if len(names) == 2 else names[0] if names else "neither"


# %% wrong="divides with /" says=["7 of 8 cases fail", "the numbers are right: give each as an int"]
import math


def row_major_strides(size):
    strides, step = [], math.prod(max(n, 1) for n in size)
    for n in size:
        step /= max(n, 1)
        strides.append(step)
    return tuple(strides)


def memory_format(size, stride):
    steps = {"contiguous": row_major_strides(size)}
    batch, height, width, channel = row_major_strides([size[dim] for dim in (0, 2, 3, 1)])
    steps["channels_last"] = (batch, channel, height, width)
    used = [dim for dim in range(4) if size[dim] > 1]
    names = [name for name, own in steps.items() if all(own[d] == stride[d] for d in used)]
    return "both" if len(names) == 2 else names[0] if names else "neither"


# %% wrong="a size of 1 in row_major has the stride of its neighbour" breaks="returns the strides of a contiguous tensor" says=["a size of 1 has a stride like any other"]
def walk(size, order):
    strides, step = [0] * len(size), 1
    for d in reversed(order):
        strides[d] = step if size[d] != 1 else 1
        step *= max(size[d], 1)
    return tuple(strides)


def row_major_strides(size):
    return walk(size, range(len(size)))


def memory_format(size, stride):
    fits = [
        all(n == 1 or a == b for n, a, b in zip(size, stride, walk(size, order)))
        for order in ((0, 1, 2, 3), (0, 2, 3, 1))
    ]
    return {(True, True): "both", (True, False): "contiguous", (False, True): "channels_last"}.get(
        tuple(fits), "neither"
    )


# %% wrong="the stride of the batch is not looked at" says=["PyTorch has it"]
def walk(size, order):
    strides, step = [0] * len(size), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(size[d], 1)
    return tuple(strides)


def row_major_strides(size):
    return walk(size, range(len(size)))


def memory_format(size, stride):
    fits = [
        all(n == 1 or s == e for n, s, e in list(zip(size, stride, walk(size, order)))[1:])
        for order in ((0, 1, 2, 3), (0, 2, 3, 1))
    ]
    return {
        (True, True): "both",
        (True, False): "contiguous",
        (False, True): "channels_last",
        (False, False): "neither",
    }[tuple(fits)]
