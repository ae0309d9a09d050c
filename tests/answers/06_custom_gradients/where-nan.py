# %% [markdown]
# Rules:
#
# - "say whether the gradient of `elu_by_where` is NaN"
# - "The largest float32 is about e to the power of 88.7"
# - "for tensors of any shape"
# - "x where x > 0"
# - "else alpha · (exp(x) − 1)"
# - "must be finite and right for every finite x"
# - "in float32 and float64"
# - "there the slope is alpha"
# - "`F.elu` and its relatives are not allowed"
# - "Leave `x` as it is"
# - "Value and gradient"
# - "at 0 as well"
#
# Admits:
#
# - "for tensors of any shape": a single number
# - "tensors of any shape": no numbers at all
# - "of any shape": float64, shape (2, 3)
# - "for every finite x": far from the kink
# - "at 0 as well": at the kink
# - "`elu(x, alpha)`": far from it, alpha 3

# %% wrong="where alone" breaks="must be finite and right for every finite x" says=["in the branch not taken"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    return torch.where(x > 0, x, alpha * (x.exp() - 1))


# %% wrong="cleans up the values" says=["in the branch not taken"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    lower = torch.nan_to_num(alpha * (x.exp() - 1), posinf=0.0)
    return torch.where(x > 0, x, lower)


# %% wrong="minimum shares the slope at zero" breaks="there the slope is alpha" says=["a minimum shares its gradient out at a tie"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    below = torch.minimum(x, torch.zeros_like(x))
    return torch.where(x > 0, x, alpha * (below.exp() - 1))


# %% wrong="clamp gives no slope at its end" breaks="at 0 as well" says=["(a clamp, a relu) passes no gradient at its very end"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    return torch.where(x > 0, x, alpha * torch.expm1(x.clamp(max=0)))


# %% wrong="cuts the lower branch off at -1" says=["what goes into exp is cut off too early"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    return torch.where(x > 0, x, alpha * (x.clamp(-1, 1).exp() - 1))


# %% wrong="cuts off at 80 only" says=["at the kink"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    return torch.where(x > 0, x, alpha * (x.clamp(min=-80, max=-1e-3).exp() - 1))


# %% wrong="forgets alpha" breaks="else alpha · (exp(x) − 1)" says=["alpha scales the lower branch"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    below = torch.where(x > 0, 0.0, x)
    return torch.where(x > 0, x, below.exp() - 1)


# %% wrong="alpha on both branches" breaks="x where x > 0" says=["alpha scales the lower branch alone"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    below = torch.where(x > 0, 0.0, x)
    return alpha * torch.where(x > 0, x, below.exp() - 1)


# %% wrong="calls the finished one" breaks="`F.elu` and its relatives are not allowed" says=["the operator elu is not allowed here"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    return F.elu(x, alpha)


# %% wrong="calls its relative" says=["is not allowed here: write it out"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    return F.celu(x, 1.0) if alpha == 1.0 else alpha * F.celu(x, 1.0)


# %% wrong="multiplies by masks" says=["far from the kink"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    return (x > 0) * x + (x <= 0) * alpha * (x.exp() - 1)


# %% wrong="detaches the branch" breaks="Value and gradient" says=["none comes out of the lower branch"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    below = torch.where(x > 0, 0.0, x).detach()
    return torch.where(x > 0, x, alpha * (below.exp() - 1))


# %% wrong="NaN at the kink" says=["0 is not True: exp is finite there"]
nan_at = {"-200": False, "-1": False, "0": True, "2": False, "80": False, "100": True}


def elu(x, alpha):
    below = torch.where(x > 0, 0.0, x)
    return torch.where(x > 0, x, alpha * (below.exp() - 1))


# %% wrong="NaN on the whole right side" breaks="say whether the gradient of `elu_by_where` is NaN" says=["2 is not True", "80 is not True"]
nan_at = {"-200": False, "-1": False, "0": False, "2": True, "80": True, "100": True}


def elu(x, alpha):
    below = torch.where(x > 0, 0.0, x)
    return torch.where(x > 0, x, alpha * (below.exp() - 1))


# %% wrong="infinity on both sides" breaks="The largest float32 is about e to the power of 88.7" says=["-200 is not True"]
nan_at = {"-200": True, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    below = torch.where(x > 0, 0.0, x)
    return torch.where(x > 0, x, alpha * (below.exp() - 1))


# %% right="writes by mask into a copy"
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    y, low = x.clone(), x <= 0
    y[low] = alpha * (x[low].exp() - 1)
    return y


# %% right="a sum of two halves, expm1"
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    positive = (x > 0).to(x.dtype)
    return positive * x + alpha * torch.expm1((1 - positive) * x)


# %% right="masked_fill, and the mask as a tensor"
nan_at = {
    place: bool(torch.tensor(float(place)).exp().isinf())
    for place in ("-200", "-1", "0", "2", "80", "100")
}


def elu(x, alpha):
    above = x.gt(0)
    low = x.masked_fill(above, 0)
    return x.masked_fill(~above, 0) + alpha * low.exp() - alpha


# %% right="a Function of its own"
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


class Elu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        low = alpha * torch.expm1(-torch.relu(-x))
        ctx.save_for_backward(x)
        ctx.alpha = alpha
        return torch.where(x > 0, x, low)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * torch.where(x > 0, 1.0, ctx.alpha * (-torch.relu(-x)).exp()), None


def elu(x, alpha):
    return Elu.apply(x, alpha)


# %% wrong="float32 inside" breaks="in float32 and float64" says=["right to seven digits alone"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def where_nan(x, alpha):
    return elu(x, alpha)


def elu(x, alpha):
    y = x.float()
    return torch.where(y > 0, y, alpha * (torch.where(y > 0, 0, y).exp() - 1)).to(x.dtype)


# %% wrong="alpha times exp alone" says=["alpha scales the whole of exp(x) - 1"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def where_nan(x, alpha):
    return elu(x, alpha)


def elu(x, alpha):
    return torch.where(x > 0, x, alpha * torch.where(x > 0, 0, x).exp() - 1)


# %% wrong="caps x at 88, and multiplies by 0" says=["far from it, alpha 3"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    above = (x > 0).to(x.dtype)
    below = alpha * (x.clamp(max=88).exp() - 1)
    return above * x + (1 - above) * below


def where_nan(x, alpha):
    return elu(x, alpha)


# %% wrong="of one dimension" breaks="for tensors of any shape" says=["a single number: raised TypeError: iteration over a 0-d tensor"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    return torch.stack([v if v > 0 else alpha * (v.exp() - 1) for v in x])


# %% wrong="asks for the largest" says=["no numbers at all: raised RuntimeError: max()"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    if x.max() <= 0:
        return alpha * (x.exp() - 1)
    low = torch.where(x > 0, 0, x)
    return torch.where(x > 0, x, alpha * (low.exp() - 1))


# %% wrong="writes into x" breaks="Leave `x` as it is" says=["an argument was changed (its values)"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    low = torch.where(x > 0, 0, x)
    result = torch.where(x > 0, x, alpha * (low.exp() - 1))
    x.data.clamp_(min=-100)
    return result


# %% wrong="asks for the gradient itself" says=["makes x require a gradient: leave x as it is"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    x = x.requires_grad_()
    below = torch.where(x > 0, 0.0, x)
    return torch.where(x > 0, x, alpha * (below.exp() - 1))


# %% wrong="clears the gradient first" says=["x had a gradient in .grad, and elu changed it"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    x.grad = None
    below = torch.where(x > 0, 0.0, x)
    return torch.where(x > 0, x, alpha * (below.exp() - 1))


# %% wrong="takes the size of alpha" breaks="else alpha · (exp(x) − 1)" says=["alpha -0.7"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    low = torch.where(x > 0, 0.0, x)
    return torch.where(x > 0, x, abs(alpha) * torch.expm1(low))


def where_nan(x, alpha):
    return elu(x, alpha)


# %% wrong="rounds alpha to float32" breaks="in float32 and float64" says=["seven digits alone"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    alpha = torch.tensor(alpha).item()
    low = torch.where(x > 0, 0.0, x)
    return torch.where(x > 0, x, alpha * torch.expm1(low))


def where_nan(x, alpha):
    return elu(x, alpha)


# %% wrong="flattens in the order of memory" breaks="for tensors of any shape" says=["transposed"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    shape = x.shape
    x = x.t().reshape(-1) if x.dim() == 2 and not x.is_contiguous() else x.reshape(-1)
    low = torch.where(x > 0, 0.0, x)
    return torch.where(x > 0, x, alpha * torch.expm1(low)).reshape(shape)


def where_nan(x, alpha):
    return elu(x, alpha)


# %% wrong="takes alpha 0 for none" breaks="else alpha · (exp(x) − 1)" says=["alpha 0"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    low = torch.where(x > 0, 0.0, x)
    return torch.where(x > 0, x, (alpha or 1.0) * torch.expm1(low))


def where_nan(x, alpha):
    return elu(x, alpha)


# %% wrong="writes into an x without grad" breaks="Leave `x` as it is" says=["elu writes into an x that requires no grad"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    if not x.requires_grad:
        return x.copy_(F.relu(x))
    low = torch.where(x > 0, 0.0, x)
    return torch.where(x > 0, x, alpha * torch.expm1(low))


def where_nan(x, alpha):
    return elu(x, alpha)


# %% wrong="slope one at zero for every alpha" breaks="there the slope is alpha" says=["so the slope there is alpha"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    safe = torch.where(x > 0, torch.zeros_like(x), x)
    return torch.where(x >= 0, x, alpha * torch.expm1(safe))


# %% wrong="a tolerance at the kink" breaks="x where x > 0" says=["and its slope 1: compare without a tolerance"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    safe = torch.where(x > 0, torch.zeros_like(x), x)
    return torch.where(x > 1e-6, x, alpha * torch.expm1(safe))


# %% wrong="harmless from 88.8 on" says=["where exp has just become infinite", "in the branch not taken"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    safe = torch.where(x > 88.8, 0.0, x)
    return torch.where(x > 0, x, alpha * (safe.exp() - 1))


def where_nan(x, alpha):
    return elu(x, alpha)


# %% wrong="the larger of the two" breaks="x where x > 0" says=["a single number: the value: the larger of the two is taken"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x: torch.Tensor, alpha: float) -> torch.Tensor:
    harmless = torch.where(x > 0, 0, x)
    curve = alpha * (harmless.exp() - 1)
    return torch.where(x > curve, x, curve)


def where_nan(x: torch.Tensor, alpha: float) -> torch.Tensor:
    """Given: your ELU."""
    return elu(x, alpha)


# %% wrong="writes into zeros of the default dtype" breaks="in float32 and float64" says=["dtype torch.float32, expected torch.float64"]
nan_at = dict.fromkeys(["-200", "-1", "0", "2", "80"], False) | {"100": True}


def elu(x: torch.Tensor, alpha: float) -> torch.Tensor:
    result = torch.zeros(x.shape, device=x.device)
    above = x > 0
    result[above] = x[above].to(result.dtype)
    result[~above] = (alpha * torch.expm1(x[~above])).to(result.dtype)
    return result


def where_nan(x: torch.Tensor, alpha: float) -> torch.Tensor:
    """Given: your ELU."""
    return elu(x, alpha)
