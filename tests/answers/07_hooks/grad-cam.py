# %% wrong="no guard for an all-zero map" says=["holds NaN: what is 0 / 0?"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, y: kept.append(y)):
        score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    heat = (gradient.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu().detach()
    return heat / heat.max()


# %% wrong="backward fills .grad" says=["this is not as it was: the .grad of the parameters"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, y: kept.append(y)):
        score = model(image[None])[0, target]
    kept[0].retain_grad()
    score.backward()
    heat = (kept[0].grad.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu().detach()
    return heat / heat.max().clamp(min=1e-12)


# %% wrong="clears the gradients that it found" says=["this is not as it was: the .grad of the parameters"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, y: kept.append(y)):
        score = model(image[None])[0, target]
    kept[0].retain_grad()
    model.zero_grad()
    score.backward()
    heat = (kept[0].grad.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu().detach()
    model.zero_grad()
    return heat / heat.max().clamp(min=1e-12)


# %% wrong="leaves the hook" says=["hooks on the model: expected {'fc': 1}"]
def grad_cam(model, layer, image, target):
    kept = []
    model.get_submodule(layer).register_forward_hook(lambda m, a, y: kept.append(y))
    score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    heat = (gradient.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu().detach()
    return heat / heat.max().clamp(min=1e-12)


# %% wrong="the softmax instead of the score" says=["layer 'features', class 0: the map: this is the gradient of the softmax's probability"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, y: kept.append(y)):
        score = model(image[None]).softmax(1)[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    heat = (gradient.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu().detach()
    return heat / heat.max().clamp(min=1e-12)


# %% wrong="no relu" says=["without the relu: what speaks against the class has to become 0"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, y: kept.append(y)):
        score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    heat = (gradient.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].detach()
    return heat / heat.abs().max().clamp(min=1e-12)


# %% wrong="CAM, which knows the last layer only" says=["layer 'features.4', class 2: the map has shape (6, 6), expected (12, 12)"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.features.register_forward_hook(lambda m, a, y: kept.append(y)):
        model(image[None])
    heat = torch.einsum("c,chw->hw", model.fc.weight[target], kept[0][0]).relu().detach()
    return heat / heat.max().clamp(min=1e-12)


# %% wrong="keeps the batch dimension" says=["a dimension of size 1 is missing or too many"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, y: kept.append(y)):
        score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    heat = (gradient.mean((2, 3), keepdim=True) * kept[0]).sum(1).relu().detach()
    return heat / heat.max().clamp(min=1e-12)


# %% wrong="with its graph" says=["hangs on the graph: detach it"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, y: kept.append(y)):
        score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    heat = (gradient.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu()
    return heat / heat.max().clamp(min=1e-12)


# %% wrong="eval for good" says=["the mode (train or eval) of the model"]
def grad_cam(model, layer, image, target):
    model.eval()
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, o: kept.append(o)):
        s = model(image[None])[0, target]
    (g,) = torch.autograd.grad(s, kept[0])
    h = (g.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu().detach()
    return h / h.max() if h.max() > 0 else h


# %% wrong="weights of absolute values" says=["the weight of a map is the mean of its gradient, not of the absolute values"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, o: kept.append(o)):
        s = model(image[None])[0, target]
    (g,) = torch.autograd.grad(s, kept[0])
    h = (g.abs().mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu().detach()
    return h / h.max() if h.max() > 0 else h


# %% wrong="looks among the children" says=["get_submodule finds deep ones"]
def grad_cam(model, layer, image, target):
    kept = []
    with getattr(model, layer).register_forward_hook(lambda m, a, o: kept.append(o)):
        s = model(image[None])[0, target]
    (g,) = torch.autograd.grad(s, kept[0])
    h = (g.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu().detach()
    return h / h.max() if h.max() > 0 else h


# %% right="a tensor hook for the gradient, and old gradients put back"
def grad_cam(model, layer, image, target):
    found = {}

    def keep(module, args, output):
        found["maps"] = output.detach().clone()
        output.register_hook(lambda grad: found.update(gradient=grad.clone()))

    old = {parameter: parameter.grad for parameter in model.parameters()}
    for parameter in model.parameters():
        parameter.grad = None
    handle = dict(model.named_modules())[layer].register_forward_hook(keep)
    try:
        model(image.unsqueeze(0))[0][target].backward()
    finally:
        handle.remove()
        for parameter, grad in old.items():
            parameter.grad = grad
    weights = found["gradient"][0].flatten(1).sum(1)
    heat = torch.tensordot(weights, found["maps"][0], dims=1).clamp(min=0)
    top = heat.amax()
    return heat.div(top) if top.item() > 0 else torch.zeros_like(heat)


# %% right="a full backward hook"
def grad_cam(model, layer, image, target):
    maps, grads = [], []
    module = model.get_submodule(layer)
    with (
        module.register_forward_hook(lambda m, args, y: maps.append(y)),
        module.register_full_backward_pre_hook(lambda m, grad_output: grads.append(grad_output[0])),
    ):
        score = model(image[None])[:, target].sum()
        torch.autograd.grad(score, list(model.parameters()), allow_unused=True)
    heat = torch.einsum("bchw,bc->hw", maps[0].detach(), grads[0].mean((-1, -2))).relu()
    return torch.nan_to_num(heat / heat.max())


# %% right="loops"
def grad_cam(model, layer, image, target):
    acts = []
    with model.get_submodule(layer).register_forward_hook(lambda m, i, o: acts.append(o)):
        y = model(image[None])
    g = torch.autograd.grad(y[0][target], acts)[0][0].detach()
    a = acts[0][0].detach()
    cam = sum(g[k].mean() * a[k] for k in range(len(a)))
    cam = torch.maximum(cam, torch.zeros_like(cam))
    m = cam.max().item()
    return cam if m == 0 else cam / m


# %% wrong="the hook goes at the end, if all goes well" says=["an image of two channels, so that the model raises", "hooks on the model"]
def grad_cam(model, layer, image, target):
    kept = []
    handle = model.get_submodule(layer).register_forward_hook(lambda m, args, out: kept.append(out))
    score = model(image[None])[0, target]
    handle.remove()
    (gradient,) = torch.autograd.grad(score, kept[0])
    heat = torch.einsum("chw,c->hw", kept[0][0], gradient[0].mean(dim=(1, 2))).relu().detach()
    return heat / heat.max().clamp(min=1e-12)
