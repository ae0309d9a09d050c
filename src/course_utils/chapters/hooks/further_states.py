"""Further awkward states of exercises 7.2 to 7.12: a check tries each by its words."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

import course_utils
from course_utils.chapters.hooks.counting import bystander, hooks_on
from course_utils.chapters.hooks.later_states import load_renamed
from course_utils.chapters.hooks.states import ones, small_network, with_both, without_gradients
from course_utils.chapters.hooks.weight_norm import layer_of
from course_utils.learner.gradients import grad_of
from course_utils.learner.other_states import check_states


def _not_called(capture: Callable) -> None:
    network, names = small_network().append(nn.Sequential(nn.Tanh())), ["2.0", "0"]
    with capture(network, names) as seen:
        network[0](ones(1, 2))
    found = {name: len(outputs) for name, outputs in seen.items()}
    words = "two modules are named, and the block calls one of them: the lists have the lengths"
    assert found == {"2.0": 0, "0": 1}, f"{words} {found}; each name has its list from the start"
    assert names == ["2.0", "0"], f"the caller's list of names was changed: {names}"
    with capture(network, []) as seen:
        network(ones(1, 2))
    assert seen == {}, f"no names: expected an empty dict, and it is {seen}"


def _entered_later(capture: Callable) -> None:
    network = small_network()
    manager = capture(network, ["0"])
    network(ones(1, 2))
    words = "capture(model, names) is called, and the block is entered later:"
    assert not hooks_on(network), f"{words} a hook hangs on the model before the block"
    with manager as seen:
        network(ones(1, 2))
    found = len(seen["0"])
    assert found == 1, f"{words} {found} outputs are kept of the one call inside"


@with_both
def _short_dtypes(name: str, reverse: Callable) -> None:
    for dtype in (torch.float16, torch.bfloat16):
        for strength, factor in ((0.5, 1), (2, 1), (0, 1), (2, 0)):
            x, ran = ones(3, dtype=dtype).requires_grad_(), f"({factor} * y).sum().backward()"
            words = f"{name}, x in {dtype}, of strength {strength}, {ran}"
            try:
                y = reverse(x, strength)
                (factor * y).sum().backward()
            except RuntimeError as error:
                raise AssertionError(f"{words} raised {error}") from error
            assert x.grad is not None, f"{words} left no gradient, not even zeros"
            found = [y.dtype, x.grad.dtype]
            assert found == [dtype, dtype], f"{words}: y and the gradient are in {found}"
            numbers = x.grad.tolist()
            assert numbers == [-strength * factor] * 3, f"{words} left the gradient {numbers}"


def _other_hooks_on_the_table(freeze_rows: Callable) -> None:
    embedding, seen = nn.Embedding.from_pretrained(ones(3, 2), freeze=False), []
    embedding.weight.register_hook(lambda grad: seen.append(1))
    embedding.register_forward_hook(bystander)
    handle = without_gradients(freeze_rows, embedding, [1])
    embedding(torch.tensor([0, 1], device=course_utils.device)).sum().backward()
    found = embedding.weight.grad
    words = "rows 0 and 1 are looked up, row 1 is frozen: the gradient is"
    told = None if found is None else found.tolist()
    assert told == [[1, 1], [0, 0], [0, 0]], f"{words} {told}"
    handle.remove()
    embedding.weight.sum().backward()
    words = "a hook that weight had before is gone: remove your own alone"
    assert len(seen) == 2, words
    left = hooks_on(embedding)
    words = "two hooks were there before, one on the module and one on weight; after"
    assert left == {"": 1, "weight": 1}, f"{words} handle.remove() there are {left}"


def _without_gradients(grad_monitor: Callable) -> None:
    network = small_network()
    norms, _ = without_gradients(grad_monitor, network)
    for mode in (torch.no_grad, torch.inference_mode):
        words = f"a run under {mode.__name__} of a monitored network"
        try:
            with mode():
                y = network(ones(2, 2))
                on = torch.is_grad_enabled()
        except RuntimeError as error:
            raise AssertionError(f"{words} raised {error}: ask output.requires_grad") from error
        asked = f"{words}: its output requires a gradient now, and without a monitor it doesn't"
        assert not y.requires_grad, asked
        assert not on, f"{words}: autograd is on after it"
    found = [len(values) for values in norms.values()]
    assert found == [0, 0], f"runs without gradients, no backward: the lengths are {found}"
    network(ones(2, 2).requires_grad_()).sum().backward()
    found = [len(values) for values in norms.values()]
    words = "a monitor that was made under no_grad, and a backward later"
    assert found == [1, 1], f"{words}: the lengths are {found}, expected [1, 1]"


class _Shifted(nn.Module):
    """An image (1, 3, h, w) to maps, from which a hook takes 2, and to a score for each."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = nn.Identity()
        self.weight = nn.Parameter(ones(1))
        self.maps.register_forward_hook(lambda module, args, output: output - 2)

    def forward(self, images: Tensor) -> Tensor:
        return self.maps(images * self.weight).square().mean(dim=(2, 3))


def _images_own_gradient(grad_cam: Callable) -> None:
    image = torch.tensor([1.0, 3, 4], device=course_utils.device).expand(3, 1, 3).clone()
    for asks in (False, True):
        image.requires_grad_(asks).grad = given = torch.ones_like(image) if asks else None
        found = grad_cam(_Shifted(), "maps", image, 0).tolist()
        words = f"an image whose requires_grad is {asks}, and it"
        assert image.requires_grad == asks, f"{words} is {not asks} afterwards"
        kept = image.grad is given and (given is None or bool((given == 1).all()))
        told = "has another .grad now: ask for the gradient of the maps alone"
        assert kept, f"{words} {told}"
        words = "an earlier hook makes the layer return its maps minus 2: of -1, 1 and 2 the map is"
        # The mean of the gradient is positive, and the maps are weighed by it.
        assert found == [[0, 0.5, 1]], f"{words} {found}, expected 0, 0.5, 1"


def _called_again(keep: Callable, back: Callable) -> None:
    for kind in (torch.float32, torch.float64, torch.int64):
        x = torch.arange(6, device=course_utils.device).view(2, 3).to(kind) / 3
        what = f"bring_back(offload_saved(x)), with x in {kind},"
        check_states(lambda tensor: back(keep(tensor)), x.to(kind), what=what)
    memory, pair = ones(2), []
    for number in (1, 2):  # what .data gives is another tensor each time, in the same memory
        pair.append(keep(memory.data.fill_(number).data))
    first, second = pair
    found = [back(one)[0].item() for one in pair]
    words = f"ones are kept, then twos, which lie where the ones lay: they come back as {found}"
    assert found == [1, 2], f"{words}. Each is kept by itself: an address is used again"
    for one, other in zip(tree_leaves(first), tree_leaves(second), strict=True):
        if isinstance(one, Tensor):
            one.copy_(other)
    found = back(first).tolist()
    words = f"where ones were kept, twos are kept later, and {found} comes back"
    assert found == [2, 2], f"{words}: an address or an id tells nothing about the numbers"


def _infinite(keep: Callable, back: Callable) -> None:
    numbers = [torch.inf, -torch.inf, -0.0, 1e-9]
    found = back(keep(torch.tensor(numbers, device=course_utils.device))).tolist()
    words = f"{numbers}, of which float16 holds all but the last, and makes that 0,"
    assert str(found) == str([*numbers[:3], 0.0]), f"{words} come back as {found}"


def _whose_weight(weight_norm: Callable, kind: type) -> None:
    weight = torch.tensor([[3.0, 4.0]], device=course_utils.device)
    given = weight.clone()
    kind().right_inverse(given)
    words = "right_inverse changed the weight that it was given"
    assert torch.equal(given, weight), f"{words}, from {weight.tolist()} to {given.tolist()}"
    layer = nn.Linear(2, 1, bias=False)
    layer.to(weight).weight = nn.Parameter(weight.clone())
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", kind())
    with torch.no_grad():
        layer.weight = 2 * weight
    found = layer.weight.tolist()
    words = "WeightNorm: layer.weight = [[6, 8]] is put in, and layer.weight is then"
    assert torch.allclose(layer.weight, 2 * weight), f"{words} {found}"


def _in_eval(weight_norm: Callable, kind: type) -> None:
    layer = layer_of(torch.tensor([[3.0, 4.0]], device=course_utils.device)).eval()
    bias = layer.bias
    without_gradients(weight_norm, layer)
    assert not layer.training, "the layer was in eval mode, and is in train mode now"
    assert layer.bias is bias, "the bias is another parameter now: leave it alone"


def _intervenes_again(intervention: Callable) -> None:
    model, (a, b) = small_network(), ones(2, 2, 2).cumsum(0)
    check_states(
        lambda a, b: intervention(model, model, ["0", "1"], a, b),
        a / 3,
        b / 7,
        what="intervention(donor, model, names, a, b)",
    )
    first, _ = (intervention(model, model, [name], a, b) for name in ("0", "1"))
    words = "a call for '0', then one for '1': the first one's dict has answers for"
    assert [*first] == ["0"], f"{words} {[*first]}; each call has a dict of its own"


def _unknown_name(intervention: Callable) -> None:
    model, x = small_network(), ones(1, 2)
    for names in (["0", "nose"], ["nose"]):
        raised = False
        try:
            intervention(model, model, names, x, x)
        except Exception:
            raised = True
        words = f"{names}, of which the models don't have 'nose'"
        assert raised, f"{words}: that is an exception, and none came out"
        assert not hooks_on(model), f"{words}: hooks are left. Enter each handle at once"


class _Passes(nn.Module):
    """Hands on what its function makes of the input."""

    def __init__(self, function: Callable) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def _earlier_hook(capture: Callable) -> None:
    network = small_network()
    right = 10 * network[0](ones(1, 2))
    network[0].register_forward_hook(lambda module, args, output: 10 * output)
    with capture(network, ["0"]) as seen:
        network(ones(1, 2))
    words = "an earlier hook makes the module return ten times its numbers"
    assert len(seen["0"]) == 1, f"{words}, and {len(seen['0'])} outputs are kept"
    told = f"{words}, and the numbers before that hook are kept: yours is to run after it"
    assert torch.allclose(seen["0"][0], right), told


def _errors_of_the_block(capture: Callable) -> None:
    for error in (AttributeError, KeyError, StopIteration, GeneratorExit):
        network, caught = small_network(), "nothing"
        try:
            with capture(network, ["0"]):
                raise error("mine")
        except BaseException as one:
            caught = type(one).__name__
        name = error.__name__
        assert caught == name, f"{name} is raised in the block, and {caught} comes out of it"
        assert not hooks_on(network), f"{name} is raised in the block, and hooks are left"


def _outputs_of_all_layouts(capture: Callable) -> None:
    layouts: dict[str, Callable] = {
        "transposed": Tensor.t,
        "expanded": lambda x: x[:1].expand(3, 2),
        "complex": lambda x: torch.complex(x, -x),
        "empty, of a large storage,": lambda x: x[:0],
    }
    for words, function in layouts.items():
        network, x = nn.Sequential(_Passes(function)), torch.arange(6.0).view(3, 2)
        with torch.no_grad():
            with capture(network, ["0"]) as seen:
                right = network(x.to(course_utils.device))
                assert not torch.is_grad_enabled(), "under no_grad, autograd is on inside the block"
            assert not torch.is_grad_enabled(), "under no_grad, autograd is on after the block"
        found, need = seen["0"][0], right.numel() * right.element_size()
        told = f"a module returned a tensor that is {words} {right.tolist()}, and"
        assert torch.equal(found, right), f"{told} {found.tolist()} is kept"
        size = found.untyped_storage().nbytes()
        assert size <= need, f"{told} its {need} bytes lie in a storage of {size}"


def _looked_up(freeze_rows: Callable) -> None:
    embedding, right = nn.Embedding.from_pretrained(ones(3, 1), freeze=False), [0, 2, 1]
    for rows in ([0, 0], [0, -3]):
        embedding.weight.grad = None
        handle = freeze_rows(embedding, rows)
        embedding(torch.tensor([0, 1, 1, 2], device=course_utils.device)).sum().backward()
        handle.remove()
        found = grad_of(embedding.weight).flatten().tolist()
        words = f"rows 0, 1, 1 and 2 are looked up, and row 0 is frozen, as {rows}"
        assert found == right, f"{words}: the gradient is {found}, expected {right}"


class _Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.side = nn.Identity(), nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        h = self.stem(2 * x)
        return 3 * self.side(4 * h) + h


def _used_twice(monitor: Callable) -> None:
    model = _Branches()
    norms, _ = monitor(model)
    model(ones(1).requires_grad_()).sum().backward()
    words = "an output that is used twice, with gradients of 12 and 1, is noted once, as 13"
    assert norms == {"stem": [13.0], "side": [3.0]}, f"{words}; norms is {norms}"


def _one_handle_removed(step: Callable) -> None:
    pair = [nn.Parameter(ones(1)) for _ in range(2)]
    handle, *_ = without_gradients(step, pair, 0.5, 0.0)
    handle.remove()
    (pair[0] + pair[1]).sum().backward()
    found = sorted(one.item() for one in pair)
    words = "of two handles one is removed: one parameter stays at 1, the other goes to 0.5"
    assert found == [0.5, 1.0], f"{words}; they are {found}"


def _deep_copy(weight_norm: Callable, kind: type) -> None:
    weight = torch.tensor([[3.0, 4.0]], device=course_utils.device)
    layer = weight_norm(layer_of(weight))
    for one in ("weight", *layer._buffers):  # what is no parameter and has a graph can't be copied
        vars(layer).pop(one, None)
    twin = copy.deepcopy(layer)
    with torch.no_grad():
        twin.get_parameter("weight_g").mul_(2)
    told = "the hook is handed the module that is called"
    try:
        found = [one(torch.ones_like(weight)).item() for one in (layer, twin)]
    except AttributeError as error:
        raise AssertionError(f"a deep copy is called: {error}: {told}, so use that") from None
    words = "a deep copy of the layer, whose weight_g is doubled; for [[1, 1]] layer and copy give"
    assert abs(found[0] - 7) + abs(found[1] - 14) < 1e-4, f"{words} {found}, not 7 and 14: {told}"


def _deep_beside(hooks: Callable) -> None:
    deep = nn.ModuleDict({"1": nn.ModuleDict({"0": nn.Linear(1, 1, bias=False)})})
    model = nn.ModuleDict({"stem": nn.Linear(1, 1, bias=False), "block": deep})
    load_renamed(hooks, model, {"block.0": "stem"}, {"stem.weight": "block.0.weight"})


STATES: dict[str, dict[str, Callable[..., Any]]] = {
    "capture": {
        "a module that is not called, and no names": _not_called,
        "a block that is entered later": _entered_later,
        "an earlier hook that replaces the output": _earlier_hook,
        "a block that raises errors of other kinds": _errors_of_the_block,
        "outputs of all layouts, under no_grad": _outputs_of_all_layouts,
    },
    "reversal": {"x in short dtypes, and a whole strength": _short_dtypes},
    "freezing": {
        "other hooks on the table": _other_hooks_on_the_table,
        "rows that are looked up, one named twice": _looked_up,
    },
    "cam": {"an image that has a gradient, and an earlier hook": _images_own_gradient},
    "monitor": {
        "runs without gradients": _without_gradients,
        "an output that is used twice": _used_twice,
    },
    "steps": {"one handle of two removed": _one_handle_removed},
    "loading": {
        "block.1.0 beside block.0": _deep_beside,
    },
    "offload": {
        "calls in other modes, and again": _called_again,
        "infinity, -0.0, and a billionth": _infinite,
    },
    "weight norm": {
        "the weight that is handed in": _whose_weight,
        "a layer in eval mode": _in_eval,
        "a deep copy": _deep_copy,
    },
    "intervention": {
        "a name that the models don't have": _unknown_name,
        "calls in other modes, and again": _intervenes_again,
    },
}
