# ---
# jupyter:
#   course:
#     title: The whole project
#     minutes: 240
#     core: 125
# ---

# %% [markdown]
# # The whole project: would it run without you?
#
# A notebook runs as long as you sit beside it. A project is handed over: a stranger installs it,
# tests it, trains it on another machine, is interrupted, continues, measures, and sends photographs to
# its service. You will not be there. In this chapter you write such a project, module by module, and
# at the end you do what the stranger does.
#
# It finds circles, squares and triangles in small photographs: which, where, and how many.
#
# **After this chapter you can**
#
# - lay a project out in files that are tested, installed and run by commands;
# - build a detector: targets on a grid, a network that sees far enough, a loss that counts objects;
# - train on several processes so that a signal, a crash or a full disk costs you no result;
# - say how sure a score is, and find a bug that no error message tells of;
# - export, serve, and write down what you made; and choose among what others made.
#
# **It leans on** all chapters, most on 08 to 13 and 17. **Time:** four hours. The sections
# marked **core**, the project up to its training, take little more than two. You can skip any exercise:
# the course's own module takes its place.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn as nn
from course_utils import device, launch, runs_with_the_answer, shapes_folder, show
from course_utils.chapters.capstone import Workshop, ecosystem, hidden, pictures
from course_utils.chapters.capstone.trials import check_tests, run_tests

# %% [markdown]
# ## 1. A project is a folder · core
#
# What would the stranger need first? A place for everything. The next cell lays the project down in a
# folder for temporary files, with the course's own modules in it. Yours will replace eight of them.

# %% nbgrader={"grade_id": "workshop", "locked": true}
project = Workshop()

# %% topics=["project-structure"]
print(project.tree())

# %% [markdown]
# Four habits are in this tree.
#
# - `pyproject.toml` says what the project is called, what it needs, how it is built.
# - The package is under `src/`, so that it isn't found by accident because you happen to be in the
#   folder: tests run against what is *installed*.
# - Tests are beside the package and are named after its modules.
# - `README.md` names commands, and each of them works when it is pasted.
#
# Arrows in the picture follow the data: from boxes on photographs at the top left to the answer to a
# request at the bottom. The tinted modules are your exercises.

# %% topics=["project-structure"]
alt = "The modules: targets, folder, model, losses, train, export, grid, predict, service, server."
show(pictures.draw_modules(), alt)

# %% [markdown]
# No arrow leads back. That is why each module can be tested alone, and why a mistake in `losses.py`
# doesn't break the tests of `targets.py`.
#
# **How your modules get there.** Each exercise cell of this chapter *is* a file: imports first,
# then the function. Its check runs the project's own tests on your function. The cell after the
# check writes the text of your cell into the project with `project.keep`, if it passes; else the
# course's module stays. (Plain Jupyter has a magic for that, `%%writefile config.py`. It writes the
# cell *instead of* running it, so the function would not exist in the notebook.)
#
# The first file: what a run depends on. It belongs in one object that can be printed, saved beside the
# results and compared. A frozen dataclass does that. **Predict** what the last line prints:

# %% topics=["argparse-config"]
from dataclasses import FrozenInstanceError, asdict, dataclass


@dataclass(frozen=True)
class Settings:
    steps: int = 240
    flip: bool = True


settings = Settings(steps=20)
print(asdict(settings))

# %%
try:
    settings.steps = 30
except FrozenInstanceError as error:
    print("FrozenInstanceError:", error)

# %% [markdown]
# A setting that changes during a run would make the saved file a lie. Next, the command line. Each
# field should become an option, and the obvious way has a trap. **Predict** what `--flip False` gives:

# %% topics=["argparse-config"]
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--flip", type=bool, default=True)
print(parser.parse_args(["--flip", "False"]))

# %% [markdown]
# `type` is a function that gets the text, and `bool("False")` is `True`: every text but the empty one
# is. `argparse.BooleanOptionalAction` makes two options instead, `--flip` and `--no-flip`.
#
# ### Exercise 21.1 — What a run depends on ★ · 5 min · 2 points · core
#
# Complete `config.py`: a command line says what a run depends on. `read_config(words, kind=Config)`
# makes an object of the dataclass `kind` from the words of a command line.
#
# - each field is an option of its name, underscores included: `--steps 20`; without it, the field's
#   default counts;
# - an option's text becomes what its default is: `str`, `int` or `float`;
# - a field whose default is a `bool` is switched by `--name` and `--no-name`, and takes no text;
# - of several words for a field the last one counts;
# - an unknown word, or a text that doesn't fit, ends the program with status 2. `argparse` does so.
#   Whether `--ste` may stand for `--steps` is up to you.
#
# `kind` may be any dataclass without slots whose fields have such defaults; none is called `help`,
# which `argparse` has already. `dataclasses.fields(kind)` lists the fields; each has a `name` and a
# `default`.
#
# Example: `read_config(["--steps", "20", "--no-flip"])` gives a `Config` with `steps=20`,
# `flip=False`.


# %% nbgrader={"grade_id": "try-config", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_config() -> list:
    """The project's own tests of config.py: name, and what is wrong."""
    return run_tests("config", read_config)


@runs_with_the_answer
def try_config_values(cases: list) -> list:
    """What comes out for each (fields, words)."""
    return hidden.run_config(read_config, cases)


# %% nbgrader={"grade_id": "read-config", "solution": true}
import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    data: str = "data"
    out: str = "run"
    steps: int = 240
    batch: int = 32
    rate: float = 5e-3
    width: int = 16
    seed: int = 0
    every: int = 50
    flip: bool = True


def read_config(words: list[str], kind: type = Config) -> object:
    """Make a configuration of the words of a command line, such as ``["--steps", "20"]``.

    Ends with SystemExit, status 2, where a word is unknown or a value does not fit.
    """
    ### BEGIN SOLUTION
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for field in fields(kind):
        switch = {"action": argparse.BooleanOptionalAction}
        how = switch if isinstance(field.default, bool) else {"type": type(field.default)}
        parser.add_argument(f"--{field.name}", default=field.default, **how)
    return kind(**vars(parser.parse_args(words)))
    ### END SOLUTION


# %% nbgrader={"grade_id": "read-config-check", "grade": true, "points": 2}
check_tests(try_config())
### BEGIN HIDDEN TESTS
hidden.check_config(try_config_values)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# One loop over the fields, one `add_argument` in it, and a branch for `bool`. `type(field.default)` is
# the function that makes the value.
# </details>
# <details><summary>Hint 2</summary>
#
# `vars(namespace)` is a dict of the parsed options, and `kind(**that)` an object. Give
# `parse_args` the words, or it takes those of the program itself.
# </details>

# %%
project.keep("config", read_config)

# %% [markdown]
# ## 2. From boxes to a grid · core
#
# The project has settings; what does it learn from? 500 photographs, drawn by the course as real JPEG
# files, with a box and a class for every shape.

# %%
photos = shapes_folder(500)
print(sorted(path.name for path in photos.iterdir()))

# %% [markdown]
# A network gives numbers of a fixed shape, and a photograph holds one to four shapes. The usual way
# out is a grid: lay 8 × 8 **cells** over the photograph. The cell that holds a shape's *centre* is
# responsible for it, and gives eight numbers:
#
# | number | meaning |
# | --- | --- |
# | 0 | is there an object? 1 or 0 |
# | 1, 2, 3 | circle, square, triangle: one of them 1 |
# | 4, 5 | x and y of the centre within the cell, from 0 to 1 |
# | 6, 7 | width and height, as shares of the photograph |
#
# By hand: a box from x = 50 to 60 and y = 8 to 16, in a photograph 40 high and 80 wide.

# %%
height, width = 40, 80
x, y = (50 + 60) / 2, (8 + 16) / 2
print("centre in cells: x", x / width * 8, "  y", y / height * 8)
print("size in shares:  ", (60 - 50) / width, (16 - 8) / height)

# %% [markdown]
# Column 5 and row 2 are responsible. In `target[:, row, column]` the row comes first, and the row
# follows from *y*. If you swap them, you get no error: the photograph is merely mirrored along its
# diagonal, and a network learns that, badly.
#
# ### Exercise 21.2 — Who is responsible? ★★ · 15 min · 3 points · core
#
# Complete `targets.py`, which writes a photograph's shapes into the grid. `make_targets(boxes,
# labels, size, cells=8)` returns a float32 tensor `(8, cells, cells)` with the numbers of the
# table; cells without a centre hold zeros.
#
# - `boxes` is `(n, 4)`, int64, float32 or float64: left, top, right, bottom in pixels. n may be 0,
#   and a box may have no width or height. Count in float64: float32 rounds the numbers of a large
#   photograph.
# - `labels` is `(n,)`, int64: 0, 1 or 2. `size` is (height, width) of the photograph in pixels.
# - Every centre lies inside the photograph. A centre on the line between two cells belongs to the
#   cell to the right, or below; where `cells` isn't a power of two, rounding in float64 may put it on
#   either side.
# - If several centres fall into one cell, the shape with the largest area in pixels gets it; of
#   equal areas the first.
# - The arguments stay as they are.
#
# Example: the box above with label 2 gives `[1, 0, 0, 1, 0.5, 0.4, 0.125, 0.2]` at `[:, 2, 5]`.


# %% nbgrader={"grade_id": "try-targets", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_targets() -> list:
    """The project's own tests of targets.py: name, and what is wrong."""
    return run_tests("targets", make_targets)


# %% nbgrader={"grade_id": "make-targets", "solution": true}
import torch


def make_targets(
    boxes: torch.Tensor, labels: torch.Tensor, size: tuple[int, int], cells: int = 8
) -> torch.Tensor:
    """Write an image's shapes into a grid: (8, cells, cells), float32.

    Args:
        boxes: (n, 4), integer or floating point: left, top, right, bottom in pixels.
        labels: (n,), int64: 0, 1 or 2.
        size: height and width of the image in pixels.
        cells: how many rows and columns the grid has.
    """
    ### BEGIN SOLUTION
    height, width = size
    target = torch.zeros(8, cells, cells, device=boxes.device)
    left, top, right, bottom = boxes.to(torch.float64).unbind(1)
    x, y = (left + right) / 2 * cells / width, (top + bottom) / 2 * cells / height
    wide, high = (right - left) / width, (bottom - top) / height
    area = (right - left) * (bottom - top)
    for n in area.argsort(stable=True, descending=True).tolist():
        row, column = int(y[n]), int(x[n])
        if target[0, row, column] == 0:  # a larger shape keeps its cell
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target
    ### END SOLUTION


# %% nbgrader={"grade_id": "make-targets-check", "grade": true, "points": 3}
check_tests(try_targets())
### BEGIN HIDDEN TESTS
hidden.check_targets(make_targets, range(15))
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Work in floating point from the start: a box from 1 to 4 has its centre at 2.5. `x * cells / width`
# has the column before the point and the place within the cell behind it.
# </details>
# <details><summary>Hint 2</summary>
#
# Go through the shapes from the largest to the smallest, and leave a cell alone that is taken. A sort
# that keeps the order of equal areas is called stable.
# </details>

# %%
project.keep("targets", make_targets)

# %% [markdown]
# In the picture, the cell of each centre is lit. Every shape has one, however many cells it covers.

# %%
from course_utils import draw_shapes
from shapefinder.targets import make_targets as kept_targets

drawn = [draw_shapes(n) for n in (0, 3, 7)]
numbers = [
    kept_targets(torch.tensor(one.boxes), torch.tensor(one.labels), one.mask.shape) for one in drawn
]
alt = "Three drawn photographs under a grid of 8 by 8 cells; the cell of each centre is lit."
show(pictures.draw_cells(drawn, numbers), alt)

# %% [markdown]
# The module `folder.py`, which is given, reads the files once, prepares each photograph (RGB, 64 ×
# 64, normalised) and keeps 400 to train on and 100 to judge by. The batch of a step follows from
# the step's number alone; section 5 needs that.

# %%
from shapefinder.folder import Batches, ShapesFolder

train, val = ShapesFolder(photos, "train"), ShapesFolder(photos, "val")
images, targets = Batches(train, 32)(0, rank=0, world_size=1)
print(len(train), len(val), tuple(images.shape), tuple(targets.shape))
print("objects in this batch:", int(targets[:, 0].sum()), "of", targets[:, 0].numel(), "cells")

# %% [markdown]
# ## 3. A network that sees far enough · core
#
# The targets are made; which network can hit them? Three convolutions with stride 2 turn 64 × 64 pixels
# into 8 × 8 cells, each with as many numbers as you like. But a number depends only on the pixels that
# its convolutions reach. **Predict:** how many pixels wide is what a cell sees after three of them,
# with 3 × 3 kernels?


# %%
def stack(*later: nn.Module) -> nn.Sequential:
    """Three convolutions of stride 2, and whatever follows."""
    sizes = zip((3, 8, 8), (8, 8, 8), strict=True)
    return nn.Sequential(*(nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in sizes), *later)


# %%
stacks = {
    "three with stride 2": stack(),
    "and one more": stack(nn.Conv2d(8, 8, 3, padding=1)),
    "and one with dilation 2": stack(
        nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=2, dilation=2)
    ),
}
alt = "What a cell sees: grey squares of 15, 31 and 63 pixels, beside a cell and a circle of 32."
show(pictures.draw_sight(stacks), alt)

# %% [markdown]
# Fifteen: 3, then 3 + 2·2 = 7, then 7 + 4·2 = 15; a step on a coarser grid reaches further. The
# blue square is the cell, 8 pixels wide. The circle is as large as the largest shapes of the
# photographs, and its centre may be anywhere in the cell. In the first panel the cell sees too
# little of it to tell where it ends, and no training changes that. Layers at the coarse end are
# cheap, so add sight there.
#
# Next, the numbers before any training. Each photograph has 64 cells and about two or three
# objects. A network that begins with "fifty-fifty" in each cell is wrong in some sixty of them, and
# its first steps are spent unlearning that. The bias of number 0 had better start where sigmoid
# gives a small **prior**. What bias is that?

# %%
prior = 0.05
bias = torch.tensor(prior / (1 - prior)).log()
print("bias:", round(bias.item(), 3), "  sigmoid of it:", round(bias.sigmoid().item(), 3))

# %% [markdown]
# If the last layer's *weights* are zero as well, every cell of every photograph begins with exactly
# the prior. They don't stay zero: their gradient is made of the layer's inputs, which differ.
#
# Two more choices follow from what comes later. Two processes will each see half a batch, so a layer
# that looks at the whole batch, as batch norm does, would make them differ: `nn.GroupNorm` looks at one
# image alone. And a layer that is made and never used gets no gradient; it costs memory and makes
# `DistributedDataParallel` wait for ever, or raise.
#
# ### Exercise 21.3 — The network ★★ · 20 min · 3 points · core
#
# Complete `model.py`: a network from pixels to the eight numbers of each cell.
# `build_model(width=16, prior=0.05)` returns an `nn.Module`. What it gives:
#
# - images `(n, 3, 8 h, 8 w)` give `(n, 8, h, w)`, for any n, h and w from 1;
# - the eight numbers are raw: no activation behind the last layer;
# - before training, the sigmoid of number 0 is `prior` in every cell of every image.
#
# What a number depends on:
#
# - a cell depends on pixels at least 16 beyond it on each side;
# - an image's numbers depend on that image alone, and are the same in training and evaluation mode.
#
# What it is made of:
#
# - every parameter gets a gradient as soon as the weights are no longer those of the start;
# - all layers but the last grow with `width`, a multiple of 8; at most 250 000 parameters at width
#   16;
# - it works after `.double()`, and draws its weights from torch's default generator.
#
# Example: five images of 64 × 40 pixels give the shape `(5, 8, 8, 5)`.


# %% nbgrader={"grade_id": "try-model", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_model() -> list:
    """The project's own tests of model.py: name, and what is wrong."""
    return run_tests("model", build_model)


@runs_with_the_answer
def try_model_values(cases: list) -> list:
    """The outputs of fresh models for each (n, height, width, channels, prior)."""
    return hidden.run_model(build_model, cases)


# %% nbgrader={"grade_id": "build-model", "solution": true}
import torch
import torch.nn as nn


def build_model(width: int = 16, prior: float = 0.05) -> nn.Module:
    """A network from images (n, 3, 8 h, 8 w) to raw numbers (n, 8, h, w).

    ``prior`` is how probable an object is in each cell before training.
    """
    ### BEGIN SOLUTION
    layers, before = [], 3
    for after in (width, 2 * width, 4 * width):
        layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.GroupNorm(8, after)]
        layers += [nn.ReLU()]
        before = after
    for reach in (1, 2):
        layers += [nn.Conv2d(before, before, 3, padding=reach, dilation=reach)]
        layers += [nn.GroupNorm(8, before), nn.ReLU()]
    head = nn.Conv2d(before, 8, 1)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    nn.init.constant_(head.bias[:1], torch.tensor(prior).logit().item())
    return nn.Sequential(*layers, head)
    ### END SOLUTION


# %% nbgrader={"grade_id": "build-model-check", "grade": true, "points": 3}
check_tests(try_model())
### BEGIN HIDDEN TESTS
hidden.check_model(try_model_values)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Count what a cell sees: each convolution adds (kernel − 1) · dilation · stride of the grid that it
# works on. Sixteen on each side beside the cell's own 8 make 40.
# </details>
# <details><summary>Hint 2</summary>
#
# `nn.GroupNorm(8, channels)` normalises each image by itself. The last layer is a convolution with a
# 1 × 1 kernel whose weight is zero and whose bias holds the prior's logarithm of odds in place 0.
# </details>

# %%
project.keep("model", build_model)

# %% [markdown]
# ## 4. Counting objects, not cells · core
#
# The network gives 8 × 8 × 8 numbers; what makes them better? Three questions, three losses: is
# there an object, which class, which box. The last two make sense only where an object is. And how
# is each averaged? Take two photographs, one with a single object and one with three. **Predict**
# which mean lets an object in the crowded photograph count as much as the lonely one.

# %%
errors = [torch.tensor([3.0]), torch.tensor([1.0, 1.0, 1.0])]  # one for each object
print("mean of the photographs' means:", torch.stack([e.mean() for e in errors]).mean().item())
print("sum over all objects / objects:", torch.cat(errors).sum().item() / 4)

# %% [markdown]
# The second: 6 / 4. The object loss is a sum over *all* cells, and is divided by the number of
# *objects* as well. Divided by the number of cells, it would shrink when the grid gets finer,
# though nothing became easier. Now what the prior does to the first step. In the picture, a bar's
# length is how hard all cells together pull at number 0.

# %%
from torch.nn.functional import binary_cross_entropy_with_logits

shares = {}
for prior in (0.5, 0.05):
    logit = torch.full_like(targets[:, 0], prior).logit().requires_grad_()
    binary_cross_entropy_with_logits(logit, targets[:, 0], reduction="sum").backward()
    has, pull = targets[:, 0] == 1, logit.grad.abs()
    shares[f"prior {prior}"] = pull[~has].sum().item(), pull[has].sum().item()

# %%
alt = "Prior 0.5: empty cells pull some 25 times as hard as objects. Prior 0.05: about as hard."
show(pictures.draw_pulls(shares), alt)

# %% [markdown]
# With a prior of one half, nearly all of the first gradient says "less, everywhere". With 0.05, empty
# cells and objects balance, and the first step already tells photographs apart.
#
# ### Exercise 21.4 — Three losses ★★ · 15 min · 3 points · core
#
# Complete `losses.py`: how wrong is the network about objects, classes and boxes?
# `detection_loss(output, target)` gets two tensors `(n, 8, h, w)` of one floating dtype: raw
# numbers, and what `make_targets` made. It returns a tensor `(3,)` of that dtype, each entry a
# **sum over the batch divided by the batch's number of objects**, or by 1 if it has none:
#
# - 0, object: binary cross-entropy of number 0, over all cells;
# - 1, class: cross-entropy of numbers 1 to 3, over the cells with an object;
# - 2, box: absolute differences between the **sigmoid** of numbers 4 to 7 and the target's, all
#   four added up, over the cells with an object.
#
# Numbers as large as 100 must do no harm, the gradient reaches `output`, and the arguments stay as
# they are.
#
# Example: all zeros, four cells, one object with the box (0.5, 0.25, 0.5, 0.75) give 4 log 2, log 3
# and 0.5.


# %% nbgrader={"grade_id": "try-losses", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_losses() -> list:
    """The project's own tests of losses.py: name, and what is wrong."""
    return run_tests("losses", detection_loss)


# %% nbgrader={"grade_id": "detection-loss", "solution": true}
import torch
import torch.nn.functional as F


def detection_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three losses, (3,): is there an object, which class, which box.

    Args:
        output: (n, 8, h, w), raw numbers of the network.
        target: the same shape and dtype, from ``make_targets``.
    """
    ### BEGIN SOLUTION
    has = target[:, 0] == 1
    count = has.sum().clamp(min=1)
    there = F.binary_cross_entropy_with_logits(output[:, 0], target[:, 0], reduction="sum")
    guess, true = output.movedim(1, -1)[has], target.movedim(1, -1)[has]  # (objects, 8)
    kind = F.cross_entropy(guess[:, 1:4], true[:, 1:4].argmax(1), reduction="sum")
    box = F.l1_loss(guess[:, 4:].sigmoid(), true[:, 4:], reduction="sum")
    return torch.stack([there, kind, box]) / count
    ### END SOLUTION


# %% nbgrader={"grade_id": "detection-loss-check", "grade": true, "points": 3}
check_tests(try_losses())
### BEGIN HIDDEN TESTS
hidden.check_losses(detection_loss, range(15))
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A mask over cells, `target[:, 0] == 1`, picks the cells with an object. Move the eight numbers to the
# last dimension first, and the mask gives `(objects, 8)`.
# </details>
# <details><summary>Hint 2</summary>
#
# PyTorch's losses have `reduction="sum"`. For number 0 take the one that gets raw numbers; for the
# class, `cross_entropy` wants a class index, or the one-hot row as probabilities.
# </details>

# %%
project.keep("losses", detection_loss)

# %% [markdown]
# Does it all fit together? The test of chapter 13: one batch has to be learnt by heart.

# %%
from shapefinder.losses import detection_loss as kept_loss
from shapefinder.model import build_model as kept_model

torch.manual_seed(0)
small = kept_model().to(device)
optimizer = torch.optim.AdamW(small.parameters(), lr=5e-3)
x, y = images[:8].to(device), targets[:8].to(device)

# %% tags=["nbval-ignore-output"]
for step in range(61):
    optimizer.zero_grad()
    parts = kept_loss(small(x), y)
    (parts * torch.tensor([1.0, 1.0, 5.0], device=device)).sum().backward()
    optimizer.step()
    if step in (0, 60):
        print("step", step, "object, class, box:", [round(part, 1) for part in parts.tolist()])

# %% [markdown]
# ## 5. A run that may be stopped at any moment · core
#
# The parts fit on one batch; will the run survive the machine? Three things end a run early: a
# scheduler that takes the machine back (it sends SIGTERM, and half a minute later a signal that
# can't be caught), a crash, and a disk that fills up while the file is being written. After each
# the same command has to continue to the *same bits*. The project has help in one place: a step's
# batch follows from its number. **Predict** what this prints.

# %%
once, again = Batches(train, 32)(7, 0, 1)[0], Batches(train, 32)(7, 0, 1)[0]
halves = [Batches(train, 32)(7, rank, 2)[0] for rank in range(2)]
print("the same batch again:", torch.equal(once, again))
print("two ranks' halves:   ", [len(half) for half in halves])
print("together the whole:  ", torch.equal(once[0::2], halves[0]))

# %% [markdown]
# No sampler's position has to be saved. Random numbers *inside* the model, dropout's for instance, can
# follow from the step in the same way: seed at its start. What remains to be saved is the step, the
# weights and the optimizer's state.
#
# A signal's **handler** runs between two lines of Python, in the middle of whatever happens. It must
# not save: the weights may be half updated. It notes that it was asked, and the loop looks at the note
# when a step is complete:

# %%
import os
import signal

asked = []
before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
signal.raise_signal(signal.SIGTERM)
signal.signal(signal.SIGTERM, before)
print("noted:", [signal.Signals(number).name for number in asked])

# %% [markdown]
# On several ranks the note of one isn't enough. If rank 1 stops and rank 0 goes into the next
# all-reduce, rank 0 waits for ever. After each step, therefore, the ranks agree: the maximum of their
# notes, by an all-reduce of a single number.
#
# And the file: `torch.save` over the last good one destroys it first and then writes. A disk that
# fills up in between leaves neither. Write beside it, then `os.replace`, which the file system does
# at once or not at all.
#
# ### Exercise 21.5 — Train, stop, continue ★★★ · 35 min · 5 points · core
#
# Complete `train.py`: a run that may be stopped, and continues to the same bits. `fit(model,
# optimizer, loss, batch, steps, file, every=50)` trains up to `steps` steps and returns how many
# steps of the whole run are done. It runs alone or, if the default process group is initialised, on
# each of its ranks.
#
# **A step**, counted from 0, is
#
# 1. `torch.manual_seed(step * world_size + rank)`; then `x, y = batch(step, rank, world_size)`;
# 2. the gradient of `loss(model(x), y)` in training mode, whatever mode `loss` left the model in,
#    and from this batch alone;
# 3. the mean of it over the ranks, and the optimizer's step.
#
# Parameters may be float64, may be frozen, and may have an old gradient. A frozen one gets a gradient
# on no rank; the loss reaches every other one on all of them.
#
# **The file** holds `{"step": steps done, "model": state_dict, "optimizer": state_dict}`.
#
# - If `file` exists, the run continues from it. All ranks start with rank 0's weights and buffers,
#   also those that no state dict holds.
# - It is written at the end, and after each step whose number in the whole run, from 1, is a
#   multiple of `every`. Rank 0 alone writes.
# - Whatever happens during a save, `file` holds a whole run. When `fit` returns on any rank, the
#   file is there.
#
# **SIGTERM** on any rank: all ranks complete the step, the run is kept, and `fit` returns.
# Afterwards, even after an error, the handler is the one from before.
#
# **At the edges.**
#
# - An error of a save or of a batch is raised as it is.
# - With a run that is complete, `fit` loads it and returns `steps`.
# - A new run with `steps=0` takes no step and returns 0; whether it writes the file is up to you.
#
# Example: with `steps=240` and `every=40`, SIGTERM in the 43rd step makes `fit` return 43. The file
# holds 43 steps, and the same call again takes the other 197.


# %% nbgrader={"grade_id": "try-train", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_train() -> list:
    """The project's own tests of train.py: name, and what is wrong."""
    return run_tests("train", fit)


@runs_with_the_answer
def try_train_values(world_size: int, legs: list, seed: int) -> torch.Tensor:
    """Every rank's weights after runs up to each of the legs."""
    return hidden.run_fit(fit, world_size, legs, seed)


# %% nbgrader={"grade_id": "fit", "solution": true}
import os
import signal
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss: Callable,
    batch: Callable,
    steps: int,
    file: str | Path,
    every: int = 50,
) -> int:
    """Train up to ``steps`` steps, on every rank of the default group if there is one.

    Args:
        model: its parameters are also the optimizer's.
        optimizer: as it was made; where ``file`` is there, it gets the state from there.
        loss: ``loss(model(x), y)`` is a number, the mean over this rank's samples.
        batch: ``batch(step, rank, world_size)`` gives ``x, y``, this rank's share of a step.
        steps: how many steps the whole run has; they count from 0.
        file: where the run is kept: ``{"step": …, "model": …, "optimizer": …}``.
        every: the run is also kept after each step whose number, from 1, it divides.

    Returns:
        How many steps of the whole run are done.
    """
    ### BEGIN SOLUTION
    together = dist.is_initialized()
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if together else (0, 1)
    file, step, asked = Path(file), 0, []
    device = next(model.parameters()).device
    if file.exists():
        saved = torch.load(file, map_location=device, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        step = saved["step"]
    if together:
        for value in (*model.parameters(), *model.buffers()):
            dist.broadcast(value.detach(), 0)
    before = signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    try:
        stop = False
        while step < steps and not stop:
            torch.manual_seed(step * world_size + rank)
            x, y = batch(step, rank, world_size)
            model.train()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if together:
                for parameter in model.parameters():
                    if parameter.grad is not None:
                        dist.all_reduce(parameter.grad)
                        parameter.grad /= world_size
            optimizer.step()
            step += 1
            flag = torch.tensor(float(bool(asked)), device=device)
            if together:
                dist.all_reduce(flag, dist.ReduceOp.MAX)
            stop = bool(flag)
            if rank == 0 and (stop or step == steps or step % every == 0):
                state = {"step": step, "model": model.state_dict()}
                half = file.with_name(file.name + ".half")
                torch.save(state | {"optimizer": optimizer.state_dict()}, half)
                os.replace(half, file)
        if together:
            dist.barrier()
    finally:
        signal.signal(signal.SIGTERM, before)
    return step
    ### END SOLUTION


# %% nbgrader={"grade_id": "fit-check", "grade": true, "points": 5}
check_tests(try_train())  # fit may seed the global generator: the statement asks for it
### BEGIN HIDDEN TESTS
hidden.check_fit(try_train_values)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Make it work alone first, without signals: load, loop, save. Then ranks: broadcast the
# weights once, divide summed gradients by the number of ranks. Then the note, the agreement and
# `try … finally`.
# </details>
# <details><summary>Hint 2</summary>
#
# Every rank must make the same collective calls. Rank 0 writes within an `if`, so no collective may
# be in that `if`. A barrier after the loop makes the others wait for its last file.
# </details>
# <details><summary>Hint 3</summary>
#
# A state dict of weights that were broadcast after loading is the same on all ranks; the optimizer's
# state is too, because every rank reads it from the file. Gradients that were there before the first
# step have to go: `optimizer.zero_grad()` before `backward`.
# </details>

# %%
project.keep("train", fit)

# %% [markdown]
# Now the real thing, by the command of the project's README: `torchrun` starts two processes, and the
# next cell sends it SIGTERM as soon as a first file is there. `torchrun` passes the signal on to both.
# (Windows can't send it to another process: there all are killed, and the list below stays empty.)

# %% tags=["nbval-ignore-output"]
run = project.folder / "run"
words = ["train", "--data", str(photos), "--out", str(run), "--every", "40"]
torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
printed = project.run_until("run/run.pt", *torchrun, "-m", "shapefinder", *words)
print([line for line in printed.splitlines() if "steps are done" in line])

# %% [markdown]
# Stopped, and kept, well before 240 steps. The same command continues it. Here two ranks are
# started by `launch`, which takes less time than `torchrun`:

# %%
kept = torch.load(run / "run.pt")["step"]
from shapefinder.__main__ import main

done = launch(lambda rank, world_size: main(words), 2)

# %%
import json

rows = [json.loads(line) for line in (run / "losses.jsonl").read_text().splitlines()]
alt = "Three losses over 240 steps fall without a jump at the dashed line where SIGTERM came."
show(pictures.draw_run(rows, kept), alt)

# %% [markdown]
# Without the dashed line you would not find the place. That the *bits* agree, and not only the
# picture, is what `test_train.py` checks.
#
# ## 6. How good, and how sure?
#
# The run is complete, and the losses are small; does it find shapes? A found box counts as a
# **hit** if it overlaps a true box of the same class: intersection over union of at least 0.5. By
# hand, two boxes of 4 × 4 that are shifted by one:

# %%
from torchvision.ops import box_iou

shifted = torch.tensor([[0.0, 0, 4, 4], [1.0, 0, 5, 4]])
print("12 / (16 + 16 - 12) =", 12 / 20)
print("box_iou:            ", round(box_iou(shifted[:1], shifted[1:]).item(), 3))

# %% [markdown]
# From hits follow **precision** (hits among the found), **recall** (hits among the true) and **F1**,
# 2 · hits / (found + true). And then people write "F1 = 0.87" under a table and discuss the second
# digit. With 100 photographs, is it real?
#
# Draw 100 photographs *with replacement* from the 100, so that some appear twice and some not at
# all, and compute F1 again. Do that 200 times: the middle 95 % of the results is the **bootstrap
# interval**. What is drawn are photographs, not boxes: the boxes of one photograph succeed or fail
# together.
#
# ### Exercise 21.6 — A score and its interval ★★★ · 25 min · 4 points
#
# Complete `evaluate.py`: how good is what was found, and how sure is that? `evaluate(found, true,
# draws=200, seed=0)` gets, for each of at least one photograph, a tensor `found` `(k, 6)`:
# confidence, label, left, top, right, bottom, and a tensor `true` `(m, 5)`: label and box. k and m
# may be 0. It returns a dict of plain floats:
#
# - **Hits.** In each photograph the found boxes choose in order of falling confidence. Each takes,
#   among the true boxes of its label that are still free, the one with the largest overlap, if that
#   is at least 0.5.
# - `"precision"`, `"recall"`, `"f1"`: from the sums over all photographs; 0 / 0 counts as 1.
# - `"count"`: the share of photographs with as many found boxes as true ones.
# - `"low"`, `"high"`: the quantiles 0.025 and 0.975 of the f1 of `draws` sets. Row i of
#   `torch.randint(n, (draws, n), generator=g)` says which photographs set i holds, with `g =
#   torch.Generator().manual_seed(seed)`.
#
# Torch's default generator and the arguments stay as they are.
#
# Example: one photograph with two true boxes and three found, of which one is a hit, has the
# precision 1/3, the recall 1/2 and the f1 2/5.


# %% nbgrader={"grade_id": "try-evaluate", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_evaluate() -> list:
    """The project's own tests of evaluate.py: name, and what is wrong."""
    return run_tests("evaluate", evaluate)


# %% nbgrader={"grade_id": "evaluate", "solution": true}
import torch
from torchvision.ops import box_iou


def evaluate(
    found: list[torch.Tensor], true: list[torch.Tensor], draws: int = 200, seed: int = 0
) -> dict[str, float]:
    """Compare what was found with what is there.

    Args:
        found: for each image (k, 6): confidence, label, left, top, right, bottom.
        true: for each image (m, 5): label, left, top, right, bottom.
        draws: how often the images are drawn anew for the interval.
        seed: of the generator that draws them.

    Returns:
        ``precision``, ``recall``, ``f1``, ``count``, and ``low`` and ``high`` of f1's interval.
    """
    ### BEGIN SOLUTION
    rows = []  # for each image: hits, found, true
    for mine, theirs in zip(found, true, strict=True):
        free, hits = torch.ones(len(theirs), dtype=torch.bool), 0
        for box in mine[mine[:, 0].argsort(descending=True, stable=True)]:
            overlap = box_iou(box[None, 2:].double(), theirs[:, 1:].double())[0]
            overlap[~free | (theirs[:, 0] != box[1])] = -1
            if len(theirs) and overlap.max() >= 0.5:
                free[overlap.argmax()] = False
                hits += 1
        rows.append([hits, len(mine), len(theirs)])
    counts = torch.tensor(rows, dtype=torch.float64)  # (images, 3)

    def share(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        return torch.where(whole > 0, part / whole, 1.0)

    hits, mine, theirs = counts.sum(0)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows), (draws, len(rows)), generator=generator)
    sums = counts[drawn].sum(1)  # (draws, 3)
    scores = share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    results = {
        "precision": share(hits, mine),
        "recall": share(hits, theirs),
        "f1": share(2 * hits, mine + theirs),
        "count": (counts[:, 1] == counts[:, 2]).double().mean(),
        "low": low,
        "high": high,
    }
    return {name: value.item() for name, value in results.items()}
    ### END SOLUTION


# %% nbgrader={"grade_id": "evaluate-check", "grade": true, "points": 4}
check_tests(try_evaluate())
### BEGIN HIDDEN TESTS
hidden.check_evaluate(evaluate, range(20))
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For each photograph you need three numbers only: hits, found, true. All scores, drawn or not, come
# from sums of these.
# </details>
# <details><summary>Hint 2</summary>
#
# `counts[drawn]` is `(draws, n, 3)`; its sum over n gives each set's three numbers. Mark taken
# boxes, and those of another class, by an overlap of −1 before you look for the largest.
# </details>

# %%
project.keep("evaluate", evaluate)

# %% tags=["nbval-ignore-output"]
from shapefinder.evaluate import evaluate as kept_evaluate
from shapefinder.export import load_weights
from shapefinder.grid import decode

model = load_weights(run).to(device)
with torch.no_grad():
    found = decode(model(torch.stack([x for x, _, _ in val]).to(device)).cpu())
true = [boxes for _, _, boxes in val]
score = kept_evaluate(found, true)
print({name: round(value, 2) for name, value in score.items()})

# %%
assert score["f1"] > 0.6
print("the interval is wider than 0.03:", score["high"] - score["low"] > 0.03)

# %%
singles = pictures.drawn_scores(kept_evaluate, found, true)
alt = "F1 of drawn sets spreads over some hundredths around the score, which is a red line."
picture = pictures.draw_interval(singles.numpy(), score["f1"], score["low"], score["high"])
show(picture, alt)

# %% [markdown]
# The second digit moves from set to set though the network is the same. Two networks whose scores
# are within such an interval of each other can hardly be told apart by these 100 photographs. And
# look at what it found, not at the score alone: true boxes are dotted, found ones drawn through,
# and the colour is the class.

# %%
from PIL import Image

shown = range(8)
pixels = [torch.tensor(Image.open(photos / "images" / f"{val.names[n]}.jpg").size) for n in shown]
picture_files = [Image.open(photos / "images" / f"{val.names[n]}.jpg") for n in shown]


def in_pixels(boxes: torch.Tensor, size: torch.Tensor) -> list:
    """(label, box as shares) to (label, box in pixels)."""
    return torch.cat([boxes[:, :1], boxes[:, 1:] * size.repeat(2)], 1).tolist()


# %%
right = [in_pixels(true[n], pixels[n]) for n in shown]
mine = [in_pixels(found[n][:, 1:], pixels[n]) for n in shown]
alt = "Eight photographs with dotted true boxes and solid found boxes, most of them close."
show(pictures.draw_found(picture_files, right, mine), alt)

# %% [markdown]
# ## 7. The same weights, worse boxes
#
# The network is measured; will it do as well for a caller? Between a photograph and the network is code
# that training never runs. A colleague wrote it, from memory. It raises no error. Score it on the same
# 100 photographs. First read it.

# %% nbgrader={"grade_id": "broken-copy", "locked": true} tags=["to-be-read"]
import numpy as np


def broken_copy(model: nn.Module, image) -> list[dict]:
    """Find the shapes in one image, with mistakes."""
    from shapefinder.grid import decode

    small = image.resize((64, 64))
    x = torch.tensor(np.array(small), dtype=torch.float32).reshape(1, 3, 64, 64) / 255
    output = model.train()(x)
    height, width = image.size
    names = ("square", "circle", "triangle")
    found = []
    for sure, label, left, top, right, bottom in decode(output)[0].tolist():
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": names[int(label)], "confidence": sure, "box": box})
    return found


# %%
NAMES = ["circle", "square", "triangle"]


def score_of(find) -> float:
    """The f1 of a function like ``find_shapes`` on the photographs that no training saw."""
    boxes, sizes = [], []
    for name in val.names:
        image = Image.open(photos / "images" / f"{name}.jpg")
        rows = [(s["confidence"], NAMES.index(s["shape"]), *s["box"]) for s in find(model, image)]
        boxes.append(torch.tensor(rows).reshape(-1, 6))
        sizes.append(torch.tensor([1, *image.size, *image.size]))
    return kept_evaluate(boxes, [t * size for t, size in zip(true, sizes, strict=True)])["f1"]


# %%
model.cpu()
broken = score_of(broken_copy)
print("the copy is below 0.2:", broken < 0.2, "  before it was above 0.6:", score["f1"] > 0.6)

# %% [markdown]
# From a good score to next to nothing, without an error. This is called **training-serving skew**,
# and it is among the commonest bugs of machine learning in use. How do you hunt it? Not by staring
# at boxes: by comparing what goes *in*. The same photograph, once as training saw it:

# %%
from shapefinder.folder import prepare

image = Image.open(photos / "images" / f"{val.names[0]}.jpg")
theirs = torch.tensor(np.array(image.resize((64, 64))), dtype=torch.float32)
theirs = theirs.reshape(3, 64, 64) / 255
for name, x in (("training", prepare(image)), ("the copy", theirs)):
    print(f"{name}: from {x.min():.1f} to {x.max():.1f}, mean {x.mean():.1f}")

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(5.4, 2.8), layout="constrained")
for axis, name, x in zip(axes, ("training", "the copy"), (prepare(image), theirs), strict=True):
    axis.imshow(x.movedim(0, -1).sub(x.min()).div(x.max() - x.min()))
    axis.set(title=name, xticks=[], yticks=[])
show(figure, "Left the photograph; right a weave of coloured dots in which no shape can be seen.")

# %% [markdown]
# `reshape` doesn't move the channels to the front: it cuts the same run of bytes in other places.
# And the ranges differ. How many mistakes are there in all? More than these two; some show only for
# photographs that aren't square, aren't RGB, or when the model is used again afterwards.
#
# ### Exercise 21.7 — A bug hunt ★★ · 20 min · 3 points
#
# Write `predict.py` anew, without the copy's mistakes. `find_shapes(model, image)` gets the network
# and a PIL image of any size and mode. It returns a list of dicts, the surest shape first:
# `"shape"` (circle, square or triangle for labels 0, 1, 2), `"confidence"` (a float), `"box"` (a
# list of four floats: left, top, right, bottom in pixels of `image`).
#
# - The network gets exactly the pixels that `shapefinder.folder.prepare` makes, as a batch of one,
#   in the dtype and on the device of its first parameter.
# - `decode(output)[0]` from `shapefinder.grid` gives the rows that you need, the surest first.
# - It runs in evaluation mode and without a graph. Afterwards, also after an error or Ctrl-C, it
#   and each of its parts are in the mode in which they were.
# - The image stays as it is, and so do the weights and their gradients, and the hooks of the
#   network, also after an error.
#
# Example of a result: `[{"shape": "circle", "confidence": 0.97, "box": [8.0, 5.5, 30.0, 27.0]}]`.


# %% nbgrader={"grade_id": "try-predict", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_predict() -> list:
    """The project's own tests of predict.py: name, and what is wrong."""
    return run_tests("predict", find_shapes)


@runs_with_the_answer
def try_predict_values(seeds: range) -> list:
    """What is found by random networks in drawn images."""
    return hidden.run_predict(find_shapes, seeds)


# %% nbgrader={"grade_id": "find-shapes", "solution": true}
import torch
import torch.nn as nn
from PIL import Image

from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model: nn.Module, image: Image.Image) -> list[dict]:
    """Find the shapes in one image of any size and mode.

    Returns:
        For each shape, the surest first: ``"shape"``, its name; ``"confidence"``, from 0 to 1;
        ``"box"``, a list of left, top, right, bottom in pixels of ``image``.
    """
    ### BEGIN SOLUTION
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        with torch.no_grad():
            output = model(prepare(image)[None].to(weight.device, weight.dtype))
    finally:
        for module, training in modes:
            module.training = training
    scale = torch.tensor([*image.size, *image.size])
    return [
        {
            "shape": SHAPES[int(row[1])],
            "confidence": row[0].item(),
            "box": (row[2:].cpu() * scale).tolist(),
        }
        for row in decode(output)[0]
    ]
    ### END SOLUTION


# %% nbgrader={"grade_id": "find-shapes-check", "grade": true, "points": 3}
check_tests(try_predict())
### BEGIN HIDDEN TESTS
hidden.check_predict(try_predict_values, range(4))
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Don't repair the copy's first two lines: delete them. The function that training uses does it all.
# PIL's `image.size` is (width, height), NumPy's and torch's shapes are the other way round.
# </details>
# <details><summary>Hint 2</summary>
#
# `model.train(was)` at the end puts *every* part into one mode. Note `training` of each of
# `model.modules()` before, and give it back to each.
# </details>

# %%
project.keep("predict", find_shapes)

# %%
from shapefinder.predict import find_shapes as kept_find

model.eval()
repaired = score_of(kept_find)
print("as good as in training:", abs(repaired - score["f1"]) < 0.02)

# %% [markdown]
# The lesson is in the repair: there is *one* `prepare`, and both sides import it. What exists twice
# will differ.
#
# ## 8. Where does a step's time go?
#
# It works; could it be faster for the next person who trains it? Measure before you change.
# `folder.py` reads and prepares each photograph once, at the start. **Predict:** if it read the 32
# photographs of each step anew, would that cost more or less than the network's forward and
# backward? `record_function` gives parts of a step a name in the profile:

# %% tags=["nbval-ignore-output"]
from course_utils.chapters.capstone.profiling import silent_stderr
from torch.profiler import ProfilerActivity, profile, record_function

network = kept_model().to(device)
optimizer = torch.optim.AdamW(network.parameters(), lr=5e-3)
with silent_stderr(), profile(activities=[ProfilerActivity.CPU]) as profiled:
    for _ in range(4):
        with record_function("read 32 files"):
            names = [f"{val.names[n]}.jpg" for n in range(32)]
            pixels = torch.stack([prepare(Image.open(photos / "images" / name)) for name in names])
        with record_function("forward"):
            loss = kept_loss(network(pixels.to(device)), targets.to(device)).sum()
        with record_function("backward"):
            loss.backward()
        with record_function("optimizer"):
            optimizer.step()
            optimizer.zero_grad()

# %% tags=["nbval-ignore-output"]
parts = ("read 32 files", "forward", "backward", "optimizer")
times = {row.key: row.cpu_time_total / 1000 / row.count for row in profiled.key_averages()}
alt = "Bars of milliseconds: reading the files, forward, backward, optimizer."
show(pictures.draw_parts({part: times[part] for part in parts}), alt)

# %% tags=["nbval-ignore-output"]
rows = sorted(profiled.key_averages(), key=lambda row: -row.self_cpu_time_total)
for row in [row for row in rows if row.key.startswith("aten::")][:4]:
    print(f"{row.key:35}{row.self_cpu_time_total / 4000:6.1f} ms a step")

# %% [markdown]
# Your bars depend on your machine. On two CPU cores reading weighs about as much as forward or
# backward: small files, a small network. Holding 400 prepared photographs in memory (20 MB) pays,
# and a data loader with workers would be the answer for those that don't fit. In the network it is
# convolutions that count, forward and backward (`aten::empty` is the system handing out memory);
# the optimizer hardly does. Chapter 16 continues from here.
#
# ## 9. Out of the project
#
# The project trains and predicts; what leaves it? Three things: weights, a program, a service.
#
# The training file `run.pt` is for continuing: it holds the optimizer's state as well. For use, the
# command `train` wrote the weights as **safetensors**: a header in JSON, then plain numbers.
# Reading it can't run code, as unpickling a foreign file can, and parts of it can be read without
# the rest.

# %% topics=["huggingface"]
from safetensors import safe_open

for name in ("run.pt", "model.safetensors"):
    print(f"{name:20}{(run / name).stat().st_size // 1000:5} kB")
with safe_open(run / "model.safetensors", "pt") as weights:
    print(len(list(weights.keys())), "tensors; one of them:", weights.get_tensor("15.bias").shape)

# %% [markdown]
# Weights need the class that they belong to. A **program** doesn't: `torch.export` writes down what
# the network computes, for batches of any size.

# %%
from shapefinder.export import export_program

export_program(model.cpu(), run / "model.pt2")
program = torch.export.load(run / "model.pt2").module()
x = torch.stack([val[n][0] for n in range(5)])
print("equal for a batch of five:", torch.allclose(program(x), model(x), atol=1e-5))

# %% [markdown]
# And the **service**: bytes come in from anyone, JSON goes out. Most of its code is about callers
# who send what they shouldn't. **Predict:** how many bytes does a PNG file take whose image has 64
# million pixels?

# %%
import io

file = io.BytesIO()
Image.new("1", (8000, 8000)).save(file, "PNG")
print("bytes:", len(file.getvalue()), "  as RGB in memory:", 8000 * 8000 * 3 // 10**6, "MB")

# %% [markdown]
# A few thousand, and 192 MB once it is decoded as RGB. A limit on bytes doesn't help; look at
# `image.width` and `image.height`, which PIL reads from the header, before anything is decoded.
#
# The status says whose fault it was: 200 fine, 400 the body isn't an image, 413 too large, 500 ours.
# And what went wrong inside belongs in the log, not in the answer: paths and versions help an
# attacker.
#
# ### Exercise 21.8 — Answer a stranger ★★ · 15 min · 3 points
#
# Complete `service.py`: what is a caller told, whatever the body holds? `answer_request(body, find,
# limit=1_000_000)` returns `(status, content)`, an int and a dict that `json.dumps` can write.
#
# - more than `limit` bytes: 413;
# - bytes that aren't an image which PIL can open and read to the end: 400;
# - an image of more than `MOST_PIXELS` pixels, by its header: 413, without decoding it; what PIL
#   itself refuses to open for its size (`Image.DecompressionBombError`) may be a 400 as well;
# - `find(image)` gives a list of dicts, whatever they hold, for the PIL image, in the mode that it
#   has: 200 with `{"count": how many, "shapes": the list}`;
# - whatever exception `find` raises: 500, and nothing of its words in the answer.
#
# All but 200 have the content `{"error": some words}`. `find` is called only for an image that is
# whole and allowed.
#
# Example: `answer_request(b"hello", find)` gives 400 and `{"error": "this is not an image"}`, or
# other words.


# %% nbgrader={"grade_id": "try-service", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_service() -> list:
    """The project's own tests of service.py: name, and what is wrong."""
    return run_tests("service", answer_request)


@runs_with_the_answer
def try_service_values(bodies: list, limit: int, fails: bool) -> list:
    """What each body is answered with."""
    return hidden.run_service(answer_request, bodies, limit, fails)


# %% nbgrader={"grade_id": "answer-request", "solution": true}
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    ### BEGIN SOLUTION
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except Exception:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}
    ### END SOLUTION


# %% nbgrader={"grade_id": "answer-request-check", "grade": true, "points": 3}
check_tests(try_service())
### BEGIN HIDDEN TESTS
hidden.check_service(try_service_values)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `Image.open(io.BytesIO(body))` reads the header alone; `image.load()` reads the rest, and raises
# where a file was cut. Two `try` blocks: the caller's mistakes in the first, yours in the second.
# </details>
# <details><summary>Hint 2</summary>
#
# PIL raises many kinds of exceptions for broken files: `except Exception` is right here, around two or
# three lines only.
# </details>

# %%
project.keep("service", answer_request)

# %% [markdown]
# ## 10. Which run was that?
#
# The project can be used; will you know in a month where its numbers came from? A **tracker**
# keeps, for each run, settings, numbers by step, and files. MLflow writes them to a local folder
# (its newer home is a database; a variable allows the folder) and is told here not to report its
# use:

# %% topics=["experiment-trackers"]
os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
from mlflow import MlflowClient

tracker = MlflowClient(tracking_uri=(project.folder / "tracked").as_uri())
number = len(tracker.search_experiments())
experiment = tracker.create_experiment(f"shapefinder {number}")
tracked = tracker.create_run(experiment, run_name="first").info.run_id

# %% topics=["experiment-trackers"]
for name, value in json.loads((run / "settings.json").read_text()).items():
    if name not in ("data", "out"):
        tracker.log_param(tracked, name, value)
for line in (run / "losses.jsonl").read_text().splitlines():
    row = json.loads(line)
    tracker.log_metric(tracked, "object", row["loss"][0], step=row["step"])
tracker.log_metric(tracked, "f1", score["f1"])
tracker.set_terminated(tracked)

# %% topics=["experiment-trackers"]
(best,) = tracker.search_runs([experiment], "metrics.f1 > 0.5", order_by=["metrics.f1 DESC"])
settings = best.to_dictionary()["data"]["params"]
print(best.info.run_name, "rate", settings["rate"], "steps", settings["steps"])
print(len(tracker.get_metric_history(tracked, "object")), "losses are kept")

# %% [markdown]
# The others work in the same way. They aren't installed with the course, and without a network they
# keep runs in a folder until you upload them:
#
# ```python
# import wandb                                     # Weights & Biases
# with wandb.init(project="shapefinder", mode="offline", config=settings) as tracked:
#     tracked.log({"object": 0.4}, step=1)         # later: wandb sync wandb/offline-run-…
#
# import comet_ml                                  # Comet
# experiment = comet_ml.start(online=False)
# experiment.log_metrics({"object": 0.4}, step=1)
# experiment.end()                                 # it prints the command that uploads
# ```

# %% [markdown]
# ## 11. What others made
#
# Your project is one of very many; how do you take from others, and give to them? There are three
# doors.
#
# **PyTorch Hub** is a convention: a folder, or a GitHub repository, with a file `hubconf.py` whose
# functions return models. The functions are other people's code, and loading runs it. Here is
# our project as such a folder:

# %% topics=["pytorch-hub"]
hubconf = (project.source / "hubconf.py").write_text(
    'dependencies = ["torch", "safetensors"]\n'
    "from shapefinder.export import load_weights as trained_finder\n"
)

# %% topics=["pytorch-hub"]
from torch import hub

from_hub = hub.load(str(project.source), "trained_finder", source="local", folder=run)
print("the same weights:", torch.equal(from_hub[-1].weight, model[-1].weight))

# %% [markdown]
# From GitHub the first argument is `"owner/repository:tag"`, and `trust_repo=True` says that you
# have read the code. Name a tag or a commit: a branch is another program tomorrow.
#
# **The Hugging Face Hub** keeps files: weights as safetensors, a configuration, and a model card. A
# mixin teaches any module to be saved and loaded that way. With a folder it needs no network:

# %% topics=["huggingface"]
from huggingface_hub import PyTorchModelHubMixin


class Finder(nn.Module, PyTorchModelHubMixin):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.net = kept_model(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)


# %% topics=["huggingface"] tags=["nbval-ignore-output"]
finder = Finder(width=16)
finder.net.load_state_dict(model.state_dict())
finder.save_pretrained(project.folder / "hub")
again = Finder.from_pretrained(project.folder / "hub")
print(sorted(path.name for path in (project.folder / "hub").iterdir()))

# %% topics=["huggingface"]
print("the same numbers:", torch.equal(again.eval()(x), finder.eval()(x)))

# %% [markdown]
# `finder.push_to_hub("you/shapefinder")` would upload the folder, and
# `Finder.from_pretrained("you/shapefinder", revision="…")` fetch it. Large models come through
# `transformers`, which isn't installed here; since its fifth version it is made for PyTorch alone:
#
# ```python
# from transformers import AutoModel, AutoTokenizer
# tokenizer = AutoTokenizer.from_pretrained("google-bert/bert-base-uncased", revision="main")
# model = AutoModel.from_pretrained("google-bert/bert-base-uncased", revision="main")
# ```
#
# **torchvision** has names, weights and their preprocessing in one place. The weights are an entry
# of an enumeration. What is known about them can be read without fetching them:

# %% topics=["torchvision-weights-api"]
from torchvision.models import get_model, get_model_weights

weights = get_model_weights("resnet18").DEFAULT
print(weights, "  parameters:", weights.meta["num_params"])
print("top-1 on ImageNet:", weights.meta["_metrics"]["ImageNet-1K"]["acc@1"], "%")

# %% topics=["torchvision-weights-api"]
resnet = get_model("resnet18", weights=None)  # weights="DEFAULT" fetches 45 MB
batch = weights.transforms()(image)[None]
print(tuple(batch.shape), "gives", tuple(resnet.eval()(batch).shape))

# %% [markdown]
# `weights.transforms()` is the `prepare` of section 7: whoever trained the network says how its
# pixels were made, so that nobody has to remember a mean of 0.485.
#
# > **Then and now.** *"Get pretrained networks from `pretrained-models.pytorch` or
# > `pytorch-image-models`."* The first, Cadene's `pretrainedmodels`, has had no release for years. The second
# > lives: it is `timm`, by the same author, Ross Wightman, at Hugging Face now, with more than a thousand sets of
# > weights: `timm.create_model("resnet50", pretrained=True)`.

# %% topics=["pretrained-zoos"] tags=["nbval-ignore-output"]
from importlib.util import find_spec

from torchvision.models import list_models

print("torchvision alone:", len(list_models()), "models")
print("timm:", "installed" if find_spec("timm") else "not installed")

# %% [markdown]
# **Trainers.** `fit` took you half an hour, and every project needs such a loop. Libraries bring
# it, and ask for its parts:
#
# | library | what it is | state at the end of 2026 |
# | --- | --- | --- |
# | Lightning | the loop, devices, ranks, checkpoints; `Fabric` for those who keep their own loop | alive |
# | fastai | a course and a library of good defaults; callbacks, metrics, the learning-rate finder | little new |
# | SpeechBrain | recipes for speech on PyTorch | alive, for speech |
# | torchmetrics | metrics that add up over batches and ranks, from Lightning's makers | alive |
#
# None of them comes with this course. Our detector as a Lightning module, to be run where it is
# installed:
#
# ```python
# import lightning as L
#
# class LitFinder(L.LightningModule):
#     def __init__(self):
#         super().__init__()
#         self.net = build_model()
#
#     def training_step(self, batch, index):
#         x, y, _ = batch
#         loss = (detection_loss(self.net(x), y) * WEIGHTS).sum()
#         self.log("loss", loss)
#         return loss
#
#     def configure_optimizers(self):
#         return torch.optim.AdamW(self.parameters(), lr=5e-3)
#
# trainer = L.Trainer(max_steps=240, accelerator="cpu", devices=2, strategy="ddp")
# trainer.fit(LitFinder(), loader, ckpt_path="last")
# ```
#
# What it doesn't do for you is what section 5 was about: which random numbers, which batch, and which
# bits come back after a stop. Test it, whoever wrote the loop.

# %% topics=["lightning", "fastai", "speechbrain"] tags=["nbval-ignore-output"]
for name in ("lightning", "fastai", "speechbrain", "torchmetrics", "transformers"):
    print(f"{name:14}{'installed' if find_spec(name) else 'not installed'}")

# %% [markdown]
# > **Then and now.** *"Install torch, torchvision, torchaudio and torchtext together."* torchtext ended
# > with 0.18 in April 2024. torchaudio has been in maintenance since 2.8, and has read and written files through
# > TorchCodec since 2.9. torchvision is what remains of the family, and it has to be the one that was built for your torch.

# %% topics=["torchtext-audio"] tags=["nbval-ignore-output"]
from importlib.metadata import version

print("torch", version("torch"), "  torchvision", version("torchvision"))
for name in ("torchtext", "torchaudio", "torchcodec"):
    print(f"{name:12}{'installed' if find_spec(name) else 'not installed'}")

# %% [markdown]
# ### Which framework?
#
# The question is asked every year, and the answers are older than they look. **Predict:** of the
# purely static and the purely eager frameworks, which survived? Each bar begins with a first public
# release, to within a year. It reaches today where no end was announced; the others ended or were
# merged into another. The colour says how a network is run: as a graph that is described first
# (static), line by line (eager), or both.

# %% topics=["framework-history"]
alt = (
    "Bars from 2002 to today: Torch, Theano, Caffe, Chainer, MXNet and CNTK end, nine others "
    "reach today."
)
show(pictures.draw_dates(ecosystem.FRAMEWORKS), alt)

# %% [markdown]
# Neither: what lives can do both (MXNet could too, and that didn't save it). Three ideas explain
# most of it.
#
# - **Library or framework.** Torch was a library: you call it. Caffe was a framework: it calls your
#   text file of layers. PyTorch is a library with a few frameworks around it.
# - **Static or eager.** Theano, and TensorFlow at first, had you describe a graph and then ran it.
#   Chainer, and after it PyTorch, build the graph while Python runs. TensorFlow 2 did so from 2019;
#   and since 2023 `torch.compile` brings the graph back, as an optimisation of eager code. JAX is
#   between the two: functions are traced, then compiled.
# - **Where weights live.** Parameter servers (Google's DistBelief in 2012, MXNet's ps-lite) kept
#   weights on separate machines. All-reduce between equals, as in section 5, took over for dense
#   models.
#
# The graph that is built while Python runs, in three lines: which branch ran is in it.

# %% topics=["framework-history"]
z = torch.tensor(2.0, requires_grad=True)
result = z.exp() if z > 1 else z.sin()
print(type(result.grad_fn).__name__)

# %% [markdown] topics=["tf-vs-pytorch", "tf-ecosystem-list"]
# Here is advice that was copied from blog to blog between 2020 and 2022: *"Engineers, career
# changers and whoever works with audio, video or small devices should choose TensorFlow;
# researchers PyTorch. Keras is frozen after 2.3. Papers with Code shows the shares."* And a list
# that came with it, of what only TensorFlow had:
#
# | then | today |
# | --- | --- |
# | TF Hub, Model Garden | Kaggle Models; most people look at the Hugging Face Hub |
# | TF Lite, Coral | LiteRT; for PyTorch ExecuTorch |
# | TensorFlow.js | lives; ONNX Runtime Web takes exported PyTorch models |
# | Vertex AI, TF Cloud | Vertex AI takes any container |
# | Colab | has PyTorch installed |
# | Playground | still the nicest picture of a small network; it was never TensorFlow |
# | RL libraries (TF-Agents, Dopamine) | Gymnasium with PyTorch or JAX |
#
# > **Then and now.** *"Keras means TensorFlow."* Keras 3, of 2023, runs on TensorFlow, JAX or PyTorch.
# > transformers 5 dropped TensorFlow and Flax. Papers with Code, the source of the shares, was closed in 2025. PyTorch is the default of
# > research and of much in production; JAX is the second choice, and `torch.func` has its ideas.

# %% topics=["tf-vs-pytorch"] errata=["framework-advice"]
second = torch.func.grad(torch.func.grad(torch.sin))
print("torch.func, as in JAX, gives -sin:", round(second(torch.tensor(1.0)).item(), 3))

# %% [markdown]
# Choose by what your colleagues can repair, by where the weights are that you start from, and by the
# machine that it has to run on. Not by a table of shares, and never by an undated one.
#
# ## 12. Can you trust an old note?
#
# You will read such advice all your life; how do you judge it? First, **date it**. A text that
# names functions was written between the first version that had them and the last:

# %% topics=["date-your-sources"]
named = {
    "torch.autograd.Variable": "needed before 0.4 (2018)",
    "torch.hub.load": "since 1.0 (2018)",
    "torch.set_deterministic": "1.7 (2020), soon renamed",
    "torch.inference_mode": "since 1.9 (2021)",
    "torch.compile": "since 2.0 (2023)",
}
for path, when in named.items():
    part = path.rpartition(".")
    home = {"torch": torch, "torch.autograd": torch.autograd, "torch.hub": hub}[part[0]]
    print(f"{path:26}{'there' if hasattr(home, part[2]) else 'gone ':8}{when}")

# %% [markdown]
# `Variable` is still there and does nothing: *there* isn't *advised*. Then look for what the
# release notes say, and run it.
#
# Second, **is it what was written?** This course grew out of five notes. One arrived damaged: UTF-8
# bytes read as if they were cp1252. That is called mojibake. When every byte survives, it can be
# undone:

# %% topics=["recover-mojibake"]
damaged = "Größe".encode().decode("cp1252")
print(damaged, "->", damaged.encode("cp1252").decode())

# %% [markdown]
# But cp1252 has no character for five bytes, and shows a sixth, `AD`, as a soft hyphen that many
# programs drop. The notes are in Chinese, and the character for *not* (不) is E4 B8 **8D**; *in* (中)
# is E4 B8 **AD**. Two sentences that say the opposite: "a view uses nothing new", "in a view
# something new is used". **Predict:** what is left of them?

# %% topics=["recover-mojibake"] errata=["mojibake-loses-negations"]
without, within = "视图不用新的", "视图中用新的"


def delivered(text: str) -> str:
    """As the note arrived: bytes read as cp1252, what it can't show dropped, soft hyphens too."""
    return text.encode().decode("cp1252", errors="ignore").replace("\xad", "")


print("damaged:", delivered(without))
print("the two are equal:", delivered(without) == delivered(within))

# %% topics=["recover-mojibake"] errata=["mojibake-loses-negations"]
alt = (
    "Six characters over their eighteen bytes; the third byte of the third character is struck out."
)
show(pictures.draw_bytes(without, lost=[8]), alt)

# %% topics=["recover-mojibake"] errata=["mojibake-loses-negations"]
back = delivered(without).encode("cp1252")
print("with a mark at the hole:", back.decode(errors="replace"))
print("read past it:           ", back.decode(errors="ignore"))

# %% [markdown]
# The last line is a fluent sentence, and it says that a view *does* use something new. No program
# can tell which it was: the information is gone, at 159 places of that note. The sentence is not
# evidence, then. An experiment is:

# %% topics=["recover-mojibake"] errata=["mojibake-loses-negations"]
memory = torch.zeros(6)
view = memory.view(2, 3)
print("nothing new:", view.untyped_storage().data_ptr() == memory.untyped_storage().data_ptr())

# %% [markdown]
# That is how each claim of those notes was settled in this course, and why every call-out has a cell.
#
# ## 13. The handover
#
# Would it run without you? Now you are the stranger. You have a folder and its README. First its
# tests, on whatever modules are in it, by pytest in a separate process:

# %%
printed = project.run("-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider")
print(printed.splitlines()[-1].partition(" in ")[0])

# %% tags=["nbval-ignore-output"]
for module, owner in project.owners.items():
    print(f"{module + '.py':14}{owner}")

# %% [markdown]
# Then the service, also in a separate process, by the README's command; and a photograph that
# nothing in this chapter has seen:

# %%
stranger = draw_shapes(31, seed=7)
file = io.BytesIO()
Image.fromarray(stranger.image).save(file, "JPEG")
with project.served("--out", str(run)) as address:
    status, answer = ecosystem.post(address, file.getvalue())
    refused = ecosystem.post(address, b"not a photograph")
print("status:", status, "  found:", answer["count"], "  there:", len(stranger.boxes))
print("something else gives:", *refused)

# %%
boxes = [(NAMES.index(s["shape"]), *s["box"]) for s in answer["shapes"]]
right = np.concatenate([stranger.labels[:, None], stranger.boxes], 1)
figure = pictures.draw_found([stranger.image] * 2, [right, []], [[], boxes])
show(figure, "The photograph twice: above with the true boxes, below with those of the answer.")

# %% [markdown]
# Last, the page that travels with the weights: a **model card**. It says what the model is for,
# what it was trained on, how good it is *and how sure that is*, and what it can't do.

# %% tags=["nbval-ignore-output"]
from huggingface_hub import ModelCard

card = ModelCard(f"""---
license: mit
tags: [object-detection, shapes]
---
# shapefinder

Finds circles, squares and triangles in drawn photographs of 64 to 128 pixels.

| on {len(val)} photographs that no training saw | |
| --- | --- |
| F1 | {score["f1"]:.2f}, bootstrap interval {score["low"]:.2f} to {score["high"]:.2f} |
| right count | {score["count"]:.0%} |
| trained for | {best.to_dictionary()["data"]["params"]["steps"]} steps on two processes |

**Service:** `python -m shapefinder serve --out run`; it last answered at {address}

**Not for:** photographs of anything else; shapes that touch; more than one centre in a cell.
""")
card.save(run / "README.md")

# %% tags=["nbval-ignore-output"]
from IPython.display import Markdown

Markdown(card.text)

# %% [markdown]
# The folder is temporary and goes when the kernel does. Keep it, if you like it:
# `shutil.copytree(project.folder, "shapefinder")` puts it beside this notebook. Its README has the
# commands, from `pip install` to `curl`; a test of this course pastes them, one after the other,
# into an empty folder.
#
# ## Heard elsewhere
#
# | claim | today |
# | --- | --- |
# | "`resnet18(pretrained=True)`" | `weights="DEFAULT"`; the old word still works and warns |
# | "Put the tests inside a folder that you run from, then imports work" | they work by accident; `src/` and an installation |
# | "A good score on the test set means that it works in use" | section 7: the same weights, next to nothing |

# %% topics=["torchvision-weights-api"] tags=["shows-deprecated"]
import warnings

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    get_model("resnet18", pretrained=False)
print(told[0].message.args[0][:75])

# %%
import sys

print("found without an installation, by accident of the path:", str(project.source) in sys.path)

# %%
print("the broken copy's score is below a quarter:", broken < repaired / 4)

# %% [markdown] topics=["learning-resources"]
# ## What to keep
#
# | question | answer | module |
# | --- | --- | --- |
# | What did this run depend on? | one frozen object, saved beside the results | `config.py` |
# | Which cell is responsible? | that of the centre; rows are y | `targets.py` |
# | Can the network see it at all? | count pixels before you train | `model.py` |
# | What is a loss divided by? | by what you want to count equally: objects | `losses.py` |
# | May it be stopped? | a note, an agreement, a file beside the file | `train.py` |
# | Is the difference real? | draw the photographs anew | `evaluate.py` |
# | Why is it worse in use? | compare what goes in; one `prepare` | `predict.py` |
# | Whose fault was it? | 400, 413 or 500 | `service.py` |
#
# **Three mistakes to remember**
#
# 1. To write the preprocessing twice.
# 2. To save over the last good file, or in a signal's handler.
# 3. To believe a second digit, an undated table, or a sentence with a hole.
#
# **Read more:** the *Python Packaging User Guide* (src layout, `pyproject.toml`) and pytest's *Good
# Integration Practices*; Mitchell et al., *Model Cards for Model Reporting* (2019); Redmon et al.,
# *You Only Look Once* (2016), for the grid; Lin et al., *Focal Loss* (2017), for the prior; Efron
# and Tibshirani, *An Introduction to the Bootstrap*; Sculley et al., *Hidden Technical Debt in
# Machine Learning Systems* (2015). Books that keep up: Raschka, *Build a Large Language Model (From
# Scratch)*; Prince, *Understanding Deep Learning*; Zhang et al., *Dive into Deep Learning*, all
# with free code. For a short, fast training script, line by line: Keller Jordan's speed runs on
# CIFAR-10. Thirty-day courses and style guides age fastest: look for the date first, then for the
# licence.
