"""The picture of a graph: in words, in Mermaid's language, and drawn with matplotlib."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path

from course_utils.learner.drawings import DOTS_PER_INCH, INK, LINES, TINTS, as_png, words_only

# Fill and line of each kind of box. A kind also has its own words, for who sees no colours.
COLOURS = {
    "output": (TINTS[1], LINES[1]),
    "function": (TINTS[0], LINES[0]),
    "leaf": (TINTS[2], LINES[2]),
    "broken": (TINTS[5], LINES[5]),
}


@dataclass
class Node:
    """One box: the tensor that was asked about, a backward function, or a leaf.

    Attributes:
        kind: ``"output"``, ``"function"``, ``"leaf"``, or ``"broken"`` for a function whose saved
            tensor was changed in place.
        title: the function's name, or the tensor's name and shape.
        lines: what is known of it: saved tensors, version, gradient.
        inputs: for each edge, the node that the gradient goes to, and the number of the output
            of that node's forward function that it is the gradient of.
        saved: the tensors that the function keeps for backward and that can be read.
    """

    kind: str
    title: str
    lines: list[str] = field(default_factory=list)
    inputs: list[tuple[Node, int]] = field(default_factory=list)
    saved: list[torch.Tensor] = field(default_factory=list)


class GraphPicture:
    """A graph that shows itself in a notebook: as Mermaid in JupyterLab, as PNG elsewhere.

    Attributes:
        nodes: every box, the output first, each before the nodes that its gradients go to.
        saved_bytes: the bytes that the graph keeps for backward; what several functions save is
            counted once, and so are views of one storage.
        alt: the whole picture in words.
    """

    def __init__(
        self, nodes: list[Node], strangers: list[str], values: bool = False, saved: bool = True
    ) -> None:
        self.nodes, self.strangers, self.values, self.saved = nodes, strangers, values, saved
        kept = {}
        for tensor in (tensor for node in nodes for tensor in node.saved):
            storage = tensor.untyped_storage()
            kept[tensor.device, storage.data_ptr()] = storage.nbytes()
        self.saved_bytes = sum(kept.values())

    @property
    def caption(self) -> str:
        words = ["Arrows: the way of backward."]
        if self.values:
            words.append(f"Each slope is that of {self.nodes[0].title.split(' ')[0]} there.")
        elif self.saved:
            words.append(f"Saved for it: {self.saved_bytes} bytes.")
            if any("CHANGED" in line for node in self.nodes for line in node.lines):
                words.append("What was changed is not counted: it cannot be read any more.")
        if self.strangers:
            words.append(f"Not in this graph: {', '.join(self.strangers)}.")
        return " ".join(words)

    @property
    def alt(self) -> str:
        number = {id(node): count for count, node in enumerate(self.nodes)}
        words = []
        for node in self.nodes:
            to = ", ".join(
                f"{number[id(child)]}" + (f" (its output {output})" if output else "")
                for child, output in node.inputs
            )
            said = "; ".join([node.title, *node.lines])
            words.append(f"{number[id(node)]}: {said}" + (f" -> {to}" if to else ""))
        first = "A graph, each line a node and the nodes that its gradients go to."
        return "\n".join([first, *words, self.caption])

    @property
    def mermaid(self) -> str:
        """The picture in Mermaid's own language."""
        number = {id(node): count for count, node in enumerate(self.nodes)}
        words = self.alt.replace("{", "(").replace("}", ")").replace("->", "to")
        lines = ["flowchart TD", "  accTitle: a graph", "  accDescr {", words, "  }"]
        for node in self.nodes:
            label = "<br/>".join(map(_for_mermaid, [node.title, *node.lines]))
            lines.append(f'  n{number[id(node)]}["{label}"]:::{node.kind}')
        for node in self.nodes:
            for child, output in node.inputs:
                arrow = f'-->|"output {output}"|' if output else "-->"
                lines.append(f"  n{number[id(node)]} {arrow} n{number[id(child)]}")
        lines.append(f'  caption["{_for_mermaid(self.caption)}"]:::caption')
        lines += [
            f"  classDef {kind} fill:{fill},stroke:{line},color:{INK}"
            for kind, (fill, line) in COLOURS.items()
        ]
        lines.append("  classDef caption fill:none,stroke:none")
        return "\n".join(lines)

    @property
    def figure(self) -> Figure:
        """The picture drawn with matplotlib."""
        return _draw(self)

    def __repr__(self) -> str:
        return self.alt

    def _repr_mimebundle_(self, include=None, exclude=None):
        if words_only():
            return {"text/plain": self.alt}, {}
        png, metadata = as_png(self.figure, self.alt)
        data: dict[str, bytes | str] = {**png, "text/plain": self.alt}
        # Pages made by graders show Mermaid's source where they can't fetch its script.
        if os.environ.get("COURSE_PICTURES") != "drawn":
            data["text/vnd.mermaid"] = self.mermaid
        return data, metadata


def _for_mermaid(text: str) -> str:
    """``text`` inside a quoted label."""
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


# The picture in matplotlib: nodes in layers, the output on top, and places between them where long
# edges pass.

LETTER, LINE, GAP, BETWEEN = 0.079, 0.19, 0.3, 0.42


class _Place:
    """Where a node stands, or where an edge passes through a layer (then ``node`` is None)."""

    def __init__(self, layer: int, node: Node | None = None) -> None:
        self.layer, self.node = layer, node
        self.above: list[_Place] = []
        self.below: list[_Place] = []
        self.used: dict[tuple[int, str], int] = {}
        self.x = self.top = 0.0
        lines = [node.title, *node.lines] if node else []
        letters = max([1.15 * len(lines[0]), *map(len, lines[1:])]) if lines else 0
        self.width = letters * LETTER + (0.25 if lines else 0.1)
        self.height = len(lines) * LINE + 0.14 if lines else 0.0


def _places(nodes: list[Node]) -> tuple[list[list[_Place]], list[tuple[list[_Place], int]]]:
    """The places of every layer, and the chain of places of every edge with its output number."""
    layer = {id(node): 0 for node in nodes}
    for node in nodes:
        for child, _ in node.inputs:
            layer[id(child)] = max(layer[id(child)], layer[id(node)] + 1)
    layers: list[list[_Place]] = [[] for _ in range(max(layer.values()) + 1)]
    place = {}
    for node in nodes:
        place[id(node)] = _Place(layer[id(node)], node)
        layers[layer[id(node)]].append(place[id(node)])
    chains = []
    for node in nodes:
        for child, output in node.inputs:
            chain = [place[id(node)]]
            for between in range(layer[id(node)] + 1, layer[id(child)]):
                chain.append(_Place(between))
                layers[between].append(chain[-1])
            chain.append(place[id(child)])
            for upper, lower in pairwise(chain):
                upper.below.append(lower)
                lower.above.append(upper)
            chains.append((chain, output))
    return layers, chains


def _arrange(layers: list[list[_Place]]) -> None:
    """Order each layer so that few edges cross, and put every place near its neighbours."""

    def pack(row: list[_Place], wanted: dict[int, float]) -> None:
        """Places from left to right without overlap, as near as can be to where they want."""
        edge = -1e9
        for place in row:
            place.x = max(wanted[id(place)], edge + place.width / 2)
            edge = place.x + place.width / 2 + GAP
        shift = sum(wanted[id(place)] - place.x for place in row) / len(row)
        for place in row:
            place.x += shift

    for row in layers:
        pack(row, dict.fromkeys(map(id, row), 0.0))
    for sweep in range(12):
        down = sweep % 2 == 0
        for row in layers if down else reversed(layers):
            wanted = {}
            for place in row:
                near = place.above if down else place.below
                near = near or (place.above + place.below)
                mean = sum(other.x for other in near) / len(near) if near else place.x
                wanted[id(place)] = mean
            if sweep < 8:
                row.sort(key=lambda place: wanted[id(place)])
            pack(row, wanted)


def _draw(picture: GraphPicture) -> Figure:
    layers, chains = _places(picture.nodes)
    _arrange(layers)
    top = 0.0
    for row in layers:
        for place in row:
            place.top = top
        deepest = max(place.height for place in row)
        for place in row:
            if place.node is None:
                place.height = deepest
        top -= deepest + BETWEEN
    caption = len(picture.caption) * 0.9 * LETTER
    left = min(place.x - place.width / 2 for row in layers for place in row) - 0.1
    right = max(place.x + place.width / 2 for row in layers for place in row) + 0.1
    # Where the caption is wider than the graph, the graph stands in its middle.
    spare = max(0.0, caption + 0.2 - (right - left)) / 2
    left, right = left - spare, right + spare
    height = -top + 0.2
    figure = Figure(figsize=(right - left, height), dpi=DOTS_PER_INCH)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(left, right)
    axes.set_ylim(0.1 - height, 0.1)
    for chain, output in chains:
        _draw_edge(axes, chain, output)
    for place in (place for row in layers for place in row if place.node):
        _draw_box(axes, place)
    axes.text(left + 0.1, 0.2 - height, picture.caption, fontsize=9, color="#5a5a5a", va="bottom")
    return figure


def _draw_box(axes, place: _Place) -> None:
    node = place.node
    assert node is not None, "only a place on an edge has no node"
    fill, line = COLOURS[node.kind]
    axes.add_patch(
        FancyBboxPatch(
            (place.x - place.width / 2 + 0.05, place.top - place.height + 0.05),
            place.width - 0.1, place.height - 0.1, boxstyle="round,pad=0.05",
            facecolor=fill, edgecolor=line, linewidth=1.2,
        )
    )  # fmt: skip
    for number, text in enumerate([node.title, *node.lines]):
        axes.text(
            place.x, place.top - 0.07 - (number + 0.5) * LINE, text, ha="center", va="center",
            fontsize=9.5 if number == 0 else 9, color=INK,
            weight="bold" if number == 0 else "normal",
        )  # fmt: skip


def _draw_edge(axes, chain: list[_Place], output: int) -> None:
    """A curve from the bottom of one box to the top of another, past the boxes between."""
    first, last = chain[0], chain[-1]
    # Two edges between the same boxes, as in x * x, lie side by side.
    start = first.x + _fan(first, first.below, chain[1])
    end = last.x + _fan(last, last.above, chain[-2])
    points = [(start, first.top - first.height)]
    for place in chain[1:-1]:
        points += [(place.x, place.top), (place.x, place.top - place.height)]
    points.append((end, last.top + 0.02))
    vertices, codes = [points[0]], [Path.MOVETO]
    for number in range(1, len(points)):
        (x0, y0), (x1, y1) = points[number - 1], points[number]
        if number % 2:
            middle = (y0 + y1) / 2
            vertices += [(x0, middle), (x1, middle), (x1, y1)]
            codes += [Path.CURVE4] * 3
        else:
            vertices.append((x1, y1))
            codes.append(Path.LINETO)
    axes.add_patch(PathPatch(Path(vertices, codes), fill=False, edgecolor="#5a5a5a", linewidth=1.2))
    axes.plot([end], [last.top + 0.05], marker="v", markersize=6, color="#5a5a5a")
    if output:
        axes.text(
            end, last.top + 0.14, f"output {output}", fontsize=8, color=INK, ha="center",
            va="bottom", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )  # fmt: skip


def _fan(place: _Place, neighbours: list[_Place], other: _Place) -> float:
    """How far from a box's middle an edge begins or ends, so that its edges do not lie together."""
    order = sorted(neighbours, key=lambda neighbour: neighbour.x)
    same = [number for number, neighbour in enumerate(order) if neighbour is other]
    side = "above" if other.layer < place.layer else "below"
    taken = place.used.get((id(other), side), 0)
    place.used[id(other), side] = taken + 1
    spread = min(0.25, (place.width - 0.3) / max(len(order), 1))
    return (same[taken % len(same)] - (len(order) - 1) / 2) * spread
