# ---
# jupyter:
#   course:
#     title: Training
#     minutes: 240
#     core: 150
# ---

# %% [markdown]
# # Training: if it stopped here, could you say what happened, and resume?
#
# A training run is a loop of five lines. It is also a process that runs for hours, is killed by a
# scheduler at three in the morning, reports a number that decides what you do next, and leaves a
# file that is all you have. This chapter is about the rest of the loop: numbers that you can trust,
# files that are never broken, and a run that continues as if nothing had happened.
#
# **After this chapter you can**
#
# - tell from a minute's training on one batch what is wrong with a set-up;
# - write a loop whose averages are right, whose modes are right, and which keeps no graph;
# - save so that a kill at any moment leaves a whole file, and resume to the last bit;
# - say which operations autocast runs in which precision, and follow the loss scaler step by step;
# - use averaged weights, mixed images, a pretrained backbone and a teacher.
#
# **It leans on** chapters 08 to 12: modules, losses, optimizers, loaders. **Time:** four hours with
# all twelve exercises. The sections and exercises marked **core** take two and a half; you can skip
# the rest, and any exercise.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_close, check_equal, check_predictions, check_raises, device
from course_utils import check_states, every_case, forbid_changes, runs_with_the_answer, show

# %% [markdown]
# The data are scikit-learn's 1797 digits: 8 × 8 grey values, ten classes, 1197 to train on, 300 to
# validate and 300 to test. The next three cells are folded: `digits()`, a small CNN by
# `make_model(seed)`, `train_epoch(model, x, y, optimizer, generator)` and `score(model, x, y)`,
# which gives loss and accuracy.

# %% nbgrader={"grade_id": "digits", "locked": true} jupyter={"source_hidden": true}
from sklearn.datasets import load_digits

from course_utils.chapters.training import digits

# %% nbgrader={"grade_id": "small-cnn", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import make_model

# %% nbgrader={"grade_id": "one-epoch", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import score, train_epoch

# %% topics=["task-workflow"]
torch.manual_seed(0)  # dropout draws from the global generator
data = digits()
print({name: tuple(x.shape) for name, (x, _) in data.items()})
print("per class:", data["train"][1].bincount().tolist())

# %% [markdown]
# Look at the data before the model: sizes, ranges, classes, a few samples. Then decide in this
# order: what the data are, what the output is, which loss fits it, which number will judge it. Only
# then train, and train the smallest thing first. That is the workflow of this chapter.
#
# ## 1. Before the run: one batch · core
#
# **Why.** A run of hours that fails tells you little. A run on a single batch takes a second, and it
# has to succeed: any network worth training can learn 32 images by heart. What must the loss be at
# the start? With ten classes and no knowledge, each gets a probability of 1/10. **Predict** the
# number.

# %% topics=["task-workflow"]
x, y = (part[:32] for part in data["train"])
untrained = make_model()
print("loss at the start:", round(F.cross_entropy(untrained.eval()(x), y).item(), 1))
print("-log(1/10):       ", round(torch.tensor(10.0).log().item(), 1))

# %% [markdown]
# Close to 2.3, as it should be. Now sixty steps on these 32 images and nothing else.

# %%
optimizer = torch.optim.SGD(untrained.train().parameters(), lr=0.1)
for _ in range(60):
    optimizer.zero_grad()
    loss = F.cross_entropy(untrained(x), y)
    loss.backward()
    optimizer.step()

print("loss at the end:", round(loss.item(), 1))

# %% [markdown]
# Learnt by heart. Had it failed, *how* it failed would have told us where to look. Below are five
# such runs, lettered at random. One is healthy; the folded cell spoils each of the others
# differently.

# %% nbgrader={"grade_id": "patients", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import KINDS, patient

# %% nbgrader={"grade_id": "lot", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import patients

# %% [markdown]
# Each run has a panel. The dashed line is 2.30, the loss of knowing nothing. Watch the
# scale of each.

# %%
import matplotlib.pyplot as plt

curves = {letter: patient(kind) for letter, kind in patients.items()}

# %% tags=["nbval-ignore-output"]
figure, axes = plt.subplots(1, 5, figsize=(11, 2.4), layout="constrained")
for axis, (letter, losses) in zip(axes, curves.items(), strict=True):
    axis.plot(losses, color="#0072b2")
    axis.axhline(2.3026, color="#b04500", linestyle="--", linewidth=1)
    axis.set(title=letter, xlabel="step", ylim=(0, 1.1 * max(losses)))
axes[0].set_ylabel("loss on the batch")
show(figure, "Five loss curves A to E on one batch, each against a dashed line at 2.30.")

for letter, losses in curves.items():
    print(letter, "start", round(losses[0], 1), " end", round(losses[-1], 1))

# %% [markdown]
# ### Exercise 13.1 — Read five curves ★ · 2 min · 2 points · core
#
# Write for each letter what happened, in one of these words:
#
# - `"healthy"`;
# - `"other parameters"`: the optimizer was given those of another model;
# - `"rate too low"`: a learning rate 200 times too small;
# - `"wrong labels"`: in each step the labels belong to other images of the batch;
# - `"rate too high"`: a learning rate 50 times too large.
#
# Each word fits once. The form: `"A": "rate too low"`, if that is what A shows. (A sixth classic, probabilities
# where `cross_entropy` expects logits, is a patient of chapter 15.)

# %% nbgrader={"grade_id": "overfit-one-batch", "solution": true}
overfit_one_batch = {"A": None, "B": None, "C": None, "D": None, "E": None}
### BEGIN SOLUTION
overfit_one_batch = {
    "A": "wrong labels",
    "B": "rate too high",
    "C": "other parameters",
    "D": "healthy",
    "E": "rate too low",
}
### END SOLUTION

# %% nbgrader={"grade_id": "overfit-one-batch-check", "grade": true, "points": 2} jupyter={"source_hidden": true}
form = f"write one of {', '.join(KINDS)}"
given = overfit_one_batch if isinstance(overfit_one_batch, dict) else {}
odd = [guess for guess in given.values() if guess not in (None, ..., *KINDS)]
assert not odd, f"{odd[0]!r} is none of the five words: {form}"
SIGNS = {
    "healthy": "no other run falls from about 2.3 to nearly 0",
    "other parameters": "nothing that is computed here ever changes: the line is flat to the end",
    "rate too low": "it falls without a tremor, and after sixty steps has hardly begun",
    "wrong labels": "no image has a label to learn: the loss moves, but can't leave about 2.3",
    "rate too high": "each step overshoots: the loss jumps far above where it began",
}
right = {letter: SIGNS[kind] for letter, kind in patients.items()}
check_predictions(overfit_one_batch, patients, because=right)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Look for the two that never learn first. One of them does not even tremble.
# </details>
# <details><summary>Hint 2</summary>
#
# Two runs fall. One of them has arrived after sixty steps; what would the other need?
# </details>

# %% [markdown]
# ## 2. The loop, and five ways to get its numbers wrong · core
#
# One batch works, so on to the whole set. Which part of the question is open? *Say what happened*:
# the loop has to report numbers that mean what they say. Here are its five lines, once:

# %% topics=["training-loop-classifier"]
model = make_model()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
x, y = data["train"]

# %% topics=["training-loop-classifier"]
model.train()  # dropout draws, batch norm uses the batch
optimizer.zero_grad()  # forget the last step's gradients
loss = F.cross_entropy(model(x[:64]), y[:64])
loss.backward()
optimizer.step()

# %% [markdown]
# And the loop around it, with a progress bar. `tqdm` wraps anything that can be iterated; `file=sys.stdout`
# keeps it off the error stream.

# %% topics=["training-loop-classifier"] tags=["nbval-ignore-output"]
import sys

from tqdm import tqdm

generator = torch.Generator().manual_seed(0)
for _ in tqdm(range(5), desc="epochs", file=sys.stdout, ascii=True, ncols=60):
    train_epoch(model, x, y, optimizer, generator)

# %% [markdown]
# Evaluation differs in two switches, and they are two: `eval()` changes what some layers compute,
# `no_grad()` changes what autograd records. Neither does the other's work.

# %% topics=["evaluation-loop"] tags=["shows-false"]
model.eval()
with torch.no_grad():
    logits = model(data["val"][0])
print("records a graph:", logits.requires_grad)

loss, accuracy = score(model, *data["val"])
print("above 95 %:     ", accuracy > 0.95)
assert accuracy > 0.95

# %% [markdown]
# Now an old template for the same evaluation, of a kind that was copied for years. It runs, it
# prints, and hardly a line is right. **Predict:** how many mistakes do you see?


# %% errata=["evaluation-loop-bugs"]
def old_test(model, batches):
    total, count = 0, 0
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        total += loss
        count += len(y)
    return total / count, loss


# %%
x, y = data["val"]
val = list(zip(x.split(64), y.split(64), strict=True))
print("batches of", [len(labels) for _, labels in val])

# %% [markdown]
# Measure each of them against the loss over all 300 samples. A copy of the model is used, because
# the first mistake changes it.

# %% topics=["evaluation-loop"] errata=["evaluation-loop-bugs"]
import copy

spoilt = copy.deepcopy(model).train()
total, last = old_test(spoilt, val)
moved = not torch.equal(spoilt[0][1].running_mean, model[0][1].running_mean)
print("no eval(): testing changed the batch norm's statistics:", moved)
print("no no_grad(): the result still holds a graph:          ", total.requires_grad)

# %% errata=["evaluation-loop-bugs"] tags=["shows-false"]
with torch.no_grad():
    per_batch = [F.cross_entropy(model.eval()(x), y).item() for x, y in val]
print("more than 50 times too small:         ", loss / (sum(per_batch) / 300) > 50)
print("mean of batch means equals the loss:  ", abs(sum(per_batch) / 5 - loss) < 1e-6)
print("the last batch alone equals the loss: ", abs(per_batch[-1] - loss) < 1e-6)

# %% [markdown]
# Four mistakes, then: no `eval()`, no `no_grad()`, a sum of batch *means* divided by the number of *samples*,
# and the last batch's loss returned as if it were the whole set's. The fifth way to go wrong is the usual
# repair, the mean of the batch means. It is close enough to survive reviews. The last batch has 44 samples and
# counts as much as one of 64. The right average weighs each batch's mean by its size. By hand, on two batches:

# %% topics=["metric-accumulation-on-gpu"]
means, sizes = torch.tensor([1.0, 4.0]), torch.tensor([3.0, 1.0])
print("mean of means:  ", means.mean().item())
print("over 4 samples: ", ((means * sizes).sum() / sizes.sum()).item())

# %% [markdown]
# The second mistake costs memory. A sum of losses that still carry their graphs keeps every batch's graph
# alive, and with it the activations that a `backward()` would need. (Chapter 15 counts them, batch by batch.)
# `total += loss.detach()` keeps none.
#
# Why `detach()` and not `item()`? Both drop the graph. `item()` also brings the number to Python, and
# on a GPU that waits until all work is done. Once per epoch that is fine; once per batch it is a
# brake. Section 3 returns to this.
#
# ### Exercise 13.2 — A loop to trust ★★ · 18 min · 4 points · core
#
# Write `fit(model, train, val, optimizer, epochs)`, which trains, and validates after each epoch. `train` and
# `val` are lists of batches `(x, y)`, `x` of any dtype that the model takes (whole numbers, for an embedding), `y`
# of class indices; the last batch may be shorter, a single sample too. The loss is cross-entropy. Return a list
# with a dict for each epoch:
#
# - `"train_loss"`: the mean **over the samples** of the losses that the training steps saw;
# - `"val_loss"` and `"val_accuracy"`: over the samples of `val`, after the epoch's steps.
#
# The rules:
#
# - one step of the optimizer for each training batch, in order, from that batch's gradient alone, as it is. A
#   parameter may have an old `.grad` when `fit` is called, a frozen one too;
# - training in training mode, evaluation in evaluation mode and without a graph, in every epoch;
# - in each epoch the model sees each batch of `train` once and then each of `val` once, no more;
# - batches may be on another device than the model: move them there. `train` and `val` stay as they are,
#   and so do the model's hooks, which run in each call, and what is frozen;
# - the values are plain Python floats, not rounded. When the model is called, at most the last batch's graph is
#   still alive.
#
# Example: two batches of 3 and 1 samples with mean losses 1.0 and 4.0 give 1.75, not 2.5.

# %% nbgrader={"grade_id": "try-fit", "locked": true} jupyter={"source_hidden": true}
import weakref

from course_utils.chapters.training import run_fit


@runs_with_the_answer
def try_fit(*given, **options):
    return run_fit(fit, *given, **options)


# %% nbgrader={"grade_id": "try-steps", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import check_steps, run_steps


@runs_with_the_answer
def try_steps(loss):
    return run_steps(fit, loss)


# %% nbgrader={"grade_id": "true-fit", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import true_fit

# %% nbgrader={"grade_id": "fit-words", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import check_numbers

# %% nbgrader={"grade_id": "fit-calls", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import FITS, check_calls, check_plain, check_weights


# %% nbgrader={"grade_id": "fit", "solution": true}
def fit(
    model: nn.Module, train: list, val: list, optimizer: torch.optim.Optimizer, epochs: int
) -> list[dict[str, float]]:
    """Train for ``epochs`` and return one dict an epoch: train_loss, val_loss, val_accuracy."""
    ### BEGIN SOLUTION
    where = next(model.parameters()).device

    def run(batches, training):
        loss_sum = torch.zeros((), device=where)
        right, count = torch.zeros((), device=where), 0
        model.train(training)
        with torch.set_grad_enabled(training):
            for x, y in batches:
                x, y = x.to(where), y.to(where)
                logits = model(x)
                loss = F.cross_entropy(logits, y)
                if training:
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                loss_sum += loss.detach() * len(y)
                right += (logits.argmax(1) == y).sum()
                count += len(y)
        return (loss_sum / count).item(), (right / count).item()

    history = []
    for _ in range(epochs):
        train_loss, _ = run(train, True)
        val_loss, accuracy = run(val, False)
        history.append({"train_loss": train_loss, "val_loss": val_loss, "val_accuracy": accuracy})
    return history
    ### END SOLUTION


# %% nbgrader={"grade_id": "fit-check", "grade": true, "points": 4} jupyter={"source_hidden": true}
def check_fit(sizes, epochs, elsewhere=False, steep=1.0, dtype=torch.float32):
    history, kinds, calls, alive, weights, kept = try_fit(sizes, epochs, elsewhere, steep, dtype)
    seen, right = true_fit(sizes, epochs, steep, dtype=dtype)
    with every_case() as part:
        with part("the calls of the model"):
            check_calls(calls, sizes, epochs)
        with part("the graph"):
            assert alive == 0, f"{alive} earlier graphs are alive: add loss.detach() or loss.item()"
        with part("plain floats"):
            check_plain(kinds)
        with part("the weights after training"):
            check_weights(weights, right, sizes, epochs, steep, dtype)
        with part("the averages"):
            check_numbers(history, seen, sizes, (weights, right))
        with part("what is the caller's"):
            assert not kept, kept


for sizes, epochs, options in FITS:
    check_fit(sizes, epochs, **options)
check_steps(try_steps)
### BEGIN HIDDEN TESTS
for sizes, epochs in [(([8], [3]), 2), (([4, 3], [2, 7, 1]), 2), (([5, 5], [4]), 0)]:
    check_fit(sizes, epochs)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Keep three numbers: the sum of `loss * len(y)`, the number of right answers, the number of samples.
# Divide once, at the end of the epoch.
# </details>
# <details><summary>Hint 2</summary>
#
# Evaluation leaves the model in evaluation mode. The next epoch has to undo that.
# </details>
# <details><summary>Hint 3</summary>
#
# `optimizer.zero_grad()` may be called anywhere between one `step()` and the next `backward()`.
# </details>

# %% [markdown]
# ## 3. Metrics that survive any batch size · core
#
# The loop's averages are right. Accuracy is one number, though, and hides which classes suffer. Count
# instead, and everything else follows from the counts. The **confusion matrix** has a row for each true
# class and a column for each predicted one. Walked by hand on five samples:

# %% topics=["metric-accumulation-on-gpu"]
truth = torch.tensor([0, 0, 1, 2, 2])
predicted = torch.tensor([0, 1, 1, 2, 0])
confusion = torch.zeros(3, 3, dtype=torch.int64)
for true, guess in zip(truth, predicted, strict=True):
    confusion[true, guess] += 1
print(confusion)

# %% [markdown]
# The compact form gives each pair a number, `3 * true + guess`, and counts the numbers. Adding up the
# matrices of the batches gives the matrix of the whole, so the split into batches cannot matter.

# %%
compact = (3 * truth + predicted).bincount(minlength=9).view(3, 3)
halves = [(3 * truth[s] + predicted[s]).bincount(minlength=9) for s in (slice(2), slice(2, 5))]
print("naive equals compact:  ", torch.equal(confusion, compact))
print("sum of the two batches:", torch.equal(sum(halves).view(3, 3), compact))

# %% [markdown]
# For class $c$: **precision** is the share of right ones in column $c$, **recall** that in row $c$, and
# $F_1 = 2\,TP / (2\,TP + FP + FN)$ balances both. The **macro** F1 is the plain mean over the classes.
# It does not survive averaging over batches:

# %%
from sklearn.metrics import f1_score

whole = f1_score(truth, predicted, average="macro")
batches = [f1_score(truth[s], predicted[s], average="macro") for s in (slice(2), slice(2, 5))]
print("of the whole:        ", round(whole, 3))
print("mean of two batches: ", round(sum(batches) / 2, 3))

# %% [markdown]
# A trap on the way: labels of shape (n, 1) beside predictions of shape (n,). The advice to keep columns,
# n × 1, everywhere is sound only if *everything* is a column. Mixed, they broadcast to n × n, and no
# error is raised.

# %% topics=["keep-n-by-1"]
column = truth[:, None]
print(
    "compared:", tuple((predicted == column).shape), "right ones:", int((predicted == column).sum())
)
print("as it should be:", tuple((predicted == truth).shape), int((predicted == truth).sum()))

# %% [markdown]
# Here is the model's confusion matrix on the digits. The diagonal is left blank, so that the mistakes
# can be seen.

# %% topics=["metric-accumulation-on-gpu"]
x, y = data["val"]
with torch.no_grad():
    counts = (10 * y + model.eval()(x).argmax(1)).bincount(minlength=100).view(10, 10).cpu()
errors = counts.float().fill_diagonal_(float("nan"))

# %% tags=["nbval-ignore-output"]
print("mistakes:", 300 - int(counts.diagonal().sum()), " eights for ones:", int(counts[8, 1]))
figure, axis = plt.subplots(figsize=(4.6, 3.8), layout="constrained")
picture = axis.imshow(errors, cmap="Blues", vmin=0)
axis.set(xlabel="predicted", ylabel="true", xticks=range(10), yticks=range(10), title="Mistakes")
figure.colorbar(picture, label="images", ticks=range(int(counts.max())))
show(figure, "A 10 by 10 confusion matrix, its diagonal blank; a few cells hold a few images.")

# %% [markdown]
# One cell stands out: about half of the few mistakes are eights taken for ones (counted above the picture). The
# accuracy of about 97 % does not say that. How sure is it? A share $p$ of $n$ samples has a standard deviation
# of $\sqrt{p(1-p)/n}$. Two of them on either side hold the true share about 19 times in 20. The seed adds a
# spread of another kind: the same training, five times.

# %% topics=["evaluation-loop"] tags=["nbval-ignore-output"]
share = 0.97
for n in (300, 3000, 30_000):
    print(f"97 % of {n:5} samples: ± {200 * (share * (1 - share) / n) ** 0.5:.1f} points")
for seed in range(5):
    again, generator = make_model(seed), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(again.parameters(), lr=3e-3)
    for _ in range(5):
        train_epoch(again, *data["train"], optimizer, generator)
    print(f"seed {seed}: {score(again, *data['val'])[1]:.3f}")

# %% [markdown]
# 97 % of 300 means 95 to 99 %. A change that brings half a point is not seen here, and the better of two seeds
# isn't a better model. Report several seeds and the size of the test set, or compare two models sample by sample.
#
# ### Exercise 13.3 — Metrics from counts ★★ · 12 min · 4 points · core
#
# Write `metrics(batches, classes, k)`, which counts over all batches how well a classifier did. Return a dict:
#
# - `"accuracy"`: the share of samples whose largest logit is the label's;
# - `"top_k"`: the share whose label is among the `k` largest logits, `1 <= k <= classes`;
# - `"confusion"`: an int64 tensor (classes, classes), true classes in rows, on the device of the logits;
# - `"macro_f1"`: the mean of F1 over **all** classes; where F1 is 0/0, it counts as 0.
#
# The rules:
#
# - `batches` is a list of pairs: logits of shape (n, classes), in float32, float16 or bfloat16, maybe infinite,
#   maybe in a graph; and labels of shape (n,), int64. A batch may be empty. `batches` stays as it is.
# - The three numbers are Python floats. Counts are exact for up to 2**24 samples. The result is the same under
#   any split into batches.
# - No value is read from the device before the last batch is in: the number of reads (`item()`, `tolist()`,
#   `cpu()`, `numpy()`, `float()`, an f-string, `if` on a tensor) must not grow with the number of batches.
# - With no sample at all, or no batch, raise `ValueError`.
#
# Example: the five samples above give an accuracy of 0.6 and a macro F1 of 0.611.


# %% nbgrader={"grade_id": "metrics-words", "locked": true} jupyter={"source_hidden": true}
from sklearn.metrics import f1_score

import numpy as np
from course_utils.chapters.training import call_metrics, check_counts, check_twice, try_all

# %% nbgrader={"grade_id": "metrics-truth", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import few_samples, make_batches

# %% nbgrader={"grade_id": "right-metrics", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import right_metrics

# %% nbgrader={"grade_id": "try-reads", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import run_reads


@runs_with_the_answer
def try_reads(*given, **options):
    return run_reads(metrics, *given, **options)


# %% nbgrader={"grade_id": "metrics", "solution": true}
def metrics(batches: list[tuple[torch.Tensor, torch.Tensor]], classes: int, k: int) -> dict:
    """accuracy, top_k and macro_f1 as floats; confusion (classes, classes), int64."""
    ### BEGIN SOLUTION
    confusion, hits, count = 0, 0, 0
    for logits, labels in batches:
        pairs = classes * labels + logits.argmax(1)
        confusion = confusion + pairs.bincount(minlength=classes**2)
        hits = hits + (logits.topk(k, dim=1).indices == labels[:, None]).sum()
        count += len(labels)
    if count == 0:
        raise ValueError("no samples")
    confusion = confusion.view(classes, classes)
    right = confusion.diagonal()
    f1 = 2 * right / (confusion.sum(0) + confusion.sum(1)).clamp(min=1)
    return {
        "accuracy": right.sum().item() / count,
        "top_k": hits.item() / count,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "metrics-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
well, few = [], few_samples()
few["bfloat16, k = 4 of 4"] = make_batches([4, 5], 4, 3, torch.bfloat16), 4, 4
tried, slips = try_all(metrics, few)
with every_case() as case:
    with case("the example, called twice, and in other states"):
        check_twice(metrics, few["the example"])
    for name, given in few.items():
        with case(name):
            check_counts(tried.result(name), *given, slips)
            well.append(name)
    with case("float16, more samples than it can count"):
        many = make_batches([140_000, 3], 2, 2, torch.float16, 1), 2, 1
        check_counts(call_metrics(metrics, *many), *many, few_were_right=len(well) == len(few))
    for sizes in ([3, 2], [0, 4]):
        with case(f"the list of batches, of {sizes[0]} and {sizes[1]} samples"):
            assert try_reads(sizes)[1], "it isn't what it was: it is the caller's"
### BEGIN HIDDEN TESTS
with every_case() as case:
    for name, given in {
        "bfloat16": (make_batches([7, 1, 0, 5], 5, 4, torch.bfloat16), 5, 3),
        "two classes": (make_batches([2, 9], 2, 5), 2, 1),
        "many classes": (make_batches([30, 30, 11], 12, 6, present=9), 12, 5),
    }.items():
        with case(f"a hidden one, {name}"):
            check_counts(call_metrics(metrics, *given), *given)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "metrics-check-2", "grade": true, "points": 1} jupyter={"source_hidden": true}
with every_case() as case:
    with case("reads"):
        batches = make_batches([5] * 20, 3, 3)
        right, found = right_metrics(batches, 3, 2)[0], metrics(batches, 3, 2)
        value = found.get("accuracy") if isinstance(found, dict) else None
        text = f"the accuracy of 20 batches: expected {right['accuracy']:.4g}, got {value!r}"
        assert isinstance(value, float) and abs(value - right["accuracy"]) < 1e-6, text
        (few, _), (many, kept) = try_reads([5] * 2), try_reads([5] * 20)
        assert kept, "the list of batches is not what it was: it is the caller's"
        text = f"2 batches read {few} times from the device, 20 batches {many} times"
        assert many <= few, f"{text}: keep tensors in the loop, and read once at the end"
    with case("no sample"):
        check_raises(ValueError, lambda: metrics(make_batches([0], 3, 3), 3, 2), "the call")
    with case("no batch"):
        check_raises(ValueError, lambda: metrics([], 3, 2), "the call")

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Two counts are enough: the confusion matrix and the number of top-k hits. The accuracy is on the
# matrix's diagonal.
# </details>
# <details><summary>Hint 2</summary>
#
# `logits.topk(k, dim=1).indices` has shape (n, k). Compare with the labels as a column.
# </details>
# <details><summary>Hint 3</summary>
#
# For all classes at once, $TP + FP$ is the column sums and $TP + FN$ the row sums.
# </details>

# %% [markdown]
# ## 4. Files that are never broken · core
#
# The numbers are right, so the next part of the question: *if it stopped here*, what is left? Only what
# was written to disk. What goes into the file, and how does it get there whole?
#
# What to save is the `state_dict`: a dict from names to tensors, parameters and buffers. It knows nothing
# about your classes.

# %% topics=["save-state-dict"]
import os
import tempfile

folder = tempfile.mkdtemp()
path = os.path.join(folder, "model.pt")

torch.save(model.state_dict(), path)
twin = make_model(seed=99)
print(twin.load_state_dict(torch.load(path, map_location=device)))
print("the same scores:", score(twin, *data["val"]) == score(model, *data["val"]))

# %% [markdown]
# > **Then and now.** *"Save the model object and load it back by plain `torch.load`."* A pickled object
# > names its class and its file's layout; rename either, and the file is lost. Worse, unpickling runs
# > code. Since release 2.6 `torch.load` builds tensors and plain containers only (`weights_only=True`)
# > and refuses the rest.

# %% topics=["save-state-dict"] errata=["load-whole-model"]
import pickle

whole = os.path.join(folder, "whole.pt")
torch.save(model, whole)

# %% topics=["save-state-dict"] errata=["load-whole-model"]
try:
    torch.load(whole)
except pickle.UnpicklingError as error:
    print("refused:", str(error).splitlines()[0][:24])

# %% [markdown]
# A storage remembers its device, and is loaded back to it. A file saved on `cuda:0` fails on a machine
# without one, unless `map_location` says where to. It may be a device, or a function that is handed each
# storage and the name of the place where it was:

# %% topics=["map-location"]
places = []
torch.load(path, map_location=lambda storage, place: places.append(place) or storage)
print("saved from:", {place.split(":")[0] for place in places} == {device.type})
loaded = torch.load(path, map_location="cpu")
print("loaded to: ", {str(value.device) for value in loaded.values()})

# %% [markdown]
# Names are all that a `state_dict` has to go by. Three things happen to names. A wrapper such as
# `DataParallel` or `DistributedDataParallel` puts `module.` before each:

# %% topics=["module-prefix"]
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present

wrapped = nn.DataParallel(make_model().cpu(), device_ids=[]).state_dict()
print("before:", list(wrapped)[-1])
consume_prefix_in_state_dict_if_present(wrapped, "module.")
print("after: ", list(wrapped)[-1])

# %% [markdown]
# Second, some are missing or too many. `strict=False` accepts that and tells which. Read what it
# returns: after a typo in a prefix it loads nothing at all, without an error.

# %% topics=["partial-loading"]
renamed = {"net." + name: value for name, value in loaded.items()}
found = make_model().load_state_dict(renamed, strict=False)
print("entries in the file:", len(renamed), " loaded:", len(renamed) - len(found.unexpected_keys))

# %% [markdown]
# Third, a shape differs, as with another number of classes. `strict=False` does not forgive that. Keep
# the entries that fit:

# %% topics=["partial-loading"]
five = make_model(classes=5)
shapes = {name: value.shape for name, value in five.state_dict().items()}
fitting = {name: value for name, value in loaded.items() if shapes.get(name) == value.shape}
print("left out:", sorted(set(loaded) - set(fitting)))
print("still fresh:", five.load_state_dict(fitting, strict=False).missing_keys)

# %% [markdown]
# ### Written whole, or not at all
#
# Now the writing. A save takes time, and the process may die in the middle. Below, something in the
# checkpoint can't be pickled; the effect on the file is that of a kill. **Predict:** what is in the file
# that held yesterday's checkpoint?


# %% topics=["save-state-dict"]
class Broken:
    def __reduce__(self):
        raise RuntimeError("the process died here")


def try_to_save(save):
    torch.save({"epoch": 1}, path)
    try:
        save({"epoch": 2, "big": torch.ones(1000), "last": Broken()}, path)
    except RuntimeError as error:
        print(error, end=" → ")
    try:
        return torch.load(path)
    except (RuntimeError, EOFError, pickle.UnpicklingError):
        return "the file is broken"


print(try_to_save(torch.save))

# %% [markdown]
# Both epochs are gone: the old one was emptied to make room for the new one. The remedy is old. Write
# under another name *in the same folder*, force the bytes to the disk, and rename. Renaming within a
# file system is **atomic**: the name points to the old file or to the new one, at every moment. The folder is
# forced to the disk last: without that, a power cut may bring the old name back.


# %% nbgrader={"grade_id": "atomic-save", "locked": true}
import os


def atomic_save(content: object, path: str) -> None:
    """Save ``content`` beside ``path`` first, then give it the name."""
    beside = path + ".part"
    with open(beside, "wb") as file:
        torch.save(content, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    if os.name != "nt":  # Windows opens no folders
        entry = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        os.fsync(entry)  # the new name is in the folder, which has to reach the disk too
        os.close(entry)


# %% topics=["save-state-dict"]
print(try_to_save(atomic_save))

# %% [markdown]
# An exception is a mild death: `finally` still runs. After a kill nothing runs. The next two
# cells are folded. They really kill: a forked copy of this process does the work and ends itself, without
# a goodbye, at the first dangerous moment; the next copy at the second; and so on. A moment is dangerous
# just before a file is opened for writing, right after it was emptied, in the middle of `torch.save`,
# and before a file is renamed or removed. (Windows and macOS can't fork a notebook. There the work ends by an
# exception, and from that moment on it can change no file.)

# %% nbgrader={"grade_id": "fates", "locked": true} jupyter={"source_hidden": true}
import sys

import re
import warnings


# %% nbgrader={"grade_id": "in-a-child", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import in_a_child

# %% nbgrader={"grade_id": "kill-at-every-moment", "locked": true} jupyter={"source_hidden": true}
import tempfile

from course_utils.chapters.training import every_moment

# %% [markdown]
# Two ways to save, killed at each of their moments:


# %% topics=["save-state-dict"]
def entry(step, note=None):
    return {"state": {"weight": torch.ones(3), "note": note}, "step": step, "score": 0.0}


def plain_save(content, path):
    with open(path, "wb") as file:
        torch.save(content, file)


outcomes = {}
for save in (plain_save, atomic_save):
    outcomes[save.__name__] = every_moment(
        lambda folder: torch.save(entry(1), os.path.join(folder, "a.pt")),
        lambda folder, fate: save(entry(2, fate), os.path.join(folder, "a.pt")),
    )

# %%
COLOURS = {1: ("#bfe0f5", "old"), 2: ("#c2e8d9", "new"), None: ("#f6cdb6", "broken")}
figure, axis = plt.subplots(figsize=(9, 2.2), layout="constrained")
for row, moments in enumerate(outcomes.values()):
    for column, (where, files) in enumerate(moments):
        colour, word = COLOURS[files["a.pt"] and files["a.pt"][0]]
        axis.barh(row, 0.96, left=column, color=colour, edgecolor="#1a1a1a")
        words = where.replace(" is ", "\nis ").replace(" of ", "\nof ")
        axis.text(column + 0.48, row, f"{words}:\n{word}", ha="center", va="center", fontsize=7.5)
axis.set(yticks=[0, 1], yticklabels=list(outcomes), xticks=[], xlim=(0, 5), ylim=(1.5, -0.5))
axis.set_title("Killed at this moment, a.pt is …")
show(
    figure,
    "plain_save leaves a broken file at two of its four moments; atomic_save at none of five.",
)

# %% [markdown]
# The plain save has a window in which the only copy is broken. The atomic one has none.
#
# ### Exercise 13.4 — The best, the last, and never a broken one ★★ · 20 min · 5 points · core
#
# Write `best_checkpoint(folder, state, step, score, keep)`, called after each epoch. It saves
# `{"state": state, "step": step, "score": score}` so that afterwards the folder holds
#
# - `step-000012.pt` (for step 12: `f"step-{step:06d}.pt"`) for the **`keep` highest steps**, `keep >= 1`,
#   which may differ from call to call. Steps grow, or repeat the last one; they may have seven digits;
# - `best.pt`, the entry with the highest score ever saved to this folder. At a tie the earlier stays. A
#   score is finite or NaN, and NaN is never the best.
#
# The rules:
#
# - the next call may come from a new process: what you need to know has to be in the folder, which may
#   have any name (`run [1]`, say). When the call is over it has written nothing else, neither there nor beside,
#   and the working folder stays what it is. The system's folder for temporary files may be on another disk;
# - files of other names stay, such as `step-final.pt`, whether you can read them or not (what is named by
#   `step-`, digits and `.pt` is yours);
# - **killed at any moment**, each of these files that is there loads; the newest step is at least as new
#   as before the call; there are no fewer steps than before; `best.pt` is as good as before or better (the score
#   of the killed call itself may be lost);
# - what a killed save leaves behind must not end in `.pt`, and must not disturb the next call.
#
# `atomic_save` is yours to use. Example: scores 0.8, 0.9, 0.7 at steps 1, 2, 3 with `keep=2` leave
# `step-000002.pt`, `step-000003.pt`, and `best.pt` with step 2.


# %% nbgrader={"grade_id": "try-best-checkpoint", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import run_saves


@runs_with_the_answer
def try_saves(*given, **options):
    return run_saves(best_checkpoint, *given, **options)


# %% nbgrader={"grade_id": "try-kills", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import run_kills


@runs_with_the_answer
def try_kills(*given, **options):
    return run_kills(best_checkpoint, *given, **options)


# %% nbgrader={"grade_id": "right-folder", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import right_folder

# %% nbgrader={"grade_id": "checkpoint-words", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import SAVES, check_files

# %% nbgrader={"grade_id": "remains", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import check_again, check_remains


# %% nbgrader={"grade_id": "best-checkpoint", "solution": true}
def best_checkpoint(folder: str, state: dict, step: int, score: float, keep: int = 2) -> None:
    """Save a checkpoint into ``folder``; keep the ``keep`` highest steps and the best score."""
    ### BEGIN SOLUTION
    entry = {"state": state, "step": step, "score": score}
    atomic_save(entry, os.path.join(folder, f"step-{step:06d}.pt"))
    best = os.path.join(folder, "best.pt")
    highest = torch.load(best)["score"] if os.path.exists(best) else float("-inf")
    if score > highest:
        atomic_save(entry, best)
    found = [re.fullmatch(r"step-(\d+)\.pt", name) for name in os.listdir(folder)]
    for match in sorted(filter(None, found), key=lambda match: int(match[1]))[:-keep]:
        os.remove(os.path.join(folder, match[0]))
    ### END SOLUTION


# %% nbgrader={"grade_id": "best-checkpoint-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
def check_saves(cases):
    found = try_saves(list(cases.values()))
    with every_case() as case:
        for (name, given), folder in zip(cases.items(), found, strict=True):
            with case(name):
                check_files(*folder, *given)


check_saves(SAVES)
### BEGIN HIDDEN TESTS
more = {"a hidden one": ([(n, ((n * 7) % 5) / 10) for n in range(1, 9)], 3)}
check_saves(more | {"a hidden one, fewer than are kept": ([(5, 0.0)], 4)})
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "best-checkpoint-check-2", "grade": true, "points": 2} jupyter={"source_hidden": true}
def check_kills(saves, step, score, keep):
    before, after_all = (right_folder(part, keep) for part in (saves, [*saves, (step, score)]))
    outcomes = try_kills(saves, step, score, keep)
    words = "no file ends in .pt: is there an answer yet?"
    assert outcomes[-1][0] == "at the end" and outcomes[-1][1], words
    with every_case(at_most=5) as part:
        for where, files, again, later in outcomes:
            with part(f"killed {where}"):
                check_remains(files, before, after_all)
                check_again(again, later, [*saves, (step, score)], keep)


with every_case() as case:
    with case("a new best"):
        check_kills([(1, 0.5), (2, 0.7)], 3, 0.9, 2)
    with case("no new best, one kept"):
        check_kills([(1, 0.9), (2, 0.5)], 3, 0.7, 1)
    with case("the last step again, a new best"):
        check_kills([(1, 0.9), (2, 0.5)], 2, 0.95, 2)
### BEGIN HIDDEN TESTS
check_kills([(1, 0.1), (2, 0.2), (3, 0.3)], 4, 0.4, 3)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The best score so far is in `best.pt`. Load it; where there is no file, any finite score is better.
# </details>
# <details><summary>Hint 2</summary>
#
# Compare by `>`: it is false for NaN and at a tie.
# </details>
# <details><summary>Hint 3</summary>
#
# The order is the safety: first write what is new, then remove what is old. To copy the step's file to
# `best.pt` is a second write, and can be cut short like the first.
# </details>

# %% [markdown]
# ## 5. Resume as if nothing had happened · core
#
# The file is whole. What must be in it so that the run continues *exactly*, to the last bit? Here is a
# small run that uses everything a real one has: momenta, a schedule, a loss scaler, dropout, three sources
# of random numbers, and a sampler that can be in the middle of an epoch. Read it; you will need its
# attributes.

# %% nbgrader={"grade_id": "run", "locked": true} topics=["checkpoint-resume"]
import copy
import random

from course_utils import seed_everything


class Run:
    """Training on 256 digits, one step at a time, always on the CPU."""

    def __init__(self, seed: int) -> None:
        seed_everything(seed)  # the global generators of Python, NumPy and PyTorch
        x, y = digits("cpu")["train"]
        self.x, self.y = x[:256].flatten(1), y[:256]
        layers = nn.Linear(64, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3)
        self.model = nn.Sequential(*layers, nn.Linear(16, 10))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.02)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 5, gamma=0.5)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=256.0, growth_interval=6)
        self.generator = torch.Generator().manual_seed(seed)  # shuffles, and nothing else
        self.order, self.position = torch.arange(0), 0  # this epoch's order, and where we are


# %% nbgrader={"grade_id": "run-step", "locked": true}
def step(self) -> float:
    if self.position >= len(self.order):  # a new epoch: four batches of 64
        self.order, self.position = torch.randperm(256, generator=self.generator), 0
    index = self.order[self.position : self.position + 64]
    self.position += 64
    x = self.x[index] + 0.2 * np.random.standard_normal()  # brighter or darker
    x = x.flip(1) if random.random() < 0.5 else x
    loss = F.cross_entropy(self.model.train()(x), self.y[index])  # dropout draws from torch
    self.optimizer.zero_grad()
    self.scaler.scale(loss).backward()
    self.scaler.step(self.optimizer)
    self.scaler.update()
    self.scheduler.step()
    return loss.item()


Run.step = step

# %% [markdown]
# The usual checkpoint is a dict with the epoch, the model and the optimizer. **Predict:** does a run that
# is resumed from it take the same next step?


# %% nbgrader={"grade_id": "after", "locked": true}
def after(steps: int, seed: int = 0) -> Run:
    run = Run(seed)
    for _ in range(steps):
        run.step()
    return run


# %% topics=["checkpoint-resume"] tags=["shows-false"]
run = after(6)
usual = copy.deepcopy({"model": run.model.state_dict(), "optimizer": run.optimizer.state_dict()})

resumed = Run(seed=1)  # a new process, with other random states
resumed.model.load_state_dict(usual["model"])
resumed.optimizer.load_state_dict(usual["optimizer"])
second = after(6).step()
print("the same loss in step 7:", resumed.step() == second)

# %% [markdown]
# It does not: it sees other images, flipped differently, under another dropout mask. Now the experiment: each
# line below is a run of 24 steps that lost one part of its state after step 6. The folded cell makes them,
# by replaying the first six steps and then spoiling one part; the curves show how far the weights are
# from those of the run that lost nothing, on a logarithmic scale.

# %% nbgrader={"grade_id": "sabotage", "locked": true} jupyter={"source_hidden": true}
PARTS = ["model", "optimizer", "scheduler", "scaler", "random states", "sampler"]


def sabotage(part: str | None, steps: int = 6) -> Run:
    """A run after ``steps`` steps that has lost one part of its state."""
    fresh = Run(1)
    run = Run(0)
    for _ in range(steps):
        run.step()
    if part == "model":
        run.model.load_state_dict(fresh.model.state_dict())
    elif part == "optimizer":
        run.optimizer.state.clear()
    elif part == "scheduler":
        run.optimizer.param_groups[0]["lr"] = 0.02
        run.scheduler = torch.optim.lr_scheduler.StepLR(run.optimizer, 5, gamma=0.5)
    elif part == "scaler":
        run.scaler = fresh.scaler
    elif part == "random states":
        seed_everything(1)
    elif part == "sampler":
        run.order, run.position, run.generator = fresh.order, fresh.position, fresh.generator
    return run


# %% nbgrader={"grade_id": "weights", "locked": true} jupyter={"source_hidden": true}
def weights(run: Run) -> torch.Tensor:
    return torch.cat([value.detach().flatten() for value in run.model.parameters()])


# %% topics=["checkpoint-resume"]
def trace(part):
    run, seen = sabotage(part), []
    for _ in range(18):
        run.step()
        seen.append(weights(run))
    return seen


# %%
whole = trace(None)
distances = {
    part: [(a - b).norm().item() for a, b in zip(trace(part), whole, strict=True)] for part in PARTS
}
print("nothing lost, the same bits again:", all(map(torch.equal, trace(None), whole)))

# %%
figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
for part, line in zip(PARTS, ["-", "--", "-.", ":", "-", "--"], strict=True):
    axis.plot(range(7, 25), distances[part], line, label=part)
axis.set_yscale("symlog", linthresh=0.05)  # linear below 0.05, so that 0 is there
axis.set(xlabel="step", ylabel="distance of the weights", xticks=range(8, 25, 4), ylim=(-0.01, 9))
axis.set_title("One part of the state was lost at step 6")
axis.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
show(
    figure,
    "Distance of the weights by step, one curve a lost part: the model's is high from the start, "
    "four begin lower and grow, the scaler's stays at 0.",
)

# %% [markdown]
# Only the lost model shows at once. The others start small and grow, all but the scaler's: its scale is a
# power of two, divided out again before the step, so these weights stay the same to the last bit. (Losing
# it matters once a gradient overflows.) In a noisy loss curve you would hardly see the small ones. You have
# to *prove* that a run resumes, by comparing bits.
#
# > **Often said.** *"Continue from the best checkpoint, with its stored epoch."* Deploy the best; resume from the
# > last. From the best you repeat, or skip, what came after it, and each resume starts
# > from the luckiest validation so far.

# %% errata=["resume-from-best"]
scores = {1: 0.90, 2: 0.94, 3: 0.97, 4: 0.95, 5: 0.96}
best_epoch, last_epoch = max(scores, key=scores.get), max(scores)
print("resume from the best: epochs to train again:", list(range(best_epoch + 1, last_epoch + 1)))
print("resume from the last: epochs to train again:", list(range(last_epoch + 1, last_epoch + 1)))

# %% [markdown]
# ### Exercise 13.5 — Exactly on ★★★ · 25 min · 6 points · core
#
# Write two functions. `save_run(run)` returns a dict. `exact_resume(run, state)` puts it into another
# `Run`, in a process with other random states, so that from there on both runs do the same to the last bit.
#
# - The run may stop anywhere, before its first step and in the middle of an epoch too. Its seed may be any,
#   and its weights may have been changed by hand, so it can't be replayed from the start.
# - The state is a **snapshot**: when `run` continues, it does not change. (`exact_resume` may use it up.)
# - Taking it changes nothing: the run continues as if it had not been saved.
# - It survives `torch.save` and a plain `torch.load`, which takes tensors, numbers, strings, `None`, and
#   tuples, lists and dicts of these. NumPy arrays are refused.
#
# Python has `random.getstate` and `setstate`, NumPy `np.random.get_state` and `set_state`, PyTorch
# `torch.get_rng_state` and `set_rng_state`. (On a GPU `torch.cuda.get_rng_state_all` would join them.)
#
# Then the saboteur: six runs lost one part each. The table below was printed by a machine that compared
# their next step with the right one. Write what each lost into the dict `saboteur`: `"model"`,
# `"optimizer"`, `"scheduler"`, `"scaler"`, `"random states"` or `"sampler"`.

# %% nbgrader={"grade_id": "evidence", "locked": true} jupyter={"source_hidden": true}
lost = [PARTS[n] for n in torch.randperm(6, generator=torch.Generator().manual_seed(3)).tolist()]
lost = dict(zip("ABCDEF", lost, strict=True))


def evidence(part: str | None) -> dict:
    """What can be seen of the next step of a run that lost a part."""
    run = sabotage(part)
    rate = run.optimizer.param_groups[0]["lr"]
    loss = run.step()
    batch = run.order[run.position - 64 : run.position].tolist()
    return {
        "rate": rate,
        "batch": batch,
        "loss": loss,
        "weights": weights(run).tolist(),
        "scale": run.scaler.get_scale(),
    }


# %%
truth = evidence(None)
print("                A      B      C      D      E      F")
table = [evidence(part) for part in lost.values()]
for key in ("batch", "rate", "scale", "weights"):
    print(f"same {key:8}", *[f"{row[key] == truth[key]!s:>6}" for row in table])
print("loss - right ", *[f"{row['loss'] - truth['loss']:6.2f}" for row in table])

# %% nbgrader={"grade_id": "parts-of", "locked": true} jupyter={"source_hidden": true}
import io
from course_utils.chapters.training import frozen, made_in_a_child, not_plain, parts_of
from course_utils.chapters.training import resume_from_a_child


# %% nbgrader={"grade_id": "through-a-file", "locked": true} jupyter={"source_hidden": true}
def through_a_file(state: dict) -> dict:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file)


def stopped(steps: int) -> Run:
    """A run with another seed and weights, so that nothing but its state tells where it is."""
    run = after(steps, seed=steps + 20)
    with torch.no_grad():
        run.model[0].bias.add_(0.125)
    random.gauss(0, 1)  # Python now has a second normal number in reserve
    return run


# %% nbgrader={"grade_id": "try-exact-resume", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_exact_resume(stop: int, total: int) -> dict:
    """Save after ``stop`` steps, continue, resume elsewhere, continue; what was seen."""
    run = stopped(stop)
    before, mode = parts_of(run), run.model.training
    state = save_run(run)
    seen = {"kind": type(state).__name__, "disturbed": [], "changed": "", "loads": "", "lost": []}
    if not isinstance(state, dict):
        return seen
    now = parts_of(run)
    seen["disturbed"] = [name for name in before if before[name] != now[name]]
    seen["disturbed"] += ["the model's mode"] * (run.model.training != mode)
    text, elsewhere = frozen(state), None
    if not not_plain(state):
        elsewhere = made_in_a_child(save_run, run)
    for _ in range(3):
        run.step()
    if frozen(state) != text:
        seen["changed"] = "changed when the run continued: state_dict() hands out live tensors; "
        seen["changed"] += "copy them"
    elif frozen(save_run(run)) == text:
        seen["changed"] = "is what it was three steps before: save_run kept it, make it anew"
    try:
        through_a_file(state)
    except Exception as error:
        refused = "; ".join(not_plain(state)[:3]) or str(error).splitlines()[0]
        return seen | {"loads": refused}
    same_step, other = after(stop, seed=stop + 70), after(2, seed=stop + 50)
    for last in (same_step, other):  # this process may remember these, not what is resumed
        save_run(last)
    if frozen(state) != text and not seen["changed"]:
        seen["changed"] = "changed when other runs were saved: make each state anew"
    resume_from_a_child(exact_resume, other, elsewhere)
    now = parts_of(other)
    if not seen["changed"]:
        seen["lost"] = [name for name in before if before[name] != now[name]]
    if seen["lost"]:
        return seen
    losses = [other.step() for _ in range(total - stop)]
    return seen | {"losses": losses, "weights": weights(other), "scale": other.scaler.get_scale()}


# %% nbgrader={"grade_id": "exact-resume", "solution": true}
def save_run(run: Run) -> dict:
    """Everything that decides how ``run`` continues, as plain data; the run stays as it is."""
    ### BEGIN SOLUTION
    kind, keys, *rest = np.random.get_state()
    return copy.deepcopy(
        {
            "model": run.model.state_dict(),
            "optimizer": run.optimizer.state_dict(),
            "scheduler": run.scheduler.state_dict(),
            "scaler": run.scaler.state_dict(),
            "generator": run.generator.get_state(),
            "sampler": (run.order, run.position),
            "python": random.getstate(),
            "numpy": (kind, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
        }
    )
    ### END SOLUTION


def exact_resume(run: Run, state: dict) -> None:
    """Bring ``run``, and the global random states, to where ``state`` was taken."""
    ### BEGIN SOLUTION
    for name in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.order, run.position = state["sampler"]
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])
    ### END SOLUTION


saboteur = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}
### BEGIN SOLUTION
saboteur = dict(
    zip(
        "ABCDEF",
        ["random states", "model", "scaler", "scheduler", "optimizer", "sampler"],
        strict=True,
    )
)
### END SOLUTION


# %% nbgrader={"grade_id": "exact-resume-check", "grade": true, "points": 4} jupyter={"source_hidden": true}
def check_resume(stop, total=15):
    seen = try_exact_resume(stop, total)
    words = (
        f"save_run returned a {seen['kind']}, no dict: is there an answer yet, and does it return?"
    )
    assert seen["kind"].endswith(("dict", "Dict")), words
    assert not seen["disturbed"], f"save_run changed {', '.join(seen['disturbed'])}"
    assert not seen["changed"], f"the state {seen['changed']}"
    assert not seen["loads"], f"plain torch.load refuses the state: {seen['loads']}"
    words = f"right after exact_resume these are not as they were: {'; '.join(seen['lost'])}"
    seeded = sum("random state" in name for name in seen["lost"]) == 3
    words += " (were the random states set last? Making a Run seeds all three)" * seeded
    more = "; nothing is: another process saved this state, so all that counts has to be in it"
    assert not seen["lost"], words + more * (len(seen["lost"]) > 10)
    run = stopped(stop)
    losses = [run.step() for _ in range(total - stop)]
    check_close(
        torch.tensor(seen["losses"]), torch.tensor(losses), "the losses after resuming", rtol=1e-5
    )
    check_close(seen["weights"], weights(run), "the weights at the end", rtol=1e-4, atol=1e-6)
    check_equal(seen["scale"], run.scaler.get_scale(), "the loss scale at the end")


with every_case() as case:
    for stop, where in {
        8: "at the end of an epoch",
        7: "in the middle of one",
        0: "before the first step",
    }.items():
        with case(f"stopped after {stop} steps, {where}"):
            check_resume(stop)
### BEGIN HIDDEN TESTS
with every_case() as case:
    for stop in (1, 10, 13):
        with case(f"stopped after {stop} steps"):
            check_resume(stop)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "exact-resume-check-2", "grade": true, "points": 2} jupyter={"source_hidden": true}
CLUES = {
    "model": "the loss of the next step, on the same batch, is far too high: nothing is known",
    "optimizer": "the loss is right, so model and mask are; the rate is right; yet the step "
    "leads elsewhere",
    "scheduler": "the learning rate is another",
    "scaler": "nothing but the scale differs",
    "random states": "the batch is the same and the loss is a little off: other noise, another "
    "mask",
    "sampler": "other images came",
}
given = saboteur if isinstance(saboteur, dict) else {}
odd = [guess for guess in given.values() if guess not in (None, ..., *PARTS)]
assert not odd, f"{odd[0]!r} is none of {', '.join(PARTS)}"
check_predictions(saboteur, lost, because={letter: CLUES[part] for letter, part in lost.items()})

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Go through `Run.__init__` line by line: whatever `step` changes belongs in the state. `x` and `y` don't.
# </details>
# <details><summary>Hint 2</summary>
#
# `copy.deepcopy` makes a snapshot of nested dicts with tensors. NumPy's state is a tuple with an array in it:
# `tolist()` turns that into plain numbers, and `set_state` takes a list.
# </details>
# <details><summary>Hint 3</summary>
#
# NumPy and Python keep a second normal number in reserve. It is at the end of their states.
# </details>

# %% [markdown]
# ## 6. The same seed, the same bits?
#
# Resuming restored the states. A new run relies on seeds instead, and they fail in four places again and
# again. The first is not even random:
#
# > **Often said.** *"Seed everything: set `os.environ["PYTHONHASHSEED"]` too."* Python reads it once, when it
# > starts. Set inside the process it changes nothing here, only in processes started later.

# %% errata=["pythonhashseed-inside-process"] tags=["shows-false"]
import subprocess

code = "import os; a = hash('cat'); os.environ['PYTHONHASHSEED'] = '0'; print(a == hash('cat'), a)"


def run_python(hash_seed):
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True).stdout.split()


first, same, other = (run_python(seed) for seed in ("1", "1", "2"))
print("set inside, the hash is what it was:", first[0])
print("set before the start, same seed:    ", first[1] == same[1])
print("set before the start, another seed: ", first[1] == other[1])

# %% [markdown]
# A `set` of strings is walked in the order of the hashes, so `list(classes)` may number your classes
# differently tomorrow. `sorted` is the cure. The second place is a **global** generator that others draw from:

# %% tags=["shows-false"]
torch.manual_seed(0)
first = torch.randperm(5).tolist()
torch.manual_seed(0)
torch.rand(1)  # a new layer, a log line with a sample, a colleague
print("global generator:", torch.randperm(5).tolist() == first)

orders = [torch.randperm(5, generator=torch.Generator().manual_seed(0)).tolist() for _ in range(2)]
print("a separate one:  ", orders[0] == orders[1])

# %% [markdown]
# The third is a seed made by adding: `seed + epoch` gives run 0, epoch 1 the numbers of run 1, epoch 0. Mix
# the two instead, for instance by `np.random.SeedSequence`:

# %% tags=["shows-false"]
print("added:", 0 + 1 == 1 + 0)
mixed = [int(np.random.SeedSequence(pair).generate_state(1)[0]) for pair in ([0, 1], [1, 0])]
print("mixed:", mixed[0] == mixed[1])

# %% [markdown]
# A fourth place is the machine. Some operations add in whatever order the threads finish.
# `use_deterministic_algorithms` chooses those that don't, and raises where there is none:

# %%
torch.use_deterministic_algorithms(True)
try:
    torch.zeros(3).put_(torch.tensor([0, 0]), torch.tensor([1.0, 2.0]))  # which write is the last?
except RuntimeError as error:
    print(str(error).split(",")[0])
finally:
    torch.use_deterministic_algorithms(False)

# %% [markdown]
# And what no seed promises: the same bits on another device, release, batch size or number of threads.
# Sums in another order round differently.

# %%
values = torch.tensor([1e8, 1.0, -1e8])
print("left to right:", (values[0] + values[1] + values[2]).item())
print("another order:", (values[0] + values[2] + values[1]).item())

# %% [markdown]
# ### Exercise 13.6 — An order that stays ★★ · 8 min · 3 points
#
# Write `deterministic(names, seed, epoch)`, which shuffles names and draws a number for each, the same in every
# process. `names` is a set of printable strings, maybe empty, `seed` and `epoch` are whole numbers from 0 to 999.
# Return a list of pairs `(name, noise)`, each name once, in a shuffled order, in which each may come anywhere,
# with `noise` a `float` (`np.float64` is one too) drawn from the standard normal distribution. The rules:
#
# - the list depends on the names, the seed and the epoch, and on nothing else: not on the order in
#   which the set is walked, not on hashes, not on what was drawn before;
# - of twenty names, no two pairs of seed and epoch give the same order or the same noise: not 0, 1 and
#   1, 0, and not 0, 31 and 1, 0 either;
# - `names` and the global random states of Python, NumPy and PyTorch are left as they were, and the list
#   belongs to the caller, who may change it.
#
# Example of the form: `[("dog", 0.31), ("cat", -1.2)]`. Which order you get is up to you.


# %% nbgrader={"grade_id": "global-states", "locked": true} jupyter={"source_hidden": true}
import builtins

from course_utils.chapters.training import run_deterministic


@runs_with_the_answer
def try_deterministic(*given, **options):
    return run_deterministic(deterministic, *given, **options)


# %% nbgrader={"grade_id": "deterministic-words", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import check_apart, check_kept, check_pairs
from course_utils.chapters.training import run_kept, run_many


@runs_with_the_answer
def try_kept(*given):
    return run_kept(deterministic, *given)


@runs_with_the_answer
def try_many(*given):
    return run_many(deterministic, *given)


# %% nbgrader={"grade_id": "deterministic-noise", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import check_alone, check_normal, check_shuffled

# %% nbgrader={"grade_id": "pairs-of", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import pairs_of


# %% nbgrader={"grade_id": "deterministic", "solution": true}
def deterministic(names: set[str], seed: int, epoch: int) -> list[tuple[str, float]]:
    """The names, shuffled for this seed and epoch, each with a number from N(0, 1)."""
    ### BEGIN SOLUTION
    numbers = np.random.default_rng([seed, epoch])
    shuffled = numbers.permutation(sorted(names))
    noise = numbers.standard_normal(len(shuffled))
    return [(str(name), float(value)) for name, value in zip(shuffled, noise, strict=True)]
    ### END SOLUTION


# %% nbgrader={"grade_id": "deterministic-check", "grade": true, "points": 2} jupyter={"source_hidden": true}
animals = [f"animal {n:02d}" for n in range(20)]
first = pairs_of(try_deterministic, animals, 0, 0)
changed = try_deterministic(animals, 0, 0, 0, 5)[1]
with every_case() as case:
    with case("the arguments alone decide"):
        check_alone(try_deterministic, animals, first, changed)
    with case("other names, and a list that the caller emptied"):
        check_kept(try_kept(animals))
    with case("shuffled"):
        check_shuffled(first)
    with case("normal noise"):
        check_normal(
            [v for seed in range(200) for _, v in pairs_of(try_deterministic, animals, seed, seed)]
        )
    with case("an empty set of names"):
        check_equal(pairs_of(try_deterministic, [], 3, 4), [], "the result")
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("a hidden one, one name"):
        check_equal(len(pairs_of(try_deterministic, ["a"], 3, 4)), 1, "how many pairs")
    with case("a hidden one, another walk"):
        other = pairs_of(try_deterministic, animals[:9], 999, 998, turn=4, before=3)
        same = pairs_of(try_deterministic, animals[:9], 999, 998)
        assert other == same, "it depends on more than its arguments"
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "deterministic-check-2", "grade": true, "points": 1} jupyter={"source_hidden": true}
pairs = [*((0, n) for n in range(1, 1000)), *((n, 0) for n in range(1, 1000)), (2, 3), (3, 2)]
pairs += [(1, 11), (11, 1), (9, 99), (99, 9)]
check_apart(pairs, try_many([f"animal {n:02d}" for n in range(20)], pairs))
### BEGIN HIDDEN TESTS
pairs = [(seed, epoch) for seed in (0, 9, 99, 999) for epoch in (0, 9, 90, 999)]
orders = [str(check_pairs(*try_deterministic(["a", "b", "c"] * 4, *pair, 0, 0))) for pair in pairs]
assert len(set(orders)) == 16, "two pairs of seed and epoch give the same order and noise"
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Sort first. Then nothing of the set's own order is left.
# </details>
# <details><summary>Hint 2</summary>
#
# `np.random.default_rng([seed, epoch])` makes a separate generator from both numbers. So does
# `random.Random(f"{seed},{epoch}")`: from a string it uses no hash.
# </details>

# %% [markdown]
# ## 7. Half the bits · core
#
# A run that can stop and resume may be long. Can it be made shorter? Half-precision numbers take half the memory
# and half the bandwidth, and GPUs have units that multiply them many times faster. What do they lose?

# %% topics=["half-precision-basics"]
for dtype in (torch.float32, torch.bfloat16, torch.float16):
    info = torch.finfo(dtype)
    name, smallest = str(dtype)[6:], info.smallest_normal * info.eps
    print(
        f"{name:9} {info.bits} bits, max {info.max:.1e}, smallest {smallest:.1e}, 1 + "
        f"{info.eps:.1e}"
    )

# %% [markdown]
# **float16** has a narrow range: beyond 65504 it is infinite, below half of 6e-8 it is zero. **bfloat16** has float32's
# range with two or three decimal digits. **Predict** these four, all in half precision:

# %% topics=["half-precision-basics", "mixed-precision-amp"]
ones = torch.ones(70_000, dtype=torch.float16)
count = torch.zeros((), dtype=torch.float16)
for _ in range(3000):
    count += 1

print("sum of 70000 ones: ", ones.sum().item())
print("their mean:        ", ones.mean().item())
print("counted one by one:", count.item(), "of 3000")
print("1 + 0.0004:        ", (torch.ones((), dtype=torch.float16) + 0.0004).item())

# %% [markdown]
# A sum overflows. A count stops at 2048, where the next number would be 2049 and float16 has only even ones.
# (Inside, `sum` and `mean` both add in float32; only the result has to fit, and 70000 doesn't.) And an update
# of 0.0004 to a weight of 1 is lost: that is why weights have to stay in float32.

# %% [markdown]
# ### Autocast: who runs in which precision
#
# **Mixed precision** keeps the weights in float32 and casts where it is safe. Inside `torch.autocast`, each
# operation looks up a list: products and convolutions run in half, losses in float32, and most others take what
# they get. The lists differ between devices; this is the CPU's.

# %% topics=["mixed-precision-amp"]
layer, x = nn.Linear(4, 3), torch.ones(2, 4)
with torch.autocast("cpu", dtype=torch.bfloat16):
    output = layer(x)
    print("linear:       ", output.dtype)
    print("cross_entropy:", F.cross_entropy(output, torch.tensor([0, 1])).dtype)

# %% [markdown]
# > **Often said.** *"Mixed precision stores weights and gradients in fp16 and halves the model's memory."* Look.
# > The activations shrink. The cast copies of the weights are extra.

# %% topics=["mixed-precision-amp"] errata=["amp-stores-fp16-weights"]
F.cross_entropy(output, torch.tensor([0, 1])).backward()
print("weight:  ", layer.weight.dtype)
print("gradient:", layer.weight.grad.dtype)

# %% [markdown]
# ### The loss scaler
#
# Gradients are small numbers. The histogram shows those that arrive at the input of the trained digits model,
# by powers of two. What float16 can't hold becomes 0. But multiply the loss by 4096, and by the chain rule
# every gradient moves twelve powers to the right.

# %% topics=["mixed-precision-amp"] tags=["nbval-ignore-output"]
x, y = data["train"]
x = x.clone().requires_grad_()
F.cross_entropy(model.eval()(x), y).backward()
gradients = x.grad.flatten().cpu()

for scale in (1, 4096):
    lost = ((gradients * scale).half() == 0).float().mean().item()
    print(f"scale {scale:4}: {100 * lost:.0f} % of the gradients become 0 in float16")

sizes = {scale: (gradients * scale).abs().log2() for scale in (1, 4096)}

figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
for scale, colour in ((1, "#b04500"), (4096, "#0072b2")):
    axis.hist(sizes[scale], bins=range(-45, 17), color=colour, alpha=0.6, label=f"loss × {scale}")
for edge, words in ((-24, "smallest float16"), (16, "largest")):
    axis.axvline(edge, color="#1a1a1a", linestyle="--")
    axis.text(edge - 0.4, 3500, words, ha="right", va="bottom", rotation=90, fontsize=8)
axis.set(xlabel="gradient's size, as a power of 2", ylabel="how many", xlim=(-45, 17))
axis.legend(frameon=False, loc="upper left")
show(figure, "Histograms of gradients: unscaled, some lie below float16's range; scaled, none.")

# %% [markdown]
# Without it nothing is learned. Below, a part of the loss has the weight 1e-7, as an auxiliary term may, and the
# rate makes up for it. **Predict** the accuracy with and without a scaler, after two epochs.


# %% topics=["mixed-precision-amp"] tags=["shows-false"]
def half_run(scaled, weight=1e-7):
    """Accuracy, and the share of the first layer's gradients that were 0 in the first step."""
    torch.manual_seed(0)
    network, generator = make_model(1), torch.Generator().manual_seed(0)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1 / weight)
    scaler, zeros = torch.amp.GradScaler(device.type, enabled=scaled), None
    for index in torch.cat([torch.randperm(1197, generator=generator) for _ in range(2)]).split(64):
        x, y = (part[index.to(device)] for part in data["train"])
        with torch.autocast(device.type, dtype=torch.float16):
            loss = weight * F.cross_entropy(network.train()(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        if zeros is None:
            zeros = (network[0][0].weight.grad == 0).float().mean().item()
        scaler.step(optimizer)
        scaler.update()
    return score(network, *data["val"])[1], zeros


for scaled in (False, True):
    accuracy, zeros = half_run(scaled)
    print(
        f"scaler {scaled!s:5}  above 90 %: {accuracy > 0.9!s:5}  gradients that are 0: {zeros:.0%}"
    )

# %% [markdown]
# Which factor is right? As large as possible without overflow, and the `GradScaler` finds it by trying. A step
# with an infinite or NaN gradient is **skipped**, and the scale is halved (`backoff_factor`). After
# `growth_interval` good steps in a row it is doubled (`growth_factor`). Walk it on one weight:

# %% topics=["mixed-precision-amp"]
weight = nn.Parameter(torch.tensor(1.0))
optimizer = torch.optim.SGD([weight], lr=0.125)
scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=3)

for slope in (1.0, float("inf"), 1.0, 1.0, 1.0):
    optimizer.zero_grad()
    scaler.scale(weight * slope).backward()
    in_grad = weight.grad.item()
    scaler.step(optimizer)  # divides by the scale first; skips if a gradient is not finite
    scaler.update()
    print(
        f"slope {slope:3}: grad {in_grad:3}, weight {weight.item():.3f}, next scale "
        f"{scaler.get_scale()}"
    )

# %% [markdown]
# Note the scale after the overflow, and that the count of good steps starts from 0 again. To clip gradients, call
# `scaler.unscale_(optimizer)` first, or you clip the scaled ones. bfloat16 has float32's range and needs no
# scaler. The whole loop on your device, in the half precision that it has:

# %% topics=["mixed-precision-amp"]
amp_model, generator = make_model(1), torch.Generator().manual_seed(0)
optimizer = torch.optim.AdamW(amp_model.parameters(), lr=3e-3)
kind = torch.float16 if device.type == "cuda" else torch.bfloat16
scaler = torch.amp.GradScaler(device.type, enabled=kind == torch.float16)
x, y = data["train"]

for index in torch.cat([torch.randperm(1197, generator=generator) for _ in range(4)]).split(64):
    with torch.autocast(device.type, dtype=kind):
        loss = F.cross_entropy(amp_model.train()(x[index.to(device)]), y[index.to(device)])
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

accuracy = score(amp_model, *data["val"])[1]
assert accuracy > 0.95
print("above 95 %:", accuracy > 0.95)

# %% [markdown]
# `backward()` is called outside of autocast: each operation's backward runs in the precision of its forward.
#
# ### Exercise 13.7 — Which precision, which scale? ★★ · 10 min · 4 points · core
#
# Fill in the dtypes, as `"float32"` or `torch.float32`. All of it is on the CPU:
#
# ```
# a, b = torch.randn(3, 3), torch.randn(3, 3)      # float32
# d = torch.randn(3, 3, dtype=torch.float64)
# layer = nn.Linear(3, 3)
# with torch.autocast("cpu", dtype=torch.bfloat16):
#     h = a @ b
#     … the expressions …
# ```
#
# Then a scaler with `init_scale=16.0, growth_interval=2` and default factors. Five steps with
# `SGD(lr=1.0)` on a weight that starts at 1.0; the *unscaled* gradients are 0.25, infinity, 0.25, 0.25, NaN. Fill
# in numbers: what `.grad` holds after the first `backward()`, the scale after each `update()`, and
# the weight at the end.


# %% nbgrader={"grade_id": "amp-dtypes", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import seen_dtypes

# %% nbgrader={"grade_id": "amp-scaler", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import seen_scales

# %% nbgrader={"grade_id": "amp-words", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import BECAUSE

# %% nbgrader={"grade_id": "amp-plain", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import amp_plain

# %% nbgrader={"grade_id": "amp", "solution": true}
amp = {
    "a @ b": None,
    "a + b": None,
    "h.relu()": None,
    "h + a": None,
    "d @ d": None,
    "layer(a)": None,
    "layer.weight": None,
    "F.mse_loss(h, a)": None,
    "h + h, after the block": None,
    "a @ b, after the block": None,
    ".grad after the first backward()": None,
    "scale after step 1": None,
    "scale after step 2": None,
    "scale after step 3": None,
    "scale after step 4": None,
    "scale after step 5": None,
    "weight at the end": None,
}
### BEGIN SOLUTION
dtypes = "bfloat16 float32 bfloat16 float32 float64 bfloat16 float32 float32 bfloat16 float32"
amp = dict(zip(amp, [*dtypes.split(), 4.0, 16.0, 8.0, 8.0, 16.0, 8.0, 0.25], strict=True))
### END SOLUTION

# %% nbgrader={"grade_id": "amp-check", "grade": true, "points": 4} jupyter={"source_hidden": true}
check_predictions(
    amp_plain(amp), dict(zip(BECAUSE, [*seen_dtypes(), *seen_scales()], strict=True)), BECAUSE
)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Three lists: half, float32, and the rest, which takes what it gets.
# </details>
# <details><summary>Hint 2</summary>
#
# For the scale keep two numbers: the scale, and how many good steps there were since it last changed.
# </details>

# %% [markdown]
# ## 8. When to stop
#
# The run could continue for ever; it should not. **Early stopping** watches the validation loss and ends the run
# when `patience` epochs in a row brought no improvement. By hand, with a patience of 2:
#
# | epoch | 1 | 2 | 3 | 4 | 5 |
# | --- | --- | --- | --- | --- | --- |
# | loss | 1.00 | 0.80 | 0.79 | 0.85 | – |
# | best so far, `min_delta=0.05` | 1.00 | 0.80 | 0.80 | 0.80 | |
# | epochs without improvement | 0 | 0 | 1 | 2: stop | |
#
# An improvement is a loss below `best - min_delta`. Compare with the **best**, not with the epoch before: slow
# progress adds up. Once wrongly, with the epoch before:

# %%
losses, patience = [1.00, 0.97, 0.94, 0.91, 0.88, 0.85], 2

for against in ("the epoch before", "the best"):
    best, bad, stopped = losses[0], 0, None
    for number, loss in enumerate(losses[1:], start=2):
        better = loss < best - 0.05
        bad = 0 if better else bad + 1
        best = loss if better or against == "the epoch before" else best
        stopped = stopped or (number if bad == patience else None)
    print(f"against {against}: stopped after epoch {stopped or len(losses)} of {len(losses)}")

# %% [markdown]
# The best weights then have to be put back, so they have to be kept. There is a trap: `state_dict()` hands out
# the model's own tensors, so what you kept keeps training.

# %% topics=["best-model-tracking"] tags=["shows-false"]
twin = make_model()
kept, copied = twin.state_dict(), copy.deepcopy(twin.state_dict())
train_epoch(twin, *data["val"], torch.optim.SGD(twin.parameters(), lr=0.1), torch.Generator())
name = "1.weight"
print("kept is still the old weight:  ", torch.equal(kept[name], copied[name]))
print("kept is the trained one:       ", torch.equal(kept[name], twin.state_dict()[name]))

# %% [markdown]
# In a big project the validation runs elsewhere, so that training never waits: another process tests each new
# checkpoint. Old scripts told it by a packet over UDP, which may get lost. Files are enough, and here the
# atomic save pays: the reader never meets half a file.

# %% topics=["asynchronous-eval"]
latest, report = (os.path.join(folder, name) for name in ("latest.pt", "report.pt"))
snapshot, held_out = copy.deepcopy(model).cpu(), [part.cpu() for part in data["val"]]
atomic_save(snapshot.state_dict(), latest)


def evaluate_elsewhere():
    reader = copy.deepcopy(snapshot)
    reader.load_state_dict(torch.load(latest))
    atomic_save({"accuracy": score(reader, *held_out)[1]}, report)


print("the other process came to its end:", in_a_child(evaluate_elsewhere))
print("it reports more than 95 %:        ", torch.load(report)["accuracy"] > 0.95)

# %% [markdown]
# ### Exercise 13.8 — Patience ★★ · 10 min · 3 points
#
# Write `early_stopping(model, epoch, patience, min_delta, most)`. Each call of `epoch()` trains `model` for one
# epoch and returns its validation loss, a float. Call it until `patience` epochs in a row brought no
# improvement, or `most` epochs are done (both at least 1).
#
# - An improvement is a loss below `best - min_delta`, where `best` is the loss of the last improvement, and
#   infinity before the first. (Where `best - loss > min_delta` differs by rounding alone, either is right.) A loss
#   of NaN or +infinity is never an improvement; no loss is -infinity.
# - At the end the model holds the weights **and buffers** it had after the best epoch: all of its
#   `state_dict()`, which has nothing but these, in the same parameter objects, each of its own dtype,
#   bfloat16 too. Without any improvement it stays as it is.
# - Until then training is left alone: each epoch begins with what the one before it left, and gradients
#   are on. Modes, `requires_grad` and `.grad` are the business of `epoch()`: leave them.
# - Return `(best_epoch, epochs)`: the best epoch's number, counted from 1 (0 if there was none), and how many
#   were run.
#
# Example: losses 1.0, 0.8, 0.79, 0.85 with `patience=2`, `min_delta=0.05` give `(2, 4)`.


# %% nbgrader={"grade_id": "try-early-stopping", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import run_early_stopping


@runs_with_the_answer
def try_early_stopping(*given, **options):
    return run_early_stopping(early_stopping, *given, **options)


# %% nbgrader={"grade_id": "right-stop", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import right_stop

# %% nbgrader={"grade_id": "stops", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import STOPS

# %% nbgrader={"grade_id": "stop-words", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import check_stopped, one_slip

# %% nbgrader={"grade_id": "early-stopping", "solution": true}
from collections.abc import Callable


def early_stopping(
    model: nn.Module, epoch: Callable[[], float], patience: int, min_delta: float, most: int
) -> tuple[int, int]:
    """Run ``epoch()`` until patience ends; put the best weights back; (best epoch, epochs run)."""
    ### BEGIN SOLUTION
    best, best_epoch, number, bad, kept = float("inf"), 0, 0, 0, None
    while number < most and bad < patience:
        loss, number, bad = epoch(), number + 1, bad + 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, number, 0
            kept = copy.deepcopy(model.state_dict())
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number
    ### END SOLUTION


# %% nbgrader={"grade_id": "early-stopping-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
def check_stop(losses, patience, min_delta, most=99, slip=""):
    right = right_stop(losses, patience, min_delta, most)
    check_stopped(try_early_stopping(losses, patience, min_delta, most), right, slip)


slip = one_slip(try_early_stopping)  # one that explains all cases, if there is one
with every_case() as case:
    for name, given in STOPS.items():
        with case(name):
            check_stop(*given, slip=slip)
### BEGIN HIDDEN TESTS
with every_case() as case:
    for number in range(5):
        with case(f"a hidden one, {number}"):
            values = torch.rand(30, generator=torch.Generator().manual_seed(number)).tolist()
            check_stop(values, 1 + number, 0.05 * number, most=20)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `loss < best - min_delta` is false for NaN, and true for any number while `best` is infinite.
# </details>
# <details><summary>Hint 2</summary>
#
# `copy.deepcopy(model.state_dict())` at each improvement, `load_state_dict` once at the end.
# </details>

# %% [markdown]
# ## 9. The average of the last weights
#
# The best epoch of a noisy run is partly luck. An **exponential moving average** of the weights (EMA) takes the
# noise out instead: after each step `average = d * average + (1 - d) * weights`. With `d = 0.99` about the last
# hundred steps count. Start it at once and the random first weights weigh for long, so `d` is warmed up:
# $d_t = \min(d, (1 + t) / (10 + t))$. The first values, for d = 0.99:

# %%
print([round(min(0.99, (1 + t) / (10 + t)), 2) for t in (0, 1, 10, 100, 1000)])

# %% [markdown]
# Naive beside library: `AveragedModel` does it for a whole module, with `use_buffers=True` for the buffers too.

# %%
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

generator = torch.Generator().manual_seed(0)
noisy = nn.Linear(1, 1, bias=False)
library = AveragedModel(noisy, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
average = None

for _ in range(5):
    with torch.no_grad():
        noisy.weight.copy_(torch.randn(1, 1, generator=generator))
    library.update_parameters(noisy)
    now = noisy.weight.item()
    average = now if average is None else 0.9 * average + 0.1 * now

print("equal:", abs(library.module.weight.item() - average) < 1e-6)

# %% [markdown]
# On the digits, with a learning rate that is too high on purpose and labels of which a fifth are wrong, the average
# gives a calm line where the weights themselves jump about:

# %%
x, y = data["train"]
noise = torch.rand(1197, generator=torch.Generator().manual_seed(1)).to(device) < 0.2
spoilt_labels = torch.where(noise, (y + 1) % 10, y)

shaky, generator = make_model(5), torch.Generator().manual_seed(0)
optimizer = torch.optim.SGD(shaky.parameters(), lr=0.2, momentum=0.9)
smooth = AveragedModel(shaky, multi_avg_fn=get_ema_multi_avg_fn(0.97), use_buffers=True)
steps = torch.cat([torch.randperm(1197, generator=generator) for _ in range(8)]).split(64)

seen = []
for number, index in enumerate(steps):
    optimizer.zero_grad()
    F.cross_entropy(shaky.train()(x[index.to(device)]), spoilt_labels[index.to(device)]).backward()
    optimizer.step()
    smooth.update_parameters(shaky)
    if number % 4 == 0:
        seen.append([score(network, *data["val"])[1] for network in (shaky, smooth)])

figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
axis.plot(range(0, 4 * len(seen), 4), seen, label=["the weights", "their average, d = 0.97"])
axis.set(xlabel="step", ylabel="validation accuracy", ylim=(0.5, 1))
axis.legend(frameon=False, loc="lower right")
show(figure, "Validation accuracy by step: jagged for the weights, smooth for their average.")

# %% [markdown]
# ### Exercise 13.9 — Averages in, and out again ★★ · 12 min · 4 points
#
# Write two functions: `ema` brings an average up to date after a step, `swapped_in` lends it to the model.
#
# `ema(average, state, step, decay)` takes two dicts of the same names, as `state_dict()` gives them (two names
# may share a tensor) but in any order, and `step`, counted from 0. It returns a new dict:
#
# - floating-point entries (`is_floating_point()`): `d * average + (1 - d) * state`, in their own dtype, with
#   $d = \min(\text{decay}, (1 + \text{step}) / (10 + \text{step}))$;
# - all others, such as `num_batches_tracked`, as in `state`.
#
# The arguments stay as they are, and the result shares no memory with `state`.
#
# `swapped_in(model, average)` returns a context manager, and changes nothing yet.
#
# - Inside the block the model has the values of `average`, buffers included, whatever their dtype.
# - After it, it has those again that it had when the block began, whatever the block raises (KeyboardInterrupt
#   too) or does, an optimizer's step and a forward pass in training mode included, which may put a new
#   tensor in a buffer's place.
# - What `average` holds stays as it is. All else stays: the parameters are the same objects, so that the
#   optimizer still knows them, and modes, hooks, `requires_grad`, `.grad` and grad mode are what they were,
#   inside the block too.
#
# Example: with `step=0`, `decay=0.99`, entries 1.0 in the average and 2.0 in the state give 1.9.


# %% nbgrader={"grade_id": "try-swapped-in", "locked": true} jupyter={"source_hidden": true}
import contextlib
from course_utils.chapters.training import run_swapped_in


@runs_with_the_answer
def try_swapped_in(*given, **options):
    return run_swapped_in(swapped_in, *given, **options)


# %% nbgrader={"grade_id": "make-states", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import make_states

# %% nbgrader={"grade_id": "check-average", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import check_average, check_odd, check_swapped, check_weight


# %% nbgrader={"grade_id": "ema", "solution": true}
def ema(
    average: dict[str, torch.Tensor], state: dict[str, torch.Tensor], step: int, decay: float
) -> dict[str, torch.Tensor]:
    """The next average; what isn't a floating-point tensor is taken from ``state``."""
    ### BEGIN SOLUTION
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }
    ### END SOLUTION


def swapped_in(model: nn.Module, average: dict) -> contextlib.AbstractContextManager:
    """Inside the block ``model`` has the values of ``average``."""

    ### BEGIN SOLUTION
    @contextlib.contextmanager
    def swapping():
        own = copy.deepcopy(model.state_dict())
        model.load_state_dict(average)
        try:
            yield
        finally:
            model.load_state_dict(own)

    return swapping()
    ### END SOLUTION


# %% nbgrader={"grade_id": "ema-check", "grade": true, "points": 2} jupyter={"source_hidden": true}
def check_ema(step, decay, dtype=torch.float32, seed=0):
    average, state = make_states(dtype, seed)
    with forbid_changes(*average.values(), *state.values()):
        found = ema(average, state, step, decay)
    check_average(found, average, state, step, decay)


with every_case() as case:
    with case("the example"):
        found = ema({"w": torch.ones(1)}, {"w": torch.full((1,), 2.0)}, 0, 0.99)
        assert isinstance(found, dict), "ema returned no dict: is there an answer yet?"
        check_weight("w", found.get("w"), torch.ones(1), torch.full((1,), 2.0), 0, 0.99)
    with case("odd numbers"):
        check_odd(ema)
    half, whole = [torch.float16, torch.bfloat16], [torch.float32, torch.float64]
    kinds = [*whole, *half, *whole[::-1]]
    decays = (0.99, 0.9, 0.5, 0.0, 0.999, 1.0)
    for step, decay, dtype in zip((0, 1000, 3, 5, 17, 4), decays, kinds, strict=True):
        with case(f"step {step}, decay {decay}, {dtype}"):
            check_ema(step, decay, dtype)
### BEGIN HIDDEN TESTS
with every_case() as case:
    kinds = [torch.bfloat16, torch.float32, torch.float64]
    for step, decay, dtype in zip((30, 80, 2), (0.999, 0.9, 1.0), kinds, strict=True):
        with case(f"a hidden one, step {step}"):
            check_ema(step, decay, dtype, seed=step)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "ema-check-2", "grade": true, "points": 2} jupyter={"source_hidden": true}
SWAPS = {
    "": "a block that ends well, another block inside it",
    "ZeroDivisionError": "a block that raises",
    "KeyboardInterrupt": "a block that is interrupted",
    "ValueError": "a block that raises ValueError",
    "without gradients": "a block where gradients are off",
    "after another block": "a second block, after a step",
}
with every_case() as case:
    for ends, words in SWAPS.items():
        with case(words):
            check_swapped(try_swapped_in(ends), ends)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `value.is_floating_point()` tells which entries are averaged. An integer counter times 0.99 isn't a counter.
# </details>
# <details><summary>Hint 2</summary>
#
# `contextlib.contextmanager` makes a context manager of a generator: what comes before `yield` is done on the way
# in, a `finally` around it on the way out.
# </details>

# %% [markdown]
# ## 10. Mixed images
#
# Averaging weights calms a run. Mixing *images* makes it learn more from few: **mixup** takes a weighted mean of two
# images, **CutMix** pastes a rectangle of one into the other. The label is mixed in the same proportion, so it
# becomes **soft**: a probability for each class. `cross_entropy` takes soft labels of shape (n, classes).

# %%
logits, soft = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([[0.7, 0.3, 0.0]])
parts = [F.cross_entropy(logits, torch.tensor([label])) for label in (0, 1)]
print("soft label:           ", round(F.cross_entropy(logits, soft).item(), 4))
print("0.7 of one, 0.3 other:", round((0.7 * parts[0] + 0.3 * parts[1]).item(), 4))

# %%
x, y = (part[:2].cpu() for part in data["train"])
patch = x[0, 0].clone()
patch[4:, 2:] = x[1, 0, 4:, 2:]  # 4 × 6 of 64 pixels

panels = {f"{y[0]}": x[0, 0], f"{y[1]}": x[1, 0]}
panels[f"mixup: 0.6 of {y[0]}, 0.4 of {y[1]}"] = 0.6 * x[0, 0] + 0.4 * x[1, 0]
panels[f"CutMix: {40 / 64:.3f} of {y[0]}, {24 / 64:.3f} of {y[1]}"] = patch

# %%
figure, axes = plt.subplots(1, 4, figsize=(9, 2.3), layout="constrained")
for axis, (title, image) in zip(axes, panels.items(), strict=True):
    axis.imshow(image, cmap="gray", vmin=0, vmax=1)
    axis.set_title(title, fontsize=9)
    axis.axis("off")
show(figure, "Two digits, their mixup with both shining through, their CutMix with a rectangle.")

# %% [markdown]
# For CutMix the label's weight is the share of pixels that **really** were pasted. A rectangle is often drawn around
# a random centre and cut off at the image's edge; the planned area would then be wrong. By hand: a 4 × 4 box
# whose corner is at (-2, 6) of an 8 × 8 image covers 2 × 2 pixels, and 4/64 of the label, not 16/64.
#
# Does mixing shift the data? With weights from a symmetric Beta distribution, as both papers draw them, each image
# contributes half on average, and the mean over a batch stays. The spread does not: a mean of two images is
# nearer to the middle.

# %%
generator = np.random.default_rng(0)
weights_drawn = torch.from_numpy(generator.beta(0.4, 0.4, 20_000)).float()
print("mean weight:", round(weights_drawn.mean().item(), 1))
batch = data["train"][0][:64]
mixed = 0.3 * batch + 0.7 * batch[torch.randperm(64).to(device)]
print("the batch's mean stays:", torch.allclose(mixed.mean(0), batch.mean(0), atol=1e-5))
print(f"deviation of a pixel: {batch.std(0).mean():.2f} → {mixed.std(0).mean():.2f}")

# %% [markdown]
# With alpha = 0.4 about half of the weights are below 0.1 or above 0.9, so almost plain images occur too. The
# library has both ways, as transforms of a whole batch (for a `DataLoader`, call one in `collate_fn`). Each image is mixed with its
# neighbour, and the weight is drawn for each batch:

# %%
from torchvision.transforms import v2

x, y = (part[:4].cpu() for part in data["train"])
either = v2.RandomChoice([v2.MixUp(num_classes=10, alpha=0.4), v2.CutMix(num_classes=10)])
print([tuple(part.shape) for part in either(x, y)])
images, soft = v2.MixUp(num_classes=10, alpha=0.4)(x, y)
own = soft[0, y[0]]
print("naive equals library:", torch.allclose(images, own * x + (1 - own) * x.roll(1, 0)))

# %% [markdown]
# ### Exercise 13.10 — Mixup and CutMix ★★ · 10 min · 3 points
#
# Write `mixup_cutmix(x, y, classes, order, weight=None, box=None)`, which mixes each image of a batch, and its
# label, with another. `x` is float (n, channels, height, width), n > 0, `y` int64 (n,), `order` a permutation
# of the batch's indices: image `i` is mixed with image `order[i]`. Exactly one of the last two says how:
#
# - `weight`, from 0 to 1: mixup, `weight` of image `i` and `1 - weight` of its partner;
# - `box = (top, left, height, width)`: CutMix, that rectangle comes from the partner, all else is as it was,
#   also where a pixel is infinite. The box may stick out on any side, or be outside altogether; only what is
#   inside the image counts, for the label too.
#
# Return `(mixed, soft)`: images like `x` in shape and dtype, and labels (n, classes) in the dtype of `x`,
# both as exact as that is, in memory of their own. `x`, `y` and `order` stay as they are. With both or neither,
# raise `ValueError`.
#
# Example: `y = [0, 2]`, `classes=3`, `order = [1, 0]`, `weight=0.75` give the labels
# `[[0.75, 0, 0.25], [0.25, 0, 0.75]]`.


# %% nbgrader={"grade_id": "right-mix", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import right_mix

# %% nbgrader={"grade_id": "mix-words", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import MIXED, Tried, check_mix, close
from course_utils.chapters.training import image_slip_of, make_mix, one_slip_of


# %% nbgrader={"grade_id": "mixup-cutmix", "solution": true}
def mixup_cutmix(
    x: torch.Tensor,
    y: torch.Tensor,
    classes: int,
    order: torch.Tensor,
    weight: float | None = None,
    box: tuple[int, int, int, int] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mixed images like ``x`` and soft labels (n, classes)."""
    ### BEGIN SOLUTION
    if (weight is None) == (box is None):
        raise ValueError("give either weight or box")
    if weight is None:
        top, left, height, width = box
        rows = slice(max(top, 0), max(top + height, 0))
        columns = slice(max(left, 0), max(left + width, 0))
        mixed = x.clone()
        mixed[:, :, rows, columns] = x[order][:, :, rows, columns]
        weight = 1 - x[0, 0, rows, columns].numel() / x[0, 0].numel()
    else:
        mixed = weight * x + (1 - weight) * x[order]
    hard = F.one_hot(y, classes).to(x.dtype)
    return mixed, weight * hard + (1 - weight) * hard[order]
    ### END SOLUTION


# %% nbgrader={"grade_id": "mixup-cutmix-check", "grade": true, "points": 2} jupyter={"source_hidden": true}
def mix(n, size, classes, number=0, dtype=torch.float32, *kinds, **how):
    given = x, y, _, order = make_mix(n, size, classes, number, dtype, *(kinds or [False]))
    right = dict(zip(("mixed", "soft", "share"), right_mix(*given, **how), strict=True))
    box = how.get("box")
    right["planned"] = 1 - box[2] * box[3] / (size[1] * size[2]) if box else right["share"]
    with forbid_changes(x, y, order):
        found = mixup_cutmix(*given, **how)
    assert found is not None, "mixup_cutmix returned None: is there an answer yet?"
    assert isinstance(found, (tuple, list)) and len(found) == 2, "expected a pair (mixed, soft)"
    right |= {"x": x, "how": how, "y": y, "order": order}
    return right | {"images": found[0], "found": found[1]}


mixed = MIXED | {"float64, a box": (3, (2, 4, 5), 4, 2, torch.float64, {"box": (1, 2, 3, 4)})}
tried = Tried({name: lambda how=how: mix(*how[:-1], **how[-1]) for name, how in mixed.items()})
wrong = [one for one in tried.given.values() if not close(one["found"], one["soft"])]
with every_case() as case:
    for name in mixed:
        with case(name):
            check_mix(
                tried.result(name), one_slip_of(wrong), image_slip_of([*tried.given.values()])
            )
    for how in ({"weight": 0.25}, {"box": (-1, 1, 3, 2)}):
        with case(f"{how}, called twice, and in a graph"):
            call = lambda x, y, order: mixup_cutmix(x, y, 3, order, **how)
            x, y, _, order = make_mix(4, (2, 4, 5), 3, 6, torch.float32, False)
            check_states(call, x, y, order, what="mixup_cutmix(…)")
### BEGIN HIDDEN TESTS
with every_case() as case:
    for number in range(6):
        with case(f"a hidden one, {number}"):
            box = (number - 3, 7 - 2 * number, 2 + number, 5)
            check_mix(mix(3 + number, (3, 7, 9), 10, number=number, box=box))
            size, weight = (1, 2, 3), 0.1 * number
            check_mix(mix(3 + number, size, 10, number=number, dtype=torch.float64, weight=weight))
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "mixup-cutmix-check-2", "grade": true, "points": 1} jupyter={"source_hidden": true}
images, label = (
    torch.ones(1, 1, 2, 2, device=device),
    torch.zeros(1, dtype=torch.int64, device=device),
)
with every_case() as case:
    for name, how in {
        "both given": {"weight": 0.5, "box": (0, 0, 1, 1)},
        "both given, the weight is 0": {"weight": 0.0, "box": (0, 0, 1, 1)},
        "neither given": {},
    }.items():
        with case(name):
            call = lambda: mixup_cutmix(images, label, 2, label, **how)
            check_raises(ValueError, call, "the call")

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `F.one_hot(y, classes)` gives integer labels. Turn them into the dtype of `x` before you weigh them.
# </details>
# <details><summary>Hint 2</summary>
#
# Mind negative bounds: in a slice, `-2` counts from the end. Clamp all four to what the image has.
# </details>

# %% [markdown]
# ## 11. Begin where another run ended
#
# A checkpoint is not only for resuming. Its first layers know edges and strokes, and another task can use them. Here
# the images are noisy, and a backbone is trained on the digits 0 to 4. Then the head is replaced, and twenty images
# of the digits 5 to 9 are all there is to learn from.

# %%
x, y = data["train"]
small, generator = y < 5, torch.Generator().manual_seed(0)
noisy = lambda x: x + 0.3 * torch.randn(x.shape, generator=generator).to(device)
backbone = make_model(classes=5)
optimizer = torch.optim.AdamW(backbone.parameters(), lr=3e-3)
for _ in range(6):
    train_epoch(backbone, noisy(x[small]), y[small], optimizer, generator)
print("digits 0 to 4, above 95 %:", score(backbone, x[small], y[small])[1] > 0.95)

large = data["val"][1] >= 5
others = (noisy(data["val"][0][large]), data["val"][1][large] - 5)


def draw():
    """Four images of each new digit, and their labels."""
    order = torch.randperm(len(y), generator=generator).to(device)
    chosen = torch.cat([order[y[order] == label][:4] for label in range(5, 10)])
    return noisy(x[chosen]), y[chosen] - 5


# %% [markdown]
# > **Then and now.** *"`resnet18(pretrained=True)`, with `num_classes` as you need it."* The argument became
# > `weights=`, with a named version of the weights, and a head of another size is refused: replace the head
# > after loading. (No file is fetched here: the size is looked at first.)

# %% errata=["pretrained-true"]
import torchvision

try:
    torchvision.models.resnet18(weights="IMAGENET1K_V1", num_classes=5)
except ValueError as error:
    print(str(error).split(" instead")[0])

# %% [markdown]
# There are three ways. A **linear probe** freezes the backbone and trains the head. **Full fine-tuning**
# trains all. **Discriminative rates** train all, with a smaller rate for the backbone, which already knows
# something. Frozen has a trap: `requires_grad=False` stops the optimizer, not the batch norm. In training mode its
# statistics keep moving.

# %%
frozen_one = copy.deepcopy(backbone).requires_grad_(False)
before = frozen_one[0][1].running_mean.clone()
_ = frozen_one.train()(x[~small][:20])

moved = not torch.equal(before, frozen_one[0][1].running_mean)
pairs = zip(frozen_one.parameters(), backbone.parameters(), strict=True)
print("frozen, and yet the statistics moved:", moved)
print("all parameters are what they were:   ", all(torch.equal(a, b) for a, b in pairs))


# %%
def adapt(start, rate_body, rate_head):
    """A copy with a new head, and its optimizer."""
    learner = copy.deepcopy(start)
    learner[1] = nn.Linear(512, 5, device=device)
    nn.init.zeros_(learner[1].weight)
    rates = ((learner[0], rate_body), (learner[1], rate_head))
    optimizer = torch.optim.AdamW([{"params": m.parameters(), "lr": rate} for m, rate in rates])
    return learner, optimizer


def learn(learner, optimizer, few, frozen):
    """Validation accuracy by epoch on the five new digits."""
    curve = []
    for _ in range(12):
        learner.train(not frozen)
        for index in torch.randperm(20, generator=generator).to(device).split(5):
            optimizer.zero_grad()
            F.cross_entropy(learner(few[0][index]), few[1][index]).backward()
            optimizer.step()
        curve.append(score(learner, *others)[1])
    return curve


# %% [markdown]
# A single set of twenty images is a matter of luck, so each curve is the mean over eight draws.

# %%
ways = {"probe": (backbone, 0.0, 3e-3), "full": (backbone, 3e-3, 3e-3)}
ways |= {"discriminative": (backbone, 3e-4, 3e-3), "from scratch": (make_model(), 3e-3, 3e-3)}
draws = [draw() for _ in range(8)]
curves = {
    name: torch.tensor([learn(*adapt(*way), few, name == "probe") for few in draws]).mean(0)
    for name, way in ways.items()
}

figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
for (name, curve), style in zip(curves.items(), ("-", "--", "-.", ":"), strict=True):
    axis.plot(range(1, 13), curve, style, label=name)
axis.set(xlabel="epoch on twenty noisy images", ylabel="validation accuracy", ylim=(0.35, 0.85))
axis.legend(frameon=False, loc="lower right")
show(figure, "Validation accuracy by epoch: three ways from a backbone, above one from scratch.")

# %% [markdown]
# All three that start from the backbone are far ahead in the first epoch, and stay a few points ahead to the
# last: it has learned to look through the noise, which twenty images can't teach. Which of the three is best
# differs from task to task. On so few images, a backbone that may change gains little.

# %% [markdown]
# ### Exercise 13.11 — A new head ★★ · 12 min · 4 points
#
# Write two functions that adapt a trained model, an `nn.Sequential` of two, which may have names: `model[0]` the
# backbone, `model[1]` the head, an `nn.Linear`.
#
# `transfer(model, classes, mode, lr)` puts a new, trainable `nn.Linear` in the head's place, with a bias,
# `classes` outputs and the old head's inputs, on the device of the old one. It returns parameter groups for an
# optimizer, a list of dicts with `"params"` and `"lr"`:
#
# - mode `"probe"`: no backbone parameter requires a gradient, and none is in a group; the head learns at `lr`;
# - mode `"full"`: everything requires a gradient and learns at `lr`;
# - mode `"discriminative"`: everything requires a gradient; the head learns at `lr`, the backbone at `lr / 10`.
#
# Each trained parameter is in exactly one group, once, though two layers may share one; a backbone may have none.
# The backbone's values stay, buffers too, whichever mode came before. Any other mode raises `ValueError` and
# changes nothing, no random state either.
#
# `train_mode(model)` is called in place of `model.train()`: everything goes into training mode, except batch norm
# layers (`nn.BatchNorm1d`, `2d`, `3d`, and classes derived from them) whose **weight** does not require a gradient,
# whatever their bias does. These go into evaluation mode, so that their statistics stay. Modes are all that it changes.
# Every batch norm here is one of these, has a weight, and no layer inside.


# %% nbgrader={"grade_id": "try-transfer", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import make_two

# %% nbgrader={"grade_id": "try-transfer-once", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import run_transfer


@runs_with_the_answer
def try_transfer(*given, **options):
    return run_transfer(train_mode, transfer, *given, **options)


# %% nbgrader={"grade_id": "try-bare", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import run_bare


@runs_with_the_answer
def try_bare(*given, **options):
    return run_bare(transfer, *given, **options)


# %% nbgrader={"grade_id": "try-norms", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import run_elsewhere, run_norms


@runs_with_the_answer
def try_elsewhere(*given, **options):
    return run_elsewhere(transfer, *given, **options)


@runs_with_the_answer
def try_norms(*given, **options):
    return run_norms(train_mode, *given, **options)


# %% nbgrader={"grade_id": "transfer-words", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import check_rates

# %% nbgrader={"grade_id": "transfer-modes", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import check_bare, check_elsewhere, check_modes, check_single


# %% nbgrader={"grade_id": "transfer", "solution": true}
def transfer(model: nn.Sequential, classes: int, mode: str, lr: float) -> list[dict]:
    """Give ``model`` a new head; the parameter groups for an optimizer."""
    ### BEGIN SOLUTION
    rates = {"probe": None, "full": lr, "discriminative": lr / 10}
    if mode not in rates:
        raise ValueError(f"no mode {mode!r}")
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[0].requires_grad_(mode != "probe")
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode != "probe":
        groups.append({"params": list(model[0].parameters()), "lr": rates[mode]})
    return groups
    ### END SOLUTION


def train_mode(model: nn.Module) -> None:
    """Training mode, except for batch norm layers that are frozen."""
    ### BEGIN SOLUTION
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            module.train(module.weight.requires_grad)
    ### END SOLUTION


# %% nbgrader={"grade_id": "transfer-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
def check_transfer(mode, frozen_before=False):
    seen, right = try_transfer(mode, frozen_before), make_two(frozen_before)
    body = {"probe": [], "full": [0.5], "discriminative": [0.05]}[mode]
    check_equal(seen["error"], "", f"what mode {mode!r} raised", "a mode of the three")
    with every_case() as part:
        with part("the head"):
            check_equal(seen["head"], ("Linear", 5, 6), "type and weight's shape of model[1]")
            check_equal(seen["parts"], 2, "how many parts the model has")
            assert seen["new"], "it is the old one: put a new nn.Linear there"
            check_equal(seen["device"], device.type, "its device")
        with part("the backbone's values"):
            assert not seen["reset"], f"transfer changed {', '.join(seen['reset'])}"
        for name, _ in right.named_parameters():
            with part(name):
                check_rates(seen, name, body if name[0] == "0" else [0.5])
        with part("the groups"):
            words = "they hold parameters that the model doesn't have: those of the old head?"
            assert seen["strangers"] == 0, words
        with part("train_mode, then a forward pass"):
            norms = [n for n, m in right.named_modules() if isinstance(m, nn.BatchNorm1d)]
            check_modes(seen, mode, norms)


NORMS = "frozen batch norms alone are in evaluation mode, also where one is the model itself"
with every_case() as case:
    for mode in ("probe", "full", "discriminative"):
        with case(mode):
            check_transfer(mode)
    with case("full, after a probe, the old head frozen too"):
        check_transfer("full", frozen_before=True)
    with case("a backbone without parameters"):
        check_bare(try_bare)
    with case("a backbone that is a single layer, and as many classes as before"):
        check_single(try_bare)
    with case("a model on the device meta"):
        check_elsewhere(try_elsewhere)
    with case("train_mode, and every kind of batch norm"):
        for name, training in try_norms().items():
            check_equal(training, not name.startswith("frozen Batch"), f"{name}: training", NORMS)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("a hidden one, discriminative after a probe"):
        check_transfer("discriminative", frozen_before=True)
    with case("a hidden one, probe twice"):
        check_transfer("probe", frozen_before=True)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "transfer-check-2", "grade": true, "points": 1} jupyter={"source_hidden": true}
modes = ("frozen", False), ("Full", False), ("full ", False), ("", True), (None, False)
for mode, frozen_before in modes:
    seen = try_transfer(mode, frozen_before)
    check_equal(seen["error"], "ValueError", f"what mode {mode!r} raised", "none of the three")
    assert seen["untouched"], "the model was changed before the error: look at the mode first"
    words = "the global random state moved before the error: make the head once the mode is known"
    assert not seen["drawn"], words

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `model[0].requires_grad_(False)` reaches every parameter below. Its opposite undoes it.
# </details>
# <details><summary>Hint 2</summary>
#
# Assigning `model[1] = …` replaces the module, so build the groups afterwards.
# </details>
# <details><summary>Hint 3</summary>
#
# `model.train()` sets every module. Then walk `model.modules()` and set the frozen batch norms back.
# </details>

# %% [markdown]
# ## 12. Learn from a teacher
#
# Last, the model may be too big for where it has to run. **Distillation** trains a small student on the outputs of a
# large teacher. A label says "7". The teacher says "7, perhaps a 1, surely no 0", and a **temperature** T makes such
# nuances visible: softmax of the logits divided by T.

# %% topics=["distillation"]
logits = torch.tensor([8.0, 5.0, 1.0, -2.0])

figure, axes = plt.subplots(1, 3, figsize=(8, 2.2), layout="constrained", sharey=True)
for axis, temperature in zip(axes, (1, 4, 20), strict=True):
    axis.bar(["7", "1", "9", "0"], (logits / temperature).softmax(0), color="#0072b2")
    axis.set(title=f"T = {temperature}", xlabel="class")
axes[0].set_ylabel("probability")
show(figure, "One teacher's answer: at T = 1 all on one class, at 4 shared, at 20 nearly even.")

# %% [markdown]
# The student's loss mixes two parts, with `alpha` for the teacher's:
#
# $$L = \alpha\, T^2\, \mathrm{KL}\big(p_\text{teacher}^{T} \,\|\, p_\text{student}^{T}\big) + (1 - \alpha)\,
# \mathrm{CE}(\text{student}, \text{labels})$$
#
# Why $T^2$? A soft target's gradient is $(p_\text{student} - p_\text{teacher}) / T$, and for large T the two
# distributions also draw together like 1/T. Measure it:

# %% topics=["distillation"]
student, teacher = (
    torch.tensor([[1.0, 0.0, -1.0]], requires_grad=True),
    torch.tensor([[3.0, 0.0, 1.0]]),
)
for temperature in (1, 10, 100):
    own, soft = ((z / temperature).log_softmax(1) for z in (student, teacher))
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    size = torch.autograd.grad(divergence, student)[0].norm().item()
    print(f"T = {temperature:3}: gradient {size:.6f}, times T squared {size * temperature**2:.2f}")

# %% [markdown]
# Without the factor, a temperature of 10 would silently turn the teacher's part down about fifty times here, and
# each further ten times T by a hundred.
#
# ### Exercise 13.12 — The teacher's loss ★★ · 8 min · 3 points
#
# Write `distill(student, teacher, labels, temperature, alpha)`: the formula above, as a scalar tensor, in
# the dtype of the logits, computed in nothing less exact. The rules:
#
# - `student` and `teacher` are logits (n, classes), `labels` int64 (n,). `temperature` is positive.
# - Both parts are means over the n samples. The cross-entropy uses no temperature.
# - No gradient flows to the teacher; all arguments stay as they are, `requires_grad` too.
# - Logits may be large (1000), so don't take the logarithm of a softmax.
#
# Example: if the teacher's logits equal the student's, the first part is 0.


# %% nbgrader={"grade_id": "right-loss", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import right_loss

# %% nbgrader={"grade_id": "distill-words", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import DISTILLED, Tried, check_loss, check_slope
from course_utils.chapters.training import distill_once, one_slip_in


# %% nbgrader={"grade_id": "try-distill", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.training import run_distill


@runs_with_the_answer
def try_distill(*given, **options):
    return run_distill(distill, *given, **options)


# %% nbgrader={"grade_id": "distill", "solution": true}
def distill(
    student: torch.Tensor,
    teacher: torch.Tensor,
    labels: torch.Tensor,
    temperature: float,
    alpha: float,
) -> torch.Tensor:
    """The loss of a student beside a teacher; a scalar."""
    ### BEGIN SOLUTION
    own = (student / temperature).log_softmax(1)
    soft = (teacher.detach() / temperature).log_softmax(1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * divergence + (1 - alpha) * F.cross_entropy(student, labels)
    ### END SOLUTION


# %% nbgrader={"grade_id": "distill-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
def check_distill(found, wide, mine, slip=""):
    if isinstance(found, torch.Tensor) and not slip:
        check_equal(found.dtype, mine[0].dtype, "the dtype of the loss")
    check_loss(found, wide, slip)
    grads = try_distill(*mine)
    assert isinstance(grads, (list, tuple)) and len(grads) == 2, "no gradient could be taken"
    check_slope(grads[0], wide)
    assert not grads[1].any(), "a gradient flows to the teacher: detach its logits"


cases = DISTILLED | {"float64": (4, 3, 1.3, 0.3, 0, 2.0, torch.float64)}
tried = Tried({name: lambda how=how: distill_once(distill, *how) for name, how in cases.items()})
slip = one_slip_in([one[:2] for one in tried.given.values()])
with every_case() as case:
    for name in cases:
        with case(name):
            check_distill(*tried.result(name), slip)
    for dtype in (torch.bfloat16, torch.float16):
        with case(f"{dtype}, T = 2, alpha = 1"):
            loss, wide, _ = distill_once(distill, 4, 3, 2, 1, dtype=dtype)
            check_equal(loss.dtype, dtype, "the dtype of the loss")
            check_close(loss, right_loss(*wide).to(dtype), "the loss", rtol=0.05, atol=0.02)
    with case("called twice, and inside other graphs"):
        check_states(distill, *distill_once(distill, 4, 3, 2.0, 0.5)[2], what="distill(…)")
    with case("a teacher that equals the student, alpha = 1"):
        z, label = torch.tensor([[1.0, 2.0]], device=device), torch.tensor([0], device=device)
        zero = torch.tensor(0.0, device=device)
        check_close(distill(z, z.clone(), label, 3.0, 1.0), zero, "the loss", atol=1e-6)
    with case("a teacher that equals the student, alpha = 0.25"):
        right, words = 0.75 * F.cross_entropy(z, label), "the loss, the labels' part alone"
        check_close(distill(z, z.clone(), label, 3.0, 0.25), right, words, atol=1e-6)
### BEGIN HIDDEN TESTS
with every_case() as case:
    for number, (n, classes, temperature, alpha) in enumerate(
        [(1, 2, 0.5, 0.3), (9, 10, 20.0, 0.8), (6, 5, 3.0, 0.25)]
    ):
        with case(f"a hidden one, {number}"):
            given = n, classes, temperature, alpha, number
            one = distill_once(distill, *given, dtype=torch.float64)
            check_distill(*one)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `F.kl_div(input, target)` takes the logarithm of the student's probabilities first. With `log_target=True` the
# teacher's are logarithms too.
# </details>
# <details><summary>Hint 2</summary>
#
# The default `reduction="mean"` divides by n × classes. `"batchmean"` divides by n.
# </details>

# %% [markdown]
# ## Payoff: killed, and resumed · core
#
# Now the chapter's question, put to the machine. A training run gets a process: 100 steps, a checkpoint every
# ten, atomically, the best kept. At step 57 it is **killed** by the signal that can't be caught (on Windows,
# which has none, it ends just as suddenly). A new process
# finds the folder, loads the newest step and continues. Another trains without any accident. Do both end with
# the same bits?
#
# Your `save_run`, `exact_resume` and `best_checkpoint` do the work where they do it right. As long as one of
# them is missing, spare ones from the folded cell are used: they store the number of steps and train them all
# again. That works here, where a step takes a millisecond and the seed is known; it is what a run without a
# checkpoint is left with.


# %% nbgrader={"grade_id": "fallback", "locked": true} jupyter={"source_hidden": true}
def spare_save(run: Run) -> dict:
    return {"steps": run.scheduler.last_epoch}


def spare_resume(run: Run, state: dict) -> None:
    vars(run).update(vars(after(state["steps"])))  # from the start, with the same seed


def spare_checkpoint(folder: str, state: dict, step: int, score: float, keep: int = 2) -> None:
    atomic_save({"state": state, "step": step, "score": score}, f"{folder}/step-{step:06d}.pt")


# %% nbgrader={"grade_id": "trusted", "locked": true} jupyter={"source_hidden": true}
def trusted() -> tuple:
    """The learner's three functions if a short trial ends well, else the spare ones; and words."""
    try:
        with tempfile.TemporaryDirectory() as trial:
            other, run = Run(5), after(6)  # in this order: a Run seeds the global generators
            for number in (6, 7):
                best_checkpoint(trial, save_run(run), number, 0.5, 2)
                run.step()
            exact_resume(other, torch.load(f"{trial}/step-000007.pt")["state"])
        for _ in range(12):
            other.step()
        assert torch.equal(weights(other), weights(after(19)))
        return save_run, exact_resume, best_checkpoint, "your own functions"
    except Exception:
        return spare_save, spare_resume, spare_checkpoint, "the spare functions"


# %% topics=["training-template", "best-model-tracking", "checkpoint-resume"]
import signal

from course_utils.chapters.training import end_at_once

save, resume, checkpoint, whose = trusted()
validation = tuple(part.cpu() for part in data["val"])
print("done by", whose)


# %% topics=["training-template", "best-model-tracking", "checkpoint-resume"]


def main(folder: str, steps: int, hit_at: int | None = None, hit=end_at_once) -> None:
    run, done, told = Run(seed=0), 0, []
    for name in {"SIGTERM", "SIGUSR1"} & set(dir(signal)):  # Windows has the first alone
        signal.signal(getattr(signal, name), lambda *_: told.append(name))  # a flag, no more
    names = sorted(name for name in os.listdir(folder) if name.startswith("step-"))
    if names:  # the name sorts like the number here
        newest = torch.load(os.path.join(folder, names[-1]))
        done = newest["step"]
        resume(run, newest["state"])
    while done < steps and not told:
        run.step()
        done += 1
        if done == hit_at:
            hit()
        if done % 10 == 0 or told:
            accuracy = score(run.model, validation[0].flatten(1), validation[1])[1]
            checkpoint(folder, save(run), done, accuracy, 2)
    if done == steps:
        atomic_save(run.model.state_dict(), os.path.join(folder, "final.pt"))


# %% tags=["shows-false"]
killed, undisturbed = tempfile.mkdtemp(), tempfile.mkdtemp()
print("killed run came to its end:   ", in_a_child(lambda: main(killed, 100, hit_at=57)))
print("newest checkpoint it left:    ", max(n for n in os.listdir(killed) if n[:5] == "step-"))
print("resumed run came to its end:  ", in_a_child(lambda: main(killed, 100)))
print("undisturbed came to its end:  ", in_a_child(lambda: main(undisturbed, 100)))

one, other = (torch.load(os.path.join(path, "final.pt")) for path in (killed, undisturbed))
print("the same weights, bit by bit: ", all(torch.equal(one[name], other[name]) for name in one))

# %% [markdown]
# It stopped; the folder shows at which step; it resumed, to the same bits. That is the answer to the chapter's
# question. Seven steps were lost, though. Most deaths are announced: a scheduler that wants its machine back sends
# **SIGTERM** and kills half a minute later, and on request it sends **SIGUSR1** earlier still. The handler in
# `main` only sets a flag, for it may interrupt any line, `torch.save` too. The loop looks at the flag after each
# step, saves and ends:


# %% topics=["training-template", "checkpoint-resume"]
def terminate() -> None:
    signal.raise_signal(signal.SIGTERM)


warned = tempfile.mkdtemp()
print("warned run ended by itself:   ", in_a_child(lambda: main(warned, 100, 57, terminate)))
print("newest checkpoint it left:    ", max(n for n in os.listdir(warned) if n[:5] == "step-"))
print("resumed run came to its end:  ", in_a_child(lambda: main(warned, 100)))
three = torch.load(os.path.join(warned, "final.pt"))
print("the same weights, bit by bit: ", all(torch.equal(one[name], three[name]) for name in one))

# %% [markdown]
# How often to save against the deaths that aren't announced? A save costs $c$ seconds, and a death loses half an
# interval on average. With a death every $M$ seconds, the interval that loses least is $\sqrt{2cM}$ (Young, 1974):
# 22 minutes for a save of 10 s and a death a day, 76 for a save of 120 s.
#
# And does the best of it work on digits that no decision was based on? The test set is used here for the
# first time, with the CNN of the beginning, trained for five epochs:

# %% topics=["training-loop-classifier", "evaluation-loop"]
accuracy = score(model, *data["test"])[1]
assert accuracy >= 0.95
print("at least 95 % of the test digits right:", accuracy >= 0.95)

# %% [markdown]
# A script for this is the `main` above with options from the command line, which belong in the checkpoint too.
# How a project is divided into files, and how its command line grows, is the subject of chapter 21.
#
# ## Heard elsewhere
#
# *"To keep the best model, save it, then `shutil.copy("checkpoint.pth.tar", model_path)`."* After a save to
# `model_path` this copies an older file **over** the new one. Source first, target second:

# %% errata=["checkpoint-copied-backwards"]
import shutil

newer, older = (os.path.join(folder, name) for name in ("model_path.pt", "checkpoint.pth.tar"))
torch.save({"epoch": 1}, older)
torch.save({"epoch": 2}, newer)
shutil.copy(older, newer)
print("saved epoch 2, the file holds epoch", torch.load(newer)["epoch"])

# %% [markdown]
# *"Keep the best by `best_prec = max(best_prec, best_prec)`."* The line was in
# published training scripts, and all their checkpoints say `best_prec: 0.0`. The new value has to be
# one of the two.

# %% topics=["best-model-tracking"] errata=["best-metric-never-updates"]
best = old_best = 0.0
for accuracy in (0.91, 0.97, 0.95):
    old_best = max(old_best, old_best)
    is_best = accuracy > best
    best = max(best, accuracy)
    print(f"accuracy {accuracy}: best {best}, is_best {is_best}, the old line says {old_best}")

# %% [markdown]
# *"`optim = optim.SGD(net.parameters())`, then `model.train()` on the `images`."* Templates glued together from two
# sources mix names. The first of these hides the module, so the second optimizer fails:

# %% errata=["template-name-mix"]
from torch import optim

net = nn.Linear(2, 2)
optim = optim.SGD(net.parameters(), lr=0.1)

# %% errata=["template-name-mix"]
try:
    optim.SGD(net.parameters(), lr=0.1)
except AttributeError as error:
    print(error)

# %% [markdown]
# *"Log `accuracy_score(…).item()`."* scikit-learn returns a plain float, which has no `item`:

# %% errata=["accuracy-score-item"]
from sklearn.metrics import accuracy_score

accuracy = accuracy_score([1, 2, 2, 3], [1, 2, 2, 2])
print(type(accuracy).__name__, hasattr(accuracy, "item"), accuracy)

# %% [markdown]
# *"For a checkpoint from Python 2, edit `torch/serialization.py`, or patch `pickle.load` globally."* Then every other
# user of pickle in the process is patched too. `torch.load` hands an encoding on to the unpickler, for a file that you
# trust:

# %% errata=["py2-pickle-patch"]
old_file = io.BytesIO()
torch.save(
    {"weight": torch.ones(2)}, old_file, pickle_protocol=2, _use_new_zipfile_serialization=False
)
old_file.seek(0)
print(torch.load(old_file, weights_only=False, encoding="latin1"))

# %% [markdown]
# *"Mixed precision needs a V100 or TITAN V, through Apex's levels."* Volta had the first fast units for float16.
# Today autocast is part of PyTorch and runs wherever the operations do, this machine included:

# %% errata=["amp-needs-v100"]
with torch.autocast(device.type, dtype=torch.bfloat16):
    product = torch.ones(2, 2, device=device) @ torch.ones(2, 2, device=device)
print(product.dtype)

# %% [markdown]
# *"Use `torch.cuda.amp`."* It was new in release 1.6. Since 2.4 it warns: the classes moved to
# `torch.amp`, where the device is an argument and may be a CPU.

# %% errata=["torch-cuda-amp"] tags=["shows-deprecated"]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.cuda.amp.GradScaler(enabled=False)
print(str(caught[0].message).split("Please")[1].strip())

# %% [markdown]
# Before that there was Apex, an extension of NVIDIA's, with four levels. You meet them in old code:

# %% topics=["apex-opt-levels"]
levels = {
    "O0": "float32 throughout: no autocast",
    "O1": "casts by a list of operations: torch.autocast",
    "O2": "a half model with float32 master weights: today FSDP's MixedPrecisionPolicy",
    "O3": "half throughout: model.half()",
    "amp.scale_loss": "torch.amp.GradScaler",
    "apex DDP, SyncBN": "DistributedDataParallel, nn.SyncBatchNorm",
}
for old, new in levels.items():
    print(f"{old:16} {new}")

# %% [markdown]
# ## What to remember
#
# | question | answer |
# | --- | --- |
# | does it learn at all? | one batch, sixty steps; the loss starts at log(classes) |
# | is the average right? | sum over samples, divide once |
# | how sure is an accuracy? | two deviations of sqrt(p (1 - p) / n), and several seeds |
# | which switches for evaluation? | `eval()` and `no_grad()`, both |
# | what to save? | state dicts: model, optimizer, scheduler, scaler, random states, sampler |
# | how to save? | beside, flushed, renamed |
# | the scheduler wants the machine back? | SIGTERM sets a flag; the loop saves and ends |
# | which file to resume from? | the last; deploy the best |
# | what does autocast cast? | products to half, losses to float32; never the weights |
# | overflow with the scaler? | the step is skipped, the scale halved |
#
# **Three mistakes to remember**
#
# 1. Averaging what was already averaged: batch means, batch F1s.
# 2. Keeping `model.state_dict()` without a copy and calling it the best.
# 3. Believing that a run resumes because its loss curve looks right.
#
# **Where to read more:** PyTorch's notes "Reproducibility", "Serialization semantics" and "Automatic Mixed
# Precision"; Micikevicius et al., *Mixed Precision Training* (2018); Zhang et al., *mixup* (2018); Yun et al.,
# *CutMix* (2019); Hinton, Vinyals and Dean, *Distilling the Knowledge in a Neural Network* (2015); Karpathy,
# *A Recipe for Training Neural Networks* (2019).
