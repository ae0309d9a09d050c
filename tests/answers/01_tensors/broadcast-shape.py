# %% wrong="aligns at the left" says=["broadcast_shape((3, 1), (4,)): these shapes fit, aligned at the right"]
def broadcast_shape(a, b):
    from itertools import zip_longest

    shape = []
    for m, n in zip_longest(a, b, fillvalue=1):
        if m != n and m != 1 and n != 1:
            raise ValueError(f"{m} and {n}")
        shape.append(n if m == 1 else m)
    return tuple(shape)


# %% wrong="the maximum of both" says=["broadcast_shape((0,), (1,))", "1 is stretched to the other size"]
def broadcast_shape(a, b):
    from itertools import zip_longest

    shape = []
    for dim, (m, n) in enumerate(zip_longest(a[::-1], b[::-1], fillvalue=1), 1):
        if m != n and m != 1 and n != 1:
            raise ValueError(f"dimension {-dim}: {m} and {n}")
        shape.append(max(m, n))
    return tuple(shape[::-1])


# %% wrong="asks PyTorch" says=["raised RuntimeError", "expected ValueError"]
def broadcast_shape(a, b):
    return tuple(torch.broadcast_shapes(a, b))


# %% wrong="adds two tensors" says=["without making a tensor"]
def broadcast_shape(a, b):
    for dim in range(1, min(len(a), len(b)) + 1):
        if a[-dim] != b[-dim] and 1 not in (a[-dim], b[-dim]):
            raise ValueError(f"dimension {-dim}: {a[-dim]} and {b[-dim]}")
    return tuple((torch.zeros(a) + torch.zeros(b)).shape)


# %% wrong="asks PyTorch and says no more than that it fails" says=["name dimension -3 and its sizes 3 and 2"]
def broadcast_shape(a, b):
    try:
        return tuple(torch.broadcast_shapes(a, b))
    except RuntimeError:
        raise ValueError(f"{a} and {b} do not fit") from None


# %% wrong="counts the dimension from the left" says=["name dimension -3 and its sizes 3 and 2 in the error"]
def broadcast_shape(a, b):
    length = max(len(a), len(b))
    a = (1,) * (length - len(a)) + tuple(a)
    b = (1,) * (length - len(b)) + tuple(b)
    for dim in reversed(range(length)):
        if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
            raise ValueError(f"dimension {dim}: {a[dim]} and {b[dim]}")
    return tuple(n if m == 1 else m for m, n in zip(a, b))


# %% wrong="drops what the longer shape has more" says=["broadcast_shape((3, 1), (4,)): expected (3, 4), got (4,)"]
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


# %% wrong="names every dimension that does not fit" says=["(2, 3) and (4, 5)", "name dimension -1 and its sizes 3 and 5"]
def broadcast_shape(a, b):
    from itertools import zip_longest

    pairs = list(zip_longest(a[::-1], b[::-1], fillvalue=1))
    bad = [(-d, m, n) for d, (m, n) in enumerate(pairs, 1) if m != n and 1 not in (m, n)]
    if bad:
        raise ValueError(f"these do not fit: {bad}")
    return tuple(n if m == 1 else m for m, n in pairs)[::-1]
