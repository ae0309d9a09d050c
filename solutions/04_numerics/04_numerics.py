# ---
# jupyter:
#   course:
#     title: Numerics
#     minutes: 230
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
from course_utils import check_close, check_predictions, count_operators, device, draw_einsum
from course_utils import forbid_changes, forbid_copies, show
from einops import rearrange, reduce, repeat

# %% [markdown]
# ## A puzzle to start with
#
# Two points on a map lie 1 metre apart. On paper, the squared distance is
#
# $$\lVert a - b \rVert^2 = \lVert a \rVert^2 + \lVert b \rVert^2 - 2\, a \cdot b$$
#
# and the right-hand side is popular, because for many points it is one fast matrix product.
# **Predict** what the two lines print.

# %%
a = torch.tensor([10_000.0, 10_000.0])
b = torch.tensor([10_001.0, 10_000.0])
print("left: ", ((a - b) ** 2).sum().sqrt())
print("right:", ((a * a).sum() + (b * b).sum() - 2 * (a @ b)).sqrt())

# %% [markdown]
# The same formula on paper. One of them says that the two points are one. No warning, no NaN. A
# nearest-neighbour search on top of it would return neighbours, only not the nearest.
#
# We shall find out why, and what to do. First we need the products themselves.

# %% [markdown]
# ## 1. Distances between all pairs
#
# Back to the puzzle. Nearest neighbours, clustering, kernels, contrastive losses: all of them start
# from a matrix of distances. Entry [i, j] says how far `x[i]` is from `y[j]`. The literal way is to
# broadcast: give `x` a dimension for j and `y` one for i.

# %% topics=["pairwise-distance"]
x = torch.tensor([[0.0, 0.0], [3.0, 4.0]])  # (n, d)
y = torch.tensor([[0.0, 0.0], [3.0, 0.0], [6.0, 8.0]])  # (m, d)
difference = x[:, None] - y  # (n, 1, d) - (m, d) gives (n, m, d)
print(difference.shape)
print((difference**2).sum(-1).sqrt())

# %% [markdown]
# What such a matrix looks like: sixty points in three clouds, each point against each.

# %% topics=["pairwise-distance"]
generator = torch.Generator().manual_seed(0)
centres = torch.tensor([[0.0, 0.0], [6.0, 0.0], [3.0, 9.0]]).repeat_interleave(20, dim=0)
points = centres + torch.randn(60, 2, generator=generator)
distances = (points[:, None] - points).square().sum(-1).sqrt()

# %% topics=["pairwise-distance"]
figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3), width_ratios=[1, 1.2])
left.scatter(*points.T, c=torch.arange(60) // 20, cmap="viridis")
left.set(title="60 points, in the order of their clouds", aspect="equal")
shown = right.imshow(distances, cmap="magma_r", interpolation="nearest")
right.set(title="their distances", xlabel="j", ylabel="i")
figure.colorbar(shown, ax=right)
show(figure, "A heat map of 60 × 60 distances: three light blocks along a diagonal of zeros.")

# %% [markdown]
# The diagonal is zero, each cloud is a light block, and the matrix is symmetric. So far the line is
# right. Now the other two questions.
#
# **What does it cost?** The difference has n · m · d numbers, although the result has n · m. For
# 10,000 points against 10,000 in 512 dimensions that is 205 gigabytes in float32. The picture of a
# line is misleading here: it hides an intermediate.
#
# **Is it right?** The values are. **Predict** the gradient.
#
# > **Then and now.** *"Pairwise distances are `((x[:, None] - y) ** 2).sum(-1).sqrt()`."* As a value,
# > yes. Where two points coincide, as on the diagonal, the gradient is NaN, and after one step of an
# > optimizer so are all points.

# %% errata=["pairwise-sqrt-nan"] topics=["pairwise-distance"]
p = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
((p[:, None] - p) ** 2).sum(-1).sqrt().sum().backward()
print("by hand:", p.grad.tolist())
p.grad = None
torch.cdist(p, p).sum().backward()
print("cdist:  ", [[round(g, 4) for g in row] for row in p.grad.tolist()])

# %% [markdown]
# The same 0 · ∞ as above. `torch.cdist` takes the gradient at distance zero as 0, and it never writes
# out the differences.
#
# Mask the zeros *before* the root, not after. `torch.where` on the result does not help: its gradient
# multiplies the NaN branch by 0, and 0 · NaN is NaN. **Predict** which of the two is clean:

# %%
s = torch.tensor([0.0, 4.0], requires_grad=True)
torch.where(s > 0, s.sqrt(), 0).sum().backward()
print("masked after:            ", s.grad.tolist())

# %%
s.grad = None
safe = torch.where(s > 0, s, 1)  # a harmless number goes into the root
torch.where(s > 0, safe.sqrt(), 0).sum().backward()
print("masked before and after: ", s.grad.tolist())

# %% [markdown]
# Remember this double `where`. It is the cure whenever a function has a bad slope at a point that you
# want to leave out.
#
# ### The Gram identity
#
# $\lVert x \rVert^2 + \lVert y \rVert^2 - 2\, x \cdot y$ needs one product and no (n, m, d) tensor.
# It is the fast way. And it was the wrong line of the puzzle. Look at the numbers in it:

# %% topics=["pairwise-distance"]
a, b = torch.tensor([10_000.0, 10_000.0]), torch.tensor([10_001.0, 10_000.0])
print(f"|b|² in float32: {(b @ b).item():,.0f}   exactly: {10_001**2 + 10_000**2:,}")
print(f"from one float32 to the next, at this size: {torch.finfo(torch.float32).eps * 2**27:.0f}")

# %% [markdown]
# A float32 has 24 binary digits, about seven decimal ones. At two hundred million its neighbours are
# 16 apart. The answer, 1, is far below what these numbers can tell apart. We subtract two large
# numbers that agree in all their digits, and what is left is rounding. This is called **cancellation**.
# The subtraction is innocent: it is exact. It uncovers the rounding that happened before.
#
# The error depends on how far the points are from the origin, compared with their distance. See it,
# for points one apart that move away from the origin:

# %% topics=["pairwise-distance"]
far = 10.0 ** torch.arange(0, 5.01, 0.05)
angle = torch.arange(101.0)
one = torch.stack([far * angle.cos(), far * angle.sin()], dim=1)  # (101, 2)
other = one + torch.tensor([1.0, 0.0])
gram = (one**2).sum(1) + (other**2).sum(1) - 2 * (one * other).sum(1)
direct = ((one - other) ** 2).sum(1)

# %% topics=["pairwise-distance"]
figure, axes = plt.subplots(figsize=(7, 3))
axes.plot(far, gram.clamp_min(0).sqrt(), ".", color="#b04500", label="Gram identity")
axes.plot(far, direct.sqrt(), color="#0072b2", label="difference first")
axes.set_yscale("symlog", linthresh=1)
axes.set_yticks([0, 1, 10, 100], ["0", "1", "10", "100"])
axes.set(xscale="log", xlabel="distance from the origin", ylabel="computed distance")
axes.set_title("Two points, 1 apart, in float32")
axes.legend()
show(figure, "The difference stays at 1; the Gram identity scatters ever wider from 1000 on.")

# %% [markdown]
# Distances do not change when all points move by the same vector. So subtract a common centre from
# both sets first. That is one cheap line, and it is most of the cure. Two small things remain. Rounding
# may leave a squared distance slightly below zero, and the root of that is NaN: clamp. And for points
# that nearly coincide the identity stays inaccurate.
#
# ### What `cdist` does
#
# It has two ways inside, a direct one and the Gram identity. By default it takes the second as soon as
# either set has more than 25 points. **Predict:** is this safe far from the origin?

# %% topics=["pairwise-distance"]
spot = torch.rand(30, 2, generator=generator) + 10_000
direct = torch.cdist(spot, spot, compute_mode="donot_use_mm_for_euclid_dist")
for n in (25, 26):
    error = (torch.cdist(spot[:n], spot[:n]) - direct[:n, :n]).abs().max()
    print(f"{n} points, error above 0.1:", bool(error > 0.1))

# %% [markdown]
# All points lie in one square metre, and with 26 of them the error is more than 10 centimetres. One
# point fewer, and the same call is right. So a test on a small example will not find it. Name the
# `compute_mode`, or move the points to the origin.
#
# **In practice.** Embeddings that are normalised lie near the origin, and the Gram identity serves them
# well. Coordinates, timestamps and unscaled features do not. And a GPU that is allowed to multiply in
# TF32 keeps 11 binary digits instead of 24: there the identity fails some ninety times nearer to the
# origin.

# %% [markdown]
# ### Exercise 4.1 — Distances, three ways ★★★ · 30 min · 6 points
#
# Write `pairwise_three_ways(x, y, how)` for `x` (n, d) and `y` (m, d), float32 or float64. It returns
# the Euclidean distances, (n, m), in the way that `how` names:
#
# - `"broadcast"`: from the differences, without a product of matrices;
# - `"gram"`: by the identity, with one product of matrices. No storage may be larger than the largest
#   of `x`, `y` and the result;
# - `"cdist"`: by `torch.cdist`, and by its direct way, whatever the number of points.
#
# In each way: no loop. Points far from the origin are handled (for `"gram"`, subtract the same
# vector from both sets). Where two points coincide, the distance is 0, up to rounding, and the
# gradient is finite; never NaN.
#
# Example: `x = [[0, 0]]`, `y = [[3, 4], [0, 0]]` gives `[[5, 0]]`. n, m or d may be 0.


# %% nbgrader={"grade_id": "pairwise-three-ways", "solution": true}
def pairwise_three_ways(x: torch.Tensor, y: torch.Tensor, how: str) -> torch.Tensor:
    """Euclidean distances (n, m) of x (n, d) and y (m, d); how: "broadcast", "gram", "cdist"."""
    ### BEGIN SOLUTION
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        squared = (x[:, None] - y).square().sum(-1)
    else:
        centre = y.detach().sum(0) / max(len(y), 1)
        x, y = x - centre, y - centre
        squared = x.square().sum(1)[:, None] + y.square().sum(1) - 2 * (x @ y.T)
    zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)
    ### END SOLUTION


# %% nbgrader={"grade_id": "pairwise-three-ways-check", "grade": true, "points": 2}
def check_case(x, y, name):
    truth = (x[:, None] - y).square().sum(-1).sqrt()
    unit = (x[:, None] - y) / truth.masked_fill(truth == 0, 1)[..., None]
    for how in ("broadcast", "gram", "cdist"):
        call = f'pairwise_three_ways(x, y, "{how}") with {name}'
        with forbid_changes(x, y):
            check_close(pairwise_three_ways(x, y, how), truth, call, atol=1e-6)
        slopes = try_gradient("pairwise_three_ways", x, y, how)
        for slope, expected, letter in zip(slopes, (unit.sum(1), -unit.sum(0)), "xy", strict=True):
            what = f"the gradient by {letter} of {call}"
            assert not slope.isnan().any(), f"{what} is NaN: what is the slope of the root at 0?"
            check_close(slope, expected, what, atol=1e-5)


y = torch.tensor([[3.0, 4.0], [0.0, 0.0]], dtype=torch.float64, device=device)
check_case(y[1:], y, "the example, where two points coincide")
check_case(y, y, "a set against itself")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(4)
grid = torch.randint(-3, 4, (9, 6), generator=generator).double().to(device)
check_case(grid[:, :3], grid[2:, 3:], "slices")
check_case(grid[:, :1], grid[:4, 1:2], "points on a line, some of which coincide")
check_case(grid[:0, :3], grid[:, :3], "no x")
check_case(grid[:, :3], grid[:0, :3], "no y")
check_case(grid[:5, :0], grid[:, :0], "points without coordinates")
check_case(grid[:1].expand(5, 6), grid, "an expanded x")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "pairwise-three-ways-check-2", "grade": true, "points": 2}
def check_cost(x, y):
    most = max(len(x) * len(y), x.numel(), y.numel()) * x.itemsize
    for how in ("broadcast", "gram", "cdist"):
        call = f'pairwise_three_ways(x, y, "{how}")'
        limit = forbid_copies(up_to=most if how != "broadcast" else most * x.shape[1])
        try:
            with limit, count_operators() as counts:
                pairwise_three_ways(x, y, how)
        except AssertionError as error:
            raise AssertionError(f"{call}: {error}") from None
        products = sum(counts[name] for name in ("mm", "addmm", "bmm", "baddbmm"))
        inside = counts["_cdist_forward"], counts["_euclidean_dist"]
        assert products == (how == "gram"), f"{call} ran {products} products of matrices"
        assert inside[1] == 0, f"{call}: cdist took the Gram identity; name its compute_mode"
        assert inside[0] == (how == "cdist"), f"{call} ran cdist {inside[0]} times"
        assert counts.total() < 50, f"{call} ran {counts.total()} operators: is there a loop?"


check_cost(torch.ones(60, 40, device=device), torch.zeros(50, 40, device=device))
### BEGIN HIDDEN TESTS
check_cost(torch.ones(70, 3, device=device), torch.zeros(30, 3, device=device))
check_cost(torch.ones(26, 64, device=device), torch.zeros(26, 64, device=device))
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "pairwise-three-ways-check-3", "grade": true, "points": 2}
def check_far(x, y, name):
    truth = (x.double()[:, None] - y.double()).square().sum(-1).sqrt().float()
    for how in ("broadcast", "gram", "cdist"):
        result = pairwise_three_ways(x, y, how)
        call = f'pairwise_three_ways(x, y, "{how}") with {name}, in float32'
        nan = isinstance(result, torch.Tensor) and result.isnan().any()
        assert not nan, f"{call} holds NaN: is there a number below zero in the root?"
        check_close(result, truth, call, rtol=1e-3, atol=1e-2)


generator = torch.Generator().manual_seed(5)
near = torch.rand(40, 2, generator=generator).to(device)
check_far(near[:20], near[10:], "points near the origin")
check_far(near[:20] + 10_000, near[10:] + 10_000, "points far from the origin")
### BEGIN HIDDEN TESTS
wide = torch.rand(35, 60, generator=generator).to(device)
check_far(wide - 2_000, wide[::2] - 2_000, "points far from the origin in many dimensions")
check_far(wide, wide, "a set against itself")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For `"gram"`: `(x * x).sum(1)[:, None]` is a column, `(y * y).sum(1)` a row. The centre may be
# the mean of `y`; but the mean of nothing is NaN.
# </details>
# <details><summary>Hint 2</summary>
#
# A squared distance that is 0 or below must not reach the root. Put 1 in its place, take the root,
# then put 0 in the place of the result.
# </details>
# <details><summary>Hint 3</summary>
#
# For `"cdist"` look at the cell that compares 25 points with 26.
# </details>

# %% [markdown]
# ### Broadcasting that nobody asked for
#
# `x[:, None] - y` makes a matrix of two vectors, and we asked for it. The same rule works when nobody
# asks: a column of predictions minus a row of targets.
#
# > **Then and now.** *"Avoid 1-D tensors, use n × 1 matrices: it prevents surprises."* It causes one,
# > as soon as the targets are 1-D, as labels are. The predictions below are perfect.

# %% errata=["prefer-n-by-1"] tags=["shows-warning"]
import warnings

predictions, targets = torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, 2.0])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # mse_loss warns of the sizes; a formula of your own does not
    print("(2, 1) against (2):", F.mse_loss(predictions, targets).item())
print("(2) against (2):   ", F.mse_loss(predictions.squeeze(1), targets).item())

# %% [markdown]
# Neither shape is better. Equal shapes are: assert them where two tensors meet.

# %% [markdown]
# ## 2. How wrong is a sum?
#
# The Gram identity was wrong since its inputs had been rounded. How much rounding is there in a plain
# sum? A float32 keeps 24 binary digits, so every addition may be off by half a unit in the last place:
# relative to the result by at most $u = 2^{-24} \approx 6 \cdot 10^{-8}$. Where do the errors go?
#
# **Predict:** add 1 to 16,777,216 in float32.

# %%
print(torch.tensor(2.0**24) + 1)
print(torch.tensor(2.0**24) + 2)

# %% [markdown]
# From $2^{24}$ on the neighbours are 2 apart. A loop that adds up ones gets stuck there, forever:
# every further 1 is rounded away. That is the extreme case of a rule. In a **naive** loop the running
# total grows, and each addition makes an error relative to the *total*. After n additions the error
# may be n · u.
#
# **Pairwise** summation adds two and two, then the sums of pairs, and so on. (Which two does not
# matter.) Each number goes through only log₂ n additions, and the error may be log₂(n) · u.
# **Compensated** summation (Kahan) computes after each addition what was rounded away, and subtracts it
# from the next number. Its error stays near u.

# %%
total, lost = torch.tensor(1e8), torch.tensor(0.0)  # lost: what was added too much so far
for number in torch.tensor([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]):
    wanted = number - lost
    new = total + wanted
    lost = (new - total) - wanted
    total = new
print(f"compensated {total.item():.0f}, naive {(torch.tensor(1e8) + 1).item():.0f}")

# %% [markdown]
# At 10⁸ neighbours are 8 apart. The naive loop adds eight ones and stays where it was. The
# compensated one remembers what is lost, and when it amounts to a step, the step is made.
#
# Now the curve: the same random numbers, summed naively and pairwise, and the errors that the rules
# predict. The naive loop is NumPy's `cumsum`, which keeps float32 all along.

# %% topics=["vectorise-not-loop"]
import numpy as np

numbers = torch.rand(2**20, generator=torch.Generator().manual_seed(1)).numpy()
exact = np.cumsum(numbers.astype(np.float64))
naive = np.cumsum(numbers)  # float32 at every step
f"{naive[-1] - exact[-1]:.1f} off, of {exact[-1]:.1f}"


# %%
def fold(x: np.ndarray) -> np.ndarray:
    """Pairwise sum of a float32 array whose length is a power of two."""
    while len(x) > 1:
        x = x[: len(x) // 2] + x[len(x) // 2 :]
    return x[0]


# %%
sizes = 2 ** np.arange(3, 21)
errors = {
    "naive loop": [abs(naive[n - 1] / exact[n - 1] - 1) for n in sizes],
    "pairwise": [abs(fold(numbers[:n]) / exact[n - 1] - 1) for n in sizes],
}
print(
    "naive is worse by a factor above 10:", errors["naive loop"][-1] > 10 * errors["pairwise"][-1]
)

# %%
unit = 2.0**-24
figure, axes = plt.subplots(figsize=(6.5, 3.2))
for (name, values), colour in zip(errors.items(), ("#b04500", "#0072b2"), strict=True):
    axes.plot(sizes, np.maximum(values, 3e-10), "o-", color=colour, label=f"{name}, measured")
axes.plot(sizes, sizes * unit, "--", color="#b04500", label="n · u, at most (naive)")
axes.plot(
    sizes, np.log2(sizes) * unit, "--", color="#0072b2", label="log₂(n) · u, at most (pairwise)"
)
axes.axhline(unit, color="#777777", linewidth=1, label="u, one rounding")
axes.set(xscale="log", yscale="log", xlabel="how many numbers", ylabel="relative error")
axes.set_title("The error of a sum in float32")
axes.legend(fontsize=8.5)
show(
    figure,
    "The naive error climbs with n far above one rounding; the pairwise error stays near it.",
)

# %% [markdown]
# The dashed lines are what can happen at worst. In practice errors have both signs and cancel in part,
# so the measured curves lie below. But look at the slopes: one grows with n, the other hardly does.
#
# **In practice.** `torch.sum` works pairwise, in blocks, so you need not write any of this. You do meet
# it where *you* are the loop: a running loss, a gradient accumulated over a thousand steps, an average
# of weights. And in half precision it comes early: bfloat16 has 8 binary digits, and a
# loop of ones is stuck at 256. So accumulate in float32, or better.

# %% [markdown]
# ### Exercise 4.2 — Sums that keep their digits ★★★ · 30 min · 6 points
#
# **First predict.** What do these sums of ones give? Write whole numbers. A float32 has 24 binary
# digits, float64 53, bfloat16 8, float16 11. Halfway between two neighbours, rounding goes to the
# one whose last binary digit is 0.
#
# **Then write** `sum_in_float32(x, how)` for `x` of shape (n, k), float32. It returns the sum of each
# column, (k), computed in float32:
#
# - `"naive"`: row after row, from the first to the last, starting at zero;
# - `"pairwise"`: with at most 3 · log₂(n) + 3 additions of tensors;
# - `"compensated"`: row after row, with an error of at most 2u times the sum of absolute values, for
#   the few thousand rows that are tried.
#
# A loop over rows or halves is fine; a loop over columns is not needed. No `sum`, `cumsum`, `mean` or
# product, and no other dtype. n may be any number, 0 and odd ones included.
#
# Example: the column `[1e8, 1, 1, 1, 1, 1]` gives 1e8 by the naive way. The compensated way gives
# 100000008, the float32 nearest to the exact sum.

# %% nbgrader={"grade_id": "sum-in-float32", "solution": true}
predicted_sums = {
    "a loop over 2**25 ones, float32": None,
    "a loop over 2**25 ones, float64": None,
    "pairwise over 2**25 ones, float32": None,
    "a loop over 1000 ones, bfloat16": None,
    "a loop over 3000 ones, float16": None,
}
### BEGIN SOLUTION
predicted_sums = dict(zip(predicted_sums, (2**24, 2**25, 2**25, 2**8, 2**11), strict=True))
### END SOLUTION


def sum_in_float32(x: torch.Tensor, how: str) -> torch.Tensor:
    """Column sums (k) of x (n, k), float32; how: "naive", "pairwise" or "compensated"."""
    ### BEGIN SOLUTION
    total, lost = x.new_zeros(x.shape[1]), 0
    if how == "pairwise":
        while len(x) > 1:
            half = len(x) // 2
            x = torch.cat([x[:half] + x[half : 2 * half], x[2 * half :]])
    for row in x:
        wanted = row - lost
        new = total + wanted
        lost = (new - total) - wanted if how == "compensated" else 0
        total = new
    return total
    ### END SOLUTION


# %% nbgrader={"grade_id": "sum-in-float32-check", "grade": true, "points": 2}
check_predictions(
    predicted_sums,
    {
        "a loop over 2**25 ones, float32": 16_777_216,
        "a loop over 2**25 ones, float64": 33_554_432,
        "pairwise over 2**25 ones, float32": 33_554_432,
        "a loop over 1000 ones, bfloat16": 256,
        "a loop over 3000 ones, float16": 2048,
    },
    because={
        "a loop over 2**25 ones, float32": "from which total on is 1 only half a step?",
        "a loop over 2**25 ones, float64": "with 53 digits, is 1 ever rounded away here?",
        "pairwise over 2**25 ones, float32": "equal powers of two are added: is anything rounded?",
        "a loop over 1000 ones, bfloat16": "8 binary digits: where does 1 become half a step?",
        "a loop over 3000 ones, float16": "11 binary digits: where does 1 become half a step?",
    },
)


# %% nbgrader={"grade_id": "sum-in-float32-check-2", "grade": true, "points": 2}


def check_error(x, name):
    exact, size, n = x.double().sum(0), x.double().abs().sum(0), len(x)
    depth, unit = max(n - 1, 1).bit_length(), 2.0**-24
    bounds = {"naive": n, "pairwise": depth + 1, "compensated": 2.01}  # in units
    for how, bound in bounds.items():
        call = f'sum_in_float32(x, "{how}") with x {name}'
        with forbid_changes(x):
            result = sum_in_float32(x, how)
        check_close(result, exact.float(), call, rtol=1, atol=torch.inf)  # shape, dtype, device
        error = ((result.double() - exact).abs() / size.clamp_min(1e-30) / unit).max().item()
        assert error <= bound, f"{call}: error {error:.1f} u, at most {bound:.1f} u"


check_error(torch.tensor([[1e8], [1.0], [1.0], [1.0], [1.0], [1.0]]), "= [1e8, 1, 1, 1, 1, 1]")
check_error(torch.full((7, 2), 0.1, device=device), "of 7 rows")
check_error(torch.full((3000, 2), 0.1, device=device), "of 3000 tenths")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(6)
x = torch.rand(4000, 3, generator=generator).to(device)
check_error(torch.cat([x[:1] + 1e6, x]), "of 4001 rows, the first of which is large")
x = torch.randn(2000, 2, generator=generator).to(device) * 1000
check_error(torch.cat([x, -x.flip(0), x[:100]]), "whose rows cancel")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "sum-in-float32-check-3", "grade": true, "points": 2}


def check_way(x, name):
    n, depth = len(x), max(len(x) - 1, 1).bit_length()
    loop = sum(x, x.new_zeros(x.shape[1]))  # Python's sum: row after row
    for how in ("naive", "pairwise", "compensated"):
        call = f'sum_in_float32(x, "{how}") with x {name}'
        with count_operators() as counts:
            result = sum_in_float32(x, how)
        check_close(result, loop, call, atol=1e-3)
        assert not counts["_to_copy"], f"{call}: a dtype was converted; stay in float32"
        banned = {"sum", "cumsum", "mean", "mm", "mv", "bmm", "dot"} & set(counts)
        assert not banned, f"{call}: {', '.join(banned)} ran; add up in float32 by yourself"
        same = how != "naive" or torch.equal(result, loop)
        assert same, f"{call} is not what a loop over the rows gives: is it more exact?"
        adds = counts["add"] + counts["add_"] + counts["sub"] + counts["sub_"]
        few, many = how != "pairwise" or adds <= 3 * depth + 3, how == "pairwise" or adds >= n - 1
        assert few, f"{call}: {adds} additions for {n} rows; add halves to halves"
        assert many, f"{call}: {adds} additions for {n} rows; go row after row"


check_way(torch.full((41, 2), 0.1, device=device), "of 41 tenths")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(7)
for shape in ((1, 3), (2, 1), (0, 4), (64, 5), (129, 2)):
    x = torch.randn(shape, generator=generator).to(device)
    check_way(x.repeat(1, 2)[:, ::2], f"a slice of shape {shape}")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For the predictions: a float with p binary digits holds every whole number up to 2ᵖ. The next one,
# 2ᵖ + 1, lies halfway.
# </details>
# <details><summary>Hint 2</summary>
#
# For `"pairwise"`: add the second half of the rows to the first half, and go on with the result. With
# an odd number of rows one is left over: carry it along.
# </details>
# <details><summary>Hint 3</summary>
#
# For `"compensated"`: the cell above with eight ones has the loop. There a row is a number.
# </details>

# %% [markdown]
# ### The variance in one pass
#
# The most popular sum to get wrong is the variance. On paper it is the mean of the squares minus the
# square of the mean. That needs one pass over the data. It is also a difference of two large numbers
# that nearly agree: the Gram identity once more.
#
# > **Then and now.** *"For the variance over all processes, add up `x` and `x * x` everywhere and take
# > E[x²] − E[x]²."* In float32 it loses everything as soon as the mean is large beside the spread.
# > **Predict** the first line, for three numbers whose variance is 2/3:

# %% errata=["one-pass-variance"]
x = torch.tensor([10_000.0, 10_001.0, 10_002.0])
print("one pass:", ((x * x).mean() - x.mean() ** 2).item())
print("two passes:", round(((x - x.mean()) ** 2).mean().item(), 4))
print("torch.var:", round(x.var(correction=0).item(), 4))

# %% [markdown]
# Subtract the mean first. Where the data lie in several places, each place computes its count, mean
# and sum of squared deviations, and the *parts are merged*. With the difference δ of the two means,
#
# $$M = M_a + M_b + \delta^2\, \frac{n_a n_b}{n_a + n_b}$$
#
# and no large numbers are subtracted:

# %% errata=["one-pass-variance"]
part, rest = x[:1], x[1:]
delta = rest.mean() - part.mean()
merged = ((rest - rest.mean()) ** 2).sum() + delta**2 * len(part) * len(rest) / len(x)
round((merged / len(x)).item(), 4)

# %% [markdown]
# `nn.SyncBatchNorm` merges in this way. (`correction` says what is taken off n before dividing: 0 for
# the plain mean, 1, the default, for a sample whose own mean was used.)
#
# ### Exercise 4.3 — Covariance, weighted and batched ★★ · 20 min · 4 points
#
# For `x` of shape (…, n, d), n observations of d variables, return the covariance matrices, (…, d, d).
# Without weights it is what `torch.cov` gives for one `x` at a time (that function wants the variables
# in the rows). With weights $w_i \ge 0$, of shape (n) or (…, n), it is
#
# $$m = \frac{\sum_i w_i x_i}{W}, \qquad
# C = \frac{\sum_i w_i (x_i - m)(x_i - m)^T}{W - V / W}, \qquad W = \sum_i w_i, \quad V = \sum_i w_i^2$$
#
# With all weights 1 the divisor is n − 1, so the first is a special case of the second. `torch.cov` has
# it as `aweights`.
#
# No loop, no `torch.cov`; points far from the origin are handled. n ≥ 2, and at least two weights are
# above zero. Example: the observations (0, 0) and (2, 4) give `[[2, 4], [4, 8]]`.


# %% nbgrader={"grade_id": "covariance", "solution": true}
def covariance(x: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
    """Covariance (..., d, d) of x (..., n, d), float, with weights (n) or (..., n) or none."""
    ### BEGIN SOLUTION
    if weights is None:
        weights = x.new_ones(x.shape[-2])
    w = weights[..., None]
    total = w.sum(-2, keepdim=True)
    centred = x - (w * x).sum(-2, keepdim=True) / total
    return (w * centred).mT @ centred / (total - (w * w).sum(-2, keepdim=True) / total)
    ### END SOLUTION


# %% nbgrader={"grade_id": "covariance-check", "grade": true, "points": 4}


def check_case(x, weights, name, **tolerances):
    *batch, n, d = x.shape
    flat, many = x.double().reshape(-1, n, d), torch.ones(n) if weights is None else weights
    many = many.to(flat).expand(*batch, n).reshape(-1, n)
    truth = [torch.cov(one.T, aweights=w).reshape(d, d) for one, w in zip(flat, many, strict=True)]
    truth = torch.stack(truth).reshape(*batch, d, d).to(x.dtype)
    given = (x,) if weights is None else (x, weights)
    with forbid_changes(*given), count_operators() as counts:
        result = covariance(*given)
    check_close(result, truth, f"covariance of {name}", **tolerances)
    ran = counts.total()
    assert ran < 60, f"covariance of {name} ran {ran} operators: is there a loop?"


x = torch.tensor([[0.0, 0.0], [2.0, 4.0], [1.0, 5.0]], device=device)
check_case(x[:2], None, "[[0, 0], [2, 4]]")
check_case(x, torch.tensor([1.0, 3.0, 0.5], device=device), "3 observations with weights")
check_case(x.repeat(4, 2, 1, 1), None, "a batch of shape (4, 2, 3, 2)")
check_case(x + 10_000, None, "points far from the origin, in float32", rtol=1e-3)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(7)
x = torch.randn(20, 5, 8, 3, generator=generator, dtype=torch.float64).to(device)
w = torch.rand(20, 5, 8, generator=generator, dtype=torch.float64).to(device)
check_case(x, w, "a batch, with weights of its own for each")
check_case(x, w[0, 0], "a batch, with the same weights for all")
check_case(x[3, 1], w[3, 1] * 100, "shape (8, 3), with large weights")
check_case(x[..., :1], w, "one variable")
check_case(x[:, :, ::3].mT.contiguous().mT, w[:, :, ::3], "a slice in another memory order")
check_case(x[0, 0], (w[0, 0] > 0.3).double(), "observations of which some have the weight 0")
check_case(x.float() + 3000, w.float(), "a batch far from the origin, in float32", atol=2e-3)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Give the weights a dimension of size 1 at the end; then they broadcast over the d variables. Keep the
# summed dimension with `keepdim=True`.
# </details>
# <details><summary>Hint 2</summary>
#
# The sum over i of $w_i (x_i - m)(x_i - m)^T$ is a product of two matrices, (d, n) and (n, d). The
# weights belong into one of them, not into both.
# </details>

# %% [markdown]
# ## 3. Softmax: three ways to lose a number
#
# A classifier ends in logits, numbers of any size. Softmax makes probabilities of them:
#
# $$\operatorname{softmax}(x)_i = \frac{e^{x_i}}{\sum_j e^{x_j}}$$
#
# First, *which* numbers are summed? `dim` names the dimension along which the result adds up to 1:
# the one that runs over the classes. **Predict** which sums are 1:

# %% topics=["softmax-dim"]
logits = torch.tensor([[1.0, 2.0, 3.0], [1.0, 1.0, 4.0]])  # (batch, class)
print("dim=1, rows:   ", logits.softmax(1).sum(1).tolist())
print("dim=0, columns:", logits.softmax(0).sum(0).tolist())

# %% topics=["softmax-dim"]
figure, panels = plt.subplots(1, 2, figsize=(8, 2.2))
for dim, panel in enumerate(panels):
    table = logits.softmax(dim)
    panel.imshow(table, cmap="Blues", vmin=0, vmax=1.3)
    for (i, j), value in np.ndenumerate(table.numpy()):
        panel.text(j, i, f"{value:.2f}", ha="center", va="center")
    panel.set_title(f"softmax(dim={dim}): each {('column', 'row')[dim]} adds up to 1", fontsize=10)
    panel.set(xticks=range(3), yticks=range(2), xlabel="class", ylabel="sample")
show(
    figure,
    "Two tables of probabilities: in the left one each column adds up to 1, in the right each row.",
)

# %% [markdown]
# With `dim=0` the samples of a batch compete with each other. Nothing complains, and it even trains a
# little. The safe habit is to name the last dimension, `dim=-1`, and to keep the classes there.
#
# Second, **overflow**. The largest float32 is about 3 · 10³⁸, so $e^{89}$ is infinity, and
# ∞ / ∞ is NaN. But softmax does not change if the same number is subtracted from all logits: it
# cancels above and below. Subtract the largest, and the largest power is $e^0 = 1$.

# %%
x = torch.tensor([1000.0, 999.0])
print("as written:     ", (x.exp() / x.exp().sum()).tolist())
shifted = (x - x.max()).exp()
print("maximum first:  ", [round(p, 4) for p in (shifted / shifted.sum()).tolist()])
print("torch.softmax:  ", [round(p, 4) for p in x.softmax(0).tolist()])

# %% [markdown]
# Third, **underflow**. A loss needs the logarithm of the probability.
#
# > **Then and now.** *"Take `log(softmax(x))` and feed it to `NLLLoss`."* The probability of a class
# > that is 200 below the best is $e^{-200}$, which is 0 in float32. Its logarithm is −∞, the loss
# > infinite, the gradient NaN.

# %% errata=["log-of-softmax"]
x = torch.tensor([0.0, 200.0])
print("log(softmax): ", x.softmax(0).log().tolist())
print("log_softmax:  ", x.log_softmax(0).tolist())
print("cross_entropy:", F.cross_entropy(x, torch.tensor(0)).item())

# %% [markdown]
# The number −200 was there all the time. `log_softmax` never leaves the logarithm:
#
# $$\log \operatorname{softmax}(x)_i = x_i - \log \sum_j e^{x_j}
# \qquad \text{with} \qquad
# \log \sum_j e^{x_j} = m + \log \sum_j e^{x_j - m}, \quad m = \max_j x_j$$
#
# The right one is called **logsumexp**. It is the most useful line of numerics in all of machine
# learning: cross-entropy, attention, mixtures and beam search rest on it. One corner is left. Masked
# entries are −∞. What if *all* entries of a row are? Then m is −∞, and −∞ − (−∞) is NaN.

# %%
row = torch.full((2,), float("-inf"), requires_grad=True)
value = torch.logsumexp(row, 0)
value.backward()
print("value:", value.item(), " gradient:", row.grad.tolist())

# %% [markdown]
# PyTorch gets the value right. Its gradient is NaN, and one such row spoils every weight before it.
# You will do better.

# %% [markdown]
# ### Exercise 4.4 — logsumexp that never breaks ★★ · 20 min · 4 points
#
# Return $\log \sum e^x$ along one dimension, which disappears. `x` is floating point, of any shape; the
# size along `dim` is at least 1, other sizes may be 0.
#
# - No overflow, for numbers of any size.
# - A row of −∞ gives −∞, and its gradient is 0. −∞ next to other numbers counts as nothing.
# - A row that holds +∞ gives +∞ (its gradient is not looked at).
# - Elsewhere the gradient is softmax.
#
# Not allowed: PyTorch's own `logsumexp`, `logaddexp`, `softmax`, `log_softmax`, `logcumsumexp`, or a
# loss. Example: `[[0, 0], [1000, 1000]]` along `dim=1` gives `[0.6931, 1000.6931]`.


# %% nbgrader={"grade_id": "stable-logsumexp", "solution": true}
def stable_logsumexp(x: torch.Tensor, dim: int) -> torch.Tensor:
    """log(sum(exp(x))) along ``dim`` of x, floating point, of any shape; ``dim`` is dropped."""
    ### BEGIN SOLUTION
    largest = x.detach().amax(dim, keepdim=True)
    largest = torch.where(largest.isfinite(), largest, 0)
    total = (x - largest).exp().sum(dim)
    nothing = total == 0
    result = total.masked_fill(nothing, 1).log() + largest.squeeze(dim)
    return result.masked_fill(nothing, -torch.inf)
    ### END SOLUTION


# %% nbgrader={"grade_id": "stable-logsumexp-check", "grade": true, "points": 2}

own = {"logsumexp", "logaddexp", "logaddexp2", "_softmax", "_log_softmax", "_logcumsumexp"}


def check_case(x, dim, name):
    call = f"stable_logsumexp(x, {dim}) with x {name}"
    with forbid_changes(x), count_operators() as counts:
        result = stable_logsumexp(x, dim)
    assert not own & set(counts), f"{call}: {own & set(counts)} ran; build it from exp, sum and log"
    nan = isinstance(result, torch.Tensor) and result.isnan().any()
    assert not nan, f"{call} holds NaN: is there ∞ − ∞ somewhere?"
    check_close(result, torch.logsumexp(x, dim), call)


inf = torch.inf
check_case(
    torch.tensor([[0.0, 0.0], [1000.0, 1000.0]], device=device), 1, "= [[0, 0], [1000, 1000]]"
)
check_case(torch.tensor([-1000.0, -1000.5], device=device), 0, "= [-1000, -1000.5]")
check_case(torch.tensor([[0.0, -inf], [-inf, -inf]], device=device), 1, "with a row of −∞")
check_case(torch.tensor([[1.0, inf], [-inf, inf]], device=device), 1, "with +∞")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(8)
x = torch.randn(4, 5, 6, generator=generator, dtype=torch.float64).to(device) * 500
for dim in (0, 1, -1, -3):
    check_case(x.masked_fill(x.abs() > 300, -inf), dim, "with −∞ in places")
    check_case(x.mT[1:, ::2], dim, "a transposed slice")
check_case(x[:0], 1, "of shape (0, 5, 6)")
check_case(torch.tensor([3e38, -3e38, 3e38], device=device), 0, "near the largest float32")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "stable-logsumexp-check-2", "grade": true, "points": 2}


def check_slope(x, dim, name):
    call = f"the gradient of stable_logsumexp(x, {dim}) with x {name}"
    size = x.sum(dim).shape
    weights = torch.arange(1.0, size.numel() + 1).view(size).to(x)
    slope = try_gradient("stable_logsumexp", x, dim, weights=weights)
    assert not slope.isnan().any(), f"{call} is NaN: 0 · ∞ somewhere?"
    check_close(slope, x.softmax(dim).nan_to_num() * weights.unsqueeze(dim), call)


x = torch.tensor([[0.0, 0.0], [1000.0, 999.0]], device=device)
check_slope(x, 1, "= [[0, 0], [1000, 999]]")
check_slope(x.fill_diagonal_(-torch.inf), 1, "with −∞ in each row")
check_slope(torch.full((2, 3), -torch.inf, device=device), 0, "all −∞")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(9)
x = torch.randn(4, 5, 6, generator=generator, dtype=torch.float64).to(device) * 500
for dim in (0, 1, -1, -3):
    check_slope(x, dim, "random, large")
    check_slope(x.masked_fill(x.abs() > 300, -torch.inf), dim, "with −∞ in places")
    check_slope(x.mT[1:, ::2] / 500, dim, "a transposed slice")
check_slope(x[0, 0], 0, "a vector")
check_slope(x[:1, :1], 0, "with a size of 1 along dim")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Subtract the maximum along `dim` and add it again at the end. `amax` with `keepdim=True` keeps it in
# shape.
# </details>
# <details><summary>Hint 2</summary>
#
# If the maximum is not finite, subtract 0 instead. Then a row of −∞ has the sum 0.
# </details>
# <details><summary>Hint 3</summary>
#
# The slope of the logarithm at 0 is infinite. Use the double `where` of section 4: put a harmless
# number in before the logarithm, the right value after it.
# </details>

# %% [markdown]
# ### Which class, and how often right?
#
# For the predicted class no softmax is needed: it keeps the order, so the largest logit is the largest
# probability. **Predict** what the second line prints. Its labels are a column.

# %% topics=["argmax-accuracy"]
logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0], [1.0, 0.0, 5.0], [4.0, 1.0, 0.0]])
labels = torch.tensor([0, 1, 2, 2])
guesses = logits.argmax(dim=1)  # (batch, class) to (batch)
print(guesses.tolist(), "accuracy", (guesses == labels).float().mean().item())
print("with a column:", (guesses == labels[:, None]).float().mean().item(), "of", 4 * 4)

# %% [markdown]
# Broadcasting again: four guesses against four labels are sixteen comparisons. `max(dim)` returns the
# value and the index together. When two logits tie, which index comes is not promised.
#
# One accuracy for all classes hides the rare ones. Count by class, with `bincount` instead of a loop,
# and average over the classes: the *macro* average.

# %% topics=["argmax-accuracy"]
hits = labels[guesses == labels].bincount(minlength=3)
recall = hits / labels.bincount(minlength=3)
print("of each class found:", recall.tolist(), " macro average:", round(recall.mean().item(), 3))

# %% [markdown]
# The package `torchmetrics` has these and many more, and adds them up over batches and processes.
#
# ### From probabilities to distributions
#
# Softmax gives a distribution over classes. `torch.distributions` treats it as one: it draws from it
# and gives log-probabilities, from *logits*, with logsumexp inside. So −200 survives here, too.

# %% topics=["dist-distributions"]
from torch.distributions import Beta, Categorical

choice = Categorical(logits=torch.tensor([0.0, 200.0]))
print(choice.log_prob(torch.tensor(0)).item(), choice.probs.tolist())

# %% topics=["dist-distributions"]
torch.manual_seed(0)
draws = Categorical(logits=torch.tensor([1.0, 1.0, 3.0])).sample((10_000,))
print(
    "class 2 about as often as softmax says:",
    abs((draws == 2).float().mean() - 0.787).item() < 0.02,
)

# %% [markdown]
# Distributions are batched like everything else: parameters of shape (b) make b distributions at once.
# The **Beta** distribution lives on the numbers from 0 to 1. Mixup, a way to augment data, draws from
# it how much of each of two images to take.

# %% topics=["dist-distributions"]
grid = torch.linspace(0.01, 0.99, 99)
figure, axes = plt.subplots(figsize=(6.5, 2.6))
for alpha in (0.4, 1.0, 5.0):
    density = Beta(alpha, alpha).log_prob(grid).exp()
    axes.plot(grid, density, label=f"Beta({alpha}, {alpha})")
axes.set(xlabel="share of the first image", ylabel="density", ylim=(0, 4))
axes.legend()
show(figure, "Beta(0.4, 0.4) favours 0 and 1, Beta(1, 1) is flat, Beta(5, 5) favours the middle.")

# %% topics=["dist-distributions"]
torch.manual_seed(0)
shares = Beta(0.4, 0.4).sample((1000, 1, 1, 1))  # one for each image of a batch
ends = ((shares < 0.1) | (shares > 0.9)).float().mean()
print(shares.shape, "half of them near 0 or 1:", bool(ends > 0.5))

# %% [markdown]
# With 0.4 most shares lie near 0 or 1: one image dominates. `sample` cuts the gradient. `rsample`, where
# a distribution has it, lets the gradient through to the parameters:

# %% topics=["dist-distributions"]
strength = torch.tensor(2.0, requires_grad=True)
print("sample: ", Beta(strength, strength).sample((5,)).requires_grad)
print("rsample:", Beta(strength, strength).rsample((5,)).requires_grad)

# %% [markdown]
# Sampling takes PyTorch's global generator; seed it with `torch.manual_seed`.

# %% [markdown]
# ### Exercise 4.5 — Softmax under a mask ★★ · 15 min · 4 points
#
# Attention puts a mask on its scores. Return the softmax of `scores` along `dim`, over the entries where
# `mask` is `True` alone; the others get exactly 0. `scores` is of any floating dtype, half precision
# included, and the result has its dtype. `mask` is boolean and broadcasts with `scores`, whose shape
# the result has.
#
# - A row with everything masked gives zeros, and its gradient is 0: no NaN.
# - No overflow, whatever the scores.
#
# Example: scores `[2, 2, 100]` with mask `[True, True, False]` give `[0.5, 0.5, 0]`. Any function of
# PyTorch is allowed.


# %% nbgrader={"grade_id": "masked-softmax", "solution": true}
def masked_softmax(scores: torch.Tensor, mask: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Softmax of ``scores`` along ``dim`` where the boolean ``mask`` is True; 0 elsewhere."""
    ### BEGIN SOLUTION
    hidden = scores.masked_fill(~mask, -torch.inf)
    return hidden.softmax(dim).masked_fill(~mask, 0)
    ### END SOLUTION


# %% nbgrader={"grade_id": "masked-softmax-check", "grade": true, "points": 2}


def check_case(scores, mask, dim, name):
    call = f"masked_softmax(scores, mask, {dim}) with {name}"
    truth = scores.double().masked_fill(~mask, -torch.inf).softmax(dim).masked_fill(~mask, 0)
    with forbid_changes(scores, mask):
        result = masked_softmax(scores, mask, dim)
    none = ~mask.expand(scores.shape).any(dim, keepdim=True).expand(scores.shape)
    known = isinstance(result, torch.Tensor) and result.shape == scores.shape
    zero = not known or (result[none] == 0).all()
    assert zero, f"{call}: a row with everything masked should be zeros, is it NaN or uniform?"
    loose = {"rtol": 1e-2, "atol": 1e-3} if scores.itemsize == 2 else {}
    check_close(result, truth.to(scores.dtype), call, **loose)


scores = torch.tensor([[2.0, 2.0, 100.0], [1.0, 2.0, 3.0]], device=device)
mask = torch.tensor([[True, True, False], [True, False, True]], device=device)
check_case(scores, mask, -1, "the example")
check_case(scores * 1000, mask, -1, "large scores")
check_case(scores, mask & mask[:, 2:], -1, "a row with everything masked")
check_case((scores - 50).half() * 500, mask, -1, "scores in half precision")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(9)
scores = torch.randn(2, 3, 4, 5, generator=generator, dtype=torch.float64).to(device) * 8
mask = (torch.rand(2, 3, 4, 5, generator=generator) < 0.5).to(device)
for dim in (-1, 0, 2):
    check_case(scores.mT, mask.mT, dim, "transposed scores")
check_case(scores, mask[:, :1, :1], -1, "a mask that broadcasts")
check_case(scores, torch.zeros_like(mask), -1, "everything masked")
check_case(scores[:0], mask[:0], -1, "an empty batch")
check_case(scores.bfloat16(), mask, -1, "scores in bfloat16")
check_case((scores - 1e5).float(), mask, -1, "scores far below zero")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "masked-softmax-check-2", "grade": true, "points": 2}


def check_slope(scores, mask, dim, name):
    call = f"the gradient of masked_softmax(scores, mask, {dim}) with {name}"
    truth = scores.masked_fill(~mask, -torch.inf).softmax(dim).masked_fill(~mask, 0)
    weights = torch.arange(1.0, scores.numel() + 1).view(scores.shape).to(truth) % 7
    slope = try_gradient("masked_softmax", scores, mask, dim, weights=weights)
    assert not slope.isnan().any(), f"{call} is NaN"
    average = (truth * weights).sum(dim, keepdim=True)
    check_close(slope, truth * (weights - average), call, atol=1e-6)


scores = torch.tensor([[2.0, 2.0, 100.0], [1.0, 2.0, 3.0]], dtype=torch.float64, device=device)
mask = torch.tensor([[True, True, False], [False, False, False]], device=device)
check_slope(scores, mask, -1, "a row with everything masked")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(10)
scores = torch.randn(2, 3, 4, 5, generator=generator, dtype=torch.float64).to(device) * 8
mask = (torch.rand(2, 3, 4, 5, generator=generator) < 0.4).to(device)
for dim in (-1, 0, 2):
    check_slope(scores, mask, dim, "a random mask")
    check_slope(scores.mT * 100, mask.mT, dim, "large scores")
check_slope(scores, mask[:, :1, :1], -1, "a mask that broadcasts")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# What must stand in a masked place so that its power of e is 0, in every dtype?
# </details>
# <details><summary>Hint 2</summary>
#
# A row of −∞ gives NaN. `masked_fill` it with 0 in the result; try whether its gradient is clean.
# </details>

# %% [markdown]
# ## 4. Linear algebra: never invert, always look
#
# The tools first. Most of them live in `torch.linalg` and work on batches: the last two dimensions are
# the matrix, all before them are a batch. **Predict** the trace and the last line.

# %% topics=["linalg-ops"]
m = torch.arange(1.0, 10.0).view(3, 3)
print("diagonal", m.diagonal().tolist(), " trace", m.trace().item())
print("lower   ", m.tril().tolist())
print("upper, without the diagonal", m.triu(1).tolist())
print("a batch of diagonal matrices", torch.diag_embed(torch.ones(5, 3)).shape)
print("cross   ", torch.linalg.cross(torch.eye(3)[0], torch.eye(3)[1]).tolist())

# %% [markdown]
# `tril` makes the causal mask of a language model: position i may look at the positions up to i.
# `diagonal` is a view, `torch.diag` reads a diagonal or builds a matrix, depending on what it gets;
# `diag_embed` always builds, also in batches. `linalg.cross` takes the last dimension; the old
# `torch.cross` without a `dim` takes the first of size 3 and warns.
#
# ### Solve, do not invert
#
# On paper $Ax = b$ has the solution $A^{-1} b$. A machine should not form the inverse: it costs three
# times as much, and it loses more digits. `torch.linalg.solve` factorises instead. Take the Hilbert
# matrix, with entries 1 / (i + j + 1), a classic of bad manners:

# %% topics=["linalg-ops"]
i = torch.arange(6, dtype=torch.float32)
hilbert = 1 / (i[:, None] + i + 1)
b = hilbert @ torch.ones(6)  # so the solution is all ones
solved, inverted = torch.linalg.solve(hilbert, b), torch.linalg.inv(hilbert) @ b

# %% topics=["linalg-ops"]
for name, x in (("solve  ", solved), ("inverse", inverted)):
    left, off = (hilbert @ x - b).norm() / b.norm(), (x - 1).norm()
    print(name, "residual below 1e-6:", bool(left < 1e-6), " error above 1e-3:", bool(off > 1e-3))

# %% [markdown]
# Look at what happened. `solve` satisfies the equations to the last digit, and still its solution is far
# off. It is not the method's fault. This matrix turns very different x into nearly the same b. How badly
# is told by one number.
#
# ### The singular values tell
#
# Every matrix is a rotation, a stretching along axes, and another rotation: $A = U\, S\, V^T$, the
# *singular value decomposition*. The stretchings S are the singular values. The largest divided by the
# smallest is the **condition number**.

# %% topics=["linalg-ops"]
U, S, Vh = torch.linalg.svd(hilbert.double())
print("put together again:", torch.allclose(U @ torch.diag(S) @ Vh, hilbert.double()))
print(f"largest {S[0]:.2f}, smallest {S[-1]:.0e}")
print(f"condition about 10^{torch.linalg.cond(hilbert.double()).log10():.0f}")

# %% [markdown]
# The rule of thumb: **of the digits that a dtype has, a linear system loses as many as the condition
# number has zeros.** Float32 has seven. With a condition of 10⁷ nothing is left, which is what we saw.
# (`torch.svd`, the old name, returns V instead of its transpose. Mind that when you translate code.)
#
# The same decomposition compresses. Keep the few largest singular values, and you have the best
# approximation of that rank. Here is the distance matrix of section 4 by its first singular values:

# %% topics=["linalg-ops"]
U, S, Vh = torch.linalg.svd(distances)
print("the first six of sixty:", [round(s) for s in S[:6].tolist()])

# %% topics=["linalg-ops"]
figure, panels = plt.subplots(1, 3, figsize=(6.6, 2.2))
for panel, rank in zip(panels, (1, 4, 60), strict=True):
    panel.imshow(
        U[:, :rank] * S[:rank] @ Vh[:rank], cmap="magma_r", vmin=0, vmax=14, interpolation="nearest"
    )
    panel.set_title(
        f"rank {rank}: {rank * 121:,} numbers" if rank < 60 else "all of it: 3,600", fontsize=9
    )
    panel.set_axis_off()
show(
    figure,
    "The heat map of distances from 1 and 4 singular values, and whole: 4 show every block.",
)

# %% [markdown]
# A rank-4 matrix of 60 × 60 needs 484 numbers instead of 3,600. LoRA, which fine-tunes large models by
# adding a product of two thin matrices to each weight, rests on this.
#
# ### Exercise 4.6 — Blocks on a diagonal ★★ · 15 min · 3 points
#
# For `blocks` of shape (…, n, p, q), of any dtype, return (…, n·p, n·q): the n blocks of each batch
# entry along the diagonal, zeros elsewhere, as `torch.block_diag` does it for separate matrices.
#
# No loop: the number of operators must not grow with n or with the batch. No `torch.block_diag`. An
# infinity or a NaN in one block stays in its place: 0 · ∞ is not 0. Any size may be 0.
#
# Example: n = 2 blocks of shape (1, 2), `[[1, 2]]` and `[[3, 4]]`, give `[[1, 2, 0, 0], [0, 0, 3, 4]]`.


# %% nbgrader={"grade_id": "block-diagonal", "solution": true}
def block_diagonal(blocks: torch.Tensor) -> torch.Tensor:
    """Block-diagonal matrices (..., n * p, n * q) from blocks (..., n, p, q) of any dtype."""
    ### BEGIN SOLUTION
    *batch, n, p, q = blocks.shape
    spread = torch.diag_embed(blocks.movedim(-3, -1), dim1=-4, dim2=-2)  # (..., n, p, n, q)
    return spread.reshape(*batch, n * p, n * q)
    ### END SOLUTION


# %% nbgrader={"grade_id": "block-diagonal-check", "grade": true, "points": 2}


def check_case(blocks, name):
    *batch, n, p, q = blocks.shape
    truth = blocks.new_zeros(*batch, n * p, n * q)
    for k in range(n):
        truth[..., k * p : (k + 1) * p, k * q : (k + 1) * q] = blocks[..., k, :, :]
    with forbid_changes(blocks):
        check_close(block_diagonal(blocks), truth, f"block_diagonal(blocks) with {name}")


x = torch.arange(1.0, 25.0, device=device)
check_case(x[:4].view(2, 1, 2), "[[1, 2]] and [[3, 4]]")
check_case(x.view(2, 3, 2, 2), "a batch of 2")
check_case(torch.tensor([[[torch.inf]], [[1.0]]], device=device), "an infinity in the first block")
### BEGIN HIDDEN TESTS
check_case(x.view(2, 3, 2, 2).int(), "a batch of whole numbers")
check_case(x.view(2, 3, 1, 4) > 7, "a batch of booleans")
check_case(x.view(4, 3, 2).mT, "transposed blocks")
check_case(x[:6].view(2, 3)[:, None].expand(2, 5, 3)[None], "expanded blocks")
check_case(x[:1].view(1, 1, 1), "one block of one number")
for shape in ((0, 2, 3), (2, 0, 3), (4, 0, 2, 3), (3, 2, 2, 0)):
    check_case(torch.zeros(shape, dtype=torch.float64, device=device), f"the shape {shape}")
check_case(x.view(1, 2, 2, 3, 2) * torch.nan, "NaN")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "block-diagonal-check-2", "grade": true, "points": 1}

ran = {}
for size in ((3, 2, 2), (12, 2, 2), (10, 3, 2, 2), (40, 3, 2, 2)):
    with count_operators() as counts:
        result = block_diagonal(torch.ones(size, device=device))
    given = isinstance(result, torch.Tensor)
    assert given, f"block_diagonal(blocks) is {result!r}: is there an answer yet?"
    assert not counts["block_diag"], "torch.block_diag ran"
    ran[size] = counts.total()
few, many, batch, large = ran.values()
assert many <= few, f"12 blocks took {many} operators, 3 blocks {few}: is there a loop?"
assert large <= batch, f"a batch of 40 took {large} operators, 10 took {batch}: is there a loop?"

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Think of the result as (…, n, p, n, q) first. Which entries are not zero? Those whose two n-indices
# are equal.
# </details>
# <details><summary>Hint 2</summary>
#
# Three ways lead there: write into the `diagonal` view of a tensor of zeros; `torch.where` with the
# comparison of two `arange`; or `torch.diag_embed`, with `dim1` and `dim2`.
# </details>

# %% [markdown]
# ### The power of a matrix
#
# Multiply a vector by the same matrix again and again. Along each eigenvector it grows by that
# eigenvalue each time, so the largest one wins. **Predict** the direction that is left:

# %% topics=["linalg-ops"]
A = torch.tensor([[2.0, 1.0], [1.0, 2.0]])  # eigenvalues 3 and 1
v = torch.tensor([1.0, 0.0])
for _ in range(5):
    v = A @ v / (A @ v).norm()
    print([round(number, 3) for number in v.tolist()], f"{v @ A @ v:.4f}")
print("eigh:", [round(value, 4) for value in torch.linalg.eigh(A).eigenvalues.tolist()])

# %% [markdown]
# The direction tends to (0.707, 0.707), and $v^T A v$, the *Rayleigh quotient*, to 3. Each step shrinks
# the error by the ratio of the two largest eigenvalues in size: here a third. A product with the matrix
# is all it takes. So it works where the matrix is too large to be written down: PageRank, the sharpness
# of a loss (from products with the Hessian), spectral normalisation.
#
# ### Exercise 4.7 — Power iteration, and when to stop ★★ · 20 min · 4 points
#
# For a symmetric matrix `a` (n, n), n ≥ 1, return the pair (eigenvalue, eigenvector): the eigenvalue
# *largest in absolute value*, as a zero-dim tensor with its sign, and an eigenvector (n) of length 1,
# with either sign.
#
# - Stop at the first step where $\lVert A v - \lambda v \rVert \le \text{tol} \cdot |\lambda|$.
#   If that does not happen within `max_steps` products, raise `RuntimeError`.
# - Start from random numbers of a generator of your own. A start such as all ones may be orthogonal to
#   what you look for.
# - A matrix of zeros has the eigenvalue 0. Nothing else of `torch.linalg` than norms is allowed.
#
# Examples: `[[2, 1], [1, 2]]` gives 3 and ±(0.707, 0.707); `[[-5, 0], [0, 2]]` gives −5. For
# `[[0, 1], [1, 0]]`, with the eigenvalues 1 and −1, nothing wins: `RuntimeError`.


# %% nbgrader={"grade_id": "power-iteration", "solution": true}
def power_iteration(
    a: torch.Tensor, tol: float = 1e-5, max_steps: int = 1000
) -> tuple[torch.Tensor, torch.Tensor]:
    """Eigenvalue () largest in size of symmetric a (n, n), float, and its eigenvector (n)."""
    ### BEGIN SOLUTION
    generator = torch.Generator().manual_seed(0)
    product = torch.randn(len(a), generator=generator, dtype=torch.float64).to(a)
    for _ in range(max_steps):
        v = product / product.norm()
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value.abs():
            return value, v
    raise RuntimeError(f"no eigenvector after {max_steps} steps")
    ### END SOLUTION


# %% nbgrader={"grade_id": "power-iteration-check", "grade": true, "points": 2}


def check_case(a, name, tol=1e-5):
    call = f"power_iteration(a, {tol}) with {name}"
    with forbid_changes(a):
        pair = power_iteration(a, tol)
    fits = isinstance(pair, (tuple, list)) and len(pair) == 2
    assert fits, f"{call}: return the pair (eigenvalue, eigenvector), not {pair!r}"
    every, what = (
        torch.linalg.eigvalsh(a.double()),
        "the eigenvalue (largest in size, with its sign)",
    )
    truth = every[every.abs().argmax()]
    check_close(pair[0], truth.to(a.dtype), f"{what} of {call}", rtol=3 * tol)
    check_close(
        pair[1].norm(), torch.ones_like(pair[0]), f"the length of the eigenvector of {call}"
    )
    left = (a.double() @ pair[1].double() - truth * pair[1].double()).norm().item()
    assert left <= 3 * tol * abs(truth) + 1e-12, f"{call}: |Av - λv| is {left:.1e}, not small"


check_case(torch.tensor([[2.0, 1.0], [1.0, 2.0]], device=device), "[[2, 1], [1, 2]]")
check_case(torch.tensor([[-5.0, 0.0], [0.0, 2.0]], device=device), "[[-5, 0], [0, 2]]")
check_case(
    torch.tensor([[1.0, -1], [-1, 1]], device=device), "[[1, -1], [-1, 1]], where Av = 0 for ones"
)
check_case(torch.zeros(3, 3, device=device), "zeros")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(10)
for spectrum in ([-9.0, 5, 3, 1, 0.5], [4.0, 3, 2], [1e6, 1.0, 1.0], [1e-6, 1e-7], [-3.0]):
    q = torch.linalg.qr(torch.randn(len(spectrum), len(spectrum), generator=generator).double())[0]
    a = ((q * torch.tensor(spectrum)) @ q.T).to(device)
    check_case((a + a.T) / 2, f"the eigenvalues {spectrum}", tol=1e-8)
    check_case((a + a.T).float() / 2, f"the eigenvalues {spectrum}, in float32")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "power-iteration-check-2", "grade": true, "points": 2}

with count_operators() as counts:
    power_iteration(torch.tensor([[2.0, 1.0], [1.0, 2.0]], device=device))
banned = [name for name in counts if "linalg" in name and "norm" not in name]
assert not banned, f"{', '.join(banned)} ran"
ran = counts.total()
assert ran <= 1000, f"{ran} operators ran for [[2, 1], [1, 2]]; stop as soon as |Av - λv| is small"
tie, settled = torch.tensor([[0.0, 1.0], [1.0, 0.0]], device=device), True
try:
    power_iteration(tie)
except RuntimeError:
    settled = False
assert not settled, "[[0, 1], [1, 0]] never settles, yet an answer was returned: raise RuntimeError"
### BEGIN HIDDEN TESTS
try:
    power_iteration(torch.diag(torch.tensor([2.0, 1.9, 1.0], device=device)), max_steps=5)
    settled = True
except RuntimeError:
    settled = False
assert not settled, "five steps are not enough for the eigenvalues 2 and 1.9, yet it returned"
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# In each step: make v of length 1, compute `product = a @ v` once, and use it for λ = v · product, for
# the residual, and as the next v.
# </details>
# <details><summary>Hint 2</summary>
#
# With a negative eigenvalue v changes its sign in each step, so "v no longer changes" never comes true.
# And the length of Av knows no sign: take the Rayleigh quotient.
# </details>
# <details><summary>Hint 3</summary>
#
# Compare with `<=`. For a matrix of zeros both sides are 0.
# </details>

# %% [markdown]
# ### Orthogonal columns
#
# Many methods want columns of length 1 at right angles to each other: Q with $Q^T Q = I$. **Gram-Schmidt**
# makes them one after the other. From column j take away what lies along the columns that are done,
# and divide the rest by its length. With the coefficients in a triangular matrix R this is the
# **QR decomposition**, $A = Q R$.
#
# There are two ways to take away. *Classical*: compute all coefficients $q_i \cdot a_j$ from the column
# as it was given, then subtract everything. *Modified*: subtract along $q_1$, compute the coefficient
# for $q_2$ from what is left, and so on. On paper it is the same number, as $q_1$ and $q_2$ are
# orthogonal. In a machine they are so only nearly, and the classical way never notices. How much is lost
# you will measure yourself: here is a matrix of three nearly equal columns.

# %%
tiny = 1e-4
nearly = torch.tensor([[1.0, 1, 1], [tiny, 0, 0], [0, tiny, 0], [0, 0, tiny]])
print("1 + tiny² in float32:", (torch.tensor(1.0) + tiny**2).item())
print("nearly equal:", torch.linalg.matrix_rank(nearly, rtol=1e-3).item(), "column would do")
Q, R = torch.linalg.qr(torch.tensor([[3.0, 1.0], [4.0, 2.0]]))
print("R of [[3, 1], [4, 2]]:", [[round(number, 2) for number in row] for row in R.tolist()])

# %% [markdown]
# Q and R are not unique. Flip the sign of a column of Q and of the same row of R, and the product
# stays. `linalg.qr` takes what its algorithm gives, here −5. Gram-Schmidt divides by a
# length, so its R has a positive diagonal. To compare two decompositions, make the signs equal first.

# %% [markdown]
# ### Exercise 4.8 — Gram-Schmidt, classical and modified ★★★ · 25 min · 5 points
#
# For `a` (m, n) with m ≥ n, floating point and of full rank, return (Q, R): Q (m, n) with orthonormal
# columns and R (n, n), upper triangular with a positive diagonal, so that Q R = a. `modified` chooses
# the way. A loop over columns is fine (two loops for the modified way). `linalg.qr` and its relatives are
# not allowed.
#
# Example: `[[3, 1], [4, 2]]` has Q = `[[0.6, -0.8], [0.8, 0.6]]` and R = `[[5, 2.2], [0, 0.4]]`.
# For `nearly`, above, the classical way gives two columns whose product is 0.5 instead of 0. With the
# modified way no product is above 0.001.


# %% nbgrader={"grade_id": "gram-schmidt", "solution": true}
def gram_schmidt(a: torch.Tensor, modified: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    """Q (m, n) and R (n, n) of a (m, n), float, by the modified or the classical way."""
    ### BEGIN SOLUTION
    n = a.shape[1]
    q, r = torch.zeros_like(a), a.new_zeros(n, n)
    for j in range(n):
        column = a[:, j]
        # Which of the finished columns are taken away at once.
        portions = [slice(i, i + 1) for i in range(j)] if modified else [slice(0, j)]
        for done in portions:
            r[done, j] = q[:, done].T @ column
            column = column - q[:, done] @ r[done, j]
        r[j, j] = column.norm()
        q[:, j] = column / r[j, j]
    return q, r
    ### END SOLUTION


# %% nbgrader={"grade_id": "gram-schmidt-check", "grade": true, "points": 3}


def check_case(a, name, modified):
    call = f"gram_schmidt(a, modified={modified}) with a {name}"
    with forbid_changes(a), count_operators() as counts:
        pair = gram_schmidt(a, modified)
    fits = isinstance(pair, (tuple, list)) and len(pair) == 2
    assert fits, f"{call}: return the pair (Q, R), not {pair!r}"
    banned = [op for op in counts if "geqrf" in op or ("linalg" in op and "norm" not in op)]
    assert not banned, f"{call}: {', '.join(banned)} ran"
    q, r = pair
    check_close(q @ r, a, f"Q R of {call}", atol=1e-5)
    assert torch.equal(r, r.triu()), f"R of {call} is not upper triangular"
    assert (r.diagonal() > 0).all(), f"R of {call}: its diagonal should be positive (lengths)"
    off = (q.T @ q - torch.eye(a.shape[1]).to(a)).norm().item()
    assert off < 1e-3, f"{call}: Q.T @ Q is off the identity by {off:.2g}"


for modified in (False, True):
    check_case(
        torch.tensor([[3.0, 1.0], [4.0, 2.0]], device=device), "= [[3, 1], [4, 2]]", modified
    )
    ### BEGIN HIDDEN TESTS
    generator = torch.Generator().manual_seed(11)
    for m, n in ((1, 1), (4, 4), (9, 3), (12, 6), (3, 0)):
        a = torch.randn(n, m, generator=generator, dtype=torch.float64).to(device).T
        check_case(a, f"of shape ({m}, {n}), transposed", modified)
        check_case(-a[:, ::2].float() * 100, f"a slice of shape ({m}, {n}) in float32", modified)
    ### END HIDDEN TESTS


# %% nbgrader={"grade_id": "gram-schmidt-check-2", "grade": true, "points": 2}


def check_lost(n):
    rows = [[1.0] * n, *[[1e-4 * (i == j) for j in range(n)] for i in range(n)]]
    a = torch.tensor(rows, device=device)
    for modified in (False, True):
        pair = gram_schmidt(a, modified)
        fits = isinstance(pair, (tuple, list)) and len(pair) == 2
        assert fits, f"gram_schmidt(a, {modified}): return the pair (Q, R), not {pair!r}"
        q = pair[0]
        lost, call = (q.T @ q - torch.eye(n).to(q)).abs().max().item(), f"modified={modified}"
        if modified:
            words = f"{call}: orthogonality is lost ({lost:.2g}); use what is left of a column"
            assert lost < 1e-3, words
        else:
            words = f"{call}: the classical way takes all coefficients from the given column"
            assert lost > 0.1, words


check_lost(3)
### BEGIN HIDDEN TESTS
check_lost(4)
check_lost(7)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Column j of R holds the coefficients of column j: `r[i, j]` belongs to `q[:, i]`, and `r[j, j]` is the
# length of the rest.
# </details>
# <details><summary>Hint 2</summary>
#
# The two ways differ in one place: is the coefficient computed from `a[:, j]`, or from what is left of
# it so far?
# </details>

# %% [markdown]
# ### Least squares
#
# More equations than unknowns: fit $A x \approx b$ so that $\lVert Ax - b \rVert$ is as small as
# possible. Three ways lead there.
#
# - The **normal equations**, $A^T A\, x = A^T b$. One product, one small system. This is what one
#   derives on paper.
# - **QR**: with $A = QR$ it is $R\, x = Q^T b$. R is triangular, so it is solved from the bottom up, by
#   `torch.linalg.solve_triangular`.
# - `torch.linalg.lstsq`, which chooses a method for you.
#
# The catch of the first: $A^T A$ has the **square** of the condition number of A. **See** it, in float32,
# for matrices of growing condition number whose solution is known:


# %% topics=["linalg-ops"]
def matrix_of_condition(condition: float, generator: torch.Generator) -> torch.Tensor:
    """A 40 × 4 matrix whose singular values go from 1 down to 1 / condition."""
    u = torch.linalg.qr(torch.randn(40, 4, generator=generator, dtype=torch.float64))[0]
    v = torch.linalg.qr(torch.randn(4, 4, generator=generator, dtype=torch.float64))[0]
    return u * torch.logspace(0, -torch.tensor(condition).log10().item(), 4) @ v.T


generator = torch.Generator().manual_seed(0)
conditions = [10.0 ** (k / 4) for k in range(25)]
truth = torch.ones(4, dtype=torch.float64)
errors = {"normal equations": [], "QR": [], "lstsq": []}
for condition in conditions:
    exact = matrix_of_condition(condition, generator)
    A, b = exact.float(), (exact @ truth).float()
    q, r = torch.linalg.qr(A)
    normal = torch.linalg.solve_ex(A.T @ A, A.T @ b).result
    by_qr = torch.linalg.solve_triangular(r, (q.T @ b)[:, None], upper=True)[:, 0]
    by_lstsq = torch.linalg.lstsq(A, b[:, None]).solution[:, 0]
    for name, x in zip(errors, (normal, by_qr, by_lstsq), strict=True):
        errors[name].append((x - truth).norm().item() / 2)

# %%
figure, axes = plt.subplots(figsize=(5.6, 2.9))
for (name, values), mark in zip(errors.items(), ("o-", "s-", "^:"), strict=True):
    axes.plot(conditions, values, mark, markersize=4, label=name)
axes.plot(
    conditions, [c * c * 2**-24 for c in conditions], "--", color="#999999", label="condition² · u"
)
axes.plot(
    conditions, [c * 2**-24 for c in conditions], "--", color="#555555", label="condition · u"
)
axes.set(
    xscale="log",
    yscale="log",
    ylim=(1e-8, 10),
    xlabel="condition number of A",
    ylabel="relative error",
)
axes.set_title("Least squares in float32")
axes.legend(fontsize=8.5)
show(
    figure,
    "The normal equations' error grows twice as fast as that of QR and lstsq, to 1 at about 3000.",
)

# %% [markdown]
# Both ways keep below their dashed line and climb as it does. At a condition of about 3000 the normal
# equations have no digit left, where QR still has four. In float64 the same happens, only later. The
# jump of `lstsq` at the end is on purpose: from there on it takes the smallest singular value for
# rounding, and the matrix for one of lower rank.
#
# **In practice.** Use `lstsq`, or QR. Take the normal equations where the condition is small by
# construction, or where a ridge term λI was added, which makes it small. And look at
# `torch.linalg.cond` *before* you trust a solution. A nearly constant feature beside the constant column
# is enough to ruin it; centring and scaling the features is the cheapest cure.

# %% [markdown]
# ### Exercise 4.9 — Least squares, three ways ★★★ · 25 min · 5 points
#
# **First predict** how many decimal digits are left, by the rule of thumb: float32 has 7, float64 has
# 16; QR loses as many as the condition number has zeros, the normal equations twice as many.
#
# **Then write** `least_squares(a, b, how)` for `a` (…, m, n), m ≥ n, of full rank, and `b` (…, m). It
# returns x (…, n). `how` is `"normal"`, `"qr"` or `"lstsq"`, each as above, each with one factorisation
# or call for the whole batch. No inverse, no pseudo-inverse. R is triangular: do not hand it to the
# general `solve`.
#
# Example: the line through (0, 1), (1, 3), (2, 5): `a = [[1, 0], [1, 1], [1, 2]]`, `b = [1, 3, 5]` gives
# `[1, 2]`, the intercept and the slope.

# %% nbgrader={"grade_id": "least-squares", "solution": true}
digits_left = {
    "float32, condition 1e3, QR": None,
    "float32, condition 1e3, normal equations": None,
    "float64, condition 1e6, QR": None,
    "float64, condition 1e6, normal equations": None,
}
### BEGIN SOLUTION
digits_left = dict(zip(digits_left, (4, 1, 10, 4), strict=True))
### END SOLUTION


def least_squares(a: torch.Tensor, b: torch.Tensor, how: str) -> torch.Tensor:
    """The x (..., n) that makes |a x - b| smallest; a (..., m, n), b (..., m); how as above."""
    ### BEGIN SOLUTION
    b = b[..., None]
    if how == "normal":
        x = torch.linalg.solve(a.mT @ a, a.mT @ b)
    elif how == "qr":
        q, r = torch.linalg.qr(a)
        x = torch.linalg.solve_triangular(r, q.mT @ b, upper=True)
    else:
        x = torch.linalg.lstsq(a, b).solution
    return x.squeeze(-1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "least-squares-check", "grade": true, "points": 1}
rule = "the digits of the dtype, minus the zeros of the condition number"
twice = "the condition number is squared: its zeros count twice"
check_predictions(
    digits_left,
    {
        "float32, condition 1e3, QR": 7 - 3,
        "float32, condition 1e3, normal equations": 7 - 6,
        "float64, condition 1e6, QR": 16 - 6,
        "float64, condition 1e6, normal equations": 16 - 12,
    },
    because={name: twice if "normal" in name else rule for name in digits_left},
)


# %% nbgrader={"grade_id": "least-squares-check-2", "grade": true, "points": 2}


def check_case(a, b, truth, name, ways=("normal", "qr", "lstsq"), **tolerances):
    for how in ways:
        with forbid_changes(a, b):
            x = least_squares(a, b, how)
        check_close(x, truth, f'least_squares(a, b, "{how}") with {name}', **tolerances)


a = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], device=device)
b, line = torch.tensor([1.0, 3.0, 5.0], device=device), torch.tensor([1.0, 2.0], device=device)
check_case(a, b, line, "the line through three points", atol=1e-4)
check_case(a.expand(4, 3, 2), b.expand(4, 3), line.expand(4, 2), "a batch of 4", atol=1e-4)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(12)
for shape, m, n in (((), 6, 3), ((5,), 7, 4), ((2, 3), 8, 2), ((), 3, 3), ((2,), 4, 1)):
    a = torch.randn(*shape, n, m, generator=generator, dtype=torch.float64).to(device).mT
    b = torch.randn(*shape, m, generator=generator, dtype=torch.float64).to(device)
    truth = (torch.linalg.pinv(a) @ b[..., None]).squeeze(-1)
    check_case(a, b, truth, f"a of shape {tuple(a.shape)}", atol=1e-6)
u = torch.linalg.qr(torch.randn(40, 3, generator=generator, dtype=torch.float64))[0].to(device)
a, truth = u * torch.tensor([1.0, 0.03, 1e-3], device=device), torch.ones(3, device=device)
b, name = (a @ truth.double()).float(), "a condition number of 1000, in float32"
check_case(a.float(), b, truth, name, ways=("qr", "lstsq"), rtol=2e-3)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "least-squares-check-3", "grade": true, "points": 2}

systems = "_linalg_solve_ex", "linalg_cholesky_ex", "linalg_ldl_factor_ex", "linalg_lu_factor_ex"
uses = {"normal": systems, "qr": ("linalg_qr",), "lstsq": ("linalg_lstsq",)}


def check_way(a, b):
    for how in uses:
        call = f'least_squares(a, b, "{how}")'
        with count_operators() as counts:
            x = least_squares(a, b, how)
        check_close(x, torch.ones_like(a[:, 0]), call, atol=1e-3)
        inverses = {"linalg_inv_ex", "linalg_pinv", "cholesky_inverse"} & set(counts)
        assert not inverses, f"{call}: {', '.join(inverses)} ran"
        ran = sum(counts[operator] for operator in uses[how])
        assert ran == 1, f"{call}: {', '.join(uses[how])} ran {ran} times, expected once"
        other = [key for key in uses if key != how and any(counts[op] for op in uses[key])]
        assert not other, f"{call}: what ran belongs to {other[0]!r}; R is triangular, use that"


a = torch.arange(24.0, device=device).view(4, 3, 2).cos()
check_way(a[:1], a[:1].sum(-1))
check_way(a, a.sum(-1))

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The functions of `torch.linalg` want the right-hand side as a matrix. Give `b` a last dimension of
# size 1, and take it off at the end.
# </details>
# <details><summary>Hint 2</summary>
#
# Use `mT`, which swaps the last two dimensions, rather than `T`: there may be a batch.
# </details>
# <details><summary>Hint 3</summary>
#
# `solve_triangular` must be told that R is upper triangular: `upper=True`. `lstsq` returns several
# things; you want `.solution`.
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
