"""Exercise 8.9: a checkpoint that fits in part."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

import torch
import torch.nn as nn

from course_utils.chapters.modules.precision import check_digits
from course_utils.chapters.modules.surroundings import untouched
from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.checks import check_close, check_equal
from course_utils.learner.devices import device

# What a checkpoint holds: no number of half precision, and in float64 none of float32.
VALUE = 3 + 2**-10 + 2**-26
# And in whole numbers none of float32, either.
COUNT = 2**24 + 1


class Tricky(nn.Module):
    """Names that contain the words of the prefixes."""

    def __init__(self) -> None:
        super().__init__()
        self.module = nn.Linear(2, 2)
        self.module_list = nn.ModuleList([nn.Linear(2, 1)])
        self.model = nn.Sequential(OrderedDict(module=nn.Linear(1, 3)))


class Tied(nn.Module):
    """One tensor under two names, and a buffer that isn't saved."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 3)
        self.out = nn.Linear(3, 5, bias=False)
        self.out.weight = self.table.weight
        self.Gain = nn.Parameter(torch.ones(1))
        self.register_buffer("mask", torch.ones(2), persistent=False)
        self.register_buffer("empty", torch.zeros(0))


def _target(small_net: type[nn.Module], kind: str) -> nn.Module:
    """A fresh model, in training but for its first child, with one frozen parameter.

    It has a hook, and older gradients.
    """
    torch.manual_seed(0)
    makers = {"linear": lambda: nn.Linear(2, 2), "small": small_net, "tricky": Tricky, "tied": Tied}
    makers["double"] = lambda: small_net().double()
    makers["compiled"] = lambda: nn.Sequential(OrderedDict(_orig_mod=nn.Linear(2, 2)))
    model = makers[kind]().to(device)
    for child in list(model.children())[:1]:
        child.eval()
    next(model.parameters()).requires_grad_(False)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    model.register_forward_hook(lambda module, args, output: None)
    return model


def _ids(model: nn.Module) -> list[int]:
    """Which objects the model's tensors are."""
    return [id(tensor) for tensor in (*model.parameters(), *model.buffers())]


def _places(model: nn.Module) -> list[int]:
    """Where in memory the model's tensors lie."""
    return [tensor.data_ptr() for tensor in (*model.parameters(), *model.buffers())]


def run_surgery(
    state_dict_surgery: Callable, small_net: type[nn.Module], kind: str, checkpoint: dict
) -> dict:
    """The report, or the error; the state afterwards; and what may have changed besides."""
    model, given = _target(small_net, kind), dict(checkpoint)
    objects, copies = _ids(model), {name: t.detach().clone() for name, t in given.items()}
    places, flags = _places(model), [t.requires_grad for t in given.values()]
    watch = forbid_side_effects(model, but=("mode", "requires_grad", "values", "names")).__enter__()
    found = {"error": "", "report": None}
    try:
        # One of the models is met while autograd is off, which has to stay off.
        with torch.set_grad_enabled(kind != "linear"), untouched():
            report = state_dict_surgery(model, checkpoint)
        found["report"] = report
        if isinstance(report, dict):
            bare = [key for key, names in report.items() if not isinstance(names, Iterable)]
            words = f"the report's {bare[:1]} is not a collection of names"
            assert not bare, words
            found["report"] = {str(key): sorted(names) for key, names in report.items()}
    except ValueError as error:
        found["error"] = str(error) or "ValueError"
    except KeyError as error:
        told = f"a KeyError was raised: {error}: was a name looked up that isn't there?"
        raise AssertionError(f"{told} Where nothing fits, a ValueError belongs") from None
    except RuntimeError as error:
        told = " ".join(str(error).split())[:200]
        told = f"a RuntimeError (a ValueError belongs where nothing fits, else a report): {told}"
        shapes = any(word in str(error) for word in ("size mismatch", "must match", "shape"))
        told += " (only what has the same shape may be loaded)" if shapes else ""
        raise AssertionError(told) from None
    found["besides"] = watch.changes()
    same = list(given) == list(checkpoint) and flags == [t.requires_grad for t in given.values()]
    found["kept"] = same and all(
        copies[n].dtype == checkpoint[n].dtype and torch.equal(copies[n], checkpoint[n])
        for n in given
    )
    found["objects"], found["places"] = objects == _ids(model), places == _places(model)
    found["free"] = [p.requires_grad for p in model.parameters()]
    found["modes"] = [module.training for module in model.modules()]
    theirs = {t.untyped_storage().data_ptr() for t in given.values()}
    found["shared"] = [
        n for n, t in model.state_dict().items() if t.untyped_storage().data_ptr() in theirs
    ]
    found["state"] = {name: t.detach().clone() for name, t in model.state_dict().items()}
    return found


def _full(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor like this one, in which every number is that of a checkpoint."""
    return torch.full_like(tensor, VALUE if tensor.is_floating_point() else COUNT)


def filled(model: nn.Module, change=lambda name: name) -> dict:
    """A checkpoint for ``model`` with its names changed."""
    return {change(name): _full(t) for name, t in model.state_dict().items()}


def check_report(
    trial, small_net, kind, checkpoint, loaded, mismatched=(), missing=(), unexpected=()
):
    """Compare the report, and what the model holds afterwards, with the right names."""
    found, start = trial(kind, checkpoint), _target(small_net, kind).state_dict()
    report = found["report"]
    name = next(iter(loaded))
    told = f"a ValueError ({found['error']}), though {name} has a name and a shape of the model's"
    told += "" if name in checkpoint else ", once its prefixes are off, all of them and no more"
    assert not found["error"], told
    assert isinstance(report, dict), f"it returned {report!r}, not a dict: is there an answer yet?"
    right = {
        "loaded": loaded,
        "mismatched": mismatched,
        "missing": missing,
        "unexpected": unexpected,
    }
    wrong = []
    for key, names in right.items():
        if key not in report:
            wrong.append(f"{key!r} is not in the report")
        elif report[key] != sorted(names):
            extra = [name for name in report[key] if name not in names]
            lacks = [name for name in sorted(names) if name not in report[key]]
            others = [other for other in right if other != key]
            also = [other for other in others if {*extra} <= {*report.get(other, ())}]
            which = f", which {also[0]!r} has as well" if also else ""
            told = [f"wrongly has {extra}{which}"] if extra else []
            told += [f"lacks {lacks}"] if lacks else []
            told = told or [f"is {report[key]}: a name twice?"]
            wrong.append(f"{key!r} {' and '.join(told)}")
    strange = [name for name in report.get("unexpected", []) if name not in unexpected]
    for key in checkpoint:
        taken = [name for name in strange if key != name and key.endswith(name)]
        if key in start and taken and key not in report.get("loaded", []):
            wrong.append(f"{key!r} is a name of the model, so its prefix stays")
            break
        if set(strange) & {key.lstrip("module."), key.replace("module.", "")} - {key, *taken}:
            wrong.append(f"{key!r} has lost more than its prefix (lstrip and replace do that)")
            break
    assert not wrong, "; ".join(wrong)
    assert found["kept"], "the checkpoint's names, values or dtypes were changed: only read it"
    for name, old in start.items():
        given = checkpoint[name].detach().to(old) if name in checkpoint else _full(old)
        new = given if name in loaded else old
        got, why = found["state"][name], "" if name in loaded else " (nothing fits it, so it stays)"
        words = f"{name} is reported as loaded, and the model still has the old values"
        assert name not in loaded or not torch.equal(got, old) or torch.equal(old, new), words
        check_digits(got, new, f"{name} in the model afterwards{why}")
        check_close(got, new, f"{name} in the model afterwards{why}")


def check_besides(trial, small_net, kind, checkpoint, fails=False):
    """Check what has to stay as it was; ``fails``: nothing of the checkpoint fits."""
    found, model = trial(kind, checkpoint), _target(small_net, kind)
    if fails:
        words = "nothing can be loaded, and no ValueError was raised"
        blank = ": is there an answer yet?" if found["report"] is None else ""
        assert found["error"], f"{words}: the report was {found['report']!r}{blank}"
        for name, old in model.state_dict().items():
            check_close(found["state"][name], old, f"{name}, where nothing fits")
    else:
        kind = type(found["report"]).__name__
        assert kind == "dict", f"it returned {kind}, not a dict: is there an answer yet?"
    assert found["kept"], "the checkpoint was changed: build a new dict"
    assert found["objects"], (
        "the model's tensors are new objects: copy the values into the old ones"
    )
    free = [p.requires_grad for p in model.parameters()]
    check_equal(found["free"], free, "requires_grad of the parameters", "each stays as it was")
    modes = [module.training for module in model.modules()]
    check_equal(found["modes"], modes, "training of each module", "the modes stay as they were")
    assert not found["besides"], "; ".join(found["besides"])
    shared = ", ".join(found["shared"])
    assert not shared, f"{shared}: in the checkpoint's memory now; copy the numbers"
    assert found["places"], "the model's tensors have other memory (.data = …?): copy into the old"


def check_prefixes(check_report, small_net, case):
    """Prefixes in front of all names, and a head that doesn't fit."""
    small = small_net().to(device)
    every = list(small.state_dict())
    with case("all names fit"):
        check_report("small", filled(small), every)
    with case("module._orig_mod. in front"):
        check_report("small", filled(small, lambda name: f"module._orig_mod.{name}"), every)
    with case("_orig_mod.module.module. in front"):
        check_report("small", filled(small, lambda name: f"_orig_mod.module.module.{name}"), every)
    with case("six prefixes in front"):
        six = "module.module._orig_mod.module.module._orig_mod."
        check_report("small", filled(small, lambda name: six + name), every)
    with case("a compiled model: _orig_mod. belongs to its own names; module. in front"):
        own = filled(_target(small_net, "compiled"))
        check_report("compiled", {f"module.{name}": t for name, t in own.items()}, list(own))
    with case("a head for 7 classes, from another model"):
        other = filled(small_net(7).to(device), lambda name: f"module.{name}")
        head = ["head.weight", "head.bias"]
        check_report("small", other, [name for name in every if name not in head], head)


def check_unlike(check_report, small_net, case):
    """Shapes, and names that a model has beside its parameters'."""
    bias = torch.full((2,), VALUE, device=device, requires_grad=True)
    with case("as many numbers in another shape; a bias that requires grad"):
        weight = torch.ones(4, device=device)
        check_report("linear", {"weight": weight, "bias": bias}, ["bias"], ["weight"])
    with case("no number at all, (0, 2) in place of (2, 2)"):
        check_report("linear", {"weight": torch.ones(0, 2), "bias": bias}, ["bias"], ["weight"])
    with case("a head that lies on its side, (16, 10) in place of (10, 16)"):
        turned = {"head.weight": torch.ones(16, 10), "head.bias": torch.full((10,), VALUE)}
        rest = [name for name in small_net().state_dict() if name not in turned]
        check_report("small", turned, ["head.bias"], ["head.weight"], rest)
    with case("(1,) in place of (): a counter of batches"):
        counter = "features.0.norm.num_batches_tracked"
        one = {counter: torch.ones(1, dtype=torch.int64), "head.bias": torch.full((10,), VALUE)}
        rest = [name for name in small_net().state_dict() if name not in one]
        check_report("small", one, ["head.bias"], [counter], rest)
    with case("a tensor that requires grad, while autograd records"):
        own = torch.full((10,), VALUE, device=device, requires_grad=True)
        rest = [name for name in small_net().state_dict() if name != "head.bias"]
        check_report("small", {"head.bias": own}, ["head.bias"], [], rest)
    with case("a transposed view with infinite numbers"):
        weight = torch.tensor([[torch.inf, -2.0], [1e-30, -torch.inf]], device=device).t()
        check_report("linear", {"weight": weight, "bias": bias}, ["weight", "bias"])
    with case("Weight in place of weight: capital and small letters differ"):
        other = {"Weight": torch.ones(2, 2, device=device), "bias": bias}
        check_report("linear", other, ["bias"], [], ["weight"], ["Weight"])
    with case("a model in float64, and a checkpoint in float64"):
        double = small_net().double().to(device)
        check_report("double", filled(double), list(double.state_dict()))
    with case("nothing but a counter of batches"):
        counter = "features.2.norm.num_batches_tracked"
        one = {f"module.{counter}": torch.full((), COUNT)}
        rest = [name for name in small_net().state_dict() if name != counter]
        check_report("small", one, [counter], [], rest)
    with case("a tied weight under both names, and a buffer that isn't saved"):
        tied = {**filled(Tied().to(device)), "mask": torch.ones(2, device=device)}
        loaded = ["table.weight", "out.weight", "Gain", "empty"]
        check_report("tied", tied, loaded, [], [], ["mask"])
