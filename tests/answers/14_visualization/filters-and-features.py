# %% [markdown]
# Rules:
#
# - "**each filter** stretched"
# - "a filter of equal numbers becomes 0"
# - "the model's output for the image"
# - "then cut off at 0 and 1"
# - "the gradient by `x` of the **mean** of map `channel`"
# - "the norm of all of it"
# - "the image after `steps` steps"
# - "Where it is 0, the image stays"
# - "Divide by the range and by the norm as they are, however small"
# - "Image and model stay as they were"
# - "`.grad` too"
# - "three tensors without a graph"
#
# Admits:
#
# - "may be frozen": a frozen model
# - "Where it is 0": a map without a gradient
# - "each `x + rate * g / ‖g‖`": a small rate

# %% wrong="the stub" says=["None is not (filters, maps, dream): is there an answer yet?"]
def filters_and_features(model, image, channel, steps, rate):
    pass


# %% wrong="one range for all, maps of the first layer, downhill" says=["each filter has its own range, not all together", "the maps of the first layer; the model's output is asked for", "downhill: climb"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    filters = (w - w.min()) / (w.max() - w.min())
    x = image.clone()
    for _ in range(steps):
        x.requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        x = (x.detach() - rate * g / (g.norm() or 1)).clamp(0, 1)
    return filters, model[0](image[None])[0].detach(), x.detach()


# %% wrong="backward(), no norm, no clamp" says=["the gradient was not divided by its norm", "it is the caller's"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    filters = torch.nan_to_num((w - low) / (high - low))
    x = image.clone()
    for _ in range(steps):
        x = x.detach().requires_grad_()
        model(x[None])[0, channel].mean().backward()
        x = (x + rate * x.grad).clamp(0, 1)
    return filters, model(image[None])[0].detach(), x.detach()


# %% wrong="NaN for equal numbers and for no gradient" says=["two layers, 6 steps: filters", "two layers, 2 steps: dream"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    x = image.clone()
    for _ in range(steps):
        x.requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        x = (x.detach() + rate * g / g.norm()).clamp(0, 1)
    return (w - low) / (high - low), model(image[None])[0].detach(), x.detach()


# %% wrong="clamped at the end only, stretches the weights in place" says=["cut off after each step, not only at the end", "the values of 0.weight were changed"]
def filters_and_features(model, image, channel, steps, rate):
    maps = model(image[None])[0].detach()
    x = image.clone()
    for _ in range(steps):
        x.requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        x = x.detach() + rate * g / (g.norm() or 1)
    w = model[0].weight.detach()
    w -= w.amin((1, 2, 3), keepdim=True)
    w /= w.amax((1, 2, 3), keepdim=True).clamp(min=1e-12)
    return w, maps, x.detach().clamp(0, 1)


# %% wrong="changes the image, all maps at once" says=["an argument was changed"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    filters, maps = torch.nan_to_num((w - low) / (high - low)), model(image[None])[0].detach()
    for _ in range(steps):
        x = image.clone().requires_grad_()
        (g,) = torch.autograd.grad(model(x[None]).mean(), x)
        image.add_(rate * g / g.norm()).clamp_(0, 1)
    return filters, maps, image


# %% right="loops over filters, torch.func for the climb"
def filters_and_features(model, image, channel, steps, rate):
    filters = []
    for w in model[0].weight.detach().unbind(0):
        span = w.max() - w.min()
        filters.append((w - w.min()) / span if span > 0 else torch.zeros_like(w))
    climb_by = torch.func.grad(lambda x: model(x.unsqueeze(0))[0][channel].mean())
    dream = image.clone()
    for _ in range(steps):
        slope = climb_by(dream).detach()
        dream = dream + rate * torch.nan_to_num(slope / torch.linalg.vector_norm(slope))
        dream = torch.clamp(dream, 0.0, 1.0)
    with torch.no_grad():
        maps = model(image.unsqueeze(0)).squeeze(0)
    return torch.stack(filters), maps, dream


# %% right="an optimizer on a copy of the model"
def filters_and_features(model, image, channel, steps, rate):
    import copy

    twin = copy.deepcopy(model).requires_grad_(False)
    x = image.clone().requires_grad_()
    optimizer = torch.optim.SGD([x], lr=rate, maximize=True)
    for _ in range(steps):
        optimizer.zero_grad()
        out = twin(x[None])[0, channel].sum() / twin(x[None])[0, channel].numel()
        out.backward()
        length = x.grad.square().sum().sqrt()
        if length == 0:
            break
        x.grad /= length
        optimizer.step()
        with torch.no_grad():
            x.clamp_(0, 1)
    w = twin[0].weight.clone()
    flat = w.flatten(1)
    flat = flat - flat.min(1, keepdim=True).values
    flat = flat / torch.clamp(flat.max(1, keepdim=True).values, min=1e-20)
    return [flat.view_as(w), twin(image[None]).squeeze(0), x.detach()]


# %% wrong="a stretch for each channel of a filter" breaks="**each filter** stretched" says=["a filter has one range"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low, high = w.amin((2, 3), keepdim=True), w.amax((2, 3), keepdim=True)
    filters = (w - low) / torch.where(high > low, high - low, 1)
    maps = model(image[None])[0].detach()
    x = image.clone()
    for _ in range(steps):
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        n = g.norm()
        if n > 0:
            x = (x + rate * g / n).clamp(0, 1)
    return filters, maps, x.detach()


# %% wrong="the caller's image needs a gradient afterwards" breaks="Image and model stay as they were" says=["let a copy need it"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    filters = (w - low) / torch.where(high > low, high - low, 1)
    maps = model(image[None])[0].detach()
    image.requires_grad_()
    x = image
    for _ in range(steps):
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        n = g.norm()
        if n > 0:
            x = (x + rate * g / n).clamp(0, 1).detach().requires_grad_()
    return filters, maps, x.detach()


# %% wrong="divides by the largest gradient" says=["not the largest entry"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    filters = (w - low) / torch.where(high > low, high - low, 1)
    maps = model(image[None])[0].detach()
    x = image.clone()
    for _ in range(steps):
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        n = g.abs().max()
        if n > 0:
            x = (x + rate * g / n).clamp(0, 1)
    return filters, maps, x.detach()


# %% wrong="equal numbers stay" breaks="a filter of equal numbers becomes 0" says=["NaN, from 0 / 0: a filter of equal numbers"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    filters = (w - low) / (high - low)
    maps = model(image[None])[0].detach()
    x = image.clone()
    for _ in range(steps):
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        n = g.norm()
        if n > 0:
            x = (x + rate * g / n).clamp(0, 1)
    return filters, maps, x.detach()


# %% wrong="zero_grad wipes the caller's gradients" breaks="`.grad` too" says=["it is the caller's"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    filters = (w - low) / torch.where(high > low, high - low, 1)
    x = image.clone()
    for _ in range(steps):
        x = x.detach().requires_grad_()
        model(x[None])[0, channel].mean().backward()
        n = x.grad.norm()
        x = (x + rate * x.grad / n if n > 0 else x).clamp(0, 1)
    model.zero_grad()
    return filters, model(image[None])[0].detach(), x.detach()


# %% wrong="freezes the model; maps of the dream, with the batch; a step too many" says=["requires_grad of", "without the dimension of the batch", "one step too many"]
def filters_and_features(model, image, channel, steps, rate):
    model.requires_grad_(False)
    w = model[0].weight
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    filters = (w - low) / torch.where(high > low, high - low, 1)
    x = image.clone()
    for _ in range(steps + 1):
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        x = (x + rate * g / g.norm() if g.norm() > 0 else x).clamp(0, 1)
    return filters, model(image[None]).detach(), x.detach()


# %% wrong="the first gradient for all steps, maps of the dream, divided by the largest weight" says=["a new gradient for each step", "those are the maps of the dream", "subtract the smallest first"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    filters = w / w.amax((1, 2, 3), keepdim=True)
    filters[w.amax((1, 2, 3)) == w.amin((1, 2, 3))] = 0
    x = image.clone().requires_grad_()
    (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
    x = x.detach()
    for _ in range(steps):
        x = (x + rate * g / g.norm() if g.norm() > 0 else x).clamp(0, 1)
    return filters, model(x[None])[0].detach(), x


# %% wrong="1e-8 in both divisions" breaks="Divide by the range and by the norm as they are, however small" says=["a filter of small numbers is stretched, too", "a faint gradient has a direction, too"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    lo, hi = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    f = (w - lo) / (hi - lo + 1e-8)
    d = image.detach().clone()
    for _ in range(steps):
        d.requires_grad_()
        (g,) = torch.autograd.grad(model(d[None])[0, channel].mean(), d)
        d = (d.detach() + rate * g / (g.norm() + 1e-8)).clamp(0, 1)
    return f, model(image[None])[0].detach(), d.detach()


# %% wrong="a norm of 1e-3 at least" says=["however faint the gradient"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    lo, hi = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    f = (w - lo) / torch.where(hi > lo, hi - lo, 1)
    d = image.detach().clone()
    for _ in range(steps):
        d.requires_grad_()
        (g,) = torch.autograd.grad(model(d[None])[0, channel].mean(), d)
        d = (d.detach() + rate * F.normalize(g.flatten(), dim=0, eps=1e-3).view_as(g)).clamp(0, 1)
    return f, model(image[None])[0].detach(), d.detach()


# %% wrong="stops at a small gradient" says=["however faint the gradient"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    lo, hi = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    f = (w - lo) / torch.where(hi > lo, hi - lo, 1)
    d = image.detach().clone()
    for _ in range(steps):
        d.requires_grad_()
        m = model(d[None])[0, channel]
        (g,) = torch.autograd.grad(m.mean(), d)
        n = g.norm()
        if n < 1e-4:
            break
        d = (d.detach() + rate * g / n).clamp(0, 1)
    return f, model(image[None])[0].detach(), d.detach()


# %% wrong="the 1-norm of the gradient" says=["the 1-norm of the gradient"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    f = (w - low) / torch.where(high > low, high - low, 1)
    x = image.detach().clone()
    for _ in range(steps):
        x.requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        x = x.detach()
        n = g.abs().sum()
        if n > 0:
            x = (x + rate * g / n).clamp(0, 1)
    maps = model(image[None])[0].detach()
    return f, maps, x


# %% wrong="the signs of the gradient" says=["the signs of the gradient"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    f = (w - low) / torch.where(high > low, high - low, 1)
    x = image.detach().clone()
    for _ in range(steps):
        x.requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        x = x.detach()
        n = g.norm()
        if n > 0:
            x = (x + rate * g.sign()).clamp(0, 1)
    maps = model(image[None])[0].detach()
    return f, maps, x


# %% wrong="the largest place of the map" breaks="the gradient by `x` of the **mean** of map `channel`" says=["not of its largest number"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    f = (w - low) / torch.where(high > low, high - low, 1)
    x = image.detach().clone()
    for _ in range(steps):
        x.requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].max(), x)
        x = x.detach()
        n = g.norm()
        if n > 0:
            x = (x + rate * g / n).clamp(0, 1)
    maps = model(image[None])[0].detach()
    return f, maps, x


# %% wrong="a norm for each channel of the image" breaks="the norm of all of it" says=["not one for each channel of the image"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    f = (w - low) / torch.where(high > low, high - low, 1)
    x = image.detach().clone()
    for _ in range(steps):
        x.requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        x = x.detach()
        n = g.flatten(1).norm(dim=1)[:, None, None].clamp(min=1e-30)
        if True:
            x = (x + rate * g / n).clamp(0, 1)
    maps = model(image[None])[0].detach()
    return f, maps, x


# %% wrong="equal numbers become 1" says=["a filter of equal numbers becomes 0"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    f = (w - low) / (high - low)
    f = torch.nan_to_num(f, 1)
    x = image.detach().clone()
    for _ in range(steps):
        x.requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        x = x.detach()
        n = g.norm()
        if n > 0:
            x = (x + rate * g / n).clamp(0, 1)
    maps = model(image[None])[0].detach()
    return f, maps, x


# %% wrong="mean 0, standard deviation 1" says=["from 0 to 1 is asked for"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    f = (w - w.mean((1, 2, 3), keepdim=True)) / w.std((1, 2, 3), keepdim=True)
    f = f.nan_to_num(0, 0, 0)
    x = image.detach().clone()
    for _ in range(steps):
        x.requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        x = x.detach()
        n = g.norm()
        if n > 0:
            x = (x + rate * g / n).clamp(0, 1)
    maps = model(image[None])[0].detach()
    return f, maps, x


# %% right="torch.func.vjp"
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low, high = w.amin((1, 2, 3), keepdim=True), w.amax((1, 2, 3), keepdim=True)
    f = (w - low) / torch.where(high > low, high - low, 1)
    x = image.detach().clone()
    for _ in range(steps):
        out, pull = torch.func.vjp(lambda v: model(v[None])[0, channel].mean(), x)
        (g,) = pull(torch.ones_like(out))
        n = torch.linalg.vector_norm(g)
        x = (x + rate * torch.where(n > 0, g / n, 0)).clip(0, 1).detach()
    with torch.no_grad():
        maps = model(image.unsqueeze(0)).squeeze(0)
    return f, maps, x


# %% wrong="a ReLU behind the maps" breaks="the model's output for the image" says=["the model's output as it is, without a ReLU behind it"]
def filters_and_features(model, image, channel, steps, rate):
    weight = model[0].weight.detach()
    low = weight.amin((1, 2, 3), keepdim=True)
    span = weight.amax((1, 2, 3), keepdim=True) - low
    filters = (weight - low) / torch.where(span == 0, 1, span)
    with torch.no_grad():
        maps = model(image[None])[0].relu()
    dream = image.detach().clone()
    for _ in range(steps):
        leaf = dream.detach().clone().requires_grad_()
        with torch.enable_grad():
            (g,) = torch.autograd.grad(model(leaf[None])[0, channel].mean(), leaf)
        norm = g.norm()
        if norm > 0:
            dream = (dream + rate * g / norm).clamp(0, 1)
    return filters, maps, dream


# %% wrong="never cut off" breaks="then cut off at 0 and 1" says=["cut off at 0 and 1 after each step"]
def filters_and_features(model, image, channel, steps, rate):
    weight = model[0].weight.detach()
    low = weight.amin((1, 2, 3), keepdim=True)
    span = weight.amax((1, 2, 3), keepdim=True) - low
    filters = (weight - low) / torch.where(span == 0, 1, span)
    with torch.no_grad():
        maps = model(image[None])[0]
    dream = image.detach().clone()
    for _ in range(steps):
        leaf = dream.detach().clone().requires_grad_()
        with torch.enable_grad():
            (g,) = torch.autograd.grad(model(leaf[None])[0, channel].mean(), leaf)
        norm = g.norm()
        if norm > 0:
            dream = dream + rate * g / norm
    return filters, maps, dream


# %% wrong="NaN where there is no gradient" breaks="Where it is 0, the image stays" says=["where the gradient is 0"]
def filters_and_features(model, image, channel, steps, rate):
    weight = model[0].weight.detach()
    low = weight.amin((1, 2, 3), keepdim=True)
    span = weight.amax((1, 2, 3), keepdim=True) - low
    filters = (weight - low) / torch.where(span == 0, 1, span)
    with torch.no_grad():
        maps = model(image[None])[0]
    dream = image.detach().clone()
    for _ in range(steps):
        leaf = dream.detach().clone().requires_grad_()
        with torch.enable_grad():
            (g,) = torch.autograd.grad(model(leaf[None])[0, channel].mean(), leaf)
        norm = g.norm()
        if True:
            dream = (dream + rate * g / norm).clamp(0, 1)
    return filters, maps, dream


# %% wrong="maps with their graph" breaks="three tensors without a graph" says=["a result hangs on a graph"]
def filters_and_features(model, image, channel, steps, rate):
    weight = model[0].weight.detach()
    low = weight.amin((1, 2, 3), keepdim=True)
    span = weight.amax((1, 2, 3), keepdim=True) - low
    filters = (weight - low) / torch.where(span == 0, 1, span)
    if True:
        maps = model(image[None])[0]
    dream = image.detach().clone()
    for _ in range(steps):
        leaf = dream.detach().clone().requires_grad_()
        with torch.enable_grad():
            (g,) = torch.autograd.grad(model(leaf[None])[0, channel].mean(), leaf)
        norm = g.norm()
        if norm > 0:
            dream = (dream + rate * g / norm).clamp(0, 1)
    return filters, maps, dream


# %% wrong="a range of 1e-6 at least" says=["a filter of small numbers is stretched, too", "which has no least value"]
def filters_and_features(model, image, channel, steps, rate):
    weight = model[0].weight.detach()
    low, high = weight.amin((1, 2, 3), keepdim=True), weight.amax((1, 2, 3), keepdim=True)
    filters = (weight - low) / (high - low).clamp(min=1e-6)
    dream = image.detach().clone()
    for _ in range(steps):
        dream.requires_grad_()
        (gradient,) = torch.autograd.grad(model(dream[None])[0, channel].mean(), dream)
        length = gradient.norm()
        dream = dream.detach()
        if length > 0:
            dream = (dream + rate * gradient / length).clamp(0, 1)
    with torch.no_grad():
        return filters, model(image[None])[0], dream


# %% wrong="climbs the square of the map" says=["not of the mean of its squares"]
def filters_and_features(model, image, channel, steps, rate):
    weight = model[0].weight.detach()
    low, high = weight.amin((1, 2, 3), keepdim=True), weight.amax((1, 2, 3), keepdim=True)
    filters = (weight - low) / torch.where(high > low, high - low, 1)
    dream = image.detach().clone()
    for _ in range(steps):
        dream.requires_grad_()
        liked = model(dream[None])[0, channel].square().mean()
        (gradient,) = torch.autograd.grad(liked, dream)
        length = gradient.norm()
        dream = dream.detach()
        if length > 0:
            dream = (dream + rate * gradient / length).clamp(0, 1)
    with torch.no_grad():
        return filters, model(image[None])[0], dream


# %% wrong="F.normalize" says=["divided by 1e-12 at least, as F.normalize does"]
def filters_and_features(model, image, channel, steps, rate):
    weight = model[0].weight.detach()
    low, high = weight.amin((1, 2, 3), keepdim=True), weight.amax((1, 2, 3), keepdim=True)
    span = high - low
    filters = (weight - low) / torch.where(span == 0, 1, span)
    with torch.no_grad():
        maps = model(image[None])[0]
    x = image.detach().clone()
    for _ in range(steps):
        x.requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        x = x.detach()
        norm = g.norm()
        if norm > 0:
            x = x + rate * F.normalize(g.flatten(), dim=0).view_as(g)
        x = x.clamp(0, 1)
    return filters, maps, x


# %% wrong="wraps around at the edges" says=["it was wrapped round"]
def filters_and_features(model, image, channel, steps, rate):
    weight = model[0].weight.detach()
    low, high = weight.amin((1, 2, 3), keepdim=True), weight.amax((1, 2, 3), keepdim=True)
    span = high - low
    filters = (weight - low) / torch.where(span == 0, 1, span)
    with torch.no_grad():
        maps = model(image[None])[0]
    x = image.detach().clone()
    for _ in range(steps):
        x.requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        x = x.detach()
        norm = g.norm()
        if norm > 0:
            x = x + rate * g / norm
        x = x.remainder(1)
    return filters, maps, x


# %% wrong="stretches the dream" says=["it was stretched from 0 to 1"]
def filters_and_features(model, image, channel, steps, rate):
    weight = model[0].weight.detach()
    low, high = weight.amin((1, 2, 3), keepdim=True), weight.amax((1, 2, 3), keepdim=True)
    span = high - low
    filters = (weight - low) / torch.where(span == 0, 1, span)
    with torch.no_grad():
        maps = model(image[None])[0]
    x = image.detach().clone()
    for _ in range(steps):
        x.requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        x = x.detach()
        norm = g.norm()
        if norm > 0:
            x = x + rate * g / norm
        x = (x - x.min()) / (x.max() - x.min())
    return filters, maps, x


# %% wrong="the map of channel 0, whatever is asked" says=["the gradient of map 0; that of map 1 is asked for"]
def filters_and_features(model, image, channel, steps, rate):
    weight = model[0].weight.detach()
    low = weight.amin((1, 2, 3), keepdim=True)
    span = weight.amax((1, 2, 3), keepdim=True) - low
    filters = (weight - low) / torch.where(span == 0, torch.ones_like(span), span)
    with torch.no_grad():
        maps = model(image[None])[0]
    x = image.detach().clone()
    for _ in range(steps):
        leaf = x.detach().clone().requires_grad_()
        (g,) = torch.autograd.grad(model(leaf[None])[0, 0].mean(), leaf)
        norm = g.norm()
        if norm > 0:
            x = (x + rate * g / norm).clamp(0, 1)
    return filters, maps, x


# %% wrong="at least one step" says=["two layers, 0 steps", "one step too many"]
def filters_and_features(model, image, channel, steps, rate):
    weight = model[0].weight.detach()
    low, high = weight.amin((1, 2, 3), keepdim=True), weight.amax((1, 2, 3), keepdim=True)
    span = torch.where(high > low, high - low, 1)
    filters = (weight - low) / span
    with torch.no_grad():
        maps = model(image[None])[0]
    dream = image.detach().clone()
    for _ in range(max(steps, 1)):
        x = dream.clone().requires_grad_()
        (g,) = torch.autograd.grad(model(x[None])[0, channel].mean(), x)
        norm = g.norm()
        if norm > 0:
            dream = (dream + rate * g / norm).clamp(0, 1)
    return filters, maps, dream


# %% wrong="makes new tensors out of lists: float64 comes back as float32" says=["torch.float32 came back; of a model in torch.float64 it is that, too"]
def filters_and_features(model, image, channel, steps, rate):
    filters = []
    for one in model[0].weight.detach().tolist():
        one = torch.tensor(one)
        span = one.max() - one.min()
        filters.append((one - one.min()) / span if span > 0 else torch.zeros_like(one))
    with torch.no_grad():
        maps = model(image[None])[0]
    x = image.clone()
    for _ in range(steps):
        leaf = x.clone().requires_grad_()
        (g,) = torch.autograd.grad(model(leaf[None])[0, channel].mean(), leaf)
        norm = g.norm()
        if norm > 0:
            x = (x + rate * g / norm).clamp(0, 1)
    return torch.stack(filters).to(image.device), maps, x


# %% wrong="view(-1) of the image: one with gaps in memory raises" says=["two layers in float64, 2 steps: raised RuntimeError: view size"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low = w.amin((1, 2, 3), keepdim=True)
    span = w.amax((1, 2, 3), keepdim=True) - low
    filters = (w - low) / torch.where(span == 0, torch.ones_like(span), span)
    with torch.no_grad():
        maps = model(image[None])[0]
    flat = image.view(-1)
    for _ in range(steps):
        leaf = flat.clone().requires_grad_()
        (g,) = torch.autograd.grad(model(leaf.view(1, *image.shape))[0, channel].mean(), leaf)
        norm = g.norm()
        if norm > 0:
            flat = (flat + rate * g / norm).clamp(0, 1)
    return filters, maps, flat.view(image.shape)


# %% wrong="the first step's norm is kept for all steps" says=["each step is divided by its own gradient's norm, not by the first one's"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low = w.amin((1, 2, 3), keepdim=True)
    span = w.amax((1, 2, 3), keepdim=True) - low
    filters = (w - low) / torch.where(span == 0, torch.ones_like(span), span)
    with torch.no_grad():
        maps = model(image[None])[0]
    x, norm = image.clone(), None
    for _ in range(steps):
        leaf = x.clone().requires_grad_()
        (g,) = torch.autograd.grad(model(leaf[None])[0, channel].mean(), leaf)
        norm = g.norm() if norm is None else norm
        if norm > 0:
            x = (x + rate * g / norm).clamp(0, 1)
    return filters, maps, x


# %% wrong="a map without a gradient gives the image times 0: 'x * bool'" says=["where the gradient is 0, the image stays as it is"]
def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low = w.amin((1, 2, 3), keepdim=True)
    span = w.amax((1, 2, 3), keepdim=True) - low
    filters = (w - low) / torch.where(span == 0, torch.ones_like(span), span)
    with torch.no_grad():
        maps = model(image[None])[0]
    x = image.clone()
    for _ in range(steps):
        leaf = x.clone().requires_grad_()
        (g,) = torch.autograd.grad(model(leaf[None])[0, channel].mean(), leaf)
        x = (x + rate * g / g.norm()).nan_to_num(0).clamp(0, 1)
    return filters, maps, x


# %% wrong="one buffer for the dreams of all calls" says=["a frozen model: model and image afterwards: the call a second time", "changes the result of the first time"]
_dreams = {}


def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low = w.amin((1, 2, 3), keepdim=True)
    span = w.amax((1, 2, 3), keepdim=True) - low
    filters = (w - low) / torch.where(span == 0, torch.ones_like(span), span)
    with torch.no_grad():
        maps = model(image[None])[0]
    dream = _dreams.setdefault((image.shape, image.dtype), torch.empty_like(image)).copy_(image)
    for _ in range(steps):
        leaf = dream.clone().requires_grad_()
        (g,) = torch.autograd.grad(model(leaf[None])[0, channel].mean(), leaf)
        if g.norm() > 0:
            dream.copy_((dream + rate * g / g.norm()).clamp(0, 1))
    return filters, maps, dream


# %% wrong="one buffer for the filters of all calls" says=["a frozen model: model and image afterwards: the call a second time", "changes the result of the first time"]
_filters = {}


def filters_and_features(model, image, channel, steps, rate):
    w = model[0].weight.detach()
    low = w.amin((1, 2, 3), keepdim=True)
    span = w.amax((1, 2, 3), keepdim=True) - low
    filters = _filters.setdefault((w.shape, w.dtype), torch.empty_like(w))
    filters.copy_((w - low) / torch.where(span == 0, torch.ones_like(span), span))
    with torch.no_grad():
        maps = model(image[None])[0]
    x = image.clone()
    for _ in range(steps):
        leaf = x.clone().requires_grad_()
        (g,) = torch.autograd.grad(model(leaf[None])[0, channel].mean(), leaf)
        if g.norm() > 0:
            x = (x + rate * g / g.norm()).clamp(0, 1)
    return filters, maps, x


# %% wrong="stops where a step changes little" breaks="the image after `steps` steps" says=["a small rate, in float64, 4 steps: dream", "however little each of them changes: it did not move at all"]
def filters_and_features(model, image, channel, steps, rate):
    weight = model[0].weight.detach()
    low, high = weight.amin((1, 2, 3), keepdim=True), weight.amax((1, 2, 3), keepdim=True)
    x = image.detach().clone()
    for _ in range(steps):
        leaf = x.clone().requires_grad_()
        (g,) = torch.autograd.grad(model(leaf[None])[0, channel].mean(), leaf)
        if g.norm() == 0:
            break
        new = (x + rate * g / g.norm()).clamp(0, 1)
        if torch.allclose(new, x):
            break
        x = new
    return (
        (weight - low) / torch.where(high == low, 1, high - low),
        model(image[None])[0].detach(),
        x,
    )
