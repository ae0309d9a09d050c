"""Pictures of the graph that autograd recorded, read from a tensor's ``grad_fn``."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path
from torch.autograd.graph import GradientEdge

from course_utils.learner.drawings import (
    DOTS_PER_INCH,
    INK,
    LINES,
    TINTS,
    as_png,
    text_of,
    words_only,
)

MOST_NODES = 60
MOST_VALUES = 4

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


def draw_graph(
    tensor: torch.Tensor,
    /,
    *,
    values: bool = False,
    saved: bool | None = None,
    **names: torch.Tensor,
) -> GraphPicture:
    """Draw the graph that autograd recorded for ``tensor``, from its ``grad_fn`` to the leaves.

    Every backward function is a box with the tensors that it saved: name, shape, bytes, and the
    version if it was written to. A saved tensor that was changed since, or freed by a backward, is
    said to be so. Every leaf shows its shape and version and, after backward, its gradient.

    With ``values`` every box is a value: its name and number, the function that undoes it, and the
    slope of ``tensor`` there. The graph and every ``grad`` stay as they are.

    Args:
        tensor: one that requires grad.
        values: show numbers and slopes; ``tensor`` has one element. It goes by the name that the
            calling code has for it. A number is known where a tensor is among ``names``.
        saved: show saved tensors; by default they are shown unless ``values`` are.
        names: what to call tensors of the graph: leaves, and intermediate results, whose gradient
            is shown if they retain it: ``draw_graph(loss, w=w, h=h)``, or
            ``draw_graph(loss, **dict(model.named_parameters()))``. Names of tensors that the
            graph does not reach are listed below the picture.

    Returns:
        The picture. In a notebook the last line of a cell shows it.

    Raises:
        ValueError: ``tensor`` does not require grad, so no graph was recorded; or the graph has
            more than 60 nodes; or ``values`` are asked for and ``tensor`` has several elements.
    """
    saved = not values if saved is None else saved
    if not tensor.requires_grad:
        raise ValueError(
            "there is no graph to draw: the tensor does not require grad. Was it made under "
            "no_grad, detached, or from nothing that requires grad?"
        )
    if values:
        if tensor.numel() != 1:
            shape = tuple(tensor.shape)
            raise ValueError(
                f"values=True draws slopes of one number; the tensor has shape {shape}"
            )
        caller = sys._getframe(1)
        known = _name_of(tensor, names) or _name_in({**caller.f_globals, **caller.f_locals}, tensor)
        return _with_values(tensor, saved, {known or "result": tensor, **names})
    output = Node("output", _titled(_name_of(tensor, names) or "result", tensor))
    if _version(tensor):
        output.lines.append(f"version {_version(tensor)}")
    nodes: dict[Any, Node] = {}
    if tensor.grad_fn is None:
        output.kind = "leaf"
        output.lines = _about_leaf(tensor)
    else:
        _walk(tensor, names, nodes, saved)
        output.inputs = [(nodes[tensor.grad_fn], tensor.output_nr)]
        if tensor.retains_grad:
            output.lines.append(_gradient(tensor))
    reached = [output, *_in_order(output)]
    return GraphPicture(reached, _strangers(tensor, names, nodes), saved=saved)


def _with_values(tensor: torch.Tensor, saved: bool, names: dict[str, torch.Tensor]) -> GraphPicture:
    """The graph of a number: a box for each value, with its number and the slope there."""
    nodes: dict[Any, Node] = {}
    if tensor.grad_fn is None:
        root = Node("leaf", next(iter(names)))
        nodes[tensor] = root
    else:
        _walk(tensor, {}, nodes, saved)
        root = nodes[tensor.grad_fn]
        root.kind = "output" if root.kind == "function" else root.kind
    slopes = _slopes(tensor, nodes)
    for function, node in nodes.items():
        leaf = function if function is tensor else getattr(function, "variable", None)
        label = node.title if leaf is None else "leaf"
        found = {
            name: other
            for name, other in names.items()
            if (other is leaf if leaf is not None else other.grad_fn is function)
        }
        if leaf is not None and not found:
            found = {"leaf": leaf}
        node.title = "; ".join(f"{name} = {_numbers(other)}" for name, other in found.items())
        lines = [label, *node.lines] if leaf is None and node.title else list(node.lines)
        node.title = node.title or label
        node.lines = [line for line in lines if leaf is None or not line.startswith("grad ")]
        node.lines += [f"slope {_numbers(slope)}" for slope in slopes.get(function, [])]
    return GraphPicture([root, *_in_order(root)], _strangers(tensor, names, nodes), values=True)


def _slopes(tensor: torch.Tensor, nodes: dict[Any, Node]) -> dict[Any, list[torch.Tensor]]:
    """The slope of ``tensor`` at each function's outputs; nothing where backward is impossible."""
    if tensor.grad_fn is None:
        return {tensor: [torch.ones_like(tensor)]}
    asked = {(tensor.grad_fn, tensor.output_nr): None}
    for function in nodes:
        asked |= {(child, n): None for child, n in function.next_functions if child is not None}
    asked = sorted(asked, key=lambda edge: edge[1])
    edges = [getattr(child, "variable", GradientEdge(child, n)) for child, n in asked]
    try:
        found = torch.autograd.grad(
            tensor, edges, torch.ones_like(tensor), retain_graph=True, allow_unused=True
        )
    except RuntimeError:  # a backward freed what was saved, or an edit changed it
        return {}
    slopes: dict[Any, list[torch.Tensor]] = {}
    for (function, _), slope in zip(asked, found, strict=True):
        if slope is not None:
            slopes.setdefault(function, []).append(slope)
    return slopes


def _numbers(tensor: torch.Tensor) -> str:
    """A tensor's values in a few words, or its shape."""
    tensor = tensor.detach()
    if tensor.layout is not torch.strided or tensor.numel() > MOST_VALUES:
        return str(tuple(tensor.shape))
    numbers = ", ".join(map(text_of, tensor.flatten().tolist()))
    return numbers if tensor.dim() == 0 else f"[{numbers}]"


def _name_in(variables: dict[str, object], tensor: torch.Tensor) -> str | None:
    """The name that code has for a tensor; names that begin with _ are the notebook's own."""
    named = (name for name, value in variables.items() if value is tensor and name[0] != "_")
    return next(named, None)


def _strangers(
    tensor: torch.Tensor, names: dict[str, torch.Tensor], nodes: dict[Any, Node]
) -> list[str]:
    """The names of tensors that the graph does not reach."""
    functions = set(nodes)
    return [
        name
        for name, other in names.items()
        if other is not tensor and not functions & {other.grad_fn, _accumulator(other, nodes)}
    ]


def _accumulator(tensor: torch.Tensor, nodes: dict[Any, Node]) -> object:
    """The node of ``nodes`` that accumulates into ``tensor``; itself if there is none."""
    return next((fn for fn in nodes if getattr(fn, "variable", None) is tensor), tensor)


def _walk(
    tensor: torch.Tensor,
    names: dict[str, torch.Tensor],
    nodes: dict[Any, Node],
    saved: bool = True,
) -> None:
    """Make a node for every function that the backward of ``tensor`` would run."""
    results: dict[Any, list[str]] = {}
    for name, other in names.items():
        if other.grad_fn is not None and other is not tensor:
            gradient = f", {_gradient(other)}" if other.retains_grad else ""
            results.setdefault(other.grad_fn, []).append(f"gives {_titled(name, other)}{gradient}")
    waiting: list[Any] = [tensor.grad_fn]
    while waiting:
        function = waiting.pop()
        if function in nodes:
            continue
        if len(nodes) == MOST_NODES:
            raise ValueError(f"the graph has more than {MOST_NODES} nodes: too many to draw")
        if hasattr(function, "variable"):
            leaf = function.variable
            name = _name_of(leaf, names) or "leaf"
            nodes[function] = Node("leaf", _titled(name, leaf), _about_leaf(leaf))
            continue
        node = nodes[function] = Node("function", function.name().split("::")[-1])
        node.lines += results.get(function, [])
        _add_saved(node, function, names, saved)
        waiting += [child for child, _ in function.next_functions if child is not None]
    for function, node in nodes.items():
        node.inputs = [(nodes[child], n) for child, n in function.next_functions if child]


def _add_saved(
    node: Node, function: object, names: dict[str, torch.Tensor], shown: bool = True
) -> None:
    """Write down what a backward function saved; if not ``shown``, only what is wrong with it."""
    for attribute in sorted(dir(function)):
        if not attribute.startswith("_raw_saved_"):
            continue
        name = attribute.removeprefix("_raw_saved_")
        readable = "saved_tensors" if name == "tensors" else f"_saved_{name}"
        try:
            value = getattr(function, readable)
        except RuntimeError as error:
            versions = re.search(r"is at version (\d+); expected version (\d+)", str(error))
            if versions:
                node.kind = "broken"
                now, then = versions.groups()
                node.lines.append(f"saved {name}: CHANGED, version {then}, now {now}")
            elif shown:
                what = "" if name == "tensors" else f" {name}"
                node.lines.append(f"saved{what}: freed")
            continue
        many = isinstance(value, (tuple, list))
        for number, tensor in enumerate(value if many else [value]):
            if isinstance(tensor, torch.Tensor):
                node.saved.append(tensor)
                label = f"saved {name}[{number}]" if many else f"saved {name}"
                if shown:
                    node.lines.append(f"{label}: {_about_saved(tensor, names)}")


def _about_saved(tensor: torch.Tensor, names: dict[str, torch.Tensor]) -> str:
    known = _name_of(tensor, names)
    name = f"{known} " if known else ""
    version = f", version {_version(tensor)}" if _version(tensor) else ""
    return f"{name}{tuple(tensor.shape)}, {tensor.numel() * tensor.itemsize} B{version}"


def _about_leaf(leaf: torch.Tensor) -> list[str]:
    version = [f"version {_version(leaf)}"] if _version(leaf) else []
    return [*version, _gradient(leaf)]


def _gradient(tensor: torch.Tensor) -> str:
    """A tensor's gradient in a few words: its values if they are few."""
    if tensor.grad is None:
        return "grad None"
    if tensor.grad.layout is not torch.strided:
        return f"grad {tuple(tensor.grad.shape)}, sparse"
    if tensor.grad.numel() > MOST_VALUES:
        return f"grad {tuple(tensor.grad.shape)}, norm {tensor.grad.norm().item():.3g}"
    values = ", ".join(map(text_of, tensor.grad.flatten().tolist()))
    return f"grad {values}" if tensor.grad.dim() == 0 else f"grad [{values}]"


def _name_of(tensor: torch.Tensor, names: dict[str, torch.Tensor]) -> str | None:
    """The name that was given to a tensor, or to one that it is the saved form of."""
    for name, other in names.items():
        same = other.shape == tensor.shape and other.stride() == tensor.stride()
        if other is tensor or (
            same and tensor.numel() and other.data_ptr() == tensor.data_ptr()
            and other.grad_fn is tensor.grad_fn
        ):  # fmt: skip
            return name
    return None


def _version(tensor: torch.Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


def _titled(name: str, tensor: torch.Tensor) -> str:
    return f"{name} {tuple(tensor.shape)}"


def _in_order(output: Node) -> list[Node]:
    """The nodes behind ``output``, each before the nodes that its gradients go to."""
    done: dict[int, Node] = {}
    stack: list[tuple[Node, bool]] = [(output, False)]
    seen = set()
    while stack:
        node, finished = stack.pop()
        if finished:
            done[id(node)] = node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack += [(child, False) for child, _ in node.inputs]
    return [node for node in reversed(done.values()) if node is not output]


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
