# ---
# jupyter:
#   course:
#     title: Tensor algebra
#     minutes: 370
# ---

# %% [markdown]
# # Tensor algebra: one line instead of a loop
#
# A loop over the numbers of a tensor is easy to read and hopelessly slow. One line of algebra does
# the same work a thousand times faster. So this chapter replaces loops by lines, and asks three
# questions of each line:
#
# 1. **What does it compute?** Which indices are kept, which are summed over?
# 2. **What does it cost?** How many operations, how many bytes?
# 3. **Is it still right in float32?** Two formulas that are equal on paper need not be equal in a
#    machine that keeps seven digits.
#
# **After this chapter you can**
#
# - choose among the products of PyTorch, and write any of them as an `einsum`;
# - cut images into patches and put them together again with `einops`;
# - compute all distances between two sets of points in three ways, and say which one to trust;
# - predict how much of a sum is lost to rounding, and lose less;
# - write a softmax that survives large numbers, masks and half precision;
# - solve a least-squares problem without inverting anything, and read a condition number.
#
# **It leans on** chapters 00, 01 (indexing, broadcasting) and 02 (views and copies). **Time:** about
# 80 minutes to read and run, nearly five hours more with all thirteen exercises. You can skip any
# exercise: nothing later depends on your answer.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn.functional as F
from course_utils import check_close, count_operators, device, draw_einsum
from course_utils import forbid_changes, forbid_copies, show
from einops import rearrange, reduce, repeat

# %% [markdown]
# ## 1. Products: five names and one operator
#
# PyTorch has a name for each pair of shapes, and `@` for all of them. **Predict** the four shapes.

# %% topics=["matmul-family"]
v, m = torch.arange(3.0), torch.arange(12.0).view(4, 3)
x, y = torch.ones(10, 3, 4), torch.ones(10, 4, 5)
print("dot", torch.dot(v, v).shape, " mv", torch.mv(m, v).shape)
print("mm ", torch.mm(m, m.T).shape, " bmm", torch.bmm(x, y).shape)
print("@  ", (v @ v).shape, (m @ v).shape, (m @ m.T).shape, (x @ y).shape)

# %% [markdown]
# | you have | name | `@` does | result |
# | --- | --- | --- | --- |
# | (k), (k) | `dot` | sums the products | () |
# | (n, k), (k) | `mv` | one dot product for each row | (n) |
# | (n, k), (k, m) | `mm` | each row with each column | (n, m) |
# | (b, n, k), (b, k, m) | `bmm` | `mm` for each pair of the batch | (b, n, m) |
# | (…, n, k), (…, k, m) | `matmul`, the same as `@` | the last two dimensions multiply, all before them broadcast | (…, n, m) |
#
# The named ones take exactly these shapes and complain about any other. `@` adapts. That is handy,
# and it is a risk: a batch dimension that you forgot broadcasts in silence.

# %% topics=["matmul-family"]
heads = torch.ones(8, 1, 3, 4)  # (batch, 1, time, channel)
weights = torch.ones(6, 4, 5)  # (head, channel, out)
print((heads @ weights).shape)

# %% topics=["matmul-family"]
try:
    torch.bmm(heads, weights)
except RuntimeError as error:
    print(error)

# %% [markdown]
# `*` is no relative of these. It multiplies number by number and sums nothing. Its shapes must
# broadcast, not chain.
#
# > **Then and now.** *"After `bmm` of (10, 3, 4) with (10, 4, 5), `torch.mul` of the same two tensors
# > is the element-wise version."* It is an error: 4 and 5 do not broadcast, and neither do 3 and 4.

# %% errata=["mul-as-matmul-sibling"]
try:
    torch.mul(x, y)
except RuntimeError as error:
    print(error)

# %% [markdown]
# ### Why not a loop?
#
# Here is the matrix product as everybody first learns it, and what PyTorch gets to see of it.
# **Predict** how many operators the loop runs for two 6 × 6 matrices.


# %% topics=["vectorise-not-loop"]
def product_by_loops(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """``x @ y`` for x (n, k) and y (k, m), one number at a time."""
    result = torch.zeros(x.shape[0], y.shape[1])
    for i in range(x.shape[0]):
        for j in range(y.shape[1]):
            for k in range(x.shape[1]):
                result[i, j] += x[i, k] * y[k, j]
    return result


# %% topics=["vectorise-not-loop"]
square = torch.arange(36.0).view(6, 6)
with count_operators() as counts:
    slow = product_by_loops(square, square)
print(counts.total(), "operators; equal:", torch.equal(slow, square @ square))

# %% [markdown]
# Each operator costs some microseconds before it touches its first number: Python calls PyTorch,
# PyTorch looks up the right kernel, memory is allocated. On a GPU a kernel has to be launched, too.
# The loop pays this price two thousand times, the line `square @ square` once. Measure it:

# %% topics=["vectorise-not-loop"] tags=["nbval-ignore-output"]
import timeit

loop = min(timeit.repeat(lambda: product_by_loops(square, square), number=1, repeat=5))
line = min(timeit.repeat(lambda: square @ square, number=100, repeat=5)) / 100
print(f"loop {1e6 * loop:.0f} µs, line {1e6 * line:.1f} µs: {loop / line:.0f} times faster")

# %% [markdown]
# So: look for the line. If you can only think of one row at a time, write the function for one row
# and let `torch.vmap` make the batched version. It does not loop either:

# %% topics=["vectorise-not-loop"]
rows, others = torch.arange(12.0).view(4, 3), torch.ones(4, 3)
with count_operators() as counts:
    dots = torch.vmap(torch.dot)(rows, others)  # dot takes vectors only
print(dots, "products:", counts["bmm"], " dot:", counts["dot"])

# %% [markdown]
# ### What does a product cost?
#
# An (n, k) times (k, m) product makes n · m numbers, each from k multiplications and k additions:
# 2·n·k·m operations. So the *order* of a chain matters, although the result is the same.
# **Predict** which of the two chains is cheaper, and by how much.

# %% topics=["matmul-family"]
from torch.utils.flop_counter import FlopCounterMode

big, vector = torch.ones(500, 500), torch.ones(500, 1)
with FlopCounterMode(display=False) as left:
    (big @ big) @ vector
with FlopCounterMode(display=False) as right:
    big @ (big @ vector)
print(f"{left.get_total_flops():,} and {right.get_total_flops():,} operations")

# %% [markdown]
# A pair of parentheses, a factor of 250. `@` works from left to right, so `big @ big @ vector` is the
# expensive one. `torch.linalg.multi_dot` chooses the order for you.
#
# ### A product and a sum in one
#
# Layers compute "bias plus product". BLAS, the classic library for matrices, has one call for both,
# with two factors: `beta` for what is added and `alpha` for the product. PyTorch keeps its names.

# %% topics=["blas-style-ops"]
c, a, b = torch.ones(4, 5), torch.arange(12.0).view(4, 3), torch.arange(15.0).view(3, 5)
print(torch.equal(torch.addmm(c, a, b, beta=2, alpha=3), 2 * c + 3 * (a @ b)))

# %% topics=["blas-style-ops"]
with count_operators() as counts:
    F.linear(a, b.T, bias=torch.ones(5))  # what nn.Linear calls
counts["addmm"], counts["mm"]

# %% [markdown]
# | call | computes | shapes of the product |
# | --- | --- | --- |
# | `addmm(c, a, b)` | `beta·c + alpha·(a @ b)` | (n, k), (k, m) |
# | `addmv(c, a, v)` | the same with a vector | (n, k), (k) |
# | `addr(c, u, v)` | `beta·c + alpha·outer(u, v)` | (n), (m) |
# | `baddbmm(c, a, b)` | the same for each pair of a batch | (b, n, k), (b, k, m) |
# | `addbmm(c, a, b)` | adds up *all* products of the batch | (b, n, k), (b, k, m) to (n, m) |
#
# Two of these names differ by one letter and do different things. **Predict** both shapes:

# %% topics=["blas-style-ops"]
x, y = torch.ones(10, 3, 4), torch.ones(10, 4, 5)
print("baddbmm", torch.baddbmm(torch.zeros(10, 3, 5), x, y).shape)
print("addbmm ", torch.addbmm(torch.zeros(3, 5), x, y).shape)
print("addmv  ", torch.addmv(torch.zeros(3), x[0], torch.ones(4)))
print("addr   ", torch.addr(torch.zeros(2, 3), torch.ones(2), torch.arange(3.0)).tolist())

# %% [markdown]
# With `beta=0` the first argument is not even read, so it may hold anything:

# %% topics=["blas-style-ops"]
unset = torch.full((3, 5), float("nan"))
torch.addmm(unset, x[0], y[0], beta=0)[0]

# %% [markdown]
# **In practice** you write `F.linear` and `@`. You meet these names in profiles, where a linear layer
# shows up as `addmm`, and in attention code, where `baddbmm` adds a bias to the scores.

# %% [markdown]
# ## 2. einsum: say which index is which
#
# `bmm` wants its batch first, `mv` wants the matrix on the left. With four dimensions you permute
# before, permute after, and hope. What you *mean* is simpler. For the matrix product it is
#
# $$C_{ik} = \sum_j A_{ij} B_{jk}$$
#
# `torch.einsum` takes exactly that: a letter for each dimension of each input, an arrow, and the
# letters of the result.

# %% topics=["einsum"]
A, B = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(3, 4)
print(torch.equal(torch.einsum("ij,jk->ik", A, B), A @ B))
draw_einsum("ij,jk->ik", ["A", "B"])

# %% [markdown]
# Each cell of a box is one dimension. Follow the lines. Two rules say everything:
#
# - A letter that the result has is **kept**. Its line leads down. Mathematicians call it a *free*
#   index.
# - A letter that the result lacks is **summed over**. Its line leads up, to a Σ. This is a *dummy*
#   index. Its name does not matter: `"ix,xk->ik"` is the same.
#
# And one letter is one index: where it appears twice, the same number is used in both places. For
# every setting of all letters, multiply the entries, and add the product into the result.
# **Predict** the four results before you run.

# %% topics=["einsum"]
S = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
print(torch.einsum("ij->ji", S).tolist())
print(torch.einsum("ij->i", S).tolist())
print(torch.einsum("ii->i", S).tolist())
print(torch.einsum("ii->", S).item())

# %%
draw_einsum("ii->", ["S"], result="trace")

# %% [markdown]
# Transpose, row sums, diagonal, trace. In the last one both dimensions of `S` carry the same letter,
# so only the entries with equal indices take part; the result lacks it, so they are added up.
#
# Now the case that made einsum popular. In attention, queries have the shape (batch, time, head,
# channel), and so have the keys, with a time axis of their own. Every query meets every key, for each
# batch entry and each head by itself:

# %% topics=["einsum"]
q, k = torch.ones(2, 5, 4, 8), torch.ones(2, 7, 4, 8)  # (batch, time, head, channel)
print(torch.einsum("bthd,bshd->bhts", q, k).shape)
draw_einsum("bthd,bshd->bhts", ["q", "k"], result="scores")

# %% [markdown]
# `b` and `h` appear in both inputs *and* in the result: they are batch dimensions, only equal entries
# meet. `d` is summed over. `t` and `s` are free, each from one input, so all pairs appear.
#
# **What does it cost?** einsum is no new kernel. It permutes, calls `bmm`, and permutes back:

# %% topics=["einsum"]
with count_operators() as counts:
    torch.einsum("bthd,bshd->bhts", q, k)
print("products:", counts["bmm"], " copies:", counts["clone"])

# %% [markdown]
# The copies bring the operands into an order that `bmm` can use. With more than two operands einsum
# works from left to right, unless the package `opt_einsum` is installed; it looks for a cheaper order.
#
# **Where it ends.** einsum multiplies and adds. It knows no maximum, no `exp`, no splitting of a
# dimension. And a wrong letter may still be a legal program. **Predict** what this computes instead:

# %%
wrong = torch.einsum("bthd,bsgd->bhts", q, k)  # one letter changed
wrong.shape, wrong[0, 0, 0, 0].item(), torch.einsum("bthd,bshd->bhts", q, k)[0, 0, 0, 0].item()

# %% [markdown]
# The same shape, four times as much: `g` stands alone and is missing from the result, so each query
# was compared with the sum of all four heads' keys. **In practice:** read off the letters that are
# missing from the result, and ask of each one whether you want the sum over it.

# %% [markdown]
# ### Exercise 3.1 — Eight strings ★★ · 15 min · 4 points
#
# Write the einsum string for each line. Which letters you take is up to you. The example of a string:
# `"ij,jk->ik"` for a matrix product.
#
# | name | operands | result |
# | --- | --- | --- |
# | `trace` | `m` (n, n) | (), the sum of the diagonal |
# | `column sums` | `x` (n, k) | (k), each the sum of a column |
# | `outer` | `u` (n), `v` (k) | (n, k), every product `u[i] * v[j]` |
# | `row by row` | `x` (n, k), `y` (n, k) | (n), the dot product of row i with row i |
# | `batched product` | `x` (b, n, k), `y` (b, k, m) | (b, n, m), as `bmm` |
# | `bilinear` | `x` (b, n), `w` (o, n, m), `y` (b, m) | (b, o), for each b and o the number `x[b] @ w[o] @ y[b]` |
# | `scores` | `q` (b, t, h, d), `k` (b, s, h, d) | (b, t, h, s), the dot product of each query with each key |
# | `mix` | `p` (b, t, h, s), `v` (b, s, h, d) | (b, t, h, d), the values added up with the weights `p` |
#
# Mind the order of the result of `scores`: it is not the one of the picture.


# %% nbgrader={"grade_id": "einsum-truths", "locked": true} jupyter={"source_hidden": true}
def truths_of_eight(draw, b, t, s, h, d, n, k, m, o) -> dict:
    """For each name of the table: operands of these sizes, and the result without einsum."""
    u, v, p = draw(n), draw(k), draw(b, t, h, s)
    square, x, y, q, keys = draw(n, n), draw(n, k), draw(n, k), draw(b, t, h, d), draw(b, s, h, d)
    first, w, second, left, right = (
        draw(b, n),
        draw(o, n, m),
        draw(b, m),
        draw(b, n, k),
        draw(b, k, m),
    )
    between = (q[:, :, None] * keys[:, None]).sum(-1).transpose(2, 3)
    return {
        "trace": ([square], square.trace()),
        "column sums": ([x], x.sum(0)),
        "outer": ([u, v], u[:, None] * v),
        "row by row": ([x, y], (x * y).sum(1)),
        "batched product": ([left, right], left @ right),
        "bilinear": ([first, w, second], ((first @ w).movedim(0, 1) * second[:, None]).sum(-1)),
        "scores": ([q, keys], between),
        "mix": ([p, keys], (p[..., None] * keys.transpose(1, 2)[:, None]).sum(3)),
    }


# %% nbgrader={"grade_id": "einsum-eight", "solution": true}
einsum_eight = {
    "trace": None,
    "column sums": None,
    "outer": None,
    "row by row": None,
    "batched product": None,
    "bilinear": None,
    "scores": None,
    "mix": None,
}
### BEGIN SOLUTION
einsum_eight = {
    "trace": "ii->",
    "column sums": "ij->j",
    "outer": "i,j->ij",
    "row by row": "ij,ij->i",
    "batched product": "bnk,bkm->bnm",
    "bilinear": "bn,onm,bm->bo",
    "scores": "bthd,bshd->bths",
    "mix": "bths,bshd->bthd",
}
### END SOLUTION


# %% nbgrader={"grade_id": "einsum-eight-check", "grade": true, "points": 4}


def check_strings(truths):
    for name, (operands, expected) in truths.items():
        string = einsum_eight.get(name)
        assert isinstance(string, str), f"{name} is {string!r}: write an einsum string"
        try:
            result = torch.einsum(string, *operands)
        except (RuntimeError, ValueError) as error:
            raise AssertionError(f"{name}: einsum refuses {string!r} ({error})") from None
        sums = "which letters are missing from its result, and so summed over?"
        check_close(result, expected, f"{name}, {string!r} ({sums})")


def count_up(*size):
    return torch.arange(torch.Size(size).numel()).view(size) % 5


check_strings(truths_of_eight(count_up, 2, 3, 4, 5, 6, 7, 8, 9, 10))
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(1)


def draw_some(*size):
    return torch.randn(size, generator=generator, dtype=torch.float64).to(device)


check_strings(truths_of_eight(draw_some, 3, 2, 5, 4, 1, 6, 2, 3, 1))
check_strings(truths_of_eight(draw_some, 2, 1, 3, 0, 2, 1, 4, 2, 3))
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# First give every dimension of the operands a letter, the same letter where the same index is
# meant. Then write the result's letters in the order of its shape.
# </details>
# <details><summary>Hint 2</summary>
#
# In `row by row` the row index appears in both operands and in the result; only the column index
# is summed over.
# </details>
# <details><summary>Hint 3</summary>
#
# einsum takes three operands as well as two. In `bilinear` the letters n and m vanish, b and o stay.
# </details>

# %% [markdown]
# ## 3. einops: split, merge and repeat by name
#
# einsum can't split a dimension. `view` and `permute` can, but chapter 02 showed how easily the two
# are mixed up, and neither says what a dimension *means*. The package `einops` writes shapes as
# words. Parentheses split on the left of the arrow and merge on the right:

# %% topics=["einops-basics"]
images = torch.arange(2 * 4 * 6 * 3.0).view(2, 4, 6, 3)  # (batch, height, width, channel)
print(rearrange(images, "b h w c -> b c h w").shape)
print(rearrange(images, "b h w c -> b (h w c)").shape)
print(rearrange(images, "b (h p) w c -> b h p w c", p=2).shape)

# %% [markdown]
# In the last line one number has to be given, the other follows: 4 rows are 2 groups of `p=2`. The
# order inside parentheses is the order in memory: in `(h p)` the last letter, `p`, runs fastest.
#
# Two more functions complete the set. `reduce` drops what is missing from the right side, by a
# reduction that you name. `repeat` adds what is new on the right side.

# %% topics=["einops-basics"]
print(reduce(images, "b h w c -> b c", "max").shape)
print(reduce(images, "b (h i) (w j) c -> b h w c", "mean", i=2, j=2).shape, "2 × 2 pooling")
print(repeat(torch.arange(3), "n -> n k", k=2).tolist())
print(repeat(torch.arange(3), "n -> (n k)", k=2).tolist())
print(repeat(torch.arange(3), "n -> (k n)", k=2).tolist())

# %% [markdown]
# The left side must name every dimension. That is a check that `view` never makes:
#
# > **Then and now.** *"`repeat(x, 'c h w -> n c h w', n=16)` repeats a batch of images."* A batch has
# > four dimensions and the pattern names three. einops does not guess.

# %% topics=["einops-basics"] errata=["einops-repeat-rank"]
try:
    repeat(torch.zeros(2, 3, 4, 4), "c h w -> n c h w", n=16)
except Exception as error:
    print(type(error).__name__, "-", str(error).split("\n")[-1].strip())
print(repeat(torch.zeros(3, 4, 4), "c h w -> n c h w", n=16).shape)

# %% [markdown]
# ### Patches
#
# A vision transformer starts by cutting an image into patches. **Predict:** `(h p)` and `(p h)` differ
# in the order of two letters. Which of the two cuts the picture into four quarters?

# %% topics=["einops-basics"]
import matplotlib.pyplot as plt

ys, xs = torch.meshgrid(torch.linspace(-1, 1, 48), torch.linspace(-1, 1, 48), indexing="ij")
sun = torch.stack([(xs**2 + ys**2 < 0.5).float(), (ys + 1) / 2, (1 - xs) / 2], dim=-1)  # (h, w, c)
quarters = rearrange(sun, "(h p) (w q) c -> (h w) p q c", h=2, w=2)
combs = rearrange(sun, "(p h) (q w) c -> (h w) p q c", h=2, w=2)
quarters.shape == combs.shape, torch.equal(quarters, combs)

# %% topics=["einops-basics"]
figure, panels = plt.subplots(2, 5, figsize=(8, 3.4))
for row, patches, name in ((0, quarters, "(h p) (w q)"), (1, combs, "(p h) (q w)")):
    panels[row, 0].imshow(sun)
    panels[row, 0].set_title(name, fontsize=10, family="monospace")
    for number, patch in enumerate(patches):
        panels[row, number + 1].imshow(patch)
        panels[row, number + 1].set_title(f"patch {number}", fontsize=10)
for panel in panels.flat:
    panel.set_axis_off()
show(figure, "Above: a disc, cut into four quarters. Below: four small copies of the whole disc.")

# %% [markdown]
# `(h p)` means: `h` groups, and `p` neighbours in each. `(p h)` takes every second row: each "patch" is
# a coarse copy of the whole. Both have the same shape.
#
# **What does it cost?** einops calls `view`, `permute` and `reshape`. Where these give a view, it
# gives a view. For training code there are layers, `einops.layers.torch.Rearrange` among them, to put
# into an `nn.Sequential`.

# %% topics=["einops-basics"]
with count_operators() as counts:
    rearrange(images, "b h w c -> b c h w")
print(dict(counts))

# %% [markdown]
# ### Exercise 3.2 — Six patterns, and back again ★★ · 15 min · 3 points
#
# For each line write a pair: the pattern, and a dict with the sizes that it needs, empty if it needs
# none. The function is given. An example: pooling the maximum over 2 × 2 pixels, by `reduce`, would be
# `("b c (h i) (w j) -> b c h w", {"i": 2, "j": 2})`.
#
# | name | function | from | to |
# | --- | --- | --- | --- |
# | `channels first` | `rearrange` | (b, h, w, c) | (b, c, h, w) |
# | `global average` | `reduce`, by `"mean"` | (b, c, h, w) | (b, c) |
# | `upsample` | `repeat` | (b, c, h, w) | (b, c, 2h, 2w), each pixel becomes a 2 × 2 block |
# | `heads` | `rearrange` | (b, t, 12) | (b, 4, t, 3): the first head gets the first 3 channels, and so on |
# | `patches` | `rearrange` | (b, c, 6, w) | (b, number of patches, 4c): 2 × 2 patches, row by row; inside a patch first the channel, then its rows |
# | `back` | `rearrange` | the result of `patches` | (b, c, 6, w) |
#
# `w` is even. `patches` is what `F.unfold(x, 2, stride=2)` gives, with its last two dimensions swapped.
# For `back` you know that the images have 6 rows.


# %% nbgrader={"grade_id": "einops-truths", "locked": true} jupyter={"source_hidden": true}
def truths_of_six(x: torch.Tensor, tokens: torch.Tensor) -> dict:
    """For each name of the table: function, its operands, the result without einops, a hint."""
    patches = F.unfold(x, 2, stride=2).transpose(1, 2)
    wide = x.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)
    heads = tokens.unflatten(2, (4, 3)).transpose(1, 2)
    order = "are a patch's pixels neighbours? which index is first?"
    return {
        "channels first": (rearrange, (x.movedim(1, -1),), x, "the channels move to the front"),
        "global average": (reduce, (x, "mean"), x.mean((2, 3)), "one number for each channel"),
        "upsample": (repeat, (x,), wide, "does each pixel stay beside its copies?"),
        "heads": (rearrange, (tokens,), heads, "4 heads of 3 neighbouring channels"),
        "patches": (rearrange, (x,), patches, order),
        "back": (rearrange, (patches,), x, "the way back from the patches"),
    }


# %% nbgrader={"grade_id": "einops-six", "solution": true}
einops_six = {
    "channels first": None,
    "global average": None,
    "upsample": None,
    "heads": None,
    "patches": None,
    "back": None,
}
### BEGIN SOLUTION
einops_six = {
    "channels first": ("b h w c -> b c h w", {}),
    "global average": ("b c h w -> b c", {}),
    "upsample": ("b c h w -> b c (h i) (w j)", {"i": 2, "j": 2}),
    "heads": ("b t (h d) -> b h t d", {"h": 4}),
    "patches": ("b c (h p) (w q) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", {"h": 3, "p": 2, "q": 2}),
}
### END SOLUTION


# %% nbgrader={"grade_id": "einops-six-check", "grade": true, "points": 3}


def check_patterns(truths, name):
    for key, (function, operands, expected, because) in truths.items():
        pair = einops_six.get(key)
        fits = isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[1], dict)
        assert fits, f'{key} is {pair!r}: write ("pattern", {{}}), with sizes in the dict'
        try:
            result = function(operands[0], pair[0], *operands[1:], **pair[1])
        except Exception as error:
            reason = str(error).split("\n")[-1].strip()
            raise AssertionError(f"{key}: einops refuses {pair[0]!r} ({reason})") from None
        check_close(result, expected, f"{key} of {name} ({because})")


x, tokens = torch.arange(144.0).view(2, 3, 6, 4), torch.arange(120.0).view(2, 5, 12)
check_patterns(truths_of_six(x, tokens), "two images")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(2)
for batch, channels, width, time in ((1, 1, 2, 1), (3, 2, 10, 4), (2, 5, 6, 7), (4, 3, 8, 2)):
    x = torch.randn(batch, channels, 6, width, generator=generator, dtype=torch.float64).to(device)
    tokens = torch.randn(batch, time, 12, generator=generator, dtype=torch.float64).to(device)
    check_patterns(truths_of_six(x, tokens), f"images of shape {tuple(x.shape)}")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write the shape on the left, with parentheses where a dimension has to be split. Then the same
# letters on the right, in the order you need.
# </details>
# <details><summary>Hint 2</summary>
#
# In `(h d)` the letter `d` runs fastest: neighbours belong to the same head.
# </details>
# <details><summary>Hint 3</summary>
#
# `back` is `patches` read from right to left. einops can work out one unknown size inside each pair
# of parentheses, so it has to be told how many rows of patches there are: 6 rows of pixels.
# </details>

# %% [markdown]
# ### All pairs of channels: bilinear pooling
#
# Here is a line where all three questions come up. To tell apart birds or textures, people ask which
# features of an image fire *together*. For each pixel take the outer product of its channels with
# themselves, and average over the pixels. Written out, that is a (channel, channel) matrix for
# each of the h · w pixels. The sum over pixels belongs into the product instead:
#
# $$G_{bcd} = \frac{1}{hw} \sum_{p} X_{bcp} X_{bdp}$$
#
# > **Then and now.** *"Flatten the pixels by `torch.reshape(N, D, H * W)`, then multiply."* The tensor
# > itself is missing from that call.

# %% topics=["bilinear-pooling"] errata=["bilinear-pooling-reshape"]
features = torch.arange(2 * 3 * 4 * 4.0).view(2, 3, 4, 4)  # (batch, channel, height, width)
try:
    torch.reshape(2, 3, 16)
except TypeError as error:
    print(str(error).split("\n")[0])

# %% topics=["bilinear-pooling"]
flat = features.flatten(2)  # (batch, channel, pixel)
gram = flat @ flat.mT / flat.shape[2]
print(gram.shape, torch.allclose(gram, torch.einsum("bchw,bdhw->bcd", features, features) / 16))

# %% [markdown]
# Two steps follow, since a few loud channels drown the rest. A **signed square root**,
# $\operatorname{sign}(g)\sqrt{|g|}$, damps large entries. Then each image's vector is divided by its
# length. **Predict** the gradient of the signed square root at zero:

# %% topics=["bilinear-pooling"]
g = torch.tensor([4.0, -4.0, 0.0], requires_grad=True)
(g.sign() * g.abs().sqrt()).sum().backward()
g.grad

# %% [markdown]
# The value at zero is right. The gradient is not a number. The slope of the root is infinite there, the
# slope of `abs` is taken as 0, and 0 · ∞ is NaN. Zeros are not rare: a channel that a ReLU has
# switched off gives a whole row of them. The usual cure adds a tiny number inside the root. It hardly
# changes the value, and it makes the slope finite:

# %% topics=["bilinear-pooling"]
g.grad = None
(g.sign() * (g.abs() + 1e-12).sqrt()).sum().backward()
g.grad

# %% [markdown]
# Four of the exercises ask for a clean gradient. Their checks get it by the function in the next cell.
# The cell is locked; you may call the function, too.

# %% nbgrader={"grade_id": "your-gradient", "locked": true}
from course_utils import gradient_of, runs_with_the_answer


@runs_with_the_answer
def try_gradient(name: str, *args, weights: torch.Tensor | None = None):
    """The gradient of ``(weights * f(*args)).sum()``, where f is your function of that name."""
    return gradient_of(globals()[name], *args, weights=weights)


# %% [markdown]
# ### Exercise 3.3 — Bilinear pooling ★★ · 15 min · 4 points
#
# For `x` of shape (batch, channel, height, width), floating point, return (batch, channel²): the
# average over the pixels of the outer products, its signed square root, flattened row by row, each
# image's vector divided by its length. Be equal to the slow version below, which is locked.
#
# - No matrix may be written out for each pixel: no storage larger than `x` or the result, whichever
#   is larger. One product for the whole batch, no loop.
# - An image of zeros gives zeros, not NaN. The gradient is finite, also where a channel is all zero.
#   Tiny numbers up to 1e-12 may be added for that.
#
# Example: one pixel with the channels 3 and −4 gives the products 9, −12, −12, 16, the roots
# 3, −3.46, −3.46, 4, of length 7, and so the result 0.43, −0.49, −0.49, 0.57.


# %% nbgrader={"grade_id": "slow-bilinear", "locked": true}
def slow_bilinear(x: torch.Tensor) -> torch.Tensor:
    """Bilinear pooling, one pixel at a time: x (batch, channel, h, w) to (batch, channel²)."""
    rows = []
    for image in x:
        pixels = image.flatten(1).T  # (h * w, channel)
        pooled = sum(torch.outer(pixel, pixel) for pixel in pixels) / len(pixels)
        rows.append((pooled.sign() * (pooled.abs() + 1e-12).sqrt()).flatten())
    return torch.stack([row / row.norm().clamp_min(1e-12) for row in rows])


# %% nbgrader={"grade_id": "bilinear-pooling", "solution": true}
def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    """Pairs of channels, pooled over pixels: x (batch, channel, h, w) to (batch, channel²)."""
    ### BEGIN SOLUTION
    pooled = torch.einsum("bchw,bdhw->bcd", x, x) / (x.shape[2] * x.shape[3])
    rooted = pooled.sign() * (pooled.abs() + 1e-12).sqrt()
    return F.normalize(rooted.flatten(1), dim=1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "bilinear-pooling-check", "grade": true, "points": 2}


def check_case(x, name):
    call, most = f"bilinear_pooling(x) with x {name}", max(x.nbytes, len(x) * x.shape[1] ** 2 * 8)
    with forbid_changes(x), count_operators() as counts, forbid_copies(up_to=most):
        result = bilinear_pooling(x)
    check_close(result, slow_bilinear(x), call, atol=2e-6)
    products = counts["bmm"] + counts["mm"] + counts["baddbmm"] + counts["addmm"]
    assert products <= 1, f"{call}: {products} matrix products, one for the whole batch will do"


check_case(torch.tensor([[[[3.0]], [[-4.0]]]], dtype=torch.float64), "of one pixel, 3 and -4")
x = (torch.arange(2 * 4 * 5 * 3, dtype=torch.float64).view(2, 4, 5, 3) % 7 - 3).to(device)
check_case(x, "of shape (2, 4, 5, 3)")
check_case(torch.zeros_like(x), "of zeros")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(3)
x = torch.randn(3, 5, 6, 8, generator=generator, dtype=torch.float64).to(device)
for name, y in {"random": x, "a slice": x[1:, ::2, :, 1:], "transposed": x.mT}.items():
    check_case(y, name)
    check_case(y.contiguous(memory_format=torch.channels_last), f"channels_last, {name}")
check_close(bilinear_pooling(x.float()), slow_bilinear(x).float(), "float32", atol=1e-5)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "bilinear-pooling-check-2", "grade": true, "points": 2}


def check_slope(x, name):
    weights = torch.arange(1.0, x.shape[1] ** 2 + 1).to(x)
    slope, call = (
        try_gradient("bilinear_pooling", x, weights=weights),
        f"bilinear_pooling(x), x {name}",
    )
    assert slope.isfinite().all(), f"the gradient of {call} is not finite: what is it at zero?"
    if (x != 0).all():
        expected = gradient_of(slow_bilinear, x, weights=weights)
        check_close(slope, expected, f"the gradient of {call}", atol=1e-6)


x = (torch.arange(2 * 4 * 5 * 3, dtype=torch.float64).view(2, 4, 5, 3) % 7 - 3.5).to(device)
check_slope(x, "of shape (2, 4, 5, 3)")
x[:, 1] = 0
check_slope(x, "with a channel that is all zero")
check_slope(torch.zeros_like(x), "of zeros")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(3)
x = torch.randn(3, 5, 6, 8, generator=generator, dtype=torch.float64).to(device)
for name, y in {"random": x, "a slice": x[1:, ::2, :, 1:], "transposed": x.mT}.items():
    check_slope(y, name)
    check_slope(y.relu(), f"after a ReLU, {name}")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# With the pixels in one dimension, the sum of outer products is `flat @ flat.mT`.
# </details>
# <details><summary>Hint 2</summary>
#
# `F.normalize` divides by the length and leaves a vector of zeros alone. Which `dim`?
# </details>
# <details><summary>Hint 3</summary>
#
# For the gradient at zero, add 1e-12 to the absolute value before you take the root.
# </details>

# %% [markdown]
# ## 4. Puzzles: the loop never comes back
#
# How far do you get with the smallest set of tools? With `arange`, broadcasting, comparison and `@`
# alone: surprisingly far. A comparison of two `arange` is a matrix of zeros and ones, and
# multiplying by such a matrix *selects*, *sums* and *moves* entries. The identity matrix and a sum:

# %%
i = torch.arange(4)
identity = (i[:, None] == i) * 1
x = torch.tensor([3, 1, 4, 1])
print(identity.tolist())
print("moved by one:", (((i[:, None] == i + 1) * 1) @ x).tolist())

# %% [markdown]
# The matrix `i[:, None] == i + 1` has its ones just below the diagonal, so row 1 picks entry 0, row 2
# entry 1, and row 0 picks nothing. This is more than a game. A mask that is multiplied is how attention
# works, how a GPU does lookups in parallel, and how you prove to yourself that a loop can go.
#
# ### Exercise 3.4 — Twelve one-liners ★★★ · 45 min · 6 points
#
# Write each as a `lambda` or a function. The locked cell has the slow specification of each, with its
# arguments. Everything is of dtype int64, on the CPU.
#
# **Allowed:** `torch.arange`, an index of `None` and `:` (as in `x[:, None]`), `.T`, `len` and
# `.shape`, `+ - * // %`, comparisons, `& | ~`, `.long()`, and `@`. **Not allowed:** anything else, above all `sum`,
# `where`, indexing by numbers or tensors, other functions of PyTorch, and loops. What runs is
# counted. A boolean becomes a whole number by `* 1` or `.long()`.
#
# An example, which is not asked for: as many ones as `x` has entries is `lambda x: x * 0 + 1`.


# %% nbgrader={"grade_id": "puzzle-specs", "locked": true}
specs = {
    "total": lambda x: torch.tensor(sum(x.tolist())),  # x (n) to ()
    "outer": lambda x, y: torch.tensor([[a * b for b in y] for a in x]),  # (n), (m) to (n, m)
    "eye": lambda n: torch.tensor([[int(i == j) for j in range(n)] for i in range(n)]),
    "lower": lambda n: torch.tensor([[int(i >= j) for j in range(n)] for i in range(n)]),
    "running sum": lambda x: torch.tensor([sum(x[: i + 1]) for i in range(len(x))]),
    "differences": lambda x: torch.tensor([x[i] - (x[i - 1] if i else 0) for i in range(len(x))]),
    "reverse": lambda x: torch.tensor(x.tolist()[::-1]),
    "roll": lambda x, k: torch.tensor([x[(i - k) % len(x)] for i in range(len(x))]),
    "one hot": lambda x, n: torch.tensor([[int(a == j) for j in range(n)] for a in x]),
    "histogram": lambda x, n: torch.tensor([x.tolist().count(j) for j in range(n)]),
    "rank": lambda x: torch.tensor([sum(int(b < a) for b in x) for a in x]),  # how many are smaller
    "segment sum": lambda x, s, n: torch.tensor(
        [
            sum(a for a, own in zip(x.tolist(), s.tolist(), strict=True) if own == j)
            for j in range(n)
        ]
    ),
}

# %% nbgrader={"grade_id": "puzzle-rules", "locked": true}
allowed = (
    "arange unsqueeze slice alias view expand t transpose permute detach "
    "add sub rsub mul floor_divide remainder neg mm mv dot bmm "
    "eq ne lt le gt ge bitwise_and bitwise_or bitwise_not _to_copy "
    "clone _unsafe_view squeeze squeeze_"  # what @ may need inside
)


def check_puzzle(answers, name: str, *args) -> None:
    """Compare an answer with its specification, and look at what it ran."""
    shown = ", ".join(str(a.tolist()) if isinstance(a, torch.Tensor) else str(a) for a in args)
    answer = answers.get(name)
    assert callable(answer), f"{name} is {answer!r}: write a lambda or the name of a function"
    with (
        forbid_changes(*(a for a in args if isinstance(a, torch.Tensor))),
        count_operators() as counts,
    ):
        result = answer(*args)
    check_close(result, specs[name](*args).long(), f"{name} of {shown}")
    banned = sorted(set(counts) - set(allowed.split()))
    assert not banned, f"{name}: {', '.join(banned)} ran, which is not allowed here"
    assert counts, f"{name}: no operator of PyTorch ran; build it from those that are allowed"
    assert counts.total() <= 20, f"{name}: {counts.total()} operators ran: is there a loop?"


# %% nbgrader={"grade_id": "puzzles", "solution": true}
puzzles = {
    "total": None,
    "outer": None,
    "eye": None,
    "lower": None,
    "running sum": None,
    "differences": None,
    "reverse": None,
    "roll": None,
    "one hot": None,
    "histogram": None,
    "rank": None,
    "segment sum": None,
}
### BEGIN SOLUTION
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "eye": lambda n: (index(n)[:, None] == index(n)) * 1,
    "lower": lambda n: (index(n)[:, None] >= index(n)) * 1,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "one hot": lambda x, n: (x[:, None] == index(n)) * 1,
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "rank": lambda x: (x[:, None] > x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
}
### END SOLUTION

# %% nbgrader={"grade_id": "puzzles-check", "grade": true, "points": 3}
x, y = torch.tensor([3, 1, 4, 1]), torch.tensor([2, 7])
check_puzzle(puzzles, "total", x)
check_puzzle(puzzles, "outer", x, y)
check_puzzle(puzzles, "eye", 3)
check_puzzle(puzzles, "lower", 3)
check_puzzle(puzzles, "running sum", x)
check_puzzle(puzzles, "differences", x)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(13)
for n in (1, 2, 7):
    x = torch.randint(-9, 10, (2 * n,), generator=generator)[::2]
    for name in ("total", "running sum", "differences"):
        check_puzzle(puzzles, name, x)
    check_puzzle(puzzles, "outer", x, torch.randint(-9, 10, (n + 2,), generator=generator))
    check_puzzle(puzzles, "eye", n)
    check_puzzle(puzzles, "lower", n)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "puzzles-check-2", "grade": true, "points": 3}
x, s = torch.tensor([3, 1, 4, 1]), torch.tensor([2, 0, 2, 2])
check_puzzle(puzzles, "reverse", x)
check_puzzle(puzzles, "roll", x, 1)
check_puzzle(puzzles, "roll", x, -1)
check_puzzle(puzzles, "one hot", s, 4)
check_puzzle(puzzles, "histogram", s, 4)
check_puzzle(puzzles, "rank", x)
check_puzzle(puzzles, "segment sum", x, s, 4)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(14)
for n in (1, 2, 7):
    x = torch.randint(-9, 10, (2 * n,), generator=generator)[::2]
    s = torch.randint(0, n + 1, (n,), generator=generator)
    check_puzzle(puzzles, "reverse", x)
    check_puzzle(puzzles, "rank", x)
    check_puzzle(puzzles, "one hot", s, n + 2)
    check_puzzle(puzzles, "histogram", s, n + 2)
    check_puzzle(puzzles, "segment sum", x, s, n + 2)
    for k in (0, 1, -2, n, n + 3):
        check_puzzle(puzzles, "roll", x, k)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# To sum, multiply by ones: `x @ ones`. To sum some of the entries, multiply by a row of zeros and ones.
# </details>
# <details><summary>Hint 2</summary>
#
# Row i of your matrix says which entries of `x` go into entry i of the result. For `running sum` these
# are all j with j ≤ i.
# </details>
# <details><summary>Hint 3</summary>
#
# For `reverse`, entry i comes from the j with i + j = n − 1. For `roll` it comes from
# j = (i − k) % n. For `histogram` and `segment sum` row j has a one wherever the label is j.
# </details>

# %% [markdown]
# ## What to take home
#
# | you want | write | cost | in float32 |
# | --- | --- | --- | --- |
# | a product | `@`, `F.linear` | 2·n·k·m operations; parentheses decide | pairwise sums inside |
# | any sum of products | `torch.einsum`, letters | one `bmm`, some copies | as `@` |
# | split, merge, repeat | `rearrange`, `reduce`, `repeat` | a view where possible | exact |
# | all distances | difference first, or `cdist` with `donot_use_mm…` | n·m·d, or n·m numbers | good; gradient at 0 needs care |
# | all distances, fast | Gram identity, **centred** | one product | loses digits far from the origin |
# | a long sum | `torch.sum` | n | log₂ n · u; your own loop: n · u |
# | variance, covariance | subtract the mean first | two passes | the one-pass formula cancels |
# | log-probabilities | `log_softmax`, `cross_entropy` | n | `log(softmax)` underflows |
# | x with A x = b | `linalg.solve`, `lstsq`, QR | n³ | condition · u; normal equations: condition² · u |
#
# **Three mistakes to remember**
#
# 1. Subtracting two large numbers that nearly agree: distances, variances, normal equations. Centre
#    first, or choose another formula.
# 2. Masking a NaN after it was made. The value looks right and the gradient is NaN. Mask before *and*
#    after.
# 3. Broadcasting that nobody asked for: (n, 1) against (n) is n × n. Assert shapes where tensors
#    meet.
#
# **Read more.** The PyTorch documentation has pages on *torch.einsum*, *torch.linalg* and *Numerical
# accuracy*. The einops tutorial draws every pattern. Nicholas Higham's *Accuracy and Stability of Numerical
# Algorithms* has the sums, the variance and the cancellation in its first chapters; Trefethen and Bau's
# *Numerical Linear Algebra* has QR and conditioning. William Kahan's *Further Remarks on Reducing
# Truncation Errors* is one page long. The puzzles follow Sasha Rush's *Tensor Puzzles*. Chapter 04 asks
# where the gradients of this chapter come from.
