# %% [markdown]
# Rules:
#
# - "which may have names"
# - "puts a new, trainable `nn.Linear`"
# - "with a bias, `classes` outputs and the old head's inputs"
# - "on the device of the old one"
# - "a list of dicts with `"params"` and `"lr"`"
# - "no backbone parameter requires a gradient"
# - "and none is in a group"
# - "everything requires a gradient and learns at `lr`"
# - "the backbone at `lr / 10`"
# - "Each trained parameter is in exactly one group, once"
# - "though two layers may share one"
# - "a backbone may have none"
# - "The backbone's values stay, buffers too"
# - "Any other mode raises `ValueError`"
# - "changes nothing"
# - "no random state either"
# - "everything goes into training mode"
# - "(`nn.BatchNorm1d`, `2d`, `3d`,"
# - "and classes derived from them"
# - "whose **weight** does not require a gradient"
# - "whatever their bias does"
# - "Modes are all that it changes"
#
# Admits:
#
# - "a backbone may have none": a backbone without parameters
# - "`model[0]` the backbone": a backbone that is a single layer
# - "on the device of the old one": a model on the device meta
# - "whichever mode came before": full, after a probe
# - "(`nn.BatchNorm1d`, `2d`, `3d`,": train_mode, and every kind of batch norm
# - "whatever their bias does": with a trainable bias
# - "and classes derived from them": train_mode, and every kind of batch norm

# %% wrong="frozen, but batch norm trains" breaks="whose **weight** does not require a gradient" says=["frozen batch norms go into evaluation mode", "is True"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes).to(old.weight.device)
    for p in model[0].parameters():
        p.requires_grad = mode != "probe"
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode == "full":
        groups.append({"params": list(model[0].parameters()), "lr": lr})
    if mode == "discriminative":
        groups.append({"params": list(model[0].parameters()), "lr": lr / 10})
    return groups


def train_mode(model):
    model.train()


# %% wrong="everything frozen leaves training mode" breaks="everything goes into training mode" says=["only frozen batch norms leave training mode"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes).to(old.weight.device)
    for p in model[0].parameters():
        p.requires_grad = mode != "probe"
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode == "full":
        groups.append({"params": list(model[0].parameters()), "lr": lr})
    if mode == "discriminative":
        groups.append({"params": list(model[0].parameters()), "lr": lr / 10})
    return groups


def train_mode(model):
    model.train()
    if not model[0][0].weight.requires_grad:
        model[0].eval()


# %% wrong="never thaws" breaks="everything requires a gradient and learns at `lr`" says=["it was frozen before and has to learn again"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes).to(old.weight.device)
    if mode == "probe":
        model[0].requires_grad_(False)
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode == "full":
        groups.append({"params": list(model[0].parameters()), "lr": lr})
    if mode == "discriminative":
        groups.append({"params": list(model[0].parameters()), "lr": lr / 10})
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if not module.weight.requires_grad:
                module.eval()


# %% wrong="the head in both groups" breaks="Each trained parameter is in exactly one group, once" says=["more than once in the groups"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes).to(old.weight.device)
    for p in model[0].parameters():
        p.requires_grad = mode != "probe"
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode == "full":
        groups.append({"params": list(model[0].parameters()), "lr": lr})
    if mode == "discriminative":
        groups.append({"params": list(model.parameters()), "lr": lr / 10})
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if not module.weight.requires_grad:
                module.eval()


# %% wrong="the old head's parameters" says=["those of the old head?", "in no group"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    for p in model[0].parameters():
        p.requires_grad = mode != "probe"
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    model[1] = nn.Linear(old.in_features, classes).to(old.weight.device)
    if mode == "full":
        groups.append({"params": list(model[0].parameters()), "lr": lr})
    if mode == "discriminative":
        groups.append({"params": list(model[0].parameters()), "lr": lr / 10})
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if not module.weight.requires_grad:
                module.eval()


# %% wrong="rates the wrong way round" breaks="the backbone at `lr / 10`" says=["the backbone learns at lr / 10", "expected [0.05]"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes).to(old.weight.device)
    for p in model[0].parameters():
        p.requires_grad = mode != "probe"
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode == "full":
        groups.append({"params": list(model[0].parameters()), "lr": lr})
    if mode == "discriminative":
        groups.append({"params": list(model[0].parameters()), "lr": lr * 10})
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if not module.weight.requires_grad:
                module.eval()


# %% wrong="changes before it refuses" breaks="changes nothing" says=["the model was changed before the error"]
def transfer(model, classes, mode, lr):
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes).to(old.weight.device)
    for p in model[0].parameters():
        p.requires_grad = mode != "probe"
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode == "full":
        groups.append({"params": list(model[0].parameters()), "lr": lr})
    if mode == "discriminative":
        groups.append({"params": list(model[0].parameters()), "lr": lr / 10})
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if not module.weight.requires_grad:
                module.eval()


# %% wrong="new layer for the whole: out_features" breaks="with a bias, `classes` outputs and the old head's inputs" says=["type and weight's shape of model[1]"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, old.out_features).to(old.weight.device)
    for p in model[0].parameters():
        p.requires_grad = mode != "probe"
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode == "full":
        groups.append({"params": list(model[0].parameters()), "lr": lr})
    if mode == "discriminative":
        groups.append({"params": list(model[0].parameters()), "lr": lr / 10})
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if not module.weight.requires_grad:
                module.eval()


# %% wrong="frozen ones are in a group" breaks="and none is in a group" says=["trained although the backbone is frozen"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes).to(old.weight.device)
    for p in model[0].parameters():
        p.requires_grad = mode != "probe"
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode in ("full", "probe"):
        groups.append({"params": list(model[0].parameters()), "lr": lr})
    if mode == "discriminative":
        groups.append({"params": list(model[0].parameters()), "lr": lr / 10})
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if not module.weight.requires_grad:
                module.eval()


# %% right="groups of one parameter each, batch norm by type of the base class"
from torch.nn.modules.batchnorm import _BatchNorm  # noqa: E402


def transfer(model, classes, mode, lr):
    factor = dict(probe=0.0, full=1.0, discriminative=0.1).get(mode)
    if factor is None:
        raise ValueError(f"unknown mode: {mode}")
    weight = model[1].weight
    head, kind = model[1], {"device": weight.device, "dtype": weight.dtype}
    place = next(name for name, part in model.named_children() if part is head)
    setattr(model, place, nn.Linear(weight.shape[1], classes, **kind))
    model.requires_grad_(True)
    if mode == "probe":
        model[0].requires_grad_(False)
    return [
        {"params": [p], "lr": lr if name.startswith(place) else lr * factor}
        for name, p in model.named_parameters()
        if p.requires_grad
    ]


def train_mode(model):
    for module in model.modules():
        frozen_norm = isinstance(module, _BatchNorm) and not module.weight.requires_grad
        module.training = not frozen_norm


# %% right="match, generators for params, SyncBatchNorm untouched"
def transfer(model, classes, mode, lr):
    match mode:
        case "probe" | "full" | "discriminative":
            pass
        case _:
            raise ValueError("mode")
    head = nn.Linear(model[1].in_features, classes)
    model[1] = head.to(next(model.parameters()).device)
    body = list(model[0].parameters())
    for parameter in body:
        parameter.requires_grad_(mode != "probe")
    if mode == "full":
        return [dict(params=model.parameters(), lr=lr)]
    groups = [dict(params=model[1].parameters(), lr=lr)]
    return groups if mode == "probe" else [dict(params=body, lr=0.1 * lr), *groups]


def train_mode(model):
    model.train(True)
    norms = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
    [m.eval() for m in model.modules() if isinstance(m, norms) and not m.weight.requires_grad]


# %% wrong="handles BatchNorm1d only" breaks="(`nn.BatchNorm1d`, `2d`, `3d`," says=["every kind of batch norm", "frozen BatchNorm2d"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    model[1] = nn.Linear(model[1].in_features, classes, device=model[1].weight.device)
    model[0].requires_grad_(mode != "probe")
    head = {"params": list(model[1].parameters()), "lr": lr}
    if mode == "probe":
        return [head]
    return [{"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}, head]


def train_mode(model):
    model.train()
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d) and not m.weight.requires_grad:
            m.eval()


# %% right="match, and one group where one rate does"
def transfer(model, classes, mode, lr):
    if mode not in {"probe", "full", "discriminative"}:
        raise ValueError("mode")
    old = model[1]
    new = nn.Linear(old.in_features, classes, device=old.weight.device, dtype=old.weight.dtype)
    model.pop(1)
    model.append(new)
    for p in model[0].parameters():
        p.requires_grad = mode != "probe"
    match mode:
        case "probe":
            return [{"params": new.parameters(), "lr": lr}]
        case "full":
            return [{"params": model.parameters(), "lr": lr}]
        case _:
            return [
                {"params": [*new.parameters()], "lr": lr},
                {"params": [*model[0].parameters()], "lr": lr / 10},
            ]


def train_mode(model):
    model.train()
    for module in filter(lambda m: isinstance(m, nn.modules.batchnorm._BatchNorm), model.modules()):
        module.train(module.weight.requires_grad)


# %% wrong="a norm with any trainable parameter trains" breaks="whatever their bias does" says=["frozen BatchNorm1d with a trainable bias: training"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    model[1] = nn.Linear(model[1].in_features, classes, device=model[1].weight.device)
    model[0].requires_grad_(mode != "probe")
    head = {"params": list(model[1].parameters()), "lr": lr}
    if mode == "probe":
        return [head]
    return [{"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}, head]


def train_mode(model):
    model.train()
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            m.train(any(p.requires_grad for p in m.parameters()))


# %% wrong="a norm with all parameters trainable trains" says=["trainable BatchNorm1d with a frozen bias: training"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    model[1] = nn.Linear(model[1].in_features, classes, device=model[1].weight.device)
    model[0].requires_grad_(mode != "probe")
    head = {"params": list(model[1].parameters()), "lr": lr}
    if mode == "probe":
        return [head]
    return [{"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}, head]


def train_mode(model):
    model.train()
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            m.train(all(p.requires_grad for p in m.parameters()))


# %% wrong="a layer used twice is listed twice" says=["0.3.weight", "more than once in the groups"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    model[1] = nn.Linear(model[1].in_features, classes, device=model[1].weight.device)
    model[0].requires_grad_(mode != "probe")
    head = {"params": list(model[1].parameters()), "lr": lr}
    if mode == "probe":
        return [head]
    return [
        {
            "params": [p for layer in model[0] for p in layer.parameters()],
            "lr": lr if mode == "full" else lr / 10,
        },
        head,
    ]


def train_mode(model):
    model.train()
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            m.train(m.weight.requires_grad)


# %% wrong="thaws before it looks at the mode" says=["the model was changed before the error"]
def transfer(model, classes, mode, lr):
    model.requires_grad_(True)
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    model[1] = nn.Linear(model[1].in_features, classes, device=model[1].weight.device)
    model[0].requires_grad_(mode != "probe")
    head = {"params": list(model[1].parameters()), "lr": lr}
    if mode == "probe":
        return [head]
    return [{"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}, head]


def train_mode(model):
    model.train()
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            m.train(m.weight.requires_grad)


# %% wrong="a weight that two layers share is listed twice" breaks="though two layers may share one" says=["0.3.weight", "more than once in the groups"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    model[1] = nn.Linear(model[1].in_features, classes, device=model[1].weight.device)
    body = [p for part in model[0].modules() for p in part.parameters(recurse=False)]
    for parameter in body:
        parameter.requires_grad_(mode != "probe")
    groups = [{"params": [*model[1].parameters()], "lr": lr}]
    if mode != "probe":
        groups.append({"params": body, "lr": lr if mode == "full" else lr / 10})
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            module.train(module.weight.requires_grad)


# %% wrong="asks the backbone for the device" breaks="a backbone may have none" says=["a backbone without parameters", "next() found nothing: a backbone may have no parameters"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    model[1] = nn.Linear(model[1].in_features, classes, device=next(model[0].parameters()).device)
    body = [*model[0].parameters()]
    for parameter in body:
        parameter.requires_grad_(mode != "probe")
    groups = [{"params": [*model[1].parameters()], "lr": lr}]
    if mode != "probe":
        groups.append({"params": body, "lr": lr if mode == "full" else lr / 10})
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            module.train(module.weight.requires_grad)


# %% wrong="a head without bias" says=["nn.Linear has a bias"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    model[1] = nn.Linear(model[1].in_features, classes, device=model[1].weight.device, bias=False)
    body = [*model[0].parameters()]
    for parameter in body:
        parameter.requires_grad_(mode != "probe")
    groups = [{"params": [*model[1].parameters()], "lr": lr}]
    if mode != "probe":
        groups.append({"params": body, "lr": lr if mode == "full" else lr / 10})
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            module.train(module.weight.requires_grad)


# %% wrong="modes in any case" breaks="Any other mode raises `ValueError`" says=["what mode 'Full' raised"]
def transfer(model, classes, mode, lr):
    mode = mode.lower()
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[0].requires_grad_(mode != "probe")
    head = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode == "probe":
        return head
    return [{"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}] + head


def train_mode(model):
    model.train()
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
            and not m.weight.requires_grad
        ):
            m.eval()


# %% wrong="blanks around a mode are forgiven" says=["what mode 'full ' raised"]
def transfer(model, classes, mode, lr):
    mode = mode.strip()
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[0].requires_grad_(mode != "probe")
    head = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode == "probe":
        return head
    return [{"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}] + head


def train_mode(model):
    model.train()
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
            and not m.weight.requires_grad
        ):
            m.eval()


# %% wrong="the head is made on the CPU" breaks="on the device of the old one" says=["the new head's device"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes)
    model[0].requires_grad_(mode != "probe")
    head = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode == "probe":
        return head
    return [{"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}] + head


def train_mode(model):
    model.train()
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
            and not m.weight.requires_grad
        ):
            m.eval()


# %% wrong="the momentum of frozen norms becomes 0" breaks="Modes are all that it changes" says=["its settings changed"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[0].requires_grad_(mode != "probe")
    head = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode == "probe":
        return head
    return [{"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}] + head


def train_mode(model):
    model.train()
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
            and not m.weight.requires_grad
        ):
            m.eval()
            m.momentum = 0.0


# %% wrong="batch norms reset" breaks="The backbone's values stay, buffers too" says=["transfer changed", "running_mean"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    for m in model[0].modules():
        if hasattr(m, "reset_running_stats"):
            m.reset_running_stats()
    model[0].requires_grad_(mode != "probe")
    head = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode == "probe":
        return head
    return [{"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}] + head


def train_mode(model):
    model.train()
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
            and not m.weight.requires_grad
        ):
            m.eval()


# %% wrong="train_mode freezes the bias too" says=["with gradients for bias to", "with gradients for nothing"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[0].requires_grad_(mode != "probe")
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode != "probe":
        groups.append(
            {"params": list(model[0].parameters()), "lr": lr / (1 if mode == "full" else 10)}
        )
    return groups


def train_mode(model):
    model.train()
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
            and not m.weight.requires_grad
        ):
            m.eval()
            m.bias.requires_grad_(False)


# %% wrong="train_mode looks at children" says=["frozen BatchNorm1d that is the model itself"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[0].requires_grad_(mode != "probe")
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode != "probe":
        groups.append(
            {"params": list(model[0].parameters()), "lr": lr / (1 if mode == "full" else 10)}
        )
    return groups


def train_mode(model):
    model.train()
    for m in model.children():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            m.train(m.weight.requires_grad)
        else:
            train_mode(m)


# %% wrong="a group without a rate" breaks='a list of dicts with `"params"` and `"lr"`' says=["its group has no \"lr\""]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[0].requires_grad_(mode != "probe")
    if mode == "discriminative":
        return [
            {"params": list(model[0].parameters())},
            {"params": list(model[1].parameters()), "lr": lr},
        ]
    return [{"params": [p for p in model.parameters() if p.requires_grad], "lr": lr}]


def train_mode(model):
    model.train()
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
            and not m.weight.requires_grad
        ):
            m.eval()


# %% right="setattr by name, apply for modes"
def transfer(model, classes, mode, lr):
    table = {"probe": 0, "full": 1, "discriminative": 0.1}
    try:
        factor = table[mode]
    except KeyError:
        raise ValueError(f"mode is {mode!r}") from None
    head = nn.Linear(model[1].weight.shape[1], classes).to(model[1].weight.device)
    setattr(model, list(dict(model.named_children()))[1], head)
    body = dict(model[0].named_parameters()).values()
    for p in body:
        p.requires_grad = factor > 0
    groups = [dict(params=[head.weight, head.bias], lr=lr)]
    if factor and body:
        groups.insert(0, dict(params=list(body), lr=lr * factor))
    return groups


def train_mode(model):
    model.train()

    def still(m):
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
            and m.weight.requires_grad is False
        ):
            m.eval()

    model.apply(still)


# %% wrong="the new head is frozen with the backbone" breaks="puts a new, trainable `nn.Linear`" says=["1.weight: requires_grad is False: the new head has to learn"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(f"mode {mode!r}")
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[0].requires_grad_(mode != "probe")
    if mode == "probe":
        model.requires_grad_(False)
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode != "probe":
        groups.append(
            {"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}
        )
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if not module.weight.requires_grad:
                module.eval()


# %% wrong="a probe whose backbone isn't frozen" breaks="no backbone parameter requires a gradient" says=["requires_grad is True: frozen means requires_grad=False"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(f"mode {mode!r}")
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[0].requires_grad_(True)
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode != "probe":
        groups.append(
            {"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}
        )
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if not module.weight.requires_grad:
                module.eval()


# %% wrong="forgets the gradients on the way" breaks="Modes are all that it changes" says=["its mode alone is train_mode's to change"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    model[1] = nn.Linear(model[1].in_features, classes, device=model[1].weight.device)
    for parameter in model[0].parameters():
        parameter.requires_grad_(mode != "probe")
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode != "probe":
        rate = lr if mode == "full" else lr / 10
        groups.append({"params": list(model[0].parameters()), "lr": rate})
    return groups


def train_mode(model):
    model.train()
    model.zero_grad()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            module.train(module.weight.requires_grad)


# %% wrong="the new head is frozen where the old one was" breaks="puts a new, trainable `nn.Linear`" says=["the new head has to learn, in every mode"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[0].requires_grad_(mode != "probe")
    model[1].requires_grad_(old.weight.requires_grad)
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode != "probe":
        groups.append(
            {
                "params": list(model[0].parameters()),
                "lr": lr / 10 if mode == "discriminative" else lr,
            }
        )
    return [g for g in groups if g["params"]]


def train_mode(model):
    model.train()
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
            and not m.weight.requires_grad
        ):
            m.eval()


# %% wrong="a third part behind the head" says=["how many parts the model has"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model.append(nn.Identity())
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[0].requires_grad_(mode != "probe")
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode != "probe":
        rate = lr if mode == "full" else lr / 10
        body = list(model[0].parameters())
        if body:
            groups.append({"params": body, "lr": rate})
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if (
            isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
            and not module.weight.requires_grad
        ):
            module.eval()


# %% wrong="exact class" breaks="and classes derived from them" says=["frozen BatchNorm2d of a derived class"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[0].requires_grad_(mode != "probe")
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode != "probe":
        rate = lr if mode == "full" else lr / 10
        body = list(model[0].parameters())
        if body:
            groups.append({"params": body, "lr": rate})
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if (
            type(module) in (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
            and not module.weight.requires_grad
        ):
            module.eval()


# %% wrong="keeps a head that fits" says=["as many classes as before", "the head is the old one"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    if old.out_features != classes:
        model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[1].requires_grad_(True)
    model[0].requires_grad_(mode != "probe")
    head = {"params": list(model[1].parameters()), "lr": lr}
    if mode == "probe":
        return [head]
    return [{"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}, head]


def train_mode(model):
    model.train()
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
            and not m.weight.requires_grad
        ):
            m.eval()


# %% wrong="freezes the backbone's children alone" says=["a backbone may have parameters of its own"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    for child in model[0].children():
        child.requires_grad_(mode != "probe")
    head = {"params": list(model[1].parameters()), "lr": lr}
    if mode == "probe":
        return [head]
    return [{"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}, head]


def train_mode(model):
    model.train()
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
            and not m.weight.requires_grad
        ):
            m.eval()


# %% wrong="whatever has running statistics" says=["frozen InstanceNorm1d with statistics: training: expected True, got False"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[0].requires_grad_(mode != "probe")
    head = {"params": list(model[1].parameters()), "lr": lr}
    if mode == "probe":
        return [head]
    return [{"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}, head]


def train_mode(model):
    model.train()
    for m in model.modules():
        if (
            getattr(m, "running_mean", None) is not None
            and m.weight is not None
            and not m.weight.requires_grad
        ):
            m.eval()


# %% wrong="a rate of 0 is the default" breaks="everything requires a gradient and learns at `lr`" says=["a rate like any"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    lr = lr or 1e-3
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[0].requires_grad_(mode != "probe")
    head = {"params": list(model[1].parameters()), "lr": lr}
    if mode == "probe":
        return [head]
    rate = lr if mode == "full" else lr / 10
    return [{"params": list(model[0].parameters()), "lr": rate}, head]


def train_mode(model):
    model.train()
    for part in model.modules():
        if isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if not part.weight.requires_grad:
                part.training = False


# %% wrong="leaves a frozen batch norm without statistics in training" says=["frozen BatchNorm1d that keeps no statistics"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(f"unknown mode {mode!r}")
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device)
    model[0].requires_grad_(mode != "probe")
    body, head = list(model[0].parameters()), list(model[1].parameters())
    if mode == "probe":
        return [{"params": head, "lr": lr}]
    if mode == "full":
        return [{"params": body + head, "lr": lr}]
    return [{"params": body, "lr": lr / 10}, {"params": head, "lr": lr}]


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            if module.track_running_stats and not module.weight.requires_grad:
                module.eval()


# %% wrong="a head in half precision" says=["go into the head"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    model[1] = nn.Linear(old.in_features, classes, device=old.weight.device, dtype=torch.float16)
    model[0].requires_grad_(mode != "probe")
    head = {"params": list(model[1].parameters()), "lr": lr}
    if mode == "probe":
        return [head]
    return [{"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}, head]


def train_mode(model):
    model.train()
    for m in model.modules():
        if (
            isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
            and not m.weight.requires_grad
        ):
            m.eval()


# %% wrong="a bias only where the old head had one" breaks="with a bias, `classes` outputs and the old head's inputs" says=["the new head has no bias, as the old one had none"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    old = model[1]
    bias, place = old.bias is not None, old.weight.device
    model[1] = nn.Linear(old.in_features, classes, bias=bias, device=place)
    model[0].requires_grad_(mode != "probe")
    groups = [{"params": list(model[1].parameters()), "lr": lr}]
    if mode != "probe":
        rate = lr / 10 if mode == "discriminative" else lr
        groups.append({"params": list(model[0].parameters()), "lr": rate})
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            module.train(module.weight.requires_grad)


# %% wrong="the device of the backbone, else the CPU" breaks="on the device of the old one" says=["a model on the device meta: the new head's device: expected 'meta', got 'cpu' (the old head's, for this backbone has no parameter to ask)"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    place = next((p.device for p in model[0].parameters()), torch.device("cpu"))
    model[1] = nn.Linear(model[1].in_features, classes).to(place)
    model[0].requires_grad_(mode != "probe")
    head = {"params": list(model[1].parameters()), "lr": lr}
    if mode == "probe":
        return [head]
    return [{"params": list(model[0].parameters()), "lr": lr if mode == "full" else lr / 10}, head]


def train_mode(model):
    model.train()
    for layer in model.modules():
        if isinstance(layer, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            layer.train(layer.weight.requires_grad)


# %% right="a head of a class derived from nn.Linear; modes layer by layer"
class Head(nn.Linear):
    """The new head."""


def transfer(model, classes, mode, lr):
    rates = {"probe": [], "full": [lr], "discriminative": [lr / 10]}
    if mode not in rates:
        raise ValueError(f"no such mode: {mode}")
    body, old = model
    model[1] = Head(old.in_features, classes, bias=True, device=old.weight.device)
    for parameter in body.parameters():
        parameter.requires_grad_(bool(rates[mode]))
    groups = [
        {"params": list(dict.fromkeys(body.parameters())), "lr": rate} for rate in rates[mode]
    ]
    return [*groups, {"params": list(model[1].parameters()), "lr": lr}]


def train_mode(model):
    norms = nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d
    for layer in model.modules():
        layer.train(not isinstance(layer, norms) or layer.weight.requires_grad)


# %% wrong="the head by the name '1'" breaks="which may have names" says=["and now there are features, classifier, 1", "assign model[1]"]
def transfer(model, classes, mode, lr):
    if mode not in ("probe", "full", "discriminative"):
        raise ValueError(mode)
    head = nn.Linear(model[1].in_features, classes, device=model[1].weight.device)
    model.add_module("1", head)
    model[0].requires_grad_(mode != "probe")
    groups = [{"params": list(head.parameters()), "lr": lr}]
    if mode != "probe":
        rate = lr if mode == "full" else lr / 10
        groups.append({"params": list(model[0].parameters()), "lr": rate})
    return groups


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            module.train(module.weight.requires_grad)


# %% wrong="the head is drawn before the mode is looked at" breaks="no random state either" says=["the global random state moved before the error", "make the head once the mode is known"]
def transfer(model, classes, mode, lr):
    old, body = model[1], list(model[0].parameters())
    head = nn.Linear(old.in_features, classes, device=old.weight.device)
    rates = {"probe": None, "full": lr, "discriminative": lr / 10}
    if mode not in rates:
        raise ValueError(f"unknown mode {mode!r}")
    model[0].requires_grad_(mode != "probe")
    model[1] = head
    groups = [{"params": list(head.parameters()), "lr": lr}]
    return groups + [{"params": body, "lr": rates[mode]}] * (mode != "probe")


def train_mode(model):
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            module.train(module.weight.requires_grad)
