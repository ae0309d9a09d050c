# ---
# jupyter:
#   course:
#     title: Data pipelines
#     minutes: 240
#     core: 120
# ---

# %% [markdown]
# # Data pipelines: who is waiting for whom?
#
# A training loop is a relay. One side reads files and makes batches, the other computes. Whenever
# one side is slower, the other waits, and nothing in the code tells you. It just takes
# longer, or it trains on the wrong thing without an error.
#
# **After this chapter you can**
#
# - say what `DataLoader` does for each of its arguments, in which process, and how often;
# - read images, boxes and masks from real files, and transform and batch them at any size;
# - choose who comes next: balanced, by length, over several workers and ranks, or from where you
#   stopped;
# - find augmentations that all workers repeat, and averages that count the wrong things;
# - measure which part of a pipeline makes the others wait, and mend that part and no other.
#
# **It leans on** chapters 00 and 01. **Time:** the core path, marked in the headings, takes two hours.
# Everything takes four and a quarter; sections 9 (clips) and 10 (packed files) are optional, and take
# forty minutes of that. Skip what you like: no later section needs your answers.

# %% nbgrader={"grade_id": "setup", "locked": true}
import numpy as np
import torch
from course_utils import check_equal, check_predictions, device, draw_shapes, forbid_changes, show
from course_utils import every_case, runs_with_the_answer, send_cells_to_workers, shapes_folder
from course_utils.chapters.data_pipelines import damaged_folder, through_pickle

send_cells_to_workers()

# %% [markdown]
# ## A relay, watched · core
#
# Below, about two hundred pictures of coloured shapes (real JPEG files, drawn by the course) go
# through a small network: loaded in the same process, by one worker, and by two. Each file arrives
# 5 ms late, as if over a network. We note when each batch arrived and when each step was done.

# %%
import threading
import time

import matplotlib.pyplot as plt
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2


class FarAway(ImageFolder):
    """Files that arrive 5 ms late."""

    def __getitem__(self, index):
        threading.Event().wait(0.005)
        return super().__getitem__(index)


folder = shapes_folder(600)
to_square = v2.Compose([v2.ToImage(), v2.Resize((64, 64)), v2.ToDtype(torch.float32, scale=True)])
images = FarAway(folder / "images", transform=to_square)


# %%
def watch(loader, steps=12):
    """For each step: when it asked for a batch, got it, and was done, in milliseconds."""
    network = nn.Sequential(nn.Conv2d(3, 12, 5), nn.ReLU(), nn.Conv2d(12, 12, 5)).to(device)
    spans, batches, start = [], iter(loader), time.perf_counter()
    for _ in range(steps):
        asked = time.perf_counter()
        x, _ = next(batches)
        got = time.perf_counter()
        network(x.to(device)).mean().item()  # .item() waits for the device
        spans.append([1e3 * (t - start) for t in (asked, got, time.perf_counter())])
    return spans


def draw_relay(rows, alt):
    """One bar for each row of spans: waiting in orange, computing in blue."""
    figure, axes = plt.subplots(figsize=(8, 0.9 + 0.6 * len(rows)))
    for y, spans in enumerate(rows.values()):
        parts = [(a, b - a) for a, b, _ in spans], [(b, c - b) for _, b, c in spans]
        axes.broken_barh(parts[0], (y - 0.35, 0.7), color="#e08a1e", label="waits for data")
        axes.broken_barh(parts[1], (y - 0.35, 0.7), color="#0072b2", label="computes")
    axes.set(yticks=range(len(rows)), yticklabels=rows, xlabel="milliseconds")
    axes.invert_yaxis()
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[:2], labels[:2], loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    show(figure, alt)


# %% tags=["nbval-ignore-output"] topics=["num-workers"]
rows = {}
for n in (0, 1, 2):
    rows[f"num_workers={n}"] = watch(DataLoader(images, batch_size=16, num_workers=n))
draw_relay(
    rows, "Twelve steps on a time axis: two workers need about half as long, one saves little."
)

# %% [markdown]
# Orange is time in which the network waits. Without workers, reading and computing take turns. With
# one worker they overlap, which saves at most the shorter of the two: here the blue, which is
# little. Two workers also read two batches at once, and the run takes about half as long. With
# workers the first batch comes a little later, for processes have to start.
#
# Workers hide *waiting* well. Decoding is work, and needs cores: where there are none to spare, the
# blue gets wider instead. On a short run the start may cost more than workers save. (On a busy
# machine the bars vary. Run the cell again.)
#
# Who does what, then? We follow one image from its file to the batch.
#
# ## 1. A dataset answers, a loader asks · core
#
# A **map-style dataset** is anything with two methods: `__len__` says how many items there are, and
# `__getitem__(index)` returns *one*. This one notes what it is asked for:


# %% topics=["dataset-class"]
class Squares(Dataset):
    def __init__(self, n):
        self.n, self.asked = n, []

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        self.asked.append(index)
        return torch.tensor(index**2)


# %% topics=["dataset-class", "dataloader-args"] errata=["getitem-per-batch"]
squares = Squares(10)
batches = [batch.tolist() for batch in DataLoader(squares, batch_size=4)]
print("batches:", batches)
print("asked:  ", squares.asked)

# %% [markdown]
# > **Often said.** *"`__getitem__` defines how a batch is read."* It was asked ten times, for one
# > item each. A batch is made elsewhere: a **sampler** gives indices, a batch sampler cuts them
# > into groups, and `collate_fn` makes a batch of a group's items. (A dataset may add
# > `__getitems__(indices)` to fetch a group at once; the loader then uses it.)
#
# The whole loader, naively and then compactly:

# %% topics=["dataloader-args", "samplers"]
naive, items = [], []
for index in range(len(squares)):
    items.append(squares[index])
    if len(items) == 4 or index == len(squares) - 1:
        naive.append(torch.stack(items).tolist())
        items = []

from torch.utils.data import BatchSampler, SequentialSampler, default_collate

groups = BatchSampler(SequentialSampler(squares), batch_size=4, drop_last=False)
compact = [default_collate([squares[i] for i in group]).tolist() for group in groups]
assert naive == compact == batches
print([*groups])


# %%
def draw_parts():
    names = ["sampler\n7 · 2 · 5 · 0 …", "batch sampler\n[7, 2] [5, 0] …", "dataset[7]\ndataset[2]"]
    names += ["collate_fn\n[item, item]", "batch\n(2, …)"]
    figure, axes = plt.subplots(figsize=(9, 1.6))
    for k, name in enumerate(names):
        tint = "#bfe0f5" if k in (2, 3) else "#fbdcb0"
        axes.add_patch(plt.Rectangle((2.1 * k, 0), 1.6, 1, fc=tint, ec="#444444"))
        axes.text(2.1 * k + 0.8, 0.5, name, ha="center", va="center")
        if k:
            ends = {"xy": (2.1 * k, 0.5), "xytext": (2.1 * k - 0.5, 0.5)}
            axes.annotate("", **ends, arrowprops={"arrowstyle": "->", "shrinkA": 2, "shrinkB": 2})
    axes.text(6.05, 1.2, "in a worker, if there are any", ha="center", color="#0072b2")
    axes.set(xlim=(-0.1, 10.1), ylim=(-0.1, 1.5))
    axes.axis("off")
    return figure


show(draw_parts(), "Indices flow from sampler to batch sampler, dataset, collate_fn and batch.")

# %% [markdown]
# A worker process runs the blue boxes; the orange ones stay with you. Nearly every argument of
# `DataLoader` belongs to one box:
#
# | argument | box | meaning |
# | --- | --- | --- |
# | `shuffle`, `sampler`, `generator` | sampler | which order |
# | `batch_size`, `drop_last`, `batch_sampler` | batch sampler | which groups |
# | `collate_fn` | collate | how items become a batch |
# | `num_workers`, `worker_init_fn`, `persistent_workers` | worker | how many processes, what each does first, whether they outlive an epoch |
# | `prefetch_factor`, `pin_memory` | batch | how many wait ready for each worker, in which memory |
#
# Two habits: `drop_last=True` spares training a last batch of one item. Evaluation neither
# shuffles nor drops.
#
# > **Often said.** *"`DataLoader(data, 32, True, 4)`"*, meaning batch size, shuffle and four
# > workers. The fourth place is `sampler`. Write keywords.

# %% topics=["dataloader-args"] errata=["dataloader-positional-args"]
for what, arguments in {"sampler=4": (2, True, 4), "batch_size=a function": (list,)}.items():
    try:
        DataLoader(squares, *arguments)
    except ValueError as error:
        print(what, "→", str(error).split(",")[0][:70])

# %% [markdown]
# ### When is it shuffled?
#
# **Predict:** does a second loop over the same loader see the same order?

# %% topics=["shuffle-per-epoch"]
order = torch.Generator().manual_seed(0)
loader = DataLoader(range(8), batch_size=8, shuffle=True, generator=order)
print("epoch 1:", next(iter(loader)).tolist())
print("epoch 2:", next(iter(loader)).tolist())
order.manual_seed(0)
print("seeded: ", next(iter(loader)).tolist())

# %% [markdown]
# A new order is drawn each time a loop begins: at `iter(loader)`, not when the loader is made. It
# comes from `generator`, or from PyTorch's global one.
#
# ### Whose memory?
#
# With `num_workers=2` two helpers call `__getitem__` and collate. (`batch_size=None` turns batching
# off: the loader hands out single items.) **Predict:** what does `asked` hold after a loop with
# workers?


# %% topics=["num-workers"] errata=["num-workers-are-threads"] tags=["shows-false"]
import os


class Who(Squares):
    def __getitem__(self, index):
        self.asked.append(index)
        return os.getpid()


who = Who(6)
pids = {int(pid) for pid in DataLoader(who, batch_size=None, num_workers=2)}
print("processes:", len(pids), "· is one of them mine:", os.getpid() in pids, "· asked:", who.asked)

# %% [markdown]
# > **Often said.** *"`num_workers` is the number of reading threads."* They are processes. Each has
# > a **copy** of the dataset, as it was when the loop began. What a worker writes into its copy, no
# > other process sees. What it returns travels back through shared memory.
#
# On Linux with Python up to 3.13 such a copy is made by `fork`: memory is shared until a process
# writes to it. On macOS, Windows and newer Pythons the dataset is pickled, and its class must be
# importable: put it into a module there, not into a notebook. (In this one `send_cells_to_workers()`,
# at the top, sends the class itself, by cloudpickle.) And guard a script's loop with
# `if __name__ == "__main__":`.
#
# Under `fork`, *reading* a Python object writes to it, for its reference count changes. A list of many
# file names is copied that way, page by page, in every worker. An array holds no Python objects.
# **Predict:** how many bytes does a worker copy that looks at 300 000 names once? (A worker that was not
# forked has its own copy from the start, and adds nothing.)


# %% topics=["num-workers"] tags=["nbval-ignore-output"]
import psutil


class Names(Squares):
    def __getitem__(self, index):
        before = psutil.Process().memory_full_info().uss  # bytes that no other process shares
        for name in self.n:
            len(name)
        return (psutil.Process().memory_full_info().uss - before) / 1e6

    def __len__(self):
        return 1


names_list = [f"images/{n:07}.jpg" for n in range(300_000)]
for kept in (names_list, np.array(names_list)):
    (copied,) = DataLoader(Names(kept), batch_size=None, num_workers=1)
    print(f"{type(kept).__name__:>8}: about {copied:.0f} MB of new pages in the worker")

# %% [markdown]
# With eight workers it is eight times that. Keep long lists as NumPy arrays, or in a file that is
# read in place (section 10).
#
# The batches come in the same order for any number of workers: worker 0 makes batch 0, worker 1
# batch 1, and the loader hands them out in turn. One slow item holds up all batches behind it.
# `in_order=False` hands each batch out when it is ready. You pay with an order that can't be repeated:


# %% tags=["nbval-ignore-output"] topics=["dataloader-args"]
class SlowFirst(Squares):
    def __getitem__(self, index):
        threading.Event().wait(0.3 if index == 0 else 0.0)
        return index


for in_order in (True, False):
    loader = DataLoader(SlowFirst(6), batch_size=None, num_workers=2, in_order=in_order)
    print(f"in_order={in_order}:", [int(x) for x in loader])

# %% [markdown]
# ### Exercise 12.1 — Predict the loader ★ · 4 min · 3 points · core
#
# Ten settings over `data`, a list of the numbers 0 to 9, or over `Squares(10)` from above. Write
# what you expect: a number, a list, `True` or `False`, or `"main"` or `"worker"` for a process.
# As an example, `len(DataLoader(data, batch_size=5))` is `2`.

# %% nbgrader={"grade_id": "questions", "locked": true} jupyter={"source_hidden": true}
from torch.utils.data import DataLoader

questions = [
    "len(DataLoader(data, batch_size=4))",
    "len(DataLoader(data, batch_size=4, drop_last=True))",
    "the last batch of DataLoader(data, batch_size=4), as a list",
    "len(DataLoader(data, batch_size=None)), which hands out single items",
    "shuffle=True: do two loops over one loader have the same order?",
    "shuffle=True, generators seeded alike: do two loaders start in the same order?",
    "how often __getitem__ runs for a batch of four",
    "num_workers=0: which process runs collate_fn?",
    "num_workers=2: which process runs collate_fn?",
    "num_workers=2: len(squares.asked) after a whole loop over Squares(10)",
]

# %% nbgrader={"grade_id": "predict-the-loader", "solution": true}
predict_the_loader = {
    "len(DataLoader(data, batch_size=4))": None,
    "len(DataLoader(data, batch_size=4, drop_last=True))": None,
    "the last batch of DataLoader(data, batch_size=4), as a list": None,
    "len(DataLoader(data, batch_size=None)), which hands out single items": None,
    "shuffle=True: do two loops over one loader have the same order?": None,
    "shuffle=True, generators seeded alike: do two loaders start in the same order?": None,
    "how often __getitem__ runs for a batch of four": None,
    "num_workers=0: which process runs collate_fn?": None,
    "num_workers=2: which process runs collate_fn?": None,
    "num_workers=2: len(squares.asked) after a whole loop over Squares(10)": None,
}
### BEGIN SOLUTION
predict_the_loader = dict(
    zip(
        predict_the_loader,
        [3, 2, [8, 9], 10, False, True, 4, "main", "worker", 0],
        strict=True,
    )
)
### END SOLUTION

# %% nbgrader={"grade_id": "predict-the-loader-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
data = list(range(10))
loaders = [
    DataLoader(data, shuffle=True, generator=torch.Generator().manual_seed(1)) for _ in range(2)
]
orders = [[x.item() for x in loader] for loader in (*loaders, loaders[0])]
by_four = [*DataLoader(data, batch_size=4)]
dropped, single = DataLoader(data, 4, drop_last=True), DataLoader(data, batch_size=None)
truth = [len(by_four), len(dropped), by_four[-1].tolist(), len(single)]
truth += [orders[0] == orders[2], orders[0] == orders[1], 4, "main", "worker", 0]
why = [
    "4, 4 and 2: the short one counts",
    "the short one is dropped",
    "two are left for it",
    "no batches, so it counts items",
    "the order is drawn anew when a loop begins",
    "equal seeds, equal draws",
    "it returns one item",
    "without workers, all of it happens in your process",
    "collating is the worker's job too: a whole batch travels back",
    "each worker appended to its own copy",
]
because = dict(zip(questions, why, strict=True))
check_predictions(predict_the_loader, dict(zip(questions, truth, strict=True)), because)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Look at the picture of the boxes: which are blue? And whose copy of `squares` does a worker write
# to?
# </details>
#
# ## 2. From a file to an item · core
#
# What should an item be when the data are files? Here is what `shapes_folder` wrote: one folder for
# each class, a convention that `ImageFolder` reads.

# %% topics=["image-folder"]
raw = ImageFolder(folder / "images")
print(raw.classes, "·", len(raw), "files")
for path, label in raw.samples[:2]:
    print(path[-15:], "→", label, raw.classes[label])
print("item 0:", raw[0][0].mode, raw[0][0].size, "label", raw[0][1])
print("sizes of the first six:", [raw[i][0].size for i in range(6)])

# %% [markdown]
# An item is a PIL image and the number of its class, in the sorted order of the folders' names.
# (`torchvision.datasets.MNIST` works the same way, after a download.) The images have all sizes.
# Here are some, with the boxes and masks of `annotations.json` and `masks/`, drawn by torchvision's
# tools:

# %% topics=["make-grid-save"]
import tempfile
from pathlib import Path

from torchvision.utils import draw_bounding_boxes, draw_segmentation_masks, make_grid, save_image

pictures = []
for n in (0, 1, 3, 5, 14, 16, 18, 23):
    image, boxes, labels, mask = (torch.from_numpy(part) for part in draw_shapes(n))
    instances = mask == torch.arange(1, len(boxes) + 1)[:, None, None]  # (shape, height, width)
    image = draw_segmentation_masks(image.permute(2, 0, 1), instances, alpha=0.4)
    pictures.append(draw_bounding_boxes(image, boxes, colors="white", width=2))

square = [
    v2.functional.pad(x, [0, 0, 128 - x.shape[2], 128 - x.shape[1]], fill=255) for x in pictures
]
grid = make_grid(torch.stack(square), nrow=4, padding=4, pad_value=255)
figure, axes = plt.subplots(figsize=(8, 4))
axes.imshow(grid.permute(1, 2, 0))
axes.axis("off")
show(figure, "Eight images of coloured shapes with white boxes and tinted masks, of eight sizes.")
save_image(grid / 255, Path(tempfile.mkdtemp()) / "grid.png")  # wants floats from 0 to 1

# %% [markdown]
# ### Pillow is lazy
#
# `Image.open` reads the header and no more; the pixels are decoded when they are first needed. If
# you time `open`, you time nothing, and a damaged file fails late. Let's cut one short.

# %% topics=["fast-image-readers"]
from PIL import Image

jpeg = (folder / "images/circle/0000.jpg").read_bytes()
cut = Path(tempfile.mkdtemp()) / "cut.jpg"
print("kept", cut.write_bytes(jpeg[: len(jpeg) // 2]), "of", len(jpeg), "bytes")
image = Image.open(cut)
print("opened:", image.size)
try:
    image.load()
except OSError as error:
    print("loaded:", error)

# %% [markdown]
# Which decoder is fastest? OpenCV, jpeg4py and Pillow all rest on libjpeg-turbo now, and decode at
# about the same speed; Pillow-SIMD is no longer kept up, `torchvision.io.decode_image` is
# deprecated in favour of TorchCodec. BMP spares decoding and pays in bytes read. A JPEG decoder has
# one trick worth knowing: it can decode straight to a half or a quarter of the size.

# %% tags=["nbval-ignore-output"] topics=["fast-image-readers"]
from timeit import timeit

big = Path(tempfile.mkdtemp()) / "big.jpg"
raw[0][0].resize((1600, 1200)).save(big, quality=90)
print(f"open alone:       {timeit(lambda: Image.open(big), number=20) * 50:6.2f} ms")
print(f"open and decode:  {timeit(lambda: Image.open(big).load(), number=20) * 50:6.2f} ms")


def small():
    image = Image.open(big)
    image.draft("RGB", (400, 300))  # decode to the next size that is at least this
    image.load()
    return image.size


print(f"draft {small()}: {timeit(small, number=20) * 50:6.2f} ms")

# %% [markdown]
# ### A method that is never called
#
# Write a dataset and you may meet this: **predict** what the cell prints.


# %% errata=["mangled-getitem"]
class Mangled(Dataset):
    def __len__(self):
        return 2

    def __getitem(self, index):
        return index


try:
    Mangled()[0]
except NotImplementedError:
    print("no __getitem__, but:", [name for name in vars(Mangled) if "getitem" in name])

# %% [markdown]
# > **Often said**, in skeletons that are passed on: *`def __getitem(self, index)`* and *`def
# > __call(self, batch)`*. Without the two trailing underscores, Python turns it into a private name.
#
# ### Exercise 12.2 — A folder of images ★★ · 16 min · 4 points · core
#
# Complete the class. `folder_dataset(root, transform, on_error)` makes a dataset over image files,
# one folder for each class (write it without `ImageFolder`).
#
# Its items:
#
# - `classes` is a list of the names of all folders directly inside `root`, sorted.
# - Items are the files directly in those folders whose name ends in `.jpg` or `.jpeg`, in any mix
#   of upper and lower case; class by class, sorted by name within a class as Python sorts texts.
#   Other files and all folders are left out.
# - Names of folders and files may begin with a dot or an underscore; no file is called just `.jpg`
#   or `.jpeg`.
# - `dataset[i]` is `(image, label)`: a PIL image in mode RGB, whatever the file's mode, of the
#   file's size (no EXIF tag turns it), decoded to the end; and the position of its class.
# - If there is a `transform` (a function, or one of v2's), `transform(image)` takes the image's
#   place.
#
# When files are read:
#
# - Making the dataset opens no image. A file is read each time its item is asked for: keep no
#   images.
# - It can be pickled, also after use.
#
# A file that can't be decoded, whatever Pillow raises (a header that claims 14 000 × 14 000 pixels
# isn't an `OSError`, nor is every damaged PNG that is named `.jpg`):
#
# - With `on_error="raise"`, an exception whose message holds the file's name.
# - With `on_error="skip"` the item is `None`, and a warning (`warnings.warn`) holds the name.
# - Anything else for `on_error` is a `ValueError` at once (what has no hash, such as a list, may be
#   a `TypeError`).
# - What `transform` raises is not the file's fault, nor is Ctrl-C (`KeyboardInterrupt`): let them
#   through as they are.
#
# Example: with the files `cat/a.jpg` and `dog/b.JPG`, `classes` is `["cat", "dog"]`, and
# `dataset[1]` is the second image and the label 1.
#
# The folder in the check holds traps: a grey image, one in CMYK, one cut short, a text file.


# %% nbgrader={"grade_id": "try-folder", "locked": true} jupyter={"source_hidden": true}
import pickle
import re
import shutil
import tempfile
import warnings
from pathlib import Path


# %% nbgrader={"grade_id": "try-folder-imports", "locked": true} jupyter={"source_hidden": true}
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset


# %% nbgrader={"grade_id": "try-folder-2", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import run_folder


@runs_with_the_answer
def try_folder(*given, **options):
    return run_folder(folder_dataset, *given, **options)


# %% nbgrader={"grade_id": "try-listing", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_listing, run_listing


@runs_with_the_answer
def try_listing(*given, **options):
    return run_listing(folder_dataset, *given, **options)


# %% nbgrader={"grade_id": "try-transform", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import run_transform


@runs_with_the_answer
def try_transform(*given, **options):
    return run_transform(folder_dataset, *given, **options)


# %% nbgrader={"grade_id": "try-too-large", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_too_large, run_too_large


@runs_with_the_answer
def try_too_large(*given, **options):
    return run_too_large(folder_dataset, *given, **options)


# %% nbgrader={"grade_id": "try-replaced", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_other_files, run_other_files, run_replaced


@runs_with_the_answer
def try_other_files():
    return run_other_files(folder_dataset)


@runs_with_the_answer
def try_replaced(*given, **options):
    return run_replaced(folder_dataset, *given, **options)


# %% nbgrader={"grade_id": "try-on-error", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_on_error, run_on_error


@runs_with_the_answer
def try_on_error(*given, **options):
    return run_on_error(folder_dataset, *given, **options)


# %% nbgrader={"grade_id": "folder-items", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_said, names


# %% nbgrader={"grade_id": "folder-dataset", "solution": true}
class FolderDataset(Dataset):
    """Images from the folders of ``root``, one folder a class."""

    def __init__(self, root, transform, on_error):
        """Look for files; open none."""
        ### BEGIN SOLUTION
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error must be 'raise' or 'skip', not {on_error!r}")
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(path.name for path in Path(root).iterdir() if path.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            files = [file for file in (Path(root) / name).iterdir() if file.is_file()]
            files = [file for file in files if file.name.lower().endswith((".jpg", ".jpeg"))]
            self.samples += [(x, label) for x in sorted(files, key=lambda file: file.name)]
        ### END SOLUTION

    ### BEGIN SOLUTION
    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as file:
                image = file.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path} can't be decoded: {error}") from error
            warnings.warn(f"{path} is skipped: {error}", stacklevel=2)
            return None
        return (image if self.transform is None else self.transform(image)), label

    ### END SOLUTION


def folder_dataset(root: Path, transform: object = None, on_error: str = "raise") -> Dataset:
    """A dataset of ``(image, label)`` over the image files in the folders of ``root``."""
    return FolderDataset(root, transform, on_error)


# %% nbgrader={"grade_id": "folder-dataset-check", "grade": true, "points": 4}
root = damaged_folder()


with every_case() as case:
    for on_error in ("raise", "skip"):
        with case(f"on_error={on_error!r}"):
            check_said(root, try_folder(on_error), on_error)
    with case(".e.jpg; D.jpg, b.JPEG; _h.jpg; c-1.jpg, c.JpEg, c2.JPG; c.jpeg; a folder old.jpg"):
        check_listing(try_listing())
    with case("a file that is replaced between two readings"):
        assert try_replaced(), "dataset[0] is still the old image: it was kept, not read again"
    with case("a transform"):
        seen, item, error = try_transform(False)
        assert not error, f"it raised {error}"
        check_equal(seen, ["RGB"], "the modes of what transform was called with")
        check_equal(item, (Image.open(root / names[0]).size, 0), "(transform(image), label)")
    with case("a header that claims 14 000 by 14 000 pixels"):
        check_too_large(try_too_large)
    with case("a PNG that is damaged inside, a large image"):
        check_other_files(try_other_files)
    for on_error in ("skip", "raise"):
        with case(f"a transform that raises OSError, with on_error={on_error!r}"):
            text = try_transform(True, on_error)[2]
            words = f"it was taken for a damaged file: {text or 'nothing was raised'}"
            assert text == "OSError: from the transform", words
    for other in ("ignore", "Raise", "", None, ["skip"]):
        with case(f"on_error={other!r}"):
            check_on_error(try_on_error, other)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Keep paths and labels in the constructor, nothing else. `name.lower().endswith((".jpg", ".jpeg"))`
# tests for both endings.
# </details>
# <details><summary>Hint 2</summary>
#
# `Image.open` succeeds on a file that was cut short. The line that decodes, such as
# `convert("RGB")`, belongs inside the `try`; `transform` belongs outside.
# </details>
#
# ## 3. From an item to a tensor · core
#
# A PIL image holds bytes from 0 to 255, channel last; a network wants floats, channel first. Old
# code has `ToTensor` for type, axes and range at once. Transforms v2 has two steps that each say
# what they do:

# %% topics=["totensor-details", "transforms-compose"]
tiny = Image.fromarray(np.array([[[0, 128, 255], [255, 0, 51]]], dtype=np.uint8))
as_image = v2.ToImage()(tiny)
print("ToImage:", as_image.dtype, tuple(as_image.shape), as_image[:, 0, 0].tolist())
scaled = v2.ToDtype(torch.float32, scale=True)(as_image)
print("ToDtype, scale=True: ", [round(x, 3) for x in scaled[:, 0, 0].tolist()])
print("ToDtype, scale=False:", v2.ToDtype(torch.float32)(as_image)[:, 0, 0].tolist())

# %% [markdown]
# `scale=True` maps the range of the one dtype to that of the other. It looks at the *dtype*, not
# at the values. **Predict:** what does the old `ToTensor` make of 255, given as uint8 and as int32?

# %% topics=["totensor-details"]
from torchvision import transforms as old

for dtype in (np.uint8, np.int32):
    x = old.ToTensor()(np.full((1, 1, 1), 255, dtype=dtype))
    print(f"{dtype.__name__:>5} 255 → {x.item()} ({x.dtype})")

# %% [markdown]
# Only bytes are scaled. A mask in int32, or a picture stored as floats from 0 to 255, comes through
# as it is: 255 times too large.
#
# And back? `to_pil_image` takes floats from 0 to 1. Normalised images leave that range. **Predict**
# what becomes of 1.5 and -0.5:

# %% topics=["topilimage-details"]
x = torch.tensor([[[0.5, 1.0, 1.5, -0.5]]])
print("to_pil_image:  ", np.array(v2.functional.to_pil_image(x)).tolist())
print("clamped before:", np.array(v2.functional.to_pil_image(x.clamp(0, 1))).tolist())

# %% [markdown]
# Nothing is clamped. Too bright wraps around to dark. `ToDtype(torch.uint8, scale=True)` wraps,
# too. To look at a normalised image, undo the normalising first and clamp: chapter 14 does it.
#
# ### The order in `Compose`
#
# `v2.Compose` calls its transforms one after the other. Three orders are wrong, and only one of
# them says so:

# %% topics=["transforms-compose"]
mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
floats = v2.ToDtype(torch.float32, scale=True)
normalise = v2.Normalize(mean.tolist(), std.tolist())
try:
    v2.Compose([v2.ToImage(), normalise, floats])(raw[1][0])
except TypeError as error:
    print("normalise before floats:", error)

late = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32), normalise])(raw[1][0])
print("floats without scale=True: up to", round(late.max().item()))
darker = v2.ColorJitter(brightness=(0.9, 0.9))  # times 0.9, always
x = v2.Compose([v2.ToImage(), floats, normalise, darker])(raw[1][0])
print("jitter after normalise: from", round(x.min().item(), 1), "to", round(x.max().item(), 1))

# %% [markdown]
# The second feeds numbers around a thousand. The third clamps all that normalising put below 0 or
# above 1. The order to remember: geometry and colour on **uint8** (less memory, and faster), then
# floats, then normalise, last.
#
# A pretrained network brings its own order along. This is the usual one for ImageNet at test time:

# %% topics=["imagenet-preprocessing"]
from torchvision.models import ResNet18_Weights

print(ResNet18_Weights.DEFAULT.transforms())

# %% [markdown]
# Resize the shorter side to 256, cut 224 from the middle, scale, normalise. For training it is
# `RandomResizedCrop(224)` and `RandomHorizontalFlip()` in place of the first two.
#
# ### Box and mask move too
#
# If an image is flipped and its boxes are not, you train on wrong labels. Transforms v2 look at the
# types: `tv_tensors.Image`, `Mask` and `BoundingBoxes` are tensors that say what they are. One call
# takes any nest of them, draws its random numbers once, and moves everything the same way. Boxes
# also carry a format (`XYXY`: left, top, right, bottom) and the `canvas_size` of their image,
# (height, width).

# %% topics=["transforms-compose", "transforms-catalogue"]
from torchvision import tv_tensors

boxes = tv_tensors.BoundingBoxes([[0, 1, 2, 4]], format="XYXY", canvas_size=(4, 6))
sample = {"image": tv_tensors.Image(torch.zeros(3, 4, 6)), "boxes": boxes, "name": "a"}
flipped = v2.RandomHorizontalFlip(p=1)(sample)
print(flipped["boxes"].tolist(), flipped["name"], type(flipped["boxes"]).__name__)
print("after arithmetic:", type(boxes + 1).__name__)

# %% [markdown]
# The box went from columns 0–2 to columns 4–6 of 6. After ordinary arithmetic a tensor forgets what
# it was; `tv_tensors.wrap(x, like=boxes)` puts the type back. The catalogue, by what they do:

# %% topics=["transforms-catalogue"]
families = {
    "geometry": "Resize RandomCrop RandomResizedCrop RandomHorizontalFlip RandomAffine "
    "RandomIoUCrop",
    "colour": "ColorJitter Grayscale GaussianBlur RandomAdjustSharpness RandomPosterize",
    "policies": "AutoAugment RandAugment TrivialAugmentWide AugMix",
    "batches": "MixUp CutMix",
    "types": "ToImage ToDtype ToPureTensor ConvertBoundingBoxFormat SanitizeBoundingBoxes",
    "control": "Compose RandomApply RandomChoice RandomOrder Lambda Identity",
}
print("all there:", all(hasattr(v2, name) for row in families.values() for name in row.split()))

# %% [markdown]
# > **Then and now.** *"Use `transforms.Scale` and `transforms.RandomSizedCrop`."* They were renamed
# > `Resize` and `RandomResizedCrop` and are gone. `transforms.transforms` in the same lists is the
# > module itself.

# %% errata=["transforms-removed"]
print([hasattr(old, name) for name in ("Scale", "RandomSizedCrop", "Resize", "RandomResizedCrop")])
print(type(old.transforms).__name__)

# %% [markdown]
# ### Exercise 12.3 — A quarter turn for everything ★★ · 15 min · 3 points
#
# Write `custom_transform(p)`. It returns a transform: something that can be called with a dict and
# that fits into `v2.Compose`. With probability `p` it turns everything in the dict by 90° counter-
# clockwise, else it leaves everything as it is. The dict has
#
# - `"image"`: a `tv_tensors.Image` (C, H, W) and `"mask"`: a `tv_tensors.Mask` (H, W), of any dtype,
#   to be turned like `torch.rot90(x, 1, (-2, -1))`;
# - `"boxes"`: `tv_tensors.BoundingBoxes` (N, 4), XYXY, inside the image; N may be 0. A column x of an
#   image that is W wide becomes row W − x. Left must stay left of right. The canvas (H, W) becomes (W, H);
# - `"label"`: a plain number, which stays.
#
# Return a new dict of the same keys, types and dtypes, turned or not; change neither the dict that
# came in nor its tensors. Each call tosses a new coin, one for the whole dict, from PyTorch's
# global generator.
#
# Any callable will do. You may call the library's `v2.functional.rotate(x, 90, expand=True)`, but
# look at what it makes of boxes when there are none.
#
# Example: in an image 6 wide, the box [0, 1, 2, 4] becomes [1, 4, 4, 6].


# %% nbgrader={"grade_id": "try-custom-2", "locked": true} jupyter={"source_hidden": true}
from torchvision import tv_tensors
from torchvision.transforms import v2

from course_utils.chapters.data_pipelines import run_custom


@runs_with_the_answer
def try_custom(*given, **options):
    return run_custom(custom_transform, *given, **options)


# %% nbgrader={"grade_id": "try-often", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import run_often


@runs_with_the_answer
def try_often(*given, **options):
    return run_often(custom_transform, *given, **options)


# %% nbgrader={"grade_id": "try-default", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_default, run_default


@runs_with_the_answer
def try_default():
    return run_default(custom_transform)


# %% nbgrader={"grade_id": "check-turn", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_often, check_turn, turns_to_try


# %% nbgrader={"grade_id": "custom-transform", "solution": true}
def custom_transform(p: float = 1.0) -> object:
    """A transform that turns image, mask and boxes of a dict by 90° with probability ``p``."""
    ### BEGIN SOLUTION

    class QuarterTurn(v2.Transform):
        def make_params(self, flat_inputs):
            return {"turns": torch.rand(()).item() < p}

        def transform(self, x, params):
            if not params["turns"]:
                return x
            if isinstance(x, tv_tensors.BoundingBoxes):
                height, width = x.canvas_size
                left, top, right, bottom = x.unbind(-1)
                turned = torch.stack([top, width - right, bottom, width - left], dim=-1)
                return tv_tensors.BoundingBoxes(
                    turned, format=x.format, canvas_size=(width, height)
                )
            return tv_tensors.wrap(torch.rot90(x, 1, (-2, -1)), like=x)

    return QuarterTurn()
    ### END SOLUTION


# %% nbgrader={"grade_id": "custom-transform-check", "grade": true, "points": 3}
with every_case() as case:
    for name, (*given, composed) in turns_to_try().items():
        with case(name):
            found = try_custom(*given, composed=composed)
            check_turn(found, *given[1:], given[0] == 1, "one image")
    with case("p left out; two transforms"):
        check_default(try_default)
    with case("called a hundred times, one transform, p=0.5"):
        check_often(try_often, 0.5, 30, 70)
    with case("called a hundred times, one transform, p=0.2"):
        check_often(try_often, 0.2, 6, 34)
    with case("called a thousand times, one transform, p=0.05"):
        check_often(try_often, 0.05, 22, 80, calls=1000)
### BEGIN HIDDEN TESTS
image, mask = (
    torch.rand(1, 5, 3, generator=torch.Generator().manual_seed(0)),
    torch.eye(5)[:, :3] > 0,
)
boxes = torch.tensor([[0.5, 1.25, 2.0, 4.5]])
check_turn(try_custom(1.0, image, mask, boxes), image, mask, boxes, True, "a grey image, floats")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Subclass `v2.Transform`. `make_params(flat_inputs)` draws once for a call and returns a dict.
# `transform(inpt, params)` is then called for each part that is an image, a mask or boxes.
# </details>
# <details><summary>Hint 2</summary>
#
# The top edge of the turned box comes from the *right* edge of the old one. Draw it on paper, with
# the width written along the top.
# </details>
#
# ## 4. From items to a batch · core
#
# Items are tensors now. `default_collate` stacks them; it goes into tuples and dicts, and makes
# tensors of numbers.

# %% topics=["collate-fn"]
items = [{"x": torch.zeros(3), "name": "a", "y": 1}, {"x": torch.ones(3), "name": "b", "y": 2}]
print(default_collate(items))

# %% [markdown]
# Stacking needs equal shapes. Ours differ. **Predict** where it fails: in the dataset, in the
# loader, or in the network?

# %% topics=["variable-size-batches"] errata=["adaptive-pool-fixes-collate"]
sizes = [torch.zeros(3, 4, 6), torch.zeros(3, 5, 5)]
pool = nn.Sequential(nn.Conv2d(3, 2, 3), nn.AdaptiveAvgPool2d(1))
try:
    pool(next(iter(DataLoader(sizes, batch_size=2))))
except RuntimeError as error:
    print(str(error)[:70])
as_list = next(iter(DataLoader(sizes, batch_size=2, collate_fn=list)))
print("as a list:", tuple(torch.stack([pool(x) for x in as_list]).shape))

# %% [markdown]
# > **Often said.** *"Images of different size in one batch? Put adaptive pooling into the network."*
# > The batch is never made: collating fails, long before any network. Adaptive pooling helps the
# > *next* problem, one image at a time or a padded batch.
#
# There are four ways out: resize all, crop all, hand out a list, or **pad** to the largest and say
# in a **mask** what is padding. For sequences the library pads:

# %% topics=["variable-size-batches"]
from torch.nn.utils.rnn import pad_sequence

sequences = [torch.tensor([5, 6, 7]), torch.tensor([8]), torch.tensor([9, 0])]
padded = pad_sequence(sequences, batch_first=True)
lengths = torch.tensor([len(x) for x in sequences])
mask = torch.arange(padded.shape[1]) < lengths[:, None]  # (1, time) < (batch, 1)
print(padded, mask, sep="\n")

# %% [markdown]
# Why the mask? The 0 at the end of the last sequence is a value, the other zeros are padding, and
# the numbers don't tell: **a mask comes from lengths, never from values.** Here is what it means
# for a mean over time:

# %% topics=["variable-size-batches"]
print("mean with padding:", [round(x, 2) for x in padded.float().mean(1).tolist()])
print("values != 0:      ", [round(x, 2) for x in (padded.sum(1) / (padded != 0).sum(1)).tolist()])
print("masked mean:      ", [round(x, 2) for x in ((padded * mask).sum(1) / mask.sum(1)).tolist()])

# %% [markdown]
# The first is wrong for two sequences, the second for the last one, where it gives 9 instead of 4.5.
#
# A `collate_fn` is any function from a list of items to a batch; it may carry settings, as a class
# with `__call__` or by `functools.partial`. (A `lambda` works as long as workers are forked; it
# can't be pickled.) It is also the place to drop the `None` of a damaged file.
#
# ### Exercise 12.4 — A batch with boxes ★★ · 15 min · 4 points · core
#
# Write `collate_boxes(items)`, which pads images and their boxes to one batch.
#
# An item is `(image, boxes)`: a tensor (C, H, W), and a tensor (N, 4), both of any numbers and any
# dtype but uint16, uint32 and uint64, in which PyTorch does little (NumPy has no bfloat16); or
# `None`, which you leave out. All images have the same number of channels and the same dtype; all
# boxes share a dtype, too. H, W and N differ, and N may be 0. Return a dict of
#
# - `"images"`: (B, C, largest H, largest W), zeros to the right of an image and below it;
# - `"sizes"`: (B, 2), int64, H and W of each image;
# - `"boxes"`: (B, largest N, 4), boxes first, then zeros;
# - `"mask"`: (B, largest N), bool: which boxes are real.
#
# Items keep their order, images and boxes their dtype. (Padding on the right and below leaves the boxes
# true.) If no item is left, or none came, return `None`. Leave the arguments as they are.
#
# Example: for two images of 2 × 3 and 4 × 1 pixels the images are padded to 4 × 3.


# %% nbgrader={"grade_id": "make-item", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import item, run_kept


@runs_with_the_answer
def try_kept(*given, **options):
    return run_kept(collate_boxes, *given, **options)


# %% nbgrader={"grade_id": "check-batch", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import batches_to_try, check_batch, check_other_states


# %% nbgrader={"grade_id": "collate-boxes", "solution": true}
def collate_boxes(items: list) -> dict[str, torch.Tensor] | None:
    """One padded batch of ``(image (C, H, W), boxes (N, 4))`` or ``None`` entries, with a mask."""
    ### BEGIN SOLUTION
    items = [item for item in items if item is not None]
    if not items:
        return None
    images, boxes = zip(*items, strict=True)
    sizes = torch.tensor([image.shape[-2:] for image in images])
    counts = torch.tensor([len(box) for box in boxes])
    height, width = sizes.amax(0).tolist()
    batch = images[0].new_zeros(len(items), images[0].shape[0], height, width)
    padded = boxes[0].new_zeros(len(items), int(counts.max()), 4)
    for n, (image, box) in enumerate(items):
        batch[n, :, : image.shape[1], : image.shape[2]] = image
        padded[n, : len(box)] = box
    mask = torch.arange(padded.shape[1]) < counts[:, None]
    return {"images": batch, "sizes": sizes, "boxes": padded, "mask": mask}
    ### END SOLUTION


# %% nbgrader={"grade_id": "collate-boxes-check", "grade": true, "points": 4}
with every_case() as case:
    for name, items in batches_to_try().items():
        with case(name):
            check_batch(collate_boxes, items, "the batch")
    for name in ("one item", "half images, int64 boxes"):
        with case(f"{name}, in other states"):
            check_other_states(collate_boxes, batches_to_try()[name], "collate_boxes(items)")
    with case("the list itself"):
        words = "the list that came in was changed: build a new one without the None"
        assert try_kept([None, item(2, 3, 1), None]), words
### BEGIN HIDDEN TESTS
check_batch(collate_boxes, [item(5, 4, 3, channels=1)], "a batch of one grey image")
image, boxes = item(6, 7, 3)
check_batch(
    collate_boxes,
    [(image.mT, boxes.long()), (image[:, ::2, 1:], boxes.long()[:0])],
    "views, whole-number boxes",
)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Make tensors of zeros first (`new_zeros` keeps the dtype), then copy each image and its boxes into
# a corner.
# </details>
# <details><summary>Hint 2</summary>
#
# `torch.arange(most) < counts[:, None]` is the mask, also where `most` is 0.
# </details>

# %%
pairs = [draw_shapes(n) for n in (0, 1, 3, 5)]
tall = max(len(p.image) for p in pairs)
pads = [(tall - len(p.image), 128 - p.image.shape[1]) for p in pairs]
figure, axes = plt.subplots(1, 4, figsize=(8, 2.4))
for axis, p, (below, right) in zip(axes, pairs, pads, strict=True):
    axis.imshow(np.pad(p.image, ((0, below), (0, right), (0, 0)), constant_values=225))
    axis.set_title(f"{len(p.boxes)} of 4 boxes real", fontsize=9)
    axis.set(xticks=[], yticks=[])
show(figure, "Four images padded with grey to one size; the share of real boxes differs.")

# %% [markdown]
# The grey is computed like the rest, and thrown away. How much there is depends on who meets in a
# batch: the sampler's choice.
#
# ## 5. Who comes next?
#
# A sampler is any iterable of indices; a batch sampler one of lists of indices. Every question of
# *which* items is answered there, and the dataset stays as it is.

# %% topics=["samplers"]
print(next(iter(DataLoader(range(10, 20), sampler=[3, 1, 1], batch_size=2))))
print([x.tolist() for x in DataLoader(range(10, 20), batch_sampler=[[0, 9], [5], [2, 3, 4]])])

# %% [markdown]
# **Similar lengths.** Sentences of 5 to 100 words in batches of 8: how much of each batch is
# padding, with random batches, and with batches of neighbours by length?

# %% topics=["samplers", "variable-size-batches"]
numbers = np.random.default_rng(0)
words = numbers.integers(5, 101, size=96)
by_chance = numbers.permutation(96).reshape(12, 8)
by_length = np.argsort(words).reshape(12, 8)
waste = [1 - words.sum() / (8 * words[batches].max(1)).sum() for batches in (by_chance, by_length)]
print(f"padding: {waste[0]:.0%} by chance, {waste[1]:.0%} by length")

figure, axes = plt.subplots(1, 2, figsize=(9, 2.8), sharey=True)
for axis, batches, name in zip(
    axes, (by_chance, by_length), ("by chance", "by length"), strict=True
):
    axis.bar(
        range(96), np.repeat(words[batches].max(1), 8), width=1, color="#e8b06a", label="padding"
    )
    axis.bar(range(96), words[batches].ravel(), width=1, color="#0072b2", label="words")
    axis.set(title=f"batches {name}", xlabel="items, batch by batch")
axes[0].set_ylabel("length in the batch")
axes[0].legend(loc="upper center", bbox_to_anchor=(1.1, 1.28), ncols=2)
show(
    figure, "Bars of lengths below each batch's maximum: much padding by chance, little by length."
)

# %% [markdown]
# Sorted batches have a price: the same items always meet, and in sorted order the network would see
# short ones first, epoch after epoch. That is why batches are shuffled, and items of equal length change
# places.
#
# **Balanced classes.** With 90 healthy and 10 ill patients, a network learns to say "healthy". Draw
# with replacement instead, each *item* with the weight one over the size of its class:

# %% topics=["samplers"]
from torch.utils.data import WeightedRandomSampler

labels = torch.tensor([0] * 90 + [1] * 10)
weights = 1 / labels.bincount()[labels]
drawn = torch.tensor(
    [*WeightedRandomSampler(weights, 100, generator=torch.Generator().manual_seed(0))]
)
print("ill in 100 draws:", labels[drawn].sum().item())
print("healthy ever seen:", drawn[drawn < 90].unique().numel(), "of 90")

# %% [markdown]
# An ill patient is seen five times an epoch, and a healthy one is missed with probability
# $(1 - 1/180)^{100} = 57\,\%$: of 90 about 38 are seen. An "epoch" of such draws isn't a pass over
# the data.
#
# ### Exercise 12.5 — Two samplers ★★ · 18 min · 4 points
#
# **By length.** `bucket_sampler(lengths, batch_size, seed, epoch)` returns a list of batches, each a
# list of indices into `lengths`, which has whole numbers:
#
# - every index is in exactly one batch; all batches are full but at most one, and none is empty;
# - sorted by length and cut: of any two batches, one holds no length greater than any in the other
#   (equal lengths may be in both);
# - the batches are shuffled, and so are, before the cut, items of *equal* length: chance decides in
#   each epoch which of them share a batch;
# - equal `seed` and `epoch`, equal result, in another process too. Another epoch or another seed
#   gives another order; seed 1 in epoch 0 is not seed 0 in epoch 1;
# - `lengths` and the global generators of PyTorch, NumPy and Python stay as they are.
#
# Example: lengths `[7, 1, 8, 2]` in twos: `[[1, 3], [0, 2]]` or `[[2, 0], [1, 3]]`, among others.
#
# **Balanced.** `weighted_sampling(labels, draws, seed)` returns a list of `draws` indices (1 or more)
# into `labels`, with replacement, however few. In each draw every class is as likely as any other,
# and in a class every item; no draw depends on another. `labels` are whole numbers, negative ones
# too, in any order and with gaps. Equal seeds give equal results, and here too the global generators
# stay as they are.


# %% nbgrader={"grade_id": "try-samplers", "locked": true} jupyter={"source_hidden": true}
import itertools

import random

from course_utils.chapters.data_pipelines import run_sampler


@runs_with_the_answer
def try_sampler(*given, **options):
    return run_sampler(bucket_sampler, weighted_sampling, *given, **options)


# %% nbgrader={"grade_id": "check-buckets", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_buckets, check_other_process
from course_utils.chapters.data_pipelines import check_seeds_and_epochs, check_shuffled, check_ties

# %% nbgrader={"grade_id": "check-balance", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_balance, check_few_draws, check_one_draw
from course_utils.chapters.data_pipelines import check_kept, check_rare


# %% nbgrader={"grade_id": "bucket-sampler", "solution": true}
def bucket_sampler(lengths: list[int], batch_size: int, seed: int, epoch: int) -> list[list[int]]:
    """Shuffled batches of indices whose items have similar lengths."""
    ### BEGIN SOLUTION
    numbers = np.random.default_rng([seed, epoch])
    order = sorted(numbers.permutation(len(lengths)).tolist(), key=lambda index: lengths[index])
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    return [batches[n] for n in numbers.permutation(len(batches))]
    ### END SOLUTION


def weighted_sampling(labels: list[int], draws: int, seed: int) -> list[int]:
    """Indices of ``draws`` items, drawn so that all classes are equally likely."""
    ### BEGIN SOLUTION
    _, classes, counts = torch.tensor(labels).unique(return_inverse=True, return_counts=True)
    generator = torch.Generator().manual_seed(seed)
    return torch.multinomial(
        1 / counts[classes], draws, replacement=True, generator=generator
    ).tolist()
    ### END SOLUTION


# %% nbgrader={"grade_id": "bucket-sampler-check", "grade": true, "points": 3}
spread = [(7 * n) % 48 + 1 for n in range(48)]  # the lengths 1 to 48, each once
with every_case() as case:
    with case("lengths [7, 1, 8, 2] in twos"):
        check_buckets(try_sampler, [7, 1, 8, 2], 2, 0, 0, "the batches")
    for name, lengths in {
        "48 lengths": spread,
        "7 items in fours": spread[:7],
        "9 items in fours": spread[:9],
        "3 items in fours, one of length 0": [4, 0, 9],
        "48 lengths, those before backwards": spread[::-1],
        "lengths near 2**30": [2**30 + length for length in spread],
        "lengths up to 2**60 and near them": [(n // 3 << 55) + n % 3 for n in spread],
        "no items": [],
    }.items():
        with case(name):
            check_buckets(try_sampler, lengths, 4, 3, 1, "the batches")
    with case("equal and other seeds and epochs"):
        check_seeds_and_epochs(try_sampler, spread)
    with case("another process"):
        check_other_process(try_sampler, spread)
    for size, lengths in {4: spread[:9], 6: spread, 1: spread[:6]}.items():
        with case(f"{len(lengths)} lengths, batches of {size}, eighty epochs"):
            check_shuffled(try_sampler, lengths, size, 80)
    with case("twelve items of one length"):
        check_ties(try_sampler)
### BEGIN HIDDEN TESTS
ties = check_buckets(try_sampler, [3, 3, 1, 9, 9, 9, 2, 3, 3, 3, 1], 3, 5, 8, "ties, a short batch")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "bucket-sampler-check-2", "grade": true, "points": 1}
with every_case() as case:
    for name, labels in {
        "9 to 1": [0] * 18 + [1] * 2,
        "of the classes 3, 7 and 40": [7] * 4 + [3] * 12 + [40],
        "2, 2, -1, 2, 2, -1, 2": [2, 2, -1, 2, 2, -1, 2],
        "7, 7, 7": [7, 7, 7],
        "beyond 2**60 and below": [2**60, 2**60 + 1, 2**60, -(2**60), 0, 2**60],
    }.items():
        with case(f"labels {name}, 6000 draws"):
            one = check_balance(try_sampler, labels, 6000, 0, "the draws")
            assert check_balance(try_sampler, labels, 6000, 0, "again") == one, (
                "equal seeds, other draws"
            )
            assert check_balance(try_sampler, labels, 6000, 1, "another seed") != one, (
                "another seed, the same draws"
            )
    with case("six draws from the labels 4, -1, 4, -1, 4, -1, with twenty seeds"):
        check_few_draws(try_sampler, [4, -1] * 3)
    with case("one draw"):
        check_one_draw(try_sampler, [4, -1] * 3)
    with case("other labels, as many; a list that was emptied"):
        check_kept(try_sampler)
    with case("70 000 items of one class, one of the other"):
        check_rare(try_sampler)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A generator takes both numbers as its seed: `np.random.default_rng([seed, epoch])`.
# </details>
# <details><summary>Hint 2</summary>
#
# Python's sort is stable: equal lengths keep the order that they had before. Shuffle first.
# </details>
# <details><summary>Hint 3</summary>
#
# `unique(return_inverse=True, return_counts=True)` counts classes of any number.
# </details>
#
# ## 6. Workers and chance · core
#
# Each worker has a copy of everything, random generators included? Augmentations that repeat are a
# quiet bug: training continues, with a fraction of the variety. Four ways to draw, two workers, two
# epochs. **Predict** which columns repeat.


# %% topics=["numpy-seed-in-workers"] tags=["nbval-ignore-output"]
class Noise(Dataset):
    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.generator = torch.Generator().manual_seed(0)

    def __len__(self):
        return 2

    def __getitem__(self, index):
        own = int(torch.randint(1000, (), generator=self.generator))
        shared = np.random.randint(1000), int(torch.randint(1000, ()))
        return *shared, int(self.rng.integers(1000)), own


loader = DataLoader(Noise(), batch_size=None, num_workers=2)
print("               np.random  torch   own rng  own generator")
for epoch in range(2):
    for worker, draws in enumerate(loader):
        print(f"epoch {epoch} worker {worker}", *(f"{x:>8}" for x in draws))

# %% [markdown]
# The two left columns differ everywhere; the two right ones hold one number each, four times over.
# PyTorch seeds, in each worker and each epoch, the *global* generators of PyTorch, Python
# and NumPy. It can't know of a generator that **you** made. That one is copied, with its state, into
# every worker; and since workers are made again for each epoch, every epoch starts from that state.
#
# > **Then and now.** *"With workers, `np.random` gives every worker the same augmentations."* It did,
# > for years, and many projects had the bug. Today NumPy's global generator is seeded in every
# > worker. The advice that followed, to make a generator by `np.random.default_rng()`, brings it back.

# %%
small = np.array(raw[2][0].resize((48, 48)))
figure, axes = plt.subplots(2, 8, figsize=(9, 2.9))
for row, workers in zip(axes, (1, 2), strict=True):
    rng = [np.random.default_rng(4) for _ in range(workers)]
    for k, axis in enumerate(row):
        shift = rng[k % workers].integers(0, 40)
        axis.imshow(np.roll(small, shift, axis=1))
        axis.set_title(f"item {k}: by {shift}", fontsize=8)
        axis.set(xticks=[], yticks=[])
    row[0].set_ylabel(["no workers", "two workers"][workers - 1], fontsize=9)
show(figure, "An image rolled by chance, eight items: with two workers, each shift comes twice.")

# %% [markdown]
# Look at neighbours in the lower row: 0 and 1, 2 and 3 … are rolled by the same shift.
#
# The repair is a `worker_init_fn`, called in each worker before its first item. There
# `get_worker_info()` tells which worker this is (`id`), of how many (`num_workers`), its copy of the
# dataset (`dataset`), and a `seed` that differs by worker and by epoch and follows from the loader's
# `generator`:


# %% topics=["numpy-seed-in-workers"]
from torch.utils.data import get_worker_info


class Info(Squares):
    def __getitem__(self, index):
        info = get_worker_info()
        return info.id, info.num_workers, info.seed - info.id


for epoch in range(2):
    g = torch.Generator().manual_seed(epoch)
    items = [*DataLoader(Info(2), batch_size=None, num_workers=2, generator=g)]
    print(
        "epoch", epoch, [item[:2] for item in items], "seed − id equal:", items[0][2] == items[1][2]
    )

# %% [markdown]
# ### Exercise 12.6 — Chance for every worker ★★ · 10 min · 3 points · core
#
# `NoiseSet` below keeps two generators, `rng` (NumPy) and `generator` (PyTorch), and each
# item draws from both. Write its `worker_init_fn`: `worker_rng(worker_id)` gives the worker's copy
# of the dataset new ones, a `np.random.Generator` and a `torch.Generator`, or seeds those of the copy
# anew, so that
#
# - no two workers draw the same numbers, and no two epochs (each makes its workers again);
# - equal seeds of the loader's `generator` give equal draws, run for run.


# %% nbgrader={"grade_id": "noise-set", "locked": true}
class NoiseSet(Dataset):
    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.generator = torch.Generator().manual_seed(0)

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return int(self.rng.integers(10**9)), int(
            torch.randint(10**9, (), generator=self.generator)
        )


# %% nbgrader={"grade_id": "try-worker-rng", "locked": true} jupyter={"source_hidden": true}
from torch.utils.data import get_worker_info

from course_utils.chapters.data_pipelines import run_worker_rng


@runs_with_the_answer
def try_worker_rng(*given):
    return run_worker_rng(worker_rng, NoiseSet, *given)


# %% nbgrader={"grade_id": "check-draws", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_draws, check_seeds


# %% nbgrader={"grade_id": "worker-rng", "solution": true}
def worker_rng(worker_id: int) -> None:
    """Give this worker's dataset generators that no other worker and no other epoch has."""
    ### BEGIN SOLUTION
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)
    info.dataset.generator = torch.Generator().manual_seed(info.seed)
    ### END SOLUTION


# %% nbgrader={"grade_id": "worker-rng-check", "grade": true, "points": 3}
first, again, other = (try_worker_rng(2, n, seed) for n, seed in ((2, 0), (1, 0), (1, 1)))
elsewhere = try_worker_rng(2, 1, 0, True)
runs = {"two workers, two epochs": first, "one worker, three epochs": try_worker_rng(1, 3, 0)}
long, five = try_worker_rng(3, 12, 1255), try_worker_rng(5, 1, 0)
runs |= {"three workers, twelve epochs": long, "five workers, one epoch": five}
with every_case() as case:
    with case("the seeds of the workers"):
        for drawn, seed in ((first, 0), (again, 0), (other, 1)):
            check_seeds(drawn, seed)
    for which, name in enumerate(("rng", "generator")):
        for what, drawn in runs.items():
            with case(f"{what}, {name}"):
                check_draws(NoiseSet, drawn, which, f"dataset.{name}")
        with case(f"the same seed again, {name}"):
            four = first, again, other, elsewhere
            one, two, three, four = ([w[which] for w in run[0]] for run in four)
            assert one == two, f"dataset.{name}: equal seeds of the loader, other draws"
            assert one == four, f"dataset.{name}: elsewhere hash() of a text is another number"
            assert one != three, f"dataset.{name}: another seed of the loader, the same draws"
### BEGIN HIDDEN TESTS
many = try_worker_rng(2, 3, 5)
check_seeds(many, 5)
for which, name in enumerate(("rng", "generator")):
    check_draws(NoiseSet, many, which, f"three epochs: dataset.{name}")
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint</summary>
#
# The worker's copy is `get_worker_info().dataset`. Put new generators into its two attributes, made
# from the one number that differs by worker *and* by epoch.
# </details>
#
# ## 7. Streams: who reads which part?
#
# Some data has no index: a log, a socket, a file too long to count. An **iterable-style dataset** has
# `__iter__` in place of `__getitem__`. There are no indices, so no sampler can divide the work.
# **Predict** what two workers deliver.


# %% topics=["num-workers"]
from torch.utils.data import IterableDataset


class Stream(IterableDataset):
    def __iter__(self):
        return iter([10, 11, 12])


print([int(x) for x in DataLoader(Stream(), batch_size=None, num_workers=2)])

# %% [markdown]
# All of it, twice. Each worker has a copy and runs it from the start: this is the other place where
# workers double things. The stream has to divide *itself*. With several machines there is a second
# division: `world` processes train together, each has a `rank` and its own workers.
# Number the shares: worker `worker` of rank `rank` takes share `rank * workers + worker` of the
# `world * workers`.
#
# Walk it by hand, 7 items, 2 ranks with 2 workers each: four shares. Cutting into blocks of
# 7 // 4 = 1 loses three items; blocks of 2 leave the last share with 1. **Dealing like cards** gives
# 2, 2, 2, 1: share s takes items s, s + 4, s + 8 …

# %% topics=["num-workers"]
items, shares = list(range(7)), 4
print("blocks of 7 // 4:", [items[s : s + 1] for s in range(4)], "· lost:", items[4:])
print("dealt:           ", [items[s::shares] for s in range(shares)])

# %% [markdown]
# A stream can't be shuffled by a sampler either. A **shuffle buffer** holds the next few items, and
# hands out a random one. **Predict:** how late, and how early, can an item come?


# %% topics=["num-workers"]
def shuffle_buffer(stream, size, numbers):
    held = []
    for record in stream:
        held.append(record)
        if len(held) == size:
            yield held.pop(numbers.integers(size))
    numbers.shuffle(held)
    yield from held


print([*shuffle_buffer(range(16), 4, np.random.default_rng(0))])

# %% [markdown]
# An item may come arbitrarily late, but never more than three places early: what is far apart in
# the stream stays apart. Real data is cut into hundreds of **shards** (tar files of some 100 MB each).
# Shuffle the shards in each epoch, deal *them* to ranks and workers, and let a buffer mix several.
#
# Two more things that streams have to settle. **Equal batches for each rank:** of 5 items, dealt to
# 2 ranks in batches of two, one rank makes 2 batches and the other 1. The rank with 2 waits at its
# second exchange of gradients, for a partner that has finished. Cut all ranks to the smallest number,
# repeat items, or use `Join` (chapter 17). **Token packing:** texts of unequal length need no padding
# when they are joined and cut into rows:

# %% topics=["variable-size-batches"]
texts, end = [[5, 6, 7], [8], [9, 4, 4, 2], [3, 1]], 0
joined = [token for text in texts for token in (*text, end)]
rows = torch.tensor(joined[: len(joined) // 4 * 4]).reshape(-1, 4)  # (row, time)
print(rows, "\nleft for the next row:", joined[rows.numel() :])

# %% [markdown]
# Every place holds a token. A row may hold the end of one text and the start of another; where they
# must not see each other, attention needs a mask for each text.
#
# ### Exercise 12.7 — A stream that divides itself ★★ · 12 min · 3 points
#
# Write `shard_iterable(source, rank, world)`. It returns an `IterableDataset` over the list `source`:
#
# - Taken over all `world` ranks and all their workers, every item comes exactly once. Without workers
#   a rank counts as one share.
# - No two shares differ by more than one item.
# - It can be looped over again, with the same result; also in workers, after a loop without any.
#
# What may come:
#
# - `source` may be empty or shorter than the number of shares. Items are of any kind, `None` too,
#   and an item may be in it twice. The list stays as it is.
# - Every rank has the same number of workers, whatever it is. Inside a worker, `get_worker_info()`
#   tells which it is; outside it returns `None`.
#
# Example: 9 items, 2 ranks with 2 workers each: the shares hold 3, 2, 2 and 2 items.


# %% nbgrader={"grade_id": "try-shard", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import run_shard, run_unhashable


@runs_with_the_answer
def try_shard(*given, **options):
    return run_shard(shard_iterable, *given, **options)


@runs_with_the_answer
def try_unhashable() -> str:
    return run_unhashable(shard_iterable)


# %% nbgrader={"grade_id": "check-shares", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_shares


# %% nbgrader={"grade_id": "shard-iterable", "solution": true}
def shard_iterable(source: list, rank: int, world: int) -> IterableDataset:
    """A stream of this rank's and this worker's share of ``source``."""
    ### BEGIN SOLUTION

    class Share(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            worker, workers = (info.id, info.num_workers) if info else (0, 1)
            return iter(source[rank * workers + worker :: world * workers])

    return Share()
    ### END SOLUTION


# %% nbgrader={"grade_id": "shard-iterable-check", "grade": true, "points": 3}
with every_case() as case:
    for count, world, workers in [
        (7, 1, 0),
        (7, 2, 0),
        (7, 1, 2),
        (9, 2, 2),
        (2, 2, 2),
        (0, 1, 2),
        (5, 3, 1),
        (6, 1, 4),
        (4, 3, 0),
        (10, 4, 0),
    ]:
        with case(f"{count} items, world={world}, num_workers={workers}"):
            check_shares(try_shard, count, world, workers)
    with case("items of many kinds, None among them"):
        check_shares(try_shard, 9, 2, 0, kinds="of nine kinds, nearly")
    with case("pairs of a number and a text"):
        check_shares(try_shard, 5, 2, 0, kinds="pairs")
    with case("lists and a dict, which have no hash"):
        words = try_unhashable()
        assert not words, f"{words}: each item comes, as it is"
    with case("a stream whose first loop was left by break"):
        check_shares(try_shard, 7, 2, 0, True)
    with case("two workers, for a stream that was looped over before in the main process"):
        check_shares(try_shard, 7, 1, 2, True)
### BEGIN HIDDEN TESTS
with every_case() as case:
    for count, world, workers in [(8, 1, 2), (11, 3, 0)]:
        with case(f"{count} items, world={world}, num_workers={workers}"):
            check_shares(try_shard, count, world, workers)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Ask `get_worker_info()` inside `__iter__`. In the constructor you are in the main process still.
# </details>
# <details><summary>Hint 2</summary>
#
# Number the shares 0, 1, 2 … over ranks and workers, and deal: a slice with a step does it.
# </details>
#
# ## 8. One mean of many images
#
# `Normalize` in section 3 took its numbers from ImageNet. Your own images need a mean and a standard
# deviation for each channel, over all sizes, and without holding all images.
#
# A recipe averages the means of the images. **Predict**: one image of a single black pixel, one of
# nine pixels of value 10. What is the mean pixel?

# %% topics=["dataset-mean-std"] errata=["mean-of-image-means"]
one, nine = torch.zeros(1, 1, 1), torch.full((1, 3, 3), 10.0)
print("mean of means:", torch.stack([one.mean(), nine.mean()]).mean().item())
print("mean of pixels:", torch.cat([one.flatten(), nine.flatten()]).mean().item())

# %% [markdown]
# The recipe is right only for images of equal size. Count pixels, not images. For the spread, a
# second recipe sums x and x², and takes $E[x^2] - E[x]^2$. It is one pass, and it is fragile:

# %% topics=["dataset-mean-std"]
x = torch.tensor([1e8, 1e8 + 1, 1e8 + 2], dtype=torch.float64)  # the variance is 2/3
print("E[x²] − E[x]²:       ", ((x**2).mean() - x.mean() ** 2).item())
print("mean of (x − mean)²:", round(((x - x.mean()) ** 2).mean().item(), 4))

# %% [markdown]
# Two huge numbers that agree in all digits are subtracted; what is left is rounding. The stable way
# carries three numbers for what it has seen: the count $n$, the mean $m$, and $S$, the sum of
# squared distances from the mean. Two such triples merge (Chan, Golub and LeVeque, 1979):
#
# $$n = n_a + n_b \qquad d = m_b - m_a \qquad m = m_a + d\,\frac{n_b}{n} \qquad
# S = S_a + S_b + d^2\,\frac{n_a n_b}{n}$$
#
# By hand, {1, 3} and {8}: (2, 2, 2) and (1, 8, 0). Then n = 3, d = 6, m = 2 + 6 · 1/3 = 4, and
# S = 2 + 0 + 36 · 2/3 = 26. Check: 1, 3 and 8 are 3, 1 and 4 away from 4, and 9 + 1 + 16 = 26. The
# invariant: *a merged triple is that of all values together*. One pass is then "triple of an image,
# merge, next", and workers merge theirs at the end, in any order.
#
# ### Exercise 12.8 — Mean and deviation in one pass ★★ · 12 min · 3 points
#
# Write `running_statistics(images)`, which walks through images once, and `merge_statistics(a, b)`,
# which merges what two such walks found. Both return a triple: the number of pixels for each channel
# (an `int`), the mean, and S, the last two float64 tensors of shape (C,).
#
# - `images` is an iterable of at least one (C, H, W) tensor, of one or more pixels each, uint8 or
#   float (half and bfloat16, too), of any sizes. It may be a generator: it can be walked through
#   once, and you keep at most two images at a time, or copies of so many.
# - The result is right where $E[x^2] - E[x]^2$ is not. Work in float64. A NaN makes the mean and S of
#   its own channel NaN.
# - `merge_statistics` takes two such triples. One of them may be empty: count 0, zeros, zeros. Counts
#   may be in the tens of thousands of millions.
# - Arguments stay as they are.
#
# Example: the single-channel image `[[1., 3.]]` gives (2, [2.], [2.]). The standard deviation is then
# `(S / n).sqrt()`.


# %% nbgrader={"grade_id": "try-statistics", "locked": true} jupyter={"source_hidden": true}
import weakref

from course_utils.chapters.data_pipelines import run_statistics


@runs_with_the_answer
def try_statistics(*given, **options):
    return run_statistics(running_statistics, *given, **options)


# %% nbgrader={"grade_id": "check-merge", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_many, check_memory, check_merge
from course_utils.chapters.data_pipelines import check_other_states, images_to_try, run_memory


@runs_with_the_answer
def try_memory():
    return run_memory(running_statistics)


# %% nbgrader={"grade_id": "statistics-truth", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import triple_of

# %% nbgrader={"grade_id": "check-triple", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_triple


# %% nbgrader={"grade_id": "running-statistics", "solution": true}
def running_statistics(images: object) -> tuple[int, torch.Tensor, torch.Tensor]:
    """Count, mean and sum of squared distances from it, for each channel, in one pass."""
    ### BEGIN SOLUTION
    total = None
    for image in images:
        values = image.double().flatten(1)
        mean = values.mean(1)
        part = values.shape[1], mean, ((values - mean[:, None]) ** 2).sum(1)
        total = part if total is None else merge_statistics(total, part)
    return total
    ### END SOLUTION


def merge_statistics(a: tuple, b: tuple) -> tuple[int, torch.Tensor, torch.Tensor]:
    """The triple of everything that went into ``a`` and ``b``."""
    ### BEGIN SOLUTION
    (count_a, mean_a, sum_a), (count_b, mean_b, sum_b) = a, b
    count = count_a + count_b
    if count == 0:
        return 0, mean_a.clone(), sum_a.clone()
    difference = mean_b - mean_a
    mean = mean_a + difference * (count_b / count)
    return count, mean, sum_a + sum_b + difference**2 * (count_a * count_b / count)
    ### END SOLUTION


# %% nbgrader={"grade_id": "running-statistics-check", "grade": true, "points": 2}
drawn = [torch.from_numpy(draw_shapes(n).image).permute(2, 0, 1) for n in (0, 3, 5)]
with every_case() as case:
    for name, images in images_to_try(drawn).items():
        with case(name):
            right = triple_of(images)
            with forbid_changes(*images):
                found = running_statistics(images)
            check_triple(found, right, "the triple", images)
    with case("from a generator"):
        found, most = try_statistics(drawn * 2)
        check_triple(found, triple_of(drawn * 2), "the triple", drawn * 2)
        assert most <= 3, f"{most} images were in memory at once: keep triples, not images"
    with case("the images of bytes, in other states"):
        check_other_states(running_statistics, drawn, "running_statistics(images)")
    with case("twelve images from a generator, what is kept of them"):
        check_memory(try_memory)
### BEGIN HIDDEN TESTS
numbers, sizes = torch.Generator().manual_seed(0), [(2, 3), (1, 5), (4, 4)]
images = [(torch.randn(4, *size, generator=numbers) * 3 + 7).to(device).mT for size in sizes]
count, *rest = running_statistics(images)
found, right = (count, *(x.cpu() for x in rest)), triple_of([image.cpu() for image in images])
check_triple(found, right, "27 pixels of four channels, transposed")
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "running-statistics-check-2", "grade": true, "points": 1}
values = [torch.tensor([[[1.0, 3.0]]]), torch.tensor([[[8.0]]])]
three = torch.arange(24.0).reshape(3, 2, 4)
far = [1e8 + torch.tensor([[[0.0, 1.0, 2.0]]]).double(), 1e8 + torch.ones(1, 2, 2).double()]
with every_case() as case:
    for name, (a, b) in {
        "{1, 3} and {8}": ([values[0]], [values[1]]),
        "near 1e8": ([far[0]], [far[1]]),
        "{8} and nothing": ([values[1]], []),
        "nothing and {1, 3}": ([], [values[0]]),
        "{1, 3} and nothing": ([values[0]], []),
        "1000 zeros and 1001 twos": ([torch.zeros(1, 10, 100)], [torch.full((1, 7, 143), 2.0)]),
        "nothing and nothing": ([], []),
        "two images of three channels": ([three], [three[:, :1] + 5]),
        "nothing and three channels": ([], [three]),
    }.items():
        with case(name):
            check_merge(merge_statistics, a, b, "merged")
    with case("ten thousand million pixels each"):
        check_many(merge_statistics)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `image.double().flatten(1)` has a row for each channel. Its triple is three short lines.
# </details>
# <details><summary>Hint 2</summary>
#
# In merging, nothing and nothing would divide by 0: treat that case first.
# </details>

# %% topics=["dataset-mean-std"]
sample = [v2.functional.pil_to_tensor(raw[n][0]) for n in range(300)]
count, mean, squares = triple_of(sample)
print(count, "pixels · mean", (mean / 255).round(decimals=3).tolist())
print("std", ((squares / count).sqrt() / 255).round(decimals=3).tolist())

# %% [markdown]
# ## 9. A few frames of a clip
#
# An item may be too large, too: a clip of 300 frames is too much for a network. **Segment sampling**
# (temporal segment networks, TSN) cuts it into K equal segments and takes one frame of each: a random
# one for training, the middle one for testing. A version in circulation takes frame `F / K // 2 + F // K * k` for segment k
# of F frames, and pads a short clip with the frames `arange(K - F)`. It also counts frames with the
# rate as an int, where broadcast video runs at 30000/1001 = 29.97 a second. **Predict** three faults:

# %% topics=["tsn-sampling"] errata=["tsn-sampler", "video-fps-int"]
middle = 10 / 3 // 2 + 10 // 3 * torch.arange(3)
print("10 frames, 3 segments:", middle.tolist(), "are", middle.dtype)
print("2 frames, 7 segments: padded with", torch.arange(7 - 2).tolist(), "where only 0 and 1 exist")
rate = 30000 / 1001
print("10.01 s hold", round(10.01 * rate), "frames; with int(rate)", round(10.01 * int(rate)))

# %% [markdown]
# Floats can't index frames, the padding runs past the end, and ten frames are lost in ten seconds.
# (`torchvision.io.read_video` is gone; reading video is TorchCodec's task now, or PyAV's or OpenCV's.)
#
# ### Exercise 12.9 — Frames by segments ★★ · 10 min · 3 points
#
# Write `tsn_segments(seconds, rate, segments, generator)`, a list of `segments` frame numbers.
#
# - The clip has F frames, `seconds * rate` rounded, and at least 1. Frames count from 0.
# - Of K segments, segment k (from 0) begins at frame ⌊kF/K⌋ and ends before frame ⌊(k+1)F/K⌋. Where
#   that leaves nothing, because the clip is short, it holds the frame at which it begins.
# - Without a generator (`None`): the middle frame of each segment, of two the earlier.
# - With a generator: a frame of each segment, by a separate draw for each, all its frames equally
#   likely. Draw from this generator alone, and don't seed it: a second call continues where the first
#   one stopped.
#
# Example: 10 frames in 3 segments, 0–2, 3–5 and 6–9: `[1, 4, 7]`. And 2 frames in 4 segments:
# `[0, 0, 1, 1]`.


# %% nbgrader={"grade_id": "try-tsn", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import run_tsn


@runs_with_the_answer
def try_tsn(*given, **options):
    return run_tsn(tsn_segments, *given, **options)


# %% nbgrader={"grade_id": "check-frames-2", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_drawn, check_frames, run_twice


@runs_with_the_answer
def try_twice(*given, **options):
    return run_twice(tsn_segments, *given, **options)


# %% nbgrader={"grade_id": "try-calls", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_calls, run_calls


@runs_with_the_answer
def try_calls(*given):
    return run_calls(tsn_segments, *given)


# %% nbgrader={"grade_id": "check-likely", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_likely, check_long, check_middles


# %% nbgrader={"grade_id": "tsn-segments", "solution": true}
def tsn_segments(
    seconds: float, rate: float, segments: int, generator: torch.Generator | None = None
) -> list[int]:
    """One frame number for each segment: the middle one, or one drawn from ``generator``."""
    ### BEGIN SOLUTION
    frames, chosen = max(1, round(seconds * rate)), []
    for k in range(segments):
        begin = k * frames // segments
        end = max((k + 1) * frames // segments, begin + 1)
        if generator is None:
            chosen.append((begin + end - 1) // 2)
        else:
            chosen.append(int(torch.randint(begin, end, (), generator=generator)))
    return chosen
    ### END SOLUTION


# %% nbgrader={"grade_id": "tsn-segments-check", "grade": true, "points": 3}
with every_case() as case:
    for seconds, rate, frames, segments in [
        (10, 1, 10, 3),
        (2, 1, 2, 4),
        (10.01, 30000 / 1001, 300, 8),
        (0.01, 25, 1, 3),
        (0.5, 12, 6, 6),
        (9, 1, 9, 2),
        (1.99, 25, 50, 5),
        (2.01, 25, 50, 5),
        (2.44, 25, 61, 5),
        (30, 1, 30, 22),
        (3, 1, 3, 1),
        (3600, 24000 / 1001, 86314, 8),
        (10.2508, 2000, 20502, 2),
        (43200, 60000 / 1001, 2589411, 8),
    ]:
        with case(f"{seconds} s at {rate:.5g} a second in {segments}"):
            check_frames(try_tsn, seconds, rate, frames, segments)
    with case("up to 40 frames in up to 40 segments, the middle frames"):
        check_middles(try_tsn, 40)
    with case("2100 frames in 700 segments, and 1750"):
        check_likely(try_tsn)
    with case("70 000 000 frames in 700 segments, drawn once"):
        check_long(try_tsn)
    with case("7 frames in 2 segments, two thousand calls"):
        check_calls(try_calls)
    with case("two calls with one generator"):
        check_drawn(try_twice)
### BEGIN HIDDEN TESTS
check_frames(try_tsn, 4.004, 24000 / 1001, 96, 5)
check_frames(try_tsn, 3, 1, 3, 7)
check_frames(try_tsn, 7, 2.0, 14, 1)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint</summary>
#
# Stay in whole numbers: `k * frames // segments`. A segment that would be empty gets its end moved
# up by one; nothing can then be past the last frame.
# </details>
#
# ## 10. Ten thousand files, or one?
#
# Small files are slow where opening is slow: on network disks, in object stores. People pack them.
# TFRecord, WebDataset's tar files, MosaicML's shards and Parquet are made for reading in sequence,
# LMDB and HDF5 (or zarr) for reading anywhere. (A `.pth` or `.npz` is read whole.) Here are the two
# that need care with processes.

# %% topics=["packed-file-formats"]
import h5py
import lmdb

shelf = Path(tempfile.mkdtemp())
paths = [Path(path) for path, _ in raw.samples]
with h5py.File(shelf / "pack.h5", "w") as file:
    column = file.create_dataset("jpeg", (len(paths),), dtype=h5py.vlen_dtype(np.uint8))
    for n, path in enumerate(paths):
        column[n] = np.frombuffer(path.read_bytes(), dtype=np.uint8)

pack = lmdb.open(str(shelf / "pack.lmdb"), subdir=False, map_size=2**30)
with pack.begin(write=True) as transaction:
    for n, path in enumerate(paths):
        transaction.put(str(n).encode(), path.read_bytes())
pack.close()
print(
    *(f"{n} {(shelf / n).stat().st_size / 1e6:.1f} MB" for n in ("pack.h5", "pack.lmdb")), sep=", "
)

# %% [markdown]
# LMDB is a sorted map from bytes to bytes. `map_size` is the most that it may grow to; it reserves
# addresses, not disk, so be generous. The default is 10 MiB, and one byte more is a `MapFullError`.
#
# What does packing gain on this machine? Reading the bytes three ways, next to decoding them
# (`lock=False`: nothing writes to the file any more, so no lock is needed):

# %% tags=["nbval-ignore-output"] topics=["packed-file-formats"]
with h5py.File(shelf / "pack.h5") as file:
    column = file["jpeg"]
    took = {"HDF5": timeit(lambda: [column[n].tobytes() for n in range(600)], number=1)}
pack = lmdb.open(str(shelf / "pack.lmdb"), subdir=False, readonly=True, lock=False)
with pack.begin() as transaction:
    took["LMDB"] = timeit(lambda: [transaction.get(str(n).encode()) for n in range(600)], number=1)
pack.close()
took["loose files"] = timeit(lambda: [path.read_bytes() for path in paths], number=1)
took["decoding"] = timeit(lambda: [Image.open(path).convert("RGB") for path in paths], number=1)

figure, axes = plt.subplots(figsize=(7, 2))
colours = ["#0072b2"] * 3 + ["#e08a1e"]
bars = axes.barh([*took], [1e6 * seconds / 600 for seconds in took.values()], color=colours)
axes.bar_label(bars, fmt=" %.0f", fontsize=9)
axes.set(xlabel="microseconds an item (files already in memory)", xscale="log", xmargin=0.15)
show(figure, "Bars: LMDB reads fastest, then loose files and HDF5; decoding takes longest.")

# %% [markdown]
# With warm files on a local disk, LMDB is the fastest reader, HDF5 with a row for each image gains
# nothing, and decoding dwarfs all three. Pack when *opening* is what you wait for; measure first.
#
# ### Processes
#
# An open file belongs to its process. **Predict** what pickling a reader raises, and what a forked
# child may do with a reader that its parent opened:

# %% topics=["packed-file-formats"]
pack = lmdb.open(str(shelf / "pack.lmdb"), subdir=False, readonly=True, lock=False)
for reader in (pack, h5py.File(shelf / "pack.h5")):
    try:
        pickle.dumps(reader)
    except TypeError as error:
        print(error)

# %% topics=["packed-file-formats"]
try:
    lmdb.open(str(shelf / "pack.lmdb"), subdir=False, readonly=True, lock=False)
except lmdb.Error as error:
    print("a second time:", str(error).split("'")[-1].strip())
pack.close()

# %% [markdown]
# Neither travels to a spawned worker. A forked one inherits it, and both libraries tell you not to
# use it there. LMDB also refuses to open a file twice in a process, and a forked child counts as
# having its parent's open: it has to `close()` what it inherited, then open its own. The pattern
# that survives all of it: **keep the path, open at first use, note the process, leave the handle
# out of `__getstate__`.** For HDF5:


# %% topics=["packed-file-formats"]
class H5Images(Dataset):
    def __init__(self, path):
        self.path, self.file, self.owner = str(path), None, None
        with h5py.File(path) as file:
            self.length = len(file["jpeg"])

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if self.owner != os.getpid():
            self.file, self.owner = h5py.File(self.path), os.getpid()
        return self.file["jpeg"][index].tobytes()

    def __getstate__(self):
        return {**vars(self), "file": None, "owner": None}


packed = H5Images(shelf / "pack.h5")
first = packed[0]
same = [*DataLoader(packed, batch_size=None, num_workers=2)] == [
    path.read_bytes() for path in paths
]
print("used here, then by two workers, every byte right:", same)
print("pickled after use:", pickle.loads(pickle.dumps(packed))[0] == first)

# %% [markdown]
# ### A killed writer
#
# Now for real: a separate process writes, and is killed half-way. (Windows has no SIGKILL. Its SIGTERM
# ends a process as abruptly.)

# %% topics=["packed-file-formats"]
import subprocess
import sys

kill = "import os, signal; os.kill(os.getpid(), getattr(signal, 'SIGKILL', signal.SIGTERM))"
h5 = "import h5py; f = h5py.File('half.h5', 'w'); f['x'] = [1, 2, 3]"
db = """import lmdb; e = lmdb.open('half.lmdb', subdir=False)
for k in b'abc':
    with e.begin(write=True) as t: t.put(bytes([k]), b'1')
t = e.begin(write=True); t.put(b'd', b'1')"""
for code in (h5, db):
    print("exit", subprocess.run([sys.executable, "-c", f"{code}\n{kill}"], cwd=shelf).returncode)

try:
    h5py.File(shelf / "half.h5")
except OSError as error:
    print("HDF5:", str(error).split("(")[1].rstrip(")").split(":")[0])
half = lmdb.open(str(shelf / "half.lmdb"), subdir=False, readonly=True, lock=False)
print("LMDB:", half.stat()["entries"], "entries of 4")
half.close()

# %% [markdown]
# HDF5's file is lost. LMDB keeps every transaction that was committed: whole, but short, and a
# reader can't tell. The cure is the same: write under another name in the same folder, close, then
# `os.replace` it into place. A rename happens or it does not. (Chapter 13 saves checkpoints that way.)
#
# ### Exercise 12.10 — Pack it ★★ · 18 min · 4 points
#
# Write `pack_it(items, path)`, which packs many small items into one LMDB file (`subdir=False`),
# and complete `PackedDataset`, which reads it.
#
# Writing:
#
# - `pack_it` writes an iterable of `bytes` to the file `path`, whatever its name (of up to 200
#   letters). Of the items some may be empty; there may be 100 000 or none at all, or 2**30 bytes in
#   all.
# - Until everything is written, `path` stays as it was: there is no file, or the old one, whole.
#   That holds if `items` raises (let it through), and if the process is killed, at whatever step.
# - The next `pack_it` to the same path writes its own items, and nothing that was left over.
# - The system's folder for temporary files may be on another disk.
#
# Reading:
#
# - `PackedDataset(path)` has a length; `[index]` gives the item of that place, as `bytes`; an index
#   past the end is an `IndexError`.
# - In the same process, a dataset that is made after `pack_it` wrote anew reads the new items.
# - It can be pickled, before and after use.
# - Each process that reads opens the file itself, once, and not for every item; asking for the
#   length is reading, too. That includes workers and any other process that was forked, or started
#   afresh, after the parent had read.
# - Open for reading with `readonly=True, lock=False`.
#
# Example: after `pack_it([b"ab", b""], path)` and `packed = PackedDataset(path)`, `len(packed)` is
# 2 and `packed[1]` is `b""`.


# %% nbgrader={"grade_id": "try-pack", "locked": true} jupyter={"source_hidden": true}
import os
import zlib

import lmdb


# %% nbgrader={"grade_id": "make-items", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import make_items

# %% nbgrader={"grade_id": "try-pack-read", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import run_pack


@runs_with_the_answer
def try_pack(*given, **options):
    return run_pack(PackedDataset, pack_it, *given, **options)


# %% nbgrader={"grade_id": "try-killed", "locked": true} jupyter={"source_hidden": true}
import multiprocessing
import signal


# %% nbgrader={"grade_id": "try-killed-2", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import RAISED, run_killed


@runs_with_the_answer
def try_killed(*given, **options):
    return run_killed(PackedDataset, pack_it, *given, **options)


# %% nbgrader={"grade_id": "try-repacked", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import run_repacked


@runs_with_the_answer
def try_repacked(*given, **options):
    return run_repacked(PackedDataset, pack_it, *given, **options)


# %% nbgrader={"grade_id": "check-pack", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_copied, check_forked, check_gigabyte
from course_utils.chapters.data_pipelines import check_many_items, check_on_another_disk
from course_utils.chapters.data_pipelines import check_other_names, check_pack

# %% nbgrader={"grade_id": "try-forked", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import run_copied, run_forked, run_gigabyte, run_many
from course_utils.chapters.data_pipelines import run_other_names


@runs_with_the_answer
def try_many():
    return run_many(PackedDataset, pack_it)


@runs_with_the_answer
def try_other_names():
    return run_other_names(PackedDataset, pack_it)


@runs_with_the_answer
def try_gigabyte():
    return run_gigabyte(PackedDataset, pack_it)


@runs_with_the_answer
def try_forked():
    return run_forked(PackedDataset, pack_it)


@runs_with_the_answer
def try_copied():
    return run_copied(PackedDataset, pack_it)


# %% nbgrader={"grade_id": "try-on-another-disk", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import run_on_another_disk


@runs_with_the_answer
def try_on_another_disk():
    return run_on_another_disk(PackedDataset, pack_it)


# %% nbgrader={"grade_id": "try-steps", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_steps, run_steps


@runs_with_the_answer
def try_steps(before: bool):
    return run_steps(PackedDataset, pack_it, before)


# %% nbgrader={"grade_id": "pack-it", "solution": true}
def pack_it(items: object, path: Path) -> None:
    """Write an iterable of bytes to one LMDB file, whole or not at all."""
    ### BEGIN SOLUTION
    path = Path(path)
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    pack = lmdb.open(str(partial), subdir=False, map_size=2**36, lock=False)
    try:
        with pack.begin(write=True) as transaction:
            for n, item in enumerate(items):
                transaction.put(str(n).encode(), item)
    finally:
        pack.close()
    os.replace(partial, path)
    ### END SOLUTION


class PackedDataset(Dataset):
    """The items of a packed file, from any process."""

    def __init__(self, path):
        """Keep the path."""
        ### BEGIN SOLUTION
        self.path, self.pack, self.owner = str(path), None, None
        ### END SOLUTION

    ### BEGIN SOLUTION
    def open(self):
        if self.owner != os.getpid():
            if self.pack is not None:
                self.pack.close()
            self.pack = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.pack

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as transaction:
            item = transaction.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {**vars(self), "pack": None, "owner": None}

    ### END SOLUTION


# %% nbgrader={"grade_id": "pack-it-check", "grade": true, "points": 3}
with every_case() as case:
    for name, (sizes, workers, used) in {
        "twelve items": ([7, 3, 9, 1, 5, 5, 8, 2, 6, 4, 11, 10], 0, True),
        "an empty item": ([4, 0, 2], 0, False),
        "no items": ([], 0, False),
        "1100 small items": ([1, 2] * 550, 0, False),
        "48 MB": ([400_000] * 120, 0, False),
        "two workers": ([*range(1, 13)], 2, False),
        "two workers, after the parent has read": ([*range(1, 13)], 2, True),
    }.items():
        with case(name):
            check_pack(try_pack, sizes, workers, used, "the packed file")
    with case("a forked process, no worker, after the parent has read"):
        check_forked(try_forked)
    with case("a copy"):
        check_copied(try_copied)
    with case("a gigabyte of items, 1024 times smaller"):
        check_gigabyte(try_gigabyte)
    with case("70 001 items"):
        check_many_items(try_many)

# %% nbgrader={"grade_id": "pack-it-check-2", "grade": true, "points": 1}
with every_case() as case:
    ends = {f"raises {kind}": f"{kind}: from the items" for kind in RAISED}
    for how, raised in {"killed": "-9", **ends}.items():
        for before, left in {
            False: "no file",
            True: [zlib.crc32(x) for x in make_items([3, 4])],
        }.items():
            with case(f"items end: {how}; {'an old file' if before else 'no file'} at path"):
                found, reads = try_killed(how, before)
                assert found != "0", "the last item was never asked for: is there an answer yet?"
                check_equal(found, raised, "what became of the writer")
                words = "nothing may be at path" if not before else "the old items must be there"
                assert reads == left, f"{words}; a reader finds {str(reads)[:40]}"
    with case("two items, after a writer of forty was killed"):
        what = "items in the file (did the killed writer's half-written file come back?)"
        check_equal(try_repacked(), 2, what)
    with case("items end: raises; an old file at pack.tmp, pack.part, a long name and others"):
        check_other_names(try_other_names)
    with case("temporary files on another disk"):
        check_on_another_disk(try_on_another_disk)
    for before in (False, True):
        with case(f"killed at each step, {'an old file' if before else 'no file'} at path"):
            check_steps(try_steps, before)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The reader follows `H5Images` in all but two points: it opens nothing for its length before its
# first use, and it closes what a fork inherited. LMDB's `env.stat()["entries"]` counts. `get` returns
# `None` for a key that isn't there, and `b""` for an empty item.
# </details>
# <details><summary>Hint 2</summary>
#
# One transaction for everything, on a file of another name; close; `os.replace`.
# </details>
#
# ### Do it once
#
# If decoding and resizing give the same every time, do it **once**, offline: keep the small arrays,
# as uint8. `np.memmap` reads such a file in place, and workers share its pages.

# %% topics=["preprocess-offline"] tags=["nbval-ignore-output"]
small = np.stack([np.array(image.resize((64, 64))) for image, _ in (raw[n] for n in range(200))])
np.save(shelf / "small.npy", small)
mapped = np.load(shelf / "small.npy", mmap_mode="r")
print(
    type(mapped).__name__,
    mapped.shape,
    f"{mapped.nbytes / 1e6:.1f} MB · equal:",
    (mapped == small).all(),
)

decode = timeit(lambda: [np.array(raw[n][0].resize((64, 64))) for n in range(200)], number=1)
read = timeit(lambda: [np.array(mapped[n]) for n in range(200)], number=1)
print(f"decode and resize {decode * 5:.3f} ms an item, from the map {read * 5:.4f} ms")

# %% [markdown]
# Random augmentation can't be done once. Resize a little larger than you need, and crop at random.
# If everything fits into memory, one tensor and an index are the fastest loader there is.
#
# ## 11. Stop in the middle, resume exactly there
#
# A run of days is stopped after 1 371 of 5 000 batches. To resume, the loader needs its place. Two
# numbers suffice, if the order is a *function* of them: the epoch, and how many batches were handed
# out. By hand, with ten items in twos:

# %% topics=["samplers"]
order = np.random.default_rng([0, 4]).permutation(10).reshape(5, 2)  # seed 0, epoch 4
print("epoch 4:       ", order.tolist())
print("after 2 of 5:  ", order[2:].tolist())

# %% [markdown]
# The trap is in the workers. They run ahead: while you train on batch 2, batches 3 to 6 are being
# made, and the sampler has given out their indices. **Predict** how far:


# %% topics=["prefetching"]
class Counting:
    def __init__(self, n):
        self.n, self.given = n, 0

    def __iter__(self):
        for index in range(self.n):
            self.given += 1
            yield index


for workers in (0, 2):
    sampler = Counting(100)
    batches = iter(DataLoader(range(100), sampler=sampler, num_workers=workers))
    next(batches)
    print(f"{workers} workers: handed out 1, the sampler has given", sampler.given)

# %% [markdown]
# Five, with two workers. Where those batches are:

# %%
figure, axes = plt.subplots(figsize=(9, 1.3))
kinds = ["handed out"] + ["made or in the making"] * 4 + ["not drawn yet"] * 5
tints = {"handed out": "#0072b2", "made or in the making": "#fbdcb0", "not drawn yet": "#dddddd"}
for k, kind in enumerate(kinds):
    label = kind if kind not in kinds[:k] else None
    axes.bar(k, 1, width=0.92, color=tints[kind], label=label)
axes.set(xticks=range(10), yticks=[], xlabel="batch")
axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
show(figure, "Ten batches in a row: one handed out, four that workers hold, five not drawn yet.")

# %% [markdown]
# Two workers with `prefetch_factor=2` hold four batches; with yours, that makes five. A sampler
# that counts what *it* gave loses four batches at each resume. Count what came **out**.
#
# ### Exercise 12.11 — Resume in the middle ★★★ · 25 min · 4 points
#
# Write `resumable(dataset, batch_size, seed, num_workers)`. It returns a loader over a map-style
# dataset with a length, which can be stopped after any batch, and be resumed there.
#
# The loop:
#
# - `for batch in loader` continues from the loader's place to the end of the epoch; then the next
#   `for` does the next epoch. After a `break`, the next `for` continues after the last batch that
#   came out (if that was the epoch's last, it may give none). So it does after an error in the
#   dataset.
# - The last batch may be short. A batch is what `default_collate` makes.
# - `num_workers` workers make the batches. Workers end when their `for` does, by `break` too.
#
# The order:
#
# - Each epoch has every item once, in an order that is shuffled again (items, not whole batches),
#   and is another one for another seed.
# - It follows from `seed` and the number of the epoch alone, in each process the same.
# - Seed no global generator. (A `DataLoader` draws a number from PyTorch's when its loop begins;
#   that is all right.)
#
# The place:
#
# - `loader.state_dict()`, called in a loop or between two, gives it, in a dict that `json` can
#   write (its keys are texts), and that does not change afterwards.
# - `load_state_dict` puts another loader there, made with equal arguments, new or used, and leaves
#   its dict as it is.
# - That loader then gives exactly the batches that were not yet handed out, whatever workers had
#   fetched. Items that were handed out before are not read again.
#
# Example: with 10 items in fours, stopped after batch 2 of an epoch, the next batch is its last two
# items.


# %% nbgrader={"grade_id": "try-resumable", "locked": true} jupyter={"source_hidden": true}
import gc
import json


# %% nbgrader={"grade_id": "try-resumable-2", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import run_stream


@runs_with_the_answer
def try_stream(*given, **options):
    return run_stream(resumable, *given, **options)


# %% nbgrader={"grade_id": "try-resumable-3", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import run_resumable


@runs_with_the_answer
def try_resumable(*given, **options):
    return run_resumable(resumable, *given, **options)


# %% nbgrader={"grade_id": "try-pairs", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_pairs, check_read, run_pairs, run_read


@runs_with_the_answer
def try_pairs(*given, **options):
    return run_pairs(resumable, *given, **options)


@runs_with_the_answer
def try_read(*given):
    return run_read(resumable, *given)


# %% nbgrader={"grade_id": "try-disturbed", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_disturbed, run_disturbed


@runs_with_the_answer
def try_disturbed(raises: bool):
    return run_disturbed(resumable, raises)


# %% nbgrader={"grade_id": "try-global-seeds", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_global_seeds, run_global_seeds


@runs_with_the_answer
def try_global_seeds():
    return run_global_seeds(resumable)


# %% nbgrader={"grade_id": "check-stream", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_left, check_orders, check_stream

# %% nbgrader={"grade_id": "check-resumed", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.data_pipelines import check_resumed


# %% nbgrader={"grade_id": "resumable", "solution": true}
def resumable(dataset: Dataset, batch_size: int, seed: int, num_workers: int = 0) -> object:
    """A shuffling loader that knows its place and can be put back there."""
    ### BEGIN SOLUTION

    class Loader:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            loader = DataLoader(
                dataset, batch_sampler=batches[self.done :], num_workers=num_workers
            )
            for batch in loader:
                self.done += 1
                yield batch
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], state["done"]

    return Loader()
    ### END SOLUTION


# %% nbgrader={"grade_id": "resumable-check", "grade": true, "points": 2}
with every_case() as case:
    for workers in (0, 2):
        with case(f"17 items in fours, num_workers={workers}"):
            check_stream(try_stream, 17, 4, 0, workers, epochs=3 if workers else 9)
    with case("9 items in twelves"):
        check_stream(try_stream, 9, 12, 0, 0, epochs=3)
    with case("23 items, in batches of other sizes; three hundred epochs"):
        check_orders(try_stream, 23, 300)
    for workers in (0, 2, 3):
        with case(f"items of a number and a dict, num_workers={workers}"):
            check_pairs(try_pairs, workers)
    with case("every for left by break after a batch"):
        check_left(try_stream)
    with case("two epochs, and which global generators are seeded"):
        check_global_seeds(try_global_seeds)


# %% nbgrader={"grade_id": "resumable-check-2", "grade": true, "points": 2}
with every_case() as case:
    for workers, stop in [(0, 2), (0, 0), (0, 5), (0, 7), (2, 2), (2, 6)]:
        with case(f"17 items in fours, num_workers={workers}, stopped after {stop} batches"):
            check_resumed(try_stream, try_resumable, 17, 4, 0, workers, stop, 9)
    for workers in (0, 2):
        with case(f"what is read after batch 2, num_workers={workers}"):
            check_read(try_read, workers)
    with case("the state asked for inside of the loop, after batch 2"):
        check_resumed(try_stream, try_resumable, 17, 4, 0, 0, 2, 9, "inside")
    with case("put into a loader that was used before"):
        check_resumed(try_stream, try_resumable, 17, 4, 0, 0, 2, 9, "used")
    for raises, what in {True: "a dataset that raises, once", False: "two loaders"}.items():
        with case(what):
            check_disturbed(try_stream, try_disturbed, raises)
### BEGIN HIDDEN TESTS
check_resumed(try_stream, try_resumable, 12, 3, 7, 2, 3, 8)
check_resumed(try_stream, try_resumable, 5, 8, 2, 0, 1, 3)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A class with `__iter__` as a generator: cut the epoch's permutation into batches, leave out the
# first `done`, and hand the rest to a `DataLoader` as its `batch_sampler`. A list will do.
# </details>
# <details><summary>Hint 2</summary>
#
# Count *before* you `yield`: what follows the `yield` does not run until the next batch is
# asked for, and not at all after a `break`.
# </details>
#
# **In practice** the items' own chance must be resumed, too: seed an augmentation from (seed, epoch,
# index). torchdata's `StatefulDataLoader` keeps the state of samplers and datasets in its workers.
#
# ## 12. Who is waiting? · core
#
# Three settings are left, and all three are about waiting.
#
# **Prefetching.** Each worker keeps `prefetch_factor` batches (2, if you say nothing) ready or in
# the making. More of them smooth out slow items, but speed up nothing when all workers are busy.
# `persistent_workers=True` keeps the processes from epoch to epoch.
#
# **Pinning.** A GPU fetches memory by itself, but only from pages that the system promises not to
# move: *page-locked*, or pinned. From any other memory the driver copies twice, and your process
# waits.
#
# > **Often said.** *"`pin_memory` puts the data on the GPU."* It puts batches into page-locked memory
# > of the **host**, by a thread of the main process. They are still on the CPU.

# %% tags=["shows-false", "nbval-ignore-output"] topics=["pin-memory"] errata=["pin-memory-is-gpu"]
gpu = device.type == "cuda"
batch = next(iter(DataLoader(range(8), batch_size=8, pin_memory=gpu)))
print("a GPU is there:", gpu, "· pinned:", batch.is_pinned())
print("the batch is on:  ", batch.device)

# %% [markdown]
# Pinning costs time, and without a GPU it does nothing but warn. With one, it pays together with
# **`non_blocking=True`**: the copy is queued, your process continues, and the GPU computes on the
# last batch meanwhile. *"Pinned, with `non_blocking=False`, to overlap"* is passed on too: False
# waits until the copy is done, each time.

# %% tags=["shows-false", "nbval-ignore-output"] topics=["non-blocking-copy"] errata=["non-blocking-false-overlaps"]
x = torch.zeros(2**24).pin_memory() if gpu else torch.zeros(2**24)  # 64 MiB
for non_blocking in (False, True) if gpu else ():
    start = time.perf_counter()
    y = x.to(device, non_blocking=non_blocking)
    queued = time.perf_counter() - start
    torch.accelerator.synchronize()
    total = time.perf_counter() - start
    print(f"non_blocking={non_blocking}: back after {queued / total:4.0%} of the copy's time")
print("a copy was made:", x.to(device) is not x)

# %% [markdown]
# On a CPU `to` has nothing to copy. On a GPU the first line says nearly 100 %, the second a few
# percent. Two warnings: `y.to("cpu", non_blocking=True)` hands you memory that is not yet filled,
# so synchronise first; and don't write into `x` while the copy runs. Overlap also needs two queues,
# or *streams*: one that copies, one that computes.


# %% topics=["prefetching", "non-blocking-copy"]
def to_device_ahead(loader):
    """Batches on ``device``, each copied on a second stream while the last is computed on."""
    if device.type != "cuda":
        yield from (batch.to(device) for batch in loader)
        return
    side, last = torch.cuda.Stream(), None
    for batch in loader:
        with torch.cuda.stream(side):
            coming = batch.to(device, non_blocking=True)
        if last is not None:
            yield last
        torch.cuda.current_stream().wait_stream(side)
        coming.record_stream(torch.cuda.current_stream())
        last = coming
    if last is not None:
        yield last


print([x.tolist() for x in to_device_ahead(DataLoader(range(6), batch_size=4))])

# %% [markdown]
# ### A method, before any setting
#
# **Step alone:** train on one batch that you keep. **Loader alone:** loop over it and do nothing.
# The slower is the one the other waits for; speeding up the other changes nothing. If it is the
# loader, take its parts one at a time: open, decode, transform, collate, start of the workers.
# **Mend the largest part, and no other.** A pipeline whose opening takes 70 % is 1.1 times as fast
# if everything *else* gets a third faster, and 3 times if opening gets cheap.
#
# ### Exercise 12.12 — Find the bottleneck ★★ · 15 min · 4 points · core
#
# Five slow pipelines, `slow["A"]` to `slow["E"]`: dicts of settings. `measure(settings)` runs one
# for real, over small JPEG files, and counts for each part how much it did. Clocks differ, so it
# multiplies the counts by fixed prices and returns milliseconds:
#
# | part | counted | setting that it depends on |
# | --- | --- | --- |
# | `"open"` | how often the packed file is opened | `reader`: `"per item"` or `"per process"` |
# | `"decode"` | pixels decoded | `decode`: `"each time"` or `"once"` |
# | `"transform"` | numbers computed on as floats | `floats`: `"first"` (before resizing) or `"last"` |
# | `"collate"` | bytes copied | `collate`: `"grow"` (`cat` in a loop) or `"stack"` |
# | `"start"` | workers started | `workers`: a number; `persistent`: `True` or `False` |
#
# Several settings look bad in each; one part is the bottleneck. `size`, `items`, `batch_size` and
# `epochs` are given, and the batches must stay the same. For each pipeline write `(part, change)`:
# the part that takes most, and a dict with *one* changed setting that cuts the total to less than
# 60 %. For example, `("open", {"reader": "per process"})`. Measure, don't guess: run `measure` in a
# cell of your own.


# %% nbgrader={"grade_id": "slow", "locked": true} tags=["to-be-read"]
from course_utils.chapters.data_pipelines import CHOICES, measure_pipeline

common = {"reader": "per item", "decode": "each time", "floats": "first", "collate": "grow"}
slow = {
    "A": common | {"size": 32, "items": 48, "batch_size": 4, "epochs": 2, "workers": 0},
    "B": common | {"size": 256, "items": 16, "batch_size": 4, "epochs": 1, "workers": 0},
    "C": common | {"size": 256, "items": 8, "batch_size": 4, "epochs": 6, "workers": 0},
    "D": common | {"size": 64, "items": 16, "batch_size": 8, "epochs": 5, "workers": 2},
    "E": common | {"size": 32, "items": 64, "batch_size": 64, "epochs": 1, "workers": 0},
}
slow = {name: settings | {"persistent": False} for name, settings in slow.items()}
slow["C"] |= {"floats": "last"}


def measure(settings: dict) -> dict[str, float]:
    """Milliseconds that each part takes: counts times fixed prices."""
    return measure_pipeline(settings)[0]


# %% nbgrader={"grade_id": "check-mended", "locked": true} jupyter={"source_hidden": true}
def check_mended(name, answer):
    form = 'write (part, change), such as ("open", {"reader": "per process"})'
    assert answer is not None, f"still blank: {form}"
    fits = isinstance(answer, (tuple, list)) and len(answer) == 2 and isinstance(answer[1], dict)
    assert fits, f"{answer!r}? {form}"
    part, change = answer
    took, sums = measure_pipeline(slow[name])
    total = sum(took.values())
    assert part in took, f"{part!r} is none of the parts {', '.join(took)}"
    share = took[part] / total
    assert took[part] == max(took.values()), (
        f"{part!r} takes {share:.0%} of the total; measure(slow[{name!r}])"
    )
    assert len(change) == 1, f"{change} changes {len(change)} settings: change one"
    ((key, value),) = change.items()
    assert key in CHOICES, (
        f"{key!r} is none of the settings that may be changed: {', '.join(CHOICES)}"
    )
    assert value in CHOICES[key], f"{key}={value!r}: it can be one of {CHOICES[key]}"
    mended, after = measure_pipeline(slow[name] | change)
    left = sum(mended.values()) / total
    assert after == sums, "the batches are not the same any more"
    words = f"{part!r} is the part, but {change} brings the total to {left:.0%} of what it was"
    assert left < 0.6, f"{words}: change what this part depends on, so that it does less"


# %% nbgrader={"grade_id": "find-the-bottleneck", "solution": true}
find_the_bottleneck = {"A": None, "B": None, "C": None, "D": None, "E": None}
### BEGIN SOLUTION
find_the_bottleneck = {
    "A": ("open", {"reader": "per process"}),
    "B": ("transform", {"floats": "last"}),
    "C": ("decode", {"decode": "once"}),
    "D": ("start", {"persistent": True}),
    "E": ("collate", {"collate": "stack"}),
}
### END SOLUTION


# %% nbgrader={"grade_id": "find-the-bottleneck-check", "grade": true, "points": 4}
assert isinstance(find_the_bottleneck, dict), "find_the_bottleneck isn't a dict any more"
with every_case() as case:
    for name in slow:
        with case(f"pipeline {name}"):
            check_mended(name, find_the_bottleneck.get(name))

# %% [markdown]
# <details><summary>Hint</summary>
#
# `for name in slow: print(name, measure(slow[name]))` shows the parts. Then
# `sum(measure(slow["A"] | {"workers": 2}).values())` tries a change. One of them makes it worse.
# </details>
#
# ### Your pipeline, on this machine
#
# The payoff: real files, your `folder_dataset` and `collate_boxes` if you solved them (if not,
# torchvision's and a simple one), and every combination of workers, prefetch and pinning.

# %% topics=["num-workers", "prefetching", "pin-memory"]
to_float = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
try:
    mine, how = folder_dataset(folder / "images", to_float), collate_boxes
    image, label = mine[0]
    shape = how([(image, torch.zeros(1, 4)), None])["images"].shape
    assert shape == (1, *image.shape)
except Exception:
    mine, how = ImageFolder(folder / "images", to_float), None


def batch_of(items):
    boxed = [(image, torch.zeros(1, 4)) for image, _ in items]
    return how(boxed)["images"] if how else [image for image, _ in boxed]


# %% tags=["nbval-ignore-output"] topics=["num-workers", "prefetching", "pin-memory"]
settings = [
    (n, f, pin) for n in (0, 1, 2) for f in ((2, 6) if n else (None,)) for pin in {False, gpu}
]
table = dict.fromkeys(settings, 0.0)
for workers, factor, pin in 2 * settings:  # twice each; the better one counts
    options = {"num_workers": workers, "prefetch_factor": factor, "pin_memory": pin}
    loader = DataLoader(mine, batch_size=32, collate_fn=batch_of, **options)
    start = time.perf_counter()
    images_seen = sum(len(batch) for batch in loader)
    rate = images_seen / (time.perf_counter() - start)
    table[workers, factor, pin] = max(rate, table[workers, factor, pin])

figure, axes = plt.subplots(figsize=(7, 0.7 + 0.3 * len(table)))
names = [f"num_workers={n}" + f", prefetch {f}" * (n > 0) + ", pinned" * pin for n, f, pin in table]
bars = axes.barh(names, [*table.values()], color="#0072b2")
axes.bar_label(bars, fmt=" %.0f", fontsize=9)
axes.set(xlabel="images a second, processes started included")
axes.margins(x=0.15)
axes.invert_yaxis()
show(figure, "Bars of images a second for zero, one and two workers, and two prefetch settings.")

# %% [markdown]
# That is the answer for *these* images on *these* cores. One epoch of 600 images is short, so the
# start of processes weighs heavily. More workers than cores seldom pay, unless they wait for a disk
# or a network. "Four per GPU" is a guess; this loop takes a minute to run on your own data.
#
# ## Heard elsewhere
#
# Claims that are passed on, a cell each.
#
# *"The dataset returns `{"data": image}` of PIL images, the transform is called with `(data,
# target)`, and the loop reads `batch["target"]`."* None of the three fits the other two:

# %% errata=["template-dataset-contract"]
picture = Image.new("RGB", (2, 2))
try:
    next(iter(DataLoader([{"data": picture}] * 2, batch_size=2)))
except TypeError as error:
    print("collate:", str(error).split(";")[-1][:75])
try:
    old.Compose([])(picture, picture)
except TypeError as error:
    print("transform:", str(error).split(".")[-1][:60])
print("v2 takes two:", [x.size for x in v2.Compose([v2.RandomHorizontalFlip(1)])(picture, picture)])

# %% [markdown]
# *"Appending to a list copies it each time, so preallocate."* A list grows by more than it needs and
# seldom moves. Of `np.append` and `torch.cat` in a loop the claim is true; that was pipeline E.

# %% errata=["list-append-reallocates"]
grown, sizes_seen = [], set()
for n in range(10_000):
    grown.append(n)
    sizes_seen.add(sys.getsizeof(grown))
print("10000 appends, sizes in memory:", len(sizes_seen))

# %% [markdown]
# *A validation transform* that is copied around has its second line indented by a space, and resizes
# to 224 before it cuts 224 from the middle, which cuts nothing from a square. The usual is 256.

# %% errata=["val-transform-indent"]
try:
    compile("train = 1\n val = 2", "recipe", "exec")
except IndentationError as error:
    print(error.msg)
for n in (224, 256):
    resized = v2.Resize(n)(torch.zeros(3, 300, 300))
    print(
        f"resized to {n}, cut to 224: "
        f"{v2.CenterCrop(224)(resized).numel() / resized.numel():.0%} left"
    )

# %% [markdown] topics=["dali-gpu-preprocessing", "albumentations", "annotation-tools", "dataset-search", "mmcv-fileclient", "hdf-feather"]
# **Tools that need more than this course installs**
#
# | for | tool |
# | --- | --- |
# | decoding and augmenting on the GPU | NVIDIA DALI (its pipelines replace the loader), nvImageCodec, TorchCodec for video; v2 transforms also run on CUDA tensors, a batch at once (with one coin for the whole batch) |
# | augmentation | Albumentations is archived; AlbumentationsX continues it under the AGPL. Kornia works on batches, with gradients |
# | one interface to many stores | `fsspec`, which PyTorch brings along, as MMCV's `FileClient` was: a path's prefix (`file://`, `s3://`, `memory://`) chooses the store |
# | tables | Parquet (pyarrow, Polars) in place of CSV, whose text has to be parsed; feather lives on as Arrow IPC |
# | drawing boxes and masks | labelme (alive), CVAT and Label Studio (servers); LabelImg is archived, its author points to Label Studio |
# | finding data | Hugging Face Datasets, OpenML, Kaggle, Google Dataset Search, UCI, the AWS registry. Papers with Code is closed |
#
# ## What to take home
#
# | question | who answers it |
# | --- | --- |
# | which items, in which order? | sampler, from a generator or from (seed, epoch) |
# | what is one item? | dataset: lazy, picklable, naming the file that fails |
# | how do items become a batch? | `collate_fn`: pad, and a mask from lengths |
# | who computes it? | workers: processes with copies of everything, generators included |
# | who divides a stream? | the stream itself, over ranks × workers |
# | who opens the file? | each process, at first use |
# | where does it resume? | after the last batch that came *out* |
# | who waits? | measure step and loader alone, then the loader's parts |
#
# **Three mistakes to remember**
#
# 1. A generator kept in a dataset with workers. Every worker draws the same numbers.
# 2. Averages over images, padding or short batches, where pixels, masks or items should be counted.
# 3. Turning knobs before measuring. Only the slowest part is worth mending.
#
# **Read more.** PyTorch's documentation: *torch.utils.data* (multi-process loading, memory pinning)
# and *Reproducibility*; torchvision's: *Getting started with transforms v2* and *TVTensors*; the
# tutorial *A guide on good usage of non_blocking and pin_memory()*. Papers: Chan, Golub and LeVeque,
# *Updating Formulae and a Pairwise Algorithm for Computing Sample Variances*; Wang and others,
# *Temporal Segment Networks*. py-lmdb's and h5py's documentation, on processes.
