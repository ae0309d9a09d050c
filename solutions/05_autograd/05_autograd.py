# ---
# jupyter:
#   course:
#     title: Autograd
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
# The small tensors of this chapter stay on the CPU; the checks also try your functions on `device`.
#
# ## A puzzle to start with
#
# `out` is 4 · 6 + 4 · 10 = 64, so its slope in `a` is 6 + 10 = 16. The function below computes
# `out`, then lets somebody edit `h`, and only then asks for the slope. **Predict:** does an edit
# that comes *after* `out` change the slope of `out`?


# %%
def slope(edit) -> float:
    a, h = torch.tensor(4.0, requires_grad=True), torch.tensor([6.0, 10.0])
    out = (a * h).sum()
    edit(h)
    out.backward()
    return a.grad.item()


# %% tags=["shows-deprecated"] errata=["dot-data-silent-wrong-grad"]
slope(lambda h: None), slope(lambda h: h.data.zero_())

# %% [markdown]
# The second slope is 0, which is wrong, and nothing warns you. `out` itself is still 64. So the
# slope was not computed together with `out`. It was computed later, from something that was kept.
# To see what was kept, and why nobody noticed the edit, we have to read the record.

# %% [markdown]
# ## 1. The record
#
# Ordinary tensors leave no trace. Recording begins with a tensor that *requires grad*. It is off by
# default, on for the parameters of a module, and impossible for whole numbers: they have no slope.

# %% topics=["requires-grad-default"]
print(torch.ones(2).requires_grad, nn.Linear(2, 1).weight.requires_grad)

# %% topics=["requires-grad-default"]
x = torch.ones(2).requires_grad_()  # or torch.ones(2, requires_grad=True)
print(x.requires_grad, (x * 2).requires_grad)
try:
    torch.arange(3).requires_grad_()
except RuntimeError as error:
    print(error)

# %% [markdown]
# The result of `x * 2` requires grad because `x` does. It carries a reference to the operation that
# made it, or rather to the function that will undo it in backward: its `grad_fn`. Here is a small
# expression, $(x + 1 - 2x)^2$ at $x = 3$, in steps that have names:

# %% topics=["backprop-steps"]
x = torch.tensor(3.0, requires_grad=True)
y = x + 1  # 4
z = 2 * x  # 6
out = (y - z) ** 2  # 4
[t.grad_fn.name() for t in (y, z, out)]

# %% [markdown]
# Each `grad_fn` knows the next ones: those of the tensors that went into its operation. Follow them
# and you have the whole **graph**. `draw_graph` does the walking. Read it from the top.

# %% topics=["backprop-steps"]
draw_graph(out, x=x, y=y, z=z)

# %% [markdown]
# The blue boxes are functions, named after what they undo. The green box at the end is `x`: it was
# not computed, so there is nothing behind it. Such a tensor is called a **leaf**. The arrows point
# the way that backward will go, from the result to the leaf. Two ways lead to `x`, because `x` was
# used twice.
#
# **Predict** the gradient of `x` before you run the next cell. Walk down with a pencil:
#
# | at | the slope of `out` there |
# | --- | --- |
# | `y - z` | 2 · (4 − 6) = −4 |
# | `y` | −4 · 1 = −4 |
# | `z` | −4 · (−1) = 4 |
# | `x`, by way of `y` | −4 · 1 = −4 |
# | `x`, by way of `z` | 4 · 2 = 8 |
#
# Both ways count, so they are added.

# %% topics=["backward-scalar", "backprop-steps"]
out.backward()
x.grad

# %% [markdown]
# `backward()` returns nothing. It leaves the gradient in `x.grad`, a tensor of the shape of `x`.
# You call it on a tensor with one element, usually a loss: only a single number has *one* slope for
# each input. Section 3 is about the other case.
#
# **What about y and z?** Their slopes were −4 and 4. Are they kept?

# %% errata=["intermediate-grad-assigned"] topics=["retain-grad"]
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print("y.grad:", y.grad)
print(str(caught[0].message).split(".  ")[0].split(". ")[0])

# %% [markdown]
# > **Then and now.** *"Backward stores the gradients of the intermediate results in their
# > `.grad`."* It does not. Their gradients are handed on and let go; keeping them all would double
# > the memory. Ask beforehand with `retain_grad()` and you get one.

# %% topics=["retain-grad"]
x = torch.tensor(3.0, requires_grad=True)
y, z = x + 1, 2 * x
z.retain_grad()
out = (y - z) ** 2
out.backward()
draw_graph(out, x=x, y=y, z=z)

# %% [markdown]
# Now the picture shows two gradients. Two boxes say *freed*; section 4 is about that.
#
# torchviz, a well-known package, draws the same graph. It writes the language of Graphviz and needs
# Graphviz's program `dot` to turn it into a picture. Without that program you can still read what
# it wrote. It has one box more: `AccumulateGrad`, the function that adds what arrives to `x.grad`.

# %%
import re

try:
    from torchviz import make_dot

    print(sorted(re.findall(r"label=(\w+)", make_dot((2 * x - 1) ** 2).source)))
except ImportError:
    print("torchviz is not installed here: uv pip install torchviz")

# %% [markdown]
# ### Python builds it while it runs
#
# There is no step in which you declare the graph. It is what happened. So `if` and `while` need no
# special treatment: each run records what that run did. **Predict** both slopes.


# %% topics=["dynamic-graph-eager"]
def triple_until_large(x: torch.Tensor) -> torch.Tensor:
    while x < 20:
        x = x * 3
    return x


# %% topics=["dynamic-graph-eager"]
for start in (1.0, 5.0):
    x = torch.tensor(start, requires_grad=True)
    triple_until_large(x).backward()
    print(start, "-> slope", x.grad.item())

# %% [markdown]
# Three rounds give 27, two give 9. That is why a stack trace, a print or a breakpoint works in the
# middle of a PyTorch model. The price is that nobody sees the whole before it runs. `torch.compile`
# captures whole graphs again for the sake of speed; chapter 12 is about that.
#
# > **Then and now.** *"Wrap the tensor in a `Variable`, and mark it `volatile` for inference."*
# > Since version 0.4 a `Variable` is a tensor, and wrapping does nothing. `volatile` is ignored,
# > with a warning.

# %% tags=["shows-deprecated"] topics=["variable-merge"] errata=["variable-and-volatile"]
from torch.autograd import Variable

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    wrapped = Variable(torch.ones(1), volatile=True)
print(type(wrapped).__name__, "|", str(caught[0].message).split(".")[0])

# %% [markdown]
# ### Leaves
#
# Which tensors get a `.grad`? Those that require grad and are leaves. So what exactly is a leaf?
#
# > **Then and now.** *"A leaf is a tensor that the user made and that requires grad."* Close, but
# > the rule is simpler. A tensor that does not require grad is always a leaf, computed or not. One
# > that requires grad is a leaf if it has no `grad_fn`.

# %% topics=["leaf-tensors"] errata=["leaf-definition"]
c = torch.ones(2)
w = torch.ones(2, requires_grad=True)
print("no grad required:", c.is_leaf, (c * 2).is_leaf)
print("grad required:   ", w.is_leaf, (w * 2).is_leaf, (w * 2).detach().is_leaf)

# %% [markdown]
# A trap follows from it. **Predict:** is `w` below a leaf, and does it get a gradient?

# %% topics=["leaf-tensors"]
w = torch.ones(2, requires_grad=True).to(torch.float64)
w.sum().backward()
w.is_leaf, w.grad_fn.name()

# %% [markdown]
# No. The leaf was the float32 tensor, and nobody has its name any more. `w` is the result of a
# conversion. The same happens with `.to(device)` and `* 0.01`. Make the tensor first, in its final
# dtype and place, and call `requires_grad_()` last.
#
# **Freezing** means: this leaf shall require no grad. Mind the spelling.
#
# > **Then and now.** *"Freeze a layer by `parameter.require_grad = False`."* It should be
# > `requires_grad`, with an s. Python lets you invent an attribute, so the misspelling does nothing
# > and says nothing. A misspelt *method* raises, so `requires_grad_(False)` is the safe way.

# %% errata=["require-grad-typo"]
layer = nn.Linear(2, 2)
for parameter in layer.parameters():
    parameter.require_grad = False
print("after the misspelling:", layer.weight.requires_grad)
layer.requires_grad_(False)
print("after the method:     ", layer.weight.requires_grad)

# %% [markdown]
# > **Then and now.** *"A frozen layer still has its gradients computed; only `detach()` saves the
# > work."* Count the matrix products of a backward pass through two layers, with and without
# > the second one frozen:


# %% errata=["freezing-still-computes"]
def products_in_backward(freeze: bool) -> tuple[int, bool]:
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.requires_grad_(not freeze)
    loss = second(first(torch.ones(1, 2))).sum()
    with count_operators() as counts:
        loss.backward()
    return counts["mm"], first.weight.grad is not None


# %% errata=["freezing-still-computes"]
products_in_backward(False), products_in_backward(True)

# %% [markdown]
# One product less: the one for the frozen weight. The first layer still gets its gradient, through
# the frozen one. A `detach()` between the two would have cut that off.
#
# **In practice.** Before a long run, count: `sum(p.numel() for p in model.parameters() if
# p.requires_grad)`. It takes a second, and such a misspelling shows.

# %% [markdown]
# ### Exercise 5.1 — Who gets a gradient? ★ · 8 min · 3 points
#
# The locked cell makes ten tensors, adds them all up and goes backward. For each, write three truth
# values: `(is_leaf, requires_grad, has a gradient afterwards)`. As an example, for a tensor
# `torch.zeros(3)` that took part it is `(True, False, False)`.
#
# Answer from the rules, not from the machine. The check is folded, because it explains every
# answer. Select it and press Shift + Enter; unfold it afterwards.

# %% nbgrader={"grade_id": "ten-tensors", "locked": true}
w, c = torch.ones(3, requires_grad=True), torch.full((3,), 2.0)
kept = w + 1
kept.retain_grad()
with torch.no_grad():
    quiet = w * 3
ten_tensors = {
    "w": w,
    "c": c,
    "w * c": w * c,
    "c * c": c * c,
    "kept": kept,
    "quiet": quiet,
    "frozen": torch.ones(3, requires_grad=True).requires_grad_(False),
    "double": torch.ones(3, requires_grad=True).double(),
    "parameter": nn.Parameter(torch.ones(3)),
}
sum(t.sum() for t in ten_tensors.values()).backward()
ten_tensors["unused"] = torch.ones(3, requires_grad=True)

# %% nbgrader={"grade_id": "predict-leaf-and-grad", "solution": true}
predict_leaf_and_grad = {
    "w": None,
    "c": None,
    "w * c": None,
    "c * c": None,
    "kept": None,
    "quiet": None,
    "frozen": None,
    "double": None,
    "parameter": None,
    "unused": None,
}
### BEGIN SOLUTION
predict_leaf_and_grad = dict.fromkeys(predict_leaf_and_grad, (True, False, False))
predict_leaf_and_grad |= dict.fromkeys(("w", "parameter"), (True, True, True))
predict_leaf_and_grad |= dict.fromkeys(("w * c", "double"), (False, True, False))
predict_leaf_and_grad |= {"kept": (False, True, True), "unused": (True, True, False)}
### END SOLUTION

# %% nbgrader={"grade_id": "predict-leaf-and-grad-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
for name, guess in predict_leaf_and_grad.items():
    three = isinstance(guess, (tuple, list)) and [type(part) for part in guess] == [bool] * 3
    form = "write (is_leaf, requires_grad, has a gradient) as three times True or False"
    assert guess is None or three, f"{name}: {guess!r}? {form}"
machine = {}
for name, t in ten_tensors.items():
    has_gradient = (t.is_leaf or t.retains_grad) and t.grad is not None
    machine[name] = (t.is_leaf, t.requires_grad, has_gradient)
because = {
    "w": "made by you, requires grad, took part",
    "c": "what does not require grad is a leaf and gets nothing",
    "w * c": "computed from w: not a leaf, and its gradient is only handed on",
    "c * c": "computed, but from nothing that requires grad: a leaf all the same",
    "kept": "computed, but retain_grad() asked for its gradient beforehand",
    "quiet": "under no_grad nothing is recorded: the result requires no grad",
    "frozen": "requires_grad_(False) on a leaf: no grad is required any more",
    "double": "the conversion is an operation: its result has a grad_fn",
    "parameter": "a Parameter is a leaf that requires grad",
    "unused": "it requires grad, but the loss does not depend on it",
}
check_predictions(predict_leaf_and_grad, machine, because)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# First `requires_grad`: does anything that it was computed from require grad, and was recording on?
# </details>
# <details><summary>Hint 2</summary>
#
# Then `is_leaf`: true if no grad is required, else true only if no operation made it.
# </details>
# <details><summary>Hint 3</summary>
#
# A gradient arrives at leaves that require grad and take part, and where somebody called
# `retain_grad()`.
# </details>

# %% [markdown]
# ## 2. Backward walks the record
#
# By pencil we started at the result and handed slopes down to the leaf. Could one go the other way,
# from the leaf up? One can. **Forward mode** asks: if I nudge *this input*, how do all
# results move? **Reverse mode** asks: how does *this result* react to all inputs? PyTorch has both.
# Here is the slope of one number in three inputs:


# %% topics=["reverse-mode-ad"]
def sum_of_squares(x: torch.Tensor) -> torch.Tensor:
    return (x**2).sum()


x, nudges = torch.tensor([1.0, 2.0, 3.0]), torch.eye(3)

# %% topics=["reverse-mode-ad"]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the first jvp warns of something inside PyTorch
    forward = [torch.func.jvp(sum_of_squares, (x,), (nudge,))[1].item() for nudge in nudges]
print("forward mode, three passes:", forward)

# %% topics=["reverse-mode-ad"]
print("reverse mode, one pass:    ", torch.func.grad(sum_of_squares)(x).tolist())

# %% [markdown]
# Forward mode needs one pass for each input, reverse mode one pass for each result. A network has
# millions of inputs, its weights, and one result, its loss. So training uses reverse mode. The
# price is the record: what came first is needed last, so it has to be kept until then.
#
# The record can be made in two ways. Systems that do *source transformation* read your function and
# write a second one, its derivative, before anything runs. PyTorch keeps a *tape*: it notes what
# runs, and plays it backwards. (`torch.compile` does the former with what it captured.)
#
# ### Gradients add up
#
# Two ways led to `x`, and their slopes were added. A leaf goes on adding: what the next `backward()`
# brings is added to the `.grad` that is there already. **Predict** the second line.

# %% topics=["gradient-accumulates"] errata=["zero-grad-optional"]
w = nn.Parameter(torch.tensor(1.0))
for _ in range(2):
    (3 * w).backward()
    print(w.grad.item())

# %% [markdown]
# > **Then and now.** *"`optimizer.zero_grad()` may be left out."* Then every step follows the sum
# > of all gradients so far. And *"it sets the gradients to zero"* is no longer so: it removes them.
# > Code that reads `.grad` right afterwards has to live with `None`.

# %% topics=["gradient-accumulates"] errata=["zero-grad-gives-zeros"]
optimizer = torch.optim.SGD([w], lr=0.1)
optimizer.zero_grad()
print(w.grad)
(3 * w).backward()
optimizer.zero_grad(set_to_none=False)
print(w.grad)

# %% [markdown]
# That gradients add up is a gift when a batch does not fit into memory. Cut it into micro-batches,
# go backward after *each*, and step once.
#
# > **Then and now.** *"Gradient accumulation: two forward passes, then one backward."* That keeps
# > both graphs alive until the end, which is the memory you wanted to save. Each backward frees its
# > own graph. Divide each loss by the number of micro-batches, so that the sum is a mean again.

# %% topics=["gradient-accumulates"] errata=["accumulate-then-one-backward"]
torch.manual_seed(0)
model, x, y = nn.Linear(3, 1), torch.randn(8, 3), torch.randn(8, 1)
F.mse_loss(model(x), y).backward()
whole = model.weight.grad.clone()
model.zero_grad()

# %% topics=["gradient-accumulates"] errata=["accumulate-then-one-backward"]
for part_x, part_y in zip(x.split(4), y.split(4), strict=True):
    (F.mse_loss(model(part_x), part_y) / 2).backward()
torch.allclose(model.weight.grad, whole, atol=1e-6)

# %% [markdown]
# ### Downhill
#
# A gradient points uphill; the optimizer steps the other way. Nothing in that asks for a network.
#
# > **Then and now.** *"A tensor cannot be trained, it has to be a `Parameter`."* Any leaf that
# > requires grad will do. A `Parameter` has one thing more: a module finds it by itself.

# %% topics=["minimise-with-optimizer"] errata=["only-parameters-train"]
x = torch.tensor(-1.5, requires_grad=True)
optimizer, places = torch.optim.SGD([x], lr=0.1), []

# %% topics=["minimise-with-optimizer"] errata=["only-parameters-train"]
for _ in range(12):
    places.append(x.item())
    optimizer.zero_grad()
    ((x - 1) ** 2 + 1).backward()
    optimizer.step()

# %% topics=["minimise-with-optimizer"]
print(f"after 12 steps: {x.item():.2f}, the minimum is at 1")

# %% topics=["minimise-with-optimizer"]
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6, 3))
for numbers, style in ((torch.linspace(-1.8, 2.6, 100), "-"), (torch.tensor(places), "o")):
    axes.plot(numbers, (numbers - 1) ** 2 + 1, style, color="#0072b2")
axes.set(xlabel="x", ylabel="(x - 1)² + 1", title="Twelve steps of gradient descent")
show(
    figure, "A parabola; twelve points walk down its left side, in shrinking steps, towards x = 1."
)

# %% [markdown]
# The slope shrinks near the minimum, so the steps shrink with it.
#
# ### Exercise 5.2 — An engine of your own ★★★ · 30 min · 5 points
#
# Write reverse mode for single numbers. A `Value` holds a number, the values it was made from (its
# `parents`), and for each parent the slope of this step (`slopes`). Addition is given. Write
#
# - `__mul__` (two values), `__pow__` (a plain number as exponent) and `exp`, in the style of
#   `__add__`;
# - `topological_order`: a list of this value and every value behind it, **each once**, in which no
#   value comes before a value that was made from it. So `self` is first;
# - `backward`: set the `grad` of every value behind this one. Start with 1 at `self`.
#
# `micro_engine` is given. It runs a little program on your values, and returns the value of `y`,
# the gradient of each input, and how long your order is. `torch_engine` does the same by PyTorch;
# try your own programs on both. In `"s = a * b\ny = s + s"` the value `s` is used twice, and the
# order has 4 entries. Exponents and inputs are such that all results are finite. You may rewrite
# the class, as long as `micro_engine` stays.


# %% nbgrader={"grade_id": "torch-engine", "locked": true}
def torch_engine(program: str, **inputs: float) -> tuple[float, dict[str, float], int]:
    """What ``micro_engine`` has to return, by PyTorch."""
    values = {name: torch.tensor(n).double().requires_grad_() for name, n in inputs.items()}
    names = dict(values)
    exec(program, {}, names)
    y = names["y"]
    gradients = torch.autograd.grad(y, list(values.values()), allow_unused=True)
    numbers = [0.0 if g is None else g.item() for g in gradients]
    return y.item(), dict(zip(values, numbers, strict=True)), len(draw_graph(y).nodes) - 1


torch_engine("y = a * b", a=2.0, b=3.0)


# %% nbgrader={"grade_id": "compare-engines", "locked": true}
from functools import partial


def check_engine(engine, program, because="", **inputs):
    """Compare what ``engine`` says of a program with what PyTorch says."""
    call, hint = f"micro_engine({program!r}, {inputs})", f" ({because})" if because else ""
    answer = engine(program, **inputs)
    assert answer is not None, f"{call}: a method returns None: is there an answer yet?"
    y, gradients, nodes = torch_engine(program, **inputs)
    words = "every value belongs into the order once, however many ways lead to it"
    assert answer[2] == nodes, f"{call}: the order has {answer[2]} values, not {nodes}: {words}"
    pairs = {f"the gradient of {name}": (gradients[name], answer[1][name]) for name in inputs}
    for what, (right, yours) in {"y": (y, answer[0]), **pairs}.items():
        close = abs(yours - right) <= 1e-6 * max(1, abs(right))
        assert close, f"{call}: {what} is {right:.6g}, not {yours:.6g}{hint}"


# %% nbgrader={"grade_id": "micro-engine", "solution": true}
import math


class Value:
    """A number that knows what it was made from, and how steeply it depends on each of them."""

    def __init__(self, number: float, parents: tuple = (), slopes: tuple = ()) -> None:
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other: "Value") -> "Value":
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other: "Value") -> "Value":
        """The product; its slope in each factor is the other factor."""
        ### BEGIN SOLUTION
        return Value(self.number * other.number, (self, other), (other.number, self.number))
        ### END SOLUTION

    def __pow__(self, exponent: float) -> "Value":
        """This value to the power of a plain number."""
        ### BEGIN SOLUTION
        slope = exponent * self.number ** (exponent - 1)
        return Value(self.number**exponent, (self,), (slope,))
        ### END SOLUTION

    def exp(self) -> "Value":
        """e to the power of this value."""
        ### BEGIN SOLUTION
        result = math.exp(self.number)
        return Value(result, (self,), (result,))
        ### END SOLUTION

    def topological_order(self) -> list["Value"]:
        """This value and all behind it, each once, none before what was made from it."""
        ### BEGIN SOLUTION
        order, seen = [], set()

        def visit(value: Value) -> None:
            if value not in seen:
                seen.add(value)
                for parent in value.parents:
                    visit(parent)
                order.append(value)

        visit(self)
        return order[::-1]
        ### END SOLUTION

    def backward(self) -> None:
        """Set ``grad`` of every value behind this one to the slope of this one in it."""
        ### BEGIN SOLUTION
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes, strict=True):
                parent.grad += slope * value.grad
        ### END SOLUTION


def micro_engine(program: str, **inputs: float) -> tuple[float, dict[str, float], int] | None:
    """Given: run ``program`` and go backward from ``y``; y, gradients, length of the order."""
    values = {name: Value(number) for name, number in inputs.items()}
    names = dict(values)
    exec(program, {}, names)
    y = names["y"]
    if y is None or y.topological_order() is None:
        return None
    y.backward()
    return (
        y.number,
        {name: value.grad for name, value in values.items()},
        len(y.topological_order()),
    )


# %% nbgrader={"grade_id": "micro-engine-check", "grade": true, "points": 5}
check_case = partial(check_engine, micro_engine)
check_case("y = a * b", "the slope in each factor is the other factor", a=2.0, b=3.0)
check_case("y = a ** 3 + b.exp()", "a to the n has the slope n times a to the n - 1", a=2.0, b=0.5)
check_case("y = a * a", "a is used twice: its slopes add up", a=3.0)
check_case("s = a * b\ny = s + s", "s is one value, with two ways to it", a=2.0, b=3.0)
check_case("y = a + a\n" + "y = y + y\n" * 3, "each way to a counts", a=1.0)
because = "s may hand on only when all its parts have arrived, that of t among them"
check_case("s = a * b\nt = s.exp()\ny = s * t", because, a=1.0, b=2.0)
check_case("s = a * b\nt = s.exp()\ny = t * s", because, a=1.0, b=2.0)
### BEGIN HIDDEN TESTS
import random

numbers = random.Random(0)
for _ in range(60):
    inputs, lines = {name: round(numbers.uniform(0.3, 1.2), 3) for name in "abc"}, []
    known = list(inputs)
    for step in range(numbers.randint(2, 9)):
        one, other = numbers.choice(known), numbers.choice(known[-4:])
        power, both = f"{one} ** {numbers.choice((2, -1, 0.5))}", f"({one} + {other})"
        line = numbers.choice((power, both, f"{one} * {other}", f"{both} ** -1"))
        lines.append(f"t{step} = {line}")
        known.append(f"t{step}")
    last = f"y = {known[-1]} * {known[-2]} + (m * a).exp()"
    check_case("\n".join([*lines, last]), m=-1.0, **inputs)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For the order: visit the parents of a value first, then note the value. Turn the list around at
# the end. Remember whom you have visited.
# </details>
# <details><summary>Hint 2</summary>
#
# In backward, take the values in that order. When it is a value's turn, everything that was made
# from it has already added its part, so its `grad` is complete and may be handed on.
# </details>
# <details><summary>Hint 3</summary>
#
# Handing on means: for each parent, *add* slope · own grad to the parent's grad.
# </details>
# %% [markdown]
# ## 3. A slope needs a direction
#
# `backward()` wants a single number. What if the result is a whole vector? **Predict** what happens
# in the `try`.

# %% topics=["backward-vector-gradient"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.stack([x[0] * x[1], x[0] + x[1], x[0] ** 2])  # (3,)
try:
    y.backward()
except RuntimeError as error:
    print(error)

# %% [markdown]
# Three results and two inputs have 3 · 2 = 6 slopes. Together they are the **Jacobian matrix** $J$,
# a row for each result. For a layer with 1000 inputs and 1000 outputs it has a million entries, and
# for a batch far more. Backward never writes it down. It asks a smaller question: if the loss has
# the slopes $g$ in the results, what are its slopes in the inputs? The answer is the
# **vector-Jacobian product** $g^T J$.

# %% topics=["backward-vector-gradient"]
g = torch.tensor([1.0, 10.0, 100.0])
y.backward(gradient=g)
jacobian = torch.tensor([[2.0, 1.0], [1.0, 1.0], [2.0, 0.0]])  # by pencil, at x = (1, 2)
print(x.grad.tolist(), (g @ jacobian).tolist())

# %% [markdown]
# The same number comes from `(y * g).sum().backward()`: that sum *is* a loss with the slopes `g`.
# So every backward function takes the gradient of its result and returns those of its inputs. It is
# a VJP, and that is all it ever has to know. A tensor that is called `grad_output` is such a `g`.
#
# **Without `.grad`.** `torch.autograd.grad` returns the gradients of just those inputs that you
# name, and leaves every `.grad` alone. Several outputs are added up. **Predict** the first line:

# %% topics=["autograd-grad"]
a, b, c = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0, 5.0))
print(torch.autograd.grad([a * b, a**2], [a, b]))
print(a.grad, torch.autograd.grad(a * b, [a, c], allow_unused=True))
print(torch.autograd.grad(a * b, [a, c], allow_unused=True, materialize_grads=True))

# %% [markdown]
# An input that the output does not depend on raises an error, unless you `allow_unused`: then it
# gets `None`, or zeros with `materialize_grads`.
#
# **The target is an input too.** A loss is a function of two tensors. If the target requires grad,
# because somebody forgot a `detach()`, it gets a gradient like any other.
#
# > **Then and now.** *"The error 'derivative for target is not implemented' tells you that the
# > target carries a gradient."* Most losses can differentiate their target today, and say nothing.
# > If the target comes from a network, as in distillation, check `target.requires_grad` yourself.

# %% topics=["target-requires-grad"] errata=["target-derivative-error"]
output, target = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
F.mse_loss(output, target).backward()
print("mse_loss: the target has a gradient:", target.grad is not None)

# %% topics=["target-requires-grad"] errata=["target-derivative-error"]
try:
    F.soft_margin_loss(output, target)
except RuntimeError as error:
    print("soft_margin_loss:", error)

# %% [markdown]
# **A mostly empty gradient.** The VJP of a table look-up puts each row of `g` where it came from.
# All other rows are zero. For a table of a million words, `nn.Embedding(sparse=True)` writes down
# only the rows that were used. Not every optimizer takes such gradients; SGD, Adagrad and
# `SparseAdam` do.

# %% topics=["sparse-gradients"]
table = nn.Embedding(1000, 2, sparse=True)
table(torch.tensor([7, 42, 7])).sum().backward()
sparse = table.weight.grad.coalesce()
print(sparse.layout, sparse.indices().tolist(), sparse.values().tolist())

# %% [markdown]
# Row 7 was used twice, so its slopes added up to 2.
#
# ### What broadcasting does to a gradient
#
# Here is a regression with two samples. The prediction is a column, the target a row. The numbers
# are the same as in a column. **Predict** whether the two gradients are.


# %% errata=["myrelu-broadcast"]
def gradient_for(target: list) -> list:
    w = torch.tensor([[3.0, 1.0]], requires_grad=True)
    x = torch.tensor([[-1.0, -1.0], [1.0, 1.0]])
    error = F.relu(x @ w.t() + 3) - torch.tensor(target)
    (error**2).mean().backward()
    return [tuple(error.shape), w.grad.tolist()]


# %% errata=["myrelu-broadcast"]
gradient_for([[2.0], [3.0]]), gradient_for([[2.0, 3.0]])

# %% [markdown]
# > **Then and now.** *"The gradient of this example is [[4.5, 4.5]]."* That is what a much-copied
# > listing prints. Its target is a row, so the error is broadcast to 2 × 2, and every prediction is
# > compared with every target. With a column it is [[4, 4]]. Compare shapes before you subtract.
#
# Backward did not mind. Broadcasting has a VJP like everything else. An element that was read
# twice got two slopes, and they are added. So the VJP of *expand* is a *sum*:

# %%
b = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)  # (1, 3)
wide = b.expand(2, 3)
(gradient,) = torch.autograd.grad(wide, b, torch.tensor([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]))
wide.grad_fn.name(), gradient

# %% [markdown]
# ### Exercise 5.3 — Undo the broadcast ★★ · 8 min · 3 points
#
# An operand of shape `shape` was broadcast. The gradient of the result has arrived. Return the
# gradient of the operand, of shape `shape` and of the same dtype: sum over every dimension that
# broadcasting added in front, and over every dimension that it widened from 1.
#
# Example: the gradient `[[1, 2, 3], [10, 20, 30]]` of shape (2, 3) gives `[11, 22, 33]` for `(3,)`,
# `[[6], [60]]` for `(2, 1)`, and `66` for `()`. If nothing was broadcast, the values stay as they
# are. A widened dimension may have size 0: the sum over nothing is 0. Leave the argument alone.


# %% nbgrader={"grade_id": "unbroadcast", "solution": true}
def unbroadcast(gradient: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """The gradient of an operand of ``shape`` from that of the tensor it was broadcast to."""
    ### BEGIN SOLUTION
    added = gradient.dim() - len(shape)
    widened = [dim + added for dim, size in enumerate(shape) if size == 1]
    dims = [*range(added), *widened]
    return (gradient.sum(dims, keepdim=True) if dims else gradient).reshape(shape)
    ### END SOLUTION


# %% nbgrader={"grade_id": "unbroadcast-check", "grade": true, "points": 3}
def check_case(gradient, shape, because=""):
    operand = torch.zeros(shape, dtype=gradient.dtype, device=gradient.device, requires_grad=True)
    (truth,) = torch.autograd.grad(operand.expand(gradient.shape), operand, gradient)
    with forbid_changes(gradient):
        answer = unbroadcast(gradient, shape)
    call = f"unbroadcast of a gradient {tuple(gradient.shape)} to {tuple(shape)}"
    check_close(answer, truth, call + (f" ({because})" if because else ""))


g = torch.tensor([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]], device=device)
check_case(g, (3,), "a dimension was added in front")
check_case(g, (2, 1), "a widened dimension stays, with size 1")
check_case(g, (1, 3), "a widened dimension stays, with size 1")
check_case(g, (), "a number was read everywhere")
check_case(g, (2, 3), "nothing was broadcast")
check_case(g[:0], (1, 3), "the sum over nothing is 0")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for size in ((4, 2, 3), (1, 2, 1), (2, 0, 3), (5,), ()):
    g = torch.randn(size, generator=generator, dtype=torch.float64).to(device)
    for first in range(len(size) + 1):
        for mask in range(2 ** (len(size) - first)):
            shape = [1 if mask >> i & 1 else n for i, n in enumerate(size[first:])]
            check_case(g, tuple(shape), "sum what was added or widened")
check_case(g.expand(3, 4), (4,), "the gradient is itself an expanded tensor")
check_case(torch.ones(3, 4, dtype=torch.float16, device=device).t(), (3,), "in half precision")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Broadcasting aligns shapes at their ends. How many dimensions does the gradient have more?
# </details>
# <details><summary>Hint 2</summary>
#
# `sum(dims, keepdim=True)` takes a list of dimensions. Mind what it does with an empty list.
# </details>

# %% [markdown]
# ### Exercise 5.4 — Four rules by hand ★★★ · 30 min · 6 points
#
# Write the VJPs of four operations. `gradient` is that of the result; return those of the inputs.
#
# - `matmul_vjp(gradient, a, b)` for `a @ b` with `a` (n, k), `b` (k, m): a pair, for `a` and for
#   `b`.
# - `softmax_vjp(gradient, y)` for `y = x.softmax(-1)`: the gradient of `x`, computed from the
#   *result* `y`.
# - `logsumexp_vjp(gradient, x)` for `x.logsumexp(-1)`, where `gradient` has one dimension less than
#   `x`. It has to be finite for entries of 1000 as well.
# - `layer_norm_vjp(gradient, x, weight)` for `F.layer_norm(x, (d,), weight, bias, eps=1e-5)` with
#   `x` of shape (batch, d): a triple, for `x`, `weight` and `bias`. The normalised value is
#   $\hat{x} = (x - \text{mean}) / \sqrt{\text{var} + 10^{-5}}$ along each row, with the variance
#   divided by d; the result is $\hat{x} \cdot \text{weight} + \text{bias}$.
#
# Example: for y = (0.5, 0.5) and the gradient (1, 0), `softmax_vjp` gives (0.25, −0.25). Use
# formulas, not autograd: recording is switched off while you are checked. All tensors are float32
# or float64. `vjp_by_hand` is given and calls one of the four by name.


# %% nbgrader={"grade_id": "vjp-truth", "locked": true}
OPERATIONS = {
    "matmul": torch.matmul,
    "softmax": lambda x: x.softmax(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "layer_norm": lambda x, weight, bias: F.layer_norm(x, x.shape[-1:], weight, bias, eps=1e-5),
}


def check_vjp(vjp, rule, name, g, *inputs, because=""):
    """Compare ``vjp(rule, g, ...)`` with what autograd says of the operation."""
    inputs = [x.detach().to(device).requires_grad_() for x in inputs]
    result, g, call = OPERATIONS[rule](*inputs), g.to(device), f"the {rule} rule with {name}"
    truth = torch.autograd.grad(result, inputs, g)
    given = [result] if rule == "softmax" else inputs[: 2 if rule != "logsumexp" else 1]
    given = [x.detach() for x in given]
    banned = forbid_operators("_softmax_backward_data", "native_layer_norm_backward")
    with banned, torch.no_grad(), forbid_changes(g, *given):
        answer = vjp(rule, g, *given)
    answer = answer if isinstance(answer, (tuple, list)) else (answer,)
    assert len(answer) == len(truth), f"{call}: {len(answer)} gradients, not {len(truth)}"
    for number, (yours, right) in enumerate(zip(answer, truth, strict=True), start=1):
        what = f"gradient {number} of {call}" + (f" ({because})" if because else "")
        check_close(yours, right, what, rtol=1e-4, atol=1e-5)


# %% nbgrader={"grade_id": "vjp-gradcheck", "locked": true}
class LayerNormByRule(torch.autograd.Function):
    """A layer norm whose backward asks ``vjp``; section 6 explains such classes."""

    @staticmethod
    def forward(ctx, vjp, x, weight, bias):
        ctx.vjp = vjp
        ctx.save_for_backward(x, weight)
        return F.layer_norm(x, x.shape[-1:], weight, bias, eps=1e-5)

    @staticmethod
    def backward(ctx, g):
        return None, *ctx.vjp("layer_norm", g, *(x.detach() for x in ctx.saved_tensors))


# %% nbgrader={"grade_id": "vjp-by-hand", "solution": true}
def matmul_vjp(gradient: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple:
    """Gradients of ``a`` (n, k) and ``b`` (k, m) from that of ``a @ b``."""
    ### BEGIN SOLUTION
    return gradient @ b.t(), a.t() @ gradient
    ### END SOLUTION


def softmax_vjp(gradient: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Gradient of ``x`` from that of ``y = x.softmax(-1)``."""
    ### BEGIN SOLUTION
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))
    ### END SOLUTION


def logsumexp_vjp(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Gradient of ``x`` from that of ``x.logsumexp(-1)``."""
    ### BEGIN SOLUTION
    return gradient.unsqueeze(-1) * x.softmax(-1)
    ### END SOLUTION


def layer_norm_vjp(gradient: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> tuple:
    """Gradients of ``x`` (batch, d), ``weight`` (d,) and the bias from that of the layer norm."""
    ### BEGIN SOLUTION
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    along = (g * normal).mean(-1, keepdim=True)
    g_x = scale * (g - g.mean(-1, keepdim=True) - normal * along)
    return g_x, (gradient * normal).sum(0), gradient.sum(0)
    ### END SOLUTION


def vjp_by_hand(rule: str, *tensors: torch.Tensor) -> torch.Tensor | tuple | None:
    """Given: one of the four rules, by name."""
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% nbgrader={"grade_id": "vjp-by-hand-check", "grade": true, "points": 3}
a, b = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), torch.tensor([[1.0, -1.0], [2.0, 0.5]])
g = torch.tensor([[1.0, 0.0], [0.0, 2.0], [-1.0, 1.0]])
because = "each gradient has its operand's shape, and the products have to fit"
check_vjp(vjp_by_hand, "matmul", "a (3, 2), b (2, 2)", g, a, b, because=because)
x = torch.tensor([[0.0, 0.0], [1.0, 3.0], [2.0, -2.0]])
because = "every entry of y depends on every entry of x in its row"
check_vjp(vjp_by_hand, "softmax", "x (3, 2)", g, x, because=because)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)


def draw(*size):
    return torch.randn(size, generator=generator, dtype=torch.float64)


for n, k, m in ((2, 5, 3), (1, 1, 4), (0, 2, 3), (3, 0, 2)):
    check_vjp(vjp_by_hand, "matmul", f"n, k, m = {n, k, m}", draw(n, m), draw(n, k), draw(k, m))
check_vjp(vjp_by_hand, "matmul", "transposed a and b", draw(3, 2), draw(4, 3).t(), draw(2, 4).t())
for size in ((7,), (2, 3, 4), (5, 1), (0, 3)):
    check_vjp(vjp_by_hand, "softmax", f"x {size}", draw(*size), 3 * draw(*size))
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "vjp-by-hand-check-2", "grade": true, "points": 3}
x, g = torch.tensor([[0.0, 0.0], [1.0, 3.0], [2.0, -2.0]]), torch.tensor([1.0, 0.5, -2.0])
check_vjp(vjp_by_hand, "logsumexp", "x (3, 2)", g, x, because="how much each entry takes part")
because = "exp(1000) is infinite, its share in the sum is not"
check_vjp(vjp_by_hand, "logsumexp", "x (3, 2) + 1000", g, x + 1000, because=because)
x = torch.tensor([[1.0, 2.0, 4.0], [0.0, -1.0, 3.0]])
weight, bias = torch.tensor([1.0, 2.0, -1.0]), torch.tensor([0.5, 0.0, 1.0])
g = torch.tensor([[1.0, 0.0, 0.0], [1.0, -2.0, 0.5]])
because = "mean and variance depend on x as well"
check_vjp(vjp_by_hand, "layer_norm", "x (2, 3)", g, x, weight, bias, because=because)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(1)


def draw(*size):
    return torch.randn(size, generator=generator, dtype=torch.float64)


for size in ((4,), (2, 3, 4), (5, 1)):
    check_vjp(vjp_by_hand, "logsumexp", f"x {size}", draw(*size[:-1]), draw(*size))
for n, d in ((3, 7), (1, 2), (6, 4)):
    inputs = draw(n, d), draw(d), draw(d)
    check_vjp(vjp_by_hand, "layer_norm", f"x {n, d}", draw(n, d), *inputs)
    numeric = [vjp_by_hand, *(t.requires_grad_() for t in inputs)]
    passed = torch.autograd.gradcheck(LayerNormByRule.apply, numeric, raise_exception=False)
    assert passed, "layer_norm_vjp does not pass gradcheck"
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# matmul: write one entry of the result as a sum, and ask in which entries `a[i, j]` takes part. Or
# let the shapes decide: (n, k) can only come from (n, m) times (m, k).
# </details>
# <details><summary>Hint 2</summary>
#
# softmax: the Jacobian of a row is diag(y) − y yᵀ. Multiply it by the gradient without writing it
# down: one sum along the row, one product. logsumexp: its gradient *is* a softmax.
# </details>
# <details><summary>Hint 3</summary>
#
# Layer norm: first the gradient of the normalised value, g · weight. The centring takes its mean
# away, the division takes away its part along the normalised row, and what is left is divided by
# the standard deviation. weight and bias were broadcast over the batch, so their gradients are
# sums.
# </details>

# %% [markdown]
# ## 4. What the record keeps
#
# A rule needs material. That of the matrix product needs both inputs, that of softmax needs its
# result, and that of `+` needs nothing. What a rule will need is **saved** when the forward pass runs.
# **Predict** which of the three operations below saves something.

# %%
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = (x + 1).exp()
draw_graph(h.sum(), x=x, h=h)

# %% [markdown]
# Only `exp`: it is its own derivative, so it keeps its *result*, 12 bytes. The sum only has to know
# its shape. To see what is saved while it happens, ask to be called each time. This is done with a
# pair of **saved-tensor hooks**: one packs what is saved, the other unpacks it in backward.

# %%
saved = []


def pack(tensor: torch.Tensor) -> torch.Tensor:
    saved.append(tensor)
    return tensor


# %%
with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
    (x.exp() * x).sum()
[[round(number, 2) for number in t.tolist()] for t in saved]

# %% [markdown]
# `exp` saved its result. The product saved both factors: that result once more, and `x`. Three
# tensors, but only one new storage. `x` was there before, and the result is kept once, however many
# rules point to it.
#
# **In practice.** Training takes so much more memory than inference because of these saved tensors,
# the *activations*. They grow with the batch. The weights do not.
#
# ### How long does it live?
#
# > **Then and now.** *"The graph is destroyed right after backward, so a second backward always
# > raises."* What is freed are the saved tensors. The functions stay as long as somebody refers to
# > the result. Where nothing was saved, nothing is missing:

# %% topics=["graph-lifetime"] errata=["graph-always-destroyed"]
x = torch.ones(2, requires_grad=True)
plain, squared = (x + 1).sum(), (x * x).sum()
plain.backward()
plain.backward()
squared.backward()

# %% topics=["graph-lifetime"] errata=["graph-always-destroyed"]
try:
    squared.backward()
except RuntimeError as error:
    print(str(error).split(" (")[0])
x.grad

# %% [markdown]
# The two backward passes through `plain` both counted: 1 + 1, and 2 from `squared`. If you do need
# a second pass, say so in the first: `backward(retain_graph=True)` keeps the saved tensors. It is
# seldom what you want. If it "fixes" an error in a training loop, then some tensor of the last step
# is still in use in this one, and the graph grows with every step. Detach that tensor.
#
# **In practice.** The same thing happens without any error when you collect losses for a plot. Each
# of them holds its graph, and the graph holds what was saved. Collect `loss.item()`.

# %% topics=["graph-lifetime"]
squared = (x * x).sum()
squared.backward(retain_graph=True)
squared.backward()
x.grad

# %% topics=["graph-lifetime"]
losses = [x.exp().sum() for _ in range(100)]
numbers = [loss.item() for loss in losses]
sum(draw_graph(loss).saved_bytes for loss in losses), "bytes for 100 losses of two numbers each"

# %% [markdown]
# ### Exercise 5.5 — To the byte ★★ · 15 min · 4 points
#
# **First predict.** `h` has shape (32, 50), float32, and is computed from parameters. `w` is a
# parameter of shape (50, 10), `t` holds 32 targets. For each line write how many bytes of storage
# it keeps for backward. `h` counts if a line keeps it; the storages of `w` and `t` do not, they are
# there anyway. A storage that several rules keep counts once. A few facts that you need: relu and
# softmax keep their results, like `exp`; `where` keeps its condition; the cross entropy is a
# log-softmax, which keeps its result, and a second rule, which keeps that same result and one float
# of its own.
#
# **Then measure.** `saved_bytes(function, *inputs)` calls `function(*inputs)` once and returns how
# many bytes of storage autograd keeps for its backward, each storage once, and those of the inputs
# not at all. Count whole storages, not elements: a view keeps all of its storage alive.
#
# Example: for `torch.exp` and four float32 numbers it is 16. For `torch.mul(x, x)` it is 0: both
# factors are inputs.

# %% nbgrader={"grade_id": "saved-bytes", "solution": true}
from collections.abc import Callable

kept_bytes = {
    "h + 1": None,
    "h * h": None,
    "h.exp()": None,
    "F.relu(h)": None,
    "h.sum(0)": None,
    "h / h.sum()": None,
    "torch.where(h > 0, h, 0.0)": None,
    "h @ w": None,
    "F.cross_entropy(h @ w, t)": None,
    "F.relu(h) @ w": None,
}


def saved_bytes(function: Callable, *inputs: torch.Tensor) -> int:
    """Bytes of the storages, other than those of the inputs, that autograd keeps."""
    ### BEGIN SOLUTION
    storages = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(*inputs)
    for tensor in inputs:
        storages.pop(tensor.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())
    ### END SOLUTION


### BEGIN SOLUTION
kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}
### END SOLUTION

# %% nbgrader={"grade_id": "saved-bytes-check", "grade": true, "points": 2} jupyter={"source_hidden": true}
because = {
    "h + 1": "the slope is 1, whatever h is",
    "h * h": "both factors are h: one storage of 32 · 50 · 4 bytes",
    "h.exp()": "it keeps its result, 32 · 50 floats",
    "F.relu(h)": "it keeps its result, 32 · 50 floats",
    "h.sum(0)": "it keeps only the shape",
    "h / h.sum()": "the quotient needs h and the sum, which is one float",
    "torch.where(h > 0, h, 0.0)": "it keeps the condition: a truth value is one byte",
    "h @ w": "the rule for w needs h, the one for h needs w, which is there anyway",
    "F.cross_entropy(h @ w, t)": "h for the product, 32 · 10 floats of the log-softmax, one float",
    "F.relu(h) @ w": "relu and the product keep the same tensor",
}
w, t = torch.randn(50, 10, requires_grad=True), torch.zeros(32, dtype=torch.int64)
machine = {}
for line in because:
    h = torch.randn(32, 50, requires_grad=True) + 0
    result = eval(line, {"h": h, "w": w, "t": t, "F": F, "torch": torch})
    held = [x.untyped_storage() for node in draw_graph(result).nodes for x in node.saved]
    kept = {storage.data_ptr(): storage.nbytes() for storage in held}
    there = {x.untyped_storage().data_ptr() for x in (w, t)}
    machine[line] = sum(size for place, size in kept.items() if place not in there)
check_predictions(kept_bytes, machine, because)


# %% nbgrader={"grade_id": "saved-bytes-check-2", "grade": true, "points": 2}
def check_case(function, inputs, name, because=""):
    inputs = [x.to(device) for x in inputs]
    result = function(*inputs)
    nodes = draw_graph(result).nodes if result.requires_grad else []
    held = [x.untyped_storage() for node in nodes for x in node.saved]
    kept = {storage.data_ptr(): storage.nbytes() for storage in held}
    there = {x.untyped_storage().data_ptr() for x in inputs}
    truth = sum(size for place, size in kept.items() if place not in there)
    with forbid_changes(*inputs):
        check_equal(saved_bytes(function, *inputs), truth, f"saved_bytes of {name}", because)


x = torch.tensor([[3.0, 4.0, 0.0], [1.0, 2.0, 2.0]], requires_grad=True)
check_case(torch.exp, [x], "exp of six floats", "the result is kept: 24 bytes")
check_case(torch.mul, [x, x], "mul(x, x)", "the inputs do not count")
because = "an expanded tensor has few boxes: count storages, not elements"
check_case(F.normalize, [x], "F.normalize of six floats", because)
inputs, because = [x, torch.tensor([0, 2])], "two rules keep the log-softmax: one storage"
check_case(F.cross_entropy, inputs, "F.cross_entropy of two rows of three", because)
check_case(torch.exp, [x.detach()], "exp of a tensor that requires no grad", "nothing is recorded")
### BEGIN HIDDEN TESTS
x = torch.rand(7, 9, generator=torch.Generator().manual_seed(0)).requires_grad_()
for y in (x, x.detach().double().requires_grad_(), x.detach(), x[:0]):
    for function in (torch.sigmoid, F.softplus, torch.prod, F.normalize, F.gelu):
        check_case(function, [y], f"{function.__name__} of shape {tuple(y.shape)}")
check_case(torch.mul, [x[:3], x[4:]], "the product of two slices of one tensor")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For each line ask: what would *my* rule for this operation need?
# </details>
# <details><summary>Hint 2</summary>
#
# For the function: `saved_tensors_hooks(pack, unpack)`, and a dict from
# `untyped_storage().data_ptr()` to the storage. A storage says its size by `nbytes()`.
# </details>
# <details><summary>Hint 3</summary>
#
# Keep the storages themselves in the dict, not only their sizes: what nobody holds is freed, its
# memory is used again, and two storages can have had the same address. At the end, take the inputs'
# out.
# </details>

# %% [markdown]
# ### Somebody edits what was saved
#
# Saving costs no copy: the record points at your tensor. So what if you write to it before backward
# comes? To notice, every tensor has a **version**, a counter that each in-place operation moves on.
# All views of a storage share it. When a tensor is saved, its version is saved as well, and
# backward compares.

# %% topics=["autograd-inplace-errors"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x.exp()
print("saved at version", y._version)
y += 1
print("now at version", y._version)

# %% topics=["autograd-inplace-errors"]
try:
    y.sum().backward()
except RuntimeError as error:
    print(str(error).split("; expected")[0].split(": [")[0], "...")

# %% topics=["autograd-inplace-errors"]
draw_graph(y, x=x)

# %% [markdown]
# An error is the good ending: the gradient would have been wrong. The same edit is harmless if
# nothing needs the old value. `x + 1` saves nothing, and `sin` saves its *input*, so their results
# may be edited. You do not have to learn this by heart. The check is strict: it may refuse an edit
# that would have done no harm, in another part of the same storage for example, but it lets no
# harmful one through.
#
# Unless you go behind its back.
#
# > **Then and now.** *"`x.data` gives you the raw tensor."* It does, with a version counter of its
# > own. An edit through `.data` is not noticed, and that is the puzzle from the beginning.
# > `detach()` gives the same memory and *shares* the counter:

# %% tags=["shows-deprecated"] topics=["data-vs-detach"] errata=["dot-data-silent-wrong-grad"]
print("by .data:   ", slope(lambda h: h.data.zero_()))
try:
    slope(lambda h: h.detach().zero_())
except RuntimeError as error:
    print("by detach():", str(error).split(": [")[0])

# %% [markdown]
# The puzzle is solved. The rule for `a * h` needs `h`, and it read `h` only in backward. By then
# somebody had written zeros into it, through a door where nobody counts.
#
# A last kind of error comes at once. A leaf that requires grad must not be written to while
# recording is on: its old value would be lost, and the new one would no longer be a leaf.

# %% topics=["autograd-inplace-errors"]
w = torch.ones(2, requires_grad=True)
try:
    w -= 0.1
except RuntimeError as error:
    print(error)

# %% topics=["autograd-inplace-errors"]
with torch.no_grad():
    w -= 0.1
w

# %% [markdown]
# This is how optimizers write to the weights: under `no_grad`, between one graph and the next.
#
# ### Exercise 5.6 — The tribunal ★★★ · 25 min · 5 points
#
# Ten functions of `x` (1-D, float) stand before you. Each edits something in place. The caller will
# ask for the gradient of what it returns.
#
# **First judge.** For each write `"fine"` (the gradient is right), `"error"` (an error is raised,
# in forward or in backward) or `"wrong"` (no error, and a gradient that is not that of the values
# returned).
#
# **Then repair** those that are not fine. Put into `repaired` a function of `x` that returns the
# same values, has the right gradient, and leaves `x` as it was. `version_tribunal` is given; it
# runs a repaired function forward and backward.


# %% nbgrader={"grade_id": "in-place-cases", "locked": true} tags=["shows-deprecated"]
def edit_exp(x):
    y = x.exp()
    y += 1
    return y


def edit_sin(x):
    y = (2 * x).sin()
    y *= 3
    return y


def edit_sum(x):
    h = x + 1
    y = h.sum()
    h += 1
    return y + h


def edit_square(x):
    h = x + 1
    y = h * h
    h += 1
    return y + h


def edit_slice(x):
    y = x.sigmoid()
    y[0] = 0
    return y


# %% nbgrader={"grade_id": "in-place-cases-2", "locked": true} tags=["shows-deprecated"]
def edit_constant(x):
    m = torch.ones_like(x)
    y = x * m
    m += 1
    return y + m


def edit_added(x):
    m = torch.ones_like(x)
    y = x + m
    m += 1
    return y + m


def edit_detached(x):
    y = x.tanh()
    y.detach().mul_(0.5)
    return y


def edit_data(x):
    y = x.tanh()
    y.data.mul_(0.5)
    return y


def edit_leaf(x):
    x += 1
    return x * x


CASES = [edit_exp, edit_sin, edit_sum, edit_square, edit_slice]
CASES += [edit_constant, edit_added, edit_detached, edit_data, edit_leaf]


# %% nbgrader={"grade_id": "run-backward", "locked": true}
def forward_backward(function, upstream, x):
    """The values of ``function(x)`` and the gradient of ``x``, both detached."""
    leaf = x.detach().clone().requires_grad_()
    y = function(leaf)
    (gradient,) = torch.autograd.grad(y, leaf, upstream)
    assert torch.equal(leaf, x), "the function changed its argument x"
    return y.detach(), gradient


def numeric_gradient(function, upstream, x):
    """The gradient of ``x`` by nudging each of its entries a little up and down, in float64."""
    nudges, slopes = 1e-5 * torch.eye(len(x), dtype=torch.float64, device=x.device), []
    with torch.no_grad():
        for nudge in nudges:
            high, low = function(x.double() + nudge), function(x.double() - nudge)
            slopes.append(((high - low) * upstream).sum() / 2e-5)
    return torch.stack(slopes).to(x.dtype)


# %% nbgrader={"grade_id": "version-tribunal", "solution": true}
verdicts = {
    "edit_exp": None,
    "edit_sin": None,
    "edit_sum": None,
    "edit_square": None,
    "edit_slice": None,
    "edit_constant": None,
    "edit_added": None,
    "edit_detached": None,
    "edit_data": None,
    "edit_leaf": None,
}
repaired = {}  # for example repaired["edit_exp"] = lambda x: ...
### BEGIN SOLUTION
verdicts = dict.fromkeys(verdicts, "error")
verdicts |= {"edit_sin": "fine", "edit_sum": "fine", "edit_added": "fine", "edit_data": "wrong"}


def without_first(x: torch.Tensor) -> torch.Tensor:
    y = x.sigmoid().clone()
    y[0] = 0
    return y


repaired["edit_exp"] = lambda x: x.exp() + 1
repaired["edit_square"] = lambda x: (x + 1) * (x + 1) + (x + 2)
repaired["edit_slice"] = without_first
repaired["edit_constant"] = lambda x: x * torch.ones_like(x) + 2
repaired["edit_detached"] = lambda x: x.tanh() * 0.5
repaired["edit_data"] = lambda x: x.tanh() * 0.5
repaired["edit_leaf"] = lambda x: (x + 1) ** 2
### END SOLUTION


def version_tribunal(name: str, x: torch.Tensor, upstream: torch.Tensor) -> tuple | None:
    """Given: values and gradient of the repaired function, None where there is none."""
    return forward_backward(repaired[name], upstream, x) if name in repaired else None


# %% nbgrader={"grade_id": "version-tribunal-check", "grade": true, "points": 2} jupyter={"source_hidden": true}
for name, verdict in verdicts.items():
    known = verdict in (None, "fine", "error", "wrong")
    assert known, f'{name}: write "fine", "error" or "wrong", not {verdict!r}'
machine, x, g = {}, torch.tensor([0.5, 1.0, 2.0]), torch.tensor([1.0, -1.0, 2.0])
for case in CASES:
    try:
        gradient = forward_backward(case, g, x)[1]
        right = torch.allclose(gradient, numeric_gradient(case, g, x), atol=1e-4)
        machine[case.__name__] = "fine" if right else "wrong"
    except (RuntimeError, AssertionError):
        machine[case.__name__] = "error"
because = {
    "edit_exp": "exp saves its result, and the result was edited",
    "edit_sin": "sin saves its input, multiplying by a number saves nothing of y",
    "edit_sum": "the sum saves a shape, no numbers",
    "edit_square": "the product saved h, and h was edited",
    "edit_slice": "y[0] is a view of y: it shares the version, and sigmoid saves its result",
    "edit_constant": "the slope in x is m, so m was saved",
    "edit_added": "a sum needs neither of its terms",
    "edit_detached": "detach shares memory and version: the edit is noticed",
    "edit_data": "behind .data nobody counts: tanh reads a result that was edited",
    "edit_leaf": "x itself requires grad: it must not be written to while recording",
}
check_predictions(verdicts, machine, because)


# %% nbgrader={"grade_id": "version-tribunal-check-2", "grade": true, "points": 3}
def check_case(case, x):
    name, g = case.__name__, torch.linspace(-1, 2, len(x), dtype=x.dtype, device=x.device)
    with torch.no_grad():
        values = case(x.clone())
    answer = version_tribunal(name, x, g)
    assert answer is not None, f"there is no repaired[{name!r}] yet"
    check_close(answer[0], values, f"the values of repaired[{name!r}] for {len(x)} numbers")
    what, truth = f"the gradient of repaired[{name!r}]", numeric_gradient(case, g, x)
    check_close(answer[1], truth, f"{what} for {len(x)} numbers", rtol=1e-4, atol=1e-4)


broken = (edit_exp, edit_square, edit_slice, edit_constant, edit_detached, edit_data, edit_leaf)
for case in broken:
    check_case(case, torch.tensor([0.5, 1.0, 2.0], device=device))
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for case in broken:
    for size in (1, 6):
        x = torch.randn(size, generator=generator, dtype=torch.float64).to(device)
        check_case(case, x)
    check_case(case, torch.linspace(-2, 2, 8, device=device)[::2])
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For each edit: which rule saved the tensor that is edited, or a view of it? A sum saves nothing, a
# product its factors, `sin` its input; `exp`, `tanh` and `sigmoid` save their results.
# </details>
# <details><summary>Hint 2</summary>
#
# The usual repair is the same operation without the underscore: `y = y + 1` instead of `y += 1`.
# The name then points to a new tensor, and the saved one stays as it was.
# </details>
# <details><summary>Hint 3</summary>
#
# To write into a part, edit a `clone()`: its rule saves nothing.
# </details>

# %% [markdown]
# ## 5. Not recording
#
# The record costs memory, and it ties tensors to their past. So there are four ways not to record,
# and people mix them up. Here they are, from the largest to the smallest:
#
# | you write | it means |
# | --- | --- |
# | `with torch.inference_mode():` | record nothing here, and never let the results into a graph |
# | `with torch.no_grad():` | record nothing here |
# | `parameter.requires_grad_(False)` | this leaf needs no gradient, until further notice |
# | `x.detach()` | the same numbers, without their past |

# %% topics=["detach-vs-no-grad", "no-grad-inference"]
w = torch.ones(3, requires_grad=True)
with torch.no_grad():
    quiet = w * 2
with torch.inference_mode():
    silent = w * 2
print(quiet.requires_grad, silent.requires_grad, (w * 2).detach().requires_grad)

# %% topics=["detach-vs-no-grad", "no-grad-inference"]
print((quiet * w).requires_grad)
try:
    silent * w
except RuntimeError as error:
    print(str(error).split(". ")[0])

# %% [markdown]
# `quiet` is an ordinary tensor. It may take part in a later graph, as a constant. `silent` may not:
# an inference tensor has no version counter, and what cannot be checked must not be saved. In
# return, `inference_mode` is a little faster. Use it where results are only looked at, and
# `no_grad` where they may be used again.
#
# > **Then and now.** *"`with torch.zero_grad():` switches autograd off during validation."* There
# > is no such thing. `zero_grad` is a method that clears gradients; the block is `no_grad`.

# %% topics=["no-grad-inference"] errata=["no-grad-called-zero-grad"]
hasattr(torch, "zero_grad"), hasattr(torch, "no_grad")

# %% topics=["no-grad-inference"]
for recording in (False, True):
    saved.clear()
    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
    with hooks, torch.set_grad_enabled(recording):
        w.exp().tanh()
    print("recording:", recording, " saved tensors:", len(saved))

# %% [markdown]
# Nothing saved: that is why validation under `no_grad` needs a fraction of the memory, and less
# time. To decide by a flag, there is `torch.set_grad_enabled(training)`. All of them work as
# decorators too.
#
# **`eval()` is something else.** It tells the layers to behave as in use: dropout lets everything
# through, batch norm takes its running averages. It has nothing to do with recording. **Predict**
# the four lines:

# %% topics=["eval-vs-no-grad"]
dropout, ones = nn.Dropout(0.5), torch.ones(1000, requires_grad=True)
for training, recording in ((True, True), (True, False), (False, True), (False, False)):
    dropout.train(training)
    with torch.set_grad_enabled(recording):
        y = dropout(ones * 1)
    print(f"{training=!s:5} drops {bool((y == 0).any())!s:5} records {y.requires_grad}")

# %% [markdown]
# All four combinations exist. Validation wants both: `model.eval()` and `no_grad`.
#
# **`detach()`** is for one tensor. It gives a view, as you know from chapter 02.
#
# > **Then and now.** *"`detach()` gives a copy without gradient."* It shares memory *and version*:
# > writing through it changes the original, and autograd knows. A copy is `detach().clone()`. And
# > `detach_()` cuts the tensor itself off from its past.

# %% topics=["detach-vs-no-grad"] errata=["detach-returns-copy"]
h = torch.ones(3, requires_grad=True) * 2
free = h.detach()
free[0] = 7
print(h.tolist(), h._version, free.requires_grad)
h.detach_()
print(h.requires_grad, h.is_leaf)

# %% [markdown]
# **Getting numbers out.** NumPy cannot record, so PyTorch refuses to hand it a tensor that requires
# grad.
#
# > **Then and now.** *"Get the values by `x.cpu().numpy()`"* and *"by `x.data.cpu().numpy()`."* The
# > first fails if `x` requires grad; the second goes behind the version counter. Write
# > `x.detach().cpu().numpy()`. For a single number, `item()` does all of it.

# %% topics=["data-vs-detach"] errata=["numpy-of-grad-tensor"]
x = torch.ones(2, requires_grad=True)
try:
    x.cpu().numpy()
except RuntimeError as error:
    print(error)
print(x.detach().cpu().numpy(), x.sum().item(), x.tolist())

# %% [markdown]
# > **Then and now.** *"`copy.deepcopy` fails inside a graph, so store
# > `copy.deepcopy(feature.data.cpu().numpy())`."* It still fails for a tensor with a `grad_fn`: the
# > copy would need a past of its own. You want the values, so `detach().clone()` is all you need.

# %% topics=["leaf-tensors"] errata=["deepcopy-advice"]
import copy

feature = torch.ones(2, requires_grad=True) * 2
try:
    copy.deepcopy(feature)
except RuntimeError as error:
    print(str(error).split(". ")[0].split(",")[0])

# %% topics=["leaf-tensors"] errata=["deepcopy-advice"]
feature.detach().clone(), copy.deepcopy(x).is_leaf

# %% [markdown]
# **In practice.** A pretrained backbone that is not to learn runs under `no_grad` and in `eval()`: it
# saves nothing. That works as long as nothing *before* it has to learn. If something has, a prompt
# or an adapter for instance, freeze the backbone instead: gradients pass through what is frozen.
#
# ### Exercise 5.7 — The family ★★ · 10 min · 3 points
#
# Twelve statements about `w = torch.ones(3, requires_grad=True)`, and about two layers of which
# only one is to learn. Write `True` or `False` for each. "Works" means: raises no error, neither
# forward nor backward. The check is folded again.


# %% nbgrader={"grade_id": "family-facts", "locked": true} jupyter={"source_hidden": true}
def works(call) -> bool:
    """Whether ``call()`` and its backward, where it has one, raise no RuntimeError."""
    try:
        result = call()
        if result.requires_grad:
            result.sum().backward()
    except RuntimeError:
        return False
    return True


def first_layer_learns(freeze: bool) -> bool:
    """Whether the first layer gets a gradient, the second being frozen or under no_grad."""
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.requires_grad_(not freeze)
    hidden = first(torch.ones(1, 2))
    with torch.set_grad_enabled(freeze):
        loss = second(hidden)
    return works(lambda: loss) and first.weight.grad is not None


# %% nbgrader={"grade_id": "no-grad-family", "solution": true}
no_grad_family = {
    "no_grad: w * 2 requires grad": None,
    "no_grad: torch.ones(3, requires_grad=True) does": None,
    "no_grad: w += 1 works": None,
    "no_grad: w * 2 made there, times w later, works": None,
    "inference_mode: w * 2 made there, times w later, works": None,
    "inference_mode: w * 2 made there, plus w later, works": None,
    "detach: w.detach() shares the memory of w": None,
    "detach: writing to w.detach() changes the version of w": None,
    "detach: (w.detach() * w).sum() gives w a gradient": None,
    "requires_grad_: (w * 2).requires_grad_(False) works": None,
    "second layer frozen: the first gets a gradient": None,
    "second layer under no_grad: the first gets a gradient": None,
}
### BEGIN SOLUTION
no_grad_family = dict.fromkeys(no_grad_family, True)
no_grad_family["no_grad: w * 2 requires grad"] = False
no_grad_family["inference_mode: w * 2 made there, times w later, works"] = False
no_grad_family["requires_grad_: (w * 2).requires_grad_(False) works"] = False
no_grad_family["second layer under no_grad: the first gets a gradient"] = False
### END SOLUTION

# %% nbgrader={"grade_id": "no-grad-family-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
w = torch.ones(3, requires_grad=True)
with torch.no_grad():
    quiet, fresh, adds = w * 2, torch.ones(3, requires_grad=True), works(lambda: w.add_(1).detach())
with torch.inference_mode():
    silent = w * 2
version, free = w._version, w.detach().add_(1)
truth = [quiet.requires_grad, fresh.requires_grad, adds, works(lambda: quiet * w)]
truth += [works(lambda: silent * w), works(lambda: silent + w), free.data_ptr() == w.data_ptr()]
truth += [w._version > version, works(lambda: free.clone() * w)]
truth += [works(lambda: (w * 2).requires_grad_(False)), *map(first_layer_learns, (True, False))]
because = {
    "no_grad: w * 2 requires grad": "inside, no operation is recorded",
    "no_grad: torch.ones(3, requires_grad=True) does": "no_grad is about operations, not leaves",
    "no_grad: w += 1 works": "this is how optimizers write to the weights",
    "no_grad: w * 2 made there, times w later, works": "it is an ordinary tensor, a constant",
    "inference_mode: w * 2 made there, times w later, works": "the product has to save it",
    "inference_mode: w * 2 made there, plus w later, works": "a sum saves nothing",
    "detach: w.detach() shares the memory of w": "it is a view",
    "detach: writing to w.detach() changes the version of w": "a view shares the version",
    "detach: (w.detach() * w).sum() gives w a gradient": "the other factor is w itself",
    "requires_grad_: (w * 2).requires_grad_(False) works": "only leaves can be told; use detach()",
    "second layer frozen: the first gets a gradient": "the gradient passes through it",
    "second layer under no_grad: the first gets a gradient": "the way back was not recorded",
}
check_predictions(no_grad_family, dict(zip(because, truth, strict=True)), because)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `no_grad` stops the recording of *operations*. Which of the lines are operations on `w`, and which
# make a new leaf?
# </details>
# <details><summary>Hint 2</summary>
#
# An inference tensor may be computed with, as long as no rule wants to save it. Which rules save
# their operands?
# </details>
# <details><summary>Hint 3</summary>
#
# For the layers, draw the way from the loss back to the first layer. Does every function on it
# exist?
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
