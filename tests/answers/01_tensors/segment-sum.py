# %% wrong="adds through an index, which loses what comes twice" says=["where a segment comes twice", "expected 6, got 5"]
def segment_sum(values, segments, count):
    result = values.new_zeros(count, *values.shape[1:])
    result[segments] += values
    return result


# %% wrong="a loop over the segments" says=["that is a loop"]
def segment_sum(values, segments, count):
    return torch.stack([values[segments == s].sum(dim=0) for s in range(count)]).to(values.dtype)


# %% wrong="as many segments as there are labels" says=["has shape (3, 2), expected (4, 2)"]
def segment_sum(values, segments, count):
    result = values.new_zeros(int(segments.max()) + 1, *values.shape[1:])
    return result.index_add_(0, segments, values)


# %% wrong="scatter_add_ of an index that is too small" says=["where a segment comes twice", "differs in"]
def segment_sum(values, segments, count):
    result = values.new_zeros(count, *values.shape[1:])
    index = segments.view(-1, *[1] * (values.dim() - 1))
    return result.scatter_add_(0, index, values)


# %% wrong="float zeros for every dtype" says=["has dtype torch.float32", "expected torch.float64"]
def segment_sum(values, segments, count):
    result = torch.zeros(count, *values.shape[1:], device=values.device)
    return result.index_add_(0, segments, values.float())


# %% wrong="bincount, for one dimension only" says=["RuntimeError"]
def segment_sum(values, segments, count):
    return torch.bincount(segments, weights=values, minlength=count).to(values.dtype)


# %% right="scatter_add with an expanded index"
def segment_sum(values, segments, count):
    result = torch.zeros((count,) + tuple(values.shape[1:]), dtype=values.dtype).to(values.device)
    index = segments[(...,) + (None,) * (values.dim() - 1)].expand_as(values)
    return torch.scatter_add(result, 0, index, values)


# %% right="index_put_ that accumulates"
def segment_sum(values, segments, count):
    result = torch.zeros_like(values[:1].sum(0, dtype=values.dtype)).repeat(
        count, *[1] * (values.dim() - 1)
    )
    return result.index_put_((segments,), values, accumulate=True)


# %% wrong="a comparison and a product" says=["a row with an infinite value", "got nan"]
def segment_sum(values, segments, count):
    mine = torch.arange(count, device=values.device)[:, None] == segments
    mine = mine.view(*mine.shape, *[1] * (values.dim() - 1))
    return (mine * values).sum(dim=1, dtype=values.dtype)


# %% wrong="a product with a one-hot matrix" says=["a row with an infinite value", "got nan"]
def segment_sum(values, segments, count):
    hot = (torch.arange(count, device=values.device)[:, None] == segments).to(values.dtype)
    return (hot @ values.reshape(len(values), -1)).view(count, *values.shape[1:])


# %% wrong="a loop over tolist" says=["tolist takes the numbers out of the tensors"]
def segment_sum(values, segments, count):
    result = np.zeros((count, *values.shape[1:]), dtype=values.numpy().dtype)
    for row, segment in zip(values.numpy(), segments.tolist()):
        result[segment] += row
    return torch.from_numpy(result)


# %% right="a comparison and a masked sum"
def segment_sum(values, segments, count):
    mine = torch.arange(count, device=values.device)[:, None] == segments
    mine = mine.view(*mine.shape, *[1] * (values.dim() - 1))
    return torch.where(mine, values, 0).sum(dim=1, dtype=values.dtype)


# %% wrong="adds up in float32" says=["values in torch.float64 beyond float32"]
def segment_sum(values, segments, count):
    wide = values.float() if values.is_floating_point() else values
    table = wide.new_zeros(count, *values.shape[1:])
    return table.index_add(0, segments, wide).to(values.dtype)
