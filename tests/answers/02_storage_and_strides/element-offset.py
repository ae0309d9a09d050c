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
# - "A zero-dim tensor has empty tuples": element_offset((), (), 7)
# - "`offset` a whole number": element_offset((0, 0), (4, 1), 5)

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
