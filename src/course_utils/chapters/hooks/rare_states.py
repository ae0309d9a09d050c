"""More awkward states of exercises 7.7 and 7.10 to 7.12: a check tries each by its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import course_utils
from course_utils.chapters.hooks.counting import bystander, hooks_on
from course_utils.chapters.hooks.weight_norm import layer_of


class _Maps(nn.Module):
    """An image (1, 3, h, w) to maps, and to a score for each."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = nn.Identity()
        self.weight = nn.Parameter(torch.ones(1, device=course_utils.device))

    def forward(self, images: Tensor) -> Tensor:
        return self.maps(images * self.weight).mean(dim=(2, 3))


def _cam_hooks(grad_cam: Callable) -> None:
    model = _Maps()
    model.maps.register_forward_hook(bystander)
    image = torch.linspace(-3, 3, 12, device=course_utils.device).view(3, 2, 2)
    before = image.clone()
    grad_cam(model, "maps", image, 0)
    left = hooks_on(model)
    assert torch.equal(image, before), "the values of the image were changed: it is the caller's"
    assert model.maps.training, "the layer was switched to eval(): leave its mode as it was"
    words = "the layer had a hook before, and that one alone is to be left"
    assert [*model.maps._forward_hooks.values()] == [bystander], f"{words}; there are {left}"


def _cam_mode(grad_cam: Callable) -> None:
    image, told = torch.ones(3, 2, 2, device=course_utils.device), ""
    with torch.no_grad():
        # The statement promises no map here. Only the mode that is left is looked at.
        try:
            grad_cam(_Maps(), "maps", image, 0)
        except Exception as error:
            told = f", and raises {type(error).__name__}"
        words = f"called under no_grad, it leaves autograd switched on{told}"
        assert not torch.is_grad_enabled(), f"{words}: enable_grad() in a with block puts it back"


def _state_dict(weight_norm: Callable, kind: type) -> None:
    layer = weight_norm(layer_of(torch.tensor([[3.0, 4.0]], device=course_utils.device)))
    layer(torch.ones(1, 2, device=course_utils.device))
    found = sorted(layer.state_dict())
    words = "weight_g and weight_v stand in place of weight: neither parameter nor buffer is left"
    assert found == ["bias", "weight_g", "weight_v"], f"{words}; state_dict() has {found}"


def _missing_key(hooks: Callable) -> None:
    model, raised = nn.ModuleDict({name: nn.Linear(1, 1) for name in ("head", "tail")}), ""
    hooks(model, {"fc": "head"})
    state = {"fc.weight": torch.ones(1, 1), "tail.weight": torch.ones(1, 1)}
    try:
        model.load_state_dict({**state, "fc.bias": torch.ones(1)})
    except RuntimeError as error:
        raised = str(error)
    words = "a checkpoint without tail.bias: what is missing is an error as always"
    assert "Missing key(s)" in raised, f"{words}, and none was raised"


def _what_is_wrong_stays(hooks: Callable) -> None:
    wrong = {"tail.scale": torch.ones(1), "tail.bias": torch.ones(1), "fc.scale": torch.ones(1)}
    for key, value in {**wrong, "fc.weight": torch.ones(1, 1, 1)}.items():
        parts = {name: nn.Linear(1, 1, bias=False) for name in ("head", "tail")}
        model, one, raised = nn.ModuleDict(parts), torch.ones(1, 1), ""
        hooks(model, {"fc": "head"})
        try:
            model.load_state_dict({"fc.weight": one, "tail.weight": one, key: value})
        except RuntimeError as error:
            raised = str(error)
        words = f"the key {key}, of shape {tuple(value.shape)}, does not fit the model"
        told = "rename keys, and neither drop nor change what comes with them"
        assert raised, f"{words}: that is an error as always, and none was raised; {told}"


def _loaded_digits(hooks: Callable) -> None:
    model = nn.ModuleDict({"head": nn.Linear(1, 1, bias=False, dtype=torch.float64)})
    hooks(model, {"fc": "head"})
    model.load_state_dict({"fc.weight": torch.full((1, 1), 1 / 3, dtype=torch.float64)})
    found = model.get_parameter("head.weight").item()
    words = "a third in torch.float64 under an old name"
    assert found == 1 / 3, f"{words} was loaded as {found}: rename the key, leave the value alone"


class _Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.calls = nn.Identity(), 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.inner(x)


def _counted(intervention: Callable) -> None:
    donor, model, x = _Counts(), _Counts(), torch.ones(1, device=course_utils.device)
    intervention(donor, model, ["inner", ""], x, x)
    calls, words = (donor.calls, model.calls), "for two names the donor and the model count"
    hint = "once, and once for each name; a copy of a model is not the model"
    assert calls == (1, 2), f"{words} {calls} calls, expected (1, 2): {hint}"


STATES: dict[str, dict[str, Callable[..., Any]]] = {
    "cam": {
        "a layer that has a hook": _cam_hooks,
        "autograd's mode under no_grad": _cam_mode,
    },
    "weight norm": {"the keys of state_dict()": _state_dict},
    "loading": {
        "a key that is missing": _missing_key,
        "a key or a shape that does not fit": _what_is_wrong_stays,
        "every digit of torch.float64": _loaded_digits,
    },
    "intervention": {"models that count their calls": _counted},
}
