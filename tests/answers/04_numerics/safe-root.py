# %% [markdown]
# Rules:
#
# - "Return the square root where `x` is above zero"
# - "exactly 0 elsewhere"
# - "The gradient is that of the root where `x` is above zero"
# - "and 0 elsewhere"
# - "whatever gradient arrives from behind"
# - "float32 or float64"
# - "of any shape"
# - "stays as it is"
#
# Admits:
#
# - "float32 or float64": float64 numbers that float32 takes for 0
# - "of any shape": a single 0, without dimensions
# - "any shape": an empty x, 3-D
# - "slightly negative": [4, 0, -1e-7, 0.25]

# %% wrong="masks after the root alone" breaks="and 0 elsewhere" says=["the gradient of [4, 0, -1e-7, 0.25]", "the mask came after the root alone, and 0 · ∞ is NaN"]
def safe_root(x):
    return torch.where(x > 0, x.sqrt(), 0)


# %% right="clamps at zero, which selects"
def safe_root(x):
    return x.clamp(min=0).sqrt()


# %% wrong="a small number under the root" breaks="exactly 0 elsewhere" says=["exactly 0 is asked for where x is 0 or negative"]
def safe_root(x):
    return (x.relu() + 1e-12).sqrt()


# %% wrong="a small number under the root, taken away again" says=["a float64 matrix", "expected 2.0, got 1.99999900000025"]
def safe_root(x):
    return (x.clamp_min(0) + 1e-12).sqrt() - 1e-6


# %% wrong="nan_to_num" says=["the gradient"]
def safe_root(x):
    return x.sqrt().nan_to_num(0)


# %% wrong="the root of the absolute value" says=["exactly 0 is asked for", "is a root still taken there?"]
def safe_root(x):
    return torch.where(x == 0, 0, torch.where(x == 0, 1, x.abs()).sqrt())


# %% wrong="writes into its argument" breaks="stays as it is" says=["an argument was changed"]
def safe_root(x):
    with torch.no_grad():
        x[x < 0] = 0
    return torch.where(x > 0, torch.where(x > 0, x, 1).sqrt(), 0)


# %% wrong="cuts the graph" breaks="The gradient is that of the root where `x` is above zero" says=["no gradient flows back"]
def safe_root(x):
    return torch.tensor([max(v, 0.0) ** 0.5 for v in x.flatten().tolist()]).to(x).view(x.shape)


# %% right="a Function of its own"
class Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp_min(0).sqrt()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return torch.where(y > 0, g * 0.5 / y, torch.zeros_like(g))


def safe_root(x):
    return Root.apply(x)


# %% right="fills the positive places of zeros"
def safe_root(x):
    places = x > 0
    result = torch.zeros_like(x)
    return result.masked_scatter(places, x[places] ** 0.5)


# %% right="masked_fill before and after"
def safe_root(x):
    bad = ~(x > 0)
    return x.masked_fill(bad, 4.0).sqrt().masked_fill(bad, 0.0)


# %% wrong="a threshold above zero" breaks="Return the square root where `x` is above zero" says=["tiny numbers, transposed"]
def safe_root(x):
    return torch.where(x > 1e-6, x.clamp_min(1e-12).sqrt(), 0)


# %% wrong="in float32" breaks="float32 or float64" says=["float64 numbers that float32 takes for 0"]
def safe_root(x):
    small = x.float()
    positive = small > 0
    return torch.where(positive, torch.where(positive, small, 1).sqrt(), 0).to(x.dtype)


# %% wrong="row after row" breaks="of any shape" says=["a single 0, without dimensions: raised TypeError"]
def safe_root(x):
    return torch.stack([torch.where(v > 0, torch.where(v > 0, v, 1).sqrt(), 0) for v in x])


# %% wrong="asks for the smallest" says=["min(): Expected", "an empty x, 3-D: raised the same"]
def safe_root(x):
    if x.min() > 0:
        return x.sqrt()
    return torch.where(x > 0, torch.where(x > 0, x, 1).sqrt(), 0)


# %% wrong="the root of +∞ is 0" says=["the root of +∞ is +∞"]
def safe_root(x):
    keep = (x > 0) & x.isfinite()
    return torch.where(keep, torch.where(keep, x, 1.0).sqrt(), 0.0)


# %% wrong="clears the caller's old gradient" says=["1 of 33 cases fail", "its old gradient (.grad) was cleared or changed"]
def safe_root(x):
    x.grad = None
    return torch.where(x > 0, torch.where(x > 0, x, 1).sqrt(), 0)


# %% wrong="a hook on the argument" says=["4 of 33 cases fail", "a hook stays on it"]
def safe_root(x):
    if x.requires_grad:
        x.register_hook(lambda slope: slope.nan_to_num(0, 0, 0))
    return torch.where(x > 0, x.sqrt(), 0)


# %% wrong="a backward that leaves out what arrives" says=["the gradient of a weighted sum: the gradient that arrives is left out"]
class Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        root = x.clamp(min=0).sqrt()
        ctx.save_for_backward(root)
        return root

    @staticmethod
    def backward(ctx, arrived):
        (root,) = ctx.saved_tensors
        return torch.where(root > 0, 0.5 / root, 0)


def safe_root(x):
    return Root.apply(x)


# %% wrong="a threshold at the smallest normal number" says=["numbers next to 0: it is 0 for a tiny number above zero"]
def safe_root(x):
    positive = x > torch.finfo(x.dtype).tiny
    safe = torch.where(positive, x, 1)
    return torch.where(positive, safe.sqrt(), 0)


# %% wrong="minus infinity times False" breaks="exactly 0 elsewhere" says=["the values of -∞: there is NaN"]
def safe_root(x):
    return torch.where(x == 0, 1, x).abs().sqrt() * (x > 0)


# %% wrong="keeps the mask of the first call" says=["the values of a single 4, without dimensions"]
masks = {}


def safe_root(x):
    positive = masks.setdefault(x.shape, x > 0)
    return torch.where(positive, torch.where(positive, x, 1).sqrt(), 0)


# %% wrong="half a gradient without dimensions" says=["a single 4, without dimensions: the gradient of a weighted sum: expected 0.25"]
def safe_root(x):
    positive = x > 0
    safe = torch.where(positive, x, 1)
    return torch.where(
        positive, safe.sqrt() if x.dim() else safe.sqrt() / 2 + safe.detach().sqrt() / 2, 0
    )


# %% wrong="stacks the rows of a matrix" says=["the values of a matrix without rows"]
def safe_root(x):
    return (
        torch.stack([torch.stack([v.sqrt() if v > 0 else v * 0 for v in row]) for row in x])
        if x.dim() == 2
        else torch.where(x > 0, torch.where(x > 0, x, 1).sqrt(), 0)
    )


# %% wrong="one tensor for the results of all calls" says=["the next call changed what this one gave"]
kept = {}


def safe_root(x):
    positive = x > 0
    root = torch.where(positive, torch.where(positive, x, 1).sqrt(), 0)
    if root.requires_grad:
        return root
    out = kept.setdefault((x.shape, x.dtype), torch.empty_like(root))
    return out.copy_(root)


# %% wrong="a hook on the result, in every mode" says=["under torch.no_grad() it raises RuntimeError"]
def safe_root(x):
    positive = x > 0
    result = torch.where(positive, torch.where(positive, x, 1).sqrt(), 0)
    if x.requires_grad:
        result.register_hook(lambda grad: grad)
    return result


# %% wrong="a backward of its own that multiplies with a mask" breaks="whatever gradient arrives from behind" says=["the gradient where inf arrives at each 0", "a product with a mask doesn't leave out what arrives"]
def safe_root(x):
    class Root(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clamp(min=0).sqrt()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * (y > 0) / (2 * torch.where(y > 0, y, 1))

    return Root.apply(x)


# %% wrong="cleans all gradients that arrive" breaks="whatever gradient arrives from behind" says=["3 of 33 cases fail", "above 0 the slope times inf is inf: is the gradient cleaned there, too?"]
def safe_root(x):
    positive = x > 0
    root = torch.where(positive, torch.where(positive, x, 1).sqrt(), 0)
    if root.requires_grad:
        root.register_hook(lambda slope: slope.nan_to_num(0.0, 0.0, 0.0))
    return root


# %% right="where before the root, a product after it"
def safe_root(x):
    positive = x > 0
    return torch.where(positive, x, torch.ones_like(x)).sqrt() * positive.to(x.dtype)
