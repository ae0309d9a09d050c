# %% [markdown]
# Rules:
#
# - "`d[i]` is scaled to the norm of `p[i]`"
# - "however small it is"
# - "a `d[i]` that is all 0 stays 0"
# - "filter $i$ is `p[i]`, all of it"
# - "parameters of two dimensions and more"
# - "parameters of one dimension, whatever they are called: not moved"
# - "as a list of floats"
# - "for each `alpha`, `F.cross_entropy(model(x), y)`"
# - "Frozen parameters move, too"
# - "The weights that you measure by are those that the model came with"
# - "Afterwards it has **exactly** these again"
# - "all else of it is as it was, `.grad` too"
# - "`direction` isn't changed"
#
# Admits:
#
# - "for each `alpha`": dense
# - "of two dimensions and more": a Conv1d, a faint filter
# - "of two dimensions and more, whatever they are called": a bias of two dimensions
# - "Frozen parameters move, too": a BatchNorm, a frozen layer

# %% wrong="the stub" says=["it returned None: is there an answer yet?"]
def loss_landscape(model, direction, alphas, x, y):
    pass


# %% wrong="not normalised" breaks="`d[i]` is scaled to the norm of `p[i]`" says=["the direction is not normalised"]
@torch.no_grad()
def loss_landscape(model, direction, alphas, x, y):
    start, losses = [p.clone() for p in model.parameters()], []
    for alpha in alphas:
        for p, w, d in zip(model.parameters(), start, direction):
            p.copy_(w + alpha * d * (p.dim() > 1 or 1) if p.dim() > 1 else w)
        losses.append(F.cross_entropy(model(x), y).item())
    for p, w in zip(model.parameters(), start):
        p.copy_(w)
    return losses


# %% wrong="the norm of the whole tensor, biases too" says=["scaled by the whole tensor's norm; each filter has its own"]
@torch.no_grad()
def loss_landscape(model, direction, alphas, x, y):
    start, losses = [p.clone() for p in model.parameters()], []
    steps = [d * w.norm() / d.norm() if w.dim() > 1 else 0 * d for w, d in zip(start, direction)]
    for alpha in alphas:
        for p, w, d in zip(model.parameters(), start, steps):
            p.copy_(w + alpha * d)
        losses.append(F.cross_entropy(model(x), y).item())
    for p, w in zip(model.parameters(), start):
        p.copy_(w)
    return losses


# %% wrong="adds up, and goes back by subtracting" says=["each alpha counts from the start, not from where the last one ended"]
@torch.no_grad()
def loss_landscape(model, direction, alphas, x, y):
    losses, steps = [], []
    for p, d in zip(model.parameters(), direction):
        if p.dim() == 1:
            steps.append(torch.zeros_like(d))
            continue
        shape = (-1, *[1] * (p.dim() - 1))
        n = d.flatten(1).norm(dim=1).view(shape)
        steps.append(d * p.flatten(1).norm(dim=1).view(shape) / n.where(n > 0, 1))
    for alpha in alphas:
        for p, s in zip(model.parameters(), steps):
            p += alpha * s
        losses.append(F.cross_entropy(model(x), y).item())
    for p, s in zip(model.parameters(), steps):
        p -= sum(alphas) * s
    return losses


# %% wrong="goes back by subtracting" breaks="Afterwards it has **exactly** these again" says=["the weights are not exactly what they were"]
@torch.no_grad()
def loss_landscape(model, direction, alphas, x, y):
    losses, steps = [], []
    for p, d in zip(model.parameters(), direction):
        if p.dim() == 1:
            steps.append(torch.zeros_like(d))
            continue
        shape = (-1, *[1] * (p.dim() - 1))
        n = d.flatten(1).norm(dim=1).view(shape)
        steps.append(d * p.flatten(1).norm(dim=1).view(shape) / n.where(n > 0, 1))
    for alpha in alphas:
        for p, s in zip(model.parameters(), steps):
            p += alpha * s
        losses.append(F.cross_entropy(model(x), y).item())
        for p, s in zip(model.parameters(), steps):
            p -= alpha * s
    return losses


# %% wrong="biases are moved" says=["biases are not moved"]
@torch.no_grad()
def loss_landscape(model, direction, alphas, x, y):
    start, losses, steps = [p.clone() for p in model.parameters()], [], []
    for p, d in zip(start, direction):
        if p.dim() == 1:
            steps.append(d * p.norm() / d.norm())
            continue
        shape = (-1, *[1] * (p.dim() - 1))
        n = d.flatten(1).norm(dim=1).view(shape)
        steps.append(d * p.flatten(1).norm(dim=1).view(shape) / n.where(n > 0, 1))
    for alpha in alphas:
        for p, w, d in zip(model.parameters(), start, steps):
            p.copy_(w + alpha * d)
        losses.append(F.cross_entropy(model(x), y).item())
    for p, w in zip(model.parameters(), start):
        p.copy_(w)
    return losses


# %% wrong="NaN where a filter of the direction is 0" breaks="a `d[i]` that is all 0 stays 0" says=["dense, a filter of zeros"]
@torch.no_grad()
def loss_landscape(model, direction, alphas, x, y):
    start, losses, steps = [p.clone() for p in model.parameters()], [], []
    for p, d in zip(start, direction):
        if p.dim() == 1:
            steps.append(0 * d)
            continue
        shape = (-1, *[1] * (p.dim() - 1))
        steps.append(d * (p.flatten(1).norm(dim=1) / d.flatten(1).norm(dim=1)).view(shape))
    for alpha in alphas:
        for p, w, d in zip(model.parameters(), start, steps):
            p.copy_(w + alpha * d)
        losses.append(F.cross_entropy(model(x), y).item())
    for p, w in zip(model.parameters(), start):
        p.copy_(w)
    return losses


# %% wrong="forgets to restore, and only the first two dimensions" says=["the weights are not exactly what they were"]
@torch.no_grad()
def loss_landscape(model, direction, alphas, x, y):
    start, losses, steps = [p.clone() for p in model.parameters()], [], []
    for p, d in zip(start, direction):
        if p.dim() == 1:
            steps.append(0 * d)
            continue
        shape = (-1, *[1] * (p.dim() - 1))
        n = d.flatten(1).norm(dim=1).view(shape)
        steps.append(d * p.flatten(1).norm(dim=1).view(shape) / n.where(n > 0, 1))
    for alpha in alphas:
        for p, w, d in zip(model.parameters(), start, steps):
            p.copy_(w + alpha * d)
        losses.append(F.cross_entropy(model(x), y).item())
    return losses


# %% right="functional_call, loops over filters, a generator of floats"
def loss_landscape(model, direction, alphas, x, y):
    steps = {}
    for (name, p), d in zip(model.named_parameters(), direction):
        rows = []
        for w, r in zip(p.detach(), d):
            if p.dim() < 2 or float(r.abs().sum()) == 0:
                rows.append(torch.zeros_like(r))
            else:
                rows.append(r / r.norm() * w.norm())
        steps[name] = torch.stack(rows)
    out = []
    for alpha in alphas:
        moved = {name: p.detach() + alpha * steps[name] for name, p in model.named_parameters()}
        out.append(float(F.cross_entropy(torch.func.functional_call(model, moved, (x,)), y)))
    return out


# %% right="a copy of the model for each alpha"
def loss_landscape(model, direction, alphas, x, y):
    import copy

    losses = []
    for alpha in alphas:
        twin = copy.deepcopy(model)
        with torch.no_grad():
            for p, d in zip(twin.parameters(), direction):
                if p.ndim > 1:
                    dims = tuple(range(1, p.ndim))
                    own, other = (t.pow(2).sum(dims, keepdim=True).sqrt() for t in (p, d))
                    p += alpha * d * own / other.where(other > 0, 1)
            losses.append(F.cross_entropy(twin(x), y).item())
    return losses


# %% wrong="a norm for each kernel of a filter" breaks="filter $i$ is `p[i]`, all of it" says=["not each of its kernels"]
def loss_landscape(model, direction, alphas, x, y):
    kept = [p.detach().clone() for p in model.parameters()]
    steps = []
    for p, d in zip(kept, direction):
        if p.dim() == 4:
            dn = d.norm(dim=(2, 3), keepdim=True)
            steps.append(d * p.norm(dim=(2, 3), keepdim=True) / torch.where(dn > 0, dn, 1))
        elif p.dim() == 2:
            dn = d.norm(dim=1, keepdim=True)
            steps.append(d * p.norm(dim=1, keepdim=True) / torch.where(dn > 0, dn, 1))
        else:
            steps.append(0 * d)
    losses = []
    with torch.no_grad():
        for a in alphas:
            for p, k, s in zip(model.parameters(), kept, steps):
                p.copy_(k + a * s)
            losses.append(F.cross_entropy(model(x), y).item())
        for p, k in zip(model.parameters(), kept):
            p.copy_(k)
    return losses


# %% wrong="scales by where it is, not by where it started" breaks="The weights that you measure by are those that the model came with" says=["the weights that the model came with"]
def loss_landscape(model, direction, alphas, x, y):
    kept = [p.detach().clone() for p in model.parameters()]
    losses = []
    with torch.no_grad():
        for a in alphas:
            for p, d in zip(model.parameters(), direction):
                if p.dim() > 1:
                    dn = d.flatten(1).norm(dim=1)
                    scale = p.flatten(1).norm(dim=1) / torch.where(dn > 0, dn, 1)
                    p += a * d * scale.view(-1, *[1] * (p.dim() - 1))
            losses.append(F.cross_entropy(model(x), y).item())
        for p, k in zip(model.parameters(), kept):
            p.copy_(k)
    return losses


# %% wrong="columns for filters" says=["not the second"]
def loss_landscape(model, direction, alphas, x, y):
    kept = [p.detach().clone() for p in model.parameters()]
    steps = []
    for p, d in zip(kept, direction):
        if p.dim() > 1:
            dn = d.norm(dim=0, keepdim=True)
            steps.append(d * p.norm(dim=0, keepdim=True) / torch.where(dn > 0, dn, 1))
        else:
            steps.append(0 * d)
    losses = []
    with torch.no_grad():
        for a in alphas:
            for p, k, s in zip(model.parameters(), kept, steps):
                p.copy_(k + a * s)
            losses.append(F.cross_entropy(model(x), y).item())
        for p, k in zip(model.parameters(), kept):
            p.copy_(k)
    return losses


# %% wrong="leaves the model at the last alpha" says=["put them back at the end"]
def loss_landscape(model, direction, alphas, x, y):
    kept = [p.detach().clone() for p in model.parameters()]
    losses = []
    for a in alphas:
        for p, k, d in zip(model.parameters(), kept, direction):
            if p.dim() > 1:
                dn = d.flatten(1).norm(dim=1)
                s = d * (k.flatten(1).norm(dim=1) / torch.where(dn > 0, dn, 1)).view(
                    -1, *[1] * (p.dim() - 1)
                )
                p.data = k + a * s
        losses.append(F.cross_entropy(model(x), y).item())
    return losses


# %% right="functional_call and nan_to_num"
def loss_landscape(model, direction, alphas, x, y):
    here = {name: p.detach() for name, p in model.named_parameters()}
    scaled = {}
    for (name, p), d in zip(here.items(), direction, strict=True):
        if p.dim() >= 2:
            axes = tuple(range(1, p.dim()))
            ratio = torch.linalg.vector_norm(p, dim=axes, keepdim=True) / torch.linalg.vector_norm(
                d, dim=axes, keepdim=True
            )
            scaled[name] = d * ratio.nan_to_num(0, 0, 0)
    result = []
    for alpha in alphas:
        there = {
            n: torch.add(p, scaled[n], alpha=alpha) if n in scaled else p for n, p in here.items()
        }
        with torch.no_grad():
            result += [F.cross_entropy(torch.func.functional_call(model, there, (x,)), y).tolist()]
    return result


# %% wrong="goes by the name bias" breaks="parameters of one dimension, whatever they are called: not moved" says=["BatchNorm", "a BatchNorm's weight has one dimension: it isn't moved"]
def loss_landscape(model, direction, alphas, x, y):
    kept = [p.detach().clone() for p in model.parameters()]
    steps = []
    for (name, _), p, d in zip(model.named_parameters(), kept, direction):
        if name.endswith("bias"):
            steps.append(torch.zeros_like(d))
            continue
        p, d = p.reshape(len(p), -1), d.reshape(len(d), -1)
        n = d.norm(dim=1, keepdim=True)
        step = d * p.norm(dim=1, keepdim=True) / n.where(n > 0, 1)
        steps.append(step)
    losses = []
    with torch.no_grad():
        for a in alphas:
            for p, k, s in zip(model.parameters(), kept, steps):
                p.copy_(k + a * s.view_as(k))
            losses.append(F.cross_entropy(model(x), y).item())
        for p, k in zip(model.parameters(), kept):
            p.copy_(k)
    return losses


# %% wrong="skips frozen parameters, and their directions with them" breaks="Frozen parameters move, too" says=["frozen", "the frozen parameters stayed where they were"]
def loss_landscape(model, direction, alphas, x, y):
    kept = [p.detach().clone() for p in model.parameters()]
    steps = []
    for q, p, d in zip(model.parameters(), kept, direction):
        if p.dim() < 2 or not q.requires_grad:
            steps.append(torch.zeros_like(d))
            continue
        n = d.flatten(1).norm(dim=1)
        scale = p.flatten(1).norm(dim=1) / n.where(n > 0, 1)
        steps.append(d * scale.view(-1, *[1] * (p.dim() - 1)))
    losses = []
    with torch.no_grad():
        for a in alphas:
            for p, k, s in zip(model.parameters(), kept, steps):
                p.copy_(k + a * s)
            losses.append(F.cross_entropy(model(x), y).item())
        for p, k in zip(model.parameters(), kept):
            p.copy_(k)
    return losses


# %% wrong="skips frozen parameters, so that the directions belong to others" says=["a frozen parameter has its place in direction, too"]
def loss_landscape(model, direction, alphas, x, y):
    moving = [p for p in model.parameters() if p.requires_grad]
    kept = [p.detach().clone() for p in moving]
    steps = []
    for p, d in zip(kept, direction):
        if p.dim() < 2:
            steps.append(torch.zeros_like(d))
            continue
        n = d.flatten(1).norm(dim=1)
        scale = p.flatten(1).norm(dim=1) / n.where(n > 0, 1)
        steps.append(d * scale.view(-1, *[1] * (p.dim() - 1)))
    losses = []
    with torch.no_grad():
        for a in alphas:
            for p, k, s in zip(moving, kept, steps):
                p.copy_(k + a * s)
            losses.append(F.cross_entropy(model(x), y).item())
        for p, k in zip(moving, kept):
            p.copy_(k)
    return losses


# %% wrong="zero_grad wipes the caller's gradients" breaks="all else of it is as it was, `.grad` too" says=["it is the caller's"]
def loss_landscape(model, direction, alphas, x, y):
    kept = [p.detach().clone() for p in model.parameters()]
    losses = []
    for a in alphas:
        with torch.no_grad():
            for p, k, d in zip(model.parameters(), kept, direction):
                if p.dim() > 1:
                    n = d.flatten(1).norm(dim=1)
                    scale = k.flatten(1).norm(dim=1) / n.where(n > 0, 1)
                    p.copy_(k + a * d * scale.view(-1, *[1] * (p.dim() - 1)))
        losses.append(F.cross_entropy(model(x), y).item())
    with torch.no_grad():
        for p, k in zip(model.parameters(), kept):
            p.copy_(k)
    model.zero_grad()
    return losses


# %% wrong="leaves out three dimensions" breaks="parameters of two dimensions and more" says=["a parameter of three dimensions was left where it was"]
def loss_landscape(model, direction, alphas, x, y):
    start = [p.detach().clone() for p in model.parameters()]
    out = []
    with torch.no_grad():
        for a in alphas:
            for p, w, d in zip(model.parameters(), start, direction):
                if p.dim() == 2:
                    n, m = w.norm(dim=1, keepdim=True), d.norm(dim=1, keepdim=True)
                elif p.dim() == 4:
                    n, m = (t.flatten(1).norm(dim=1)[:, None, None, None] for t in (w, d))
                else:
                    continue
                p.copy_(w + a * torch.where(m > 0, d * n / torch.where(m > 0, m, 1), 0 * d))
            out.append(F.cross_entropy(model(x), y).item())
        for p, w in zip(model.parameters(), start):
            p.copy_(w)
    return out


# %% wrong="1e-8 beside the norm" says=["and be it 1e-08: a faint filter is scaled, too"]
def loss_landscape(model, direction, alphas, x, y):
    start = [p.detach().clone() for p in model.parameters()]
    out = []
    with torch.no_grad():
        for a in alphas:
            for p, w, d in zip(model.parameters(), start, direction):
                if p.dim() < 2:
                    continue
                s = (-1, *[1] * (p.dim() - 1))
                n, m = (t.flatten(1).norm(dim=1).view(s) for t in (w, d))
                p.copy_(w + a * d * n / (m + 1e-8))
            out.append(F.cross_entropy(model(x), y).item())
        for p, w in zip(model.parameters(), start):
            p.copy_(w)
    return out


# %% wrong="a norm of 1e-3 at least" breaks="however small it is" says=["a Conv1d, a faint filter: losses"]
def loss_landscape(model, direction, alphas, x, y):
    start = [p.detach().clone() for p in model.parameters()]
    out = []
    with torch.no_grad():
        for a in alphas:
            for p, w, d in zip(model.parameters(), start, direction):
                if p.dim() < 2:
                    continue
                s = (-1, *[1] * (p.dim() - 1))
                n, m = (t.flatten(1).norm(dim=1).view(s) for t in (w, d))
                p.copy_(w + a * d * n / m.clamp(min=1e-3))
            out.append(F.cross_entropy(model(x), y).item())
        for p, w in zip(model.parameters(), start):
            p.copy_(w)
    return out


# %% wrong="norms measured anew at each alpha" says=["not by where the last alpha led"]
def loss_landscape(model, direction, alphas, x, y):
    start = [p.detach().clone() for p in model.parameters()]
    out = []
    with torch.no_grad():
        for a in alphas:
            for p, w, d in zip(model.parameters(), start, direction):
                if p.dim() < 2:
                    continue
                s = (-1, *[1] * (p.dim() - 1))
                n, m = (t.flatten(1).norm(dim=1).view(s) for t in (p, d))
                p.copy_(w + a * d * n / torch.where(m > 0, m, 1))
            out.append(F.cross_entropy(model(x), y).item())
        for p, w in zip(model.parameters(), start):
            p.copy_(w)
    return out


# %% wrong="a sum over the samples" says=["cross_entropy's mean is asked for"]
def loss_landscape(model, direction, alphas, x, y):
    ps = list(model.parameters())
    start = [p.detach().clone() for p in ps]
    steps = []
    for p, d in zip(start, direction, strict=True):
        if p.dim() < 2:
            steps.append(torch.zeros_like(p))
            continue
        shape = (-1,) + (1,) * (p.dim() - 1)
        a, b = p.flatten(1).norm(dim=1).view(shape), d.flatten(1).norm(dim=1).view(shape)
        steps.append(d * a / torch.where(b > 0, b, 1))
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            for p, w, s in zip(ps, start, steps):
                p.copy_(w + alpha * s)
            losses.append(F.cross_entropy(model(x), y, reduction="sum").item())
        for p, w in zip(ps, start):
            p.copy_(w)
    return losses


# %% wrong="biases move as the direction says" says=["parameters of one dimension aren't moved"]
def loss_landscape(model, direction, alphas, x, y):
    ps = list(model.parameters())
    start = [p.detach().clone() for p in ps]
    steps = []
    for p, d in zip(start, direction, strict=True):
        if p.dim() < 2:
            steps.append(d.clone())
            continue
        shape = (-1,) + (1,) * (p.dim() - 1)
        a, b = p.flatten(1).norm(dim=1).view(shape), d.flatten(1).norm(dim=1).view(shape)
        steps.append(d * a / torch.where(b > 0, b, 1))
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            for p, w, s in zip(ps, start, steps):
                p.copy_(w + alpha * s)
            losses.append(F.cross_entropy(model(x), y).item())
        for p, w in zip(ps, start):
            p.copy_(w)
    return losses


# %% wrong="the 1-norm of each filter" says=["not the 1-norm"]
def loss_landscape(model, direction, alphas, x, y):
    ps = list(model.parameters())
    start = [p.detach().clone() for p in ps]
    steps = []
    for p, d in zip(start, direction, strict=True):
        if p.dim() < 2:
            steps.append(torch.zeros_like(p))
            continue
        shape = (-1,) + (1,) * (p.dim() - 1)
        a, b = p.flatten(1).norm(p=1, dim=1).view(shape), d.flatten(1).norm(p=1, dim=1).view(shape)
        steps.append(d * a / torch.where(b > 0, b, 1))
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            for p, w, s in zip(ps, start, steps):
                p.copy_(w + alpha * s)
            losses.append(F.cross_entropy(model(x), y).item())
        for p, w in zip(ps, start):
            p.copy_(w)
    return losses


# %% wrong="the largest entry of each filter" says=["not its largest entry"]
def loss_landscape(model, direction, alphas, x, y):
    ps = list(model.parameters())
    start = [p.detach().clone() for p in ps]
    steps = []
    for p, d in zip(start, direction, strict=True):
        if p.dim() < 2:
            steps.append(torch.zeros_like(p))
            continue
        shape = (-1,) + (1,) * (p.dim() - 1)
        a, b = p.flatten(1).abs().amax(1).view(shape), d.flatten(1).abs().amax(1).view(shape)
        steps.append(d * a / torch.where(b > 0, b, 1))
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            for p, w, s in zip(ps, start, steps):
                p.copy_(w + alpha * s)
            losses.append(F.cross_entropy(model(x), y).item())
        for p, w in zip(ps, start):
            p.copy_(w)
    return losses


# %% wrong="scales the caller's direction" breaks="`direction` isn't changed" says=["the direction has changed"]
def loss_landscape(model, direction, alphas, x, y):
    ps = list(model.parameters())
    start = [p.detach().clone() for p in ps]
    steps = []
    for p, d in zip(start, direction, strict=True):
        if p.dim() < 2:
            steps.append(torch.zeros_like(p))
            continue
        shape = (-1,) + (1,) * (p.dim() - 1)
        a, b = p.flatten(1).norm(dim=1).view(shape), d.flatten(1).norm(dim=1).view(shape)
        d.mul_(a / torch.where(b > 0, b, 1))
        steps.append(d)
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            for p, w, s in zip(ps, start, steps):
                p.copy_(w + alpha * s)
            losses.append(F.cross_entropy(model(x), y).item())
        for p, w in zip(ps, start):
            p.copy_(w)
    return losses


# %% right="filters stacked one by one"
def loss_landscape(model, direction, alphas, x, y):
    ps = list(model.parameters())
    start = [p.detach().clone() for p in ps]
    steps = []
    for p, d in zip(start, direction, strict=True):
        steps.append(
            torch.zeros_like(p)
            if p.dim() < 2
            else torch.stack(
                [di * pi.norm() / di.norm() if di.norm() > 0 else di for pi, di in zip(p, d)]
            )
        )
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            for p, w, s in zip(ps, start, steps):
                p.data.copy_(torch.add(w, s, alpha=alpha))
            losses.append(F.cross_entropy(model(x), y).item())
        for p, w in zip(ps, start):
            p.copy_(w)
    return losses


# %% wrong="every bias stays, by its name" says=["a bias of two dimensions: losses", "its name doesn't count"]
def loss_landscape(model, direction, alphas, x, y):
    names, start = zip(*((n, p.detach()) for n, p in model.named_parameters()), strict=True)
    moves = []
    for name, p, d in zip(names, start, direction, strict=True):
        if p.dim() < 2 or name.endswith("bias"):
            moves.append(torch.zeros_like(p))
            continue
        shape = (-1, *[1] * (p.dim() - 1))
        lengths = d.flatten(1).norm(dim=1)
        scale = p.flatten(1).norm(dim=1) / lengths.where(lengths > 0, 1)
        moves.append(d * scale.view(shape))
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            moved = [p + alpha * move for p, move in zip(start, moves, strict=True)]
            output = torch.func.functional_call(model, dict(zip(names, moved, strict=True)), (x,))
            losses.append(F.cross_entropy(output, y).item())
    return losses


# %% wrong="a list of tensors" breaks="as a list of floats" says=["tensors came back, a list of floats is asked for"]
def loss_landscape(model, direction, alphas, x, y):
    names, start = zip(*((n, p.detach()) for n, p in model.named_parameters()), strict=True)
    moves = []
    for p, d in zip(start, direction, strict=True):
        if p.dim() < 2:
            moves.append(torch.zeros_like(p))
            continue
        shape = (-1, *[1] * (p.dim() - 1))
        lengths = d.flatten(1).norm(dim=1)
        scale = p.flatten(1).norm(dim=1) / lengths.where(lengths > 0, 1)
        moves.append(d * scale.view(shape))
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            moved = [p + alpha * move for p, move in zip(start, moves, strict=True)]
            output = torch.func.functional_call(model, dict(zip(names, moved, strict=True)), (x,))
            losses.append(F.cross_entropy(output, y))
    return losses


# %% wrong="forgets to move the last parameter" says=["a bias of two dimensions: losses", "the last parameter was left where it was"]
def loss_landscape(model, direction, alphas, x, y):
    names, start = zip(*((n, p.detach()) for n, p in model.named_parameters()), strict=True)
    moves = []
    for p, d in zip(start[:-1], direction[:-1], strict=True):
        if p.dim() < 2:
            moves.append(torch.zeros_like(p))
            continue
        shape = (-1, *[1] * (p.dim() - 1))
        lengths = d.flatten(1).norm(dim=1)
        scale = p.flatten(1).norm(dim=1) / lengths.where(lengths > 0, 1)
        moves.append(d * scale.view(shape))
    moves.append(torch.zeros_like(start[-1]))
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            moved = [p + alpha * move for p, move in zip(start, moves, strict=True)]
            output = torch.func.functional_call(model, dict(zip(names, moved, strict=True)), (x,))
            losses.append(F.cross_entropy(output, y).item())
    return losses


# %% wrong="1e-10 below the line" says=["and be it 1e-10: a faint filter is scaled, too"]
def loss_landscape(model, direction, alphas, x, y):
    names = [name for name, _ in model.named_parameters()]
    start = [p.detach().clone() for p in model.parameters()]
    moves = []
    for p, d in zip(start, direction, strict=True):
        if p.dim() < 2:
            moves.append(torch.zeros_like(p))
            continue
        shape = (-1,) + (1,) * (p.dim() - 1)
        own, other = p.flatten(1).norm(dim=1), d.flatten(1).norm(dim=1)
        scale = own / (other + 1e-10)
        moves.append(d * scale.reshape(shape))
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            weights = {n: p + alpha * m for n, p, m in zip(names, start, moves, strict=True)}
            losses.append(
                F.cross_entropy(torch.func.functional_call(model, weights, (x,)), y).item()
            )
    return losses


# %% wrong="rows of a convolution by input channel" says=["over all its other dimensions, not the second alone"]
def loss_landscape(model, direction, alphas, x, y):
    names = [name for name, _ in model.named_parameters()]
    start = [p.detach().clone() for p in model.parameters()]
    moves = []
    for p, d in zip(start, direction, strict=True):
        if p.dim() < 2:
            moves.append(torch.zeros_like(p))
            continue
        own, other = p.norm(dim=1, keepdim=True), d.norm(dim=1, keepdim=True)
        moves.append(d * own / torch.where(other == 0, 1, other))
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            weights = {n: p + alpha * m for n, p, m in zip(names, start, moves, strict=True)}
            losses.append(
                F.cross_entropy(torch.func.functional_call(model, weights, (x,)), y).item()
            )
    return losses


# %% wrong="the differences to the start" says=["the losses themselves are asked for"]
def loss_landscape(model, direction, alphas, x, y):
    names = [name for name, _ in model.named_parameters()]
    start = [p.detach().clone() for p in model.parameters()]
    moves = []
    for p, d in zip(start, direction, strict=True):
        if p.dim() < 2:
            moves.append(torch.zeros_like(p))
            continue
        shape = (-1,) + (1,) * (p.dim() - 1)
        own, other = p.flatten(1).norm(dim=1), d.flatten(1).norm(dim=1)
        scale = own / torch.where(other == 0, 1, other)
        moves.append(d * scale.reshape(shape))
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            weights = {n: p + alpha * m for n, p, m in zip(names, start, moves, strict=True)}
            losses.append(
                F.cross_entropy(torch.func.functional_call(model, weights, (x,)), y).item()
            )
    return [loss - losses[0] for loss in losses]


# %% wrong="divides by the norm of the whole direction" says=["divided by the whole direction's norm", "has its own"]
def loss_landscape(model, direction, alphas, x, y):
    start = [p.detach().clone() for p in model.parameters()]
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            for p, w, d in zip(model.parameters(), start, direction):
                if p.dim() > 1:
                    one_each = (-1,) + (1,) * (p.dim() - 1)
                    scale = w.flatten(1).norm(dim=1) / d.norm()
                    p.copy_(w + alpha * d * scale.view(one_each))
            losses.append(F.cross_entropy(model(x), y).item())
        for p, w in zip(model.parameters(), start):
            p.copy_(w)
    return losses


# %% wrong="the direction needs a gradient afterwards" breaks="`direction` isn't changed" says=["the direction needs a gradient now"]
def loss_landscape(model, direction, alphas, x, y):
    start = [p.detach().clone() for p in model.parameters()]
    direction = [d.requires_grad_() for d in direction]
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            for p, w, d in zip(model.parameters(), start, direction):
                if p.dim() > 1:
                    one_each = (-1,) + (1,) * (p.dim() - 1)
                    lengths = d.flatten(1).norm(dim=1)
                    lengths[lengths == 0] = 1
                    scale = w.flatten(1).norm(dim=1) / lengths
                    p.copy_(w + alpha * d * scale.view(one_each))
            losses.append(F.cross_entropy(model(x), y).item())
        for p, w in zip(model.parameters(), start):
            p.copy_(w)
    return losses


# %% wrong="sets the global seed" says=["the global random state has changed"]
def loss_landscape(model, direction, alphas, x, y):
    start = [p.detach().clone() for p in model.parameters()]
    losses = []
    torch.manual_seed(0)
    with torch.no_grad():
        for alpha in alphas:
            for p, w, d in zip(model.parameters(), start, direction):
                if p.dim() > 1:
                    one_each = (-1,) + (1,) * (p.dim() - 1)
                    lengths = d.flatten(1).norm(dim=1)
                    lengths[lengths == 0] = 1
                    scale = w.flatten(1).norm(dim=1) / lengths
                    p.copy_(w + alpha * d * scale.view(one_each))
            losses.append(F.cross_entropy(model(x), y).item())
        for p, w in zip(model.parameters(), start):
            p.copy_(w)
    return losses


# %% wrong="a weight that two layers share is moved twice" says=["a weight that two layers share is one parameter, moved once"]
@torch.no_grad()
def loss_landscape(model, direction, alphas, x, y):
    of = {id(p): d for p, d in zip(model.parameters(), direction)}
    kept = {id(p): p.clone() for p in model.parameters()}
    losses = []
    for alpha in alphas:
        for module in model.modules():
            for p in module.parameters(recurse=False):
                if p.dim() < 2:
                    continue
                d, start = of[id(p)], kept[id(p)]
                length = d.flatten(1).norm(dim=1)
                scale = start.flatten(1).norm(dim=1) / torch.where(length == 0, 1, length)
                p += alpha * d * scale.view(-1, *[1] * (p.dim() - 1))
        losses.append(F.cross_entropy(model(x), y).item())
        for p in model.parameters():
            p.copy_(kept[id(p)])
    return losses


# %% wrong="view() of a weight with gaps in memory" says=["conv: raised RuntimeError: view size", "gaps in memory, as in channels_last"]
@torch.no_grad()
def loss_landscape(model, direction, alphas, x, y):
    moved_by = {}
    for (name, p), d in zip(model.named_parameters(), direction):
        if p.dim() > 1:
            dn = d.view(len(d), -1).norm(dim=1)
            scale = p.view(len(p), -1).norm(dim=1) / torch.where(dn == 0, 1, dn)
            moved_by[name] = d * scale.view(-1, *[1] * (p.dim() - 1))
    losses = []
    for alpha in alphas:
        weights = {n: p + alpha * moved_by[n] for n, p in model.named_parameters() if n in moved_by}
        losses.append(F.cross_entropy(torch.func.functional_call(model, weights, (x,)), y).item())
    return losses


# %% wrong="a filter of the weights that is 0 moves by the direction as it is" says=["a filter of the weights that is 0 has the norm 0: it isn't moved"]
@torch.no_grad()
def loss_landscape(model, direction, alphas, x, y):
    moved_by = {}
    for (name, p), d in zip(model.named_parameters(), direction):
        if p.dim() > 1:
            dn, pn = d.flatten(1).norm(dim=1), p.flatten(1).norm(dim=1)
            scale = torch.where((dn == 0) | (pn == 0), torch.ones_like(dn), pn / dn)
            moved_by[name] = d * scale.view(-1, *[1] * (p.dim() - 1))
    losses = []
    for alpha in alphas:
        weights = {n: p + alpha * moved_by[n] for n, p in model.named_parameters() if n in moved_by}
        losses.append(F.cross_entropy(torch.func.functional_call(model, weights, (x,)), y).item())
    return losses


# %% wrong="a norm of the eps of the dtype at least" says=["a Conv1d, a faint filter: losses", "divided by 1.19209e-07 at least"]
def loss_landscape(model, direction, alphas, x, y):
    start = [p.detach().clone() for p in model.parameters()]
    steps = []
    for p, d in zip(start, direction):
        step = torch.zeros_like(p)
        if p.dim() > 1:
            shape = (-1, *[1] * (p.dim() - 1))
            lengths = d.flatten(1).norm(dim=1).clamp_min(torch.finfo(d.dtype).eps)
            step = d * (p.flatten(1).norm(dim=1) / lengths).view(shape)
        steps.append(step)
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            for p, w, step in zip(model.parameters(), start, steps):
                p.copy_(w + alpha * step)
            losses.append(F.cross_entropy(model(x), y).item())
        for p, w in zip(model.parameters(), start):
            p.copy_(w)
    return losses


# %% wrong="each entry of a bias is a filter" says=["parameters of one dimension aren't moved: their entries aren't filters"]
def loss_landscape(model, direction, alphas, x, y):
    names = [name for name, _ in model.named_parameters()]
    start = [p.detach().clone() for p in model.parameters()]
    steps = []
    for p, d in zip(start, direction, strict=True):
        norm = d.reshape(len(d), -1).norm(dim=1)
        norm = torch.where(norm == 0, 1, norm)
        shape = (-1, *[1] * (p.dim() - 1))
        steps.append(d * (p.reshape(len(p), -1).norm(dim=1) / norm).reshape(shape))
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            moved = {n: p + alpha * s for n, p, s in zip(names, start, steps, strict=True)}
            losses.append(F.cross_entropy(torch.func.functional_call(model, moved, (x,)), y).item())
    return losses


# %% wrong="from one alpha to the next, with a copy for the end" says=["dense, a huge alpha first: losses", "to go on from where the last one ended"]
def loss_landscape(model, direction, alphas, x, y):
    def scaled(p, d):
        if p.dim() <= 1:
            return torch.zeros_like(d)
        have = d.flatten(1).norm(dim=1).view(-1, *[1] * (d.dim() - 1))
        want = p.flatten(1).norm(dim=1).view(-1, *[1] * (d.dim() - 1))
        return torch.where(have > 0, d * want / have, 0)

    parameters = list(model.parameters())
    moves = [scaled(p.detach(), d) for p, d in zip(parameters, direction, strict=True)]
    moved = 0.0
    start = [p.detach().clone() for p in parameters]
    losses = []
    try:
        for alpha in alphas:
            for p, m in zip(parameters, moves, strict=True):
                p.data.add_(m, alpha=alpha - moved)
            moved = alpha
            with torch.no_grad():
                losses.append(F.cross_entropy(model(x), y).item())
    finally:
        for p, s in zip(parameters, start, strict=True):
            p.data.copy_(s)
    return losses


# %% wrong="pairs direction with the state_dict" says=["a frozen parameter has its place in direction, too, and a buffer has none"]
def loss_landscape(model, direction, alphas, x, y):
    state = {name: value.detach().clone() for name, value in model.state_dict().items()}
    moves = {}
    for (name, p), d in zip(state.items(), direction):
        if p.dim() < 2:
            continue
        n = d.flatten(1).norm(dim=1)
        ratio = p.flatten(1).norm(dim=1) / torch.where(n == 0, 1.0, n)
        moves[name] = d * ratio.view(-1, *[1] * (d.dim() - 1))
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            moved = {n: w + alpha * moves[n] if n in moves else w for n, w in state.items()}
            out = torch.func.functional_call(model, moved, (x,))
            losses.append(F.cross_entropy(out, y).item())
    return losses


# %% wrong="a mean of the means of blocks" breaks="for each `alpha`, `F.cross_entropy(model(x), y)`" says=["dense, 1026 images: losses", "the mean of the blocks' means is another where the last block is shorter"]
def loss_landscape(model, direction, alphas, x, y):
    moves = {}
    for (name, p), d in zip(model.named_parameters(), direction):
        if p.dim() > 1:
            shape = (-1,) + (1,) * (p.dim() - 1)
            length = d.flatten(1).norm(dim=1).view(shape)
            scale = p.detach().flatten(1).norm(dim=1).view(shape) / length.where(length > 0, 1)
            moves[name] = p.detach(), d * scale
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            weights = {name: p + alpha * d for name, (p, d) in moves.items()}
            blocks = [
                F.cross_entropy(torch.func.functional_call(model, weights, (some,)), theirs)
                for some, theirs in zip(x.split(256), y.split(256))
            ]
            losses.append(torch.stack(blocks).mean().item())
    return losses


# %% wrong="the direction by the names of the state_dict" says=["a BatchNorm, a frozen layer: raised", "and a buffer has none", "a weight that two layers share has one place in direction"]
def loss_landscape(model, direction, alphas, x, y):
    moves = {}
    for (name, p), d in zip(model.state_dict().items(), direction):
        if p.dim() > 1:
            shape = (-1,) + (1,) * (p.dim() - 1)
            length = d.flatten(1).norm(dim=1).view(shape)
            moves[name] = p, d * p.flatten(1).norm(dim=1).view(shape) / length.where(length > 0, 1)
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            weights = {name: p + alpha * d for name, (p, d) in moves.items()}
            losses.append(
                F.cross_entropy(torch.func.functional_call(model, weights, (x,)), y).item()
            )
    return losses


# %% wrong="a weight of two layers moves in one of them" says=["one weight in two layers, float64: losses", "moves in both, not under its first name alone"]
@torch.no_grad()
def loss_landscape(model, direction, alphas, x, y):
    moves = {}
    for (name, p), d in zip(model.named_parameters(), direction, strict=True):
        if p.dim() > 1:
            shape = (-1, *[1] * (p.dim() - 1))
            length = d.flatten(1).norm(dim=1)
            scale = p.flatten(1).norm(dim=1) / torch.where(length == 0, 1, length)
            moves[name] = (p, d * scale.reshape(shape))
    losses = []
    for alpha in alphas:
        weights = {name: p + alpha * m for name, (p, m) in moves.items()}
        output = torch.func.functional_call(model, weights, (x,), tie_weights=False)
        losses.append(F.cross_entropy(output, y).item())
    return losses


# %% wrong="all alphas by vmap, which needs one" says=["dense: raised IndexError", "without an alpha the list is empty"]
@torch.no_grad()
def loss_landscape(model, direction, alphas, x, y):
    base, moves = {}, {}
    for (name, p), d in zip(model.named_parameters(), direction, strict=True):
        if p.dim() > 1:
            shape = (-1, *[1] * (p.dim() - 1))
            length = d.flatten(1).norm(dim=1)
            scale = p.flatten(1).norm(dim=1) / torch.where(length == 0, 1, length)
            base[name], moves[name] = p.detach(), d * scale.reshape(shape)

    def loss(alpha):
        weights = {name: base[name] + alpha * moves[name] for name in base}
        return F.cross_entropy(torch.func.functional_call(model, weights, (x,)), y)

    return torch.func.vmap(loss)(torch.tensor(alphas, device=x.device)).tolist()
