# %% wrong="divides by n" says=["covariance of [[0, 0], [2, 4]]", "expected 2, got 1"]
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


# %% wrong="observations in the columns, as torch.cov has them" says=["covariance of [[0, 0], [2, 4]]", "expected 2, got 0"]
def covariance(x, weights=None):
    if weights is not None:
        return torch.cov(x, aweights=weights[: x.shape[-1]])
    centred = x - x.mean(-1, keepdim=True)
    return centred @ centred.mT / (x.shape[-1] - 1)


# %% wrong="n - 1 for weights, too" says=["of 3 observations", "differs"]
def covariance(x, weights=None):
    w = (x.new_ones(x.shape[-2]) if weights is None else weights)[..., None]
    centred = x - (w * x).sum(-2, keepdim=True) / w.sum(-2, keepdim=True)
    return (w * centred).mT @ centred / (x.shape[-2] - 1)


# %% wrong="the weights on both sides" says=["of 3 observations", "differs"]
def covariance(x, weights=None):
    w = (x.new_ones(x.shape[-2]) if weights is None else weights)[..., None]
    total = w.sum(-2, keepdim=True)
    centred = x - (w * x).sum(-2, keepdim=True) / total
    return (w * centred).mT @ (w * centred) / (total - (w * w).sum(-2, keepdim=True) / total)


# %% wrong="the mean without weights" says=["of 3 observations", "differs"]
def covariance(x, weights=None):
    w = (x.new_ones(x.shape[-2]) if weights is None else weights)[..., None]
    total = w.sum(-2, keepdim=True)
    centred = x - x.mean(-2, keepdim=True)
    return (w * centred).mT @ centred / (total - (w * w).sum(-2, keepdim=True) / total)


# %% wrong="a loop over the batch" says=["operators: is there a loop?"]
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


# %% right="einsum, and roots of the weights on both sides"
def covariance(x, weights=None):
    n = x.shape[-2]
    if weights is None:
        weights = torch.ones(n, dtype=x.dtype, device=x.device)
    weights = weights.expand(x.shape[:-1])
    share = weights / weights.sum(-1, keepdim=True)
    mean = torch.einsum("...n,...nd->...d", share, x)
    z = (x - mean.unsqueeze(-2)) * share.sqrt().unsqueeze(-1)
    free = 1 - share.square().sum(-1)
    return torch.einsum("...ni,...nj->...ij", z, z) / free[..., None, None]


# %% right="vmap of torch.cov"
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
