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
    x, y = (left + right) / 2 * cells / width, (top + bottom) / 2 * cells / height
    wide, high = (right - left) / width, (bottom - top) / height
    area = (right - left) * (bottom - top)
    for n in area.argsort(stable=True, descending=True).tolist():
        row, column = int(y[n]), int(x[n])
        if target[0, row, column] == 0:  # a larger shape keeps its cell
            target[0, row, column] = target[1 + labels[n], row, column] = 1
            target[4:, row, column] = torch.stack([x[n] - column, y[n] - row, wide[n], high[n]])
    return target
