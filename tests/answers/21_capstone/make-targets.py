# %% [markdown]
# Rules:
#
# - "returns a float32 tensor"
# - "cells without a centre hold zeros"
# - "left, top, right, bottom in pixels"
# - "`(8, cells, cells)`"
# - "`size` is (height, width)"
# - "A centre on the line between two cells belongs to the cell to the right, or below"
# - "the shape with the largest area in pixels gets it"
# - "of equal areas the first"
# - "The arguments stay as they are"
# - "0, 1 or 2"
# - "Count in float64"
#
# Admits:
#
# - "n may be 0": without shapes all is zero
# - "float32 or float64": the box of a
# - "a box may have no width or height": has no area
# - "`boxes` is `(n, 4)`": columns of a wider tensor
# - "cells: how many rows and columns the grid has": in 4 by 4 cells the centres are in
# - "If several centres fall into one cell": the large shape comes

# %% wrong="row and column swapped" breaks="left, top, right, bottom in pixels" says=["rows count y, columns x"]
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
    height, width = size
    target = torch.zeros(8, cells, cells, device=boxes.device)
    left, top, right, bottom = boxes.to(torch.float64).unbind(1)
    x, y = (left + right) / 2 / width * cells, (top + bottom) / 2 / height * cells
    wide, high = (right - left) / width, (bottom - top) / height
    area = (right - left) * (bottom - top)
    for n in area.argsort(stable=True, descending=True).tolist():
        row, column = int(x[n]), int(y[n])
        if target[0, row, column] == 0:  # a larger shape keeps its cell
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target


# %% wrong="whole pixels" says=["half pixels count"]
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
    height, width = size
    target = torch.zeros(8, cells, cells, device=boxes.device)
    left, top, right, bottom = boxes.to(torch.float64).unbind(1)
    x, y = (left + right) // 2 / width * cells, (top + bottom) / 2 / height * cells
    wide, high = (right - left) / width, (bottom - top) / height
    area = (right - left) * (bottom - top)
    for n in area.argsort(stable=True, descending=True).tolist():
        row, column = int(y[n]), int(x[n])
        if target[0, row, column] == 0:  # a larger shape keeps its cell
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target


# %% wrong="the last shape overwrites" breaks="the shape with the largest area in pixels gets it" says=["the large shape comes last"]
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
    height, width = size
    target = torch.zeros(8, cells, cells, device=boxes.device)
    left, top, right, bottom = boxes.to(torch.float64).unbind(1)
    x, y = (left + right) / 2 / width * cells, (top + bottom) / 2 / height * cells
    wide, high = (right - left) / width, (bottom - top) / height
    area = (right - left) * (bottom - top)
    for n in area.argsort(stable=True, descending=True).tolist():
        row, column = int(y[n]), int(x[n])
        if True:  # a larger shape keeps its cell
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target


# %% wrong="of equal areas the last" breaks="of equal areas the first" says=["both areas are 36"]
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
    height, width = size
    target = torch.zeros(8, cells, cells, device=boxes.device)
    left, top, right, bottom = boxes.to(torch.float64).unbind(1)
    x, y = (left + right) / 2 / width * cells, (top + bottom) / 2 / height * cells
    wide, high = (right - left) / width, (bottom - top) / height
    area = (right - left) * (bottom - top)
    for n in area.argsort(stable=True).flip(0).tolist():
        row, column = int(y[n]), int(x[n])
        if target[0, row, column] == 0:  # a larger shape keeps its cell
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target


# %% wrong="the dtype of the boxes" breaks="returns a float32 tensor" says=["not torch.float32"]
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
    height, width = size
    target = boxes.new_zeros(8, cells, cells)
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


# %% wrong="x counted from the image" says=["x, then y of the centre within its cell"]
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
            target[4:, row, column] = torch.stack([x[n], y[n], wide[n], high[n]])
    return target


# %% wrong="width in cells" says=["width by the image's width"]
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
    height, width = size
    target = torch.zeros(8, cells, cells, device=boxes.device)
    left, top, right, bottom = boxes.to(torch.float64).unbind(1)
    x, y = (left + right) / 2 / width * cells, (top + bottom) / 2 / height * cells
    wide, high = (right - left) / width * cells, (bottom - top) / height * cells
    area = (right - left) * (bottom - top)
    for n in area.argsort(stable=True, descending=True).tolist():
        row, column = int(y[n]), int(x[n])
        if target[0, row, column] == 0:  # a larger shape keeps its cell
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target


# %% wrong="doubles the boxes" breaks="The arguments stay as they are" says=["boxes or labels were changed"]
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
    height, width = size
    target = torch.zeros(8, cells, cells, device=boxes.device)
    boxes[:] = boxes
    boxes.sub_(1).add_(1)
    boxes[:, 2:] += 0
    left, top, right, bottom = boxes.to(torch.float64).unbind(1)
    boxes.mul_(2)
    x, y = (left + right) / 2 / width * cells, (top + bottom) / 2 / height * cells
    wide, high = (right - left) / width, (bottom - top) / height
    area = (right - left) * (bottom - top)
    for n in area.argsort(stable=True, descending=True).tolist():
        row, column = int(y[n]), int(x[n])
        if target[0, row, column] == 0:  # a larger shape keeps its cell
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target


# %% wrong="classes begin at number 0" breaks="0, 1 or 2" says=["then one of three classes"]
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
    height, width = size
    target = torch.zeros(8, cells, cells, device=boxes.device)
    left, top, right, bottom = boxes.to(torch.float64).unbind(1)
    x, y = (left + right) / 2 / width * cells, (top + bottom) / 2 / height * cells
    wide, high = (right - left) / width, (bottom - top) / height
    area = (right - left) * (bottom - top)
    for n in area.argsort(stable=True, descending=True).tolist():
        row, column = int(y[n]), int(x[n])
        if target[0, row, column] == 0:  # a larger shape keeps its cell
            target[0, row, column] = target[labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target


# %% wrong="always eight cells" breaks="`(8, cells, cells)`" says=["raised IndexError"]
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
    height, width = size
    target = torch.zeros(8, cells, cells, device=boxes.device)
    left, top, right, bottom = boxes.to(torch.float64).unbind(1)
    x, y = (left + right) / 2 / width * 8, (top + bottom) / 2 / height * cells
    wide, high = (right - left) / width, (bottom - top) / height
    area = (right - left) * (bottom - top)
    for n in area.argsort(stable=True, descending=True).tolist():
        row, column = int(y[n]), int(x[n])
        if target[0, row, column] == 0:  # a larger shape keeps its cell
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target


# %% right="every shape on its own"
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    taken = {}
    for box, label in zip(boxes.tolist(), labels.tolist()):
        left, top, right, bottom = box
        x, y = (left + right) / (2 * width) * cells, (top + bottom) / (2 * height) * cells
        place = int(y), int(x)
        area = (right - left) * (bottom - top)
        if area <= taken.get(place, -1):
            continue
        taken[place] = area
        numbers = [1, 0, 0, 0, x % 1, y % 1, (right - left) / width, (bottom - top) / height]
        numbers[1 + label] = 1
        target[:, place[0], place[1]] = torch.tensor(numbers, dtype=torch.float32)
    return target


# %% right="from the smallest to the largest, all at once"
import torch
import torch.nn.functional as F


def make_targets(boxes, labels, size, cells=8):
    b = boxes.double()
    extent, middle = b[:, 2:] - b[:, :2], (b[:, 2:] + b[:, :2]) / 2
    scale = torch.tensor([size[1], size[0]], dtype=torch.float64)
    place = middle / scale * cells
    whole = place.floor()
    numbers = torch.cat(
        [torch.ones(len(b), 1), F.one_hot(labels, 3), place - whole, extent / scale], 1
    )
    target = torch.zeros(8, cells, cells)
    order = sorted(range(len(b)), key=lambda n: (extent[n].prod().item(), -n))
    for n in order:
        target[:, int(whole[n, 1]), int(whole[n, 0])] = numbers[n].float()
    return target


# %% wrong="a centre on the line goes left and up" breaks="A centre on the line between two cells belongs to the cell to the right, or below" says=["on two lines", "to the right, and below"]
import math

import torch


def make_targets(boxes, labels, size, cells=8):
    target = torch.zeros(8, cells, cells)
    height, width = size
    area = [(r - a) * (b - t) for a, t, r, b in boxes.tolist()]
    for n in sorted(range(len(boxes)), key=lambda n: -area[n]):
        a, t, r, b = boxes[n].tolist()
        x, y = (a + r) / 2 / width * cells, (t + b) / 2 / height * cells
        column, row = max(math.ceil(x) - 1, 0), max(math.ceil(y) - 1, 0)
        if not target[0, row, column]:
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.tensor(
                [x - column, y - row, (r - a) / width, (b - t) / height]
            )
    return target


# %% wrong="compares rounded areas" says=["three areas of 36"]
import torch


def make_targets(boxes, labels, size, cells=8):
    target = torch.zeros(8, cells, cells)
    height, width = size
    for n in range(len(boxes)):
        a, t, r, b = boxes[n].tolist()
        x, y = (a + r) / 2 / width * cells, (t + b) / 2 / height * cells
        column, row = int(x), int(y)
        taken = float(target[6, row, column] * target[7, row, column])
        if target[0, row, column] and taken > (r - a) / width * (b - t) / height:
            continue
        target[:, row, column] = 0
        target[0, row, column] = target[1 + labels[n], row, column] = 1
        target[4:, row, column] = torch.tensor(
            [x - column, y - row, (r - a) / width, (b - t) / height]
        )
    return target


# %% wrong="the smaller class stays in the cell" says=["its cell has two classes"]
import torch


def make_targets(
    boxes: torch.Tensor, labels: torch.Tensor, size: tuple[int, int], cells: int = 8
) -> torch.Tensor:
    height, width = size
    target = torch.zeros(8, cells, cells, device=boxes.device)
    left, top, right, bottom = boxes.to(torch.float64).unbind(1)
    x, y = (left + right) / 2 / width * cells, (top + bottom) / 2 / height * cells
    wide, high = (right - left) / width, (bottom - top) / height
    area = (right - left) * (bottom - top)
    for n in area.flip(0).argsort(stable=True).tolist():
        n = len(area) - 1 - n
        row, column = int(y[n]), int(x[n])
        if True:
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target


# %% wrong="size as width and height" breaks="`size` is (height, width)" says=["size is (height, width)"]
import torch


def make_targets(
    boxes: torch.Tensor, labels: torch.Tensor, size: tuple[int, int], cells: int = 8
) -> torch.Tensor:
    width, height = size
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


# %% wrong="the nearest line instead of the cell" says=["cut off, don't round"]
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
    height, width = size
    target = torch.zeros(8, cells, cells, device=boxes.device)
    left, top, right, bottom = boxes.to(torch.float64).unbind(1)
    x, y = (left + right) / 2 / width * cells, (top + bottom) / 2 / height * cells
    wide, high = (right - left) / width, (bottom - top) / height
    area = (right - left) * (bottom - top)
    for n in area.argsort(stable=True, descending=True).tolist():
        row, column = int(y[n].round()), int(x[n].round())
        if target[0, row, column] == 0:  # a larger shape keeps its cell
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target


# %% wrong="class 0 in empty cells" breaks="cells without a centre hold zeros" says=["a cell without a centre has eight zeros"]
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
    height, width = size
    target = torch.zeros(8, cells, cells, device=boxes.device)
    target[1] = 1
    left, top, right, bottom = boxes.to(torch.float64).unbind(1)
    x, y = (left + right) / 2 / width * cells, (top + bottom) / 2 / height * cells
    wide, high = (right - left) / width, (bottom - top) / height
    area = (right - left) * (bottom - top)
    for n in area.argsort(stable=True, descending=True).tolist():
        row, column = int(y[n]), int(x[n])
        if target[0, row, column] == 0:  # a larger shape keeps its cell
            target[1, row, column] = 0
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target


# %% wrong="a view of the boxes" says=["columns of a wider tensor"]
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
    height, width = size
    target = torch.zeros(8, cells, cells, device=boxes.device)
    left, top, right, bottom = boxes.view(-1).view(-1, 4).to(torch.float64).unbind(1)
    x, y = (left + right) / 2 / width * cells, (top + bottom) / 2 / height * cells
    wide, high = (right - left) / width, (bottom - top) / height
    area = (right - left) * (bottom - top)
    for n in area.argsort(stable=True, descending=True).tolist():
        row, column = int(y[n]), int(x[n])
        if target[0, row, column] == 0:  # a larger shape keeps its cell
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target


# %% wrong="area as shares" says=["three areas of 36 pixels: the first"]
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
    height, width = size
    target = torch.zeros(8, cells, cells, device=boxes.device)
    left, top, right, bottom = boxes.to(torch.float64).unbind(1)
    x, y = (left + right) / 2 / width * cells, (top + bottom) / 2 / height * cells
    wide, high = (right - left) / width, (bottom - top) / height
    area = wide.float() * high.float()
    for n in area.argsort(stable=True, descending=True).tolist():
        row, column = int(y[n]), int(x[n])
        if target[0, row, column] == 0:  # a larger shape keeps its cell
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target


# %% right="a dict of winners"
import torch


def make_targets(boxes, labels, size, cells=8):
    best = {}
    for box, label in zip(boxes.tolist(), labels.tolist()):
        left, top, right, low = box
        cx, cy = (left + right) * cells / (2 * size[1]), (top + low) * cells / (2 * size[0])
        key = int(cy // 1), int(cx // 1)
        area = (right - left) * (low - top)
        if key not in best or area > best[key][0]:
            row = [
                1.0,
                0.0,
                0.0,
                0.0,
                cx - key[1],
                cy - key[0],
                (right - left) / size[1],
                (low - top) / size[0],
            ]
            row[1 + label] = 1.0
            best[key] = area, row
    out = torch.zeros(cells, cells, 8)
    for (i, j), (_, row) in best.items():
        out[i, j] = torch.tensor(row)
    return out.permute(2, 0, 1)


# %% wrong="hundredths of the image as areas" says=["the larger one counts, however little it is larger"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    boxes = boxes.double()
    left, top, right, bottom = boxes.unbind(1)
    area = ((right - left) / width * (bottom - top) / height).float().mul(100).round()
    for n in area.argsort(descending=True, stable=True).tolist():
        x = (left[n] + right[n]).item() / 2 / width * cells
        y = (top[n] + bottom[n]).item() / 2 / height * cells
        column, row = int(x), int(y)
        if target[0, row, column] == 1:
            continue
        target[0, row, column] = 1
        target[1 + labels[n], row, column] = 1
        target[4, row, column] = x - column
        target[5, row, column] = y - row
        target[6, row, column] = (right[n] - left[n]) / width
        target[7, row, column] = (bottom[n] - top[n]) / height
    return target


# %% wrong="areas in float32" breaks="Count in float64" says=["float32 can't tell them apart"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells, dtype=torch.float32)
    b = boxes.double()
    area = (boxes.float()[:, 2] - boxes.float()[:, 0]) * (boxes.float()[:, 3] - boxes.float()[:, 1])
    order = area.argsort(descending=True, stable=True)
    for i in order.tolist():
        left, top, right, bottom = b[i].tolist()
        x = (left + right) / 2 * cells / width
        y = (top + bottom) / 2 * cells / height
        column, row = int(x), int(y)
        if target[0, row, column] == 1:
            continue
        target[0, row, column] = 1
        target[1 + int(labels[i]), row, column] = 1
        target[4:, row, column] = torch.tensor(
            [x - column, y - row, (right - left) / width, (bottom - top) / height]
        )
    return target


# %% wrong="centres in float32" breaks="Count in float64" says=["float32 rounds it to 8"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells, dtype=torch.float32)
    b = boxes.double()
    middle = (boxes[:, :2].float() + boxes[:, 2:].float()) / 2
    area = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    order = area.argsort(descending=True, stable=True)
    for i in order.tolist():
        left, top, right, bottom = b[i].tolist()
        x = float(middle[i, 0] * cells / width)
        y = float(middle[i, 1] * cells / height)
        column, row = int(x), int(y)
        if target[0, row, column] == 1:
            continue
        target[0, row, column] = 1
        target[1 + int(labels[i]), row, column] = 1
        target[4:, row, column] = torch.tensor(
            [x - column, y - row, (right - left) / width, (bottom - top) / height]
        )
    return target


# %% wrong="no shapes: eight cells whatever was asked" breaks="`(8, cells, cells)`" says=["the target has shape (8, 8, 8), not (8, 3, 3)"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    if len(boxes) == 0:
        return torch.zeros(8, 8, 8, dtype=torch.float32)
    target = torch.zeros(8, cells, cells, dtype=torch.float32)
    b = boxes.double()
    area = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    order = area.argsort(descending=True, stable=True)
    for i in order.tolist():
        left, top, right, bottom = b[i].tolist()
        x = (left + right) / 2 * cells / width
        y = (top + bottom) / 2 * cells / height
        column, row = int(x), int(y)
        if target[0, row, column] == 1:
            continue
        target[0, row, column] = 1
        target[1 + int(labels[i]), row, column] = 1
        target[4:, row, column] = torch.tensor(
            [x - column, y - row, (right - left) / width, (bottom - top) / height]
        )
    return target


# %% wrong="a shape without area is left out" says=["has no area, and its centre is in row 2, column 4"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells, dtype=torch.float32)
    b = boxes.double()
    area = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    order = area.argsort(descending=True, stable=True)
    for i in order.tolist():
        left, top, right, bottom = b[i].tolist()
        x = (left + right) / 2 * cells / width
        y = (top + bottom) / 2 * cells / height
        column, row = int(x), int(y)
        if target[0, row, column] == 1 or area[i] <= 0:
            continue
        target[0, row, column] = 1
        target[1 + int(labels[i]), row, column] = 1
        target[4:, row, column] = torch.tensor(
            [x - column, y - row, (right - left) / width, (bottom - top) / height]
        )
    return target


# %% wrong="the grid is kept for the next call" says=["a second call wrote into the grid"]
import torch

GRIDS = {}


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = GRIDS.setdefault(cells, torch.zeros(8, cells, cells, dtype=torch.float32)).zero_()
    b = boxes.double()
    area = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    order = area.argsort(descending=True, stable=True)
    for i in order.tolist():
        left, top, right, bottom = b[i].tolist()
        x = (left + right) / 2 * cells / width
        y = (top + bottom) / 2 * cells / height
        column, row = int(x), int(y)
        if target[0, row, column] == 1:
            continue
        target[0, row, column] = 1
        target[1 + int(labels[i]), row, column] = 1
        target[4:, row, column] = torch.tensor(
            [x - column, y - row, (right - left) / width, (bottom - top) / height]
        )
    return target


# %% wrong="float32 boxes are counted in float32" breaks="Count in float64" says=["boxes are torch.float32, areas 16785408"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    left, top, right, bottom = (boxes if boxes.is_floating_point() else boxes.double()).unbind(1)
    x = (left + right) / 2 * cells / width
    y = (top + bottom) / 2 * cells / height
    areas = (right - left) * (bottom - top)
    for n in areas.argsort(descending=True, stable=True).tolist():
        column, row = int(x[n]), int(y[n])
        if target[0, row, column]:
            continue
        w, h = (right[n] - left[n]) / width, (bottom[n] - top[n]) / height
        target[0, row, column] = 1
        target[1 + int(labels[n]), row, column] = 1
        target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, w, h])
    return target


# %% wrong="every box is at least a pixel wide" says=["width and height may be 0, and stay 0"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    left, top, right, bottom = boxes.double().unbind(1)
    x = (left + right) / 2 * cells / width
    y = (top + bottom) / 2 * cells / height
    areas = (right - left) * (bottom - top)
    for n in areas.argsort(descending=True, stable=True).tolist():
        column, row = int(x[n]), int(y[n])
        if target[0, row, column]:
            continue
        w = (right[n] - left[n]).clamp(min=1) / width
        h = (bottom[n] - top[n]).clamp(min=1) / height
        target[0, row, column] = 1
        target[1 + int(labels[n]), row, column] = 1
        target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, w, h])
    return target


# %% wrong="boxes are cut at the edge" says=["don't cut the box"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    left, top, right, bottom = boxes.double().clamp(min=0).unbind(1)
    x = (left + right) / 2 * cells / width
    y = (top + bottom) / 2 * cells / height
    areas = (right - left) * (bottom - top)
    for n in areas.argsort(descending=True, stable=True).tolist():
        column, row = int(x[n]), int(y[n])
        if target[0, row, column]:
            continue
        w, h = (right[n] - left[n]) / width, (bottom[n] - top[n]) / height
        target[0, row, column] = 1
        target[1 + int(labels[n]), row, column] = 1
        target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, w, h])
    return target


# %% wrong="sides are cut to whole pixels for the area" says=["parts of a pixel count"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    left, top, right, bottom = boxes.double().unbind(1)
    x = (left + right) / 2 * cells / width
    y = (top + bottom) / 2 * cells / height
    areas = (right - left).int() * (bottom - top).int()
    for n in areas.argsort(descending=True, stable=True).tolist():
        column, row = int(x[n]), int(y[n])
        if target[0, row, column]:
            continue
        w, h = (right[n] - left[n]) / width, (bottom[n] - top[n]) / height
        target[0, row, column] = 1
        target[1 + int(labels[n]), row, column] = 1
        target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, w, h])
    return target


# %% wrong="areas are rounded to pixels" says=["parts of a pixel count"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    left, top, right, bottom = boxes.double().unbind(1)
    x = (left + right) / 2 * cells / width
    y = (top + bottom) / 2 * cells / height
    areas = ((right - left) * (bottom - top)).round()
    for n in areas.argsort(descending=True, stable=True).tolist():
        column, row = int(x[n]), int(y[n])
        if target[0, row, column]:
            continue
        w, h = (right[n] - left[n]) / width, (bottom[n] - top[n]) / height
        target[0, row, column] = 1
        target[1 + int(labels[n]), row, column] = 1
        target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, w, h])
    return target


# %% wrong="more than three shapes: classes are sorted" says=["each keeps its own class"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    left, top, right, bottom = boxes.double().unbind(1)
    x = (left + right) / 2 * cells / width
    y = (top + bottom) / 2 * cells / height
    areas = (right - left) * (bottom - top)
    labels = labels[areas.argsort(descending=True, stable=True)] if len(labels) > 3 else labels
    for n in areas.argsort(descending=True, stable=True).tolist():
        column, row = int(x[n]), int(y[n])
        if target[0, row, column]:
            continue
        w, h = (right[n] - left[n]) / width, (bottom[n] - top[n]) / height
        target[0, row, column] = 1
        target[1 + int(labels[n]), row, column] = 1
        target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, w, h])
    return target


# %% right="plain numbers and a dict"
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = (int(n) for n in size)
    target = torch.zeros((8, cells, cells), dtype=torch.float32)
    rows = [(a, t, r, b, c) for (a, t, r, b), c in zip(boxes.tolist(), labels.tolist())]
    best = {}
    for a, t, r, b, c in rows:
        x, y = (a + r) * cells / (2 * width), (t + b) * cells / (2 * height)
        key, area = (int(y), int(x)), (r - a) * (b - t)
        if key not in best or area > best[key][0]:
            one = [float(c == k) for k in range(3)]
            numbers = [1.0, *one, x - int(x), y - int(y), (r - a) / width, (b - t) / height]
            best[key] = area, numbers
    for (row, column), (_, numbers) in best.items():
        target[:, row, column] = torch.tensor(numbers)
    return target


# %% wrong="areas equal within a thousandth" says=["areas of 10.1997 and 10.2"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    left, top, right, bottom = boxes.double().unbind(1)
    x = (left + right) / 2 * cells / width
    y = (top + bottom) / 2 * cells / height
    areas = ((right - left) * (bottom - top)).mul(1000).round()
    for n in areas.argsort(descending=True, stable=True).tolist():
        column, row = int(x[n]), int(y[n])
        if target[0, row, column]:
            continue
        w, h = (right[n] - left[n]) / width, (bottom[n] - top[n]) / height
        target[0, row, column] = 1
        target[1 + int(labels[n]), row, column] = 1
        target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, w, h])
    return target


# %% wrong="cells of whole pixels" says=["in row 3, column 3, not in"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    left, top, right, bottom = boxes.double().unbind(1)
    x = (left + right) / 2 * cells / width
    y = (top + bottom) / 2 * cells / height
    areas = (right - left) * (bottom - top)
    for n in areas.argsort(descending=True, stable=True).tolist():
        column = int((left[n] + right[n]) / 2 // (width // cells))
        row = int((top[n] + bottom[n]) / 2 // (height // cells))
        if target[0, row, column]:
            continue
        w, h = (right[n] - left[n]) / width, (bottom[n] - top[n]) / height
        target[0, row, column] = 1
        target[1 + int(labels[n]), row, column] = 1
        target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, w, h])
    return target


# %% wrong="the largest of all shapes alone comes first" says=["each keeps its own largest"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    left, top, right, bottom = boxes.double().unbind(1)
    x = (left + right) / 2 * cells / width
    y = (top + bottom) / 2 * cells / height
    areas = (right - left) * (bottom - top)
    for n in sorted(range(len(areas)), key=lambda n: n != int(areas.argmax())):
        column, row = int(x[n]), int(y[n])
        if target[0, row, column]:
            continue
        w, h = (right[n] - left[n]) / width, (bottom[n] - top[n]) / height
        target[0, row, column] = 1
        target[1 + int(labels[n]), row, column] = 1
        target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, w, h])
    return target


# %% wrong="the cell above counts as taken, too" says=["each of four neighbouring cells"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    left, top, right, bottom = boxes.double().unbind(1)
    x = (left + right) / 2 * cells / width
    y = (top + bottom) / 2 * cells / height
    areas = (right - left) * (bottom - top)
    for n in areas.argsort(descending=True, stable=True).tolist():
        column, row = int(x[n]), int(y[n])
        if target[0, max(row - 1, 0) : row + 1, column].any():
            continue
        w, h = (right[n] - left[n]) / width, (bottom[n] - top[n]) / height
        target[0, row, column] = 1
        target[1 + int(labels[n]), row, column] = 1
        target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, w, h])
    return target


# %% wrong="centres in the boxes' own dtype" says=["float32 rounds left + right"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    exact = boxes.double()
    left, top, right, bottom = exact.unbind(1)
    wide, high = right - left, bottom - top
    x = ((boxes[:, 0] + boxes[:, 2]) / 2).double() * cells / width
    y = ((boxes[:, 1] + boxes[:, 3]) / 2).double() * cells / height
    order = (wide * high).argsort(descending=True, stable=True)
    for i in order.tolist():
        column, row = int(x[i]), int(y[i])
        if target[0, row, column] == 1:
            continue
        target[0, row, column] = 1
        target[1 + labels[i], row, column] = 1
        target[4, row, column] = x[i] - column
        target[5, row, column] = y[i] - row
        target[6, row, column] = wide[i] / width
        target[7, row, column] = high[i] / height
    return target


# %% wrong="taken is what has a width" says=["A cell is taken when its number 0 is 1"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    exact = boxes.double()
    left, top, right, bottom = exact.unbind(1)
    wide, high = right - left, bottom - top
    x = (left + right) / 2 * cells / width
    y = (top + bottom) / 2 * cells / height
    order = (wide * high).argsort(descending=True, stable=True)
    for i in order.tolist():
        column, row = int(x[i]), int(y[i])
        if target[6, row, column] > 0:
            continue
        target[:, row, column] = 0
        target[0, row, column] = 1
        target[1 + labels[i], row, column] = 1
        target[4, row, column] = x[i] - column
        target[5, row, column] = y[i] - row
        target[6, row, column] = wide[i] / width
        target[7, row, column] = high[i] / height
    return target


# %% wrong="a row has eight cells" says=["a row has `cells` cells, not 8"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    exact = boxes.double()
    left, top, right, bottom = exact.unbind(1)
    wide, high = right - left, bottom - top
    x = (left + right) / 2 * cells / width
    y = (top + bottom) / 2 * cells / height
    taken = set()
    order = (wide * high).argsort(descending=True, stable=True)
    for i in order.tolist():
        column, row = int(x[i]), int(y[i])
        if row * 8 + column in taken:
            continue
        taken.add(row * 8 + column)
        target[0, row, column] = 1
        target[1 + labels[i], row, column] = 1
        target[4, row, column] = x[i] - column
        target[5, row, column] = y[i] - row
        target[6, row, column] = wide[i] / width
        target[7, row, column] = high[i] / height
    return target


# %% wrong="the place in the cell in float32" says=["the place within the cell, counted in float64"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    exact = boxes.double()
    left, top, right, bottom = exact.unbind(1)
    wide, high = right - left, bottom - top
    x = (left + right) / 2 * cells / width
    y = (top + bottom) / 2 * cells / height
    order = (wide * high).argsort(descending=True, stable=True)
    for i in order.tolist():
        column, row = int(x[i]), int(y[i])
        if target[0, row, column] == 1:
            continue
        target[0, row, column] = 1
        target[1 + labels[i], row, column] = 1
        target[4, row, column] = x[i].float() - column
        target[5, row, column] = y[i].float() - row
        target[6, row, column] = wide[i] / width
        target[7, row, column] = high[i] / height
    return target


# %% wrong="the area inside the photograph" breaks="the shape with the largest area in pixels gets it" says=["its whole area counts"]
import torch


def make_targets(boxes, labels, size, cells=8):
    height, width = size
    target = torch.zeros(8, cells, cells)
    taken = set()
    shapes = sorted(
        zip(boxes.double().tolist(), labels.tolist(), strict=True),
        key=lambda shape: (
            -(min(shape[0][2], width) - max(shape[0][0], 0))
            * (min(shape[0][3], height) - max(shape[0][1], 0))
        ),
    )
    for (left, top, right, bottom), label in shapes:
        x, y = (left + right) / 2 * cells / width, (top + bottom) / 2 * cells / height
        column, row = int(x), int(y)
        if (row, column) in taken:
            continue
        taken.add((row, column))
        one_hot = [float(label == k) for k in range(3)]
        numbers = [
            1.0,
            *one_hot,
            x - column,
            y - row,
            (right - left) / width,
            (bottom - top) / height,
        ]
        target[:, row, column] = torch.tensor(numbers)
    return target


# %% wrong="NumPy's sort as it comes" breaks="of equal areas the first" says=["the first of them counts", "in NumPy"]
import numpy as np
import torch


def make_targets(
    boxes: torch.Tensor, labels: torch.Tensor, size: tuple[int, int], cells: int = 8
) -> torch.Tensor:
    height, width = size
    b, kinds = boxes.double().cpu().numpy(), labels.tolist()
    target = np.zeros((8, cells, cells), dtype=np.float32)
    w, h = b[:, 2] - b[:, 0], b[:, 3] - b[:, 1]
    x, y = (b[:, 0] + b[:, 2]) / 2 * cells / width, (b[:, 1] + b[:, 3]) / 2 * cells / height
    for i in np.argsort(-(w * h)):
        row, column = int(y[i]), int(x[i])
        if target[0, row, column] == 0:
            target[[0, 1 + kinds[i]], row, column] = 1
            target[4:, row, column] = x[i] - column, y[i] - row, w[i] / width, h[i] / height
    return torch.from_numpy(target)


# %% wrong="multiplies by a rounded factor" breaks="A centre on the line between two cells belongs to the cell to the right, or below" says=["49 * (8 / 392) is less than 1"]
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
    height, width = size
    target = torch.zeros(8, cells, cells, device=boxes.device)
    left, top, right, bottom = boxes.to(torch.float64).unbind(1)
    x, y = (left + right) / 2 * (cells / width), (top + bottom) / 2 * (cells / height)
    wide, high = (right - left) / width, (bottom - top) / height
    area = (right - left) * (bottom - top)
    for n in area.argsort(stable=True, descending=True).tolist():
        row, column = int(y[n]), int(x[n])
        if target[0, row, column] == 0:  # a larger shape keeps its cell
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target
