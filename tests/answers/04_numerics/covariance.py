# %% [markdown]
# Rules:
#
# - "n observations of d variables"
# - "Without weights it is what `torch.cov` gives"
# - "of shape (n) or (…, n)"
# - "of shape (…, n, d)"
# - "With all weights 1 the divisor is n − 1"
# - "are float32 or float64, of one dtype"
# - "No loop"
# - "no `torch.cov`"
# - "Gradients flow to `x` and to the weights"
# - "are finite, also where a weight is 0"
# - "Points far from the origin are handled"
# - "so is a point far from all others that weighs 0"
#
# Admits:
#
# - "(n) or (…, n)": a batch, with weights of its own
# - "of shape (…, n, d)": a batch of shape (2, 4, 3, 2)
# - "float32 or float64": weights in float64
# - "n ≥ 2": x[:2], None
# - "at least two weights are above zero": w * (w != 3)
# - "n observations of d variables": in another memory order

# %% wrong="divides by n" breaks="Without weights it is what `torch.cov` gives" says=["it is divided by the sum of weights; the formula's divisor is smaller"]
def covariance(x, weights=None):
    w = x.new_ones(x.shape[-2]) if weights is None else weights
    w = (w / w.sum(-1, keepdim=True))[..., None]
    centred = x - (w * x).sum(-2, keepdim=True)
    return (w * centred).mT @ centred


# %% wrong="one pass: the mean of the products minus the product of the means" breaks="Points far from the origin are handled" says=["far from the origin, in float32"]
def covariance(x, weights=None):
    w = (x.new_ones(x.shape[-2]) if weights is None else weights)[..., None]
    total = w.sum(-2, keepdim=True)
    mean = (w * x).sum(-2, keepdim=True) / total
    scatter = (w * x).mT @ x / total - mean.mT @ mean
    return scatter * total / (total - (w * w).sum(-2, keepdim=True) / total)


# %% wrong="observations in the columns, as torch.cov has them" breaks="n observations of d variables" says=["the observations lie in the rows, the variables in the columns"]
def covariance(x, weights=None):
    if weights is not None:
        return torch.cov(x, aweights=weights[: x.shape[-1]])
    centred = x - x.mean(-1, keepdim=True)
    return centred @ centred.mT / (x.shape[-1] - 1)


# %% wrong="n - 1 for weights, too" breaks="With all weights 1 the divisor is n − 1" says=["it is divided by n - 1; with weights the divisor is W - V / W"]
def covariance(x, weights=None):
    w = (x.new_ones(x.shape[-2]) if weights is None else weights)[..., None]
    centred = x - (w * x).sum(-2, keepdim=True) / w.sum(-2, keepdim=True)
    return (w * centred).mT @ centred / (x.shape[-2] - 1)


# %% wrong="the weights on both sides" says=["the weights stand on both sides of the product"]
def covariance(x, weights=None):
    w = (x.new_ones(x.shape[-2]) if weights is None else weights)[..., None]
    total = w.sum(-2, keepdim=True)
    centred = x - (w * x).sum(-2, keepdim=True) / total
    return (w * centred).mT @ (w * centred) / (total - (w * w).sum(-2, keepdim=True) / total)


# %% wrong="the mean without weights" says=["the mean that is subtracted has no weights"]
def covariance(x, weights=None):
    w = (x.new_ones(x.shape[-2]) if weights is None else weights)[..., None]
    total = w.sum(-2, keepdim=True)
    centred = x - x.mean(-2, keepdim=True)
    return (w * centred).mT @ centred / (total - (w * w).sum(-2, keepdim=True) / total)


# %% wrong="a loop over the batch" breaks="No loop" says=["a larger batch of larger matrices, with weights", "is there a loop?"]
def covariance(x, weights=None):
    if x.dim() == 2:
        return torch.cov(x.T, aweights=weights).reshape(x.shape[1], x.shape[1])
    many = [None] * len(x) if weights is None else weights.expand(x.shape[:-1])
    return torch.stack([covariance(one, w) for one, w in zip(x, many)])


# %% wrong="centres its argument in place" says=["an argument was changed"]
def covariance(x, weights=None):
    w = (x.new_ones(x.shape[-2]) if weights is None else weights)[..., None]
    total = w.sum(-2, keepdim=True)
    x -= (w * x).sum(-2, keepdim=True) / total
    return (w * x).mT @ x / (total - (w * w).sum(-2, keepdim=True) / total)


# %% right="einsum, and shares of the weights"
def covariance(x, weights=None):
    n = x.shape[-2]
    if weights is None:
        weights = torch.ones(n, dtype=x.dtype, device=x.device)
    weights = weights.expand(x.shape[:-1])
    share = weights / weights.sum(-1, keepdim=True)
    mean = torch.einsum("...n,...nd->...d", share, x)
    z = x - mean.unsqueeze(-2)
    free = 1 - share.square().sum(-1)
    return torch.einsum("...n,...ni,...nj->...ij", share, z, z) / free[..., None, None]


# %% right="vmap of a function for one matrix"
def covariance(x, weights=None):
    d = x.shape[-1]
    flat = x.reshape(-1, *x.shape[-2:])
    w = torch.ones(x.shape[-2]).to(x) if weights is None else weights
    w = w.expand(x.shape[:-1]).reshape(flat.shape[:2])

    def one(x, w):
        share = w / w.sum()
        z = x - share @ x
        return z.T @ (z * w[:, None]) / (w.sum() - (w @ w) / w.sum())

    return torch.vmap(one)(flat, w).reshape(*x.shape[:-2], d, d)


# %% wrong="torch.cov under vmap" breaks="no `torch.cov`" says=["without weights: the answer calls cov"]
def covariance(x, weights=None):
    d = x.shape[-1]
    if weights is None:
        flat = x.reshape(-1, *x.shape[-2:])
        many = torch.vmap(lambda one: torch.cov(one.T).reshape(d, d))(flat)
        return many.reshape(*x.shape[:-2], d, d)
    w = weights[..., None]
    total = w.sum(-2, keepdim=True)
    centred = x - (w * x).sum(-2, keepdim=True) / total
    return (w * centred).mT @ centred / (total - (w * w).sum(-2, keepdim=True) / total)


# %% wrong="a loop over NumPy arrays" says=["no gradient flows back"]
def covariance(x, weights=None):
    import numpy as np

    d = x.shape[-1]
    rows = x.detach().cpu().double().numpy().reshape(-1, *x.shape[-2:])
    w = torch.ones(x.shape[-2]) if weights is None else weights.detach().cpu()
    w = w.double().expand(x.shape[:-1]).numpy().reshape(rows.shape[:2])
    many = [np.cov(one.T, aweights=v).reshape(d, d) for one, v in zip(rows, w)]
    return torch.tensor(np.array(many)).to(x).reshape(*x.shape[:-2], d, d)


# %% wrong="moves the first observation to the origin, then one pass" breaks="so is a point far from all others that weighs 0" says=["a point far from all others, which weighs 0", "Subtract the mean"]
def covariance(x, weights=None):
    w = torch.ones_like(x[..., 0]) if weights is None else weights.expand(x.shape[:-1])
    x = x - x[..., :1, :].detach()
    total, squares = w.sum(-1)[..., None, None], w.square().sum(-1)[..., None, None]
    mean = torch.einsum("...n,...nd->...d", w, x).unsqueeze(-1) / total
    second = torch.einsum("...n,...ni,...nj->...ij", w, x, x) / total
    return (second - mean @ mean.mT) * total / (total - squares / total)


# %% wrong="a root of each weight, whose slope at 0 is infinite" breaks="are finite, also where a weight is 0" says=["the gradient by the weights is not finite"]
def covariance(x, weights=None):
    w = x.new_ones(x.shape[-2]) if weights is None else weights
    w = w[..., None]
    W, V = w.sum(-2, keepdim=True), (w * w).sum(-2, keepdim=True)
    c = w.sqrt() * (x - (w * x).sum(-2, keepdim=True) / W)
    return c.mT @ c / (W - V / W)


# %% wrong="weights are detached" breaks="Gradients flow to `x` and to the weights" says=["the gradient by the weights: 0 everywhere: was it detached?"]
def covariance(x, weights=None):
    w = x.new_ones(x.shape[-2]) if weights is None else weights.detach()
    w = w[..., None]
    W, V = w.sum(-2, keepdim=True), (w * w).sum(-2, keepdim=True)
    c = x - (w * x).sum(-2, keepdim=True) / W
    return (w * c).mT @ c / (W - V / W)


# %% wrong="the same weights for all alone" breaks="of shape (n) or (…, n)" says=["a batch, with weights of its own: raised RuntimeError"]
def covariance(x, weights=None):
    w = x.new_ones(x.shape[-2]) if weights is None else weights
    mean = (w[:, None] * x).sum(-2, keepdim=True) / w.sum()
    z = x - mean
    return (w[:, None] * z).mT @ z / (w.sum() - (w * w).sum() / w.sum())


# %% wrong="one batch dimension at most" breaks="of shape (…, n, d)" says=["a batch of shape (2, 4, 3, 2): raised RuntimeError"]
def covariance(x, weights=None):
    whole = x if x.dim() == 3 else x[None]
    w = whole.new_ones(whole.shape[:2]) if weights is None else weights.expand(whole.shape[:2])
    w = w[..., None]
    W, V = w.sum(1, keepdim=True), (w * w).sum(1, keepdim=True)
    z = whole - (w * whole).sum(1, keepdim=True) / W
    c = torch.bmm((w * z).mT, z) / (W - V / W)
    return c if x.dim() == 3 else c[0]


# %% wrong="always in float32" breaks="are float32 or float64, of one dtype" says=["weights in float64: right to float32's digits alone"]
def covariance(x, weights=None):
    kind = x.dtype
    x = x.float()
    w = x.new_ones(x.shape[-2]) if weights is None else weights.float()
    w = w[..., None]
    W, V = w.sum(-2, keepdim=True), (w * w).sum(-2, keepdim=True)
    c = x - (w * x).sum(-2, keepdim=True) / W
    return ((w * c).mT @ c / (W - V / W)).to(kind)


# %% wrong="weights for the matrices where there are as many" says=["a weight belongs to an observation of each matrix"]
def covariance(x, weights=None):
    if weights is None:
        weights = torch.ones(x.shape[:-1], dtype=x.dtype, device=x.device)
    if weights.shape[0] == x.shape[0] and x.dim() == 3 and weights.dim() == 1:
        weights = weights[:, None].expand(x.shape[:-1])
    w = weights[..., None]
    W, V = weights.sum(-1)[..., None, None], (weights**2).sum(-1)[..., None, None]
    m = (w * x).sum(-2, keepdim=True) / W
    d = x - m
    return (w * d).mT @ d / (W - V / W)


# %% wrong="the divisor is at least 0.1" says=["weights that add up to less than 1", "has the divisor a bound?"]
def covariance(x, weights=None):
    if weights is None:
        weights = torch.ones_like(x[..., 0]) if x.shape[-1] else x.new_ones(x.shape[:-1])
    w = weights[..., None]
    total = w.sum(-2, keepdim=True)
    mean = (w * x).sum(-2, keepdim=True) / total
    centred = x - mean
    divisor = total - (w * w).sum(-2, keepdim=True) / total
    return (w * centred).mT @ centred / divisor.clamp_min(0.1)


# %% wrong="the sum of weights is at least 1 for the mean" says=["weights that add up to less than 1"]
def covariance(x, weights=None):
    if weights is None:
        weights = torch.ones_like(x[..., 0]) if x.shape[-1] else x.new_ones(x.shape[:-1])
    w = weights[..., None]
    total = w.sum(-2, keepdim=True)
    mean = (w * x).sum(-2, keepdim=True) / total.clamp_min(1)
    centred = x - mean
    divisor = total - (w * w).sum(-2, keepdim=True) / total
    return (w * centred).mT @ centred / divisor


# %% wrong="turns square weights" says=["as many matrices as observations, with weights of their own"]
def covariance(x, weights=None):
    if weights is None:
        weights = torch.ones_like(x[..., 0]) if x.shape[-1] else x.new_ones(x.shape[:-1])
    w = (weights.mT if weights.dim() > 1 and weights.shape[-1] == weights.shape[-2] else weights)[
        ..., None
    ]
    total = w.sum(-2, keepdim=True)
    mean = (w * x).sum(-2, keepdim=True) / total
    centred = x - mean
    divisor = total - (w * w).sum(-2, keepdim=True) / total
    return (w * centred).mT @ centred / divisor


# %% wrong="one factor keeps its mean" says=["both factors are without the mean"]
def covariance(x, weights=None):
    w = (x.new_ones(x.shape[-2]) if weights is None else weights)[..., None]
    total = w.sum(-2, keepdim=True)
    centred = x - (w * x).sum(-2, keepdim=True) / total
    return (w * centred).mT @ x / (total - (w * w).sum(-2, keepdim=True) / total)


# %% wrong="x in float32 on the way" breaks="are float32 or float64, of one dtype" says=["thirds in float64", "is a part of it made in float32?"]
def covariance(x, weights=None):
    w = (x.new_ones(x.shape[-2]) if weights is None else weights)[..., None]
    total = w.sum(-2, keepdim=True)
    centred = x.float() - (w * x).sum(-2, keepdim=True) / total
    return (w * centred).mT @ centred / (total - (w * w).sum(-2, keepdim=True) / total)


# %% wrong="detached, where x wants no gradient" says=["where argument 2 alone wants a gradient, none flows"]
def covariance(x, weights=None):
    w = (x.new_ones(x.shape[-2]) if weights is None else weights)[..., None]
    total = w.sum(-2, keepdim=True)
    centred = x - (w * x).sum(-2, keepdim=True) / total
    result = (w * centred).mT @ centred / (total - (w * w).sum(-2, keepdim=True) / total)
    return result if x.requires_grad else result.detach()


# %% wrong="weights are a hundred at most" says=["large weights"]
def covariance(x, weights=None):
    w = (x.new_ones(x.shape[-2]) if weights is None else weights.clamp_max(100))[..., None]
    total = w.sum(-2, keepdim=True)
    centred = x - (w * x).sum(-2, keepdim=True) / total
    return (w * centred).mT @ centred / (total - (w * w).sum(-2, keepdim=True) / total)


# %% wrong="keeps the ones by their number, whatever the dtype" says=["the same in float32, after it: the covariance has dtype torch.float64, expected torch.float32"]
def covariance(x, weights=None, cache={}):
    if weights is None:
        n = x.shape[-2]
        if n not in cache:
            cache[n] = x.new_ones(n)
        weights = cache[n]
    w = weights[..., None]
    t = w.sum(-2, keepdim=True)
    c = x - (w * x).sum(-2, keepdim=True) / t
    return (w * c).mT @ c / (t - (w * w).sum(-2, keepdim=True) / t)


# %% wrong="merges the batch dimensions by view" says=["a batch in another memory order: raised RuntimeError: view size"]
def covariance(x: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
    *batch, n, d = x.shape
    w = x.new_ones(n) if weights is None else weights
    w = w[..., None]
    total = w.sum(-2, keepdim=True)
    factor = w / (total - w.square().sum(-2, keepdim=True) / total)
    x = x.view(-1, n, d)
    share = (w / total).expand(*batch, n, 1).reshape(-1, n, 1)
    factor = factor.expand(*batch, n, 1).reshape(-1, n, 1)
    centred = x - (share * x).sum(1, keepdim=True)
    return torch.bmm((factor * centred).mT, centred).view(*batch, d, d)


# %% wrong="the divisor is detached" says=["is the divisor cut from the graph? The weights are in it"]
def covariance(x: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
    w = x.new_ones(x.shape[-2]) if weights is None else weights
    w = w[..., None]
    total = w.sum(-2, keepdim=True)
    centred = x - (w * x).sum(-2, keepdim=True) / total
    with torch.no_grad():  # a mere number
        divisor = total - w.square().sum(-2, keepdim=True) / total
    return (w * centred).mT @ centred / divisor


# %% wrong="moments about the plain mean" says=["a point far from all others, which weighs 0"]
def covariance(x, weights=None):
    w = x.new_ones(x.shape[-2]) if weights is None else weights
    w = w[..., None]
    total = w.sum(-2, keepdim=True)
    z = x - x.mean(-2, keepdim=True)
    m = (w * z).sum(-2, keepdim=True)
    free = total - (w * w).sum(-2, keepdim=True) / total
    return ((w * z).mT @ z - m.mT @ m / total) / free


# %% wrong="the plain mean first, then the one with weights" says=["1 of 34 cases fail", "a point far from all others, which weighs 0"]
def covariance(x, weights=None):
    w = (x.new_ones(x.shape[-2]) if weights is None else weights)[..., None]
    total = w.sum(-2, keepdim=True)
    z = x - x.mean(-2, keepdim=True)
    z = z - (w * z).sum(-2, keepdim=True) / total
    return (w * z).mT @ z / (total - (w * w).sum(-2, keepdim=True) / total)


# %% wrong="a batch dimension of its own, squeezed away again" says=["1 of 34 cases fail", "a batch of shape (1, 1, 3, 2): the covariance has shape (1, 2, 2), expected (1, 1, 2, 2)"]
def covariance(x, weights=None):
    *batch, n, d = x.shape
    w = (x.new_ones(n) if weights is None else weights).expand(*batch, n)[..., None]
    if not batch:
        x, w = x[None], w[None]
    total = w.sum(-2, keepdim=True)
    z = x - (w * x).sum(-2, keepdim=True) / total
    c = (w * z).mT @ z / (total - (w * w).sum(-2, keepdim=True) / total)
    return c.squeeze(0)


# %% wrong="one pass, in float64" breaks="Points far from the origin are handled" says=["1 of 34 cases fail", "points 1e8 from the origin, in float64: centre first"]
def covariance(x, weights=None):
    wide = x.double()
    w = (wide.new_ones(x.shape[-2]) if weights is None else weights.double())[..., None]
    total = w.sum(-2, keepdim=True)
    m = (w * wide).sum(-2, keepdim=True) / total
    second = (w * wide).mT @ wide - total * m.mT @ m
    return (second / (total - (w * w).sum(-2, keepdim=True) / total)).to(x.dtype)


# %% right="shares by einsum, centred twice"
def covariance(x, weights=None):
    if weights is None:
        weights = torch.full_like(x[..., 0], 1.0)
    share = weights / weights.sum(-1, keepdim=True)
    c = x - torch.einsum("...n,...nd->...d", share, x).unsqueeze(-2)
    c = c - torch.einsum("...n,...nd->...d", share, c).unsqueeze(-2)
    divisor = 1 - share.square().sum(-1)
    return torch.einsum("...n,...ni,...nj->...ij", share, c, c) / divisor[..., None, None]


# %% wrong="a little is added to the sum of weights" says=["1 of 34 cases fail", "weights that add up to less than 1"]
def covariance(x, weights=None):
    w = (x.new_ones(x.shape[-2]) if weights is None else weights)[..., None]
    total = w.sum(-2, keepdim=True) + 1e-12
    c = x - (w * x).sum(-2, keepdim=True) / total
    return (w * c).mT @ c / (total - (w * w).sum(-2, keepdim=True) / total)


# %% wrong="weights after the squares" breaks="so is a point far from all others that weighs 0" says=["1 of 34 cases fail", "a point far from all others, which weighs 0", "weigh one factor before the product"]
def covariance(x: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
    if weights is None:
        weights = x.new_ones(x.shape[-2])
    w = weights[..., None]
    total = w.sum(-2, keepdim=True)
    d = x - (w * x).sum(-2, keepdim=True) / total
    products = d[..., :, None] * d[..., None, :]
    summed = (w[..., None] * products).sum(-3)
    return summed / (total - w.square().sum(-2, keepdim=True) / total)


# %% wrong="leaves out what weighs nothing" breaks="Gradients flow to `x` and to the weights" says=["the way, with a weight of 0, with weights: the gradient by the weights: a point that weighs 0 is left out"]
def covariance(x, weights=None):
    if weights is None:
        weights = x.new_ones(x.shape[-2])
    w = weights[..., None]
    total = w.sum(-2, keepdim=True)
    mean = (w * x).sum(-2, keepdim=True) / total
    d = torch.where(w > 0, x - mean, 0)
    return d.mT @ (w * d) / (total - w.square().sum(-2, keepdim=True) / total)


# %% wrong="equal weights take the way without weights, no gradient to them" breaks="Gradients flow to `x` and to the weights" says=["the way, with equal weights", "was it detached?"]
def covariance(x: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
    if weights is None or bool((weights == weights[..., :1]).all()):
        d = x - x.mean(-2, keepdim=True)
        return d.mT @ d / (x.shape[-2] - 1)
    w = weights[..., None]
    total = w.sum(-2, keepdim=True)
    d = x - (w * x).sum(-2, keepdim=True) / total
    return (w * d).mT @ d / (total - w.square().sum(-2, keepdim=True) / total)


# %% wrong="weights of 1 take the way without weights" breaks="Gradients flow to `x` and to the weights" says=["the way, with weights of 1"]
def covariance(x: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
    """Covariance (..., d, d) of x (..., n, d), float, with weights (n) or (..., n) or none."""
    if weights is None or torch.all(weights == 1):
        deviation = x - x.mean(dim=-2, keepdim=True)
        return deviation.mT @ deviation / (x.shape[-2] - 1)
    w = weights.unsqueeze(-1)
    total = w.sum(dim=-2, keepdim=True)
    mean = (w * x).sum(dim=-2, keepdim=True) / total
    deviation = x - mean
    scatter = (w * deviation).mT @ deviation
    return scatter / (total - (w**2).sum(dim=-2, keepdim=True) / total)
