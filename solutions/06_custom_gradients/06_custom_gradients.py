# ---
# jupyter:
#   course:
#     title: Custom gradients
#     minutes: 200
# ---

# %% [markdown]
# # Autograd: who wrote down what you did?
#
# You compute a loss with ordinary Python. Then you call `backward()`, and every weight knows in
# which direction it should go. Somebody must have written down what you did. This chapter is about
# that record: what is in it, who reads it and when, what it costs, and how to write your own rules
# into it. When a gradient is wrong, missing, or too large for the memory, the reason is in the
# record.
#
# **After this chapter you can**
#
# - read the graph behind a tensor, and say which tensors get a gradient;
# - write reverse-mode differentiation yourself, and the backward rules of the usual layers;
# - say how many bytes a network keeps for its backward pass, and halve them;
# - tell which in-place edits break a gradient, which spoil it without a word, and which are fine;
# - choose between `no_grad`, `inference_mode`, `detach` and `requires_grad_(False)`;
# - write an `autograd.Function` and a test that catches a wrong one;
# - compute Hessian-vector products, Newton steps and a gradient for each sample.
#
# **It leans on** tensors, views and storages (chapters 01 and 02) and on matrix products
# (chapter 03). **Time:** about 80 minutes to read and run, four hours more with all thirteen
# exercises. You can skip any exercise: nothing later depends on your answer.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_close, check_equal, check_predictions, count_operators, device
from course_utils import draw_graph, forbid_changes, forbid_copies, forbid_operators, show

# %% [markdown]
# ## 1. Rules of your own
#
# Some functions PyTorch does not have. The quick way out is NumPy, and it leads astray.
#
# > **Then and now.** *"For an operation that PyTorch lacks, convert to NumPy, compute, and convert
# > back."* The values are right. The record ends there, and whatever lies before it learns nothing.

# %% errata=["numpy-detour-keeps-training"]
import numpy as np

x = torch.tensor([0.0, 0.5, 1.5], requires_grad=True)
y = torch.from_numpy(np.sinc(x.detach().numpy()))  # sin(πx) / (πx)
y.requires_grad, y.grad_fn

# %% [markdown]
# You know how to mend it: a rule is a forward and a VJP. An `autograd.Function` holds the two, as
# static methods. `ctx` carries what the one keeps for the other. Call it by `apply`, never by
# `forward`.

# %% topics=["custom-function"]
from torch.autograd.function import once_differentiable


class Sinc(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.from_numpy(np.sinc(x.numpy()))
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        slope = ((np.pi * x).cos() - y) / x
        return gradient * torch.where(x == 0, 0.0, slope)


# %% topics=["custom-function"]
draw_graph(Sinc.apply(x).sum(), x=x)

# %% [markdown]
# What the parts are for:
#
# - Inside `forward` nothing is recorded. That is why `x.numpy()` works there.
# - `save_for_backward` takes inputs and outputs. It checks their versions, and it avoids a circle
#   of references that would keep the memory. Other things, such as a number or a shape, go on `ctx`
#   as attributes.
# - `backward` gets a gradient for each output and returns one for each input of `forward`, or
#   `None`.
# - `once_differentiable` says: do not differentiate this backward. Without it, PyTorch records what
#   backward does, so that a second derivative is possible. Through NumPy, or where there is no
#   second derivative worth having, it is better to refuse than to be wrong.
#
# **Is the slope right?** Compare with the definition of a slope: nudge each input a little, up and
# down, and look. `gradcheck` does that. It needs float64: in float32 the difference of two nearly
# equal numbers is mostly rounding.

# %% topics=["custom-function"]
points = torch.tensor([-1.2, 0.5, 1.5], dtype=torch.float64, requires_grad=True)
torch.autograd.gradcheck(Sinc.apply, [points])

# %% [markdown]
# `gradgradcheck` does the same for the second derivative. Here is a rule that passes the first and
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


# %% topics=["custom-function"]
first = torch.autograd.gradcheck(Cube.apply, [points])
second = torch.autograd.gradgradcheck(Cube.apply, [points], raise_exception=False)
first, second

# %% [markdown]
# The slope was computed in `forward`, where nothing is recorded. For the second derivative it is a
# constant. It has to be computed in `backward`, from saved tensors. In new code you will also see
# the two halves of `forward` written apart, as `forward` and `setup_context`. This form works with
# `torch.func` as well:


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
print(torch.autograd.gradgradcheck(BetterCube.apply, [points]))
torch.func.vmap(torch.func.grad(BetterCube.apply))(torch.tensor([1.0, 2.0]))

# %% [markdown]
# (For an operation that `torch.compile` and `torch.export` shall know as well, there is
# `torch.library.custom_op`; chapter 15 writes one.)
#
# ### At the kink
#
# ReLU has no slope at 0. Any number from 0 to 1 would do, and PyTorch takes 0.
#
# > **Then and now.** *"ReLU's backward: copy the gradient, and set it to 0 where the input is <
# > 0."* At 0 itself, that lets the gradient through. `gradcheck` will not tell you: it tries points
# > at random, and none of them is exactly 0. Real networks have exact zeros in plenty, behind
# > another ReLU, for instance.

# %% errata=["myrelu-subgradient"]
x = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
F.relu(x).sum().backward()
copied = torch.ones(3)
copied[x < 0] = 0
x.grad, copied

# %% [markdown]
# **In practice.** Quantisation-aware training rounds the weights in forward. Rounding has the slope 0
# almost everywhere, so an honest rule would stop all learning. The rule that is used instead is the
# third one that you write now.
#
# ### Exercise 6.1 — ReLU and friends ★★★ · 30 min · 6 points
#
# Write three Functions.
#
# - `MyReLU.apply(x)`: like `F.relu`, with the gradient 0 at 0. It can be differentiated twice.
# - `MyClamp.apply(x, low, high)`: like `torch.clamp`, for three tensors of one shape with
#   `low < high` everywhere. `x` gets the gradient where `low <= x <= high`, `low` where `x < low`,
#   `high` where `x > high`. (At a tie PyTorch's own shares it out; ours gives it to `x`.) It can be
#   differentiated twice. Compute only what is asked for: `ctx.needs_input_grad` is a tuple of truth
#   values, one for each input; return `None` for the others.
# - `Binarize.apply(x)`: returns two float tensors. The first is the sign, with +1 at 0. The second
#   is the mask: 1 where |x| ≤ 1, else 0. The sign's true slope is 0 everywhere, and nothing could
#   be learnt. The *straight-through estimator* passes the gradient of the sign on to `x` as it is
#   where the mask is 1, and stops it elsewhere. The mask is no function to be learnt from:
#   `ctx.mark_non_differentiable(mask)`. A second derivative of such a trick means nothing: refuse
#   it with `once_differentiable`.
#
# Example: for x = (−2, −0.5, 0, 3), `Binarize` gives (−1, −1, 1, 1) and (0, 1, 1, 0), and the
# gradient (1, 1, 1, 1) of the sign becomes (0, 1, 1, 0) for `x`. `my_relu_and_friends` is given and
# runs them. No finished backward of PyTorch may run, such as that of `F.relu`.


# %% nbgrader={"grade_id": "run-twice", "locked": true}
from torch.autograd.function import once_differentiable


def clamp_by_where(x, low, high):
    return torch.where(x < low, low, torch.where(x > high, high, x))


def report(function, upstream, *inputs):
    """Run ``function`` forward, backward and backward again; what came of it, as plain values."""
    results = function(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    g = upstream.detach().clone().requires_grad_()
    wanted = [x for x in inputs if x.requires_grad]
    gradients = torch.autograd.grad(results[0], wanted, g, create_graph=True, allow_unused=True)
    facts = {"results": [y.detach() for y in results]}
    facts["gradients"] = [None if x is None else x.detach() for x in gradients]
    facts["require grad"] = [y.requires_grad for y in results]
    try:
        facts["second"] = torch.autograd.grad((gradients[0] ** 2).sum(), g)[0]
    except RuntimeError:
        facts["second"] = None  # refused
    return facts


# %% nbgrader={"grade_id": "my-relu-and-friends", "solution": true}
class MyReLU(torch.autograd.Function):
    """max(x, 0), with the slope 0 at 0."""

    ### BEGIN SOLUTION
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, 0.0)

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


def my_relu_and_friends(name: str, upstream: torch.Tensor, *inputs: torch.Tensor) -> dict | None:
    """Given: run one of the three; see ``report``. ``None`` where it is not written yet."""
    functions = {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}
    written = "backward" in vars(functions[name])
    return report(functions[name].apply, upstream, *inputs) if written else None


# %% nbgrader={"grade_id": "my-relu-and-friends-check", "grade": true, "points": 2}
def check_case(x, name, because=""):
    g = torch.linspace(1, 2, x.numel(), dtype=x.dtype, device=x.device).view(x.shape)
    x, call = x.detach().requires_grad_(), f"MyReLU of {name}"
    truth = report(F.relu, g, x)
    with forbid_operators("threshold_backward", because="write the rule"), forbid_changes(x):
        facts = my_relu_and_friends("MyReLU", g, x)
    assert facts is not None, "MyReLU has no backward: is there an answer yet?"
    check_close(facts["results"][0], truth["results"][0], call)
    hint = f" ({because})" if because else ""
    check_close(facts["gradients"][0], truth["gradients"][0], f"the gradient of {call}{hint}")
    assert facts["second"] is not None, f"{call}: a second derivative has to be possible"
    check_close(facts["second"], truth["second"], f"the second derivative of {call}")


check_case(torch.tensor([-1.0, 0.5, 2.0], device=device), "(-1, 0.5, 2)")
check_case(torch.tensor([-1.0, 0.0, 2.0], device=device), "(-1, 0, 2)", "at 0 it is 0")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for size in ((4, 5), (), (0, 3), (2, 3, 4)):
    x = torch.randn(size, generator=generator, dtype=torch.float64).to(device)
    check_case(x, f"shape {size}")
check_case(torch.arange(-6.0, 6, device=device).view(3, 4).t(), "a transposed tensor with a zero")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "my-relu-and-friends-check-2", "grade": true, "points": 2}
def check_case(x, low, high, needs, name):
    asked = zip((x, low, high), needs, strict=True)
    inputs = [values.detach().to(device).requires_grad_(need) for values, need in asked]
    g, call = torch.linspace(1, 2, len(x), dtype=x.dtype, device=device), f"MyClamp of {name}"
    truth = report(clamp_by_where, g, *inputs)
    with forbid_changes(*inputs), count_operators() as counts:
        facts = my_relu_and_friends("MyClamp", g, *inputs)
    assert facts is not None, "MyClamp has no backward: is there an answer yet?"
    check_close(facts["results"][0], truth["results"][0], call)
    pairs = zip(facts["gradients"], truth["gradients"], strict=True)
    for number, (yours, right) in enumerate(pairs, start=1):
        what = f"gradient {number} of {sum(needs)} asked for in {call}"
        check_close(yours, right, f"{what} (each element has one source: low, x or high)")
    assert facts["second"] is not None, f"{call}: a second derivative has to be possible"
    check_close(facts["second"], truth["second"], f"the second derivative of {call}")
    return counts.total() - counts["detach"]


x, ones = torch.tensor([-3.0, -1.0, 0.5, 1.0, 4.0]), torch.ones(5)
needs, name = ((True, True, True), (True, False, False)), "five numbers to (-1, 1)"
everything, asked = (check_case(x, -ones, ones, need, name) for need in needs)
assert asked < everything, "as much work for one gradient as for three: ask ctx.needs_input_grad"
### BEGIN HIDDEN TESTS
for needs in ((True, True, False), (False, True, True), (False, False, True), (True, True, True)):
    x, low = torch.randn(2, 30, generator=torch.Generator().manual_seed(0)).double()
    check_case(x, low - 1, low + 0.3, needs, f"thirty numbers, asked for {needs}")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "my-relu-and-friends-check-3", "grade": true, "points": 2}
def check_case(x, name):
    g = torch.linspace(1, 2, x.numel(), dtype=x.dtype, device=x.device).view(x.shape)
    x, call = x.detach().requires_grad_(), f"Binarize of {name}"
    facts = my_relu_and_friends("Binarize", g, x)
    assert facts is not None, "Binarize has no backward: is there an answer yet?"
    assert len(facts["results"]) == 2, f"{call}: return the sign and the mask"
    sign, mask = (x >= 0).to(x.dtype) * 2 - 1, (x.abs() <= 1).to(x.dtype)
    check_close(facts["results"][0], sign.detach(), f"the sign in {call}")
    check_close(facts["results"][1], mask, f"the mask in {call}")
    gradient = facts["gradients"][0]
    check_close(gradient, g * mask, f"the gradient of {call} (it passes where the mask is 1)")
    requires = facts["require grad"]
    assert requires[0], f"{call}: the sign has to require grad"
    assert not requires[1], f"{call}: the mask requires grad: mark it as non-differentiable"
    assert facts["second"] is None, f"{call}: refuse the second derivative"


check_case(torch.tensor([-2.0, -0.5, 0.0, 3.0], device=device), "(-2, -0.5, 0, 3)")
check_case(torch.tensor([-1.0, 1.0], device=device), "(-1, 1)")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for size in ((4, 5), (), (0, 3)):
    x = torch.randn(size, generator=generator, dtype=torch.float64).to(device)
    check_case(x, f"shape {size}")
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
# ### A NaN from the branch not taken
#
# The ELU is x for positive x, and exp(x) − 1 for the others. `torch.where` picks. **Predict** the
# gradient at x = 100: surely 1?


# %%
def elu_by_where(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x, x.exp() - 1)


# %%
x = torch.tensor([-1.0, 2.0, 100.0], requires_grad=True)
y = elu_by_where(x)
y.sum().backward()
y.detach(), x.grad

# %% [markdown]
# The value is right, the gradient is not a number, and 100 is nowhere near the kink. Where does it
# begin?

# %%
x = torch.linspace(-5, 120, 500).requires_grad_()
elu_by_where(x).sum().backward()
figure, axes = plt.subplots(figsize=(6, 2.6))
axes.plot(x.detach(), x.grad, color="#0072b2")
axes.set(xlabel="x", ylabel="gradient", xlim=(-5, 120), title="From 88.7 on there is no gradient")
show(
    figure,
    "The gradient rises to 1 at x = 0, stays there, and ends at 88.7: NaN is not drawn.",
)

# %% [markdown]
# Both branches are computed, everywhere; `where` only chooses. In backward it sends the gradient
# into the chosen branch, and **zero** into the other. There the zero meets the slope of exp at 100,
# which is infinite in float32. And 0 · ∞ is NaN. The two ways meet at `x`, and 1 + NaN is NaN.
#
# When a NaN shows up in a large model, let PyTorch find its birthplace. Anomaly mode checks each
# backward function, and remembers where in the forward it came from. It is slow; switch it on to
# search, then off again.

# %%
with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
    warnings.simplefilter("ignore")  # it warns with the traceback of the forward: read that
    try:
        elu_by_where(x).sum().backward()
    except RuntimeError as error:
        print(error)

# %% [markdown]
# ### Exercise 6.2 — Finite everywhere ★★ · 10 min · 3 points
#
# **Find.** For each x, in float32, say whether the gradient of `elu_by_where` is NaN (`True` or
# `False`). The largest float32 is about e to the power of 88.7.
#
# **Repair.** Write `elu(x, alpha)`: x where x > 0, else alpha · (exp(x) − 1). It must be finite and
# right in value and gradient for every finite x, in float32 and float64, at 0 as well: for alpha =
# 1 the slope there is 1. Use ordinary operations; `F.elu` and its relatives are not allowed.
# `where_nan` is given and runs your `elu` forward and backward.
#
# Example: `elu(torch.tensor([-1.0, 2.0]), 1.0)` is about (−0.632, 2).

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


def where_nan(x: torch.Tensor, alpha: float, upstream: torch.Tensor) -> tuple | None:
    """Given: values and gradient of ``elu``; None where it gives no tensor."""
    if elu(x, alpha) is None:
        return None
    return forward_backward(lambda x: elu(x, alpha), upstream, x)


# %% nbgrader={"grade_id": "where-nan-check", "grade": true, "points": 1}
places = ("-200", "-1", "0", "2", "80", "100")
x = torch.tensor([float(place) for place in places], requires_grad=True)
(gradient,) = torch.autograd.grad(torch.where(x > 0, x, x.exp() - 1).sum(), x)
machine = dict(zip(places, gradient.isnan().tolist(), strict=True))
because = dict.fromkeys(places, "exp is finite there, and zero times something finite is zero")
because["100"] = "exp(100) is infinite in float32, and zero times infinity is NaN"
check_predictions(nan_at, machine, because)


# %% nbgrader={"grade_id": "where-nan-check-2", "grade": true, "points": 2}
def check_case(x, alpha, because=""):
    g = torch.linspace(1, 2, len(x), dtype=x.dtype, device=x.device)
    with forbid_operators("elu", "celu", "selu", "elu_backward"), forbid_changes(x):
        answer = where_nan(x, alpha, g)
    truth = forward_backward(lambda x: F.elu(x, alpha), g, x)
    numbers = ", ".join(f"{entry:g}" for entry in x[:6].tolist())
    call = f"elu at ({numbers}) with alpha {alpha}" + (f" ({because})" if because else "")
    assert answer is not None, "elu gives None: is there an answer yet?"
    check_close(answer[0], truth[0], call)
    finite = bool(answer[1].isfinite().all())
    assert finite, f"the gradient of {call} is {answer[1].tolist()}: the branch not taken"
    check_close(answer[1], truth[1], f"the gradient of {call}")


check_case(torch.tensor([-1.0, 2.0], device=device), 1.0)
check_case(torch.tensor([-1.0, 2.0], device=device), 0.5, "alpha scales the lower branch")
check_case(torch.tensor([100.0, 1000.0, -1000.0], device=device), 1.0, "far from the kink")
check_case(torch.tensor([0.0], device=device), 1.0, "at the kink")
### BEGIN HIDDEN TESTS
for dtype in (torch.float32, torch.float64):
    x = torch.linspace(-50, 50, 31, dtype=dtype, device=device)[::2]
    check_case(x, 1.0)
    check_case(20 * x[x != 0], 2.5)
check_case(torch.tensor([3e38, -3e38, 88.0, 90.0], device=device), 1.0)
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
# A second `where`, inside. Or `clamp(max=0)`; then look at what its slope is at 0.
# </details>

# %% [markdown]
# ### Exercise 6.3 — Who checks the checker? ★★★ · 25 min · 5 points
#
# Before you trust a rule, you test it. And before you trust a test, you show it something broken.
# `line_up(base, number)` gives a function from a tensor to a tensor, applied to each element, with
# an `autograd.Function` behind it. Number 0 is right. The others are broken, each in its own way,
# and each of these has happened to somebody:
#
# 1. its backward forgets the gradient that arrives;
# 2. its slope is wrong for negative numbers;
# 3. it computes its slope in `forward`: right, but a constant for the second derivative;
# 4. it reads memory in order, and so is wrong for a tensor that is not contiguous;
# 5. it changes its argument;
# 6. it keeps its input on the class and not on `ctx`, so a second call overwrites what the first
#    one needs.
#
# Write `write_the_test(function)`, which returns `True` for the right one and `False` for the broken
# ones. It is not told which of them it has before it. The base functions are smooth; your test does
# not know them. It may call the function as often as it likes; each call of your test gets a fresh
# one. `gradcheck` and `gradgradcheck` with `raise_exception=False` return a truth value. They don't
# find everything, and number 5 can make them raise all the same: an error is no verdict.


# %% nbgrader={"grade_id": "line-up", "locked": true}
BASES = {
    "sine": (torch.sin, torch.cos),
    "cube": (lambda x: x**3, lambda x: 3 * x**2),
    "bell": (lambda x: (-x * x).exp(), lambda x: -2 * x * (-x * x).exp()),
}


# %% nbgrader={"grade_id": "line-up-2", "locked": true}
def line_up(base: str, number: int):
    """Suspect ``number`` of the base function: 0 is right, 1 to 6 are broken."""
    f, slope = BASES[base]

    class Suspect(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            Suspect.last, ctx.constant = x, slope(x)
            gap = not x.is_contiguous() and number == 4
            ctx.save_for_backward(x.as_strided((x.numel(),), (1,)).view(x.shape) if gap else x)
            y = f(x)
            if number == 5:
                x.neg_()
            return y

        @staticmethod
        def backward(ctx, g):
            x = Suspect.last if number == 6 else ctx.saved_tensors[0]
            if number == 1:
                return slope(x)
            if number == 2:
                return g * slope(x) * torch.where(x < 0, 0.5, 1.0)
            return g * (ctx.constant if number == 3 else slope(x))

    return Suspect.apply


# %% nbgrader={"grade_id": "line-up-3", "locked": true}
from collections.abc import Callable

from course_utils import runs_with_the_answer


@runs_with_the_answer
def try_the_test(base: str, number: int):
    """What ``write_the_test`` says of a suspect, whose number it does not get to know."""
    return write_the_test(line_up(base, number))


# %% nbgrader={"grade_id": "write-the-test", "solution": true}
def write_the_test(function: Callable[[torch.Tensor], torch.Tensor]) -> bool:
    """Whether the values and gradients of this function of a tensor can be trusted."""
    ### BEGIN SOLUTION
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    before = points.clone()
    function(points)
    if not torch.equal(points, before):
        return False
    for x in (points, points.t()):
        x = x.detach().requires_grad_()
        if not torch.autograd.gradcheck(function, [x], raise_exception=False):
            return False
        if not torch.autograd.gradgradcheck(function, [x], raise_exception=False):
            return False
    x = points.clone().requires_grad_()
    (alone,) = torch.autograd.grad(function(x).sum(), x)
    first, _ = function(x), function(2 * x)
    (later,) = torch.autograd.grad(first.sum(), x)
    return torch.equal(alone, later)
    ### END SOLUTION


# %% nbgrader={"grade_id": "write-the-test-check", "grade": true, "points": 5}
wrongs = [
    "which is right",
    "whose backward forgets the gradient that arrives (give it one that is not all ones)",
    "whose slope is wrong for negative numbers (try some)",
    "whose slope is a constant for the second derivative (gradgradcheck tells)",
    "which is wrong for a tensor that is not contiguous (try a transposed one)",
    "which changes its argument (compare it before and after)",
    "whose second call overwrites what the first one needs (call twice, then go backward)",
]


def check_case(base, number):
    answer = try_the_test(base, number)
    assert answer is not None, "write_the_test gives None: is there an answer yet?"
    assert isinstance(answer, bool), f"write_the_test gives {answer!r}: return True or False"
    right = "refuses" if number == 0 else "lets through"
    assert answer is (number == 0), f"your test {right} {base} {number}, {wrongs[number]}"


for number in range(7):
    check_case("sine", number)
### BEGIN HIDDEN TESTS
for base in ("bell", "cube"):
    for number in (0, *range(6, 0, -1)):
        check_case(base, number)
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
# ## 2. Memory for time
#
# Saved tensors grow with depth: every layer keeps its share until backward comes by. But what a
# layer keeps can be computed again from its input. So keep only the inputs of a few blocks, throw
# the rest away, and run a block's forward a second time when backward gets there. This is called
# **activation checkpointing**.

# %%
from torch.utils.checkpoint import checkpoint

blocks = [nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64)) for _ in range(8)]
own = {p.data_ptr() for block in blocks for p in block.parameters()}  # kept in any case


# %%
def kept_for(run) -> int:
    saved.clear()
    h = torch.ones(32, 64, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        for block in blocks:
            h = run(block, h)
    return sum({t.data_ptr(): t.nbytes for t in saved if t.data_ptr() not in own}.values())


# %%
plain = kept_for(lambda block, h: block(h))
frugal = kept_for(lambda block, h: checkpoint(block, h, use_reentrant=False))
print(f"plain {plain:,} bytes, checkpointed {frugal:,} bytes")

# %% [markdown]
# Each block keeps its input alone. The price is one more forward pass, about a third of the work of
# a training step. It is often the difference between a batch that fits and one that does not.
#
# There is one trap. The second forward has to be *the same* as the first. A dropout layer draws new
# random numbers each time, and then the gradient would belong to another network. So a checkpoint
# keeps the state of the random generator, goes back to it for the second run, and afterwards puts
# the generator where it was.
#
# ### Exercise 6.4 — A checkpoint by hand ★★★ · 20 min · 4 points
#
# Write `Checkpoint`, a Function. `Checkpoint.apply(block, x)` returns what `block(x)` returns, a
# tensor, and
#
# - keeps nothing for backward but `x`, and the state of the CPU generator
#   (`torch.get_rng_state()`);
# - runs `block` a second time in backward, on the same random numbers, recording this time
#   (`torch.enable_grad()`);
# - returns the gradient of `x`, and lets those of the block's parameters arrive in their `.grad`;
# - leaves the generator after backward as it was before backward.
#
# Everything here is on the CPU; on a GPU you would keep the state of its generator too. Gradients
# have to be equal to the last bit to those of the plain run. `torch.utils.checkpoint` is not
# allowed. `checkpoint_by_hand` is given: it runs a block with dropout plainly and through your
# Function, and returns the facts of both.


# %% nbgrader={"grade_id": "run-block", "locked": true}
class Block(nn.Module):
    """Two layers with dropout between them; counts its calls."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.calls, wide = 0, 4 * width
        self.layers = nn.Sequential(nn.Linear(width, wide), nn.Tanh(), nn.Dropout(0.5))
        self.last = nn.Linear(wide, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.last(self.layers(x))


# %% nbgrader={"grade_id": "run-block-2", "locked": true}
def run_block(through, x, seed):
    """Facts of one forward and backward of a block that is called as ``through(block, x)``."""
    torch.manual_seed(seed)
    block, x, storages = Block(x.shape[1]), x.detach().clone().requires_grad_(), {}

    def note(tensor):
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        y = through(block, 2 * x)
    own = {parameter.data_ptr() for parameter in block.parameters()}
    facts = {"bytes": sum(size for place, size in storages.items() if place not in own)}
    facts |= {"y": y.detach(), "calls in forward": block.calls}
    torch.rand(2)  # somebody draws random numbers before backward comes
    if y.requires_grad:
        (y**2).sum().backward()
    facts |= {"calls": block.calls, "x": x.grad, "next random numbers": torch.rand(3)}
    return facts | {name: parameter.grad for name, parameter in block.named_parameters()}


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
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = ctx.block(x)
        torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, x.grad

    ### END SOLUTION


def checkpoint_by_hand(x: torch.Tensor, seed: int) -> tuple[dict, dict] | None:
    """Given: facts of the plain run and of yours; ``None`` where there is no backward yet."""
    if "backward" not in vars(Checkpoint):
        return None
    return run_block(lambda block, x: block(x), x, seed), run_block(Checkpoint.apply, x, seed)


# %% nbgrader={"grade_id": "checkpoint-by-hand-check", "grade": true, "points": 4}
def check_case(x, seed):
    with count_operators() as counts, forbid_changes(x):
        answer = checkpoint_by_hand(x, seed)
    assert answer is not None, "Checkpoint has no backward: is there an answer yet?"
    plain, yours = answer
    truth, call = run_block(lambda block, x: block(x), x, seed), f"for x {tuple(x.shape)}"
    for name in ("y", "x", "layers.0.weight", "layers.0.bias", "last.weight", "last.bias"):
        what = name if name == "y" else f"the gradient of {name}"
        check_close(plain[name], truth[name], f"{what} of the plain run {call}")
        check_close(yours[name], plain[name], f"{what} {call} (another dropout?)", rtol=0, atol=0)
    check_equal(yours["calls in forward"], 1, f"calls of the block in forward {call}")
    check_equal(yours["calls"], 2, f"calls of the block in all {call}", "once more in backward")
    bernoulli = counts["bernoulli_"] + counts["native_dropout"]
    assert bernoulli == 3, f"dropout was drawn {bernoulli} times {call}: once plain, twice yours"
    alone = x.numel() * x.itemsize
    check_equal(yours["bytes"], alone, f"bytes kept {call}", "keep the input alone, by saving it")
    numbers, ours = yours["next random numbers"], plain["next random numbers"]
    words = f"random numbers drawn afterwards {call}: put the generator back where it was"
    assert torch.equal(numbers, ours), words


check_case(torch.linspace(-1, 1, 6).view(2, 3), 0)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for seed, size in enumerate(((5, 4), (1, 8), (16, 2)), start=1):
    check_case(torch.randn(size, generator=generator), seed)
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
# leaf while recording, put the generator back.
# </details>
# <details><summary>Hint 3</summary>
#
# Then go backward through that small graph with the gradient that arrived:
# `torch.autograd.backward(y, gradient)`. The parameters collect theirs; the leaf's is what you
# return. `block` is an input too and gets `None`.
# </details>

# %% [markdown]
# ## 3. Slopes of slopes
#
# A backward pass consists of operations. What if they were recorded as well? Then the gradient has
# a graph, and you can differentiate it. Ask for it with `create_graph=True`. **Predict** the three
# numbers for x³ at 2:

# %% topics=["higher-order-grad"]
x = torch.tensor(2.0, requires_grad=True)
y = x**3
(first,) = torch.autograd.grad(y, x, create_graph=True)
draw_graph(first, x=x, first=first)

# %% topics=["higher-order-grad"]
(second,) = torch.autograd.grad(first, x)
y.item(), first.item(), second.item()

# %% [markdown]
# The picture is the graph of the slope 3x²: a power, some products, and `x` at the end. With many
# inputs the second derivatives form a matrix, the **Hessian** $H$. `torch.func` writes it out for
# small cases:


# %% topics=["higher-order-grad"]
def saddle(x: torch.Tensor) -> torch.Tensor:
    return x[0] ** 2 * x[1] - x[1] ** 2


x = torch.tensor([1.0, 3.0])
torch.func.grad(saddle)(x), torch.func.hessian(saddle)(x)

# %% [markdown]
# For a million weights, $H$ would have 10¹² entries. As with the Jacobian, what one needs is a
# product, here $Hv$: how does the gradient change if I go a little along $v$? There are two ways to
# it.
#
# - **Double backward.** $Hv$ is the gradient of the number $g(x) \cdot v$, where $g$ is the
#   gradient, recorded.
# - **Forward over reverse.** $Hv$ is the forward-mode derivative (`torch.func.jvp`) of the function
#   `torch.func.grad(f)` along $v$.
#
# Both cost a few times as much as a gradient, whatever the number of weights.
#
# ### Exercise 6.5 — Curvature without the matrix ★★★ · 20 min · 4 points
#
# `f` takes a 1-D tensor and returns a number. Write
#
# - `hvp_double(f, x, v)`: $Hv$ at `x`, by double backward;
# - `hvp_forward(f, x, v)`: the same, by forward over reverse;
# - `newton(f, x, steps)`: after so many Newton steps from `x`. A Newton step goes to $x - p$, where
#   $p$ solves $H p = g$. `solve(product, g)` is given: it finds $p$ by the method of conjugate
#   gradients, and all it asks for is `product(v)`, which is $Hv$.
#
# Never write $H$ down: with 2000 numbers, no tensor may be larger than a few vectors. Leave `x` as
# it is. Results are detached. Example: at x = (1, 3), for the saddle above, v = (1, 0) gives $Hv$ =
# (6, 2). Newton's method has to bring the gradient of Rosenbrock's valley from 233 to below 10⁻⁸ in
# seven steps. `hessian_vector` is given and calls your functions.


# %% nbgrader={"grade_id": "landscapes", "locked": true}
from collections.abc import Callable


def solve(product, g):
    """p with ``product(p) == g``, by conjugate gradients; ``product`` is linear and symmetric."""
    p, rest, direction = torch.zeros_like(g), g, g
    for _ in range(20 * len(g)):
        if rest.norm() <= 1e-12 * g.norm():
            break
        turned = product(direction)
        length = (rest @ rest) / (direction @ turned)
        p, new = p + length * direction, rest - length * turned
        rest, direction = new, new + (new @ new) / (rest @ rest) * direction
    return p


LANDSCAPES = {
    "saddle": lambda x: x[0] ** 2 * x[1] - x[1] ** 2,
    "valley": lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(),
    "bowl": lambda x: (x.exp() + (x - 2) ** 2).sum() + (x[1:] * x[:-1]).sum() / 4,
}


# %% nbgrader={"grade_id": "hessian-vector", "solution": true}
def hvp_double(f: Callable, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The Hessian of f at x times v, by double backward."""
    ### BEGIN SOLUTION
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g, x, v)[0]
    ### END SOLUTION


def hvp_forward(f: Callable, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The Hessian of f at x times v, by forward over reverse."""
    ### BEGIN SOLUTION
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]
    ### END SOLUTION


def newton(f: Callable, x: torch.Tensor, steps: int) -> torch.Tensor:
    """Where Newton's method is after ``steps`` steps from x."""
    ### BEGIN SOLUTION
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_double(f, here, v), torch.func.grad(f)(x))
    return x
    ### END SOLUTION


def hessian_vector(way: str, name: str, x: torch.Tensor, extra: int | torch.Tensor) -> torch.Tensor:
    """Given: one of the three, on a landscape by name; ``extra`` is v or the number of steps."""
    ways = {"double": hvp_double, "forward": hvp_forward, "newton": newton}
    return ways[way](LANDSCAPES[name], x, extra)


# %% nbgrader={"grade_id": "hessian-vector-check", "grade": true, "points": 2}
def check_case(landscape, x, v, name):
    x, v = x.to(device), v.to(device)
    for way in ("double", "forward"):
        limit = 64 * x.numel() * x.itemsize
        with forbid_changes(x, v), forbid_copies(up_to=max(limit, 1024)):
            answer = hessian_vector(way, landscape, x, v)
        call = f"the product by {way} in the {landscape} at {name}"
        (truth,) = torch.autograd.functional.hvp(LANDSCAPES[landscape], x, v)[1:]
        check_close(answer, truth, call, rtol=1e-4, atol=1e-4)
        assert not answer.requires_grad, f"{call} still requires grad: detach it"


check_case("saddle", torch.tensor([1.0, 3.0]), torch.tensor([1.0, 0.0]), "(1, 3)")
check_case("saddle", torch.tensor([1.0, 3.0]), torch.tensor([0.0, 2.0]), "(1, 3), v = (0, 2)")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for landscape in ("valley", "bowl"):
    for size in (2, 5, 2000):
        x, v = torch.randn(2, size, generator=generator, dtype=torch.float64)
        check_case(landscape, x, v, f"{size} random numbers")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "hessian-vector-check-2", "grade": true, "points": 2}
def check_case(landscape, x, steps, name):
    x = x.double().to(device)
    with forbid_changes(x), forbid_copies(up_to=64 * 8 * max(len(x), 2)):
        answer = hessian_vector("newton", landscape, x, steps)
    assert answer is not None, "newton gives None: is there an answer yet?"
    call = f"Newton's method in the {landscape} from {name}"
    check_close(answer.isfinite(), torch.ones_like(x).bool(), f"{call}: which numbers are finite")
    slope = torch.func.grad(LANDSCAPES[landscape])(answer).norm().item()
    words = f"{call}: after {steps} steps the gradient still has the norm {slope:.2g}"
    assert slope < 1e-8, words
    one = hessian_vector("newton", landscape, x, 0)
    check_close(one, x, f"{call}: after no step at all")


check_case("valley", torch.tensor([-1.2, 1.0]), 7, "(-1.2, 1)")
check_case("bowl", torch.zeros(3), 6, "(0, 0, 0)")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
check_case("bowl", torch.rand(2000, generator=generator), 6, "2000 random numbers")
check_case("bowl", torch.rand(1, generator=generator), 6, "a random number")
x = torch.tensor([0.5, 0.1], device=device).double()
g = torch.func.grad(LANDSCAPES["bowl"])(x)
truth = x - torch.linalg.solve(torch.func.hessian(LANDSCAPES["bowl"])(x), g)
check_close(hessian_vector("newton", "bowl", x, 1), truth, "one Newton step", atol=1e-6)
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
# ### A gradient for each sample
#
# `backward()` gives you the gradient of the whole batch: the sum, or the mean, over the samples.
# Sometimes you need them one by one: to clip each (this is how training with *differential privacy*
# begins), or to find the samples that pull hardest. There are three ways.
#
# - A **loop** over the samples: correct, and slow.
# - **vmap**: `torch.func.grad` of the loss of one sample, `torch.func.vmap` over the batch. It runs
#   all samples at once.
# - **By hand, from hooks.** For a layer `z = a @ W.t()`, the gradient of $W$ for one sample is the
#   outer product of that sample's row of the gradient of `z` and its row of `a`. The batch's
#   backward computes both rows. You only have to catch the gradient of `z` when it comes by. That
#   is what a tensor hook is for:

# %%
z = torch.tensor([1.0, 2.0], requires_grad=True) * 3
caught = []
z.register_hook(caught.append)
(z**2).sum().backward()
caught

# %% [markdown]
# Chapter 05 has more about hooks. And this is how `vmap` and `grad` go together:


# %%
def sample_error(w: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (w @ x - y) ** 2  # for one sample: x (2,), y ()


# %%
w, x, y = torch.tensor([1.0, 2.0]), torch.eye(2), torch.tensor([0.0, 0.0])
torch.func.vmap(torch.func.grad(sample_error), in_dims=(None, 0, 0))(w, x, y)  # (batch, 2)

# %% [markdown]
# ### Exercise 6.6 — Clip each, then average ★★★ · 20 min · 5 points
#
# `sample_loss(weights, x, y)` is given, the loss of a small network **summed** over the samples in
# `x` (batch, in) with targets `y` (batch,). `weights` is a dict of tensors `"w1"` (hidden, in),
# `"b1"` (hidden,) and `"w2"` (classes, hidden). Write
#
# - `by_loop`, `by_vmap` and `by_hooks`: each takes `(weights, x, y)` and returns a dict with the
#   same keys; every entry has the gradients of all samples, of shape (batch, …). The last two may
#   not loop over samples: the number of operations must not depend on the batch. (For `by_hooks`,
#   write out the network: two products, a tanh and a cross entropy.)
# - `clip_and_average(gradients, limit)`: takes such a dict. Each sample's gradient, **all its
#   entries together**, is one long vector. Where its norm exceeds `limit`, scale it down to
#   `limit`; leave shorter ones alone, a zero too. Then average over the samples. Return a dict of
#   tensors of the weights' shapes.
#
# Example: with one weight and the gradients (3, 4) and (0, 1) of two samples, a limit of 1 gives
# the average of (0.6, 0.8) and (0, 1), which is (0.3, 0.9). The batch has at least one sample.
# Leave the arguments alone, `.grad` included. `per_sample_grads` is given.


# %% nbgrader={"grade_id": "sample-loss", "locked": true}
def sample_loss(weights: dict, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The loss summed over x (batch, in), y (batch,); or of one sample, x (in,), y ()."""
    hidden = torch.tanh(x @ weights["w1"].t() + weights["b1"])
    return F.cross_entropy(hidden @ weights["w2"].t(), y, reduction="sum")


def draw_case(batch: int, sizes: tuple[int, int, int], dtype=torch.float64) -> tuple:
    """Random weights, x and y for a network of these sizes (in, hidden, classes)."""
    generator = torch.Generator().manual_seed(batch)
    shapes = {"w1": (sizes[1], sizes[0]), "b1": sizes[1:2], "w2": (sizes[2], sizes[1])}
    draw = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    x = torch.randn(batch, sizes[0], generator=generator)
    y = torch.randint(sizes[2], (batch,), generator=generator)
    weights = {name: w.to(device, dtype) for name, w in draw.items()}
    return weights, x.to(device, dtype), y.to(device)


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
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(weights, x, y)
    ### END SOLUTION


def by_hooks(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    """Gradients of each sample, from those of the layers' results."""
    ### BEGIN SOLUTION
    caught = {}
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


def per_sample_grads(way: str, *arguments) -> dict | None:
    """Given: one of the four, by name."""
    ways = {"loop": by_loop, "vmap": by_vmap, "hooks": by_hooks, "clip": clip_and_average}
    return ways[way](*arguments)


# %% nbgrader={"grade_id": "per-sample-grads-check", "grade": true, "points": 3}
def check_case(way, batch, sizes, dtype=torch.float64):
    weights, x, y = draw_case(batch, sizes, dtype)
    names, call = list(weights), f"by_{way} for {batch} samples of a network {sizes}"
    with forbid_changes(x, y, *weights.values()), count_operators() as counts:
        answer = per_sample_grads(way, weights, x, y)
    assert isinstance(answer, dict), f"{call} is {answer!r}: return a dict with the keys {names}"
    assert sorted(answer) == sorted(names), f"{call}: the keys are {sorted(answer)}, not {names}"
    leaves = [w.requires_grad_() for w in weights.values()]
    losses = [sample_loss(weights, *one) for one in zip(x, y, strict=True)]
    rows = [torch.autograd.grad(loss, leaves) for loss in losses]
    for name, *parts in zip(names, *rows, strict=True):
        what = f"the gradients of {name}, {call}"
        check_close(answer[name], torch.stack(parts), what, rtol=1e-4, atol=1e-5)
    return counts.total()


for way in ("loop", "vmap", "hooks"):
    few, many = (check_case(way, batch, (2, 4, 3)) for batch in (3, 6))
    loops = f"by_{way}: {few} operations for 3 samples, {many} for 6: is there a loop?"
    assert way == "loop" or few == many, loops
### BEGIN HIDDEN TESTS
for way in ("loop", "vmap", "hooks"):
    for batch, sizes in ((1, (3, 2, 2)), (5, (1, 1, 4)), (4, (6, 3, 5))):
        check_case(way, batch, sizes)
    check_case(way, 3, (2, 4, 3), torch.float32)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "per-sample-grads-check-2", "grade": true, "points": 2}
def check_case(gradients, limit, name, because=""):
    gradients = {key: g.to(device) for key, g in gradients.items()}
    with forbid_changes(*gradients.values()):
        answer = per_sample_grads("clip", gradients, limit)
    call = f"clip_and_average of {name} to {limit}"
    assert isinstance(answer, dict), f"{call} is {answer!r}: return a dict of tensors"
    total = sum((g**2).flatten(1).sum(1) for g in gradients.values()).sqrt()
    factors = torch.where(total > limit, limit / total, torch.ones_like(total))
    for key, g in gradients.items():
        truth = torch.einsum("b,b...->b...", factors, g).mean(0)
        hint = f" ({because})" if because else ""
        check_close(answer.get(key), truth, f"{key} in {call}{hint}", rtol=1e-4, atol=1e-6)


one = {"w": torch.tensor([[3.0, 4.0], [0.0, 1.0]])}
check_case(one, 1.0, "(3, 4) and (0, 1)", "clip each sample, then average")
check_case(one, 10.0, "(3, 4) and (0, 1)", "short gradients are left alone, not stretched")
check_case({"w": torch.zeros(2, 3)}, 1.0, "two zeros", "a zero stays zero")
two = {"a": torch.tensor([[3.0], [0.0]]), "b": torch.tensor([[4.0], [1.0]])}
check_case(two, 1.0, "two weights", "a sample's norm is over all its weights together")
### BEGIN HIDDEN TESTS
generator, shapes = torch.Generator().manual_seed(0), {"w1": (4, 3), "b1": (4,), "w2": (2, 4)}
for batch in (1, 7):
    drawn = {key: torch.randn(batch, *s, generator=generator) for key, s in shapes.items()}
    for limit in (0.5, 3.0, 100.0):
        check_case(drawn, limit, f"{batch} random samples")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Loop: one sample is `x[i]`, `y[i]`; stack the gradients of each weight in the end. vmap: as in the
# cell above the exercise; `weights` is a dict, and `grad` and `vmap` take it as it is.
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
# ## What to take home
#
# | question | answer |
# | --- | --- |
# | What is recorded? | each operation on something that requires grad, as a `grad_fn` |
# | Who gets a `.grad`? | leaves that require grad and took part; others if they `retain_grad()` |
# | What does a backward function do? | a VJP: from the gradient of its result to those of its inputs |
# | What happens at a second `backward()`? | `.grad` adds up; saved tensors are gone unless retained |
# | What costs the memory? | saved tensors: inputs or results of operations, each storage once |
# | May I edit in place? | if nobody saved the old value; the version counter knows |
# | `no_grad` or `eval()`? | one is about recording, the other about layers; validation wants both |
# | How do I trust my own rule? | `gradcheck`, `gradgradcheck`, kinks, views, two calls in a row |
# | Too many saved tensors? | checkpoint: keep inputs, compute again |
# | Second derivatives? | `create_graph=True`, or `torch.func`; products, never the matrix |
#
# **Three mistakes to remember**
#
# 1. Going behind the counter. `.data` gives no error and a wrong gradient. Use `detach()` to look
#    and `no_grad` to write.
# 2. Losing the leaf. After `.to(...)` or `* 0.01` your tensor is a result, and its `.grad` stays
#    `None`. Call `requires_grad_()` last.
# 3. Keeping a graph by accident. `losses.append(loss)` keeps every step's saved tensors. Append
#    `loss.item()` or `loss.detach()`.
#
# **Read more.** The PyTorch documentation has *Autograd mechanics*, *Extending PyTorch* and a
# tutorial on *Double Backward with Custom Functions*. Baydin, Pearlmutter, Radul and Siskind,
# *Automatic Differentiation in Machine Learning: a Survey*, tells forward and reverse mode in full.
# Chen and others, *Training Deep Nets with Sublinear Memory Cost*, began checkpointing. Chapter 05
# goes on with hooks.
