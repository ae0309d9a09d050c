# %% [markdown]
# Rules:
#
# - "of the size of the last maps"
# - "without a graph"
# - "not rescaled"
# - "by the weights of the head"
# - "negative values and all"
# - "where `head` is not a single `nn.Linear`, there is no such map"
# - "(a class derived from `nn.Linear` is one, too)"
# - "`grad_cam` by gradients"
# - "cut off at 0"
# - "an image (channel, height, width) and a class"
# - "The model may be frozen or not"
# - "hooks, `requires_grad`"
# - "and `.grad`"
# - "the image, which needs no gradient, too"
#
# Admits:
#
# - "The model may be frozen or not": a frozen model
# - "for any head": a head of two layers
# - "where `head` is not a single `nn.Linear`": a head with a weight, around an nn.Linear
# - "a class derived from `nn.Linear`": a head of a class derived from nn.Linear

# %% wrong="the stub" says=["None is not (cam, grad_cam): is there an answer yet?"]
def cam_two_ways(model, image, target):
    pass


# %% wrong="no ReLU at the end, a ReLU on CAM" says=["negative values belong to it: no ReLU here", "the ReLU at the end is missing"]
def cam_two_ways(model, image, target):
    maps = model.features(image[None]).detach().requires_grad_()
    score = model.head(model.pool(maps))[0, target]
    (g,) = torch.autograd.grad(score, maps)
    grad_cam = (g.mean((2, 3), keepdim=True) * maps).sum(1)[0].detach()
    if not isinstance(model.head, nn.Linear):
        return None, grad_cam
    w = model.head.weight[target].detach()
    return (w[:, None, None] * maps[0].detach()).sum(0).relu(), grad_cam


# %% wrong="the softmax's gradient, and a head of two layers" says=["the gradient of the score, not of its softmax", "the head is not a single nn.Linear: there is no such map, None"]
def cam_two_ways(model, image, target):
    maps = model.features(image[None]).detach().requires_grad_()
    chance = model.head(model.pool(maps)).softmax(1)[0, target]
    (g,) = torch.autograd.grad(chance, maps)
    grad_cam = (g.mean((2, 3), keepdim=True) * maps).sum(1)[0].relu().detach()
    w = (
        (model.head if isinstance(model.head, nn.Linear) else model.head[-1])
        .weight[target]
        .detach()
    )
    k = min(len(w), maps.shape[1])
    return (w[:k, None, None] * maps[0, :k].detach()).sum(0), grad_cam


# %% wrong="rescaled, with backward()" says=["not rescaled: leave the values as they are", "it is the caller's"]
def cam_two_ways(model, image, target):
    maps = model.features(image[None]).detach().requires_grad_()
    model.head(model.pool(maps))[0, target].backward()
    grad_cam = (maps.grad.mean((2, 3), keepdim=True) * maps).sum(1)[0].relu().detach()
    grad_cam = grad_cam / grad_cam.max()
    if not isinstance(model.head, nn.Linear):
        return None, grad_cam
    cam = torch.einsum("k,khw->hw", model.head.weight[target], maps[0]).detach()
    return cam / cam.abs().max(), grad_cam


# %% wrong="gradient times maps, place by place; hooks stay" says=["a weight for each map: average the gradient over places first", "a hook is left", "a map hangs on a graph"]
def cam_two_ways(model, image, target):
    kept = []
    model.features.register_forward_hook(lambda m, a, out: kept.append(out))
    score = model(image[None].clone().requires_grad_())[0, target]
    maps = kept[0]
    (g,) = torch.autograd.grad(score, maps, retain_graph=True)
    grad_cam = (g * maps).sum(1)[0].relu()
    if not isinstance(model.head, nn.Linear):
        return None, grad_cam
    return torch.einsum("k,khw->hw", model.head.weight[target], maps[0]), grad_cam


# %% wrong="fails for a frozen model; sums the gradient" says=["does not require grad", "a frozen model"]
def cam_two_ways(model, image, target):
    maps = model.features(image[None])
    score = model.head(model.pool(maps))[0, target]
    (g,) = torch.autograd.grad(score, maps)
    grad_cam = (g.mean((2, 3), keepdim=True) * maps).sum(1)[0].relu().detach()
    if not isinstance(model.head, nn.Linear):
        return None, grad_cam
    return torch.einsum("k,khw->hw", model.head.weight[target], maps[0]).detach(), grad_cam


# %% wrong="sums, and the ReLU inside" says=["gradients are averaged over places, not summed", "the bias belongs to no place"]
def cam_two_ways(model, image, target):
    maps = model.features(image[None]).detach().requires_grad_()
    (g,) = torch.autograd.grad(model.head(model.pool(maps))[0, target], maps)
    grad_cam = (g.sum((2, 3), keepdim=True) * maps).sum(1)[0].relu().detach()
    if not isinstance(model.head, nn.Linear):
        return None, grad_cam
    cam = model.head(maps[0].detach().permute(1, 2, 0)).permute(2, 0, 1)[target].detach()
    return cam, grad_cam


# %% right="the head at each place, less its bias; torch.func"
def cam_two_ways(model, image, target):
    with torch.no_grad():
        maps = model.features(image.unsqueeze(0))
    g = torch.func.grad(lambda a: model.head(model.pool(a))[0, target])(maps)
    with torch.no_grad():
        a = maps.squeeze(0)
        grad_cam = F.relu((g.mean(dim=(-2, -1)).squeeze(0) @ a.flatten(1)).view(a.shape[1:]))
        cam = None
        if isinstance(model.head, nn.Linear):
            cam = F.linear(a.permute(1, 2, 0), model.head.weight)[..., target]
    return cam, grad_cam


# %% right="a hook that is removed, loops, a list"
def cam_two_ways(model, image, target):
    kept = {}

    def hook(module, args, output):
        kept["maps"] = output.detach().clone().requires_grad_()
        return kept["maps"]

    handle = (
        model.features[-1].register_forward_hook(hook)
        if isinstance(model.features, nn.Sequential)
        else None
    )
    if handle:
        score = model(image[None])[0][target]
        handle.remove()
    else:
        kept["maps"] = model.features(image[None]).detach().requires_grad_()
        score = model.head(model.pool(kept["maps"]))[0][target]
    maps = kept["maps"]
    gradient = torch.autograd.grad(score, [maps])[0][0]
    total = sum(g.mean() * a for g, a in zip(gradient, maps[0].detach()))
    if not isinstance(model.head, nn.Linear):
        return [None, total.clamp(min=0)]
    cam = sum(w * a for w, a in zip(model.head.weight.detach()[target], maps[0].detach()))
    return [cam, total.clamp(min=0)]


# %% wrong="resized to the image and to [0, 1]" says=["as large as the image"]
def cam_two_ways(model, image, target):
    maps = model.features(image[None]).detach().requires_grad_()
    score = model.head(model.pool(maps))[0, target]
    (g,) = torch.autograd.grad(score, maps)

    def fit(m):
        m = F.interpolate(m[None, None], size=image.shape[1:], mode="bilinear")[0, 0]
        return (m - m.min()) / (m.max() - m.min())

    grad_cam = fit((g.mean((2, 3), keepdim=True) * maps).sum(1)[0].relu().detach())
    cam = None
    if isinstance(model.head, nn.Linear):
        cam = fit(torch.einsum("k,khw->hw", model.head.weight[target], maps[0]).detach())
    return cam, grad_cam


# %% wrong="zero_grad wipes the caller's gradients" breaks="and `.grad`" says=["it is the caller's"]
def cam_two_ways(model, image, target):
    maps = model.features(image[None]).detach().requires_grad_()
    model.head(model.pool(maps))[0, target].backward()
    g, model_maps = maps.grad, maps.detach()[0]
    model.zero_grad()
    grad_cam = (g[0].mean((1, 2))[:, None, None] * model_maps).sum(0).relu()
    if not isinstance(model.head, nn.Linear):
        return None, grad_cam
    w = model.head.weight[target].detach()
    return (w[:, None, None] * model_maps).sum(0), grad_cam


# %% wrong="the image is left requiring a gradient" breaks="the image, which needs no gradient, too" says=["the image needs a gradient now"]
def cam_two_ways(model, image, target):
    image.requires_grad_()
    maps = model.features(image[None])
    (g,) = torch.autograd.grad(model.head(model.pool(maps))[0, target], maps)
    maps = maps[0].detach()
    grad_cam = (g[0].mean((1, 2))[:, None, None] * maps).sum(0).relu()
    if not isinstance(model.head, nn.Linear):
        return None, grad_cam
    w = model.head.weight[target].detach()
    return (w[:, None, None] * maps).sum(0), grad_cam


# %% wrong="the class with the highest score" breaks="an image (channel, height, width) and a class" says=["that is the map of class", "the class is an argument"]
def cam_two_ways(model, image, target):
    maps = model.features(image[None]).detach().requires_grad_()
    scores = model.head(model.pool(maps))[0]
    best = int(scores.argmax())
    (g,) = torch.autograd.grad(scores[best], maps)
    maps = maps[0].detach()
    grad_cam = (g[0].mean((1, 2))[:, None, None] * maps).sum(0).relu()
    if not isinstance(model.head, nn.Linear):
        return None, grad_cam
    w = model.head.weight[best].detach()
    return (w[:, None, None] * maps).sum(0), grad_cam


# %% wrong="thaws the model, and leaves it so; clears all hooks" breaks="hooks, `requires_grad`" says=["requires_grad of", "a hook of somebody else's is gone"]
def cam_two_ways(model, image, target):
    kept = []
    model.requires_grad_()
    model.features.register_forward_hook(lambda m, a, out: kept.append(out))
    score = model(image[None])[0, target]
    (g,) = torch.autograd.grad(score, kept[0])
    for module in model.modules():
        module._forward_hooks.clear()
    maps = kept[0][0].detach()
    grad_cam = (g[0].mean((1, 2))[:, None, None] * maps).sum(0).relu()
    if not isinstance(model.head, nn.Linear):
        return None, grad_cam
    w = model.head.weight[target].detach()
    return (w[:, None, None] * maps).sum(0), grad_cam


# %% wrong="squeezes away the only map" says=["one map, one row of places"]
def cam_two_ways(model, image, target):
    with torch.no_grad():
        maps = model.features(image[None])
    maps = maps.detach().requires_grad_()
    with torch.enable_grad():
        score = model.head(model.pool(maps))[0, target]
    (g,) = torch.autograd.grad(score, maps)
    a = maps.detach().squeeze()
    w = g.squeeze().mean((-2, -1))
    grad_cam = torch.einsum("k,khw->hw", w, a).relu() if a.dim() == 3 else (w * a).relu().sum(0)
    if not isinstance(model.head, nn.Linear):
        return None, grad_cam
    return (model.head.weight[target].detach()[:, None, None] * maps[0].detach()).sum(0), grad_cam


# %% wrong="squeezes away the only row" says=["one map, one row of places"]
def cam_two_ways(model, image, target):
    with torch.no_grad():
        maps = model.features(image[None])
    maps = maps.detach().requires_grad_()
    with torch.enable_grad():
        score = model.head(model.pool(maps))[0, target]
    (g,) = torch.autograd.grad(score, maps)
    grad_cam = (g.mean((2, 3), keepdim=True) * maps.detach()).squeeze().sum(0).relu()
    if not isinstance(model.head, nn.Linear):
        return None, grad_cam
    return (model.head.weight[target].detach()[:, None, None] * maps[0].detach()).sum(0), grad_cam


# %% wrong="the last linear layer of any head" breaks="where `head` is not a single `nn.Linear`, there is no such map" says=["the head is not a single nn.Linear"]
def cam_two_ways(model, image, target):
    with torch.no_grad():
        maps = model.features(image[None])
    maps = maps.detach().requires_grad_()
    with torch.enable_grad():
        score = model.head(model.pool(maps))[0, target]
    (g,) = torch.autograd.grad(score, maps)
    grad_cam = (g.mean((2, 3), keepdim=True) * maps.detach())[0].sum(0).relu()
    lin = [m for m in model.head.modules() if isinstance(m, nn.Linear)]
    w = lin[-1].weight[target].detach()
    if len(w) != len(maps[0]):
        return None, grad_cam
    return (w[:, None, None] * maps[0].detach()).sum(0), grad_cam


# %% wrong="averages over the places that are not 0" says=["over all places is asked for"]
def cam_two_ways(model, image, target):
    maps = model.features(image[None]).detach().requires_grad_()
    s = model.head(model.pool(maps))[0, target]
    (g,) = torch.autograd.grad(s, maps)
    a = maps.detach()[0]
    live = a > 0
    w = (g[0] * live).sum((1, 2)) / live.sum((1, 2)).clamp(min=1)
    m = torch.einsum("k,khw->hw", w, a)
    cam = (
        torch.einsum("k,khw->hw", model.head.weight[target].detach(), a)
        if isinstance(model.head, nn.Linear)
        else None
    )
    return cam, m.relu()


# %% wrong="cam by the gradient" breaks="by the weights of the head" says=["cam takes the head's weights"]
def cam_two_ways(model, image, target):
    maps = model.features(image[None]).detach().requires_grad_()
    s = model.head(model.pool(maps))[0, target]
    (g,) = torch.autograd.grad(s, maps)
    a = maps.detach()[0]
    w = g[0].mean((1, 2))
    m = torch.einsum("k,khw->hw", w, a)
    cam = m * a[0].numel() if isinstance(model.head, nn.Linear) else None
    return cam, m.relu()


# %% wrong="a ReLU on the weights, none at the end" breaks="`grad_cam` by gradients" says=["the ReLU belongs behind the sum"]
def cam_two_ways(model, image, target):
    maps = model.features(image[None]).detach().requires_grad_()
    s = model.head(model.pool(maps))[0, target]
    (g,) = torch.autograd.grad(s, maps)
    a = maps.detach()[0]
    w = g[0].mean((1, 2))
    gc = torch.einsum("k,khw->hw", w.relu(), a)
    cam = (
        torch.einsum("k,khw->hw", model.head.weight[target].detach(), a)
        if isinstance(model.head, nn.Linear)
        else None
    )
    return cam, gc


# %% wrong="backward, and the old gradients put back" says=["it is the caller's"]
def cam_two_ways(model, image, target):
    saved = {n: p.grad for n, p in model.named_parameters()}
    maps = model.features(image[None])
    if not maps.requires_grad:
        maps.requires_grad_()
    maps.retain_grad()
    model.head(model.pool(maps))[0, target].backward()
    for n, p in model.named_parameters():
        p.grad = saved[n]
    a = maps.detach()[0]
    w = maps.grad[0].mean((1, 2))
    m = torch.einsum("k,khw->hw", w, a)
    cam = (
        torch.einsum("k,khw->hw", model.head.weight[target].detach(), a)
        if isinstance(model.head, nn.Linear)
        else None
    )
    return cam, m.relu()


# %% right="jacrev for all classes"
def cam_two_ways(model, image, target):
    with torch.no_grad():
        a = model.features(image.unsqueeze(0))
    j = torch.func.jacrev(lambda m: model.head(model.pool(m)).squeeze(0))(a)
    w = j[target, 0].flatten(1).mean(1)
    with torch.no_grad():
        gc = torch.tensordot(w, a[0], 1).clamp_min(0)
        cam = (
            torch.tensordot(model.head.weight[target], a[0], 1)
            if isinstance(model.head, nn.Linear)
            else None
        )
    return cam, gc.detach()


# %% wrong="enlarged to the image" breaks="of the size of the last maps" says=["as large as the image; the last maps are smaller"]
def cam_two_ways(model, image, target):
    with torch.no_grad():
        maps = model.features(image[None])
    leaf = maps.detach().clone().requires_grad_()
    with torch.enable_grad():
        score = model.head(model.pool(leaf))[0, target]
        (gradient,) = torch.autograd.grad(score, leaf)
    weights = gradient[0].mean((1, 2))
    grad_cam = (weights[:, None, None] * maps[0]).sum(0).relu()
    cam = None
    if isinstance(model.head, nn.Linear):
        cam = (model.head.weight.detach()[target][:, None, None] * maps[0]).sum(0)
    grad_cam = F.interpolate(grad_cam[None, None], image.shape[1:], mode="bilinear")[0, 0]
    return cam, grad_cam


# %% wrong="the graph stays" breaks="without a graph" says=["graph"]
def cam_two_ways(model, image, target):
    with torch.no_grad():
        maps = model.features(image[None])
    leaf = maps.detach().clone().requires_grad_()
    with torch.enable_grad():
        score = model.head(model.pool(leaf))[0, target]
        (gradient,) = torch.autograd.grad(score, leaf)
    weights = gradient[0].mean((1, 2))
    grad_cam = (weights[:, None, None] * maps[0]).sum(0).relu()
    cam = None
    if isinstance(model.head, nn.Linear):
        cam = (model.head.weight[target][:, None, None] * maps[0]).sum(0)
    return cam, grad_cam


# %% wrong="rescaled to 1" breaks="not rescaled" says=["not rescaled: leave the values as they are"]
def cam_two_ways(model, image, target):
    with torch.no_grad():
        maps = model.features(image[None])
    leaf = maps.detach().clone().requires_grad_()
    with torch.enable_grad():
        score = model.head(model.pool(leaf))[0, target]
        (gradient,) = torch.autograd.grad(score, leaf)
    weights = gradient[0].mean((1, 2))
    grad_cam = (weights[:, None, None] * maps[0]).sum(0).relu()
    grad_cam = grad_cam / grad_cam.max()
    cam = None
    if isinstance(model.head, nn.Linear):
        cam = (model.head.weight.detach()[target][:, None, None] * maps[0]).sum(0)
    return cam, grad_cam


# %% wrong="a ReLU on CAM" breaks="negative values and all" says=["negative values belong to it: no ReLU here"]
def cam_two_ways(model, image, target):
    with torch.no_grad():
        maps = model.features(image[None])
    leaf = maps.detach().clone().requires_grad_()
    with torch.enable_grad():
        score = model.head(model.pool(leaf))[0, target]
        (gradient,) = torch.autograd.grad(score, leaf)
    weights = gradient[0].mean((1, 2))
    grad_cam = (weights[:, None, None] * maps[0]).sum(0).relu()
    cam = None
    if isinstance(model.head, nn.Linear):
        cam = (model.head.weight.detach()[target][:, None, None] * maps[0]).sum(0).relu()
    return cam, grad_cam


# %% wrong="not cut off" breaks="cut off at 0" says=["the ReLU at the end is missing"]
def cam_two_ways(model, image, target):
    with torch.no_grad():
        maps = model.features(image[None])
    leaf = maps.detach().clone().requires_grad_()
    with torch.enable_grad():
        score = model.head(model.pool(leaf))[0, target]
        (gradient,) = torch.autograd.grad(score, leaf)
    weights = gradient[0].mean((1, 2))
    grad_cam = (weights[:, None, None] * maps[0]).sum(0)
    cam = None
    if isinstance(model.head, nn.Linear):
        cam = (model.head.weight.detach()[target][:, None, None] * maps[0]).sum(0)
    return cam, grad_cam


# %% wrong="fails on a frozen model" breaks="The model may be frozen or not" says=["does not require grad", "the maps of a frozen model need no gradient until you ask for one"]
def cam_two_ways(model, image, target):
    maps = model.features(image[None])
    leaf = maps
    with torch.enable_grad():
        score = model.head(model.pool(leaf))[0, target]
        (gradient,) = torch.autograd.grad(score, leaf)
    weights = gradient[0].mean((1, 2))
    grad_cam = (weights[:, None, None] * maps[0]).sum(0).relu().detach()
    cam = None
    if isinstance(model.head, nn.Linear):
        cam = (model.head.weight.detach()[target][:, None, None] * maps[0]).sum(0).detach()
    return cam, grad_cam


# %% wrong="exactly nn.Linear" breaks="(a class derived from `nn.Linear` is one, too)" says=["a class derived from nn.Linear is an nn.Linear: there is such a map"]
def cam_two_ways(model, image, target):
    with torch.no_grad():
        maps = model.features(image[None])
    cam = None
    if type(model.head) is nn.Linear:
        cam = torch.einsum("k,khw->hw", model.head.weight[target].detach(), maps[0])
    leaf = maps.detach().clone().requires_grad_()
    score = model.head(model.pool(leaf))[0, target]
    (gradient,) = torch.autograd.grad(score, leaf)
    weights = gradient[0].mean((1, 2))
    grad_cam = (weights[:, None, None] * maps[0]).sum(0).relu()
    return cam, grad_cam


# %% wrong="anything with a weight" says=["the head is not a single nn.Linear: there is no such map, None; ask for its class"]
def cam_two_ways(model, image, target):
    with torch.no_grad():
        maps = model.features(image[None])
    cam = None
    if hasattr(model.head, "weight"):
        cam = torch.einsum("k,khw->hw", model.head.weight[target].detach(), maps[0])
    leaf = maps.detach().clone().requires_grad_()
    score = model.head(model.pool(leaf))[0, target]
    (gradient,) = torch.autograd.grad(score, leaf)
    weights = gradient[0].mean((1, 2))
    grad_cam = (weights[:, None, None] * maps[0]).sum(0).relu()
    return cam, grad_cam


# %% wrong="grad cam from cam" says=["that fits a mean pool alone"]
def cam_two_ways(model, image, target):
    with torch.no_grad():
        maps = model.features(image[None])
    cam = None
    if isinstance(model.head, nn.Linear):
        cam = torch.einsum("k,khw->hw", model.head.weight[target].detach(), maps[0])
    leaf = maps.detach().clone().requires_grad_()
    score = model.head(model.pool(leaf))[0, target]
    (gradient,) = torch.autograd.grad(score, leaf)
    weights = gradient[0].mean((1, 2))
    grad_cam = (weights[:, None, None] * maps[0]).sum(0).relu()
    if cam is not None:
        grad_cam = cam.relu() / cam.numel()
    return cam, grad_cam


# %% wrong="maps in float32, whatever comes" says=["a linear head in float64", "must have the same dtype"]
def cam_two_ways(model, image, target):
    with torch.enable_grad():
        maps = model.features(image[None]).detach().float().requires_grad_()
        score = model.head(model.pool(maps))[0, target]
        (gradient,) = torch.autograd.grad(score, maps)
    maps = maps.detach()[0]
    grad_cam = torch.einsum("k,khw->hw", gradient[0].mean((1, 2)), maps).relu()
    if not isinstance(model.head, nn.Linear):
        return None, grad_cam
    return torch.einsum("k,khw->hw", model.head.weight[target].detach(), maps), grad_cam


# %% wrong="one buffer for the maps of all calls" says=["the example, class 0: the model afterwards: the call a second time", "changes the result of the first time"]
_kept = {}


def cam_two_ways(model, image, target):
    maps = model.features(image[None]).detach().requires_grad_()
    score = model.head(model.pool(maps))[0, target]
    (gradient,) = torch.autograd.grad(score, maps)
    maps = maps.detach()[0]
    new = torch.einsum("k,khw->hw", gradient[0].mean((1, 2)), maps).relu()
    grad_cam = _kept.setdefault((new.shape, new.dtype), torch.empty_like(new)).copy_(new)
    if not isinstance(model.head, nn.Linear):
        return None, grad_cam
    return torch.einsum("k,khw->hw", model.head.weight[target].detach(), maps), grad_cam


# %% wrong="the only linear layer among the head's modules" says=["a head with a weight, around an nn.Linear", "ask for its class, isinstance(head, nn.Linear), not for its parts"]
def cam_two_ways(model, image, target):
    maps = model.features(image[None]).detach().requires_grad_()
    score = model.head(model.pool(maps))[0, target]
    (gradient,) = torch.autograd.grad(score, maps)
    maps = maps.detach()[0]
    grad_cam = (gradient[0].mean((1, 2))[:, None, None] * maps).sum(0).relu()
    linears = [m for m in model.head.modules() if isinstance(m, nn.Linear)]
    cam = None
    if len(linears) == 1:
        cam = torch.einsum("k,khw->hw", linears[0].weight[target].detach(), maps)
    return cam, grad_cam
