# ---
# jupyter:
#   course:
#     title: Storage and strides
#     minutes: 180
# ---

# %% [markdown]
# # Storage and strides: where are the numbers?
#
# A tensor looks like a grid. In memory there is no grid. There is one row of numbers, and a small
# note that says how to walk along it. Most of what puzzles people about `view`, `reshape`,
# `permute`, `expand` and `contiguous` is explained by that note.
#
# **After this chapter you can**
#
# - read a tensor's size, stride and offset, and say where in memory each element lies;
# - say which operations give a view and which make a copy, before you run them;
# - decide when a view is possible, with the rule that PyTorch itself uses;
# - build sliding windows and a diagonal without copying an element, and a convolution from one view
#   and one product;
# - find memory that a tiny slice keeps alive, and set it free;
# - tell `contiguous` and `channels_last` images apart by their strides.
#
# **It leans on** chapters 00 and 01: making, indexing and broadcasting tensors. **Time:** about 60
# minutes to read and run, two hours more with all twelve exercises. You can skip any exercise:
# nothing later depends on your answer.

# %% nbgrader={"grade_id": "setup", "locked": true}
import numpy as np
import torch
import torch.nn.functional as F
from course_utils import check_close, check_equal, check_predictions, check_shares_storage
from course_utils import count_operators, device, draw_storage, forbid_changes, forbid_copies, show

# %% [markdown]
# The layout of a tensor is the same on every device. So the small tensors of this chapter stay on
# the CPU; the checks also try your functions on `device`.
#
# ## A puzzle to start with
#
# A photo comes as (height, width, channel). The network wants (channel, height, width). Here are
# two ways to get there. **Predict:** are `a` and `b` equal?

# %%
photo = torch.arange(2 * 3 * 3).view(2, 3, 3)  # (height, width, channel)
a = photo.permute(2, 0, 1)
b = photo.view(3, 2, 3)
a.shape == b.shape, torch.equal(a, b)

# %% [markdown]
# The same shape, the same eighteen numbers, no error. Yet one of the two is the photo and the other
# is noise. To see which, and why, we have to know where the numbers are.

# %% [markdown]
# ## 1. One row of boxes, three numbers
#
# Here is a tensor of twelve numbers. Ask it for its **storage**: the memory that holds them.

# %% topics=["storage-vs-tensor"]
x = torch.arange(10, 22).view(3, 4)
print(x)
print(x.untyped_storage().nbytes(), "bytes =", x.numel(), "elements of", x.itemsize, "bytes")

# %% [markdown]
# A storage has no rows and no columns. It is a plain run of bytes. What makes it a 3 × 4 tensor is a
# note of three entries that the tensor carries, its *metadata*:

# %% topics=["stride-definition", "storage-offset"]
print("size  ", tuple(x.shape))
print("stride", x.stride())
print("offset", x.storage_offset())

# %% [markdown]
# The **stride** has one number for each dimension: how many elements of the storage to step over to
# get to the next entry along that dimension. The **offset** says in which box the first element
# lies. Both count elements, not bytes.
#
# Look at the picture. The boxes are the storage, with the values in them. Of the small numbers below,
# the grey ones count the boxes. The coloured ones give the reading order: 0 for the first element,
# then on along the rows. The arrows are the strides.

# %%
draw_storage(x, names=["x"], grid=True, colour_by=0)

# %% [markdown] topics=["stride-address-formula"]
# So the box of any element follows from its index:
#
# $$\text{position} = \text{offset} + \sum_d \text{index}_d \cdot \text{stride}_d$$
#
# Multiply by the element's size and you have the distance in bytes. That is all the arithmetic
# there is. **Predict** the position of `x[1, 2]`, then run.

# %% topics=["stride-address-formula"]
boxes = x.as_strided((12,), (1,))  # the storage, read as it lies
position = 0 + 1 * 4 + 2 * 1
position, boxes[position] == x[1, 2]

# %% [markdown]
# > **Then and now.** *"In a contiguous 2 × 2 tensor, element [0, 1] lies two positions from the
# > start."* Put it into the formula. The strides are (2, 1), so [0, 1] is one step away. It is
# > [1, 0] that is two steps away.

# %% errata=["stride-walk-wrong-index"]
small = torch.tensor([[1, 2], [3, 4]])
small.stride(), 0 * 2 + 1 * 1, 1 * 2 + 0 * 1

# %% [markdown]
# A word of caution about a word: the `stride` argument of a convolution is something else. It says
# how far a window moves over an image. The stride of this chapter belongs to a tensor.
#
# ### Change the note, keep the numbers
#
# Now the idea that carries the whole chapter. To take a row, a column or a transpose, nothing has
# to move. A new note on the same storage is enough. **Predict** the stride and offset of `x[:, 1]`
# before you look.

# %% topics=["storage-offset"]
draw_storage(x, x[1], x[:, 1], x.t(), names=["x", "x[1]", "x[:, 1]", "x.t()"])

# %% [markdown]
# The row starts at box 4 and steps by 1. The column starts at box 1 and steps by 4. The transpose
# starts where `x` starts and has its two strides swapped: look how its reading order jumps.
#
# Such a tensor is called a **view**. It is a new tensor with a note of its own, on an old storage.

# %% errata=["slice-creates-no-tensor"]
row = x[1]
print("a new tensor object:", row is not x[1])
print("a new storage:      ", row.untyped_storage().data_ptr() != x.untyped_storage().data_ptr())

# %% [markdown]
# > **Then and now.** *"Taking a row of a matrix creates no new tensor."* It does create a tensor,
# > each time anew. What it does not create is a storage.
#
# The cell above compared `data_ptr()`, the address where the storage begins. That is how you prove
# that two tensors share memory. We will need it often, so here it is as a function:


# %% topics=["storage-pointer-check"]
def same_storage(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors lie in the same storage."""
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


same_storage(x, x.t()), same_storage(x, x + 0)

# %% [markdown]
# > **Then and now.** *"`id(x.storage()) == id(y.storage())` proves that two tensors share memory."*
# > It proves nothing. Each call of `storage()` makes a new Python object, even for one and the same
# > tensor, and the `id` of an object that is gone may be given to the next one. Besides, `storage()`
# > belongs to the typed storages of the past and warns today.

# %% tags=["shows-deprecated"] errata=["id-of-storage-proves-sharing", "typed-storage-api"]
import warnings

torch.storage._reset_warn_typed_storage_removal()  # else it warns only once in each process
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print("one tensor, the same object twice:", x.storage() is x.storage())
print(str(caught[0].message).split(".")[0])

# %% [markdown]
# The storage of today is *untyped*: bytes, nothing more. The dtype belongs to the tensor's note.
# So two tensors of different dtype can share one storage. Here are the bits of 1.0, read as whole
# numbers:

# %% errata=["storage-owns-dtype"]
floats = torch.tensor([1.0, 2.0])
bits = floats.view(torch.int32)
bits[1] = bits[0]
same_storage(floats, bits), [hex(n) for n in bits.tolist()], floats

# %% [markdown]
# ### Exercise 2.1 — Read the note before the machine does ★ · 8 min · 3 points
#
# Ten views of one storage. For each, write `(size, stride, offset)`, all three as Python tuples and
# a number. As an example, `x[1]` is `((4,), (1,), 4)`.
#
# Use the picture, a pencil and the formula; do not ask the machine. `x.diagonal()` holds the elements
# [0, 0], [1, 1] and [2, 2]. A tensor with no dimension
# has the empty tuple `()` for size and stride. The check below is folded, because it explains every
# answer. Select it and press Shift + Enter; unfold it afterwards.

# %% nbgrader={"grade_id": "views-of-x", "locked": true}
x = torch.arange(10, 22).view(3, 4)
views = {
    "x[2]": x[2],
    "x[:, 1]": x[:, 1],
    "x[1:, 1:3]": x[1:, 1:3],
    "x[:, ::2]": x[:, ::2],
    "x[::2, 3]": x[::2, 3],
    "x[2, 1]": x[2, 1],
    "x.t()": x.t(),
    "x.t()[1:]": x.t()[1:],
    "x.view(2, 6)": x.view(2, 6),
    "x.diagonal()": x.diagonal(),
}

# %% nbgrader={"grade_id": "predict-strides", "solution": true}
predict_strides = {
    "x[2]": None,
    "x[:, 1]": None,
    "x[1:, 1:3]": None,
    "x[:, ::2]": None,
    "x[::2, 3]": None,
    "x[2, 1]": None,
    "x.t()": None,
    "x.t()[1:]": None,
    "x.view(2, 6)": None,
    "x.diagonal()": None,
}
### BEGIN SOLUTION
predict_strides = {
    "x[2]": ((4,), (1,), 8),
    "x[:, 1]": ((3,), (4,), 1),
    "x[1:, 1:3]": ((2, 2), (4, 1), 5),
    "x[:, ::2]": ((3, 2), (4, 2), 0),
    "x[::2, 3]": ((2,), (8,), 3),
    "x[2, 1]": ((), (), 9),
    "x.t()": ((4, 3), (1, 4), 0),
    "x.t()[1:]": ((3, 3), (1, 4), 1),
    "x.view(2, 6)": ((2, 6), (6, 1), 0),
    "x.diagonal()": ((3,), (5,), 0),
}
### END SOLUTION

# %% nbgrader={"grade_id": "predict-strides-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
form = "write (size, stride, offset); a tuple of one number needs a comma, as in (4,)"
for name, guess in predict_strides.items():
    parts = guess if isinstance(guess, (tuple, list)) else ()
    tuples = [isinstance(part, (tuple, list)) for part in parts]
    assert guess is None or tuples == [True, True, False], f"{name}: {guess!r}? {form}"
check_predictions(
    predict_strides,
    {name: (tuple(v.shape), v.stride(), v.storage_offset()) for name, v in views.items()},
    because={
        "x[2]": "two rows of four lie before it",
        "x[:, 1]": "down a column, each step passes a whole row",
        "x[1:, 1:3]": "a slice keeps the strides and moves the offset to its first element",
        "x[:, ::2]": "a step of 2 in a slice doubles the stride there and leaves the other",
        "x[::2, 3]": "every second row: twice the stride of a row",
        "x[2, 1]": "no dimension is left, so no stride; the offset says it all",
        "x.t()": "a transpose swaps sizes and strides; nothing moves",
        "x.t()[1:]": "row 1 of the transpose is column 1 of x: it starts in box 1",
        "x.view(2, 6)": "rows of six now: one step down passes six boxes",
        "x.diagonal()": "one down and one right: both strides added",
    },
)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Find the box of the view's first element. That is the offset.
# </details>
# <details><summary>Hint 2</summary>
#
# For each dimension, find the box of the next element along it. The distance is the stride.
# </details>
# <details><summary>Hint 3</summary>
#
# An integer index removes a dimension, and its stride with it. A slice keeps the dimension.
# </details>

# %% [markdown]
# ### Exercise 2.2 — From an index to a box ★ · 5 min · 2 points
#
# Write the formula as a function. `index` and `stride` are tuples of the same length, `offset` a
# whole number; every index is 0 or more. Return the position as an `int`, counted in elements.
#
# Example: for the 3 × 4 tensor above, `element_offset((1, 2), (4, 1))` is `6`; with an offset of 5
# it is `11`. A zero-dim tensor has empty tuples, and its element lies at the offset.


# %% nbgrader={"grade_id": "element-offset", "solution": true}
def element_offset(index: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> int:
    """Storage position, in elements, of the element at ``index``.

    ``index`` and ``stride`` have one entry for each dimension; both may be empty.
    """
    ### BEGIN SOLUTION
    return offset + sum(i * step for i, step in zip(index, stride, strict=True))
    ### END SOLUTION


# %% nbgrader={"grade_id": "element-offset-check", "grade": true, "points": 2}
check_equal(element_offset((1, 2), (4, 1)), 6, "element_offset((1, 2), (4, 1)), in elements")
call = "element_offset((0, 0), (4, 1), 5)"
check_equal(element_offset((0, 0), (4, 1), 5), 5, call, "index (0, 0) lies at the offset itself")
check_equal(element_offset((1, 2), (1, 4)), 9, "element_offset((1, 2), (1, 4)), of the transpose")
check_equal(element_offset((), (), 7), 7, "element_offset((), (), 7), of a zero-dim tensor")
### BEGIN HIDDEN TESTS
import random

numbers = random.Random(0)
for _ in range(50):
    dims = numbers.randint(1, 4)
    index = tuple(numbers.randint(0, 3) for _ in range(dims))
    step = tuple(numbers.randint(0, 9) for _ in range(dims))
    start = numbers.randint(0, 9)
    row = torch.arange(200, device=device)  # each box holds its own position
    value = row.as_strided([n + 1 for n in index], step, start)[index].item()
    call = f"element_offset({index}, {step}, {start})"
    check_equal(element_offset(index, step, start), value, call)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Pair each index with its stride: `zip(index, stride)`.
# </details>
# <details><summary>Hint 2</summary>
#
# Multiply within each pair, sum up, and start from the offset. The sum of nothing is 0, so the
# zero-dim case needs no special treatment.
# </details>

# %% [markdown]
# ## 2. Contiguous: the order you would have chosen
#
# Strides can be anything. So which ones does a fresh tensor get? Those that make reading order and
# memory order the same. The last dimension steps by 1, and each dimension before it steps over
# everything behind it. This is called **row-major** order, and such a tensor is **contiguous**.
# **Predict** both lines:

# %% topics=["contiguity"]
t = x.t()
print(x.stride(), x.is_contiguous())
print(t.stride(), t.is_contiguous())

# %% [markdown]
# > **Then and now.** *"A tensor is not contiguous because it consists of several separate blocks of
# > memory."* There is always one storage. "Not contiguous" says only that the strides are not the
# > row-major ones for the shape.

# %% errata=["noncontiguous-is-scattered-blocks"]
t.is_contiguous(), same_storage(t, x)

# %% [markdown]
# `contiguous()` copies the elements into a fresh storage in reading order, unless they lie that way
# already. Then it returns the tensor itself.

# %% topics=["contiguity"]
fresh = t.contiguous()
print(fresh.stride(), "a copy:", not same_storage(fresh, t))
print("already contiguous, the same tensor:", x.contiguous() is x)

# %% [markdown]
# Two corner cases are worth a look. A dimension of size 1 is never stepped along, so its stride does
# not matter. And with a dimension of size 0 there is no element at all. PyTorch then computes the
# other strides as if that size were 1.

# %%
print(torch.empty(2, 0, 3).stride(), torch.empty(()).stride())
print(x[:, :1].stride(), x[:, :1].is_contiguous(), x[:1, :].is_contiguous())

# %% [markdown]
# The column `x[:, :1]` steps by 4 from one element to the next, so it is not contiguous. The row
# `x[:1, :]` is: its first stride is never used.
#
# **In practice.** Does the order matter if the numbers are the same? For speed it does. A processor
# fetches memory in lines, on most machines of 64 bytes: sixteen float32 at a time. With stride 1 it
# uses all sixteen. With stride 16 it fetches a whole line for each number. Measure it: 32,000 numbers
# are summed each time, only the distance between them changes.

# %% topics=["locality-and-performance"] tags=["nbval-ignore-output"]
import timeit

import matplotlib.pyplot as plt

steps, wide = [1, 2, 4, 8, 16, 32, 64], torch.ones(64 * 32_000)
strided = [wide[::step][:32_000] for step in steps]
seconds = [min(timeit.repeat(view.sum, number=5, repeat=20)) / 5 for view in strided]
figure, axes = plt.subplots(figsize=(7, 3))
axes.plot(steps, [1e9 * time / 32_000 for time in seconds], marker="o")
axes.set_xscale("log", base=2)
axes.set_xticks(steps, map(str, steps))
axes.set(xlabel="stride, in elements", ylabel="nanoseconds per element", ylim=(0, None))
axes.set_title("The same sum, over numbers that lie further and further apart")
show(figure, "A curve: the time per element grows with the stride, about tenfold from 1 to 64.")

# %% [markdown]
# The exact curve is your machine's. Its lesson holds everywhere: neighbours in memory are cheap, and
# the further apart the numbers lie, the more of what is fetched goes unused. (The first step, from 1
# to 2, has another cause: with stride 1 the processor adds several numbers by one instruction.) For
# serious timing, of a GPU above all, use `torch.utils.benchmark`: it waits for the device.

# %% [markdown]
# ### Exercise 2.3 — The strides of a fresh tensor ★ · 6 min · 2 points
#
# Given a shape, return the strides of a contiguous tensor of that shape, as a tuple. Do not create
# a tensor.
#
# Examples: `(3, 4)` gives `(4, 1)`, `(2, 3, 4)` gives `(12, 4, 1)`, and `()` gives `()`. Where a
# size is 0, compute as if it were 1, like PyTorch: `(2, 0, 3)` gives `(3, 3, 1)`.


# %% nbgrader={"grade_id": "row-major-strides", "solution": true}
def row_major_strides(size: tuple[int, ...]) -> tuple[int, ...]:
    """Strides, in elements, of a contiguous tensor of shape ``size``."""
    ### BEGIN SOLUTION
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))
    ### END SOLUTION


# %% nbgrader={"grade_id": "row-major-strides-check", "grade": true, "points": 2}
def check_case(size, right, because=""):
    check_equal(row_major_strides(size), right, f"row_major_strides({tuple(size)})", because)


with count_operators() as counts:
    check_case((3, 4), (4, 1))
    check_case((2, 3, 4), (12, 4, 1), "each stride is the product of all sizes after it")
    check_case((), (), "no dimension, no stride")
    check_case((2, 0, 3), (3, 3, 1), "a size of 0 counts as 1")
assert not counts, f"compute with numbers, without making a tensor: {', '.join(counts)} ran"
### BEGIN HIDDEN TESTS
import itertools

for dims in range(4):
    for size in itertools.product((0, 1, 2, 3), repeat=dims):
        check_case(size, torch.empty(size).stride())
check_case(torch.Size((7, 5)), (5, 1))
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Go from the last dimension to the first. Which number do you carry along?
# </details>
# <details><summary>Hint 2</summary>
#
# The stride of a dimension is the product of all sizes after it. `max(n, 1)` takes care of zeros.
# </details>

# %% [markdown]
# ## 3. View or copy?
#
# A view costs nothing. It also ties two tensors together: who writes through one changes the other.
# **Predict** what is left of `y` after the last line.

# %% topics=["aliasing-rules"]
y = torch.zeros(2, 3)
first_column = y[:, 0]
first_column += 7
y

# %% [markdown]
# Here that may be what you want. In a function that was handed a slice of somebody's data, it is a
# bug that no error message will ever report. So you have to know which operations share.
#
# **Indexing** comes in two kinds. With integers, slices, `None` and `...` it is *basic*: the result
# has regular steps, so a note can describe it, and you get a view. With lists, masks
# or index tensors of one dimension or more it is *advanced*: the chosen elements can lie anywhere, no stride can say where, and
# PyTorch has to copy.

# %% topics=["aliasing-rules"] errata=["indexing-always-shares"]
print("slice  ", same_storage(x, x[1:]))
print("list   ", same_storage(x, x[[1, 2]]))
print("mask   ", same_storage(x, x[x > 3]))

# %% [markdown]
# > **Then and now.** *"Indexing never allocates memory."* True for basic indexing alone.
#
# **Cutting up** gives views, **putting together** copies. Cutting only needs new notes. Putting
# together needs one storage that holds everything, even when there is only one part.

# %% errata=["cat-stack-share-memory"]
print("split, chunk:", all(same_storage(x, part) for part in (*x.split(2), *x.chunk(2))))
print("cat, stack:  ", same_storage(x, torch.cat([x])) or same_storage(x, torch.stack([x])))

# %% [markdown]
# **Repeating** can be had both ways. `repeat` writes the copies out. `expand` sets a stride to 0:
# step as often as you like, you stay in the same box.

# %% topics=["expand-vs-repeat"]
few = torch.arange(4)
print(few.repeat(3, 1).untyped_storage().nbytes(), "bytes", few.repeat(3, 1).stride())
print(few.expand(3, 4).untyped_storage().nbytes(), "bytes", few.expand(3, 4).stride())
draw_storage(few, few.expand(3, 4), names=["few", "few.expand(3, 4)"])

# %% [markdown]
# Each box is read three times. What would it mean to write to one of the three? PyTorch refuses:

# %% topics=["expand-vs-repeat"]
try:
    few.expand(3, 4).add_(1)
except RuntimeError as error:
    print(str(error).split(".")[0])

# %% [markdown]
# **No underscore, no change?** People say that methods with a trailing underscore write in place and
# all others leave their source alone. The second half is not quite so: `t()` has no underscore and
# changes nothing itself, but whoever writes to its result writes to the source.

# %% topics=["aliasing-rules"] errata=["underscore-rule"]
source = torch.zeros(2, 3)
source.t()[0, 1] = 5
print(source)
print("torch.view exists:", hasattr(torch, "view"), " torch.relu_ exists:", hasattr(torch, "relu_"))

# %% [markdown]
# > **Then and now.** *"Only the methods with an underscore exist as methods alone."* `view` and
# > `expand` exist only as methods, and `torch.relu_` is a function.
#
# **`detach` is a view too.** It cuts the tie to the gradient, not the tie to the memory.

# %% topics=["copying-table"] errata=["detach-returns-copy"]
weight = torch.ones(3, requires_grad=True)
free = weight.detach()
free[0] = -1
print(weight.tolist(), "the copy is:", weight.detach().clone().tolist())

# %% [markdown]
# > **Then and now.** *"`detach()` gives a copy without gradient."* It gives a view without gradient.
# > The copy is `detach().clone()`.
#
# **NumPy** arrays on the CPU have sizes and strides as well (NumPy counts them in bytes). So the two
# libraries can look at the same memory, in both directions:

# %% topics=["from-numpy-sharing"] errata=["data-numpy-is-independent"] tags=["shows-deprecated"]
t = torch.zeros(3)
shared, by_data, copied = t.numpy(), t.data.numpy(), t.clone().numpy()
t.add_(1)
shared.tolist(), by_data.tolist(), copied.tolist()

# %% [markdown]
# > **Then and now.** *"`tensor.data.numpy()` breaks the link to the tensor."* It does not. Only a
# > copy does: `clone()` on one side, `.copy()` on the other.
#
# From NumPy to PyTorch, `torch.from_numpy` shares and wants an array. `torch.as_tensor` takes
# nearly anything and shares if it can. `torch.tensor` always copies.

# %% topics=["from-numpy-sharing"] errata=["from-numpy-on-tensor"]
array = np.zeros(3, dtype=np.float32)
linked, loose = torch.from_numpy(array), torch.tensor(array)
array += 1
print(linked.tolist(), loose.tolist(), torch.as_tensor(linked) is linked)
try:
    torch.from_numpy(linked)
except TypeError as error:
    print("from_numpy of a tensor:", error)

# %% [markdown]
# NumPy reverses an array with a *negative* stride: start at the end, step by −1. PyTorch has no
# negative strides. **Predict** which of the next two lines fails.

# %% topics=["negative-stride-arrays"] errata=["negative-stride-cause"]
array = np.arange(4)
print(torch.from_numpy(array[::2]))
try:
    torch.from_numpy(array[::-1])
except ValueError as error:
    print(str(error).split(",")[0])

# %% [markdown]
# > **Then and now.** *"A reversed array fails because its memory is not contiguous."* `array[::2]`
# > is not contiguous either, and it goes through. The negative stride is the cause. To reverse a
# > tensor, use `flip`, which copies; for an array, `array[::-1].copy()`.

# %% topics=["horizontal-flip-indexing"]
forward = torch.arange(4)
forward.flip(0), same_storage(forward, forward.flip(0))

# %% [markdown]
# ### Exercise 2.4 — View or copy? ★★ · 8 min · 3 points
#
# Fourteen operations on one tensor. For each, write `"view"` if the result lies in the storage of
# `x`, and `"copy"` if it has one of its own. Example: `x[0]` is a `"view"`. An operation that
# returns `x` itself counts as `"view"`.
#
# `reshape` arranges the same elements, in the same order, in another shape; `flatten` arranges them in
# one dimension. One of the fourteen may surprise you. The next section is about that one. The check
# is folded again.

# %% nbgrader={"grade_id": "view-or-copy", "solution": true}
view_or_copy = {
    "x[1:]": None,
    "x[[0, 2]]": None,
    "x[x > 5]": None,
    "x.t()": None,
    "x.flatten()": None,
    "x.t().flatten()": None,
    "x[:, ::2].reshape(3, 2, 1)": None,
    "x.expand(2, 3, 4)": None,
    "x.repeat(2, 1, 1)": None,
    "x.contiguous()": None,
    "x.t().contiguous()": None,
    "torch.cat([x])": None,
    "x.split(2)[0]": None,
    "x.detach()": None,
}
### BEGIN SOLUTION
copies = {"x[[0, 2]]", "x[x > 5]", "x.t().flatten()", "x.repeat(2, 1, 1)"}
copies |= {"x.t().contiguous()", "torch.cat([x])"}
view_or_copy = {name: "copy" if name in copies else "view" for name in view_or_copy}
### END SOLUTION

# %% nbgrader={"grade_id": "view-or-copy-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
because = {
    "x[1:]": "slices are basic indexing",
    "x[[0, 2]]": "a list of indices is advanced indexing",
    "x[x > 5]": "no stride can describe what a mask picks",
    "x.t()": "a transpose swaps the strides",
    "x.flatten()": "x is contiguous: one dimension of stride 1 reads the same boxes",
    "x.t().flatten()": "it has to read the boxes 0, 4, 8, 1: is the step always the same?",
    "x[:, ::2].reshape(3, 2, 1)": "reshape copies only if no strides can do it",
    "x.expand(2, 3, 4)": "the new dimension has stride 0",
    "x.repeat(2, 1, 1)": "repeat writes its copies out",
    "x.contiguous()": "x is contiguous already",
    "x.t().contiguous()": "it has to bring the elements into another order",
    "torch.cat([x])": "cat always writes a new tensor",
    "x.split(2)[0]": "cutting up needs only new notes",
    "x.detach()": "detach shares the memory and drops the gradient",
}
for name, guess in view_or_copy.items():
    assert guess in (None, "view", "copy"), f'{name}: write "view" or "copy", not {guess!r}'
whole = torch.arange(12.0, device=device).view(3, 4)
results = {name: eval(name, {"torch": torch, "x": whole}) for name in because}
where = whole.untyped_storage().data_ptr()
shares = {name: y.untyped_storage().data_ptr() == where for name, y in results.items()}
kinds = {name: "view" if shared else "copy" for name, shared in shares.items()}
check_predictions(view_or_copy, kinds, because)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Ask of each result: could I describe it by a size, strides and an offset on the old boxes?
# </details>
# <details><summary>Hint 2</summary>
#
# `x.t().flatten()` has to read the boxes 0, 4, 8, 1, 5, … Is there one stride that does this?
# </details>
# <details><summary>Hint 3</summary>
#
# Eight are views, six are copies.
# </details>

# %% [markdown]
# ## 4. When is a view possible?
#
# `x[:, ::2]` is not contiguous, and still `reshape` gave a view of it. So "contiguous" cannot be
# the condition. What is?
#
# > **Then and now.** *"`view()` works only on contiguous tensors."* Take every second column away
# > and try:

# %% topics=["view-stride-rule"] errata=["view-requires-contiguous"]
y = torch.arange(24).view(4, 6)[:, :4]
print(y.is_contiguous(), y.stride())
print(y.view(4, 2, 2).stride())
try:
    y.view(16)
except RuntimeError as error:
    print(str(error).split("(")[0])

# %% [markdown]
# **See** what is different. Splitting a row of four into 2 × 2 works. Joining all rows into one does
# not. Look at the boxes between the rows:

# %% topics=["view-stride-rule"]
y = torch.arange(18).view(3, 6)[:, :4]
draw_storage(y, y.view(3, 2, 2), names=["y", "y.view(3, 2, 2)"])

# %% [markdown]
# Follow the reading order. Inside a row every step is 1. From the end of a row to the start of the
# next, the step is 3. One stride can't be both. Now the two halves of the rule:
#
# - **Split:** a dimension may always be split. A dimension of size 4 and stride 1 becomes 2 × 2 with
#   strides 2 and 1.
# - **Merge:** two neighbouring dimensions become one only if the outer step leads exactly to where
#   the inner dimension would have gone next: `stride[i] == size[i + 1] * stride[i + 1]`.
#
# For `y` that reads 6 == 4 · 1, which is false. For all of `x` it is 4 == 4 · 1, and `x` can be
# flattened. Contiguous tensors can merge everything, that's all that is special about them.
#
# > **Then and now.** *"`reshape` shares memory like `view`"* and *"`reshape` of a non-contiguous
# > tensor always copies"*: both have been taught, and both are wrong. `reshape` gives a view
# > whenever the rule allows one, and copies otherwise. If your code depends on which, use `view`,
# > which says no, or `clone`, which always copies.

# %% topics=["reshape-view-basics"] errata=["reshape-sharing-absolutes"]
columns = x[:, ::2]
print("not contiguous, yet a view:", same_storage(x, columns.reshape(3, 2, 1)))
print("can't be a view, so a copy:", not same_storage(x, x.t().reshape(-1)))

# %% [markdown]
# `resize` is another thing. It is not a reshape with another name:
#
# > **Then and now.** *"`resize` belongs with `view` and `reshape`."* The method `resize` is
# > deprecated. `resize_` changes the number of elements if you ask it to, and what it adds is
# > whatever was in that memory.

# %% topics=["resize-inplace"] errata=["resize-same-numel"] tags=["shows-deprecated"]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.zeros(2, 2).resize(4, 1)
print(caught[0].message)
print(torch.zeros(2, 2).resize_(3, 4).numel(), "elements, eight of them never set")

# %% [markdown]
# ### The puzzle, solved
#
# `view` keeps the reading order and cuts it anew. `permute` keeps every element at its index, with the
# indices in another order: it reorders sizes and *strides*. So from (height, width, channel) to
# (channel, height, width) only `permute` moves the axis. Look at the notes, then at a photo.

# %% topics=["permute-is-not-view", "transpose-permute"] errata=["view-interchangeable-with-permute"]
photo = torch.arange(2 * 3 * 3).view(2, 3, 3)
a, b = photo.permute(2, 0, 1), photo.view(3, 2, 3)
print("photo  ", tuple(photo.shape), photo.stride())
print(
    "permute", tuple(a.shape), a.stride(), "first channel right:", torch.equal(a[0], photo[..., 0])
)
print(
    "view   ", tuple(b.shape), b.stride(), "first channel right:", torch.equal(b[0], photo[..., 0])
)

# %% topics=["permute-is-not-view", "channel-first"]
rows, columns = torch.meshgrid(torch.linspace(-1, 1, 60), torch.linspace(-1, 1, 90), indexing="ij")
sun = (rows**2 + columns**2 < 0.4).float()
sky = torch.stack([0.3 + 0.7 * sun, 0.5 + 0.35 * sun, 0.9 - 0.6 * sun], dim=-1)  # (60, 90, 3)
pictures = {
    "sky, (60, 90, 3)": sky,
    "sky.permute(2, 0, 1)": sky.permute(2, 0, 1),
    "sky.view(3, 60, 90)": sky.view(3, 60, 90),
}
figure, panels = plt.subplots(1, 3, figsize=(9, 2.4))
for panel, (title, image) in zip(panels, pictures.items(), strict=True):
    panel.imshow(image if image.shape[-1] == 3 else image.permute(1, 2, 0))
    panel.set_title(title, fontsize=10)
    panel.set_axis_off()
show(
    figure,
    "A yellow sun in a blue sky; the same picture after permute; coloured noise after view.",
)

# %% [markdown]
# The third picture has the right shape, and a network would train on it without complaint.
#
# > **Then and now.** *"`view` and `permute` both keep the values, so either may be used as long as
# > the sizes fit."* The values stay, their places do not. Two smaller claims are wrong as
# > well, as the next cell shows: there is a function `torch.permute`, and `transpose` swaps two dimensions of a
# > tensor of any rank (only `t()` stops at two dimensions).

# %% topics=["transpose-permute"] errata=["no-torch-permute", "transpose-only-2d"]
cube = torch.zeros(2, 3, 4)
print(torch.permute(cube, (2, 0, 1)).shape, cube.transpose(0, 2).shape)
try:
    cube.t()
except RuntimeError as error:
    print(error)

# %% [markdown]
# ### Exercise 2.5 — The rule itself ★★★ · 30 min · 5 points
#
# Write what `view` does inside. Given the size and stride of a tensor and a new size, return the
# strides of the view, or `None` if there is no such view. No size is negative (there is no −1 to be
# inferred), and a size may be `()`, which holds one element.
#
# - If the two sizes hold different numbers of elements, return `None`.
# - If they hold no element at all, any whole numbers will do as strides.
# - A dimension of size 1 may have any stride, in the input and in your result.
#
# Examples: `view_strides((3, 4), (4, 1), (2, 6))` is `(6, 1)`. `view_strides((3, 4), (6, 1), (3, 2, 2))`
# is `(6, 2, 1)`. `view_strides((4, 3), (1, 4), (12,))` is `None`. Compute with numbers, without making
# a tensor. When your work is graded, it is compared with PyTorch on thousands of cases.


# %% nbgrader={"grade_id": "view-strides", "solution": true}
def view_strides(
    size: tuple[int, ...], stride: tuple[int, ...], new_size: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Strides, in elements, of a view of shape ``new_size``; None where only a copy can do it."""
    ### BEGIN SOLUTION
    if torch.Size(size).numel() != torch.Size(new_size).numel():
        return None
    if 0 in size:
        return (1,) * len(new_size)
    runs = []  # [how many elements, the step between them], outermost first
    for n, step in zip(size, stride, strict=True):
        if runs and runs[-1][1] == n * step:
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
    ### END SOLUTION


# %% nbgrader={"grade_id": "view-strides-check", "grade": true, "points": 5}
def check_case(size, stride, new_size, truth, because=""):
    answer = view_strides(size, stride, new_size)
    call = f"view_strides({size}, {stride}, {new_size})"
    if truth is None or answer is None:
        return check_equal(answer, truth, call, because)
    fits = isinstance(answer, (tuple, list)) and len(answer) == len(new_size)
    assert fits and all(type(s) is int for s in answer), f"{call}: {answer!r} is not its strides"
    used = [d for d, n in enumerate(new_size) if n > 1 and 0 not in new_size]
    note = f" ({because})" if because else ""
    assert all(answer[d] == truth[d] for d in used), f"{call}: expected {truth}, got {answer}{note}"


with count_operators() as counts:
    check_case((3, 4), (4, 1), (2, 6), (6, 1))
    check_case((3, 4), (6, 1), (3, 2, 2), (6, 2, 1), "a split is always possible")
    check_case((4, 3), (1, 4), (12,), None, "3 · 4 is not 1: these two do not merge")
    check_case((3, 4), (6, 1), (4, 3), None, "rows of four cannot be cut into rows of three")
    check_case((3, 4), (4, 1), (3, 2), None, "12 elements are not 6")
    check_case((3, 1, 2), (2, 7, 1), (6,), (1,), "a dimension of size 1 may have any stride")
    check_case((2, 0), (1, 1), (0, 5), (5, 1), "without elements any strides will do")
assert not counts, f"compute with numbers, without making a tensor: {', '.join(counts)} ran"
### BEGIN HIDDEN TESTS
import random

numbers = random.Random(0)


def any_size(elements):
    size = [1] * numbers.randint(0, 1)
    while elements > 1:
        size.append(numbers.choice([n for n in range(2, elements + 1) if elements % n == 0]))
        elements //= size[-1]
    return [0, *size] if elements == 0 else numbers.sample(size, len(size))


for _ in range(100):
    y = torch.empty([numbers.choice((0, 1, 2, 2, 3, 4, 6)) for _ in range(numbers.randint(0, 4))])
    y = y[..., ::2] if y.dim() and numbers.random() < 0.3 else y
    y = y.transpose(0, -1) if y.dim() and numbers.random() < 0.3 else y
    y = y.expand(2, *y.shape) if numbers.random() < 0.2 else y
    new_size = tuple(any_size(y.numel() + (numbers.random() < 0.05)))
    try:
        truth = y.view(new_size).stride()
    except RuntimeError:
        truth = None
    with count_operators() as counts:
        check_case(tuple(y.shape), y.stride(), new_size, truth)
    assert not counts, f"compute without making a tensor: {', '.join(counts)} ran"
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Work in two steps. First merge what can be merged: turn the old dimensions into as few runs of
# evenly spaced elements as possible. Then cut these runs into the new dimensions.
# </details>
# <details><summary>Hint 2</summary>
#
# Drop the dimensions of size 1 first. Going from the outermost in, the dimension `(n, step)` joins
# the run before it if that run's step equals `n * step`.
# </details>
# <details><summary>Hint 3</summary>
#
# Cut from the right. Keep the step of the current run and how many of its elements are still to
# be placed. A new dimension of size `n` takes the step; then the step grows by `n` and what is
# left shrinks by `n`. If `n` does not divide what is left, there is no view.
# </details>

# %% [markdown]
# ## 5. Write the note yourself
#
# You know the rule for `view`, but strides can say more than `view` will ever ask of them.
# `as_strided` lets you write the note by hand: size, stride, offset. **Predict** what this reads:

# %% topics=["stride-address-formula"]
m = torch.arange(16).view(4, 4)
diagonal = m.as_strided((4,), (5,))
print(diagonal)
draw_storage(m, diagonal, names=["m", "diagonal"])

# %% [markdown]
# A step of 5 is one row down and one column to the right. That is all that `torch.diagonal` does.
#
# With `as_strided` you read boxes, not indices, so two things are now in your hands. The offset is
# counted from the start of the *storage*; leave it out and the tensor's own is used. And several
# indices may lead to one box. PyTorch stops you at the end of the storage, but it doesn't always
# stop you from writing into overlapping windows, as it did for `expand`:

# %%
try:
    m.as_strided((4,), (6,))
except RuntimeError as error:
    print(error)

# %% tags=["nbval-ignore-output"]
line = torch.zeros(5)
line.as_strided((4, 2), (1, 1)).add_(1)  # four windows of two: the inner boxes belong to two
line

# %% [markdown]
# No error. What ends up in a box that two windows share is not defined: it may be 1 or 2, today
# one and tomorrow the other. Read from overlapping views, never write to them.

# %% [markdown]
# ### Exercise 2.6 — The trace, by strides ★★ · 10 min · 3 points
#
# Sum the diagonal of a square matrix, or its anti-diagonal (from the top right to the bottom left),
# with one `as_strided` and one `sum`. The matrix may be any view: transposed, a slice with an
# offset, expanded. It may be 1 × 1 or 0 × 0. Return a zero-dim tensor.
#
# Example: for `[[1, 2], [3, 5]]` the trace is 6 and the anti-diagonal's sum is 5. Strides must not be
# negative: think about which corner to start from. Other views are allowed, copies and other
# computations are not, and the matrix stays as it is.


# %% nbgrader={"grade_id": "trace-by-strides", "solution": true}
def trace_by_strides(matrix: torch.Tensor, anti: bool = False) -> torch.Tensor:
    """Sum of the diagonal, or of the anti-diagonal, of ``matrix`` of shape (n, n), any dtype."""
    ### BEGIN SOLUTION
    n = matrix.shape[0]
    down, right = matrix.stride()
    step, first = down + right, 0
    if anti and down >= right:  # from the top right corner, down and to the left
        step, first = down - right, max(n - 1, 0) * right
    elif anti:  # from the bottom left corner, to the right and up
        step, first = right - down, max(n - 1, 0) * down
    return matrix.as_strided((n,), (step,), matrix.storage_offset() + first).sum()
    ### END SOLUTION


# %% nbgrader={"grade_id": "trace-by-strides-check", "grade": true, "points": 3}
def check_case(matrix, name):
    for anti in (False, True):
        with forbid_changes(matrix), forbid_copies(up_to=8), count_operators() as counts:
            total = trace_by_strides(matrix, anti)
        expected = (matrix.flip(1) if anti else matrix).diagonal().sum()
        check_close(total, expected, f"the {'anti-diagonal' if anti else 'trace'} of {name}")
        ran = counts["as_strided"], counts["sum"]
        assert ran == (1, 1) or not len(matrix), f"not one as_strided and one sum: {dict(counts)}"


squares = torch.arange(48, device=device).view(6, 8) ** 2
check_case(torch.tensor([[1, 2], [3, 5]]), "[[1, 2], [3, 5]]")
check_case(squares[1:4, 2:5], "a slice with an offset")
check_case(squares[:6, :6].t(), "a transposed matrix")
### BEGIN HIDDEN TESTS
check_case(squares[1:4, 2:5].t(), "a transposed slice with an offset")
check_case(squares[::2, ::3].double(), "float64 numbers")
check_case(squares[::2, ::3], "every second row, every third column")
check_case(squares[1, :5].expand(5, 5), "an expanded row")
check_case(squares[:5, :1].expand(5, 5), "an expanded column")
check_case(squares[3:4, 2:3], "a 1 × 1 matrix")
check_case(squares[:0, :0], "a 0 × 0 matrix")
check_case(squares[:6, :6] % 3 == 0, "a matrix of booleans")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# One step along the diagonal is one step along each dimension: `stride(0) + stride(1)`.
# </details>
# <details><summary>Hint 2</summary>
#
# Along the anti-diagonal you go one way in one dimension and back in the other: the step is the
# difference of the strides. Start at the corner from which that difference is not negative.
# </details>
# <details><summary>Hint 3</summary>
#
# The first element of a slice is not box 0: add `matrix.storage_offset()`. With n = 0 there is no
# corner; `max(n - 1, 0)` keeps the offset valid.
# </details>

# %% [markdown]
# ### Windows
#
# Overlap is not only a danger. A moving average, a convolution, the frames of a sound: all of them
# look at one sequence through windows that overlap. Written out, windows of length 3 hold every
# number three times. By strides they cost nothing: step by 1 inside a window, and by 1 from one
# window to the next. `Tensor.unfold(dimension, size, step)` writes that note for you.

# %% topics=["unfold-patches"]
signal = torch.arange(7)
windows = signal.unfold(0, 3, 2)
print(windows)
draw_storage(signal, windows, names=["signal", "signal.unfold(0, 3, 2)"], windows=0)

# %% [markdown]
# Boxes 2 and 4 are read twice: they belong to two windows.
#
# ### Exercise 2.7 — Every window, no copy ★★ · 4 min · 2 points
#
# Return every window of length `k` of a 1-D tensor, `step` elements apart, as a view of shape
# (number of windows, `k`). A last window that would not be full is left out. `1 <= k <= len(x)` and
# `step >= 1` hold; with `step > k` the windows have gaps between them. `x` may itself be a view with any stride.
#
# Example: `sliding_windows(torch.arange(9), 3, 2)` is `[[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 8]]`.
# Not a single element may be copied.


# %% nbgrader={"grade_id": "sliding-windows", "solution": true}
def sliding_windows(x: torch.Tensor, k: int, step: int = 1) -> torch.Tensor:
    """All full windows of ``x`` of shape (length,), as a view of shape (windows, k)."""
    ### BEGIN SOLUTION
    windows = (len(x) - k) // step + 1
    return x.as_strided((windows, k), (step * x.stride(0), x.stride(0)))
    ### END SOLUTION


# %% nbgrader={"grade_id": "sliding-windows-check", "grade": true, "points": 2}
def check_case(x, k, step, name):
    call = f"sliding_windows(x, {k}, {step}) with x {name} of {len(x)} elements"
    with forbid_changes(x), forbid_copies():
        result = sliding_windows(x, k, step) if step > 1 else sliding_windows(x, k)
    check_close(result, torch.stack([x[s : s + k] for s in range(0, len(x) - k + 1, step)]), call)
    check_shares_storage(result, x, call)


line = torch.arange(30, device=device)
check_case(line[:9], 3, 2, "a contiguous tensor")
check_case(line[:8], 3, 2, "a contiguous tensor, whose last window would not be full")
check_case(line[1::3], 3, 2, "a view with stride 3")
### BEGIN HIDDEN TESTS
strided = {"a column": line.view(5, 6)[:, 2], "an expanded number": line[4].expand(6)}
for name, y in {**strided, "a view": line[1::3], "a tensor": line.double()}.items():
    for k, step in ((1, 1), (2, 1), (3, 2), (1, 3), (2, 4), (len(y), 1), (2, len(y))):
        check_case(y, k, step, name)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# How many windows fit? The last one starts at or before `len(x) - k`.
# </details>
# <details><summary>Hint 2</summary>
#
# Inside a window the step is the stride of `x`, whatever it is. From window to window it is `step`
# times that.
# </details>

# %% [markdown]
# `nn.Unfold` and `F.unfold` are relatives for images. They cut a batch of images into patches and
# *copy* each patch into a column. `Tensor.unfold` copies nothing and takes one dimension at a time.
#
# > **Then and now.** *"`nn.Unfold(4, stride=4)` turns a 1 × 3 × 224 × 224 image into
# > [1, 4, 3136]."* A column holds a whole patch, all channels of it: 3 · 4 · 4 = 48 numbers.

# %% topics=["unfold-patches"] errata=["unfold-output-shape"]
image = torch.zeros(1, 3, 224, 224)
print(torch.nn.Unfold(4, stride=4)(image).shape)
print(image.unfold(2, 4, 4).unfold(3, 4, 4).shape)

# %% [markdown]
# ### Exercise 2.8 — A convolution is a view and a product ★★★ · 20 min · 4 points
#
# Compute what `F.conv2d(x, weight, stride=stride, padding=padding)` computes. First pad with
# `F.pad(x, (left, right, top, bottom))`. Then make all windows a view of six dimensions by one
# `as_strided` (or by two calls of `Tensor.unfold`). Then contract it with the weight by one
# `torch.einsum` or another single product. No loop, no convolution, no `F.unfold`.
#
# If `einsum` is new to you: `torch.einsum("ij,jk->ik", a, b)` names the dimensions of each input and
# of the result by letters. A letter that is missing from the result is summed over, so this is
# `a @ b`.
#
# Shapes: `x` (batch, in, height, width), `weight` (out, in, kernel height, kernel width), result
# (batch, out, new height, new width) with
# `new height = (height + 2 * padding - kernel height) // stride + 1`. `x` may be any view.
#
# Example: a 1 × 1 × 3 × 3 image of ones and a 2 × 2 kernel of ones give a 2 × 2 result of fours.


# %% nbgrader={"grade_id": "conv-by-strides", "solution": true}
def conv_by_strides(
    x: torch.Tensor, weight: torch.Tensor, stride: int = 1, padding: int = 0
) -> torch.Tensor:
    """``F.conv2d`` for float x (batch, in, h, w) and weight (out, in, kh, kw), without bias."""
    ### BEGIN SOLUTION
    x = F.pad(x, (padding, padding, padding, padding))
    batch, channels, height, width = x.shape
    kh, kw = weight.shape[2:]
    new_height, new_width = (height - kh) // stride + 1, (width - kw) // stride + 1
    b, c, down, right = x.stride()
    windows = x.as_strided(
        (batch, channels, new_height, new_width, kh, kw),
        (b, c, down * stride, right * stride, down, right),
    )
    return torch.einsum("bchwij,ocij->bohw", windows, weight)
    ### END SOLUTION


# %% nbgrader={"grade_id": "conv-by-strides-check", "grade": true, "points": 4}
def check_case(x, weight, stride, padding, name):
    with forbid_changes(x, weight), count_operators() as counts:
        result = conv_by_strides(x, weight, stride, padding)
    expected = F.conv2d(x, weight, stride=stride, padding=padding)
    check_close(result, expected, f"{name}, stride {stride}, padding {padding}")
    banned = {"convolution", "im2col", "stack", "cat"} & set(counts)
    assert not banned, f"{', '.join(banned)} ran: take the windows as a view instead"
    windows = counts["as_strided"] or counts["unfold"]
    assert windows in (1, 2), f"make all windows by one as_strided, not by {windows}"
    products = counts["bmm"] + counts["mm"] + counts["mul"] + counts["dot"]
    assert products == 1, f"contract all windows at once: one einsum, not {products} products"


x = torch.arange(40.0, dtype=torch.float64, device=device).view(1, 2, 5, 4)
weight = torch.arange(36.0, dtype=torch.float64, device=device).view(3, 2, 2, 3)
ones = torch.ones(1, 1, 3, 3, device=device)
check_case(ones, ones[..., :2, :2], 1, 0, "a 2 × 2 kernel of ones over ones")
check_case(x, weight, 1, 0, "a contiguous image")
check_case(x, weight, 2, 1, "a contiguous image")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
images = torch.randn(2, 3, 9, 8, generator=generator, dtype=torch.float64).to(device)
weight = torch.randn(4, 3, 3, 2, generator=generator, dtype=torch.float64).to(device)
for padding, stride in ((0, 1), (1, 2), (2, 3), (1, 1)):
    check_case(images, weight, stride, padding, "a contiguous batch")
    y = images.contiguous(memory_format=torch.channels_last)
    check_case(y, weight, stride, padding, "channels_last images (strides in another order)")
    check_case(images[1:, :, 1:, ::2], weight, stride, padding, "a slice (with gaps and an offset)")
    check_case(images[:1].expand(3, -1, -1, -1), weight, stride, padding, "a batch made by expand")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The six dimensions: batch, channel, where the window is (two), where in the window (two).
# </details>
# <details><summary>Hint 2</summary>
#
# Inside a window you step like `x` does. From window to window you step `stride` times as far.
# Ask the padded tensor for its strides: it need not be contiguous.
# </details>
# <details><summary>Hint 3</summary>
#
# In the einsum, the letters that appear in both inputs and not in the result are summed: the
# channel and the two positions inside the window.
# </details>

# %% [markdown]
# ## 6. What a view costs, and what it keeps
#
# The windows above were free. Was the product? Count what runs when `einsum` meets such a view:

# %%
kernel = torch.ones(2, 2)
patches = torch.arange(25.0).view(5, 5).unfold(0, 2, 1).unfold(1, 2, 1)  # (4, 4, 2, 2)
with count_operators() as counts:
    torch.einsum("hwij,ij->hw", patches, kernel)
print("copies (clone):", counts["clone"], "  products (bmm):", counts["bmm"])

# %% [markdown]
# Before it could multiply, `einsum` wrote every window out. Convolution libraries go to some length to
# avoid that. So here is the rule of thumb: a view costs a note of some hundred bytes, whatever its
# size. What is computed from it costs its elements.
#
# Broadcasting lives on this. In `a[:, None] + b`, neither operand is ever written out as a matrix.
# Each is expanded with stride 0, and only the sum is allocated.
#
# ### Exercise 2.9 — An outer sum without the memory ★★ · 4 min · 2 points
#
# Given `a` of shape (n,) and `b` of shape (m,), return the two operands of their outer sum: two
# tensors `p` and `q` of shape (n, m), so that `(p + q)[i, j]` is `a[i] + b[j]`. Allocate nothing.
#
# Example: for `a = [1, 2]` and `b = [10, 20, 30]`, `p` is `[[1, 1, 1], [2, 2, 2]]` and `q` is
# `[[10, 20, 30], [10, 20, 30]]`, and the two storages still hold 2 and 3 elements.


# %% nbgrader={"grade_id": "outer-without-memory", "solution": true}
def outer_without_memory(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Views (n, m) of ``a`` of shape (n,) and ``b`` of shape (m,) whose sum is the outer sum."""
    ### BEGIN SOLUTION
    n, m = len(a), len(b)
    return a[:, None].expand(n, m), b.expand(n, m)
    ### END SOLUTION


# %% nbgrader={"grade_id": "outer-without-memory-check", "grade": true, "points": 2}
def check_case(a, b, name):
    call = f"outer_without_memory(a, b) with {name}"
    with forbid_changes(a, b), forbid_copies():
        pair = outer_without_memory(a, b)
    assert pair is not None, f"{call} is None: is there an answer yet, and does it return a value?"
    both = isinstance(pair, (tuple, list)) and len(pair) == 2
    assert both, f"{call}: return two tensors (p, q), not {pair!r}"
    expected = a[:, None].repeat(1, len(b)), b[None].repeat(len(a), 1)
    for part, operand, right, source in zip("pq", pair, expected, (a, b), strict=True):
        check_close(operand, right, f"{part} of {call}")
        check_shares_storage(operand, source, f"{part} of {call}")
        held, own = operand.untyped_storage().nbytes(), source.untyped_storage().nbytes()
        assert held == own, f"{part} of {call} holds {held} bytes, its source {own}"


numbers = torch.arange(20, device=device)
check_case(numbers[1:3], 10 * numbers[1:4], "a = [1, 2] and b = [10, 20, 30]")
check_case(numbers[::7], numbers[1::3], "a and b of strides 7 and 3")
### BEGIN HIDDEN TESTS
for n, m in ((1, 1), (1, 4), (5, 1), (0, 3), (3, 0), (600, 900)):
    rows, columns = torch.rand(2 * n, device=device)[::2], torch.rand(3 * m + 1, device=device)
    check_case(rows, columns[1::3], f"shapes ({n},) and ({m},)")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Which of the two dimensions does `a` know nothing about? Give it a size of 1 first.
# </details>
# <details><summary>Hint 2</summary>
#
# `expand` turns a dimension of size 1 into one of any size, with stride 0.
# </details>

# %% [markdown]
# ### A small view of a large storage
#
# There is another side to it. A storage lives as long as *any* view of it lives. Keep ten numbers of
# a large batch and you keep the batch. **Predict** the two byte counts:

# %% topics=["view-keeps-storage-alive"]
batch = torch.zeros(1_000_000)
best = batch[:10]
del batch
print(
    best.numel() * best.itemsize,
    "bytes of elements,",
    best.untyped_storage().nbytes(),
    "bytes kept",
)

# %% [markdown]
# `del batch` removed a name. The four million bytes stay for the sake of ten elements. The same
# happens on disk: `torch.save` writes the storage of what you save, all of it.

# %% topics=["view-keeps-storage-alive"]
import io


def saved_bytes(tensor: torch.Tensor) -> int:
    """Size of the file that ``torch.save`` would write, in bytes."""
    file = io.BytesIO()
    torch.save(tensor, file)
    return file.tell()


saved_bytes(best) > 4_000_000, saved_bytes(best.clone()) < 4_000

# %% [markdown]
# **In practice.** This is how lists of "just the embeddings" or "just the last hidden state" fill a
# GPU, and how a checkpoint of a small part of a model gets as large as the whole.
#
# ### Exercise 2.10 — Release the storage ★★ · 8 min · 2 points
#
# Given any tensor, return two things: how many bytes of storage it keeps alive (an `int`), and a
# tensor of the same values, shape, dtype and device whose storage holds its own elements and nothing
# else. Leave the given tensor as it is: somebody else may still need it.
#
# Example: for `torch.zeros(1000)[:10]` (float32) the first is `4000`, and the second has a storage
# of 40 bytes. Mind that `best[:10]` is contiguous.


# %% nbgrader={"grade_id": "release-the-storage", "solution": true}
def release_the_storage(x: torch.Tensor) -> tuple[int, torch.Tensor]:
    """Bytes of storage that ``x`` keeps alive, and an equal tensor that keeps only its own."""
    ### BEGIN SOLUTION
    return x.untyped_storage().nbytes(), x.clone(memory_format=torch.contiguous_format)
    ### END SOLUTION


# %% nbgrader={"grade_id": "release-the-storage-check", "grade": true, "points": 2}
def check_case(x, name):
    call = f"release_the_storage(x) with x {name}"
    held, own = x.untyped_storage().nbytes(), x.numel() * x.itemsize
    with forbid_changes(x):
        pair = release_the_storage(x)
    assert pair is not None, f"{call} is None: is there an answer yet, and does it return a value?"
    both = isinstance(pair, (tuple, list)) and len(pair) == 2
    assert both, f"{call}: return (bytes, tensor), not {pair!r}"
    check_equal(pair[0], held, f"the bytes in {call}", "measure the storage, in bytes")
    check_close(pair[1], x, f"the tensor in {call}")
    left = pair[1].untyped_storage().nbytes()
    assert left == own, f"{call}: the tensor holds {left} bytes, {own} of its own: is it a copy?"


check_case(torch.arange(1000.0)[:10], "= torch.arange(1000.0)[:10]")
big = torch.arange(600.0, device=device).view(20, 30)
check_case(big[:, 3], "a column")
### BEGIN HIDDEN TESTS
check_case(big[4:8, 5:10].t(), "a transposed slice")
check_case(big[2].expand(4, 30), "an expanded row")
check_case(big[:0], "an empty slice")
check_case(big[7, 7], "a number")
check_case(big.clone().requires_grad_()[3:5], "a tensor with a gradient")
check_case(big.half()[:3], "in half precision")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `x.untyped_storage().nbytes()` measures. Which operations make a new storage, always?
# </details>
# <details><summary>Hint 2</summary>
#
# `contiguous()` makes one only if the tensor is not contiguous. `clone()` always does.
# </details>

# %% [markdown]
# ## 7. Full boxes in another order
#
# We have met notes that skip boxes (`x[:, ::2]`), notes that read a box twice (`expand`, windows) and
# notes that read every box once, in a strange order (`x.t()`). The last kind is special: it
# wastes nothing. PyTorch calls such a tensor *non-overlapping and dense*. For element-wise
# operations such as `exp`, `clone` or `x + 1` the order doesn't matter. They keep the strides of a
# dense input (of the first, if there are several) and step over its memory as it lies:

# %% topics=["contiguity"]
x = torch.arange(12).view(3, 4)
print("x.t()    ", x.t().stride(), "->", (x.t() + 1).stride())
print("x[:, ::2]", x[:, ::2].stride(), "->", (x[:, ::2] + 1).stride())

# %% [markdown]
# The transpose stays transposed. The slice loses its holes.

# %% [markdown]
# ### Exercise 2.11 — No hole, no overlap ★★ · 12 min · 3 points
#
# Say whether a tensor is dense: from the first to the last box that it reads, it reads each exactly
# once. Where the storage begins or ends does not matter, nor does the offset. A tensor with one
# element or none is dense.
#
# Examples: `x`, `x.t()` and `x[1]` are dense; `x[:, ::2]` (holes) and `x[0].expand(3, 4)` (overlap)
# are not. Leave the tensor as it is.


# %% nbgrader={"grade_id": "is-dense", "solution": true}
def is_dense(x: torch.Tensor) -> bool:
    """Whether ``x``, of any shape, reads a gapless run of its storage, each element once."""
    ### BEGIN SOLUTION
    if x.numel() == 0:
        return True
    expected = 1
    for stride, size in sorted(zip(x.stride(), x.shape, strict=True)):
        if size > 1:
            if stride != expected:
                return False
            expected *= size
    return True
    ### END SOLUTION


# %% nbgrader={"grade_id": "is-dense-check", "grade": true, "points": 3}
def check_case(x, dense, because=""):
    with forbid_changes(x):
        answer = is_dense(x)
    call = f"is_dense of size {tuple(x.shape)} and stride {x.stride()}"
    check_equal(answer, dense, call, because)


y = torch.arange(12, device=device).view(3, 4)
check_case(y, True)
check_case(y.t(), True, "every box once, only in another order")
check_case(y[1], True, "the rest of the storage does not matter")
check_case(y[:, ::2], False, "there are holes")
check_case(y[0].expand(3, 4), False, "boxes are read thrice")
check_case(y.as_strided((2, 1, 2), (1, 5, 2)), True, "a dimension of size 1 is never stepped along")
check_case(y[:0], True, "no element, no hole")
### BEGIN HIDDEN TESTS
import itertools
import random

numbers = random.Random(0)
for dims in numbers.choices(range(4), k=100):
    size, step = numbers.choices(range(4), k=dims), numbers.choices((0, 1, 2, 3, 5, 6), k=dims)
    indices = itertools.product(*map(range, size))
    read = [sum(i * s for i, s in zip(index, step, strict=True)) for index in indices]
    dense = len(set(read)) == len(read) == max(read, default=-1) + 1
    why = "it is dense" if dense else "there are holes or overlap"
    check_case(torch.empty(200, device=device).as_strided(size, step, 7), dense, why)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# In some order of the dimensions a dense tensor looks contiguous. Which order?
# </details>
# <details><summary>Hint 2</summary>
#
# Sort the dimensions by stride. The smallest has to be 1, the next the size of the first, and so on.
# </details>
# <details><summary>Hint 3</summary>
#
# Dimensions of size 1 are never stepped along: leave them out before you compare.
# </details>

# %% [markdown]
# ### Memory formats
#
# Images make good use of dense tensors in another order. Their shape in PyTorch is (batch, channel,
# height, width), always. In which order the numbers lie is another question. With *contiguous*
# strides one channel follows the other: all reds, then all greens, then all blues. With
# **channels last** the channels of a pixel lie side by side, as in an image file. Convolutions on
# modern hardware are often faster that way.

# %% topics=["contiguity", "channel-first"]
planes = torch.arange(12).view(1, 3, 2, 2)
pixels = planes.contiguous(memory_format=torch.channels_last)
print(tuple(planes.shape), planes.stride())
print(tuple(pixels.shape), pixels.stride(), "equal:", torch.equal(planes, pixels))

# %% [markdown]
# The same shape, the same values, equal to every eye. Only the boxes know:

# %%
draw_storage(planes, names=["planes (contiguous)"])

# %%
draw_storage(pixels, names=["pixels (channels last)"])

# %% [markdown]
# In the second picture 0, 4, 8 lie together: red, green and blue of one pixel.
#
# ### Exercise 2.12 — Which memory format is it? ★★ · 12 min · 3 points
#
# **First predict.** A batch of shape (8, 3, 32, 64) is stored channels last. Put its four strides
# into `nhwc_strides`, before any machine prints them.
#
# **Then write** a function that names the memory format of a 4-D tensor from its size and stride:
# `"contiguous"`, `"channels_last"`, `"both"` or `"neither"`. Every size is at least 1. The stride of a
# dimension of size 1 does not count, which is how both can be true at once.
#
# Examples: size (1, 3, 2, 2) with stride (12, 4, 2, 1) is `"contiguous"`, with stride (12, 1, 6, 3)
# `"channels_last"`, with stride (24, 8, 4, 2) `"neither"`. One channel, (1, 1, 2, 2) with stride
# (4, 4, 2, 1), is `"both"`.

# %% nbgrader={"grade_id": "memory-format", "solution": true}
nhwc_strides = None
### BEGIN SOLUTION
nhwc_strides = (3 * 32 * 64, 1, 3 * 64, 3)
### END SOLUTION


def memory_format(size: tuple[int, ...], stride: tuple[int, ...]) -> str:
    """The format of (batch, channel, h, w): "contiguous", "channels_last", "both", "neither"."""
    ### BEGIN SOLUTION

    def in_order(*dims: int) -> bool:
        expected = 1
        for dim in dims:
            if size[dim] > 1 and stride[dim] != expected:
                return False
            expected *= size[dim]
        return True

    planes, pixels = in_order(3, 2, 1, 0), in_order(1, 3, 2, 0)
    if planes and pixels:
        return "both"
    return "contiguous" if planes else "channels_last" if pixels else "neither"
    ### END SOLUTION


# %% nbgrader={"grade_id": "memory-format-check", "grade": true, "points": 1}
assert nhwc_strides is not None, "nhwc_strides is still None: predict the four strides first"
four = isinstance(nhwc_strides, (tuple, list)) and len(nhwc_strides) == 4
assert four, f"nhwc_strides is {nhwc_strides!r}: write four strides in a tuple"
truth = torch.empty(8, 3, 32, 64, memory_format=torch.channels_last).stride()
reason = "from one channel to the next it is one step; a step along the width passes one pixel"
if sorted(nhwc_strides) == sorted(truth):
    reason = "the right numbers; now in the order batch, channel, height, width"
assert tuple(nhwc_strides) == truth, f"nhwc_strides is not {tuple(nhwc_strides)}: {reason}"


# %% nbgrader={"grade_id": "memory-format-check-2", "grade": true, "points": 2}
def check_case(size, stride, name, because=""):
    check_equal(memory_format(size, stride), name, f"memory_format({size}, {stride})", because)


check_case((1, 3, 2, 2), (12, 4, 2, 1), "contiguous")
check_case((1, 3, 2, 2), (12, 1, 6, 3), "channels_last")
check_case((1, 3, 2, 2), (24, 8, 4, 2), "neither", "nothing steps by 1: there are holes")
check_case((1, 1, 2, 2), (4, 4, 2, 1), "both", "the stride of the only channel does not count")
check_case((2, 3, 1, 1), (3, 1, 9, 9), "both", "one pixel: its height and width do not count")
### BEGIN HIDDEN TESTS
import itertools
import random

for size in random.Random(0).sample(list(itertools.product((1, 2, 3), repeat=4)), 12):
    ordered = torch.empty(size, device=device)
    last = ordered.contiguous(memory_format=torch.channels_last)
    gaps = torch.empty([2 * n for n in size], device=device)[::2, ::2, ::2, ::2]
    turned = ordered.transpose(2, 3), ordered.transpose(0, 1), last.transpose(2, 3)
    for y in (ordered, last, gaps, *turned, ordered[:1].expand(size)):
        as_pixels = y.is_contiguous(memory_format=torch.channels_last)
        one = "channels_last" if as_pixels else "neither"
        truth = ("both" if as_pixels else "contiguous") if y.is_contiguous() else one
        check_case(tuple(y.shape), y.stride(), truth)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For the prediction: in memory the order is batch, height, width, channel. Compute the row-major
# strides of (8, 32, 64, 3), then put them into the order batch, channel, height, width.
# </details>
# <details><summary>Hint 2</summary>
#
# Contiguous means that the dimensions 3, 2, 1, 0, in this order, have the strides you expect.
# Channels last means the same for 1, 3, 2, 0.
# </details>
# <details><summary>Hint 3</summary>
#
# Walk along such an order with a running product. Compare only where the size is above 1.
# </details>

# %% [markdown]
# **Not everything has strides.** A note of sizes and strides is one *layout*, `torch.strided`. A
# matrix that is nearly all zeros is better kept as a list of what is not zero, and that is a
# layout too. Its parts are strided tensors again; the whole has no storage to point at.

# %% topics=["layouts-other-than-strided"]
sparse = torch.tensor([[0, 0, 3], [4, 0, 0]]).to_sparse()
print(sparse.layout, sparse.indices().tolist(), sparse.values().tolist())
try:
    sparse.untyped_storage()
except NotImplementedError as error:
    print("no storage:", error)

# %% [markdown]
# ## What to take home
#
# | you write | you get | because |
# | --- | --- | --- |
# | `x[1:, ::2]`, `x[3]`, `x[None]` | a view | regular steps fit into a note |
# | `x[[0, 2]]`, `x[x > 5]` | a copy | no stride can say where the elements are |
# | `x.t()`, `x.transpose(0, 1)`, `x.permute(1, 0)` | a view | the strides change places |
# | `x.expand(...)` | a view | a stride of 0 |
# | `x.repeat(...)`, `torch.cat`, `torch.stack`, `flip` | a copy | a new storage is filled |
# | `x.view(...)` | a view or an error | the merge rule decides |
# | `x.reshape(...)`, `x.flatten()` | a view if possible, else a copy | the same rule |
# | `x.contiguous()` | `x` itself, or a copy | it copies where the strides are not row-major |
# | `x.detach()`, `x.numpy()`, `torch.from_numpy(a)` | a view | the memory is shared |
# | `x.clone()`, `torch.tensor(a)` | a copy | always |
#
# **Three mistakes to remember**
#
# 1. Using `view` or `reshape` where an axis has to move. The shape is right and the data is noise.
#    Use `permute`.
# 2. Writing to a slice, a `detach()` or a NumPy array and changing the source. `clone()` first.
# 3. Keeping a small slice of a large tensor. The whole storage stays. `clone()` what you keep.
#
# **Read more.** The PyTorch documentation has a page *Tensor Views* with the list of view
# operations, and *Tensor Attributes* with layouts and memory formats. The tutorial *Channels Last
# Memory Format in PyTorch* measures convolutions. Edward Z. Yang's essay *PyTorch Internals* shows
# how the note and the storage look in the code. Chapter 15 comes back to them.
#
# Next: [Tensor algebra](../03_tensor_algebra/03_tensor_algebra.ipynb), where one line takes the place
# of a loop, and the question is what it costs and whether its digits are right.
