"""Pictures of chapter 18: when a layer is gathered, computed and freed; a mesh and its matrix."""

from __future__ import annotations

from matplotlib.patches import Rectangle

BLUE, ORANGE, GREEN, PINK, GREY = "#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#dddddd"


def overlap(layers: int, gather: int, compute: int, ahead: int) -> list[tuple[str, int, int, int]]:
    """(what, layer, start, end) of each gather and computation of a forward pass.

    One gather runs at a time, and one computation. Layer n's gather begins when layer
    n - 1 - ``ahead`` has been computed: with ``ahead`` 0 nothing runs at the same time.
    """
    rows, network, computed = [], 0, []
    for layer in range(layers):
        behind = layer - 1 - ahead
        start = max(network, computed[behind] if behind >= 0 else 0)
        network = start + gather
        rows.append(("gather", layer, start, network))
        begin = max(network, computed[-1] if computed else 0)
        computed.append(begin + compute)
        rows.append(("compute", layer, begin, computed[-1]))
    return rows


def most_whole(rows: list[tuple[str, int, int, int]]) -> int:
    """How many layers are whole at once, from the start of a gather to the end of the computing."""
    spans: dict[int, list[int]] = {}
    for _, layer, start, end in rows:
        spans.setdefault(layer, []).extend((start, end))
    begins = [min(span) for span in spans.values()]
    return max(sum(min(s) <= at < max(s) for s in spans.values()) for at in begins)


def draw_overlap(axes, rows, name: str) -> None:
    """Three lines: the network gathers, the processor computes, and how long a layer is whole."""
    places = {"gather": 0, "compute": 1}
    colours = {"gather": ORANGE, "compute": BLUE}
    ends = {layer: end for what, layer, _, end in rows if what == "compute"}
    for what, layer, start, end in rows:
        axes.barh(places[what], end - start, left=start, color=colours[what], ec="black", lw=0.6)
        axes.text((start + end) / 2, places[what], layer + 1, ha="center", va="center", fontsize=8)
        if what == "gather":
            line = 2 + 0.45 * (layer % 2)
            whole = ends[layer] - start
            axes.barh(line, whole, left=start, height=0.4, color=GREEN, ec="black", lw=0.6)
            axes.text(
                start + whole / 2, line, layer + 1, ha="center", va="center", fontsize=8, color="w"
            )
    title = f"{name}: {rows[-1][-1]} ticks, at most {most_whole(rows)} whole"
    axes.set(title=title, yticks=(0, 1, 2.2), yticklabels=("gather", "compute", "whole"))
    axes.invert_yaxis()


def draw_mesh(axes, places: list[tuple[int, int]], rows: list[list[int]], height: int) -> None:
    """Left the ranks at their places (data, tensor); right the rows of a matrix that each keeps."""
    colours = (BLUE, ORANGE, GREEN, PINK)
    for rank, (data, tensor) in enumerate(places):
        corner = (3 * tensor, 2.6 * (1 - data))
        axes.add_patch(Rectangle(corner, 1.6, 1.4, fc=colours[rank], ec="black"))
        words = f"rank {rank}\n({data}, {tensor})"
        axes.text(corner[0] + 0.8, corner[1] + 0.7, words, ha="center", va="center", fontsize=9)
        for row in rows[rank]:
            top = 4 * (1 - row / height)
            step = 4 / height
            axes.add_patch(Rectangle((8, top - step), 2, step, fc=colours[rank], ec="black"))
            axes.text(10.2, top - step / 2, f"row {row}", va="center", fontsize=8)
    arrow = {"arrowstyle": "<->", "lw": 1.5}
    for middle in (0.7, 3.3):
        axes.annotate("", (3, middle), (1.6, middle), arrowprops=arrow)
        axes.text(2.3, middle + 0.15, "all-reduce", ha="center", fontsize=8)
    for left in (0.8, 3.8):
        axes.annotate("", (left, 2.6), (left, 1.4), arrowprops=arrow)
        axes.text(left + 0.12, 2, "all-gather,\nreduce-scatter", va="center", fontsize=8)
    axes.set(xlim=(-0.3, 11.6), ylim=(-0.2, 4.3))
    axes.axis("off")
