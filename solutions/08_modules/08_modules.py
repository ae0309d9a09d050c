# ---
# jupyter:
#   course:
#     title: Modules
#     minutes: 240
#     core: 150
# ---
# %% [markdown]
# # Modules: what does a module know that a function does not?
#
# A layer is a function of its input and its weights. PyTorch has the functions: `F.linear`,
# `F.conv2d`, `F.dropout`. Yet models are written as classes: a module must know something that a
# function does not. This chapter finds out what, piece by piece: names, what to save, what to move,
# what to train, and which mode it is in. Behind most bugs in model code there is a module that does
# not know what its author thinks it knows.
#
# **After this chapter you can**
#
# - say which tensors of a class will be trained, saved and moved, before you run it;
# - write `nn.Module` yourself, in under a hundred lines, and train a network with it;
# - turn a model into a pure function, and run a whole ensemble in a single call;
# - start weights so that twenty layers neither fade nor explode, and predict by how much;
# - load a checkpoint that fits only in part, and know exactly what was loaded;
# - freeze, count and replace layers in a model that you did not write;
# - load torchvision's ResNet-18, name by name, into classes that you wrote yourself.
#
# **It leans on** chapter 05 (graph, leaves, `.grad`). **Time:** four hours, without section 7, which is
# optional: with exercise 8.7 it takes another 35 minutes. The sections and exercises marked *core* take
# two and a half hours; nothing later leans on the rest. You can skip any exercise.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_predictions, device, every_case, runs_with_the_answer, show
from course_utils.chapters.modules import pictures, trials

# %% [markdown]
# ## A model that learns, and another that does not · core
#
# Two classes, one line apart. Both compute the same: three layers and a head. **Predict:** which of
# the two learns?


# %%
class First(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 16), nn.Linear(16, 16), nn.Linear(16, 16)]
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).tanh()
        return self.head(x)


# %%
class Second(First):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(self.layers)


# %% [markdown]
# The task: a point's class depends on its distance from the centre. Both start from the same weights.

# %%
import matplotlib.pyplot as plt

points = torch.randn(256, 2, generator=torch.Generator().manual_seed(0))
inside = (points.norm(dim=1, keepdim=True) < 1.2).float()
figure, axes = plt.subplots(figsize=(6, 2.6))
for model_class in (First, Second):
    torch.manual_seed(0)
    model, losses = model_class(), []
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(120):
        loss = F.binary_cross_entropy_with_logits(model(points), inside)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    axes.plot(losses, label=f"{model_class.__name__}: {len(list(model.parameters()))} parameters")
axes.set(xlabel="step", ylabel="loss", ylim=(0, 0.8), title="One line apart")
axes.legend(loc="center right")
show(figure, "Two loss curves: First hardly falls, with 2 parameters; Second, with 8, nears zero.")

# %% [markdown]
# `First` learns a little, because its head does. Its three layers never move. No error, no
# warning: the loss falls, if slowly, and that is what makes this bug expensive. The legend gives it
# away. `First` knows of two parameters, `Second` of eight.
#
# How does a module come to know a tensor? That is the first thing to find out.

# %% [markdown]
# ## 1. Names for numbers · core
#
# A function knows nothing. Whoever calls it has to carry its weights along:

# %%
weight, bias = torch.tensor([[1.0, -1.0]]), torch.tensor([0.5])
F.linear(torch.tensor([[3.0, 1.0]]), weight, bias)

# %% [markdown]
# A module carries them itself. You write a class with two methods: `__init__` makes the parts,
# `forward` uses them. An `nn.Parameter` is a tensor that says "train me".


# %% topics=["module-subclass", "nn-parameter"]
class Affine(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(after, before) / before**0.5)
        self.bias = nn.Parameter(torch.zeros(after))

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


# %% [markdown]
# You call the module itself and not `forward`, because the call also runs the hooks of chapter 07.
# Here is what it knows, under which names:

# %% topics=["inspect-parameters", "nn-parameter"]
layer = Affine(2, 3)
layer(torch.ones(1, 2)).sum().backward()
for name, parameter in layer.named_parameters():
    print(name, tuple(parameter.shape), "grad:", parameter.grad.tolist())

# %% [markdown]
# Modules may hold modules. Then names grow dots. A block that you use often deserves its own class:


# %% nbgrader={"grade_id": "small-net", "locked": true} topics=["module-subclass"]
class Block(nn.Module):
    """Convolution, batch norm, ReLU."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(after)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.conv(x)).relu()


class SmallNet(nn.Module):
    """Images (batch, 1, height, width) to scores (batch, classes)."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.features = nn.Sequential(Block(1, 8), nn.MaxPool2d(2), Block(8, 16))
        self.head = nn.Linear(16, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).mean((2, 3)))


# %% topics=["modules-vs-children"]
net = SmallNet()
print("children:", [name for name, _ in net.named_children()])
print("modules: ", [name for name, _ in net.named_modules()])

# %% [markdown]
# `named_children()` lists the modules directly inside. `named_modules()` walks the whole tree and
# starts with the module itself, under the empty name. The picture draws that tree. The bars are
# what each module itself holds: parameters, and *buffers*, which are tensors that belong to the
# model but are not trained. Here they are the running statistics of the batch norms.


# %% topics=["modules-vs-children"]
pictures.draw_tree(
    net, "SmallNet as a tree of ten modules; most bytes belong to the second convolution."
)

# %% [markdown]
# Follow a line down from `model` and join the words by dots. That is a tensor's full name:
# `features.2.conv.weight`. Containers hold nothing themselves. Three quarters of the bytes belong to
# the second convolution.
#
# ### `nn.Sequential`
#
# A container that calls its children in turn. It names them by numbers, or as an `OrderedDict`
# says. It takes a list with a star, can be cut like a list, and grows by `append`:

# %% topics=["sequential"]
from collections import OrderedDict

layers = [nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)]
plain = nn.Sequential(*layers)
named = nn.Sequential(OrderedDict(hidden=layers[0], relu=layers[1], out=layers[2]))
print(list(plain.state_dict()))
print(list(named.state_dict()))
print(plain[:2].append(nn.Tanh()))

# %% [markdown]
# A slice holds the same layers, not copies. The two containers above share their layers as well: only
# the names differ.
#
# ### Exercise 8.1 — Read the names ★ · 2 min · 1 point · core
#
# Without running it: for `tiny` below, the full name of the last layer's bias; how many names
# `named_parameters()` lists; and how many numbers they hold together.

# %% nbgrader={"grade_id": "tiny", "locked": true}
tiny = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))

# %% nbgrader={"grade_id": "read-the-names", "solution": true}
read_the_names = {
    "name of the last layer's bias": None,
    "how many names": None,
    "how many numbers": None,
}
### BEGIN SOLUTION
read_the_names = {
    "name of the last layer's bias": "2.bias",
    "how many names": 4,
    "how many numbers": 26,
}
### END SOLUTION

# %% nbgrader={"grade_id": "read-the-names-check", "grade": true, "points": 1}
names = [name for name, _ in tiny.named_parameters()]
check_predictions(
    read_the_names,
    {
        "name of the last layer's bias": names[-1],
        "how many names": len(names),
        "how many numbers": sum(parameter.numel() for parameter in tiny.parameters()),
    },
    because={
        "name of the last layer's bias": (
            "children are numbered from 0, the ReLU included, and the variable isn't part of a name"
        ),
        "how many names": "a weight and a bias for each layer that has any",
        "how many numbers": "a layer from m to n numbers has m times n weights and n biases",
    },
)

# %% [markdown]
# <details><summary>Hint</summary>
#
# A `Linear(3, 4)` holds a weight of shape (4, 3) and a bias of shape (4,). A ReLU holds nothing, but
# takes a number.
# </details>

# %% [markdown]
# ## 2. One door: assignment · core
#
# Still open: how did the module learn these names? You never called a function that registers a
# parameter. You wrote `self.weight = …`. `nn.Module` overrides `__setattr__`, which Python calls at
# every assignment to an attribute. There it looks at the *type* of the value and sorts it in:

# %% topics=["nn-parameter", "fixed-tensors-buffers"]
box = nn.Module()
box.a = nn.Parameter(torch.zeros(2))
box.b = nn.Linear(2, 2)
box.c = torch.zeros(2)
box.register_buffer("d", torch.zeros(2))

# %% topics=["nn-parameter", "fixed-tensors-buffers"]
for drawer in ("_parameters", "_modules", "_buffers"):
    print(f"{drawer:<12}", list(getattr(box, drawer)))
print("the heap:   ", [name for name in vars(box) if name in "abcd"])

# %% topics=["nn-parameter", "fixed-tensors-buffers"]
pictures.draw_drawers()

# %% [markdown]
# Three drawers, and a heap for everything else. Follow the arrows from the left: the type of the value
# decides. Then from the right: `parameters()`, `state_dict()`, `to()` and `train()` open the drawers,
# and nothing ever looks at the heap. `forward` can use a plain tensor such as `box.c`; to all these
# methods it doesn't exist.
#
# A buffer may also be assigned, wrapped in `nn.Buffer`; `register_buffer` is the older spelling.
#
# > **Then and now.** *"Keep a fixed weight as a plain tensor attribute: `self.w = torch.rand(2, 2)`."*
# > It works until the model moves or is saved. `register_buffer` is the drawer for such tensors;
# > with `persistent=False` it moves but is not saved.

# %% topics=["fixed-tensors-buffers"] errata=["constant-tensor-as-attribute"]
box.e = nn.Buffer(torch.zeros(2), persistent=False)
box.double()
print("moved:", {name: str(getattr(box, name).dtype) for name in "acde"})
print("saved:", list(box.state_dict()))

# %% [markdown]
# `state_dict()` gives what is to be saved: parameters and persistent buffers. And note that
# `box.double()` changed the box itself. A tensor's `x.double()` or `x.to(device)` returns another
# tensor and leaves `x` alone: write `x = x.to(device)`.
#
# > **Often said.** *"`state_dict()`, or `named_parameters()`, lists the trainable parameters."*
# > Neither does. The first holds buffers as well, and its tensors are detached. The second holds
# > frozen parameters as well. Trainable is what has `requires_grad` among the parameters.

# %% topics=["inspect-parameters"] errata=["state-dict-is-trainable-params"]
norm = nn.BatchNorm1d(2)
norm.bias.requires_grad_(False)
print("state_dict:      ", list(norm.state_dict()))
print("named_parameters:", [name for name, _ in norm.named_parameters()])
print("trainable:       ", [name for name, p in norm.named_parameters() if p.requires_grad])

# %% [markdown]
# Since assignment is the door, two more things happen there. A plain tensor can't take a
# parameter's name (it would silently stop training). And the drawers are made by
# `super().__init__()`: without it there is nothing to sort into.


# %% topics=["module-subclass"]
class Forgetful(nn.Module):
    def __init__(self):
        self.layer = nn.Linear(2, 2)


# %% topics=["module-subclass"]
for attempt in (Forgetful, lambda: setattr(nn.Linear(2, 2), "weight", torch.ones(2, 2))):
    try:
        attempt()
    except (AttributeError, TypeError) as error:
        print(f"{type(error).__name__}: {error}")

# %% [markdown]
# Write `super().__init__()`, without arguments. In old code you see `super(Network, self)`. It means
# the same while the name is right, and fails once a class is renamed.
#
# Here is a module that stores a tensor in ten ways. The next exercise asks about each of them.


# %% nbgrader={"grade_id": "ten-ways", "locked": true}
class Box(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.zeros(2))
        self.b = torch.zeros(2)
        self.c = torch.zeros(2, requires_grad=True)
        self.register_buffer("d", torch.zeros(2))
        self.register_buffer("e", torch.zeros(2), persistent=False)
        self.f = [nn.Parameter(torch.zeros(2))]
        self.g = nn.ParameterList([torch.zeros(2)])
        self.h = (nn.Linear(2, 2), nn.ReLU())
        self.i = nn.Linear(2, 2).requires_grad_(False)
        self.j = nn.Parameter(torch.zeros(2)) * 1.0


# %% [markdown]
# ### Exercise 8.2 — Ten ways to store a tensor ★★ · 8 min · 3 points · core
#
# For each attribute of `Box`, write a string of those letters that hold for its tensor (for a layer:
# its weight; for a list: its first entry). The order of the letters doesn't matter; `""` means none.
#
# - **P**: it is among `box.parameters()`. **B**: among `box.buffers()`.
# - **S**: it is in `box.state_dict()`. **M**: `box.double()` changes its dtype.
# - **T**: it trains. The loss is the sum of all ten tensors; after `backward()`, a step of
#   `torch.optim.SGD(box.parameters(), lr=1)` changes it.


# %% nbgrader={"grade_id": "predict-registration", "solution": true}
predict_registration = {
    "a": None,
    "b": None,
    "c": None,
    "d": None,
    "e": None,
    "f": None,
    "g": None,
    "h": None,
    "i": None,
    "j": None,
}
### BEGIN SOLUTION
predict_registration = {"a": "PSMT", "b": "", "c": "", "d": "BSM", "e": "BM", "f": ""}
predict_registration |= {"g": "PSMT", "h": "", "i": "PSM", "j": ""}
### END SOLUTION

# %% nbgrader={"grade_id": "predict-registration-check", "grade": true, "points": 3}
trials.check_registration(predict_registration, Box)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Ask first: what is the *type* of the value to the right of the equals sign?
# </details>
# <details><summary>Hint 2</summary>
#
# To train takes two things: a gradient, and an optimizer that was told of the tensor.
# </details>

# %% [markdown]
# ## 3. Lists of layers, and forks in the way · core
#
# Now the opening riddle is solved. `self.layers = [...]` assigns a *list*. It lands on the heap, and
# with it three layers. Each container has a twin that is a module:
#
# | Python | registered |
# | --- | --- |
# | list of modules | `nn.ModuleList` |
# | dict of modules | `nn.ModuleDict` (no dots in the keys) |
# | list, dict of parameters | `nn.ParameterList`, `nn.ParameterDict` |
#
# These only hold; they have no `forward`. That makes them useful where data doesn't flow
# straight through. Here every layer sees all earlier outputs:


# %% topics=["modulelist", "control-flow-in-forward"]
class Dense(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width * n, width) for n in range(1, depth + 1))

    def forward(self, x):
        outputs = [x]
        for layer in self.layers:
            outputs.append(layer(torch.cat(outputs, dim=1)).relu())
        return outputs[-1]


[tuple(p.shape) for p in Dense(4, 3).parameters() if p.dim() == 2]

# %% [markdown]
# A ModuleList keeps its order. But it can't be called; you call its members:

# %% topics=["modulelist"] errata=["modulelist-unordered"]
both = nn.ModuleList([nn.Linear(1, 2), nn.Linear(2, 3)])
print(list(both.state_dict()), "second:", both[1])
try:
    both(torch.ones(1, 1))
except NotImplementedError as error:
    print("NotImplementedError:", str(error).split("is missing")[0])

# %% [markdown]
# `forward` is ordinary Python. A layer may run several times, how often may depend on the data, and
# the gradient sums up all its uses:


# %% topics=["control-flow-in-forward"]
class Repeat(nn.Module):
    def __init__(self):
        super().__init__()
        self.shrink = nn.Linear(1, 1, bias=False)
        nn.init.constant_(self.shrink.weight, 0.5)

    def forward(self, x):
        steps = 0
        while x.abs().max() > 1:
            x, steps = self.shrink(x), steps + 1
        return x, steps


# %% topics=["control-flow-in-forward"]
repeat = Repeat()
y, steps = repeat(torch.tensor([[12.0]]))
y.sum().backward()
print("steps:", steps, " y:", y.item())
print("grad of the one weight:", repeat.shrink.weight.grad.item())

# %% [markdown]
# The weight was used four times: y = 12 w⁴, and 48 w³ is 6. Such a loop has a price later: compilers
# break the graph there, and `torch.export` refuses it, since the data decide how often it runs. For
# export you write it with `torch.while_loop`, and an `if` on data with `torch.cond`.
#
# ### One more way to lose a parameter
#
# The optimizer is told of the parameters once, when it is made. It keeps the *objects*. **Predict:**
# does the layer change in this step?

# %% topics=["init-with-tensor"]
layer = nn.Linear(2, 1, bias=False)
optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
layer.weight = nn.Parameter(torch.ones(1, 2))
layer(torch.ones(1, 2)).sum().backward()
optimizer.step()
print("weight:", layer.weight.tolist(), " grad:", layer.weight.grad.tolist())

# %% [markdown]
# It has a gradient, yet it doesn't move. The optimizer still holds the old parameter, which
# `forward` no longer uses. Give a parameter new *values*, and keep the object. `copy_` writes in
# place, and `no_grad` keeps autograd out of it:

# %% topics=["init-with-tensor"]
layer = nn.Linear(2, 1, bias=False)
optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
with torch.no_grad():
    layer.weight.copy_(torch.ones(1, 2))
layer(torch.ones(1, 2)).sum().backward()
optimizer.step()
layer.weight.tolist()

# %% [markdown]
# ### Exercise 8.3 — A model whose layers don't train ★★ · 10 min · 4 points · core
#
# The model `Trapped`, below, falls into both traps. It computes the right thing, and doesn't learn.
# Write two functions that get out.
#
# `list_trap(sizes, heads)` returns a module that computes the same as `Trapped`, called as
# `model(x, head)`, and knows all its layers, those of every head, and no parameter besides. As there,
# `x` has any shape that ends with `sizes[0]`; a single point is enough.
#
# - `sizes`, e.g. `[3, 5, 4]`: a linear layer and a ReLU from each size to the next, even where two
#   sizes are equal. `[3]`: none.
# - `heads`, e.g. `{"colour": 2, "shape": 6}`: a linear layer for each name, from the last size; no
#   ReLU behind it. Any name that `nn.ModuleDict` takes is allowed: one without a dot that isn't the
#   name of a method of `nn.ModuleDict`. (`"layers"` is fine.)
# - Each call makes new layers. `sizes` and `heads` stay as they are; the caller may change them later.
#
# `set_weight(layer, value)` gives an `nn.Linear` the weight `value`, so that an optimizer made earlier
# continues to train it.
#
# - `value` has the weight's shape and dtype, and arrives in the precision of that dtype. It may be a
#   view of another tensor, or another layer's weight, which needs a gradient itself.
# - `value` is only read: it must not change later, when the layer trains.
# - Whether the weight needs a gradient stays as it was, and so does all else about the layer: its
#   bias, mode, hooks and each `.grad`.
#
# Example: `list_trap([3, 5, 4], {"colour": 2, "shape": 6})` has eight parameters.


# %% nbgrader={"grade_id": "trapped", "locked": true}
from itertools import pairwise


class Trapped(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.layers = [nn.Linear(m, n) for m, n in pairwise(sizes)]
        self.heads = {name: nn.Linear(sizes[-1], n) for name, n in heads.items()}

    def forward(self, x, head):
        for layer in self.layers:
            x = layer(x).relu()
        return self.heads[head](x)


# %% nbgrader={"grade_id": "try-list-trap", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_list_trap(*case):
    return trials.run_list_trap(list_trap, *case)


@runs_with_the_answer
def try_set_weight(*case):
    return trials.run_set_weight(set_weight, *case)


# %% nbgrader={"grade_id": "list-trap", "solution": true}
def list_trap(sizes: list[int], heads: dict[str, int]) -> nn.Module:
    """A module called as ``model(x, head)``; all of its layers are registered."""

    ### BEGIN SOLUTION
    class Freed(Trapped):
        def __init__(self):
            super().__init__(sizes, heads)
            self.layers = nn.ModuleList(self.layers)
            self.heads = nn.ModuleDict(self.heads)

    return Freed()
    ### END SOLUTION


def set_weight(layer: nn.Linear, value: torch.Tensor) -> None:
    """Give ``layer.weight`` the values of ``value``, of the same shape."""
    ### BEGIN SOLUTION
    with torch.no_grad():
        layer.weight.copy_(value)
    ### END SOLUTION


# %% nbgrader={"grade_id": "list-trap-check", "grade": true, "points": 2}
x = torch.tensor([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]], device=device)
with every_case() as case:
    for head in ("colour", "shape"):
        with case(f"sizes [3, 5, 4], head {head!r}"):
            trials.check_trap(try_list_trap, [3, 5, 4], {"colour": 2, "shape": 6}, head, x)
    with case("sizes [3, 4, 4, 4], two layers of one shape"):
        trials.check_trap(try_list_trap, [3, 4, 4, 4], {"one": 5, "two": 5}, "two", x)
    with case("twelve sizes, so eleven layers (in the order of names, 10 comes before 2)"):
        trials.check_trap(try_list_trap, [*range(3, 15)], {"one": 2}, "one", x)
    with case("sizes [3], no hidden layer"):
        trials.check_trap(try_list_trap, [3], {"only": 2}, "only", x)
    with case('a head called "layers" (setattr may push out your own attribute of that name)'):
        trials.check_trap(try_list_trap, [3, 5], {"layers": 2, "heads": 3, "ä 0": 4}, "layers", x)
    with case('heads called "0" and "1", as a list calls its layers (each has its own place)'):
        trials.check_trap(try_list_trap, [3, 5, 4], {"0": 2, "1": 3}, "1", x)
    shapes = {"an empty batch": x[:0], "a single point": x[0], "a batch of batches": x[None]}
    shapes["its first two dimensions swapped"] = torch.stack([x, -x, 2 * x]).transpose(0, 1)
    shapes["the model in float64"] = x.double() / 3
    for told, points in shapes.items():
        with case(told):
            trials.check_trap(try_list_trap, [3, 4], {"two": 3, "one": 1}, "one", points)
### BEGIN HIDDEN TESTS
with every_case() as case, case("sizes [3, 7, 7, 2], three heads"):
    trials.check_trap(try_list_trap, [3, 7, 7, 2], {"one": 1, "two": 9, "three": 3}, "two", -x)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "list-trap-check-2", "grade": true, "points": 2}
value = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device=device)
with every_case() as case:
    with case("a 3 × 2 weight"):
        trials.check_weight(try_set_weight, value)
    with case("a frozen weight"):
        trials.check_weight(try_set_weight, value, needs=False)
    with case("a value that requires grad"):
        trials.check_weight(try_set_weight, value[1:].clone().requires_grad_())
    with case("a transposed view of thirds, float64"):
        trials.check_weight(try_set_weight, value.double().t() / 3)
    starts = {"a weight that is NaN before": "nan", "a layer without a bias": "bare"}
    starts["a weight that isn't contiguous: it was transposed"] = "turned"
    for told, start in starts.items():
        with case(told):
            trials.check_weight(try_set_weight, value, start=start)
    with case("a row, expanded to four, with infinite numbers"):
        trials.check_weight(try_set_weight, (1 / (value[:1] - 1)).expand(4, 2))
    with case("bfloat16"):
        trials.check_weight(try_set_weight, value.bfloat16() / 3)
### BEGIN HIDDEN TESTS
with every_case() as case, case("a frozen weight, and a value that requires grad"):
    trials.check_weight(try_set_weight, value[1:].clone().requires_grad_(), needs=False)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Two words have to change in `Trapped`, or be wrapped around something.
# </details>
# <details><summary>Hint 2</summary>
#
# To assign a new Parameter makes a new object. To assign `value` through a shared memory lets the
# training write into `value`. Which method copies numbers into a tensor that exists?
# </details>

# %% [markdown]
# ## 4. Write it yourself · core
#
# You know the door and the drawers. Is there more to `nn.Module`? Build it and see. First comes the
# parameter: a tensor with another type, so that the door can tell it apart. Five lines:


# %% nbgrader={"grade_id": "mini-parameter", "locked": true} topics=["nn-parameter"]
class MiniParameter(torch.Tensor):
    """A leaf that says "train me". What is computed from it is a plain tensor."""

    def __new__(cls, values: torch.Tensor, requires_grad: bool = True) -> "MiniParameter":
        return torch.Tensor._make_subclass(cls, values.detach(), requires_grad)

    __torch_function__ = torch._C._disabled_torch_function_impl


# %%
p = MiniParameter(torch.tensor([1.0, 2.0]))
(p * p).sum().backward()
print(type(p).__name__, p.grad.tolist(), type(p * p).__name__)

# %% [markdown]
# Next, the names. Walk the tree by hand. A module's names are its own parameters' names; then, for
# each child, the child's names with the child's name and a dot in front. The rule calls itself:


# %% topics=["inspect-parameters"]
def names(module, prefix=""):
    found = [prefix + name for name, p in module._parameters.items() if p is not None]
    for name, child in module._modules.items():
        found += names(child, prefix + name + ".")
    return found


# %% topics=["inspect-parameters"]
assert names(net) == [name for name, _ in net.named_parameters()]
print(names(net))

# %% [markdown]
# (Where a layer does without a bias, the drawer holds `None` under that name: nothing else takes it.)
#
# Something is missing. Two layers often share a weight: a language model reads and writes words by
# the same table. **Predict:** how many names does each line list?

# %% topics=["count-parameters"]
talker = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False))
talker[1].weight = talker[0].weight
print("by hand:          ", names(talker))
print("named_parameters: ", [name for name, _ in talker.named_parameters()])
print("state_dict:       ", list(talker.state_dict()))

# %% [markdown]
# An optimizer that is told twice would take two steps, and a count would be wrong. Therefore
# `named_parameters()` lists a shared tensor once, under its first name. A state dict lists it under
# both, so that either half can be loaded alone.
#
# Then assignment. In Python, `__setattr__(self, name, value)` runs at every assignment, and
# `__getattr__(self, name)` only when a normal look-up finds nothing. To store something without
# running into your own `__setattr__`, write to `self.__dict__`. Here is a drawer for numbers:


# %%
class Drawer:
    def __init__(self):
        self.__dict__["numbers"] = {}

    def __setattr__(self, name, value):
        if isinstance(value, int):
            self.numbers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        if name in self.__dict__.get("numbers", {}):
            return self.numbers[name]
        raise AttributeError(name)


# %% [markdown]
# Store a number, then a word under the same name. **Predict** both lines:

# %%
drawer = Drawer()
drawer.x, drawer.y = 1, "one"
drawer.y = 2
print(drawer.numbers, "but drawer.y is", repr(drawer.y))

# %% [markdown]
# The name `y` is in the drawer and on the heap, and the heap wins. That is why
# `__setattr__` must first take the name out of everywhere else. Now you know all the traps.
#
# ### Containers need nothing more
#
# `nn.Sequential` by hand, equal to the real one:


# %% topics=["sequential"]
class MySequential(nn.Module):
    def __init__(self, *modules):
        super().__init__()
        for number, module in enumerate(modules):
            self.add_module(str(number), module)

    def forward(self, x):
        for module in self._modules.values():
            x = module(x)
        return x


# %% topics=["sequential"]
x = torch.ones(1, 4)
assert torch.equal(MySequential(*layers)(x), nn.Sequential(*layers)(x))
print(list(MySequential(*layers).state_dict()))

# %% [markdown]
# ### Exercise 8.4 — Your own Module ★★★ · 35 min · 6 points · core
#
# Write `MiniModule`, without `nn.Module` and without `nn.Parameter`. A class is derived from it as
# from `nn.Module`, and calls `super().__init__()` first. In two respects it is simpler than
# `nn.Module`; they are named below the exercise.
#
# *Attributes and tree*
#
# - `module.name = value`: a `MiniParameter` becomes a parameter, a `MiniModule` a child (instances of
#   subclasses, too), anything else a plain attribute. A name holds one thing: what it held before, of
#   whatever kind, is gone. But a plain tensor of any shape and dtype assigned to a buffer's
#   name is the buffer from then on, the tensor itself, as persistent as the old one.
# - `module.name` reads it. A name that doesn't exist is an `AttributeError`.
# - `register_buffer(name, tensor, persistent=True)`: here, too, the name's old holder is gone.
# - `named_parameters()`: pairs (full name, parameter), frozen or not, as a list or a generator. The
#   module's own first, then child after child with all below it, each in the order of assignment.
#   Each parameter once, under its first name; a child may be shared, too. `named_buffers()`:
#   likewise, persistent or not.
# - `module(...)` calls `forward(...)`.
#
# *Mode and state*
#
# - `module.training`, `True` at first. `train(mode=True)` and `eval()` set it, here and in all children
#   at any depth, and return the module.
# - `state_dict()`: a dict from each full name to its tensor, detached and in the model's memory:
#   parameters and persistent buffers, shared ones under each of their names.
# - `load_state_dict(state)` copies the values into the model's tensors, which stay the same objects
#   of the same dtype; `state` is only read. If a name is missing, is unexpected, or has another
#   shape: `RuntimeError`, whose message contains every such name, and nothing was loaded.
#
# Last in the cell, `mini_module()` hands your class to the check; leave it.


# %% nbgrader={"grade_id": "try-mini-module", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_tree(*case):
    return trials.run_tree(mini_module, MiniParameter, *case)


@runs_with_the_answer
def try_names(*case):
    return trials.run_names(mini_module, MiniParameter, *case)


@runs_with_the_answer
def try_modes(*case):
    return trials.run_modes(mini_module, MiniParameter, *case)


@runs_with_the_answer
def try_state(*case):
    return trials.run_state(mini_module, MiniParameter, *case)


# %% nbgrader={"grade_id": "mini-module", "solution": true}
class MiniModule:
    """Knows its parameters, buffers and children, their names and their mode."""

    def __init__(self) -> None:
        """Empty drawers, in training mode."""
        ### BEGIN SOLUTION
        self.__dict__.update(_parameters={}, _buffers={}, _children={}, _fleeting=set())
        self.training = True
        ### END SOLUTION

    def __setattr__(self, name: str, value: object) -> None:
        """Sort ``value`` into a drawer by its type."""
        ### BEGIN SOLUTION
        drawers = (self._parameters, self._buffers, self._children, self.__dict__)
        kind = 2 if isinstance(value, MiniModule) else 3
        if isinstance(value, torch.Tensor) and name in self._buffers:
            kind = 1
        if isinstance(value, MiniParameter):
            kind = 0
        for number, drawer in enumerate(drawers):
            if number != kind:
                drawer.pop(name, None)
        drawers[kind][name] = value
        ### END SOLUTION

    def __getattr__(self, name: str) -> object:
        """A parameter, buffer or child; Python calls this when a plain look-up finds nothing."""
        ### BEGIN SOLUTION
        for drawer in ("_parameters", "_buffers", "_children"):
            if name in self.__dict__.get(drawer, {}):
                return self.__dict__[drawer][name]
        ### END SOLUTION
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name: str, tensor: torch.Tensor, persistent: bool = True) -> None:
        """Keep a tensor that is not trained; unless ``persistent``, it is not saved either."""
        ### BEGIN SOLUTION
        for drawer in (self._parameters, self._children, self.__dict__):
            drawer.pop(name, None)
        self._buffers[name] = tensor
        self._fleeting.discard(name)
        if not persistent:
            self._fleeting.add(name)
        ### END SOLUTION

    def named_parameters(self) -> object:
        """Pairs (full name, parameter), each parameter once."""
        ### BEGIN SOLUTION
        first = {}
        for name, kind, value, _ in self._walk():
            if kind == "_parameters":
                first.setdefault(id(value), (name, value))
        return list(first.values())
        ### END SOLUTION

    def named_buffers(self) -> object:
        """Pairs (full name, buffer), each buffer once."""
        ### BEGIN SOLUTION
        first = {}
        for name, kind, value, _ in self._walk():
            if kind == "_buffers":
                first.setdefault(id(value), (name, value))
        return list(first.values())

    def _walk(self, prefix=""):
        for kind in ("_parameters", "_buffers"):
            for name, value in self.__dict__[kind].items():
                fleeting = kind == "_buffers" and name in self._fleeting
                yield prefix + name, kind, value, fleeting
        for name, child in self._children.items():
            yield from child._walk(prefix + name + ".")
        ### END SOLUTION

    def train(self, mode: bool = True) -> "MiniModule":
        """Set the mode of this module and of all below."""
        ### BEGIN SOLUTION
        self.training = mode
        for child in self._children.values():
            child.train(mode)
        return self
        ### END SOLUTION

    def eval(self) -> "MiniModule":
        """The same as ``train(False)``."""
        ### BEGIN SOLUTION
        return self.train(False)
        ### END SOLUTION

    def state_dict(self) -> dict[str, torch.Tensor]:
        """What is to be saved, by full name, in the model's own memory."""
        ### BEGIN SOLUTION
        return {name: value.detach() for name, _, value, fleeting in self._walk() if not fleeting}
        ### END SOLUTION

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        """Copy the values of ``state`` in; all names and shapes have to agree."""
        ### BEGIN SOLUTION
        own = self.state_dict()
        wrong = [f"missing {name}" for name in own if name not in state]
        wrong += [f"unexpected {name}" for name in state if name not in own]
        wrong += [
            f"{name} has shape {tuple(state[name].shape)}, expected {tuple(own[name].shape)}"
            for name in own
            if name in state and state[name].shape != own[name].shape
        ]
        if wrong:
            raise RuntimeError("; ".join(wrong))
        for name, value in own.items():
            value.copy_(state[name])
        ### END SOLUTION


def mini_module() -> type:
    """The class that the check looks at."""
    return MiniModule


# %% nbgrader={"grade_id": "mini-module-check", "grade": true, "points": 3}
with every_case() as case:
    trials.check_tree(try_tree, case)
    trials.check_names(try_names, case)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("one name: parameter, text, parameter"):
        trials.check_one_name(
            try_names, ["parameter", "text", "parameter"], trials.CHANGES["text, parameter"]
        )
    with case("one name: fleeting, text, buffer"):
        trials.check_one_name(
            try_names, ["fleeting", "text", "buffer"], trials.CHANGES["parameter, buffer"]
        )
    with case("one name: buffer, fleeting"):
        trials.check_one_name(try_names, ["buffer", "fleeting"], ([], ["x"], [], "Tensor", [0.0]))
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "mini-module-check-2", "grade": true, "points": 3}
right = trials.mini_state()
new = {name: tensor + 10.5 for name, tensor in right.items()}
without = {name: tensor for name, tensor in new.items() if name != "inner.leaf.weight"}
with every_case() as case:
    trials.check_state(try_state, case, right)
    trials.check_modes(try_modes, case)
    trials.check_exact(try_state, case)
    with case("load_state_dict, all fits"):
        trials.check_load(try_state, new, [], "all fits")
    with case("load_state_dict, float64 values"):
        double = {name: tensor.double() for name, tensor in new.items()}
        trials.check_load(try_state, double, [], "all fits")
    for lost in ("inner.leaf.weight", "last.twin"):
        with case(f"load_state_dict, {lost} is missing"):
            fewer = {name: tensor for name, tensor in new.items() if name != lost}
            trials.check_load(try_state, fewer, [lost], "a name is missing")
    with case("load_state_dict, an unexpected name"):
        trials.check_load(
            try_state, {**new, "nose": torch.zeros(1)}, ["nose"], "a name is unexpected"
        )
    for name in ("right.seen", "last.twin"):
        with case(f"load_state_dict, another shape for {name}"):
            other = {**new, name: torch.zeros(1)}
            trials.check_load(try_state, other, [name], "(1,) in place of (2,)")
    with case("load_state_dict, another shape for right.seen, the first size fits"):
        other = {**new, "right.seen": torch.zeros(2, 1)}
        trials.check_load(try_state, other, ["right.seen"], "(2, 1) in place of (2,)")
    with case("load_state_dict, another shape for as many numbers"):
        trials.check_load(
            try_state, {**new, "scale": torch.zeros(1)}, ["scale"], "(1,) in place of ()"
        )
    with case("load_state_dict, two names missing, two unexpected, two of another shape"):
        bad = {**without, "ear": torch.zeros(1), "left.nose": torch.zeros(1)}
        del bad["again.weight"]
        bad |= {"scale": torch.zeros(2, 2), "left.seen": torch.zeros(2, 1)}
        names = ["inner.leaf.weight", "again.weight", "ear", "left.nose", "scale", "left.seen"]
        trials.check_load(try_state, bad, names, "six things are wrong")
### BEGIN HIDDEN TESTS
with every_case() as case, case("load_state_dict, all three at once"):
    bad = {**without, "ear": torch.zeros(1), "scale": torch.zeros(2, 2)}
    names = ["inner.leaf.weight", "ear", "scale"]
    trials.check_load(try_state, bad, names, "three things are wrong")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Make the drawers in `__init__` by writing to `self.__dict__`, before anything is assigned. Which
# drawers do `__setattr__` and `register_buffer` have to take the name out of?
# </details>
# <details><summary>Hint 2</summary>
#
# Write one generator that walks the tree and yields everything with its full name. The three
# methods that list something then only choose from it.
# </details>
# <details><summary>Hint 3</summary>
#
# Compare tensors by `id`, never by `==`. For loading: first collect all that is wrong, then raise,
# then copy. A detached tensor shares the memory, so `copy_` into it changes the parameter.
# </details>
#
# **Where the real `nn.Module` differs.** It is stricter at the door. A parameter's name takes another
# parameter or `None`, nothing else; a child's or a buffer's name takes no text and no number; and
# `register_buffer` takes no name that something else holds. A slip such as
# `self.weight = weight.data` is an error there. And it is less strict with a state dict: it loads
# what fits, *then* raises. **Predict** the last line:

# %% topics=["nn-parameter", "module-subclass"]
layer = nn.Linear(1, 2)
try:
    layer.weight = "a word"
except TypeError as error:
    print("TypeError:", error)

# %% topics=["nn-parameter", "module-subclass"]
try:
    layer.load_state_dict({"weight": torch.tensor([[7.0], [7.0]])})
except RuntimeError as error:
    print(str(error).splitlines()[1].strip(), "The weight is now", layer.weight.tolist())

# %% [markdown]
# If you catch that error and continue, you work with half a checkpoint.

# %% [markdown]
# ## 5. A mode that functions don't have · core
#
# You just wrote `training`. What is it for? Some layers do one thing while the model learns and
# another when it is used. They draw random numbers (the dropouts, `nn.RReLU`, an LSTM or attention with
# `dropout=`) or keep statistics of their batches (the batch norms, `nn.InstanceNorm2d` with
# `track_running_stats=True`). `train()` and `eval()` set the flag in the whole tree, and these layers
# read it. A convolution or a linear layer ignores it.

# %% topics=["train-eval-modes"]
torch.manual_seed(0)
model = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(4, affine=False))
x = torch.arange(1.0, 9.0).view(2, 4)
print("train:", model.train()(x)[0].numpy().round(2))
print("eval: ", model.eval()(x)[0].numpy().round(2))
print("flags:", [module.training for module in model.modules()])

# %% [markdown]
# `eval()` has nothing to do with gradients: autograd records as before. That is `no_grad`'s business.
#
# ### Dropout
#
# In training, dropout sets each element to zero with probability `p`, and makes the others larger.
# **Predict:** by which factor, for `p = 0.75`?

# %% topics=["dropout-semantics"]
torch.manual_seed(0)
F.dropout(torch.ones(12), p=0.75)

# %% [markdown]
# What survives is divided by 1 - p, here multiplied by 4. A quarter survives on average (of these
# twelve it was two), four times as large. On average the sum stays what it was, and at evaluation
# nothing needs to be scaled.
#
# > **Often said.** *"`p` is the probability of keeping a unit."* It is the probability of dropping
# > it. Count the zeros:

# %% topics=["dropout-semantics"] errata=["dropout-p-is-keep"]
y = F.dropout(torch.ones(100_000), p=0.9, training=True)
print("share of zeros:", round(y.eq(0).float().mean().item(), 2))
print("largest:       ", round(y.max().item(), 2))
print("mean:          ", round(y.mean().item(), 1))

# %% [markdown]
# Here a function shows what it lacks. `F.dropout` can't see the mode of your model. Its argument
# `training` is `True` by default.
#
# > **Then and now.** *"Drop out with `F.dropout(x, 0.5)` in `forward`."* Then it drops during
# > evaluation as well. Pass `training=self.training`, or use `nn.Dropout`, which does just that. The
# > function was never the problem.


# %% topics=["nn-vs-functional", "train-eval-modes"] errata=["functional-dropout-always-on"]
class Deaf(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5)


# %% topics=["nn-vs-functional", "train-eval-modes"]
class Listens(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5, training=self.training)


# %% topics=["train-eval-modes"] errata=["functional-dropout-always-on"] tags=["shows-false"]
ones = torch.ones(1000)
print("zeros in eval mode, deaf:   ", bool((Deaf().eval()(ones) == 0).any()))
print("zeros in eval mode, listens:", bool((Listens().eval()(ones) == 0).any()))

# %% [markdown]
# Its relatives differ in what is dropped together. `Dropout2d` drops whole channels: in an image,
# neighbours are nearly equal, so a single lost pixel costs little. `AlphaDropout` sets elements to a
# negative value instead of zero and rescales, so that mean and variance both stay; it belongs to
# SELU networks. In the picture each row is a channel of an image that is 1 everywhere.

# %% topics=["dropout-semantics"]
torch.manual_seed(9)
image = torch.ones(1, 8, 4, 4)
kinds = {"Dropout(0.5)": nn.Dropout(0.5), "Dropout2d(0.5)": nn.Dropout2d(0.5)}
kinds["AlphaDropout(0.5)"] = nn.AlphaDropout(0.5)
figure, axes = plt.subplots(1, 3, figsize=(9, 2.2), sharey=True, layout="constrained")
for ax, (title, layer) in zip(axes, kinds.items(), strict=True):
    drawn = ax.imshow(layer(image).view(8, 16), cmap="PuOr", vmin=-2, vmax=2, aspect="auto")
    ax.set(title=title, xlabel="16 pixels", yticks=range(8), xticks=[])
axes[0].set_ylabel("channel")
figure.colorbar(drawn, ax=axes, label="value")
show(
    figure, "Dropout: scattered zeros among twos. Dropout2d: whole rows. AlphaDropout: two values."
)

# %% topics=["dropout-semantics"]
torch.manual_seed(0)
normal = torch.randn(200_000)
for layer in (nn.Dropout(0.5), nn.AlphaDropout(0.5)):
    y = layer(normal)
    print(f"{type(layer).__name__:<13} mean {abs(y.mean()):.2f}  std {y.std():.2f}")

# %% [markdown]
# **In practice** modes leak. `eval()` in a validation function stays on until `train()` is called. And
# a part that is made later starts in training mode, whatever the rest does. **Predict:**

# %% topics=["train-eval-modes"] tags=["shows-false"]
served = SmallNet().eval()
served.head = nn.Sequential(nn.Dropout(), nn.Linear(16, 2))
print("model:", served.training, " its new head:", served.head.training)

# %% [markdown]
# ### Exercise 8.5 — Dropout that listens ★★ · 10 min · 3 points · core
#
# Write `dropout_that_listens(x, p, training)`, and the module `ListeningDropout(p)` that calls it and
# obeys `train()` and `eval()`. No dropout of PyTorch's may be called.
#
# - In training, with autograd or under `no_grad`, each element of each call is set to zero with
#   probability `p`, independently of all others. What survives is divided by `1 - p`. For `p = 1` all
#   are zero.
# - In training the gradient is `1 / (1 - p)` for what survived, and 0 for what was dropped. (For
#   `p = 1` a result without a graph will do.)
# - The draws come from PyTorch's global generator: `torch.manual_seed` makes them repeat.
# - In evaluation the values are those of `x`, each with a gradient of 1, and PyTorch's random generator
#   is left alone.
# - `x` holds finite numbers; it may have any shape, `()` included, and any floating dtype. (A draw in
#   bfloat16 is a multiple of 1/256, one in float16 of 1/2048: too coarse for a small `p`.) The result
#   keeps both, to the last digits of the dtype. `x` itself isn't changed.
# - `p` below 0 or above 1 is a `ValueError`, in training or not; from the module when it is made or
#   when it is called.
# - The module holds no parameter and no buffer.
#
# Example: of `dropout_that_listens(torch.ones(1000), 0.75, True)` about 750 elements are 0 and the
# others 4.


# %% nbgrader={"grade_id": "try-dropout", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_dropout(*case):
    return trials.run_dropout(dropout_that_listens, *case)


@runs_with_the_answer
def try_unrecorded(*case):
    return trials.run_unrecorded(dropout_that_listens, *case)


@runs_with_the_answer
def try_module(*case):
    return trials.run_module(ListeningDropout, *case)


# %% nbgrader={"grade_id": "dropout-that-listens", "solution": true}
def dropout_that_listens(x: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    """``x`` with a share ``p`` of its elements dropped; in training only."""
    ### BEGIN SOLUTION
    if not 0 <= p <= 1:
        raise ValueError(f"p must be from 0 to 1, got {p}")
    if not training:
        return x * 1
    if p == 1:
        return x * 0
    return x * (torch.rand_like(x, dtype=torch.float32) >= p) / (1 - p)
    ### END SOLUTION


class ListeningDropout(nn.Module):
    """Calls ``dropout_that_listens``."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``x`` after the dropout, in this module's mode."""
        ### BEGIN SOLUTION
        return dropout_that_listens(x, self.p, self.training)
        ### END SOLUTION


# %% nbgrader={"grade_id": "dropout-that-listens-check", "grade": true, "points": 3}
ones = torch.ones(50, 400, device=device)
ramp = torch.linspace(1, 3, 3000, device=device).view(2, 3, 500)
with every_case() as case:
    with case("training=False"):
        trials.check_still(try_dropout, ramp, 0.5)
    with case("training=False, p = 1"):
        trials.check_still(try_dropout, ramp, 1.0)
    trials.check_draws(try_dropout, case, ones, ramp)
    trials.check_unrecorded(try_unrecorded, case, ones)
    trials.check_shapes(try_dropout, case, ramp)
    with case("float16"):
        trials.check_training(try_dropout, ramp.half(), 0.25)
    with case("float64, a transposed view"):
        trials.check_training(try_dropout, ramp[0].double().t(), 0.3)
    with case("bfloat16, one dimension, negative numbers"):
        trials.check_training(try_dropout, -ramp.flatten().bfloat16(), 0.6)
    trials.check_range(dropout_that_listens, case, ones)
    trials.check_shares(try_module, case, 0.75, ones)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("float64, every second column"):
        trials.check_training(try_dropout, ramp[1].double()[:, ::2], 0.4)
    with case("bfloat16, training=False"):
        trials.check_still(try_dropout, ramp.bfloat16(), 0.5)
    with case("images of another size"):
        trials.check_training(try_dropout, -ramp.view(3, 2, 25, 20), 0.6)
    trials.check_shares(try_module, case, 0.2, ones)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `torch.rand_like(x, dtype=torch.float32)` is uniform between 0 and 1. With which probability is it
# below `p`?
# </details>
# <details><summary>Hint 2</summary>
#
# For `p = 1` the factor is infinite, and 0 times infinity is NaN. Treat it before you divide.
# </details>

# %% [markdown]
# ## 6. Memory between two calls
#
# A function forgets. A module can remember something of every batch: batch norm's running mean, an
# average of the loss, the centre of the features. The tool is a buffer that `forward` updates, in what
# looks like two lines. Here is a recipe that was handed around; **predict** what the second step does:


# %% topics=["moving-average-buffer"] errata=["running-mean-keeps-graph"]
class Recipe(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x):
        self.mean += 0.1 * (x.mean(0) - self.mean)
        return x - self.mean


# %% topics=["moving-average-buffer"] errata=["running-mean-keeps-graph"]
recipe, weight = Recipe(), torch.ones(2, requires_grad=True)
recipe(torch.ones(3, 2) * weight).sum().backward()
try:
    recipe(torch.ones(3, 2) * weight).sum().backward()
except RuntimeError as error:
    print(str(error).split(" (")[0])

# %% [markdown]
# > **Then and now.** *"Update a running mean in `forward` by `+=` on the buffer."* The batch mean hangs
# > on the graph, so from now on the buffer does as well, and each step's buffer on the step before. The
# > second `backward()` wants to walk through the first step again, whose graph is gone.
#
# Without a `backward()` in between nothing fails. The chain only grows. Count the graph's nodes
# behind the buffer:


# %% topics=["moving-average-buffer"]
def nodes_behind(tensor):
    seen, waiting = set(), [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [following for following, _ in node.next_functions]
    return len(seen)


# %% topics=["moving-average-buffer"]
torch.manual_seed(0)
recipe, chain = Recipe(), []
weight = torch.ones(2, requires_grad=True)
for _ in range(40):
    recipe(torch.randn(8, 2) * weight)
    chain.append(nodes_behind(recipe.mean))

# %% topics=["moving-average-buffer"]
figure, axes = plt.subplots(figsize=(6, 2.4))
axes.plot(range(1, 41), chain, label="the recipe")
axes.plot(range(1, 41), [0] * 40, label="updated under no_grad")
axes.set(xlabel="call", ylabel="nodes of the graph", title="What hangs on the buffer")
axes.legend()
show(
    figure,
    "The recipe's buffer drags a graph that grows by a few nodes with every call; 0 is right.",
)

# %% [markdown]
# A straight line up: each call adds its nodes, with the activations that they keep, and none
# is ever freed. Such a recipe can go wrong in five ways; the graph is only the first:
#
# | slip | what happens |
# | --- | --- |
# | no `no_grad`, no `detach` | the chain above |
# | a plain attribute | not saved, not moved |
# | a Parameter | the optimizer shifts it, too |
# | updates in eval mode | the test data leak into the model |
# | `momentum` the wrong way round | 0.1 is the *new* batch's share in PyTorch |
#
# ### Exercise 8.6 — A moving average ★★ · 12 min · 3 points
#
# Write `moving_average_buffer(size, momentum=0.1)`. It returns a new module that takes a moving
# average off its input `x` of shape (batch, size). It keeps the average in a buffer `mean` of shape
# (size,), float32, zeros at first.
#
# - In training a call first updates `mean` to `(1 - momentum) · mean + momentum · (mean of x over the
#   batch)`, whether or not autograd records. In eval mode it doesn't. A batch of one row counts as any
#   other, and so does one with a NaN; a batch without rows changes nothing.
# - Then it returns `x - mean`. In backward, `mean` is a constant. `x` isn't changed.
# - `mean` is updated in place: it stays the tensor with which `module.mean` began, in the same memory.
#   It never needs a gradient.
# - `mean` is saved; a new module that loads it continues from there. It moves with the module: after
#   `module.double()` the module takes float64, and computes in it.
# - The module has no parameter. Two modules share nothing, and neither do a module and its
#   `copy.deepcopy`.
#
# Example: with size 1 and momentum 0.1, after `x = [[10.], [20.]]` the mean is 1.5 and the result
# `[[8.5], [18.5]]`.


# %% nbgrader={"grade_id": "try-average", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_average(*case):
    return trials.run_average(moving_average_buffer, *case)


# %% nbgrader={"grade_id": "moving-average-buffer", "solution": true}
def moving_average_buffer(size: int, momentum: float = 0.1) -> nn.Module:
    """A module that takes a moving average off its input (batch, size)."""

    ### BEGIN SOLUTION
    class MovingAverage(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size))

        def forward(self, x):
            if self.training and len(x):
                self.mean.lerp_(x.detach().mean(0), momentum)
            return x - self.mean.clone()

    return MovingAverage()
    ### END SOLUTION


# %% nbgrader={"grade_id": "moving-average-buffer-check", "grade": true, "points": 3}
generator = torch.Generator().manual_seed(0)
x, y, z = (torch.randn(n, 3, generator=generator).to(device) + 5 for n in (6, 4, 1))
with every_case() as case:
    with case("the example"):
        trials.check_average(try_average, [torch.tensor([[10.0], [20.0]], device=device)], [True])
    with case("train, train, eval, train"):
        trials.check_average(try_average, [x, y, z, x], [True, True, False, True])
    with case("a batch of one row"):
        trials.check_average(try_average, [x, z], [True, True])
    with case("under no_grad"):
        trials.check_average(try_average, [x, y], [True, False], None, "no_grad")
    with case("under inference_mode"):
        trials.check_average(try_average, [x, y], [True, False], None, "inference_mode")
    for momentum in (0.25, 1.0, 0.0):
        with case(f"momentum {momentum}"):
            trials.check_average(try_average, [x, y], [True, True], momentum)
    with case("a new module, in eval mode at once"):
        trials.check_average(try_average, [y, x, z], [False, True, False])
    with case("an infinite number, in eval mode"):
        trials.check_average(try_average, [x, 1 / x.lt(5).float(), y], [True, False, True])
    with case("a batch without rows, between two others"):
        trials.check_average(try_average, [x, x[:0], y], [True, True, True])
    with case("a NaN in one column, in training"):
        trials.check_average(try_average, [x, y.where(y != y[0, 0], torch.nan)], [True, True])
    with case("huge numbers, a mean below 0"):
        trials.check_average(try_average, [-1e30 * x, -1e30 * y.flip(0)], [True, True])
    with case("after double()"):
        trials.check_average(try_average, [x.double() / 3, y.double() / 3], [True, True])
### BEGIN HIDDEN TESTS
with every_case() as case, case("eval at once"):
    trials.check_average(try_average, [y, x, z], [False, True, False], 0.3)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Go through the table above; each line is a word in your code.
# </details>
# <details><summary>Hint 2</summary>
#
# `self.mean = …` makes another tensor. `copy_`, `lerp_`, or `mul_` and `add_` write into this one.
# </details>

# %% [markdown]
# ## 7. Take it all away again · optional
#
# A module is a function plus names, drawers and a mode. Can you take the function back out?
# Here is the classic small network for 28 × 28 images:


# %% nbgrader={"grade_id": "conv-net", "locked": true} topics=["simple-convnet"]
class ConvNet(nn.Module):
    """Images (batch, 1, 28, 28) to scores (batch, 10)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 5)
        self.conv2 = nn.Conv2d(8, 16, 5)
        self.fc = nn.Linear(256, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(self.conv1(x).relu(), 2)  # (batch, 8, 12, 12)
        x = F.max_pool2d(self.conv2(x).relu(), 2)  # (batch, 16, 4, 4)
        return self.fc(x.flatten(1))


# %% [markdown]
# The layers with numbers are modules; pooling and ReLU hold nothing, so a function or a method will do.
# That is the whole rule: *state in modules, plain maths in functions*.
#
# A twin without modules takes a dict of tensors as its first argument. Old notes show a twin that
# looks right and can't run:
#
# > **Then and now.** *"These two are functionally identical"*, said of a CNN from layers and its twin
# > from raw tensors. Both flattened the image before the first convolution, the twin forgot the
# > pooling size, and its last weight was transposed.

# %% topics=["functional-cnn"] errata=["functional-cnn-twin"]
images, rows = torch.zeros(4, 1, 28, 28), torch.zeros(4, 256)
attempts = [lambda: nn.Conv2d(1, 8, 5)(images.view(4, -1)), lambda: F.max_pool2d(images)]
attempts.append(lambda: F.linear(rows, torch.rand(256, 10)))
for attempt in attempts:
    try:
        attempt()
    except (RuntimeError, TypeError) as error:
        print(f"{type(error).__name__}: {str(error).splitlines()[0][:70]}")

# %% [markdown]
# Don't trust a twin that was never compared. PyTorch derives it from any module: `functional_call` runs
# `forward` with the tensors of a dict in the drawers, and puts the old tensors back. The module itself
# is left as it was; it may even be on the device `meta`, where tensors have shapes and no numbers.

# %% topics=["functional-cnn", "nn-vs-functional"]
from torch.func import functional_call, grad, stack_module_state, vmap

model = ConvNet()
doubled = {name: 2 * parameter for name, parameter in model.named_parameters()}
skeleton = ConvNet().to("meta")
images = torch.rand(4, 1, 28, 28, generator=torch.Generator().manual_seed(0))
y = functional_call(skeleton, dict(model.named_parameters()), (images,))
print("equal to the module:", torch.allclose(y, model(images), atol=1e-6))
print("changed by doubling:", not torch.allclose(functional_call(model, doubled, (images,)), y))

# %% [markdown]
# ### Many models, a single call
#
# Why would you want that? Because functions can be transformed. Suppose you have eight models of
# the same kind. A loop over a list works, and calls eight times as many operators. With the weights
# *outside*, they can be stacked: `stack_module_state` gives a dict whose tensors have a new first
# dimension, and `vmap` runs the function along it.

# %% topics=["list-of-models"]
torch.manual_seed(0)
models = [nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1)) for _ in range(8)]
parameters, buffers = stack_module_state(models)
print({name: tuple(tensor.shape) for name, tensor in parameters.items()})


# %% topics=["list-of-models"]
def call(parameters, x):
    return functional_call(models[0], parameters, (x,))


x = torch.linspace(-3, 3, 50).view(-1, 1)
together = vmap(call, in_dims=(0, None))(parameters, x)
assert torch.allclose(together, torch.stack([model(x) for model in models]), atol=1e-6)

# %% [markdown]
# `grad` fits in the same way. The cells below train all eight at once, each from its own start, on
# the same thirty noisy points. The points have a hole in the middle. Adam works element by element, so
# a single optimizer on the stacked tensors does the work of eight.

# %% topics=["list-of-models"]
generator = torch.Generator().manual_seed(0)
seen = torch.cat(
    [torch.rand(15, 1, generator=generator) - 3, torch.rand(15, 1, generator=generator) + 1.5]
)
target = seen.sin() + 0.05 * torch.randn(30, 1, generator=generator)


# %% topics=["list-of-models"]
def loss_of(parameters):
    return F.mse_loss(call(parameters, seen), target)


optimizer = torch.optim.Adam(parameters.values(), lr=0.01)
for _ in range(400):
    for name, gradient in vmap(grad(loss_of))(parameters).items():
        parameters[name].grad = gradient.detach()
    optimizer.step()

# %% topics=["list-of-models"]
curves = vmap(call, in_dims=(0, None))(parameters, x).squeeze(2).detach()
figure, axes = plt.subplots(figsize=(6.5, 2.8))
axes.plot(x, curves.t(), color="#0072b2", linewidth=1, alpha=0.7)
axes.plot(seen, target, "o", color="#d55e00", markersize=4, label="the thirty points")
axes.set(xlabel="x", ylabel="y", title="Eight networks, trained by one vmap")
axes.legend(loc="upper left")
show(figure, "Eight curves: they agree where there are points, and fan out in the hole between.")
inside, outside = curves.std(0)[:8].mean(), curves.std(0)[25:34].mean()
print("spread where there are points:", round(inside.item(), 2))
print("spread in the hole:            ", round(outside.item(), 2))

# %% [markdown]
# The networks agree where they saw points and differ in the hole: an ensemble knows where it is
# guessing. And it cost a single call per step.
#
# ### Exercise 8.7 — Twins ★★★ · 25 min · 4 points
#
# Write one network as a function of its weights, then run many as one.
#
# `functional_twin(parameters, x)` is the function of `ConvNet`: equal outputs and equal gradients by
# each tensor, `x` too.
#
# - `parameters` is a dict of tensors under the names of its `state_dict()`, in any order. `x` has
#   shape (batch, 1, 28, 28); the batch may be empty. It works in float64 as well.
# - No module may be called inside, `functional_call` included: the point is to write it.
#
# `ensemble(models, x)` takes a list of `ConvNet`s. The result has shape (models, batch, 10) and holds
# what each gives for the same `x`.
#
# - All run *together*: as many convolutions and matrix products for five models as for two. A module
#   may run here.
# - The list has at least one model; all are in one mode and frozen alike. A model may be in the list
#   twice.
# - The list and the models stay as they are: values, mode, `requires_grad`, `.grad`.
#
# Example: for two models, `ensemble([a, b], x)[1]` equals `b(x)`.


# %% nbgrader={"grade_id": "try-twins", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_functional_twin(*case):
    return trials.run_functional_twin(functional_twin, *case)


@runs_with_the_answer
def try_ensemble(*case):
    return trials.run_ensemble(ensemble, ConvNet, *case)


# %% nbgrader={"grade_id": "functional-twin", "solution": true}
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """The scores (batch, 10) that a ConvNet with these tensors gives for ``x``."""
    ### BEGIN SOLUTION
    for layer in ("conv1", "conv2"):
        x = F.conv2d(x, parameters[f"{layer}.weight"], parameters[f"{layer}.bias"])
        x = F.max_pool2d(x.relu(), 2)
    return F.linear(x.flatten(1), parameters["fc.weight"], parameters["fc.bias"])
    ### END SOLUTION


def ensemble(models: list[ConvNet], x: torch.Tensor) -> torch.Tensor:
    """What each of the models gives for ``x``: (models, batch, 10)."""
    ### BEGIN SOLUTION
    parameters, _ = stack_module_state(models)
    return vmap(functional_twin, in_dims=(0, None))(parameters, x)
    ### END SOLUTION


# %% nbgrader={"grade_id": "functional-twin-check", "grade": true, "points": 2}
images = torch.randn(3, 1, 28, 28, generator=torch.Generator().manual_seed(1)).to(device)
with every_case() as case:
    with case("three images"):
        trials.check_twin(try_functional_twin, ConvNet, images, 0)
    with case("float64, other weights"):
        trials.check_twin(try_functional_twin, ConvNet, images.double(), 1)
    with case("one image"):
        trials.check_twin(try_functional_twin, ConvNet, images[:1], 4)
    with case("images as a transposed view, which need a gradient"):
        turned = images.transpose(2, 3).detach().requires_grad_()
        trials.check_twin(try_functional_twin, ConvNet, turned, 3)
    with case("a black square: one of equal maxima gets all of the gradient, a ReLU of 0 none"):
        square = images.clone()
        square[:, :, 8:20, 8:20] = 0
        trials.check_twin(try_functional_twin, ConvNet, square.requires_grad_(), 8)
    with case("no image"):
        trials.check_twin(try_functional_twin, ConvNet, images[:0], 5)
    with case("the dict's names in another order"):
        trials.check_twin(try_functional_twin, ConvNet, images, 6, True)
    with case("three images, other weights (is anything kept between calls?)"):
        trials.check_twin(try_functional_twin, ConvNet, 30 * images, 7)
### BEGIN HIDDEN TESTS
with every_case() as case, case("one image"):
    trials.check_twin(try_functional_twin, ConvNet, -images[:1], 2)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "functional-twin-check-2", "grade": true, "points": 2}
images = torch.randn(3, 1, 28, 28, generator=torch.Generator().manual_seed(2)).to(device)
with every_case() as case:
    with case("two models"):
        two = trials.check_ensemble(try_ensemble, ConvNet, [0, 1], images)
    with case("five models, two images"):
        five = trials.check_ensemble(try_ensemble, ConvNet, [4, 0, 3, 2, 7], images[:2])
        words = f"{two} convolutions and products for two models, {five} for five: a loop over them"
        assert five <= two, words
    with case("two other models (is anything kept between calls?)"):
        trials.check_ensemble(try_ensemble, ConvNet, [8, 6], images)
    with case("two models, whose weights were others at an earlier call"):
        trials.check_ensemble(try_ensemble, ConvNet, [9, 3], images, trained=True)
    with case("two models, one image"):
        trials.check_ensemble(try_ensemble, ConvNet, [2, 5], images[:1])
    with case("one model, float64"):
        trials.check_ensemble(try_ensemble, ConvNet, [5], images.double())
    with case("three models, the third of which is the first"):
        three = trials.check_ensemble(try_ensemble, ConvNet, [1, 2, 1], images, True)
        words = f"{two} convolutions and products for two models, {three} for three: a loop"
        assert three <= two, words
### BEGIN HIDDEN TESTS
with every_case() as case, case("three models, one image, float64"):
    trials.check_ensemble(try_ensemble, ConvNet, [5, 6, 1], images[:1].double())
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Read `ConvNet.forward` and write each module's function in its place. `F.conv2d` and `F.linear` take
# weight and bias in that order.
# </details>
# <details><summary>Hint 2</summary>
#
# The section's example with eight models has all that `ensemble` needs. `stack_module_state` takes
# the list.
# </details>

# %% [markdown]
# ## 8. Where the numbers start
#
# A module knows its layers by type. A single loop can start all weights of a model the way each kind
# needs. Does the start matter? Send numbers of mean square 1 through twenty layers with ReLUs, and
# look at the mean square of what each layer puts out. With three spreads for the weights:

# %% topics=["weight-init"]
torch.manual_seed(0)
n = 1024
starts = {"std 1/√n": (1 / n) ** 0.5, "std √(2/n)": (2 / n) ** 0.5, "std 2/√n": 2 / n**0.5}
measured = {}

# %% topics=["weight-init"]
for name, std in starts.items():
    h, measured[name] = torch.randn(64, n), []
    for _ in range(20):
        h = h @ (std * torch.randn(n, n))
        measured[name].append(h.square().mean().item())
        h = h.relu()

# %% topics=["weight-init"]
for name, squares in measured.items():
    print(f"{name:<11}", [f"{squares[i]:.1e}" for i in (0, 1, 2, 19)])

# %% [markdown]
# The first fades, the third explodes, the second stays near 2. You can predict these numbers with a
# pencil. A unit sums n products. The weights have mean 0 and variance σ², so the terms' variances
# add up:
#
# $$q_{\text{out}} = n\,\sigma^2\,q_{\text{in}}$$
#
# where q is a mean square. Then the ReLU sets the negative half to zero, which halves q. For n = 1024
# and σ² = 1/1024: the first layer gives 1024 · 1/1024 · 1 = 1. The ReLU makes that 1/2, and the second
# layer gives 1/2, the third 1/4, the twentieth 1/2¹⁹ ≈ 2e-6. Forget the ReLU, and you predict 1
# for all of them; the measurement above contradicts that. With σ² = 2/n, layer and ReLU together
# multiply by 1. That is **He** or **Kaiming** initialisation. The dashed lines are the pencil's:

# %% topics=["weight-init"]
figure, axes = plt.subplots(figsize=(7, 3))
numbers = range(1, 21)
for color, (name, std) in zip(("#0072b2", "#00805c", "#d55e00"), starts.items(), strict=True):
    axes.plot(numbers, measured[name], "o", color=color, markersize=4, label=name)
    axes.plot(numbers, [2 * (n / 2 * std**2) ** i for i in numbers], "--", color=color, linewidth=1)
axes.set_yscale("log")
axes.set(xlabel="layer", ylabel="mean square of its output", title="Twenty layers, three starts")
axes.set_xticks([1, 5, 10, 15, 20])
axes.legend(title="measured", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
show(figure, "Mean squares over 20 layers: a line falls to 1e-6, one stays at 2, one rises to 1e6.")

# %% [markdown]
# **Xavier** or Glorot initialisation, σ² = 2/(n_in + n_out), keeps values *and* gradients in check for
# layers without a ReLU behind them. `nn.init` has both. Its functions work in place, so their names
# end in an underscore. PyTorch's own default for `Linear` and `Conv2d`, a standard
# deviation of 1/√(3 · fan_in), is mostly smaller than either:

# %% topics=["weight-init"]
torch.manual_seed(0)
layer = nn.Linear(400, 400)
print("default:", round(layer.weight.std().item(), 3), " 1/√(3·400) =", round(1 / 1200**0.5, 3))
nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
print("kaiming:", round(layer.weight.std().item(), 3), "   √(2/400) =", round((2 / 400) ** 0.5, 3))
nn.init.xavier_uniform_(layer.weight)
print("xavier: ", round(layer.weight.std().item(), 3), "   √(2/800) =", round((2 / 800) ** 0.5, 3))

# %% [markdown]
# ### No start at all
#
# If a checkpoint is loaded anyway, the random start is wasted time. On the device `meta` a model
# has shapes and no numbers; `to_empty` gives it memory without filling it. `load_state_dict` with
# `assign=True` puts the loaded tensors themselves in the drawers. `skip_init` is the same for a
# single layer.

# %% topics=["weight-init", "init-with-tensor"]
with torch.device("meta"):
    big = nn.Linear(50_000, 50_000)
print("numbers in it:", f"{big.weight.numel():,}", " device:", big.weight.device)

# %% topics=["weight-init", "init-with-tensor"]
source = nn.Linear(3, 2)
with torch.device("meta"):
    target = nn.Linear(3, 2)
print(target.load_state_dict(source.state_dict(), assign=True), target.weight.device)
print("skip_init:", tuple(nn.utils.skip_init(nn.Linear, 3, 2).weight.shape))

# %% [markdown]
# `assign=True` makes new Parameter objects. Do it before the optimizer is made. And beware of buffers
# that aren't saved, such as the table of angles in many language models: no checkpoint brings them.
# **Predict** which device this table is on afterwards:

# %% topics=["weight-init", "fixed-tensors-buffers"]
with torch.device("meta"):
    target = nn.Linear(3, 2)
    target.angles = nn.Buffer(torch.arange(3.0), persistent=False)
print(target.load_state_dict(source.state_dict(), assign=True), target.angles.device)

# %% [markdown]
# All keys matched, and the table has no numbers. Compute such a table anew after loading.
#
# ### Exercise 8.8 — Start every layer by its type ★★ · 15 min · 4 points
#
# Write two functions: one starts a model's layers, the other predicts what a start does.
#
# `init_by_type(model)` gives new values to the layers of `model` at any depth, `model` itself
# included, frozen or not; a subclass counts as its parent.
#
# - `nn.Conv2d`: weights normal, mean 0, variance 2 / fan_in. (fan_in is how many products an output
#   sums up.) Bias 0, if any.
# - `nn.Linear`: weights uniform between ±√(6 / (n_in + n_out)). Bias 0, if any.
# - `nn.BatchNorm2d`: weight 1, bias 0, if any. Its running statistics stay.
# - All else stays as it is: other layers (`Conv1d` and `ConvTranspose2d` among them), `requires_grad`,
#   `.grad`, dtypes, the modes, the Parameter objects.
# - The numbers are drawn from PyTorch's global generator, anew for each layer; you don't seed it.
#
# `predict_squares(sizes, stds)` gives the mean square of each linear layer's output, as a list of
# numbers. Compute it, don't draw.
#
# - Layer i goes from `sizes[i]` to `sizes[i + 1]` numbers. Its weights have mean 0 and standard
#   deviation `stds[i]`; it has no bias.
# - Between two layers there is a ReLU. The input has mean square 1.
#
# Example: `predict_squares([100, 50, 10], [0.1, 0.2])` is `[1.0, 1.0]`: 100 · 0.01, then 50 · 0.04 / 2.


# %% nbgrader={"grade_id": "try-init", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_init(*case):
    return trials.run_init(init_by_type, *case)


@runs_with_the_answer
def try_init_alone(*case):
    return trials.run_init_alone(init_by_type, *case)


@runs_with_the_answer
def try_squares(*case):
    return trials.run_squares(predict_squares, *case)


# %% nbgrader={"grade_id": "init-by-type", "solution": true}
def init_by_type(model: nn.Module) -> None:
    """Start convolutions, linear layers and batch norms of ``model``, in place."""
    ### BEGIN SOLUTION
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    ### END SOLUTION


def predict_squares(sizes: list[int], stds: list[float]) -> list[float]:
    """The mean square of each layer's output, for an input of mean square 1."""
    ### BEGIN SOLUTION
    squares, before = [], 1.0
    for n, std in zip(sizes, stds, strict=False):
        squares.append(n * std**2 * before)
        before = squares[-1] / 2
    return squares
    ### END SOLUTION


# %% nbgrader={"grade_id": "init-by-type-check", "grade": true, "points": 3}
with every_case(at_most=12) as case:
    trials.check_zoo(try_init, try_init_alone, case)

# %% nbgrader={"grade_id": "init-by-type-check-2", "grade": true, "points": 1}
squares = {
    "the example": ([100, 50, 10], [0.1, 0.2], [1.0, 1.0]),
    "three layers": ([200, 100, 50, 25], [0.1, 0.1, 0.2], [2.0, 1.0, 1.0]),
    "three layers, small weights": ([100, 60, 80, 20], [0.001] * 3, [1e-4, 3e-9, 1.2e-13]),
    "numbers that float32 lacks": ([1] * 5, [1e-8] * 4, [1e-16, 5e-33, 2.5e-49, 1.25e-65]),
    "no layer: the input's size alone": ([100], [], []),
    "one layer": ([64, 8], [0.5], [16.0]),
    "three layers, the second all zeros": ([10, 20, 5, 4], [0.5, 0.0, 0.3], [2.5, 0.0, 0.0]),
    "three layers of one size": ([50] * 4, [0.2, 2.0, 0.1], [2.0, 200.0, 50.0]),
    "two layers, no whole numbers": ([10, 20, 40], [0.3, 0.5], [0.9, 2.25]),
}
with every_case() as case:
    for told, (sizes, stds, right) in squares.items():
        with case(told):
            trials.check_squares(try_squares, sizes, stds, right)
### BEGIN HIDDEN TESTS
with every_case() as case, case("four layers"):
    trials.check_squares(
        try_squares, [10, 20, 40, 80, 5], [0.3, 0.3, 0.3, 0.3], [0.9, 0.81, 1.458, 5.2488]
    )
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `model.modules()` walks the whole tree. Ask each module with `isinstance`, and each bias whether it
# is `None`.
# </details>
# <details><summary>Hint 2</summary>
#
# Look up the defaults of `kaiming_normal_` (mode, nonlinearity). For the prediction, the first layer
# sees the input, the others what a ReLU has let through.
# </details>

# %% [markdown]
# ## 9. What is saved, and what arrives · core
#
# A function's weights are yours to keep. A module keeps them under names, and names are a contract
# between the code that saves and the code that loads. `load_state_dict` copies values in, by name,
# and then raises an error if a name was missing or unexpected. That is how to copy between two models.
# People also do it without names:
#
# > **Often said.** *"Two models share their weights after a loop over `zip(a.parameters(),
# > b.parameters())` that copies each."* Nothing is shared: it is a copy, once. And it leaves the
# > buffers behind. To share, assign the same Parameter to both. To copy, load the state dict.

# %% topics=["weight-copy-between-models"] errata=["weight-sharing-by-copy"]
a, b = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
_ = a(torch.randn(8, 2) + 5)
with torch.no_grad():
    for p, q in zip(a.parameters(), b.parameters(), strict=True):
        q.copy_(p)

# %% topics=["weight-copy-between-models"] errata=["weight-sharing-by-copy"] tags=["shows-false"]
print("after the loop:            ", a.running_mean.tolist() == b.running_mean.tolist())
b.load_state_dict(a.state_dict())
print("after load_state_dict:     ", a.running_mean.tolist() == b.running_mean.tolist())
b.weight = a.weight
print("one object after assigning:", b.weight is a.weight)

# %% [markdown]
# ### A checkpoint that does not fit
#
# Wrappers put a word in front of every name. `nn.DataParallel` and `DistributedDataParallel` hold
# your model as `.module`; `torch.compile` holds it as `._orig_mod`. That is also where you reach its
# attributes:

# %% topics=["dataparallel-module-attr"]
wrapped = nn.DataParallel(nn.Linear(2, 2))
compiled = torch.compile(nn.Linear(2, 2))
print(list(wrapped.state_dict()), wrapped.module.out_features)
print(list(compiled.state_dict()), compiled._orig_mod.out_features)
in_place = nn.Linear(2, 2)
in_place.compile()
print(list(in_place.state_dict()))

# %% [markdown]
# Call the method `model.compile()`, save `wrapped.module.state_dict()`, and the question never arises.
# But often the file exists already. The usual advice is a flag:
#
# > **Then and now.** *"Load a checkpoint that fits in part with `strict=False`."* With prefixed names
# > **nothing** fits, so nothing is loaded, and training starts from random weights. **Predict** whether
# > the cell warns you.

# %% errata=["strict-false-loads-nothing"] tags=["shows-false"]
fresh, trained = nn.Linear(2, 2), wrapped.state_dict()
before = fresh.weight.clone()
answer = fresh.load_state_dict(trained, strict=False)
print("anything loaded:", not torch.equal(fresh.weight, before))
print("returned:", answer.missing_keys, answer.unexpected_keys)

# %% [markdown]
# The only sign is the returned value, which most code throws away. Renaming does the job (there is a
# helper for one prefix). And `strict=False` does not forgive everything: another *shape*
# under a known name is an error with it as well.

# %% topics=["dataparallel-module-attr"] errata=["dataparallel-prefix"]
renamed = {name.removeprefix("module."): tensor for name, tensor in trained.items()}
print(fresh.load_state_dict(renamed), torch.equal(fresh.weight, wrapped.module.weight))
helped = dict(trained)
nn.modules.utils.consume_prefix_in_state_dict_if_present(helped, "module.")
print("the helper renames, too:", list(helped) == list(renamed))

# %% errata=["strict-false-ignores-shapes"]
try:
    fresh.load_state_dict({"weight": torch.ones(3, 2)}, strict=False)
except RuntimeError as error:
    print(str(error).splitlines()[1].strip()[:75])

# %% [markdown]
# `removeprefix` is the right word. Try two that look similar, on a name with the same letters in
# other places. **Predict:**

# %%
name = "module.model.module.weight"
print("removeprefix:", name.removeprefix("module."))
print("replace:     ", name.replace("module.", ""))
print("lstrip:      ", name.lstrip("module."))

# %% [markdown]
# `replace` also hits the middle; `lstrip` takes off any of these *letters* until it meets another.
#
# ### Safe loading
#
# A pickled file may run any code when it is opened. Therefore `torch.load` takes only tensors and plain
# containers by default: `weights_only=True`. A whole module is refused; a
# state dict is all you need. `mmap=True` leaves the numbers in the file until they are touched.

# %% topics=["weight-copy-between-models"]
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    torch.save(fresh, Path(folder, "module.pt"))
    torch.save(fresh.state_dict(), Path(folder, "state.pt"))
    try:
        torch.load(Path(folder, "module.pt"))
    except Exception as error:
        print(type(error).__name__, "for a whole module")
    state = torch.load(Path(folder, "state.pt"), weights_only=True, mmap=True)
    print(fresh.load_state_dict(state))

# %% [markdown]
# ### Exercise 8.9 — Load what fits, and say what doesn't ★★★ · 25 min · 5 points · core
#
# Write `state_dict_surgery(model, checkpoint)`. It loads what fits from `checkpoint`, a dict from names
# to tensors, and says what became of each name.
#
# - *Names.* From the front of a key, take off `module.` or `_orig_mod.`, one after the other, until the
#   rest is a name in `model.state_dict()` or no such prefix is left at its front. Elsewhere in a
#   name, and in words such as `module_list`, these letters stay. No two keys end at the same name.
# - *Load* what has the name and the shape of a tensor in `model.state_dict()`: copy the values in. The
#   model's tensors stay the same objects, in their own memory, with their dtype.
# - *Return* a dict with four collections of names, without their prefixes: `"loaded"`;
#   `"mismatched"`, in both, with different shapes; `"missing"`, in the model only; `"unexpected"`,
#   in the checkpoint only.
# - If nothing can be loaded: `ValueError`.
# - `checkpoint` stays as it is, and so do the modules' modes, each `requires_grad`, and what isn't
#   loaded.
#
# Example: for `nn.Linear(2, 2)`, the checkpoint `{"module.weight": torch.ones(2, 2), "bias":
# torch.ones(3), "nose": torch.ones(1)}` gives `{"loaded": ["weight"], "mismatched": ["bias"],
# "missing": [], "unexpected": ["nose"]}`.


# %% nbgrader={"grade_id": "try-surgery", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_surgery(*case):
    return trials.run_surgery(state_dict_surgery, SmallNet, *case)


def check_report(*case):
    trials.check_report(try_surgery, SmallNet, *case)


def check_besides(*case, fails=False):
    trials.check_besides(try_surgery, SmallNet, *case, fails=fails)


# %% nbgrader={"grade_id": "state-dict-surgery", "solution": true}
def state_dict_surgery(model: nn.Module, checkpoint: dict[str, torch.Tensor]) -> dict:
    """Load what fits into ``model``; which names were loaded, and which were not."""
    ### BEGIN SOLUTION
    own, found = model.state_dict(), {}
    for name, tensor in checkpoint.items():
        while name not in own and name.startswith(("module.", "_orig_mod.")):
            name = name.partition(".")[2]
        found[name] = tensor
    both = [name for name in own if name in found]
    loaded = [name for name in both if found[name].shape == own[name].shape]
    if not loaded:
        raise ValueError(f"nothing fits: the model has {list(own)}, the checkpoint {list(found)}")
    model.load_state_dict({name: found[name] for name in loaded}, strict=False)
    return {
        "loaded": loaded,
        "mismatched": [name for name in both if name not in loaded],
        "missing": [name for name in own if name not in found],
        "unexpected": [name for name in found if name not in own],
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "state-dict-surgery-check", "grade": true, "points": 3}
small, tricky = SmallNet().to(device), trials.Tricky().to(device)
every, names = list(small.state_dict()), list(tricky.state_dict())
example = {
    "module.weight": torch.full((2, 2), trials.VALUE),
    "bias": torch.ones(3),
    "nose": torch.ones(1),
}
with every_case() as case:
    with case("the example, with other numbers"):
        check_report("linear", example, ["weight"], ["bias"], [], ["nose"])
    trials.check_prefixes(check_report, SmallNet, case)
    trials.check_unlike(check_report, SmallNet, case)
    with case("a child that is called module, no prefix"):
        check_report("tricky", trials.filled(tricky), names)
    with case("a child that is called module, in DataParallel"):
        check_report("tricky", trials.filled(tricky, lambda name: f"module.{name}"), names)
    with case("module in the middle of a name that is unknown"):
        extra = {**trials.filled(tricky), "module.stem.module.weight": torch.ones(1, device=device)}
        check_report("tricky", extra, names, [], [], ["stem.module.weight"])
    with case("a word that begins like a prefix, unknown"):
        others = ["module_x.weight", "model.nose.weight", "module", "_orig_mod"]
        extra = trials.filled(tricky) | {name: torch.ones(1, device=device) for name in others}
        check_report("tricky", extra, names, [], [], others)
    with case("a float64 checkpoint without the statistics"):
        half = {
            name: t.double()
            for name, t in trials.filled(small).items()
            if "num_batches" not in name
        }
        missing = [name for name in every if name not in half]
        check_report("small", half, list(half), [], missing)
    with case("only the second convolution"):
        one = {"_orig_mod.features.2.conv.weight": torch.full((16, 8, 3, 3), trials.VALUE)}
        rest = [name for name in every if name != "features.2.conv.weight"]
        check_report("small", one, ["features.2.conv.weight"], [], rest)
    with case("the first size fits, the second doesn't"):
        other = {"bias": torch.full((2,), trials.VALUE), "weight": torch.ones(2, 1)}
        check_report("linear", other, ["bias"], ["weight"])
### BEGIN HIDDEN TESTS
with every_case() as case, case("another word that begins like a prefix"):
    extra = {**trials.filled(tricky), "module._orig_model.weight": torch.ones(1, device=device)}
    check_report("tricky", extra, names, [], [], ["_orig_model.weight"])
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "state-dict-surgery-check-2", "grade": true, "points": 2}
state = {name: torch.ones_like(t) for name, t in SmallNet().to(device).state_dict().items()}
with every_case() as case:
    with case("a checkpoint in DataParallel"):
        check_besides("small", {f"module.{name}": t for name, t in state.items()})
    with case("a checkpoint of another model"):
        check_besides("linear", state, fails=True)
    with case("equal names, no equal shape"):
        check_besides(
            "linear", {"weight": torch.ones(3, 2), "module.bias": torch.ones(1)}, fails=True
        )
    with case("an empty checkpoint"):
        check_besides("small", {}, fails=True)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# First rename all keys into a new dict. A `while` loop takes off one prefix per turn and stops at a
# name that the model has.
# </details>
# <details><summary>Hint 2</summary>
#
# With names and shapes sorted out, `load_state_dict` on a dict of only those that fit does the copying.
# Which flag lets the others be absent?
# </details>

# %% [markdown]
# ## 10. Count, freeze, fine-tune · core
#
# A function can't say how large it is. A module can, because it has the list. `parameters()` gives
# each tensor once, so a tied weight isn't counted twice:

# %% topics=["count-parameters"]
net = SmallNet()
print("total:    ", sum(p.numel() for p in net.parameters()))
print("trainable:", sum(p.numel() for p in net.parameters() if p.requires_grad))
print("tied:     ", sum(p.numel() for p in talker.parameters()), "of 5 × 3 numbers, used twice")

# %% [markdown]
# Packages such as torchinfo draw the table with shapes and products for you; the numbers are these.
#
# To fine-tune, you keep what a network has learnt and train a new head. `requires_grad_(False)`
# freezes. Must the features also be detached? **Predict** which of the three get a gradient:

# %% topics=["freeze-parameters"]
chain = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 1))
chain[1].requires_grad_(False)
chain(torch.ones(1, 2)).sum().backward()
print([layer.weight.grad is not None for layer in chain])

# %% [markdown]
# The frozen layer gets none, yet the gradient passes *through* it to the first. Freezing is enough. If
# everything below is frozen as well, autograd records nothing there, all by itself. `detach` would
# cut the first layer off, too.
#
# Mind the s. **Predict:**

# %% topics=["freeze-parameters"]
layer = nn.Linear(2, 2)
layer.weight.require_grad = False
layer.weight.requires_grad

# %% [markdown]
# `require_grad` is a new attribute on a Python object, and means nothing. `requires_grad_()` can't be
# misspelt silently. Now the whole recipe: freeze, new head, an optimizer for what is left.

# %% topics=["finetune-head", "freeze-parameters"]
net.requires_grad_(False)
net.head = nn.Linear(net.head.in_features, 3)
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
print("to be trained:", [name for name, p in net.named_parameters() if p.requires_grad])

# %% [markdown]
# With a model from torchvision the recipe is the same: `resnet18(weights="DEFAULT")`, its head is
# called `fc`. Both recipes have a flaw. Send thirty batches of brighter images through the
# network, as training would. Every parameter of its features is frozen; look at their running mean:

# %% topics=["finetune-head", "train-eval-modes"]
torch.manual_seed(0)
figure, axes = plt.subplots(figsize=(6.5, 2.6))
for mode, color in (("net.train()", "#d55e00"), ("net.train(), features.eval()", "#0072b2")):
    net = SmallNet().requires_grad_(False).train()
    net.features.train(mode == "net.train()")
    drift = []
    for _ in range(30):
        net(torch.rand(16, 1, 8, 8) + 1)
        drift.append(net.features[0].norm.running_mean.abs().mean().item())
    axes.plot(range(1, 31), drift, color=color, label=mode)
axes.set(
    xlabel="batch", ylabel="mean |running_mean|", title="A batch norm whose parameters are frozen"
)
axes.legend()
show(
    figure,
    "In train mode the frozen norm's running mean climbs and levels off; in eval mode it stays 0.",
)

# %% [markdown]
# `requires_grad` stops the optimizer. The running statistics are buffers, and `forward` moves them,
# whether or not anything is trained. Put frozen batch norms into eval mode, after every call of
# `train()`.
#
# ### Exercise 8.10 — Freeze by pattern, and count ★★ · 10 min · 4 points
#
# Write `freeze_and_count(model, patterns)`. It freezes the parameters whose names match a pattern, puts
# their batch norms to rest, and counts. Patterns are strings as in a shell: `*` means any
# letters (dots, too), `?` for exactly one letter (or a dot), `[ab]` for one of those in the brackets,
# `[!ab]` for any other; capital and small letters differ. Python's
# `fnmatch.fnmatchcase(name, pattern)` compares.
#
# - *Freeze* every parameter with a full name that matches any pattern; it may be frozen already. A
#   shared parameter has several names, and each counts. The others stay as they are, and so do all
#   values and each `.grad`.
# - *Rest*: then each batch norm (`nn.BatchNorm1d`, `2d`, `3d`, and their subclasses) whose `weight` is
#   frozen, now or before, is put into eval mode, even if there is no pattern. The mode of
#   everything else stays. (With `affine=False` the weight is `None`. No model here has an
#   `nn.SyncBatchNorm`, and no batch norm holds another module.)
# - *Return* a dict: `"total"`, the numbers in all parameters; `"trainable"`, those that are not frozen;
#   `"bytes"`, the memory of parameters *and* buffers. Whatever is shared counts once. (No
#   parameter here is another module's buffer.)
# - A pattern that matches no parameter is a `ValueError`, and nothing has been changed. `patterns`
#   itself never is.
#
# Example: `freeze_and_count(SmallNet(), ["features.*"])` gives 1442 in total and 170 trainable.


# %% nbgrader={"grade_id": "try-freeze", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_freeze(*case):
    return trials.run_freeze(freeze_and_count, SmallNet, *case)


def check_freeze(*case):
    trials.check_freeze(try_freeze, SmallNet, *case)


def check_refused(*case):
    trials.check_refused(try_freeze, SmallNet, *case)


# %% nbgrader={"grade_id": "freeze-and-count", "solution": true}
def freeze_and_count(model: nn.Module, patterns: list[str]) -> dict[str, int]:
    """Freeze the parameters whose names match; ``total``, ``trainable`` and ``bytes``."""
    ### BEGIN SOLUTION
    from fnmatch import fnmatchcase

    named = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name, _ in named):
            raise ValueError(f"{pattern!r} matches none of {[name for name, _ in named]}")
    for name, parameter in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            parameter.requires_grad_(False)
    for module in model.modules():
        norm = isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
        if norm and module.weight is not None and not module.weight.requires_grad:
            module.eval()
    tensors = [*model.parameters(), *model.buffers()]
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "bytes": sum(tensor.nbytes for tensor in tensors),
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "freeze-and-count-check", "grade": true, "points": 4}
with every_case() as case:
    trials.check_small(check_freeze, case)
    with case('a tied table, ["out.*"] (its first name is table.weight)'):
        check_freeze("tied", ["out.*"], ["table.weight", "out.weight", "out.bias", "scale"], [], 10)
    with case('SmallNet, ["head.*"]: the weight of a batch norm was frozen before'):
        frozen = ["features.0.norm.weight", "head.weight", "head.bias"]
        check_freeze("asleep", ["head.*"], frozen, ["features.0.norm"], 1264)
    trials.check_norms(check_freeze, case)
    with case('a tied table, ["table.*"]'):
        check_freeze("tied", ["table.*"], ["table.weight", "out.weight", "scale"], [], 17)
    with case('a tied table, ["norm.?eight"]'):
        check_freeze("free", ["norm.?eight"], ["norm.weight"], ["norm"], 44)
    with case('a tied table, ["*"]: everything is frozen, and the model stays in training mode'):
        everything = [name for name, _ in trials.Talker().named_parameters(remove_duplicate=False)]
        check_freeze("free", ["*"], everything, ["norm"], 0)
    trials.check_nothing(check_refused, case)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case('["norm.weight"], which is only the end of a name'):
        check_refused("small", ["norm.weight"])
    with case('a tied table, ["*.w*", "scale"]'):
        frozen = ["table.weight", "out.weight", "norm.weight", "scale"]
        check_freeze("free", ["*.w*", "scale"], frozen, ["norm"], 13)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `named_parameters` has an argument that lists a shared parameter under all of its names.
# </details>
# <details><summary>Hint 2</summary>
#
# First look whether each pattern matches, then freeze, then walk over `modules()`. `tensor.nbytes` is
# what a tensor takes.
# </details>

# %% [markdown]
# ## 11. Change a model that you did not write
#
# Names, drawers, types: a module knows enough that you can rebuild it from outside. `apply` calls a
# function for each module, children before parents. Use it to change modules; it can't swap them.
#
# To swap a module, assign to its *parent*. Assignment is the door, here too:

# %% topics=["modules-vs-children"]
net = SmallNet()
parent, _, last = "features.2.norm".rpartition(".")
setattr(net.get_submodule(parent), last, nn.Identity())
net.set_submodule("features.0.norm", nn.Identity())  # the same in one call
print(net.features[0], net.features[2])

# %% [markdown]
# Everyone meets this case: batch norm. Each device computes the statistics of its own part of the
# batch. With many devices and few images each, they are noise. `nn.SyncBatchNorm` averages over all
# processes, and PyTorch converts a whole model:

# %% topics=["syncbn-convert"]
old = SmallNet()
weight = old.features[0].norm.weight
new = nn.SyncBatchNorm.convert_sync_batchnorm(old)
print(type(new.features[0].norm).__name__, "in the same model:", new is old)
print("the same Parameter:", new.features[0].norm.weight is weight)

# %% [markdown]
# The names are the same, so old checkpoints fit; the Parameters are the same objects, so an
# optimizer continues to train them. That is a good standard for any such tool. Another replacement
# is the *frozen* norm of fine-tuning and detection. Its four tensors are buffers, so no optimizer
# finds them; `train()` can't wake it; and when it loads a batch norm's state it drops the counter
# that it has no use for. (`extra_repr` is what `print` shows between the brackets.)


# %% topics=["syncbn-convert"]
class FrozenNorm(nn.Module):
    """A batch norm with the statistics, weight and bias of ``old``; nothing changes them."""

    def __init__(self, old):
        super().__init__()
        self.eps = old.eps
        for name in ("weight", "bias", "running_mean", "running_var"):
            self.register_buffer(name, getattr(old, name).detach())

    def _load_from_state_dict(self, state_dict, prefix, *others):
        state_dict.pop(prefix + "num_batches_tracked", None)
        super()._load_from_state_dict(state_dict, prefix, *others)

    def extra_repr(self):
        return f"{len(self.weight)}, eps={self.eps}"

    def forward(self, x):
        statistics = self.running_mean, self.running_var
        return F.batch_norm(x, *statistics, self.weight, self.bias, eps=self.eps)


# %% topics=["syncbn-convert"]
norm = nn.BatchNorm2d(3)
frozen = FrozenNorm(norm)
x = torch.randn(4, 3, 5, 5, generator=torch.Generator().manual_seed(0))
print(frozen.train(), "parameters:", len(list(frozen.parameters())))
print("in train mode as the other in eval:", torch.equal(frozen(x), norm.eval()(x)))
print(frozen.load_state_dict(norm.state_dict()))

# %% [markdown]
# Now a walk that swaps every layer of a kind. Many notes have this attempt: loop over
# `named_modules()` and call `add_module(name, …)`. **Predict** what stops it:

# %% errata=["add-module-dotted-name"]
found = {n: m for n, m in SmallNet().named_modules() if isinstance(m, nn.Conv2d)}
try:
    for name, module in found.items():
        nn.Sequential().add_module(name, module)
except KeyError as error:
    print("KeyError:", error)

# %% [markdown]
# A dotted name is a *path*, not a name: the walk must lead from parent to child. There are two traps.
# `named_children()` leaves out a module that it has listed already, so of two names for the same module
# it shows the first alone. **Predict** what the loop leaves of the two ReLUs:

# %% topics=["modules-vs-children"]
relu = nn.ReLU()
pair = nn.Sequential(OrderedDict(first=relu, second=relu))
for name, _ in pair.named_children():
    setattr(pair, name, nn.Tanh())
print(pair)

# %% [markdown]
# The second name kept the ReLU. Nor should it get a second Tanh: what was a single module before
# should be a single module afterwards. The other trap: a replacement that *contains* the old layer,
# such as `nn.Sequential(old, nn.Dropout())`. A walk into what it has just put there never ends.
#
# ### Exercise 8.11 — Replace by type ★★ · 18 min · 4 points
#
# Write `replace_by_type(model, kind, make)`: put `make(old)` in the place of every module in `model`
# that is an instance of `kind` (a class or a tuple of classes; subclasses count), at any depth.
#
# - `make` is called once for each such module, which nothing has changed before; where a module was
#   in several places, its replacement is in all of them.
# - What is replaced isn't searched any further, and neither is its replacement. (No module inside
#   it is elsewhere in the model, too.)
# - The replacement gets the old module's mode: `new.train(old.training)`. All else about it is as
#   `make` left it.
# - All other modules stay the same objects, with their hooks; names keep their order. A child may be
#   `None`.
# - Return the model; if `model` itself is of that kind, return its replacement.
#
# Example: `replace_by_type(SmallNet(), nn.BatchNorm2d, FrozenNorm)` freezes two norms.


# %% nbgrader={"grade_id": "try-replace", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_replace(*case):
    return trials.run_replace(replace_by_type, SmallNet, *case)


def check_swap(*case):
    trials.check_swap(try_replace, SmallNet, *case)


# %% nbgrader={"grade_id": "replace-by-type", "solution": true}
from collections.abc import Callable


def replace_by_type(model: nn.Module, kind: type | tuple, make: Callable) -> nn.Module:
    """``model`` with ``make(old)`` in the place of each ``old`` that is an instance of ``kind``."""
    ### BEGIN SOLUTION
    done = {}

    def visit(module):
        if module not in done:
            if isinstance(module, kind):
                done[module] = make(module).train(module.training)
            else:
                done[module] = module
                for name, child in module._modules.items():
                    if child is not None:
                        module._modules[name] = visit(child)
        return done[module]

    return visit(model)
    ### END SOLUTION


# %% nbgrader={"grade_id": "replace-by-type-check", "grade": true, "points": 4}
small, three = ("small", "BatchNorm2d"), ("small", "Block, Conv2d or Linear")
nested, both = ("nested", "ReLU"), ("nested", "ReLU or Tanh")
hollow, filled = ("hollow", "Sequential"), ("hollow", "Sequential", "container")
swaps = {
    "SmallNet, BatchNorm2d": small,
    "a model that is itself a ReLU": ("root", "ReLU"),
    "ReLUs in lists and dicts, one of them in three places, one in eval mode": nested,
    "the same, replaced by containers of the old one": (*nested, "container"),
    "the same, replaced by containers that are empty": (*nested, "empty"),
    "ReLU and Tanh, replaced by containers that hold a new Tanh": (*both, "container"),
    "SmallNet, (Block, Conv2d, Linear): the convolutions are inside blocks": three,
    "a Sequential that holds others": ("nested", "Sequential"),
    "Hardtanh, whose subclass ReLU6 is in the model": ("nested", "Hardtanh"),
    "the same model twice, first for a kind that it lacks": (*nested, "wrapper", True),
    "Sequentials that are empty": hollow,
    "the same, replaced by Sequentials of the old one: of the same type, but others": filled,
    "small, Block, Conv2d or Linear: make returns the old module itself": (*three, "itself"),
    "nested, ReLU: make returns the old module itself": (*nested, "itself"),
    "twelve layers, 1, 10 and 11 of them ReLUs": ("long", "ReLU"),
}
with every_case() as case:
    for name, swap in swaps.items():
        with case(name):
            check_swap(*swap)
### BEGIN HIDDEN TESTS
check_swap("small", "Hardtanh")
check_swap(*small, "container")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A function that calls itself: it takes a module and returns what belongs in its place. For a
# module of the kind that is the replacement; for any other, the module, after its children were
# visited.
# </details>
# <details><summary>Hint 2</summary>
#
# `module._modules.items()` lists every name, also a second name for the same child, and `None`. A dict
# from old to new makes sure that each module is treated once.
# </details>

# %% [markdown]
# ## 12. All of it at work · core
#
# Does your `MiniModule` hold a real network? Below, a convolutional net learns to read handwritten
# digits, 8 × 8 pixels each. `nn.Module` is not used: your class holds parameters and a buffer, your
# dropout obeys your `eval()`, and your state dict passes through a file. Where an exercise is still
# open, PyTorch's own steps in.


# %% tags=["nbval-ignore-output"] jupyter={"source_hidden": true}
def passes(*checks):
    """Whether the checks of an exercise pass."""
    try:
        with every_case() as case:
            for check in checks:
                check(case)
    except Exception:
        return False
    return True


def choose_parts():
    """The learner's MiniModule and dropout where they work, else PyTorch's."""
    base, parameter, dropout = nn.Module, nn.Parameter, F.dropout
    state = trials.mini_state()
    if passes(
        lambda case: trials.check_tree(try_tree, case),
        lambda case: trials.check_names(try_names, case),
        lambda case: trials.check_state(try_state, case, state),
        lambda case: trials.check_modes(try_modes, case),
        lambda case: trials.check_load(try_state, {n: t + 10.5 for n, t in state.items()}, [], ""),
    ):
        base, parameter = mini_module(), MiniParameter
    ones = torch.ones(50, 400, device=device)
    if passes(
        lambda case: trials.check_draws(try_dropout, case, ones, ones.view(2, 5, 2000)),
        lambda case: trials.check_still(try_dropout, ones, 0.5),
    ):
        dropout = dropout_that_listens
    return base, parameter, dropout


Base, Weight, drop = choose_parts()
print("module:", Base.__name__, " parameter:", Weight.__name__, " dropout:", drop.__name__)


# %% topics=["simple-convnet", "module-subclass"]
class Layer(Base):
    def __init__(self, *shape):
        super().__init__()
        fan_in = torch.Size(shape[1:]).numel()
        self.weight = Weight(torch.randn(shape, device=device) * (2 / fan_in) ** 0.5)
        self.bias = Weight(torch.zeros(shape[0], device=device))


class DigitNet(Base):
    def __init__(self, mean=0.0):
        super().__init__()
        self.conv1, self.conv2 = Layer(16, 1, 3, 3), Layer(32, 16, 3, 3)
        self.fc = Layer(10, 128)
        self.register_buffer("mean", torch.tensor(mean, device=device))

    def forward(self, x):
        x = x - self.mean
        for layer in (self.conv1, self.conv2):
            x = F.max_pool2d(F.conv2d(x, layer.weight, layer.bias, padding=1).relu(), 2)
        return F.linear(drop(x.flatten(1), 0.3, self.training), self.fc.weight, self.fc.bias)


# %% topics=["simple-convnet"]
from sklearn.datasets import load_digits

digits = load_digits()
pixels = torch.tensor(digits.images / 16, dtype=torch.float32, device=device).unsqueeze(1)
labels = torch.tensor(digits.target, device=device)
torch.manual_seed(0)
order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0)).to(device)
train, test = order[:1400], order[1400:]

# %% topics=["simple-convnet"]
net, losses = DigitNet(pixels[train].mean().item()), []
optimizer = torch.optim.Adam([p for _, p in net.named_parameters()], lr=0.01)
for _ in range(10):
    for batch in train.split(70):
        loss = F.cross_entropy(net(pixels[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

# %% topics=["simple-convnet"]
with torch.no_grad():
    right = net.eval()(pixels[test]).argmax(1) == labels[test]
print("steps:", len(losses))
print("at least 95 % of the test digits right:", right.float().mean().item() >= 0.95)

# %%
import io

file = io.BytesIO()
torch.save(net.state_dict(), file)
_ = file.seek(0)

# %%
fresh = DigitNet()
fresh.load_state_dict(torch.load(file, weights_only=True))
with torch.no_grad():
    same = torch.equal(fresh.eval()(pixels[test]), net(pixels[test]))
print("saved, loaded into a fresh one, the same answers:", same)

# %% tags=["nbval-ignore-output"]
with torch.no_grad():
    guesses = fresh(pixels[test]).argmax(1)
order = (guesses == labels[test]).int().argsort(stable=True)[:10]  # the wrong ones first
figure = plt.figure(figsize=(9, 2.6), layout="constrained")
left, grid = figure.subfigures(1, 2, width_ratios=[1, 1.6])
axes = left.subplots()
axes.plot(losses, linewidth=1)
axes.set(xlabel="step", ylabel="loss", ylim=(0, None), title="Training")
for ax, index in zip(grid.subplots(2, 5).flat, order.tolist(), strict=True):
    ax.imshow(pixels[test][index, 0].cpu(), cmap="gray_r")
    says, truth = guesses[index].item(), labels[test][index].item()
    ax.set_title(f"says {says}" if says == truth else f"says {says}, is {truth}", fontsize=9)
    ax.set(xticks=[], yticks=[])
show(figure, "The loss falls from above 2 to near 0.1; ten test digits, the hardest first.")

# %% [markdown]
# Some of the misread digits are sloppily written; others wouldn't trouble a person.
#
# What does a module know that a function does not? The names of its tensors, which of them to train,
# save and move, and its mode. You saw it fit into a hundred lines. All the rest is functions.
#
# ## 13. A network that others wrote
#
# Names are a contract. How far does it reach? Below is ResNet-18, as torchvision lays it out, from your
# `MiniModule`: five small classes, and the 122 names of its state dict arise by themselves.


# %% topics=["module-subclass", "weight-copy-between-models"]
class Conv(Base):
    def __init__(self, before, after, size, stride=1):
        super().__init__()
        self.weight = Weight(torch.zeros(after, before, size, size, device=device))
        self.stride, self.padding = stride, size // 2

    def forward(self, x):
        return F.conv2d(x, self.weight, stride=self.stride, padding=self.padding)


class Norm(Base):
    def __init__(self, n):
        super().__init__()
        self.weight, self.bias = (Weight(torch.zeros(n, device=device)) for _ in range(2))
        self.register_buffer("running_mean", torch.zeros(n, device=device))
        self.register_buffer("running_var", torch.zeros(n, device=device))
        self.register_buffer("num_batches_tracked", torch.tensor(0, device=device))

    def forward(self, x):
        statistics = self.running_mean, self.running_var
        return F.batch_norm(x, *statistics, self.weight, self.bias, self.training)


# %% topics=["module-subclass", "sequential"]
class Chain(Base):
    def __init__(self, *parts):
        super().__init__()
        for number, part in enumerate(parts):
            setattr(self, str(number), part)
        self.length = len(parts)

    def forward(self, x):
        for number in range(self.length):
            x = getattr(self, str(number))(x)
        return x


class Residual(Base):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1, self.bn1 = Conv(before, after, 3, stride), Norm(after)
        self.conv2, self.bn2 = Conv(after, after, 3), Norm(after)
        self.downsample = None
        if stride > 1:
            self.downsample = Chain(Conv(before, after, 1, stride), Norm(after))

    def forward(self, x):
        y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        return (y + (self.downsample(x) if self.downsample else x)).relu()


# %% topics=["module-subclass"]
class ResNet18(Base):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, before = Conv(3, 64, 7, 2), Norm(64), 64
        for number, after in enumerate((64, 128, 256, 512), start=1):
            blocks = Residual(before, after, 1 + (number > 1)), Residual(after, after, 1)
            setattr(self, f"layer{number}", Chain(*blocks))
            before = after
        self.fc = Layer(1000, 512)

    def forward(self, x):
        x = F.max_pool2d(self.bn1(self.conv1(x)).relu(), 3, 2, padding=1)
        for number in range(1, 5):
            x = getattr(self, f"layer{number}")(x)
        return F.linear(x.mean((2, 3)), self.fc.weight, self.fc.bias)


# %% [markdown]
# torchvision's own model lends its state. (Its weights are random here, for want of a network;
# `weights="DEFAULT"` would download the trained ones, under the same names.) One batch in training mode
# moves its running statistics, so that they count.

# %% topics=["weight-copy-between-models"]
from torchvision.models import resnet18

torch.manual_seed(0)
theirs, mine = resnet18(weights=None).to(device), ResNet18()
photos = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0)).to(device)
with torch.no_grad():
    theirs(photos)
    mine.load_state_dict(theirs.state_dict())
    scores, wanted = mine.eval()(photos), theirs.eval()(photos)

# %% topics=["weight-copy-between-models"]
print(
    "names:",
    len(mine.state_dict()),
    "all the same:",
    set(mine.state_dict()) == set(theirs.state_dict()),
)
print("equal scores for two photos:", torch.allclose(scores, wanted, rtol=1e-3, atol=1e-3))

# %% [markdown]
# Key for key, and number for number. Any checkpoint of torchvision's ResNet-18 fits your own class.

# %% [markdown]
# ## Heard elsewhere
#
# More sentences from old notes, each with a cell that answers.
#
# *"Use `nn.Xxx` everywhere; the functional form may be dropped in the next release."* Modules call
# these functions, and new functions keep being added.

# %% topics=["nn-vs-functional"] errata=["functional-going-away"]
x = torch.tensor([-1.0, 2.0])
print("equal:", torch.equal(F.relu(x), nn.ReLU()(x)))
print("newer:", callable(F.scaled_dot_product_attention), callable(F.rms_norm))

# %% [markdown]
# *"`class MyNetwork: … super(network, self).__init__()`."* The name has to be that of the class
# itself; that of another class, here `SmallNet`, is an error. Without arguments it can't be wrong.


# %% errata=["super-wrong-class"]
class MyNetwork(nn.Module):
    def __init__(self):
        super(SmallNet, self).__init__()


# %% errata=["super-wrong-class"]
try:
    MyNetwork()
except TypeError as error:
    print("TypeError:", error)

# %% [markdown]
# *"`def forward(self, x): self.x = self.layer(x); return x`."* It returns its input. The layer's
# result is thrown away, and no gradient reaches it.


# %% errata=["forward-returns-input"]
class Returns(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        self.x = self.layer(x)
        return x


# %% errata=["forward-returns-input"] tags=["shows-false"]
x = torch.ones(1, 2)
y = Returns()(x)
print("the input itself:", y is x, " hangs on a graph:", y.requires_grad)

# %% [markdown]
# *"`nn.init.uniform(weight)`."* The names end in an underscore, because they work in place. The old
# names warn.

# %% topics=["weight-init"] errata=["init-without-underscore"] tags=["shows-deprecated"]
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    nn.init.uniform(torch.empty(2))
print(caught[0].category.__name__, caught[0].message)

# %% [markdown]
# *"`for p in net.parameters(): total += p.numel()` counts."* Not if `total` was never set. The
# one-liner `sum(p.numel() for p in net.parameters())` can't forget it, nor the `return`.


# %% topics=["count-parameters"] errata=["count-parameters-unbound"]
recipe, scope = "def count(net):\n    for p in net.parameters(): total += p.numel()", {}
exec(recipe, scope)
try:
    scope["count"](nn.Linear(2, 2))
except UnboundLocalError as error:
    print("UnboundLocalError:", error)

# %% [markdown]
# *"Two models in a list have the same address and take no extra memory."* The list holds
# references; each model has its own weights.

# %% topics=["list-of-models"] errata=["list-of-models-shares-memory"] tags=["shows-false"]
a, b = nn.Linear(2, 2), nn.Linear(2, 2)
print("the list holds a itself:", [a, b][0] is a)
print("one memory:", a.weight.data_ptr() == b.weight.data_ptr())

# %% [markdown]
# *"SyncBatchNorm repairs the statistics under `nn.DataParallel`."* It speaks to other *processes*, of
# `torch.distributed`. Without a process group it is a plain batch norm.

# %% topics=["syncbn-convert"] errata=["syncbn-for-dataparallel"]
x = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
print("just a batch norm:", torch.allclose(nn.SyncBatchNorm(3)(x), nn.BatchNorm1d(3)(x)))

# %% [markdown]
# *"Convert by hand: `new.weight = old.weight.data`."* That puts a plain tensor on a parameter's
# name. Use `convert_sync_batchnorm`. And *"`net = net()`"* works once: then the class is gone.

# %% topics=["syncbn-convert"] errata=["hand-written-bn-conversion", "typos-001-002"]
norm, Net = nn.SyncBatchNorm(2), SmallNet
Net = Net()
for attempt in (lambda: setattr(norm, "weight", torch.ones(2)), lambda: Net()):
    try:
        attempt()
    except TypeError as error:
        print("TypeError:", str(error).split(" (")[0])

# %% [markdown]
# ## What to take home
#
# | a module knows | through | and so can |
# | --- | --- | --- |
# | its parameters, by name | assignment of a `Parameter` | tell an optimizer, count, freeze |
# | its buffers | `register_buffer` | save and move what isn't trained |
# | its children | assignment of a `Module`, `ModuleList`, `ModuleDict` | do all of this for the whole tree |
# | its mode | `train()`, `eval()` | drop out and normalise as the moment asks |
# | nothing else | a list, a dict, a plain tensor | nothing: it is used, and forgotten |
#
# **Three mistakes to remember**
#
# 1. A layer in a plain list, a tensor in a plain attribute. No error; it just isn't trained, saved or
#    moved. Count the parameters.
# 2. A new Parameter, or a new head, after the optimizer was made. Write values in place, or make the
#    optimizer last.
# 3. `strict=False`, and the returned value thrown away. Look at what was loaded.
#
# **Read more.** The PyTorch documentation has the notes *Modules* and *Serialization semantics*,
# and the pages on `torch.func`, `torch.nn.init` and `torch.nn.utils.skip_init`; the tutorials
# *Model ensembling* and *Skipping module parameter initialization*. The papers: *Dropout: A Simple
# Way to Prevent Neural Networks from Overfitting*, *Delving Deep into Rectifiers* (He
# initialisation), *Understanding the difficulty of training deep feedforward neural networks*
# (Xavier), *Self-Normalizing Neural Networks* (alpha dropout).
