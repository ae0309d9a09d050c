# %% wrong="plain mean" says=["that is the mean of the ranks' means: weight each by its count"]
def unequal_shards(gradient, count):
    total = gradient.contiguous().clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()


# %% wrong="zero times NaN" says=["0 * NaN is NaN"]
def unequal_shards(gradient, count):
    total = gradient.contiguous() * count
    samples = torch.tensor(float(count), dtype=gradient.dtype, device=gradient.device)
    dist.all_reduce(total)
    dist.all_reduce(samples)
    return total / samples


# %% wrong="in place" says=["the gradient that was handed in was changed"]
def unequal_shards(gradient, count):
    if count == 0:
        gradient.zero_()
    gradient *= count
    samples = torch.tensor(float(count), dtype=gradient.dtype, device=gradient.device)
    dist.all_reduce(gradient)
    dist.all_reduce(samples)
    return gradient / samples


# %% wrong="the weighted sum" says=["the gradient of the mean over all samples"]
def unequal_shards(gradient, count):
    total = gradient.contiguous() * count if count else torch.zeros_like(gradient).contiguous()
    dist.all_reduce(total)
    return total


# %% wrong="a rank without samples stays away" says=["every rank has to make the same calls, also one without samples"]
def unequal_shards(gradient, count):
    if count == 0:
        return torch.zeros_like(gradient)
    total = gradient.contiguous() * count
    samples = torch.tensor(float(count), dtype=gradient.dtype, device=gradient.device)
    dist.all_reduce(total)
    dist.all_reduce(samples)
    return total / samples


# %% right="gathers and weights"
def unequal_shards(gradient, count):
    pairs = [None] * dist.get_world_size()
    dist.all_gather_object(pairs, (gradient.cpu(), count))
    used = [(g, n) for g, n in pairs if n > 0]
    weights = torch.tensor([n for _, n in used], dtype=gradient.dtype)
    weights /= weights.sum()
    return torch.einsum("r,r...->...", weights, torch.stack([g for g, _ in used])).to(
        gradient.device
    )


# %% right="one call, the count behind the gradient"
def unequal_shards(gradient, count):
    flat = torch.nan_to_num(gradient.reshape(-1)) * count
    both = torch.cat([flat, flat.new_tensor([count])])
    dist.all_reduce(both)
    return (both[:-1] / both[-1]).reshape(gradient.shape)


# %% wrong="divides by the number of ranks" says=["divide by all samples"]
def unequal_shards(gradient, count):
    total = torch.nan_to_num(gradient) * count
    total = total.contiguous()
    dist.all_reduce(total)
    return total / dist.get_world_size()


# %% right="gathers objects"
def unequal_shards(gradient, count):
    pairs = [None] * dist.get_world_size()
    dist.all_gather_object(pairs, (gradient.cpu(), count))
    total = sum(c for _, c in pairs)
    out = torch.zeros(gradient.shape, dtype=gradient.dtype)
    for g, c in pairs:
        if c:
            out += g * (c / total)
    return out.to(gradient.device)
