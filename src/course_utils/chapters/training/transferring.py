"""Exercise 13.11: rates, frozen weights and norms of a transferred network."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
import torch.nn as nn

from course_utils.chapters.training.states import frozen
from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook


def make_two(frozen_before: bool) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        inner, twice = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6)), nn.Linear(6, 6)
        tied = nn.Linear(6, 6)
        tied.weight = twice.weight
        parts = nn.Linear(4, 6), nn.BatchNorm1d(6), inner, twice, twice, nn.Dropout(0.5), tied
        model = nn.Sequential(nn.Sequential(*parts), nn.Linear(6, 3))
    model[0].requires_grad_(not frozen_before)
    model[1].requires_grad_(not frozen_before)
    inner[0].requires_grad_(True)  # a part of it may have been thawed since
    for name, buffer in model.named_buffers():  # the norms have seen batches before
        if name.endswith("running_mean"):
            buffer.fill_(0.25)
        if name.endswith("num_batches_tracked"):
            buffer.fill_(9)
    return model.to(device)


@ends_in_notebook
def run_transfer(train_mode, transfer, mode: str, frozen_before: bool = False) -> dict:
    """The rates by parameter, what is trainable, the head; modes and statistics afterwards."""
    model: Any = make_two(frozen_before)
    before = {name: value.clone() for name, value in model[0].state_dict().items()}
    head, names, error, groups = model[1], {}, "", []
    grads = {name: p.requires_grad for name, p in model.named_parameters()}
    random = _random_states()
    try:
        groups = transfer(model, 5, mode, 0.5)
        assert groups is not None, "transfer returned None: is there an answer yet?"
        groups = [{**group, "params": list(group["params"])} for group in groups]
    except AssertionError:
        raise
    except Exception as raised:
        if not isinstance(raised, ValueError) and mode in ("probe", "full", "discriminative"):
            raise
        error, groups = type(raised).__name__, []
    drawn = _random_states() != random
    kind, words = model[1].weight.dtype, "the backbone's numbers are float32, and go into the head"
    assert kind == torch.float32, f"the new head's weight is {kind}: {words}"
    now = model[0].state_dict()
    reset = [name for name in before if name in now and not torch.equal(now[name], before[name])]
    before = {name: value.clone() for name, value in now.items()}
    for name, parameter in model.named_parameters():
        names[name] = [
            group.get("lr") for group in groups for p in group["params"] if parameter is p
        ]
    seen = {
        "error": error,
        "rates": names,
        "parts": len(model),
        "head": (_kind(model[1]), *model[1].weight.shape),
        "new": model[1] is not head,
        "reset": reset,
        "device": model[1].weight.device.type,
        "strangers": sum(len(group["params"]) for group in groups) - sum(map(len, names.values())),
        "grad": {name: p.requires_grad for name, p in model.named_parameters()},
        "drawn": drawn,
    }
    seen["untouched"] = model[1] is head and seen["grad"] == grads
    model.eval()
    train_mode(model)
    seen["modes"] = {name: module.training for name, module in model.named_modules()}
    model[0](torch.randn(8, 4, generator=torch.Generator().manual_seed(1)).to(device) + 3)
    seen["moved"] = [
        name
        for name, value in model[0].state_dict().items()
        if not torch.equal(value, before[name])
    ]
    return seen


def _random_states() -> str:
    """PyTorch's global random states, of the CPU and of each GPU."""
    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return frozen([torch.get_rng_state(), *gpus])


def _kind(head: nn.Module) -> str:
    """The name of its class; a class derived from Linear is one."""
    return "Linear" if isinstance(head, nn.Linear) else type(head).__name__


def run_bare(transfer, mode: str, layer: bool = False, lr: float = 0.5) -> list:
    """The rates by parameter, where backbone and old head have none and no bias, or the backbone is
    a ``layer`` itself. Then the head had as many outputs before, and what should be frozen was free
    and the other way round. The two parts have names."""
    body = nn.Linear(4, 4).requires_grad_(mode == "probe") if layer else nn.Flatten()
    head = nn.Linear(4, 5 if layer else 3, bias=layer)
    model: Any = nn.Sequential(OrderedDict(features=body, classifier=head)).to(device)
    try:
        groups = [
            {**group, "params": list(group["params"])} for group in transfer(model, 5, mode, lr)
        ]
    except Exception as error:
        words = f"{type(error).__name__}: {error}".splitlines()[0]
        if isinstance(error, StopIteration):
            words += "next() found nothing: a backbone may have no parameters; ask the old head"
        raise AssertionError(f"mode {mode!r} raised {words}") from error
    words = "here the two parts have names, features and classifier, and now there are "
    words += f"{', '.join(dict(model.named_children()))}: assign model[1], whatever its name is"
    assert len(model) == 2, words
    words = "the head is the old one: put a new nn.Linear there, whatever number of outputs it has"
    assert model[1] is not head, words
    words = "the new head has no bias, as the old one had none; it has one whatever the old one had"
    assert model[1].bias is not None, words
    free = [parameter.requires_grad for parameter in model[0].parameters()]
    text = "requires_grad of the backbone's weight and bias: a backbone may have parameters of its "
    text += "own, not in its children alone"
    check_equal(free, [mode != "probe"] * len(free), f"mode {mode!r}: {text}")
    return [
        [group["lr"] for group in groups for p in group["params"] if p is parameter]
        for parameter in model.parameters()
    ]


def run_elsewhere(transfer, mode: str, bare: bool = False) -> str:
    """The device of the new head, where the model is on "meta"; a ``bare`` backbone has nothing."""
    body = nn.Flatten() if bare else nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6))
    model: Any = nn.Sequential(body, nn.Linear(6, 3)).to("meta")
    transfer(model, 5, mode, 0.5)
    return model[1].weight.device.type


class Quiet(nn.BatchNorm2d):
    """A batch norm by another name."""


def run_norms(train_mode) -> dict:
    """By name: whether a layer is in training mode after train_mode, or what else changed."""
    layers = {"Dropout": nn.Dropout(), "frozen LayerNorm": nn.LayerNorm(2).requires_grad_(False)}
    for kind in (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d):
        layers[f"frozen {kind.__name__}"] = kind(2).requires_grad_(False)
        layers[f"trainable {kind.__name__}"] = kind(2)
        layers[f"frozen {kind.__name__} with a trainable bias"] = part = kind(2)
        part.weight.requires_grad_(False)
        layers[f"trainable {kind.__name__} with a frozen bias"] = part = kind(2)
        part.bias.requires_grad_(False)
    tracks = nn.InstanceNorm1d(2, affine=True, track_running_stats=True)
    layers["frozen InstanceNorm1d with statistics"] = tracks.requires_grad_(False)
    layers["frozen BatchNorm2d of a derived class"] = Quiet(2).requires_grad_(False)
    bare = nn.BatchNorm1d(2, track_running_stats=False)
    layers["frozen BatchNorm1d that keeps no statistics"] = bare.requires_grad_(False)
    settings = {name: _settings(layer) for name, layer in layers.items()}
    whole = nn.Sequential(nn.Sequential(*layers.values()), nn.Linear(2, 2)).eval()
    whole.register_forward_hook(lambda *_: None)
    for parameter in whole.parameters():
        parameter.grad = torch.full_like(parameter, 0.5)
    watch = forbid_side_effects(whole, but=("mode", "requires_grad")).__enter__()
    train_mode(whole)
    changes = watch.changes()
    assert not changes, f"its mode alone is train_mode's to change: {changes[0]}"
    alone = {
        "frozen BatchNorm1d that is the model itself": nn.BatchNorm1d(2).requires_grad_(False),
        "frozen BatchNorm2d of a derived class, the model itself": Quiet(2).requires_grad_(False),
        "trainable BatchNorm3d that is the model itself": nn.BatchNorm3d(2).eval(),
    }
    for layer in alone.values():
        train_mode(layer)
    words = ": its settings changed, where its mode alone should, from {} to {}"
    for name, layer in layers.items():
        same = _settings(layer) == settings[name]
        assert same, name + words.format(settings[name], _settings(layer))
    modes = {name: layer.training for name, layer in layers.items()}
    return modes | {name: layer.training for name, layer in alone.items()}


def _settings(layer: nn.Module) -> str:
    trained = [name for name, parameter in layer.named_parameters() if parameter.requires_grad]
    return f"{layer!r} with gradients for {' and '.join(trained) or 'nothing'}"


def check_rates(seen, name, want):
    assert name in seen["rates"], "the model has no such parameter any more: nn.Linear has a bias"
    mine = seen["rates"][name]
    assert None not in mine, 'its group has no "lr": each group says its rate'
    same = len(mine) == len(want) and all(
        abs(a - b) < 1e-9 for a, b in zip(mine, want, strict=True)
    )
    part = "head learns at lr" if name[0] == "1" else "backbone learns at lr / 10"
    part = "backbone learns at lr, too" if want == [0.5] and name[0] == "0" else part
    words = "trained although the backbone is frozen" if not want else f"the {part}"
    words = "in no group" if want and not mine else words
    words = "more than once in the groups" if len(mine) > 1 else words
    assert same, f"rates {mine}, expected {want}: {words}"
    text = (
        "it was frozen before and has to learn again"
        if want
        else "frozen means requires_grad=False"
    )
    text = "the new head has to learn, in every mode" if name[0] == "1" else text
    assert seen["grad"][name] == bool(want), f"requires_grad is {seen['grad'][name]}: {text}"


def check_bare(try_bare):
    for mode in ("probe", "full", "discriminative"):
        check_equal(try_bare(mode), [[0.5], [0.5]], f"mode {mode!r}: the rates of the head")
    words = "the rates of the head where lr is 0.0, a rate like any"
    check_equal(try_bare("full", lr=0.0), [[0.0], [0.0]], words)


def check_elsewhere(try_elsewhere):
    for bare in (False, True):
        told = "the old head's" + ", for this backbone has no parameter to ask" * bare
        check_equal(try_elsewhere("full", bare=bare), "meta", "the new head's device", told)


def check_single(try_bare):
    for mode, rates in {"probe": [], "full": [0.5], "discriminative": [0.05]}.items():
        words = f"mode {mode!r}: the rates of the layer's weight and bias, and of the head's"
        check_equal(try_bare(mode, layer=True), [rates, rates, [0.5], [0.5]], words)


def check_modes(seen, mode, norms):
    for name, training in seen["modes"].items():
        frozen_norm = mode == "probe" and name in norms
        words = (
            "frozen batch norms go into evaluation mode"
            if frozen_norm
            else "only frozen batch norms leave training mode"
        )
        assert training != frozen_norm, f"{name or 'the model'}: training is {training}: {words}"
    stats = [name for name in seen["moved"] if "running" in name or "tracked" in name]
    other = sorted(set(seen["moved"]) - set(stats))
    assert not other, f"the values of {', '.join(other)} changed"
    assert mode != "probe" or not stats, f"frozen, and yet {stats[:1]} moved in a forward pass"
    assert mode == "probe" or stats, "batch norm's statistics do not move although it is trained"
