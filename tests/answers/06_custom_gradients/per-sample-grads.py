# %% wrong="the gradient of the batch" says=["the gradients of w1, by_loop", "has shape (4, 2), expected (3, 4, 2)"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    return dict(zip(leaves, torch.autograd.grad(sample_loss(leaves, x, y), list(leaves.values()))))


def by_vmap(weights, x, y):
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(weights, x, y)


def by_hooks(weights, x, y):
    z1 = (x @ weights["w1"].t() + weights["b1"]).detach().requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ weights["w2"].detach().t()
    caught = {}
    z2.register_hook(lambda g: caught.update(z2=g))
    (g1,) = torch.autograd.grad(F.cross_entropy(z2, y, reduction="sum"), z1)
    return {
        "w1": g1[:, :, None] * x[:, None],
        "b1": g1,
        "w2": caught["z2"][:, :, None] * hidden.detach()[:, None],
    }


def clip_and_average(gradients, limit):
    squares = sum((g**2).flatten(1).sum(1) for g in gradients.values())
    factors = (limit / (squares.sqrt() + 1e-12)).clamp(max=1)
    return {name: torch.einsum("b,b...->...", factors, g) / len(g) for name, g in gradients.items()}


def per_sample_grads(way, *arguments):
    ways = {"loop": by_loop, "vmap": by_vmap, "hooks": by_hooks, "clip": clip_and_average}
    return ways[way](*arguments)


# %% wrong="a loop under another name" says=["by_vmap:", "is there a loop?"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    return by_loop(weights, x, y)


def by_hooks(weights, x, y):
    z1 = (x @ weights["w1"].t() + weights["b1"]).detach().requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ weights["w2"].detach().t()
    caught = {}
    z2.register_hook(lambda g: caught.update(z2=g))
    (g1,) = torch.autograd.grad(F.cross_entropy(z2, y, reduction="sum"), z1)
    return {
        "w1": g1[:, :, None] * x[:, None],
        "b1": g1,
        "w2": caught["z2"][:, :, None] * hidden.detach()[:, None],
    }


def clip_and_average(gradients, limit):
    squares = sum((g**2).flatten(1).sum(1) for g in gradients.values())
    factors = (limit / (squares.sqrt() + 1e-12)).clamp(max=1)
    return {name: torch.einsum("b,b...->...", factors, g) / len(g) for name, g in gradients.items()}


def per_sample_grads(way, *arguments):
    ways = {"loop": by_loop, "vmap": by_vmap, "hooks": by_hooks, "clip": clip_and_average}
    return ways[way](*arguments)


# %% wrong="the mean loss in the hooks" says=["by_hooks for 3 samples"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(weights, x, y)


def by_hooks(weights, x, y):
    z1 = (x @ weights["w1"].t() + weights["b1"]).detach().requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ weights["w2"].detach().t()
    caught = {}
    z2.register_hook(lambda g: caught.update(z2=g))
    (g1,) = torch.autograd.grad(F.cross_entropy(z2, y, reduction="mean"), z1)
    return {
        "w1": g1[:, :, None] * x[:, None],
        "b1": g1,
        "w2": caught["z2"][:, :, None] * hidden.detach()[:, None],
    }


def clip_and_average(gradients, limit):
    squares = sum((g**2).flatten(1).sum(1) for g in gradients.values())
    factors = (limit / (squares.sqrt() + 1e-12)).clamp(max=1)
    return {name: torch.einsum("b,b...->...", factors, g) / len(g) for name, g in gradients.items()}


def per_sample_grads(way, *arguments):
    ways = {"loop": by_loop, "vmap": by_vmap, "hooks": by_hooks, "clip": clip_and_average}
    return ways[way](*arguments)


# %% wrong="the outer product the other way round" says=["the gradients of w1, by_hooks", "the same sizes in another order"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(weights, x, y)


def by_hooks(weights, x, y):
    z1 = (x @ weights["w1"].t() + weights["b1"]).detach().requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ weights["w2"].detach().t()
    caught = {}
    z2.register_hook(lambda g: caught.update(z2=g))
    (g1,) = torch.autograd.grad(F.cross_entropy(z2, y, reduction="sum"), z1)
    return {
        "w1": g1[:, None] * x[:, :, None],
        "b1": g1,
        "w2": caught["z2"][:, :, None] * hidden.detach()[:, None],
    }


def clip_and_average(gradients, limit):
    squares = sum((g**2).flatten(1).sum(1) for g in gradients.values())
    factors = (limit / (squares.sqrt() + 1e-12)).clamp(max=1)
    return {name: torch.einsum("b,b...->...", factors, g) / len(g) for name, g in gradients.items()}


def per_sample_grads(way, *arguments):
    ways = {"loop": by_loop, "vmap": by_vmap, "hooks": by_hooks, "clip": clip_and_average}
    return ways[way](*arguments)


# %% wrong="leaves gradients in the arguments of a loop that accumulates" says=["by_loop for 3 samples"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = {name: [] for name in leaves}
    for i in range(len(x)):
        sample_loss(leaves, x[i], y[i]).backward()
        for name, leaf in leaves.items():
            rows[name].append(leaf.grad.clone())
    return {name: torch.stack(parts) for name, parts in rows.items()}


def by_vmap(weights, x, y):
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(weights, x, y)


def by_hooks(weights, x, y):
    z1 = (x @ weights["w1"].t() + weights["b1"]).detach().requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ weights["w2"].detach().t()
    caught = {}
    z2.register_hook(lambda g: caught.update(z2=g))
    (g1,) = torch.autograd.grad(F.cross_entropy(z2, y, reduction="sum"), z1)
    return {
        "w1": g1[:, :, None] * x[:, None],
        "b1": g1,
        "w2": caught["z2"][:, :, None] * hidden.detach()[:, None],
    }


def clip_and_average(gradients, limit):
    squares = sum((g**2).flatten(1).sum(1) for g in gradients.values())
    factors = (limit / (squares.sqrt() + 1e-12)).clamp(max=1)
    return {name: torch.einsum("b,b...->...", factors, g) / len(g) for name, g in gradients.items()}


def per_sample_grads(way, *arguments):
    ways = {"loop": by_loop, "vmap": by_vmap, "hooks": by_hooks, "clip": clip_and_average}
    return ways[way](*arguments)


# %% wrong="clips each weight by itself" says=["a sample's norm is over all its weights together"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(weights, x, y)


def by_hooks(weights, x, y):
    z1 = (x @ weights["w1"].t() + weights["b1"]).detach().requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ weights["w2"].detach().t()
    caught = {}
    z2.register_hook(lambda g: caught.update(z2=g))
    (g1,) = torch.autograd.grad(F.cross_entropy(z2, y, reduction="sum"), z1)
    return {
        "w1": g1[:, :, None] * x[:, None],
        "b1": g1,
        "w2": caught["z2"][:, :, None] * hidden.detach()[:, None],
    }


def clip_and_average(gradients, limit):
    result = {}
    for name, g in gradients.items():
        norms = g.flatten(1).norm(dim=1).view(-1, *[1] * (g.dim() - 1))
        result[name] = (g * (limit / (norms + 1e-12)).clamp(max=1)).mean(0)
    return result


def per_sample_grads(way, *arguments):
    ways = {"loop": by_loop, "vmap": by_vmap, "hooks": by_hooks, "clip": clip_and_average}
    return ways[way](*arguments)


# %% wrong="averages first, then clips" says=["clip each sample, then average"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(weights, x, y)


def by_hooks(weights, x, y):
    z1 = (x @ weights["w1"].t() + weights["b1"]).detach().requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ weights["w2"].detach().t()
    caught = {}
    z2.register_hook(lambda g: caught.update(z2=g))
    (g1,) = torch.autograd.grad(F.cross_entropy(z2, y, reduction="sum"), z1)
    return {
        "w1": g1[:, :, None] * x[:, None],
        "b1": g1,
        "w2": caught["z2"][:, :, None] * hidden.detach()[:, None],
    }


def clip_and_average(gradients, limit):
    means = {name: g.mean(0) for name, g in gradients.items()}
    norm = sum((g**2).sum() for g in means.values()).sqrt()
    return {name: g * (limit / (norm + 1e-12)).clamp(max=1) for name, g in means.items()}


def per_sample_grads(way, *arguments):
    ways = {"loop": by_loop, "vmap": by_vmap, "hooks": by_hooks, "clip": clip_and_average}
    return ways[way](*arguments)


# %% wrong="stretches short gradients" says=["short gradients are left alone, not stretched"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(weights, x, y)


def by_hooks(weights, x, y):
    z1 = (x @ weights["w1"].t() + weights["b1"]).detach().requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ weights["w2"].detach().t()
    caught = {}
    z2.register_hook(lambda g: caught.update(z2=g))
    (g1,) = torch.autograd.grad(F.cross_entropy(z2, y, reduction="sum"), z1)
    return {
        "w1": g1[:, :, None] * x[:, None],
        "b1": g1,
        "w2": caught["z2"][:, :, None] * hidden.detach()[:, None],
    }


def clip_and_average(gradients, limit):
    squares = sum((g**2).flatten(1).sum(1) for g in gradients.values())
    factors = limit / (squares.sqrt() + 1e-12)
    return {name: torch.einsum("b,b...->...", factors, g) / len(g) for name, g in gradients.items()}


def per_sample_grads(way, *arguments):
    ways = {"loop": by_loop, "vmap": by_vmap, "hooks": by_hooks, "clip": clip_and_average}
    return ways[way](*arguments)


# %% wrong="divides by a zero norm" says=["a zero stays zero"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(weights, x, y)


def by_hooks(weights, x, y):
    z1 = (x @ weights["w1"].t() + weights["b1"]).detach().requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ weights["w2"].detach().t()
    caught = {}
    z2.register_hook(lambda g: caught.update(z2=g))
    (g1,) = torch.autograd.grad(F.cross_entropy(z2, y, reduction="sum"), z1)
    return {
        "w1": g1[:, :, None] * x[:, None],
        "b1": g1,
        "w2": caught["z2"][:, :, None] * hidden.detach()[:, None],
    }


def clip_and_average(gradients, limit):
    squares = sum((g**2).flatten(1).sum(1) for g in gradients.values())
    norms = squares.sqrt()
    factors = torch.minimum(norms, torch.full_like(norms, limit)) / norms
    return {name: torch.einsum("b,b...->...", factors, g) / len(g) for name, g in gradients.items()}


def per_sample_grads(way, *arguments):
    ways = {"loop": by_loop, "vmap": by_vmap, "hooks": by_hooks, "clip": clip_and_average}
    return ways[way](*arguments)


# %% wrong="sums instead of averaging" says=["in clip_and_average of (3, 4) and (0, 1) to 1.0"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(weights, x, y)


def by_hooks(weights, x, y):
    z1 = (x @ weights["w1"].t() + weights["b1"]).detach().requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ weights["w2"].detach().t()
    caught = {}
    z2.register_hook(lambda g: caught.update(z2=g))
    (g1,) = torch.autograd.grad(F.cross_entropy(z2, y, reduction="sum"), z1)
    return {
        "w1": g1[:, :, None] * x[:, None],
        "b1": g1,
        "w2": caught["z2"][:, :, None] * hidden.detach()[:, None],
    }


def clip_and_average(gradients, limit):
    squares = sum((g**2).flatten(1).sum(1) for g in gradients.values())
    factors = (limit / (squares.sqrt() + 1e-12)).clamp(max=1)
    return {name: torch.einsum("b,b...->...", factors, g) for name, g in gradients.items()}


def per_sample_grads(way, *arguments):
    ways = {"loop": by_loop, "vmap": by_vmap, "hooks": by_hooks, "clip": clip_and_average}
    return ways[way](*arguments)


# %% right="leaves with is_grads_batched, vmap of vjp, module hooks"
def by_loop(weights, x, y):
    rows = [
        torch.func.grad(sample_loss)(weights, x[i : i + 1], y[i : i + 1]) for i in range(len(y))
    ]
    return {name: torch.stack([row[name] for row in rows]) for name in reversed(weights)}


def by_vmap(weights, x, y):
    n = len(x)
    leaves = {
        name: w.detach().expand(n, *w.shape).clone().requires_grad_() for name, w in weights.items()
    }
    losses = torch.func.vmap(sample_loss)(leaves, x, y)
    return dict(zip(leaves, torch.autograd.grad(losses.sum(), list(leaves.values()))))


def by_hooks(weights, x, y):
    hidden, inputs = weights["w1"].shape
    first = nn.Linear(inputs, hidden, device=x.device, dtype=x.dtype)
    last = nn.Linear(hidden, len(weights["w2"]), bias=False, device=x.device, dtype=x.dtype)
    with torch.no_grad():
        first.weight.copy_(weights["w1"])
        first.bias.copy_(weights["b1"])
        last.weight.copy_(weights["w2"])
    seen = {}
    for name, layer in (("first", first), ("last", last)):
        layer.register_forward_hook(
            lambda _, given, __, name=name: seen.update({name: given[0].detach()})
        )
        layer.register_full_backward_hook(
            lambda _, __, g, name=name: seen.update({"g" + name: g[0]})
        )
    model = nn.Sequential(first, nn.Tanh(), last)
    F.cross_entropy(model(x), y, reduction="sum").backward()
    w1, w2 = (
        torch.einsum("bo,bi->boi", seen["g" + name], seen[name]) for name in ("first", "last")
    )
    return {"w1": w1, "b1": seen["gfirst"], "w2": w2}


def clip_and_average(gradients, limit):
    n = len(next(iter(gradients.values())))
    result = {name: torch.zeros_like(g[0]) for name, g in gradients.items()}
    for i in range(n):
        norm = torch.cat([g[i].flatten() for g in gradients.values()]).norm()
        for name, g in gradients.items():
            result[name] += (g[i] * limit / norm if norm > limit else g[i]) / n
    return result


def per_sample_grads(way, *arguments):
    ways = {"loop": by_loop, "vmap": by_vmap, "hooks": by_hooks, "clip": clip_and_average}
    return ways[way](*arguments)
