# %% [markdown]
# Rules:
#
# - "obeys `train()` and `eval()`"
# - "The module holds no parameter and no buffer"
# - "No dropout of PyTorch's may be called"
# - "it may have any shape, `()` included"
# - "The result keeps both"
# - "to the last digits of the dtype"
# - "`x` itself isn't changed"
# - "with autograd or under `no_grad`"
# - "each element of each call"
# - "is set to zero with probability `p`"
# - "independently of all others"
# - "What survives is divided by `1 - p`"
# - "For `p = 1` all are zero"
# - "In evaluation the values are those of `x`"
# - "each with a gradient of 1"
# - "PyTorch's random generator is left alone"
# - "The draws come from PyTorch's global generator"
# - "`torch.manual_seed` makes them repeat"
# - "0 for what was dropped"
# - "`p` below 0 or above 1 is a `ValueError`"
# - "in training or not"
# - "from the module when it is made or when it is called"
#
# Admits:
#
# - "`()` included": a number, a tensor without dimensions
# - "it may have any shape": a tensor without elements
# - "any floating dtype": float16
# - "too coarse for a small `p`": 400 000 elements in float16
# - "For `p = 1`": training=False, p = 1
# - "with autograd or under `no_grad`": under no_grad

# %% wrong="p is what is kept" breaks="is set to zero with probability `p`" says=["p is the share that is dropped, not kept"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(p)
    if not training:
        return x * 1
    mask = torch.rand_like(x) < p
    return x * mask / p


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="no scaling" breaks="What survives is divided by `1 - p`" says=["was not divided by 1 - p, so the expectation"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(p)
    return x * (torch.rand_like(x) >= p) if training else x * 1


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="scales at evaluation, as the first paper did" breaks="In evaluation the values are those of `x`" says=["training is False: the values have to be those of x"]
def dropout_that_listens(x, p, training):
    if p < 0 or p > 1:
        raise ValueError(p)
    if not training:
        return x * (1 - p)
    return torch.where(torch.rand_like(x) < p, 0, x)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="calls F.dropout" breaks="No dropout of PyTorch's may be called" says=["torch's own dropout was called: write it yourself"]
def dropout_that_listens(x, p, training):
    return F.dropout(x, p, training)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="p = 1 gives NaN" breaks="For `p = 1` all are zero" says=["p = 1.0: there are NaNs"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(p)
    if not training:
        return x + 0
    mask = (torch.rand_like(x) >= p).to(x.dtype)
    return x * (mask / (1 - p) if p < 1 else mask / torch.zeros_like(x))


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="one draw a row" breaks="independently of all others" says=["whole rows, columns or channels are dropped together"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(p)
    if not training:
        return x.clone()
    if p == 1:
        return x * 0
    mask = torch.rand(x.shape[-1:], device=x.device) >= p
    return (x * mask / (1 - p)).to(x.dtype)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="the module does not listen" breaks="obeys `train()` and `eval()`" says=["ListeningDropout(0.75) in a model", "shares of zeros"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(p)
    if not training:
        return x.clone()
    if p == 1:
        return x * 0
    return (x * (torch.rand_like(x, dtype=torch.float32) >= p) / (1 - p)).to(x.dtype)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, True)


# %% wrong="exactly a share p" says=["always exactly as many"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(p)
    if not training:
        return x.clone()
    n = x.numel()
    mask = torch.ones(n, device=x.device, dtype=x.dtype)
    mask[torch.randperm(n, device=x.device)[: round(p * n)]] = 0
    return x * mask.view(x.shape) * (1 / (1 - p) if p < 1 else 1)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="a generator with a fixed seed" breaks="The draws come from PyTorch's global generator" says=["another seed drops the same elements"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(p)
    if not training:
        return x.clone()
    if p == 1:
        return x * 0
    draws = torch.rand(x.shape, generator=torch.Generator().manual_seed(0)).to(x.device)
    return (x * (draws >= p) / (1 - p)).to(x.dtype)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="draws in eval mode" breaks="PyTorch's random generator is left alone" says=["still random numbers were drawn"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(p)
    keep = torch.rand_like(x, dtype=torch.float32) >= p
    if not training:
        return x.clone()
    return x * 0 if p == 1 else (x * keep / (1 - p)).to(x.dtype)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="writes into x" breaks="`x` itself isn't changed" says=["x was changed: return a new tensor"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(p)
    if not training:
        return x
    x *= torch.rand_like(x) >= p
    return x / (1 - p) if p < 1 else x


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="p is not looked at" breaks="`p` below 0 or above 1 is a `ValueError`" says=["p = 1.5: no ValueError"]
def dropout_that_listens(x, p, training):
    if not training:
        return x.clone()
    if p == 1:
        return x * 0
    return (x * (torch.rand_like(x, dtype=torch.float32) >= p) / (1 - p)).to(x.dtype)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% right="bernoulli_, and x itself where nothing is to be done"
def dropout_that_listens(x, p, training):
    if p < 0.0 or p > 1.0:
        raise ValueError("p is a probability")
    if not training:
        return x
    mask = torch.empty_like(x).bernoulli_(1 - p)
    if p < 1:
        mask /= 1 - p
    return x * mask


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, p=self.p, training=self.training)


# %% right="masked_fill on a mask of uniform numbers"
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError
    if training:
        drop = torch.rand(x.shape, device=x.device).lt(p)
        return x.div(max(1 - p, 1e-6)).masked_fill(drop, 0)
    return x.view_as(x)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% right="a Function of its own"
class Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, p):
        factor = 0.0 if p == 1 else 1 / (1 - p)
        kept = torch.bernoulli(torch.full(x.shape, 1.0 - p, device=x.device))
        ctx.mask = kept.to(x.dtype) * factor
        return (x * ctx.mask).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        return (grad * ctx.mask).to(grad.dtype), None


def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(f"{p} is no probability")
    return Drop.apply(x, p) if training else x.clone()


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="looks at p in training only" breaks="in training or not" says=["p = 1.5, training=False: no ValueError"]
def dropout_that_listens(x, p, training):
    if not training:
        return x.clone()
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"p is {p}")
    drop = torch.bernoulli(torch.full(x.shape, float(p), device=x.device)).bool()
    if p == 1:
        return x.masked_fill(drop, 0)
    return x.masked_fill(drop, 0) / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% right="an autograd function"
class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mask):
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0], None


def dropout_that_listens(x, p, training):
    if p > 1 or p < 0:
        raise ValueError("a probability lies between 0 and 1")
    if not training:
        return x
    scale = 0.0 if p == 1 else 1 / (1 - p)
    mask = torch.empty_like(x, dtype=torch.float32).uniform_().ge(p).to(x.dtype) * scale
    return _Drop.apply(x, mask)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="a generator seeded from the global seed" says=["two calls after one seed: both drop the same elements"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training:
        return x
    if p == 1:
        return x * 0
    generator = torch.Generator(x.device).manual_seed(torch.initial_seed())
    kept = torch.rand(x.shape, generator=generator, device=x.device) >= p
    return x * kept / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="asks for the size of the first dimension" breaks="it may have any shape, `()` included" says=["a number, a tensor without dimensions: raised IndexError"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training:
        return x
    if p == 1:
        return x * 0
    rows = [torch.rand(x.shape[1:], device=x.device) >= p for _ in range(x.shape[0])]
    if not rows:
        return x * 1
    return x * torch.stack(rows) / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="whole channels of images" says=["images (2, 3, 20, 25): whole rows, columns or channels"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training:
        return x
    if p == 1:
        return x * 0
    shape = x.shape[:2] + (1,) * (x.dim() - 2) if x.dim() == 4 else x.shape
    return x * (torch.rand(shape, device=x.device) >= p) / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="one mask for all images of a batch" says=["the same elements at index 0 and 1 of dimension 0"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training:
        return x
    if p == 1:
        return x * 0
    shape = x.shape[1:] if x.dim() == 4 else x.shape
    return x * (torch.rand(shape, device=x.device) >= p) / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="a scale in float32" breaks="to the last digits of the dtype" says=["right to seven digits or so, in float64"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training:
        return x
    if p == 1:
        return x * 0
    scale = (torch.rand(x.shape, device=x.device) >= p).float() / (1 - p)
    return (x.float() * scale).to(x.dtype)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% right="zeros without a graph where all are dropped"
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training:
        return x
    if p == 1:
        return torch.zeros_like(x)
    return x * (torch.rand(x.shape, device=x.device) >= p) / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="the module draws once" breaks="each element of each call" says=["in both training calls the same elements"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training:
        return x
    if p == 1:
        return x * 0
    return x * (torch.rand(x.shape, device=x.device) >= p) / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p, self.mask = p, None

    def forward(self, x):
        if not self.training:
            return x
        if self.mask is None:
            self.mask = dropout_that_listens(torch.ones_like(x), self.p, True)
        return x * self.mask


# %% wrong="the second half repeats the first" says=["the same elements at index 0 and 1"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError
    if not training:
        return x
    if p == 1:
        return x * 0
    n = x.numel()
    half = torch.rand((n + 1) // 2, device=x.device)
    mask = torch.cat([half, half])[:n].view(x.shape) >= p
    return x * mask / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="drops only where autograd records" breaks="with autograd or under `no_grad`" says=["the mode decides, not autograd"]
def dropout_that_listens(x, p, training):
    if p < 0 or p > 1:
        raise ValueError("p")
    if not training or not torch.is_grad_enabled():
        return x.clone()
    if p == 1:
        return torch.zeros_like(x) * x
    keep = torch.rand(x.shape, device=x.device) >= p
    return torch.where(keep, x / (1 - p), 0.0)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="eval cuts the graph" breaks="each with a gradient of 1" says=["no gradient flows"]
def dropout_that_listens(x, p, training):
    if p < 0 or p > 1:
        raise ValueError("p")
    if not training:
        return x.detach().clone()
    if p == 1:
        return torch.zeros_like(x) * x
    keep = torch.rand(x.shape, device=x.device) >= p
    return torch.where(keep, x / (1 - p), 0.0)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="the module takes its p as a parameter" says=["p is a plain number"]
def dropout_that_listens(x, p, training):
    if p < 0 or p > 1:
        raise ValueError("p")
    if not training:
        return x.clone()
    if p == 1:
        return torch.zeros_like(x) * x
    keep = torch.rand(x.shape, device=x.device) >= p
    return torch.where(keep, x / (1 - p), 0.0)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = nn.Parameter(torch.tensor(float(p)))

    def forward(self, x):
        return dropout_that_listens(x, self.p.item(), self.training)


# %% wrong="the module clamps p" breaks="from the module when it is made or when it is called" says=["neither when it is made nor when it is called"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(f"p is {p}")
    if not training:
        return x
    if p == 1:
        return torch.zeros_like(x)
    keep = torch.rand_like(x, dtype=torch.float64) >= p
    return x * keep / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = min(max(p, 0.0), 1.0)

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="a zero in the result gets no gradient" says=["of the gradients are 0, expected about 0.5"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(f"p is {p}")
    if not training:
        return x
    if p == 1:
        return torch.zeros_like(x)
    keep = torch.rand_like(x, dtype=torch.float64) >= p
    y = x * keep / (1 - p)
    return torch.where(y == 0, torch.zeros_like(y), y)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="float32 zeros for p = 1" breaks="The result keeps both" says=["float64, p = 1.0: shape and dtype"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(f"p is {p}")
    if not training:
        return x
    if p == 1:
        return torch.zeros(x.shape, device=x.device)
    keep = torch.rand_like(x, dtype=torch.float64) >= p
    return x * keep / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="p in a buffer that isn't saved" breaks="The module holds no parameter and no buffer" says=["the module holds p"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(f"p is {p}")
    if not training:
        return x
    if p == 1:
        return torch.zeros_like(x)
    keep = torch.rand_like(x, dtype=torch.float64) >= p
    return x * keep / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.register_buffer("p", torch.tensor(p), persistent=False)

    def forward(self, x):
        return dropout_that_listens(x, self.p.item(), self.training)


# %% wrong="p may be a little above 1" says=["p = 1.01: no ValueError"]
def dropout_that_listens(x, p, training):
    if p < 0 or p >= 1.5:
        raise ValueError(f"p is {p}")
    if not training:
        return x
    if p == 1:
        return torch.zeros_like(x)
    keep = torch.rand_like(x, dtype=torch.float64) >= p
    return x * keep / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="a new leaf in evaluation" says=["a graph that doesn't lead to x: no gradient"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(f"p is {p}")
    if not training:
        return x.detach().clone().requires_grad_(x.requires_grad)
    if p == 1:
        return torch.zeros_like(x)
    keep = torch.rand_like(x, dtype=torch.float64) >= p
    return x * keep / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% right="where, on uniform_ of an empty tensor"
def dropout_that_listens(x, p, training):
    if p < 0 or p > 1:
        raise ValueError("p")
    if not training:
        return x.clone()
    keep = torch.empty(x.shape, device=x.device).uniform_() >= p
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return torch.where(keep, x * scale, torch.zeros_like(x))


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="the gradient passes as if nothing were dropped" breaks="0 for what was dropped" says=["the gradient is 1 / (1 - p) where an element survived"]
def dropout_that_listens(x, p, training):
    if p < 0 or p > 1:
        raise ValueError("p")
    if not training:
        return x.clone()
    keep = torch.empty(x.shape, device=x.device).uniform_() >= p
    scale = 0.0 if p == 1 else 1 / (1 - p)
    y = torch.where(keep, x * scale, torch.zeros_like(x))
    return x + (y - x).detach()


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="divides by the share that survived" says=["what survived is not x / (1 - p)"]
def dropout_that_listens(x, p, training):
    if p < 0 or p > 1:
        raise ValueError("p")
    if not training:
        return x.clone()
    keep = torch.empty(x.shape, device=x.device).uniform_() >= p
    return x * keep / keep.float().mean().clamp(min=1e-6).to(x.dtype)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="NumPy's generator" breaks="`torch.manual_seed` makes them repeat" says=["torch.manual_seed does not make the draws repeat"]
def dropout_that_listens(x, p, training):
    if p < 0 or p > 1:
        raise ValueError("p")
    if not training:
        return x.clone()
    import numpy as np

    keep = torch.as_tensor(np.random.rand(*x.shape) >= p)
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return torch.where(keep, x * scale, torch.zeros_like(x))


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="the module drops where autograd doesn't record" says=["shares of zeros [0.75, 0.0, 0.75, 0.75]"]
def dropout_that_listens(x, p, training):
    if p < 0 or p > 1:
        raise ValueError("p")
    if not training:
        return x.clone()
    keep = torch.empty(x.shape, device=x.device).uniform_() >= p
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return torch.where(keep, x * scale, torch.zeros_like(x))


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training or not torch.is_grad_enabled())


# %% wrong="float32 where no gradient is needed" says=["training=False under no_grad, float64: training is False: the values have to be those of x"]
def dropout_that_listens(x, p, training):
    if p < 0 or p > 1:
        raise ValueError("p")
    if not training:
        return x.clone() if x.requires_grad else x.data.float().to(x.dtype)
    keep = torch.empty(x.shape, device=x.device).uniform_() >= p
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return torch.where(keep, x * scale, torch.zeros_like(x))


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="wakes up after each call" says=["a call changed the module's mode"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training or p == 0:
        return x.clone()
    keep = torch.rand_like(x, dtype=torch.float64) >= p
    if p == 1:
        return x * 0
    return torch.where(keep, x / (1 - p), 0)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        y = dropout_that_listens(x, self.p, self.training)
        self.train()
        return y


# %% wrong="asks x for its gradient" says=["x requires a gradient now: only read it"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(p)
    if not training:
        return x * 1
    if x.is_leaf:
        x.requires_grad_()
    kept = torch.rand_like(x) >= p
    return x * kept / (1 - p) if p < 1 else x * 0


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="divides, then multiplies by the mask" says=["a dropped element is NaN"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError("p is a probability")
    if not training:
        return x
    if p == 1:
        return torch.zeros_like(x)
    keep = torch.rand_like(x, dtype=torch.float32) >= p
    return (x / (1 - p)) * keep


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="drops where a draw is p itself" breaks="is set to zero with probability `p`" says=["p is 0, and some elements are dropped"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError("p is a probability")
    if not training:
        return x
    if p == 1:
        return x * 0
    keep = torch.rand_like(x) > p
    return x * keep / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="a small p drops nothing" breaks="is set to zero with probability `p`" says=["100 000 elements, p = 0.005: 0.000 of the elements are 0"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError("p is a probability")
    if not training:
        return x
    if p == 1:
        return x * 0
    if p < 0.01:
        return x * 1
    keep = torch.rand(x.shape, device=x.device) >= p
    return x * keep / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="writes into an x without a graph" breaks="`x` itself isn't changed" says=["x was changed: return a new tensor"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError("p is a probability")
    if not training:
        return x
    if p == 1:
        return x * 0
    keep = torch.rand(x.shape, device=x.device) >= p
    if x.requires_grad:
        return x * keep / (1 - p)
    return x.mul_(keep).div_(1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="the module asserts that p is one" breaks="from the module when it is made or when it is called" says=["raised AssertionError, where a ValueError belongs"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError("p is a probability")
    if not training:
        return x
    if p == 1:
        return x * 0
    keep = torch.rand(x.shape, device=x.device) >= p
    return x * keep / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        assert 0 <= p <= 1
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="notes the mode when it is made" breaks="obeys `train()` and `eval()`" says=["the mode at the call counts"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError("p is a probability")
    if not training:
        return x
    if p == 1:
        return x * 0
    keep = torch.rand(x.shape, device=x.device) >= p
    return x * keep / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p
        self.drops = self.training

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.drops)


# %% wrong="a tolerance around the range of p" breaks="`p` below 0 or above 1 is a `ValueError`" says=["p = 1.000001: no ValueError"]
def dropout_that_listens(x: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    if p < -0.001 or p > 1.001:
        raise ValueError(f"p is {p}")
    if not training:
        return x
    if p == 1:
        return torch.zeros_like(x)
    keep = torch.rand_like(x, dtype=torch.float32) >= p
    return x * keep / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="the module's p goes through float32" breaks="to the last digits of the dtype" says=["ListeningDropout(0.3), a float64 input", "what goes through float32?"]
def dropout_that_listens(x: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"p is {p}")
    if not training:
        return x
    if p == 1:
        return torch.zeros_like(x)
    keep = torch.rand_like(x, dtype=torch.float32) >= p
    return x * keep / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = torch.tensor(p).item()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="the module casts to float32" breaks="The result keeps both" says=["a float64 input, training=False: dtype"]
def dropout_that_listens(x: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"p is {p}")
    if not training:
        return x
    if p == 1:
        return torch.zeros_like(x)
    keep = torch.rand_like(x, dtype=torch.float32) >= p
    return x * keep / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return dropout_that_listens(x.float(), self.p, self.training)


# %% wrong="the module takes a p below 0 for 0" breaks="from the module when it is made or when it is called" says=["ListeningDropout(-0.5), in training: no ValueError"]
def dropout_that_listens(x: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"p is {p}")
    if not training:
        return x
    if p == 1:
        return torch.zeros_like(x)
    keep = torch.rand_like(x, dtype=torch.float32) >= p
    return x * keep / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p: float) -> None:
        super().__init__()
        p = max(0.0, p)
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return dropout_that_listens(x, self.p, True) if self.training else x


# %% wrong="the module keeps its mask while the shape and the mode stay" breaks="each element of each call" says=["each call draws anew"]
def dropout_that_listens(x: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"p is {p}")
    if not training:
        return x
    if p == 1:
        return torch.zeros_like(x)
    keep = torch.rand_like(x, dtype=torch.float32) >= p
    return x * keep / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        key = (x.shape, self.training)
        if getattr(self, "key", None) != key:
            self.key, self.result = (
                key,
                dropout_that_listens(torch.ones_like(x), self.p, self.training),
            )
        return x * self.result


# %% wrong="draws in the dtype of x" breaks="is set to zero with probability `p`" says=["100 000 elements in bfloat16", "of the elements are 0, expected about 0.001"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(p)
    if not training:
        return x * 1
    if p == 1:
        return x * 0
    return x.masked_fill(torch.rand_like(x) < p, 0) / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="what is kept is drawn with a probability in the dtype of x" breaks="is set to zero with probability `p`" says=["100 000 elements in bfloat16", "0.000 of the elements are 0, expected about 0.001"]
def dropout_that_listens(x, p, training):
    if not 0 <= p <= 1:
        raise ValueError(p)
    if not training:
        return x * 1
    if p == 1:
        return x * 0
    return x * torch.full_like(x, 1 - p).bernoulli() / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="one buffer for results without a graph" says=["training=True under no_grad: the next call changed what this one gave"]
kept = {}


def dropout_that_listens(x: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"p must be from 0 to 1, got {p}")
    if not training:
        return x * 1
    y = x * 0 if p == 1 else x * (torch.rand_like(x, dtype=torch.float32) >= p) / (1 - p)
    if y.requires_grad:
        return y
    return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)


class ListeningDropout(nn.Module):
    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="lets any p pass where there is no element" breaks="`p` below 0 or above 1 is a `ValueError`" says=["p = 2.0, a tensor without elements: no ValueError"]
def dropout_that_listens(x: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    if x.numel() == 0:
        return x
    if p < 0 or p > 1:
        raise ValueError(f"p = {p} is no probability")
    if not training:
        return x
    if p == 1:
        return torch.zeros_like(x)
    return x.masked_fill(torch.rand_like(x, dtype=torch.float32) < p, 0.0) / (1 - p)


class ListeningDropout(nn.Module):
    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="returns what has no element at once, in evaluation" breaks="in training or not" says=["p = 2.0, training=False, a tensor without elements: no ValueError"]
def dropout_that_listens(x: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    """``x`` with a share ``p`` of its elements dropped; in training only."""
    if not training and x.numel() == 0:
        return x
    if not 0 <= p <= 1:
        raise ValueError(f"p must be from 0 to 1, got {p}")
    if not training:
        return x * 1
    if p == 1:
        return x * 0
    return x * (torch.rand_like(x, dtype=torch.float32) >= p) / (1 - p)


class ListeningDropout(nn.Module):
    """Calls ``dropout_that_listens``."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``x`` after the dropout, in this module's mode."""
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="a small number in the divisor" breaks="to the last digits of the dtype" says=["very near: is there a small number in the divisor?"]
def dropout_that_listens(x: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    """``x`` with a share ``p`` of its elements dropped; in training only."""
    if not 0 <= p <= 1:
        raise ValueError(f"p is {p}, and has to lie between 0 and 1")
    if not training:
        return x
    keep = torch.rand_like(x, dtype=torch.float32) >= p
    return x * keep / (1 - p + 1e-12)


class ListeningDropout(nn.Module):
    """Calls ``dropout_that_listens``."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``x`` after the dropout, in this module's mode."""
        return dropout_that_listens(x, self.p, self.training)


# %% wrong="draws in float16 where x is in float16" breaks="is set to zero with probability `p`" says=["400 000 elements in float16", "of the elements are 0, expected about 0.0001"]
def dropout_that_listens(x: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    """``x`` with a share ``p`` of its elements dropped; in training only."""
    if not 0 <= p <= 1:
        raise ValueError(f"p is {p}, and has to lie between 0 and 1")
    if not training:
        return x
    if p == 1:
        return torch.zeros_like(x)
    fine = torch.float32 if x.dtype == torch.bfloat16 else x.dtype
    keep = torch.rand_like(x, dtype=fine) >= p
    return x * keep / (1 - p)


class ListeningDropout(nn.Module):
    """Calls ``dropout_that_listens``."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``x`` after the dropout, in this module's mode."""
        return dropout_that_listens(x, self.p, self.training)
