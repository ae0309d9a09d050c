"""Further awkward states of exercises 7.2 to 7.12: a check tries each by its words."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import course_utils
from course_utils.chapters.hooks.counting import bystander, hooks_on
from course_utils.chapters.hooks.states import ones, small_network, with_both
from course_utils.chapters.hooks.weight_norm import layer_of
from course_utils.learner.gradients import grad_of


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
        for strength in (0.5, 2):
            x = ones(3, dtype=dtype).requires_grad_()
            words = f"{name}, x in {dtype}, of strength {strength}"
            try:
                y = reverse(x, strength)
                y.sum().backward()
            except RuntimeError as error:
                raise AssertionError(f"{words}: backward() raised {error}") from error
            found = [y.dtype, grad_of(x).dtype]
            assert found == [dtype, dtype], f"{words}: y and the gradient are in {found}"
            numbers = grad_of(x).tolist()
            assert numbers == [-strength] * 3, f"{words}: the gradient of y.sum() is {numbers}"


def _other_hooks_on_the_table(freeze_rows: Callable) -> None:
    embedding, seen = nn.Embedding.from_pretrained(ones(3, 2), freeze=False), []
    embedding.weight.register_hook(lambda grad: seen.append(1))
    embedding.register_forward_hook(bystander)
    with torch.no_grad():
        handle = freeze_rows(embedding, [1])
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
    with torch.no_grad():
        norms, _ = grad_monitor(network)
    for mode in (torch.no_grad, torch.inference_mode):
        words = f"a run under {mode.__name__} of a monitored network"
        try:
            with mode():
                y = network(ones(2, 2))
        except RuntimeError as error:
            raise AssertionError(f"{words} raised {error}: ask output.requires_grad") from error
        asked = f"{words}: its output requires a gradient now, and without a monitor it doesn't"
        assert not y.requires_grad, asked
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
        image.requires_grad_(asks)
        found = grad_cam(_Shifted(), "maps", image, 0).tolist()
        words = f"an image whose requires_grad is {asks}, and it"
        assert image.requires_grad == asks, f"{words} is {not asks} afterwards"
        assert asks or image.grad is None, (
            f"{words} has a .grad now: ask for the gradient of the maps alone"
        )
        words = "an earlier hook makes the layer return its maps minus 2: of -1, 1 and 2 the map is"
        # The mean of the gradient is positive, and the maps are weighed by it.
        assert found == [[0, 0.5, 1]], f"{words} {found}, expected 0, 0.5, 1"


def _changed_between(keep: Callable, back: Callable) -> None:
    for dtype in (torch.float32, torch.float64, torch.int64):
        x, found = ones(2, dtype=dtype), []
        for number in (2, 3):
            x.fill_(number)
            # What is kept exactly shares the memory of x, so it is brought back at once.
            found.append(back(keep(x)).tolist())
        words = f"a tensor of {dtype} is saved, filled with 3 and saved once more: the second time"
        told = "keep what it holds now: an address or an id tells nothing about the numbers"
        assert found == [[2, 2], [3, 3]], f"{words} {found[1]} comes back; {told}"


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
    weight_norm(layer)
    assert not layer.training, "the layer was in eval mode, and is in train mode now"
    assert layer.bias is bias, "the bias is another parameter now: leave it alone"


def _unknown_name(intervention: Callable) -> None:
    model, x = small_network(), ones(1, 2)
    with contextlib.suppress(Exception):
        intervention(model, model, ["0", "nose"], x, x)
    words = "a name that the models don't have, behind one that they do: hooks are left"
    assert not hooks_on(model), f"{words}. Enter each handle as soon as it is there"


STATES: dict[str, dict[str, Callable[..., Any]]] = {
    "capture": {
        "a module that is not called, and no names": _not_called,
        "a block that is entered later": _entered_later,
    },
    "reversal": {"x in short dtypes, and a whole strength": _short_dtypes},
    "freezing": {"other hooks on the table": _other_hooks_on_the_table},
    "cam": {"an image that has a gradient, and an earlier hook": _images_own_gradient},
    "monitor": {"runs without gradients": _without_gradients},
    "offload": {
        "a tensor that changed between two saves": _changed_between,
        "infinity, -0.0, and a billionth": _infinite,
    },
    "weight norm": {
        "the weight that is handed in": _whose_weight,
        "a layer in eval mode": _in_eval,
    },
    "intervention": {"a name that the models don't have": _unknown_name},
}
