"""Pictures of what memory does, drawn with matplotlib and carrying their own alt text."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence

import torch
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

MOST_BOXES = 40
WIDTH_INCHES = 9.0
DOTS_PER_INCH = 100

# Light tints of the colour-blind-safe Okabe-Ito palette, with the strong colour for lines.
TINTS = ("#bfe0f5", "#fbdcb0", "#c2e8d9", "#f3d3e4", "#fdf3b4", "#f6cdb6")
LINES = ("#0072b2", "#b86e00", "#00805c", "#a84a82", "#8a7a00", "#b04500")
EMPTY, FAINT, INK = "#ffffff", "#8a8a8a", "#1a1a1a"


class Drawing(Figure):
    """A matplotlib figure that shows itself once in a notebook, with its alt text.

    Attributes:
        alt: what the picture shows, in words, for who cannot see it.
    """

    alt: str = ""

    def _repr_mimebundle_(self, include=None, exclude=None):
        if words_only():
            return {"text/plain": self.alt}, {}
        return {"image/png": _png(self)}, {"image/png": {"alt": self.alt}}


def words_only() -> bool:
    """Whether pictures are shown as their alt text: graders run notebooks that nobody looks at.

    Drawing is by far the slowest thing that a chapter does.
    """
    return os.environ.get("COURSE_PICTURES") == "words"


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH, facecolor="white", bbox_inches="tight")
    return buffer.getvalue()


def show(figure: Figure, alt: str) -> None:
    """Display a figure made with ``plt.subplots`` once, as PNG, with alt text, and close it.

    Args:
        figure: the figure to show.
        alt: what the picture shows, in words, for who cannot see it.

    Raises:
        ValueError: ``alt`` is empty.
    """
    import matplotlib.pyplot as plt
    from IPython.display import display

    if not alt.strip():
        raise ValueError("alt is empty: say in a sentence what the picture shows")
    if words_only():
        display({"text/plain": alt}, raw=True)
    else:
        display({"image/png": _png(figure)}, metadata={"image/png": {"alt": alt}}, raw=True)
    plt.close(figure)


def _positions(tensor: torch.Tensor) -> list[int]:
    """The storage positions of a tensor's elements, in reading (row-major) order."""
    positions = [tensor.storage_offset()]
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        positions = [start + index * stride for start in positions for index in range(size)]
    return positions


def text_of(value) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def draw_storage(
    tensor: torch.Tensor, *views: torch.Tensor, names: Sequence[str] | None = None
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

    Returns:
        The figure, nine inches wide. In a notebook the last line of a cell shows it.

    Raises:
        ValueError: the storage is too long to draw, a view does not share it or has another
            dtype, or the names are too many or too few.
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
    values = torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(storage).tolist()

    # Boxes are square and one data unit wide; `line` is the height of a line of text in that unit.
    unit = min(0.6, (WIDTH_INCHES - 0.2) / max(count, 1))
    line = 0.21 / unit
    rows = [
        _Row(name, view, TINTS[row % len(TINTS)], LINES[row % len(LINES)], unit, line)
        for row, (name, view) in enumerate(zip(names, tensors, strict=True))
    ]
    top = sum(row.height for row in rows)
    figure = Drawing(figsize=(WIDTH_INCHES, unit * (top + 1.2 * line)), dpi=DOTS_PER_INCH)
    figure.alt = f"A storage of {count} boxes. " + " ".join(row.words() for row in rows)
    if words_only():
        return figure
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.1 / unit, WIDTH_INCHES / unit - 0.1 / unit)
    axes.set_ylim(-1.2 * line, top)
    for row in rows:
        top -= row.height
        row.draw(axes, top, values)
    numbers = {"va": "center", "color": FAINT, "fontsize": min(9, 20 * unit)}
    for position in range(count):
        axes.text(position + 0.5, -0.3 * line, str(position), ha="center", **numbers)
    legend = "small numbers: reading order (coloured), position in the storage (grey)"
    axes.text(0.04, -0.95 * line, legend, **numbers | {"fontsize": 9})
    return figure


class _Row:
    """One tensor's row: a title, the arrows of its strides, the boxes and their reading order."""

    def __init__(
        self, name: str, view: torch.Tensor, tint: str, colour: str, unit: float, line: float
    ) -> None:
        self.name, self.view, self.tint, self.colour = name, view, tint, colour
        self.unit, self.line = unit, line
        self.positions = _positions(view)
        arrows = [
            (dim, stride)
            for dim, (size, stride) in enumerate(zip(view.shape, view.stride(), strict=True))
            if size > 1 and view.numel() > 0
        ]
        # The longer the step, the higher its arrow; a step of nothing stands above them all.
        self.arrows = sorted(arrows, key=lambda arrow: (arrow[1] == 0, arrow[1]))
        self.height = 1.0 + self.line * (3.6 + len(self.arrows))

    @property
    def title(self) -> str:
        layout = f"size {tuple(self.view.shape)}   stride {self.view.stride()}"
        return f"{self.name}    {layout}   offset {self.view.storage_offset()}"

    def words(self) -> str:
        order = ", ".join(map(str, self.positions)) or "none"
        return (
            f"{self.name} has size {tuple(self.view.shape)}, stride {self.view.stride()} and "
            f"offset {self.view.storage_offset()}; it reads positions {order}."
        )

    def draw(self, axes, bottom: float, values: list) -> None:
        floor = bottom + 1.4 * self.line
        roof = floor + 0.96
        reading: dict[int, list[int]] = {}
        for order, position in enumerate(self.positions):
            reading.setdefault(position, []).append(order)
        for position, value in enumerate(values):
            self._box(axes, position, floor, text_of(value), reading.get(position))
        start = self.view.storage_offset() + 0.5
        for level, (dim, stride) in enumerate(self.arrows, start=1):
            self._arrow(axes, start, roof, roof + level * self.line, dim, stride)
        axes.text(
            0.04, roof + (len(self.arrows) + 0.8) * self.line, self.title,
            ha="left", va="bottom", color=self.colour, fontsize=10.5, weight="bold",
        )  # fmt: skip

    def _box(self, axes, position: int, floor: float, text: str, orders: list[int] | None) -> None:
        """One element: its value, and below it when it is read; grey if it is never read."""
        read = orders is not None
        axes.add_patch(
            Rectangle(
                (position + 0.04, floor), 0.92, 0.92, linewidth=1.1,
                facecolor=self.tint if read else EMPTY,
                edgecolor=self.colour if read else "#cfcfcf",
            )
        )  # fmt: skip
        axes.text(
            position + 0.5, floor + 0.45, text, ha="center", va="center",
            color=INK if read else FAINT, fontsize=72 * self.unit * min(0.34, 1.2 / len(text)),
        )  # fmt: skip
        if read:
            axes.text(
                position + 0.5, floor - 0.4 * self.line, _orders(orders), ha="center", va="center",
                color=self.colour, fontsize=min(8.5, 20 * self.unit),
            )  # fmt: skip

    def _arrow(self, axes, start: float, roof: float, high: float, dim: int, stride: int) -> None:
        """A bracket from the first element up, along, and down to the next one along ``dim``."""
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
        step = f"{stride:+d}" if stride else "0, stays"
        axes.text(
            end + 0.06 / self.unit, high, f"dim {dim}: {step}",
            ha="left", va="center", color=self.colour, fontsize=9,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )  # fmt: skip


def _orders(orders: list[int]) -> str:
    """The reading numbers of one box; a box that is read often shows the first and how many."""
    if len(orders) <= 3:
        return ",".join(map(str, orders))
    return f"{orders[0]}… ×{len(orders)}"
