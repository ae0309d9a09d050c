# ---
# jupyter:
#   course:
#     title: Modules
#     minutes: 240
#     core: 145
# ---
# %% [markdown]
# # Modules: what does a module know that a function does not?
#
# A layer is a function of its input and its weights. PyTorch has the functions: `F.linear`,
# `F.conv2d`, `F.dropout`. Yet models are written as classes. So a module must know something that a
# function does not. This chapter finds out what, piece by piece: names, what to save, what to move,
# what to train, and in which mode it is. Most bugs in model code are a module that does not know
# what its author thinks it knows.
#
# **After this chapter you can**
#
# - say which tensors of a class will be trained, saved and moved, before you run it;
# - write `nn.Module` yourself, in under a hundred lines, and train a network with it;
# - turn a model into a pure function, and run a whole ensemble in one call;
# - start weights so that twenty layers neither fade nor explode, and predict by how much;
# - load a checkpoint that fits only in part, and know exactly what was loaded;
# - freeze, count and replace layers in a model that you did not write.
#
# **It leans on** chapter 05 (graph, leaves, `.grad`). **Time:** four hours with all eleven exercises. The
# sections and exercises marked *core* take two hours and twenty-five minutes; nothing later leans on
# the rest. You can skip any exercise.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_close, check_equal, check_predictions, count_operators, device
from course_utils import every_case, forbid_changes, runs_with_the_answer, show

# %% [markdown]
# ## A model that learns, and one that does not · core
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
# The task: a point's class depends on its distance from the centre. Both start from the same
# weights.

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
# Modules may hold modules. Then names grow dots. A block that you use often is a class of its own:


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


# %% jupyter={"source_hidden": true} topics=["modules-vs-children"]
def draw_tree(model: nn.Module, alt: str) -> None:
    """The modules of a model as an indented tree, with the bytes that each one holds itself."""
    rows = list(model.named_modules())
    figure, axes = plt.subplots(figsize=(9, 0.36 * len(rows) + 0.9))
    for y, (name, module) in enumerate(rows):
        depth = name.count(".") + bool(name)
        label = f"{name.rpartition('.')[2] or 'model'}: {type(module).__name__}"
        axes.text(-2.9 + 0.28 * depth, y, label, va="center", fontsize=9)
        sizes = [
            sum(t.nbytes for t in group(recurse=False))
            for group in (module.parameters, module.buffers)
        ]
        axes.barh(y, sizes[0] / 1000, color="#0072b2", label="parameters" if y == 0 else None)
        axes.barh(
            y,
            sizes[1] / 1000,
            left=sizes[0] / 1000,
            color="#e69f00",
            label="buffers" if y == 0 else None,
        )
        text = " + ".join(f"{n:,}" for n in sizes if n)
        axes.text(sum(sizes) / 1000 + 0.05, y, text, va="center", fontsize=8)
    for y, (name, _) in enumerate(rows):
        below = [
            i for i, (n, _) in enumerate(rows) if n and n.rpartition(".")[0] == name and i != y
        ]
        if below:
            x = -2.83 + 0.28 * (name.count(".") + bool(name))
            axes.plot([x, x], [y + 0.35, max(below) + 0.1], color="#8a8a8a", linewidth=1)
    axes.axvline(0, color="#8a8a8a", linewidth=1)
    axes.set(xlim=(-3, 6), ylim=(len(rows) - 0.4, -0.6), yticks=[], xticks=range(6))
    axes.set_xlabel("kilobytes held by the module itself", loc="right")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(loc="upper right", frameon=False)
    show(figure, alt)


# %% topics=["modules-vs-children"]
draw_tree(net, "SmallNet as a tree of ten modules; most bytes lie in the second convolution.")

# %% [markdown]
# Follow a line down from `model` and join the words by dots. That is a tensor's full name:
# `features.2.conv.weight`. Containers hold nothing themselves. Three quarters of the bytes lie in the
# second convolution.
#
# ### `nn.Sequential`
#
# A container that calls its children in turn. It names them by numbers, or as an `OrderedDict`
# says. It takes a list with a star, can be cut like a list, and grows by `append`:

# %% topics=["sequential"]
from collections import OrderedDict

layers = [nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)]

# %% topics=["sequential"]
plain = nn.Sequential(*layers)
named = nn.Sequential(OrderedDict(hidden=layers[0], relu=layers[1], out=layers[2]))
print(list(plain.state_dict()))
print(list(named.state_dict()))

# %% topics=["sequential"]
print(plain[:2].append(nn.Tanh()))

# %% [markdown]
# A slice holds the same layers, not copies. Both containers above hold the same ones, too: only
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
        "name of the last layer's bias": "children are numbered from 0, and the ReLU is one too",
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

# %% [markdown]
# Three drawers, and a heap for everything else. `parameters()`, `state_dict()`, `to()` and
# `train()` open the drawers and never look at the heap. So a plain tensor such as `box.c` is used
# by `forward`, and otherwise forgotten.
#
# > **Then and now.** *"Keep a fixed weight as a plain tensor attribute: `self.w = torch.rand(2, 2)`."*
# > It works until the model moves or is saved. `register_buffer` is the drawer for such tensors;
# > with `persistent=False` it moves but is not saved.

# %% topics=["fixed-tensors-buffers"] errata=["constant-tensor-as-attribute"]
box.register_buffer("e", torch.zeros(2), persistent=False)
box.double()
print("moved:", {name: str(getattr(box, name).dtype) for name in "acde"})
print("saved:", list(box.state_dict()))

# %% [markdown]
# `state_dict()` gives what is to be saved: parameters and persistent buffers.
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
# Because assignment is the door, two more things happen there. A plain tensor can't take a
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
# the same while the name is right, and fails or goes astray once a class is renamed.
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


# %% nbgrader={"grade_id": "trials-1-4", "locked": true} jupyter={"source_hidden": true}
# How the exercises of sections 1 to 4 are tried. You need not read this; the checks below say what is wrong.
def tensor_in(box, name):
    value = getattr(box, name)
    value = value[0] if isinstance(value, (list, tuple, nn.ParameterList)) else value
    return value.weight if isinstance(value, nn.Module) else value


def fill(shape: tuple, x: torch.Tensor) -> torch.Tensor:
    """The values that a parameter of this shape is given before the model is tried."""
    n = torch.Size(shape).numel()
    return torch.linspace(-1, 1.3, n, device=x.device).view(shape)


@runs_with_the_answer
def try_list_trap(sizes: list[int], heads: dict, head: str, x: torch.Tensor) -> dict:
    """What the model knows, what it gives for known weights, and how many parameters train."""
    model = list_trap(sizes, heads)
    kind = f"list_trap returned {type(model).__name__}"
    assert isinstance(model, nn.Module), f"{kind}, not a module: is there an answer yet?"
    model = model.to(x.device)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(fill(tuple(parameter.shape), x))
    y = model(x, head)
    if isinstance(y, torch.Tensor) and y.requires_grad:
        y.sum().backward()
    grads = sum(parameter.grad is not None for parameter in model.parameters())
    shapes = sorted(tuple(parameter.shape) for parameter in model.parameters())
    return {"shapes": shapes, "y": y, "grads": grads}


@runs_with_the_answer
def try_set_weight(value: torch.Tensor, needs: bool = True) -> dict:
    """A layer before and after, and after a step of an optimizer that was made before."""
    layer = nn.Linear(value.shape[1], value.shape[0]).to(value.device, value.dtype)
    layer.weight.requires_grad_(needs)
    old, bias = layer.weight, layer.bias.detach().clone()
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    before = old.detach().clone()
    set_weight(layer, value)
    found = {"set": layer.weight.detach().clone(), "object": layer.weight is old}
    found |= {"idle": torch.equal(layer.weight, before)}
    found |= {"needs": layer.weight.requires_grad, "leaf": layer.weight.is_leaf}
    found |= {"parameter": isinstance(layer.weight, nn.Parameter)}
    found["bias"] = torch.equal(layer.bias, bias)
    layer(torch.ones(1, value.shape[1], device=value.device, dtype=value.dtype)).sum().backward()
    optimizer.step()
    return found | {"trained": layer.weight.detach().clone()}


def check_trap(sizes, heads, head, x):
    hidden = [((n, m), (n,)) for m, n in pairwise(sizes)]
    ends = {name: ((n, sizes[-1]), (n,)) for name, n in heads.items()}
    found, y = try_list_trap(sizes, heads, head, x), x
    shapes = [shape for layer in hidden for shape in layer]
    ends_shapes = [shape for layer in ends.values() for shape in layer]
    known, why = found["shapes"], "sorted; one for each weight and bias of every layer and head"
    slips = {
        "no parameter: layers in a plain list or dict are unknown to it": [],
        "only the heads: the layers are still in a plain list": sorted(ends_shapes),
        "only the layers: the heads are still in a plain dict": sorted(shapes),
    }
    for words, slip in slips.items():
        assert known != slip or slip == sorted(shapes + ends_shapes), f"the model knows {words}"
    check_equal(known, sorted(shapes + ends_shapes), "the parameters' shapes", why)
    for weight, bias in hidden:
        deep, y = y, F.linear(y, fill(weight, x), fill(bias, x)).relu()
    last = [fill(shape, x) for shape in ends[head]]
    y = F.linear(y, *last)
    got = found["y"] if isinstance(found["y"], torch.Tensor) else y
    alike = lambda other: got.shape == other.shape and torch.allclose(got, other, 1e-4, 1e-4)
    if not alike(y):
        assert not alike(y.relu()), "model(x, head): no ReLU stands behind the head"
        if hidden:
            bare = F.linear(deep, *(fill(shape, x) for shape in hidden[-1]))
            words = (
                "model(x, head): a ReLU stands behind every layer, the last one before the head too"
            )
            assert not alike(F.linear(bare, *last)), words
    check_close(found["y"], y, "model(x, head)", rtol=1e-4, atol=1e-4)
    what = "how many parameters get a gradient from one head"
    check_equal(found["grads"], len(shapes) + 2, what)


def check_weight(value, needs=True):
    old = value.detach().clone()
    with forbid_changes(value):
        found = try_set_weight(value, needs)
        words = (
            "value changed when the layer trained: the weight lies in its memory; copy the numbers"
        )
        assert torch.equal(value.detach(), old), words
    assert found["parameter"], "layer.weight is no nn.Parameter any more"
    assert not found["idle"], "set_weight changed nothing: is there an answer yet?"
    check_close(found["set"], value.detach(), "layer.weight after set_weight")
    check_equal(found["needs"], needs, "layer.weight.requires_grad", "it stays as it was")
    assert found["leaf"], "the copy was recorded by autograd: do it under no_grad"
    assert found["bias"], "the bias was changed as well"
    words = "the optimizer's step did not move it: it trains the old parameter object"
    trained = value.detach() - 1 if needs else value.detach()
    assert not needs or not torch.equal(found["trained"], found["set"]), words
    check_close(found["trained"], trained, "layer.weight after a step with gradient 1")


def mini_tree() -> tuple:
    """The learner's class, a class of leaves, and the root of a small tree of such modules."""
    Mini = mini_module()
    assert isinstance(Mini, type), f"mini_module() returned {Mini!r}, not a class"
    assert not issubclass(Mini, nn.Module), (
        "MiniModule is derived from nn.Module: write it yourself"
    )

    class Leaf(Mini):
        def __init__(self, start):
            super().__init__()
            self.weight = MiniParameter(torch.tensor([start, start + 1.0]))
            self.register_buffer("seen", torch.zeros(2))
            self.register_buffer("cache", torch.zeros(3), persistent=False)
            self.note = "plain"

        def forward(self, x):
            return x * self.weight

    class Root(Mini):
        def __init__(self):
            super().__init__()
            self.left = Leaf(1.0)
            self.scale = MiniParameter(torch.tensor(3.0))
            self.right = Leaf(5.0)
            self.again = self.left
            self.tied = self.right.weight
            self.inner = Mini()
            self.inner.leaf = Leaf(7.0)

        def forward(self, x, shift=0.0):
            return self.scale * self.right(self.left(x)) + shift

    try:
        return Mini, Leaf, Root()
    except AttributeError as error:
        raise AssertionError(f"AttributeError: {error}: is there an answer yet?") from error


def pairs_of(root, method: str) -> list:
    """The names that a method lists, after a look at its form."""
    pairs = getattr(root, method)()
    assert pairs is not None, f"{method}() returned None: is there an answer yet?"
    pairs = list(pairs)
    right = all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs)
    assert right, f"{method}() gives {pairs[:1]}, expected pairs of a full name and a tensor"
    return [name for name, tensor in pairs]


@runs_with_the_answer
def try_tree(what: str) -> object:
    """One question to the tree."""
    _, _, root = mini_tree()
    if what == "call":
        return root(torch.tensor([1.0, 2.0]), shift=1.0)
    if what == "plain":
        return root.left.note, root.left.training
    if what == "unknown":
        return hasattr(root, "nose")
    if what == "trains":
        (root(torch.ones(2))).sum().backward()
        return [None if p.grad is None else p.grad.tolist() for _, p in root.named_parameters()]
    if what == "same objects":
        tensors = {id(tensor) for _, tensor in root.named_parameters()}
        return {id(root.scale), id(root.left.weight), id(root.tied)} <= tensors
    return pairs_of(root, what)


@runs_with_the_answer
def try_names(changes: list[str]) -> tuple:
    """Parameters, buffers, state and the value of ``x`` after assignments to one name."""
    Mini, leaf, _ = mini_tree()
    module = Mini()
    values = {
        "parameter": lambda: MiniParameter(torch.tensor([1.0])),
        "module": lambda: leaf(1.0),
        "tensor": lambda: torch.tensor([2.0]),
        "text": lambda: "word",
        "number": lambda: 5,
    }
    for change in changes:
        if change in ("buffer", "fleeting"):
            module.register_buffer("x", torch.zeros(1), persistent=change == "buffer")
        else:
            module.x = values[change]()
    state = module.state_dict()
    assert state is not None, "state_dict() returned None: is there an answer yet?"
    kind = type(module.x).__name__ if changes[-1] != "module" else "module"
    value = module.x.tolist() if isinstance(module.x, torch.Tensor) else None
    lists = [pairs_of(module, method) for method in ("named_parameters", "named_buffers")]
    return *lists, sorted(state), kind, value


@runs_with_the_answer
def try_modes(deep: bool, mode: bool) -> tuple:
    """The modes in the tree after a call, and whether the call returned the module."""
    _, _, root = mini_tree()
    part = root if deep else root.left
    root.train() if not mode else root.eval()
    returned = (part.train() if mode else part.eval()) if deep else part.train(mode)
    modules = (root, root.left, root.right, root.inner, root.inner.leaf)
    return [module.training for module in modules], returned is part


@runs_with_the_answer
def try_state(what: str, state: dict | None = None) -> object:
    """The tree's state, and what loading one does to it."""
    _, _, root = mini_tree()
    found = root.state_dict()
    assert isinstance(found, dict), f"state_dict() returned {type(found).__name__}, not a dict"
    if what == "state":
        return {name: tensor.clone() for name, tensor in found.items()}
    if what == "detached":
        return [name for name, tensor in found.items() if tensor.requires_grad]
    if what == "memory":
        with torch.no_grad():
            root.left.weight.fill_(9)
            root.left.seen.fill_(8)
        return found["left.weight"].tolist(), found["left.seen"].tolist()
    old, error = (root.scale, root.left.weight, root.left.seen), ""
    try:
        root.load_state_dict(state)
    except RuntimeError as caught:
        error = str(caught) or "a RuntimeError without a message"
    same = all(
        a is b for a, b in zip(old, (root.scale, root.left.weight, root.left.seen), strict=True)
    )
    same = same and root.scale.requires_grad and root.scale.is_leaf
    return error, same, {name: t.detach().clone() for name, t in root.state_dict().items()}


def check_load(state, bad, words):
    right = mini_state()
    new = {name: tensor + 10 for name, tensor in right.items()}
    error, same, after = try_state("load", state)
    assert same, "the model's tensors are new objects, or not leaves: copy the values in place"
    if bad:
        assert error, f"{words}: no RuntimeError was raised"
        silent = [name for name in bad if name not in error]
        assert not silent, f"{words}: the message does not name {', '.join(silent)}: {error!r}"
    else:
        assert not error, f"a state dict that fits raised a RuntimeError: {error}"
    for name, tensor in (right if bad else new).items():
        what = f"{name} after a load that failed (nothing is loaded)" if bad else f"{name}, loaded"
        assert name in after, f"{name} is not in state_dict()"
        check_close(after[name], tensor, what)


def letters_in(predicted):
    """The predictions, each with its letters in one order."""
    assert isinstance(predicted, dict), f"predict_registration is a {type(predicted).__name__}"
    guesses = dict(predicted)
    for name, guess in guesses.items():
        if guess is not None and guess is not ...:
            assert isinstance(guess, str), (
                f"{name}: {guess!r}? write a string of letters, such as 'PS'"
            )
            guesses[name] = "".join(letter for letter in "PBSMT" if letter in guess.upper())
            extra = sorted(set(guess.upper()) - set("PBSMT ,"))
            assert not extra, f"{name}: {guess!r}? the letters are P, B, S, M and T"
    return guesses


def letters_of_boxes():
    """What the machine says."""
    actual = {}
    box, doubled = Box(), Box().double()
    before = {name: tensor_in(box, name).detach().clone() for name in "abcdefghij"}
    sum(tensor_in(box, name).sum() for name in before).backward()
    torch.optim.SGD(box.parameters(), lr=1).step()
    for name in before:
        t = tensor_in(box, name)
        holds = {
            "P": any(t is p for p in box.parameters()),
            "B": any(t is b for b in box.buffers()),
            "S": any(t.data_ptr() == saved.data_ptr() for saved in box.state_dict().values()),
            "M": tensor_in(doubled, name).dtype == torch.float64,
            "T": not torch.equal(t, before[name]),
        }
        actual[name] = "".join(letter for letter, yes in holds.items() if yes)
    return actual


WHY_REGISTERED = {
    "a": "a Parameter goes through the door: known, saved, moved, trained",
    "b": "a plain tensor lands on the heap, whatever it is used for",
    "c": "it gets a gradient, but no drawer holds it, so no optimizer is told of it",
    "d": "a buffer is saved and moved, and not trained",
    "e": "not persistent means only: not saved",
    "f": "assignment looks at the list's type, and never into it",
    "g": "a ParameterList is a module: it makes Parameters of tensors and is known itself",
    "h": "a tuple is not looked into either; the layer in it is unknown",
    "i": "a frozen parameter is still a parameter; it only gets no gradient",
    "j": "times 1.0 gives a new tensor, a plain result of the graph and no Parameter",
}


CHANGES = {
    "parameter, text": ([], [], [], "str", None),
    "text, parameter": (["x"], [], ["x"], "MiniParameter", [1.0]),
    "parameter, module": (
        ["x.weight"],
        ["x.seen", "x.cache"],
        ["x.seen", "x.weight"],
        "module",
        None,
    ),
    "module, parameter": (["x"], [], ["x"], "MiniParameter", [1.0]),
    "tensor": ([], [], [], "Tensor", [2.0]),
    "buffer, tensor": ([], ["x"], ["x"], "Tensor", [2.0]),
    "buffer, number": ([], [], [], "int", None),
    "buffer, parameter": (["x"], [], ["x"], "MiniParameter", [1.0]),
    "module, text": ([], [], [], "str", None),
    "buffer, text, tensor": ([], [], [], "Tensor", [2.0]),
    "parameter, buffer": ([], ["x"], ["x"], "Tensor", [0.0]),
    "module, buffer": ([], ["x"], ["x"], "Tensor", [0.0]),
    "number, buffer": ([], ["x"], ["x"], "Tensor", [0.0]),
    "fleeting, tensor": ([], ["x"], [], "Tensor", [2.0]),
    "fleeting, buffer": ([], ["x"], ["x"], "Tensor", [0.0]),
    "fleeting, parameter": (["x"], [], ["x"], "MiniParameter", [1.0]),
}
ASKED = ("named_parameters()", "named_buffers()", "state_dict()", "the type of x", "the value of x")


def check_one_name(changes, right):
    """One name, assigned to several times: what the module says of it."""
    for what, expected, got in zip(ASKED, right, try_names(changes), strict=True):
        check_equal(got, expected, what, "a name holds one thing")


def check_tree(case):
    """Names, calls and attributes of a small tree."""
    listed = ["scale", "tied", "left.weight", "inner.leaf.weight"]
    buffers = [
        f"{leaf}.{name}" for leaf in ("left", "right", "inner.leaf") for name in ("seen", "cache")
    ]
    tree_names = {"named_parameters": listed, "named_buffers": buffers}
    for method, right in tree_names.items():
        with case(method):
            found = try_tree(method)
            twice = [name for name in found if name not in right]
            hint = f"; {', '.join(twice)}: listed a second time?" if twice else ""
            if len(found) == len(right):
                hint = "; the first name is the module's own: own ones first, then the children's"
            assert sorted(found) == sorted(right), f"expected {right}, got {found}{hint}"
            check_equal(found, right, "the order", "own ones first, then child after child")
    with case("the parameters that are listed"):
        assert try_tree("same objects") is True, "they are not the objects that were assigned"
    with case("module(x, shift=1.0) calls forward"):
        right = torch.tensor([3.0 * 5 + 1, 2.0 * 3 * 2 * 6 + 1])
        check_close(try_tree("call"), right, "its result")
    with case("gradients"):
        grads = [sum([1.0 * 5, 2.0 * 6]), [3.0, 6.0], [15.0, 18.0], None]
        check_equal(try_tree("trains"), grads, "the parameters' grad after backward()")
    with case("a plain attribute, and training"):
        check_equal(try_tree("plain"), ("plain", True), "leaf.note and leaf.training of a new leaf")
    with case("a name that doesn't exist"):
        assert try_tree("unknown") is False, "no AttributeError: hasattr(module, 'nose') is True"


def check_names(case):
    """One name, assigned to several times; a fleeting buffer is one that is not persistent."""
    for change, right in CHANGES.items():
        with case(f"one name: {change}"):
            check_one_name(change.split(", "), right)


def mini_state():
    """The right state dict of the tree."""
    right = {"scale": torch.tensor(3.0), "tied": torch.tensor([5.0, 6.0])}
    for leaf, start in {"left": 1.0, "right": 5.0, "again": 1.0, "inner.leaf": 7.0}.items():
        right[f"{leaf}.weight"] = torch.tensor([start, start + 1])
        right[f"{leaf}.seen"] = torch.zeros(2)
    return right


def check_state(case, right):
    """state_dict()."""
    with case("state_dict"):
        found = try_state("state")
        fleeting = [name for name in found if "cache" in name]
        assert not fleeting, f"{', '.join(fleeting)}: not persistent, so not to be saved"
        missing = [name for name in right if name not in found]
        assert not missing, f"not in it: {', '.join(missing)} (shared ones are under each name)"
        check_equal(sorted(found), sorted(right), "its names")
        for name, tensor in right.items():
            check_close(found[name], tensor, name)
    with case("state_dict, detached"):
        check_equal(try_state("detached"), [], "those that require grad")
    with case("state_dict, in the model's memory"):
        memory = try_state("memory")
        check_equal(memory, ([9.0, 9.0], [8.0, 8.0]), "the dict after the model changed in place")


def check_modes(case):
    """train() and eval()."""
    for deep, mode in ((True, False), (True, True), (False, True), (False, False)):
        call = f"{'root' if deep else 'left'}.{'train' if mode or not deep else 'eval'}"
        with case(f"{call}({'' if deep else mode})"):
            modes, itself = try_modes(deep, mode)
            other = [mode] * 5 if deep else [not mode, mode, not mode, not mode, not mode]
            check_equal(modes, other, "training of root, left, right, inner, inner.leaf")
            assert itself, "it does not return the module"


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
check_predictions(letters_in(predict_registration), letters_of_boxes(), WHY_REGISTERED)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Ask first: what is the *type* of the value that stands right of the equals sign?
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
# The weight was used four times: y = 12 w⁴, and 48 w³ is 6. Such a fork has a price later: compilers
# break the graph there, and `torch.export` asks for `torch.cond` in its place.
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
# It has a gradient and stays. The optimizer still holds the old parameter, which `forward` no longer
# uses. So give a parameter new *values*; keep the object. `copy_` writes in place, and `no_grad` keeps autograd
# out of it:

# %% topics=["init-with-tensor"]
layer = nn.Linear(2, 1, bias=False)
optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
with torch.no_grad():
    layer.weight.copy_(torch.ones(1, 2))

# %% topics=["init-with-tensor"]
layer(torch.ones(1, 2)).sum().backward()
optimizer.step()
layer.weight.tolist()

# %% [markdown]
# ### Exercise 8.3 — A model whose layers don't train ★★ · 10 min · 4 points · core
#
# The model `Trapped`, below, falls into both traps. Read it; it computes the right thing.
#
# **First**, `list_trap(sizes, heads)`: return a module that computes the same as `Trapped`, called as
# `model(x, head)`, and knows all its layers, those of every head, and no parameter besides.
#
# - `sizes`, e.g. `[3, 5, 4]`: a linear layer and a ReLU from each size to the next. `[3]`: none.
# - `heads`, e.g. `{"colour": 2, "shape": 6}`: a linear layer for each name, from the last size; no
#   ReLU behind it. The names are plain Python names, as in the example.
#
# **Then**, `set_weight(layer, value)`: give an `nn.Linear` the weight `value`, a tensor of the same
# shape and dtype, so that an optimizer made earlier goes on training it. Whether the weight needs a
# gradient stays as it was. `value` is only read: it must not change later, when the layer trains. It
# may be a view, or another layer's weight, which needs a gradient itself.
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
            check_trap([3, 5, 4], {"colour": 2, "shape": 6}, head, x)
    with case("sizes [3], no hidden layer"):
        check_trap([3], {"only": 2}, "only", x)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("sizes [3, 7, 7, 2], three heads"):
        check_trap([3, 7, 7, 2], {"one": 1, "two": 9, "three": 3}, "two", -x)
    with case("an empty batch"):
        check_trap([3, 4], {"one": 1}, "one", x[:0])
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "list-trap-check-2", "grade": true, "points": 2}
value = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device=device)
with every_case() as case:
    with case("a 3 × 2 weight"):
        check_weight(value)
    with case("a frozen weight"):
        check_weight(value, needs=False)
    with case("a value that requires grad"):
        check_weight(value[1:].clone().requires_grad_())
    with case("a transposed view, float64"):
        check_weight(value.double().t())
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("a frozen weight, and a value that requires grad"):
        check_weight(value[1:].clone().requires_grad_(), needs=False)
    with case("an expanded row"):
        check_weight(value[:1].expand(4, 2))
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
# You know the door and the drawers. Is there more to `nn.Module`? Let's build one and see. First,
# the parameter: a tensor with another type, so that the door can tell it apart. Five lines:


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
# (A bias that a layer does without stands in the drawer as `None`: the name is kept free.)
#
# One thing is missing. Two layers often share a weight: a language model reads and writes words by
# one table. **Predict:** how many names does each line list?

# %% topics=["count-parameters"]
talker = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False))
talker[1].weight = talker[0].weight
print("by hand:          ", names(talker))
print("named_parameters: ", [name for name, _ in talker.named_parameters()])
print("state_dict:       ", list(talker.state_dict()))

# %% [markdown]
# An optimizer that is told twice would take two steps, and a count would be wrong. So
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
# The name `y` is in the drawer and on the heap, and the heap wins. So
# `__setattr__` must first take the name out of everywhere else. With that you know all the traps.
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
# ### Exercise 8.4 — Your own Module ★★★ · 30 min · 6 points · core
#
# Write `MiniModule`, without `nn.Module` and without `nn.Parameter`. A class is derived from it as
# from `nn.Module`, and calls `super().__init__()` first.
#
# *Attributes and tree*
#
# - `module.name = value`: a `MiniParameter` becomes a parameter, a `MiniModule` a child, anything else
#   a plain attribute. A name holds one thing: what it held before, of whatever kind, is gone. But a
#   plain tensor assigned to a buffer's name is the buffer's new value, as persistent as the old one.
# - `module.name` reads it. A name that doesn't exist is an `AttributeError`.
# - `register_buffer(name, tensor, persistent=True)`: here, too, the name's old holder is gone.
# - `named_parameters()`: pairs (full name, parameter), the module's own first, then child after child,
#   each in the order of assignment. Each parameter once, under its first name; a child may be shared,
#   too. `named_buffers()`: likewise, persistent or not.
# - `module(...)` calls `forward(...)`.
#
# *Mode and state*
#
# - `module.training`, `True` at first. `train(mode=True)` and `eval()` set it, here and in all children
#   at any depth, and return the module.
# - `state_dict()`: a dict from each full name to its tensor, detached and in the model's memory:
#   parameters and persistent buffers, shared ones under each of their names.
# - `load_state_dict(state)` copies the values into the model's tensors, which stay the same objects.
#   If a name is missing, is unexpected, or has another shape: `RuntimeError`, whose message contains
#   every such name, and nothing was loaded.
#
# Pairs may come as a list or a generator. Last in the cell, `mini_module()` hands your class to the
# check; leave it.


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
    check_tree(case)
    check_names(case)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("one name: parameter, text, parameter"):
        check_one_name(["parameter", "text", "parameter"], CHANGES["text, parameter"])
    with case("one name: fleeting, text, buffer"):
        check_one_name(["fleeting", "text", "buffer"], CHANGES["parameter, buffer"])
    with case("one name: buffer, fleeting"):
        check_one_name(["buffer", "fleeting"], ([], ["x"], [], "Tensor", [0.0]))
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "mini-module-check-2", "grade": true, "points": 3}
right = mini_state()
new = {name: tensor + 10 for name, tensor in right.items()}
without = {name: tensor for name, tensor in new.items() if name != "inner.leaf.weight"}
with every_case() as case:
    check_state(case, right)
    check_modes(case)
    with case("load_state_dict, all fits"):
        check_load(new, [], "all fits")
    with case("load_state_dict, a missing name"):
        check_load(without, ["inner.leaf.weight"], "a name is missing")
    with case("load_state_dict, an unexpected name"):
        check_load({**new, "nose": torch.zeros(1)}, ["nose"], "a name is unexpected")
    with case("load_state_dict, another shape"):
        check_load({**new, "right.seen": torch.zeros(1)}, ["right.seen"], "(1,) in place of (2,)")
    with case("load_state_dict, all three at once"):
        bad = {**without, "ear": torch.zeros(1), "scale": torch.zeros(2, 2)}
        check_load(bad, ["inner.leaf.weight", "ear", "scale"], "three things are wrong")
### BEGIN HIDDEN TESTS
with every_case() as case, case("load_state_dict, two of each"):
    bad = {**without, "ear": torch.zeros(1), "left.nose": torch.zeros(1)}
    del bad["again.weight"]
    bad |= {"scale": torch.zeros(2, 2), "left.seen": torch.zeros(2, 1)}
    names = ["inner.leaf.weight", "again.weight", "ear", "left.nose", "scale", "left.seen"]
    check_load(bad, names, "six things are wrong")
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

# %% [markdown]
# ## 5. A mode that functions don't have · core
#
# You just wrote `training`. What is it for? Two kinds of layers do one thing while the model learns
# and another when it is used: dropout, and batch norm. `train()` and `eval()` set the flag in the
# whole tree; those two read it; every other layer doesn't care.

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
# twelve it was two), four times as large. So on average the sum stays what it was, and at evaluation
# nothing needs to be scaled.
#
# > **Often said.** *"`p` is the probability of keeping a unit."* It is the probability of dropping
# > one. Count the zeros:

# %% topics=["dropout-semantics"] errata=["dropout-p-is-keep"]
y = F.dropout(torch.ones(100_000), p=0.9, training=True)
print("share of zeros:", round(y.eq(0).float().mean().item(), 2))
print("largest:       ", round(y.max().item(), 2))
print("mean:          ", round(y.mean().item(), 1))

# %% [markdown]
# Here a function shows what it lacks. `F.dropout` can't see the mode of your model. Its argument
# `training` is `True` unless you say otherwise.
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
# neighbours say nearly the same, so a single pixel is no loss. `AlphaDropout` sets elements to a
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
# - `x` has any shape and any floating dtype, which the result keeps. `x` itself isn't changed.
# - In training each element is set to zero with probability `p`, each by a draw of its own. The
#   others are divided by `1 - p`. For `p = 1` all are zero.
# - Otherwise the values are those of `x`, and PyTorch's random generator is left alone.
# - The draws come from PyTorch's global generator: `torch.manual_seed` makes them repeat.
# - The gradient is `1 / (1 - p)` for what survived, and 0 for what was dropped.
# - `p` below 0 or above 1 is a `ValueError`, in training or not.
#
# Example: of `dropout_that_listens(torch.ones(1000), 0.75, True)` about 750 elements are 0 and the
# others 4.


# %% nbgrader={"grade_id": "trials-5-8", "locked": true} jupyter={"source_hidden": true}
# How the exercises of sections 5 to 8 are tried. You need not read this; the checks below say what is wrong.
from collections import OrderedDict
from torch.overrides import TorchFunctionMode


def random_states():
    """The state of every generator that a dropout may draw from."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return torch.cat([torch.get_rng_state(), *cuda])


class NoDropout(TorchFunctionMode):
    """Refuses PyTorch's own dropouts."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        assert "dropout" not in name, f"torch's own {name} was called: write it yourself"
        return func(*args, **(kwargs or {}))


@runs_with_the_answer
def try_dropout(x: torch.Tensor, p: float, training: bool, seed: int = 0) -> dict:
    """The result, the gradient at x, and whether the generator moved."""
    torch.manual_seed(seed)
    leaf = x.clone().requires_grad_()
    x = leaf * 1
    before = random_states(), x.detach().clone()
    with NoDropout():
        y = dropout_that_listens(x, p, training)
    assert y is not None, "dropout_that_listens returned None: is there an answer yet?"
    assert isinstance(y, torch.Tensor), f"the result is of type {type(y).__name__}, not a tensor"
    quiet = torch.equal(random_states(), before[0])
    assert torch.equal(x.detach(), before[1]), "x was changed: return a new tensor"
    assert y.requires_grad, "no gradient flows from the result to x"
    (gradient,) = torch.autograd.grad(y.sum(), leaf)
    return {"y": y.detach(), "gradient": gradient, "quiet": quiet}


@runs_with_the_answer
def try_module(p: float, x: torch.Tensor) -> list:
    """The share of zeros that a model with the module in it gives, in four modes."""
    model, shares = nn.Sequential(nn.Identity(), nn.Sequential(ListeningDropout(p))), []
    for mode in (True, False, True):
        with NoDropout():
            y = model.train(mode)(x)
        assert isinstance(y, torch.Tensor), f"ListeningDropout gives {y!r}: is there an answer yet?"
        shares.append(y.eq(0).float().mean().item())
    return shares


def check_training(x, p, seed=0):
    found = try_dropout(x, p, True, seed)
    y, tolerance = found["y"], 6 * (p * (1 - p) / max(x.numel(), 1)) ** 0.5
    check_equal((tuple(y.shape), y.dtype), (tuple(x.shape), x.dtype), "shape and dtype")
    assert not y.isnan().any(), f"p = {p}: there are NaNs (what is 0 times infinity?)"
    dropped = y == 0
    share = dropped.float().mean().item() if x.numel() else p
    if x.dim() > 1 and x.numel() > 2000 and 0.1 < p < 0.9:
        lines = [dropped.float().mean(dim) for dim in (0, -1)]
        alone = all(
            ((line > 0) & (line < 1)).any() for line in lines if line.numel() < x.numel() / 4
        )
        assert alone, (
            "whole rows or columns are dropped together: each element has a draw of its own"
        )
    slip = abs(share - (1 - p)) <= tolerance and abs(share - p) > tolerance
    assert not slip, f"{share:.2f} of the elements are 0: p is the share that is dropped, not kept"
    assert abs(share - p) <= tolerance, f"{share:.3f} of the elements are 0, expected about {p}"
    kept, values = ~dropped, (x / (1 - p) if p < 1 else x)
    words = f"p = {p}: what survived is not x / (1 - p), so the expectation is not that of x"
    assert torch.allclose(y[kept], values[kept], rtol=5e-3), words
    slope = kept / (1 - p) if p < 1 else kept * 0.0
    assert not found["gradient"].isnan().any(), (
        f"p = {p}: the gradient holds NaNs (0 times infinity)"
    )
    words = "the gradient is 1 / (1 - p) where an element survived, 0 elsewhere"
    assert torch.allclose(found["gradient"].float(), slope.float(), rtol=5e-3), words
    return dropped


def check_still(x, p):
    found = try_dropout(x, p, False)
    words = "training is False: the values have to be those of x"
    assert torch.equal(found["y"], x) and found["y"].dtype == x.dtype, words
    assert found["quiet"], "training is False, and still random numbers were drawn"
    check_close(found["gradient"], torch.ones_like(x), "the gradient, training=False")


@runs_with_the_answer
def try_average(batches: list, modes: list, momentum: float | None = None) -> dict:
    """The results and the means, batch by batch, and what kind of thing ``mean`` is."""
    size, dtype = batches[0].shape[1], batches[0].dtype
    module = (
        moving_average_buffer(size) if momentum is None else moving_average_buffer(size, momentum)
    )
    kind = type(module).__name__
    assert isinstance(module, nn.Module), (
        f"it returned {kind}, not a module: is there an answer yet?"
    )
    assert hasattr(module, "mean"), "the module has no attribute mean"
    fresh = module.mean.detach().clone()
    module = module.to(batches[0].device, dtype)
    held, found = module.mean, {"y": [], "mean": [], "gradient": [], "fresh": fresh}
    for x, mode in zip(batches, modes, strict=True):
        x = x.clone().requires_grad_()
        y = module.train(mode)(x)
        assert isinstance(y, torch.Tensor), f"the module returned {y!r}, not a tensor"
        words = "no gradient flows from the result to x: only the update belongs under no_grad"
        assert y.requires_grad, words
        (gradient,) = torch.autograd.grad((y * torch.arange(1, 1 + size).to(y)).sum(), x)
        found["y"].append(y.detach())
        found["mean"].append(module.mean.detach().clone())
        found["gradient"].append(gradient)
    found |= {"parameters": len(list(module.parameters())), "graph": module.mean.requires_grad}
    found |= {"state": sorted(module.state_dict()), "same": module.mean is held}
    return found | {"held": held.detach().clone()}


def check_average(batches, modes, momentum=None):
    found, share = try_average(batches, modes, momentum), 0.1 if momentum is None else momentum
    size = batches[0].shape[1]
    check_equal(found["parameters"], 0, "its parameters", "it would be trained")
    words = "what its state dict holds: a plain attribute is neither saved nor moved"
    check_equal(found["state"], ["mean"], words)
    check_close(found["fresh"].cpu(), torch.zeros(size), "mean at first")
    assert not found["graph"], "mean requires grad: the graph of each batch hangs on it"
    mean = torch.zeros_like(batches[0][0]) if len(batches[0]) else batches[0].new_zeros(size)
    for number, (x, mode) in enumerate(zip(batches, modes, strict=True), start=1):
        old, call = mean, f"call {number}, {'train' if mode else 'eval'}"
        if mode and len(x):
            mean = (1 - share) * mean + share * x.mean(0)
            swapped = share * old + (1 - share) * x.mean(0)
            got = found["mean"][number - 1]
            slip = torch.allclose(got, swapped) and not torch.allclose(got, mean)
            assert not slip, f"{call}: momentum is the share of the new batch, not of the old mean"
        why = "" if mode else " (eval mode: it stays)"
        check_close(found["mean"][number - 1], mean, f"{call}: mean{why}", rtol=1e-4, atol=1e-5)
        got = found["y"][number - 1]
        stale = (
            got.shape == x.shape and torch.allclose(got, x - old) and not torch.allclose(old, mean)
        )
        assert not stale, f"{call}: the result is x minus the old mean: first update, then subtract"
        check_close(got, x - mean, f"{call}: the result", rtol=1e-4, atol=1e-5)
        right = torch.arange(1, 1 + size).to(x).expand_as(x)
        what = f"{call}: the gradient at x (mean is a constant)"
        check_close(found["gradient"][number - 1], right, what, rtol=1e-4, atol=1e-5)
    same = found["same"] and torch.equal(found["held"], found["mean"][-1])
    assert same, "module.mean is another tensor than at first: update it in place"


def make_conv_net(seed: int, like: torch.Tensor | None = None) -> nn.Module:
    """A ConvNet with weights from a seed, on the device and in the dtype of ``like``."""
    torch.manual_seed(seed)
    model = ConvNet()
    return model if like is None else model.to(like)


@runs_with_the_answer
def try_functional_twin(parameters: dict, x: torch.Tensor, weights: torch.Tensor) -> tuple:
    """The twin's output, and the gradient of (weights * output).sum() by each parameter."""

    def refuse(module, args):
        raise AssertionError(f"a module was called ({type(module).__name__}): use functions only")

    parameters = {name: t.clone().requires_grad_() for name, t in parameters.items()}
    with nn.modules.module.register_module_forward_pre_hook(refuse):
        y = functional_twin(parameters, x)
    assert y is not None, "functional_twin returned None: is there an answer yet?"
    assert isinstance(y, torch.Tensor), f"functional_twin returned {type(y).__name__}, not a tensor"
    assert y.requires_grad, "no gradient flows back to the parameters"
    total = (weights * y).sum()
    grads = torch.autograd.grad(total, list(parameters.values()), materialize_grads=True)
    return y.detach(), dict(zip(parameters, grads, strict=True))


@runs_with_the_answer
def try_ensemble(seeds: list[int], x: torch.Tensor) -> tuple:
    """The ensemble's output, how many products ran, and whether the models stayed the same."""
    models = [make_conv_net(seed, x).eval() for seed in seeds]
    olds = [{name: t.clone() for name, t in model.state_dict().items()} for model in models]
    objects = [[id(p) for p in model.parameters()] for model in models]
    with count_operators() as counts:
        y = ensemble(models, x)
    assert y is not None, "ensemble returned None: is there an answer yet?"
    assert isinstance(y, torch.Tensor), f"ensemble returned {type(y).__name__}, not a tensor"
    kinds = ("conv", "mm", "bmm", "baddbmm", "addmm")
    runs = sum(n for name, n in counts.items() if name in kinds or "conv" in name)
    same = objects == [[id(p) for p in model.parameters()] for model in models]
    for model, old in zip(models, olds, strict=True):
        same = same and all(torch.equal(t, old[name]) for name, t in model.state_dict().items())
        same = same and not model.training and all(p.requires_grad for p in model.parameters())
        same = same and all(p.device == x.device and p.grad is None for p in model.parameters())
    return y.detach(), runs, same


def check_twin(x, seed):
    model = make_conv_net(seed, x)
    weights = torch.arange(10.0).to(x) - 4
    parameters = {name: p.detach().clone() for name, p in model.named_parameters()}
    y, grads = try_functional_twin(parameters, x, weights)
    right = model(x)
    check_close(y, right.detach(), "the output", rtol=1e-3, atol=1e-4)
    (weights * right).sum().backward()
    for name, parameter in model.named_parameters():
        slack = {"rtol": 1e-3, "atol": 1e-3}
        check_close(grads[name], parameter.grad, f"the gradient by {name}", **slack)


def check_ensemble(seeds, x):
    y, runs, same = try_ensemble(seeds, x)
    right = torch.stack([make_conv_net(seed, x)(x).detach() for seed in seeds])
    check_close(y, right, "the result", rtol=1e-3, atol=1e-4)
    assert same, "the models were changed: their weights, mode, grad or device"
    return runs


class OwnLinear(nn.Linear):
    """A subclass of Linear."""


def make_zoo() -> nn.Sequential:
    """Layers of many kinds; those that are to stay as they are hold sevens."""
    inner = nn.Sequential(nn.Conv2d(32, 64, 3, groups=4), nn.BatchNorm2d(64), nn.ReLU())
    zoo = nn.Sequential(
        OrderedDict(
            conv=nn.Conv2d(16, 64, 3),
            bare=nn.Conv2d(64, 32, (1, 5), bias=False),
            inner=nn.ModuleDict({"deep": inner}),
            plain=nn.BatchNorm2d(8, affine=False),
            linear=nn.Linear(300, 200),
            own=OwnLinear(100, 300, bias=False),
            norm=nn.LayerNorm(4),
            norm1d=nn.BatchNorm1d(3),
            table=nn.Embedding(5, 3),
        )
    )
    with torch.no_grad():
        for name, tensor in zoo.state_dict().items():
            if name.startswith(("norm", "table", "inner.deep.1", "plain")) or "bias" in name:
                tensor.fill_(7)
    zoo.linear.weight.requires_grad_(False)
    return zoo.eval()


@runs_with_the_answer
def try_init() -> dict:
    """The values afterwards, and what else may have changed."""
    torch.manual_seed(0)
    zoo = make_zoo().to(device)
    objects = {name: id(p) for name, p in zoo.named_parameters()}
    try:
        init_by_type(zoo)
    except Exception as error:
        told = f"init_by_type raised {type(error).__name__}: {error}"
        raise AssertionError(f"{told} (a layer may have no bias, a batch norm no weight)") from None
    frozen = [name for name, p in zoo.named_parameters() if not p.requires_grad]
    same = objects == {name: id(p) for name, p in zoo.named_parameters()}
    state = {name: tensor.detach().clone() for name, tensor in zoo.state_dict().items()}
    return {"state": state, "same": same, "frozen": frozen, "mode": zoo.conv.training}


@runs_with_the_answer
def try_init_alone() -> tuple:
    """A linear layer that is the whole model."""
    torch.manual_seed(0)
    layer = nn.Linear(300, 200).to(device)
    init_by_type(layer)
    return layer.weight.detach().clone(), layer.bias.detach().clone()


def check_spread(weight, name, uniform, fan_in, fan_out):
    mean, std = weight.mean().item(), weight.std().item()
    right = (2 / (fan_in + fan_out)) ** 0.5 if uniform else (2 / fan_in) ** 0.5
    near = lambda other: abs(std / other - 1) < 0.06
    assert abs(mean) < 0.1 * std, f"{name}: the mean is {mean:.3f}, and the spread {std:.3f}: not 0"
    default = "as PyTorch starts it: is there an answer yet, and does it reach this layer?"
    slips = {default: (3 * fan_in) ** -0.5}
    if uniform:
        slips["for fan_in alone: inputs and outputs both count"] = (2 / fan_in) ** 0.5
        slips["of a bound √(3 / (n_in + n_out)): the bound is √3 times the std"] = right / 2**0.5
    else:
        slips["for fan_out: how many products does one output sum up?"] = (2 / fan_out) ** 0.5
        slips["for variance 1 / fan_in: the 2 makes up for the ReLU"] = fan_in**-0.5
        slips["for fan_in without the groups"] = (2 / (4 * fan_in)) ** 0.5
    for words, slip in slips.items():
        assert near(right) or not near(slip), f"{name}: the std {std:.4f} is that {words}"
    assert near(right), f"{name}: the std is {std:.4f}, expected about {right:.4f}"
    inside = (weight.abs() < std).float().mean().item()
    kind, share = ("uniform", 0.577) if uniform else ("normal", 0.683)
    words = f"{name}: {inside:.2f} of the weights lie within one std, {share} if they are {kind}"
    assert abs(inside - share) < 0.04, words


def check_squares(sizes, stds, right):
    found = predict_squares(list(sizes), list(stds))
    call = f"predict_squares({sizes}, {stds})"
    assert found is not None, f"{call} is None: is there an answer yet?"
    found = [float(square) for square in found]
    check_equal(len(found), len(stds), f"{call}: how many numbers")
    found, right = (torch.tensor(given, dtype=torch.float64) for given in (found, right))
    without = (
        torch.tensor([n * s**2 for n, s in zip(sizes, stds, strict=False)]).double().cumprod(0)
    )
    halved = torch.allclose(found, right / 2, rtol=1e-4)
    words = f"{call} = {[float(f'{square:.4g}') for square in found.tolist()]}"
    relu = torch.tensor([1.0, *[0.5] * (len(stds) - 1)], dtype=torch.float64)
    ahead = torch.tensor([n * s**2 for n, s in zip(sizes[1:], stds, strict=True)]).double() * relu
    swapped = torch.allclose(found, ahead.cumprod(0), rtol=1e-4)
    assert not swapped or torch.allclose(found, right, rtol=1e-4), (
        f"{words}: n is how many products one output sums up, sizes[i], not sizes[i + 1]"
    )
    plain = torch.tensor([n * s for n, s in zip(sizes, stds, strict=False)]).double() * relu
    assert not torch.allclose(found, plain.cumprod(0), rtol=1e-4), (
        f"{words}: stds are standard deviations; the variance is their square"
    )
    assert not halved, (
        f"{words}: the ReLU stands between two layers; the output is what is before it"
    )
    forgot = torch.allclose(found, without, rtol=1e-4) and not torch.allclose(right, without)
    assert not forgot, f"{words}: a ReLU halves the mean square on its way to the next layer"
    assert torch.allclose(found, right, rtol=1e-4), f"{words}, expected {right.tolist()}"


def check_draws(case, ones, ramp):
    """Each element has a draw of its own, from the global generator."""
    for p in (0.75, 0.9, 0.0, 1.0):
        with case(f"a 50 × 400 tensor of ones, p = {p}"):
            check_training(ones, p)
    with case("the same seed twice, then another"):
        masks = [check_training(ramp, 0.5, seed) for seed in (1, 1, 2)]
        assert torch.equal(masks[0], masks[1]), "torch.manual_seed does not make the draws repeat"
        assert not torch.equal(masks[0], masks[2]), "another seed drops the same elements"
    with case("how many of 200 are dropped, eight times"):
        counts = {int(check_training(ones[0, :200], 0.5, seed).sum()) for seed in range(8)}
        assert len(counts) > 1, "always exactly as many: each element has a draw of its own"


def check_range(case, ones):
    """A probability lies between 0 and 1."""
    for p, training in ((-0.1, True), (1.5, True), (1.5, False), (-0.1, False)):
        with case(f"p = {p}" if training else f"p = {p}, training=False"):
            try:
                dropout_that_listens(ones, p, training)
            except ValueError:
                continue
            raise AssertionError("no ValueError")


def check_shares(case, p, ones):
    """The module, in three modes."""
    with case(f"ListeningDropout({p}) in a model: train, eval, train"):
        shares = try_module(p, ones)
        right = [abs(shares[0] - p) < 0.03, shares[1] == 0, abs(shares[2] - p) < 0.03]
        told = f"shares of zeros {[round(share, 2) for share in shares]}"
        assert all(right), f"{told}, expected about {p}, 0, {p}"


def check_zoo(case, found):
    """Every layer of the zoo."""
    state, layers = found["state"], dict(make_zoo().named_modules())
    for name, layer in layers.items():
        if not isinstance(layer, (nn.Conv2d, nn.Linear)):
            continue
        fan_out, fan_in = layer.weight.shape[0], layer.weight[0].numel()
        fan_out *= layer.weight[0, 0].numel() if layer.weight.dim() == 4 else 1
        with case(f"{name}, {layer}"):
            check_spread(
                state[f"{name}.weight"], "weight", layer.weight.dim() == 2, fan_in, fan_out
            )
            if layer.bias is not None:
                assert state[f"{name}.bias"].eq(0).all(), "the bias is not 0"
    with case("a model that is itself a Linear(300, 200)"):
        weight, bias = try_init_alone()
        check_spread(weight, "weight", True, 300, 200)
        assert bias.eq(0).all(), "the bias is not 0"
    with case("inner.deep.1, BatchNorm2d"):
        assert state["inner.deep.1.weight"].eq(1).all(), "the weight is not 1"
        assert state["inner.deep.1.bias"].eq(0).all(), "the bias is not 0: 0 is the neutral start"
    sevens = [
        name for name in state if name.startswith(("norm", "table", "plain")) or "running" in name
    ]
    for name in sevens:
        with case(name):
            assert state[name].eq(7).all(), "it was changed, and should have stayed as it was"
    with case("all layers"):
        assert found["same"], "some Parameters are new objects: write into those that exist"
        words = "a frozen weight stays frozen, the others free"
        check_equal(found["frozen"], ["linear.weight"], "frozen afterwards", words)
        assert found["mode"] is False, "the model's mode was changed"


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
    check_draws(case, ones, ramp)
    with case("float16"):
        check_training(ramp.half(), 0.25)
    with case("training=False"):
        check_still(ramp, 0.5)
    with case("training=False, p = 1"):
        check_still(ramp, 1.0)
    check_range(case, ones)
    check_shares(case, 0.75, ones)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("float64, a transposed view"):
        check_training(ramp[0].double().t(), 0.3)
    with case("one dimension"):
        check_training(-ramp.flatten(), 0.6)
    with case("bfloat16, training=False"):
        check_still(ramp.bfloat16(), 0.5)
    with case("an empty tensor"):
        check_training(ones[:0], 0.5)
    check_shares(case, 0.2, ones)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `torch.rand_like(x)` is uniform between 0 and 1. With which probability is it below `p`?
# </details>
# <details><summary>Hint 2</summary>
#
# For `p = 1` the factor is infinite, and 0 times infinity is NaN. Treat it before you divide.
# </details>

# %% [markdown]
# ## 6. Memory between two calls
#
# A function forgets. A module can remember something of every batch: batch norm's running mean, an
# average of the loss, the centre of the features. The tool is a buffer that `forward` updates. It
# looks like two lines. Here is a recipe that was handed around; **predict** what the second
# step does:


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
# > on the graph, so the buffer does from now on, and the next step's buffer on this one's. The second
# > `backward()` wants to walk through the first step again, whose graph is gone.
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
# is ever freed. The graph is one of five ways in which such a recipe goes wrong:
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
# Write `moving_average_buffer(size, momentum=0.1)`. It returns a new module that is called with `x`
# of shape (batch, size) and holds a buffer `mean` of shape (size,), float32, zeros at first:
#
# - In training it first updates `mean` to `(1 - momentum) · mean + momentum · (mean of x over the
#   batch)`. In eval mode it doesn't. A batch without rows changes nothing.
# - Then it returns `x - mean`. In backward, `mean` is a constant.
# - `mean` is updated in place: it stays one tensor, with which `module.mean` began. It never needs a
#   gradient. It is saved, and moves with the module: after `module.double()` the module takes float64.
# - The module has no parameter.
#
# Example: with size 1 and momentum 0.1, after `x = [[10.], [20.]]` the mean is 1.5 and the result
# `[[8.5], [18.5]]`.


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
        check_average([torch.tensor([[10.0], [20.0]], device=device)], [True])
    with case("train, train, eval, train"):
        check_average([x, y, z, x], [True, True, False, True])
    with case("momentum 0.5"):
        check_average([x, y], [True, True], 0.5)
    with case("a batch without rows, then another"):
        check_average([x[:0], x], [True, True])
    with case("after double()"):
        check_average([x.double(), y.double()], [True, True])
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("momentum 1 and 0"):
        check_average([x, y], [True, True], 1.0)
        check_average([x, y], [True, True], 0.0)
    with case("eval at once"):
        check_average([y, x, z], [False, True, False], 0.3)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Go through the table above; each line is one word in your code.
# </details>
# <details><summary>Hint 2</summary>
#
# `self.mean = …` makes another tensor. `copy_`, `lerp_`, or `mul_` and `add_` write into this one.
# </details>

# %% [markdown]
# ## 7. Take it all away again
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
# A twin without modules takes a dict of tensors as its first argument. Old notes show one that looks
# right and can't run:
#
# > **Then and now.** *"These two are functionally identical"*, said of a CNN from layers and one
# > from raw tensors. Both flattened the image before the first convolution, the twin forgot the
# > pooling size, and its last weight lay the wrong way round.

# %% topics=["functional-cnn"] errata=["functional-cnn-twin"]
images, rows = torch.zeros(4, 1, 28, 28), torch.zeros(4, 256)
attempts = [lambda: nn.Conv2d(1, 8, 5)(images.view(4, -1)), lambda: F.max_pool2d(images)]
attempts.append(lambda: F.linear(rows, torch.rand(256, 10)))

# %% topics=["functional-cnn"] errata=["functional-cnn-twin"]
for attempt in attempts:
    try:
        attempt()
    except (RuntimeError, TypeError) as error:
        print(f"{type(error).__name__}: {str(error).splitlines()[0][:70]}")

# %% [markdown]
# An untested twin is no twin. PyTorch derives one from any module: `functional_call` runs `forward`
# with the tensors of a dict in the drawers, and puts the old ones back. The module itself is left as
# it was; it may even lie on the device `meta`, where tensors have shapes and no numbers.

# %% topics=["functional-cnn", "nn-vs-functional"]
from torch.func import functional_call, grad, stack_module_state, vmap

model = ConvNet()
doubled = {name: 2 * parameter for name, parameter in model.named_parameters()}
skeleton = ConvNet().to("meta")

# %% topics=["functional-cnn", "nn-vs-functional"]
images = torch.rand(4, 1, 28, 28, generator=torch.Generator().manual_seed(0))
y = functional_call(skeleton, dict(model.named_parameters()), (images,))
print("equal to the module:", torch.allclose(y, model(images), atol=1e-6))
print("changed by doubling:", not torch.allclose(functional_call(model, doubled, (images,)), y))

# %% [markdown]
# ### Many models, one call
#
# Why would you want that? Because functions can be transformed. Say you have eight models of one
# kind. A loop over a list works, and calls eight times as many operators. With the weights *outside*,
# they can be stacked: `stack_module_state` gives one dict whose tensors have a new first
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
# `grad` fits in the same way. So the cells below train all eight at once, each from its own start, on
# the same thirty noisy points. The points have a hole in the middle. Adam works element by element, so
# one optimizer on the stacked tensors is eight optimizers.

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
# guessing. And it cost one call per step.
#
# ### Exercise 8.7 — Twins ★★★ · 25 min · 4 points
#
# **First**, `functional_twin(parameters, x)`: the function of `ConvNet`, with a dict of tensors under
# the names of its `state_dict()`. Equal outputs and equal gradients by each tensor, in float64 as
# well. No module may be called inside, `functional_call` included: the point is to write it.
#
# **Then**, `ensemble(models, x)`: `models` is a list of `ConvNet`s, at least one. The result has shape
# (models, batch, 10) and holds what each gives for the same `x`. All run *together*: as many
# convolutions for five models as for two. A module may run here. The models stay as they are.
#
# Example: for two models, `ensemble([a, b], x)[1]` equals `b(x)`.


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
        check_twin(images, 0)
    with case("float64, other weights"):
        check_twin(images.double(), 1)
    with case("one image"):
        check_twin(images[:1], 4)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("one image"):
        check_twin(-images[:1], 2)
    with case("images as a transposed view"):
        check_twin(images.transpose(2, 3), 3)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "functional-twin-check-2", "grade": true, "points": 2}
images = torch.randn(3, 1, 28, 28, generator=torch.Generator().manual_seed(2)).to(device)
with every_case() as case:
    with case("two models"):
        two = check_ensemble([0, 1], images)
    with case("five models, two images"):
        five = check_ensemble([4, 0, 3, 2, 7], images[:2])
        words = f"{two} convolutions and products for two models, {five} for five: a loop over them"
        assert five <= two, words
    with case("one model, float64"):
        check_ensemble([5], images.double())
### BEGIN HIDDEN TESTS
with every_case() as case, case("three models, one image, float64"):
    check_ensemble([5, 6, 1], images[:1].double())
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
# A module knows its layers by type. So one loop can start all weights of a model the way each kind
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
# One fades, one explodes, one stays near 2. You can predict these numbers with a pencil. Take one
# unit: it sums n products. The weights have mean 0 and variance σ², so the terms' variances add up:
#
# $$q_{\text{out}} = n\,\sigma^2\,q_{\text{in}}$$
#
# where q is a mean square. Then the ReLU sets the negative half to zero, which halves q. For n = 1024
# and σ² = 1/1024: the first layer gives 1024 · 1/1024 · 1 = 1. The ReLU makes that 1/2, and the second
# layer gives 1/2, the third 1/4, the twentieth 1/2¹⁹ ≈ 2e-6. Forget the ReLU, and you predict 1
# for all of them; the measurement above says otherwise. With σ² = 2/n, layer and ReLU together
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

# %% topics=["weight-init"]
nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
print("kaiming:", round(layer.weight.std().item(), 3), "   √(2/400) =", round((2 / 400) ** 0.5, 3))
nn.init.xavier_uniform_(layer.weight)
print("xavier: ", round(layer.weight.std().item(), 3), "   √(2/800) =", round((2 / 800) ** 0.5, 3))

# %% [markdown]
# ### No start at all
#
# If a checkpoint is loaded anyway, the random start is wasted time. On the device `meta` a model has
# shapes and no numbers; `to_empty` gives it memory without filling it. `load_state_dict` with
# `assign=True` puts the loaded tensors themselves in the drawers. `skip_init` is the same for one layer.

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
# `assign=True` makes new Parameter objects. Do it before the optimizer is made.
#
# ### Exercise 8.8 — Start every layer by its type ★★ · 15 min · 4 points
#
# **First**, `init_by_type(model)`: give new values to the layers of `model` at any depth, `model` itself
# included; a subclass counts as its parent.
#
# - `nn.Conv2d`: weights normal, mean 0, variance 2 / fan_in. (fan_in is how many products one output
#   sums up.) Bias 0, where there is one.
# - `nn.Linear`: weights uniform between ±√(6 / (n_in + n_out)). Bias 0, where there is one.
# - `nn.BatchNorm2d`: weight 1, bias 0, where there are any. Its running statistics stay.
# - All else stays as it is: other layers, `requires_grad`, the mode, the Parameter objects.
#
# **Then**, `predict_squares(sizes, stds)`: the mean square of each linear layer's output, as a list of
# numbers. Layer i goes from `sizes[i]` to `sizes[i + 1]` numbers, its weights have mean 0 and standard
# deviation `stds[i]`, no bias; a ReLU stands between two layers. The input has mean square 1. Compute
# it, don't draw.
#
# Example: `predict_squares([100, 50, 10], [0.1, 0.2])` is `[1.0, 1.0]`: 100 · 0.01, then 50 · 0.04 / 2.


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
    check_zoo(case, try_init())

# %% nbgrader={"grade_id": "init-by-type-check-2", "grade": true, "points": 1}
with every_case() as case:
    with case("the example"):
        check_squares([100, 50, 10], [0.1, 0.2], [1.0, 1.0])
    with case("three layers"):
        check_squares([200, 100, 50, 25], [0.1, 0.1, 0.2], [2.0, 1.0, 1.0])
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("one layer"):
        check_squares([64, 8], [0.5], [16.0])
    with case("four layers"):
        check_squares([10, 20, 40, 80, 5], [0.3, 0.3, 0.3, 0.3], [0.9, 0.81, 1.458, 5.2488])
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
# between the code that saves and the code that loads. `load_state_dict` copies values in, by name, and raises an
# error if a name is missing or unexpected. That is how to copy between two models. People also do
# it without names:
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

# %% [markdown]
# Save `wrapped.module.state_dict()`, and the question never comes up. But often the file is there
# already. The usual advice is a flag:
#
# > **Then and now.** *"Load a checkpoint that fits in part with `strict=False`."* With prefixed names
# > **nothing** fits, so nothing is loaded, and you train on from random weights. **Predict** whether
# > the cell says a word.

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
# `removeprefix` is the right word. Try two others that look alike, on a name with the same letters in
# other places. **Predict:**

# %%
name = "module.model.module.weight"
print("removeprefix:", name.removeprefix("module."))
print("replace:     ", name.replace("module.", ""))
print("lstrip:      ", name.lstrip("module."))

# %% [markdown]
# `replace` also hits the middle; `lstrip` takes off any of these *letters* until another one comes.
#
# ### Safe loading
#
# A pickled file may run any code when it is opened. So `torch.load` takes only tensors and plain
# containers unless told otherwise: `weights_only=True` is the default. A whole module is refused; a
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
# Write `state_dict_surgery(model, checkpoint)`. `checkpoint` is a dict from names to tensors.
#
# - *Names.* From the front of a key, take off `module.` or `_orig_mod.`, one after the other, until the
#   rest is a name in `model.state_dict()` or no such prefix is left at its front. Elsewhere in a
#   name, and in words such as `module_list`, these letters stay.
# - *Load* what has the name and the shape of a tensor of the model, buffers included: copy the values in.
#   The model's tensors stay the same objects, with their dtype.
# - *Return* a dict with four collections of names, without their prefixes: `"loaded"`; `"mismatched"`, in both,
#   with different shapes; `"missing"`, in the model only; `"unexpected"`, in the checkpoint only.
# - If nothing can be loaded: `ValueError`.
# - `checkpoint` stays as it is, and so do the model's mode, each `requires_grad`, and what isn't loaded.
#
# Example: for `nn.Linear(2, 2)`, the checkpoint `{"module.weight": torch.ones(2, 2), "bias":
# torch.ones(3), "nose": torch.ones(1)}` gives `{"loaded": ["weight"], "mismatched": ["bias"],
# "missing": [], "unexpected": ["nose"]}`.


# %% nbgrader={"grade_id": "trials-9-11", "locked": true} jupyter={"source_hidden": true}
# How the exercises of sections 9 to 11 are tried. You need not read this; the checks below say what is wrong.
from collections import OrderedDict


class Tricky(nn.Module):
    """Names that contain the words of the prefixes."""

    def __init__(self) -> None:
        super().__init__()
        self.module = nn.Linear(2, 2)
        self.module_list = nn.ModuleList([nn.Linear(2, 1)])
        self.model = nn.Sequential(OrderedDict(module=nn.Linear(1, 3)))


def make_target(kind: str) -> nn.Module:
    """A fresh model, in eval mode, with one frozen parameter."""
    torch.manual_seed(0)
    makers = {"linear": lambda: nn.Linear(2, 2), "small": SmallNet, "tricky": Tricky}
    model = makers[kind]().to(device).eval()
    next(model.parameters()).requires_grad_(False)
    return model


@runs_with_the_answer
def try_surgery(kind: str, checkpoint: dict) -> dict:
    """The report, or the error; the state afterwards; and what may have changed besides."""
    model, given = make_target(kind), dict(checkpoint)
    tensors = lambda: [id(t) for t in (*model.parameters(), *model.buffers())]
    objects, copies = tensors(), {name: t.clone() for name, t in given.items()}
    found = {"error": "", "report": None}
    try:
        report = state_dict_surgery(model, checkpoint)
        found["report"] = report
        if isinstance(report, dict):
            found["report"] = {str(key): sorted(names) for key, names in report.items()}
    except ValueError as error:
        found["error"] = str(error) or "ValueError"
    except RuntimeError as error:
        told = f"a RuntimeError: {str(error).splitlines()[0]}"
        raise AssertionError(f"{told} (only what has the same shape may be loaded)") from None
    same = list(given) == list(checkpoint)
    found["kept"] = same and all(torch.equal(copies[n], checkpoint[n]) for n in given)
    found["objects"] = objects == tensors()
    found["free"] = [p.requires_grad for p in model.parameters()]
    found["training"] = any(module.training for module in model.modules())
    found["state"] = {name: t.detach().clone() for name, t in model.state_dict().items()}
    return found


def filled(model, change=lambda name: name, value=3):
    state = model.state_dict()
    return {change(name): torch.full_like(t, value) for name, t in state.items()}


def check_report(kind, checkpoint, loaded, mismatched=(), missing=(), unexpected=()):
    found, start = try_surgery(kind, checkpoint), make_target(kind).state_dict()
    report = found["report"]
    told = f"a ValueError ({found['error']}), though {next(iter(loaded))} fits"
    told += " once its prefixes are off; does more come off (lstrip, replace)?"
    assert not found["error"], told
    assert isinstance(report, dict), f"it returned {report!r}, not a dict: is there an answer yet?"
    right = {
        "loaded": loaded,
        "mismatched": mismatched,
        "missing": missing,
        "unexpected": unexpected,
    }
    wrong = []
    for key, names in right.items():
        if key not in report:
            wrong.append(f"{key!r} is not in the report")
        elif report[key] != sorted(names):
            extra = [name for name in report[key] if name not in names]
            lacks = [name for name in sorted(names) if name not in report[key]]
            told = [f"wrongly has {extra}"] if extra else []
            told += [f"lacks {lacks}"] if lacks else []
            told = told or [f"is {report[key]}: a name twice?"]
            wrong.append(f"{key!r} {' and '.join(told)}")
    strange = [name for name in report.get("unexpected", []) if name not in unexpected]
    for key in checkpoint:
        taken = [name for name in strange if key != name and key.endswith(name)]
        if key in start and taken:
            wrong.append(f"{key!r} is a name of the model, so its prefix stays")
            break
        if set(strange) & {key.lstrip("module."), key.replace("module.", "")} - {key, *taken}:
            wrong.append(f"{key!r} has lost more than its prefix (lstrip and replace do that)")
            break
    assert not wrong, "; ".join(wrong)
    for name, old in start.items():
        new = torch.full_like(old, 3) if name in loaded else old
        why = "" if name in loaded else " (nothing fits it, so it stays)"
        check_close(found["state"][name], new, f"{name} in the model afterwards{why}")


def check_besides(kind, checkpoint, fails=False):
    found, model = try_surgery(kind, checkpoint), make_target(kind)
    if fails:
        words = "nothing can be loaded, and no ValueError was raised"
        blank = ": is there an answer yet?" if found["report"] is None else ""
        assert found["error"], f"{words}: the report was {found['report']!r}{blank}"
        for name, old in model.state_dict().items():
            check_close(found["state"][name], old, f"{name}, where nothing fits")
    else:
        kind = type(found["report"]).__name__
        assert kind == "dict", f"it returned {kind}, not a dict: is there an answer yet?"
    assert found["kept"], "the checkpoint was changed: build a new dict"
    assert found["objects"], (
        "the model's tensors are new objects: copy the values into the old ones"
    )
    free = [p.requires_grad for p in model.parameters()]
    check_equal(found["free"], free, "requires_grad of the parameters", "each stays as it was")
    assert not found["training"], "the model was put into training mode"


class Talker(nn.Module):
    """A tied table, a batch norm without weights, and one parameter in half precision."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 4)
        self.plain = nn.BatchNorm1d(4, affine=False)
        self.norm = nn.BatchNorm1d(4)
        self.dropout = nn.Dropout()
        self.out = nn.Linear(4, 7)
        self.out.weight = self.table.weight
        self.scale = nn.Parameter(torch.ones(3, dtype=torch.float16))
        self.register_buffer("mask", torch.ones(5, dtype=torch.bool), persistent=False)
        self.register_buffer("again", self.mask, persistent=False)


def make_model(kind: str) -> nn.Module:
    """A model in training mode; one of its parameters is frozen already."""
    model = (SmallNet() if kind in ("small", "asleep") else Talker()).to(device)
    places = {"small": "head.bias", "asleep": "features.0.norm.weight"}
    model.get_parameter(places.get(kind, "scale")).requires_grad_(kind == "free")
    return model


def facts_of(model: nn.Module) -> tuple:
    """Which parameters are frozen, and which modules are in eval mode."""
    named = model.named_parameters(remove_duplicate=False)
    frozen = [name for name, parameter in named if not parameter.requires_grad]
    return frozen, [name for name, module in model.named_modules() if not module.training]


@runs_with_the_answer
def try_freeze(kind: str, patterns: list[str]) -> dict:
    """What is frozen and in eval mode afterwards, the counts, or the error."""
    model, counts, error = make_model(kind), None, ""
    before = {name: t.clone() for name, t in model.state_dict().items()}
    try:
        counts = freeze_and_count(model, patterns)
    except ValueError as caught:
        error = str(caught) or "ValueError"
    except (AttributeError, TypeError) as caught:
        hint = (
            " (with affine=False, a batch norm's weight is None)"
            if "NoneType" in str(caught)
            else ""
        )
        raise AssertionError(f"{type(caught).__name__}: {caught}{hint}") from None
    same = all(torch.equal(t, before[name]) for name, t in model.state_dict().items())
    frozen, still = facts_of(model)
    return {"frozen": frozen, "eval": still, "counts": counts, "error": error, "same": same}


def check_freeze(kind, patterns, frozen, still, trainable):
    found, model = try_freeze(kind, patterns), make_model(kind)
    assert not found["error"], f"a ValueError, though each pattern matches: {found['error']}"
    everything = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    right, wrong = [name for name in everything if name in frozen], []
    for what, got, names in (
        ("frozen", found["frozen"], right),
        ("in eval mode", found["eval"], still),
    ):
        extra = [name or "(the model itself)" for name in got if name not in names]
        lacks = [name for name in names if name not in got]
        wrong += [f"{what}, and should not be: {', '.join(extra)}"] if extra else []
        wrong += [f"not {what}: {', '.join(lacks)}"] if lacks else []
    tensors, counts = [*model.parameters(), *model.buffers()], found["counts"]
    total = sum(p.numel() for p in model.parameters())
    right = {"total": total, "trainable": trainable, "bytes": sum(t.nbytes for t in tensors)}
    if not isinstance(counts, dict):
        wrong.append(f"it returned {counts!r}, not a dict of counts: is there an answer yet?")
        counts = right
    slips = {
        ("total", total + 28): "the tied table is counted twice",
        ("bytes", sum(p.nbytes for p in model.parameters())): "the buffers are missing",
        ("bytes", sum(t.nbytes for t in model.state_dict().values())): (
            "a state dict lists shared ones twice, and leaves out what is not persistent"
        ),
        ("bytes", right["bytes"] + 117): "the shared ones are counted twice",
        ("bytes", 4 * total): "not every number has four bytes, and buffers have bytes, too",
        ("trainable", total): "the frozen ones are counted as well",
    }
    for key, value in right.items():
        got = counts.get(key, "missing")
        if got != value or isinstance(got, bool):
            why = slips.get((key, got), "")
            wrong.append(f"{key!r} is {got}, expected {value}" + (f" ({why})" if why else ""))
    assert found["same"], "; ".join(["values of the model were changed", *wrong])
    assert not wrong, "; ".join(wrong)


def check_refused(kind, patterns):
    found, (frozen, still) = try_freeze(kind, patterns), facts_of(make_model(kind))
    assert found["error"], "a pattern matches nothing, and no ValueError was raised"
    check_equal(found["frozen"], frozen, "frozen after the ValueError", "nothing is changed then")
    check_equal(found["eval"], still, "in eval mode after the ValueError")


class Wrapped(nn.Module):
    """A replacement that contains the old module."""

    def __init__(self, old: nn.Module) -> None:
        super().__init__()
        self.old = old


def make_old(kind: str) -> nn.Module:
    """Models with layers of a kind in many places."""
    if kind == "small":
        return SmallNet()
    if kind == "root":
        return nn.ReLU()
    shared, block = nn.ReLU(), nn.Sequential(nn.Linear(2, 2), nn.ReLU6(), nn.ReLU().eval())
    model = nn.Sequential(OrderedDict(a=shared, b=nn.ModuleList([block, nn.Tanh()]), c=shared))
    model.add_module("d", nn.ModuleDict({"x": nn.Sequential(nn.ReLU()), "y": block, "z": shared}))
    model.d.register_module("nothing", None)
    return model


KINDS = {
    "BatchNorm2d": nn.BatchNorm2d,
    "ReLU": nn.ReLU,
    "Block or Linear": (Block, nn.Linear),
    "Hardtanh": nn.Hardtanh,
}


@runs_with_the_answer
def try_replace(kind: str, wanted: str, container: bool = False) -> dict:
    """Paths and types afterwards, which places hold one module, and what else may have changed."""
    model, made = make_old(kind), []
    places = dict(model.named_modules(remove_duplicate=False))
    hooked = [m for m in model.modules() if not isinstance(m, KINDS[wanted])]
    for module in hooked:
        module.register_forward_hook(lambda module, args, output: None)

    def make(old):
        assert isinstance(old, KINDS[wanted]), f"make was called with a {type(old).__name__}"
        assert len(made) < 50, "make is called again and again: is a replacement searched?"
        made.append((id(old), nn.Sequential(old, nn.Tanh()) if container else Wrapped(old)))
        return made[-1][1]

    try:
        new = replace_by_type(model, KINDS[wanted], make)
        walked = isinstance(new, nn.Module) and list(new.named_modules(remove_duplicate=False))
    except RecursionError:
        words = "it never ends: is a replacement searched, perhaps on a second visit to its parent?"
        raise AssertionError(words) from None
    except AttributeError as error:
        hint = " (in _modules, a child may be None)" if "NoneType" in str(error) else ""
        raise AssertionError(f"AttributeError: {error}{hint}") from None
    got = type(new).__name__
    assert isinstance(new, nn.Module), f"it returned {got}, not a module: is there an answer yet?"
    after, numbers = dict(walked), {}
    kept = [m for m in after.values() if any(m is other for other in hooked)]
    return {
        "tree": [(name, type(module).__name__) for name, module in after.items()],
        "groups": [numbers.setdefault(id(module), len(numbers)) for module in after.values()],
        "modes": [module.training for module in after.values()],
        "calls": len(made),
        "twice": len({old for old, _ in made}) < len(made),
        "hooks": all(len(module._forward_hooks) == 1 for module in kept),
        "root": new is (made[0][1] if isinstance(places[""], KINDS[wanted]) and made else model),
        "olds": all(
            m is places[n] for n, m in after.items() if n in places and type(m) is type(places[n])
        ),
    }


def swap(module, kind, new, done):
    if id(module) in done:
        return done[id(module)]
    if isinstance(module, kind):
        done[id(module)] = new(module).train(module.training)
        return done[id(module)]
    done[id(module)] = module
    for name in [name for name, child in module._modules.items() if child is not None]:
        setattr(module, name, swap(module._modules[name], kind, new, done))
    return module


def check_swap(kind, wanted, container=False):
    found, done, old = try_replace(kind, wanted, container), {}, make_old(kind)
    right = sum(isinstance(module, KINDS[wanted]) for module in old.modules())
    new = (lambda old: nn.Sequential(old, nn.Tanh())) if container else Wrapped
    after = dict(swap(old, KINDS[wanted], new, done).named_modules(remove_duplicate=False))
    tree, numbers = [(name, type(module).__name__) for name, module in after.items()], {}
    groups = [numbers.setdefault(id(module), len(numbers)) for module in after.values()]
    modes, wrong = [module.training for module in after.values()], []
    missed = [pair for pair in tree if pair not in found["tree"]]
    extra = [pair for pair in found["tree"] if pair not in tree]
    if found["twice"]:
        wrong.append(f"make was called {found['calls']} times for {right} modules: once for each")
    if missed or extra:
        wrong.append(f"missing in the new tree: {missed[:4]}; not expected: {extra[:4]}")
    elif found["tree"] != tree:
        wrong.append("the names are in another order than before")
    elif found["groups"] != groups:
        wrong.append(
            "a module that stood in several places has several replacements, or the reverse"
        )
    elif found["modes"] != modes:
        at = [name for (name, _), a, b in zip(tree, found["modes"], modes, strict=True) if a != b]
        wrong.append(f"the mode is not the old one's at {at}")
    flags = {
        "root": "what is returned is neither the model nor the replacement of its root",
        "olds": "modules that are not of the kind are other objects now (copies?)",
        "hooks": "modules that are not of the kind have lost their hooks, or gained some",
    }
    wrong += [words for key, words in flags.items() if not found[key]]
    assert not wrong, "; ".join(wrong)


def check_prefixes(case, small, every):
    """Prefixes in front of all names, and a head that doesn't fit."""
    with case("all names fit"):
        check_report("small", filled(small), every)
    with case("module._orig_mod. in front"):
        check_report("small", filled(small, lambda name: f"module._orig_mod.{name}"), every)
    with case("_orig_mod.module.module. in front"):
        check_report("small", filled(small, lambda name: f"_orig_mod.module.module.{name}"), every)
    with case("a head for 7 classes, from another model"):
        other = filled(SmallNet(7).to(device), lambda name: f"module.{name}")
        head = ["head.weight", "head.bias"]
        check_report("small", other, [name for name in every if name not in head], head)


first = ["features.0.conv.weight", "features.0.norm.weight", "features.0.norm.bias"]
second = [name.replace("0", "2") for name in first]
norms = ["features.0.norm", "features.2.norm"]
tied = ["table.weight", "out.weight"]


def check_small(case):
    """Patterns on SmallNet."""
    with case('SmallNet, ["features.*"] (head.bias was frozen before)'):
        check_freeze("small", ["features.*"], [*first, *second, "head.bias"], norms, 160)
    with case('SmallNet, ["features.2.*", "head.weight"]'):
        check_freeze(
            "small",
            ["features.2.*", "head.weight"],
            [*second, "head.bias", "head.weight"],
            norms[1:],
            88,
        )
    with case("SmallNet, no pattern"):
        check_freeze("small", [], ["head.bias"], [], 1432)
    with case('SmallNet, ["*.bias"]: the batch norms\' weights stay free'):
        bias = ["features.0.norm.bias", "features.2.norm.bias", "head.bias"]
        check_freeze("small", ["*.bias"], bias, [], 1408)


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
small, tricky, every = SmallNet().to(device), Tricky().to(device), list(SmallNet().state_dict())
names = list(tricky.state_dict())
example = {"module.weight": torch.full((2, 2), 3.0), "bias": torch.ones(3), "nose": torch.ones(1)}
with every_case() as case:
    with case("the example, with threes"):
        check_report("linear", example, ["weight"], ["bias"], [], ["nose"])
    check_prefixes(case, small, every)
    with case("a child that is called module, no prefix"):
        check_report("tricky", filled(tricky), names)
    with case("a child that is called module, in DataParallel"):
        check_report("tricky", filled(tricky, lambda name: f"module.{name}"), names)
    with case("module in the middle of a name that is unknown"):
        extra = {**filled(tricky), "module.stem.module.weight": torch.ones(1, device=device)}
        check_report("tricky", extra, names, [], [], ["stem.module.weight"])
    with case("a word that begins like a prefix, unknown"):
        extra = {**filled(tricky), "module_x.weight": torch.ones(1, device=device)}
        check_report("tricky", extra, names, [], [], ["module_x.weight"])
    with case("a float64 checkpoint without the statistics"):
        half = {name: t.double() for name, t in filled(small).items() if "num_batches" not in name}
        missing = [name for name in every if name not in half]
        check_report("small", half, list(half), [], missing)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("only the second convolution"):
        one = {"_orig_mod.features.2.conv.weight": torch.full((16, 8, 3, 3), 3.0, device=device)}
        rest = [name for name in every if name != "features.2.conv.weight"]
        check_report("small", one, ["features.2.conv.weight"], [], rest)
    with case("another word that begins like a prefix"):
        extra = {**filled(tricky), "module._orig_model.weight": torch.ones(1, device=device)}
        check_report("tricky", extra, names, [], [], ["_orig_model.weight"])
    with case("a transposed shape"):
        other = {
            "bias": torch.full((2,), 3.0, device=device),
            "weight": torch.ones(2, 1, device=device),
        }
        check_report("linear", other, ["bias"], ["weight"])
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
### BEGIN HIDDEN TESTS
with every_case() as case, case("an empty checkpoint"):
    check_besides("small", {}, fails=True)
### END HIDDEN TESTS

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
# The frozen one gets none, yet the gradient passes *through* it to the first. Freezing is enough. If
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
# called `fc`. One thing goes wrong with either. Send thirty batches of brighter images through the
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
    "In train mode the frozen batch norm's running mean climbs and levels off; in eval mode it stays 0.",
)

# %% [markdown]
# `requires_grad` stops the optimizer. The running statistics are buffers, and `forward` moves them,
# whether or not anything is trained. Put frozen batch norms into eval mode, after every call of
# `train()`.
#
# ### Exercise 8.10 — Freeze by pattern, and count ★★ · 10 min · 4 points · core
#
# Write `freeze_and_count(model, patterns)`. `patterns` are strings as in a shell: `*` stands for any
# letters (dots, too), `?` for one. Python's `fnmatch.fnmatchcase(name, pattern)` compares.
#
# - Every parameter with a full name that matches any pattern is frozen. A shared parameter has several
#   names, and each counts. The others stay as they are.
# - Then each batch norm (`nn.BatchNorm1d`, `2d`, `3d`) whose `weight` is frozen, now or before, is put
#   into eval mode. The mode of everything else stays. (With `affine=False` the weight is `None`.)
# - A pattern that matches no parameter is a `ValueError`, and nothing has been changed.
# - Return a dict: `"total"`, the numbers in all parameters; `"trainable"`, those that are not frozen;
#   `"bytes"`, the memory of parameters *and* buffers. Whatever is shared counts once.
#
# Example: `freeze_and_count(SmallNet(), ["features.*"])` gives 1442 in total and 170 trainable.


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
    check_small(case)
    with case('a tied table, ["out.*"] (its first name is table.weight)'):
        check_freeze("tied", ["out.*"], [*tied, "out.bias", "scale"], [], 8)
    with case('SmallNet, ["head.*"]: the weight of a batch norm was frozen before'):
        frozen = ["features.0.norm.weight", "head.weight", "head.bias"]
        check_freeze("asleep", ["head.*"], frozen, norms[:1], 1264)
    with case('a tied table, ["table.*"]'):
        check_freeze("tied", ["table.*"], [*tied, "scale"], [], 15)
    with case('a tied table, ["norm.?eight"]'):
        check_freeze("free", ["norm.?eight"], ["norm.weight"], ["norm"], 42)
    with case('SmallNet, ["features.*", "nose.*"]'):
        check_refused("small", ["features.*", "nose.*"])
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case('["weight"], which is only the end of a name'):
        check_refused("small", ["weight"])
    with case('a tied table, ["*"]'):
        check_freeze(
            "free", ["*"], [*tied, "out.bias", "norm.weight", "norm.bias", "scale"], ["norm"], 0
        )
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
# To swap one, assign to its *parent*. Assignment is the door, here too:

# %% topics=["modules-vs-children"]
net = SmallNet()
parent, _, last = "features.2.norm".rpartition(".")
setattr(net.get_submodule(parent), last, nn.Identity())
print(net.features[2])

# %% [markdown]
# The case that everyone meets: batch norm. Its statistics come from one device's part of the batch.
# With many devices and few images each, they are noise. `nn.SyncBatchNorm` averages over all
# processes, and PyTorch converts a whole model:

# %% topics=["syncbn-convert"]
old = SmallNet()
weight = old.features[0].norm.weight
new = nn.SyncBatchNorm.convert_sync_batchnorm(old)
print(type(new.features[0].norm).__name__, "in the same model:", new is old)
print("the same Parameter:", new.features[0].norm.weight is weight)

# %% [markdown]
# The names are the same, so old checkpoints fit; the Parameters are the same objects, so an
# optimizer goes on training them. That is a good standard for any such tool. Another is the
# *frozen* norm of fine-tuning and detection, which `train()` can't wake:


# %% topics=["syncbn-convert"]
class FrozenNorm(nn.Module):
    """A batch norm that always uses its running statistics. It shares the old one's tensors."""

    def __init__(self, old):
        super().__init__()
        self.weight, self.bias, self.eps = old.weight, old.bias, old.eps
        self.register_buffer("running_mean", old.running_mean)
        self.register_buffer("running_var", old.running_var)

    def forward(self, x):
        return F.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        )


# %% topics=["syncbn-convert"]
norm = nn.BatchNorm2d(3)
x = torch.randn(4, 3, 5, 5, generator=torch.Generator().manual_seed(0))
print("train mode, as if in eval:", torch.equal(FrozenNorm(norm).train()(x), norm.eval()(x)))

# %% [markdown]
# Now a walk that swaps every layer of a kind. One attempt is in many notes: loop over
# `named_modules()` and call `add_module(name, …)`. **Predict** what stops it:

# %% errata=["add-module-dotted-name"]
found = {n: m for n, m in SmallNet().named_modules() if isinstance(m, nn.Conv2d)}
try:
    for name, module in found.items():
        nn.Sequential().add_module(name, module)
except KeyError as error:
    print("KeyError:", error)

# %% [markdown]
# A dotted name is a *path*, not a name. So the walk goes from parent to child. Two traps lie on it.
# `named_children()` leaves out a module that it has listed already, so of two names for one module it
# shows the first alone. **Predict** what the loop leaves of the two ReLUs:

# %% topics=["modules-vs-children"]
relu = nn.ReLU()
pair = nn.Sequential(OrderedDict(first=relu, second=relu))
for name, _ in pair.named_children():
    setattr(pair, name, nn.Tanh())
print(pair)

# %% [markdown]
# The second name kept the ReLU. And it should not get a Tanh of its own, either: what was one module
# before should be one afterwards. The other trap: a replacement that *contains* the old layer, such as
# `nn.Sequential(old, nn.Dropout())`. A walk that goes into what it has just put there never ends.
#
# ### Exercise 8.11 — Replace by type ★★ · 18 min · 4 points
#
# Write `replace_by_type(model, kind, make)`: put `make(old)` in the place of every module in `model`
# that is an instance of `kind` (a class or a tuple of classes; subclasses count), at any depth.
#
# - `make` is called once for each such module; where a module stood in several places, its one
#   replacement stands in all of them.
# - What is replaced isn't searched any further, and neither is its replacement.
# - The replacement gets the mode of the old one: `new.train(old.training)`.
# - All other modules stay the same objects, with their hooks; names keep their order. A child may be
#   `None`.
# - Return the model; if `model` itself is of that kind, return its replacement.
#
# Example: `replace_by_type(SmallNet(), nn.BatchNorm2d, FrozenNorm)` freezes two norms.


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
with every_case() as case:
    with case("SmallNet, BatchNorm2d"):
        check_swap("small", "BatchNorm2d")
    with case("a model that is itself a ReLU"):
        check_swap("root", "ReLU")
    with case("ReLUs in lists and dicts, one of them in three places, one in eval mode"):
        check_swap("nested", "ReLU")
    with case("the same, replaced by containers of the old one"):
        check_swap("nested", "ReLU", container=True)
    with case("SmallNet, (Block, Linear)"):
        check_swap("small", "Block or Linear")
    with case("Hardtanh, whose subclass ReLU6 is in the model"):
        check_swap("nested", "Hardtanh")
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("a kind that is not there"):
        check_swap("small", "Hardtanh")
    with case("SmallNet, by containers"):
        check_swap("small", "BatchNorm2d", container=True)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A function that calls itself: it takes a module and returns what is to stand in its place. For a
# module of the kind that is the replacement; for any other, the module, after its children were visited.
# </details>
# <details><summary>Hint 2</summary>
#
# `module._modules.items()` lists every name, also a second one for the same child, and `None`. A dict
# from old to new makes sure that each module is treated once.
# </details>

# %% [markdown]
# ## 12. All of it at work · core
#
# Does your `MiniModule` hold a real network? Below, a convolutional net learns to read handwritten
# digits, 8 × 8 pixels each. `nn.Module` is not used: your class holds parameters and a buffer, your
# dropout obeys your `eval()`, and your state dict goes through a file. Where an exercise is still
# open, PyTorch's own steps in.


# %% tags=["nbval-ignore-output"] jupyter={"source_hidden": true}
def choose_parts():
    """The learner's MiniModule and dropout where they work, else PyTorch's."""
    base, parameter, dropout = nn.Module, nn.Parameter, F.dropout
    try:
        Mini = mini_module()
        probe, inner = Mini(), Mini()
        probe.inner, inner.w = inner, MiniParameter(torch.ones(1))
        inner.register_buffer("b", torch.zeros(1))
        names = [name for name, _ in probe.named_parameters()]
        works = names == ["inner.w"] and set(probe.state_dict()) == {"inner.w", "inner.b"}
        works = works and probe.eval() is probe and not inner.training
        probe.load_state_dict({"inner.w": torch.zeros(1), "inner.b": torch.ones(1)})
        if works and inner.w.item() == 0 and inner.b.item() == 1 and inner.w.requires_grad:
            base, parameter = Mini, MiniParameter
    except Exception:
        pass
    try:
        ones = torch.ones(200, requires_grad=True)
        y = dropout_that_listens(ones, 0.5, True)
        works = y.shape == ones.shape and y.requires_grad and 100 < y.sum() < 300
        if works and torch.equal(dropout_that_listens(ones, 0.5, False), ones):
            dropout = dropout_that_listens
    except Exception:
        pass
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

# %% topics=["simple-convnet"]
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
# The hard ones are hard for people as well. So what does a module know that a function does not? The
# names of its tensors, which of them to train, save and move, and its mode. You saw it fit into a
# hundred lines. All the rest is functions.

# %% [markdown]
# ## Heard elsewhere
#
# More sentences from old notes, each with a cell that answers.
#
# *"Use `nn.Xxx` everywhere; the functional form may be dropped in the next release."* Modules call
# these functions, and newer ones keep coming in.

# %% topics=["nn-vs-functional"] errata=["functional-going-away"]
x = torch.tensor([-1.0, 2.0])
print("equal:", torch.equal(F.relu(x), nn.ReLU()(x)))
print("newer:", callable(F.scaled_dot_product_attention), callable(F.rms_norm))

# %% [markdown]
# *"`class MyNetwork: … super(network, self).__init__()`."* The name has to be that of the class. Without
# arguments it can't be wrong.


# %% errata=["super-wrong-class"]
class MyNetwork(nn.Module):
    def __init__(self):
        super(network, self).__init__()  # noqa: F821


# %% errata=["super-wrong-class"]
try:
    MyNetwork()
except NameError as error:
    print("NameError:", error)

# %% [markdown]
# *"`def forward(self, x): self.x = self.layer(x); return x`."* It returns its input. The layer's result is
# thrown away, and no gradient reaches it.


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
# *"Start batch norm with weight 1 and bias 1, and set `module.bias` of every module."* The neutral start
# is weight 1, bias 0, and many modules have no bias.

# %% topics=["weight-init"] errata=["bn-bias-one"] tags=["shows-false"]
norm = nn.BatchNorm2d(2)
print("weight:", norm.weight.tolist(), " bias:", norm.bias.tolist())
print("a ReLU has a bias:", hasattr(nn.ReLU(), "bias"))
print("of Conv2d(1, 1, 1, bias=False):", nn.Conv2d(1, 1, 1, bias=False).bias)

# %% [markdown]
# *"`nn.init.uniform(weight)`."* The names end in an underscore, because they work in place. The old ones warn.

# %% topics=["weight-init"] errata=["init-without-underscore"] tags=["shows-deprecated"]
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    nn.init.uniform(torch.empty(2))
print(caught[0].category.__name__, caught[0].message)

# %% [markdown]
# *"`for p in net.parameters(): total += p.numel()` counts."* Not if `total` was never set. The one-liner
# `sum(p.numel() for p in net.parameters())` can't forget it, nor the `return`.


# %% topics=["count-parameters"] errata=["count-parameters-unbound"]
def count(net):
    for p in net.parameters():
        total += p.numel()  # noqa: F821, F841


# %% topics=["count-parameters"] errata=["count-parameters-unbound"]
try:
    count(nn.Linear(2, 2))
except UnboundLocalError as error:
    print("UnboundLocalError:", error)

# %% [markdown]
# *"Two models in a list lie at one address and take no extra memory."* The list holds references; each model
# has weights of its own.

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
# *"Convert by hand: `setattr(model, name) = convert(child)`, then `new.weight = old.weight.data`."* The
# first is no Python. The second puts a plain tensor on a parameter's name. Use `convert_sync_batchnorm`.

# %% topics=["syncbn-convert"] errata=["hand-written-bn-conversion"]
try:
    compile("setattr(model, name) = convert(child)", "recipe", "exec")
except SyntaxError as error:
    print("SyntaxError:", error.msg.split(".")[0])

# %% topics=["syncbn-convert"] errata=["hand-written-bn-conversion"]
try:
    nn.SyncBatchNorm(2).weight = torch.ones(2)
except TypeError as error:
    print("TypeError:", str(error).split(" (")[0])

# %% [markdown]
# And slips of the pen, which were copied for years: `nn.Moudle`, a bracket that isn't closed, `stride()(1, 2)`,
# and `net = net()`, after which the class is gone.

# %% errata=["typos-001-002"] tags=["shows-false"]
print("nn.Moudle:", hasattr(nn, "Moudle"), " torch.FlaotTensor:", hasattr(torch, "FlaotTensor"))
Net = SmallNet
Net = Net()  # from now on, Net is a model and no class

# %% errata=["typos-001-002"]
for attempt in (lambda: compile("m = Sequential(*list(c)[:2]", "note", "exec"), lambda: Net()):
    try:
        attempt()
    except (SyntaxError, TypeError) as error:
        print(type(error).__name__ + ":", str(error).split(" (")[0])

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
# **Read more.** The PyTorch documentation has the notes *Modules* and *Serialization semantics*, and the
# pages on `torch.func`, `torch.nn.init` and `torch.nn.utils.skip_init`; the tutorials *Model ensembling*
# and *Skipping module parameter initialization*. The papers: *Dropout: A Simple Way to Prevent Neural
# Networks from Overfitting*, *Delving Deep into Rectifiers* (He initialisation), *Understanding the
# difficulty of training deep feedforward neural networks* (Xavier), *Self-Normalizing Neural Networks*
# (alpha dropout).
