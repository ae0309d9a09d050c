# ---
# jupyter:
#   course:
#     title: Debugging
#     minutes: 240
#     core: 145
# ---

# %% [markdown]
# # Debugging: what is the shortest way from a red block to its cause?
#
# Sixty red lines. The first ones are about your cell, the next fifty about files you never opened,
# and the last one says `mat1 and mat2 shapes cannot be multiplied`. Most people scroll, paste the
# whole thing into a search box, and change something at random. There is a shorter way nearly every
# time, and it can be learnt: read one line, look at one frame, ask one question by a tool of ten
# lines. This chapter builds the tools.
#
# **After this chapter you can**
#
# - read a traceback from its last line up, and say what broke and where;
# - name the first module that an input doesn't fit, the first operator that gives a NaN, and the
#   first operator at which two runs part;
# - find what keeps memory alive, why a loader's worker died, what a checkpoint's message means;
# - find out why a model doesn't learn although nothing fails;
# - shrink a failing program of sixty lines to the few that matter, and write a report that gets an
#   answer.
#
# **It leans on** chapter 01 (tensors), 04 (autograd) and 05 (hooks). **Time:** four hours with all
# twelve exercises, half of it reading and running. The core path is marked `· core` and takes under
# two and a half hours. You can skip any exercise.

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn as nn
import torch.nn.functional as F
from course_utils import check_close, check_equal, check_predictions, device, every_case
from course_utils import forbid_changes, runs_with_the_answer, show

# %% [markdown]
# ## 1. What does the red block say? · core
#
# Here is a small network for images of 28 × 28 pixels, and an error in it.


# %%
class Classifier(nn.Module):
    """Images (batch, 1, 28, 28) in, ten scores each out."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(4 * 12 * 12, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).flatten(1))


# %%
try:
    Classifier()(torch.zeros(2, 1, 28, 28))
except RuntimeError as error:
    red = error
print(red)

# %% [markdown]
# We caught the exception, so we can take it apart. A traceback is a list of **frames**: a function
# that was running, and the line it was at. The first frame is the outermost call, the last one is
# where it was raised. Which frames are yours?

# %%
import traceback


def frames_of(error: BaseException) -> list[tuple[str, str, str]]:
    """(whose, function, line) for each frame, the outermost first."""
    entries = traceback.extract_tb(error.__traceback__)
    whose = ["library" if "site-packages" in entry.filename else "yours" for entry in entries]
    return [(who, entry.name, entry.line) for who, entry in zip(whose, entries, strict=True)]


for whose, function, line in frames_of(red):
    print(f"{whose:8}{function:14}{line}")

# %%
import matplotlib.pyplot as plt

BLUE, RED, GREY = "#4a90d9", "#d1495b", "#8a8a8a"
rows = [*frames_of(red), ("what", "RuntimeError", str(red))]
lowest = max(n for n, (whose, *_) in enumerate(rows) if whose == "yours")
figure, axes = plt.subplots(figsize=(9, 0.42 * len(rows)))
for n, (whose, function, line) in enumerate(rows):
    colour = RED if n in (lowest, len(rows) - 1) else BLUE if whose == "yours" else GREY
    box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": colour, "lw": 1.5}
    text = f"{function}: {line[:78]}"
    axes.text(0.17, -n, text, color=colour, fontsize=9, va="center", bbox=box)
    axes.text(0, -n, whose, color=colour, fontsize=9, va="center")
axes.text(0.88, -lowest, "WHERE", color=RED, weight="bold", va="center")
axes.text(0.93, 1 - len(rows), "WHAT", color=RED, weight="bold", va="center")
axes.set(xlim=(0, 1), ylim=(0.6 - len(rows), 0.6))
axes.axis("off")
show(figure, "A column of frames; the last line says what, the lowest frame of yours says where.")

# %% [markdown]
# Two of these lines matter, both in red. The **last line** says *what*. The **lowest frame that is
# yours** says *where*. What is grey between them tells how PyTorch got from one to the other; you
# need it once in a hundred times. So: last line first, then up to the first line you wrote.
#
# The message has the numbers: `2x676 and 576x10`. The head wants 576 = 4 · 12 · 12, and 676 is
# 4 · 13 · 13. The author of the head forgot how a 3 × 3 window shrinks 28 pixels: to 26, not 24.
#
# ### The frame is still there
#
# The exception keeps its frames, and they keep their variables. Going back to look at them is
# called **post-mortem** debugging. In a notebook, type `%debug` in the next cell after a red block:
# `u` and `d` walk the frames, `p x.shape` prints, `q` leaves. The same by hand:

# %%
frames = [frame for frame, _ in traceback.walk_tb(red.__traceback__)]
mine = [frame for frame in frames if frame.f_globals["__name__"] == "__main__"][-1]
local = mine.f_locals
print(mine.f_code.co_name, "had x of shape", tuple(local["x"].shape))
print("its features would be", tuple(local["self"].features(local["x"]).shape))

# %% [markdown]
# It has a price. As long as `red` lives, so does everything in those frames: a batch, a graph, on
# a GPU gigabytes. After an error in a notebook, IPython keeps the last one for `%debug`. The next
# error takes its place.
#
# ### Misspelt
#
# The shortest red blocks come from names. Tutorials are full of these; each was printed somewhere.
# Python now looks for a near name and proposes it (at the end of the red block, not in the message
# itself), so read to the end.

# %% errata=["typos-000", "typos-003"]
slips = ["nn.Squential", "torch.cumprd", "nn.DataParaller", "torch.set_num_threds", "true"]
slips += ["from torch.utils.data import Dataloader", "from torchvision.transforms as transforms"]
for slip in slips:
    try:
        exec(slip, {"torch": torch, "nn": nn})
    except (AttributeError, NameError, ImportError, SyntaxError) as error:
        said = traceback.format_exception_only(error)[-1].split(" (")[0].strip()
        print(f"{slip:31.31}", said)

# %% [markdown]
# ### Exercise 15.1 — Read the message ★ · 8 min · 3 points · core
#
# Twelve programs that fail, each with the message it gave. For each write `(what, where)`:
#
# - *what* is one of `"shape"`, `"dtype"`, `"device"`, `"range"` (an index outside its table),
#   `"graph"` (something about gradients), `"name"`, `"none"` (a function returned nothing);
# - *where* is the number of the lowest line in the traceback that belongs to the program: the line
#   that was running, which is not always the line to mend. Empty lines count.
#
# For example, `x = torch.ones(2)` in line 1 and `y = x[5]` in line 2 give `("range", 2)`. The first
# four take two minutes. Fill them in, run the first check, and go on with the other eight.

# %% nbgrader={"grade_id": "programs", "locked": true} jupyter={"source_hidden": true}
programs = {
    "A": """hidden = nn.Linear(8, 4)
head = nn.Linear(8, 2)
x = torch.ones(3, 8)
y = head(hidden(x))""",
    "B": """layers = [nn.Linear(2, 2), nn.ReLU()]
model = nn.Squential(*layers)
y = model(torch.ones(1, 2))""",
    "C": """layer = nn.Linear(3, 1)
photo = torch.tensor([[255, 0, 7]], dtype=torch.uint8)
y = layer(photo)""",
    "D": """table = nn.Embedding(10, 4)
words = torch.tensor([1, 9, 10])
vectors = table(words)""",
    "E": """scores = torch.zeros(2, 3)
labels = torch.tensor([[0], [2]])
loss = F.cross_entropy(scores, labels)""",
    "F": """w = torch.ones(2, requires_grad=True)
loss = w.square().sum()
loss.backward()
loss.backward()""",
    "G": """w = torch.ones(2, requires_grad=True)
y = w.exp()
y += 1
y.sum().backward()""",
    "H": """x = torch.ones(2, 3, device="meta")
layer = nn.Linear(3, 1)
y = layer(x)""",
    "I": """class Double(nn.Module):
    def forward(self, x):
        2 * x

y = Double()(torch.ones(1, 2))
z = nn.Linear(2, 2)(y)""",
    "J": """hits = torch.zeros(3, dtype=torch.int64)
scores = torch.tensor([0.5, 0.2, 0.9])
hits += scores""",
    "K": """w = torch.ones(2)
loss = w.sum()
loss.backward()""",
    "L": """def scale(x):
    return x / x.mean()

counts = torch.tensor([1, 2, 3])
y = scale(counts)""",
}


def run_program(source: str) -> tuple[str, int]:
    """The message of what a program raises, and the number of its lowest line in the traceback."""
    try:
        exec(compile(source, "the program", "exec"), {"torch": torch, "nn": nn, "F": F})
    except Exception as error:
        entries = traceback.extract_tb(error.__traceback__)
        lines = [entry.lineno for entry in entries if entry.filename == "the program"]
        return f"{type(error).__name__}: {error}", lines[-1]
    return "", 0


# %%
for name, source in programs.items():
    print(f"--- {name}")
    print("\n".join(f"{n}  {line}" for n, line in enumerate(source.splitlines(), 1)))
    print(run_program(source)[0][:130])

# %% nbgrader={"grade_id": "read-the-message", "solution": true}
read_the_message = {
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
read_the_message = {
    "A": ("shape", 4),
    "B": ("name", 2),
    "C": ("dtype", 3),
    "D": ("range", 3),
    "E": ("shape", 3),
    "F": ("graph", 4),
    "G": ("graph", 4),
    "H": ("device", 3),
    "I": ("none", 6),
    "J": ("dtype", 3),
    "K": ("graph", 3),
    "L": ("dtype", 2),
}
### END SOLUTION

# %% nbgrader={"grade_id": "read-the-message-check-1", "grade": true, "points": 1} jupyter={"source_hidden": true}
causes = dict(A="shape", B="name", C="dtype", D="range")
reasons = {
    "A": "mat1 is the input of the head, 3x4; mat2 its weight, 8x2. It shows when the head is called",
    "B": "no attribute of that name: it fails in the line that looks the name up",
    "C": "the sizes fit; 'the same dtype, but got Byte and Float'. It shows when the layer runs",
    "D": "a table of 10 rows has the rows 0 to 9; the message calls the table 'self'",
}
for name in causes:
    guess = read_the_message.get(name)
    pair = isinstance(guess, (tuple, list)) and [type(part) for part in guess] == [str, int]
    assert guess is None or pair, f"{name}: {guess!r}? Write a pair such as ('range', 2)"
truth = {name: (what, run_program(programs[name])[1]) for name, what in causes.items()}
check_predictions({name: read_the_message.get(name) for name in causes}, truth, reasons)

# %% nbgrader={"grade_id": "read-the-message-check-2", "grade": true, "points": 2} jupyter={"source_hidden": true}
causes = dict(
    E="shape", F="graph", G="graph", H="device", I="none", J="dtype", K="graph", L="dtype"
)
reasons = {
    "E": "labels must be 0-D or 1-D here, these are (2, 1); the loss is where it shows",
    "F": "the first backward() freed what it had saved; the second one finds out",
    "G": "line 3 is to blame, yet it ran: exp keeps its result for backward(), which finds it changed",
    "H": "'device cpu is not on the expected device meta': they meet when the layer is called",
    "I": "forward has no return, which is no error; the next function to get the None complains",
    "J": "'Float can't be cast to Long': += must write floats into a tensor of integers",
    "K": "nothing here requires a gradient, so there is no graph to go back through",
    "L": "the mean of integers has no dtype; the lowest line is the one inside scale, not its call",
}
for name in causes:
    guess = read_the_message.get(name)
    pair = isinstance(guess, (tuple, list)) and [type(part) for part in guess] == [str, int]
    assert guess is None or pair, f"{name}: {guess!r}? Write a pair such as ('range', 2)"
truth = {name: (what, run_program(programs[name])[1]) for name, what in causes.items()}
check_predictions({name: read_the_message.get(name) for name in causes}, truth, reasons)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Look in the message for sizes ("1x4"), for dtype names (Byte, Long, Float), for a device, for
# "out of range", for "backward" or "grad".
# </details>
# <details><summary>Hint 2</summary>
#
# Which line was running? Making a tensor or a layer rarely fails. Using it does.
# </details>
#
# Program G is the one to remember: *where it is raised is not where it went wrong*. The rest of the
# chapter is about that distance.

# %% [markdown]
# ## 2. Which module doesn't the input fit? · core
#
# In the classifier above the lowest frame was one line with three calls in it. In a network of
# sixty layers it is a loop over sixty modules, and the line tells you nothing. Which module was it?
#
# > **Then and now.** *"A wrong input size of a linear layer shows up as an illegal parameter of
# > SGEMM."* Sizes are now compared before the matrix library is called, and the message has both.

# %% errata=["sgemm-illegal-value"]
try:
    nn.Linear(3, 2)(torch.zeros(1, 4))
except RuntimeError as error:
    print(error)

# %% [markdown]
# Read it as: the input is 1 × 4, and the layer's weight, transposed, is 3 × 2. The inner two
# numbers must agree. The message knows no module's name, though. Chapter 05 has the opening for
# this: hooks. A forward hook is called when a module has finished:

# %% topics=["shape-asserts"]
import contextlib
from functools import partial


def shapes_along(model: nn.Module, x: torch.Tensor) -> list[tuple[str, tuple, tuple]]:
    """(name, input shape, output shape) of each innermost module that finished."""
    rows = []

    def note(name, module, args, output):
        rows.append((name, tuple(args[0].shape), tuple(output.shape)))

    for name, module in model.named_modules():
        if not [*module.children()]:
            module.register_forward_hook(partial(note, name))
    with contextlib.suppress(RuntimeError):
        model(x)
    return rows


rows = shapes_along(Classifier(), torch.zeros(2, 1, 28, 28))
rows

# %%
figure, axes = plt.subplots(figsize=(9, 2))
steps = [("input", rows[0][1]), *((name, out) for name, _, out in rows), ("head wants", (2, 576))]
for n, (name, shape) in enumerate(steps):
    colour = RED if name == "head wants" else BLUE
    box = {"boxstyle": "round,pad=0.5", "facecolor": "white", "edgecolor": colour, "lw": 1.5}
    axes.text(
        n, 0, f"{name}\n{shape}", ha="center", va="center", color=colour, bbox=box, fontsize=9
    )
arrow = {"arrowstyle": "-|>", "color": GREY, "lw": 1.5}
for n in range(len(steps) - 1):
    axes.annotate("", (n + 0.62, 0.5), (n + 0.38, 0.5), arrowprops=arrow)
axes.text(3.5, -0.75, "4 · 13 · 13 = 676, not 576", color=RED, ha="center")
axes.set(xlim=(-0.5, 4.5), ylim=(-1, 1))
axes.axis("off")
show(figure, "Shapes along the network: the pool gives 4 by 13 by 13, the head wants 576 numbers.")

# %% [markdown]
# The three modules that finished are listed; the head isn't, it never did. "The one after the last
# that finished" is a guess, though. Modules run in the order of `forward`, not in the order of
# their names. A **pre-hook** is called when a module begins. So keep a list: a module that begins
# is appended, a module that finishes is taken off. *At any time the list holds the modules that
# began and did not finish*, the innermost last. When an exception flies, its last entry is where.
#
# Why not simply the last module that began? Here two branches run well, and joining them fails.
# **Predict** both lines:


# %% topics=["shape-asserts"]
class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(4, 2), nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stack([self.left(x), self.right(x)])


# %% topics=["shape-asserts"]
model, began, running = nn.Sequential(nn.Linear(4, 4), Branches()), [], []


def begin(name, *_):
    began.append(name)
    running.append(name)


def finish(*_):
    running.pop()


# %% topics=["shape-asserts"]
for name, module in model.named_modules():
    module.register_forward_pre_hook(partial(begin, name))
    module.register_forward_hook(finish)
try:
    model(torch.zeros(1, 4))
except RuntimeError:
    print("the last that began:", began[-1])
    print("began, not finished:", running)

# %% [markdown]
# `1.right` is innocent. The fault is in the `forward` of `1`, between its children. (The model
# itself has the empty name.)
#
# ### A dry run costs nothing
#
# To try a shape you need no data and no memory. On the device `meta` tensors have a shape and a
# dtype and no numbers. A model can be built there, or a copy be moved there:

# %% topics=["shape-asserts"]
with torch.device("meta"):
    huge = nn.Sequential(nn.Linear(100_000, 200_000), nn.ReLU(), nn.Linear(200_000, 10))
    print("output:", tuple(huge(torch.empty(64, 100_000)).shape))
print(
    "parameters:", sum(p.numel() for p in huge.parameters()) // 10**9, "thousand million, 0 bytes"
)

# %% [markdown]
# ### Say it yourself, sooner
#
# Cheaper than finding an error is an error in the right place. While you develop, write down what
# you believe about shapes. `assert` will do. `torch._check` is what PyTorch's own Python code uses:
# the words are a function, called only on failure, and `torch.compile` understands it. Its leading
# underscore is historical; it is documented.


# %% topics=["shape-asserts"]
def attend(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """Scores (batch, n, m) of queries (batch, n, d) with keys (batch, m, d)."""
    words = f"the last sizes differ: query {tuple(query.shape)}, key {tuple(key.shape)}"
    torch._check(query.shape[-1] == key.shape[-1], lambda: words)
    return query @ key.mT


try:
    attend(torch.zeros(2, 5, 8), torch.zeros(2, 7, 6))
except RuntimeError as error:
    print(error)

# %% [markdown]
# ### Exercise 15.2 — Shape detective ★★ · 18 min · 4 points · core
#
# Write `shape_detective(model, shape)`. It runs the model once on a float32 input of that shape
# (any values), in the mode the model is in, and returns
#
# - `None` if that works;
# - otherwise `(name, size)`: the name, as `named_modules()` gives it, of the innermost module whose
#   `forward` began and did not finish, and the shape of its first argument, as a tuple.
#
# The exception does not leave your function. The model is afterwards as it was: parameters,
# buffers (a BatchNorm in training counts its batches), modes, `.grad` and hooks, its own hooks
# included. The global random state is as it was, too.
#
# Examples: for the classifier, `("head", (2, 676))`. For the branches, in a model of one linear
# layer and them, `("1", (1, 4))`: they began, and both children had finished.


# %% nbgrader={"grade_id": "suspects", "locked": true} jupyter={"source_hidden": true}
class Lambda(nn.Module):
    """A module whose forward is a function."""

    def __init__(self, function, **modules) -> None:
        super().__init__()
        self.function = function
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(self, x)


def make_suspect(name: str) -> nn.Module:
    """One of the models that the check tries, on the course's device."""
    torch.manual_seed(0)
    linear, seq = nn.Linear, nn.Sequential
    branches = Lambda(
        lambda m, x: torch.stack([m.left(x), m.right(x)]), left=linear(4, 2), right=linear(4, 3)
    )
    twice = Lambda(
        lambda m, x: m.tail(m.block(m.block(x))), tail=linear(6, 6), block=seq(linear(4, 6))
    )
    normal = seq(linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.ReLU(), linear(5, 2))
    view = Lambda(lambda m, x: m.layer(x).view(x.shape[0], 7), layer=linear(4, 4))
    order = Lambda(lambda m, x: m.a(m.b(x)), a=linear(3, 2), b=linear(4, 5))
    conv = seq(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), linear(576, 10))
    return {
        "classifier": conv,
        "branches": seq(linear(4, 4), branches),
        "called twice": twice,
        "batchnorm": normal,
        "its own forward": view,
        "other order": order,
        "nested": seq(linear(4, 4), seq(nn.ReLU(), seq(linear(4, 4), linear(3, 1)))),
        "channels": seq(nn.Conv2d(3, 2, 3), nn.ReLU()),
        "one sample": seq(linear(4, 4), nn.BatchNorm1d(4)),
    }[name].to(device)


# %% nbgrader={"grade_id": "try-shape-detective", "locked": true} jupyter={"source_hidden": true}
def state_of(model: nn.Module) -> dict:
    """What an onlooker can see of a model, and of the random state."""
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    modules = [*model.modules()]
    return {
        "parameters or buffers": {
            name: (str(t.device), t.tolist()) for name, t in model.state_dict().items()
        },
        "modes": [module.training for module in modules],
        "hooks": [len(getattr(module, hook)) for module in modules for hook in hooks],
        ".grad": [p.grad is None for p in model.parameters()],
        "requires_grad": [p.requires_grad for p in model.parameters()],
        "random state": torch.get_rng_state().tolist(),
    }


@runs_with_the_answer
def try_shape_detective(name: str, shape: tuple, mode: bool, hooked: bool) -> tuple:
    """What the detective says of a model, and what it changed."""
    model = make_suspect(name).train(mode)
    if hooked:
        model.register_forward_hook(lambda *_: None)
    before = state_of(model)
    answer = shape_detective(model, shape)
    after = state_of(model)
    return answer, [what for what in before if before[what] != after[what]]


# %% nbgrader={"grade_id": "shape-detective", "solution": true}
def shape_detective(model: nn.Module, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
    """The innermost module that began and did not finish, as (name, input shape); else None."""
    ### BEGIN SOLUTION
    import copy

    twin, running = copy.deepcopy(model).to("meta"), []

    def begin(name, module, args):
        running.append((name, tuple(args[0].shape)))

    def finish(module, args, output):
        running.pop()

    for name, module in twin.named_modules():
        module.register_forward_pre_hook(partial(begin, name))
        module.register_forward_hook(finish)
    try:
        twin(torch.empty(shape, device="meta"))
    except Exception:
        return running[-1]
    return None
    ### END SOLUTION


# %% nbgrader={"grade_id": "shape-detective-check", "grade": true, "points": 4}
def check_case(name, shape, right, because="", mode=True, hooked=False):
    answer, changed = try_shape_detective(name, shape, mode, hooked)
    call = f"shape_detective({name!r}, {shape})"
    if answer is not None and right is not None:
        pair = isinstance(answer, (tuple, list)) and len(answer) == 2
        assert pair, f"{call} is {answer!r}, expected a pair (name, shape)"
    assert answer is None or right is not None, f"{call} is {answer!r}, but that shape fits: None"
    check_equal(answer, right, call, because)
    assert not changed, f"{call} left the model changed, in its {', '.join(changed)}"


with every_case() as case:
    for name, shape, right, because in (
        ("classifier", (2, 1, 28, 28), ("4", (2, 676)), ""),
        ("branches", (1, 4), ("1", (1, 4)), "both children finished; their parent did not"),
        ("its own forward", (2, 4), ("", (2, 4)), "the model's own forward fails: the empty name"),
        ("other order", (2, 4), ("a", (2, 5)), "b runs before a, whatever the order of names"),
        ("called twice", (2, 4), ("block.0", (2, 6)), "the second call fails, not the first"),
        ("batchnorm", (3, 4), ("4", (3, 4)), "training"),
        ("one sample", (1, 4), ("1", (1, 4)), "in training, one sample has no variance"),
        ("one sample", (2, 4), None, ""),
    ):
        with case(name):
            check_case(name, shape, right, because)
    with case("a model with a hook of its own"):
        check_case("nested", (5, 4), ("1.1.1", (5, 4)), "nested names have dots", hooked=True)
    with case("one sample, in eval mode"):
        check_case("one sample", (1, 4), None, mode=False)
### BEGIN HIDDEN TESTS
with every_case() as case:
    for name, shape, right in (
        ("classifier", (2, 1, 26, 26), None),
        ("classifier", (2, 3, 28, 28), ("0", (2, 3, 28, 28))),
        ("channels", (1, 1, 8, 8), ("0", (1, 1, 8, 8))),
        ("channels", (1, 3, 8, 8), None),
        ("nested", (7,), ("0", (7,))),
        ("batchnorm", (3, 7), ("0", (3, 7))),
        ("batchnorm", (1, 4), ("1", (1, 4))),
    ):
        with case(name):
            check_case(name, shape, right, hooked=True)
    with case("batchnorm, in eval mode"):
        check_case("batchnorm", (1, 4), ("4", (1, 4)), mode=False)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A copy of the model takes the hooks and the BatchNorm's counting; the original sees none of it.
# `copy.deepcopy` copies modules.
# </details>
# <details><summary>Hint 2</summary>
#
# On `meta` nothing is drawn, not even by dropout, so the random state stays. Move the copy there.
# </details>
# <details><summary>Hint 3</summary>
#
# The pre-hook appends the name and the shape of `args[0]`; the forward hook pops. Bind the name with
# `partial`. Neither may return a value.
# </details>

# %% [markdown]
# ## 3. Which dtypes and devices may meet? · core
#
# Sizes are half of all red blocks. The next quarter comes from tensors of different dtypes. Some
# pairs are turned into a common dtype, silently: that is **promotion**. Others are refused. Which?
# Ask the machine about every pair, once for `a + b` and once for `a @ b`:

# %% topics=["conversion-error-catalogue"]
dtypes = ["uint8", "int32", "int64", "bfloat16", "float16", "float32", "float64"]


def result_of(operation, first: str, second: str) -> str:
    """The dtype of operation(first, second), or "" if it is refused."""
    try:
        return str(
            operation(*(torch.ones(2, 2, dtype=getattr(torch, d)) for d in (first, second))).dtype
        )[6:]
    except RuntimeError:
        return ""


result_of(torch.add, "int64", "float16"), result_of(torch.matmul, "int64", "float16")

# %%
figure, both = plt.subplots(1, 2, figsize=(9.5, 3.9))
for axes, operation in zip(both, (torch.add, torch.matmul), strict=True):
    grid = [[result_of(operation, row, column) for column in dtypes] for row in dtypes]
    colours = [
        [(0.82, 0.29, 0.36) if not entry else (0.29, 0.56, 0.85) for entry in row] for row in grid
    ]
    axes.imshow(colours)
    for y, row in enumerate(grid):
        for x, entry in enumerate(row):
            short = entry.replace("float", "f").replace("int", "i").replace("uint", "u")
            axes.text(x, y, short or "–", ha="center", va="center", color="white", fontsize=9)
    axes.set_xticks(range(7), dtypes, rotation=60)
    axes.set_yticks(range(7), dtypes)
    axes.set_title(f"torch.{operation.__name__}(row, column)")
figure.tight_layout()
show(figure, "Two grids of dtype pairs: addition promotes all pairs, matmul takes equal ones only.")

# %% [markdown]
# Blue holds the result's dtype, red is refused. **Elementwise** operators promote every pair, also
# across kinds: int64 and float16 give float16. **Products** and everything built on them (linear,
# convolution, attention) take equal dtypes only. The matrix libraries under them have no mixed
# kernels, and a silent conversion of a large weight would cost more than the product.
#
# These are the messages of today. Older ones ("expected Float but got Double for argument #2")
# read otherwise. Each names both sides, in the old names: Byte is uint8, Long int64, Half float16.

# %% topics=["conversion-error-catalogue", "target-shape-errors"]
linear, scores, ones = nn.Linear(3, 1), torch.zeros(2, 3), torch.ones(2)
for line in (
    "linear(scores.double())",
    "linear(scores.byte())",
    "nn.Conv2d(1, 1, 1)(scores.byte().view(1, 1, 2, 3))",
    "F.cross_entropy(scores, ones.int())",
    "F.binary_cross_entropy_with_logits(ones, ones.long())",
    "ones.long().mean()",
    "F.mse_loss(ones, ones.double()).dtype",
):
    try:
        print(f"{line:55}", eval(line))
    except RuntimeError as error:
        print(f"{line:55}", str(error)[:66])

# %% [markdown]
# The last one is no error. It is worse: one float64 tensor, straight from NumPy, and from there on
# everything elementwise is float64, at half the speed or far less on a GPU. A 0-dim tensor doesn't
# do that. Within one kind (floats, integers), it gives way to tensors with dimensions, as Python
# numbers do:

# %% topics=["conversion-error-catalogue"]
print("0-dim float64:", (torch.ones(2) + torch.tensor(1.0, dtype=torch.float64)).dtype)
print("1-dim float64:", (torch.ones(2) + torch.ones(1, dtype=torch.float64)).dtype)

# %% [markdown]
# **Devices** never mix, with that one exception of a 0-dim CPU tensor. Without a GPU you can still
# test for it: `meta` is a device, too, and what forgets `device=x.device` fails there as it would
# on CUDA. The messages name both devices.

# %% topics=["conversion-error-catalogue"]
x = torch.empty(2, 3, device="meta")
try:
    x + torch.arange(3)
except RuntimeError as error:
    print(error)
print((x + torch.arange(3, device=x.device)).device, (x + torch.tensor(1.0)).device)

# %% [markdown]
# ### Exercise 15.3 — Six that mix ★★ · 14 min · 3 points · core
#
# Six small programs. Four raise on every machine, one where the data is on another device, and one
# runs and is wrong. For each, put a repaired function (a `lambda` or a name) with the same
# parameters into the dict.
#
# | name | broken | wanted |
# | --- | --- | --- |
# | `photo` | `lambda layer, photo: layer(photo)` | uint8 photos (batch, 3), scaled from 0…255 to 0…1, through a float32 layer |
# | `rows` | `lambda layer, rows: layer(torch.from_numpy(rows))` | a float64 array (batch, 3) through a float32 layer; the layer stays float32 |
# | `labels` | `lambda scores, labels: F.cross_entropy(scores, labels)` | labels int32 (batch,) |
# | `hits` | `lambda hits, scores: hits.add_(scores)` | integer `hits` and float `scores`: return a new float32 tensor, their sum; `hits` stays as it is |
# | `number` | `lambda x: x + torch.arange(x.shape[-1])` | x float32 (…, n), on any device: add 0, 1, …, n−1 along the last dimension |
# | `frames` | `lambda a, b: (a - b).abs().float().mean()` | two uint8 images: the mean absolute difference, float32, 0-dim |
#
# No argument is changed. All results are float32, on the device of the input (`rows`: the layer's).
# Example: for `a = [3]` and `b = [5]`, `frames` is 2.


# %% nbgrader={"grade_id": "try-dtype-and-device", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_dtype_and_device(name: str, *args) -> tuple:
    """What the repaired function returns, and the dtype of the layer's weight afterwards.

    "photo" and "rows" get a layer first; its weight is (1, 2, 3), its bias 0.5.
    """
    repaired = dtype_and_device.get(name) if isinstance(dtype_and_device, dict) else None
    assert repaired is not None, f"{name}: there is no function yet"
    assert callable(repaired), f"{name} holds {repaired!r}, which can't be called"
    if name not in ("photo", "rows"):
        return repaired(*args), "float32"
    layer = nn.Linear(3, 1, device=device)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2, 3]]))
        layer.bias.fill_(0.5)
    result = repaired(layer, *args)
    result = result.detach() if isinstance(result, torch.Tensor) else result
    return result, str(layer.weight.dtype)[6:]


@runs_with_the_answer
def try_on_meta(shape: tuple) -> str:
    """The device of number(x) for an x on the device meta, or what it raises."""
    x = torch.empty(shape, device="meta")
    try:
        result = dtype_and_device["number"](x)
    except (RuntimeError, NotImplementedError) as error:
        return str(error).splitlines()[0]
    return str(getattr(result, "device", result))


# %% nbgrader={"grade_id": "dtype-and-device", "solution": true}
dtype_and_device = {
    "photo": None,
    "rows": None,
    "labels": None,
    "hits": None,
    "number": None,
    "frames": None,
}
### BEGIN SOLUTION
dtype_and_device = {
    "photo": lambda layer, photo: layer(photo.float() / 255),
    "rows": lambda layer, rows: layer(torch.from_numpy(rows).to(layer.weight)),
    "labels": lambda scores, labels: F.cross_entropy(scores, labels.long()),
    "hits": lambda hits, scores: (hits + scores).float(),
    "number": lambda x: x + torch.arange(x.shape[-1], device=x.device),
    "frames": lambda a, b: (a.float() - b.float()).abs().mean(),
}
### END SOLUTION

# %% nbgrader={"grade_id": "dtype-and-device-check", "grade": true, "points": 3}
import numpy as np


def check_case(name, right, *args, slip=None, why=""):
    with forbid_changes(*(value for value in args if isinstance(value, torch.Tensor))):
        result, weight = try_dtype_and_device(name, *args)
    if slip is not None and isinstance(result, torch.Tensor) and result.shape == slip.shape:
        assert not torch.allclose(result.double(), slip.double()), f"{name}: {why}"
    check_close(result, right, name, rtol=1e-5, atol=1e-5)
    assert weight == "float32", f"{name} turned the layer into {weight}: convert the data instead"


def tensor(values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype, device=device)


photo, layer = tensor([[255, 0, 51], [0, 255, 255]], torch.uint8), tensor([[1.0], [2], [3]])
array = np.array([[0.5, 1, -2], [0, 0, 1]])
scores, labels = tensor([[2.0, 0, 1], [0, 1, 0]]), tensor([0, 2], torch.int32)
a, b = tensor([[3, 200], [0, 7]], torch.uint8), tensor([[5, 100], [255, 7]], torch.uint8)
with every_case() as case:
    with case("photo"):
        right = photo.float() / 255 @ layer + 0.5
        check_case("photo", right, photo, slip=photo.float() @ layer + 0.5, why="not scaled to 0…1")
    with case("rows"):
        check_case("rows", tensor(array.tolist()) @ layer + 0.5, array)
    with case("labels"):
        check_case("labels", F.cross_entropy(scores, labels.long()), scores, labels)
    with case("hits"):
        hits = tensor([1, 2, 3], torch.int64)
        check_case("hits", tensor([1.5, 2.25, 4]), hits, tensor([0.5, 0.25, 1]),
                   slip=tensor([1.0, 2, 4]), why="the fractions were cut off")  # fmt: skip
    with case("number"):
        check_case("number", tensor([[0.0, 1, 2], [1, 2, 3]]), tensor([[0.0, 0, 0], [1, 1, 1]]))
    with case("number, on another device"):
        check_equal(try_on_meta((2, 3)), "meta", "the device of number(x), for x on meta")
    with case("frames"):
        wrapped, why = (
            (a - b).abs().float().mean(),
            "3 - 5 is 254 in uint8: convert before you subtract",
        )
        check_case("frames", tensor(89.25), a, b, slip=wrapped, why=why)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(2)
x = torch.randn(2, 3, 4, generator=generator).to(device)
with every_case() as case:
    with case("number"):
        check_case("number", x + torch.arange(4.0, device=device), x)
        check_case("number", x[..., 0] + torch.arange(3.0, device=device), x[..., 0])
        check_equal(try_on_meta((4,)), "meta", "the device of number(x), for x on meta")
    with case("frames"):
        images = torch.randint(256, (2, 9, 8), dtype=torch.uint8, generator=generator).to(device)
        right = (images[0].double() - images[1].double()).abs().mean().float()
        check_case("frames", right, images[0], images[1])
    with case("rows, not contiguous"):
        rows = np.arange(12.0).reshape(3, 4).T[::2]
        check_case("rows", tensor(rows.tolist()) @ layer + 0.5, rows)
    with case("hits, int32"):
        check_case("hits", tensor([1.5, 3]), tensor([1, 2], torch.int32), tensor([0.5, 1]))
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Convert the data, not the layer: `layer.double()` changes the layer for everyone else.
# `t.to(other)` takes over both dtype and device of another tensor.
# </details>
# <details><summary>Hint 2</summary>
#
# uint8 wraps around: 3 − 5 = 254. The conversion must come before the difference.
# </details>

# %% [markdown]
# ## 4. What if the label is wrong? · core
#
# The wrong value of an index is the third classic. On the CPU it is a plain error. Class ids go
# from 0 to C − 1; −100, the default `ignore_index`, is skipped.

# %% topics=["device-side-assert", "target-shape-errors"] errata=["device-assert-diagnosis"]
scores = torch.zeros(2, 3)  # (batch, class)
for labels in ([0, 3], [0, -1], [0, -100], [[0], [2]], [0, 1, 2]):
    try:
        print(f"{labels!s:12}", round(F.cross_entropy(scores, torch.tensor(labels)).item(), 2))
    except (RuntimeError, IndexError, ValueError) as error:
        print(f"{labels!s:12} {type(error).__name__}: {error}")

# %% [markdown]
# "Multi-target not supported" means: labels of shape (batch, 1). Take off that dimension by
# `squeeze(1)`, not by `squeeze()`, which would also take off a batch of one:

# %% topics=["target-shape-errors"]
for batch in (2, 1):
    labels = torch.zeros(batch, 1, dtype=torch.int64)
    print(
        tuple(labels.shape),
        "squeeze(1):",
        tuple(labels.squeeze(1).shape),
        " squeeze():",
        tuple(labels.squeeze().shape),
    )

# %% [markdown]
# On a GPU the same label does something else. `CUDA error: device-side assert triggered`, in a line
# that has nothing to do with it, and every later CUDA call fails as well. Two reasons. A kernel
# can't raise a Python exception: it hits an assert *on the device*, which ends the process's whole
# CUDA context. And a launch only **queues** the work: Python is far ahead when the kernel runs, and
# the first line that waits for a result is blamed. You can watch the second on a CPU, with a thread
# as the queue. **Predict** which line raises:

# %% topics=["device-side-assert", "cuda-launch-blocking"]
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(1) as queue:
    loss = queue.submit(F.cross_entropy, scores, torch.tensor([0, 3]))  # launched: nothing raised
    steps = 1 + 1  # innocent
    try:
        print(f"loss after {steps} steps: {loss.result()}")  # the first to wait
    except IndexError as error:
        print("raised where the result is read:", error)

# %% [markdown]
# So there are three ways back to the line:
#
# 1. Run the same batch **on the CPU**: a plain `IndexError` in the right line.
# 2. Set the environment variable `CUDA_LAUNCH_BLOCKING=1` before the process starts. Each launch
#    then waits, and the right line is blamed. It is slow, for debugging only.
# 3. Check the labels before the loss does. That is the exercise.
#
# After a device-side assert the process must be started again; no call repairs its context. With a
# GPU, this cell shows both blames, in processes of their own:

# %% topics=["device-side-assert", "cuda-launch-blocking"] tags=["nbval-ignore-output"]
import os
import subprocess
import sys

program = """import torch, torch.nn.functional as F
loss = F.cross_entropy(torch.zeros(2, 3).cuda(), torch.tensor([0, 3]).cuda())
innocent = torch.ones(2).cuda() + 1
print(innocent.tolist())"""
for blocking in "01" if device.type == "cuda" else "":
    environment = {**os.environ, "CUDA_LAUNCH_BLOCKING": blocking}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    print(
        blocking,
        [
            line.strip()
            for line in ran.stderr.splitlines()
            if "line " in line and "<string>" in line
        ],
    )
print("a GPU was asked" if device.type == "cuda" else "no GPU here: see what the CPU says above")

# %% [markdown]
# > **Often said.** *"A device-side assert means that the training and validation sets have different
# > numbers of classes."* It means that *some* index left its range, in whatever kernel. An
# > embedding's ids are as good a suspect as labels, and so is an index for `gather`:

# %% errata=["device-assert-diagnosis"]
for line in ("nn.Embedding(3, 2)(torch.tensor([3]))", "scores.gather(1, torch.tensor([[3]]))"):
    try:
        eval(line)
    except (IndexError, RuntimeError) as error:
        print(f"{line:40} {type(error).__name__}: {error}")

# %% [markdown]
# ### Exercise 15.4 — A guard at the door ★★ · 12 min · 3 points · core
#
# Write `labels_in_range(scores, labels, ignore_index=-100)`. The scores are float tensors (batch,
# class) or (batch, class, d1, d2, …), for which labels are due in shape (batch,) or (batch, d1, d2,
# …). Return `None` if the labels are fine, else raise a `ValueError` whose message contains
#
# 1. the labels' dtype (such as `torch.int32`), if it is neither `torch.int64` nor `torch.uint8`,
#    the two that the loss takes;
# 2. else both shapes as tuples, the one that is wanted and the one that came, if they differ;
# 3. else the first wrong label and its index as a tuple, if one is neither in 0 … class − 1 nor
#    `ignore_index`. First is meant in row-major order.
#
# Words around them are yours. Nothing is changed. A batch of 0 is fine. Example: `[0, 3]` for three
# classes could give `label 3 at (1,): there are 3 classes`.


# %% nbgrader={"grade_id": "labels-in-range", "solution": true}
def labels_in_range(scores: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> None:
    """Raise ValueError, in words, for labels that cross_entropy(scores, labels) can't take."""
    ### BEGIN SOLUTION
    if labels.dtype not in (torch.int64, torch.uint8):
        raise ValueError(f"labels are {labels.dtype}, expected torch.int64")
    wanted = (scores.shape[0], *scores.shape[2:])
    if tuple(labels.shape) != wanted:
        raise ValueError(f"labels have shape {tuple(labels.shape)}, expected {wanted}")
    ids = labels.long()
    wrong = ((ids < 0) | (ids >= scores.shape[1])) & (ids != ignore_index)
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(
            f"label {labels[index].item()} at {index}: there are {scores.shape[1]} classes"
        )
    ### END SOLUTION


# %% nbgrader={"grade_id": "labels-in-range-check", "grade": true, "points": 3}
import re


def check_case(what, shape, labels, *parts, **options):
    """No parts: the labels are fine. Else the refusal's words must hold each part."""
    scores = torch.zeros(shape, device=device)
    if "ignore_index" in options:
        what += f" (ignore_index={options['ignore_index']})"
    try:
        with forbid_changes(scores, labels):
            result = labels_in_range(scores, labels, **options)
    except ValueError as error:
        assert parts, f"{what}: these are fine, but they were refused with {str(error)!r}"
        for part in parts:
            found = re.search(rf"(?<![\d-]){re.escape(part)}(?!\d)", str(error))
            assert found, f"{what}: the message {str(error)!r} does not contain {part}"
        return
    except (IndexError, RuntimeError, TypeError) as error:
        raise AssertionError(
            f"{what}: {type(error).__name__} ({error}), expected to end without an error or a ValueError"
        ) from error
    assert result is None, f"{what}: returned {result!r}, expected None or a ValueError"
    assert not parts, f"{what}: no ValueError, although the loss can't take them"


def ids(values, dtype=torch.int64):
    return torch.tensor(values, dtype=dtype, device=device)


with every_case() as case:
    for what, shape, labels, *parts in (
        ("labels [0, 2]", (2, 3), ids([0, 2])),
        ("label 3 of three classes", (2, 3), ids([0, 3]), "3", "(1,)"),
        ("label -1", (2, 3), ids([-1, 0]), "-1", "(0,)"),
        ("-100, the default ignore_index", (2, 3), ids([0, -100])),
        ("two wrong ones: the first", (3, 3), ids([0, 7, -5]), "7", "(1,)"),
        ("int32", (2, 3), ids([0, 1], torch.int32), "torch.int32"),
        ("float", (2, 3), ids([0, 1], torch.float32), "torch.float32"),
        ("uint8", (2, 3), ids([0, 2], torch.uint8)),
        ("shape (2, 1)", (2, 3), ids([[0], [1]]), "(2,)", "(2, 1)"),
        ("three labels for a batch of two", (2, 3), ids([0, 1, 2]), "(2,)", "(3,)"),
        ("int32 and a wrong shape", (2, 3), ids([[0], [1]], torch.int32), "torch.int32"),
        ("a label map (1, 2, 2), 5 in its corner", (1, 3, 2, 2), ids([[[0, 1], [2, 5]]]), "5", "(0, 1, 1)"),
        ("an empty batch", (0, 3), ids([])),
    ):  # fmt: skip
        with case(what):
            check_case(what, shape, labels, *parts)
    with case("ignore_index"):
        check_case("labels [0, 255]", (2, 3), ids([0, 255], torch.uint8), ignore_index=255)
        check_case("labels [0, -100]", (2, 3), ids([0, -100]), "-100", "(1,)", ignore_index=-1)
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(1)
with every_case() as case:
    for n in range(12):
        labels = torch.randint(5, (4, 3, 2), generator=generator).to(device).transpose(1, 2)
        index = tuple(int(torch.randint(size, (), generator=generator)) for size in labels.shape)
        value = (5, 99, -1, -100)[n % 4]
        labels[index] = value
        with case(f"label {value} at {index}"):
            parts = () if value == -100 else (str(value), str(index))
            check_case("a label map", (4, 5, 2, 3), labels, *parts)
    with case("other kinds"):
        check_case("bool", (2, 3), ids([0, 1], torch.bool), "torch.bool")
        check_case("uint8 200", (2, 3), ids([0, 200], torch.uint8), "200", "(1,)")
        check_case("map without batch", (2, 3, 4), ids([0, 1]), "(2, 4)", "(2,)")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The wanted shape is `scores.shape` without its entry 1.
# </details>
# <details><summary>Hint 2</summary>
#
# Build one mask of wrong places: below 0 or not below the number of classes, and not equal to
# `ignore_index`. `nonzero()` lists its places in row-major order.
# </details>

# %% [markdown]
# ## 5. What is it doing all the time?
#
# Sometimes there is no message to read, and you want to watch. People put `print(x.shape)` behind
# each line. TorchSnooper did that for them: a decorator that printed every line of a function with
# the shapes of its tensors.
#
# > **Then and now.** *"Use TorchSnooper to trace shapes line by line."* Its last release is of 2020.
# > Today there is a better place to listen than the lines of the source: the **dispatcher**, which
# > every operator passes, forward and backward, in your code and in the library's.
#
# A `TorchDispatchMode` is a `with` block that is called in place of each operator. It gets the
# operator, the arguments, and has to return the result. So the smallest useful one has five lines:

# %% topics=["torchsnooper"]
from torch.utils._python_dispatch import TorchDispatchMode


class Names(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(func.overloadpacket.__name__, end=" ")
        return func(*args, **(kwargs or {}))


w = torch.ones(2, 3, requires_grad=True)
with Names():
    F.linear(torch.ones(4, 3), w).relu().sum().backward()

# %% [markdown]
# Up to `sum` you see what you wrote, in the small operators it consists of. From the second
# `ones_like` on it is the way back, which no line of any source shows. PyTorch has such a mode
# itself; it is still called `torch.utils._debug_mode`, underscore and all, so its output may change:

# %% topics=["torchsnooper"] tags=["nbval-ignore-output"]
from torch.utils._debug_mode import DebugMode

with DebugMode() as recorded:
    F.linear(torch.ones(4, 3), w.detach())
print(recorded.debug_string())

# %% [markdown]
# ### Exercise 15.5 — A logger of your own ★★ · 12 min · 3 points
#
# Write `tensor_logger(write)`: it returns a context manager, inside which every operator calls
# `write` with one line, when it has run:
#
# `name(argument, argument, key=argument) -> result`
#
# - *name* is `func.overloadpacket.__name__`, as above; positional arguments come first, then the
#   keyword arguments as they come;
# - arguments and result are put into words by `describe`, below;
# - arguments are described as they were **before** the operator ran: some work in place;
# - if the operator raises, the line ends in `-> ` and the exception's class name, and the exception
#   goes on;
# - results are what they would be without you, and after the block nothing is written.
#
# Example: `torch.add(x, x, alpha=2)`, for `x` of shape (2, 3), writes
# `add(float32(2, 3), float32(2, 3), alpha=2) -> float32(2, 3)`.


# %% nbgrader={"grade_id": "describe", "locked": true}
def describe(value) -> str:
    """float32(2, 3) for a tensor, [...] for a list or tuple, else the value itself."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype)[6:]}{tuple(value.shape)}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(describe, value)) + "]"
    return repr(value)


# %% nbgrader={"grade_id": "try-tensor-logger", "locked": true} jupyter={"source_hidden": true}
def backward_of_square(x):
    w = x.clone().requires_grad_()
    w.mul(w).sum().backward()
    return w.grad


logged = {
    "add": lambda x: torch.add(x, x, alpha=2),
    "in place": lambda x: x.clone().unsqueeze_(0),
    "two results": lambda x: x.max(1)[0],
    "keyword": lambda x: x.sum(1, dtype=torch.float64),
    "list": lambda x: torch.cat([x, x[:1]]),
    "misfit": lambda x: x @ x,
    "backward": backward_of_square,
    "linear": lambda x: F.linear(x, x[:1], x[0, :1]).tanh(),
    "resize": lambda x: x.clone().t_().mul_(2).squeeze_(0),
    "index": lambda x: x.clone().index_put_(
        (torch.zeros(1, dtype=torch.int64, device=x.device),), x[1]
    ),
}


@runs_with_the_answer
def try_tensor_logger(program: str, x: torch.Tensor) -> tuple:
    """The lines written, the result, the exception, and how many lines came after the block."""
    lines, result, raised = [], None, ""
    manager = tensor_logger(lines.append)
    assert hasattr(manager, "__enter__"), f"tensor_logger returned {manager!r}, no context manager"
    try:
        with manager:
            result = logged[program](x)
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
    before = len(lines)
    x + 1
    return lines, result, raised, len(lines) - before


# %% nbgrader={"grade_id": "tensor-logger", "solution": true}
from collections.abc import Callable


def tensor_logger(write: Callable[[str], object]) -> TorchDispatchMode:
    """A context manager inside which each operator calls ``write`` with a line about itself."""

    ### BEGIN SOLUTION
    class Logger(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            said = [*map(describe, args), *(f"{key}={describe(v)}" for key, v in kwargs.items())]
            call = f"{func.overloadpacket.__name__}({', '.join(said)})"
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                write(f"{call} -> {type(error).__name__}")
                raise
            write(f"{call} -> {describe(result)}")
            return result

    return Logger()
    ### END SOLUTION


# %% nbgrader={"grade_id": "tensor-logger-check", "grade": true, "points": 3}
def check_case(program, x, expected, why=""):
    lines, result, raised, after = try_tensor_logger(program, x)
    check_equal(after, 0, f"{program}: lines written after the block")
    assert lines, f"{program}: no line was written"
    for got, right in zip(lines, expected, strict=False):
        because = why if got != right else ""
        check_equal(got, right, f"{program}: a line", because)
    names = ", ".join(line.split("(")[0] for line in expected)
    check_equal(
        len(lines), len(expected), f"{program}: the number of lines", f"one each for {names}"
    )
    try:
        right = logged[program](x)
    except Exception as error:
        assert raised, f"{program}: the exception did not go on"
        check_equal(
            raised.split(":")[0], type(error).__name__, f"{program}: what came out of the block"
        )
    else:
        check_equal(raised, "", f"{program}: what was raised, though nothing is wrong with it")
        check_close(result, right, f"{program}: the result inside the block")


x, t = torch.arange(6.0, device=device).view(2, 3), "float32(2, 3)"
with every_case() as case:
    for program, why, *expected in (
        ("add", "keyword arguments as key=value", f"add({t}, {t}, alpha=2) -> {t}"),
        ("two results", "describe takes tuples", f"max({t}, 1) -> [float32(2,), int64(2,)]"),
        ("keyword", "keyword arguments as key=value", f"sum({t}, [1], dtype=torch.float64) -> float64(2,)"),
        ("in place", "describe the arguments before the operator runs",
         f"clone({t}) -> {t}", f"unsqueeze_({t}, 0) -> float32(1, 2, 3)"),
        ("misfit", "an operator that raises", f"mm({t}, {t}) -> RuntimeError"),
    ):  # fmt: skip
        with case(program):
            check_case(program, x, expected, why)
    with case("backward"):
        lines, gradient, *_ = try_tensor_logger("backward", x)
        check_close(gradient, 2 * x, "the gradient of the sum of squares inside the block")
        assert any(line.startswith("ones_like(") for line in lines), (
            "backward() was not written down"
        )
### BEGIN HIDDEN TESTS
row = "float32(3,)"
with every_case() as case:
    for program, *expected in (
        ("list", f"slice({t}, 0, 0, 1) -> float32(1, 3)", f"cat([{t}, float32(1, 3)]) -> float32(3, 3)"),
        ("resize", f"clone({t}) -> {t}", f"t_({t}) -> float32(3, 2)",
         "mul_(float32(3, 2), 2) -> float32(3, 2)", "squeeze_(float32(3, 2), 0) -> float32(3, 2)"),
    ):  # fmt: skip
        with case(program):
            check_case(program, x, expected)
    for program in ("linear", "index", "backward"):
        with case(program):
            lines, result, raised, after = try_tensor_logger(program, x)
            check_close(result, logged[program](x), f"{program}: the result inside the block")
            forms = [re.fullmatch(r"\w+\(.*\) -> .+", line) for line in lines]
            assert len(lines) >= 4 and all(forms), (
                f"{program}: a line is missing or of another form"
            )
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Define the mode's class inside the function: then it can use `write`. Return an instance.
# </details>
# <details><summary>Hint 2</summary>
#
# Build the text of the call first, run the operator in a `try`, then write. `raise` alone passes the
# exception on.
# </details>

# %% [markdown]
# ## 6. Where did the NaN come from?
#
# A loss of `nan` is no exception. Nothing is red, and by the time you look every weight is NaN. A
# NaN spreads through whatever touches it, so the question is always: which operator gave the
# *first* one? Here is the entropy of three probabilities, as one writes it down:


# %%
def entropy(p: torch.Tensor) -> torch.Tensor:
    return -(p * p.log()).sum()


entropy(torch.tensor([0.5, 0.5, 0.0]))

# %% [markdown]
# Zero times log 0 should be 0, and in floating point it is 0 · (−∞) = NaN. So the NaN came from a
# product, and the −∞ it was made of came from `log`. Look for infinities as well. A mode can watch
# what comes out of each operator:


# %%
class Finite(TorchDispatchMode):
    """Keeps (operator, share of NaN, share of infinite elements) for each floating result."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            shares = [f(result).float().mean().item() for f in (torch.isnan, torch.isinf)]
            self.rows.append((func.overloadpacket.__name__, *shares))
        return result


# %%
generator = torch.Generator().manual_seed(0)
p = F.normalize(torch.randn(30, generator=generator).relu(), p=1, dim=0).requires_grad_()
with Finite() as watch:
    (entropy(p) * torch.ones(5)).mean().backward()

figure, axes = plt.subplots(figsize=(9, 2.6))
names, nans, infs = zip(*watch.rows, strict=True)
axes.bar(range(len(names)), infs, color="#e8a33d", label="infinite")
axes.bar(range(len(names)), nans, bottom=infs, color=RED, label="NaN")
axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
axes.set(
    ylabel="share",
    title="Non-finite elements in the result of each operator, in the order they ran",
)
axes.legend()
show(
    figure, "Bars by operator: log gives infinities first, mul turns them into NaN, sum spreads it."
)

# %% [markdown]
# Left to right is time. `log` makes infinities of the zeros, `mul` makes NaN of exactly those, and
# the sum makes everything NaN: from one bad element to all of them in one step.
#
# ### When the forward pass is clean
#
# The sly kind has a fine loss and a NaN gradient. **Predict** the gradient of √x at 0:

# %%
x = torch.tensor([0.0, 4.0], requires_grad=True)
loss = (x.sqrt() * torch.tensor([0.0, 1.0])).sum()
loss.backward()
print("loss", loss.item(), " gradient", x.grad.tolist())

# %% [markdown]
# The slope of √x at 0 is infinite. The gradient that arrives there is 0, and 0/0 is NaN. PyTorch
# has a mode for this case: `detect_anomaly` keeps the traceback of each *forward* call, checks each
# gradient for NaN, and raises at the first. (It checks NaN only, not infinities, and it is slow.)

# %% tags=["nbval-ignore-output", "shows-warning"]
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        with torch.autograd.detect_anomaly(check_nan=True):
            (x.sqrt() * torch.tensor([0.0, 1.0])).sum().backward()
    except RuntimeError as error:
        print(error)
print("the forward call:", "x.sqrt()" in "".join(str(warning.message) for warning in caught))

# %% [markdown]
# ### Exercise 15.6 — NaN hunt ★★★ · 25 min · 4 points
#
# `forward()` takes nothing and returns a scalar loss. Write `nan_hunt(forward)`: call it once, and
# if nothing is to blame and the loss requires a gradient, call `backward()` on the loss, once. Return
# `("forward", name)` or `("backward", name)` for the first operator to blame, else `None`. *name* is
# `func.overloadpacket.__name__`. An operator is to blame if its result has
#
# - a NaN, while **none** of its inputs has one; or
# - an infinity, while **all** of its inputs are finite.
#
# Inputs are the tensors and the Python numbers among its arguments, as they were **before** it ran
# (`x.log_()` overwrites its input). They may lie in lists, and be keyword arguments. A mask made by
# `masked_fill(mask, -inf)` is thus not to blame, since the number is infinite already.
# Leave out operators with `empty` in their names: such memory holds anything. Results may be
# tensors or tuples and lists of them; integers count as finite.
#
# Examples: `("forward", "log")` for `entropy`, `("backward", "div")` for the square root above.

# %% nbgrader={"grade_id": "try-nan-hunt", "locked": true} jupyter={"source_hidden": true}
import math


def two_steps(x):
    y = x.clone()
    y.sub_(1).log_()
    return y.sum()


def from_empty(x):
    y = torch.empty_like(x)
    return (y.copy_(x) * 2).sum()


def masked(x, rows):
    mask = torch.zeros(2, 3, dtype=torch.bool, device=x.device)
    mask[:rows] = True
    mask[:, 0] = True
    return x.view(2, 3).masked_fill(mask, -math.inf).softmax(-1).square().sum()


hunted = {
    "fine": lambda x: (x * x).sum(),
    "entropy": lambda x: -(x * x.log()).sum(),
    "root": lambda x: (x.sqrt() * 0).sum(),
    "in place": two_steps,
    "a masked softmax": lambda x: masked(x, 0),
    "a row all masked": lambda x: masked(x, 1),
    "division by the number 0": lambda x: (x / 0).sum(),
    "a NaN in the data": lambda x: (x + math.nan).sum(),
    "uninitialised memory": from_empty,
    "two results": lambda x: torch.frexp(x / x)[0].sum(),
    "in a list": lambda x: torch.stack([x, x * math.inf]).sum(),
    "half": lambda x: ((x + 300).half() * (x + 300).half()).sum(),
    "power": lambda x: x.pow(0.5).sum(),
    "no gradient": lambda x: (x.detach() * 2).sum(),
    "integers": lambda x: (x.detach().long() + 1).sum() * x.sum(),
    "inf minus inf": lambda x: (x.exp() * math.inf - math.inf).sum(),
    "twice": lambda x: ((x - 5).sqrt() + x.log()).sum(),
    "var of one": lambda x: x[:1].var() + 0 * x.sum(),
}


@runs_with_the_answer
def try_nan_hunt(program: str, values: list[float]) -> tuple:
    """What nan_hunt says, how often forward was called, and what came of x.grad."""
    x = torch.tensor(values, device=device, requires_grad=True)
    calls = []

    def forward() -> torch.Tensor:
        calls.append(1)
        return hunted[program](x)

    settings = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(
        program == "uninitialised memory"
    )  # empty memory is then NaN
    try:
        answer = nan_hunt(forward)
    finally:
        torch.use_deterministic_algorithms(settings)
    return answer, len(calls), x.grad is not None


# %% nbgrader={"grade_id": "nan-hunt", "solution": true}
def nan_hunt(forward: Callable[[], torch.Tensor]) -> tuple[str, str] | None:
    """The first operator to blame, as ("forward" or "backward", its name), or None."""
    ### BEGIN SOLUTION
    from torch.utils._pytree import tree_leaves

    def has(values, test) -> bool:
        numbers = [v for v in tree_leaves(values) if isinstance(v, (torch.Tensor, float))]
        return any(bool(test(torch.as_tensor(v)).any()) for v in numbers)

    class Hunt(TorchDispatchMode):
        phase, found = "forward", None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nan, inf = (has((args, kwargs), test) for test in (torch.isnan, torch.isinf))
            result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
            if self.found is None and "empty" not in name:
                fresh_nan = has(result, torch.isnan) and not nan
                fresh_inf = has(result, torch.isinf) and not (nan or inf)
                if fresh_nan or fresh_inf:
                    self.found = (self.phase, name)
            return result

    with Hunt() as hunt:
        loss = forward()
        if hunt.found is None and loss.requires_grad:
            hunt.phase = "backward"
            loss.backward()
    return hunt.found
    ### END SOLUTION


# %% nbgrader={"grade_id": "nan-hunt-check", "grade": true, "points": 4}
def check_case(program, values, right, why, backward=True):
    answer, calls, went_back = try_nan_hunt(program, values)
    check_equal(calls, 1, f"{program}: how often forward was called")
    if right is None:
        assert answer is None, f"{program}: {answer!r}, but nothing is to blame: {why}"
    else:
        assert answer is not None, f"{program}: None, but there is something to blame: {why}"
        pair = isinstance(answer, (tuple, list)) and len(answer) == 2
        assert pair, f"{program}: {answer!r}, expected a pair such as ('forward', 'log')"
        check_equal(answer, right, program, why)
    said = "backward() was not called" if backward else "backward() was called"
    assert went_back == backward, f"{program}: {said}, see its rule"


with every_case() as case:
    for program, values, right, why, *back in (
        ("fine", [1.0, 2], None, "all is finite"),
        ("entropy", [0.5, 0.0], ("forward", "log"), "the infinity comes before the NaN", False),
        ("root", [0.0, 4], ("backward", "div"), "the loss is fine, 0/0 comes on the way back"),
        ("in place", [3.0, 0], ("forward", "log_"), "look at the inputs before it runs", False),
        ("a masked softmax", [1.0, 2, 3, 4, 5, 6], None, "masked_fill was handed the number -inf"),
        ("a row all masked", [1.0, 2, 3, 4, 5, 6], ("forward", "_softmax"),
         "its input has infinities and no NaN, its result has a NaN", False),
        ("division by the number 0", [1.0], ("forward", "div"), "1 and 0 are finite", False),
        ("a NaN in the data", [1.0], None, "add was handed the NaN"),
        ("in a list", [1.0], None, "the number inf is an input; stack gets it in a list"),
        ("two results", [1.0, 0], ("forward", "div"), "0 / 0", False),
        ("uninitialised memory", [1.0], None, "empty memory holds anything"),
        ("no gradient", [1.0], None, "all is finite", False),
    ):  # fmt: skip
        with case(program):
            check_case(program, values, right, why, *back)
### BEGIN HIDDEN TESTS
with every_case() as case:
    for program, values, right, why, *back in (
        ("half", [1.0, 5], ("forward", "mul"), "300 * 300 is too much for float16", False),
        ("power", [0.0, 1], ("backward", "pow"), "a negative power of 0"),
        ("integers", [1.0, 2], None, "integers are finite"),
        ("inf minus inf", [1.0], ("forward", "sub"), "a NaN of infinities", False),
        ("twice", [6.0, 0], ("forward", "sqrt"), "the first counts", False),
        ("entropy", [0.5, 0.5], None, "all is finite"),
    ):
        with case(program):
            check_case(program, values, right, why, *back)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Start from the mode `Finite`. Look at `args` and `kwargs` before the call of `func`, and note two
# truth values: some NaN, some infinity. `torch.utils._pytree.tree_leaves((args, kwargs))` opens
# lists and dicts.
# </details>
# <details><summary>Hint 2</summary>
#
# The mode needs two attributes: the phase that is running, and the first thing found. Keep going
# after the first find, but don't overwrite it.
# </details>
#
# **In practice.** Cure the operator, not the symptom: `torch.xlogy(p, p)` for p·log p,
# `F.cross_entropy` on scores instead of a log of a softmax, an epsilon *inside* the root. `nan_to_num`
# on the loss hides the infinity, and leaves the NaN in the gradient.

# %% [markdown]
# ## 7. What keeps it alive?
#
# Memory that grows from step to step ends in a red block that blames the innocent: whichever line
# asks for the last byte. There is one cause only: **something refers to what should be gone**. Here
# are the two classics. Both loops "only" keep the loss:


# %% topics=["memory-growth"]
def graph_nodes(tensor: torch.Tensor) -> int:
    """How many nodes of the graph a tensor keeps alive."""
    seen, queue = [], [tensor.grad_fn]
    while queue:
        node = queue.pop()
        if node is not None and node not in seen:
            seen.append(node)
            queue += [following for following, _ in node.next_functions]
    return len(seen)


layer, total, kept, sizes = nn.Linear(4, 1), 0, [], []
for _ in range(8):
    loss = layer(torch.ones(2, 4)).square().mean()
    total = total + loss
    kept.append(loss)
    sizes.append((graph_nodes(total), sum(map(graph_nodes, kept)), graph_nodes(loss)))
print("nodes kept by the sum:", [size[0] for size in sizes])

# %%
figure, axes = plt.subplots(figsize=(7, 2.8))
for label, line, colour in (
    ("total = total + loss", 0, RED),
    ("kept.append(loss)", 1, "#e8a33d"),
    ("total += loss.item()", 2, BLUE),
):
    axes.plot(range(1, 9), [size[line] for size in sizes], marker="o", label=label, color=colour)
axes.set(xlabel="step", ylabel="graph nodes alive", ylim=(0, None))
axes.set_title("One loss kept is a whole graph kept")
axes.legend()
show(
    figure,
    "Nodes alive by step: they grow with a sum or a list of losses, and stay flat with item().",
)

# %% [markdown]
# The sum is one tensor, and it hangs on all the graphs so far; each graph holds the activations it
# saved. `loss.item()`, or `loss.detach()`, keeps the number and lets the graph go.
#
# > **Then and now.** *"Call `empty_cache()` in every iteration and memory stops growing."* It gives
# > **unused** blocks of this process back to the driver. What a reference holds is not unused. And a
# > process that has ended holds nothing, so there is nothing to empty after a Ctrl-C. The proof is
# > a weak reference: it lets you see whether an object lives without keeping it alive.

# %% topics=["memory-growth"] errata=["empty-cache-myths"]
import gc
import weakref

activation = torch.ones(1000, device=device)
holder, alive = [activation], weakref.ref(activation)
del activation
gc.collect()
torch.accelerator.empty_cache() if device.type != "cpu" else None
print("after del, collect and empty_cache:", alive() is not None)
holder.clear()
print("after the owner let go:            ", alive() is not None)

# %% [markdown]
# ### Who is the owner?
#
# Python's garbage collector knows who refers to whom. `gc.get_referrers(x)` goes up from an object
# to its owners; `gc.get_referents(x)` goes down. And `gc.get_objects()` lists everything, so live
# tensors can be counted. Here a hook is the owner, by way of its closure:

# %% topics=["memory-growth"]
layer = nn.Linear(2, 2)
for n in range(3):
    batch = torch.ones(5, 2)
    layer.register_forward_hook(lambda *_, batch=batch: print("seen", batch.shape))
thing = batch
for _ in range(4):
    owners = [
        owner
        for owner in gc.get_referrers(thing)
        if isinstance(owner, (tuple, type(lambda: 0), dict))
    ]
    owners = [owner for owner in owners if owner is not globals()]
    thing = owners[0]
    print(type(thing).__name__, len(thing) if hasattr(thing, "__len__") else thing.__name__)
    if isinstance(thing, dict) and "_forward_hooks" in thing:
        break

# %% [markdown]
# A tuple of defaults, a lambda, a dict of three hooks. The cell that registers a hook ran three
# times, as cells do. Three things escape this search: what C++ holds (the graph), frames of
# exceptions, and globals such as IPython's `Out[…]`, which keeps every cell's result.
#
# On a GPU, `torch.cuda.memory_summary()` tells allocated from reserved bytes, and
# `torch.cuda.memory._record_memory_history()` with `_dump_snapshot()` names the line that allocated
# each block.

# %% [markdown]
# ### Exercise 15.7 — Leak hunt ★★ · 16 min · 3 points
#
# Going up needs a tensor to start from. The other way round needs none: go *down* from each
# suspect, count what can be reached, let the training go on, and count again.
#
# `leak_hunt(step, suspects)` gets a function `step()` and a dict from names to objects: a model, an
# optimizer, a list, a meter. Call `step()` twice to warm up, count, call it three times more, count
# again: five calls in all. Return the list of the names from which more can be reached at the second
# count, in the dict's order.
#
# What counts are the different objects for which `counts(thing)` is true. `neighbours(thing)` lists
# what a thing refers to directly; follow it to any depth, through what doesn't count as well.
# Objects may refer to each other in a circle. Example: for the loop above, with suspects `{"layer":
# layer, "kept": kept}`, the answer is `["kept"]`.

# %% nbgrader={"grade_id": "neighbours", "locked": true} jupyter={"source_hidden": true}
import types


def neighbours(thing) -> list:
    """What a thing refers to: entries, attributes, closures, hooks; for a tensor also its graph."""
    skipped = (type, types.ModuleType, types.FrameType, types.TracebackType, types.CodeType)
    if hasattr(thing, "next_functions"):  # a node of a graph
        return [node for node, _ in thing.next_functions if node is not None]
    if isinstance(thing, torch.Tensor):
        found = [thing.grad_fn, thing.grad if thing.is_leaf else None, vars(thing)]
    elif isinstance(thing, types.FunctionType):
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        found = [*cells, *(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()]
    else:
        found = gc.get_referents(thing)
    return [entry for entry in found if entry is not None and not isinstance(entry, skipped)]


def counts(thing) -> bool:
    """Tensors count, and so do nodes of a graph."""
    return isinstance(thing, torch.Tensor) or hasattr(thing, "next_functions")


# %% nbgrader={"grade_id": "try-leak-hunt", "locked": true} jupyter={"source_hidden": true}
from collections import deque


class Holder:
    """An object with attributes."""

    def __init__(self, **attributes) -> None:
        vars(self).update(attributes)


def make_training(leak: str):
    """A step, and the suspects: always a model and an optimizer, and what the leak needs."""
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    meter, log, calls = Holder(total=0.0, last=None), [], []
    recent = deque(maxlen=2)
    ring = Holder(log=log)
    ring.me = ring
    suspects = {"model": model, "optimizer": optimizer}
    extra = {"meter": meter, "log": log, "recent": recent, "ring": ring}

    def step() -> None:
        calls.append(1)
        x = torch.ones(4, 3, device=device)
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if leak == "a list of losses":
            log.append(loss)
        if leak == "a sum of losses":
            meter.total = meter.total + loss
        if leak == "a hook in every step":
            model[1].register_forward_hook(lambda *_: x.sum() and None)
        if leak == "a window of two" or leak == "two leaks":
            recent.append(loss.detach())
        if leak == "numbers":
            log.append(loss.item())
        if leak in ("callbacks", "two leaks"):
            log.append(lambda: x)
        if leak == "the last one":
            meter.last = loss
        if leak == "a circle":
            ring.next = Holder(before=getattr(ring, "next", ring), x=x)

    names = {"a list of losses": ["log"], "a sum of losses": ["meter"], "numbers": ["log"],
             "a window of two": ["recent"], "callbacks": ["log"], "the last one": ["meter"],
             "a circle": ["ring"], "two leaks": ["ring", "recent", "log"]}  # fmt: skip
    suspects |= {name: extra[name] for name in names.get(leak, [])}
    return step, suspects, calls


@runs_with_the_answer
def try_leak_hunt(leak: str) -> tuple:
    """What leak_hunt says of a training, and how often it called step()."""
    step, suspects, calls = make_training(leak)
    return leak_hunt(step, suspects), len(calls)


# %% nbgrader={"grade_id": "leak-hunt", "solution": true}
def leak_hunt(step: Callable[[], None], suspects: dict[str, object]) -> list[str]:
    """The suspects from which more can be reached after step 5 than after step 2."""

    ### BEGIN SOLUTION
    def reached(start) -> int:
        seen, queue = {}, [start]  # the objects are kept: an id may be given out again
        while queue:
            thing = queue.pop()
            if id(thing) not in seen:
                seen[id(thing)] = thing
                queue += neighbours(thing)
        return sum(counts(thing) for thing in seen.values())

    sizes = []
    for steps in (2, 3):
        for _ in range(steps):
            step()
        sizes.append({name: reached(thing) for name, thing in suspects.items()})
    return [name for name in suspects if sizes[1][name] > sizes[0][name]]
    ### END SOLUTION


# %% nbgrader={"grade_id": "leak-hunt-check", "grade": true, "points": 3}
def check_case(leak, right, why):
    answer, calls = try_leak_hunt(leak)
    check_equal(calls, 5, f"{leak}: calls of step()", "two to warm up, three between the counts")
    assert isinstance(answer, (list, tuple)), f"{leak}: {answer!r}, expected a list of names"
    check_equal(answer, right, leak, why)


with every_case() as case:
    for leak, right, why in (
        ("no leak", [], "the momentum comes with the first step and stays"),
        ("a list of losses", ["log"], "each entry is a tensor more"),
        ("a sum of losses", ["meter"], "one tensor, whose graph grows: nodes count, too"),
        ("a hook in every step", ["model"], "a hook's closure holds the batch"),
        ("a window of two", [], "it is full after two steps, and stays so"),
        ("callbacks", ["log"], "a lambda holds what it uses"),
        ("the last one", [], "another loss, but never more of them"),
        ("a circle", ["ring"], "things may be reached in circles, and at any depth"),
        ("two leaks", ["ring", "log"], "ring holds log, so both; the window is full"),
    ):
        with case(leak):
            check_case(leak, right, why)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("numbers"):
        check_case("numbers", [], "floats don't count")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A search with a list of what to look at and a memory of what was seen. Remember `id(thing)`, since
# lists and tensors can't be compared safely.
# </details>
# <details><summary>Hint 2</summary>
#
# An `id` is unique only while its object lives. Keep the objects too, for instance in a dict from
# id to object, until you have counted.
# </details>

# %% [markdown]
# ## 8. What happened in the worker?
#
# A DataLoader's workers are other processes. Their errors come to you second-hand, or not at all.
# **An exception** in a worker is sent over as text and raised again at yours. Look for the line
# "Original Traceback":


# %%
from torch.utils.data import DataLoader, Dataset


class Fragile(Dataset):
    """Ten numbers; what goes wrong at index 5 is up to `trouble`."""

    def __init__(self, trouble=None) -> None:
        self.trouble = trouble

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> torch.Tensor:
        if index == 5 and self.trouble is not None:
            self.trouble()
        return torch.tensor(float(index))


try:
    [*DataLoader(Fragile(lambda: {}["label"]), batch_size=4, num_workers=1)]
except KeyError as error:
    said = str(error.args[0]).splitlines()
    print(said[0], "|", said[1], "|", said[-1])

# %% [markdown]
# The short way is `num_workers=0`: the same exception, in your process, with frames that `%debug`
# can open. Shorter still is `dataset[5]`. Do that before anything else.
#
# **A worker that dies** tells nothing. The operating system says which signal killed it, and the
# loader guesses why:

# %% topics=["worker-bus-error"]
import os
import signal

for name in ("SIGBUS", "SIGKILL"):
    kill_me = partial(lambda number: os.kill(os.getpid(), number), getattr(signal, name))
    try:
        [*DataLoader(Fragile(kill_me), batch_size=4, num_workers=1)]
    except RuntimeError as error:
        print(f"{name}:", re.sub(r"\d+", "…", str(error.__cause__ or error)))

# %% [markdown]
# *Killed* by SIGKILL is mostly the kernel running out of memory: fewer workers, smaller batches. A
# **bus error** is memory that was promised and isn't there. Workers hand tensors over in shared
# memory, a file system of fixed size. In a container it has 64 MiB by default, and a file there can
# be made larger than what is free. Writing to the missing part ends the process. The same in small,
# without a container: map a file, cut the file, touch the map.

# %% topics=["worker-bus-error"]
program = """import mmap, tempfile
with tempfile.TemporaryFile() as file:
    file.truncate(8192)
    shared = mmap.mmap(file.fileno(), 8192)
    file.truncate(0)
    print(shared[4096])"""
ended = subprocess.run([sys.executable, "-c", program], capture_output=True).returncode
print("ended by", signal.Signals(-ended).name)

# %% [markdown]
# How much is in flight at a time? Workers × prefetched batches × bytes of a batch:

# %% topics=["worker-bus-error"]
workers, prefetched, batch = 8, 2, 64 * 3 * 224 * 224 * 4
print(workers * prefetched * batch // 2**20, "MiB in flight, of 64 MiB in a container by default")

# %% [markdown]
# > **Often said.** *"Against bus errors in a container only a new container or a smaller batch
# > helps."* A larger share (`--shm-size` or `--ipc=host`) does need a new container. But inside the
# > old one you can lower `num_workers` or `prefetch_factor`, send uint8 instead of float32, a quarter
# > of the bytes, or let tensors travel by files on the disk:

# %% topics=["worker-bus-error"] errata=["shm-only-docker-restart"]
import torch.multiprocessing as mp

print("strategies:", sorted(mp.get_all_sharing_strategies()), " now:", mp.get_sharing_strategy())
print(
    "uint8:",
    workers * prefetched * batch // 4 // 2**20,
    "MiB; 2 workers:",
    2 * prefetched * batch // 4 // 2**20,
    "MiB",
)

# %% [markdown]
# **All cores busy, and slow.** Each worker is a process, and each process may start as many threads
# as there are cores: eight workers on eight cores can be 64 threads that fight. PyTorch sets its own
# to one per worker. Others (OpenCV, NumPy's libraries) don't know about it: set `OMP_NUM_THREADS=1`
# before Python starts, `cv2.setNumThreads(0)` in `worker_init_fn`.


# %% topics=["cpu-99-percent"]
class Threads(Dataset):
    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> int:
        return torch.get_num_threads()


print("PyTorch's threads in a worker:", *next(iter(DataLoader(Threads(), num_workers=1))).tolist())

# %% [markdown] topics=["system-monitors", "cpu-99-percent"]
# To see who is busy: `htop` shows threads (key H) and memory, `iotop` the disk, `py-spy dump --pid`
# the Python line at which a running process is, without stopping it. That is also how you look into
# **a hang**. A loader waits for its workers for ever, unless you give it a `timeout=` in seconds.
# The usual hang is a lock: fork copies the parent's locks as they are, held ones too, and no one in
# the child will ever release them.

# %% [markdown]
# ### Exercise 15.8 — Autopsy of a loader ★★ · 15 min · 3 points
#
# Write `loader_autopsy(dataset, batch_size, seconds)`. Try things in this order, and return the
# first verdict that applies, as a pair:
#
# | verdict | when |
# | --- | --- |
# | `("item", i)` | `dataset[i]` raises in this process; the first such i |
# | `("collate", b)` | the items of batch b (from 0, unshuffled, the last may be smaller) can't be joined by `default_collate` |
# | `("pickle", None)` | `pickle.dumps(dataset)` raises, so workers could not be started on other systems |
# | `("hang", None)` | a DataLoader with one worker gives no batch within `seconds` |
# | `("dies", None)` | its worker ends without an exception |
# | `("raises", None)` | its worker raises an exception, though this process did not |
# | `("fine", None)` | none of these |
#
# Use `DataLoader(..., num_workers=1, timeout=seconds)`, and go through all batches. When you return,
# no process that you started may be left, not even a hanging one: `multiprocessing.active_children()`
# lists yours, each has `terminate()` and `join()`. Only `Exception`s need be caught. Messages:
# "timed out after" and "exited unexpectedly" are the loader's own.

# %% nbgrader={"grade_id": "try-loader-autopsy", "locked": true} jupyter={"source_hidden": true}
import multiprocessing
import threading

from torch.utils.data import get_worker_info


class Patchy(Dataset):
    """Ten items, and one trouble."""

    def __init__(self, trouble: str) -> None:
        self.trouble = trouble
        self.opened = (lambda: 0) if trouble in ("unpicklable", "unpicklable and hangs") else None

    def __reduce__(self):
        return types.SimpleNamespace, (), {"trouble": self.trouble, "opened": self.opened}

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> torch.Tensor:
        index = range(10)[index]  # 10 is an IndexError
        away = get_worker_info() is not None
        if self.trouble == "a bad item" and index in (7, 8):
            raise ValueError(f"no label for item {index}")
        if "hangs" in self.trouble and away and index == 5:
            threading.Event().wait()
        if self.trouble == "dies" and away and index == 9:
            os._exit(1)
        if self.trouble == "raises in the worker" and away:
            raise RuntimeError("the file was opened by another process")
        return torch.zeros(3 if self.trouble == "a long item" and index == 6 else 2)


@runs_with_the_answer
def try_loader_autopsy(trouble: str, batch_size: int, seconds: float) -> tuple:
    """The verdict, and how many new processes are left; they are ended here."""
    before = multiprocessing.active_children()
    verdict = loader_autopsy(Patchy(trouble), batch_size, seconds)
    left = [child for child in multiprocessing.active_children() if child not in before]
    for child in left:
        child.terminate()
        child.join()
    return verdict, len(left)


# %% nbgrader={"grade_id": "loader-autopsy", "solution": true}
def loader_autopsy(dataset: Dataset, batch_size: int, seconds: float) -> tuple[str, int | None]:
    """The first verdict that applies: ("item", i), ("collate", b), ("pickle", None), …"""
    ### BEGIN SOLUTION
    import pickle

    from torch.utils.data import default_collate

    items = []
    for index in range(len(dataset)):
        try:
            items.append(dataset[index])
        except Exception:
            return "item", index
    for start in range(0, len(items), batch_size):
        try:
            default_collate(items[start : start + batch_size])
        except Exception:
            return "collate", start // batch_size
    try:
        pickle.dumps(dataset)
    except Exception:
        return "pickle", None
    known = multiprocessing.active_children()
    try:
        for _ in DataLoader(dataset, batch_size, num_workers=1, timeout=seconds):
            pass
    except RuntimeError as error:
        said = str(error)
        if "timed out after" in said:
            return "hang", None
        return ("dies", None) if "exited unexpectedly" in said else ("raises", None)
    except Exception:
        return "raises", None
    finally:
        for child in multiprocessing.active_children():
            if child not in known:
                child.terminate()
                child.join()
    return "fine", None
    ### END SOLUTION


# %% nbgrader={"grade_id": "loader-autopsy-check", "grade": true, "points": 3}
def check_case(trouble, batch_size, seconds, right, why):
    verdict, left = try_loader_autopsy(trouble, batch_size, seconds)
    pair = isinstance(verdict, (tuple, list)) and len(verdict) == 2
    assert pair, f"{trouble}: {verdict!r}, expected a pair such as ('item', 3)"
    check_equal(verdict, right, trouble, why)
    check_equal(left, 0, f"{trouble}: processes left", "end the worker and wait for its end")


with every_case() as case:
    for trouble, batch_size, seconds, right, why in (
        ("nothing", 4, 60, ("fine", None), ""),
        ("a bad item", 4, 60, ("item", 7), "ask the dataset itself first"),
        ("a long item", 4, 60, ("collate", 1), "item 6 is in batch 1, of items 4 to 7"),
        (
            "unpicklable",
            4,
            60,
            ("pickle", None),
            "it has a lambda; under fork it runs all the same",
        ),
        ("hangs", 4, 1, ("hang", None), "in the worker alone, at item 5"),
        ("dies", 4, 60, ("dies", None), "in the worker alone, at the last item"),
        ("raises in the worker", 4, 60, ("raises", None), "a RuntimeError, but no dead worker"),
    ):
        with case(trouble):
            check_case(trouble, batch_size, seconds, right, why)
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("a long item, alone in its batch"):
        check_case("a long item", 1, 60, ("fine", None), "")
    with case("a long item, batches of 3"):
        check_case("a long item", 3, 60, ("collate", 2), "item 6 is the first of batch 2")
    with case("unpicklable, and hangs"):
        check_case("unpicklable and hangs", 4, 1, ("pickle", None), "pickle comes first")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The order is that of the price: indexing costs nothing, a worker costs a process. Return as soon
# as something applies.
# </details>
# <details><summary>Hint 2</summary>
#
# The three verdicts about workers are told apart by the message. A worker's own exception begins
# with "Caught". End the processes in a `finally`.
# </details>
# %% [markdown]
# ## 9. Why won't the checkpoint load? · core
#
# A checkpoint's message seldom says what happened to the *file*. These are the usual ones, made on
# purpose. Since PyTorch 1.6 a checkpoint is a zip archive; since 2.6 `torch.load` reads nothing but
# tensors and plain containers (`weights_only=True`), because a pickle can run any program.

# %% topics=["checkpoint-version-errors"]
import argparse
import tempfile
import zipfile
from pathlib import Path

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "model.pt"
weights = {"layer.weight": torch.ones(50, 50)}


def what_load_says() -> str:
    try:
        return "loaded " + type(torch.load(path)).__name__
    except Exception as error:
        said = re.search(r"Unsupported \w+[^\n.]*|[^.\n]+", str(error).replace("\x1b", ""))
        lines = [
            line
            for line in str(error).splitlines()
            if "WeightsUnpickler" in line or "Unsupported" in line
        ]
        return f"{type(error).__name__}: {(lines or [said[0] if said else ''])[-1][:74]}"


torch.save(weights, path)
whole = path.read_bytes()
print("whole     ", what_load_says())
for name, data in {
    "cut short ": whole[:6000],
    "empty     ": b"",
    "a web page": b"<!DOCTYPE html>",
}.items():
    path.write_bytes(data)
    print(name, what_load_says())
torch.save({"weights": weights, "args": argparse.Namespace(lr=0.1)}, path)
print("arguments ", what_load_says())
torch.save(nn.Linear(2, 2), path)
print("a module  ", what_load_says())

# %% [markdown]
# *Central directory* is the table at a zip's end: it is missing because the file was cut. A download
# or a full disk is to blame, and only a new copy helps. *EOFError* without words is an empty file.
# The web page is what a server sent instead of the file. In the last two the file is whole, and
# `torch.load` refuses what is in it. Don't reach for `weights_only=False`. For a type you know there
# is `torch.serialization.safe_globals`:

# %% topics=["checkpoint-version-errors"]
torch.save({"weights": weights, "args": argparse.Namespace(lr=0.1)}, path)
with torch.serialization.safe_globals([argparse.Namespace]):
    print(torch.load(path)["args"])
print("needs:", torch.serialization.get_unsafe_globals_in_checkpoint(path))

# %% [markdown]
# What is *not* noticed at all: a byte that changed. The zip has a checksum for each entry, but
# `torch.load` doesn't compare it. Python's `zipfile` does. **Predict** the sum of 2500 ones:

# %% topics=["checkpoint-version-errors"]
damaged = bytearray(whole)
middle = whole.index(torch.ones(8).numpy().tobytes())
damaged[middle + 3] ^= 0x40  # one bit of one number
path.write_bytes(damaged)
print("the sum:", torch.load(path)["layer.weight"].sum().item())
try:
    print("zipfile:", zipfile.ZipFile(path).testzip())
except zipfile.BadZipFile as error:
    print("zipfile:", error)

# %% [markdown]
# A single bit turned a one into something else, silently. Keep a hash beside files that travel.
#
# **Old readers and old files.** The format from before 1.6 can still be written and read. Pickles
# from Python 2 hold byte strings; plain `pickle` reads them with `encoding="latin1"` (if you trust
# where they come from). Old advice was to patch PyTorch's own files for this; never do that.

# %% topics=["checkpoint-version-errors"]
import pickle

torch.save(weights, path, _use_new_zipfile_serialization=False)
print("old format:", what_load_says(), " a zip:", zipfile.is_zipfile(path))
python2 = b"\x80\x02U\x04caf\xe9."  # pickle.dumps('caf\xe9', 2), as Python 2 wrote it
print("Python 2:  ", pickle.loads(python2, encoding="latin1"))

# %% [markdown]
# ### Keys and shapes, and half a load
#
# The message for wrong keys lists both sides: what the model misses, what the file has too much.
# The same names with a prefix (`module.` of DataParallel, `_orig_mod.` of `torch.compile`) are the
# usual cause. Wrong shapes mean another configuration. Here is what few expect. **Predict:** the
# load fails; is the first layer still what it was?

# %% topics=["checkpoint-version-errors"]
model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))
state = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
state["1.weight"] = torch.zeros(5, 2)
try:
    model.load_state_dict(state)
except RuntimeError as error:
    print(str(error).splitlines()[-1].strip()[:67], "…")
print("the first layer is all zero now:", not model[0].weight.any().item())

# %% [markdown]
# What fitted was copied before the error was raised. Whoever catches it and goes on has a model of
# half old, half new weights. Compare first, load then.
#
# ### Exercise 15.9 — A loader that says it in words ★★ · 14 min · 3 points · core
#
# Write `checkpoint_errors(path, model)`. Return a pair (verdict, names), the first that applies:
#
# | verdict | when | names |
# | --- | --- | --- |
# | `"unreadable"` | `torch.load` raises, and the file is no zip archive | `[]` |
# | `"refused"` | `torch.load` raises, and the file is a zip archive | `[]` |
# | `"no state dict"` | what is loaded is not a dict whose keys are all strings and whose values are all tensors | `[]` |
# | `"keys"` | a name is missing, or one too many | all such names, sorted |
# | `"shapes"` | a tensor has another shape than the model's | their names, sorted |
# | `"fine"` | none of these: the weights are now in the model | `[]` |
#
# Unless it is `"fine"`, the model is exactly as it was. Nothing that a file carries may ever be run
# (so no `weights_only=False`), and no exception leaves the function. A file of the old format that
# loads is fine.


# %% nbgrader={"grade_id": "try-checkpoint-errors", "locked": true} jupyter={"source_hidden": true}
class Payload:
    """A pickle of this makes a folder when it is loaded without care."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self):
        return os.mkdir, (str(self.target),)


def small_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).to(device)


def write_checkpoint(kind: str, path: Path) -> None:
    """A file of some kind; the weights in it are the small model's plus one."""
    state = {name: value.cpu() + 1 for name, value in small_model().state_dict().items()}
    torch.save(state, path)
    whole = path.read_bytes()
    if kind == "one name missing, one too many":
        state["2.offset"] = state.pop("2.bias")
    if kind == "a prefix":
        state = {f"module.{name}": value for name, value in state.items()}
    if kind in ("two other shapes", "keys and shapes"):
        state["2.weight"], state["0.bias"] = torch.zeros(7, 4), torch.zeros(4, 1)
    if kind == "keys and shapes":
        state["extra"] = torch.zeros(1)
    content = {
        "epoch and weights": {"epoch": 3, "weights": state},
        "numbers": {name: 1.0 for name in state},
        "a list": [*state.values()],
        "an empty dict": {},
        "arguments": {"weights": state, "args": argparse.Namespace(lr=1)},
        "a payload": {"weights": Payload(path.with_suffix(".opened"))},
        "a whole module": nn.Linear(3, 4),
    }.get(kind, state)
    torch.save(content, path, _use_new_zipfile_serialization=kind != "the old format")
    data = {"cut short": whole[: len(whole) // 2], "its last bytes lost": whole[:-9],
            "empty": b"", "a web page": b"<!DOCTYPE html><html></html>"}.get(kind)  # fmt: skip
    if data is not None:
        path.write_bytes(data)


@runs_with_the_answer
def try_checkpoint_errors(kind: str) -> tuple:
    """The answer, the model's weights before and after, and whether a payload was run."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "checkpoint.pt"
        write_checkpoint(kind, path)
        model = small_model()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        answer = checkpoint_errors(path, model)
        return answer, before, dict(model.state_dict()), path.with_suffix(".opened").exists()


# %% nbgrader={"grade_id": "checkpoint-errors", "solution": true}
def checkpoint_errors(path: Path, model: nn.Module) -> tuple[str, list[str]]:
    """A verdict in words, and the names it is about; loads the weights if they are fine."""
    ### BEGIN SOLUTION
    try:
        state = torch.load(path, map_location="cpu")
    except Exception:
        return ("refused" if zipfile.is_zipfile(path) else "unreadable"), []
    entries = state.items() if isinstance(state, dict) else [(None, None)]
    if not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in entries
    ):
        return "no state dict", []
    own = model.state_dict()
    if names := sorted(set(own) ^ set(state)):
        return "keys", names
    if names := sorted(name for name in own if own[name].shape != state[name].shape):
        return "shapes", names
    model.load_state_dict(state)
    return "fine", []
    ### END SOLUTION


# %% nbgrader={"grade_id": "checkpoint-errors-check", "grade": true, "points": 3}
def check_case(kind, verdict, names=(), why=""):
    answer, before, after, opened = try_checkpoint_errors(kind)
    assert not opened, f"{kind}: the program inside the file was run: leave weights_only on"
    pair = isinstance(answer, (tuple, list)) and len(answer) == 2
    assert pair, f"{kind}: {answer!r}, expected a pair (verdict, names)"
    check_equal(answer[0], verdict, f"{kind}: the verdict", why)
    check_equal(answer[1], list(names), f"{kind}: the names", why)
    changed = [name for name in before if not torch.equal(before[name], after[name])]
    if verdict == "fine":
        assert changed, f"{kind}: fine, but the weights are not in the model"
        for name, value in before.items():
            check_close(after[name], value + 1, f"{kind}: {name} after loading")
    why = "load_state_dict copies what fits before it raises"
    assert verdict == "fine" or not changed, f"{kind}: the model was changed in {changed[0]}: {why}"


every_name = sorted(small_model().state_dict())
with every_case() as case:
    for kind, verdict, names, why in (
        ("whole", "fine", (), ""),
        ("cut short", "unreadable", (), "it is no zip archive any more"),
        ("a web page", "unreadable", (), "UnpicklingError, but no zip archive"),
        ("empty", "unreadable", (), "EOFError"),
        ("arguments", "refused", (), "a zip archive that holds more than tensors"),
        ("a payload", "refused", (), "it would run a program"),
        ("epoch and weights", "no state dict", (), "3 is no tensor"),
        ("a list", "no state dict", (), "a list has no names"),
        ("one name missing, one too many", "keys", ["2.bias", "2.offset"], "both kinds"),
        ("two other shapes", "shapes", ["0.bias", "2.weight"], ""),
        ("keys and shapes", "keys", ["extra"], "keys come first"),
        ("the old format", "fine", (), "it is no zip archive, and torch.load reads it"),
    ):
        with case(kind):
            check_case(kind, verdict, names, why)
### BEGIN HIDDEN TESTS
with every_case() as case:
    for kind, verdict, names in (
        ("its last bytes lost", "unreadable", ()),
        ("a whole module", "refused", ()),
        ("numbers", "no state dict", ()),
        ("an empty dict", "keys", every_name),
        ("a prefix", "keys", sorted([*every_name, *(f"module.{name}" for name in every_name)])),
    ):
        with case(kind):
            check_case(kind, verdict, names)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `torch.load` raises at least four kinds of exceptions for a bad file. Catch `Exception`, and ask
# `zipfile.is_zipfile(path)` only then.
# </details>
# <details><summary>Hint 2</summary>
#
# Names that are in one set and not in the other: `set(a) ^ set(b)`. Compare everything with
# `model.state_dict()`, and call `load_state_dict` in the last line only.
# </details>

# %% [markdown]
# ## 10. Nothing is red, and it doesn't learn · core
#
# The longest way is from *no* red block. Here are eight trainings that each have one fault, and one
# healthy one. The task is easy: three classes of points (one has a regression). **Predict:** can you
# tell from its curve which fault a training has?


# %% nbgrader={"grade_id": "patients", "locked": true} jupyter={"source_hidden": true}
class Patient:
    """A training: `model`, `optimizer`, `x`, `y`, `loss(scores, y)`, and `step()`, one step."""

    def __init__(self, model, optimizer, x, y, loss, wiped: bool) -> None:
        self.model, self.optimizer, self.x, self.y, self.loss = model, optimizer, x, y, loss

        def step() -> float:
            value = loss(model(x), y)
            optimizer.zero_grad()
            value.backward()
            if wiped:
                optimizer.zero_grad()
            optimizer.step()
            return value.item()

        self.step = step


class Cut(nn.Module):
    """Hands on its input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.detach()


def make_patient(illness: str, seed: int = 0) -> Patient:
    """A training on 96 points with six features, with one fault or none ("healthy…")."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(96, 6, generator=generator)
    y = (x @ torch.randn(6, 3, generator=generator)).argmax(1)
    regression = illness in ("broadcast", "healthy regression")
    torch.manual_seed(seed)
    layers = [nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1 if regression else 3)]
    if illness == "dead head":
        nn.init.constant_(layers[2].bias, -30.0)
        layers.append(nn.ReLU())
    if illness == "softmax twice":
        layers.append(nn.Softmax(-1))
    if illness == "cut":
        layers.insert(2, Cut())
    if illness == "same inputs":
        x = (x.mean(0) / x.std()).expand(96, 6).contiguous()
    loss, rate = F.cross_entropy, 1e-6 if illness == "rate" else 0.3
    if regression:
        y = x[:, 0].tanh() if illness == "broadcast" else x[:, :1].tanh()
        loss, rate = (lambda scores, y: (scores - y).square().mean()), 0.1
    model = nn.Sequential(*layers).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    if illness == "not in the optimizer":
        model[0] = nn.Linear(6, 24).to(device)
        model[2] = nn.Linear(24, 3).to(device)
    return Patient(model, optimizer, x.to(device), y.to(device), loss, illness == "wiped")


ILLNESSES = ("dead head", "not in the optimizer", "cut", "wiped", "rate", "softmax twice",
             "same inputs", "broadcast")  # fmt: skip

# %%
figure, grid = plt.subplots(2, 4, figsize=(9.5, 3.8), sharex=True)
healthy = make_patient("healthy")
reference = [healthy.step() for _ in range(60)]
for letter, illness, axes in zip("ABCDEFGH", ILLNESSES, grid.flat, strict=True):
    patient = make_patient(illness)
    axes.plot(reference, color=GREY, lw=1, ls="--")
    axes.plot([patient.step() for _ in range(60)], color=RED)
    axes.set(title=letter, ylim=(0, 1.6))
grid[1, 0].set(xlabel="step", ylabel="loss")
figure.tight_layout()
show(
    figure,
    "Eight loss curves beside a healthy one, dashed: four are flat, four fall and stop early.",
)

# %% [markdown]
# Four are as flat as a table, and four learn something, too little. The curve says *that* something
# is wrong. To say *what*, climb a ladder. Each rung is one question to the training, cheap ones
# first, and the first that fails names the fault:
#
# | rung | ask | if not |
# | --- | --- | --- |
# | 1 | do two different inputs differ, as they arrive at the model? | the data pipeline flattens them |
# | 2 | do scores and targets fit in shape? | the loss broadcasts: (n, 1) with (n,) gives (n, n) |
# | 3 | do the scores differ between inputs, and can they be any number? | a dead head; an activation too many |
# | 4 | after `backward()`, has every parameter a gradient? | the graph is cut |
# | 5 | after a step, has every parameter changed? | wrong optimizer, wiped gradients, a tiny rate |
# | 6 | can it learn *one batch* by heart? | the model is too small, or the labels are noise |
#
# Rung 3, once by hand. A ReLU after the last layer looks harmless. Scores below 0 become 0, and
# where a score is 0 the ReLU's slope is 0 too: no gradient, no way back.

# %% topics=["dead-relu-head"]
torch.manual_seed(0)
head = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
nn.init.constant_(head[0].bias, -5.0)
scores = head(torch.randn(4, 2))
F.cross_entropy(scores, torch.tensor([0, 1, 2, 0])).backward()
print(
    "scores:",
    scores.unique().tolist(),
    " gradient of the weight:",
    head[0].weight.grad.abs().sum().item(),
)

# %% [markdown]
# Rung 6 is the test of tests: take a single small batch and train on it alone. A network that can't
# learn eight points by heart has a bug, not a shortage of data. And look at rung 6 the other way
# round. A network *with* a bug may pass: it learns random labels, too. So ask whether the labels
# belong to the inputs: look at ten pairs yourself.

# %% topics=["accuracy-not-improving"]
patient = make_patient("healthy")
x, y = patient.x[:8], patient.y[:8]
for labels in (y, y[torch.randperm(8, generator=torch.Generator().manual_seed(1)).to(device)]):
    for _ in range(300):
        patient.optimizer.zero_grad()
        F.cross_entropy(patient.model(x), labels).backward()
        patient.optimizer.step()
    right = (patient.model(x).argmax(1) == labels).float().mean().item()
    print("labels of the data:" if labels is y else "the same, shuffled:", "accuracy", right)

# %% [markdown]
# Another number for free: the loss before the first step. With C classes and an untrained network
# it is about log C, 1.1 for three. Far above means scores of a wrong scale; exactly log C, for ever,
# means that all scores are equal.

# %% topics=["accuracy-not-improving"]
first = {illness: make_patient(illness).step() for illness in ("healthy", "dead head")}
print({name: round(loss, 3) for name, loss in first.items()}, " log 3:", round(math.log(3), 3))

# %% [markdown]
# ### Exercise 15.10 — Not learning ★★★ · 25 min · 4 points · core
#
# Write `not_learning(patient)`: it returns which fault a training has, by asking the training. A
# patient has `model`, `optimizer`, `x`, `y`, `loss(scores, y)`, and `step()`, which does one training
# step on all of `x` and returns the loss. You may do with it what you like; it is not needed again.
#
# | answer | what is wrong |
# | --- | --- |
# | `"same inputs"` | all rows of `x` are equal |
# | `"broadcast"` | y is floating, and the model's output has another shape than y |
# | `"softmax twice"` | the model ends in probabilities, though the loss is cross-entropy |
# | `"dead head"` | every score is 0 for every input |
# | `"cut"` | some parameters get no gradient: the graph ends before it reaches them |
# | `"not in the optimizer"` | the model's parameters get gradients, and the optimizer holds others |
# | `"wiped"` | `step()` clears the gradients before the optimizer uses them |
# | `"rate"` | all is right but the learning rate, which is far too small |
# | `"healthy"` | none of these |
#
# Each patient has one fault at most. They come with several seeds, and a healthy one may be a
# regression.


# %% nbgrader={"grade_id": "try-not-learning", "locked": true} jupyter={"source_hidden": true}
@runs_with_the_answer
def try_not_learning(illness: str, seed: int) -> object:
    """What not_learning says of a patient."""
    return not_learning(make_patient(illness, seed))


# %% nbgrader={"grade_id": "not-learning", "solution": true}
def not_learning(patient: Patient) -> str:
    """The fault of a training, as one of the words of the table."""
    ### BEGIN SOLUTION
    model, x, y = patient.model, patient.x, patient.y
    if (x == x[:1]).all():
        return "same inputs"
    scores = model(x)
    if y.is_floating_point() and scores.shape != y.shape:
        return "broadcast"
    if not scores.any():
        return "dead head"
    sums = scores.sum(-1)
    if (
        not y.is_floating_point()
        and (scores >= 0).all()
        and torch.allclose(sums, sums.new_ones(()))
    ):
        return "softmax twice"
    patient.loss(scores, y).backward()
    if any(p.grad is None for p in model.parameters()):
        return "cut"
    held = {id(p) for group in patient.optimizer.param_groups for p in group["params"]}
    if any(id(p) not in held for p in model.parameters()):
        return "not in the optimizer"
    patient.step()
    if all(p.grad is None or not p.grad.any() for p in model.parameters()):
        return "wiped"
    return "rate" if patient.optimizer.param_groups[0]["lr"] < 1e-4 else "healthy"
    ### END SOLUTION


# %% nbgrader={"grade_id": "not-learning-check", "grade": true, "points": 4}
signs = {
    "same inputs": "compare the rows of x",
    "broadcast": "compare the shapes of model(x) and y",
    "softmax twice": "its scores are from 0 to 1 and sum to 1 in each row",
    "dead head": "look at the scores themselves",
    "cut": "after backward(), some .grad is None, though the others have one",
    "not in the optimizer": "are the model's parameters among those in optimizer.param_groups?",
    "wiped": "after step(), look at .grad: what is left of it?",
    "rate": "gradients arrive and stay; how far does a step move a parameter?",
    "healthy": "it learns, so no rung may fail",
    "healthy regression": "it learns; a regression's scores may be anything",
}


def check_case(illness, seed):
    answer = try_not_learning(illness, seed)
    right = "healthy" if illness.startswith("healthy") else illness
    words = f", expected one of {', '.join(list(signs)[:9])}"
    assert isinstance(answer, str) and answer in signs, f"the answer is {answer!r}{words}"
    assert answer == right, f"it was taken for {answer!r}: {signs[illness]}"


with every_case(at_most=10) as case:
    for illness in signs:
        with case(illness):
            check_case(illness, 0)
### BEGIN HIDDEN TESTS
with every_case(at_most=10) as case:
    for illness in signs:
        for seed in (1, 2):
            with case(f"{illness}, another seed"):
                check_case(illness, seed)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Climb in the table's order; the first rungs need no gradient. For the later ones call
# `patient.loss(scores, y).backward()` yourself, and look at `.grad`.
# </details>
# <details><summary>Hint 2</summary>
#
# Which parameters the optimizer holds: `optimizer.param_groups[0]["params"]`. Compare objects by
# `is` or `id`; `==` compares elements.
# </details>
# <details><summary>Hint 3</summary>
#
# Wiped and rate look alike from outside: nothing moves. After `step()`, one has no gradients left,
# the other has.
# </details>

# %% [markdown]
# ## 11. Two runs that should be equal
#
# You port a model, refactor a block, change a library's version, and the numbers differ. Not by
# much. Which line is it? Put both side by side and let them run operator by operator: *up to the
# first difference everything is equal, so what made it lies there.* Here a copy has one small
# change. At the end the difference is everywhere:


# %%
class Record(TorchDispatchMode):
    """Keeps (operator, a copy of its result) for each result that is a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.rows.append((func.overloadpacket.__name__, result.detach().clone()))
        return result


def recorded_run(slope: float) -> list:
    """The results of a small network whose second activation has a slope below 0."""
    torch.manual_seed(0)
    layers = [
        nn.Linear(8, 8),
        nn.ReLU(),
        nn.Linear(8, 8),
        nn.LeakyReLU(slope),
        nn.Linear(8, 8),
        nn.Tanh(),
    ]
    with Record() as record:
        nn.Sequential(*layers, nn.Linear(8, 1))(torch.randn(16, 8)).mean()
    return record.rows


one, other = recorded_run(0.01), recorded_run(0.0101)

# %%
pairs = [(name, (a - b).abs().max().item()) for (name, a), (_, b) in zip(one, other, strict=True)]
forward_pass = [
    (name, gap) for name, gap in pairs if name in ("addmm", "relu", "leaky_relu", "tanh", "mean")
]
first = next(n for n, (_, gap) in enumerate(forward_pass) if gap > 0)
figure, axes = plt.subplots(figsize=(8, 2.8))
heights = [max(gap, 1e-9) for _, gap in forward_pass]
axes.bar(
    range(len(heights)), heights, color=[RED if n == first else GREY for n in range(len(heights))]
)
axes.set_yscale("log")
axes.set_xticks(range(len(heights)), [name for name, _ in forward_pass], rotation=30)
axes.set(
    ylabel="largest difference",
    ylim=(1e-9, 1e-2),
    title="Two runs, operator by operator; the floor is exact equality",
)
show(
    figure,
    "Differences by operator: exactly zero up to leaky_relu, in red, and everywhere after it.",
)

# %% [markdown]
# Three operators agree to the last bit, then the fourth differs, and from there on all do. Look at
# *equal*, not at *close*: the first difference is often tiny, and grows. Two things to hold still
# first: the random state (else dropout is the first difference), and in-place operators, which is
# why `Record` keeps copies.
#
# ### Exercise 15.11 — First difference ★★ · 16 min · 3 points
#
# Write `first_difference(one, other, x)` for two models and an input. Run each once on `x`, both
# from the same global random state, in the mode they are in. Return `(module, operator)` for the
# first operator of which any result differs, or `None`.
#
# - *operator* is `func.overloadpacket.__name__` in the run of `one`; *module* is the name, as in
#   `one.named_modules()`, of the innermost module of `one` that was running.
# - Results differ if shape, dtype or any value does; two NaN are equal here. Results may be tuples
#   or lists of tensors. Keep copies: a later operator may write in place.
# - Leave out operators with `empty` in their names, as before: dropout starts with such memory.
# - If the two runs call different operators at some point, that is the first difference; if one run
#   is longer, it is the operator with which that run goes on. Where only `other` goes on, return
#   its operator with the module name `""`.
#
# Afterwards `x`, both models (hooks included) and the global random state are as they were. Models
# in training with a BatchNorm are not tried.


# %% nbgrader={"grade_id": "try-first-difference", "locked": true} jupyter={"source_hidden": true}
def make_pair(kind: str) -> tuple[nn.Module, nn.Module]:
    """Two models with the same weights, and one difference at most."""

    def make(last=nn.Tanh, shift=0.0, p=0.5, tail=(), middle=None):
        torch.manual_seed(0)
        body = nn.Sequential(nn.Linear(4, 4), middle or nn.ReLU(), nn.Linear(4, 4))
        model = nn.Sequential(body, nn.Dropout(p), nn.Sequential(last(), nn.Linear(4, 2)), *tail)
        with torch.no_grad():
            body[2].bias[1] += shift
        return model.to(device)

    double, half = (
        Lambda(lambda m, x, t=t: x.round().to(t)) for t in (torch.float64, torch.float16)
    )
    nan = Lambda(lambda m, x: x / 0 * 0)
    write = Lambda(lambda m, x: x.add_(1).sub_(1).mul_(2))
    other_write = Lambda(lambda m, x: x.add_(1).sub_(1).mul_(3))
    top, low = (Lambda(lambda m, x, up=up: x.topk(1, largest=up)) for up in (True, False))
    return {
        "the same": (make(), make()),
        "a bias": (make(), make(shift=1e-6)),
        "another activation": (make(), make(last=nn.Sigmoid)),
        "another dropout": (make(), make(p=0.4)),
        "one goes on": (make(tail=(nn.ReLU(),)), make()),
        "the other goes on": (make(), make(tail=(nn.Sigmoid(),))),
        "only the dtype": (make(tail=(double,)), make(tail=(half,))),
        "NaN on both sides": (make(tail=(nan,)), make(tail=(nan,))),
        "in place": (make(middle=write), make(middle=other_write)),
        "two results": (make(tail=(top,)), make(tail=(low,))),
        "its own forward": (
            Lambda(lambda m, x: m.a(x) * 2, a=nn.ReLU()),
            Lambda(lambda m, x: m.a(x) * 3, a=nn.ReLU()),
        ),
    }[kind]


@runs_with_the_answer
def try_first_difference(kind: str, x: torch.Tensor, train: bool) -> tuple:
    """The answer, and what was changed."""
    one, other = (model.train(train) for model in make_pair(kind))
    torch.manual_seed(5)
    torch.rand(3)
    before = [state_of(one), state_of(other)]
    answer = first_difference(one, other, x)
    after = [state_of(one), state_of(other)]
    return answer, sorted(
        {what for b, a in zip(before, after, strict=True) for what in b if b[what] != a[what]}
    )


# %% nbgrader={"grade_id": "first-difference", "solution": true}
def first_difference(one: nn.Module, other: nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    """The first operator of which a result differs, as (module of ``one``, operator), or None."""
    ### BEGIN SOLUTION
    from contextlib import ExitStack

    from torch.utils._pytree import tree_leaves

    def run(model):
        rows, running = [], []

        class Keep(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                leaves = [
                    t.detach().clone() for t in tree_leaves(result) if isinstance(t, torch.Tensor)
                ]
                name = running[-1] if running else ""
                operator = func.overloadpacket.__name__
                if "empty" not in operator:
                    rows.append((name, operator, leaves))
                return result

        def begin(name, *_):
            running.append(name)

        def finish(*_):
            running.pop()

        devices = [x.device] if x.device.type == "cuda" else []
        with ExitStack() as stack:
            stack.enter_context(torch.random.fork_rng(devices))
            for name, module in model.named_modules():
                stack.enter_context(module.register_forward_pre_hook(partial(begin, name)))
                stack.enter_context(module.register_forward_hook(finish))
            stack.enter_context(Keep())
            model(x)
        return rows

    def equal(a, b):
        pairs = zip(a, b, strict=True)
        return len(a) == len(b) and all(
            s.shape == t.shape
            and s.dtype == t.dtype
            and bool(((s == t) | ((s != s) & (t != t))).all())
            for s, t in pairs
        )

    first, second = run(one), run(other)
    for (module, name, results), (_, its_name, its_results) in zip(first, second, strict=False):
        if name != its_name or not equal(results, its_results):
            return module, name
    if len(first) > len(second):
        return first[len(second)][:2]
    return ("", second[len(first)][1]) if len(second) > len(first) else None
    ### END SOLUTION


# %% nbgrader={"grade_id": "first-difference-check", "grade": true, "points": 3}
def check_case(kind, right, why="", train=False):
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1)).to(device)
    with forbid_changes(x):
        answer, changed = try_first_difference(kind, x, train)
    if right is None:
        assert answer is None, f"{kind}: {answer!r}, but the runs are equal: {why}"
    else:
        assert answer is not None, f"{kind}: None, but the runs differ: {why}"
        pair = isinstance(answer, (tuple, list)) and len(answer) == 2
        assert pair, f"{kind}: {answer!r}, expected a pair (module, operator)"
        check_equal(answer, right, kind, why)
    assert not changed, f"{kind}: something was changed and not put back: {', '.join(changed)}"


draws = "bernoulli_" if device.type == "cpu" else "native_dropout"
with every_case() as case:
    for kind, right, why, *train in (
        ("the same", None, "the same model twice"),
        ("the same", None, "in training: dropout draws the same numbers from the same state", True),
        ("a bias", ("0.2", "addmm"), "a difference of 1e-6 counts"),
        ("another activation", ("2.0", "tanh"), "another operator runs there"),
        ("another dropout", ("1", draws), "another share is dropped", True),
        ("one goes on", ("3", "relu"), "the run of one is longer"),
        ("the other goes on", ("", "sigmoid"), "the run of the other is longer"),
        ("in place", ("0.1", "mul_"), "keep copies: before it, both were equal"),
        ("its own forward", ("", "mul"), "the product is in the model's own forward"),
    ):
        with case(kind + (", in training" if train else "")):
            check_case(kind, right, why, *train)
### BEGIN HIDDEN TESTS
with every_case() as case:
    for kind, right, why in (
        ("another dropout", None, "in eval mode dropout does nothing"),
        ("NaN on both sides", None, "two NaN are equal here"),
        ("only the dtype", ("3", "_to_copy"), "float64 and float16 of the same values"),
        ("two results", ("3", "topk"), "its results are a tuple"),
    ):
        with case(kind):
            check_case(kind, right, why)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write a function that runs *one* model and returns rows of (module, operator, results). The list of
# running modules is that of exercise 15.2; the mode is `Record`.
# </details>
# <details><summary>Hint 2</summary>
#
# `torch.random.fork_rng()` puts the random state back when its block ends. Inside it, both runs
# start from the same.
# </details>

# %% [markdown]
# ## 12. When the machine is the cause
#
# **The wrong build.** A wheel's name says what it fits: package, version, Python, ABI, platform.
# `cp311` is CPython 3.11, `manylinux_2_28` a Linux with glibc 2.28 or newer. Ask your own Python
# what it takes. This is also how you check that a mirror holds the builds you need:

# %% topics=["install-pip-conda", "mirror-channels"]
from packaging.tags import Tag
from packaging.utils import parse_wheel_filename

mine = {Tag("cp311", "cp311", "manylinux_2_28_x86_64"), Tag("py3", "none", "any")}  # or sys_tags()
for wheel in (
    "torch-2.15.0-cp311-cp311-manylinux_2_28_x86_64.whl",
    "torch-1.1.0-cp36-cp36m-manylinux1_x86_64.whl",
    "torch-2.15.0-cp311-cp311-win_amd64.whl",
    "torchinfo-1.8.0-py3-none-any.whl",
):
    name, version, _, tags = parse_wheel_filename(wheel)
    print(f"{name} {version!s:7} fits: {not tags.isdisjoint(mine)}")

# %% [markdown] topics=["install-pip-conda"]
# "No matching distribution" means: no wheel at that index fits your Python. Today `pip install torch
# torchvision` (or `uv pip install`) from PyPI brings wheels that contain their CUDA libraries; builds
# for the CPU or for another CUDA come from PyTorch's own index, by `--index-url`. Take torch and
# torchvision from the same place, else the operators of one don't find the other. Then ask what you
# really have:

# %% topics=["install-pip-conda"] tags=["nbval-ignore-output"]
import importlib.metadata

print({name: importlib.metadata.version(name) for name in ("torch", "torchvision", "pillow")})
print("built for CUDA:", torch.version.cuda, " sees a GPU:", torch.cuda.is_available())
print("this Python:", Path(sys.executable).name, sys.version.split()[0])

# %% [markdown]
# **A mirror you can trust.** A mirror serves what it likes. Two locks: encryption on the way, and a
# hash that you wrote down. `pip install --require-hashes -r requirements.txt` compares each file.
# The same in three lines; a single other byte shows:

# %% topics=["mirror-channels"] errata=["insecure-mirror"]
import hashlib

promised = hashlib.sha256(b"the wheel you tested").hexdigest()
served = {"as tested": b"the wheel you tested", "tampered": b"the wheel you tasted"}
print({name: hashlib.sha256(data).hexdigest() == promised for name, data in served.items()})

# %% [markdown] topics=["gpu-monitor-cli"]
# **A stuck process.** GPU memory is taken, yet nothing seems to run: mostly a process of yours lives
# on. `nvidia-smi` lists process ids with their memory (`nvitop` and `gpustat` show it live). Find the
# *exact* id, see that it is yours, ask it to end, wait, and only then use force:

# %% topics=["kill-and-reset-gpu"] errata=["gpu-reset-and-kill"]
import psutil

stuck = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
process = psutil.Process(stuck.pid)
print("mine:", process.ppid() == os.getpid(), " runs:", "threading" in process.cmdline()[-1])
process.terminate()  # SIGTERM: it may save its work and clean up
try:
    print("ended by", signal.Signals(-process.wait(timeout=10)).name)
except psutil.TimeoutExpired:
    process.kill()  # SIGKILL: the last resort

# %% [markdown]
# > **Often said.** *"Free GPU memory by `kill -9` of whatever `ps | grep python` finds, or by
# > `nvidia-smi --gpu-reset`."* The first ends your neighbours' jobs and your own notebook. The second
# > needs root, takes the card from everybody, and fails while anyone uses it. When a process ends,
# > the driver takes back its memory by itself.

# %% [markdown]
# ## 13. From sixty lines to five · core
#
# The last tool is for the errors that resist. You have a script that fails, and too much of it. A
# *minimal* program has two uses. It is mostly its own explanation. And it is what maintainers
# answer: something they can paste, with versions, and the message you got.
#
# Shrinking is dull, so let the machine do it. All it needs is a test: does this shorter program
# still fail *in the same way*? **Predict** why the words in italics matter:


# %% nbgrader={"grade_id": "failure-of", "locked": true}
def failure_of(lines: list[str]) -> str:
    """How a program fails: the exception's name and message, or "" if it doesn't."""
    try:
        exec(compile("\n".join(lines), "the program", "exec"), {})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


# %%
short = ["import torch", "x = torch.ones(2, 3)", "y = x + 1", "z = x @ y"]
print(failure_of(short))
for n, line in enumerate(short):
    print(f"without {line!r:24}", failure_of(short[:n] + short[n + 1 :])[:42])

# %% [markdown]
# Without line 1 it fails, too, and that is another failure. If you took *any* error, the shrinker
# would end with one line that names an unknown variable.
#
# The plain way is to try each line once: leave it out, and if the failure is still the same, leave it
# out for good. *At any time what is left fails in the same way.*


# %%
def one_by_one(lines: list[str], fails) -> list[str]:
    """Leave out each line in turn, from the last to the first."""
    for n in reversed(range(len(lines))):
        shorter = lines[:n] + lines[n + 1 :]
        lines = shorter if fails(shorter) else lines
    return lines


one_by_one(short, lambda lines: failure_of(lines) == failure_of(short))

# %% [markdown]
# It takes one run for each line. With 400 lines and a minute for a run, that is a day. But if five
# lines matter, large blocks don't, and a block can go in one test. **Delta debugging** (Zeller and
# Hildebrandt, 2002) does that: cut the program into 2 blocks and leave out each in turn. If none can
# go, halve the blocks: 4, 8, 16. If one can go, go on with what is left. It ends when blocks are
# single lines and none can go.
#
# By hand, on eight lines of which 3 and 6 matter:
#
# | lines left | blocks | leave out | still fails? |
# | --- | --- | --- | --- |
# | 1–8 | 2 | 1–4, then 5–8 | no, no |
# | 1–8 | 4 | 1–2 | **yes** |
# | 3–8 | 4, 2 lines each | 3–4, 5–6, 7–8 | no, no, **yes** |
# | 3–6 | 2 lines each | 3–4, 5–6 | no, no |
# | 3–6 | 1 line each | 3, then 4, then 5, then 6 | no, **yes**, **yes**, no |
# | 3, 6 | 1 line each | 3, then 6 | no, no: done |
#
# The last row is not idle: after something was left out, a line that was needed before may not be
# any more.
#
# ### Exercise 15.12 — Shrink it ★★ · 20 min · 4 points · core
#
# Write `shrink_it(lines, fails)`. `fails(lines)` takes a list of lines and says whether it fails in
# the wanted way. Return a list of lines, in their order, that fails, and from which no *single* line
# can be left out. `fails` may be any function. It need not hold that more lines fail if fewer do.
#
# - `lines` itself stays as it is.
# - If it doesn't fail at all, raise a `ValueError`. A list that fails when empty shrinks to `[]`.
# - Be quick: for 400 lines of which 2 matter, `fails` is called at most 150 times.

# %% nbgrader={"grade_id": "try-shrink-it", "locked": true} jupyter={"source_hidden": true}
tests = {
    "3 and 6": lambda lines: {"3", "6"} <= set(lines),
    "the last": lambda lines: "399" in lines,
    "7 and 390": lambda lines: {"7", "390"} <= set(lines),
    "everything": lambda lines: len(lines) == 8,
    "anything": lambda lines: True,
    "nothing": lambda lines: False,
    "twins": lambda lines: lines.count("same") >= 2,
    "order": lambda lines: lines == sorted(lines, key=int) and {"2", "5"} <= set(lines),
    "5 needs 2": lambda lines: "7" in lines and ("5" not in lines or "2" in lines),
    "an odd number": lambda lines: len(lines) % 2 == 1 and "1" in lines,
    "brackets": lambda lines: "1" in lines and lines.count("(") == lines.count(")"),
    "one of two": lambda lines: "1" in lines or {"4", "5"} <= set(lines),
}


@runs_with_the_answer
def try_shrink_it(test: str, lines: list[str]) -> tuple:
    """The answer, or the exception's name; how often the test was called; and the lines after."""
    calls, given = [], list(lines)

    def fails(tried) -> bool:
        assert isinstance(tried, list), f"fails was called with {tried!r}, expected a list of lines"
        calls.append(1)
        assert len(calls) <= 20_000, "fails was called 20000 times: does the loop end?"
        return tests[test](tried)

    try:
        answer = shrink_it(given, fails)
    except ValueError as error:
        answer = f"ValueError: {error}"
    return answer, len(calls), given


# %% nbgrader={"grade_id": "shrink-it", "solution": true}
def shrink_it(lines: list[str], fails: Callable[[list[str]], bool]) -> list[str]:
    """Lines of a program that fails, from which no single line can be left out."""
    ### BEGIN SOLUTION
    if not fails(lines):
        raise ValueError("the program does not fail")
    lines = list(lines)
    size = max(1, len(lines) // 2)
    while lines:
        start, shrunk = 0, False
        while start < len(lines):
            shorter = lines[:start] + lines[start + size :]
            if fails(shorter):
                lines, shrunk = shorter, True
            else:
                start += size
        if not shrunk and size == 1:
            break
        if not shrunk or size > 1:
            size = max(1, size // 2)
    return lines
    ### END SOLUTION


# %% nbgrader={"grade_id": "shrink-it-check", "grade": true, "points": 4}
def check_case(test, lines, why="", most=None):
    answer, calls, after = try_shrink_it(test, lines)
    call = f"{test} ({len(lines)} lines)"
    fails = tests[test]
    check_equal(after, lines, f"{call}: the given list afterwards")
    if not fails(lines):
        raised = isinstance(answer, str) and answer.startswith("ValueError")
        assert raised, f"{call}: it does not fail at all, expected a ValueError, got {answer!r}"
        return
    assert isinstance(answer, list), f"{call}: {answer!r}, expected a list of lines"
    rest = iter(lines)
    assert all(line in rest for line in answer), (
        f"{call}: {answer[:9]} are not lines of it, in order"
    )
    assert fails(answer), f"{call}: the result {answer[:9]} does not fail any more"
    for n, line in enumerate(answer):
        shorter = answer[:n] + answer[n + 1 :]
        assert not fails(shorter), f"{call}: {line!r} can still be left out of {answer[:9]}: {why}"
    said = "leave out whole blocks first"
    assert most is None or calls <= most, f"{call}: {calls} calls of fails, at most {most}: {said}"


def numbers(n):
    return [str(number) for number in range(n)]


with every_case() as case:
    for test, lines, why, *most in (
        ("3 and 6", numbers(9), ""),
        ("7 and 390", numbers(400), "", 150),
        ("everything", numbers(8), ""),
        ("anything", numbers(5), "the empty list fails, too"),
        ("nothing", numbers(5), ""),
        ("twins", ["a", "same", "b", "same", "c"], "equal lines are different lines"),
        ("5 needs 2", numbers(9), "go round again: 2 can go once 5 is gone"),
        ("anything", [], ""),
    ):
        with case(test):
            check_case(test, lines, why, *most)
### BEGIN HIDDEN TESTS
with every_case() as case:
    for test, lines, *most in (
        ("the last", numbers(400), 150),
        ("order", numbers(31)),
        ("an odd number", numbers(7)),
        ("brackets", ["(", "1", ")", "(", ")", "2"]),
        ("one of two", numbers(12)),
        ("3 and 6", [str(n) for n in (6, 1, 3, 9)]),
        ("nothing", []),
    ):
        with case(test):
            check_case(test, lines, "", *most)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Keep a block size. Go through the lines in blocks of that size; if a block can go, don't move on:
# the next block has slid into its place.
# </details>
# <details><summary>Hint 2</summary>
#
# After a round at size 1 in which something went, do another round. Stop after one in which nothing
# did.
# </details>
# <details><summary>Hint 3</summary>
#
# `fails` may be asked about the empty list.
# </details>

# %% [markdown]
# ### The payoff
#
# Here is a training script of sixty lines. It fails in its last line but one, in `backward()`, which
# is the last place to look for the cause. (If your `shrink_it` isn't there yet, `one_by_one` does it
# slowly.)

# %% jupyter={"source_hidden": true}
script = """import math
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
classes, width, batch = 3, 16, 32
rate, decay = 0.05, 1e-4
device = "cpu"
x = torch.randn(batch, 8)
y = torch.randint(classes, (batch,))
mean = x.mean(0)
std = x.std(0)
x = (x - mean) / std
order = torch.randperm(batch)
x, y = x[order], y[order]
w1 = torch.randn(8, width) / math.sqrt(8)
b1 = torch.zeros(width)
w2 = torch.randn(width, width) / math.sqrt(width)
b2 = torch.zeros(width)
w3 = torch.randn(width, classes) / math.sqrt(width)
b3 = torch.zeros(classes)
parameters = [w1, b1, w2, b2, w3, b3]
for p in parameters: p.requires_grad_()
count = sum(p.numel() for p in parameters)
optimizer = torch.optim.SGD(parameters, lr=rate)
scale = torch.ones(width)
shift = torch.zeros(width)
losses = []
accuracies = []
best = math.inf
h1 = x @ w1 + b1
h1 = h1 - h1.mean(0)
h1 = h1 / (h1.std(0) + 1e-5)
h1 = h1 * scale + shift
a1 = torch.tanh(h1)
kept = a1.detach().clone()
h2 = a1 @ w2 + b2
h2 = h2 - h2.mean(0)
h2 = h2 / (h2.std(0) + 1e-5)
a2 = torch.sigmoid(h2)
gate = (a2 > 0.5).float()
a2 *= gate
share = gate.mean().item()
a2 = F.dropout(a2, 0.1)
residual = a2 + a1
scores = residual @ w3 + b3
probabilities = scores.softmax(-1)
predicted = scores.argmax(-1)
accuracy = (predicted == y).float().mean().item()
accuracies.append(accuracy)
penalty = sum(p.square().sum() for p in parameters)
loss = F.cross_entropy(scores, y)
losses.append(loss.item())
best = min(best, losses[-1])
loss = loss + decay * penalty
entropy = -(probabilities * probabilities.log()).sum(-1).mean()
loss = loss - 0.01 * entropy
optimizer.zero_grad()
loss.backward()
optimizer.step()""".splitlines()
print(len(script), "lines")
print(failure_of(script)[:94], "…")

# %%
wanted, attempts = failure_of(script).split(": [")[0], []


def fails_alike(lines: list[str]) -> bool:
    """Whether it fails with the same words; keeps what was tried, for the picture."""
    alike = failure_of(lines).split(": [")[0] == wanted
    attempts.append((set(lines), alike))
    return alike


try:
    minimal = shrink_it(script, fails_alike)
except Exception:
    minimal = None
if not minimal or not fails_alike(minimal):
    print("shrink_it is not there yet: one by one")
    attempts.clear()
    minimal = one_by_one(one_by_one(script, fails_alike), fails_alike)
print("\n".join(minimal))

# %%
picture = [[(line in tried) * (2 if alike else 1) for line in script] for tried, alike in attempts]
figure, axes = plt.subplots(figsize=(8, 4.2))
tones = {0: (1, 1, 1), 1: (0.78, 0.78, 0.78), 2: (0.82, 0.29, 0.36)}
axes.imshow(
    [[tones[entry] for entry in row] for row in picture], aspect="auto", interpolation="nearest"
)
axes.set(
    xlabel="line of the script",
    ylabel="test",
    title="Each row is a shorter program: red still fails alike, grey doesn't",
)
show(figure, "A grid of tests by lines: large blocks go first, and a few lines are left in red.")

# %% [markdown]
# Read the rows from top to bottom. White is what was left out: whole blocks at first, single lines
# at the end. What is left is a program G of exercise 15.1, found among sixty lines: `sigmoid` keeps
# its result for the way back, and `a2 *= gate` overwrites it. The lines between made it hard to see.
# (The message holds shapes and a version count, which change while it shrinks. So `fails_alike`
# compares its first words.)
#
# **A report that gets an answer** has four parts: the minimal program, the whole message, what you
# expected, and the versions (`python -m torch.utils.collect_env` prints them). Search the issues
# first, for the last line of the message without its numbers.

# %% tags=["nbval-ignore-output"]
import platform

print("```python", *minimal, "```", failure_of(minimal)[:110] + " …", sep="\n")
print(
    "Expected: a gradient. torch",
    torch.__version__,
    "Python",
    platform.python_version(),
    platform.system(),
)

# %% [markdown]
# ## Heard elsewhere
#
# Advice that goes around, each with a cell that shows what is true of it.
#
# - *"`cannot import name 'PILLOW_VERSION'`: pin Pillow 6.2.2."* That is a release of 2019 with known
#   security holes, and there are no wheels of it for today's Python. An old torchvision asked for a
#   name that Pillow removed. Update torchvision.

# %% topics=["pillow-version-error"] errata=["pillow-downgrade"]
import PIL
import torchvision

print("Pillow from 10 on:", int(PIL.__version__.split(".")[0]) >= 10)
print(
    "it has PILLOW_VERSION:",
    hasattr(PIL, "PILLOW_VERSION"),
    " torchvision works:",
    hasattr(torchvision, "ops"),
)

# %% [markdown]
# - *"Install PyTorch with `conda install -c pytorch`, with `cudatoolkit=9.0`, from a mirror
#   channel."* The `pytorch` channel ended with 2.5; a command that names it gives you an old version
#   or nothing. Use pip or uv; inside conda, the channel `conda-forge` builds PyTorch itself. And what
#   did install it here?

# %% topics=["install-pip-conda", "mirror-channels"] errata=["conda-channel"]
installed = importlib.metadata.distribution("torch")
print(
    "version 2 or later:",
    installed.version.startswith("2."),
    " by conda:",
    "conda" in (installed.read_text("INSTALLER") or ""),
)

# %% [markdown]
# - *"If a mirror has no certificate, use `http` and `--trusted-host`."* Then anyone on the way can
#   hand you any program, and it runs with your rights while it installs. An `https` mirror, named by
#   `--index-url INDEX_URL`, with hashes, is the least. `--extra-index-url` is a trap, too: pip takes
#   the highest version from *any* index, so a stranger's higher number wins. Version numbers
#   compare like this:

# %% topics=["mirror-channels"] errata=["insecure-mirror"]
from packaging.version import Version

offers = {"your own index": Version("1.4.2"), "a public index": Version("99.0")}
print("pip would take the package from", max(offers, key=offers.get))

# %% [markdown]
# ## What to take along
#
# | the red block says | ask | tool |
# | --- | --- | --- |
# | sizes, shapes | which module began and did not finish? | hooks, `meta`, `torch._check` |
# | Byte, Long, Double, two devices | where was this tensor made? | `.to(other)`, the two grids |
# | out of range, device-side assert | which index, of which table? | the CPU, `CUDA_LAUNCH_BLOCKING=1`, a guard |
# | backward, graph, in-place | what happened before this line? | `detect_anomaly` |
# | nothing, but NaN | which operator gave the first? | a dispatch mode |
# | out of memory | what refers to it? | `gc`, weak references, counting |
# | worker, bus error, timed out | does `dataset[i]` work here? | `num_workers=0`, `timeout=` |
# | checkpoint | is the file whole, trusted, and for this model? | compare first, load then |
# | nothing, and it doesn't learn | which rung fails first? | the ladder |
# | nothing, but other numbers | what is the first difference? | two recordings |
# | too much to read | what can go? | delta debugging |
#
# Three mistakes to remember:
#
# 1. Reading from the top. The last line says what; the lowest line of yours says where.
# 2. Mending the line that raised. It is where the fault was noticed. Ask what was true before.
# 3. Changing two things at once. One question, one answer; then the next.
#
# **Where to read more:** the PyTorch notes on autograd mechanics, serialization semantics, CUDA
# semantics and the frequently asked questions; the documentation of `torch.utils.data` on workers;
# A. Karpathy, *A Recipe for Training Neural Networks* (2019); A. Zeller and R. Hildebrandt,
# *Simplifying and Isolating Failure-Inducing Input* (2002); A. Zeller, *Why Programs Fail*.
