# %% wrong="column-major" says=["row_major_strides((3, 4)): expected (4, 1), got (1, 3)"]
def row_major_strides(size: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for n in size:
        strides.append(step)
        step *= n
    return tuple(strides)


# %% wrong="lets a zero through" says=["a size of 0 counts as 1", "expected (3, 3, 1), got (0, 3, 1)"]
def row_major_strides(size):
    strides, step = [], 1
    for n in reversed(size):
        strides.insert(0, step)
        step *= n
    return tuple(strides)


# %% wrong="asks PyTorch" says=["without making a tensor", "empty ran"]
def row_major_strides(size):
    return torch.empty(size).stride()


# %% wrong="fails without dimensions" says=["row_major_strides(())", "got (1,)"]
def row_major_strides(size):
    strides = [1]
    for n in reversed(size[1:]):
        strides.append(strides[-1] * max(n, 1))
    return tuple(reversed(strides))


# %% wrong="each stride is the next size" says=["row_major_strides((2, 3, 4))", "got (3, 4, 1)"]
def row_major_strides(size):
    return tuple(size[1:]) + (1,) if len(size) else ()


# %% right="a product for each dimension"
def row_major_strides(size):
    import math

    return tuple(math.prod(max(n, 1) for n in size[d + 1 :]) for d in range(len(size)))


# %% right="accumulate, as a list"
def row_major_strides(size):
    from itertools import accumulate
    from operator import mul

    if not size:
        return []
    return list(accumulate([1, *(n or 1 for n in size[:0:-1])], mul))[::-1]
