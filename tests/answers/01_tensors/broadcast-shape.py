# %% [markdown]
# Rules:
#
# - "return the broadcast shape as a tuple"
# - "raise a `ValueError`"
# - "**first dimension from the right**"
# - "as a negative number"
# - "and its two sizes"
# - "No other dimension may be named"
# - "without making a tensor"
# - "A size of 0 is a size like any other"
# - "`()` and `(2, 3)` give `(2, 3)`"
# - "`(3, 1)` and `(4,)` give `(3, 4)`"
#
# Admits:
#
# - "`()` and `(2, 3)`": ((), (2, 3))
# - "A size of 0 is a size like any other": ((0,), (1,))
# - "don't fit": ((2, 3), (4, 5))

# %% wrong="aligns at the left" breaks="`(3, 1)` and `(4,)` give `(3, 4)`" says=["broadcast_shape((3, 1), (4,)): these shapes fit, aligned at the right"]
def broadcast_shape(a, b):
    from itertools import zip_longest

    shape = []
    for m, n in zip_longest(a, b, fillvalue=1):
        if m != n and m != 1 and n != 1:
            raise ValueError(f"{m} and {n}")
        shape.append(n if m == 1 else m)
    return tuple(shape)


# %% wrong="the maximum of both" breaks="A size of 0 is a size like any other" says=["broadcast_shape((0,), (1,))", "1 is stretched to the other size"]
def broadcast_shape(a, b):
    from itertools import zip_longest

    shape = []
    for dim, (m, n) in enumerate(zip_longest(a[::-1], b[::-1], fillvalue=1), 1):
        if m != n and m != 1 and n != 1:
            raise ValueError(f"dimension {-dim}: {m} and {n}")
        shape.append(max(m, n))
    return tuple(shape[::-1])


# %% wrong="asks PyTorch" breaks="raise a `ValueError`" says=["raised RuntimeError", "expected ValueError"]
def broadcast_shape(a, b):
    return tuple(torch.broadcast_shapes(a, b))


# %% wrong="adds two tensors" breaks="without making a tensor" says=["without making a tensor"]
def broadcast_shape(a, b):
    for dim in range(1, min(len(a), len(b)) + 1):
        if a[-dim] != b[-dim] and 1 not in (a[-dim], b[-dim]):
            raise ValueError(f"dimension {-dim}: {a[-dim]} and {b[-dim]}")
    return tuple((torch.zeros(a) + torch.zeros(b)).shape)


# %% wrong="asks PyTorch and says no more than that it fails" says=["name dimension -3, no other, and its sizes 3 and 2"]
def broadcast_shape(a, b):
    try:
        return tuple(torch.broadcast_shapes(a, b))
    except RuntimeError:
        raise ValueError(f"{a} and {b} do not fit") from None


# %% wrong="counts the dimension from the left" breaks="as a negative number" says=["name dimension -3, no other, and its sizes 3 and 2 in the error"]
def broadcast_shape(a, b):
    length = max(len(a), len(b))
    a = (1,) * (length - len(a)) + tuple(a)
    b = (1,) * (length - len(b)) + tuple(b)
    for dim in reversed(range(length)):
        if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
            raise ValueError(f"dimension {dim}: {a[dim]} and {b[dim]}")
    return tuple(n if m == 1 else m for m, n in zip(a, b))


# %% wrong="drops what the longer shape has more" breaks="`()` and `(2, 3)` give `(2, 3)`" says=["broadcast_shape((3, 1), (4,)): expected (3, 4), got (4,)"]
def broadcast_shape(a, b):
    shape = []
    for dim, (m, n) in enumerate(zip(a[::-1], b[::-1]), 1):
        if m != n and m != 1 and n != 1:
            raise ValueError(f"dimension {-dim}: {m} and {n}")
        shape.insert(0, n if m == 1 else m)
    return tuple(shape)


# %% right="recursion from the right"
def broadcast_shape(a, b, dim=-1):
    if not a or not b:
        return tuple(a or b)
    m, n = a[-1], b[-1]
    if 1 in (m, n):
        last = m * n
    elif m == n:
        last = m
    else:
        raise ValueError(f"size {m} against size {n} (dim {dim})")
    return (*broadcast_shape(a[:-1], b[:-1], dim - 1), last)


# %% right="PyTorch's own function, and a search for the culprit"
def broadcast_shape(a, b):
    try:
        return torch.broadcast_shapes(a, b)
    except RuntimeError:
        pairs = list(zip(reversed(a), reversed(b)))
        bad = next(i for i, (m, n) in enumerate(pairs) if m != n and m != 1 and n != 1)
        raise ValueError(f"dimension {-1 - bad}: sizes {pairs[bad]}") from None


# %% right="NumPy's own function, place by place, then for the whole"
def broadcast_shape(a, b):
    for i in range(1, min(len(a), len(b)) + 1):
        try:
            np.broadcast_shapes((a[-i],), (b[-i],))
        except ValueError:
            raise ValueError(f"dimension {-i}: {a[-i]} and {b[-i]}") from None
    return tuple(int(size) for size in np.broadcast_shapes(tuple(a), tuple(b)))


# %% wrong="names every dimension that does not fit" breaks="No other dimension may be named" says=["(2, 3) and (4, 5)", "name dimension -1, no other, and its sizes 3 and 5"]
def broadcast_shape(a, b):
    from itertools import zip_longest

    pairs = list(zip_longest(a[::-1], b[::-1], fillvalue=1))
    bad = [(-d, m, n) for d, (m, n) in enumerate(pairs, 1) if m != n and 1 not in (m, n)]
    if bad:
        raise ValueError(f"these do not fit: {bad}")
    return tuple(n if m == 1 else m for m, n in pairs)[::-1]


# %% wrong="returns a list" breaks="return the broadcast shape as a tuple" says=["the sizes are right; return them as a tuple"]
def broadcast_shape(a, b):
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)
    shape = []
    for d in range(-1, -n - 1, -1):
        if a[d] != b[d] and 1 not in (a[d], b[d]):
            raise ValueError(f"dimension {d}: {a[d]} and {b[d]}")
        shape.insert(0, b[d] if a[d] == 1 else a[d])
    return shape


# %% wrong="names the first from the left" breaks="**first dimension from the right**" says=["name dimension -1, no other, and its sizes 3 and 5 in the error, not 'dimension -2: 2 and 4'"]
def broadcast_shape(a, b):
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)
    shape = []
    for d in range(-n, 0):
        if a[d] != b[d] and 1 not in (a[d], b[d]):
            raise ValueError(f"dimension {d}: {a[d]} and {b[d]}")
        shape.append(b[d] if a[d] == 1 else a[d])
    return tuple(shape)


# %% wrong="names the dimension without its sizes" breaks="and its two sizes" says=["name dimension -3, no other, and its sizes 3 and 2 in the error"]
def broadcast_shape(a, b):
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)
    shape = []
    for d in range(-1, -n - 1, -1):
        if a[d] != b[d] and 1 not in (a[d], b[d]):
            raise ValueError(f"dimension {d} doesn't fit")
        shape.insert(0, b[d] if a[d] == 1 else a[d])
    return tuple(shape)


# %% wrong="takes the 1 of (1,) and (0,)" says=["1 is stretched to the other size, and that is 0 here"]
import itertools


def broadcast_shape(a, b):
    result = []
    pairs = itertools.zip_longest(reversed(a), reversed(b), fillvalue=1)
    for place, (m, n) in enumerate(pairs, start=1):
        if m != n and m != 1 and n != 1:
            raise ValueError(f"dimension -{place}: {m} and {n}")
        result.append(m if m == 1 and n == 0 else n if m == 1 else m)
    return tuple(reversed(result))


# %% wrong="the last digit of the dimension" says=["name dimension -11, no other, and its sizes 2 and 3"]
def broadcast_shape(a, b):
    from itertools import zip_longest

    out = []
    for i, (m, n) in enumerate(zip_longest(reversed(a), reversed(b), fillvalue=1), 1):
        if m != n and m != 1 and n != 1:
            raise ValueError(f"dimension -{str(i)[-1]}: {m} and {n}")
        out.append(n if m == 1 else m)
    return tuple(reversed(out))


# %% wrong="names dimensions that fit, too" breaks="No other dimension may be named" says=["name dimension -3, no other, and its sizes 3 and 2 in the error"]
from itertools import zip_longest


def broadcast_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    sizes, fine = [], []
    for i, (m, n) in enumerate(zip_longest(reversed(a), reversed(b), fillvalue=1), start=1):
        if m != n and m != 1 and n != 1:
            note = f" (fine so far: {', '.join(fine)})" if fine else ""
            raise ValueError(f"dimension {-i}: {m} and {n}{note}")
        sizes.append(n if m == 1 else m)
        fine.append(f"dimension {-i}")
    return tuple(reversed(sizes))
