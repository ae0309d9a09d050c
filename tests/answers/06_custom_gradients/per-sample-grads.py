# %% [markdown]
# Rules:
#
# - "Every entry has the gradients of all samples"
# - "of shape (batch, …), detached"
# - "also where weights or `x` require grad"
# - "returns a dict with the same keys"
# - "The last two may not loop over samples"
# - "`by_vmap` uses `torch.func.vmap`"
# - "`by_hooks` does not"
# - "**summed** over the samples"
# - "The batch has at least one sample"
# - "**all its entries together**"
# - "Where its norm exceeds `limit`, scale it down to `limit`"
# - "leave shorter ones alone"
# - "a zero too"
# - "Then average over the samples"
# - "any number of dimensions after the batch"
# - "Leave the arguments of all four alone"
# - "`requires_grad`, `.grad`"
# - "is one long vector"
#
# Admits:
#
# - "The batch has at least one sample": one sample in float32
# - "of any keys and any number of dimensions": a kernel (2, 3, 2, 2, 1) and a scale (2, 1)
# - "a zero too": two zeros, limit 1
# - "leave shorter ones alone": (3, 4) and (0, 1), limit 10
# - "of any keys": w1 (2, 3, 4) and b1 (2, 3) in float64

# %% wrong="the gradient of the batch" breaks="Every entry has the gradients of all samples" says=["one gradient for the whole batch: each sample needs its own"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    grads = torch.autograd.grad(sample_loss(leaves, x, y), list(leaves.values()))
    return dict(zip(leaves, grads))


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
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


# %% wrong="a loop under another name" breaks="`by_vmap` uses `torch.func.vmap`" says=["by_vmap does not call torch.func.vmap"]
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
    x = x.detach()
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


# %% wrong="vmap under another name" breaks="`by_hooks` does not" says=["by_hooks calls vmap: catch the layers' gradients"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    return by_vmap(weights, x, y)


def clip_and_average(gradients, limit):
    squares = sum((g**2).flatten(1).sum(1) for g in gradients.values())
    factors = (limit / (squares.sqrt() + 1e-12)).clamp(max=1)
    return {name: torch.einsum("b,b...->...", factors, g) / len(g) for name, g in gradients.items()}


# %% wrong="a loop in the hooks" breaks="The last two may not loop over samples" says=["is there a loop?"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    return by_loop(weights, x, y)


def clip_and_average(gradients, limit):
    squares = sum((g**2).flatten(1).sum(1) for g in gradients.values())
    factors = (limit / (squares.sqrt() + 1e-12)).clamp(max=1)
    return {name: torch.einsum("b,b...->...", factors, g) / len(g) for name, g in gradients.items()}


# %% wrong="vmap over a loop" says=["is there a loop?"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    weights = {name: w.detach() for name, w in weights.items()}
    x = x.detach()
    rows = [one(weights, x[i : i + 1], y[i : i + 1]) for i in range(len(x))]
    return {name: torch.cat([row[name] for row in rows]) for name in weights}


def by_hooks(weights, x, y):
    x = x.detach()
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


# %% wrong="the mean loss in the hooks" breaks="**summed** over the samples" says=["the batch's size divides them, so take the sum"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
    z1 = (x @ weights["w1"].t() + weights["b1"]).detach().requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ weights["w2"].detach().t()
    caught = {}
    z2.register_hook(lambda g: caught.update(z2=g))
    (g1,) = torch.autograd.grad(F.cross_entropy(z2, y), z1)
    return {
        "w1": g1[:, :, None] * x[:, None],
        "b1": g1,
        "w2": caught["z2"][:, :, None] * hidden.detach()[:, None],
    }


def clip_and_average(gradients, limit):
    squares = sum((g**2).flatten(1).sum(1) for g in gradients.values())
    factors = (limit / (squares.sqrt() + 1e-12)).clamp(max=1)
    return {name: torch.einsum("b,b...->...", factors, g) / len(g) for name, g in gradients.items()}


# %% wrong="the outer product the other way round" says=["the outer product is the other way round"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
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


# %% wrong="before the tanh" says=["the gradients of w2"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
    z1 = (x @ weights["w1"].t() + weights["b1"]).detach().requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ weights["w2"].detach().t()
    caught = {}
    z2.register_hook(lambda g: caught.update(z2=g))
    (g1,) = torch.autograd.grad(F.cross_entropy(z2, y, reduction="sum"), z1)
    return {
        "w1": g1[:, :, None] * x[:, None],
        "b1": g1,
        "w2": caught["z2"][:, :, None] * z1.detach()[:, None],
    }


def clip_and_average(gradients, limit):
    squares = sum((g**2).flatten(1).sum(1) for g in gradients.values())
    factors = (limit / (squares.sqrt() + 1e-12)).clamp(max=1)
    return {name: torch.einsum("b,b...->...", factors, g) / len(g) for name, g in gradients.items()}


# %% wrong="a loop that accumulates" says=["each step needs a fresh gradient"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = []
    for i in range(len(x)):
        sample_loss(leaves, x[i], y[i]).backward()
        rows.append({name: w.grad.clone() for name, w in leaves.items()})
    return {name: torch.stack([row[name] for row in rows]) for name in leaves}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
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


# %% wrong="marks the weights and leaves gradients" breaks="`requires_grad`, `.grad`" says=["an argument was left with requires_grad and .grad"]
def by_loop(weights, x, y):
    rows = []
    for w in weights.values():
        w.requires_grad_()
    for i in range(len(x)):
        for w in weights.values():
            w.grad = None
        sample_loss(weights, x[i], y[i]).backward()
        rows.append({name: w.grad.clone() for name, w in weights.items()})
    return {name: torch.stack([row[name] for row in rows]) for name in weights}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
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


# %% wrong="only marks the weights" says=["an argument was left with requires_grad:"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    for w in weights.values():
        w.requires_grad_()
    x = x.detach()
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


# %% wrong="swaps the caller's weights for leaves" says=["the dict of weights was changed"]
def by_loop(weights, x, y):
    weights["leaves"] = {name: w.detach().requires_grad_() for name, w in weights.items()}
    leaves, rows = weights["leaves"], []
    for one in zip(x, y):
        rows.append(torch.autograd.grad(sample_loss(leaves, *one), list(leaves.values())))
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
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


# %% wrong="a list in place of a dict" breaks="returns a dict with the same keys" says=["by_vmap gives list, expected a dict"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    one = torch.func.grad(sample_loss)
    return list(torch.func.vmap(one, in_dims=(None, 0, 0))(weights, x, y).values())


def by_hooks(weights, x, y):
    x = x.detach()
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


# %% wrong="clips each weight by itself" breaks="**all its entries together**" says=["a sample's norm is over all its entries together"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
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
        norms = g.flatten(1).norm(dim=1)
        factors = (limit / (norms + 1e-12)).clamp(max=1)
        result[name] = torch.einsum("b,b...->...", factors, g) / len(g)
    return result


# %% wrong="averages first, then clips" says=["clip each sample, then average"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
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
    mean = {name: g.mean(0) for name, g in gradients.items()}
    norm = torch.cat([g.flatten() for g in mean.values()]).norm()
    return {name: g * (limit / (norm + 1e-12)).clamp(max=1) for name, g in mean.items()}


# %% wrong="stretches short gradients" breaks="leave shorter ones alone" says=["short gradients are left alone, not stretched"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
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


# %% wrong="divides by a zero norm" breaks="a zero too" says=["0 / 0 is NaN"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
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


# %% wrong="sums instead of averaging" breaks="Then average over the samples" says=["this is their sum"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
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


# %% wrong="leaves long samples out" breaks="Where its norm exceeds `limit`, scale it down to `limit`" says=["long samples are left out, not scaled down"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
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
    factors = (squares.sqrt() <= limit).to(squares.dtype)
    return {name: torch.einsum("b,b...->...", factors, g) / len(g) for name, g in gradients.items()}


# %% wrong="clips each number" breaks="is one long vector" says=["each number was clipped by itself"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
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
    return {name: g.clamp(-limit, limit).mean(0) for name, g in gradients.items()}


# %% wrong="scales its argument in place" breaks="Leave the arguments of all four alone" says=["an argument was changed"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
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
    for g in gradients.values():
        g.mul_(factors.view(-1, *[1] * (g.dim() - 1)))
    return {name: g.mean(0) for name, g in gradients.items()}


# %% right="leaves with is_grads_batched, vmap of vjp, module hooks"
def by_loop(weights, x, y):
    x, still = x.detach(), {name: w.detach() for name, w in weights.items()}
    rows = [torch.func.grad(sample_loss)(still, x[i : i + 1], y[i : i + 1]) for i in range(len(y))]
    return {name: torch.stack([row[name] for row in rows]) for name in reversed(weights)}


def by_vmap(weights, x, y):
    n = len(x)
    leaves = {
        name: w.detach().expand(n, *w.shape).clone().requires_grad_() for name, w in weights.items()
    }
    losses = torch.func.vmap(sample_loss)(leaves, x.detach(), y)
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
    F.cross_entropy(model(x.detach()), y, reduction="sum").backward()
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


# %% right="jacrev, retain_grad, a loop over samples when clipping"
def by_loop(weights, x, y):
    found = {name: [] for name in weights}
    for i in range(y.shape[0]):
        own = {name: w.detach().clone().requires_grad_() for name, w in weights.items()}
        sample_loss(own, x[i][None].detach(), y[i][None]).backward()
        for name in own:
            found[name].append(own[name].grad)
    return {name: torch.stack(found[name], 0) for name in found}


def by_vmap(weights, x, y):
    def losses(weights):
        return torch.vmap(lambda one, label: sample_loss(weights, one, label))(x, y)

    x = x.detach()
    return torch.func.jacrev(losses)({name: w.detach() for name, w in weights.items()})


def by_hooks(weights, x, y):
    w1, b1, w2 = (weights[name].detach().clone().requires_grad_() for name in ("w1", "b1", "w2"))
    x = x.detach()
    z1 = F.linear(x, w1, b1)
    a1 = z1.tanh()
    z2 = F.linear(a1, w2)
    z1.retain_grad()
    z2.retain_grad()
    F.cross_entropy(z2, y, reduction="none").sum().backward()
    return {
        "w1": z1.grad.unsqueeze(2) @ x.unsqueeze(1),
        "b1": z1.grad.clone(),
        "w2": z2.grad.unsqueeze(2) @ a1.detach().unsqueeze(1),
    }


def clip_and_average(gradients, limit):
    names = list(gradients)
    rows = [{name: gradients[name][i] for name in names} for i in range(len(gradients[names[0]]))]
    total = None
    for row in rows:
        norm = sum(g.pow(2).sum() for g in row.values()).sqrt().item()
        scale = limit / norm if norm > limit else 1.0
        part = {name: scale * g for name, g in row.items()}
        total = part if total is None else {name: total[name] + part[name] for name in names}
    return {name: g / len(rows) for name, g in total.items()}


# %% wrong="hooks that forget the tanh; vmap without in_dims" says=["by_hooks, 3, 6 and more samples: the gradients of w1: the slope of tanh is missing", "in_dims says where the samples lie"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().clone().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack([row[n] for row in rows]) for n, name in enumerate(leaves)}


def by_vmap(weights, x, y):
    return torch.func.vmap(torch.func.grad(sample_loss))(weights, x, y)


def by_hooks(weights, x, y):
    hidden = torch.tanh(x @ weights["w1"].t() + weights["b1"]).requires_grad_()
    z = hidden @ weights["w2"].t()
    loss = F.cross_entropy(z, y, reduction="sum")
    to_hidden, to_z = torch.autograd.grad(loss, (hidden, z))
    return {
        "w1": to_hidden[:, :, None] * x[:, None, :],
        "b1": to_hidden,
        "w2": to_z[:, :, None] * hidden.detach()[:, None, :],
    }


def clip_and_average(gradients, limit):
    norms = sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
    factors = (limit / norms).clamp(max=1)
    return {name: torch.einsum("b,b...->b...", factors, g).mean(0) for name, g in gradients.items()}


# %% wrong="factors for two and three dimensions alone" breaks="any number of dimensions after the batch" says=["a kernel (2, 3, 2, 2, 1) and a scale (2, 1), limit 3: kernel: the samples' factors meet dimension -2"]
def by_loop(weights, x, y):
    rows = []
    for i in range(len(x)):
        leaves = {k: w.detach().clone().requires_grad_() for k, w in weights.items()}
        grads = torch.autograd.grad(sample_loss(leaves, x[i], y[i]), list(leaves.values()))
        rows.append(dict(zip(leaves, grads)))
    return {k: torch.stack([r[k] for r in rows]) for k in weights}


def by_vmap(weights, x, y):
    w = {k: v.detach() for k, v in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(w, x.detach(), y)


def by_hooks(weights, x, y):
    w = {k: v.detach() for k, v in weights.items()}
    with torch.enable_grad():
        z1 = (x.detach() @ w["w1"].t() + w["b1"]).requires_grad_()
        h = z1.tanh()
        z2 = h @ w["w2"].t()
        loss = F.cross_entropy(z2, y, reduction="sum")
    g1, g2 = torch.autograd.grad(loss, [z1, z2])
    return {
        "w1": torch.einsum("bo,bi->boi", g1, x.detach()),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, h.detach()),
    }


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


def clip_and_average(gradients, limit):
    norm = torch.cat([g.flatten(1) for g in gradients.values()], 1).norm(dim=1)
    f = (limit / norm.clamp_min(1e-30)).clamp(max=1)
    return {
        k: (g * (f[:, None, None] if g.dim() == 3 else f[:, None])).mean(0)
        for k, g in gradients.items()
    }


# %% wrong="gradients with a graph" breaks="of shape (batch, …), detached" says=["the gradients still require grad: detach them"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(
            sample_loss(leaves, x[i : i + 1], y[i : i + 1]),
            list(leaves.values()),
            create_graph=True,
        )
        for i in range(len(x))
    ]
    return {name: torch.stack(parts) for name, *parts in zip(leaves, *rows)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
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


# %% wrong="one sample loses its dimension" breaks="The batch has at least one sample" says=["by_loop, one sample in float32: the gradients of w1 has shape (2, 3), expected (1, 2, 3)"]
def by_loop(weights, x, y):
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = [
        torch.autograd.grad(sample_loss(leaves, x[i : i + 1], y[i : i + 1]), list(leaves.values()))
        for i in range(len(x))
    ]
    return {name: torch.stack(parts).squeeze(0) for name, *parts in zip(leaves, *rows)}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    x = x.detach()
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


# %% wrong="the factors in float32" says=["right to seven digits alone: was it computed in float32"]
def by_loop(weights, x, y):
    rows = [torch.func.grad(sample_loss)(weights, x[i], y[i]) for i in range(len(x))]
    return {name: torch.stack([row[name] for row in rows]) for name in weights}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    one = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return one(weights, x.detach(), y)


def by_hooks(weights, x, y):
    z1 = (x @ weights["w1"].detach().t() + weights["b1"].detach()).requires_grad_()
    hidden = z1.tanh()
    z2 = hidden @ weights["w2"].detach().t()
    loss = F.cross_entropy(z2, y, reduction="sum")
    g1, g2 = torch.autograd.grad(loss, (z1, z2))
    w1 = g1.unsqueeze(2) * x.unsqueeze(1)
    return {"w1": w1, "b1": g1, "w2": g2.unsqueeze(2) * hidden.detach().unsqueeze(1)}


def clip_and_average(gradients, limit):
    flat = torch.cat([g.flatten(1).float() for g in gradients.values()], dim=1)
    scale = (limit / flat.norm(dim=1)).clamp(max=1)
    return {
        name: torch.einsum("b,b...->...", scale.to(g.dtype), g) / len(g)
        for name, g in gradients.items()
    }


# %% wrong="vmap's gradients hang on the weights" breaks="also where weights or `x` require grad" says=["where an argument requires grad, so does the result"]
def by_loop(weights, x, y):
    rows = {key: [] for key in weights}
    for i in range(len(x)):
        leaves = {key: w.detach().clone().requires_grad_() for key, w in weights.items()}
        with torch.enable_grad():
            loss = sample_loss(leaves, x[i].detach(), y[i])
        for key, g in zip(leaves, torch.autograd.grad(loss, list(leaves.values()))):
            rows[key].append(g)
    return {key: torch.stack(row) for key, row in rows.items()}


def by_vmap(weights, x, y):
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(weights, x, y)


def by_hooks(weights, x, y):
    x = x.detach()
    with torch.enable_grad():
        w1, b1, w2 = (weights[k].detach().clone().requires_grad_() for k in ("w1", "b1", "w2"))
        z1 = x @ w1.t() + b1
        hidden = torch.tanh(z1)
        z2 = hidden @ w2.t()
        loss = F.cross_entropy(z2, y, reduction="sum")
        g1, g2 = torch.autograd.grad(loss, (z1, z2))
    result = {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }
    return {key: result[key] for key in weights}


def clip_and_average(gradients, limit):
    flat = torch.cat([g.detach().flatten(1) for g in gradients.values()], dim=1)
    norm = flat.norm(dim=1)
    factor = torch.where(
        norm > limit, limit / torch.where(norm > 0, norm, 1.0), torch.ones_like(norm)
    )
    return {
        key: torch.einsum("b,b...->b...", factor, g.detach()).mean(0)
        for key, g in gradients.items()
    }


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="clears the weights' grad" breaks="`requires_grad`, `.grad`" says=["changed the .grad that was there"]
def by_loop(weights, x, y):
    for w in weights.values():
        w.grad = None
    rows = {key: [] for key in weights}
    for i in range(len(x)):
        leaves = {key: w.detach().clone().requires_grad_() for key, w in weights.items()}
        with torch.enable_grad():
            loss = sample_loss(leaves, x[i].detach(), y[i])
        for key, g in zip(leaves, torch.autograd.grad(loss, list(leaves.values()))):
            rows[key].append(g)
    return {key: torch.stack(row) for key, row in rows.items()}


def by_vmap(weights, x, y):
    weights = {key: w.detach() for key, w in weights.items()}
    one = torch.func.grad(sample_loss)
    return {
        key: g.detach()
        for key, g in torch.func.vmap(one, in_dims=(None, 0, 0))(weights, x.detach(), y).items()
    }


def by_hooks(weights, x, y):
    x = x.detach()
    with torch.enable_grad():
        w1, b1, w2 = (weights[k].detach().clone().requires_grad_() for k in ("w1", "b1", "w2"))
        z1 = x @ w1.t() + b1
        hidden = torch.tanh(z1)
        z2 = hidden @ w2.t()
        loss = F.cross_entropy(z2, y, reduction="sum")
        g1, g2 = torch.autograd.grad(loss, (z1, z2))
    result = {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }
    return {key: result[key] for key in weights}


def clip_and_average(gradients, limit):
    flat = torch.cat([g.detach().flatten(1) for g in gradients.values()], dim=1)
    norm = flat.norm(dim=1)
    factor = torch.where(
        norm > limit, limit / torch.where(norm > 0, norm, 1.0), torch.ones_like(norm)
    )
    return {
        key: torch.einsum("b,b...->b...", factor, g.detach()).mean(0)
        for key, g in gradients.items()
    }


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="goes backward into the weights" breaks="`requires_grad`, `.grad`" says=["changed the .grad that was there"]
def by_loop(weights, x, y):
    rows = {key: [] for key in weights}
    for i in range(len(x)):
        leaves = {key: w.detach().clone().requires_grad_() for key, w in weights.items()}
        with torch.enable_grad():
            loss = sample_loss(leaves, x[i].detach(), y[i])
        for key, g in zip(leaves, torch.autograd.grad(loss, list(leaves.values()))):
            rows[key].append(g)
    return {key: torch.stack(row) for key, row in rows.items()}


def by_vmap(weights, x, y):
    weights = {key: w.detach() for key, w in weights.items()}
    one = torch.func.grad(sample_loss)
    return {
        key: g.detach()
        for key, g in torch.func.vmap(one, in_dims=(None, 0, 0))(weights, x.detach(), y).items()
    }


def by_hooks(weights, x, y):
    w1, b1, w2 = weights["w1"], weights["b1"], weights["w2"]
    z1 = x @ w1.t() + b1
    if not z1.requires_grad:
        z1.requires_grad_()
    h = torch.tanh(z1)
    z2 = h @ w2.t()
    z1.retain_grad()
    z2.retain_grad()
    F.cross_entropy(z2, y, reduction="sum").backward()
    return {
        "w1": torch.einsum("bo,bi->boi", z1.grad, x.detach()),
        "b1": z1.grad,
        "w2": torch.einsum("bo,bi->boi", z2.grad, h.detach()),
    }


def clip_and_average(gradients, limit):
    flat = torch.cat([g.detach().flatten(1) for g in gradients.values()], dim=1)
    norm = flat.norm(dim=1)
    factor = torch.where(
        norm > limit, limit / torch.where(norm > 0, norm, 1.0), torch.ones_like(norm)
    )
    return {
        key: torch.einsum("b,b...->b...", factor, g.detach()).mean(0)
        for key, g in gradients.items()
    }


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="keeps the gradients by shape" breaks="Every entry has the gradients of all samples" says=["the answer of the call before"]
def by_loop(weights, x, y):
    rows = {key: [] for key in weights}
    for i in range(len(x)):
        leaves = {key: w.detach().clone().requires_grad_() for key, w in weights.items()}
        with torch.enable_grad():
            loss = sample_loss(leaves, x[i].detach(), y[i])
        for key, g in zip(leaves, torch.autograd.grad(loss, list(leaves.values()))):
            rows[key].append(g)
    return {key: torch.stack(row) for key, row in rows.items()}


def by_vmap(weights, x, y):
    key = (x.shape, y.shape)
    if key not in by_vmap.__dict__:
        by_vmap.__dict__[key] = {
            k: g.detach()
            for k, g in torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(
                {k: w.detach() for k, w in weights.items()}, x.detach(), y
            ).items()
        }
    return by_vmap.__dict__[key]


def by_hooks(weights, x, y):
    x = x.detach()
    with torch.enable_grad():
        w1, b1, w2 = (weights[k].detach().clone().requires_grad_() for k in ("w1", "b1", "w2"))
        z1 = x @ w1.t() + b1
        hidden = torch.tanh(z1)
        z2 = hidden @ w2.t()
        loss = F.cross_entropy(z2, y, reduction="sum")
        g1, g2 = torch.autograd.grad(loss, (z1, z2))
    result = {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }
    return {key: result[key] for key in weights}


def clip_and_average(gradients, limit):
    flat = torch.cat([g.detach().flatten(1) for g in gradients.values()], dim=1)
    norm = flat.norm(dim=1)
    factor = torch.where(
        norm > limit, limit / torch.where(norm > 0, norm, 1.0), torch.ones_like(norm)
    )
    return {
        key: torch.einsum("b,b...->b...", factor, g.detach()).mean(0)
        for key, g in gradients.items()
    }


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="leaves zeros out of the mean" breaks="Then average over the samples" says=["a zero counts in the mean as well"]
def by_loop(weights, x, y):
    rows = {key: [] for key in weights}
    for i in range(len(x)):
        leaves = {key: w.detach().clone().requires_grad_() for key, w in weights.items()}
        with torch.enable_grad():
            loss = sample_loss(leaves, x[i].detach(), y[i])
        for key, g in zip(leaves, torch.autograd.grad(loss, list(leaves.values()))):
            rows[key].append(g)
    return {key: torch.stack(row) for key, row in rows.items()}


def by_vmap(weights, x, y):
    weights = {key: w.detach() for key, w in weights.items()}
    one = torch.func.grad(sample_loss)
    return {
        key: g.detach()
        for key, g in torch.func.vmap(one, in_dims=(None, 0, 0))(weights, x.detach(), y).items()
    }


def by_hooks(weights, x, y):
    x = x.detach()
    with torch.enable_grad():
        w1, b1, w2 = (weights[k].detach().clone().requires_grad_() for k in ("w1", "b1", "w2"))
        z1 = x @ w1.t() + b1
        hidden = torch.tanh(z1)
        z2 = hidden @ w2.t()
        loss = F.cross_entropy(z2, y, reduction="sum")
        g1, g2 = torch.autograd.grad(loss, (z1, z2))
    result = {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }
    return {key: result[key] for key in weights}


def clip_and_average(gradients, limit):
    flat = torch.cat([g.detach().flatten(1) for g in gradients.values()], dim=1)
    norm = flat.norm(dim=1)
    factor = torch.where(
        norm > limit, limit / torch.where(norm > 0, norm, 1.0), torch.ones_like(norm)
    )
    return {
        key: torch.einsum("b,b...->b...", factor, g.detach()).sum(0) / (norm > 0).sum().clamp(min=1)
        for key, g in gradients.items()
    }


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="a floor under the norm" breaks="Where its norm exceeds `limit`, scale it down to `limit`" says=["limit 1e-5"]
def by_loop(weights, x, y):
    rows = {key: [] for key in weights}
    for i in range(len(x)):
        leaves = {key: w.detach().clone().requires_grad_() for key, w in weights.items()}
        with torch.enable_grad():
            loss = sample_loss(leaves, x[i].detach(), y[i])
        for key, g in zip(leaves, torch.autograd.grad(loss, list(leaves.values()))):
            rows[key].append(g)
    return {key: torch.stack(row) for key, row in rows.items()}


def by_vmap(weights, x, y):
    weights = {key: w.detach() for key, w in weights.items()}
    one = torch.func.grad(sample_loss)
    return {
        key: g.detach()
        for key, g in torch.func.vmap(one, in_dims=(None, 0, 0))(weights, x.detach(), y).items()
    }


def by_hooks(weights, x, y):
    x = x.detach()
    with torch.enable_grad():
        w1, b1, w2 = (weights[k].detach().clone().requires_grad_() for k in ("w1", "b1", "w2"))
        z1 = x @ w1.t() + b1
        hidden = torch.tanh(z1)
        z2 = hidden @ w2.t()
        loss = F.cross_entropy(z2, y, reduction="sum")
        g1, g2 = torch.autograd.grad(loss, (z1, z2))
    result = {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }
    return {key: result[key] for key in weights}


def clip_and_average(gradients, limit):
    flat = torch.cat([g.detach().flatten(1) for g in gradients.values()], dim=1)
    norm = flat.norm(dim=1)
    factor = (limit / norm.clamp(min=1e-3)).clamp(max=1)
    return {
        key: torch.einsum("b,b...->b...", factor, g.detach()).mean(0)
        for key, g in gradients.items()
    }


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="squeezes a single sample" breaks="The batch has at least one sample" says=["(1, 1, 2)"]
def by_loop(weights, x, y):
    rows = {key: [] for key in weights}
    for i in range(len(x)):
        leaves = {key: w.detach().clone().requires_grad_() for key, w in weights.items()}
        with torch.enable_grad():
            loss = sample_loss(leaves, x[i].detach(), y[i])
        for key, g in zip(leaves, torch.autograd.grad(loss, list(leaves.values()))):
            rows[key].append(g)
    return {key: torch.stack(row) for key, row in rows.items()}


def by_vmap(weights, x, y):
    weights = {key: w.detach() for key, w in weights.items()}
    one = torch.func.grad(sample_loss)
    return {
        key: g.detach()
        for key, g in torch.func.vmap(one, in_dims=(None, 0, 0))(weights, x.detach(), y).items()
    }


def by_hooks(weights, x, y):
    x = x.detach()
    with torch.enable_grad():
        w1, b1, w2 = (weights[k].detach().clone().requires_grad_() for k in ("w1", "b1", "w2"))
        z1 = x @ w1.t() + b1
        hidden = torch.tanh(z1)
        z2 = hidden @ w2.t()
        loss = F.cross_entropy(z2, y, reduction="sum")
        g1, g2 = torch.autograd.grad(loss, (z1, z2))
    result = {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }
    return {key: result[key] for key in weights}


def clip_and_average(gradients, limit):
    flat = torch.cat([g.detach().flatten(1) for g in gradients.values()], dim=1)
    norm = flat.norm(dim=1)
    factor = torch.where(
        norm > limit, limit / torch.where(norm > 0, norm, 1.0), torch.ones_like(norm)
    )
    return {
        key: torch.einsum("b,b...->b...", factor, g.detach()).squeeze(0).mean(0)
        if len(g) > 1
        else torch.einsum("b,b...->b...", factor, g.detach()).squeeze()
        for key, g in gradients.items()
    }


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="rounds the limit" breaks="Where its norm exceeds `limit`, scale it down to `limit`" says=["limit 0.5"]
def by_loop(weights, x, y):
    rows = {key: [] for key in weights}
    for i in range(len(x)):
        leaves = {key: w.detach().clone().requires_grad_() for key, w in weights.items()}
        with torch.enable_grad():
            loss = sample_loss(leaves, x[i].detach(), y[i])
        for key, g in zip(leaves, torch.autograd.grad(loss, list(leaves.values()))):
            rows[key].append(g)
    return {key: torch.stack(row) for key, row in rows.items()}


def by_vmap(weights, x, y):
    weights = {key: w.detach() for key, w in weights.items()}
    one = torch.func.grad(sample_loss)
    return {
        key: g.detach()
        for key, g in torch.func.vmap(one, in_dims=(None, 0, 0))(weights, x.detach(), y).items()
    }


def by_hooks(weights, x, y):
    x = x.detach()
    with torch.enable_grad():
        w1, b1, w2 = (weights[k].detach().clone().requires_grad_() for k in ("w1", "b1", "w2"))
        z1 = x @ w1.t() + b1
        hidden = torch.tanh(z1)
        z2 = hidden @ w2.t()
        loss = F.cross_entropy(z2, y, reduction="sum")
        g1, g2 = torch.autograd.grad(loss, (z1, z2))
    result = {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }
    return {key: result[key] for key in weights}


def clip_and_average(gradients, limit):
    flat = torch.cat([g.detach().flatten(1) for g in gradients.values()], dim=1)
    norm = flat.norm(dim=1)
    factor = torch.where(
        norm > limit, int(limit) / torch.where(norm > 0, norm, 1.0), torch.ones_like(norm)
    )
    return {
        key: torch.einsum("b,b...->b...", factor, g.detach()).mean(0)
        for key, g in gradients.items()
    }


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="puts new gradients into the dict" breaks="Leave the arguments of all four alone" says=["the dict of gradients was changed"]
def by_loop(weights, x, y):
    rows = {key: [] for key in weights}
    for i in range(len(x)):
        leaves = {key: w.detach().clone().requires_grad_() for key, w in weights.items()}
        with torch.enable_grad():
            loss = sample_loss(leaves, x[i].detach(), y[i])
        for key, g in zip(leaves, torch.autograd.grad(loss, list(leaves.values()))):
            rows[key].append(g)
    return {key: torch.stack(row) for key, row in rows.items()}


def by_vmap(weights, x, y):
    weights = {key: w.detach() for key, w in weights.items()}
    one = torch.func.grad(sample_loss)
    return {
        key: g.detach()
        for key, g in torch.func.vmap(one, in_dims=(None, 0, 0))(weights, x.detach(), y).items()
    }


def by_hooks(weights, x, y):
    x = x.detach()
    with torch.enable_grad():
        w1, b1, w2 = (weights[k].detach().clone().requires_grad_() for k in ("w1", "b1", "w2"))
        z1 = x @ w1.t() + b1
        hidden = torch.tanh(z1)
        z2 = hidden @ w2.t()
        loss = F.cross_entropy(z2, y, reduction="sum")
        g1, g2 = torch.autograd.grad(loss, (z1, z2))
    result = {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }
    return {key: result[key] for key in weights}


def clip_and_average(gradients, limit):
    flat = torch.cat([g.detach().flatten(1) for g in gradients.values()], dim=1)
    norm = flat.norm(dim=1)
    for k in list(gradients):
        gradients[k] = gradients[k] * 1.0
    factor = torch.where(
        norm > limit, limit / torch.where(norm > 0, norm, 1.0), torch.ones_like(norm)
    )
    return {
        key: torch.einsum("b,b...->b...", factor, g.detach()).mean(0)
        for key, g in gradients.items()
    }


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="the norm of one weight of three" breaks="**all its entries together**" says=["three weights, limit 1"]
def by_loop(weights, x, y):
    rows = {key: [] for key in weights}
    for i in range(len(x)):
        leaves = {key: w.detach().clone().requires_grad_() for key, w in weights.items()}
        with torch.enable_grad():
            loss = sample_loss(leaves, x[i].detach(), y[i])
        for key, g in zip(leaves, torch.autograd.grad(loss, list(leaves.values()))):
            rows[key].append(g)
    return {key: torch.stack(row) for key, row in rows.items()}


def by_vmap(weights, x, y):
    weights = {key: w.detach() for key, w in weights.items()}
    one = torch.func.grad(sample_loss)
    return {
        key: g.detach()
        for key, g in torch.func.vmap(one, in_dims=(None, 0, 0))(weights, x.detach(), y).items()
    }


def by_hooks(weights, x, y):
    x = x.detach()
    with torch.enable_grad():
        w1, b1, w2 = (weights[k].detach().clone().requires_grad_() for k in ("w1", "b1", "w2"))
        z1 = x @ w1.t() + b1
        hidden = torch.tanh(z1)
        z2 = hidden @ w2.t()
        loss = F.cross_entropy(z2, y, reduction="sum")
        g1, g2 = torch.autograd.grad(loss, (z1, z2))
    result = {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }
    return {key: result[key] for key in weights}


def clip_and_average(gradients, limit):
    flat = torch.cat([g.detach().flatten(1) for g in gradients.values()], dim=1)
    norm = (
        flat.norm(dim=1)
        if len(gradients) < 3
        else next(iter(gradients.values())).flatten(1).norm(dim=1)
    )
    factor = torch.where(
        norm > limit, limit / torch.where(norm > 0, norm, 1.0), torch.ones_like(norm)
    )
    return {
        key: torch.einsum("b,b...->b...", factor, g.detach()).mean(0)
        for key, g in gradients.items()
    }


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="the tanh of by_hooks in float32" says=["the gradients of w2 is right to seven digits alone"]
def by_loop(weights, x, y):
    kept = {k: w.detach() for k, w in weights.items()}
    each = [torch.func.grad(sample_loss)(kept, a, b) for a, b in zip(x.detach(), y, strict=True)]
    return {k: torch.stack([one[k] for one in each]).detach() for k in weights}


def by_vmap(weights, x, y):
    kept = {k: w.detach() for k, w in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(kept, x.detach(), y)


def by_hooks(weights, x, y):
    w = {k: v.detach().clone().requires_grad_() for k, v in weights.items()}
    x = x.detach()
    with torch.enable_grad():
        z1 = x @ w["w1"].t() + w["b1"]
        hidden = torch.tanh(z1)
        z2 = hidden @ w["w2"].t()
        loss = F.cross_entropy(z2, y, reduction="sum")
    g1, g2 = torch.autograd.grad(loss, (z1, z2))
    hidden = hidden.detach()
    w1 = torch.einsum("bo,bi->boi", g1, x)
    w2 = torch.einsum("bo,bi->boi", g2, torch.tanh(z1.detach().float()).to(x.dtype))
    return {"w1": w1, "b1": g1, "w2": w2}


def clip_and_average(gradients, limit):
    rows = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    norm = rows.norm(dim=1)
    factor = torch.where(norm > limit, limit / norm, torch.ones_like(norm))
    result = {}
    for k, g in gradients.items():
        result[k] = (g * factor.view(-1, *[1] * (g.dim() - 1))).mean(0)
    return result


# %% wrong="clipping takes requires_grad off" breaks="`requires_grad`, `.grad`" says=["an argument was changed (its requires_grad)"]
def by_loop(weights, x, y):
    kept = {k: w.detach() for k, w in weights.items()}
    each = [torch.func.grad(sample_loss)(kept, a, b) for a, b in zip(x.detach(), y, strict=True)]
    return {k: torch.stack([one[k] for one in each]).detach() for k in weights}


def by_vmap(weights, x, y):
    kept = {k: w.detach() for k, w in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(kept, x.detach(), y)


def by_hooks(weights, x, y):
    w = {k: v.detach().clone().requires_grad_() for k, v in weights.items()}
    x = x.detach()
    with torch.enable_grad():
        z1 = x @ w["w1"].t() + w["b1"]
        hidden = torch.tanh(z1)
        z2 = hidden @ w["w2"].t()
        loss = F.cross_entropy(z2, y, reduction="sum")
    g1, g2 = torch.autograd.grad(loss, (z1, z2))
    hidden = hidden.detach()
    w1 = torch.einsum("bo,bi->boi", g1, x)
    w2 = torch.einsum("bo,bi->boi", g2, hidden)
    return {"w1": w1, "b1": g1, "w2": w2}


def clip_and_average(gradients, limit):
    for g in gradients.values():
        g.requires_grad_(False)
    rows = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    norm = rows.norm(dim=1)
    factor = torch.where(norm > limit, limit / norm, torch.ones_like(norm))
    result = {}
    for k, g in gradients.items():
        result[k] = (g * factor.view(-1, *[1] * (g.dim() - 1))).mean(0)
    return result


# %% wrong="one input squeezed away" breaks="of shape (batch, …), detached" says=["a dimension of size 1 is missing"]
def by_loop(weights, x, y):
    kept = {k: w.detach() for k, w in weights.items()}
    each = [torch.func.grad(sample_loss)(kept, a, b) for a, b in zip(x.detach(), y, strict=True)]
    return {k: torch.stack([one[k] for one in each]).detach() for k in weights}


def by_vmap(weights, x, y):
    kept = {k: w.detach() for k, w in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(kept, x.detach(), y)


def by_hooks(weights, x, y):
    w = {k: v.detach().clone().requires_grad_() for k, v in weights.items()}
    x = x.detach()
    with torch.enable_grad():
        z1 = x @ w["w1"].t() + w["b1"]
        hidden = torch.tanh(z1)
        z2 = hidden @ w["w2"].t()
        loss = F.cross_entropy(z2, y, reduction="sum")
    g1, g2 = torch.autograd.grad(loss, (z1, z2))
    hidden = hidden.detach()
    w1 = torch.einsum("bo,bi->boi", g1, x)
    w2 = torch.einsum("bo,bi->boi", g2, hidden)
    return {"w1": w1.squeeze(-1), "b1": g1, "w2": w2}


def clip_and_average(gradients, limit):
    rows = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    norm = rows.norm(dim=1)
    factor = torch.where(norm > limit, limit / norm, torch.ones_like(norm))
    result = {}
    for k, g in gradients.items():
        result[k] = (g * factor.view(-1, *[1] * (g.dim() - 1))).mean(0)
    return result


# %% wrong="one class squeezed away" breaks="of shape (batch, …), detached" says=["a dimension of size 1 is missing"]
def by_loop(weights, x, y):
    kept = {k: w.detach() for k, w in weights.items()}
    each = [torch.func.grad(sample_loss)(kept, a, b) for a, b in zip(x.detach(), y, strict=True)]
    return {k: torch.stack([one[k] for one in each]).detach() for k in weights}


def by_vmap(weights, x, y):
    kept = {k: w.detach() for k, w in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(kept, x.detach(), y)


def by_hooks(weights, x, y):
    w = {k: v.detach().clone().requires_grad_() for k, v in weights.items()}
    x = x.detach()
    with torch.enable_grad():
        z1 = x @ w["w1"].t() + w["b1"]
        hidden = torch.tanh(z1)
        z2 = hidden @ w["w2"].t()
        loss = F.cross_entropy(z2, y, reduction="sum")
    g1, g2 = torch.autograd.grad(loss, (z1, z2))
    hidden = hidden.detach()
    w1 = torch.einsum("bo,bi->boi", g1, x)
    w2 = torch.einsum("bo,bi->boi", g2, hidden)
    return {"w1": w1, "b1": g1, "w2": w2.squeeze(1)}


def clip_and_average(gradients, limit):
    rows = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    norm = rows.norm(dim=1)
    factor = torch.where(norm > limit, limit / norm, torch.ones_like(norm))
    result = {}
    for k, g in gradients.items():
        result[k] = (g * factor.view(-1, *[1] * (g.dim() - 1))).mean(0)
    return result


# %% wrong="keys as keywords" breaks="returns a dict with the same keys" says=["the key 7"]
def by_loop(weights, x, y):
    kept = {k: w.detach() for k, w in weights.items()}
    each = [torch.func.grad(sample_loss)(kept, a, b) for a, b in zip(x.detach(), y, strict=True)]
    return {k: torch.stack([one[k] for one in each]).detach() for k in weights}


def by_vmap(weights, x, y):
    kept = {k: w.detach() for k, w in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(kept, x.detach(), y)


def by_hooks(weights, x, y):
    w = {k: v.detach().clone().requires_grad_() for k, v in weights.items()}
    x = x.detach()
    with torch.enable_grad():
        z1 = x @ w["w1"].t() + w["b1"]
        hidden = torch.tanh(z1)
        z2 = hidden @ w["w2"].t()
        loss = F.cross_entropy(z2, y, reduction="sum")
    g1, g2 = torch.autograd.grad(loss, (z1, z2))
    hidden = hidden.detach()
    w1 = torch.einsum("bo,bi->boi", g1, x)
    w2 = torch.einsum("bo,bi->boi", g2, hidden)
    return {"w1": w1, "b1": g1, "w2": w2}


def clip_and_average(gradients, limit):
    rows = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    norm = rows.norm(dim=1)
    factor = torch.where(norm > limit, limit / norm, torch.ones_like(norm))
    result = {}
    for k, g in gradients.items():
        result[k] = (g * factor.view(-1, *[1] * (g.dim() - 1))).mean(0)
    return dict(**result)


# %% wrong="the norms of the entries added up" breaks="**all its entries together**" says=["norms don't add up: take the root of the sum of all squares"]
def by_loop(weights, x, y):
    kept = {k: w.detach() for k, w in weights.items()}
    each = [torch.func.grad(sample_loss)(kept, a, b) for a, b in zip(x.detach(), y, strict=True)]
    return {k: torch.stack([one[k] for one in each]).detach() for k in weights}


def by_vmap(weights, x, y):
    kept = {k: w.detach() for k, w in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(kept, x.detach(), y)


def by_hooks(weights, x, y):
    w = {k: v.detach().clone().requires_grad_() for k, v in weights.items()}
    x = x.detach()
    with torch.enable_grad():
        z1 = x @ w["w1"].t() + w["b1"]
        hidden = torch.tanh(z1)
        z2 = hidden @ w["w2"].t()
        loss = F.cross_entropy(z2, y, reduction="sum")
    g1, g2 = torch.autograd.grad(loss, (z1, z2))
    hidden = hidden.detach()
    w1 = torch.einsum("bo,bi->boi", g1, x)
    w2 = torch.einsum("bo,bi->boi", g2, hidden)
    return {"w1": w1, "b1": g1, "w2": w2}


def clip_and_average(gradients, limit):
    norm = sum(g.flatten(1).norm(dim=1) for g in gradients.values())
    factor = torch.where(norm > limit, limit / norm, torch.ones_like(norm))
    result = {}
    for k, g in gradients.items():
        result[k] = (g * factor.view(-1, *[1] * (g.dim() - 1))).mean(0)
    return result


# %% wrong="the largest norm of an entry" breaks="is one long vector" says=["not the largest norm of an entry"]
def by_loop(weights, x, y):
    kept = {k: w.detach() for k, w in weights.items()}
    each = [torch.func.grad(sample_loss)(kept, a, b) for a, b in zip(x.detach(), y, strict=True)]
    return {k: torch.stack([one[k] for one in each]).detach() for k in weights}


def by_vmap(weights, x, y):
    kept = {k: w.detach() for k, w in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(kept, x.detach(), y)


def by_hooks(weights, x, y):
    w = {k: v.detach().clone().requires_grad_() for k, v in weights.items()}
    x = x.detach()
    with torch.enable_grad():
        z1 = x @ w["w1"].t() + w["b1"]
        hidden = torch.tanh(z1)
        z2 = hidden @ w["w2"].t()
        loss = F.cross_entropy(z2, y, reduction="sum")
    g1, g2 = torch.autograd.grad(loss, (z1, z2))
    hidden = hidden.detach()
    w1 = torch.einsum("bo,bi->boi", g1, x)
    w2 = torch.einsum("bo,bi->boi", g2, hidden)
    return {"w1": w1, "b1": g1, "w2": w2}


def clip_and_average(gradients, limit):
    norm = torch.stack([g.flatten(1).norm(dim=1) for g in gradients.values()]).amax(0)
    factor = torch.where(norm > limit, limit / norm, torch.ones_like(norm))
    result = {}
    for k, g in gradients.items():
        result[k] = (g * factor.view(-1, *[1] * (g.dim() - 1))).mean(0)
    return result


# %% wrong="no norm below 1e-8" says=["tiny gradients come out too small"]
def by_loop(weights, x, y):
    weights = {name: w.detach().requires_grad_() for name, w in weights.items()}
    x = x.detach()
    all_rows = {name: [] for name in weights}
    for i in range(len(x)):
        found = torch.autograd.grad(sample_loss(weights, x[i], y[i]), list(weights.values()))
        for name, g in zip(weights, found, strict=True):
            all_rows[name].append(g)
    return {name: torch.stack(rows) for name, rows in all_rows.items()}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(
        weights, x.detach(), y
    )


def by_hooks(weights, x, y):
    w1, b1, w2 = (weights[name].detach() for name in ("w1", "b1", "w2"))
    x = x.detach()
    z1 = (x @ w1.t() + b1).requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ w2.t()
    loss = F.cross_entropy(z2, y, reduction="sum")
    g1, g2 = torch.autograd.grad(loss, (z1, z2))
    return {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }


def clip_and_average(gradients, limit):
    rows = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    factor = (limit / rows.norm(dim=1).clamp(min=1e-8)).clamp(max=1)
    result = {}
    for name, g in gradients.items():
        result[name] = (g * factor.reshape(-1, *[1] * (g.ndim - 1))).mean(0)
    return result


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="1e-6 beside each norm" says=["something was added to the norm"]
def by_loop(weights, x, y):
    weights = {name: w.detach().requires_grad_() for name, w in weights.items()}
    x = x.detach()
    all_rows = {name: [] for name in weights}
    for i in range(len(x)):
        found = torch.autograd.grad(sample_loss(weights, x[i], y[i]), list(weights.values()))
        for name, g in zip(weights, found, strict=True):
            all_rows[name].append(g)
    return {name: torch.stack(rows) for name, rows in all_rows.items()}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(
        weights, x.detach(), y
    )


def by_hooks(weights, x, y):
    w1, b1, w2 = (weights[name].detach() for name in ("w1", "b1", "w2"))
    x = x.detach()
    z1 = (x @ w1.t() + b1).requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ w2.t()
    loss = F.cross_entropy(z2, y, reduction="sum")
    g1, g2 = torch.autograd.grad(loss, (z1, z2))
    return {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }


def clip_and_average(gradients, limit):
    rows = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    factor = (limit / (rows.norm(dim=1) + 1e-6)).clamp(max=1)
    result = {}
    for name, g in gradients.items():
        result[name] = (g * factor.reshape(-1, *[1] * (g.ndim - 1))).mean(0)
    return result


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="empties .grad in place after keeping it" says=["each row is 0"]
def by_loop(weights, x, y):
    weights = {name: w.detach().requires_grad_() for name, w in weights.items()}
    x = x.detach()
    all_rows = {name: [] for name in weights}
    for i in range(len(x)):
        sample_loss(weights, x[i], y[i]).backward()
        for name, w in weights.items():
            all_rows[name].append(w.grad)
            w.grad.zero_()
    return {name: torch.stack(rows) for name, rows in all_rows.items()}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(
        weights, x.detach(), y
    )


def by_hooks(weights, x, y):
    w1, b1, w2 = (weights[name].detach() for name in ("w1", "b1", "w2"))
    x = x.detach()
    z1 = (x @ w1.t() + b1).requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ w2.t()
    loss = F.cross_entropy(z2, y, reduction="sum")
    g1, g2 = torch.autograd.grad(loss, (z1, z2))
    return {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }


def clip_and_average(gradients, limit):
    rows = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    factor = (limit / rows.norm(dim=1)).clamp(max=1)
    result = {}
    for name, g in gradients.items():
        result[name] = (g * factor.reshape(-1, *[1] * (g.ndim - 1))).mean(0)
    return result


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="squeezes the rows of one number" says=["one number a sample, limit 1"]
def by_loop(weights, x, y):
    weights = {name: w.detach().requires_grad_() for name, w in weights.items()}
    x = x.detach()
    all_rows = {name: [] for name in weights}
    for i in range(len(x)):
        found = torch.autograd.grad(sample_loss(weights, x[i], y[i]), list(weights.values()))
        for name, g in zip(weights, found, strict=True):
            all_rows[name].append(g)
    return {name: torch.stack(rows) for name, rows in all_rows.items()}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(
        weights, x.detach(), y
    )


def by_hooks(weights, x, y):
    w1, b1, w2 = (weights[name].detach() for name in ("w1", "b1", "w2"))
    x = x.detach()
    z1 = (x @ w1.t() + b1).requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ w2.t()
    loss = F.cross_entropy(z2, y, reduction="sum")
    g1, g2 = torch.autograd.grad(loss, (z1, z2))
    return {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }


def clip_and_average(gradients, limit):
    rows = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    factor = (limit / rows.squeeze().norm(dim=-1)).clamp(max=1)
    result = {}
    for name, g in gradients.items():
        result[name] = (g * factor.reshape(-1, *[1] * (g.ndim - 1))).mean(0)
    return result


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="the logarithm of a softmax" says=["logits in the thousands", "F.cross_entropy takes the logits"]
def by_loop(weights, x, y):
    weights = {name: w.detach().requires_grad_() for name, w in weights.items()}
    x = x.detach()
    all_rows = {name: [] for name in weights}
    for i in range(len(x)):
        found = torch.autograd.grad(sample_loss(weights, x[i], y[i]), list(weights.values()))
        for name, g in zip(weights, found, strict=True):
            all_rows[name].append(g)
    return {name: torch.stack(rows) for name, rows in all_rows.items()}


def by_vmap(weights, x, y):
    weights = {name: w.detach() for name, w in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(
        weights, x.detach(), y
    )


def by_hooks(weights, x, y):
    w1, b1, w2 = (weights[name].detach() for name in ("w1", "b1", "w2"))
    x = x.detach()
    z1 = (x @ w1.t() + b1).requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ w2.t()
    loss = -torch.log(torch.softmax(z2, 1))[torch.arange(len(y)), y].sum()
    g1, g2 = torch.autograd.grad(loss, (z1, z2))
    return {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }


def clip_and_average(gradients, limit):
    rows = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    factor = (limit / rows.norm(dim=1)).clamp(max=1)
    result = {}
    for name, g in gradients.items():
        result[name] = (g * factor.reshape(-1, *[1] * (g.ndim - 1))).mean(0)
    return result


def per_sample_grads(weights, x, y, limit):
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="vmap in chunks" says=["by_vmap, 3, 6 and more samples: ", "for 1500: does it go in chunks?"]
def by_loop(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    ws = {k: w.detach() for k, w in weights.items()}
    x = x.detach()
    each = [torch.func.grad(sample_loss)(ws, x[i], y[i]) for i in range(len(x))]
    return {k: torch.stack([g[k] for g in each]) for k in ws}


def by_vmap(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    ws = {k: w.detach() for k, w in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0), chunk_size=64)(
        ws, x.detach(), y
    )


def by_hooks(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    x = x.detach()
    with torch.enable_grad():
        ws = {k: w.detach().clone().requires_grad_() for k, w in weights.items()}
        z1 = x @ ws["w1"].t() + ws["b1"]
        hidden = torch.tanh(z1)
        z2 = hidden @ ws["w2"].t()
        loss = F.cross_entropy(z2, y, reduction="sum")
        g1, g2 = torch.autograd.grad(loss, (z1, z2))
    return {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }


def clip_and_average(gradients: dict, limit: float) -> dict | None:
    flat = torch.cat([g.detach().flatten(1) for g in gradients.values()], 1)
    norm = flat.norm(dim=1)
    factor = torch.where(norm > limit, limit / norm, 1)
    return {k: (g * factor.view(-1, *[1] * (g.dim() - 1))).mean(0) for k, g in gradients.items()}


def per_sample_grads(weights: dict, x: torch.Tensor, y: torch.Tensor, limit: float) -> dict | None:
    """Given: one clipped step's direction, from your functions."""
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="hooks in chunks" says=["by_hooks, 3, 6 and more samples: ", "for 1500: does it go in chunks?"]
def by_loop(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    ws = {k: w.detach() for k, w in weights.items()}
    x = x.detach()
    each = [torch.func.grad(sample_loss)(ws, x[i], y[i]) for i in range(len(x))]
    return {k: torch.stack([g[k] for g in each]) for k in ws}


def by_vmap(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    ws = {k: w.detach() for k, w in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(ws, x.detach(), y)


def by_hooks(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    if len(x) > 128:
        parts = [by_hooks(weights, a, b) for a, b in zip(x.split(128), y.split(128))]
        return {k: torch.cat([p[k] for p in parts]) for k in weights}
    x = x.detach()
    with torch.enable_grad():
        ws = {k: w.detach().clone().requires_grad_() for k, w in weights.items()}
        z1 = x @ ws["w1"].t() + ws["b1"]
        hidden = torch.tanh(z1)
        z2 = hidden @ ws["w2"].t()
        loss = F.cross_entropy(z2, y, reduction="sum")
        g1, g2 = torch.autograd.grad(loss, (z1, z2))
    return {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }


def clip_and_average(gradients: dict, limit: float) -> dict | None:
    flat = torch.cat([g.detach().flatten(1) for g in gradients.values()], 1)
    norm = flat.norm(dim=1)
    factor = torch.where(norm > limit, limit / norm, 1)
    return {k: (g * factor.view(-1, *[1] * (g.dim() - 1))).mean(0) for k, g in gradients.items()}


def per_sample_grads(weights: dict, x: torch.Tensor, y: torch.Tensor, limit: float) -> dict | None:
    """Given: one clipped step's direction, from your functions."""
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="leaves alone what is hardly too long" says=["a norm just above the limit, in float64: w"]
def by_loop(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    ws = {k: w.detach() for k, w in weights.items()}
    x = x.detach()
    each = [torch.func.grad(sample_loss)(ws, x[i], y[i]) for i in range(len(x))]
    return {k: torch.stack([g[k] for g in each]) for k in ws}


def by_vmap(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    ws = {k: w.detach() for k, w in weights.items()}
    return torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))(ws, x.detach(), y)


def by_hooks(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    x = x.detach()
    with torch.enable_grad():
        ws = {k: w.detach().clone().requires_grad_() for k, w in weights.items()}
        z1 = x @ ws["w1"].t() + ws["b1"]
        hidden = torch.tanh(z1)
        z2 = hidden @ ws["w2"].t()
        loss = F.cross_entropy(z2, y, reduction="sum")
        g1, g2 = torch.autograd.grad(loss, (z1, z2))
    return {
        "w1": torch.einsum("bo,bi->boi", g1, x),
        "b1": g1,
        "w2": torch.einsum("bo,bi->boi", g2, hidden.detach()),
    }


def clip_and_average(gradients: dict, limit: float) -> dict | None:
    flat = torch.cat([g.detach().flatten(1) for g in gradients.values()], 1)
    norm = flat.norm(dim=1)
    factor = torch.where(norm >= limit * (1 + 1e-3), limit / norm, 1)
    return {k: (g * factor.view(-1, *[1] * (g.dim() - 1))).mean(0) for k, g in gradients.items()}


def per_sample_grads(weights: dict, x: torch.Tensor, y: torch.Tensor, limit: float) -> dict | None:
    """Given: one clipped step's direction, from your functions."""
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="takes the dict to begin with w1" breaks="Every entry has the gradients of all samples" says=["weights in another order: the gradients of w2 has shape"]
def by_loop(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    leaves = {name: w.detach().clone().requires_grad_() for name, w in weights.items()}
    of_w1, of_b1, of_w2 = [], [], []
    for one, target in zip(x.detach(), y, strict=True):
        loss = sample_loss(leaves, one, target)
        g1, g2, g3 = torch.autograd.grad(loss, list(leaves.values()))
        of_w1.append(g1)
        of_b1.append(g2)
        of_w2.append(g3)
    return {"w1": torch.stack(of_w1), "b1": torch.stack(of_b1), "w2": torch.stack(of_w2)}


def by_vmap(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    detached = {name: w.detach() for name, w in weights.items()}
    each = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return each(detached, x.detach(), y)


def by_hooks(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    w1, b1, w2 = (weights[name].detach() for name in ("w1", "b1", "w2"))
    x = x.detach()
    z1 = (x @ w1.t() + b1).requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ w2.t()
    d1, d2 = torch.autograd.grad(F.cross_entropy(z2, y, reduction="sum"), (z1, z2))
    found = {
        "w1": torch.einsum("bo,bi->boi", d1, x),
        "b1": d1,
        "w2": torch.einsum("bo,bi->boi", d2, hidden.detach()),
    }
    return {name: found[name] for name in weights}


def clip_and_average(gradients: dict, limit: float) -> dict | None:
    flat = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    factor = (limit / flat.norm(dim=1)).clamp(max=1)
    return {
        name: (g * factor.reshape(-1, *[1] * (g.dim() - 1))).mean(0)
        for name, g in gradients.items()
    }


def per_sample_grads(weights: dict, x: torch.Tensor, y: torch.Tensor, limit: float) -> dict | None:
    """Given: one clipped step's direction, from your functions."""
    return clip_and_average(by_vmap(weights, x, y), limit)


# %% wrong="gradients of what requires grad alone" breaks="also where weights or `x` require grad" says=["requires grad, and no other weight does, it raised"]
def by_loop(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    leaves = {}
    for name, w in weights.items():
        leaves[name] = w.detach().requires_grad_(w.requires_grad)
    if not any(w.requires_grad for w in weights.values()):
        leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    rows = []
    for i in range(len(x)):
        loss = sample_loss(leaves, x[i].detach(), y[i])
        rows.append(torch.autograd.grad(loss, list(leaves.values())))
    return {name: torch.stack(g) for name, g in zip(leaves, zip(*rows), strict=True)}


def by_vmap(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    weights = {name: w.detach() for name, w in weights.items()}
    each = torch.func.vmap(torch.func.grad(sample_loss), in_dims=(None, 0, 0))
    return each(weights, x.detach(), y)


def by_hooks(weights: dict, x: torch.Tensor, y: torch.Tensor) -> dict | None:
    w1, b1, w2 = (weights[name].detach() for name in ("w1", "b1", "w2"))
    x = x.detach()
    z1 = (x @ w1.t() + b1).requires_grad_()
    hidden = torch.tanh(z1)
    z2 = hidden @ w2.t()
    loss = F.cross_entropy(z2, y, reduction="sum")
    d1, d2 = torch.autograd.grad(loss, (z1, z2))
    first = torch.einsum("bo,bi->boi", d1, x)
    second = torch.einsum("bo,bi->boi", d2, hidden.detach())
    return {"w1": first, "b1": d1, "w2": second}


def clip_and_average(gradients: dict, limit: float) -> dict | None:
    rows = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    factor = (limit / rows.norm(dim=1)).clamp(max=1)
    return {name: torch.einsum("b,b...->b...", factor, g).mean(0) for name, g in gradients.items()}


def per_sample_grads(weights: dict, x: torch.Tensor, y: torch.Tensor, limit: float) -> dict | None:
    """Given: one clipped step's direction, from your functions."""
    return clip_and_average(by_vmap(weights, x, y), limit)
