# ---
# jupyter:
#   course:
#     title: Autograd
#     minutes: 224
#     core: 138
# ---

# %% [markdown]
# # Autograd: who wrote down what you did?
#
# You compute a loss with ordinary Python. Then you call `backward()`, and every weight knows in
# which direction to go. What you did must have been written down while you did it. This chapter
# is about that record: what is in it, in which order it is read, what each entry has to know, what
# it keeps in memory, and how to work without it. When a gradient is wrong, missing, or too large
# for the memory, the reason is in the record.
#
# **After this chapter you can**
#
# - read the graph behind a tensor, and say which tensors get a gradient;
# - walk a graph backward by hand, and write the engine that does it;
# - write the backward rules of the usual layers;
# - say how many bytes a computation keeps for its backward pass;
# - tell which in-place edits break a gradient, which spoil it without a word, and which are fine;
# - choose between `no_grad`, `inference_mode`, `detach` and `requires_grad_(False)`;
# - train a network with autograd switched off.
#
# **It leans on** tensors, views and storages (chapters 01 and 02), on matrix products (chapter 03),
# and for exercises 5.6 and 5.10 on softmax and logsumexp (chapter 04). Layers and optimizers appear
# as they are used; later chapters explain them. **Time:** a little over three and a half hours; the
# optional exercise 5.6 takes forty minutes more, in a second sitting. The sections and exercises marked
# *core* take two hours and twenty minutes; nothing later leans on the rest. You can skip any exercise.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_predictions, count_operators, draw_graph, every_case
from course_utils import check_states, runs_with_the_answer, seeded, show

# %% [markdown]
# The small tensors of this chapter stay on the CPU. Where there is a GPU, the checks try your functions
# on it.
#
# ## A puzzle to start with · core
#
# The function below computes `out`, 4 · 6 + 4 · 10 = 64, whose slope in `a` is 6 + 10 = 16. Then it
# lets `edit` write to `h`, and only then asks for the slope. **Predict:** does an edit that comes
# *after* `out` change the slope of `out`?


# %%
def slope(edit) -> float:
    a, h = torch.tensor(4.0, requires_grad=True), torch.tensor([6.0, 10.0])
    out = (a * h).sum()
    edit(h)
    out.backward()
    return a.grad.item()


# %% tags=["shows-deprecated"] errata=["dot-data-silent-wrong-grad"]
print("no edit:       ", slope(lambda h: None))
print("h.data.zero_():", slope(lambda h: h.data.zero_()))

# %% [markdown]
# The second slope is 0, which is wrong, and nothing warns you. `out` was computed before the edit.
# The slope was not computed together with `out`, then. It was computed later, from something that
# was kept. To see what was kept, and why the edit went unnoticed, we have to read the record.

# %% [markdown]
# ## 1. The record · core
#
# Ordinary tensors leave no trace. Recording begins with a tensor that *requires grad*. By default a
# tensor does not; the parameters of a module do; whole numbers, which have no slope, can't.

# %% topics=["requires-grad-default"] tags=["shows-false"]
print("torch.ones:", torch.ones(2).requires_grad)
print("a weight:  ", nn.Linear(2, 1).weight.requires_grad)

# %% topics=["requires-grad-default"]
x = torch.ones(2).requires_grad_()  # or torch.ones(2, requires_grad=True)
print("x:", x.requires_grad, " x * 2:", (x * 2).requires_grad)
try:
    torch.arange(3).requires_grad_()
except RuntimeError as error:
    print(error)

# %% [markdown]
# The result of `x * 2` requires grad because `x` does. It refers to the operation that made it, or
# rather to the function that will carry slopes back through that operation: its `grad_fn`. Here is a
# small expression, $(x + 1 - 2x)^2$ at $x = 3$, in steps that have names:

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
draw_graph(out, out=out, x=x, y=y, z=z, saved=False)

# %% [markdown]
# The orange box at the top is the result. The blue boxes are functions, each named after the operation
# that it carries slopes back through. The green box at the end is `x`: it was not computed, so there
# is nothing behind it. Such a tensor is called a **leaf**. The arrows point the way that backward will
# go, from the result to the leaf. Two paths lead to `x`, because `x` was used twice.
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
# Both paths count, so they are added. With `values=True` the picture shows every number, and the
# slope of `out` there:

# %% topics=["backward-scalar", "backprop-steps"]
draw_graph(out, values=True, x=x, y=y, z=z)

# %% topics=["backward-scalar", "backprop-steps"]
out.backward()
x.grad

# %% [markdown]
# `backward()` returns nothing. It leaves the gradient in `x.grad`, a tensor of the shape of `x`.
# You call it on a tensor with one element, usually a loss: only a single number has *one* slope for
# each input. Section 3 is about the other case.
#
# ### Exercise 5.1 — Slopes by pencil ★ · 2 min · 1 point · core
#
# `p = a * b` and `out = p + a`, at a = 2 and b = 5. Write down the value of `out` and its slopes in
# `p`, `b` and `a`, as numbers.

# %% nbgrader={"grade_id": "pencil-slopes", "solution": true}
pencil_slopes = {
    "out": None,
    "slope in p": None,
    "slope in b": None,
    "slope in a": None,
}
### BEGIN SOLUTION
pencil_slopes = {"out": 12, "slope in p": 1, "slope in b": 2, "slope in a": 6}
### END SOLUTION

# %% nbgrader={"grade_id": "pencil-slopes-check", "grade": true, "points": 1} jupyter={"source_hidden": true}
a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
p = a * b
out = p + a
machine = {"out": out.item()}
for name, slope_there in zip("pba", torch.autograd.grad(out, [p, b, a]), strict=True):
    machine[f"slope in {name}"] = slope_there.item()
because = {
    "out": "2 · 5 + 2",
    "slope in p": "a sum moves as much as each of its terms",
    "slope in b": "only p depends on b: the slope in p, times the other factor",
    "slope in a": "two ways lead to a, through p and straight from the sum: add both",
}
guesses = pencil_slopes
if isinstance(guesses, dict):  # a number that was computed may end in …9999
    guesses = {key: round(g, 6) if isinstance(g, float) else g for key, g in guesses.items()}
check_predictions(guesses, machine, because)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Nudge p by 0.01: by how much does the sum move? Nudge a by 0.01: how much does p move, and how
# much the other term?
# </details>

# %% [markdown]
# ### What is not kept
#
# The slopes of `y` and `z` were −4 and 4. Are they still there?

# %% errata=["intermediate-grad-assigned"] topics=["retain-grad"]
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print("y.grad:", y.grad)
print(str(caught[0].message).split(".  ")[0].split(". ")[0])

# %% [markdown]
# > **Often said.** *"Backward stores the gradients of the intermediate results in their `.grad`."*
# > It does not. They are handed on and let go; keeping them all would cost about as much
# > memory again as the results themselves. If you need a gradient, ask beforehand: `retain_grad()`.

# %% topics=["retain-grad"]
x = torch.tensor(3.0, requires_grad=True)
y, z = x + 1, 2 * x
z.retain_grad()
((y - z) ** 2).backward()
print("z.grad:", z.grad, " x.grad:", x.grad)

# %% [markdown]
# ### Python builds it while it runs
#
# You never declare the graph. It is what happened. That is why `if` and `while` need no special
# treatment: each run records what that run did. **Predict** both slopes.


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
# Three rounds give 27, two give 9. That is why you can print, or set a breakpoint, in the middle of a
# PyTorch model. The price: nothing sees the whole before it runs. (`torch.compile`, chapter 16,
# traces a function together with its backward before the real run.)
#
# ### Leaves
#
# Which tensors get a `.grad`? Those that require grad and are leaves. And what exactly is a leaf?
#
# > **Often said.** *"A leaf is a tensor that the user made and that requires grad."* Close, but the
# > rule is simpler. A tensor that does not require grad is always a leaf, computed or not. A tensor
# > that requires grad is a leaf if it has no `grad_fn`.

# %% topics=["leaf-tensors"] errata=["leaf-definition"]
c = torch.ones(2)
w = torch.ones(2, requires_grad=True)
print("no grad required:", c.is_leaf, (c * 2).is_leaf)
print("grad required:   ", w.is_leaf, (w * 2).is_leaf, (w * 2).detach().is_leaf)

# %% [markdown]
# A trap follows from it. You make `w`, then move it or convert it. **Predict** which of the three
# results are leaves. (`meta` is a device without memory: here it represents any other device.)

# %% topics=["leaf-tensors"] tags=["shows-false"]
w = torch.ones(2, requires_grad=True)
moves = {'to("cpu")': w.to("cpu"), 'to("meta")': w.to("meta"), "double()": w.double()}
for name, moved in moves.items():
    print(f"w.{name:<10} is w: {moved is w!s:5}  leaf: {moved.is_leaf}")

# %% [markdown]
# Where there is nothing to do, `to` returns the tensor itself. Where there is something to do, the
# result is a computed tensor, and the leaf is what it was made from. That is why
# `w = torch.ones(2, requires_grad=True).to(device)` trains on your laptop, and on the GPU `w.grad`
# stays `None`: a bug that the laptop never shows. `* 0.01` behind `requires_grad=True` does the
# same everywhere. Make the tensor first, in its final dtype and place, and call `requires_grad_()`
# last.
#
# **Freezing** a layer means that its leaves no longer require grad: `layer.requires_grad_(False)`.
#
# > **Often said.** *"A frozen layer still has its gradients computed; only `detach()` saves the
# > work."* Count the matrix products of a backward pass through two layers, the second frozen or
# > not:


# %% errata=["freezing-still-computes"]
def products_in_backward(freeze: bool) -> tuple[int, bool]:
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.requires_grad_(not freeze)
    loss = second(first(torch.ones(1, 2))).sum()
    with count_operators() as counts:
        loss.backward()
    return counts["mm"], first.weight.grad is not None


# %% errata=["freezing-still-computes"] tags=["shows-false"]
for freeze in (False, True):
    products, first_learns = products_in_backward(freeze)
    print(f"second frozen: {freeze!s:5}  products: {products}  first gets a grad: {first_learns}")

# %% [markdown]
# The product for the frozen weight is gone. The first layer still gets its gradient, through the
# frozen layer. A `detach()` between the two would have cut that off.
#
# The exercise also needs this: inside `with torch.no_grad():` nothing is recorded, so what is
# computed there requires no grad. (Section 5 has more.)

# %% [markdown]
# ### Exercise 5.2 — Who gets a gradient? ★ · 8 min · 3 points · core
#
# The locked cell makes ten tensors, adds nine of them up and goes backward. For each, write three
# truth values: `(is_leaf, requires_grad, has a gradient afterwards)`. As an example, for a tensor
# `torch.zeros(3)` that took part it is `(True, False, False)`. Write `True` and `False` in full: `F` is
# `torch.nn.functional` here.
#
# Answer from the rules, not from the machine. The check is folded, because it explains every
# answer. Select it and press Shift + Enter; unfold it afterwards.

# %% nbgrader={"grade_id": "ten-tensors", "locked": true} tags=["to-be-read"]
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
form = "write (is_leaf, requires_grad, has a gradient), three times True or False"
assert isinstance(predict_leaf_and_grad, dict), "keep the dict, with an entry for each tensor"
with every_case(at_most=10) as case:
    for name, guess in predict_leaf_and_grad.items():
        with case(name):
            three = isinstance(guess, (tuple, list)) and [*map(type, guess)] == [bool] * 3
            assert guess is None or three, f"{guess!r}? {form}"
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
    "quiet": "under no_grad nothing is recorded: the result requires no grad, and so it is a leaf",
    "frozen": "requires_grad_(False) on a leaf: no grad is required any more, and it stays a leaf",
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
# A gradient arrives at leaves that require grad and take part, and where `retain_grad()` was
# called.
# </details>

# %% [markdown]
# ## 2. The walk · core
#
# The record says what happened. In which order is it read? At `x` above two paths met, and there the
# order did not matter yet. It does as soon as the place where paths meet has something behind it:

# %% topics=["backprop-steps"]
a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(0.5, requires_grad=True)
s = a * b  # 1
t = s.exp()  # e = 2.72
y = s * t  # 2.72
draw_graph(y, saved=False, y=y, a=a, b=b, s=s, t=t)

# %% [markdown]
# `s` is used twice: `t` is made from it, and `y` is too. Let us be the engine. Every value has an
# account, empty at first. Put 1 into that of `y`. When it is a value's turn, it **hands on**: to
# each value it was made from, it pays (slope of that step) · (its own account). A first try, in the
# order `y`, `s`, `t`. **Predict:** which turn spoils it?

# %%
import math

e = math.e
y_has, s_has, t_has = 1.0, 0.0, 0.0
s_has, t_has = s_has + e * y_has, t_has + 1.0 * y_has  # turn 1, y = s * t: slopes e and 1
a_has, b_has = 0.5 * s_has, 2.0 * s_has  # turn 2, s = a * b: slopes b = 0.5 and a = 2
s_has += e * t_has  # turn 3, t = exp(s): slope e
print(f"by this walk: a {a_has:.2f}, b {b_has:.2f}, and {s_has:.2f} at s")

# %% [markdown]
# Something is missing. `s` handed on 2.72 in turn 2, and in turn 3 it was paid 2.72 more. That part never
# reached `a` and `b`. No turn is wrong by itself; the second comes too early. The rule that
# was broken is the whole secret of backward:
#
# **A value hands on only when everyone who used it has paid in.**
#
# `s` was used by `t` and by `y`, so `t` has to come before `s`. The only order that starts at `y`
# and keeps the rule is `y`, `t`, `s`, then `a` and `b` in either order:
#
# | turn | pays | `y` | `t` | `s` | `a` | `b` |
# | --- | --- | --- | --- | --- | --- | --- |
# | | | 1 | 0 | 0 | 0 | 0 |
# | `y` | 1 · 1 to `t`, e · 1 to `s` | 1 | 1 | 2.72 | 0 | 0 |
# | `t` | e · 1 to `s` | 1 | 1 | 5.44 | 0 | 0 |
# | `s` | … | 1 | 1 | 5.44 | ? | ? |
#
# **Finish it by hand:** what do `a` and `b` get? Then compare with the picture.

# %% topics=["backprop-steps"]
draw_graph(y, values=True, a=a, b=b, s=s, t=t)

# %% [markdown]
# The first walk brought half of it. Autograd agrees with the picture. (`autograd.grad` returns slopes
# and writes no `.grad`; with `retain_graph` the cell can be run twice. Sections 3 and 4 have more.)

# %%
print("by autograd: a {:.2f}, b {:.2f}".format(*torch.autograd.grad(y, [a, b], retain_graph=True)))

# %% [markdown]
# Such an order is called **topological**. It always exists: a value is computed after those that it
# was made from, so the order of computing, turned around, will do. PyTorch numbers its functions as
# they are made, and of those that may hand on it takes the highest number.
#
# Without such numbers there are two ways to find an order. The first: from `y` go down to the leaves,
# and note a value *after* all that it was made from; turn the list around. The second: count how
# often each value is used. Start with `y`. Whenever a value gets its turn, count down those that it
# was made from; those that reach zero have all their payments, and may hand on.
#
# ### Exercise 5.3 — Walk it yourself ★★ · 7 min · 2 points · core
#
# Now without a machine, at a = 2 and b = 3:
#
#     p = a * b
#     q = p + b
#     y = p * q
#
# Write an order in which the five values may hand on, as a list of names that begins with `"y"`
# (or a string of them), and then the slope of `y` in each of the five. (A leaf has nothing to hand
# on; put it where all its payments have arrived.)

# %% nbgrader={"grade_id": "walk-by-hand", "solution": true}
walk_by_hand = {
    "order": None,
    "y": None,
    "q": None,
    "p": None,
    "a": None,
    "b": None,
}
### BEGIN SOLUTION
walk_by_hand = {"order": ["y", "q", "p", "b", "a"], "y": 1, "q": 6, "p": 15, "a": 45, "b": 36}
### END SOLUTION


# %% nbgrader={"grade_id": "walk-by-hand-check", "grade": true, "points": 2} jupyter={"source_hidden": true}
from course_utils.chapters.autograd import check_walk

check_walk(walk_by_hand)


# %% [markdown]
# <details><summary>Hint 1</summary>
#
# List what each value was made from: y from p and q, q from p and b, p from a and b. Which values
# have to pay p?
# </details>
# <details><summary>Hint 2</summary>
#
# Make a table as above, a column for each value. A sum pays its own account to both terms.
# </details>

# %% [markdown]
# ### Exercise 5.4 — An engine of your own ★★★ · 40 min · 6 points · core
#
# Write reverse mode for single numbers. A `Value` holds a `number`, the values that it was made
# from (`parents`), for each parent the slope of this one step (`slopes`), and `grad`, its account.
# Making values and adding them is given. Three parts are yours, each with a check of its own:
#
# 1. **Rules**: `__mul__` (two values), `__pow__` (a plain number other than 0 as exponent) and
#    `exp`, in the style of `__add__`. For `b = a ** 3` at a = 2 the number is 8, the slope 12.
# 2. **Order**: `topological_order` returns a list of this value and every value behind it, each
#    **once**, in which no value is placed before a value that was made from it. `self` is first.
#    It may be asked for again, also after `backward`.
# 3. **Backward**: `backward` sets the `grad` of every value behind `self` to the slope of `self` in
#    it. It starts with 1 at `self`, and it is called once for each program.
#
# A chain of 5,000 steps has to work in parts 2 and 3. Python gives up at about 1,000 nested calls,
# so keep your own list of what is waiting, in place of recursion. Fifty steps `y = y + y` have to work
# as well, though $2^{50}$ ways lead to the input. Inputs are such that all results and slopes are
# finite.
#
# `micro_engine` is given. It runs a little program on your values and goes backward from `y`.
# `torch_engine` does the same by PyTorch; try your own programs on both. You may write the class
# anew, if its names stay.

# %% nbgrader={"grade_id": "engine-trials", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.autograd import torch_engine


@runs_with_the_answer
def try_program(program: str, **inputs: float) -> dict:
    """The values of a program, by name."""
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    for name, value in names.items():
        kind = type(value).__name__
        assert isinstance(value, Value), f"{name} is of type {kind}: is there an answer yet?"
    return names


@runs_with_the_answer
def try_rule(program: str, **inputs: float) -> tuple:
    """The number of ``y`` after one step, and its slope in each input, as the step has it."""
    names = try_program(program, **inputs)
    y = names["y"]
    slopes, parents = list(getattr(y, "slopes", ())), list(getattr(y, "parents", ()))
    if not slopes:
        y.backward()
        return y.number, {name: names[name].grad for name in inputs}
    assert len(slopes) == len(parents), f"{len(slopes)} slopes, but {len(parents)} parents"
    pairs = list(zip(parents, slopes, strict=True))
    return y.number, {n: sum(d for p, d in pairs if p is names[n]) for n in inputs}


# %% nbgrader={"grade_id": "engine-checks", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_order(program: str, walked: bool = False, **inputs: float) -> list[str]:
    """The names of the values in the order that the answer gives, maybe after ``backward``."""
    names = try_program(program, **inputs)
    if walked:
        names["y"].backward()
    grads = {name: value.grad for name, value in names.items()}
    order = names["y"].topological_order()
    assert order is not None, "topological_order returned None: is there an answer yet?"
    kind = type(order).__name__
    assert isinstance(order, (list, tuple)), f"topological_order returned a {kind}, not a list"
    for value in names.values():
        value.topological_order()
    again = list(names["y"].topological_order() or ())
    assert len(again) == len(order), (
        f"asked for once more, topological_order gives {len(again)} values, and not {len(order)}: "
        "what one call notes must not stay for the next"
    )
    for name, value in names.items():
        assert value.grad == grads[name], (
            f"{name}.grad was {grads[name]}, and is {value.grad} once the order was asked for: "
            "topological_order looks, backward alone sets"
        )
    name_of = {id(value): name for name, value in names.items()}
    return [name_of.get(id(value), f"a stranger ({type(value).__name__})") for value in order]


# %% nbgrader={"grade_id": "try-engine", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_engine(program: str, **inputs: float) -> tuple:
    """The number of ``y``, and the slope of ``y`` in each value once the answer went backward."""
    names = try_program(program, **inputs)
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% nbgrader={"grade_id": "try-chain", "locked": true} jupyter={"source_hidden": true}
import sys
from unittest.mock import patch

from course_utils.chapters.autograd import TooManyLines, at_most_lines


@runs_with_the_answer
def try_doubling(method: str) -> object:
    """How long the order is, or the gradient of a, after fifty steps ``y = y + y``."""
    y = a = Value(1.0)
    assert hasattr(a, "number"), f"Value(1.0) is a {type(a).__name__}: is there an answer yet?"
    for _ in range(50):
        y = y + y
    try:
        with at_most_lines(100_000):
            found = y.topological_order() if method == "order" else y.backward()
    except TooManyLines:
        return "TooManyLines"
    return a.grad if method != "order" else None if found is None else len(found)


# %% nbgrader={"grade_id": "try-doubling", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_chain(steps: int, method: str) -> object:
    """How long the order of a long chain is, or the gradients of its two inputs."""
    a, one = Value(3.0), Value(1.0)
    y = a
    for _ in range(steps):
        y = y + one
    before, asked = sys.getrecursionlimit(), []
    sys.setrecursionlimit(1000)
    try:
        with patch.object(sys, "setrecursionlimit", asked.append):
            found = y.topological_order() if method == "order" else y.backward()
    except RecursionError:
        return "setrecursionlimit" if asked else "RecursionError"
    finally:
        sys.setrecursionlimit(before)
    length = None if found is None else len(list(found))
    return "setrecursionlimit" if asked else length if method == "order" else (a.grad, one.grad)


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
        """The product."""
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
        """e to the power of this value (``math.exp``)."""
        ### BEGIN SOLUTION
        result = math.exp(self.number)
        return Value(result, (self,), (result,))
        ### END SOLUTION

    def topological_order(self) -> list["Value"]:
        """This value and all behind it, each once, none before what was made from it."""
        ### BEGIN SOLUTION
        users, waiting = {self: 0}, [self]
        while waiting:
            for parent in waiting.pop().parents:
                if parent not in users:
                    users[parent] = 0
                    waiting.append(parent)
                users[parent] += 1
        order, free = [], [self]
        while free:
            order.append(free.pop())
            for parent in order[-1].parents:
                users[parent] -= 1
                if users[parent] == 0:
                    free.append(parent)
        return order
        ### END SOLUTION

    def backward(self) -> None:
        """Set ``grad`` of every value behind this one to the slope of this one in it."""
        ### BEGIN SOLUTION
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes, strict=True):
                parent.grad += slope * value.grad
        ### END SOLUTION


def micro_engine(program: str, **inputs: float) -> tuple[float, dict[str, float]] | None:
    """Given: run ``program``, go backward from ``y``; the number y, its slope in each name."""
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% nbgrader={"grade_id": "micro-engine-check", "grade": true, "points": 2}
from course_utils.chapters.autograd import MORE_RULES, check_rule

steps = {"y = a * b": 2, "y = b * a": 2, "y = a * a": 3, "y = a ** 3": 2, "y = a ** -1": 4}
steps |= {"y = a ** 0.5": 9, "y = a.exp()": 2}
# A negative number, the slope 0 at 0, and a small one.
more = [("y = a ** 3", -2), ("y = a ** 2", 0), ("y = a ** 1", 0), ("y = a.exp()", -1)]
with every_case(at_most=12) as case:
    for line, a, b in [*((line, a, 3) for line, a in [*steps.items(), *more]), *MORE_RULES]:
        with case(f"{line} at a = {a}" + (f", b = {b}" if "b" in line else "")):
            check_rule(try_rule, line, a=float(a), b=float(b))
### BEGIN HIDDEN TESTS
import random

numbers = random.Random(1)
with every_case() as case:
    for line in ("a * b", "a ** 2", "a ** -2", "a ** 1", "a ** 1.5", "a.exp()", "b * b"):
        a, b = numbers.uniform(0.2, 3), numbers.uniform(-3, 3)
        with case(f"y = {line}"):
            check_rule(try_rule, f"y = {line}", a=a, b=b)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "micro-engine-check-2", "grade": true, "points": 2}
from course_utils.chapters.autograd import ORDERS, check_chain, check_order

with every_case() as case:
    for program in ORDERS:
        with case(program):
            lines = program.replace("; ", "\n")
            check_order(try_order(lines, a=1.0, b=2.0), lines)
    for steps, name in ((5000, "a chain of 5,000 steps"), (0, "a value that is made from none")):
        with case(name):
            check_chain(try_chain(steps, "order"), steps + (steps > 0) + 1, "the order's length")
    with case("fifty steps y = y + y"):
        check_chain(try_doubling("order"), 51, "the order's length")
### BEGIN HIDDEN TESTS
import random

numbers = random.Random(0)
with every_case() as case:
    for _ in range(30):
        known, lines = list("ab"), []
        for step in range(numbers.randint(2, 9)):
            lines.append(f"t{step} = {numbers.choice(known)} + {numbers.choice(known[-3:])}")
            known.append(f"t{step}")
        lines = "\n".join([*lines, f"y = {known[-1]} + {numbers.choice(known)}"])
        with case(lines.replace("\n", "; ")):
            check_order(try_order(lines, a=1.0, b=2.0), lines)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "micro-engine-check-3", "grade": true, "points": 2}
from course_utils.chapters.autograd import ENGINES, check_chain, check_engine, check_order

with every_case() as case:
    for program, because in ENGINES.items():
        for a, b in ((2.0, 0.5), (-1.0, 0.0), (0.0, 3.0)):
            with case(program + f" at a = {a:g}, b = {b:g}" * (a < 2)):
                check_engine(try_engine, program.replace("; ", "\n"), because, a=a, b=b)
    for walked, when in ((False, "where the slope in b is 0"), (True, "asked for after backward")):
        with case(f"the order of s = a * b; y = s + a at a = 0, {when}"):
            order = try_order("s = a * b\ny = s + a", walked, a=0.0, b=2.0)
            check_order(order, "s = a * b\ny = s + a")
    with case("a chain of 5,000 steps"):
        check_chain(try_chain(5000, "backward"), (1.0, 5000.0), "the two gradients")
    with case("fifty steps y = y + y"):
        check_chain(try_doubling("backward"), 2.0**50, "the gradient of the input")
### BEGIN HIDDEN TESTS
from course_utils.chapters.autograd import random_programs

with every_case() as case:
    for program, inputs in random_programs(40):
        with case(program.replace("\n", "; ")):
            check_engine(try_engine, program, **inputs)
### END HIDDEN TESTS


# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For the order, take the second way of the text: a first pass down to the inputs counts how often
# each value is used, a second one lets go those that are down to zero. Both need a list of what is
# waiting, and no recursion. `y = a + a` uses `a` twice.
# </details>
# <details><summary>Hint 2</summary>
#
# The other way works too: put on the waiting list not only a value, but also whether its parents
# have been seen to. The second time it comes off the list, note it.
# </details>
# <details><summary>Hint 3</summary>
#
# In backward, take the values in that order. When it is a value's turn, everything that was made
# from it has paid in, so its `grad` is complete. Handing on means: for each parent, *add*
# slope · own grad to the parent's grad.
# </details>

# %% [markdown]
# ### Your engine learns
#
# What you have written is enough to train a network. Twelve points are on two rings: the target is
# −1 on the inner ring, 1 on the outer, and no straight line separates them. Five hidden units can.
# Your engine has no minus and no tanh, but $\tanh z = 1 - 2 / (1 + e^{2z})$ needs only the rules that
# you wrote, and minus is a factor of −1. The program ends with the mean of the squared errors. (Where
# the exercise is not solved yet, PyTorch's engine does the work.)


# %% nbgrader={"grade_id": "solved-engine", "locked": true} jupyter={"source_hidden": true}
def solved_engine(program: str, **inputs: float):
    """Your engine if it is right about this program, else PyTorch's."""
    right = torch_engine(program, **inputs)
    try:
        _, slopes = micro_engine(program, **inputs)
        if all(abs(slopes[name] - right[1][name]) < 1e-6 for name in inputs):
            return micro_engine
    except Exception:
        pass
    return torch_engine


# %% topics=["minimise-with-optimizer"]
tanh = "one + minus2 * (one + (two * (u{k} * p{i} + v{k} * q{i} + c{k})).exp()) ** -1"
lines = []
for i in range(12):
    lines += [f"h{i}_{k} = {tanh.format(i=i, k=k)}" for k in range(5)]
    lines += [f"e{i} = (" + "".join(f"w{k} * h{i}_{k} + " for k in range(5)) + f"d + m{i}) ** 2"]
lines += ["y = share * (" + " + ".join(f"e{i}" for i in range(12)) + ")"]
rings_program = "\n".join(lines)
print(len(lines), "lines; the first:\n" + lines[0])

# %% topics=["minimise-with-optimizer"]
rings = {"one": 1.0, "two": 2.0, "minus2": -2.0, "share": 1 / 12}
for i in range(12):
    radius, angle = (0.5, 1.5)[i % 2], i * math.tau / 12
    rings |= {f"p{i}": radius * math.cos(angle), f"q{i}": radius * math.sin(angle)}
    rings[f"m{i}"] = (1.0, -1.0)[i % 2]  # minus the target
generator = torch.Generator().manual_seed(0)
network = {f"{name}{k}": 0.0 for name in "uvcw" for k in range(5)} | {"d": 0.0}
starts = 3 * torch.rand(len(network), generator=generator, dtype=torch.float64) - 1.5
network = dict(zip(network, starts.tolist(), strict=True))

# %% [markdown]
# Each step runs the program, walks back through some 800 values, and moves every weight against its
# slope. A weight also keeps nine tenths of its speed (momentum, chapter 11).

# %% topics=["minimise-with-optimizer"]
engine, speed = solved_engine(rings_program, **network, **rings), dict.fromkeys(network, 0.0)
for step in range(101):
    loss, slopes = engine(rings_program, **network, **rings)
    if step % 20 == 0:
        print(f"step {step:3}: loss {loss:.3f}")
    for name in network:
        speed[name] = 0.9 * speed[name] + slopes[name]
        network[name] -= 0.05 * speed[name]

# %% topics=["minimise-with-optimizer"] jupyter={"source_hidden": true}
import matplotlib.pyplot as plt

q, p = torch.meshgrid(torch.linspace(-2, 2, 81), torch.linspace(-2, 2, 81), indexing="ij")
answer = torch.full_like(p, network["d"])
for k in range(5):
    u, v, c, w = (network[f"{name}{k}"] for name in "uvcw")
    answer = answer + w * (u * p + v * q + c).tanh()
figure, axis = plt.subplots(figsize=(4.4, 3.4))
levels = [-1.5, -1, -0.5, 0, 0.5, 1, 1.5]
surface = axis.contourf(p, q, answer, levels, cmap="RdBu_r", alpha=0.7, extend="both")
axis.contour(p, q, answer, levels=[0], colors="#1a1a1a")
for ring, marker in ((0, "o"), (1, "s")):
    places = [(rings[f"p{i}"], rings[f"q{i}"]) for i in range(ring, 12, 2)]
    axis.plot(*zip(*places, strict=True), marker, color="#1a1a1a", label=("inner", "outer")[ring])
axis.set(aspect="equal", xlabel="p", ylabel="q")
axis.legend(fontsize=8, loc="upper right")
figure.colorbar(surface, label="the network's answer")
show(
    figure,
    "Six points on an inner ring, six on an outer. The network's answer is negative in a closed "
    "region around the inner ring and positive around the outer; a black line separates them.",
)

# %% [markdown]
# The loss has fallen from 1.5 to 0.03, and the black line, where the network's answer is 0, separates
# the rings. The rest of PyTorch's engine is speed and generality: tensors in place of numbers,
# hundreds of rules, several threads. The walk is the same.
#
# ### Leaves add up, too
#
# Payments to an account are added. The account of a leaf is its `.grad`, and it stays open: what
# the next `backward()` brings is added to what is there already. **Predict** the second line.

# %% topics=["gradient-accumulates"] errata=["zero-grad-optional"]
w = nn.Parameter(torch.tensor(1.0))
for _ in range(2):
    (3 * w).backward()
    print(w.grad.item())

# %% [markdown]
# > **Then and now.** *"`zero_grad()` sets the gradients to zero."* It did; today it removes them, and
# > code that reads `.grad` right afterwards has to live with `None`. What was never right is to
# > leave it out: then every step follows the sum of all gradients so far.

# %% topics=["gradient-accumulates"] errata=["zero-grad-gives-zeros"]
optimizer = torch.optim.SGD([w], lr=0.1)
optimizer.zero_grad()
print("after zero_grad():                  ", w.grad)
(3 * w).backward()
optimizer.zero_grad(set_to_none=False)
print("after zero_grad(set_to_none=False): ", w.grad)

# %% [markdown]
# That gradients add up is a gift when a batch does not fit into memory. Cut it into micro-batches
# of equal size, go backward after *each*, and step once. Divide each loss by the number of
# micro-batches, so that the sum is a mean again. (Where the last is smaller, weigh each loss by its
# share of the samples.)

# %% topics=["gradient-accumulates"]
torch.manual_seed(0)
model, x, y = nn.Linear(3, 1), torch.randn(8, 3), torch.randn(8, 1)
F.mse_loss(model(x), y).backward()
whole = model.weight.grad.clone()
model.zero_grad()

# %% topics=["gradient-accumulates"]
for part_x, part_y in zip(x.split(4), y.split(4), strict=True):
    (F.mse_loss(model(part_x), part_y) / 2).backward()
print("the gradient of the whole batch:", torch.allclose(model.weight.grad, whole, atol=1e-6))

# %% [markdown]
# **Is the walk itself recorded?** It computes with tensors, so it could be. By default it is not;
# with `create_graph=True` it is, and then its results have slopes, too. Chapter 06 takes second
# derivatives that way.

# %% topics=["autograd-grad"] tags=["shows-false"]
x = torch.tensor(2.0, requires_grad=True)
for create_graph in (False, True):
    (slope_of_cube,) = torch.autograd.grad(x**3, x, create_graph=create_graph)
    print(f"{create_graph=!s:5}  {slope_of_cube.item()}  recorded: {slope_of_cube.requires_grad}")

# %% [markdown]
# ## 3. A slope needs a direction · core
#
# The walk is clear now, for single numbers. A layer has thousands of them, and an entry in the
# record covers all at once. What does such an entry have to know? **Predict** what happens in
# the `try`.

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
# **vector-Jacobian product** (VJP) $g^T J$.

# %% topics=["backward-vector-gradient"]
g = torch.tensor([1.0, 10.0, 100.0])
y.backward(gradient=g)
jacobian = torch.tensor([[2.0, 1.0], [1.0, 1.0], [2.0, 0.0]])  # by pencil, at x = (1, 2)
print("by backward(gradient=g):", x.grad)
print("by g @ jacobian:        ", g @ jacobian)

# %% [markdown]
# `(y * g).sum().backward()` gives the same: that sum *is* a loss with the slopes `g`. Every backward
# function takes the gradient of its result and returns those of its inputs. It is a VJP, and that is
# all it ever has to know. A tensor that is called `grad_output` is such a `g`.
#
# ### Which way round?
#
# With $g = (0, 1, 0)$ the product is the second row of $J$: all slopes of *one result*. A walk
# backward gives a row, or a mixture of rows. That is **reverse mode**. There is also a **forward
# mode**, which nudges *one input*, follows it through the computation and gets a column. The shaded
# entries are what each walk computes of a Jacobian:


# %% topics=["reverse-mode-ad"] jupyter={"source_hidden": true}
from course_utils.chapters.autograd import draw_matrix

figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), width_ratios=(2, 2, 5))
row, column, ys = torch.zeros(3, 2), torch.zeros(3, 2), ("y₀", "y₁", "y₂")
row[1], column[:, 0] = 1, 1
draw_matrix(axes[0], row, "reverse, g = (0, 1, 0)", ys, ("x₀", "x₁"))
draw_matrix(axes[1], column, "forward, first input", ys, ("x₀", "x₁"))
entries = [(i, j) for i in range(3) for j in range(2)]
for place in axes[:2]:
    for (i, j), number in zip(entries, jacobian.flatten(), strict=True):
        place.text(j, i, f"{number:.0f}", ha="center", va="center", color="#1a1a1a")
names = ["first", "", "", "", "… millions of weights …", "", "", "", "last"]
draw_matrix(axes[2], torch.ones(1, 9), "a loss: its Jacobian is one row", ("loss",), names)
figure.tight_layout()
show(
    figure,
    "Three Jacobians. In the first, 3 by 2, a row is shaded: reverse mode. In the second a column: "
    "forward mode. The third has one row and many columns: a loss, shaded as a whole.",
)

# %% [markdown]
# A network has millions of inputs, its weights, and a single result, its loss: a single row. Reverse
# mode needs one walk for it, forward mode a walk for each weight. That is why training uses reverse
# mode. The price is the record: what was computed first is needed last, and has to be kept until
# then. (Chapter 06 uses forward mode, which keeps nothing.)
#
# If you do want the whole matrix, walk once for each row. `torch.autograd.functional.jacobian` does
# just that:

# %% topics=["reverse-mode-ad"]
rows = [torch.autograd.grad(x * x.sum(), x, g)[0] for g in torch.eye(2)]
print("two walks, two rows:\n", torch.stack(rows))
print("the whole matrix:\n", torch.autograd.functional.jacobian(lambda x: x * x.sum(), x))

# %% [markdown]
# **Without `.grad`.** `torch.autograd.grad`, as used here, returns the gradients of just those inputs
# that you name, and leaves every `.grad` alone. Several outputs are added up. **Predict** the first
# line:

# %% topics=["autograd-grad"]
a, b, c = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0, 5.0))
print(torch.autograd.grad([a * b, a**2], [a, b]))
print(a.grad, torch.autograd.grad(a * b, [a, c], allow_unused=True))
print(torch.autograd.grad(a * b, [a, c], allow_unused=True, materialize_grads=True))

# %% [markdown]
# Naming an input that the output does not depend on raises an error, unless you `allow_unused`: then
# you get `None` for it, or zeros with `materialize_grads`.
#
# **A mostly empty gradient.** The VJP of a table look-up puts each row of `g` where it came from.
# All other rows are zero. For a table of a million words, `nn.Embedding(sparse=True)` writes down
# only the rows that were used. Not every optimizer takes such gradients; SGD, Adagrad and
# `SparseAdam` do.

# %% topics=["sparse-gradients"]
table = nn.Embedding(1000, 2, sparse=True)
table(torch.tensor([7, 42, 7])).sum().backward()
sparse = table.weight.grad.coalesce()
print(sparse.layout, " rows:", sparse.indices().tolist(), "\n", sparse.values())

# %% [markdown]
# Row 7 was used twice, so its slopes added up to 2.
#
# ### What broadcasting does to a gradient
#
# Here is a regression with two samples, run twice. The prediction is a column. The target is first a
# column too, then a row of the same numbers. **Predict** whether the two gradients agree.


# %% errata=["myrelu-broadcast"]
def gradient_for(target: list) -> tuple:
    w = torch.tensor([[3.0, 1.0]], requires_grad=True)
    x = torch.tensor([[-1.0, -1.0], [1.0, 1.0]])
    error = F.relu(x @ w.t() + 3) - torch.tensor(target)
    (error**2).mean().backward()
    return tuple(error.shape), w.grad


# %% errata=["myrelu-broadcast"]
for name, target in (("column", [[2.0], [3.0]]), ("row", [[2.0, 3.0]])):
    shape, gradient = gradient_for(target)
    print(f"{name:<7} error of shape {shape}, gradient {gradient}")

# %% [markdown]
# > **Often said.** *"The gradient of this example is [[4.5, 4.5]]."* That is what a much-copied
# > listing prints. Its target is a row, so the error is broadcast to 2 × 2, and every prediction is
# > compared with every target. With a column it is [[4, 4]]. Compare shapes before you subtract.
#
# Backward did not mind: broadcasting has a VJP like everything else. An element that was read twice
# gets two payments, and they are added. The VJP of *expand* is a *sum*:

# %%
b = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)  # (1, 3)
wide = b.expand(2, 3)
(gradient,) = torch.autograd.grad(wide, b, torch.tensor([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]))
wide.grad_fn.name(), gradient

# %% [markdown]
# ### Exercise 5.5 — Undo the broadcast ★★ · 7 min · 3 points · core
#
# An operand of shape `shape` was broadcast. The gradient of the result has arrived. Return the
# gradient of the operand, of shape `shape` and of the same dtype.
#
# - Sum over every dimension that broadcasting added in front, and over every dimension that it
#   widened from 1. If nothing was broadcast, the values stay as they are.
# - A widened dimension may have size 0: the sum over nothing is 0.
# - The gradient may have any number of dimensions and any floating-point dtype.
#
# Example: the gradient `[[1, 2, 3], [10, 20, 30]]` of shape (2, 3) gives `[11, 22, 33]` for `(3,)`,
# `[[6], [60]]` for `(2, 1)`, and `66` for `()`. Leave the argument alone.


# %% nbgrader={"grade_id": "unbroadcast-trials", "locked": true} jupyter={"source_hidden": true}
from course_utils import watched
from course_utils.chapters.autograd import check_sums, more_sums


@runs_with_the_answer
def try_unbroadcast(gradient: torch.Tensor, shape: tuple[int, ...]) -> tuple:
    """What the answer returns; the functions that it called; whether its argument changed."""
    return watched(unbroadcast, gradient, shape)


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
g = torch.tensor([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
cube, half = torch.arange(24.0, dtype=torch.float64).reshape(4, 2, 3), g.to(torch.float16).t()
front, kept, nothing = "one in front", "a widened one stays, with size 1", "nothing was broadcast"
shapes = {(3,): front, (2, 1): kept, (1, 3): kept, (1, 1): kept, (): "read everywhere"}
check_sums(
    try_unbroadcast,
    (g, {**shapes, (2, 3): nothing}),
    (g[:0], {(1, 3): "the sum over nothing is 0", (3,): "the sum over nothing is 0"}),
    (cube, {(2, 1): "one in front, one widened", (3,): "two in front", (4, 1, 3): kept, (): "all"}),
    (g[0, 1:2].expand(3), {(1,): "an expanded gradient, as sum() sends it", (3,): nothing}),
    (g.sum(), {(): "a number stays a number"}),
    (half, {(2,): front, (3, 1): kept, (3, 2): nothing}),
    *more_sums(),
)
check_states(unbroadcast, cube, (2, 1), what="unbroadcast(g, (2, 1))", but=["inference_mode"])
### BEGIN HIDDEN TESTS
generator, groups = torch.Generator().manual_seed(0), []
for size in ((4, 2, 3), (1, 2, 1), (2, 0, 3), (5,), ()):
    g = torch.randn(size, generator=generator, dtype=torch.float64)
    for first in range(len(size) + 1):
        masks = range(2 ** (len(size) - first))
        shapes = [tuple(1 if m >> i & 1 else n for i, n in enumerate(size[first:])) for m in masks]
        groups.append((g, dict.fromkeys(shapes, "sum what was added or widened")))
check_sums(try_unbroadcast, *groups, (torch.ones(1, 1).expand(3, 4), {(4,): front}))
### END HIDDEN TESTS


# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Broadcasting aligns shapes at their ends. How many more dimensions does the gradient have?
# </details>
# <details><summary>Hint 2</summary>
#
# `sum(dims, keepdim=True)` takes a list of dimensions. Mind what it does with an empty list.
# </details>

# %% [markdown]
# ### Exercise 5.6 — Four rules by hand ★★★ · 40 min · 6 points
#
# This exercise is optional; nothing after it needs it. Write the VJPs of four operations. `gradient` is
# the gradient of the result; return the gradients of the inputs.
#
# - `matmul_vjp(gradient, a, b)` for `a @ b` with `a` (n, k), `b` (k, m): a pair, for `a` and for
#   `b`.
# - `softmax_vjp(gradient, y)` for `y = x.softmax(-1)`: the gradient of `x`, computed from the
#   *result* `y`, which has one dimension or more.
# - `logsumexp_vjp(gradient, x)` for `x.logsumexp(-1)`, where `gradient` has one dimension less than
#   `x`. It has to be finite for rows around 1000 and around −1000 as well, also side by side.
# - `layer_norm_vjp(gradient, x, weight)` for `F.layer_norm(x, (d,), weight, bias, eps=1e-5)` with
#   `x` of shape (batch, d): a triple, for `x`, `weight` and `bias`. The normalised value is
#   $\hat{x} = (x - \text{mean}) / \sqrt{\text{var} + 10^{-5}}$ along each row, with the variance
#   divided by d; the result is $\hat{x} \cdot \text{weight} + \text{bias}$.
#
# Example: for y = (0.5, 0.5) and the gradient (1, 0), `softmax_vjp` gives (0.25, −0.25). All
# tensors are float32 or float64. In `matmul_vjp` and `softmax_vjp` any dimension may have size 0.
# Use formulas: no `backward`, `autograd.grad`, `torch.func`, and none of PyTorch's own `…_backward`
# operators. Leave the arguments alone.

# %% nbgrader={"grade_id": "vjp-truth", "locked": true} jupyter={"source_hidden": true}
from course_utils import watched
from course_utils.chapters.autograd import EMPTY_VJPS, check_vjps, further_vjps


@runs_with_the_answer
def try_vjp(rule: str, *tensors: torch.Tensor) -> tuple:
    """What the answer's rule returns; the functions that it called; whether an argument changed."""
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    with torch.no_grad():
        return watched(rules[rule], *tensors)


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
x, cube = 2 * g + 1, torch.arange(12.0, dtype=torch.float64).reshape(2, 2, 3)
check_vjps(
    try_vjp,
    ("a (3, 2), b (2, 2)", "matmul", g, a, b),
    ("a (2, 2), b (2, 2)", "matmul", g[1:], a[:2], b),
    ("b (2, 4), float64", "matmul", cube.sin().view(3, 4), a.double(), cube.view(6, 2)[:4].t()),
    ("the example", "softmax", torch.tensor([1.0, 0.0]), torch.zeros(2)),
    ("x (3, 2)", "softmax", g, x),
    ("x (2, 2, 3), float64", "softmax", cube.sin(), cube.cos()),
    *EMPTY_VJPS,
)
check_states(matmul_vjp, g, a, b, what="matmul_vjp(gradient, a, b)")
check_states(softmax_vjp, g, x.softmax(1), what="softmax_vjp(gradient, y)")
### BEGIN HIDDEN TESTS
normal = seeded(0)
draw = lambda *size: normal(*size).double()
cases = [("transposed a and b", "matmul", draw(4, 4), draw(3, 4).t(), draw(4, 3).t())]
for n, k, m in ((2, 5, 3), (1, 1, 4), (0, 2, 3), (3, 0, 2)):
    cases.append((f"n, k, m = {n, k, m}", "matmul", draw(n, m), draw(n, k), draw(k, m)))
cases += [(f"x {n}", "softmax", draw(*n), 3 * draw(*n)) for n in ((7,), (2, 3, 4), (5, 1), (0, 3))]
check_vjps(try_vjp, *cases)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "vjp-by-hand-check-2", "grade": true, "points": 3}
x, g = torch.tensor([[0.0, 0.0], [1.0, 3.0], [2.0, -2.0]]), torch.tensor([1.0, 0.5, -2.0])
far = torch.tensor([[1000.0, 999.0], [-1000.0, -1001.0], [0.0, 1.0]])
rows, weight = torch.tensor([[1.0, 2.0, 4.0], [0.0, -1.0, 3.0]]), torch.tensor([1.0, 2.0, -1.0])
normed = (
    torch.tensor([[1.0, 0.0, 0.0], [1.0, -2.0, 0.5]]),
    rows,
    weight,
    torch.tensor([0.5, 0.0, 1.0]),
)
double = [t.to(torch.float64) for t in normed]
check_vjps(
    try_vjp,
    ("x (3, 2)", "logsumexp", g, x),
    ("x (3, 2) + 1000", "logsumexp", g, x + 1000),
    ("rows near 1000 and near -1000", "logsumexp", g, far),
    ("x (3,), gradient ()", "logsumexp", g[1], rows[0]),
    ("x (2, 2, 3), float64", "logsumexp", double[0][:, :2], torch.stack([double[1]] * 2, 1)),
    ("x (2, 3)", "layer_norm", *normed),
    ("nearly flat rows", "layer_norm", normed[0], 0.001 * rows, *normed[2:]),
    ("one row, float64", "layer_norm", double[0][:1], double[1][:1], *double[2:]),
    *further_vjps(),
)
check_states(logsumexp_vjp, g, x, what="logsumexp_vjp(gradient, x)")
check_states(layer_norm_vjp, *normed[:3], what="layer_norm_vjp(gradient, x, weight)")
### BEGIN HIDDEN TESTS
generator, cases = torch.Generator().manual_seed(1), []
draw = lambda *size: torch.randn(size, generator=generator, dtype=torch.float64)
for size in ((4,), (2, 3, 4), (5, 1)):
    cases.append((f"x {size}", "logsumexp", draw(*size[:-1]), draw(*size)))
for n, d in ((3, 7), (1, 2), (6, 4)):
    cases.append((f"x {n, d}", "layer_norm", draw(n, d), draw(n, d), draw(d), draw(d)))
check_vjps(try_vjp, *cases)
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
# ## 4. What the record keeps · core
#
# A rule needs material. That of the matrix product needs both inputs, that of softmax needs its
# result, and that of `+` needs nothing. This is what the puzzle was about: what a rule will need is
# **saved** when the forward pass runs. **Predict** which of the three operations below saves
# something.

# %%
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = (x + 1).exp()
draw_graph(h.sum(), x=x, h=h)

# %% [markdown]
# Only `exp`: it is its own derivative, so it keeps its *result*, 12 bytes. The sum only has to know
# the shape of what it added up. To see what is saved while it happens, ask to be called each time, by
# a pair of **saved-tensor hooks**: the first packs what is saved, the second unpacks it in backward.

# %%
saved = []


def pack(tensor: torch.Tensor) -> torch.Tensor:
    saved.append(tensor)
    return tensor


# %%
with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
    (x.exp() * x).sum()
for tensor in saved:
    print(tensor.detach())

# %% [markdown]
# `exp` saved its result. The product saved both factors: that result once more, and `x`. Three
# tensors, but a single new storage. `x` was there before, and the result is kept once, however many
# rules point to it.
#
# These saved tensors, the *activations*, are a large part of what training needs beyond inference;
# gradients and the optimizer's state are the rest. The activations grow with the batch. The others
# do not. The next cell counts the bytes that are saved, and not yet freed, after each of six layers:
# forward, then backward.


# %% jupyter={"source_hidden": true}
from course_utils.chapters.autograd import bytes_over_time

figure, axes = plt.subplots(figsize=(7, 2.8))
for recording, style, name in ((True, "o-", "recording"), (False, "s--", "under no_grad")):
    course = bytes_over_time(recording)
    colour = "#0072b2" if recording else "#b04500"
    axes.plot(range(len(course)), course, style, color=colour, label=name)
axes.axvline(6, color="#6b6b6b", linewidth=1)
axes.text(5.9, 25, "forward", ha="right", color="#5a5a5a")
axes.text(6.1, 25, "backward", ha="left", color="#5a5a5a")
axes.set(xlabel="layer by layer, forward and back", ylabel="kilobytes kept", xticks=range(13))
axes.set_title("What six layers keep for backward")
axes.legend(fontsize=8)
show(
    figure,
    "Kilobytes over time. While recording they rise by a step with each of six layers, and fall "
    "again layer by layer in backward. Under no_grad they stay at 0.",
)

# %% [markdown]
# Up by a result for each layer (the first keeps its input as well), and down again as backward
# uses them. The peak is at the end of the forward pass. Chapter 06 shows how to lower it. Under
# `no_grad` nothing is kept at all.
#
# ### How long does it live?
#
# > **Often said.** *"The graph is destroyed right after backward, so a second backward always
# > raises."* What is freed are the saved tensors. The functions stay as long as something refers to
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
# seldom what you want. If it "fixes" an error in a training loop, look for a tensor of the last step
# that is still in use in this one: then the graph grows with every step, and that tensor wants a
# `detach()`. (Two losses of one step that share a part: add them, and go backward once.)

# %% topics=["graph-lifetime"]
squared = (x * x).sum()
squared.backward(retain_graph=True)
squared.backward()
x.grad

# %% [markdown]
# **In practice.** Memory also grows without any error when you collect or add up (`total += loss`)
# losses that never go backward, in a validation without `no_grad` for instance. Each of them holds
# its graph, and the graph holds what was saved. (After `backward()` only the functions are left.)
# Collect `loss.item()`.

# %% topics=["graph-lifetime"]
losses = [x.exp().sum() for _ in range(100)]
numbers = [loss.item() for loss in losses]
total = sum(draw_graph(loss).saved_bytes for loss in losses)
print(f"{total} bytes kept by 100 losses, each computed from two numbers")

# %% [markdown]
# ### Exercise 5.7 — To the byte ★★ · 20 min · 4 points
#
# **First predict.** `h` has shape (32, 50), float32, and is computed from parameters. `w` is a
# parameter of shape (50, 10), `t` holds 32 targets. For each line write how many bytes of storage
# it keeps for backward. `h` counts if a line keeps it; the storages of `w` and `t` do not, they are
# there anyway. A storage that several rules keep counts once. A few facts that you need: relu and
# softmax keep their results, like `exp`; `where` keeps its condition; the cross entropy is a
# log-softmax, which keeps its result, and a second rule, which keeps that same result and one float
# more.
#
# **Then measure.** `saved_bytes(function, *inputs)` calls `function(*inputs)` once, which gives one
# tensor and records nothing that this tensor doesn't need, and returns how many bytes of storage
# autograd keeps for its backward.
#
# - Count each storage once, and the inputs' storages not at all.
# - Count whole storages, not elements: a view keeps all of its storage alive.
# - Leave the inputs as they are, and no hook behind, also where `function` raises: its error is the
#   caller's.
#
# Example: for `torch.exp` and four float32 numbers it is 16. For `torch.mul(x, x)` it is 0: both
# factors are inputs.

# %% nbgrader={"grade_id": "saved-bytes-trials", "locked": true} jupyter={"source_hidden": true}
from course_utils import bytes_of
from course_utils.chapters.autograd import check_bytes, check_counts, kept, large
from course_utils.chapters.autograd import more_bytes, try_counting


@runs_with_the_answer
def try_saved_bytes(name: str, *inputs: torch.Tensor, mode: str = "") -> tuple:
    """The answer's count, the number of calls, whether an input changed, whether hooks stay on."""
    return try_counting(saved_bytes, name, *inputs, mode=mode)


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
w, t, machine = torch.randn(50, 10, requires_grad=True), torch.zeros(32, dtype=torch.int64), {}
for line in because:
    h = torch.randn(32, 50, requires_grad=True) + 0
    result = eval(line, {"h": h, "w": w, "t": t, "F": nn.functional, "torch": torch})
    machine[line] = bytes_of(kept(result), without=(w, t))
check_predictions(kept_bytes, machine, because)


# %% nbgrader={"grade_id": "saved-bytes-check-2", "grade": true, "points": 2}
x = torch.tensor([[3.0, 4.0, 0.0], [1.0, 2.0, 2.0]], requires_grad=True)
check_counts(
    try_saved_bytes,
    ("the result is kept: 24 bytes", "exp", x),
    ("asked again: an earlier call's bytes don't count", "exp", x),
    ("its numbers have 8 bytes each", "exp", x.detach().double().requires_grad_()),
    ("nothing is recorded", "exp", x.detach()),
    ("the inputs do not count", "mul", x, x),
    ("both slices lie in an input's storage", "mul", x[:1], x[1:]),
    ("an input may begin in the middle of its storage", "mul", x[1:], x[1:]),
    ("it keeps a view of w: the storage is an input's", "linear", x, x.new_ones(4, 3)),
    ("an expanded tensor has few boxes of its own", "normalize", x),
    ("a slice keeps its whole storage; two are of one", "rows of exp, multiplied", x),
    ("a slice of x lies in the storage of x", "x[1:] * x[1:].exp()", x),
    ("gaps are copied: call it with the inputs themselves", "flat squares", x[:, :2]),
    ("two rules keep the log-softmax: one storage", "cross_entropy", x, torch.tensor([0, 2])),
    ("a weight that it makes is no input, though a leaf", "relu(x + 1) @ ones", x),
    ("equal numbers in another storage are no input", "a clone, squared", x),
    ("a freed storage's address is used again: hold on to each", "exp, fifty times", large()),
    *more_bytes(),
)
### BEGIN HIDDEN TESTS
for name in ("sigmoid", "softplus", "prod", "normalize", "gelu", "rows of exp, multiplied"):
    check_bytes(try_saved_bytes, name, torch.rand(7, 9).requires_grad_(), because=name)
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
# Keep the storages themselves in the dict, not only their sizes: what nothing holds is freed, its
# memory is used again, and two storages can have had the same address. At the end, take the inputs'
# out.
# </details>

# %% [markdown]
# ### Editing what was saved
#
# Saving costs no copy: the record points at your tensor. What if you write to it before backward
# runs? To notice that, autograd gives every tensor a **version**, a counter that each in-place
# operation increases. All views of a tensor share it. When a tensor is saved, its version is saved
# as well, and backward compares.

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
draw_graph(y, y=y, x=x)

# %% [markdown]
# The red box shows why: `exp` saved its result at version 0, and that tensor is at version 1 now. An
# error is the good ending: the gradient would have been wrong. The same edit is harmless if nothing
# needs the old value. `x + 1` saves nothing, and `sin` saves its *input*, so their results may be
# edited. You do not have to learn this by heart. The check is strict: it may refuse an edit that would
# have done no harm, in another part of the same storage for example. But no harmful edit through the
# tensor or one of its views gets past it.
#
# Two doors lead around it.
#
# > **Then and now.** *"`x.data` gives you the raw tensor."* It does, with a separate version counter.
# > It was the usual way once, and it is the puzzle from the beginning: an edit through `.data` is not
# > noticed. `detach()` gives the same memory and *shares* the counter.

# %% tags=["shows-deprecated"] topics=["data-vs-detach"] errata=["dot-data-silent-wrong-grad"]
print("by .data:   slope", slope(lambda h: h.data.zero_()))
try:
    slope(lambda h: h.detach().zero_())
except RuntimeError as error:
    print("by detach():", str(error).split(": [")[0])
print("by NumPy:   slope", slope(lambda h: h.detach().cpu().numpy().fill(0)))

# %% [markdown]
# The puzzle is solved. The rule for `a * h` needs `h`, and it read `h` only in backward. By then it
# held zeros, written through a door that no counter watches. The last line shows the second door,
# NumPy: an array made by `.detach().numpy()` shares the tensor's memory and doesn't know of the counter.
# Look at such arrays as much as you like; copy before you write.
#
# A last kind of error is raised at once. A leaf that requires grad must not be written to while
# recording is on: its old value would be lost, and what you get would no longer be a leaf.

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
# ### Exercise 5.8 — The tribunal ★★★ · 25 min · 5 points
#
# Here are ten functions of `x` (1-D, float32 or float64, one element or more, infinite ones and nan
# among them). Each edits something in place. The caller will ask for the gradient of what it returns.
#
# **First judge.** For each write `"fine"` (the gradient is right), `"error"` (an error is raised,
# in forward or in backward) or `"wrong"` (no error, and a gradient that is not that of the values
# returned).
#
# **Then repair** those that are not fine. Put into `repaired` a function of `x` that returns the
# same values (the edited ones included), has the right gradient, and leaves `x` as it was.


# %% nbgrader={"grade_id": "in-place-cases", "locked": true} tags=["shows-deprecated", "to-be-read"]
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


# %% nbgrader={"grade_id": "in-place-cases-2", "locked": true} tags=["shows-deprecated", "to-be-read"]
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


# %% nbgrader={"grade_id": "run-backward", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.autograd import check_repairs, verdict_on

CASES = [edit_exp, edit_sin, edit_sum, edit_square, edit_slice]
CASES += [edit_constant, edit_added, edit_detached, edit_data, edit_leaf]
BROKEN = [function for function in CASES if function not in (edit_sin, edit_sum, edit_added)]


@runs_with_the_answer
def try_repaired(name: str, x: torch.Tensor, upstream: torch.Tensor) -> tuple | str:
    """The values of the repaired function, the gradient of ``x``, and whether ``x`` changed."""
    if repaired.get(name) is None:
        return "is there an answer yet?"
    leaf = x.detach().clone().requires_grad_()
    y = repaired[name](leaf)
    if not isinstance(y, torch.Tensor):
        return f"it returns a {type(y).__name__}, not a tensor"
    if not y.requires_grad:
        return "its result has no past: was something detached, or made under no_grad?"
    values, same = y.detach().clone(), bool(((leaf == x) | x.isnan()).all()) and not leaf._version
    if y.shape != upstream.shape:
        return values, None, not same
    (gradient,) = torch.autograd.grad(y, leaf, upstream, materialize_grads=True)
    return values, gradient, not same or leaf.grad is not None or bool(leaf._backward_hooks)


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

# %% nbgrader={"grade_id": "version-tribunal-check", "grade": true, "points": 2} jupyter={"source_hidden": true}
from course_utils.chapters.autograd import verdict_on

assert isinstance(verdicts, dict), "keep the dict, with a verdict for each function"
with every_case(at_most=10) as case:
    for name, verdict in verdicts.items():
        with case(name):
            known = verdict in (None, "fine", "error", "wrong")
            assert known, f'write "fine", "error" or "wrong", not {verdict!r}'
because = {
    "edit_exp": "exp saves its result, and the result was edited",
    "edit_sin": "sin saves its input, multiplying by a number saves nothing of y",
    "edit_sum": "the sum saves a shape, no numbers",
    "edit_square": "the product saved h, and h was edited",
    "edit_slice": "y[0] is a view of y: it shares the version, and sigmoid saves its result",
    "edit_constant": "the slope in x is m, so m was saved",
    "edit_added": "a sum needs neither of its terms",
    "edit_detached": "detach shares memory and version: the edit is noticed",
    "edit_data": "behind .data nothing counts: tanh reads a result that was edited",
    "edit_leaf": "x itself requires grad: it must not be written to while recording",
}
machine = {function.__name__: verdict_on(function) for function in CASES}
check_predictions(verdicts, machine, because)


# %% nbgrader={"grade_id": "version-tribunal-check-2", "grade": true, "points": 3}
three, twice = torch.tensor([0.5, 1.0, 2.0]), torch.tensor([0.5, 3.0, 0.5, 0.0, -1.0])
one, double = torch.tensor([-0.07]), three.to(torch.float64) / 3
far = torch.tensor([-400.0, 400.0, 0.0], dtype=torch.float64)
more = torch.linspace(-2, 2, 8)[::2], torch.linspace(-2, 2, 65), far, far.float()
check_repairs(try_repaired, BROKEN, three, one, double, twice, *more)
odd = [torch.tensor([first, 1.0, 2.0]).double() for first in (torch.inf, torch.nan, -torch.inf)]
check_repairs(try_repaired, BROKEN, *odd)
check_repairs(try_repaired, [edit_slice], odd[1][:1])
with every_case() as case:
    for function in BROKEN:
        name = f"repaired[{function.__name__!r}]"
        with case(name):
            check_states(repaired[function.__name__], three, what=f"{name}(x)")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
inputs = [torch.randn(n, generator=generator, dtype=torch.float64) for n in (1, 6)]
check_repairs(try_repaired, BROKEN, *inputs, torch.linspace(-2, 2, 8)[::2])
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
# ## 5. Not recording · core
#
# The record costs memory, and it ties tensors to their past. There are four ways not to record, and
# they are easily mixed up. From the largest to the smallest:
#
# | you write | it means |
# | --- | --- |
# | `with torch.inference_mode():` | record nothing here, and never save the results for backward |
# | `with torch.no_grad():` | record nothing here |
# | `parameter.requires_grad_(False)` | this leaf needs no gradient, until further notice |
# | `x.detach()` | the same numbers, without their past |

# %% topics=["detach-vs-no-grad", "no-grad-inference"] tags=["shows-false"]
w = torch.ones(3, requires_grad=True)
with torch.no_grad():
    quiet = w * 2
with torch.inference_mode():
    silent = w * 2
print("quiet:", quiet.requires_grad, " silent:", silent.requires_grad)
print("detached:", (w * 2).detach().requires_grad)

# %% [markdown]
# `quiet` is an ordinary tensor. It may take part in a later graph, as a constant. `silent` has no
# version counter, and what cannot be checked must not be saved. **Predict** which of the three
# lines fails:

# %% topics=["detach-vs-no-grad", "no-grad-inference"]
for name, line in (
    ("quiet * w", lambda: quiet * w),
    ("silent + w", lambda: silent + w),
    ("silent * w", lambda: silent * w),
):
    try:
        print(f"{name:<11}records: {line().grad_fn.name()}")
    except RuntimeError as error:
        print(f"{name:<11}{str(error).split('. ')[0]}")

# %% [markdown]
# A sum saves nothing, so `silent` may take part in it. A product would have to save it. In return,
# `inference_mode` is a little faster. Use it where results are only looked at, and `no_grad` where
# they may be used again. Neither saves anything (the picture in section 4 showed it for `no_grad`), so
# validation needs a fraction of the memory, and less time.
#
# To decide by a flag, there is `torch.set_grad_enabled(training)`. The three blocks work as
# decorators, too.
#
# **`eval()` is something else.** It tells the layers that training is over: dropout lets everything
# through, batch norm takes its running averages. It has nothing to do with recording. **Predict** the
# four lines:

# %% topics=["eval-vs-no-grad"] tags=["shows-false"]
dropout, ones = nn.Dropout(0.5), torch.ones(1000, requires_grad=True)
for training, recording in ((True, True), (True, False), (False, True), (False, False)):
    dropout.train(training)
    with torch.set_grad_enabled(recording):
        y = dropout(ones * 1)
    drops = bool((y == 0).any())
    print(f"{training=!s:5}  {recording=!s:5}  drops: {drops!s:5}  records: {y.requires_grad}")

# %% [markdown]
# All four combinations exist. Validation wants both: `model.eval()` and `no_grad`.
#
# **`detach()`** is for one tensor. It gives a view, as you know from chapter 02.
#
# > **Often said.** *"`detach()` gives a copy without gradient."* It shares memory *and version*:
# > writing through it changes the original, and autograd knows. A copy is `detach().clone()`. And
# > `detach_()` cuts the tensor itself off from its past.

# %% topics=["detach-vs-no-grad"] errata=["detach-returns-copy"] tags=["shows-false"]
h = torch.ones(3, requires_grad=True) * 2
free = h.detach()
free[0] = 7
print("h:", h.tolist(), " version:", h._version, " free requires grad:", free.requires_grad)
h.detach_()
print("after detach_: requires grad:", h.requires_grad, " leaf:", h.is_leaf)

# %% [markdown]
# **In practice.** A pretrained backbone that is not to learn runs under `no_grad` and in `eval()`: it
# saves nothing. That works as long as nothing *before* it has to learn. If something has, a prompt
# or an adapter for instance, freeze the backbone instead: gradients pass through what is frozen.
#
# ### Exercise 5.9 — The family ★★ · 10 min · 3 points · core
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
    "no_grad: torch.ones(3, requires_grad=True) requires grad": None,
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
    "no_grad: torch.ones(3, requires_grad=True) requires grad": "no_grad stops operations only",
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
# ## 6. You are the record
#
# A puzzle, five questions, and you have all of it: what is recorded, in which order it is walked,
# what each step has to know, what has to be kept, and what it means not to record. To see that it
# is complete, train a network under `inference_mode`. Nothing is recorded there, so *you* keep what
# backward needs, and *you* walk back.
#
# The network has two layers; the data are two rings again, now of 200 points and as tensors.

# %%
generator = torch.Generator().manual_seed(0)
angle = 2 * math.pi * torch.rand(200, generator=generator)
labels = torch.arange(200) % 2
radius = 1 + 0.8 * labels + 0.15 * torch.randn(200, generator=generator)
points = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)  # (200, 2)

# %% [markdown]
# ### Exercise 5.10 — A network by hand ★★ · 15 min · 3 points
#
# Write `two_layer_gradients`. Forward, for `x` (batch, d) and `target` (batch,) of int64:
#
#     h = relu(x @ w1 + b1)
#     scores = h @ w2 + b2
#     loss = mean over the batch of (logsumexp(scores) - scores[target])
#
# with `w1` (d, hidden), `b1` (hidden,), `w2` (hidden, classes), `b2` (classes,). Return five
# tensors: the loss, and its gradients in `w1`, `b1`, `w2` and `b2`. That loss is the cross entropy;
# its slope in the scores is (softmax(scores) − one-hot(target)) / batch. From there, walk back. At
# ReLU, slopes pass where `h` is positive.
#
# Example: with all weights 0 and two classes the loss is log 2, about 0.69. Everything but `target`
# is float32 or float64. Use formulas: no `backward`, `autograd.grad` or `torch.func`. Leave the
# arguments alone.

# %% nbgrader={"grade_id": "network-trials", "locked": true} jupyter={"source_hidden": true}
from course_utils import watched
from course_utils.chapters.autograd import check_networks, further_networks, network_by_autograd


@runs_with_the_answer
def try_network(*arguments: torch.Tensor) -> tuple:
    """What the answer returns; the functions that it called; whether an argument changed."""
    with torch.no_grad():
        return watched(two_layer_gradients, *arguments)


# %% nbgrader={"grade_id": "two-layer-gradients", "solution": true}
def two_layer_gradients(
    x: torch.Tensor,
    target: torch.Tensor,
    w1: torch.Tensor,
    b1: torch.Tensor,
    w2: torch.Tensor,
    b2: torch.Tensor,
) -> tuple[torch.Tensor, ...]:
    """The loss of two layers, and its gradients in ``w1``, ``b1``, ``w2``, ``b2``."""
    ### BEGIN SOLUTION
    h = (x @ w1 + b1).relu()
    scores = h @ w2 + b2
    rows = torch.arange(len(x), device=x.device)
    loss = (scores.logsumexp(1) - scores[rows, target]).mean()
    g = scores.softmax(1)
    g[rows, target] -= 1
    g = g / len(x)
    g_h = (g @ w2.t()) * (h > 0)
    return loss, x.t() @ g_h, g_h.sum(0), h.t() @ g, g.sum(0)
    ### END SOLUTION


# %% nbgrader={"grade_id": "two-layer-gradients-check", "grade": true, "points": 3}
x, target = torch.tensor([[1.0, 2.0], [-1.0, 0.5], [0.0, -3.0]]), torch.tensor([0, 2, 2])
w1, b1 = torch.tensor([[1.0, -1.0], [0.5, 2.0]]), torch.tensor([0.1, -0.2])
w2, b2 = torch.tensor([[1.0, 0.0, -1.0], [0.5, 1.0, 2.0]]), torch.tensor([0.0, 0.3, -0.3])
two = [t.to(torch.float64) for t in (x[1:], w1, b1, w2, b2)]
check_networks(
    try_network,
    ("all weights 0", x, torch.tensor([0, 1, 1]), *map(torch.zeros, ((2, 2), 2, (2, 2), 2))),
    ("three points, three classes", x, target, w1, b1, w2, b2),
    ("one point", x[:1], target[:1], w1, b1, w2, b2),
    ("one hidden value", x, target, w1[:, :1], b1[:1], w2[1:], b2),
    ("scores near 1000", x, target, w1, b1, 400 * w2, b2),
    ("a bias that decides where h is positive", x, target, w1, torch.tensor([1.6, -2.5]), w2, b2),
    ("float64, x transposed", two[0].t().contiguous().t(), target[1:], *two[1:]),
    *further_networks(),
)
check_states(two_layer_gradients, x, target, w1, b1, w2, b2, what="two_layer_gradients(…)")
### BEGIN HIDDEN TESTS
normal, cases = seeded(2), []
for n, d, h, c in ((7, 3, 5, 4), (4, 1, 2, 2), (9, 6, 1, 3)):
    tensors = [normal(*size).double() for size in ((n, d), (d, h), (h,), (h, c), (c,))]
    found = (7 * normal(n)).long() % c
    cases.append((f"batch {n}, {d}, {h}, {c}", tensors[0], found, *tensors[1:]))
check_networks(try_network, *cases)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Forward, keep `h` and `scores`. Then `g`, the slope in the scores, has the shape of `scores`. Take
# softmax, and subtract 1 at each row's target.
# </details>
# <details><summary>Hint 2</summary>
#
# A matrix product pays both factors, as in exercise 5.6: `h` gets `g` times `w2` transposed, and
# `w2` gets `h` transposed times `g`. A bias was broadcast over the batch, as in exercise 5.5.
# </details>

# %% [markdown]
# Now it learns, under `inference_mode`, by your gradients. (Where the exercise is not solved yet, by
# autograd's.)


# %% nbgrader={"grade_id": "train-by-hand", "locked": true} jupyter={"source_hidden": true}
def solved_network(*arguments):
    """Your function if it is right about these arguments, else PyTorch's."""
    try:
        yours = two_layer_gradients(*arguments)
        pairs = zip(yours, network_by_autograd(*arguments), strict=True)
        if all(torch.allclose(mine, right, atol=1e-4) for mine, right in pairs):
            return two_layer_gradients
    except Exception:
        pass
    return network_by_autograd


# %% tags=["shows-false"]
generator = torch.Generator().manual_seed(1)
with torch.inference_mode():
    weights = [torch.randn(2, 16, generator=generator), torch.zeros(16)]
    weights += [torch.randn(16, 2, generator=generator) / 4, torch.zeros(2)]
    gradients_of, course = solved_network(points, labels, *weights), []
    for _ in range(150):
        loss, *gradients = gradients_of(points, labels, *weights)
        weights = [w - 0.5 * g for w, g in zip(weights, gradients, strict=True)]
        course.append(loss.item())
print(f"loss {course[0]:.2f} -> {course[-1]:.2f}; recorded: {loss.requires_grad}")

# %% jupyter={"source_hidden": true}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
left.plot(course, color="#b04500")
left.set(xlabel="step", ylabel="loss", ylim=(0, None), title="Under inference_mode")
grid = torch.linspace(-2.5, 2.5, 80)
places = torch.cartesian_prod(grid, grid)
scores = (places @ weights[0] + weights[1]).relu() @ weights[2] + weights[3]
share = scores.softmax(1)[:, 1].reshape(80, 80).t()
image = right.imshow(share, origin="lower", extent=(-2.5, 2.5) * 2, cmap="cividis", vmin=0, vmax=1)
for label, mark, colour in ((0, "o", "#fdf3b4"), (1, "^", "#1a1a1a")):
    style = {
        "color": colour,
        "markersize": 3.5,
        "markeredgecolor": "#1a1a1a",
        "markeredgewidth": 0.3,
    }
    right.plot(*points[labels == label].t(), mark, label=f"class {label}", **style)
right.set(title="What it learned", xlabel="x₀", ylabel="x₁")
right.legend(fontsize=7, loc="upper right")
figure.colorbar(image, label="share of class 1")
figure.tight_layout()
show(
    figure,
    "Left: the loss falls from 1.3 to below 0.1. Right: two rings; the share of class 1 "
    "is near 0 inside the inner ring and near 1 around it.",
)

# %% [markdown]
# No graph, no `.grad`, no `backward()`. What autograd does for you is this, for any program, in the
# right order, with rules for a few hundred operations.

# %% [markdown]
# ## Heard elsewhere
#
# More sentences from old notes, each with a cell that answers.
#
# *"Wrap the tensor in a `Variable`, and mark it `volatile` for inference."* Since version 0.4 a
# `Variable` is a tensor, and wrapping does nothing. `volatile` is ignored, with a warning.

# %% tags=["shows-deprecated"] topics=["variable-merge"] errata=["variable-and-volatile"]
from torch.autograd import Variable

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    wrapped = Variable(torch.ones(1), volatile=True)
print(type(wrapped).__name__, "|", str(caught[0].message).split(".")[0])

# %% [markdown]
# *"Freeze a layer by `parameter.require_grad = False`."* It should be `requires_grad`, with an s.
# Python lets you invent an attribute, so the misspelling does nothing and says nothing. A misspelt
# *method* raises, so `requires_grad_(False)` is the safe way.
#
# *"`with torch.zero_grad():` switches autograd off during validation."* There is no such function.
# `zero_grad` is a method that clears gradients; the block is `no_grad`.

# %% errata=["require-grad-typo", "no-grad-called-zero-grad"] topics=["no-grad-inference"] tags=["shows-false"]
layer = nn.Linear(2, 2)
layer.weight.require_grad = False
print("after the misspelling: ", layer.weight.requires_grad)
layer.weight.requires_grad_(False)
print("after the method:      ", layer.weight.requires_grad)
print("torch.zero_grad exists:", hasattr(torch, "zero_grad"))

# %% [markdown]
# *"Gradient accumulation: two forward passes, then one backward."* That keeps both graphs alive until
# the end, which is the memory you wanted to save. Each backward frees its own graph.

# %% topics=["gradient-accumulates"] errata=["accumulate-then-one-backward"]
x = torch.ones(1000, requires_grad=True)
first, second = x.exp().sum(), x.exp().sum()
print("both kept:          ", draw_graph(first + second).saved_bytes, "bytes")
first.backward()
print("after one backward: ", draw_graph(first + second).saved_bytes, "bytes")

# %% [markdown]
# *"A tensor cannot be trained, it has to be a `Parameter`."* Any leaf that requires grad will do. A
# `Parameter` has an advantage: a module finds it by itself.

# %% topics=["minimise-with-optimizer"] errata=["only-parameters-train"]
x = torch.tensor(-1.5, requires_grad=True)
optimizer = torch.optim.SGD([x], lr=0.1)
for _ in range(30):
    optimizer.zero_grad()
    ((x - 1) ** 2 + 1).backward()
    optimizer.step()
print(f"x = {x.item():.2f}, the minimum of (x - 1)² + 1 is at 1")

# %% [markdown]
# *"The error 'derivative for target is not implemented' tells you that the target carries a
# gradient."* It did once. Most losses can differentiate their target today, and say nothing. If the
# target comes from a network, as in distillation, check `target.requires_grad` yourself.

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
# *"Get the values by `x.cpu().numpy()`"*, *"by `x.data.cpu().numpy()`"*, and, *"as `copy.deepcopy`
# fails inside a graph, by `copy.deepcopy(feature.data.cpu().numpy())`."* The first fails if `x`
# requires grad, because NumPy cannot record. `.data` works, but by the old door. And `deepcopy` does
# fail for a tensor with a `grad_fn`: the copy would need a past, too. Write `x.detach().cpu().numpy()`
# for an array, `x.detach().clone()` for a tensor, `x.item()` for a single number.

# %% topics=["data-vs-detach", "leaf-tensors"] errata=["numpy-of-grad-tensor", "deepcopy-advice"]
import copy

x = torch.ones(2, requires_grad=True)
for call in (lambda: x.cpu().numpy(), lambda: copy.deepcopy(x * 2)):
    try:
        call()
    except RuntimeError as error:
        print(str(error).split(". ")[0].split(",")[0])
print(x.detach().cpu().numpy(), (x * 2).detach().clone(), copy.deepcopy(x).is_leaf)

# %% [markdown]
# ## What to take home
#
# | question | answer |
# | --- | --- |
# | What is recorded? | each operation on something that requires grad, as a `grad_fn` |
# | Who gets a `.grad`? | leaves that require grad and took part; others if they `retain_grad()` |
# | In which order is it walked? | a value hands on only when everyone who used it has paid in |
# | What does an entry have to know? | a VJP: from the gradient of its result to those of its inputs |
# | What happens at a second `backward()`? | `.grad` adds up; saved tensors are gone unless retained |
# | What takes up the memory? | saved tensors: inputs or results of operations, each storage once |
# | May I edit in place? | if no rule saved the old value; the version counter knows |
# | `no_grad` or `eval()`? | the first is about recording, the second about layers; validation wants both |
#
# **Three mistakes to remember**
#
# 1. Going behind the counter. `.data` and NumPy arrays give no error and a wrong gradient. Use
#    `detach()` to look and `no_grad` to write.
# 2. Losing the leaf. After `.to(...)` or `* 0.01` your tensor is a result, and its `.grad` stays
#    `None`. Call `requires_grad_()` last.
# 3. Keeping a graph by accident. Losses that never go backward, collected or added up in
#    validation, keep every step's saved tensors. Keep `loss.item()` or `loss.detach()`.
#
# **Read more.** The PyTorch documentation has *Autograd mechanics*, and the blog posts *Overview of
# PyTorch Autograd Engine* and *How Computational Graphs are Executed in PyTorch*. Baydin,
# Pearlmutter, Radul and Siskind, *Automatic Differentiation in Machine Learning: a Survey*, covers
# forward and reverse mode in full. Chapter 06 continues with your own rules: how to write them, how
# to trust them, and how to trade memory for time.
