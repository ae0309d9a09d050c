# %% wrong="takes the root of zero" says=["the gradient by x of", "is NaN: what is the slope of the root at 0?"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        return ((x[:, None] - y) ** 2).sum(-1).sqrt()
    centre = y.sum(0) / max(len(y), 1)
    x, y = x - centre, y - centre
    return ((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T).clamp_min(0).sqrt()


# %% wrong="masks after the root alone" says=["the gradient by x of", "is NaN"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        squared = ((x[:, None] - y) ** 2).sum(-1)
    else:
        centre = y.sum(0) / max(len(y), 1)
        x, y = x - centre, y - centre
        squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    return torch.where(squared > 0, squared.sqrt(), 0)


# %% wrong="the identity without a centre" says=["points far from the origin, in float32", '"gram"']
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        squared = ((x[:, None] - y) ** 2).sum(-1)
    else:
        squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


# %% wrong="cdist by default" says=["cdist took the Gram identity; name its compute_mode"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y)
    if how == "broadcast":
        squared = ((x[:, None] - y) ** 2).sum(-1)
    else:
        centre = y.sum(0) / max(len(y), 1)
        x, y = x - centre, y - centre
        squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


# %% wrong="cdist for all three" says=['"broadcast") ran cdist 1 times']
def pairwise_three_ways(x, y, how):
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


# %% wrong="writes out the differences for the identity" says=['"gram"', "a copy was made"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    squared = ((x[:, None] - y) ** 2).sum(-1) + (0 if how == "broadcast" else 0 * (x @ y.T))
    zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


# %% wrong="squared distances" says=["the example, where two points coincide", "expected 5, got 25"]
def pairwise_three_ways(x, y, how):
    return ((x[:, None] - y) ** 2).sum(-1)


# %% wrong="no clamp, no mask" says=["the gradient by x of", "is NaN"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        return ((x[:, None] - y) ** 2).sum(-1).add(1e-14).sqrt()
    return ((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T).sqrt()


# %% wrong="a loop over the rows" says=["operators: is there a loop?"]
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        if not len(x):
            return x.new_zeros(0, len(y)) + 0 * (x.sum() + y.sum())
        return torch.stack([((row - y) ** 2).sum(-1).add(1e-14).sqrt() for row in x])
    centre = y.sum(0) / max(len(y), 1)
    x, y = x - centre, y - centre
    squared = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    zero = squared <= 0
    return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


# %% right="a tiny number in the root; addmm; the centre of x"
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, p=2.0, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        gap = y[None, :, :] - x[:, None, :]
        return torch.sqrt(torch.sum(gap * gap, dim=2) + 1e-14)
    if x.shape[0]:
        middle = x.detach().mean(dim=0)
        x, y = x - middle, y - middle
    sums = x.pow(2).sum(1, keepdim=True) + y.pow(2).sum(1, keepdim=True).T
    squared = torch.addmm(sums, x, y.mT, alpha=-2)
    return squared.clamp(min=1e-14).sqrt()


# %% right="einsum for the squares, vector_norm for the differences"
def pairwise_three_ways(x, y, how):
    if how == "cdist":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    if how == "broadcast":
        return torch.linalg.vector_norm(x.unsqueeze(1) - y.unsqueeze(0), dim=-1)
    shift = y[:1].detach() if len(y) else 0
    x, y = x - shift, y - shift
    squared = (x**2).sum(-1).unsqueeze(1) - 2 * torch.mm(x, y.t()) + (y**2).sum(-1).unsqueeze(0)
    positive = squared > 0
    root = torch.where(positive, squared, torch.ones_like(squared)).sqrt()
    return torch.where(positive, root, torch.zeros_like(root))
