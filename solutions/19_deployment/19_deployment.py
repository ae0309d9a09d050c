# ---
# jupyter:
#   course:
#     title: Deployment
#     minutes: 238
#     core: 128
# ---

# %% [markdown]
# # Deployment: does it still say the same outside the notebook?
#
# A detector finds the largest shape in a picture. It is right here, in this notebook, on the tensors
# that trained it. Then it moves: into a file, into another runtime, behind a web address, into
# eight bits. At each move something may change without an error. This chapter makes every move with
# the same detector, and checks each time on the same sixty pictures whether it still says the same.
#
# **After this chapter you can**
#
# - say what a file of weights may do to you, and write a loader that refuses what it must;
# - export a model with a free batch size, and mend programs that `torch.export` refuses;
# - run it by ONNX Runtime, and justify the tolerance within which the two are equal;
# - find four classic bugs between the training and the serving transform;
# - serve it by FastAPI to people who send anything, batch their requests, and say what load it bears;
# - calculate a layer in eight-bit integers, and measure what that costs in answers.
#
# **It leans on** chapter 08 (state dicts), chapter 12 (the drawn shapes) and chapter 13 (training). Its
# servers run on this machine only and end with the notebook. **Time:** under four hours with all ten
# exercises. The **core path**, marked *· core*, takes less than half of it.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_predictions, device, every_case, forbid_changes
from course_utils.chapters.deployment import batching, cpp, exporting, int8, loads, page, tracing

torch.set_num_threads(1)

# %% nbgrader={"grade_id": "tools", "locked": true} jupyter={"source_hidden": true}
import asyncio
import copy
import io
import json
import struct
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from course_utils import runs_with_the_answer, seed_everything, show
from course_utils.chapters.deployment import detector as drawn
from course_utils.chapters.deployment import onnx_files, runtime
from course_utils.chapters.deployment import preprocessing as faults
from course_utils.chapters.deployment import safe_files as files
from course_utils.chapters.deployment import serving_trials as trials
from course_utils.chapters.deployment.noise import quiet, refusal
from course_utils.chapters.deployment.serving import WebServer
from fastapi import FastAPI, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from PIL import Image
from safetensors.torch import load, save

folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## The detector · core
#
# A picture goes in, 32 by 32 pixels. Each of 8 by 8 cells votes: how sure am I that the largest shape
# is here, which of three classes is it, how far do its edges reach? A softmax weighs the votes.


# %%
class Detector(nn.Module):
    """(n, 3, 32, 32), 0 to 1 -> scores (n, 3); boxes (n, 4): left, top, right, bottom, 0 to 1."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        blocks, ins = [], 3
        for outs, stride in ((width, 2), (2 * width, 2), (4 * width, 1), (4 * width, 1)):
            blocks += [nn.Conv2d(ins, outs, 3, stride, padding=1, bias=False)]
            blocks += [nn.BatchNorm2d(outs), nn.ReLU()]
            ins = outs
        self.body = nn.Sequential(*blocks)
        self.head = nn.Conv2d(ins, 8, 1)
        steps = (torch.arange(8) + 0.5) / 8
        self.register_buffer("centres", torch.stack([steps.repeat(8), steps.repeat_interleave(8)]))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        votes = self.head(self.body((x - 0.5) / 0.25)).flatten(2)  # (n, 8, cells)
        weight = (4 * votes[:, :1]).softmax(2)
        mean = (votes[:, 1:] * weight).sum(2)
        centre = (self.centres * weight).sum(2)
        left_top, right_bottom = mean[:, 3:5].sigmoid() / 2, mean[:, 5:].sigmoid() / 2
        return mean[:, :3], torch.cat([centre - left_top, centre + right_bottom], 1)


# %% [markdown]
# Training is chapter 13's subject. Here a helper does it, in a few seconds, on 780 pictures. Then the
# model goes to the CPU for good, because that is where most servers calculate.

# %%
seed_everything(1)
pictures, boxes, labels = (part.to(device) for part in drawn.examples(0, 780))
detector = Detector().to(device)
drawn.train(detector, pictures, boxes, labels)
detector = detector.cpu()

# %% [markdown]
# Sixty pictures that it hasn't seen are its examination. What it says of them now is what it has to
# say everywhere.

# %%
exam, exam_boxes, exam_labels = drawn.examples(780, 60)
says = drawn.said_by(detector, exam)
right = (says[0].argmax(1) == exam_labels).float().mean()
print("more than 5 of 6 classes right:      ", bool(right > 5 / 6))
off = (says[1] - exam_boxes).abs().mean()
print("edges off by less than a twentieth:  ", bool(off < 1 / 20))

# %%
drawn.draw_detections(
    [drawn.picture_of(780 + n) for n in range(6)],
    list(zip(drawn.names_of(says[0][:6]), says[1][:6].tolist(), strict=True)),
    "Six pictures of coloured shapes; in each a box around what it takes for the largest.",
)

# %% [markdown]
# It isn't always right. What counts from here on is that it keeps saying the same, and little is
# needed to change that. The same detector, the same pictures; only that the "server" opens them with
# another library, whose channels come blue first:

# %% topics=["flask-serving"]
swapped = drawn.said_by(detector, exam.flip(1))
print("the same answers for fewer than 9 of 10 pictures:", drawn.agreement(says, swapped) < 0.9)

# %% [markdown]
# No exception, no warning; shapes and dtypes fit. `agreement` counts the pictures for which class *and*
# box are the same (no edge off by more than half a pixel of 32). It will judge every move.

# %% [markdown]
# ## 1. What is in the file? · core
#
# The first move is into a file, and the first question is what a file can hold besides numbers. The
# shortest way saves the object:

# %% errata=["load-whole-model"]
torch.save(detector, folder / "whole.pt")
print(refusal(lambda: torch.load(folder / "whole.pt"))[:45])

# %% [markdown]
# It can be written and isn't read back. `torch.load` reads with `weights_only=True` since 2.6. To see
# why, look at what a pickle is. It is a little program: "find this name in that module, call it with
# these arguments". Anything may choose the name:


# %%
class Trap:
    def __reduce__(self):
        return print, ("this line was printed by a file, while it was loaded",)


torch.save({"weight": torch.ones(2), "note": Trap()}, folder / "trap.pt")
loaded = torch.load(folder / "trap.pt", weights_only=False)
print("weight arrived:", loaded["weight"].tolist())

# %% [markdown]
# Here it was `print`. It could have been a function that deletes your files, and the weights would have
# arrived as well. Only load such a file with `weights_only=False` if you would also run a program by
# the same author. The default refuses it before anything is called:

# %%
print(refusal(lambda: torch.load(folder / "trap.pt"))[:45])

# %% [markdown]
# A pickle of an object has a second weakness. It doesn't hold the class, only the class's *name*:

# %%
Moved = Detector
del Detector  # as if the class had been renamed, or the file were read by another program
try:
    torch.load(folder / "whole.pt", weights_only=False)
except AttributeError as error:
    print(str(error).split(" on ")[0])
Detector = Moved

# %% [markdown]
# > **Then and now.** *"Save the model object, `torch.load` it back."* That was every tutorial's line.
# > Save the state dict, and plain numbers beside it. Even a number from NumPy is refused:

# %% errata=["load-whole-model"]
torch.save(detector.state_dict(), folder / "weights.pt")
fresh = Detector().eval()
fresh.load_state_dict(torch.load(folder / "weights.pt"))
print("agreement:", drawn.agreement(says, drawn.said_by(fresh, exam)))
torch.save({"best": np.float64(0.5)}, folder / "best.pt")
print(refusal(lambda: torch.load(folder / "best.pt"))[:45])

# %% [markdown]
# ### Exercise 19.1 — Eight files ★ · 4 min · 2 points · core
#
# Eight things are handed to `torch.save`. Write for each of them
#
# - `"loads"`, if `torch.load(file)` gives it back;
# - `"needs a class"`, if that refuses it, and with `weights_only=False` a class of the notebook must be
#   found under its old name;
# - `"runs code"`, if that refuses it, and with `weights_only=False` a function that the file chose
#   is called;
# - `"can't be saved"`, if `torch.save` itself fails.


# %% tags=["to-be-read"]
@dataclass
class Settings:
    width: int = 16


things = {
    "state": detector.state_dict(),
    "whole": detector,
    "optimizer": torch.optim.AdamW(detector.parameters()).state_dict(),
    "function": {"width": 16, "scale": lambda x: x / 255},
    "parameter": nn.Parameter(torch.ones(3)),
    "trap": [torch.ones(3), {"last": Trap()}],
    "numbers": {"epoch": 3, "best": 0.5, "rates": [0.1, 0.01], "shape": exam.shape},
    "settings": {"weights": detector.state_dict(), "settings": Settings()},
}

# %% nbgrader={"grade_id": "predict-the-pickle", "solution": true}
predict_the_pickle = {
    "state": None,
    "whole": None,
    "optimizer": None,
    "function": None,
    "parameter": None,
    "trap": None,
    "numbers": None,
    "settings": None,
}
### BEGIN SOLUTION
predict_the_pickle = {
    "state": "loads",
    "whole": "needs a class",
    "optimizer": "loads",
    "function": "can't be saved",
    "parameter": "loads",
    "trap": "runs code",
    "numbers": "loads",
    "settings": "needs a class",
}
### END SOLUTION

# %% nbgrader={"grade_id": "predict-the-pickle-check", "grade": true, "points": 2} jupyter={"source_hidden": true}
check_predictions(
    predict_the_pickle,
    {
        "trap": "runs code",
        "parameter": "loads",
        "settings": "needs a class",
        "numbers": "loads",
        "whole": "needs a class",
        "state": "loads",
        "function": "can't be saved",
        "optimizer": "loads",
    },
    because={
        "trap": "one entry, however deep, is enough: what did its __reduce__ return?",
        "parameter": "weights_only knows tensors, and this kind of tensor as well",
        "settings": "one instance of a class of yours is enough, beside the best of weights",
        "numbers": "numbers, texts, lists, dicts and a torch.Size are on its list",
        "whole": "an object is saved as its class's name and its attributes",
        "state": "a dict of tensors is what weights_only is made for",
        "function": "pickle writes down a function by its name; this one has none to be found by",
        "optimizer": "dicts, lists, numbers and tensors, nothing else",
    },
)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Try it: `torch.save(things["numbers"], folder / "try.pt")`, then load. With `weights_only=False`, ask
# what would happen in a program where your notebook's classes aren't defined.
# </details>

# %% [markdown]
# ## 2. A file that can't do anything
#
# `weights_only` guards one reader. Which format leaves nothing to guard against? One that has no
# instructions in it. **safetensors** is 8 bytes that say how long the header is, the header in
# JSON, and the numbers. Read a tiny file by hand (`from safetensors.torch import load, save`):

# %%
content = save({"bias": torch.tensor([7.0, 8.0]), "weight": torch.tensor([[1.0, 2, 3], [4, 5, 6]])})
(length,) = struct.unpack("<Q", content[:8])  # little-endian, 8 bytes, unsigned
header = json.loads(content[8 : 8 + length])
print(len(content), "bytes, of which the header has", length)
for name, about in header.items():
    print(name, about)

# %%
files.draw_bytes(content)

# %% [markdown]
# Three steps give a tensor: cut out its bytes, say what dtype they have, give them a shape. Naive,
# compact, library; they have to agree:

# %%
begin, end = header["weight"]["data_offsets"]
part = content[8 + length :][begin:end]
naive = [struct.unpack("<f", part[i : i + 4])[0] for i in range(0, len(part), 4)]
compact = torch.frombuffer(bytearray(part), dtype=torch.float32).view(header["weight"]["shape"])
library = load(content)["weight"]
assert naive == compact.flatten().tolist() and torch.equal(compact, library)
print(library)

# %% [markdown]
# (`bytearray` copies. Over the `bytes` object itself `torch.frombuffer` warns: writing into the tensor
# would change an object that Python takes for unchangeable.)
#
# Nothing can run. But a header can still lie: name an offset twice, promise more bytes than there are,
# carry a tensor that nobody asked for. The library finds lies about *bytes*:

# %%
lie = json.dumps({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 8]}}).encode()
print(refusal(lambda: load(files.pack(lie, bytes(8)))))
print(refusal(lambda: load(content[:-3])))

# %% [markdown]
# What it can't know is what *you* expect. A file with other names, shapes or dtypes, or full of
# `nan`, is a sound file. `load_state_dict` would notice names and shapes; a float16 it converts in
# silence, and it takes any number:

# %%
odd = save({"weight": torch.tensor([[float("nan")]]).half(), "bias": torch.zeros(1)})
layer = nn.Linear(1, 1)
print(layer.load_state_dict(load(odd)), layer.weight)

# %% [markdown]
# ### Exercise 19.2 — A loader that refuses ★★ · 15 min · 4 points
#
# Write `safe_files(content, wanted)`, which takes a file only if it holds exactly what you expect.
#
# - `content` is the bytes of a safetensors file.
# - `wanted` says what has to be in it: for each name a tuple of shape and dtype, such as `{"bias":
#   ((2,), torch.float32)}`; dtypes are float32 (`F32`), float16 (`F16`) and int64 (`I64`).
#
# Return a dict from names to tensors, if
#
# - the file is whole and its header is true: no byte is missing, none is left over, none belongs to
#   two tensors;
# - its names are those of `wanted`, none more and none less (`__metadata__` isn't a tensor's name);
# - every shape and dtype is the wanted one;
# - every number is finite.
#
# If anything is wrong, raise a `ValueError` that says what; never another exception. The tensors
# own their memory: writing into them doesn't change `content`. You may use `load`, which raises a
# `safetensors.SafetensorError` (and a `KeyError` for a dtype that PyTorch hasn't), or read the file
# by hand.
#
# Example: the file above, cut short by a byte, raises a `ValueError`.


# %% nbgrader={"grade_id": "try-file", "locked": true}
@runs_with_the_answer
def try_file(name: str) -> dict:
    """What ``safe_files`` makes of one of the files: tensors as lists, or the error's words."""
    return files.try_loader(safe_files, name)


# %% nbgrader={"grade_id": "safe-files", "solution": true}
def safe_files(content: bytes, wanted: dict[str, tuple]) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file that holds exactly what is wanted.

    ``wanted``: for each name a tuple (shape, dtype). Raises ``ValueError`` for anything else.
    """
    ### BEGIN SOLUTION
    from safetensors import SafetensorError

    try:
        tensors = load(content)
    except (SafetensorError, KeyError) as error:
        raise ValueError(f"not a file that can be read: {error!r}") from error
    if tensors.keys() != wanted.keys():
        raise ValueError(f"names {sorted(tensors)}, wanted {sorted(wanted)}")
    for name, tensor in tensors.items():
        if (tuple(tensor.shape), tensor.dtype) != (tuple(wanted[name][0]), wanted[name][1]):
            raise ValueError(f"{name} is {tuple(tensor.shape)}, {tensor.dtype}")
        if not tensor.isfinite().all():
            raise ValueError(f"{name} holds nan or infinite numbers")
    return tensors
    ### END SOLUTION


# %% nbgrader={"grade_id": "safe-files-check", "grade": true, "points": 2}
with every_case() as case:
    for name in files.good_files():
        with case(name):
            files.check_loaded(name, try_file(name))

# %% nbgrader={"grade_id": "safe-files-check-2", "grade": true, "points": 2}
for name in files.good_files():  # who refuses everything refuses the bad ones, too
    files.check_loaded(name, try_file(name))
with every_case() as case:
    for name in files.bad_files():
        with case(name):
            files.check_refused(name, try_file(name))

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# With `load`, one `try` turns its errors into yours. Then three comparisons are left: names, shape and
# dtype, finite numbers.
# </details>
# <details><summary>Hint 2</summary>
#
# By hand, everything that `json`, `struct`, `int` or a missing key raises has to become a `ValueError`
# as well. Sort the tensors by where they begin, then by where they end (an empty one ends where it
# begins): each one has to begin where the one before it ends.
# </details>

# %% [markdown]
# ## 3. The program without its Python · core
#
# The weights travel safely now. But the *program*, `Detector.forward`, is still Python, and whoever
# loads the weights needs this class and this PyTorch. Can the program go into a file, too?
# `torch.export` runs `forward` once on stand-ins for tensors, which have shapes and no values, and
# writes down which operators ran:

# %%
batch = torch.export.Dim("batch", max=64)
program = torch.export.export(detector, (exam[:2],), dynamic_shapes=({0: batch},))
operators = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
print(len(operators), "operators:", *operators[:5], "…")
x = next(node for node in program.graph.nodes if node.name == "x")
print("a picture's shape has a symbol in front:", not isinstance(x.meta["val"].shape[0], int))
print("the others are numbers:", list(x.meta["val"].shape[1:]))

# %% [markdown]
# A flat list of ATen operators; the class is gone. Shapes are fixed numbers unless you say that a
# dimension is free. `batch` is: a symbol that may be any size up to 64.

# %%
torch.export.save(program, folder / "detector.pt2")
again = torch.export.load(folder / "detector.pt2").module()
print("agreement on batches of 60:", drawn.agreement(says, drawn.said_by(again, exam)))
one_by_one = [drawn.said_by(again, picture[None]) for picture in exam]
print(
    "one by one:",
    drawn.agreement(says, [torch.cat(part) for part in zip(*one_by_one, strict=True)]),
)

# %% [markdown]
# The stand-ins have no values. What happens where Python asks for a value? **Predict**: the branch
# below depends on the numbers in `x`.


# %%
class Night(nn.Module):
    def forward(self, x):
        if x.mean() < 0.5:  # a dark picture is turned into its negative
            return 1 - x
        return x * 1


print(refusal(lambda: torch.export.export(Night(), (torch.rand(4, 6),))))

# %% [markdown]
# Refused: "could not guard on data-dependent expression". A list of operators has no place for "if". It
# has for operators that hold *both* branches: `torch.cond(condition, true_function, false_function,
# inputs)`. The functions take the inputs as positional arguments, and return tensors of one shape and
# dtype that aren't the inputs themselves. `torch.where` is simpler, and calculates both:


# %%
class NightMended(nn.Module):
    def forward(self, x):
        return torch.cond(x.mean() < 0.5, lambda x: 1 - x, lambda x: x.clone(), (x,))


mended = torch.export.export(NightMended(), (torch.rand(4, 6),)).module()
for x in (torch.full((4, 6), 0.2), torch.full((4, 6), 0.7)):
    assert torch.equal(mended(x), Night()(x))
    print("from", round(x[0, 0].item(), 2), "to", round(mended(x)[0, 0].item(), 2))

# %% [markdown]
# Loops have a counterpart as well, `torch.while_loop(condition, body, inputs)`: both functions take
# the inputs; `body` returns a tuple of new ones, with the same shapes and dtypes.

# %%
start = torch.tensor(0), torch.tensor(40.0)
count = torch.while_loop(lambda n, x: x > 1, lambda n, x: (n + 1, x / 2), start)
print("40 is halved", count[0].item(), "times until it is at most 1")

# %% [markdown]
# And a *size* that comes out of a tensor (`n.item()`) becomes a new symbol. Nothing is known
# about it; `torch._check(n <= 6)` is an assertion that the exporter learns from and that the exported
# program makes when it runs.
#
# ### Exercise 19.3 — Refused, mended ★★ · 20 min · 4 points · core
#
# Here are four programs. `torch.export` refuses each of them, because a Python statement asks for a
# value. Mend them: `export_it(program, *inputs)` computes the same, so that the export accepts it
# with a free number of rows, and what was exported is right for every input.
#
# - `x` is float32, (rows, 6), one row or more; `n` is a 0-D int64 tensor.
# - Leave `x` as it is. Where `crop` raises, yours may raise anything.
#
# Example: `export_it("crop", x, torch.tensor(2))` gives the first two columns of `x`.


# %% nbgrader={"grade_id": "refused-programs", "locked": true} tags=["to-be-read"]
def night(x):
    return 1 - x if x.mean() < 0.5 else x * 1


def settle(x):
    while x.abs().max() > 1:
        x = x / 2
    return x


def crop(x, n):
    width = int(n)
    if not 0 <= width <= x.shape[1]:
        raise ValueError(f"no {width} columns")
    return x[:, :width]


def bright(x):
    return x[[row for row in range(len(x)) if x[row].mean() > 0.5]]


# %% nbgrader={"grade_id": "try-program", "locked": true}
@runs_with_the_answer
def try_program(program: str) -> dict:
    """What ``export_it(program, …)`` gives, plainly and exported."""
    return exporting.try_program(export_it, program)


# %% nbgrader={"grade_id": "export-it", "solution": true}
def export_it(program: str, *inputs: torch.Tensor) -> torch.Tensor:
    """What ``night(x)``, ``settle(x)``, ``crop(x, n)`` or ``bright(x)`` gives, for the export.

    ``program`` is the name; it is known while exporting, so you may branch on it.
    """
    ### BEGIN SOLUTION
    x, *rest = inputs
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        (y,) = torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))
        return y
    if program == "crop":
        width = rest[0].item()
        torch._check(width >= 0)
        torch._check(width <= x.shape[1])
        return x[:, :width]
    return x[x.mean(1) > 0.5]
    ### END SOLUTION


# %% nbgrader={"grade_id": "export-it-check", "grade": true, "points": 4}
with every_case() as case:
    for program in ("night", "settle", "crop", "bright"):
        with case(program):
            exporting.check_program(program, try_program(program))

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `night` is mended above. `bright` needs no loop at all: a mask of truth values may index rows.
# </details>
# <details><summary>Hint 2</summary>
#
# `settle`: hand the loop a copy of `x`, and return the one entry of the tuple. `crop`: `.item()`
# instead of `int()`, then say in two checks what the number can be.
# </details>

# %% [markdown]
# ## 4. What the tracer kept
#
# Why is `torch.export` so strict? Because the way before it wasn't. `torch.jit.trace` ran the
# function on real tensors and wrote down what happened *this time*. Ask the first program of
# section 3:

# %% topics=["torchscript-trace-script"] errata=["torchscript-deployment"] tags=["shows-deprecated", "shows-false"]
traced = tracing.old_trace(night, torch.full((1, 6), 0.7))  # a bright one
dark = torch.full((1, 6), 0.2)
print("the program:", night(dark)[0, :3])
print("its trace:  ", traced(dark)[0, :3])
print("equal:", torch.equal(night(dark), traced(dark)))

# %% [markdown]
# The dark picture isn't inverted: the branch that was taken is all that was written down. What came out
# of a tensor as a Python number is a constant from then on. (`old_trace` is `torch.jit.trace` with its
# warnings kept quiet. They were easy to overlook.)
#
# > **Then and now.** *"Export with `torch.jit.trace` or `torch.jit.script`."* All of `torch.jit` is
# > deprecated. `torch.export` takes its place, for files, for compiled libraries and for phones.

# %% errata=["torchscript-deployment"] tags=["shows-deprecated"]
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.jit.script(nn.Linear(1, 1))
print(str(caught[0].message)[:33])

# %% [markdown]
# ### Exercise 19.4 — What the tracer kept ★★ · 8 min · 2 points
#
# Eight functions were traced with `torch.ones(4)`. Now each trace is called with
# `torch.tensor([-1.0, -2.0])`. Write
#
# - `"same"` if it gives what the function itself gives for that;
# - `"other"` if it gives other numbers;
# - `"error"` if it raises.
#
# `dropout` is a module; it was traced in training mode, and the *trace* was then put into eval mode
# by `.eval()`. Compare it with the module in eval mode.

# %% nbgrader={"grade_id": "traced-functions", "locked": true} tags=["to-be-read"]
traced_functions = {
    "length": lambda x: x / len(x),
    "sum": lambda x: x * x.sum(),
    "branch": lambda x: x * 2 if x.sum() > 0 else x - 1,
    "rows": lambda x: torch.stack([x[k] - 1 for k in range(x.shape[0])]),
    "item": lambda x: x * x.sum().item(),
    "where": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "zeros": lambda x: torch.cat([x, torch.zeros(x.shape[0])]),
    "dropout": nn.Dropout(0.5),
}

# %% nbgrader={"grade_id": "trace-lies", "solution": true}
trace_lies = {
    "length": None,
    "sum": None,
    "branch": None,
    "rows": None,
    "item": None,
    "where": None,
    "zeros": None,
    "dropout": None,
}
### BEGIN SOLUTION
trace_lies = {
    "length": "other",
    "sum": "same",
    "branch": "other",
    "rows": "error",
    "item": "other",
    "where": "same",
    "zeros": "same",
    "dropout": "other",
}
### END SOLUTION

# %% nbgrader={"grade_id": "trace-lies-check", "grade": true, "points": 2} jupyter={"source_hidden": true}
check_predictions(
    trace_lies,
    {
        "where": "same",
        "dropout": "other",
        "branch": "other",
        "zeros": "same",
        "item": "other",
        "rows": "error",
        "length": "other",
        "sum": "same",
    },
    because={
        "where": "torch.where is an operator with three tensors; both sides were written down",
        "dropout": "the mode is a Python attribute: it was looked at once, while tracing",
        "branch": "Python chose a side while tracing, and the trace has only that one",
        "zeros": "a trace does record x.shape[0] and passes it on, where no Python number is made",
        "item": ".item() makes a Python number: the 4.0 of the ones is in the trace",
        "rows": "the loop ran four times while tracing, and so the trace indexes four rows",
        "length": "len() makes a Python number: the 4 is in the trace",
        "sum": "a sum that remains a tensor is calculated anew",
    },
)

# %% [markdown]
# <details><summary>Hint</summary>
#
# For each, ask where Python got a number or a truth value of its own. Only what stays a tensor (or
# a size that is handed on) is calculated again. `tracing.old_trace(traced_functions["sum"],
# torch.ones(4))` lets you try.
# </details>

# %% [markdown]
# ## 5. Another runtime: ONNX · core
#
# The exported program still wants PyTorch to run it, and PyTorch is large. **ONNX** is a file
# format for lists of operators that many runtimes read: on servers, phones, in browsers, on chips.
# The exporter goes by way of `torch.export`:

# %% topics=["onnx-export"]
path = folder / "detector.onnx"
with quiet():
    free = ({0: torch.export.Dim.DYNAMIC},)
    names = {"input_names": ["picture"], "output_names": ["scores", "boxes"]}
    torch.onnx.export(
        detector, (exam[:2],), path, dynamic_shapes=free, external_data=False, **names
    )
weights = sum(p.numel() for p in detector.parameters()) * 4 // 1000
# The file also holds the folder's name, many times: its size is rounded.
print(round(path.stat().st_size, -4) // 1000, "kB, and the weights have", weights)

# %% [markdown]
# `external_data=False` puts the weights into the same file. (A file over 2 GB can't be written that
# way.) A checker reads it, and ONNX Runtime runs it; the arrays are NumPy's:

# %% topics=["onnx-export"]
import onnx
import onnxruntime

model_file = onnx.load(path)
onnx.checker.check_model(model_file, full_check=True)
print(*sorted({node.op_type for node in model_file.graph.node}))
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
elsewhere = session.run(None, {"picture": exam.numpy()})
print("agreement:", drawn.agreement(says, elsewhere))

# %% [markdown]
# No batch norm is left: an eval-mode one is a scaling, and the exporter multiplied it into the
# convolution. That rounds elsewhere, and the numbers can't be equal to the last bit:

# %% tags=["shows-false"]
difference = np.abs(elsewhere[0] - says[0].numpy()).max()
print("equal:", np.array_equal(elsewhere[0], says[0].numpy()))
print("largest difference below 0.0001:", bool(difference < 1e-4))

# %% [markdown]
# Is that near enough? `1e-4` is a guess. A tolerance can be *justified*: float32 rounds, so
# PyTorch's own float32 result is off by something. Measure that against float64. Two ways of adding
# the same numbers up differ by about as much as each differs from the truth. A difference a hundred
# times larger is a bug, however small it looks:

# %%
exact = drawn.said_by(copy.deepcopy(detector).double(), exam.double())
own_error = (exact[0] - says[0]).abs().max().item()
print("difference below 10 times PyTorch's own error:", bool(difference < 10 * own_error))
print("own error below 0.0001:", own_error < 1e-4)

# %% [markdown]
# What if an operator has no counterpart in ONNX? Distances to stored examples, say:


# %%
class Nearest(nn.Module):
    def forward(self, x):
        return torch.cdist(x, x)


class NearestMended(nn.Module):
    def forward(self, x):
        return (x[:, None] - x[None]).square().sum(2).sqrt()  # n * n * d numbers in between


x, small = torch.rand(4, 3), folder / "small.onnx"
print("missing:", onnx_files.missing_operator(lambda: torch.onnx.export(Nearest(), (x,), small)))
print(
    "mended: ", onnx_files.missing_operator(lambda: torch.onnx.export(NearestMended(), (x,), small))
)

# %% [markdown]
# Write it with operators that exist, as here, or teach the exporter a translation by
# `custom_translation_table=`. The mended one costs memory for all pairs of rows; the numbers agree.
#
# > **Then and now.** *"`torch.onnx.export(model, dummy data, xxxx.proto)`, `dynamic_axes=`."* The first
# > was never Python. Today's exporter (`dynamo=True`) is the default, needs onnxscript, and takes
# > `dynamic_shapes`. Nobody checks the file for you: run it.

# %% topics=["onnx-export"] errata=["onnx-export-snippet"]
import inspect

options = inspect.signature(torch.onnx.export).parameters
print("dynamo by default:", options["dynamo"].default)
print(refusal(lambda: compile("export(model, dummy data, xxxx.proto)", "a note", "exec"))[:11])

# %% [markdown]
# ### Exercise 19.5 — Equal, and within what? ★★ · 15 min · 4 points · core
#
# Write `onnx_parity(model, x, path)`: export a model, and say how far its file is from it.
#
# - `model` takes a float32 batch (n, 6), whatever its `forward` calls it, and returns a tuple of
#   tensors; some of its parts may be in training mode.
# - Whatever their mode, export what the model is *in eval mode* to the file `path`: input named
#   `picture`, any number of rows (also when `x` has a single row), one file.
# - Leave the model as it is: weights, dtype, the mode of each part.
#
# Then return a tuple of two floats, both in eval mode and over all outputs:
#
# - the largest absolute difference between ONNX Runtime's outputs and the model's, for `x`;
# - `own_error`, the largest between the model's float32 outputs and those of a float64 copy of it.
#
# `runner(path)` is a function that runs the file on a tensor or array and returns a list of arrays.
#
# Example: for the detector above, the two are `difference` and `own_error` (if they looked at the
# boxes, too).

# %% nbgrader={"grade_id": "try-onnx", "locked": true}
runner = onnx_files.runner


@runs_with_the_answer
def try_onnx(kind: str) -> dict:
    """What ``onnx_parity`` returns, writes and leaves for one of the models."""
    return onnx_files.try_parity(onnx_parity, kind)


# %% nbgrader={"grade_id": "onnx-parity", "solution": true}
def onnx_parity(model: nn.Module, x: torch.Tensor, path: str) -> tuple[float, float]:
    """Export ``model`` in eval mode; the largest difference, and PyTorch's own error.

    ``x``: (n, 6), float32. Writes one ONNX file that takes any number of rows.
    """
    ### BEGIN SOLUTION
    plain = copy.deepcopy(model).eval()
    free = ({0: torch.export.Dim.DYNAMIC},)
    torch.onnx.export(
        plain, (x,), path, input_names=["picture"], dynamic_shapes=free, external_data=False
    )
    with torch.no_grad():
        outputs = plain(x)
        exact = copy.deepcopy(plain).double()(x.double())
    found = [torch.from_numpy(array) for array in runner(path)(x)]
    apart = [
        max((one - other).abs().max().item() for one, other in zip(outputs, others, strict=True))
        for others in (found, exact)
    ]
    return apart[0], apart[1]
    ### END SOLUTION


# %% nbgrader={"grade_id": "onnx-parity-check", "grade": true, "points": 4}
with every_case() as case:
    for kind in ("partly in training", "one row, three outputs, one part trains"):
        with case(kind):
            onnx_files.check_parity(kind, try_onnx(kind))

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Work on `copy.deepcopy(model).eval()`, and the model itself can't be spoilt. For float64 make another
# copy: `.double()` changes a module in place.
# </details>
# <details><summary>Hint 2</summary>
#
# The arguments of `torch.onnx.export` are those of the detector's cell. A file for one row only is what
# you get without `dynamic_shapes`.
# </details>

# %% [markdown]
# ## 6. No Python at all
#
# A robot or a game may have no Python, and no room for a runtime that reads graphs. AOTInductor
# compiles an exported program *ahead of time* into a library; a C++ program loads it with a few
# lines. It takes a C++ compiler and two minutes, so it runs only if you set `COURSE_CPP=1` before
# you start Jupyter.

# %% topics=["cpp-inference"]
print(cpp.MAIN[cpp.MAIN.index("  torch::inductor") : cpp.MAIN.index("  std::FILE* out")])

# %% topics=["cpp-inference"] errata=["cpp-shared-ptr-module"] tags=["nbval-ignore-output"]
if cpp.missing():
    print("Not run:", cpp.missing())
else:
    scores = cpp.run_in_cpp(program, exam, folder)
    print(
        "the C++ program names the same classes:", torch.equal(scores.argmax(1), says[0].argmax(1))
    )
    print("shared_ptr<Module> is refused:", cpp.refuses_shared_ptr(folder))

# %% [markdown]
# > **Then and now.** *"`std::shared_ptr<torch::jit::Module> m = torch::jit::load(path);`"* `load` has
# > returned a module by value since 1.2, so this doesn't compile; and TorchScript itself is deprecated.
# > Two things in such notes are dangerous to this day: `from_blob` doesn't own its memory, and the raw
# > bytes of an image, height by width by channel, were fed in without the training transform.
#
# That last one deserves a section.

# %% [markdown]
# ## 7. Before the model: the other transform · core
#
# The model is the same everywhere now. But what reaches it? In training, a picture went through
# `prepare`: RGB, 32 by 32 with antialiasing, 0 to 1. On the server someone writes that again, in
# another library, from memory. Each of four small departures raises no error:


# %%
def agreement_with(serve) -> float:
    batch = torch.stack([serve(drawn.picture_of(780 + n)) for n in range(60)])
    return drawn.agreement(says, drawn.said_by(detector, batch))


shares = {"no fault": agreement_with(faults.transform())}
shares |= {f: agreement_with(faults.transform({f}, "bytes nearest")) for f in faults.FAULTS[:3]}
print("no fault, full agreement:", shares["no fault"] == 1.0)
print("each fault, less than 9 of 10:", all(share < 0.9 for share in list(shares.values())[1:]))

# %%
figure, axes = plt.subplots(1, 5, figsize=(9, 2.2))
picture = drawn.picture_of(783)
ways = {"training": (), **{name: (name,) for name in faults.FAULTS[:3]}}
for ax, (name, fault) in zip(axes[:4], ways.items(), strict=True):
    x = faults.transform(fault, "bytes nearest")(picture)
    ax.imshow(x.clamp(0, 1).permute(1, 2, 0))
    ax.set_title(name if name == "training" else f"{name}\n{shares[name]:.0%} agree", fontsize=9)
axes[4].imshow(np.array(picture.convert("P")), cmap="gray")
axes[4].set_title("mode: indices\nof a palette", fontsize=9)
for ax in axes:
    ax.set(xticks=[], yticks=[])
show(
    figure,
    "One picture as five servers see it: as in training; with red and blue exchanged; all white, "
    "by values up to 255; with ragged edges, resized without antialias; and a palette's indices "
    "as grey.",
)

# %% [markdown]
# The detector was trained on the first. The fourth fault shows only for pictures of another *mode*:
# grey (`L`), with a palette (`P`), with transparency (`RGBA`). Code that was tried on RGB pictures
# raises there, or takes indices for brightness.
#
# A **parity test** finds such faults before a customer does: feed both transforms the same
# pictures, and compare. With photographs it says only *that* they differ. With pictures made for
# it, it says *where*. A plain colour, already 32 by 32, can't be spoilt by resizing. Watch it find
# the channel order, through a scale of 0 to 255:

# %%
red = Image.new("RGB", (32, 32), (255, 0, 0))
suspect = faults.transform({"channel order", "scale"}, "bytes")
print("training puts red into channel", drawn.prepare(red).mean((1, 2)).argmax().item())
print("the server puts it into channel", suspect(red).mean((1, 2)).argmax().item())

# %% [markdown]
# It would be wrong to compare the numbers themselves here: they differ already by the scale, and
# the test would call everything a channel fault. And resizing needs a tolerance: a server that
# calculates in float32 where Pillow rounds to whole bytes is off by a fraction of 1/255. That isn't
# a fault.
#
# ### Exercise 19.6 — A parity test ★★★ · 25 min · 4 points · core
#
# Write `preprocess_parity(train, serve)`, which finds a server's faults. Both take a PIL picture of
# any size and mode and return a float32 or float64 tensor (3, 32, 32) that requires no grad, in which
# black has the smaller number.
#
# - `train` is right, with red first or blue first, whatever the range of its values (from black to
#   white, the same for all three channels).
# - `serve` does the same up to rounding (differences below 0.02 of the range of `train`'s values),
#   or has any of these faults, perhaps several.
#
# Return the set of their names, empty if there is none:
#
# - `"channel order"`: its three channels come in the opposite order to `train`'s;
# - `"scale"`: black and white have other values than in `train` (such as 0 to 255, or -1 to 1), in
#   all three channels;
# - `"antialias"`: it makes large pictures small by taking the nearest pixel, or by bilinear
#   interpolation of four neighbours, where `train` averages over all the pixels that fall into one;
# - `"mode"`: for a picture of mode `L`, `P` or `RGBA`, perhaps only one of them, it raises an
#   exception or gives something else (NaN, for instance) than for the same picture converted to
#   RGB. With `RGBA` that may happen only where the picture is transparent, with `RGBA` and `P` only
#   where a large picture is made small.
#
# Example: `preprocess_parity(drawn.prepare, suspect)` gives `{"channel order", "scale"}`.


# %% nbgrader={"grade_id": "try-parity-test", "locked": true}
@runs_with_the_answer
def try_parity_test(names: list, kind: str) -> list | str:
    """What ``preprocess_parity`` finds in a server with these faults, or what went wrong."""
    return faults.try_parity_test(preprocess_parity, names, kind)


# %% nbgrader={"grade_id": "preprocess-parity", "solution": true}
def preprocess_parity(train: Callable, serve: Callable) -> set[str]:
    """Which of "channel order", "scale", "antialias" and "mode" ``serve`` does unlike ``train``.

    Both: PIL picture -> (3, 32, 32), float32 or float64.
    """
    ### BEGIN SOLUTION
    noise = np.random.default_rng(0).integers(0, 256, (150, 110, 3), dtype=np.uint8)
    large, grey = Image.fromarray(noise), Image.fromarray(noise[..., 0]).convert("RGB")
    plain = [Image.new("RGB", (32, 32), colour) for colour in ("red", "black", "white")]

    def look(transform):
        red, black, white = (transform(picture).float().mean((1, 2)) for picture in plain)
        low, high = black.mean(), white.mean()
        red, noisy = ((one - low) / (high - low) for one in (red, transform(grey)))
        return red.argmax(), low, high, noisy

    right, got, found = look(train), look(serve), set()
    if right[0] != got[0]:
        found.add("channel order")
    if max(abs(right[1] - got[1]), abs(right[2] - got[2])) > 0.02 * (right[2] - right[1]):
        found.add("scale")
    if (right[3] - got[3]).abs().max() > 0.05:
        found.add("antialias")
    for mode in ("L", "P", "RGBA"):
        other = large.convert(mode)
        if mode == "RGBA":
            other.putalpha(Image.fromarray(noise[::-1, :, 0].copy()))
        try:
            off = (serve(other) - serve(other.convert("RGB"))).abs().max()
            same = off < 0.02 * (got[2] - got[1])
        except Exception:
            same = False
        found |= set() if same else {"mode"}
    return found
    ### END SOLUTION


# %% nbgrader={"grade_id": "preprocess-parity-check", "grade": true, "points": 4}
with every_case() as case:
    for names, kind in faults.SERVERS:
        with case(" and ".join(names) or f"no fault, {kind}"):
            faults.check_found(try_parity_test(names, kind), names, kind)
### BEGIN HIDDEN TESTS
for number in range(16):
    names = [name for k, name in enumerate(faults.FAULTS) if number >> k & 1]
    for kind in ("bytes nearest palette", "signed thin crash", "float bytes thin alpha"):
        faults.check_found(try_parity_test(names, kind), names, kind)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Let every picture show one fault alone. Red, 32 by 32: the order. Black and white: the scale. Grey
# noise, much larger than 32 by 32: the resizing, whatever the order. For the mode you don't need
# `train` at all: compare `serve` with itself.
# </details>
# <details><summary>Hint 2</summary>
#
# Black and white also tell you how to bring the server's values back to 0 to 1, before you compare the
# noise: `(y - black) / (white - black)`.
# </details>

# %% [markdown]
# **In practice.** Ship the transform with the model, in one file if you can, and run the parity
# test in CI on the server's own code. Our server's transform is in `runtime.py` of this chapter's
# helpers; it knows nothing of PyTorch:

# %%
theirs = np.stack([runtime.prepare(drawn.picture_of(780 + n)) for n in range(60)])
print("largest difference to training:", np.abs(theirs - exam.numpy()).max())

# %% [markdown]
# ## 8. Behind an address · core
#
# Model and transform are the same, up to rounding. Now strangers may call them. A web framework turns a
# function into an address. **FastAPI** is today's usual one in Python (`from fastapi import FastAPI,
# HTTPException, Request`), uvicorn the program that listens:


# %% topics=["flask-serving"]
def naive_server(detect):
    app = FastAPI()

    @app.post("/detect")
    async def answer(request: Request):
        return detect(Image.open(io.BytesIO(await request.body())))

    return app


# %% [markdown]
# `WebServer`, a helper, sends the function to a separate process, which listens on this machine
# only and ends with the notebook. `OnnxDetector` travels as the path of its file. PyTorch isn't
# even imported there.

# %% topics=["flask-serving"]
detect = runtime.OnnxDetector(folder / "detector.onnx")
with WebServer(naive_server, detect) as server:
    status, answer = server.ask("/detect", drawn.png_of(drawn.picture_of(783)))
    print(status, sorted(answer))
    served = [server.ask("/detect", drawn.png_of(drawn.picture_of(780 + n)))[1] for n in range(60)]
print("the same class for all 60:", [s["shape"] for s in served] == drawn.names_of(says[0]))

# %% [markdown]
# It works, for those who mean well. Send it something else. **Predict** the statuses: 200 is fine, 400s
# blame the client, 500s the server.

# %% topics=["flask-serving"]
with WebServer(naive_server, detect) as server:
    print("a text:     ", server.ask("/detect", b"a red circle, please"))
    print("half a PNG: ", server.ask("/detect", drawn.png_of(drawn.picture_of(783))[:2000]))
    before = server.peak_bytes()
    content = trials.bomb(9000, 9000)
    print(len(content) // 1000, "kB of PNG:", server.ask("/detect", content)[0], end=", ")
    print("and the server grew by more than 150 MB:", server.peak_bytes() - before > 150e6)

# %% [markdown]
# The first two are the client's faults, and the server takes the blame, without a word about what
# was wrong. The third is a **decompression bomb**: 81 million equal pixels pack into a few
# kilobytes, and decoding unpacks them. A few of these at once, and the machine has no memory left.
# Four habits help:
#
# 1. **Count while you read.** `await request.body()` reads whatever comes, for as long as it comes.
#    A loop over `request.stream()` can stop at a limit, whatever `Content-Length` claimed.
# 2. **Look at the size before you decode.** `Image.open` reads the header alone; `.size` is known,
#    and no pixel is unpacked until `.convert`, `.load` or the like.
# 3. **Name what you accept**: `Image.open(file, formats=("JPEG", "PNG"))`. Pillow knows dozens of
#    formats; each is code that strangers can reach.
# 4. **Don't work in the event loop.** While `detect` calculates inside an `async def`, nobody else
#    is answered, not even a health check. `await run_in_threadpool(function, argument)` moves it to
#    a thread.
#
# An error is reported by `raise HTTPException(413, "more than 50000 bytes")`; FastAPI answers with
# that status and `{"detail": "more than 50000 bytes"}`. Try the first habit alone:


# %%
def counting_server(most_bytes):
    app = FastAPI()

    @app.post("/count")
    async def count(request: Request):
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return {"bytes": size}

    return app


with WebServer(counting_server, 1000) as server:
    print(server.ask("/count", bytes(1000)), server.ask("/count", bytes(1001)))

# %% [markdown]
# ### Exercise 19.7 — Serve it ★★★ · 30 min · 5 points · core
#
# Write `serve_it(detect, most_bytes, most_pixels)`, which returns a FastAPI application that
# strangers may call:
#
# - `GET /health` answers `{"status": "ok"}`;
# - `POST /detect`: the body is the file's bytes, nothing around it. The answer is what
#   `detect(picture)` returns, a dict. `detect` is called for each request, also if its file came before.
#
# `detect` gets a PIL picture of mode RGB and blocks while it works. Two requests have to be able to
# run it at the same time.
#
# | what is wrong | status |
# | --- | --- |
# | the body is longer than `most_bytes`; refused as soon as that is certain, without waiting for its end | 413 |
# | width times height is more than `most_pixels`; refused without decoding | 413 |
# | it isn't a whole JPEG or PNG file (empty, text, a GIF, cut, damaged) | 400 |
# | `detect` raises a `ValueError`; the answer holds its words, if it has any | 422 |
# | `detect` raises anything else: a bug of ours | 500, as FastAPI does by itself |
#
# - All but the 500 answer with `{"detail": words}`.
# - Exactly `most_bytes` and exactly `most_pixels` are allowed. Far beyond any limit, from 179
#   million pixels on, `Image.open` raises by itself: there 400 will do.
# - The application runs in another process, so import nothing there that you don't need.


# %% nbgrader={"grade_id": "try-server", "locked": true}
@runs_with_the_answer
def try_server(most_bytes: int, most_pixels: int) -> dict | str:
    """What a server with ``serve_it``'s application answers, in a separate process."""
    return trials.try_server(serve_it, most_bytes, most_pixels)


# %% nbgrader={"grade_id": "serve-it", "solution": true}
def serve_it(detect: Callable, most_bytes: int, most_pixels: int) -> FastAPI:
    """An application with GET /health and POST /detect that refuses what it must, in words."""
    ### BEGIN SOLUTION
    app = FastAPI()

    def look(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            fits = picture.width * picture.height <= most_pixels
            picture = picture.convert("RGB") if fits else None
        except Exception as error:
            raise HTTPException(400, "this isn't a whole JPEG or PNG file") from error
        if picture is None:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @app.get("/health")
    def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(look, content)

    return app
    ### END SOLUTION


# %% nbgrader={"grade_id": "serve-it-check", "grade": true, "points": 5}
said = try_server(50_000, 250_000)
assert isinstance(said, dict), f"there is no server to ask: {said}"
with every_case(at_most=12) as case:
    for name in said:
        with case(name):
            trials.check_case(name, said, 50_000, 250_000)
### BEGIN HIDDEN TESTS
said = try_server(20_000, 10_000)
assert isinstance(said, dict), f"there is no server to ask: {said}"
for name in said:
    trials.check_case(name, said, 20_000, 10_000)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Three functions inside yours: `health`, an `async def` that reads the stream as above, and a plain
# one that opens the picture and calls `detect`; the second hands its bytes to the third by
# `run_in_threadpool`.
# </details>
# <details><summary>Hint 2</summary>
#
# Opening *and* decoding may raise nearly anything for damaged files, so catch `Exception` there,
# and only there. The call of `detect` belongs in a separate `try` that catches `ValueError` alone.
# Mind that an `HTTPException` is an `Exception` too.
# </details>

# %% [markdown]
# The check sent what the table names. Now a thousand requests without any plan: damaged files, one
# after the other, to a server made by your `serve_it` (as long as there is none, to the naive one).

# %% tags=["nbval-ignore-output"]
from collections import Counter

try:
    solved = serve_it(detect, 50_000, 250_000) is not None
except Exception:
    solved = False
make = (serve_it, detect, 50_000, 250_000) if solved else (naive_server, detect)
with WebServer(*make) as server:
    statuses = Counter(
        server.ask("/detect", content)[0] for content in trials.damaged(1000, seed=5)
    )
    after = server.ask("/detect", drawn.png_of(drawn.picture_of(783)))
print(dict(statuses), "and then", after)

# %% [markdown]
# > **Then and now.** *"Put the model behind Flask."* Flask works to this day. It answers each request in a
# > thread, and has no opinion about what comes in. FastAPI's loop reads many slow bodies at once, its
# > types check JSON, and it writes the API's page. Neither batches requests for you.

# %% [markdown]
# ## 9. Requests that travel together
#
# The server is safe. Is it quick? A model likes batches: eight pictures cost less than eight times one.
# Requests come one by one. **Dynamic batching** lets the first one wait a little for others:

# %%
rows = [(0.00, 1), (0.02, 2), (0.07, 3), (0.16, 4)]  # when it comes, which request
most, wait = 8, 0.1
first = rows[0][0]
together = [number for when, number in rows if when <= first + wait][:most]
print("the first batch starts at", first + wait, "with", together)

# %% [markdown]
# The wait counts from the *first* request of the batch. If each newcomer started the clock anew, a
# steady trickle would never be answered. And a batch that is full starts at once.
#
# In Python this is a coroutine that reads an `asyncio.Queue`. What is awaited with a limit is
# written `await asyncio.wait_for(queue.get(), seconds)`; it raises `TimeoutError` when they have
# passed. An entry of the queue is a pair `(x, future)`. Whoever asks awaits the future, and the
# worker fills it by `future.set_result(y)` or `future.set_exception(error)`. Here is the naive
# worker, a batch of one each time. The trials' clock belongs to the loop,
# `asyncio.get_running_loop().time()`, and jumps: no second is lost.


# %%
async def naive_worker(queue, predict, most, wait):
    while True:
        x, future = await queue.get()
        future.set_result(predict([x])[0])


said = batching.try_batching(naive_worker, "three come in time")
print("calls of predict, each with its time:", said["calls"])

# %% [markdown]
# Batches have a risk that single requests haven't. One bad picture makes `predict` raise, and
# everyone in the batch would get that error. And a client that has hung up has cancelled its
# future. To fill it then is an `InvalidStateError` that ends the worker, and with it the service:

# %%
said = batching.try_batching(naive_worker, "one is cancelled while it waits")
print(
    "cancelled at 0.05, and handed to predict:",
    2 in [n for _, batch in said["calls"] for n in batch],
)

# %% [markdown]
# ### Exercise 19.8 — A queue that batches ★★★ · 25 min · 5 points
#
# Write `dynamic_batching(queue, predict, most, wait)`, a coroutine that answers the requests of a
# queue in batches. It serves for ever, until it is cancelled (then it ends). `predict(list of x)`
# returns a list of results in the same order; call it directly. It takes no time worth mentioning.
#
# - A batch begins with the first request that is there, cancelled or not. It starts when it holds
#   `most` requests, or `wait` seconds after that first one was taken from the queue, with what came
#   until then, in order of arrival.
# - What is in the queue already joins without waiting; with `wait=0` a batch may be one request.
# - When a batch starts, requests whose future is cancelled are left out. If none is left, `predict`
#   isn't called.
# - If `predict` raises, the sound requests of that batch still get their results, and each poisoned
#   one gets its own error (simplest: call `predict` for each alone). The service continues.
# - Measure time by `asyncio` alone.
#
# Example: `most=8, wait=0.1`, requests at 0, 0.02 and 0.07 s: one batch of three, at 0.1 s.


# %% nbgrader={"grade_id": "try-queue", "locked": true}
@runs_with_the_answer
def try_queue(name: str) -> dict:
    """What ``dynamic_batching`` does in one of the cases, on a clock that jumps."""
    return batching.try_batching(dynamic_batching, name)


# %% nbgrader={"grade_id": "dynamic-batching", "solution": true}
def dynamic_batching(
    queue: asyncio.Queue, predict: Callable, most: int, wait: float
) -> Coroutine[None, None, None]:
    """A coroutine that serves pairs (x, future) of ``queue`` in batches of up to ``most``.

    ``wait``: seconds after the first request of a batch at which it starts at the latest. Write an
    ``async def`` inside and return its call, or make this an ``async def`` itself.
    """
    ### BEGIN SOLUTION

    def answer(group):
        try:
            results = predict([x for x, _ in group])
        except Exception as error:
            if len(group) == 1:
                group[0][1].set_exception(error)
            else:
                for one in group:
                    answer([one])
            return
        for (_, future), result in zip(group, results, strict=True):
            future.set_result(result)

    async def serve():
        clock = asyncio.get_running_loop().time
        while True:
            batch = [await queue.get()]
            end = clock() + wait
            try:
                while len(batch) < most:
                    if queue.empty():
                        batch.append(await asyncio.wait_for(queue.get(), end - clock()))
                    else:
                        batch.append(queue.get_nowait())
            except TimeoutError:
                pass
            batch = [one for one in batch if not one[1].cancelled()]
            if batch:
                answer(batch)

    return serve()
    ### END SOLUTION


# %% nbgrader={"grade_id": "dynamic-batching-check", "grade": true, "points": 5}
with every_case() as case:
    for name in batching.CASES:
        with case(name):
            batching.check_batching(name, try_queue(name))

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Two nested loops: the outer one for ever, beginning with `await queue.get()`; the inner one until
# the batch is full or its time is over. How many seconds are left is different each time round.
# </details>
# <details><summary>Hint 2</summary>
#
# `queue.get_nowait()` takes what is there already, and `queue.empty()` says whether there is
# anything. `future.cancelled()` says whether its owner has given up. Catch `Exception`, not
# `BaseException`: to be cancelled is a `BaseException`.
# </details>

# %% [markdown]
# ## 10. How much can it bear?
#
# What does batching buy? Measure with an **open load**: requests come at their own times, as from
# strangers, whether or not earlier ones were answered. If a server needs s seconds for a request
# and works on one at a time, it bears 1/s requests a second, no more; that can be **predicted**. At
# what load does the latency double? The simulation below answers in exact numbers: 10 ms for a
# picture alone; 8 + 2·n ms for n together.

# %%
due = loads.arrivals(rate=50, count=2000)  # seconds, at random, 50 a second
done = loads.served_singly(due, 0.010)
print("mean latency at half the limit:", round((done - due).mean().item() * 1000), "ms")
due = loads.arrivals(rate=95, count=2000)
done = loads.served_singly(due, 0.010)
print("at 95 % of it:                 ", round((done - due).mean().item() * 1000), "ms")

# %% [markdown]
# Latency doesn't grow in proportion. It grows like 1/(1 − share), because requests come in clumps,
# and near the limit there is no pause in which a queue could drain. The bend is called the
# **knee**. (For equal service times s and a share ρ of the limit the mean is s·(1 + ρ / (2 − 2ρ)):
# doubled at ρ = 2/3.) Before the next cell, predict the limit of the server that batches up to 16:
# 16 pictures in 8 + 2·16 = 40 ms.

# %%
curves = {"one after the other": [], "batches up to 16": []}
for rate in (10, 30, 50, 70, 80, 90, 96, 104, 150, 200, 250, 300, 340, 370, 390):
    due = loads.arrivals(rate, 3000)
    single = loads.served_singly(due, 0.010)
    batched = loads.served_in_batches(due, 0.008, 0.002, most=16, wait=0.005)
    for name, done in zip(curves, (single, batched), strict=True):
        latency = (done - due).mean().item() * 1000
        if latency < 300:
            curves[name].append((rate, latency))
loads.draw_load(curves, {"one after the other": 1 / 0.010, "batches up to 16": 16 / 0.040})

# %% [markdown]
# Batching costs a few milliseconds at low load: the wait, and a batch's longer way. It moves the
# limit to four times as many requests. Neither curve says anything beyond its limit: there the
# queue grows for as long as you measure, and the server must refuse (status 503) or drown.
#
# One law ties these numbers together, whatever the server does inside. **Little's law**: requests
# in flight, on average = throughput × mean latency. Count on three requests: present from 0 to 2,
# from 1 to 3, from 2 to 6.

# %%
came, gone = torch.tensor([0.0, 1, 2]), torch.tensor([2.0, 3, 6])
moments = torch.arange(0, 6, 0.001) + 0.0005
present = ((came[:, None] <= moments) & (moments < gone[:, None])).sum(0).float()
throughput, latency = 3 / 6, (gone - came).mean()
print("counted, on average:", round(present.mean().item(), 3))
print("throughput × latency:", round((throughput * latency).item(), 3))

# %% [markdown]
# A trap in measuring: a client that sends the next request only when the last is answered (a
# *closed* loop) is slowed down by the slow server. It sends fewer requests just when many would
# have suffered, and starts its stopwatch late. Count latency from when a request was **due**.
#
# ### Exercise 19.9 — Latency, honestly ★★ · 12 min · 3 points
#
# Write `load_test(due, sent, done)`, which says what a server bore. It gets three float64 tensors
# of shape (n,), n at least 1, in seconds: when each request was due, when the client got round to
# sending it, when the answer was there. They are in no particular order. The measurement lasts from
# the first request that was due to the last answer. Return a dict of four floats:
#
# - `"throughput"`: answers per second of that time;
# - `"mean latency"`: in seconds, as those who had to wait felt it;
# - `"p95"`: the latency that 95 % of the requests didn't exceed, by nearest rank: of the n sorted
#   latencies the one at place ceil(0.95·n), counted from 1;
# - `"in flight"`: how many requests were waiting for their answer, on average over that time.
#
# Example: the three requests above, each sent when it was due, give 0.5, 2.667, 4 and 1.333,
# rounded.


# %% nbgrader={"grade_id": "load-test", "solution": true}
def load_test(due: torch.Tensor, sent: torch.Tensor, done: torch.Tensor) -> dict[str, float]:
    """Throughput (1/s), mean latency (s), p95 (s) and requests in flight of an open load."""
    ### BEGIN SOLUTION
    latency = done - due
    throughput = len(due) / (done.max() - due.min()).item()
    rank = (95 * len(due) + 99) // 100
    return {
        "throughput": throughput,
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[rank - 1].item(),
        "in flight": throughput * latency.mean().item(),
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "load-test-check", "grade": true, "points": 3}
def check_times(*lists):
    times = [torch.tensor(one, dtype=torch.float64) for one in lists]
    with forbid_changes(*times):
        result = load_test(*times)
    loads.check_load(result, *times)


with every_case() as case:
    for name, lists in loads.CASES.items():
        with case(name):
            check_times(*lists)
    with case("columns of a table; with gradients off; called again"):
        loads.check_other_states(load_test)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(19)
for n in (2, 19, 21, 40, 101):
    due = 50 + 10 * torch.rand(n, generator=generator, dtype=torch.float64)
    late = torch.rand(n, generator=generator, dtype=torch.float64)
    check_times(due.tolist(), (due + late).tolist(), (due + 3 * late + 0.01).tolist())
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint</summary>
#
# One of the three arguments isn't needed. For the last entry remember Little, or add up the
# latencies and ask what share of the time that is. Rounding up in whole numbers: `-(-95 * n //
# 100)`.
# </details>

# %% [markdown]
# The real server, for two seconds each at two rates. Its numbers depend on your machine, and on
# what else it does; Little's law doesn't:

# %% tags=["nbval-ignore-output"]
content = drawn.png_of(drawn.picture_of(783))
with WebServer(naive_server, detect) as server:
    for rate in (20, 60):
        due = loads.arrivals(rate, 2 * rate)
        done, statuses = loads.open_load(server.url, content, due)
        numbers = loads.truth(due, done)
        print(f"{rate} a second:", {name: round(value, 4) for name, value in numbers.items()})

# %% [markdown]
# ## 11. Fewer bits
#
# The last move changes the numbers themselves. Weights and activations in eight bits are a quarter
# of the size, and processors multiply more of them at a time. A float becomes a whole number by a
# **scale** (how much is one step?) and a **zero point** (which whole number means 0?). Four
# activations between -1 and 2.5, by hand:

# %%
x, low, high = torch.tensor([-1.0, 0.0, 0.5, 2.5]), -1.0, 2.5
scale = (high - low) / 255  # 256 values, 255 steps
zero = round(-low / scale)
whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.uint8)
print("scale", round(scale, 5), "zero point", zero, "->", whole.tolist())
print("back:", ((whole.int() - zero) * scale).round(decimals=3))

# %% [markdown]
# Half a step is lost at most, 0.007 here. Zero comes back as exactly zero: padding and ReLU are
# full of it. **Weights** are spread around 0 and need no zero point: one scale for each row,
# `largest / 127`, whole numbers from -127 to 127 (`int8`). Then a linear layer is a sum of products
# of whole numbers, and one multiplication at the end. Naive, compact, library:

# %%
weight, bias = torch.tensor([[0.5, -1.0, 0.25, 0.1]]), torch.tensor([0.2])
step = weight.abs().amax(1, keepdim=True) / 127
ints = (weight / step).round().to(torch.int32)
naive = sum((int(a) - zero) * int(b) for a, b in zip(whole, ints[0], strict=True))
compact = ((whole.int() - zero) * ints).sum(1, dtype=torch.int32)
library = torch.mv(ints, whole.int() - zero)
assert naive == compact.item() == library.item()
print("total", naive, "->", round((compact * scale * step[:, 0] + bias).item(), 3))
print("in float32:", round(F.linear(x, weight, bias).item(), 3))
wrong = (whole.int() * ints).sum(1)
print("zero point forgotten:", round((wrong * scale * step[:, 0] + bias).item(), 3))

# %% [markdown]
# Without subtracting the zero point, every activation would be too large by 73 steps. Products of
# two 8-bit numbers don't fit into eight bits, nor do their sums into sixteen: the sum needs
# `int32`.
#
# ### Exercise 19.10 — A layer in whole numbers ★★ · 15 min · 3 points
#
# Write `quantised_inference(x, weight, bias, low, high)`: a linear layer in whole numbers.
#
# - `x` is float32, (n, in), n may be 0; `weight` is float32, (out, in); `bias` float32, (out,). The
#   two may be a layer's own parameters, which require grad.
# - Calibration found that activations are between `low` ≤ 0 and `high` ≥ 0 (floats, not both 0).
#   What lies beyond is clamped.
# - Quantise `x` and `weight` as above: one scale and zero point for all of `x`, one scale for each
#   row of `weight`, rounding to the nearest. A row of zeros has the scale 1.
#
# Return
#
# - `total`, int32, (n, out): sums of products of whole numbers, the zero point subtracted;
# - `y`, float32, (n, out): what they are worth, plus the bias.
#
# Example: the layer above, for `x[None]`, gives the total -1154 and 0.075, rounded.


# %% nbgrader={"grade_id": "quantised-inference", "solution": true}
def quantised_inference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, low: float, high: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """A linear layer in uint8 times int8: int32 sums and float32 results, both (n, out)."""
    ### BEGIN SOLUTION
    scale = (high - low) / 255
    zero = round(-low / scale)
    whole = ((x / scale).round() + zero).clamp(0, 255).to(torch.int32) - zero
    largest = weight.abs().amax(1)
    step = torch.where(largest == 0, 1.0, largest / 127)
    ints = (weight / step[:, None]).round().to(torch.int32)
    total = (whole[:, None] * ints).sum(2, dtype=torch.int32)
    return total, total * (scale * step) + bias
    ### END SOLUTION


# %% nbgrader={"grade_id": "quantised-inference-check", "grade": true, "points": 3}
kinds = ["in range", "beyond low and high", "from 0 up", "down to 0, beyond", "a row of zeros"]
others = ["far beyond low and high", "one output", "as many rows as outputs", "transposed views"]
others += ["a layer's own parameters, which require grad"]
with every_case() as case:
    for kind in [*kinds, "a row of tiny weights", "large sums", "one row", "no row", *others]:
        with case(kind):
            inputs = int8.layer(kind)
            given = [one.to(device) if isinstance(one, torch.Tensor) else one for one in inputs]
            with forbid_changes(*given[:3]):
                result = quantised_inference(*given)
            int8.check_layer(kind, result, inputs)
    with case("views with gaps; without gradients; called again"):
        int8.check_other_states(quantised_inference)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Clamp while the numbers are still floats: `uint8` wraps around. Between `x` (n, in) and `ints`
# (out, in), `[:, None]` lets both dimensions meet. The steps belong to the columns of `total`.
# </details>

# %% [markdown]
# ONNX Runtime does this to the whole detector: it watches calibration pictures flow through the
# file, notes `low` and `high` everywhere, and writes a new file. Three numbers decide whether that
# was worth it:

# %% topics=["model-compression-projects"] tags=["nbval-ignore-output"]
calibration = pictures[:200].cpu()
int8.quantise_file(path, folder / "int8.onnx", calibration)
in_int8 = runner(folder / "int8.onnx")(exam)
size = {name: (folder / name).stat().st_size for name in ("detector.onnx", "int8.onnx")}
print(f"size: {size['int8.onnx'] / size['detector.onnx']:.0%} of float32")
for name, scores in {"float32": says[0], "int8": torch.from_numpy(in_int8[0])}.items():
    print(f"{name}: {(scores.argmax(1) == exam_labels).sum()} of 60 classes right")
print(f"agreement: {drawn.agreement(says, in_int8):.0%}")

# %% tags=["nbval-ignore-output"]
figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
edges = (torch.from_numpy(in_int8[1]) - says[1]).abs().flatten() * 32
axes[0].hist(edges.numpy(), bins=30, color="#0072b2")
axes[0].axvline(0.5, color="#b04500", ls="--")
axes[0].set(xlabel="pixels that an edge moved", ylabel="edges of 240", title="boxes")
axes[1].scatter(says[0].flatten(), in_int8[0].flatten(), s=8, color="#00805c")
axes[1].axline((0, 0), slope=1, color="#6e6e78", lw=0.8)
axes[1].set(xlabel="score in float32", ylabel="score in int8", title="scores")
show(
    figure,
    "Left: how far edges moved in int8, most less than half a pixel, up to which they count as the "
    "same (dashed). Right: scores in int8 over scores in float32, close to the diagonal.",
)

# %% [markdown]
# Our detector loses little or nothing: its scores are far apart, and boxes move by a fraction of a
# pixel. Larger models with rare, large activations lose more. Accuracy and agreement are two
# questions: a model may keep its accuracy and still say something else for single pictures, some
# now right, some now wrong. Whoever was served yesterday notices the second.
#
# > **Then and now.** *"Quantise with `torch.quantization`, QNNPACK, `fuse_modules`."* That is deprecated.
# > torchao quantises for PyTorch, ONNX Runtime its own files. Folding a batch norm into a convolution alone is
# > `fuse_conv_bn_eval`.

# %% errata=["eager-quantization"] tags=["shows-deprecated"]
from torch.nn.utils.fusion import fuse_conv_bn_eval

fused = fuse_conv_bn_eval(detector.body[0], detector.body[1])
x = (exam - 0.5) / 0.25
print("folded, the same:", torch.allclose(fused(x), detector.body[:2](x), atol=1e-4))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(2, 2)), dtype=torch.qint8)
print("told to use torchao:", any("torchao" in str(one.message) for one in caught))

# %% [markdown]
# torchao swaps tensors inside modules and needs no file. It knows linear layers, not our
# convolutions, so here is one linear layer:

# %% topics=["model-compression-projects"]
with quiet():
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    layer = nn.Sequential(nn.Linear(64, 64)).eval()
    before = layer(x := torch.rand(4, 64, generator=torch.Generator().manual_seed(1)))
    quantize_(layer, Int8WeightOnlyConfig())
    after = layer(x)
print("weights are now a", type(layer[0].weight).__name__)
print(
    "off by less than 1 % of the largest:",
    bool((after - before).abs().max() < 0.01 * before.abs().max()),
)

# %% [markdown]
# ## 12. Your server, your page
#
# Everything together: trained here, exported by `torch.export`, written to ONNX, served by your
# `serve_it` from a process without PyTorch. `page.PAGE` is a page with a canvas. The server hands
# it out under `/`; draw a shape, and the page posts it to `/detect` as a PNG file and paints the
# box that comes back.

# %% topics=["flask-serving"] tags=["nbval-ignore-output"]
my_server = WebServer(*make, page=page.PAGE)  # ends with the kernel, or by my_server.stop()
print("yours" if solved else "the naive one, until you have solved 19.7", "at", my_server.url)
my_server.show()

# %% [markdown]
# (The address is of the machine that runs the notebook. If your browser is on another, JupyterLab
# passes the page on.) Here the same page's request without a browser: a red circle on grey, drawn
# by hand.

# %% tags=["nbval-ignore-output"]
from PIL import ImageDraw

canvas = Image.new("RGB", (96, 96), (110, 110, 120))
ImageDraw.Draw(canvas).ellipse((8, 50, 46, 88), fill=(214, 69, 65))
status, answer = my_server.ask("/detect", drawn.png_of(canvas))
share = [edge / 96 for edge in answer["box"]]
drawn.draw_detections(
    [canvas], [(answer["shape"], share)], "A red circle, and the box in which the server found it."
)

# %% [markdown]
# And the question of this chapter, once more, for all moves:

# %% tags=["nbval-ignore-output"]
answers = [my_server.ask("/detect", drawn.png_of(drawn.picture_of(780 + n)))[1] for n in range(60)]
same = sum(a["shape"] == name for a, name in zip(answers, drawn.names_of(says[0]), strict=True))
moves = {"state dict": drawn.said_by(fresh, exam), "torch.export": drawn.said_by(again, exam)}
moves |= {"ONNX Runtime": elsewhere, "int8": in_int8}
for name, said in moves.items():
    print(f"{name:<15}{drawn.agreement(says, said):.0%} say the same class and box")
print(f"{'served':<15}{same / 60:.0%} say the same class")
my_server.stop()

# %% [markdown]
# ## Heard elsewhere
#
# | what you may read | what became of it |
# | --- | --- |
# | TorchServe, with its archives and handlers | limited maintenance since 2025, no more fixes; Triton, KServe, Ray Serve, BentoML; vLLM or SGLang for language models |
# | PyTorch Mobile and PyTorch Live | unsupported, and gone; ExecuTorch runs exported programs on phones |
# | TensorRT for NVIDIA GPUs | alive: Torch-TensorRT compiles exported programs, and Triton serves them |
# | TF Serving, TFX, TFLite, Coral | TensorFlow's own; TFLite is LiteRT now, and a converter takes PyTorch programs there |
# | caffe2's backend runs ONNX files | Caffe2 was merged into PyTorch, then removed; ONNX Runtime |
# | ONNX is Microsoft's | Facebook and Microsoft announced it together in 2017 |
# | compression libraries (Distiller, NNI, …) | mostly archived; torchao, ONNX Runtime |
#
# A row can be checked where a trace of it is left in this PyTorch:

# %% topics=["mobile-deployment", "torchserve", "tensorrt-serving", "tf-serving-lite"] errata=["serving-stack", "onnx-by-microsoft-alone"] tags=["shows-false"]
from importlib.util import find_spec

for name in ("caffe2", "ts", "torch.utils.mobile_optimizer", "torch.export", "onnxruntime"):
    print(f"{name:<28} is here:", find_spec(name) is not None)

# %% [markdown]
# `ts` was TorchServe's package. The mobile optimizer is still imported without a word, and what it
# makes, no supported app can run. That a name can be imported doesn't mean that anyone looks after
# it: read the project's own first page, and the date of its last release.

# %% [markdown]
# ## Summary
#
# | move | what may change in silence | what catches it |
# | --- | --- | --- |
# | into a file | code comes along; names, dtypes, nan | `weights_only`, safetensors, a list of what is wanted |
# | `torch.export` | little: it refuses | examples with other sizes and other branches |
# | `torch.jit.trace` | branches, lengths, modes | don't |
# | ONNX | rounding, a fixed batch size | a run beside the model; tolerance from float64 |
# | the transform | channels, scale, resizing, mode | a parity test with pictures made for it |
# | a server | who is blamed, how much is read, who waits | hostile requests in the tests |
# | batches | order, whose error it is | a clock that jumps |
# | int8 | single answers | agreement beside accuracy |
#
# **Three mistakes to remember**
#
# 1. Loading a stranger's pickle: it is a program, not data.
# 2. Comparing models, and not what comes before them. The transform is part of the model.
# 3. Believing whatever arrives: its length, its size, its kind. Count, look at the header, then decode.
#
# **Where to read more**: *torch.export* and *torch.onnx* in PyTorch's documentation, with their
# programming models; the safetensors format description; ONNX Runtime's pages on quantisation;
# Pillow's on image file formats and decompression bombs; Jacob and others (2018), *Quantization and
# Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference*; Little (1961), *A
# Proof for the Queuing Formula: L = λW*; Gil Tene's talks on *coordinated omission*.
