"""Exercise 8.10: freeze by pattern, and count."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn as nn

from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device


class Talker(nn.Module):
    """A tied table, a batch norm without weights, one parameter in half precision.

    A buffer has three names, one of them in another module.
    """

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 4)
        self.plain = nn.BatchNorm1d(4, affine=False)
        self.norm = nn.BatchNorm1d(4)
        self.dropout = nn.Dropout()
        self.out = nn.Linear(4, 7)
        self.out.weight = self.table.weight
        self.scale = nn.Parameter(torch.ones(3, dtype=torch.float16))
        self.out_bias = nn.Parameter(torch.zeros(2))
        mask = torch.ones(5, dtype=torch.bool)
        self.register_buffer("mask", mask, persistent=False)
        self.register_buffer("again", mask, persistent=False)
        self.out.register_buffer("mask", mask, persistent=False)


class Standard(nn.BatchNorm2d):
    """A batch norm under another name."""


class Kinds(nn.Module):
    """A batch norm for each number of dimensions; one is in eval mode though it isn't frozen.

    One is of a subclass and in two places, one keeps no statistics; three norms are none of
    batches.
    """

    def __init__(self) -> None:
        super().__init__()
        self.line, self.image, self.film = nn.BatchNorm1d(2), nn.BatchNorm2d(2), nn.BatchNorm3d(2)
        self.layer, self.stillfilm = nn.LayerNorm(2), nn.BatchNorm2d(3).eval()
        self.instance = nn.InstanceNorm2d(2, affine=True)
        self.group = nn.GroupNorm(1, 2)
        self.batchwise = nn.BatchNorm1d(2, track_running_stats=False)
        self.Own = nn.Linear(1, 1, bias=False)
        self.own = self.second = Standard(2)


def _model(small_net: type[nn.Module], kind: str) -> nn.Module:
    """A model in training mode; one of its parameters is frozen already."""
    makers = {"norms": Kinds, "small": small_net, "asleep": small_net}
    model = makers.get(kind, Talker)().to(device)
    for name, buffer in model.named_buffers():
        if "running" in name:
            buffer.fill_(0.5)
    if kind == "norms":
        return model
    places = {"small": "head.bias", "asleep": "features.0.norm.weight"}
    model.get_parameter(places.get(kind, "scale")).requires_grad_(kind == "free")
    return model


def _facts_of(model: nn.Module) -> tuple:
    """Which parameters are frozen, and which modules are in eval mode."""
    named = model.named_parameters(remove_duplicate=False)
    frozen = [name for name, parameter in named if not parameter.requires_grad]
    return frozen, [name for name, module in model.named_modules() if not module.training]


def run_freeze(
    freeze_and_count: Callable, small_net: type[nn.Module], kind: str, patterns: list[str]
) -> dict:
    """What is frozen and in eval mode afterwards, the counts, or the error."""
    model, counts, error = _model(small_net, kind), None, ""
    before, given = {name: t.clone() for name, t in model.state_dict().items()}, list(patterns)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 0.25)
    model.register_forward_hook(lambda module, args, output: None)
    watch = forbid_side_effects(model, but=("mode", "requires_grad", "grad", "values")).__enter__()
    try:
        counts = freeze_and_count(model, patterns)
    except ValueError as caught:
        error = str(caught) or "ValueError"
    except (AttributeError, TypeError) as caught:
        hint = (
            " (with affine=False, a batch norm's weight is None)"
            if "NoneType" in str(caught)
            else ""
        )
        raise AssertionError(f"{type(caught).__name__}: {caught}{hint}") from None
    except KeyError as caught:
        words = f"a KeyError was raised, where a ValueError belongs: {caught}"
        raise AssertionError(words) from None
    same = all(torch.equal(t, before[name]) for name, t in model.state_dict().items())
    frozen, still = _facts_of(model)
    grads = [parameter.grad for parameter in model.parameters()]
    waiting = all(grad is not None and bool((grad == 0.25).all()) for grad in grads)
    found = {"frozen": frozen, "eval": still, "counts": counts, "error": error, "same": same}
    return found | {"kept": patterns == given, "waiting": waiting, "besides": watch.changes()}


def check_freeze(trial, small_net, kind, patterns, frozen, still, trainable):
    """Compare what is frozen and in eval mode, by name, and the three counts."""
    found, model = trial(kind, patterns), _model(small_net, kind)
    assert not found["error"], f"a ValueError, though each pattern matches: {found['error']}"
    none = "it returned None, not a dict of counts: is there an answer yet?"
    assert found["counts"] is not None, none
    everything = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    right, wrong = [name for name in everything if name in frozen], []
    for what, got, names in (
        ("frozen", found["frozen"], right),
        ("in eval mode", found["eval"], still),
    ):
        extra = [name or "(the model itself)" for name in got if name not in names]
        lacks = [name for name in names if name not in got]
        wrong += [f"{what}, and should not be: {', '.join(extra)}"] if extra else []
        why = " (whether its weight is frozen decides, nothing else)" * (names is still)
        wrong += [f"not {what}: {', '.join(lacks)}{why}"] if lacks else []
    if "plain" in found["eval"]:
        wrong.append("plain has affine=False: its weight is None, and so isn't frozen")
    buffers = list(model.buffers())
    tensors, counts = [*model.parameters(), *buffers], found["counts"]
    total = sum(p.numel() for p in model.parameters())
    right = {"total": total, "trainable": trainable, "bytes": sum(t.nbytes for t in tensors)}
    if not isinstance(counts, dict):
        wrong.append(f"it returned {counts!r}, not a dict of counts: is there an answer yet?")
        counts = right
    slips = {
        ("total", total + 28): "the tied table is counted twice",
        ("bytes", right["bytes"] + 112): "the tied table is counted twice",
        ("bytes", 4 * total): "not every number has four bytes, and buffers have bytes, too",
        ("bytes", sum(p.nbytes for p in model.parameters())): "the buffers are missing",
        ("bytes", sum(t.nbytes for t in model.state_dict().values())): (
            "a state dict lists shared ones twice, and leaves out what is not persistent"
        ),
        ("bytes", right["bytes"] + 122): "the shared ones are counted for each name",
        ("bytes", right["bytes"] + 5): "a buffer that two modules hold is counted for each",
        ("total", total + sum(t.numel() for t in buffers)): (
            "the buffers are counted as well, and aren't parameters"
        ),
        ("bytes", 4 * sum(t.numel() for t in tensors)): "not every number has four bytes",
        ("bytes", 4 * total + sum(t.nbytes for t in buffers)): (
            "not every parameter's number has four bytes"
        ),
    }
    saved = sum({id(t): t.nbytes for t in model.state_dict(keep_vars=True).values()}.values())
    slips["bytes", saved] = "a state dict leaves out what is not persistent"
    slips["bytes", right["bytes"] + sum(p.nbytes for p in model.parameters())] = (
        "gradients aren't asked for: parameters and buffers alone"
    )
    if not wrong:
        before = sum(p.numel() for p in model.parameters() if p.requires_grad)
        slips["trainable", before] = "those that are frozen here count as frozen"
        slips["trainable", total] = "the frozen ones are counted as well"
        old = "those that were frozen before count as frozen, too"
        slips["trainable", total - before + trainable] = old
        free = [p for name, p in model.named_parameters() if name not in found["frozen"]]
        slips["trainable", len(free)] = "the numbers in the parameters are asked for"
        size = sum(tensor.nbytes for tensor in [*free, *model.buffers()])
        slips["bytes", size] = "frozen parameters take memory, too"
    for key, value in right.items():
        got = counts.get(key, "missing")
        if got != value or isinstance(got, bool):
            why = slips.get((key, got), "")
            wrong.append(f"{key!r} is {got}, expected {value}" + (f" ({why})" if why else ""))
    assert found["same"], "; ".join(["values of the model were changed", *wrong])
    assert not wrong, "; ".join(wrong)
    assert found["waiting"], "a parameter's .grad is no longer as it was: it is the caller's"
    assert found["kept"], "the list of patterns is no longer as it was: only read it"
    assert not found["besides"], "; ".join(found["besides"])


def check_refused(trial, small_net, kind, patterns):
    """Check that a pattern without a match is a ValueError, before which nothing was changed."""
    found, (frozen, still) = trial(kind, patterns), _facts_of(_model(small_net, kind))
    words = "a pattern matches nothing, and no ValueError was raised"
    modules = [name for name, _ in _model(small_net, kind).named_modules()]
    modules = [name for name in modules if name and name in patterns]
    why = f" ({modules[0]} is a module, not a parameter)" if modules else ""
    buffers = [name for name, _ in _model(small_net, kind).named_buffers() if name in patterns]
    why = f" ({buffers[0]} is a buffer, not a parameter)" if buffers else why
    names = [name for name, _ in _model(small_net, kind).named_parameters()]
    ends = [p for p in patterns if any(name.endswith(f".{p}") for name in names)]
    why = why or (f" ({ends[0]} is only the end of names: compare full names)" if ends else "")
    assert found["error"], words + why
    check_equal(found["frozen"], frozen, "frozen after the ValueError", "nothing is changed then")
    told = "nothing is changed then, not even the mode of a norm that was frozen before"
    check_equal(found["eval"], still, "in eval mode after the ValueError", told)


def check_nothing(check_refused, case):
    """Patterns that match no parameter."""
    buffer = "features.0.norm.running_mean"
    for nothing in ("nose.*", "head?.bias", "HEAD.*", "head", "weight", "features.", "", buffer):
        with case(f'SmallNet, ["features.*", "{nothing}"]'):
            check_refused("small", ["features.*", nothing])
    with case('SmallNet, ["nose.*", "features.*"]'):
        check_refused("small", ["nose.*", "features.*"])
    with case('SmallNet, ["head.*", "nose.*"]: the weight of a batch norm was frozen before'):
        check_refused("asleep", ["head.*", "nose.*"])


def check_small(check_freeze, case):
    """Patterns on SmallNet."""
    first = ["features.0.conv.weight", "features.0.norm.weight", "features.0.norm.bias"]
    second = [name.replace("0", "2") for name in first]
    norms = ["features.0.norm", "features.2.norm"]
    with case('SmallNet, ["features.*"] (head.bias was frozen before)'):
        check_freeze("small", ["features.*"], [*first, *second, "head.bias"], norms, 160)
    with case('SmallNet, ["head.weight", "features.2.*"]'):
        check_freeze(
            "small",
            ["head.weight", "features.2.*"],
            [*second, "head.bias", "head.weight"],
            norms[1:],
            88,
        )
    with case('SmallNet, ["features.*", "features.2.*"]: the first has all of the second\'s'):
        patterns = ["features.*", "features.2.*"]
        check_freeze("small", patterns, [*first, *second, "head.bias"], norms, 160)
    with case('SmallNet, ["head?weight"]: a dot is a letter, too'):
        check_freeze("small", ["head?weight"], ["head.weight", "head.bias"], [], 1272)
    with case('SmallNet, ["head.*", "head.*"]: one pattern twice'):
        check_freeze("small", ["head.*", "head.*"], ["head.weight", "head.bias"], [], 1272)
    with case("SmallNet, no pattern"):
        check_freeze("small", [], ["head.bias"], [], 1432)
    with case('SmallNet, ["*.bias"]: the batch norms\' weights stay free'):
        bias = ["features.0.norm.bias", "features.2.norm.bias", "head.bias"]
        check_freeze("small", ["*.bias"], bias, [], 1408)


def check_norms(check_freeze, case):
    """Batch norms of every kind, one in eval mode before; an ending that a module has, too."""
    with case("SmallNet, no pattern: the weight of a batch norm was frozen before"):
        check_freeze("asleep", [], ["features.0.norm.weight"], ["features.0.norm"], 1434)
    with case('SmallNet, ["head.bias"], which was frozen before'):
        check_freeze("small", ["head.bias"], ["head.bias"], [], 1432)
    with case('norms of a subclass, ["own.weight"]'):
        both = ["own.weight", "second.weight"]
        check_freeze("norms", ["own.weight"], both, ["own", "stillfilm"], 37)
    with case('a module in two places, ["second.bias"]: its parameters have two names each'):
        check_freeze("norms", ["second.bias"], ["own.bias", "second.bias"], ["stillfilm"], 37)
    with case('norms of all kinds, ["*e.*", "film.weight", "layer.weight", "group.weight"]'):
        three = ("line", "image", "instance", "batchwise")
        frozen = [f"{name}.{part}" for name in three for part in ("weight", "bias")]
        others = ["film.weight", "layer.weight", "group.weight"]
        asleep = ["line", "image", "film", "stillfilm", "batchwise"]
        check_freeze("norms", ["*e.*", *others], [*frozen, *others], asleep, 17)
    with case('a tied table, ["*le"]: scale ends so; table is a module, table.weight does not'):
        check_freeze("free", ["*le"], ["scale"], [], 45)
    with case('SmallNet, ["[!f]*t"]: fnmatchcase reads brackets; [!f] is any letter but f'):
        check_freeze("small", ["[!f]*t"], ["head.weight", "head.bias"], [], 1272)
