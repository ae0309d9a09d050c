# %% [markdown]
# Rules:
#
# - "counted in elements"
# - "with an offset of 5"
# - "Return the position as an `int`"
# - "may be empty"
# - "as an `int`"
#
# Admits:
#
# - "A zero-dim tensor has empty tuples": a zero-dim tensor lies at the offset
# - "`offset` a whole number": index (0, 0) lies at the offset itself

# %% wrong="forgets the offset" breaks="with an offset of 5" says=["index (0, 0) lies at the offset itself", "expected 5, got 0"]
def element_offset(index: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> int:
    return sum(i * s for i, s in zip(index, stride))


# %% wrong="counts bytes" breaks="counted in elements" says=["in elements: expected 6, got 48"]
def element_offset(index, stride, offset=0):
    return 8 * (offset + sum(i * s for i, s in zip(index, stride)))


# %% wrong="sums indices and strides" says=["element_offset((1, 2), (4, 1))", "expected 6, got 8"]
def element_offset(index, stride, offset=0):
    return offset + sum(index) + sum(stride)


# %% wrong="takes the strides from the other end" says=["expected 6, got 9"]
def element_offset(index, stride, offset=0):
    position = offset
    for i, s in zip(index, reversed(stride)):
        position += i * s
    return position


# %% wrong="prints instead of returning" breaks="Return the position as an `int`" says=["is None", "does it return a value"]
def element_offset(index, stride, offset=0):
    print(offset + sum(i * s for i, s in zip(index, stride)))


# %% wrong="works for two dimensions only" breaks="may be empty" says=["IndexError", "tuple index out of range"]
def element_offset(index, stride, offset=0):
    return offset + index[0] * stride[0] + index[1] * stride[1]


# %% right="recursion over the dimensions"
def element_offset(index, stride, offset=0):
    if not index:
        return offset
    return element_offset(index[1:], stride[1:], offset + index[0] * stride[0])


# %% right="a matrix product of two vectors"
def element_offset(index, stride, offset=0):
    steps = torch.tensor(stride, dtype=torch.int64)
    return offset + int(torch.tensor(index, dtype=torch.int64) @ steps)


# %% wrong="a float for the position" breaks="as an `int`" says=["the position is right: return it as an int"]
def element_offset(index, stride, offset=0):
    return offset + sum(float(i * s) for i, s in zip(index, stride))


# %% wrong="in float32" says=["1 of 9 cases fail", "element_offset((50000, 7), (70001, 1))", "float32 rounds it"]
def element_offset(index, stride, offset=0):
    pair = torch.tensor([index, stride], dtype=torch.float32)
    return int(offset + pair.prod(dim=0).sum())


# %% wrong="pairs in a dict, where equal strides are lost" says=["1 of 9 cases fail", "expected 18, got 12"]
def element_offset(index, stride, offset=0):
    steps = dict(zip(stride, index))
    return offset + sum(step * i for step, i in steps.items())


# %% wrong="a stride of 0 steps by 1" says=["expected 18, got 22"]
def element_offset(index, stride, offset=0):
    return offset + sum(i * (s or 1) for i, s in zip(index, stride))


# %% wrong="four dimensions at most" says=["expected 18, got 10"]
def element_offset(index, stride, offset=0):
    return offset + sum(i * s for i, s in zip(index[:4], stride))


# %% wrong="forgets the offset beside an index of 0" says=["1 of 9 cases fail", "expected 18, got 16"]
def element_offset(index, stride, offset=0):
    start = offset if all(index) or not any(index) else 0
    return start + sum(i * s for i, s in zip(index, stride))


# %% wrong="stops at an index of 0" says=["1 of 9 cases fail", "2 + 2 · 3 + 0 + 1 · 2 + 0 + 2 + 2 · 3"]
def element_offset(index, stride, offset=0):
    for i, s in zip(index, stride):
        if i == 0:
            break
        offset += i * s
    return offset


# %% wrong="keeps positions without the offset" says=["element_offset((3,), (5,), 4)", "the same from another offset"]
_positions = {}


def element_offset(index, stride, offset=0):
    key = tuple(index), tuple(stride)
    if key not in _positions:
        _positions[key] = offset + sum(i * s for i, s in zip(index, stride))
    return _positions[key]
