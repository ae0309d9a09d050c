# ---
# jupyter:
#   course:
#     title: Layers
#     minutes: 240
#     core: 150
# ---

# %% [markdown]
# # Layers: can each one be written in ten lines, equal to PyTorch's?
#
# `nn.Conv2d`, `nn.BatchNorm2d`, `nn.LSTM`, `nn.MultiheadAttention`: their names sound like machines
# with many parts. Their documentation is long, since they take many arguments. What they compute is
# short. In this chapter you write each of them, compare every number with PyTorch's, and count the
# lines. At the end your parts learn to write, run torchvision's vision transformer, and tell shapes
# apart.
#
# **After this chapter you can**
#
# - say the output size of a stack of convolutions and poolings before you run it, and how much of
#   the image an output sees;
# - write batch norm with its backward pass, and the four other norms by changing one argument;
# - say what an embedding's `padding_idx` does, and what it does not do;
# - write RNN, GRU and LSTM, and run sequences of different lengths through them in one call;
# - write attention with its masks, and a small transformer that predicts the next letter;
# - explain what today's language models changed in it: turned places, shared keys, a cache;
# - run torchvision's vision transformer, weight by weight, through your own layers.
#
# **It leans on** chapters 01 to 04: broadcasting, strides, `@` and einsum, gradients. **Time:**
# four hours, without section 9 on recurrent layers, which is optional: with its two exercises it takes
# another 45 minutes. The **core path**, marked `· core` in the headings, takes two and a half hours;
# you can skip the rest without losing the thread.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_equal, check_parts, check_predictions, check_rules, check_value, show
from course_utils import device, every_case, runs_with_the_answer, seeded
from course_utils.chapters.layers import watched_in_use as watched

# %% [markdown]
# ## 1. Linear: one line · core
#
# Start with the layer that everyone knows. Each output is a weighted sum of all inputs, plus a bias.
# **Predict** the shape of `weight`.

# %% topics=["linear-layer"]
layer = nn.Linear(3, 2)  # from 3 features to 2
x = torch.randn(4, 3)  # (batch, feature)
print("weight:", tuple(layer.weight.shape), " bias:", tuple(layer.bias.shape))
print("output:", tuple(layer(x).shape))

# %% [markdown]
# The weight is `(out, in)`: a **row for each output**. The layer multiplies by its transpose,
# $y = xW^\top + b$. Read naively, that is a dot product for each output. Written compactly, it is a
# single product:

# %% topics=["linear-layer"]
naive = torch.stack(
    [(x * row).sum(1) + b for row, b in zip(layer.weight, layer.bias, strict=False)], dim=1
)
compact = x @ layer.weight.t() + layer.bias
torch.testing.assert_close(naive, layer(x))
torch.testing.assert_close(compact, layer(x))

# %% [markdown]
# The matrix has a number for every pair of input and output. That grows fast. On the device `meta`,
# tensors have shapes but no memory, so we can ask what a layer *would* weigh:

# %% topics=["linear-layer"]
for features in (1_000, 10_000, 224 * 224 * 3):
    big = nn.Linear(features, features, device="meta")
    print(f"{features:>7} features: {sum(p.nbytes for p in big.parameters()) / 1e9:8.3f} GB")

# %% [markdown]
# From a small photo to a small photo: 90 GB. This is why images get another layer (section 2).
#
# > **Then and now.** *"A wrong input size shows up as an illegal value in SGEMM."* That was a message
# > of the maths library below. Today both shapes are in the message:

# %% errata=["sgemm-illegal-value"]
try:
    nn.Linear(3, 2)(torch.zeros(1, 4))
except RuntimeError as error:
    print(error)

# %% [markdown]
# ### Exercise 9.1 — Linear by hand ★ · 2 min · 1 point · core
#
# Write `linear_by_hand(x, weight, bias)`, a linear layer from (…, in) to (…, out).
#
# - `x` has any number of leading dimensions, none included, each of any size, 0 included, in any
#   memory layout. `weight` is (out, in); `bias` is (out,) or `None`.
# - All have one floating dtype. Return (…, out) in that dtype.
# - Not allowed: `nn.Linear`, `F.linear`.
#
# In all exercises of this chapter:
#
# - Results stay in the graph: gradients flow back to each argument that requires one, unless values
#   alone are asked for.
# - Leave the arguments as they are: values, `requires_grad`, `grad`, and the entries of lists and
#   dicts.
#
# Example: with `x = [1, 2]`, `weight = [[1, 10], [0, 1]]` and `bias = [0, 5]` it gives `[21, 7]`.


# %% nbgrader={"grade_id": "try-gradients", "locked": true} jupyter={"source_hidden": true}
# For most exercises of this chapter. You need not read it.
from course_utils.chapters.layers import check_states as judged_states
from course_utils.chapters.layers import gradients_of


@runs_with_the_answer
def try_gradients(exercise: str, arguments: tuple) -> dict | None:
    return gradients_of(globals()[exercise], exercise, arguments)


def check_states(*case, **more):
    judged_states(try_gradients, *case, **more)


# %% nbgrader={"grade_id": "try-linear-by-hand", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_linear_by_hand(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> tuple:
    return watched(linear_by_hand, x, weight, bias)


# %% nbgrader={"grade_id": "linear-by-hand-truth", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_linear_by_hand as judged_linear_by_hand


def check_linear_by_hand(*case, **more):
    judged_linear_by_hand(try_linear_by_hand, *case, **more)


# %% nbgrader={"grade_id": "linear-by-hand", "solution": true}
def linear_by_hand(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None
) -> torch.Tensor:
    """``x`` (…, in) times ``weight`` (out, in), transposed, plus ``bias`` (out,): (…, out)."""
    ### BEGIN SOLUTION
    y = x @ weight.t()
    return y if bias is None else y + bias
    ### END SOLUTION


# %% nbgrader={"grade_id": "linear-by-hand-check", "grade": true, "points": 1}
example = [torch.tensor(v, device=device) for v in ([1.0, 2], [[1.0, 10], [0, 1]], [0.0, 5])]
normal = seeded(0)
with every_case() as case:
    with case("the example, whose x has no leading dimension"):
        check_linear_by_hand(*example)
    for numbers in ("", ", other numbers"):
        with case(f"a batch (4, 3), to 2 features{numbers}"):
            check_linear_by_hand(normal(4, 3), normal(2, 3), normal(2))
    with case("leading dimensions (2, 5, 3), no bias"):
        check_linear_by_hand(normal(2, 5, 3), normal(4, 3), None)
    with case("a batch of one, (1, 3); all three require a gradient"):
        check_linear_by_hand(*(normal(*n).requires_grad_() for n in ((1, 3), (2, 3), (2,))))
    for shape in ((0, 3), (2, 0, 3), (0, 2, 3)):
        with case(f"an empty batch, {shape}"):
            check_linear_by_hand(normal(*shape), normal(2, 3), normal(2))
    with case("a transposed input, float64"):
        x, weight, bias = (normal(*shape).double() for shape in ((3, 4, 2, 3), (1, 3), (1,)))
        check_linear_by_hand(x.transpose(0, 2), weight, bias)
    for dtype, bias in ((torch.float16, None), (torch.bfloat16, example[2].bfloat16())):
        with case(f"{dtype}, {'no' if bias is None else 'a'} bias"):
            check_linear_by_hand(example[1].to(dtype), example[1].to(dtype), bias)
check_states(linear_by_hand, *example, what="linear_by_hand(x, weight, bias)")
### BEGIN HIDDEN TESTS
check_linear_by_hand(normal(3, 4).t().unsqueeze(0), normal(3, 5).t(), normal(5))
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint</summary>
#
# `@` takes any number of leading dimensions on the left, and a vector too. What if there is no bias?
# </details>
#
# Lines: two. The first layer is done. The next makes people search the web for its sizes alone.
#
# ## 2. Convolution: a linear layer that moves · core
#
# A convolution is a small linear layer. It is applied to a window of the image, then to the next
# window, always with the same weights. The naive way says just that:

# %% topics=["conv-layers"]
image, weight = torch.randn(3, 6, 7), torch.randn(4, 3, 2, 3)  # (C, H, W), (out, C, kh, kw)
naive = torch.zeros(4, 6 - 2 + 1, 7 - 3 + 1)
for i in range(5):
    for j in range(5):
        naive[:, i, j] = (weight * image[:, i : i + 2, j : j + 3]).sum((1, 2, 3))
torch.testing.assert_close(naive, F.conv2d(image, weight))

# %% [markdown]
# All windows at once are a view (chapter 02), and the sum of products is an einsum (chapter 03):

# %% topics=["conv-layers"]
windows = image.unfold(1, 2, 1).unfold(2, 3, 1)  # (C, H', W', kh, kw)
compact = torch.einsum("chwij,ocij->ohw", windows, weight)
torch.testing.assert_close(compact, F.conv2d(image, weight))
print("windows:", tuple(windows.shape), "-> output:", tuple(compact.shape))

# %% [markdown]
# Two lines. As in `nn.Linear`, the weight begins with the outputs: `(out, in, height, width)`. Height
# comes first here and in every argument: `kernel_size=(2, 3)` is two high and three wide.
#
# In mathematics and signal processing a convolution turns the kernel around before it slides it. A
# layer doesn't: what it computes is a **cross-correlation**. Learned weights don't care; a kernel
# from a textbook does. **Predict** which of the two lines NumPy's `convolve` agrees with:

# %% topics=["conv-layers"]
import numpy as np

signal, kernel = torch.tensor([1.0, 0, 0, 2]), torch.tensor([1.0, 10, 100])
for name, taps in (("as it is", kernel), ("turned", kernel.flip(0))):
    y = F.conv1d(signal.view(1, 1, 4), taps.view(1, 1, 3), padding=2)
    print(f"{name:>9}", y.int().flatten().tolist())
print("convolve ", np.convolve(signal, kernel).astype(int).tolist())

# %% [markdown]
# A kernel of 1 × 1 sees a single pixel: it is a linear layer over the channels, applied everywhere:

# %% topics=["conv-layers"]
point = nn.Conv2d(3, 4, kernel_size=1)
by_linear = F.linear(image.permute(1, 2, 0), point.weight.flatten(1), point.bias)
torch.testing.assert_close(point(image), by_linear.permute(2, 0, 1))
for name, kernel, groups in (("1x1", 1, 1), ("3x3", 3, 1), ("3x3, each channel alone", 3, 64)):
    layer = nn.Conv2d(64, 64, kernel, groups=groups, bias=False, device="meta")
    print(f"{name:>24}: {layer.weight.numel():>6} weights")

# %% [markdown]
# ### What happens at the border
#
# Windows that must fit inside make the output smaller than the input. **Padding** adds a border
# first. With what? Five modules give five answers:

# %% topics=["padding-layers"]
row = torch.arange(1.0, 6).view(1, 1, 5)  # (batch, channel, length)
for pad in (nn.ZeroPad1d, nn.ReflectionPad1d, nn.ReplicationPad1d, nn.CircularPad1d):
    print(f"{pad.__name__:>18}", pad(2)(row).int().flatten().tolist())
print(f"{'ConstantPad1d':>18}", nn.ConstantPad1d((2, 1), 9)(row).int().flatten().tolist())

# %% [markdown]
# Reflection leaves the border pixel out of the mirror; replication repeats it. A pair such as
# `(2, 1)` says left and right. A convolution pads by itself: `padding=2` with zeros, or with what
# `padding_mode` says. The string `padding="same"` picks the amount that keeps the size:

# %% topics=["padding-layers"]
mirror = nn.Conv1d(1, 1, 3, padding=1, padding_mode="reflect")
by_hand = F.conv1d(nn.ReflectionPad1d(1)(row), mirror.weight, mirror.bias)
torch.testing.assert_close(mirror(row), by_hand)
for kernel in (3, 5, 7):
    print("kernel", kernel, "->", tuple(nn.Conv1d(1, 1, kernel, padding="same")(row).shape))

# %% [markdown]
# ### How large is the output?
#
# Along one dimension there are four numbers: kernel $k$, **stride** $s$ (how far the window moves),
# padding $p$ on both sides, **dilation** $d$ (how far apart the taps of the kernel are). Count with
# the picture. There are $n = 10$ pixels, $k = 3$, $s = 2$, $p = 1$, $d = 2$.

# %% topics=["conv-output-size"]
import matplotlib.pyplot as plt

n, k, s, p, d = 10, 3, 2, 1, 2
reach = d * (k - 1) + 1
starts = range(-p, n + p - reach + 1, s)
taps = [[start + d * tap for tap in range(k)] for start in starts]
print(len(taps), "positions; their pixels:", taps)

# %% topics=["conv-output-size"]
figure, axes = plt.subplots(figsize=(7, 2.6))
colours = ["#fbdcb0" if 0 <= pixel < n else "#ffffff" for pixel in range(-p, n + p)]
axes.scatter(
    range(-p, n + p), [0] * (n + 2 * p), s=190, marker="s", edgecolors="#1a1a1a", c=colours
)
for row, pixels in enumerate(taps, start=1):
    axes.plot(pixels, [-row] * k, "s-", color="#0072b2", markersize=10)
axes.set(xlabel="pixel (white: padding)", xticks=range(-p, n + p), ylim=(-4.6, 0.6))
axes.set_yticks(range(0, -5, -1), ["input", *(f"output {row}" for row in range(4))])
show(
    figure,
    "Ten pixels with one of padding on each side. Below, four kernels of three taps, two "
    "pixels apart, each two pixels right of the last. The padding on the right is in "
    "none.",
)

# %% [markdown]
# The kernel reaches over $r = d(k-1)+1 = 5$ pixels. Its start can move over $n + 2p - r = 7$ further
# pixels, in steps of two: 3 whole steps, and so 4 outputs. The half step is lost: the padding on the
# right is in no window.
#
# $$n' = \left\lfloor \frac{n + 2p - r}{s} \right\rfloor + 1, \qquad r = d\,(k-1) + 1$$
#
# If you forget the dilation, you get 5 outputs. The machine agrees with the picture. On `meta` this
# **dry run** costs nothing, at any size:

# %% topics=["conv-output-size"]
for size in (9, 10, 1_000_000):
    x = torch.empty(1, 1, size, device="meta")
    print(size, "->", nn.Conv1d(1, 1, k, s, p, d, device="meta")(x).shape[-1])

# %% [markdown]
# Nine and ten give the same, and the way back is not unique. A **transposed** convolution goes from
# the small size to the large: $n = (n' - 1)s - 2p + r$, the smallest size that fits. To get one of
# the others, its `output_padding` adds pixels on one side.
#
# ### Exercise 9.2 — Output sizes ★★ · 12 min · 3 points · core
#
# Write `conv_arithmetic(layers, size)`: what a stack of layers makes of a size, along one dimension. It
# returns the list of sizes after each layer, each an `int`.
#
# A layer is a dict with `"kind"` and `"kernel"`, and maybe `"stride"` (default 1), `"padding"` (0),
# `"dilation"` (1), and, if it is transposed, `"output_padding"` (0). The kinds are
#
# - `"conv"`. Its padding may be `"same"`, always with stride 1;
# - `"pool"`: the same arithmetic, but its default stride is its kernel, as in `nn.MaxPool1d`;
# - `"transposed"`, which always gives one pixel or more.
#
# If the kernel of a `"conv"` or `"pool"` reaches over more than the padded input, raise
# `ValueError`. Calculate with plain numbers: no tensor, no call of PyTorch. Leave `layers` and its
# dicts as they are.
#
# Example: a conv with kernel 5, then a pool with kernel 2, makes `[24, 12]` of size 28.


# %% nbgrader={"grade_id": "try-conv-arithmetic", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import run_conv_arithmetic


@runs_with_the_answer
def try_conv_arithmetic(layers: list[dict], size: int) -> tuple:
    return run_conv_arithmetic(conv_arithmetic, layers, size)


# %% nbgrader={"grade_id": "conv-arithmetic-truth", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_conv_arithmetic as judged_conv_arithmetic


def check_conv_arithmetic(*case, **more):
    judged_conv_arithmetic(try_conv_arithmetic, *case, **more)


# %% nbgrader={"grade_id": "conv-arithmetic", "solution": true}
def conv_arithmetic(layers: list[dict], size: int) -> list[int]:
    """The size after each layer; ValueError where a kernel reaches over the padded input."""
    ### BEGIN SOLUTION
    sizes = []
    for layer in layers:
        kind, kernel, padding = layer["kind"], layer["kernel"], layer.get("padding", 0)
        stride = layer.get("stride", kernel if kind == "pool" else 1)
        reach = layer.get("dilation", 1) * (kernel - 1) + 1
        if kind == "transposed":
            size = (size - 1) * stride - 2 * padding + reach + layer.get("output_padding", 0)
        elif padding != "same":
            if reach > size + 2 * padding:
                raise ValueError(f"a kernel of reach {reach} on {size} pixels")
            size = (size + 2 * padding - reach) // stride + 1
        sizes.append(size)
    return sizes
    ### END SOLUTION


# %% nbgrader={"grade_id": "conv-arithmetic-check", "grade": true, "points": 3}
conv, pool, up = ({"kind": kind} for kind in ("conv", "pool", "transposed"))
with every_case() as case:
    with case("the example"):
        check_conv_arithmetic([conv | {"kernel": 5}, pool | {"kernel": 2}], 28)
    with case("no layer"):
        check_conv_arithmetic([], 7)
    with case("a half step"):
        check_conv_arithmetic([conv | {"kernel": 3, "stride": 2, "padding": 1}] * 2, 10)
    with case("dilation"):
        check_conv_arithmetic([conv | {"kernel": 3, "dilation": 2}], 10)
    with case("padding 'same' with an even kernel"):
        check_conv_arithmetic(
            [conv | {"kernel": 4, "padding": "same", "dilation": 3}], 9, "the size stays"
        )
    with case("a pool with kernel 3"):
        check_conv_arithmetic([pool | {"kernel": 3}], 11)
    with case("a dilated pool, whose stride is its kernel, not its reach"):
        check_conv_arithmetic([pool | {"kernel": 3, "dilation": 3}], 18)
    with case("the third layer is too large for what the second made"):
        layers = [*[conv | {"kernel": 3}] * 2, pool | {"kernel": 5}]
        check_conv_arithmetic(layers, 8, "8 pixels become 6, then 4")
    with case("transposed, one pixel, and padding"):
        check_conv_arithmetic([up | {"kernel": 4, "padding": 1}], 1)
    with case("a pool with a stride of its own, dilated"):
        options = {"kernel": 3, "stride": 2, "padding": 1, "dilation": 2}
        check_conv_arithmetic([pool | options], 13)
    with case("a pool whose own stride is 1"):
        check_conv_arithmetic([pool | {"kernel": 3, "stride": 1}], 8)
    with case("a pool padded by half its kernel"):
        check_conv_arithmetic([pool | {"kernel": 2, "padding": 1}], 7)
    with case("a pool that is too large"):
        check_conv_arithmetic([pool | {"kernel": 5}], 4, "5 pixels do not fit into 4")
    with case("transposed"):
        options = {"kernel": 4, "stride": 2, "padding": 1, "dilation": 2}
        check_conv_arithmetic([up | options], 3, "(n - 1) s - 2 p + r; it always fits")
    with case("transposed, with the default stride"):
        check_conv_arithmetic([up | {"kernel": 3}], 4)
    with case("transposed with output_padding"):
        options = {"kernel": 3, "stride": 2, "padding": 1, "output_padding": 1}
        check_conv_arithmetic([up | options], 7, "output_padding adds to the size")
    with case("a kernel that fits after a transposed layer"):
        layers = [up | {"kernel": 4, "stride": 4}, conv | {"kernel": 6}]
        check_conv_arithmetic(layers, 3, "the second layer sees what the first made")
    with case("too small for the kernel"):
        why = "a reach of 7 does not fit into 4 + 2 pixels"
        check_conv_arithmetic([conv | {"kernel": 4, "dilation": 2, "padding": 1}], 4, why)
    with case("a kernel that just fits"):
        check_conv_arithmetic([conv | {"kernel": 4, "padding": 1}, pool | {"kernel": 1}], 2)
### BEGIN HIDDEN TESTS
import random

numbers = random.Random(0)
with every_case() as case:
    for _ in range(40):
        layers = []
        for kind in numbers.choices(["conv", "pool", "transposed"], k=numbers.randint(1, 4)):
            layer = {"kind": kind, "kernel": numbers.randint(2, 4)}
            layer |= {"stride": numbers.randint(1, 3)} if numbers.random() < 0.6 else {}
            layer |= {"padding": numbers.randint(0, 1)} if numbers.random() < 0.6 else {}
            layer |= {"dilation": numbers.randint(1, 3)} if numbers.random() < 0.5 else {}
            layers.append(layer)
        size = numbers.randint(6, 40)
        with case(f"{layers} from {size}"):
            check_conv_arithmetic(layers, size)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `layer.get("stride", 1)` gives a default. Which default does a pool have?
# </details>
# <details><summary>Hint 2</summary>
#
# Compute the reach first: both formulas need it, and so does the test for `ValueError`.
# </details>

# %% [markdown]
# ## 3. What one output sees
#
# The size says how many outputs there are. How much of the image does *one* of them see? That is its
# **receptive field**. Two convolutions with kernel 3 see 5 pixels, like a single kernel of 5, and
# with fewer weights: 2 · 9 instead of 25 for each pair of channels.
#
# Walk from the input to the output and keep two numbers. The **field** $f$ is how many pixels an
# output covers. The **jump** $j$ is the distance between the centres of two neighbours, in pixels. A
# layer's kernel reaches over $r$ neighbours: it adds $r - 1$ jumps to the field. Then its stride
# multiplies the jump.

# %% topics=["conv-output-size"]
field, jump = 1, 1
for kernel, stride, dilation in ((3, 2, 1), (3, 1, 1), (3, 1, 2)):
    field, jump = field + dilation * (kernel - 1) * jump, jump * stride
    print(f"kernel {kernel}, stride {stride}, dilation {dilation}: field {field:>2}, jump {jump}")

# %% [markdown]
# The other order, jump first, would say 5 after the first layer, which covers 3. And does the
# machine agree? Take the gradient of one output with respect to the image: it is zero at every pixel
# that this output does not see. **Predict:** is it largest in the centre, in each of the three
# stacks below?


# %%
def footprint_of(stack):
    layers = [nn.Conv2d(1, 1, 3, stride, dilation=dilation) for stride, dilation in stack]
    _ = [nn.init.ones_(layer.weight) for layer in layers]
    image = torch.zeros(1, 1, 31, 31, requires_grad=True)
    y = nn.Sequential(*layers)(image)[0, 0]
    return torch.autograd.grad(y[len(y) // 2, len(y) // 2], image)[0][0, 0]


# %%
stacks = {"three 3x3": [(1, 1), (1, 1), (1, 1)], "stride 2 first": [(2, 1), (1, 1), (1, 1)]}
stacks["dilation 1, 2, 4"] = [(1, 1), (1, 2), (1, 4)]
figure, panels = plt.subplots(1, 3, figsize=(9, 3.2))
for axes, (name, stack) in zip(panels, stacks.items(), strict=True):
    seen = footprint_of(stack)
    axes.imshow(seen / seen.max(), cmap="Blues")
    axes.set_title(f"{name}: {int((seen > 0).any(1).sum())} pixels wide", fontsize=10)
show(
    figure,
    "Three heat maps on an image of 31 by 31 pixels: the gradient of one output. "
    "Three 3x3 cover 7 pixels, with stride 2 first 11, with dilations 1, 2, 4 they cover "
    "15.",
)

# %% [markdown]
# Same number of weights, very different fields. A pixel counts more the more paths lead from it to
# the output. In the first stack that is the centre. With stride 2 first, two neighbouring windows
# share every other pixel: along an axis the centre has 3 paths, the pixels beside it have 5. With
# dilations 1, 2, 4 paths rarely meet, and the field shows a grid: the pixel in the very middle has
# a single path.
#
# ### Exercise 9.3 — Receptive field, twice ★★ · 12 min · 4 points
#
# Find the field once by counting, and once by trying.
#
# `receptive_field(layers)` takes a list of triples (kernel, stride, dilation) of convolutions along one
# dimension. Return `(field, jump)`, each an `int`.
#
# `footprint(model, size)` returns how many pixels the output `m // 2` covers, **from the first that it
# sees to the last**, as an `int`.
#
# - `model` is a float32 `nn.Sequential` of convolutions along one dimension, without padding, and maps
#   (1, 1, size) to (1, 1, m). Their weights are all positive, some of them tiny (float32 still holds
#   their products); a bias may be anything.
# - Find it by what the model does, not from its layers' attributes.
# - Leave the model as it was: what is frozen, each mode, and every `.grad`, where an older gradient
#   may be waiting for the caller.
#
# Example: layers `[(3, 2, 1), (3, 1, 1)]` give `(7, 2)`. A single kernel of 3 with dilation 2 covers
# 5 pixels, though it looks at 3.


# %% nbgrader={"grade_id": "try-receptive-field", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import run_footprint


@runs_with_the_answer
def try_footprint(*given, **options):
    return run_footprint(footprint, *given, **options)


# %% nbgrader={"grade_id": "receptive-field-truth-1", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_receptive_field_1

# %% nbgrader={"grade_id": "receptive-field-truth-2", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_faint_edges as judged_faint_edges
from course_utils.chapters.layers import check_receptive_field_2 as judged_receptive_field_2
from course_utils.chapters.layers import check_tiny_weights as judged_tiny_weights


def check_receptive_field_2(*case, **more):
    judged_receptive_field_2(try_footprint, *case, **more)


def check_tiny_weights(*case):
    judged_tiny_weights(try_footprint, *case)


def check_faint_edges(*case):
    judged_faint_edges(try_footprint, *case)


# %% nbgrader={"grade_id": "receptive-field", "solution": true}
def receptive_field(layers: list[tuple[int, int, int]]) -> tuple[int, int]:
    """(field, jump) in pixels, of a stack of (kernel, stride, dilation)."""
    ### BEGIN SOLUTION
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        field += dilation * (kernel - 1) * jump
        jump *= stride
    return field, jump
    ### END SOLUTION


def footprint(model: nn.Module, size: int) -> int:
    """How many of ``size`` pixels the middle output covers, found from the model's behaviour."""
    ### BEGIN SOLUTION
    first = next(model.parameters())
    x = torch.zeros(1, 1, size, device=first.device, requires_grad=True)
    y = model(x)
    (gradient,) = torch.autograd.grad(y[0, 0, y.shape[2] // 2], x)
    seen = gradient[0, 0].nonzero()
    return int(seen.max() - seen.min()) + 1
    ### END SOLUTION


# %% nbgrader={"grade_id": "receptive-field-check-1", "grade": true, "points": 2}
with every_case() as case:
    with case("the example"):
        check_receptive_field_1(receptive_field, [(3, 2, 1), (3, 1, 1)], (7, 2))
    with case("no layer: a pixel sees itself"):
        check_receptive_field_1(receptive_field, [], (1, 1))
    with case("dilation"):
        check_receptive_field_1(receptive_field, [(3, 1, 2)], (5, 1))
    with case("a stride at the end"):
        check_receptive_field_1(receptive_field, [(3, 1, 1), (3, 2, 1)], (5, 2))
    with case("a kernel of 1"):
        check_receptive_field_1(receptive_field, [(1, 2, 3), (2, 3, 1)], (3, 6))
        check_receptive_field_1(receptive_field, [(3, 2, 1), (1, 3, 1)], (3, 6))
### BEGIN HIDDEN TESTS
with every_case() as case, case("longer stacks"):
    check_receptive_field_1(receptive_field, [(7, 2, 1), (3, 2, 1), (3, 1, 1), (3, 1, 1)], (27, 4))
    check_receptive_field_1(receptive_field, [(2, 2, 1)] * 5, (32, 32))
    check_receptive_field_1(receptive_field, [(3, 1, 1), (3, 1, 2), (3, 1, 4), (3, 1, 8)], (31, 1))
    check_receptive_field_1(receptive_field, [(5, 3, 2), (4, 2, 3)], (36, 6))
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "receptive-field-check-2", "grade": true, "points": 2}
with every_case() as case:
    with case("the example's stack"):
        check_receptive_field_2([(3, 2, 1), (3, 1, 1)], 20, 7, "of one output, in the middle")
    with case("dilation"):
        check_receptive_field_2([(3, 1, 2)], 11, 5, "the first pixel to the last, gaps included")
    with case("one output in all"):
        check_receptive_field_2([(3, 2, 1), (3, 1, 1)], 7, 7)
    with case("a gap in the middle: an even kernel, dilated"):
        check_receptive_field_2([(2, 2, 3), (3, 1, 1)], 41, 8)
    with case("layers whose attributes tell of kernels of 1"):
        check_receptive_field_2([(3, 2, 1), (3, 1, 1)], 20, 7, told=True)
    with case("eight layers, then with tiny weights"):
        check_tiny_weights([(3, 1, 1)] * 8, 25, 17)
    with case("three kernels (1e-12, 1, 1e-12) and a bias of 5"):
        check_faint_edges([(3, 1, 1)] * 3, 15, 7)
### BEGIN HIDDEN TESTS
with every_case() as case:
    for layers, size, right in (
        ([(5, 3, 2), (4, 2, 3)], 90, 36),
        ([(1, 4, 1)], 9, 1),
        ([(2, 2, 1)] * 5, 100, 32),
    ):
        with case(f"the stack {layers}"):
            check_receptive_field_2(layers, size, right)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For the footprint: an image of zeros that requires grad, one output picked, its gradient by the
# image. `torch.autograd.grad` returns it and fills no `.grad`.
# </details>
# <details><summary>Hint 2</summary>
#
# `gradient.nonzero()` lists the pixels that are seen. First and last are what counts, both included.
# </details>
#
# ### The way back: a transposed convolution
#
# Gradients went from the output to the image just now. For a convolution they go by a fixed linear
# map, and this map is the layer that decoders use to make small maps large: the **transposed
# convolution**. In one dimension a picture says it all. Each input value stamps the kernel, times
# itself; the stamps are a stride apart; overlaps add up.

# %% topics=["conv-layers"]
values, kernel, stamps = torch.tensor([1.0, 3, 2]), torch.tensor([1.0, 2, 1]), torch.zeros(3, 7)
for i, value in enumerate(values):
    stamps[i, 2 * i : 2 * i + 3] = value * kernel
library = F.conv_transpose1d(values.view(1, 1, 3), kernel.view(1, 1, 3), stride=2)
torch.testing.assert_close(stamps.sum(0), library.flatten())
print(library.flatten().tolist())

# %%
figure, axes = plt.subplots(figsize=(6.5, 2.6))
for i, colour in enumerate(("#0072b2", "#e69f00", "#009e73")):
    axes.bar(range(7), stamps[i], bottom=stamps[:i].sum(0), color=colour, label=f"input {i}")
axes.set(xlabel="output pixel", ylabel="value", ylim=(0, 6.6))
axes.set_title("Three inputs, kernel (1, 2, 1), stride 2")
axes.legend(fontsize=8)
show(figure, "Stacked bars: outputs 2 and 4 are sums of two stamps, the others come from one.")

# %% [markdown]
# Outputs 2 and 4 get two stamps, their neighbours one. In images this uneven overlap shows as a
# checkerboard; a kernel that is a multiple of the stride avoids it.
#
# ### Exercise 9.4 — Transposed convolution ★★ · 12 min · 3 points
#
# Write `transposed_conv(x, weight, stride, padding)`. It returns what `F.conv_transpose2d` returns.
#
# - `x` is (N, C, H, W), N may be 0; `weight` is (C, D, kh, kw). They may be views with gaps, may
#   require a gradient, and are both float32 or both float64; the result has their dtype.
# - `stride` (1 or more) and `padding` are numbers. The result is (N, D, (H - 1)·stride - 2·padding +
#   kh, the same for W): `padding` pixels cut from each side; `padding` may exceed the kernel.
# - Values alone are asked for, no graph.
# - Not allowed: `F.conv_transpose1d`, `2d`, `3d`, `torch.convolution`, and modules that call them.
#   Everything else is: `F.conv2d` and its gradient, stamps in a loop, `F.fold`.
#
# Example: one pixel of value 2 gives twice the kernel.


# %% nbgrader={"grade_id": "try-transposed-conv", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_transposed_conv(x: torch.Tensor, weight: torch.Tensor, *how: int) -> tuple:
    y, names, changed = watched(transposed_conv, x, weight, *how)
    return y.detach() if isinstance(y, torch.Tensor) else y, names, changed


# %% nbgrader={"grade_id": "transposed-conv-truth", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_transposed_conv as judged_transposed_conv


def check_transposed_conv(*case, **more):
    judged_transposed_conv(try_transposed_conv, *case, **more)


# %% nbgrader={"grade_id": "transposed-conv", "solution": true}
def transposed_conv(
    x: torch.Tensor, weight: torch.Tensor, stride: int = 1, padding: int = 0
) -> torch.Tensor:
    """What ``F.conv_transpose2d`` gives for x (N, C, H, W) and weight (C, D, kh, kw)."""
    ### BEGIN SOLUTION
    sizes = [
        (n - 1) * stride - 2 * padding + k
        for n, k in zip(x.shape[2:], weight.shape[2:], strict=True)
    ]
    image = x.new_zeros(x.shape[0], weight.shape[1], *sizes).requires_grad_()
    with torch.enable_grad():
        y = F.conv2d(image, weight, stride=stride, padding=padding)
    return torch.autograd.grad(y, image, x)[0]
    ### END SOLUTION


# %% nbgrader={"grade_id": "transposed-conv-check", "grade": true, "points": 3}
normal = seeded(0)
with every_case() as case:
    with case("one pixel of value 2"):
        pixel = torch.full((1, 1, 1, 1), 2.0, device=device)
        check_transposed_conv(pixel, normal(1, 1, 2, 3), 1, 0)
    with case("one channel, stride 2"):
        check_transposed_conv(normal(1, 1, 3, 4), normal(1, 1, 3, 3), 2, 0)
    for numbers in ("", ", other numbers (is anything kept?)"):
        with case(f"2 channels to 3, padding 1{numbers}"):
            check_transposed_conv(normal(2, 2, 4, 3), normal(2, 3, 3, 3), 1, 1)
    with case("a row of pixels, and a single one, stride 3"):
        check_transposed_conv(normal(2, 2, 1, 4), normal(2, 3, 2, 2), 3, 0)
        check_transposed_conv(normal(1, 2, 1, 1), normal(2, 3, 4, 2), 3, 0)
    with case("a stride larger than the kernel leaves zeros"):
        check_transposed_conv(normal(1, 2, 3, 3), normal(2, 2, 2, 2), 3, 0)
    with case("an input and weights with gaps in memory, float64"):
        x, weight = normal(3, 5, 4, 2).transpose(0, 3), normal(3, 5, 3, 2).transpose(0, 1)
        check_transposed_conv(x.double(), weight.double(), 2, 1)
    with case("padding 3 around a kernel of 2 x 3"):
        check_transposed_conv(normal(1, 2, 5, 6), normal(2, 1, 2, 3), 2, 3)
    with case("stride and padding left out"):
        check_transposed_conv(normal(1, 2, 3, 4), normal(2, 2, 3, 4))
    with case("an image and weights that require a gradient"):
        x, weight = normal(1, 2, 3, 4).requires_grad_(), normal(2, 1, 2, 2).requires_grad_()
        check_transposed_conv(x, weight, 2, 1)
    with case("no image"):
        check_transposed_conv(normal(0, 2, 3, 3), normal(2, 3, 2, 2), 1, 0)
x, but, what = normal(2, 2, 4, 3), ["inference_mode"], "transposed_conv(x, weight, 2, 1)"
check_states(transposed_conv, x, normal(2, 3, 3, 3), 2, 1, what=what, but=but)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("4 channels to 1, kernel (2, 4), stride 3, padding 1"):
        check_transposed_conv(normal(2, 4, 3, 5), normal(4, 1, 2, 4), 3, 1)
    with case("stride 2, padding 2, kernel (4, 5)"):
        check_transposed_conv(normal(1, 3, 4, 4), normal(3, 3, 4, 5), 2, 2)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `weight`, read as the weight of a convolution, leads from D channels to C. The image before that
# convolution has the shape of your result, and `x` has the shape of its output.
# </details>
# <details><summary>Hint 2</summary>
#
# A convolution without bias is linear: its gradient does not depend on the image, zeros will do. The
# third argument of `torch.autograd.grad` is the gradient that arrives at the output.
# </details>

# %% [markdown]
# ## 4. Pooling, and back
#
# A pooling layer has no weights. It takes the largest, or the mean, of each window. Each channel is
# treated separately.

# %% topics=["pooling-layers"]
x = torch.tensor([[1.0, 5, 2, 0], [3, 4, 8, 1], [0, 0, 1, 1], [0, 9, 1, 1]]).view(1, 1, 4, 4)
largest, where = F.max_pool2d(x, 2, return_indices=True)
print("largest:", largest.flatten().tolist(), " mean:", F.avg_pool2d(x, 2).flatten().tolist())
print("where:  ", where.flatten().tolist())

# %% [markdown]
# `where` counts the pixels of the image, row by row: the 8 is at row 1, column 2, so at
# 1 · 4 + 2 = 6. With these indices `MaxUnpool2d` puts each value back in its place and zeros
# everywhere else. That is also the way that gradients take:

# %% topics=["pooling-layers"]
x.requires_grad_()
F.max_pool2d(x, 2).sum().backward()
back = nn.MaxUnpool2d(2)(largest, where)
print(back[0, 0])
print("the gradient is 1 at these places, else 0:", torch.equal(x.grad, (back != 0).float()))

# %% [markdown]
# An **adaptive** pool is told the size of its *output*, whatever the input. Of $n$ pixels and $m$
# outputs, window $i$ runs from $\lfloor i\,n/m \rfloor$ up to, not including,
# $\lceil (i+1)\,n/m \rceil$. **Predict** the three windows of seven pixels:

# %% topics=["pooling-layers"]
n, m = 7, 3
bounds = [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
line = torch.arange(float(n)).view(1, 1, n)
print(bounds, [line[..., a:b].mean().item() for a, b in bounds])
print(F.adaptive_avg_pool1d(line, m).flatten().tolist())

# %% [markdown]
# They overlap. (`-(-a // b)` rounds up without leaving whole numbers.) A network that ends with
# `nn.AdaptiveAvgPool2d(1)` takes images of any size.
#
# > **Often said.** *"With adaptive pooling a batch may hold images of different sizes."* A tensor
# > can't. It fails before the network, where the loader stacks its batch. One by one, they do pass:

# %% errata=["adaptive-pool-fixes-collate"]
images = [torch.zeros(3, 4, 4), torch.zeros(3, 5, 5)]
try:
    torch.utils.data.default_collate(images)
except RuntimeError as error:
    print(error)
print("one by one:", tuple(torch.stack([F.adaptive_avg_pool2d(x, 2) for x in images]).shape))

# %% [markdown]
# ### Exercise 9.5 — Pooling and back ★★ · 15 min · 4 points
#
# Write three functions, without PyTorch's pooling and unpooling (`F.max_pool…`, `F.avg_pool…`,
# `F.adaptive_…`, `F.max_unpool…`, and `F.interpolate`, which pools as well).
#
# - `pooling_and_back(x, k)` returns `(largest, where, mean)` of windows k × k, side by side. `x` is
#   (N, C, H, W), N may be 0, `k` at most H and W. Rows and columns that fill no window are left
#   out. `where` holds positions in the image, counted as above, of dtype int64. If several pixels
#   are largest, any of them is right.
# - `unpool(values, where, height, width)` returns (N, C, height, width): each value in its place,
#   zeros elsewhere.
# - `adaptive_mean(x, m)` pools the **last** dimension of `x`, which may have one dimension or more,
#   to m means. The other dimensions may be 0.
#
# All tensors may have any memory layout. `x` and `values` are finite and have a floating dtype, which the
# results keep, with its digits: a float16 sum may overflow, its mean may not.


# %% nbgrader={"grade_id": "try-pooling-and-back", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_pooling(which: str, *args) -> tuple:
    functions = {"pool": pooling_and_back, "unpool": unpool, "mean": adaptive_mean}
    return watched(functions[which], *args)


# %% nbgrader={"grade_id": "pooling-and-back-truth-1", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_pooling_and_back_1 as judged_pooling_and_back_1


def check_pooling_and_back_1(*case, **more):
    judged_pooling_and_back_1(try_pooling, *case, **more)


# %% nbgrader={"grade_id": "pooling-and-back-truth-2", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_pooling_and_back_2 as judged_pooling_and_back_2


def check_pooling_and_back_2(*case, **more):
    judged_pooling_and_back_2(try_pooling, *case, **more)


# %% nbgrader={"grade_id": "pooling-and-back-truth-3", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_pooling_and_back_3 as judged_pooling_and_back_3


def check_pooling_and_back_3(*case, **more):
    judged_pooling_and_back_3(try_pooling, *case, **more)


# %% nbgrader={"grade_id": "pooling-and-back", "solution": true}
def pooling_and_back(x: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(largest, where, mean) of the k × k windows of x (N, C, H, W)."""
    ### BEGIN SOLUTION
    height, width = x.shape[2] // k, x.shape[3] // k
    windows = x.unfold(2, k, k).unfold(3, k, k).flatten(4)  # (N, C, H', W', k * k)
    largest, inside = windows.max(4)
    row = k * torch.arange(height, device=x.device).view(-1, 1) + inside // k
    column = k * torch.arange(width, device=x.device) + inside % k
    return largest, row * x.shape[3] + column, windows.mean(4)
    ### END SOLUTION


def unpool(values: torch.Tensor, where: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """(N, C, height, width) with each value in its place and zeros elsewhere."""
    ### BEGIN SOLUTION
    flat = values.new_zeros(*values.shape[:2], height * width)
    return flat.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))
    ### END SOLUTION


def adaptive_mean(x: torch.Tensor, m: int) -> torch.Tensor:
    """(…, n) pooled to (…, m) means."""
    ### BEGIN SOLUTION
    n = x.shape[-1]
    means = [x[..., i * n // m : -(-(i + 1) * n // m)].mean(-1) for i in range(m)]
    return torch.stack(means, dim=-1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "pooling-and-back-check-1", "grade": true, "points": 2}
normal, rows = seeded(0), [[1.0, 5, 2, 0], [3, 4, 8, 1], [0, 0, 1, 1], [0, 9, 1, 1]]
with every_case() as case:
    with case("the image above"):
        check_pooling_and_back_1(torch.tensor(rows, device=device).view(1, 1, 4, 4), 2)
    for n, size in ((2, "1"), (2, "1e30"), (0, "1")):
        with case(f"{n} images, 3 channels, numbers about -{size}"):
            check_pooling_and_back_1(-float(size) * (1 + normal(n, 3, 6, 4).abs()), 2)
    with case("7 x 8 pixels, k = 3: rows and columns are left over"):
        check_pooling_and_back_1(normal(1, 2, 7, 8), 3)
    with case("a transposed image, float64"):
        check_pooling_and_back_1(normal(2, 2, 6, 9).double().transpose(2, 3), 2)
    with case("float16, windows of one pixel"):
        check_pooling_and_back_1(normal(1, 1, 2, 3).half(), 1)
    with case("float16, numbers about 30000: their sum overflows, their mean doesn't"):
        check_pooling_and_back_1((30_000 + 500 * normal(1, 2, 4, 4)).half(), 2)
    with case("bfloat16, numbers about 1e30, one row of 43 windows"):
        check_pooling_and_back_1((1e30 * (1 + normal(1, 2, 3, 130).abs())).bfloat16(), 3)
    with case("ties everywhere, an image that requires a gradient"):
        check_pooling_and_back_1(torch.zeros(1, 2, 4, 6, device=device, requires_grad=True), 2)
check_states(pooling_and_back, normal(2, 3, 6, 5), 2, what="pooling_and_back(x, 2)")
### BEGIN HIDDEN TESTS
with every_case() as case, case("channels last, or no image"):
    check_pooling_and_back_1(normal(2, 6, 9, 3).permute(0, 3, 1, 2), 3)
    check_pooling_and_back_1(normal(0, 2, 4, 4), 2)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "pooling-and-back-check-2", "grade": true, "points": 1}
with every_case() as case:
    with case("2 images, 3 channels"):
        check_pooling_and_back_2(seeded(1)(2, 3, 4, 6), 2)
    with case("negative values"):
        check_pooling_and_back_2(-seeded(3)(2, 1, 6, 3).abs(), 3)
    with case("other values and places, the sizes of the first case"):
        check_pooling_and_back_2(seeded(6)(2, 3, 4, 6), 2)
    with case("no image"):
        check_pooling_and_back_2(seeded(7)(0, 2, 4, 4), 2)
    with case("a larger image than the windows fill, float64"):
        check_pooling_and_back_2(seeded(2)(1, 2, 5, 7).double(), 3)
    with case("values and where that are transposed views, float16"):
        check_pooling_and_back_2(seeded(5)(2, 2, 4, 6).half(), 2, turned=True)
values, where = seeded(1)(1, 1, 2, 2), torch.tensor([[[[0, 3], [9, 6]]]], device=device)
check_states(unpool, values, where, 4, 4, what="unpool(values, where, 4, 4)")
### BEGIN HIDDEN TESTS
with every_case() as case, case("3 images, 2 channels, 5 x 7"):
    check_pooling_and_back_2(seeded(4)(3, 2, 5, 7), 2)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "pooling-and-back-check-3", "grade": true, "points": 1}
with every_case() as case:
    with case("windows that overlap, in one dimension"):
        check_pooling_and_back_3(torch.arange(7.0, device=device), 3)
    with case("the same numbers backwards (is anything kept between calls?)"):
        check_pooling_and_back_3(torch.arange(7.0, device=device).flip(0), 3)
    with case("more outputs than inputs"):
        check_pooling_and_back_3(seeded(1)(2, 3), 5)
    with case("windows side by side, three dimensions, float64"):
        check_pooling_and_back_3(seeded(2)(2, 3, 8).double(), 4)
    with case("14 to 50, a transposed view, float16"):
        check_pooling_and_back_3(seeded(3)(14, 2).half().t(), 50)
    with case("float16, 4000 numbers about 50, to 3 means"):
        check_pooling_and_back_3((50 + seeded(6)(4000)).half(), 3)
    with case("no row: (0, 5) to 2"):
        check_pooling_and_back_3(seeded(7)(0, 5), 2)
    with case("two rows, to a single mean"):
        check_pooling_and_back_3(seeded(8)(2, 5), 1)
check_states(adaptive_mean, seeded(4)(2, 3, 7), 3, what="adaptive_mean(x, 3)")
### BEGIN HIDDEN TESTS
with every_case() as case:
    for n, m in ((10, 4), (1, 3), (13, 12), (21, 19)):
        with case(f"{n} to {m}"):
            check_pooling_and_back_3(seeded(n)(2, 2, n), m)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `x.unfold(2, k, k).unfold(3, k, k)` has the shape (N, C, H', W', k, k); flatten the last two.
# </details>
# <details><summary>Hint 2</summary>
#
# The position inside a window, 0 to k·k - 1, has a row and a column; add those where the window
# begins. For `unpool`, `scatter` writes values at indices.
# </details>

# %% [markdown]
# ## 5. Activations: where the bends come from · core
#
# Linear layers and convolutions in a row are again a linear map. Put a function of single numbers
# between them that is *not* linear. Each of these is a line. What matters for training is the
# slope: it multiplies every gradient that passes.

# %% topics=["activations"]
x = torch.linspace(-4, 4, 161)
by_hand = {
    "ReLU": x.clamp(min=0),
    "ReLU6": x.clamp(0, 6),
    "LeakyReLU": torch.where(x > 0, x, 0.01 * x),
    "ELU": torch.where(x > 0, x, x.exp() - 1),
    "SELU": 1.0507009873554805 * torch.where(x > 0, x, 1.6732632423543772 * (x.exp() - 1)),
    "Softplus": (1 + x.exp()).log(),
    "Sigmoid": 1 / (1 + (-x).exp()),
    "Tanh": 1 - 2 / ((2 * x).exp() + 1),
    "SiLU": x / (1 + (-x).exp()),
    "GELU": x * (1 + torch.erf(x / 2**0.5)) / 2,
}
for name, y in by_hand.items():
    torch.testing.assert_close(y, getattr(nn, name)()(x))
print(len(by_hand), "activations, equal to PyTorch's")

# %% topics=["activations"]
names = ("Sigmoid", "Tanh", "ReLU", "LeakyReLU", "SELU", "Softplus", "GELU", "SiLU")
figure, panels = plt.subplots(
    2, 4, figsize=(9, 4.2), sharex=True, sharey=True, layout="constrained"
)
for axes, name in zip(panels.flat, names, strict=True):
    y = getattr(nn, name)()(z := x.clone().requires_grad_())
    axes.plot(x, y.detach(), color="#0072b2", label="value")
    axes.plot(x, torch.autograd.grad(y.sum(), z)[0], "--", color="#aa6600", label="slope")
    axes.set(title=name, ylim=(-2, 4))
panels[0, 0].legend(fontsize=8)
show(
    figure,
    "Eight activations, solid, and their slopes, dashed. Sigmoid's slope is 0.25 at most, tanh's "
    "falls to 0 on both sides, ReLU's is 0 for negative inputs.",
)

# %% [markdown]
# Look at the dashed lines. Sigmoid and tanh are flat on both sides: large inputs pass no gradient.
# ReLU is flat on one side. Does that matter? Measure the gradient at each of ten layers, with
# weights that suit tanh. The steepest slope of sigmoid is 1/4. **Predict:** how many times smaller
# is the first layer's gradient than the last layer's?


# %% topics=["activations"]
def gradient_sizes(activation):
    torch.manual_seed(0)
    layers = [nn.Linear(128, 128) for _ in range(10)]
    h = torch.randn(256, 128)
    for layer in layers:
        nn.init.normal_(layer.weight, std=128**-0.5)
        h = activation(layer(h))
    h[:, :10].log_softmax(1)[:, 0].sum().backward()
    return [layer.weight.grad.std().item() for layer in layers]


# %% topics=["activations"]
figure, axes = plt.subplots(figsize=(6.5, 2.8))
for activation in (torch.sigmoid, torch.tanh, F.relu, F.gelu):
    sizes = gradient_sizes(activation)
    axes.semilogy(range(1, 11), sizes, "o-", markersize=4, label=activation.__name__)
    print(f"{activation.__name__:>8}: {sizes[-1] / sizes[0]:.0e} times smaller")
axes.set(xlabel="layer", ylabel="std of the gradient", xticks=range(1, 11))
axes.legend(fontsize=8)
show(figure, "Gradients by layer: sigmoid's rise from below 1e-6 to above 1, tanh's hardly rise.")

# %% [markdown]
# Nine factors of 1/4 alone make 262,144. That is why sigmoids left the hidden layers. They stay where
# a number between 0 and 1 is wanted, as in the gates of section 9. ReLU and GELU lose something at
# each layer too, because this start is tanh's; chapter 08 has theirs.
#
# The flat side of ReLU has another price. A unit that is negative for every input gets no gradient:
# it is **dead**, and revives only if the layers before it change its inputs. Count such units
# after training with a small step and with a large one:


# %% topics=["activations"]
def train_units(activation, lr):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(20, 200), activation, nn.Linear(200, 1))
    x = torch.randn(500, 20)
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for _ in range(100):
        loss = (net(x) - 3 - x[:, :1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    negative = (net[0](x) < 0).all(0)  # which units are negative for every input
    return loss, negative, net[0].weight.grad[negative]


# %% topics=["activations"] tags=["nbval-ignore-output"]
for activation in (nn.ReLU(), nn.LeakyReLU(0.1)):
    for lr in (0.01, 0.2):
        loss, negative, gradient = train_units(activation, lr)
        told = f"{negative.sum():3d} of 200 units always negative, largest gradient"
        largest = gradient.abs().max() if len(gradient) else 0
        print(f"{type(activation).__name__:>9}, lr {lr:<4}: loss {loss:.2f}, {told} {largest:.0e}")

# %% [markdown]
# With the large step all 200 ReLUs died: the network gives the same number for every input, and no
# further step will change that. Half of the leaky units are negative for every input as well, but
# their gradient isn't zero, and the network learns. The other activations keep a little slope there
# too. `PReLU` is a leaky ReLU whose small slope is a parameter, and today's transformers often use
# **SwiGLU**, two linear layers, the first of which opens and shuts the second:

# %% topics=["activations"]
print("PReLU's slope is a parameter:", nn.PReLU().weight.tolist())
x, gate, up, down = torch.randn(2, 8), nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 8)
print("SwiGLU:", tuple(down(F.silu(gate(x)) * up(x)).shape))

# %% [markdown]
# ## 6. Batch norm: a layer with a memory · core
#
# Tanh is steepest at zero, and a ReLU bends only there: far to the right it is linear, far to the
# left it is zero. **Batch norm** keeps the inputs around zero. For each channel it takes mean and
# variance over everything else, the batch and all pixels, and makes them 0 and 1. Then it scales by
# `weight` and shifts by `bias`, which are learned.

# %% topics=["batchnorm"]
torch.manual_seed(0)
x = 5 + 3 * torch.randn(8, 2, 4, 4)  # (N, C, H, W)
var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0, keepdim=True)
bn = nn.BatchNorm2d(2)
torch.testing.assert_close(bn(x), (x - mean) / (var + bn.eps).sqrt())
print("one mean for each channel:", tuple(mean.shape))

# %% [markdown]
# > **Often said.** *"Initialise batch norm with weight 1 and bias 1."* The neutral start is weight 1
# > and bias **0**, which is what PyTorch does. And a loop that asks every module for its bias fails
# > at the first that has none:

# %% errata=["bn-bias-one"] tags=["shows-false"]
print("weight:", bn.weight.tolist(), " bias:", bn.bias.tolist())
print("a ReLU has a bias:", hasattr(nn.ReLU(), "bias"))

# %% [markdown]
# So far, a single line. But what should it do with a *single* image, when the network is used? The
# answer must not depend on what else is in the batch. Therefore, during training, the layer keeps
# **running statistics**: a moving average with `momentum` 0.1, which is the share of the **new**
# value. In `eval()` it uses these.
#
# **Predict:** the batch mean of `x` is about 5. After this one training step the running mean, which
# began at 0, is about …?

# %% topics=["batchnorm"]
print("batch means:  ", [round(m, 2) for m in mean.flatten().tolist()])
print("running means:", [round(m, 2) for m in bn.running_mean.tolist()])
n = x.numel() // 2  # values for each channel
torch.testing.assert_close(bn.running_mean, 0.9 * 0 + 0.1 * mean.flatten())
torch.testing.assert_close(bn.running_var, 0.9 * 1 + 0.1 * var.flatten() * n / (n - 1))

# %% [markdown]
# A tenth of it. The last line shows a detail which many copies get wrong: the batch is normalised
# with the variance divided by $n$, but the *running* variance takes the unbiased one, divided by
# $n - 1$. With one value per channel that would be 0/0, and PyTorch refuses.
#
# How long does the memory take? After $t$ steps the start still has a share of $0.9^t$:

# %% topics=["batchnorm"]
torch.manual_seed(0)
bn, seen, remembered = nn.BatchNorm2d(1), [], []
for x in 5 + 3 * torch.randn(40, 4, 1, 2, 2):
    _ = bn(x)
    seen.append(x.mean().item())
    remembered.append(bn.running_mean.item())

# %%
from course_utils import draw_curves

curves = {"running mean: used in eval()": remembered, "mean of each batch: used in training": seen}
draw_curves(
    range(1, 41),
    curves,
    title="What training sees, and what eval will use",
    labels=("step", "mean"),
    alt="The batch means scatter around 5. The running mean "
    "climbs "
    "from 0 and reaches them after some 30 steps.",
)
print(f"running mean after 10 steps {remembered[9]:.1f}, after 40 steps {remembered[39]:.1f}")

# %% [markdown]
# Call `eval()` after ten steps, and the layer subtracts a mean that is still far too small. This is
# why a fresh network can be good in training and wrong in evaluation.
#
# ### Its backward pass
#
# In training the mean and the variance depend on the input, so gradients flow through them too.
# You can find the result without much algebra. Call the normalised values $\hat x$. Add a constant
# to a channel: $\hat x$ stays. Stretch the channel about its mean: $\hat x$ stays, up to eps. An
# input direction that changes nothing has gradient zero. The gradient of $x$ must be orthogonal
# to both directions, to $1$ and to $\hat x$:

# %% topics=["batchnorm"]
x = torch.tensor([1.0, 2, 4, 9], dtype=torch.double, requires_grad=True)
hat = (x - x.mean()) / (x.var(correction=0) + 1e-12).sqrt()
g = torch.tensor([3.0, -1, 0, 1], dtype=torch.double)  # the gradient that arrives at hat
(arrived,) = torch.autograd.grad(hat, x, g)
print("along 1:  ", round(arrived.sum().abs().item(), 6))
print("along hat:", round((arrived * hat.detach()).sum().abs().item(), 6))

# %% [markdown]
# Subtract from $g$ its part along $1$, which is its mean. Then subtract its part along $\hat x$,
# which is $\hat x$ times the mean of $g\,\hat x$. What is left is divided by the standard
# deviation, because that is what the forward pass did. With eps this stays exact.
#
# ### Exercise 9.6 — Batch norm, both ways ★★★ · 25 min · 6 points · core
#
# Write batch norm, and its backward pass by the paragraph above.
#
# `batch_norm(x, weight, bias, running_mean, running_var, training, momentum=0.1, eps=1e-5)` returns
# `(y, new_mean, new_var)`.
#
# - In training it normalises by the batch's statistics and returns updated running ones, which need
#   not be in the graph; with one value per channel it raises `ValueError`.
# - In eval it uses the running statistics, which require no gradient, and returns them with unchanged
#   values.
#
# `batch_norm_backward(grad, x, weight, eps=1e-5)` is for training. `grad` is the gradient of `y`. It
# returns the values of `(grad_x, grad_weight, grad_bias)`, by formulas, without autograd.
#
# For both:
#
# - `x` and `grad` are (N, C, H, W), in any memory layout; `weight`, `bias` and the running statistics
#   have shape (C,). All are float32 or all are float64, and so are the results.
# - The numbers may be far from zero: means of 10000 with a variance of 1 must come out right.
# - The arguments stay as they are.
# - Not allowed: PyTorch's own norms (`F.batch_norm`, `F.instance_norm`, `F.layer_norm`,
#   `F.group_norm`, `F.rms_norm` and their modules).


# %% nbgrader={"grade_id": "try-batch-norm", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_batch_norm(*args) -> tuple:
    return watched(batch_norm, *args)


# %% nbgrader={"grade_id": "try-batch-norm-backward", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_batch_norm_backward(*args) -> tuple:
    return watched(batch_norm_backward, *args)


# %% nbgrader={"grade_id": "batch-norm-slips", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_batch_norm_far as judged_batch_norm_far
from course_utils.chapters.layers import refused


def check_batch_norm_far(*case, **more):
    judged_batch_norm_far(try_batch_norm, *case, **more)


# %% nbgrader={"grade_id": "batch-norm-truth-1", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_batch_norm_1 as judged_batch_norm_1


def check_batch_norm_1(*case, **more):
    judged_batch_norm_1(try_batch_norm, *case, **more)


# %% nbgrader={"grade_id": "batch-norm-truth-3", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_backward_far as judged_backward_far
from course_utils.chapters.layers import check_batch_norm_3 as judged_batch_norm_3


def check_batch_norm_3(*case, **more):
    judged_batch_norm_3(try_batch_norm_backward, *case, **more)


def check_backward_far(normal):
    judged_backward_far(try_batch_norm_backward, normal)


# %% nbgrader={"grade_id": "batch-norm", "solution": true}
def batch_norm(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    training: bool,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(y, new running mean, new running variance) of x (N, C, H, W)."""
    ### BEGIN SOLUTION
    mean, var = running_mean, running_var
    if training:
        n = x.shape[0] * x.shape[2] * x.shape[3]
        if n == 1:
            raise ValueError("one value per channel has no variance")
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * var * n / (n - 1)
    scale = (weight / (var + eps).sqrt()).view(-1, 1, 1)
    y = (x - mean.view(-1, 1, 1)) * scale + bias.view(-1, 1, 1)
    return y, running_mean, running_var
    ### END SOLUTION


def batch_norm_backward(
    grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of x, weight and bias in training, from the gradient of y."""
    ### BEGIN SOLUTION
    dims, column = (0, 2, 3), (1, -1, 1, 1)
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    hat = (x - mean) / (var + eps).sqrt()
    g = grad * weight.view(column)
    along_hat = hat * (g * hat).mean(dims, keepdim=True)
    grad_x = (g - g.mean(dims, keepdim=True) - along_hat) / (var + eps).sqrt()
    return grad_x, (grad * hat).sum(dims), grad.sum(dims)
    ### END SOLUTION


# %% nbgrader={"grade_id": "batch-norm-check-1", "grade": true, "points": 3}
normal = seeded(0)
with every_case() as case:
    with case("training, 2 x 3 x 2 x 2"):
        check_batch_norm_1(5 + 3 * normal(2, 3, 2, 2), True, normal)
    with case("eval"):
        check_batch_norm_1(5 + 3 * normal(2, 3, 2, 2), False, normal)
    for momentum in (0.4, 1.0):
        with case(f"a momentum of {momentum}, a large eps"):
            check_batch_norm_1(normal(4, 2, 1, 3), True, normal, momentum, 0.5)
    with case("a momentum of 0 is none: the running statistics stay"):
        check_batch_norm_1(normal(4, 2, 1, 3), True, normal, 0.0, 1e-5)
    with case("eval, a large eps"):
        check_batch_norm_1(normal(2, 2, 1, 3), False, normal, 0.1, 0.5)
    with case("training, numbers near each other, momentum and eps left out"):
        check_batch_norm_1(normal(4, 2, 3, 1) / 100, True, normal)
    with case("training on one image of 2 x 3 pixels: six values of one channel"):
        check_batch_norm_1(normal(1, 1, 2, 3), True, normal)
    with case("training on four images of 1 x 1"):
        check_batch_norm_1(normal(4, 3, 1, 1), True, normal)
    with case("one image of 1 x 1 in eval"):
        check_batch_norm_1(normal(1, 3, 1, 1), False, normal)
    with case("one image of 1 x 1 in training"):
        args = normal(1, 3, 1, 1), *normal(4, 3).square().unbind(), True
        what = refused(lambda: try_batch_norm(*args))
        check_equal(what, "ValueError", "what is raised", "one value has no variance")
    with case("float64, a transposed view"):
        x = normal(3, 4, 2, 5).double().transpose(0, 1) / 3
        check_batch_norm_1(x.transpose(2, 3), True, normal)
    with case("numbers about 10000"):
        check_batch_norm_far(normal)
channels = [normal(3), normal(3), normal(3), normal(3).square()]
for training in (True, False):
    what = f"batch_norm(x, weight, bias, running_mean, running_var, {training})"
    check_states(batch_norm, normal(2, 3, 2, 2), *channels, training, what=what)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("channels last, eval"):
        check_batch_norm_1(normal(2, 3, 2, 5).permute(0, 3, 1, 2), False, normal)
    with case("a channel that is constant"):
        check_batch_norm_1(torch.ones(2, 2, 2, 2, device=device), True, normal)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "batch-norm-check-2", "grade": true, "points": 1}
bn, normal = nn.BatchNorm2d(3, device=device), seeded(1)
mean, var = bn.running_mean.clone(), bn.running_var.clone()
with every_case() as case, case("ten steps, each on what the last one returned"):
    for step in range(1, 11):
        x = step + normal(4, 3, 2, 3)
        result, _, _ = try_batch_norm(x, bn.weight.detach(), bn.bias.detach(), mean, var, True)
        y, mean, var = check_parts(result, "y", "new_mean", "new_var")
        check_value(y, bn(x).detach(), f"y in step {step}", atol=1e-4)
    check_value(mean, bn.running_mean, "the running mean after ten steps")
    check_value(var, bn.running_var, "the running variance after ten steps")


# %% nbgrader={"grade_id": "batch-norm-check-3", "grade": true, "points": 2}
normal = seeded(2)
with every_case() as case:
    with case("2 x 3 x 2 x 2"):
        check_batch_norm_3(5 + 3 * normal(2, 3, 2, 2), normal)
    with case("a large eps"):
        check_batch_norm_3(normal(4, 2, 3, 1), normal, 0.5)
    with case("numbers near each other, eps left out"):
        check_batch_norm_3(normal(4, 2, 3, 1) / 10, normal)
    with case("one channel, float64, a transposed view; grad is such a view, too"):
        x = normal(1, 2, 5, 3).double().transpose(0, 1) / 3
        check_batch_norm_3(x.transpose(2, 3), normal)
    with case("one image of 2 x 3 pixels; the weight of a channel is 0"):
        check_batch_norm_3(normal(1, 2, 2, 3), normal, silent=True)
    with case("numbers about 10000"):
        check_backward_far(normal)
grad, x, weight = normal(2, 3, 2, 2), normal(2, 3, 2, 2), normal(3)
check_states(batch_norm_backward, grad, x, weight, what="batch_norm_backward(grad, x, weight)")
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("a transposed view"):
        check_batch_norm_3(normal(2, 4, 5, 3).transpose(0, 3), normal)
    with case("two values for each channel"):
        check_batch_norm_3(normal(2, 5, 1, 1).double(), normal, 0.5)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A (C,) tensor lines up with the last dimension, W. `.view(-1, 1, 1)` lines it up with C. Or reduce
# with `keepdim=True`.
# </details>
# <details><summary>Hint 2</summary>
#
# `torch.var_mean(x, dim=(0, 2, 3), correction=0)` divides by n. The unbiased variance is that times
# n / (n - 1).
# </details>
# <details><summary>Hint 3</summary>
#
# Backward: `weight` and `bias` are used once for each value, so their gradients are sums over the
# batch and the pixels. For `x`, begin with `g = grad * weight` and read the paragraph above again.
# </details>
#
# ## 7. Four more norms by one argument · core
#
# Batch norm needs a batch, and it behaves differently in `eval()`. What if the mean is taken within
# each image instead? Then neither is true any more. All norms differ only in **which numbers share a
# mean**. In this picture each row is an image, each column a pixel, columns are grouped by channel.
# Numbers of one colour share a mean and a variance.

# %% topics=["layernorm-and-others"]
image, channel, _ = torch.meshgrid(*(torch.arange(n) for n in (3, 4, 4)), indexing="ij")
shared = {"batch": channel, "layer, RMS": image, "instance": 4 * image + channel}
shared["group (2 groups)"] = 2 * image + channel // 2
print("colours:", {name: len(groups.unique()) for name, groups in shared.items()})

# %% topics=["layernorm-and-others"]
figure, panels = plt.subplots(1, 4, figsize=(9, 2), layout="constrained")
for axes, (name, groups) in zip(panels, shared.items(), strict=True):
    axes.imshow(groups.flatten(1), cmap="tab20", aspect="auto", vmax=12)
    axes.vlines([3.5, 7.5, 11.5], -0.5, 2.5, color="white", linewidth=2)
    axes.set(title=name, yticks=[0, 1, 2], xlabel="channel (4 pixels each)")
    axes.set_xticks([1.5, 5.5, 9.5, 13.5], range(4))
panels[0].set_ylabel("image")
show(
    figure,
    "Four grids of 3 images by 4 channels. Batch norm: one colour for each channel. Layer "
    "and RMS norm: one for each image. Instance: one for each image and channel. Group: one for "
    "each image and half of the channels.",
)

# %% [markdown]
# The code is the same line, with another `dim`:

# %% topics=["layernorm-and-others"]
x = torch.randn(3, 4, 2, 2)
var, mean = torch.var_mean(x, dim=(1, 2, 3), correction=0, keepdim=True)
torch.testing.assert_close((x - mean) / (var + 1e-5).sqrt(), F.layer_norm(x, (4, 2, 2), eps=1e-5))
rms = (x.square().mean((1, 2, 3), keepdim=True) + 1e-5).sqrt()
torch.testing.assert_close(x / rms, F.rms_norm(x, (4, 2, 2), eps=1e-5))

# %% [markdown]
# **RMS norm** subtracts no mean: it divides by the root of the mean square. Most language models use
# it, over the features of each token alone. Layer norm is used like that too: for tokens of shape
# (batch, time, feature), `nn.LayerNorm(features)` takes means over the last dimension. A group norm
# with a single group is a layer norm; with as many groups as channels it is an instance norm:

# %% topics=["layernorm-and-others"]
torch.testing.assert_close(F.group_norm(x, 1), F.layer_norm(x, (4, 2, 2)))
torch.testing.assert_close(F.group_norm(x, 4), F.instance_norm(x))
alone = F.group_norm(x[:1], 2)
print("an image alone gives the same:", torch.allclose(alone, F.group_norm(x, 2)[:1], atol=1e-6))

# %% [markdown]
# ### Exercise 9.7 — The norm family ★★ · 10 min · 3 points · core
#
# Write `norm_family(x, kind, groups, eps)`: five norms in one function. It returns the normalised
# tensor, of the same shape and dtype, without weight and bias.
#
# - `kind` is `"batch"`, `"layer"`, `"instance"`, `"group"` or `"rms"`, with means as in the picture.
# - `x` is (N, C, H, W), float32 or float64, in any memory layout, and may be far from zero, as above.
# - `groups`, 1 or more, counts for `"group"` only; a group is a run of neighbouring channels, and a
#   number that does not divide C is a `ValueError`.
# - `eps` is added under the root.
# - Not allowed: PyTorch's own norms, as above.


# %% nbgrader={"grade_id": "try-norm-family", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_norm_family(x: torch.Tensor, kind: str, *options) -> tuple:
    return watched(norm_family, x, kind, *options)


# %% nbgrader={"grade_id": "norm-family-truth", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_norm_family as judged_norm_family
from course_utils.chapters.layers import check_norm_far as judged_norm_far


def check_norm_family(*case, **more):
    judged_norm_family(try_norm_family, *case, **more)


def check_norm_far(*case, **more):
    judged_norm_far(try_norm_family, *case, **more)


# %% nbgrader={"grade_id": "norm-family", "solution": true}
def norm_family(x: torch.Tensor, kind: str, groups: int = 1, eps: float = 1e-5) -> torch.Tensor:
    """x (N, C, H, W) normalised: batch, layer, instance, group or rms."""
    ### BEGIN SOLUTION
    if kind == "group":
        if x.shape[1] % groups:
            raise ValueError(f"{groups} groups do not divide {x.shape[1]} channels")
        rows = x.reshape(x.shape[0], groups, -1, 1)
        return norm_family(rows, "instance", eps=eps).reshape(x.shape)
    dims = {"batch": (0, 2, 3), "instance": (2, 3)}.get(kind, (1, 2, 3))
    centred = x if kind == "rms" else x - x.mean(dims, keepdim=True)
    return centred / (centred.square().mean(dims, keepdim=True) + eps).sqrt()
    ### END SOLUTION


# %% nbgrader={"grade_id": "norm-family-check", "grade": true, "points": 3}
normal = seeded(0)
x = 2 + 3 * normal(3, 4, 2, 3) * (1 + normal(1, 4, 1, 1).abs())
with every_case() as case:
    for kind in ("batch", "layer", "instance", "rms"):
        with case(f"{kind}; groups, which doesn't count here, is 3"):
            check_norm_family(x, kind, 3, 0.1)
    for kind in ("batch", "layer", "instance", "rms"):
        with case(f"{kind}, one image, float64, a transposed view"):
            check_norm_family((x[:1].double() / 3).transpose(2, 3), kind, 3)
    for kind in ("rms", "group"):
        with case(f"{kind}, numbers near 0, groups and eps left out"):
            check_norm_family(normal(2, 3, 1, 5) / 100, kind)
    with case("instance, images of one pixel, which is its own mean"):
        y, _, _ = try_norm_family(normal(2, 3, 1, 1), "instance")
        check_value(y, torch.zeros(2, 3, 1, 1, device=device), "instance norm")
    with case("instance, images of one channel"):
        check_norm_family(normal(3, 1, 2, 3), "instance")
    with case("group, 2 groups of 3 neighbours"):
        check_norm_family(
            normal(2, 6, 2, 3) * torch.arange(1, 7, device=device).view(-1, 1, 1), "group", 2
        )
    with case("a channels-last view, 2 groups, a large eps"):
        check_norm_family(normal(2, 3, 2, 4).permute(0, 3, 1, 2), "group", 2, 0.5)
    with case("float64, one group of an image that requires a gradient"):
        check_norm_family(normal(1, 3, 2, 4).double().requires_grad_(), "group", 1)
    for kind in ("batch", "layer", "instance", "group"):
        with case(f"{kind}, numbers about 10000"):
            check_norm_far(kind, normal)
    with case("4 groups of 4 channels: each has one"):
        check_norm_family(x, "group", 4)
    for groups, channels in ((3, 4), (8, 4), (3, 5)):
        with case(f"{groups} groups of {channels} channels"):
            what = refused(lambda: try_norm_family(normal(2, channels, 1, 2), "group", groups))
            check_equal(
                what, "ValueError", "what is raised", f"{groups} does not divide {channels}"
            )
for kind in ("batch", "layer", "instance", "group", "rms"):
    check_states(norm_family, x, kind, 2, what=f'norm_family(x, "{kind}", 2)')
### BEGIN HIDDEN TESTS
with every_case() as case:
    for kind in ("batch", "layer", "instance", "rms", "group"):
        with case(f"{kind}, transposed, float64, eps 0.1"):
            check_norm_family((1 + normal(5, 6, 3, 2)).double().transpose(2, 3), kind, 3, 0.1)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A dict from kind to `dim`, and the two lines from above. Only `"rms"` skips the mean.
# </details>
# <details><summary>Hint 2</summary>
#
# Groups: split the channel dimension in two, (groups, C / groups), and take means over all but
# the first two dimensions. `reshape` copes with any layout, `view` does not.
# </details>
#
# ## 8. Embedding: a table of rows · core
#
# Words are not numbers. An **embedding** gives each word a row of a table, and looking up is all it
# does. It equals a linear layer on one-hot vectors, without the multiplication by zeros:

# %% topics=["embedding-layer"]
table = nn.Embedding(5, 3)  # five words, three features
ids = torch.tensor([[1, 4, 4], [2, 0, 0]])  # (batch, time)
torch.testing.assert_close(table(ids), table.weight[ids])
torch.testing.assert_close(table(ids), F.one_hot(ids, 5).float() @ table.weight)
print("a random start, different for each word:", not torch.equal(table.weight[1], table.weight[2]))

# %% [markdown]
# The second sentence is shorter. It was filled with word 0, the **pad**.
#
# > **Often said.** *"With `padding_idx=0` the network does not compute with pads."* It does. Only two
# > things happen. The row starts at zero, and its gradient through the look-up is zero. Whatever
# > follows, such as a mean, counts the pads like any word:

# %% topics=["embedding-layer"] errata=["padding-idx-masks"]
table = nn.Embedding(3, 2, padding_idx=0)
nn.init.constant_(table.weight[1:], 1.0)
padded, plain = torch.tensor([[1, 0, 0]]), torch.tensor([[1]])  # (batch, time)
table(padded).sum().backward()
print("gradient of rows 0 and 1:", table.weight.grad[:2].tolist())
for name, ids in (("without", plain), ("with", padded)):
    print(f"mean {name} pads:", [round(m, 2) for m in table(ids).mean(1)[0].tolist()])

# %% [markdown]
# A mean needs a mask, as attention will (section 10):

# %% topics=["embedding-layer"]
real = (padded != 0).unsqueeze(-1)  # (batch, time, 1)
print("masked mean:", ((table(padded) * real).sum(1) / real.sum(1)).tolist())

# %% [markdown]
# Four more arguments, a line each. `max_norm` shortens rows that are too long, **in the table
# itself**, when they are looked up. `scale_grad_by_freq` divides a row's gradient by how often it
# occurs in the batch. `sparse=True` makes a gradient that holds only the rows that were used, which
# only some optimizers accept. `from_pretrained` takes a table as it is, frozen unless you say
# `freeze=False`. Often the table is used a second time as the last layer, **tied**:
# `scores = h @ table.weight.t()`.
#
# ### Exercise 9.8 — Ten details of a table ★★ · 8 min · 3 points
#
# What does each line give? Write the number or truth value. Every table has three words and one
# feature, with the rows 0, 2 and 4, unless the line gives other options.
#
# | key | after … | what is |
# | --- | --- | --- |
# | `mean` | `padding_idx=0` | the mean over time of the sentence `[1, 2, 0, 0]` |
# | `edited` | `padding_idx=0`, then row 0 set to 9 under `no_grad` | the look-up of word 0 |
# | `grad` | `padding_idx=0`, `e([0, 0, 1]).sum().backward()` | `e.weight.grad[0]` |
# | `tied` | `padding_idx=0`, `(e([1]) @ e.weight.t()).sum().backward()` | `e.weight.grad[0]` |
# | `looked_up` | `max_norm=1`, `e([1])` | `e.weight[1]` |
# | `not_looked_up` | `max_norm=1`, `e([1])` | `e.weight[2]` |
# | `often` | `scale_grad_by_freq=True`, `e([1, 1, 2]).sum().backward()` | `e.weight.grad[1]` |
# | `rows` | `sparse=True`, `e([1, 1, 2]).sum().backward()` | rows stored in the coalesced gradient |
# | `pretrained` | `from_pretrained(torch.ones(3, 1), padding_idx=0)` | `e.weight[0]` |
# | `trains` | `from_pretrained(torch.ones(3, 1))` | `e.weight.requires_grad` |


# %% nbgrader={"grade_id": "embedding-details-truth", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_embedding_details

# %% nbgrader={"grade_id": "embedding-details", "solution": true}
embedding_details = {
    "mean": None,
    "edited": None,
    "grad": None,
    "tied": None,
    "looked_up": None,
    "not_looked_up": None,
    "often": None,
    "rows": None,
    "pretrained": None,
    "trains": None,
}
### BEGIN SOLUTION
embedding_details = dict(zip(embedding_details, (1.5, 9, 0, 2, 1, 4, 1, 2, 1, False), strict=True))
### END SOLUTION


# %% nbgrader={"grade_id": "embedding-details-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
check_embedding_details(embedding_details)

# %% [markdown]
# <details><summary>Hint</summary>
#
# For `tied`: the only look-up is h = 2. The scores are 2·w₀ + 2·w₁ + 2·w₂. What is the derivative by
# w₀ in the product?
# </details>
#
# ## 9. Recurrent layers: the same ten lines, again and again · optional
#
# A sentence has an order, and a mean forgets it. A **recurrent** layer reads word after word
# and carries a state. A step takes the input and the old state, and gives the new state:
# $h_t = \tanh(W_{ih} x_t + b_{ih} + W_{hh} h_{t-1} + b_{hh})$.

# %% topics=["rnn-layers"]
rnn = nn.RNN(3, 4)  # 3 features in, a state of 4
w_ih, w_hh, b_ih, b_hh = rnn.parameters()
x, h, states = torch.randn(6, 2, 3), torch.zeros(2, 4), []  # (time, batch, feature), (batch, state)
for step in x:
    h = (step @ w_ih.t() + b_ih + h @ w_hh.t() + b_hh).tanh()
    states.append(h)

# %% topics=["rnn-layers"]
output, last = rnn(x)
torch.testing.assert_close(torch.stack(states), output)
torch.testing.assert_close(h, last[0])
print("output:", tuple(output.shape), " last:", tuple(last.shape))

# %% [markdown]
# `output` has the state after every step, `last` the final state. Time is the first dimension, unless
# you pass `batch_first=True`. `nn.RNNCell` is a single step, for your own loops.
#
# The **LSTM** and the **GRU** repair a weakness: through the $\tanh$ of every step a gradient
# fades. They compute **gates**, numbers between 0 and 1, which say how much of the state is kept. In
# their weights the gates are stacked, in this order ($\odot$ is the product of elements):
#
# | | |
# | --- | --- |
# | GRU: r, z, n | $r = \sigma(a_r + b_r)$, $\;z = \sigma(a_z + b_z)$, $\;n = \tanh(a_n + r \odot b_n)$ |
# | | $h' = (1 - z) \odot n + z \odot h$ |
# | LSTM: i, f, g, o | $i, f, o = \sigma(a + b)$ of their parts, $\;g = \tanh(a_g + b_g)$ |
# | | $c' = f \odot c + i \odot g$, $\;h' = o \odot \tanh c'$ |
#
# Here $a = W_{ih}x + b_{ih}$ and $b = W_{hh}h + b_{hh}$; each has three or four parts. The weights
# are as tall as their gates:

# %% topics=["rnn-layers"]
for kind in (nn.RNNCell, nn.GRUCell, nn.LSTMCell):
    print(f"{kind.__name__:>8}: weight_ih {tuple(kind(3, 4).weight_ih.shape)}")

# %% [markdown]
# ### Memory grows with the length
#
# For the backward pass the graph keeps what each step needs: its bytes grow with the number of
# steps, though the weights are few. **Truncated** backpropagation cuts the graph every $k$ steps:
# the state's *value* is carried over, `detach()` stops the gradient, and `backward()` after each
# piece frees it. `saved_bytes` counts what autograd saves, by the hooks of chapter 07.


# %% topics=["bptt-memory"]
def run_steps(steps: int) -> torch.Tensor:
    """Read ``steps`` inputs of a batch of 32; the last state, with its graph."""
    cell, h = nn.RNNCell(16, 64), torch.zeros(32, 64)
    for x in torch.zeros(steps, 32, 16):
        h = cell(x, h)
    return h


# %% topics=["bptt-memory"]
from course_utils import draw_curves, saved_bytes

lengths = [16, 32, 64, 128, 256]
whole = [saved_bytes(lambda n=n: run_steps(n)) / 2**20 for n in lengths]
piece = [
    saved_bytes(lambda n=n: run_steps(min(n, 32))) / 2**20 for n in lengths
]  # the longest piece
curves = {"backward once, at the end": whole, "cut every 32 steps": piece}
draw_curves(
    lengths,
    curves,
    title="What a recurrent layer keeps for backward",
    labels=("steps", "MiB saved"),
    alt="A straight line rises with the number of steps; cut every 32 steps, it stays flat.",
)

# %% [markdown]
# The price: the gradient is no longer exact. It does not know what the steps before the cut
# contributed. Shown on three steps with all inputs 1 and a state of one number, $h_t = w
# h_{t-1} + x_t$ (no tanh), loss $h_1 + h_2 + h_3$, at $w = 1$. **Predict** the gradient with a cut
# at every step:

# %% topics=["bptt-memory"]
for cut in (3, 2, 1):
    w, h, loss = torch.tensor(1.0, requires_grad=True), torch.tensor(0.0), 0
    for step in range(3):
        h = w * (h.detach() if step % cut == 0 else h) + 1
        loss = loss + h
    print(
        f"cut every {cut}: loss {loss.item():.0f}, gradient "
        f"{torch.autograd.grad(loss, w)[0].item():.0f}"
    )

# %% [markdown]
# The losses agree, the gradients don't: the true gradient is 4. With a cut at every step, the old state
# counts as a constant, and what is left is $h_0 + h_1 + h_2 = 3$. On that short loop a cut every 2
# steps loses the same part.
#
# ### Exercise 9.9 — RNN, GRU, LSTM by hand ★★★ · 25 min · 5 points
#
# Write a step of each recurrent layer, and the gradient of a cut loop.
#
# `rnn_by_hand(kind, x, state, w_ih, w_hh, b_ih, b_hh)` makes one step.
#
# - `kind` is `"rnn"`, `"gru"` or `"lstm"`; `x` is (batch, in); `state` is `h` of shape (batch, size),
#   for the LSTM the pair `(h, c)`. The weights are stacked as in PyTorch.
# - Return the new state, again a pair for the LSTM.
#
# `truncated_gradient(x, w_ih, w_hh, k)` is for a tanh RNN without biases, which reads `x` (time, batch,
# in) from a state of zeros.
#
# - The loss is the sum of all entries of all states. Return the values of its gradient with respect
#   to `w_hh`.
# - The graph is cut before the steps k, 2k, … (counted from 0): the state's values are carried over
#   there, gradients are not. `time` need not be a multiple of k.
#
# For both:
#
# - Within a call all tensors are float32 or all are float64, and so is the result.
# - Not allowed: PyTorch's recurrent layers and cells, modules or functions. Autograd is allowed. But
#   `x` and the weights may require a gradient already, and no argument's `grad` or `requires_grad`
#   may change.


# %% nbgrader={"grade_id": "try-rnn-by-hand", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_rnn_by_hand(kind: str, x: torch.Tensor, state, *weights: torch.Tensor) -> tuple:
    return watched(rnn_by_hand, kind, x, state, *weights)


# %% nbgrader={"grade_id": "try-truncated-gradient", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_truncated_gradient(
    x: torch.Tensor, w_ih: torch.Tensor, w_hh: torch.Tensor, k: int
) -> tuple:
    return watched(truncated_gradient, x, w_ih, w_hh, k)


# %% nbgrader={"grade_id": "rnn-by-hand-truth-1", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_rnn_by_hand_1 as judged_rnn_by_hand_1


def check_rnn_by_hand_1(*case, **more):
    judged_rnn_by_hand_1(try_rnn_by_hand, *case, **more)


# %% nbgrader={"grade_id": "rnn-by-hand-reset", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_reset as judged_reset


def check_reset(*case, **more):
    judged_reset(try_rnn_by_hand, *case, **more)


# %% nbgrader={"grade_id": "rnn-by-hand-truth-2", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_rnn_by_hand_2 as judged_rnn_by_hand_2


def check_rnn_by_hand_2(*case, **more):
    judged_rnn_by_hand_2(try_truncated_gradient, *case, **more)


# %% nbgrader={"grade_id": "rnn-by-hand", "solution": true}
def rnn_by_hand(
    kind: str,
    x: torch.Tensor,
    state: torch.Tensor | tuple[torch.Tensor, torch.Tensor],
    w_ih: torch.Tensor,
    w_hh: torch.Tensor,
    b_ih: torch.Tensor,
    b_hh: torch.Tensor,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """The state after one step: h, or (h, c) for the LSTM."""
    ### BEGIN SOLUTION
    h = state[0] if kind == "lstm" else state
    a, b = x @ w_ih.t() + b_ih, h @ w_hh.t() + b_hh
    if kind == "rnn":
        return (a + b).tanh()
    if kind == "gru":
        (a_r, a_z, a_n), (b_r, b_z, b_n) = a.chunk(3, dim=1), b.chunk(3, dim=1)
        z, n = (a_z + b_z).sigmoid(), (a_n + (a_r + b_r).sigmoid() * b_n).tanh()
        return (1 - z) * n + z * h
    i, f, g, o = (a + b).chunk(4, dim=1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c
    ### END SOLUTION


def truncated_gradient(
    x: torch.Tensor, w_ih: torch.Tensor, w_hh: torch.Tensor, k: int
) -> torch.Tensor:
    """The gradient by ``w_hh`` of the sum of all states, cut before the steps k, 2k, …"""
    ### BEGIN SOLUTION
    w = w_hh.detach().clone().requires_grad_()
    h, total = x.new_zeros(x.shape[1], w.shape[0]), 0
    for t, step in enumerate(x):
        h = h.detach() if t % k == 0 else h
        h = (step @ w_ih.t() + h @ w.t()).tanh()
        total = total + h.sum()
    return torch.autograd.grad(total, w)[0]
    ### END SOLUTION


# %% nbgrader={"grade_id": "rnn-by-hand-check-1", "grade": true, "points": 3}
normal = seeded(0)
with every_case() as case:
    for kind in ("rnn", "gru", "lstm"):
        with case(f"{kind}, batch of 2, 3 features, a state of 4"):
            check_rnn_by_hand_1(kind, 2, 3, 4, normal)
        with case(f"{kind}, batch of 1, float64, weights that require a gradient"):
            check_rnn_by_hand_1(kind, 1, 5, 6, normal, torch.float64, True)
    with case("gru with w_hh all zeros"):
        check_reset(normal)
for kind, n in {"rnn": 4, "gru": 12, "lstm": 16}.items():
    sizes = ((2, 3), (2, 4), (n, 3), (n, 4), (n,), (n,))
    x, h, *weights = (normal(*size) for size in sizes)
    state = (h, h.cos()) if kind == "lstm" else h
    check_states(rnn_by_hand, kind, x, state, *weights, what=f'rnn_by_hand("{kind}", …)')
### BEGIN HIDDEN TESTS
with every_case() as case:
    for kind in ("rnn", "gru", "lstm"):
        with case(f"{kind}, as many features as state"):
            check_rnn_by_hand_1(kind, 3, 3, 3, normal)
        with case(f"{kind}, batch and state of 1"):
            check_rnn_by_hand_1(kind, 1, 5, 1, normal)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "rnn-by-hand-check-2", "grade": true, "points": 2}
normal = seeded(1)
with every_case() as case:
    for time, k in ((6, 3), (7, 3), (5, 1), (4, 9), (4, 3), (5, 5), (1, 1)):
        with case(f"truncated_gradient, time {time}, k = {k}"):
            check_rnn_by_hand_2(time, k, normal)
    with case("truncated_gradient, time 6, k = 3, other numbers (is anything kept?)"):
        check_rnn_by_hand_2(6, 3, normal)
    with case("truncated_gradient, float64, all three require a gradient"):
        check_rnn_by_hand_2(5, 2, normal, torch.float64, True)
x, weights, but = normal(5, 2, 3), (normal(4, 3), normal(4, 4)), ["no_grad", "inference_mode"]
check_states(truncated_gradient, x, *weights, 2, what="truncated_gradient(x, …, 2)", but=but)
### BEGIN HIDDEN TESTS
with every_case() as case:
    for time, k in ((9, 4), (1, 2), (12, 2)):
        with case(f"truncated_gradient, time {time}, k = {k}"):
            check_rnn_by_hand_2(time, k, normal)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `a.chunk(3, dim=1)` cuts into three parts. In the GRU keep the parts of `a` and `b` apart: `r`
# multiplies only `b`'s last part.
# </details>
# <details><summary>Hint 2</summary>
#
# For the gradient: a copy of `w_hh` that requires grad, and the loop of the last example. `t % k == 0`
# says where to cut. At t = 0 a cut does no harm.
# </details>
#
# ### Sequences of different lengths
#
# A batch is a rectangle, sentences are not. If they are padded, the layer reads the pads too. A
# layer that reads backwards even begins with them. A **packed sequence** leaves them out. It holds
# the words step by step, and for each step how many sentences haven't ended:

# %% topics=["rnn-layers"]
words = [torch.tensor([11, 12]), torch.tensor([21, 22, 23, 24]), torch.tensor([31, 32, 33])]
data, batch_sizes, order, _ = packed = nn.utils.rnn.pack_sequence(words, enforce_sorted=False)
print("data:       ", data.tolist())
print("batch_sizes:", batch_sizes.tolist())
print("order:      ", order.tolist())

# %% [markdown]
# Nine words, no pad. The sentences were sorted, longest first: sentence 1, then 2, then 0. With
# every step some at the end drop out, and each step's batch is a run of `data`. Recurrent layers take
# this object, and return another. `pad_packed_sequence` makes a rectangle again, with the lengths,
# in the original order:

# %% topics=["rnn-layers"]
padded, lengths = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
print(padded)
print("lengths:", lengths.tolist())

# %% [markdown]
# ### Exercise 9.10 — Packed sequences ★★ · 10 min · 3 points
#
# Write `packed_sequences(rnn, sequences)`. It runs a recurrent layer over sequences of different
# lengths in one call. It returns a list of outputs, (time, features of the output), in the order of
# `sequences`, each equal to what `rnn` gives for that sequence alone, whatever ran before.
#
# - `rnn` is an `nn.RNN`, `nn.GRU` or `nn.LSTM`, maybe bidirectional, with several layers,
#   `batch_first` or a `proj_size`, which makes an LSTM's output narrower.
# - `sequences` is a list of one or more tensors of shape (time, feature), each with its own time of 1
#   or more, in any order; a tensor may be in it twice. Dtype and device are the layer's.
# - Gradients flow through the outputs, back to the weights and the sequences.
# - Call `rnn` exactly once. Leave it and the list as they are: its mode, what is frozen, each `.grad`.


# %% nbgrader={"grade_id": "try-packed-sequences", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import run_packed_sequences


@runs_with_the_answer
def try_packed_sequences(*given, **options):
    return run_packed_sequences(packed_sequences, *given, **options)


# %% nbgrader={"grade_id": "packed-sequences-truth", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_packed_sequences as judged_packed_sequences


def check_packed_sequences(*case, **more):
    judged_packed_sequences(try_packed_sequences, *case, **more)


# %% nbgrader={"grade_id": "packed-sequences", "solution": true}
def packed_sequences(rnn: nn.Module, sequences: list[torch.Tensor]) -> list[torch.Tensor]:
    """The outputs of a recurrent layer for each (time, feature) sequence, by one call."""
    ### BEGIN SOLUTION
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    outputs, _ = rnn(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
    return [y[:n] for y, n in zip(padded, lengths.tolist(), strict=True)]
    ### END SOLUTION


# %% nbgrader={"grade_id": "packed-sequences-check", "grade": true, "points": 3}
with every_case() as case:
    with case("a GRU, lengths 2, 4, 3"):
        check_packed_sequences("GRU", [2, 4, 3])
    with case("other numbers, lengths 2, 4, 3 (is anything kept between calls?)"):
        check_packed_sequences("GRU", [2, 4, 3], seed=3)
    with case("a bidirectional GRU, lengths 1, 3, 2"):
        check_packed_sequences("GRU", [1, 3, 2], bidirectional=True)
    with case("an LSTM, batch_first, lengths 2, 5"):
        check_packed_sequences("LSTM", [2, 5], batch_first=True)
    with case("weights of 0, and so outputs of 0, lengths 3, 2"):
        check_packed_sequences("GRU", [3, 2], blank=True)
    with case("a GRU, lengths 2, 3, each ends with a row of zeros"):
        check_packed_sequences("GRU", [2, 3], quiet=True)
    with case("one sequence, float32"):
        check_packed_sequences("RNN", [3], dtype=torch.float32)
        check_packed_sequences("GRU", [1])
    with case("an LSTM with proj_size=2, lengths 3, 1"):
        check_packed_sequences("LSTM", [3, 1], proj_size=2)
    with case("two layers; three sequences of 2, the last is the first once more"):
        check_packed_sequences("GRU", [2, 2, 4, 2], again=True, num_layers=2)
### BEGIN HIDDEN TESTS
with every_case() as case, case("lengths of which some are equal, bidirectional"):
    check_packed_sequences("LSTM", [2, 6, 1, 6, 3], seed=1, bidirectional=True, num_layers=2)
    check_packed_sequences("RNN", [2, 2, 2], seed=2, batch_first=True, bidirectional=True)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Pack, run, unpack: three calls, two of which you saw above. A recurrent layer returns a pair.
# </details>
# <details><summary>Hint 2</summary>
#
# The rectangle still has zeros at the end of the short rows. Cut each row at its length.
# </details>

# %% [markdown]
# ## 10. Attention: every word asks every other · core
#
# How do distant words meet? A recurrent layer passes everything through one state.
# **Attention** lets each word look at all the others, and choose. Each word has three vectors: a
# **query** (what it looks for), a **key** (what it offers to be found by) and a **value** (what it
# hands over). A query meets all keys in a dot product; softmax turns these scores into weights; the
# answer is the weighted mean of the values.

# %%
q, k = torch.tensor([[4.0, 0]]), torch.tensor([[1.0, 0], [0, 1], [1, 1]])  # one query, three keys
v = torch.tensor([[10.0], [90], [30]])  # their values
weights = (q @ k.t() / 2**0.5).softmax(dim=-1)
torch.testing.assert_close(weights @ v, F.scaled_dot_product_attention(q, k, v))
print("weights:", weights)
print("answer: ", weights @ v)

# %% [markdown]
# Keys 0 and 2 match the query, so the answer is near 20, the mean of 10 and 30. The mean of all
# three values would be 43. In a sentence every word asks. Follow three words through all steps:
# where do they exchange anything?

# %%
from course_utils.chapters.layers import pictures

q, k = torch.tensor([[2.0, 0], [0, 2], [1, 1]]), torch.tensor([[1.0, 0], [2, 0], [0, 2]])
v = torch.tensor([[10.0, 0], [0, 10], [5, 5]])  # (time, feature) each
pictures.draw_attention_flow(q, k, v, ("a", "row", "looks"))

# %% [markdown]
# Only in the last product, and the weights say how much. The third word's answer mixes all three
# values; the first word's can only be its own. (The mask is explained below.) As an answer is a
# mean, it is the same in whichever order keys and values come; a model that needs the order must
# add it to the words.
#
# Why the division by $\sqrt d$? A dot product of $d$ random numbers has the standard deviation
# $\sqrt d$. Without the division, long vectors would make softmax pick one key and pass hardly any
# gradient:

# %%
torch.manual_seed(0)
for d in (4, 64, 1024):
    scores = torch.randn(2000, d).mul(torch.randn(2000, d)).sum(1)
    print(
        f"d = {d:>4}: standard deviation of the scores {scores.std():5.1f}, divided "
        f"{scores.std() / d**0.5:.1f}"
    )

# %% [markdown]
# ### Masks: who may look where
#
# A score of $-\infty$ becomes a weight of zero. That is all a **mask** does. There are four ways to
# say it, and they don't agree about `True`:
#
# | where | mask | meaning |
# | --- | --- | --- |
# | `F.scaled_dot_product_attention` | boolean | `True`: **may** look |
# | `nn.MultiheadAttention`, `attn_mask` | boolean | `True`: may **not** look |
# | `nn.MultiheadAttention`, `key_padding_mask` | boolean | `True`: **ignore** this key |
# | both | floating point | added to the scores: 0 or $-\infty$, or any bias |
#
# A **causal** mask lets word $i$ look at words 0 to $i$ only. A model that predicts the next word
# needs it, or it would read the answer.

# %%
torch.manual_seed(0)
scores = torch.randn(5, 8) @ torch.randn(8, 5) / 8**0.5  # (query, key)
causal = torch.ones(5, 5, dtype=torch.bool).tril()
pads = torch.tensor([False, False, False, True, True])
masks = {"no mask": causal | True, "causal": causal, "two pads": ~pads.expand(5, 5)}
maps = {name: scores.masked_fill(~mask, -torch.inf).softmax(-1) for name, mask in masks.items()}

# %%
figure, panels = plt.subplots(1, 3, figsize=(8.5, 2.9), sharey=True, layout="constrained")
for axes, (name, weights) in zip(panels, maps.items(), strict=True):
    image = axes.imshow(weights, cmap="Blues", vmin=0, vmax=1)
    axes.set(title=name, xlabel="key (looked at)")
panels[0].set_ylabel("query (looks)")
figure.colorbar(image, ax=panels, label="weight")
show(
    figure,
    "Three 5 by 5 maps of weights; each row sums to 1. Without a mask all cells are "
    "filled, "
    "the causal one is a lower triangle, with two pads the last two columns are "
    "empty.",
)

# %% [markdown]
# Each row sums to 1. A masked key gets nothing, and the others share what it had. But what if a row
# may look at *nothing*, as when a sentence is all pads? **Predict** first.

# %%
nothing = torch.zeros(1, 3, dtype=torch.bool)
q, k, v = torch.ones(1, 2), torch.ones(3, 2), torch.ones(3, 1)
scores = (q @ k.t()).masked_fill(~nothing, -torch.inf)
print("naive:    ", (scores.softmax(-1) @ v).tolist())
print("with -1e9:", (scores.clamp(min=-1e9).softmax(-1) @ v).tolist())
print("PyTorch:  ", F.scaled_dot_product_attention(q, k, v, attn_mask=nothing).tolist())

# %% [markdown]
# Naively it is 0/0, and a single NaN spreads through the whole network. With $-10^9$ the row looks
# at all that it was forbidden. `F.scaled_dot_product_attention` gives zeros.
# `nn.MultiheadAttention` with every key padded gives NaN.
#
# ### Several heads
#
# One softmax has one focus. **Multi-head** attention cuts the features into `heads` pieces, lets each
# piece attend by itself, and mixes the results. `nn.MultiheadAttention` keeps the three projections
# in one weight, queries first, then keys, then values:

# %%
mha = nn.MultiheadAttention(8, num_heads=2, batch_first=True)
for name, parameter in mha.named_parameters():
    print(f"{name:>16} {tuple(parameter.shape)}")

# %%
x = torch.randn(1, 5, 8)  # (batch, time, feature)
q, k, v = F.linear(x, mha.in_proj_weight, mha.in_proj_bias).chunk(3, dim=-1)
head0 = F.scaled_dot_product_attention(q[..., :4], k[..., :4], v[..., :4])
head1 = F.scaled_dot_product_attention(q[..., 4:], k[..., 4:], v[..., 4:])
joined = mha.out_proj(torch.cat([head0, head1], dim=-1))
torch.testing.assert_close(joined, mha(x, x, x)[0])

# %% [markdown]
# Head 0 owns features 0 to 3, head 1 the rest. In practice the heads become a dimension, (batch,
# heads, time, feature of the head), and all run at once.
#
# ### The price: a square
#
# The map of weights has time × time entries for each head. The naive way keeps it for the backward
# pass. PyTorch's function is **fused**: it goes over the keys in blocks and keeps, for each query,
# a single number besides its answer. (`saved_bytes` counts what autograd saves for it.) **Predict:**
# how many times more does each take for 1024 words than for 512?


# %% topics=["bptt-memory"]
from course_utils import saved_bytes


def naive_attention(q, k, v):
    return (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1) @ v


def mebibytes(attend, time):
    q, k, v = (torch.zeros(1, 4, time, 32, requires_grad=True) for _ in range(3))
    return saved_bytes(lambda: attend(q, k, v)) / 2**20


# %% topics=["bptt-memory"]
times = [64, 128, 256, 512, 1024]
naive = [mebibytes(naive_attention, time) for time in times]
fused = [mebibytes(F.scaled_dot_product_attention, time) for time in times]
draw_curves(
    times,
    {"naive: the whole map": naive, "fused": fused},
    title="Attention, four heads of 32",
    labels=("time", "MiB saved"),
    alt="The naive curve bends up with the square of the time, the fused one is a low line.",
)
print(
    f"from 512 to 1024: naive {naive[-1] / naive[-2]:.1f} times, fused "
    f"{fused[-1] / fused[-2]:.1f} times"
)

# %% [markdown]
# ### Exercise 9.11 — Attention ★★★ · 25 min · 6 points · core
#
# Write attention with its masks, then all the heads of a layer.
#
# `attention(q, k, v, mask=None, causal=False)`: `q` is (…, T, d), `k` (…, S, d), `v` (…, S, e);
# the result is (…, T, e).
#
# - `mask` is `None`, boolean (`True`: may look) or floating (added to the scaled scores), of shape
#   (T, S) or any that broadcasts to (…, T, S).
# - With `causal`, query i sees keys 0 to i, and a mask may come on top of that; T and S may differ,
#   and are 1 or more.
# - A query that sees nothing, for whichever reason, gets zeros, and its gradients hold no NaN. Large
#   scores must not overflow in the softmax.
#
# `multi_head(x, weights, heads, padding=None)`: self-attention as in
# `nn.MultiheadAttention(…, batch_first=True)`, from `x` (N, T, E) to (N, T, E).
#
# - `weights` is that module's `state_dict`, a dict with the four names printed above, in any order.
#   Leave the dict as it is.
# - `padding` is `None` or boolean (N, T), `True` where a word is a pad, which no query may see. Every
#   sentence has one word or more.
#
# For both:
#
# - Within a call all floating tensors have one dtype, float16, float32 or float64, and so has the
#   result.
# - Not allowed: `F.scaled_dot_product_attention`, `F.multi_head_attention_forward`,
#   `nn.MultiheadAttention` and the transformer modules.


# %% nbgrader={"grade_id": "try-attention", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_attention(q, k, v, mask, causal: bool) -> tuple:
    return watched(attention, q, k, v, mask, causal)


# %% nbgrader={"grade_id": "try-multi-head", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import run_with_weights


@runs_with_the_answer
def try_multi_head(x, weights: dict, heads: int, padding) -> tuple:
    return run_with_weights(multi_head, x, weights, heads, padding)


# %% nbgrader={"grade_id": "attention-truth-1", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_attention_1 as judged_attention_1


def check_attention_1(*case, **more):
    judged_attention_1(try_attention, *case, **more)


# %% nbgrader={"grade_id": "attention-truth-2", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_attention_2 as judged_attention_2


def check_attention_2(*case, **more):
    judged_attention_2(try_multi_head, *case, **more)


# %% nbgrader={"grade_id": "attention", "solution": true}
def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None = None,
    causal: bool = False,
) -> torch.Tensor:
    """Weighted means of v (…, S, e) for queries (…, T, d) and keys (…, S, d)."""
    ### BEGIN SOLUTION
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        off = mask.logical_not() if mask.dtype == torch.bool else None
        scores = scores + mask if off is None else scores.masked_fill(off, -torch.inf)
    if causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    blind = (scores == -torch.inf).all(dim=-1, keepdim=True)
    return scores.masked_fill(blind, 0).softmax(dim=-1).masked_fill(blind, 0) @ v
    ### END SOLUTION


def multi_head(
    x: torch.Tensor,
    weights: dict[str, torch.Tensor],
    heads: int,
    padding: torch.Tensor | None = None,
) -> torch.Tensor:
    """Self-attention of x (N, T, E) with the weights of an nn.MultiheadAttention."""
    ### BEGIN SOLUTION
    qkv = F.linear(x, weights["in_proj_weight"], weights["in_proj_bias"])
    q, k, v = qkv.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)  # (N, heads, T, d) each
    mask = None if padding is None else ~padding[:, None, None, :]
    mixed = attention(q, k, v, mask).transpose(1, 2).flatten(2)
    return F.linear(mixed, weights["out_proj.weight"], weights["out_proj.bias"])
    ### END SOLUTION


# %% nbgrader={"grade_id": "attention-check-1", "grade": true, "points": 4}
normal = seeded(0)
sentence = [normal(2, 5, 4) for _ in range(3)]
hard = torch.tensor([[1, 1, 1, 0, 0], [1, 0, 1, 0, 1]], device=device).bool()
with every_case() as case:
    with case("2 heads, 5 words, no mask"):
        check_attention_1(*sentence)
    with case("causal"):
        check_attention_1(*sentence, causal=True)
    with case("a boolean mask (batch, 1, S)"):
        check_attention_1(*sentence, hard.view(2, 1, 5))
    with case("a floating mask, any numbers"):
        check_attention_1(*sentence, normal(5, 5))
    with case("a floating mask for each sentence"):
        check_attention_1(*sentence, normal(2, 5, 5))
    with case("a floating mask that happens to hold zeros and ones"):
        check_attention_1(*sentence, (normal(5, 5) > 0).float())
    with case("causal and a mask together"):
        check_attention_1(*sentence, hard.view(2, 1, 5), True)
    for t, s in ((3, 6), (6, 3), (3, 4)):
        with case(f"{t} queries, {s} keys, values of 2 features, no batch, causal"):
            check_attention_1(normal(t, 4), normal(s, 4), normal(s, 2), causal=True)
    with case("a single query, 4 keys, causal"):
        check_attention_1(normal(1, 4), normal(4, 4), normal(4, 2), causal=True)
    with case("a query that sees nothing"):
        rows = torch.tensor([1, 0, 1, 1, 1], device=device).bool().view(5, 1).expand(5, 5)
        check_attention_1(*sentence, rows)
    with case("a floating mask, a query that sees nothing"):
        check_attention_1(*sentence, torch.where(rows, 0.0, -torch.inf))
    with case("causal, and a floating mask (T, S)"):
        check_attention_1(*sentence, torch.where(rows, 0.5, -torch.inf), True)
    with case("a single key, which query 1 may not see"):
        check_attention_1(normal(5, 4), normal(1, 4), normal(1, 3), rows[:, :1])
    with case("causal, and a mask (S,) without key 0: query 0 sees nothing"):
        check_attention_1(*sentence, torch.arange(5, device=device) > 0, True)
    with case("float16, causal, a query that sees nothing"):
        check_attention_1(*(t.half() for t in sentence), rows.clone(), True)
    with case("scores of a few thousand"):
        check_attention_1(100 * sentence[0], 100 * sentence[1], sentence[2])
    with case("scores below -100,000, and a boolean mask"):
        steep = 256.0 * torch.arange(1, 6, device=device).view(5, 1).expand(2, 5, 4)
        check_attention_1(torch.full_like(steep, -256.0), steep, sentence[2], ~hard.view(2, 1, 5))
    with case("float64, four dimensions, a mask (N, 1, 1, S), views with gaps"):
        views = [normal(4, 2, 3, 8).double().transpose(0, 2) for _ in range(3)]
        check_attention_1(*views, normal(3, 1, 1, 4) > -1, True)
mask, what = hard.view(2, 1, 5), "attention(q, k, v, mask, True)"
check_states(attention, *sentence, mask, True, what=what)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("4 x 2 x 7 words"):
        check_attention_1(*(normal(4, 2, 7, 6) for _ in range(3)), normal(7, 7), True)
    with case("one word"):
        check_attention_1(normal(1, 1, 3), normal(1, 1, 3), normal(1, 1, 3), causal=True)
    with case("more queries than keys, masked"):
        check_attention_1(normal(2, 6, 4), normal(2, 3, 4), normal(2, 3, 5), normal(6, 3) > 0)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "attention-check-2", "grade": true, "points": 2}
with every_case() as case:
    with case("one head, one sentence of 2 words and a pad"):
        check_attention_2(1, 3, 4, 1, [2])
    with case("2 heads"):
        check_attention_2(2, 5, 8, 2)
    with case("2 heads, other numbers (is anything kept between calls?)"):
        check_attention_2(2, 5, 8, 2, again=1)
    with case("2 heads, 3 sentences of 4, 2 and 1 words"):
        check_attention_2(3, 4, 6, 2, [4, 2, 1])
    with case("2 heads, 2 sentences of 1 and 3 words, the pads in front"):
        check_attention_2(2, 4, 6, 2, [1, 3], front=True)
    with case("3 heads, one word, float64"):
        check_attention_2(2, 1, 12, 3, dtype=torch.float64)
    with case("2 heads, float16, 2 sentences of 3 and 1 words"):
        check_attention_2(2, 3, 8, 2, [3, 1], dtype=torch.float16)
normal, layer = seeded(2), nn.MultiheadAttention(8, 2, device="meta")
weights = {name: normal(*part.shape) for name, part in layer.named_parameters()}
check_states(multi_head, normal(2, 3, 8), weights, 2, what="multi_head(x, weights, 2)")
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("as many words as heads and features"):
        check_attention_2(4, 4, 16, 4, [1, 4, 2, 3])
    with case("one sentence"):
        check_attention_2(1, 6, 12, 3, [4])
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `masked_fill(off, -torch.inf)` before the softmax. A boolean `off` is the opposite of "may look".
# </details>
# <details><summary>Hint 2</summary>
#
# A row sees nothing if all its scores are minus infinity. Find these rows before the softmax. Give
# them scores of 0 there, so that no NaN arises, and set their weights to 0 after it.
# </details>
# <details><summary>Hint 3</summary>
#
# Heads: (N, T, E) becomes (N, T, heads, d), then T and heads change places. On the way back they
# change again before the last two dimensions are joined. Reshaping without that mixes words.
# </details>

# %% [markdown]
# ## 11. Attention in today's language models
#
# The weights of a model such as Llama or Qwen don't fit the attention of 2017. Three things have
# changed: how places are told, how many keys there are, and what is kept while it writes.
#
# ### Places by turning
#
# Shuffle the words, and attention gives the same answers, shuffled. The first transformers added a
# vector to each word for its place. Today's turn instead: each pair of features of a query or key is
# an arrow in the plane, turned by an angle that grows with the place. These are **rotary
# embeddings**, RoPE. Each pair has its speed. Naively, a matrix for each place and pair:


# %%
def turn_naive(x, base=10_000.0):  # (…, time, d), d even
    y, d = torch.empty_like(x), x.shape[-1]
    for place in range(x.shape[-2]):
        for pair in range(0, d, 2):
            angle = torch.tensor(place * base ** (-pair / d))
            rows = [[angle.cos(), -angle.sin()], [angle.sin(), angle.cos()]]
            y[..., place, pair : pair + 2] = x[..., place, pair : pair + 2] @ torch.tensor(rows).t()
    return y


# %% [markdown]
# Compactly, all angles at once. And PyTorch has numbers that turn when they are multiplied, the
# complex ones:


# %%
def angles(time, d, start=0, base=10_000.0):  # (time, d / 2)
    return torch.outer(torch.arange(start, start + time), base ** (-torch.arange(0, d, 2) / d))


def turn(x, start=0):  # (…, time, d); the first word stands at place start
    a, (u, v) = angles(*x.shape[-2:], start), (x[..., 0::2], x[..., 1::2])
    return torch.stack([u * a.cos() - v * a.sin(), u * a.sin() + v * a.cos()], -1).flatten(-2)


# %%
x = torch.randn(2, 5, 8)  # (head, time, feature)
a = angles(5, 8)
pairs = torch.view_as_complex(x.unflatten(-1, (4, 2)))
library = torch.view_as_real(pairs * torch.polar(torch.ones_like(a), a)).flatten(-2)
torch.testing.assert_close(turn_naive(x), turn(x))
torch.testing.assert_close(turn(x), library)

# %% [markdown]
# What is gained? **Predict:** is the score of a query at place 9 and a key at place 7 the same as of
# those two at places 102 and 100?

# %%
torch.manual_seed(0)
q, k = torch.randn(1, 8), torch.randn(1, 8)
for at_q, at_k in ((9, 7), (102, 100), (102, 98)):
    print(f"places {at_q:>3} and {at_k:>3}: score {(turn(q, at_q) @ turn(k, at_k).t()).item():.3f}")

# %%
same, ones = torch.tensor([1.0, 0, 1, 0]).expand(8, 4), turn(torch.ones(200, 64))
pictures.draw_turning(turn(same), ones @ ones[0] / 8)

# %% [markdown]
# A score depends on the distance alone. The two arrows turn by the two angles, and a dot product
# knows only the angle between them. The pairs work like the hands of a clock: the first turns by a
# radian a word, the last hardly at all. On the right, equal vectors score less the further apart
# they are. Values aren't turned.
#
# (Llama's checkpoints on the Hugging Face hub pair feature i with i + d/2, not with its neighbour.
# It is the same idea in another order, and a model that was loaded with the wrong order talks
# nonsense without any error.)
#
# ### Fewer keys than queries
#
# In **grouped-query attention** several query heads share one head of keys and values. Eight heads
# and two: heads 0 to 3 look at the first, 4 to 7 at the second. Naive, compact, library:

# %%
q, k, v = torch.randn(1, 8, 5, 4), torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4)
attend = F.scaled_dot_product_attention
naive = torch.stack([attend(q[:, h], k[:, h // 4], v[:, h // 4]) for h in range(8)], dim=1)
compact = attend(q, k.repeat_interleave(4, dim=1), v.repeat_interleave(4, dim=1))
torch.testing.assert_close(naive, compact)
torch.testing.assert_close(compact, attend(q, k, v, enable_gqa=True))

# %% [markdown]
# `h // 4`, and so `repeat_interleave`; `k.repeat(1, 4, 1, 1)` has the right shape and gives each query
# head the wrong keys. Why share at all? Because keys and values have to be kept.
#
# ### The cache
#
# A model writes a word, appends it, and runs again on everything. But with a causal mask nothing
# that comes later changes the keys and values of a word. Keep them, run only the new word, and
# let its query look at all that was kept. Here is one layer of four query heads and two heads of
# keys, which turns and may have a cache:

# %%
w_q, w_k, w_v = (torch.randn(n, 32) / 32**0.5 for n in (32, 16, 16))


def layer_step(x, cache=None):  # (batch, new words, 32)
    start = 0 if cache is None else cache[0].shape[2]
    q, k, v = ((x @ w.t()).unflatten(-1, (-1, 8)).transpose(1, 2) for w in (w_q, w_k, w_v))
    q, k = turn(q, start), turn(k, start)
    if cache is not None:
        k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
    y = attend(q, k, v, is_causal=cache is None, enable_gqa=True)
    return y.transpose(1, 2).flatten(2), (k, v)


# %%
words = torch.randn(1, 12, 32)
whole, _ = layer_step(words)
y, cache = layer_step(words[:, :5])  # the prompt
pieces = [y]
for i in range(5, 12):
    y, cache = layer_step(words[:, i : i + 1], cache)
    pieces.append(y)
torch.testing.assert_close(torch.cat(pieces, dim=1), whole)
print("the cache holds keys", tuple(cache[0].shape), "and values", tuple(cache[1].shape))

# %% [markdown]
# Equal, and each step ran one word through the weights instead of all. Note `is_causal`: with a
# single query and twelve keys it would mean "key 0 only", since PyTorch counts from the start, as in
# exercise 9.11. The new word may see everything, and needs no mask.
#
# The price is memory, and it is what limits how many conversations a GPU can hold. For a model of
# the size of Llama 3 8B, which has 32 layers, heads of 128 features and numbers of two bytes:

# %%
for name, heads in (("32 heads of keys and values", 32), ("8 heads, shared by four", 8)):
    per_word = 2 * 32 * heads * 128 * 2  # keys and values, layers, heads, features, bytes
    print(f"{name:>27}: {per_word // 1024} KiB a word, {per_word * 8192 / 2**30:.0f} GiB for 8192")

# %% [markdown]
# ## 12. The parts learn to write · core
#
# Now put the layers in a row. A **transformer** that predicts the next letter is: an embedding of the
# letters, another of the places, some blocks, a last norm, and the letters' table once more, tied, for
# the scores. A block is two steps, each with a norm in front and its input added behind:
#
# $$x \leftarrow x + \mathrm{attention}(\mathrm{norm}_1(x)), \qquad
# x \leftarrow x + W_2\,\mathrm{gelu}(W_1\,\mathrm{norm}_2(x))$$
#
# Our text is made from seven sentences, drawn 400 times. Letters become numbers:

# %% nbgrader={"grade_id": "text", "locked": true}
import random

sentences = [
    "a linear layer mixes all features",
    "a convolution slides one small window",
    "a pooling layer keeps the largest",
    "a norm forgets mean and scale",
    "an embedding looks up one row",
    "a recurrent layer carries a state",
    "attention lets every token look back",
]
lot = random.Random(0)
text = ". ".join(lot.choice(sentences) for _ in range(400)) + "."
letters = sorted(set(text))
codes = torch.tensor([letters.index(letter) for letter in text], device=device)
print(len(text), "letters,", len(letters), "different ones:", "".join(letters))

# %% [markdown]
# PyTorch has the block as `nn.TransformerEncoderLayer`. Three folded cells build the model from
# that, without biases, give it weights from a seed, and train it. The weights have names as in any
# checkpoint:


# %% nbgrader={"grade_id": "library-model", "locked": true} jupyter={"source_hidden": true}
class LibraryModel(nn.Module):
    """The transformer of this section, made of PyTorch's own block."""

    def __init__(self, width: int = 32, heads: int = 4, layers: int = 2, longest: int = 48) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(len(letters), width), nn.Embedding(longest, width)
        block = nn.TransformerEncoderLayer(
            width,
            heads,
            4 * width,
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
            bias=False,
        )
        norm = nn.LayerNorm(width, bias=False)
        self.encoder = nn.TransformerEncoder(block, layers, norm, enable_nested_tensor=False)

    def forward(self, ids: torch.Tensor, causal: bool = True) -> torch.Tensor:
        x, time = self.token(ids) + self.place.weight[: ids.shape[1]], ids.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(time, device=ids.device)
        x = self.encoder(x, mask=mask if causal else None, is_causal=causal)
        return x @ self.token.weight.t()


# %% nbgrader={"grade_id": "make-model", "locked": true} jupyter={"source_hidden": true}
def make_model(seed: int = 0, scale: float = 0.1, **options) -> LibraryModel:
    """A model with weights from a seed; the blocks differ, the tables start small."""
    model, normal = LibraryModel(**options).to(device), seeded(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2:
                table = name.startswith(("token", "place"))
                parameter.copy_(
                    normal(*parameter.shape) * (scale if table else parameter.shape[1] ** -0.5)
                )
            else:
                parameter.copy_(1 + scale * normal(*parameter.shape))
    return model


# %% nbgrader={"grade_id": "train", "locked": true} jupyter={"source_hidden": true}
def train(forward, weights: dict, steps: int) -> list[float]:
    """AdamW on batches of 24 pieces of 48 letters; the loss before each step."""
    losses, lot = [], torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(weights.values(), lr=5e-3)
    for _ in range(steps):
        starts = torch.randint(len(codes) - 49, (24, 1), generator=lot).to(device)
        piece = codes[starts + torch.arange(49, device=device)]  # (batch, time + 1)
        scores = forward(piece[:, :-1], weights)
        loss = F.cross_entropy(scores.flatten(0, 1), piece[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %%
model = make_model()
for name, parameter in model.named_parameters():
    if "layers.1" not in name:
        print(f"{name:>40} {tuple(parameter.shape)}")
print("parameters in all:", sum(p.numel() for p in model.parameters()))

# %% [markdown]
# ### Exercise 9.12 — A tiny transformer ★★ · 14 min · 4 points · core
#
# Write `tiny_transformer(ids, weights, heads)`. `ids` is (N, T), int64; `weights` is a dict with the
# names above, in any order, for any number of blocks from 1 on, `encoder.layers.0` and so on. Return
# the scores (N, T, letters) that the model gives:
#
# 1. x is the row of `token.weight` for each letter, plus the row of `place.weight` for each place;
# 2. each block: x plus causal multi-head attention of its norm1, then x plus
#    `linear2(gelu(linear1(…)))` of its norm2. Queries, keys and values are stacked in
#    `in_proj_weight`. The layer norms have eps 1e-5 and a weight, no bias; `F.gelu` is exact by
#    default;
# 3. `encoder.norm`, then the dot product with every row of `token.weight`.
#
# Use what you like: your own `attention`, or the functions of `F`. Every weight must get the gradient
# that the model gives it. The second check trains 60 steps with your function and wants a loss
# below 2; a loop over letters would take minutes there.


# %% nbgrader={"grade_id": "try-tiny-transformer", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import run_tiny_transformer


@runs_with_the_answer
def try_tiny_transformer(ids: torch.Tensor, weights: dict, heads: int) -> tuple:
    return run_tiny_transformer(tiny_transformer, ids, weights, heads)


# %% nbgrader={"grade_id": "try-training", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_training(steps: int) -> tuple:
    """The losses of a training with the answer, and the weights that got no gradient."""
    weights = {
        name: p.detach().clone().requires_grad_() for name, p in make_model().named_parameters()
    }

    def forward(ids, weights):
        scores = tiny_transformer(ids, weights, 4)
        assert isinstance(scores, torch.Tensor), f"it returned {scores!r}: is there an answer yet?"
        words = "no gradient flows from the scores to these weights: detach, no_grad, or kept ones?"
        assert scores.requires_grad, words
        return scores

    losses = train(forward, weights, steps)
    return losses, [name for name, weight in weights.items() if weight.grad is None]


# %% nbgrader={"grade_id": "tiny-transformer-truth-1", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.layers import check_tiny_transformer_1 as judged_tiny_transformer_1


def check_tiny_transformer_1(*case, **more):
    judged_tiny_transformer_1(letters, make_model, try_tiny_transformer, *case, **more)


# %% nbgrader={"grade_id": "tiny-transformer", "solution": true}
def tiny_transformer(
    ids: torch.Tensor, weights: dict[str, torch.Tensor], heads: int
) -> torch.Tensor:
    """Scores (N, T, letters) for the letter after each of ids (N, T)."""

    ### BEGIN SOLUTION
    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], weights[f"encoder.{name}.weight"])

    def linear(x, name):
        return F.linear(x, weights[f"encoder.{name}weight"])

    x = weights["token.weight"][ids] + weights["place.weight"][: ids.shape[1]]
    for block in range(sum("norm1" in name for name in weights)):
        at = f"layers.{block}"
        qkv = linear(norm(x, f"{at}.norm1"), f"{at}.self_attn.in_proj_")
        q, k, v = qkv.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + linear(y, f"{at}.self_attn.out_proj.")
        hidden = F.gelu(linear(norm(x, f"{at}.norm2"), f"{at}.linear1."))
        x = x + linear(hidden, f"{at}.linear2.")
    return norm(x, "norm") @ weights["token.weight"].t()
    ### END SOLUTION


# %% nbgrader={"grade_id": "tiny-transformer-check-1", "grade": true, "points": 3}
with every_case() as case:
    with case("2 pieces of 6 letters, 2 blocks"):
        check_tiny_transformer_1(2, 6)
    with case("1 block, 1 head"):
        check_tiny_transformer_1(2, 5, heads=1, layers=1)
    for time in (1, 2):
        with case(f"a piece of {time} letter{'s'[: time > 1]}"):
            check_tiny_transformer_1(1, time)
    with case("3 blocks, 2 heads, 24 features, pieces of 7, longer than before"):
        check_tiny_transformer_1(3, 7, heads=2, seed=2, width=24, layers=3)
    with case("11 blocks, 8 features"):
        check_tiny_transformer_1(2, 3, heads=2, seed=5, width=8, layers=11)
    with case("tables of tiny numbers, so that eps counts"):
        check_tiny_transformer_1(2, 5, scale=1e-3, layers=1)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("1 block, 8 heads, 16 features"):
        check_tiny_transformer_1(2, 9, heads=8, seed=4, width=16, layers=1)
    with case("the longest piece"):
        check_tiny_transformer_1(1, 20, seed=3, longest=20)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "tiny-transformer-check-2", "grade": true, "points": 1}
with every_case() as case, case("60 steps of training"):
    losses, none = try_training(60)
    assert not none, f"no gradient reaches {', '.join(none[:3])}"
    assert losses[-1] < 2, f"the loss is {losses[-1]:.2f} after 60 steps, expected less than 2"

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write a helper for a norm by its name, and another for a product by its name. Then the body is five
# lines for a block.
# </details>
# <details><summary>Hint 2</summary>
#
# Count the blocks by the names: how many contain `norm1`?
# </details>
#
# ### Let it learn
#
# The next cell trains for 240 steps, a few seconds. It takes your function if it gives the right
# scores, else PyTorch's block. Chance is a loss of log 25 = 3.2. If the model knew only the
# letter before, it could get to the dashed line of the picture.


# %%
def solved() -> bool:
    """Whether the learner's function gives the right scores."""
    try:
        ids = codes[:48].view(2, 24)
        return torch.allclose(
            tiny_transformer(ids, dict(model.named_parameters()), 4), model(ids), atol=1e-3
        )
    except Exception:
        return False


# %%
def forward(ids, weights):
    if solved_before:
        return tiny_transformer(ids, weights, 4)
    return torch.func.functional_call(model, weights, (ids,))


solved_before = solved()
print("trained with", "your tiny_transformer" if solved_before else "PyTorch's block")

# %%
weights = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}
losses = train(forward, weights, 240)
print("loss at the start:", round(losses[0], 1))
print("below 0.3 at the end:", sum(losses[-10:]) / 10 < 0.3)

# %%
pairs = torch.zeros(len(letters), len(letters))
for before, after in zip(codes[:-1].tolist(), codes[1:].tolist(), strict=True):
    pairs[before, after] += 1
share = pairs / pairs.sum(1, keepdim=True)
one_letter = -(pairs * share.clamp(min=1e-9).log()).sum().item() / pairs.sum().item()
print("the best loss that one letter back allows:", round(one_letter, 2))

# %%
curves = {"our transformer": losses, "the best that one letter back allows": [one_letter] * 240}
draw_curves(
    range(240),
    curves,
    title="Learning to write seven sentences",
    labels=("step", "loss"),
    alt="The loss falls from above 3, passes the dashed line at 1.8 after some 50 steps "
    "and "
    "ends below 0.2.",
)

# %% [markdown]
# It passes the dashed line: from there on it must use more than the last letter. What it cannot know
# is which sentence follows, so the loss does not reach zero. Let it write, a letter at a time:


# %%
def write(start: str, count: int) -> str:
    """``count`` letters drawn after ``start``, each from the model's own probabilities."""
    ids, lot = [letters.index(letter) for letter in start], torch.Generator().manual_seed(1)
    with torch.no_grad():
        for _ in range(count):
            scores = forward(torch.tensor([ids[-48:]], device=device), weights)[0, -1].cpu()
            ids.append(torch.multinomial(scores.softmax(-1), 1, generator=lot).item())
    return "".join(letters[i] for i in ids)


# %% tags=["nbval-ignore-output"]
written = write("a norm", 150)
print(written)

# %%
found = [s for s in written.split(". ")[:-1] if s in sentences]
print("whole sentences of the text among those it wrote:", len(found) > 2)

# %% [markdown]
# And where does it look? Here are the maps of the first block's four heads on a piece of the text.
# Each row is a letter, and shows which earlier letters it took its information from.


# %%
def maps_of(ids):  # (batch, time) to (batch, heads, time, time)
    x = weights["token.weight"][ids] + weights["place.weight"][: ids.shape[1]]
    x = F.layer_norm(x, (32,), weights["encoder.layers.0.norm1.weight"])
    qkv = F.linear(x, weights["encoder.layers.0.self_attn.in_proj_weight"])
    q, k, _ = qkv.unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)  # (batch, heads, time, 8) each
    future = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=device).triu(1)
    return (q @ k.transpose(-2, -1) / 8**0.5).masked_fill(future, -torch.inf).softmax(-1).detach()


# %% tags=["nbval-ignore-output"]
piece = "a norm forgets mean and"
ids = torch.tensor([[letters.index(letter) for letter in piece]], device=device)
maps = maps_of(ids)[0].cpu()
figure, panels = plt.subplots(1, 4, figsize=(11, 3.2), layout="constrained")
for head, axes in enumerate(panels):
    drawn = axes.imshow(maps[head], cmap="Blues", vmin=0, vmax=0.6)
    axes.set_xticks(range(len(piece)), piece, fontsize=7)
    axes.set_yticks(range(len(piece)), piece, fontsize=7)
    axes.set(title=f"head {head}", xlabel="looks at")
panels[0].set_ylabel("from this letter")
figure.colorbar(drawn, ax=panels, label="weight (0.6 and more: darkest)")
show(
    figure,
    "Four lower-triangular maps of attention, one for each head, over the letters of: "
    "a norm forgets mean and.",
)

# %% [markdown]
# Nothing is above the diagonal: the mask is there. Dark columns are letters that a head likes to look
# at. Is there a system? Take 60 pieces of the text, and compare what each letter gets from a head with
# what it would get if the head looked evenly at the last eight letters:

# %% tags=["nbval-ignore-output"]
ids = codes[torch.arange(60, device=device).unsqueeze(1) * 97 + torch.arange(48, device=device)]
distance = torch.arange(48).unsqueeze(1) - torch.arange(48)
near = (distance >= 0) & (distance < 8)
seen = maps_of(ids).cpu() * near
seen = (seen / seen.sum(-1, keepdim=True))[:, :, 8:].sum(2)  # (batch, heads, time): what it gets
even = (near / near.sum(1, keepdim=True))[8:].sum(0)
share = torch.stack(
    [(seen * (ids.cpu() == i)[:, None]).sum((0, 2)) for i in range(len(letters))], 1
)
share /= torch.stack([(even * (ids.cpu() == i)).sum() for i in range(len(letters))])

# %% tags=["nbval-ignore-output"]
often = codes.bincount().cpu().argsort(descending=True)
figure, axes = plt.subplots(figsize=(9, 2.2), layout="constrained")
drawn = axes.imshow(share[:, often], cmap="PuOr", vmin=0, vmax=2, aspect="auto")
axes.set(yticks=range(4), ylabel="head", xlabel="letter, from the most frequent to the rarest")
axes.set_xticks(range(len(letters)), [letters[i].replace(" ", "␣") for i in often])
figure.colorbar(drawn, label="times an even share")
show(
    figure,
    "Four heads by letter: many rare letters get up to twice an even share, frequent ones less.",
)
for name, few in (("most frequent", often[:6]), ("rarest", often[-6:])):
    print(f"the six {name}: {share[:, few].mean():.1f} times an even share")

# %% [markdown]
# The rows differ: each head prefers different letters, so the four look for four things at once. Together
# they prefer the rare letters on the right, which tell the seven sentences apart, to the space and
# the frequent letters on the left, which don't.

# %% [markdown]
# ## 13. All of it at work
#
# Do your parts hold larger networks? The next cell takes your `linear_by_hand`, `batch_norm` and
# `multi_head` where they give PyTorch's values and gradients, and PyTorch's own where an exercise is
# still open.

# %% tags=["nbval-ignore-output"]
from course_utils.chapters.layers import choose_parts

linear, norm_images, mix = choose_parts(linear_by_hand, batch_norm, multi_head)
print("parts:", *(part.__name__ for part in (linear, norm_images, mix)))

# %% [markdown]
# ### A network that sees words in an image
#
# torchvision's `VisionTransformer` cuts an image into patches, takes each for a word, and puts another
# word in front, whose answer becomes the scores. The names of its weights are a contract, as chapter
# 08 has it. Yours are functions that look up these names:


# %%
def norm_words(x, w, name):
    return F.layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"], eps=1e-6)


def see_block(x, w, heads):  # w: the weights of one block
    own = {name.removeprefix("self_attention."): w[name] for name in w if "attention" in name}
    x = x + mix(norm_words(x, w, "ln_1"), own, heads)
    hidden = F.gelu(linear(norm_words(x, w, "ln_2"), w["mlp.0.weight"], w["mlp.0.bias"]))
    return x + linear(hidden, w["mlp.3.weight"], w["mlp.3.bias"])


# %%
def see(images, w, heads):  # (batch, 3, height, width) to scores (batch, classes)
    kernel = w["conv_proj.weight"]  # (width, 3, size, size)
    size = kernel.shape[-1]
    patches = images.unfold(2, size, size).unfold(3, size, size).permute(0, 2, 3, 1, 4, 5)
    x = linear(patches.flatten(3).flatten(1, 2), kernel.flatten(1), w["conv_proj.bias"])
    first = w["class_token"].expand(len(x), -1, -1)
    x = torch.cat([first, x], dim=1) + w["encoder.pos_embedding"]
    for number in range(sum("ln_1.weight" in name for name in w)):
        at = f"encoder.layers.encoder_layer_{number}."
        x = see_block(x, {n.removeprefix(at): w[n] for n in w if n.startswith(at)}, heads)
    x = norm_words(x[:, 0], w, "encoder.ln")
    return linear(x, w["heads.head.weight"], w["heads.head.bias"])


# %% [markdown]
# A convolution whose stride is its kernel is a linear layer on patches (section 2). Now torchvision's
# model lends its weights. They are random here, for want of a network; trained weights have the
# same names:

# %%
from torchvision.models import VisionTransformer

torch.manual_seed(0)
shape = {"image_size": 32, "patch_size": 8, "num_layers": 3, "num_heads": 4, "hidden_dim": 64}
theirs = VisionTransformer(**shape, mlp_dim=128, num_classes=3).to(device).eval()
_ = nn.init.normal_(theirs.heads.head.weight)  # torchvision starts it with zeros
photos = seeded(0)(2, 3, 32, 32)
state = {name: weight.requires_grad_() for name, weight in theirs.state_dict().items()}

# %%
scores = see(photos, state, heads=4)
used = torch.autograd.grad(scores.sum(), tuple(state.values()), allow_unused=True)
print("names used:", sum(gradient is not None for gradient in used), "of", len(state))
print("equal scores:", torch.allclose(scores, theirs(photos), rtol=1e-3, atol=1e-3))

# %% [markdown]
# Key for key, and number for number. The large `vit_b_16` differs in sizes alone: with `heads=12`,
# these lines run torchvision's trained weights.
#
# ### A network that learns to see
#
# Last, train. The course draws pictures with one to four shapes on a noisy ground. The largest is a
# circle, a square or a triangle: which? A small convolutional network of your parts, with section
# 2's convolution for a whole batch:

# %%
from course_utils import draw_shapes


def picture(index):  # (3, 32, 32)
    image = torch.from_numpy(draw_shapes(index).image).permute(2, 0, 1).float()
    return F.interpolate(image.unsqueeze(0), (32, 32), mode="area")[0]


def conv(x, weight):  # 3 × 3, with a border of zeros, two pixels a step
    windows = F.pad(x, (1, 1, 1, 1)).unfold(2, 3, 2).unfold(3, 3, 2)
    return torch.einsum("nchwij,ocij->nohw", windows, weight)


# %%
class ShapeNet(nn.Module):
    def __init__(self, widths=(12, 24, 48)):
        super().__init__()
        pairs = list(zip((3, *widths), widths, strict=False))
        kernels = [torch.randn(n, m, 3, 3) * (2 / (9 * m)) ** 0.5 for m, n in pairs]
        self.kernels = nn.ParameterList(kernels)
        self.scales = nn.ParameterList([torch.ones(n) for n in widths])
        self.shifts = nn.ParameterList([torch.zeros(n) for n in widths])
        self.memory = nn.ParameterList(
            [torch.stack([torch.zeros(n), torch.ones(n)]) for n in widths]
        )
        self.memory.requires_grad_(False)
        self.head = nn.Linear(widths[-1], 3)

    def forward(self, x):
        for kernel, scale, shift, memory in zip(
            self.kernels, self.scales, self.shifts, self.memory, strict=True
        ):
            y, mean, var = norm_images(conv(x, kernel), scale, shift, *memory, self.training)
            memory.copy_(torch.stack([mean, var]).detach())
            x = y.relu()
        return linear(x.amax((2, 3)), self.head.weight, self.head.bias)


# %%
images = torch.stack([picture(index) for index in range(1500)]).to(device)
images = (images - images.mean((0, 2, 3), keepdim=True)) / images.std((0, 2, 3), keepdim=True)
kinds = torch.arange(1500, device=device) % 3  # circle, square, triangle
torch.manual_seed(0)
net = ShapeNet().to(device)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=320)

# %%
for _ in range(8):
    for batch in torch.randperm(1200).to(device).split(30):
        mirrored = images[batch].flip(3) if torch.rand(()) < 0.5 else images[batch]
        loss = F.cross_entropy(net(mirrored), kinds[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()

# %%
with torch.no_grad():
    guesses = net.eval()(images[1200:]).argmax(1)
print(
    "at least 90 % of 300 new pictures right:",
    (guesses == kinds[1200:]).float().mean().item() > 0.9,
)

# %% tags=["nbval-ignore-output"]
wrong = (guesses != kinds[1200:]).int()
order = wrong.argsort(descending=True, stable=True)[:7].tolist()  # the mistakes first
figure, panels = plt.subplots(1, 7, figsize=(10, 1.9), layout="constrained")
for axes, index in zip(panels, order, strict=True):
    axes.imshow(draw_shapes(1200 + index).image)
    name, truth = (("circle", "square", "triangle")[int(t[index])] for t in (guesses, kinds[1200:]))
    axes.set_title(name if name == truth else f"{name}?\nit is a {truth}", fontsize=8)
    axes.set(xticks=[], yticks=[])
show(
    figure,
    "Seven pictures of shapes that the network didn't train on, its mistakes first: their titles "
    "name what it took for the largest shape, and what that is.",
)
print(f"right: {1 - wrong.float().mean().item():.1%}")

# %% [markdown]
# In many of its mistakes the network names a shape that is there, but isn't the largest.
#
# ## What to take home
#
# Can every layer be written in ten lines? Count yours; these are the model solution's, without the
# line of `def`:
#
# | layer | lines | its heart | easily got wrong |
# | --- | --- | --- | --- |
# | linear | 2 | `x @ weight.t() + bias` | weight is (out, in) |
# | convolution | 2 | windows as a view, one einsum | output rounds down; dilation widens the reach |
# | transposed convolution | 5 | the gradient of a convolution | padding cuts |
# | pooling | 6 | max or mean of windows | adaptive windows overlap |
# | batch norm | 11 | mean over all but channels | biased for `y`, unbiased for the memory |
# | other norms | 8 | the same with other `dim` | groups are neighbours |
# | embedding | 1 | `weight[ids]` | `padding_idx` masks nothing |
# | RNN, GRU, LSTM | 11 | gates, one step at a time | the order of the gates, what r multiplies |
# | attention | 9 | softmax of scaled scores, times values | what `True` means; rows that see nothing |
# | transformer block | 7 | attention, then a small net, each added | the causal mask |
#
# Yes, but for two that take eleven. What PyTorch adds is speed, less memory, and care for corner cases.
#
# **Three mistakes to remember**
#
# 1. Trusting a shape. A square weight that is not transposed, heads reshaped without a transpose,
#    a norm over the wrong dimension: all give the right shape and wrong numbers. Compare values.
# 2. Forgetting that a layer behaves differently in training. Batch norm uses the batch there, and its
#    memory needs some 30 steps before `eval()` can be trusted.
# 3. Thinking that padding is harmless. Pads enter means, states, backward directions and attention
#    until a mask or a packed sequence keeps them out.
#
# **Read more.** The PyTorch documentation of `torch.nn`, whose formulas you can now read as code, and
# of `scaled_dot_product_attention`. The papers: *A guide to convolution arithmetic for deep
# learning*; *Batch Normalization*; *Layer Normalization*; *Group Normalization*; *Root Mean Square
# Layer Normalization*; *Long Short-Term Memory*; *Attention Is All You Need*; *On Layer
# Normalization in the Transformer Architecture*; *RoFormer: Enhanced Transformer with Rotary Position
# Embedding*; *GQA: Training Generalized Multi-Query Transformer Models*; *An Image is Worth 16x16
# Words*.
