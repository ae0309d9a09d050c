"""More awkward states of exercises 7.7 and 7.10 to 7.12: a check tries each by its words."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import course_utils
from course_utils.chapters.hooks.counting import bystander, hooks_on
from course_utils.chapters.hooks.later_states import load_renamed
from course_utils.chapters.hooks.states import ones, small_network, without_gradients
from course_utils.chapters.hooks.weight_norm import layer_of
from course_utils.learner.other_states import check_states


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
    before, names = image.clone(), {*vars(model)}
    grad_cam(model, "maps", image, 0)
    more = ", ".join(map(repr, {*vars(model)} - names))
    assert not more, f"the model has a new attribute, {more}: keep what you need in your function"
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


class _Raises(_Maps):
    def __init__(self, error: type[BaseException]) -> None:
        super().__init__()
        self.error = error

    def forward(self, images: Tensor) -> Tensor:
        super().forward(images)
        raise self.error


def _cam_raises(grad_cam: Callable) -> None:
    image = torch.ones(3, 2, 2, device=course_utils.device)
    for error, on in itertools.product((ValueError, KeyboardInterrupt), (True, False)):
        model, words = _Raises(error), f"the model raises a {error.__name__}"
        with torch.set_grad_enabled(on):
            with contextlib.suppress(Exception, KeyboardInterrupt):
                grad_cam(model, "maps", image, 0)
            left = f"{words} under no_grad, and autograd is left on"
            assert torch.is_grad_enabled() == on, left
        left = f"{words}, and a hook is left: a with block, or a finally, takes it out"
        assert not hooks_on(model), left


def _mostly_against(grad_cam: Callable) -> None:
    image = torch.tensor([-3.0, 0.5, 1], device=course_utils.device).expand(3, 1, 3).clone()
    model = _Maps()
    grad_cam(model, "maps", 2 - image, 1)
    told = "the largest value is that of the map, after the relu"
    for factor in (1, 2.0**-90):
        found = grad_cam(model, "maps", factor * image, 0)
        words = f"maps of -3, 0.5 and 1, times {factor:g}, each of weight 1/3: the result is"
        right = found.tolist() == [[0, 0.5, 1]]
        assert right, f"{words} {found.tolist()}, expected 0, 0.5, 1: {told}"


def _maps_again(grad_cam: Callable) -> None:
    model, image = _Maps(), torch.tensor([-3.0, 0.5, 1], device=course_utils.device)
    check_states(
        lambda image: grad_cam(model, "maps", image, 0),
        image.expand(3, 2, 3).clone(),
        what="grad_cam(model, layer, image, target)",
        but=["no_grad", "inference_mode"],
    )


def _bare(weight_norm: Callable, kind: type) -> None:
    for name in ("weight_norm", "WeightNorm"):
        layer = nn.Linear(2, 1, bias=False)
        nn.init.ones_(layer.to(course_utils.device).weight)
        try:
            if name == "weight_norm":
                weight_norm(layer)
            else:
                torch.nn.utils.parametrize.register_parametrization(layer, "weight", kind())
            found = layer(input=torch.ones(1, 2, device=course_utils.device)).item()
        except (TypeError, IndexError, AttributeError) as error:
            words = f"{name}, a Linear whose bias is None, called by layer(input=x): raised {error}"
            raise AssertionError(f"{words}; what a pre-hook returns replaces args") from error
        assert abs(found - 2) < 1e-5, f"{name}, weights of 1, no bias: {found}, expected 1 + 1"


def _by_a_hook(weight_norm: Callable, kind: type) -> None:
    layer = layer_of(torch.tensor([[3.0, 4.0]], device=course_utils.device))
    layer.register_forward_pre_hook(bystander)
    weight_norm(layer)
    hooks = [*layer._forward_pre_hooks.values()]
    gone = "a forward pre-hook that the layer had before is gone"
    assert bystander in hooks, f"{gone}: leave other people's hooks alone"
    assert len(hooks) > 1, "weight_norm hung no forward pre-hook on the layer: it is to work by one"
    assert "forward" not in vars(layer), "weight_norm put a forward of its own on the layer"


def _two_layers(weight_norm: Callable, kind: type) -> None:
    weights = [torch.tensor(row, device=course_utils.device) for row in ([[3.0, 4.0]], [[6.0, 0]])]
    layers = [weight_norm(layer_of(weight)) for weight in weights]
    with torch.no_grad():
        layers[0].get_parameter("weight_g").mul_(2)
    found = [layer(torch.ones_like(weights[0])).item() for layer in layers]
    words = "two layers, of weights [[3, 4]] and [[6, 0]], the first one's g doubled; for [[1, 1]]"
    close = abs(found[0] - 14) + abs(found[1] - 6) < 1e-4
    assert close, f"{words} they give {found}, expected [14, 6]: does each use its own g and v?"


def _two_parametrized(weight_norm: Callable, kind: type) -> None:
    one = torch.ones(2, 3, device=course_utils.device)
    for name in ("weight_norm", "WeightNorm"):
        weights = [one, one.view(2, 1, 3, 1), 2 * one]
        layers = [layer_of(weight) for weight in weights]
        for layer in layers:
            if name == "weight_norm":
                weight_norm(layer)
            else:
                torch.nn.utils.parametrize.register_parametrization(layer, "weight", kind())
        for layer, weight in zip(layers, weights, strict=True):
            layer(weight)
            found = layer.weight
            words = f"{name}: a Linear of ones, a Conv2d of ones, a Linear of twos, called in turn"
            assert isinstance(found, Tensor), f"{name}: layer.weight is {found!r}"
            right = found.shape == weight.shape and torch.allclose(found, weight, 1e-4)
            assert right, f"{words}: what is kept for one is taken for another"


def _state_dict(weight_norm: Callable, kind: type) -> None:
    layer = weight_norm(layer_of(torch.tensor([[3.0, 4.0]], device=course_utils.device)))
    frozen = [name for name, one in layer.named_parameters() if not one.requires_grad]
    assert not frozen, f"{', '.join(frozen)} needs no gradient now: all is trained, the bias too"
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
        log = hooks(model, {"fc": "head"})
        try:
            model.load_state_dict({"fc.weight": one, "tail.weight": one, key: value})
        except RuntimeError as error:
            raised = str(error)
        words = f"the key {key}, of shape {tuple(value.shape)}, does not fit the model"
        told = "rename keys, and neither drop nor change what comes with them"
        assert raised, f"{words}: that is an error as always, and none was raised; {told}"
        renamed = [old for old in {"fc.weight", key} if old.startswith("fc.")]
        lines = sorted(f"{old} -> {old.replace('fc', 'head')}" for old in renamed)
        told = "a key of an old name is renamed, whatever comes of it"
        assert sorted(log) == lines, f"{words}: the list is {log}, expected {lines}; {told}"


def _loaded_digits(hooks: Callable) -> None:
    model = nn.ModuleDict({"head": nn.Linear(1, 1, bias=False, dtype=torch.float64)})
    hooks(model, {"fc": "head"})
    model.load_state_dict({"fc.weight": torch.full((1, 1), 1 / 3, dtype=torch.float64)})
    found = model.get_parameter("head.weight").item()
    words = "a third in torch.float64 under an old name"
    assert found == 1 / 3, f"{words} was loaded as {found}: rename the key, leave the value alone"


def _prefix_again(hooks: Callable) -> None:
    inner = nn.ModuleDict({"head": nn.ModuleDict({"net": nn.Linear(1, 1, bias=False)})})
    log, raised = hooks(inner, {"fc": "head"}), ""
    try:
        nn.ModuleDict({"net": inner}).load_state_dict({"net.fc.net.weight": torch.ones(1, 1)})
    except RuntimeError as error:
        raised = f" It raised {' '.join(str(error).split())}"
    words = "the model is the part net of another, and the prefix net. comes in a key once more"
    told = f"the list is {log}; a prefix is what a key begins with.{raised}"
    assert log == ["net.fc.net.weight -> net.head.net.weight"], f"{words}: {told}"


def _two_models(hooks: Callable) -> None:
    models = [nn.ModuleDict({name: nn.Linear(1, 1, bias=False)}) for name in ("head", "tail")]
    named = [(model, {"fc": name}) for model in models for name in model]
    logs, raised = [without_gradients(hooks, *pair) for pair in named], ""
    try:
        for model in models:
            without_gradients(model.load_state_dict, {"fc.weight": torch.ones(1, 1)})
    except RuntimeError as error:
        raised = f", and it raised {' '.join(str(error).split())}"
    right = [[f"fc.weight -> {name}.weight"] for name in ("head", "tail")]
    words = "two models, fc for head in one and fc for tail in the other: the lists are"
    assert logs == right, f"{words} {logs}{raised}: each has its own names and its own list"


def _buffers(hooks: Callable) -> None:
    model = nn.ModuleDict({"norm": nn.BatchNorm1d(1)})
    keys = {key: key.replace("norm.", "bn.") for key in model.state_dict()}
    load_renamed(hooks, model, {"bn": "norm"}, keys)


def _any_character(hooks: Callable) -> None:
    parts = {"stem": nn.Linear(1, 1, bias=False), "block_0": nn.Linear(1, 1, bias=False)}
    model, keys = nn.ModuleDict(parts), {"stem.weight": "block.0.weight"}
    load_renamed(hooks, model, {"block.0": "stem"}, keys)


def _other_case(hooks: Callable) -> None:
    model = nn.ModuleDict({name: nn.Linear(1, 1, bias=False) for name in ("head", "FC")})
    load_renamed(hooks, model, {"fc": "head"}, {"head.weight": "fc.weight"})


def _beside(hooks: Callable) -> None:
    for kept in ({}, {"first.weight": torch.ones(2, 2)}):
        model, raised = nn.ModuleDict({"head": nn.Linear(1, 1, bias=False)}), ""
        hooks(model, {"fc": "head"})
        whole = nn.ModuleDict({"first": nn.Linear(1, 1, bias=False), "net": model})
        try:
            whole.load_state_dict({**kept, "net.fc.weight": torch.ones(1, 1)})
        except RuntimeError as error:
            raised = str(error)
        what = "of a wrong shape" if kept else "missing"
        words = f"beside the model, in a larger one, first.weight is {what}, and no error is raised"
        assert "first.weight" in raised, f"{words}: the hook keeps to names, and not to errors"


class _Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.calls = nn.Identity(), 0
        self.modes: set[tuple[bool, bool]] = set()

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.modes.add((self.training, self.inner.training))
        return 2 * self.inner(x)


def _counted(intervention: Callable) -> None:
    donor, model, x = _Counts(), _Counts().eval(), torch.ones(1, device=course_utils.device)
    donor.inner.eval()
    model.inner.train()
    intervention(donor, model, ["inner", ""], x, x)
    calls, words = (donor.calls, model.calls), "for two names the donor and the model count"
    hint = "once, and once for each name; a copy of a model is not the model"
    assert calls == (1, 2), f"{words} {calls} calls, expected (1, 2): {hint}"
    words = "the donor trains and its part is in eval, the model is in eval and its part trains"
    states = [(one.training, one.inner.training) for one in (donor, model)]
    assert states == [(True, False), (False, True)], f"{words}, and a mode was changed"
    told = "and a run was in other modes: each runs in the mode that it is in"
    assert [donor.modes, model.modes] == [{state} for state in states], f"{words}, {told}"
    intervention(donor, donor, ["inner", ""], x, x)
    calls = donor.calls - 1
    words = "a donor that is the model counts, for two names,"
    assert calls == 3, f"{words} {calls} calls, expected 1 + 2: {hint}"


def _rows_of_run_a(intervention: Callable) -> None:
    model = small_network()
    for rows, others in ((1, 3), (3, 1)):
        a, b = ones(rows, 2), 2 * ones(others, 2)
        words = f"run A has a batch of {rows}, run B of {others}: the answer for"
        for name, found in intervention(model, model, ["0", ""], a, b).items():
            shape, right = tuple(found.shape), model(a)
            told = "the patch is what run A returned, and keeps its shape"
            same = shape == right.shape
            assert same, f"{words} {name!r} has shape {shape}, expected {(rows, 3)}: {told}"
            assert torch.allclose(found, right), f"{words} {name!r} is not that of run A; {told}"


class _Picks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.place = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return 10 * x[self.place(x.argmax())]


def _integer(intervention: Callable) -> None:
    model, a = _Picks(), torch.tensor([1.0, 2.0], device=course_utils.device)
    words = "a module returns an integer, 1 in run A, which is an index in run B"
    try:
        found = intervention(model, model, ["place"], a, a.flip(0))["place"].item()
    except (IndexError, TypeError) as error:
        raise AssertionError(f"{words}: {error}; the patch keeps its dtype") from error
    assert found == 10, f"{words}: the answer is {found}, expected 10"


STATES: dict[str, dict[str, Callable[..., Any]]] = {
    "cam": {
        "a layer that has a hook": _cam_hooks,
        "autograd's mode under no_grad": _cam_mode,
        "a model that raises, and a KeyboardInterrupt": _cam_raises,
        "maps that speak most against the class": _mostly_against,
        "an image in other states, and again": _maps_again,
    },
    "weight norm": {
        "the keys of state_dict()": _state_dict,
        "no bias, and the input by keyword": _bare,
        "a layer that has a forward pre-hook": _by_a_hook,
        "two layers": _two_layers,
        "three layers, each way": _two_parametrized,
    },
    "loading": {
        "a key that is missing": _missing_key,
        "a key or a shape that does not fit": _what_is_wrong_stays,
        "every digit of torch.float64": _loaded_digits,
        "the prefix once more in a key": _prefix_again,
        "two models": _two_models,
        "buffers under an old name": _buffers,
        "block_0 beside block.0": _any_character,
        "FC beside fc": _other_case,
        "errors of the modules beside it": _beside,
    },
    "intervention": {
        "models that count their calls": _counted,
        "a module that returns an integer": _integer,
        "batches of two sizes": _rows_of_run_a,
    },
}
