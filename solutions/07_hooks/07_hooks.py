# ---
# jupyter:
#   course:
#     title: Hooks
#     minutes: 270
# ---

# %% [markdown]
# # Hooks: what happens inside a model while it runs?
#
# A model takes a batch and gives back an answer. `backward()` fills its parameters with gradients.
# What lies between is closed: you see neither what the third layer put out nor what the loss told
# it. You could write `print` into every `forward`. But the model may not be yours, and tomorrow you
# want something else.
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
# - leave a model as you found it, and find the hook that somebody forgot.
#
# **It leans on** chapter 04: the graph, leaves, `.grad`, saved tensors. **Time:** about 80 minutes
# to read and run, three hours more with all eleven exercises. You can skip any exercise.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_close, check_equal, check_predictions, device
from course_utils import forbid_operators, runs_with_the_answer, show

# %% [markdown]
# ## A patient
#
# Here is a network that does not learn. It has six layers and a head. One layer was spoilt, drawn
# by lot, so reading the cell won't tell you which. Its task: do a point's two coordinates have the
# same sign?


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
from functools import partial

import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6, 2.6))
axes.plot(train(make_patient(ill=False), 150), label="healthy")
axes.plot(train(make_patient(), 150), label="the patient")
axes.set(xlabel="step", ylabel="loss", ylim=(0, 0.8), title="The same network twice")
axes.legend(loc="center right")
show(figure, "Two loss curves: the healthy network's falls, the patient's stays near 0.69.")

# %% [markdown]
# The patient's loss stays at 0.69, which is log 2: it tosses a coin. No error, no NaN. Which layer
# is it? By the end of section 3 you will have a tool that finds such a layer in any network,
# without touching a line of it.
#
# ## 1. Forward hooks: what a module puts out
#
# The simplest opening is right behind a module's `forward`. You register a function; from then on
# it is called with the module, the tuple of its inputs and its output.


# %% topics=["hook-concept", "module-hooks"]
def tell(module, args, output):
    print(type(module).__name__, tuple(args[0].shape), "->", tuple(output.shape))


layer = nn.Linear(2, 3)
handle = layer.register_forward_hook(tell)
y = layer(torch.ones(4, 2))

# %% [markdown]
# The layer was not changed, and neither was whoever calls it. That is the point of a hook: it is
# plugged in from outside and can be pulled out again.
#
# **Predict:** which of these three lines prints?

# %% topics=["hook-concept"]
y = layer(torch.ones(1, 2))
y = layer.forward(torch.ones(2, 2))
handle.remove()
y = layer(torch.ones(3, 2))

# %% [markdown]
# Only the first. `layer(x)` is not `layer.forward(x)`: it is `Module.__call__`, which calls the
# hooks and `forward` in between. Who calls `forward` directly passes the hooks by. And `remove()`
# of the *handle* that `register_forward_hook` returned pulls the hook out. Keep the handle: there
# is no other door.
#
# A handle can also be used in a `with` block. The hook is gone when the block ends, even by an
# error:

# %% topics=["module-hooks"]
with layer.register_forward_hook(tell):
    y = layer(torch.ones(5, 2))
y = layer(torch.ones(6, 2))

# %% [markdown]
# ### Looking and touching
#
# A hook that returns nothing only looks. What it returns takes the place of the output. A **forward
# pre-hook** stands before `forward` and may replace its inputs:

# %% topics=["module-hooks"]
layer = nn.Linear(2, 1, bias=False)
nn.init.ones_(layer.weight)
print(layer(torch.tensor([1.0, 2.0])).item())
layer.register_forward_pre_hook(lambda module, args: (10 * args[0],))
layer.register_forward_hook(lambda module, args, output: output + 0.5)
print(layer(torch.tensor([1.0, 2.0])).item())

# %% [markdown]
# Several hooks at one opening run in the order of their registration, and each gets what the one
# before it returned. `prepend=True` puts one at the front. **Predict** the number:

# %% topics=["module-hooks"]
layer = nn.Identity()
layer.register_forward_hook(lambda module, args, output: output + 1)
layer.register_forward_hook(lambda module, args, output: 10 * output, prepend=True)
layer(torch.tensor(2))

# %% [markdown]
# First times ten, then plus one. Keyword arguments are not in `args`; ask for them:


# %% topics=["module-hooks"]
def tell_all(module, args, kwargs, output):
    print(len(args), "positional,", "by name:", [*kwargs])


attention = nn.MultiheadAttention(4, 1)
attention.register_forward_hook(tell_all, with_kwargs=True)
token = torch.ones(1, 1, 4)
_ = attention(token, token, value=token, need_weights=False)

# %% [markdown]
# And a hook for *every* module, also for those that will be made later, is registered with the
# library instead of a module. Use it for a moment of debugging, and remove it: it is on for all of
# the process.

# %% topics=["module-hooks"]
with nn.modules.module.register_module_forward_hook(tell):
    y = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))(torch.ones(4, 2))

# %% [markdown]
# ### A first look into the patient
#
# `named_modules()` lists all modules of a model with their names, at any depth; `named_children()`
# those directly inside. Let's hang a hook on each that notes the name. **Predict** what this
# prints:

# %%
patient, seen = make_patient(), []
for name, module in patient.named_children():
    module.register_forward_hook(lambda *_: seen.append(name))  # noqa: B023
_ = patient(torch.ones(1, 2, device=device))
print(seen)

# %% [markdown]
# The last name, thirteen times. The `lambda` does not remember what `name` was when it was made. It
# looks `name` up when the hook *runs*, and by then the loop is over. Hooks that are written in a
# loop often have this bug; linters know it by the name B023. Bind the value: by
# `functools.partial`, or by a function that makes the hook. Here is one, and with it the mean size
# of what each layer puts out.


# %%
def keep_size(name, sizes):
    return lambda module, args, output: sizes.update({name: output.abs().mean().item()})


# %%
patient, sizes = make_patient(), {}
for name, module in patient.named_children():
    module.register_forward_hook(keep_size(name, sizes))
_ = train(patient, 1)
print({name: round(size, 2) for name, size in sizes.items() if "tanh" in name})

# %% [markdown]
# Every layer puts something out, of ordinary size. One may catch your eye: its numbers are all near
# 1. Is that the illness, or just what this layer has to say? Activations alone don't tell. We will
# look from the other side; first, more about activations.
#
# ### Features without cutting the model open
#
# People often want what a pretrained model computes on the way. An old habit is to cut the model
# up: take its children, leave some out, and put them into an `nn.Sequential`.
#
# > **Then and now.** *"`vgg16().features` ends with relu5_3"* and *"ResNet without its last child
# > gives the pooled feature vector."* The first ends with a pooling layer. The second gives a
# > vector with two dimensions too many, because `flatten` is no child: it is a line in `forward`,
# > and `forward` was thrown away. Put all children into a `Sequential`, and it fails.
#
# (On the device `meta` tensors have shapes and no numbers. So these networks cost us nothing.)

# %% topics=["feature-extraction-single", "extract-layers"] errata=["gap-feature-shape", "vgg-relu5-3"]
import torchvision

with torch.device("meta"):
    vgg, resnet = torchvision.models.vgg16(), torchvision.models.resnet18().eval()
    images = torch.empty(2, 3, 64, 64)
print("vgg16().features ends with", type(vgg.features[-1]).__name__)
print("without the last child:", tuple(nn.Sequential(*list(resnet.children())[:-1])(images).shape))

# %% topics=["extract-layers"] errata=["gap-feature-shape"]
try:
    nn.Sequential(*resnet.children())(images)
except RuntimeError as error:
    print("all children in a row:", error)

# %% [markdown]
# A hook needs no cutting: `forward` runs as it was written, and you listen where you like. It also
# reaches modules deep inside, by their names. For several layers at once, hang several hooks. Here
# `partial` binds the name:

# %% topics=["feature-hooks", "feature-extraction-multi"]
shapes, handles = {}, []

for name in ("layer1.0.conv2", "layer3", "avgpool"):
    module = resnet.get_submodule(name)
    keep = partial(lambda name, module, args, output: shapes.update({name: output.shape}), name)
    handles.append(module.register_forward_hook(keep))
_ = resnet(images)
print({name: tuple(shape) for name, shape in shapes.items()})

# %% [markdown]
# torchvision has a tool for the same wish. `create_feature_extractor` traces `forward` into a
# graph, so it can stop at lines that are no modules, such as `flatten`, and it leaves out what
# comes after. In return it needs a model that can be traced: no `if` on the values of a tensor.

# %% topics=["feature-hooks", "feature-extraction-single"] errata=["gap-feature-shape"]
from torchvision.models.feature_extraction import create_feature_extractor

for handle in handles:
    handle.remove()  # what traces a model traces its hooks, too
extractor = create_feature_extractor(resnet, {"layer3": "map", "flatten": "vector"})
print({name: tuple(feature.shape) for name, feature in extractor(images).items()})

# %% [markdown]
# Which one? Hooks, when you want to look for a while, or at gradients too, or into a model that
# can't be traced. The extractor, when the features are the product.
#
# **In practice** three things go wrong when activations are kept. They hang on the graph, and so
# keep the whole of it in memory. The hooks stay. And the third is sly. **Predict** what was kept of
# the first layer:

# %% topics=["feature-hooks"]
network = nn.Sequential(nn.Linear(1, 3), nn.ReLU(inplace=True))
nn.init.constant_(network[0].weight, -1)
kept = []
network[0].register_forward_hook(lambda module, args, output: kept.append(output.detach()))
_ = network(torch.tensor([[5.0]]))
kept[0].tolist()

# %% [markdown]
# The layer put out numbers near -5. Then the ReLU behind it wrote its zeros into the same memory,
# which `detach()` shares. The first exercise is a tool that gets all three right.

# %% [markdown]
# ### Exercise 7.1 — Capture ★★ · 20 min · 4 points
#
# Write a context manager `capture(model, names)`. `names` are names as `named_modules()` gives
# them; `""` is the model itself. `with capture(model, names) as seen:` gives a dict with a list for
# each name. Every call of that module inside the block appends its output, a tensor, to its list:
#
# - as the module returned it: what happens to the tensor afterwards, in place, must not show;
# - without a graph: `requires_grad` is `False`.
#
# When the block ends, by an exception too, your hooks are gone, other people's are still there, and
# the exception goes on its way. A name that the model doesn't have is a `KeyError` on entering, and
# again no hook is left.
#
# Example: in the network below the block is called twice. So for one call of the network,
# `seen["block"]` holds two tensors of shape (batch, 6), and `seen["head"]` one of shape (batch, 3).


# %% nbgrader={"grade_id": "network", "locked": true}
class Network(nn.Module):
    """Four numbers in, three out; with a ReLU in place, and a block that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.relu = nn.Linear(4, 6), nn.ReLU(inplace=True)
        self.block = nn.Sequential(nn.Linear(6, 6), nn.Tanh())
        self.head = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.block(self.block(self.relu(self.stem(x)))))


def make_network(seed: int = 0) -> Network:
    torch.manual_seed(seed)
    return Network().to(device)


# %% nbgrader={"grade_id": "hooks-on", "locked": true}
def hooks_on(model: nn.Module) -> dict[str, int]:
    """How many hooks hang on each module that has any."""
    kinds = [f"_{kind}_hooks" for kind in ("forward", "forward_pre", "backward", "backward_pre")]
    pairs = model.named_modules()
    counts = {name: sum(len(getattr(module, kind)) for kind in kinds) for name, module in pairs}
    return {name: count for name, count in counts.items() if count}


# %% nbgrader={"grade_id": "try-capture", "locked": true}
import contextlib


@runs_with_the_answer
def try_capture(names: list[str], x: torch.Tensor, goes_wrong: bool = False) -> tuple:
    """What ``capture`` saw of one call, the error that came out, and the hooks that are left."""
    network, seen, error = make_network(), {}, ""
    network.stem.register_forward_hook(lambda module, args, output: None)  # somebody else's
    try:
        manager = capture(network, names)
        assert hasattr(manager, "__enter__"), f"capture returned {manager!r}, no context manager"
        with manager as seen:
            network(x)
            if goes_wrong:
                raise ZeroDivisionError
    except (KeyError, ZeroDivisionError) as caught:
        error = type(caught).__name__
    network(2 * x)  # outside the block
    return seen, error, hooks_on(network)


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
def check_case(names, x, **wrong):
    network = make_network()
    stem = network.stem(x)
    once = network.block(stem.relu())
    truth = {"stem": [stem], "relu": [stem.relu()], "block": [once, network.block(once)]}
    truth[""] = truth["head"] = [network.head(truth["block"][1])]
    seen, error, hooks = try_capture(names, x, **wrong)
    check_equal(error, "ZeroDivisionError" if wrong else "", "what the block raised")
    keys = sorted(seen) if isinstance(seen, dict) else seen
    check_equal(keys, sorted(names), "the keys of seen")
    for name, outputs in seen.items():
        assert isinstance(outputs, list), f"seen[{name!r}] is no list, with one entry for each call"
        why = "one for each call inside the block, and none after it"
        check_equal(len(outputs), len(truth[name]), f"the length of seen[{name!r}]", why)
        for output, right in zip(outputs, truth[name], strict=True):
            check_close(output, right, f"seen[{name!r}] (a ReLU in place follows the stem)")
            assert not output.requires_grad, f"seen[{name!r}] hangs on the graph: detach it"
    check_equal(hooks, {"stem": 1}, "hooks left afterwards", "one on stem, which is not yours")


x = torch.tensor([[1.0, -2, 0, 3], [0, 1, -1, 2]], device=device)
check_case(["head", "block"], x)
check_case(["stem"], x)
check_case(["stem", "block"], x, goes_wrong=True)
_, error, hooks = try_capture(["head", "nose"], x)
check_equal(error, "KeyError", "what a name raises that the model doesn't have")
check_equal(hooks, {"stem": 1}, "hooks left after a KeyError", "one on stem, which is not yours")
### BEGIN HIDDEN TESTS
check_case(["", "block", "relu"], torch.ones(1, 4, device=device))
check_case([], x)
check_case(["stem", "relu", "head"], x[:0])
with torch.no_grad():
    check_case(["stem", "block"], x.t().contiguous().t())
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `contextlib.contextmanager` makes a context manager of a generator: what stands before `yield` is
# done on entering, what stands in a `finally` behind it is done at the end.
# </details>
# <details><summary>Hint 2</summary>
#
# Look up all names before you register the first hook. Or let a `contextlib.ExitStack` hold the
# handles: a handle is a context manager, and the stack closes all that were entered.
# </details>
# <details><summary>Hint 3</summary>
#
# `detach()` leaves the graph and stays in the same memory. The ReLU in place writes to that memory.
# What makes a copy?
# </details>

# %% [markdown]
# ## 2. Tensor hooks: a gradient passes by
#
# The other side of the patient is the way back. Chapter 04 showed that the gradient of an
# intermediate result is used and thrown away. `.grad` is filled for leaves only.
#
# > **Then and now.** *"During `backward()` the gradients of intermediate results are stored in
# > their `.grad`."* They aren't, unless you ask by `retain_grad()`. They pass through the graph.
#
# A hook on the tensor sees it pass. It is called with the gradient as soon as that is complete:

# %% topics=["tensor-register-hook"] errata=["intermediate-grad-assigned"]
x = torch.tensor(3.0, requires_grad=True)
h = x * x
h.register_hook(lambda grad: print("dy/dh =", grad.item()))
(2 * h + h).backward()
print("h.retains_grad:", h.retains_grad, " x.grad:", x.grad.item())

# %% [markdown]
# *Complete* means: `h` is used twice, and the hook ran once, with the sum 3.
#
# What the hook returns takes the gradient's place, from there on back. **Predict** `x.grad`:

# %% topics=["tensor-register-hook"]
x = torch.tensor(3.0, requires_grad=True)
h = x * x
h.register_hook(lambda grad: 10 * grad)
h.register_hook(lambda grad: grad + 1)
h.backward()
x.grad

# %% [markdown]
# The hooks run in the order of their registration, the second on the first one's result: dy/dh is
# 1, then 10, then 11, and 11 · 2 · 3 is 66. The values of the forward pass are what they were.
#
# A hook on a **leaf** runs before the gradient is added to `.grad`. So it sees what this
# `backward()` brings, not what has been accumulated:

# %% topics=["tensor-register-hook"]
w = torch.ones(1, requires_grad=True)
w.register_hook(lambda grad: print("hook:", grad.item(), " w.grad so far:", w.grad))
for factor in (2, 3):
    (factor * w).sum().backward()
w.grad

# %% [markdown]
# Sometimes the gradients of *several* tensors are wanted, together. `register_multi_grad_hook`
# calls once, when all of them are there:

# %% topics=["tensor-register-hook"]
a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
torch.autograd.graph.register_multi_grad_hook(
    (a, b), lambda grads: print([grad.tolist() for grad in grads])
)
(2 * a + a * b).sum().backward()

# %% [markdown]
# ### Return, never write
#
# It is tempting to change the gradient in place. Let's freeze the first row of `w` that way.
# **Predict** `w.grad`:


# %% topics=["tensor-register-hook"]
def spoil(grad):
    grad[0] = 0
    return grad


w = torch.ones(3, 2, requires_grad=True)
w.register_hook(spoil)
w.sum().backward()
w.grad

# %% [markdown]
# *All* rows are zero, and nobody complained. The gradient of a sum is one number, expanded: six
# elements in one box of memory (chapter 02). Here is the other way in which it goes wrong. A sum of
# two tensors hands the same gradient to both:

# %%
w, other = (torch.ones(2, 2, requires_grad=True) for _ in range(2))
w.register_hook(spoil)
(w + other).mul(torch.ones(2, 2)).sum().backward()
other.grad

# %% [markdown]
# There was no hook on `other`. So: a hook returns a new tensor and leaves the one that it was
# handed alone. `grad * mask` is fine, `grad.clone()` first is fine, `grad.mul_(mask)` is not.
#
# ### Exercise 7.2 — Reverse the gradient ★★ · 12 min · 3 points
#
# A classifier of photos should not care which camera took them. A trick for that: a second head
# tries to tell the camera from the features, and its gradient is *reversed* on the way into the
# features. The head gets better at its job, the features get worse for it.
#
# Write the layer in between, `y = reverse(x, strength)`, twice. `y` has exactly the values of `x`;
# the gradient that reaches `x` **through `y`** is the gradient of `y` times `-strength`. Nothing
# else about `x` changes: the classifier uses the same `x`, and its gradient is not reversed.
#
# - `gradient_reversal(x, strength)`, by a tensor hook. Where `x` needs no gradient, or under
#   `no_grad`, it gives the values and nothing more.
# - `Reversal`, an `autograd.Function` with `Reversal.apply(x, strength)`.
#
# Example: with x = 3 and strength 0.5, `y` is 3. The derivative of `y * y` with respect to `x`
# becomes -3 instead of 6. That of `y * y + x` becomes -2.


# %% nbgrader={"grade_id": "try-reversal", "locked": true}
@runs_with_the_answer
def try_reversal(x: torch.Tensor, strength: float, weight: float, by_function: bool) -> tuple:
    """The layer's output y, and the gradient of sum((y + weight * x) ** 2) / 2 at x."""
    x = x.clone().requires_grad_()
    y = (Reversal.apply if by_function else gradient_reversal)(x, strength)
    assert isinstance(y, torch.Tensor), f"it returned {y!r}: is there an answer yet?"
    loss = (y + weight * x if weight != 1 else y + x).square().sum() / 2
    (gradient,) = torch.autograd.grad(loss, x)
    return y.detach(), gradient


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
def check_case(x, strength, weight):
    for by_function in (False, True):
        name = "Reversal.apply" if by_function else "gradient_reversal"
        y, gradient = try_reversal(x, strength, weight, by_function)
        assert torch.equal(y, x), f"{name}: the values of y are not exactly those of x"
        through_y, beside_y = (1 + weight) * x, weight * (1 + weight) * x
        why = f" ({weight:g} times x is used beside y)" if weight else ""
        truth = beside_y - strength * through_y
        check_close(gradient, truth, f"{name}, strength {strength:g}: the gradient at x{why}")


x = torch.tensor([3.0, -1.0], device=device)
check_case(x, 0.5, 0)
check_case(x, 0.5, 2)
check_case(x, 0.5, 1)
for y in (gradient_reversal(x, 0.5), Reversal.apply(x, 0.5)):
    check_close(y, x, "y for an x that needs no gradient")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
rows = torch.randn(4, 6, generator=generator, dtype=torch.float64).to(device)
for tensor in (rows, rows.t(), rows[:, ::2], rows[0, 0], rows[:0], rows[:1].expand(3, 6)):
    for strength, weight in ((0.3, 0), (1.7, 0.25), (0, 1), (-2, 1)):
        check_case(tensor, strength, weight)
with torch.no_grad():
    y = gradient_reversal(x.clone().requires_grad_(), 0.5)
check_close(y, x, "y under no_grad")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A hook on `x` itself changes every gradient that arrives there, the classifier's too. On which
# tensor should it sit?
# </details>
# <details><summary>Hint 2</summary>
#
# `x.view_as(x)` is a new tensor of the graph with the same values. It needs a gradient exactly when
# one can be computed; ask it before you register.
# </details>
# <details><summary>Hint 3</summary>
#
# `backward` of a Function returns one entry for each argument of `forward`. A number has no
# gradient: `None`. And a hook or a `backward` gives back a new tensor.
# </details>

# %% [markdown]
# ### Exercise 7.3 — Freeze some rows ★★ · 20 min · 5 points
#
# You add four new words to a pretrained vocabulary. The rows of the old words should stay as they
# are. `requires_grad` is all or nothing for a tensor; a hook can be finer.
#
# **First**, `freeze_rows(embedding, rows)`: register a hook so that the gradient of
# `embedding.weight` is zero in these rows and as before in all others. Return its handle. `rows` is
# a list of indices and may be empty.
#
# Example: with a 3 × 2 table and `rows = [0]`, `weight.sum().backward()` fills `weight.grad` with
# `[[0, 0], [1, 1], [1, 1]]`.
#
# **Then predict.** A gradient of zero is no promise that the row stays. Take a table of ones, and a
# loss that has a gradient for every row in every step. A row is frozen by `freeze_rows`, then three
# steps are taken. Does that row's value move? Write `True` if it does. In those that say *after a
# step*, one step is taken before the hook is registered, and the question is whether the row moves
# in the three steps after that. What is not named has its default.


# %% nbgrader={"grade_id": "try-freezing", "locked": true}
@runs_with_the_answer
def try_freezing(table: torch.Tensor, rows: list[int]) -> dict[str, torch.Tensor]:
    """The gradients of an embedding with frozen rows, and of a tensor without a hook."""
    embedding = nn.Embedding.from_pretrained(table.clone(), freeze=False)
    weight, other = embedding.weight, torch.ones_like(table, requires_grad=True)
    handle = freeze_rows(embedding, rows)
    assert hasattr(handle, "remove"), f"freeze_rows returned {handle!r}, not the handle of a hook"
    found = {}
    (weight + other).square().sum().backward()
    found["weight"], found["other"], weight.grad = weight.grad, other.grad, None
    weight.sum().backward()
    found["sum"] = weight.grad.clone()
    (2 * weight).sum().backward()
    found["accumulated"], weight.grad = weight.grad, None
    handle.remove()
    weight.sum().backward()
    return {**found, "removed": weight.grad, "values": weight.detach()}


# %% nbgrader={"grade_id": "freeze-rows", "solution": true}
def freeze_rows(embedding: nn.Embedding, rows: list[int]) -> torch.utils.hooks.RemovableHandle:
    """Keep the gradient of these rows of ``embedding.weight`` at zero; the hook's handle."""
    ### BEGIN SOLUTION
    mask = torch.ones_like(embedding.weight[:, :1], requires_grad=False)
    mask[rows] = 0
    return embedding.weight.register_hook(lambda grad: grad * mask)
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
def check_case(table, rows):
    frozen = torch.zeros(len(table), 1, dtype=torch.bool, device=device)
    frozen[rows] = True
    ones = torch.ones_like(table)
    truth = {"weight": 2 * (table + 1), "sum": ones, "accumulated": 3 * ones}
    truth = {name: right.masked_fill(frozen, 0) for name, right in truth.items()}
    found = try_freezing(table, rows)
    note = f"with rows {rows} of {len(table)} frozen"
    check_close(found["values"], table, "the table itself, which nobody asked to change")
    name = "weight.grad after weight.sum().backward(), whose gradient is an expanded number"
    check_close(found["sum"], truth["sum"], f"{name}, {note}")
    check_close(found["weight"], truth["weight"], f"weight.grad {note}")
    name = "the gradient of a tensor without a hook, which shared its gradient with weight"
    check_close(found["other"], 2 * (table + 1), f"{name} ({note})")
    check_close(found["accumulated"], truth["accumulated"], f"weight.grad of two backwards, {note}")
    check_close(found["removed"], ones, f"weight.grad after handle.remove(), {note} until then")


check_case(torch.arange(6.0, device=device).view(3, 2), [0])
check_case(torch.arange(6.0, device=device).view(3, 2), [])
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for shape, rows in (((5, 3), [1, 4]), ((7, 1), [0, 2, 6]), ((2, 4), [0, 1]), ((4, 2), [-1])):
    check_case(torch.randn(shape, generator=generator).to(device), rows)
check_case(torch.randn(6, 2, generator=generator, dtype=torch.float64).to(device), [5, 3])
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "freeze-rows-check-2", "grade": true, "points": 2}
def check_by_running(name):
    kind, *options = name.removesuffix(", after a step").split(", ")
    options = {key: float(value) for key, _, value in (part.partition("=") for part in options)}
    weight, mask = torch.ones(3, 2, requires_grad=True), torch.tensor([[0.0], [1.0], [1.0]])
    optimizer = getattr(torch.optim, kind)([weight], lr=0.1, **options)
    if name.endswith("after a step"):
        weight.grad = torch.ones(3, 2)
        optimizer.step()
    before = weight[0].tolist()
    for _ in range(3):
        weight.grad = mask * torch.ones(3, 2)
        optimizer.step()
    return weight[0].tolist() != before


because = {
    "SGD": "it moves by the gradient, and that is zero",
    "SGD, weight_decay=0.1": "the decay is added by the optimizer, after every hook",
    "SGD, momentum=0.9": "a velocity that was never fed is zero",
    "SGD, momentum=0.9, after a step": "the first step left a velocity behind",
    "Adam": "a mean of zeros is zero",
    "Adam, after a step": "the first step left a running mean behind",
    "AdamW": "its weight decay is 0.01 unless you say otherwise",
}
check_predictions(the_frozen_row_moves, {n: check_by_running(n) for n in because}, because)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A mask of shape (rows, 1), one and zero, and a product.
# </details>
# <details><summary>Hint 2</summary>
#
# For the predictions: what does each optimizer add to the row besides the gradient? What has it
# kept from the steps before?
# </details>

# %% [markdown]
# If the row has to stay, whatever the optimizer does, put it back after each step. Optimizers have
# openings too, before and after `step()`:

# %% topics=["hook-concept"]
weight = torch.ones(3, 2, requires_grad=True)
optimizer = torch.optim.AdamW([weight], lr=0.1)
old = weight[:1].detach().clone()
optimizer.register_step_post_hook(lambda *_: weight.detach()[:1].copy_(old))
weight.sum().backward()
optimizer.step()
print([round(value, 3) for value in weight[:, 0].tolist()])

# %% [markdown]
# ## 3. Backward hooks: what a module is told
#
# To look at the way back through a whole model you would need a hook on every tensor, and you don't
# have the tensors: they are made inside `forward`. So modules have openings on the way back as
# well.
#
# - A **full backward hook** is called with `(module, grad_input, grad_output)`, two tuples: the
#   gradients of the module's inputs and of its outputs. What it returns replaces `grad_input`.
# - A **full backward pre-hook** is called with `(module, grad_output)`, before anything of the
#   module's way back is computed. What it returns replaces `grad_output`.


# %% topics=["module-hooks"]
def tell_gradients(module, grad_input, grad_output):
    shapes = [None if grad is None else tuple(grad.shape) for grad in (*grad_input, *grad_output)]
    print("gradients of input, output:", shapes)


# %% topics=["module-hooks"]
layer = nn.Linear(3, 2)
layer.register_full_backward_hook(tell_gradients)
layer(torch.ones(4, 3, requires_grad=True)).sum().backward()

# %% [markdown]
# `grad_output` has the shape of what the module put out, `grad_input` that of what it took in. The
# parameters' gradients are neither; they have hooks of their own. So which of the two must a hook
# replace, if the *parameters* are to feel it?

# %% topics=["module-hooks"]
layer = nn.Linear(1, 1)
with layer.register_full_backward_hook(
    lambda module, grad_input, grad_output: (0 * grad_input[0],)
):
    layer(torch.ones(1, 1, requires_grad=True)).sum().backward()
with layer.register_full_backward_pre_hook(lambda module, grad_output: (10 * grad_output[0],)):
    layer(torch.ones(1, 1, requires_grad=True)).sum().backward()
layer.weight.grad

# %% [markdown]
# The first backward left 1 in `weight.grad`, although its hook returned zeros: by the time
# `grad_input` is known, the weight has been served. The second added 10.
#
# > **Then and now.** *"`register_backward_hook` gives a module's input gradients."* For a module of
# > more than one operation it gave those of the last operation. It is still there, it warns, and
# > `register_full_backward_hook` is what you want. Compare: the input is 4 × 3, the output 4 × 1.
# > What the old hook gives belongs to the bias, the hidden layer and the weight of the *last*
# > layer.

# %% tags=["shows-deprecated"]
import warnings


block = nn.Sequential(nn.Linear(3, 2), nn.Sigmoid(), nn.Linear(2, 1))
block.register_backward_hook(tell_gradients)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    block(torch.ones(4, 3, requires_grad=True)).sum().backward()
print(str(caught[0].message)[:60], "…")

# %%
block = nn.Sequential(nn.Linear(3, 2), nn.Sigmoid(), nn.Linear(2, 1))
handle = block.register_full_backward_hook(tell_gradients)
block(torch.ones(4, 3, requires_grad=True)).sum().backward()

# %% [markdown]
# How does PyTorch know where a module's way back begins and ends? It puts two invisible nodes into
# the graph, one around the inputs and one around the output. That has a price: the output is now a
# view made by such a node, and nobody may write to it.

# %% topics=["module-hooks"]
network = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))
network[0].register_full_backward_hook(lambda *_: None)
try:
    network(torch.ones(1, 2))
except RuntimeError as error:
    print(str(error).split(".")[0])

# %% [markdown]
# If a model with in-place activations has to be watched, set their `inplace` to `False` first:

# %% topics=["module-hooks"]
for module in network.modules():
    if isinstance(module, nn.ReLU):
        module.inplace = False
print(tuple(network(torch.ones(1, 2)).shape))

# %% [markdown]
# And if no input of a module needs a gradient, as in the first layer of most models, there is
# nothing to wait for at its end. The hook then runs early, as soon as `grad_output` is known, with
# `None` for the input (and PyTorch warns if you never let an input have a gradient):

# %% topics=["module-hooks"]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    block(torch.ones(4, 3)).sum().backward()

# %% [markdown]
# ### Who is called when
#
# Here are all the openings of one layer, in a picture.

# %%
forward = ["forward pre-hook\nsees the input", "forward", "forward hook\nsees the output"]
inside = "tensor hook, then\npost-accumulate hook\nof each parameter"
backward = [
    "full backward hook\nsees grad_input",
    inside,
    "full backward pre-hook\nsees grad_output",
]
figure, axes = plt.subplots(figsize=(9, 2.8))
for height, row, colour in ((1, forward, "#0072b2"), (0, backward, "#b04500")):
    for place, name in enumerate(row):
        box = {"facecolor": "white", "edgecolor": colour, "boxstyle": "round,pad=0.5", "lw": 1.5}
        axes.text(place, height, name, ha="center", va="center", color=colour, bbox=box, fontsize=9)
for (start, end), height, name in (((-0.8, 2.8), 1, "xy"), ((2.8, -0.8), 0, ("dL/dy", "dL/dx"))):
    arrow = {"arrowstyle": "-|>", "color": "#8a8a8a", "lw": 1.5}
    axes.annotate("", (end, height), (start, height), zorder=0, arrowprops=arrow)
    for place, word in zip((start, end), name, strict=True):
        axes.text(place, height + 0.12, word, ha="center")
axes.set(xlim=(-1, 3), ylim=(-0.4, 1.4))
axes.set_axis_off()
words = "The way forward: pre-hook, forward, hook. The way back: backward pre-hook, then the "
show(figure, words + "parameters' tensor and post-accumulate hooks, then the backward hook.")

# %% [markdown]
# Two rules give the order. On the way forward a module's pre-hook comes before everything inside
# it, and its hook after. On the way back each hook waits for what it is to be shown. A backward
# pre-hook needs `grad_output` alone. A backward hook needs `grad_input`, so all inside the module
# is done by then.
#
# Two details. Of what is ready at one moment, autograd first does what ends in a parameter, then
# goes on to the input. And the two invisible nodes belong to the module: a tensor that goes in lies
# before them. So on the way back a module's own hook is called first, then the hook on the tensor
# that went in.
#
# ### Exercise 7.4 — The order of the hooks ★★ · 12 min · 3 points
#
# The model below has two layers inside, a and b, and h between them. Fourteen hooks are registered,
# and each writes a line when it is called. The input needs a gradient. There is one call forward
# and one `backward()`. Give each line its place, from 1 to 14. As an example, the model's forward
# pre-hook is 1: it comes before everything inside.


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


# %% nbgrader={"grade_id": "hook-order-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
model = TwoLayers().to(device)
model.log, places = [], {"model": model, "a": model.a, "b": model.b, "b.weight": model.b.weight}
for line in hook_order:
    name, _, kind = line.partition(": ")
    if name != "h":
        kind = kind.replace("-", " ").replace("pre hook", "pre_hook").replace(" ", "_")
        kind = kind.replace("tensor_", "").replace("late_hook", "late_grad_hook")
        getattr(places[name], f"register_{kind}")(lambda *_, line=line: model.log.append(line))
model(torch.ones(4, 2, requires_grad=True, device=device)).sum().backward()
reasons = {
    "model: full backward hook": "it shows the gradient of x, the last of all to be known",
    "model: full backward pre-hook": "it needs the gradient of the model's output and no more",
    "a: full backward hook": "it shows the gradient of a's input: everything inside a is done",
    "b: full backward hook": "it shows the gradient of b's input, not of its output; and what ends "
    "in a parameter goes first",
    "b.weight: tensor hook": "what ends in a parameter goes first",
    "b.weight: post-accumulate hook": "it runs as soon as .grad is filled, not at the very end",
    "h: tensor hook": "h is what a puts out and b takes in: whose hooks are on which side of it?",
}
for name, place in hook_order.items():
    asked = place is None or place in range(1, 15)
    assert asked, f"{name}: {place!r} is no place from 1 to 14"
check_predictions(hook_order, {line: place for place, line in enumerate(model.log, 1)}, reasons)

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
# ### Exercise 7.5 — Find the ill layer ★★ · 18 min · 4 points
#
# Now back to the patient. Write `grad_monitor(model)`. It hooks every module **that has no
# children** and returns `(norms, handles)`: a dict from the module's name (as `named_modules()`
# gives it) to a list, and a list of the handles. With each `backward()` the list gets one number, a
# Python `float`: the norm of the gradient of the module's **output**, over all its elements.
# Training goes on as if nobody looked.
#
# Example: for a batch of shape (4, 2), a `Linear(2, 3)` as the last layer and `loss =
# output.sum()`, the gradient is a 4 × 3 tensor of ones, and its norm is √12 ≈ 3.46.
#
# **Then use it**, in a cell of your own, on another patient: monitor `make_patient(seed=1)`,
# `train` it for a few steps, print `norms`. Walk from the head back to `layer1`, from one linear
# layer to the next. At which do you first meet a norm that is less than a thousandth of the one
# before it on your walk? Write its name into `ill_layer`.


# %% nbgrader={"grade_id": "try-monitor", "locked": true}
@runs_with_the_answer
def try_monitor(steps: int, ill: bool, seed: int) -> tuple:
    """What the monitor noted while a network was trained, and the weights after it."""
    network = nn.Sequential(make_patient(ill, seed), nn.Identity())
    found = grad_monitor(network)
    assert isinstance(found, tuple), f"grad_monitor returned {found!r}, not (norms, handles)"
    norms, handles = found
    train(network, steps)
    for handle in handles:
        handle.remove()
    noted = {name: list(values) for name, values in norms.items()}
    train(network, 1)
    assert noted == norms, "norms grew after all handles were removed: which hook is missing there?"
    return noted, [parameter.detach() for parameter in network.parameters()]


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
    noted, weights = try_monitor(steps, ill, seed)
    network = nn.Sequential(make_patient(ill, seed), nn.Identity())
    out, y = points()
    outputs = {f"0.{name}": (out := module(out)) for name, module in network[0].named_children()}
    loss = F.binary_cross_entropy_with_logits(outputs.setdefault("1", network[1](out)), y)
    grads = torch.autograd.grad(loss, list(outputs.values()))
    why = "every module without children, by its own name: what does a lambda look up, and when?"
    lengths = {name: len(values) for name, values in noted.items()}
    check_equal(lengths, dict.fromkeys(outputs, steps), "how many numbers each name has", why)
    for name, grad in zip(outputs, grads, strict=True):
        first, what = noted[name][0], f"norms[{name!r}][0], of the gradient of the module's output"
        assert type(first) is float, f"{what} is a {type(first).__name__}, not a plain float"
        check_close(torch.tensor(first), grad.norm().cpu(), what, rtol=1e-3, atol=0)
    train(network, steps + 1)
    for weight, right in zip(weights, network.parameters(), strict=True):
        check_close(weight, right.detach(), "a weight after training with the monitor", atol=1e-4)


check_case(2, True, 0)
### BEGIN HIDDEN TESTS
check_case(1, False, 1)
check_case(3, True, 2)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "grad-monitor-check-2", "grade": true, "points": 1}
assert ill_layer is not None, "ill_layer is still None: use your monitor on make_patient(seed=1)"
biases = {name: p.mean().item() for name, p in make_patient(seed=1).named_parameters()}
ill = max(biases, key=biases.get).removesuffix(".bias")
note = "from the head back, the first linear layer whose norm is far below the one behind it"
assert ill_layer == ill, f"it is not {ill_layer!r}: look for {note}"

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
# below.
# </details>

# %% [markdown]
# What was wrong with it? The bias of that layer is so large that its tanh sits at 1 for every
# point: it passes nothing on, and its slope there is as good as zero. Everything before it is cut
# off from the loss. And since the layer itself is told nothing, it will not heal. Such a layer is
# called *saturated*. You saw the sign of it in section 1, when one tanh put out ones; now you have
# the proof.

# %% [markdown]
# **In practice** a monitor like this runs for a few steps at the start of a long training. Norms
# that fall steadily from layer to layer mean vanishing gradients, norms that rise mean exploding
# ones; one sudden fall is a bug. Keep floats, as you did: tensors in a list would keep every step's
# gradients alive. `.item()` waits for a GPU to finish, so a monitor that runs always collects
# tensors of one element and moves them once in a while.
#
# ## 4. Grad-CAM: where did it look?
#
# We can see activations and gradients now. What do they tell together? Take a classifier of images.
# Its last convolution puts out maps: each channel says where in the image it found something. The
# gradient of one class's score says how much the score would grow with each map. Multiply, add up,
# and you have a map of what speaks for that class.
#
# We need a network and images. Here are shapes, drawn by a few lines, and a small CNN that ends in
# *global average pooling* (GAP: the mean of each map) and one linear layer.


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


def draw_shape(kind: int, y: float, x: float, size: float, image: torch.Tensor) -> None:
    """Draw a circle (0), a square (1) or a triangle (2) into an image of shape (3, h, w)."""
    rows, columns = torch.meshgrid(*map(torch.arange, image.shape[1:]), indexing="ij")
    down, right = rows - y, columns - x
    circle = down**2 + right**2 <= 1.15 * size**2
    square = torch.maximum(down.abs(), right.abs()) <= 0.92 * size
    triangle = (down <= size) & (2 * right.abs() <= 1.25 * (down + size))
    image[:, (circle, square, triangle)[kind]] = torch.tensor([0.9, 0.8, 0.3])[:, None]


# %%
def draw_images(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Noise with one shape in each image: (count, 3, 24, 24) and the kinds, 0, 1 or 2."""
    generator = torch.Generator().manual_seed(seed)
    images = 0.5 * torch.rand(count, 3, 24, 24, generator=generator)
    middles = 6 + 12 * torch.rand(count, 2, generator=generator)
    sizes = 3.5 + 3 * torch.rand(count, 1, generator=generator)
    for index, place in enumerate(torch.cat([middles, sizes], dim=1).tolist()):
        draw_shape(index % 3, *place, images[index])
    return images, torch.arange(count) % 3


# %%
images, kinds = draw_images(720, seed=0)
figure, panels = plt.subplots(1, 6, figsize=(9, 1.6))
for panel, image, kind in zip(panels, images, kinds, strict=False):
    panel.imshow(image.permute(1, 2, 0))
    panel.set_title(("circle", "square", "triangle")[kind])
    panel.set_axis_off()
show(figure, "Six noisy images, each with a yellow circle, square or triangle somewhere.")

# %%
torch.manual_seed(0)
shape_net = ShapeNet().to(device)
optimizer = torch.optim.Adam(shape_net.parameters(), lr=8e-3)
order = torch.Generator().manual_seed(0)
for _ in range(20):
    for batch in torch.randperm(len(images), generator=order).split(40):
        optimizer.zero_grad()
        F.cross_entropy(shape_net(images[batch].to(device)), kinds[batch].to(device)).backward()
        optimizer.step()

# %%
test_images, test_kinds = draw_images(150, seed=1)
right = shape_net(test_images.to(device)).argmax(dim=1).cpu() == test_kinds
print("more than 9 of 10 new images right:", right.float().mean().item() > 0.9)

# %% [markdown]
# With a GAP head there is a direct way to a map. The score of class $c$ is $\sum_k w_{ck} \cdot
# \text{mean}(A_k)$, with $A_k$ the maps and $w$ the weights of the linear layer. So $\sum_k w_{ck}
# A_k$ is what each place adds to it. This is **CAM**, the class activation map. It works with this
# head only. Let's look at an image with two shapes, wider than those of the training (a GAP head
# takes any size), and ask for both:


# %% topics=["grad-cam"]
def draw_heat(image: torch.Tensor, heats: dict[str, torch.Tensor]) -> None:
    """Show an image (3, h, w), then each map of any size over it."""
    figure, panels = plt.subplots(1, 1 + len(heats), figsize=(3.2 * (1 + len(heats)), 2.2))
    for panel, (title, heat) in zip(panels, {"the image": None, **heats}.items(), strict=True):
        panel.imshow(image.permute(1, 2, 0))
        if heat is not None:
            large = F.interpolate(heat.cpu()[None, None], image.shape[1:], mode="bilinear")
            panel.imshow(large[0, 0], cmap="magma", alpha=0.6)
        panel.set_title(title)
        panel.set_axis_off()
    show(figure, f"An image, and over it in bright colours where the network saw {list(heats)}.")


# %% topics=["grad-cam"]
both = 0.5 * torch.rand(3, 24, 44, generator=torch.Generator().manual_seed(2))
draw_shape(0, 12, 10, 5, both)
draw_shape(2, 12, 33, 5, both)
with torch.no_grad():
    maps = shape_net.features(both[None].to(device))[0]  # (channel, 6, 11)
    cam = torch.einsum("kc,chw->khw", shape_net.fc.weight, maps).relu()
draw_heat(both, {"circle": cam[0], "triangle": cam[2]})

# %% [markdown]
# One image, one forward pass, two answers to "why". Now for networks with any head. Where CAM reads
# $w_{ck}$ off the last layer, **Grad-CAM** asks autograd. The weight of a map is the mean of its
# gradient: $\alpha_k = \text{mean}(\partial\,\text{score}_c / \partial A_k)$. The map is
# $\text{relu}(\sum_k \alpha_k A_k)$.
#
# > **Then and now.** *"This recipe, with pooled gradients, is CAM."* It is Grad-CAM. For a GAP head
# > both agree up to a factor: the mean hands each of the H · W places the same share of the
# > gradient, so $\alpha_k = w_{ck} / (H W)$.

# %% topics=["grad-cam"] errata=["cam-is-gradcam"]
maps = shape_net.features(both[None].to(device))
score = shape_net.fc(maps.mean(dim=(2, 3)))[0, 0]
(gradient,) = torch.autograd.grad(score, maps)
alpha = gradient.mean(dim=(2, 3))[0]
torch.allclose(alpha * 6 * 11, shape_net.fc.weight[0], atol=1e-4)

# %% [markdown]
# Here we called the two halves of our network by hand. In general that is what goes wrong:
#
# > **Then and now.** *"Split the model: `model.classifier(model.features(image))`."* That repeats
# > `forward`, and leaves out what is not in the two parts. A VGG pools and flattens in between. A
# > hook leaves `forward` alone, and takes the channels from the maps instead of a fixed 512.

# %% topics=["grad-cam"] errata=["gradcam-classifier-call"]
image = torch.empty(1, 3, 224, 224, device="meta")
try:
    vgg.classifier(vgg.features(image))
except RuntimeError as error:
    print(error)
print(tuple(vgg(image).shape))

# %% [markdown]
# ### Exercise 7.6 — Grad-CAM ★★ · 20 min · 4 points
#
# Write `grad_cam(model, layer, image, target)`: `layer` is the name of a module that puts out maps
# of shape (1, channels, h, w), `image` has shape (3, height, width), `target` is the class. Return
# the map, of shape (h, w), without a graph, divided by its largest value. If nothing in the image
# speaks for the class, the map is all zeros. It must not become NaN.
#
# Use the score itself, not its softmax. Leave the model as it was: no hook of yours, and the
# `.grad` of its parameters untouched, so that the next `optimizer.step()` does not learn from your
# picture.
#
# Example: for our network with `layer="features"`, the map equals `cam[target] /
# cam[target].max()`. Look at yours by `draw_heat(both, {"circle": grad_cam(shape_net, "features",
# both.to(device), 0)})`.


# %% nbgrader={"grade_id": "try-grad-cam", "locked": true}
@runs_with_the_answer
def try_grad_cam(state: dict, layer: str, image: torch.Tensor, target: int) -> tuple:
    """The map for a network with these weights; are old gradients untouched, which hooks are left?"""
    model = ShapeNet().to(image)
    model.load_state_dict(state)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    heat = grad_cam(model, layer, image, target)
    grads = [parameter.grad for parameter in model.parameters()]
    untouched = all(grad is not None and bool((grad == 1).all()) for grad in grads)
    return heat, untouched, hooks_on(model)


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
def check_case(image, target, name, cut=9, bias=0.0):
    torch.manual_seed(3)
    model, layer = ShapeNet().to(image), "features" if cut == 9 else f"features.{cut - 1}"
    with torch.no_grad():
        model.fc.weight.add_(bias)
    maps = model.features[:cut](image[None])
    score = model.fc(model.features[cut:](maps).mean(dim=(2, 3)))[0, target]
    cam = torch.einsum("c,chw->hw", torch.autograd.grad(score, maps)[0].sum(dim=(0, 2, 3)), maps[0])
    state = {key: value.detach() for key, value in model.state_dict().items()}
    heat, untouched, hooks = try_grad_cam(state, layer, image, target)
    what = f"the map of {name}, layer {layer!r}, class {target}"
    nan = isinstance(heat, torch.Tensor) and bool(heat.isnan().any())
    assert not nan, f"{what} holds NaN: what is 0 / 0?"
    cam = cam.relu().detach()
    check_close(heat, cam / cam.max().clamp(min=1e-30), what, rtol=1e-3, atol=1e-4)
    assert not heat.requires_grad, f"{what} hangs on the graph: detach it"
    assert untouched, (
        ".grad of the parameters was changed: ask torch.autograd.grad for one gradient"
    )
    check_equal(hooks, {}, f"hooks on the model after {name}", "take yours out")


image = torch.rand(3, 24, 24, generator=torch.Generator().manual_seed(0)).to(device)
check_case(image, 0, "an image")
check_case(image, 1, "an image without anything that speaks for the class", bias=-1.0)
check_case(image, 2, "an image", cut=5)
### BEGIN HIDDEN TESTS
for cut in (1, 4, 6, 8, 9):
    check_case(image[:, 4:20].double(), 2, "a wide image in float64", cut)
check_case(0 * image, 0, "a black image", cut=8)
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
# **In practice.** Look at the map for the class that was predicted *and* for the right one. By heat
# maps of this kind people found a detector of horses that looked at the photographer's copyright
# tag. The packages `captum` and `pytorch-grad-cam` hold this and a dozen relatives. A map is
# evidence about the network, at the resolution of its last layer, not a proof.

# %% [markdown]
# ## 5. After accumulation: the optimizer inside `backward()`
#
# A training step holds a gradient for every parameter, all at once, from the end of `backward()` to
# `zero_grad()`. That is as much memory as the weights. Is it needed? The optimizer treats one
# parameter at a time, and a parameter's gradient is complete long before `backward()` ends.
#
# The opening for this is on the parameter: a **post-accumulate hook** runs right after `.grad` was
# filled. It is called with the parameter, not with the gradient. Compare it with the tensor hook,
# which runs before.

# %% topics=["post-accumulate-hooks"]
w = torch.ones(2, requires_grad=True)
w.register_hook(lambda grad: print("tensor hook:    ", grad.tolist(), w.grad))
w.register_post_accumulate_grad_hook(lambda p: print("post-accumulate:", p.grad.tolist()))
for _ in range(2):
    (3 * w).sum().backward()

# %% [markdown]
# In the second round the tensor hook gets this round's 3, and the post-accumulate hook sees the sum
# 6. It exists for leaves only: an intermediate result has nothing to accumulate into.

# %% topics=["post-accumulate-hooks"]
try:
    (2 * w).register_post_accumulate_grad_hook(print)
except RuntimeError as error:
    print(error)

# %% [markdown]
# ### Exercise 7.7 — Step inside backward ★★ · 18 min · 4 points
#
# Write `step_in_backward(parameters, lr, momentum)`. It registers hooks on the parameters and
# returns their handles. From then on `loss.backward()` alone is a whole step of SGD with momentum,
# as `torch.optim.SGD` takes it:
#
# ```
# velocity = gradient                          the first time
# velocity = momentum * velocity + gradient    from then on
# weight   = weight - lr * velocity
# ```
#
# Each gradient is used and set free **before the next one is made**: no `.grad` is left after
# `backward()`, and in the middle of it never more than one. Parameters with `requires_grad=False`
# are in the list too; leave them be. Some are used more than once in a forward pass. With the
# handles removed, `backward()` takes no step.
#
# Example: a parameter of value 1, `lr=0.1`, `momentum=0.5`, and twice a gradient of 1: after the
# first `backward()` it is 0.9, after the second 0.75.


# %% nbgrader={"grade_id": "try-step-in-backward", "locked": true}
@runs_with_the_answer
def try_step_in_backward(batches: list[torch.Tensor], lr: float, momentum: float, frozen: str):
    """Weights after each backward; the most gradients at once; whether it stops without hooks."""
    network = make_network()
    network.get_submodule(frozen).requires_grad_(False)
    parameters, alive, weights = list(network.parameters()), [], []
    handles = step_in_backward(parameters, lr, momentum)
    assert handles is not None, "step_in_backward returned None, not the handles of its hooks"
    for parameter in parameters:
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(
                lambda _: alive.append(sum(p.grad is not None for p in parameters))
            )
    for x in batches:
        network(x).square().mean().backward()
        weights.append([parameter.detach().clone() for parameter in parameters])
        alive.append(sum(p.grad is not None for p in parameters))
    most = max(alive)
    for handle in handles:
        handle.remove()
    network(batches[0]).square().mean().backward()
    return weights, most, all(map(torch.equal, parameters, weights[-1]))


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
def check_case(batches, lr, momentum, frozen):
    weights, most, stopped = try_step_in_backward(batches, lr, momentum, frozen)
    network = make_network()
    network.get_submodule(frozen).requires_grad_(False)
    optimizer = torch.optim.SGD(network.parameters(), lr=lr, momentum=momentum)
    for number, x in enumerate(batches):
        optimizer.zero_grad()
        network(x).square().mean().backward()
        optimizer.step()
        note = f"lr {lr:g}, momentum {momentum:g}, backward number {number + 1}"
        for (name, right), weight in zip(network.named_parameters(), weights[number], strict=True):
            check_close(weight, right.detach(), f"{name} ({note})", rtol=1e-4, atol=1e-6)
    assert most == 0, f"{most} gradients at once: use each in its own hook, then set it to None"
    assert stopped, "a backward() after all handles were removed still changed the weights"


generator = torch.Generator().manual_seed(0)
batches = [torch.randn(5, 4, generator=generator).to(device) for _ in range(3)]
check_case(batches, 0.1, 0.0, "relu")
check_case(batches, 0.1, 0.5, "relu")
check_case(batches, 0.1, 0.5, "stem")
### BEGIN HIDDEN TESTS
check_case(batches[::-1], 0.02, 0.9, "head")
check_case([*batches, *batches], 0.3, 0.8, "block")
check_case([batches[0][:1]], 1.0, 0.0, "relu")
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
# **In practice** this is how large models are tuned on one GPU. What you give up: you can't add up
# the gradients of several batches, nor clip by the norm of *all* gradients, since there is never a
# moment when all exist. `DistributedDataParallel` has hooks at the same place, to send a gradient
# off while the next is still being computed.
#
# ## 6. Hooks on what is saved
#
# Gradients are one part of the memory that training takes. Another, often the larger one, is what
# the forward pass saves for the way back. There is an opening there too, around every save:
# `saved_tensors_hooks(pack, unpack)`. What `pack` returns is kept in the tensor's place, and
# `unpack` has to make the tensor of it again.


# %% topics=["hook-concept"]
def pack(tensor):
    print("save", tuple(tensor.shape))
    return tensor.detach()


x = torch.ones(2, 3, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
    y = (x * x.exp()).sum()

# %% [markdown]
# `exp` saves its result, and a product saves both factors: three tensors. (Why `detach()`? `exp`
# saves what it returns. If `pack` handed that very tensor back, the tensor would own its node and
# the node the tensor. Such a circle is never set free.)
#
# PyTorch brings a pair of its own, `save_on_cpu()`. It moves what a GPU saves to the main memory
# and fetches it back when it is needed, which buys memory with time:

# %%
weight = torch.ones(3, 3, device=device, requires_grad=True)
with torch.autograd.graph.save_on_cpu():
    y = (weight @ weight.exp()).tanh().sum()
y.backward()
print(weight.grad.device == weight.device)

# %% [markdown]
# Anything can be kept in a tensor's place. A file, for instance:

# %%
import tempfile


def to_disk(tensor):
    file = tempfile.TemporaryFile()  # noqa: SIM115
    torch.save(tensor, file)
    return file


def from_disk(file):
    file.seek(0)
    return torch.load(file)


# %%
x = torch.linspace(-1, 1, 1000, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(to_disk, from_disk):
    y = x.exp().tanh().sum()
y.backward()
print(torch.allclose(x.grad, (1 - x.exp().tanh() ** 2) * x.exp()))

# %% [markdown]
# ### Exercise 7.8 — Keep half of it ★★ · 18 min · 3 points
#
# Write the pair: `offload_saved(tensor)` gives what is kept, `bring_back(kept)` gives the tensor
# again, with the dtype, shape and device that it had.
#
# - A float32 tensor that is no parameter is kept in half precision (`torch.float16`).
# - Everything else is kept exactly. Parameters live anyway, so a second, smaller copy costs memory.
#   Indices and masks can't be rounded. Whoever uses float64 wants it.
# - What is kept exactly must not be the tensor itself, for the reason above, and needs no copy.
#
# Keep a tensor, or a tuple of tensors and plain values such as a dtype. No value is larger than
# float16 can hold (65504).
#
# Example: a float32 tensor of shape (3, 5) is kept in 30 bytes; `[0.1]` comes back as
# `[0.0999756]`. An int64 tensor of shape (3, 5) is kept in its own 120 bytes.


# %% nbgrader={"grade_id": "small-cnn", "locked": true}
def make_cnn() -> nn.Sequential:
    torch.manual_seed(0)
    first, second = nn.Conv2d(2, 4, 3), nn.Conv2d(4, 6, 3)
    return nn.Sequential(first, nn.GELU(), nn.MaxPool2d(2), second, nn.Tanh()).to(device)


# %% nbgrader={"grade_id": "bytes", "locked": true}
import weakref


def bytes_of(kept: list, network: nn.Module) -> int:
    """Bytes of the storages of all tensors in ``kept``, except those of the parameters."""
    leaves = torch.utils._pytree.tree_leaves(kept)
    storages = [leaf.untyped_storage() for leaf in leaves if isinstance(leaf, torch.Tensor)]
    sizes = {storage.data_ptr(): storage.nbytes() for storage in storages}
    for parameter in network.parameters():
        sizes.pop(parameter.untyped_storage().data_ptr(), None)
    return sum(sizes.values())


# %% nbgrader={"grade_id": "try-offload", "locked": true}
def run_cnn(x: torch.Tensor, keep, back) -> tuple[int, list[torch.Tensor], bool]:
    """Bytes kept for a small CNN's backward, its gradients, and whether its output is set free."""
    network, kept = make_cnn().to(x.dtype), []
    plain = {torch.Tensor, nn.Parameter, torch.dtype, torch.device, torch.Size, int, bool, str}

    def pack(tensor):
        kept.append((keep(tensor), tensor.dtype))
        kinds = {type(leaf) for leaf in torch.utils._pytree.tree_leaves(kept[-1])} - plain
        assert not kinds, f"keep tensors and plain values, not {kinds}"
        return kept[-1]

    def unpack(pair):
        tensor = back(pair[0])
        assert isinstance(tensor, torch.Tensor), f"bring_back gave {tensor!r}, no tensor"
        assert tensor.dtype == pair[1], f"{pair[1]} was saved, and bring_back gave {tensor.dtype}"
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        output = network(x)
        unused = network(x)
    size, watched = bytes_of(kept, network) // 2, weakref.ref(unused)
    gradients = torch.autograd.grad(output.square().sum(), list(network.parameters()))
    kept.clear()
    del unused
    return size, list(gradients), watched() is None


@runs_with_the_answer
def try_offload(x: torch.Tensor) -> tuple[int, list[torch.Tensor], bool]:
    return run_cnn(x, offload_saved, bring_back)


# %% nbgrader={"grade_id": "offload-saved", "solution": true}
def offload_saved(tensor: torch.Tensor) -> torch.Tensor | tuple:
    """What is kept of a tensor that was saved for backward."""
    ### BEGIN SOLUTION
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.half(), tensor.dtype
    return tensor.detach(), tensor.dtype
    ### END SOLUTION


def bring_back(kept: torch.Tensor | tuple) -> torch.Tensor:
    """The tensor again, of the dtype that it had."""
    ### BEGIN SOLUTION
    tensor, dtype = kept
    return tensor.to(dtype)
    ### END SOLUTION


# %% nbgrader={"grade_id": "offload-saved-check", "grade": true, "points": 3}
def check_keep(tensor):
    halved = tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter)
    return (tensor.half() if halved else tensor.detach()), tensor.dtype


def check_case(x, name):
    most, truth, _ = run_cnn(x, check_keep, lambda pair: pair[0].to(pair[1]))
    size, gradients, free = try_offload(x)
    assert size <= most, f"{size} bytes are kept of {name}, {most} are enough"
    assert free, f"{name}: the output is never set free: a saved tensor holds its own node; detach"
    for gradient, right, layer in zip(gradients, truth, (0, 0, 3, 3), strict=True):
        check_close(gradient, right, f"a gradient of layer {layer}, {name}", rtol=1e-3, atol=1e-3)


for numbers in ([[0.1, -7.0]], [3, 2**40], [True, False]):
    tensor = torch.tensor(numbers, device=device)
    exact = tensor.half().float() if tensor.is_floating_point() else tensor
    check_close(bring_back(offload_saved(tensor)), exact, f"{numbers}, kept and brought back")
generator = torch.Generator().manual_seed(0)
images = torch.randn(2, 2, 12, 12, generator=generator).to(device)
check_case(images, "a batch in float32")
check_case(images.double(), "a batch in float64")
### BEGIN HIDDEN TESTS
check_case(images.transpose(2, 3)[:1, :, ::1, 2:], "a batch of another layout")
third = torch.tensor([1 / 3, -2 / 3], dtype=torch.float64, device=device)
check_close(bring_back(offload_saved(third)), third, "a float64 tensor, kept and brought back")
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
# **In practice: measure.** Half the bytes for every tensor is not always half the memory. Here are
# the bytes that two networks keep, as they are and in half precision. **Predict** the last number:


# %%
def kept_bytes(activation: nn.Module, form) -> int:
    network = nn.Sequential(nn.Conv2d(2, 4, 3), activation, nn.Conv2d(4, 4, 3)).to(device)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(form(t)), lambda _: None):
        network(torch.ones(1, 2, 32, 32, device=device))
    return bytes_of(kept, network)


# %%
for activation in (nn.GELU(), nn.ReLU()):
    print(activation, kept_bytes(activation, torch.Tensor.detach), end=" -> ")
    print(kept_bytes(activation, torch.Tensor.half))

# %% [markdown]
# For GELU half is half. For ReLU nearly nothing is won. ReLU saves its output, and the convolution
# after it saves its input: the same tensor. As they are, both saves share one memory; `half()`
# makes a copy for each. A hook on saved tensors has to recognise what it has seen before, or the
# measurement must say that it doesn't matter.
#
# ## 7. A weight that is computed
#
# Back to modules. A forward pre-hook may do more than look at inputs: it can set the module's own
# weight anew before each call. *Weight norm* is the classic case. It trains the length and the
# direction of each output's weights apart:
#
# $$w_i = g_i \cdot v_i / \lVert v_i \rVert \quad\text{for each output } i$$
#
# For long this was done by such a hook, in PyTorch's own `nn.utils.weight_norm` too. Today there is
# a tool for any computed weight. `parametrize` replaces `weight` by a property: who reads it has it
# computed.

# %%
from torch.nn.utils import parametrize


class Positive(nn.Module):
    def forward(self, x):
        return x.exp()

    def right_inverse(self, weight):
        return weight.log()


# %%
layer = nn.Linear(2, 1, bias=False)
nn.init.constant_(layer.weight, 3.0)
parametrize.register_parametrization(layer, "weight", Positive())
print([*layer.state_dict()], round(layer.weight[0, 0].item(), 4))

# %%
with torch.no_grad():
    layer.parametrizations.weight.original.sub_(5)
print(round(layer.weight[0, 0].item(), 3))

# %% [markdown]
# A step of -5 on what is trained, and the weight is still positive. It always will be.
#
# `forward` computes the weight from what is trained. `right_inverse` does the reverse, once, so
# that the weight keeps its value. If it returns a tuple of tensors, each becomes a parameter,
# `original0`, `original1`, and `forward` gets them all.
#
# > **Then and now.** *"`nn.utils.weight_norm(layer)`."* It works by a hook, and it is deprecated.
# > Its weight is an ordinary tensor that the hook puts there, and such a module can't even be
# > copied. The new one can: `nn.utils.parametrizations.weight_norm`.

# %% tags=["shows-deprecated"]
import copy

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    hooked = nn.utils.weight_norm(nn.Linear(2, 2))
print(caught[0].category.__name__)

# %%
try:
    copy.deepcopy(hooked)
except RuntimeError as error:
    print(str(error).split(".")[0])
_ = copy.deepcopy(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)))

# %% [markdown]
# ### Exercise 7.9 — Weight norm, twice ★★★ · 25 min · 4 points
#
# Write it both ways. The norm is taken over all of an output's weights: for a `Linear` over a row,
# for a `Conv2d` of weight (out, in, kh, kw) over in, kh and kw. The length has the shape (out, 1),
# or (out, 1, 1, 1): as many dimensions as the weight. The weight's value, and so what the layer
# puts out, is the same right after.
#
# - `weight_norm(layer)`, by a forward pre-hook. Afterwards the layer has the parameters `weight_g`
#   (length) and `weight_v` (direction, at first the old weight) in place of `weight`. Before each
#   call the hook sets `layer.weight` to the weight that follows from them. Returns the layer.
# - `WeightNorm`, a module for `parametrize.register_parametrization(layer, "weight",
#   WeightNorm())`, with `forward(g, v)` and `right_inverse(weight)`, which returns `(g, v)`.
#
# Don't call PyTorch's own weight norm. Example: a weight of `[[3, 4]]` has g = `[[5]]` and v =
# `[[3, 4]]`. With g = 10 it becomes `[[6, 8]]`.


# %% nbgrader={"grade_id": "layers", "locked": true}
def make_layer(weight: torch.Tensor) -> nn.Module:
    """A Linear or a Conv2d of this weight, with a bias of zeros."""
    outs, ins, *window = weight.shape
    layer = nn.Conv2d(ins, outs, window) if window else nn.Linear(ins, outs)
    layer.to(weight).weight = nn.Parameter(weight.clone())
    nn.init.zeros_(layer.bias)
    return layer


def try_layer(layer: nn.Module, x: torch.Tensor) -> tuple:
    """Its parameters by name, their gradients, its output, and that after a step of descent."""
    values = {name: parameter.detach().clone() for name, parameter in layer.named_parameters()}
    output = layer(x)
    output.square().sum().backward()
    grads = {name: parameter.grad for name, parameter in layer.named_parameters()}
    torch.optim.SGD(layer.parameters(), lr=0.05).step()
    return values, grads, output.detach(), layer(x).detach()


@runs_with_the_answer
def try_weight_norm(weight: torch.Tensor, x: torch.Tensor, by_hook: bool) -> tuple:
    layer = make_layer(weight)
    if by_hook:
        assert weight_norm(layer) is layer, "weight_norm does not return the layer"
    else:
        torch.nn.utils.parametrize.register_parametrization(layer, "weight", WeightNorm())
    return try_layer(layer, x)


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
def check_case(weight, x, by_hook):
    way = "weight_norm" if by_hook else "WeightNorm"
    right = torch.nn.utils.parametrizations.weight_norm(make_layer(weight))
    truth, _, output, later = try_layer(right, x)
    pairs = {f"parametrizations.weight.original{n}": f"weight_{'gv'[n]}" for n in (0, 1)}
    truth = {pairs.get(name, name) if by_hook else name: value for name, value in truth.items()}
    with forbid_operators("_weight_norm_interface", because="compute it yourself"):
        values, grads, found, stepped = try_weight_norm(weight, x, by_hook)
    note = "the old weight is no parameter any more" if by_hook else "right_inverse gives (g, v)"
    check_equal(sorted(values), sorted(truth), f"{way}: the layer's parameters", note)
    for name, value in truth.items():
        check_close(values[name], value, f"{way}: {name} at first", rtol=1e-4)
        assert grads[name] is not None, f"{way}: no gradient reaches {name}: was it detached?"
    check_close(found, output, f"{way}: the output right after", rtol=1e-4, atol=1e-4)
    what = f"{way}: the output after a step (is the weight computed for each call?)"
    check_close(stepped, later, what, rtol=1e-3, atol=1e-3)


generator = torch.Generator().manual_seed(0)
weight, x = (torch.randn(3, 4, generator=generator).to(device) for _ in range(2))
check_case(weight, x, True)
check_case(weight, x, False)
### BEGIN HIDDEN TESTS
kernels = torch.randn(2, 3, 2, 3, generator=generator, dtype=torch.float64).to(device)
images = torch.randn(2, 3, 4, 5, generator=generator, dtype=torch.float64).to(device)
for by_hook in (True, False):
    check_case(kernels, images, by_hook)
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
# What the hook computes must hang on the graph: no `detach`, no `no_grad`. What becomes a parameter
# must not: there, detach.
# </details>

# %% [markdown]
# ## 8. When a model is loaded
#
# A model gets old. Somebody renames `fc` to `head`, and all checkpoints of last year fail to load:

# %%
old = {name.replace("head", "fc"): value for name, value in make_network().state_dict().items()}
try:
    make_network().load_state_dict(old)
except RuntimeError as error:
    print(str(error)[:92])

# %% [markdown]
# `strict=False` makes the error go away, and leaves the head at its random start. The right place
# for a repair is the model: a **load-state-dict pre-hook** is called before a module takes what is
# its own from the dict, and may edit the dict. There are post-hooks, which get the lists of missing
# and unexpected keys, and the same pair for `state_dict()`.


# %% topics=["module-hooks"]
def look(module, state_dict, prefix, *rest):
    print(f"{type(module).__name__} with prefix {prefix!r}:", [*state_dict])


# %% topics=["module-hooks"]
pair = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
pair[1].register_load_state_dict_pre_hook(look)
_ = pair.load_state_dict({"0.weight": torch.ones(1, 1), "1.weight": torch.ones(1, 1)})

# %% [markdown]
# The hook sees the part of the dict that belongs to its module, under the full keys, and the
# `prefix` that stands before the module's own names. For the model that is loaded itself the prefix
# is empty. The dict is a copy, made for this load: editing it does no harm to the caller's.
#
# A post-hook gets what did not fit, and may edit that. Here one lets a missing bias pass, and says
# so:


# %% topics=["module-hooks"]
def forgive(module, keys):
    print("missing:", keys.missing_keys)
    keys.missing_keys.clear()


layer = nn.Linear(1, 1)
layer.register_load_state_dict_post_hook(forgive)
layer.load_state_dict({"weight": torch.ones(1, 1)})

# %% [markdown]
# ### Exercise 7.10 — Old checkpoints ★★ · 15 min · 3 points
#
# Write `state_dict_hooks(model, renamed)`. `renamed` maps old names of the model's children (or
# deeper modules) to new ones. From then on, whenever `model` is loaded, by itself or as a part of a
# larger model, keys of the old names are taken for the new ones. Return a list; each renamed key
# adds a string `"old key -> new key"` to it, both as they stand in the dict.
#
# A name ends at a dot: `fc` is not the beginning of `fc2`. Other keys stay as they are; what is
# still missing or unexpected is an error as ever. A new checkpoint loads as it did.
#
# Example: with `renamed = {"fc": "head"}`, a model under the name `net` and the key `net.fc.bias`,
# the list gets `"net.fc.bias -> net.head.bias"`.


# %% nbgrader={"grade_id": "try-loading", "locked": true}
@runs_with_the_answer
def try_loading(state: dict, renamed: dict[str, str], prefix: str = "") -> tuple:
    """The log, the network's state after loading, and the error if there was one."""
    network, error = make_network(seed=1), ""
    log = state_dict_hooks(network, renamed)
    assert isinstance(log, list), f"state_dict_hooks returned {log!r}, no list"
    model = nn.ModuleDict({prefix: network, "fc": nn.Linear(1, 1)}) if prefix else network
    keys = sorted(state)
    try:
        model.load_state_dict(state)
    except RuntimeError as caught:
        error = str(caught)
    assert sorted(state) == keys, "the caller's dict was changed"
    return log, {name: value.clone() for name, value in network.state_dict().items()}, error


# %% nbgrader={"grade_id": "state-dict-hooks", "solution": true}
def state_dict_hooks(model: nn.Module, renamed: dict[str, str]) -> list[str]:
    """Take checkpoints with old names; the list to which each renamed key is added."""
    ### BEGIN SOLUTION
    log = []

    def rename(module, state_dict, prefix, *rest):
        for key in list(state_dict):
            for old, new in renamed.items():
                if key.startswith(f"{prefix}{old}."):
                    new_key = prefix + new + key.removeprefix(prefix + old)
                    state_dict[new_key] = state_dict.pop(key)
                    log.append(f"{key} -> {new_key}")
                    break

    model.register_load_state_dict_pre_hook(rename)
    return log
    ### END SOLUTION


# %% nbgrader={"grade_id": "state-dict-hooks-check", "grade": true, "points": 3}
def check_case(renamed, name, prefix=""):
    new = {key: value.detach() for key, value in make_network(seed=0).state_dict().items()}
    back, old_keys = {after: before for before, after in renamed.items()}, {}
    for key in new:
        module, _, rest = key.rpartition(".")
        old_keys[key] = f"{prefix}{back.get(module, module)}.{rest}"
    log = [f"{old} -> {prefix}{key}" for key, old in old_keys.items() if old != prefix + key]
    state = {"fc.weight": torch.ones(1, 1), "fc.bias": torch.ones(1)} if prefix else {}
    state |= {old_keys[key]: value for key, value in new.items()}
    found, loaded, error = try_loading(state, renamed, prefix.rstrip("."))
    assert not error, f"{name}: load_state_dict raised: {' '.join(error.split())[:200]}"
    check_equal(sorted(found), sorted(log), f"{name}: the log")
    for key, value in new.items():
        check_close(loaded[key], value, f"{name}: {key} after loading")


check_case({"fc": "head"}, "a checkpoint with fc for head")
check_case({}, "a new checkpoint")
check_case({"fc": "stem", "fc2": "head"}, "a checkpoint with fc for stem and fc2 for head")
check_case({"fc": "head"}, "a model that is a part of another, which has an fc", "net.")
state = {key.replace("head", "nose"): value for key, value in make_network().state_dict().items()}
_, _, error = try_loading({key: value.detach() for key, value in state.items()}, {"fc": "head"})
assert "Unexpected key(s)" in error, "a key that nobody knows has to stay an error"
### BEGIN HIDDEN TESTS
check_case({"block.conv": "block.0", "a": "stem"}, "old names of deeper modules")
check_case({"head_old": "head", "stem_head": "stem"}, "old names that contain new ones", "fc2.")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# You change the dict while you walk over its keys: walk over `list(state_dict)`.
# </details>
# <details><summary>Hint 2</summary>
#
# A key of yours begins with the prefix, then the old name, then a dot. `pop` the value and put it
# in under the new key.
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
# One related case has a tool of its own: `nn.modules.utils.consume_prefix_in_state_dict_if_present`
# strips a prefix such as `module.` from all keys.
#
# ## 9. What hooks leave behind
#
# A hook is a function that a module, a tensor or the library holds on to. It holds on to everything
# that it closes over. So hooks are a fine way to lose memory.
#
# > **Then and now.** *"To keep a layer's outputs, append them to `self.trace` in `forward`."* The
# > list grows with every call, and each tensor in it holds the graph of its call.


# %% errata=["activation-trace-leak"]
class Traced(nn.Linear):
    def forward(self, x):
        y = super().forward(x)
        self.trace = [*getattr(self, "trace", []), y]
        return y


# %% errata=["activation-trace-leak"]
traced = Traced(2, 2)
for _ in range(3):
    _ = traced(torch.ones(1, 2))
print(len(traced.trace), "outputs, with a graph:", all(y.grad_fn is not None for y in traced.trace))

# %% [markdown]
# A hook that appends does the same from outside. And each time it is registered anew, it comes on
# top:


# %% topics=["module-hooks"]
def first_rows_leaky(model: nn.Module, batches: list[torch.Tensor]) -> list[torch.Tensor]:
    """The first row of what the stem puts out, for each batch."""
    rows = []
    model.stem.register_forward_hook(lambda module, args, output: rows.append(output[0]))
    for x in batches:
        model(x)
    return rows


# %%
network, batches = make_network(), [torch.ones(1000, 4, device=device)] * 2
for _ in range(3):
    rows = first_rows_leaky(network, batches)
print("hooks:", hooks_on(network))

# %%
print("a row:", rows[0].nbytes, "bytes; kept for it:", rows[0].untyped_storage().nbytes())
print("its graph:", rows[0].grad_fn is not None)

# %% [markdown]
# Three calls, three hooks; all the old lists grow with every further call. That is not all: each
# row is a small view of a large storage (chapter 02), it was written over by the ReLU in place, and
# it holds the graph and with it every activation of its batch.
#
# Copies multiply the trouble: a deep copy of a model has its hooks as well. A saved `state_dict`
# has none.

# %% topics=["module-hooks"]
print("in a copy:", hooks_on(copy.deepcopy(network)))
fresh = make_network()
_ = fresh.load_state_dict(network.state_dict())
print("in a network that loaded its state:", hooks_on(fresh))

# %% [markdown]
# **How to find such a thing.** `hooks_on(model)`, from exercise 5.1, counts the hooks of a model.
# It reads private attributes, because PyTorch has no public list. A weak reference tells whether
# something is still alive, without keeping it alive itself:

# %%
h = torch.ones(1000, requires_grad=True) * 2
total, alive = h.square().sum(), weakref.ref(h)  # square saves h
del h
print("h lives on in the graph of one number:", alive() is not None)
total = total.detach()
print("and after detach():", alive() is not None)

# %% [markdown]
# ### Exercise 7.11 — The model that keeps growing ★★ · 12 min · 3 points
#
# Write `hook_leak(model, batches)`, `first_rows_leaky` without the leaks. It returns a list with
# the first row of the stem's output for each batch, as the stem put it out, before the ReLU writes
# over it. But it
#
# - leaves no hook, even if a batch has the wrong shape and the model raises; other people's hooks
#   stay;
# - returns rows without a graph, whose storage holds the row and nothing else;
# - keeps nothing of an earlier call.
#
# Run the whole model, once for each batch, as `first_rows_leaky` does: imagine that the stem lies
# deep inside. Example: for two batches of shape (1000, 4) it returns two tensors of shape (6,),
# each with a storage of 24 bytes.


# %% nbgrader={"grade_id": "try-hook-leak", "locked": true}
class Token:
    """Put into a node of the graph; dies with it, and a weak reference can watch it."""


@runs_with_the_answer
def try_hook_leak(batches: list[torch.Tensor], calls: int) -> tuple:
    """What each call returned, the hooks left, how many graphs outlive it, how often it ran."""
    network, tokens, runs, results = make_network(), [], [], []

    def watch(module, args, output):
        node = output.grad_fn
        if node is not None:
            tokens.append(weakref.ref(node.metadata.setdefault("token", Token())))

    network.stem.register_forward_hook(watch)
    network.register_forward_hook(lambda *_: runs.append(1))
    for _ in range(calls):
        try:
            results.append(hook_leak(network, batches))
        except RuntimeError:
            results.append("RuntimeError")
    return results, hooks_on(network), sum(token() is not None for token in tokens), len(runs)


# %% nbgrader={"grade_id": "hook-leak", "solution": true}
def hook_leak(model: nn.Module, batches: list[torch.Tensor]) -> list[torch.Tensor]:
    """The first row of what ``model.stem`` puts out, for each batch; nothing else is kept."""
    ### BEGIN SOLUTION
    rows = []

    def keep(module, args, output):
        rows.append(output[0].detach().clone())

    with model.stem.register_forward_hook(keep):
        for x in batches:
            model(x)
    return rows
    ### END SOLUTION


# %% nbgrader={"grade_id": "hook-leak-check", "grade": true, "points": 3}
def check_case(batches, calls, name):
    results, hooks, alive, runs = try_hook_leak(batches, calls)
    fails = any(x.shape[1] != 4 for x in batches)
    truth = [] if fails else [make_network().stem(x)[0].detach() for x in batches]
    for rows in results:
        assert rows is not None, "hook_leak returned None: is there an answer yet?"
        length = rows if isinstance(rows, str) else len(rows)
        check_equal(length, "RuntimeError" if fails else len(batches), f"{name}: how many rows")
        for row, right in zip(rows, truth, strict=False):
            check_close(row, right, f"{name}: a row (as the stem put it out, before the ReLU)")
            assert not row.requires_grad, f"{name}: a row hangs on the graph: detach it"
            size = row.untyped_storage().nbytes()
            assert size == row.nbytes, f"{name}: a row of {row.nbytes} bytes holds {size}: clone it"
    note, others = f"after {calls} calls with {name}", {"": 1, "stem": 1}
    check_equal(hooks, others, f"hooks {note}", "these two are not yours")
    check_equal(alive, 0, f"graphs still alive {note}")
    check_equal(fails or runs, fails or calls * len(batches), f"runs of the whole model {note}")


generator = torch.Generator().manual_seed(0)
batches = [torch.randn(50, 4, generator=generator).to(device) for _ in range(2)]
check_case(batches, 1, "two batches")
check_case(batches, 3, "two batches")
check_case([batches[0], batches[1][:, :3]], 2, "a second batch of the wrong shape")
### BEGIN HIDDEN TESTS
check_case([batches[0][::7], batches[1].flip(0), batches[0][:1]], 2, "three batches of other sizes")
check_case([], 2, "no batch at all")
check_case([batches[0][:, :2]], 1, "one batch, of the wrong shape")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The handle in a `with` block is removed in any case.
# </details>
# <details><summary>Hint 2</summary>
#
# `output[0]` is a view of the whole output. What chapter 02 said about small views of large
# storages is one more word here.
# </details>

# %% [markdown]
# ## What to take home
#
# | opening | called with | may return | for |
# | --- | --- | --- | --- |
# | `register_forward_pre_hook` | module, args | new args | computed weights, other inputs |
# | `register_forward_hook` | module, args, output | a new output | activations, features |
# | `register_full_backward_pre_hook` | module, grad_output | a new grad_output | gradients of outputs |
# | `register_full_backward_hook` | module, grad_input, grad_output | a new grad_input | monitors |
# | `tensor.register_hook` | the gradient, complete | a new gradient | masks, reversal |
# | `register_post_accumulate_grad_hook` | the parameter, `.grad` filled | nothing | steps inside backward |
# | `saved_tensors_hooks` | what is saved, what was kept | what to keep, the tensor | memory |
# | `register_load_state_dict_pre_hook` | module, dict, prefix, … | nothing; edits the dict | old checkpoints |
# | `optimizer.register_step_post_hook` | optimizer, args, kwargs | nothing | constraints |
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
# mechanics* (*Backward Hooks execution*, *Hooks for saved tensors*), and the tutorials *Hooks for
# autograd saved tensors*, *How to save memory by fusing an optimizer step into the backward pass*
# and *Parametrizations*. The papers: *Learning Deep Features for Discriminative Localization*
# (CAM), *Grad-CAM*, *Domain-Adversarial Training of Neural Networks* (gradient reversal), *Weight
# Normalization*.
