# %% [markdown]
# Rules:
#
# - "softmax of `scores` along `dim`"
# - "over only those entries where `mask` is `True`"
# - "the others get exactly 0"
# - "the result has its dtype"
# - "half precision included"
# - "broadcasts with `scores`"
# - "whose shape the result has"
# - "Sizes may be 0"
# - "A row with everything masked gives zeros"
# - "and its gradient is 0: no NaN"
# - "No overflow, whatever the scores"
#
# Admits:
#
# - "of any floating dtype": float64, far below zero
# - "half precision included": large scores in half precision
# - "`mask` is boolean and broadcasts": a mask that broadcasts along dim
# - "Sizes may be 0": an empty batch
# - "A row with everything masked": a row with everything masked

# %% wrong="multiplies by the mask before the softmax" breaks="the others get exactly 0" says=["the example, dim=-1: the result: a score of 0 is not hidden"]
def masked_softmax(scores, mask, dim=-1):
    return (scores * mask).softmax(dim)


# %% wrong="multiplies by the mask after the softmax" breaks="over only those entries where `mask` is `True`" says=["the example", "the masked scores still count in the sum below"]
def masked_softmax(scores, mask, dim=-1):
    return scores.softmax(dim) * mask


# %% wrong="minus infinity alone" breaks="A row with everything masked gives zeros" says=["a row with everything masked should be zeros, it is NaN"]
def masked_softmax(scores, mask, dim=-1):
    return scores.masked_fill(~mask, -torch.inf).softmax(dim)


# %% wrong="minus a billion" says=["a row with everything masked should be zeros"]
def masked_softmax(scores, mask, dim=-1):
    return scores.masked_fill(~mask, -1e9).softmax(dim)


# %% wrong="minus a billion, and it knows of the empty row" breaks="half precision included" says=["a constant such as -1e9 does not fit into half precision"]
def masked_softmax(scores, mask, dim=-1):
    return scores.masked_fill(~mask, -1e9).softmax(dim) * mask


# %% wrong="exp without the maximum" breaks="No overflow, whatever the scores" says=["the example", "there is NaN: an overflow, or 0 / 0?"]
def masked_softmax(scores, mask, dim=-1):
    e = scores.exp() * mask
    return e / e.sum(dim, keepdim=True).clamp_min(1e-12)


# %% wrong="returns float32" breaks="the result has its dtype" says=["has dtype torch.float32, expected torch.float16"]
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


# %% wrong="always the last dimension" breaks="softmax of `scores` along `dim`" says=["it adds up to 1 along another dimension than dim"]
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


# %% wrong="minus ten thousand, so that half precision holds it" says=["large scores in half precision", "not below all scores"]
def masked_softmax(scores, mask, dim=-1):
    p = scores.masked_fill(~mask, -1e4).softmax(dim)
    return p.masked_fill(~mask, 0)


# %% right="NaN to zero in the result, whose gradient is clean, too"
def masked_softmax(scores, mask, dim=-1):
    return scores.masked_fill(~mask, -torch.inf).softmax(dim).nan_to_num(0)


# %% wrong="fills its argument" says=["an argument was changed"]
def masked_softmax(scores, mask, dim=-1):
    with torch.no_grad():
        scores.masked_fill_(~mask, -torch.inf)
    return scores.softmax(dim).masked_fill(~mask, 0)


# %% right="adds minus infinity, and hides the rows with nothing in them"
def masked_softmax(scores, mask, dim=-1):
    hidden = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device)
    hidden = hidden.masked_fill(mask.logical_not(), float("-inf"))
    some = (
        mask.any(dim, keepdim=True)
        if mask.dim() == scores.dim()
        else (mask.expand(scores.shape).any(dim, keepdim=True))
    )
    if some.shape[dim] != 1 or mask.expand(scores.shape).shape != mask.shape:
        some = mask.expand(scores.shape).any(dim, keepdim=True)
    p = F.softmax(torch.where(some, scores + hidden, 0), dim=dim)
    return torch.where(mask, p, torch.zeros((), dtype=p.dtype, device=p.device))


# %% wrong="minus a logsumexp, in half precision as well" says=["large scores in half precision", "take float32 on the way"]
def masked_softmax(scores, mask, dim=-1):
    allowed = mask.expand(scores.shape)
    some = allowed.any(dim, keepdim=True)
    x = torch.where(allowed, scores, -torch.inf)
    total = torch.logsumexp(torch.where(some, x, 0), dim, keepdim=True)
    return torch.where(allowed, torch.where(allowed, scores - total, 0).exp(), 0)


# %% right="minus the logsumexp of what is allowed, in float64"
def masked_softmax(scores, mask, dim=-1):
    kind, scores = scores.dtype, scores.double()
    allowed = mask.expand(scores.shape)
    some = allowed.any(dim, keepdim=True)
    x = torch.where(allowed, scores, -torch.inf)
    total = torch.logsumexp(torch.where(some, x, 0), dim, keepdim=True)
    return torch.where(allowed, torch.where(allowed, scores - total, 0).exp(), 0).to(kind)


# %% wrong="asks the mask before it is broadcast" breaks="broadcasts with `scores`" says=["a mask that broadcasts along dim"]
def masked_softmax(scores, mask, dim=-1):
    filled = scores.masked_fill(~mask, float("-inf"))
    some = mask.any(dim, keepdim=True)
    return torch.where(some, torch.where(some, filled, 0).softmax(dim), 0)


# %% wrong="the shape of the mask" breaks="whose shape the result has" says=["a mask that broadcasts, dim=-1: raised IndexError"]
def masked_softmax(scores, mask, dim=-1):
    p = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device)
    x = scores.masked_fill(~mask, -torch.inf).softmax(dim)
    p[mask] = x[mask]
    return p


# %% wrong="asks for the smallest of all" breaks="Sizes may be 0" says=["an empty batch, dim=-1: raised RuntimeError: min()"]
def masked_softmax(scores, mask, dim=-1):
    low = scores.detach().min()
    some = mask.expand(scores.shape).any(dim, keepdim=True)
    x = torch.where(mask, scores, -torch.inf)
    return torch.where(mask, torch.where(some, x, low).softmax(dim), 0)


# %% wrong="mends 0 / 0 after it" breaks="and its gradient is 0: no NaN" says=["the gradient with a row with everything masked, dim=-1: it is NaN: mask before the bad place"]
def masked_softmax(scores, mask, dim=-1):
    x = scores if scores.itemsize > 2 else scores.float()
    some = mask.expand(x.shape).any(dim, keepdim=True)
    hidden = x.detach().masked_fill(~mask, -torch.inf).amax(dim, keepdim=True)
    top = torch.where(some, hidden, x.detach().amax(dim, keepdim=True))
    e = (x - top).clamp(max=0).exp() * mask
    total = e.sum(dim, keepdim=True)
    return torch.where(total > 0, e / total, 0).to(scores.dtype)


# %% wrong="asks for empty rows along the last dimension" says=["1 of 44 cases fail", "a row and a column with everything masked, dim=0"]
def masked_softmax(scores, mask, dim=-1):
    mask = mask.expand_as(scores)
    some = mask.any(-1, keepdim=True)
    filled = scores.masked_fill(~mask, -torch.inf).masked_fill(~some, 0)
    return filled.softmax(dim).masked_fill(~mask, 0)


# %% wrong="reduces the mask before it broadcasts" says=["a mask of one dimension, which broadcasts, dim=1: raised IndexError"]
def masked_softmax(scores, mask, dim=-1):
    some = mask.any(dim, keepdim=True)
    filled = scores.masked_fill(~mask, -torch.inf).masked_fill(~some, 0)
    return filled.softmax(dim).masked_fill(~mask, 0)


# %% wrong="everything masked: zeros without a graph" says=["4 of 27 cases fail", "everything masked, dim=-1: no gradient flows back"]
def masked_softmax(scores, mask, dim=-1):
    if not mask.any():
        return torch.zeros_like(scores)
    mask = mask.expand_as(scores)
    some = mask.any(dim, keepdim=True)
    filled = scores.masked_fill(~mask, -torch.inf).masked_fill(~some, 0)
    return filled.softmax(dim).masked_fill(~mask, 0)


# %% wrong="a small number in the divisor, which half takes for 0" says=["a row all masked, in torch.float16, dim=-1: a row with everything masked should be zeros, it is NaN"]
def masked_softmax(scores, mask, dim=-1):
    m = torch.where(mask, scores, torch.finfo(scores.dtype).min).amax(dim, keepdim=True)
    e = torch.where(mask, (scores - m), -torch.inf).exp()
    return e / (e.sum(dim, keepdim=True) + 1e-9)


# %% wrong="the default is dim 1" says=["three dimensions, dim left out"]
def masked_softmax(scores, mask, dim=1):
    some = mask.expand(scores.shape).any(dim, keepdim=True)
    filled = torch.where(mask, scores, -torch.inf)
    filled = torch.where(some, filled, 0)
    return torch.where(mask, filled.softmax(dim), 0)


# %% wrong="the default is dim 0" says=["three dimensions, dim left out", "it adds up to 1 along another dimension"]
def masked_softmax(scores, mask, dim=0):
    some = mask.expand(scores.shape).any(dim, keepdim=True)
    filled = torch.where(mask, scores, -torch.inf)
    filled = torch.where(some, filled, 0)
    return torch.where(mask, filled.softmax(dim), 0)


# %% wrong="small probabilities become 0" says=["a small probability became 0"]
def masked_softmax(scores, mask, dim=-1):
    some = mask.expand(scores.shape).any(dim, keepdim=True)
    filled = torch.where(mask, scores, -torch.inf)
    filled = torch.where(some, filled, 0)
    p = filled.softmax(dim)
    return torch.where(mask & (p > 1e-6), p, 0)


# %% wrong="one score a row: no graph" says=["the gradient with one score a row, dim=-1: no gradient flows back"]
def masked_softmax(scores, mask, dim=-1):
    some = mask.expand(scores.shape).any(dim, keepdim=True)
    filled = torch.where(mask, scores, -torch.inf)
    filled = torch.where(some, filled, 0)
    if scores.shape[dim] == 1:
        return mask.expand(scores.shape).to(scores.dtype)
    return torch.where(mask, filled.softmax(dim), 0)


# %% wrong="a hook on the scores" says=["a hook stays on it"]
def masked_softmax(scores, mask, dim=-1):
    if scores.requires_grad:
        scores.register_hook(lambda g: g.nan_to_num(0))
    return torch.where(mask, scores, -torch.inf).softmax(dim).nan_to_num(0)


# %% wrong="asks the mask for a last dimension" says=["a mask without dimensions, True, dim=-1"]
def masked_softmax(scores, mask, dim=-1):
    some = mask[..., :].expand(scores.shape).any(dim, keepdim=True)
    filled = torch.where(mask, scores, -torch.inf)
    filled = torch.where(some, filled, 0)
    return torch.where(mask, filled.softmax(dim), 0)


# %% wrong="nothing masked: no graph" says=["the gradient with nothing masked, in torch.float64, dim=-1: no gradient flows back"]
def masked_softmax(scores, mask, dim=-1):
    if mask.all():
        return scores.detach().softmax(dim)
    some = mask.expand(scores.shape).any(dim, keepdim=True)
    filled = torch.where(mask, scores, -torch.inf)
    filled = torch.where(some, filled, 0)
    return torch.where(mask, filled.softmax(dim), 0)


# %% wrong="turns a square mask" says=["square scores and a mask of another order", "the mask lies the other way"]
def masked_softmax(scores, mask, dim=-1):
    mask = mask.mT if mask.dim() == 2 and mask.shape[0] == mask.shape[1] else mask
    some = mask.expand(scores.shape).any(dim, keepdim=True)
    filled = torch.where(mask, scores, -torch.inf)
    filled = torch.where(some, filled, 0)
    return torch.where(mask, filled.softmax(dim), 0)


# %% wrong="compares the sizes from the first dimension on" breaks="broadcasts with `scores`" says=["square scores and a mask of one dimension", "the mask lies the other way"]
def masked_softmax(scores, mask, dim=-1):
    mask = (
        mask.reshape(*mask.shape, *[1] * (scores.dim() - mask.dim()))
        if mask.dim() and mask.shape[0] == scores.shape[0]
        else mask
    )
    some = mask.expand(scores.shape).any(dim, keepdim=True)
    filled = torch.where(mask, scores, -torch.inf)
    filled = torch.where(some, filled, 0)
    return torch.where(mask, filled.softmax(dim), 0)


# %% right="minus the largest that is allowed, by hand"
def masked_softmax(scores, mask, dim=-1):
    low = scores.masked_fill(~mask, -torch.inf)
    m = low.detach().amax(dim, keepdim=True).clamp_min(torch.finfo(scores.dtype).min)
    e = (low - m).exp()
    return e / e.sum(dim, keepdim=True).clamp_min(1e-3)


# %% wrong="hides the scores of 0" says=["a score of 0, which counts"]
def masked_softmax(scores, mask, dim=-1):
    s = scores * mask
    return s.masked_fill(s == 0, -torch.inf).softmax(dim).masked_fill(~mask, 0)


# %% wrong="50 below the smallest in a masked place" says=["equal scores, far below zero"]
def masked_softmax(scores, mask, dim=-1):
    low = scores.amin() - 50 if scores.numel() else 0
    return torch.where(mask, torch.where(mask, scores, low).softmax(dim), 0)


# %% wrong="a number of its own for float32" breaks="No overflow, whatever the scores" says=["one score a row, the lowest, in torch.float32", "the number put into a masked place is not below all scores"]
def masked_softmax(scores, mask, dim=-1):
    low = -1e30 if scores.dtype == torch.float32 else torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, low).softmax(dim).masked_fill(~mask, 0)


# %% wrong="bfloat16 by way of float16" breaks="No overflow, whatever the scores" says=["bfloat16, beyond half precision", "there is NaN: an overflow"]
def masked_softmax(scores, mask, dim=-1):
    if scores.dtype == torch.bfloat16:
        return masked_softmax(scores.half(), mask, dim).bfloat16()
    hidden = scores.masked_fill(~mask, -torch.inf)
    return hidden.softmax(dim).masked_fill(~mask, 0)


# %% wrong="adds the lowest number in masked places" says=["a large masked score above all others", "is not below all scores; −∞ is"]
def masked_softmax(scores, mask, dim=-1):
    bias = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(
        ~mask, torch.finfo(scores.dtype).min
    )
    return (scores + bias).softmax(dim) * mask


# %% wrong="softmax in float32" says=["right to float32's digits alone: stay in float64"]
def masked_softmax(scores: torch.Tensor, mask: torch.Tensor, dim: int = -1) -> torch.Tensor:
    hidden = scores.masked_fill(~mask, -torch.inf)
    p = hidden.softmax(dim, dtype=torch.float32).to(scores.dtype)
    return p.masked_fill(~mask, 0)
