"""Pictures of a storage as a row of boxes, once for each tensor that lies in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from matplotlib.patches import FancyArrowPatch, Rectangle

from course_utils.learner.drawings import (
    DOTS_PER_INCH,
    EMPTY,
    FAINT,
    INK,
    LINES,
    TINTS,
    WIDTH_INCHES,
    Drawing,
    text_of,
    words_only,
)

MOST_BOXES = 40
# Boxes and grid cells that stand side by side; more would be too small to read.
WIDEST = 44


def _positions(tensor: torch.Tensor) -> list[int]:
    """The storage positions of a tensor's elements, in reading (row-major) order."""
    positions = [int(tensor.storage_offset())]
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        positions = [start + index * stride for start in positions for index in range(size)]
    return positions


def draw_storage(
    tensor: torch.Tensor,
    *views: torch.Tensor,
    names: Sequence[str] | None = None,
    grid: bool = False,
    colour_by: int | None = None,
    windows: int | None = None,
) -> Drawing:
    """Draw a storage as a row of boxes, once for ``tensor`` and once for each of its views.

    In each row the boxes that the tensor reaches are coloured; the small number under a box says
    as which element it is read, counted from 0 in row-major order; an arrow for each dimension
    goes from the first element to the next one along it and carries the stride.

    Args:
        tensor: a strided tensor, of any shape, dtype and device, whose storage holds at most
            40 of its elements.
        views: tensors of the same dtype that share its storage.
        names: what to call ``tensor`` and each view; by default ``tensor``, ``view 1``, …
        grid: draw beside the boxes how each tensor looks to who indexes it: its last two
            dimensions as rows and columns, one block for each index of the others. A cell is
            tinted like the box that it is read from.
        colour_by: a dimension; boxes, and cells of the grid, get a tint for each index along it. A
            box that is read at several indices has a stripe for each.
        windows: a dimension; a bracket below the boxes spans what is read at each index along it.
            A tensor that reads one box at each index, or lacks the dimension, has none.

    Returns:
        The figure, nine inches wide. In a notebook the last line of a cell shows it.

    Raises:
        ValueError: the storage is too long to draw, also with the grid beside it; a view does not
            share it or has another dtype; the names are too many or too few; or ``colour_by`` is
            a dimension that no tensor has.
    """
    tensors = (tensor, *views)
    storage = tensor.untyped_storage()
    count = storage.nbytes() // tensor.itemsize
    if count > MOST_BOXES:
        raise ValueError(
            f"the storage holds {count} elements; draw_storage shows at most {MOST_BOXES}"
        )
    if names is None:
        names = ("tensor", *(f"view {number}" for number in range(1, len(tensors))))
    if len(names) != len(tensors):
        raise ValueError(f"{len(names)} names for {len(tensors)} tensors: give one name to each")
    for name, view in zip(names, tensors, strict=True):
        if view.untyped_storage().data_ptr() != storage.data_ptr():
            raise ValueError(
                f"{name} has another storage: it is a copy, or it came from a slice in NumPy, "
                "whose storage begins elsewhere; draw it by itself"
            )
        if view.dtype != tensor.dtype:
            raise ValueError(f"{name} reads the storage as {view.dtype}, not as {tensor.dtype}")
    for what, dim in (("colour_by", colour_by), ("windows", windows)):
        if dim is not None and not 0 <= dim < max(view.dim() for view in tensors):
            raise ValueError(f"{what} is {dim}: no tensor here has such a dimension")
    values = torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(storage).tolist()

    rows = [
        _Row(name, view, number, colour_by, windows)
        for number, (name, view) in enumerate(zip(names, tensors, strict=True))
    ]
    # Boxes are square and one data unit wide; `line` is the height of a line of text in that unit.
    widest = max(count, 1)
    beside = max(row.grid_width for row in rows) if grid else 0.0
    if beside and count + GRID_GAP + beside > WIDEST:
        raise ValueError(
            f"the storage's {count} boxes and a grid of {beside / GRID_CELL:.0f} columns are too "
            "wide to stand side by side; leave out grid=True"
        )
    unit = min(0.6, (WIDTH_INCHES - 0.2) / (widest + (GRID_GAP + beside if beside else 0)))
    line = 0.21 / unit
    for row in rows:
        row.measure(unit, grid)
    figure_height = sum(row.height for row in rows) + 1.9 * line
    figure = Drawing(figsize=(WIDTH_INCHES, unit * figure_height), dpi=DOTS_PER_INCH)
    figure.alt = f"A storage of {count} boxes. " + " ".join(row.words(grid) for row in rows)
    if words_only():
        return figure
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.1 / unit, WIDTH_INCHES / unit - 0.1 / unit)
    axes.set_ylim(-1.9 * line, figure_height - 1.9 * line)
    left = max([float(widest), *(row.labels_end for row in rows)]) + GRID_GAP
    top = figure_height - 1.9 * line
    for row in rows:
        row.draw(axes, top, values, left if grid else None)
        top -= row.height
    numbers: dict[str, Any] = {"va": "center", "color": FAINT, "fontsize": min(9, 20 * unit)}
    for position in range(count):
        axes.text(position + 0.5, -0.3 * line, str(position), ha="center", **numbers)
    legend = "small numbers: reading order (coloured), position in the storage (grey)"
    numbers["fontsize"] = 9
    axes.text(0.04, -1.4 * line, legend, **numbers)
    return figure


# In boxes: the side of a grid's cell, the gap between its blocks, and that beside the boxes.
GRID_CELL, BLOCK_GAP, GRID_GAP = 0.8, 0.4, 1.0
# In inches: about how wide a letter of 9 points is.
LETTER = 0.078


class _Row:
    """One tensor's row: a title, the arrows of its strides, the boxes and their reading order.

    Below them come the brackets of windows; beside them stands the grid.
    """

    def __init__(
        self, name: str, view: torch.Tensor, number: int, colour_by: int | None, windows: int | None
    ) -> None:
        self.name, self.view = name, view
        self.tint, self.colour = TINTS[number % len(TINTS)], LINES[number % len(LINES)]
        self.positions = _positions(view)
        arrows = [
            (dim, stride)
            for dim, (size, stride) in enumerate(zip(view.shape, view.stride(), strict=True))
            if size > 1 and view.numel() > 0
        ]
        # The longer the step, the higher its arrow; a step of nothing stands above them all.
        self.arrows = sorted(arrows, key=lambda arrow: (arrow[1] == 0, arrow[1]))
        self.colour_by = colour_by if colour_by is not None and colour_by < view.dim() else None
        self.brackets = self._windows(windows)
        *self.outer, self.lines, self.columns = 1, 1, *view.shape
        blocks = math.prod(self.outer)
        self.grid_width = blocks * (self.columns * GRID_CELL + BLOCK_GAP)

    def _indices(self, dim: int) -> list[int]:
        """The index along ``dim`` of each element, in reading order."""
        step, size = math.prod(self.view.shape[dim + 1 :]), self.view.shape[dim]
        return [order // step % size for order in range(len(self.positions))]

    def _windows(self, dim: int | None) -> list[tuple[int, int]]:
        """The first and last position that is read at each index along ``dim``."""
        if dim is None or dim >= self.view.dim() or not self.positions:
            return []
        reached: dict[int, list[int]] = {}
        for index, position in zip(self._indices(dim), self.positions, strict=True):
            reached.setdefault(index, []).append(position)
        spans = [(min(inside), max(inside)) for _, inside in sorted(reached.items())]
        return spans if any(first < last for first, last in spans) else []

    def measure(self, unit: float, grid: bool) -> None:
        """How high the row is and where its labels stand, when a box is ``unit`` inches wide."""
        self.unit, self.line = unit, 0.21 / unit
        start = int(self.view.storage_offset()) + 0.5
        self.labels = []
        for level, (dim, stride) in enumerate(self.arrows):
            text = f"dim {dim}: " + (f"{stride:+d}" if stride else "0, stays")
            margin, width = 0.06 / unit, len(text) * LETTER / unit
            left = start + stride + margin
            # Longer arrows come down at the right of this one: its label stands behind those that
            # would run through it.
            for _, longer in self.arrows[level + 1 :]:
                if left - margin < start + longer < left + width + margin:
                    left = start + longer + margin
            self.labels.append((left, text))
        self.labels_end = max(
            (left + len(text) * LETTER / unit for left, text in self.labels), default=0.0
        )
        # Brackets that overlap stand below each other.
        ends: list[int] = []
        self.levels = []
        for first, last in self.brackets:
            level = next((n for n, end in enumerate(ends) if end < first), len(ends))
            ends[level : level + 1] = [last]
            self.levels.append(level)
        self.bracket_lines = 0.2 + 0.95 * len(ends) if ends else 0.0
        self.title_height = 2.2 * self.line
        beside = len(self.arrows) * self.line + 0.96 + (1.8 + self.bracket_lines) * self.line
        if grid:
            beside = max(beside, self.lines * GRID_CELL + 1.9 * self.line)
        self.height = self.title_height + beside

    @property
    def title(self) -> str:
        layout = f"size {tuple(self.view.shape)}   stride {self.view.stride()}"
        return f"{self.name}    {layout}   offset {self.view.storage_offset()}"

    def words(self, grid: bool) -> str:
        order = ", ".join(map(str, self.positions)) or "none"
        said = [
            f"{self.name} has size {tuple(self.view.shape)}, stride {self.view.stride()} and "
            f"offset {self.view.storage_offset()}; it reads positions {order}."
        ]
        if grid:
            said.append(f"As a grid: {self.view.tolist()}.")
        if self.colour_by is not None:
            said.append(f"Each index along dimension {self.colour_by} has its tint.")
        if self.brackets:
            spans = ", ".join(f"{first} to {last}" for first, last in self.brackets)
            said.append(f"Brackets: {spans}.")
        return " ".join(said)

    def draw(self, axes, top: float, values: list, grid_left: float | None) -> None:
        axes.text(
            0.04, top - 1.4 * self.line, self.title,
            ha="left", va="bottom", color=self.colour, fontsize=10.5, weight="bold",
        )  # fmt: skip
        below = top - self.title_height
        roof = below - len(self.arrows) * self.line
        floor = roof - 0.96
        reading: dict[int, list[int]] = {}
        for order, position in enumerate(self.positions):
            reading.setdefault(position, []).append(order)
        tints = self._tints()
        for position, value in enumerate(values):
            self._box(
                axes, position, floor, text_of(value), reading.get(position), tints.get(position)
            )
        start = int(self.view.storage_offset()) + 0.5
        for level, (arrow, label) in enumerate(zip(self.arrows, self.labels, strict=True), start=1):
            self._arrow(axes, start, roof, roof + level * self.line, arrow[1], *label)
        for index, (span, level) in enumerate(zip(self.brackets, self.levels, strict=True)):
            self._bracket(axes, span, floor - (1.0 + 0.95 * level) * self.line, str(index))
        if grid_left is not None:
            self._grid(axes, grid_left, below)

    def _tints(self) -> dict[int, list[str]]:
        """For each position that is read the tints of its box."""
        if self.colour_by is None:
            return {position: [self.tint] for position in self.positions}
        found: dict[int, dict[str, None]] = {}
        for index, position in zip(self._indices(self.colour_by), self.positions, strict=True):
            found.setdefault(position, {})[TINTS[index % len(TINTS)]] = None
        return {position: list(tints) for position, tints in found.items()}

    def _box(
        self, axes, position: int, floor: float, text: str, orders: list[int] | None,
        tints: list[str] | None,
    ) -> None:  # fmt: skip
        """One element: its value, and below it when it is read; grey if it is never read."""
        read = orders is not None
        self._square(axes, position + 0.04, floor, 0.92, tints or [EMPTY], read)
        axes.text(
            position + 0.5, floor + 0.45, text, ha="center", va="center",
            color=INK if read else FAINT, fontsize=72 * self.unit * min(0.34, 1.2 / len(text)),
        )  # fmt: skip
        if read:
            size = min(8.5, 20 * self.unit)
            letters = int(self.unit / (size * LETTER / 9))
            axes.text(
                position + 0.5, floor - 0.4 * self.line, _orders(orders, letters),
                ha="center", va="center", color=self.colour, fontsize=size,
            )  # fmt: skip

    def _square(
        self, axes, left: float, bottom: float, side: float, tints: list[str], read: bool
    ) -> None:
        """A square with a stripe of each tint."""
        stripe = side / len(tints)
        for number, tint in enumerate(tints):
            axes.add_patch(
                Rectangle(
                    (left + number * stripe, bottom), stripe, side, facecolor=tint, linewidth=0
                )
            )
        edge = self.colour if read else "#cfcfcf"
        axes.add_patch(
            Rectangle((left, bottom), side, side, fill=False, edgecolor=edge, linewidth=1.1)
        )

    def _arrow(
        self, axes, start: float, roof: float, high: float, stride: int, left: float, text: str
    ) -> None:
        """A bracket from the first element up, along, and down to the next one along its dim."""
        end = start + stride
        axes.plot([start, start, end], [roof, high, high], color=self.colour, linewidth=1.2)
        if stride:
            axes.add_patch(
                FancyArrowPatch(
                    (end, high), (end, roof), arrowstyle="-|>", mutation_scale=9,
                    color=self.colour, linewidth=1.2, shrinkA=0, shrinkB=0,
                )
            )  # fmt: skip
        else:
            axes.plot([start], [high], marker="o", markersize=4, color=self.colour)
        if left > end + 0.1 / self.unit:
            near = left - 0.03 / self.unit
            axes.plot([end, near], [high, high], color=self.colour, linewidth=0.8, linestyle=":")
        axes.text(left, high, text, ha="left", va="center", color=self.colour, fontsize=9)

    def _bracket(self, axes, span: tuple[int, int], high: float, text: str) -> None:
        """A bracket below the boxes that a window reads, with the window's index."""
        first, last = span[0] + 0.1, span[1] + 0.9
        low = high - 0.3 * self.line
        axes.plot([first, first, last, last], [high, low, low, high], color=self.colour, lw=1.2)
        axes.text(
            (first + last) / 2, low, text, ha="center", va="center", color=self.colour,
            fontsize=8.5, bbox={"facecolor": EMPTY, "edgecolor": "none", "pad": 0.8},
        )  # fmt: skip

    def _grid(self, axes, left: float, top: float) -> None:
        """The tensor as it is indexed: rows and columns, a block for each index before them."""
        tints = self._tints()
        indices = self._indices(self.colour_by) if self.colour_by is not None else None
        values = self.view.detach().reshape(-1).tolist()
        per_block = self.lines * self.columns
        for order, (position, value) in enumerate(zip(self.positions, values, strict=True)):
            block, inside = divmod(order, per_block)
            row, column = divmod(inside, self.columns)
            x = left + block * (self.columns * GRID_CELL + BLOCK_GAP) + column * GRID_CELL
            y = top - (row + 1) * GRID_CELL
            tint = [TINTS[indices[order] % len(TINTS)]] if indices else tints[position]
            self._square(axes, x, y, GRID_CELL, tint, True)
            text = text_of(value)
            size = 72 * self.unit * GRID_CELL * min(0.36, 1.2 / len(text))
            axes.text(
                x + GRID_CELL / 2, y + GRID_CELL / 2, text,
                ha="center", va="center", color=INK, fontsize=size,
            )  # fmt: skip
        lines = self.lines if self.positions else 0
        axes.text(
            left, top - lines * GRID_CELL - 0.25 * self.line, self._directions(),
            ha="left", va="top", color=self.colour, fontsize=8.5,
        )  # fmt: skip

    def _directions(self) -> str:
        """Which way each dimension goes in the grid."""
        last = self.view.dim() - 1
        if not self.positions:
            return "no element"
        ways = [f"dim {dim}: blocks" for dim in range(last - 1)]
        ways += [f"dim {last - 1} ↓"] if last >= 1 else []
        ways += [f"dim {last} →"] if last >= 0 else ["one number"]
        return ", ".join(ways)


def _orders(orders: list[int], letters: int) -> str:
    """The reading numbers of one box; where they are too long, the first and how many."""
    text = ",".join(map(str, orders))
    return text if len(text) <= letters or len(orders) == 1 else f"{orders[0]}…×{len(orders)}"
