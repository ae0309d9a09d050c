# ---
# jupyter:
#   course:
#     title: The whole project
#     minutes: 230
#     core: 140
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
# **It leans on** all chapters, most on 08 to 13 and 17. **Time:** just under four hours. The sections
# marked **core**, the project up to its training, take less than two and a half. You can skip any exercise: the
# course's own module takes its place.

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
# - The package lies under `src/`, so that it isn't found by accident because you happen to be in the
#   folder: tests run against what is *installed*.
# - Tests lie beside the package and are named after its modules.
# - `README.md` names commands, and each of them works when it is pasted.
#
# Arrows in the picture follow the data: from boxes on photographs at the top left to the answer to a
# request at the bottom right. The tinted modules are your exercises.

# %% topics=["project-structure"]
alt = "The modules: targets, folder, model, losses, train, export, grid, predict, service, server."
show(pictures.draw_modules(), alt)

# %% [markdown]
# No arrow leads back. That is why each module can be tested alone, and why a mistake in `losses.py`
# doesn't break the tests of `targets.py`.
#
# **How your modules get there.** Each exercise cell of this chapter *is* a file: imports first, then
# the function. Its check runs the project's own tests on your function. The cell after the check
# writes the text of your cell into the project with `project.keep`, if it passes; else the course's
# module stays. (Plain Jupyter has a magic for that, `%%writefile config.py`. It writes the cell *instead of* running it,
# so the function would not exist in the notebook.)
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
# Complete `config.py`. `read_config(words, kind=Config)` makes an object of the dataclass `kind` from
# the words of a command line:
#
# - each field is an option of its name: `--steps 20`; without it, the field's default counts;
# - an option's text becomes what its default is: `str`, `int` or `float`;
# - a field whose default is a `bool` is switched by `--name` and `--no-name`, and takes no text;
# - an unknown word, or a text that doesn't fit, ends the program with status 2. `argparse` does so.
#
# `kind` may be any dataclass whose fields have such defaults. Example:
# `read_config(["--steps", "20", "--no-flip"])` gives a `Config` with `steps=20`, `flip=False`.
# `dataclasses.fields(kind)` lists the fields; each has a `name` and a `default`.


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
# A network gives numbers of a fixed shape, and a photograph holds one to four shapes. The usual way out is a
# grid: lay 8 × 8 **cells** over the photograph. The cell that holds a shape's *centre* is responsible
# for it, and says eight numbers:
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
# So column 5 and row 2 are responsible. In `target[:, row, column]` the row comes first, and the row
# follows from *y*. Whoever swaps them gets no error: the photograph is merely mirrored along its
# diagonal, and a network learns that, badly.
#
# ### Exercise 21.2 — Who is responsible? ★★ · 15 min · 3 points · core
#
# Complete `targets.py`. `make_targets(boxes, labels, size, cells=8)` returns a float32 tensor
# `(8, cells, cells)` with the numbers of the table; cells without a centre hold zeros.
#
# - `boxes` is `(n, 4)`, int64, float32 or float64: left, top, right, bottom in pixels. n may be 0.
# - `labels` is `(n,)`, int64: 0, 1 or 2. `size` is (height, width) of the photograph in pixels.
# - A centre on the line between two cells belongs to the cell to the right, or below. Every centre lies
#   inside the photograph.
# - If several centres fall into one cell, the shape with the largest area in pixels gets it; of equal
#   areas the first.
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
    x, y = (left + right) / 2 / width * cells, (top + bottom) / 2 / height * cells
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
# Work in floating point from the start: a box from 1 to 4 has its centre at 2.5. `x / width * cells`
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
# The module `folder.py`, which is given, reads the files once, prepares each photograph (RGB, 64 × 64,
# normalised) and holds 400 to train on and 100 to judge by. The batch of a step follows from the step's number alone; section 5 needs that.

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
# Fifteen: 3, then 3 + 2·2 = 7, then 7 + 4·2 = 15; a step on a coarser grid reaches further. The blue
# square is the cell, 8 pixels wide. The circle is as large as the largest shapes of the photographs,
# and its centre may lie anywhere in the cell. In the first panel the cell sees too little of it to tell where it
# ends, and no training changes that. Layers at the coarse end are cheap, so add sight there.
#
# Next, the numbers before any training. Each photograph has 64 cells and about two or three objects. A network
# that begins with "fifty-fifty" in each cell is wrong in some sixty of them, and its first steps are spent
# unlearning that. So the bias of number 0 starts where sigmoid gives a small **prior**. What bias is that?

# %%
prior = 0.05
bias = torch.tensor(prior / (1 - prior)).log()
print("bias:", round(bias.item(), 3), "  sigmoid of it:", round(bias.sigmoid().item(), 3))

# %% [markdown]
# If the last layer's *weights* are zero as well, every cell of every photograph begins with exactly the prior.
# They don't stay zero: their gradient is made of the layer's inputs, which differ.
#
# Two more choices follow from what comes later. Two processes will each see half a batch, so a layer
# that looks at the whole batch, as batch norm does, would make them differ: `nn.GroupNorm` looks at one
# image alone. And a layer that is made and never used gets no gradient; it costs memory and makes
# `DistributedDataParallel` wait for ever, or raise.
#
# ### Exercise 21.3 — The network ★★ · 20 min · 3 points · core
#
# Complete `model.py`. `build_model(width=16, prior=0.05)` returns an `nn.Module`:
#
# - images `(n, 3, 8 h, 8 w)` give `(n, 8, h, w)`, for any n, h and w from 1;
# - the eight numbers are raw: no activation behind the last layer;
# - before training, the sigmoid of number 0 is `prior` in every cell of every image;
# - a cell depends on pixels at least 16 beyond it on each side;
# - an image's numbers depend on that image alone, and are the same in training and evaluation mode;
# - every parameter gets a gradient as soon as the weights are no longer those of the start;
# - all layers but the last grow with `width`, a multiple of 8; at most 250 000 parameters at width 16;
# - it works after `.double()`, and draws its weights from torch's default generator.


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
import math

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
    nn.init.constant_(head.bias[:1], math.log(prior / (1 - prior)))
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
# The network says 8 × 8 × 8 numbers; what makes them better? Three questions, three losses: is there an
# object, which class, which box. The last two make sense only where an object is. And how is each
# averaged? Take two photographs, one with a single object and one with three. **Predict** which mean
# lets an object in the crowded photograph count as much as the lonely one.

# %%
errors = [torch.tensor([3.0]), torch.tensor([1.0, 1.0, 1.0])]  # one for each object
print("mean of the photographs' means:", torch.stack([e.mean() for e in errors]).mean().item())
print("sum over all objects / objects:", torch.cat(errors).sum().item() / 4)

# %% [markdown]
# The second: 6 / 4. The object loss is a sum over *all* cells, and is divided by the number of
# *objects* as well. Divided by the number of cells, it would shrink when the grid gets finer, though nothing
# became easier. Now what the prior does to the first step. In the picture, a bar's length is how hard
# all cells together pull at number 0.

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
# Complete `losses.py`. `detection_loss(output, target)` gets two tensors `(n, 8, h, w)` of one
# floating dtype: raw numbers, and what `make_targets` made. It returns a tensor `(3,)` of that dtype,
# each entry a **sum over the batch divided by the batch's number of objects**, or by 1 if it has none:
#
# - 0, object: binary cross-entropy of number 0, over all cells;
# - 1, class: cross-entropy of numbers 1 to 3, over the cells with an object;
# - 2, box: absolute differences between the **sigmoid** of numbers 4 to 7 and the target's, all four added up, over the cells
#   with an object.
#
# Numbers as large as 100 must do no harm, the gradient reaches `output`, and the arguments stay as
# they are. Example: all zeros, four cells, one object with the box (0.5, 0.25, 0.5, 0.75) give
# 4 log 2, log 3 and 0.5.


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

# %%
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
# The parts fit on one batch; will the run survive the machine? Three things end a run early: a scheduler that takes the
# machine back (it sends SIGTERM, and half a minute later a signal that can't be caught), a crash, and a disk that
# fills up while the file is being written. After each the same command has to continue to the *same
# bits*. The project has help in one place: a step's batch follows from its number. **Predict** what this
# prints.

# %%
once, again = Batches(train, 32)(7, 0, 1)[0], Batches(train, 32)(7, 0, 1)[0]
halves = [Batches(train, 32)(7, rank, 2)[0] for rank in range(2)]
print("the same batch again:", torch.equal(once, again))
print("two ranks' halves:   ", [len(half) for half in halves])
print("together the whole:  ", torch.equal(once[0::2], halves[0]))

# %% [markdown]
# So no sampler's position has to be saved. Random numbers *inside* the model, dropout's for instance, can
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
os.kill(os.getpid(), signal.SIGTERM)
signal.signal(signal.SIGTERM, before)
print("noted:", [signal.Signals(number).name for number in asked])

# %% [markdown]
# On several ranks the note of one isn't enough. If rank 1 stops and rank 0 goes into the next
# all-reduce, rank 0 waits for ever. So after each step the ranks agree: the maximum of their notes, by an
# all-reduce of a single number.
#
# And the file: `torch.save` over the last good one destroys it first and then writes. A disk that fills
# up in between leaves neither. Write beside it, then `os.replace`, which the file system does at once or not at all.
#
# ### Exercise 21.5 — Train, stop, continue ★★★ · 35 min · 5 points · core
#
# Complete `train.py`. `fit(model, optimizer, loss, batch, steps, file, every=50)` trains up to `steps`
# steps and returns how many steps of the whole run are done. It runs alone or, if the default process
# group is initialised, on each of its ranks.
#
# - **A step**, counted from 0: `torch.manual_seed(step * world_size + rank)`; then
#   `x, y = batch(step, rank, world_size)`; the gradient of `loss(model(x), y)` in training mode, from this batch alone;
#   the mean of it over the ranks; the optimizer's step. Parameters may be frozen, and may have an old gradient.
# - **The start.** If `file` exists, the run continues from it. All ranks start with rank 0's weights.
# - **The file** holds `{"step": steps done, "model": state_dict, "optimizer": state_dict}`. It is
#   written at the end, and after each step whose number from 1 is a multiple of `every`. Rank 0 alone writes. Whatever
#   happens during a save, `file` holds a whole run. When `fit` returns on any rank, the file is there.
# - **SIGTERM** on any rank: all ranks complete the step, the run is kept, and `fit` returns.
#   Afterwards, even after an error, the handler is the one from before.
#
# An error of a save or of a batch is raised as it is. With a run that is complete, `fit` loads it and
# returns `steps`.


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
        for value in model.state_dict().values():
            dist.broadcast(value, 0)
    before = signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    try:
        stop = False
        model.train()
        while step < steps and not stop:
            torch.manual_seed(step * world_size + rank)
            x, y = batch(step, rank, world_size)
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
check_tests(try_train())
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
# lie in that `if`. A barrier after the loop makes the others wait for its last file.
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

# %% tags=["nbval-ignore-output"]
run = project.folder / "run"
words = ["train", "--data", str(photos), "--out", str(run), "--every", "40"]
torchrun = "-m torch.distributed.run --standalone --nproc-per-node 2 -m shapefinder".split()
printed = project.run_until("run/run.pt", *torchrun, *words)
print([line for line in printed.splitlines() if "steps are done" in line])

# %% [markdown]
# Stopped, and kept, well before 240 steps. The same command continues it. Here two ranks are started by `launch`,
# which takes less time than `torchrun`:

# %%
kept = torch.load(run / "run.pt")["step"]
from shapefinder.__main__ import main

launch(lambda rank, world_size: main(words), 2)

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
# The run is complete, and the losses are small; does it find shapes? A found box counts as a **hit** if it
# overlaps a true box of the same class: intersection over union of at least 0.5. By hand, two boxes of
# 4 × 4 that are shifted by one:

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
# Draw 100 photographs *with replacement* from the 100, so that some come twice and some not at all, and compute F1 again. Do that
# 200 times: the middle 95 % of the results is the **bootstrap interval**. What is drawn are
# photographs, not boxes: the boxes of one photograph succeed or fail together.
#
# ### Exercise 21.6 — A score and its interval ★★★ · 25 min · 4 points
#
# Complete `evaluate.py`. `evaluate(found, true, draws=200, seed=0)` gets, for each of at least one
# photograph, a tensor `found` `(k, 6)`: confidence, label, left, top, right, bottom, and a tensor `true`
# `(m, 5)`: label and box. k and m may be 0. It returns a dict of plain floats:
#
# - **Hits.** In each photograph the found boxes choose in order of falling confidence. Each takes, among the
#   true boxes of its label that are still free, the one with the largest overlap, if that is at least
#   0.5.
# - `"precision"`, `"recall"`, `"f1"`: from the sums over all photographs; 0 / 0 counts as 1.
# - `"count"`: the share of photographs with as many found boxes as true ones.
# - `"low"`, `"high"`: the quantiles 0.025 and 0.975 of the f1 of `draws` sets. Row i of
#   `torch.randint(n, (draws, n), generator=g)` says which photographs set i holds, with
#   `g = torch.Generator().manual_seed(seed)`.
#
# Torch's default generator and the arguments stay as they are.


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
# For each photograph you need three numbers only: hits, found, true. All scores, drawn or not, come from
# sums of these.
# </details>
# <details><summary>Hint 2</summary>
#
# `counts[drawn]` is `(draws, n, 3)`; its sum over n gives each set's three numbers. Mark taken boxes, and those of
# another class, by an overlap of −1 before you look for the largest.
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
singles = torch.tensor([kept_evaluate(found, true, 1, seed)["low"] for seed in range(200)])
alt = "F1 of drawn sets spreads over some hundredths around the score, which is a red line."
picture = pictures.draw_interval(singles.numpy(), score["f1"], score["low"], score["high"])
show(picture, alt)

# %% [markdown]
# The second digit moves from set to set though the network is the same. Two networks whose scores lie
# within such an interval of each other can't be told apart by these 100 photographs. And look at what
# it found, not at the score alone: true boxes are dotted, found ones drawn through, and the colour is
# the class.

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
