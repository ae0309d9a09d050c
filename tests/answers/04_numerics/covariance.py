# %% wrong="divides by n" says=["it is divided by the sum of weights; the formula's divisor is smaller"]
def covariance(x, weights=None):
    w = x.new_ones(x.shape[-2]) if weights is None else weights
    w = (w / w.sum(-1, keepdim=True))[..., None]
    centred = x - (w * x).sum(-2, keepdim=True)
    return (w * centred).mT @ centred


# %% wrong="one pass: the mean of the products minus the product of the means" says=["far from the origin, in float32"]
def covariance(x, weights=None):
    w = (x.new_ones(x.shape[-2]) if weights is None else weights)[..., None]
    total = w.sum(-2, keepdim=True)
    mean = (w * x).sum(-2, keepdim=True) / total
    scatter = (w * x).mT @ x / total - mean.mT @ mean
    return scatter * total / (total - (w * w).sum(-2, keepdim=True) / total)


# %% wrong="observations in the columns, as torch.cov has them" says=["the observations lie in the rows, the variables in the columns"]
def covariance(x, weights=None):
    if weights is not None:
        return torch.cov(x, aweights=weights[: x.shape[-1]])
    centred = x - x.mean(-1, keepdim=True)
    return centred @ centred.mT / (x.shape[-1] - 1)


# %% wrong="n - 1 for weights, too" says=["it is divided by n - 1; with weights the divisor is W - V / W"]
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


# %% wrong="a loop over the batch" says=["126 operators ran: is there a loop?"]
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


# %% wrong="torch.cov under vmap" says=["without weights: the answer calls cov"]
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


# %% right="moves the first observation to the origin, then one pass"
def covariance(x, weights=None):
    w = torch.ones_like(x[..., 0]) if weights is None else weights.expand(x.shape[:-1])
    x = x - x[..., :1, :].detach()
    total, squares = w.sum(-1)[..., None, None], w.square().sum(-1)[..., None, None]
    mean = torch.einsum("...n,...nd->...d", w, x).unsqueeze(-1) / total
    second = torch.einsum("...n,...ni,...nj->...ij", w, x, x) / total
    return (second - mean @ mean.mT) * total / (total - squares / total)


# %% wrong="a root of each weight, whose slope at 0 is infinite" says=["the gradient by the weights is not finite"]
def covariance(x, weights=None):
    w = x.new_ones(x.shape[-2]) if weights is None else weights
    w = w[..., None]
    W, V = w.sum(-2, keepdim=True), (w * w).sum(-2, keepdim=True)
    c = w.sqrt() * (x - (w * x).sum(-2, keepdim=True) / W)
    return c.mT @ c / (W - V / W)


# %% wrong="weights are detached" says=["the gradient by the weights: 0 everywhere: was it detached?"]
def covariance(x, weights=None):
    w = x.new_ones(x.shape[-2]) if weights is None else weights.detach()
    w = w[..., None]
    W, V = w.sum(-2, keepdim=True), (w * w).sum(-2, keepdim=True)
    c = x - (w * x).sum(-2, keepdim=True) / W
    return (w * c).mT @ c / (W - V / W)
