"""How the chapter on hooks tries an answer: models, a count of hooks, runs, and what is right.

A function ``run_…`` calls the learner's function, in the learner's process, and returns plain
values. A function ``check_…`` is handed a function of the notebook that does so, and compares with
what it computes by itself.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import BackwardCFunction
from torch.utils._pytree import tree_leaves

import course_utils
from course_utils import hook_slips
from course_utils.checks import check_close, check_equal, forbid_changes
from course_utils.gradients import grad_of
from course_utils.hook_slips import check_entries, check_near
from course_utils.layers import agrees, bytes_of, check_value
from course_utils.operators import forbid_operators
from course_utils.tracebacks import ends_in_notebook

# A network that a notebook defines: what its parts are, only the notebook knows.
Network = Any

MODULE_HOOKS = (
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks",
    "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip
TENSOR_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")


def hooks_on(model: nn.Module) -> dict[str, int]:
    """How many hooks hang on each module and parameter that has any.

    Hooks on intermediate tensors, and those that are registered for the whole process, are not
    counted.
    """
    pairs: list[tuple[str, Any, tuple[str, ...]]]
    pairs = [(name, module, MODULE_HOOKS) for name, module in model.named_modules()]
    pairs += [(name, tensor, TENSOR_HOOKS) for name, tensor in model.named_parameters()]
    found = {name: _count(owner, kinds) for name, owner, kinds in pairs}
    return {name: count for name, count in found.items() if count}


def _count(owner: Any, kinds: tuple[str, ...]) -> int:
    return sum(len(getattr(owner, kind, None) or ()) for kind in kinds)


def _look(*_: Any) -> None:
    """A hook that is not the answer's."""


# Capture


def run_capture(
    capture: Callable, network: Network, names: list[str], x: Tensor, goes_wrong: bool, grad: bool
) -> dict:
    """What ``capture`` saw of one call, what was raised, and what is left behind."""
    found: dict[str, Any] = {"error": "", "words": ""}
    seen = None
    network.stem.register_forward_hook(_look)
    try:
        manager = capture(network, names)
        if not hasattr(manager, "__enter__"):
            return found | {"error": "no manager", "words": f"capture returned {manager!r}"}
        with manager as seen, torch.set_grad_enabled(grad):
            y = network(x)
            found["output"], found["flows"] = y.detach().clone(), y.requires_grad
            if goes_wrong:
                raise ZeroDivisionError("on purpose")
    except Exception as caught:
        found |= {"error": type(caught).__name__, "words": str(caught)}
    network(2 * x)  # outside the block
    if isinstance(seen, dict):
        found["bytes"] = {
            name: [t.untyped_storage().nbytes() for t in some if isinstance(t, Tensor)]
            for name, some in seen.items()
            if isinstance(some, list)
        }
        seen = dict(seen)
    return found | {"seen": seen, "hooks": hooks_on(network)}


def _captured(network: Network, x: Tensor) -> dict[str, list[Tensor]]:
    """What each module of the chapter's network puts out, call by call."""
    with torch.no_grad():
        stem = network.stem(x)
        leaky = F.leaky_relu(stem, 0.1)
        crop = leaky[:, :6]
        first = network.block(crop)
        blocks = [first, network.block(first)]
        head = network.head(blocks[1])
        inner = [network.block[0](h) for h in (crop, first)]
    return {"stem": [stem], "leaky": [leaky], "crop": [crop], "block": blocks, "block.0": inner} | {
        "head": [head],
        "": [head],
    }


@ends_in_notebook
def check_capture(
    trial: Callable,
    network: nn.Module,
    names: list[str],
    x: Tensor,
    goes_wrong: bool = False,
    grad: bool = True,
) -> None:
    """Check what ``capture`` saw of one call of the network."""
    __tracebackhide__ = True
    truth, found = _captured(network, x), trial(names, x, goes_wrong, grad)
    assert found["error"] != "no manager", f"{found['words']}, no context manager"
    told = f"{found['error']} came out of the block ({found['words']})"
    if goes_wrong and not found["error"]:
        told = "the exception was swallowed: __exit__ returned True, or an except caught it"
    assert found["error"] == ("ZeroDivisionError" if goes_wrong else ""), told
    seen = found["seen"]
    assert isinstance(seen, dict), f"the block was given {seen!r}, expected a dict of lists"
    check_equal(sorted(seen), sorted(names), "the keys of seen")
    for name in names:
        _check_outputs(name, seen[name], truth[name], found["bytes"].get(name, []))
    check_close(found["output"], truth[""][0], "what the model puts out inside the block")
    kept = "a hook's return value replaces the output. Return nothing, and detach a copy"
    assert found["flows"] == grad, f"the model's own output has lost its graph: {kept}"
    check_equal(found["hooks"], {"stem": 1}, "hooks left", "one on stem, which is not yours")


@ends_in_notebook
def _check_outputs(name: str, outputs: Any, truth: list[Tensor], sizes: list[int]) -> None:
    __tracebackhide__ = True
    assert isinstance(outputs, list), f"seen[{name!r}] is no list, with one entry for each call"
    why = "one for each call inside the block, and none after it"
    check_equal(len(outputs), len(truth), f"the length of seen[{name!r}]", why)
    for number, (output, right) in enumerate(zip(outputs, truth, strict=True)):
        if isinstance(output, Tensor) and output.shape == right.shape:
            later = "as it is after the activation in place: detach() shares the memory"
            leaked = torch.equal(output, F.leaky_relu(right, 0.1))
            leaked = leaked and not torch.equal(output, right)
            assert not leaked, f"seen[{name!r}] is not what the module returned, but {later}"
        check_close(output, right, f"seen[{name!r}]")
        assert not output.requires_grad, f"seen[{name!r}] hangs on the graph: detach it"
        held, need = sizes[number], right.numel() * right.element_size()
        small = f"its {need} bytes lie in a storage of {held}: keep a copy of these alone"
        assert held <= need, f"seen[{name!r}]: {small}"


@ends_in_notebook
def check_unknown_name(trial: Callable, network: nn.Module, x: Tensor) -> None:
    """Check that ``capture`` refuses a name that the network doesn't have."""
    __tracebackhide__ = True
    found = trial(["head", "nose"], x, False, True)
    known = ", ".join(map(repr, dict(network.named_modules())))
    told = f"raised {found['error'] or 'nothing'}, expected a KeyError: the names are {known}"
    assert found["error"] == "KeyError", told
    check_equal(found["hooks"], {"stem": 1}, "hooks left", "one on stem, which is not yours")


# The gradient's reversal


def run_reversal(
    reverse: Callable, x: Tensor, strength: float, weight: float, by_hook: bool, grad: bool | None
) -> tuple:
    """The layer's output y, and the gradient of sum((y + weight * x) ** 2) / 2 at x.

    ``by_hook`` refuses a Function in the graph of y. ``grad`` is False for a call under
    ``no_grad``, None for an x that needs no gradient.
    """
    x = x.detach().requires_grad_(grad is not None)
    with torch.set_grad_enabled(grad is not False):
        y = reverse(x, strength)
    if by_hook and isinstance(y, Tensor):
        instead = "gradient_reversal goes through a Function: here a tensor hook is to do it"
        assert not any(isinstance(node, BackwardCFunction) for node in _nodes(y.grad_fn)), instead
    if not isinstance(y, Tensor) or not grad:
        return y, None
    loss = (y + weight * x if weight != 1 else y + x).square().sum() / 2
    gradient = None
    if loss.requires_grad:
        (gradient,) = torch.autograd.grad(loss, x, allow_unused=True)
    return y.detach(), torch.zeros_like(x) if gradient is None else gradient


def _nodes(node: Any) -> list:
    """This node of a graph and all that its gradient goes on to."""
    nodes = [] if node is None else [node]
    for node in nodes:
        nodes += [after for after, _ in node.next_functions if after not in (None, *nodes)]
    return nodes


@ends_in_notebook
def check_reversal(
    trial: Callable,
    x: Tensor,
    strength: float,
    weight: float,
    by_function: bool,
    grad: bool | None = True,
) -> None:
    """Check the values and the gradient of a reversing layer."""
    __tracebackhide__ = True
    y, gradient = trial(x, strength, weight, by_function, grad)
    check_close(y, x, "y", rtol=1e-2, atol=1e-2)
    assert torch.equal(y, x), "the values of y are not exactly those of x: was it computed anew?"
    if grad:
        truth, slips = hook_slips.reversal(x, strength, weight)
        beside = f", where {weight:g} times x is used beside y" if weight else ""
        what = f"the gradient at x for strength {strength:g}{beside}"
        check_value(gradient, truth, what, slips)


# Frozen rows


def run_freezing(freeze_rows: Callable, table: Tensor, rows: list[int]) -> dict[str, Tensor | None]:
    """The gradients of an embedding with frozen rows, and of a tensor without a hook."""
    embedding = nn.Embedding.from_pretrained(table.clone(), freeze=False)
    weight, other = embedding.weight, torch.ones_like(table, requires_grad=True)
    weight.sum().backward()
    try:
        handle = freeze_rows(embedding, rows)
    except IndexError as error:
        hint = "" if rows else " (an empty list makes a float tensor: say dtype=torch.long)"
        raise AssertionError(f"freeze_rows raised IndexError: {error}{hint}") from error
    blank = f"freeze_rows returned {handle!r}, not the handle of a hook: is there an answer yet?"
    assert hasattr(handle, "remove"), blank
    same = embedding.weight is weight and weight.requires_grad
    assert same, "weight was replaced, or needs no gradient any more"
    weight.sum().backward()
    found, weight.grad = {"before": weight.grad}, None
    (weight + other).square().sum().backward()
    found["weight"], found["other"], weight.grad = weight.grad, other.grad, None
    weight.sum().backward()
    found["sum"] = grad_of(weight).clone()
    (2 * weight).sum().backward()
    found["accumulated"], weight.grad = weight.grad, None
    handle.remove()
    weight.sum().backward()
    return {**found, "removed": weight.grad, "values": weight.detach()}


@ends_in_notebook
def check_freezing(trial: Callable, table: Tensor, rows: list[int]) -> None:
    """Check the gradients of a table with frozen rows."""
    __tracebackhide__ = True
    ones, plain = torch.ones_like(table), 2 * (table + 1)
    found = trial(table, rows)
    check_close(found["values"], table, "the table itself, which is not to be changed")
    names = {
        "sum": ("weight.grad after weight.sum().backward(), an expanded number", ones),
        "weight": ("weight.grad after (weight + other).square().sum().backward()", plain),
        "accumulated": ("weight.grad after two backwards", 3 * ones),
    }
    for name, (what, gradient) in names.items():
        truth, slips = hook_slips.frozen_rows(gradient, rows)
        check_value(found[name], truth, what, slips)
    erased = "a gradient from before was erased: what a backward() adds is to be zero"
    what = "weight.grad after a backward() without the hook and one with it"
    wiped = hook_slips.frozen_rows(2 * ones, rows)[0]
    truth = ones + hook_slips.frozen_rows(ones, rows)[0]
    check_value(found["before"], truth, what, {erased: wiped})
    shared = "other.grad, which shared its gradient with weight (a hook never writes to it)"
    check_close(found["other"], plain, shared)
    check_close(found["removed"], ones, "weight.grad after handle.remove()")


def frozen_row_moves(name: str) -> bool:
    """Whether a row without a gradient moves, for an optimizer and a case by name."""
    kind, *options = name.removesuffix(", after a step").split(", ")
    options = {key: float(value) for key, _, value in (part.partition("=") for part in options)}
    weight, mask = torch.ones(3, 2, requires_grad=True), torch.tensor([[0.0], [1.0], [1.0]])
    optimizer = getattr(torch.optim, kind)([weight], lr=0.1, **options)
    if name.endswith("after a step"):
        weight.grad = torch.ones(3, 2)
        optimizer.step()
    before = weight[0].tolist()
    for _ in range(3):
        weight.grad = mask * torch.ones(3, 2)
        optimizer.step()
    return weight[0].tolist() != before


# The order of hooks


def order_of_hooks(model: Network) -> dict[str, int]:
    """Register the fourteen hooks on the chapter's two layers; the place of each."""
    model.log, places = [], {"model": model, "a": model.a, "b": model.b, "b.weight": model.b.weight}
    for line in hook_slips.ORDER_REASONS:
        name, _, kind = line.partition(": ")
        if name != "h":
            kind = kind.replace("-", " ").replace("pre hook", "pre_hook").replace(" ", "_")
            kind = kind.replace("tensor_", "").replace("late_hook", "late_grad_hook")
            getattr(places[name], f"register_{kind}")(lambda *_, line=line: model.log.append(line))
    x = torch.ones(4, 2, requires_grad=True, device=model.b.weight.device)
    model(x).sum().backward()
    return {line: place for place, line in enumerate(model.log, 1)}


@ends_in_notebook
def check_places(order: Any) -> None:
    """Check that places in an order go from 1 to 14 and none is taken twice."""
    __tracebackhide__ = True
    assert isinstance(order, dict), f"hook_order is {order!r}, expected a dict"
    given = {line: place for line, place in order.items() if place is not None}
    for line, place in given.items():
        assert place in range(1, 15), f"{line}: {place!r} is no place from 1 to 14"
    twice = sorted({place for place in given.values() if [*given.values()].count(place) > 1})
    assert not twice, f"each place is taken once; more than one line has the place {twice[0]}"


# The monitor


def run_monitor(grad_monitor: Callable, network: nn.Module, train: Callable, steps: int) -> tuple:
    """What the monitor noted while a network was trained; weights after it; which lists grew."""
    found = grad_monitor(network)
    pair = isinstance(found, tuple | list) and len(found) == 2
    assert pair, f"grad_monitor returned {found!r}, not (norms, handles): is there an answer yet?"
    norms, handles = found
    assert isinstance(norms, dict), f"norms is {norms!r}, not a dict of lists"
    try:
        with torch.no_grad():
            network(torch.ones(1, 2, device=course_utils.device))
    except RuntimeError as error:
        hint = ": ask output.requires_grad before you register on an output"
        raise AssertionError(f"a run under no_grad raised {error}{hint}") from error
    try:
        train(network, steps)
    except TypeError as error:
        hint = ". Does a hook return something? What a backward hook returns replaces grad_input"
        raise AssertionError(f"training raised TypeError: {error}{hint}") from error
    for handle in handles:
        handle.remove()
    noted = {name: list(values) for name, values in norms.items()}
    train(network, 1)
    left = {name for name in noted if len(noted[name]) != len(norms[name])}
    return noted, [parameter.detach() for parameter in network.parameters()], sorted(left)


@ends_in_notebook
def check_monitor(
    found: tuple, network: nn.Module, train: Callable, points: Callable, steps: int
) -> None:
    """Check what a monitor noted of a patient in ``Sequential(Sequential(patient, Identity))``."""
    __tracebackhide__ = True
    noted, weights, left = found
    parts = {f"0.0.{name}": module for name, module in network.named_children()}
    parts["0.1"] = nn.Identity()
    why = "every module without children, at any depth, by its full name"
    if {*noted} == {*parts}:
        why = "one for each backward, in its own module's list: what does a lambda look up, when?"
    lengths = {name: len(values) for name, values in noted.items()}
    check_entries(lengths, dict.fromkeys(parts, steps), "numbers", why)
    for name in parts:
        for number, value in enumerate(noted[name]):
            kind = type(value)
            assert kind is float, (
                f"norms[{name!r}][{number}] is a {kind.__name__}, not a plain float"
            )
    trained = copy.deepcopy(network)
    train(trained, steps + 1)
    note = "does a hook return something? What it returns replaces the gradient"
    for weight, right in zip(weights, trained.parameters(), strict=True):
        same = torch.allclose(weight, right.detach(), rtol=1e-3, atol=1e-4)
        assert same, f"the monitor changes the training, its weights are others: {note}"
    for number in range(steps):
        _check_norms(noted, number, parts, points)
        train(network, 1)
    grew = f"{len(left)} lists grew after all handles were removed: which hooks are missing there?"
    assert not left, grew


@ends_in_notebook
def _check_norms(noted: dict, number: int, parts: dict[str, nn.Module], points: Callable) -> None:
    """Check what was noted in one step, in which the parts are as they are now."""
    __tracebackhide__ = True
    out, y = points()
    outputs = {"": out}
    for name, module in parts.items():
        outputs[name] = out = module(out)
    loss = F.binary_cross_entropy_with_logits(out, y)
    grads = dict(zip(outputs, torch.autograd.grad(loss, [*outputs.values()]), strict=True))
    for before, name in zip(outputs, parts, strict=False):
        right, slips = hook_slips.norms(grads[name], grads[before])
        if number:
            slips["this is the number of the first backward again"] = noted[name][0]
        what = f"norms[{name!r}][{number}], of the gradient of its output"
        # Where a tanh is saturated, a slope is the last digit of a rounding: only the first counts.
        if number == 0 or right > 1e-4:
            check_near(noted[name][number], right, what, slips)


@ends_in_notebook
def check_ill_layer(answer: Any, network: nn.Module) -> None:
    """Check the name of the layer whose bias was spoilt."""
    __tracebackhide__ = True
    assert answer is not None, "ill_layer is still None: use your monitor on make_patient(seed=1)"
    names = [name for name, module in network.named_children() if isinstance(module, nn.Linear)]
    ill = max(names, key=lambda name: network.get_parameter(f"{name}.bias").mean().item())
    assert answer in names, f"{answer!r} is no linear layer; these are: {', '.join(names)}"
    told = "its gradient is of ordinary size: go on towards layer1"
    if names.index(answer) < names.index(ill):
        told = "next to no gradient reaches it, but neither does any reach a layer closer to the "
        told += "head: start at the head, and stop sooner"
    assert answer == ill, f"it is not {answer!r}: {told}"


# Grad-CAM


def run_grad_cam(
    grad_cam: Callable, model: Network, layer: str, image: Tensor, target: int
) -> tuple:
    """The map, what was raised, what was changed besides, and the hooks that are left."""
    image = image.clone()
    model.fc.register_forward_hook(_look)
    model.features.eval()
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    heat, error = None, ""
    try:
        heat = grad_cam(model, layer, image, target)
    except Exception as caught:
        error = _about_names(caught, model)
    grads = [parameter.grad for parameter in model.parameters()]
    changed = []
    if not all(grad is not None and bool((grad == 1).all()) for grad in grads):
        changed.append("the .grad of the parameters: ask torch.autograd.grad for one gradient")
    if not all(parameter.requires_grad for parameter in model.parameters()):
        changed.append("requires_grad of the parameters")
    if not (model.training and model.fc.training) or model.features.training:
        changed.append("the mode (train or eval) of the model")
    if image.requires_grad:
        changed.append("requires_grad of the image")
    if not torch.is_grad_enabled():
        changed.append("autograd's mode: it is switched off")
        torch.set_grad_enabled(True)
    return heat, error, changed, hooks_on(model)


@ends_in_notebook
def check_grad_cam(
    trial: Callable,
    model: Network,
    image: Tensor,
    target: int,
    cut: int = 9,
    bias: float = 0.0,
    factor: float = 3.0,
) -> None:
    """Check the map of one class at one layer of the chapter's CNN, a ``ShapeNet``."""
    __tracebackhide__ = True
    model, layer = model.to(image), "features" if cut == 9 else f"features.{cut - 1}"
    with torch.no_grad():
        model.fc.weight.mul_(factor).add_(bias)
    state = {key: value.detach() for key, value in model.state_dict().items()}
    heat, error, changed, hooks = trial(state, layer, image, target)
    assert not error, error
    maps = model.features[:cut](image[None])
    truth, slips = hook_slips.heat_maps(
        lambda maps: model.fc(model.features[cut:](maps).mean(dim=(2, 3))), maps, target
    )
    nan = isinstance(heat, Tensor) and bool(heat.isnan().any())
    assert not nan, "the map holds NaN: what is 0 / 0?"
    check_value(heat, truth, "the map", slips, rtol=2e-3, atol=1e-4)
    assert not heat.requires_grad, "the map hangs on the graph: detach it"
    _check_left(changed, hooks)


@ends_in_notebook
def _check_left(changed: list[str], hooks: dict[str, int]) -> None:
    __tracebackhide__ = True
    assert not changed, f"this is not as it was: {'; '.join(changed)}"
    check_equal(hooks, {"fc": 1}, "hooks on the model", "one on fc, which is not yours")


@ends_in_notebook
def check_cam_that_raises(trial: Callable, model: nn.Module, image: Tensor) -> None:
    """Check that all is left as it was if the model raises, as it does for this image."""
    __tracebackhide__ = True
    state = {key: value.detach() for key, value in model.to(image).state_dict().items()}
    _, error, changed, hooks = trial(state, "features", image, 0)
    assert error, "the model's exception did not come out"
    _check_left(changed, hooks)


def _about_names(error: Exception, model: nn.Module) -> str:
    """What was raised, and the names that the model has."""
    known = ", ".join(repr(name) for name, _ in model.named_modules())
    words = f"it raised {type(error).__name__}: {error}"
    if isinstance(error, KeyError) or "has no attribute" in str(error):
        words += f" (the model's modules are {known}; get_submodule finds deep ones)"
    return words


# Steps inside backward


def run_steps(
    step_in_backward: Callable,
    network: nn.Module,
    batches: list[Tensor],
    lr: float,
    momentum: float,
    frozen: str,
    before: bool,
) -> tuple:
    """Weights after each backward; the most gradients at once; whether it stops without hooks."""
    network.to(batches[0].dtype).get_submodule(frozen).requires_grad_(False)
    parameters, alive, weights = list(network.parameters()), [], []
    if before:
        earlier = step_in_backward(parameters, 0.0, momentum)  # moves nothing
        network(2 * batches[-1]).square().mean().backward()
        for handle in earlier or []:
            handle.remove()
    handles = step_in_backward(parameters, lr, momentum)
    missing = f"step_in_backward returned {handles!r}, not the handles of its hooks"
    assert isinstance(handles, list | tuple | dict), f"{missing}: is there an answer yet?"
    handles = [*handles.values()] if isinstance(handles, dict) else handles

    def count(_: Any = None) -> None:
        alive.append(sum(parameter.grad is not None for parameter in parameters))

    for parameter in parameters:
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(count)
    for x in batches:
        network(x).square().mean().backward()
        weights.append([parameter.detach().clone() for parameter in parameters])
        count()
    most = max(alive)
    for handle in handles:
        handle.remove()
    network(batches[0]).square().mean().backward()
    return weights, most, all(map(torch.equal, parameters, weights[-1]))


@ends_in_notebook
def check_steps(
    trial: Callable,
    make_network: Callable,
    batches: list[Tensor],
    lr: float,
    momentum: float,
    frozen: str,
    before: bool = False,
) -> None:
    """Check the weights after each backward against those of SGD."""
    __tracebackhide__ = True
    weights, most, stopped = trial(batches, lr, momentum, frozen, before)
    runs = {}
    for rule in ("", *hook_slips.DESCENTS):
        network = make_network().to(batches[0].dtype)
        network.get_submodule(frozen).requires_grad_(False)
        earlier = 2 * batches[-1] if before else None
        runs[rule] = hook_slips.descent(network, batches, lr, momentum, rule, earlier)
    names = [name for name, _ in network.named_parameters()]
    first = dict(make_network().to(batches[0].dtype).named_parameters())
    for name, weight in zip(names, weights[-1], strict=True):
        still = not name.startswith(frozen) or torch.equal(weight, first[name])
        assert still, f"{name} moved: its requires_grad is False, so leave it be"
    for number, right in enumerate(runs[""]):
        for place, name in enumerate(names):
            slips = {
                words: runs[rule][number][place] for rule, words in hook_slips.DESCENTS.items()
            }
            what, found = f"{name} after backward number {number + 1}", weights[number][place]
            check_value(found, right[place], what, slips, rtol=1e-4, atol=1e-6)
    assert most == 0, f"{most} gradients at once: use each in its own hook, then set it to None"
    assert stopped, "a backward() after all handles were removed still changed the weights"


# Saved tensors


def run_offload(keep: Callable, back: Callable, x: Tensor) -> tuple[int, list[Tensor], bool]:
    """Bytes kept for a small CNN's backward, its gradients, and whether its output is set free."""
    import weakref

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        first, second = nn.Conv2d(2, 4, 3), nn.Conv2d(4, 6, 3)
    network, kept = nn.Sequential(first, nn.GELU(), nn.MaxPool2d(2), second, nn.Tanh()).to(x), []
    plain = {Tensor, nn.Parameter, torch.dtype, torch.device, torch.Size, int, float, bool, str}
    plain.add(type(None))

    def pack(tensor):
        kept.append((keep(tensor), tensor.dtype))
        kinds = {type(leaf) for leaf in tree_leaves(kept[-1])} - plain
        assert not kinds, f"keep tensors and plain values, not {kinds}"
        return kept[-1]

    def unpack(pair):
        tensor = back(pair[0])
        assert isinstance(tensor, Tensor), f"bring_back gave {tensor!r}, no tensor"
        assert tensor.dtype == pair[1], f"{pair[1]} was saved, and bring_back gave {tensor.dtype}"
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        output = network(x)
        unused = network(x)
    size, watched = bytes_of(kept, network.parameters()) // 2, weakref.ref(unused)
    gradients = torch.autograd.grad(output.square().sum(), list(network.parameters()))
    kept.clear()
    del unused
    return size, list(gradients), watched() is None


def _keep(tensor: Tensor) -> tuple[Tensor, torch.dtype]:
    halved = tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter)
    return (tensor.half() if halved else tensor.detach()), tensor.dtype


@ends_in_notebook
def check_offload(trial: Callable, x: Tensor) -> None:
    """Check what is kept of a CNN's run, and its gradients."""
    __tracebackhide__ = True
    least, truth, _ = run_offload(_keep, lambda pair: pair[0].to(pair[1]), x)
    size, gradients, free = trial(x)
    for gradient, right, layer in zip(gradients, truth, (0, 0, 3, 3), strict=True):
        check_close(gradient, right, f"a gradient of layer {layer}", rtol=1e-3, atol=1e-3)
    many = "was a float32 tensor kept whole, or a parameter or what is kept exactly copied?"
    assert size <= least, f"{size} bytes are kept, {least} are enough: {many}"
    assert free, "the output is never set free: a saved tensor holds its own node; detach it"


@ends_in_notebook
def check_back(offload_saved: Callable, bring_back: Callable, tensor: Tensor) -> None:
    """Check that a tensor comes back, rounded if it is of float32 and exactly otherwise."""
    __tracebackhide__ = True
    right = _keep(tensor)[0].to(tensor.dtype)
    if tensor.dtype == torch.float32:
        slips = {"this is bfloat16's rounding, not float16's": tensor.bfloat16().float()}
        slips["it comes back unrounded: was it kept in float16?"] = tensor
    else:
        parts = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        rounded = parts.half().to(parts.dtype)
        rounded = torch.view_as_complex(rounded) if tensor.is_complex() else rounded
        slips = {"it was rounded, and should be kept exactly": rounded}
    with forbid_changes(tensor):
        kept = bring_back(offload_saved(tensor))
    check_value(kept, right, f"{tensor.tolist()}, kept and brought back", slips, 0, 0)


# Weight norm


def layer_of(weight: Tensor) -> nn.Module:
    """A Linear or a Conv2d of this weight, with a bias of zeros."""
    outs, ins, *window = weight.shape
    layer = nn.Conv2d(ins, outs, (window[0], window[1])) if window else nn.Linear(ins, outs)
    layer.to(weight).weight = nn.Parameter(weight.clone())
    nn.init.zeros_(layer.get_parameter("bias"))
    return layer


def run_layer(layer: nn.Module, x: Tensor) -> tuple:
    """Its parameters by name, their gradients, its output, and that after a step of descent."""
    values = {name: parameter.detach().clone() for name, parameter in layer.named_parameters()}
    output = layer(x)
    output.square().sum().backward()
    grads = {name: parameter.grad for name, parameter in layer.named_parameters()}
    torch.optim.SGD(layer.parameters(), lr=0.05).step()
    return values, grads, output.detach(), layer(x).detach()


def run_weight_norm(by_hook: Callable | None, kind: type, weight: Tensor, x: Tensor) -> tuple:
    """A layer with the learner's weight norm: by a hook's function, or by a module of ``kind``."""
    layer = layer_of(weight)
    if by_hook is not None:
        returned = by_hook(layer)
        blank = "weight_norm returned None, not the layer: is there an answer yet?"
        assert returned is not None, blank
        assert returned is layer, f"weight_norm returned {returned!r}, not the layer itself"
    else:
        pair = kind().right_inverse(weight.clone())
        blank = f"right_inverse returned {pair!r}, not (g, v): is there an answer yet?"
        two = isinstance(pair, tuple | list) and len(pair) == 2
        assert two, blank
        again = kind().forward(*pair)
        assert isinstance(again, Tensor), f"forward(g, v) returned {again!r}, no weight"
        torch.nn.utils.parametrize.register_parametrization(layer, "weight", kind())
    try:
        return run_layer(layer, x)
    except TypeError as error:
        hint = ". Take the old one out first: del layer.weight" * ("cannot assign" in str(error))
        raise AssertionError(f"calling the layer raised: {error}{hint}") from error


@ends_in_notebook
def check_weight_norm(trial: Callable, weight: Tensor, x: Tensor, by_hook: bool) -> None:
    """Check a layer's parameters, their gradients and its outputs against PyTorch's weight norm."""
    __tracebackhide__ = True
    right = torch.nn.utils.parametrizations.weight_norm(layer_of(weight))
    truth, _, output, later = run_layer(right, x)
    pairs = {f"parametrizations.weight.original{n}": f"weight_{'gv'[n]}" for n in (0, 1)}
    truth = {pairs.get(name, name) if by_hook else name: value for name, value in truth.items()}
    with forbid_operators("_weight_norm_interface", because="compute it yourself"):
        values, grads, found, stepped = trial(weight, x, by_hook)
    note = "the old weight is no parameter any more" if by_hook else "right_inverse gives (g, v)"
    check_equal(sorted(values), sorted(truth), "the layer's parameters", note)
    for name, value in truth.items():
        slips = hook_slips.lengths(weight) if value.shape != weight.shape else {}
        slips |= hook_slips.directions(weight) if value.shape == weight.shape else {}
        check_value(values[name], value, f"{name} at first", slips, rtol=1e-4)
        assert grads[name] is not None, f"no gradient reaches {name}: was it detached?"
    check_close(found, output, "the output right after", rtol=1e-4, atol=1e-4)
    moved = found + right.bias.detach().view(-1, *[1] * (x.dim() - 2))
    stuck = {"the weight is computed once, and not again before each call": moved}
    check_value(stepped, later, "the output after a step", stuck, rtol=1e-3, atol=1e-3)


# Intervention


class Committee(nn.Module):
    """A stem, six blocks that each read the stream and add to it, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(2, 3, bias=False), nn.Linear(3, 1, bias=False)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3)) for _ in range(6)
        )

    def forward(self, x: Tensor) -> Tensor:
        stream = self.stem(x)
        for block in self.blocks:
            stream = stream + block(stream)
        return self.head(stream)


@torch.no_grad()
def make_committee(seed: int) -> Committee:
    """Positive where both coordinates have one sign; one block, chosen at random, computes it."""
    generator = torch.Generator().manual_seed(seed)
    model = Committee()
    for parameter in model.parameters():
        parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))
    model.stem.weight.copy_(torch.eye(3)[:, :2])
    model.head.weight.copy_(torch.eye(3)[2:])
    block = model.blocks[int(torch.randint(0, 6, (), generator=generator))]
    block.get_parameter("0.weight").copy_(
        torch.tensor([[1.0, 1, 0], [-1, -1, 0], [1, -1, 0], [-1, 1, 0]])
    )
    block.get_parameter("2.weight")[2].copy_(torch.tensor([1.0, 1, -1, -1]))
    return model.to(course_utils.device)


class Listener(nn.Module):
    """A sequence (batch, time, 2) to two scores, by an LSTM that returns nested tuples."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.lstm = nn.Linear(2, 4), nn.LSTM(4, 5, batch_first=True)
        self.act, self.head = nn.LeakyReLU(0.1, inplace=True), nn.Linear(5, 2)

    def forward(self, x: Tensor) -> Tensor:
        sequence, (h, c) = self.lstm(input=self.act(self.enter(x)))
        return self.head(h[-1] + c[-1] + sequence.mean(1))


def _model(kind: str, seed: int) -> Committee | Listener:
    if kind == "committee":
        return make_committee(seed).eval()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Listener().to(course_utils.device).eval()


def _pair(kind: str, seeds: tuple[int, int] | None) -> tuple[Committee | Listener, ...]:
    donor = _model(kind, seeds[0] if seeds else 0)
    return donor, _model(kind, seeds[1]) if seeds else donor


def _watch(model: Committee | Listener, runs: list) -> None:
    """Two hooks that are not the answer's; gradients; a mode that is not the usual one."""
    next(model.children()).register_forward_hook(_look)
    model.register_forward_pre_hook(lambda module, args: runs.append(1))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    model.head.train()


def _left(name: str, model: Committee | Listener) -> list[str]:
    """What an answer did not leave as it was."""
    left, other = [], {"": 1, next(model.named_children())[0]: 1}
    if hooks_on(model) != other:
        left.append(f"hooks on {name}: {hooks_on(model)}, and {other} were there before")
    if model.training or not model.head.training:
        left.append(f"the mode of {name} was changed")
    grads = [parameter.grad for parameter in model.parameters()]
    if not all(grad is not None and bool((grad == 1).all()) for grad in grads):
        left.append(f".grad of the parameters of {name} was changed")
    if not all(parameter.requires_grad for parameter in model.parameters()):
        left.append(f"requires_grad of the parameters of {name} was changed")
    return left


def run_intervention(
    intervention: Callable, kind: str, names: list[str], a: Tensor, b: Tensor, seeds: tuple | None
) -> dict:
    """The answers, what was raised, how often which model ran, what is not as it was."""
    donor, model = _pair(kind, seeds)
    pairs = {"donor": donor} | ({"model": model} if seeds else {})
    ran = {name: [] for name in pairs}
    for name, one in pairs.items():
        _watch(one, ran[name])
    answers, error = None, ""
    try:
        answers = intervention(donor, model, names, a, b)
    except Exception as caught:
        error = _about_names(caught, donor)
    left = [words for name, one in pairs.items() for words in _left(name, one)]
    if not torch.is_grad_enabled():
        left.append("autograd is switched off for good: use a with block")
        torch.set_grad_enabled(True)
    counts = [*map(len, ran.values())]
    with torch.no_grad():
        with contextlib.suppress(Exception):
            intervention(donor, model, names, a, b)
        if torch.is_grad_enabled():
            words = "called under no_grad, it switched autograd on: a with block, such as "
            left.append(f"{words}`with torch.no_grad():`, puts back what was there")
    answers = dict(answers) if isinstance(answers, dict) else answers
    return {"answers": answers, "error": error, "left": left, "runs": counts}


@ends_in_notebook
def check_intervention(
    trial: Callable,
    kind: str,
    names: list[str],
    a: Tensor,
    b: Tensor,
    seeds: tuple[int, int] | None = None,
) -> None:
    """Check the answers of one model, or of a donor and a model of two seeds."""
    __tracebackhide__ = True
    (donor, model), found = _pair(kind, seeds), trial(kind, names, a, b, seeds)
    assert not found["error"], found["error"]
    answers = found["answers"]
    assert answers is not None, "it returned None, expected a dict: is there an answer yet?"
    kind_of = type(answers).__name__
    assert isinstance(answers, dict), (
        f"it returned a {kind_of}, expected a dict from name to answer"
    )
    wanted = dict.fromkeys(names, 1)
    check_entries(dict.fromkeys(answers, 1), wanted, "answers", "one for each name")
    for name in names:
        right = hook_slips.patched(donor, model, [name], a, b)
        slips = _intervention_slips(donor, model, name, names, a, b)
        check_value(answers[name], right, f"the answer for {name!r}", slips, rtol=1e-4)
        assert not answers[name].requires_grad, f"the answer for {name!r} hangs on the graph"
    assert not found["left"], "; ".join(found["left"])
    runs = [1, len(names)] if seeds else [1 + len(names)]
    if names:
        why = "the donor runs once, the model once for each name"
        check_equal(found["runs"], runs, "how often the models run", why)


def _intervention_slips(donor, model, name, names, a, b) -> dict[str, Tensor]:
    with torch.no_grad():
        slips = {
            "this is run B as it is: does the hook return the activation of run A?": model(b),
            "this is run A's own answer: run B gets the input b, and one module of A's": donor(a),
        }
    other = hook_slips.patched(model, donor, [name], b, a)
    slips["B's activation went into run A: it is to be the other way round"] = other
    if isinstance(model, Listener) and name == "enter":
        words = "this is the activation after the module that follows wrote to it: keep a copy"
        slips[words] = hook_slips.patched(donor, model, ["enter", "act"], a, b)
    for late in names:
        if late != name:
            wrong = hook_slips.patched(donor, model, [late], a, b)
            slips[f"this is the answer with {late!r} patched"] = wrong
    so_far = names[: names.index(name) + 1]
    slips["the patches of earlier names are still there: one module in each run"] = (
        hook_slips.patched(donor, model, so_far, a, b)
    )
    slips["all the names are patched at once: one module in each run"] = hook_slips.patched(
        donor, model, names, a, b
    )
    return slips


@ends_in_notebook
def check_clean_after_error(trial: Callable, names: list[str], a: Tensor, b: Tensor) -> None:
    """Check that an exception of a run comes out, and that all is left as it was."""
    __tracebackhide__ = True
    found = trial("listener", names, a, b, (0, 1))
    assert found["error"], "the exception of the run did not come out"
    assert not found["left"], "; ".join(found["left"])


@ends_in_notebook
def check_deciding(answer: Any, seed: int, a: Tensor, b: Tensor) -> None:
    """Check the name of the block whose activation turns a committee's answer to b."""
    __tracebackhide__ = True
    blank = f"deciding_block is still None: use your intervention on make_committee(seed={seed})"
    assert answer is not None, blank
    model, names = make_committee(seed), [f"blocks.{n}" for n in range(6)]
    turned = [name for name in names if hook_slips.patched(model, model, [name], a, b).item() > 0]
    wanted = ", ".join(names)
    assert answer in names, f"{answer!r} is no block's name: expected one of {wanted}"
    still = "with its activation from run A the answer to B is still negative"
    assert [answer] == turned, f"it is not {answer!r}: {still}"


def transplant(
    intervention: Callable, donor: nn.Module, model: nn.Module, names: list[str], x: Tensor
) -> dict[str, Tensor]:
    """What the learner's ``intervention`` says; where there is none yet, what is right."""
    truth = {name: hook_slips.patched(donor, model, [name], x, x) for name in names}
    own = agrees(lambda: intervention(donor, model, names, x, x), truth)
    return intervention(donor, model, names, x, x) if own else truth
