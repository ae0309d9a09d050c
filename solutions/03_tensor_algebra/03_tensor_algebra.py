# ---
# jupyter:
#   course:
#     title: Tensor algebra
#     minutes: 165
#     core: 82
# ---

# %% [markdown]
# # Tensor algebra: which index is summed over?
#
# A loop over the numbers of a tensor is easy to read and hopelessly slow. One line of algebra does the
# same work a thousand times faster, and hides the loop: what was a variable `i` is now a dimension that
# you have to keep in your head. This chapter asks two questions of each line:
#
# 1. **What does it compute?** Which indices are kept, which are summed over?
# 2. **What does it cost?** How many multiplications and additions (*operations*), how many calls into
#    PyTorch (*operators*), how many copies?
#
# **After this chapter you can**
#
# - choose among the products of PyTorch and say the shape of the result before you run it;
# - write any sum of products as an `einsum`, and read what a wrong letter computes;
# - cut images into patches and put them together again with `einops`;
# - pool all pairs of channels without writing out a matrix for each pixel;
# - replace a loop over entries by one product with a matrix of zeros and ones.
#
# **It leans on** chapters 00, 01 (indexing, broadcasting) and 02 (views and copies). Section 4 borrows
# an idea of chapter 05, and explains it. **Time:** two hours and three quarters with all five
# exercises. The sections and exercises marked *core* take an hour and twenty minutes; nothing later
# leans on the rest. You can skip any exercise: nothing else depends on your answer.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn.functional as F
from course_utils import check_close, check_predictions, count_operators, device, draw_einsum
from course_utils import check_states, every_case, forbid_changes, show
from einops import rearrange, reduce, repeat

# %% [markdown]
# ## A puzzle to start with · core
#
# Attention is a layer that compares everything with everything; section 6 builds one. Here only the
# letters matter: it compares each query with each key of the same head. Two colleagues each write that
# in a line; the letters are batch, time, head and channel. **Predict:** do both lines run? Do they give
# the same shape? The same numbers?

# %%
q = torch.arange(48.0).view(1, 3, 4, 4) % 5  # (batch, time, head, channel)
k = torch.arange(32.0).view(1, 2, 4, 4) % 3  # the same, with another time
first = torch.einsum("bthd,bshd->bhts", q, k)
second = torch.einsum("bthd,bsgd->bhts", q, k)

# %% tags=["shows-false"]
print("shapes: ", first.shape, second.shape)
print("equal:  ", torch.equal(first, second))
print("first:  ", first[0, 0, 0])
print("second: ", second[0, 0, 0])

# %% [markdown]
# One letter differs. Both lines run, both have the right shape, and one of them is wrong. Training with
# it may even work, only worse. Which line is it, and what does it compute? Section 2 answers that, and at
# the end of the chapter the right line takes the noise out of a picture.
#
# ## 1. Products: five names and one operator · core
#
# PyTorch has a name for each pair of shapes, and `@` for all of them. **Predict** the four shapes.

# %% topics=["matmul-family"]
v, m = torch.arange(3.0), torch.arange(12.0).view(4, 3)
x, y = torch.ones(10, 3, 4), torch.ones(10, 4, 5)
print("dot:", torch.dot(v, v).shape, " and v @ v:  ", (v @ v).shape)
print("mv: ", torch.mv(m, v).shape, " and m @ v:  ", (m @ v).shape)
print("mm: ", torch.mm(m, m.T).shape, " and m @ m.T:", (m @ m.T).shape)
print("bmm:", torch.bmm(x, y).shape, " and x @ y:  ", (x @ y).shape)

# %% [markdown]
# | you have | name | `@` does | result |
# | --- | --- | --- | --- |
# | (k), (k) | `dot` | sums the products | () |
# | (n, k), (k) | `mv` | one dot product for each row | (n) |
# | (n, k), (k, m) | `mm` | each row with each column | (n, m) |
# | (b, n, k), (b, k, m) | `bmm` | `mm` for each pair of the batch | (b, n, m) |
# | (…, n, k), (…, k, m) | `matmul`, the same as `@` | the last two dimensions multiply, all before them broadcast | (…, n, m) |
#
# The named products take exactly these shapes and complain about any other. `@` adapts. That is handy,
# and it is a risk: a batch dimension that you forgot broadcasts in silence.

# %% topics=["matmul-family"]
states = torch.ones(8, 3, 4)  # (batch, time, channel)
maps = torch.ones(8, 1, 4, 5)  # (batch, head, channel, out): a matrix for each sample
print("as it is:", (states @ maps).shape, " as meant:", (states[:, None] @ maps).shape)

# %% topics=["matmul-family"]
try:
    torch.bmm(states, maps)
except RuntimeError as error:
    print(error)

# %% [markdown]
# `states` has no dimension for the head, so the 8 samples are where the heads should be: each sample met
# the matrix of every other. `bmm` refuses that.
#
# `*` isn't related to these. It multiplies number by number and sums nothing. Its shapes must
# broadcast, not chain.
#
# > **Often said.** *"After `bmm` of (10, 3, 4) with (10, 4, 5), `torch.mul` of the same two tensors
# > is the element-wise version."* It is an error: 4 and 5 do not broadcast, and neither do 3 and 4.

# %% errata=["mul-as-matmul-sibling"]
try:
    torch.mul(x, y)
except RuntimeError as error:
    print(error)

# %% [markdown]
# ### Exercise 3.1 — What shape comes out? ★ · 4 min · 2 points · core
#
# Without running it: what shape has each result? Write a tuple such as `(4, 5)`; `(4,)`, with its
# comma, for one dimension; `()` for none; or the word `"error"`. A list counts like a tuple.

# %% nbgrader={"grade_id": "product-shapes", "solution": true}
product_shapes = {
    "(3,) @ (3,)": None,
    "(2, 3) @ (3,)": None,
    "(2, 3) * (3,)": None,
    "(2, 3) @ (2, 3)": None,
    "(7, 2, 3) @ (3, 4)": None,
    "(5, 1, 2, 3) @ (6, 3, 4)": None,
    "torch.bmm of (7, 2, 3) and (3, 4)": None,
}
### BEGIN SOLUTION
shapes = ((), (2,), (2, 3), "error", (7, 2, 4), (5, 6, 2, 4), "error")
product_shapes = dict(zip(product_shapes, shapes, strict=True))
### END SOLUTION

# %% nbgrader={"grade_id": "product-shapes-check", "grade": true, "points": 2}
for name, answer in product_shapes.items():
    form = 'a shape is a tuple, (4,) with its comma for one size and () for none; or "error"'
    fits = isinstance(answer, (list, tuple)) or answer in (None, "error")
    assert fits, f"{name}: it is {answer!r}; {form}"
check_predictions(
    {name: tuple(a) if isinstance(a, list) else a for name, a in product_shapes.items()},
    {
        "(3,) @ (3,)": tuple((torch.ones(3) @ torch.ones(3)).shape),
        "(2, 3) @ (3,)": tuple((torch.ones(2, 3) @ torch.ones(3)).shape),
        "(2, 3) * (3,)": tuple((torch.ones(2, 3) * torch.ones(3)).shape),
        "(2, 3) @ (2, 3)": "error",
        "(7, 2, 3) @ (3, 4)": tuple((torch.ones(7, 2, 3) @ torch.ones(3, 4)).shape),
        "(5, 1, 2, 3) @ (6, 3, 4)": (5, 6, 2, 4),
        "torch.bmm of (7, 2, 3) and (3, 4)": "error",
    },
    because={
        "(3,) @ (3,)": "the products are added up, so no dimension is left",
        "(2, 3) @ (3,)": "one dot product for each row: the 3 is summed over",
        "(2, 3) * (3,)": "* multiplies number by number and sums nothing",
        "(2, 3) @ (2, 3)": "the last size of the left has to meet the first of the right",
        "(7, 2, 3) @ (3, 4)": "the matrix on the right serves each of the 7 matrices",
        "(5, 1, 2, 3) @ (6, 3, 4)": "what is before the last two broadcasts: (5, 1) with (6,)",
        "torch.bmm of (7, 2, 3) and (3, 4)": "the named products take exactly their shapes",
    },
)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Write the shapes below each other, flush right. For `@` cover the last two columns: what is left
# broadcasts as in chapter 01. Then let the two inner sizes meet and vanish.
# </details>

# %% [markdown]
# ### Why not a loop?
#
# Here is the matrix product as it is first taught, and what PyTorch gets to see of it.
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
# Each of the 216 rounds runs eleven operators: entries are looked up and written back one by one.
# An operator costs some microseconds before it touches its first number: Python calls PyTorch,
# PyTorch looks up the right kernel, memory is allocated. On a GPU a kernel has to be launched, too.
# The loop pays this price two thousand times, the line `square @ square` once. Measure it:

# %% topics=["vectorise-not-loop"] tags=["nbval-ignore-output"]
import timeit

loop = min(timeit.repeat(lambda: product_by_loops(square, square), number=1, repeat=5))
line = min(timeit.repeat(lambda: square @ square, number=100, repeat=5)) / 100
print(f"loop {1e6 * loop:.0f} µs, line {1e6 * line:.1f} µs: {loop / line:.0f} times faster")

# %% [markdown]
# Look for the one-line form. If you can only think of one row at a time, write the function for one row
# and let `torch.vmap` make the batched version. It does not loop either:

# %% topics=["vectorise-not-loop"]
rows, others = torch.arange(12.0).view(4, 3), torch.ones(4, 3)
with count_operators() as counts:
    dots = torch.vmap(torch.dot)(rows, others)  # dot takes vectors only
print("dots:", dots)
print("calls of bmm:", counts["bmm"], " calls of dot:", counts["dot"])

# %% [markdown]
# ### What does a product cost?
#
# An (n, k) times (k, m) product makes n · m numbers, each from k multiplications and k additions:
# 2·n·k·m operations. That makes the *order* of a chain matter, although the result is the same.
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
# expensive chain. `torch.linalg.multi_dot` chooses the order for you.
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
print("addmm:", counts["addmm"], " mm:", counts["mm"])

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
print("addr")
print(torch.addr(torch.zeros(2, 3), torch.ones(2), torch.arange(3.0)))

# %% [markdown]
# With `beta=0` the first argument is not even read, so it may hold anything:

# %% topics=["blas-style-ops"]
unset = torch.full((3, 5), float("nan"))
torch.addmm(unset, x[0], y[0], beta=0)[0]

# %% [markdown]
# **In practice** you write `F.linear` and `@`. You meet these names in profiles, where a linear layer
# shows up as `addmm`, and in attention code, where `baddbmm` adds a bias to the scores.

# %% [markdown]
# ## 2. einsum: say which index is which · core
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
# Each cell of a box is one dimension. Follow the lines. There are only two rules:
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
print('"ij->ji"\n', torch.einsum("ij->ji", S))
print('"ij->i": ', torch.einsum("ij->i", S))
print('"ii->i": ', torch.einsum("ii->i", S))
print('"ii->":  ', torch.einsum("ii->", S))

# %%
draw_einsum("ii->", ["S"], result="trace")

# %% [markdown]
# Transpose, row sums, diagonal, trace. In the last, both dimensions of `S` carry the same letter,
# so only the entries with equal indices take part; the result lacks it, so they are added up.
#
# Now the puzzle. Queries have the shape (batch, time, head, channel), and so have the keys, with another
# time axis. Every query meets every key, for each batch entry and each head by itself:

# %% topics=["einsum"]
q = torch.arange(320.0).view(2, 5, 4, 8) % 7  # (batch, time, head, channel)
k = torch.arange(448.0).view(2, 7, 4, 8) % 5
print(torch.einsum("bthd,bshd->bhts", q, k).shape)
draw_einsum("bthd,bshd->bhts", ["q", "k"], result="scores")

# %% [markdown]
# `b` and `h` appear in both inputs *and* in the result: they are batch dimensions, and only entries with
# the same b and h meet. `d` is summed over. `t` and `s` each belong to one input, so all pairs appear.
#
# **What does it cost?** einsum doesn't have a kernel. It permutes, calls `bmm`, and permutes back:

# %% topics=["einsum"]
with count_operators() as counts:
    torch.einsum("bthd,bshd->bhts", q, k)
print("products:", counts["bmm"], " copies:", counts["clone"])

# %% [markdown]
# The copies bring the operands into an order that `bmm` can use. With more than two operands einsum
# works from left to right, unless the package `opt_einsum` is installed, which looks for a cheaper order.
#
# **What it can't do.** einsum multiplies and adds. It knows no maximum, no `exp`, no splitting of a
# dimension. And a wrong letter may still be a legal program, as in the puzzle's second line. Draw it:

# %% topics=["einsum"]
draw_einsum("bthd,bsgd->bhts", ["q", "k"], result="wrong")

# %% topics=["einsum"]
wrong = torch.einsum("bthd,bsgd->bhts", q, k)
all_heads = k.sum(2)  # (batch, time, channel): what is left of the keys
print(torch.allclose(wrong, torch.einsum("bthd,bsd->bhts", q, all_heads)))

# %% [markdown]
# `g` appears only once and is missing from the result: its line leads up, to a Σ. Each query was compared
# with the sum of all four heads' keys. **In practice:** read off the letters that are missing from the
# result, and ask of each whether you want the sum over it.
#
# **Three more points.** An ellipsis `...` means any leading dimensions, and broadcasts them as `@` does.
# A letter's size may also be 1 in one input and larger in another: einsum then expands what has size 1.
# **Predict** which of `einsum` and `@` multiplies shapes (2, 1) and (3, 4):

# %% topics=["einsum"]
print(torch.einsum("...ij,...jk->...ik", torch.ones(5, 1, 2, 3), torch.ones(4, 3, 6)).shape)
narrow, wide = torch.ones(2, 1), torch.ones(3, 4)
print(torch.einsum("ij,jk->ik", narrow, wide))
try:
    narrow @ wide
except RuntimeError as error:
    print(error)

# %% [markdown]
# einsum took the single column three times; `@` refuses. A size that is 1 by mistake passes without a
# word, so check the shapes yourself. The third point: `einops.einsum` takes words in place of letters,
# with the pattern last:

# %% topics=["einsum"]
import einops

scores = einops.einsum(q, k, "batch t head channel, batch s head channel -> batch head t s")
print(torch.equal(scores, torch.einsum("bthd,bshd->bhts", q, k)))

# %% [markdown]
# ### Exercise 3.2 — Eight strings ★★ · 15 min · 4 points · core
#
# Write the einsum string for each line. You may choose the letters. An example:
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


# %% nbgrader={"grade_id": "einsum-rules", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.tensor_algebra import check_strings

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


# %% nbgrader={"grade_id": "einsum-eight-check", "grade": true, "points": 2}
names = ("trace", "column sums", "outer", "row by row", "batched product")
check_strings(einsum_eight, names, "random numbers", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
### BEGIN HIDDEN TESTS
check_strings(einsum_eight, names, "other sizes", 2, 3, 2, 5, 4, 1, 6, 2, 3, 1)
check_strings(einsum_eight, names, "sizes of 0 and 1", 3, 2, 1, 3, 0, 2, 1, 4, 2, 3)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "einsum-eight-check-2", "grade": true, "points": 2}
names = ("bilinear", "scores", "mix")
check_strings(einsum_eight, names, "random numbers", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
### BEGIN HIDDEN TESTS
check_strings(einsum_eight, names, "other sizes", 2, 3, 2, 5, 4, 1, 6, 2, 3, 1)
check_strings(einsum_eight, names, "sizes of 0 and 1", 3, 2, 1, 3, 0, 2, 1, 4, 2, 3)
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
# ## 3. einops: split, merge and repeat by name · core
#
# einsum can't split a dimension. `view` can, and `permute` then sorts. But chapter 02 showed how easily
# the two are mixed up, and neither says what a dimension *means*. The package `einops` writes shapes as
# words. Parentheses split on the left of the arrow and merge on the right:

# %% topics=["einops-basics"]
images = torch.arange(2 * 4 * 6 * 3.0).view(2, 4, 6, 3)  # (batch, height, width, channel)
print(rearrange(images, "b h w c -> b c h w").shape)
print(rearrange(images, "b h w c -> b (h w c)").shape)
print(rearrange(images, "b (h p) w c -> b h p w c", p=2).shape)

# %% [markdown]
# In the last line one number has to be given, the other follows: 4 rows are 2 groups of `p=2`. A size goes
# into the call; the left side of the pattern holds names, and at most a 1 for a dimension of size 1. Inside
# parentheses the last letter runs fastest: in `(h p)`, `p` counts up to its size before `h` moves on by
# one. That is an order of the *indices*. How the numbers are laid out in memory doesn't matter:

# %% topics=["einops-basics"]
rows = torch.tensor([[0, 1, 2], [3, 4, 5]])
columns = rows.T.contiguous().T  # the same tensor, laid out column by column
print("in memory:", columns.T.flatten())
print("(a b):    ", rearrange(columns, "a b -> (a b)"))

# %% [markdown]
# Two more functions do the rest here. `reduce` drops what is missing from the right side, by a
# reduction that you name. `repeat` adds what is new on the right side.

# %% topics=["einops-basics"]
print(reduce(images, "b h w c -> b c", "max").shape)
print(reduce(images, "b (h i) (w j) c -> b h w c", "mean", i=2, j=2).shape, "2 × 2 pooling")
print("(n k):", repeat(torch.arange(3), "n -> (n k)", k=2))
print("(k n):", repeat(torch.arange(3), "n -> (k n)", k=2))

# %% [markdown]
# The left side must name every dimension. That is a check that `view` never makes:
#
# > **Often said.** *"`repeat(x, 'c h w -> n c h w', n=16)` repeats a batch of images."* A batch has
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
one = rearrange(sun, "(h p) (w q) c -> (h w) p q c", h=2, w=2)
other = rearrange(sun, "(p h) (q w) c -> (h w) p q c", h=2, w=2)
print("shapes:", one.shape, other.shape)

# %% topics=["einops-basics"]
figure, panels = plt.subplots(2, 5, figsize=(8, 3.4))
for row, patches, name in ((0, one, "(h p) (w q)"), (1, other, "(p h) (q w)")):
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
# ### Exercise 3.3 — Six patterns and three pictures ★★ · 22 min · 3 points · core
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
#
# Then three pictures, all made by `rearrange` from the six tiles of shape (6, h, w, c) that the next cell
# draws: `a row`, `columns` and `turned`. Find the patterns that arrange the tiles like that.


# %% nbgrader={"grade_id": "einops-truths", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.tensor_algebra import truths_of_six

# %% nbgrader={"grade_id": "tile-pictures", "locked": true} jupyter={"source_hidden": true}
import matplotlib.pyplot as plt

from course_utils.chapters.tensor_algebra import draw_tiles, truths_of_tiles

# %% nbgrader={"grade_id": "compare-patterns", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.tensor_algebra import check_patterns

# %% nbgrader={"grade_id": "show-tiles", "locked": true}
tiles = draw_tiles()
figure, panels = plt.subplots(1, 3, figsize=(8, 2.6), width_ratios=(3, 2, 1.5))
for panel, (name, (*_, picture, _)) in zip(panels, truths_of_tiles(tiles).items(), strict=True):
    panel.imshow(picture)
    panel.set_title(name)
    panel.set_axis_off()
show(figure, "Six numbered tiles: in a row; in three columns of two; turned, in three rows of two.")

# %% nbgrader={"grade_id": "einops-six", "solution": true}
einops_six = {
    "channels first": None,
    "global average": None,
    "upsample": None,
    "heads": None,
    "patches": None,
    "back": None,
    "a row": None,
    "columns": None,
    "turned": None,
}
### BEGIN SOLUTION
einops_six = {
    "channels first": ("b h w c -> b c h w", {}),
    "global average": ("b c h w -> b c", {}),
    "upsample": ("b c h w -> b c (h i) (w j)", {"i": 2, "j": 2}),
    "heads": ("b t (h d) -> b h t d", {"h": 4}),
    "patches": ("b c (h p) (w q) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", {"h": 3, "p": 2, "q": 2}),
    "a row": ("n h w c -> h (n w) c", {}),
    "columns": ("(j i) h w c -> (i h) (j w) c", {"i": 2}),
    "turned": ("(i j) h w c -> (i w) (j h) c", {"j": 2}),
}
### END SOLUTION


# %% nbgrader={"grade_id": "einops-six-check", "grade": true, "points": 3}
x, tokens = torch.arange(144.0).view(2, 3, 6, 4), torch.arange(120.0).view(2, 5, 12)
check_patterns(einops_six, truths_of_six(x, tokens), "images of 6 × 4 pixels")
wide = torch.arange(360, dtype=torch.float64).view(2, 3, 6, 10)
check_patterns(einops_six, truths_of_six(wide, tokens), "images of 6 × 10 pixels")
other, long = torch.arange(180.0).view(3, 5, 6, 2), torch.arange(252.0).view(3, 7, 12)
check_patterns(einops_six, truths_of_six(other, long), "3 images of 5 channels, 7 times")
tall = truths_of_six(other.view(3, 5, 2, 6), long)  # the first three know of no 6 rows
check_patterns(einops_six, {name: tall[name] for name in [*tall][:3]}, "images of 2 × 6 pixels")
check_patterns(einops_six, truths_of_tiles(draw_tiles()), "the tiles")
check_patterns(einops_six, truths_of_tiles(draw_tiles()[:, 1:, 1:, :2]), "tiles of 8 × 6 pixels")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(2)
for batch, channels, width, time in ((1, 1, 2, 1), (3, 2, 10, 4), (2, 5, 6, 7), (4, 3, 8, 2)):
    x = torch.randn(batch, channels, 6, width, generator=generator, dtype=torch.float64).to(device)
    tokens = torch.randn(batch, time, 12, generator=generator, dtype=torch.float64).to(device)
    check_patterns(einops_six, truths_of_six(x, tokens), f"images of shape {tuple(x.shape)}")
    tiles = torch.randn(6, batch, width, channels, generator=generator).to(device)
    check_patterns(einops_six, truths_of_tiles(tiles), f"tiles of shape {tuple(tiles.shape)}")
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
# <details><summary>Hint 4</summary>
#
# For the pictures: split the tiles' dimension on the left into the place along the height and that along
# the width. Of the two, that which runs faster from tile to tile is last.
# </details>

# %% [markdown]
# ## 4. All pairs of channels: bilinear pooling
#
# Here is a line where both questions come up. To tell birds or textures apart, it helps to know which
# features of an image fire *together*. For each pixel take the outer product of its channels with
# themselves, and average over the pixels. Written out, that is a (channel, channel) matrix for
# each of the h · w pixels. Yet the sum over pixels can be done inside the product:
#
# $$G_{bcd} = \frac{1}{hw} \sum_{p} X_{bcp} X_{bdp}$$

# %% topics=["bilinear-pooling"]
features = torch.arange(2 * 3 * 4 * 4.0).view(2, 3, 4, 4)  # (batch, channel, height, width)
flat = features.flatten(2)  # (batch, channel, pixel)
gram = flat @ flat.mT / flat.shape[2]  # .mT swaps the last two dimensions
letters = torch.einsum("bchw,bdhw->bcd", features, features) / 16
print(gram.shape, "equal:", torch.allclose(gram, letters))

# %% [markdown]
# Two steps follow, since a few loud channels drown the rest. A **signed square root**,
# $\operatorname{sign}(g)\sqrt{|g|}$, damps large entries. Then each image's vector is divided by its
# length. (So the division by h · w cancels in the end. It keeps the numbers small on the way.)
#
# Training needs the slope of every step. PyTorch finds it by walking from the result back to the inputs:
# mark a tensor with `requires_grad=True`, call `backward()` on a number, and read `.grad`: how much that
# number grows for each unit of the entry. Chapter 05 is about this walk; here you only need to know
# that it must not meet a NaN. **Predict** the gradient of the signed square root at zero:

# %% topics=["bilinear-pooling"]
g = torch.tensor([4.0, -4.0, 0.0], requires_grad=True)
(g.sign() * g.abs().sqrt()).sum().backward()
print(g.grad)

# %% [markdown]
# The value at zero is right. The gradient is not a number. The slope of the root is infinite there, the
# sign that multiplies it is 0, and 0 · ∞ is NaN, before the walk back even reaches `abs`. Zeros are not
# rare: a channel that a ReLU has switched off gives a whole row of them. The usual cure adds a tiny number
# inside the root. It hardly changes the value, and it makes the slope finite:

# %% topics=["bilinear-pooling"]
g.grad = None
(g.sign() * (g.abs() + 1e-12).sqrt()).sum().backward()
print(g.grad)

# %% nbgrader={"grade_id": "your-gradient", "locked": true} jupyter={"source_hidden": true}
from course_utils import gradient_of, runs_with_the_answer, watched
from course_utils.chapters.tensor_algebra import (
    check_growth,
    digits,
    images_to_pool,
    more_slips,
    slip_of_pooling,
    slopes_to_pool,
    small_storages,
)


@runs_with_the_answer
def try_gradient(name: str, *args, weights: torch.Tensor | None = None):
    """The gradient of ``(weights * f(*args)).sum()``, where f is your function of that name."""
    return gradient_of(globals()[name], *args, weights=weights)


@runs_with_the_answer
def try_twice(x: torch.Tensor, later: torch.Tensor):
    """Pool a tensor, then with other numbers: the second result, the first then and now."""
    y = x.clone()
    first = globals()["bilinear_pooling"](y)
    kept = first.clone()
    y.copy_(later)
    return globals()["bilinear_pooling"](y), kept, first


# %% [markdown]
# ### Exercise 3.4 — Bilinear pooling ★★ · 20 min · 4 points
#
# For `x` of shape (batch, channel, height, width), float32 or float64, return (batch, channel²): the
# average over the pixels of the outer products, its signed square root, flattened row by row, each
# image's vector divided by its length. The locked version below is right, and slow.
#
# - No matrix may be written out for each pixel: no storage larger than `x` or the result, whichever
#   is larger. One product for the whole batch, no loop.
# - An image of zeros gives zeros, not NaN. The gradient is finite, also where a channel is all zero.
#   Tiny numbers up to 1e-12 may be added for that.
#
# Example: one pixel with the channels 3 and −4 gives the products 9, −12, −12, 16, the roots
# 3, −3.46, −3.46, 4, of length 7, and so the result 0.43, −0.49, −0.49, 0.57.


# %% nbgrader={"grade_id": "slow-bilinear", "locked": true} tags=["to-be-read"]
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


def check_case(case, x, name, because="", atol=2e-6):
    with case(f"x {name}"):
        with forbid_changes(x), count_operators() as counts, small_storages(x):
            result = bilinear_pooling(x)
        why = slip_of_pooling(result, x, because)
        check_close(result, slow_bilinear(x), "the result", rtol=0, atol=atol, because=why)
        ran = counts["bmm"] + counts["mm"] + counts["baddbmm"] + counts["addmm"]
        assert (x[0, 0].numel() > 1) <= ran <= 1, f"{ran} products: one for the whole batch will do"


x = (torch.arange(2 * 4 * 5 * 3, dtype=torch.float64).view(2, 4, 5, 3) % 7 - 3).to(device)
with every_case() as case:
    for image in images_to_pool(x):
        check_case(case, *image)
    with case("the same tensor, with other numbers"):
        second, then, now = try_twice(x, x.flip(1))
        check_close(second, slow_bilinear(x.flip(1)), "the second result", atol=2e-6)
        check_close(now, then, "after the second call, the first result")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(3)
x = torch.randn(3, 5, 6, 8, generator=generator, dtype=torch.float64).to(device)
with every_case() as case:
    for name, y in {"random": x, "a slice": x[1:, ::2, :, 1:], "transposed": x.mT}.items():
        check_case(case, y, name)
        check_case(case, y.contiguous(memory_format=torch.channels_last), f"channels_last, {name}")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "bilinear-pooling-check-2", "grade": true, "points": 2}


def check_slope(case, x, name):
    with case(f"the gradient, x {name}"):
        weights = torch.arange(1.0, x.shape[1] ** 2 + 1).to(x)
        slope = try_gradient("bilinear_pooling", x, weights=weights)
        assert slope.isfinite().all(), "it is not finite: what is the slope of your root at zero?"
        expected, there = gradient_of(slow_bilinear, x, weights=weights), x != 0
        where, loose = "it, where x is not 0,", 1e-6 if x.dtype == torch.float64 else 1e-3
        value, right = bilinear_pooling(x).to(x), slow_bilinear(x)
        same = value.shape == right.shape and torch.allclose(value, right, atol=1e-5)
        because = "is a step detached, or more than 1e-12 added?"
        because = because if same else "and the result is wrong, too"
        check_close(slope[there], expected[there], where, atol=loose, because=because)


x = (torch.arange(2 * 4 * 5 * 3, dtype=torch.float64).view(2, 4, 5, 3) % 7 - 3.5).to(device)
with every_case() as case:
    for image in slopes_to_pool(x):
        check_slope(case, *image)
check_states(bilinear_pooling, x, what="bilinear_pooling(x)")
### BEGIN HIDDEN TESTS
x = torch.randn(3, 5, 6, 8, generator=torch.Generator().manual_seed(3)).double().to(device)
with every_case() as case:
    for name, y in {"random": x, "a slice": x[1:, ::2, :, 1:], "transposed": x.mT}.items():
        check_slope(case, y, name)
        check_slope(case, y.relu(), f"after a ReLU, {name}")
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
# ## 5. Puzzles: the loop never comes back
#
# How far do you get with the smallest set of tools? With `arange`, broadcasting, comparison and `@`
# alone: surprisingly far. A comparison of two `arange` is a matrix of zeros and ones, and
# multiplying by such a matrix *selects*, *sums* and *moves* entries:

# %%
i = torch.arange(4)
x = torch.tensor([3, 1, 4, 1])
moves = (i[:, None] == i + 1) * 1
print(moves)
print("moved by one:", moves @ x)

# %% [markdown]
# The ones are just below the diagonal, so row 1 picks entry 0, row 2 entry 1, and row 0 picks nothing.
# Row i says which entries of `x` are summed into entry i of the result; that is the chapter's question
# again. It is more than a game: attention's weights are such a matrix, with fractions in place of ones,
# and if you can write the matrix, you don't need the loop.
#
# ### Exercise 3.5 — Twelve one-liners ★★★ · 50 min · 6 points
#
# Write each as a `lambda` or a function. The locked cell has the slow specification of each, with its
# arguments. `a`, `b`, `n` and `k` are Python numbers. All else are int64 tensors on the CPU, except
# `keep`, which is boolean. Each 1-D tensor has at least one entry.
#
# - **Allowed:** `torch.arange`, an index with `None` (as in `x[:, None]`), `.T`, `len` and `.shape`,
#   `+ - * // %`, comparisons, `& | ~`, `.long()`, and `@`. An answer may call another one, as
#   `puzzles["running sum"](x)` inside the lambda.
# - **Not allowed:** anything else, above all `sum`, `where`, indexing by numbers or tensors, other
#   functions of PyTorch, and taking the numbers out, as `tolist`, NumPy and `for a in x` do.
# - **No loops:** at most fifty operators may run, and no more for a long input than for a short one.
#
# `&` binds tighter than `==`: put comparisons in parentheses. A boolean becomes a whole number by `* 1`.
#
# An example, which is not asked for: as many ones as `x` has entries is `lambda x: x * 0 + 1`.


# %% nbgrader={"grade_id": "puzzle-specs", "locked": true} tags=["to-be-read"]
def compressed(values: list, keep: list) -> list:
    """What is kept moves to the front; zeros fill the rest."""
    front = [a for a, kept in zip(values, keep, strict=True) if kept]
    return front + [0] * (len(values) - len(front))


specs = {  # x, y, s, bounds and keep come as lists here, and as tensors in your answer
    "total": lambda x: sum(x),
    "outer": lambda x, y: [[a * b for b in y] for a in x],
    "running sum": lambda x: [sum(x[: i + 1]) for i in range(len(x))],
    "differences": lambda x: [x[i] - (x[i - 1] if i else 0) for i in range(len(x))],
    "reverse": lambda x: x[::-1],
    "roll": lambda x, k: [x[(i - k) % len(x)] for i in range(len(x))],
    "pad to": lambda x, n: (x + [0] * n)[:n],  # n numbers: zeros behind, or cut off
    "linspace": lambda a, b, n: [a + (b - a) * i // (n - 1) for i in range(n)],  # whole a, b; n > 1
    "bucketize": lambda x, bounds: [sum(b <= a for b in bounds) for a in x],
    "histogram": lambda x, n: [x.count(j) for j in range(n)],
    "segment sum": lambda x, s, n: [
        sum(a for a, own in zip(x, s, strict=True) if own == j) for j in range(n)
    ],
    "compress": compressed,
}

# %% nbgrader={"grade_id": "puzzle-rules", "locked": true} jupyter={"source_hidden": true}
allowed = (
    "arange unsqueeze alias view expand t transpose permute detach "
    "add sub rsub mul floor_divide remainder neg mm mv dot bmm "
    "eq ne lt le gt ge bitwise_and bitwise_or bitwise_not _to_copy "
    "clone _unsafe_view squeeze squeeze_"  # what @ may need inside
)
others = (
    "einsum outer ger inner tensordot kron linear diff dot vdot mv mm bmm "
    "float double half bfloat16 int short bool type to type_as "
    "unsqueeze view view_as reshape expand squeeze flatten unflatten clone contiguous "
    "t transpose permute swapaxes swapdims movedim moveaxis adjoint"
)  # these end in operators above
out = "tolist item numpy unbind storage untyped_storage __array__ __dlpack__ __int__ __index__"
out += " __bool__ __float__ __contains__ __format__ tensor as_tensor"
spelt = {  # what Python calls for you, as you write it
    "unbind": "a loop over a tensor (for a in x, sum(x))",
    "__int__": "int()",
    "div": "/ (write //)",
    "index": "an index that is a tensor or a mask",
    "select": "an index that is a number",
    "slice": "a slice, such as x[1:]",
}

# %% nbgrader={"grade_id": "puzzle-rules-2", "locked": true} jupyter={"source_hidden": true}
slips = {
    "outer": (lambda x, y: [[a * b for a in x] for b in y], "rows and columns have changed places"),
    "running sum": (lambda x: [sum(x[i:]) for i in range(len(x))], "it runs from the other end"),
    "differences": (
        lambda x: [a - b for a, b in zip(x, [*x[1:], 0], strict=True)],
        "the entry after it was taken away, not the one before it",
    ),
    "roll": (lambda x, k: specs["roll"](x, -k), "it rolls the other way"),
    "pad to": (lambda x, n: ([0] * n + x)[-n:], "the zeros stand in front"),
    "linspace": (
        lambda a, b, n: [a + (b - a) // (n - 1) * i for i in range(n)],
        "a rounded step is added up: divide last",
    ),
    "bucketize": (
        lambda x, bounds: [sum(b < a for b in bounds) for a in x],
        "a bound that is equal counts, too",
    ),
    "compress": (
        lambda x, keep: compressed(x, [not kept for kept in keep]),
        "these are the entries that should go",
    ),
}

# %% nbgrader={"grade_id": "puzzle-slips", "locked": true} jupyter={"source_hidden": true}
inside = "a number that is not among 0 to n - 1 belongs nowhere"


def with_numbers(name, change):
    """A slip: the numbers that say where an entry belongs are changed into others."""
    return lambda *args: specs[name](*args[:-2], [change(j, args[-1]) for j in args[-2]], args[-1])


changes = [lambda j, n: max(j, 0), lambda j, n: min(j, n - 1), lambda j, n: j % max(n, 1)]
further = {
    "linspace": [
        (
            lambda a, b, n: [a + int((b - a) * i / (n - 1)) for i in range(n)],
            "// rounds down, below zero as well",
        )
    ],
    **{
        name: [(with_numbers(name, change), inside) for change in changes]
        for name in ("histogram", "segment sum")
    },
}


# %% nbgrader={"grade_id": "puzzle-rules-3", "locked": true} jupyter={"source_hidden": true}
def spell(names) -> str:
    return ", ".join(spelt.get(name, name) for name in sorted(names))


def plain(args: tuple) -> list:
    return [a.tolist() if isinstance(a, torch.Tensor) else a for a in args]


@runs_with_the_answer
def try_puzzle(name: str, *args):
    """Your answer's result, the functions it called, whether it changed an argument, operators."""
    answer = globals()["puzzles"].get(name)
    if not callable(answer):
        return None, [repr(answer)], None, {}
    ran = {}

    def counted(*args):
        with count_operators() as counts:
            result = answer(*args)
        ran.update(counts)
        return result

    return *watched(counted, *args), ran


# %% nbgrader={"grade_id": "puzzle-rules-4", "locked": true} jupyter={"source_hidden": true}
def check_puzzle(case, name: str, *inputs: tuple) -> None:
    """Compare an answer with its specification, and look at what it ran."""
    seen = []
    with case(name):
        for args in inputs:
            given = ", ".join(map(str, plain(args)))
            expected = torch.tensor(specs[name](*plain(args)), dtype=torch.int64)
            given = given if len(given) < 60 else f"{given[:50]} …"
            try:
                result, names, changed, counts = try_puzzle(name, *args)
            except RuntimeError as error:
                hint = ": a comparison is boolean, * 1 makes it a number" * ("Bool" in str(error))
                hint += ": what you divide by, an entry or n, may be 0" * ("ZeroDiv" in str(error))
                raise AssertionError(f"of {given}: {type(error).__name__}: {error}{hint}") from None
            assert changed is not None, (
                f"it is {names[0]}: is there an answer yet? write a function"
            )
            assert not changed, "an argument was changed: leave it as it is"
            banned = (set(counts) - set(allowed.split())) | (set(names) & set(others.split()))
            taken = set(names) & set(out.split())
            assert not taken, f"{spell(taken)} takes numbers out of a tensor or puts them in"
            assert not banned, f"{spell(banned)} ran, which is not allowed here"
            ran = sum(counts.values())
            assert ran <= 50, f"{ran} operators ran for {given}: is there a loop?"
            seen.append((args, ran))
            known = further.get(name, []) + ([slips[name]] if name in slips else [])
            known += more_slips.get(name, [])
            for slip, words in known if isinstance(result, torch.Tensor) else ():
                slipped = slip(*plain(args))
                if slipped == result.tolist() and slipped != expected.tolist():
                    raise AssertionError(f"of {given}: {words}")
            why = digits(result, expected, *(args if name == "bucketize" else ()))
            check_close(result, expected, f"of {given}: the result", because=why)
            # Where the result is x itself there may be nothing to do.
            same = isinstance(args[0], torch.Tensor) and torch.equal(expected, args[0])
            assert counts or same, (
                "no operator of PyTorch ran; build it from those that are allowed"
            )
        check_growth(name, seen)


# %% nbgrader={"grade_id": "puzzle-tries", "locked": true} jupyter={"source_hidden": true}
few, own = torch.tensor([3, 1, 4, 1]), torch.tensor([2, 0, 2, 2])
many, some = torch.arange(64) * 37 % 64, torch.tensor([1, 0, 1, 1]) > 0
bounds = torch.tensor([1, 3, 9]), torch.tensor([-2, 0, 1])
huge = torch.tensor([2**60 + 1, 1, -6])  # a float has too few digits for it, float64 as well
far = torch.tensor([2**62 + 5, -(2**62) - 5])  # their difference is beyond int64
by_numbers = {  # what the second check hands to some of the answers
    "linspace": [
        *((0, 10, 6), (1, 9, 4), (5, -5, 3), (7, 7, 2), (0, 99, 64), (5, -5, 4), (0, 10**9, 4)),
    ],
    "bucketize": [
        *((few, bounds[0]), (few - 3, few[:1]), (many, few[:1]), (few - 3, bounds[1])),
        *((few, few), (few[:1], bounds[0]), (huge, huge), (huge - 1, huge), (few, many)),
        (far, far),
    ],
    "histogram": [
        *((own, 4), (own[:1], 3), (many, 64), (few - 2, 3), (few, 3), (own - 2, 1), (few, 0)),
        (own * 30, 70),
    ],
    "segment sum": [
        *((few, own, 4), (few - 3, own, 3), (few[:1], own[:1], 3), (many, many % 5, 5)),
        *((few, own - 1, 3), (few, own, 2), (huge, own[:3], 3), (few, own - 2, 1)),
        *((few, own, 0), (few, own, 70), (few, own * 30, 70)),
    ],
}

# %% nbgrader={"grade_id": "puzzles", "solution": true}
puzzles = {
    "total": None,
    "outer": None,
    "running sum": None,
    "differences": None,
    "reverse": None,
    "roll": None,
    "pad to": None,
    "linspace": None,
    "bucketize": None,
    "histogram": None,
    "segment sum": None,
    "compress": None,
}
### BEGIN SOLUTION
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}
### END SOLUTION

# %% nbgrader={"grade_id": "puzzles-check", "grade": true, "points": 3}
x, y, long = torch.tensor([3, 1, 4, 1]), torch.tensor([2, 7]), torch.arange(64) * 37 % 64 - 30
with every_case() as case:
    for name in ("total", "running sum", "differences", "reverse"):
        check_puzzle(case, name, (x,), (y[:1],), (long,), (long[::2],), (huge,), (x - 2,))
    check_puzzle(case, "outer", (x, y), (y, long), (y, y + 1), (y[:1], x), (x, y[:1]), (huge, y))
    rolls = (x, 1), (x, -1), (x, 0), (x, 6), (y[:1], 3), (long, 5), (long[:7], -101), (huge, 1)
    check_puzzle(case, "roll", *rolls)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(13)
with every_case() as case:
    for n in (1, 2, 7):
        x = torch.randint(-9, 10, (2 * n,), generator=generator)[::2]
        for name in ("total", "running sum", "differences", "reverse"):
            check_puzzle(case, name, (x,))
        check_puzzle(case, "outer", (x, torch.randint(-9, 10, (n + 2,), generator=generator)))
        check_puzzle(case, "roll", *((x, k) for k in (0, 1, -2, n, n + 3)))
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "puzzles-check-2", "grade": true, "points": 3}
with every_case() as case:
    pads = (few, 6), (few, 4), (few, 2), (few, 1), (few, 0), (few[:1], 3), (many, 70), (huge, 4)
    check_puzzle(case, "pad to", *pads)
    for name, tries in by_numbers.items():
        check_puzzle(case, name, *tries)
    ends = (few, few > 9), (few, few > 0), (many, many > 9), (few[:1], few[:1] > 9)
    zeros = (own, own >= 0), (few - 3, few > 0), (huge, huge < 9), (huge, huge > 0)
    check_puzzle(case, "compress", (few, some), (few, ~some), *ends, *zeros)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(14)
with every_case() as case:
    for n in (1, 2, 7):
        x = torch.randint(-9, 10, (2 * n,), generator=generator)[::2]
        s = torch.randint(0, n + 1, (n,), generator=generator)
        bounds = torch.randint(-9, 10, (n + 1,), generator=generator).sort().values
        check_puzzle(case, "pad to", (x, 1), (x, n), (x, n + 3))
        check_puzzle(case, "linspace", (-n, 3 * n, n + 1), (n, -n * n, n + 2))
        check_puzzle(case, "bucketize", (x, bounds), (bounds, bounds))
        check_puzzle(case, "histogram", (s, n + 2))
        check_puzzle(case, "segment sum", (x, s, n + 2))
        check_puzzle(case, "compress", (x, s > 0), (x, x > 2))
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
# <details><summary>Hint 4</summary>
#
# In `compress` an entry that is kept goes to the place that counts how many are kept before it. A running
# sum of `keep` knows that (it counts the entry itself, too).
# </details>

# %% [markdown]
# Yours beside the target: the next cell tries each of your answers on an example. Below a name are the
# first argument (white), then the target (grey), then what your answer gives. A cross marks an answer
# that isn't there yet.


# %% nbgrader={"grade_id": "puzzle-pictures", "locked": true} jupyter={"source_hidden": true}
def draw_answers(answers: dict, examples: dict) -> None:
    """For each example its first argument, the target and the result, as rows of numbered cells."""
    figure, panels = plt.subplots(3, 4, figsize=(9.5, 6))
    for panel, (name, args) in zip(panels.flat, examples.items(), strict=True):
        target = torch.tensor(specs[name](*plain(args)))
        width, target = target.shape[-1] if target.dim() else 1, target.flatten().tolist()
        try:
            yours = answers[name](*args).flatten().tolist()
        except Exception:  # whatever an unfinished answer does
            yours = ["×"] * len(target)
        first, *rest = [[*map(int, a)] if isinstance(a, list) else a for a in plain(args)]
        first, rest = (first, rest) if isinstance(first, list) else ([], [first, *rest])
        panel.set_title(", ".join([name, *map(str, rest)]), fontsize=9, loc="left")
        for level, numbers in enumerate((yours, target, first)):
            for place, number in enumerate(numbers):
                right = level or (place < len(target) and number == target[place])
                colour = ("#0072b2" if right else "#b04500", "#6b6b6b", "white")[level]
                # The rows of a matrix stand apart.
                left = place + 0.5 * (place // width) * (level < 2)
                corner, look = (left, level * 1.3), {"facecolor": colour, "linewidth": 1.5}
                edge = "#6b6b6b" if level == 2 else "white"
                panel.add_patch(plt.Rectangle(corner, 1, 1, edgecolor=edge, **look))
                ink = {"color": "black" if level == 2 else "white", "ha": "center", "va": "center"}
                panel.text(left + 0.5, level * 1.3 + 0.5, str(number), fontsize=9, **ink)
        panel.set(xlim=(-0.1, 8.1), ylim=(-0.1, 3.8))
        panel.set_axis_off()
    figure.tight_layout()
    show(figure, "Twelve times three rows of numbers: an argument, the target in grey, the answer.")


# %%
x, s = torch.tensor([3, 1, 4, 1, 5]), torch.tensor([2, 0, 2, 2, 1])
one = dict.fromkeys(("total", "running sum", "differences", "reverse"), (x,))
examples = one | {"outer": (x[:3], x[:2]), "roll": (x, 2), "pad to": (x, 8), "linspace": (0, 9, 5)}
examples |= {"bucketize": (x, torch.tensor([2, 4])), "histogram": (s, 4), "segment sum": (x, s, 4)}
draw_answers(puzzles, examples | {"compress": (x, x > 2)})

# %% [markdown]
# ## 6. All of it together: a picture without its noise · core
#
# Attention, built from your strings and patterns, on something that you can see. A noisy picture is cut
# into 2 × 2 patches. Each patch looks for patches like it, anywhere in the picture, and is replaced by their
# weighted average: noise differs from patch to patch and averages out; what they share stays. Nothing is
# trained. Where an answer isn't there yet, the course's own takes its place.


# %% nbgrader={"grade_id": "solved", "locked": true} jupyter={"source_hidden": true}
def solved(answers, name: str, own, works):
    """The learner's answer of a name where a small example works with it, else the course's own."""
    try:
        if works(answers[name]):
            return answers[name]
    except Exception:  # whatever an unfinished answer does
        pass
    print(f"{name} is not solved yet: the course's own takes its place")
    return own


tiny = torch.arange(48.0).view(1, 2, 6, 4)
tiny_patches = F.unfold(tiny, 2, stride=2).transpose(1, 2)
tiny_q, tiny_k = torch.arange(12.0).view(1, 2, 2, 3), torch.arange(18.0).view(1, 3, 2, 3)
tiny_p = torch.einsum("bthd,bshd->bths", tiny_q, tiny_k)
tiny_mix = torch.einsum("bths,bshd->bthd", tiny_p, tiny_k)

# %% nbgrader={"grade_id": "solved-names", "locked": true} jupyter={"source_hidden": true}
cut = solved(
    einops_six,
    "patches",
    ("b c (h p) (w q) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    lambda pair: torch.equal(rearrange(tiny, pair[0], **pair[1]), tiny_patches),
)
back = solved(
    einops_six,
    "back",
    ("b (h w) (c p q) -> b c (h p) (w q)", {"h": 3, "p": 2, "q": 2}),
    lambda pair: torch.equal(rearrange(tiny_patches, pair[0], **pair[1]), tiny),
)
score = solved(
    einsum_eight,
    "scores",
    "bthd,bshd->bths",
    lambda string: torch.allclose(torch.einsum(string, tiny_q, tiny_k), tiny_p),
)
mix = solved(
    einsum_eight,
    "mix",
    "bths,bshd->bthd",
    lambda string: torch.allclose(torch.einsum(string, tiny_p, tiny_k), tiny_mix),
)

# %% topics=["einsum", "einops-basics"]
generator = torch.Generator().manual_seed(0)
noisy = sun + 0.2 * torch.randn(sun.shape, generator=generator)  # (48, 48, 3)
stripes = rearrange(noisy, "(s h) w c -> s c h w", h=6)  # your patterns know 6 rows
patches = rearrange(stripes, cut[0], **cut[1])  # (8 stripes, 72 patches, 12)
tokens = rearrange(patches, "s n d -> 1 (s n) 1 d")  # (batch, time, head, channel)
print(patches.shape, "to", tokens.shape)

# %% [markdown]
# Close means: a small squared distance, $\lVert q \rVert^2 - 2\, q \cdot k + \lVert k \rVert^2$. The
# softmax over the keys ignores what is the same for all keys, so the first term can go. `softmax` turns a
# row of scores into weights that add up to 1; chapter 04 takes it apart. A score is minus the distance, so
# that close patches score high. Dividing by 0.5 says how choosy the softmax is: with a smaller number only
# the closest patches count.

# %% topics=["einsum", "einops-basics"]
products = torch.einsum(score, tokens, tokens)  # (batch, query, head, key)
squares = rearrange(tokens.square().sum(-1), "b s h -> b 1 h s")
weights = ((2 * products - squares) / 0.5).softmax(-1)
mixed = rearrange(torch.einsum(mix, weights, tokens), "1 (s n) 1 d -> s n d", s=8)
clean = rearrange(rearrange(mixed, back[0], **back[1]), "s c h w -> (s h) w c")

# %%
for name, image in {"noisy": noisy, "clean": clean}.items():
    error = (image - sun).square().mean().sqrt()
    print(f"{name}: typical error {error:.2f}")

# %%
figure, panels = plt.subplots(1, 3, figsize=(8, 2.9))
for panel, (name, image) in zip(
    panels, {"true": sun, "noisy": noisy, "clean": clean}.items(), strict=True
):
    panel.imshow(image.clamp(0, 1))
    panel.set_title(name)
    panel.set_axis_off()
show(figure, "Three pictures of a disc: the true one, one full of noise, one with half the noise.")

# %% [markdown]
# The error is halved, by two einsum strings and two patterns. Averaging over patches that are merely
# similar has its price: compare the colours of the disc with the true colours. With the puzzle's slip in
# `scores`, `"bthd,bsgd->bths"`, the same picture would result here, since there is only one head: an
# error that a small test does not see. Test with more than one of everything. (`solved` above tests with
# two heads.)
#
# ## Heard elsewhere
#
# *"Flatten the pixels by `torch.reshape(N, D, H * W)`, then multiply."* The tensor itself is missing from
# that call.

# %% topics=["bilinear-pooling"] errata=["bilinear-pooling-reshape"]
try:
    torch.reshape(2, 3, 16)
except TypeError as error:
    print(str(error).split("\n")[0])

# %% [markdown]
# *"A lookup on a GPU is a product with a one-hot matrix."* The product reads all of the table for each
# row, and one infinity in a row that was never asked for spoils the result, since 0 · ∞ is NaN. A lookup
# reads the row it wants and multiplies nothing:

# %%
table = torch.ones(1000, 64)
table[7] = torch.inf
wanted = torch.tensor([1, 2, 3])
with FlopCounterMode(display=False) as product:
    by_product = F.one_hot(wanted, 1000).float() @ table
with FlopCounterMode(display=False) as lookup:
    by_index = table[wanted]

# %%
print(f"product: {product.get_total_flops():,} operations, first entry {by_product[0, 0]}")
print(f"lookup:  {lookup.get_total_flops():,} operations, first entry {by_index[0, 0]}")

# %% [markdown]
# ## What to take home
#
# | you want | write | cost |
# | --- | --- | --- |
# | a product | `@`, `F.linear` | 2·n·k·m operations; parentheses decide |
# | exactly these shapes | `mm`, `mv`, `bmm` | as `@`; refuse to broadcast |
# | any sum of products | `torch.einsum`, letters | one `bmm` for each pair, some copies |
# | split, merge, repeat | `rearrange`, `reduce`, `repeat` | a view where possible |
# | one row's function for all rows | `torch.vmap` | a batched operator for each that it calls |
# | all pairs of channels | one product that sums over the pixels | no matrix for each pixel |
# | select, sum, move entries | a product with zeros and ones | n·m; for a mere lookup, index |
#
# **Three mistakes to remember**
#
# 1. A wrong letter that appears only once is summed over in silence, and the shape is right. Ask of each
#    missing letter whether you want its sum.
# 2. `(p h)` for `(h p)`: the same shape, other pixels. The last letter runs fastest; look at a picture once.
# 3. A chain of products from left to right, where parentheses on the right would be hundreds of times
#    cheaper.
#
# **Read more.** The PyTorch documentation has a page on *torch.einsum*, with its `sublist` form for programs
# that make strings. The einops tutorial draws every pattern. The puzzles follow Sasha Rush's *Tensor
# Puzzles*, and section 6 Buades, Coll and Morel's *A Non-Local Algorithm for Image Denoising*.
# Chapter 04 asks of such lines whether they are still right in float32.
