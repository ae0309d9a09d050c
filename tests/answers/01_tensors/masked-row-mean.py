# %% [markdown]
# Rules:
#
# - "return the mean of the valid entries of each row"
# - "of shape (rows,)"
# - "of the same dtype"
# - "A row without any valid entry gives 0"
# - "No loop"
# - "What is not valid may be *anything*, also `nan` or `inf`"
# - "the mean of a valid `nan` is `nan`"
# - "The gradient is finite everywhere"
# - "float, and a boolean mask"
# - "`values` of shape (rows, columns)"
#
# Admits:
#
# - "of shape (rows, columns)": an expanded row and mask
# - "the same shape": a transposed table
# - "float, and a boolean mask": large numbers that cancel, in torch.float64
# - "A row without any valid entry": a row that has no valid entry
# - "also `nan` or `inf`": (float("nan"), float("inf"))
# - "What is valid counts": a valid nan and a valid inf, which count
# - "The gradient is finite": torch.float16

# %% wrong="multiplies by the mask" breaks="What is not valid may be *anything*, also `nan` or `inf`" says=["with padding nan: 0 times nan is nan"]
def masked_row_mean(values, valid):
    return (values * valid).sum(dim=1) / valid.sum(dim=1).clamp(min=1)


# %% wrong="divides by all columns" breaks="return the mean of the valid entries of each row" says=["a row that has no valid entry", "expected 1.5, got 1"]
def masked_row_mean(values, valid):
    return torch.where(valid, values, 0).mean(dim=1)


# %% wrong="forgets the rows with none" breaks="A row without any valid entry gives 0" says=["a row that has no valid entry", "got nan"]
def masked_row_mean(values, valid):
    return torch.where(valid, values, 0).sum(dim=1) / valid.sum(dim=1)


# %% wrong="mends the nan of 0 / 0 afterwards" breaks="The gradient is finite everywhere" says=["the example: the gradient is not finite", "padding that is inf: "]
def masked_row_mean(values, valid):
    return ((values * valid).sum(dim=1) / valid.sum(dim=1)).nan_to_num()


# %% wrong="a loop over the rows" breaks="No loop" says=["that is a loop over the rows"]
def masked_row_mean(values, valid):
    means = [r[v].sum() / max(int(v.sum()), 1) for r, v in zip(values, valid)]
    return torch.stack(means) if means else values.new_zeros(0)


# %% wrong="detaches" says=["11 of 11 cases fail", "no gradient flows back to the arguments"]
def masked_row_mean(values, valid):
    return torch.where(valid, values.detach(), 0).sum(dim=1) / valid.sum(dim=1).clamp(min=1)


# %% wrong="writes zeros into its argument" says=["an argument was changed (its values)", "RuntimeError"]
def masked_row_mean(values, valid):
    values[~valid] = 0
    return values.sum(dim=1) / valid.sum(dim=1).clamp(min=1)


# %% wrong="the mean of everything that is valid" breaks="of shape (rows,)" says=["has shape (), expected (2,)"]
def masked_row_mean(values, valid):
    return values[valid].mean()


# %% wrong="a small number against the division by 0" says=["has dtype torch.float32, expected torch.float16"]
def masked_row_mean(values, valid):
    return torch.where(valid, values, 0).sum(dim=1) / (valid.sum(dim=1) + 1e-6)


# %% right="index_add_ of the valid entries by row"
def masked_row_mean(values, valid):
    rows, columns = valid.nonzero(as_tuple=True)
    total = values.new_zeros(len(values)).index_add(0, rows, values[rows, columns])
    count = values.new_zeros(len(values)).index_add(0, rows, torch.ones_like(values[rows, columns]))
    return total / torch.where(count == 0, 1, count)


# %% right="a product of clean values and weights"
def masked_row_mean(values, valid):
    weights = valid.to(values.dtype) / torch.clamp(valid.sum(1, keepdim=True), min=1)
    return torch.einsum("rc,rc->r", values.masked_fill(~valid, 0.0), weights)


# %% wrong="float32 from half" breaks="of the same dtype" says=["has dtype torch.float32, expected torch.float16"]
def masked_row_mean(values, valid):
    total = torch.where(valid, values, 0).sum(
        dim=1, dtype=torch.promote_types(values.dtype, torch.float32)
    )
    return total / valid.sum(dim=1).clamp(min=1)


# %% right="mends the nan afterwards, with what is not valid chosen away"
def masked_row_mean(values, valid):
    mean = torch.where(valid, values, 0).sum(dim=1) / valid.sum(dim=1)
    return torch.where(valid.any(dim=1), mean, 0)


# %% wrong="nanmean" breaks="the mean of a valid `nan` is `nan`" says=["a valid nan and a valid inf, which count", "expected nan, got 2"]
def masked_row_mean(values, valid):
    return torch.where(valid, values, float("nan")).nanmean(dim=1).nan_to_num(0.0)


# %% wrong="nan_to_num first" says=["a valid nan and a valid inf, which count", "expected nan, got 1"]
def masked_row_mean(values, valid):
    return (values.nan_to_num(0, 0, 0) * valid).sum(1) / valid.sum(1).clamp(min=1)


# %% right="torch.masked"
def masked_row_mean(values, valid):
    from torch.masked import sum as masked_sum

    return masked_sum(values, dim=1, mask=valid) / valid.sum(1).clamp_min(1)


# %% right="the mean of torch.masked"
def masked_row_mean(values, valid):
    return torch.masked.mean(values, 1, mask=valid).masked_fill(~valid.any(1), 0)


# %% wrong="adds up in float32" breaks="float, and a boolean mask" says=["large numbers that cancel, in torch.float64"]
def masked_row_mean(values, valid):
    total = torch.where(valid, values.float(), 0).sum(dim=1)
    return (total / valid.sum(dim=1).clamp(min=1)).to(values.dtype)


# %% wrong="asks for the largest count" breaks="`values` of shape (rows, columns)" says=["a table of shape (0, 3): raised RuntimeError: max()"]
def masked_row_mean(values, valid):
    count = valid.sum(1)
    if count.max() == 0:
        return values.sum(1) * 0
    total = torch.where(valid, values, 0).sum(1)
    return total / count.clamp(min=1).to(values.dtype)


# %% wrong="half through float32, without the graph" says=["a table in torch.float16: no gradient flows back"]
def masked_row_mean(values, valid):
    kind = values.dtype
    wide = values.detach().float() if kind == torch.float16 else values
    total = torch.where(valid, wide, 0).sum(1)
    return (total / valid.sum(1).clamp(min=1)).to(kind)


# %% wrong="counts in 8 bits" says=["299 columns: masked_row_mean(values, valid) differs"]
def masked_row_mean(values, valid):
    total = torch.where(valid, values, 0).sum(dim=1)
    count = valid.sum(dim=1, dtype=torch.int8).clamp(min=1)
    return total / count


# %% wrong="chooses what is finite" says=["a valid nan and a valid inf, which count"]
def masked_row_mean(values, valid):
    total = torch.where(valid & values.isfinite(), values, 0).sum(dim=1)
    count = valid.sum(dim=1).clamp(min=1)
    return total / count


# %% wrong="a row of nan counts as empty" says=["a valid nan and a valid inf, which count"]
def masked_row_mean(values, valid):
    total = torch.where(valid, values, 0).sum(dim=1)
    count = valid.sum(dim=1).clamp(min=1)
    return (total / count).masked_fill(values.isnan().all(dim=1), 0)


# %% wrong="keeps means by the tensors they came from" says=["which had other numbers the first time gives other values"]
import functools


@functools.lru_cache(maxsize=8)
def masked_row_mean(values, valid):
    total = torch.where(valid, values, 0).sum(dim=1)
    return total / valid.sum(dim=1).clamp(min=1)
