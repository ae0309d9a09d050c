# ---
# jupyter:
#   course:
#     title: Hooks
#     minutes: 240
#     core: 120
# ---

# %% [markdown]
# # Hooks: what happens inside a model while it runs?
#
# A model takes a batch and gives back an answer. `backward()` fills its parameters with gradients.
# What lies between is closed: you see neither what the third layer returned nor the gradient that
# reached it. You could write `print` into every `forward`, but the model may not be yours.
#
# PyTorch left openings for this. A **hook** is a function of yours that PyTorch calls at such an
# opening, while the model itself stays as it is.
#
# **After this chapter you can**
#
# - watch any activation and any gradient of a model that you did not write, and find the layer
#   where a gradient gets lost;
# - change what flows: reverse a gradient, freeze rows of a table, take the optimizer's step during
#   `backward()`;
# - draw on an image where a network looked (Grad-CAM);
# - shrink what a model keeps for its backward pass, reparametrise a weight, load an old checkpoint;
# - transplant an activation from one run into another, and so prove which layer decides;
# - leave a model as you found it.
#
# **It leans on** chapters 05 (the graph, leaves, `.grad`, saved tensors) and 06
# (`autograd.Function`). Layers and optimizers appear as they are used; chapters 08 to 11 explain
# them. Until then: a *module* is an object with parameters that is called like a function, and may
# hold other modules under names. **Time:** four hours with all twelve exercises. The sections and
# exercises marked *core* take two hours; nothing later leans on the rest. You can skip any
# exercise.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_predictions, device, every_case
from course_utils import runs_with_the_answer, show

# %% [markdown]
# ## A patient · core
#
# Here is a network that does not learn. It has six layers and a head. One layer, chosen at random,
# was spoilt. Its task: do a point's two coordinates have the same sign?


# %% nbgrader={"grade_id": "patient", "locked": true}
def make_patient(ill: bool = True, seed: int = 0) -> nn.Sequential:
    """layer1, tanh1, …, layer6, tanh6, head; in an ill one, a layer is spoilt."""
    torch.manual_seed(seed)
    network = nn.Sequential()
    for n in range(1, 7):
        network.add_module(f"layer{n}", nn.Linear(2 if n == 1 else 8, 8))
        network.add_module(f"tanh{n}", nn.Tanh())
        nn.init.xavier_normal_(network[-2].weight, gain=5 / 3)
    network.add_module("head", nn.Linear(8, 1))
    spoilt = network[2 * int(torch.randint(1, 6, ()))]
    if ill:
        nn.init.constant_(spoilt.bias, 8.0)
    return network.to(device)


# %% nbgrader={"grade_id": "training", "locked": true}
def points() -> tuple[torch.Tensor, torch.Tensor]:
    """200 points (200, 2), which need a gradient, and 1 where both coordinates have one sign."""
    x = torch.randn(200, 2, generator=torch.Generator().manual_seed(0)).to(device)
    return x.requires_grad_(), (x[:, :1] * x[:, 1:] > 0).float()


def train(network: nn.Module, steps: int) -> list[float]:
    """Plain gradient descent on these points; the loss before each step."""
    (x, y), losses = points(), []
    optimizer = torch.optim.SGD(network.parameters(), lr=0.2)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(network(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %%
import warnings

import matplotlib.pyplot as plt

healthy_losses, ill_losses = train(make_patient(ill=False), 150), train(make_patient(), 150)
figure, axes = plt.subplots(figsize=(6, 2.6))
axes.plot(healthy_losses, label="healthy")
axes.plot(ill_losses, label="the patient")
axes.set(xlabel="step", ylabel="loss", ylim=(0, 0.8), title="The same network twice")
axes.legend(loc="center right")
show(figure, "Two loss curves: the healthy network's falls, the patient's stays near 0.69.")

# %% [markdown]
# The patient's loss stays at 0.69, which is log 2: it might as well toss a coin. No error, no NaN.
# Which layer is it, and what happens inside?
#
# ## 1. Forward hooks: what does a module return? · core
#
# The simplest opening comes right after a module's `forward`. You register a function; from then on
# it is called with the module, the tuple of its inputs and its output.


# %% topics=["hook-concept", "module-hooks"]
def tell(module, args, output):
    print(type(module).__name__, tuple(args[0].shape), "->", tuple(output.shape))


layer = nn.Linear(2, 3)
handle = layer.register_forward_hook(tell)
y = layer(torch.ones(4, 2))

# %% [markdown]
# Neither the layer nor its caller was changed. A hook is plugged in from outside and can be pulled
# out again. **Predict:** which of these four calls prints a line?

# %% topics=["hook-concept", "module-hooks"]
y = layer(torch.ones(1, 2))
y = layer.forward(torch.ones(2, 2))
handle.remove()
y = layer(torch.ones(3, 2))
with layer.register_forward_hook(tell):
    y = layer(torch.ones(4, 2))

# %% [markdown]
# The first and the fourth. `layer(x)` runs `Module.__call__`, which calls `forward` and the hooks
# around it. A direct call of `forward` bypasses the hooks. `remove()` of the *handle* that
# `register_forward_hook` returned pulls the hook out. Keep the handle: PyTorch offers no other
# public way. A handle is also a context manager: the hook is gone when the block ends, even by an
# error.
#
# ### Exercise 7.1 — Does it run? ★ · 3 min · 1 point · core
#
# A layer has one forward hook, `handle` is its handle, and `x` fits. How often does the hook run
# during each of these lines? They run one after the other.

# %% nbgrader={"grade_id": "hook-calls", "solution": true}
hook_calls = {
    "layer(x)": None,
    "layer.forward(x)": None,
    "nn.Sequential(layer, nn.Tanh(), layer)(x)": None,
    "F.linear(x, layer.weight, layer.bias)": None,
    "handle.remove(); layer(x)": None,
}
### BEGIN SOLUTION
hook_calls = dict(zip(hook_calls, (1, 0, 2, 0, 0), strict=True))
### END SOLUTION

# %% nbgrader={"grade_id": "hook-calls-check", "grade": true, "points": 1}
layer, x, ran = nn.Linear(2, 2).to(device), torch.ones(1, 2, device=device), []
handle = layer.register_forward_hook(lambda *_: ran.append(1))
calls = {
    "layer(x)": lambda: layer(x),
    "layer.forward(x)": lambda: layer.forward(x),
    "nn.Sequential(layer, nn.Tanh(), layer)(x)": lambda: nn.Sequential(layer, nn.Tanh(), layer)(x),
    "F.linear(x, layer.weight, layer.bias)": lambda: F.linear(x, layer.weight, layer.bias),
    "handle.remove(); layer(x)": lambda: (handle.remove(), layer(x)),
}
because = {
    "layer(x)": "a call of the module runs its hooks, once",
    "layer.forward(x)": "the hooks are called by Module.__call__, and this bypasses it",
    "nn.Sequential(layer, nn.Tanh(), layer)(x)": "it runs at each call of the layer, whoever calls",
    "F.linear(x, layer.weight, layer.bias)": "the hook is attached to the module, not to its "
    "weight",
    "handle.remove(); layer(x)": "the hook is gone",
}
counts = {name: -len(ran) + (call(), len(ran))[1] for name, call in calls.items()}
check_predictions(hook_calls, counts, because)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Which of these lines calls the module itself, and how often?
# </details>

# %% [markdown]
# ### Looking and touching
#
# A hook that returns nothing only looks. What it returns takes the place of the output. A **forward
# pre-hook** stands before `forward` and may replace its inputs. Several hooks at one opening run in the
# order of their registration, each on what the one before it returned.

# %% topics=["module-hooks"]
layer = nn.Linear(2, 1, bias=False)
nn.init.ones_(layer.weight)
print("as it is:  ", layer(torch.tensor([1.0, 2.0])).item())
layer.register_forward_pre_hook(lambda module, args: (10 * args[0],))
layer.register_forward_hook(lambda module, args, output: output + 0.5)
print("with hooks:", layer(torch.tensor([1.0, 2.0])).item())

# %% [markdown]
# Two things surprise in models that others wrote. Keyword arguments are not in `args`; ask for them
# by `with_kwargs=True`. And an output need not be a tensor, as with an LSTM.


# %% topics=["module-hooks"]
def tell_all(module, args, kwargs, output):
    sequence, (h, c) = output
    print(f"{len(args)} positional, by name {[*kwargs]}", sequence.shape, h.shape, c.shape)


lstm = nn.LSTM(2, 3, batch_first=True)
lstm.register_forward_hook(tell_all, with_kwargs=True)
_ = lstm(input=torch.ones(1, 4, 2))

# %% [markdown]
# A hook that does `args[0]` or `output.detach()` fails here.
#
# ### A first look into the patient
#
# `named_modules()` lists all modules of a model with their names, at any depth; the model itself is
# `""`. `get_submodule(name)` finds one. `named_children()` lists those directly inside. Let's
# attach to each of them a hook that notes the name. **Predict** what this prints:

# %%
patient, seen = make_patient(), []
for name, module in patient.named_children():
    module.register_forward_hook(lambda *_: seen.append(name))
_ = patient(torch.ones(1, 2, device=device))
print(seen)

# %% [markdown]
# The last name, thirteen times. The `lambda` looks `name` up when the hook *runs*, and by then the
# loop is over. Hooks written in a loop often have this bug; linters call it B023. Bind the value:
# by `functools.partial`, or by a function that makes the hook, as here. It tells the mean size of
# what each tanh returns.


# %%
def tell_size(name):
    return lambda module, args, output: print(name, round(output.abs().mean().item(), 2))


patient = make_patient()
for name in [f"tanh{n}" for n in range(1, 7)]:
    patient.get_submodule(name).register_forward_hook(tell_size(name))
_ = train(patient, 1)

# %% [markdown]
# Every layer returns numbers of ordinary size. One may catch your eye: its numbers are all near 1. Is
# that the illness, or just what this layer has to say? Activations alone don't tell. Section 2 looks
# from the other side; first, more about activations.
#
# ### Features without cutting the model open
#
# What a pretrained model computes on the way is often worth having. An old habit is to cut the
# model up: take its children, leave some out, and put them into an `nn.Sequential`.
#
# > **Often said.** *"`vgg16().features` ends with relu5_3"* and *"ResNet without its last child
# > gives the pooled feature vector."* The first ends with a pooling layer. The second gives a
# > vector with two dimensions too many, because `flatten` isn't a child: it is a line in `forward`,
# > and `forward` was thrown away. (Tensors on the `meta` device take no memory.)

# %% topics=["feature-extraction-single", "extract-layers"] errata=["gap-feature-shape", "vgg-relu5-3"]
import torchvision

with torch.device("meta"):
    vgg, resnet = torchvision.models.vgg16(), torchvision.models.resnet18().eval()
    images = torch.empty(2, 3, 64, 64)
print("vgg16().features ends with", type(vgg.features[-1]).__name__)
print("without the last child:", tuple(nn.Sequential(*list(resnet.children())[:-1])(images).shape))
try:
    nn.Sequential(*resnet.children())(images)
except RuntimeError as error:
    print("all children in a row:", error)

# %% [markdown]
# A hook needs no cutting: `forward` runs as it was written, and you listen where you like, deep
# inside too, as in exercise 7.2. Or let `create_feature_extractor` trace `forward` into a graph. It
# can stop at lines that aren't modules, such as `flatten`, and leaves out what comes after. But it
# needs a model without an `if` on the values of a tensor.

# %% topics=["feature-hooks", "feature-extraction-single", "feature-extraction-multi"] errata=["gap-feature-shape"]
from torchvision.models.feature_extraction import create_feature_extractor

extractor = create_feature_extractor(resnet, {"layer3": "map", "flatten": "vector"})
print({name: tuple(feature.shape) for name, feature in extractor(images).items()})

# %% [markdown]
# **In practice** four things go wrong when activations are kept. They hold the graph, and with it
# every activation of the batch. The hooks stay. A small view keeps its whole storage alive (chapter
# 02). The fourth is subtle. **Predict** what was kept of the first layer:

# %% topics=["feature-hooks"]
network = nn.Sequential(nn.Linear(1, 3), nn.ReLU(inplace=True))
nn.init.constant_(network[0].weight, -1)
kept = []
network[0].register_forward_hook(lambda module, args, output: kept.append(output.detach()))
_ = network(torch.tensor([[5.0]]))
kept[0]

# %% [markdown]
# The layer returned numbers near -5. Then the ReLU after it wrote its zeros into the same memory,
# which `detach()` shares.
#
# Does a tool clean up after itself? PyTorch has no public list of hooks. The course's `hooks_on(model)`
# counts a module's eight kinds and the two on parameters, by private attributes. It misses hooks on
# intermediate tensors and those registered for the whole process. **Predict:** a layer has a hook as a
# module, and its weight has two as a tensor. What does a deep copy have?

# %% nbgrader={"grade_id": "hooks-on", "locked": true}
import copy

from course_utils.chapters.hooks import hooks_on


# %% topics=["module-hooks"]
layer = nn.Linear(2, 2)
layer.register_forward_hook(tell)
layer.weight.register_hook(lambda grad: 2 * grad)
layer.weight.register_post_accumulate_grad_hook(print)
print("the layer:  ", hooks_on(layer))
print("a deep copy:", hooks_on(copy.deepcopy(layer)))

# %% [markdown]
# A deep copy keeps the hooks of modules and loses those of parameters. So a copied model still
# writes into your lists, and what you did to its gradients is undone.
#
# ### Exercise 7.2 — Capture ★★ · 22 min · 4 points · core
#
# You want to see what some layers return, in a model that you don't change. Write a context manager
# `capture(model, names)`. (`contextlib.contextmanager` makes one from a generator; Hint 1 says
# how.) `with capture(model, names) as seen:` gives a dict with a list for each name. Every call of
# that module inside the block appends its output to its list.
#
# - `names` are as `named_modules()` gives them, at any depth, each once; `""` is the model itself.
#   All outputs are tensors; inputs may be passed by keyword.
# - The model computes what it always did, and its gradients still flow.
# - When the block ends, by an exception too, your hooks are gone, hooks that were there before are
#   still there, and the exception goes on its way.
# - A name that the model doesn't have is a `KeyError` on entering, and again no hook of yours is
#   left.
#
# What is kept is
#
# - as the module returned it, after its earlier hooks: what happens to the tensor later, in place,
#   must not show;
# - without a graph: `requires_grad` is `False`;
# - no larger than it has to be: its storage holds no other elements, even if the module returned a
#   view of something larger.
#
# Example: in the network below the block is called twice. So for one call of the network,
# `seen["block"]` holds two tensors of shape (batch, 6), and `seen["head"]` one of shape (batch, 3).


# %% nbgrader={"grade_id": "network", "locked": true} tags=["to-be-read"]
class Crop(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, :6]  # a view


class Network(nn.Module):
    """Four numbers in, three out; with an activation in place, and a block that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.leaky = nn.Linear(4, 60), nn.LeakyReLU(0.1, inplace=True)
        self.crop, self.block = Crop(), nn.Sequential(nn.Linear(6, 6), nn.Tanh())
        self.head = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.crop(self.leaky(self.stem(x)))
        return self.head(input=self.block(self.block(x)))


def make_network(seed: int = 0) -> Network:
    torch.manual_seed(seed)
    return Network().to(device)


# %% nbgrader={"grade_id": "try-capture", "locked": true}
import contextlib
from course_utils.chapters.hooks import check_capture, check_unknown_name, run_capture
from course_utils.chapters.hooks import check_all_states, run_in_state


@runs_with_the_answer
def try_capture(names, x, goes_wrong, grad) -> dict:
    network = make_network().to(x.dtype)
    return run_capture(capture, network, names, x, goes_wrong, grad)


@runs_with_the_answer
def try_in_state(exercise, state) -> str:
    return run_in_state(exercise, state, globals())


# %% nbgrader={"grade_id": "capture", "solution": true}
def capture(model: nn.Module, names: list[str]) -> contextlib.AbstractContextManager:
    """A context manager; gives a dict from each name to the list of that module's outputs."""

    ### BEGIN SOLUTION
    def keep(outputs: list):
        return lambda module, args, output: outputs.append(output.detach().clone())

    @contextlib.contextmanager
    def capturing():
        modules = dict(model.named_modules())
        seen = {name: [] for name in names}
        with contextlib.ExitStack() as hooks:
            for name in names:
                hooks.enter_context(modules[name].register_forward_hook(keep(seen[name])))
            yield seen

    return capturing()
    ### END SOLUTION


# %% nbgrader={"grade_id": "capture-check", "grade": true, "points": 4}
def check_case(names, x, **options):
    check_capture(try_capture, make_network().to(x.dtype), names, x, **options)


x = torch.tensor([[1.0, -2, 0, 3], [0, 1, -1, 2]], device=device)
with every_case() as case:
    for names in (["head", "block"], ["stem", "leaky"], ["crop", "block.0", ""], []):
        with case(f"capture(network, {names})"):
            check_case(names, x)
    with case("a batch of one in torch.float64"):
        check_case(["stem", "head"], x[:1].double())
    with case("under no_grad"):
        check_case(["stem", "block"], x, grad=False)
    with case("a batch of none in torch.bfloat16"):
        check_case(["stem", "head"], x[:0].bfloat16())
    with case("torch.bfloat16"):
        check_case(["stem", "head"], x.bfloat16())
    with case("an exception inside the block"):
        check_case(["stem", "block"], x, goes_wrong=True)
    with case("capture(network, ['head', 'nose'])"):
        check_unknown_name(try_capture, make_network(), x)
    check_all_states(case, try_in_state, "capture")
### BEGIN HIDDEN TESTS
check_case(["", "block", "leaky"], torch.ones(1, 4, device=device))
check_case(["stem", "leaky", "head"], x[:0])
check_case(["stem", "block.0"], x.t().contiguous().t(), grad=False)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `contextlib.contextmanager` makes a context manager of a generator: what stands before `yield` is
# done on entering, what stands in a `finally` after it is done at the end.
# </details>
# <details><summary>Hint 2</summary>
#
# Look up all names before you register the first hook. Or let a `contextlib.ExitStack` hold the
# handles: a handle is a context manager, and the stack closes all that were entered.
# </details>
# <details><summary>Hint 3</summary>
#
# `detach()` leaves the graph and stays in the same memory. What makes a copy, and of how much?
# </details>

# %% [markdown]
# ## 2. Tensor hooks: what does a gradient say as it passes? · core
#
# Activations left it open whether the patient's layer of ones is ill. The other side is the way
# back. Chapter 05 showed that the gradient of an intermediate result is used and thrown away.
#
# > **Often said.** *"During `backward()` the gradients of intermediate results are stored in their
# > `.grad`."* They aren't, unless you ask by `retain_grad()`. They pass through the graph.
#
# A hook on the tensor sees it pass. It is called with the gradient as soon as that is complete:

# %% topics=["tensor-register-hook"] errata=["intermediate-grad-assigned"] tags=["shows-false"]
x = torch.tensor(3.0, requires_grad=True)
h = x * x
h.register_hook(lambda grad: print("dy/dh:", grad.item()))
(2 * h + h).backward()
print("h keeps its gradient:", h.retains_grad)
print("x.grad:", x.grad.item())

# %% [markdown]
# `h` is used twice, and the hook ran once, with the sum 3. What the hook returns takes the gradient's
# place, from there on back. **Predict** `x.grad`:

# %% topics=["tensor-register-hook"]
x = torch.tensor(3.0, requires_grad=True)
h = x * x
h.register_hook(lambda grad: 10 * grad)
h.register_hook(lambda grad: grad + 1)
h.backward()
x.grad

# %% [markdown]
# The second hook got the first one's result: dy/dh is 1, then 10, then 11, and 11 · 2 · 3 is 66. The
# values of the forward pass are what they were.
#
# A hook on a **leaf** runs before the gradient is added to `.grad`. It sees what this `backward()`
# brings, not what has been accumulated; section 5 shows both.
#
# ### From inside a forward hook
#
# A forward hook is handed the output, and can register a hook on *that*, even where an activation in
# place follows. Under `no_grad` the output needs no gradient and `register_hook` raises, so ask first.
# Here are the gradients of two of the patient's layers:


# %% topics=["tensor-register-hook", "module-hooks"]
def listen(name, told):
    def on_output(module, args, output):
        if output.requires_grad:
            output.register_hook(lambda grad: told.update({name: f"{grad.norm().item():.1e}"}))

    return on_output


patient, told = make_patient(), {}
for name in ("layer1", "layer6"):
    patient.get_submodule(name).register_forward_hook(listen(name, told))
_ = train(patient, 1)
told

# %% [markdown]
# The gradient that reaches `layer6` is of ordinary size; the one at `layer1` is a million times
# smaller. Where between them it gets lost, section 3 will find. Before that: what may a tensor hook
# change, and how?
#
# ### Return, never write
#
# It is tempting to change the gradient in place. Let's freeze the first row of `w` that way.
# **Predict** `w.grad`:


# %% topics=["tensor-register-hook"]
def freeze_first(grad):
    grad[0] = 0


w = torch.ones(3, 2, requires_grad=True)
w.register_hook(freeze_first)
w.sum().backward()
w.grad

# %% [markdown]
# *All* rows are zero, and no error was raised. The gradient of a sum is one number, expanded: six
# elements in one box of memory (chapter 02). And where two tensors were added, both get the same
# gradient: writing to one spoils the other's. Return a new tensor, and leave the one that you were
# handed alone: `grad * mask` is fine, `grad.mul_(mask)` is not.
#
# ### Exercise 7.3 — Reverse the gradient ★★ · 12 min · 3 points · core
#
# A classifier of photos should not care which camera took them. So a second head tries to tell the
# camera from the features, and its gradient is *reversed* on the way into the features. The head
# gets better at its job, the features get worse for it.
#
# Write the layer in between, `y = reverse(x, strength)`, twice:
#
# - `gradient_reversal(x, strength)`, by a tensor hook and not through a Function,
# - `Reversal`, an `autograd.Function` with `Reversal.apply(x, strength)`.
#
# Both keep these rules:
#
# - `x` is floating-point, of any shape, and `y` has exactly the values of `x`.
# - The gradient that reaches `x` **through `y`** is the gradient of `y` times `-strength`. Second
#   derivatives are reversed likewise.
# - Nothing else about `x` changes: the classifier uses the same `x`, and its gradient is not
#   reversed.
# - Where `x` needs no gradient, or under `no_grad`, it gives the values and nothing more.
#
# Example: with x = 3 and strength 0.5, `y` is 3. The derivative of `y * y` with respect to `x`
# becomes -3 instead of 6. That of `y * y + x` becomes -2.

# %% nbgrader={"grade_id": "try-reversal", "locked": true}
from course_utils.chapters.hooks import check_reversal, run_reversal


@runs_with_the_answer
def try_reversal(x, strength, weight, by_function, grad) -> tuple:
    reverse = Reversal.apply if by_function else gradient_reversal
    return run_reversal(reverse, x, strength, weight, not by_function, grad)


# %% nbgrader={"grade_id": "gradient-reversal", "solution": true}
def gradient_reversal(x: torch.Tensor, strength: float) -> torch.Tensor:
    """``x``, of any shape; the gradient that comes back through it is multiplied by -strength."""
    ### BEGIN SOLUTION
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y
    ### END SOLUTION


class Reversal(torch.autograd.Function):
    """The same; ``Reversal.apply(x, strength)``."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, strength: float) -> torch.Tensor:
        """``x``, unchanged."""
        ### BEGIN SOLUTION
        ctx.strength = strength
        return x.view_as(x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor) -> tuple:
        """The gradient for ``x``, and nothing for ``strength``."""
        ### BEGIN SOLUTION
        return -ctx.strength * grad_output, None
        ### END SOLUTION


# %% nbgrader={"grade_id": "gradient-reversal-check", "grade": true, "points": 3}
def check_both(case, name, *arguments):
    for by_function in (False, True):
        with case(f"{'Reversal.apply' if by_function else 'gradient_reversal'}, {name}"):
            check_reversal(try_reversal, *arguments[:3], by_function, *arguments[3:])


x = torch.tensor([3.0, -1.0], device=device)
with every_case() as case:
    for weight in (0, 2, 1):
        check_both(case, "two numbers", x, 0.5, weight)
    cube = torch.linspace(-0.7, 0.9, 24, device=device).view(2, 1, 4, 3).mT
    check_both(case, "numbers that round, of shape (2, 1, 3, 4)", cube, 0.3, 0)
    check_both(case, "torch.float64, transposed", (x.double().expand(3, 2) / 3).t(), 64.0, 0.25)
    check_both(case, "a tensor without dimensions", x[0], 1.5, 1)
    check_both(case, "no number, in torch.float16", x[:0].half(), 0.5, 1)
    check_both(case, "a strength of 0", x, 0.0, 1)
    check_both(case, "a strength of -2", x, -2.0, 1)
    check_both(case, "under no_grad", x.double() / 3, 0.5, 0, False)
    check_both(case, "an x that needs no gradient", x.half() / 3, 0.5, 0, None)
    check_all_states(case, try_in_state, "reversal")
### BEGIN HIDDEN TESTS
rows = torch.randn(4, 6, generator=torch.Generator().manual_seed(0)).double().to(device)
with every_case() as case:
    for tensor in (rows, rows.t(), rows[:, ::2], rows[0, 0], rows[:0], rows[:1].expand(3, 6)):
        for strength, weight in ((0.3, 0), (1.7, 0.25), (0, 1), (-2, 1)):
            check_both(case, f"shape {tuple(tensor.shape)}", tensor, strength, weight)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A hook on `x` itself changes every gradient that arrives there, the classifier's too. On which
# tensor should it sit?
# </details>
# <details><summary>Hint 2</summary>
#
# `x.view_as(x)` is a new tensor of the graph with the same values. If it needs no gradient,
# `register_hook` raises; ask it before you register.
# </details>
# <details><summary>Hint 3</summary>
#
# `backward` of a Function returns one entry for each argument of `forward`. A number has no
# gradient: its entry is `None`. And a hook or a `backward` gives back a new tensor.
# </details>

# %% [markdown]
# ### Exercise 7.4 — Freeze some rows ★★ · 15 min · 5 points
#
# You add four new words to a pretrained vocabulary. The rows of the old words should stay as they
# are. `requires_grad` is all or nothing; a hook can be finer.
#
# **First** write `freeze_rows(embedding, rows)`: register a hook on `embedding.weight`, and return
# its handle.
#
# - From then on what a `backward()` **adds** to `weight.grad` is zero in these rows and unchanged
#   in all others. What was in `weight.grad` before stays.
# - After `handle.remove()` every row gets its gradient again.
# - `rows` is a list of indices, which nobody changes later. It may be empty, and a negative index
#   counts from the end. The table may be of any floating dtype.
#
# Example: with a 3 × 2 table and `rows = [0]`, `weight.sum().backward()` fills `weight.grad` with
# `[[0, 0], [1, 1], [1, 1]]`. With `rows = [-1]` the last row is the one of zeros.
#
# **Then predict.** A gradient of zero doesn't promise that the row stays. Take a table of ones, and
# a loss that has a gradient for every row in every step. A row is frozen by `freeze_rows`, then
# three steps are taken. Does that row's value move? Write `True` if it does.
#
# - With *after a step*, one step is taken before the hook is registered; does the row move in the
#   three after that?
# - What is not named has its default: a weight decay of 0, and of 0.01 in AdamW.
#
# Each optimizer, in short, for a weight w with gradient g:
#
# | | keeps | the step |
# | --- | --- | --- |
# | SGD | nothing | w -= lr · (g + decay · w) |
# | momentum | v = m · v + g | w -= lr · v |
# | Adam | running means of g and of g² | w -= lr · mean of g / (√(mean of g²) + 1e-8) |
# | AdamW | the same | Adam's, and w *= 1 - lr · decay |

# %% nbgrader={"grade_id": "try-freezing", "locked": true}
from course_utils.chapters.hooks import check_freezing, frozen_row_moves, run_freezing


@runs_with_the_answer
def try_freezing(table, rows) -> dict[str, torch.Tensor]:
    return run_freezing(freeze_rows, table, rows)


# %% nbgrader={"grade_id": "freeze-rows", "solution": true}
def freeze_rows(embedding: nn.Embedding, rows: list[int]) -> torch.utils.hooks.RemovableHandle:
    """Keep the gradient of these rows of ``embedding.weight`` at zero; the hook's handle."""
    ### BEGIN SOLUTION
    frozen = torch.zeros_like(embedding.weight[:, :1], dtype=torch.bool)
    frozen[rows] = True
    return embedding.weight.register_hook(lambda grad: grad.masked_fill(frozen, 0))
    ### END SOLUTION


the_frozen_row_moves = {
    "SGD": None,
    "SGD, weight_decay=0.1": None,
    "SGD, momentum=0.9": None,
    "SGD, momentum=0.9, after a step": None,
    "Adam": None,
    "Adam, after a step": None,
    "AdamW": None,
}
### BEGIN SOLUTION
stays = {"SGD", "SGD, momentum=0.9", "Adam"}
the_frozen_row_moves = {name: name not in stays for name in the_frozen_row_moves}
### END SOLUTION


# %% nbgrader={"grade_id": "freeze-rows-check", "grade": true, "points": 3}
table = torch.arange(6.0, device=device).view(3, 2) / 3
with every_case() as case:
    for rows in ([0], [-1], [2, 0], []):
        with case(f"rows {rows} of 3"):
            check_freezing(try_freezing, table, rows)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        with case(f"rows [1, -3] of 4, in {dtype}"):
            ones = torch.ones(4, 3, dtype=dtype, device=device)
            check_freezing(try_freezing, ones, [1, -3])
    check_all_states(case, try_in_state, "freezing")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for shape, rows in (((5, 3), [1, 4]), ((7, 1), [0, 2, -1]), ((2, 4), [0, 1]), ((4, 2), [-1])):
    table = torch.randn(shape, generator=generator).to(device)
    check_freezing(try_freezing, table, rows)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "freeze-rows-check-2", "grade": true, "points": 2}
because = {
    "SGD": "it moves by the gradient, and that is zero",
    "SGD, weight_decay=0.1": "the decay is added by the optimizer, after every hook",
    "SGD, momentum=0.9": "a velocity that was never fed is zero",
    "SGD, momentum=0.9, after a step": "the first step left a velocity behind",
    "Adam": "a mean of zeros is zero",
    "Adam, after a step": "the first step left a running mean behind",
    "AdamW": "its weight decay is 0.01 unless you say otherwise",
}
truth = {name: frozen_row_moves(name) for name in because}
check_predictions(the_frozen_row_moves, truth, because)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A mask of shape (rows, 1) of truth values, and `grad.masked_fill(mask, 0)`. A product with ones and
# zeros needs a mask of the weight's dtype, and makes NaN of an infinite gradient.
# </details>
# <details><summary>Hint 2</summary>
#
# For the predictions: what does each optimizer add to the row besides the gradient? What has it
# kept from the steps before?
# </details>

# %% [markdown]
# If the row has to stay, whatever the optimizer does, put it back after each step: optimizers have
# openings too, such as `register_step_post_hook`.

# %% [markdown]
# ## 3. Backward hooks: where does the gradient get lost? · core
#
# Two tensors of the patient were asked. For a walk through a whole model, modules have openings on the
# way back.
#
# - A **full backward hook** is called with `(module, grad_input, grad_output)`, two tuples: the
#   gradients of the module's inputs and of its outputs. What it returns replaces `grad_input`.
# - A **full backward pre-hook** is called with `(module, grad_output)`, before anything of the
#   module's way back is computed. What it returns replaces `grad_output`.


# %% topics=["module-hooks"]
def tell_gradients(module, grad_input, grad_output):
    for name, grads in (("grad_input: ", grad_input), ("grad_output:", grad_output)):
        print(name, [None if grad is None else tuple(grad.shape) for grad in grads])


layer = nn.Linear(3, 2)
layer.register_full_backward_hook(tell_gradients)
layer(torch.ones(4, 3, requires_grad=True)).sum().backward()

# %% [markdown]
# `grad_output` has the shape of what the module returned, `grad_input` that of what it took in. The
# parameters' gradients are neither; they have hooks of their own. So which of the two must a hook
# replace, if the *parameters* are to feel it?

# %% topics=["module-hooks"]
layer, x = nn.Linear(1, 1), torch.ones(1, 1, requires_grad=True)
with layer.register_full_backward_hook(lambda module, grad_input, _: (0 * grad_input[0],)):
    layer(x).sum().backward()
print("after grad_input times 0:  ", layer.weight.grad.item())
with layer.register_full_backward_pre_hook(lambda module, grad_output: (10 * grad_output[0],)):
    layer(x).sum().backward()
print("after grad_output times 10:", layer.weight.grad.item())

# %% [markdown]
# The first left 1 in `weight.grad`, although its hook returned zeros: by the time `grad_input` is
# known, the weight has been served. The second added 10.
#
# > **Then and now.** *"`register_backward_hook` gives a module's input gradients."* For a module of
# > more than one operation it gave those of the last operation. It is still there, and it warns.
# > Compare: the input is 4 × 3, the output 4 × 1. What the old hook gives belongs to the bias, the
# > hidden layer and the weight of the *last* layer.

# %% tags=["shows-deprecated"]
for register in ("register_backward_hook", "register_full_backward_hook"):
    block = nn.Sequential(nn.Linear(3, 2), nn.Sigmoid(), nn.Linear(2, 1))
    handle = getattr(block, register)(tell_gradients)
    with warnings.catch_warnings(record=True, action="always") as caught:
        block(torch.ones(4, 3, requires_grad=True)).sum().backward()
    print(register, "| warnings:", len(caught))

# %% [markdown]
# ### Three limits
#
# How does PyTorch know where a module's way back begins and ends? It puts two invisible nodes into
# the graph, one around the *positional* inputs and one around the output. Three things follow.
#
# Inputs passed **by keyword** are not seen. **Predict** what `grad_input` is when `x` is positional and
# `factor` is not, and when both are passed by name:


# %% tags=["shows-warning"] topics=["module-hooks"]
class Scale(nn.Module):
    def forward(self, x, factor):
        return x * factor


scale, x = Scale(), torch.ones(2, requires_grad=True)
handle = scale.register_full_backward_hook(tell_gradients)
scale(x, factor=2 * x).sum().backward()
with warnings.catch_warnings(record=True, action="always") as caught:
    scale(x=x, factor=2 * x).sum().backward()
print("warned:", "no inputs require gradients" in str(caught[0].message))

# %% [markdown]
# First the gradient of `x` alone. Then an empty tuple, and PyTorch warns: as far as the hook can
# tell, no input needs a gradient. The same happens at the first layer of most models, whose input
# is data: there `grad_input` holds `None`, and the hook runs early.
#
# Second, the output is now a view made by such a node, and **nothing may write to it**:

# %% topics=["module-hooks"]
network = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))
network[0].register_full_backward_hook(tell_gradients)
try:
    network(torch.ones(1, 2))
except RuntimeError as error:
    print(str(error).split(".")[0])

# %% [markdown]
# Third, a tuple as output: `grad_output` has one entry for each of its elements. What lies in a tuple
# *inside* the tuple is not seen, even if it gets a gradient. An LSTM returns a sequence and a tuple of
# two states:

# %% topics=["module-hooks"]
lstm, told = nn.LSTM(2, 3, batch_first=True), []
lstm.register_full_backward_hook(lambda module, grad_input, grad_output: told.extend(grad_output))
sequence, (h, c) = lstm(torch.ones(1, 4, 2, requires_grad=True))
(sequence.sum() + h.sum()).backward()
print([None if grad is None else tuple(grad.shape) for grad in told])

# %% [markdown]
# So which hook, when?
#
# | you want | take |
# | --- | --- |
# | the gradient of an output, in any model that records | a forward hook that calls `output.register_hook` |
# | the same, where nothing works in place | a full backward pre-hook, or hook |
# | the gradient of the inputs, or of both together | a full backward hook |
# | the gradient of a parameter | a hook on the parameter |
#
# ### Who is called when
#
# Here are the openings around one call of a layer. The dashed lines are the two invisible nodes: what
# lies between them belongs to the layer, and the hooks on the tensors x and y lie outside.

# %% jupyter={"source_hidden": true}
forward = [
    (1, "forward pre-hook\nsees the input"),
    (2, "forward"),
    (3, "forward hook\nsees the output"),
]
backward = [
    (4, "tensor hook\nof y"),
    (3, "full backward\npre-hook, sees\ngrad_output"),
    (2, "tensor hook, then\npost-accumulate\nhook of each\nparameter"),
    (1, "full backward\nhook, sees\ngrad_input"),
    (0, "tensor hook\nof x"),
]
figure, axes = plt.subplots(figsize=(9, 3.2), layout="constrained")
for height, row, colour in ((1, forward, "#0072b2"), (0, backward, "#b04500")):
    for place, name in row:
        box = {"facecolor": "white", "edgecolor": colour, "boxstyle": "round,pad=0.4", "lw": 1.5}
        axes.text(place, height, name, ha="center", va="center", color=colour, bbox=box, fontsize=8)
for (start, end), height, name in (((-0.8, 4.8), 1, "xy"), ((4.8, -0.8), 0, ("dL/dy", "dL/dx"))):
    arrow = {"arrowstyle": "-|>", "color": "#6b6b6b", "lw": 1.5}
    axes.annotate("", (end, height), (start, height), zorder=0, arrowprops=arrow)
    for place, word in zip((start, end), name, strict=True):
        axes.text(place, height + 0.12, word, ha="center")
for place in (0.5, 3.5):
    axes.plot([place, place], [-0.45, 1.4], "--", color="#6b6b6b", zorder=0)
axes.text(2, 1.42, "one call of the layer", ha="center", color="#595959")
axes.set(xlim=(-1.1, 5.1), ylim=(-0.5, 1.6))
axes.set_axis_off()
words = "Forward: pre-hook, forward, hook. Back: the hook of y, backward pre-hook, the parameters' "
show(figure, words + "tensor and post-accumulate hooks, backward hook, the hook of x.")

# %% [markdown]
# On the way forward a module's pre-hook comes before everything inside it, and its hook after. On the
# way back each hook waits for what it is to be shown. A backward pre-hook needs `grad_output` alone. A
# backward hook needs `grad_input`, so all inside the module is done by then.
#
# Of what is ready at one moment, autograd first does what ends in a parameter, then continues to the
# input. A tensor that goes in lies outside of the dashed lines: a module's own hook is called
# before the hook on that tensor. Where modules stand inside a module, the picture of the inner ones
# lies between the lines of the outer one, and y of the first is x of the second.
#
# ### Exercise 7.5 — The order of the hooks ★★ · 10 min · 3 points
#
# The model below has two layers inside, a and b, and h between them. Fourteen hooks are registered,
# and each writes a line when it is called. The input needs a gradient. There is one call forward
# and one `backward()`. Give each line its place, from 1 to 14. Example: the model's forward
# pre-hook is 1.


# %% nbgrader={"grade_id": "two-layers", "locked": true}
class TwoLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.a(x)
        h.register_hook(lambda grad: self.log.append("h: tensor hook"))
        return self.b(h)


# %% nbgrader={"grade_id": "hook-order", "solution": true}
hook_order = {
    "model: forward pre-hook": None,
    "model: forward hook": None,
    "model: full backward pre-hook": None,
    "model: full backward hook": None,
    "a: forward hook": None,
    "a: full backward pre-hook": None,
    "a: full backward hook": None,
    "b: forward pre-hook": None,
    "b: forward hook": None,
    "b: full backward pre-hook": None,
    "b: full backward hook": None,
    "b.weight: tensor hook": None,
    "b.weight: post-accumulate hook": None,
    "h: tensor hook": None,
}
### BEGIN SOLUTION
hook_order = dict(zip(hook_order, (1, 5, 6, 14, 2, 12, 13, 3, 4, 7, 10, 8, 9, 11), strict=True))
### END SOLUTION


# %% nbgrader={"grade_id": "hook-order-check", "grade": true, "points": 3}
from course_utils.chapters.hooks import check_places, order_of_hooks
from course_utils.chapters.hooks.slips import ORDER_REASONS

check_places(hook_order)
truth = order_of_hooks(TwoLayers().to(device))
check_predictions(hook_order, truth, ORDER_REASONS)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Forward: 1 to 5. The layers a and b are called inside the model.
# </details>
# <details><summary>Hint 2</summary>
#
# Back: from the loss to the input. Draw the tensors in a row: x, h, y. On the way back you pass y,
# then all of b, then h, then all of a, then x.
# </details>
# <details><summary>Hint 3</summary>
#
# The model's own backward hook shows the gradient of x. So what is there left to do after it?
# </details>

# %% [markdown]
# ### Exercise 7.6 — Find the ill layer ★★ · 16 min · 4 points · core
#
# Back to the patient: at which layer does the gradient get lost? Write `grad_monitor(model)`. It
# hooks every module **that has no children**, at any depth, and returns `(norms, handles)`: a dict
# from the module's name (as `named_modules()` gives it) to a list, and a list of the handles.
#
# - With each `backward()` the list gets one number, a Python `float`: the norm of the gradient of
#   the module's **output**, over all its elements. The model may be in half precision, too.
# - Training goes on as if you were not looking, a run under `no_grad` works as before, and of a
#   forward pass after all handles were removed nothing is noted.
# - Each module is called once in a forward pass, its output is one tensor, and nothing works in
#   place.
#
# Example: for a batch of shape (4, 2), a `Linear(2, 3)` as the last layer and `loss =
# output.sum()`, the gradient is a 4 × 3 tensor of ones, and its norm is √12 ≈ 3.46.
#
# **Then use it**, in a cell of your own, on another patient: monitor `make_patient(seed=1)`,
# `train` it for a few steps, print `norms`. Walk from the head back to `layer1`, from one linear
# layer to the next. At which do you first meet a norm that is less than a thousandth of the one
# before it on your walk? Write its name into `ill_layer`.

# %% nbgrader={"grade_id": "try-monitor", "locked": true}
from course_utils.chapters.hooks import check_ill_layer, check_monitor, run_monitor


@runs_with_the_answer
def try_monitor(steps, ill, seed) -> tuple:
    network = nn.Sequential(nn.Sequential(make_patient(ill, seed), nn.Identity()))
    return run_monitor(grad_monitor, network, train, steps)


# %% nbgrader={"grade_id": "grad-monitor", "solution": true}
def grad_monitor(model: nn.Module) -> tuple[dict[str, list[float]], list]:
    """Note the norm of each childless module's output gradient; (norms, handles of the hooks)."""
    ### BEGIN SOLUTION

    def note(values):
        return lambda module, _, grad_output: values.append(grad_output[0].norm().item())

    leaves = {name: m for name, m in model.named_modules() if not list(m.children())}
    norms = {name: [] for name in leaves}
    handles = [m.register_full_backward_hook(note(norms[name])) for name, m in leaves.items()]
    return norms, handles
    ### END SOLUTION


ill_layer = None
### BEGIN SOLUTION
ill_layer = "layer4"
### END SOLUTION


# %% nbgrader={"grade_id": "grad-monitor-check", "grade": true, "points": 3}
def check_case(steps, ill, seed):
    found = try_monitor(steps, ill, seed)
    check_monitor(found, make_patient(ill, seed), train, points, steps)


with every_case() as case:
    with case("two steps of a patient in two containers"):
        check_case(2, True, 0)
    with case("one step of a healthy network"):
        check_case(1, False, 0)
    check_all_states(case, try_in_state, "monitor")
### BEGIN HIDDEN TESTS
check_case(1, False, 1)
check_case(3, True, 2)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "grad-monitor-check-2", "grade": true, "points": 1}
check_ill_layer(ill_layer, make_patient(seed=1))

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `grad_output` is a tuple, with one gradient for each output.
# </details>
# <details><summary>Hint 2</summary>
#
# Let a function make the hook, and hand it the list that the hook is to append to.
# </details>
# <details><summary>Hint 3</summary>
#
# For the patient: `for name, values in norms.items(): print(name, values[-1])`, and read it from
# the bottom up.
# </details>

# %% [markdown]
# Here is the first patient's walk beside that of the healthy network. (Drawn without hooks, by
# `autograd.grad`.)


# %% jupyter={"source_hidden": true} topics=["module-hooks"]
def norms_of_each(network: nn.Sequential) -> dict[str, float]:
    """The norm of the gradient of each linear layer's output, at the first step."""
    (out, y), outputs = points(), {}
    for name, module in network.named_children():
        outputs[name] = out = module(out)
    loss = F.binary_cross_entropy_with_logits(out, y)
    grads = torch.autograd.grad(loss, [*outputs.values()])
    norms = {name: grad.norm().item() for name, grad in zip(outputs, grads, strict=True)}
    return {name: norm for name, norm in norms.items() if "tanh" not in name}


figure, axes = plt.subplots(figsize=(7, 3))
for ill, label, style in ((False, "healthy", "o-"), (True, "the patient", "s-")):
    norms = norms_of_each(make_patient(ill))
    axes.plot([*norms][::-1], [*norms.values()][::-1], style, label=label)
axes.set(yscale="log", ylabel="norm of the output's gradient", ylim=(1e-9, 1))
axes.set_xlabel("the way back →")
axes.legend(loc="lower left")
show(
    figure,
    "On the way back the patient's norms fall steeply at layer2, the healthy network's don't.",
)

# %% [markdown]
# Read it from left to right, as the gradient travels. Up to `layer3` they stay within a factor of
# ten. At `layer2` the patient's falls more than a hundred thousandfold, and it stays down:
# everything before it is cut off from the loss.
#
# Why? The bias of that layer is so large that its tanh sits at 1 for every point. It passes nothing
# on, and its slope there is as good as zero. And since next to no gradient reaches the layer itself, it
# will not heal. Such a layer is called *saturated*. You saw the sign of it in section 1, when one tanh
# returned ones; this is the proof. And the cure is a line:

# %%
patient = make_patient()
_ = train(patient, 150)
nn.init.zeros_(patient.layer2.bias)
print("150 steps after the cure the loss is below 0.1:", train(patient, 151)[-1] < 0.1)

# %% [markdown]
# **In practice** a monitor like this runs for the first few steps of a long training. Norms that
# fall steadily from layer to layer mean vanishing gradients, norms that rise mean exploding ones;
# one sudden fall is a bug. Keep floats, as you did: tensors in a list would keep every step's
# gradients alive.

# %% [markdown]
# ## 4. Grad-CAM: where did it look?
#
# Activations said what a layer returns, gradients what the loss makes of it. What do they say
# together? In a classifier of images, the last convolution returns maps: each channel says where it
# found something. The gradient of one class's score says how much the score would grow with each
# map. Multiply, add up, and you have a map of what speaks for that class.
#
# Here are shapes, and a small CNN that ends in *global average pooling* (GAP: the mean of each map) and
# one linear layer.


# %% nbgrader={"grade_id": "shape-net", "locked": true}
class ShapeNet(nn.Module):
    """Circle, square or triangle? Images (batch, 3, h, w) to scores (batch, 3)."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential()
        for ins, outs in ((3, 8), (8, 16), (16, 24)):
            self.features.append(nn.Conv2d(ins, outs, 3, padding=1))
            self.features.append(nn.ReLU())
            self.features.append(nn.MaxPool2d(2) if outs < 24 else nn.Identity())
        self.fc = nn.Linear(24, 3)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.fc(self.features(images).mean(dim=(2, 3)))


# %% jupyter={"source_hidden": true}
def draw_shape(kind: int, y: float, x: float, size: float, image: torch.Tensor) -> torch.Tensor:
    """Draw a circle (0), a square (1) or a triangle (2) into an image (3, h, w); where it lies."""
    rows, columns = torch.meshgrid(*map(torch.arange, image.shape[1:]), indexing="ij")
    down, right = rows - y, columns - x
    circle = down**2 + right**2 <= 1.15 * size**2
    square = torch.maximum(down.abs(), right.abs()) <= 0.92 * size
    triangle = (down <= size) & (2 * right.abs() <= 1.25 * (down + size))
    shape = (circle, square, triangle)[kind]
    image[:, shape] = torch.tensor([0.65, 0.55, 0.05])[:, None]
    return shape


def draw_images(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Noise around 0 with one shape in each image: (count, 3, 24, 24) and the kinds, 0, 1 or 2."""
    generator = torch.Generator().manual_seed(seed)
    images = 0.5 * torch.rand(count, 3, 24, 24, generator=generator) - 0.25
    middles = 6 + 12 * torch.rand(count, 2, generator=generator)
    sizes = 3.5 + 3 * torch.rand(count, 1, generator=generator)
    for index, place in enumerate(torch.cat([middles, sizes], dim=1).tolist()):
        draw_shape(index % 3, *place, images[index])
    return images, torch.arange(count) % 3


# %%
images, kinds = draw_images(720, seed=0)
figure, panels = plt.subplots(1, 6, figsize=(9, 1.6))
for panel, image, kind in zip(panels, images, kinds, strict=False):
    panel.imshow(image.permute(1, 2, 0) + 0.25)
    panel.set(title=("circle", "square", "triangle")[kind], xticks=[], yticks=[])
show(figure, "Six noisy images, each with a yellow circle, square or triangle somewhere.")

# %%
torch.manual_seed(0)
shape_net = ShapeNet().to(device)
optimizer = torch.optim.Adam(shape_net.parameters(), lr=4e-3)
order = torch.Generator().manual_seed(0)
for _ in range(16):
    for batch in torch.randperm(len(images), generator=order).split(40):
        optimizer.zero_grad()
        F.cross_entropy(shape_net(images[batch].to(device)), kinds[batch].to(device)).backward()
        optimizer.step()
test_images, test_kinds = draw_images(150, seed=1)
right = shape_net(test_images.to(device)).argmax(dim=1).cpu() == test_kinds
print("more than 9 of 10 new images right:", right.float().mean().item() > 0.9)

# %% [markdown]
# With a GAP head there is a direct way to a map. Up to a bias, the score of class $c$ is $\sum_k
# w_{ck} \cdot \text{mean}(A_k)$, with $A_k$ the maps and $w$ the weights of the linear layer. So
# $\sum_k w_{ck} A_k$ is what each place adds to it. This is **CAM**, the class activation map. It
# works with this head only. Let's ask for both classes of a wide image with two shapes.

# %% topics=["grad-cam"]
both = 0.5 * torch.rand(3, 24, 44, generator=torch.Generator().manual_seed(2)) - 0.25
outlines = [draw_shape(0, 12, 10, 5, both), draw_shape(2, 12, 33, 5, both)]
with torch.no_grad():
    maps = shape_net.features(both[None].to(device))[0]  # (channel, 6, 11)
    cam = torch.einsum("kc,chw->khw", shape_net.fc.weight, maps).relu()


# %% jupyter={"source_hidden": true} topics=["grad-cam"]
def draw_heat(heats: dict[str, torch.Tensor]) -> None:
    """Show the image with two shapes, then maps of any size, each divided by its largest value."""
    figure, panels = plt.subplots(1, 1 + len(heats), figsize=(9, 1.9), layout="constrained")
    panels[0].imshow(both.permute(1, 2, 0) + 0.25)
    panels[0].set_title("the image")
    for panel, (title, heat) in zip(panels[1:], heats.items(), strict=True):
        large = F.interpolate(heat.detach().cpu()[None, None], both.shape[1:], mode="bilinear")[
            0, 0
        ]
        drawn = panel.imshow(large / large.max().clamp(min=1e-9), cmap="magma", vmin=0, vmax=1)
        panel.set_title(f"speaks for {title}")
    for panel in panels:
        panel.set_axis_off()
        for outline in outlines:
            panel.contour(outline.float(), levels=[0.5], colors="#56b4e9", linewidths=1.5)
    figure.colorbar(drawn, ax=panels, shrink=0.9, label="heat / largest")
    show(
        figure,
        f"Two shapes, outlined in blue; heat, scaled to its largest, for {', '.join(heats)}.",
    )


# %% tags=["nbval-ignore-output"] topics=["grad-cam"]
draw_heat({"circle": cam[0], "triangle": cam[2]})

# %% [markdown]
# One image, one forward pass, two answers to "why". The heat for *circle* is strongest on the
# circle, that for *triangle* on the triangle. It is coarse: the maps have 6 × 11 places. And each map
# has its own scale, so compare places, not panels.
#
# Now for networks with any head. Where CAM reads $w_{ck}$ off the last layer, **Grad-CAM** asks
# autograd. The weight of a map is the mean of its gradient: $\alpha_k =
# \text{mean}(\partial\,\text{score}_c / \partial A_k)$. The map is $\text{relu}(\sum_k \alpha_k
# A_k)$. For a GAP head both agree up to a factor: the mean hands each of the H · W places the same
# share of the gradient, so $\alpha_k = w_{ck} / (H W)$. (Old notes call this recipe CAM. CAM has no
# gradient in it.)

# %% topics=["grad-cam"] errata=["cam-is-gradcam"]
maps = shape_net.features(both[None].to(device))
score = shape_net.fc(maps.mean(dim=(2, 3)))[0, 0]
(gradient,) = torch.autograd.grad(score, maps)
alpha = gradient.mean(dim=(2, 3))[0]
print("alpha is w / (H W):", torch.allclose(alpha * 6 * 11, shape_net.fc.weight[0], atol=1e-4))

# %% [markdown]
# Here we called the two halves of our network by hand, which repeats `forward`, and goes wrong where
# `forward` does more than call the halves (*Heard elsewhere* shows how). A hook leaves `forward` alone.
#
# ### Exercise 7.7 — Grad-CAM ★★ · 15 min · 4 points
#
# Write `grad_cam(model, layer, image, target)`: the map of what speaks for a class.
#
# - `layer` is the name of a module, at any depth, that returns maps of shape (1, channels, h, w).
#   `image` has shape (3, height, width), `target` is the class.
# - Return the map, of shape (h, w), without a graph, divided by its largest value. If nothing in
#   the image speaks for the class, the map is all zeros. It must not become NaN.
# - Use the score itself, not its softmax.
# - You are asked for a map only with autograd on, of a model with parameters, where the maps need a
#   gradient, whether the image does or not, and nothing later writes to them.
#
# Leave things as they were, even if the model raises:
#
# - no hook of yours on the model;
# - its mode (`model.training`, which `train()` and `eval()` switch) and the `.grad` of its
#   parameters untouched;
# - the image's `requires_grad` and `.grad` as they were.
#
# Example: for our network with `layer="features"`, the map equals `cam[target] /
# cam[target].max()`. Look at yours by `draw_heat({"circle": grad_cam(shape_net, "features",
# both.to(device), 0)})`.

# %% nbgrader={"grade_id": "try-grad-cam", "locked": true}
from course_utils.chapters.hooks import check_cam_that_raises, check_grad_cam, run_grad_cam


@runs_with_the_answer
def try_grad_cam(state, layer, image, target) -> tuple:
    model = ShapeNet().to(image)
    model.load_state_dict(state)
    return run_grad_cam(grad_cam, model, layer, image, target)


# %% nbgrader={"grade_id": "grad-cam", "solution": true}
def grad_cam(model: nn.Module, layer: str, image: torch.Tensor, target: int) -> torch.Tensor:
    """What speaks for class ``target``: a map (h, w) of the layer's size, from 0 to 1."""
    ### BEGIN SOLUTION
    outputs = []
    module = model.get_submodule(layer)
    with module.register_forward_hook(lambda module, args, output: outputs.append(output)):
        score = model(image[None])[0, target]
    (maps,) = outputs
    (gradient,) = torch.autograd.grad(score, maps)
    alpha = gradient.mean(dim=(2, 3), keepdim=True)
    heat = (alpha * maps).sum(dim=1)[0].relu().detach()
    return heat / heat.max() if heat.max() > 0 else heat
    ### END SOLUTION


# %% nbgrader={"grade_id": "grad-cam-check", "grade": true, "points": 4}
def check_case(image, target, **options):
    torch.manual_seed(3)
    check_grad_cam(try_grad_cam, ShapeNet(), image, target, **options)


image = torch.rand(3, 24, 24, generator=torch.Generator().manual_seed(0)).to(device)
wide, none = image[:, 4:20].double() / 3, {"bias": -1.0, "factor": 1.0}
with every_case() as case:
    for name, x, target, options in (
        ("layer 'features', class 0", image, 0, {"factor": 300.0}),
        ("layer 'features.4', class 2", image, 2, {"cut": 5}),
        ("layer 'features.0', class 1, a wide image in torch.float64", wide, 1, {"cut": 1}),
        ("nothing in the image speaks for the class", image, 1, none),
        ("the same in torch.float64", image.double(), 1, none),
        ("all of the image speaks for the class", image, 0, {"bias": 1.0, "factor": 1.0}),
        ("scores that are a billion times smaller", image, 0, {"factor": 3e-9}),
        ("scores that are a billion times larger", image, 0, {"factor": 3e9}),
        ("an image of four rows, so that the map has one", image[:, :4], 0, {"bias": 1.0}),
        ("an image of 4 by 4, so that the map is 1 by 1", image[:, :4, :4], 0, {"bias": 1.0}),
    ):
        with case(name):
            check_case(x, target, **options)
    with case("an image of two channels, so that the model raises"):
        check_cam_that_raises(try_grad_cam, ShapeNet(), image[:2])
    check_all_states(case, try_in_state, "cam")
### BEGIN HIDDEN TESTS
for cut in (1, 4, 6, 8, 9):
    check_case(wide, 2, cut=cut, factor=1.0)
check_case(0 * image, 0, cut=8, factor=1.0)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# One forward hook that keeps the layer's output, with its graph. `model.get_submodule(layer)` finds
# the module.
# </details>
# <details><summary>Hint 2</summary>
#
# `torch.autograd.grad(score, maps)` gives the one gradient that you need and writes none into
# `.grad`.
# </details>
# <details><summary>Hint 3</summary>
#
# Divide by the maximum only if it is above zero. The hook has to go even if the model raises.
# </details>

# %% [markdown]
# **In practice.** Look at the map for the class that was predicted *and* for the right one. Heat
# maps of this kind uncovered a detector of horses that looked at the photographer's copyright tag.
# A map is evidence about the network, at the resolution of its last layer, not a proof. Section 9 has a
# proof.
#
# ### Where does the patient look?
#
# Its inputs are two numbers, so the map is a plane, and no hook is needed: a *saliency* map, the
# slope of the score at the input.

# %%
grid = torch.stack(torch.meshgrid(*[torch.linspace(-2, 2, 41)] * 2, indexing="xy"), dim=-1)
grid = grid.view(-1, 2).to(device).requires_grad_()
healthy, patient = make_patient(ill=False), make_patient()
slopes = {}
for name, network in (("healthy", healthy), ("the patient", patient)):
    _ = train(network, 300)
    (slope,) = torch.autograd.grad(network(grid).sum(), grid)
    slopes[name] = slope.norm(dim=1).view(41, 41).cpu()
figure, panels = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
for panel, (name, slope) in zip(panels, slopes.items(), strict=True):
    drawn = panel.imshow(
        slope,
        cmap="magma",
        vmin=0,
        vmax=slopes["healthy"].max(),
        extent=(-2, 2, -2, 2),
        origin="lower",
    )
    panel.set(title=name, xlabel="first coordinate", ylabel="second coordinate")
figure.colorbar(drawn, ax=panels, label="slope of the score")
show(
    figure,
    "The healthy network's score is steep along both axes; the patient's is flat everywhere.",
)

# %% [markdown]
# The healthy network looks at the two axes, where the answer changes. The patient looks nowhere.

# %% [markdown]
# ## 5. After accumulation: must all gradients be there at once?
#
# You have found gradients, measured them, drawn with them. They also cost memory: from the end of
# `backward()` to `zero_grad()`, as much as the weights. Is it needed? The optimizer treats one
# parameter at a time, and a parameter's gradient is complete long before `backward()` ends.
#
# The opening is on the parameter: a **post-accumulate hook** runs right after `.grad` was filled,
# and is called with the parameter. Compare it with the tensor hook, which runs before.

# %% topics=["post-accumulate-hooks"]
w = torch.ones(2, requires_grad=True)
w.register_hook(lambda grad: print("tensor hook:    ", grad.tolist(), w.grad))
w.register_post_accumulate_grad_hook(lambda p: print("post-accumulate:", p.grad.tolist()))
for _ in range(2):
    (3 * w).sum().backward()

# %% [markdown]
# In the second round the tensor hook gets this round's 3, and the post-accumulate hook sees the sum
# 6. It exists for leaves only: an intermediate result has nothing to accumulate into.
#
# ### Exercise 7.8 — Step inside backward ★★ · 15 min · 4 points
#
# Let `loss.backward()` alone train. Write `step_in_backward(parameters, lr, momentum)`, which
# registers hooks on the parameters and returns their handles. From then on each `backward()` is a
# whole step of SGD with momentum, as `torch.optim.SGD` takes it:
#
# ```
# velocity = gradient                          the first time
# velocity = momentum * velocity + gradient    from then on
# weight   = weight - lr * velocity
# ```
#
# - Each gradient is used and set free **before the next one is made**: no `.grad` is left after
#   `backward()`, and in the middle of it never more than one.
# - Parameters with `requires_grad=False` are in the list too; leave them be. Some are used more
#   than once in a forward pass.
# - With the handles removed, `backward()` takes no step.
# - Each call of `step_in_backward` starts with velocities of its own.
#
# Example: a parameter of value 1, `lr=0.1`, `momentum=0.5`, and twice a gradient of 1: after the
# first `backward()` it is 0.9, after the second 0.75.

# %% nbgrader={"grade_id": "try-step-in-backward", "locked": true}
from course_utils.chapters.hooks import check_steps, run_steps


@runs_with_the_answer
def try_steps(batches, lr, momentum, frozen, before) -> tuple:
    network = make_network()
    return run_steps(step_in_backward, network, batches, lr, momentum, frozen, before)


# %% nbgrader={"grade_id": "step-in-backward", "solution": true}
def step_in_backward(parameters: list[nn.Parameter], lr: float, momentum: float) -> list:
    """Let each ``backward()`` take a step of SGD with momentum; the handles of the hooks."""
    ### BEGIN SOLUTION
    velocities = {}

    @torch.no_grad()
    def step(parameter):
        velocity = velocities.setdefault(parameter, torch.zeros_like(parameter))
        velocity.mul_(momentum).add_(parameter.grad)
        parameter.sub_(lr * velocity)
        parameter.grad = None

    trained = [parameter for parameter in parameters if parameter.requires_grad]
    return [parameter.register_post_accumulate_grad_hook(step) for parameter in trained]
    ### END SOLUTION


# %% nbgrader={"grade_id": "step-in-backward-check", "grade": true, "points": 4}
def check_case(*arguments, **options):
    check_steps(try_steps, make_network, *arguments, **options)


generator = torch.Generator().manual_seed(0)
batches = [torch.randn(5, 4, generator=generator).to(device) for _ in range(3)]
with every_case() as case:
    with case("lr 0.1, no momentum"):
        check_case(batches, 0.1, 0.0, "leaky")
    with case("lr 0.1, momentum 0.5"):
        check_case(batches, 0.1, 0.5, "leaky")
    with case("lr 0.1, momentum 0.5, the stem frozen, torch.float64"):
        check_case([x.double() for x in batches], 0.1, 0.5, "stem")
    with case("a second call, which has velocities of its own"):
        check_case(batches[:2], 0.1, 0.9, "leaky", before=True)
    check_all_states(case, try_in_state, "steps")
### BEGIN HIDDEN TESTS
check_case(batches[::-1], 0.02, 0.9, "head")
check_case([*batches, *batches], 0.3, 0.8, "block")
check_case([batches[0][:1]], 1.0, 0.0, "leaky")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# One function for all parameters will do: the hook is handed the parameter.
# </details>
# <details><summary>Hint 2</summary>
#
# The velocities have to live somewhere between two calls, one for each parameter: a dict that the
# function closes over. Or give each parameter an optimizer of its own.
# </details>
# <details><summary>Hint 3</summary>
#
# Under `torch.no_grad()` you may write to a parameter in place. Last, `parameter.grad = None`.
# </details>

# %% [markdown]
# What does it buy? Here are the bytes of all living gradients during one `backward()` of the
# patient: once plain, and once with a step of gradient descent in the hook.


# %% topics=["post-accumulate-hooks"]
def living_gradients(step_inside: bool) -> list[tuple[int, int]]:
    """How many gradients were made so far, and the bytes in ``.grad``, moment by moment."""
    network, course = make_patient(), [(0, 0)]
    parameters = [*network.parameters()]

    def note(made):
        course.append((made, sum(p.grad.nbytes for p in parameters if p.grad is not None)))

    def hook(parameter):
        made = course[-1][0] + 1
        note(made)
        if step_inside:
            with torch.no_grad():
                parameter -= 0.01 * parameter.grad
            parameter.grad = None
            note(made)

    for parameter in parameters:
        parameter.register_post_accumulate_grad_hook(hook)
    _ = network(points()[0]).sum().backward()
    return course


figure, axes = plt.subplots(figsize=(7, 2.8))
for inside, colour, label in ((False, "#0072b2", "plain"), (True, "#b04500", "a step in the hook")):
    axes.plot(*zip(*living_gradients(inside), strict=True), ".-", color=colour, label=label)
weights = sum(p.nbytes for p in make_patient().parameters())
axes.axhline(weights, color="#6b6b6b", linestyle="--", label=f"all weights: {weights} bytes")
axes.set(xlabel="gradients made so far", ylabel="bytes in .grad", title="During one backward()")
axes.legend()
show(
    figure,
    "Plain, the bytes climb to those of all weights; with steps in the hook they rise and fall "
    "to 0, "
    "to 256 at most.",
)

# %% [markdown]
# Plain, they climb to the size of the model. With the step inside, each gradient is gone before the
# next arrives, and the peak is the largest parameter.
#
# **In practice** this is one way to tune large models on one GPU. What you give up: you can't add
# up the gradients of several batches, nor clip by the norm of *all* gradients.
# `DistributedDataParallel` has hooks at the same place, to send a gradient off while the next is
# still being computed.

# %% [markdown]
# ## 6. Hooks on what is saved: can it be kept smaller?
#
# Gradients are one part of the memory that training takes. Another, often the larger one, is what
# the forward pass saves for the way back. Chapter 05 watched it through an opening around every save,
# `saved_tensors_hooks(pack, unpack)`. What `pack` returns is kept in the tensor's place, and `unpack`
# has to make the tensor of it again. So it can be kept elsewhere (PyTorch's own pair `save_on_cpu()`
# moves it to the main memory and back, which buys a GPU's memory with time), or smaller.
#
# One trap: an operation such as `exp` saves what it returns. If `pack` handed that very tensor
# back, the tensor would own its node and the node the tensor. Such a circle is never set free;
# `detach()` breaks it.
#
# ### Exercise 7.9 — Keep half of it ★★ · 12 min · 3 points
#
# Write the pair: `offload_saved(tensor)` gives what is kept, `bring_back(kept)` gives the tensor
# again, with the dtype, shape and device that it had.
#
# - A float32 tensor that isn't a parameter is kept in half precision (`torch.float16`). No finite
#   value is larger than that can hold (65504).
# - Everything else is kept exactly. Parameters live anyway, so a second, smaller copy costs memory.
#   Indices and masks can't be rounded. Code that uses float64 or complex numbers wants their
#   precision.
# - What is kept exactly must not be the tensor itself, for the reason above, and needs no copy.
# - Keep a tensor, or a tuple, list or dict of tensors and plain values such as a dtype.
#
# Example: a float32 tensor of shape (3, 5) is kept in 30 bytes; `[0.1]` comes back as
# `[0.0999756]`. An int64 tensor of shape (3, 5) is kept in its own 120 bytes.

# %% nbgrader={"grade_id": "try-offload", "locked": true}
from course_utils.chapters.hooks import check_bring_back, check_offload, run_offload


@runs_with_the_answer
def try_offload(x) -> tuple[int, list[torch.Tensor], bool]:
    return run_offload(offload_saved, bring_back, x)


# %% nbgrader={"grade_id": "offload-saved", "solution": true}
def offload_saved(tensor: torch.Tensor) -> torch.Tensor | tuple | list | dict:
    """What is kept of a tensor that was saved for backward."""
    ### BEGIN SOLUTION
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.half(), tensor.dtype
    return tensor.detach(), tensor.dtype
    ### END SOLUTION


def bring_back(kept: torch.Tensor | tuple | list | dict) -> torch.Tensor:
    """The tensor again, of the dtype that it had."""
    ### BEGIN SOLUTION
    tensor, dtype = kept
    return tensor.to(dtype)
    ### END SOLUTION


# %% nbgrader={"grade_id": "offload-saved-check", "grade": true, "points": 3}
def check_back(numbers, dtype):
    check_bring_back(offload_saved, bring_back, torch.tensor(numbers, dtype=dtype, device=device))


kinds = (
    ([[0.1, -7.0]], torch.float32),
    ([1 / 3], torch.float64),
    ([3, 2**40], torch.int64),
    ([True, False], torch.bool),
    ([1 / 3, 1e-9], torch.bfloat16),
    *(([1 / 3 + 2j], kind) for kind in (torch.complex64, torch.complex128)),
    (0.1, torch.float32),
    ([[]], torch.float32),
    ([1 / 3, 2.0], torch.float16),
)
images = torch.randn(2, 2, 12, 12, generator=torch.Generator().manual_seed(0)).to(device)
with every_case() as case:
    for numbers, dtype in kinds:
        with case(str(dtype)):
            check_back(numbers, dtype)
    for batch in (images, images.double()):
        with case(f"a CNN, with a batch in {batch.dtype}"):
            check_offload(try_offload, batch)
    check_all_states(case, try_in_state, "offload")
### BEGIN HIDDEN TESTS
check_offload(try_offload, images.transpose(2, 3)[:1, :, ::1, 2:])
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `tensor.half()` and, on the way back, `.float()`. But only for those that were float32: keep a
# note of it.
# </details>
# <details><summary>Hint 2</summary>
#
# A tuple of the tensor and the dtype that it had makes `bring_back` one line.
# </details>

# %% [markdown]
# **In practice: measure.** Here are the bytes that two networks keep, as they are and in half
# precision. **Predict** the last number:


# %%
from course_utils import bytes_of


def kept_bytes(activation: nn.Module, form) -> int:
    network = nn.Sequential(nn.Conv2d(2, 4, 3), activation, nn.Conv2d(4, 4, 3)).to(device)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(form(t)), lambda _: None):
        network(torch.ones(1, 2, 32, 32, device=device))
    return bytes_of(kept, without=network.parameters())


for activation in (nn.GELU(), nn.ReLU()):
    plain, half = (
        kept_bytes(activation, form) for form in (torch.Tensor.detach, torch.Tensor.half)
    )
    print(activation, "as they are:", plain, " in half precision:", half)

# %% [markdown]
# For GELU half is half. For ReLU only a sixth is won. ReLU saves its output, and the convolution
# after it saves its input: the same tensor. As they are, both saves share one memory; `half()`
# makes a copy for each. A hook on saved tensors has to recognise what it has seen before. (It also
# has to recognise a view of a parameter, such as the `weight.t()` that a `Linear` saves: ask
# `tensor._base`.)
#
# And the patient? Little gradient reaches its ill layer, but not none. **Predict** what is left if the
# saved tensors are kept in half precision:

# %% tags=["shows-false"]
for name, form in (("exact:", torch.Tensor.detach), ("half: ", torch.Tensor.half)):
    patient, (x, y) = make_patient(), points()
    with torch.autograd.graph.saved_tensors_hooks(form, torch.Tensor.float):
        F.binary_cross_entropy_with_logits(patient(x), y).backward()
    norms = [layer.weight.grad.norm().item() for layer in (patient.layer2, patient.layer3)]
    print(name, "layer2 gets something:", norms[0] > 0, " layer3:", round(norms[1], 2))

# %% [markdown]
# Nothing at all. A tanh saves its output $y$, and its slope is $1 - y^2$. The patient's $y$ is
# 0.9999998, in half precision 1. So rounding does no harm to layer3, and cuts the last thread to
# layer2.

# %% [markdown]
# ## 7. A weight that is computed: can illness be ruled out?
#
# The patient was cured by hand. Could a layer be built so that its bias never grows that large? A
# forward pre-hook can set the module's own weight anew before each call. *Weight norm* is the classic
# case. It trains the length and the direction of each output's weights apart:
#
# $$w_i = g_i \cdot v_i / \lVert v_i \rVert \quad\text{for each output } i$$
#
# Today there is a tool for any computed weight. `parametrize` replaces `weight` by a property: whoever
# reads it has it computed. Here is a bias that can't leave (-2, 2):

# %%
from torch.nn.utils import parametrize


class Bounded(nn.Module):
    def forward(self, raw):
        return 2 * raw.tanh()

    def right_inverse(self, bias):
        return (bias.clamp(-1.9, 1.9) / 2).atanh()


# %%
patient = make_patient()
parametrize.register_parametrization(patient.layer2, "bias", Bounded())
print([name for name in patient.state_dict() if "layer2" in name])
print("the bias, once 8:", round(patient.layer2.bias[0].item(), 4))
print("after 300 steps the loss is below 0.1:", train(patient, 301)[-1] < 0.1)

# %% [markdown]
# The patient heals by itself. `forward` computes the bias from what is trained. `right_inverse`
# does the reverse, whenever a value is put in, so that it is kept as well as it can be. If it
# returns a tuple of tensors, each becomes a parameter, `original0`, `original1`, and `forward` gets
# them all.
#
# > **Then and now.** *"`nn.utils.weight_norm(layer)`."* It works by a hook, and it is deprecated.
# > Its weight is an ordinary tensor that the hook puts there, and such a module can't even be
# > copied. The new one, `nn.utils.parametrizations.weight_norm`, can.

# %% tags=["shows-deprecated"]
with warnings.catch_warnings(record=True, action="always") as caught:
    hooked = nn.utils.weight_norm(nn.Linear(2, 2))
try:
    copy.deepcopy(hooked)
except RuntimeError as error:
    print(caught[0].category.__name__, "|", str(error).split(".")[0])

# %% [markdown]
# ### Exercise 7.10 — Weight norm, twice ★★★ · 25 min · 4 points
#
# Write it both ways, for a `Linear` and a `Conv2d`. Don't call PyTorch's own weight norm.
#
# - The norm is taken over all of an output's weights: for a `Linear` over a row, for a `Conv2d` of
#   weight (out, in, kh, kw) over in, kh and kw.
# - The length has the shape (out, 1), or (out, 1, 1, 1): as many dimensions as the weight.
# - The weight's value, and so the layer's output, is the same right after. (No output's length is
#   below 1e-10.)
#
# `weight_norm(layer)` does it by a forward pre-hook. Returns the layer.
#
# - Afterwards the layer has the parameters `weight_g` (length) and `weight_v` (direction, at first
#   the old weight) in place of `weight`.
# - Before each call the hook sets `layer.weight` to the weight that follows from them; until the
#   first call `layer.weight` may be missing.
# - A deep copy, made while no computed `layer.weight` is there, uses parameters of its own.
#
# `WeightNorm` is a module for `parametrize.register_parametrization(layer, "weight",
# WeightNorm())`, with `forward(g, v)`, which uses these two alone, and `right_inverse(weight)`,
# which returns `(g, v)`.
#
# Example: a weight of `[[3, 4]]` has g = `[[5]]` and v = `[[3, 4]]`. With g = 10 it becomes `[[6,
# 8]]`.

# %% nbgrader={"grade_id": "layers", "locked": true}
from course_utils.chapters.hooks import check_weight_norm, run_weight_norm


@runs_with_the_answer
def try_weight_norm(weight, x, by_hook) -> tuple:
    function = weight_norm if by_hook else None
    return run_weight_norm(function, WeightNorm, weight, x)


# %% nbgrader={"grade_id": "weight-norm", "solution": true}
def weight_norm(layer: nn.Module) -> nn.Module:
    """Train length and direction of ``layer.weight``, (out, …), apart; by a forward pre-hook."""
    ### BEGIN SOLUTION
    weight = layer.weight.detach()
    dims = tuple(range(1, weight.dim()))
    del layer.weight
    layer.weight_g = nn.Parameter(torch.linalg.vector_norm(weight, dim=dims, keepdim=True))
    layer.weight_v = nn.Parameter(weight)

    def compute(module, args):
        v = module.weight_v
        length = torch.linalg.vector_norm(v, dim=dims, keepdim=True)
        module.weight = module.weight_g * v / length

    layer.register_forward_pre_hook(compute)
    return layer
    ### END SOLUTION


class WeightNorm(nn.Module):
    """The same for ``parametrize``."""

    def forward(self, g: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """The weight of length ``g`` in the direction of ``v``."""
        ### BEGIN SOLUTION
        return g * v / torch.linalg.vector_norm(v, dim=tuple(range(1, v.dim())), keepdim=True)
        ### END SOLUTION

    def right_inverse(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """``(g, v)`` that give this weight."""
        ### BEGIN SOLUTION
        dims = tuple(range(1, weight.dim()))
        return torch.linalg.vector_norm(weight, dim=dims, keepdim=True), weight
        ### END SOLUTION


# %% nbgrader={"grade_id": "weight-norm-check", "grade": true, "points": 4}
generator = torch.Generator().manual_seed(0)
weight, x = (torch.randn(3, 4, generator=generator).to(device) for _ in range(2))
kernels = torch.randn(2, 3, 2, 3, generator=generator).to(device)
images = torch.randn(2, 3, 4, 5, generator=generator).to(device)
check_case = check_weight_norm
with every_case() as case:
    for by_hook, way in ((True, "weight_norm"), (False, "WeightNorm")):
        with case(f"{way}, a Linear"):
            check_case(try_weight_norm, weight, x, by_hook)
        with case(f"{way}, a Conv2d in torch.float64"):
            check_case(try_weight_norm, kernels.double(), images.double(), by_hook)
        with case(f"{way}, a Linear with one output"):
            check_case(try_weight_norm, weight[:1], x, by_hook)
        with case(f"{way}, a Linear with rows of a length of some 1e-9"):
            check_case(try_weight_norm, 1e-9 * weight.double(), 1e9 * x.double(), by_hook)
        with case(f"{way}, a Conv2d with one output, its kernel transposed"):
            check_case(try_weight_norm, kernels.mT[:1], images.mT, by_hook)
    check_all_states(case, try_in_state, "weight norm")
### BEGIN HIDDEN TESTS
for by_hook in (True, False):
    check_case(try_weight_norm, kernels.mT[1:], images.mT, by_hook)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `torch.linalg.vector_norm(weight, dim=(1, 2, 3), keepdim=True)` has the shape you need for a
# `Conv2d`. For any number of dimensions: `tuple(range(1, weight.dim()))`.
# </details>
# <details><summary>Hint 2</summary>
#
# As long as `weight` is a registered parameter, a plain tensor can't be assigned to that name. Take
# it out first: `del layer.weight`.
# </details>
# <details><summary>Hint 3</summary>
#
# What the hook computes must be part of the graph: no `detach`, no `no_grad`. What becomes a parameter
# must not: there, detach.
# </details>

# %% [markdown]
# ## 8. Loading: what if the names have changed?
#
# `state_dict()` gives a model's tensors in a dict, under names such as `head.weight`, and
# `load_state_dict(dict)` copies such a dict into a model.
#
# Patients come back years later. Since then a colleague has renamed `out` to `head`, and the file
# of last year fails to load:

# %%
old = {name.replace("head", "out"): value for name, value in make_patient().state_dict().items()}
try:
    make_patient().load_state_dict(old)
except RuntimeError as error:
    print(str(error).splitlines()[1].split(",")[0].strip(), "…")

# %% [markdown]
# `strict=False` makes the error go away, and leaves the head at its random start. The right place
# for a repair is the model: a **load-state-dict pre-hook** is called before a module picks its own
# entries out of the dict, and may edit the dict. There are post-hooks, which get the lists of missing
# and unexpected keys, and the same pair for `state_dict()`.


# %% topics=["module-hooks"]
def look(module, state_dict, prefix, *rest):
    print(f"{type(module).__name__} with prefix {prefix!r}:", [*state_dict])


pair = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
pair[1].register_load_state_dict_pre_hook(look)
_ = pair.load_state_dict({"0.weight": torch.ones(1, 1), "1.weight": torch.ones(1, 1)})

# %% [markdown]
# The hook sees the part of the dict that belongs to its module, under the full keys, and the
# `prefix` that stands before the module's own names. For the model that is loaded itself the prefix
# is empty. The dict is a copy, made for this load: editing it does no harm to the caller's.

# %% [markdown]
# ### Exercise 7.11 — Old checkpoints ★★ · 15 min · 3 points
#
# Teach a model to take its old checkpoints. Write `state_dict_hooks(model, renamed)`, where
# `renamed` maps old names of the model's children, or of deeper modules such as `block.0`, to new
# ones.
#
# - From then on, whenever `model` is loaded, by itself or as a part of a larger model, keys of the
#   old names are taken for the new ones.
# - Return a list; at each load, each renamed key adds a string `"old key -> new key"` to it, both
#   as they stand in the dict.
# - A name begins right after the prefix and ends at a dot: `fc` is neither the beginning of `fc2`
#   nor the end of `block.fc`. At most one old name fits a key, and it is renamed once.
# - Names may be swapped: with `{"a": "b", "b": "a"}` each takes the other's weights.
# - Other keys stay as they are; what is still missing or unexpected is an error as always. A
#   checkpoint without old names loads as it did. The caller's dict stays as it is.
#
# Example: with `renamed = {"fc": "head"}`, a model under the name `net` and the key `net.fc.bias`,
# the list gets `"net.fc.bias -> net.head.bias"`.

# %% nbgrader={"grade_id": "try-loading", "locked": true}
from course_utils.chapters.hooks import check_loading, check_unknown_key, run_loading


@runs_with_the_answer
def try_loading(state, renamed, prefix, loads) -> tuple:
    return run_loading(state_dict_hooks, state, renamed, prefix, loads)


# %% nbgrader={"grade_id": "state-dict-hooks", "solution": true}
def state_dict_hooks(model: nn.Module, renamed: dict[str, str]) -> list[str]:
    """Take checkpoints with old names; the list to which each renamed key is added."""
    ### BEGIN SOLUTION
    log = []

    def rename(module, state_dict, prefix, *rest):
        values = {}
        for key in list(state_dict):
            for old, new in renamed.items():
                if key.startswith(f"{prefix}{old}."):
                    new_key = prefix + new + key.removeprefix(prefix + old)
                    values[new_key] = state_dict.pop(key)
                    log.append(f"{key} -> {new_key}")
                    break
        state_dict.update(values)

    model.register_load_state_dict_pre_hook(rename)
    return log
    ### END SOLUTION


# %% nbgrader={"grade_id": "state-dict-hooks-check", "grade": true, "points": 3}
with every_case() as case:
    for name, renamed, options in (
        ("fc for head", {"fc": "head"}, {}),
        ("a checkpoint without old names", {"fc": "head"}, {"new": True}),
        ("nothing renamed", {}, {}),
        ("fc for stem and fc2 for head", {"fc": "stem", "fc2": "head"}, {}),
        ("0 for tail, and a block.0 besides", {"0": "tail"}, {}),
        ("block.conv for block.0", {"block.conv": "block.0"}, {}),
        ("head and tail swapped", {"head": "tail", "tail": "head"}, {}),
        ("three names", {"a": "stem", "b": "head", "c": "tail"}, {}),
        ("a part of a part of a model", {"fc": "head"}, {"prefix": "net.fc."}),
        ("two loads, one after the other", {"fc": "head"}, {"prefix": "net.", "loads": 2}),
    ):
        with case(name):
            check_loading(try_loading, renamed, **options)
    with case("a key nose.weight, which was not renamed"):
        check_unknown_key(try_loading)
    check_all_states(case, try_in_state, "loading")
### BEGIN HIDDEN TESTS
circle = {"stem": "head", "head": "tail", "tail": "stem"}
check_loading(try_loading, {"block.conv": "block.0", "a": "stem"})
check_loading(try_loading, {"head_old": "head", "stem_head": "stem"}, "fc2.")
check_loading(try_loading, circle, "a.b.c.", loads=3)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# You change the dict while you walk over its keys: walk over `list(state_dict)`.
# </details>
# <details><summary>Hint 2</summary>
#
# A key of yours begins with the prefix, then the old name, then a dot. `pop` the value, and keep it
# apart until all old keys are out.
# </details>

# %% [markdown]
# **In practice** PyTorch does this to itself. The new weight norm of section 7 carries such a hook,
# and takes checkpoints of the old one:

# %%
layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
old = {"weight_g": torch.ones(2, 1), "weight_v": torch.eye(2), "bias": torch.zeros(2)}
print(layer.load_state_dict(old))
print([*layer.state_dict()])

# %% [markdown]
# ## 9. Intervention: which layer decides? · core
#
# You have watched, drawn and repaired. One question is open since section 1. A layer returns an
# activation, and the model gives an answer: is the one the *reason* for the other? Watching can't
# tell. An **intervention** can. Run the model twice, on an input A and an input B, which get
# different answers. Then run B once more, but replace one layer's activation by what it was in run
# A. If the answer turns from B's into A's, that activation carries it. Today this is one of the
# main tools for finding out how a language model does what it does, under the name *activation
# patching*.
#
# Two halves, both of them forward hooks: one that keeps, one that returns. By hand, on a model of
# one number, where two branches are added up:


# %% topics=["module-hooks"]
class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.twice, self.square = nn.Identity(), nn.Identity()

    def forward(self, x):
        return self.twice(2 * x) + self.square(x * x)


branches, a, b, kept = Branches(), torch.tensor(10.0), torch.tensor(1.0), {}
with branches.square.register_forward_hook(lambda m, args, out: kept.update(square=out.clone())):
    print("run A:", branches(a).item())
print("run B:", branches(b).item())
with branches.square.register_forward_hook(lambda m, args, out: kept["square"]):
    print("run B with A's square:", branches(b).item())

# %% [markdown]
# 2 from B and 100 from A: the square is what made A's answer large. In a plain chain of layers every
# layer turns the answer. The patch tells something where paths run side by side, as in every network
# with residual connections.
#
# Two runs of *different* models work just as well, if they have the same modules. Then the
# question is which part of an ill model the healthy one has to lend it.
#
# ### Exercise 7.12 — Intervention ★★ · 22 min · 5 points · core
#
# Which layers carry the answer? Write `intervention(donor, model, names, a, b)`. Run A is
# `donor(a)`. Then, for each name in `names`, make a run B: `model(b)`, in which the module of that
# name returns what the donor's module of the same name returned in run A. Return a dict from each
# name to the output of run B.
#
# - `donor` and `model` may be one and the same. The donor is run once on `a`, and `model` once for
#   each name on `b`, each time with that *one* module patched. Each module runs in the mode
#   that it is in.
# - Each named module is called once in a run; inputs may be passed by keyword.
# - What a module returns is a tensor, or a tuple that holds tensors and tuples, as an LSTM's (no named
#   ones). It is the value at the moment when the module returned it, whatever happens to it later,
#   in place.
# - The answers, which are tensors, have no graph. (No `forward` switches autograd on, and no model
#   returns its input or a parameter as it is.)
# - All is left as it was, even if a run raises or a name is unknown (the exception goes on its
#   way): your hooks are gone, those that were there before are not, modes, `.grad` and autograd's
#   own mode are untouched.
#
# Example: `intervention(branches, branches, ["twice", "square"], a, b)` gives 21 for `twice` and
# 102 for `square`.
#
# **Then use it**, in a cell of your own. `make_committee(seed=4)` answers the patient's question:
# its output is positive if both coordinates have the same sign. Six blocks, `blocks.0` to
# `blocks.5`, each add something to a stream; one of them, chosen at random, does the work. Take a
# point A with a positive answer and a point B with a negative one, such as `torch.tensor([[1.0,
# 2.0]])` and `torch.tensor([[1.0, -2.0]])` (on `device`). Which block's activation turns the
# answer? Write its name into `deciding_block`.

# %% nbgrader={"grade_id": "committee", "locked": true}
from course_utils.chapters.hooks import make_committee, transplant


# %% nbgrader={"grade_id": "try-intervention", "locked": true}
from course_utils.chapters.hooks import check_clean_after_error, check_deciding
from course_utils.chapters.hooks import check_intervention, run_intervention


@runs_with_the_answer
def try_intervention(kind, names, a, b, seeds) -> dict:
    return run_intervention(intervention, kind, names, a, b, seeds)


# %% nbgrader={"grade_id": "intervention", "solution": true}
def intervention(
    donor: nn.Module, model: nn.Module, names: list[str], a: torch.Tensor, b: torch.Tensor
) -> dict[str, torch.Tensor]:
    """For each name: model(b) with that module's output replaced by the donor's in donor(a)."""
    ### BEGIN SOLUTION
    kept, answers = {}, {}

    def keep(name):
        return lambda module, args, output: kept.update({name: copy.deepcopy(output)})

    with torch.no_grad(), contextlib.ExitStack() as hooks:
        for name in names:
            module = donor.get_submodule(name)
            hooks.enter_context(module.register_forward_hook(keep(name)))
        donor(a)
    for name in names:
        module, patch = model.get_submodule(name), kept[name]
        with torch.no_grad(), module.register_forward_hook(lambda *_, patch=patch: patch):
            answers[name] = model(b)
    return answers
    ### END SOLUTION


deciding_block = None
### BEGIN SOLUTION
deciding_block = "blocks.2"
### END SOLUTION


# %% nbgrader={"grade_id": "intervention-check", "grade": true, "points": 4}
def check_case(*arguments):
    check_intervention(try_intervention, *arguments)


a, b = (torch.tensor([point], device=device) for point in ((1.0, 2.0), (1.0, -2.0)))
generator = torch.Generator().manual_seed(0)
first, second = (torch.randn(3, 4, 2, generator=generator).to(device) for _ in range(2))
with every_case() as case:
    for name, kind, names, seeds in (
        ("six blocks of one committee", "committee", [f"blocks.{n}" for n in range(6)], None),
        ("stem, a nested layer, the model", "committee", ["stem", "blocks.2.0", ""], None),
        ("two committees", "committee", ["blocks.1", "blocks.4", "head"], (0, 2)),
        ("no names", "committee", [], None),
        ("an LSTM, which returns a tuple with a tuple in it", "listener", ["lstm", "head"], None),
        ("a layer that an activation in place follows", "listener", ["enter", "act"], (0, 1)),
    ):
        with case(name):
            check_case(kind, names, *((a, b) if kind == "committee" else (first, second)), seeds)
    with case("inputs of two lengths, and a donor that is the model"):
        check_case("listener", ["act", "enter", "lstm"], first[:, :2], second)
    check_all_states(case, try_in_state, "intervention")
    for which, pair in (("a", (first[:, :, :1], second)), ("b", (first, second[:, :, :1]))):
        with case(f"an input {which} of the wrong shape, so that its run raises"):
            check_clean_after_error(try_intervention, ["enter", "lstm"], *pair)
### BEGIN HIDDEN TESTS
check_case("listener", ["head", "lstm", "enter"], second[:1], first[:1], (3, 4))
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "intervention-check-2", "grade": true, "points": 1}
a, b = (torch.tensor([point], device=device) for point in ((1.0, 2.0), (1.0, -2.0)))
check_deciding(deciding_block, 4, a, b)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Run A is what `capture` does: a hook on each named module of the donor, all of them in an
# `ExitStack`. Run B needs one hook, in a `with` block, once for each name.
# </details>
# <details><summary>Hint 2</summary>
#
# What a forward hook returns takes the output's place, whatever it is: a tuple, too. Which copy
# works for a tensor and for a tuple of tuples? The module `copy` has one, if there is no graph.
# </details>
# <details><summary>Hint 3</summary>
#
# A `lambda` in a loop looks its names up when it runs. Here that is in time, if the hook is gone
# before the next round.
# </details>

# %% [markdown]
# ### The patient's last visit
#
# A healthy network has been trained, and answers every point right. Then its copy is damaged: in
# one layer, chosen at random, all biases become 8. Nothing is trained any more, so there is no gradient
# to monitor. Which layer is it?


# %%
twin, (x, y) = make_patient(ill=False), points()
_ = train(twin, 300)
damaged = copy.deepcopy(twin)
chosen = int(torch.randint(2, 6, (), generator=torch.Generator().manual_seed(4)))
nn.init.constant_(damaged.get_submodule(f"layer{chosen}").bias, 8.0)


def share_right(score):
    return round(((score > 0) == (y > 0)).float().mean().item(), 2)


print("right answers of the healthy one:", share_right(twin(x)))
print("right answers of the damaged one:", share_right(damaged(x)))

# %%
names = [f"layer{n}" for n in range(1, 7)]
shares = {
    name: share_right(s) for name, s in transplant(intervention, twin, damaged, names, x).items()
}
figure, axes = plt.subplots(figsize=(7, 2.8))
axes.bar(
    shares.keys(),
    shares.values(),
    color=["#009e73" if s > 0.9 else "#6b6b6b" for s in shares.values()],
)
axes.axhline(share_right(damaged(x)), color="#b04500", linestyle="--", label="without a transplant")
axes.set(
    ylim=(0, 1.05),
    title="green: healed",
    ylabel="share of right answers",
    xlabel="layer transplanted from the healthy twin",
)
axes.legend(loc="upper left")
show(
    figure,
    "Transplants of the first layers change nothing; from one layer on, all answers are right.",
)

# %% [markdown]
# A staircase with one step. A healthy activation that is put in before the ill layer is wiped out
# there. One that is put in at the ill layer or closer to the head heals everything. So the first
# green bar is the ill layer. No gradient was needed, and it is a proof: with this layer's output
# exchanged, and with nothing else exchanged, the network is well. Now lend it the twin's parameters
# for good:

# %%
ill = next(name for name in names if shares[name] > 0.9)
_ = damaged.get_submodule(ill).load_state_dict(twin.get_submodule(ill).state_dict())
print("the first that heals is the one that was damaged:", ill == f"layer{chosen}")
print("right answers now:", share_right(damaged(x)))
print("hooks left:", hooks_on(damaged), hooks_on(twin))

# %% [markdown]
# The patient is discharged, and not a hook is left in it.

# %% [markdown]
# ## Heard elsewhere
#
# *"To keep a layer's outputs, append them to `self.trace` in `forward`."* The list grows with every
# call, and each tensor in it holds the graph of its call. A hook that is never removed does the same.


# %% errata=["activation-trace-leak"]
class Traced(nn.Linear):
    def forward(self, x):
        y = super().forward(x)
        self.trace = [*getattr(self, "trace", []), y]
        return y


traced = Traced(2, 2)
for _ in range(3):
    _ = traced(torch.ones(1, 2))
print("outputs kept:", len(traced.trace))
print("with a graph:", all(y.grad_fn is not None for y in traced.trace))

# %% [markdown]
# *"For Grad-CAM split the model: `model.classifier(model.features(image))`."* That repeats
# `forward`, and leaves out what is not in the two parts. A VGG pools and flattens in between.

# %% topics=["grad-cam"] errata=["gradcam-classifier-call"]
image = torch.empty(1, 3, 224, 224, device="meta")
try:
    vgg.classifier(vgg.features(image))
except RuntimeError as error:
    print(error)
print("by its own forward:", tuple(vgg(image).shape))

# %% [markdown]
# *"A hook for every module has to be registered on every module."* There is one registration for
# the whole process, also for modules that will be made later. Use it for a moment of debugging, in a
# `with` block.

# %% topics=["module-hooks"]
with nn.modules.module.register_module_forward_hook(tell):
    y = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))(torch.ones(4, 2))

# %% [markdown]
# ## What to take home
#
# | opening | called with | may return | for |
# | --- | --- | --- | --- |
# | `register_forward_pre_hook` | module, args | new args | computed weights, other inputs |
# | `register_forward_hook` | module, args, output | a new output | activations, interventions |
# | `register_full_backward_pre_hook` | module, grad_output | a new grad_output | gradients of outputs |
# | `register_full_backward_hook` | module, grad_input, grad_output | a new grad_input | monitors |
# | `tensor.register_hook` | the gradient, complete | a new gradient | masks, reversal |
# | `register_post_accumulate_grad_hook` | the parameter, `.grad` filled | nothing | steps inside backward |
# | `saved_tensors_hooks` | what is saved, what was kept | what to keep, the tensor | memory |
# | `register_load_state_dict_pre_hook` | module, dict, prefix, … | nothing; edits the dict | old checkpoints |
#
# **Three mistakes to remember**
#
# 1. Writing to the gradient or the output that a hook is handed. Others hold it too. Return a new
#    tensor.
# 2. Keeping outputs as they are. They hold the graph, and in-place operations change them later.
#    Detach and clone.
# 3. Losing the handle. Use `with`, or keep the list and remove it in a `finally`.
#
# **Read more.** The PyTorch documentation has the notes *Modules* (section on hooks) and *Autograd
# mechanics* (*Backward Hooks execution*, *Hooks for saved tensors*), and the tutorials *How to save
# memory by fusing an optimizer step into the backward pass* and *Parametrizations*. Papers:
# *Learning Deep Features for Discriminative Localization* (CAM), *Grad-CAM*, *Domain-Adversarial
# Training of Neural Networks* (gradient reversal), *Weight Normalization*, *Locating and Editing
# Factual Associations in GPT* (interventions).
