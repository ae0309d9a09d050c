# ---
# jupyter:
#   course:
#     title: Losses
#     minutes: 240
#     core: 105
# ---

# %% [markdown]
# # Losses: what exactly is being made small?
#
# Training means: turn the knobs until one number is small. Everything that you want from the model
# has to be in that number, and everything that is in it by accident you will get as well. It
# pays to know what it is: which function of the prediction, averaged over what, and where it is
# smallest.
#
# **After this chapter you can**
#
# - say for any call of a loss what its mean is a mean over, and keep that mean the same however the
#   data falls into batches;
# - write cross-entropy from logits, equal to PyTorch's in value and gradient;
# - say what a loss estimates: a mean, a median, a quantile, a probability;
# - deal with rare classes, soft and smoothed targets, wrong labels;
# - compare distributions and embeddings without falling for an empty solution;
# - add a penalty, write a loss of your own, and test its gradient.
#
# **It leans on** chapters 01, 03 and 04: indexing, stable log-sum-exp, gradients. **Time:** about
# 85 minutes to read and run; the eleven exercises take over two and a half hours more. Sections and
# exercises marked **core** take under two hours together and need no others. You can skip any
# exercise.

# %% nbgrader={"grade_id": "setup", "locked": true}
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_close, check_predictions, device, forbid_changes, show
from course_utils.chapters.losses import check_kl_directions, check_number
from course_utils.chapters.losses import every_case, value_and_gradient

# %% [markdown]
# ## A puzzle to start with
#
# Ten pictures, ten classes. For each of them a classifier puts probability 1 on the right class. It
# can't be better. **Predict** its cross-entropy.

# %% topics=["cross-entropy-composition"]
probabilities = torch.eye(10)  # (picture, class): certain, and right every time
right = torch.arange(10)
print("right answers:", int((probabilities.argmax(dim=1) == right).sum()), "of 10")
print("cross-entropy:", round(F.cross_entropy(probabilities, right).item(), 4))

# %% [markdown]
# All right, and yet the loss is 1.46. No training will bring it lower. Many a loss curve flattens
# out at such a number, and its owner looks for the fault in the optimizer. The optimizer is fine.
# The number that it makes small isn't the number that was meant. Section 3 says what it was.

# %% [markdown]
# ## 1. A price for each prediction, then a mean · core
#
# Nearly every loss is made in two steps. The first puts a price on each prediction. The second
# makes one number of the prices. Here are both for the squared error, written out:

# %% topics=["loss-catalogue"]
prediction, target = torch.tensor([2.0, 5.0, 1.0]), torch.tensor([3.0, 5.0, 4.0])
total = 0.0
for p, t in zip(prediction.tolist(), target.tolist(), strict=True):
    total += (p - t) ** 2
naive = total / len(target)
print("naive:", round(naive, 4))

# %% [markdown]
# The same in one line, and the same from the library. They have to agree:

# %%
compact = (prediction - target).square().mean()
library = F.mse_loss(prediction, target)
assert math.isclose(naive, compact.item(), rel_tol=1e-6) and torch.equal(compact, library)
print("prices:", F.mse_loss(prediction, target, reduction="none").tolist())
print("mean:  ", round(library.item(), 4))

# %% [markdown]
# `reduction="none"` stops after the first step and shows the prices. It is the best way to see
# what a loss does. Here is the catalogue, by what the prediction is. First, when it is a
# **number**. **Predict** which loss is hurt most by the error of 4:

# %% topics=["loss-catalogue"]
x, y = torch.tensor([0.5, 4.0]), torch.zeros(2)  # errors 0.5 and 4
for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss):
    print(f"{loss.__name__:<15}", loss(x, y, reduction="none").tolist())

# %% [markdown]
# The squared error charges 16 for it, the others about 4. `smooth_l1_loss` and `huber_loss` are
# the same here: squares for small errors, straight lines beyond 1. (With another limit, `beta` or
# `delta`, they differ by a factor.)
#
# When the prediction is a **score**, or a score for each class:

# %% topics=["loss-catalogue"]
score, yes = torch.tensor([2.0]), torch.tensor([1.0])  # a logit; the answer is yes
print("BCE with logits     ", F.binary_cross_entropy_with_logits(score, yes))
print("BCE of a probability", F.binary_cross_entropy(score.sigmoid(), yes))
print("soft margin         ", F.soft_margin_loss(score, 2 * yes - 1))

# %% topics=["loss-catalogue"]
logits, label = torch.tensor([[0.0, 2.0]]), torch.tensor([1])
print("cross-entropy       ", F.cross_entropy(logits, label))
print("NLL of log-softmax  ", F.nll_loss(logits.log_softmax(dim=1), label))

# %% [markdown]
# Five names, one number. A *logit* is a score before any softmax or sigmoid. Binary cross-entropy
# (BCE) is cross-entropy with two classes, of which the first has the score 0. Soft margin is the same
# with labels -1 and 1. And cross-entropy is log-softmax followed by NLL, the *negative
# log-likelihood*, which only picks out an entry and turns its sign.
#
# When the prediction is a **distribution**, or a **vector** that should be near to others:

# %% topics=["loss-catalogue"]
fair, biased = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.25, 0.75]])
print("KL              ", F.kl_div(biased.log(), fair, reduction="batchmean"))
anchor, near, far = torch.tensor([[[0.0, 0.0]], [[3.0, 4.0]], [[0.0, 5.5]]])
print("triplet         ", F.triplet_margin_loss(anchor, near, far, margin=1.0))
print("cosine embedding", F.cosine_embedding_loss(near, far, target=torch.tensor([1])))

# %% [markdown]
# Read the triplet loss as: 5 to the near vector, 5.5 to the far vector, and a gap of 1 was wanted; half
# of it is missing. Sections 6 and 8 return to these. Each has a module, too: `nn.MSELoss()` for
# `F.mse_loss`, `nn.TripletMarginLoss(margin=1.0)`, and so on; the module keeps the options.
#
# The shape of a price decides what is learned from it. The slope is what the optimizer sees:

# %% topics=["loss-catalogue"]
error, margin, zeros = torch.linspace(-4, 4, 401), torch.linspace(-4, 4, 401), torch.zeros(401)
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(9, 3))
for name, loss in {"squared": F.mse_loss, "L1": F.l1_loss, "Huber": F.huber_loss}.items():
    axes[0].plot(error, loss(error, zeros, reduction="none"), label=name)
axes[1].plot(margin, (margin < 0).float(), color="#6b6b6b", label="wrong or right")
axes[1].plot(margin, F.soft_margin_loss(margin, zeros + 1, reduction="none"), label="cross-entropy")
axes[1].plot(margin, (1 - margin).clamp(min=0), "--", label="hinge")
axes[0].set(xlabel="prediction - target", ylabel="price", ylim=(0, 6), title="a number")
axes[1].set(xlabel="score in favour of the right answer", ylim=(0, 4.5), title="a yes or no")
for ax in axes:
    ax.legend(loc="upper center" if ax is axes[0] else "upper right")
show(
    figure,
    "Left: squared error grows as a parabola, L1 as a V, Huber is round at the bottom and straight "
    "outside. Right: the step from wrong to right, and cross-entropy and hinge, which fall "
    "smoothly or straight; just left of the step cross-entropy is below it.",
)

# %% [markdown]
# On the right, the grey step is what you want: a wrong answer costs 1. It is flat, so its slope
# tells the optimizer nothing. Cross-entropy is used in its place. It has a slope everywhere, and it
# still asks for more when the answer is right already. **What is made small is a stand-in.** Keep
# the thing you want (accuracy, money, time) beside it, and look at both.
#
# ### Exercise 10.1 — What ignorance costs ★ · 2 min · 1 point · core
#
# A new network knows nothing: it gives each of `classes` classes the same probability. What is its
# cross-entropy? The price of a prediction is minus the natural logarithm of the probability that
# the right class got. Return a number, plain or as a tensor of shape (); `classes` is a whole number from
# 1 on.
#
# Compare the first loss that your training prints with this number. If they are far apart,
# something is wrong before the first step. Example: two classes cost 0.6931.


# %% nbgrader={"grade_id": "knows-nothing", "solution": true}
def knows_nothing(classes: int) -> float:
    """The cross-entropy, in natural units, of equal probabilities for all classes."""
    ### BEGIN SOLUTION
    return math.log(classes)
    ### END SOLUTION


# %% nbgrader={"grade_id": "knows-nothing-check", "grade": true, "points": 1}
from course_utils.chapters.losses import ignorance_slips


def check_case(n):
    what = f"knows_nothing({n})"
    try:
        found = knows_nothing(n)
    except KeyError:
        raise AssertionError(f"{what} looks in a list of answers: compute it, for any n") from None
    equal = "each class has the same probability: nothing is drawn"
    array = type(found).__name__ == "ndarray"
    assert not array, f"{what} is a NumPy array, not a plain number or tensor: .item() gives one"
    check_number(found, math.log(n), what, ignorance_slips(n), tensor=False, otherwise=equal)


with every_case() as case:
    for classes in (2, 10, 1, 37, 5000, 10**6):
        with case(f"{classes} classes"):
            check_case(classes)
### BEGIN HIDDEN TESTS
for classes in (3, 1000):
    check_case(classes)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint</summary>
#
# The right class got a probability of one in `classes`. `math.log` is the natural logarithm.
# </details>

# %% [markdown]
# ## 2. Mean over what? · core
#
# So much for the price. The second step looks harmless: take the mean. But a mean over what? For
# a batch of two predictions with three numbers each, **predict** what is divided by: 2 or 6?

# %% topics=["mean-reduction"]
prediction, target = torch.zeros(2, 3), torch.tensor([[6.0, 0.0, 0.0], [0.0, 0.0, 6.0]])
print("sum: ", F.mse_loss(prediction, target, reduction="sum"))
print("mean:", F.mse_loss(prediction, target))

# %% [markdown]
# By 6. The mean of most losses is over *all elements*, not over the examples. The same model with ten
# times as many outputs has gradients ten times smaller.
#
# The mean is taken already. If you divide by the batch size once more, the gradient shrinks, and
# the step with it:

# %% topics=["mean-reduction"]
w = torch.tensor(1.0, requires_grad=True)
x, y = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.zeros(4)
for name, loss in {"mean": F.mse_loss(w * x, y), "mean / 4": F.mse_loss(w * x, y) / len(x)}.items():
    (slope,) = torch.autograd.grad(loss, w)
    print(f"{name:<8} gradient {slope.item()}")

# %% [markdown]
# > **Then and now.** *"Choose the reduction by `size_average=` and `reduce=`; for images use
# > `NLLLoss2d`."* The two switches became one word, `reduction="mean"`, `"sum"` or `"none"`, and
# > `NLLLoss` takes maps of any size. The old names still work, and warn.

# %% tags=["shows-deprecated"] errata=["size-average-reduce"]
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    old = nn.MSELoss(size_average=True, reduce=True)
    nn.NLLLoss2d()
print("reduction:", old.reduction)
for entry in caught:
    print("warned:", str(entry.message)[:49])

# %% [markdown]
# Cross-entropy takes its mean differently. Prices with a class weight are divided by the *sum of the
# weights*, and a target equal to `ignore_index` (-100 unless you set it) counts neither
# above nor below the fraction bar. To make the prices visible we hand `nll_loss` ready-made scores:

# %% topics=["mean-reduction"]
scores = -torch.tensor([[4.0, 7.0], [7.0, 10.0]])  # class 0 costs 4 or 7, class 1 costs 7 or 10
label = torch.tensor([0, 1])
print("prices 4 and 10, mean:     ", F.nll_loss(scores, label).item())
print("weights 1 and 5:           ", F.nll_loss(scores, label, torch.tensor([1.0, 5.0])).item())
print("weights 10 and 50:         ", F.nll_loss(scores, label, torch.tensor([10.0, 50.0])).item())
print("the first of them ignored: ", F.nll_loss(scores, torch.tensor([-100, 1])).item())

# %% [markdown]
# (4 + 5·10) / (1 + 5) = 9. Weights ten times as large change nothing: only their ratio counts.
# This holds for `cross_entropy` with class numbers and for `nll_loss`.
# `binary_cross_entropy_with_logits` divides by the number of elements, whatever the weights.
#
# ### Exercise 10.2 — Mean over what? ★★ · 8 min · 4 points · core
#
# Four predictions of two classes; the prices of the right classes are 1, 2, 3 and 6. Then two padded
# sequences, with two real positions and one, and a regression. For each of the eight calls (beside
# the blanks) write the number that it gives, without running it. Where it is not a number, write
# `"nan"`.

# %% nbgrader={"grade_id": "reductions", "locked": true}
cost = torch.tensor([[1.0, 9.0], [2.0, 9.0], [9.0, 3.0], [9.0, 6.0]])
right_class, class_weight = torch.tensor([0, 0, 1, 1]), torch.tensor([1.0, 2.0])
padded_prices = torch.tensor([[2.0, 4.0, 7.0], [6.0, 7.0, 7.0]])  # 7 stands where nothing is real
is_real = torch.tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
far_off = torch.tensor([[3.0, 0.0, 0.0], [0.0, 0.0, 3.0]])

# %% nbgrader={"grade_id": "reductions-called", "locked": true} jupyter={"source_hidden": true}
nll = F.nll_loss
reductions = {
    "plain": lambda: nll(-cost, right_class),
    "ignore_index=0": lambda: nll(-cost, right_class, ignore_index=0),
    "all ignored": lambda: nll(-cost, torch.full((4,), -100)),
    "weight": lambda: nll(-cost, right_class, class_weight),
    "weight, then mean": lambda: nll(-cost, right_class, class_weight, reduction="none").mean(),
    "mean of batches of 3 and 1": lambda: (
        (nll(-cost[:3], right_class[:3]) + nll(-cost[3:], right_class[3:])) / 2
    ),
    "mask, then mean": lambda: (padded_prices * is_real).mean(),
    "mse": lambda: F.mse_loss(torch.zeros(2, 3), far_off),
}

# %% nbgrader={"grade_id": "predict-reductions", "solution": true}
predict_reductions = {
    # nll = F.nll_loss; nll(-cost, right_class)
    "plain": None,
    # nll(-cost, right_class, ignore_index=0)
    "ignore_index=0": None,
    # nll(-cost, torch.full((4,), -100))
    "all ignored": None,
    # nll(-cost, right_class, class_weight)
    "weight": None,
    # nll(-cost, right_class, class_weight, reduction="none").mean()
    "weight, then mean": None,
    # (nll(-cost[:3], right_class[:3]) + nll(-cost[3:], right_class[3:])) / 2
    "mean of batches of 3 and 1": None,
    # (padded_prices * is_real).mean()
    "mask, then mean": None,
    # F.mse_loss(torch.zeros(2, 3), far_off)
    "mse": None,
}
### BEGIN SOLUTION
numbers = (3, 4.5, "nan", 3.5, 5.25, 4, 2, 3)
predict_reductions = dict(zip(predict_reductions, numbers, strict=True))
### END SOLUTION

# %% nbgrader={"grade_id": "predict-reductions-check", "grade": true, "points": 4} jupyter={"source_hidden": true}
because = {
    "plain": "four prices, and the mean over four",
    "ignore_index=0": "two targets are left, and the mean is over these two",
    "all ignored": "a mean over nothing is 0 / 0",
    "weight": "each price times its weight, divided by the sum of the four weights",
    "weight, then mean": "'none' gives weighted prices; mean() divides by how many they are",
    "mean of batches of 3 and 1": "the lonely price counts as much as the three others together",
    "mask, then mean": "the zeros of the padding are averaged in: six positions, not three",
    "mse": "the mean is over all six elements",
}


def check_plain(value):
    value = value.item() if hasattr(value, "item") else value
    return "nan" if str(value).lower() == "nan" else value


guesses = predict_reductions
if isinstance(guesses, dict):
    guesses = {name: check_plain(guess) for name, guess in guesses.items()}
check_predictions(
    guesses,
    {name: check_plain(call()) for name, call in reductions.items()},
    because,
)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write each as a fraction. Above the bar: which prices, times what? Below: how many, or the sum of
# what?
# </details>
# <details><summary>Hint 2</summary>
#
# The weights 1 and 2 belong to the classes, and two predictions have class 1.
# </details>

# %% [markdown]
# ### Short batches and padded sequences
#
# "Mean of the batches' means" was 4, the mean of all was 3. The last batch of an epoch is often
# short, and then its examples count for more. With sentences it is worse: each has its own length,
# the batch is filled up with padding, and there are two sensible means. A mean **per token**
# gives every word the same weight. A mean **per sequence** does so for every sentence: first the mean of
# each sentence, then the mean of these.
#
# How much does each token count in such a mean? That is the derivative of the number by the token's
# price. Three sentences of 4, 2 and 1 tokens, the last in a separate batch; **predict** which of
# the three pictures has equal squares.

# %% topics=["mean-reduction"]
real = torch.arange(4) < torch.tensor([[4], [2], [1]])
prices = torch.ones(3, 4, requires_grad=True)
masked = prices * real
numbers = {
    "per token": masked.sum() / real.sum(),
    "per sequence": (masked.sum(dim=1) / real.sum(dim=1)).mean(),
    "mean of batch means": (masked[:2].sum() / 6 + masked[2:].sum() / 1) / 2,
}
figure, axes = plt.subplots(1, 3, figsize=(9, 2.1))
for ax, (name, number) in zip(axes, numbers.items(), strict=True):
    (share,) = torch.autograd.grad(number, prices, retain_graph=True)
    ax.imshow(share.where(real, torch.nan), cmap="Blues", vmin=0, vmax=0.6)
    for row, column in real.nonzero().tolist():
        shade = "white" if share[row, column] > 0.4 else "black"
        ax.text(column, row, f"{share[row, column]:.2f}", ha="center", va="center", color=shade)
    ax.set(title=name, xticks=[], yticks=[0, 1, 2], xlabel="token")
axes[0].set_ylabel("sentence")
show(
    figure,
    "How much each token counts. Per token: 0.14 everywhere. Per sequence: 0.08, 0.17 and 0.33. "
    "Mean of batch means: 0.08 for the six tokens of the first batch, 0.50 for the lonely one.",
)

# %% [markdown]
# In the third picture a single token counts six times as much as the others, only because it was put
# into another batch. Shuffle, and another token does. The way out is always the same: carry **sums
# and counts** across the batches, and divide once, at the end.
#
# Here is a walk with numbers. Prices 1, 2, 3 for one sentence and 6 for another. Per token: 12 /
# 4 = 3. Per sequence: (2 + 6) / 2 = 4. And a trap on the way: multiplying by a mask doesn't remove
# what isn't a number.

# %%
prices, real = torch.tensor([1.0, 2.0, torch.nan]), torch.tensor([True, True, False])
print("times the mask:    ", (prices * real).sum().item())
print("picked by the mask:", prices[real].sum().item())

# %% [markdown]
# ### Exercise 10.3 — A loss over sequences ★★ · 15 min · 4 points · core
#
# Write `sequence_loss(batches, per)`: one loss for sequences that come in several batches. With
# `per="token"` it is the mean over all real positions of all batches; with `per="sequence"` the
# mean of the sequences' own means. The price of a position is its cross-entropy.
#
# - `batches` is a list of tuples `(logits, targets, lengths)` of shapes (batch, time, classes),
#   (batch, time) and (batch,). The logits are float32 or float64, the others int64. The time
#   differs from batch to batch, and no sequence need fill it.
# - The first `lengths[i]` positions of row `i` are real, the rest is padding.
# - What the padding holds doesn't matter, neither for the number nor for the gradient, which is 0
#   there. It may hold `nan`, `inf`, `-inf`, or targets such as -1 or 999.
# - A sequence of length 0 counts for nothing, and a batch may hold nothing else. (At least one
#   sequence in all of the batches is longer.)
# - The result is the same however the sequences are spread over batches: a tensor of shape (), in
#   float64 for float64 logits.
#
# Every library function is allowed. Leave the arguments as they are. Example: the walk above.

# %% nbgrader={"grade_id": "try-sequence-loss", "locked": true} jupyter={"source_hidden": true}
from course_utils import check_states, runs_with_the_answer
from course_utils.chapters.losses import padded_batch, priced, sequence_truths


@runs_with_the_answer
def try_sequence_loss(batches: list, per: str) -> tuple:
    """The loss, and its gradients by the logits of each batch."""
    leaves = [logits.detach().clone().requires_grad_() for logits, _, _ in batches]
    given = [(leaf, *b[1:]) for leaf, b in zip(leaves, batches, strict=True)]
    kept, versions = list(given), [part._version for batch in given for part in batch]
    loss = sequence_loss(given, per)
    same = len(given) == len(kept) and all(a is b for a, b in zip(given, kept, strict=True))
    assert same, "the list of batches was changed: leave it as it is"
    written = versions != [part._version for batch in kept for part in batch]
    assert not written, "an argument was changed: leave logits, targets and lengths as they are"
    return value_and_gradient(loss, leaves)


# %% nbgrader={"grade_id": "sequence-loss", "solution": true}
def sequence_loss(
    batches: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]], per: str = "token"
) -> torch.Tensor:
    """The mean cross-entropy, per "token" or per "sequence", over all batches; of shape ().

    Each batch is (logits (batch, time, classes), targets (batch, time), lengths (batch,)).
    """
    ### BEGIN SOLUTION
    sums, counts = [], []
    for logits, targets, lengths in batches:
        real = torch.arange(targets.shape[1], device=targets.device) < lengths[:, None]
        prices = logits.new_zeros(targets.shape)
        prices[real] = F.cross_entropy(logits[real], targets[real], reduction="none")
        sums.append(prices.sum(dim=1))
        counts.append(lengths)
    sums, counts = torch.cat(sums), torch.cat(counts)
    if per == "token":
        return sums.sum() / counts.sum()
    return (sums[counts > 0] / counts[counts > 0]).mean()
    ### END SOLUTION


# %% nbgrader={"grade_id": "sequence-loss-check", "grade": true, "points": 4}
def check_case(groups, fill=0.0, wrong=0, more=0):
    batches = [padded_batch(group, fill, wrong, more) for group in groups]
    for per, right, gradients, slips in sequence_truths(groups, more):
        with forbid_changes(*[tensor for batch in batches for tensor in batch]):
            loss, *found = try_sequence_loss(batches, per)
        nan = fill != 0 and loss.isnan().any()
        words = "; the padding got in: nan times 0 is nan" if nan else ""
        what, exact = f'the loss, per="{per}"{words}', 1e-9 if per == "token" else 1e-6
        most = max(float(z.abs().max()) for group in groups for z, _ in group if len(z))
        guess = "a probability was clamped, or is 0: stay with scores" if most > 100 else ""
        check_number(loss, right, what, slips, dtype=right.dtype, exact=exact, guess=guess)
        for number, (mine, truth) in enumerate(zip(found, gradients, strict=True)):
            what = f'per="{per}": the gradient in batch {number}, 0 in the padding,'
            words = "is nan somewhere: a price masked afterwards leaves nan times 0 behind"
            assert not mine.isnan().any(), f"{what} {words}"
            check_close(mine, truth, what, rtol=1e-4, atol=1e-6)


short, long, empty = (priced(*p, device=device) for p in ((6.0,), (1.0, 2.0, 3.0), ()))
more = F.pad(short[0].repeat(2, 1), (1, 0)), torch.tensor([2, 0], device=device)
sure = torch.tensor([[99.0, 0.0], [50.0, 0.0]], device=device), long[1][:2]
with every_case() as case:
    for name, groups, *padding in (
        ("one batch, prices 1, 2, 3 and 6", [[long, short]]),
        ("the same in two batches", [[long], [short]]),
        ("an empty sequence, first and last", [[long, empty, empty], [empty, short]]),
        ("no sequence fills the time", [[long, short], [short]], 0.0, 0, 2),
        ("a batch of empty sequences", [[empty, empty], [long, short]]),
        ("a sequence of length 2 whose prices are 0", [[long, sure], [short]]),
        ("scores down to -900", [[(500 * z, y) for z, y in (short, long)]]),
        (
            "float64, the short one first",
            [[(z.to(torch.float64) / 3, y) for z, y in (short, long)]],
        ),
        ("the padding holds nan, and -1 as targets", [[long, short], [long]], torch.nan, -1),
        ("three classes, targets 1 and 2", [[(F.pad(long[0], (1, 0)), 1 + long[1]), more]]),
        (
            "the padding holds inf and -inf, and 999 as targets",
            [[long, short], [short]],
            torch.inf,
            999,
        ),
    ):
        with case(name):
            check_case(groups, *padding)
    with case("per left out"):
        (_, _, _, slips), _ = sequence_truths([[long, short]])
        slips = {"that is the mean per sequence, and 'token' is the default": 4.0, **slips}
        batches = [padded_batch([long, short])]
        check_number(sequence_loss(batches), 3.0, "the loss", slips)
        assert len(batches) == 1, "the list of batches was changed: leave it as it is"
for per in ("token", "sequence"):
    batches, what = [padded_batch([long, short])], f'sequence_loss(batches, "{per}")'
    check_states(sequence_loss, batches, per, what=what)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for dtype in (torch.float32, torch.float64):
    sentences = []
    for length in (3, 1, 5, 0, 2, 7):
        logits = 3 * torch.randn(length, 4, generator=generator, dtype=dtype)
        targets = torch.randint(4, (length,), generator=generator)
        sentences.append((logits.to(device), targets.to(device)))
    for groups in ([sentences], [sentences[:1], sentences[1:]], [sentences[::2], sentences[1::2]]):
        check_case(groups, torch.nan, -100, more=1)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Make a mask of real positions: `torch.arange(time) < lengths[:, None]`.
# </details>
# <details><summary>Hint 2</summary>
#
# Pick the real logits and targets *before* you compute a price. A `nan` that is masked afterwards
# still spoils the gradient.
# </details>
# <details><summary>Hint 3</summary>
#
# For each sequence keep its sum and its length. Join them over all batches, and divide last.
# </details>

# %% [markdown]
# **In practice.** With accumulated gradients or several devices the same trap waits: each computes
# the mean of the tokens that it has. Divide by the tokens of the whole batch instead. Chapter 11 does.
#
# Language models report the mean per token as a **perplexity**, its exponential: the number of
# equally likely tokens among which a guess would cost as much. The exponential is taken last, after
# the mean over all tokens. **Predict** which of these two is larger, for the prices of the walk:

# %%
batches = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([6.0])
apart = torch.stack([prices.mean().exp() for prices in batches])
print("perplexity:               ", round(torch.cat(batches).mean().exp().item(), 1))
print("mean of both batches' own:", round(apart.mean().item(), 1))

# %% [markdown]
# The lonely token of price 6 has a perplexity of 403 by itself, and the second number is about half of
# that. Compare perplexities only between models that cut a text into the same tokens: with longer
# tokens there are fewer of them, and each is harder to guess.

# %% [markdown]
# ## 3. Cross-entropy, from the inside · core
#
# Back to the puzzle. Why 1.46? Take cross-entropy apart. First the naive way, for one picture: the
# scores become probabilities by softmax, and the price is minus the logarithm of the right probability.

# %% topics=["cross-entropy-composition"]
logits, label = torch.tensor([[2.0, 1.0, -1.0]]), torch.tensor([0])
probability = logits.exp() / logits.exp().sum()
print("naive:  ", -probability[0, 0].log())
print("compact:", (logits.logsumexp(dim=1) - logits[:, 0])[0])
print("library:", F.cross_entropy(logits, label))

# %% [markdown]
# `cross_entropy` takes *scores* and does the softmax itself. We gave it probabilities. It took
# them for scores between 0 and 1 and put softmax on top. The best such scores are 1 for the right
# class and 0 for the nine others, and then the price is

# %% topics=["cross-entropy-composition"]
best = math.log(math.exp(1) + 9 * math.exp(0)) - 1
print(round(best, 4))

# %% [markdown]
# There is the 1.46. A softmax at the end of a model and `cross_entropy` after it is the most
# common wrong loss there is. It raises no error, and it even learns, for a softmax keeps the order
# of the scores. Here is what it costs. One score is moved, the nine others stay at 0:

# %% topics=["cross-entropy-composition"]
score = torch.linspace(-8, 12, 401, requires_grad=True)
logits = F.pad(score[:, None], (0, 9))  # (trial, class), nine zeros behind the score
label = torch.zeros(401, dtype=torch.long)
figure, axes = plt.subplots(1, 2, figsize=(9, 2.9))
for scores in (logits, logits.softmax(dim=1)):
    price = F.cross_entropy(scores, label, reduction="none")
    (slope,) = torch.autograd.grad(price.sum(), score, retain_graph=True)
    axes[0].plot(score.detach(), price.detach())
    axes[1].plot(score.detach(), -slope)
axes[0].axhline(best, color="#6b6b6b", linestyle=":")
axes[0].set(xlabel="score of the right class", ylabel="price")
axes[1].set(xlabel="score of the right class", ylabel="pull upwards (- slope)", ylim=(-0.05, 1.5))
axes[1].legend(["cross_entropy of the scores", "… of the softmax of the scores"], loc="upper right")
show(
    figure,
    "Left: from scores the price falls from 10 to 0; with softmax applied twice it falls only from "
    "2.4 to 1.46. Right: the pull is near 1 for very wrong scores; applied twice, near 0 there.",
)

# %% [markdown]
# Look at the right half. Where the model is badly wrong (score -8), the true loss pulls with full
# force. With softmax twice the pull is nearly 0: **the worst mistakes teach nothing.** The model
# learns slowly, and stops early.
#
# Why does the library take scores at all? Because of the digits. Put a score of 1000 through each
# way:

# %%
logits, label = torch.tensor([[1000.0, 0.0]]), torch.tensor([1])
probability = logits.exp() / logits.exp().sum(dim=1, keepdim=True)
print("naive:                  ", -probability[0, 1].log())
print("softmax, then log:      ", -logits.softmax(dim=1)[0, 1].log())
print("log_softmax (or library)", -logits.log_softmax(dim=1)[0, 1])

# %% [markdown]
# `exp(1000)` overflows; a probability of `exp(-1000)` underflows to 0. Taken together, as
# `log_softmax` does (chapter 04), nothing is lost. The last layer gives scores, the loss takes
# scores, and softmax is for people who want to read probabilities.
#
# > **Then and now.** *"Targets must be Long. If it says multi-target not supported, use
# > `squeeze()`."* Class numbers may be int64 or uint8; float targets of the shape of the logits are
# > probabilities. A bare `squeeze()` also removes a batch of one. Say which dimension.

# %% errata=["ce-target-dtype-and-shape"]
logits = torch.zeros(3, 4)
print("uint8:        ", F.cross_entropy(logits, torch.zeros(3, dtype=torch.uint8)))
print("probabilities:", F.cross_entropy(logits, torch.full((3, 4), 0.25)))

# %% errata=["ce-target-dtype-and-shape"]
column = torch.zeros(3, 1, dtype=torch.long)
for target in (torch.zeros(3, dtype=torch.int32), torch.zeros(3), column):
    try:
        F.cross_entropy(logits, target)
    except RuntimeError as error:
        print(f"{target.dtype}, {tuple(target.shape)}: {error}")

# %% errata=["ce-target-dtype-and-shape"]
one = torch.zeros(1, 1, dtype=torch.long)  # a batch of one, as a column
print("squeeze():", tuple(one.squeeze().shape), " squeeze(1):", tuple(one.squeeze(1).shape))

# %% [markdown]
# Targets that are probabilities, *soft* targets, have the price $-\sum_c t_c \log p_c$. A class
# number is the special case with a single 1. *Label smoothing* of $\varepsilon$ mixes the target
# with equal shares: $(1-\varepsilon)\, t_c + \varepsilon / C$ for $C$ classes. A class weight
# $w_c$ belongs inside the sum. Everything fits in one line:

# %% topics=["cross-entropy-composition"]
logits, label, eps = torch.tensor([[2.0, 1.0, -1.0], [0.0, 3.0, 0.0]]), torch.tensor([0, 2]), 0.1
soft = (1 - eps) * F.one_hot(label, 3) + eps / 3
price = -(soft * logits.log_softmax(dim=1)).sum(dim=1)
assert torch.allclose(price.mean(), F.cross_entropy(logits, label, label_smoothing=eps))
assert torch.allclose(price.mean(), F.cross_entropy(logits, soft))
print(price, "mean", round(price.mean().item(), 4))

# %% [markdown]
# What remains is section 2: mean over what? With class numbers, the sum of the weights *of the
# targets* that aren't ignored, smoothed or not. With soft targets, the number of rows, weighted or
# not.

# %%
weight = torch.tensor([1.0, 2.0, 3.0])
weighted = -(soft * weight * logits.log_softmax(dim=1)).sum()
by_number = F.cross_entropy(logits, label, weight, label_smoothing=eps)
print("class numbers: divided by", round((weighted / by_number).item(), 4), "= 1 + 3")
by_share = F.cross_entropy(logits, soft, weight)
print("soft targets:  divided by", round((weighted / by_share).item(), 4))

# %% [markdown]
# ### Exercise 10.4 — Cross-entropy, yours ★★★ · 25 min · 6 points · core
#
# Write `cross_entropy`, so that it agrees with `F.cross_entropy` (its mean) in value and in the
# gradient by the logits.
#
# - `logits` has shape (batch, classes), with at least one row, in float32 or float64. Scores may be
#   as large as ±1000.
# - `target` is either int64 of shape (batch,), class numbers, or of the shape and dtype of `logits`,
#   probabilities.
# - `weight`: one number for each class, or `None`. `label_smoothing`: from 0 to 1.
# - `ignore_index`: rows with this class number don't count. It may be a number that isn't a class,
#   like -100, or a class. If all rows are ignored the result is `nan`, and neither its dtype nor its
#   gradient matters. It plays no part for probabilities: yours leaves no row out there, where the
#   library refuses an `ignore_index` from 0 on.
# - The result has shape (), and is float64 for float64 logits. Leave the arguments as they are.
#
# Not allowed: the library's `cross_entropy` and `nll_loss`, as functions or modules. `log_softmax`
# and `logsumexp` are fine. The first check tries class numbers, the second smoothing and
# probabilities.
#
# Example: the two rows above with labels 0 and 2 and smoothing 0.1 cost 1.7386; without smoothing,
# 1.7220.

# %% nbgrader={"grade_id": "try-cross-entropy", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.losses import check_cross_entropy, names_of_calls


@runs_with_the_answer
def try_cross_entropy(logits: torch.Tensor, target: torch.Tensor, options: dict) -> tuple:
    """Its value, its gradient by the logits, and the library's losses that it called."""
    leaf = logits.detach().clone().requires_grad_()
    with names_of_calls() as calls:
        loss = cross_entropy(leaf, target, **options)
    used = [name for name in calls.names if "cross_entropy" in name or "nll_loss" in name]
    return *value_and_gradient(loss, [leaf], nan=True), used


# %% nbgrader={"grade_id": "cross-entropy", "solution": true}
def cross_entropy(
    logits: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """The mean cross-entropy of ``logits`` (batch, classes); of shape ().

    ``target`` holds class numbers (batch,) or probabilities (batch, classes).
    """
    ### BEGIN SOLUTION
    classes = logits.shape[1]
    weight = logits.new_ones(classes) if weight is None else weight
    log_p = logits - logits.logsumexp(dim=1, keepdim=True)
    if target.is_floating_point():
        soft, below = target, len(target)
    else:
        kept = target != ignore_index
        target, log_p = target[kept], log_p[kept]
        soft, below = F.one_hot(target, classes).to(log_p), weight[target].sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    return -(soft * weight * log_p).sum() / below
    ### END SOLUTION


# %% nbgrader={"grade_id": "cross-entropy-check", "grade": true, "points": 3}
def check_case(logits, target, **options):
    with forbid_changes(logits, target, *(options[key] for key in options if key == "weight")):
        found = try_cross_entropy(logits, target, options)
    check_cross_entropy(found, logits, target, options)


z = torch.tensor([[2.0, 1.0, -1.0], [0.0, 3.0, 0.0], [1.0, 1.0, 1.0]], device=device)
y, w = torch.tensor([0, 2, 1], device=device), torch.tensor([1.0, 2.0, 3.0], device=device)
gap, none = torch.tensor([0, -100, 1], device=device), torch.full_like(y, -100)
large = torch.tensor([2, 255, 1], device=device)
with every_case() as case:
    for name, logits, target, options in (
        ("plain", z, y, {}),
        ("scores up to 1000", 500 * z[:, :2] - 500, y % 2, {}),
        ("no label is the last class", z, y % 2, {}),
        ("one row, weighted", z[1:2], y[:1], {"weight": w}),
        ("float64", z.to(torch.float64), y, {"weight": w.flip(0).to(torch.float64) / 7}),
        ("weighted", z, y, {"weight": w}),
        ("row 1 has -100", z, gap, {}),
        ("row 1 is of class 2, ignore_index=2", z, y, {"ignore_index": 2}),
        ("the same, weighted", z, y, {"ignore_index": 2, "weight": w}),
        ("row 1 has 255, ignore_index=255", z, large, {"ignore_index": 255}),
        ("row 0 has -1, ignore_index=-1", z, y.where(y > 0, -1), {"ignore_index": -1}),
        ("all ignored", z, none, {}),
        ("one class, all ignored (C - 1 is 0)", z[:, :1], none, {}),
    ):
        with case(name):
            check_case(logits, target, **options)
check_states(cross_entropy, z, gap, w, what="cross_entropy(logits, target, weight)")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for dtype, classes in ((torch.float32, 5), (torch.float64, 2), (torch.float64, 7)):
    z = 4 * torch.randn(8, classes, generator=generator, dtype=dtype).to(device)
    y = torch.randint(classes, (8,), generator=generator).to(device)
    w = 0.5 + torch.rand(classes, generator=generator, dtype=dtype).to(device)
    check_case(z.t().contiguous().t(), y)
    check_case(z, y.where(y > 0, -1), weight=w, ignore_index=-1)
    check_case(z, y, weight=w, ignore_index=int(y[0]))
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "cross-entropy-check-2", "grade": true, "points": 3}
def check_case(logits, target, **options):
    with forbid_changes(logits, target, *(options[key] for key in options if key == "weight")):
        found = try_cross_entropy(logits, target, options)
    check_cross_entropy(found, logits, target, options)


z = torch.tensor([[2.0, 1.0, -1.0], [0.0, 3.0, 0.0], [1.0, 1.0, 1.0]], device=device)
y, w = torch.tensor([0, 2, 1], device=device), torch.tensor([1.0, 2.0, 3.0], device=device)
t = torch.tensor([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]], device=device)
gap = torch.tensor([2, -100, 2], device=device)
with every_case() as case:
    for name, target in (("class numbers", y), ("probabilities", t)):
        smooth = {"label_smoothing": 0.1}
        for options in ({}, smooth, {"weight": w}, {"weight": w, **smooth}):
            with case(" and ".join([name, *options])):
                check_case(z, target, **options)
    z64, t64, w64 = (part.to(torch.float64) / 3 for part in (z, 3 * t, w.flip(0)))
    for smoothing in (0.1, 0.0):
        with case(f"probabilities in float64, weight and label_smoothing {smoothing}"):
            check_case(z64, t64.softmax(dim=1), weight=w64, label_smoothing=smoothing)
    with case("one row of probabilities"):
        check_case(z[:1], t[:1])
    with case("class numbers and label_smoothing, class 2 ignored"):
        check_case(z, y, label_smoothing=0.1, ignore_index=2)
    with case("class numbers 2, -100 and 2, weight and label_smoothing"):
        check_case(z, gap, weight=w, label_smoothing=0.1)
    with case("no label is the last class, weight and label_smoothing"):
        check_case(z, y % 2, weight=w, label_smoothing=0.3)
    with case("label_smoothing=1"):
        check_case(z, y, label_smoothing=1.0)
    for number in (0, 1, 2):
        with case(f"probabilities and ignore_index={number}, which plays no part"):
            check_case(z, t, ignore_index=number)
check_states(cross_entropy, z, t, w, what="cross_entropy(logits, probabilities, weight)")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(1)
for dtype, classes in ((torch.float32, 4), (torch.float64, 2), (torch.float64, 6)):
    z = 4 * torch.randn(7, classes, generator=generator, dtype=dtype).to(device)
    y = torch.randint(classes, (7,), generator=generator).to(device)
    w = 0.5 + torch.rand(classes, generator=generator, dtype=dtype).to(device)
    t = torch.randn(7, classes, generator=generator, dtype=dtype).softmax(dim=1).to(device)
    check_case(z, y.where(y > 0, -100), weight=w, label_smoothing=0.3)
    check_case(z, y, label_smoothing=1.0)
    check_case(z, t, weight=w, label_smoothing=0.2)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Turn class numbers into rows with a single 1, and both kinds of target are treated the same way.
# </details>
# <details><summary>Hint 2</summary>
#
# `-100` isn't an index. Remove the ignored rows before you look anything up by class number.
# </details>
# <details><summary>Hint 3</summary>
#
# The dtype of the target says which kind it is: `target.is_floating_point()`. The kind decides
# what is below the fraction bar.
# </details>

# %% [markdown]
# ## 4. Targets that are not sure
#
# What is the smallest value that cross-entropy can reach, and where? For a single right class it
# is 0, and the score of that class has to be infinitely far above the others. That is why the loss
# never stops pulling: scores keep growing long after every answer is right. Soft targets end that.
#
# Mix the target with equal shares, and the best prediction is the mixed target itself, at a finite
# score. The picture shows the price against the lead of the right class over nine equal others:

# %% topics=["label-smoothing"]
lead = torch.linspace(-2, 14, 401)
logits, label = F.pad(lead[:, None], (0, 9)), torch.zeros(401, dtype=torch.long)
figure, axes = plt.subplots(figsize=(6.5, 3))
for eps in (0.0, 0.05, 0.1, 0.2):
    price = F.cross_entropy(logits, label, label_smoothing=eps, reduction="none")
    (line,) = axes.plot(lead, price, label=f"smoothing {eps}")
    if eps:
        axes.plot(lead[price.argmin()], price.min(), "o", color=line.get_color())
axes.set(xlabel="lead of the right class's score", ylabel="price", ylim=(0, 3.2))
axes.legend()
show(
    figure,
    "Without smoothing the price falls for ever. With smoothing 0.05, 0.1 and 0.2 it has a lowest "
    "point at a lead of about 5.2, 4.5 and 3.7, and rises behind it.",
)

# %% [markdown]
# The lowest point isn't at 0, either. **A smoothed loss that stops at 0.5 may be perfect**: its
# floor is the entropy of the target. Don't compare losses that have different smoothing.

# %% topics=["label-smoothing"]
for eps in (0.0, 0.1, 0.2):
    soft = (1 - eps) * F.one_hot(torch.tensor([0]), 10) + eps / 10
    print(f"smoothing {eps}: the floor is", round(torch.special.entr(soft).sum().item(), 4))

# %% [markdown]
# > **Then and now.** *"Label smoothing must be written by hand: 0.9 for the right class and
# > 0.1 / (C - 1) for each other."* It is an argument today. And it isn't the same: PyTorch spreads
# > its share over *all* C classes, the right class too.

# %% topics=["label-smoothing"] errata=["manual-label-smoothing"] tags=["shows-false"]
logits = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
label = torch.tensor([0, 1, 2, 3])
others = torch.full((4, 5), 0.1 / 4).scatter(1, label[:, None], 0.9)
by_hand = F.cross_entropy(logits, others)
print(
    "by hand equals label_smoothing=0.1:",
    torch.allclose(by_hand, F.cross_entropy(logits, label, label_smoothing=0.1)),
)

# %% [markdown]
# > **Often said.** *"Smoothed targets are `one_hot * (1 - e) + e / (C - 1)`."* This adds the
# > share to the right class as well, and divides by too little. The rows don't sum to 1.

# %% topics=["label-smoothing"] errata=["lsr-target-not-normalised"]
one_hot = F.one_hot(torch.tensor([2]), 5)
print("e / (C - 1) for every class:", round((one_hot * 0.9 + 0.1 / 4).sum().item(), 4))
print("e / C for every class:      ", round((one_hot * 0.9 + 0.1 / 5).sum().item(), 4))

# %% [markdown]
# ### Exercise 10.5 — Convert the recipe ★★ · 10 min · 3 points
#
# Write `smoothing_recipe(e, classes, recipe)`, which gets the loss of other recipes from
# `F.cross_entropy`. For a recipe with share `e` and `classes` ≥ 2, return a pair
# `(factor, smoothing)` of two numbers so that for all logits and labels
#
#     recipe's loss == factor * F.cross_entropy(logits, label, label_smoothing=smoothing)
#
# - `recipe="others"`: 1 - e for the right class, e / (C - 1) for each other;
# - `recipe="everyone"`: `one_hot * (1 - e) + e / (C - 1)`, whose rows don't sum to 1.
#
# The loss of a target row is always $-\sum_c t_c \log p_c$. `e` is at least 0, and small enough
# that `smoothing` is at most 1. Example: with `e = 0` both give `(1, 0)`; for `"others"` with 5
# classes and `e = 0.4` it is `(1, 0.5)`: that gives each other class 0.1, and the right class 0.6.


# %% nbgrader={"grade_id": "smoothing-recipe", "solution": true}
def smoothing_recipe(e: float, classes: int, recipe: str) -> tuple[float, float]:
    """(factor, smoothing) that make ``F.cross_entropy`` equal to "others" or "everyone"."""
    ### BEGIN SOLUTION
    spread = e * classes / (classes - 1)  # what the equal shares sum to
    if recipe == "others":
        return 1.0, spread
    whole = 1 - e + spread
    return whole, spread / whole
    ### END SOLUTION


# %% nbgrader={"grade_id": "smoothing-recipe-check", "grade": true, "points": 3}
from course_utils.chapters.losses import check_recipe as judged_recipe


def check_case(*recipe):
    judged_recipe(smoothing_recipe, *recipe)


with every_case() as case:
    for recipe, largest in (("others", 0.75), ("everyone", 1.0)):
        for e, classes in ((0.4, 5), (0.1, 5), (0.1, 2), (0.0, 3), (largest, 4), (0.05, 1000)):
            with case(f"smoothing_recipe({e}, {classes}, {recipe!r})"):
                check_case(e, classes, recipe)
### BEGIN HIDDEN TESTS
for e, classes in ((0.05, 1000), (0.2, 3), (0.5, 10), (0.25, 4)):
    check_case(e, classes, "others")
    check_case(e, classes, "everyone")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write the target row as (something) · one_hot + (something) · equal shares of 1 / C.
# </details>
# <details><summary>Hint 2</summary>
#
# An equal share of e / (C - 1) for each of C classes sums to e · C / (C - 1).
# </details>
# <details><summary>Hint 3</summary>
#
# For "everyone", what do the two parts sum to? Take that out as the factor; what is left is a
# distribution.
# </details>

# %% [markdown]
# ### Mixup
#
# Another way to soft targets: mix two *examples*, both inputs and targets. Draw λ between 0 and 1,
# show the network λ · one picture + (1 - λ) · another, and let the target be mixed in the same
# ratio. Some code mixes the targets, other code mixes two losses. **Predict:** is that the same?

# %% topics=["mixup"]
logits = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
label, partner, lam = torch.tensor([0, 1, 2, 1]), torch.tensor([1, 2, 3, 0]), 0.3
mixed = lam * F.one_hot(label, 3) + (1 - lam) * F.one_hot(label[partner], 3)
one, other = F.cross_entropy(logits, label), F.cross_entropy(logits, label[partner])
assert torch.allclose(F.cross_entropy(logits, mixed), lam * one + (1 - lam) * other)
mixed

# %% [markdown]
# It is, for cross-entropy is linear in the target. (With class weights it isn't: section 2 says
# what each of them is divided by.) The logits are those of the *mixed* picture, of course. The
# library mixes a batch of pictures and labels in one call and hands you soft targets:

# %% topics=["mixup"]
from torchvision.transforms import v2

torch.manual_seed(0)
images, mixed = v2.MixUp(num_classes=3)(torch.rand(4, 1, 8, 8), label)
print(tuple(images.shape), tuple(mixed.shape))
print("rows sum to 1:", torch.allclose(mixed.sum(dim=1), torch.ones(4)))

# %% [markdown]
# ## 5. When one kind is rare
#
# One patient in twenty is ill. A model that says "healthy" to everyone is right 95 times in a
# hundred. Is cross-entropy fooled, too? It isn't: it asks for *probabilities*, and a model with a
# bias gets the mean right, rare or not. What goes wrong happens later: at the threshold of 0.5, which
# few of the rare cases pass.
#
# Four remedies are in use:
#
# - **weight** the prices of the rare class: `pos_weight=19` for one in twenty;
# - **resample**: draw rare examples nineteen times as often;
# - **focal loss**: multiply each price by $(1 - p)^\gamma$, where p is the probability that the
#   model gave to the right answer, so that easy examples count little;
# - **move the threshold**: leave the training alone and say "ill" from a probability of 0.05 on.
#
# A weight first. For cross-entropy with classes it is a vector with a number for each class, usually
# 1 divided by the class's count.
#
# > **Often said.** *"Count the classes with `np.unique(labels)`, invert, normalise to sum 1."* If a
# > class is absent in these labels the vector is too short, or its entries belong to other classes.
# > Count with `minlength`. And the normalising does nothing, as section 2 showed.

# %% errata=["class-weights-from-present-labels"]
label = torch.tensor([0, 0, 2])
present, counts = label.unique(return_counts=True)[1], torch.bincount(label, minlength=3)
print("present:", present.tolist(), " of all three:", counts.tolist())

# %% errata=["class-weights-from-present-labels"]
try:
    F.cross_entropy(torch.zeros(3, 3), label, weight=1 / present)
except RuntimeError as error:
    print(error)

# %% topics=["class-imbalance-weights"] errata=["class-weights-from-present-labels"]
logits = torch.randn(3, 3, generator=torch.Generator().manual_seed(0))
weight = 1 / counts.clamp(min=1)
loss, scaled = (F.cross_entropy(logits, label, w) for w in (weight, weight / weight.sum()))
print("normalising changes nothing:", torch.allclose(loss, scaled))

# %% [markdown]
# What does a weight do to the answer? Suppose that among patients who look just like this patient, a
# share q is ill. The weighted price of saying p is $-w\,q \log p - (1-q)\log(1-p)$. Its lowest
# point is where $p/(1-p) = w \cdot q/(1-q)$. A weight thus multiplies the **odds** by w, or adds
# $\log w$ to the logit. Check it by brute force:

# %% topics=["class-imbalance-weights"]
q, w, p = 0.2, 9.0, torch.linspace(0.001, 0.999, 999)
price = -w * q * p.log() - (1 - q) * (1 - p).log()
best = p[price.argmin()]
print("best p:", round(best.item(), 3))
print("odds:  ", round((best / (1 - best)).item(), 2), "= 9 ·", q / (1 - q))

# %% [markdown]
# The best answer to "20 in 100 are ill" is now 0.69. That isn't a probability any more. It can be
# turned back: subtract $\log w$ from the logit.
#
# ### Exercise 10.6 — Which remedy changes what? ★★ · 22 min · 5 points
#
# **First the loss.** `imbalance(logits, target, pos_weight, gamma)` is weighted and focal at once.
# Let p be the probability of the right answer: sigmoid(logit) if the target is 1, else 1 -
# sigmoid(logit). The price is $-(1-p)^\gamma \log p$, times `pos_weight` where the target is 1.
# Return the mean over *all elements*, for float64 in float64.
#
# - `logits` has any shape, and entries as large as ±1000; value and gradient have to be finite.
# - `target` has the shape and dtype of `logits`, and is 0 or 1. `gamma` is 0 or at least 1.
# - `pos_weight` is between 0.01 and 100, here and below; its own rounding doesn't count.
#
# **Then the way back.** `recalibrate(logits, pos_weight)`: the logits are those of a model that was
# trained with this `pos_weight`. Return the probabilities that it would give without the weight, in
# the shape and dtype of `logits`. Here, too, a logit may be ±1000.
#
# **Then predict.** A linear model with a bias is trained with plain cross-entropy; then one remedy
# is added. The weight is 19, "resampled" draws the ill 19 times as often, and gamma is 2. Two
# things are measured: the *mean probability* that the model gives, and its *recall*, the share of
# the ill that are found (at 0.5, or at the moved threshold of 0.05). Write `True` where the remedy
# makes the measured value differ from the plain model's by more than half of it (0.05 becoming
# 0.08, for example), else `False`.
#
# Example: logit 0, target 1: p is 0.5. With `pos_weight=3, gamma=2` the price is 3 · 0.25 · 0.693 =
# 0.52. And `recalibrate` of the logit of 0.69 with 9 gives 0.2.


# %% nbgrader={"grade_id": "remedies", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.losses import check_imbalance, fit_linear, focal, skewed_set


def fit_remedies() -> dict[str, torch.Tensor]:
    """The coefficients of a linear model, trained plainly and in three other ways."""
    (x, y), bce = skewed_set(seed=0, size=4000), F.binary_cross_entropy_with_logits
    drawn = torch.multinomial(1 + 18 * y, len(y), True, generator=torch.Generator().manual_seed(5))
    return {
        "plain": fit_linear(x, y, bce),
        "weighted": fit_linear(x, y, lambda z, y: bce(z, y, pos_weight=torch.tensor(19.0))),
        "resampled": fit_linear(x[drawn], y[drawn], bce),
        "focal": fit_linear(x, y, focal),
    }


@runs_with_the_answer
def try_imbalance(logits: torch.Tensor, target: torch.Tensor, *options: float) -> tuple:
    """The loss and its gradient by the logits."""
    leaf = logits.detach().clone().requires_grad_()
    return value_and_gradient(imbalance(leaf, target, *options), [leaf], copies_of=[logits])


# %% nbgrader={"grade_id": "imbalance", "solution": true}
def imbalance(
    logits: torch.Tensor, target: torch.Tensor, pos_weight: float = 1.0, gamma: float = 0.0
) -> torch.Tensor:
    """The mean of the weighted focal prices; ``target`` is 0.0 or 1.0; of shape ()."""
    ### BEGIN SOLUTION
    sign = 2 * target - 1
    wrong = torch.sigmoid(-sign * logits)
    price = -(wrong**gamma) * F.logsigmoid(sign * logits)
    return (price * (1 + (pos_weight - 1) * target)).mean()
    ### END SOLUTION


def recalibrate(logits: torch.Tensor, pos_weight: float) -> torch.Tensor:
    """Probabilities, of the shape of ``logits``, with the effect of the weight undone."""
    ### BEGIN SOLUTION
    return torch.sigmoid(logits - math.log(pos_weight))
    ### END SOLUTION


it_changes = {
    "weighted, mean probability": None,
    "weighted, recall": None,
    "resampled, mean probability": None,
    "resampled, recall": None,
    "focal, mean probability": None,
    "focal, recall": None,
    "threshold moved, mean probability": None,
    "threshold moved, recall": None,
}
### BEGIN SOLUTION
it_changes = dict.fromkeys(it_changes, True)
it_changes["focal, recall"] = it_changes["threshold moved, mean probability"] = False
### END SOLUTION


# %% nbgrader={"grade_id": "imbalance-check", "grade": true, "points": 2}
def check_case(logits, target, *options):
    with forbid_changes(logits, target):
        found = try_imbalance(logits, target, *options)
    check_imbalance(found, logits, target, *options)


z, y, huge = torch.tensor([[0.0, 2, -1, 3], [1, 1, 0, 0], [1e3, -1e3, 1e3, -1e3]], device=device)
with every_case() as case:
    for options in ((1.0, 0.0), (3.0, 0.0), (1.0, 2.0), (3.0, 4.0), (19.0, 1.0), (0.5, 1.5), ()):
        with case("four logits"):
            check_case(z, y, *options)
    for gamma in (0.0, 2.0):
        with case("logits of 1000 and -1000"):
            check_case(huge, y, 3.0, gamma)
    with case("shape (2, 2), float64"):
        check_case(z.double().view(2, 2) / 3, y.double().view(2, 2), 3.0, 2.0)
    for n in (1, 2):
        with case(f"shape (), the target is {y[n].item()}"):
            check_case(z[n], y[n], 3.0, 2.0)
check_states(imbalance, z.view(2, 2), y.view(2, 2), 3.0, 2.0, what="imbalance(…, 3.0, 2.0)")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for shape, weight, gamma in (((), 2.0, 1.0), ((5, 1), 0.5, 3.0), ((2, 3, 4), 7.0, 1.5)):
    z = 3 * torch.randn(shape, generator=generator, dtype=torch.float64).to(device)
    y = (torch.rand(shape, generator=generator, dtype=torch.float64).to(device) < 0.3).to(z)
    check_case(z, y, weight, gamma)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "imbalance-check-2", "grade": true, "points": 1}
from course_utils.chapters.losses import check_way_back

for weight in (9.0, 1.0, 0.5):
    check_way_back(recalibrate, torch.tensor([[0.8, 2.0], [-2.4, 4.4]], device=device), weight)
    check_way_back(recalibrate, torch.tensor([18.0, -18.0, 1000.0, -1000.0], device=device), weight)
    check_way_back(recalibrate, torch.tensor(0.7, dtype=torch.float64, device=device), weight)
check_way_back(recalibrate, torch.tensor(0.7, device=device), 9.0)
check_way_back(recalibrate, torch.tensor([[1.5, -0.3, 0.0]], device=device), 9.0)
logits = torch.tensor([[1.5, -0.3], [0.0, 2.0]], device=device)
check_states(recalibrate, logits, 9.0, what="recalibrate(logits, 9.0)")
### BEGIN HIDDEN TESTS
check_way_back(recalibrate, torch.tensor(2.1, dtype=torch.float64, device=device), 19.0)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "imbalance-check-3", "grade": true, "points": 2} jupyter={"source_hidden": true}
x, y = skewed_set(seed=1, size=20000)
probability = {name: torch.sigmoid(x @ w) for name, w in fit_remedies().items()}
mean = {name: p.mean().item() for name, p in probability.items()}
recall = {
    name: ((p > 0.5) & (y == 1)).sum().item() / y.sum().item() for name, p in probability.items()
}
mean["threshold moved"] = mean["plain"]
recall["threshold moved"] = ((probability["plain"] > 0.05) & (y == 1)).sum().item() / y.sum().item()
measured = {
    f"{name}, {what}": abs(values[name] / values["plain"] - 1) > 0.5
    for name in ("weighted", "resampled", "focal", "threshold moved")
    for what, values in (("mean probability", mean), ("recall", recall))
}
because = {
    "weighted, mean probability": "the odds are multiplied by 19",
    "weighted, recall": "higher odds, and the threshold still at 0.5",
    "resampled, mean probability": "in the set that it saw, half were ill",
    "resampled, recall": "drawing 19 times as often does what a weight of 19 does",
    "focal, mean probability": "sure answers earn little, so it stays near the middle",
    "focal, recall": "it treats both classes the same way, so even odds stay even odds",
    "threshold moved, mean probability": "the model is the same one",
    "threshold moved, recall": "more patients pass 0.05 than 0.5",
}
check_predictions(it_changes, measured, because)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# With s = +1 or -1 for the two answers, p is sigmoid(s · logit), and 1 - p is sigmoid(-s · logit).
# </details>
# <details><summary>Hint 2</summary>
#
# `F.logsigmoid` is to the sigmoid what `log_softmax` is to softmax.
# </details>
# <details><summary>Hint 3</summary>
#
# For the predictions: the weight shifts all logits by log 19. Focal loss has no idea which class is
# rare; with q = 0.5, what would it answer?
# </details>

# %% [markdown]
# Now all of it measured, on 20,000 new cases. The left picture asks: among those to whom the model
# gives 0.3, are three in ten ill? A model for which that is so is **calibrated**. The right
# picture, in the same colours, shows recall for every threshold. (The model that was set back lies
# on the plain one there.)

# %% topics=["class-imbalance-weights"]
x, y = skewed_set(seed=1, size=20000)
logit = {name: x @ w for name, w in fit_remedies().items()}
logit["weighted, set back"] = logit["weighted"] - math.log(19)
thresholds = torch.linspace(0.01, 0.99, 99)
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.4))
axes[0].plot([0, 1], [0, 1], ":", color="#6b6b6b")
for (name, z), style in zip(logit.items(), ("o-", "s-", "x--", "^-", "+:"), strict=True):
    p = z.sigmoid()
    groups = [(p >= low) & (p < low + 0.1) for low in torch.linspace(0, 0.9, 10)]
    groups = [inside for inside in groups if inside.sum() > 30]
    axes[0].plot([p[g].mean() for g in groups], [y[g].mean() for g in groups], style, label=name)
    axes[1].plot(thresholds, [((p > t) & (y == 1)).sum() / y.sum() for t in thresholds], style[1:])
axes[0].set(xlabel="what the model says", ylabel="share that is ill", title="calibration")
axes[1].set(xlabel="threshold", ylabel="recall", title="recall, by threshold")
axes[0].legend(fontsize=8)
show(
    figure,
    "Left: the plain model and the weighted one that was set back lie near the diagonal; weighted "
    "and resampled ones far below it; the focal one below it, then above. Right: at 0.5 the "
    "plain and the focal model find "
    "a quarter, the weighted ones four in five; the plain one reaches that at a threshold of 0.05.",
)

# %% topics=["class-imbalance-weights"]
from sklearn.metrics import roc_auc_score


def tell(name, at):
    p = logit[name].sigmoid()
    recall, precision, area = y[p > at].sum() / y.sum(), y[p > at].mean(), roc_auc_score(y, p)
    print(f"{name:<10}{at:<6}{recall:6.2f}{precision:9.2f}{p.mean():9.2f}{area:9.2f}")


# %% topics=["class-imbalance-weights"]
print("model     at    recall precision mean p  area under ROC")
for name, at in {"plain": 0.5, "weighted": 0.5, "resampled": 0.5, "focal": 0.5}.items():
    tell(name, at)
tell("plain", 0.05)

# %% [markdown]
# Read the last column: 0.89 everywhere. No remedy made the model better at telling who is ill.
# Weighting, resampling and moving the threshold choose another point on the same curve, and only
# the last keeps the probabilities. (A large network may also learn *other features* under a
# weight; then it is an experiment, not a theorem.) In practice: train plainly, choose the
# threshold by what each mistake costs. If you weight for the sake of training, set the logits
# back.

# %% [markdown]
# ## 6. How far apart are two distributions?
#
# Until now a single answer was right. Sometimes a whole distribution is the target: a teacher network's, a
# policy's, a posterior. Then cross-entropy has a floor that hides the progress. Take the floor
# away and you have the **Kullback-Leibler divergence**: what it costs to believe q while p is
# true.
#
# $$\mathrm{KL}(p\,\|\,q) = \sum_i p_i\,(\log p_i - \log q_i)$$
#
# It is 0 when both are equal, and never below. By hand, with p fair and q biased:

# %% topics=["loss-catalogue"]
p, q = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.25, 0.75]])
forth = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
back = 0.25 * math.log(0.25 / 0.5) + 0.75 * math.log(0.75 / 0.5)
print("KL(p‖q):", round(forth, 4), " KL(q‖p):", round(back, 4))
assert math.isclose(forth, (p * (p.log() - q.log())).sum(), rel_tol=1e-5)

# %% [markdown]
# Two different numbers: it isn't a distance. And the library's function has three traps at once.
# **Predict** which of these calls is KL(p‖q):

# %% tags=["shows-warning"]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print("kl_div(p, q)                     ", F.kl_div(p, q))
print("warned:", str(caught[0].message)[:75])

# %%
batchmean = {"reduction": "batchmean"}
print("kl_div(p.log(), q, batchmean)    ", F.kl_div(p.log(), q, **batchmean))
print("kl_div(q.log(), p, batchmean)    ", F.kl_div(q.log(), p, **batchmean))
print("… q.log(), p.log(), log_target   ", F.kl_div(q.log(), p.log(), log_target=True, **batchmean))

# %% [markdown]
# The third and the fourth. `kl_div(input, target)` wants the *logarithm* of the model's q first,
# and the true p second, in the other order than the formula is read. And its default, `"mean"`,
# divides by all entries; only `"batchmean"` is the mean of the rows' divergences. The first call
# got all three wrong, and its result is negative: **a negative KL is always a bug.**
#
# Direction is more than bookkeeping. Let p have two peaks, and let q be a single bell that is
# moved and widened until the divergence is smallest. **Predict** where it ends, each way.

# %%
grid = torch.linspace(-6, 6, 241)
peaks = torch.exp(-0.5 * ((grid + 2) / 0.6) ** 2) + torch.exp(-0.5 * ((grid - 2) / 0.6) ** 2)
log_peaks = (peaks / peaks.sum()).log()


# %%
def fit_bell(loss):
    """The log-probabilities of the bell on the grid that makes ``loss`` of them small."""
    place = torch.tensor([1.0, 0.0], requires_grad=True)  # mean, log of the width
    optimizer = torch.optim.Adam([place], lr=0.05)
    for _ in range(300):
        bell = (-0.5 * ((grid - place[0]) / place[1].exp()) ** 2).log_softmax(dim=0)
        optimizer.zero_grad()
        loss(bell).backward()
        optimizer.step()
    return bell.detach()


# %%
ways = {
    "KL(p‖q): p is true": lambda bell: F.kl_div(bell, log_peaks, reduction="sum", log_target=True),
    "KL(q‖p): q is true": lambda bell: F.kl_div(log_peaks, bell, reduction="sum", log_target=True),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 2.7), sharey=True)
for ax, (name, loss) in zip(axes, ways.items(), strict=True):
    bell = fit_bell(loss)
    ax.fill_between(grid, log_peaks.exp(), color="#bfe0f5", label="p, two peaks")
    ax.plot(grid, bell.exp(), color="#b04500", label="q, fitted")
    ax.set(title=f"{name}: {loss(bell).item():.2f} at best", xlabel="x", yticks=[])
axes[0].legend(loc="upper left", fontsize=8)
show(
    figure,
    "The same two peaks twice. With KL(p‖q) the fitted bell is wide and covers both, the valley "
    "too. With KL(q‖p) it sits on one peak and ignores the other.",
)

# %% [markdown]
# KL(p‖q) charges wherever p has something and q has nothing: it *covers*, and puts mass into the
# empty valley. KL(q‖p) charges wherever q has something and p has nothing: it *picks* a peak.
# Training by maximum likelihood is the first kind; much of reinforcement learning and variational
# inference is the second.
#
# ### Exercise 10.7 — KL, both ways ★★ · 12 min · 3 points
#
# Write `kl_directions(log_p, log_q)`. Return a tuple of two tensors of shape (): the mean over the
# rows of KL(p‖q), and that of KL(q‖p). Only values are asked for, no gradients.
#
# - `log_p` and `log_q` have shape (batch, n), float32 or float64: logarithms of probabilities, each
#   row a distribution.
# - A probability may be 0, its logarithm `-inf`. What is impossible by the first distribution costs
#   nothing, whatever the second says. What is possible by the first and impossible by the second
#   costs `inf`. (No other probability is below 1e-30.)
#
# Every library function is allowed; leave the arguments as they are.
#
# Example: p = (1/2, 1/2), q = (1/4, 3/4) gives 0.1438 and 0.1308. With p = (1/2, 1/2, 0) and q =
# (1/2, 1/4, 1/4) it is 0.3466 and `inf`.


# %% nbgrader={"grade_id": "kl-directions", "solution": true}
def kl_directions(log_p: torch.Tensor, log_q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The means over the batch of KL(p‖q) and KL(q‖p), from logarithms (batch, n)."""

    ### BEGIN SOLUTION
    def one_way(first, second):
        costs = first.exp() * (first - second)
        return costs.masked_fill(first == -torch.inf, 0).sum(dim=1).mean()

    return one_way(log_p, log_q), one_way(log_q, log_p)
    ### END SOLUTION


# %% nbgrader={"grade_id": "kl-directions-check", "grade": true, "points": 3}
half, biased = torch.tensor([[[0.5, 0.5]], [[0.25, 0.75]]], device=device)
p, q, both = torch.tensor([[[2.0, 2, 0]], [[2, 1, 1]], [[1, 3, 0]]], device=device) / 4
rare, never = torch.tensor([[[1.0, 1e-30]], [[1.0, 0.0]]], device=device)
with every_case() as case:
    for name, *pair in (
        ("the first example", half, biased),
        ("two rows", torch.cat([half, half]), torch.cat([biased, half])),
        ("three rows", torch.cat([half, half, biased]), torch.cat([biased, half, half])),
        ("equal ones", biased, biased),
        ("p has a zero", p, q),
        ("both have the same zero", p, both),
        ("two rows, one of which costs inf", torch.cat([p, both]), torch.cat([q, p])),
        ("float64", half.to(torch.float64), biased.to(torch.float64)),
        ("a probability of 1e-30 by p, of 0 by q", rare, never),
    ):
        with case(name):
            check_kl_directions(kl_directions, *pair)
pair = torch.cat([p, both]).log(), torch.cat([q, p]).log()
check_states(kl_directions, *pair, what="kl_directions(log_p, log_q)")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for dtype, shape in ((torch.float32, (4, 3)), (torch.float64, (1, 7)), (torch.float64, (3, 1))):
    p, q = torch.randn(2, *shape, generator=generator, dtype=dtype).softmax(dim=-1).to(device)
    check_kl_directions(kl_directions, p, q)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `log_p.exp()` is p. Write the sum of the formula, over the last dimension.
# </details>
# <details><summary>Hint 2</summary>
#
# Where `log_p` is `-inf`, the product is `0 * -inf`. Put a 0 there: `torch.where` or `masked_fill`.
# </details>

# %% [markdown]
# ## 7. What does a loss estimate?
#
# A smoothed loss has its lowest point at a mixture, a weighted loss at shifted odds. Ask the same
# of a regression: if the model may only say *one* number c for all the data, which c is best? That
# number is what the loss estimates. Nine measurements, the last of them absurd:

# %%
data = torch.tensor([1.0, 2, 2, 3, 4, 5, 6, 7, 60])
c = torch.linspace(0, 64, 6401)[:, None]  # (candidate, 1), every hundredth
for loss in (F.mse_loss, F.l1_loss):
    price = loss(c.expand(-1, 9), data.expand(6401, -1), reduction="none").mean(dim=1)
    print(f"{loss.__name__:<9} best c: {c[price.argmin()].item():.2f}")
print("mean:", data.mean().item(), " median:", data.median().item())

# %% [markdown]
# The slope says why. The squared error pulls with 2(c - x): the pulls cancel at the **mean**, and
# the absurd measurement pulls hardest. The absolute error pulls with the same force from everywhere: the
# pulls cancel where as many are above as below, at the **median**, and 60 might be 6,000. Huber is
# in between.

# %%
losses = {"squared (mean)": F.mse_loss, "L1 (median)": F.l1_loss, "Huber": F.huber_loss}
figure, axes = plt.subplots(figsize=(6.5, 2.8))
for (name, loss), style in zip(losses.items(), ("-", "-", "--"), strict=True):
    price = loss(c.expand(-1, 9), data.expand(6401, -1), reduction="none").mean(dim=1)[:2000]
    (curve,) = axes.plot(
        c[:2000], (price - price.min()) / (price.max() - price.min()), style, label=name
    )
    axes.plot(c[price.argmin()], 0, "o", color=curve.get_color())
axes.plot(data[:8], torch.full((8,), -0.06), "|", color="#1a1a1a", markersize=9)
axes.set(xlabel="c, one answer for all (60 lies far to the right)", ylabel="price, scaled to 0 … 1")
axes.legend(fontsize=8)
show(
    figure,
    "The price of each constant. The squared error is lowest at 10, outside the crowd of eight "
    "measurements from 1 to 7; L1 and Huber are lowest at 4, in its middle.",
)

# %% [markdown]
# Now tilt it. Let a target *above* the prediction cost $q$ for each unit and a target *below* it
# $1 - q$. With $q = 0.75$ the pulls cancel where a quarter is above: at the **75 % quantile**. This
# is the *pinball* loss. A target 2 above costs 1.5, a target 2 below costs 0.5. It gives you a
# range instead of a point, from two models with $q = 0.1$ and $0.9$. Here are eighty points to draw
# lines through; six of them, on the right, are absurd.

# %%
generator = torch.Generator().manual_seed(3)
x = torch.rand(80, generator=generator) * 4
y = 1 + x + (0.2 + 0.3 * x) * torch.randn(80, generator=generator)
y[x.argsort()[-6:]] -= 9  # six absurd ones, at the right end


def fit_line(loss):
    line = torch.zeros(2, requires_grad=True)  # height at x = 0, slope
    optimizer = torch.optim.Adam([line], lr=0.05)
    for _ in range(600):
        optimizer.zero_grad()
        loss(line[0] + line[1] * x, y).backward()
        optimizer.step()
    return line.detach()


# %% nbgrader={"grade_id": "pull", "locked": true} jupyter={"source_hidden": true}
def pull(q):
    """Something with the slopes of the pinball loss, though not with its values."""
    return lambda prediction, target: (
        torch.where(target > prediction, -q, 1 - q) * prediction
    ).mean()


# %% [markdown]
# **Predict:** which of the five lines do the six points bend?

# %%
figure, axes = plt.subplots(figsize=(6.5, 3.2))
axes.plot(x, y, ".", color="#6b6b6b")
for q in (0.1, 0.9):
    losses[f"quantile {q}"] = pull(q)
for name, loss in losses.items():
    low, slope = fit_line(loss).tolist()
    axes.plot([0, 4], [low, low + 4 * slope], ":" if "quantile" in name else "-", label=name)
axes.set(xlabel="x", ylabel="y")
axes.legend(fontsize=8, loc="lower left")
show(
    figure,
    "Eighty points along a rising band, six far below it at the right. The line of the squared "
    "error is bent down by the six; L1 and Huber follow the band; the dotted line of the quantile "
    "0.9 follows its upper edge, that of 0.1 runs down to the six.",
)

# %% [markdown]
# The squared error gave up the band to please six points. The others kept to it. (L1 and Huber
# coincide.) The lower quantile runs down to the six, and rightly: at that end they are more
# than one in ten.
#
# A model may also say how sure it is: a mean and a *variance* for each prediction. The price of a
# Gaussian is $\frac12(\log v + (x - c)^2 / v)$, in `F.gaussian_nll_loss`. A large variance makes
# an error cheap, and the logarithm charges for it. For the nine measurements around their mean, 10:

# %%
nine, centre = torch.tensor([1.0, 2, 2, 3, 4, 5, 6, 7, 60]), torch.full((9,), 10.0)
print("their variance:", nine.var(correction=0).item())
for v in (100.0, 316.0, 1000.0):
    price = F.gaussian_nll_loss(centre, nine, torch.full((9,), v))
    print(f"variance {v:6}: {price:.3f}")

# %% [markdown]
# It is smallest at the variance of the data, so that is what it estimates. The third argument is a
# variance, not a standard deviation, and may not be negative: let the model predict $\log v$.
#
# > **Then and now.** *"A prediction of shape (N, 1) and a target of shape (N,) are fine, the loss
# > takes their mean."* It broadcasts them to N × N and compares everything with everything. It
# > warns today, and a long log hides the warning. What the model then learns is the best constant.

# %% tags=["shows-warning"]
prediction, target = torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([1.0, 2.0, 3.0])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print("a perfect prediction costs", round(F.mse_loss(prediction, target).item(), 4))
print(str(caught[0].message)[:104])

# %% [markdown]
# ### Exercise 10.8 — What it estimates ★★ · 12 min · 4 points
#
# **First predict**, for the nine measurements 1, 2, 2, 3, 4, 5, 6, 7, 60: the constant with the
# smallest mean price. For `"worst"` the price is the *largest* error alone. The last two are asked
# after 60 became 600.
#
# **Then write** `robust_regression(prediction, target, quantile)`, the mean pinball loss over all
# elements, of shape (), in float64 for float64.
#
# - `prediction` and `target` are float tensors of the same shape, of any number of dimensions; if
#   their shapes differ, raise a `ValueError`, whether or not they would broadcast.
# - `quantile` is a number between 0 and 1; its own rounding doesn't count.
# - The gradient by the prediction has to flow.
#
# Example: predictions (0, 0), targets (4, -2), quantile 0.75: (3 + 0.5) / 2 = 1.75.


# %% nbgrader={"grade_id": "try-robust", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_robust(prediction: torch.Tensor, target: torch.Tensor, quantile: float) -> tuple:
    """The loss and its gradient by the prediction."""
    leaf = prediction.detach().clone().requires_grad_()
    loss = robust_regression(leaf, target, quantile)
    return value_and_gradient(loss, [leaf], copies_of=[prediction])


# %% nbgrader={"grade_id": "robust-regression", "solution": true}
best_constant = {
    "squared": None,
    "L1": None,
    "Huber, delta=1": None,
    "quantile 0.25": None,
    "quantile 0.75": None,
    "worst": None,
    "squared, 600": None,
    "L1, 600": None,
}
### BEGIN SOLUTION
best_constant = dict(zip(best_constant, (10, 4, 4, 2, 6, 30.5, 70, 4), strict=True))
### END SOLUTION


def robust_regression(
    prediction: torch.Tensor, target: torch.Tensor, quantile: float
) -> torch.Tensor:
    """The mean pinball loss, of shape (); ValueError if the shapes differ."""
    ### BEGIN SOLUTION
    if prediction.shape != target.shape:
        raise ValueError(f"shapes differ: {tuple(prediction.shape)} and {tuple(target.shape)}")
    above = target - prediction
    return torch.maximum(quantile * above, (quantile - 1) * above).mean()
    ### END SOLUTION


# %% nbgrader={"grade_id": "robust-regression-check", "grade": true, "points": 2} jupyter={"source_hidden": true}
nine = [1, 2, 2, 3, 4, 5, 6, 7, 60]
because = {
    "squared": "the pulls cancel at the mean",
    "L1": "as many above as below",
    "Huber, delta=1": "far away it pulls like L1, near by it is symmetric here",
    "quantile 0.25": "a quarter of nine, 2.25, lies below: the third in order",
    "quantile 0.75": "6.75 lie below: the seventh in order",
    "worst": "only the two ends matter: half way between them",
    "squared, 600": "the mean moves by 540 / 9",
    "L1, 600": "600 is above, just as 60 was",
}
ordered = sorted(nine)
means, quantiles = [sum(nine) / 9, (sum(nine) + 540) / 9], [ordered[k] for k in (2, 4, 6)]
low, middle, high = quantiles
right = (means[0], middle, 4, low, high, (ordered[0] + ordered[-1]) / 2, means[1], middle)
truth = dict(zip(because, right, strict=True))
guesses = best_constant
if isinstance(guesses, dict):
    guesses = {n: g.item() if hasattr(g, "item") else g for n, g in guesses.items()}
check_predictions(guesses, truth, because)


# %% nbgrader={"grade_id": "robust-regression-check-2", "grade": true, "points": 2}
from course_utils.chapters.losses import check_pinball, check_unequal


def check_case(prediction, target, q):
    with forbid_changes(prediction, target):
        found = try_robust(prediction, target, q)
    check_pinball(found, prediction, target, q)


zero, three = torch.tensor([[0.0, 0.0, 0.0], [4.0, -2.0, 1.0]], device=device)
six = torch.arange(-1.5, 9, 2, device=device, dtype=torch.float64).view(2, 3) / 2.6
with every_case() as case:
    for q in (0.75, 0.5, 0.1, 0.01, 0.99, 0.001, 0.9999):
        with case("targets 4, -2 and 1"):
            check_case(zero, three, q)
    wide = (1e5 + six.flip(0) / 2, 1e5 + six)  # so much more: float32 would lose the digits
    cube = [part.repeat(2).view(1, 2, 3) for part in (1e3 * zero, 1e3 * three)]
    pairs = {"shape ()": (zero[0], three[0]), "(2, 3), float64": wide}
    for name, pair in {**pairs, "(1, 2, 3), targets up to 4000": cube}.items():
        with case(name):
            check_case(*pair, 0.875)
    check_unequal(robust_regression, case, device)
check_states(robust_regression, six.flip(0), six, 0.75, what="robust_regression(…, 0.75)")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for shape, q in (((), 0.3), ((7,), 0.95), ((2, 3, 2), 0.01)):
    check_case(*torch.randn(2, *shape, generator=generator, dtype=torch.float64).to(device), q)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For the predictions: sort the nine. Where do the pulls from the left and from the right cancel?
# </details>
# <details><summary>Hint 2</summary>
#
# Let `above = target - prediction`. The price is `q * above` where that is positive. What is it
# where `above` is negative? The larger of two products is right on both sides.
# </details>

# %% [markdown]
# ## 8. Near and far: losses of embeddings
#
# A face is not a class; there are too many. Let the network give each picture a vector, an
# **embedding**, so that pictures of one person are near to each other. What is to be made small?
# "The distance between two pictures of one person", you may say. **Predict** what a network
# does with that.


# %% nbgrader={"grade_id": "embedding-demo", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.losses import check_info_nce, check_triplets
from course_utils.chapters.losses import info_nce_truth, photos_of_persons


def embed(loss, steps):
    """Embeddings (person, picture, 2) after so many steps with pairs of pictures."""
    pictures = photos_of_persons()  # (person, picture, 8)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2))
    network[2].weight.detach().mul_(6)  # so that there is something to see before the training
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for step in range(steps):
        optimizer.zero_grad()
        loss(network(pictures[:, step % 10]), network(pictures[:, (step + 3) % 10])).backward()
        optimizer.step()
    return network(pictures).detach()


# %%
def pull_together(first, second):
    return (first - second).square().sum(dim=1).mean()


def triplets(first, second):  # the next person's picture is the far one
    return F.triplet_margin_loss(first, second, second.roll(1, dims=0), margin=1.0)


# %%
tries = {"before": triplets, "pull together": pull_together}
tries |= {"triplets": triplets, "InfoNCE": lambda a, b: info_nce_truth(a, b, 0.2)[0]}
figure, axes = plt.subplots(1, 4, figsize=(10, 2.7))
for ax, (name, loss) in zip(axes, tries.items(), strict=True):
    for person in embed(loss, steps=0 if name == "before" else 200):
        ax.plot(*person.T, ".")
    ax.set(title=name, xlim=(-8, 8), ylim=(-8, 8), aspect="equal", xticks=[], yticks=[])
show(
    figure,
    "Six persons with ten pictures each, in six colours. Before: mixed groups. Pull together: all "
    "sixty points in one spot. Triplets and InfoNCE: groups apart from each other.",
)

# %% [markdown]
# In the second picture sixty points share one spot. The loss is nearly 0, and the network can't
# tell any two people apart: the **degenerate solution**, or *collapse*. It was the best answer to
# the question that was asked. Each of these losses therefore needs a force that pushes apart.
#
# **Triplet loss** pushes by a margin: the price is $\max(0, d_+ - d_- + m)$ for the distances of
# an *anchor* to a vector of the same class and to a vector of another class. Most triplets soon cost 0
# and teach nothing. Instead take, for each anchor in the batch, the **hardest**: the *farthest* of the
# same class and the *nearest* of the others. Four points on a line at 0, 1, 3, 7, classes a, a, b,
# b, margin 1:

# %% topics=["loss-catalogue"]
places, classes = [0.0, 1.0, 3.0, 7.0], "aabb"
for n, (place, mine) in enumerate(zip(places, classes, strict=True)):
    own = max(abs(place - o) for k, o in enumerate(places) if classes[k] == mine and k != n)
    other = min(abs(place - o) for k, o in enumerate(places) if classes[k] != mine)
    print(f"at {place}: own {own}, other {other}, price {max(0, own - other + 1)}")

# %% [markdown]
# The mean over the four anchors is 3 / 4. And if everything collapses? Then both distances are 0
# and the price is the margin. **A triplet loss that stays at its margin has probably collapsed.**
#
# **InfoNCE** pushes by comparison. Two views of each example, one in `first`, its partner in the
# same row of `second`. The question is: *which row of `second` is my partner?* That is a
# classification. Its scores are cosines divided by a temperature. Naively, one row after the other,
# with the price of each:

# %% topics=["loss-catalogue"]
first, second = torch.tensor([[[2.0, 0.0], [0.0, 1.0]], [[3.0, 3.0], [0.0, 5.0]]])
for n, row in enumerate(first):
    cosines = torch.stack([F.cosine_similarity(row, other, dim=0) for other in second])
    price = F.cross_entropy(cosines / 0.5, torch.tensor(n))
    print("cosines", cosines, " price", round(price.item(), 4))

# %% [markdown]
# If everything collapses all cosines are 1, and the price is that of ignorance, log of the number
# of rows (exercise 10.1). The same division of scores by a temperature serves another purpose in
# distillation, where a student learns from a teacher: that is exercise 13.12.
#
# ### Exercise 10.9 — Hard triplets and InfoNCE ★★★ · 25 min · 5 points
#
# Two losses that push apart. Each returns a tensor of shape () and leaves its arguments as they
# are. They are float32, or float64; then the result is, too.
#
# **`metric_losses(embeddings, labels, margin)`**, of shapes (batch, n) and (batch,): the triplet
# loss with the hardest positive and negative for each anchor, by Euclidean distance (not squared).
# Loops are allowed.
#
# - An anchor is not its own positive.
# - An anchor without a positive or without a negative is left out: the mean is over the remaining
#   anchors, and 0 if there are none.
# - The gradient flows to anchor, positive and negative (where several are equally hard, to any of
#   them), and is finite, also where two embeddings are equal.
#
# **`info_nce(first, second, temperature)`**, both (batch, n), no row of them zero: the mean price
# over the rows of `first`, as in the loop above.
#
# - The temperature may be as small as 0.01. The gradient flows to both arguments.
# - Not allowed here: a Python loop over the rows. (The check counts operators: they must be as many
#   for 20 rows as for 4.)
#
# Examples: the two walks above: 0.75, and 0.33 for the mean of the two prices.


# %% nbgrader={"grade_id": "try-metric", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_metric(embeddings: torch.Tensor, labels: torch.Tensor, margin: float) -> tuple:
    """The hard triplet loss, and its gradient by the embeddings, if there is one."""
    leaf = embeddings.detach().clone().requires_grad_()
    loss = metric_losses(leaf, labels, margin)
    if isinstance(loss, torch.Tensor) and not loss.requires_grad:
        return loss, None
    return value_and_gradient(loss, [leaf], copies_of=[embeddings])


@runs_with_the_answer
def try_info_nce(first: torch.Tensor, second: torch.Tensor, temperature: float) -> tuple:
    """The loss, and its gradients by both arguments."""
    leaves = [part.detach().clone().requires_grad_() for part in (first, second)]
    loss = info_nce(*leaves, temperature)
    return value_and_gradient(loss, leaves, "info_nce", copies_of=(first, second))


# %% nbgrader={"grade_id": "metric-losses", "solution": true}
def metric_losses(embeddings: torch.Tensor, labels: torch.Tensor, margin: float) -> torch.Tensor:
    """Triplet loss with the hardest positive and negative of each anchor; of shape ()."""
    ### BEGIN SOLUTION
    distance = torch.cdist(embeddings, embeddings, compute_mode="donot_use_mm_for_euclid_dist")
    same = labels[:, None] == labels
    own = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    kept = own.any(dim=1) & ~same.all(dim=1)
    if not kept.any():
        return 0 * embeddings.sum()
    farthest = distance.masked_fill(~own, -torch.inf).amax(dim=1)
    nearest = distance.masked_fill(same, torch.inf).amin(dim=1)
    return (farthest - nearest + margin)[kept].clamp(min=0).mean()
    ### END SOLUTION


def info_nce(first: torch.Tensor, second: torch.Tensor, temperature: float) -> torch.Tensor:
    """The mean price of finding each row's partner among the rows of ``second``; of shape ()."""
    ### BEGIN SOLUTION
    cosines = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T
    return F.cross_entropy(cosines / temperature, torch.arange(len(first), device=first.device))
    ### END SOLUTION


# %% nbgrader={"grade_id": "metric-losses-check", "grade": true, "points": 3}
def check_case(embeddings, labels, margin=1.0):
    with forbid_changes(embeddings, labels):
        found = try_metric(embeddings, labels, margin)
    check_triplets(found, embeddings, labels, margin)


line = torch.tensor([[0.0], [1.0], [3.0], [7.0]], device=device)
near = torch.tensor([[0.0], [3.0], [4.0], [9.0], [4.5], [5.25]], device=device)
few = torch.tensor([[0.0], [3.0], [3.5], [9.0]], device=device)
plane = torch.cat([near, near.square().remainder(4)], dim=1)
with every_case() as case:
    for name, places, labels in (
        ("the walk", line, [0, 0, 1, 1]),
        ("three of one class", line, [0, 0, 0, 1]),
        ("three each of two classes", near, [0, 0, 1, 1, 0, 1]),
        ("the same in two dimensions, float64", plane.double() / 3, [0, 0, 1, 1, 0, 1]),
        ("anchors without a positive; labels -1, 2, 9", few, [-1, -1, 2, 9]),
        ("two equal embeddings of one class", line[[0, 0, 1, 2]], [0, 0, 1, 1]),
        ("everything collapsed", torch.ones(4, 2, device=device), [0, 0, 1, 1]),
        ("one class only, float64", line.to(torch.float64), [0, 0, 0, 0]),
        ("each its own class", line, [0, 1, 2, 3]),
        ("each its own class, around 0", line - line.mean(), [0, 1, 2, 3]),
        ("far apart, up to 700,000", 1e5 * line, [0, 0, 1, 1]),
        ("far from the origin", line / 3 + 1000, [0, 0, 1, 1]),
        ("labels of 2049 and 2305", line, [2049, 2049, 2305, 2305]),
        ("labels of 2 ** 24 and one more", line, [2**24, 2**24, 2**24 + 1, 2**24 + 1]),
    ):
        with case(name):
            check_case(places, torch.tensor(labels, device=device))
    for margin in (0.25, 3.0, 0.05):
        with case(f"the walk, margin {margin}"):
            check_case(line, torch.tensor([0, 0, 1, 1], device=device), margin)
labels, what = (
    torch.tensor([0, 0, 1, 1, 0, 1], device=device),
    "metric_losses(embeddings, labels, 1.0)",
)
check_states(metric_losses, plane, labels, 1.0, what=what)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for n, margin, dtype in (
    (9, 0.5, torch.float32),
    (6, 3.0, torch.float64),
    (12, 0.2, torch.float64),
):
    places = torch.randn(n, 3, generator=generator, dtype=dtype).to(device)
    check_case(places, torch.randint(3, (n,), generator=generator).to(device), margin)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "metric-losses-check-2", "grade": true, "points": 2}
from course_utils.chapters.losses import check_no_loop


def check_pairs(first, second, temperature):
    with forbid_changes(first, second):
        found = try_info_nce(first, second, temperature)
    check_info_nce(found, first, second, temperature)


pair = torch.tensor([[[2.0, 0.0], [0.0, 1.0]], [[3.0, 3.0], [0.0, 5.0]]], device=device)
with every_case() as case:
    for rows, temperature in ((2, 0.5), (2, 2.0), (2, 0.01), (1, 1.0)):
        with case(f"the walk, {rows} rows, temperature {temperature}"):
            check_pairs(*(pair.double() if temperature == 2 else pair)[:, :rows] / 3, temperature)
    short = "five very short rows, temperature 0.01"
    for name, scale, low in (("five rows of three numbers", 1.0, 0.5), (short, 1e-4, 0.01)):
        with case(name):
            five = torch.arange(1.0, 31, device=device).double().sin().view(2, 5, 3)
            check_pairs(*(scale * five), low)
    with case("the number of operators"):
        check_no_loop(info_nce, device)
check_states(info_nce, *pair, 0.5, what="info_nce(first, second, 0.5)")
### BEGIN HIDDEN TESTS
check_pairs(*torch.randn(2, 8, 3, generator=torch.Generator().manual_seed(8)).to(device), 0.01)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `labels[:, None] == labels` is a table (batch, batch) of who belongs together. `torch.cdist` gives
# the distances, and its slope at 0 is 0.
# </details>
# <details><summary>Hint 2</summary>
#
# Before you take the largest of a row, fill what doesn't count with `-inf`; before the smallest,
# with `inf`. A 0 there would win.
# </details>
# <details><summary>Hint 3</summary>
#
# All cosines at once: rows of length 1, and one matrix product. Which column is right for row n?
# </details>

# %% [markdown]
# ## 9. What is added to the loss
#
# Often the number that is made small has a second part, which has nothing to do with the data: a
# **penalty** on the weights. The sum of their squares (L2) keeps all of them small. The sum of
# their absolute values (L1) wants many of them to be exactly 0. Both together are called *elastic
# net*.
#
# > **Often said.** *"For L1, make an `L1Loss`, then add `sum(abs(p))` of all parameters to the loss."*
# > The object is never used. And there is no coefficient: the penalty isn't added to the loss, it
# > drowns it.

# %% topics=["l1-regularisation"] errata=["l1-regulariser"]
torch.manual_seed(0)
model, label = nn.Linear(100, 10), torch.zeros(8, dtype=torch.long)
penalty = sum(p.abs().sum() for p in model.parameters())
print("data:      ", round(F.cross_entropy(model(torch.randn(8, 100)), label).item(), 1))
print("sum of |p|:", round(penalty.item(), 1))
print("with a coefficient of 0.001:", round(0.001 * penalty.item(), 2))

# %% [markdown]
# Nor should *all* parameters be penalised. A bias sets the level of an output; pulling it to 0 makes
# the model wrong and no simpler. The scale of a normalisation layer is 1 when it does nothing. The
# usual rule: penalise what has two or more dimensions, the weights of linear, convolutional and
# embedding layers; leave vectors alone.
#
# Now why should L1 give zeros and L2 not? Look at the slopes. L2 pulls a weight w with 2w: the
# nearer to 0, the weaker. It never gets there. L1 pulls with the same force all the way, so it
# arrives. But does it *stay*? **Predict** the last three values of a weight that only the penalty
# pulls, with steps of 0.3:

# %% topics=["l1-regularisation"]
w, path = torch.tensor(1.0, requires_grad=True), []
for _ in range(8):
    (slope,) = torch.autograd.grad(w.abs(), w)
    w = (w - 0.3 * slope).detach().requires_grad_()
    path.append(round(w.item(), 1))
print(path)

# %% [markdown]
# It jumps back and forth across 0. A gradient step with L1 gives *small* weights, no zeros. To get
# zeros, the step has to know where to stop. First take the gradient step of the data part alone.
# Then move every weight towards 0 by learning rate times coefficient, **but not beyond 0**. This
# is *soft thresholding*, the *proximal* step. A step of 0.3 makes 1 into 0.7, -0.5 into -0.2, and
# 0.1 into 0.
#
# Forty weights, five of which matter, and sixty noisy measurements. Four ways:

# %%
generator = torch.Generator().manual_seed(0)
inputs, truth = torch.randn(60, 40, generator=generator), torch.zeros(40)
truth[:5] = torch.tensor([3.0, -2.0, 1.5, -1.0, 2.0])
outputs = inputs @ truth + 0.5 * torch.randn(60, generator=generator)


def descend(l1=0.0, l2=0.0, proximal=False, rate=0.05):
    w = torch.zeros(40, requires_grad=True)
    for _ in range(800):
        loss = F.mse_loss(inputs @ w, outputs) + l2 * w.square().sum()
        loss = loss if proximal else loss + l1 * w.abs().sum()
        (slope,) = torch.autograd.grad(loss, w)
        w = (w - rate * slope).detach()
        w = (F.softshrink(w, rate * l1) if proximal else w).requires_grad_()
    return w.detach()


# %% topics=["l1-regularisation"]
ways = {
    "no penalty": {},
    "L2": {"l2": 0.3},
    "L1, gradient steps": {"l1": 0.3},
    "L1, proximal steps": {"l1": 0.3, "proximal": True},
}
figure, axes = plt.subplots(figsize=(6.5, 3.2))
for (name, options), style in zip(ways.items(), ("-", "--", ".-", "o-"), strict=True):
    w = descend(**options)
    sizes = w.abs().sort(descending=True).values
    axes.semilogy(range(1, 41), sizes.where(sizes > 0, torch.nan), style, label=name)
    print(
        f"{name:<20}{int((w == 0).sum()):3} zeros, distance to the truth {(w - truth).norm():.2f}"
    )
axes.set(xlabel="weight, from the largest on", ylabel="size")
axes.legend(fontsize=8)
show(
    figure,
    "Sizes of the forty weights, sorted, on a log scale. Without a penalty and with L2 the curves "
    "fall slowly. L1 by gradient steps: from the sixth weight on they are below 0.1, none is zero. "
    "Proximal steps: the curve ends after nine weights, the other 31 are exactly zero.",
)

# %% [markdown]
# In the picture the last curve ends after nine weights; behind it there is nothing to draw. The
# gradient steps' small weights jump about, as above. The step makes the zeros, not the loss
# alone. And both L1 fits draw the five true weights a
# little towards 0: that is the price of a penalty.
#
# ### Exercise 10.10 — Penalise ★★ · 10 min · 4 points
#
# **`regularise(model, l1, l2)`** is the penalty: `l1` times the sum of |w|, plus `l2` times the sum
# of w², over all entries of the model's parameters that have at least two dimensions and aren't
# frozen (`requires_grad` is `True`).
#
# - A parameter that is used twice counts once. Modules may be nested.
# - Return a tensor of shape (), float64 if they are, through which a gradient flows to them, even
#   where `l1` and `l2` are 0; where there are no such parameters, a zero.
# - Leave the model as it is, its `.grad` and its mode (train or eval) too.
#
# **`shrink(weight, step)`** is the proximal step: soft thresholding, in a new tensor of the same
# shape and dtype. `step` is a number, 0 or more.
#
# Example: for a linear layer with weight [[1, -2]] and bias [7], `regularise(model, 0.1, 0.01)` is
# 0.1 · 3 + 0.01 · 5 = 0.35. And `shrink` of (1, -0.5, 0.1) by 0.3 is (0.7, -0.2, 0).


# %% nbgrader={"grade_id": "try-regularise", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.losses import penalty_model, run_penalty


@runs_with_the_answer
def try_regularise(kind: str, l1: float, l2: float) -> tuple:
    """The penalty, its gradients by name, and what of the model the call changed."""
    return run_penalty(regularise, kind, l1, l2, device)


# %% nbgrader={"grade_id": "regularise", "solution": true}
def regularise(model: nn.Module, l1: float, l2: float) -> torch.Tensor:
    """l1 · Σ|w| + l2 · Σw² over trainable parameters of two or more dimensions; of shape ()."""
    ### BEGIN SOLUTION
    parameters = list(model.parameters())
    total = torch.zeros((), device=parameters[0].device if parameters else None)
    for parameter in parameters:
        if parameter.dim() > 1 and parameter.requires_grad:
            total = total + l1 * parameter.abs().sum() + l2 * parameter.square().sum()
    return total
    ### END SOLUTION


def shrink(weight: torch.Tensor, step: float) -> torch.Tensor:
    """``weight``, moved towards 0 by ``step`` but not beyond; a new tensor."""
    ### BEGIN SOLUTION
    return weight.sign() * (weight.abs() - step).clamp(min=0)
    ### END SOLUTION


# %% nbgrader={"grade_id": "regularise-check", "grade": true, "points": 3}
from course_utils.chapters.losses import check_penalty


def check_case(kind, l1, l2):
    check_penalty(try_regularise(kind, l1, l2), penalty_model(kind, device), l1, l2)


with every_case() as case:
    for kind in (
        *("linear", "nested", "tied", "frozen", "embedding and bilinear", "vectors only"),
        *("transposed and attention", "one weight in two modules", "parameters in no layer"),
        *("two equal layers", "a weight of zeros", "float64", "no parameters"),
        "a single parameter",
    ):
        for l1, l2 in ((0.1, 0.01), (0.0, 0.5), (0.2, 0.0)):
            with case(f"model {kind!r}"):
                check_case(kind, l1, l2)
    with case("model 'linear', both are 0"):
        check_case("linear", 0.0, 0.0)
### BEGIN HIDDEN TESTS
for kind in ("linear", "nested", "tied", "frozen", "embedding and bilinear", "vectors only"):
    for l1, l2 in ((1e-3, 3.0), (0.0, 0.0)):
        check_case(kind, l1, l2)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "regularise-check-2", "grade": true, "points": 1}
from course_utils.chapters.losses import check_shrink

with every_case() as case:
    for name, weight, step in (
        ("three weights", torch.tensor([1.0, -0.5, 0.1], device=device), 0.3),
        ("a step of 0", torch.tensor([[1.0, -2.0], [0.0, 0.5]], device=device), 0.0),
        ("two dimensions", torch.tensor([[1.0, -2.0], [0.0, 0.5]], device=device), 0.7),
        ("shape (), float64", torch.tensor(-2.0, dtype=torch.float64, device=device), 0.5),
        ("a large step", torch.tensor([5.0, -3.0, 1.0], device=device), 2.0),
        ("half precision", torch.tensor([[2.0, -0.5], [0.25, -4.0]], device=device).half(), 0.5),
        ("beyond float32", torch.tensor([-2e200], dtype=torch.float64, device=device), 0.5),
    ):
        with case(name):
            check_shrink(shrink, weight, step)
weight = torch.tensor([[1.0, -2.0], [0.0, 0.5]], device=device)
check_states(shrink, weight, 0.7, what="shrink(weight, 0.7)")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for shape in ((), (4, 5), (0, 3)):
    weight = torch.randn(shape, generator=generator, dtype=torch.float64).to(device)
    check_shrink(shrink, weight, 0.4)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `model.parameters()` gives each parameter once, at any depth, used twice or not.
# </details>
# <details><summary>Hint 2</summary>
#
# Start from a zero, so that there is a tensor to return in any case: a model may have no
# parameters at all. (Ask the parameters for their device only if there are any.)
# </details>
# <details><summary>Hint 3</summary>
#
# To shrink: what happens to the size |w|, with a floor at 0? Then give it back its sign.
# </details>

# %% [markdown]
# An L2 penalty can also be had from the optimizer, as `weight_decay`. When that is the same and
# when it isn't is a question of chapter 11.

# %% [markdown]
# ## 10. A loss of your own · core
#
# By now you could write the loss that says what you mean. A loss is a function from tensors to a
# tensor of shape (). If its steps are differentiable, autograd does the rest. An example: the
# logarithm of cosh, round near 0 and straight further out. **Predict** what is printed for an
# error of 100:


# %% topics=["custom-loss"]
def naive_log_cosh(prediction, target):
    return torch.cosh(prediction - target).log().mean()


def log_cosh(prediction, target):
    error = (prediction - target).abs()
    return (error + F.softplus(-2 * error) - math.log(2)).mean()


# %% topics=["custom-loss"]
zero = torch.zeros(1)
for error in (torch.tensor([0.5]), torch.tensor([100.0])):
    print("naive:", naive_log_cosh(error, zero), " stable:", log_cosh(error, zero))

# %% [markdown]
# `inf`: cosh(100) doesn't fit into float32. A loss of your own needs what section 3 needed: a try
# on extreme inputs. The second form is the same function written so that nothing overflows.
#
# **Is the gradient right?** `gradcheck` compares it with difference quotients. It needs float64,
# for in float32 the quotients are mostly rounding. Here it finds a loss that lost a part of its
# graph:

# %% topics=["custom-loss"] tags=["shows-false"]
error = torch.tensor([0.5, -2.0, 3.0], dtype=torch.float64, requires_grad=True)
zeros = torch.zeros_like(error)
print("log_cosh:", torch.autograd.gradcheck(log_cosh, (error, zeros)))
cut_off = lambda x, y: ((x - y).detach().tanh() * (x - y)).mean()
print("cut off: ", torch.autograd.gradcheck(cut_off, (error, zeros), raise_exception=False))

# %% [markdown]
# **Function or module?** A function is enough, as long as there is nothing to keep. If the loss has
# options or tensors to keep, make it a module: the options are set where it is made, and a tensor
# that is registered as a **buffer** moves along with `.to(...)`.


# %% topics=["custom-loss", "loss-on-device"]
class WeightedLogCosh(nn.Module):
    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("weight", weight)

    def forward(self, prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return log_cosh(self.weight * prediction, self.weight * target)


# %% [markdown]
# **Must a loss be moved to the device?** Only if it holds tensors. `nn.CrossEntropyLoss()` holds
# none. With `weight=` it holds a tensor, which stays behind if you forget it. The device `meta`,
# which has shapes and no numbers, plays the GPU here:

# %% topics=["loss-on-device"]
weight = torch.tensor([1.0, 2.0])
for loss in (nn.CrossEntropyLoss(), nn.CrossEntropyLoss(weight), WeightedLogCosh(weight)):
    held = {name: buffer.device.type for name, buffer in loss.to("meta").named_buffers()}
    print(f"{type(loss).__name__} holds {held} and trains {len(list(loss.parameters()))}")

# %% topics=["loss-on-device"]
logits, label = torch.zeros(1, 2, device="meta"), torch.zeros(1, dtype=torch.long, device="meta")
try:
    nn.CrossEntropyLoss(weight)(logits, label)
except RuntimeError as error:
    print("left behind:", error)

# %% [markdown]
# A tensor that is only an attribute, `self.weight = weight`, doesn't move. Nor does a tensor that
# `forward` makes anew by `torch.tensor(...)` without a device. And a *Parameter* moves but is
# trained: an optimizer that gets it can learn the weight 0, and the loss is small at last.
#
# ### A loss for wrong labels
#
# Now a loss that is worth having. Suppose that four labels in ten are wrong. Cross-entropy charges
# $-\log p$, without limit: the worst-fitting examples, which are the wrong labels, pull hardest.
# In the end the network learns them by heart. The price $1 - p$ has a limit. But where p is small
# its pull on the scores is small, too, so the network learns slowly. **Generalised cross-entropy**
# falls in between, by a number q:
#
# $$\frac{1 - p^{\,q}}{q}$$
#
# For q = 1 it is $1 - p$. **Predict:** what becomes of it for q near 0?

# %%
p = torch.linspace(0.005, 1, 400)
figure, axes = plt.subplots(figsize=(6, 3))
axes.plot(p, -p.log(), color="#1a1a1a", label="-log p")
for q in (0.01, 0.3, 0.7, 1.0):
    axes.plot(p, (1 - p**q) / q, "--", label=f"q = {q}")
axes.set(xlabel="probability that the label got", ylabel="price", ylim=(0, 5))
axes.legend()
show(
    figure,
    "The price over the probability: -log p rises without limit towards 0. With q = 0.01 the curve "
    "lies on it; with q = 0.3, 0.7 and 1 it ends near 2.7, 1.4 and 1.",
)

# %% [markdown]
# It becomes cross-entropy. A walk for p = 0.25 and q = 0.5: the root of 0.25 is 0.5, and (1 - 0.5)
# / 0.5 = 1. A trap: a very wrong score makes p underflow to 0, and the slope of a root at 0 is
# infinite. Infinity times 0 is `nan`. Since $p^q = \exp(q \log p)$, there is a way round.

# %%
logits = torch.tensor([[200.0, 0.0]], requires_grad=True)
p = logits.softmax(dim=1)[0, 1]
print("p =", p.item(), " gradient:", torch.autograd.grad((1 - p**0.5) / 0.5, logits)[0].tolist())

# %% [markdown]
# ### Exercise 10.11 — A loss of your own ★★ · 15 min · 5 points · core
#
# **`custom_loss(logits, target, weight, q)`** is the generalised cross-entropy of `logits` (batch,
# classes), float32 or float64, and class numbers `target` (batch,). p is the softmax probability of
# the target's class, and 0 < q ≤ 1.
#
# - `weight` has one number for each class, in the dtype of `logits`, or is `None`. The mean is like
#   that of `F.cross_entropy`: prices times the weights of their targets, divided by the sum of these
#   weights.
# - Value and gradient are finite for scores up to ±1000. Return a tensor of shape (), float64 for
#   float64 logits.
#
# **`CustomLoss(weight, q)`** is the same as a module: `CustomLoss(weight, q)(logits, target)`. The
# weight, if there is one, moves with `.to(...)`; nothing in the module is trained, not even a weight
# that came as an `nn.Parameter`.
#
# Both pass `gradcheck`. Leave the arguments as they are. Example: logits [[log 3, 0]], target [1],
# q = 0.5: p is 0.25, and the price is 1.


# %% nbgrader={"grade_id": "tensors-left", "locked": true} jupyter={"source_hidden": true}
def tensors_left(module: nn.Module) -> list[str]:
    """Names of tensors in a module, and in those inside it, that don't go along to meta."""
    left = []
    for part in module.to("meta").modules():
        for name, value in {**vars(part), **part._buffers, **part._parameters}.items():
            values = [*value.values()] if isinstance(value, dict) else value
            values = values if isinstance(values, (list, tuple)) else [value]
            tensors = [held for held in values if isinstance(held, torch.Tensor)]
            left += [name for held in tensors if not held.is_meta]
    return left


# %% nbgrader={"grade_id": "try-custom-loss", "locked": true} jupyter={"source_hidden": true}
import copy

from course_utils.chapters.losses import after_an_earlier_batch, check_generalised
from course_utils.chapters.losses import left_on_the_cpu, made_loss, trained_as_given


@runs_with_the_answer
def try_custom_loss(logits: torch.Tensor, target: torch.Tensor, *options) -> dict:
    """Values, gradients and gradcheck's word on function and module, and what the module holds."""
    module, fresh = (made_loss(CustomLoss, device, *options).eval() for _ in range(2))
    made = tensors_left(copy.deepcopy(fresh))
    kept = after_an_earlier_batch(module, fresh, logits, target, *options)
    CustomLoss(None, 0.9)  # another, which must not matter
    calls = {"function": lambda z, y: custom_loss(z, y, *options), "module": module}
    found = {"as": trained_as_given(CustomLoss, device, *options)}
    for name, call in calls.items():
        leaf = logits.detach().clone().requires_grad_()
        found[name] = list(value_and_gradient(call(leaf * 1, target), [leaf], f"the {name}"))
    options = [part.double() if isinstance(part, torch.Tensor) else part for part in options]
    fine = logits.detach().double().clamp(-5, 5).requires_grad_(), target
    module.double()
    for name, call in calls.items():
        found[name].append(torch.autograd.gradcheck(call, fine, raise_exception=False))
    found["trained"] = sum(parameter.requires_grad for parameter in module.parameters())
    found["behind"] = left_on_the_cpu(copy.deepcopy(module), fine[0].detach(), target)
    left = tensors_left(module)
    come = ", ".join(name for name in left if name not in made)
    return {**found, "left": left, "kept": f" ({come})" if come else kept}


# %% nbgrader={"grade_id": "custom-loss", "solution": true}
def custom_loss(
    logits: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None, q: float = 0.7
) -> torch.Tensor:
    """Generalised cross-entropy, weighted mean; of shape ()."""
    ### BEGIN SOLUTION
    log_p = logits.log_softmax(dim=1).gather(1, target[:, None])[:, 0]
    price = -torch.expm1(q * log_p) / q
    weight = torch.ones_like(price) if weight is None else weight[target]
    return (weight * price).sum() / weight.sum()
    ### END SOLUTION


class CustomLoss(nn.Module):
    """The same as a module that keeps the weight and q."""

    def __init__(self, weight: torch.Tensor | None = None, q: float = 0.7) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.register_buffer("weight", weight)
        self.q = q
        ### END SOLUTION

    def forward(self, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """The loss of a batch; of shape ()."""
        ### BEGIN SOLUTION
        return custom_loss(logits, target, self.weight, self.q)
        ### END SOLUTION


# %% nbgrader={"grade_id": "custom-loss-check", "grade": true, "points": 5}
z = torch.tensor([[1.0, 0.0], [-1.0, 2.0], [0.5, 0.0]], device=device)
y, w = torch.tensor([0, 0, 1], device=device), torch.tensor([1.0, 4.0], device=device)
with every_case() as case:
    for name, *args in (
        ("the example", z[2:] * 2 * math.log(3), y[2:], None, 0.5),
        ("weights 1 and 4", z, y, w, 0.7),
        ("one row, weights 1 and 4", z[2:], y[2:], w, 0.5),
        ("three classes, none of the last, q = 1", z.repeat(1, 2)[:, :3], y, None, 1.0),
        ("three classes, q = 0.4", z.repeat(1, 2)[:, :3], 2 - y, None, 0.4),
        ("float64", z.to(torch.float64) / 3, y, w.double() + 0.1, 0.3),
        ("scores up to 1000", 500 * z, y, None, 0.5),
        ("scores up to 1000, a small q", 500 * z, y, w / 1e6, 0.02),
        ("twelve classes", z.repeat(1, 6), 11 - y, None, 0.6),
        ("weight and q left out", z, y),
    ):
        with case(name):
            check_generalised(try_custom_loss, *args)
check_states(lambda z, y, w: custom_loss(z, y, w.detach(), 0.7), z, y, w, what="custom_loss(…)")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(0)
for classes, q, dtype in ((4, 0.3, torch.float32), (6, 0.1, torch.float64)):
    z = 3 * torch.randn(7, classes, generator=generator, dtype=dtype).to(device)
    for w in (None, 0.5 + torch.rand(classes, generator=generator, dtype=dtype).to(device)):
        check_generalised(try_custom_loss, z, z.sin().argmax(dim=1), w, q)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `log_softmax`, then pick the target's entry of each row. `exp(q * log_p)` is p to the power of q,
# and it has a slope everywhere.
# </details>
# <details><summary>Hint 2</summary>
#
# The weight of each row is `weight[target]`.
# </details>
# <details><summary>Hint 3</summary>
#
# `register_buffer` also takes `None`. `forward` may call your function.
# </details>

# %% [markdown]
# ### The payoff: digits with wrong labels
#
# Scikit-learn's handwritten digits, 1,200 to learn from. Four in ten get a wrong label, drawn at
# random. The other digits, with true labels, are for testing. A small network learns with
# cross-entropy, and once more with your loss (or the library's parts, if you skipped the
# exercise). Nothing else differs. **Predict** both curves.

# %% nbgrader={"grade_id": "digits", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.losses import spoilt_digits


def accuracy_by_epoch(loss, epochs=60) -> list[float]:
    """Train a small network with ``loss``; its accuracy on true labels after each epoch."""
    pictures, given, test, truth = (part.to(device) for part in spoilt_digits(share=0.4))
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    generator, accuracy = torch.Generator().manual_seed(1), []
    for _ in range(epochs):
        for batch in torch.randperm(1200, generator=generator).split(100):
            optimizer.zero_grad()
            loss(network(pictures[batch]), given[batch]).backward()
            optimizer.step()
        with torch.no_grad():
            accuracy.append((network(test).argmax(dim=1) == truth).float().mean().item())
    return accuracy


# %% nbgrader={"grade_id": "or-the-library", "locked": true} jupyter={"source_hidden": true}
def robust_loss(logits, target, q=0.7):
    """The learner's loss where there is one that works, else the same from library parts."""
    try:
        value = custom_loss(logits, target, None, q)
        if isinstance(value, torch.Tensor) and value.shape == () and value.requires_grad:
            return value
    except Exception:
        pass
    log_p = -F.cross_entropy(logits, target, reduction="none")
    return (-torch.expm1(q * log_p) / q).mean()


# %% tags=["nbval-ignore-output"]
curves = {"cross-entropy": accuracy_by_epoch(F.cross_entropy)}
curves["yours, q = 0.7"] = accuracy_by_epoch(robust_loss)
for name, curve in curves.items():
    print(f"{name:<15} best {max(curve):.2f}  after 60 epochs {curve[-1]:.2f}")

# %% tags=["nbval-ignore-output"]
figure, axes = plt.subplots(figsize=(6.5, 3))
for (name, curve), colour in zip(curves.items(), ("#b04500", "#0072b2"), strict=True):
    axes.plot(range(1, 61), curve, color=colour, label=name)
axes.set(xlabel="epoch", ylabel="right on clean digits", ylim=(0.6, 1))
axes.set_title("four labels in ten are wrong")
axes.legend(loc="lower center")
show(
    figure,
    "Accuracy over 60 epochs. Cross-entropy rises to about 0.92 and then falls to about 0.84. "
    "Generalised cross-entropy rises to about 0.95 and stays above 0.9.",
)

# %% [markdown]
# Cross-entropy's curve turns and falls, while its training loss keeps getting smaller: it is busy
# learning the wrong labels. Both networks did what they were asked. Only the second was asked for what was
# meant.

# %% [markdown]
# ## Heard elsewhere
#
# *"A float prediction against a double target raises a scalar-type error."* It did. Today the loss
# is promoted to float64 without a word, and the gradients stay float32. A layer still refuses.

# %% errata=["float-double-target"]
x = torch.zeros(3, requires_grad=True)
loss = F.mse_loss(x, torch.ones(3, dtype=torch.float64))
loss.backward()
print("loss:", loss.dtype, " gradient:", x.grad.dtype)

# %% errata=["float-double-target"]
try:
    nn.Linear(2, 2)(torch.zeros(1, 2, dtype=torch.float64))
except RuntimeError as error:
    print("a layer:", error)

# %% [markdown]
# *"For L2, start from `FloatTensor(1)` and add `torch.sum(torch.pow(W, 2))` for every parameter."*
# `torch.FloatTensor(1)` is one number of whatever was in memory, and `W` isn't a name in the loop.
# Start from nothing; Python's `sum` does.

# %% errata=["l2-manual"]
model = nn.Linear(2, 2)
try:
    penalty = sum(torch.sum(torch.pow(W, 2)) for parameter in model.parameters())
except NameError as error:
    print(error)

# %% errata=["l2-manual"]
penalty = 1e-4 * sum(p.square().sum() for p in model.parameters() if p.dim() > 1)
print("hangs on the graph:", penalty.requires_grad)

# %% [markdown]
# ## What to take home
#
# | question | answer |
# | --- | --- |
# | mean over what? | all elements; for cross-entropy the weights of the targets that count |
# | what does it take? | `cross_entropy`, `…_with_logits`: scores. `kl_div`: log q first, then p, `"batchmean"` |
# | where is it smallest? | squared: mean. L1: median. Pinball: quantile. Cross-entropy: the true probabilities |
# | what is the smallest value? | 0 for sure targets; the targets' entropy for soft ones |
# | and at the first step? | log of the number of classes |
# | what does a weight change? | the odds; so set the logits back, or move the threshold instead |
# | what if it is empty? | distances collapse to 0: something has to push apart |
# | what is added? | a coefficient times weights, never biases; zeros need a proximal step |
# | does it move? | to the device if it holds tensors: buffers |
#
# **Three mistakes to remember**
#
# 1. Softmax before `cross_entropy`. It learns, slowly, and the worst mistakes teach nothing.
# 2. A mean of means. Carry sums and counts, and divide once.
# 3. A mask by multiplication. `nan` times 0 is `nan`; pick first, compute afterwards.
#
# **Read more.** PyTorch's documentation of `torch.nn` lists all losses, with formulas. Müller et
# al., *When Does Label Smoothing Help?* Lin et al., *Focal Loss for Dense Object Detection*. Guo
# et al., *On Calibration of Modern Neural Networks*. Hermans et al., *In Defense of the Triplet
# Loss*. Oord et al., *Representation Learning with Contrastive Predictive Coding*. Zhang and
# Sabuncu, *Generalized Cross Entropy Loss*. Zhang et al., *mixup*.
#
# Next: optimizers. You know now what is made small; the next question is in which direction to step, and how
# far.
