# ---
# jupyter:
#   course:
#     title: Custom gradients
#     minutes: 239
#     core: 140
# ---

# %% [markdown]
# # Custom gradients: who says that the slope is right?
#
# `backward()` multiplies slopes together. It does not find them. Each operation brings a rule for
# its own slope, and a person wrote that rule. The engine believes all of them. So this chapter asks:
# where does a slope come from, when does a right rule give a wrong number, and how do you know? Then
# it uses the same rules for more: to save memory, to go forward through a function, to
# differentiate twice, and to get a gradient for each sample.
#
# **After this chapter you can**
#
# - write an `autograd.Function`, and choose a slope where mathematics has none;
# - say why a gradient is NaN while its value is fine, and repair it;
# - write a test that catches six kinds of broken rule;
# - trade memory for time with a checkpoint, and say what it costs;
# - see from the shape of a Jacobian whether forward or reverse mode is cheaper;
# - use second derivatives without a matrix, and clip the gradient of each sample.
#
# **It leans on** chapter 05 (the graph, vector-Jacobian products, saved tensors). **Time:** just
# over four hours with all nine exercises. The sections and exercises marked *core* take two hours
# and twenty minutes; nothing later leans on the rest. You can skip any exercise.

# %% nbgrader={"grade_id": "setup", "locked": true}
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_predictions, check_states, every_case, runs_with_the_answer, show

# %% [markdown]
# ## Three ways to write |x| · core
#
# All three give the same values. **Predict** their slopes at −2, 0 and 3. Surely the same?


# %%
def by_root(x):
    return (x**2).sqrt()


def by_where(x):
    return torch.where(x > 0, x, -x)


# %%
for function in (torch.abs, by_root, by_where):
    x = torch.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    y = function(x)
    y.sum().backward()
    print(f"{function.__name__:<9} values {(y + 0).tolist()}  slopes {x.grad.tolist()}")

# %% [markdown]
# Three answers at 0, and one of them is not a number. None of this is a bug in PyTorch.
# `torch.abs` brings a rule for |x|. In the other two, autograd has never heard of |x|: it has seen a
# square and a root, or a comparison and a minus, and it chains the rules of these. So at 0 the slope
# depends on how you wrote the function.
#
# **In practice.** Put `by_root` into the distance between two embeddings. One day a batch holds the
# same picture twice. The distance is 0, its gradient NaN, and after the next step every weight is
# NaN.
#
# Three questions are open. How do you give PyTorch a rule of your own? Why NaN, when the value is
# fine? And how could you have known?

# %% [markdown]
# ## 1. A rule of your own · core
#
# PyTorch does not have every function. The quick way out is NumPy, and it leads you astray.
#
# > **Often said.** *"For an operation that PyTorch lacks, convert to NumPy, compute, and convert
# > back."* The values are right. The graph ends there, and whatever lies before it learns nothing.

# %% errata=["numpy-detour-keeps-training"] tags=["shows-false"]
import numpy as np

x = torch.tensor([0.0, 0.5, 1.5], requires_grad=True)
y = torch.from_numpy(np.sinc(x.detach().numpy()))  # sin(πx) / (πx)
print("values:", y)
print("part of a graph:", y.requires_grad)

# %% [markdown]
# An `autograd.Function` puts the missing node into the graph. It holds two static methods: `forward`
# computes the value, and `backward` is the vector-Jacobian product of chapter 05: from the gradient
# of the result to that of the input. `ctx` carries what `forward` keeps for `backward`. You call the
# Function with `apply`.

# %% topics=["custom-function"]
from torch.autograd.function import once_differentiable


class Sinc(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.from_numpy(np.asarray(np.sinc(x.numpy())))
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        slope = ((np.pi * x).cos() - y) / x
        return gradient * torch.where(x == 0, 0.0, slope)


# %% topics=["custom-function"]
from course_utils import draw_graph

draw_graph(Sinc.apply(x).sum(), x=x)

# %% [markdown]
# The middle box is yours. To the engine it looks like any other. What the parts are for:
#
# - Inside `forward` nothing is recorded. That is why `x.numpy()` works there.
# - `save_for_backward` is for tensors, inputs and outputs above all. It checks their versions, and
#   it avoids a circle of references that would keep the memory. Other things, such as a number or a
#   shape, go on `ctx` as attributes.
# - `backward` gets one gradient for each output and returns one for each input of `forward`; `None`
#   for whatever is not a tensor. Each has the shape of its input.
# - `gradient *` is the chain rule. Forget it, and the rule is right only where 1 arrives. Never write
#   into `gradient` itself: other branches get the same tensor.
# - `once_differentiable` says: do not differentiate this backward. Section 3 shows when it matters.
#
# Does the engine compare the slope with the function? The next exercise answers that.
#
# ### Exercise 6.1 — Believe the rule ★ · 4 min · 1 point · core
#
# The author of `Sevens` made the slope up. Without running it, for x = 3: what is the value of
# `Sevens.apply(x)`, and what is `x.grad` after `backward()` of each of the other expressions?


# %% nbgrader={"grade_id": "sevens", "locked": true}
class Sevens(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x**2

    @staticmethod
    def backward(ctx, gradient):
        return 7 * gradient


# %% nbgrader={"grade_id": "believe-the-rule", "solution": true}
believe_the_rule = {
    "value of Sevens.apply(x)": None,
    "x.grad from Sevens.apply(x)": None,
    "x.grad from 2 * Sevens.apply(x)": None,
    "x.grad from Sevens.apply(5 * x)": None,
    "x.grad from x * Sevens.apply(x)": None,
}
### BEGIN SOLUTION
believe_the_rule = {
    "value of Sevens.apply(x)": 9,
    "x.grad from Sevens.apply(x)": 7,
    "x.grad from 2 * Sevens.apply(x)": 14,
    "x.grad from Sevens.apply(5 * x)": 35,
    "x.grad from x * Sevens.apply(x)": 30,
}
### END SOLUTION

# %% nbgrader={"grade_id": "believe-the-rule-check", "grade": true, "points": 1}
prefix, machine = "x.grad from ", {"value of Sevens.apply(x)": 9.0}
for expression, function in {
    "Sevens.apply(x)": lambda x: Sevens.apply(x),
    "2 * Sevens.apply(x)": lambda x: 2 * Sevens.apply(x),
    "Sevens.apply(5 * x)": lambda x: Sevens.apply(5 * x),
    "x * Sevens.apply(x)": lambda x: x * Sevens.apply(x),
}.items():
    x = torch.tensor(3.0, requires_grad=True)
    machine[prefix + expression] = torch.autograd.grad(function(x), x)[0].item()
product = "the product rule: one part goes through Sevens with 3 arriving, the other is its value"
because = {
    "value of Sevens.apply(x)": "forward alone makes the value",
    prefix + "Sevens.apply(x)": "1 arrives; the engine asks backward and never looks at forward",
    prefix + "2 * Sevens.apply(x)": "what arrives is 2, and backward multiplies it by 7",
    prefix + "Sevens.apply(5 * x)": "behind Sevens stands the rule of 5 * x, which multiplies by 5",
    prefix + "x * Sevens.apply(x)": product,
}
check_predictions(believe_the_rule, machine, because)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Walk the graph from the result. At each node multiply what arrives by that node's slope. At
# `Sevens` the slope is 7, whatever x is.
# </details>

# %% [markdown]
# So a wrong rule raises nothing. The loss may even fall, only more slowly. That makes two jobs:
# write the rule, and test it.
#
# Writing means choosing, where mathematics leaves a choice. The length of a vector,
# √(x₁² + … + xₙ²), has the slope x / length. At the zero vector there is no slope at all, and what
# you want there is 0: two equal embeddings should not push each other.


# %% nbgrader={"grade_id": "trials", "locked": true} jupyter={"source_hidden": true}
# How the exercises are tried, here and below. You need not read these cells.
from course_utils.chapters import custom_gradients
from torch.autograd.function import once_differentiable


@runs_with_the_answer
def try_length(x, g):
    return custom_gradients.run_length(Length, x, g)


# %% [markdown]
# ### Exercise 6.2 — A length that is safe at zero ★★ · 10 min · 3 points · core
#
# Write `Length`, a Function: the length of each vector, with a gradient that is never NaN.
# `safe_length` is given; it calls your Function.
#
# - `Length.apply(x)` takes `x` of shape (…, n), float32 or float64. It returns the length of each
#   vector, of shape (…) and of x's dtype.
# - Its backward returns, for each vector, the gradient that arrives times x / length, however short
#   the vector, and exactly 0 where the length is 0.
# - Leave `x` as it is.
#
# Where a square, or the gradient that arrives divided by the length, overflows or is rounded to 0,
# no care is needed. Nor is it for a second derivative.
#
# Example: for x = (3, 4) the length is 5, and where 1 arrives `x` gets (0.6, 0.8). For x = (0, 0) it
# gets (0, 0).


# %% nbgrader={"grade_id": "safe-length", "solution": true}
class Length(torch.autograd.Function):
    """The length of each vector: x (..., n) to (...); where it is 0, so is the gradient."""

    ### BEGIN SOLUTION
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        length = (x * x).sum(-1).sqrt()
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> torch.Tensor:
        x, length = ctx.saved_tensors
        divisor = torch.where(length == 0, 1.0, length)  # then x is 0 as well
        return (gradient / divisor).unsqueeze(-1) * x

    ### END SOLUTION


def safe_length(x: torch.Tensor) -> torch.Tensor:
    """Given: the lengths, by your Function."""
    return Length.apply(x)


# %% nbgrader={"grade_id": "safe-length-check", "grade": true, "points": 3}
from course_utils.chapters.custom_gradients import check_length

with every_case() as case:
    for name, x in custom_gradients.length_inputs().items():
        with case(name):
            check_length(try_length, x)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for size in ((5, 1), (1, 7), (0, 3), (2, 1, 3)):
    check_length(try_length, torch.randn(size, generator=generator))
check_length(try_length, torch.randn(3, 4, generator=generator).double()[:, ::2])
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Save `x` and the lengths. In backward, what arrives has the shape (…) and `x` has (…, n): one of
# them needs one more dimension.
# </details>
# <details><summary>Hint 2</summary>
#
# Where the length is 0, `x` is 0 too. Any divisor other than 0 gives the right answer there.
# </details>

# %% [markdown]
# ## 2. When right rules give a wrong number · core
#
# Each rule inside `by_root` is right: the square's and the root's. Why was the gradient NaN? The
# same thing happens far from any kink. The ELU is x for positive x, and exp(x) − 1 for the others;
# `torch.where` picks. **Predict** the gradient at x = 100.


# %%
def elu_by_where(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x, x.exp() - 1)


# %%
x = torch.tensor([-1.0, 2.0, 100.0], requires_grad=True)
y = elu_by_where(x)
y.sum().backward()
print("values:  ", y.detach())
print("gradient:", x.grad)

# %% [markdown]
# The value is right, the gradient is not a number. Where does it begin?

# %%
import matplotlib.pyplot as plt

x = torch.linspace(-5, 120, 500).requires_grad_()
elu_by_where(x).sum().backward()
missing = x.detach()[x.grad.isnan()]
figure, axes = plt.subplots(figsize=(6.5, 2.6))
axes.plot(x.detach(), x.grad, color="#0072b2", label="gradient")
axes.axvspan(missing.min(), 120, color="#d55e00", alpha=0.25, label="NaN")
axes.set(xlabel="x", ylabel="gradient", xlim=(-5, 120), title="From 88.7 on there is no gradient")
axes.legend(loc="center")
show(figure, "The gradient rises to 1 at x = 0 and stays there; a band marks NaN from 88.7 on.")

# %% [markdown]
# Both branches are computed, everywhere; `where` only chooses. In backward it sends the gradient
# into the chosen branch, and **zero** into the other. There the zero meets the slope of exp at 100,
# which is infinite in float32. And 0 · ∞ is NaN. The two ways meet at `x`, and 1 + NaN is NaN.
#
# `by_root` at 0 is the same story: the root's slope 1 / (2 · 0) is infinite, the square's slope 2 · 0
# is zero. Every rule is right, and their product is NaN. A rule of your own for the whole, such as
# `Length`, never forms that product. Or you keep the infinite slope from arising, as in the next
# exercise.
#
# When a NaN shows up in a large model, let PyTorch find its birthplace. Anomaly mode checks each
# backward function, and remembers where in the forward it came from. It is slow; switch it on to
# search, then off again.

# %%
with warnings.catch_warnings(record=True) as caught, torch.autograd.set_detect_anomaly(True):
    try:
        elu_by_where(x).sum().backward()
    except RuntimeError as error:
        print(error)

# %%
lines = str(caught[-1].message).splitlines()  # the traceback of the forward
print("born in:", [line for line in lines if line.startswith("    ")][-1].strip())


# %% nbgrader={"grade_id": "trials-3", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_elu(x, alpha, g):
    return custom_gradients.run_elu(elu, x, alpha, g)


# %% [markdown]
# ### Exercise 6.3 — Finite everywhere ★★ · 10 min · 3 points · core
#
# **Find.** For each x, in float32, say whether the gradient of `elu_by_where` is NaN (`True` or
# `False`). The largest float32 is about e to the power of 88.7.
#
# **Repair.** Write `elu(x, alpha)`: x where x > 0, else alpha · (exp(x) − 1). It is for tensors of
# any shape, in float32 and float64. `where_nan` is given; it calls your `elu`.
#
# - Value and gradient must be finite and right for every finite x, at 0 as well: there the slope is
#   alpha.
# - Use ordinary operations; `F.elu` and its relatives are not allowed.
# - Leave `x` as it is.
#
# Example: `elu(torch.tensor([-1.0, 2.0]), 1.0)` is about (−0.632, 2), with the slopes (0.368, 1).

# %% nbgrader={"grade_id": "where-nan", "solution": true}
nan_at = {"-200": None, "-1": None, "0": None, "2": None, "80": None, "100": None}
### BEGIN SOLUTION
nan_at = dict.fromkeys(nan_at, False) | {"100": True}
### END SOLUTION


def elu(x: torch.Tensor, alpha: float) -> torch.Tensor:
    """x where x > 0, else alpha (exp(x) - 1); differentiable, finite for every finite x."""
    ### BEGIN SOLUTION
    below = torch.where(x > 0, 0.0, x)
    return torch.where(x > 0, x, alpha * (below.exp() - 1))
    ### END SOLUTION


def where_nan(x: torch.Tensor, alpha: float) -> torch.Tensor:
    """Given: your ELU."""
    return elu(x, alpha)


# %% nbgrader={"grade_id": "where-nan-check", "grade": true, "points": 1}
places = ("-200", "-1", "0", "2", "80", "100")
x = torch.tensor([float(place) for place in places], requires_grad=True)
(gradient,) = torch.autograd.grad(torch.where(x > 0, x, x.exp() - 1).sum(), x)
machine = dict(zip(places, gradient.isnan().tolist(), strict=True))
because = dict.fromkeys(places, "exp is finite there, and zero times something finite is zero")
because["100"] = "exp(100) is infinite in float32, and zero times infinity is NaN"
check_predictions(nan_at, machine, because)


# %% nbgrader={"grade_id": "where-nan-check-2", "grade": true, "points": 2}
from course_utils.chapters.custom_gradients import check_elu

with every_case() as case:
    for name, (x, alpha) in custom_gradients.elu_inputs().items():
        with case(name):
            check_elu(try_elu, x, alpha)
check_states(elu, torch.tensor([[-2.0, 5.0], [0.5, 0.0]]), 1.5, what="elu(x, 1.5)")
### BEGIN HIDDEN TESTS
for kind in (1.0, 20.0):
    x = kind * torch.linspace(-50, 50, 31)[::2]
    check_elu(try_elu, x, 1.0)
    check_elu(try_elu, x[x != 0].double(), 2.5)
check_elu(try_elu, torch.tensor([88.0, 90.0, 709.0, 711.0]).double(), 1.0)
check_elu(try_elu, torch.zeros(0, 2), 1.0)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The zero cannot be avoided. What it is multiplied with can: the other branch must be harmless
# *where it is not taken*.
# </details>
# <details><summary>Hint 2</summary>
#
# Change the input of exp, not its result. What would be a harmless x to put there?
# </details>
# <details><summary>Hint 3</summary>
#
# A second `where`, inside. (`clamp(max=0)` is harmless too; but print its slope at 0.)
# </details>

# %% [markdown]
# ## 3. How do you know? · core
#
# Still open: how could you have known that a rule is wrong? Go back to what a slope is. Nudge x a
# little up and a little down, and divide the difference of the results by the distance:
#
# $$ f'(x) \approx \frac{f(x + h) - f(x - h)}{2h} $$
#
# How small should h be? Taylor's formula says that the error is about f‴(x) · h² / 6, so smaller is
# better. **Predict** what happens to the error as h shrinks, for sin at 1.

# %%
steps = 10.0 ** torch.linspace(-10, 0, 60, dtype=torch.float64)
figure, axes = plt.subplots(figsize=(6.5, 3))
for dtype, colour in ((torch.float32, "#d55e00"), (torch.float64, "#0072b2")):
    x, h = torch.ones(60, dtype=dtype), steps.to(dtype)
    slope = ((x + h).sin() - (x - h).sin()) / (2 * h)
    error = (slope.double() - torch.ones(1, dtype=torch.float64).cos()).abs() + 1e-16
    axes.loglog(steps, error, color=colour, label=str(dtype))
axes.loglog(steps, steps**2 / 11, "--", color="#6b6b6b", label="Taylor: cos(1) h² / 6")
axes.set(xlabel="h", ylabel="error of the slope", ylim=(1e-14, 3), title="Too large, too small")
axes.legend(loc="lower right")
show(figure, "Error against h: along the dashed line down to 1e-5 or 1e-2, then up again, jagged.")

# %% [markdown]
# From the right, both follow Taylor's line. Then rounding takes over: f(x + h) and f(x − h) agree in
# nearly all their digits, and the few that differ are divided by a tiny h. In float32 the best that
# you can get is about five digits. In float64 it is eleven, near h = 10⁻⁵. That is why **`gradcheck`
# wants float64**; it takes h = 10⁻⁶ and compares with your backward.

# %% topics=["custom-function"]
points = torch.tensor([-1.2, 0.5, 1.5], dtype=torch.float64, requires_grad=True)
torch.autograd.gradcheck(Sinc.apply, [points])

# %% [markdown]
# ### At the kink
#
# ReLU has no slope at 0. Any number from 0 to 1 would do as a rule, and PyTorch takes 0.
#
# > **Often said.** *"ReLU's backward: copy the gradient, and set it to 0 where the input is < 0."*
# > At exactly 0, that lets the gradient through. Real networks have plenty of exact zeros, behind
# > another ReLU for instance.

# %% errata=["myrelu-subgradient"]
x = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
F.relu(x).sum().backward()
copied = torch.ones(3)
copied[x < 0] = 0
print("PyTorch:", x.grad)
print("copied: ", copied)

# %% [markdown]
# Would `gradcheck` tell? It tests exactly the points that you give it. Random points are never
# exactly 0, so they pass with either rule. Give it 0. **Predict** what it says of `torch.relu`.

# %% errata=["myrelu-subgradient"]
zero = torch.zeros(1, dtype=torch.float64, requires_grad=True)
try:
    torch.autograd.gradcheck(torch.relu, [zero])
except RuntimeError as error:
    print(str(error).strip())

# %%
figure, axes = plt.subplots(figsize=(6, 2.6))
x = torch.linspace(-1.5, 1.5, 200)
axes.plot(x, x.relu(), color="#0072b2", linewidth=2.5, label="ReLU")
axes.plot([-1.2, 1.2], [-0.1, 1.1], "--", color="#d55e00", label="the chord that gradcheck draws")
axes.plot([-1, 1], [0, 1], "o", color="#d55e00")
axes.set(xlabel="x (in units of h)", xticks=[-1, 0, 1], title="The chord has the slope 1/2")
axes.legend()
show(figure, "ReLU, and a dashed chord from -h to h across the kink, whose slope is one half.")

# %% [markdown]
# It refuses PyTorch's own rule as well. The two ends of the chord lie on different pieces, so its
# slope is 1/2, and no rule that picks a side agrees. At a kink `gradcheck` has no opinion worth
# having. Test such points by themselves, against the slope that you chose.
#
# ### Twice
#
# `gradgradcheck` does the same for the second derivative. Here is a rule that passes the first test and
# fails the second. **Find** the mistake before you read on.


# %% topics=["custom-function"]
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.slope = 3 * x**2
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.slope


# %% topics=["custom-function"] tags=["shows-false"]
first = torch.autograd.gradcheck(Cube.apply, [points])
second = torch.autograd.gradgradcheck(Cube.apply, [points], raise_exception=False)
print("first derivative: ", first)
print("second derivative:", second, "(meant to fail)")

# %% [markdown]
# The slope was computed in `forward`, where nothing is recorded. For the second derivative it is a
# constant. It has to be computed in `backward`, from saved tensors. For backward *can* be recorded:
# it is when you ask with `create_graph=True`, and only then. Look:


# %% topics=["custom-function"]
class Peek(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        print("backward is being recorded:", torch.is_grad_enabled())
        return gradient


# %% topics=["custom-function"] tags=["shows-false"]
y = Peek.apply(points).sum()
_ = torch.autograd.grad(y, points, retain_graph=True)
_ = torch.autograd.grad(y, points, create_graph=True)

# %% [markdown]
# Some rules are good for one derivative only. `Sinc`'s is: it divides by x, and a second time `where`
# no longer hides the NaN at 0. `once_differentiable` marks such a rule, and a second `backward()` stops
# with an error:

# %% topics=["custom-function"]
x = torch.zeros(1, requires_grad=True)
(slope,) = torch.autograd.grad((Sinc.apply(x) ** 2).sum(), x, create_graph=True)
try:
    slope.sum().backward()
except RuntimeError as error:
    print(error)

# %% [markdown]
# Don't rely on it alone: where another path leads to the input, `torch.autograd.grad` may walk past
# it.
#
# Here is the cube put right. It is written in the newer form, with `forward` and `setup_context`
# apart, which works with `torch.func` as well. `generate_vmap_rule` lets `vmap` run it over a batch:


# %% topics=["custom-function"]
class BetterCube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 3 * x**2


# %% topics=["custom-function"]
print("second derivative:", torch.autograd.gradgradcheck(BetterCube.apply, [points]))
print("slopes:", torch.func.vmap(torch.func.grad(BetterCube.apply))(torch.tensor([1.0, 2.0])))

# %% [markdown]
# (For an operation that `torch.compile` and `torch.export` should know as well, there is
# `torch.library.custom_op`; chapter 20 writes one.)
#
# ### A slope that is wrong on purpose
#
# Quantisation rounds the weights in forward; a binary network keeps only their sign. Such steps have
# the slope 0 almost everywhere, so an honest rule would stop all learning. The **straight-through
# estimator** lies instead: in backward, the step counts as a straight line with the slope 1, near
# zero.

# %%
x = torch.linspace(-2.5, 2.5, 401)
inside = (x.abs() <= 1).float()
figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 2.4), sharex=True)
left.plot(x, torch.where(x < 0, -1.0, 1.0), color="#0072b2")
left.set(title="forward: the sign", xlabel="x", yticks=[-1, 0, 1])
right.plot(x, 0 * x, color="#6b6b6b", label="true slope: 0")
right.plot(x, inside, color="#d55e00", label="slope that is used")
right.set(title="backward: 1 where |x| ≤ 1", xlabel="x", yticks=[0, 1], ylim=(-0.1, 1.75))
right.legend(loc="upper center", fontsize=8)
show(figure, "Left the sign, a step; right its slope zero, and the box of height 1 used instead.")


# %% nbgrader={"grade_id": "run-twice", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_function(name, g, *inputs):
    functions = {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}
    return custom_gradients.run_function(functions[name], g, *inputs)


# %% [markdown]
# ### Exercise 6.4 — ReLU and friends ★★★ · 30 min · 6 points · core
#
# Write three Functions, each with a slope that you choose where mathematics has none.
# `my_relu_and_friends` is given; it names them.
#
# `MyReLU.apply(x)` is like `F.relu`, with the gradient 0 at 0.
#
# `MyClamp.apply(x, low, high)` is like `torch.clamp`, for three tensors of one shape with
# `low < high` everywhere.
#
# - `x` gets the gradient where `low <= x <= high`, `low` where `x < low`, `high` where `x > high`.
#   (At a tie PyTorch's own shares it out; ours gives it to `x`.)
# - Compute only what is asked for: `ctx.needs_input_grad` is a tuple of truth values, one for each
#   input; return `None` for the others.
#
# `Binarize.apply(x)` returns two tensors, the sign, with +1 at 0, and the mask: 1 where |x| ≤ 1,
# else 0.
#
# - The gradient of the sign goes straight through to `x` where the mask is 1, and stops elsewhere.
# - The mask itself gives no gradient: `ctx.mark_non_differentiable(mask)`.
# - A second derivative of such a trick means nothing: refuse it with `once_differentiable`.
#
# For all three:
#
# - Results and gradients have the dtype and shape of `x`, whatever floating-point dtype and shape
#   that is. The gradient that arrives is finite.
# - `MyReLU` and `MyClamp` can be differentiated twice, and NaN stays NaN in both (the gradient there
#   is up to you).
# - Leave the inputs as they are.
# - Write the rules yourself: the backward of a finished operation, such as `F.relu`, is not allowed.
#
# Example: for x = (−2, −0.5, 0, 3), `Binarize` gives (−1, −1, 1, 1) and (0, 1, 1, 0), and the
# gradient (1, 1, 1, 1) of the sign becomes (0, 1, 1, 0) for `x`.


# %% nbgrader={"grade_id": "my-relu-and-friends", "solution": true}
class MyReLU(torch.autograd.Function):
    """max(x, 0), with the slope 0 at 0."""

    ### BEGIN SOLUTION
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.where(x <= 0, 0.0, x)  # NaN is not <= 0, and stays

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)

    ### END SOLUTION


class MyClamp(torch.autograd.Function):
    """x, but at least low and at most high."""

    ### BEGIN SOLUTION
    @staticmethod
    def forward(ctx, x: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> tuple:
        x, low, high = ctx.saved_tensors
        needs_x, needs_low, needs_high = ctx.needs_input_grad
        return (
            gradient * ((x >= low) & (x <= high)) if needs_x else None,
            gradient * (x < low) if needs_low else None,
            gradient * (x > high) if needs_high else None,
        )

    ### END SOLUTION


class Binarize(torch.autograd.Function):
    """The sign of x and the mask of |x| <= 1; the gradient passes where the mask is 1."""

    ### BEGIN SOLUTION
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return torch.where(x < 0, -torch.ones_like(x), torch.ones_like(x)), mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        (mask,) = ctx.saved_tensors
        return gradient * mask

    ### END SOLUTION


def my_relu_and_friends() -> dict:
    """Given: your three Functions, by name."""
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% nbgrader={"grade_id": "my-relu-and-friends-check", "grade": true, "points": 2}
from course_utils.chapters.custom_gradients import check_relu

inf, nan = float("inf"), float("nan")
with every_case() as case:
    for name, x in {
        "x = (-1, 0.5, 2)": torch.tensor([-1.0, 0.5, 2.0]),
        "x = (1, 2)": torch.tensor([1.0, 2.0]),
        "x = (-1, 0, 2)": torch.tensor([-1.0, 0.0, 2.0]),
        "float64, shape (2, 2)": torch.tensor([[-1.0, 0.3], [2.1, 0.0]], dtype=torch.float64),
        "bfloat16": torch.tensor([-1.0, 0.5, 2.0], dtype=torch.bfloat16),
        "float16": torch.tensor([-1.0, 1e-4, 2.0], dtype=torch.float16),
        "tiny, huge and infinite": torch.tensor([-1e-30, 1e-30, 1e-9, 3e38, inf, -inf]),
        "NaN": torch.tensor([nan, -1.0, 2.0]),
        "transposed": torch.linspace(-2, 3, 6).view(2, 3).t(),
        "a single number": torch.tensor(-0.5),
        "no numbers": torch.zeros(0, 3),
    }.items():
        with case(f"MyReLU, {name}"):
            check_relu(try_function, x)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for size in ((), (0, 3), (2, 3, 4)):
    check_relu(try_function, torch.randn(size, generator=generator).double())
check_relu(try_function, torch.arange(-6.0, 6).view(3, 4).t())
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "my-relu-and-friends-check-2", "grade": true, "points": 2}
from course_utils.chapters.custom_gradients import check_clamp

x, ones, work, inf = torch.tensor([-3.0, -1.0, 0.5, 1.0, 4.0]), torch.ones(5), {}, float("inf")
with every_case() as case:
    for needs in custom_gradients.NEEDS:
        with case(f"MyClamp of (-3, -1, 0.5, 1, 4) to -1 and 1, asked for {needs}"):
            work[needs] = check_clamp(try_function, x, -ones, ones, needs)
    with case("MyClamp, float64, bounds that differ"):
        wide, steps = x.double(), ones.cumsum(0)
        check_clamp(try_function, wide, wide - steps + 2, wide + steps + 0.5)
        low = wide + torch.tensor([-1.0, 0.5, 1.0, -2.0, 2.0])
        check_clamp(try_function, wide, low, low + 1.5)
    for name, some in custom_gradients.clamp_inputs(x).items():
        with case(f"MyClamp, {name}"):
            check_clamp(try_function, some, torch.zeros_like(some) - 1, torch.zeros_like(some) + 1)
    with case("MyClamp, x and bounds infinite"):
        some, end = torch.tensor([inf, -inf, 0.5]), torch.full((3,), inf)
        check_clamp(try_function, some, -end, end)
    with case("MyClamp, how much work"):
        custom_gradients.check_work(work)
### BEGIN HIDDEN TESTS
for needs in ((True, True, False), (False, True, True), (False, False, True)):
    x, low = torch.randn(2, 30, generator=torch.Generator().manual_seed(0)).double()
    check_clamp(try_function, x, low - 1, low + 0.3, needs)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "my-relu-and-friends-check-3", "grade": true, "points": 2}
from course_utils.chapters.custom_gradients import check_binarize

inf = float("inf")
with every_case() as case:
    for name, x in {
        "x = (-2, -0.5, 0, 3)": torch.tensor([-2.0, -0.5, 0.0, 3.0]),
        "x = (0.5, 2, -3, 1)": torch.tensor([0.5, 2.0, -3.0, 1.0]),
        "x = (-1, 1)": torch.tensor([-1.0, 1.0]),
        "float64, shape (2, 2)": torch.tensor([[-1.5, 0.5], [2.0, 0.0]], dtype=torch.float64),
        "a single number": torch.tensor(-0.5),
        "no numbers": torch.zeros(0, 3),
        "bfloat16": torch.tensor([-2.0, -0.5, 0.0, 3.0], dtype=torch.bfloat16),
        "float64, 1 and a little": torch.tensor([1e-13, -1e-13]).double() + torch.ones(1).double(),
        "-0.0, tiny, infinite": torch.tensor([-0.0, -1e-30, -1e-9, inf, -inf]),
        "transposed": torch.linspace(-2, 3, 6).view(2, 3).t(),
    }.items():
        with case(f"Binarize, {name}"):
            check_binarize(try_function, x)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for size in ((4, 5), (), (0, 3)):
    check_binarize(try_function, torch.randn(size, generator=generator).double())
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Start from `BetterCube`, or from `Sinc`: save what the rule needs, compute the VJP from what was
# saved.
# </details>
# <details><summary>Hint 2</summary>
#
# A mask times the gradient is all that is needed, three times. Watch < and <= at the ends.
# </details>
# <details><summary>Hint 3</summary>
#
# With two outputs, `backward` gets two gradients, also for the output that is marked as
# non-differentiable. `once_differentiable` stands below `staticmethod`.
# </details>

# %% [markdown]
# ### Exercise 6.5 — Who checks the checker? ★★★ · 25 min · 5 points · core
#
# Before you trust a rule, you test it. And before you trust a test, you show it something broken.
# Write `write_the_test(function)`, which returns `True` if the function's values and gradients can
# be trusted, else `False`.
#
# Seven suspects are lined up: `line_up(base, number)` gives a function from a tensor to a tensor,
# applied to each element, with an `autograd.Function` behind it. Number 0 is right. The others are
# broken, each in its own way, and each of these has happened in real code:
#
# 1. its backward forgets the gradient that arrives;
# 2. its slope is wrong for negative numbers;
# 3. it computes its slope in `forward`: right, but a constant for the second derivative;
# 4. it reads memory in order, and so is wrong for a tensor that is not contiguous;
# 5. it changes its argument;
# 6. it keeps its input on the class and not on `ctx`, so a second call overwrites what the first
#    one needs.
#
# - Your test is not told which one it was given, nor what the function should be: the bases are
#   a sine, a cube and a bell curve, all smooth. Each call of your test gets a fresh one.
# - It may call the function as often as it likes, in float64; a dozen numbers between −2 and 2 are
#   plenty.
# - It says `True` or `False` of every suspect (a tensor that holds one will do):
#   an error is no verdict.
#
# `gradcheck` and `gradgradcheck` with `raise_exception=False` return a truth value. They don't find
# everything, and number 5 can make them raise all the same.


# %% nbgrader={"grade_id": "line-up", "locked": true} jupyter={"source_hidden": true}
from collections.abc import Callable

from course_utils.chapters.custom_gradients import line_up


@runs_with_the_answer
def try_the_test(base, ticket):
    return custom_gradients.run_the_test(write_the_test, base, ticket)


# %% nbgrader={"grade_id": "write-the-test", "solution": true}
def write_the_test(function: Callable[[torch.Tensor], torch.Tensor]) -> bool:
    """Whether the values and gradients of this function of a tensor can be trusted."""
    ### BEGIN SOLUTION
    points = torch.tensor([[-1.2, 0.4, 1.1], [0.7, -0.3, -0.8]], dtype=torch.float64)
    before = points.clone()
    function(points)
    if not torch.equal(points, before):
        return False
    check, check_twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    x = points.clone().requires_grad_()
    if not check(function, [x], raise_exception=False):
        return False
    x = points.t().detach().requires_grad_()
    if not check_twice(function, [x], raise_exception=False):
        return False
    x = points.clone().requires_grad_()
    (alone,) = torch.autograd.grad(function(x).sum(), x)
    first, _ = function(x), function(2 * x)
    (later,) = torch.autograd.grad(first.sum(), x)
    x = points.t().detach().requires_grad_()
    (turned,) = torch.autograd.grad(function(x).sum(), x)
    return torch.equal(alone, later) and torch.equal(alone, turned.t())
    ### END SOLUTION


# %% nbgrader={"grade_id": "write-the-test-check", "grade": true, "points": 5}
from course_utils.chapters.custom_gradients import check_verdicts

suspects = [(base, number) for base in ("sine", "cube", "bell") for number in range(7)]
check_verdicts(try_the_test, *suspects)
### BEGIN HIDDEN TESTS
suspects = ("bell", 6), ("cube", 5), ("cube", 4), ("bell", 2), ("bell", 0)
check_verdicts(try_the_test, *suspects)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Points in float64, some of them negative, none of them special. One after the other: does the
# argument stay as it is? `gradcheck`? `gradgradcheck`?
# </details>
# <details><summary>Hint 2</summary>
#
# Give `gradcheck` a transposed tensor as well: `points.t().detach().requires_grad_()`.
# </details>
# <details><summary>Hint 3</summary>
#
# For the last suspect, compare two gradients: one taken at once, one taken after a second call on
# other numbers.
# </details>

# %% [markdown]
# **In practice.** Whoever adds a Function to a project adds such a test beside it: `gradcheck` and
# `gradgradcheck` on random points in float64, a transposed input, two calls in a row, and every kink
# by hand.

# %% [markdown]
# ## 4. Memory for time · core
#
# You can now write rules that are right. What else is a rule good for? It decides what is *kept*.
# Saved tensors grow with depth: every layer keeps its share until backward comes by. But what a
# layer keeps can be computed again from its input. So keep only the inputs of a few blocks, throw
# the rest away, and run a block's forward a second time when backward gets there. This is called
# **activation checkpointing**. **Predict:** how much of the memory does it save, with eight blocks?

# %%
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
blocks = [
    nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 64), nn.Tanh()) for _ in range(8)
]
ways = {
    "plain": lambda block, h: block(h),
    "checkpointed": lambda block, h: checkpoint(block, h, use_reentrant=False),
}


# %%
figure, axes = plt.subplots(figsize=(8, 3.2))
for (name, run), colour in zip(ways.items(), ("#0072b2", "#d55e00"), strict=True):
    curve, turn = custom_gradients.memory_of(run, blocks)
    axes.plot([n / 1e6 for n in curve], color=colour, label=f"{name}: {max(curve) / 1e6:.1f} MB")
    axes.axvline(turn, color=colour, linestyle=":")
axes.set(xlabel="operations so far", ylabel="megabytes alive", title="One training step")
axes.legend(title="at the peak")
show(
    figure, "Plain climbs to one high peak at the turn; checkpointed climbs gently, then saw-teeth."
)

# %% [markdown]
# The peak falls from 6.4 to 2.8 MB: by more than half, and not to an eighth. All eight inputs are kept,
# and on the way back one block at a time is there in full.
#
# The dotted lines mark the turn from forward to backward. The plain run piles up until just after the
# turn, then gives back. The checkpointed one piles up only the blocks' inputs. On its way back each
# tooth is one block: run again, used, freed. And its curve is longer: that is the price, one more
# forward pass, which is about a third of a training step's work.
#
# > **Then and now.** *"`checkpoint(block, x)`."* The old form re-entered autograd from inside a
# > backward, gave no gradient to the block if `x` required none, and is on its way out. Today you say
# > which form you mean; if you don't, you get a warning.

# %% errata=["checkpoint-call"] tags=["shows-false"]
data = torch.ones(2, 64)  # requires no grad, like a batch of data
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for reentrant in (True, False):
        y = checkpoint(blocks[0], data, use_reentrant=reentrant)
        print(f"use_reentrant={reentrant}: the result requires grad: {y.requires_grad}")

# %% [markdown]
# There is one trap left. The second forward has to be *the same* as the first. A dropout layer draws
# new random numbers each time, and then the gradient would belong to another network. So a
# checkpoint keeps the state of the random generator, goes back to it for the second run, and
# afterwards puts the generator where it was.


# %% nbgrader={"grade_id": "run-block", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_checkpoint(x, seed, times, state=""):
    return custom_gradients.run_checkpoint(Checkpoint, x, seed, times, state)


# %% [markdown]
# ### Exercise 6.6 — A checkpoint by hand ★★★ · 25 min · 4 points · core
#
# Write `Checkpoint`, a Function. `Checkpoint.apply(block, x)` returns what `block(x)` returns, a
# tensor, and runs the block again in backward. `checkpoint_by_hand` is given; it calls your Function.
#
# - **Forward** keeps nothing for backward but the block, `x`, and the state of the CPU generator
#   (`torch.get_rng_state()`). `x`, which requires grad, goes through `save_for_backward`, not on
#   `ctx`.
# - **Backward** runs `block` a second time, on the same random numbers
#   (`torch.set_rng_state(state)`), recording this time (`torch.enable_grad()`).
# - It returns the gradient of `x`, and adds those of the block's parameters to their `.grad`, as
#   `backward()` does: nothing for one that is frozen or not used. `block` may be used twice.
# - It leaves the generator as it was before backward, also where `block` raises there.
# - Gradients have to be equal to those of the plain run to the last bit.
# - `torch.utils.checkpoint` is not allowed.
#
# Everything here is on the CPU; on a GPU you would keep the state of its generator too. The check
# uses a block with two linear layers and a dropout.


# %% nbgrader={"grade_id": "checkpoint-by-hand", "solution": true}
class Checkpoint(torch.autograd.Function):
    """``block(x)`` that keeps only ``x`` and computes the rest again in backward."""

    ### BEGIN SOLUTION
    @staticmethod
    def forward(ctx, block: nn.Module, x: torch.Tensor) -> torch.Tensor:
        ctx.block, ctx.state = block, torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> tuple[None, torch.Tensor]:
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        try:
            with torch.enable_grad():
                x = x.detach().requires_grad_()
                y = ctx.block(x)
        finally:
            torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, x.grad

    ### END SOLUTION


def checkpoint_by_hand(block: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Given: ``block(x)``, by your Function."""
    return Checkpoint.apply(block, x)


# %% nbgrader={"grade_id": "checkpoint-by-hand-check", "grade": true, "points": 4}
from course_utils.chapters.custom_gradients import check_checkpoint

with every_case() as case:
    with case("x of shape (2, 3)"):
        check_checkpoint(try_checkpoint, torch.linspace(-1, 1, 6).view(2, 3), 0)
    with case("a block used twice"):
        check_checkpoint(try_checkpoint, torch.linspace(-1, 1, 8).view(4, 2), 1, times=2)
    with case("float64"):
        check_checkpoint(try_checkpoint, torch.linspace(-1, 1, 6).double().view(2, 3), 2)
    for state in custom_gradients.states_of(try_checkpoint):
        with case(f"another state: {state}"):
            custom_gradients.check_state(try_checkpoint, state)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for seed, size in enumerate(((5, 4), (16, 2)), start=2):
    check_checkpoint(try_checkpoint, torch.randn(size, generator=generator), seed)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `forward` of a Function does not record, so `block(x)` in it keeps nothing. The block and the
# state go on `ctx`, `x` through `save_for_backward`.
# </details>
# <details><summary>Hint 2</summary>
#
# In `backward`: note where the generator is, go back to the kept state, run the block on a fresh
# leaf while recording, put the generator back (`try … finally`).
# </details>
# <details><summary>Hint 3</summary>
#
# Then go backward through that small graph with the gradient that arrived:
# `torch.autograd.backward(y, gradient)`. The parameters collect theirs; the leaf's is what you
# return. `block` is an input too and gets `None`.
# </details>

# %% [markdown]
# ## 5. Forward mode
#
# So far gradients came from the back. Why from there? Take a function from n numbers to m. Its slopes
# form the Jacobian $J$, with m rows and n columns. A backward pass starts with a vector $g$ at the
# results and brings $g^T J$ to the inputs. With $g = (0, 1, 0)$ that is one **row** of $J$: all the
# slopes of one result.
#
# You can also start at the other end. Give each input a direction $v$, its **tangent**, and carry
# along, through each operation, how fast the value changes. What arrives is $J v$, a *Jacobian-vector
# product*. With $v = (1, 0, 0, 0)$ that is one **column**: the slopes of all results by one input.


# %%
figure, (top, bottom) = plt.subplots(2, 2, figsize=(8.5, 4.4), width_ratios=(2, 1))
draw_jacobian = custom_gradients.draw_jacobian
draw_jacobian(top[0], 2, 9, row=1, title="reverse, one pass: a row (of 2)")
draw_jacobian(bottom[0], 2, 9, column=3, title="forward, one pass: a column (of 9)")
draw_jacobian(top[1], 4, 2, row=1, title="reverse: a row (of 4)")
draw_jacobian(bottom[1], 4, 2, column=1, title="forward: a column (of 2)")
figure.tight_layout()
show(
    figure,
    "A wide and a tall Jacobian: reverse mode fills one row a pass, forward mode one column.",
)

# %% [markdown]
# So the whole of $J$ costs m backward passes or n forward ones. A loss has m = 1 and n = millions: one
# backward pass gives everything, forward mode would need millions. That is why training goes
# backward. For few inputs and many results, such as the path of a robot arm by its two angles, it is
# the other way round. Forward mode also saves nothing: value and tangent travel together, and
# are forgotten together.
#
# How does it work? Write each number as a **dual number** $a + b\,\varepsilon$, with a rule instead of
# a size: $\varepsilon^2 = 0$. Then $(a + b\varepsilon)(c + d\varepsilon) = ac + (ad + bc)\varepsilon$.
# The product rule comes out by itself. By hand, for x³ at 2:


# %%
def times(first, second):
    (a, b), (c, d) = first, second
    return a * c, a * d + b * c


# %%
x = (2.0, 1.0)  # the value 2, the tangent 1
square = times(x, x)
cube = times(square, x)
print("square:", square, " cube:", cube)

# %% [markdown]
# The cube is 8 and its slope 12, as it should be. PyTorch has the same: `forward_ad` makes dual
# tensors, and `torch.func.jvp` wraps it. Both ways, and by the definition, for a function from two
# numbers to three:


# %%
def two_to_three(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([x[0] * x[1], x[0] + x[1], x[0] ** 2])  # (2,) to (3,)


# %%
import torch.autograd.forward_ad as forward_ad

x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])
with warnings.catch_warnings(), forward_ad.dual_level():
    warnings.simplefilter("ignore")  # PyTorch warns about a deprecated part of itself
    dual = forward_ad.make_dual(x, v)
    tangent = forward_ad.unpack_dual(two_to_three(dual)).tangent

# %%
value, product = torch.func.jvp(two_to_three, (x,), (v,))
print("J v by dual tensors: ", tangent)
print("J v by torch.func:   ", product)
print("first column of J:   ", torch.func.jacrev(two_to_three)(x)[:, 0])


# %% nbgrader={"grade_id": "trials-4", "locked": true} jupyter={"source_hidden": true}
import torch.autograd.forward_ad as forward_ad


@runs_with_the_answer
def try_jacobian(way, name, x, states=False):
    ways = {"rows": by_rows, "columns": by_columns, "cheaper": jacobian_both_ways}
    return custom_gradients.run_jacobian(ways[way], name, x, states)


# %% [markdown]
# ### Exercise 6.7 — The Jacobian, both ways ★★ · 15 min · 3 points
#
# Write the Jacobian of `f` at `x`, of shape (m, n), in both directions. `f` takes a 1-D tensor with
# n entries and returns one with m, which depends on x; nothing else in it requires grad.
#
# - `by_rows(f, x)`: by reverse mode, a row a pass;
# - `by_columns(f, x)`: the same by forward mode, a column a pass;
# - `jacobian_both_ways(f, x)`: by the cheaper of the two: by rows if m < n, by columns if n < m. For
#   m = n either will do. You may call `f` once more to learn m.
#
# For all three:
#
# - Results are detached, also where `x` requires grad.
# - Leave `x` as it is: its `requires_grad` and its `.grad`, also where `f` raises.
# - `torch.func.jacrev`, `jacfwd` and `torch.autograd.functional.jacobian` are not allowed; a loop over
#   the passes is fine.
#
# Example: `two_to_three` at (1, 2) has the Jacobian with the rows (2, 1), (1, 1) and (2, 0).


# %% nbgrader={"grade_id": "jacobian-both-ways", "solution": true}
def by_rows(f: Callable, x: torch.Tensor) -> torch.Tensor:
    """The Jacobian (m, n) of f at x, a row for each backward pass."""
    ### BEGIN SOLUTION
    x = x.detach().requires_grad_()
    y = f(x)
    unit = torch.eye(len(y), dtype=y.dtype, device=y.device)
    return torch.stack([torch.autograd.grad(y, x, g, retain_graph=True)[0] for g in unit])
    ### END SOLUTION


def by_columns(f: Callable, x: torch.Tensor) -> torch.Tensor:
    """The Jacobian (m, n) of f at x, a column for each forward pass."""
    ### BEGIN SOLUTION
    unit = torch.eye(len(x), dtype=x.dtype, device=x.device)
    x = x.detach()
    return torch.stack([torch.func.jvp(f, (x,), (v,))[1] for v in unit], dim=1)
    ### END SOLUTION


def jacobian_both_ways(f: Callable, x: torch.Tensor) -> torch.Tensor:
    """The Jacobian (m, n) of f at x, by the mode that needs fewer passes."""
    ### BEGIN SOLUTION
    return by_rows(f, x) if len(f(x)) < len(x) else by_columns(f, x)
    ### END SOLUTION


# %% nbgrader={"grade_id": "jacobian-both-ways-check", "grade": true, "points": 2}
from course_utils.chapters.custom_gradients import check_jacobian

inputs = {
    "two to three": torch.tensor([1.0, 2.0]),
    "two numbers": torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64),
    "partly constant": torch.tensor([3.0]),
    "one number": torch.tensor([1.0, 2.0, -1.0]),
}
with every_case() as case:
    for name, x in (*inputs.items(), ("running sum", torch.tensor([2.0]).double())):
        for way in ("rows", "columns"):
            with case(f"by_{way} of {name} at {x.tolist()}"):
                check_jacobian(try_jacobian, way, name, x, states=name == "two numbers")
### BEGIN HIDDEN TESTS
x = torch.randn(4, generator=torch.Generator().manual_seed(0)).double()
for name in ("square", "one number", "two numbers"):
    for way in ("rows", "columns"):
        check_jacobian(try_jacobian, way, name, x)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "jacobian-both-ways-check-2", "grade": true, "points": 1}
from course_utils.chapters.custom_gradients import check_jacobian

with every_case() as case:
    for name, x, forward in (
        ("two to three", torch.tensor([1.0, 2.0]), True),
        ("two numbers", torch.tensor([0.5, -1.0, 2.0]), False),
        ("one number", torch.tensor([1.0, 2.0]), False),
        ("partly constant", torch.tensor([3.0]), True),
        ("pairs", torch.tensor([1.0, 2.0, -1.0, 0.5]), True),
        ("pairs", torch.tensor([3.0, 2.0]), False),
    ):
        with case(f"jacobian_both_ways of {name} at {x.tolist()}"):
            went = check_jacobian(try_jacobian, "cheaper", name, x, states=len(x) > 2)
            sizes = f"for this x {len(custom_gradients.MAPS[name](x))} results, {len(x)} inputs"
            way = "forward" if forward else "reverse"
            assert went is forward, f"{sizes}: {way} mode alone needs fewer passes"
    with case("jacobian_both_ways of square, 2 results, 2 inputs"):
        check_jacobian(try_jacobian, "cheaper", "square", torch.tensor([0.5, 0.25]))
    with case("jacobian_both_ways of running sum, 1 result, 1 input, in float64"):
        check_jacobian(try_jacobian, "cheaper", "running sum", torch.tensor([2.0]).double())
### BEGIN HIDDEN TESTS
assert not check_jacobian(try_jacobian, "cheaper", "one number", torch.ones(5)), (
    "one result: go backward"
)
assert check_jacobian(try_jacobian, "cheaper", "partly constant", torch.ones(1)), (
    "one input: go forward"
)
check_jacobian(try_jacobian, "cheaper", "square", torch.ones(3))
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The rows of `torch.eye(m)` pick out one result each, those of `torch.eye(n)` one input each.
# </details>
# <details><summary>Hint 2</summary>
#
# Several backward passes through one graph need `retain_graph=True`. `torch.func.jvp(f, (x,), (v,))`
# returns the value and the product.
# </details>
# <details><summary>Hint 3</summary>
#
# Rows are stacked along dimension 0, columns along dimension 1.
# </details>

# %% [markdown]
# ## 6. Slopes of slopes
#
# A backward pass consists of operations. With `create_graph=True` they are recorded as well. Then the
# gradient has a graph, and you can differentiate it. **Predict** the three numbers for x³ at 2:

# %% topics=["higher-order-grad"]
x = torch.tensor(2.0, requires_grad=True)
y = x**3
(first,) = torch.autograd.grad(y, x, create_graph=True)
(second,) = torch.autograd.grad(first, x, retain_graph=True)
print("value", y.item(), " slope", first.item(), " slope of the slope", second.item())

# %% topics=["higher-order-grad"]
draw_graph(first, x=x, first=first)

# %% [markdown]
# The picture is the graph of the slope 3x²: a power, some products, and `x` at the end. With many
# inputs the second derivatives form a matrix, the **Hessian** $H$. `torch.func` writes it out for
# small cases:


# %% topics=["higher-order-grad"]
def saddle(x: torch.Tensor) -> torch.Tensor:
    return x[0] ** 2 * x[1] - x[1] ** 2


x = torch.tensor([1.0, 3.0])
print("gradient:", torch.func.grad(saddle)(x))
print("Hessian: ", torch.func.hessian(saddle)(x))

# %% [markdown]
# For a million weights, $H$ would have 10¹² entries. As with the Jacobian, what you need is a
# product, here $Hv$: how does the gradient change along $v$? $H$ is the Jacobian of the gradient, so
# both modes of section 5 serve:
#
# - **Double backward**, reverse over reverse. $Hv$ is the gradient of the number $g(x) \cdot v$, where
#   $g$ is the gradient, recorded.
# - **Forward over reverse.** $Hv$ is the forward-mode derivative (`torch.func.jvp`) of the function
#   `torch.func.grad(f)` along $v$.
#
# Both cost a few times as much as a gradient, whatever the number of weights.
#
# What is it good for? Gradient descent knows the slope and guesses the length of its step. **Newton's
# method** looks at the curvature as well: it goes to $x - p$ with $H p = g$, the lowest point of the
# parabola that fits at $x$. `solve(product, g)` is given. It finds $p$ by the method of conjugate
# gradients, and all it asks for is a function that gives $Hv$ for a $v$:

# %% nbgrader={"grade_id": "landscapes", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.custom_gradients import solve


# %%
matrix = torch.tensor([[2.0, 0.0], [0.0, 5.0]])
print("p with H p = (2, 10):", solve(lambda v: matrix @ v, torch.tensor([2.0, 10.0])))


# %% nbgrader={"grade_id": "trials-6", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_curvature(way, name, x, extra, weigh=False, states=False):
    ways = {"double": hvp_double, "forward": hvp_forward, "newton": newton}
    return custom_gradients.run_curvature(ways[way], name, x, extra, weigh, states)


# %% [markdown]
# ### Exercise 6.8 — Curvature without the matrix ★★★ · 28 min · 4 points
#
# Write two products with the Hessian, and the method that needs them. `f` takes a 1-D tensor and
# returns a number (a tensor without dimensions); it is not linear, and nothing else in it requires
# grad. `hessian_vector` is given; it calls both products.
#
# - `hvp_double(f, x, v)`: $Hv$ at `x`, by double backward;
# - `hvp_forward(f, x, v)`: the same, by forward over reverse;
# - `newton(f, x, steps)`: the point after so many Newton steps from `x`.
#
# Rules:
#
# - Never write $H$ down, nor call what does so (`torch.func.hessian`, `torch.func.jacrev`, …), or the
#   finished `hvp` and `vhp` of `torch.autograd.functional`. No tensor may be larger than a few
#   vectors.
# - The two products call `f` at `x` alone, so no differences of gradients.
# - Results are detached, also where `x` and `v` require grad.
# - Leave `x` and `v` as they are: values, `requires_grad` and `.grad`, also where `f` raises.
#
# Example: at x = (1, 3), for the saddle above, v = (1, 0) gives $Hv$ = (6, 2). Newton's method has to
# bring the gradient of Rosenbrock's valley from 233 to below 10⁻⁸ in seven steps.


# %% nbgrader={"grade_id": "hessian-vector", "solution": true}
def hvp_double(f: Callable, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The Hessian of f at x times v, by double backward."""
    ### BEGIN SOLUTION
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g, x, v.detach())[0]
    ### END SOLUTION


def hvp_forward(f: Callable, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The Hessian of f at x times v, by forward over reverse."""
    ### BEGIN SOLUTION
    return torch.func.jvp(torch.func.grad(f), (x.detach(),), (v.detach(),))[1]
    ### END SOLUTION


def newton(f: Callable, x: torch.Tensor, steps: int) -> torch.Tensor:
    """Where Newton's method is after ``steps`` steps from x."""
    ### BEGIN SOLUTION
    x = x.detach()
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_double(f, here, v), torch.func.grad(f)(x))
    return x
    ### END SOLUTION


def hessian_vector(f: Callable, x: torch.Tensor, v: torch.Tensor) -> tuple:
    """Given: the product, both ways."""
    return hvp_double(f, x, v), hvp_forward(f, x, v)


# %% nbgrader={"grade_id": "hessian-vector-check", "grade": true, "points": 2}
from course_utils.chapters.custom_gradients import check_product

many = torch.linspace(-1, 1, 100).double()
with every_case() as case:
    for way in ("double", "forward"):
        for v in torch.tensor([1.0, 0.0]), torch.zeros(2), torch.tensor([1.0, 0, 2, 0])[::2]:
            with case(f"hvp_{way} in the saddle at (1, 3), v = {v.tolist()}"):
                check_product(try_curvature, way, "saddle", torch.tensor([1.0, 3.0]), v)
        with case(f"hvp_{way} in the bowl, 100 numbers in float64"):
            check_product(try_curvature, way, "bowl", many, many.cos(), weigh=True, states=True)
        with case(f"hvp_{way} in the bowl, one number"):
            check_product(try_curvature, way, "bowl", many[:1], many[1:2])
### BEGIN HIDDEN TESTS
x, v = torch.randn(2, 5, generator=torch.Generator().manual_seed(0)).double()
for way in ("double", "forward"):
    check_product(try_curvature, way, "valley", x, v)
    check_product(try_curvature, way, "bowl", x[:1], v[:1])
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "hessian-vector-check-2", "grade": true, "points": 2}
from course_utils.chapters.custom_gradients import check_newton

with every_case() as case:
    with case("newton in the bowl from (0.5, 0.1), one step"):
        check_newton(try_curvature, "bowl", torch.tensor([0.5, 0.1]), 1)
    with case("newton in the saddle from (1, 3), one step"):
        check_newton(try_curvature, "saddle", torch.tensor([1.0, 3.0]), 1, states=True)
    with case("newton in the valley from (-1.2, 1), two steps"):
        check_newton(try_curvature, "valley", torch.tensor([-1.2, 1.0]), 2)
    with case("newton in the valley from (-1.2, 1), seven steps"):
        check_newton(try_curvature, "valley", torch.tensor([-1.2, 1.0]), 7)
    with case("newton in the bowl from 100 numbers, one step"):
        check_newton(try_curvature, "bowl", torch.linspace(0, 1, 100), 1, weigh=True)
    with case("newton in the bowl from one number, two steps"):
        check_newton(try_curvature, "bowl", torch.tensor([0.3]), 2)
    with case("newton in the bowl from (-40, -30), one step"):
        check_newton(try_curvature, "bowl", torch.tensor([-40.0, -30.0]), 1)
    with case("newton in the bowl from (0.5, 0.1) in float32, three steps"):
        check_newton(try_curvature, "bowl", torch.tensor([0.5, 0.1]), 3, dtype=torch.float32)
    with case("newton, no step at all"):
        check_newton(try_curvature, "bowl", torch.zeros(3), 0, states=True)
### BEGIN HIDDEN TESTS
check_newton(try_curvature, "bowl", torch.rand(6, generator=torch.Generator().manual_seed(0)), 3)
check_newton(try_curvature, "bowl", torch.tensor([0.3]), 4)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Double backward: a fresh leaf at `x`, its gradient with `create_graph=True`, and once more
# `torch.autograd.grad` of *that*, with `v` as the gradient that arrives.
# </details>
# <details><summary>Hint 2</summary>
#
# `torch.func.jvp(function, (x,), (v,))` returns the value and the derivative along `v`.
# </details>
# <details><summary>Hint 3</summary>
#
# In `newton`, `solve` wants a function of one argument: a `lambda v:` that calls one of your
# products at the current point.
# </details>

# %% [markdown]
# Here is your `newton` in the valley (PyTorch's own Hessian, if the exercise is still open), next
# to gradient descent, with about the longest step that does not diverge.


# %%
from course_utils.chapters.custom_gradients import descent_path, newton_path

start = torch.tensor([-1.2, 1.0]).double()
a, b = torch.meshgrid(torch.linspace(-1.6, 1.6, 161), torch.linspace(-3.6, 2.2, 161), indexing="xy")
height = 100 * (b - a**2) ** 2 + (1 - a) ** 2
figure, axes = plt.subplots(figsize=(6.5, 4))
levels = [-0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3]
axes.contour(a, b, height.log10(), levels=levels, colors="#9a9a9a", linewidths=0.7)
for path, style, colour, label in (
    (newton_path(newton, start, 6), "o--", "#0072b2", "Newton, 6 steps"),
    (descent_path(start, 2000, 0.001), "-", "#d55e00", "gradient descent, 2000 steps"),
):
    axes.plot(*path.t(), style, label=label, color=colour, linewidth=3 if style == "-" else 1.5)
axes.plot([1], [1], "*", markersize=15, color="#009e73", label="the lowest point")
axes.set(xlabel="x₀", ylabel="x₁", title="Rosenbrock's valley")
axes.legend(loc="lower left")
show(
    figure,
    "Descent creeps along the bent valley and stops far off; Newton jumps to the lowest point.",
)

# %% [markdown]
# Descent finds the valley's floor at once and then creeps along it: after 2000 steps it is still on
# its way. Newton jumps, once far out of the valley, and arrives. In a network each of its steps costs
# many products, and where the curvature is negative it may climb; so optimizers borrow the idea with
# care (chapter 11).

# %% [markdown]
# ## 7. A gradient for each sample
#
# There is one thing that `backward()` does not give you: a gradient for each sample. What lands in
# `.grad` is that of the whole batch, the sum or the mean. Sometimes you need them one by one: to clip
# each, so that no single sample can pull the model away (this is the first step of training with
# *differential privacy*), or to find the samples that pull hardest. There are three ways.
#
# - A **loop** over the samples: correct, and slow.
# - **vmap**: `torch.func.grad` of the loss of one sample, `torch.func.vmap` over the batch. It runs
#   all samples at once.
# - **From the layers' results.** For a layer `z = a @ W.t()`, the gradient of $W$ for one sample is
#   the outer product of that sample's row of the gradient of `z` and its row of `a`. The batch's
#   backward computes the gradient of `z` anyway. You only have to catch it when it comes by: with a
#   tensor hook, `z.register_hook(function)`, with `z.retain_grad()`, or by asking
#   `torch.autograd.grad` for it.

# %%
z = torch.tensor([1.0, 2.0], requires_grad=True) * 3
caught = []
z.register_hook(caught.append)
(z**2).sum().backward()
print("the gradient of z:", caught[0])


# %% [markdown]
# Chapter 07 has more about hooks. And this is how `vmap` and `grad` go together, first the slow way,
# then all at once. `in_dims` says for each argument along which dimension the samples lie; `None` means:
# the same for all.


# %%
def sample_error(w: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (w @ x - y) ** 2  # for one sample: x (2,), y ()


# %%
w, x, y = torch.tensor([1.0, 2.0]), torch.eye(2), torch.tensor([0.0, 0.0])
one_by_one = torch.stack([torch.func.grad(sample_error)(w, *one) for one in zip(x, y, strict=True)])
at_once = torch.func.vmap(torch.func.grad(sample_error), in_dims=(None, 0, 0))(w, x, y)
print(at_once, torch.equal(one_by_one, at_once))

# %% [markdown]
# What does clipping do? Here are the gradients of six samples, two numbers each. One sample is
# mislabelled, and pulls ten times harder than the others.

# %%
gradients = torch.tensor(
    [[1.0, 0.2], [0.8, 0.5], [0.9, -0.2], [1.1, 0.4], [0.7, 0.1], [-7.0, -6.0]]
)
clipped = gradients * (1 / gradients.norm(dim=1, keepdim=True)).clamp(max=1)
figure, both = plt.subplots(1, 2, figsize=(8.5, 3.4), sharex=True, sharey=True)
arrow = {"angles": "xy", "scale_units": "xy", "scale": 1}
for axes, rows, title in zip(both, (gradients, clipped), ("as is", "clipped to 1"), strict=True):
    mean = rows.mean(0)
    axes.quiver(*torch.zeros(2, 6), *rows.t(), color="#6b6b6b", width=0.006, **arrow)
    axes.quiver(0, 0, *mean, color="#d55e00", width=0.016, label="mean", **arrow)
    axes.set(xlim=(-1.4, 1.4), ylim=(-1.2, 1.2), xlabel="first number", ylabel="second number")
    axes.set_title(f"{title}: mean ({mean[0]:.2f}, {mean[1]:.2f})", fontsize=10)
both[0].text(-1.37, -0.3, "on to (-7, -6)", color="#595959")
both[0].legend(loc="upper left")
show(figure, "One long arrow turns the mean to the lower left; with each clipped, it points right.")

# %% [markdown]
# Five samples out of six agree on the direction. The mean of all six (orange) points the other way,
# until each sample is clipped. The sixth arrow on the left is far too long for the frame.


# %% nbgrader={"grade_id": "sample-loss", "locked": true}
def sample_loss(weights: dict, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The loss summed over x (batch, in), y (batch,); or of one sample, x (in,), y ()."""
    hidden = torch.tanh(x @ weights["w1"].t() + weights["b1"])
    return F.cross_entropy(hidden @ weights["w2"].t(), y, reduction="sum")


# %% nbgrader={"grade_id": "sample-loss-2", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_samples(way, weights, x, y, states=False):
    ways = {"loop": by_loop, "vmap": by_vmap, "hooks": by_hooks}
    return custom_gradients.run_samples(ways[way], weights, x, y, states)


# %% [markdown]
# ### Exercise 6.9 — Clip each, then average ★★★ · 34 min · 5 points
#
# `sample_loss(weights, x, y)` above is the loss of a small network, **summed** over the samples in
# `x` (batch, in) with targets `y` (batch,). `weights` is a dict of tensors `"w1"` (hidden, in),
# `"b1"` (hidden,) and `"w2"` (classes, hidden). Get the gradient of each sample in three ways, then
# clip each and average. `per_sample_grads` is given; it puts two of your functions together.
#
# `by_loop`, `by_vmap` and `by_hooks` each take `(weights, x, y)`.
#
# - Each returns a dict with the same keys as `weights`. Every entry has the gradients of all samples,
#   of shape (batch, …), detached, also where weights or `x` require grad. The batch has at least one
#   sample.
# - The last two may not loop over samples: the number of operations must not depend on the batch.
# - `by_vmap` uses `torch.func.vmap`, `by_hooks` does not: write out the network there, two products,
#   a tanh and a cross entropy, and catch the gradients of the two products (by hooks, or as you like).
#
# `clip_and_average(gradients, limit)` takes such a dict, of any keys and any number of dimensions
# after the batch, at least one, and a `limit` above 0.
#
# - Each sample's gradient, **all its entries together**, is one long vector. Where its norm exceeds
#   `limit`, scale it down to `limit`; leave shorter ones alone, a zero too.
# - Then average over the samples. Return a dict of tensors of the weights' shapes.
#
# Leave the arguments of all four alone: values, `requires_grad`, `.grad`.
#
# Example: with one weight and the gradients (3, 4) and (0, 1) of two samples, a limit of 1 gives
# the average of (0.6, 0.8) and (0, 1), which is (0.3, 0.9).


# %% nbgrader={"grade_id": "per-sample-grads", "solution": true}
def by_loop(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    """Gradients of each sample, one after the other."""
    ### BEGIN SOLUTION
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = []
    for one_x, one_y in zip(x, y, strict=True):
        loss = sample_loss(leaves, one_x, one_y)
        rows.append(torch.autograd.grad(loss, list(leaves.values())))
    columns = zip(*rows, strict=True)
    return {name: torch.stack(parts) for name, parts in zip(leaves, columns, strict=True)}
    ### END SOLUTION


def by_vmap(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    """Gradients of each sample, all at once."""
    ### BEGIN SOLUTION
    weights = {name: w.detach() for name, w in weights.items()}
    each = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return each(weights, x.detach(), y)
    ### END SOLUTION


def by_hooks(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    """Gradients of each sample, from those of the layers' results."""
    ### BEGIN SOLUTION
    caught, x = {}, x.detach()
    z1 = (x @ weights["w1"].detach().t() + weights["b1"].detach()).requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ weights["w2"].detach().t()
    z1.register_hook(lambda g: caught.update(z1=g))
    z2.register_hook(lambda g: caught.update(z2=g))
    torch.autograd.grad(F.cross_entropy(z2, y, reduction="sum"), z1)
    w1 = torch.einsum("bo,bi->boi", caught["z1"], x)
    w2 = torch.einsum("bo,bi->boi", caught["z2"], hidden.detach())
    return {"w1": w1, "b1": caught["z1"], "w2": w2}
    ### END SOLUTION


def clip_and_average(gradients: dict, limit: float) -> dict | None:
    """The mean over samples of their gradients, each scaled down to the norm ``limit`` at most."""
    ### BEGIN SOLUTION
    flat = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    scale = (limit / flat.norm(dim=1)).clamp(max=1)  # limit / 0 is infinite, and clamped to 1
    return {
        name: (g * scale.view(-1, *[1] * (g.dim() - 1))).mean(0) for name, g in gradients.items()
    }
    ### END SOLUTION


def per_sample_grads(weights: dict, x: torch.Tensor, y: torch.Tensor, limit: float) -> dict | None:
    """Given: one clipped step's direction, from your functions."""
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% nbgrader={"grade_id": "per-sample-grads-check", "grade": true, "points": 3}
from course_utils.chapters.custom_gradients import check_samples

with every_case() as case:
    for way in ("loop", "vmap", "hooks"):
        with case(f"by_{way}, 3, 6 and more samples"):
            custom_gradients.check_work_of_batches(try_samples, way)
        with case(f"by_{way}, one sample in float32"):
            check_samples(try_samples, way, 1, (3, 2, 2), torch.float32)
        with case(f"by_{way}, one input, one class"):
            check_samples(try_samples, way, 2, (1, 2, 1))
        with case(f"by_{way}, 3 samples again, other numbers, weights in another order"):
            check_samples(try_samples, way, 3, (2, 4, 3), seed=1, states=True)
        with case(f"by_{way}, logits in the thousands"):
            check_samples(try_samples, way, 3, (2, 4, 3), scale=3000)
### BEGIN HIDDEN TESTS
for way in ("loop", "vmap", "hooks"):
    for batch, sizes in ((5, (1, 1, 4)), (4, (6, 3, 5))):
        check_samples(try_samples, way, batch, sizes)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "per-sample-grads-check-2", "grade": true, "points": 2}
from course_utils.chapters.custom_gradients import check_clip

with every_case() as case:
    for name, (gradients, limit) in custom_gradients.clip_inputs().items():
        with case(f"clip_and_average of {name}"):
            check_clip(clip_and_average, gradients, limit)
two = {"w": torch.tensor([[3.0, 4.0], [0.0, 1.0]]), "b": torch.tensor([[12.0], [0.0]])}
check_states(clip_and_average, two, 1.0, what="clip_and_average(gradients, 1.0)")
### BEGIN HIDDEN TESTS
generator, shapes = torch.Generator().manual_seed(0), {"w1": (4, 3), "b1": (4,), "w2": (2, 4)}
for batch in (1, 7):
    drawn = {key: torch.randn(batch, *s, generator=generator) for key, s in shapes.items()}
    for limit in (0.5, 3.0, 100.0):
        check_clip(clip_and_average, drawn, limit)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Loop: one sample is `x[i]`, `y[i]`; stack the gradients of each weight in the end. vmap: as in the
# cell with `sample_error`; `weights` is a dict, and `grad` and `vmap` take it as it is.
# </details>
# <details><summary>Hint 2</summary>
#
# Hooks: catch the gradients of `z1 = x @ w1.t() + b1` and of `z2 = hidden @ w2.t()`. For each
# sample, an outer product: `torch.einsum("bo,bi->boi", ...)`. What is the gradient of `b1` for one
# sample?
# </details>
# <details><summary>Hint 3</summary>
#
# Clipping: flatten each entry to (batch, …), put them side by side, take the norm of each row. The
# factor is limit / norm, but at most 1.
# </details>

# %% [markdown]
# ## What you have built: find the wrong labels
#
# Two moons, 200 points, and twelve of them carry the wrong label. The network is not told which. It is
# trained on all 200 with your clipped steps, so that no sample pulls harder than another. Then your
# `by_vmap` says how hard each sample *would* pull. (While exercise 6.9 is open, a version of ours steps
# in.) **Predict:** which samples still pull hard when training is over?


# %% nbgrader={"grade_id": "payoff", "locked": true} jupyter={"source_hidden": true}
def clipped_training(weights, x, y):
    """300 clipped steps, by your two functions where they are right."""
    return custom_gradients.train(by_vmap, clip_and_average, weights, x, y)


def pull_of(weights, x, y):
    """The norm of each sample's gradient."""
    return custom_gradients.rows_of(by_vmap, weights, x, y).norm(dim=1)


# %%
x, y, bad, weights = custom_gradients.moons(200, wrong=12)
weights = clipped_training(weights, x, y)
pull = pull_of(weights, x, y)
hardest = pull.argsort(descending=True)[:12]
print("wrong labels among the 12 hardest:", torch.isin(hardest, bad).sum().item())
print(f"median pull {pull.median():.2f}, the 12 hardest {pull[hardest].min():.2f} and more")

# %%
side = torch.linspace(-2.1, 2.1, 120)
grid = torch.stack(torch.meshgrid(side, side, indexing="xy"), dim=-1)
hidden = torch.tanh(grid @ weights["w1"].t() + weights["b1"])
score = (hidden @ weights["w2"].t()).diff(dim=-1)[..., 0]
figure, axes = plt.subplots(figsize=(7, 4))
axes.contourf(side, side, score, levels=[-1e9, 0, 1e9], colors=["#cfe3f1", "#f8dcc4"])
for label, colour, marker in ((0, "#0072b2", "o"), (1, "#d55e00", "s")):
    axes.scatter(*x[y == label].t(), 4 + 30 * pull[y == label], color=colour, marker=marker)
axes.plot(
    *x[bad].t(), "o", markersize=22, markerfacecolor="none", color="black", label="wrong label"
)
axes.set(ylim=(-1.5, 1.5), title="The larger the mark, the harder the sample pulls")
axes.legend(loc="upper right")
show(
    figure,
    "Two moons, well divided; the twelve wrong labels have large marks, all others tiny ones.",
)

# %% [markdown]
# A wrong label is a sample that the rest of the data contradicts. The network has learnt the rest, so
# this sample still pulls, and a list sorted by pull puts it on top. People clean data sets in this way. It
# took a gradient for each sample, which `backward()` does not give.

# %% [markdown]
# ## Heard elsewhere
#
# More sentences, each with a cell that answers.
#
# *"Make an object of the Function and call it: `Cube()(x)`."* That was the way once, with
# `forward(self, x)` and the tensors kept on `self`. Today both methods are static, and `apply` makes
# the node.

# %%
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        Cube()(points)
    except RuntimeError as error:
        print(str(error).split(". ")[0])

# %% [markdown]
# *"`ctx.x = x` does the same as `save_for_backward(x)`."* It keeps the same tensor, and not its
# version. So an edit between forward and backward gives a wrong slope, in silence. The square's
# slope at 3 is 6:


# %%
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x**2

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient * ctx.x


# %%
for name, square in (("kept on ctx", Square.apply), ("saved", torch.square)):
    x = torch.tensor(3.0, requires_grad=True)
    h = x.clone()
    y = square(h)
    h.detach().zero_()
    try:
        y.backward()
        print(f"{name}: slope {x.grad.item()}")
    except RuntimeError as error:
        print(f"{name}: {str(error).split(': [')[0]}")

# %% [markdown]
# *"A checkpointed network trains exactly as the plain one."* Its gradients are the same. But
# what else the forward does, it may do twice: batch norm counts each batch a second time.

# %% errata=["checkpoint-call"]
data = torch.tensor([[9.0], [11.0]], requires_grad=True)
for name, run in ways.items():
    norm = nn.BatchNorm1d(1)
    run(norm, data).sum().backward()
    seen = norm.num_batches_tracked.item()
    print(f"{name:<12}  running mean {norm.running_mean.item():.1f}, batches seen: {seen}")

# %% [markdown]
# *"`torch.autograd.functional.jvp` is forward mode."* It is older than that, and goes backward
# twice. `BetterCube` has a backward and no forward-mode rule:

# %%
x, v = torch.tensor([2.0]), torch.tensor([1.0])
print("functional.jvp:", torch.autograd.functional.jvp(BetterCube.apply, x, v)[1])
try:
    torch.func.jvp(BetterCube.apply, (x,), (v,))
except RuntimeError as error:
    print("func.jvp:      ", str(error).split(". ")[0])

# %% [markdown]
# *"`clip_grad_norm_` keeps a single sample from pulling the model away."* It clips the mean, in which
# the samples are mixed already. Take the six gradients of section 7: the step gets shorter, and still
# points the wrong way.

# %%
six = torch.tensor([[1.0, 0.2], [0.8, 0.5], [0.9, -0.2], [1.1, 0.4], [0.7, 0.1], [-7.0, -6.0]])
weight = nn.Parameter(torch.zeros(2))
weight.grad = six.mean(0)
nn.utils.clip_grad_norm_([weight], 0.5)
each = six * (0.5 / six.norm(dim=1, keepdim=True)).clamp(max=1)
print("averaged, then clipped:", weight.grad)
print("clipped, then averaged:", each.mean(0))

# %% [markdown]
# ## What to take home
#
# | question | answer |
# | --- | --- |
# | Where does a slope come from? | from the rule of each operation; the engine checks none |
# | How do I write a rule? | an `autograd.Function`: `forward`, `backward` (a VJP), what is saved on `ctx` |
# | Why NaN, when the value is fine? | 0 · ∞, often in the branch that `where` did not take |
# | What does `gradcheck` test? | the points you give it, in float64, with h = 10⁻⁶; not kinks |
# | And the second derivative? | `gradgradcheck`; backward is recorded only under `create_graph=True` |
# | No second derivative worth having? | `once_differentiable` |
# | Too many saved tensors? | checkpoint: keep inputs, compute again, a third more work |
# | Forward or reverse? | a pass gives a column or a row of J; few inputs, or few results |
# | Second derivatives? | products $Hv$, never the matrix |
# | One gradient for each sample? | `vmap` of `grad`; or outer products from the layers' results |
#
# **Three mistakes to remember**
#
# 1. Forgetting the gradient that arrives. A rule that returns the slope alone is right only where 1
#    arrives, as it does under a sum. Multiply.
# 2. Repairing the value and not the input. `where(bad, 0, f(x))` still computes f where it is bad. Make
#    the input harmless first.
# 3. Trusting a test that has never failed. Show it something broken before you believe it.
#
# **Read more.** The PyTorch documentation has *Extending PyTorch*, *Gradcheck mechanics*, *Forward-mode
# Automatic Differentiation* and a tutorial on *Double Backward with Custom Functions*. Baydin, Pearlmutter,
# Radul and Siskind, *Automatic Differentiation in Machine Learning: a Survey*, has both modes in
# full. Chen and others, *Training Deep Nets with Sublinear Memory Cost*, began checkpointing; Abadi and
# others, *Deep Learning with Differential Privacy*, clip each sample. Chapter 07 continues with hooks.
