# %% [markdown]
# Rules:
#
# - "any number of further dimensions"
# - "in any order"
# - "Return the sums of the rows of each segment"
# - "shape (count, ...)"
# - "dtype and device of `values`"
# - "Values may be infinite, and spoil no segment but their own"
# - "No loop"
# - "nothing is taken out of the tensors"
# - "`values` has shape (rows, ...)"
# - "A gradient flows back to `values`"
#
# Admits:
#
# - "`values` has shape (rows, ...)": no row
# - "any number of further dimensions": values of shape (3, 2, 1)
# - "in any order": a transposed table
# - "dtype and device of `values`": torch.float64, torch.int64, torch.int32
# - "Values may be infinite": a row with an infinite value
# - "Segments without rows": the example, where a segment comes twice

# %% wrong="adds through an index, which loses what comes twice" breaks="Return the sums of the rows of each segment" says=["where a segment comes twice", "expected 6, got 5"]
def segment_sum(values, segments, count):
    result = values.new_zeros(count, *values.shape[1:])
    result[segments] += values
    return result


# %% wrong="a loop over the segments" breaks="No loop" says=["that is a loop"]
def segment_sum(values, segments, count):
    return torch.stack([values[segments == s].sum(dim=0) for s in range(count)]).to(values.dtype)


# %% wrong="as many segments as there are labels" breaks="shape (count, ...)" says=["has shape (3, 2), expected (4, 2)"]
def segment_sum(values, segments, count):
    result = values.new_zeros(int(segments.max()) + 1, *values.shape[1:])
    return result.index_add_(0, segments, values)


# %% wrong="scatter_add_ of an index that is too small" says=["where a segment comes twice", "differs in"]
def segment_sum(values, segments, count):
    result = values.new_zeros(count, *values.shape[1:])
    index = segments.view(-1, *[1] * (values.dim() - 1))
    return result.scatter_add_(0, index, values)


# %% wrong="float zeros for every dtype" breaks="dtype and device of `values`" says=["has dtype torch.float32", "expected torch.float64"]
def segment_sum(values, segments, count):
    result = torch.zeros(count, *values.shape[1:], device=values.device)
    return result.index_add_(0, segments, values.float())


# %% wrong="bincount, for one dimension only" breaks="any number of further dimensions" says=["RuntimeError"]
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


# %% wrong="a comparison and a product" breaks="Values may be infinite, and spoil no segment but their own" says=["a row with an infinite value", "got nan"]
def segment_sum(values, segments, count):
    mine = torch.arange(count, device=values.device)[:, None] == segments
    mine = mine.view(*mine.shape, *[1] * (values.dim() - 1))
    return (mine * values).sum(dim=1, dtype=values.dtype)


# %% wrong="a product with a one-hot matrix" says=["a row with an infinite value", "got nan"]
def segment_sum(values, segments, count):
    hot = (torch.arange(count, device=values.device)[:, None] == segments).to(values.dtype)
    return (hot @ values.reshape(len(values), -1)).view(count, *values.shape[1:])


# %% wrong="a loop over tolist" breaks="nothing is taken out of the tensors" says=["tolist takes the numbers out of the tensors"]
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


# %% wrong="believes that the segments are sorted" breaks="in any order" says=["the example, where a segment comes twice: the result differs", "expected 3, got 1"]
def segment_sum(values, segments, count):
    lengths = torch.bincount(segments, minlength=count)
    return torch.segment_reduce(values, "sum", lengths=lengths)


# %% wrong="sorts, and takes differences of running sums" says=["a row with an infinite value: the result differs", "got nan"]
def segment_sum(values, segments, count):
    order = segments.argsort(stable=True)
    total = values[order].cumsum(0, dtype=values.dtype)
    total = torch.cat([total.new_zeros(1, *total.shape[1:]), total])
    ends = torch.searchsorted(
        segments[order], torch.arange(count, device=values.device), right=True
    )
    return total[ends] - total[torch.cat([ends.new_zeros(1), ends[:-1]])]


# %% wrong="asks for the largest segment" breaks="`values` has shape (rows, ...)" says=["no row: raised RuntimeError: max()"]
def segment_sum(values, segments, count):
    many = max(count, int(segments.max()) + 1)
    return values.new_zeros(many, *values.shape[1:]).index_add_(0, segments, values)[:count]


# %% wrong="detaches the values" breaks="A gradient flows back to `values`" says=["no gradient flows back"]
def segment_sum(values, segments, count):
    result = values.new_zeros(count, *values.shape[1:])
    return result.index_add_(0, segments, values.detach())


# %% wrong="counts with weights in one dimension" says=["values of shape (3,) in torch.int64"]
def segment_sum(values, segments, count):
    if values.dim() == 1:
        return segments.bincount(values, minlength=count)
    return values.new_zeros(count, *values.shape[1:]).index_add_(0, segments, values)


# %% wrong="keeps its zeros between calls" says=["which had other numbers the first time changes the result of the first time"]
ZEROS = {}


def segment_sum(values, segments, count):
    result = ZEROS.setdefault(
        (count, *values.shape[1:], values.dtype, values.device),
        values.new_zeros(count, *values.shape[1:]),
    ).zero_()
    return result.index_add_(0, segments, values)


# %% wrong="leaves the last segment out" says=["the last segment too"]
def segment_sum(values, segments, count):
    result = values.new_zeros(count, *values.shape[1:])
    return result.index_add_(0, segments.clamp(max=max(count - 2, 0)), values)


# %% wrong="adds up in float64" says=["whole numbers beyond float64's"]
def segment_sum(values, segments, count):
    total = torch.zeros(count, *values.shape[1:], dtype=torch.float64, device=values.device)
    return total.index_add_(0, segments, values.double()).to(values.dtype)


# %% wrong="a plain sum for a single segment" says=["a single segment, in torch.int32"]
def segment_sum(values, segments, count):
    if count == 1:
        return values.sum(0, keepdim=True)
    total = values.new_zeros(count, *values.shape[1:])
    return total.index_add_(0, segments, values)


# %% wrong="as many as occur, by int, and zeros behind" breaks="nothing is taken out of the tensors" says=["int() takes the numbers out of the tensors"]
def segment_sum(values, segments, count):
    last = int(segments.max()) + 1 if len(segments) else 0
    found = values.new_zeros(last, *values.shape[1:]).index_add(0, segments, values)
    return torch.cat([found, values.new_zeros(count - last, *values.shape[1:])])
