# %% wrong="randint, which may draw the same twice" says=["drew a column twice in one row"]
def sample_without_replacement(allowed, k, generator):
    counts = allowed.sum(dim=1, keepdim=True)
    if (counts < k).any():
        raise ValueError("too few")
    keys = torch.rand(len(allowed), k, generator=generator).to(allowed.device)
    places = (keys * counts).long()
    return allowed.to(torch.int8).argsort(dim=1, descending=True, stable=True).gather(1, places)


# %% wrong="one permutation for all rows" says=["each row for itself: all rows drew the same columns"]
def sample_without_replacement(allowed, k, generator):
    if (allowed.sum(dim=1) < k).any():
        raise ValueError("too few")
    keys = torch.rand(allowed.shape[1], generator=generator).to(allowed.device)
    return torch.where(allowed, keys, -1).topk(k, dim=1).indices


# %% wrong="forgets the generator" says=["the same state gave another draw"]
def sample_without_replacement(allowed, k, generator):
    if (allowed.sum(dim=1) < k).any():
        raise ValueError("too few")
    keys = torch.rand(allowed.shape, device=allowed.device)
    return keys.masked_fill(~allowed, -1).topk(k, dim=1).indices


# %% wrong="a randperm for each row" says=["that is a loop over the rows"]
def sample_without_replacement(allowed, k, generator):
    rows = []
    for row in allowed:
        columns = row.nonzero()[:, 0]
        if len(columns) < k:
            raise ValueError("too few")
        order = torch.randperm(len(columns), generator=generator)[:k].to(row.device)
        rows.append(columns[order])
    return torch.stack(rows)


# %% wrong="no look at how many there are" says=["a row that has one allowed column returned"]
def sample_without_replacement(allowed, k, generator):
    keys = torch.rand(allowed.shape, generator=generator).to(allowed.device)
    return keys.masked_fill(~allowed, -1).topk(k, dim=1).indices


# %% wrong="the mask the wrong way round" says=["drew what is not allowed"]
def sample_without_replacement(allowed, k, generator):
    if (allowed.sum(dim=1) < k).any():
        raise ValueError("too few")
    keys = torch.rand(allowed.shape, generator=generator).to(allowed.device)
    return keys.masked_fill(allowed, -1).topk(k, dim=1).indices


# %% wrong="columns to the right are likelier" says=["all choices are equally likely"]
def sample_without_replacement(allowed, k, generator):
    if (allowed.sum(dim=1) < k).any():
        raise ValueError("too few")
    keys = torch.rand(allowed.shape, generator=generator).to(allowed.device)
    keys = keys + 0.2 * torch.arange(allowed.shape[1], device=allowed.device)
    return keys.masked_fill(~allowed, -1).topk(k, dim=1).indices


# %% wrong="the first k allowed ones" says=["all rows drew the same columns"]
def sample_without_replacement(allowed, k, generator):
    if (allowed.sum(dim=1) < k).any():
        raise ValueError("too few")
    return allowed.to(torch.int8).argsort(dim=1, descending=True, stable=True)[:, :k]


# %% right="multinomial"
def sample_without_replacement(allowed, k, generator):
    if (allowed.sum(dim=1) < k).any():
        raise ValueError(f"{k} are too many")
    drawn = torch.multinomial(allowed.cpu().float(), k, generator=generator)
    return drawn.to(allowed.device)


# %% right="argsort of normal keys, the forbidden ones last"
def sample_without_replacement(allowed, k, generator):
    if int(allowed.count_nonzero(dim=1).min()) < k:
        raise ValueError("not enough columns")
    keys = torch.randn(allowed.shape, generator=generator).to(allowed.device)
    return torch.where(allowed, keys, torch.inf).argsort(dim=1)[:, :k]


# %% wrong="NumPy's choice, row by row" says=["takes the numbers out of the tensors"]
def sample_without_replacement(allowed, k, generator):
    if (allowed.sum(dim=1) < k).any():
        raise ValueError("too few")
    numbers = np.random.default_rng(int(torch.randint(2**31, (1,), generator=generator)))
    rows = [numbers.choice(np.flatnonzero(row), k, replace=False) for row in allowed.numpy()]
    return torch.from_numpy(np.stack(rows))


# %% wrong="a copy of the generator" says=["two draws from it are equal: it did not move on"]
def sample_without_replacement(allowed, k, generator):
    if (allowed.sum(1) < k).any():
        raise ValueError("too few")
    own = torch.Generator()
    own.set_state(generator.get_state())
    keys = torch.rand(allowed.shape, generator=own).to(allowed.device)
    return keys.masked_fill(~allowed, -1).topk(k, dim=1).indices


# %% right="a permutation of all, sorted by allowed"
def sample_without_replacement(allowed, k, generator):
    if not (allowed.long().sum(-1) >= k).all():
        raise ValueError("too few")
    keys = (
        torch.randperm(allowed.numel(), generator=generator).view(allowed.shape).to(allowed.device)
    )
    return torch.where(allowed, keys, -1).sort(dim=1, descending=True).indices.narrow(1, 0, k)


# %% wrong="unfair, and without a look at how many there are" says=["2 of 2 cases fail", "all choices are equally likely", "a row that has one allowed column returned"]
def sample_without_replacement(allowed, k, generator):
    keys = torch.rand(allowed.shape, generator=generator).to(allowed.device)
    keys = keys + 0.2 * torch.arange(allowed.shape[1], device=allowed.device)
    return keys.masked_fill(~allowed, -1).topk(k, dim=1).indices
