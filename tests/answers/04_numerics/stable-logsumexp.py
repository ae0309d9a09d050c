# %% wrong="as written on paper" says=["= [[0, 0], [1000, 1000]]", "expected 1000.69, got inf"]
def stable_logsumexp(x, dim):
    return x.exp().sum(dim).log()


# %% wrong="subtracts a maximum of minus infinity" says=["with a row of −∞ holds NaN", "∞ − ∞"]
def stable_logsumexp(x, dim):
    m = x.amax(dim, keepdim=True)
    return (x - m).exp().sum(dim).log() + m.squeeze(dim)


# %% wrong="mends the value, not the gradient" says=["the gradient of", "with x all −∞ is NaN", "0 · ∞"]
def stable_logsumexp(x, dim):
    m = x.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0)
    return (x - m).exp().sum(dim).log() + m.squeeze(dim)


# %% wrong="one maximum for the whole tensor" says=["= [[0, 0], [1000, 1000]]", "got -inf"]
def stable_logsumexp(x, dim):
    m = x.detach().max()
    return (x - m).exp().sum(dim).log() + m


# %% wrong="forgets to add the maximum again" says=["expected 1000.69, got 0.693147"]
def stable_logsumexp(x, dim):
    return (x - x.amax(dim, keepdim=True)).exp().sum(dim).log()


# %% wrong="PyTorch's own" says=["logsumexp", "ran; build it from exp, sum and log"]
def stable_logsumexp(x, dim):
    return torch.logsumexp(x, dim)


# %% wrong="keeps the dimension" says=["a dimension of size 1 is missing or too many"]
def stable_logsumexp(x, dim):
    m = x.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0)
    return (x - m).exp().sum(dim, keepdim=True).log() + m


# %% wrong="a tiny number in the logarithm" says=["with a row of −∞", "expected -inf"]
def stable_logsumexp(x, dim):
    m = x.detach().amax(dim, keepdim=True).clamp(min=-1e30, max=1e30)
    return ((x - m).exp().sum(dim) + 1e-30).log() + m.squeeze(dim)


# %% wrong="a subtraction that cuts the gradient" says=["no gradient flows back"]
def stable_logsumexp(x, dim):
    x = x.detach()
    m = x.amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0)
    return (x - m).exp().sum(dim).log() + m.squeeze(dim)


# %% right="nan_to_num and where; the maximum by max"
def stable_logsumexp(x, dim):
    top = x.max(dim=dim, keepdim=True).values.detach()
    base = torch.where(top.abs() == torch.inf, torch.zeros_like(top), top)
    weight = torch.exp(x - base)
    total = torch.sum(weight, dim=dim, keepdim=True)
    empty = total == 0
    safe = torch.where(empty, torch.ones_like(total), total)
    value = torch.where(empty, torch.full_like(total, -torch.inf), base + torch.log(safe))
    return value.squeeze(dim)


# %% right="the maximum counts as 1, log1p of the rest"
def stable_logsumexp(x, dim):
    x = x.movedim(dim, -1)
    with torch.no_grad():
        place = x.argmax(-1, keepdim=True)
        top = x.gather(-1, place)
        dead = ~torch.isfinite(top)
        base = top.masked_fill(dead, 0)
    total = (x - base).exp().sum(-1)
    none = total == 0
    result = torch.log1p(total.masked_fill(none, 1) - 1) + base.squeeze(-1)
    return torch.where(none, -torch.inf, result)
