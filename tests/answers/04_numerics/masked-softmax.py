# %% wrong="multiplies by the mask before the softmax" says=["the example", "expected 0.5, got"]
def masked_softmax(scores, mask, dim=-1):
    return (scores * mask).softmax(dim)


# %% wrong="multiplies by the mask after the softmax" says=["the example", "expected 0.5, got"]
def masked_softmax(scores, mask, dim=-1):
    return scores.softmax(dim) * mask


# %% wrong="minus infinity alone" says=["a row with everything masked should be zeros, is it NaN or uniform?"]
def masked_softmax(scores, mask, dim=-1):
    return scores.masked_fill(~mask, -torch.inf).softmax(dim)


# %% wrong="minus a billion" says=["a row with everything masked should be zeros"]
def masked_softmax(scores, mask, dim=-1):
    return scores.masked_fill(~mask, -1e9).softmax(dim)


# %% wrong="minus a billion, and it knows of the empty row" says=["RuntimeError", "overflow"]
def masked_softmax(scores, mask, dim=-1):
    return scores.masked_fill(~mask, -1e9).softmax(dim) * mask


# %% wrong="exp without the maximum" says=["the example", "got nan"]
def masked_softmax(scores, mask, dim=-1):
    e = scores.exp() * mask
    return e / e.sum(dim, keepdim=True).clamp_min(1e-12)


# %% wrong="returns float32" says=["has dtype torch.float32, expected torch.float16"]
def masked_softmax(scores, mask, dim=-1):
    hidden = scores.masked_fill(~mask, -torch.inf)
    p = hidden.softmax(dim, dtype=torch.float64 if scores.dtype == torch.float64 else torch.float32)
    return p.masked_fill(~mask, 0)


# %% wrong="mends NaN in the result by a product" says=["a row with everything masked should be zeros"]
def masked_softmax(scores, mask, dim=-1):
    return scores.masked_fill(~mask, -torch.inf).softmax(dim) * mask


# %% wrong="the mask the other way round" says=["the example", "got"]
def masked_softmax(scores, mask, dim=-1):
    return scores.masked_fill(mask, -torch.inf).softmax(dim).masked_fill(mask, 0)


# %% wrong="always the last dimension" says=["a random mask"]
def masked_softmax(scores, mask, dim=-1):
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)


# %% right="the smallest number of the dtype, then zeros"
def masked_softmax(scores, mask, dim=-1):
    lowest = torch.finfo(scores.dtype).min
    return torch.where(mask, torch.where(mask, scores, lowest).softmax(dim), 0)


# %% right="exp and a sum, from the largest allowed score, in float32"
def masked_softmax(scores, mask, dim=-1):
    x = scores if scores.dtype == torch.float64 else scores.float()
    top = x.detach().masked_fill(~mask, torch.finfo(x.dtype).min).amax(dim, keepdim=True)
    e = torch.where(mask, torch.where(mask, x - top, 0).exp(), 0)
    total = e.sum(dim, keepdim=True)
    return (e / torch.where(total > 0, total, 1)).to(scores.dtype)
