# ---
# jupyter:
#   course:
#     title: Tensors
#     minutes: 240
#     core: 135
# ---

# %% [markdown]
# # Tensors: what is in this array, and what may I do with it?
#
# A network never sees a photo. It sees an array of numbers and believes whatever the array says. This
# chapter follows one small photo and one small batch of scores, from "what is in this array?" to the
# bookkeeping of a training step. At every stop something can go wrong without an error message. You will
# learn to see it coming.
#
# **After this chapter you can**
#
# - read a tensor's shape, dtype and device, and predict all three for a result;
# - tell which of two arrays changes when you write to the other;
# - turn an image into a tensor and back, to the last bit;
# - broadcast on purpose, and refuse to do it by accident;
# - reduce, sort, gather and scatter instead of writing loops;
# - cut a batch into pieces, put it together again, and sample from it reproducibly.
#
# **It leans on** chapter 00 and basic NumPy. **Time:** four hours with all twelve exercises. The sections
# and exercises marked *core* take two and a quarter; nothing later leans on the rest. You can skip any
# exercise: nothing else depends on your answer.

# %% nbgrader={"grade_id": "setup", "locked": true}
import numpy as np
import torch
import torch.nn.functional as F
from course_utils import check_close, check_equal, check_predictions, check_raises, check_states
from course_utils import count_operators, device, every_case, forbid_changes, forbid_copies, show

# %% [markdown]
# ## A puzzle to start with · core
#
# Here is a photo. To be honest, it is drawn: a blue sky, a sun, a meadow. PIL, the usual library
# for images in Python, draws it, and two calls turn it into a tensor.

# %% topics=["pil-conversion"]
from PIL import Image, ImageDraw

image = Image.new("RGB", (90, 60), (90, 150, 230))  # 90 wide, 60 high, blue
pen = ImageDraw.Draw(image)
pen.ellipse((52, 8, 76, 32), fill=(255, 210, 60))  # the sun
pen.rectangle((0, 44, 89, 59), fill=(50, 130, 60))  # the meadow
photo = torch.from_numpy(np.array(image))  # (60, 90, 3): height, width, channel

# %% [markdown]
# Each pixel has three numbers for red, green and blue, from 0 (dark) to 255 (bright). The photo is a
# bit dark. So add 60 to everything. **Predict:** what will the sky, the sun and the meadow look like?

# %%
import matplotlib.pyplot as plt


def show_images(images, alt):
    """Show images of shape (height, width, channel) side by side, under their names."""
    figure, panels = plt.subplots(1, len(images), figsize=(3 * len(images), 2.3))
    for panel, (title, pixels) in zip(panels, images.items(), strict=True):
        panel.imshow(pixels)
        panel.set_title(title, fontsize=10)
        panel.set_axis_off()
    show(figure, alt)


alt = "The photo; beside it the photo plus 60, with a green sky, a dark blue sun, a lighter meadow."
show_images({"photo": photo, "photo + 60": photo + 60}, alt)

# %% [markdown]
# The meadow is brighter. The sky turned green and the sun went out. No error, no warning. To say why,
# we need to know what kind of numbers these are. That is one of three questions that you can ask of any
# tensor.

# %% [markdown]
# ## 1. Three questions: shape, dtype, device · core
#
# A **tensor** is a grid of numbers, all of one kind, in one place. So there are three questions: how
# is the grid laid out (**shape**), what kind of numbers does it hold (**dtype**), and where are they
# (**device**)?

# %% topics=["tensor-definition", "type-inspection", "size-info"]
print("shape ", tuple(photo.shape))
print("dtype ", photo.dtype)
print("device", photo.device)

# %% [markdown]
# `uint8` is a whole number in 8 bits, without a sign: 0 to 255. That is half of the answer to the
# puzzle; section 3 has the other half. First the shape.
#
# Images as arrays have the height first: 60 rows of 90 pixels of 3 channels. PIL has the width first.
# **Predict** the five results.

# %% topics=["size-info"]
print("image.size ", image.size)
print("photo.shape", tuple(photo.shape))
print("photo.dim()", photo.dim(), "  .numel()", photo.numel(), "  .size(0)", photo.size(0))

# %% [markdown]
# `dim()` is the number of dimensions, also called the rank. `numel()` (in old code `nelement()`) is the
# number of elements, the product of the shape. `shape` and `size()` are the same, a `torch.Size`. That is
# a tuple, so `height, width, channels = photo.shape` unpacks it.

# %% [markdown]
# ### Exercise 1.1 — Read the photo ★ · 2 min · 1 point · core
#
# The photo has shape (60, 90, 3). Answer with whole numbers, from what you have just read:
#
# - `"rank of the photo"`, and `"rank of a video"`, which is 24 such photos one after the other;
# - `"numbers in the photo"`: how many elements it has (you may write a product);
# - `"rows of pixels"`: how many the photo has;
# - `"first entry of image.size"`: what PIL says first.
#
# Example: `"channels"` would be `3`.

# %% nbgrader={"grade_id": "read-the-photo", "solution": true}
read_the_photo = {
    "rank of the photo": None,
    "rank of a video": None,
    "numbers in the photo": None,
    "rows of pixels": None,
    "first entry of image.size": None,
}
### BEGIN SOLUTION
read_the_photo["rank of the photo"] = 3
read_the_photo["rank of a video"] = 4
read_the_photo["numbers in the photo"] = 60 * 90 * 3
read_the_photo["rows of pixels"] = 60
read_the_photo["first entry of image.size"] = 90
### END SOLUTION

# %% nbgrader={"grade_id": "read-the-photo-check", "grade": true, "points": 1}
because = {
    "rank of the photo": "the rank is the number of dimensions: height, width, channel",
    "rank of a video": "time is one dimension more than a photo has",
    "numbers in the photo": "the product of all sizes, channels included",
    "rows of pixels": "an array has the height first: as many rows as it is high",
    "first entry of image.size": "PIL has the width first",
}
clip = torch.empty(24, 60, 90, 3)
truth = (clip[0].dim(), clip.dim(), clip[0].numel(), clip.shape[1], clip.shape[2])
check_predictions(read_the_photo, dict(zip(because, truth, strict=True)), because)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Read the three sizes aloud, each with its name: 60 high, 90 wide, 3 channels. PIL says the width first.
# </details>

# %% [markdown]
# Which rank has each of these? Count the brackets before a literal's first number.

# %% topics=["tensor-ranks"]
one = torch.tensor(7.0)  # a number
row = torch.tensor([7.0, 8.0, 9.0])  # the scores of one photo
table = torch.tensor([[7.0, 8.0, 9.0], [1.0, 2.0, 3.0]])  # the scores of two photos
for x in (one, row, table, photo, torch.empty(16, 3, 60, 90), torch.empty(0, 3)):
    print(f"rank {x.dim()}  shape {tuple(x.shape)!s:<18} {x.numel()} elements")

# %% [markdown]
# A number has rank 0, a list rank 1, a table rank 2, a photo rank 3, a batch of photos rank 4 and a
# batch of videos rank 5. The last tensor is *empty*: no rows of three. Empty tensors are legal, and
# they do turn up: the photos in which no face was found. All rows must have the same length:
# `torch.tensor([[1, 2, 3], [4, 5]])` is a `ValueError`. Section 11 shows what to do instead.

# %% [markdown]
# Now the kinds of numbers. These are the ones that you will meet every week:

# %% topics=["dtype-inventory"]
for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
    facts = torch.finfo(dtype)
    print(f"{dtype!s:<15}{dtype.itemsize} bytes, up to {facts.max:.0e}, step at 1: {facts.eps:.0e}")
for dtype in (torch.int64, torch.int32, torch.int8, torch.uint8):
    facts = torch.iinfo(dtype)
    print(f"{dtype!s:<15}{dtype.itemsize} bytes, from {facts.min} to {facts.max}")

# %% [markdown]
# | dtype | is for |
# | --- | --- |
# | `float32` | weights, activations, losses: the default |
# | `bfloat16`, `float16` | faster training, with few digits; `float16` has little range |
# | `float64` | checking what the shorter floats compute |
# | `int64` | labels, indices, counts |
# | `uint8` | images as they are stored |
# | `bool` | masks, one byte each |

# %% [markdown]
# ## 2. Making tensors: who chose the dtype? · core
#
# The photo's dtype came from the file. When you make a tensor yourself, PyTorch looks at your numbers.
# **Predict** the four dtypes. The last one surprises most people.

# %% topics=["dtype-inference"]
print(torch.tensor([1, 2]).dtype, torch.tensor([1.0, 2]).dtype, torch.tensor([True]).dtype)
print(torch.tensor(np.array([1.0, 2.0])).dtype)

# %% [markdown]
# Python's whole numbers become `int64`, its floats the default dtype, `float32`. One dot is enough to
# make all of them floats. A NumPy array already has a dtype, `float64` for floats, and `torch.tensor`
# keeps it. The model's weights are `float32`, and the first layer complains:

# %% topics=["dtype-inference"]
try:
    torch.nn.Linear(2, 1)(torch.tensor(np.array([1.0, 2.0])))
except RuntimeError as error:
    print(error)

# %% [markdown]
# Say the dtype where you make the tensor: `torch.tensor(array, dtype=torch.float32)`.
#
# Why is the more exact `float64` not the default? It needs twice the memory, and most GPUs are many times
# slower in it. Training is noisy anyway; the last digits are not what it lacks.

# %% [markdown]
# ### `torch.tensor` and its capital relative
#
# There is `torch.tensor` and there is `torch.Tensor`. **Predict** the shapes.

# %% tags=["shows-deprecated"] topics=["tensor-factory-vs-legacy-constructor"] errata=["legacy-constructor-sizes"]
print("torch.tensor(3)   ", tuple(torch.tensor(3).shape))
print("torch.Tensor(3)   ", tuple(torch.Tensor(3).shape))
print("torch.Tensor([3]) ", tuple(torch.Tensor([3]).shape))
print("torch.IntTensor(2)", tuple(torch.IntTensor(2).shape))

# %% [markdown]
# `torch.tensor` takes **data**. The old constructors take data if you give them a list, and a **size**
# if you give them a number. What they hold then is whatever was in that memory.
#
# > **Then and now.** *"Start a running loss with `torch.FloatTensor(1)`."* That is one element that
# > nobody set. It may be 0 today and 8.0 tomorrow. Write `torch.zeros(1)` or `torch.tensor(0.0)`.
#
# Where you will fill the memory anyway, `torch.empty(3)` says so.

# %% [markdown]
# ### Filled, counted, drawn
#
# Most tensors are not typed in but filled with a constant. The `_like` functions take shape, dtype and
# device from another tensor; the `new_` methods take dtype and device, and you give the shape. Code
# with them works on any device.

# %% topics=["creation-constant"]
print(torch.zeros(2, 3).tolist(), torch.ones(2, dtype=torch.int64).tolist())
print(torch.full((2, 2), 7).tolist(), torch.eye(2, 3).tolist())
print(torch.zeros_like(photo).dtype, tuple(torch.zeros_like(photo).shape))
print(photo.new_full((2, 2), 255).dtype, torch.empty(2).fill_(0.5).tolist())

# %% [markdown]
# Sequences come in two kinds. `arange` takes a **step** and leaves out the end, like Python's
# `range`. `linspace` takes a **number** of points and includes the end. **Predict** how many numbers
# each line has.

# %% topics=["creation-sequences"]
print(torch.arange(0, 10, 2).tolist())
print(torch.linspace(0, 1, 5).tolist())
print(len(torch.arange(0, 0.3, 0.1)), len(torch.arange(1, 1.3, 0.1)))

# %% [markdown]
# The last line should give 3 and 3. But neither 0.1 nor 1.3 has an exact binary form: (1.3 − 1) / 0.1
# is a little above 3, and a fourth number slips in. So: `arange` for whole numbers, `linspace` for
# fractions.
#
# Random numbers are drawn from a generator, the default one unless you pass your own (chapter 00):

# %% topics=["creation-random"]
generator = torch.Generator().manual_seed(0)
uniform = torch.rand(1000, generator=generator)  # from 0 to below 1
normal = torch.randn(1000, generator=generator)  # mean 0, standard deviation 1
dice = torch.randint(1, 7, (1000,), generator=generator)  # 1 to 6: the end is left out
print(round(uniform.mean().item(), 1), round(normal.std().item(), 1), dice.unique().tolist())

# %% [markdown]
# ## 3. Computing: which dtype comes out? · core
#
# Back to the photo. An operation such as `+` works **element by element**, and its result has a dtype
# as well. Here is one pixel of the sky. **Predict** the last number.

# %% topics=["type-promotion", "elementwise-ops"]
pixel = photo[0, 0]
print(pixel.tolist(), (pixel + 60).tolist(), (pixel + 60).dtype)

# %% [markdown]
# The tensor is `uint8` and so is the result. 230 + 60 is 290, and an 8-bit number is a clock with 256
# marks: 290 − 256 = 34. That is the puzzle. Whole numbers **wrap around**, silently, on every processor.
#
# So compute in another dtype and come back. Conversions have names of their own (`double()` gives
# `float64`), and one that fits all:

# %% topics=["dtype-conversion-methods"]
brighter = (pixel.to(torch.float32) + 60).clamp(0, 255).to(torch.uint8)
print(brighter.tolist(), pixel.float().dtype, pixel.long().dtype, pixel.half().dtype)

# %% [markdown]
# `clamp` cuts off what is too small or too large, and that has to happen *before* you convert back.
# Now the whole photo:

# %% topics=["dtype-conversion-methods", "elementwise-ops"]
mended = (photo.float() + 60).clamp(0, 255).to(torch.uint8)
alt = "Three photos: the original, the wrapped one with green sky, and one that is evenly brighter."
show_images({"photo": photo, "photo + 60": photo + 60, "float, clamp, uint8": mended}, alt)

# %% [markdown]
# Conversion to whole numbers cuts the fraction off, toward zero. A whole number that is out of range
# wraps; for a float that is out of range the result is not even defined. So clamp first.

# %% topics=["dtype-conversion-methods"]
x = torch.tensor([1.9, -1.9])
print("long:       ", x.long())
print("round, long:", x.round().long())
print("300 as byte:", torch.tensor([300]).byte())

# %% [markdown]
# `x.type_as(y)` and `x.to(y)` take the dtype from another tensor, and the device with it. If there is
# nothing to change, `to` returns the tensor itself, no copy.

# %% topics=["type-as", "to-check-and-convert"]
scale = torch.tensor(0.5, dtype=torch.float64)
print(pixel.to(scale).dtype, pixel.type_as(scale).dtype)
print(pixel.to(torch.uint8) is pixel, pixel.to(torch.uint8, copy=True) is pixel)

# %% [markdown]
# Where two operands have different dtypes, PyTorch finds one for both: **type promotion**. Look for two
# entries that you would not have guessed: `uint8` with `int8`, and `float16` with `bfloat16`.

# %% topics=["type-promotion"]
names = ["bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32", "float64"]
kinds = [getattr(torch, name) for name in names]
print(" " * 9 + "".join(f"{name:>9}" for name in names))
for name, kind in zip(names, kinds, strict=True):
    row = [str(torch.promote_types(kind, other)).removeprefix("torch.") for other in kinds]
    print(f"{name:9}" + "".join(f"{entry:>9}" for entry in row))

# %% [markdown]
# The rule behind it: there are three **categories**, bool below whole numbers below floats. Between
# categories the higher one wins, with its own dtype: `int64` and `float16` give `float16`. Inside a
# category the result must hold both. No 8-bit kind holds 0…255 *and* −128…127, so `int16`. Neither of
# the two 16-bit floats holds the other, so `float32`.
#
# That is for tensors with dimensions. A **Python number or a tensor of rank 0** is a guest. It may
# raise the category; inside a category the tensor with dimensions keeps its dtype. That's why
# `photo + 60` stayed `uint8`, and `weights * 0.5` stays `bfloat16`. **Predict** each line:

# %% topics=["type-promotion"]
real = torch.tensor([0.5, 1.5])  # float32
print((real + scale).dtype, "| a float64 guest among float32")
print((pixel + 0.5).dtype, "| a Python float among whole numbers: the default float dtype")
print((pixel + scale).dtype, "| a float64 guest among whole numbers: its own dtype")
print(torch.result_type(pixel, 0.5), "| asked beforehand")

# %% [markdown]
# Some operations have rules of their own. Division with `/` always gives floats; `//` keeps whole
# numbers whole and rounds down. A `sum` of whole numbers or of booleans is `int64`, so that it does not wrap.
# A comparison always gives `bool`.

# %% topics=["type-promotion"]
print((pixel / 2).dtype, (pixel // 2).dtype, pixel.sum(), (pixel > 100).sum())
print((-7 // torch.tensor(2)).item(), int(-7 / torch.tensor(2)), "| // rounds down")

# %% [markdown]
# ### Exercise 1.2 — Which dtype, which shape? ★★ · 10 min · 3 points · core
#
# Twelve expressions on the six tensors below. For each write `(dtype, shape)`, as in
# `(torch.float32, (2,))`. A number without dimensions has the shape `()`.
#
# Example: `small + signed` adds `uint8` and `int8`, two tensors of shape `(2,)`. By the table that is
# `(torch.int16, (2,))`. The check is folded, because it explains every answer; select it and press
# Shift + Enter.

# %% nbgrader={"grade_id": "dtype-operands", "locked": true}
small = torch.tensor([200, 100], dtype=torch.uint8)  # (2,)
signed = torch.tensor([-1, 1], dtype=torch.int8)  # (2,)
whole = torch.tensor([[1, 2], [3, 4]])  # (2, 2), int64
real = torch.tensor([0.5, 1.5])  # (2,), float32
half = torch.tensor([1.0], dtype=torch.float16)  # (1,)
point = torch.tensor(2.5, dtype=torch.float64)  # ()

# %% nbgrader={"grade_id": "predict-dtype", "solution": true}
predict_dtype = {
    "small + 100": None,
    "small + 1.5": None,
    "small / 2": None,
    "whole // 2": None,
    "small * signed": None,
    "whole * half": None,
    "real + point": None,
    "whole + point": None,
    "real > whole": None,
    "(whole > 2).sum()": None,
    "small.sum()": None,
    "whole.sum() / 4": None,
}
### BEGIN SOLUTION
predict_dtype = dict.fromkeys(predict_dtype, (torch.float32, (2,)))
predict_dtype["small + 100"] = (torch.uint8, (2,))
predict_dtype["whole // 2"] = (torch.int64, (2, 2))
predict_dtype["small * signed"] = (torch.int16, (2,))
predict_dtype["whole * half"] = (torch.float16, (2, 2))
predict_dtype["whole + point"] = (torch.float64, (2, 2))
predict_dtype["real > whole"] = (torch.bool, (2, 2))
predict_dtype["(whole > 2).sum()"] = predict_dtype["small.sum()"] = (torch.int64, ())
predict_dtype["whole.sum() / 4"] = (torch.float32, ())
### END SOLUTION

# %% nbgrader={"grade_id": "predict-dtype-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
because = {
    "small + 100": "a Python number of the same category does not change the dtype: it wraps",
    "small + 1.5": "a Python float raises whole numbers to the default float dtype",
    "small / 2": "true division gives floats, of the default dtype",
    "whole // 2": "// keeps whole numbers whole",
    "small * signed": "the smallest kind that holds 0 to 255 and -128 to 127",
    "whole * half": "floats are the higher category: their dtype wins, however small",
    "real + point": "a tensor of rank 0 is a guest: inside a category it changes nothing",
    "whole + point": "a guest of a higher category brings its own dtype, here float64",
    "real > whole": "a comparison gives truth values; (2,) is repeated for each row of (2, 2)",
    "(whole > 2).sum()": "a sum over truth values counts them, in int64; no dimension is left",
    "small.sum()": "sums of whole numbers are int64, so that they do not wrap",
    "whole.sum() / 4": "true division of a whole number by a whole number gives a default float",
}
how = "write (dtype, shape), as in (torch.float32, (2,)), with the comma in (2,)"
results = {name: ((made := eval(name)).dtype, tuple(made.shape)) for name in because}
with every_case() as case:
    for name, guess in predict_dtype.items():
        with case(name):
            parts = tuple(guess) if isinstance(guess, (tuple, list)) else ()
            pair = len(parts) == 2 and isinstance(parts[0], torch.dtype)
            assert guess in (None, ...) or (pair and type(parts[1]) is not int), f"{guess!r}? {how}"
            if pair and name in results and parts[0] == results[name][0]:
                because[name] = "the dtype is right, the shape isn't: of what shape is each part?"
check_predictions(predict_dtype, results, because)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# First the category of each operand: bool, whole, float. The higher one gives the dtype.
# </details>
# <details><summary>Hint 2</summary>
#
# Same category? Then only operands with dimensions count. Python numbers and `point` have none.
# </details>
# <details><summary>Hint 3</summary>
#
# `/`, comparisons and `sum` have rules of their own: always float, always bool, and `int64` for whole
# numbers and truth values.
# </details>

# %% [markdown]
# ### Element by element
#
# Most functions of mathematics exist twice: as a function, `torch.exp(x)`, and as a method, `x.exp()`.
# They are twins; use what reads better. Comparisons have signs, and names as well (`gt`, `ge`, `lt`, `le`,
# `eq`, `ne`). The limits of `clamp` can be tensors, with one limit for each element.

# %% topics=["elementwise-ops", "method-vs-function"]
x = torch.tensor([-2.0, 0.0, 1.0, 4.0])
print(x.abs().sqrt().tolist(), torch.equal(torch.exp(x), x.exp()))
print((x >= 1).tolist(), x.ge(1).tolist(), x.ne(0).tolist())
print(x.clamp(min=0).tolist(), x.clamp(max=torch.tensor([0.0, 1.0, 2.0, 3.0])).tolist())

# %% [markdown]
# ## 4. Where is it? · core
#
# The third question, the device. An operation runs where its operands are, and its result stays
# there. So all you have to do is put the operands in the same place. `to` moves. (The small tensors of
# this chapter stay on the CPU; the checks also try your functions on `device`.)

# %% topics=["cpu-gpu-transfer", "device-agnostic-code"]
x = torch.ones(3).to(device)  # made on the CPU, then moved
y = torch.arange(3, device=device)  # better: made there
z = (x + y).cpu()  # a result comes back
print(z.tolist(), x.device == y.device, z.device)

# %% [markdown]
# `to` can change device and dtype in one call. With several GPUs `"cuda:1"` names one of them, and
# `"cuda"` alone the current one, number 0 unless you choose another. Code that says `device` and nothing
# else runs everywhere.
#
# What if you forget one operand? No GPU is needed to see it. PyTorch has a device named `meta`, whose
# tensors have shape and dtype but no numbers:

# %% topics=["cpu-gpu-transfer", "to-check-and-convert"]
ghost = torch.ones(3).to("meta", torch.float64)
print(ghost.device, ghost.dtype, tuple((ghost + ghost).shape))
try:
    torch.ones(3) + ghost
except RuntimeError as error:
    print(error)

# %% [markdown]
# There is one exception to "the same place": a guest of rank 0 on the CPU may be combined with
# tensors anywhere.

# %% [markdown]
# ## 5. Picking: part of a photo, part of a batch · core
#
# We know what a tensor is. Now take parts of it. Write an index for each dimension, from the left; a
# dimension that you leave out is taken whole. Slices work as in Python: the stop is left out, negative numbers count from
# the end. **Predict** the shapes:

# %% topics=["basic-indexing"]
print(tuple(photo[0].shape), tuple(photo[:, 0].shape), tuple(photo[-1, -1].shape))
print(tuple(photo[8:32, 52:76].shape), tuple(photo[::2, ::2].shape), tuple(photo[..., 0].shape))

# %% [markdown]
# An integer removes its dimension; a slice keeps it. `...` stands for all dimensions that are not
# mentioned. And now the sun alone, the photo at half size, and its red channel:

# %% topics=["basic-indexing"]
parts = {
    "photo[8:32, 52:76]": photo[8:32, 52:76],
    "photo[::2, ::2]": photo[::2, ::2],
    "photo[..., 0]": photo[..., 0],
}
show_images(parts, "The sun cut out; the photo at half size; the red channel in false colours.")

# %% [markdown]
# A slice cannot step backwards. To mirror a photo, use `flip`:

# %% topics=["basic-indexing", "horizontal-flip-indexing"]
try:
    photo[:, ::-1]
except ValueError as error:
    print(error)
mirrored = photo.flip(1)
torch.equal(mirrored[0, 0], photo[0, -1])

# %% [markdown]
# ### Our second traveller: a batch of scores
#
# Four photos went through a network that knows three classes: sun, cloud, tree. It gave three
# **scores** for each photo, also called *logits*: larger means more likely. The true labels are known.

# %%
classes = ["sun", "cloud", "tree"]
scores = torch.tensor([[2.0, 0.5, 0.0], [0.25, 1.5, 0.5], [1.25, 0.0, 1.0], [0.25, 0.5, 0.75]])
labels = torch.tensor([0, 1, 2, 2])  # (4,): sun, cloud, tree, tree
scores.shape

# %% [markdown]
# **Boolean masks** pick by a condition. A mask has the shape of the tensor, or of its first
# dimensions. The result has as many entries as the mask has `True`: its shape depends on the values.

# %% topics=["boolean-mask-indexing"]
print(scores[scores > 1].tolist(), scores.masked_select(scores > 1).tolist())
print("photos of trees:", scores[labels == 2].tolist())
scores_of_none = scores[labels == 7]  # legal, and empty
print(tuple(scores_of_none.shape))

# %% [markdown]
# A mask can also be written to: `scores[scores < 0.3] = 0` sets all small ones. When you need the
# *shape* kept, choose between two values with `torch.where`. When you need the *places*, ask `nonzero`.

# %% topics=["nonzero-where", "boolean-mask-indexing"]
print(torch.where(scores > 1, scores, 0.0).tolist())
print((scores > 1).nonzero().tolist(), torch.count_nonzero(scores > 1).item())
rows, columns = (scores > 1).nonzero(as_tuple=True)
print(rows.tolist(), columns.tolist())

# %% [markdown]
# `nonzero` gives one row for each hit; `as_tuple=True` gives one tensor for each dimension, ready to
# index with. On a GPU, `nonzero` and masks have to wait until the number of hits is known, and
# `torch.compile` cannot foresee their shape. `where` has neither problem, and what it leaves out
# gets the gradient 0, so training code prefers it.
# (`scores[mask].mean()` is `nan` where the mask has no `True`: exercise 1.6.)
#
# **Lists of indices** pick in any order and more than once. With one list for each dimension they are
# read in pairs:

# %% topics=["basic-indexing"]
print(scores[[3, 0, 0], 1].tolist())
print(scores[[0, 1, 2, 3], labels].tolist(), "| the score of each true label")

# %% [markdown]
# **`None`** picks nothing. It adds a dimension of size 1 where it stands. Section 8 relies on it.

# %% topics=["basic-indexing", "squeeze-unsqueeze"]
tuple(labels[None].shape), tuple(labels[:, None].shape), tuple(labels[None, :, None].shape)

# %% [markdown]
# ## 6. Whose numbers are these? · core
#
# Cut out the sun and paint it black. **Predict:** is the sun in `scene` still yellow?

# %% topics=["inplace-underscore"]
scene = photo.clone()
sun = scene[8:32, 52:76]
sun.zero_()
print("centre of the sun in scene:", scene[20, 64].tolist(), " in photo:", photo[20, 64].tolist())

# %% [markdown]
# A slice is not a copy. It is a **view**, a second look at the same memory. Whoever writes to one
# changes the other. A mask or a list of indices gives a copy; chapter 02 says why. `clone` always
# copies, so `photo` was safe.
#
# Which operations write at all? Methods that end in an **underscore** change their tensor in place,
# and so do `+=` and assignment to an index. Their twins without it return a new tensor:

# %% topics=["inplace-underscore"]
x = torch.tensor([1.0, 4.0])
y = x.sqrt()  # a new tensor
x.mul_(10)
x += 1
print(x.tolist(), y.tolist())

# %% [markdown]
# In place saves memory, and costs you the old value. Autograd may still need it (chapter 05), and so may
# your caller: the checks insist that a function leaves its arguments alone.
#
# ### The border to NumPy
#
# `photo` came from NumPy. On the CPU a tensor and an array can share memory, and then they do.
# `from_numpy` and `.numpy()` share, `torch.tensor` copies. **Predict** what the last line prints.

# %% topics=["from-numpy-sharing"]
array = np.zeros(3, dtype=np.float32)
shared, copied = torch.from_numpy(array), torch.tensor(array)
array[0] = 5
shared[1] = 6
print(array.tolist(), shared.tolist(), copied.tolist())

# %% [markdown]
# `torch.as_tensor` takes lists, arrays and tensors, and shares unless it has to change the dtype or the
# device. So whether you may write to the result depends on what came in. Use it to read; use
# `torch.tensor` or `clone` before you write.
#
# > **Often said.** *"Get the values with `x.cpu().numpy()`."* Not if `x` requires a gradient, as the
# > output of every model in training does. Detach it first.

# %% topics=["numpy-roundtrip-dtypes"] errata=["numpy-of-grad-tensor"]
weight = torch.tensor([1.0, 2.0], requires_grad=True)
try:
    weight.cpu().numpy()
except RuntimeError as error:
    print(error)
print(weight.detach().cpu().numpy())

# %% [markdown]
# One number leaves by `item()`, any tensor as nested lists by `tolist()`. Both copy, and both work on
# tensors that require a gradient. On a GPU both wait until the number has been computed. So collect
# losses as detached tensors, and convert them now and then.

# %% topics=["item-and-tolist"]
print(weight[0].item(), weight.tolist(), type(weight[0].item()).__name__)
try:
    weight.item()
except RuntimeError as error:
    print(error)

# %% [markdown]
# ### Four lines, the same values

# All four give you the same values. They differ in the memory, and in whether a gradient flows back:
#
# | you write | memory | gradient |
# | --- | --- | --- |
# | `y = x` | the same tensor, a second name | the same |
# | `y = x.detach()` | shared | cut off |
# | `y = x.clone()` | its own | flows back to `x` |
# | `y = x.detach().clone()` | its own | cut off |

# %% [markdown]
# ### Exercise 1.3 — Who sees the write? ★★ · 8 min · 3 points · core
#
# An array, a tensor made from it, and twelve things made from the two:
#
# ```python
# array = np.zeros(3, dtype=np.float32)
# x = torch.from_numpy(array)
# ```
#
# Then another line runs: `array[0] = 7`. For each of the twelve write `True` if its first entry is 7 now, and
# `False` if it is still 0. Example: for `x` itself it is `True`. Everything stays on the CPU. The check
# is folded again.

# %% nbgrader={"grade_id": "who-sees-the-write", "solution": true}
who_sees_the_write = {
    "torch.tensor(array)": None,
    "torch.as_tensor(array)": None,
    "torch.as_tensor(array, dtype=torch.float64)": None,
    "x.numpy()": None,
    "x.tolist()": None,
    "x.clone()": None,
    "x.detach()": None,
    "x.detach().clone()": None,
    "x.to(torch.float32)": None,
    "x.double()": None,
    "x[:2]": None,
    "x[[0, 1]]": None,
}
### BEGIN SOLUTION
seeing = {"torch.as_tensor(array)", "x.numpy()", "x.detach()", "x.to(torch.float32)", "x[:2]"}
who_sees_the_write = {name: name in seeing for name in who_sees_the_write}
### END SOLUTION

# %% nbgrader={"grade_id": "who-sees-the-write-check", "grade": true, "points": 3} jupyter={"source_hidden": true}
because = {
    "torch.tensor(array)": "torch.tensor always copies",
    "torch.as_tensor(array)": "as_tensor shares where nothing has to change",
    "torch.as_tensor(array, dtype=torch.float64)": "another dtype needs other memory",
    "x.numpy()": "it shares; x shares with array, so all three are one",
    "x.tolist()": "Python's floats hold values of their own",
    "x.clone()": "clone always copies",
    "x.detach()": "detach cuts the gradient, not the memory",
    "x.detach().clone()": "the clone is a copy, whatever came before it",
    "x.to(torch.float32)": "x is float32 already: to returns x itself",
    "x.double()": "another dtype needs other memory",
    "x[:2]": "a slice is a view",
    "x[[0, 1]]": "a list of indices gives a copy",
}
known = (None, ..., True, False)
odd = [f"{name}: {guess!r}" for name, guess in who_sees_the_write.items() if guess not in known]
assert not odd, f"write True or False, not {', '.join(odd)}"
array = np.zeros(3, dtype=np.float32)
x = torch.from_numpy(array)
made = {name: eval(name) for name in because}
array[0] = 7
check_predictions(who_sees_the_write, {n: bool(y[0] == 7) for n, y in made.items()}, because)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Ask of each: did it have to make new numbers? A new dtype, a list, an order of its own: each needs
# them.
# </details>
# <details><summary>Hint 2</summary>
#
# `to` and `as_tensor` do nothing where nothing is to be done.
# </details>
# <details><summary>Hint 3</summary>
#
# Five of the twelve see it.
# </details>

# %% [markdown]
# ## 7. Shapes: the photo as the network wants it · core
#
# A network wants small float numbers, and the channel first: (channel, height, width), or (batch, channel,
# height, width). The dtype we can do. For the shape, **`permute`** puts the dimensions in another order:
# you list the old ones in the new order.

# %% topics=["channel-first", "transpose-permute"]
planes = photo.permute(2, 0, 1)  # (3, 60, 90)
print(tuple(planes.shape), torch.equal(planes[0], photo[..., 0]))
print(tuple(photo.transpose(0, 2).shape), tuple(photo.movedim(-1, -3).shape))

# %% topics=["channel-first"]
parts = {f"planes[{c}], {name}": planes[c] for c, name in enumerate(("red", "green", "blue"))}
figure, panels = plt.subplots(1, 3, figsize=(9, 2.3))
for panel, (title, plane) in zip(panels, parts.items(), strict=True):
    panel.imshow(plane, cmap="gray", vmin=0, vmax=255)
    panel.set_title(title, fontsize=10)
    panel.set_axis_off()
show(figure, "Three planes in grey: the sun white, light and dark; the sky dark, medium and light.")

# %% [markdown]
# `transpose` swaps two dimensions; here it would take two swaps. `movedim(-1, -3)` takes the last dimension
# to the third place from the end, with or without a batch in front. (A `reshape` to (3, 60, 90) gives the
# right shape and noise for a picture. Chapter 02 begins with that.)
#
# Dimensions of size 1 come and go. `unsqueeze(d)` inserts one at place `d`, as `None` does;
# `squeeze(d)` removes it. Always name the dimension: `squeeze()` without one removes *every* size 1,
# and one day your batch will hold a single photo.

# %% topics=["squeeze-unsqueeze"]
single = planes.unsqueeze(0)  # (1, 3, 60, 90): a batch of one
gray = torch.zeros(1, 1, 60, 90)
print(tuple(single.shape), tuple(single.squeeze(0).shape))
print("named:", tuple(gray.squeeze(1).shape), " unnamed:", tuple(gray.squeeze().shape))

# %% [markdown]
# **`reshape`** keeps the reading order of the elements and cuts it anew. One size may be `-1`: PyTorch
# computes it. `view` is its strict sister: it never copies, and refuses where it would have to (chapter
# 02). **`flatten(1)`**, which keeps the batch and joins the rest, stands between the last convolution and
# the first linear layer.

# %% topics=["reshape-view-basics", "flatten-before-linear"]
x = torch.arange(12)
print(x.reshape(3, 4).tolist(), tuple(x.view(2, -1).shape))
features = torch.zeros(16, 8, 5, 5)  # (batch, channel, height, width)
print(tuple(features.flatten(1).shape), tuple(features.view(16, -1).shape))
print(tuple(torch.nn.LazyLinear(10)(features.flatten(1)).shape))

# %% [markdown]
# `nn.LazyLinear` takes the number of features from its first input, 200 here.
#
# ### There and back, to the last bit
#
# All parts are there: change the order, change the dtype, divide by 255. torchvision's `v2` does this for
# you. **Predict:** the same 256 numbers, once divided by 255 and once multiplied by 1 / 255. How many
# differ?

# %% topics=["pil-conversion"]
from torchvision.transforms.v2 import functional as v2

every = torch.arange(256, dtype=torch.uint8).view(1, 1, 256)  # every value of a pixel
scaled = v2.to_dtype(every, torch.float32, scale=True)
print("differ:", (every.float() / 255 != every.float() * (1 / 255)).sum().item())
print("v2 multiplies:", torch.equal(scaled, every.float() * (1 / 255)))

# %% [markdown]
# 1 / 255 is rounded once and the product again, so 126 of 256 differ in the last bit. For training that
# means nothing; for a test that compares two pipelines with `==`, everything.
#
# On the way back v2 multiplies by 255.999 and cuts the fraction off. So the numbers from 0 to 1 fall into
# 256 bins of almost equal width, and 1.0 gives 255.

# %% topics=["pil-conversion"]
back = v2.to_dtype(scaled, torch.uint8, scale=True)
print("there and back:", torch.equal(back, every))
x = torch.tensor([[[0.0, 0.5, 1.0]]])
print(v2.to_dtype(x, torch.uint8, scale=True).tolist(), (x * 255.999).to(torch.uint8).tolist())

# %% [markdown]
# > **Often said.** *"`ToTensor` maps NHWC to NCHW and [0, 255] to [0, 1]."* It takes **one** image, and
# > it rescales **only** `uint8`: a float image keeps its range, up to 255. In v2 it is spelled out:
# > `to_image`, then `to_dtype(scale=True)`. *"`to_pil_image(x)` is `clamp(255 * x, 0, 255).byte()`."* It
# > does not clamp. A pixel of 1.2 comes out as 50: the wrap-around of our puzzle.

# %% topics=["pil-conversion"] errata=["totensor-scope", "topil-equivalence"]
from torchvision.transforms.functional import to_tensor

pixels = np.full((2, 2, 3), 200)
print(round(to_tensor(pixels.astype(np.uint8)).max().item(), 3))
print(to_tensor(pixels.astype(np.float32)).max().item())
try:
    to_tensor(np.zeros((1, 2, 2, 3), dtype=np.uint8))
except ValueError as error:
    print(error)
bright = torch.full((3, 1, 1), 1.2)
for x in (bright, bright.clamp(0, 1)):
    print(np.array(v2.to_pil_image(x)).tolist())

# %% [markdown]
# What comes in depends on who read the file. PIL (through `np.array`), scikit-image and imageio give
# `uint8` in the order red, green, blue. OpenCV gives **blue, green, red**. matplotlib's `imread` of a PNG
# gives `float32` from 0 to 1. All have the height first and the channel last; PIL's grey images have two
# dimensions.
#
# ### Exercise 1.4 — Image to tensor and back ★★ · 18 min · 4 points · core
#
# Write both ways by hand, without torchvision.
#
# `image_to_tensor(image)` turns a `uint8` array into a `float32` tensor from 0 to 1 on the CPU, whatever
# the default dtype is:
#
# - (height, width, channel) becomes (channel, height, width), for any number of channels;
# - (height, width), a grey image, becomes (1, height, width);
# - (batch, height, width, channel) becomes (batch, channel, height, width);
# - the values are those of v2, **bit for bit**: multiply by `1 / 255`.
#
# Each size may be 1, height and width also 0. The array stays as it is; arrays turned by `[::-1]` don't occur.
#
# `tensor_to_image(x)` turns a `float32` tensor into a `uint8` array:
#
# - (channel, height, width) becomes (height, width, channel), but one channel becomes (height, width);
# - (batch, channel, height, width) becomes (batch, height, width, channel), always;
# - values outside of 0 to 1 are clamped, then scaled as v2 does: times 255.999, fraction cut off.
#
# `x` may lie on any device, may require a gradient, and stays as it is.
#
# Example: the image `[[[255, 0, 51]]]`, one pixel, becomes `[[[1.0]], [[0.0]], [[0.2]]]`, and back.


# %% nbgrader={"grade_id": "try-image-to-tensor", "locked": true} jupyter={"source_hidden": true}
from course_utils import runs_with_the_answer
from course_utils.learner.calls import python_calls


@runs_with_the_answer
def try_image_to_tensor(image):
    """What your function calls of torchvision, by name."""
    return [name for name in python_calls(image_to_tensor, image)[1] if "torchvision" in name]


@runs_with_the_answer
def try_tensor_to_image(x):
    """The same, and whether x still requires a gradient afterwards."""
    x = x.clone().requires_grad_()
    names = python_calls(tensor_to_image, x)[1]
    return [name for name in names if "torchvision" in name], x.requires_grad


@runs_with_the_answer
def try_image_again(x):
    """The image of x, which is the same in other states: an array's memory doesn't travel."""
    image = lambda x: torch.from_numpy(tensor_to_image(x))
    return check_states(image, x, what="tensor_to_image(x)")


# %% nbgrader={"grade_id": "check-image-to-tensor", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.tensors import check_by_hand, check_image, check_planes
from course_utils.chapters.tensors import dtype_under_float64, pictures, planes_of_pictures


@runs_with_the_answer
def try_another_default(image):
    """The dtype of your tensor while the default dtype is float64."""
    return dtype_under_float64(image_to_tensor, image)


# %% nbgrader={"grade_id": "image-to-tensor", "solution": true}
def image_to_tensor(image: np.ndarray) -> torch.Tensor:
    """A uint8 array of shape (..., height, width, channel) or (height, width) as float32 planes."""
    ### BEGIN SOLUTION
    x = torch.tensor(image)
    x = x[None] if x.dim() == 2 else x.movedim(-1, -3)
    return x.to(torch.float32) * (1 / 255)
    ### END SOLUTION


def tensor_to_image(x: torch.Tensor) -> np.ndarray:
    """float32 planes of shape (..., channel, height, width) as a uint8 array, channel last."""
    ### BEGIN SOLUTION
    pixels = (x.detach().cpu().clamp(0, 1) * 255.999).to(torch.uint8).movedim(-3, -1)
    return pixels[..., 0].numpy() if pixels.shape[2:] == (1,) else pixels.numpy()
    ### END SOLUTION


# %% nbgrader={"grade_id": "image-to-tensor-check", "grade": true, "points": 2}
every, pixel = np.arange(252, dtype=np.uint8), np.array([[[255, 0, 51]]], dtype=np.uint8)
with every_case() as case:
    for name, image in {"the example, of one pixel": pixel, **pictures()}.items():
        with case(name):
            check_planes(image_to_tensor, image)
    with case("by hand"):
        check_by_hand(try_image_to_tensor(pixel))
    with case("while the default dtype is float64"):
        why = "ask for float32 by name before you multiply: else the default dtype decides"
        check_equal(try_another_default(pixel), torch.float32, "the dtype of the result", why)
### BEGIN HIDDEN TESTS
batch = every.reshape(4, 3, 7, 3)
images = (every.reshape(9, 7, 4), every.reshape(42, 6, 1), batch[0, 1::2, :4], batch[:0])
with every_case() as case:
    for image in images:
        with case(f"an image of shape {image.shape}"):
            check_planes(image_to_tensor, image)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "image-to-tensor-check-2", "grade": true, "points": 2}
pixel = torch.tensor([[[1.0]], [[0.0]], [[0.2]]], device=device)
with every_case() as case:
    for x, pixels, name, *because in planes_of_pictures():
        with case(name):
            check_image(tensor_to_image, x, pixels, name, *because)
    with case("in other states"):
        check_equal(try_image_again(pixel).tolist(), [[[255, 0, 51]]], "its image")
    with case("by hand, and x stays as it is"):
        check_by_hand(*try_tensor_to_image(pixel))
### BEGIN HIDDEN TESTS
x = torch.rand(2, 3, 5, 7, generator=torch.Generator().manual_seed(3)).mul(1.4).sub(0.2).to(device)
image = (x.clamp(0, 1) * 255.999).byte().permute(0, 2, 3, 1).cpu().numpy()
cases = {"a batch": (x, image), "a slice": (x[0, :, 1:], image[0, 1:]), "none": (x[:0], image[:0])}
for name, (x, pixels) in cases.items():
    check_image(tensor_to_image, x, pixels, name)
### END HIDDEN TESTS


# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `movedim(-1, -3)` serves one image and a batch alike. A grey image needs a new first dimension.
# </details>
# <details><summary>Hint 2</summary>
#
# For the bits: `x.to(torch.float32) * (1 / 255)`. Mind the parentheses: `x * 1 / 255` divides.
# </details>
# <details><summary>Hint 3</summary>
#
# For the way back, in this order: detach and bring it to the CPU, clamp, scale, convert, move the
# channel to the end, and for one grey image take the channel off. `clamp_` would change the caller's
# tensor.
# </details>

# %% [markdown]
# ## 8. Broadcasting: stretch what has size 1 · core
#
# Networks like numbers around 0. So subtract from each channel its mean, one number from 5400 pixels. No
# loop, no copies: shape (3, 1, 1) against (3, 60, 90).

# %% topics=["broadcasting"]
x = photo.permute(2, 0, 1).float() / 255  # (3, 60, 90)
mean = torch.tensor([0.4, 0.6, 0.7])  # (3,)
centred = x - mean[:, None, None]  # (3, 60, 90) - (3, 1, 1)
print(tuple(centred.shape), torch.allclose(centred[1], x[1] - 0.6))

# %% [markdown]
# Chapter 00 met this as an accident. Here is the whole rule:
#
# 1. Write the shapes under each other, **aligned at the right**. Missing sizes count as 1.
# 2. In each place the sizes must be **equal, or one of the two must be 1**.
# 3. A size of 1 is stretched to the other.
#
# Boxes with a full frame exist in memory. Dotted ones do not: they are what stretching means.


# %% topics=["broadcasting"]
def draw_stretched(a, b):
    """Draw the broadcast sum of two small tensors, of at most two dimensions."""
    total = a + b
    figure, panels = plt.subplots(1, 3, figsize=(9, 2.2))
    for panel, x, sign in zip(panels, (a, b, total), ("", "+  ", "=  "), strict=True):
        own = (1,) * (2 - x.dim()) + tuple(x.shape)
        values = x.expand(total.shape).tolist()
        for i, j in np.ndindex(*total.shape):
            real = i < own[0] and j < own[1]
            look = {"facecolor": "#bfe0f5", "lw": 1.6} if real else {"fill": False, "ls": ":"}
            panel.add_patch(plt.Rectangle((j, i), 0.94, 0.94, edgecolor="#0072b2", **look))
            ink = "#1a1a1a" if real else "#6b6b6b"
            panel.text(j + 0.47, i + 0.5, values[i][j], ha="center", va="center", color=ink)
        panel.set(xlim=(-0.1, total.shape[1]), ylim=(total.shape[0], -0.1), aspect="equal")
        panel.set_title(f"{sign}{tuple(x.shape)}", fontsize=11)
        panel.set_axis_off()
    shapes = f"{tuple(a.shape)} and {tuple(b.shape)} are stretched to {tuple(total.shape)}"
    show(figure, f"{shapes}; boxes that exist are filled, stretched ones are dotted.")


draw_stretched(torch.tensor([[10], [20], [30]]), torch.tensor([1, 2, 3, 4]))

# %% [markdown]
# The column is repeated four times, the row three times. PyTorch writes none of these repetitions to
# memory; it reads the same box again. `expand` gives you the stretched tensor itself, without a copy (`data_ptr()` is the address of the first element). `repeat` writes the copies out.

# %% topics=["broadcasting", "expand-vs-repeat"]
column = torch.tensor([[10], [20], [30]])
print(column.expand(3, 4).tolist(), column.expand(3, 4).data_ptr() == column.data_ptr())
print(torch.equal(column.repeat(1, 4), column.expand(3, 4)), torch.broadcast_shapes((3, 1), (4,)))

# %% [markdown]
# > **Often said.** *"Trailing dimensions must be equal, all be 1, or be missing."* It is enough that
# > **one** of the two is 1, and each place is judged for itself.

# %% topics=["broadcasting"] errata=["broadcast-rule"]
print(tuple((torch.zeros(3, 1) + torch.zeros(1, 4)).shape))
try:
    torch.zeros(3) + torch.zeros(4)
except RuntimeError as error:
    print(error)

# %% [markdown]
# The most useful broadcast of all makes a **mask from lengths**. Three sentences of 1, 3 and 2 words are
# padded to equal length. Which entries are real? Compare a row of positions with a column of lengths:

# %% topics=["broadcasting"]
lengths = torch.tensor([1, 3, 2])
valid = torch.arange(3) < lengths[:, None]  # (3,) < (3, 1)
valid

# %% [markdown]
# ### When it was not meant
#
# Forget the `None` in the first example of this section and you are lucky: (3, 60, 90) − (3,) is an
# error. With a photo three pixels wide it would not be. Shapes that happen to fit are the main danger of
# broadcasting, as when chapter 00's outputs (3, 1) met targets (3,) in nine differences. **In
# practice**, put one line before every loss that you write: `assert prediction.shape == target.shape`.
#
# In place, the left side cannot be stretched: `x += y` needs the shape of `x` for the result.

# %% [markdown]
# ### Exercise 1.5 — The rule, written out ★★ · 12 min · 3 points
#
# Given two shapes, return the broadcast shape as a tuple. If they don't fit, raise a `ValueError`
# whose message names the **first dimension from the right** that does not fit, as a negative number,
# and its two sizes: for `(3, 4, 5)` and `(2, 1, 5)` something like `dimension -3: 3 and 2`. No other
# dimension may be named. Compute with numbers, without making a tensor.
#
# Examples: `(3, 1)` and `(4,)` give `(3, 4)`; `()` and `(2, 3)` give `(2, 3)`. A size of 0 is a size like
# any other: `(0,)` and `(1,)` give `(0,)`, while `(0,)` and `(2,)` don't fit.


# %% nbgrader={"grade_id": "shapes-in-pairs", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.tensors import shapes_in_pairs, why_they_fit


# %% nbgrader={"grade_id": "broadcast-shape", "solution": true}
def broadcast_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a sum of tensors of shapes ``a`` and ``b``; ValueError if there is none."""
    ### BEGIN SOLUTION
    shape = ()
    for dim in range(-1, -max(len(a), len(b)) - 1, -1):
        m = a[dim] if -dim <= len(a) else 1
        n = b[dim] if -dim <= len(b) else 1
        if m != n and m != 1 and n != 1:
            raise ValueError(f"{a} and {b} differ in dimension {dim}: {m} and {n}")
        shape = (n if m == 1 else m, *shape)
    return shape
    ### END SOLUTION


# %% nbgrader={"grade_id": "broadcast-shape-check", "grade": true, "points": 3}
import re


def check_case(a, b, because=""):
    call, fits = f"broadcast_shape({a}, {b})", list(zip(a[::-1], b[::-1], strict=False))
    bad = [(-d, m, n) for d, (m, n) in enumerate(fits, 1) if m != n and 1 not in (m, n)]
    if not bad:
        try:
            shape = broadcast_shape(a, b)
        except ValueError as error:
            words = f"{call}: these shapes fit, aligned at the right, and were refused ({error})"
            raise AssertionError(words) from None
        check_equal(shape, tuple(torch.broadcast_shapes(a, b)), call, because)
        assert isinstance(shape, tuple), f"{call}: the sizes are right; return them as a tuple"
        return
    words = check_raises(ValueError, lambda: broadcast_shape(a, b), call)
    named = {int(number) for number in re.findall(r"-?\d+", words.replace("−", "-"))}
    dim, m, n = bad[0]
    others = named & set(range(-max(len(a), len(b)), 0)) - {dim}
    assert set(bad[0]) <= named and not others, (
        f"{call}: name dimension {dim}, no other, and its sizes {m} and {n} in the error, "
        f"not {words!r}"
    )


pairs = {
    ((3, 1), (4,)): "each place is judged for itself",
    ((), (2, 3)): "a missing size counts as 1",
    ((2, 3), (3,)): "align the shapes at the right",
    ((0,), (1,)): "1 is stretched to the other size, and that is 0 here",
    **dict.fromkeys((((3, 4, 5), (2, 1, 5)), ((2, 3), (4, 5)), ((0,), (2,))), ""),
}
pairs |= {pair: why_they_fit(*pair) for pair in shapes_in_pairs() if pair not in pairs}
with every_case() as case:
    with count_operators() as counts:
        for (a, b), because in pairs.items():
            with case(f"{a} and {b}"):
                check_case(a, b, because)
    with case("numbers alone"):
        ran = ", ".join(counts)
        assert not counts, f"compute with numbers, without making a tensor: {ran} ran"
### BEGIN HIDDEN TESTS
import random

numbers = random.Random(0)


def any_shape():
    return tuple(numbers.choices((0, 1, 1, 2, 3), k=numbers.randint(0, 4)))


pairs = [(any_shape(), any_shape()) for _ in range(120)]
with every_case() as case, count_operators() as counts:
    for a, b in pairs:
        with case(f"{a} and {b}"):
            check_case(a, b)
assert not counts, f"compute with numbers, without making a tensor: {', '.join(counts)} ran"
### END HIDDEN TESTS


# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Walk from the right: −1, −2, … up to the longer of the two. A shape that is too short counts as 1.
# </details>
# <details><summary>Hint 2</summary>
#
# Is one size 1? Then the result is the *other*, whatever it is. `max` looks tempting and is wrong for 0.
# </details>
# <details><summary>Hint 3</summary>
#
# `itertools.zip_longest(reversed(a), reversed(b), fillvalue=1)` pairs the sizes from the right.
# </details>

# %% [markdown]
# ## 9. Reductions: many numbers become few · core
#
# Where did the means of the channels come from? From a **reduction**. You name the dimension that
# disappears, or several, or none for all. **Predict** the shapes.

# %% topics=["reduction-ops"]
print(tuple(x.mean().shape), tuple(x.mean(dim=0).shape), tuple(x.mean(dim=(1, 2)).shape))
print(tuple(x.mean(dim=(1, 2), keepdim=True).shape), [round(m, 2) for m in x.mean((1, 2)).tolist()])

# %% [markdown]
# `keepdim=True` leaves a size of 1 behind, which is just what broadcasting wants:
# `x - x.mean(dim=(1, 2), keepdim=True)` has no `None` and no mistake in it.
#
# The family is large. A few members have a detail worth knowing:

# %% topics=["reduction-ops"]
v = torch.tensor([3.0, 4.0, 4.0, 1.0])
print(v.sum().item(), v.prod().item(), v.mode().values.item(), v.median().item())
print(round(v.var().item(), 3), round(v.var(correction=0).item(), 3), "| divided by n - 1, by n")
print(torch.linalg.vector_norm(v[:2]).item(), torch.linalg.vector_norm(v[:2], ord=1).item())

# %% [markdown]
# - `median` of an even number of elements gives the *lower* of the two in the middle, 3 here, not 3.5.
# - `var` and `std` divide by n − 1 unless you say `correction=0`. (Batch normalisation does both; see
#   chapter 09.)
# - For norms write `torch.linalg.vector_norm`. The documentation calls `torch.norm` deprecated, but
#   nothing warns, and its method `x.norm()` is all over working code.
# - `mean` refuses whole numbers. Convert first.

# %% [markdown]
# **`max` has three faces.** Of a whole tensor it is one number. Along a dimension it is *two* results,
# the values and where they were. Of two tensors it is element-wise. The names `amax`, `argmax`
# and `maximum` say which one you mean:

# %% topics=["max-min-overloads"]
print(scores.max().item(), scores.max(dim=1).values.tolist(), scores.max(dim=1).indices.tolist())
print(scores.amax(dim=1).tolist(), scores.argmax(dim=1).tolist())
print(torch.maximum(scores[0], scores[1]).tolist())

# %% [markdown]
# `argmax(dim=1)` is the network's answer: the class of the largest score. The mean of "answer equals
# label" is the **accuracy**.

# %% topics=["max-min-overloads", "argmax-accuracy"]
answers = scores.argmax(dim=1)
print([classes[a] for a in answers.tolist()], (answers == labels).float().mean().item())

# %% [markdown]
# **Scans** keep every step on the way to a reduction. The running sum of lengths says where each
# sentence ends if all are written one after the other. The shape stays:

# %% topics=["scan-ops"]
ends = lengths.cumsum(0)
print("lengths:", lengths)
print("ends:   ", ends)
print("starts: ", ends - lengths)

# %% [markdown]
# ### Are they equal?
#
# `==` compares element by element. `torch.equal` gives one answer, for exact equality: whole numbers,
# copies. Floats that were computed in different ways want a tolerance. **Predict** the first line.

# %% topics=["equality-checks"] tags=["shows-false"]
v = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
a, b = (v[0] + v[1]) + v[2], v[0] + (v[1] + v[2])
print(torch.equal(a, b), torch.allclose(a, b))
missing = torch.tensor([float("nan")])
print(torch.equal(missing, missing), torch.allclose(missing, missing, equal_nan=True))

# %% [markdown]
# A `nan` equals nothing, not even itself. In tests use `torch.testing.assert_close`: it compares shape,
# dtype and device too, chooses the tolerance by dtype, and says where the difference is.
#
# All of this section could be written with `for`. But each operation costs microseconds before it
# computes anything (chapter 03 measures it), and one on a whole table pays that once. So ask of a loop
# which dimension it runs over, and which operation knows that dimension. The checks count operations.

# %% [markdown]
# ### Exercise 1.6 — The mean of what is there ★★ · 12 min · 4 points · core
#
# Given `values` of shape (rows, columns), float, and a boolean mask `valid` of the same shape, return the
# mean of the valid entries of each row, of shape (rows,) and of the same dtype. No loop.
#
# - A row without any valid entry gives 0.
# - What is not valid may be *anything*, also `nan` or `inf`: it is padding.
# - What is valid counts: the mean of a valid `nan` is `nan`.
# - The gradient is finite everywhere, and 0 at what is not valid.
#
# Two points are for the values, one for padding that is not a number, and one for the gradient. The cell
# below computes that gradient for the check; you may call it, too.
#
# Example: values `[[1, 2, 9], [4, 9, 9]]` with valid entries `[[True, True, False], [False, False, False]]`
# give `[1.5, 0]`, and the gradient of their sum is `[[0.5, 0.5, 0], [0, 0, 0]]`.


# %% nbgrader={"grade_id": "gradient-at", "locked": true}
from course_utils import check_no_loop, gradient_of, runs_with_the_answer


@runs_with_the_answer
def gradient_at(values: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
    """Gradient of the sum of all row means, of the shape of ``values``."""
    return gradient_of(masked_row_mean, values, valid)


# %% nbgrader={"grade_id": "rows-to-average", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.tensors import rows_to_average, rows_with_gradients


# %% nbgrader={"grade_id": "check-masked-row-mean", "locked": true} jupyter={"source_hidden": true}
# How the answer is checked. You need not read this; the checks below say what is wrong.
def check_mean(answer, values, valid):
    rows = [row[keep].mean().nan_to_num() for row, keep in zip(values, valid, strict=True)]
    expected = torch.stack(rows) if rows else values.new_zeros(0)
    with forbid_changes(values, valid), count_operators() as counts:
        result = answer(values, valid)
    check_close(result, expected, "masked_row_mean(values, valid)")
    return sum(counts.values())


def check_gradient(answer, gradient_at, values, valid):
    with forbid_changes(values, valid):
        missing = answer(values, valid) is None
    assert not missing, "the result is None: is there an answer yet, and does it return a value?"
    gradient, count = gradient_at(values, valid), valid.sum(dim=1, keepdim=True).clamp(min=1)
    finite = torch.isfinite(gradient).all()
    assert finite, "the gradient is not finite: something was divided by 0 on the way"
    check_close(gradient, valid / count.to(values.dtype), "the gradient")


# %% nbgrader={"grade_id": "masked-row-mean", "solution": true}
def masked_row_mean(values: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
    """Mean of the valid entries of each row: float (rows, columns) -> (rows,), 0 for none."""
    ### BEGIN SOLUTION
    total = torch.where(valid, values, 0).sum(dim=1)
    return total / valid.sum(dim=1).clamp(min=1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "masked-row-mean-check", "grade": true, "points": 2}
values = torch.tensor([[1.0, 2.0, 9.0], [4.0, 9.0, 9.0]], device=device)
mask = torch.tensor([[True, True, False], [False, False, False]], device=device)
with every_case() as case:
    for name, (table, keep) in rows_to_average().items():
        with case(name):
            check_mean(masked_row_mean, table, keep)
    with case("in other states"):
        check_states(masked_row_mean, values, mask, what="masked_row_mean(values, valid)")
    with case("no loop"):
        few = check_mean(masked_row_mean, values, mask)
        twenty = values.repeat(20, 1), mask.repeat(20, 1)
        check_no_loop(few, check_mean(masked_row_mean, *twenty))
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(1)
with every_case() as case:
    for shape in ((1, 1), (5, 7), (7, 1), (0, 4), (3, 0)):
        table = torch.randn(shape, generator=generator).to(device)
        with case(f"shape {shape}"):
            check_mean(masked_row_mean, table, table.mul(9).sin() > 0)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "masked-row-mean-check-2", "grade": true, "points": 1}
mask = torch.tensor([[True, True, False], [False, False, False]], device=device)
with every_case() as case:
    for padding in (float("nan"), float("inf")):
        values = torch.tensor([[1.0, 2.0, padding], [padding, padding, padding]], device=device)
        with case(f"with padding {padding}"):
            with forbid_changes(values):
                result = masked_row_mean(values, mask)
            product = isinstance(result, torch.Tensor) and bool(result.isnan().all())
            why = f"0 times {padding} is nan; choose instead of multiplying: " if product else ""
            check_close(result, torch.tensor([1.5, 0.0], device=device), f"{why}the result")
    with case("a valid nan and a valid inf, which count"):
        nan, inf = float("nan"), float("inf")
        odd = [[nan, 2.0, 9.0], [inf, 9.0, 9.0], [nan, nan, nan], [-inf, -inf, -inf]]
        odd = torch.tensor(odd, device=device)
        with forbid_changes(odd):
            result = masked_row_mean(odd, odd != 9)
        check_close(result, odd[:, 0], "the result")


# %% nbgrader={"grade_id": "masked-row-mean-check-3", "grade": true, "points": 1}
kinds = torch.float64, torch.float16, torch.bfloat16
with every_case() as case:
    for name, (table, keep) in rows_with_gradients(*kinds).items():
        with case(name):
            check_gradient(masked_row_mean, gradient_at, table, keep)
### BEGIN HIDDEN TESTS
generator, tables = torch.Generator().manual_seed(2), {}
for shape in ((6, 5), (4, 1), (2, 0), (1, 9)):
    table = torch.randn(shape, generator=generator, dtype=torch.float64).to(device)
    tables[f"values of shape {shape}"] = (table, table > 0.3)
table = torch.tensor([[1.0, float("nan")], [float("inf"), float("nan")]], device=device)
tables["padding that is nan or inf"] = (table, table == 1)
with every_case() as case:
    for name, (table, keep) in tables.items():
        with case(name):
            check_gradient(masked_row_mean, gradient_at, table, keep)
### END HIDDEN TESTS


# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Sum of the valid ones, divided by how many there are. The two traps: `0 * nan` is `nan`, and `0 / 0` is
# `nan`.
# </details>
# <details><summary>Hint 2</summary>
#
# `torch.where(valid, values, 0)` chooses; it never computes with what it leaves out.
# </details>
# <details><summary>Hint 3</summary>
#
# Divide by a count that is never 0. Mending the `nan` of `0 / 0` afterwards also mends the values; the
# gradient has gone through the division by then, and is right only if what is not valid was chosen away
# by `where`, whose gradient there is 0, and not multiplied away.
# </details>

# %% [markdown]
# ## 10. Gather and scatter: every row wants something else · core
#
# Back to the scores. A training step's loss needs, for each photo, the score of its true label: another
# column in each row. No slice can say that; **`gather`** can. Its index has one entry for each result, and
# says where to look along the dimension that you name.

# %% topics=["scatter-gather"]
picked = scores.gather(1, labels[:, None])  # (4, 1)
print(picked.squeeze(1).tolist())

# %% [markdown]
# **`scatter_`** goes the other way: it takes values and an index and puts each value where the index
# says. Look at both. The arrows are the index.


# %%
def draw_moves(table, index, result, title, back=False):
    """Draw a (rows, columns) table, an index (rows,) into its columns, and values (rows,)."""
    figure, axes = plt.subplots(figsize=(7.5, 2.5))
    tail = table.shape[1] + 2.0
    boxes = [(j, i, table[i, j].item()) for i, j in np.ndindex(*table.shape)]
    boxes += [(tail, i, value) for i, value in enumerate(result.tolist())]
    boxes += [(-2.0, i, value) for i, value in enumerate(index.tolist())]
    for left, i, value in boxes:
        moved = left == tail or left == index[i].item()
        face = "#fbdcb0" if left == -2 else "#bfe0f5" if moved else "white"
        axes.add_patch(plt.Rectangle((left, i), 0.94, 0.94, facecolor=face, edgecolor="#555555"))
        axes.text(left + 0.47, i + 0.5, f"{value:g}", ha="center", va="center")
    for i, j in enumerate(index.tolist()):
        ends = [(j + 0.8, i + 0.72), (tail, i + 0.72)]
        start, end = reversed(ends) if back else ends
        axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "#b04500"})
    for left, name in ((-2.0, "index"), (0.0, "table"), (tail, "values")):
        axes.text(left, -0.2, name, fontsize=10)
    axes.set(xlim=(-2.2, tail + 1.2), ylim=(len(table) + 0.05, -0.7), title=title)
    axes.set_axis_off()
    show(figure, f"{title}: an arrow in each row between column {index.tolist()} and the values.")


draw_moves(scores, labels, picked[:, 0], "gather: out of the table, one for each row")

# %%
marks = torch.ones(4)
table = torch.zeros(4, 3).scatter_(1, labels[:, None], marks[:, None])
draw_moves(table, labels, marks, "scatter_: into the table, one for each row", back=True)

# %% [markdown]
# In formulas, along dimension 1: `gather` is `result[i, j] = table[i, index[i, j]]`, and `scatter_` is
# `table[i, index[i, j]] = values[i, j]`. The index has as many *dimensions* as the table; that is what
# the `None` was for. Instead of a tensor of values, `scatter_` also takes one number for all.

# %% [markdown]
# The table that `scatter_` has just filled is known as **one-hot** encoding: a row for each label, all 0
# but for a single 1. `F.one_hot` makes it, as `int64`.
#
# > **Often said.** *"Labels must be turned into one-hot before training."* `cross_entropy` takes the
# > labels as they are. It also takes rows of probabilities, for *soft* labels; one-hot rows give the same
# > loss with more memory.

# %% topics=["one-hot-encoding"] errata=["one-hot-required"]
hot = F.one_hot(labels, 3)
print(hot.tolist(), hot.dtype)
print(torch.allclose(F.cross_entropy(scores, labels), F.cross_entropy(scores, hot.float())))

# %% [markdown]
# ### Exercise 1.7 — One-hot ★★ · 10 min · 3 points
#
# Given `labels` (int64, of any shape, also `()` or without any element) and the number of classes, return a
# tensor of shape `(*labels.shape, classes)` and the given dtype, with a 1 at each label and 0 elsewhere.
# `labels` stay as they are, also where they are refused.
#
# - Use `scatter_`, and make the result in its dtype right away. (`F.one_hot` makes `int64` first, eight
#   bytes for each 0, and converting it makes a second table.)
# - A label below 0 or not below `classes` raises a `ValueError` that names it, or one of them. Check this
#   beforehand: on a GPU an index out of range is noticed late and ends all work on that GPU in your process.
#
# Example: labels `[0, 2]` with 3 classes give `[[1, 0, 0], [0, 0, 1]]`; labels `[0, 5]` raise
# `ValueError: label 5 is not among 0 to 2`, or words of your own with the 5 in them.


# %% nbgrader={"grade_id": "labels-to-encode", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.tensors import labels_to_encode


# %% nbgrader={"grade_id": "check-one-hot", "locked": true} jupyter={"source_hidden": true}
# How the answer is checked. You need not read this; the checks below say what is wrong.
def check_table(answer, labels, classes, dtype):
    expected = F.one_hot(labels, classes).to(dtype)
    with forbid_changes(labels), count_operators() as counts:
        result = answer(labels, classes, dtype)
    check_close(result, expected, "the table")
    ran = " ".join(counts)
    assert "scatter" in ran, f"put the ones in place by scatter_; what ran is: {ran}"
    after = "converted afterwards: make the table in its dtype right away"
    assert "_to_copy" not in ran, after


def check_label(answer, labels, classes, wrong):
    labels = torch.tensor(labels, device=device)
    call = f"one_hot({labels.tolist()}, {classes})"
    with forbid_changes(labels), count_operators() as counts:
        words = check_raises(ValueError, lambda: answer(labels, classes), call)
    late = any("scatter" in name for name in counts)
    assert not late, f"{call}: it was refused while it was scattered: look at the labels beforehand"
    named = any(str(label) in words for label in wrong)
    told = " or ".join(map(str, wrong))
    assert named, f"{call}: the error should name the label {told}, not {words!r}"


# %% nbgrader={"grade_id": "one-hot", "solution": true}
def one_hot(labels: torch.Tensor, classes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """int64 labels of any shape as 0 and 1, in a new last dimension of size ``classes``."""
    ### BEGIN SOLUTION
    wrong = labels[(labels < 0) | (labels >= classes)]
    if wrong.numel():
        raise ValueError(f"label {wrong[0].item()} is not among 0 to {classes - 1}")
    table = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    return table.scatter_(-1, labels.unsqueeze(-1), 1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "one-hot-check", "grade": true, "points": 2}
two = torch.tensor([0, 2], device=device)
kinds = torch.float16, torch.int64, torch.uint8
with every_case() as case:
    for given, width, kind, name in labels_to_encode(*kinds):
        with case(f"{kind}, labels {name}"):
            check_table(one_hot, given, width, kind)
    with case("the dtype left out"):
        check_close(one_hot(two, 3), F.one_hot(two, 3).float(), "the table")
    with case("in other states"):
        check_states(one_hot, two, 3, torch.float64, what="one_hot([0, 2], 3, torch.float64)")
### BEGIN HIDDEN TESTS
generator = torch.Generator().manual_seed(4)
trials = [(two.expand(6, 2).t()[:, ::2], torch.float32, "in a transposed slice")]
for shape in ((), (7,), (2, 3, 4), (1, 1), (3, 0)):
    truth = torch.randint(5, shape, generator=generator).to(device)
    for kind in (torch.float16, torch.int64, torch.uint8):
        trials.append((truth, kind, f"of shape {shape}"))
with every_case() as case:
    for given, kind, name in trials:
        with case(f"{kind}, labels {name}"):
            check_table(one_hot, given, 5, kind)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "one-hot-check-2", "grade": true, "points": 1}
with every_case() as case:
    bad = [([0, 5], 5), ([0, -1, 2], -1), ([0, 3], 3), ([[0, 1], [117, 1]], 117), (-4, -4), (8, 8)]
    bad += [([2**32], 2**32), ([1, -(2**32)], -(2**32)), (-(2**63), -(2**63))]
    for given, wrong in bad:
        with case(f"the label {wrong}"):
            check_label(one_hot, given, 3, [wrong])
    for several in ([5, 0, 7], [7, 7], [-1, 9, -1], [9, -1, 0]):
        with case(f"the labels {several}"):
            check_label(one_hot, several, 3, [label for label in several if label])
### BEGIN HIDDEN TESTS
with every_case() as case:
    for given, wrong in (([[0, 1], [117, 1]], 117), (-3, -3)):
        with case(f"the label {wrong}"):
            check_label(one_hot, given, 10, [wrong])
### END HIDDEN TESTS


# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Zeros of the right shape, dtype and device first. Then `scatter_` the number 1 along the last dimension.
# </details>
# <details><summary>Hint 2</summary>
#
# The index needs as many dimensions as the table: `labels.unsqueeze(-1)`.
# </details>
# <details><summary>Hint 3</summary>
#
# `labels.max()` fails where there is no label. A mask of the wrong ones does not.
# </details>

# %% [markdown]
# ### Exercise 1.8 — The score of the label ★ · 6 min · 3 points · core
#
# Pick the score of each label in two ways.
#
# - `pick_logits(logits, labels)` by `gather`. `logits` has shape (..., classes), `labels` has the shape
#   (...) without the classes: (batch, classes) with (batch,), or (batch, time, classes) with (batch, time).
#   The result has the shape of the labels.
# - `pick_logits_by_index(logits, labels)` by lists of indices, for (batch, classes) and (batch,) alone.
#   Do not make a table of batch × batch on the way.
#
# A gradient flows back to the logits that were picked, as in any loss. The others may be `nan` or infinite.
#
# Example: with the scores and labels of the picture both give `[2.0, 1.5, 1.0, 0.75]`.


# %% nbgrader={"grade_id": "try-pick-logits", "locked": true} jupyter={"source_hidden": true}
from course_utils import runs_with_the_answer
from course_utils.chapters.tensors import check_gradient_by, gradients_of
from course_utils.chapters.tensors import scores_in_rows, scores_with_labels


@runs_with_the_answer
def try_pick_gradients(logits, labels):
    """The gradients of both functions; of the second alone where it takes these labels."""
    if labels.dim() > 1:
        return [gradients_of(pick_logits, logits, labels)]
    return [gradients_of(answer, logits, labels) for answer in (pick_logits, pick_logits_by_index)]


# %% nbgrader={"grade_id": "check-pick-logits", "locked": true} jupyter={"source_hidden": true}
# How the answer is checked. You need not read this; the checks below say what is wrong.
def check_pick(answer, logits, labels):
    here = F.one_hot(labels, logits.shape[-1]) > 0
    expected = torch.where(here, logits, 0).sum(dim=-1)  # elsewhere may be nan
    call = "pick_logits(logits, labels)"
    with forbid_changes(logits, labels), count_operators() as counts:
        result = answer(logits, labels)
    check_close(result, expected, call)
    assert counts["gather"] == 1, f"{call}: gather ran {counts['gather']} times; use it once"


def check_index(answer, logits, labels):
    expected = logits.gather(1, labels[:, None])[:, 0]
    call = "pick_logits_by_index(logits, labels)"
    with forbid_changes(logits, labels), count_operators() as counts:
        result = answer(logits, labels)
    check_close(result, expected, call)
    with forbid_copies(up_to=8 * (logits.numel() + sum(logits.shape))):  # a mask may be made
        result = answer(logits, labels)
    ran = ", ".join(counts)
    assert counts["index"] == 1 and not counts["gather"], f"{call}: by one index, not by {ran}"


# %% nbgrader={"grade_id": "pick-logits", "solution": true}
def pick_logits(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The logit of each label: (..., classes) and int64 (...) -> (...)."""
    ### BEGIN SOLUTION
    return logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    ### END SOLUTION


def pick_logits_by_index(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The same for (batch, classes) and (batch,), by lists of indices."""
    ### BEGIN SOLUTION
    return logits[torch.arange(len(labels), device=labels.device), labels]
    ### END SOLUTION


# %% nbgrader={"grade_id": "pick-logits-check", "grade": true, "points": 2}
cases = scores_with_labels()
logits, truth = cases["the first three photos"]
cases |= {str(kind): (logits.to(kind), truth) for kind in (torch.bfloat16, torch.float64)}
with every_case() as case:
    for name, (table, wanted) in cases.items():
        with case(name):
            check_pick(pick_logits, table, wanted)
    with case("in other states, and the gradient"):
        given = cases["(batch, time, classes)"]
        check_states(pick_logits, *given, what="pick_logits(logits, labels)")
        right = lambda z: (z * F.one_hot(given[1], 3)).sum(dim=-1)
        check_gradient_by(try_pick_gradients(*given)[0], right, given[0], "logits")
### BEGIN HIDDEN TESTS
generator, cases = torch.Generator().manual_seed(5), {}
for shape in ((), (6,), (0,), (3, 4), (2, 1, 3), (1, 1)):
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        table = torch.randn(*shape, 7, generator=generator).to(device, dtype)
        wanted = torch.randint(7, shape, generator=generator).to(device)
        cases[f"labels of shape {shape} and {dtype}"] = (table, wanted)
with every_case() as case:
    for name, (table, wanted) in cases.items():
        with case(name):
            check_pick(pick_logits, table, wanted)
### END HIDDEN TESTS


# %% nbgrader={"grade_id": "pick-logits-check-2", "grade": true, "points": 1}
logits = torch.tensor([[2.0, 0.5, 0.0], [0.25, 1.5, 0.5], [1.25, 0.0, 1.0]], device=device)
truth = torch.tensor([0, 1, 2], device=device)
with every_case() as case:
    for name, (table, wanted) in scores_in_rows().items():
        with case(name):
            check_index(pick_logits_by_index, table, wanted)
    with case("in other states, and the gradient"):
        check_states(pick_logits_by_index, logits, truth, what="pick_logits_by_index(…)")
        right = lambda z: (z * torch.eye(3, device=device)).sum(dim=-1)
        check_gradient_by(try_pick_gradients(logits, truth)[1], right, logits, "logits")
### BEGIN HIDDEN TESTS
generator, tables = torch.Generator().manual_seed(6), {}
for batch, width in ((1, 4), (9, 3), (3, 9), (0, 2)):
    table = torch.randn(batch, width, generator=generator, dtype=torch.float64).to(device)
    wanted = torch.randint(width, (batch,), generator=generator).to(device)
    tables[f"{batch} rows and {width} classes"] = (table, wanted)
    turned = table.flip(1).t().contiguous().t()
    tables[f"{batch} rows and {width} classes, transposed"] = (turned, wanted)
with every_case() as case:
    for name, (table, wanted) in tables.items():
        with case(name):
            check_index(pick_logits_by_index, table, wanted)
### END HIDDEN TESTS


# %% [markdown]
# <details><summary>Hint 1</summary>
#
# For `gather`: one dimension more for the labels before, one less for the result afterwards.
# </details>
# <details><summary>Hint 2</summary>
#
# `squeeze()` without a dimension would turn a batch of one into a number.
# </details>
# <details><summary>Hint 3</summary>
#
# For the index: `logits[:, labels]` picks every label from every row. Two lists are read in pairs: the
# row numbers 0, 1, 2, … and the labels.
# </details>

# %% [markdown]
# ### Who is at the top?
#
# **`topk`** gives the largest `k` and where they were, **`sort`** all of them, **`argsort`** the places
# alone, **`kthvalue`** the k-th *smallest*. Equal values may come in any order; only
# `sort` and `argsort` can keep the order they had, with `stable=True`.

# %% topics=["topk-sort"]
best = scores.topk(2, dim=1)
print(best.values[0].tolist(), [[classes[c] for c in row] for row in best.indices.tolist()])
values, places = scores[0].sort(descending=True)
print(places.tolist(), torch.equal(scores[0][places], values), scores[0].kthvalue(1).values.item())
print("stable:", torch.tensor([1, 0, 1, 0]).argsort(stable=True).tolist())

# %% [markdown]
# ### Exercise 1.9 — Top-k accuracy, honestly ★★ · 12 min · 3 points
#
# For what share of the examples is the true label among the `k` largest scores? Answer for several `k` at
# once. `logits` has shape (batch, classes), with at least one row and no `nan`; `labels` has shape
# (batch,); `ks` is a tuple of whole numbers from 1 up, which may be larger than the number of classes.
# Return a list of floats, one for each `k`, in the order of `ks`.
#
# **Ties count against the label.** A model that gives all classes the same score knows nothing; it
# must not get 100 %. A label is in the top `k` if at most `k` classes, itself included, have a score
# that is at least as large as its own. `topk` will not do that: among equals it picks any.
#
# Go through the scores once, for all `k` together: at most one sort or `topk`.
#
# Example: `[[5, 1, 3], [2, 2, 0]]` with labels `[2, 0]` and `ks = (1, 2)` gives `[0.0, 1.0]`. The first
# label comes second. The other shares the first place with class 1, so it is in the top 2 and not in the
# top 1.


# %% nbgrader={"grade_id": "topk-accuracy", "solution": true}
def topk_accuracy(logits: torch.Tensor, labels: torch.Tensor, ks: tuple[int, ...]) -> list[float]:
    """Share of rows (batch, classes) whose label (batch,) is in the top k, for each k of ``ks``."""
    ### BEGIN SOLUTION
    own = logits.gather(1, labels[:, None])
    rank = (logits >= own).sum(dim=1)  # 1 for a label that is alone at the top
    return [(rank <= k).double().mean().item() for k in ks]
    ### END SOLUTION


# %% nbgrader={"grade_id": "topk-accuracy-check", "grade": true, "points": 3}
from course_utils.chapters.tensors import count_storages


def check_case(logits, labels, ks, because=""):
    table, own = logits.tolist(), labels.tolist()
    ranks = [sum(s >= row[k] for s in row) for row, k in zip(table, own, strict=True)]
    expected = [sum(rank <= k for rank in ranks) / len(ranks) for k in ks]
    call = f"topk_accuracy(logits, labels, {ks})"
    with forbid_changes(logits, labels), count_operators() as counts:
        result = topk_accuracy(logits, labels, ks)
    shown = f"{call}: expected {expected}, got {result!r}" + (f" ({because})" if because else "")
    assert result is not None, "it returned None: is there an answer yet?"
    assert isinstance(result, list) and len(result) == len(ks), f"{shown}: a list, one for each k"
    floats = all(type(share) is float for share in result)
    assert floats, f"{shown}: a list of Python floats, as item() gives them"
    assert all(abs(x - y) < 1e-6 for x, y in zip(result, expected, strict=True)), shown
    sorts = counts["topk"] + counts["sort"] + counts["kthvalue"]
    assert sorts <= 1, f"{call}: {sorts} × sort or topk; go through the scores once, for all k"


logits = torch.tensor([[5.0, 1.0, 3.0], [2.0, 2.0, 0.0]], device=device)
truth = torch.tensor([2, 0], device=device)
second, against = truth[:1] * 0 + 1, "ties count against the label"
near = torch.tensor([[1.0, 1.000001, 0.0]], device=device)
nearer = torch.tensor([[1.0, 1.0 + 1e-12, 0.0]], dtype=torch.float64, device=device)
infinite = torch.tensor([[float("-inf")] * 3, [float("inf"), 0.0, 1.0]], device=device)
trials = {
    "the example": (logits, truth, (1, 2), against),
    "a k above the number of classes, no ties": (logits[:1], truth[:1], (5, 2, 1), ""),
    "equal scores everywhere": (logits * 0, truth, (1, 2), f"a score for all: {against}"),
    "three rows": (logits[[1, 0, 0]], truth[[1, 0, 1]], (1, 2), ""),
    "scores of 1 and 1.000001": (near, second, (1, 2), "nearly equal is not equal"),
    "scores in torch.float64": (nearer, second, (1, 2), "1 + 1e-12 is not 1 there"),
    "infinite scores": (infinite, truth * 0, (1, 2, 3), "inf == inf, inf - inf is nan: compare"),
    "scores in torch.float16": (logits[[1, 0, 0]].half(), truth[[1, 0, 1]], (2, 1), ""),
    "scores in torch.bfloat16": (logits[[1, 0, 0]].bfloat16(), truth[[1, 0, 1]], (2, 1), ""),
    "ks out of order, and one twice": (logits, truth, (3, 1, 2, 1), "one share for each of ks"),
    "0.0 and -0.0": (logits[:1] * 0 * logits.new_tensor([1, -1, 1]), second, (1, 2, 3), against),
    "one row, one class": (logits[:1, :1], truth[:1] * 0, (1, 2), ""),
    "2997 equal scores": (
        logits[:1, :1].expand(1, 2997),
        second,
        (2996, 2997, 3500),
        "a rank of 2997",
    ),
    "300 rows": (logits[:1].expand(300, 3), truth[:1].repeat(300), (1, 2), ""),
    "transposed scores": (logits[:, :2].t(), truth[:1].repeat(2) * 0, (1, 2), ""),
}
with every_case() as case:
    for name, (table, own, ks, because) in trials.items():
        with case(name):
            check_case(table, own, ks, because)
    with case("twenty k"):
        with count_storages(2997) as large:
            check_case(logits[:1, :1].expand(1, 2997), second, tuple(range(1, 21)))
        words = "each k makes a tensor as large as the scores: go through them once, for all k"
        assert large.count < 20, words
    with case("in other states"):
        check_states(topk_accuracy, logits, truth, (1, 2), what="topk_accuracy(…)")
### BEGIN HIDDEN TESTS
trials = {}
trials["more infinite scores"] = (infinite, torch.tensor([1, 0], device=device), (1, 2, 3), "")
generator = torch.Generator().manual_seed(7)
for batch, width, ks in ((1, 1, (1,)), (40, 10, (1, 3, 5, 10)), (33, 4, (2, 1)), (12, 2, (7,))):
    table = torch.randint(-4, 5, (batch, width), generator=generator).to(device)
    own = torch.randint(width, (batch,), generator=generator).to(device)
    trials[f"{batch} rows, {width} classes and many ties"] = (table.float(), own, ks, "")
    exact = torch.randn(batch, width, generator=generator).to(device)
    trials[f"{batch} rows, {width} classes"] = (exact, own, ks, "")
trials["half precision"] = (exact.half().flip(0), own, (1, 2), "")
trials["transposed scores"] = (exact.t().contiguous().t(), own, (1,), "")
with every_case() as case:
    for name, (table, own, ks, because) in trials.items():
        with case(name):
            check_case(table, own, ks, because)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Nothing has to be sorted. The rank of a label is a count: how many scores of its row are at least as
# large as its own?
# </details>
# <details><summary>Hint 2</summary>
#
# The label's score as a column (batch, 1), compared with (batch, classes): one broadcast.
# </details>
# <details><summary>Hint 3</summary>
#
# With the rank in hand, every `k` is one comparison and one mean.
# </details>

# %% [markdown]
# ### Several to one place
#
# Now add up one number for each photo, by true label. Two photos go to one place: label 2 comes twice.
# **Predict** the first line.

# %% topics=["scatter-gather"]
top = torch.tensor([1.0, 2.0, 3.0, 4.0])  # one number for each photo
total = torch.zeros(3)
total[labels] += top  # labels 0, 1, 2, 2
print("+=:        ", total)
print("index_add_:", torch.zeros(3).index_add_(0, labels, top))

# %% jupyter={"source_hidden": true}
figure, panels = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
ends = {"total[labels] += top": (1.0, 2.0, 4.0), "index_add_": (1.0, 2.0, 7.0)}
for panel, (title, final) in zip(panels, ends.items(), strict=True):
    for row, (place, value) in enumerate(zip(labels.tolist(), top.tolist(), strict=True)):
        lost = title != "index_add_" and row == 2
        line = {"color": "#b04500" if lost else "#0072b2", "ls": ":" if lost else "-", "lw": 2}
        panel.annotate(
            "", (2.95, place + 0.5), (1, row + 0.5), arrowprops={"arrowstyle": "->", **line}
        )
        panel.text(0.5, row + 0.5, f"{value:g}", ha="center", va="center", color="#1a1a1a")
        panel.add_patch(plt.Rectangle((0, row), 1, 0.94, facecolor="#bfe0f5", edgecolor="#555555"))
    for place, value in enumerate(final):
        panel.add_patch(
            plt.Rectangle((3, place), 1, 0.94, facecolor="#fbdcb0", edgecolor="#555555")
        )
        panel.text(3.5, place + 0.5, f"{value:g}", ha="center", va="center", color="#1a1a1a")
    panel.set(xlim=(-0.1, 4.1), ylim=(4.1, -0.1), title=title)
    panel.set_axis_off()
alt = (
    "Four numbers, two of which go to one place. With += one of the two is lost, here the 3; with "
)
show(figure, alt + "index_add_ they are added to 7.")

# %% [markdown]
# The 3 of the third photo is lost: both photos of label 2 read the old 0, and one of them overwrites the
# other. **Which one is not defined.** On one thread it is the last; here is a write of 0, 1, 2, … to one
# and the same place, with more threads:

# %% tags=["nbval-ignore-output"]
before, many = torch.get_num_threads(), 1_000_000
for threads in (1, 4):
    torch.set_num_threads(threads)
    place = torch.zeros(1)
    place[torch.zeros(many, dtype=torch.int64)] = torch.arange(float(many))
    print(f"threads: {threads}, what stays: {place.item():.0f}")
torch.set_num_threads(before)

# %% [markdown]
# `index_add_` *adds* each in turn. It takes whole rows along one dimension; `scatter_add_` takes an index
# for each element, and `scatter_reduce_` can also take the largest, the smallest or the mean. Mind that it
# counts what was there before as one of the values, unless you say `include_self=False`. **Predict** the two
# lines of smallest values:

# %% topics=["scatter-gather"]
zeros = torch.zeros(3)
print("scatter_add:", zeros.scatter_add(0, labels, top))
print("smallest, with the zeros:   ", zeros.scatter_reduce(0, labels, top, "amin"))
own = zeros.scatter_reduce(0, labels, top, "amin", include_self=False)
print("smallest, without the zeros:", own)

# %% [markdown]
# **In practice** this is how embeddings collect their gradients and how a confusion matrix is counted. On
# a GPU the order of additions is not fixed, so the last digits may vary from run to run.
#
# ### Exercise 1.10 — Sum by segment ★ · 6 min · 3 points · core
#
# `values` has shape (rows, ...), any number of further dimensions; `segments` (int64, (rows,)) says to
# which of `count` segments each row belongs, in any order. Return the sums of the rows of each segment:
# shape (count, ...), dtype and device of `values`.
#
# - Segments without rows are 0.
# - Values may be infinite, and spoil no segment but their own.
# - A gradient flows back to `values`.
# - No loop, and nothing is taken out of the tensors into Python or NumPy.
#
# Example: values `[[1, 2], [3, 4], [5, 6]]` with segments `[2, 0, 2]` and `count = 4` give
# `[[3, 4], [0, 0], [6, 8], [0, 0]]`.


# %% nbgrader={"grade_id": "try-segment-sum", "locked": true} jupyter={"source_hidden": true}
from course_utils import check_no_loop, runs_with_the_answer
from course_utils.chapters.tensors import taken_out


@runs_with_the_answer
def try_segment_sum(*args):
    """What your function takes out of its tensors, by name."""
    return taken_out(segment_sum, *args)


# %% nbgrader={"grade_id": "try-segment-gradient", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.tensors import check_gradient_by, gradients_of, segments_to_sum


@runs_with_the_answer
def try_segment_gradient(values, segments):
    """The gradient by values."""
    return gradients_of(segment_sum, values, segments, 4)


# %% nbgrader={"grade_id": "segment-sum", "solution": true}
def segment_sum(values: torch.Tensor, segments: torch.Tensor, count: int) -> torch.Tensor:
    """Sums of rows by segment: (rows, ...) and int64 (rows,) -> (count, ...)."""
    ### BEGIN SOLUTION
    return values.new_zeros(count, *values.shape[1:]).index_add_(0, segments, values)
    ### END SOLUTION


# %% nbgrader={"grade_id": "segment-sum-check", "grade": true, "points": 3}
def check_case(values, segments, count):
    expected = values.new_zeros(count, *values.shape[1:])
    for row, segment in zip(values, segments.tolist(), strict=True):
        expected[segment] += row
    with forbid_changes(values, segments), count_operators() as counts:
        result = segment_sum(values, segments, count)
    check_close(result, expected, "the result")
    return sum(counts.values())


values = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device=device)
segments = torch.tensor([2, 0, 2], device=device)
with every_case() as case:
    for name, (table, ids, count) in segments_to_sum().items():
        with case(name):
            check_case(table, ids, count)
    for dtype in (torch.float64, torch.int64, torch.int32):
        with case(f"values in {dtype}, of shape (3, 1, 2)"):
            check_case(values[:, None].to(dtype), segments, 4)
    with case("in other states"):
        check_states(segment_sum, values, segments, 4, what="segment_sum(values, segments, 4)")
    with case("the gradient"):
        gradient = try_segment_gradient(values, segments)
        right = lambda x: torch.stack([x[1], x[1] * 0, x[0] + x[2], x[1] * 0])
        check_gradient_by(gradient, right, values, "values")
    with case("no loop"):
        rows, ids = torch.ones(50, 2, device=device), torch.arange(50, device=device) % 20
        few, many = check_case(values, segments, 4), check_case(rows, ids, 40)
        check_no_loop(few, many, try_segment_sum(values, segments, 4))
### BEGIN HIDDEN TESTS
generator, tables = torch.Generator().manual_seed(8), {}
shapes = {(0,): 3, (7,): 1, (9, 2): 20, (6, 2, 3): 4, (5, 0): 2, (4, 1, 1): 4}
for shape, count in shapes.items():
    for dtype in (torch.float64, torch.int64, torch.int32):
        table = torch.randint(-9, 10, shape, generator=generator).to(device, dtype)
        ids = torch.randint(count, shape[:1], generator=generator).to(device)
        tables[f"values of shape {shape} and {dtype}"] = (table, ids, count)
wide = torch.randn(6, 8, generator=generator, dtype=torch.float64).to(device)
ids = torch.tensor([1, 1, 0, 3, 1, 0], device=device)
tables["a slice"] = (wide[:, ::2], ids, 4)
tables["an expanded row"] = (wide[0, :5].expand(6, 5), ids, 4)
tables["a transposed table"] = (wide[:, :6].t(), ids, 5)
with every_case() as case:
    for name, (table, ids, count) in tables.items():
        with case(name):
            check_case(table, ids, count)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `result[segments] += values` loses rows. Why, is said above.
# </details>
# <details><summary>Hint 2</summary>
#
# Zeros like the values (`new_zeros`), then add whole rows to the rows named.
# </details>

# %% [markdown]
# ## 11. Joining and cutting
#
# Photos come one at a time, networks take batches. There are two ways to put tensors together. **`stack`**
# makes a new dimension, **`cat`** makes an old one longer. **Predict** the shapes:

# %% topics=["cat-vs-stack"]
a, b = torch.zeros(2, 3), torch.ones(2, 3)
print("cat  ", tuple(torch.cat([a, b]).shape), tuple(torch.cat([a, b], dim=1).shape))
print("stack", *(tuple(torch.stack([a, b], dim=d).shape) for d in (0, 1, 2)))

# %%
figure, panels = plt.subplots(1, 3, figsize=(9, 2.9), width_ratios=(3.2, 6.2, 4))
joined = {
    "cat, dim=0: (4, 3)": [(0, 0, "#bfe0f5"), (0, 2, "#fbdcb0")],
    "cat, dim=1: (2, 6)": [(0, 0, "#bfe0f5"), (3, 0, "#fbdcb0")],
    "stack, dim=0: (2, 2, 3)": [(0.7, 0, "#bfe0f5"), (0, 0.7, "#fbdcb0")],
}
for panel, width, (title, tables) in zip(panels, (3.2, 6.2, 4), joined.items(), strict=True):
    for left, high, tint in tables:
        for i, j in np.ndindex(2, 3):
            box = plt.Rectangle((left + j, high + i), 0.96, 0.96, fc=tint, ec="#555555")
            panel.add_patch(box)
    panel.set(xlim=(-0.1, width - 0.1), ylim=(4.1, -0.1), aspect="equal", anchor="N")
    panel.set_title(title, fontsize=10)
    panel.set_axis_off()
show(figure, "Two 2 × 3 tables: one below the other, side by side, and one behind the other.")

# %% [markdown]
# In the third picture the tables lie behind each other: the new dimension is depth. `stack` needs
# equal shapes, `cat` shapes that are equal except in that one dimension. Both copy everything. In a loop,
# collect in a Python list and join once at the end.
#
# **Cutting** copies nothing: the pieces are views. `split` takes a size or a list of sizes, `chunk` a
# number of pieces, `unbind` removes the dimension. **Predict** how many pieces the last line has.

# %% topics=["chunk-split"]
x = torch.arange(5)
print([p.tolist() for p in x.split(2)], [p.tolist() for p in x.split([1, 4])])
print([p.tolist() for p in x.chunk(2)], len(torch.zeros(4, 3).unbind(0)))
print([p.tolist() for p in x.chunk(4)])

# %% [markdown]
# Three, though four were asked for. `chunk` computes one size, 5 / 4 rounded up, and cuts pieces of
# that size until nothing is left. With one piece for each of four workers, one waits for ever.
# `tensor_split(4)` gives exactly four, whose sizes differ by at most 1.

# %% [markdown]
# ### Ragged batches
#
# Sentences have different lengths and tensors do not. There are two ways out. **Padded**: a table, filled
# up with something. **Packed**: all real entries in one row, and the lengths beside it. A mask from the
# lengths (section 8) turns the first into the second, and `masked_scatter` goes back.

# %% topics=["boolean-mask-indexing", "broadcasting"]
padded = torch.tensor([[5, 0, 0], [7, 8, 9], [4, 6, 0]])  # (sentence, word), padded with 0
packed = padded[valid]
print(packed.tolist(), lengths.tolist())
print(torch.zeros_like(padded).masked_scatter(valid, packed).tolist())

# %% [markdown]
# Some recurrent networks want the longest sentence first. So sort, work, and undo the order. `order` says
# where each sentence *came from*. The way back needs where it *went to*: the inverse permutation.

# %% topics=["topk-sort"]
order = lengths.argsort(descending=True)
print("order  ", order.tolist(), "  sorted lengths", lengths[order].tolist())
print("again  ", lengths[order][order].tolist(), "  applying the order twice does not undo it")

# %% jupyter={"source_hidden": true}
figure, axes = plt.subplots(figsize=(8, 3.2))
columns = {"rows": [0, 1, 2], "sorted": order.tolist(), "again": [0, 1, 2]}
tints = ("#bfe0f5", "#fbdcb0", "#c2e8d9")
for place, (name, rows_here) in enumerate(columns.items()):
    axes.text(4 * place + 1, -0.25, name, ha="center")
    for height, row in enumerate(rows_here):
        box = plt.Rectangle((4 * place, height), 2, 0.9, facecolor=tints[row], edgecolor="#555555")
        axes.add_patch(box)
        words = f"row {row}: {lengths[row]}"
        axes.text(4 * place + 1, height + 0.47, words, ha="center", va="center", color="#1a1a1a")
        if place < 2:
            end = [*columns.values()][place + 1].index(row)
            arrow = {"arrowstyle": "->", "color": "#b04500"}
            axes.annotate(
                "", (4 * place + 4, end + 0.45), (4 * place + 2, height + 0.45), arrowprops=arrow
            )
axes.text(3, 3.3, "place i takes order[i]", ha="center")
axes.text(7, 3.3, "place i goes back to order[i]", ha="center")
axes.set(xlim=(-0.1, 10.1), ylim=(3.5, -0.5))
axes.set_axis_off()
show(
    figure,
    "Rows 0, 1, 2 of lengths 1, 3, 2; sorted to rows 1, 2, 0; and back by the reversed arrows.",
)

# %% [markdown]
# The way back has the same arrows, turned around.
#
# ### Exercise 1.11 — Sort by length, and back ★★★ · 25 min · 4 points
#
# Pack a padded batch, the longest row first, and undo that order.
#
# `sort_by_length(padded, lengths)` takes a table (batch, time) of any dtype and lengths (batch,), int64,
# from 0 to time. It returns a pair:
#
# - `packed`, of one dimension: the real entries of all rows, the longest row first;
# - `order`, int64 (batch,): which row comes first, second, … Rows of **equal length keep their order**.
#
# Padding may have any value, and real entries may be equal to it: only the lengths say what is real.
#
# `unsort(rows, order)` takes rows (batch, ...) in the sorted order and returns them in the original one.
#
# Through both a gradient flows back. Write both without a loop, and without taking the numbers out of the
# tensors into Python or NumPy.
#
# Example: for the sentences above `packed` is `[7, 8, 9, 4, 6, 5]` and `order` is `[1, 2, 0]`; and
# `unsort(torch.tensor([3, 2, 1]), order)` is `[1, 3, 2]`, the lengths.


# %% nbgrader={"grade_id": "try-sort-by-length", "locked": true} jupyter={"source_hidden": true}
from course_utils import check_no_loop, runs_with_the_answer
from course_utils.chapters.tensors import taken_out


@runs_with_the_answer
def try_sort_by_length(*args):
    """What your function takes out of its tensors, by name."""
    return taken_out(sort_by_length, *args)


@runs_with_the_answer
def try_unsort(*args):
    """The same of unsort."""
    return taken_out(unsort, *args)


def check_unsort(answer, original, order):
    rows = original[order]
    with forbid_changes(rows, order), count_operators() as counts:
        result = answer(rows, order)
    if isinstance(result, torch.Tensor) and torch.equal(result, rows[order]):
        assert torch.equal(result, original), "the order was applied twice: invert it"
    check_close(result, original, "unsort(rows, order)")
    return sum(counts.values())


# %% nbgrader={"grade_id": "try-sort-gradient", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.tensors import check_gradient_by, gradients_of
from course_utils.chapters.tensors import rows_to_sort, words_of_packed


def packed_of(padded, lengths):
    return sort_by_length(padded, lengths)[0]


@runs_with_the_answer
def try_sort_gradient(padded, lengths):
    """The gradient by padded of the packed entries."""
    return gradients_of(packed_of, padded, lengths)


@runs_with_the_answer
def try_unsort_gradient(rows, order):
    """The gradient by rows of what unsort gives."""
    return gradients_of(unsort, rows, order)


# %% nbgrader={"grade_id": "sort-by-length", "solution": true}
def sort_by_length(
    padded: torch.Tensor, lengths: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Real entries of (batch, time), the longest row first, and the order of rows (batch,)."""
    ### BEGIN SOLUTION
    order = lengths.argsort(descending=True, stable=True)
    places = torch.arange(padded.shape[1], device=padded.device)
    return padded[order][places < lengths[order][:, None]], order
    ### END SOLUTION


def unsort(rows: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """Sorted rows (batch, ...) in their original order."""
    ### BEGIN SOLUTION
    return rows[order.argsort()]
    ### END SOLUTION


# %% nbgrader={"grade_id": "sort-by-length-check", "grade": true, "points": 2}
def check_case(padded, lengths, because=""):
    sizes = lengths.tolist()
    rows = sorted(range(len(sizes)), key=lambda row: -sizes[row])
    real = [padded[row, : sizes[row]] for row in rows]
    with forbid_changes(padded, lengths), count_operators() as counts:
        pair = sort_by_length(padded, lengths)
    words = "is there an answer yet, and does it return a value?"
    assert pair is not None, f"the result is None: {words}"
    both = isinstance(pair, (tuple, list)) and len(pair) == 2
    assert both, f"return the pair (packed, order), not {pair!r}"
    expected = torch.tensor(rows, dtype=torch.int64, device=padded.device)
    reason = f"{because}: " if because else ""
    check_close(pair[1], expected, f"{reason}the order")
    words = words_of_packed(pair[0], padded, lengths)
    assert not words, f"packed: {words}"
    check_close(pair[0], torch.cat([padded.flatten()[:0], *real]), f"{reason}packed")
    return sum(counts.values())


table = torch.tensor([[5, 0, 0], [7, 8, 9], [4, 6, 0]], device=device)
sizes = torch.tensor([1, 3, 2], device=device)
ties, forty = torch.tensor([2, 0, 2, 0] * 10, device=device), torch.arange(120, device=device)
with every_case() as case:
    for name, (rows, long, because) in rows_to_sort().items():
        with case(name):
            check_case(rows, long, because)
    with case("in other states, and the gradient"):
        check_states(sort_by_length, table, sizes, what="sort_by_length(padded, lengths)")
        padded = table.float()
        right = lambda x: torch.stack([*x[1], *x[2, :2], x[0, 0]])
        check_gradient_by(try_sort_gradient(padded, sizes), right, padded, "padded")
    with case("no loop"):
        few = check_case(table, sizes)
        many = check_case(forty.view(40, 3), ties.sort(descending=True).values)
        check_no_loop(few, many, try_sort_by_length(table, sizes))
### BEGIN HIDDEN TESTS
generator, tables = torch.Generator().manual_seed(9), {}
for batch, time in ((1, 1), (6, 4), (9, 1), (50, 7), (0, 3)):
    rows = torch.randn(batch, time, generator=generator).to(device)
    long = torch.randint(time + 1, (batch,), generator=generator).to(device)
    tables[f"{batch} rows of at most {time}"] = (rows, long, "")
    tables[f"{batch} rows of at most {time}, float64"] = (rows.double().flip(1), long, "")
columns = torch.randn(4, 6, generator=generator).to(device).t()
long = torch.tensor([0, 4, 2, 2, 1, 4], device=device)
tables |= {"a transposed table": (columns, long, ""), "lengths of 0": (columns, long * 0, "")}
with every_case() as case:
    for name, (rows, long, because) in tables.items():
        with case(name):
            check_case(rows, long, because)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "sort-by-length-check-2", "grade": true, "points": 2}
three, order = torch.tensor([1, 3, 2], device=device), torch.tensor([1, 2, 0], device=device)
ids, cases = torch.arange(40, device=device), {"the example": (three, order)}
cases["torch.float64, beyond float32"] = (three.double() * 1e200, order)
cases["rows of shape (3, 2, 2)"] = (torch.arange(12, device=device).view(3, 2, 2), order)
cases["whole numbers beyond float64's"] = (three + 2**53, order)
cases["nan and inf"] = (three.new_tensor([1, 0, 0]) / (three - 3), order)
cases["rows of shape (3, 2, 1, 2)"] = (torch.arange(12, device=device).view(3, 2, 1, 2), order)
kinds = torch.bool, torch.bfloat16, torch.float16, torch.int32, torch.uint8, torch.complex64
cases |= {str(kind): (three.to(kind), order) for kind in kinds}
cases |= {"one row": (three[:1], order[2:]), "no row": (three[:0], order[:0])}
cases |= {"rows of shape (3, 0)": (three.new_zeros(3, 0), order), "a slice": (ids[2:9:3], order)}
cases["an expanded row"] = (three.expand(3, 3), order)
cases["2500 rows"] = (torch.arange(2500, device=device), torch.arange(2500, device=device).roll(7))
with every_case() as case:
    for name, (original, places) in cases.items():
        with case(name):
            few = check_unsort(unsort, original, places)
    with case("in other states, and the gradient"):
        check_states(unsort, three, order, what="unsort(rows, order)")
        check_states(unsort, three[:, None] / 2, order, what="unsort(rows, order) of floats")
        right = lambda x: torch.stack([x[2], x[0], x[1]])
        check_gradient_by(try_unsort_gradient(three / 2, order), right, three / 2, "rows")
    with case("a table of 40 rows, no loop"):
        few, many = (
            check_unsort(unsort, three[:, None], order),
            check_unsort(unsort, ids[:, None], ids.roll(7)),
        )
        check_no_loop(few, many, try_unsort(three, order))
### BEGIN HIDDEN TESTS
generator, cases = torch.Generator().manual_seed(10), {}
for shape in ((1,), (0,), (12,), (7, 3), (5, 2, 2), (6, 0)):
    places = torch.randperm(shape[0], generator=generator).to(device)
    for dtype in (torch.float32, torch.int64, torch.bool):
        original = torch.randint(2, shape, generator=generator).to(device, dtype)
        cases[f"rows of shape {shape} and {dtype}"] = (original, places)
with every_case() as case:
    for name, (original, places) in cases.items():
        with case(name):
            check_unsort(unsort, original, places)
### END HIDDEN TESTS

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `argsort` has the arguments `descending` and `stable`. Apply the order to the table and to the lengths, then
# mask.
# </details>
# <details><summary>Hint 2</summary>
#
# A mask picks row by row, from left to right. That is the order that packing wants.
# </details>
# <details><summary>Hint 3</summary>
#
# Picking, `rows[...]`, reads from places; assigning, `result[...] = ...`, writes to places. For one of the
# two `order` itself is right. For the other you need the permutation that would sort `order`.
# </details>

# %% [markdown]
# ## 12. Chance: shuffle, and draw without putting back
#
# An epoch goes through the data in a new order. **`randperm`** draws the order, and *one* order for
# photos and labels keeps the pairs together.

# %% topics=["randperm-shuffle"]
generator = torch.Generator().manual_seed(0)
order = torch.randperm(4, generator=generator)
shuffled_scores, shuffled_labels = scores[order], labels[order]
still = (shuffled_scores.argmax(1) == shuffled_labels).float().mean().item()
print(sorted(order.tolist()), "accuracy of the shuffled batch:", still)

# %% [markdown]
# Now draw *some*: for each user two of the films they have not seen. Each row has a mask of what may be
# drawn and wants `k` different ones. `randint` may draw the same one twice, and a `randperm` for each row is
# a loop. The trick: give every entry a random key. The `k` largest keys of a row are a fair draw, and what
# may not be drawn gets a key that never wins.
#
# ### Exercise 1.12 — Draw without replacement ★★★ · 25 min · 3 points
#
# `allowed` is a boolean table (rows, columns) with at least one row. For each row draw `k >= 1` *different*
# columns among the allowed ones, all choices equally likely, each row for itself. Return their numbers,
# int64 of shape (rows, k), in any order within a row, on the device of `allowed`.
#
# - If a row has fewer than `k` allowed columns, raise a `ValueError`.
# - All chance comes from `generator`, a generator of the CPU: the same state gives the same draw, on every
#   device. So draw on the CPU, then move.
# - No loop, and no row is taken out into Python or NumPy.
#
# Example: with `allowed = [[True, False, True], [True, True, True]]` and `k = 2` the first row of the result
# is 0 and 2, in either order; the second row is two of 0, 1, 2.


# %% nbgrader={"grade_id": "try-sample-without-replacement", "locked": true} jupyter={"source_hidden": true}
from course_utils import check_no_loop, runs_with_the_answer, watched


@runs_with_the_answer
def try_sample_without_replacement(*args):
    """What your function takes out of its tensors, by name."""
    called = watched(sample_without_replacement, *args)[1]
    return sorted({"tolist", "numpy", "__array__", "unbind"} & set(called))


def check_fair(drawn):
    form = torch.zeros(3000, 2, dtype=torch.int64, device=device)
    check_close(drawn * 0 if isinstance(drawn, torch.Tensor) else drawn, form, "the draw")
    pairs = drawn.sort(dim=1).values.tolist()
    kinds = torch.combinations(torch.tensor([0, 1, 3, 4])).tolist()
    unfair = [f"{p} in {pairs.count(p)}" for p in kinds if not 370 < pairs.count(p) < 630]
    words = f"each pair of columns is drawn in about 500 of 3000 rows, but {', '.join(unfair)}"
    assert not unfair, f"{words}: all choices are equally likely"


def check_middle(drawn):
    form = torch.zeros(2000, 1, dtype=torch.int64, device=device)
    check_close(drawn * 0 if isinstance(drawn, torch.Tensor) else drawn, form, "the draw")
    mean = drawn.double().mean().item()
    words = f"the mean of the columns drawn is {mean:.0f}, not about 500: some are drawn more often"
    assert 470 < mean < 530, f"{words}; which one wins where two keys are equal?"


def check_few(answer, allowed, k):
    call, generator = f"sample_without_replacement, k = {k}", torch.Generator()
    check_raises(ValueError, lambda: answer(allowed, k, generator), call)


# %% nbgrader={"grade_id": "tables-to-draw-from", "locked": true} jupyter={"source_hidden": true}
from course_utils.chapters.tensors import tables_to_draw_from


# %% nbgrader={"grade_id": "sample-without-replacement", "solution": true}
def sample_without_replacement(
    allowed: torch.Tensor, k: int, generator: torch.Generator
) -> torch.Tensor:
    """``k`` different allowed columns for each row: bool (rows, columns) -> int64 (rows, k)."""
    ### BEGIN SOLUTION
    if (allowed.sum(dim=1) < k).any():
        raise ValueError(f"a row has fewer than {k} allowed columns")
    keys = torch.rand(allowed.shape, generator=generator).to(allowed.device)
    return keys.masked_fill(~allowed, -1.0).topk(k, dim=1).indices
    ### END SOLUTION


# %% nbgrader={"grade_id": "sample-without-replacement-check", "grade": true, "points": 2}
def check_draw(allowed, k, seed):
    generator = torch.Generator().manual_seed(seed)
    with forbid_changes(allowed), count_operators() as counts:
        drawn = sample_without_replacement(allowed, k, generator)
    form = torch.zeros(len(allowed), k, dtype=torch.int64, device=allowed.device)
    check_close(drawn * 0 if isinstance(drawn, torch.Tensor) else drawn, form, "the draw")
    column = allowed.shape[1]
    known = bool(((drawn >= 0) & (drawn < column)).all())
    assert known and bool(allowed.gather(1, drawn).all()), "it drew what is not allowed"
    drawn = drawn.sort(dim=1).values
    assert not bool((drawn.diff(dim=1) == 0).any()), "it drew a column twice in one row"
    return drawn, sum(counts.values())


example = torch.tensor([[True, False, True], [True, True, True]], device=device)
wide = torch.ones(60, 9, dtype=torch.bool, device=device)


def two_draws(allowed, k, generator):
    """The rows that two calls with one generator draw."""
    draws = [sample_without_replacement(allowed, k, generator) for call in range(2)]
    return [drawn.sort(dim=1).values for drawn in draws]


with every_case() as case:
    for name, (allowed, k, seed) in tables_to_draw_from().items():
        with case(name):
            check_draw(allowed, k, seed)
    with case("each row for itself"):
        first, many = check_draw(wide, 3, 0)
        assert bool((first != first[0]).any()), "all rows drew the same columns"
        rows = check_draw(wide.repeat(1, 5), 10, 1)[0]
        twins = len(rows) - len(rows.unique(dim=0))
        assert not twins, f"{twins} of 60 rows drew the very ten columns that another row drew"
    with case("no loop"):
        (_, few), (_, many) = check_draw(example, 2, 0), check_draw(wide, 3, 0)
        taken = try_sample_without_replacement(example, 2, torch.Generator().manual_seed(0))
        check_no_loop(few, many, taken)
    with case("the generator"):
        again, other = (check_draw(wide, 3, seed)[0] for seed in (0, 1))
        first, second = two_draws(wide, 3, torch.Generator().manual_seed(0))
        assert torch.equal(first, again), "the same state gave another draw: draw from this one"
        assert not torch.equal(first, other), "another state gave the same draw: it is not used"
        assert not torch.equal(first, second), "two draws from it are equal: it did not move on"
### BEGIN HIDDEN TESTS
numbers, tables = torch.Generator().manual_seed(11), {}
for rows, columns, k in ((1, 1, 1), (8, 5, 1), (30, 12, 4), (5, 3, 3), (40, 6, 2)):
    allowed = torch.rand(rows, columns, generator=numbers) < 0.5
    allowed[:, :k] = True
    tables[f"{rows} rows of {columns} columns"] = (allowed.to(device), k, rows)
tables["a transposed slice"] = (wide[:, ::2].t(), 4, 5)
tables["an expanded row, all of it drawn"] = (wide[0].expand(4, 9), 9, 6)
with every_case() as case:
    for name, (allowed, k, seed) in tables.items():
        with case(name):
            check_draw(allowed, k, seed)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "sample-without-replacement-check-2", "grade": true, "points": 1}
row = torch.tensor([True, True, False, True, True], device=device)
short = torch.tensor([[True, True], [False, True]], device=device)
with every_case() as case:
    with case("4 allowed columns, 3000 rows"):
        generator = torch.Generator().manual_seed(2)
        check_fair(sample_without_replacement(row.expand(3000, 5), 2, generator))
    with case("one of 1000 columns, 2000 rows"):
        check_middle(sample_without_replacement(row[:1].expand(2000, 1000), 1, generator))
    with case("a row that has one allowed column"):
        check_few(sample_without_replacement, short, 2)
    with case("two columns, and k = 3"):
        check_few(sample_without_replacement, short | True, 3)
    with case("one allowed column beside three"):
        uneven = torch.tensor([[True, False, False], [True, True, True]], device=device)
        check_few(sample_without_replacement, uneven, 2)
    with case("no column at all"):
        check_few(sample_without_replacement, short[:, :0], 1)
### BEGIN HIDDEN TESTS
refusals = {"one allowed column in each row": (torch.eye(3, device=device) > 0, 2)}
with every_case() as case:
    for name, (allowed, k) in refusals.items():
        with case(name):
            check_few(sample_without_replacement, allowed, k)
### END HIDDEN TESTS


# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `torch.rand(..., generator=generator)` gives every entry a key from 0 to 1. Which key never wins?
# </details>
# <details><summary>Hint 2</summary>
#
# `masked_fill` replaces keys where a mask is true. The mask you need is "not allowed".
# </details>
# <details><summary>Hint 3</summary>
#
# `topk` returns values and indices. A mask can be summed: it counts.
# </details>
#
# `torch.multinomial` draws like that as well, and takes weights: how likely each column is.

# %% [markdown]
# ## A training step's bookkeeping · core
#
# Here is the scores' last stop: the loss, and the count of what was right. Pick, compare, count by
# class.

# %% topics=["vectorise-not-loop"]
loss = (scores.logsumexp(dim=1) - scores.gather(1, labels[:, None])[:, 0]).mean()
print(torch.allclose(loss, F.cross_entropy(scores, labels)))
right = (scores.argmax(dim=1) == labels).long()  # (4,)
found = torch.zeros(3, dtype=torch.int64).index_add_(0, labels, right)
for c, name in enumerate(classes):
    print(f"{name:<6}{found[c]} of {labels.bincount(minlength=3)[c]}")

# %% [markdown]
# The first line is `cross_entropy` itself: the logarithm of the sum of exponentials, minus the score
# of the label. One tree was taken for the sun.

# %% [markdown]
# ## Heard elsewhere
#
# Claims that you may meet, by subject, each decided by the cell below it.
#
# **Kinds of tensors**
#
# - *"PyTorch has nine CPU tensor types and nine GPU tensor types"*, such as `FloatTensor` and
#   `cuda.LongTensor`. Today dtype and device are two things, and there are far more dtypes. Half precision
#   computes on the CPU as well; `uint16` is for storing.
# - *"`torch.Tensor` is the same as `torch.FloatTensor`."* It is the class of every tensor. Only its
#   constructor makes floats, and of the default dtype.
# - *"`x.type(torch.DoubleTensor)` only converts the dtype."* The old names hold a device too: a GPU tensor
#   lands on the CPU. `x.to(torch.float64)` stays.
# - *"`byte()` gives the short type."* `byte()` gives `uint8`, `short()` gives `int16`.

# %% topics=["dtype-inventory", "type-inspection", "dtype-conversion-methods"] errata=["nine-tensor-types", "tensor-equals-floattensor", "type-class-moves-device", "byte-is-short"] tags=["shows-false"]
dtypes = {value for value in vars(torch).values() if isinstance(value, torch.dtype)}
print("more than 30 dtypes:", len(dtypes) > 30, "| an 8-bit float:", torch.float8_e4m3fn in dtypes)
print("half @ half:", (torch.ones(2, 2).half() @ torch.ones(2, 2).half()).dtype)
try:
    torch.ones(2, dtype=torch.uint16) + torch.ones(2, dtype=torch.uint16)
except NotImplementedError as error:
    print("uint16 + uint16:", error)
whole = torch.tensor([1])
print("a Tensor:", isinstance(whole, torch.Tensor))
print("a FloatTensor:", isinstance(whole, torch.FloatTensor))
print("DoubleTensor:", whole.to(device).type(torch.DoubleTensor).device, "wherever it was")
print("byte:", whole.byte().dtype, "| short:", whole.short().dtype)

# %% [markdown]
# **Defaults.** *"Set the default with `torch.set_default_tensor_type(torch.FloatTensor)`, because
# FloatTensor is faster."* float32 has long been the default, and this function is deprecated. Use
# `set_default_dtype` for the kind, and put it back: it holds for the whole process.

# %% tags=["shows-deprecated"] topics=["default-dtype"] errata=["set-default-tensor-type"]
import warnings

torch.set_warn_always(True)  # else it would warn only once in each process
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.set_default_tensor_type(torch.FloatTensor)
torch.set_warn_always(False)
print(str(caught[0].message).split(",")[0])
torch.set_default_dtype(torch.float64)
print(torch.tensor([1.0]).dtype)
torch.set_default_dtype(torch.float32)

# %% [markdown]
# **Making**
#
# - *"The shape of a scalar tensor is `torch.Size([4])`."* A tensor of rank 0 has the empty shape, and one
#   element.
# - *"`torch.uniform(2, 3)` draws from 2 to 3, and `torch.eye((2, 3))` takes a shape."* `uniform_` fills an
#   existing tensor; `eye` takes two numbers.
# - *"`torch.normal(mean, std)` takes tensors of different shapes as long as they hold equally many
#   elements."* The two must broadcast: a row of three fits a 2 × 3 table, six in a row do not.

# %% topics=["tensor-ranks", "creation-random"] errata=["scalar-shape-listing", "creation-table-apis", "normal-shapes-free"]
print("rank 0:", torch.tensor(True).shape, torch.tensor(True).numel())
drawn = torch.empty(1000).uniform_(2, 3)
print("uniform_ from 2 to 3:", bool((drawn >= 2).all() and (drawn <= 3).all()))
means = torch.zeros(2, 3)
print("normal:", tuple(torch.normal(means, torch.ones(3)).shape))
tries = (
    lambda: torch.uniform,
    lambda: torch.eye((2, 3)),
    lambda: torch.normal(means, torch.ones(6)),
)
for attempt in tries:
    try:
        attempt()
    except (AttributeError, TypeError, RuntimeError) as error:
        print("-", str(error).splitlines()[0])

# %% [markdown]
# **Methods and NumPy**
#
# - *"Only methods that end in an underscore have no function."* `view`, `expand` and `item` exist only as
#   methods. And `torch.relu_` is a function with an underscore.
# - *"Every CPU tensor except CharTensor (int8) converts to NumPy."* int8 converts. What does not are kinds
#   that NumPy lacks, such as `bfloat16`: convert those with `float()` first.
# - *"Copy outside the graph with `x.detach.clone()()`."* The parentheses have slipped. `detach` is a method,
#   so it is called first.

# %% topics=["method-vs-function", "numpy-roundtrip-dtypes", "copying-table"] errata=["underscore-rule", "chartensor-no-numpy", "detach-dot-clone"] tags=["shows-false"]
print({name: hasattr(torch, name) for name in ("exp", "view", "expand", "item", "relu_")})
print("int8:", torch.tensor([1], dtype=torch.int8).numpy().dtype)
for attempt in (
    lambda: torch.ones(1, dtype=torch.bfloat16).numpy(),
    lambda: weight.detach.clone()(),
):
    try:
        attempt()
    except (TypeError, AttributeError) as error:
        print("-", error)
kept = weight.detach().clone()
print("requires a gradient:", kept.requires_grad)
print("shares the memory:", kept.data_ptr() == weight.data_ptr())

# %% [markdown]
# **Images**
#
# - *"If `img.shape[-1] == 3`, do `img.permute(0, 3, 1, 2)`."* That is for a batch. A single image has three
#   dimensions, and a NumPy array no `permute`.
# - *"`torch.from_numpy(np.asarray(image)).permute(2, 0, 1) / 255` does what `to_tensor` does."* For a colour
#   image; a grey one has two dimensions. And `np.asarray` of a PIL image may not be written to, which a
#   tensor cannot know: `np.array` copies.

# %% topics=["channel-first", "pil-conversion"] errata=["channel-first-permute", "manual-pil-conversion"] tags=["shows-false"]
gray_image = Image.fromarray(photo.numpy()).convert("L")
for one, order in ((photo, (0, 3, 1, 2)), (torch.from_numpy(np.array(gray_image)), (2, 0, 1))):
    try:
        one.permute(order)
    except RuntimeError:
        print(f"{one.dim()} dimensions, and {len(order)} in the call")
print("a batch:", tuple(torch.stack([photo, mirrored]).movedim(-1, -3).shape))
print("a grey image by to_tensor:", tuple(to_tensor(gray_image).shape))
print("asarray may be written to:", np.asarray(gray_image).flags.writeable)

# %% [markdown]
# **Dimensions**
#
# - *"`a[:, 0:1]` selects columns 0 and 1."* It selects column 0 alone, and the dimension stays, with size 1.
# - *"`unsqueeze` changes the size of the given dimension to 1."* It inserts a new one.
# - *"`stack` turns k tensors of shape (m, n) into one of shape (k·m·n)."* It has three dimensions, (k, m, n).
#   `cat` gives (k·m, n).
# - *"Reductions, such as `sum` and `cumsum`, give smaller outputs than their inputs."* `cumsum` and `cumprod`
#   are scans: the shape stays.
# - *"`sort(0)` sorts by row and `sort(1)` by column."* `dim` is the dimension that you walk along: `sort(0)`
#   puts each *column* in order.
# - *"Name the dimensions, `torch.zeros(2, 3, names=("N", "C"))`, and reorder them by `align_to`."* Named
#   tensors never left the prototype stage, and have been removed. This course writes the shape into a
#   comment; in einops the names stand in the operation (chapter 03).

# %% topics=["basic-indexing", "squeeze-unsqueeze", "cat-vs-stack", "scan-ops", "topk-sort", "named-tensors"] errata=["slice-zero-colon-one", "unsqueeze-sets-size-one", "stack-shape-notation", "cumsum-is-reduction", "sort-dim-meaning", "named-tensors"]
a = torch.tensor([[3, 1, 0], [1, 2, 5]])
print("a[:, 0:1]", tuple(a[:, 0:1].shape), " a[:, 0]", tuple(a[:, 0].shape))
print("unsqueeze", tuple(a.unsqueeze(1).shape))
print("stack", tuple(torch.stack([a] * 4).shape), " cat", tuple(torch.cat([a] * 4).shape))
print("cumsum", tuple(a.cumsum(1).shape), " sum", tuple(a.sum(1).shape))
print("sort(0)", a.sort(0).values.tolist(), " sort(1)", a.sort(1).values.tolist())
try:
    torch.zeros(2, 3, names=("N", "C"))
except TypeError as error:
    print("names:", error)

# %% [markdown]
# **Indices.** *"Indices must be `int64`."* `int32` is accepted today by `gather` and
# plain indexing, but not as labels by `cross_entropy`.

# %% topics=["scatter-gather"] errata=["scatter-needs-int64"]
short = labels.to(torch.int32)
print(torch.equal(scores.gather(1, short[:, None]), picked), tuple(scores[short, short].shape))
try:
    F.cross_entropy(scores, short)
except RuntimeError as error:
    print(str(error).splitlines()[0])

# %% [markdown]
# ## What to take home
#
# | you want | you write | mind |
# | --- | --- | --- |
# | a tensor from data | `torch.tensor(data, dtype=...)` | `torch.Tensor(3)` is three elements, unset |
# | room to compute with bytes | `x.float()`, then clamp, then back | `uint8` wraps at 256 |
# | the same values, on their own | `x.detach().clone()` | `detach` alone shares |
# | channel first | `x.movedim(-1, -3)` | `reshape` makes noise |
# | one row against all | `x - mean[:, None, None]` | shapes that fit by accident |
# | a mask from lengths | `torch.arange(t) < lengths[:, None]` | padding times 0 may be `nan` |
# | another column in each row | `x.gather(1, index[:, None])` | `x[:, index]` picks every index from every row |
# | sums by label | `index_add_`, `scatter_add_` | `total[index] += x` loses what comes twice |
# | exactly n pieces | `x.split(sizes)`, `x.tensor_split(n)` | `chunk(n)` may give fewer |
#
# **Three mistakes to remember**
#
# 1. Computing in the dtype that the file had. Whole numbers wrap around without a word.
# 2. Letting (n, 1) meet (n,). The shapes fit, the loss is wrong. Assert equal shapes.
# 3. Adding with `total[index] += x` where the index repeats. Use `index_add_`.
#
# **Read more.** The PyTorch documentation: *Tensor Attributes* has the rules of type promotion,
# *Broadcasting semantics* the rule of section 8, *torch.Tensor.scatter_* the formulas. NumPy's user guide
# has *Indexing on ndarrays*, whose rules PyTorch follows; torchvision's documentation *Transforms v2*.
#
# Next: [Storage and strides](../02_storage_and_strides/02_storage_and_strides.ipynb), where you will see
# what a view is, and why a slice is one and a list of indices is not.
