# %% [markdown]
# Rules:
#
# - "*different* columns"
# - "among the allowed ones"
# - "all choices equally likely"
# - "each row for itself"
# - "int64 of shape (rows, k)"
# - "fewer than `k` allowed columns"
# - "raise a `ValueError`"
# - "No loop"
# - "no row is taken out into Python or NumPy"
# - "All chance comes from `generator`"
# - "the same state gives the same draw"
#
# Admits:
#
# - "draw `k >= 1`": one row, k = 1
# - "with at least one row": one row, k = 1
# - "fewer than `k` allowed columns": two columns, and k = 3
# - "fewer than `k` allowed": no column at all

# %% wrong="randint, which may draw the same twice" breaks="*different* columns" says=["drew a column twice in one row"]
def sample_without_replacement(allowed, k, generator):
    counts = allowed.sum(dim=1, keepdim=True)
    if (counts < k).any():
        raise ValueError("too few")
    keys = torch.rand(len(allowed), k, generator=generator).to(allowed.device)
    places = (keys * counts).long()
    return allowed.to(torch.int8).argsort(dim=1, descending=True, stable=True).gather(1, places)


# %% wrong="one permutation for all rows" breaks="each row for itself" says=["each row for itself: all rows drew the same columns"]
def sample_without_replacement(allowed, k, generator):
    if (allowed.sum(dim=1) < k).any():
        raise ValueError("too few")
    keys = torch.rand(allowed.shape[1], generator=generator).to(allowed.device)
    return torch.where(allowed, keys, -1).topk(k, dim=1).indices


# %% wrong="forgets the generator" breaks="All chance comes from `generator`" says=["the same state gave another draw"]
def sample_without_replacement(allowed, k, generator):
    if (allowed.sum(dim=1) < k).any():
        raise ValueError("too few")
    keys = torch.rand(allowed.shape, device=allowed.device)
    return keys.masked_fill(~allowed, -1).topk(k, dim=1).indices


# %% wrong="a randperm for each row" breaks="No loop" says=["that is a loop over the rows"]
def sample_without_replacement(allowed, k, generator):
    rows = []
    for row in allowed:
        columns = row.nonzero()[:, 0]
        if len(columns) < k:
            raise ValueError("too few")
        order = torch.randperm(len(columns), generator=generator)[:k].to(row.device)
        rows.append(columns[order])
    return torch.stack(rows)


# %% wrong="no look at how many there are" breaks="raise a `ValueError`" says=["a row that has one allowed column: sample_without_replacement, k = 2 returned"]
def sample_without_replacement(allowed, k, generator):
    keys = torch.rand(allowed.shape, generator=generator).to(allowed.device)
    return keys.masked_fill(~allowed, -1).topk(k, dim=1).indices


# %% wrong="the mask the wrong way round" breaks="among the allowed ones" says=["drew what is not allowed"]
def sample_without_replacement(allowed, k, generator):
    if (allowed.sum(dim=1) < k).any():
        raise ValueError("too few")
    keys = torch.rand(allowed.shape, generator=generator).to(allowed.device)
    return keys.masked_fill(allowed, -1).topk(k, dim=1).indices


# %% wrong="columns to the right are likelier" breaks="all choices equally likely" says=["all choices are equally likely"]
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


# %% wrong="NumPy's choice, row by row" breaks="no row is taken out into Python or NumPy" says=["takes the numbers out of the tensors"]
def sample_without_replacement(allowed, k, generator):
    if (allowed.sum(dim=1) < k).any():
        raise ValueError("too few")
    numbers = np.random.default_rng(int(torch.randint(2**31, (1,), generator=generator)))
    rows = [numbers.choice(np.flatnonzero(row), k, replace=False) for row in allowed.numpy()]
    return torch.from_numpy(np.stack(rows))


# %% wrong="a copy of the generator" breaks="the same state gives the same draw" says=["two draws from it are equal: it did not move on"]
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


# %% wrong="unfair, and without a look at how many there are" says=["6 of 6 cases fail", "all choices are equally likely", "a row that has one allowed column: sample_without_replacement, k = 2 returned"]
def sample_without_replacement(allowed, k, generator):
    keys = torch.rand(allowed.shape, generator=generator).to(allowed.device)
    keys = keys + 0.2 * torch.arange(allowed.shape[1], device=allowed.device)
    return keys.masked_fill(~allowed, -1).topk(k, dim=1).indices


# %% wrong="squeezes k = 1" breaks="int64 of shape (rows, k)" says=["one row, k = 1: the draw has shape", "has shape (), expected (1, 1)"]
def sample_without_replacement(allowed, k, generator):
    if (allowed.sum(1) < k).any():
        raise ValueError("too few")
    keys = torch.rand(allowed.shape, generator=generator).to(allowed.device)
    return keys.masked_fill(~allowed, -1).topk(k, dim=1).indices.squeeze()


# %% wrong="looks at what was drawn, after it" breaks="fewer than `k` allowed columns" says=["two columns, and k = 3", "raised RuntimeError (selected index k out of range), expected ValueError"]
def sample_without_replacement(allowed, k, generator):
    keys = torch.rand(allowed.shape, generator=generator).to(allowed.device)
    found, columns = keys.masked_fill(~allowed, -1).topk(k, dim=1)
    if (found < 0).any():
        raise ValueError("too few")
    return columns


# %% wrong="a mask of what was drawn" says=["the example: the draw has shape (2, 3), expected (2, 2)"]
def sample_without_replacement(allowed, k, generator):
    if (allowed.sum(1) < k).any():
        raise ValueError("too few")
    keys = torch.rand(allowed.shape, generator=generator).to(allowed.device)
    columns = keys.masked_fill(~allowed, -1).topk(k, dim=1).indices
    return torch.zeros_like(allowed).scatter_(1, columns, True)


# %% wrong="int32" says=["the example: the draw has dtype torch.int32, expected torch.int64"]
def sample_without_replacement(allowed, k, generator):
    if (allowed.sum(1) < k).any():
        raise ValueError("too few")
    keys = torch.rand(allowed.shape, generator=generator).to(allowed.device)
    return keys.masked_fill(~allowed, -1).topk(k, dim=1).indices.int()


# %% wrong="counts the allowed columns of all rows together" says=["one allowed column beside three"]
def sample_without_replacement(allowed, k, generator):
    if allowed.sum() < k * len(allowed):
        raise ValueError("too few")
    return (
        torch.rand(allowed.shape, generator=generator)
        .masked_fill(~allowed.cpu(), -1)
        .topk(k, 1)
        .indices.to(allowed.device)
    )


# %% wrong="counts in int8" says=["300 columns, all allowed"]
def sample_without_replacement(allowed, k, generator):
    if (allowed.to(torch.int8).sum(dim=1, dtype=torch.int8) < k).any():
        raise ValueError(f"a row has fewer than {k} allowed columns")
    keys = torch.rand(allowed.shape, generator=generator)
    keys = keys.masked_fill(~allowed.cpu(), -1.0)
    return keys.topk(k, dim=1).indices.to(allowed.device)


# %% wrong="what may not be drawn gets the key 0" says=["one column whose key in torch.rand is exactly 0", "drew what is not allowed"]
def sample_without_replacement(allowed, k, generator):
    if bool((allowed.sum(dim=1) < k).any()):
        raise ValueError("too few allowed columns")
    keys = torch.rand(allowed.shape, generator=generator).to(allowed.device)
    return keys.masked_fill(~allowed, 0.0).topk(k, dim=1).indices


# %% wrong="keys times the mask" says=["one column whose key in torch.rand is exactly 0", "drew what is not allowed"]
def sample_without_replacement(allowed, k, generator):
    if bool((allowed.sum(dim=1) < k).any()):
        raise ValueError("too few allowed columns")
    keys = torch.rand(allowed.shape, generator=generator).to(allowed.device)
    return (keys * allowed).topk(k, dim=1).indices


# %% wrong="two rows share their keys" says=["rows drew the very ten columns that another row drew"]
def sample_without_replacement(allowed, k, generator):
    if bool((allowed.sum(dim=1) < k).any()):
        raise ValueError("too few allowed columns")
    keys = torch.rand((len(allowed) + 1) // 2, allowed.shape[1], generator=generator)
    keys = keys.repeat_interleave(2, 0)[: len(allowed)].to(allowed.device)
    return keys.masked_fill(~allowed, -1.0).topk(k, dim=1).indices


# %% wrong="few keys, many of them equal" says=["some are drawn more often"]
def sample_without_replacement(allowed, k, generator):
    if bool((allowed.sum(dim=1) < k).any()):
        raise ValueError("too few allowed columns")
    keys = torch.randint(0, 50, allowed.shape, generator=generator).float().to(allowed.device)
    return keys.masked_fill(~allowed, -1.0).topk(k, dim=1).indices
