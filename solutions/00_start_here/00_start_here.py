# ---
# jupyter:
#   course:
#     title: Start here
#     minutes: 40
#     core: 35
# ---

# %% [markdown]
# # Start here: when may you trust a number?
#
# A notebook shows you numbers all day: a shape, an average, an error. Some of them are wrong, and
# the wrong ones look just like the right ones. This chapter asks when you may trust a number. It
# gives four answers. You try each of them here, and every later chapter works by them.
#
# **After this chapter you can**
#
# - work through a chapter: predict, run, see, explain, solve an exercise, check it;
# - read a failing check and tell what to mend;
# - write code that runs unchanged on a CPU and on a GPU;
# - draw the same random numbers again, and say what a seed does not promise.
#
# **It leans on** basic Python. NumPy helps; PyTorch is not needed yet.
#
# **Time:** 40 minutes, two short exercises among them, 3 points together. Sections marked *core* are the
# ones that every later chapter leans on.
#
# <kbd>Shift</kbd>+<kbd>Enter</kbd> runs a cell and goes on to the next one. Start with the set-up
# cell below. It is locked, so nobody changes it by accident, and everything after it needs it.

# %% nbgrader={"grade_id": "setup", "locked": true}
import matplotlib.pyplot as plt
import torch
from course_utils import check_close, check_predictions, check_raises, check_states, device
from course_utils import every_case, forbid_changes, seed_everything, show, show_progress

print(f"device: {device}")

# %% [markdown]
# ## 1. Trust it when you said beforehand what it would be · core
#
# **Why.** Here is a model that is never wrong: it should give 1, 2 and 3, and it gives 1, 2 and 3.
# A **tensor** is PyTorch's array: numbers of one kind (its **dtype**, such as `float32`) in a
# **shape**. Models return one row for each example, so the outputs have shape `(3, 1)`, a column.
# The targets come from a plain list and have shape `(3,)`.

# %%
outputs = torch.tensor([[1.0], [2.0], [3.0]])  # (3, 1)
targets = torch.tensor([1.0, 2.0, 3.0])  # (3,)

# %% [markdown]
# **Predict.** The next cell takes the differences, squares them and averages the squares. What will
# it print? Write a number down *before* you run it. Without a guess you cannot be surprised, and
# the surprise is what you will remember.
#
# **Run.**

# %%
((outputs - targets) ** 2).mean()

# %% [markdown]
# Every output is right and the error is not 0. A model that is trained to make this number small ends
# up giving 2 for every example, the mean of the targets. No error message says why.
#
# When a number surprises you, run something smaller. Look at the parts that it was made of, their
# shapes first.

# %%
print(tuple(outputs.shape), tuple(targets.shape), "->", tuple((outputs - targets).shape))

# %% [markdown]
# **See.** Three outputs and three targets gave nine differences. Here they are. Every picture in
# this course is drawn by the code above it, so you may change the numbers and look again. This
# chapter draws two grids, so first a helper that draws one; you may skip its lines.


# %%
def draw_grid(values, row_names, column_names, frames=()):
    """Draw a matrix; frames lists (row, column, width) of what to put a thick frame around."""
    figure, axes = plt.subplots(figsize=(1.6 + 0.9 * len(column_names), 0.8 + 0.5 * len(row_names)))
    limit = 1.8 * values.abs().max()
    axes.imshow(values, cmap="PuOr", vmin=-limit, vmax=limit, aspect="auto")
    axes.set_xticks(range(len(column_names)), column_names)
    axes.set_yticks(range(len(row_names)), row_names)
    axes.spines[:].set_visible(False)
    for row, entries in enumerate(values.tolist()):
        for column, entry in enumerate(entries):
            axes.text(column, row, f"{round(entry, 2):g}", ha="center", va="center")
    for row, column, width in frames:
        frame = plt.Rectangle((column - 0.5, row - 0.5), width, 1, fill=False, lw=3, clip_on=False)
        axes.add_patch(frame)
    return figure, axes


# %%
names = [f"{value:g}" for value in targets.tolist()]
figure, axes = draw_grid(outputs - targets, names, names, frames=[(i, i, 1) for i in range(3)])
axes.set(title="outputs - targets", xlabel="targets", ylabel="outputs")
alt = "Outputs 1, 2, 3 down, targets 1, 2, 3 across, nine differences; only the diagonal is all 0."
show(figure, alt=alt)

# %% [markdown]
# **Explain.** We meant the three framed differences. PyTorch computed all nine. To combine two
# shapes it lines them up *from the right*:
#
# ```text
# outputs   3  1
# targets      3
# result    3  3
# ```
#
# In each place the two sizes must be equal, or one of them must be 1, or one must be missing. A
# size that is 1 or missing is repeated to fit the other. This is called **broadcasting**. It is
# there for good reasons: you can subtract one row from every row of a matrix without copying it.
# The price is that a column and a row also fit, silently.
#
# That is the rhythm of every section in this course: *why, predict, run, see, explain*. Often an
# exercise follows; your first one is in the next section.

# %% [markdown]
# ## 2. Trust it when something else has checked it · core
#
# **Why.** Nobody predicts every number. The second guard is a **check**: code that knows what must
# hold and complains when it does not. A check that is satisfied says nothing. So that you know its
# complaint when you meet it, here is one on purpose. `check_close` compares a tensor with the one
# that you expect.
#
# **Predict.** We expect three differences in a column, all 0. What will the check complain about
# first: the values or something else?

# %% tags=["raises-exception"]
errors = outputs - targets
check_close(errors, torch.zeros(3, 1), "outputs - targets")

# %% [markdown]
# **Explain.** The red block is a *traceback*. It looks alarming and is quick to read, from the
# bottom:
#
# 1. **The last line says what is wrong.** `outputs - targets has shape (3, 3), expected (3, 1)`.
#    Shape comes first: as long as the shape is wrong, the values mean nothing.
# 2. **The arrow `---->` says where**: the line of the cell that complained.
# 3. Everything else can wait. And nothing is broken: the notebook goes on, you mend a cell and run
#    it again.
#
# Now the mended version. Dimensions are counted from 0; `squeeze(1)` removes dimension 1, whose
# size is 1, and then both sides have shape `(3,)`. This time the check is silent, and the error is
# 0, as it should be.

# %%
errors = outputs.squeeze(1) - targets
check_close(errors, torch.zeros(3), "errors")
(errors**2).mean()

# %% [markdown]
# Now you. An exercise has a heading with its difficulty (★ to ★★★), the minutes it takes and its
# points, then a statement, a cell for your answer, a check cell, and hints that unfold. You need
# not read a check cell: its last red line is meant for you. Predictions come as exercises too;
# there the check compares yours with what the machine does.
#
# ### Exercise 0.1 — Five shapes ★ · 3 min · 1 point · core
#
# There are four tensors of zeros:
#
# | tensor | shape |
# | --- | --- |
# | `a` | `(3,)` |
# | `b` | `(4, 1)` |
# | `c` | `(2, 3)` |
# | `d` | `(2,)` |
#
# For each expression write the shape of the result in place of `None`, as a tuple (a list will do), or
# the word `"error"` if PyTorch refuses. `c.mean()` averages all elements; `c.mean(dim=0)` averages
# along dimension 0 only. Example: for `a + a` you would write `(3,)`; the comma makes it a tuple.
#
# Do it in your head. Run your cell, then the check cell below it. Correct and run both as often as you
# like; only the last answer counts. Keep the quotes of `"error"`. The comment `YOUR CODE HERE` marks
# each place that waits for you; it may stay. (This check is folded, because it explains the answers.)

# %% nbgrader={"grade_id": "predict-warm-up", "solution": true}
predict_warm_up = {
    "a + b": None,
    "c + a": None,
    "c + d": None,
    "c.mean()": None,
    "c.mean(dim=0)": None,
}
### BEGIN SOLUTION
predict_warm_up["a + b"] = (4, 3)
predict_warm_up["c + a"] = (2, 3)
predict_warm_up["c + d"] = "error"
predict_warm_up["c.mean()"] = ()
predict_warm_up["c.mean(dim=0)"] = (3,)
### END SOLUTION

# %% nbgrader={"grade_id": "predict-warm-up-check", "grade": true, "points": 1} jupyter={"source_hidden": true}
because = {
    "a + b": "line the shapes up from the right; a size 1 or a missing one is repeated",
    "c + a": "line the shapes up from the right; a missing size is repeated",
    "c + d": "line the shapes up from the right, not from the left",
    "c.mean()": "a mean over everything is one number: which dimension would it still have?",
    "c.mean(dim=0)": "dim names the dimension that disappears",
}
a, b, c, d = torch.zeros(3), torch.zeros(4, 1), torch.zeros(2, 3), torch.zeros(2)


def shape_of(expression):
    """The shape of what the expression gives, or "error" where PyTorch refuses."""
    try:
        return tuple(eval(expression).shape)
    except RuntimeError:
        return "error"


how = 'write a tuple such as (2, 3), or (3,) for one size, or the word "error"'
assert isinstance(predict_warm_up, dict), "keep the dict, with a shape for each expression"
with every_case() as case:
    for expression, guess in predict_warm_up.items():
        with case(expression):
            form = guess in (None, ..., "error") or isinstance(guess, (tuple, list))
            assert form, f"{how}, not {guess!r}"
actual = {expression: shape_of(expression) for expression in because}
check_predictions(predict_warm_up, actual, because)

# %% [markdown]
# Stuck? Hints go from a nudge to nearly the answer. Open one, try again, and only then open the
# next.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Write the two shapes under each other, aligned at their right ends, as in the explanation above.
#
# </details>
#
# <details><summary>Hint 2: the one that fails</summary>
#
# One pair of last sizes is 3 and 2: neither equal, nor 1, nor missing.
#
# </details>
#
# <details><summary>Hint 3: the means</summary>
#
# `sum` and `mean` remove the dimension that you name. Of `(5, 7)`, `dim=0` leaves `(7,)` and
# `dim=1` leaves `(5,)`. Name none and all of them go; the empty tuple is written `()`.
#
# </details>

# %% [markdown]
# **In practice** you can make your own code refuse what PyTorch lets through. The second exercise
# is a function that would have caught the bug of section 1 in its first minute.
#
# ### Exercise 0.2 — An error you can trust ★ · 5 min · 2 points · core
#
# The **root mean square error** says how far outputs are from their targets, in the unit of the
# targets: square each difference, average the squares, take the root. Write
# `root_mean_square_error(outputs, targets)`. Its first check tests the number, its second the
# refusal, for a point each.
#
# - both are floating-point tensors of the same dtype on the same device, of any shape; they may
#   require a gradient, as what a model gives does;
# - the result is a tensor without dimensions (shape `()`), of their dtype and on their device;
# - if their shapes differ, it raises `ValueError`, also where they would broadcast;
# - without any element the result is `nan`, which is what PyTorch's own `mean` gives;
# - every element counts: one `nan` makes the result `nan`, and equal tensors give exactly 0.
#
# Example: outputs `[[3., 0.], [9., 6.]]` and targets `[[2., 7.], [4., 1.]]` differ by 1, −7, 5 and
# 5. The squares are 1, 49, 25 and 25, their mean is 25, and the result is `tensor(5.)`.
#
# Not allowed: changing `outputs` or `targets`. Your caller still needs them.


# %% nbgrader={"grade_id": "root-mean-square-error", "solution": true}
def root_mean_square_error(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The root of the mean of the squared differences.

    Args:
        outputs: what the model gave: any shape, floating point.
        targets: what it should have given: same shape, dtype and device.

    Returns:
        A tensor of shape () in the same dtype, on the same device; nan if there is no element.

    Raises:
        ValueError: the shapes differ.
    """
    ### BEGIN SOLUTION
    if outputs.shape != targets.shape:
        raise ValueError(f"shapes differ: {tuple(outputs.shape)} and {tuple(targets.shape)}")
    return ((outputs - targets) ** 2).mean().sqrt()
    ### END SOLUTION


# %% nbgrader={"grade_id": "root-mean-square-error-check", "grade": true, "points": 1}
slips = {
    25.0: "this is the mean of the squares: the root is missing",
    10.0: "this is the root of the sum: divide by the number of elements first",
    7.071: "this divided by the number of rows: count every element, as numel() does",
    4.5: "this is the mean of the absolute errors: square each error, and take the root last",
    1.0: "positive and negative errors cancelled: square each one before the mean",
}
x = torch.tensor([[3.0, 0.0], [9.0, 6.0]], device=device)
y = torch.tensor([[2.0, 7.0], [4.0, 1.0]], device=device)
with forbid_changes(x, y):
    result = root_mean_square_error(x, y)
got = round(result.item(), 3) if torch.is_tensor(result) and result.numel() == 1 else None
assert got not in slips, f"expected 5, got {got}: {slips[got]}"
check_close(result, torch.tensor(5.0, device=device), "the result of the example")
nan, inf, zeros = float("nan"), float("inf"), torch.zeros_like(x[:1, :1])
odd = torch.tensor([nan, inf, 4.0], device=device)
a, b = x.T[None].contiguous(), y.T[None].contiguous()
cases = {
    "the result where each output is 3 too small": (y - 3, y, 3.0),
    "the result where the outputs equal the targets": (x.double(), x.double(), 0.0),
    "the result where each output is 2**-30 too large": (zeros + 2.0**-30, zeros, 2.0**-30),
    "the result against a row that is expanded": (x, y[:1].expand(2, 2), 5.0),
    "the result without any element": (x[:0], y[:0], nan),
    "the result with one nan: the mean of all has to be nan, too": (
        odd[::2],
        odd[2:].expand(2),
        nan,
    ),
    "the result with one nan among the targets": (odd[2:].expand(2), odd[::2], nan),
    "the result with one inf: the mean of all has to be inf, too": (
        odd[1:],
        odd[2:].expand(2),
        inf,
    ),
    "the result with one nan, of a tensor and itself": (odd, odd, nan),
    "the result of two single numbers": (x[0, 1], y[0, 1], 7.0),
    "the result in three dimensions, transposed": (a.mT, b.mT, 5.0),
}
for dtype in (torch.float16, torch.bfloat16, torch.float64):
    a, b = x.to(dtype), y.to(dtype)
    cases[f"the result in {dtype}"] = a, b, 5.0
    cases[f"the result in {dtype} without any element"] = a[:, :0], b[:, :0], nan
with every_case() as case:
    for name, (a, b, right) in cases.items():
        with case(name), forbid_changes(a, b):
            right = torch.tensor(right, dtype=a.dtype, device=device)
            check_close(root_mean_square_error(a, b), right, "the number", atol=0)
check_states(root_mean_square_error, x, y, what="root_mean_square_error(x, y)")
again = root_mean_square_error(x, y.copy_(x - 3))
check_close(again, torch.tensor(3.0, device=device), "the result after y got other values")
check_close(result, torch.tensor(5.0, device=device), "the first result, after other calls")
x = torch.tensor([[1.0, 7.0], [0.0, 0.0]], dtype=torch.float64, device=device)
far = torch.full_like(x, 2.0**30)  # float32 would round x + far
result, expected = root_mean_square_error(x + far, far), torch.full_like(x[0, 0], 12.5).sqrt()
rows = torch.is_tensor(result) and abs(result.item() - 2.5) < 1e-6
assert not rows, "expected 3.54, got 2.5: the rows' roots were averaged; one mean over all elements"
check_close(result, expected, "the result in float64, where one row is all right")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(20)
for shape in [(), (1,), (7,), (3, 5), (2, 1, 4), (0,), (3, 0)]:
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(shape, generator=generator, dtype=dtype).to(device)
        y = torch.randn(shape, generator=generator, dtype=dtype).to(device)
        expected = (x - y).square().mean().sqrt()
        check_close(root_mean_square_error(x, y), expected, f"the result for {dtype} {shape}")
x = torch.randn(6, 4, generator=generator).to(device)
y = torch.randn(4, generator=generator).to(device).expand(6, 4)
expected = (x - y).square().mean().sqrt()
check_close(root_mean_square_error(x, y), expected, "the result against an expanded tensor")
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "root-mean-square-error-check-2", "grade": true, "points": 1}
column = torch.zeros(3, 1, device=device)
try:
    with forbid_changes(column):
        root_mean_square_error(column, column)
except ValueError as error:
    words = f"two tensors of one shape, (3, 1), were refused ({error})"
    raise AssertionError(f"{words}: compare the shapes with !=") from None
others = [(3,), (3, 3), (1, 1), (0, 1), (), (1, 3), (1, 3, 1)]
pairs = [((3, 1), other) for other in others] + [(other, (3, 1)) for other in others]
pairs += ((2, 3), (3, 2)), ((), (1,)), ((1,), (1, 1)), ((0,), (0, 3)), ((2, 0), (0, 2))
pairs += (((2, 1, 3, 1, 2), (2, 1, 3, 1, 1)),)
pairs += [((2, 3, 4), other) for other in [(2, 1, 4), (2, 3, 1), (1, 3, 4)]]
with every_case() as case:
    for left, right in pairs:
        x, y = torch.zeros(left, device=device), torch.zeros(right, device=device)
        with case(f"shape {left} against shape {right}"), forbid_changes(x, y):
            check_raises(ValueError, lambda x=x, y=y: root_mean_square_error(x, y), "the call")
### BEGIN HIDDEN TESTS
x = torch.ones(6, 4, device=device)
for other in (x[:1], x[:, :1], x[0], x[0, 0], x[None], x.view(4, 6), x[:0]):
    name = f"shape {tuple(x.shape)} against {tuple(other.shape)}"
    refusal = check_raises(ValueError, lambda y=other: root_mean_square_error(x, y), name)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1: where to begin</summary>
#
# Start with the refusal. Compare the two `.shape` attributes; `raise ValueError("…")` ends the
# function.
#
# </details>
#
# <details><summary>Hint 2: the words in the right order</summary>
#
# Root of the mean of the square of the difference: read that backwards and you have the order in
# which to compute.
#
# </details>
#
# <details><summary>Hint 3: the pieces</summary>
#
# `difference ** 2` squares each element, `.mean()` without arguments averages all of them into a
# tensor of shape `()`, and tensors have a method `.sqrt()`. Don't forget `return`.
#
# </details>

# %% [markdown] topics=["device-agnostic-code", "version-and-device-report"]
# ## 3. Trust it when it does not depend on your machine · core
#
# **Why.** Your laptop may have no GPU and the machine that marks your work may have one. A tensor
# lives on one **device**, its values in that device's memory, and an operator wants its tensors on
# the same one. So choose the device once and say it everywhere. The set-up cell did: `device` is a
# CUDA GPU where there is one and the CPU otherwise. (The environment variable `COURSE_DEVICE`, set
# to `cpu` before you start JupyterLab, overrules that.)

# %% topics=["device-agnostic-code"]
x = torch.arange(4.0, device=device)  # made there
y = torch.ones(4).to(device)  # made on the CPU, then moved
with device:
    z = torch.zeros(4)  # made there, because of the block around it
print((x + y + z).tolist(), x.device == y.device == z.device)

# %% [markdown] topics=["device-agnostic-code"]
# PyTorch can also be asked which accelerator there is, and what each GPU has left.
#
# **Predict.** On a machine without a GPU, may `current_accelerator()` still answer `cuda`?

# %% tags=["nbval-ignore-output"] topics=["device-agnostic-code", "gpu-inventory", "version-and-device-report"]
print("torch", torch.__version__, "built for CUDA", torch.version.cuda)
print("cuDNN", torch.backends.cudnn.version())
print("plain call     :", torch.accelerator.current_accelerator())
print("check_available:", torch.accelerator.current_accelerator(check_available=True))
for number in range(torch.cuda.device_count()):
    name, capability = torch.cuda.get_device_name(number), torch.cuda.get_device_capability(number)
    free, total = (size / 2**30 for size in torch.cuda.mem_get_info(number))
    print(f"cuda:{number}  {name}, capability {capability}, {free:.0f} of {total:.0f} GiB free")

# %% [markdown] topics=["device-agnostic-code", "version-and-device-report"]
# **Explain.** The plain call says what this PyTorch was *built for*. On Linux the usual package is
# built for CUDA, so it answers `cuda` even on a machine without a GPU, and the first tensor that
# you send there fails. (The small CPU build answers `None`.) With `check_available=True` it also
# checks that the device can be used, and answers `None` if not. For a bug report,
# `.venv/bin/python -m torch.utils.collect_env`, typed in a terminal in the project's folder, prints
# every version at once.
#
# In your own projects, ask for what is usable and fall back to the CPU. On a recent Mac the answer
# is `mps`, its own GPU; the course itself stays on the CPU there, because `mps` has no float64.

# %% topics=["device-agnostic-code"]
best = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
torch.ones(3, device=best).sum().item()

# %% [markdown] errata=["to-device-is-cuda"]
# > **Often said.** *Claim:* "`x.to(device)` is the same as `x.cuda()`." *Truth:* `.to(device)`
# > follows the variable and returns `x` itself when there is nothing to do. `.cuda()` always means
# > the GPU and fails where there is none.

# %% errata=["to-device-is-cuda"] topics=["device-agnostic-code"]
x = torch.ones(3)
print("nothing to do, the same object:", x.to("cpu") is x)
print("follows the variable:", x.to(device).device.type == device.type)

# %% tags=["nbval-ignore-output"] errata=["to-device-is-cuda"]
if not torch.cuda.is_available():
    words = check_raises((RuntimeError, AssertionError), x.cuda, "x.cuda() without a GPU")
    print(words.splitlines()[0])

# %% [markdown] topics=["seeding"]
# ## 4. Trust it when you can reproduce it · core
#
# **Why.** Training starts from random numbers and shuffles its data. If the error changes from one
# run to the next, was it your change or the dice?
#
# **Predict.** The next cell draws three times and sets the same seed before the first draw and
# before the third. Which of the three draws are equal?

# %% topics=["seeding"] tags=["shows-false"]
seed_everything(0)
first = torch.rand(5)
second = torch.rand(5)
seed_everything(0)
third = torch.rand(5)
print("first and second:", torch.equal(first, second))
print("first and third:", torch.equal(first, third))

# %% [markdown]
# **See.** Here are the three draws and one more with another seed. Equal rows are framed.

# %% topics=["seeding"]
seed_everything(1)
draws = torch.stack([first, second, third, torch.rand(5)])  # (4, 5)
rows = ["seed 0, first draw", "next draw", "seed 0 again", "seed 1"]
figure, axes = draw_grid(draws, rows, range(1, 6), frames=[(0, 0, 5), (2, 0, 5)])
axes.set(title="Same seed, same numbers: torch.rand(5) four times", xlabel="number")
show(figure, alt="Four rows of five random numbers: only the rows 'seed 0' are equal.")

# %% [markdown] topics=["seeding"]
# **Explain.** A **generator** makes random-looking numbers from a state by arithmetic. Each draw
# moves the state on, so the second draw differs from the first. A **seed** puts the state back to a
# known place: the same seed gives the same numbers, another seed others.
#
# Python, NumPy and PyTorch each have a generator of their own. `seed_everything` sets all three,
# and PyTorch's part, `torch.manual_seed`, sets the CPU and every GPU.
#
# Now what a seed does *not* promise. First, the same numbers on another device: the CPU and the GPU
# have different generators, so on a GPU this prints `False`. On a CPU both draws are made by the same
# one, and it prints `True`.

# %% tags=["nbval-ignore-output"] topics=["seeding"]
on_cpu = torch.rand(3, generator=torch.Generator().manual_seed(0))
on_device = torch.rand(3, generator=torch.Generator(device).manual_seed(0), device=device)
print(device.type, torch.equal(on_cpu, on_device.cpu()))

# %% [markdown] topics=["seeding"]
# Second, the same numbers after you edit your program. **Predict:** same seed, but a line
# above the shuffle now draws one more random number. Is the shuffled order still the same? And if the
# shuffle has a generator of its own?


# %% topics=["seeding"] tags=["shows-false"]
def shuffled(extra_draws, generator=None):
    """The numbers 0 to 7 in random order, after some other code drew extra_draws numbers."""
    seed_everything(0)
    torch.rand(extra_draws)
    return torch.randperm(8, generator=generator).tolist()


print("shared generator:", shuffled(0) == shuffled(1))
own = [torch.Generator().manual_seed(0) for run in range(2)]
print("a generator of its own:", shuffled(0, own[0]) == shuffled(1, own[1]))

# %% [markdown] errata=["seeds-are-enough"]
# > **Often said.** *Claim:* "Fix the seeds and the run repeats exactly." *Truth:* a seed fixes
# > which numbers are drawn, not the order in which numbers are added. Rounding makes that order
# > matter. On a GPU it can change from run to run, on a CPU with the number of cores.

# %% errata=["seeds-are-enough"] topics=["seeding"]
big, small = torch.tensor(1e8), torch.tensor(1.0)
print(((big + small) - big).item(), ((big - big) + small).item())

# %% [markdown] errata=["seeds-are-enough"] topics=["seeding", "deterministic-mode"]
# The same three numbers, two orders, two sums: in `float32` the 1 is lost beside 100 million.
# `torch.use_deterministic_algorithms(True)` asks for algorithms that keep to one order and raises
# an error where there is none; some of them are slower. Another machine may still differ
# in the last digits, and a new PyTorch version may even draw other numbers. So compare results with a tolerance, as `check_close` does,
# and note versions and seeds beside every result that you keep.

# %% [markdown] topics=["date-your-sources"] errata=["set-deterministic"]
# > **Then and now.** *Claim:* "Call `torch.set_deterministic(True)`." *Truth:* that name came with
# > PyTorch 1.7 and is gone. Advice on PyTorch ages quickly: look for the date and the version of
# > what you read, then ask the version that you have.

# %% topics=["date-your-sources", "deterministic-mode"] errata=["set-deterministic"]
for name in ("set_deterministic", "use_deterministic_algorithms"):
    print(name, hasattr(torch, name))

# %% [markdown]
# ## 5. What becomes of your answers
#
# **Before you stop**, choose *Kernel → Restart Kernel and Run All Cells*. It proves that your
# answers don't lean on something that you typed and deleted. Checks that fail show red and the
# rest runs on; an error in a cell of your own stops the run there. The **Validate** button above the
# notebook does the same in the background and lists the checks that fail.
#
# **If you learn on your own**, your marks are the checks that pass. The solutions lie in the project's
# folder under `solutions/`, outside JupyterLab's list of files. Open them when you have passed, to compare, or
# when you have spent twice the minutes in the heading. For every wrong answer, say in one sentence
# what you had believed: that is worth more than the point.
#
# **If you take this in a class**, hand in the notebook as your instructor asks. A check gives all
# of its points or none. Marking runs a few more cases than you see here (other shapes, other
# dtypes, empty tensors), all of them covered by the statement.
#
# **If you teach**, `course grade 00_start_here` runs every collected notebook afresh with the full
# checks, writes feedback and a table of points, and keeps nbgrader's files. README has the loop in
# ten lines.
#
# If something will not start or looks odd, `.venv/bin/course doctor`, typed in a terminal in the
# project's folder, says of each part whether it is well, and if not, what to do.

# %% [markdown]
# ## 6. The map
#
# The four answers go with you through the other chapters. Each chapter leans on the ones above it, and
# only on their **core path**: the sections and exercises that are marked `· core`. If you are short of
# time, take those and skip the rest.
#
# | part | chapters |
# | --- | --- |
# | Tensors | [01 Tensors](../01_tensors/01_tensors.ipynb), [02 Storage and strides](../02_storage_and_strides/02_storage_and_strides.ipynb), [03 Tensor algebra](../03_tensor_algebra/03_tensor_algebra.ipynb), [04 Numerics](../04_numerics/04_numerics.ipynb) |
# | Gradients | [05 Autograd](../05_autograd/05_autograd.ipynb), [06 Custom gradients](../06_custom_gradients/06_custom_gradients.ipynb), [07 Hooks](../07_hooks/07_hooks.ipynb) |
# | Networks | [08 Modules](../08_modules/08_modules.ipynb), [09 Layers](../09_layers/09_layers.ipynb), [10 Losses](../10_losses/10_losses.ipynb), [11 Optimizers](../11_optimizers/11_optimizers.ipynb) |
# | Training | [12 Data pipelines](../12_data_pipelines/12_data_pipelines.ipynb), [13 Training](../13_training/13_training.ipynb), [14 Visualization](../14_visualization/14_visualization.ipynb), [15 Debugging](../15_debugging/15_debugging.ipynb) |
# | Speed and scale | [16 Performance](../16_performance/16_performance.ipynb), [17 Distributed training](../17_distributed/17_distributed.ipynb), [18 Sharding](../18_sharding/18_sharding.ipynb) |
# | Out of the notebook | [19 Deployment](../19_deployment/19_deployment.ipynb), [20 Internals](../20_internals/20_internals.ipynb), [21 The whole project](../21_capstone/21_capstone.ipynb) |
#
# The next cell shows the chapters that you have, how long they take, and how far you are. It reads
# the notebooks as they are saved. JupyterLab saves yours every fifteen seconds, and at once when you
# press **Ctrl+S**; do that before you close or reload the page.

# %% tags=["nbval-ignore-output"]
show_progress()

# %% [markdown]
# Your notebooks lie in a folder of your own, which nothing writes over. When a chapter gets a newer
# release, JupyterLab's start says so, and `course renew` brings your answers into it.

# %% [markdown]
# ## What to take with you
#
# | trust a number when | because | you did it with |
# | --- | --- | --- |
# | you predicted it | a surprise shows a wrong belief while it is cheap | nine differences out of three |
# | a check agrees | it knows the shape, the dtype and the values | `check_close`, your own `ValueError` |
# | it does not depend on the machine | the device is chosen once and said everywhere | `device`, `.to(device)` |
# | you can reproduce it | the generator starts from a known state | `seed_everything`, own generators |
#
# **Three mistakes to remember**
#
# 1. Subtracting shape `(n,)` from shape `(n, 1)`: no error, `n × n` differences, a wrong loss.
# 2. Reading a traceback from the top. The last line says what, the arrow says where.
# 3. Believing that a seed makes two runs equal: not on another device, not after an edit that draws
#    more numbers, and not to the last digit.
#
# **Where to read more**
#
# - PyTorch documentation: *Broadcasting semantics*, *Reproducibility*, `torch.accelerator`,
#   `torch.Generator`.
# - JupyterLab documentation: *The JupyterLab Interface* and *Notebooks*.
# - David Goldberg, *What Every Computer Scientist Should Know About Floating-Point Arithmetic*
#   (1991): why the order of a sum matters.
#
# Next: [Tensors](../01_tensors/01_tensors.ipynb), where a photo gets brighter and its sky turns green.
