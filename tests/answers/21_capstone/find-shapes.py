# %% [markdown]
# Rules:
#
# - "It returns a list of dicts, the surest shape first"
# - "(circle, square or triangle for labels 0, 1, 2)"
# - "(a float)"
# - "left, top, right, bottom in pixels of `image`"
# - "exactly the pixels that `shapefinder.folder.prepare` makes"
# - "as a batch of one"
# - "in the dtype and on the device of its first parameter"
# - "It runs in evaluation mode"
# - "without a graph"
# - "also after an error or Ctrl-C"
# - "each of its parts are in the mode in which they were"
# - "The image stays as it is"
# - "and so do the weights and their gradients"
# - "and the hooks of the network, also after an error"
#
# Admits:
#
# - "a PIL image of any size and mode": the model's pixels are not those of training
# - "in the dtype": found something else
# - "without a graph": gradients were off, and are on behind the call
# - "returns a list of dicts": where nothing is found the list is empty

# %% wrong="in training mode" breaks="It runs in evaluation mode" says=["ran in training mode"]
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
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    try:
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


# %% wrong="one mode for all parts" breaks="each of its parts are in the mode in which they were" says=["the mode of a part of the model has changed"]
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
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            output = model(prepare(image)[None].to(weight.device, weight.dtype))
    finally:
        model.train(modes[0][1])
    scale = torch.tensor([*image.size, *image.size])
    return [
        {
            "shape": SHAPES[int(row[1])],
            "confidence": row[0].item(),
            "box": (row[2:].cpu() * scale).tolist(),
        }
        for row in decode(output)[0]
    ]


# %% wrong="with a graph" breaks="without a graph" says=["ran with a graph"]
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
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        if True:
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


# %% wrong="height before width" breaks="left, top, right, bottom in pixels of `image`" says=["100 wide and 60 high"]
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
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            output = model(prepare(image)[None].to(weight.device, weight.dtype))
    finally:
        for module, training in modes:
            module.training = training
    scale = torch.tensor([*image.size[::-1], *image.size[::-1]])
    return [
        {
            "shape": SHAPES[int(row[1])],
            "confidence": row[0].item(),
            "box": (row[2:].cpu() * scale).tolist(),
        }
        for row in decode(output)[0]
    ]


# %% wrong="names from 1" breaks="(circle, square or triangle for labels 0, 1, 2)" says=["label 0 is a circle"]
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
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            output = model(prepare(image)[None].to(weight.device, weight.dtype))
    finally:
        for module, training in modes:
            module.training = training
    scale = torch.tensor([*image.size, *image.size])
    return [
        {
            "shape": SHAPES[int(row[1]) - 1],
            "confidence": row[0].item(),
            "box": (row[2:].cpu() * scale).tolist(),
        }
        for row in decode(output)[0]
    ]


# %% wrong="prepares by itself" breaks="exactly the pixels that `shapefinder.folder.prepare` makes" says=["are not those of training"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.grid import decode
from torchvision.transforms.functional import to_tensor


def find_shapes(model: nn.Module, image: Image.Image) -> list[dict]:
    """Find the shapes in one image of any size and mode.

    Returns:
        For each shape, the surest first: ``"shape"``, its name; ``"confidence"``, from 0 to 1;
        ``"box"``, a list of left, top, right, bottom in pixels of ``image``.
    """
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            output = model(
                ((to_tensor(image.convert("RGB").resize((64, 64))) - 0.4) / 0.25)[None].to(
                    weight.device, weight.dtype
                )
            )
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


# %% wrong="gradients stay off" says=["the gradient mode is not as it was"]
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
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        torch.set_grad_enabled(False)
        if True:
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


# %% wrong="tensors inside" breaks="(a float)" says=["confidence is a float"]
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
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            output = model(prepare(image)[None].to(weight.device, weight.dtype))
    finally:
        for module, training in modes:
            module.training = training
    scale = torch.tensor([*image.size, *image.size])
    return [
        {
            "shape": SHAPES[int(row[1])],
            "confidence": row[0],
            "box": (row[2:].cpu() * scale).tolist(),
        }
        for row in decode(output)[0]
    ]


# %% wrong="always float32" breaks="in the dtype and on the device of its first parameter" says=["and the first parameter is torch.float64"]
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
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            output = model(prepare(image)[None].to(weight.device))
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


# %% wrong="shrinks the image itself" breaks="The image stays as it is" says=["the image was changed"]
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
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    image.thumbnail((64, 64))
    try:
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


# %% right="with inference mode and a copy"
import copy

import torch
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    quiet = copy.copy(model)
    modes = {name: part.training for name, part in model.named_modules()}
    model.eval()
    parameter = next(iter(model.parameters()))
    try:
        with torch.inference_mode():
            x = prepare(image).unsqueeze(0).to(device=parameter.device, dtype=parameter.dtype)
            rows = decode(model(x))[0].tolist()
    finally:
        for name, part in model.named_modules():
            part.training = modes[name]
    wide, high = image.width, image.height
    answer = []
    for sure, label, left, top, right, bottom in rows:
        name = {0: "circle", 1: "square", 2: "triangle"}[round(label)]
        box = [left * wide, top * high, right * wide, bottom * high]
        answer.append({"box": box, "confidence": sure, "shape": name})
    del quiet
    return answer


# %% wrong="modes are put back where nothing fails" breaks="also after an error or Ctrl-C" says=["put the modes back in any case"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model: nn.Module, image: Image.Image) -> list[dict]:
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    if True:
        with torch.no_grad():
            output = model(prepare(image)[None].to(weight.device, weight.dtype))
    if True:
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


# %% wrong="gradients on behind it" says=["gradients were off, and are on behind the call"]
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
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        torch.set_grad_enabled(False)
        output = model(prepare(image)[None].to(weight.device, weight.dtype))
    finally:
        torch.set_grad_enabled(True)
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


# %% wrong="model cast" says=["the model was changed"]
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
    model.float()
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
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


# %% wrong="freezes the weights" says=["the model was changed"]
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
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval().requires_grad_(False)
    try:
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


# %% wrong="no batch" breaks="as a batch of one" says=["RGB: the model got (3, 64, 64)"]
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
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            output = model(prepare(image).to(weight.device, weight.dtype))
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


# %% wrong="the surest last" breaks="It returns a list of dicts, the surest shape first" says=["the surest comes first"]
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
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
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
        for row in decode(output)[0].flip(0)
    ]


# %% right="a context of modes"
import contextlib

import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


@contextlib.contextmanager
def quiet(model):
    training = {m for m in model.modules() if m.training}
    model.train(False)
    try:
        with torch.inference_mode():
            yield
    finally:
        for m in model.modules():
            m.training = m in training


def find_shapes(model, image):
    first = next(iter(model.parameters()))
    with quiet(model):
        rows = decode(model(prepare(image).to(first).unsqueeze(0)))[0].tolist()
    w, h = image.size
    out = []
    for sure, label, *box in rows:
        edges = [edge * side for edge, side in zip(box, (w, h, w, h), strict=True)]
        out.append({"shape": SHAPES[int(label)], "confidence": sure, "box": edges})
    return out


# %% wrong="every weight requires grad afterwards" says=["whether they require grad"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model: nn.Module, image: Image.Image) -> list[dict]:
    weight = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval().requires_grad_(False)
    try:
        output = model(prepare(image)[None].to(weight.device, weight.dtype))
    finally:
        model.requires_grad_(True)
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


# %% wrong="parts within parts keep another mode" breaks="each of its parts are in the mode in which they were" says=["the mode of a part within a part has changed"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    first = next(model.parameters())
    x = prepare(image)[None].to(first.device, first.dtype)
    modes = [(part, part.training) for part in [model, *model.children()]]
    model.eval()
    try:
        with torch.no_grad():
            output = model(x)
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    found = []
    for sure, label, left, top, right, bottom in decode(output)[0].tolist():
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return found


# %% wrong="shares of the image" breaks="left, top, right, bottom in pixels of `image`" says=["these are shares of the image"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    first = next(model.parameters())
    x = prepare(image)[None].to(first.device, first.dtype)
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            output = model(x)
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    found = []
    for sure, label, left, top, right, bottom in decode(output)[0].tolist():
        box = [left, top, right, bottom]
        found.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return found


# %% wrong="width and height for right and bottom" says=["left, top, width, height"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    first = next(model.parameters())
    x = prepare(image)[None].to(first.device, first.dtype)
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            output = model(x)
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    found = []
    for sure, label, left, top, right, bottom in decode(output)[0].tolist():
        box = [left * width, top * height, (right - left) * width, (bottom - top) * height]
        found.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return found


# %% right="a copy of the model"
import copy

import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    twin = copy.deepcopy(model).eval()
    like = next(twin.parameters())
    with torch.inference_mode():
        rows = decode(twin(prepare(image).unsqueeze(0).to(like)))[0]
    scale = torch.tensor(image.size * 2, device=rows.device, dtype=rows.dtype)
    return [
        {
            "box": (row[2:] * scale).tolist(),
            "confidence": row[0].item(),
            "shape": SHAPES[int(row[1])],
        }
        for row in rows
    ]


# %% wrong="throws the gradients away" breaks="and so do the weights and their gradients" says=["the weights' gradients were changed"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    modes = [(part, part.training) for part in model.modules()]
    model.zero_grad()
    weight = next(model.parameters())
    try:
        model.eval()
        with torch.no_grad():
            x = prepare(image)[None].to(weight.device, weight.dtype)
            rows = decode(model(x))[0].tolist()
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    return [
        {
            "shape": SHAPES[int(label)],
            "confidence": sure,
            "box": [left * width, top * height, right * width, bottom * height],
        }
        for sure, label, left, top, right, bottom in rows
    ]


# %% wrong="modes given back after an Exception alone" breaks="also after an error or Ctrl-C" says=["the model raised KeyboardInterrupt"]
import torch
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode

NAMES_BY_LABEL = ("circle", "square", "triangle")


def find_shapes(model, image):
    first = next(model.parameters())
    width, height = image.size
    x = prepare(image)[None].to(first.device, first.dtype)
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            output = model(x)
    except Exception:
        for part, was in modes:
            part.training = was
        raise
    for part, was in modes:
        part.training = was
    found = []
    for sure, label, left, top, right, bottom in decode(output)[0].tolist():
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": NAMES_BY_LABEL[int(label)], "confidence": sure, "box": box})
    return found


# %% wrong="the dtype of the last parameter" breaks="in the dtype and on the device of its first parameter" says=["and the first parameter is torch.float32"]
import torch
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode

NAMES_BY_LABEL = ("circle", "square", "triangle")


def find_shapes(model, image):
    first = list(model.parameters())[-1]
    width, height = image.size
    x = prepare(image)[None].to(first.device, first.dtype)
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            output = model(x)
    finally:
        for part, was in modes:
            part.training = was
    found = []
    for sure, label, left, top, right, bottom in decode(output)[0].tolist():
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": NAMES_BY_LABEL[int(label)], "confidence": sure, "box": box})
    return found


# %% wrong="modes given back by train, in order" breaks="each of its parts are in the mode in which they were" says=["a part that two modules share"]
import torch
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode

NAMES_BY_LABEL = ("circle", "square", "triangle")


def find_shapes(model, image):
    first = next(model.parameters())
    width, height = image.size
    x = prepare(image)[None].to(first.device, first.dtype)
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            output = model(x)
    finally:
        for part, was in modes:
            part.train(was)
    found = []
    for sure, label, left, top, right, bottom in decode(output)[0].tolist():
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": NAMES_BY_LABEL[int(label)], "confidence": sure, "box": box})
    return found


# %% wrong="what was found is kept by image" says=["each call asks the model that it gets"]
import torch
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode

NAMES_BY_LABEL = ("circle", "square", "triangle")


KEPT = {}


def find_shapes(model, image):
    if id(image) in KEPT:
        return KEPT[id(image)][1]
    first = next(model.parameters())
    width, height = image.size
    x = prepare(image)[None].to(first.device, first.dtype)
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            output = model(x)
    finally:
        for part, was in modes:
            part.training = was
    found = []
    for sure, label, left, top, right, bottom in decode(output)[0].tolist():
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": NAMES_BY_LABEL[int(label)], "confidence": sure, "box": box})
    KEPT[id(image)] = image, found
    return found


# %% wrong="all hooks are taken off" breaks="and the hooks of the network, also after an error" says=["it isn't yours"]
import torch
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode

NAMES_BY_LABEL = ("circle", "square", "triangle")


def find_shapes(model, image):
    first = next(model.parameters())
    width, height = image.size
    x = prepare(image)[None].to(first.device, first.dtype)
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            output = model(x)
    finally:
        for part, was in modes:
            part.training = was
    for part, _ in modes:
        part._forward_hooks.clear()
    found = []
    for sure, label, left, top, right, bottom in decode(output)[0].tolist():
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": NAMES_BY_LABEL[int(label)], "confidence": sure, "box": box})
    return found


# %% right="without gradients' mode, on detached weights"
import torch
from shapefinder.folder import prepare
from shapefinder.grid import decode
from torch.func import functional_call


def find_shapes(model, image):
    before = {part: part.training for part in model.modules()}
    some = next(iter(model.parameters()))
    try:
        for part in before:
            part.training = False
        state = {n: t.detach() for n, t in [*model.named_parameters(), *model.named_buffers()]}
        output = functional_call(model, state, (prepare(image).to(some)[None],))
    finally:
        for part, mode in before.items():
            part.training = mode
    w, h = image.width, image.height
    return [
        dict(
            shape=("circle", "square", "triangle")[int(k)],
            confidence=c,
            box=[a * w, b * h, d * w, e * h],
        )
        for c, k, a, b, d, e in decode(output.detach())[0].tolist()
    ]


# %% wrong="forward, past the hooks" says=["not model.forward(x)"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    first = next(model.parameters())
    modes = [(part, part.training) for part in model.modules()]
    try:
        model.eval()
        with torch.no_grad():
            output = model.forward(prepare(image)[None].to(first.device, first.dtype))
        rows = decode(output)[0].tolist()
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    found = []
    for sure, label, left, top, right, bottom in rows:
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return found


# %% wrong="the picture is turned as its file says" says=["the camera was turned"]
import torch
import torch.nn as nn
from PIL import Image, ImageOps
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    first = next(model.parameters())
    modes = [(part, part.training) for part in model.modules()]
    try:
        model.eval()
        with torch.no_grad():
            output = model(
                prepare(ImageOps.exif_transpose(image))[None].to(first.device, first.dtype)
            )
        rows = decode(output)[0].tolist()
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    found = []
    for sure, label, left, top, right, bottom in rows:
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return found


# %% wrong="a rounded confidence" says=["don't round it"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    first = next(model.parameters())
    modes = [(part, part.training) for part in model.modules()]
    try:
        model.eval()
        with torch.no_grad():
            output = model(prepare(image)[None].to(first.device, first.dtype))
        rows = decode(output)[0].tolist()
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    found = []
    for sure, label, left, top, right, bottom in rows:
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": SHAPES[int(label)], "confidence": round(sure, 2), "box": box})
    return found


# %% wrong="prepares outside of the try" says=["what `prepare` raises counts, too"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    first = next(model.parameters())
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    prepare(image)
    try:
        with torch.no_grad():
            output = model(prepare(image)[None].to(first.device, first.dtype))
        rows = decode(output)[0].tolist()
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    found = []
    for sure, label, left, top, right, bottom in rows:
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return found


# %% wrong="under autocast" says=["ran under autocast"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    first = next(model.parameters())
    modes = [(part, part.training) for part in model.modules()]
    try:
        model.eval()
        with torch.no_grad(), torch.autocast("cpu"):
            output = model(prepare(image)[None].to(first.device, first.dtype))
        rows = decode(output)[0].tolist()
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    found = []
    for sure, label, left, top, right, bottom in rows:
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return found


# %% wrong="ten shapes at most" says=["keep all"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    first = next(model.parameters())
    modes = [(part, part.training) for part in model.modules()]
    try:
        model.eval()
        with torch.no_grad():
            output = model(prepare(image)[None].to(first.device, first.dtype))
        rows = decode(output)[0].tolist()
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    found = []
    for sure, label, left, top, right, bottom in rows[:10]:
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return found


# %% wrong="modes are noted once for each network" says=["note them anew in each call"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode

KEPT = {}


def find_shapes(model, image):
    first = next(model.parameters())
    modes = KEPT.setdefault(id(model), [(part, part.training) for part in model.modules()])
    try:
        model.eval()
        with torch.no_grad():
            output = model(prepare(image)[None].to(first.device, first.dtype))
        rows = decode(output)[0].tolist()
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    found = []
    for sure, label, left, top, right, bottom in rows:
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return found


# %% right="a context of modes, in inference mode"
import contextlib

import torch
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


@contextlib.contextmanager
def evaluating(model):
    were = {part: part.training for part in model.modules()}
    try:
        yield model.eval()
    finally:
        for part in were:
            part.training = were[part]


@torch.inference_mode()
def find_shapes(model, image):
    with evaluating(model):
        parameter = next(iter(model.parameters()))
        output = model(prepare(image).unsqueeze(0).to(parameter))
    scale = torch.tensor([*image.size, *image.size])
    rows = decode(output)[0].cpu()
    return [
        {
            "shape": SHAPES[int(row[1])],
            "confidence": float(row[0]),
            "box": (row[2:].double() * scale).tolist(),
        }
        for row in rows
    ]


# %% wrong="the dtype of the first that trains" breaks="in the dtype and on the device of its first parameter" says=["torch.float64 came"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    first = next((p for p in model.parameters() if p.requires_grad), next(model.parameters()))
    modes = [(part, part.training) for part in model.modules()]
    try:
        model.eval()
        with torch.no_grad():
            output = model(prepare(image)[None].to(first.device, first.dtype))
        rows = decode(output)[0].tolist()
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    found = []
    for sure, label, left, top, right, bottom in rows:
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return found


# %% wrong="a hook stays on a part" breaks="and the hooks of the network, also after an error" says=["a part of it has other hooks"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    first = next(model.parameters())
    modes = [(part, part.training) for part in model.modules()]
    try:
        model.eval()
        list(model.modules())[-1].register_forward_hook(lambda *args: None)
        with torch.no_grad():
            output = model(prepare(image)[None].to(first.device, first.dtype))
        rows = decode(output)[0].tolist()
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    found = []
    for sure, label, left, top, right, bottom in rows:
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return found


# %% wrong="weights are rounded and back" breaks="and so do the weights and their gradients" says=["the weights have other numbers"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    first = next(model.parameters())
    modes = [(part, part.training) for part in model.modules()]
    try:
        model.eval()
        for p in model.parameters():
            p.data = p.data.bfloat16().to(p.dtype)
        with torch.no_grad():
            output = model(prepare(image)[None].to(first.device, first.dtype))
        rows = decode(output)[0].tolist()
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    found = []
    for sure, label, left, top, right, bottom in rows:
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return found


# %% wrong="gradients of zeros are left" says=["has one behind the call"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model, image):
    for p in model.parameters():
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    first = next(model.parameters())
    modes = [(part, part.training) for part in model.modules()]
    try:
        model.eval()
        with torch.no_grad():
            output = model(prepare(image)[None].to(first.device, first.dtype))
        rows = decode(output)[0].tolist()
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    found = []
    for sure, label, left, top, right, bottom in rows:
        box = [left * width, top * height, right * width, bottom * height]
        found.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return found


# %% wrong="bfloat16 becomes float32" says=["torch.bfloat16"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model: nn.Module, image: Image.Image) -> list[dict]:
    first = next(model.parameters())
    x = prepare(image)[None].to(
        first.device, first.dtype if first.dtype != torch.bfloat16 else torch.float32
    )
    modes = [(part, part.training) for part in model.modules()]
    try:
        model.eval()
        with torch.no_grad():
            rows = decode(model(x))[0].tolist()
    finally:
        for part, was in modes:
            part.training = was
    width, height = image.size
    shapes = []
    for sure, label, left, top, right, bottom in rows:
        box = [left * width, top * height, right * width, bottom * height]
        shapes.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return shapes


# %% wrong="one shape for a name" says=["(20, 12) pixels"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model: nn.Module, image: Image.Image) -> list[dict]:
    first = next(model.parameters())
    x = prepare(image)[None].to(first.device, first.dtype)
    modes = [(part, part.training) for part in model.modules()]
    try:
        model.eval()
        with torch.no_grad():
            rows = decode(model(x))[0].tolist()
    finally:
        for part, was in modes:
            part.training = was
    width, height = image.size
    shapes = []
    for sure, label, left, top, right, bottom in rows:
        box = [left * width, top * height, right * width, bottom * height]
        shapes.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return list(
        {(s["shape"], int(s["box"][0]) // 8, int(s["box"][1]) // 8): s for s in shapes}.values()
    )


# %% wrong="an image of one pixel is refused" says=["is an image as well"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model: nn.Module, image: Image.Image) -> list[dict]:
    first = next(model.parameters())
    x = prepare(image)[None].to(first.device, first.dtype)
    modes = [(part, part.training) for part in model.modules()]
    if min(image.size) < 2:
        raise ValueError("no image")
    try:
        model.eval()
        with torch.no_grad():
            rows = decode(model(x))[0].tolist()
    finally:
        for part, was in modes:
            part.training = was
    width, height = image.size
    shapes = []
    for sure, label, left, top, right, bottom in rows:
        box = [left * width, top * height, right * width, bottom * height]
        shapes.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return shapes


# %% wrong="the dtype of the state dict's first entry" says=["begins with a buffer, which is no parameter"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder.folder import prepare
from shapefinder.grid import decode

NAMES = ("circle", "square", "triangle")


def find_shapes(model: nn.Module, image: Image.Image) -> list[dict]:
    modes = [(part, part.training) for part in model.modules()]
    first = next(iter(model.state_dict().values()))
    try:
        model.eval()
        with torch.no_grad():
            output = model(prepare(image)[None].to(first))
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    return [
        {
            "shape": NAMES[int(label)],
            "confidence": sure,
            "box": [left * width, top * height, right * width, bottom * height],
        }
        for sure, label, left, top, right, bottom in decode(output)[0].tolist()
    ]


# %% wrong="a hook stays after an error" breaks="and the hooks of the network, also after an error" says=["after an error: the model or a part of it has other hooks"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model: nn.Module, image: Image.Image) -> list[dict]:
    modes = [(part, part.training) for part in model.modules()]
    first = next(model.parameters())
    hook = model.register_forward_pre_hook(
        lambda module, inputs: tuple(x.to(first.device, first.dtype) for x in inputs)
    )
    try:
        model.eval()
        x = prepare(image)[None]
        with torch.no_grad():
            rows = decode(model(x))[0].tolist()
        hook.remove()
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    shapes = []
    for sure, label, left, top, right, bottom in rows:
        box = [left * width, top * height, right * width, bottom * height]
        shapes.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return shapes


# %% wrong="weights stay frozen after an error" breaks="and so do the weights and their gradients" says=["after an error: the model was changed: its weights keep their dtype and whether they require grad"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model: nn.Module, image: Image.Image) -> list[dict]:
    modes = [(part, part.training) for part in model.modules()]
    first = next(model.parameters())
    asked = [p.requires_grad for p in model.parameters()]
    model.requires_grad_(False)
    try:
        model.eval()
        x = prepare(image)[None].to(first.device, first.dtype)
        rows = decode(model(x))[0].tolist()
        for p, was in zip(model.parameters(), asked):
            p.requires_grad_(was)
    finally:
        for part, mode in modes:
            part.training = mode
    width, height = image.size
    shapes = []
    for sure, label, left, top, right, bottom in rows:
        box = [left * width, top * height, right * width, bottom * height]
        shapes.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return shapes


# %% wrong="shrinks a large photograph itself" breaks="The image stays as it is" says=["the image was changed: it had (900, 700) pixels"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model: nn.Module, image: Image.Image) -> list[dict]:
    width, height = image.size
    image.thumbnail((256, 256))  # large photographs take long to prepare
    first = next(model.parameters())
    x = prepare(image)[None].to(device=first.device, dtype=first.dtype)
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            output = model(x)
    finally:
        for part, mode in modes:
            part.training = mode
    shapes = []
    for sure, label, left, top, right, bottom in decode(output)[0].tolist():
        box = [left * width, top * height, right * width, bottom * height]
        shapes.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return shapes


# %% wrong="transparent pixels become white" breaks="exactly the pixels that `shapefinder.folder.prepare` makes" says=["mode RGBA: the model's pixels are not those of training"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model: nn.Module, image: Image.Image) -> list[dict]:
    width, height = image.size
    if image.mode == "RGBA":  # on white
        white = Image.new("RGB", image.size, "white")
        white.paste(image, mask=image.getchannel("A"))
        image = white
    first = next(model.parameters())
    modes = [(part, part.training) for part in model.modules()]
    try:
        model.eval()
        with torch.no_grad():
            output = model(prepare(image)[None].to(first.device, first.dtype))
    finally:
        for part, mode in modes:
            part.training = mode
    shapes = []
    for sure, label, left, top, right, bottom in decode(output)[0].tolist():
        box = [left * width, top * height, right * width, bottom * height]
        shapes.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return shapes


# %% wrong="decodes JPEG files smaller" breaks="The image stays as it is" says=["a JPEG file came smaller"]
import torch
import torch.nn as nn
from PIL import Image
from shapefinder import SHAPES
from shapefinder.folder import prepare
from shapefinder.grid import decode


def find_shapes(model: nn.Module, image: Image.Image) -> list[dict]:
    width, height = image.size
    image.draft("RGB", (128, 128))  # JPEG files are decoded smaller, and faster
    first = next(model.parameters())
    modes = [(part, part.training) for part in model.modules()]
    try:
        model.eval()
        with torch.no_grad():
            output = model(prepare(image)[None].to(first.device, first.dtype))
    finally:
        for part, mode in modes:
            part.training = mode
    shapes = []
    for sure, label, left, top, right, bottom in decode(output)[0].tolist():
        box = [left * width, top * height, right * width, bottom * height]
        shapes.append({"shape": SHAPES[int(label)], "confidence": sure, "box": box})
    return shapes
