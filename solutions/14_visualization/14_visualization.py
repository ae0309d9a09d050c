# ---
# jupyter:
#   course:
#     title: Visualization
#     minutes: 240
#     core: 95
# ---

# %% [markdown]
# # Visualization: what would I have to see to know that it goes wrong?
#
# A training that fails seldom raises an error. It prints a number for each epoch, the number gets
# smaller, and the model is bad. A picture would have shown what went wrong, and none was drawn.
#
# **After this chapter you can**
#
# - look at a batch as the network gets it, and at a run as it happens, in TensorBoard and in visdom;
# - find dead layers, vanishing gradients and confused classes by a histogram, a map or a matrix;
# - tell a plot that shows from a plot that hides, and repair it;
# - draw a network, count its work, and ask which pixels an answer came from;
# - name what is wrong with twelve sick trainings from their pictures, and cure them.
#
# **It leans on** chapters 07 (hooks), 10 (losses) and 13 (the training loop). **Time:** four hours and
# ten minutes with all twelve exercises. Section 6 (visdom) is optional; without it, under four. The
# core path, marked in the headings, takes a good hour and a half: sections 1 to 4 and the payoff in
# section 10. You can skip any exercise.

# %% nbgrader={"grade_id": "setup", "locked": true}
import matplotlib.pyplot as plt
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_states, device, every_case, runs_with_the_answer, show
from course_utils.chapters import visualization

# %% [markdown]
# ## A run that looks healthy · core
#
# `course_utils.chapters.visualization` holds this chapter's data, scikit-learn's 8 × 8 digits, and a
# small training, `run`, that can be spoilt on purpose. Two networks learn the digits. They differ in
# one thing. **Predict** from their losses: is one of them ill?

# %%
from course_utils.chapters.visualization import digits, run

figure, axes = plt.subplots(figsize=(6, 2.6))
axes.plot(run()["loss"], label="one")
axes.plot(run(dead=40)["loss"], label="the other")
axes.set(xlabel="step", ylabel="training loss", title="Which of the two is ill?", ylim=(0, 2.6))
axes.legend()
show(
    figure,
    "Two noisy loss curves that both fall from 2.3 to near 0; one starts to fall a little later.",
)
for name, seen in {"one": run(), "the other": run(dead=40)}.items():
    network = seen["network"]
    hidden = network[:5](digits()[2])  # (500, 48): what the second hidden layer puts out
    dead = int((hidden == 0).all(0).sum())
    print(
        f"{name}: accuracy {seen['accuracy'][-1]:.2f}, units of layer 2 that never fire: {dead} "
        f"of 48"
    )

# %% [markdown]
# The second network works with a sixth of a layer. Its loss starts to fall some twenty steps later
# and ends almost as low: a smaller rate or another seed would look the same, so nothing in the curve
# points to *dead units*. On harder data you would pay for 48 units and wonder why a bigger model
# doesn't help. This chapter asks: *what would I have to see?* It starts before the first step, with
# the data.
#
# ## 1. The batch, as the network sees it · core
#
# Most bugs of a training are bugs of its data: turned twice, normalised twice, labels off by one. One
# look at one batch finds them, if the picture is honest. `imshow` wants (height, width) or
# (height, width, channel). Floats should be in [0, 1], integers in [0, 255]. A tensor has
# its channel first, and is normalised. Here is one image of three colours, with the usual slip
# beside it. **Predict** what `view` does to the stripes.

# %% topics=["matplotlib-images"]
image = torch.zeros(3, 6, 9)  # (channel, height, width)
image[0, :, :3], image[1, :, 3:6], image[2, :, 6:] = 0.9, 0.7, 0.9
figure, axes = plt.subplots(1, 2, figsize=(6, 2))
axes[0].imshow(image.permute(1, 2, 0))
axes[1].imshow(image.view(6, 9, 3))
axes[0].set_title("permute(1, 2, 0)")
axes[1].set_title("view(6, 9, 3)")
show(
    figure,
    "Left: a red, a green and a blue stripe. Right: the same numbers as grey blocks in a wrong "
    "order.",
)

# %% [markdown]
# `view` reads the numbers in storage order: three whole colour planes, one after the other, taken
# for pixels. The picture has the right shape and is wrong.
#
# A network gets `(image - mean) / std`. To look at it, go back: times `std`, plus `mean`. Augmented
# values may then be outside [0, 1]; matplotlib cuts floats off there (and says so), while a cast
# to bytes **wraps around**. **Predict** both:

# %% topics=["matplotlib-images"]
bright = torch.tensor([0.5, 1.0, 1.02])
print("clamp, then bytes:", (bright.clamp(0, 1) * 255).to(torch.uint8).tolist())
print("bytes at once:    ", (bright * 255).to(torch.int16).to(torch.uint8).tolist())

# %% [markdown]
# The brightest pixel turned nearly black. And to stretch each picture to its own minimum and
# maximum would hide what you want to see: that one of them is too dark.
#
# ### Exercise 14.1 — Show a batch ★ · 4 min · 2 points · core
#
# `show_batch` gets `images` (batch, 3, height, width), normalised by `mean` and `std` (3,), and a
# list of `labels`, indices into `names`. It returns a new figure with one axes for each image, in
# order, its title the label's name (empty corners of a grid don't count). The frame is written.
# What is missing is one line: make `picture` the image as it was before it was normalised,
# (height, width, 3). What is beyond 0 or 1 is shown as 0 or 1. Images may need a gradient or be
# on a GPU, and are not to be changed.
#
# Example: with mean 0.5 and std 0.25 in every channel, a value of 1 is shown as 0.75, and one of 4
# as 1.


# %% nbgrader={"grade_id": "try-show-batch", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_show_batch(*arguments):
    return visualization.seen_show_batch(show_batch, *arguments)


# %% nbgrader={"grade_id": "show-batch", "solution": true}
def show_batch(
    images: torch.Tensor, labels: list[int], names: list[str], mean: torch.Tensor, std: torch.Tensor
) -> plt.Figure:
    """A figure of the images (batch, 3, height, width) as they were before ``(x - mean) / std``."""
    figure, grid = plt.subplots(1, len(images), squeeze=False, figsize=(1.2 * len(images), 1.5))
    for axes, image, label in zip(grid[0], images, labels, strict=True):
        picture = image
        ### BEGIN SOLUTION
        back = image * std[:, None, None] + mean[:, None, None]
        picture = back.clamp(0, 1).permute(1, 2, 0).detach().cpu()
        ### END SOLUTION
        axes.imshow(picture)
        axes.set_title(names[label])
        axes.axis("off")
    return figure


# %% nbgrader={"grade_id": "show-batch-check", "grade": true, "points": 2}
with every_case() as case:
    with case("three images, mean 0.5, std 0.25"):
        visualization.check_example(try_show_batch, 3, even=True)
    with case("another mean and std for each channel"):
        visualization.check_example(try_show_batch, 2, which=1)
    with case("images that need a gradient"):
        visualization.check_example(try_show_batch, 1, needs_gradient=True)
    for size in ((3, 3), (1, 4), (4, 1), (1, 1)):
        with case(f"images of {size[0]} x {size[1]} pixels"):
            visualization.check_example(try_show_batch, 2, which=4, size=size)
    with case("images that are views"):
        visualization.check_example(try_show_batch, 2, which=5, view=True)
    with case("images on a GPU, or on what the course takes for one"):
        visualization.check_example(try_show_batch, 2, which=3, on_gpu=True)
    with case("five images"):
        visualization.check_example(try_show_batch, 5, which=2)
    ### BEGIN HIDDEN TESTS
    with case("seven images"):
        visualization.check_example(try_show_batch, 7, which=2)
    ### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `mean` has shape (3,), the image (3, height, width). `mean[:, None, None]` is (3, 1, 1).
# </details>
# <details><summary>Hint 2</summary>
#
# In this order: times std, plus mean, clamp, permute. matplotlib takes no tensor that needs a
# gradient or lives on a GPU: `detach()`, `cpu()`.
# </details>

# %% [markdown]
# A grid in one picture: `make_grid` of torchvision lays (batch, channel, height, width) out with
# frames between, channel first. It is what TensorBoard and visdom want.

# %% topics=["matplotlib-images"]
from torchvision.utils import make_grid

x, y, x_validation, y_validation = digits()
grid = make_grid(x[:16], nrow=8, padding=1, pad_value=0.5).cpu()
print(tuple(grid.shape), "= 3 channels, 2 rows and 8 columns of 8 pixels, with frames of 1")

# %% topics=["matplotlib-images"]
figure, axes = plt.subplots(figsize=(6, 1.7))
axes.imshow(grid.permute(1, 2, 0))
for n, label in enumerate(y[:16].tolist()):
    axes.text(9 * (n % 8) + 1, 9 * (n // 8) + 2.4, label, color="C1", fontsize=8, weight="bold")
axes.axis("off")
show(figure, "Two rows of eight digits; the label in each corner agrees with what it looks like.")

# %% [markdown]
# ## 2. A run while it happens: TensorBoard · core
#
# The data is fine. The next thing that goes wrong happens at step 3000, at night. A run should
# leave a trace that you can open while it runs, beside the traces of its predecessors.
#
# `SummaryWriter` appends **events** to a file in a log folder. TensorBoard is a separate program
# that reads a folder of such folders and draws. Both come in the package `tensorboard`: without it,
# the import of `SummaryWriter` fails. But training doesn't care whether the program runs, and the
# program does without PyTorch. Each folder is a run.

# %% nbgrader={"grade_id": "writer", "locked": true}
import tempfile
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

# %% topics=["tensorboard-scalars"]
logs = Path(tempfile.mkdtemp(prefix="course-logs-"))
for rate in (0.01, 0.1):
    with SummaryWriter(logs / f"rate {rate}") as writer:
        for step, loss in enumerate(run(rate=rate)["loss"]):
            writer.add_scalar("train/loss", loss, step)
sorted(folder.name for folder in logs.iterdir())

# %% [markdown]
# The part of a tag before the slash groups charts. Give the step yourself; without it all points
# are at step 0. Now look:

# %% topics=["tensorboard-scalars"] tags=["nbval-ignore-output"]
from course_utils import tensorboard_server

board = tensorboard_server(logs).start()
board.show()

# %% [markdown]
# Two runs, two colours, one chart, at the address too. `tensorboard_server` belongs to this course:
# it takes a free port of this machine, and ends with the kernel. Elsewhere you type
# `tensorboard --logdir runs` in a terminal, or `%load_ext tensorboard` and
# `%tensorboard --logdir runs` in a notebook, which leaves a process behind that you have to end.
#
# > **Often said.** *"`from tensorboard import SummaryWriter`."* The package `tensorboard` is the
# > program that reads. The class that writes lives in PyTorch.

# %% topics=["tensorboard-scalars"] errata=["summarywriter-import"]
try:
    from tensorboard import SummaryWriter as Missing
except ImportError as error:
    print(str(error).split(" (")[0])
print("it lives in", SummaryWriter.__module__)

# %% [markdown]
# The events can be read back, which is how a script (or the check of an exercise) looks at a run.
# The accumulator belongs to TensorBoard:

# %% topics=["tensorboard-scalars"]
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(str(logs / "rate 0.1")).Reload()
points = events.Scalars("train/loss")
print(events.Tags()["scalars"], len(points), "points, the last at step", points[-1].step)

# %% [markdown]
# ### Several curves in one chart
#
# Two runs that share a tag share a chart: that is how rates are compared. For several curves of
# *one* run there is `add_scalars`, and it has a price. **Predict:** how many folders does this make?

# %% topics=["tensorboard-scalars"]
with SummaryWriter(logs / "pair") as writer:
    writer.add_scalars("loss", {"train": 0.3, "validation": 0.5}, 0)
sorted(path.name for path in (logs / "pair").iterdir() if path.is_dir())

# %% [markdown]
# A folder, and so a run, for each curve: with fifty runs the list on the left gets long. Prefer the
# same tag in folders `…/train` and `…/validation`.
#
# ### Pictures, words, figures
#
# A validation number counts the wrong ones; ten images show *which* they are. `add_image` takes a grid,
# `add_figure` a matplotlib figure, `add_text` Markdown. In Markdown a single line break
# doesn't show: end the line with two spaces, or leave a line empty.

# %% topics=["tensorboard-images", "tensorboard-text-figure"]
with SummaryWriter(logs / "rate 0.1") as writer:
    writer.add_image("batch", grid, 0)
    writer.add_text("notes", "SGD, momentum 0.9  \nno augmentation", 0)
    figure, axes = plt.subplots()
    axes.bar(range(10), y.bincount().cpu())
    writer.add_figure("labels", figure, 0)
print("the figure was closed for you:", not plt.fignum_exists(figure.number))

# %% [markdown]
# One surprise waits here. You log an image at each of twenty steps, and the page has a slider with
# few of them. **Predict** what the reader keeps:

# %% topics=["tensorboard-text-figure", "tensorboard-images"]
with SummaryWriter(logs / "many") as writer:
    for step in range(20):
        writer.add_image("sample", x[step], step)
for kept in (4, 0):
    images = EventAccumulator(str(logs / "many"), size_guidance={"images": kept}).Reload()
    print(f"at most {kept or 'all'}: {len(images.Images('sample'))} of 20")

# %% [markdown]
# The file has all twenty; the *reader* samples, so that memory doesn't fill: the accumulator 4
# images by default, TensorBoard's page 10. There the switch is
# `--samples_per_plugin=images=100,scalars=0`, where 0 means all;
# `tensorboard_server(logs, "--samples_per_plugin=images=100")` hands it on.
#
# ### What to log
#
# Four numbers for each step answer most of the questions that a night raises: the **loss**, the
# **accuracy** of the batch, the **rate** that the step was taken with, and the **norm of the
# gradient**, all parameters as a single long vector. The loss tells you *that* a step exploded; the norm,
# some steps before, tells you *why*.
#
# ### Exercise 14.2 — A dashboard ★★ · 12 min · 4 points · core
#
# The loop is written. Log at each step, counted from 0, into `writer`:
#
# | tag | value |
# | --- | --- |
# | `train/loss` | the loss of this batch, before the step |
# | `train/accuracy` | the share of this batch that was classified rightly, before the step, from 0 to 1 |
# | `train/rate` | the learning rate of the first parameter group that this step is taken with |
# | `train/gradient_norm` | the 2-norm of all gradients, as one vector, that this step is taken with |
#
# The training itself stays as it is: one forward pass for each step, and the same weights come out.
# The list of batches stays as it is, too.
# Parameters that are frozen or take no part have no gradient. A rate may have been set by hand since
# the scheduler was made, and may be a tensor.
# Example: gradients `[3, 0]` and `[0, 4]` of two parameters have together the norm 5.


# %% nbgrader={"grade_id": "try-training-dashboard", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_training_dashboard(*arguments):
    return visualization.seen_training_dashboard(training_dashboard, *arguments)


# %% nbgrader={"grade_id": "training-dashboard", "solution": true}
def training_dashboard(
    writer: SummaryWriter,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    scheduler: torch.optim.lr_scheduler.LRScheduler,
    batches: list[tuple[torch.Tensor, torch.Tensor]],
) -> None:
    """Train on the batches, and log four scalars for each step."""
    for step, (x, y) in enumerate(batches):
        logits = model(x)  # (batch, class)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        ### BEGIN SOLUTION
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        accuracy = (logits.argmax(1) == y).float().mean()
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", accuracy.item(), step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        writer.add_scalar("train/gradient_norm", nn.utils.get_total_norm(gradients).item(), step)
        ### END SOLUTION
        optimizer.step()
        scheduler.step()


# %% nbgrader={"grade_id": "training-dashboard-check", "grade": true, "points": 4}
with every_case() as case:
    for name, kind, sizes in (
        ("three batches of 8", "plain", [8, 8, 8]),
        ("a frozen layer, batches of 5 and 9", "frozen", [5, 9]),
        ("pixels up to 10 million, and large gradients", "large pixels", [8, 6]),
        *((kind, kind, [8, 6]) for kind in (visualization.SHARING, visualization.NAN)),
        (visualization.SHARED, visualization.SHARED, [6, 8, 4]),
    ):
        visualization.check_dashboard(case, try_training_dashboard, name, kind, sizes)
    ### BEGIN HIDDEN TESTS
    name, sizes = "batches of 1, 30, 2 and 20", [1, 30, 2, 20]
    visualization.check_dashboard(case, try_training_dashboard, name, "plain", sizes)
    ### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `logits.argmax(1) == y` is a mask of bools; its mean, as floats, is the share.
# </details>
# <details><summary>Hint 2</summary>
#
# The norm of one long vector is the root of the sum of all squares. `p.grad` is `None` where a
# parameter is frozen. `nn.utils.get_total_norm` takes a list of tensors. The better-known
# `clip_grad_norm_` returns the norm too, and clips at its `max_norm`.
# </details>

# %% [markdown]
# **In practice** don't call `.item()` at each step on a GPU: it waits for the device. Log each
# twentieth step.
#
# ## 3. What a mean hides: histograms · core
#
# Four curves would still not have shown the patient of the beginning: a norm of 48 units is a single
# number, whether 8 or 48 of them work. You would have to see the *distribution*. A unit behind a ReLU
# that puts out 0 for every sample is **dead**: its gradient is 0, so nothing will wake it.
#
# Two kinds of zeros must be told apart. Here are four samples and three units. **Predict:** what
# share of the numbers is zero, and what share of the units is dead?

# %% topics=["tensorboard-histograms"]
a = torch.tensor([[0.0, 2, 0], [1, 0, 0], [0, 3, 0], [4, 0, 0]])  # (sample, unit), after a ReLU
print("zeros:", round((a == 0).float().mean().item(), 2))
print("dead units:", round((a == 0).all(dim=0).float().mean().item(), 2))

# %% [markdown]
# Two of three numbers are zero, which is healthy for a ReLU. One of three units is dead: a column
# of zeros. A histogram of all numbers would mix the two; one of the units' *largest* outputs
# doesn't.

# %% topics=["tensorboard-histograms"]
figure, axes = plt.subplots(1, 2, figsize=(7, 2.4), sharey=True)
for ax, (name, dead) in zip(axes, {"one": 0, "the other": 40}.items(), strict=True):
    with torch.no_grad():
        peaks = run(dead=dead)["network"][:5](x_validation).amax(0).cpu()  # (48,)
    ax.hist(peaks[peaks > 0], bins=torch.linspace(0, 12, 25).tolist())
    ax.bar(-0.5, int((peaks == 0).sum()), width=0.5, color="C3", label="exactly 0: dead")
    ax.set(title=name, xlabel="largest output of a unit")
axes[0].set_ylabel("units")
axes[0].legend(fontsize=8)
show(figure, "Left: 3 of 48 units are dead, the others spread from 0 to 8. Right: 40 are dead.")

# %% [markdown]
# That is the illness: the red bar. In TensorBoard, `add_histogram(tag, values, step)` stacks one
# histogram for each step in depth: weights that run away and activations that shrink to a spike
# show at a glance.
#
# ### Exercise 14.3 — Histograms that tell ★★ · 12 min · 4 points · core
#
# Write `histograms_that_tell(writer, model, x, step)`. It logs, at `step`, a histogram of
#
# - every parameter, under `parameters/` and its name;
# - the output of every `nn.ReLU` (classes derived from it, too, which may put out numbers below 0)
#   for the batch `x`, under `activations/` and the module's name (as in `named_modules()`; at any
#   depth).
#
# It returns a dict from each ReLU's name to the share of its units that are dead on `x`, a float.
#
# - Units are what dimension 1 counts: (batch, unit), or (batch, channel, height, width), where a
#   channel is dead if it is 0 for each sample at each place. Each ReLU is called once.
# - 0 means 0: a unit that puts out 1e-12 once lives, and in float64 one that puts out 1e-60.
# - The model is looked at in **eval mode**, and left as it was: the mode of each module, hooks,
#   gradients and buffers, also where the model raises. (In eval mode none changes its buffers.)
#
# Example: a ReLU that puts out the `a` from above has a third of its units dead.


# %% nbgrader={"grade_id": "try-histograms", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_histograms(*arguments):
    return visualization.seen_histograms(histograms_that_tell, *arguments)


# %% nbgrader={"grade_id": "histograms-that-tell", "solution": true}
def histograms_that_tell(
    writer: SummaryWriter, model: nn.Module, x: torch.Tensor, step: int
) -> dict[str, float]:
    """Log histograms of parameters and of ReLUs' outputs; the share of dead units of each ReLU."""
    ### BEGIN SOLUTION
    from contextlib import ExitStack
    from functools import partial

    outputs = {}

    def keep(name, module, args, output):
        outputs[name] = output.clone()

    with ExitStack() as stack, torch.no_grad():  # at its end it calls what it was given
        for name, module in model.named_modules():
            stack.callback(setattr, module, "training", module.training)
            if isinstance(module, nn.ReLU):
                stack.callback(module.register_forward_hook(partial(keep, name)).remove)
        model.eval()(x)
    for name, parameter in model.named_parameters():
        writer.add_histogram(f"parameters/{name}", parameter, step)
    for name, output in outputs.items():
        writer.add_histogram(f"activations/{name}", output, step)
    silent = {name: (out == 0).transpose(0, 1).flatten(1).all(1) for name, out in outputs.items()}
    return {name: units.float().mean().item() for name, units in silent.items()}
    ### END SOLUTION


# %% nbgrader={"grade_id": "histograms-that-tell-check", "grade": true, "points": 4}
with every_case() as case:
    visualization.check_histograms(case, try_histograms, "dense", 20, 7)
    visualization.check_histograms(case, try_histograms, "convolutions, BatchNorm, dropout", 12, 0)
    small = visualization.BELOW, visualization.FAINT_UNITS
    for kind in ("a ReLU alone", "no ReLU", *small):
        visualization.check_histograms(case, try_histograms, kind, 5, 3)
    visualization.check_histograms(case, try_histograms, visualization.ONE, 1, 2)
    visualization.check_histograms(case, try_histograms, visualization.RAISES, 4, 1)
    ### BEGIN HIDDEN TESTS
    visualization.check_histograms(case, try_histograms, "dense", 1, 300)
    ### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A forward hook on each ReLU keeps its output (chapter 07). Bind the name: a lambda in a loop looks
# it up too late. Remove the hooks in a `finally`, which runs also where the model raises; so do the
# callbacks of a `contextlib.ExitStack`.
# </details>
# <details><summary>Hint 2</summary>
#
# `model.train()` afterwards is not "as it was": one part may have been in eval mode. Keep
# `module.training` of each module.
# </details>
# <details><summary>Hint 3</summary>
#
# `(out == 0).transpose(0, 1).flatten(1)` is (unit, everything else), for both kinds of output.
# </details>

# %% [markdown]
# ### How far does each layer move?
#
# A histogram shows a moment. How long is a layer's update, beside its weights? This **update:data
# ratio**, ‖Δw‖ / ‖w‖, is a number for each layer and step. At 1 to 100,000 a layer hardly changes in
# a day; at 1 to 10, ten steps replace it. **Predict** where it is in the run that learns best:

# %%
figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), sharey=True, layout="constrained")
for ax, rate in zip(axes, (0.001, 0.1, 2.0), strict=True):
    seen = run(rate=rate)
    ax.plot(seen["updates"], lw=0.8)  # (step, layer)
    ax.axhline(1e-3, color="#6b6b6b", linestyle="--")
    ax.set(yscale="log", ylim=(1e-6, 10), xlabel="step")
    ax.set_title(f"rate {rate}, accuracy {seen['accuracy'][-1]:.2f}")
axes[0].set_ylabel("update : weights")
axes[2].legend(["layer 1", "layer 2", "layer 3", "1 : 1000"], fontsize=7, loc="upper right")
show(
    figure,
    "Three plots of update to weight ratios. Left: near 1 to 5000. Middle: near 1 to 70. Right: a "
    "peak at 4 to 1, then a straight fall off the plot.",
)

# %% [markdown]
# The rule of thumb for plain SGD is 1 to 1000 (Karpathy's *makemore*). Here momentum 0.9 adds up ten
# gradients, and the healthy run is near 1 to 70, a little lower at its end. On the left the network
# hardly moves. On the right the longest steps are four times as long as the weights themselves; then
# the units are dead, and only momentum is left, which fades.
#
# Such an explosion announces itself. **Predict** which grows first, the loss or the gradient:

# %%
steep = run(rate=2.0)
for step in (0, 2, 4, 8):
    norm = torch.tensor(steep["gradients"][step]).norm()
    print(f"step {step}: loss {steep['loss'][step]:.1f}, norm of the gradients {norm:.1f}")

# %% [markdown]
# At step 4 the loss is hardly lower than at the start, and the gradient is already several times as long.
#
# Units without a dead side get stuck too: where |tanh| is above 0.97, its slope is below 0.06. Such a
# unit is **saturated**. Here are the outputs of five tanh layers at the start of a training, for
# weights with the standard deviation gain / √inputs:

# %%
figure, axes = plt.subplots(1, 3, figsize=(9, 2.4), sharey=True, layout="constrained")
for ax, gain in zip(axes, (0.5, 5 / 3, 4.0), strict=True):
    generator = torch.Generator().manual_seed(0)
    h = ((x[:200] - x.mean()) / x.std()).flatten(1)
    for layer in range(5):
        weight = torch.randn(h.shape[1], 100, generator=generator).to(h)
        h = (h @ weight * gain / h.shape[1] ** 0.5).tanh()
        counts = h.cpu().histc(41, -1, 1) / h.numel()
        ax.plot(torch.linspace(-1, 1, 41), counts, color=plt.cm.viridis(layer / 5))
    stuck = (h.abs() > 0.97).float().mean()
    ax.set(title=f"gain {gain:.1f}; layer 5: {stuck:.0%} stuck", xlabel="output", ylim=(0, 0.7))
axes[0].set_ylabel("share of outputs")
axes[0].legend([f"layer {n}" for n in range(1, 6)], fontsize=7)
show(
    figure,
    "Left: histograms that shrink to a spike at 0, layer by layer. Middle: five broad ones. Right: "
    "spikes at -1 and 1, and next to nothing between.",
)

# %% [markdown]
# On the left each layer halves what it gets; on the right half of the outputs are at the ends. With
# 5/3, which is `nn.init.calculate_gain("tanh")`, little changes from layer to layer. Draw this before
# the first step, and the ratio during the training.

# %% [markdown]
# ## 4. A plot that lies · core
#
# A plot can be true in each point and still mislead: its author chose the axes, the smoothing and
# the runs. TensorBoard's own page smooths by default; the pale line behind is the truth. Here is what
# it does, an exponential mean, to a spike. **Predict** how high the spike of 10 remains with a weight
# of 0.9:


# %%
def smoothed(values: list[float], weight: float = 0.9) -> list[float]:
    """TensorBoard's smoothing: an exponential mean, corrected for its start."""
    mean, shown = 0.0, []
    for n, value in enumerate(values, start=1):
        mean = weight * mean + (1 - weight) * value
        shown.append(mean / (1 - weight**n))
    return shown


flat = [1.0] * 40
flat[20] = 10.0
print("the spike:", max(flat), "  after smoothing:", round(max(smoothed(flat)), 2))

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 2.4), layout="constrained")
for ax, curve in zip(axes, (flat, run()["loss"]), strict=True):
    ax.plot(curve, color="C0", alpha=0.3, label="as it is")
    ax.plot(smoothed(curve), color="C0", label="smoothed by 0.9")
    ax.set(xlabel="step", ylim=(0, None))
axes[0].set(ylabel="loss", title="one spike")
axes[1].set_title("the healthy run")
axes[1].legend()
show(
    figure,
    "Left: a pale spike to 10 and a small hump to 2 behind it, which fades slowly. Right: a pale "
    "noisy loss and a smooth line that lags behind its fall.",
)

# %% [markdown]
# The dark line alone shows neither the spike nor the noise, and it lags: on the right it is still
# falling where the loss has been down for a while. That is one way to hide something. Below are two
# settings, A and B, each trained on 100 digits, and six plots of them. Every number in them is right.
# Look for what each of them hides before you read on.


# %%
from course_utils.chapters.visualization import draw_lies, two_settings

figure, plots = draw_lies(two_settings())
words = (
    "Six plots: bars from a cut axis, a smooth loss, two losses on two scales, one seed's "
    "accuracy, a validation loss up to its minimum, two error tables with colours of their own."
)
show(figure, words)

# %% [markdown]
# - **cut axis**: A towers above B; they differ by 0.004.
# - **smoothed away**: a calm descent; the raw loss jumps.
# - **two scales**: both losses seem to end on the floor. The right axis begins at 0.75: the validation
#   loss ends at 0.84, the training loss at 0, and the best part of the former is cut off.
# - **one seed**: the best of five.
# - **stopped early**: the plot ends where the validation loss was best, just before it rises.
# - **own colours**: A and B look equally bad, but the same blue means more errors in B.
#
# ### Exercise 14.4 — Lie detector ★★ · 12 min · 3 points · core
#
# `lie_detector(plots, data)` gets the six axes by their names, just drawn, and the data, which may be
# of two other settings. (Another figure may be pyplot's current one.) Repair each axes **in place**:
#
# | plot | what an honest one shows |
# | --- | --- |
# | `cut axis` | the bars from 0 (`ylim` may end anywhere above them) |
# | `smoothed away` | the raw `data["loss"]` as a line, whatever else is there |
# | `two scales` | `data["loss"]` and `data["validation"]` by one scale: all axes that are seen there have the same y-limits, all points inside |
# | `one seed` | each of the five curves in `data["seeds"]`, a line each |
# | `stopped early` | all of `data["validation"]`, its points inside the limits of both axes |
# | `own colours` | both images, in one colour map, with the same norm (linear, as drawn, will do) and colour limits, which hold the numbers of both |
#
# - The x of every line is the step, from 0. Up is more, and right is later; bars have a linear scale.
# - Lines, bars and images can be seen: inside the limits, not transparent, not in the colour of the
#   ground. Limits may be wider than needed.
# - In `two scales` a second axes on top of the first has the second line; it is the last of
#   `plots["two scales"].figure.axes`. Remove it, hide it, or give it the limits and the scale of the
#   first.
# - `data` stays as it is, and nothing has to be returned.


# %% nbgrader={"grade_id": "try-lie-detector", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_lie_detector(*arguments):
    return visualization.seen_lie_detector(lie_detector, *arguments)


# %% nbgrader={"grade_id": "lie-detector", "solution": true}
def lie_detector(plots: dict[str, plt.Axes], data: dict) -> None:
    """Repair six misleading plots in place."""
    ### BEGIN SOLUTION
    plots["cut axis"].set_ylim(0, 1)
    plots["smoothed away"].plot(data["loss"], alpha=0.4)
    scales = plots["two scales"]
    twin = next(
        axes
        for axes in scales.figure.axes
        if axes is not scales and axes.bbox.bounds == scales.bbox.bounds
    )
    twin.remove()
    scales.plot(data["validation"], color="C1", label="validation loss")
    scales.set_ylabel("loss")
    scales.legend()
    for curve in data["seeds"]:
        plots["one seed"].plot(curve, alpha=0.5)
    plots["stopped early"].autoscale()
    most = max(table.max() for table in data["errors"].values())
    for image in plots["own colours"].images:
        image.set_clim(0, most)
    ### END SOLUTION


# %% nbgrader={"grade_id": "lie-detector-check", "grade": true, "points": 3}
with every_case() as case:
    for numbers in ("", "other numbers, ", "a spike, "):
        visualization.check_lies(case, try_lie_detector, numbers)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# An axes has `set_ylim`, `set_xlim`, `autoscale`, `plot`, `lines`, `images`; an image has `set_clim`.
# </details>
# <details><summary>Hint 2</summary>
#
# For two scales, either give both axes the same limits, or draw the validation loss into
# `plots["two scales"]` as well and remove the second axes.
# </details>

# %% [markdown]
# The same numbers, shown honestly. (To see your own repair, run `data = two_settings()`,
# `figure, plots = draw_lies(data)`, `lie_detector(plots, data)` and `figure` in a new cell.)

# %%
figure = visualization.draw_honest(two_settings())
words = (
    "Six plots: two bars of one height, a noisy loss, a validation loss far above the training "
    "loss, five accuracies, a validation loss that rises again, two tables of which A's is paler."
)
show(figure, words)

# %% [markdown]
# **In practice**: bars begin at 0, curves that are compared share an axis, the raw line stays behind
# the smooth one, a claim about a method shows all its seeds, and a colour bar is shared. If a plot
# can't follow these, say so in its caption.

# %% [markdown]
# ## 5. Which ones? Maps and scores
#
# A validation accuracy of 0.93 raises the next question: *which* seven in a hundred are wrong, and
# what are they near to? The last hidden layer of our network turns each digit into 48 numbers. You
# can't see in 48 dimensions. There are two ways out: the **projector** of TensorBoard, which turns
# and re-embeds such a cloud in the browser (PCA, t-SNE, UMAP), and a PCA that you write.
#
# **PCA** takes the two directions in which the centred cloud is longest. With the singular value
# decomposition `U, S, Vh` of the centred features, they are the first two rows of `Vh`, and the
# coordinates are the products of the centred features with these. **Predict:** four points on a
# slanted line, and one direction; what are their coordinates?

# %%
cloud = torch.tensor([[10.0, 10], [11, 11], [12, 12], [13, 13]])
centred = cloud - cloud.mean(0)
_, _, directions = torch.linalg.svd(centred, full_matrices=False)
print("centred:    ", [round(v, 2) for v in (centred @ directions[0]).abs().tolist()])
print("not centred:", [round(v, 2) for v in (cloud @ directions[0]).abs().tolist()])

# %% [markdown]
# The sign is free: a direction has two ends. Without centring, the first direction of most clouds
# only points from the origin to the cloud.
#
# A map in two dimensions misleads, too: points that are far apart in 48 dimensions may fall on each
# other. That is why *neighbours* are computed with all the features, and only drawn in the map.
#
# ### Exercise 14.5 — A map of features ★★ · 10 min · 3 points
#
# `embedding_map(writer, features, labels)` gets features (sample, feature), with at least three
# samples and two features, floats, and a list of strings.
#
# - It hands `features`, with `labels` as metadata, to TensorBoard's projector by `writer`.
# - It returns `(coordinates, neighbours)`: the first two PCA coordinates (sample, 2) of the centred
#   features, signs as you like, unscaled; and for each sample the index of the **nearest other**
#   sample (sample,), by Euclidean distance between all the features. If several are equally near,
#   any of them. Samples may be far from 0 and near to each other, all of them or group by group.
#
# Example: for the features `[0, 0], [1, 0], [5, 0]` the neighbours are 1, 0, 1. Two equal samples
# are neighbours of each other.


# %% nbgrader={"grade_id": "try-embedding-map", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_embedding_map(*arguments):
    return visualization.seen_embedding_map(embedding_map, *arguments)


# %% nbgrader={"grade_id": "embedding-map", "solution": true}
def embedding_map(
    writer: SummaryWriter, features: torch.Tensor, labels: list[str]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Features for the projector; their PCA coordinates (sample, 2) and nearest neighbours."""
    ### BEGIN SOLUTION
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    directions = torch.linalg.svd(centred, full_matrices=False).Vh[:2]
    distances = torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist")
    distances.fill_diagonal_(float("inf"))
    return centred @ directions.T, distances.argmin(1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "embedding-map-check", "grade": true, "points": 3}
generator = torch.Generator().manual_seed(0)
spread = torch.tensor([9.0, 5, 1, 4])
with every_case() as case:
    three = torch.tensor([[0.0, 0], [1, 0], [5, 0.5]])
    visualization.check_map(case, try_embedding_map, "three on a line", three)
    visualization.check_map(case, try_embedding_map, "three, equally far apart", torch.eye(3))
    twelve = 30 + spread * torch.randn(12, 4, generator=generator)
    visualization.check_map(case, try_embedding_map, "twelve, far from 0", twelve)
    twins = spread * torch.randn(6, 4, generator=generator)
    visualization.check_map(
        case, try_embedding_map, "two equal samples", torch.cat([twins, twins[2:3]])
    )
    scattered = 1e4 * torch.randn(5, 3, generator=generator)
    visualization.check_map(case, try_embedding_map, "far from each other", scattered)
    thirty = 1000 + torch.randn(30, 3, generator=generator)
    visualization.check_map(case, try_embedding_map, "thirty, near each other, far from 0", thirty)
    visualization.check_map(case, try_embedding_map, "float64, far from 0", 1e7 + thirty.double())
    wide = torch.linspace(5, 1, 9) * torch.randn(5, 9, generator=generator)
    visualization.check_map(case, try_embedding_map, "more features than samples", wide)
    visualization.check_map(case, try_embedding_map, "a tiny cloud, a view", 1e-8 * twelve.T[:3].T)
    groups = thirty + 1e4 * (-1) ** torch.arange(30)[:, None]
    visualization.check_map(case, try_embedding_map, visualization.GROUPS, groups)
    groups = thirty.double() + 3e7 * (-1) ** torch.arange(30)[:, None]
    visualization.check_map(case, try_embedding_map, visualization.APART, groups)
    many = spread[:3] * torch.randn(600, 3, generator=generator)
    visualization.check_map(case, try_embedding_map, "six hundred", many)
    ### BEGIN HIDDEN TESTS
    tall = (torch.linspace(5, 1, 6) * torch.randn(40, 6, generator=generator)).t().contiguous().t()
    visualization.check_map(case, try_embedding_map, "forty samples, a transposed view", tall)
    ### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `writer.add_embedding(features, metadata=labels)`.
# </details>
# <details><summary>Hint 2</summary>
#
# `torch.cdist(features, features)` is 0 on its diagonal. Put `inf` there before you take the
# smallest. With more than 25 rows it takes a short cut, ‖a‖² + ‖b‖² − 2ab, which rounds away small
# distances far from 0. Its `compute_mode` has a way around that. (To centre first helps only where
# all samples are near each other.)
# </details>

# %% [markdown]
# Our digits. Those whose nearest neighbour has another label are red, with a line to it. **Predict**
# where they will be:

# %% topics=["tensorboard-projector"]
with torch.no_grad():
    features = run()["network"][:-1](x_validation)  # (500, 48)
with SummaryWriter(logs / "map") as writer:
    writer.add_embedding(features, metadata=y_validation.tolist(), label_img=x_validation)
centred = features - features.mean(0)
places = (centred @ torch.linalg.svd(centred, full_matrices=False).Vh[:2].T).cpu()
nearest = torch.cdist(features, features).fill_diagonal_(float("inf")).argmin(1)
odd = (y_validation[nearest] != y_validation).cpu()
print("neighbours of another label:", int(odd.sum()), "of", len(odd))
figure, axes = plt.subplots(figsize=(8, 5))
for digit in range(10):
    for wrong, colour, size in ((False, "#6b6b6b", 22), (True, "C3", 90)):
        here = places[(y_validation.cpu() == digit) & (odd == wrong)]
        axes.scatter(*here.T, marker=f"${digit}$", color=colour, s=size, linewidths=0.2)
for start, end in zip(places[odd], places[nearest.cpu()[odd]], strict=True):
    axes.plot(*torch.stack([start, end]).T, color="C3", lw=0.8)
axes.set(
    xlabel="first direction", ylabel="second direction", title="48 features, seen from one side"
)
show(
    figure,
    "Small grey digits in clusters, some on top of each other; a few large red ones, each with a "
    "line to its neighbour, mostly between clusters.",
)

# %% [markdown]
# Most red digits are where clusters meet. They are the first to look at: is each of them hard to
# read, or labelled wrongly? A long line is a warning about the map itself: two neighbours in 48
# dimensions, far apart in this one.
#
# ### One class against the rest
#
# Say that only the eights matter. One digit in ten is an eight, so "never" is right in 90 of 100
# cases. **Accuracy can't see that.** Two other shares can: of what was called an eight, how many
# are (**precision**); of all eights, how many were found (**recall**). Each threshold on the score
# gives one pair. Walk it once by hand. **Predict** the two at the threshold 0.6:

# %%
scores = torch.tensor([0.9, 0.8, 0.6, 0.6, 0.1])
labels = torch.tensor([1, 0, 1, 0, 1])
for threshold in (0.1, 0.6, 0.8, 0.9):
    said = scores >= threshold
    hits = (said & (labels == 1)).sum()
    print(f"{threshold}: precision {hits / said.sum():.2f}, recall {hits / 3:.2f}")

# %% [markdown]
# Equal scores come in together: 0.6 is one threshold, though two samples have it. Recall can only
# fall as the threshold rises; precision may go up and down.
#
# ### Exercise 14.6 — Precision, recall, confusion ★★ · 15 min · 4 points
#
# Chapter 13 counts a confusion matrix for many classes. With two it depends on the threshold.
#
# `pr_and_confusion(scores, labels, threshold)` gets float scores (sample,), some of which may be
# infinite, and labels (sample,), 0 or 1, integers or bools; at least one is 1. It returns
# `(precision, recall, thresholds, matrix)`:
#
# - `thresholds`: the **distinct** scores, ascending;
# - `precision`, `recall`: for each of them, when `score >= threshold` is called a 1. All three are
#   float tensors of the same length;
# - `matrix` (2, 2): counts at the argument `threshold` (again `>=`), rows the truth, columns what
#   was said, 0 before 1.
#
# By hand: nothing from scikit-learn. Example: the five scores from above at 0.6 give the recalls
# 1, 2/3, 1/3, 1/3 and the matrix `[[0, 2], [1, 2]]`.


# %% nbgrader={"grade_id": "try-pr", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_pr(*arguments):
    return visualization.seen_pr(pr_and_confusion, *arguments)


# %% nbgrader={"grade_id": "pr-and-confusion", "solution": true}
def pr_and_confusion(
    scores: torch.Tensor, labels: torch.Tensor, threshold: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Precision and recall at each distinct score, these scores, and the 2 x 2 counts."""
    ### BEGIN SOLUTION
    labels = labels.bool()
    thresholds = scores.unique()
    said = scores >= thresholds[:, None]  # (threshold, sample)
    hits = (said & labels).sum(1)
    calls = (scores >= threshold).long()
    matrix = (2 * labels.long() + calls).bincount(minlength=4).view(2, 2)
    return hits / said.sum(1), hits / labels.sum(), thresholds, matrix
    ### END SOLUTION


# %% nbgrader={"grade_id": "pr-and-confusion-check", "grade": true, "points": 4}
generator = torch.Generator().manual_seed(0)
with every_case(at_most=12) as case:
    scores = torch.tensor([0.9, 0.8, 0.6, 0.6, 0.1], device=device)
    labels = torch.tensor([1, 0, 1, 0, 1], device=device)
    visualization.check_pr(case, try_pr, "the example", scores, labels, 0.6)
    visualization.check_pr(
        case, try_pr, "bools, and logits below 0", 4 * scores - 3, labels.roll(1).bool(), -1.0
    )
    visualization.check_pr(case, try_pr, "all of them 1", scores, torch.ones_like(labels), 0.85)
    visualization.check_pr(
        case, try_pr, "none called, scores in half", scores.half(), labels.roll(-1), 2.0
    )
    visualization.check_pr(case, try_pr, "one sample", scores[:1], labels[:1], 0.5)
    ends = torch.tensor([1.0, 0.0, 1.0, 0.0, 0.5], device=device).logit()
    visualization.check_pr(case, try_pr, "infinite scores, twice each", ends, labels, 0.0)
    near = [0.0, 2**-40, 2**-40, 0.125, 0.5]
    scores = 0.25 + torch.tensor(near, dtype=torch.float64, device=device)
    labels = torch.tensor([1, 1, 0, 1, 0], device=device)
    visualization.check_pr(case, try_pr, "scores that are close", scores, labels, 0.25 + 2**-40)
    many = torch.arange(2499, device=device)
    scores, labels = (many % 4 / 4).half(), (many > 449).to(torch.uint8)
    visualization.check_pr(case, try_pr, "2499 in half, labels in uint8", scores, labels, 0.0)
    with case("the same, in other states"):
        check_states(pr_and_confusion, scores, labels, 0.5, what="the call")
    ### BEGIN HIDDEN TESTS
    for size in (1, 40, 300):
        scores = torch.randint(-20, 60, (size,), generator=generator).double().to(device) / 7
        labels = (torch.rand(size, generator=generator).to(device) < 0.3).long()
        labels[0] = 1
        visualization.check_pr(case, try_pr, f"{size} samples", scores, labels, 2.0)
    visualization.check_pr(
        case,
        try_pr,
        "a threshold above all",
        torch.tensor([0.7, 0.6], device=device),
        torch.tensor([0, 1], device=device),
        2.0,
    )
    ### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `scores.unique()` is sorted. `scores >= thresholds[:, None]` is a table (threshold, sample).
# </details>
# <details><summary>Hint 2</summary>
#
# `2 * truth + said` numbers the four cells of the matrix from 0 to 3. What counts numbers?
# </details>

# %% [markdown]
# The library draws the same curve; `add_pr_curve` sends a curve to TensorBoard. It cuts [0, 1] into
# 127 thresholds, so it wants probabilities: hand it logits, and all above 1 fall into the last one.

# %% topics=["tensorboard-pr-curve"]
import numpy as np
from sklearn.metrics import PrecisionRecallDisplay

with torch.no_grad():
    weak = run(data=100)["network"](x_validation)
chance, is_eight = weak.softmax(1)[:, 8].cpu(), (y_validation == 8).cpu()
with SummaryWriter(logs / "eights") as writer:
    writer.add_pr_curve("eight", is_eight, chance, 0)
print("always saying no would be right in", f"{1 - is_eight.float().mean():.0%}", "of the cases")

# %% topics=["tensorboard-pr-curve"]
figure, axes = plt.subplots(figsize=(6, 3.2))
PrecisionRecallDisplay.from_predictions(is_eight, chance, ax=axes, name="the network")
said = chance >= 0.5
hits = (said & is_eight).sum()
axes.plot(hits / is_eight.sum(), hits / said.sum(), "o", color="C1", label="threshold 0.5")
axes.axhline(is_eight.float().mean(), color="#6b6b6b", linestyle="--", label="a coin's precision")
axes.set(xlabel="recall", ylabel="precision", title="Is it an eight?", ylim=(0, 1.05))
axes.legend(loc="center left", fontsize=8)
show(figure, "Precision stays near 0.95 up to a recall of two thirds, then falls; a coin has 0.1.")

# %% [markdown]
# What the eights are taken for, the confusion matrix of all ten classes tells (chapter 13).
#
# ## 6. Windows instead of files: visdom (optional)
#
# TensorBoard reads what was written. **visdom** turns it around: your program sends each window to
# a server, by name, and can change it later. Windows belong to an **environment**, which is a page.
# It suits an experiment that you watch and poke at. Nothing is kept unless you save it.
#
# visdom's own command fetches the scripts of its page from the network each time it starts, and ends
# where there is none. `visdom_server` fetches them once and keeps them: from then on the page works
# offline, too. If you have never had a network, the page stays white and the cell below says so;
# windows, their data and the exercise work.

# %% topics=["visdom"] tags=["nbval-ignore-output"]
from course_utils import visdom_server

windows = visdom_server().start()
windows

# %% topics=["visdom"] tags=["nbval-ignore-output"]
client = windows.client(env="first")
client.line(X=[0, 1], Y=[2.3, 1.9], win="loss", name="train", opts={"title": "loss"})
client.line(X=[2], Y=[1.2], win="loss", name="train", update="append")
client.image(x[0].cpu(), win="a digit")
windows.show("env/first")

# %% [markdown]
# The page is the environment `first`; at the address you choose between all. (Where JupyterLab runs on
# another machine than your browser, a page comes through JupyterLab, if `jupyter-server-proxy` is
# installed there. Without it, forward the port and open the address.)
#
# A window that exists is replaced, unless `update="append"` adds to it; with a `name`, to that curve.
# The server can be asked what it holds:

# %% topics=["visdom"]
import json

window = json.loads(client.get_window_data("loss", "first"))
[(curve["name"], curve["x"], curve["y"]) for curve in window["content"]["data"]]

# %% [markdown]
# The calls that you need: `line`, `scatter(X)` with two or three columns, and `Y` for classes, which
# count **from 1**; `stem(X)` for spikes; `heatmap(X)`; `images` (batch, channel, height, width);
# `text`, which is HTML. Each takes `win=` and `env=`. `save([env, …])` writes environments into the
# server's folder, and a server that starts there has them again.

# %% topics=["visdom"]
windows.stop()
windows

# %% [markdown]
# ### Exercise 14.7 — Live windows ★★ · 15 min · 4 points
#
# `visdom_live(client, curve, about)` fills seven windows. `curve` is an iterator: each entry,
# `(step, train, validation)`, is a step of a training that still runs. **Send both numbers before
# you take the next entry.** A loss that is NaN is sent, too. `about` is a dict of tensors and a
# string.
#
# | environment | window | what |
# | --- | --- | --- |
# | `run` | `loss` | lines named `train` and `validation`, over the steps |
# | `run` | `map` | a scatter of `about["points"]` (sample, 2), by the classes `about["classes"]` (sample,), which count from 0 (class 2 is visdom's class 3) |
# | `run` | `cloud` | a 3-D scatter of `about["cloud"]` (sample, 3) |
# | `run` | `spikes` | a stem plot of `about["spikes"]` (time,) |
# | `evaluation` | `confusion` | a heat map of `about["confusion"]` (row, column) |
# | `evaluation` | `samples` | all of `about["samples"]` (batch, 3, height, width) in one window of images |
# | `evaluation` | `note` | `about["note"]` as text |
#
# At the end it **saves both environments**. The check stops the server and looks into its folder, at
# what another server would show.


# %% nbgrader={"grade_id": "try-visdom-live", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_visdom_live(*arguments):
    return visualization.seen_visdom_live(visdom_live, *arguments)


# %% nbgrader={"grade_id": "visdom-live", "solution": true}
from collections.abc import Iterator


def visdom_live(client: object, curve: Iterator[tuple[int, float, float]], about: dict) -> None:
    """Fill seven windows in the environments run and evaluation, the losses live; save both."""
    ### BEGIN SOLUTION
    for step, *losses in curve:
        for name, loss in zip(("train", "validation"), losses, strict=True):
            client.line(X=[step], Y=[loss], win="loss", env="run", name=name, update="append")
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])
    ### END SOLUTION


# %% nbgrader={"grade_id": "visdom-live-check", "grade": true, "points": 4}
generator = torch.Generator().manual_seed(0)
steps = [(3, 2.3047, 2.40625), (10, 0.0, 1.75195), (12, float("nan"), 1.5), (35, 1.25, 0.0)]
about = {
    "points": torch.randn(6, 2, generator=generator),
    "classes": torch.tensor([3, 4, 6, 3, 4, 3]),  # some of them are not there
    "cloud": torch.randn(5, 3, generator=generator),
    "spikes": torch.tensor([1.0, 0.5, -2.0, 3.0]),
    "confusion": torch.tensor([[5.0, 1.0, 0.0], [2.0, 7.0, 3.0]]),
    "samples": torch.rand(70, 3, 6, 7, generator=generator),
    "note": "rate 0.1, second attempt",
}
with every_case() as case:
    visualization.check_windows(case, try_visdom_live, steps, about)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `update="append"` also makes a window that isn't there yet. Two lines in one window: two calls with
# the same `win` and another `name`.
# </details>
# <details><summary>Hint 2</summary>
#
# `env` belongs in each call; the client's own environment is a different one. Classes for `scatter`
# begin at 1.
# </details>

# %% [markdown]
# ## 7. What did I build? The network drawn
#
# Sometimes the picture that is missing is the network's own: a branch that is not connected, a
# layer ten times as costly as the rest. Three drawings answer three different questions.
#
# **The autograd graph** shows what `backward()` will visit. `draw_graph` of this course draws it, and
# so does `make_dot` of torchviz, as Graphviz source (to make a picture of that, the program `dot`
# must be installed). **Predict:** in which of them do you see that a layer was forgotten?

# %% topics=["torchviz"] tags=["shows-false"]
from course_utils import draw_graph
from torchviz import make_dot


class Forgetful(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.first(x).relu()
        _ = self.second(h)
        return self.head(h)


model = Forgetful()
dot = make_dot(model(torch.ones(1, 4)), params=dict(model.named_parameters()))
for name in ("first.weight", "second.weight", "head.weight"):
    print(name, "in the graph:", name in dot.source)
names = {name.replace(".", "_"): parameter for name, parameter in model.named_parameters()}
draw_graph(model(torch.ones(1, 4)), **names)

# %% [markdown]
# `second` is not in it: its result is used for nothing, so no gradient will ever reach it.
#
# **A trace** shows what ran for one input. `add_graph` sends one to TensorBoard.
#
# > **Then and now.** *"Export the computation graph by `add_graph`."* It still works. But it rests
# > on `torch.jit.trace`, which is deprecated and warns; and what it draws is a trace of the forward
# > pass, not the graph of autograd.

# %% topics=["tensorboard-graph"] errata=["add-graph-uses-jit"] tags=["shows-deprecated"]
import warnings

with SummaryWriter(logs / "graph") as writer, warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    writer.add_graph(model.cpu(), torch.ones(1, 4))
graph = EventAccumulator(str(logs / "graph")).Reload().Graph()
print(caught[0].category.__name__, "-", str(caught[0].message).split(". ")[0])
print([(node.name.split("/")[1], node.op) for node in graph.node if "aten" in node.op])

# %% [markdown]
# **A file** can be drawn by Netron, a viewer in the browser or on the desktop that reads ONNX, `.pt2`
# and safetensors, and needs no Python. What it would draw of an exported program:

# %% topics=["netron"]
program = torch.export.export(model.eval(), (torch.ones(1, 4),))
print([node.target.__name__ for node in program.graph.nodes if node.op == "call_function"])

# %% [markdown]
# The trace has dropped `second`; the export lists three linear layers, `second` among them.
# (PlotNeuralNet draws a list of layers that you type: what you meant, not what you built.)
#
# ### What does it cost?
#
# A **table of layers** shows where parameters and work sit. The work of a layer is counted in
# **MACs**, multiplications with their addition. Each output of a linear layer is a sum over its
# inputs: outputs × inputs. Each output *pixel* of a convolution is a sum over the kernel and the
# input channels **of its group**. **Predict** the MACs of `nn.Conv2d(4, 8, 3, padding=1)` on 10 × 10
# pixels, and the FLOPs:

# %% topics=["torchsummary"] errata=["flops-vs-macs"]
from torch.utils.flop_counter import FlopCounterMode

conv = nn.Conv2d(4, 8, 3, padding=1)
with FlopCounterMode(display=False) as counter:
    y_conv = conv(torch.ones(1, 4, 10, 10))
macs = y_conv.numel() * 4 * 3 * 3
print("MACs:", macs, "  FLOPs:", counter.get_total_flops(), "= 2 *", counter.get_total_flops() // 2)

# %% [markdown]
# > **Often said.** *"FLOPs and MACs are the same; read them off whichever tool."* A MAC is two
# > floating-point operations. thop counts MACs, `FlopCounterMode` FLOPs, and papers mix both: a
# > factor of 2 between two tables is this, more often than not.
#
# `torchsummary`, the table of old tutorials, has not moved for years; **torchinfo** took its place.
# It counts the biases as well, so its sum differs a little from the definition above:

# %% topics=["torchsummary"]
import torchinfo

table = torchinfo.summary(conv, (1, 4, 10, 10), verbose=0)
print(
    "torchinfo:",
    table.total_mult_adds,
    "  without the 8 biases at 100 pixels:",
    table.total_mult_adds - 800,
)

# %% [markdown]
# ### Exercise 14.8 — A table of layers ★★ · 15 min · 4 points
#
# Write such a table yourself. `network_drawn(model, x)` runs the model once on `x`, in eval mode, and
# returns a list with a row for each call of a module that has no children, **in the order of the
# calls**. A row is `(name, shape, parameters, macs)`:
#
# - the name as in `named_modules()`. A module that is called twice has two rows. `model` itself, if it
#   has no children, is the only row, and its name is `""`. A part that is `None` is no child, and
#   a call may be by keyword;
# - the output's shape as a tuple;
# - the module's number of parameters (biases too). Frozen parameters count;
# - the MACs of this call for the whole batch. `nn.Linear` (any number of dimensions) and `nn.Conv2d`
#   (any stride, padding, dilation, groups) have MACs, without biases, and so have classes derived from
#   them; all others 0.
#
# Leave the model as it was: modes, hooks, gradients, buffers, also where it raises. (In eval mode none
# changes its buffers.) Example: for the `conv` from above, alone in an `nn.Sequential`,
# `[("0", (1, 8, 10, 10), 296, 28800)]`.


# %% nbgrader={"grade_id": "try-network-drawn", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_network_drawn(*arguments):
    return visualization.seen_network_drawn(network_drawn, *arguments)


# %% nbgrader={"grade_id": "network-drawn", "solution": true}
def network_drawn(model: nn.Module, x: torch.Tensor) -> list[tuple[str, tuple, int, int]]:
    """A row (name, output shape, parameters, MACs) for each call of a module without children."""
    ### BEGIN SOLUTION
    from contextlib import ExitStack
    from functools import partial

    rows = []

    def note(name, module, args, output):
        each = 0  # products behind one output
        if isinstance(module, nn.Linear):
            each = module.in_features
        if isinstance(module, nn.Conv2d):
            each = module.weight[0].numel()
        parameters = sum(p.numel() for p in module.parameters())
        rows.append((name, tuple(output.shape), parameters, output.numel() * each))

    with ExitStack() as stack, torch.no_grad():
        for name, module in model.named_modules():
            stack.callback(setattr, module, "training", module.training)
            if not list(module.children()):
                stack.callback(module.register_forward_hook(partial(note, name)).remove)
        model.eval()(x)
    return rows
    ### END SOLUTION


# %% nbgrader={"grade_id": "network-drawn-check", "grade": true, "points": 4}
with every_case(at_most=12) as case:
    for kind in ("the example", "strides and groups, batch 7", "called twice, three dimensions"):
        visualization.check_table(case, try_network_drawn, kind)
    for kind in ("one linear layer alone, one dimension", "other layers, a derived class"):
        visualization.check_table(case, try_network_drawn, kind)
    for kind in ("a dilated kernel, grouped", "one layer under two names"):
        visualization.check_table(case, try_network_drawn, kind)
    for kind in (visualization.BY_KEYWORD, visualization.BY_WORDS):
        visualization.check_table(case, try_network_drawn, kind)
    parts = "a part that isn't called, a Conv1d"
    for kind in (parts, visualization.NO_ROWS, visualization.TOO_WIDE):
        visualization.check_table(case, try_network_drawn, kind)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A forward hook gets the module and its output: all that a row needs but the name.
# </details>
# <details><summary>Hint 2</summary>
#
# A convolution's weight is (output channel, input channels of a group, height, width). So
# `weight[0].numel()` products are summed for each output.
# </details>

# %% [markdown]
# ## 8. What did it look at?
#
# A network is right in 99 of 100 cases, for the wrong reason: it looks at the label that the
# photographer left in the corner. The accuracy can't tell. What you would have to see is *where*
# the answer came from. Here is a small network for shapes: convolutions, then a mean over all places,
# then a linear layer. It gets an image of a kind it has never met, with a cross and a square.
# **Predict** its answer.

# %%
from course_utils.chapters.visualization import SHAPES, ShapeNet, draw_shape, shape_network, shapes

network, (x_shapes, y_shapes) = shape_network(), shapes()
hits = (network(x_shapes).argmax(1) == y_shapes).float().mean()
two = (draw_shape(2, 9, 9) + draw_shape(1, 22, 22)).to(device)  # a cross and a square
print(f"accuracy {hits:.2f}")
for shape, score in zip(SHAPES, network(two[None])[0].tolist(), strict=True):
    print(f"the image with both, score for {shape}: {score:.1f}")

# %% [markdown]
# *Disk*, the shape that isn't there. The score gives no reason.
#
# ### Class activation maps
#
# Let $A_k$ be the last maps, $w_{ck}$ the weights of the linear layer, and $b_c$ its bias. The
# score of a class is $b_c + \sum_k w_{ck} \,\mathrm{mean}(A_k)$. A mean over places of a sum is the
# sum of the means, so it is also the mean of
#
# $$\mathrm{CAM}_c = \sum_k w_{ck} A_k$$
#
# plus the bias: at each place, this map holds what the place did for the class, or against it.
# Check it on the smallest case. **Predict** the map for w = (1, -2):

# %%
maps = torch.tensor([[[4.0, 0], [0, 0]], [[0, 0], [0, 2]]])  # (2 maps, 2, 2)
w = torch.tensor([1.0, -2])
cam = (w[:, None, None] * maps).sum(0)
print(cam)
print("its mean:", cam.mean().item(), "  the score:", (w @ maps.mean((1, 2))).item())

# %% [markdown]
# That needs a mean and one linear layer. **Grad-CAM** asks the gradient instead, so it works for
# any head: the weight of map $k$ is the **mean over places of the gradient** of the score by $A_k$,
# and what is left below 0 after summing is cut off by a ReLU. **Predict** for the same case: by what
# do the two weights differ from (1, -2)?

# %%
maps.requires_grad_()
score = w @ maps.mean((1, 2))
(gradient,) = torch.autograd.grad(score, maps)  # (2, 2, 2)
weights = gradient.mean((1, 2))
print("weights:", weights.tolist())
print((weights[:, None, None] * maps).sum(0).relu().detach())

# %% [markdown]
# By a factor of 4, the number of places: each place has a fourth of the mean. And the evidence
# *against* the class is gone.
#
# ### Exercise 14.9 — Class activation, two ways ★★★ · 25 min · 4 points
#
# `cam_two_ways(model, image, target)` maps where a class came from, in both ways. It gets a model with
# the parts `features`, `pool` and `head` (the score of class $c$ is entry $c$ of
# `head(pool(features(x)))`), an image (channel, height, width) and a class. It returns `(cam, grad_cam)`, two maps (height, width) of the size of the last maps,
# without a graph and not rescaled:
#
# - `cam` by the weights of the head, negative values and all; where `head` is not a single
#   `nn.Linear`, there is no such map: `None` (a class derived from `nn.Linear` is one, too);
# - `grad_cam` by gradients, for any head, cut off at 0.
#
# The model may be frozen or not; it is in eval mode. Leave it as it was: hooks, `requires_grad`,
# and `.grad`; and the image, which needs no gradient, too. (No part writes into what it is handed.)
# Example: `maps` and `w` from above give the two maps that were printed.


# %% nbgrader={"grade_id": "try-cam", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_cam(*arguments):
    return visualization.seen_cam(cam_two_ways, *arguments)


# %% nbgrader={"grade_id": "cam-two-ways", "solution": true}
def cam_two_ways(
    model: nn.Module, image: torch.Tensor, target: int
) -> tuple[torch.Tensor | None, torch.Tensor]:
    """The class activation map (None where there is none) and Grad-CAM, both (height, width)."""
    ### BEGIN SOLUTION
    with torch.no_grad():
        maps = model.features(image[None])
    maps.requires_grad_()
    with torch.enable_grad():
        score = model.head(model.pool(maps))[0, target]
    (gradient,) = torch.autograd.grad(score, maps)
    maps = maps[0].detach()  # (map, height, width)
    weights = gradient[0].mean((1, 2))
    grad_cam = torch.einsum("k,khw->hw", weights, maps).relu()
    if not isinstance(model.head, nn.Linear):
        return None, grad_cam
    return torch.einsum("k,khw->hw", model.head.weight[target].detach(), maps), grad_cam
    ### END SOLUTION


# %% nbgrader={"grade_id": "cam-two-ways-check", "grade": true, "points": 4}
with every_case(at_most=12) as case:
    visualization.check_cams(case, try_cam, "another pool", 2)
    for kind in ("the example", "a frozen model", "a head of two layers"):
        visualization.check_cams(case, try_cam, kind, 0)
    visualization.check_cams(case, try_cam, "the example", 1)
    for kind in ("one map, one row of places", "a head of a class derived from nn.Linear"):
        visualization.check_cams(case, try_cam, kind, 1)
    for kind in ("a head with a weight, around an nn.Linear", "a linear head in float64"):
        visualization.check_cams(case, try_cam, kind, 2)
    ### BEGIN HIDDEN TESTS
    for target in (1, 2):
        visualization.check_cams(case, try_cam, "a linear head", target)
        visualization.check_cams(case, try_cam, "a head of two layers", target)
    visualization.check_cams(case, try_cam, "another pool", 0)
    ### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Compute the maps first, by themselves. Make them need a gradient, and compute the score from them.
# </details>
# <details><summary>Hint 2</summary>
#
# `torch.autograd.grad(score, maps)` fills no `.grad`. It gives a tuple of one tensor
# (1, map, height, width).
# </details>
# <details><summary>Hint 3</summary>
#
# A frozen model gives maps that need no gradient, until you say `maps.detach().requires_grad_()`.
# </details>

# %% [markdown]
# The image with two shapes, and captum beside it. captum is a library of such methods; its
# `LayerGradCam` is Grad-CAM without code of yours, and `IntegratedGradients` sums gradients on the
# way from a black image to this one, so it speaks of pixels, not of a coarse map. **Predict:** what
# will CAM show for *cross* at the place of the square?

# %% topics=["captum"]
from captum.attr import IntegratedGradients, LayerGradCam

watched = ShapeNet().to(device).eval()
watched.load_state_dict(network.state_dict())
w = watched.head.weight[2].detach()
cam = torch.einsum("k,khw->hw", w, watched.features(two[None])[0]).detach()
grad_cam = (
    LayerGradCam(watched, watched.features)
    .attribute(two[None], target=2, relu_attributions=True)[0, 0]
    .detach()
)
pixels = IntegratedGradients(watched).attribute(two[None], target=2, n_steps=32)[0, 0].detach()
print(
    "Grad-CAM is the positive part of CAM over",
    cam.numel(),
    "places:",
    torch.allclose(grad_cam, cam.relu() / cam.numel(), atol=1e-5),
)

# %% topics=["captum"]
titles = ("the image", "CAM for 'cross'", "Grad-CAM (captum)", "integrated gradients")
figure, axes = plt.subplots(1, 4, figsize=(10, 2.6), layout="constrained")
axes[0].imshow(two[0].cpu(), cmap="gray")
for ax, values in zip(axes[1:], (cam, grad_cam, pixels), strict=True):
    most = values.abs().max().item()
    drawn = ax.imshow(values.cpu(), cmap="RdBu", vmin=-most, vmax=most)
    figure.colorbar(drawn, ax=ax, shrink=0.7)
for ax, title in zip(axes, titles, strict=True):
    ax.set(title=title, xticks=[], yticks=[])
show(
    figure,
    "A cross and a square; CAM is blue at the cross and red at the square; Grad-CAM has only the "
    "blue; integrated gradients mark pixels of both shapes.",
)

# %% [markdown]
# Blue speaks for *cross*, red against it. CAM shows both: the cross speaks for it and the square, as
# loudly, against. The two nearly cancel, for *square* likewise, and *disk* wins.
# Grad-CAM, cut off at 0, shows only the cross: from it alone you would believe that the network saw a
# cross and was sure. They differ in the sign and the factor, and here in nothing else; with a deeper
# head CAM doesn't exist, and the gradient holds only near this image.
#
# **Integrated gradients** share out a difference. Their sum over all pixels is the score of this image
# less the score of the black one, the **baseline**. **Predict:** how many of the black pixels get a
# share?

# %% topics=["captum"]
with torch.no_grad():
    here, black = watched(torch.stack([two, torch.zeros_like(two)]))[:, 2].tolist()
print(f"sum over the pixels {pixels.sum():.1f}, score less black's score {here - black:.1f}")
print("black pixels with a share:", int((pixels[two[0] == 0] != 0).sum()))

# %% [markdown]
# None: each share is multiplied by the way from the baseline, and black hasn't moved. These maps
# can't show that a dark corner decides, and another baseline gives another map. Name it in the
# caption. Their speckle comes from the gradient's jumps at each ReLU: trust regions, not single pixels.
#
# **Attention maps** come for free: `nn.MultiheadAttention(…)(q, k, v, average_attn_weights=False)`
# returns, beside its output, the weights (batch, head, query, key); each row sums to 1.
# (`F.scaled_dot_product_attention` doesn't return them.) They show where a layer reads, which is less
# than what it takes. Three keys and their values; **predict** which of them matters most:

# %%
attention = (torch.tensor([1.0, 0]) @ torch.tensor([[3.0, 1, 0], [0, 0, 1]])).softmax(0)  # (key,)
values = torch.tensor([[0.0, 0], [2, 0], [0, 2]])  # (key, 2)
print("attention:     ", [round(w, 2) for w in attention.tolist()])
print("what each adds:", [round(v, 2) for v in (attention[:, None] * values).norm(dim=1).tolist()])

# %% [markdown]
# The key with 84 % of the attention adds nothing: its value is 0. Weigh a map by the norms of the
# values, or take the key away and look at the output.
#
# ### What does a unit want?
#
# Three more pictures of the inside. The **filters** of the first layer, small images themselves. The
# **feature maps**: where each unit fires. And **activation maximisation**: the image that a unit
# likes best, found by climbing its gradient. A step of climbing with a gradient of length 1,
# **predict** the new pixels:

# %%
pixels = torch.tensor([0.2, 0.9], requires_grad=True)
(gradient,) = torch.autograd.grad(3 * pixels[0] + 4 * pixels[1], pixels)
step = 0.5 * gradient / gradient.norm()
print("gradient:", gradient.tolist(), "  step:", [round(v, 2) for v in step.tolist()])
print("new:", [round(v, 2) for v in (pixels + step).clamp(0, 1).tolist()])

# %% [markdown]
# Up the slope, by half, and no pixel beyond 1.
#
# ### Exercise 14.10 — Filters, maps, and a dream ★★ · 12 min · 3 points
#
# `filters_and_features(model, image, channel, steps, rate)` gets an `nn.Sequential` that begins with
# an `nn.Conv2d` and gives maps (batch, channel, height, width), and an image (channel, height,
# width) in [0, 1]. It returns three tensors without a graph, `(filters, maps, dream)`:
#
# - `filters`: the weight of the first layer (out, in, height, width), **each filter** stretched so
#   that its smallest number is 0 and its largest 1; a filter of equal numbers becomes 0;
# - `maps`: the model's output for the image, (channel, height, width);
# - `dream`: the image after `steps` steps, each `x + rate * g / ‖g‖`, then cut off at 0 and 1. `g`
#   is the gradient by `x` of the **mean** of map `channel`; ‖g‖ the norm of all of it. Where it is
#   0, the image stays.
#
# Divide by the range and by the norm as they are, however small: 1e-8 added to either would show.
# (No gradient but 0 is so small that its squares are 0.)
# Image and model stay as they were, `.grad` too; the model is in eval mode and may be frozen; the
# image needs no gradient.
# Example: a step from (0.2, 0.9) with the gradient (3, 4) and a rate of 0.5 gives (0.5, 1).


# %% nbgrader={"grade_id": "try-filters", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_filters(*arguments):
    return visualization.seen_filters(filters_and_features, *arguments)


# %% nbgrader={"grade_id": "filters-and-features", "solution": true}
def filters_and_features(
    model: nn.Sequential, image: torch.Tensor, channel: int, steps: int, rate: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Stretched filters of the first layer, the maps of an image, and what ``channel`` likes."""
    ### BEGIN SOLUTION
    weight = model[0].weight.detach()
    low, high = weight.amin((1, 2, 3), keepdim=True), weight.amax((1, 2, 3), keepdim=True)
    filters = (weight - low) / torch.where(high > low, high - low, 1)
    dream = image.detach().clone()
    for _ in range(steps):
        dream.requires_grad_()
        (gradient,) = torch.autograd.grad(model(dream[None])[0, channel].mean(), dream)
        length = gradient.norm()
        step = rate * gradient / length if length > 0 else torch.zeros_like(gradient)
        dream = (dream.detach() + step).clamp(0, 1)
    return filters, model(image[None])[0].detach(), dream
    ### END SOLUTION


# %% nbgrader={"grade_id": "filters-and-features-check", "grade": true, "points": 3}
generator = torch.Generator().manual_seed(2)
image = torch.rand(2, 9, 8, generator=generator)
with every_case() as case:
    visualization.check_filters(
        case, try_filters, "the example", torch.tensor([[[0.2, 0.9]]]), 0, 1, 0.5
    )
    visualization.check_filters(case, try_filters, "two layers", image, 0, 6, 2.0)
    visualization.check_filters(case, try_filters, "a frozen model", image, 1, 3, 0.3)
    faint = "a faint filter, a faint gradient"
    visualization.check_filters(case, try_filters, faint, image, 0, 3, 0.5)
    visualization.check_filters(
        case, try_filters, "two layers", image, 2, 2, 0.5
    )  # a map without a gradient
    visualization.check_filters(case, try_filters, "a gradient below 1e-12", image, 0, 3, 0.5)
    visualization.check_filters(case, try_filters, "two layers", image, 1, 0, 1.5)
    double = "two layers in float64"
    visualization.check_filters(case, try_filters, double, image.transpose(1, 2), 1, 2, 0.7)
    visualization.check_filters(case, try_filters, visualization.SHORT, image, 1, 4, 1e-8)
    ### BEGIN HIDDEN TESTS
    visualization.check_filters(case, try_filters, "two layers", image.transpose(1, 2), 1, 12, 1.5)
    ### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `amin` and `amax` over dimensions (1, 2, 3), with `keepdim=True`. Where they are equal, divide by 1.
# </details>
# <details><summary>Hint 2</summary>
#
# In each step: a fresh leaf that needs a gradient, `autograd.grad` of one number by it, a step from
# the detached image, `clamp`.
# </details>

# %% [markdown]
# The shape network's own: eight filters, where they fire on the image of two shapes, and what three
# units of the last layer climb to, from noise: for each class the unit that adds most to its score.

# %%
filters = network.features[0].weight[:, 0].cpu()
with torch.no_grad():
    fires = network.features[:2](two[None])[0].cpu()
figure, axes = plt.subplots(2, 8, figsize=(10, 2.7), layout="constrained")
most = filters.abs().max()
for n in range(8):
    drawn = axes[0, n].imshow(filters[n], cmap="RdBu", vmin=-most, vmax=most)
    axes[1, n].imshow(fires[n], cmap="viridis", vmin=0, vmax=fires[n].max())
    axes[1, n].set_xlabel(f"up to {fires[n].max():.1f}", fontsize=8)
figure.colorbar(drawn, ax=axes[0, :], label="weight")
for ax, word in zip(axes[:, 0], ("filters", "maps"), strict=True):
    ax.set_ylabel(word)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
show(figure, "Top: eight 5 x 5 filters. Bottom: where each fires on the cross and the square.")

# %%
typical = [network.features(x_shapes[y_shapes == c]).mean((0, 2, 3)) for c in range(3)]
best = (network.head.weight * torch.stack(typical)).argmax(1).tolist()
print("the unit that adds most:", dict(zip(SHAPES, best, strict=True)))

# %%
noise = torch.rand(1, 32, 32, generator=torch.Generator().manual_seed(0)).to(device)
dreams = [visualization.climb(network.features, noise, unit, 40, 1.0) for unit in best]
figure, axes = plt.subplots(1, 4, figsize=(8, 2.4), layout="constrained")
for ax, dream, word in zip(axes, [noise, *dreams], ["the start", *SHAPES], strict=True):
    ax.imshow(dream[0].cpu(), cmap="gray", vmin=0, vmax=1)
    ax.set(title=word, xticks=[], yticks=[])
show(
    figure,
    "Noise at the start; for disk and for cross the same lattice of diagonals, for square a bright "
    "cloud.",
)

# %% [markdown]
# Each map has its own scale, written below it: the third filter fires most, on both shapes; others
# fire on edges, or hardly at all. The dreams are textures rather than shapes: a unit sees a small
# patch, so it can't ask for a whole square. And look at *disk* and *cross*: two units, and both ask for
# the same lattice. Is there no unit for disks? Look at the scores of single shapes:

# %% tags=["nbval-ignore-output"]
alone = torch.stack([draw_shape(kind, 16, 16) for kind in range(3)]).to(device)
for shape, scores in zip(SHAPES, network(alone).tolist(), strict=True):
    print(f"{shape:>6}:", {name: round(s, 1) for name, s in zip(SHAPES, scores, strict=True)})

# %% [markdown]
# Every shape gets a positive score for *disk*, and a disk hardly more than the others: *disk* wins
# only where *square* and *cross* are low. (Without the noise of the training images even a disk is
# called a square.) In the image with both, each shape adds to *disk*, while *square* and *cross* are
# each told yes once and no once, and the no is louder.
#
# ## 9. The ground under the run: a loss landscape
#
# Two trainings end at nearly the same loss with other weights. Are they in the same valley? A function
# of 5000 numbers can't be drawn, but a **slice** can: walk from one point in one direction, and note
# the loss. From the end of one training straight to the end of the other:


# %% nbgrader={"grade_id": "walk", "locked": true}
@torch.no_grad()
def loss_at(
    model: nn.Module, weights: list[torch.Tensor], x: torch.Tensor, y: torch.Tensor
) -> float:
    """The loss with other weights; the model's own stay."""
    names = [name for name, _ in model.named_parameters()]
    output = torch.func.functional_call(model, dict(zip(names, weights, strict=True)), (x,))
    return F.cross_entropy(output, y).item()


# %%
first, second = (run(seed=seed)["network"] for seed in (0, 1))
pairs = list(zip(first.parameters(), second.parameters(), strict=True))
alphas = torch.linspace(-0.3, 1.3, 33).tolist()
walk = [
    loss_at(first, [p.lerp(q, a) for p, q in pairs], x_validation, y_validation) for a in alphas
]
figure, axes = plt.subplots(figsize=(6, 2.6))
axes.plot(alphas, walk)
axes.scatter([0, 1], [walk[6], walk[26]], color="C1", zorder=3, label="the two trained networks")
axes.set(
    xlabel="way from the first network to the second", ylabel="validation loss", ylim=(0, 0.75)
)
axes.legend(loc="upper left", fontsize=8)
show(figure, "The loss is below 0.2 at both networks and rises to 0.6 between them.")

# %% [markdown]
# There is a ridge between them: halfway, the loss is more than three times as high. (Part of it is only
# about names: each seed numbers its hidden units differently.) And neither network is at the bottom of
# its valley: the line is lowest a little further in.
#
# ### How steep is a valley?
#
# With a single network you walk in a random direction. But how far is "one step"? With a ReLU between
# two layers, you may multiply the first by 10 and divide the second by 10: the function stays the
# same. See what a plain step of the same length does to both. **Predict:** equal?


# %%
from course_utils.chapters.visualization import make_direction, make_valley

valleys = {"plain": make_valley(), "times 10, divided by 10": make_valley(10)}
for name, model in valleys.items():
    there = [p + 0.05 * d for p, d in zip(model.parameters(), make_direction(model), strict=True)]
    here = loss_at(model, list(model.parameters()), x_validation, y_validation)
    print(
        f"{name}: loss here {here:.3f}, one step away "
        f"{loss_at(model, there, x_validation, y_validation):.3f}"
    )

# %% [markdown]
# The same function, and one valley looks far steeper than the other: a plot of plain steps compares
# the scales of weights, not valleys. **Filter normalisation** (Li et al., 2018) measures each step
# by the weights themselves: each filter of the direction gets the norm of the filter that it moves.
# By hand, for a linear layer, where a filter is a row:

# %%
weight = torch.tensor([[3.0, 4], [0, 1]])  # two filters, of norm 5 and 1
direction = torch.tensor([[1.0, 0], [0, -2]])  # of norm 1 and 2
scale = weight.norm(dim=1, keepdim=True) / direction.norm(dim=1, keepdim=True)
print(scale.flatten().tolist())
print(direction * scale)

# %% [markdown]
# ### Exercise 14.11 — A filter-normalised slice ★★★ · 25 min · 4 points
#
# `loss_landscape(model, direction, alphas, x, y)` returns the losses along a slice, as a list of
# floats: for each `alpha`, `F.cross_entropy(model(x), y)` with the weights moved by `alpha` times
# the filter-normalised direction. `direction` is a list of tensors, one for each parameter, in the
# order and of the shapes of `model.parameters()`:
#
# - parameters of two dimensions and more, whatever they are called: filter $i$ is `p[i]`, all of it.
#   `d[i]` is scaled to the norm of `p[i]`, however small it is (but not so small that its squares
#   are 0); a `d[i]` that is all 0 stays 0;
# - parameters of one dimension, whatever they are called: not moved.
#
# Frozen parameters move, too. The weights that you measure by are those that the model came with.
# Afterwards it has **exactly** these again, and all else of it is as it was, `.grad` too;
# `direction` isn't changed. The model is in eval mode.
#
# Example: `alpha = 1`, with the weight and direction from above, moves the weight to
# `[[8, 4], [0, 0]]`.


# %% nbgrader={"grade_id": "try-landscape", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_landscape(*arguments):
    return visualization.seen_landscape(loss_landscape, *arguments)


# %% nbgrader={"grade_id": "loss-landscape", "solution": true}
def loss_landscape(
    model: nn.Module,
    direction: list[torch.Tensor],
    alphas: list[float],
    x: torch.Tensor,
    y: torch.Tensor,
) -> list[float]:
    """Losses along a filter-normalised direction from where the model is."""
    ### BEGIN SOLUTION
    start = [p.detach().clone() for p in model.parameters()]
    steps = []
    for p, d in zip(start, direction, strict=True):
        step = torch.zeros_like(p)
        if p.dim() > 1:
            shape = (-1, *[1] * (p.dim() - 1))
            lengths = d.flatten(1).norm(dim=1).view(shape)
            step = d * p.flatten(1).norm(dim=1).view(shape) / lengths.where(lengths > 0, 1)
        steps.append(step)
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            for p, w, step in zip(model.parameters(), start, steps, strict=True):
                p.copy_(w + alpha * step)
            losses.append(F.cross_entropy(model(x), y).item())
        for p, w in zip(model.parameters(), start, strict=True):
            p.copy_(w)
    return losses
    ### END SOLUTION


# %% nbgrader={"grade_id": "loss-landscape-check", "grade": true, "points": 4}
with every_case() as case:
    visualization.check_slice(case, try_landscape, "the example", [1.0, 0.0, -0.5])
    visualization.check_slice(case, try_landscape, visualization.FAR, [1e7, 0.0, 0.3, -0.4])
    visualization.check_slice(case, try_landscape, "dense, rescaled", [-0.4, 0.0, 0.3, 0.7])
    visualization.check_slice(case, try_landscape, "conv", [0.5, -0.5])
    visualization.check_slice(case, try_landscape, "dense, a filter of zeros", [0.2, -0.6])
    visualization.check_slice(case, try_landscape, "a BatchNorm, a frozen layer", [0.6, -0.3])
    visualization.check_slice(case, try_landscape, "a Conv1d, a faint filter", [0.6, -0.4])
    visualization.check_slice(case, try_landscape, "a bias of two dimensions", [0.5, -0.8])
    visualization.check_slice(case, try_landscape, "conv, rescaled, zeros", [0.8, 0.1, 0.1])
    visualization.check_slice(case, try_landscape, "dense", [])
    visualization.check_slice(case, try_landscape, visualization.TIED, [0.5, -0.5])
    visualization.check_slice(case, try_landscape, visualization.MANY, [0.3])
    ### BEGIN HIDDEN TESTS
    visualization.check_slice(case, try_landscape, "conv, zeros", [0.4, 0.4, -0.2])
    ### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `d.flatten(1).norm(dim=1)` are the norms of all filters, for any number of dimensions. They need to
# be reshaped to (filter, 1, …, 1) before they multiply.
# </details>
# <details><summary>Hint 2</summary>
#
# `0 / 0` is NaN: where a filter of the direction is 0, divide by 1.
# </details>
# <details><summary>Hint 3</summary>
#
# `p + d - d` is not exactly `p`. Keep copies and copy them back, or don't touch the model at all:
# `torch.func.functional_call` takes other weights for one call.
# </details>

# %% [markdown]
# Back to the two valleys that are one function. **Predict** the two curves on the right:


# %%
def normalised(model: nn.Module) -> list[torch.Tensor]:
    """A random direction, filter-normalised, for a network of linear layers."""
    return [
        d * p.norm(dim=1, keepdim=True) / d.norm(dim=1, keepdim=True) if p.dim() > 1 else 0 * d
        for p, d in zip(model.parameters(), make_direction(model), strict=True)
    ]


# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 2.6), sharey=True, layout="constrained")
for ax, choose, far in zip(axes, (make_direction, normalised), (0.1, 1.0), strict=True):
    alphas = torch.linspace(-far, far, 21).tolist()
    for model, style in zip(valleys.values(), ("-", "--"), strict=True):
        lines = list(zip(model.parameters(), choose(model), strict=True))
        moved = [[p + a * d for p, d in lines] for a in alphas]
        ax.plot(alphas, [loss_at(model, w, x_validation, y_validation) for w in moved], style)
    ax.set(xlabel="alpha", ylim=(0, 12), xticks=[-far, 0, far])
axes[0].set(ylabel="validation loss", title="plain steps")
axes[0].legend(valleys, fontsize=8)
axes[1].set_title("filter-normalised steps")
show(figure, "Left: a flat line and a steep valley. Right: both curves are one, up to 2.6.")

# %% [markdown]
# One function, one curve. (The steps on the right go up to 1: as far as the filters are long.) A plane
# has room for both questions: to the right, the way to the second
# network; upward, a filter-normalised random direction.

# %%
up = normalised(first)
rights, ups = torch.linspace(-0.4, 1.4, 28).tolist(), torch.linspace(-0.8, 0.8, 17).tolist()
plane = [
    [
        loss_at(
            first,
            [p.lerp(q, a) + b * u for (p, q), u in zip(pairs, up, strict=True)],
            x_validation[:200],
            y_validation[:200],
        )
        for a in rights
    ]
    for b in ups
]
figure, axes = plt.subplots(figsize=(7, 3.2))
drawn = axes.contourf(rights, ups, np.log10(plane), levels=16, cmap="viridis")
axes.scatter([0, 1], [0, 0], color="white", edgecolors="black", label="the two trained networks")
figure.colorbar(drawn, label="log10 of the loss")
axes.set(xlabel="from the first network to the second", ylabel="a random direction")
axes.legend()
show(figure, "Two dark basins side by side with higher ground between them.")

# %% [markdown]
# Two basins with a ridge between, and each network beside the lowest point of its basin. It is a slice:
# in 5000 dimensions there may be a way around the ridge. Such a picture suggests; it proves little.
#
# ## 10. Twelve patients · core
#
# What would you have to see? For most illnesses three pictures are enough: the **losses** of training
# and validation, the **norms of the gradients** of each layer, on a log scale, and the **norms of the
# weights**. First the healthy run, to know what to compare with:

# %%
from course_utils.chapters.visualization import PATIENTS, draw_runs

figure = draw_runs({"healthy": run()})
show(
    figure,
    "Healthy: both losses fall to near 0.1, gradients between 0.05 and 5, weights grow slowly.",
)

# %% [markdown]
# The losses fall together, from log 10 = 2.3, the loss of a guess among ten. The layers' gradients
# are of one size. The weights grow slowly. Gradients below 1e-8 are drawn at the bottom; losses that
# go beyond 20 on a log scale above 3; a curve stops where its numbers become NaN.

# %%
figure = draw_runs({letter: run(**PATIENTS[letter]) for letter in "ABCDEF"})
show(
    figure,
    "Patients A to F: six rows of three plots; how they differ from the healthy run is the "
    "exercise.",
)

# %%
figure = draw_runs({letter: run(**PATIENTS[letter]) for letter in "GHIJKL"})
show(
    figure,
    "Patients G to L: six rows of three plots; how they differ from the healthy run is the "
    "exercise.",
)

# %% [markdown]
# What the illnesses do, so that you can match them. Each of the twelve is there once.
#
# | illness | what happens | a cure |
# | --- | --- | --- |
# | `rate too high` | steps jump out of the valley, weights explode from the healthy start | `lower the rate` |
# | `rate too low` | nothing moves, though the gradients are healthy | `raise the rate` |
# | `gradients pile up` | `.grad` is never zeroed: it only grows or stays large | `zero the gradients in each step` |
# | `labels of other images` | nothing to learn, only to memorise: validation gets worse than a guess | `pair images and labels` |
# | `softmax twice` | the loss gets probabilities; it can't fall below 1.46 | `give the loss logits` |
# | `dead units` | a layer puts out 0 for every image: no gradient from the start | `start biases at 0` |
# | `vanishing gradients` | sigmoids: each layer hands a smaller gradient down | `ReLU and Kaiming's start` |
# | `inputs not scaled` | pixels up to 1000: the first loss is huge already | `scale the inputs` |
# | `overfitting` | thirty digits learnt by heart, and no others | `get more data` |
# | `not shuffled` | all zeros first, then all ones: each class in turn | `shuffle` |
# | `exp overflows` | in half precision, scores grow until `exp` is infinite: NaN | `compute the loss by log_softmax` |
# | `weight decay too strong` | the weights shrink to nothing | `decay less` |
#
# ### Exercise 14.12 — Twelve patients ★★ · 15 min · 6 points · core
#
# Write the illness of each patient into `diagnose`, and a cure that you would try into `cures`, both
# in the words of the table. A cure counts if it works: the cured run, trained by the check, must
# reach a validation accuracy of 0.85. `lower the rate` makes it a fifth, and 0.1 at most; `raise the
# rate` makes it five times as large, and 0.1 at least.

# %% nbgrader={"grade_id": "diagnose", "solution": true}
diagnose = {
    "A": None,
    "B": None,
    "C": None,
    "D": None,
    "E": None,
    "F": None,
    "G": None,
    "H": None,
    "I": None,
    "J": None,
    "K": None,
    "L": None,
}
cures = {
    "A": None,
    "B": None,
    "C": None,
    "D": None,
    "E": None,
    "F": None,
    "G": None,
    "H": None,
    "I": None,
    "J": None,
    "K": None,
    "L": None,
}
### BEGIN SOLUTION
diagnose = {
    "A": "softmax twice",
    "B": "vanishing gradients",
    "C": "exp overflows",
    "D": "rate too high",
    "E": "rate too low",
    "F": "labels of other images",
    "G": "overfitting",
    "H": "inputs not scaled",
    "I": "gradients pile up",
    "J": "dead units",
    "K": "not shuffled",
    "L": "weight decay too strong",
}
cures = {
    "A": "give the loss logits",
    "B": "ReLU and Kaiming's start",
    "C": "compute the loss by log_softmax",
    "D": "lower the rate",
    "E": "raise the rate",
    "F": "pair images and labels",
    "G": "get more data",
    "H": "scale the inputs",
    "I": "zero the gradients in each step",
    "J": "start biases at 0",
    "K": "shuffle",
    "L": "decay less",
}
### END SOLUTION

# %% nbgrader={"grade_id": "diagnose-check", "grade": true, "points": 3}
with every_case() as case, case("the illnesses"):
    visualization.check_diagnosis(diagnose)

# %% nbgrader={"grade_id": "diagnose-check-2", "grade": true, "points": 3}
with every_case(at_most=12) as case:
    visualization.check_cures(case, cures)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Begin with those that give themselves away: curves that end, a first loss far from 2.3, weights that
# go to 0, gradients in steps.
# </details>
# <details><summary>Hint 2</summary>
#
# Four losses never leave 2.3. Look at their gradients: healthy, at the bottom, in steps, or falling?
# </details>

# %% [markdown]
# And see it work. For each patient the validation accuracy as it was, and with the cure that you
# named; where you named none, with the table's.

# %%
from course_utils.chapters.visualization import after_cure

figure, grid = plt.subplots(2, 6, figsize=(11, 3.8), sharex=True, sharey=True, layout="constrained")
for (letter, changes), axes in zip(PATIENTS.items(), grid.flat, strict=True):
    better = after_cure(letter, cures)
    axes.plot(run(**changes)["accuracy"], label="as it was")
    axes.plot(better["accuracy"], label="cured")
    axes.set(title=letter, ylim=(0, 1))
grid[0, 1].legend(fontsize=7, loc="center right")
grid[1, 0].set(xlabel="step", ylabel="validation accuracy")
show(
    figure, "Twelve small plots: accuracy as it was, mostly near 0.1, and with the cure, near 0.9."
)

# %% [markdown]
# Twelve times a number was bad, and three pictures showed *why*. Chapter 15 finds such an illness in
# the code: its section 10 hunts a softmax applied twice.
#
# ## Heard elsewhere
#
# > **Then and now.** *"Draw networks and live curves by HiddenLayer."* Its last release, 0.3, calls
# > a private function of PyTorch that is gone. The graph: torchviz, an export, TensorBoard. The
# > curves: this chapter.
#
# > **Often said.** *"tensorboardX was made by the PyTorch team, and TensorBoard must be on the
# > PATH."* It is a separate project, still released; PyTorch has had its own `SummaryWriter` since
# > 1.1. TensorBoard needs no PATH: `python -m tensorboard.main --logdir runs`.

# %% topics=["hiddenlayer", "tensorboardx"] errata=["hiddenlayer", "tensorboardx-origin"] tags=["shows-false"]
from importlib.util import find_spec

print("torch.onnx._optimize_trace is there:", hasattr(torch.onnx, "_optimize_trace"))
print("SummaryWriter comes from", SummaryWriter.__module__)
print("python -m tensorboard.main would run:", find_spec("tensorboard.main") is not None)

# %% [markdown]
# **Trackers.** After fifty runs the question is which run it was. Weights & Biases, Comet and MLflow
# keep, for each run, its settings, its numbers, its files and the state of the code. The first two
# send them to a service, or to a server that you run; MLflow can keep all in a local folder.
# TensorBoard has a part of that offline: settings and results in one table.

# %% topics=["experiment-trackers"]
for rate in (0.01, 0.1):
    with SummaryWriter(logs / f"table {rate}") as writer:
        result = {"accuracy": run(rate=rate)["accuracy"][-1]}
        writer.add_hparams({"rate": rate, "seed": 0}, result, run_name=".")
    print({"rate": rate}, {name: round(value, 2) for name, value in result.items()})
board.stop()

# %% [markdown]
# The tab *HParams* has the table. The last line ended the server; the kernel's end would have, too.

# %% [markdown]
# ## What to keep
#
# | question | picture | by |
# | --- | --- | --- |
# | Is the data what I think? | a batch, un-normalised, with labels | `imshow`, `make_grid` |
# | Does it learn, and steadily? | loss, accuracy, rate, gradient norm for each step | `add_scalar`, `client.line` |
# | Does every unit work? | a histogram of outputs, unit by unit | `add_histogram`, hooks |
# | Does every layer move? | update:data ratio over the steps, on a log scale | a line for each layer |
# | Which ones are wrong? | map with neighbours, PR curve | `add_embedding`, `add_pr_curve` |
# | Is it built as I think? | autograd graph, table with MACs | torchviz, torchinfo, hooks |
# | Where did it look? | CAM, Grad-CAM, filters, dreams | gradients, captum |
# | What is between two networks? | a filter-normalised slice | `functional_call` |
#
# **Three mistakes to remember**
#
# 1. To watch the loss alone. A sixth of a layer can carry it.
# 2. To smooth, cut and pick until the plot shows what you hoped for. Draw the raw line, from 0, all seeds.
# 3. To take a heat map for a reason. Grad-CAM hides what speaks against; a slice hides the rest.
#
# **Read more:** the documentation of `torch.utils.tensorboard`, visdom and captum. Zhou et al.,
# *Learning Deep Features for Discriminative Localization* (CAM, 2016); Selvaraju et al., *Grad-CAM*
# (2017); Li et al., *Visualizing the Loss Landscape of Neural Nets* (2018); Adebayo et al., *Sanity
# Checks for Saliency Maps* (2018). Karpathy, *A Recipe for Training Neural Networks*.
