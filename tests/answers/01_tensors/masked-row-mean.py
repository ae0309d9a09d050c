# %% wrong="multiplies by the mask" says=["with padding nan: 0 times nan is nan"]
def masked_row_mean(values, valid):
    return (values * valid).sum(dim=1) / valid.sum(dim=1).clamp(min=1)


# %% wrong="divides by all columns" says=["a row that has no valid entry", "expected 1.5, got 1"]
def masked_row_mean(values, valid):
    return torch.where(valid, values, 0).mean(dim=1)


# %% wrong="forgets the rows with none" says=["a row that has no valid entry", "got nan"]
def masked_row_mean(values, valid):
    return torch.where(valid, values, 0).sum(dim=1) / valid.sum(dim=1)


# %% wrong="mends the nan of 0 / 0 afterwards" says=["the gradient of the example is not finite", "padding that is inf: "]
def masked_row_mean(values, valid):
    return ((values * valid).sum(dim=1) / valid.sum(dim=1)).nan_to_num()


# %% wrong="a loop over the rows" says=["that is a loop over the rows"]
def masked_row_mean(values, valid):
    means = [r[v].sum() / max(int(v.sum()), 1) for r, v in zip(values, valid)]
    return torch.stack(means) if means else values.new_zeros(0)


# %% wrong="detaches" says=["4 of 4 cases fail", "no gradient flows back to the arguments"]
def masked_row_mean(values, valid):
    return torch.where(valid, values.detach(), 0).sum(dim=1) / valid.sum(dim=1).clamp(min=1)


# %% wrong="writes zeros into its argument" says=["an argument was changed (its values)", "RuntimeError"]
def masked_row_mean(values, valid):
    values[~valid] = 0
    return values.sum(dim=1) / valid.sum(dim=1).clamp(min=1)


# %% wrong="the mean of everything that is valid" says=["has shape (), expected (2,)"]
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


# %% wrong="float32 from half" says=["a table in torch.float16 has dtype torch.float32, expected torch.float16"]
def masked_row_mean(values, valid):
    total = torch.where(valid, values, 0).sum(
        dim=1, dtype=torch.promote_types(values.dtype, torch.float32)
    )
    return total / valid.sum(dim=1).clamp(min=1)


# %% right="mends the nan afterwards, with what is not valid chosen away"
def masked_row_mean(values, valid):
    mean = torch.where(valid, values, 0).sum(dim=1) / valid.sum(dim=1)
    return torch.where(valid.any(dim=1), mean, 0)


# %% wrong="nanmean" says=["a valid nan and a valid inf, which count", "expected nan, got 2"]
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


# %% wrong="adds up in float32" says=["large numbers that cancel, in torch.float64"]
def masked_row_mean(values, valid):
    total = torch.where(valid, values.float(), 0).sum(dim=1)
    return (total / valid.sum(dim=1).clamp(min=1)).to(values.dtype)
