"""Parameter groups: networks to sort, and what known slips sort."""

from __future__ import annotations

from typing import Any, cast

import torch
import torch.nn as nn


class Parts(nn.Module):
    """Modules by name, those with dots inside each other."""

    def __init__(self, **parts: Any) -> None:
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)


def make_parts(which):
    """A model, and the name of its backbone."""
    torch.manual_seed(0)
    body: Any = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 4))
    if which == "nested":
        encoder = Parts(body=body, neck=nn.Linear(4, 4))
        return Parts(encoder=encoder, head=nn.Linear(4, 2)), "encoder.body"
    model: Any = Parts(body=body, head=nn.Linear(4, 2))
    if which in ("tied", "tied, head first"):
        body = Parts(embed=nn.Embedding(5, 4), norm=nn.LayerNorm(4))
        head: Any = nn.Linear(4, 5)
        head.weight = cast(Any, body).embed.weight
        order = {"body": body, "head": head} if which == "tied" else {"head": head, "body": body}
        model = Parts(**order)
    if which == LAYER_FIRST:
        model = Parts(first=next(body.children()), body=body, head=nn.Linear(4, 2))
    if which == "a backbone without parameters":
        model.body, model.head = nn.Tanh(), nn.LayerNorm(4)
    if which == "a backbone of one layer":
        model.body = nn.Linear(3, 4)
    if which == "all of the backbone is frozen":
        model.body.requires_grad_(False)
    if which == "two heads that share a weight":
        twin: Any = nn.Linear(4, 2)
        twin.weight = cast(Any, model).head.weight
        model.twin = twin
    if which == "loose parameters in the backbone":
        body.scale, body.table = nn.Parameter(torch.ones(())), nn.Parameter(torch.ones(2, 2))
    if which in ("frozen", ASKED):
        frozen = cast(Any, model)
        for part in (frozen.body[0], frozen.body[2].weight, frozen.head.bias):
            part.requires_grad_(False)
    if which == "a name that begins alike":
        model.body2 = nn.Linear(4, 4)
        model.twin = nn.LayerNorm(4)  # its numbers are those of the backbone's norm
    if which == "loose parameters":
        model.scale, model.table = nn.Parameter(torch.ones(())), nn.Parameter(torch.ones(2, 2))
        model.conv, model.norm = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)
        model.score, model.no_rows = nn.Parameter(torch.ones(3, 1)), nn.Parameter(torch.ones(0, 2))
        model.empty = nn.Parameter(torch.ones(0, 3))
        model.line, model.grid = nn.Conv1d(2, 2, 3), nn.LayerNorm([2, 3])
        model.norm_table, model.bias_mix = nn.Embedding(3, 2), nn.Parameter(torch.ones(2, 2))
    return model, "body"


ASKED = "frozen since an earlier call with this model, whose norm and frozen layers were others"


LAYER_FIRST = "a layer of the backbone stands before it, under a name of its own"

# b: of the backbone, h: of the rest; D: with decay, -: without; None: in no group
BODY = {
    "0.weight": "bD",
    "0.bias": "b-",
    "1.weight": "b-",
    "1.bias": "b-",
    "2.weight": "bD",
    "2.bias": "b-",
}


HEAD = {"head.weight": "hD", "head.bias": "h-"}


PLAIN = {**{f"body.{name}": code for name, code in BODY.items()}, **HEAD}


TIED = {
    "body.embed.weight": "bD",
    "body.norm.weight": "b-",
    "body.norm.bias": "b-",
    "head.bias": "h-",
}


FROZEN = dict.fromkeys(("body.0.weight", "body.0.bias", "body.2.weight", "head.bias"))


GROUPS = {
    "plain": PLAIN,
    "lr 0.5 and weight_decay 0.3": PLAIN,
    "frozen": {**PLAIN, **FROZEN},
    ASKED: {**PLAIN, **FROZEN},
    "a name that begins alike": {
        **PLAIN,
        "body2.weight": "hD",
        "body2.bias": "h-",
        "twin.weight": "h-",
        "twin.bias": "h-",
    },
    "nested": {
        **{f"encoder.body.{name}": code for name, code in BODY.items()},
        "encoder.neck.weight": "hD",
        "encoder.neck.bias": "h-",
        "head.weight": "hD",
        "head.bias": "h-",
    },
    "lr 3e-5 and weight_decay 2e-5": PLAIN,
    "weight_decay 0": PLAIN,
    "a backbone without parameters": dict.fromkeys(HEAD, "h-"),
    "a backbone of one layer": {"body.weight": "bD", "body.bias": "b-", **HEAD},
    "all of the backbone is frozen": {**{f"body.{name}": None for name in BODY}, **HEAD},
    "two heads that share a weight": {**PLAIN, "twin.bias": "h-"},
    "loose parameters in the backbone": {**PLAIN, "body.scale": "b-", "body.table": "bD"},
    "tied": TIED,
    "tied, head first": {
        ("head.weight" if k == "body.embed.weight" else k): v for k, v in TIED.items()
    },
    LAYER_FIRST: {
        **{name: code for name, code in PLAIN.items() if not name.startswith("body.0")},
        "first.weight": "bD",
        "first.bias": "b-",
    },
    "loose parameters": {
        **PLAIN,
        "scale": "h-",
        "table": "hD",
        "score": "hD",
        "no_rows": "hD",
        "empty": "hD",
        "norm_table.weight": "hD",
        "bias_mix": "hD",
        "conv.weight": "hD",
        "line.weight": "hD",
        "line.bias": "h-",
        "grid.weight": "hD",
        "grid.bias": "hD",
        "conv.bias": "h-",
        "norm.weight": "h-",
        "norm.bias": "h-",
    },
}


EMPTY = "no_rows", "empty"


# lr and weight_decay, where they aren't the usual ones
NUMBERS = {
    "lr 0.5 and weight_decay 0.3": (0.5, 0.3),
    "lr 3e-5 and weight_decay 2e-5": (3e-5, 2e-5),
    "weight_decay 0": (0.02, 0.0),
}


def run_groups(param_groups, which, lr=0.01, weight_decay=0.1):
    """For each parameter the (lr, weight_decay) of each group that holds it."""
    lr, weight_decay = NUMBERS.get(which, (lr, weight_decay))
    model, backbone = make_parts(which)
    before = {name: (p.requires_grad, id(p)) for name, p in model.named_parameters()}
    list(model.modules())[-1].eval()
    twos = list(model.parameters())[::2]  # the others have no gradient yet
    for p in twos:
        p.grad = torch.full_like(p, 2.0)
    modes = [part.training for part in model.modules()]
    handle = list(model.modules())[-1].register_forward_hook(lambda *_: None)
    hooks = [list(part._forward_hooks) for part in model.modules()]
    names = [set(vars(part)) for part in model.modules()]
    try:
        if which == ASKED:
            frozen = {p: p.requires_grad for p in model.parameters()}
            for p in frozen:
                p.requires_grad_(not frozen[p])
            norm, model.body[1] = model.body[1], nn.Linear(4, 4)
            param_groups(model, backbone, lr, weight_decay)
            model.body[1] = norm
            for p in frozen:
                p.requires_grad_(frozen[p])
        groups = param_groups(model, backbone, lr, weight_decay)
    except (RuntimeError, AttributeError) as error:
        told = {
            "Boolean value": "tensors were compared by their numbers (==, or `in` a list): compare "
            "identities, by `is`, id(p) or a set",
            "must match the size": "tensors were compared by their numbers (==, or `in` a list): "
            "compare identities, by `is`, id(p) or a set",
            f"attribute '{backbone}'": "the name may have dots: get_submodule finds what it names",
        }
        words = [said for part, said in told.items() if part in str(error)]
        raise AssertionError(words[0]) if words else error from None
    assert groups is not None, "param_groups returned None: is there an answer yet?"
    kind = type(groups).__name__
    assert isinstance(groups, (list, tuple)), f"a list of groups is asked for, this is a {kind}"
    groups = list(groups)
    assert all(isinstance(group, dict) for group in groups), "what came back is no list of dicts"
    assert groups, "the list of groups is empty"
    found = {name: [] for name in before}
    for group in groups:
        assert "params" in group, (
            f"a group has the keys {sorted(group)}: the tensors belong to 'params'"
        )
        words = "'params' is a set, which has no order: AdamW refuses it and takes a list"
        assert not isinstance(group["params"], (set, frozenset)), words
        group["params"] = (
            group["params"] if isinstance(group["params"], torch.Tensor) else list(group["params"])
        )
        missing = {"lr", "weight_decay"} - set(group)
        assert not missing, f"a group does not name its {' and '.join(sorted(missing))}"
        params = [group["params"]] if isinstance(group["params"], torch.Tensor) else group["params"]
        for p in params:
            p = p[1] if isinstance(p, tuple) else p
            name = next((name for name, mine in model.named_parameters() if mine is p), None)
            words = "a group holds a tensor that is no parameter of the model"
            words += " (an earlier call's, perhaps)" if which == ASKED else ""
            assert name is not None, words
            found[name].append((float(group["lr"]), float(group["weight_decay"])))
    after = {name: (p.requires_grad, id(p)) for name, p in model.named_parameters()}
    assert after == before, "the model was changed: its parameters or their requires_grad"
    assert modes == [part.training for part in model.modules()], "train or eval was changed"
    same = hooks == [list(part._forward_hooks) for part in model.modules()]
    assert same, "the hooks of the model are not those that were there before"
    handle.remove()
    kept = all(p.grad is not None and bool((p.grad == 2).all()) for p in twos)
    assert kept, "the model's .grad was changed"
    assert not any(map(vars, model.parameters())), "a parameter has a new attribute"
    more = names != [set(vars(part)) for part in model.modules()]
    assert not more, "the model, or a part of it, has a new attribute: it stays as it is"
    if all(len(places) < 2 for places in found.values()):
        torch.optim.AdamW(groups)
    return found


def check_groups(found, which, lr=0.01, weight_decay=0.1):
    """Say of each parameter what is wrong with its group."""
    lr, weight_decay = NUMBERS.get(which, (lr, weight_decay))
    wrong = []
    for name, code in GROUPS[which].items():
        got = found[name]
        if code is None:
            wrong += [f"{name} is frozen and is in a group"] if got else []
        elif len(got) != 1:
            none = " (no element is in it, but it is a parameter)" if name in EMPTY else ""
            none = none or (" (it was frozen once, and isn't now)" if which == ASKED else "")
            words = f"{len(got)} groups" if got else f"no group{none}"
            wrong.append(f"{name} is in {words}")
        else:
            rate, decay = got[0]
            part, right = ("the backbone", lr / 10) if code[0] == "b" else ("the rest", lr)
            if abs(rate - right) > 1e-9:
                tied = " and is shared" if "tied" in which and code == "bD" else ""
                tied = " (since the earlier call)" if which == ASKED else tied
                wrong.append(f"{name} belongs to {part}{tied}: lr is {rate:g}, expected {right:g}")
            if abs(decay - (weight_decay if code[1] == "D" else 0)) > 1e-9:
                words = (
                    "has two dimensions or more and must decay"
                    if code[1] == "D"
                    else ("has fewer than two dimensions and must not decay")
                )
                wrong.append(f"{name} {words}: weight_decay is {decay:g}")
    assert not wrong, "; ".join(wrong)
