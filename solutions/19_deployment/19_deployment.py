# ---
# jupyter:
#   course:
#     title: Deployment
#     minutes: 200
#     core: 100
# ---

# %% [markdown]
# # Deployment: does it still say the same outside the notebook?
#
# A detector finds the largest shape in a picture. It is right here, in this notebook, on the tensors
# that trained it. Then it moves: into a file, into another runtime, behind a web address, into
# eight bits. At each move something may change without an error. This chapter makes every move with
# the same detector, and asks each time the same sixty pictures whether it still says the same.
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
import torch, torch.nn as nn, numpy as np  # fmt: skip # noqa: E401
from course_utils import check_predictions, device, every_case
from course_utils import runs_with_the_answer, seed_everything
from course_utils.chapters.deployment import detector as drawn
from course_utils.chapters.deployment import exporting, safe_files as files

# %% nbgrader={"grade_id": "tools", "locked": true} jupyter={"source_hidden": true}
import json
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path

from course_utils.chapters.deployment.noise import refusal

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
    "Six pictures of coloured shapes; a box drawn around the largest in each, its class above.",
)

# %% [markdown]
# Keep that in mind, and watch how little it takes. The same detector, the same pictures; only that
# the "server" opens them with another library, whose channels come blue first:

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


# %% nbgrader={"grade_id": "eight-things", "locked": true} tags=["to-be-read"]
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
# instructions in it. **safetensors** is 8 bytes that say how long the header is, the header in JSON, and
# the numbers. Read a tiny file by hand:

# %%
from safetensors.torch import load, save

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
# What it can't know is what *you* expect. A file with other names, shapes or dtypes, or full of `nan`,
# is a sound file. `load_state_dict` would notice names and shapes; a float16 it converts in silence, and
# it takes any number:

# %%
odd = save({"weight": torch.tensor([[float("nan")]]).half(), "bias": torch.zeros(1)})
layer = nn.Linear(1, 1)
print(layer.load_state_dict(load(odd)), layer.weight)

# %% [markdown]
# ### Exercise 19.2 — A loader that refuses ★★ · 20 min · 4 points
#
# Write `safe_files(content, wanted)`. `content` is the bytes of a safetensors file; `wanted` says what
# has to be in it: for each name a tuple of shape and dtype, such as `{"bias": ((2,), torch.float32)}`;
# dtypes are float32 (`F32`), float16 (`F16`) and int64 (`I64`). Return a dict from names to tensors, if
#
# - the file is whole and its header is true: no byte is missing, none is left over, none belongs to two
#   tensors;
# - its names are those of `wanted`, none more and none less (`__metadata__` isn't a tensor's name);
# - every shape and dtype is the wanted one;
# - every number is finite.
#
# If anything is wrong, raise a `ValueError` that says what; never another exception. The tensors own their
# memory: writing into them doesn't change `content`. You may use `load`, which raises a
# `safetensors.SafetensorError`, or read the file by hand. Example: the file above, cut short by a byte,
# raises a `ValueError`.


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
    except SafetensorError as error:
        raise ValueError(f"not a whole safetensors file: {error}") from error
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
# With `load`, one `try` turns its error into yours. Then three comparisons are left: names, shape and
# dtype, finite numbers.
# </details>
# <details><summary>Hint 2</summary>
#
# By hand, everything that `json`, `struct`, `int` or a missing key raises has to become a `ValueError`
# as well. Sort the tensors by where they begin: each one has to begin where the one before it ends.
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

# %% [markdown]
# A flat list of ATen operators; the class is gone. Shapes are fixed numbers unless you say that a
# dimension is free. `batch` is: the symbol `s…` below stands for any size from 1 to 64.

# %%
x = next(node for node in program.graph.nodes if node.name == "x")
print("a picture's shape has a symbol in front:", not isinstance(x.meta["val"].shape[0], int))
print("the others are numbers:", list(x.meta["val"].shape[1:]))

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
# The stand-ins have no values. So what happens where Python asks for a value? **Predict**: the branch
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
# And a *size* that comes out of a tensor (`n.item()`) becomes a symbol of its own. Nothing is known
# about it; `torch._check(n <= 6)` is an assertion that the exporter learns from and that the exported
# program makes when it runs.
#
# ### Exercise 19.3 — Refused, mended ★★ · 20 min · 4 points · core
#
# Here are four programs. `torch.export` refuses each of them, because a Python statement asks for a
# value. `export_it(program, *inputs)` computes the same, so that the export accepts it with a free
# number of rows, and what was exported is right for every input. `x` is float32, (rows, 6), one row or
# more; `n` is a 0-D int64 tensor. Leave `x` as it is. Where `crop` raises, yours may raise anything.


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
    """What ``night(x)``, ``settle(x)``, ``crop(x, n)`` or ``bright(x)`` gives, for ``torch.export``.

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
