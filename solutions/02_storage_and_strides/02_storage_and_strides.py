# ---
# jupyter:
#   course:
#     title: Storage and strides
#     minutes: 205
#     core: 100
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
# - write such a note yourself: diagonals, sliding windows, a convolution, without copying an element;
# - find memory that a tiny slice keeps alive, and set it free;
# - tell `contiguous` and `channels_last` images apart by their strides.
#
# **It leans on** chapters 00 and 01: making, indexing and broadcasting tensors. **Time:** three hours and
# twenty minutes with all twelve exercises. The sections and exercises marked *core* take under two hours;
# nothing later leans on the rest. You can skip any exercise: nothing else depends on your answer.

# %% nbgrader={"grade_id": "setup", "locked": true}
import numpy as np
import torch
import torch.nn.functional as F
from course_utils import check_close, check_equal, check_predictions, count_operators, device, show
from course_utils import check_states, draw_storage, every_case, forbid_changes, forbid_copies
from course_utils.chapters.storage_and_strides import cases, slips

# %% [markdown]
# The layout of a tensor is the same on every device. So the small tensors of this chapter stay on
# the CPU; the checks also try your functions on `device`.
#
# ## A puzzle to start with · core
#
# A photo comes as (height, width, channel). The network wants (channel, height, width). Here are
# two ways to get there. **Predict:** are `a` and `b` equal?

# %% tags=["shows-false"]
photo = torch.arange(2 * 3 * 3).view(2, 3, 3)  # (height, width, channel)
a = photo.permute(2, 0, 1)
b = photo.view(3, 2, 3)
print("the same shape: ", a.shape == b.shape)
print("the same values:", torch.equal(a, b))

# %% [markdown]
# The same shape, the same eighteen numbers, no error. Yet one of the two is the photo and the other
# is noise. To see which, and why, we have to know where the numbers are. Section 4 has the answer.

# %% [markdown]
# ## 1. One row of boxes, three numbers · core
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
print("box", position, "holds", boxes[position].item())
print("x[1, 2] is", x[1, 2].item())

# %% [markdown]
# A word of caution about a word: the `stride` argument of a convolution is something else. It says
# how far a window moves over an image. The stride of this chapter belongs to a tensor.
#
# ### Exercise 2.1 — From an index to a box ★ · 3 min · 2 points · core
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
examples = {
    ((1, 2), (4, 1)): (6, ""),
    ((3,), (5,), 2): (17, "one dimension: 2 + 3 · 5"),
    ((3,), (5,), 4): (19, "the same from another offset: 4 + 3 · 5"),
    ((5, 2), (0, 3)): (6, "a stride of 0 stays in its box: 5 · 0 + 2 · 3"),
    ((0, 0), (4, 1), 5): (5, "index (0, 0) lies at the offset itself"),
    ((1, 2), (1, 4)): (9, "the transpose has its strides swapped"),
    ((), (), 7): (7, "a zero-dim tensor lies at the offset"),
    ((2, 0, 1, 4, 2, 2), (3, 7, 2, 0, 1, 3), 2): (18, "2 + 2 · 3 + 0 + 1 · 2 + 0 + 2 + 2 · 3"),
    ((50_000, 7), (70_001, 1)): (3_500_050_007, "int32 cannot hold it, and float32 rounds it"),
}
with every_case() as case:
    for arguments, (right, because) in examples.items():
        with case(f"element_offset{arguments}"):
            slips.check_position(element_offset(*arguments), right, because)
### BEGIN HIDDEN TESTS
import random

numbers = random.Random(0)
for _ in range(50):
    index = tuple(numbers.randint(0, 3) for _ in range(numbers.randint(1, 4)))
    step, start = tuple(numbers.randint(0, 9) for _ in index), numbers.randint(0, 9)
    row = torch.arange(200, device=device)  # each box holds its own position
    value = row.as_strided([n + 1 for n in index], step, start)[index].item()
    check_equal(element_offset(index, step, start), value, f"with {index}, {step}, {start}")
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
print("x[1] makes a new tensor each time:", row is not x[1])
print("address of the row's storage is x's:", row.untyped_storage().data_ptr() == x.data_ptr())

# %% [markdown]
# *"Taking a row of a matrix creates no new tensor"* is often said. It does create a tensor, each time
# anew. What it does not create is a storage. `data_ptr()` is the address where a storage begins, so it
# proves that two tensors share memory. We will need it often; here it is as a function:


# %% topics=["storage-pointer-check"] tags=["shows-false"]
def same_storage(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors lie in the same storage."""
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


print("x and x.t():", same_storage(x, x.t()))
print("x and x + 0:", same_storage(x, x + 0))

# %% [markdown]
# A storage is *untyped*: bytes, nothing more. The dtype belongs to the tensor's note.
# So two tensors of different dtype can share one storage. Here are the bits of 1.0, read as whole
# numbers:

# %% errata=["storage-owns-dtype"]
floats = torch.tensor([1.0, 2.0])
bits = floats.view(torch.int32)
bits[1] = bits[0]
print("one storage:", same_storage(floats, bits))
print("as bits:    ", [hex(n) for n in bits.tolist()])
print("as floats:  ", floats)

# %% [markdown]
# ### Exercise 2.2 — Read the note before the machine does ★ · 8 min · 3 points · core
#
# Ten views of `x`, the 3 × 4 tensor of the pictures. For each, write `(size, stride, offset)`: two tuples
# and a whole number. As an example, `x[1]` is `((4,), (1,), 4)`.
#
# Use the picture, a pencil and the formula; do not ask the machine. `x.diagonal()` holds the elements
# [0, 0], [1, 1] and [2, 2]. A tensor with no dimension has the empty tuple `()` for size and stride. The
# check below is folded, because it explains every answer. Select it and press Shift + Enter; unfold it
# afterwards.

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
predict_strides["x[2]"], predict_strides["x[:, 1]"] = ((4,), (1,), 8), ((3,), (4,), 1)
predict_strides["x[1:, 1:3]"] = ((2, 2), (4, 1), 5)
predict_strides["x[:, ::2]"], predict_strides["x[::2, 3]"] = ((3, 2), (4, 2), 0), ((2,), (8,), 3)
predict_strides["x[2, 1]"], predict_strides["x.t()"] = ((), (), 9), ((4, 3), (1, 4), 0)
predict_strides["x.t()[1:]"] = ((3, 3), (1, 4), 1)
predict_strides["x.view(2, 6)"], predict_strides["x.diagonal()"] = (
    ((2, 6), (6, 1), 0),
    ((3,), (5,), 0),
)
### END SOLUTION

# %% nbgrader={"grade_id": "predict-strides-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
form = "write (size, stride, offset); a tuple of one number needs a comma, as in (4,)"
with every_case() as case:
    for name, guess in predict_strides.items():
        with case(name):
            parts = guess if isinstance(guess, (tuple, list)) else ()
            tuples = [isinstance(part, (tuple, list)) for part in parts]
            assert guess in (None, ...) or tuples == [True, True, False], f"{guess!r}? {form}"
because = {
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
}
whole = torch.arange(10, 22).view(3, 4)
views = {name: eval(name, {"x": whole}) for name in because}
notes = {name: (tuple(v.shape), v.stride(), v.storage_offset()) for name, v in views.items()}
check_predictions(predict_strides, notes, because)

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
# ## 2. Contiguous: the order you would have chosen · core
#
# Strides can be anything. So which ones does a fresh tensor get? Those that make reading order and
# memory order the same. The last dimension steps by 1, and each dimension before it steps over
# everything behind it. This is called **row-major** order, and such a tensor is **contiguous**.
# **Predict** both lines:

# %% topics=["contiguity"] tags=["shows-false"]
t = x.t()
print("x:", x.stride(), "contiguous:", x.is_contiguous())
print("t:", t.stride(), "contiguous:", t.is_contiguous())

# %% [markdown]
# How are row-major strides computed? Walk from the last dimension to the first and carry a product. For
# the shape (2, 3, 4): the last stride is 1; one step before it passes 4 boxes; one step before that
# passes 4 · 3 = 12. So (12, 4, 1).

# %%
step = 1
for size in reversed((2, 3, 4)):
    print("size", size, "stride", step)
    step *= size
print("PyTorch:", torch.empty(2, 3, 4).stride())

# %% [markdown]
# > **Often said.** *"A tensor is not contiguous because it consists of several separate blocks of
# > memory."* There is always one storage. "Not contiguous" says only that the strides are not the
# > row-major ones for the shape.

# %% errata=["noncontiguous-is-scattered-blocks"] tags=["shows-false"]
print("t contiguous:        ", t.is_contiguous())
print("in the storage of x: ", same_storage(t, x))

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

# %% tags=["shows-false"]
print("strides of (2, 0, 3):", torch.empty(2, 0, 3).stride(), " of ():", torch.empty(()).stride())
print("x[:, :1]:", x[:, :1].stride(), "contiguous:", x[:, :1].is_contiguous())
print("x[:1, :]:", x[:1, :].stride(), "contiguous:", x[:1, :].is_contiguous())

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

steps, wide = [1, 2, 4, 8, 16], torch.ones(16 * 32_000)
strided = [wide[::step][:32_000] for step in steps]
seconds = [min(timeit.repeat(view.sum, number=5, repeat=20)) / 5 for view in strided]
figure, axes = plt.subplots(figsize=(7, 3))
axes.plot(steps, [1e9 * time / 32_000 for time in seconds], marker="o")
axes.set_xscale("log", base=2)
axes.set_xticks(steps, map(str, steps))
axes.set(xlabel="stride, in elements", ylabel="nanoseconds per element", ylim=(0, None))
axes.set_title("The same sum, over numbers that lie further and further apart")
show(figure, "A curve: the time per element grows several times as the stride goes from 1 to 16.")

# %% [markdown]
# The exact curve is your machine's. Its lesson holds everywhere: neighbours in memory are cheap, and
# the further apart the numbers lie, the more of what is fetched goes unused. (The first step, from 1
# to 2, has another cause: with stride 1 the processor adds several numbers by one instruction. Where the
# curve is flat, a fast cache still hides what is wasted.) The plot ends at 16 on purpose. From there on
# each number costs one line, whatever the stride, and what would be measured is how well the machine
# guesses the next line (prefetching) and translates addresses. For serious timing, of a GPU above all,
# use `torch.utils.benchmark`: it waits for the device.

# %% [markdown]
# ## 3. View or copy? · core
#
# A view costs nothing. It also ties two tensors together: whoever writes through one changes the other.
# **Predict** what is left of `y` after the last line.

# %% topics=["aliasing-rules"]
y = torch.zeros(2, 3)
first_column = y[:, 0]
first_column += 7
y

# %% [markdown]
# Here that may be what you want. In a function that was handed a slice of a caller's data, it is a
# bug that no error message will ever report. So you have to know which operations share.
#
# **Indexing** comes in two kinds. With integers, slices, `None` and `...` it is *basic*: the result
# has regular steps, so a note can describe it, and you get a view. With lists, masks
# or index tensors of one dimension or more it is *advanced*: the chosen elements can lie anywhere, no
# stride can say where, and PyTorch has to copy.

# %% topics=["aliasing-rules"] errata=["indexing-always-shares"]
print("slice  ", same_storage(x, x[1:]))
print("list   ", same_storage(x, x[[1, 2]]))
print("mask   ", same_storage(x, x[x > 3]))

# %% [markdown]
# > **Often said.** *"Indexing never allocates memory."* True for basic indexing alone.
#
# **Cutting up** gives views, **putting together** copies. Cutting only needs new notes. Putting
# together needs one storage that holds everything, even when there is only one part.

# %% errata=["cat-stack-share-memory"] tags=["shows-false"]
print("split, chunk:", all(same_storage(x, part) for part in (*x.split(2), *x.chunk(2))))
print("cat, stack:  ", same_storage(x, torch.cat([x])) or same_storage(x, torch.stack([x])))

# %% [markdown]
# **Repeating** can be had both ways. `repeat` writes the copies out. `expand` sets a stride to 0:
# step as often as you like, you stay in the same box.

# %% topics=["expand-vs-repeat"]
few = torch.arange(4)
for name, y in (("repeat", few.repeat(3, 1)), ("expand", few.expand(3, 4))):
    print(f"{name}: {y.untyped_storage().nbytes()} bytes, stride {y.stride()}")
draw_storage(few, few.expand(3, 4), names=["few", "few.expand(3, 4)"])

# %% [markdown]
# Each box is read three times. What would it mean to write to one of the three? PyTorch refuses:

# %% topics=["expand-vs-repeat"]
try:
    few.expand(3, 4).add_(1)
except RuntimeError as error:
    print(str(error).split(".")[0])

# %% [markdown]
# **No underscore, no change?** A method with a trailing underscore writes in place. A method without one
# leaves its source alone, it is often said. Not quite: `t()` changes nothing itself, but whoever writes to
# its result writes to the source.

# %% topics=["aliasing-rules"] errata=["underscore-rule"]
source = torch.zeros(2, 3)
source.t()[0, 1] = 5
source

# %% [markdown]
# **`detach` is a view too.** It cuts the tie to the gradient, not the tie to the memory.

# %% topics=["copying-table"] errata=["detach-returns-copy"]
weight = torch.ones(3, requires_grad=True)
free = weight.detach()
free[0] = -1
print(weight)

# %% [markdown]
# > **Often said.** *"`detach()` gives a copy without gradient."* It gives a view without gradient.
# > The copy is `detach().clone()`.
#
# **NumPy** arrays on the CPU have sizes and strides as well (NumPy counts them in bytes). So the two
# libraries can look at the same memory, in both directions:

# %% topics=["from-numpy-sharing"] errata=["data-numpy-is-independent"] tags=["shows-deprecated"]
t = torch.zeros(3)
shared, by_data, copied = t.numpy(), t.data.numpy(), t.clone().numpy()
t.add_(1)
print("t.numpy():        ", shared)
print("t.data.numpy():   ", by_data)
print("t.clone().numpy():", copied)

# %% [markdown]
# `.data`, which old code is fond of, breaks no link. Only a copy does: `clone()` on one side, `.copy()`
# on the other.
#
# From NumPy to PyTorch, `torch.from_numpy` shares and wants an array. `torch.as_tensor` takes
# nearly anything and shares if it can. `torch.tensor` always copies.

# %% topics=["from-numpy-sharing"]
array = np.zeros(3, dtype=np.float32)
linked, loose = torch.from_numpy(array), torch.tensor(array)
array += 1
print("from_numpy:", linked)
print("tensor:    ", loose)
print("as_tensor of a tensor is the tensor:", torch.as_tensor(linked) is linked)

# %% [markdown]
# NumPy reverses an array with a *negative* stride: start at the end, step by −1. PyTorch has no
# negative strides. **Predict** which of the two conversions fails.

# %% topics=["negative-stride-arrays"] errata=["negative-stride-cause"]
array = np.arange(4)
print(torch.from_numpy(array[::2]))
try:
    torch.from_numpy(array[::-1])
except ValueError as error:
    print(str(error).split(",")[0])

# %% [markdown]
# > **Often said.** *"A reversed array fails because its memory is not contiguous."* `array[::2]`
# > is not contiguous either, and it goes through. The negative stride is the cause. To reverse a
# > tensor, use `flip`, which copies; for an array, `array[::-1].copy()`.

# %% topics=["horizontal-flip-indexing"] tags=["shows-false"]
forward = torch.arange(4)
print(forward.flip(0))
print("a view:", same_storage(forward, forward.flip(0)))

# %% [markdown]
# ### Exercise 2.3 — View or copy? ★★ · 8 min · 3 points · core
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
known = (None, ..., "view", "copy")
odd = [f"{name}: {guess!r}" for name, guess in view_or_copy.items() if guess not in known]
assert not odd, f'write "view" or "copy", not {", ".join(odd)}'
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
# ## 4. When is a view possible? · core
#
# `x[:, ::2]` is not contiguous, and still `reshape` gave a view of it. So "contiguous" cannot be
# the condition. What is?
#
# > **Often said.** *"`view()` works only on contiguous tensors."* Take the last two columns away and
# > try:

# %% topics=["view-stride-rule"] errata=["view-requires-contiguous"] tags=["shows-false"]
y = torch.arange(24).view(4, 6)[:, :4]
print("contiguous:", y.is_contiguous(), " stride:", y.stride())
print("as (4, 2, 2):", y.view(4, 2, 2).stride())
try:
    y.view(16)
except RuntimeError as error:
    print("as (16,):", str(error).split("(")[0])

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
# flattened. Row-major strides merge everywhere. They are not the only ones that do: every second column
# of `x` has holes and is not contiguous. **Predict** whether its six elements can be one dimension.

# %% topics=["view-stride-rule"] tags=["shows-false"]
columns = x[:, ::2]
print(
    "size", tuple(columns.shape), "stride", columns.stride(), "contiguous:", columns.is_contiguous()
)
print("as (6,): stride", columns.view(6).stride())

# %% [markdown]
# 4 == 2 · 2: the two steps of 2 along a row lead to where the next row begins. So "contiguous" means only
# that the steps are the row-major ones; the rule asks for less.
#
# > **Often said.** *"`reshape` shares memory like `view`"* and *"`reshape` of a non-contiguous
# > tensor always copies"*: both have been taught, and both are wrong. `reshape` gives a view
# > whenever the rule allows one, and copies otherwise. If your code depends on which, use `view`,
# > which says no, or `clone`, which always copies.

# %% topics=["reshape-view-basics"] errata=["reshape-sharing-absolutes"]
print("not contiguous, yet a view:", same_storage(x, columns.reshape(3, 2, 1)))
print("can't be a view, so a copy:", not same_storage(x, x.t().reshape(-1)))

# %% [markdown]
# ### The puzzle, solved
#
# `view` keeps the reading order and cuts it anew. `permute` keeps every element at its index, with the
# indices in another order: it reorders sizes and *strides*. So from (height, width, channel) to
# (channel, height, width) only `permute` moves the axis. Look at the notes, then at a photo.

# %% topics=["permute-is-not-view", "transpose-permute"] errata=["view-interchangeable-with-permute"] tags=["shows-false"]
photo = torch.arange(2 * 3 * 3).view(2, 3, 3)
a, b = photo.permute(2, 0, 1), photo.view(3, 2, 3)
for name, y in (("photo", photo), ("permute", a), ("view", b)):
    print(f"{name:8}size {tuple(y.shape)}, stride {y.stride()}")
print("first channel by permute is photo's:", torch.equal(a[0], photo[..., 0]))
print("first channel by view is photo's:   ", torch.equal(b[0], photo[..., 0]))

# %% topics=["permute-is-not-view", "channel-first"]
rows, columns = torch.meshgrid(torch.linspace(-1, 1, 60), torch.linspace(-1, 1, 90), indexing="ij")
sun = (rows**2 + (1.5 * columns) ** 2 < 0.4).float()  # 90 pixels wide, 60 high: a round sun
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
# > **Often said.** *"`view` and `permute` both keep the values, so either may be used as long as
# > the sizes fit."* The values stay, their places do not.

# %% [markdown]
# ### Exercise 2.4 — The rule itself ★★★ · 30 min · 5 points
#
# Write what `view` does inside. Given the size and stride of a tensor and a new size, return the
# strides of the view, as a tuple or a list, or `None` if there is no such view. Compute with numbers,
# without making a tensor.
#
# - If the two sizes hold different numbers of elements, return `None`.
# - If they hold no element at all, any whole numbers will do as strides.
# - A dimension of size 1 may have any stride, in the input and in your result.
# - No size is negative (there is no −1 to be inferred); a size may be `()`, which holds one element.
#
# Examples: `view_strides((3, 4), (4, 1), (2, 6))` is `(6, 1)`. `view_strides((3, 4), (6, 1), (3, 2, 2))`
# is `(6, 2, 1)`. `view_strides((4, 3), (1, 4), (12,))` is `None`.


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
    if truth is None:
        return check_equal(answer, truth, call, because)
    assert answer is not None, f"{call}: None, as if only a copy could do it; expected {truth}"
    fits = isinstance(answer, (tuple, list)) and len(answer) == len(new_size)
    assert fits and all(type(s) is int for s in answer), f"{call}: {answer!r} is not its strides"
    used = [d for d, n in enumerate(new_size) if n > 1 and 0 not in new_size]
    note = f" ({because})" if because else ""
    assert all(answer[d] == truth[d] for d in used), f"{call}: expected {truth}, got {answer}{note}"


examples = [
    ((3, 4), (4, 1), (2, 6), (6, 1), "these two merge, and are cut anew"),
    ((3, 4), (6, 1), (3, 2, 2), (6, 2, 1), "a split is always possible"),
    ((4, 3), (1, 4), (12,), None, "3 · 4 is not 1: these two do not merge"),
    ((3, 4), (6, 1), (4, 3), None, "rows of four cannot be cut into rows of three"),
    ((3, 2), (4, 2), (6,), (2,), "2 · 2 is 4: these two merge, though there are holes"),
    ((3, 4), (4, 1), (3, 2), None, "12 elements are not 6"),
    ((3, 1, 2), (2, 7, 1), (6,), (1,), "a dimension of size 1 may have any stride"),
    ((1, 1), (3, 5), (), (), "one element fits the size (), which has no stride"),
    ((), (), (1, 1), (1, 1), "one element of size () may get dimensions of size 1"),
    ((), (), (), (), "one element of size () stays as it is"),
    ((2, 0), (1, 1), (0, 5, 2), (10, 2, 1), "without elements any strides will do"),
    ((0, 3), (3, 1), (2,), None, "no element is not two"),
    ((3, 4), (1, 3), (2, 6), None, "other strides than in the first case: the strides decide"),
    ((3, 4), (0, 0), (12,), (0,), "0 is 4 · 0: these two merge, in one box"),
    ((4, 3), (1, 4), (2, 3, 2), None, "a row of three cannot be cut into pairs"),
    ((6,), (1,), (1, 6, 1), (6, 1, 1), "sizes of 1 may be added at both ends"),
    ((2, 6, 6, 1), (72, 12, 2, 2), (6, 4, 3), (24, 6, 2), "all merge, and are cut anew"),
    ((2, 4, 6), (0, 12, 2), (2, 8, 3), (0, 6, 2), "an expanded dimension stays apart"),
]
with count_operators() as counts, every_case(at_most=18) as case:
    for size, stride, new_size, truth, because in examples:
        with case(because):
            check_case(size, stride, new_size, truth)
assert not counts, f"compute with numbers, without making a tensor: {', '.join(counts)} ran"
with every_case(at_most=18) as case:
    for size, stride, new_size, truth, because in cases.notes_to_view():
        with case(because):
            check_case(size, stride, new_size, truth)
### BEGIN HIDDEN TESTS
import random

numbers = random.Random(0)


def any_size(elements):
    size = [1] * numbers.randint(0, 1)
    while elements > 1:
        size.append(numbers.choice([n for n in range(2, elements + 1) if elements % n == 0]))
        elements //= size[-1]
    return [0, *size] if elements == 0 else numbers.sample(size, len(size))


for _ in range(40):
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
# ## 5. Write the note yourself · core
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

# %% [markdown]
# ### Exercise 2.5 — The other way round ★ · 6 min · 3 points · core
#
# Now you are given the output and write the note. The storage is that of `m` above: sixteen boxes, and box
# 5 holds the number 5. For each of the six tensors below write `(size, stride, offset)` so that
# `m.as_strided(size, stride, offset)` is that tensor. One of them has no note: write `"impossible"`.
#
# | name | tensor |
# | --- | --- |
# | `"a row, three times"` | `[[4, 5, 6, 7], [4, 5, 6, 7], [4, 5, 6, 7]]` |
# | `"two columns as rows"` | `[[0, 4, 8, 12], [1, 5, 9, 13]]` |
# | `"the anti-diagonal"` | `[3, 6, 9, 12]` |
# | `"windows that overlap"` | `[[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]]` |
# | `"the four corners"` | `[[0, 3], [12, 15]]` |
# | `"the first column, upwards"` | `[12, 8, 4, 0]` |
#
# Example: for `[2, 6, 10, 14]`, the third column, it is `((4,), (4,), 2)`.

# %% nbgrader={"grade_id": "write-the-note", "solution": true}
write_the_note = {
    "a row, three times": None,
    "two columns as rows": None,
    "the anti-diagonal": None,
    "windows that overlap": None,
    "the four corners": None,
    "the first column, upwards": None,
}
### BEGIN SOLUTION
write_the_note = {
    "a row, three times": ((3, 4), (0, 1), 4),
    "two columns as rows": ((2, 4), (1, 4), 0),
    "the anti-diagonal": ((4,), (3,), 3),
    "windows that overlap": ((3, 4), (2, 1), 0),
    "the four corners": ((2, 2), (12, 3), 0),
    "the first column, upwards": "impossible",
}
### END SOLUTION

# %% nbgrader={"grade_id": "write-the-note-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
column = torch.arange(4)
wanted = {
    "a row, three times": (torch.arange(4, 8).repeat(3, 1), "down it stays in its boxes"),
    "two columns as rows": (torch.stack([4 * column, 4 * column + 1]), "across it passes a row"),
    "the anti-diagonal": (3 * column + 3, "one down and one to the left"),
    "windows that overlap": (torch.arange(4) + 2 * torch.arange(3)[:, None], "down it steps by 2"),
    "the four corners": (torch.tensor([[0, 3], [12, 15]]), "how far is it from 0 to 12?"),
    "the first column, upwards": (None, "it would have to step by -4, and no stride is negative"),
}


def check_note(note, target, because):
    boxes = torch.arange(16)
    assert note not in (None, ...), "still blank"
    if target is None:
        assert note == "impossible", f"{note!r} does not read it: {because}"
        return
    assert note != "impossible", f"there is a note for it: {because}"
    parts = note if isinstance(note, (tuple, list)) else ()
    form = [isinstance(part, (tuple, list)) for part in parts] == [True, True, False]
    assert form, f"{note!r}? write (size, stride, offset), with the comma in (4,)"
    size, stride, offset = note
    assert tuple(size) == tuple(target.shape), f"its size is {tuple(target.shape)}, not {size}"
    assert len(stride) == len(size), f"{len(size)} dimensions need as many strides, not {stride}"
    legal = all(type(n) is int and n >= 0 for n in (*stride, offset))
    assert legal, f"strides and offset are whole numbers from 0 on, not {stride} and {offset}"
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    assert last < 16, f"{note!r} reads up to box {last}, and there are sixteen: {because}"
    read = boxes.as_strided(size, stride, offset)
    assert torch.equal(read, target), f"{note!r} reads {read.tolist()}: {because}"


with every_case() as case:
    for name, (target, because) in wanted.items():
        with case(name):
            check_note(write_the_note.get(name), target, because)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The offset is the first number of the tensor. Each stride is the difference between two neighbours along
# that dimension.
# </details>
# <details><summary>Hint 2</summary>
#
# If neighbours are equal, the stride is 0. If the numbers fall, the stride would be negative.
# </details>

# %% [markdown]
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
# ### Exercise 2.6 — The trace, by strides ★★ · 12 min · 3 points
#
# Sum the diagonal of a square matrix, or its anti-diagonal (from the top right to the bottom left),
# with one `as_strided` and one `sum`. Return a zero-dim tensor, in the dtype that this `sum` gives.
#
# - The matrix may be any view: transposed, a slice with an offset, expanded. It may be 1 × 1 or 0 × 0.
# - Strides must not be negative: think about which corner to start from.
# - Other views are allowed, copies and other computations are not, and the matrix stays as it is.
#
# Example: for `[[1, 2], [3, 5]]` the trace is 6 and the anti-diagonal's sum is 5.


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
from functools import partial

from course_utils import check_value


def check_case(matrix, anti):
    with forbid_changes(matrix), forbid_copies(up_to=8), count_operators() as counts:
        total = trace_by_strides(matrix, anti) if anti else trace_by_strides(matrix)
    expected = (matrix.flip(1) if anti else matrix).diagonal().sum()
    known = partial(slips.traces, matrix, anti)
    check_value(total, expected, "the sum", known, rtol=0, atol=0)
    ran = ", ".join(f"{count} × {name}" for name, count in counts.items())
    computed = {name: count for name, count in counts.items() if not slips.is_view(name)}
    both = (counts["as_strided"], computed) == (1, {"sum": 1}) or not len(matrix)
    assert both, f"not one as_strided and one sum; what ran: {ran or 'nothing'}"


kinds = torch.float64, torch.float16, torch.bool, torch.complex64, torch.int32, torch.bfloat16
with every_case() as case:
    for name, make in cases.square_matrices(*kinds).items():
        for anti in (False, True):
            with case(f"the {'anti-diagonal' if anti else 'trace'} of {name}"):
                check_case(make(), anti)
half = torch.arange(9.0, device=device).view(3, 3) / 2
check_states(trace_by_strides, half, True, what="trace_by_strides(matrix, True)")
### BEGIN HIDDEN TESTS
squares = torch.arange(48, device=device).view(6, 8) ** 2
turned, wide, same = squares[1:4, 2:5].t(), squares[::2, ::3], squares[:5, :1].expand(5, 5)
for matrix in (turned, wide, wide.double(), same, squares[:6, :6] % 3 == 0):
    check_case(matrix, False)
    check_case(matrix, True)
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
# window to the next. `Tensor.unfold(dimension, size, step)` writes that note for you. Here the windows
# begin two boxes apart:

# %% topics=["unfold-patches"]
signal = torch.arange(7)
windows = signal.unfold(0, 3, 2)
print(windows)
draw_storage(signal, windows, names=["signal", "signal.unfold(0, 3, 2)"], windows=0)

# %% [markdown]
# Boxes 2 and 4 are read twice: they belong to two windows.
#
# ### Exercise 2.7 — Every window, no copy ★ · 5 min · 2 points · core
#
# Return every window of length `k` of a 1-D tensor, `step` elements apart, as a view of shape
# (number of windows, `k`). Not a single element may be copied.
#
# - A last window that would not be full is left out.
# - `1 <= k <= len(x)` and `step >= 1` hold; with `step > k` the windows have gaps between them.
# - `x` may itself be a view with any stride.
#
# Example: `sliding_windows(torch.arange(9), 3, 2)` is `[[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 8]]`.


# %% nbgrader={"grade_id": "sliding-windows", "solution": true}
def sliding_windows(x: torch.Tensor, k: int, step: int = 1) -> torch.Tensor:
    """All full windows of ``x`` of shape (length,), as a view of shape (windows, k)."""
    ### BEGIN SOLUTION
    windows = (len(x) - k) // step + 1
    return x.as_strided((windows, k), (step * x.stride(0), x.stride(0)))
    ### END SOLUTION


# %% nbgrader={"grade_id": "sliding-windows-check", "grade": true, "points": 2}
line = torch.arange(30, device=device)
examples = {
    "of nine elements": (line[:9], 3, 2),
    "of nine other elements": (line[9:18], 3, 2),
    "of six elements in torch.complex64, a step beyond the end": (line[:6] * 1j, 2, 7),
    "of eight elements, whose last window would not be full": (line[:8], 3, 2),
    "a view with stride 3": (line[1::3], 3, 2),
    "of ten elements, with gaps between the windows": (line[:10], 2, 4),
    "of seven elements, in torch.float64": (line[:7].double(), 3, 1),
    "of six elements, in torch.bfloat16": (line[:6].bfloat16(), 4, 1),
    "a view with stride 3, windows side by side and a rest": (line[1::3], 4, 4),
    "of five elements, all of them one window": (line[2:7], 5, 2),
    "of four elements, windows of one": (line[:4], 1, 3),
    "an expanded element": (line[4].expand(6), 3, 2),
}
with every_case() as case:
    for name, (x, k, step) in (examples | cases.lines()).items():
        with case(f"sliding_windows(x, {k}{f', {step}' if step > 1 else ''}) with x {name}"):
            slips.check_windows(sliding_windows, x, k, step)
check_states(sliding_windows, line / 2, 4, 3, what="sliding_windows(x, 4, 3)")
### BEGIN HIDDEN TESTS
for y in (line.view(5, 6)[:, 2], line[4].expand(6), line[1::3], line.double()):
    for k, step in ((1, 1), (2, 1), (3, 2), (1, 3), (2, 4), (len(y), 1), (2, len(y))):
        slips.check_windows(sliding_windows, y, k, step)
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

# %% [markdown]
# ### Exercise 2.8 — One channel, no padding ★★ · 12 min · 3 points
#
# A window may be two-dimensional. A grey image has shape (height, width), a kernel (kernel height, kernel
# width). At each place where the kernel fits, the window below it is multiplied by it, element by
# element, and summed up. Write that in two lines:
#
# 1. all windows as a view of shape (new height, new width, kernel height, kernel width), by one
#    `as_strided` (or two calls of `Tensor.unfold`);
# 2. the product with the kernel, summed over the last two dimensions.
#
# Image and kernel are floats of one dtype; either may be any view; the kernel is not larger than the image.
# The result has shape (height − kernel height + 1, width − kernel width + 1). No loop, no convolution, no
# `F.unfold`. A gradient is not asked for.
#
# Example: the image `[[1, 2, 3], [4, 5, 6]]` and the kernel `[[1, 10]]` give `[[21, 32], [54, 65]]`.


# %% nbgrader={"grade_id": "one-channel", "solution": true}
def one_channel(image: torch.Tensor, kernel: torch.Tensor) -> torch.Tensor:
    """The kernel (kh, kw) at each place of the image (h, w): (h - kh + 1, w - kw + 1)."""
    ### BEGIN SOLUTION
    (height, width), (kh, kw) = image.shape, kernel.shape
    size = (height - kh + 1, width - kw + 1, kh, kw)
    windows = image.as_strided(size, image.stride() * 2)
    return (windows * kernel).sum(dim=(2, 3))
    ### END SOLUTION


# %% nbgrader={"grade_id": "one-channel-check", "grade": true, "points": 3}
table = torch.arange(1.0, 49.0, dtype=torch.float64, device=device).view(6, 8) ** 2
ruler = torch.tensor([[1.0, 10.0]], device=device)
odd = table.where(table != 81, torch.inf).where(table != 400, torch.nan)
examples = {
    "the example": (torch.arange(1.0, 7.0, device=device).view(2, 3), ruler),
    "a kernel of 2 × 3, in float64": (table + 2**30, table[:2, :3] - table[:2, :3].mean()),
    "a slice with an offset": (table[1:5, 2:6], table[:2, :2]),
    "a transposed image": (table.t(), table[:2, :3]),
    "an expanded row, and a transposed kernel": (table[0].expand(5, 8), table[:3, :2].t()),
    "a kernel as large as the image": (table[:2, :3], table[2:4, 1:4]),
    "a kernel of one number, with fractions": ((table / 7).float(), (table[1:2, 1:2] / 3).float()),
    "in torch.float16": (table[:2, :4].half(), ruler.half()),
    "in torch.bfloat16, a column of ones": (table[:2, :4].bfloat16(), (ruler.t() ** 0).bfloat16()),
    "an inf and a NaN in the image; times 0, either is NaN": (odd, ruler.double() - 1),
}
with every_case() as case:
    for name, (image, kernel) in (examples | cases.images()).items():
        with case(name):
            slips.check_one_channel(one_channel, image, kernel)
check_states(one_channel, table, table[:2, :3], what="one_channel(image, kernel)")
### BEGIN HIDDEN TESTS
slips.check_one_channel(one_channel, table[::2, ::3], table[:3, :2].t()[:, :2])
slips.check_one_channel(one_channel, table[0].expand(5, 8), table[:3, :1])
slips.check_one_channel(one_channel, table.flip(0)[1:, 1:], table[:1, :1])
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The four dimensions: where the window is (two), where in the window (two). One step to the next window
# down is the same step as one row down inside a window.
# </details>
# <details><summary>Hint 2</summary>
#
# So the four strides are the two of the image, twice.
# </details>

# %% [markdown]
# ### Exercise 2.9 — A convolution is a view and a product ★★★ · 25 min · 4 points
#
# Now with a batch, channels, a stride and padding: compute what
# `F.conv2d(x, weight, stride=stride, padding=padding)` computes.
#
# 1. Pad with `F.pad(x, (left, right, top, bottom))`.
# 2. Make all windows a view of six dimensions, by one `as_strided` (or two calls of `Tensor.unfold`).
# 3. Contract it with the weight by one `torch.einsum` or another single product.
#
# No loop, no convolution, no `F.unfold`. A gradient is not asked for.
#
# Shapes: `x` (batch, in, height, width), `weight` (out, in, kernel height, kernel width), result
# (batch, out, new height, new width) with
# `new height = (height + 2 * padding - kernel height) // stride + 1`. `x` may be any view.
#
# Example: a 1 × 1 × 3 × 3 image of ones and a 2 × 2 kernel of ones give a 2 × 2 result of fours.
#
# If `einsum` is new to you: `torch.einsum("ij,jk->ik", a, b)` names the dimensions of each input and
# of the result by letters. A letter that is missing from the result is summed over, so this is `a @ b`.


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
from functools import partial

from course_utils import check_value


def check_case(x, weight, stride, padding):
    with forbid_changes(x, weight), count_operators() as counts:
        named = {"stride": stride} if stride > 1 else {}
        named |= {"padding": padding} if padding else {}
        places = tuple(named.values()) if len(named) == 2 else ()  # both go by their places
        result = conv_by_strides(x, weight, *places, **({} if places else named))
    expected = F.conv2d(x, weight, stride=stride, padding=padding)
    known = partial(slips.convolutions, x, weight, stride, padding)
    close = 1e-12 if x.dtype == torch.float64 else 1e-5
    check_value(result, expected, "the result", known, rtol=close, atol=close)
    slips.check_view_of_windows(counts, needed=len(x) > 0)
    products = sum(counts[name] for name in slips.PRODUCTS)
    one = products == 1 or not len(x)  # without an image nothing need be multiplied
    assert one, f"contract all windows at once: one einsum, not {products} products"


x = torch.arange(40.0, dtype=torch.float64, device=device).view(1, 2, 5, 4) / 3
weight = torch.arange(36.0, dtype=torch.float64, device=device).view(3, 2, 2, 3) - 12
ones, pixels = torch.ones(1, 1, 3, 3, device=device), x.to(memory_format=torch.channels_last)
examples = {
    "a 2 × 2 kernel of ones over ones": (ones, ones[..., :2, :2], 1, 0),
    "a contiguous image": (x, weight, 1, 0),
    "a stride alone": (x, weight, 2, 0),
    "a stride and padding": (x, weight, 2, 1),
    "a channels_last image (strides in another order)": (pixels, weight, 1, 0),
    "a slice (with gaps and an offset)": (x[:, :, 1:, ::2], weight[..., :2], 1, 0),
    "two images": (torch.cat([x, 2 - x]), weight, 1, 0),
    "no image, in torch.float16": (x[:0].half(), weight.half(), 1, 0),
    "a NaN in the image": (x.where(x != 4, torch.nan), weight, 1, 0),
    "windows side by side, and a row left over": (x, weight[..., :2], 2, 0),
    "a stride beyond the kernel": (x, weight, 4, 0),
    "a 1 × 1 kernel": (x, weight[..., :1, :1], 2, 0),
    "a channels_last image, padded": (pixels, weight, 1, 2),
    "one image three times, expanded": (x.expand(3, 2, 5, 4), weight, 1, 1),
    "a turned image, a turned weight": (x.mT, weight.mT, 1, 0),
    "a weight with gaps": (x, weight[:, :, ::2, 1:], 2, 0),
    "one channel expanded to two": (x[:, :1].expand(1, 2, 5, 4), weight, 2, 0),
    "a kernel as large as the image": (x[..., :2, :3], weight, 3, 0),
    "padding beyond the kernel, in torch.float32": (x.float(), weight[:1].float(), 2, 3),
    "an inf at the edge": (x.where(x != 0, torch.inf), weight[:, :, :1], 1, 1),
    "the sizes of a case before, in torch.float32": (x.float(), weight.float(), 2, 1),
    "an image that the kernel fits once it is padded": (x[..., :1, :2], weight, 1, 1),
}
with every_case() as case:
    for name, (images, kernels, stride, padding) in examples.items():
        given = f"stride {stride}, padding {padding}"
        with case(f"{name}; {given if stride + padding > 1 else 'neither stride nor padding'}"):
            check_case(images, kernels, stride, padding)
check_states(conv_by_strides, x, weight, 2, 1, what="conv_by_strides(x, weight, 2, 1)")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
images = torch.randn(2, 3, 9, 8, generator=generator, dtype=torch.float64).to(device)
weight = torch.randn(4, 3, 3, 2, generator=generator, dtype=torch.float64).to(device)
for padding, stride in ((0, 1), (1, 2), (2, 3), (1, 1)):
    check_case(images, weight, stride, padding)
    check_case(images.contiguous(memory_format=torch.channels_last), weight, stride, padding)
    check_case(images[1:, :, 1:, ::2], weight, stride, padding)
    check_case(images[:1].expand(3, -1, -1, -1), weight, stride, padding)
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
# ## 6. What a view costs, and what it keeps · core
#
# The windows above were free. Was the product? Count what runs when `einsum` meets such a view:

# %%
kernel = torch.ones(2, 2)
patches = torch.arange(25.0).view(5, 5).unfold(0, 2, 1).unfold(1, 2, 1)  # (4, 4, 2, 2)
with count_operators() as counts:
    torch.einsum("hwij,ij->hw", patches, kernel)
print("copies (clone):", counts["clone"])
print("products (bmm):", counts["bmm"])

# %% [markdown]
# Before it could multiply, `einsum` wrote every window out. Convolution libraries go to some length to
# avoid that. So here is the rule of thumb: a view costs a note of some hundred bytes, whatever its
# size. What is computed from it costs its elements.
#
# Broadcasting lives on this. In `a[:, None] + b`, neither operand is ever written out as a matrix.
# Each is expanded with stride 0, and only the sum is allocated.
#
# ### Exercise 2.10 — An outer sum without the memory ★ · 5 min · 2 points · core
#
# Given `a` of shape (n,) and `b` of shape (m,), of one dtype, return the two operands of their outer sum:
# two tensors `p` and `q` of shape (n, m), so that `(p + q)[i, j]` is `a[i] + b[j]`. Allocate nothing.
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
numbers, turned = torch.arange(20, device=device), (1 + 1j) * torch.arange(20, device=device)
examples = {
    "a = [1, 2] and b = [10, 20, 30]": (numbers[1:3], 10 * numbers[1:4]),
    "a and b of strides 7 and 3": (numbers[:14:7], numbers[1:10:3]),
    "an empty a": (numbers[:0], numbers[:3]),
    "an empty b": (numbers[:3], numbers[:0]),
    "b the same tensor as a": (numbers[2:5],) * 2,
    "a of stride 2 and b of one element": (numbers[:6:2], numbers[8:9]),
    "one element each, in torch.float64": (numbers[4:5].double(), numbers[6:7].double()),
    "an expanded a, in torch.float16": (numbers[3].half().expand(4), numbers[:6:3].half()),
    "a and b in torch.bool": (numbers[1:4] > 2, numbers[::7] > 2),
    "a and b in torch.bfloat16": (numbers[:3].bfloat16(), numbers[4:6].bfloat16()),
    "a of one element, in torch.complex64": (turned[7:8], turned[2:9:3]),
    "an a that requires a gradient": ((numbers[1:4] / 2).requires_grad_(), numbers[5:7] / 2),
}
with every_case() as case:
    for name, (a, b) in examples.items():
        with case(f"outer_without_memory(a, b) with {name}"):
            slips.check_outer(outer_without_memory, a, b)
check_states(outer_without_memory, numbers[2:9:3] / 2, numbers[5:7] / 2, what="the pair (p, q)")
### BEGIN HIDDEN TESTS
for n, m in ((1, 1), (1, 4), (5, 1), (0, 3), (3, 0), (60, 90)):
    rows, columns = torch.rand(2 * n, device=device)[::2], torch.rand(3 * m + 1, device=device)
    slips.check_outer(outer_without_memory, rows, columns[1::3])
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
print("bytes of its elements:", best.numel() * best.itemsize)
print("bytes kept:           ", best.untyped_storage().nbytes())

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


print("the view takes over 4,000,000 bytes:", saved_bytes(best) > 4_000_000)
print("its clone takes under 4,000 bytes:  ", saved_bytes(best.clone()) < 4_000)

# %% [markdown]
# **In practice.** This is how lists of "just the embeddings" or "just the last hidden state" fill a
# GPU, and how a checkpoint of a small part of a model gets as large as the whole.
#
# ### Exercise 2.11 — Release the storage ★★ · 8 min · 2 points · core
#
# Given any tensor, return two things: how many bytes of storage it keeps alive (an `int`), and a
# tensor of the same values, shape, dtype and device whose storage holds its own elements and nothing
# else. Leave the given tensor as it is: its owner may still need it.
#
# Example: for `torch.arange(600.0)[:10]` (float32) the first is `2400`, and the second has a storage
# of 40 bytes. Mind that `best[:10]` is contiguous.


# %% nbgrader={"grade_id": "release-the-storage", "solution": true}
def release_the_storage(x: torch.Tensor) -> tuple[int, torch.Tensor]:
    """Bytes of storage that ``x`` keeps alive, and an equal tensor that keeps only its own."""
    ### BEGIN SOLUTION
    return x.untyped_storage().nbytes(), x.clone(memory_format=torch.contiguous_format)
    ### END SOLUTION


# %% nbgrader={"grade_id": "release-the-storage-check", "grade": true, "points": 2}
views = {
    "= torch.arange(600.0)[:10]": lambda big: big[:10],
    "a column": lambda big: big.view(20, 30)[:, 3],
    "an expanded row": lambda big: big[60:90].expand(4, 30),
    "an empty slice, in torch.float64, no rows": lambda big: big.double().view(200, 3)[:0],
    "the ten numbers after these": lambda big: big[10:20],
    "in torch.float16": lambda big: big.half()[:3],
    "in torch.bool": lambda big: (big > 7)[:9],
    "a single number": lambda big: big[7],
    "in bfloat16, that requires a gradient": lambda big: big.bfloat16().requires_grad_()[3:5],
    "a detached slice": lambda big: big[3:5].detach(),
    "of whole numbers that float64 would round": lambda big: (big.long() + 2**60)[1:4],
    "transposed, in torch.complex64": lambda big: (big * 1j).view(20, 30)[4:8, 5:10].t(),
}
with every_case() as case:
    for name, view in (views | cases.pieces()).items():
        # Each of a storage of its own, which an answer may spoil.
        with case(f"release_the_storage(x) with x {name}"):
            slips.check_released(release_the_storage, view(torch.arange(600.0, device=device)))
check_states(lambda x: release_the_storage(x)[1], torch.ones(3), what="the new tensor")
### BEGIN HIDDEN TESTS
for view in (lambda big: big.view(20, 30)[4:8, 5:10].t(), lambda big: big.half()[3:5]):
    slips.check_released(release_the_storage, view(torch.arange(600.0, device=device)))
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
# The transpose stays transposed. The slice loses its holes. How could a program see which is which? Sort the
# dimensions by stride. If the tensor is dense, the smallest stride is 1, the next one the size of the first,
# and so on: row-major strides, in some order of the dimensions. (Dimensions of size 1 don't count, and a
# tensor without elements is dense; the loop below leaves that out.)


# %% topics=["contiguity"]
def looks_dense(x: torch.Tensor) -> bool:
    """Whether the strides of ``x``, in some order, are those of a contiguous tensor."""
    expected = 1
    for stride, size in sorted(zip(x.stride(), x.shape, strict=True)):
        if stride != expected:
            return False
        expected *= size
    return True


for name, y in (
    ("x.t()", x.t()),
    ("x[:, ::2]", x[:, ::2]),
    ("x[0].expand(3, 4)", x[0].expand(3, 4)),
):
    print(f"{name:18}{y.stride()} {looks_dense(y)}")

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
print("planes:", tuple(planes.shape), planes.stride())
print("pixels:", tuple(pixels.shape), pixels.stride())
print("equal: ", torch.equal(planes, pixels))

# %% [markdown]
# The same shape, the same values. Only the boxes know. Here they are, coloured by channel.


# %% jupyter={"source_hidden": true}
def draw_channels(images, channels_of):
    """Draw storages of one length below each other; channels_of gives each box's channel."""
    count = images["planes"].numel()
    figure, axes = plt.subplots(figsize=(9, 2.3))
    tints, names = ("#f6b8ae", "#bfe3c0", "#bcd7f5"), ("red", "green", "blue")
    for row, (name, image) in enumerate(images.items()):
        boxes = image.as_strided((count,), (1,)).tolist()
        for box, (value, channel) in enumerate(zip(boxes, channels_of[name], strict=True)):
            look = {"facecolor": tints[channel], "edgecolor": "#555555"}
            axes.add_patch(plt.Rectangle((box, 1.5 * row), 0.94, 0.94, **look))
            axes.text(
                box + 0.47, 1.5 * row + 0.37, value, ha="center", va="center", color="#1a1a1a"
            )
            axes.text(
                box + 0.47, 1.5 * row + 0.76, names[channel], ha="center", va="center", size=7
            )
        axes.text(-0.2, 1.5 * row + 0.5, name, ha="right", va="center")
    axes.set(xlim=(-1.6, count), ylim=(2.6, -0.1))
    axes.set_axis_off()
    words = (
        "all reds, then all greens, then all blues; below, red, green and blue of one pixel, "
        "by turns"
    )
    show(figure, f"Two rows of twelve boxes. Above, {words}.")


# %%
channel = torch.arange(3).view(1, 3, 1, 1).expand(1, 3, 2, 2)
in_pixels = channel.contiguous(memory_format=torch.channels_last).as_strided((12,), (1,))
in_memory = {"planes": channel.flatten().tolist(), "pixels": in_pixels.tolist()}
draw_channels({"planes": planes, "pixels": pixels}, in_memory)

# %% [markdown]
# Above, the four reds come first. Below, the boxes 0, 4, 8 lie together: red, green and blue of one pixel.
# **Predict** the four strides of a batch of shape (8, 3, 32, 64) that is stored channels last. In memory the
# order is batch, height, width, channel. Walk from the right with the product, as for row-major strides:
# channel 1, width 3, height 3 · 64, batch 3 · 64 · 32. Then write them in the order of the shape:

# %%
torch.empty(8, 3, 32, 64, memory_format=torch.channels_last).stride()

# %% [markdown]
# ### Exercise 2.12 — One loop for every order ★★ · 15 min · 5 points
#
# Fresh strides, dense strides, channels-last strides: it is one walk with a running product, along the
# dimensions in some order. Write it once, as a helper if you like, and use it for both functions. Compute
# with numbers, without making a tensor.
#
# `row_major_strides(size)` returns the strides of a contiguous tensor of that shape: whole numbers, in a
# tuple or a list. Where a size is 0, compute as if it were 1, like PyTorch. Examples: `(3, 4)` gives
# `(4, 1)`, `(2, 3, 4)` gives `(12, 4, 1)`, `()` gives `()`, and `(2, 0, 3)` gives `(3, 3, 1)`.
#
# `memory_format(size, stride)` names the memory format of a 4-D tensor (batch, channel, height, width):
# `"contiguous"`, `"channels_last"`, `"both"` or `"neither"`. Every size is at least 1. The stride of a
# dimension of size 1 does not count, which is how both can be true at once. Examples: size (1, 3, 2, 2)
# with stride (12, 4, 2, 1) is `"contiguous"`, with stride (12, 1, 6, 3) `"channels_last"`, with stride
# (24, 8, 4, 2) `"neither"`. One channel, (1, 1, 2, 2) with stride (4, 4, 2, 1), is `"both"`.


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


def memory_format(size: tuple[int, ...], stride: tuple[int, ...]) -> str:
    """The format of (batch, channel, h, w): "contiguous", "channels_last", "both", "neither"."""
    ### BEGIN SOLUTION
    fitting = []
    for name, order in (("contiguous", (0, 1, 2, 3)), ("channels_last", (0, 2, 3, 1))):
        steps = row_major_strides(tuple(size[dim] for dim in order))
        pairs = zip(order, steps, strict=True)
        if all(size[dim] == 1 or stride[dim] == step for dim, step in pairs):
            fitting.append(name)
    return "both" if len(fitting) == 2 else fitting[0] if fitting else "neither"
    ### END SOLUTION


# %% nbgrader={"grade_id": "row-major-strides-check", "grade": true, "points": 2}
examples = {
    (3, 4): ((4, 1), "one step down passes a row of four"),
    (2, 3, 4): ((12, 4, 1), "each stride is the product of all sizes after it"),
    (): ((), "no dimension, no stride"),
    (2, 0, 3): ((3, 3, 1), "a size of 0 counts as 1"),
    (0, 2): ((2, 1), "the step over the rows passes two"),
    (1, 4, 1): ((4, 1, 1), "a size of 1 has a stride like any other"),
    (3, 2, 0, 2, 0, 5): ((20, 10, 10, 5, 5, 1), "each size of 0 counts as 1"),
    (3, 70_000, 50_000, 0): ((3_500_000_000, 50_000, 1, 1), "the numbers may be large"),
}
with count_operators() as counts, every_case() as case:
    for size, (right, because) in examples.items():
        with case(f"size {size}"):
            slips.check_row_major(row_major_strides, size, right, because)
assert not counts, f"compute with numbers, without making a tensor: {', '.join(counts)} ran"
with every_case() as case:
    for size, right in cases.small_sizes():
        with case(f"size {size}"):
            slips.check_row_major(row_major_strides, size, right, cases.why(size))
### BEGIN HIDDEN TESTS
with count_operators() as counts:
    slips.check_row_major(row_major_strides, torch.Size((7, 5)), (5, 1))
assert not counts, f"compute with numbers, without making a tensor: {', '.join(counts)} ran"
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "row-major-strides-check-2", "grade": true, "points": 3}
examples = [
    ((1, 3, 2, 2), (12, 4, 2, 1), "contiguous", "row-major strides"),
    ((1, 3, 2, 2), (12, 1, 6, 3), "channels_last", "the channels of a pixel lie side by side"),
    ((1, 3, 2, 2), (24, 8, 4, 2), "neither", "nothing steps by 1: there are holes"),
    ((2, 3, 4, 4), (48, 1, 3, 12), "neither", "the channel first, but then the height"),
    ((2, 1, 2, 2), (8, 4, 2, 1), "neither", "the second image begins too late"),
    ((1, 3, 2, 2), (12, 4, 2, 2), "neither", "one step to the right passes one element"),
    ((1, 1, 2, 2), (4, 4, 2, 1), "both", "the stride of the only channel does not count"),
    ((2, 3, 1, 1), (3, 1, 9, 9), "both", "one pixel: its height and width do not count"),
    ((1, 3, 2, 2), (7, 4, 2, 1), "contiguous", "the stride of the only image does not count"),
    ((2, 3, 2, 2), (0, 4, 2, 1), "neither", "an expanded image: 0 is not 12"),
    *cases.formats(),
]
with count_operators() as counts, every_case() as case:
    for size, stride, name, because in examples:
        with case(f"size {size}"):
            slips.check_format(memory_format, size, stride, name, because)
assert not counts, f"compute with numbers, without making a tensor: {', '.join(counts)} ran"
### BEGIN HIDDEN TESTS
for size in torch.randint(1, 4, (6, 4), generator=torch.Generator().manual_seed(0)).tolist():
    rows = torch.empty(size, device=device)
    last = rows.contiguous(memory_format=torch.channels_last)
    for y in (rows, last, torch.empty(*size, 2)[..., 0], last.mT, rows[:1].expand(size)):
        slips.check_format(memory_format, tuple(y.shape), y.stride(), slips.format_of(y))
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Go from the last dimension to the first. Which number do you carry along? `max(n, 1)` takes care of zeros.
# </details>
# <details><summary>Hint 2</summary>
#
# Channels last is row-major for the order batch, height, width, channel: the dimensions 0, 2, 3, 1.
# </details>
# <details><summary>Hint 3</summary>
#
# Compute both sets of strides, and compare each with the given one where the size is above 1.
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
# ## 8. All of it together: edges · core
#
# The sky of section 4 once more, in three steps, none of which copies the photo: `permute` brings the
# channels to the front, an index takes one of them, and a kernel of three numbers looks at each place for
# a change from left to right. The kernel's work is done by your `one_channel`, or by `F.conv2d` while that
# exercise is open.

# %% topics=["channel-first"]
blue = sky.permute(2, 0, 1)[2]  # (60, 90): the third channel, a view
kernel = torch.tensor([[-1.0, 0.0, 1.0]])
try:
    edges = one_channel(blue, kernel)
    assert edges.shape == (60, 88)
except Exception:  # whatever an unfinished answer does
    edges = F.conv2d(blue[None, None], kernel[None, None])[0, 0]
print("the channel lies in the storage of the photo:", same_storage(blue, sky))

# %%
figure, panels = plt.subplots(1, 2, figsize=(7, 2.6))
for panel, (title, image) in zip(panels, {"blue": blue, "edges": edges}.items(), strict=True):
    look = {"cmap": "gray", "vmin": 0} if title == "blue" else {"cmap": "PuOr", "vmin": -1}
    drawn = panel.imshow(image, **look, vmax=1)
    panel.set_title(f"{title}, {tuple(image.shape)}", fontsize=10)
    panel.set_axis_off()
figure.colorbar(drawn, ax=panels, shrink=0.8, label="change to the right")
show(
    figure,
    "The blue channel with a dark sun; its edges, orange on the left side, violet on the right.",
)

# %% [markdown]
# Blue falls where the sun begins and rises where it ends, and between the two nothing changes.

# %% [markdown]
# ## Heard elsewhere
#
# Claims that you may meet, each with the cell that decides.
#
# *"In a contiguous 2 × 2 tensor, element [0, 1] lies two positions from the start."* Put it into the
# formula. The strides are (2, 1), so [0, 1] is one step away. It is [1, 0] that is two steps away.

# %% errata=["stride-walk-wrong-index"]
small = torch.tensor([[1, 2], [3, 4]])
print(
    "stride", small.stride(), " [0, 1] is in box", 0 * 2 + 1 * 1, " [1, 0] is in box", 1 * 2 + 0 * 1
)

# %% [markdown]
# *"`id(x.storage()) == id(y.storage())` proves that two tensors share memory."* It proves nothing. Each
# call of `storage()` makes a new Python object, even for one and the same tensor, and the `id` of an object
# that is gone may be given to the next one. Besides, `storage()` belongs to the typed storages of the past
# and warns today.

# %% tags=["shows-false", "shows-deprecated"] errata=["id-of-storage-proves-sharing", "typed-storage-api"]
import warnings

torch.storage._reset_warn_typed_storage_removal()  # else it warns only once in each process
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print("one tensor, the same object twice:", x.storage() is x.storage())
print(str(caught[0].message).split(".")[0])

# %% [markdown]
# *"`from_numpy` takes tensors too."* It takes arrays and nothing else; `torch.as_tensor` takes both.

# %% topics=["from-numpy-sharing"] errata=["from-numpy-on-tensor"]
try:
    torch.from_numpy(torch.zeros(3))
except TypeError as error:
    print(error)

# %% [markdown]
# *"`resize` belongs with `view` and `reshape`."* The method `resize` is deprecated. `resize_` changes the
# number of elements if you ask it to, and what it adds is whatever was in that memory.

# %% topics=["resize-inplace"] errata=["resize-same-numel"] tags=["shows-deprecated"]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.zeros(2, 2).resize(4, 1)
print(caught[0].message)
print(torch.zeros(2, 2).resize_(3, 4).numel(), "elements, eight of them never set")

# %% [markdown]
# *"There is no function `torch.permute`"*, and *"`transpose` is for two dimensions only."* There is, and it
# swaps two dimensions of a tensor of any rank. It is `t()` that stops at two.

# %% topics=["transpose-permute"] errata=["no-torch-permute", "transpose-only-2d"]
cube = torch.zeros(2, 3, 4)
print("permute:  ", torch.permute(cube, (2, 0, 1)).shape)
print("transpose:", cube.transpose(0, 2).shape)
try:
    cube.t()
except RuntimeError as error:
    print("t:        ", error)

# %% [markdown]
# *"`nn.Unfold(4, stride=4)` turns a 1 × 3 × 224 × 224 image into [1, 4, 3136]."* A column holds a whole
# patch, all channels of it: 3 · 4 · 4 = 48 numbers.

# %% topics=["unfold-patches"] errata=["unfold-output-shape"]
image = torch.zeros(1, 3, 224, 224)
print("nn.Unfold:    ", torch.nn.Unfold(4, stride=4)(image).shape)
print("Tensor.unfold:", image.unfold(2, 4, 4).unfold(3, 4, 4).shape)

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
# how the note and the storage look in the code.
#
# Next: [Tensor algebra](../03_tensor_algebra/03_tensor_algebra.ipynb), where one line takes the place
# of a loop, and the question is which index it sums over.
