"""The pictures that the chapter's detector is trained on, its training, and what it says."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn

from course_utils.learner.drawings import LINES, show
from course_utils.learner.shapes_data import SHAPES, draw_shapes

SIDE = 32
# Two boxes are the same if no edge differs by more than this share of the picture: half a pixel.
SAME_EDGE = 0.5 / SIDE


def prepare(picture: Image.Image) -> torch.Tensor:
    """The training transform: RGB, 32 by 32 by antialiased bilinear resizing, values from 0 to 1.

    Returns:
        (3, 32, 32), float32, channels red, green, blue.
    """
    small = picture.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    return torch.from_numpy(np.array(small)).permute(2, 0, 1).float() / 255


def picture_of(index: int) -> Image.Image:
    """Drawn picture number ``index``, as a PIL image."""
    return Image.fromarray(draw_shapes(index).image)


def png_of(picture: Image.Image, kind: str = "PNG") -> bytes:
    """A picture as the bytes of a file: PNG, or another format that Pillow writes."""
    buffer = io.BytesIO()
    picture.save(buffer, kind)
    return buffer.getvalue()


def examples(first: int, count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pictures ``first`` to ``first + count - 1`` with the box and the class of the largest shape.

    Returns:
        Pictures (count, 3, 32, 32), float32, 0 to 1; boxes (count, 4), float32: left, top, right,
        bottom as shares of the width and height; classes (count,), int64.
    """
    pictures, boxes, labels = [], [], []
    for index in range(first, first + count):
        drawn = draw_shapes(index)
        height, width = drawn.mask.shape
        pictures.append(prepare(Image.fromarray(drawn.image)))
        boxes.append(torch.from_numpy(drawn.boxes[0]) / torch.tensor([width, height] * 2))
        labels.append(drawn.label)
    return torch.stack(pictures), torch.stack(boxes).float(), torch.tensor(labels)


def train(model: nn.Module, pictures: torch.Tensor, boxes: torch.Tensor, labels: torch.Tensor,
          passes: int = 8, rows: int = 60) -> None:  # fmt: skip
    """Train a detector for a few seconds by AdamW under a one-cycle schedule; leaves it in eval."""
    steps = passes * (len(pictures) // rows)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=steps)
    model.train()
    for _ in range(passes):
        order = torch.randperm(len(pictures), device=pictures.device)
        for some in order[: len(order) // rows * rows].view(-1, rows):
            scores, found = model(pictures[some])
            loss = F.cross_entropy(scores, labels[some]) + 8 * F.l1_loss(found, boxes[some])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()


def agreement(first: Sequence, second: Sequence) -> float:
    """The share of pictures for which two answers name the same class and the same box.

    Args:
        first: scores (n, 3) and boxes (n, 4), tensors or arrays.
        second: the same from elsewhere. Boxes are the same if no edge is off by over half a pixel.
    """
    one, other = (
        [torch.as_tensor(np.asarray(part)).float() for part in said] for said in (first, second)
    )
    label = one[0].argmax(1) == other[0].argmax(1)
    return (label & ((one[1] - other[1]).abs().amax(1) <= SAME_EDGE)).float().mean().item()


@torch.no_grad()
def said_by(model: Callable, pictures: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What a detector says of pictures, on the CPU, without a graph."""
    scores, boxes = model(pictures)
    return scores.detach().cpu(), boxes.detach().cpu()


def draw_detections(
    pictures: Sequence[Image.Image], says: Sequence[tuple[str, Sequence[float]]], alt: str
) -> None:
    """Draw pictures in a row, each with the box and the class that a detector gave it."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(pictures), figsize=(9, 2.4), squeeze=False)
    for ax, picture, (label, box) in zip(axes[0], pictures, says, strict=True):
        width, height = picture.size
        left, top, right, bottom = box
        ax.imshow(np.array(picture))
        ax.add_patch(
            plt.Rectangle((left * width, top * height), (right - left) * width,
                          (bottom - top) * height, fill=False, lw=2.5, ec="white")
        )  # fmt: skip
        ax.add_patch(
            plt.Rectangle((left * width, top * height), (right - left) * width,
                          (bottom - top) * height, fill=False, lw=1, ec=LINES[5])
        )  # fmt: skip
        ax.set_title(label, fontsize=10)
        ax.set(xticks=[], yticks=[])
    show(figure, alt)


def names_of(scores: torch.Tensor) -> list[str]:
    """The class names with the highest scores; ``scores`` is (n, 3)."""
    return [SHAPES[label] for label in torch.as_tensor(np.asarray(scores)).argmax(1).tolist()]
