# %% [markdown]
# Rules:
#
# - "in any order"
# - "the batch may be empty"
# - "equal outputs"
# - "equal gradients by each tensor"
# - "in float64 as well"
# - "No module may be called inside"
# - "`functional_call` included"
# - "at least one"
# - "The result has shape (models, batch, 10)"
# - "holds what each gives for the same `x`"
# - "as many convolutions and matrix products for five models as for two"
# - "The list and the models stay as they are"
# - "values, mode, `requires_grad`, `.grad`"
# - "A model may be in the list twice"
#
# Admits:
#
# - "in any order": the dict's names in another order
# - "the batch may be empty": no image
# - "in float64 as well": float64, other weights
# - "at least one": one model, float64
# - "A model may be in the list twice": three models, the third of which is the first

# %% wrong="no ReLU" breaks="equal outputs" says=["the output: both ReLUs are missing"]
def functional_twin(parameters, x):
    x = F.max_pool2d(F.conv2d(x, parameters["conv1.weight"], parameters["conv1.bias"]), 2)
    x = F.max_pool2d(F.conv2d(x, parameters["conv2.weight"], parameters["conv2.bias"]), 2)
    return F.linear(x.flatten(1), parameters["fc.weight"], parameters["fc.bias"])


def ensemble(models, x):
    parameters, buffers = torch.func.stack_module_state(models)

    def one(p, b):
        return torch.func.functional_call(models[0], (p, b), (x,))

    return torch.func.vmap(one)(parameters, buffers)


# %% wrong="a loop; functional_call" says=["a module was called (ConvNet): use functions only"]
def functional_twin(parameters, x):
    return torch.func.functional_call(ConvNet(), parameters, (x,))


def ensemble(models, x):
    return torch.stack([model(x) for model in models])


# %% wrong="loads the parameters into a module" breaks="No module may be called inside" says=["a module was called"]
def functional_twin(parameters, x):
    model = ConvNet()
    model.load_state_dict(parameters)
    return model(x)


def ensemble(models, x):
    return torch.stack([model(x) for model in models])


# %% wrong="a loop over the models" breaks="as many convolutions and matrix products for five models as for two" says=["for five: a loop over them"]
def functional_twin(parameters, x):
    for n in (1, 2):
        x = F.conv2d(x, parameters[f"conv{n}.weight"], parameters[f"conv{n}.bias"])
        x = F.max_pool2d(F.relu(x), 2)
    return F.linear(x.flatten(1), parameters["fc.weight"], parameters["fc.bias"])


def ensemble(models, x):
    return torch.stack([model(x) for model in models])


# %% wrong="detached parameters" breaks="equal gradients by each tensor" says=["no gradient flows back to the parameters"]
def functional_twin(parameters, x):
    parameters = {name: tensor.detach() for name, tensor in parameters.items()}
    for n in (1, 2):
        x = F.conv2d(x, parameters[f"conv{n}.weight"], parameters[f"conv{n}.bias"])
        x = F.max_pool2d(F.relu(x), 2)
    return F.linear(x.flatten(1), parameters["fc.weight"], parameters["fc.bias"])


def ensemble(models, x):
    parameters, _ = torch.func.stack_module_state(models)
    return torch.func.vmap(functional_twin, in_dims=(0, None))(parameters, x)


# %% wrong="the mean of the ensemble; the bias of conv2 forgotten" says=["the gradient by conv2.bias"]
def functional_twin(parameters, x):
    x = F.conv2d(x, parameters["conv1.weight"], parameters["conv1.bias"])
    x = F.max_pool2d(F.relu(x), 2)
    x = F.conv2d(x, parameters["conv2.weight"], parameters["conv2.bias"].detach())
    x = F.max_pool2d(F.relu(x), 2)
    return F.linear(x.flatten(1), parameters["fc.weight"], parameters["fc.bias"])


def ensemble(models, x):
    parameters, _ = torch.func.stack_module_state(models)
    return torch.func.vmap(functional_twin, in_dims=(0, None))(parameters, x).mean(0)


# %% wrong="the mean of the ensemble" breaks="The result has shape (models, batch, 10)" says=["the result has shape (3, 10), expected (2, 3, 10)"]
def functional_twin(parameters, x):
    for n in (1, 2):
        x = F.conv2d(x, parameters[f"conv{n}.weight"], parameters[f"conv{n}.bias"])
        x = F.max_pool2d(F.relu(x), 2)
    return F.linear(x.flatten(1), parameters["fc.weight"], parameters["fc.bias"])


def ensemble(models, x):
    parameters, _ = torch.func.stack_module_state(models)
    return torch.func.vmap(functional_twin, in_dims=(0, None))(parameters, x).mean(0)


# %% wrong="freezes the models" says=["the models were changed"]
def functional_twin(parameters, x):
    for n in (1, 2):
        x = F.conv2d(x, parameters[f"conv{n}.weight"], parameters[f"conv{n}.bias"])
        x = F.max_pool2d(F.relu(x), 2)
    return F.linear(x.flatten(1), parameters["fc.weight"], parameters["fc.bias"])


def ensemble(models, x):
    stacked = {}
    for name in models[0].state_dict():
        stacked[name] = torch.stack([m.requires_grad_(False).state_dict()[name] for m in models])
    return torch.func.vmap(functional_twin, in_dims=(0, None))(stacked, x)


# %% right="unfold and matmul; functional_call on a meta skeleton"
def functional_twin(parameters, x):
    for name in ("conv1", "conv2"):
        weight, bias = parameters[name + ".weight"], parameters[name + ".bias"]
        side = x.shape[-1] - 4
        columns = F.unfold(x, 5)
        x = (weight.flatten(1) @ columns + bias[:, None]).unflatten(2, (side, side))
        x = F.adaptive_max_pool2d(x, side // 2).clamp(min=0)
    return x.flatten(1) @ parameters["fc.weight"].T + parameters["fc.bias"]


def ensemble(models, x):
    import copy

    skeleton = copy.deepcopy(models[0]).to("meta")
    parameters, buffers = torch.func.stack_module_state(models)

    def one(parameters, buffers):
        return torch.func.functional_call(skeleton, (parameters, buffers), (x,))

    return torch.func.vmap(one)(parameters, buffers)


# %% right="grouped convolutions by hand"
def functional_twin(parameters, x):
    names = [f"{layer}.{kind}" for layer in ("conv1", "conv2", "fc") for kind in ("weight", "bias")]
    w1, b1, w2, b2, w3, b3 = (parameters[name] for name in names)
    x = torch.conv2d(x, w1, b1).relu().unfold(2, 2, 2).unfold(3, 2, 2).flatten(-2).max(-1)[0]
    x = torch.conv2d(x, w2, b2).relu().unfold(2, 2, 2).unfold(3, 2, 2).flatten(-2).max(-1)[0]
    return torch.addmm(b3, x.reshape(len(x), 256), w3.t())


def ensemble(models, x):
    n = len(models)
    w1, b1, w2, b2, w3, b3 = (
        torch.stack([dict(m.named_parameters())[name] for m in models])
        for name in (
            "conv1.weight",
            "conv1.bias",
            "conv2.weight",
            "conv2.bias",
            "fc.weight",
            "fc.bias",
        )
    )
    h = F.max_pool2d(F.conv2d(x, w1.flatten(0, 1), b1.flatten()).relu(), 2)
    h = F.max_pool2d(F.conv2d(h, w2.flatten(0, 1), b2.flatten(), groups=n).relu(), 2)
    h = h.view(len(x), n, 256)
    return torch.einsum("bmf,mcf->mbc", h, w3) + b3[:, None]


# %% wrong="no dimension for one model" breaks="at least one" says=["one model, float64: the result has shape (3, 10), expected (1, 3, 10)"]
def functional_twin(parameters, x):
    w1, b1, w2, b2, w, b = (
        parameters[f"{layer}.{kind}"]
        for layer in ("conv1", "conv2", "fc")
        for kind in ("weight", "bias")
    )
    x = torch.max_pool2d(torch.relu(torch.conv2d(x, w1, b1)), (2, 2))
    x = torch.max_pool2d(torch.relu(torch.conv2d(x, w2, b2)), (2, 2))
    return torch.addmm(b, x.view(-1, 256), w.t())


def ensemble(models, x):
    stacked = {
        name: torch.stack([dict(m.named_parameters())[name].detach() for m in models])
        for name, _ in models[0].named_parameters()
    }
    return torch.vmap(functional_twin, in_dims=(0, None))(stacked, x).squeeze(0)


# %% right="unfold and einsum; grouped convolutions"
def functional_twin(parameters, x):
    for name in ("conv1", "conv2"):
        w, b = parameters[name + ".weight"], parameters[name + ".bias"]
        windows = x.unfold(2, 5, 1).unfold(3, 5, 1)  # (batch, channel, y, x, 5, 5)
        x = torch.einsum("bcyxij,ocij->boyx", windows, w) + b[:, None, None]
        x = x.clamp(min=0)
        n, c, h, v = x.shape
        windows = x.reshape(n, c, h // 2, 2, v // 2, 2).transpose(3, 4)
        x = windows.flatten(-2).max(-1).values
    return x.reshape(len(x), 256) @ parameters["fc.weight"].T + parameters["fc.bias"]


def ensemble(models, x):
    m, n = len(models), len(x)
    state = {
        k: torch.stack([net.state_dict()[k] for net in models]) for k in models[0].state_dict()
    }
    y = x.repeat(1, m, 1, 1)
    for name in ("conv1", "conv2"):
        y = F.conv2d(
            y, state[name + ".weight"].flatten(0, 1), state[name + ".bias"].flatten(), groups=m
        )
        y = F.max_pool2d(y.relu(), 2)
    y = y.view(n, m, 256).transpose(0, 1)
    return torch.einsum("mni,moi->mno", y, state["fc.weight"]) + state["fc.bias"][:, None]


# %% wrong="tensors by their position" breaks="in any order" says=["the names come in another order here"]
from torch.func import stack_module_state, vmap


def functional_twin(parameters, x):
    w1, b1, w2, b2, w3, b3 = parameters.values()
    x = F.max_pool2d(F.conv2d(x, w1, b1).relu(), 2)
    x = F.max_pool2d(F.conv2d(x, w2, b2).relu(), 2)
    return F.linear(x.flatten(1), w3, b3)


def ensemble(models, x):
    parameters, _ = stack_module_state(models)
    return vmap(functional_twin, in_dims=(0, None))(parameters, x)


# %% wrong="asks reshape for what no image leaves open" breaks="the batch may be empty" says=["no image: RuntimeError", "a size given as -1"]
from torch.func import stack_module_state, vmap


def functional_twin(parameters, x):
    for layer in ("conv1", "conv2"):
        x = F.conv2d(x, parameters[f"{layer}.weight"], parameters[f"{layer}.bias"])
        x = F.max_pool2d(x.relu(), 2)
    return F.linear(x.reshape(len(x), -1), parameters["fc.weight"], parameters["fc.bias"])


def ensemble(models, x):
    parameters, _ = stack_module_state(models)
    return vmap(functional_twin, in_dims=(0, None))(parameters, x)


# %% wrong="empties the dict" says=["the dict is no longer as it was"]
from torch.func import stack_module_state, vmap


def functional_twin(parameters, x):
    for layer in ("conv1", "conv2"):
        x = F.conv2d(x, parameters.pop(f"{layer}.weight"), parameters.pop(f"{layer}.bias"))
        x = F.max_pool2d(x.relu(), 2)
    return F.linear(x.flatten(1), parameters.pop("fc.weight"), parameters.pop("fc.bias"))


def ensemble(models, x):
    parameters, _ = stack_module_state(models)
    return vmap(functional_twin, in_dims=(0, None))(parameters, x)


# %% wrong="leaves the models in eval mode" says=["the models were changed: their mode"]
from torch.func import stack_module_state, vmap


def functional_twin(parameters, x):
    for layer in ("conv1", "conv2"):
        x = F.conv2d(x, parameters[f"{layer}.weight"], parameters[f"{layer}.bias"])
        x = F.max_pool2d(x.relu(), 2)
    return F.linear(x.flatten(1), parameters["fc.weight"], parameters["fc.bias"])


def ensemble(models, x):
    for model in models:
        model.eval()
    parameters, _ = stack_module_state(models)
    return vmap(functional_twin, in_dims=(0, None))(parameters, x)


# %% wrong="wipes the gradients" breaks="values, mode, `requires_grad`, `.grad`" says=["the models were changed: their grad"]
from torch.func import stack_module_state, vmap


def functional_twin(parameters, x):
    for layer in ("conv1", "conv2"):
        x = F.conv2d(x, parameters[f"{layer}.weight"], parameters[f"{layer}.bias"])
        x = F.max_pool2d(x.relu(), 2)
    return F.linear(x.flatten(1), parameters["fc.weight"], parameters["fc.bias"])


def ensemble(models, x):
    for model in models:
        model.zero_grad()
    parameters, _ = stack_module_state(models)
    return vmap(functional_twin, in_dims=(0, None))(parameters, x)


# %% wrong="computes in float32" breaks="in float64 as well" says=["float64, other weights: the output"]
from torch.func import stack_module_state, vmap


def functional_twin(parameters, x):
    kind, x = x.dtype, x.float()
    for layer in ("conv1", "conv2"):
        weight, bias = (parameters[f"{layer}.{part}"].float() for part in ("weight", "bias"))
        x = F.max_pool2d(F.conv2d(x, weight, bias).relu(), 2)
    weight, bias = parameters["fc.weight"].float(), parameters["fc.bias"].float()
    return F.linear(x.flatten(1), weight, bias).to(kind)


def ensemble(models, x):
    parameters, _ = stack_module_state(models)
    return vmap(functional_twin, in_dims=(0, None))(parameters, x)


# %% wrong="twice the same model counts once" breaks="A model may be in the list twice" says=["the third of which is the first"]
def functional_twin(parameters, x):
    p = parameters
    x = torch.relu(F.conv2d(x, p["conv1.weight"], p["conv1.bias"]))
    x = F.max_pool2d(x, 2)
    x = torch.relu(F.conv2d(x, p["conv2.weight"], p["conv2.bias"]))
    x = F.max_pool2d(x, 2)
    return x.flatten(1) @ p["fc.weight"].t() + p["fc.bias"]


def ensemble(models, x):
    models = list(dict.fromkeys(models))
    names = list(models[0].state_dict())
    stacked = {name: torch.stack([model.get_parameter(name) for model in models]) for name in names}
    return torch.func.vmap(functional_twin, in_dims=(0, None))(stacked, x)


# %% wrong="the second ReLU is forgotten" says=["the output: the second ReLU is missing"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    x = F.conv2d(x, parameters["conv1.weight"], parameters["conv1.bias"])
    x = F.max_pool2d(x.relu(), 2)
    x = F.conv2d(x, parameters["conv2.weight"], parameters["conv2.bias"])
    x = F.max_pool2d(x, 2)
    return F.linear(x.flatten(1), parameters["fc.weight"], parameters["fc.bias"])


def ensemble(models, x):
    parameters, buffers = stack_module_state(models)

    def call(p, b):
        return functional_call(models[0], (p, b), (x,))

    return vmap(call)(parameters, buffers)


# %% wrong="the second pooling takes means" says=["the output: the second pooling takes means, not the largest"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    x = F.conv2d(x, parameters["conv1.weight"], parameters["conv1.bias"])
    x = F.max_pool2d(x.relu(), 2)
    x = F.conv2d(x, parameters["conv2.weight"], parameters["conv2.bias"])
    x = F.avg_pool2d(x.relu(), 2)
    return F.linear(x.flatten(1), parameters["fc.weight"], parameters["fc.bias"])


def ensemble(models, x):
    parameters, buffers = stack_module_state(models)

    def call(p, b):
        return functional_call(models[0], (p, b), (x,))

    return vmap(call)(parameters, buffers)


# %% wrong="the last bias is missing" says=["without the bias of fc"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    x = F.conv2d(x, parameters["conv1.weight"], parameters["conv1.bias"])
    x = F.max_pool2d(F.relu(x), 2)
    x = F.conv2d(x, parameters["conv2.weight"], parameters["conv2.bias"])
    x = F.max_pool2d(F.relu(x), 2)
    return x.flatten(1) @ parameters["fc.weight"].t()


def ensemble(models, x):
    stack = {
        n: torch.stack([dict(m.named_parameters())[n].detach() for m in models])
        for n, _ in models[0].named_parameters()
    }
    return vmap(functional_twin, in_dims=(0, None))(stack, x)


# %% wrong="one network of mean weights" says=["equal scores for all models"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    x = F.conv2d(x, parameters["conv1.weight"], parameters["conv1.bias"])
    x = F.max_pool2d(F.relu(x), 2)
    x = F.conv2d(x, parameters["conv2.weight"], parameters["conv2.bias"])
    x = F.max_pool2d(F.relu(x), 2)
    return torch.addmm(parameters["fc.bias"], x.flatten(1), parameters["fc.weight"].t())


def ensemble(models, x):
    stack = {
        n: torch.stack([dict(m.named_parameters())[n].detach() for m in models])
        for n, _ in models[0].named_parameters()
    }
    mean = {n: t.mean(0) for n, t in stack.items()}
    return functional_twin(mean, x).expand(len(models), -1, -1)


# %% wrong="sorts the models" breaks="holds what each gives for the same `x`" says=["not in the order of the list"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    x = F.conv2d(x, parameters["conv1.weight"], parameters["conv1.bias"])
    x = F.max_pool2d(F.relu(x), 2)
    x = F.conv2d(x, parameters["conv2.weight"], parameters["conv2.bias"])
    x = F.max_pool2d(F.relu(x), 2)
    return torch.addmm(parameters["fc.bias"], x.flatten(1), parameters["fc.weight"].t())


def ensemble(models, x):
    models.sort(key=lambda model: model.fc.bias[0].item())
    stack = {
        n: torch.stack([dict(m.named_parameters())[n].detach() for m in models])
        for n, _ in models[0].named_parameters()
    }
    return vmap(functional_twin, in_dims=(0, None))(stack, x)


# %% right="addmm, stacked by hand"
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    x = F.conv2d(x, parameters["conv1.weight"], parameters["conv1.bias"])
    x = F.max_pool2d(F.relu(x), 2)
    x = F.conv2d(x, parameters["conv2.weight"], parameters["conv2.bias"])
    x = F.max_pool2d(F.relu(x), 2)
    return torch.addmm(parameters["fc.bias"], x.flatten(1), parameters["fc.weight"].t())


def ensemble(models, x):
    stack = {
        n: torch.stack([dict(m.named_parameters())[n].detach() for m in models])
        for n, _ in models[0].named_parameters()
    }
    return vmap(functional_twin, in_dims=(0, None))(stack, x)


# %% wrong="weights kept by how many models there are" says=["two other models (is anything kept between calls?)"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    x = F.conv2d(x, parameters["conv1.weight"], parameters["conv1.bias"])
    x = F.max_pool2d(F.relu(x), 2)
    x = F.conv2d(x, parameters["conv2.weight"], parameters["conv2.bias"])
    x = F.max_pool2d(F.relu(x), 2)
    return torch.addmm(parameters["fc.bias"], x.flatten(1), parameters["fc.weight"].t())


_kept = {}


def ensemble(models, x):
    stack = {
        n: torch.stack([dict(m.named_parameters())[n].detach() for m in models])
        for n, _ in models[0].named_parameters()
    }
    stack = _kept.setdefault((len(models), x.dtype), stack)
    return vmap(functional_twin, in_dims=(0, None))(stack, x)


# %% wrong="thaws what was frozen" says=["the models were changed: their requires_grad"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    x = F.conv2d(x, parameters["conv1.weight"], parameters["conv1.bias"])
    x = F.max_pool2d(F.relu(x), 2)
    x = F.conv2d(x, parameters["conv2.weight"], parameters["conv2.bias"])
    x = F.max_pool2d(F.relu(x), 2)
    return torch.addmm(parameters["fc.bias"], x.flatten(1), parameters["fc.weight"].t())


def ensemble(models, x):
    [m.requires_grad_(True) for m in models]
    stack = {
        n: torch.stack([dict(m.named_parameters())[n].detach() for m in models])
        for n, _ in models[0].named_parameters()
    }
    return vmap(functional_twin, in_dims=(0, None))(stack, x)


# %% wrong="functional_call on a skeleton" breaks="`functional_call` included" says=["a module was called (ConvNet): use functions only"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    return functional_call(ConvNet().to("meta"), parameters, (x,))


def ensemble(models, x):
    names = list(models[0].state_dict())
    stacked = {n: torch.stack([dict(m.named_parameters())[n] for m in models]) for n in names}
    skeleton = ConvNet().to("meta")
    return vmap(lambda tensors: functional_call(skeleton, tensors, (x,)))(stacked)


# %% wrong="turns the caller's list around" breaks="The list and the models stay as they are" says=["the models were changed: their list itself"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    p = parameters
    x = F.max_pool2d(F.conv2d(x, p["conv1.weight"], p["conv1.bias"]).relu(), 2)
    x = F.max_pool2d(F.conv2d(x, p["conv2.weight"], p["conv2.bias"]).relu(), 2)
    return F.linear(x.flatten(1), p["fc.weight"], p["fc.bias"])


def ensemble(models, x):
    models.reverse()
    names = list(models[0].state_dict())
    stacked = {n: torch.stack([dict(m.named_parameters())[n] for m in models]) for n in names}
    return vmap(functional_twin, (0, None))(stacked, x).flip(0)


# %% wrong="relu6" says=["the output"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    p = parameters
    x = F.max_pool2d(F.conv2d(x, p["conv1.weight"], p["conv1.bias"]).clamp(0, 6), 2)
    x = F.max_pool2d(F.conv2d(x, p["conv2.weight"], p["conv2.bias"]).relu(), 2)
    return F.linear(x.flatten(1), p["fc.weight"], p["fc.bias"])


def ensemble(models, x):
    names = list(models[0].state_dict())
    stacked = {n: torch.stack([dict(m.named_parameters())[n] for m in models]) for n in names}
    return vmap(functional_twin, (0, None))(stacked, x)


# %% wrong="a loop where there are as many models as images" says=["three: a loop"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    p = parameters
    x = F.max_pool2d(F.conv2d(x, p["conv1.weight"], p["conv1.bias"]).relu(), 2)
    x = F.max_pool2d(F.conv2d(x, p["conv2.weight"], p["conv2.bias"]).relu(), 2)
    return F.linear(x.flatten(1), p["fc.weight"], p["fc.bias"])


def ensemble(models, x):
    stacked = {
        n: torch.stack([dict(m.named_parameters())[n] for m in models])
        for n, _ in models[0].named_parameters()
    }
    return (
        vmap(functional_twin, in_dims=(0, None))(stacked, x)
        if len(x) != len(models)
        else torch.stack(
            [functional_twin({n: t[i] for n, t in stacked.items()}, x) for i in range(len(models))]
        )
    )


# %% wrong="the first model's scores for all" says=["has equal scores for all models"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    p = parameters
    x = F.max_pool2d(F.conv2d(x, p["conv1.weight"], p["conv1.bias"]).relu(), 2)
    x = F.max_pool2d(F.conv2d(x, p["conv2.weight"], p["conv2.bias"]).relu(), 2)
    return F.linear(x.flatten(1), p["fc.weight"], p["fc.bias"])


def ensemble(models, x):
    return models[0](x).expand(len(models), len(x), 10)


# %% wrong="two biases forgotten" says=["without the bias of conv1 and fc"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    p = parameters
    x = F.max_pool2d(F.conv2d(x, p["conv1.weight"]).relu(), 2)
    x = F.max_pool2d(F.conv2d(x, p["conv2.weight"], p["conv2.bias"]).relu(), 2)
    return F.linear(x.flatten(1), p["fc.weight"])


def ensemble(models, x):
    stacked = {
        n: torch.stack([dict(m.named_parameters())[n] for m in models])
        for n, _ in models[0].named_parameters()
    }
    return vmap(functional_twin, in_dims=(0, None))(stacked, x)


# %% wrong="stacks a list of models once" breaks="holds what each gives for the same `x`" says=["the result is that of the weights at the first call"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    x = F.conv2d(x, parameters["conv1.weight"], parameters["conv1.bias"])
    x = F.max_pool2d(x.relu(), 2)
    x = F.conv2d(x, parameters["conv2.weight"], parameters["conv2.bias"])
    x = F.max_pool2d(x.relu(), 2)
    return F.linear(x.flatten(1), parameters["fc.weight"], parameters["fc.bias"])


stacks = {}


def ensemble(models, x):
    key = tuple(id(model) for model in models)
    if key not in stacks:
        stacks[key] = stack_module_state(models)[0]
    parameters = stacks[key]

    def call(parameters):
        return functional_call(models[0], parameters, (x,))

    return vmap(call)(parameters)


# %% wrong="squeezes a single image's dimension" breaks="The result has shape (models, batch, 10)" says=["two models, one image", "a dimension of size 1 is missing"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    x = F.max_pool2d(F.conv2d(x, parameters["conv1.weight"], parameters["conv1.bias"]).relu(), 2)
    x = F.max_pool2d(F.conv2d(x, parameters["conv2.weight"], parameters["conv2.bias"]).relu(), 2)
    return F.linear(x.flatten(1), parameters["fc.weight"], parameters["fc.bias"])


from torch.func import functional_call, stack_module_state, vmap


def ensemble(models, x):
    stacked, _ = stack_module_state(models)
    return vmap(lambda state: functional_twin(state, x))(stacked).squeeze(1)


# %% wrong="takes the images off the graph" breaks="equal gradients by each tensor" says=["no gradient flows back to x"]
from torch.func import functional_call, stack_module_state, vmap


def functional_twin(parameters, x):
    p = parameters
    x = x.detach()
    x = F.max_pool2d(F.conv2d(x, p["conv1.weight"], p["conv1.bias"]).relu(), 2)
    x = F.max_pool2d(F.conv2d(x, p["conv2.weight"], p["conv2.bias"]).relu(), 2)
    return F.linear(x.flatten(1), p["fc.weight"], p["fc.bias"])


def ensemble(models, x):
    parameters, buffers = stack_module_state(models)

    def call(parameters, buffers, x):
        return functional_call(models[0], (parameters, buffers), (x,))

    return vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)


# %% wrong="pools by amax, which shares the gradient among equal numbers" breaks="equal gradients by each tensor" says=["one of equal maxima gets all of the gradient", "the gradient by x differs"]
def functional_twin(parameters, x):
    for name in ("conv1", "conv2"):
        x = F.conv2d(x, parameters[f"{name}.weight"], parameters[f"{name}.bias"]).relu()
        x = x.unflatten(3, (-1, 2)).unflatten(2, (-1, 2)).amax((3, 5))
    return F.linear(x.flatten(1), parameters["fc.weight"], parameters["fc.bias"])


def ensemble(models, x):
    parameters, _ = torch.func.stack_module_state(models)
    return torch.func.vmap(functional_twin, in_dims=(0, None))(parameters, x)


# %% wrong="the first model becomes a skeleton" breaks="The list and the models stay as they are" says=["the models were changed: their", "device or dtype"]
def functional_twin(parameters, x):
    for name in ("conv1", "conv2"):
        x = F.conv2d(x, parameters[f"{name}.weight"], parameters[f"{name}.bias"])
        x = F.max_pool2d(x.relu(), 2)
    return F.linear(x.flatten(1), parameters["fc.weight"], parameters["fc.bias"])


def ensemble(models, x):
    parameters, buffers = torch.func.stack_module_state(models)
    skeleton = models[0].to("meta")

    def one(parameters, buffers):
        return torch.func.functional_call(skeleton, (parameters, buffers), (x,))

    return torch.func.vmap(one)(parameters, buffers)


# %% wrong="a maximum with 0, which lets half of a gradient through at 0" breaks="equal gradients by each tensor" says=["a ReLU of 0 none", "the gradient by conv1.bias differs"]
from torch.func import functional_call, stack_module_state, vmap


def relu(h):
    return torch.maximum(h, torch.zeros((), dtype=h.dtype, device=h.device))


def functional_twin(parameters: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    x = F.max_pool2d(relu(F.conv2d(x, parameters["conv1.weight"], parameters["conv1.bias"])), 2)
    x = F.max_pool2d(relu(F.conv2d(x, parameters["conv2.weight"], parameters["conv2.bias"])), 2)
    return x.flatten(1) @ parameters["fc.weight"].mT + parameters["fc.bias"]


def ensemble(models: list[ConvNet], x: torch.Tensor) -> torch.Tensor:
    parameters, _ = stack_module_state(models)
    return vmap(functional_twin, in_dims=(0, None))(parameters, x)
