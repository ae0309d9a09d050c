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
