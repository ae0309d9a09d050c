# ---
# jupyter:
#   course:
#     title: Debugging
#     minutes: 240
#     core: 145
# ---

# %% [markdown]
# # Debugging: what is the shortest way from a red block to its cause?
#
# Sixty red lines. The first few are about your cell, the next fifty about files you never opened,
# and the last reads `mat1 and mat2 shapes cannot be multiplied`. Most people scroll, paste all of it
# into a search box, and change something at random. There is a shorter way nearly every time: read a
# line, look at a frame, ask a question with a tool of ten lines. This chapter builds the tools.
#
# **After this chapter you can**
#
# - read a traceback from its last line up, and name what broke and where;
# - name the first module that an input doesn't fit, the first operator that gives a NaN, and the
#   first operator at which two runs part;
# - find what keeps memory alive, why a loader's worker died, what a checkpoint's message means;
# - find out why a model doesn't learn although nothing fails;
# - shrink a failing program of sixty lines to the six that matter, and write a report that gets an
#   answer.
#
# **It leans on** chapter 01 (tensors), 05 (autograd) and 07 (hooks). **Time:** four hours and a half
# with all twelve exercises. Sections 11 and 12 are optional; without them, under four. The core path is
# marked `· core` and takes under two and a half hours. You can skip any exercise.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_close, check_equal, check_predictions, device, every_case
from course_utils import check_value, forbid_changes, runs_with_the_answer, show

# %% [markdown]
# ## 1. What does the red block say? · core
#
# Here is a small network for images of 28 × 28 pixels, and an error in it.


# %%
class Classifier(nn.Module):
    """Images (batch, 1, 28, 28) in, ten scores each out."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).flatten(1))


# %%
classifier = Classifier()
classifier.features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2))
classifier.head = nn.Linear(4 * 12 * 12, 10)
try:
    classifier(torch.zeros(2, 1, 28, 28))
except RuntimeError as error:
    red = error
print(red)

# %% [markdown]
# A traceback is a list of **frames**: for each, a function that was running, and the line it was
# at. The first frame is the outermost call; the last is where the exception was raised. Which
# frames are yours?

# %%
import traceback

entries = traceback.extract_tb(red.__traceback__)
rows = [("library" if "site-packages" in e.filename else "yours", e.name, e.line) for e in entries]
for whose, function, line in rows:
    print(f"{whose:8} {function:18} {line}")

# %%
import matplotlib.pyplot as plt

BLUE, ORANGE, GREY = "#0072b2", "#b04500", "#6b6b6b"
lowest = max(n for n, (whose, *_) in enumerate(rows) if whose == "yours")
marks = {lowest: "WHERE →", len(rows): "WHAT →"}
figure, axes = plt.subplots(figsize=(9, 3.4))
for n, (whose, function, line) in enumerate([*rows, ("", "RuntimeError", str(red))]):
    colour = ORANGE if n in marks else BLUE if whose == "yours" else GREY
    box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": colour, "lw": 1.5}
    axes.text(0.22, -n, f"{function}: {line}", color=colour, fontsize=9, va="center", bbox=box)
    axes.text(0, -n, whose, color=colour, fontsize=9, va="center")
    axes.text(0.1, -n, marks.get(n, ""), color=ORANGE, weight="bold", va="center")
axes.set(xlim=(0, 1), ylim=(-len(rows) - 0.6, 0.6))
axes.axis("off")
show(figure, "A column of frames; the last line says what, the lowest frame of yours says where.")

# %% [markdown]
# Two of these lines matter, both in orange. The **last line** tells you *what*, the **lowest frame
# that is yours** tells you *where*. The grey frames between are PyTorch's way from one to the other.
# Read the last line first, then go up to the first line that you wrote.
#
# Python underlines with `^^^^` which call in a line was running. And a traceback may have two
# blocks. *"The above exception was the direct cause of the following exception"* joins them after a
# `raise … from`; *"During handling of the above exception, another exception occurred"* where the
# handler itself failed. Either way the first block is where it began:

# %%
try:
    try:
        {}["weights"]
    except KeyError as first:
        raise ValueError("no checkpoint of ours") from first
except ValueError as second:
    print("the last line:", repr(second), " it began with:", repr(second.__cause__))

# %% [markdown]
# The message has the numbers: `2x676 and 576x10`. The head wants 576 = 4 · 12 · 12, and 676 is
# 4 · 13 · 13. The author of the head forgot how a 3 × 3 window shrinks 28 pixels: to 26, not 24.
#
# ### The frame is still there
#
# The exception keeps its frames, and they keep their variables. Going back to look at them is
# called **post-mortem** debugging. In a notebook, type `%debug` in the next cell after a red block:
# `u` and `d` walk the frames, `p x.shape` prints, `q` leaves. The same by hand:

# %%
frames = [frame for frame, _ in traceback.walk_tb(red.__traceback__)]
mine = [frame for frame in frames if frame.f_globals["__name__"] == "__main__"][-1]
local = mine.f_locals
print(mine.f_code.co_name, "had x of shape", tuple(local["x"].shape))
print("its features would be", tuple(local["self"].features(local["x"]).shape))

# %% [markdown]
# It has a price. As long as `red` lives, so does everything in those frames: a batch, a graph, on
# a GPU gigabytes. And IPython keeps each exception for `%debug` until the next.
#
# ### Misspelt
#
# The shortest red blocks come from names. Each of these was printed in a tutorial. `difflib` proposes
# near names, as Python's prompt does.

# %% errata=["typos-000", "typos-003"]
import difflib

import torch.utils.data

slips = {"Squential": nn, "cumprd": torch, "DataParaller": nn, "set_num_threds": torch}
for slip, home in {**slips, "Dataloader": torch.utils.data, "unqueeze": torch.Tensor}.items():
    print(f"{slip:15}", hasattr(home, slip), difflib.get_close_matches(slip, dir(home), 2))

# %% [markdown]
# ### Exercise 15.1 — Read the message ★ · 5 min · 3 points · core
#
# Eight programs that fail, each with the message it gave; `torch`, `nn` and `F` were imported before
# their line 1. For each write `(what, where)`:
#
# - *what* is one of `"shape"`, `"dtype"`, `"device"`, `"range"` (an index outside its table),
#   `"graph"` (something about gradients), `"name"`, `"none"` (a function returned nothing);
# - *where* is the number of the lowest line in the traceback that belongs to the program: the line
#   that was running, which is not always the line to mend. Empty lines count.
#
# For example, `x = torch.ones(2)` in line 1 and `y = x[5]` in line 2 give `("range", 2)`. Do the first
# four, run the first check, then do the others.

# %% nbgrader={"grade_id": "programs", "locked": true}
from course_utils.chapters.debugging import PROGRAMS, check_pairs, explain, run_program

for name, source in PROGRAMS.items():
    lines = "\n".join(f"{n}  {line}" for n, line in enumerate(source.splitlines(), 1))
    print(f"--- {name}\n{lines}\n{run_program(source)[0][:130]}")

# %% nbgrader={"grade_id": "read-the-message", "solution": true}
read_the_message = {
    "A": None,
    "B": None,
    "C": None,
    "D": None,
    "E": None,
    "F": None,
    "G": None,
    "H": None,
}
### BEGIN SOLUTION
read_the_message = {
    "A": ("shape", 4),
    "B": ("name", 2),
    "C": ("dtype", 3),
    "D": ("range", 3),
    "E": ("device", 3),
    "F": ("none", 6),
    "G": ("graph", 4),
    "H": ("dtype", 2),
}
### END SOLUTION

# %% nbgrader={"grade_id": "read-the-message-check-1", "grade": true, "points": 1} jupyter={"source_hidden": true}
causes = dict(A="shape", B="name", C="dtype", D="range")
whats = {
    "A": "mat1 is the input of the head, 3x4; mat2 its weight, 8x2",
    "B": "the module has no attribute that is called so",
    "C": "the sizes fit; 'the same dtype, but got Byte and Float'",
    "D": "a table of 10 rows has the rows 0 to 9; the message calls the table 'self'",
}
wheres = {
    "A": "making a layer compares nothing; calling the head does",
    "B": "the line that looks the name up fails",
    "C": "the layer and the photo may exist side by side; it shows when the layer runs",
    "D": "a list of indices may hold any number; it shows when the table is asked",
}
check_pairs(read_the_message, causes)
truth = {name: (what, run_program(PROGRAMS[name])[1]) for name, what in causes.items()}
guesses = {name: read_the_message.get(name) for name in causes}
check_predictions(guesses, truth, explain(guesses, truth, whats, wheres))

# %% nbgrader={"grade_id": "read-the-message-check-2", "grade": true, "points": 2} jupyter={"source_hidden": true}
causes = dict(E="device", F="none", G="graph", H="dtype")
whats = {
    "E": "'device cpu is not on the expected device meta'",
    "F": "forward has no return: y is None",
    "G": "exp keeps its result for backward(), which finds it changed",
    "H": "the mean of integers has no dtype",
}
wheres = {
    "E": "the layer and x meet when the layer is called",
    "F": "a missing return is no error; the next function to get the None complains (and "
    "empty lines count)",
    "G": "line 3 is to blame, yet it ran",
    "H": "the lowest line is the one inside scale, not its call",
}
check_pairs(read_the_message, causes)
truth = {name: (what, run_program(PROGRAMS[name])[1]) for name, what in causes.items()}
guesses = {name: read_the_message.get(name) for name in causes}
check_predictions(guesses, truth, explain(guesses, truth, whats, wheres))

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Look in the message for sizes ("1x4"), for dtype names (Byte, Long, Float), for a device, for
# "out of range", for "backward" or "grad".
# </details>
# <details><summary>Hint 2</summary>
#
# Which line was running? Making a tensor or a layer rarely fails. Using it does.
# </details>
#
# Remember program G: *where it is raised is not where it went wrong*.

# %% [markdown]
# ## 2. Which module doesn't the input fit? · core
#
# In a network of sixty layers the lowest frame of yours is a loop over sixty modules, and the line tells
# you nothing. Which module was it?
#
# > **Then and now.** *"A wrong input size of a linear layer shows up as an illegal parameter of
# > SGEMM."* Sizes are now compared before the matrix library is called, and the message has both.

# %% errata=["sgemm-illegal-value"]
try:
    nn.Linear(3, 2)(torch.zeros(1, 4))
except RuntimeError as error:
    print(error)

# %% [markdown]
# Read it as: the input is 1 × 4, and the layer's weight, transposed, is 3 × 2. The inner two
# numbers must agree. The message knows no module's name, though. Chapter 07 has the opening for
# this: hooks. A forward hook is called when a module has finished:

# %% topics=["shape-asserts"]
import contextlib
from functools import partial

rows = []


def note(name, module, args, output):
    rows.append((name, tuple(args[0].shape), tuple(output.shape)))


for name, module in classifier.features.named_children():
    module.register_forward_hook(partial(note, f"features.{name}"))
classifier.head.register_forward_hook(partial(note, "head"))
with contextlib.suppress(RuntimeError):
    classifier(torch.zeros(2, 1, 28, 28))
rows

# %%
figure, axes = plt.subplots(figsize=(9, 2))
steps = [("input", rows[0][1]), *((name, out) for name, _, out in rows), ("head wants", (2, 576))]
for n, (name, shape) in enumerate(steps):
    colour = ORANGE if name == "head wants" else BLUE
    box = {"boxstyle": "round,pad=0.5", "facecolor": "white", "edgecolor": colour, "lw": 1.5}
    axes.text(
        n, 0, f"{name}\n{shape}", ha="center", va="center", color=colour, bbox=box, fontsize=9
    )
arrow = {"arrowstyle": "-|>", "color": GREY, "lw": 1.5}
for n in range(len(steps) - 1):
    axes.annotate("", (n + 0.65, 0), (n + 0.35, 0), arrowprops=arrow)
axes.text(3.5, -0.7, "4 · 13 · 13 = 676, not 576", color=ORANGE, ha="center")
axes.set(xlim=(-0.5, 4.5), ylim=(-1, 1))
axes.axis("off")
show(figure, "Shapes along the network: the pool gives 4 by 13 by 13, the head wants 576 numbers.")

# %% [markdown]
# The three modules that finished are listed; the head isn't. Modules run in the order of `forward`, not
# of their names. A **pre-hook** is called when a module begins. Keep a list: a module that begins
# is appended, a module that finishes is taken off. *At any time the list holds the modules that
# began and did not finish*, the innermost last. When an exception is raised, its last entry is where.
#
# Why not simply the last module that began? Here two branches run well, and joining them fails.
# **Predict** both lines:


# %% topics=["shape-asserts"]
class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(4, 2), nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stack([self.left(x), self.right(x)])


# %% topics=["shape-asserts"]
model, began, running = nn.Sequential(nn.Linear(4, 4), Branches()), [], []


def begin(name, *_):
    began.append(name)
    running.append(name)


def finish(*_):
    running.pop()


# %% topics=["shape-asserts"]
for name, module in model.named_modules():
    module.register_forward_pre_hook(partial(begin, name))
    module.register_forward_hook(finish)
with contextlib.suppress(RuntimeError):
    model(torch.zeros(1, 4))
print("the last that began:", began[-1], " began, not finished:", running)

# %% [markdown]
# `1.right` is innocent. The fault is in the `forward` of `1`, between its children. (The model
# itself has the empty name.)
#
# ### A dry run costs nothing
#
# To try a shape you need no data and no memory. On the device `meta` tensors have a shape and a
# dtype and no numbers. A model can be built there, or a copy be moved there:

# %% topics=["shape-asserts"]
with torch.device("meta"):
    huge = nn.Sequential(nn.Linear(100_000, 200_000), nn.ReLU(), nn.Linear(200_000, 10))
    print("output:", tuple(huge(torch.empty(64, 100_000)).shape))
print("parameters:", sum(p.numel() for p in huge.parameters()) // 10**9, "billion, in 0 bytes")

# %% [markdown]
# ### Say it yourself, sooner
#
# Cheaper than finding an error is an error in the right place. Write down what you believe about
# shapes. `assert` will do. `torch._check` is what PyTorch's own Python code uses: the words are a
# function, called only on failure, and `torch.compile` understands it.


# %% topics=["shape-asserts"]
def attend(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """Scores (batch, n, m) of queries (batch, n, d) with keys (batch, m, d)."""
    words = f"the last sizes differ: query {tuple(query.shape)}, key {tuple(key.shape)}"
    torch._check(query.shape[-1] == key.shape[-1], lambda: words)
    return query @ key.mT


# %% topics=["shape-asserts"]
try:
    attend(torch.zeros(2, 5, 8), torch.zeros(2, 7, 6))
except RuntimeError as error:
    print(error)

# %% [markdown]
# ### Exercise 15.2 — Shape detective ★★ · 15 min · 4 points · core
#
# Write `shape_detective(model, shape)`, which says where a shape doesn't fit. It runs the model
# once on a float32 input of that shape, which may be `()` (any values; float32 is the default dtype
# here), in the mode the model is in, and returns
#
# - `None` if that works;
# - if not, `(name, size)`: the name, as `named_modules()` gives it, of the innermost module whose
#   `forward` began and did not finish, and the shape of its first argument (a tensor, handed by
#   position), as it came, as a tuple.
#
# The exception, whatever its class, does not leave your function. Afterwards all is as it was: the
# model's parameters, buffers (a BatchNorm in training counts its batches), modes, `.grad` and
# hooks, its own hooks included, and the global random state. No `forward` here takes a gradient or
# reads a value (`x.item()`, `if x.max() > 0:`), so a run on `meta` will do.
#
# Examples: for the classifier above, `("head", (2, 676))`. For the branches, in a model of one
# linear layer and them, `("1", (1, 4))`: they began, and both children had finished.

# %% nbgrader={"grade_id": "try-shape-detective", "locked": true} jupyter={"source_hidden": true}
import contextlib
from functools import partial

from course_utils.chapters.debugging import RUNS, changes, check_detective, check_finding
from course_utils.chapters.debugging import UNUSUAL_SUSPECTS, make_suspect, state_of


@runs_with_the_answer
def try_shape_detective(name: str, shape: tuple, training: bool) -> tuple:
    """What the detective says of a model, what it changed, and the runs of a model that counts."""
    model = make_suspect(name, training)
    model.register_forward_hook(lambda *_: None)
    RUNS.clear()
    before = state_of(model)
    try:
        answer = shape_detective(model, shape)
    except Exception as error:
        words = f"{type(error).__name__} left the function, expected an answer: {error}"
        none = "; torch.zeros(()) makes a tensor of shape (), torch.zeros(*()) fails"
        raise AssertionError(words + none * (not shape)) from error
    return answer, changes(before, state_of(model)), len(RUNS)


# %% nbgrader={"grade_id": "shape-detective", "solution": true}
def shape_detective(model: nn.Module, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
    """The innermost module that began and did not finish, as (name, input shape); else None."""
    ### BEGIN SOLUTION
    import copy

    twin, running = copy.deepcopy(model).to("meta"), []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.empty(shape, device="meta"))
    except Exception:
        return running[-1]
    return None
    ### END SOLUTION


# %% nbgrader={"grade_id": "shape-detective-check", "grade": true, "points": 4}
cases = [("nested", (5, 4), ("1.1.1", (5, 4)), True, ""), ("it fits", (3, 4), None, True, "")]
cases += [
    ("classifier", (2, 1, 28, 28), ("4", (2, 676)), True, ""),
    ("branches", (1, 4), ("1", (1, 4)), True, "both children finished; their parent did not"),
    ("its own forward", (2, 4), ("", (2, 4)), True, "the model's own forward: the empty name"),
    ("other order", (2, 4), ("a", (2, 5)), True, "b runs before a, whatever their order"),
    ("called twice", (2, 4), ("block.0", (2, 6)), True, "the second call fails, not the first"),
    ("batchnorm", (3, 4), ("4", (3, 4)), True, "and BatchNorm counts, dropout draws"),
    ("one sample", (1, 4), ("1", (1, 4)), True, "in training, one sample has no variance"),
    ("one sample", (1, 4), None, False, "in eval mode it works"),
    ("another x", (2, 4), ("", (2, 4)), True, "the argument as it came, before forward renames it"),
    ("turned in place", (2, 4), ("1", (2, 6)), True, "as it came, before forward turns it"),
    ("two arguments", (2, 4), ("1.join", (2, 4)), True, "the shape of the first argument"),
    ("one layer, two names", (2, 4), ("0", (2, 6)), True, "named_modules() names it once, as 0"),
    *UNUSUAL_SUSPECTS,
]
cases += [(name, (2, 4), ("1", (2, 4)), True, "") for name in ("a KeyError", "an IndexError")]
### BEGIN HIDDEN TESTS
cases += [("classifier", (2, 1, 26, 26), None, True, ""), ("nested", (7,), ("0", (7,)), True, "")]
### END HIDDEN TESTS
with every_case() as case:
    for name, shape, right, training, why in cases:
        with case(name):
            check_detective(try_shape_detective(name, shape, training), shape, right, why)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A copy of the model takes the hooks and the BatchNorm's counting; the original sees none of it.
# `copy.deepcopy` copies modules.
# </details>
# <details><summary>Hint 2</summary>
#
# On `meta` nothing is drawn, not even by dropout, so the random state stays. Move the copy there.
# (A model that reads a value can't run there: it needs real zeros, and `torch.random.fork_rng()`.)
# </details>
# <details><summary>Hint 3</summary>
#
# The pre-hook appends the name and the shape of `args[0]`; the forward hook pops. Bind the name with
# `partial`. Neither may return a value.
# </details>

# %% [markdown]
# ## 3. Which dtypes and devices may meet? · core
#
# After sizes come dtypes. Some pairs are turned into a common dtype, silently: that is **promotion**.
# Others are refused. Which? Ask the machine about every pair, for `a + b` and for `a @ b`:


# %% topics=["conversion-error-catalogue"]
def result_of(operation, first: str, second: str) -> str:
    """The dtype of operation(first, second), or "" if it is refused."""
    try:
        pair = (torch.ones(2, 2, dtype=getattr(torch, name)) for name in (first, second))
        return str(operation(*pair).dtype)[6:]
    except RuntimeError:
        return ""


# %% topics=["conversion-error-catalogue"]
print("int64 + float16:", result_of(torch.add, "int64", "float16"))
print("int64 @ float16:", result_of(torch.matmul, "int64", "float16") or "refused")

# %%
from matplotlib.colors import to_rgb

dtypes = ["uint8", "int32", "int64", "bfloat16", "float16", "float32", "float64"]
figure, both = plt.subplots(1, 2, figsize=(9.5, 3.9))
for axes, operation in zip(both, (torch.add, torch.matmul), strict=True):
    grid = [[result_of(operation, row, column) for column in dtypes] for row in dtypes]
    axes.imshow([[to_rgb(BLUE if entry else ORANGE) for entry in row] for row in grid])
    for y, row in enumerate(grid):
        for x, entry in enumerate(row):
            short = entry.replace("float", "f").replace("uint", "u").replace("int", "i")
            axes.text(x, y, short or "–", ha="center", va="center", color="white", fontsize=9)
    axes.set_xticks(range(7), dtypes, rotation=60)
    axes.set_yticks(range(7), dtypes)
    axes.set_title(f"torch.{operation.__name__}(row, column)")
figure.tight_layout()
show(figure, "Two grids of dtype pairs: addition promotes all pairs, matmul takes equal ones only.")

# %% [markdown]
# Blue holds the result's dtype, orange is refused. **Elementwise** operators promote all of these pairs,
# also across kinds: int64 and float16 give float16. (A few don't: `lerp` and `prelu` want equal
# dtypes, and uint16, uint32 and uint64 refuse other integers.) **Products** and what is built on them
# (linear, convolution, attention) take equal dtypes only: a silent conversion of a large weight could
# cost more than the product.
#
# These are the messages of today. Older ones ("expected Float but got Double for argument #2")
# have other words. Each names both sides, in the old names: Byte is uint8, Long int64, Half float16.

# %% topics=["conversion-error-catalogue", "target-shape-errors"]
linear, scores, ones = nn.Linear(3, 1), torch.zeros(2, 3), torch.ones(2)
lines = ["linear(scores.double())", "nn.Conv2d(1, 1, 1)(scores.byte().view(1, 1, 2, 3))"]
lines += ["F.cross_entropy(scores, ones.int())", "ones.long().mean()"]
lines += ["F.binary_cross_entropy_with_logits(ones, ones.long())"]
lines += ["F.mse_loss(ones, ones.double()).dtype"]

# %% topics=["conversion-error-catalogue"]
for line in lines:
    try:
        print(f"{line}\n    {eval(line)}")
    except RuntimeError as error:
        print(f"{line}\n    {str(error)[:66]}")

# %% [markdown]
# The last line isn't an error. It is worse: a single float64 tensor, straight from NumPy, and from
# there on everything elementwise is float64, at half the speed, on many GPUs at far less. A 0-dim
# tensor doesn't do that. Within a kind (floats, integers), it gives way to tensors with dimensions, as
# Python numbers do.
#
# **Devices** don't mix, with two exceptions: that 0-dim CPU tensor, and a CPU tensor of indices in
# `x[indices]`. Without a GPU you can still test for it: `meta` is a device, too, and what forgets
# `device=x.device` fails there as it would on CUDA.

# %% topics=["conversion-error-catalogue"]
x = torch.empty(2, 3, device="meta")
try:
    x + torch.arange(3)
except RuntimeError as error:
    print(error)
print((x + torch.arange(3, device=x.device)).device, (x + torch.tensor(1.0)).device)

# %% [markdown]
# ### Exercise 15.3 — Six that mix ★★ · 12 min · 3 points · core
#
# Six small programs. Four raise on every machine, one where the data is on another device, and one
# runs and is wrong. For each, put a repaired function (a `lambda` or a name) with the same
# parameters into the dict.
#
# | name | broken | wanted |
# | --- | --- | --- |
# | `photo` | `lambda layer, photo: layer(photo)` | uint8 photos (batch, 3), scaled from 0…255 to 0…1, through a float32 `nn.Linear` |
# | `rows` | `lambda layer, rows: layer(torch.from_numpy(rows))` | a float64 array (batch, 3) that `from_numpy` takes, through a float32 `nn.Linear`, which stays float32 |
# | `labels` | `lambda scores, labels: F.cross_entropy(scores, labels)` | int32 labels (batch,), of any number of classes |
# | `hits` | `lambda hits, scores: hits.add_(scores)` | int64 `hits` and float32 `scores`: return a new float32 tensor, their sum; `hits` stays as it is |
# | `number` | `lambda x: x + torch.arange(x.shape[-1])` | x float32 (…, n), on any device: add 0, 1, …, n−1 along the last dimension |
# | `frames` | `lambda a, b: (a - b).abs().float().mean()` | two uint8 images: the mean absolute difference, float32, 0-dim |
#
# No argument is changed, not the array either, and a layer runs at most once. All results are float32, to its
# full precision (a millionth plus 0 is a millionth), on the device of the input (`rows`: the layer's).
# Example: for `a = [3]` and `b = [5]`, `frames` is 2.

# %% nbgrader={"grade_id": "try-dtype-and-device", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.debugging import check_device, check_guard, on_meta, repaired


@runs_with_the_answer
def try_dtype_and_device(name: str, *args) -> tuple:
    """What the repaired function returns, and the dtype of the layer's weight afterwards.

    "photo" and "rows" get a layer first; its weight is (1, 2, 3), its bias 0.5.
    """
    return repaired(dtype_and_device, name, *args)


@runs_with_the_answer
def try_on_meta(name: str) -> tuple:
    """The device of a result, for arguments (and a layer) on the device meta; what it raises."""
    return on_meta(dtype_and_device, name)


# %% nbgrader={"grade_id": "dtype-and-device", "solution": true}
dtype_and_device = {
    "photo": None,
    "rows": None,
    "labels": None,
    "hits": None,
    "number": None,
    "frames": None,
}
### BEGIN SOLUTION
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}
### END SOLUTION

# %% nbgrader={"grade_id": "dtype-and-device-check-1", "grade": true, "points": 2}
import numpy as np


def check_case(name, right, *args, slips=None):
    with forbid_changes(*(value for value in args if isinstance(value, torch.Tensor))):
        result, weight = try_dtype_and_device(name, *args)
    check_value(result, right, "the result", slips, rtol=1e-5, atol=1e-5)
    assert weight == "float32", f"the layer was made {weight}: convert the data instead"


def in_bfloat16(photo):
    half = make([0.5]).bfloat16()
    return F.linear((photo / 255).bfloat16(), weight.mT.bfloat16(), half).float()


make = partial(torch.tensor, device=device)
photo = make([[255, 0, 51], [0, 255, 255]], dtype=torch.uint8)
weight, array = make([[1.0], [2], [3]]), np.array([[0.1, 1, -2], [0, 1000.3, 1 / 3]])
labels = make([0, 2], dtype=torch.int32)
with every_case() as case:
    with case("photo"):
        raw, by_255, by_256 = (photo / scale @ weight + 0.5 for scale in (1, 255, 256))
        slips = {"the photo is not scaled to 0…1": raw, "255 is the largest value": by_256}
        slips["multiplied by 255: the other way, to 0…1, it is divided"] = (
            photo * 255.0 @ weight + 0.5
        )
        slips["it was rounded to half"] = (photo.half() / 255).float() @ weight + 0.5
        slips["it was divided by 255 twice"] = photo / 255**2 @ weight + 0.5
        slips["the layer's result was scaled; scale the photo, before the bias"] = raw / 255
        slips["it was rounded to bfloat16"] = in_bfloat16(photo)
        slips["// leaves whole numbers: a photo has fractions"] = (
            photo // 255
        ).float() @ weight + 0.5
        check_case("photo", by_255, photo, slips=slips)
    with case("a dark photo, without a 255"):
        dark = make([[60, 0, 100]], dtype=torch.uint8)
        own = dark / 100 @ weight + 0.5
        slips = {
            "divided by its own largest value; by 255, whatever is in it": own,
            "the photo is not scaled to 0…1": dark.float() @ weight + 0.5,
            "255 is the largest value": dark / 256 @ weight + 0.5,
            "// leaves whole numbers: a photo has fractions": (dark // 255).float() @ weight + 0.5,
            "it was rounded to bfloat16": in_bfloat16(dark),
        }
        slips["the layer's result was scaled; scale the photo, before the bias"] = (
            dark.float() @ weight + 0.5
        ) / 255
        check_case("photo", dark / 255 @ weight + 0.5, dark, slips=slips)
    with case("rows"):
        values = make(array.tolist())
        slips = {"the fractions were cut off": values.trunc() @ weight + 0.5}
        slips["it was rounded to half"] = values.half().float() @ weight + 0.5
        slips["it was rounded to bfloat16"] = values.bfloat16().float() @ weight + 0.5
        check_case("rows", values @ weight + 0.5, array, slips=slips)
    with case("rows, another device"):
        check_device(try_on_meta("rows"), "the data goes where layer.weight is")
    for name in ("photo", "labels"):
        with case(f"{name}, on another device"):
            check_device(try_on_meta(name), "the data stays where it is")
    with case("labels"):
        scores = make([[0.0, 1, 2], [2, 0, 3]])
        cut = F.cross_entropy(scores[:, :2], labels.long() // 2)
        few = "there are as many classes as scores, whether or not the last is among the labels"
        right = F.cross_entropy(scores, labels.long() // 2)
        slips = {few: cut, "the sum of the losses; the mean is asked for": 2 * right}
        check_case("labels", right, scores, labels // 2, slips=slips)
    with case("labels of 257 classes"):
        scores, labels = torch.linspace(0, 1, 257, device=device).expand(2, 257), labels + 254
        right = F.cross_entropy(scores, labels.long())
        slips = {"label 256 became 0: uint8 holds 0 to 255": F.cross_entropy(scores, labels.byte())}
        slips["the scores' fractions were cut off"] = F.cross_entropy(scores.trunc(), labels.long())
        slips["the sum of the losses; the mean is asked for"] = 2 * right
        check_case("labels", right, scores, labels, slips=slips)
    with case("labels of 70000 classes"):
        scores, labels = torch.linspace(0, 1, 70000, device=device).view(1, -1), labels[:1] + 65283
        wrapped = F.cross_entropy(scores, labels.long() % 65536)
        slips = {"label 65537 became 1: int16 ends at 32767": wrapped}
        check_case("labels", F.cross_entropy(scores, labels.long()), scores, labels, slips=slips)


# %% nbgrader={"grade_id": "dtype-and-device-check-2", "grade": true, "points": 1}
from course_utils.chapters.debugging import unusual_mixes


def check_case(name, right, *args, slips=None):
    with forbid_changes(*(value for value in args if isinstance(value, torch.Tensor))):
        result, _ = try_dtype_and_device(name, *args)
    check_value(result, right, "the result", slips, rtol=1e-5, atol=0)


make = partial(torch.tensor, device=device)
with every_case() as case:
    with case("hits"):
        hits, scores, cut = make([1, 2, 3001]), make([0.5, 0.25, 0.4]), make([1.0, 2, 3001])
        slips = {"the fractions were cut off": cut, "they were rounded": make([2.0, 2, 3001])}
        slips["it was rounded to half"] = hits.half().add(scores.half()).float()
        slips["the sum was rounded to half"] = (hits + scores).half().float()
        slips["the hits were rounded to half"] = hits.half() + scores
        slips["their difference; the sum is asked for"] = hits - scores
        check_case("hits", make([1.5, 2.25, 3001.4]), hits, scores, slips=slips)
    for name in ("hits", "frames"):
        with case(f"{name}, on another device"):
            check_device(try_on_meta(name), "the data stays where it is")
    with case("number"):
        x, right = make([[0.0, 0, 0], [1, 1, 1]]), make([[0.0, 1, 2], [1, 2, 3]])
        rows = make([[0.0, 0, 0], [2, 2, 2]])
        slips = {"it counts from 1": right + 1, "it counts along the first dimension": rows}
        slips["it was subtracted: 0, 1, … are added"] = 2 * x - right
        slips["it counts on from row to row"] = x + make([[0.0, 1, 2], [3, 4, 5]])
        check_case("number", right, x, slips=slips)
    with case("number, one dimension"):
        slips = {"it counts from 1": make([6.0, 7, 8]), "n is 3 here": make([5.0, 5, 5])}
        check_case("number", make([5.0, 6, 7]), make([5.0, 5, 5]), slips=slips)
    with case("number, three dimensions"):
        x = make([[[1.0, 1, 1], [2, 2, 2]]])
        right = make([[[1.0, 2, 3], [2, 3, 4]]])
        slips = {"it counts along dimension 1, not the last": make([[[1.0, 1, 1], [3, 3, 3]]])}
        slips |= {"it counts from 1": right + 1, "it counts along the first dimension": x}
        slips["it counts on from row to row"] = x + make([[[0.0, 1, 2], [3, 4, 5]]])
        check_case("number", right, x, slips=slips)
    with case("number, 5000 in a row"):
        x = torch.zeros(5000, device=device)
        right = (x + 1).cumsum(0) - 1
        slips = {"uint8 ends at 255: what follows is 0": right % 256}
        slips["half has not all whole numbers above 2048"] = right.half().float()
        slips["half steps by 2 above 2048"] = (right + 1).half().float() - 1
        slips["it counts from 1"] = right + 1
        check_case("number", right, x, slips=slips)
    with case("number, on another device"):
        check_device(try_on_meta("number"), "torch.arange makes it on the CPU: device=x.device")
    with case("frames"):
        a, b = (
            make(v, dtype=torch.uint8)
            for v in ([[3, 200, 0], [0, 255, 7]], [[5, 100, 1], [1, 0, 7]])
        )
        gaps, right = a.float() - b.float(), make(359 / 6)
        slips = {
            "3 - 5 is 254 in uint8: convert before you subtract": (a - b).float().mean(),
            "int8 ends at 127: 255 - 0 is -1 there": (a - b).char().abs().float().mean(),
            "differences of both signs cancel: abs comes before the mean": gaps.mean().abs(),
            "it was rounded to half": right.half(),
            "the fraction was cut off": right.floor(),
            "the mean of the sizes, not the root of the mean square": gaps.square().mean().sqrt(),
            "the mean of the sizes, not of their squares": gaps.square().mean(),
            "the mean of the sizes, not their sum": gaps.abs().sum(),
            "added; the difference of the two images is asked for": (a.float() + b.float()).mean(),
        }
        check_case("frames", right, a, b, slips=slips)
    for what, name, right, *args in unusual_mixes():
        with case(what):
            check_case(name, right, *args)
    ### BEGIN HIDDEN TESTS
    with case("number, four dimensions"):
        x = torch.zeros(2, 1, 3, 4, device=device)
        right = (x + 1).cumsum(-1) - 1
        slips = {"it counts from 1": right + 1}
        for dim in (0, 1, 2):
            slips[f"it counts along dimension {dim}, not the last"] = (x + 1).cumsum(dim) - 1
        check_case("number", right, x, slips=slips)
    ### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Convert the data, not the layer: `layer.double()` changes the layer for everyone else.
# `t.to(other)` takes over both dtype and device of another tensor.
# </details>
# <details><summary>Hint 2</summary>
#
# uint8 wraps around: 3 − 5 = 254. The conversion must come before the difference.
# </details>

# %% [markdown]
# ## 4. What if the label is wrong? · core
#
# A wrong index is a plain error on the CPU. Class ids go from 0 to C − 1; −100, the default
# `ignore_index`, is skipped.

# %% topics=["device-side-assert", "target-shape-errors"] errata=["device-assert-diagnosis"]
scores = torch.zeros(2, 3)  # (batch, class)
for labels in ([0, 3], [0, -1], [0, -100], [[0], [2]], [0, 1, 2]):
    try:
        print(f"{labels!s:12}", round(F.cross_entropy(scores, torch.tensor(labels)).item(), 2))
    except (RuntimeError, IndexError, ValueError) as error:
        print(f"{labels!s:12} {type(error).__name__}: {error}")

# %% [markdown]
# "Multi-target not supported" means: labels of shape (batch, 1). Take off that dimension by
# `squeeze(1)`, not by `squeeze()`, which would also take off a batch of one:

# %% topics=["target-shape-errors"]
for batch in (2, 1):
    labels = torch.zeros(batch, 1, dtype=torch.int64)
    one, all_ones = tuple(labels.squeeze(1).shape), tuple(labels.squeeze().shape)
    print(f"{tuple(labels.shape)}  squeeze(1): {one}  squeeze(): {all_ones}")

# %% [markdown]
# On a GPU the same label does something else. `CUDA error: device-side assert triggered`, in a line
# that has nothing to do with it, and every later CUDA call fails as well. Two reasons. A kernel
# can't raise a Python exception: it hits an assert *on the device*, which ends the process's whole
# CUDA context. And a launch only **queues** the work: Python is far ahead when the kernel runs, and
# the first line that waits for a result is blamed. You can watch the second on a CPU, with a thread
# as the queue. **Predict** which line raises:

# %% topics=["device-side-assert", "cuda-launch-blocking"]
from concurrent.futures import ThreadPoolExecutor

queue = ThreadPoolExecutor(1)
loss = queue.submit(F.cross_entropy, scores, torch.tensor([0, 3]))  # launched: nothing raised
steps = 1 + 1  # innocent
print("raised where the result is read:", loss.exception())
queue.shutdown()

# %% [markdown]
# There are three ways back to the line:
#
# 1. Run the same batch **on the CPU**: a plain `IndexError` in the right line.
# 2. Set the environment variable `CUDA_LAUNCH_BLOCKING=1` before the process starts. Each launch
#    then waits, and the right line is blamed. It is slow, for debugging only.
# 3. Check the labels before the loss does. That is the exercise.
#
# After a device-side assert the process must be started again. With a GPU, this cell shows both blames:

# %% topics=["device-side-assert", "cuda-launch-blocking"] tags=["nbval-ignore-output"]
import os
import subprocess
import sys

program = """import torch, torch.nn.functional as F
loss = F.cross_entropy(torch.zeros(2, 3).cuda(), torch.tensor([0, 3]).cuda())
innocent = torch.ones(2).cuda() + 1
print(innocent.tolist())"""
for blocking in "01" if device.type == "cuda" else "":
    settings = {"env": {**os.environ, "CUDA_LAUNCH_BLOCKING": blocking}, "text": True}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, **settings)
    blamed = [line.strip() for line in ran.stderr.splitlines() if "<string>" in line]
    print(f"CUDA_LAUNCH_BLOCKING={blocking}:", blamed)
print("a GPU was asked" if device.type == "cuda" else "no GPU here: see what the CPU says above")

# %% [markdown]
# > **Often said.** *"A device-side assert means that the training and validation sets have different
# > numbers of classes."* It means that *some* index left its range, in whatever kernel. An
# > embedding's ids are as good a suspect as labels, and so is an index for `gather`.
#
# ### Exercise 15.4 — A guard at the door ★★ · 10 min · 3 points · core
#
# Write `labels_in_range(scores, labels, ignore_index=-100)`. The scores are float tensors (batch,
# class) or (batch, class, d1, d2, …), for which labels are due in shape (batch,) or (batch, d1, d2,
# …). Return `None` if the labels are fine, else raise a `ValueError` whose message contains
#
# 1. the labels' dtype (such as `torch.int32`), if it is neither `torch.int64` nor `torch.uint8`,
#    the two that the loss takes;
# 2. else both shapes as tuples, the one that is wanted and the one that came, if they differ;
# 3. else the first wrong label and its index as a tuple, if one is neither in 0 … class − 1 nor
#    `ignore_index`. First is meant in row-major order.
#
# Words around them are yours. Nothing is changed. A batch of 0 is fine. Example: `[0, 3]` for three
# classes could give `label 3 at (1,): there are 3 classes`.


# %% nbgrader={"grade_id": "labels-in-range", "solution": true}
def labels_in_range(scores: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> None:
    """Raise ValueError, in words, for labels that cross_entropy(scores, labels) can't take."""
    ### BEGIN SOLUTION
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}, expected torch.int64")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"labels have shape {tuple(labels.shape)}, expected {wanted}")
    ids = labels.long()
    wrong = ((ids < 0) | (ids >= scores.shape[1])) & (ids != ignore_index)
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(
            f"label {labels[index].item()} at {index}: there are {scores.shape[1]} classes"
        )
    ### END SOLUTION


# %% nbgrader={"grade_id": "labels-in-range-check-1", "grade": true, "points": 2}
from course_utils.chapters.debugging import class_ids as ids
from course_utils.chapters.debugging import unusual_labels

cases = [
    ("labels [0, 2]", (2, 3), ids([0, 2])),
    ("label 7 of three classes", (2, 3), ids([0, 7]), "7", "(1,)"),
    ("label 3 of three classes", (2, 3), ids([0, 3]), "3", "(1,)"),
    ("label -1", (2, 3), ids([-1, 0]), "-1", "(0,)"),
    ("-100, the default ignore_index", (2, 3), ids([0, -100])),
    ("too small, then too large: the first", (3, 3), ids([0, -5, 7]), "-5", "(1,)"),
    ("int32", (2, 3), ids([0, 1], torch.int32), "torch.int32"),
    ("uint8, which the loss takes", (2, 3), ids([0, 2], torch.uint8)),
    ("label 156, uint8 (-100 as uint8 is 156)", (1, 3), ids([156], torch.uint8), "156", "(0,)"),
    ("label 50 of 300 classes, uint8 (300 as uint8 is 44)", (1, 300), ids([50], torch.uint8)),
    ("a wrong shape and a wrong label", (2, 3), ids([[7], [1]]), "(2,)", "(2, 1)"),
    ("a map of five classes, two wide", (1, 5, 1, 2), ids([[[4, 3]]])),
    ("float32 and a wrong shape", (2, 3), ids([[0], [1]], torch.float32), "torch.float32"),
    ("a label map, row by row", (1, 3, 2, 2), ids([[[0, 9], [8, 1]]]), "9", "(0, 0, 1)"),
    ("a transposed map, row by row", (1, 3, 2, 2), ids([[[0, 9], [8, 1]]]).mT, "8", "(0, 0, 1)"),
    ("an empty batch", (0, 3), ids([])),
    *unusual_labels(),
]
with every_case() as case:
    for what, shape, labels, *parts in cases:
        with case(what):
            check_guard(labels_in_range, shape, labels, *parts)

# %% nbgrader={"grade_id": "labels-in-range-check-2", "grade": true, "points": 1}
from course_utils.chapters.debugging import ignored_labels

make = partial(torch.tensor, device=device)
with every_case() as case:
    for what, shape, wanted, came in (
        ("no labels for a batch of two", (2, 3), (2,), (0,)),
        ("three labels for a batch of two", (2, 3), (2,), (3,)),
        ("a label map that is turned", (1, 3, 2, 1), (1, 2, 1), (1, 1, 2)),
        ("one label without its dimension", (1, 3), (1,), ()),
    ):
        with case(what):
            labels = torch.zeros(came, dtype=torch.int64, device=device)
            check_guard(labels_in_range, shape, labels, str(wanted), str(came))
    for labels, ignored, *parts in ignored_labels():
        with case(f"{labels.tolist()}, with ignore_index={ignored}"):
            check_guard(labels_in_range, (2, 3), labels, *parts, ignore_index=ignored)
    ### BEGIN HIDDEN TESTS
    generator = torch.Generator().manual_seed(1)
    for n in range(12):
        labels = torch.randint(5, (4, 3, 2), generator=generator).to(device).transpose(1, 2)
        index = tuple(int(torch.randint(size, (), generator=generator)) for size in labels.shape)
        labels[index] = value = (5, 99, -1, -100)[n % 4]
        with case(f"label {value} at {index}"):
            parts = () if value == -100 else (str(value), str(index))
            check_guard(labels_in_range, (4, 5, 2, 3), labels, *parts)
    ### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The wanted shape is `scores.shape` without its entry 1.
# </details>
# <details><summary>Hint 2</summary>
#
# Build one mask of wrong places: below 0 or not below the number of classes, and not equal to
# `ignore_index`. `nonzero()` lists its places in row-major order.
# </details>

# %% [markdown]
# ## 5. What is it doing all the time?
#
# Sometimes there is no message, and you want to watch, without a `print(x.shape)` behind each line.
#
# > **Then and now.** *"Use TorchSnooper to trace shapes line by line."* Its last release is of 2020.
# > Today there is a better place to listen than the lines of the source: the **dispatcher**, which
# > every operator passes, forward and backward, in your code and in the library's. PyTorch's own parts
# > log if you ask: `TORCH_LOGS=recompiles python train.py` tells why `torch.compile` compiled again,
# > and `TORCH_LOGS=help` lists the rest.
#
# A `TorchDispatchMode` is a `with` block that is called in place of each operator. It gets the
# operator, the arguments, and has to return the result. The smallest useful mode has five lines:

# %% topics=["torchsnooper"]
from torch.utils._python_dispatch import TorchDispatchMode


class Names(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(func.overloadpacket.__name__, end=" ")
        return func(*args, **(kwargs or {}))


# %% topics=["torchsnooper"]
w = torch.ones(2, 3, requires_grad=True)
with Names():
    F.linear(torch.ones(4, 3), w).relu().sum().backward()

# %% [markdown]
# Up to `sum` you see what you wrote, in small operators. From `ones_like` on it is the way back, which
# no line of any source shows. (PyTorch's own `DebugMode`, in `torch.utils._debug_mode`, may still change.)

# %% [markdown]
# ### Exercise 15.5 — A logger of your own ★★ · 10 min · 3 points
#
# Write `tensor_logger(write)`: it returns a context manager, inside which every operator calls
# `write` with one line, when it has run:
#
# `name(argument, argument, key=argument) -> result`
#
# - *name* is `func.overloadpacket.__name__`, as above; positional arguments come first, then the
#   keyword arguments as they come;
# - arguments and result are put into words by `describe`, below;
# - arguments are described as they were **before** the operator ran: some work in place;
# - if the operator raises, the line ends in `-> ` and the exception's class name, and the exception
#   is raised again;
# - results are what they would be without you, and after the block nothing is written;
# - each logger has its own `write`, and each call is described anew.
#
# Example: `torch.add(x, x, alpha=2)`, for `x` of shape (2, 3), writes
# `add(float32(2, 3), float32(2, 3), alpha=2) -> float32(2, 3)`.


# %% nbgrader={"grade_id": "describe", "locked": true}
from collections.abc import Callable

from torch.utils._python_dispatch import TorchDispatchMode


def describe(value) -> str:
    """float32(2, 3) for a tensor, [...] for a list or tuple, else the value itself."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype)[6:]}{tuple(value.shape)}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(describe, value)) + "]"
    return repr(value)


# %% nbgrader={"grade_id": "try-tensor-logger", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.debugging import LOGGED, Beneath, no_mode_left


@runs_with_the_answer
def try_tensor_logger(program: str, x: torch.Tensor) -> tuple:
    """The lines, the result, what was raised, how many lines came late, after, and elsewhere."""
    lines, elsewhere, result, raised, inside = [], [], None, "", 0
    manager = tensor_logger(lines.append)
    tensor_logger(elsewhere.append)  # another logger, never entered
    assert manager is not None, "tensor_logger returned None: is there an answer yet?"
    assert hasattr(manager, "__enter__"), f"tensor_logger returned {manager!r}, no context manager"
    with Beneath() as beneath, no_mode_left():
        try:
            with manager:
                try:
                    result = LOGGED[program](x)
                finally:
                    inside = len(lines)
        except Exception as error:
            raised = beneath.name_of(error)
        before = len(lines)
        x + 1
    return lines, result, raised, before - inside, len(lines) - before, len(elsewhere)


# %% nbgrader={"grade_id": "tensor-logger", "solution": true}
def tensor_logger(write: Callable[[str], object]) -> TorchDispatchMode:
    """A context manager inside which each operator calls ``write`` with a line about itself."""

    ### BEGIN SOLUTION
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            said = [*map(describe, args), *(f"{key}={describe(v)}" for key, v in kwargs.items())]
            call = f"{func.overloadpacket.__name__}({', '.join(said)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {describe(result)}")
            return result

    return Logger()
    ### END SOLUTION


# %% nbgrader={"grade_id": "tensor-logger-check-1", "grade": true, "points": 2}
from course_utils.chapters.debugging import check_logged

t, column = "float32(2, 3)", "float32(2,)"
early, keys = "describe the arguments before it runs", "keyword arguments as key=value"
kept, through = f"clone({t}) -> {t}", "keyword arguments go through describe as well"
cases = [("add", {f"add({t}, {t}) ": keys}, f"add({t}, {t}, alpha=2) -> {t}")]
cases += [("two results", {}, f"max({t}, 1) -> [float32(2,), int64(2,)]")]
cases += [
    ("keyword", {f"sum({t}, [1]) ": keys}, f"sum({t}, [1], dtype=torch.float64) -> float64(2,)")
]
quiet = [f"new_empty({t}, [0], pin_memory=False) -> float32(0,)", f"detach({t}) -> {t}"]
quiet += [f"sum({t}) -> float32()", f"mul({t}, float32()) -> {t}"]
every = {"detach(": "new_empty is an operator, too", "sum(": "detach is an operator, too"}
every[f"mul({t}, 15"] = "a tensor without dimensions is described as float32()"
cases += [("empty, detached, of no dimension", every, *quiet)]
none = {f"div({t}, 2) ": "a keyword argument that is None came, too: write it"}
cases += [("a keyword that is None", none, f"div({t}, 2, rounding_mode=None) -> {t}")]
none = {f"clamp({t}, 2) ": "an argument that is None came, too: write it"}
cases += [("None among the arguments", none, f"clamp({t}, None, 2) -> {t}")]
cases += [("None in a list", {}, f"index({t}, [None, int64(2,)]) -> float32(2, 2)")]
cases += [("out=", {f"add({t}, {t}, out=t": through}, kept, f"add({t}, {t}, out={t}) -> {t}")]
again = "it was described before it changed: describe each value anew"
small, grown = f"new_empty({t}, [0], pin_memory=False) -> float32(0,)", "out=float32(0,)"
grows = {f"add({t}, {t}, out={t})": "out= was empty before add ran, which made it larger"}
cases += [("out=, which grows", grows, small, f"add({t}, {t}, {grown}) -> {t}")]
row = "float32(3,)"
calls = [f"neg({t}) -> {t}", f"select({t}, 0, 0) -> {row}", f"neg({row}) -> {row}"]
cases += [("one operator, two shapes", {f"neg({t}) -> {row}": again}, *calls)]
late = {"unsqueeze_(float32(1, 2, 3), 0)": early, f"unsqueeze_({t}, 0) -> {t}": again}
cases += [("in place", late, kept, f"unsqueeze_({t}, 0) -> float32(1, 2, 3)")]
cases += [
    ("through a view", {}, kept, f"select({t}, 1, 0) -> {column}", f"zero_({column}) -> {column}")
]
cases += [("the same call twice", {}, *2 * [f"mul({t}, 0.125) -> {t}"])]
found = [f"nonzero({t}) -> int64({n}, 2)" for n in (5, 0)]
cases += [
    (
        "one call, two sizes",
        {found[0]: "ask this result"},
        found[0],
        f"mul({t}, 0) -> {t}",
        found[1],
    )
]
row, turned = "float32(1, 3)", "float32(3, 2)"
inside = f"cat([{t}, {row}]) -> float32(3, 3)"
cases += [("list", {}, f"slice({t}, 0, 0, 1) -> {row}", inside)]
steps = [f"{name}({turned}, {n}) -> {turned}" for name, n in (("mul_", 2), ("squeeze_", 0))]
anew = {f"mul_({t}": "t_ has turned its argument: describe it anew"}
anew |= {f"t_({turned})": early, f"t_({t}) -> {t}": again}
cases += [("turned in place", anew, kept, f"t_({t}) -> {turned}", *steps)]
order = {f"new_zeros({t}, [3], device=": "keyword arguments as they come, not sorted"}
order[f"new_zeros({t}, [3], dtype=torch.float64) "] = "each keyword argument, not the first alone"
place = torch.empty(0, device=device).device
given = f"dtype=torch.float64, device={place!r}, pin_memory=False"
cases += [("three keywords", order, f"new_zeros({t}, [3], {given}) -> float64(3,)")]
plain = {f"linalg_qr({t}, r)": "a text keeps its quotes: describe it like any other argument"}
two = "[float32(0,), float32(2, 3)]"
cases += [("a text among the arguments", plain, f"linalg_qr({t}, 'r') -> {two}")]
cases += [("misfit", {}, f"mm({t}, {t}) -> RuntimeError")]
on = f"neg({t}) -> {t}"
cases += [("after an error", {}, f"mm({t}, {t}) -> RuntimeError", on)]
cases += [("out of range", {}, f"select({t}, 0, 9) -> IndexError")]
cases += [("nothing comes back", {}, kept, f"_foreach_mul_([{t}], 2) -> None")]
with every_case() as case:
    for program, slips, *expected in cases:
        with case(program):
            x = torch.arange(6.0, device=device).view(2, 3)
            check_logged(try_tensor_logger(program, x), LOGGED[program], x, expected, slips)

# %% nbgrader={"grade_id": "tensor-logger-check-2", "grade": true, "points": 1}
x = torch.arange(6.0, device=device).view(2, 3)
lines, gradient, *_ = try_tensor_logger("backward", x)
check_close(gradient, 2 * x, "the gradient of the sum of squares, computed inside the block")
assert isinstance(lines, list), f"the lines are {lines!r}"
assert lines, "no line was written: each logger calls the write that it was made with"
names = [line.split("(")[0] for line in lines]
assert not any("." in name for name in names), f"{names[0]}: leave out what is behind the dot"
assert "ones_like" in names, "backward() was not written down"
back = names[names.index("ones_like") :]
assert "mul" in back, f"backward() has only {back}: it runs without grad mode; write that, too"
### BEGIN HIDDEN TESTS
lines, result, *_ = try_tensor_logger("linear", x)
check_close(result, LOGGED["linear"](x), "the result of a linear layer and tanh")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Define the mode's class inside the function: then it can use `write`. Return an instance.
# </details>
# <details><summary>Hint 2</summary>
#
# Build the text of the call first, run the operator in a `try`, then write. `raise` alone passes the
# exception on.
# </details>

# %% [markdown]
# ## 6. Where did the NaN come from?
#
# A loss of `nan` isn't an exception, and by the time you look every weight is NaN. Which operator gave
# the *first* NaN? Here is the entropy of three probabilities, straight from the formula:


# %%
def entropy(p: torch.Tensor) -> torch.Tensor:
    return -(p * p.log()).sum()


entropy(torch.tensor([0.5, 0.5, 0.0]))

# %% [markdown]
# Zero times log 0 should be 0, and in floating point it is 0 · (−∞) = NaN. The NaN came from a
# product, and the −∞ it was made of came from `log`. Look for infinities as well. A mode can watch
# what comes out of each operator:


# %%
class Finite(TorchDispatchMode):
    """Keeps (operator, share of NaN, share of infinite elements) for each floating result."""

    rows = ()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            shares = [test(result).float().mean().item() for test in (torch.isnan, torch.isinf)]
            self.rows += ((func.overloadpacket.__name__, *shares),)
        return result


# %%
generator = torch.Generator().manual_seed(0)
p = F.normalize(torch.randn(30, generator=generator).relu(), p=1, dim=0).requires_grad_()
with Finite() as watch:
    (entropy(p) * torch.ones(5)).mean().backward()
print(f"{(p == 0).sum().item()} of {len(p)} probabilities are 0")

# %%
names, nans, infs = zip(*watch.rows, strict=True)
figure, axes = plt.subplots(figsize=(9, 2.6))
axes.bar(range(len(names)), infs, color=BLUE, label="infinite")
axes.bar(range(len(names)), nans, bottom=infs, color=ORANGE, label="NaN")
axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
axes.set(ylabel="share of elements", title="What is not finite in each operator's result")
axes.legend()
show(
    figure, "Bars by operator: log gives infinities first, mul turns them into NaN, sum spreads it."
)

# %% [markdown]
# Left to right is time. `log` makes infinities of the zeros, `mul` makes NaN of exactly those, and the
# sum makes everything NaN. On the right, the way back meets the same zeros, and leaves NaN in half of
# the gradient.
#
# ### When the forward pass is clean
#
# A fine loss can have a NaN gradient. **Predict** the gradient of √x at 0:

# %%
x = torch.tensor([0.0, 4.0], requires_grad=True)
loss = (x.sqrt() * torch.tensor([0.0, 1.0])).sum()
loss.backward()
print("loss", loss.item(), " gradient", x.grad.tolist())

# %% [markdown]
# The slope of √x at 0 is infinite. The gradient that arrives there is 0, and 0/0 is NaN. PyTorch
# has a mode for this case: `detect_anomaly` keeps the traceback of each *forward* call, checks each
# gradient for NaN, and raises at the first. (It checks NaN only, not infinities, and it is slow.)

# %% tags=["shows-warning", "nbval-ignore-output"]
import warnings

with (
    warnings.catch_warnings(record=True) as caught,
    contextlib.suppress(RuntimeError),
    torch.autograd.detect_anomaly(),
):
    (x.sqrt() * torch.tensor([0.0, 1.0])).sum().backward()
print("the forward call is named:", "x.sqrt()" in str(caught[-1].message))

# %% [markdown]
# ### Exercise 15.6 — NaN hunt ★★★ · 25 min · 4 points
#
# Write `nan_hunt(forward)`, which names the first operator to blame for a NaN or an infinity.
# `forward()` takes nothing and returns a scalar loss: call it once, and if nothing is to blame and
# the loss requires a gradient, call `backward()` on the loss, once. Return `("forward", name)` or
# `("backward", name)`, else `None`. *name* is `func.overloadpacket.__name__`.
#
# An operator is to blame if its result has
#
# - a NaN, while **none** of its inputs has one; or
# - an infinity, while **all** of its inputs are finite.
#
# Inputs are the tensors and the Python numbers among its arguments, as they were **before** it ran
# (`x.log_()` overwrites its input). They may be in lists, and be keyword arguments. The number 1e300
# is finite, though float32 has none as large. A mask made by
# `masked_fill(mask, -inf)` is thus not to blame, since the number is infinite already. Results may
# be tensors or tuples and lists of them; integers count as finite, and no number is complex.
#
# Leave out operators with `empty` in their names: such memory holds anything. All that `forward()`
# runs is forward, also where it takes a gradient itself.
#
# Examples: `("forward", "log")` for `entropy`, `("backward", "div")` for the square root above.

# %% nbgrader={"grade_id": "try-nan-hunt", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.debugging import NOT_TO_BLAME, WIDE_AND_NARROW, hunt_with


@runs_with_the_answer
def try_nan_hunt(program: str, values: list[float]) -> tuple:
    """What nan_hunt says of a loss, how often it computed it and went back."""
    return hunt_with(nan_hunt, program, values)


# %% nbgrader={"grade_id": "nan-hunt", "solution": true}
def nan_hunt(forward: Callable[[], torch.Tensor]) -> tuple[str, str] | None:
    """The first operator to blame, as ("forward" or "backward", its name), or None."""
    ### BEGIN SOLUTION
    from torch.utils._pytree import tree_leaves, tree_map_only

    def has(values, test) -> bool:
        wide = tree_map_only(float, partial(torch.tensor, dtype=torch.float64), values)
        return any(bool(test(v).any()) for v in tree_leaves(wide) if isinstance(v, torch.Tensor))

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = (has((args, kwargs), test) for test in (torch.isnan, torch.isinf))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                fresh_nan = has(result, torch.isnan) and not nan
                fresh_inf = has(result, torch.isinf) and not (nan or inf)
                if fresh_nan or fresh_inf:
                    self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found
    ### END SOLUTION


# %% nbgrader={"grade_id": "nan-hunt-check-1", "grade": true, "points": 3}
cases = [
    ("fine", [1.0, 2], None, "all is finite: 2e306 in float64, a tensor of no element", True),
    ("entropy", [0.5, 0.25, 0.25, 0.0], ("forward", "log"), "the infinity is first", False),
    ("root", [0.0, 4], ("backward", "div"), "the loss is fine, 0/0 comes on the way back", True),
    ("in place", [3.0, 0], ("forward", "log_"), "look at the inputs before it runs", False),
    ("a masked softmax", [1.0] * 6, None, "masked_fill was handed the number -inf", True),
    ("a row all masked", [1.0] * 6, ("forward", "_softmax"), "infinities, no NaN go in", False),
    ("a NaN in the data", [1.0], None, "add was handed the NaN", True),
    ("in a list", [1.0], None, "mul was handed inf, and stack gets it in a list", True),
    ("two results", [1.0, 0], ("forward", "div"), "0 / 0", False),
    ("a tuple of results", [1.0, 1], ("forward", "native_layer_norm"), "a NaN in a tuple", False),
    ("an infinite keyword argument", [1.0, 2], None, "add was handed alpha=inf", True),
    ("an infinite tensor of no dimension", [1.0], None, "mul was handed it", True),
    ("large and finite", [1.0, 1], None, "its sum overflows, and no element is infinite", True),
    ("uninitialised memory", [1.0], None, "empty memory holds anything", True),
    *NOT_TO_BLAME,
]
with every_case() as case:
    for program, values, right, why, back in cases:
        with case(program):
            answer, calls, went_back = try_nan_hunt(program, values)
            check_finding(answer, right, "the answer", why)
            assert calls or answer is not None, "it returned None: is there an answer yet?"
            check_equal(calls, 1, "how often forward() was called")
            check_equal(went_back, int(back), "calls of backward()", "once if forward is clean")

# %% nbgrader={"grade_id": "nan-hunt-check-2", "grade": true, "points": 1}
cases = [
    ("no gradient", [1.0], None, "there is no way back to go"),
    ("power", [0.0, 1], ("backward", "pow"), "a negative power of 0"),
    ("the second of its results", [0, 1.0], ("forward", "_linalg_slogdet"), "log 0, in it"),
    ("a list of results", [-1.0, -4], ("forward", "_foreach_log"), "the second has the NaN"),
    ("two gradients", [3e38, 0], ("backward", "grid_sampler_2d_backward"), "NaN in the second"),
    ("a number of no dimension", [1.0, -1], ("forward", "log"), "log 0"),
    ("a gradient in the loss", [0.0, 4], ("forward", "div"), "forward() goes back itself"),
    ("a steep gradient in the loss", [1.4, 0], ("forward", "gelu_backward"), "it has no graph"),
    *WIDE_AND_NARROW,
]
with every_case() as case:
    for program, values, right, why in cases:
        with case(program):
            check_finding(try_nan_hunt(program, values)[0], right, "the answer", why)
### BEGIN HIDDEN TESTS
cases = [("division by the number 0", [1.0], ("forward", "div"), "1 and 0 are finite")]
cases += [("integers", [1.0, 2], None, "integers are finite")]
cases += [("inf minus inf", [1.0], ("forward", "sub"), "a NaN of infinities")]
cases += [("twice", [6.0, 0], ("forward", "sqrt"), "the first counts")]
with every_case() as case:
    for program, values, right, why in cases:
        with case(program):
            check_finding(try_nan_hunt(program, values)[0], right, "the answer", why)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Start from the mode `Finite`. Look at `args` and `kwargs` before the call of `func`, and note two
# truth values: some NaN, some infinity. `torch.utils._pytree.tree_leaves((args, kwargs))` opens
# lists and dicts.
# </details>
# <details><summary>Hint 2</summary>
#
# The mode needs two attributes: the phase that is running, and the first thing found. Keep going
# after the first find, but don't overwrite it.
# </details>
#
# ### Cure the operator, not the symptom
#
# `F.cross_entropy` on scores instead of a log of a softmax; an epsilon *inside* the root. `nan_to_num`
# on the loss hides the infinity, and leaves the NaN in the gradient. For p·log p there is `torch.xlogy`,
# whose value at 0 is right. **Predict** its gradient there, and that of a `where` around the product:


# %%
def gradient_at_zero(function) -> list[float]:
    p = torch.tensor([0.5, 0.5, 0.0], requires_grad=True)
    function(p).sum().backward()
    return [round(value, 2) for value in p.grad.tolist()]


# %%
print("xlogy:       ", gradient_at_zero(lambda p: torch.xlogy(p, p)))
print("one where:   ", gradient_at_zero(lambda p: torch.where(p > 0, p * p.log(), 0)))
print("double where:", gradient_at_zero(lambda p: p * torch.where(p > 0, p, 1).log()))

# %% [markdown]
# All three losses are fine. On the way back a `where` sends 0 into the branch that it did not take,
# and 0 · ∞ is NaN. The cure is a `where` *before* the dangerous operator, so that `log` never sees the
# 0. (Where the result needs another value than 0 there, a second `where` chooses it afterwards: hence
# *double where*.)

# %% [markdown]
# ## 7. What keeps it alive?
#
# Memory that grows from step to step ends in a red block that blames whichever line asks for the last
# byte. The cause is nearly always that **something refers to what should be gone**. Here are the two
# classics. Both loops "only" keep the loss:


# %% topics=["memory-growth"]
def graph_nodes(tensor: torch.Tensor) -> int:
    """How many nodes of the graph a tensor keeps alive."""
    nodes = [node for node in [tensor.grad_fn] if node is not None]
    for node in nodes:  # the list grows while we walk it
        nodes += [n for n, _ in node.next_functions if n is not None and n not in nodes]
    return len(nodes)


# %% topics=["memory-growth"]
layer, total, kept, sizes = nn.Linear(4, 1), 0, [], []
for _ in range(8):
    loss = layer(torch.ones(2, 4)).square().mean()
    total, kept = total + loss, [*kept, loss]
    sizes.append((graph_nodes(total), sum(map(graph_nodes, kept)), graph_nodes(loss.detach())))
print("nodes kept by the sum:", [size[0] for size in sizes])

# %%
figure, axes = plt.subplots(figsize=(7, 2.8))
for label, line, colour in (
    ("total = total + loss", 0, ORANGE),
    ("kept.append(loss)", 1, "#00805c"),
    ("total += loss.item()", 2, BLUE),
):
    axes.plot(range(1, 9), [size[line] for size in sizes], marker="o", label=label, color=colour)
axes.set(xlabel="step", ylabel="graph nodes kept", ylim=(-2, None))
axes.set_title("One loss kept is a whole graph kept")
axes.legend()
show(
    figure,
    "Nodes kept by step: more and more with a sum or a list of losses, none with item().",
)

# %% [markdown]
# The sum is one tensor, and it hangs on all the graphs so far; each graph holds the activations it
# saved. `loss.item()`, or `loss.detach()`, keeps the number and lets the graph go.
#
# > **Then and now.** *"Call `empty_cache()` in every iteration and memory stops growing."* It gives
# > **unused** blocks of this process back to the driver. What a reference holds is not unused. And a
# > process that has ended holds nothing, so there is nothing to empty after a Ctrl-C. The proof is
# > a weak reference: it lets you see whether an object lives without keeping it alive.

# %% topics=["memory-growth"] errata=["empty-cache-myths"]
import gc
import weakref

activation = torch.ones(1000, device=device)
holder, alive = [activation], weakref.ref(activation)
del activation
_ = gc.collect()

# %% topics=["memory-growth"] errata=["empty-cache-myths"] tags=["shows-false"]
torch.cuda.empty_cache()  # does nothing where there is no GPU
print("lives after del, collect and empty_cache:", alive() is not None)
holder.clear()
print("lives after its owner let go:            ", alive() is not None)

# %% [markdown]
# ### Who is the owner?
#
# Python's garbage collector knows who refers to whom. `gc.get_referrers(x)` goes up from an object
# to its owners; `gc.get_referents(x)` goes down. And `gc.get_objects()` lists everything, so live
# tensors can be counted. Here a hook is the owner, by way of its closure:

# %% topics=["memory-growth"]
layer = nn.Linear(2, 2)
for _ in range(3):
    batch = torch.ones(5, 2)
    layer.register_forward_hook(lambda *_, batch=batch: None)

# %% topics=["memory-growth"]
thing = batch
for _ in range(4):
    thing = next(owner for owner in gc.get_referrers(thing) if owner is not globals())
    print(type(thing).__name__, "of", len(thing) if isinstance(thing, dict) else thing.__name__)

# %% [markdown]
# A lambda's defaults, the lambda, the dict of three hooks, the layer's attributes. The line that
# registers a hook ran three times, as cells in notebooks do. What C++ holds, such as the graph, escapes
# this search. Frames of exceptions and IPython's `Out[…]`, which keeps every cell's result, are listed;
# only the notebook's own names were left out here, by `is not globals()`.
#
# ### Reading "out of memory"
#
# The message on a GPU has four numbers. *"Tried to allocate 2.00 GiB. GPU 0 has a total capacity of
# 23.6 GiB of which 1.1 GiB is free. […] 20.1 GiB is allocated by PyTorch, and 1.6 GiB is reserved by
# PyTorch but unallocated."* Compare them. If *allocated* is most of it, your tensors fill the card: a
# leak if it grows from step to step, else too large a batch. If *reserved but unallocated* is more than
# was asked for, the free memory is in pieces; `PYTORCH_ALLOC_CONF=expandable_segments:True` helps. If
# neither is large, another process has the card. On the CPU there is a single number, and it shows a
# slip in a shape:

# %% topics=["memory-growth"]
try:
    torch.empty(10**15)
except RuntimeError as error:
    print(str(error)[str(error).index("DefaultCPU") :][:90])

# %% [markdown]
# On a GPU, `torch.cuda.memory_summary()` tells allocated from reserved bytes, and
# `torch.cuda.memory._record_memory_history()` with `_dump_snapshot()` names the line that allocated
# each block.

# %% [markdown]
# ### Exercise 15.7 — Leak hunt ★★ · 12 min · 3 points
#
# Going up needs a tensor to start from. The other way round needs none: go *down* from each
# suspect, count what can be reached, train a little more, and count again.
#
# `leak_hunt(step, suspects)` does so. `step()` trains a little; `suspects` is a dict from names to
# objects: a model, an optimizer, a list, a meter. Call `step()` twice to warm up, count, call it
# three times more, count again. Return the list of the names from which more can be reached at the
# second count, in the dict's order. The dict stays as it is.
#
# Two functions are given: `counts(thing)` says whether a thing counts (tensors do, and nodes of a
# graph), and `neighbours(thing)` lists what a thing refers to directly.
#
# - Count the *different* things that can be reached and count, the suspect itself included.
# - Follow `neighbours` to any depth, through what doesn't count as well. Objects may refer to each
#   other in a circle.
# - Some exist only while you hold them: for a NumPy array, `neighbours` makes a tensor that shares
#   its memory.
#
# Example: for the loop above, with suspects `{"layer": layer, "kept": kept}`, the answer is
# `["kept"]`.

# %% nbgrader={"grade_id": "try-leak-hunt", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.debugging import SMALL_LEAKS, check_leaks, counts, hunt_leaks
from course_utils.chapters.debugging import neighbours


@runs_with_the_answer
def try_leak_hunt(leak: str) -> tuple:
    """What leak_hunt says of a training, and how often it called step()."""
    return hunt_leaks(leak_hunt, leak)


# %% nbgrader={"grade_id": "leak-hunt", "solution": true}
def leak_hunt(step: Callable[[], None], suspects: dict[str, object]) -> list[str]:
    """The suspects from which more can be reached after step 5 than after step 2."""

    ### BEGIN SOLUTION
    def reached(start) -> int:
        seen, queue = {}, [start]  # the objects are kept: an id may be given out again
        while queue:
            thing = queue.pop()
            if id(thing) not in seen:
                seen[id(thing)] = thing
                queue += neighbours(thing)
        return sum(counts(thing) for thing in seen.values())

    sizes = []
    for steps in (2, 3):
        for _ in range(steps):
            step()
        sizes.append({name: reached(thing) for name, thing in suspects.items()})
    return [name for name in suspects if sizes[1][name] > sizes[0][name]]
    ### END SOLUTION


# %% nbgrader={"grade_id": "leak-hunt-check", "grade": true, "points": 3}
with every_case() as case:
    for leak, right, why in (
        ("no leak", [], "momentum comes and stays, new gradients replace old: compare numbers"),
        ("a list of losses", ["log"], "each entry is a tensor more"),
        ("a sum of losses", ["meter"], "one tensor, whose graph grows: nodes count, too"),
        ("a graph that grows longer", ["meter"], "a node more in each step, and no tensor"),
        ("a hook in every step", ["model"], "a hook's closure holds the batch"),
        ("a window of two", [], "it is full after two steps, and stays so"),
        ("callbacks", ["log"], "a lambda holds what it uses"),
        ("the last one", [], "another loss, but never more of them"),
        ("a list that empties", [], "fewer can be reached each time; more is asked for"),
        ("a circle", ["ring"], "things may be reached in circles, and at any depth"),
        ("two leaks", ["ring", "log"], "ring holds log, so both"),
        ("two sizes", ["log", "many"], "the smaller leak is a leak, too"),
        *SMALL_LEAKS,
        ("the same again", [], "the same tensor, held again, is no other thing"),
        ("a long chain", ["chain"], "it is 3000 lists deep: use a loop, no recursion"),
        ("numbers", [], "floats don't count"),
        ("arrays", ["nested", "rows"], "a tensor that has gone leaves its id to the next: keep it"),
    ):
        with case(leak):
            check_leaks(try_leak_hunt(leak), right, why)
### BEGIN HIDDEN TESTS
check_leaks(try_leak_hunt("no leak"), [], "nothing of an earlier hunt is left")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A search with a list of what to look at and a memory of what was seen. Remember `id(thing)`, since
# lists and tensors can't be compared safely.
# </details>
# <details><summary>Hint 2</summary>
#
# An `id` is unique only while its object lives. Keep the objects too, for instance in a dict from
# id to object, until you have counted.
# </details>

# %% [markdown]
# ## 8. What happened in the worker?
#
# A DataLoader's workers are other processes. Their errors come to you second-hand, or not at all.
# **An exception** in a worker is sent over as text and raised again in your process. Look for the
# line "Original Traceback":

# %%
from course_utils import send_cells_to_workers
from torch.utils.data import DataLoader, Dataset

send_cells_to_workers()  # where Python doesn't fork, workers can't import a cell (chapter 12)


class Fragile(Dataset):
    """Ten numbers; item 5 calls `trouble` first."""

    def __init__(self, trouble) -> None:
        self.trouble = trouble

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> torch.Tensor:
        self.trouble() if index == 5 else None
        return torch.tensor(float(index))


# %%
try:
    next(iter(DataLoader(Fragile(lambda: {}["label"]), batch_size=10, num_workers=1)))
except KeyError as error:
    said = str(error.args[0]).splitlines()
    print(said[0], said[1], said[-1], sep="\n")

# %% [markdown]
# The short way is `num_workers=0`: the same exception, in your process, for `%debug` to open. Shorter
# still is `dataset[5]`.
#
# **A worker that dies** says nothing. The operating system says which signal ended it, and the
# loader guesses: `DataLoader worker (pid 123) is killed by signal: Bus error. It is possible that
# dataloader's workers are out of shared memory.` Or just `exited unexpectedly`.
#
# *Killed by signal: Segmentation fault* is a fault in C code, which has no traceback. Python can write
# one as it dies: `python -X faulthandler train.py`, or `faulthandler.enable()`. The last call is on top:

# %%
program = "import ctypes\ndef read(address):\n    return ctypes.string_at(address)\nread(0)"
command = [sys.executable, "-X", "faulthandler", "-c", program]
said = subprocess.run(command, capture_output=True, text=True).stderr.splitlines()
print(said[0], *[line for line in said if "<string>" in line], sep="\n")

# %% [markdown]
# *Killed by signal: Killed* is mostly the system running out of memory: use fewer workers, smaller
# batches. A **bus error** is memory that was promised and isn't there. Workers hand tensors over in
# shared memory, a file system of fixed size. In a container it has 64 MiB by default, yet a file
# there can be made larger than what is free. Touching the missing part ends the process. The same in
# miniature, without a container: map a file, cut the file, touch the map.

# %% topics=["worker-bus-error"]
import signal

program = "import mmap, tempfile; file = tempfile.TemporaryFile(); file.truncate(8192); "
program += "shared = mmap.mmap(file.fileno(), 8192); file.truncate(0); shared[4096]"
ended = subprocess.run([sys.executable, "-c", program], capture_output=True).returncode
print("ended by", signal.Signals(-ended).name if ended < 0 else f"exit status {ended}")

# %% [markdown]
# (Windows refuses, by an exception, to cut a mapped file.)
#
# Workers × prefetched batches × bytes of a batch are in flight at a time.
#
# > **Often said.** *"Against bus errors in a container only a new container or a smaller batch
# > helps."* A larger share (`--shm-size` or `--ipc=host`) does need a new container. Inside the
# > old one you can lower `num_workers` or `prefetch_factor`, send uint8 instead of float32, a quarter
# > of the bytes, or let tensors travel by files on the disk:

# %% topics=["worker-bus-error"] errata=["shm-only-docker-restart"]
import torch.multiprocessing as mp

workers, prefetched, batch = 8, 2, 64 * 3 * 224 * 224 * 4
print("strategies:", sorted(mp.get_all_sharing_strategies()))
print("float32:", workers * prefetched * batch // 2**20, "MiB")
print("uint8:", workers * prefetched * batch // 4 // 2**20, "MiB")
print("uint8, two workers:", 2 * prefetched * batch // 4 // 2**20, "MiB")

# %% [markdown]
# **All cores busy, and slow.** Eight workers with eight threads each, on eight cores, are 64 threads
# that fight. PyTorch sets its own to one per worker. Others (OpenCV, NumPy's libraries) don't: set
# `OMP_NUM_THREADS=1` before Python starts, `cv2.setNumThreads(0)` in `worker_init_fn`.

# %% [markdown] topics=["system-monitors", "cpu-99-percent"]
# To see who is busy: `htop` shows threads (key H) and memory, `iotop` the disk, `py-spy dump --pid`
# the Python line at which a running process is (it pauses the process, unless you add
# `--nonblocking`). That is also how you look into
# **a hang**. A loader waits for its workers for ever, unless you give it a `timeout=` in seconds.
# The usual hang is a lock: fork copies the parent's locks as they are, held ones too, and in the child
# nothing releases them.

# %% [markdown]
# ### Exercise 15.8 — Autopsy of a loader ★★ · 12 min · 3 points
#
# Write `loader_autopsy(dataset, batch_size, seconds)`. Try things in this order, and return the
# first verdict that applies, as a pair:
#
# | verdict | when |
# | --- | --- |
# | `("item", i)` | `dataset[i]` raises in this process; the first such i |
# | `("collate", b)` | the items of batch b (from 0, unshuffled, the last may be smaller) can't be joined by `default_collate` |
# | `("pickle", None)` | `pickle.dumps(dataset)` raises, so workers could not be started on other systems |
# | `("hang", None)` | a DataLoader with one worker gives no batch within `seconds` |
# | `("dies", None)` | its worker ends without an exception |
# | `("raises", None)` | its worker raises an exception, though this process did not |
# | `("fine", None)` | none of these |
#
# - Use `DataLoader(dataset, batch_size, num_workers=1, timeout=seconds)`, and go through all
#   batches. Only `Exception`s need be caught.
# - "timed out after" and "exited unexpectedly" are the loader's own words; the text of a worker's
#   exception, of whatever class, begins with "Caught", and may have any words after that.
# - When you return, no process that you started may be left, not even a hanging one, and the
#   caller's own still run. `multiprocessing.active_children()` lists the children of this process,
#   those that it had before you as well: ask before and after. Each has `terminate()` and `join()`.
#   (Don't leave that to the loader: whoever keeps the exception keeps its frames, and with them the
#   worker.)

# %% nbgrader={"grade_id": "try-loader-autopsy", "locked": true} jupyter={"source_hidden": true}
import multiprocessing

from torch.utils.data import DataLoader, Dataset

from course_utils.chapters.debugging import UNJOINED, autopsy_with, check_autopsy


@runs_with_the_answer
def try_loader_autopsy(trouble: str, batch_size: int, seconds: float) -> tuple:
    """The verdict, and how many new processes are left; they are ended here."""
    return autopsy_with(loader_autopsy, trouble, batch_size, seconds)


# %% nbgrader={"grade_id": "loader-autopsy", "solution": true}
def loader_autopsy(dataset: Dataset, batch_size: int, seconds: float) -> tuple[str, int | None]:
    """The first verdict that applies: ("item", i), ("collate", b), ("pickle", None), …"""
    ### BEGIN SOLUTION
    import pickle

    def fails(function, *args) -> str | None:
        try:
            function(*args)
        except Exception as error:
            return str(error) or "no words"

    for index in range(len(dataset)):
        if fails(dataset.__getitem__, index):
            return "item", index
    for start in range(0, len(dataset), batch_size):
        items = [dataset[n] for n in range(start, min(start + batch_size, len(dataset)))]
        if fails(torch.utils.data.default_collate, items):
            return "collate", start // batch_size
    if fails(pickle.dumps, dataset):
        return "pickle", None
    known = set(multiprocessing.active_children())
    said = fails(lambda: [*DataLoader(dataset, batch_size, num_workers=1, timeout=seconds)])
    [(new.terminate(), new.join()) for new in set(multiprocessing.active_children()) - known]
    if said is None or said.startswith("Caught"):
        return "raises" if said else "fine", None
    return "hang" if "timed out after" in said else "dies", None
    ### END SOLUTION


# %% nbgrader={"grade_id": "loader-autopsy-check", "grade": true, "points": 3}
cases = [
    ("nothing", 4, 60, ("fine", None), ""),
    ("a bad item", 4, 60, ("item", 7), "ask the dataset itself first"),
    ("a long item", 4, 60, ("collate", 1), "item 6 is in batch 1, of items 4 to 7"),
    ("a long item", 3, 60, ("collate", 2), "item 6 is the first of batch 2"),
    ("a long item at the end", 4, 60, ("collate", 2), "the last, smaller batch: items 8 and 9"),
    *UNJOINED,
    ("an item with an IndexError", 4, 60, ("item", 7), "there are len(dataset) items"),
    ("an item without a file", 4, 60, ("item", 7), "an OSError: any class counts"),
    ("unpicklable", 4, 60, ("pickle", None), "it has a lambda; under fork it runs all the same"),
    ("holds a lock", 4, 60, ("pickle", None), "pickle raises a TypeError here: any class counts"),
    ("all three", 4, 60, ("item", 7), "all items come before any batch, and before pickle"),
    ("unpicklable, with a long item", 4, 60, ("collate", 1), "batches come before pickle"),
    ("unpicklable, and raises in the worker", 4, 60, ("pickle", None), "ask before any worker"),
    ("hangs", 4, 1.5, ("hang", None), "in the worker alone, at item 5"),
    ("dies", 4, 60, ("dies", None), "in the worker alone, at the first item"),
    ("raises in the worker", 4, 60, ("raises", None), "a RuntimeError, but the worker lives"),
    ("raises in the worker, at the last item", 4, 60, ("raises", None), "go through all batches"),
    ("a server's time-out", 4, 60, ("raises", None), "its text begins with 'Caught'"),
    ("a KeyError in the worker, beside a process of the caller's", 4, 60, ("raises", None), ""),
]
with every_case(at_most=14) as case:
    for trouble, batch_size, seconds, right, why in cases:
        with case(trouble):
            check_autopsy(try_loader_autopsy(trouble, batch_size, seconds), right, why)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The order is that of the price: indexing costs nothing, a worker costs a process. Return as soon
# as something applies.
# </details>
# <details><summary>Hint 2</summary>
#
# The three verdicts about workers are told apart by the message. A worker's own exception begins
# with "Caught". End the new processes in a `finally`.
# </details>

# %% [markdown]
# ## 9. Why won't the checkpoint load? · core
#
# A checkpoint's message seldom tells what happened to the *file*. These are the usual cases, made on
# purpose. Since PyTorch 1.6 a checkpoint is a zip archive; since 2.6 `torch.load` reads nothing but
# tensors and plain containers (`weights_only=True`), because a pickle can run any program.

# %% topics=["checkpoint-version-errors"]
import re
import tempfile
from pathlib import Path

folder = tempfile.TemporaryDirectory()
path, weights = Path(folder.name) / "model.pt", {"layer.weight": torch.ones(50, 50)}
torch.save(weights, path)
whole = path.read_bytes()


# %% topics=["checkpoint-version-errors"]
def what_load_says() -> str:
    try:
        return "loaded " + type(torch.load(path)).__name__
    except Exception as error:
        found = re.search(r"Unsupported \w+.{0,40}|reading.*|^$|Invalid.*", str(error))
        return f"{type(error).__name__} {found[0][:60] if found else ''}"


# %% topics=["checkpoint-version-errors"]
print("whole     ", what_load_says())
for name, data in {"cut short ": whole[:3000], "empty     ": b"", "a web page": b"<html>"}.items():
    path.write_bytes(data)
    print(name, what_load_says())

# %% topics=["checkpoint-version-errors"]
import argparse

torch.save({"weights": weights, "args": argparse.Namespace(lr=0.1)}, path)
print("arguments ", what_load_says())
torch.save(nn.Linear(2, 2), path)
print("a module  ", what_load_says())

# %% [markdown]
# *Central directory* is the table at a zip's end: it is missing because the file was cut, by a broken
# download or a full disk. Only a new copy helps.
# *EOFError* without words is an empty file. The web page is what a server sent instead of the file. In
# the last two the file is whole, and `torch.load` refuses what is in it. Don't reach for
# `weights_only=False`. For a type you know there is `torch.serialization.safe_globals`:

# %% topics=["checkpoint-version-errors"]
torch.save({"weights": weights, "args": argparse.Namespace(lr=0.1)}, path)
with torch.serialization.safe_globals([argparse.Namespace]):
    print(torch.load(path)["args"])
print("needs:", torch.serialization.get_unsafe_globals_in_checkpoint(path))

# %% [markdown]
# What is *not* noticed at all: a byte that changed. The zip has a checksum for each entry, but
# `torch.load` doesn't compare it. Python's `zipfile` does. **Predict** the sum of 2500 ones:

# %% topics=["checkpoint-version-errors"]
import zipfile

damaged = bytearray(whole)
damaged[whole.index(torch.ones(8).numpy().tobytes()) + 3] ^= 0x40  # one bit of one number
path.write_bytes(damaged)
print("the sum:", torch.load(path)["layer.weight"].sum().item())
print("the first damaged entry:", zipfile.ZipFile(path).testzip())

# %% [markdown]
# A single bit turned a 1 into infinity. Keep a hash beside files that travel.
#
# **Old files.** The format from before 1.6, which isn't a zip archive, can still be written
# (`_use_new_zipfile_serialization=False`) and read. (Pickles from Python 2 are in chapter 13.)
#
# ### Keys and shapes, and half a load
#
# The message for wrong keys lists both sides: what the model misses, what the file has too much.
# The same names with a prefix (`module.` of DataParallel, `_orig_mod.` of `torch.compile`) are the
# usual cause. Wrong shapes mean another configuration. **Predict:** the
# load fails; is the first layer still what it was?

# %% topics=["checkpoint-version-errors"]
model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))
state = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
with contextlib.suppress(RuntimeError):  # size mismatch for 1.weight
    model.load_state_dict({**state, "1.weight": torch.zeros(5, 2)})
print("the first layer is all zero now:", not model[0].weight.any().item())

# %% [markdown]
# What fitted was copied before the error was raised: half old, half new weights. Compare first, load
# then.
#
# ### Exercise 15.9 — A loader that says it in words ★★ · 10 min · 3 points · core
#
# Write `checkpoint_errors(path, model)`. Return a pair (verdict, names), the first that applies:
#
# | verdict | when | names |
# | --- | --- | --- |
# | `"unreadable"` | `torch.load` raises, and there is no zip archive at `path` (nor perhaps any file) | `[]` |
# | `"refused"` | `torch.load` raises, and there is one | `[]` |
# | `"no state dict"` | what is loaded is not a dict whose keys are all strings and whose values are all tensors | `[]` |
# | `"keys"` | a name of `model.state_dict()` is missing, or one is too many | all such names, sorted |
# | `"shapes"` | a tensor has another shape than the model's | their names, sorted |
# | `"fine"` | none of these: the weights are now in the model | `[]` |
#
# Unless it is `"fine"`, the model is exactly as it was. Nothing that a file carries may ever be run
# (so no `weights_only=False`), and no exception leaves the function. A file of the old format that
# loads is fine. Don't trust what `load_state_dict(…, strict=False)` returns here: in a plain dict it
# forgives that a BatchNorm's `num_batches_tracked` is missing, and here that counts.

# %% nbgrader={"grade_id": "try-checkpoint-errors", "locked": true} jupyter={"source_hidden": true}
import tempfile
import zipfile
from pathlib import Path

from course_utils.chapters.debugging import changes, state_of
from course_utils.chapters.debugging import UNUSUAL_FILES, check_load, not_saved, small_model
from course_utils.chapters.debugging import write_checkpoint


@runs_with_the_answer
def try_checkpoint_errors(kind: str) -> tuple:
    """The answer, the weights before and after, what else changed, whether a payload was run."""
    with tempfile.TemporaryDirectory() as place:
        path, model = Path(place) / "checkpoint.pt", small_model()
        write_checkpoint(kind, path)
        before = {name: value.clone() for name, value in model.state_dict().items()}
        seen = state_of(model)
        try:
            answer = checkpoint_errors(path, model)
        except Exception as error:
            said = f"{type(error).__name__} left the function, expected a verdict: {error}"
            # The folder has another name each time.
            raise AssertionError(said.replace(place, "…")) from error
        changed = changes(seen, {**state_of(model), "random state": seen["random state"]})
        opened = path.with_suffix(".opened").exists()
        return answer, before, dict(model.state_dict()), changed, opened


# %% nbgrader={"grade_id": "checkpoint-errors", "solution": true}
def checkpoint_errors(path: Path, model: nn.Module) -> tuple[str, list[str]]:
    """A verdict in words, and the names it is about; loads the weights if they are fine."""
    ### BEGIN SOLUTION
    try:
        state = torch.load(path, map_location="cpu")
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    entries = state.items() if isinstance(state, dict) else [(None, None)]
    if not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in entries
    ):
        return "no state dict", []
    own = model.state_dict()
    if names := sorted(set(own) ^ set(state)):
        return "keys", names
    if names := sorted(name for name in own if own[name].shape != state[name].shape):
        return "shapes", names
    model.load_state_dict(state)
    return "fine", []
    ### END SOLUTION


# %% nbgrader={"grade_id": "checkpoint-errors-check-1", "grade": true, "points": 1}
cases = {"state_dict() itself, an OrderedDict": "it is a dict, too"}
cases |= {"a plain dict": "", "the old format": "torch.load reads both formats"}
cases |= {"parameters among the values": "an nn.Parameter is a tensor"}
cases |= {"weights in float64": "the table asks for names and shapes, and copying converts"}
cases |= {"weights in transposed memory": "strides are no matter of a tensor's name or shape"}
cases |= {"names in another order": "compare by name: a dict may list them in any order"}
cases |= {"a wrong checksum": "torch.load doesn't compare it, and loads: what it reads is whole"}
with every_case() as case:
    for kind, why in cases.items():
        with case(kind):
            answer, before, after, changed, _ = try_checkpoint_errors(kind)
            assert answer is not None, "it returned None: is there an answer yet?"
            check_finding(answer, ("fine", []), "the answer", not_saved(answer) or why)
            for name, value in before.items():
                memory = {"it was not loaded": value}
                if value.dim() == 2:
                    filled = (value + 1).mT.reshape(value.shape)
                    memory["copied in storage order: copy the tensor, not its memory"] = filled
                check_value(after[name], value + 1, f"{name} in the model afterwards", memory)
            others = [what for what in changed if what != "parameters or buffers"]
            assert not others, f"the model was changed, and not only its weights: {others}"

# %% nbgrader={"grade_id": "checkpoint-errors-check-2", "grade": true, "points": 2}
names = sorted(small_model().state_dict())
cases = [("empty", "unreadable", [], "EOFError"), ("a list", "no state dict", [], "no names")]
cases += [
    ("cut short", "unreadable", [], "it is no zip archive any more"),
    ("a web page", "unreadable", [], "UnpicklingError, but no zip archive"),
    ("arguments", "refused", [], "a zip archive that holds more than tensors"),
    ("a payload", "refused", [], "it would run a program"),
    ("an archive of NumPy's", "refused", [], "a RuntimeError, and it is a zip archive"),
    ("epoch and weights", "no state dict", [], "3 is no tensor, nor is a dict: open none"),
    ("weights and an epoch", "no state dict", [], "the last of its values, 3, is no tensor"),
    ("numbers for names", "no state dict", [], "the names are 0, 1, 2, …"),
    ("one name missing, one too many", "keys", ["2.bias", "2.offset"], ""),
    ("other shapes", "shapes", ["0.bias", "0.weight", "2.bias", "2.weight"], "sorted by name"),
    *UNUSUAL_FILES,
    ("keys and shapes", "keys", ["extra"], "keys come first"),
    ("an empty dict", "keys", names, "it is a dict, and all of its names are strings"),
    ("a prefix", "keys", sorted([*names, *(f"module.{name}" for name in names)]), "take none off"),
]
### BEGIN HIDDEN TESTS
cases += [("its last bytes lost", "unreadable", [], ""), ("numbers", "no state dict", [], "")]
### END HIDDEN TESTS
with every_case() as case:
    for kind, verdict, names, why in cases:
        with case(kind):
            check_load(try_checkpoint_errors(kind), verdict, names, why)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `torch.load` raises at least four kinds of exceptions for a bad file. Catch `Exception`, and ask
# `zipfile.is_zipfile(path)` only then.
# </details>
# <details><summary>Hint 2</summary>
#
# Names that are in one set and not in the other: `set(a) ^ set(b)`. Compare everything with
# `model.state_dict()`, and call `load_state_dict` in the last line only.
# </details>

# %% [markdown]
# ## 10. Nothing is red, and it doesn't learn · core
#
# Here are eight trainings that each have one fault, beside a healthy run of the same task, dashed.
# The task is easy: three classes of points, in H a regression. **Predict:** can you tell from its
# curve which fault a training has?

# %% nbgrader={"grade_id": "patients", "locked": true}
from course_utils.chapters.debugging import ILLNESSES, Patient, make_patient

# %%
figure, grid = plt.subplots(2, 4, figsize=(9.5, 3.8), sharex=True)
healthy = {kind: make_patient(kind) for kind in ("healthy", "healthy regression")}
reference = [[patient.step() for _ in range(60)] for patient in healthy.values()]
for letter, illness, axes in zip("ABCDEFGH", ILLNESSES, grid.flat, strict=True):
    patient = make_patient(illness)
    axes.plot(reference[letter == "H"], color=GREY, lw=1, ls="--")
    axes.plot([patient.step() for _ in range(60)], color=ORANGE)
    axes.set(title=letter, ylim=(0, 1.6))
grid[1, 0].set(xlabel="step", ylabel="loss")
figure.tight_layout()
show(
    figure,
    "Eight loss curves, each beside a healthy one, dashed: six are flat, two fall slowly.",
)

# %% [markdown]
# Six are as flat as a table, and two learn, too slowly. The curve shows *that* something is wrong. To
# find *what*, climb a ladder. Each rung is a question to the training, cheap questions first, and the
# first that fails names the fault:
#
# | rung | ask | if not |
# | --- | --- | --- |
# | 1 | do two different inputs differ, as they arrive at the model? | the data pipeline flattens them |
# | 2 | do scores and targets fit in shape? | the loss broadcasts: (n, 1) with (n,) gives (n, n) |
# | 3 | do the scores differ between inputs, and can they be any number? | a dead head; an activation too many |
# | 4 | after `backward()`, has every parameter a gradient? | the graph is cut |
# | 5 | after a step, has every parameter changed? | wrong optimizer, wiped gradients, a tiny rate |
# | 6 | can it learn *one batch* by heart? | a bug above was missed, or the model is too small |
#
# Rung 3, once by hand. A ReLU after the last layer looks harmless. Scores below 0 become 0, and
# where a score is 0 the ReLU's slope is 0 too: no gradient, no way back.

# %% topics=["dead-relu-head"]
head = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
nn.init.constant_(head[0].bias, -9.0)
scores = head(torch.randn(4, 2))
F.cross_entropy(scores, torch.tensor([0, 1, 2, 0])).backward()
print(
    "scores:", scores.unique().tolist(), " all gradients 0:", not head[0].weight.grad.any().item()
)

# %% [markdown]
# Rung 6 is the test of tests, and chapter 13 runs it: one small batch, trained on alone. A network that
# can't learn eight points by heart has a bug. (It learns *wrong* labels by heart as well: look at ten
# pairs of input and label yourself.) Another number is free: the loss before the first step. With C
# classes and an untrained network it is about log C, 1.1 for three. Far above means scores of a wrong
# scale; exactly log C, for ever, means that all scores are equal, as in A.
#
# One fault no rung finds, since the model learns only too well: a sample that sees the others of its
# batch, by a reshape, a softmax over the wrong dimension, a statistic. Ask autograd: the scores of
# sample 1 may have a gradient in sample 1 alone. **Predict** the two lines:


# %% topics=["accuracy-not-improving"]
def looks_at(model) -> list[int]:
    """The samples of a batch on which the scores of sample 1 depend."""
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    model(x)[1].square().sum().backward()
    return x.grad.any(1).nonzero().flatten().tolist()


# %% topics=["accuracy-not-improving"]
print("softmax over the classes:", looks_at(nn.Sequential(nn.Linear(3, 4), nn.Softmax(1))))
print("softmax over the batch:  ", looks_at(nn.Sequential(nn.Linear(3, 4), nn.Softmax(0))))

# %% [markdown]
# (A BatchNorm in training mixes its batch on purpose: run this test in eval mode.)
#
# ### Exercise 15.10 — Not learning ★★★ · 25 min · 4 points · core
#
# Write `not_learning(patient)`: it returns which fault a training has, by asking the training. A
# patient has `model`, `optimizer`, `x`, `y`, `loss(scores, y)`, and `step()`, which does one training
# step on all of `x` and returns the loss. You may do with it what you like; it is not needed again.
#
# | answer | what is wrong |
# | --- | --- |
# | `"same inputs"` | all rows of `x` are equal |
# | `"broadcast"` | y is floating, and the model's output has another shape than y |
# | `"softmax twice"` | the model ends in probabilities, though the loss is cross-entropy |
# | `"dead head"` | every score is 0 for every input |
# | `"cut"` | some parameters get no gradient: the graph ends before it reaches them |
# | `"not in the optimizer"` | the parameters get gradients, and the optimizer lacks some: it holds others |
# | `"wiped"` | `step()` clears the gradients before the optimizer uses them |
# | `"rate"` | all is right but the learning rate, which is far too small |
# | `"healthy"` | none of these |
#
# Each patient has one fault at most. They come with several seeds, a healthy one may be a
# regression, and its optimizer may have several groups, one of them slow on purpose. After a `step()`
# the gradients are still there, unless it was one that wipes them.


# %% nbgrader={"grade_id": "try-not-learning", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.debugging import SIGNS, check_verdict


@runs_with_the_answer
def try_not_learning(illness: str, seed: int) -> object:
    """What not_learning says of a patient."""
    return not_learning(make_patient(illness, seed))


# %% nbgrader={"grade_id": "not-learning", "solution": true}
def not_learning(patient: Patient) -> str:
    """The fault of a training, as one of the words of the table."""
    ### BEGIN SOLUTION
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    sums = scores.sum(-1)
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(sums, sums.new_ones(()))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in patient.optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    rates = [group["lr"] for group in patient.optimizer.param_groups]
    return "rate" if max(rates) < 1e-4 else "healthy"
    ### END SOLUTION


# %% nbgrader={"grade_id": "not-learning-check", "grade": true, "points": 4}
cases = [(illness, 0) for illness in SIGNS]
### BEGIN HIDDEN TESTS
cases += [(illness, number) for illness in SIGNS for number in (1, 2)]
### END HIDDEN TESTS
with every_case(at_most=19) as case:
    for illness, number in cases:
        with case(f"{illness}, patient {number}" if number else illness):
            check_verdict(try_not_learning(illness, number), illness)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Climb in the table's order; the first rungs need no gradient. For the later ones call
# `patient.loss(scores, y).backward()` yourself, and look at `.grad`.
# </details>
# <details><summary>Hint 2</summary>
#
# Which parameters the optimizer holds: `optimizer.param_groups[0]["params"]`. Compare objects by
# `is` or `id`; `==` compares elements.
# </details>
# <details><summary>Hint 3</summary>
#
# Wiped and rate look the same from outside: nothing moves. After `step()`, one has no gradients left,
# the other has.
# </details>
# <details><summary>Which fault was which curve?</summary>
#
# A the dead head, exactly at log 3; B another optimizer's parameters; C the cut graph, where the head
# alone learns; D wiped gradients; E the tiny rate; F softmax twice, which learns with a weak gradient;
# G equal inputs; H the broadcast regression. B, D and E are flat in the same way: no curve
# tells them apart.
# </details>

# %% [markdown]
# ## 11. Two runs that should be equal (optional)
#
# You port a model, or change a library's version, and the numbers differ a little. Which line is it?
# Let both run operator by operator: *up to the first difference everything is equal, so its cause is
# there.* Here a copy has one small change. At the end the difference is everywhere:


# %% nbgrader={"grade_id": "record", "locked": true} tags=["to-be-read"]
from torch.utils._pytree import tree_leaves


class Record(TorchDispatchMode):
    """Keeps (operator, copies of the tensors among its results) for each operator."""

    rows = ()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        kept = [x.detach().clone() for x in tree_leaves(result) if isinstance(x, torch.Tensor)]
        self.rows += ((func.overloadpacket.__name__, kept),)
        return result


# %%
def recorded_run(slope: float) -> tuple:
    """The results of a small network whose second activation has a slope below 0."""
    torch.manual_seed(0)
    layers = [nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.LeakyReLU(slope), nn.Linear(8, 8)]
    with Record() as record:
        nn.Sequential(*layers, nn.Tanh(), nn.Linear(8, 1))(torch.randn(16, 8)).mean()
    return record.rows


# %%
pairs = zip(recorded_run(0.01), recorded_run(0.0101), strict=True)
names = ("addmm", "relu", "leaky_relu", "tanh", "mean")
gaps = [(a[0], (a[1][0] - b[1][0]).abs().max().item()) for a, b in pairs if a[0] in names]
first = next(n for n, (_, gap) in enumerate(gaps) if gap > 0)
print("equal up to number", first - 1, "and then", gaps[first][0])

# %%
figure, axes = plt.subplots(figsize=(8, 2.8))
colours = [ORANGE if n == first else GREY for n in range(len(gaps))]
axes.bar(range(len(gaps)), [max(gap, 1e-9) for _, gap in gaps], color=colours)
axes.set_yscale("log")
axes.set_xticks(range(len(gaps)), [name for name, _ in gaps], rotation=30)
axes.set(ylabel="largest difference", ylim=(1e-9, 1e-2))
axes.set_title("Two runs, operator by operator; no bar means exactly equal")
show(
    figure,
    "Differences by operator: exactly zero up to leaky_relu, in orange, and everywhere after it.",
)

# %% [markdown]
# Three operators agree to the last bit, then the fourth differs, and from there on all do. Look at
# *equal*, not at *close*: the first difference is often tiny. Hold the random state still (else dropout
# is the first difference), and beware of in-place operators: `Record` keeps copies.
#
# ### Exercise 15.11 — First difference ★★★ · 25 min · 3 points
#
# Put three tools together: `Record`, the list of running modules from exercise 15.2, and a random
# state that is the same for both. Write `first_difference(one, other, x)` for two models and an
# input. Run each once on `x`, both from the same global random state, in the mode they are in.
# Return `(module, operator)` for the first operator of which any result differs, or `None`.
#
# - *operator* is `func.overloadpacket.__name__` in the run of `one`; *module* is the name, as in
#   `one.named_modules()`, of the innermost module of `one` that was running. No `forward` here
#   catches what a child raises.
# - Results differ if shape, dtype or any value does; two NaN are equal here, and so are 0 and −0.
#   Results may be tuples or lists of tensors. Keep copies: a later operator may write in place.
# - Leave out operators with `empty` in their names, as before: dropout starts with such memory.
# - If the two runs call different operators at some point, that is the first difference; if one run
#   is longer, it is the operator with which that run continues. Where only `other` continues,
#   return its operator with the module name `""`.
#
# Afterwards `x`, both models (hooks and buffers included) and the global random state are as they
# were. In training a BatchNorm writes into its buffers.

# %% nbgrader={"grade_id": "try-first-difference", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.debugging import RUNS, UNUSUAL_PAIRS, make_pair, no_mode_left
from course_utils.chapters.debugging import about_bfloat16


@runs_with_the_answer
def try_first_difference(kind: str, x: torch.Tensor, training: bool) -> tuple:
    """The answer, what was changed, and the runs of models that count."""
    one, other = (model.train(training) for model in make_pair(kind))
    torch.manual_seed(5)
    RUNS.clear()
    before = state_of(one, other)
    with no_mode_left(), about_bfloat16():
        answer = first_difference(one, other, x)
    return answer, changes(before, state_of(one, other)), len(RUNS)


# %% nbgrader={"grade_id": "first-difference", "solution": true}
def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    """The first operator of which a result differs, as (module of ``one``, operator), or None."""
    ### BEGIN SOLUTION
    import copy
    from itertools import zip_longest

    from torch.utils._pytree import tree_leaves

    class Rows(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if "empty" not in name:
                kept = [
                    t.detach().clone() for t in tree_leaves(result) if isinstance(t, torch.Tensor)
                ]
                self.rows.append((self.running[-1], name, kept))
            return result

    def run(model) -> list:
        mode, twin = Rows(), copy.deepcopy(model)  # hooks and buffers of the model stay
        mode.rows, mode.running = [], [""]
        for name, module in twin.named_modules():
            enter = partial(lambda name, *_: mode.running.append(name), name)
            module.register_forward_pre_hook(enter)
            module.register_forward_hook(lambda *_: [mode.running.pop(), None][1])
        with torch.random.fork_rng([x.device] if x.is_cuda else []), mode:
            twin(x.clone())
        return mode.rows

    def same(s, t) -> bool:
        if s.shape != t.shape or s.dtype != t.dtype:
            return False
        return bool(((s == t) | ((s != s) & (t != t))).all())

    for row, its in zip_longest(run(one), run(other)):
        if row is None:
            return "", its[1]
        if its is None or row[1] != its[1] or not all(map(same, row[2], its[2])):
            return row[:2]
    return None
    ### END SOLUTION


# %% nbgrader={"grade_id": "first-difference-check", "grade": true, "points": 3}
draws = "bernoulli_" if device.type == "cpu" else "native_dropout"
cases = [
    ("the same", False, None, "the same model twice"),
    ("the same", True, None, "in training: dropout draws the same from the same state"),
    ("a bias", False, ("0.2", "addmm"), "a difference of 1e-6 counts; modules go by full name"),
    ("a bias in float64", False, ("0.2", "addmm"), "a difference of 1e-12 counts: keep the dtype"),
    ("another activation", False, ("2.0", "tanh"), "another operator runs there: name that of one"),
    ("another dropout", True, ("1", draws), "another share is dropped, in training"),
    ("one goes on", False, ("3", "relu"), "the run of one is longer"),
    ("the other goes on", False, ("", "sigmoid"), "the run of the other is longer: no module"),
    ("in place", False, ("0.1", "mul_"), "keep copies: before it, both were equal"),
    ("its own forward", False, ("", "mul"), "the product is in the model's own forward"),
    ("a part's own forward", False, ("0", "mul"), "the part was running, no child of it"),
    ("other names", False, ("", "mul"), "the module is named as in one, not as in other"),
    ("NaN on both sides", False, None, "two NaN are equal here"),
    ("only the dtype", False, ("3", "_to_copy"), "the same values in two dtypes"),
    ("two results", False, ("3", "topk"), "its results are a tuple"),
    ("the second result", False, ("3", "kthvalue"), "the second of its two results differs"),
    ("the first result", False, ("3", "std_mean"), "the first of its two results differs"),
    ("only the order", False, ("3", "roll"), "the same numbers in another order"),
    ("only the shape", False, ("3", "new_zeros"), "zeros on both sides, in two shapes"),
    ("a part that notes its runs", False, None, "the same model twice"),
    ("a part with buffers", True, None, "a BatchNorm, and a part that counts its calls"),
    ("NaN against 0", False, ("3", "mul"), "NaN equals NaN here, and nothing else"),
    ("infinities of two signs", False, ("3", "mul"), "an infinity equals none of the other sign"),
    ("another shape of as many", False, ("3", "view"), "the same numbers in two shapes"),
    ("a list of results", False, ("3", "_foreach_mul"), "the second of a list differs"),
    ("one model for both", True, None, "one object, handed in twice"),
    ("another dropout", False, None, "in eval mode dropout does nothing"),
    ("equal results", False, ("3", "relu"), "another operator runs there: hardtanh"),
    ("infinity against the largest number", False, ("3", "mul"), "they are two values"),
    ("a mask", False, None, "results may be bool"),
    ("no row", False, None, "a batch of no row; no element differs"),
    ("one part at two places", False, ("0", "mul"), "named_modules() names it once, as 0"),
    ("a hook of its own", False, ("2.0", "tanh"), "only other has a hook that runs a mul there"),
    ("begins in place", False, None, "both begin with x.mul_(2): hand each run a copy of x"),
    ("begins in place, and differs", False, ("2", "mul"), "its last product; copy x for each"),
    *UNUSUAL_PAIRS,
]
### BEGIN HIDDEN TESTS
cases += [("a bias", True, ("0.2", "addmm"), "in training, too")]
### END HIDDEN TESTS
with every_case() as case:
    for kind, training, right, why in cases:
        x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1)).to(device)
        x = x.double() if "float64" in kind else x[:0] if kind == "no row" else x
        x = x.bfloat16() if "bfloat16" in kind else x
        with case(kind + (", in training" if training else "")), forbid_changes(x):
            answer, changed, runs = try_first_difference(kind, x, training)
            check_finding(answer, right, "the answer", why)
            assert not changed, f"changed and not put back: {', '.join(changed)}"
            assert runs < 3, f"two models ran {runs} times in all, expected once each"

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write a function that runs *one* model and returns rows of (module, operator, results). In
# `__torch_dispatch__`, the innermost running module is the last entry of the list; start it with `""`.
# </details>
# <details><summary>Hint 2</summary>
#
# `torch.random.fork_rng()` puts the random state back when its block ends. Inside it, both runs
# start from the same. What you do to a `copy.deepcopy(model)`, the model doesn't notice.
# </details>

# %% [markdown]
# ## 12. When the machine is the cause (optional)
#
# **The wrong build.** A wheel's name says what it fits: package, version, Python, ABI, platform.
# `cp311` is CPython 3.11, `manylinux_2_28` a Linux with glibc 2.28 or newer. Here are two of the tags
# that such a machine takes; `packaging.tags.sys_tags()` lists all of yours:

# %% topics=["install-pip-conda", "mirror-channels"]
from packaging.tags import Tag
from packaging.utils import parse_wheel_filename

wheels = ["torch-2.15.0-cp311-cp311-manylinux_2_28_x86_64.whl", "torchinfo-1.8.0-py3-none-any.whl"]
wheels += ["torch-1.1.0-cp36-cp36m-manylinux1_x86_64.whl", "torch-2.15.0-cp311-cp311-win_amd64.whl"]
mine = {Tag("cp311", "cp311", "manylinux_2_28_x86_64"), Tag("py3", "none", "any")}

# %% topics=["install-pip-conda", "mirror-channels"] tags=["shows-false"]
for wheel in wheels:
    name, version, _, tags = parse_wheel_filename(wheel)
    print(
        f"{name:9} {version!s:6} fits: {not tags.isdisjoint(mine)!s:5} {next(iter(tags)).platform}"
    )

# %% [markdown] topics=["install-pip-conda"]
# "No matching distribution" means: no wheel at that index fits your Python. Today `pip install torch
# torchvision` (or `uv pip install`) from PyPI brings, on Linux, a build for CUDA; the CUDA libraries
# come with it as packages named `nvidia-…`. On Windows and macOS it brings a build without CUDA. Other
# builds come from PyTorch's own index, by `--index-url`. Take torch and
# torchvision from the same place, else the operators of one don't find the other. What you really have
# is in `torch.__version__`, `torch.version.cuda` and `sys.executable`.
#
# **A mirror you can trust.** A mirror serves what it likes. Two locks: encryption on the way, and a
# hash that you wrote down. `pip install --require-hashes -r requirements.txt` compares each file.
# The same in three lines; a single other byte shows:

# %% topics=["mirror-channels"] errata=["insecure-mirror"] tags=["shows-false"]
import hashlib

promised = hashlib.sha256(b"the wheel you tested").hexdigest()
served = {"as tested": b"the wheel you tested", "tampered": b"the wheel you tasted"}
print({name: hashlib.sha256(data).hexdigest() == promised for name, data in served.items()})

# %% [markdown]
# **A machine that you share.** `CUDA_VISIBLE_DEVICES=1,3 python train.py` starts a program that sees
# two GPUs and calls them 0 and 1; an empty list hides them all. `OMP_NUM_THREADS` limits the cores of
# one operation. They belong in the shell, in front of the command.
#
# > **Often said.** *"`CUDA_VISIBLE_DEVICES` must be set before every import."* It must be set before
# > CUDA is *initialised*, at the first call that needs a GPU. Importing PyTorch does not do that, so
# > the child can still hide the GPUs afterwards. (The thread variables are read at the import. From
# > then on, ask `torch.set_num_threads`.)

# %% topics=["cuda-visible-devices", "cpu-thread-settings"] errata=["cuda-visible-before-imports"] tags=["shows-false"]
child = """
import os, torch
print("threads", torch.get_num_threads(), "| CUDA in use:", torch.cuda.is_initialized())
os.environ["CUDA_VISIBLE_DEVICES"] = ""
torch.set_num_threads(2)
print("threads", torch.get_num_threads(), "| GPUs", torch.cuda.device_count())
"""
environment = {**os.environ, "OMP_NUM_THREADS": "1"}
result = subprocess.run(
    [sys.executable, "-c", child], env=environment, capture_output=True, text=True
)
print(result.stdout.strip())

# %% [markdown] topics=["gpu-monitor-cli"]
# **A stuck process.** GPU memory is taken, yet nothing seems to run: mostly a process of yours lives
# on. `nvidia-smi` lists process ids with their memory (`nvitop` and `gpustat` show it live). Find the
# *exact* id, see that it is yours, ask it to end, wait, and only then use force:

# %% topics=["kill-and-reset-gpu"] errata=["gpu-reset-and-kill"]
import psutil

waiting = "import threading; threading.Event().wait()"
stuck = psutil.Process(subprocess.Popen([sys.executable, "-c", waiting]).pid)
print("mine:", stuck.ppid() == os.getpid(), " still there:", stuck.is_running())

# %% topics=["kill-and-reset-gpu"] errata=["gpu-reset-and-kill"]
stuck.terminate()  # SIGTERM: it may save its work and clean up
try:
    print("ended by", signal.Signals(abs(stuck.wait(timeout=10))).name)
except psutil.TimeoutExpired:
    stuck.kill()  # SIGKILL: the last resort

# %% [markdown]
# > **Often said.** *"Free GPU memory by `kill -9` of whatever `ps | grep python` finds, or by
# > `nvidia-smi --gpu-reset`."* The first ends your neighbours' jobs and your own notebook. The second
# > needs root, takes the card from everybody, and fails while anyone uses it. When a process ends,
# > the driver takes back its memory by itself.

# %% [markdown]
# ## 13. From sixty lines to six · core
#
# The last tool is for the errors that resist. You have a script that fails, and too much of it. A
# *minimal* program is mostly its own explanation. And it is what maintainers answer: something they
# can paste, with versions, and the message you got.
#
# Let the machine do it. All it needs is a test: does this shorter program still fail *in the same way*?
# **Predict** why the words in italics matter:


# %% nbgrader={"grade_id": "failure-of", "locked": true}
def failure_of(lines: list[str]) -> str:
    """How a program fails: the exception's name and message, or "" if it doesn't."""
    try:
        exec(compile("\n".join(lines), "the program", "exec"), {})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


# %%
short = ["import torch", "x = torch.ones(2, 3)", "y = x + 1", "z = x @ y"]
print(failure_of(short))
for n, line in enumerate(short):
    print(f"without {line!r:24}", failure_of(short[:n] + short[n + 1 :])[:42])

# %% [markdown]
# Without line 1 it fails, too, and that is another failure. If you took *any* error, the shrinker
# would end with one line that names an unknown variable.
#
# The plain way is to try each line once: leave it out, and if the failure is still the same, leave it
# out for good. *At any time what is left fails in the same way.*


# %%
def one_by_one(lines: list[str], fails) -> list[str]:
    """Leave out each line in turn, from the last to the first."""
    for n in reversed(range(len(lines))):
        shorter = lines[:n] + lines[n + 1 :]
        lines = shorter if fails(shorter) else lines
    return lines


# %%
one_by_one([*short, "print('never reached')"], lambda lines: failure_of(lines) == failure_of(short))

# %% [markdown]
# It takes a run for each line: with 400 lines and a minute a run, nearly seven hours. But if few lines
# matter, most blocks don't, and a block can go in one test. **Delta debugging** (Zeller and
# Hildebrandt, 2002) does that: cut the program into 2 blocks and leave out each in turn. If none can
# go, halve the blocks: 4, 8, 16. If one can go, continue with what is left. It ends when blocks are
# single lines and none can go.
#
# On eight lines of which 3 and 6 matter:
#
# | lines left | blocks | leave out | still fails? |
# | --- | --- | --- | --- |
# | 1–8 | 2 | 1–4, then 5–8 | no, no |
# | 1–8 | 4 | 1–2 | **yes** |
# | 3–8 | 3 (2 lines each) | 3–4, 5–6, 7–8 | no, no, **yes** |
# | 3–6 | 2 (2 lines each) | 3–4, 5–6 | no, no |
# | 3–6 | 4 (1 line each) | 3, then 4, then 5, then 6 | no, **yes**, **yes**, no |
# | 3, 6 | 2 (1 line each) | 3, then 6 | no, no: done |
#
# The last row is needed: after something was left out, a line that mattered before may not any more.
#
# ### Exercise 15.12 — Shrink it ★★ · 15 min · 4 points · core
#
# Write `shrink_it(lines, fails)`. `fails(lines)` takes a list of lines and says whether it fails in
# the wanted way. Return a list of lines, in their order, that fails, and from which no *single* line
# can be left out. `fails` may be any function, and leaves its list alone. It need not hold that
# more lines fail if fewer do.
#
# - `lines` itself stays as it is.
# - If `lines` doesn't fail, raise a `ValueError`, even where fewer of them would. The last line can
#   be left out, too: if the empty list fails then, the answer is `[]`.
# - Be quick: for 400 lines of which 2 matter, `fails` is called at most 150 times.

# %% nbgrader={"grade_id": "try-shrink-it", "locked": true} jupyter={"source_hidden": true}
from collections.abc import Callable

from course_utils.chapters.debugging import ODD_LINES, check_shrunk, numbers, shrink_with


@runs_with_the_answer
def try_shrink_it(test: str, lines: list[str]) -> tuple:
    """The answer, or its ValueError; the calls of the test; the given lines afterwards."""
    return shrink_with(shrink_it, test, lines)


# %% nbgrader={"grade_id": "shrink-it", "solution": true}
def shrink_it(lines: list[str], fails: Callable[[list[str]], bool]) -> list[str]:
    """Lines of a program that fails, from which no single line can be left out."""
    ### BEGIN SOLUTION
    if not fails(lines):
        raise ValueError("the program does not fail")
    lines, size, shrunk = list(lines), len(lines), True
    while size > 1 or shrunk:
        size, shrunk, stop = max(1, size // 2), False, len(lines)
        while stop > 0:
            start = max(0, stop - size)
            shorter = lines[:start] + lines[stop:]
            if fails(shorter):
                lines, shrunk = shorter, True
            stop = start
    return lines
    ### END SOLUTION


# %% nbgrader={"grade_id": "shrink-it-check", "grade": true, "points": 4}
cases = [
    ("3 and 6", numbers(9), "", None),
    ("7 and 390", numbers(400), "", 150),
    ("everything", numbers(5), "none of the five can go", None),
    ("twins", ["a", "same", "b", "same", "c"], "equal lines are different lines", None),
    ("one of the twins", ["same", "a", "same", "b"], "only one of two equal lines", None),
    ("a stack", [*numbers(30), "x"], "go round again: 0 can go once 1 is gone", None),
    ("a queue", ["x", *numbers(20)], "go round again: 19 can go once 18 is gone", None),
    ("an onion", [*numbers(6), "x", *numbers(12)[6:]], "round again until none can go", None),
    ("1 and 7", numbers(8), "more lines need not fail: with 0 and without 5 it runs", None),
    ("every third", numbers(120), "40 of 120 matter; the limit is for 2 lines of 400", None),
    ("not as a whole", numbers(9), "", None),
    *ODD_LINES,
]
for lines in ([], ["x"], numbers(5)):
    cases += [("nothing", lines, "", None), ("anything", lines, "the empty list fails, too", None)]
### BEGIN HIDDEN TESTS
cases += [("the last", numbers(400), "", 150), ("order", numbers(31), "", None)]
cases += [("an odd number", numbers(7), "", None), ("one of two", numbers(12), "", None)]
cases += [("brackets", [*"(1)()2"], "", None), ("3 and 6", [*"6139"], "", None)]
### END HIDDEN TESTS
with every_case() as case:
    for test, lines, why, most in cases:
        with case(f"{test} ({len(lines)} lines)"):
            check_shrunk(try_shrink_it(test, lines), test, lines, why, most)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Keep a block size. Go through the lines in blocks of that size; if a block can go, don't move on:
# the next block has slid into its place.
# </details>
# <details><summary>Hint 2</summary>
#
# After a round at size 1 in which something went, do another round. Stop after one in which nothing
# did.
# </details>
# <details><summary>Hint 3</summary>
#
# `fails` may be asked about the empty list.
# </details>

# %% [markdown]
# ### The payoff
#
# Here is a training script of sixty lines. It fails in its last line but one, in `backward()`, which
# is the last place to look for the cause. (If your `shrink_it` isn't there yet, `one_by_one` stands in.
# On sixty lines of which every tenth matters, it needs no more tests than blocks do. The blocks win when
# the program grows: for 2 lines of 400 the model solution takes 36 tests, `one_by_one` 400.)

# %%
from course_utils.chapters.debugging import SCRIPT

print(f"{len(SCRIPT)} lines:", *SCRIPT[8:10], "…", *SCRIPT[-3:], sep="\n")
print(failure_of(SCRIPT)[:94], "…")

# %%
wanted, attempts = failure_of(SCRIPT).split(": [")[0], []


def fails_alike(lines: list[str]) -> bool:
    """Whether it fails with the same words; keeps what was tried, for the picture."""
    alike = failure_of(lines).split(": [")[0] == wanted
    attempts.append((set(lines), alike))
    return alike


# %%
try:
    minimal = shrink_it(SCRIPT, fails_alike)
    assert fails_alike(minimal)
except Exception:  # no shrink_it yet
    attempts.clear()
    minimal = one_by_one(one_by_one(SCRIPT, fails_alike), fails_alike)
print(*minimal, sep="\n")

# %%
picture = [[(line in tried) * (2 if alike else 1) for line in SCRIPT] for tried, alike in attempts]
figure, axes = plt.subplots(figsize=(8, 4.2))
tones = {0: (1, 1, 1), 1: (0.78, 0.78, 0.78), 2: to_rgb(ORANGE)}
axes.imshow(
    [[tones[entry] for entry in row] for row in picture], aspect="auto", interpolation="nearest"
)
axes.set(
    xlabel="line of the script",
    ylabel="test",
    title="Each row is a shorter program: orange fails in the same way, grey does not",
)
show(figure, "A grid of tests by lines: large blocks go first, and a few lines are left in orange.")

# %% [markdown]
# What is left is program G of exercise 15.1 again, found among sixty lines: an activation
# keeps its result for the way back, and `*=` overwrites it. In the script the activation is `sigmoid`.
# If your lines have `tanh` instead, the shrinker left out `sigmoid` first and met the same failure one
# layer earlier. The cause is the same.
#
# **A report that gets an answer** has four parts: the minimal program, the whole message, what you
# expected, and the versions (`python -m torch.utils.collect_env`). Search the issues first, for the
# last line of the message without its numbers.

# %% tags=["nbval-ignore-output"]
import platform

print("```python", *minimal, "```", failure_of(minimal)[:110] + " …", sep="\n")
print("Expected: a gradient. torch", torch.__version__, "Python", platform.python_version())

# %% [markdown]
# ## Heard elsewhere
#
# - *"`cannot import name 'PILLOW_VERSION'`: pin Pillow 6.2.2."* That is a release of 2019 with known
#   security holes, and there are no wheels of it for today's Python. An old torchvision asked for a
#   name that Pillow removed. Update torchvision.

# %% topics=["pillow-version-error"] errata=["pillow-downgrade"] tags=["shows-false"]
import PIL
import torchvision

print("Pillow 10 or later:", int(PIL.__version__.split(".")[0]) >= 10)
print("it has PILLOW_VERSION:", hasattr(PIL, "PILLOW_VERSION"))
print("torchvision works with it:", hasattr(torchvision, "transforms"))

# %% [markdown]
# - *"Install PyTorch with `conda install -c pytorch`, with `cudatoolkit=9.0`, from a mirror
#   channel."* The `pytorch` channel ended with 2.5; a command that names it gives you an old version
#   or nothing. Use pip or uv; inside conda, the channel `conda-forge` builds PyTorch itself. And what
#   did install it here?

# %% topics=["install-pip-conda", "mirror-channels"] errata=["conda-channel"] tags=["shows-false"]
import importlib.metadata

installed = importlib.metadata.distribution("torch")
print("version 2 or later:", installed.version.startswith("2."))
print("installed by conda:", "conda" in (installed.read_text("INSTALLER") or ""))

# %% [markdown]
# - *"If a mirror has no certificate, use `http` and `--trusted-host`."* Then anyone on the way can hand
#   you any program. With `--extra-index-url` pip takes the highest version from *any* index, a
#   stranger's too. The hash of section 12 stops both.

# %% [markdown]
# ## What to take along
#
# | the red block says | ask | tool |
# | --- | --- | --- |
# | sizes, shapes | which module began and did not finish? | hooks, `meta`, `torch._check` |
# | Byte, Long, Double, two devices | where was this tensor made? | `.to(other)`, the two grids |
# | out of range, device-side assert | which index, of which table? | the CPU, `CUDA_LAUNCH_BLOCKING=1`, a guard |
# | backward, graph, in-place | what happened before this line? | `detect_anomaly` |
# | nothing, but NaN | which operator gave the first? | a dispatch mode |
# | out of memory | what refers to it? | `gc`, weak references, counting |
# | worker, bus error, timed out | does `dataset[i]` work here? | `num_workers=0`, `timeout=` |
# | checkpoint | is the file whole, trusted, and for this model? | compare first, load then |
# | nothing, and it doesn't learn | which rung fails first? | the ladder |
# | nothing, but other numbers | what is the first difference? | two recordings |
# | too much to read | what can go? | delta debugging |
#
# Three mistakes to remember:
#
# 1. Reading from the top. The last line tells you what; the lowest line of yours tells you where.
# 2. Mending the line that raised. It is where the fault was noticed. Ask what was true before.
# 3. Changing two things at once. One question, one answer; then the next.
#
# **Where to read more:** the PyTorch notes on autograd mechanics, serialization semantics, CUDA
# semantics and the frequently asked questions; the documentation of `torch.utils.data` on workers;
# A. Karpathy, *A Recipe for Training Neural Networks* (2019); A. Zeller and R. Hildebrandt,
# *Simplifying and Isolating Failure-Inducing Input* (2002); A. Zeller, *Why Programs Fail*.
