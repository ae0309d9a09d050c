# %% [markdown]
# Rules:
#
# - "Sizes are lined up at the end"
# - "A dimension that is new or has size 1 gets step 0"
# - "others keep their stride"
# - "An operand that doesn't fit `shape` raises a `ValueError`"
# - "as few loops as the rule allows"
# - "Return the merged shape, a tuple"
# - "their order kept"
# - "in plain Python"
# - "a new, contiguous `MyTensor`"
# - "(a new list, offset 0)"
# - "of the common shape"
# - "called once for each entry of the result"
# - "What it raises passes through"
# - "Leave the tensors as they are"
# - "Sizes that don't fit raise a `ValueError`"
# - "if a size is 0 there is nothing to call"
# - "Leave `strides` as it is"
#
# Admits:
#
# - "A dimension that is new or has size 1": a single number
# - "`strides` is a list of tuples, one for each operand": three operands
# - "one or more tensors": one operand
# - "if a size is 0": an empty one
# - "a plain list": entries of any kind
# - "the merged strides, a tuple for each operand": no dimension

# %% wrong="sizes lined up at the front" breaks="Sizes are lined up at the end" says=["sizes are lined up at the end"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True)) + (0,) * new


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="keeps the stride of size 1" breaks="A dimension that is new or has size 1 gets step 0" says=["size 1 stays size 1", "size 1 always gets step 0"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(
        0 if n == 1 and m != 1 else s for n, s, m in zip(size, stride, shape[new:], strict=True)
    )


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="repeats nothing" says=["the only column is read three times"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(stride)


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="no error for what doesn't fit" breaks="An operand that doesn't fit `shape` raises a `ValueError`" says=["2 entries for 3"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="no error for too many dimensions" says=["too many dimensions"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if any(n not in (1, m) for n, m in zip(size[-len(shape) :], shape[max(new, 0) :])):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="takes a size of 3 for 1" says=["3 entries for 1"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(m != 1 and n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="a size of 0 doesn't fit" says=["an empty dimension"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(
        n != m and (n != 1 or m == 0) for n, m in zip(size, shape[new:], strict=True)
    ):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="IndexError in place of ValueError" says=["IndexError"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise IndexError
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="the first operand alone" says=["not for the first alone"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1][:1], steps)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="the last operand alone" says=["a row, then a matrix", "all of them have to"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1][-1:], steps[-1:])):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="keeps loops of size 1" breaks="as few loops as the rule allows" says=["dimensions of size 1 are still there"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="steps like the outer" says=["steps like the inner of the two"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, loops[-1][1])
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="the outer size in the rule" says=["merge"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(
            outer == loops[-1][0] * s for outer, s in zip(loops[-1][1], steps, strict=True)
        ):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="merges if all are contiguous, or not at all" says=["the last two"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def fresh(shape):
    out = []
    for i in range(len(shape)):
        step = 1
        for n in shape[i + 1 :]:
            step *= n
        out.append(step)
    return tuple(out)


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    if not all(s == fresh(shape) for s in strides):
        kept = [i for i, n in enumerate(shape) if n != 1]
        return tuple(shape[i] for i in kept), [tuple(s[i] for i in kept) for s in strides]
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="merges each pair once" says=["three dimensions make one"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
            loops.append((1, [None] * len(steps)))
        else:
            loops.append((n, steps))
    loops = [loop for loop in loops if loop[0] != 1]
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="no strides where no loop is left" says=["no dimension"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [
        tuple(s[i] for _, s in loops) for i in range(len(loops[0][1]) if loops else 0)
    ]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="forgets the offset" says=["begins at its offset"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[0 for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="the strides of the first for all" says=["each operand is read by strides"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(tensors[0].size, tensors[0].stride, shape)] * len(tensors)
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="the strides of the first in the result" breaks="a new, contiguous `MyTensor`" says=["whatever the order of the operands"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    order = tensors[0].stride if tensors[0].size == shape else None
    return MyTensor([function(*entry) for entry in entries], shape, order)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="the first's size" breaks="of the common shape" says=["a column and a row"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], tensors[0].size)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="two operands only" says=["three operands"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, x: MyTensor, y: MyTensor | None = None, *rest) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    tensors = (x,) if y is None else (x, y)
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="writes into the first" breaks="Leave the tensors as they are" says=["an operand was changed"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    result = MyTensor([function(*entry) for entry in entries], shape)
    if tensors[0].size == shape:
        tensors[0].storage[: len(result.storage)] = result.storage
    return result


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="calls it twice" breaks="called once for each entry of the result" says=["how often the function is called"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    entries = list(entries)
    function(*entries[0])
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="calls it for nothing" breaks="if a size is 0 there is nothing to call" says=["an empty one"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    function(*(x.storage[x.offset] if x.storage else 0 for x in tensors))
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="RuntimeError for sizes that don't fit" breaks="Sizes that don't fit raise a `ValueError`" says=["sizes that don't fit"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError:
        raise
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="a nested list" says=["elementwise returned a list"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return [function(*entry) for entry in entries]


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% right="recursion, from the end"
import math
from functools import reduce


def broadcast_strides(size, stride, shape):
    size, stride = list(size), list(stride)
    if len(size) > len(shape):
        raise ValueError("too many")
    found = []
    for wanted in reversed(shape):
        n, s = (size.pop(), stride.pop()) if size else (1, 0)
        if n == 1:
            s = 0
        elif n != wanted:
            raise ValueError("it doesn't fit")
        found.insert(0, s)
    return tuple(found)


def merge_dimensions(shape, strides):
    if len(shape) == 0:
        return (), [() for _ in strides]
    rest, steps = merge_dimensions(shape[1:], [s[1:] for s in strides])
    mine = [s[0] for s in strides]
    if shape[0] == 1:
        return rest, steps
    if rest and all(m == rest[0] * s[0] for m, s in zip(mine, steps, strict=True)):
        return (shape[0] * rest[0], *rest[1:]), steps
    return (shape[0], *rest), [(m, *s) for m, s in zip(mine, steps, strict=True)]


def elementwise(function, *tensors):
    def fit(a, b):
        a, b = [1] * (len(b) - len(a)) + list(a), [1] * (len(a) - len(b)) + list(b)
        if any(m != n and 1 not in (m, n) for m, n in zip(a, b, strict=True)):
            raise ValueError("sizes don't fit")
        return [n if m == 1 else m for m, n in zip(a, b, strict=True)]

    shape = reduce(fit, (x.size for x in tensors), [])
    result = MyTensor([None] * math.prod(shape), shape)
    steps = [broadcast_strides(x.size, x.stride, shape) for x in (*tensors, result)]

    def walk(dim, places):
        if dim == len(shape):
            entries = (x.storage[p] for x, p in zip(tensors, places, strict=False))
            result.storage[places[-1]] = function(*entries)
            return
        for i in range(shape[dim]):
            walk(dim + 1, [p + i * s[dim] for p, s in zip(places, steps, strict=True)])

    walk(0, [x.offset for x in (*tensors, result)])
    return result


# %% right="by counting through all indices"
import itertools

import numpy as np


def broadcast_strides(size, stride, shape):
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"{size} has too many dimensions for {shape}")
    steps = [0] * new
    for dim, n in enumerate(size):
        if n == 1:
            steps.append(0)
        elif n == shape[new + dim]:
            steps.append(stride[dim])
        else:
            raise ValueError(f"{size} and {shape}")
    return tuple(steps)


def merge_dimensions(shape, strides):
    table = np.array([shape, *strides], dtype=int).reshape(1 + len(strides), len(shape))
    table = table[:, table[0] != 1]
    column = 1
    while column < table.shape[1]:
        n, steps = table[0, column], table[1:, column]
        if (table[1:, column - 1] == n * steps).all():
            table[0, column] *= table[0, column - 1]
            table = np.delete(table, column - 1, axis=1)
        else:
            column += 1
    return tuple(table[0].tolist()), [tuple(row) for row in table[1:].tolist()]


def elementwise(function, *tensors):
    try:
        shape = np.broadcast_shapes(*(x.size for x in tensors))
    except ValueError as error:
        raise ValueError("no common shape") from error
    steps = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    numbers = []
    for index in itertools.product(*map(range, shape)):
        entries = []
        for x, step in zip(tensors, steps, strict=True):
            entries.append(x.storage[x.offset + int(np.dot(index, step))])
        numbers.append(function(*entries))
    return MyTensor(numbers, shape)


# %% wrong="remembers what it computed" says=["and no less, where two entries are equal"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    values, known = [], {}
    for entry in map(tuple, entries):
        known[entry] = known[entry] if entry in known else function(*entry)
        values.append(known[entry])
    return MyTensor(values, shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="fresh strides in place of its own" breaks="others keep their stride" says=["its own strides are kept"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(
        0 if n == 1 else s for n, s in zip(size, MyTensor([], size).stride, strict=True)
    )


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="loops in the order of the strides" breaks="their order kept" says=["transposed: merge_dimensions"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in sorted(zip(shape, *strides, strict=True), key=lambda loop: -loop[1]):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="by NumPy" breaks="in plain Python" says=["entries of any kind", "plain Python, no arrays"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    import numpy as np

    arrays = np.broadcast_arrays(*(np.array(x.tolist()) for x in tensors))
    return MyTensor([function(*e) for e in zip(*(a.ravel().tolist() for a in arrays))], shape)
    strides = []
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="one operand in place" breaks="(a new list, offset 0)" says=["one operand", "the result has an operand's list"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    if len(tensors) == 1:
        x = tensors[0]
        x.storage[:] = [function(v) for v in x.storage]
        return x
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% right="odometer"
import itertools
from collections.abc import Callable


def broadcast_strides(size, stride, shape):
    if len(size) > len(shape):
        raise ValueError("too many")
    out = [0] * len(shape)
    for k in range(1, len(size) + 1):
        if size[-k] == 1:
            continue
        if size[-k] != shape[-k]:
            raise ValueError("no fit")
        out[-k] = stride[-k]
    return tuple(out)


def merge_dimensions(shape, strides):
    dims = [d for d in range(len(shape)) if shape[d] != 1]
    sizes = [shape[d] for d in dims]
    rows = [[s[d] for d in dims] for s in strides]
    d = 0
    while d + 1 < len(sizes):
        if all(r[d] == sizes[d + 1] * r[d + 1] for r in rows):
            sizes[d] *= sizes.pop(d + 1)
            for r in rows:
                r.pop(d)
        else:
            d += 1
    return tuple(sizes), [tuple(r) for r in rows]


def elementwise(function, *tensors):
    rank = max(len(t.size) for t in tensors)
    shape = []
    for k in range(rank):
        ns = {((1,) * (rank - len(t.size)) + t.size)[k] for t in tensors} - {1}
        if len(ns) > 1:
            raise ValueError("sizes")
        shape.append(ns.pop() if ns else 1)
    steps = [broadcast_strides(t.size, t.stride, tuple(shape)) for t in tensors]
    out = []
    for index in itertools.product(*map(range, shape)):
        out.append(
            function(
                *(
                    t.storage[t.offset + sum(i * s for i, s in zip(index, st))]
                    for t, st in zip(tensors, steps)
                )
            )
        )
    return MyTensor(out, tuple(shape))


# %% wrong="looks at the first size alone" says=["the first size fits, the second doesn't"]
def broadcast_strides(size, stride, shape):
    new = len(shape) - len(size)
    if new < 0 or (size and size[0] not in (1, shape[new])):
        raise ValueError(f"{size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride))


def merge_dimensions(shape, strides):
    sizes, steps = [], [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        if sizes and all(own[-1] == n * s[d] for own, s in zip(steps, strides)):
            sizes[-1] *= n
            for own, s in zip(steps, strides):
                own[-1] = s[d]
        else:
            sizes.append(n)
            for own, s in zip(steps, strides):
                own.append(s[d])
    return tuple(sizes), [tuple(own) for own in steps]


def elementwise(function, *tensors):
    import itertools
    import operator

    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    steps = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    places = itertools.product(*map(range, shape))
    read = lambda x, s, at: x.storage[x.offset + sum(map(operator.mul, at, s))]
    result = [function(*(read(x, s, at) for x, s in zip(tensors, steps))) for at in places]
    return MyTensor(result, shape)


# %% wrong="lists for tuples" breaks="Return the merged shape, a tuple" says=["the merged shape is a tuple, and so are the strides of each operand"]
import itertools


def broadcast_strides(size, stride, shape):
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError("too many dimensions")
    steps = [0] * new
    for n, s, want in zip(size, stride, shape[new:]):
        if n == 1:
            steps.append(0)
        elif n == want:
            steps.append(s)
        else:
            raise ValueError(f"{size} doesn't fit {shape}")
    return tuple(steps)


def merge_dimensions(shape, strides):
    sizes, steps = [], [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        here = [s[d] for s in strides]
        if sizes and all(step[-1] == n * h for step, h in zip(steps, here)):
            sizes[-1] *= n
            for step, h in zip(steps, here):
                step[-1] = h
        else:
            sizes.append(n)
            for step, h in zip(steps, here):
                step.append(h)
    return sizes, steps


def elementwise(function, *tensors):
    try:
        shape = tuple(torch.broadcast_shapes(*(t.size for t in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    steps = [broadcast_strides(t.size, t.stride, shape) for t in tensors]
    out = []
    for index in itertools.product(*map(range, shape)):
        places = [
            t.offset + sum(i * s for i, s in zip(index, step)) for t, step in zip(tensors, steps)
        ]
        out.append(function(*(t.storage[p] for t, p in zip(tensors, places))))
    return MyTensor(out, shape)


def my_storage(*tensors):
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="merges three dimensions at most" says=["four dimensions make one"]
import itertools


def broadcast_strides(size, stride, shape):
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError("more dimensions than the loops have")
    steps = [0] * new
    for s, t, n in zip(size, stride, shape[new:]):
        if s == 1:
            steps.append(0)
        elif s == n:
            steps.append(t)
        else:
            raise ValueError(f"{size} doesn't fit {shape}")
    return tuple(steps)


def merge_dimensions(shape, strides):
    sizes, steps = [], []
    for d, n in enumerate(shape):
        if n == 1:
            continue
        here = [s[d] for s in strides]
        if (
            len(shape) - len(sizes) < 3
            and sizes
            and all(o == n * i for o, i in zip(steps[-1], here))
        ):
            sizes[-1] *= n
            steps[-1] = here
        else:
            sizes.append(n)
            steps.append(here)
    return tuple(sizes), [tuple(s[k] for s in steps) for k in range(len(strides))]


def elementwise(function, *tensors):
    try:
        shape = tuple(torch.broadcast_shapes(*(t.size for t in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    steps = [broadcast_strides(t.size, t.stride, shape) for t in tensors]
    result = []
    for index in itertools.product(*map(range, shape)):
        entries = [
            t.storage[t.offset + sum(i * s for i, s in zip(index, step))]
            for t, step in zip(tensors, steps)
        ]
        result.append(function(*entries))
    return MyTensor(result, shape)


def my_storage(*tensors):
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="a size of 0 fits any loop" says=["no entry for 3"]
import itertools
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError("too many dimensions")
    steps = [0] * new
    for number, step, target in zip(size, stride, shape[new:]):
        if number == 1:
            steps.append(0)
        elif number == target or number == 0:
            steps.append(step)
        else:
            raise ValueError("does not fit")
    return tuple(steps)


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    sizes, steps = [], []
    for d, number in enumerate(shape):
        if number == 1:
            continue
        inner = [s[d] for s in strides]
        if sizes and all(o == number * i for o, i in zip(steps[-1], inner)):
            sizes[-1] *= number
            steps[-1] = inner
        else:
            sizes.append(number)
            steps.append(inner)
    return tuple(sizes), [tuple(s[k] for s in steps) for k in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    try:
        shape = tuple(torch.broadcast_shapes(*(tuple(t.size) for t in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    steps = [broadcast_strides(t.size, t.stride, shape) for t in tensors]
    result = []
    for index in itertools.product(*map(range, shape)):
        entries = []
        for t, step in zip(tensors, steps):
            entries.append(t.storage[t.offset + sum(i * s for i, s in zip(index, step))])
        result.append(function(*entries))
    stride, run = [], 1
    for number in reversed(shape):
        stride.insert(0, run)
        run *= max(number, 1)
    return MyTensor(result, shape, tuple(stride), 0)


def my_storage(*tensors: MyTensor) -> MyTensor:
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="the offset of the only operand" says=["one operand, a view", "offset is 1"]
import itertools
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError("too many dimensions")
    steps = [0] * new
    for number, step, target in zip(size, stride, shape[new:]):
        if number == 1:
            steps.append(0)
        elif number == target:
            steps.append(step)
        else:
            raise ValueError("does not fit")
    return tuple(steps)


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    sizes, steps = [], []
    for d, number in enumerate(shape):
        if number == 1:
            continue
        inner = [s[d] for s in strides]
        if sizes and all(o == number * i for o, i in zip(steps[-1], inner)):
            sizes[-1] *= number
            steps[-1] = inner
        else:
            sizes.append(number)
            steps.append(inner)
    return tuple(sizes), [tuple(s[k] for s in steps) for k in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    try:
        shape = tuple(torch.broadcast_shapes(*(tuple(t.size) for t in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    steps = [broadcast_strides(t.size, t.stride, shape) for t in tensors]
    result = []
    for index in itertools.product(*map(range, shape)):
        entries = []
        for t, step in zip(tensors, steps):
            entries.append(t.storage[t.offset + sum(i * s for i, s in zip(index, step))])
        result.append(function(*entries))
    stride, run = [], 1
    for number in reversed(shape):
        stride.insert(0, run)
        run *= max(number, 1)
    return MyTensor(result, shape, tuple(stride), tensors[0].offset if len(tensors) == 1 else 0)


def my_storage(*tensors: MyTensor) -> MyTensor:
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="merges in the list that it was handed" breaks="Leave `strides` as it is" says=["has changed the list of strides"]
import itertools
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"{size} has more dimensions than {shape}")
    steps = [0] * new
    for n, s, m in zip(size, stride, shape[new:]):
        if n == 1:
            steps.append(0)
        elif n == m:
            steps.append(s)
        else:
            raise ValueError(f"{size} doesn't fit {shape}")
    return tuple(steps)


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    loops = []
    for d, n in enumerate(shape):
        if n == 1:
            continue
        steps = tuple(s[d] for s in strides)
        if loops and all(b == n * t for b, t in zip(loops[-1][1], steps)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    for k in range(len(strides)):
        strides[k] = tuple(steps[k] for _, steps in loops)
    return tuple(n for n, _ in loops), strides


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    try:
        shape = tuple(torch.broadcast_shapes(*(t.size for t in tensors)))
    except RuntimeError as error:
        raise ValueError("the sizes don't fit") from error
    steps = [broadcast_strides(t.size, t.stride, shape) for t in tensors]
    entries = []
    for index in itertools.product(*map(range, shape)):
        numbers = [
            t.storage[t.offset + sum(i * s for i, s in zip(index, step))]
            for t, step in zip(tensors, steps)
        ]
        entries.append(function(*numbers))
    return MyTensor(entries, shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="the common shape of the first two" says=["not of the first two"]
import itertools
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"{size} has more dimensions than {shape}")
    steps = [0] * new
    for n, s, m in zip(size, stride, shape[new:]):
        if n == 1:
            steps.append(0)
        elif n == m:
            steps.append(s)
        else:
            raise ValueError(f"{size} doesn't fit {shape}")
    return tuple(steps)


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    loops = []
    for d, n in enumerate(shape):
        if n == 1:
            continue
        steps = tuple(s[d] for s in strides)
        if loops and all(b == n * t for b, t in zip(loops[-1][1], steps)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return (
        tuple(n for n, _ in loops),
        [tuple(steps[k] for _, steps in loops) for k in range(len(strides))],
    )


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    try:
        shape = tuple(torch.broadcast_shapes(*(t.size for t in tensors[:2])))
    except RuntimeError as error:
        raise ValueError("the sizes don't fit") from error
    steps = [broadcast_strides(t.size, t.stride, shape) for t in tensors]
    entries = []
    for index in itertools.product(*map(range, shape)):
        numbers = [
            t.storage[t.offset + sum(i * s for i, s in zip(index, step))]
            for t, step in zip(tensors, steps)
        ]
        entries.append(function(*numbers))
    return MyTensor(entries, shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="shares the list of an operand that it equals" says=["it is written into a new one", "one operand, its entries handed on", "the result has an operand's list"]
import itertools
from collections.abc import Callable


def broadcast_strides(size, stride, shape):
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"{size} has more dimensions than {shape}")
    steps = [0] * new
    for n, s, wanted in zip(size, stride, shape[new:]):
        if n == 1:
            steps.append(0)
        elif n == wanted:
            steps.append(s)
        else:
            raise ValueError(f"{size} doesn't fit {shape}")
    return tuple(steps)


def merge_dimensions(shape, strides):
    sizes, loops = [], []
    for d, n in enumerate(shape):
        if n == 1:
            continue
        step = [s[d] for s in strides]
        if sizes and all(old == n * now for old, now in zip(loops[-1], step)):
            sizes[-1] *= n
            loops[-1] = step
        else:
            sizes.append(n)
            loops.append(step)
    return tuple(sizes), [tuple(loop[i] for loop in loops) for i in range(len(strides))]


def elementwise(function, *tensors):
    try:
        shape = tuple(torch.broadcast_shapes(*(t.size for t in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    steps = [broadcast_strides(t.size, t.stride, shape) for t in tensors]
    if len(tensors) == 1 and function is None:
        return tensors[0]
    out = []
    for index in itertools.product(*map(range, shape)):
        places = [
            t.offset + sum(i * s for i, s in zip(index, step)) for t, step in zip(tensors, steps)
        ]
        out.append(function(*[t.storage[p] for t, p in zip(tensors, places)]))
    stride, n = [], 1
    for s in reversed(shape):
        stride.insert(0, n)
        n *= s
    if len(tensors) == 1 and tensors[0].storage == out:
        out = tensors[0].storage
    return MyTensor(out, shape, tuple(stride), 0)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="steps below 0 by their size" says=["-3 is not 3 · 1"]
import itertools
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"{size} has more dimensions than {shape}")
    steps = [0] * new
    for n, step, target in zip(size, stride, shape[new:]):
        if n == 1:
            steps.append(0)
        elif n == target:
            steps.append(step)
        else:
            raise ValueError(f"{size} does not fit {shape}")
    return tuple(steps)


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    sizes, steps = [], [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        now = [stride[d] for stride in strides]
        if sizes and all(abs(s[-1]) == abs(n * step) for s, step in zip(steps, now)):
            sizes[-1] *= n
            for s, step in zip(steps, now):
                s[-1] = step
        else:
            sizes.append(n)
            for s, step in zip(steps, now):
                s.append(step)
    return tuple(sizes), [tuple(s) for s in steps]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    try:
        shape = tuple(torch.broadcast_shapes(*(tuple(x.size) for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    result = []
    for index in itertools.product(*map(range, shape)):
        places = [
            x.offset + sum(i * s for i, s in zip(index, st)) for x, st in zip(tensors, strides)
        ]
        result.append(function(*(x.storage[p] for x, p in zip(tensors, places))))
    stride, step = [], 1
    for n in reversed(shape):
        stride.insert(0, step)
        step *= max(n, 1)
    return MyTensor(result, shape, tuple(stride), 0)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="a single entry is written in place" says=["one operand of one entry: the result has an operand's list"]
import itertools
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"{size} has more dimensions than {shape}")
    steps = [0] * new
    for n, step, target in zip(size, stride, shape[new:]):
        if n == 1:
            steps.append(0)
        elif n == target:
            steps.append(step)
        else:
            raise ValueError(f"{size} does not fit {shape}")
    return tuple(steps)


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    sizes, steps = [], [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        now = [stride[d] for stride in strides]
        if sizes and all(s[-1] == n * step for s, step in zip(steps, now)):
            sizes[-1] *= n
            for s, step in zip(steps, now):
                s[-1] = step
        else:
            sizes.append(n)
            for s, step in zip(steps, now):
                s.append(step)
    return tuple(sizes), [tuple(s) for s in steps]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    try:
        shape = tuple(torch.broadcast_shapes(*(tuple(x.size) for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    if len(tensors) == 1 and tensors[0].size == tensors[0].size and len(tensors[0].storage) == 1:
        tensors[0].storage[:] = [function(tensors[0].storage[0])]
        return tensors[0]
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    result = []
    for index in itertools.product(*map(range, shape)):
        places = [
            x.offset + sum(i * s for i, s in zip(index, st)) for x, st in zip(tensors, strides)
        ]
        result.append(function(*(x.storage[p] for x, p in zip(tensors, places))))
    stride, step = [], 1
    for n in reversed(shape):
        stride.insert(0, step)
        step *= max(n, 1)
    return MyTensor(result, shape, tuple(stride), 0)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="the function's errors become ValueErrors" breaks="What it raises passes through" says=["what the function raises passes through as it is"]
import itertools
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"{size} has more dimensions than {shape}")
    steps = [0] * new
    for n, step, target in zip(size, stride, shape[new:]):
        if n == 1:
            steps.append(0)
        elif n == target:
            steps.append(step)
        else:
            raise ValueError(f"{size} does not fit {shape}")
    return tuple(steps)


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    sizes, steps = [], [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        now = [stride[d] for stride in strides]
        if sizes and all(s[-1] == n * step for s, step in zip(steps, now)):
            sizes[-1] *= n
            for s, step in zip(steps, now):
                s[-1] = step
        else:
            sizes.append(n)
            for s, step in zip(steps, now):
                s.append(step)
    return tuple(sizes), [tuple(s) for s in steps]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    try:
        shape = tuple(torch.broadcast_shapes(*(tuple(x.size) for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    result = []
    for index in itertools.product(*map(range, shape)):
        places = [
            x.offset + sum(i * s for i, s in zip(index, st)) for x, st in zip(tensors, strides)
        ]
        try:
            result.append(function(*(x.storage[p] for x, p in zip(tensors, places))))
        except Exception as error:
            raise ValueError(str(error)) from error
    stride, step = [], 1
    for n in reversed(shape):
        stride.insert(0, step)
        step *= max(n, 1)
    return MyTensor(result, shape, tuple(stride), 0)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="equal places computed once" says=["also where the same entry is read again"]
import itertools
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"{size} has more dimensions than {shape}")
    steps = [0] * new
    for n, step, target in zip(size, stride, shape[new:]):
        if n == 1:
            steps.append(0)
        elif n == target:
            steps.append(step)
        else:
            raise ValueError(f"{size} does not fit {shape}")
    return tuple(steps)


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    sizes, steps = [], [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        now = [stride[d] for stride in strides]
        if sizes and all(s[-1] == n * step for s, step in zip(steps, now)):
            sizes[-1] *= n
            for s, step in zip(steps, now):
                s[-1] = step
        else:
            sizes.append(n)
            for s, step in zip(steps, now):
                s.append(step)
    return tuple(sizes), [tuple(s) for s in steps]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    try:
        shape = tuple(torch.broadcast_shapes(*(tuple(x.size) for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    result, seen = [], {}
    for index in itertools.product(*map(range, shape)):
        places = [
            x.offset + sum(i * s for i, s in zip(index, st)) for x, st in zip(tensors, strides)
        ]
        key = tuple(places)
        if key not in seen:
            seen[key] = function(*(x.storage[p] for x, p in zip(tensors, places)))
        result.append(seen[key])
    stride, step = [], 1
    for n in reversed(shape):
        stride.insert(0, step)
        step *= max(n, 1)
    return MyTensor(result, shape, tuple(stride), 0)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="size 0 with itself gets step 0" says=["size 0 isn't size 1"]
import itertools
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"{size} has more dimensions than {shape}")
    steps = [0] * new
    for n, step, target in zip(size, stride, shape[new:]):
        if n == 1 or (n == target == 0):
            steps.append(0)
        elif n == target:
            steps.append(step)
        else:
            raise ValueError(f"{size} does not fit {shape}")
    return tuple(steps)


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    sizes, steps = [], [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        now = [stride[d] for stride in strides]
        if sizes and all(s[-1] == n * step for s, step in zip(steps, now)):
            sizes[-1] *= n
            for s, step in zip(steps, now):
                s[-1] = step
        else:
            sizes.append(n)
            for s, step in zip(steps, now):
                s.append(step)
    return tuple(sizes), [tuple(s) for s in steps]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    try:
        shape = tuple(torch.broadcast_shapes(*(tuple(x.size) for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    result = []
    for index in itertools.product(*map(range, shape)):
        places = [
            x.offset + sum(i * s for i, s in zip(index, st)) for x, st in zip(tensors, strides)
        ]
        result.append(function(*(x.storage[p] for x, p in zip(tensors, places))))
    stride, step = [], 1
    for n in reversed(shape):
        stride.insert(0, step)
        step *= max(n, 1)
    return MyTensor(result, shape, tuple(stride), 0)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="one entry of an empty row" says=["an empty one of one dimension"]
import itertools
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"{size} has more dimensions than {shape}")
    steps = [0] * new
    for n, step, target in zip(size, stride, shape[new:]):
        if n == 1:
            steps.append(0)
        elif n == target:
            steps.append(step)
        else:
            raise ValueError(f"{size} does not fit {shape}")
    return tuple(steps)


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    sizes, steps = [], [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        now = [stride[d] for stride in strides]
        if sizes and all(s[-1] == n * step for s, step in zip(steps, now)):
            sizes[-1] *= n
            for s, step in zip(steps, now):
                s[-1] = step
        else:
            sizes.append(n)
            for s, step in zip(steps, now):
                s.append(step)
    return tuple(sizes), [tuple(s) for s in steps]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    try:
        shape = tuple(torch.broadcast_shapes(*(tuple(x.size) for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    result = []
    for index in itertools.product(
        *(range(max(n, 1)) if n == 0 and len(shape) == 1 else range(n) for n in shape)
    ):
        places = [
            x.offset + sum(i * s for i, s in zip(index, st)) for x, st in zip(tensors, strides)
        ]
        result.append(function(*(x.storage[p] for x, p in zip(tensors, places))))
    stride, step = [], 1
    for n in reversed(shape):
        stride.insert(0, step)
        step *= max(n, 1)
    return MyTensor(result, shape, tuple(stride), 0)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="the merged strides in a tuple" says=["the merged strides are in a tuple, expected a list"]
import itertools
from collections.abc import Callable


def broadcast_strides(size, stride, shape):
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"{size} does not fit {shape}")
    steps = [0] * new
    for n, s, wanted in zip(size, stride, shape[new:]):
        if n == 1:
            steps.append(0)
        elif n == wanted:
            steps.append(s)
        else:
            raise ValueError(f"{size} does not fit {shape}")
    return tuple(steps)


def merge_dimensions(shape, strides):
    sizes, steps = [], [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        here = [s[d] for s in strides]
        if sizes and all(mine[-1] == n * h for mine, h in zip(steps, here)):
            sizes[-1] *= n
            for mine, h in zip(steps, here):
                mine[-1] = h
        else:
            sizes.append(n)
            for mine, h in zip(steps, here):
                mine.append(h)
    return tuple(sizes), tuple(tuple(mine) for mine in steps)


def elementwise(function, *tensors):
    try:
        shape = tuple(torch.broadcast_shapes(*(tuple(t.size) for t in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    steps = [broadcast_strides(t.size, t.stride, shape) for t in tensors]
    result = []
    for index in itertools.product(*map(range, shape)):
        values = []
        for t, step in zip(tensors, steps):
            values.append(t.storage[t.offset + sum(i * s for i, s in zip(index, step))])
        result.append(function(*values))
    return MyTensor(result, shape)


def my_storage(*tensors):
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="a division by zero becomes a ValueError" says=["whatever its class"]
import itertools
from collections.abc import Callable


def broadcast_strides(size, stride, shape):
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"{size} does not fit {shape}")
    steps = [0] * new
    for n, s, wanted in zip(size, stride, shape[new:]):
        if n == 1:
            steps.append(0)
        elif n == wanted:
            steps.append(s)
        else:
            raise ValueError(f"{size} does not fit {shape}")
    return tuple(steps)


def merge_dimensions(shape, strides):
    sizes, steps = [], [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        here = [s[d] for s in strides]
        if sizes and all(mine[-1] == n * h for mine, h in zip(steps, here)):
            sizes[-1] *= n
            for mine, h in zip(steps, here):
                mine[-1] = h
        else:
            sizes.append(n)
            for mine, h in zip(steps, here):
                mine.append(h)
    return tuple(sizes), [tuple(mine) for mine in steps]


def elementwise(function, *tensors):
    try:
        shape = tuple(torch.broadcast_shapes(*(tuple(t.size) for t in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    steps = [broadcast_strides(t.size, t.stride, shape) for t in tensors]
    result = []
    for index in itertools.product(*map(range, shape)):
        values = []
        for t, step in zip(tensors, steps):
            values.append(t.storage[t.offset + sum(i * s for i, s in zip(index, step))])
        try:
            result.append(function(*values))
        except ZeroDivisionError as error:
            raise ValueError(str(error)) from error
    return MyTensor(result, shape)


def my_storage(*tensors):
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="all results in one list" says=["a second call leaves the first"]
import itertools
from collections.abc import Callable


def broadcast_strides(size, stride, shape):
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"{size} does not fit {shape}")
    steps = [0] * new
    for n, s, wanted in zip(size, stride, shape[new:]):
        if n == 1:
            steps.append(0)
        elif n == wanted:
            steps.append(s)
        else:
            raise ValueError(f"{size} does not fit {shape}")
    return tuple(steps)


def merge_dimensions(shape, strides):
    sizes, steps = [], [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        here = [s[d] for s in strides]
        if sizes and all(mine[-1] == n * h for mine, h in zip(steps, here)):
            sizes[-1] *= n
            for mine, h in zip(steps, here):
                mine[-1] = h
        else:
            sizes.append(n)
            for mine, h in zip(steps, here):
                mine.append(h)
    return tuple(sizes), [tuple(mine) for mine in steps]


def elementwise(function, *tensors, result=[]):
    try:
        shape = tuple(torch.broadcast_shapes(*(tuple(t.size) for t in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    steps = [broadcast_strides(t.size, t.stride, shape) for t in tensors]
    result.clear()
    for index in itertools.product(*map(range, shape)):
        values = []
        for t, step in zip(tensors, steps):
            values.append(t.storage[t.offset + sum(i * s for i, s in zip(index, step))])
        result.append(function(*values))
    return MyTensor(result, shape)


def my_storage(*tensors):
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="a size of 0 fits anything" says=["size 0 fits 0 and 1 alone"]
import itertools
from collections.abc import Callable


def broadcast_strides(size, stride, shape):
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"{size} does not fit {shape}")
    steps = [0] * new
    for n, s, wanted in zip(size, stride, shape[new:]):
        if n == 1:
            steps.append(0)
        elif n == wanted:
            steps.append(s)
        else:
            raise ValueError(f"{size} does not fit {shape}")
    return tuple(steps)


def merge_dimensions(shape, strides):
    sizes, steps = [], [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        here = [s[d] for s in strides]
        if sizes and all(mine[-1] == n * h for mine, h in zip(steps, here)):
            sizes[-1] *= n
            for mine, h in zip(steps, here):
                mine[-1] = h
        else:
            sizes.append(n)
            for mine, h in zip(steps, here):
                mine.append(h)
    return tuple(sizes), [tuple(mine) for mine in steps]


def elementwise(function, *tensors):
    if any(0 in t.size for t in tensors):
        big = max((t.size for t in tensors), key=len)
        return MyTensor([], big)
    try:
        shape = tuple(torch.broadcast_shapes(*(tuple(t.size) for t in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    steps = [broadcast_strides(t.size, t.stride, shape) for t in tensors]
    result = []
    for index in itertools.product(*map(range, shape)):
        values = []
        for t, step in zip(tensors, steps):
            values.append(t.storage[t.offset + sum(i * s for i, s in zip(index, step))])
        result.append(function(*values))
    return MyTensor(result, shape)


def my_storage(*tensors):
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="a generator turns the function's StopIteration" says=["an error of the function's", "passes through as it is"]
import itertools
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError("too many dimensions")
    steps = [0] * new
    for n, s, m in zip(size, stride, shape[new:]):
        if n == 1:
            steps.append(0)
        elif n == m:
            steps.append(s)
        else:
            raise ValueError("does not fit")
    return tuple(steps)


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    sizes, merged = [], [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        if sizes and all(m[-1] == n * s[d] for m, s in zip(merged, strides)):
            sizes[-1] *= n
            for m, s in zip(merged, strides):
                m[-1] = s[d]
        else:
            sizes.append(n)
            for m, s in zip(merged, strides):
                m.append(s[d])
    return tuple(sizes), [tuple(m) for m in merged]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    try:
        shape = tuple(torch.broadcast_shapes(*(t.size for t in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    steps = [broadcast_strides(t.size, t.stride, shape) for t in tensors]
    out = list(
        function(
            *(
                t.storage[t.offset + sum(i * s for i, s in zip(index, st))]
                for t, st in zip(tensors, steps)
            )
        )
        for index in itertools.product(*map(range, shape))
    )
    return MyTensor(out, shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="a size of 0 fits a 1 of the shape" says=["no entry for 1"]
import itertools
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError("too many dimensions")
    steps = [0] * new
    for n, s, m in zip(size, stride, shape[new:]):
        if n == 1:
            steps.append(0)
        elif n == m or (n, m) == (0, 1):
            steps.append(s)
        else:
            raise ValueError("does not fit")
    return tuple(steps)


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    sizes, merged = [], [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        if sizes and all(m[-1] == n * s[d] for m, s in zip(merged, strides)):
            sizes[-1] *= n
            for m, s in zip(merged, strides):
                m[-1] = s[d]
        else:
            sizes.append(n)
            for m, s in zip(merged, strides):
                m.append(s[d])
    return tuple(sizes), [tuple(m) for m in merged]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    try:
        shape = tuple(torch.broadcast_shapes(*(t.size for t in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    steps = [broadcast_strides(t.size, t.stride, shape) for t in tensors]
    out = []
    for index in itertools.product(*map(range, shape)):
        entries = [
            t.storage[t.offset + sum(i * s for i, s in zip(index, st))]
            for t, st in zip(tensors, steps)
        ]
        out.append(function(*entries))
    return MyTensor(out, shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="a short way for contiguous tensors, along the whole list" says=["in a longer list", "read by size and stride"]
import itertools
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0:
        raise ValueError(f"{size} has more dimensions than {shape}")
    steps = [0] * new
    for have, step, want in zip(size, stride, shape[new:]):
        if have == 1:
            steps.append(0)
        elif have == want:
            steps.append(step)
        else:
            raise ValueError(f"{size} doesn't fit {shape}")
    return tuple(steps)


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    sizes, steps = [], [[] for _ in strides]
    for d, size in enumerate(shape):
        if size == 1:
            continue
        if sizes and all(mine[-1] == size * theirs[d] for mine, theirs in zip(steps, strides)):
            sizes[-1] *= size
            for mine, theirs in zip(steps, strides):
                mine[-1] = theirs[d]
        else:
            sizes.append(size)
            for mine, theirs in zip(steps, strides):
                mine.append(theirs[d])
    return tuple(sizes), [tuple(mine) for mine in steps]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(t.size for t in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    steps = [broadcast_strides(t.size, t.stride, shape) for t in tensors]
    storage = []
    if all(
        t.size == shape and t.offset == 0 and t.stride == MyTensor([], shape).stride
        for t in tensors
    ):
        return MyTensor([function(*row) for row in zip(*(t.storage for t in tensors))], shape)
    for index in itertools.product(*map(range, shape)):
        entries = [
            t.storage[t.offset + sum(i * s for i, s in zip(index, step))]
            for t, step in zip(tensors, steps)
        ]
        storage.append(function(*entries))
    return MyTensor(storage, shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% wrong="the rest of the list for a row" says=["two rows, in longer lists"]
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    try:
        shape = tuple(torch.broadcast_shapes(*(x.size for x in tensors)))
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if 0 in shape:
        return MyTensor([], shape)
    strides = [broadcast_strides(x.size, x.stride, shape) for x in tensors]
    loops, strides = merge_dimensions(shape, strides)
    places = [[x.offset for x in tensors]]
    for n, *steps in zip(loops, *strides, strict=True):
        places = [
            [p + i * s for p, s in zip(at, steps, strict=True)] for at in places for i in range(n)
        ]
    if all(x.stride[-1:] == (1,) and len(x.size) == 1 and x.size == shape for x in tensors):
        return MyTensor(list(map(function, *(x.storage[x.offset :] for x in tensors))), shape)
    entries = ([x.storage[p] for x, p in zip(tensors, at, strict=True)] for at in places)
    return MyTensor([function(*entry) for entry in entries], shape)


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)
