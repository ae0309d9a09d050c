# ---
# jupyter:
#   course:
#     title: Numerics
#     minutes: 240
#     core: 130
# ---

# %% [markdown]
# # Numerics: the formula is right, but is the number?
#
# Two formulas can be equal on paper and differ in a machine that keeps seven digits. Usually you get no
# error and no warning: a search returns neighbours that are not the nearest, a loss turns into NaN
# after an hour, a fitted line is slightly wrong. This chapter asks three questions of a line of code:
#
# 1. **How large are the numbers on the way?** Too large overflows, too small vanishes, and two large
#    numbers that nearly agree cancel.
# 2. **How many roundings pile up?** A sum of a million numbers is a million chances to lose a digit.
# 3. **How much does the problem itself magnify them?** Some problems turn a tiny error into a large one,
#    whatever the method.
#
# **After this chapter you can**
#
# - say how far apart two neighbouring floats are, at any size;
# - compute all distances between two sets of points in three ways, and say which one to trust;
# - predict how much of a sum or a variance is lost to rounding, and lose less;
# - write a softmax that survives large numbers, masks and half precision;
# - solve a least-squares problem without inverting anything, and read a condition number.
#
# **It leans on** chapters 01 (broadcasting, dtypes), 02 (views) and 03 (products, `einsum`).
# **Time:** not quite four hours, and another 25 minutes for exercise 4.10. The sections and exercises
# marked *core* take two hours and ten minutes; nothing later leans on the rest. You can skip any
# exercise: nothing else depends on your answer.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn.functional as F
from course_utils import check_close, check_predictions, check_rules, device, every_case, show
from course_utils.chapters import numerics
from einops import rearrange

# %% [markdown]
# ## A puzzle to start with · core
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
# On paper, the same number twice. Here, one formula says that the two points are one. No warning, no
# NaN. At the end of this chapter you will see a classifier fall to the level of guessing through this
# line, and mend it with what you built on the way.
#
# ## 1. A ruler with uneven marks · core
#
# What can a float32 say at all? It keeps p = 24 binary digits, and a power of two by which they are
# multiplied. So there are equally many numbers between 1 and 2, between 2 and 4, between 4 and 8: at each
# power of two, the distance from one number to the next doubles. `torch.nextafter` gives the neighbour.

# %%
for size in (1.0, 10_000.0, 2.0**24, 2e8):
    x = torch.tensor(size)
    gap = torch.nextafter(x, torch.tensor(torch.inf)) - x
    print(f"after {size:>13,.0f} the next float32 is {gap:.3g} away")

# %% [markdown]
# Between $2^k$ and $2^{k+1}$ the marks are $2^{k+1-p}$ apart. A number that falls between two marks is
# rounded to the nearer one, and halfway between them to the one whose last binary digit is 0. float64
# has p = 53, float16 has 11, bfloat16 has 8.

# %%
numerics.draw_gaps(
    {"bfloat16, p = 8": 8, "float16, p = 11": 11, "float32, p = 24": 24},
    marked=("|b|² of the puzzle", 2e8, 16),
    alt="Three rising staircases: the gap grows with the number; |b|² has a gap of 16.",
)

# %% [markdown]
# On the dashed line the gap is 1. Where a staircase rises above it, that dtype can no longer count in
# ones. Relative to the number, the gap is always about the same: rounding once changes a result by at most
# $u = 2^{-p}$ of its size, $2^{-24} \approx 6 \cdot 10^{-8}$ in float32. That
# is very little, and the rest of the chapter is about what magnifies it. float16's curve ends at
# 65504, its largest number: past that comes infinity. The other two go on, beyond the picture, to
# 3 · 10³⁸.
#
# ### Exercise 4.1 — Between two marks ★ · 3 min · 2 points · core
#
# Without running it: what do these give? Write `True`, `False` or a number. The arithmetic is done in
# the dtype that is named; a gap is the distance to the next number above.

# %% nbgrader={"grade_id": "float-gaps", "solution": true}
float_gaps = {
    "2**24 + 1 == 2**24, float32": None,
    "gap after 1e8, float32": None,
    "256 + 1, bfloat16": None,
    "70_000 fits into float16": None,
    "0.1 + 0.2 == 0.3, float64": None,
}
### BEGIN SOLUTION
float_gaps = dict(zip(float_gaps, (True, 8, 256, False, False), strict=True))
### END SOLUTION

# %% nbgrader={"grade_id": "float-gaps-check", "grade": true, "points": 2}
check_predictions(
    float_gaps,
    {
        "2**24 + 1 == 2**24, float32": bool(torch.tensor(2.0**24) + 1 == 2**24),
        "gap after 1e8, float32": 8,
        "256 + 1, bfloat16": 256,
        "70_000 fits into float16": False,
        "0.1 + 0.2 == 0.3, float64": 0.1 + 0.2 == 0.3,
    },
    because={
        "2**24 + 1 == 2**24, float32": "from 2**24 on the marks are 2 apart, so 1 is half a step",
        "gap after 1e8, float32": "1e8 lies between 2**26 and 2**27: use the rule with k = 26",
        "256 + 1, bfloat16": "from 2**8 on the marks are 2 apart; halfway, the last digit 0 wins",
        "70_000 fits into float16": "its largest number stands at the end of the section",
        "0.1 + 0.2 == 0.3, float64": (
            "all three are rounded; here the roundings do not cancel, and the sum is one mark "
            "above. "
            "In float32 they do"
        ),
    },
)

# %% [markdown]
# <details><summary>Hint</summary>
#
# $2^{26}$ is 67,108,864. Halfway between two marks the even one wins: which of 256 and 258 is an even
# multiple of the step?
# </details>

# %% [markdown]
# ## 2. Distances between all pairs · core
#
# Now we can read the puzzle, and meet it where it hurts. Nearest neighbours, clustering, kernels and
# contrastive losses all start from a matrix of distances: entry [i, j] says how far `x[i]` is from
# `y[j]`. Two loops, then one line that broadcasts (`x` gets a dimension for j), then the library:

# %% topics=["pairwise-distance"]
x = torch.tensor([[0.0, 0.0], [3.0, 4.0]])  # (n, d)
y = torch.tensor([[0.0, 0.0], [3.0, 0.0], [6.0, 8.0]])  # (m, d)
naive = torch.tensor([[((p - q) ** 2).sum().sqrt() for q in y] for p in x])
compact = ((x[:, None] - y) ** 2).sum(-1).sqrt()  # (n, 1, d) - (m, d) gives (n, m, d)
assert torch.equal(naive, compact) and torch.allclose(compact, torch.cdist(x, y))
print(compact)

# %% [markdown]
# What such a matrix looks like: sixty points in three clouds, each point against each.

# %% topics=["pairwise-distance"]
import matplotlib.pyplot as plt

generator = torch.Generator().manual_seed(0)
centres = torch.tensor([[0.0, 0.0], [6.0, 0.0], [3.0, 9.0]]).repeat_interleave(20, dim=0)
points = centres + torch.randn(60, 2, generator=generator)
distances = (points[:, None] - points).square().sum(-1).sqrt()

# %% topics=["pairwise-distance"]
figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3), width_ratios=[1, 1.2])
left.scatter(*points.T, c=torch.arange(60) // 20, cmap="viridis")
left.set(title="60 points in three clouds", aspect="equal")
figure.colorbar(right.imshow(distances, cmap="magma_r"), ax=right)
right.set(title="their distances", xlabel="j", ylabel="i")
show(figure, "A heat map of 60 × 60 distances: three light blocks along a diagonal of zeros.")

# %% [markdown]
# Each cloud is a light block, and the diagonal is zero: every point is at distance 0 from itself. That
# harmless zero is the first trap. The values are right. **Predict** the gradient. (Gradients add up, so
# the old one is cleared in between.)

# %% errata=["pairwise-sqrt-nan"] topics=["pairwise-distance"]
p = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
((p[:, None] - p) ** 2).sum(-1).sqrt().sum().backward()
print("by hand:", p.grad)
p.grad = None
torch.cdist(p, p).sum().backward()
print("cdist:  ", p.grad)

# %% [markdown]
# > **Then and now.** *"Pairwise distances are `((x[:, None] - y) ** 2).sum(-1).sqrt()`."* As a value,
# > yes. Where two points coincide, as on the diagonal, the gradient is NaN, and after one step of an
# > optimizer so are all points.
#
# The slope of the root at 0 is ∞, the slope of the square at 0 is 0, and the chain rule multiplies them:
# 0 · ∞ is NaN. `torch.cdist` takes the gradient at distance zero as 0. To do so yourself, you might mask
# with `torch.where` after the root, or before and after. **Predict** which gradient is clean:

# %%
s = torch.tensor([0.0, 4.0], requires_grad=True)
torch.where(s > 0, s.sqrt(), 0).sum().backward()
print("masked after:            ", s.grad)

# %%
s.grad = None
safe = torch.where(s > 0, s, 1)  # a harmless number goes into the root
torch.where(s > 0, safe.sqrt(), 0).sum().backward()
print("masked before and after: ", s.grad)

# %% [markdown]
# `where` on the result alone does not help. It sends the gradient 0 into the branch not taken, and there
# the root multiplies it by its infinite slope: NaN again. So mask the zeros *before* the root as well.
#
# Remember this **double `where`**. It is the cure whenever a function has a bad slope at a point that
# you want to leave out. What matters is that the bad number never reaches the function. On the way back
# the inner `where` hands a plain 0 to every entry it left out, whatever arrives; a product with a mask
# would make 0 · NaN of it.

# %% nbgrader={"grade_id": "your-answers", "locked": true} jupyter={"source_hidden": true}
from functools import partial

from course_utils import gradient_of, runs_with_the_answer, watched


@runs_with_the_answer
def try_gradient(name: str, *args, weights: torch.Tensor | None = None):
    """The gradient of ``(weights * f(*args)).sum()``, where f is your function of that name."""
    return gradient_of(globals()[name], *args, weights=weights)


@runs_with_the_answer
def try_calls(name: str, *args):
    """What your function returns, which functions it calls, and what it leaves changed."""
    with torch.random.fork_rng(devices=[]):
        state = torch.manual_seed(20_261_122).get_state()
        result, names, changed = watched(globals()[name], *args)
        return result, names, changed, not torch.equal(state, torch.get_rng_state())


@runs_with_the_answer
def try_operators(name: str, *args):
    """Notes of the operators that ran in your function, and the name of what it raised, if so."""
    return numerics.operators_of(globals()[name], *args)


@runs_with_the_answer
def try_in_use(name: str, *args, leaves: bool = True):
    """What your function leaves on its arguments, and what a second call gives: words, or none."""
    return numerics.left_on(globals()[name], *args, leaves=leaves)


# %% [markdown]
# ### Exercise 4.2 — A root that is kind to zero ★ · 5 min · 2 points · core
#
# Return the square root where `x` is above zero and exactly 0 elsewhere: a squared distance may be
# slightly negative, by rounding.
#
# - The gradient is that of the root where `x` is above zero, and 0 elsewhere, whatever gradient arrives
#   from behind, ∞ and NaN included.
# - `x` is float32 or float64, of any shape, and stays as it is. It holds no NaN.
#
# Example: `[4, 0, -1e-7]` gives `[2, 0, 0]`, and the gradient of its sum is `[0.25, 0, 0]`.


# %% nbgrader={"grade_id": "safe-root", "solution": true}
def safe_root(x: torch.Tensor) -> torch.Tensor:
    """The root of x where x > 0, else 0; its gradient is 0 there as well."""
    ### BEGIN SOLUTION
    positive = x > 0
    return torch.where(positive, torch.where(positive, x, 1).sqrt(), 0)
    ### END SOLUTION


# %% nbgrader={"grade_id": "safe-root-check", "grade": true, "points": 2}
check = partial(numerics.check_root, safe_root, try_gradient)
x = torch.tensor([4.0, 0.0, -1e-7, 0.25], device=device)
with every_case() as case:
    check(case, x, "[4, 0, -1e-7, 0.25]")
    check(case, x.view(2, 2).to(torch.float64), "a float64 matrix")
    check(case, x[1], "a single 0, without dimensions")
    check(case, x[0], "a single 4, without dimensions")
    check(case, x[:0].view(0, 2), "a matrix without rows")
    check(case, (x.view(2, 2).T * 1e-20), "tiny numbers, transposed")
    check(case, x.double() * 1e-200, "float64 numbers that float32 takes for 0")
    check(case, x[:0].view(2, 0, 3), "an empty x, 3-D")
    check(case, x[:1] * torch.inf, "+∞")
    check(case, x[:1] * -torch.inf, "-∞")
    check(case, -x, "[-4, 0, 1e-7, -0.25], after the first")
    check(case, x[:2] * 1e-45, "numbers next to 0")
    check(case, x.new_tensor([1e36, 1.0, 1e-30]), "[1e36, 1, 1e-30]")
    numerics.check_root_in_use(try_gradient, try_in_use, case, x)
### BEGIN HIDDEN TESTS
with every_case() as case:
    check(case, x[:0], "an empty x")
    check(case, torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(3)).to(x), "3-D")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The cell above does it for a fixed `s`. Both `where` take the same condition.
# </details>
# <details><summary>Hint 2</summary>
#
# The inner one puts a harmless number where the condition is false, the outer one puts 0 there.
# </details>

# %% [markdown]
# ### The Gram identity, read again
#
# What does the broadcast line cost? The difference has n · m · d numbers, although the result has only
# n · m. For 10,000 points against 10,000 in 512 dimensions that is 205 gigabytes in float32. The
# identity $\lVert x \rVert^2 + \lVert y \rVert^2 - 2\, x \cdot y$ needs one product and no (n, m, d)
# tensor. It is the fast way, and the wrong line of the puzzle. Look at the numbers in it:

# %% topics=["pairwise-distance"]
a, b = torch.tensor([10_000.0, 10_000.0]), torch.tensor([10_001.0, 10_000.0])
print(f"|b|² in float32: {(b @ b).item():,.0f}")
print(f"|b|² exactly:    {10_001**2 + 10_000**2:,}")
print(f"gap to the next: {torch.finfo(torch.float32).eps * 2**27:.0f}")

# %% [markdown]
# The answer, 1, is far below what numbers of that size can tell apart. We subtract two large numbers that
# agree in all their digits, and what is left is rounding. This is called **cancellation**. The
# subtraction itself is innocent: it is exact. It uncovers the rounding that happened before.
#
# So the error depends on how far the points are from the origin, compared with their distance. Here are
# pairs of points, one apart, that move away from the origin:

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
# From about 2500 on, two points one apart are at distance 0, or 1.4, or 2, further out at 5.7 or 23. The
# *squared* distance can only be a multiple of the gap, so nothing lies between 0 and its first step:
# these are the roots of 2, 4, 32 and 512.
#
# Distances don't change when all points move by the same vector. So subtract a common centre from both
# sets first: one cheap line, and most of the cure. Two small things remain. Rounding may leave a squared
# distance slightly below zero, and your `safe_root` knows what to do. And for points that nearly
# coincide the identity stays inaccurate.
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
    print(f"{n} points: more than 10 cm off?", bool(error > 0.1))

# %% [markdown]
# All points lie in one square metre. With 25 of them the call is right, with 26 it is more than ten
# centimetres off. So a test on a small example will not find it. Name the `compute_mode`, or move the
# points to the origin.
#
# **In practice.** Embeddings that are normalised lie near the origin, and the Gram identity serves them
# well. Coordinates, timestamps and unscaled features do not. And a GPU that is allowed to multiply in
# TF32 keeps 11 binary digits instead of 24: there the identity fails some ninety times nearer to the
# origin.

# %% [markdown]
# ### Exercise 4.3 — Distances, three ways ★★★ · 25 min · 6 points · core
#
# Write `pairwise_three_ways(x, y, how)` for `x` (n, d) and `y` (m, d), float32 or float64. It returns
# the Euclidean distances, (n, m), in the way that `how` names:
#
# - `"broadcast"`: from the differences, without a product of matrices (`einsum` may add up squares);
# - `"gram"`: by the identity, with one product of matrices. No storage may be larger than the largest
#   of `x`, `y` and the result (`x` and `y` may get two columns more);
# - `"cdist"`: by one call of `torch.cdist`, and by its direct way, whatever the number of points.
#
# In each way: no loop, and gradients flow. n, m or d may be 0.
#
# - Points far from the origin are handled (for `"gram"`, subtract the same vector from both sets).
# - Where two points coincide, the distance is 0, up to rounding, and the gradient of that distance is 0,
#   never NaN.
#
# Example: `x = [[0, 0]]`, `y = [[3, 4], [0, 0]]` gives `[[5, 0]]`. The three checks look at the values
# and gradients, at the cost, and at points far from the origin.


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
check = partial(numerics.check_distances, pairwise_three_ways, try_gradient)
y = torch.tensor([[3.0, 4.0], [0.0, 0.0]], dtype=torch.float64, device=device)
with every_case() as case:
    check(case, y[1:], y, "the example, where two points coincide")
    check(case, y, y, "a set against itself")
    check(case, y + 2**30, y + 2**30, "points 2**30 away from the origin, in float64")
    check(case, y.float(), y[:0].float(), "no y, in float32", ("broadcast", "gram"))
    check(case, y[:0].float(), y.float(), "no x, in float32", ("broadcast", "gram"))
    check(case, y[:, :0], y[:1, :0], "points without coordinates", ("broadcast", "gram"))
    check(case, y[:, :1], y[:1, 1:], "points on a line")
    numerics.check_distance_corners(pairwise_three_ways, try_gradient, try_in_use, case, y)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(4)
grid = torch.randint(-3, 4, (9, 6), generator=generator).double().to(device)
with every_case() as case:
    check(case, grid[:, :3], grid[2:, 3:], "slices")
    check(case, grid[:, :1], grid[:4, 1:2], "points on a line, some of which coincide")
    check(case, grid[:0, :3], grid[:, :3], "no x")
    check(case, grid[:, :3], grid[:0, :3], "no y")
    check(case, grid[:1].expand(5, 6), grid, "an expanded x")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "pairwise-three-ways-check-2", "grade": true, "points": 2}
check = partial(numerics.check_distance_cost, try_operators)
points = torch.linspace(-3, 3, 60 * 90, device=device).sin()
with every_case() as case:
    many, few = points[:2400].view(60, 40), points[2400:2520].view(3, 40)
    check(case, many, points[2400:4400].view(50, 40), "n = 60")
    check(case, many, few, "n = 60, m = 3")
    check(case, few, many, "n = 3, m = 60")
    check(case, few[:, :5], many[:4, :5], "n = 3, m = 4")
    check(case, few[:1], many, "n = 1, m = 60")
    check(case, many, few[:1], "n = 60, m = 1")
### BEGIN HIDDEN TESTS
with every_case() as case:
    check(case, points[:210].view(70, 3), points[-90:].view(30, 3), "n = 70")
    check(case, points[:234].view(26, 9), points[-234:].view(26, 9), "n = 26")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "pairwise-three-ways-check-3", "grade": true, "points": 2}
check = partial(numerics.check_far_distances, pairwise_three_ways)
generator = torch.Generator().manual_seed(5)
near = torch.rand(40, 2, generator=generator).to(device)
with every_case() as case:
    check(case, near[:20], near[10:], "points near the origin")
    check(case, near[:20] + 10_000, near[10:] + 10_000, "points far from the origin")
    far = near - 3000
    check(case, far, far, "a far set of 40 against itself, the same tensor twice")
    check(case, near[:20] - 3000, near[10:] - 3002, "two far sets beside each other")
    place = near.new_tensor([10_000.0, -40_000.0])
    check(case, near[:20] + place, near[10:] + place, "far away, each column by another number")
    wide = torch.rand(35, 60, generator=generator).to(device)
    check(case, wide[::2] - 500, wide - 500, "points far from the origin in 60 dimensions")
### BEGIN HIDDEN TESTS
with every_case() as case:
    check(case, wide - 700, wide[::2] - 700, "points far from the origin in many dimensions")
    check(case, wide, wide, "a set against itself")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For `"gram"`: `(x * x).sum(1)[:, None]` is a column, `(y * y).sum(1)` a row. The centre may be
# the mean of `y`; but the mean of nothing is NaN.
# </details>
# <details><summary>Hint 2</summary>
#
# A squared distance that is 0 or below must not reach the root: your `safe_root`, once more.
# </details>
# <details><summary>Hint 3</summary>
#
# For `"cdist"` look at the cell that compares 25 points with 26.
# </details>

# %% [markdown]
# ## 3. How wrong is a sum?
#
# The Gram identity took two roundings and magnified them. The second question is about many roundings.
# Every addition may be off by u, relative to its result. Where do the errors of a million additions go?
#
# In a **naive** loop the running total grows, and each addition makes an error relative to the
# *total*. After n additions the error may be n · u, and a small number next to a large total may
# vanish altogether. **Compensated** summation (Kahan) computes after each addition by how much the
# total is now too large, and subtracts it from the next number. Its invariant: *the total minus this
# excess is the exact sum so far, up to a last rounding.* Watch both add eight ones to 100,000,000,
# where the marks are 8 apart:

# %%
naive = total = torch.tensor(1e8)
excess = torch.tensor(0.0)  # how much the total is too large; negative: too small
for step in range(1, 9):
    naive = naive + 1
    wanted = 1 - excess
    new = total + wanted
    excess = (new - total) - wanted
    total = new
    sums = f"naive {naive.item():.0f}, compensated {total.item():.0f}"
    print(f"{step}: {sums}, excess {excess.item():+.0f}")

# %% [markdown]
# The naive loop adds eight ones and stays where it was. The compensated one remembers: after five ones
# the debt is more than half a step, so the step is made, and three are now owed back.
#
# **Pairwise** summation is cheaper. It adds two and two, then the sums of pairs, and so on. (Which two
# does not matter.) Each number goes through only log₂ n additions, so the error may be log₂(n) · u:

# %% topics=["vectorise-not-loop"]
import numpy as np


def fold(x: np.ndarray) -> np.ndarray:
    """Pairwise sum of a float32 array whose length is a power of two."""
    while len(x) > 1:
        x = x[: len(x) // 2] + x[len(x) // 2 :]
    return x[0]


# %% [markdown]
# Now the curve: the same random numbers, summed naively and pairwise. The naive loop is NumPy's `cumsum`,
# which keeps float32 all along.

# %% topics=["vectorise-not-loop"]
numbers = torch.rand(2**20, generator=torch.Generator().manual_seed(1)).numpy()
exact = np.cumsum(numbers.astype(np.float64))
naive = np.cumsum(numbers)
print(f"naive: {naive[-1] - exact[-1]:.1f} off; pairwise: {fold(numbers) - exact[-1]:.3f} off")

# %%
sizes, unit = 2 ** np.arange(3, 21), 2.0**-24
off = [abs(naive[n - 1] / exact[n - 1] - 1) for n in sizes]
off_pairwise = [abs(fold(numbers[:n]) / exact[n - 1] - 1) for n in sizes]
figure, axes = plt.subplots(figsize=(6.5, 3.2))
axes.plot(sizes, np.maximum(off, 3e-10), "o-", color="#b04500", label="naive loop")
axes.plot(sizes, sizes * unit, "--", color="#b04500", label="n · u, its worst case")
axes.plot(sizes, np.maximum(off_pairwise, 3e-10), "s-", color="#0072b2", label="pairwise")
axes.plot(sizes, np.log2(sizes) * unit, "--", color="#0072b2", label="log₂(n) · u, its worst case")
axes.set(xscale="log", yscale="log", xlabel="how many numbers", ylabel="relative error")
axes.set_title("The error of a sum in float32")
axes.legend(fontsize=8.5)
show(figure, "The naive error climbs with n; the pairwise error stays near one rounding.")

# %% [markdown]
# The dashed lines are the worst case. In practice errors have both signs and cancel in part, so the
# measured curves lie below. But look at how they run: the naive one climbs with n, the
# pairwise one hardly does.
#
# **In practice.** `torch.sum` works pairwise, in blocks, so you need not write any of this. You meet it
# where *you* are the loop: a running loss, a gradient accumulated over a thousand steps, an average of
# weights. In half precision it comes early, as you will see. So accumulate in float32, or better.

# %% [markdown]
# ### Exercise 4.4 — Sums that keep their digits ★★★ · 25 min · 6 points
#
# **First predict.** What do these sums of ones give? Write whole numbers.
#
# **Then write** `sum_in_float32(x, how)` for `x` of shape (n, k), float32. It returns the sum of each
# column, (k), by PyTorch's additions in float32:
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
# 100000008, the float32 nearest to the exact sum. The three checks look at the predictions, at the
# errors, and at the way.

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
check = partial(numerics.check_sum_error, sum_in_float32)
with every_case() as case:
    column = torch.tensor([[1e8], [1.0], [1.0], [1.0], [1.0], [1.0]], device=device)
    check(case, column, "= [1e8, 1, 1, 1, 1, 1]")
    check(case, torch.full((7, 2), 0.1, device=device), "of 7 rows")
    check(
        case,
        -torch.arange(21.0, device=device).view(3, 7).T / 7,
        "of 7 rows below zero, transposed",
    )
    check(case, column[:1], "of one row")
    check(case, column[:0], "of no row")
    check(case, torch.full((3000, 2), 0.1, device=device), "of 3000 tenths")
    numerics.check_sum_corners(sum_in_float32, case, column)
    for how in ("naive", "pairwise", "compensated"):
        numerics.check_left(try_in_use, case, "sum_in_float32", column, how, leaves=False)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(6)
x = torch.rand(1500, 3, generator=generator).to(device)
z = torch.randn(800, 2, generator=generator).to(device) * 1000
with every_case() as case:
    check(case, torch.cat([x[:1] + 1e6, x]), "of 1501 rows, the first of which is large")
    check(case, torch.cat([z, -z.flip(0), z[:100]]), "whose rows cancel")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "sum-in-float32-check-3", "grade": true, "points": 2}
check = partial(numerics.check_sum_way, sum_in_float32)
with every_case() as case:
    check(case, torch.full((41, 2), 0.1, device=device), "of 41 tenths")
    check(case, torch.full((64, 2), 0.1, device=device), "of 64 tenths")
    column = torch.tensor([[1e8], [1.0], [1.0], [1.0], [1.0], [1.0]], device=device)
    check(case, column, "= [1e8, 1, 1, 1, 1, 1]")
    check(case, column[:0], "of no row")
    check(case, column[:1], "of one row")
    check(case, torch.full((3000, 1), 0.1, device=device), "of 3000 tenths", ("pairwise",))
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(7)
with every_case() as case:
    for shape in ((1, 3), (2, 1), (0, 4), (64, 5), (129, 2)):
        x = torch.randn(shape, generator=generator).to(device)
        check(case, x.repeat(1, 2)[:, ::2], f"a slice of shape {shape}")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For the predictions: a float with p binary digits holds every whole number up to 2ᵖ. The next one,
# 2ᵖ + 1, lies halfway, and halfway the even one wins.
# </details>
# <details><summary>Hint 2</summary>
#
# For `"pairwise"`: add the second half of the rows to the first half, and go on with the result. With
# an odd number of rows one is left over: carry it along.
# </details>
# <details><summary>Hint 3</summary>
#
# For `"compensated"`: the cell above with eight ones has the loop. There a row is the number 1.
# </details>

# %% [markdown]
# ## 4. The variance in one pass · core
#
# The sum that people most often get wrong is the variance. On paper it is the mean of the squares minus
# the square of the mean, which needs one pass over the data. It is also a difference of two large numbers
# that nearly agree: the Gram identity once more.
#
# > **Then and now.** *"For the variance over all processes, add up `x` and `x * x` everywhere and take
# > E[x²] − E[x]²."* In float32 nothing is left once the mean is a few thousand times the spread.
# > **Predict** the first line, for three numbers whose variance is 2/3:

# %% errata=["one-pass-variance"]
x = torch.tensor([10_000.0, 10_001.0, 10_002.0])
print("one pass:  ", (x * x).mean() - x.mean() ** 2)
print("two passes:", ((x - x.mean()) ** 2).mean())
print("torch.var: ", x.var(correction=0))

# %% [markdown]
# Subtract the mean first. Where the data lie in several places, each place computes its count, mean
# and sum M of squared deviations, and the *parts are merged*. With the difference δ of the two means,
#
# $$M = M_a + M_b + \delta^2\, \frac{n_a n_b}{n_a + n_b}$$
#
# and what is subtracted is two means, never two squares: they have half as many digits to lose.

# %% errata=["one-pass-variance"]
part, rest = x[:1], x[1:]
delta = rest.mean() - part.mean()
merged = ((rest - rest.mean()) ** 2).sum() + delta**2 * len(part) * len(rest) / len(x)
print("merged:    ", merged / len(x))

# %% [markdown]
# `nn.SyncBatchNorm` merges in this way. (`correction` says what is taken off n before dividing: 0 for
# the plain mean; 1, the default, for a sample whose own mean was subtracted.)
#
# Several variables at once have a **covariance** matrix: entry (i, j) is the mean of the product of the
# deviations of variables i and j. The diagonal holds the variances.
#
# ### Exercise 4.5 — Covariance, weighted and batched ★★ · 15 min · 4 points · core
#
# For `x` of shape (…, n, d), n observations of d variables, return the covariance matrices, (…, d, d).
# Without weights it is what `torch.cov` gives for one `x` at a time (that function wants the variables
# in the rows). With weights $w_i \ge 0$, of shape (n) or (…, n), it is
#
# $$m = \frac{\sum_i w_i x_i}{W}, \qquad
# C = \frac{\sum_i w_i (x_i - m)(x_i - m)^T}{W - V / W}, \qquad W = \sum_i w_i, \quad V = \sum_i w_i^2$$
#
# With all weights 1 the divisor is n − 1, so the first is a special case of the second. `torch.cov` takes
# such weights as `aweights`.
#
# - `x` and the weights are float32 or float64, of one dtype. n ≥ 2, and at least two weights are above zero.
# - Gradients flow to `x` and to the weights, and are finite, also where a weight is 0.
# - Points far from the origin are handled, and so is a point far from all others that weighs 0, even
#   where its square overflows.
# - No loop, no `torch.cov`.
#
# Example: the observations (0, 0) and (2, 4) give `[[2, 4], [4, 8]]`.


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
check = partial(numerics.check_covariance, covariance)
check_way = partial(numerics.check_covariance_way, try_calls, try_gradient)
x = torch.tensor([[0.0, 0.0], [2.0, 4.0], [1.0, 5.0]], device=device)
w = torch.tensor([1.0, 3.0, 0.5], device=device)
batch = torch.arange(48.0, device=device).view(2, 4, 3, 2).sin()
with every_case() as case:
    check(case, x[:2], None, "[[0, 0], [2, 4]]")
    check(case, x, w, "3 observations with weights")
    check(case, x[:, :1], None, "one variable")
    check(case, batch, None, "a batch of shape (2, 4, 3, 2)")
    check(case, batch, w, "a batch, the same weights for all")
    check(case, batch.mT.clone().mT.transpose(0, 1), w, "a batch in another memory order")
    check(case, batch[0], batch[1, ..., 0].abs(), "a batch, with weights of its own")
    check(case, batch[0, :3], w, "as many matrices as observations, the same weights for all")
    check(case, x.to(torch.float64), w.double(), "weights in float64", 1e-9, 1e-9)
    check(case, x + 10_000, None, "points far from the origin, in float32: centre first", 1e-3)
    numerics.check_covariance_corners(covariance, case, x, w, batch)
    numerics.check_left(try_in_use, case, "covariance", batch, w)
    check_way(case, batch, w, "the way, with a batch")
    check_way(case, batch, w * (w != 3), "the way, with a weight of 0")
    check_way(case, batch, torch.full_like(w, 2), "the way, with equal weights")
    check_way(case, batch, torch.ones_like(w), "the way, with weights of 1")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(7)
x = torch.randn(20, 5, 8, 3, generator=generator, dtype=torch.float64).to(device)
w = torch.rand(20, 5, 8, generator=generator, dtype=torch.float64).to(device)
with every_case() as case:
    check(case, x, w, "100 batches, with weights of its own for each")
    check(case, x[3, 1], w[3, 1] * 100, "shape (8, 3), with large weights")
    check(case, x[..., :1], w, "one variable, with weights")
    slices = x[:, :, ::3].mT.contiguous().mT
    check(case, slices, w[:, :, ::3], "a slice in another memory order")
    check(case, x[0, 0], (w[0, 0] > 0.3).double(), "some observations weigh 0")
    check(case, x.float() + 3000, w.float(), "a batch far from the origin", 1e-3, 2e-3)
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
# weights belong in one of them, not in both.
# </details>

# %% [markdown]
# ## 5. Softmax: three ways to lose a number · core
#
# So far numbers were rounded. Exponentials can lose them altogether. A classifier ends in logits,
# numbers of any size, and softmax makes probabilities of them:
#
# $$\operatorname{softmax}(x)_i = \frac{e^{x_i}}{\sum_j e^{x_j}}$$
#
# First, *which* numbers are summed? `dim` names the dimension along which the result adds up to 1:
# the one that runs over the classes. **Predict** which sums are 1:

# %% topics=["softmax-dim"]
logits = torch.tensor([[1.0, 2.0, 3.0], [1.0, 1.0, 4.0]])  # (batch, class)
print("dim=1, sums of the rows:   ", logits.softmax(1).sum(1))
print("dim=0, sums of the rows:   ", logits.softmax(0).sum(1))
print("dim=0, sums of the columns:", logits.softmax(0).sum(0))
print("dim=0:", logits.softmax(0), sep="\n")

# %% [markdown]
# With `dim=0` the samples of a batch compete with each other, column by column. Nothing complains, and
# it even trains a little. The safe habit is to name the last dimension, `dim=-1`, and to keep the
# classes there.
#
# Second, **overflow**. The largest float32 is about 3 · 10³⁸, so $e^{89}$ is infinity, and
# ∞ / ∞ is NaN. But softmax does not change if the same number is subtracted from all logits: it
# cancels above and below. Subtract the largest, and the largest power is $e^0 = 1$.

# %%
x = torch.tensor([1000.0, 999.0])
print("as written:   ", x.exp() / x.exp().sum())
shifted = (x - x.max()).exp()
print("maximum first:", shifted / shifted.sum())
print("torch.softmax:", x.softmax(0))

# %% [markdown]
# The picture shows why. Only what lies in the narrow window has an exponential that float32 can hold.
# The shift moves the scores; what falls out on the left, at 0, is what softmax would round to nothing
# anyway.

# %%
numerics.draw_window(
    torch.tensor([300.0, 270.0, 235.0, 120.0]),
    alt="Four scores right of the window, where e^x is infinite; shifted, three lie in it.",
)

# %% [markdown]
# Third, **underflow**. A loss needs the logarithm of the probability.
#
# > **Then and now.** *"Take `log(softmax(x))` and feed it to `NLLLoss`."* The probability of a class
# > that is 200 below the best is $e^{-200}$, which is 0 in float32. Its logarithm is −∞, the loss
# > infinite, the gradient NaN.

# %% errata=["log-of-softmax"]
x = torch.tensor([0.0, 200.0])
print("log(softmax): ", x.softmax(0).log())
print("log_softmax:  ", x.log_softmax(0))
print("cross_entropy:", F.cross_entropy(x, torch.tensor(0)))

# %% [markdown]
# The number −200 was there all the time. `log_softmax` never leaves the logarithm:
#
# $$\log \operatorname{softmax}(x)_i = x_i - \log \sum_j e^{x_j}
# \qquad \text{with} \qquad
# \log \sum_j e^{x_j} = m + \log \sum_j e^{x_j - m}, \quad m = \max_j x_j$$
#
# The second is called **logsumexp**. Cross-entropy, attention, mixtures and beam search rest on it. One
# corner is left. Masked entries are −∞. What if *all* entries of a row are? Then m is −∞, and −∞ − (−∞)
# is NaN.

# %%
row = torch.full((2,), float("-inf"), requires_grad=True)
value = torch.logsumexp(row, 0)
value.backward()
print("value:   ", value.item())
print("gradient:", row.grad)

# %% [markdown]
# PyTorch gets the value right. Its gradient is NaN, and one such row spoils every weight before it.
# You will do better.

# %% [markdown]
# ### Exercise 4.6 — logsumexp that never breaks ★★ · 15 min · 4 points · core
#
# Return $\log \sum e^x$ along one dimension, which disappears. `x` is floating point, half precision
# included, with one dimension or more. The size along `dim` is at least 1 (in half precision 1000 at
# most); other sizes may be 0. The result has the dtype of `x`.
#
# - No overflow, for numbers of any size, even where rows differ by thousands.
# - A row of −∞ gives −∞, and its gradient is 0. −∞ next to other numbers counts as nothing.
# - A row that holds +∞ gives +∞ (its gradient is not looked at, nor is a row that holds NaN).
# - Elsewhere the gradient is softmax, up to the rounding of the result.
# - Not allowed: PyTorch's own `logsumexp`, `logaddexp`, `softmax`, `log_softmax`, `logcumsumexp`, or a
#   loss.
#
# Example: `[[0, 0], [1000, 1000]]` along `dim=1` gives `[0.6931, 1000.6931]`. The first check looks at
# values, the second at gradients.


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
check = partial(numerics.check_logsumexp, try_calls)
inf = torch.inf
rows = torch.tensor([[0.0, 0.0], [1000.0, 1000.0]], device=device)
empty = torch.tensor([[0.0, -inf], [-inf, -inf]], device=device)
with every_case() as case:
    check(case, rows, 1, "= [[0, 0], [1000, 1000]]")
    check(case, rows[0] - 1000, 0, "= [-1000, -1000]")
    check(case, rows.to(torch.float64) * -3 + 500, 1, "in float64, rows 3000 apart")
    check(case, empty, 1, "with a row of −∞")
    check(case, rows[:0], 1, "of shape (0, 2)")
    check(case, torch.tensor([[1.0, inf], [-inf, inf]], device=device), 1, "with +∞")
    check(case, (rows * 50).to(torch.float16), 0, "in half precision")
    check(case, (rows / 10).to(torch.bfloat16), 1, "in bfloat16")
    check(case, torch.arange(24.0, device=device).view(2, 3, 4) * 100, -2, "of shape (2, 3, 4)")
    check(case, torch.arange(8.0, device=device).view(2, 1, 4), -1, "of shape (2, 1, 4)")
    check(case, rows[:, :1], 1, "of shape (2, 1)")
    far = rows.new_tensor([0.0, *[-30.0] * 99], dtype=torch.float64)
    check(case, far, 0, "in float64, 99 numbers 30 below the largest")
    numerics.check_logsumexp_corners(try_calls, case, rows, empty, far)
    numerics.check_left(try_in_use, case, "stable_logsumexp", rows, 1)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(8)
x = torch.randn(4, 5, 6, generator=generator, dtype=torch.float64).to(device) * 500
with every_case() as case:
    for dim in (0, 1, -1, -3):
        check(case, x.masked_fill(x.abs() > 300, -inf), dim, "with −∞ in places")
        check(case, x.mT[1:, ::2], dim, "a transposed slice")
    check(case, x[:0], 1, "of shape (0, 5, 6)")
    check(case, torch.tensor([3e38, -3e38, 3e38], device=device), 0, "near the largest float32")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "stable-logsumexp-check-2", "grade": true, "points": 2}
check = partial(numerics.check_logsumexp_slope, try_gradient)
cube = torch.arange(24.0, dtype=torch.float64, device=device).view(2, 3, 4).sin() * 400
with every_case() as case:
    check(case, torch.tensor([[0.0, 0.0], [1000.0, 999.0]], device=device), 1, "of two rows")
    check(case, torch.tensor([[0.0, -torch.inf]], device=device), 1, "= [[0, −∞]]")
    check(case, torch.full((2, 3), -torch.inf, device=device), 0, "all −∞")
    check(case, cube, 1, "of shape (2, 3, 4), in float64")
    check(case, cube[0, 0], -1, "of one dimension")
    check(case, cube[:1, :1], 0, "with a size of 1 along dim")
    check(case, cube[0, :1, 1:] * -torch.inf, 0, "with a size of 1 along dim, some −∞")
    check(case, torch.arange(3).to(cube) * -30, 0, "= [0, -30, -60], in float64")
    check(case, cube[0].to(torch.float16) / 100, 1, "in half precision")
    numerics.check_logsumexp_slope_corners(try_gradient, case, cube)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(9)
x = torch.randn(4, 5, 6, generator=generator, dtype=torch.float64).to(device) * 500
with every_case() as case:
    for dim in (0, 1, -1, -3):
        check(case, x, dim, "random, large")
        check(case, x.masked_fill(x.abs() > 300, -torch.inf), dim, "with −∞ in places")
        check(case, x.mT[1:, ::2] / 500, dim, "a transposed slice")
    check(case, x[:1, :1], 0, "with a size of 1 along dim")
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
# The slope of the logarithm at 0 is infinite. Use the double `where` of section 2: put a harmless
# number in before the logarithm, the right value after it.
# </details>

# %% [markdown]
# ### Exercise 4.7 — Softmax under a mask ★ · 8 min · 4 points · core
#
# Attention puts a mask on its scores. Return the softmax of `scores` along `dim`, over only those entries
# where `mask` is `True`; the others get exactly 0. Any function of PyTorch is allowed.
#
# - `scores` is of any floating dtype, half precision included, and the result has its dtype.
# - `mask` is boolean and broadcasts with `scores`, whose shape the result has. Sizes may be 0, but not
#   along `dim` (in half precision 1000 at most).
# - A row with everything masked gives zeros, and its gradient is 0: no NaN.
# - No overflow, whatever the scores (all are finite, none is the lowest number of its dtype).
#
# Example: scores `[2, 2, 100]` with mask `[True, True, False]` give `[0.5, 0.5, 0]`. The first check looks
# at values, the second at gradients.


# %% nbgrader={"grade_id": "masked-softmax", "solution": true}
def masked_softmax(scores: torch.Tensor, mask: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Softmax of ``scores`` along ``dim`` where the boolean ``mask`` is True; 0 elsewhere."""
    ### BEGIN SOLUTION
    hidden = scores.masked_fill(~mask, -torch.inf)
    return hidden.softmax(dim).masked_fill(~mask, 0)
    ### END SOLUTION


# %% nbgrader={"grade_id": "masked-softmax-check", "grade": true, "points": 2}
check = partial(numerics.check_masked, masked_softmax)
scores = torch.tensor([[2.0, 2.0, 100.0], [1.0, 2.0, 3.0]], device=device)
mask = torch.tensor([[True, True, False], [True, False, True]], device=device)
with every_case() as case:
    check(case, scores[0], mask[0], -1, "the example")
    check(case, scores, mask, 0, "two rows")
    check(case, scores * 1000, mask, -1, "large scores")
    check(case, scores, mask & mask[:, 2:], -1, "a row with everything masked")
    check(case, scores, mask[0], -1, "a mask that broadcasts")
    check(case, scores, mask[0], 0, "a mask that broadcasts along dim")
    check(case, scores, mask[0], 1, "a mask of one dimension, which broadcasts")
    check(case, scores, mask[:, 2:], 1, "a mask of one column, False in the first row")
    check(case, scores, mask & mask[:, 2:], 0, "a row and a column with everything masked")
    check(case, scores[:0], mask[:0], -1, "an empty batch")
    low = ((scores - 50) * 500).to(torch.float16)
    check(case, low, mask, -1, "large scores in half precision")
    check(case, scores.to(torch.bfloat16), mask, -1, "scores in bfloat16")
    check(case, scores.to(torch.float64) - 1e12, mask, -1, "float64, far below zero")
    numerics.check_masked_corners(masked_softmax, case, scores, mask)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(9)
scores = torch.randn(2, 3, 4, 5, generator=generator, dtype=torch.float64).to(device) * 8
mask = (torch.rand(2, 3, 4, 5, generator=generator) < 0.5).to(device)
with every_case() as case:
    for dim in (-1, 0, 2):
        check(case, scores.mT, mask.mT, dim, "transposed scores")
    check(case, scores, mask[:, :1, :1], -1, "a mask that broadcasts")
    check(case, scores, torch.zeros_like(mask), -1, "everything masked")
    check(case, scores[:0], mask[:0], -1, "an empty batch")
    check(case, (scores - 1e5).float(), mask, -1, "scores far below zero")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "masked-softmax-check-2", "grade": true, "points": 2}
check = partial(numerics.check_masked_slope, try_gradient, try_calls)
scores = torch.tensor([[2.0, 2.0, 100.0], [1.0, 2.0, 3.0]], dtype=torch.float64, device=device)
mask = torch.tensor([[True, True, False], [False, False, False]], device=device)
with every_case() as case:
    check(case, scores, mask, -1, "a row with everything masked")
    check(case, scores, ~mask, 0, "another dim")
    check(case, scores, mask & False, -1, "everything masked")
    check(case, scores[:, :1], mask[:, :1], -1, "one score a row")
    for kind in (torch.float64, torch.float32):
        check(case, scores.to(kind), mask | True, -1, f"nothing masked, in {kind}")
    for kind in (torch.float32, torch.float16, torch.bfloat16):
        check(case, scores.to(kind), mask[:, 2:], -1, f"a mask of one column, in {kind}")
        check(case, scores.to(kind), mask, -1, f"a row with everything masked, in {kind}")
    check(case, scores, mask[0], 0, "a mask of one row")
    numerics.check_left(try_in_use, case, "masked_softmax", scores, mask)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(10)
scores = torch.randn(2, 3, 4, 5, generator=generator, dtype=torch.float64).to(device) * 8
mask = (torch.rand(2, 3, 4, 5, generator=generator) < 0.4).to(device)
with every_case() as case:
    for dim in (-1, 0, 2):
        check(case, scores, mask, dim, "a random mask")
        check(case, scores.mT * 100, mask.mT, dim, "large scores")
    check(case, scores, mask[:, :1, :1], -1, "a mask that broadcasts")
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
# ## 6. From scores to guesses
#
# For the predicted class no softmax is needed: it keeps the order, so the largest logit is the largest
# probability. **Predict** what the second line prints. Its labels are a column.

# %% topics=["argmax-accuracy"]
logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0], [1.0, 0.0, 5.0], [4.0, 1.0, 0.0]])
labels = torch.tensor([0, 1, 2, 2])
guesses = logits.argmax(dim=1)  # (batch, class) to (batch)
print("guesses:", guesses, " accuracy:", (guesses == labels).float().mean())
print("with a column of labels:", (guesses == labels[:, None]).float().mean(), "of", 4 * 4)

# %% [markdown]
# Broadcasting that you did not ask for: four guesses against four labels are sixteen comparisons.
# `max(dim)` returns the value and the index together. When two logits tie, the first index is returned.
#
# One accuracy for all classes hides the rare ones. Count by class, with `bincount` instead of a loop,
# and average over the classes: the *macro* average. Here there is a fourth class, of which the batch
# has no sample. **Predict** its entry.

# %% topics=["argmax-accuracy"]
hits = labels[guesses == labels].bincount(minlength=4)
recall = hits / labels.bincount(minlength=4)
print("found, of each class:", recall)
print("macro average:", recall.mean(), " of the classes that occur:", recall.nanmean())

# %% [markdown]
# 0 / 0 is NaN, and one absent class spoils a plain mean. `nanmean` leaves it out: the mean of the classes
# that occur. The package `torchmetrics` has these and many more, and adds them up over batches and
# processes.
#
# ### From probabilities to distributions
#
# `torch.distributions` treats softmax as a distribution over classes: it draws from it and gives
# log-probabilities, from *logits*, with logsumexp inside. So −200 survives here, too.

# %% topics=["dist-distributions"]
from torch.distributions import Beta, Categorical

choice = Categorical(logits=torch.tensor([0.0, 200.0]))
print("log-probability of class 0:", choice.log_prob(torch.tensor(0)))
print("probabilities:", choice.probs)

# %% topics=["dist-distributions"]
torch.manual_seed(0)
strength = torch.tensor(0.4, requires_grad=True)
shares = Beta(strength, strength).rsample((1000, 1, 1, 1))  # one for each image of a batch
ends = ((shares < 0.1) | (shares > 0.9)).float().mean()
print("shares:", tuple(shares.shape), f" nearer than 0.1 to an end: {ends:.0%}")
print("the sample carries a gradient:", shares.requires_grad)

# %% [markdown]
# The **Beta** distribution lives on the numbers from 0 to 1. Mixup, a way to augment data, draws from it
# how much of each of two images to take: with 0.4, nearly half of the mixed images are almost one of the
# two. `sample` cuts the gradient; `rsample`, where a distribution has it, lets it through to the
# parameters.

# %% [markdown]
# ## 7. When the problem itself magnifies · core
#
# The third question. On paper $Ax = b$ has the solution $A^{-1} b$. A machine should not form the inverse:
# it costs three times as much, and it loses more digits. `torch.linalg.solve` factorises instead. Take
# the Hilbert matrix, with entries 1 / (i + j + 1), a classic of bad manners, and a solution of ones:

# %% topics=["linalg-ops"]
i = torch.arange(6, dtype=torch.float32)
hilbert = 1 / (i[:, None] + i + 1)
b = hilbert @ torch.ones(6)
for name, x in (
    ("solve:  ", torch.linalg.solve(hilbert, b)),
    ("inverse:", torch.linalg.inv(hilbert) @ b),
):
    left, off = (hilbert @ x - b).abs().max(), (x - 1).abs().max()
    print(name, "equations off by more than 1e-6?", bool(left > 1e-6), end="; ")
    print("x off by more than 0.1?", bool(off > 0.1))

# %% [markdown]
# `solve` satisfies the equations to the last digit, and still its x, which should be ones, is off in
# the first decimal. It is not the method's fault. Many different x have nearly the same b here, and
# rounding b picks one of them. Two unknowns show it. Each equation is a line; since b is rounded, the
# line is a band. The solution lies somewhere in the overlap:

# %%
numerics.draw_bands(
    torch.tensor([[1.0, 0.3], [-0.3, 1.0]]),
    torch.tensor([[1.0, 1.0], [0.8, 1.0]]),
    alt="Two bands cross at a right angle in a small square; nearly parallel, in a long sliver.",
)

# %% [markdown]
# Left, an error in b is an equal error in x. Right, bands as wide overlap in a long sliver, and x may lie
# anywhere along it. The **condition number** says how many times larger the *relative* error can get.
#
# ### The singular values tell
#
# Every matrix turns, then stretches along the axes, then turns again: $A = U\, S\, V^T$, the *singular
# value decomposition*. The stretchings S are the singular values. The largest divided by the smallest
# is the condition number.

# %% topics=["linalg-ops"]
U, S, Vh = torch.linalg.svd(hilbert.double())
print("put together again:", torch.allclose(U @ torch.diag(S) @ Vh, hilbert.double()))
print(f"largest {S[0]:.2f}, smallest {S[-1]:.0e}")
print(f"condition about 10^{torch.linalg.cond(hilbert.double()).log10():.0f}")

# %% [markdown]
# (A turn may be a reflection. Swapping x and y is a mirror: nothing is stretched, and of its two turns
# one is a reflection, with the determinant −1.)

# %% topics=["linalg-ops"]
U, S, Vh = torch.linalg.svd(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
print("stretchings:", S, " det U · det Vᵀ:", f"{U.det() * Vh.det():.0f}")

# %% [markdown]
# The rule of thumb: **of the digits that a dtype has, a linear system loses as many as the condition
# number has zeros.** Float32 has seven. With a condition of 10⁷ none is left, which is what we saw.
# (`torch.svd`, the old name, returns V instead of its transpose. Mind that when you translate code.)
#
# **In practice.** Look at `torch.linalg.cond` *before* you trust a solution. A nearly constant feature
# beside a constant column is enough to ruin it. Centring and scaling the features is the cheapest cure.

# %% [markdown]
# ## 8. Linear algebra by hand, in four exercises
#
# The functions of `torch.linalg` work on batches: the last two dimensions are the matrix, all before them
# are a batch. Some small tools first. **Predict** the trace and the last line.

# %% topics=["linalg-ops"]
m = torch.arange(1.0, 10.0).view(3, 3)
print("diagonal:", m.diagonal(), " trace:", m.trace())
print("lower:", m.tril(), sep="\n")
print("upper, without the diagonal:", m.triu(1), sep="\n")
print("cross product:", torch.linalg.cross(torch.eye(3)[0], torch.eye(3)[1]))
print("five diagonal matrices:", tuple(torch.diag_embed(torch.ones(5, 3)).shape))

# %% [markdown]
# `tril` makes the causal mask of a language model: position i may look at the positions up to i.
# `diagonal` is a view. `torch.diag` reads a diagonal or builds a matrix, depending on what it gets;
# `diag_embed` always builds, also in batches. `linalg.cross` takes the last dimension; the old
# `torch.cross` without a `dim` takes the first of size 3 and warns.
#
# Put small matrices along a diagonal, and one product does many. To see how, give the large matrix
# four dimensions: which block row, which row in it, which block column, which column in it. `rearrange`
# merges them in pairs. Here the four numbers of each entry can be read off:

# %%
row, column = torch.arange(2), torch.arange(2)
address = 1000 * row.view(2, 1, 1, 1) + 100 * row.view(1, 2, 1, 1)
address = address + 10 * column.view(1, 1, 2, 1) + column.view(1, 1, 1, 2)
print(rearrange(address, "n p m q -> (n p) (m q)"))

# %% [markdown]
# In 1101 the first digit, 1, is the block row and the third, 0, the block column. They differ, so this
# entry lies off the diagonal of blocks.
#
# ### Exercise 4.8 — Blocks on a diagonal ★★ · 12 min · 3 points
#
# For `blocks` of shape (…, n, p, q), of any dtype, return (…, n·p, n·q): the n blocks of each batch
# entry along the diagonal, zeros elsewhere, as `torch.block_diag` does it for separate matrices.
#
# - No loop: the number of operators must not grow with n or with the batch, nor with p or q. No
#   `torch.block_diag`.
# - Gradients flow to real blocks. An infinity or a NaN in one block stays in its place: 0 · ∞ is not 0.
# - Any size may be 0.
#
# Example: n = 2 blocks of shape (1, 2), `[[1, 2]]` and `[[3, 4]]`, give `[[1, 2, 0, 0], [0, 0, 3, 4]]`.
# The first check looks at values, the second at the way.


# %% nbgrader={"grade_id": "block-diagonal", "solution": true}
def block_diagonal(blocks: torch.Tensor) -> torch.Tensor:
    """Block-diagonal matrices (..., n * p, n * q) from blocks (..., n, p, q) of any dtype."""
    ### BEGIN SOLUTION
    *batch, n, p, q = blocks.shape
    spread = torch.diag_embed(blocks.movedim(-3, -1), dim1=-4, dim2=-2)  # (..., n, p, n, q)
    return spread.reshape(*batch, n * p, n * q)
    ### END SOLUTION


# %% nbgrader={"grade_id": "block-diagonal-check", "grade": true, "points": 2}
check = partial(numerics.check_blocks, block_diagonal)
x = torch.arange(1.0, 25.0, device=device)
with every_case() as case:
    check(case, x[:4].view(2, 1, 2), "[[1, 2]] and [[3, 4]]")
    check(case, x.view(2, 3, 2, 2), "a batch of 2")
    check(case, x.view(2, 3, 2, 2).double() * 1e200, "float64, beyond float32")
    check(case, x.view(1, 2, 3, 2, 2), "a batch of two dimensions")
    check(case, x.view(4, 6, 1, 1), "a batch of blocks of one number")
    check(case, x.view(4, 1, 1, 6), "a batch of one block each")
    infinite = torch.tensor([[[torch.inf]], [[1.0]]], device=device)
    check(case, infinite, "an infinity in the first block")
    check(case, infinite * torch.nan, "NaN in both blocks")
    check(case, x.view(2, 3, 1, 4).long() + 2**60, "a batch of whole numbers, large ones")
    check(case, x.view(3, 2, 4) > 7, "booleans")
    check(case, x[:0].view(0, 2, 3).half(), "no block, in half precision")
    check(case, x[:0].view(2, 3, 0, 4), "blocks without rows")
    check(case, x[:0].view(0, 3, 2, 2), "an empty batch")
    check(case, x[:0].view(0, 2, 3, 2, 2), "an empty batch of two dimensions")
    check(case, x.view(4, 3, 2).mT, "transposed blocks")
### BEGIN HIDDEN TESTS
with every_case() as case:
    check(case, x[:6].view(2, 3)[:, None].expand(2, 5, 3)[None], "expanded blocks")
    for shape in ((2, 0, 3), (4, 0, 2, 3), (3, 2, 2, 0)):
        check(case, torch.zeros(shape, device=device).double(), f"the shape {shape}")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "block-diagonal-check-2", "grade": true, "points": 1}
check = partial(numerics.check_growth, block_diagonal)
with every_case() as case:
    many = torch.arange(48.0, device=device).view(12, 2, 2)
    check(case, many[:3], many, "more blocks")
    large = torch.arange(480.0, device=device).view(40, 3, 2, 2)
    check(case, large[:10], large, "a larger batch")
    deep = large.view(8, 5, 3, 2, 2)
    check(case, deep[:2, :2], deep, "a larger batch of two dimensions")
    check(case, many[:3], many.view(3, 8, 2), "blocks of more rows")
    check(case, many[:3], many.view(3, 2, 8), "blocks of more columns")
    with case("the way"):
        _, names, changed, _ = try_calls("block_diagonal", torch.ones(2, 2, 3, device=device))
        check_rules(names, changed, "block_diag")
    with case("the gradient"):
        for shape in ((2, 3, 1, 4), (1, 2, 3), (1, 2, 2, 1, 2)):
            slope = try_gradient("block_diagonal", torch.zeros(shape, device=device))
            check_close(slope, torch.ones(shape, device=device), f"that of shape {shape}")
    numerics.check_left(try_in_use, case, "block_diagonal", many[:2])
    for kind in (torch.complex64, torch.bfloat16, torch.int32, torch.uint8):
        x = (many[:2] - 4) * (1j if kind.is_complex else 1)
        numerics.check_blocks(block_diagonal, case, x.to(kind), f"numbers of {kind}")
    infinite = torch.tensor([[[torch.inf]], [[1.0]]], device=device) + 1j
    name = "complex numbers, an infinity in the first block"
    numerics.check_blocks(block_diagonal, case, infinite, name)

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
# A vector that A only stretches, $Av = \lambda v$, is an **eigenvector** of A, and λ is its
# **eigenvalue**. Multiply a vector by the same matrix again and again. Along each eigenvector it
# grows by that eigenvalue each time, so the largest one wins. Each step has an invariant: *v has
# length 1, and $v^T A v$, the Rayleigh quotient, is the best guess of the eigenvalue for this v.*
# **Predict** the direction that is left:

# %% topics=["linalg-ops"]
A = torch.tensor([[2.0, 1.0], [1.0, 2.0]])  # eigenvalues 3 and 1
v = torch.tensor([1.0, 0.0])
for step in range(1, 6):
    w = A @ v
    residual = torch.linalg.vector_norm(w - (v @ w) * v)
    print(f"{step}: v = ({v[0]:.3f}, {v[1]:.3f}), v·Av = {v @ w:.4f}, |Av - λv| = {residual:.4f}")
    v = w / torch.linalg.vector_norm(w)
print("eigh:", torch.linalg.eigh(A).eigenvalues)

# %% [markdown]
# v turns towards (0.707, 0.707), the quotient towards 3, and the residual shrinks by about the ratio
# of the two largest eigenvalues in size, here a third, in each step. A product with the matrix is all
# it takes. So it works where the matrix is too large to be written down: PageRank, the sharpness of a
# loss (from products with the Hessian), spectral normalisation. One shortcut goes wrong. The *length*
# of Av tends to the eigenvalue, too, but it has no sign:

# %%
A, v = torch.tensor([[-5.0, 0.0], [0.0, 2.0]]), torch.tensor([1.0, 0.0])
print("length of Av:", torch.linalg.vector_norm(A @ v), " v·Av:", v @ A @ v)

# %% [markdown]
# ### Exercise 4.9 — Power iteration, and when to stop ★★ · 15 min · 4 points
#
# For a symmetric matrix `a` (n, n), n ≥ 1, float32 or float64, return the pair (eigenvalue, eigenvector):
# the eigenvalue *largest in absolute value*, as a zero-dim tensor with its sign, and an eigenvector (n)
# of length 1, with either sign. Both have the dtype of `a`. The eigenvalue is 0, or between 1e-9 and 1e9
# in size.
#
# - Stop at the first step where $\lVert A v - \lambda v \rVert \le \text{tol} \cdot |\lambda|$. One step
#   is one product of `a` with a vector, made by PyTorch. If `max_steps` products don't get there, raise
#   `RuntimeError`.
# - Start from random numbers of a generator of your own, and leave PyTorch's global one alone. (A start
#   such as all ones may be orthogonal to what you look for.)
# - From `torch.linalg` only norms are allowed.
#
# Examples: `[[2, 1], [1, 2]]` gives 3 and ±(0.707, 0.707); `[[-5, 0], [0, 2]]` gives −5. A matrix of zeros
# has the eigenvalue 0. For `[[0, 1], [1, 0]]`, with the eigenvalues 1 and −1, nothing wins: `RuntimeError`.
# The first check looks at the pair, the second at the way.


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
check = partial(numerics.check_eigen, power_iteration)
with every_case() as case:
    check(case, torch.tensor([[2.0, 1.0], [1.0, 2.0]], device=device), "[[2, 1], [1, 2]]")
    check(case, torch.tensor([[-5.0, 0.0], [0.0, 2.0]], device=device), "[[-5, 0], [0, 2]]")
    nothing = torch.tensor([[1.0, -1.0], [-1.0, 1.0]], device=device)
    check(case, nothing, "[[1, -1], [-1, 1]], where Av = 0 for ones")
    check(case, torch.zeros(3, 3, device=device), "zeros")
    check(case, torch.tensor([[-3.0]], device=device), "[[-3]]")
    slow = torch.diag(torch.tensor([2.0, 3.0, 2.5], dtype=torch.float64, device=device))
    check(case, slow, "diag(2, 3, 2.5), in float64", tol=1e-8)
    check(case, slow * 4e-10, "diag(8e-10, 1.2e-9, 1e-9), in float64", tol=1e-8)
    check(case, slow[:1, :1], "[[2]], with tol=0", tol=0.0)
    numerics.check_eigen_corners(power_iteration, case, slow)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(10)
with every_case() as case:
    for spectrum in ([-9.0, 5, 3, 1, 0.5], [4.0, 3, 2], [1e6, 1.0, 1.0], [1e-6, 1e-7], [-3.0]):
        q = torch.randn(len(spectrum), len(spectrum), generator=generator).double()
        q = torch.linalg.qr(q)[0]
        a = ((q * torch.tensor(spectrum)) @ q.T).to(device)
        check(case, (a + a.T) / 2, f"the eigenvalues {spectrum}", tol=1e-8)
        check(case, (a + a.T).float() / 2, f"the eigenvalues {spectrum}, in float32")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "power-iteration-check-2", "grade": true, "points": 2}
check = partial(numerics.check_steps, try_operators)
even = torch.full((25, 25), 1.0, device=device) + 2 * torch.eye(25, device=device)
tie = torch.eye(7, device=device).flip(0)
slow = torch.diag(torch.tensor([2.0, 1.9, 1.8, 1.7, 1.6, 1.5, 1.4], device=device))
with every_case() as case:
    check(case, even, "ones, and 3 on the diagonal", 1000, True, 40)
    check(case, tie, "[[0, 1], [1, 0]], but 7 × 7", 30, False, 30)
    check(case, slow, "eigenvalues from 1.4 to 2", 8, False, 8)
    check(case, 3 * torch.eye(2, device=device), "[[3, 0], [0, 3]]", 9, True, 1)
    check(case, 3 * torch.eye(2, device=device), "[[3, 0], [0, 3]]", 1, True, 1)
    check(case, 3 * torch.eye(2, device=device), "[[3, 0], [0, 3]]", 0, False, 1)
    check(case, slow, "eigenvalues from 1.4 to 2", 9, False, 9, tol=1e-8)
    for more in (200, 170, 140, 110):
        near = even.double() + more * torch.eye(25, device=device)
        name = f"ones, and {more + 3} on the diagonal"
        numerics.check_first_step(power_iteration, case, near, name)
    with case("the global random numbers"):
        _, names, _, moved = try_calls("power_iteration", even)
        numerics.check_only_norms(names)
        assert not moved, "PyTorch's global generator was used or seeded: make one of your own"
        numerics.check_own_generator(try_operators, even)
### BEGIN HIDDEN TESTS
with every_case() as case:
    check(case, -even, "the same, negative", 40, True, 40)
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
# and divide the rest by its length. The invariant: *the finished columns are orthonormal and span the same
# space as the columns they came from.* With the coefficients in a triangular matrix R this is the
# **QR decomposition**, $A = Q R$.
#
# There are two ways to take away. *Classical*: compute all coefficients $q_i \cdot a_j$ from the column
# as it was given, then subtract everything. *Modified*: subtract along $q_1$, compute the coefficient
# for $q_2$ from what is left, and so on. On paper it is the same number, since $q_1$ and $q_2$ are
# orthogonal. In a machine they are only nearly so. Here is a matrix of three nearly equal columns, and
# its third column both ways. The two lines differ in one place:

# %%
tiny = 1e-4
nearly = torch.tensor([[1.0, 1, 1], [tiny, 0, 0], [0, tiny, 0], [0, 0, tiny]])
q1 = nearly[:, 0]  # its length is 1, since 1 + tiny² is 1 in float32
q2 = torch.tensor([0.0, -1, 1, 0]) / 2**0.5  # what is left of the second column, at length 1
third = nearly[:, 2]
rest = third - (q1 @ third) * q1
for name, source in (("classical", third), ("modified ", rest)):
    left = rest - (q2 @ source) * q2
    print(f"{name} coefficient {q2 @ source:.6f}, q2·q3 = {F.normalize(left, dim=0) @ q2:.3f}")
print(f"q1·q2 = {q1 @ q2:.6f}")

# %% [markdown]
# The two coefficients differ by q1·q2, which is 0 on paper. It is tiny, but so is what is left of the
# column: both are about 0.0001. So the classical way takes nothing away, and two columns that should be
# orthogonal meet at 60 degrees. The modified way asks what is left, and takes away what is there.
#
# Q and R are not unique. Flip the sign of a column of Q and of the same row of R, and the product stays.
# `linalg.qr` takes what its algorithm gives, here −5. Gram-Schmidt divides by a length, so its R has a
# positive diagonal. To compare two decompositions, make the signs equal first.

# %%
Q, R = torch.linalg.qr(torch.tensor([[3.0, 1.0], [4.0, 2.0]]))
print("R of [[3, 1], [4, 2]]:", R, sep="\n")

# %% [markdown]
# ### Exercise 4.10 — Gram-Schmidt, classical and modified ★★★ · 25 min · 5 points
#
# For `a` (m, n) with m ≥ n ≥ 1, float32 or float64 and of full rank, return new tensors (Q, R): Q (m, n)
# with orthonormal columns and R (n, n), upper triangular with a positive diagonal, so that Q R = a.
# `modified` chooses the way. A loop over columns is fine (two loops for the modified way). Build it from products,
# differences and lengths: `linalg.qr` and its relatives, of any library, are not allowed.
#
# Example: `[[3, 1], [4, 2]]` has Q = `[[0.6, -0.8], [0.8, 0.6]]` and R = `[[5, 2.2], [0, 0.4]]`.
# For `nearly`, above, the classical way gives two columns whose product is 0.5 instead of 0. With the
# modified way no product is above 0.001. The first check looks at Q and R, the second at the two ways.


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
check = partial(numerics.check_qr, gram_schmidt)
generator = torch.Generator().manual_seed(11)
wide = torch.randn(3, 5, generator=generator, dtype=torch.float64).to(device)
with every_case() as case:
    check(case, torch.tensor([[3.0, 1.0], [4.0, 2.0]], device=device), "[[3, 1], [4, 2]]")
    check(case, wide.T, "a (5, 3) matrix in float64, transposed")
    check(case, torch.tensor([[-3.0], [4.0]], device=device), "one column")
    check(case, wide.T * 1e-20, "tiny lengths, none of which is 0, in float64")
    thin = wide.T * wide.new_tensor([1.0, 1e-12, 1e-6])
    check(case, thin, "columns of very different lengths, in float64")
    check(case, thin.float(), "columns of very different lengths, in float32")
    many = torch.randn(9, 8, generator=generator).to(device)
    check(case, many, "a (9, 8) matrix in float32")
    check(case, wide.T[:, :1] + 3e-3 * wide.T, "columns that are nearly equal, in float64")
    check(case, wide[:1, :1], "a (1, 1) matrix, in float64")
    check(case, torch.eye(3, 2, device=device), "columns that are orthonormal already")
    numerics.check_left(try_in_use, case, "gram_schmidt", wide.T, leaves=False)
### BEGIN HIDDEN TESTS
with every_case() as case:
    for m, n in ((1, 1), (4, 4), (9, 3), (12, 6)):
        a = torch.randn(n, m, generator=generator, dtype=torch.float64).to(device).T
        check(case, a, f"shape ({m}, {n}), transposed")
        check(case, -a[:, ::2].float() * 100, f"a slice of shape ({m}, {n}) in float32")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "gram-schmidt-check-2", "grade": true, "points": 2}
check = partial(numerics.check_lost, gram_schmidt)


def nearly_equal(n, tiny=1e-4, dtype=torch.float32):
    rows = [[1.0] * n, *[[tiny * (i == j) for j in range(n)] for i in range(n)]]
    return torch.tensor(rows, device=device, dtype=dtype)


with every_case() as case:
    check(case, nearly_equal(3), "3 nearly equal columns")
    check(case, nearly_equal(6), "6 nearly equal columns")
    check(case, nearly_equal(3, 1e-9, torch.float64), "3 columns nearly equal in float64")
### BEGIN HIDDEN TESTS
with every_case() as case:
    check(case, nearly_equal(4), "4 nearly equal columns")
    check(case, nearly_equal(7), "7 nearly equal columns")
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
# - The **normal equations**, $A^T A\, x = A^T b$. One product, one small system: what you derive on
#   paper.
# - **QR**: with $A = QR$ it is $R\, x = Q^T b$. R is triangular, so it is solved from the bottom up, by
#   `torch.linalg.solve_triangular`.
# - `torch.linalg.lstsq`. On the CPU it is a QR that sorts the columns and copes with a lower rank
#   (LAPACK's `gelsy`); on a GPU it is plain QR (`gels`), which wants full rank. It does not look at
#   your matrix to choose; *you* choose, with `driver=`.
#
# The catch of the first: $A^T A$ has the **square** of the condition number of A. See it, in float32,
# for matrices of growing condition number whose solution is known:


# %% topics=["linalg-ops"]
def matrix_of_condition(condition: float, generator: torch.Generator) -> torch.Tensor:
    """A 40 × 4 matrix whose singular values go from 1 down to 1 / condition."""
    u = torch.linalg.qr(torch.randn(40, 4, generator=generator, dtype=torch.float64))[0]
    v = torch.linalg.qr(torch.randn(4, 4, generator=generator, dtype=torch.float64))[0]
    return u * torch.logspace(0, -torch.tensor(condition).log10().item(), 4) @ v.T


generator = torch.Generator().manual_seed(0)
conditions = [10.0 ** (k / 4) for k in range(23)]
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
        errors[name].append((x - truth).abs().max().item())
rule = torch.tensor(conditions)

# %%
numerics.draw_errors(
    conditions,
    errors,
    {"condition² · u": rule**2 * 2**-24, "condition · u": rule * 2**-24},
    alt="The normal equations' error climbs along condition² · u, QR and lstsq half as steeply.",
)

# %% [markdown]
# The dashed lines are a rule of thumb, not a bound: at first the measured errors scatter about them.
# Where the normal equations reach an error of 1, at a condition of about 3000, QR still has four
# digits. Further to the right their points mean nothing: condition² · u is above 1, and no digit is left
# to be wrong. In float64 the same happens, only later.
#
# And look at the last point of `lstsq`. A direction whose singular value is below `rcond` times the
# largest, by default eps · max(m, n), counts as missing for the CPU's driver, and is left out. No
# warning. From there on, name `rcond`, or scale the columns first.
#
# **In practice.** Use `lstsq`, or QR. Take the normal equations where the condition is small by
# construction, or where a ridge term λI was added, which makes it small.

# %% [markdown]
# ### Exercise 4.11 — Least squares, three ways ★★ · 20 min · 5 points
#
# **First predict** how many decimal digits are left, by the rule of thumb: float32 has 7, float64 has
# 16; QR loses as many as the condition number has zeros, the normal equations twice as many.
#
# **Then write** `least_squares(a, b, how)` for `a` (…, m, n), m ≥ n, of full rank, and `b` (…, m), both
# float32 or float64. It returns x (…, n). `how` is `"normal"`, `"qr"` or `"lstsq"`, each as above, each
# with one factorisation or call for the whole batch. No inverse, no pseudo-inverse. R is triangular: do
# not hand it to the general `solve`.
#
# Example: the line through (0, 1), (1, 3), (2, 5): `a = [[1, 0], [1, 1], [1, 2]]`, `b = [1, 3, 5]` gives
# `[1, 2]`, the intercept and the slope. The three checks look at the predictions, the values, and the way.

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
check = partial(numerics.check_fit, least_squares)
a = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], device=device)
b, line = torch.tensor([1.0, 3.0, 5.0], device=device), torch.tensor([1.0, 2.0], device=device)
with every_case() as case:
    check(case, a, b, line, "the line through three points")
    check(case, a[:, :1], b, b.mean()[None], "one unknown, no exact solution")
    check(case, a.expand(4, 3, 2), b.expand(4, 3), line.expand(4, 2), "a batch of 4")
    wide, lines = (torch.stack(pair)[:, None] for pair in ((a, a / 2), (line, line * 2)))
    both = wide.expand(2, 2, 3, 2), b.expand(2, 2, 3), lines.expand(2, 2, 2)
    check(case, *both, "batch (2, 2)")
    check(case, a[:2].to(torch.float64), b[:2].double(), line.double(), "m = n, in float64")
    u = torch.linalg.qr(torch.arange(120.0).view(40, 3).double().sin())[0].to(device)
    v = torch.linalg.qr(torch.arange(9.0).view(3, 3).double().cos())[0].to(device)
    hard = (u * torch.tensor([1.0, 0.02, 3e-4], device=device) @ v.T).float()
    sums = hard.double().sum(1).float()
    ones = torch.ones(3, device=device)
    name = "a condition number of 3000, where normal equations fail"
    check(case, hard, sums, ones, name, ("qr", "lstsq"), 2e-3)
    wide, double = hard.double(), ones.double()
    check(case, wide, wide.sum(1), double, "the same matrix in float64, all three ways")
    numerics.check_fit_corners(least_squares, case, u, v)
    for how in ("normal", "qr", "lstsq"):
        numerics.check_left(try_in_use, case, "least_squares", a, b, how, leaves=False)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(12)
with every_case() as case:
    for shape, m, n in (((), 6, 3), ((5,), 7, 4), ((2, 3), 8, 2), ((), 3, 3), ((2,), 4, 1)):
        a = torch.randn(*shape, n, m, generator=generator, dtype=torch.float64).to(device).mT
        b = torch.randn(*shape, m, generator=generator, dtype=torch.float64).to(device)
        truth = (torch.linalg.pinv(a) @ b[..., None]).squeeze(-1)
        check(case, a, b, truth, f"a of shape {tuple(a.shape)}", atol=1e-6)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "least-squares-check-3", "grade": true, "points": 2}
check = partial(numerics.check_fit_way, least_squares, try_operators)
a = torch.arange(24.0, device=device).view(4, 3, 2).cos()
with every_case() as case:
    check(case, a[:1, :2], "a batch of 1, m = n")
    check(case, a, "a batch of 4")
    check(case, a[..., :1], "a batch of 4, one unknown")

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
# ## 9. The map again · core
#
# Three rows of vines run along a valley, 150 plants in all. Each plant has a position in metres, east and
# north, as surveyors write it: six or seven digits before the decimal point. Which row does a plant
# belong to? Ask its nearest neighbour. The picture turns the map so that the valley lies flat:

# %% nbgrader={"grade_id": "vineyard", "locked": true}
generator = torch.Generator().manual_seed(2)
along = torch.randn(150, generator=generator, dtype=torch.float64) * 300
row = torch.arange(150) % 3
across = (row - 1) * 12 + torch.randn(150, generator=generator, dtype=torch.float64) * 2.5
plants = torch.stack(
    [691_000 + 0.8 * along - 0.6 * across, 5_336_000 + 0.6 * along + 0.8 * across], 1
)
plants = plants.float()  # (150, 2): metres east, metres north

# %%
figure, axes = plt.subplots(figsize=(7.6, 2))
axes.scatter(along, across, c=row, cmap="viridis", s=14)
axes.set(
    xlabel="metres along the valley",
    ylabel="metres across",
    title="150 plants in three rows (widths not to scale)",
)
show(figure, "Three long, narrow, parallel clouds, 12 metres apart and more than 1000 metres long.")

# %% [markdown]
# Two things stand in the way. The first you know: far from the origin. The second is in the axes of the
# picture. The valley is long and narrow, so the nearest plant is often in the next row: metres along count
# as much as metres across. We want a ruler that fits the data, one for which the cloud is as wide as it is
# long. Dividing each column by its standard deviation is the usual try. **Predict** whether it is enough:

# %%
centred = plants.double() - plants.double().mean(0)
scaled = centred / centred.std(0)
print("covariance, each column divided by its deviation:", scaled.T.cov(), sep="\n")

# %% [markdown]
# Each column has variance 1, and still the two say nearly the same: the cloud lies slantwise.
# **Whitening** takes that away as well. Look for a matrix W so that the rows of $z = (x - m)\, W$
# have the identity as covariance, $W^T C\, W = I$.
#
# A symmetric matrix can be written $C = V \Lambda V^T$, where V is a turn, $V^T V = I$, and Λ is
# diagonal. `torch.linalg.eigh(C)` gives both: in the columns of V the **eigenvectors**, here the axes of
# the cloud, and, as a vector, the diagonal of Λ, the **eigenvalues**, here the variance along each axis.
# So $W = V \Lambda^{-1/2}$ turns the cloud onto its axes and scales each axis.
#
# There are two other ways. If you have read section 8: with $x - m = QR$ the columns of Q are
# orthonormal already; only a factor is missing. If you know Cholesky, $C = L L^T$ with a lower
# triangular L: $z^T = L^{-1} (x - m)^T$, by `torch.linalg.solve_triangular`.
#
# ### Exercise 4.12 — A ruler that fits the data ★★ · 12 min · 3 points · core
#
# For `x` (n, d), n > d, float32 or float64, return z (n, d) with $z = (x - m)\, W$: the mean of each
# column is 0 and the covariance matrix, with the divisor n − 1, is the identity. W is one (d, d)
# matrix for all rows; it is not unique, and any that does it is right. The columns of `x - m` are
# linearly independent. Points far from the origin are handled. `x` stays as it is.
#
# Example: `[[1], [2], [3]]` gives `[[-1], [0], [1]]`, or the same with the other sign.


# %% nbgrader={"grade_id": "whiten", "solution": true}
def whiten(x: torch.Tensor) -> torch.Tensor:
    """z (n, d) = (x - mean) W of x (n, d), so that the covariance of z is the identity."""
    ### BEGIN SOLUTION
    centred = x - x.mean(0)
    values, vectors = torch.linalg.eigh(centred.T @ centred / (len(x) - 1))
    return centred @ (vectors / values.sqrt())
    ### END SOLUTION


# %% nbgrader={"grade_id": "whiten-check", "grade": true, "points": 3}
check = partial(numerics.check_white, whiten)
generator = torch.Generator().manual_seed(13)
cloud = torch.randn(40, 3, generator=generator) @ torch.tensor(
    [[3.0, 0, 0], [2, 1, 0], [1, 1, 0.5]]
)
cloud = cloud.to(device)
with every_case() as case:
    check(case, torch.tensor([[1.0], [2.0], [3.0]], device=device), "[[1], [2], [3]]")
    check(case, cloud, "a cloud of 40 points in 3-D")
    check(case, cloud[:, :1] * 1e-10, "its first column, in tiny numbers")
    check(case, cloud[:2, 1:2].double(), "two points in 1-D", 1e-6)
    check(case, cloud.T.contiguous().T[::13].double(), "4 points in 3-D, a slice", 1e-6)
    check(case, cloud * 1e-10, "the cloud in numbers smaller than any epsilon")
    check(case, cloud.to(torch.float64) + 5, "the same in float64, moved by 5", 1e-6)
    check(case, cloud.double() * 1e100, "float64 beyond float32", 1e-6)
    check(case, cloud + 3000, "the same in float32, moved by 3000", 1e-2)
    check(case, cloud.flip(0) * 2, "another cloud of 40 points")
    thin = cloud.double() * cloud.new_tensor([1.0, 1e-4, 1e-2])
    check(case, thin, "a cloud that is thin, in float64", 1e-6)
    numerics.check_white_far(whiten, case, cloud)
    numerics.check_left(try_in_use, case, "whiten", cloud)
### BEGIN HIDDEN TESTS
with every_case() as case:
    check(case, cloud.T.contiguous().T[::2, :2] - 500, "a slice", 1e-2)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `torch.linalg.eigh` of your `covariance(x)` returns the eigenvalues and, in the columns, the
# eigenvectors. Each column is divided by the root of its eigenvalue.
# </details>
# <details><summary>Hint 2</summary>
#
# The shortest way is by QR. QᵀQ is the identity, but the covariance divides by n − 1.
# </details>

# %% [markdown]
# ### All of it together
#
# The next cells classify each plant by its nearest neighbour, three times: with the line of the
# puzzle, with your distances, and with your distances after your whitening. Where one of your
# functions isn't solved yet, the library steps in (`numerics.solved` takes care of that). Guessing is
# right once in three times. **Predict** for what share of the plants centring alone gets it right.


# %%
distance = numerics.solved(globals(), "pairwise_three_ways")
white = numerics.solved(globals(), "whiten")
soft = numerics.solved(globals(), "masked_softmax")

# %%
squares, z = (plants * plants).sum(1), white(plants)
rulers = {
    "the puzzle's line": (squares[:, None] + squares - 2 * plants @ plants.T).clamp_min(0),
    "your distances": distance(plants, plants, "gram"),
    "your distances, whitened": distance(z, z, "gram"),
}

# %%
itself = torch.eye(150, dtype=torch.bool)
guesses = {name: row[d.masked_fill(itself, torch.inf).argmin(1)] for name, d in rulers.items()}
alt = (
    "Three maps: most plants are ringed with the puzzle's line, some with centred distances, "
    "few at last."
)
numerics.draw_guesses(along, across, row, guesses, alt)

# %% [markdown]
# The same data, the same classifier, three rulers. The puzzle's line is no better than guessing: so
# far from the origin, most plants are at distance 0 from some other row. Centred distances are right,
# as far as float32 kept the positions (to half a metre, northwards), and still measure the wrong
# thing. Whitened ones get nearly all.
#
# One neighbour is a loud vote. A soft one lets every plant vote, with a weight that falls with the
# distance: a softmax over minus the squared distances, with the plant itself under the mask. This is a
# kernel classifier, and it is also what attention does.

# %%
weights = soft(-(rulers["your distances, whitened"] ** 2) / (2 * 0.2**2), ~itself)  # (plant, voter)
probability = weights @ F.one_hot(row).float()  # (plant, row)
print(f"right by soft vote: {(probability.argmax(1) == row).float().mean():.0%}")
print(f"probability of the right row, on average: {probability[range(150), row].mean():.2f}")
print("each plant's votes add up to 1:", torch.allclose(probability.sum(1), torch.ones(150)))

# %% [markdown]
# ## Heard elsewhere
#
# *"Avoid 1-D tensors, use n × 1 matrices: it prevents surprises."* It causes one, as soon as the targets
# are 1-D, as labels are: (2, 1) against (2) broadcasts to (2, 2). These predictions are perfect. Neither
# shape is better; equal shapes are. Assert them where two tensors meet.

# %% errata=["prefer-n-by-1"] tags=["shows-warning"]
import warnings

predictions, targets = torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, 2.0])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # mse_loss warns of the sizes; a formula of your own does not
    print("(2, 1) against (2):", F.mse_loss(predictions, targets))
print("(2) against (2):   ", F.mse_loss(predictions.squeeze(1), targets))

# %% [markdown]
# *"`lstsq` picks the best method for your matrix."* The default depends on the device alone. Two equal columns
# show it: the CPU's default copes, `gels`, which a GPU takes, does not.

# %%
equal = torch.ones(3, 2)
print("gelsy:", torch.linalg.lstsq(equal, torch.ones(3, 1), driver="gelsy").solution.T)
try:
    torch.linalg.lstsq(equal, torch.ones(3, 1), driver="gels")
except torch.linalg.LinAlgError:
    print("gels: refused, the matrix does not have full rank")

# %% [markdown]
# ## What to take home
#
# | you want | write | cost | in float32 |
# | --- | --- | --- | --- |
# | all distances | difference first, or `cdist` with `donot_use_mm…` | n·m·d, or n·m numbers | good; gradient at 0 needs care |
# | all distances, fast | Gram identity, **centred** | one product | good; points that nearly coincide lose digits |
# | a long sum | `torch.sum` | n | log₂ n · u; your own loop: n · u |
# | variance, covariance | subtract the mean first | two passes | the one-pass formula cancels |
# | log-probabilities | `log_softmax`, `cross_entropy` | n | `log(softmax)` underflows |
# | x with A x = b | `linalg.solve` | n³ | condition · u |
# | least squares | `lstsq`, QR | m·n² | condition · u; normal equations: condition² · u |
# | a ruler that fits | whiten | d³ + n·d² | centre first |
#
# **Three mistakes to remember**
#
# 1. Subtracting two large numbers that nearly agree: distances, variances. Centre first, or choose
#    another formula.
# 2. Masking a NaN after it was made. The value looks right and the gradient is NaN. Mask before *and*
#    after.
# 3. Trusting a small residual, or squaring a condition number. If it is large, the equations hold to the
#    last digit and the solution is wrong; the normal equations square it. Look at `linalg.cond` first.
#
# **Read more.** The PyTorch documentation has pages on *torch.linalg* and *Numerical accuracy*. Nicholas
# Higham's *Accuracy and Stability of Numerical Algorithms* has the sums, the variance and the cancellation
# in its first chapters; Trefethen and Bau's *Numerical Linear Algebra* has QR and conditioning. William
# Kahan's *Further Remarks on Reducing Truncation Errors* is one page long. Chapter 05 asks where the
# gradients of this chapter come from.
