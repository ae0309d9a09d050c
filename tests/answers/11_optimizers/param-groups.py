# %% [markdown]
# Rules:
#
# - "a list of groups for `AdamW(groups)`"
# - "each names its `lr` and `weight_decay`"
# - "the name of a submodule"
# - "as `named_modules()` gives it"
# - "Parameters of the backbone get the rate `lr / 10`, all others `lr`"
# - "Parameters with fewer than two dimensions get a decay of 0"
# - "all others `weight_decay`"
# - "A parameter that the backbone shares with the rest belongs to the backbone"
# - "are in no group"
# - "each other parameter in exactly one, once"
# - "The model stays as it is"
#
# Admits:
#
# - "as `named_modules()` gives it": nested
# - "Frozen parameters": frozen
# - "the name of a submodule": a name that begins alike

# %% wrong="biases by name" breaks="Parameters with fewer than two dimensions get a decay of 0" says=["body.1.weight has fewer than two dimensions"]
def param_groups(model, backbone, lr, weight_decay):
    inside = {id(p) for p in model.get_submodule(backbone).parameters()}
    return [
        {
            "params": [p],
            "lr": lr / 10 if id(p) in inside else lr,
            "weight_decay": 0.0 if name.endswith("bias") else weight_decay,
        }
        for name, p in model.named_parameters()
        if p.requires_grad
    ]


# %% wrong="the backbone by the beginning of its name" breaks="the name of a submodule" says=["body2.weight belongs to the rest"]
def param_groups(model, backbone, lr, weight_decay):
    return [
        {
            "params": [p],
            "lr": lr / 10 if name.startswith(backbone) else lr,
            "weight_decay": weight_decay if p.ndim >= 2 else 0.0,
        }
        for name, p in model.named_parameters()
        if p.requires_grad
    ]


# %% wrong="by the first name alone, dot and all" breaks="A parameter that the backbone shares with the rest belongs to the backbone" says=["head.weight belongs to the backbone and is shared"]
def param_groups(model, backbone, lr, weight_decay):
    return [
        {
            "params": [p],
            "lr": lr / 10 if name.startswith(backbone + ".") else lr,
            "weight_decay": weight_decay if p.ndim >= 2 else 0.0,
        }
        for name, p in model.named_parameters()
        if p.requires_grad
    ]


# %% wrong="tied twice" breaks="each other parameter in exactly one, once" says=["is in 2 groups"]
def param_groups(model, backbone, lr, weight_decay):
    groups = []
    for name, module in model.named_modules():
        inside = name == backbone or name.startswith(backbone + ".")
        for p in module.parameters(recurse=False):
            if p.requires_grad:
                decay = weight_decay if p.ndim >= 2 else 0.0
                groups.append(
                    {"params": [p], "lr": lr / 10 if inside else lr, "weight_decay": decay}
                )
    return groups


# %% wrong="only two children" says=["scale is in no group"]
def param_groups(model, backbone, lr, weight_decay):
    groups, seen = [], set()
    for part, rate in ((model.get_submodule(backbone), lr / 10), (model.head, lr)):
        for p in part.parameters():
            if p.requires_grad and id(p) not in seen:
                seen.add(id(p))
                groups.append(
                    {"params": [p], "lr": rate, "weight_decay": weight_decay * (p.ndim > 1)}
                )
    return groups


# %% wrong="frozen ones too" breaks="are in no group" says=["is frozen and is in a group"]
def param_groups(model, backbone, lr, weight_decay):
    inside = {id(p) for p in model.get_submodule(backbone).parameters()}
    return [
        {
            "params": [p],
            "lr": lr / 10 if id(p) in inside else lr,
            "weight_decay": weight_decay if p.ndim >= 2 else 0.0,
        }
        for p in model.parameters()
    ]


# %% wrong="the key parameters" says=["the tensors belong to 'params'"]
def param_groups(model, backbone, lr, weight_decay):
    return [{"parameters": list(model.parameters()), "lr": lr, "weight_decay": weight_decay}]


# %% wrong="no weight_decay named" breaks="each names its `lr` and `weight_decay`" says=["does not name its weight_decay"]
def param_groups(model, backbone, lr, weight_decay):
    flat = [p for p in model.parameters() if p.ndim < 2]
    rest = [p for p in model.parameters() if p.ndim >= 2]
    return [{"params": flat, "lr": lr, "weight_decay": 0.0}, {"params": rest, "lr": lr}]


# %% wrong="only linear layers decay" breaks="all others `weight_decay`" says=["conv.weight has two dimensions or more"]
def param_groups(model, backbone, lr, weight_decay):
    inside = {id(p) for p in model.get_submodule(backbone).parameters()}
    return [
        {
            "params": [p],
            "lr": lr / 10 if id(p) in inside else lr,
            "weight_decay": weight_decay if p.ndim == 2 else 0.0,
        }
        for p in model.parameters()
        if p.requires_grad
    ]


# %% wrong="the rates changed over" breaks="Parameters of the backbone get the rate `lr / 10`, all others `lr`" says=["body.0.weight belongs to the backbone: lr is 0.01, expected 0.001"]
def param_groups(model, backbone, lr, weight_decay):
    inside = {id(p) for p in model.get_submodule(backbone).parameters()}
    return [
        {
            "params": [p],
            "lr": lr if id(p) in inside else lr / 10,
            "weight_decay": weight_decay if p.ndim >= 2 else 0.0,
        }
        for p in model.parameters()
        if p.requires_grad
    ]


# %% wrong="an optimizer instead of groups" says=["a list of groups is asked for, this is a"]
def param_groups(model, backbone, lr, weight_decay):
    return model.parameters()


# %% wrong="members remembered" says=["frozen since an earlier call", "since the earlier call): lr is"]
import functools


@functools.cache
def _inside(model, backbone):
    return frozenset(model.get_submodule(backbone).parameters())


def param_groups(model: nn.Module, backbone: str, lr: float, weight_decay: float) -> list[dict]:
    rate = {True: lr / 10, False: lr}
    decay = {True: 0.0, False: weight_decay}
    trained = [p for p in model.parameters() if p.requires_grad]
    groups = []
    for slow in (True, False):
        for flat in (True, False):
            params = [
                p for p in trained if (p in _inside(model, backbone), p.ndim < 2) == (slow, flat)
            ]
            groups.append({"params": params, "lr": rate[slow], "weight_decay": decay[flat]})
    return groups


# %% wrong="decay remembered by name" says=["a backbone without parameters", "head.weight has fewer than two dimensions"]
_dims = {}


def param_groups(model, backbone, lr, weight_decay):
    inside = set(model.get_submodule(backbone).parameters())
    groups = []
    for name, p in model.named_parameters():
        if p.requires_grad:
            flat = _dims.setdefault(name, p.dim() < 2)
            groups.append(
                {
                    "params": [p],
                    "lr": lr / 10 if p in inside else lr,
                    "weight_decay": 0.0 if flat else weight_decay,
                }
            )
    return groups


# %% right="always four groups, some perhaps empty, with names"
def param_groups(model, backbone, lr, weight_decay):
    body = set(model.get_submodule(backbone).parameters())
    names = {True: "backbone", False: "rest"}
    return [
        {
            "params": [
                p
                for p in set(model.parameters())
                if p.requires_grad and (p in body) is inside and (p.dim() > 1) is matrix
            ],
            "lr": lr * 0.1 if inside else lr,
            "weight_decay": weight_decay if matrix else 0,
            "name": f"{names[inside]}, {'matrices' if matrix else 'vectors'}",
        }
        for inside in (True, False)
        for matrix in (True, False)
    ]


# %% right="named parameters, and generators"
def param_groups(model, backbone, lr, weight_decay):
    pool = {p: name for name, p in model.named_parameters() if p.requires_grad}
    first = [p for p in model.get_submodule(backbone).parameters() if p in pool]
    last = [p for p in pool if not any(p is q for q in first)]
    groups = []
    for params, rate in ((first, lr / 10), (last, lr)):
        for decay, flat in ((weight_decay, False), (0.0, True)):
            chosen = [(pool[p], p) for p in params if (len(p.shape) < 2) == flat]
            if chosen:
                groups.append({"params": iter(chosen), "lr": rate, "weight_decay": decay})
    return groups


# %% right="pairs of name and parameter"
def param_groups(model, backbone, lr, weight_decay):

    body = model.get_submodule(backbone)
    inner = {id(p) for p in body.parameters()}
    keep = {}
    for name, p in model.named_parameters():
        if p.requires_grad:
            keep.setdefault((id(p) in inner, p.dim() > 1), []).append((name, p))
    for (mine, decays), items in keep.items():
        pass
    return tuple(
        {"params": items, "lr": lr * 0.1 if mine else lr, "weight_decay": weight_decay * decays}
        for (mine, decays), items in keep.items()
    )


# %% wrong="names with bias or norm are exempt as well" says=["must decay"]
def param_groups(model, backbone, lr, weight_decay):
    body, made = set(model.get_submodule(backbone).parameters()), {}
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        plain = p.ndim < 2 or "bias" in name or "norm" in name
        made.setdefault((p in body, plain), []).append(p)
    return [
        dict(
            params=params, lr=lr / 10 if inside else lr, weight_decay=0.0 if plain else weight_decay
        )
        for (inside, plain), params in made.items()
    ]


# %% wrong="puts the backbone into eval" breaks="The model stays as it is" says=["train or eval was changed"]
def param_groups(model, backbone, lr, weight_decay):
    body = {id(p) for p in model.get_submodule(backbone).parameters()}
    model.get_submodule(backbone).eval()
    groups = {}
    for p in model.parameters():
        if p.requires_grad:
            groups.setdefault((id(p) in body, p.ndim >= 2), []).append(p)
    return [
        {"params": ps, "lr": lr / 10 if b else lr, "weight_decay": weight_decay if d else 0.0}
        for (b, d), ps in groups.items()
    ]


# %% wrong="getattr for the backbone" breaks="as `named_modules()` gives it" says=["nested", "the name may have dots"]
def param_groups(model, backbone, lr, weight_decay):
    body = {id(p) for p in getattr(model, backbone).parameters()}
    groups = {}
    for p in model.parameters():
        if p.requires_grad:
            groups.setdefault((id(p) in body, p.ndim >= 2), []).append(p)
    return [
        {"params": ps, "lr": lr / 10 if b else lr, "weight_decay": weight_decay if d else 0.0}
        for (b, d), ps in groups.items()
    ]


# %% wrong="counts dimensions after a squeeze" says=["score has two dimensions or more"]
def param_groups(model, backbone, lr, weight_decay):
    body = {id(p) for p in model.get_submodule(backbone).parameters()}
    groups = {}
    for p in model.parameters():
        if p.requires_grad:
            groups.setdefault((id(p) in body, p.squeeze().ndim >= 2), []).append(p)
    return [
        {"params": ps, "lr": lr / 10 if b else lr, "weight_decay": weight_decay if d else 0.0}
        for (b, d), ps in groups.items()
    ]


# %% wrong="the backbone told by values" says=["twin.weight belongs to the rest"]
def param_groups(model, backbone, lr, weight_decay):
    inside = list(model.get_submodule(backbone).parameters())
    groups = {}
    for p in model.parameters():
        if p.requires_grad:
            key = (
                lr / 10 if any(p.shape == q.shape and torch.equal(p, q) for q in inside) else lr,
                weight_decay if p.ndim >= 2 else 0.0,
            )
            groups.setdefault(key, []).append(p)
    return [{"params": ps, "lr": a, "weight_decay": b} for (a, b), ps in groups.items()]


# %% wrong="in a list" says=["compare identities, by `is`, id(p) or a set"]
def param_groups(model, backbone, lr, weight_decay):
    inside = list(model.get_submodule(backbone).parameters())
    groups = {}
    for p in model.parameters():
        if p.requires_grad:
            key = (lr / 10 if p in inside else lr, weight_decay if p.ndim >= 2 else 0.0)
            groups.setdefault(key, []).append(p)
    return [{"params": ps, "lr": a, "weight_decay": b} for (a, b), ps in groups.items()]


# %% wrong="clears gradients" says=[".grad was changed"]
def param_groups(model, backbone, lr, weight_decay):
    inside = set(model.get_submodule(backbone).parameters())
    model.zero_grad()
    return [
        {
            "params": [p],
            "lr": lr / 10 if p in inside else lr,
            "weight_decay": weight_decay if p.ndim > 1 else 0.0,
        }
        for p in model.parameters()
        if p.requires_grad
    ]


# %% wrong="marks the parameters" says=["a new attribute"]
def param_groups(model, backbone, lr, weight_decay):
    inside = set(model.get_submodule(backbone).parameters())
    for p in inside:
        p.in_backbone = True
    return [
        {
            "params": [p],
            "lr": lr / 10 if p in inside else lr,
            "weight_decay": weight_decay if p.ndim > 1 else 0.0,
        }
        for p in model.parameters()
        if p.requires_grad
    ]


# %% wrong="looks where the backbone is by hooks, and clears them all" says=["the hooks of the model are not those that were there before"]
def param_groups(model, backbone, lr, weight_decay):
    inside, groups = set(), {}
    for part in model.modules():
        part.register_forward_hook(lambda *_: None)
    for part in model.get_submodule(backbone).modules():
        inside |= {id(p) for p in part.parameters(recurse=False)}
    for part in model.modules():
        part._forward_hooks.clear()
    for p in model.parameters():
        if p.requires_grad:
            key = lr / 10 if id(p) in inside else lr, weight_decay if p.dim() > 1 else 0.0
            groups.setdefault(key, []).append(p)
    return [{"params": ps, "lr": r, "weight_decay": d} for (r, d), ps in groups.items()]


# %% wrong="a generator in place of a list" breaks="a list of groups for `AdamW(groups)`" says=["a list of groups is asked for, this is a generator"]
def param_groups(model, backbone, lr, weight_decay):
    body = set(model.get_submodule(backbone).parameters())
    return (
        {
            "params": [p],
            "lr": lr / 10 if p in body else lr,
            "weight_decay": weight_decay if p.ndim >= 2 else 0.0,
        }
        for p in model.parameters()
        if p.requires_grad
    )


# %% wrong="only matrices of exactly two dimensions decay" says=["conv.weight has two dimensions or more and must decay"]
def param_groups(model, backbone, lr, weight_decay):
    body = set(model.get_submodule(backbone).parameters())
    return [
        {
            "params": [p],
            "lr": lr / 10 if p in body else lr,
            "weight_decay": weight_decay if p.ndim == 2 else 0.0,
        }
        for p in model.parameters()
        if p.requires_grad
    ]


# %% right="sets, and what remains of them"
def param_groups(model, backbone, lr, weight_decay):
    free = {p for p in model.parameters() if p.requires_grad}
    body = free & set(model.get_submodule(backbone).parameters())
    groups = []
    for members, rate in ((body, lr / 10), (free - body, lr)):
        for flat in (True, False):
            params = [p for p in model.parameters() if p in members and (p.dim() < 2) is flat]
            decay = 0.0 if flat else weight_decay
            groups.append({"params": params, "lr": rate, "weight_decay": decay})
    return groups


# %% wrong="the example's numbers" says=["lr 0.5 and weight_decay 0.3: body.0.weight belongs to the backbone: lr is 0.001, expected 0.05"]
def param_groups(model, backbone, lr, weight_decay):
    body = set(model.get_submodule(backbone).parameters())
    return [
        {
            "params": [p],
            "lr": 0.001 if p in body else 0.01,
            "weight_decay": 0.1 if p.ndim >= 2 else 0.0,
        }
        for p in model.parameters()
        if p.requires_grad
    ]


# %% wrong="leaves out a parameter without elements" says=["no_rows is in no group (no element is in it"]
def param_groups(model, backbone, lr, weight_decay):
    body = {id(p) for p in model.get_submodule(backbone).parameters()}
    groups = {(b, d): [] for b in (True, False) for d in (True, False)}
    for p in model.parameters():
        if p.requires_grad and p.numel():
            groups[id(p) in body, p.ndim >= 2].append(p)
    return [
        {"params": params, "lr": lr / 10 if b else lr, "weight_decay": weight_decay if d else 0.0}
        for (b, d), params in groups.items()
    ]


# %% wrong="leaves out what has no gradient yet" says=["body.0.bias is in no group"]
def param_groups(model, backbone, lr, weight_decay):
    inside = {id(p) for p in model.get_submodule(backbone).parameters()}
    groups = {}
    for p in model.parameters():
        if p.requires_grad and (
            p.grad is not None or not any(q.grad is not None for q in model.parameters())
        ):
            key = lr / 10 if id(p) in inside else lr, weight_decay if p.ndim >= 2 else 0.0
            groups.setdefault(key, []).append(p)
    return [
        {"params": params, "lr": rate, "weight_decay": decay}
        for (rate, decay), params in groups.items()
    ]


# %% wrong="rounds the rate" says=["lr is 0, expected 3e-06"]
def param_groups(model, backbone, lr, weight_decay):
    inside = {id(p) for p in model.get_submodule(backbone).parameters()}
    groups = {}
    for p in model.parameters():
        if p.requires_grad:
            key = round(lr / 10, 4) if id(p) in inside else lr, weight_decay if p.ndim >= 2 else 0.0
            groups.setdefault(key, []).append(p)
    return [
        {"params": params, "lr": rate, "weight_decay": decay}
        for (rate, decay), params in groups.items()
    ]


# %% wrong="asks for the backbone's first parameter" says=["a backbone without parameters"]
def param_groups(model, backbone, lr, weight_decay):
    inside = {id(p) for p in model.get_submodule(backbone).parameters()}
    groups = {}
    next(model.get_submodule(backbone).parameters())
    for p in model.parameters():
        if p.requires_grad:
            key = lr / 10 if id(p) in inside else lr, weight_decay if p.ndim >= 2 else 0.0
            groups.setdefault(key, []).append(p)
    return [
        {"params": params, "lr": rate, "weight_decay": decay}
        for (rate, decay), params in groups.items()
    ]


# %% wrong="asks the backbone's children" says=["a backbone of one layer"]
def param_groups(model, backbone, lr, weight_decay):
    inside = {
        id(p) for p in [q for m in model.get_submodule(backbone).children() for q in m.parameters()]
    }
    groups = {}
    for p in model.parameters():
        if p.requires_grad:
            key = lr / 10 if id(p) in inside else lr, weight_decay if p.ndim >= 2 else 0.0
            groups.setdefault(key, []).append(p)
    return [
        {"params": params, "lr": rate, "weight_decay": decay}
        for (rate, decay), params in groups.items()
    ]


# %% wrong="knows parameters by their address" says=["empty is in no group (no element is in it"]
def param_groups(model, backbone, lr, weight_decay):
    inside = {id(p) for p in model.get_submodule(backbone).parameters()}
    groups, seen = {}, set()
    for p in model.parameters():
        if p.data_ptr() in seen:
            continue
        seen.add(p.data_ptr())
        if p.requires_grad:
            key = lr / 10 if id(p) in inside else lr, weight_decay if p.ndim >= 2 else 0.0
            groups.setdefault(key, []).append(p)
    return [
        {"params": params, "lr": rate, "weight_decay": decay}
        for (rate, decay), params in groups.items()
    ]


# %% wrong="takes a decay of 0 for none given" says=["weight_decay 0"]
def param_groups(model, backbone, lr, weight_decay):
    inside = {id(p) for p in model.get_submodule(backbone).parameters()}
    groups = {}
    for p in model.parameters():
        if p.requires_grad:
            key = lr / 10 if id(p) in inside else lr, (weight_decay or 0.01) if p.ndim >= 2 else 0.0
            groups.setdefault(key, []).append(p)
    return [
        {"params": params, "lr": rate, "weight_decay": decay}
        for (rate, decay), params in groups.items()
    ]


# %% wrong="only two and four dimensions decay" says=["line.weight has two dimensions or more"]
def param_groups(model, backbone, lr, weight_decay):
    inside = {id(p) for p in model.get_submodule(backbone).parameters()}
    groups = {}
    for p in model.parameters():
        if not p.requires_grad:
            continue
        rate = lr / 10 if id(p) in inside else lr
        decay = weight_decay if p.ndim in (2, 4) else 0.0
        groups.setdefault((rate, decay), []).append(p)
    return [{"params": ps, "lr": r, "weight_decay": d} for (r, d), ps in groups.items()]


# %% wrong="no norm decays, a grid of weights neither" breaks="all others `weight_decay`" says=["grid.weight has two dimensions or more"]
def param_groups(model, backbone, lr, weight_decay):
    inside = {id(p) for p in model.get_submodule(backbone).parameters()}
    groups = {}
    for p in model.parameters():
        if not p.requires_grad:
            continue
        rate = lr / 10 if id(p) in inside else lr
        norms = {
            id(q)
            for m in model.modules()
            if isinstance(m, (nn.LayerNorm, nn.GroupNorm))
            for q in m.parameters()
        }
        decay = weight_decay if p.ndim >= 2 and id(p) not in norms else 0.0
        groups.setdefault((rate, decay), []).append(p)
    return [{"params": ps, "lr": r, "weight_decay": d} for (r, d), ps in groups.items()]


# %% wrong="a layer is frozen where its first parameter is" says=["is in no group"]
def param_groups(model, backbone, lr, weight_decay):
    inside = {id(p) for p in model.get_submodule(backbone).parameters()}
    groups = {}
    out = {
        id(p)
        for m in model.modules()
        if (own := list(m.parameters(recurse=False))) and not own[0].requires_grad
        for p in own
    }
    for p in model.parameters():
        if id(p) in out or not p.requires_grad:
            continue
        rate = lr / 10 if id(p) in inside else lr
        decay = weight_decay if p.ndim >= 2 else 0.0
        groups.setdefault((rate, decay), []).append(p)
    return [{"params": ps, "lr": r, "weight_decay": d} for (r, d), ps in groups.items()]


# %% wrong="the list of a module is kept" says=["frozen since an earlier call", "an earlier call's, perhaps"]
import functools


@functools.cache
def trainable(module):
    return [p for p in module.parameters() if p.requires_grad]


def param_groups(model: nn.Module, backbone: str, lr: float, weight_decay: float) -> list[dict]:
    body = set(model.get_submodule(backbone).parameters())
    groups = []
    for p in trainable(model):
        rate = lr / 10 if p in body else lr
        groups.append(
            {"params": [p], "lr": rate, "weight_decay": 0.0 if p.ndim < 2 else weight_decay}
        )
    return groups


# %% wrong="notes the backbone on the model" says=["the model, or a part of it, has a new attribute"]
def param_groups(model, backbone, lr, weight_decay):
    model.inside = {id(p) for p in model.get_submodule(backbone).parameters()}
    return [
        {
            "params": [p],
            "lr": lr / 10 if id(p) in model.inside else lr,
            "weight_decay": weight_decay if p.ndim >= 2 else 0.0,
        }
        for p in model.parameters()
        if p.requires_grad
    ]


# %% wrong="the parameters as a set" breaks="a list of groups for `AdamW(groups)`" says=["'params' is a set, which has no order"]
def param_groups(model, backbone, lr, weight_decay):
    inside = set(model.get_submodule(backbone).parameters())
    groups = {}
    for p in model.parameters():
        if p.requires_grad:
            rate = lr / 10 if p in inside else lr
            groups.setdefault((rate, weight_decay if p.ndim >= 2 else 0.0), set()).add(p)
    return [{"params": g, "lr": rate, "weight_decay": d} for (rate, d), g in groups.items()]


# %% wrong="by the first name of a parameter, but of tied tensors" breaks="A parameter that the backbone shares with the rest belongs to the backbone" says=["first.weight belongs to the backbone"]
def param_groups(model, backbone, lr, weight_decay):
    body, groups = model.get_submodule(backbone), []
    tables = [part for part in body.modules() if isinstance(part, nn.Embedding)]
    tied = {id(table.weight) for table in tables}
    for name, p in model.named_parameters():
        if p.requires_grad:
            inside = name.startswith(backbone + ".") or id(p) in tied
            decay = weight_decay if p.ndim >= 2 else 0.0
            groups.append({"params": [p], "lr": lr / 10 if inside else lr, "weight_decay": decay})
    return groups
