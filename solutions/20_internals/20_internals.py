# ---
# jupyter:
#   course:
#     title: Internals
#     minutes: 225
#     core: 125
# ---

# %% [markdown]
# # Internals: what happens between `a + b` and the addition?
#
# Adding two numbers takes a processor less than a nanosecond. `a + b` on two small tensors takes
# about a thousand times as long. In between something is decided, again for every call: which
# code will run, in which dtype, over which memory, and what has to be remembered for later.
#
# **After this chapter you can**
#
# - say which kernels a call goes through, in which order, and why;
# - write a strided tensor, a dispatcher and an autograd of your own, and train with them;
# - predict the dtype of any sum, and what an operator's schema promises about its arguments;
# - step in from Python: by function, by operator, or with an operator of your own that passes every
#   test PyTorch has for it;
# - say what `empty_cache` can give back, and where in PyTorch's code to look for all this.
#
# **It leans on** strides (chapter 02), the walk of autograd (chapter 05) and its rules (chapter 06).
# **Time:** under four hours, without section 9, which is optional and takes another 35 minutes. The
# sections and exercises marked **core** take about two hours. You can skip any exercise.

# %% nbgrader={"grade_id": "setup", "locked": true}
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import every_case, runs_with_the_answer
from course_utils.chapters.internals import pictures
from course_utils.chapters.internals.scenarios import check_scenarios, play
from course_utils.chapters.internals.small_torch import FALLTHROUGH, Handle, MyTensor

# %% [markdown]
# ## A puzzle to start with · core
#
# A matrix of four million million entries, plus its first row. **Predict:** will this cell run out
# of memory, run for an hour, or neither?

# %% topics=["internals-overview"]
huge = torch.empty(10**6, 4 * 10**6, device="meta")
total = huge + huge[:1]
print(tuple(total.shape), total.dtype, f"{total.nbytes / 1e12:.0f} terabytes")

# %% [markdown]
# Neither. It takes microseconds. Shapes were lined up, a dtype was chosen, a result was made, and it
# claims 16 terabytes. Only one thing is missing: the addition. A tensor on the device `meta` has
# no numbers.
#
# The addition is a small part of `a + b`, and can be left out. This chapter takes the rest
# apart, and builds each piece once more in Python:
#
# ```mermaid
# flowchart LR
#   A["a + b"] --> B["binding<br/>Python to C++"] --> C["dispatcher<br/>which kernel?"]
#   C --> D["autograd<br/>remember"] --> C
#   C --> E["kernel<br/>shapes, dtype, loop"] --> F["storage<br/>from the allocator"]
# ```

# %% [markdown]
# ## 1. Which kernel runs? · core
#
# The first part of the puzzle: who decided that nothing was to be added? A **kernel** is a
# function that does an operator's work for one kind of tensor. There are kernels of `add` for the
# CPU, for CUDA, for sparse tensors, for `meta`. A tensor carries a set of **dispatch keys**, which
# say what kind it is:

# %% topics=["dispatch-device-layout"]
from course_utils.chapters.internals.dispatch import keys_of, path_of

x = torch.ones(2, 2)
for name, tensor in {"CPU": x, "meta": x.to("meta"), "sparse": x.to_sparse()}.items():
    print(f"{name:<7}", *keys_of(tensor))

# %% [markdown]
# The last key says device and layout; of those before it, only autograd's names a device. The order
# is a priority: the first is asked first. Under each key an operator has an entry in its table. It is
# either a kernel or a **fallthrough**, which means: not my business, ask the next. The table can be
# read:

# %% topics=["dispatch-device-layout", "dispatch-autograd"]
from course_utils.chapters.internals.dispatch import table_of

table = table_of(torch.ops.aten.add.Tensor)
for key in keys_of(x):
    kind, file = table[key]
    print(f"{key:<16} {kind:<16} {file}")

# %% [markdown]
# Two kernels run for `x + x`. The one under `AutogradCPU` notes what backward will need and then
# **calls the operator again**, with itself and everything before it taken out. The second call ends
# at the kernel under `CPU`, which adds. (For the puzzle's matrix it ends at the one under `Meta`, which
# makes a result and adds nothing.) That is how autograd works for every device without knowing any: it
# is in front, and the same kernel is under `AutogradCPU` and `AutogradMeta`.
#
# Did it surprise you that `AutogradCPU` runs, though `x` doesn't require grad? The key says what
# kind of tensor it is, and every ordinary tensor may be recorded. Whether something *is* recorded is
# decided inside that kernel. **Predict** what `no_grad` changes in the path:

# %% topics=["dispatch-autograd"]
add = torch.ops.aten.add.Tensor
print("as it is:      ", [stop.key for stop in path_of(add, x, x)])
with torch.no_grad():
    print("no_grad:       ", [stop.key for stop in path_of(add, x, x)])
with torch.inference_mode():
    print("inference_mode:", [stop.key for stop in path_of(add, x, x)])

# %% [markdown]
# `no_grad` changes nothing in the path; it is a flag that the autograd kernel looks at.
# `inference_mode` takes the key out, so there is one stop fewer. (`path_of` reads the tables, no
# kernel runs.) Two more kinds of stops, from left to right: an operator that writes in place
# has a kernel under `ADInplaceOrView`, which counts the version up (views have one too, which
# notes their base). And under `autocast` a matrix product has a kernel that casts:

# %% topics=["dispatch-autograd", "dispatch-device-layout"]
aten = torch.ops.aten
with torch.autocast("cpu"):
    pictures.draw_paths(
        [
            ("a + b", aten.add.Tensor, x, x),
            ("a.add_(b)", aten.add_.Tensor, x, x),
            ("torch.mm(a, b)", aten.mm.default, x, x),
            ("sparse + sparse", aten.add.Tensor, x.to_sparse(), x.to_sparse()),
        ],
        "Four columns of keys, under autocast. For a + b the kernels of AutogradCPU and CPU run; "
        "add_ also stops at ADInplaceOrView, mm also at AutocastCPU; the sparse sum ends at "
        "SparseCPU.",
    )

# %% [markdown]
# Blue keys have a kernel, grey ones fall through. An arrow is a call of the operator again, with what
# is above it taken out.
#
# `matmul` has no column here, because it isn't a kernel of any device. It is **composite**: one C++
# function that calls other operators (`mm`, `bmm`, `view` …), and each of those is dispatched for
# itself. The same entry is under `AutogradCPU`, `CPU` and `Meta`, and the path ends at the first of the
# tensor's keys. It needs no slopes either: those of the operators inside are enough.

# %% topics=["dispatch-autograd"]
print(path_of(aten.matmul.default, x, x))

# %% [markdown]
# > **Then and now.** *"First comes a virtual call on the tensor's `Type`, with `VariableType` for
# > autograd wrapped around it; the CPU kernels are in `libcaffe2.so`."* `Type` and the wrapping are
# > gone, and so is the library. What was a class for each kind of tensor is now a set of bits, and
# > `VariableType` is just the file where the kernels for the autograd keys are registered.

# %% topics=["dispatch-autograd"] errata=["internals-map"] tags=["shows-false"]
from pathlib import Path

w = torch.ones(1, requires_grad=True)
libraries = {path.name.split(".")[0] for path in (Path(torch.__file__).parent / "lib").iterdir()}
print("libcaffe2:", "libcaffe2" in libraries, "| libtorch_cpu:", "libtorch_cpu" in libraries)
print("another class for autograd:", type(x) is not type(w))

# %% [markdown]
# ### Exercise 20.1 — Which kernels run? ★ · 5 min · 2 points · core
#
# For each of the ten calls write the keys whose kernels run, in order, in one string, such as
# `"AutogradCPU CPU"`. Leave out keys that fall through. The path of a composite operator ends where its
# kernel runs.
#
# `a` and `b` are ordinary tensors on the CPU, `g` requires grad, `m` is on `meta`, `s` is sparse. The
# keys that occur: `AutocastCPU`, `AutogradCPU`, `AutogradMeta`, `ADInplaceOrView`, `CPU`, `Meta`,
# `SparseCPU`.

# %% nbgrader={"grade_id": "predict-the-dispatch", "solution": true}
predict_the_dispatch = {
    "torch.mul(a, b)": None,
    "torch.mul(g, b), under no_grad": None,
    "torch.mul(g, b), under inference_mode": None,
    "a.mul_(b)": None,
    "torch.mul(m, m)": None,
    "torch.mul(s, s)": None,
    "a.view(4)": None,
    "torch.mm(a, b), under autocast": None,
    "torch.relu(a), under autocast": None,
    "torch.matmul(a, b)": None,
}
### BEGIN SOLUTION
both = "AutogradCPU CPU"
paths = (both, both, "CPU", "AutogradCPU ADInplaceOrView CPU", "AutogradMeta Meta")
paths += ("AutogradCPU SparseCPU", "AutogradCPU ADInplaceOrView CPU", "AutocastCPU " + both, both)
predict_the_dispatch = dict(zip(predict_the_dispatch, (*paths, "AutogradCPU"), strict=True))
### END SOLUTION

# %% nbgrader={"grade_id": "predict-the-dispatch-check", "grade": true, "points": 2} jupyter={"source_hidden": true}
from course_utils.chapters.internals.dispatch import check_paths

check_paths(predict_the_dispatch)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Begin with the device's key at the end. Is there an autograd key in front, or did something take it
# out? Does the call write in place, or make a view? Does autocast cast this operator, or leave it?
# </details>

# %% [markdown]
# ## 2. One loop for all strides · core
#
# The path ends at a kernel. What does the kernel of `add` for the CPU do, before it adds? Its
# arguments may have different sizes, and strides of any kind. It first needs a **plan**: which loops,
# and how far each operand steps in each.
#
# Take a matrix of size (2, 3) plus a row of size (3,). Line the sizes up at the end. The row has no
# first dimension: it is read again for each row of the matrix, which is a step of 0. Now every
# operand has a step for each loop, and broadcasting is finished, without a copy:

# %% topics=["tensor-accessor-iterator"]
matrix, row = torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([10, 20, 30])
first, second = torch.broadcast_tensors(matrix, row)
print("shape ", tuple(first.shape))
print("steps ", first.stride(), second.stride())

# %% topics=["tensor-accessor-iterator"]
one, two, result = matrix.flatten().tolist(), row.tolist(), []
for i in range(2):
    for j in range(3):
        result.append(one[3 * i + 1 * j] + two[0 * i + 1 * j])
assert result == (matrix + row).flatten().tolist()
print(result)

# %% [markdown]
# The fewer loops, the faster: a processor is good at an inner loop with a fixed step, but each start of
# it costs time. That is why the plan merges loops where it can. Chapter 02 had the rule for one tensor:
# two neighbouring dimensions are one if stepping the outer is the same as stepping the inner to its
# end, **stride of the outer = size of the inner · stride of the inner**. For a sum it has to hold in
# *every* operand. And a dimension of size 1 needs no loop: it is dropped, whatever its stride.
#
# By hand, for size (5, 3, 4) and strides (40, 4, 1) and (12, 4, 1). The last two: 4 = 4 · 1 in both,
# so they merge to size 12, step 1. The first with that: 40 = 12 · 1? Not in the first operand.
# Two loops are left, (5, 12). With strides (12, 4, 1) in both, a single loop of 60 would be left.

# %% topics=["tensor-accessor-iterator"]
pictures.draw_loops(
    [
        ("three loops (5, 3, 4)", (5, 3, 4)),
        ("the last two merged (5, 12)", (5, 12)),
        ("all merged (60)", (60,)),
    ],
    "Sixty entries three times. Unmerged there are fifteen short runs of 4, with the last two "
    "loops merged five runs of 12, with all merged a single run of 60.",
)

# %% [markdown]
# A bar is one run of the inner loop. In PyTorch's C++ this plan is called **TensorIterator**. It
# also sorts the loops by stride, cuts them into ranges for several threads (`at::parallel_for`), and
# uses vector instructions where the innermost step is 1. An author of a kernel writes only what
# happens to a single entry.
#
# ### Exercise 20.2 — A tensor of your own ★★★ · 25 min · 5 points · core
#
# Write the plan and the loop, in plain Python. The tensors are given: a `MyTensor` is a note about a
# plain list, with the attributes `storage` (the list), `size`, `stride` and `offset`.
#
# 1. `broadcast_strides(size, stride, shape)` returns the steps of an operand in loops over `shape`, a
#    tuple.
#    - Sizes are lined up at the end. A dimension that is new or has size 1 gets step 0, the others
#      keep their stride.
#    - An operand that doesn't fit `shape` raises a `ValueError`.
# 2. `merge_dimensions(shape, strides)` leaves as few loops as the rule allows, their order kept.
#    `strides` is a list of tuples, one for each operand. No size is 0 here.
#    - Return the merged shape, a tuple, and a list with the merged strides, a tuple for each operand.
#    - Leave `strides` as it is.
# 3. `elementwise(function, *tensors)` returns `function(x, y, …)` of the entries of one or more
#    tensors: a new, contiguous `MyTensor` (a new list, offset 0) of the common shape.
#    - The function is called once for each entry of the result; if a size is 0 there is nothing to
#      call. What it raises passes through, whatever its class.
#    - Sizes that don't fit raise a `ValueError`. `torch.broadcast_shapes` may find the common shape,
#      but raises another error.
#    - Leave the tensors as they are.
#
# Examples: `broadcast_strides((3,), (1,), (2, 3))` is `(0, 1)`. `merge_dimensions((2, 1, 3), [(3, 99, 1)])`
# is `((6,), [(1,)])`. `elementwise(operator.add, …)` of the matrix and the row above has the list
# `[11, 22, 33, 14, 25, 36]`, size (2, 3), stride (3, 1).

# %% nbgrader={"grade_id": "storage-trials", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.internals import storage_cases, storage_trials


@runs_with_the_answer
def try_elementwise(name):
    return play(storage_trials.ELEMENTWISE[name], elementwise)


# %% nbgrader={"grade_id": "my-storage", "solution": true}
from collections.abc import Callable


def broadcast_strides(size: tuple, stride: tuple, shape: tuple) -> tuple[int, ...]:
    """How far an operand of this size and stride steps in each loop over ``shape``."""
    ### BEGIN SOLUTION
    new = len(shape) - len(size)
    if new < 0 or any(n not in (1, m) for n, m in zip(size, shape[new:], strict=True)):
        raise ValueError(f"size {size} doesn't fit {shape}")
    return (0,) * new + tuple(0 if n == 1 else s for n, s in zip(size, stride, strict=True))
    ### END SOLUTION


def merge_dimensions(shape: tuple, strides: list[tuple]) -> tuple[tuple, list[tuple]]:
    """The same loops, as few as possible: the shape, and the strides of each operand."""
    ### BEGIN SOLUTION
    loops = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if loops and all(outer == n * s for outer, s in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return tuple(n for n, _ in loops), [tuple(s[i] for _, s in loops) for i in range(len(strides))]
    ### END SOLUTION


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A new MyTensor with ``function`` of the tensors' entries, sizes lined up at the end."""
    ### BEGIN SOLUTION
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
    ### END SOLUTION


def my_storage(*tensors: MyTensor) -> MyTensor:
    """Given: the sum of tensors, by your loop."""
    return elementwise(lambda *numbers: sum(numbers), *tensors)


# %% nbgrader={"grade_id": "my-storage-check", "grade": true, "points": 1}
from course_utils import check_raises

with every_case() as case:
    for name, (size, stride, shape, right, because) in storage_cases.SPREAD.items():
        with case(name):
            storage_trials.check_spread(broadcast_strides, size, stride, shape, right, because)
    for name, (size, stride, shape) in storage_cases.REFUSED.items():
        with case(name):
            call = f"broadcast_strides({size}, {stride}, {shape})"
            check_raises(ValueError, lambda s=(size, stride, shape): broadcast_strides(*s), call)
### BEGIN HIDDEN TESTS
for n in range(1, 5):
    size, stride = (n, 1, 3, 1)[-n:], (12, 7, 1, 5)[-n:]
    right = (0,) * (5 - n) + (12 if n == 4 else 0, 0, 1, 0)[-n:]
    shape = (2, 4, 2, 3, 1)
    storage_trials.check_spread(broadcast_strides, size, stride, shape, right)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "my-storage-check-2", "grade": true, "points": 2}
with every_case() as case:
    for name, ((shape, old_strides), right, because) in storage_cases.MERGE.items():
        with case(name):
            storage_trials.check_merge(merge_dimensions, shape, old_strides, right, because)
### BEGIN HIDDEN TESTS
with every_case() as case:
    for shape, old_strides, right in storage_trials.random_merges(60):
        with case(f"shape {shape}, strides {old_strides}"):
            storage_trials.check_merge(merge_dimensions, shape, old_strides, right)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "my-storage-check-3", "grade": true, "points": 2}
check_scenarios(try_elementwise, storage_trials.ELEMENTWISE)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For the strides: how many dimensions are new? Put that many zeros in front, then look at each size.
# </details>
# <details><summary>Hint 2</summary>
#
# For merging, keep a list of loops. Each further dimension either becomes part of the last loop or
# starts a new one. What is the step of a merged loop?
# </details>
# <details><summary>Hint 3</summary>
#
# In `elementwise` find the common shape and each tensor's steps in it, then loop. You don't know
# beforehand how many loops there are: `itertools.product(*map(range, shape))` counts through all
# indices, the last one fastest. An entry is at the offset plus the sum of index · step.
# </details>

# %% [markdown]
# ## 3. A table of kernels · core
#
# The loop is built; the decision before it isn't yet. How does a **dispatcher** decide? We write one.
# Its tensors are handles. A `Handle` has `stored`, which only a backend's kernels look at, and a
# frozenset of `keys`. (PyTorch's own is a C++ object, `TensorImpl`: storage, sizes, strides, a key set,
# and a pointer to what autograd keeps.)

# %% topics=["internals-overview"]
handle = Handle(MyTensor([1.0, 2.0], (2,)), "List")
print(handle, "keys", sorted(handle.keys))

# %% [markdown]
# The table has an entry for an operator's name and a key. By hand, with the priority Autograd, then
# List, then NumPy, and a call `add(x, y)`:
#
# | step | with `x` on List, `y` on List and Autograd |
# | --- | --- |
# | the keys of all arguments together | Autograd, List |
# | the first in the order of priority | Autograd |
# | the entry for (add, Autograd) | a kernel: call it, done; it may call `add` again, below Autograd |
# | if it were a fallthrough | the next key: List |
# | if there were no entry at all | an error. A missing kernel isn't skipped in silence |
#
# The last row is an error that every owner of a rare device knows, here for a rare layout:

# %% topics=["dispatch-device-layout"]
try:
    torch.ones(2).to_sparse().exp()
except NotImplementedError as error:
    print(str(error).split(". ")[0][:110])

# %% [markdown]
# ### Exercise 20.3 — The dispatcher ★★★ · 25 min · 5 points · core
#
# Write `Dispatcher(priority)`: a table of kernels, a `call` that finds the right one in it, and a block
# that skips keys. `priority` is a tuple of keys, the first to be asked first.
#
# 1. `register(operator, key, kernel)` puts an entry into this dispatcher's table: a function or
#    `FALLTHROUGH`.
#    - A later entry replaces an earlier one.
#    - The operator `"*"` means: for every operator that has no entry under this key. Such a kernel
#      gets the operator's name first, then the arguments.
# 2. `call(operator, *values)` takes the keys of all values together and asks them by priority. A value
#    of any class may have `keys`; a value without `keys`, such as a number, has none.
#    - FALLTHROUGH means the next key. A kernel is called with the values as they are; what it
#      returns, be it `None`, is returned, and what it raises passes through.
#    - A key without an entry, or no key left, raises a `NotImplementedError`.
# 3. `below(key)` is for a `with` block: inside it, this dispatcher's calls skip `key` and all keys
#    before it.
#    - Blocks nest, and an inner one never skips fewer keys than the outer.
#    - After the block it is as before, also if an exception leaves it; the exception passes through.
#
# Example: with `("Autograd", "List")`, kernels under both, and `x = Handle(1, "List", "Autograd")`,
# `call("add", x, x)` runs the kernel under Autograd. If that one does
# `with dispatcher.below("Autograd"): return dispatcher.call("add", x, x)`, the kernel under List runs
# second.

# %% nbgrader={"grade_id": "dispatcher-trials", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.internals import block_trials, dispatcher_trials


@runs_with_the_answer
def try_table(name):
    return play(dispatcher_trials.TABLE[name], Dispatcher)


@runs_with_the_answer
def try_below(name):
    return play(block_trials.BELOW[name], Dispatcher)


# %% nbgrader={"grade_id": "my-dispatcher", "solution": true}
from contextlib import contextmanager


class Dispatcher:
    """A table of kernels by operator and key; see the statement."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        """An empty table; ``priority`` has the first key to ask first."""
        ### BEGIN SOLUTION
        self.priority, self.table, self.first = priority, {}, 0
        ### END SOLUTION

    def register(self, operator: str, key: str, kernel) -> None:
        """Put a kernel, or FALLTHROUGH, into the table."""
        ### BEGIN SOLUTION
        self.table[operator, key] = kernel
        ### END SOLUTION

    def call(self, operator: str, *values):
        """Find the kernel for these values and call it."""
        ### BEGIN SOLUTION
        keys = {key for value in values for key in getattr(value, "keys", ())}
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                raise NotImplementedError(f"{operator} has no entry for {key}")
            if kernel != FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator}: no kernel for {keys}")
        ### END SOLUTION

    @contextmanager
    def below(self, key: str):
        """Inside the block, skip ``key`` and all before it."""
        ### BEGIN SOLUTION
        before = self.first
        self.first = max(before, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before
        ### END SOLUTION


def my_dispatcher() -> Dispatcher:
    """Given: an empty dispatcher for the keys of this chapter."""
    return Dispatcher(("Autograd", "List", "NumPy"))


# %% nbgrader={"grade_id": "my-dispatcher-check", "grade": true, "points": 3}
check_scenarios(try_table, dispatcher_trials.TABLE)

# %% nbgrader={"grade_id": "my-dispatcher-check-2", "grade": true, "points": 2}
check_scenarios(try_below, block_trials.BELOW)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Go through `priority`, not through the keys of the values: then the order is right by itself.
# </details>
# <details><summary>Hint 2</summary>
#
# `below` has to remember how many keys of `priority` are skipped now, and put that back in a `finally`.
# </details>

# %% [markdown]
# What it is good for: a backend is a set of entries under one key. A **second backend** is a second
# set, and not a line of the first is touched. Where an exercise isn't solved, something simpler steps
# in here and below: NumPy for your loop, and a dispatcher that knows only "autograd or not" for yours.

# %% topics=["extension-points"]
from course_utils.chapters.internals import parts

ours = parts.choose("Dispatcher", globals())(("Autograd", "List", "NumPy"))
for key, kernels in parts.backends(parts.choose("elementwise", globals())).items():
    for name, kernel in kernels.items():
        ours.register(name, key, kernel)
print(ours.call("add", Handle(MyTensor([1.0, 2.0], (2,)), "List"), handle).stored)
print(ours.call("add", Handle(np.ones(2), "NumPy"), Handle(np.arange(2.0), "NumPy")).stored)

# %% [markdown]
# PyTorch is extended along the same axes. A new **device** or **layout** is a key: the key
# `PrivateUse1` is kept free for devices that PyTorch doesn't know, and every operator
# already has an autograd kernel in front of it. A **dtype** isn't a key. It is decided inside the
# kernel, by a switch, because a device's kernels for all dtypes are compiled from one source
# anyway.

# %% topics=["extension-points"]
for key in ("AutogradPrivateUse1", "PrivateUse1"):
    print(key, "|", *table_of(torch.ops.aten.mm.default)[key])

# %% [markdown]
# ## 4. Autograd in front · core
#
# The table has a place for autograd, still empty. What does a kernel in front do, if it knows no
# device? It calls below, and then it puts a note on the result. In PyTorch that note is the tensor's
# `AutogradMeta`: `requires_grad`, `grad`, and `grad_fn`, whose `next_functions` lead further
# back. **Predict** which nodes the walk meets:

# %% topics=["autograd-meta"]
w = torch.ones(2, requires_grad=True)
y = (w * 3).relu().sum()
node = y.grad_fn
while node is not None:
    print(type(node).__name__, end="  ")
    node = node.next_functions[0][0] if node.next_functions else None

# %% [markdown]
# The last is the leaf's account, where `.grad` is added up. Our handles have the same: `requires_grad`,
# `node` and `grad`. What a node has to hold is up to you. The slopes are given as a table,
# `slopes(call, g, result, *values)`, which from the gradient `g` of a result computes those of the
# values, **by operators of the dispatcher**: they, too, run on any backend. For example:

# %% topics=["autograd-meta"]
from course_utils.chapters.internals.small_torch import SLOPES

x, y, g = (Handle(np.array([number]), "NumPy") for number in (2.0, 5.0, 1.0))
print(SLOPES["mul"](ours.call, g, None, x, y))

# %% [markdown]
# ### Exercise 20.4 — Autograd in front ★★ · 18 min · 4 points · core
#
# Write the kernel in front and the walk back. All values are handles here; leave those that you are
# given as they are, but for the leaves' `grad`.
#
# 1. `autograd_kernel(dispatcher, operator, slopes)` returns a kernel for the key `"Autograd"`, a
#    function of `*values`. It calls the operator below Autograd (`dispatcher.below("Autograd")`) and
#    returns that result.
#    - If any of the values requires grad, the result gets `requires_grad = True`, the key `"Autograd"`
#      in addition to its own, and a `node` in which you keep what backward needs.
#    - Else it is left alone: the key by itself doesn't mean that something is recorded.
# 2. `backward(dispatcher, result, g)` starts with the gradient `g` (a handle) at `result`, walks back
#    as in chapter 05, calling each step's `slopes` once, and leaves its gradient in each leaf that
#    requires grad, in `grad`. Only leaves (`node is None`) keep a `grad`.
#    - If there was one already, the two are added, by `dispatcher.call("add", …)`, in a new handle.
#    - `slopes` may hold `None` for a value: nothing is paid there.
#    - Compute everything below Autograd, so that nothing is recorded.
#    - Chains of 3,000 steps have to work: no recursion.
#
# Example: for `y = mul(a, b)` with a = 2 and b = 3, both requiring grad, and g = 1, `a.grad.stored` is 3
# and `b.grad.stored` is 2.

# %% nbgrader={"grade_id": "tape-trials", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.internals import record_trials, tape_trials


@runs_with_the_answer
def try_record(name):
    return play(record_trials.RECORD[name], autograd_kernel, backward)


@runs_with_the_answer
def try_backward(name):
    scenarios = tape_trials.BACKWARD | tape_trials.random_programs(20)
    return play(scenarios[name], autograd_kernel, backward)


# %% nbgrader={"grade_id": "autograd-in-front", "solution": true}
from collections.abc import Callable


def autograd_kernel(dispatcher: "Dispatcher", operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below it, then puts a note on the result."""
    ### BEGIN SOLUTION

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(value.requires_grad for value in values):
            result.requires_grad = True
            result.keys |= {"Autograd"}
            result.node = slopes, values
        return result

    return kernel
    ### END SOLUTION


def backward(dispatcher: "Dispatcher", result: Handle, g: Handle) -> None:
    """Bring ``g`` from ``result`` back to the leaves, and add it to their ``grad``."""
    ### BEGIN SOLUTION
    users, waiting = {result: 0}, [result]
    while waiting:
        handle = waiting.pop()
        for value in handle.node[1] if handle.node else ():
            if value not in users:
                users[value] = 0
                waiting.append(value)
            users[value] += 1

    def add(known, more):
        return more if known is None else dispatcher.call("add", known, more)

    account, free = {result: g}, [result]
    with dispatcher.below("Autograd"):
        while free:
            handle = free.pop()
            g = account.pop(handle, None)
            if handle.node is None:
                if handle.requires_grad and g is not None:
                    handle.grad = add(handle.grad, g)
                continue
            slopes, values = handle.node
            parts = [None] * len(values)
            if g is not None and handle.requires_grad:
                parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None:
                    account[value] = add(account.get(value), part)
                users[value] -= 1
                if users[value] == 0:
                    free.append(value)
    ### END SOLUTION


def autograd_in_front(dispatcher: "Dispatcher", table: dict) -> None:
    """Given: put your kernel in front of each operator of a table of slopes."""
    for operator, slopes in table.items():
        dispatcher.register(operator, "Autograd", autograd_kernel(dispatcher, operator, slopes))


# %% nbgrader={"grade_id": "autograd-in-front-check", "grade": true, "points": 1}
check_scenarios(try_record, record_trials.RECORD)

# %% nbgrader={"grade_id": "autograd-in-front-check-2", "grade": true, "points": 3}
check_scenarios(try_backward, tape_trials.BACKWARD)
### BEGIN HIDDEN TESTS
check_scenarios(try_backward, tape_trials.random_programs(20))
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A node can be a pair: the slopes, and the values. The values hold their own nodes, so from the
# result you reach everything behind it.
# </details>
# <details><summary>Hint 2</summary>
#
# First count how often each handle is used, from the result down. Then hand on: a handle's turn
# comes when all that used it have paid in. Keep what was paid in a dict from handle to gradient.
# </details>

# %% [markdown]
# You now have the whole path of section 1 in a few dozen lines. It will train a network at the
# chapter's end. First, the parts of the path that were passed over.


# %% [markdown]
# ## 5. Which dtype comes out?
#
# Inside the kernel a second decision is made, for which there is no key: the dtype. The plan of
# section 2 finds a common one before the loop, and reads each operand through a cast. But which?
# **Predict** all four:

# %% topics=["dispatch-device-layout"]
bytes_, half = torch.tensor([200], dtype=torch.uint8), torch.tensor([1.0], dtype=torch.float16)
print("uint8 + int8:         ", (bytes_ + torch.tensor([1], dtype=torch.int8)).dtype)
print("half + bfloat16:      ", (half + torch.tensor([1.0], dtype=torch.bfloat16)).dtype)
print("uint8 + number 300:   ", (bytes_ + 300).dtype, (bytes_ + 300).tolist())
print("half + 0-D float64:   ", (half + torch.tensor(1.0, dtype=torch.float64)).dtype)

# %% [markdown]
# The first two find a type that holds the values of both: `int16` for the first, `float32` for the
# second, since `float16` has finer steps and `bfloat16` a wider range. The last two don't: 500 became
# 244, and the `float64` was ignored. A number that you write into a formula shouldn't turn a whole
# batch into another type. To prevent that, operands have a **rank**:
#
# 1. tensors with at least one dimension;
# 2. tensors without a dimension;
# 3. Python numbers, of which `bool` counts as bool, `int` as int64, `float` as the default dtype.
#
# Dtypes have a **category**: bool, then whole numbers, then floating point. Within a rank, join:
# the higher category decides, and within a category the smallest type that holds the values of both.
# A lower rank has a say only if its category is *higher* than what the ranks above it gave; then its
# dtype is the answer, as it is. The joins within a rank, as a picture:

# %% topics=["dispatch-device-layout"]
pictures.draw_lattice(
    "Arrows lead from bool to uint8 and int8, from both to int16, then int32, int64; from there to "
    "float16 and bfloat16, from both to float32 and on to float64. Two types join where their ways "
    "along the arrows first meet."
)

# %% [markdown]
# Two types join where their ways along the arrows first meet. A tensor of `int64` with one of `float16` gives
# `float16`, by the category, though it holds far fewer whole numbers exactly: in a join of
# categories nothing is promised about values.
#
# ### Exercise 20.5 — Which dtype comes out? ★★ · 12 min · 3 points
#
# Write `type_promotion(x, y)`: the dtype of `x + y` (as a `torch.dtype`), for tensors of any size and
# for Python's `bool`, `int` and `float`. The dtypes are `bool`, `uint8`, `int8`, `int16`, `int32`,
# `int64`, `float16`, `bfloat16`, `float32`, `float64`. The check tries all pairs, under two default dtypes.
#
# Not allowed: `torch.result_type`, `torch.promote_types`, and any operation on a tensor; `x.dtype`,
# `x.dim()` and `dtype.is_floating_point` are all you need. Examples: an `int8` tensor and 2.5 give
# `torch.float32` (the default dtype); two numbers, 3 and `True`, give `torch.int64`.

# %% nbgrader={"grade_id": "promotion-trials", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.internals import promotion
from course_utils.chapters.internals.scenarios import Scenario


@runs_with_the_answer
def try_promotion(default):
    return play(Scenario(lambda f: promotion.run_promotion(f, default), None), type_promotion)


# %% nbgrader={"grade_id": "type-promotion", "solution": true}
def type_promotion(x: torch.Tensor | float, y: torch.Tensor | float) -> torch.dtype:
    """The dtype of x + y, for tensors and Python's bool, int and float."""
    ### BEGIN SOLUTION
    chain = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
    chain += [torch.float16, torch.bfloat16, torch.float32, torch.float64]
    meet = {(1, 2): 3, (6, 7): 8}
    numbers = {bool: torch.bool, int: torch.int64, float: torch.get_default_dtype()}
    ranks = [None, None, None]
    for value in (x, y):
        tensor = isinstance(value, torch.Tensor)
        rank, dtype = (value.dim() == 0, value.dtype) if tensor else (2, numbers[type(value)])
        low, high = sorted((chain.index(dtype), ranks[rank] or 0))
        ranks[rank] = meet.get((low, high), high)

    def category(place):
        return (place > 0) + (place > 5)

    found = None
    for place in ranks:
        if place is not None and (found is None or category(place) > category(found)):
            found = place
    return chain[found]
    ### END SOLUTION


# %% nbgrader={"grade_id": "type-promotion-check", "grade": true, "points": 3}
for default in (torch.float32, torch.float64):
    promotion.check_promotion(try_promotion(default), default)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# First sort each operand into (rank, dtype). Write a function that joins two dtypes, then join
# within each rank, then compare the ranks from the top.
# </details>
# <details><summary>Hint 2</summary>
#
# Put the dtypes into a list by size. The join of two of them is the later one in the list, with two
# exceptions; the picture shows where.
# </details>

# %% [markdown]
# ## 6. What an operator promises
#
# A kernel is found and a dtype is chosen. How does the machinery know what a kernel will *do* to its
# arguments? Autograd must count versions of what is written, and `torch.compile` must not reorder a
# write. They don't look into the kernel. They read the operator's **schema**:

# %% topics=["native-functions-schema"]
for operator in (aten.add.Tensor, aten.add_.Tensor, aten.add.out, aten.t.default):
    print(operator._schema)

# %% [markdown]
# `Tensor(a)` says: this argument shares memory with whatever else is marked `a`, here the result.
# `Tensor(a!)` says that it is written as well. No mark, no sharing. What comes after the `*` can
# only be given by keyword. These marks tell four variants apart: one that only computes, one that
# gives a **view**, one that writes **in place**, one that writes into **out**.
#
# The schemas are kept in one file, `native_functions.yaml`, and a generator (`torchgen`) makes from it
# the C++ headers, the Python bindings, and the registration for each key. A second file,
# `derivatives.yaml`, has the slopes. Both come with the installed package:

# %% topics=["native-functions-schema"]
from course_utils.chapters.internals.sources import generated_from

print(generated_from("native_functions.yaml", "- func: mul.Tensor(", lines=4))
print(generated_from("derivatives.yaml", "- name: mul.Tensor(", lines=3))

# %% [markdown]
# That is the entry for `mul`: its schema, and its slopes, as in our table of section 4. An author of
# an operator writes a few lines here, and a kernel. `structured_delegate: mul.out` means that the
# variants need only a single kernel, the one into `out`. The other two are made of it: in place is "into
# the first argument", functional is "into a new tensor". By hand, with NumPy:

# %% topics=["out-inplace-functional"]
into = np.abs  # the kernel: abs(x, out) writes into out


def functional(x):
    return into(x, np.empty_like(x))


def in_place(x):
    return into(x, x)


x = np.array([-1.0, 2.0])
print("functional", functional(x), "and x is", x)
print("in place  ", in_place(x), "and x is", x)

# %% [markdown]
# The same three in PyTorch. Each has a name, and a schema that says what it writes:

# %% topics=["out-inplace-functional"]
x, y = torch.tensor([-1.0, 2.0]), torch.zeros(2)
assert torch.equal(torch.abs(x), torch.abs(x, out=y)) and torch.equal(y, x.abs_())
for operator in (aten.abs.default, aten.abs_.default, aten.abs.out):
    print(str(operator._schema).split(" ->")[0])

# %% [markdown]
# ### Exercise 20.6 — Read the promise ★★ · 10 min · 3 points
#
# Write `read_schemas(schema)`. It takes the text of one schema and returns a dict with three keys:
#
# - `"writes"`: the names of the arguments that are written (a `!` in their mark), in order, a list;
# - `"views"`: the names of the arguments with a mark that has no `!`, in order, a list;
# - `"variant"`: `"out"` if an argument after the `*` is written; else `"in place"` if any argument is
#   written; else `"view"` if `"views"` isn't empty; else `"functional"`.
#
# Results don't count, only arguments. The marks look like `Tensor(a!) self`, `Tensor(a -> *) self`,
# `Tensor(a!)[] self`, `Tensor(b!)? mask`; an argument may have a default, which may hold commas:
# `int[2] padding=[0, 0]`. Read the text; `torch._C.parse_schema` is not allowed.
#
# Example: `"aten::t(Tensor(a) self) -> Tensor(a)"` gives
# `{"writes": [], "views": ["self"], "variant": "view"}`.

# %% nbgrader={"grade_id": "schema-trials", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.internals import schemas


@runs_with_the_answer
def try_schema(text):
    return play(Scenario(lambda f: schemas.run_schema(f, text), None), read_schemas)


# %% nbgrader={"grade_id": "read-schemas", "solution": true}
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    ### BEGIN SOLUTION
    arguments = schema[: schema.rindex(") ->")]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\S* (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [name for part in parts for written, name in part if written]
    views = [name for part in parts for written, name in part if not written]
    out = any(written for written, _ in parts[1])
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}
    ### END SOLUTION


# %% nbgrader={"grade_id": "read-schemas-check", "grade": true, "points": 3}
with every_case() as case:
    for name, text in schemas.EXAMPLES.items():
        with case(name):
            schemas.check_schema(try_schema(text), text)
### BEGIN HIDDEN TESTS
with every_case() as case:
    for text in schemas.random_schemas(80):
        with case("an operator of PyTorch's"):
            schemas.check_schema(try_schema(text), text)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Cut the results off at the *last* arrow that follows a closing bracket; a mark may hold an arrow too.
# </details>
# <details><summary>Hint 2</summary>
#
# A mark is `Tensor(`, letters, perhaps a `!`, perhaps an arrow, `)`, perhaps `[]` or `?`, a space, and
# then the argument's name. `re.findall` finds them all; what is between doesn't matter.
# </details>

# %% [markdown]
# ## 7. Stepping in from Python
#
# We know the path and the promises. Where can *you* step in, without touching PyTorch? There are two
# doors. The upper one, `__torch_function__`, is at the very start: you see the function that was
# called, as it was called. The lower one, `__torch_dispatch__`, is behind autograd, right before
# the backend: you see operators. **Predict** what each notes for `F.linear(x, w, b).relu()`:

# %% topics=["tensor-wrappers", "call-path-of-add"]
from course_utils.chapters.internals.lazy import Logger
from course_utils.learner.calls import Calls

x, w, b = torch.ones(2, 3), torch.ones(4, 3, requires_grad=True), torch.ones(4)
with Calls() as calls, Logger() as operators:
    F.linear(x, w, b).relu()
print("upper door:", sorted(calls.names))
print("lower door:", operators.names)

# %% [markdown]
# `linear` is composite: below, it has become `t` and `addmm`. The upper door keeps the meaning, the
# lower one needs fewer names. (The `detach` is autograd's: it keeps the result of `relu` for
# backward.) Each can be opened for all tensors, by a mode as here, or for one class.
#
# First the upper door. Its oldest use is a **wrapper**: a class that holds a tensor. By itself it is a
# stranger to every function of PyTorch. With the method `__torch_function__` it is let in, wherever a
# tensor is expected:


# %% topics=["tensor-wrappers"]
class Loud:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return f"{func.__name__} was called with {len(args)} arguments, {kwargs}"


print(torch.add(Loud(), 3))
print(torch.ones(2) * Loud())
print(torch.sum(Loud(), dim=0))

# %% [markdown]
# Three things to see. `kwargs` may be `None`. The door is found also where the operand on the left is a
# plain tensor. And `func` in the second line is the method of `Tensor`, not `torch.mul`: another object,
# with the same name. A class that has no answer returns `NotImplemented`; if all do, PyTorch raises a
# `TypeError`.
#
# ### Exercise 20.7 — Numbers with units ★★ · 12 min · 4 points
#
# A `Quantity` has a `value`, a tensor, and a `unit`, a dict from names to powers that aren't 0: m/s² is
# `{"m": 1, "s": -2}`. Write its `__torch_function__`, for functions with these names:
#
# - `add`, `sub`: the units have to be equal, else a `ValueError`; the result has that unit.
# - `mul`, `div`: powers are added or subtracted; a power of 0 is left out.
# - `sqrt`: powers are halved, and stay whole numbers; an odd power raises a `ValueError`.
# - `sum`, `mean`: the unit stays.
# - any other: return `NotImplemented`.
#
# A plain tensor or number among the arguments has no unit, `{}`. Quantities are given by position, and
# so may be the dimension of `sum` and `mean`; keyword arguments are handed on as they are. Leave the
# arguments as they are.
#
# The result is a new `Quantity` with a new dict, its value computed by the same function on the values,
# so that gradients flow.
#
# Example: 3 m divided by 2 s is 1.5 with `{"m": 1, "s": -1}`.

# %% nbgrader={"grade_id": "unit-trials", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.internals import units


@runs_with_the_answer
def try_units(name):
    return play(units.UNITS[name], Quantity)


# %% nbgrader={"grade_id": "torch-function", "solution": true}
class Quantity(units.Measured):
    """A tensor with a unit; ``__init__(value, unit)`` and the operators are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What PyTorch calls in place of ``func`` when a Quantity is among its arguments."""
        ### BEGIN SOLUTION
        name, kwargs = func.__name__, kwargs or {}
        if name not in ("add", "sub", "mul", "div", "sqrt", "sum", "mean"):
            return NotImplemented
        unit, *others = [dict(getattr(value, "unit", {})) for value in args]
        if name in ("add", "sub") and others[0] != unit:
            raise ValueError(f"{name} of {unit} and {others[0]}")
        if name in ("mul", "div"):
            for key, power in others[0].items():
                unit[key] = unit.get(key, 0) + (power if name == "mul" else -power)
        if name == "sqrt":
            if any(power % 2 for power in unit.values()):
                raise ValueError(f"no root of {unit}")
            unit = {key: power // 2 for key, power in unit.items()}
        value = func(*(getattr(value, "value", value) for value in args), **kwargs)
        return cls(value, {key: power for key, power in unit.items() if power})
        ### END SOLUTION


def torch_function(values: list[float], **unit: int) -> Quantity:
    """Given: a quantity, such as 3 m/s by torch_function([3.0], m=1, s=-1)."""
    return Quantity(torch.tensor(values), unit)


# %% nbgrader={"grade_id": "torch-function-check", "grade": true, "points": 4}
check_scenarios(try_units, units.UNITS)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Two lists help: the values (`.value` of a Quantity, else the argument itself) and the units (`.unit`, else
# `{}`). Then `func(*values, **kwargs)` is the number, and what is left is the unit.
# </details>
# <details><summary>Hint 2</summary>
#
# Compare `func.__name__`. Copy a unit before you change it: `dict(unit)`.
# </details>

# %% [markdown]
# ### The lower door
#
# A subclass of `torch.Tensor` with `__torch_dispatch__` is a tensor all the way down: autograd, `vmap`
# and composite operators treat it as such, and in the end the operator arrives at your method
# instead of at a backend. It need not even have numbers: `torch.Tensor._make_wrapper_subclass` makes a
# tensor that has only a note of size, strides, dtype and device.
#
# What that is good for: put the work off. A **lazy** tensor writes down each operator, and computes
# when the value is asked for. Then the whole program is known, and could be improved first. What
# shape has a result that isn't computed? Remember the puzzle: `meta`.

# %% nbgrader={"grade_id": "as-meta", "locked": true} topics=["tensor-wrappers"]
from course_utils.chapters.internals.lazy import as_meta

args, kwargs = as_meta(((torch.ones(2, 3), [torch.ones(4, 3), 5]), {"dim": 1}))
print(args, kwargs)
print(torch.ops.aten.mm.default(torch.ones(2, 3, device="meta"), torch.ones(3, 4, device="meta")))

# %% [markdown]
# `as_meta` puts a twin on `meta` in place of each tensor, however deep it is in lists and dicts
# (`tree_map` does the walking). An operator called on the twins checks the shapes, and gives the note
# of the result. `func._schema.is_mutable` says whether an operator writes.
#
# ### Exercise 20.8 — A lazy tensor ★★ · 20 min · 4 points
#
# Write a tensor that notes how it would be computed, and computes when asked. Making one is given:
# `Lazy(like, call)` has the note of `like` and keeps `call`, a tuple `(function, args, kwargs)`. Two
# methods are missing:
#
# - `__torch_dispatch__(cls, func, types, args, kwargs)`: compute nothing but on `meta`. Return a `Lazy` with
#   the note of the result, and the call that will give it. An operator that writes raises a
#   `RuntimeError`. (`kwargs` may be `None`.)
# - `value(self)`: the plain tensor. Lazy tensors among the call's arguments, in lists and dicts too, are
#   asked for theirs. Each operation runs once, however often its result is used or `value()`
#   is called.
#
# Operators here give one tensor, and no tensor requires grad. Plain tensors may be among the arguments;
# they are used as they are.
#
# Example: with `a = torch_dispatch(torch.tensor([1.0, 2.0]))`, which is given, `b = a.exp() + 1` has the
# shape (2,), and no exponential has been computed until `b.value()`.

# %% nbgrader={"grade_id": "lazy-trials", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.internals import lazy


@runs_with_the_answer
def try_lazy(name):
    return play(lazy.LAZY[name], Lazy)


# %% nbgrader={"grade_id": "torch-dispatch", "solution": true}
from torch.utils._pytree import tree_map


class Lazy(lazy.Noted):
    """A tensor that knows how it would be computed; making one is given."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """What runs in place of an operator's kernel: a note is made."""
        ### BEGIN SOLUTION
        if func._schema.is_mutable:
            raise RuntimeError(f"{func} writes: a lazy tensor can't")
        call = func, args, kwargs or {}
        twins, options = as_meta(call[1:])
        return cls(func(*twins, **options), call)
        ### END SOLUTION

    def value(self) -> torch.Tensor:
        """The plain tensor, computed when it is first asked for."""
        ### BEGIN SOLUTION
        if self.known is None:
            func, args, kw = tree_map(lambda x: x.value() if isinstance(x, Lazy) else x, self.call)
            self.known = func(*args, **kw)
        return self.known
        ### END SOLUTION


def torch_dispatch(x: torch.Tensor) -> Lazy:
    """Given: a lazy tensor whose value is x."""
    return Lazy(x, (lambda: x, (), {}))


# %% nbgrader={"grade_id": "torch-dispatch-check", "grade": true, "points": 4}
check_scenarios(try_lazy, lazy.LAZY)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# In `__torch_dispatch__`: refuse writers, make twins of args and kwargs, call `func` on them, and wrap the
# result. The call that you keep holds the *original* arguments.
# </details>
# <details><summary>Hint 2</summary>
#
# `tree_map(f, structure)` applies `f` to every leaf of nested lists, tuples and dicts. `self.known` is
# there to remember.
# </details>

# %% [markdown]
# ## 8. A kernel and an operator of your own
#
# Both doors let you change what existing operators do. What if the operator you need doesn't exist?
# Take a sum that forgets, `y[t] = x[t] + decay · y[t-1]`: it is in moving averages, in state space
# models and, run backward, in the returns of reinforcement learning. PyTorch has no operator for it. A
# loop over steps works, and sends every step down the whole path:


# %% topics=["kernel-anatomy"]
def by_steps(x, decay):
    total, steps = torch.zeros(x.shape[:-1]), []
    for step in x.unbind(-1):
        total = step + decay * total
        steps.append(total)
    return torch.stack(steps, -1)


with Logger() as operators:
    result = by_steps(torch.ones(2, 500), 0.5)
print(len(operators.names), "operators for", result.shape[-1], "steps")

# %% [markdown]
# Two operators for each step, and a few more. A **kernel** does the loop inside. Whatever the language,
# it has the same five parts:
#
# | part | in PyTorch's C++ | here |
# | --- | --- | --- |
# | checks, with words | `TORCH_CHECK`, `TORCH_CHECK_TYPE` | `raise TypeError(…)`, `torch._check` |
# | the output | `at::empty`, or TensorIterator's | `torch.empty`, `np.empty` |
# | the dtype switch | `AT_DISPATCH_V2`: compiled once for each type | Numba: compiled at the first call |
# | the parallel loop | `at::parallel_for` | `numba.prange` |
# | access | `data_ptr` and strides, `TensorAccessor` | `x[row, step]` |
#
# **Numba** compiles a Python function that loops over NumPy arrays into machine code, for the dtypes
# and layouts that it meets:

# %% nbgrader={"grade_id": "scan-rows", "locked": true} topics=["kernel-anatomy", "extension-numba", "tensor-accessor-iterator"]
import numba

numba.config.THREADING_LAYER = "forksafe"  # so that DataLoader's workers may use it too


@numba.njit(parallel=True)
def scan_rows(x, decay, out):  # (row, step), of any strides
    for row in numba.prange(x.shape[0]):
        total = 0.0
        for step in range(x.shape[1]):
            total = x[row, step] + decay * total
            out[row, step] = total


# %% topics=["kernel-anatomy", "extension-numba"]
out = np.empty((2, 500), np.float32)
scan_rows(torch.ones(500, 4).t()[::2].numpy(), 0.5, out)
assert np.allclose(out, result)
print(*scan_rows.signatures, sep="\n")

# %% [markdown]
# The signature is the dtype switch at work: `float32`, two dimensions, `A` for any strides, `C` for
# contiguous ones. Another dtype would be compiled at its first call. Rows don't depend on
# each other, so they may run in parallel; steps do, so they may not. (`float16` isn't known to Numba
# on a CPU. A kernel for it converts to `float32` first, and rounds once at the end, which PyTorch's own
# kernels do too.)
#
# The same in C++, where there is a compiler. Strides have to be spelled out, which is what an accessor
# (`TensorAccessor`; on a GPU `PackedTensorAccessor`) saves you:

# %% topics=["kernel-anatomy", "tensor-accessor-iterator"] tags=["nbval-ignore-output"]
from course_utils.chapters.internals.compilers import compiled

source = """
extern "C" void scan(
    const float* x, long rows, long steps, long s0, long s1, float decay, float* y) {
  for (long row = 0; row < rows; ++row) {
    double total = 0;
    for (long t = 0; t < steps; ++t)
      y[row * steps + t] = total = x[row * s0 + t * s1] + decay * total;
  }
}
"""
scan_in_c = compiled(source, "scan")
print("compiled" if scan_in_c else "no C++ compiler on this machine: nothing is lost below")

# %% topics=["kernel-anatomy"] tags=["nbval-ignore-output"]
import ctypes

if scan_in_c:
    x, y = torch.ones(500, 2).t(), torch.empty(2, 500)
    pointer, long = (lambda t: ctypes.c_void_p(t.data_ptr())), ctypes.c_long
    sizes = [long(number) for number in (*x.shape, *x.stride())]
    scan_in_c(pointer(x), *sizes, ctypes.c_float(0.5), pointer(y))
    print("C++ and Numba agree:", np.allclose(y, out))

# %% [markdown]
# On a GPU you would write it in **Triton**, a Python dialect in which a kernel sees a block of entries at
# once and does arithmetic on pointers. Its interpreter runs the same text on a CPU, slowly. One program
# for each block of rows, one loop over the steps:

# %% topics=["kernel-anatomy"] tags=["nbval-ignore-output"]
from course_utils.chapters.internals.triton_scan import scan_by_triton

y = scan_by_triton(torch.ones(20, 3).t(), 0.5)
print(
    "Triton isn't installed here" if y is None else f"Triton agrees: {np.allclose(y, out[:1, :20])}"
)

# %% tags=["nbval-ignore-output"]
import inspect

from course_utils.chapters.internals import triton_scan

source = inspect.getsource(triton_scan)
print(source[source.index("    def kernel(") : source.index("    return kernel")])

# %% [markdown]
# A kernel alone isn't an operator. For PyTorch it is a black box: call it in a model, and what is
# behind it gets no gradient. Nobody warns. **Predict** the last line:

# %% topics=["kernel-anatomy"] tags=["shows-false"]
x = torch.ones(2, 3, requires_grad=True)
out = np.empty((2, 3), np.float32)
scan_rows(x.detach().numpy(), 0.5, out)
print("requires grad:", torch.from_numpy(out).requires_grad)

# %% [markdown]
# You have met what the path needs to know about an operator: a **schema**, a kernel for the backend,
# one on **meta** (called *fake*) for shapes, and slopes for **autograd**. New is a rule for `vmap`, which
# adds a dimension. `torch.library.custom_op` takes them all from Python. Here they are for a smaller
# operator, the square:


# %% topics=["native-functions-schema", "kernel-anatomy"]
@torch.library.custom_op("internals::square", mutates_args=())
def square(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.square(x.numpy()))  # a new tensor, never x itself or a view of it


square.register_fake(lambda x: torch.empty_like(x))
square.register_vmap(lambda info, in_dims, x: (square(x), in_dims[0]))
square.register_autograd(
    lambda ctx, g: 2 * g * ctx.saved_tensors[0],
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)
print(torch.ops.internals.square.default._schema)

# %% topics=["dispatch-autograd"]
x = torch.tensor([3.0, 4.0], requires_grad=True)
square(x).sum().backward()
print("slopes ", x.grad, "| vmap", torch.vmap(square)(torch.ones(2, 3)).shape)
print("path   ", [stop.key for stop in path_of(torch.ops.internals.square.default, x)])
print("on meta", square(torch.ones(2, 3, device="meta")).shape)

# %% [markdown]
# The schema was read off the Python types, and the path is that of section 1. `torch.library.opcheck`
# tries whether all of it fits together: whether the schema tells the truth, the fake has the
# shape and strides of the kernel's result, and compiled gradients equal the plain ones.
#
# ### Exercise 20.9 — An operator of your own ★★★ · 25 min · 5 points
#
# Register the sum that forgets as `internals::decayed_sum`, with arguments `x` (…, steps) and `decay`, a
# `float`. Two parts:
#
# 1. **The kernel**, its loop with `scan_rows`, NumPy or PyTorch, as you like.
#    - `x` may have any strides, and sizes of 0; it is left as it is. Its dtype is `float16`, `bfloat16`,
#      `float32` or `float64`. What isn't finite reaches no earlier step.
#    - A tensor without a dimension raises a `ValueError`, a dtype that isn't floating a `TypeError`.
#    - The result is new and contiguous, of the shape and dtype of `x`. The half types are computed in
#      `float32` or better and rounded once.
# 2. **The rest**: a fake, slopes for `x` (`decay` gets `None`), differentiable twice, and a rule for `vmap`
#    over any dimension of `x`. Over the only dimension of a vector that leaves no steps: a `ValueError`,
#    too. `opcheck` must pass.
#
# The slopes: x[t] is in y[t], and by `decay` weaker in each later y. What arrives at x[t] is therefore
# g[t] + decay · g[t+1] + decay² · g[t+2] + …, which is the same sum from the end to the start.
# Calling your operator in backward makes it differentiable twice.
#
# Example: (1, 1, 1) with decay 0.5 gives (1, 1.5, 1.75), and g = (1, 1, 1) gives the slopes (1.75, 1.5, 1).

# %% nbgrader={"grade_id": "operator-trials", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.internals import operators


@runs_with_the_answer
def try_kernel(name):
    return play(operators.KERNEL[name], custom_operator)


@runs_with_the_answer
def try_registered(name):
    return play(operators.REGISTERED[name], custom_operator)


# %% nbgrader={"grade_id": "custom-operator", "solution": true}
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    """y[..., t] = x[..., t] + decay * y[..., t - 1], for x (..., steps), in a new tensor."""
    ### BEGIN SOLUTION
    if x.dim() == 0:
        raise ValueError("decayed_sum needs a dimension of steps")
    if not x.is_floating_point():
        raise TypeError(f"decayed_sum of {x.dtype}")
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    total, out = torch.zeros_like(wide[..., :1].sum(-1)), wide.new_empty(x.shape)
    for step in range(x.shape[-1]):
        out[..., step] = total = wide[..., step] + decay * total
    return out.to(x.dtype)
    ### END SOLUTION


### BEGIN SOLUTION
custom_operator.register_fake(lambda x, decay: x.new_empty(x.shape))
custom_operator.register_autograd(
    lambda ctx, g: (custom_operator(g.flip(-1), ctx.decay).flip(-1), None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "decay", inputs[1]),
)


@custom_operator.register_vmap
def _(info, dims, x, decay):
    torch._check_value(x.dim() > 1, lambda: "vmap leaves no dimension of steps")
    return custom_operator(x.movedim(dims[0], 0), decay), 0


### END SOLUTION

# %% nbgrader={"grade_id": "custom-operator-check", "grade": true, "points": 2}
check_scenarios(try_kernel, operators.KERNEL)

# %% nbgrader={"grade_id": "custom-operator-check-2", "grade": true, "points": 3}
check_scenarios(try_registered, operators.REGISTERED)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `x[..., t]` is a step of all rows at once, whatever the number of dimensions. Keep the running total in
# a wider type, and convert at the very end.
# </details>
# <details><summary>Hint 2</summary>
#
# The fake has to have fresh strides, also where `x` is transposed: `x.new_empty(x.shape)`. For vmap bring
# the batch dimension to the front with `movedim`; `in_dims[0]` says which it is.
# </details>
# <details><summary>Hint 3</summary>
#
# Turn the steps around with `flip(-1)`, before and after.
# </details>

# %% [markdown]
# **In practice.** Look first whether `torch.compile` can make the kernel for you; it traces NumPy
# code as well. Write one by hand when a loop carries something from step to step, or when a library
# has to be called. And libraries exchange arrays without copies, by DLPack:

# %% topics=["extension-cupy"]
x = torch.arange(3.0)
array = np.from_dlpack(x)
array[0] = 7
print(x, torch.from_dlpack(array).data_ptr() == x.data_ptr())

# %% [markdown]
# ## 9. Where the memory comes from · optional
#
# One part of the path is left: every result needs a storage. On a CPU the system is asked for it. On a
# GPU asking takes long, and giving back (`cudaFree`) waits for everything that runs. PyTorch therefore
# keeps what was freed and hands it out again: a **caching allocator**. It explains three things that
# everyone meets: why `nvidia-smi` shows more than your tensors need, why memory runs out although
# enough is free, and why `empty_cache` rarely helps.
#
# Its rules, a little simplified:
#
# 1. A request is rounded up to a multiple of 512 bytes.
# 2. Up to 1 MiB it is *small*, else *large*. Small and large requests have separate **segments**. A segment is
#    what the device was asked for: 2 MiB for small requests; for a large one its size, rounded up to a
#    multiple of 2 MiB.
# 3. Take the smallest free **block** that is large enough, of the same kind. (Of several the first of the
#    oldest segment.) If there is none, make a new segment; it is one free block.
# 4. What is left over is split off as a free block: in a small segment always, in a large one only
#    if it is *more* than 1 MiB. Else the block keeps it, and all of it counts as allocated.
# 5. A freed block merges with free neighbours in its segment.
# 6. `empty_cache` gives back segments that are free as a whole, and nothing else.
#
# *Reserved* is the sum of all segments, *allocated* that of the blocks in use. By hand: `a` is 5 MiB, which
# makes a segment of 6 MiB; the rest, 1 MiB, isn't more than 1 MiB, so `a` keeps it: 6 allocated, 6 reserved.
# Free `a`, and 0 are allocated, 6 reserved. **Predict** the last four columns of the picture for this trace:
# where does `e` go, and what can be given back? (A thick frame is a segment, a coloured box a block in
# use, a grey one a free block.)

# %% nbgrader={"grade_id": "trace", "locked": true} topics=["internals-overview"]
from course_utils.chapters.internals import allocators

MIB = 2**20
trace = [("malloc", "x", 6 * MIB), ("free", "x")]
trace += [("malloc", name, 2 * MIB) for name in "abc"] + [("free", "a"), ("free", "c")]
trace += [("malloc", "e", 4 * MIB), ("empty_cache",), ("free", "b"), ("empty_cache",)]

# %% topics=["internals-overview"]
allocators.draw_memory(
    trace,
    "Columns of memory after each of eleven steps. A segment of 6 MiB is cut into a, b and c. "
    "After a and c are freed, e of 4 MiB finds no block and gets a segment to itself; emptying "
    "the cache gives back nothing while b lives, and the first segment after b is freed.",
)

# %% [markdown]
# 4 MiB were free, and a request of 4 MiB didn't fit: the free memory was in two pieces. That is
# **fragmentation**. And with `b` alive, `empty_cache` gave back nothing; a single small tensor holds its
# whole segment. (On a GPU `torch.cuda.memory_snapshot()` shows these boxes for your program. The real
# allocator has more rules: 20 MiB segments for requests below 10 MiB, a pool for each stream, and
# segments that can grow.)
#
# ### Exercise 20.10 — A caching allocator ★★★ · 30 min · 4 points
#
# Write `allocator(trace)`. A trace is a list of steps: `("malloc", name, bytes)` with at least one byte,
# `("free", name)`, `("empty_cache",)`. A name may be used again once it was freed. Return a list of pairs,
# one after each step: bytes allocated, bytes reserved. Follow the six rules. The trace stays as it is.
#
# Example: `[("malloc", "a", 1000), ("malloc", "b", 3 * 2**20), ("free", "a")]` gives
# `[(1024, 2097152), (4195328, 6291456), (4194304, 6291456)]`: `b` keeps the whole of its segment.


# %% nbgrader={"grade_id": "allocator-trials", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_trace(name):
    return play(Scenario(lambda f: allocators.run_trace(f, name), None), allocator)


# %% nbgrader={"grade_id": "allocator", "solution": true}
def allocator(trace: list[tuple]) -> list[tuple[int, int]]:
    """Bytes allocated and reserved after each step of a trace."""
    ### BEGIN SOLUTION
    segments, numbers = [], []  # a segment: (small, blocks); a block: [size, name or None]
    for kind, *rest in trace:
        if kind == "malloc":
            size = -(-rest[1] // 512) * 512
            pool = [blocks for small, blocks in segments if small == (size <= MIB)]
            fits = [b for blocks in pool for b in blocks if b[1] is None and b[0] >= size]
            if not fits:
                fits = [[2 * MIB * -(-size // (2 * MIB)), None]]
                segments.append((size <= MIB, fits))
            best = min(fits, key=lambda block: block[0])
            blocks = next(b for _, b in segments if any(block is best for block in b))
            if best[0] - size >= (512 if size <= MIB else MIB + 1):
                blocks.insert([b is best for b in blocks].index(True) + 1, [best[0] - size, None])
                best[0] = size
            best[1] = rest[0]
        for _, blocks in segments if kind == "free" else ():
            for block in blocks:
                block[1] = None if block[1] == rest[0] else block[1]
            for i in range(len(blocks) - 1, 0, -1):
                if blocks[i][1] is None and blocks[i - 1][1] is None:
                    blocks[i - 1][0] += blocks.pop(i)[0]
        if kind == "empty_cache":
            segments = [s for s in segments if any(name is not None for _, name in s[1])]
        every = [block for _, blocks in segments for block in blocks]
        numbers.append((sum(n for n, name in every if name is not None), sum(n for n, _ in every)))
    return numbers
    ### END SOLUTION


# %% nbgrader={"grade_id": "allocator-check", "grade": true, "points": 4}
allocators.check_replays(try_trace, allocators.TRACES)
### BEGIN HIDDEN TESTS
allocators.check_replays(try_trace, allocators.RANDOM_TRACES)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A segment is a list of blocks in order, each `[size, name]` with the name `None` while it is free. Then
# splitting inserts into that list, and merging joins two neighbours.
# </details>
# <details><summary>Hint 2</summary>
#
# `min(fits, key=…)` with the size alone as key gives the first of the smallest. Before a new segment is
# cut, treat it as one free block: then both cases split by the same lines.
# </details>

# %% [markdown]
# ## 10. Where it is · core
#
# You have built every station. Where are they in PyTorch? Follow one call. It begins in Python, where
# `+` is a method that came from C++, and ends in a file named after the operator's family:

# %% topics=["call-path-of-add", "code-layout"]
print("1", torch.Tensor.__add__.__objclass__, type(torch.Tensor.__add__).__name__)
print("2", torch.ops.aten.add.Tensor)
for number, stop in enumerate(path_of(torch.ops.aten.add.Tensor, torch.ones(2), torch.ones(2)), 3):
    print(number, stop.key, "registered in", stop.file)

# %% [markdown]
# Step 1 is a **binding**, generated from the schema: it parses the Python arguments, and looks for the
# upper door. Step 2 is the dispatcher. Step 3 is generated too, from `derivatives.yaml`. Step 4 is a
# registration; the loop itself is in `aten/src/ATen/native/cpu/BinaryOpsKernel.cpp`, where you will find
# TensorIterator and a short function for a single entry. To find any operator, search
# `native_functions.yaml` for its name, and follow the `dispatch:` entry.
#
# | folder | what is there |
# | --- | --- |
# | `c10/` | what everything else needs: `TensorImpl`, `Storage`, dispatch keys, the CUDA allocator |
# | `aten/src/ATen/` | tensors in C++: the dispatcher (`core/`), TensorIterator, the schemas |
# | `aten/src/ATen/native/` | the kernels, with `cpu/`, `cuda/`, `sparse/` … below |
# | `torch/csrc/` | bindings to Python, and the engine of autograd (`autograd/engine.cpp`) |
# | `torch/` | Python: `nn`, `optim`, `library.py`, `utils/` … |
# | `torch/_dynamo/`, `torch/_inductor/` | the compiler: capture of Python code; making kernels |
# | `torchgen/`, `tools/autograd/` | the generators; `derivatives.yaml` is in the second |
#
# > **Then and now.** *"The kernels are in `TH` and `THC`, old C code; `THNN` has the layers."* They were
# > ported to `ATen/native` one by one, and the last are gone since about 2022. The folder
# > name `THC` survives among the headers, with next to nothing in it.

# %% topics=["code-layout"] errata=["internals-map"]
folder = Path(torch.__file__).parent / "include"
for name in ("c10", "ATen", "torch", "TH", "THC", "THNN"):
    print(f"{name:<6}", "many headers" if len(list((folder / name).rglob("*.h"))) > 50 else "-")

# %% [markdown]
# ### Exercise 20.11 — Where would you look? ★ · 4 min · 2 points · core
#
# For each of eight errands write the folder where you would begin, one of these seven: `"c10"`,
# `"aten/src/ATen"`, `"aten/src/ATen/native"`, `"torch/csrc"`, `"torch"`, `"torch/_inductor"`,
# `"tools/autograd"`. (Always the innermost of them that fits.)

# %% nbgrader={"grade_id": "where-is-it", "solution": true}
where_is_it = {
    "the slope of torch.atan2 is wrong": None,
    "nn.Dropout's docstring has a typo": None,
    "the CPU loop of cumsum skips an entry": None,
    "a new dispatch key is needed": None,
    "backward() starves with many threads": None,
    "the plan of loops merges too little": None,
    "a compiled model's generated C++ is slow": None,
    "the CUDA caching allocator splits badly": None,
}
### BEGIN SOLUTION
folders = ("tools/autograd", "torch", "aten/src/ATen/native", "c10", "torch/csrc")
folders += ("aten/src/ATen", "torch/_inductor", "c10")
where_is_it = dict(zip(where_is_it, folders, strict=True))
### END SOLUTION

# %% nbgrader={"grade_id": "where-is-it-check", "grade": true, "points": 2} jupyter={"source_hidden": true}
from course_utils.chapters.internals.sources import check_folders

check_folders(where_is_it)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Slopes are kept in one file. Kernels are separate from the machinery that calls them. What even a
# build without any kernel would need is at the bottom.
# </details>

# %% [markdown]
# ### If you want to change it
#
# A build from scratch takes an hour on a laptop, so nobody starts with one:
#
# - **Python only?** `tools/nightly.py checkout -b my-branch` puts a nightly build's binaries below your
#   checkout: nothing is compiled.
# - **A new kernel?** `torch.library` from Python, as above, or `torch.utils.cpp_extension`, which
#   compiles a single file against the installed headers.
# - **C++ inside?** `python -m pip install --no-build-isolation -v -e .`, with `ccache` and `ninja`. A header
#   that all others include costs the whole hour again; a `.cpp` file under `native/` costs a minute. Leave
#   out what you don't need (`USE_CUDA=0`, `BUILD_TEST=0`).
# - Run the tests of what you touched (`python test/test_torch.py -k name`), `lintrunner` for the style, and
#   let CI, which runs on every pull request, build for the systems that you don't have.
#
# Most contributions aren't kernels. Reading issues is one: try to reproduce an issue on today's nightly, cut
# the example down to ten lines, say which version broke it. A documentation page that misled you, a test
# for an error message, an issue labelled *good first issue*: each is welcome, and each makes you read a
# piece of this chapter in the original. Two lines belong in every report; `python -m torch.utils.collect_env`
# writes the rest:

# %% topics=["build-workflow", "contribute"] tags=["nbval-ignore-output"]
print("torch", torch.__version__, "built from commit", torch.version.git_version[:10])
print("compiled with", torch.__config__.show().splitlines()[1].strip(" -"))

# %% [markdown]
# ## The payoff: your PyTorch learns · core
#
# A tensor, a dispatcher with two backends, and autograd in front of both. It is enough to train the
# network of chapter 05 on its two rings:
#
#     scores = relu(x @ w1 + b1) @ w2 + b2
#
# First a single step on each backend, to see that they agree; the training then runs on NumPy. If
# your autograd isn't finished, the gradients are PyTorch's.

# %% topics=["internals-overview"]
from course_utils.chapters.internals import rings

engine = parts.engine(globals())
print("yours:", ", ".join(parts.solved(globals())) or "none of the four yet")
first = {key: rings.one_step(engine, key) for key in ("List", "NumPy")}
print("loss by lists", round(first["List"], 5), "and by NumPy", round(first["NumPy"], 5))

# %% topics=["internals-overview"]
losses, weights = rings.train(engine, "NumPy", steps=150)
losses_torch, weights_torch = rings.train_torch(steps=150)
assert np.allclose(losses, losses_torch, atol=1e-4)
print(f"loss {losses[0]:.2f} -> {losses[-1]:.2f}; PyTorch's {losses_torch[-1]:.2f}")
print("right:", rings.right_answers(weights), "of 200")

# %% topics=["internals-overview"]
pictures.draw_rings(
    {"yours": losses, "PyTorch's": losses_torch},
    {"yours": rings.shares(weights), "PyTorch's": rings.shares(weights_torch)},
    *rings.points_and_labels(),
    "Left: the two losses fall along the same curve, from 1.3 to below 0.1. Middle and right: two "
    "rings of points, and the share of class 1 that each network gives: low inside, high outside.",
)

# %% [markdown]
# The dotted curve is drawn on the solid one: to four digits both are the same at each of the 150
# steps. What PyTorch has beyond yours is two thousand operators, a dozen backends, and speed. The
# path from `a + b` to the addition is the same.

# %% [markdown]
# ## Heard elsewhere
#
# *"Indexing never allocates: the view is chosen in Python."* It depends on the operator that the
# index becomes, and the schema tells: a result that is marked shares memory, an unmarked one is new.
# `a[1:]` ends at `slice`, `a[[1]]` at `index`, which copies:

# %% topics=["native-functions-schema"]
for operator in (aten.slice.Tensor, aten.index.Tensor):
    print(
        str(operator._schema).split(" -> ")[0][:45], "… ->", str(operator._schema).split(" -> ")[-1]
    )

# %% [markdown]
# *"`cupy` accelerates pandas; so do `swifter` and `modin`."* CuPy is NumPy and SciPy for a GPU, and has
# no data frames. For pandas there is `cudf.pandas` on a GPU and Polars on a CPU; Modin and Swifter spread pandas over
# cores. What CuPy and PyTorch share is DLPack, here with NumPy in its place:

# %% topics=["extension-cupy"] errata=["cupy-for-pandas"]
x = torch.arange(3)
print(np.from_dlpack(x).tolist(), torch.from_dlpack(np.arange(3)).tolist())

# %% [markdown]
# *"For speed, the graph is compiled by TorchScript: `torch.jit.trace`."* It is deprecated. And a trace
# keeps the branch that its example took, without a word. Today's compiler captures operators through
# the doors of section 7, and `torch.export` refuses code like this (chapter 19).

# %% topics=["dispatch-autograd"] errata=["torchscript-deployment"] tags=["shows-deprecated"]
import warnings


class Branch(nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x - 5


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    traced = torch.jit.trace(Branch(), torch.ones(2))
print(
    "traced:", traced(-torch.ones(2)).tolist(), "| as written:", Branch()(-torch.ones(2)).tolist()
)

# %% [markdown]
# *"Vectorised code uses `Vec256`."* It is `at::vec::Vectorized` now, since registers of 512 bits and ARM
# came. Kernels are compiled in several variants, and PyTorch picks one when it is loaded:

# %% topics=["tensor-accessor-iterator"] errata=["internals-map"] tags=["nbval-ignore-output"]
print(torch.backends.cpu.get_cpu_capability())

# %% [markdown]
# ## What to take home
#
# | question | answer |
# | --- | --- |
# | Which kernel runs? | the first key of the arguments that has one; fallthroughs are skipped |
# | Why needn't autograd know the device? | it is a kernel in front that calls the operator again, below |
# | What does `no_grad` change? | a flag, not the path; `inference_mode` takes the key out |
# | How are strides and broadcasting handled? | by one plan of loops; step 0 repeats; loops merge |
# | Which dtype comes out? | rank by rank; a lower rank counts if its category is higher |
# | Who may be written? | what the schema marks with `!` |
# | Where can I step in? | `__torch_function__` before all, `__torch_dispatch__` behind autograd |
# | What does an operator need? | schema, kernel, fake, slopes, a rule for vmap; then `opcheck` |
# | What does `empty_cache` free? | segments that are free as a whole |
#
# **Three mistakes to remember**
#
# 1. To think that a tensor without `requires_grad` skips autograd. The key is there; only the note is
#    missing.
# 2. To call a foreign kernel inside a model without registering it. Nothing fails, and nothing behind
#    it learns.
# 3. To trust free memory. What counts is the largest free block, and one living tensor keeps its segment.
#
# **Read more.** Edward Yang's blog has *PyTorch internals* and *Let's talk about the PyTorch dispatcher*.
# The PyTorch documentation has *Extending PyTorch*, *PyTorch Custom Operators* and *Understanding CUDA
# Memory Usage*; the repository's `CONTRIBUTING.md` and `aten/src/ATen/native/README.md` are worth an
# evening each.
