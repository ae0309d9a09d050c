"""The graph that autograd recorded, read from a tensor's ``grad_fn``."""

from __future__ import annotations

import re
import sys
from typing import Any

import torch
from torch.autograd.graph import GradientEdge

from course_utils.learner.drawings import text_of
from course_utils.learner.graph_pictures import GraphPicture, Node

MOST_NODES = 60
MOST_VALUES = 4


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
