# %% [markdown]
# Rules:
#
# - "at any depth"
# - "`target` is the class"
# - "of shape (h, w)"
# - "without a graph"
# - "divided by its largest value"
# - "It must not become NaN"
# - "If nothing in the image speaks for the class, the map is all zeros"
# - "Use the score itself, not its softmax"
# - "even if the model raises"
# - "no hook of yours on the model"
# - "its mode"
# - "and the `.grad` of its parameters untouched"
# - "the image's `requires_grad` and `.grad` as they were"
# - "Leave things as they were"
#
# Admits:
#
# - "at any depth": layer 'features.4', class 2
# - "`image` has shape (3, height, width)": a wide image in torch.float64
# - "nothing in the image speaks for the class": ("nothing in the image speaks for the class", image, 1, none)
# - "even if the model raises": so that the model raises

# %% wrong="no guard for an all-zero map" breaks="It must not become NaN" says=["holds NaN: what is 0 / 0?"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, y: kept.append(y)):
        score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    heat = (gradient.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu().detach()
    return heat / heat.max()


# %% wrong="backward fills .grad" breaks="and the `.grad` of its parameters untouched" says=["this is not as it was: the .grad of the parameters"]
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


# %% wrong="leaves the hook" breaks="no hook of yours on the model" says=["hooks on the model: expected {'fc': 1}"]
def grad_cam(model, layer, image, target):
    kept = []
    model.get_submodule(layer).register_forward_hook(lambda m, a, y: kept.append(y))
    score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    heat = (gradient.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu().detach()
    return heat / heat.max().clamp(min=1e-12)


# %% wrong="the softmax instead of the score" breaks="Use the score itself, not its softmax" says=["layer 'features', class 0: the map: this is the gradient of the softmax's probability"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, y: kept.append(y)):
        score = model(image[None]).softmax(1)[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    heat = (gradient.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu().detach()
    return heat / heat.max().clamp(min=1e-12)


# %% wrong="no relu" breaks="If nothing in the image speaks for the class, the map is all zeros" says=["without the relu: what speaks against the class has to become 0"]
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


# %% wrong="keeps the batch dimension" breaks="of shape (h, w)" says=["a dimension of size 1 is missing or too many"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, y: kept.append(y)):
        score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    heat = (gradient.mean((2, 3), keepdim=True) * kept[0]).sum(1).relu().detach()
    return heat / heat.max().clamp(min=1e-12)


# %% wrong="with its graph" breaks="without a graph" says=["hangs on the graph: detach it"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, y: kept.append(y)):
        score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    heat = (gradient.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu()
    return heat / heat.max().clamp(min=1e-12)


# %% wrong="eval for good" breaks="its mode" says=["the mode (train or eval) of the model"]
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


# %% wrong="looks among the children" breaks="at any depth" says=["get_submodule finds deep ones"]
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
        model(image.detach().unsqueeze(0))[0][target].backward()
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
        trained = [p for p in model.parameters() if p.requires_grad]
        torch.autograd.grad(score, trained, allow_unused=True)
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


# %% wrong="the hook goes at the end, if all goes well" breaks="even if the model raises" says=["an image of two channels, so that the model raises", "hooks on the model"]
def grad_cam(model, layer, image, target):
    kept = []
    handle = model.get_submodule(layer).register_forward_hook(lambda m, args, out: kept.append(out))
    score = model(image[None])[0, target]
    handle.remove()
    (gradient,) = torch.autograd.grad(score, kept[0])
    heat = torch.einsum("chw,c->hw", kept[0][0], gradient[0].mean(dim=(1, 2))).relu().detach()
    return heat / heat.max().clamp(min=1e-12)


# %% wrong="the model's favourite class" breaks="`target` is the class" says=["layer 'features.4', class 2: the map: this is the map of class 0"]
def grad_cam(model, layer, image, target):
    outputs = []
    with model.get_submodule(layer).register_forward_hook(
        lambda m, a, output: outputs.append(output)
    ):
        score = model(image[None])[0].max()
    (gradient,) = torch.autograd.grad(score, outputs[0])
    heat = (gradient.mean(dim=(2, 3), keepdim=True) * outputs[0]).sum(1)[0].relu().detach()
    return heat / heat.max() if heat.max() > 0 else heat


# %% wrong="not divided" breaks="divided by its largest value" says=["the map is not divided by its largest value"]
def grad_cam(model, layer, image, target):
    outputs = []
    with model.get_submodule(layer).register_forward_hook(
        lambda m, a, output: outputs.append(output)
    ):
        score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, outputs[0])
    return (gradient.mean(dim=(2, 3), keepdim=True) * outputs[0]).sum(1)[0].relu().detach()


# %% wrong="asks the image for a gradient" breaks="the image's `requires_grad` and `.grad` as they were" says=["this is not as it was: requires_grad of the image"]
def grad_cam(model, layer, image, target):
    outputs = []
    image.requires_grad_()
    with model.get_submodule(layer).register_forward_hook(
        lambda m, a, output: outputs.append(output)
    ):
        score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, outputs[0])
    heat = (gradient.mean(dim=(2, 3), keepdim=True) * outputs[0]).sum(1)[0].relu().detach()
    return heat / heat.max() if heat.max() > 0 else heat


# %% wrong="unsqueeze_ on the caller's image" breaks="Leave things as they were" says=["this is not as it was: the image itself: its shape or its values"]
def grad_cam(model, layer, image, target):
    outputs = []
    with model.get_submodule(layer).register_forward_hook(
        lambda m, a, output: outputs.append(output)
    ):
        score = model(image.unsqueeze_(0))[0, target]
    (gradient,) = torch.autograd.grad(score, outputs[0])
    heat = (gradient.mean(dim=(2, 3), keepdim=True) * outputs[0]).sum(1)[0].relu().detach()
    return heat / heat.max() if heat.max() > 0 else heat


# %% wrong="swallows the model's exception" says=["so that the model raises: the model's exception did not come out"]
def grad_cam(model, layer, image, target):
    outputs = []
    try:
        with model.get_submodule(layer).register_forward_hook(
            lambda m, a, output: outputs.append(output)
        ):
            score = model(image[None])[0, target]
    except RuntimeError:
        return None
    (gradient,) = torch.autograd.grad(score, outputs[0])
    heat = (gradient.mean(dim=(2, 3), keepdim=True) * outputs[0]).sum(1)[0].relu().detach()
    return heat / heat.max() if heat.max() > 0 else heat


# %% wrong="largest clamped at 1e-6" says=["scores that are a billion times smaller: the map: the map is not divided by its largest value"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, o: kept.append(o)):
        score = model(image[None])[0, target]
    maps = kept[0]
    (grad,) = torch.autograd.grad(score, maps)
    heat = (grad.mean((2, 3), keepdim=True) * maps).sum(1)[0].relu().detach()
    top = heat.max()
    return heat / top.clamp(min=1e-6)


# %% wrong="scaled from smallest to largest" says=["all of the image speaks for the class"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, o: kept.append(o)):
        score = model(image[None])[0, target]
    maps = kept[0]
    (grad,) = torch.autograd.grad(score, maps)
    heat = (grad.mean((2, 3), keepdim=True) * maps).sum(1)[0].relu().detach()
    heat = heat - heat.min()
    return heat / heat.max() if heat.max() > 0 else heat


# %% wrong="zeros of the default dtype" says=["the same in torch.float64: the map has dtype torch.float32"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, o: kept.append(o)):
        score = model(image[None])[0, target]
    maps = kept[0]
    (grad,) = torch.autograd.grad(score, maps)
    heat = (grad.mean((2, 3), keepdim=True) * maps).sum(1)[0].relu().detach()
    top = heat.max()
    return heat / top if top > 0 else torch.zeros(heat.shape, device=heat.device)


# %% wrong="squeeze for a map of one row" says=["so that the map has one: the map has shape (6,)"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, o: kept.append(o)):
        score = model(image[None])[0, target]
    maps = kept[0]
    (grad,) = torch.autograd.grad(score, maps)
    heat = (grad.mean((2, 3), keepdim=True) * maps).sum(1).squeeze().relu().detach()
    top = heat.max()
    return heat / top if top > 0 else heat


# %% wrong="all parameters trainable afterwards" says=["of which one was frozen"]
def grad_cam(model, layer, image, target):
    kept = []
    model.requires_grad_(True)
    with model.get_submodule(layer).register_forward_hook(lambda m, a, o: kept.append(o)):
        score = model(image[None])[0, target]
    maps = kept[0]
    (grad,) = torch.autograd.grad(score, maps)
    heat = (grad.mean((2, 3), keepdim=True) * maps).sum(1)[0].relu().detach()
    top = heat.max()
    return heat / top if top > 0 else heat


# %% wrong="grad set to None where frozen or not" says=["the .grad of the parameters"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, o: kept.append(o)):
        score = model(image[None])[0, target]
    maps = kept[0]
    (grad,) = torch.autograd.grad(score, maps)
    heat = (grad.mean((2, 3), keepdim=True) * maps).sum(1)[0].relu().detach()
    for p in model.parameters():
        if not p.requires_grad:
            p.grad = None
    top = heat.max()
    return heat / top if top > 0 else heat


# %% wrong="heat in float32" says=["a wide image in torch.float64"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, o: kept.append(o)):
        score = model(image[None])[0, target]
    maps = kept[0]
    (grad,) = torch.autograd.grad(score, maps)
    heat = (grad.mean((2, 3), keepdim=True) * maps).sum(1)[0].relu().detach()
    heat = heat.float().to(heat.dtype)
    top = heat.max()
    return heat / top if top > 0 else heat


# %% wrong="class 0 taken for none given" says=["layer 'features', class 0: the map"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, o: kept.append(o)):
        scores = model(image[None])[0]
    score = scores[target or int(scores.argmax())]
    (grad,) = torch.autograd.grad(score, kept[0])
    heat = (grad.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu().detach()
    top = heat.max()
    return heat / top if top > 0 else heat


# %% wrong="clears all hooks of the layer" says=["the layer had a hook before"]
def grad_cam(model, layer, image, target):
    kept = []
    model.get_submodule(layer).register_forward_hook(lambda m, a, out: kept.append(out))
    try:
        with torch.enable_grad():
            score = model(image.detach().clone().requires_grad_()[None])[0, target]
            (gradient,) = torch.autograd.grad(score, kept[0])
    finally:
        model.get_submodule(layer)._forward_hooks.clear()
    alpha = gradient.mean(dim=(2, 3), keepdim=True)
    heat = (alpha * kept[0].detach()).sum(dim=1)[0].relu()
    top = heat.max()
    return heat / top if top > 0 else heat


# %% wrong="leaves autograd switched on" says=["called under no_grad, it leaves autograd switched on"]
def grad_cam(model, layer, image, target):
    kept = []
    handle = model.get_submodule(layer).register_forward_hook(lambda m, a, out: kept.append(out))
    try:
        if torch.set_grad_enabled(True) or True:
            score = model(image.detach().clone().requires_grad_()[None])[0, target]
            (gradient,) = torch.autograd.grad(score, kept[0])
    finally:
        handle.remove()
    alpha = gradient.mean(dim=(2, 3), keepdim=True)
    heat = (alpha * kept[0].detach()).sum(dim=1)[0].relu()
    top = heat.max()
    return heat / top if top > 0 else heat


# %% wrong="clamps the caller's image" says=["the values of the image were changed"]
def grad_cam(model, layer, image, target):
    kept = []
    image.clamp_(0, 1)
    handle = model.get_submodule(layer).register_forward_hook(lambda m, a, out: kept.append(out))
    try:
        with torch.enable_grad():
            score = model(image.detach().clone().requires_grad_()[None])[0, target]
            (gradient,) = torch.autograd.grad(score, kept[0])
    finally:
        handle.remove()
    alpha = gradient.mean(dim=(2, 3), keepdim=True)
    heat = (alpha * kept[0].detach()).sum(dim=1)[0].relu()
    top = heat.max()
    return heat / top if top > 0 else heat


# %% wrong="except Exception, not finally" breaks="no hook of yours on the model" says=["the model raises a KeyboardInterrupt, and a hook is left"]
def grad_cam(model: nn.Module, layer: str, image: torch.Tensor, target: int) -> torch.Tensor:
    kept = []
    handle = model.get_submodule(layer).register_forward_hook(lambda m, a, out: kept.append(out))
    try:
        with torch.enable_grad():
            score = model(image.detach().clone()[None].requires_grad_())[0, target]
        (gradient,) = torch.autograd.grad(score, kept[0])
    except Exception:
        handle.remove()
        raise
    handle.remove()
    maps = kept[0].detach()
    cam = (gradient.mean(dim=(2, 3), keepdim=True) * maps).sum(dim=1)[0].relu()
    top = cam.max()
    return cam / top if top > 0 else torch.zeros_like(cam)


# %% wrong="divided by the largest absolute value from before the relu" breaks="divided by its largest value" says=["the largest value is that of the map, after the relu"]
def grad_cam(model: nn.Module, layer: str, image: torch.Tensor, target: int) -> torch.Tensor:
    kept = []
    handle = model.get_submodule(layer).register_forward_hook(lambda m, a, out: kept.append(out))
    try:
        with torch.enable_grad():
            score = model(image.detach().clone()[None].requires_grad_())[0, target]
        (gradient,) = torch.autograd.grad(score, kept[0])
    finally:
        handle.remove()
    maps = kept[0].detach()
    cam = (gradient.mean(dim=(2, 3), keepdim=True) * maps).sum(dim=1)[0]
    top = cam.abs().max()
    cam = cam.relu()
    return cam / top if top > 0 else torch.zeros_like(cam)


# %% wrong="grad mode put back only without an error" breaks="Leave things as they were" says=["the model raises a ValueError under no_grad, and autograd is left on"]
def grad_cam(model: nn.Module, layer: str, image: torch.Tensor, target: int) -> torch.Tensor:
    kept = []
    handle = model.get_submodule(layer).register_forward_hook(lambda m, a, out: kept.append(out))
    try:
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        if True:
            score = model(image.detach().clone()[None].requires_grad_())[0, target]
        (gradient,) = torch.autograd.grad(score, kept[0])
        torch.set_grad_enabled(before)
    finally:
        handle.remove()
    maps = kept[0].detach()
    cam = (gradient.mean(dim=(2, 3), keepdim=True) * maps).sum(dim=1)[0].relu()
    top = cam.max()
    return cam / top if top > 0 else torch.zeros_like(cam)


# %% wrong="keeps the maps on the model" breaks="Leave things as they were" says=["the model has a new attribute"]
def grad_cam(model: nn.Module, layer: str, image: torch.Tensor, target: int) -> torch.Tensor:
    kept = []
    handle = model.get_submodule(layer).register_forward_hook(lambda m, a, out: kept.append(out))
    try:
        with torch.enable_grad():
            score = model(image.detach().clone()[None].requires_grad_())[0, target]
        (gradient,) = torch.autograd.grad(score, kept[0])
    finally:
        handle.remove()
    model.cam_maps = kept[0]
    maps = kept[0].detach()
    cam = (gradient.mean(dim=(2, 3), keepdim=True) * maps).sum(dim=1)[0].relu()
    top = cam.max()
    return cam / top if top > 0 else torch.zeros_like(cam)


# %% wrong="the relu of the score" breaks="Use the score itself, not its softmax" says=["the map is all zeros: where the score is negative"]
def grad_cam(model: nn.Module, layer: str, image: torch.Tensor, target: int) -> torch.Tensor:
    kept = []
    handle = model.get_submodule(layer).register_forward_hook(lambda m, a, out: kept.append(out))
    try:
        with torch.enable_grad():
            score = model(image.detach().clone()[None].requires_grad_())[0, target].relu()
        (gradient,) = torch.autograd.grad(score, kept[0])
    finally:
        handle.remove()
    maps = kept[0].detach()
    cam = (gradient.mean(dim=(2, 3), keepdim=True) * maps).sum(dim=1)[0].relu()
    top = cam.max()
    return cam / top if top > 0 else torch.zeros_like(cam)


# %% wrong="the score's absolute value" breaks="Use the score itself, not its softmax" says=["the sign is turned around: where the score is negative"]
def grad_cam(model: nn.Module, layer: str, image: torch.Tensor, target: int) -> torch.Tensor:
    kept = []
    handle = model.get_submodule(layer).register_forward_hook(lambda m, a, out: kept.append(out))
    try:
        with torch.enable_grad():
            score = model(image.detach().clone()[None].requires_grad_())[0, target].abs()
        (gradient,) = torch.autograd.grad(score, kept[0])
    finally:
        handle.remove()
    maps = kept[0].detach()
    cam = (gradient.mean(dim=(2, 3), keepdim=True) * maps).sum(dim=1)[0].relu()
    top = cam.max()
    return cam / top if top > 0 else torch.zeros_like(cam)


# %% right="a leaf in the output's place"
def grad_cam(model, layer, image, target):
    kept = {}

    def hook(module, args, output):
        kept["maps"] = output.detach().requires_grad_()
        return kept["maps"]

    with torch.enable_grad(), model.get_submodule(layer).register_forward_hook(hook):
        score = model(image.unsqueeze(0)).squeeze(0)[target]
        grads = torch.autograd.grad(score, kept["maps"])[0]
    maps = kept["maps"].detach()[0]
    cam = torch.einsum("k,khw->hw", grads[0].flatten(1).mean(1), maps).clamp(min=0)
    return cam / cam.max() if cam.any() else cam


# %% wrong="a map of one number loses its dimensions" breaks="of shape (h, w)" says=["the map is 1 by 1"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, out: kept.append(out)):
        score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    maps = kept[0].detach()[0]
    heat = (gradient[0].mean(dim=(1, 2))[:, None, None] * maps).sum(0).relu()
    heat = heat.squeeze() if heat.numel() == 1 else heat
    return heat / heat.max() if heat.max() > 0 else heat


# %% wrong="the image in float32" says=["a wide image in torch.float64"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, out: kept.append(out)):
        score = model(image[None].float().to(image.dtype))[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    maps = kept[0].detach()[0]
    heat = (gradient[0].mean(dim=(1, 2))[:, None, None] * maps).sum(0).relu()
    return heat / heat.max() if heat.max() > 0 else heat


# %% wrong="leaves the image without requires_grad" says=["an image whose requires_grad is True, and it is False afterwards"]
def grad_cam(model, layer, image, target):
    kept = []
    image.requires_grad_(False)
    module = model.get_submodule(layer)
    with module.register_forward_hook(lambda m, args, out: kept.append(out)):
        scores = model(image[None])
    maps = kept[0]
    (grad,) = torch.autograd.grad(scores[0, target], maps)
    alpha = grad.mean(dim=(2, 3), keepdim=True)
    heat = (alpha * maps).sum(dim=1)[0].relu().detach()
    top = heat.max()
    return heat / top if top > 0 else heat


# %% wrong="prepends its hook" says=["an earlier hook makes the layer return its maps minus 2"]
def grad_cam(model, layer, image, target):
    kept = []
    module = model.get_submodule(layer)
    with module.register_forward_hook(lambda m, args, out: kept.append(out), prepend=True):
        scores = model(image[None])
    maps = kept[0]
    (grad,) = torch.autograd.grad(scores[0, target], maps)
    alpha = grad.mean(dim=(2, 3), keepdim=True)
    heat = (alpha * maps).sum(dim=1)[0].relu().detach()
    top = heat.max()
    return heat / top if top > 0 else heat


# %% wrong="at least 1e-12" says=["expected 0, 0.5, 1"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, args, out: kept.append(out)):
        score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    alpha = gradient.mean(dim=(2, 3), keepdim=True)
    heat = (alpha * kept[0]).sum(dim=1)[0].relu().detach()
    largest = heat.max()
    return heat / largest.clamp(min=1e-12)


# %% wrong="the image's own gradient is erased" says=["ask for the gradient of the maps alone"]
def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, args, out: kept.append(out)):
        score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    alpha = gradient.mean(dim=(2, 3), keepdim=True)
    heat = (alpha * kept[0]).sum(dim=1)[0].relu().detach()
    largest = heat.max()
    image.grad = None
    return heat / largest if largest > 0 else heat


# %% wrong="every map in one buffer" says=["changes the result of the first time"]
buffers = {}


def grad_cam(model, layer, image, target):
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, y: kept.append(y)):
        score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    heat = (gradient.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu().detach()
    heat = heat / heat.max() if heat.max() > 0 else heat
    buffer = buffers.setdefault((heat.shape, heat.dtype), torch.empty_like(heat))
    return buffer.copy_(heat)


# %% wrong="keeps the map of an image that it has seen" says=["had other numbers the first time"]
maps_of = {}


def grad_cam(model, layer, image, target):
    key = (model, layer, image, target)
    if key in maps_of:
        return maps_of[key]
    kept = []
    with model.get_submodule(layer).register_forward_hook(lambda m, a, y: kept.append(y)):
        score = model(image[None])[0, target]
    (gradient,) = torch.autograd.grad(score, kept[0])
    heat = (gradient.mean((2, 3), keepdim=True) * kept[0]).sum(1)[0].relu().detach()
    heat = heat / heat.max() if heat.max() > 0 else heat
    maps_of[key] = heat
    return heat
