# %% [markdown]
# Rules:
#
# - "which disappears"
# - "The result has the dtype of `x`"
# - "half precision included"
# - "The size along `dim` is at least 1"
# - "No overflow, for numbers of any size"
# - "even where rows differ by thousands"
# - "A row of −∞ gives −∞"
# - "and its gradient is 0"
# - "−∞ next to other numbers counts as nothing"
# - "A row that holds +∞ gives +∞"
# - "Elsewhere the gradient is softmax"
# - "PyTorch's own `logsumexp`"
# - "along one dimension"
#
# Admits:
#
# - "half precision included": (rows * 50).to(torch.float16)
# - "floating point": in float64, rows 3000 apart
# - "with one dimension or more": of one dimension
# - "The size along `dim` is at least 1": of shape (2, 1)
# - "other sizes may be 0": of shape (0, 2)

# %% wrong="as written on paper" breaks="No overflow, for numbers of any size" says=["= [[0, 0], [1000, 1000]]", "overflow or underflow: subtract the largest before the power"]
def stable_logsumexp(x, dim):
    return x.exp().sum(dim).log()


# %% wrong="subtracts a maximum of minus infinity" breaks="A row of −∞ gives −∞" says=["with a row of −∞, dim=1: there is NaN: is there ∞ − ∞ somewhere?"]
def stable_logsumexp(x, dim):
    m = x.amax(dim, keepdim=True)
    return (x - m).exp().sum(dim).log() + m.squeeze(dim)


# %% wrong="mends the value, not the gradient" breaks="and its gradient is 0" says=["the gradient with x all −∞, dim=0: it is NaN", "0 · ∞"]
def stable_logsumexp(x, dim):
    m = x.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0)
    return (x - m).exp().sum(dim).log() + m.squeeze(dim)


# %% wrong="one maximum for the whole tensor" breaks="even where rows differ by thousands" says=["one maximum for all rows: rows far below it vanish"]
def stable_logsumexp(x, dim):
    m = x.detach().max()
    return (x - m).exp().sum(dim).log() + m


# %% wrong="forgets to add the maximum again" says=["the maximum was subtracted, but is not added again"]
def stable_logsumexp(x, dim):
    return (x - x.amax(dim, keepdim=True)).exp().sum(dim).log()


# %% wrong="PyTorch's own" breaks="PyTorch's own `logsumexp`" says=["the answer calls logsumexp"]
def stable_logsumexp(x, dim):
    return torch.logsumexp(x, dim)


# %% wrong="keeps the dimension" breaks="which disappears" says=["a dimension of size 1 is missing or too many"]
def stable_logsumexp(x, dim):
    m = x.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0)
    return (x - m).exp().sum(dim, keepdim=True).log() + m


# %% wrong="a tiny number in the logarithm" says=["with a row of −∞", "expected -inf"]
def stable_logsumexp(x, dim):
    m = x.detach().amax(dim, keepdim=True).clamp(min=-1e30, max=1e30)
    return ((x - m).exp().sum(dim) + 1e-30).log() + m.squeeze(dim)


# %% wrong="a subtraction that cuts the gradient" breaks="Elsewhere the gradient is softmax" says=["no gradient flows back"]
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


# %% wrong="the last of logcumsumexp" says=["the answer calls logcumsumexp"]
def stable_logsumexp(x, dim):
    return torch.logcumsumexp(x, dim).select(dim, -1)


# %% wrong="one maximum for all rows, in float64" says=["in float64, rows 3000 apart", "one maximum for all rows"]
def stable_logsumexp(x, dim):
    wide = x.double()
    finite = wide.detach()[wide.isfinite()]
    top = finite.max() if finite.numel() else 0
    total = (wide - top).exp().sum(dim)
    none = total == 0
    result = total.masked_fill(none, 1).log() + top
    return result.masked_fill(none, -torch.inf).to(x.dtype)


# %% wrong="minus a log-probability" says=["the answer calls"]
def stable_logsumexp(x, dim):
    first = x.narrow(dim, 0, 1)
    return (first - x.log_softmax(dim).narrow(dim, 0, 1)).squeeze(dim)


# %% wrong="float32 whatever the dtype" breaks="The result has the dtype of `x`" says=["in half precision", "has dtype torch.float32, expected torch.float16"]
def stable_logsumexp(x, dim):
    x = x if x.dtype == torch.float64 else x.float()
    m = x.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0)
    total = (x - m).exp().sum(dim)
    none = total == 0
    return (total.masked_fill(none, 1).log() + m.squeeze(dim)).masked_fill(none, -torch.inf)


# %% right="a Function of its own, with PyTorch's own formula for the gradient"
class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim):
        top = x.amax(dim, keepdim=True)
        top = torch.where(top.isinf(), 0, top)
        result = (x - top).exp().sum(dim, keepdim=True).log() + top
        ctx.save_for_backward(x, result)
        ctx.dim = dim
        return result.squeeze(dim)

    @staticmethod
    def backward(ctx, g):
        x, result = ctx.saved_tensors
        slope = (x - torch.where(result.isinf(), 0, result)).exp()
        return g.unsqueeze(ctx.dim) * slope, None


def stable_logsumexp(x, dim):
    return Sum.apply(x, dim)


# %% right="entry after entry, with a running maximum"
def stable_logsumexp(x, dim):
    top, total = None, None
    for one in x.unbind(dim):
        if top is None:
            top, total = one.detach(), torch.ones_like(one)
            safe = torch.where(top.isinf(), 0, top)
            total = torch.where(one == -torch.inf, 0, (one - safe).exp())
            top = safe
            seen = one.detach() > -torch.inf
            continue
        new = one.detach()
        use = torch.where(
            seen & (new > -torch.inf), torch.maximum(top, new), torch.where(seen, top, new)
        )
        use = torch.where(use.isinf(), torch.where(seen, top, 0), use)
        total = total * torch.where(seen, (top - use).exp(), 0) + (one - use).exp()
        top, seen = use, seen | (new > -torch.inf)
    none = total == 0
    return (torch.where(none, 1, total).log() + top).masked_fill(none, -torch.inf)


# %% wrong="squeezes every dimension of size 1" breaks="along one dimension" says=["of shape (2, 1, 4)", "has shape (2, 2)"]
def stable_logsumexp(x, dim):
    largest = x.detach().amax(dim, keepdim=True)
    largest = largest.masked_fill(largest.isinf(), 0)
    total = (x - largest).exp().sum(dim)
    nothing = total == 0
    result = total.masked_fill(nothing, 1).log() + largest.squeeze()
    return result.masked_fill(nothing, -torch.inf)


# %% wrong="half precision without a gradient" breaks="half precision included" says=["in half precision, dim=1: no gradient flows back"]
def stable_logsumexp(x, dim):
    kind = x.dtype
    if x.itemsize == 2:
        x = x.detach().float()
    top = x.detach().amax(dim, keepdim=True)
    none = (top == -torch.inf).squeeze(dim)
    top = top.masked_fill(top.isinf(), 0)
    total = torch.where(none, 1, (x - top).exp().sum(dim))
    return torch.where(none, -torch.inf, total.log() + top.squeeze(dim)).to(kind)


# %% wrong="a size of 1 gives the argument as it is" breaks="The size along `dim` is at least 1" says=["x of shape (2, 1), dim=1: the sum has shape (2, 1), expected (2,)"]
def stable_logsumexp(x, dim):
    if x.shape[dim] == 1:
        return x
    top = x.detach().amax(dim, keepdim=True)
    none = (top == -torch.inf).squeeze(dim)
    top = top.masked_fill(top.isinf(), 0)
    total = torch.where(none, 1, (x - top).exp().sum(dim))
    return torch.where(none, -torch.inf, total.log() + top.squeeze(dim))


# %% wrong="one minus infinity takes the row with it" breaks="−∞ next to other numbers counts as nothing" says=["x with a row of −∞, dim=1: the sum differs", "expected 0, got -inf"]
def stable_logsumexp(x, dim):
    low = (x == -torch.inf).any(dim)
    top = x.detach().amax(dim, keepdim=True)
    top = top.masked_fill(top.isinf(), 0)
    total = torch.where(low, 1, (x - top).exp().sum(dim))
    return torch.where(low, -torch.inf, total.log() + top.squeeze(dim))


# %% wrong="thinks of minus infinity alone" breaks="A row that holds +∞ gives +∞" says=["x with +∞, dim=1: there is NaN: is there ∞ − ∞ somewhere?"]
def stable_logsumexp(x, dim):
    top = x.detach().amax(dim, keepdim=True)
    none = (top == -torch.inf).squeeze(dim)
    top = top.masked_fill(top == -torch.inf, 0)
    total = torch.where(none, 1, (x - top).exp().sum(dim))
    return torch.where(none, -torch.inf, total.log() + top.squeeze(dim))


# %% wrong="nothing below 20 less than the largest" says=["more than 20 below the largest count as they are"]
def stable_logsumexp(x, dim):
    m = x.amax(dim, keepdim=True).detach()
    m = torch.where(m.isfinite(), m, 0.0)
    d = (x - m).clamp(min=-20)
    s = d.exp().sum(dim, keepdim=True)
    s = torch.where((x == -torch.inf).all(dim, keepdim=True), 0.0, s)
    zero = s == 0
    return (torch.where(zero, -torch.inf, torch.where(zero, 1.0, s).log()) + m).squeeze(dim)


# %% wrong="a small number in the logarithm, which half takes for 0" says=["one all −∞, in torch.float16, dim=1: it is NaN"]
def stable_logsumexp(x, dim):
    largest = x.detach().amax(dim, keepdim=True)
    shift = torch.where(largest.isfinite(), largest, 0)
    total = (x - shift).exp().sum(dim, keepdim=True)
    some = total > 0
    value = torch.where(some, (total + 1e-12).log() + shift, -torch.inf)
    return value.squeeze(dim)


# %% wrong="one row of −∞: no shift for any" says=["x with rows of all kinds, dim=1"]
def stable_logsumexp(x, dim):
    largest = x.detach().amax(dim, keepdim=True)
    shift = largest if largest.isfinite().all() else torch.zeros_like(largest)
    total = (x - shift).exp().sum(dim, keepdim=True)
    some = total > 0
    value = torch.where(some, torch.where(some, total, 1).log() + shift, -torch.inf)
    return value.squeeze(dim)


# %% wrong="leaves out what lies 20 below the largest" says=["99 numbers 21 below the largest", "what lies far below it counts, too"]
def stable_logsumexp(x, dim):
    largest = x.detach().amax(dim, keepdim=True)
    shift = torch.where(largest.isfinite(), largest, 0)
    total = ((x - shift).exp() * ((x - shift) > -20)).sum(dim, keepdim=True)
    some = total > 0
    value = torch.where(some, torch.where(some, total, 1).log() + shift, -torch.inf)
    return value.squeeze(dim)


# %% wrong="leaves out what lies 40 below the largest" breaks="Elsewhere the gradient is softmax" says=["0 where softmax is small but not 0"]
def stable_logsumexp(x, dim):
    largest = x.detach().amax(dim, keepdim=True)
    shift = torch.where(largest.isfinite(), largest, 0)
    total = ((x - shift).exp() * ((x - shift) > -40)).sum(dim, keepdim=True)
    some = total > 0
    value = torch.where(some, torch.where(some, total, 1).log() + shift, -torch.inf)
    return value.squeeze(dim)


# %% wrong="bfloat16 by way of float16" says=["beyond 65504, where float16 ends"]
def stable_logsumexp(x, dim):
    dtype = x.dtype
    x = x.half() if dtype == torch.bfloat16 else x
    largest = x.detach().amax(dim, keepdim=True)
    shift = torch.where(largest.isfinite(), largest, 0)
    total = (x - shift).exp().sum(dim, keepdim=True)
    some = total > 0
    value = torch.where(some, torch.where(some, total, 1).log() + shift, -torch.inf)
    return value.squeeze(dim).to(dtype)


# %% wrong="under no_grad in half precision" says=["under torch.no_grad() it gives other values"]
def stable_logsumexp(x, dim):
    if not torch.is_grad_enabled():
        x = x.bfloat16().to(x.dtype) * 0.99
    largest = x.detach().amax(dim, keepdim=True)
    largest = torch.where(largest.isfinite(), largest, 0)
    total = (x - largest).exp().sum(dim)
    nothing = total == 0
    result = total.masked_fill(nothing, 1).log() + largest.squeeze(dim)
    return result.masked_fill(nothing, -torch.inf)


# %% wrong="clamps x from below for −∞" says=["x of numbers near -1e+06 alone, dim=1: the sum: expected -999999"]
def stable_logsumexp(x, dim):
    dead = (x == -torch.inf).all(dim)
    y = x.clamp(min=-1e4)
    m = y.detach().amax(dim, keepdim=True)
    m = m.masked_fill(~m.isfinite(), 0)
    s = (y - m).exp().sum(dim)
    return torch.where(dead, -torch.inf, torch.where(s > 0, s, 1).log() + m.squeeze(dim))


# %% wrong="takes a row of one as it is" says=["with a size of 1 along dim, some −∞, dim=0: the gradient differs"]
def stable_logsumexp(x, dim):
    if x.shape[dim] == 1:
        return x.squeeze(dim).clone()
    m = x.detach().amax(dim, keepdim=True)
    m = m.masked_fill(~m.isfinite(), 0)
    s = (x - m).exp().sum(dim)
    return torch.where(s > 0, torch.where(s > 0, s, 1).log() + m.squeeze(dim), -torch.inf)


# %% wrong="the lowest number in place of −∞" says=["the gradient with x of the lowest number beside −∞"]
def stable_logsumexp(x: torch.Tensor, dim: int) -> torch.Tensor:
    nothing = (x == -torch.inf).all(dim)
    finite = x.clamp_min(torch.finfo(x.dtype).min)  # no -inf is left
    largest = finite.detach().amax(dim, keepdim=True)
    largest = torch.where(largest.isfinite(), largest, 0)
    result = (finite - largest).exp().sum(dim).log() + largest.squeeze(dim)
    return torch.where(nothing, -torch.inf, result)


# %% wrong="through float32" says=["in float64, rows 3000 apart, dim=1: the sum: right to float32's digits alone"]
def stable_logsumexp(x: torch.Tensor, dim: int) -> torch.Tensor:
    wide = x.float()
    m = wide.amax(dim, keepdim=True).detach()
    m = torch.where(m.isfinite(), m, 0)
    s = (wide - m).exp().sum(dim)
    ok = s > 0
    result = torch.where(ok, torch.where(ok, s, 1).log() + m.squeeze(dim), -torch.inf)
    return result.to(x.dtype)


# %% wrong="a clamp at 1, where no gradient passes" breaks="Elsewhere the gradient is softmax" says=["the gradient with x = [[0, −∞]]", "is the graph cut, as by a clamp"]
def stable_logsumexp(x, dim):
    top = x.detach().amax(dim, keepdim=True)
    shift = torch.where(top.isfinite(), top, 0)
    total = (x - shift).exp().sum(dim, keepdim=True).clamp_min(1)
    return (total.log() + shift).masked_fill(top == -torch.inf, -torch.inf).squeeze(dim)
