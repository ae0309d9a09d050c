"""Exercise 8.11: replace by type."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import torch
import torch.nn as nn


class Wrapped(nn.Module):
    """The old module, a frozen parameter in half precision, and one that learns."""

    def __init__(self, old: nn.Module) -> None:
        super().__init__()
        self.old = old
        self.gain = nn.Parameter(torch.ones(1, dtype=torch.float16), requires_grad=False)
        self.shift = nn.Parameter(torch.zeros(1))


def _old(small_net: type[nn.Module], kind: str) -> nn.Module:
    """Models with layers of a kind in many places."""
    if kind == "small":
        model = small_net().double()
        model.get_submodule("features.2").eval()
        return model
    if kind == "root":
        return nn.ReLU()
    if kind == "hollow":
        parts = nn.ModuleList([nn.Sequential(), nn.ReLU()])
        return nn.ModuleDict({"gap": nn.Sequential(), "parts": parts})
    if kind == "long":
        return nn.Sequential(*(nn.ReLU() if n in (1, 10, 11) else nn.Tanh() for n in range(12)))
    shared, block = nn.ReLU(), nn.Sequential(nn.Linear(2, 2), nn.ReLU6(), nn.ReLU().eval())
    model = nn.Sequential(OrderedDict(a=shared, b=nn.ModuleList([block, nn.Tanh()]), c=shared))
    model.add_module("d", nn.ModuleDict({"x": nn.Sequential(nn.ReLU()), "y": block, "z": shared}))
    model.get_submodule("d").register_module("nothing", None)
    # A module in a plain list is not in the model.
    model.__dict__["spare"] = [nn.ReLU()]
    return model


def _kinds(small_net: type[nn.Module]) -> dict:
    """What is to be replaced, by the words of a case."""
    block = type(small_net().get_submodule("features.0"))
    return {
        "BatchNorm2d": nn.BatchNorm2d,
        "ReLU": nn.ReLU,
        "Block, Conv2d or Linear": (block, nn.Conv2d, nn.Linear),
        "Linear": nn.Linear,
        "Hardtanh": nn.Hardtanh,
        "Sequential": nn.Sequential,
        "ReLU or Tanh": (nn.ReLU, nn.Tanh),
    }


def _due(module: nn.Module, kind: type | tuple) -> list[nn.Module]:
    """The modules of a kind, without those inside them, each once."""
    if isinstance(module, kind):
        return [module]
    return [found for child in module.children() for found in _due(child, kind)]


def _replacement(old: nn.Module, by: str) -> nn.Module:
    """What ``make`` gives for ``old``.

    Args:
        by: ``"wrapper"``, or ``"container"`` for a Sequential of ``old`` and a Tanh, ``"empty"``
            for a Sequential that holds nothing, ``"itself"`` for ``old``.
    """
    if by == "itself":
        return old
    parts = () if by == "empty" else (old, nn.Tanh())
    new = Wrapped(old) if by == "wrapper" else nn.Sequential(*parts)
    new.register_forward_hook(lambda module, args, output: None)
    return new


def _as_made(new: nn.Module) -> bool:
    """Whether the parameters of a ``Wrapped`` are as it made them."""
    if not isinstance(new, Wrapped):
        return True
    frozen = new.gain.dtype == torch.float16 and not new.gain.requires_grad
    return frozen and new.shift.dtype == torch.float32 and new.shift.requires_grad


def run_replace(
    replace_by_type: Callable,
    small_net: type[nn.Module],
    kind: str,
    wanted: str,
    by: str = "wrapper",
    again: bool = False,
) -> dict:
    """Paths and types afterwards, which places hold one module, and what else may have changed.

    ``by`` says what the replacements are. With ``again``, the model has been searched for another
    kind before, which it lacks.
    """
    model, made, wanted_kind = _old(small_net, kind), [], _kinds(small_net)[wanted]
    places = dict(model.named_modules(remove_duplicate=False))
    due, modes = _due(model, wanted_kind), {m: m.training for m in model.modules()}
    frozen = [*model.parameters()][:1] + [p for old in due[-1:] for p in old.parameters()]
    for parameter in frozen:
        parameter.requires_grad_(False)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    free = {parameter: parameter.requires_grad for parameter in model.parameters()}
    hooked = [m for m in model.modules() if not isinstance(m, wanted_kind)]
    for module in model.modules():
        if module not in hooked:
            module.register_forward_pre_hook(lambda module, args: None)
    for module in hooked:
        module.register_forward_hook(lambda module, args, output: None)

    def make(old):
        assert isinstance(old, wanted_kind), f"make was called with a {type(old).__name__}"
        own = any(old is module for module in places.values())
        inside = any(old is part for _, new in made for part in new.modules())
        assert own or not inside, "make was called with a part of a replacement: don't search it"
        spare = getattr(places[""], "spare", [])
        words = "make was called with a module that isn't the model's own: a copy of it?"
        words += " Or one from a plain list, of which the model doesn't know?" * bool(spare)
        assert own, words
        words = "the old module's mode was changed before make was called: make may read it"
        assert old.training == modes[old], words
        words = "make was called with a module inside one that is replaced: that isn't searched"
        assert any(old is module for module in due), words
        assert len(made) < 50, "make is called again and again: is a replacement searched?"
        made.append((id(old), _replacement(old, by)))
        return made[-1][1]

    try:
        model = replace_by_type(model, nn.Bilinear, make) if again else model
        new = replace_by_type(model, wanted_kind, make)
        is_module = isinstance(new, nn.Module)
        after = dict(new.named_modules(remove_duplicate=False)) if is_module else {}
    except RecursionError:
        words = "it never ends: is a replacement searched, perhaps on a second visit to its parent?"
        raise AssertionError(words) from None
    except AttributeError as error:
        hint = " (in _modules, a child may be None)" if "NoneType" in str(error) else ""
        raise AssertionError(f"AttributeError: {error}{hint}") from None
    got = type(new).__name__
    assert is_module, f"it returned {got}, not a module: is there an answer yet?"
    numbers = {}
    kept = [m for m in after.values() if any(m is other for other in hooked)]
    return {
        "tree": [(name, type(module).__name__) for name, module in after.items()],
        "groups": [numbers.setdefault(id(module), len(numbers)) for module in after.values()],
        "modes": [module.training for module in after.values()],
        "calls": len(made),
        "free": all(parameter.requires_grad == flag for parameter, flag in free.items()),
        "exact": kind != "small" or all(p.dtype == torch.float64 for p in free),
        "kept": all(_as_made(new) for _, new in made),
        "waiting": all(parameter.grad is not None for parameter in free),
        "gaps": sum(child is None for m in new.modules() for child in m._modules.values()),
        "twice": len({old for old, _ in made}) < len(made),
        "hooks": all(len(module._forward_hooks) == 1 for module in kept),
        "own": by == "itself"
        or all((len(new._forward_hooks), len(new._forward_pre_hooks)) == (1, 0) for _, new in made),
        "root": new is (made[0][1] if isinstance(places[""], wanted_kind) and made else model),
        "olds": all(
            m is places[n] or isinstance(places[n], wanted_kind)
            for n, m in after.items()
            if n in places and type(m) is type(places[n])
        ),
    }


def _rows(model: nn.Module, kind: type | tuple, by: str) -> list[tuple]:
    """The tree after the replacement, as a list: path, type, mode, and which module it is."""
    inside, rows, ends = {"wrapper": "old", "container": "0"}.get(by), [], []
    kind = () if by == "itself" else kind
    top = mode = None
    for path, module in model.named_modules(remove_duplicate=False):
        if top is not None and (top == "" or path.startswith(f"{top}.")):
            if inside:
                path = f"{top}.{inside}{path[len(top) :]}" if top else f"{inside}.{path}"
                rows.append((path, type(module).__name__, mode, ("old", id(module))))
            continue
        rows, ends, top = rows + ends, [], None
        if not isinstance(module, kind):
            rows.append((path, type(module).__name__, module.training, ("old", id(module))))
            continue
        top, mode, dot = path, module.training, "." if path else ""
        made = Wrapped.__name__ if by == "wrapper" else "Sequential"
        rows.append((path, made, mode, ("new", id(module))))
        if inside:
            rows.append((f"{path}{dot}{inside}", type(module).__name__, mode, ("old", id(module))))
        if by == "container":
            ends = [(f"{path}{dot}1", "Tanh", mode, ("end", id(module)))]
    return rows + ends


def _any_is(modules: dict, kind: type) -> bool:
    """Whether any of the modules is an instance of ``kind``."""
    return any(isinstance(module, kind) for module in modules.values())


def check_swap(trial, small_net, kind, wanted, by="wrapper", again=False):
    """Compare the tree after a replacement with the paths of the old one."""
    found, old = trial(kind, wanted, by, again), _old(small_net, kind)
    words = "the second call replaced nothing: is a memo kept between calls, as a default argument?"
    assert found["calls"] or not again, words
    rows, numbers = _rows(old, _kinds(small_net)[wanted], by), {}
    right = len({id(module) for module in _due(old, _kinds(small_net)[wanted])})
    tree, modes = [row[:2] for row in rows], [row[2] for row in rows]
    groups, wrong = [numbers.setdefault(which, len(numbers)) for _, _, _, which in rows], []
    missed = [pair for pair in tree if pair not in found["tree"]]
    extra = [pair for pair in found["tree"] if pair not in tree]
    if found["twice"]:
        empty = by == "empty" and found["tree"] == tree
        words = "; an empty container is False as a truth value" * empty
        told = f"make was called {found['calls']} times for {right} modules: once for each"
        wrong.append(told + words)
    olds = dict(old.named_modules(remove_duplicate=False))
    left = {path: olds[path] for path, name in extra if name == type(olds.get(path)).__name__}
    known = _kinds(small_net)[wanted]
    hollow = all(isinstance(module, nn.Sequential) for module in left.values())
    exact = known if isinstance(known, tuple) else (known,)
    first = dict(old.named_modules()) if left else {}
    if right and not found["calls"] and isinstance(known, tuple):
        wrong.append("nothing was replaced: the kind is a tuple of classes here")
    elif "" in left:
        wrong.append("the model itself is of that kind, and was not replaced: return make(model)")
    elif left and isinstance(known, tuple) and not _any_is(left, known[0]):
        wrong.append(f"left as they were: {', '.join(left)}; each class of the tuple counts")
    elif left and not any(path in first for path in left):
        told = ", ".join(left)
        wrong.append(f"left as they were: {told}; there a module has a second name")
    elif left and not any(list(module.children()) for module in left.values()) and hollow:
        words = "an empty container is a module as well; as a truth value it is False: ask is None"
        wrong.append(f"left as they were: {', '.join(left)}; {words}")
    elif left and not any(type(module) in exact for module in left.values()):
        wrong.append(f"left as they were: {', '.join(left)}; an instance of a subclass counts")
    elif kind == "long" and set(left) <= {"10", "11"} and left:
        words = 'a name that begins as another does isn\'t inside it ("10" isn\'t inside "1")'
        wrong.append(f"left as they were: {', '.join(left)}; {words}")
    elif left and len(left) == len(extra):
        wrong.append(f"left as they were: {', '.join(left)}")
    elif missed or extra:
        wrong.append(f"missing in the new tree: {missed[:4]}; not expected: {extra[:4]}")
    elif found["tree"] != tree:
        wrong.append("the names are in another order than before")
    elif found["groups"] != groups and found["calls"] < right:
        told = f"make was called {found['calls']} times for {right} modules"
        wrong.append(f"{told}: equal modules have a replacement each")
    elif found["groups"] != groups:
        wrong.append("a module that was in several places has several replacements, or the reverse")
    elif found["modes"] != modes:
        pairs = zip(tree, found["modes"], modes, strict=True)
        at = [name for (name, _), a, b in pairs if a != b]
        wrong.append(f"the mode is not the old one's at {at}")
    gaps = sum(child is None for m in old.modules() for child in m._modules.values())
    if found["gaps"] != gaps:
        wrong.append("a child that is None is no longer there, under its name")
    flags = {
        "root": "what is returned is neither the model nor the replacement of its root",
        "olds": "modules that are not of the kind are other objects now (copies?)",
        "free": "requires_grad of some parameters is no longer as it was",
        "exact": "the dtype of some parameters is no longer float64, as it was",
        "waiting": "the .grad of some parameters is gone",
        "hooks": "modules that are not of the kind have lost their hooks, or gained some",
        "kept": "a replacement's parameter isn't as make left it: another dtype, or frozen or not",
        "own": "a replacement hasn't the hooks that make gave it: but for its mode, leave it alone",
    }
    wrong += [words for key, words in flags.items() if not found[key]]
    assert not wrong, "; ".join(wrong)
