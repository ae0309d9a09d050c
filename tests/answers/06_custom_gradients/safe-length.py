# %% [markdown]
# Rules:
#
# - "Write `Length`, a Function"
# - "takes `x` of shape (…, n)"
# - "float32 or float64"
# - "returns the length of each vector"
# - "of shape (…)"
# - "and of x's dtype"
# - "returns, for each vector"
# - "the gradient that arrives"
# - "times x / length"
# - "however short the vector"
# - "exactly 0 where the length is 0"
# - "Leave `x` as it is"
# - "`Length.apply(x)`"
#
# Admits:
#
# - "takes `x` of shape (…, n)": shape (2, 3, 4), float64
# - "of shape (…, n), float32 or float64": float64 beyond float32
# - "of each vector": no vectors at all, (0, 3)
# - "however short the vector": x = (3e-15, 4e-15)
# - "exactly 0 where the length is 0": x = (0, 0)
# - "Leave `x` as it is": a transposed matrix

# %% wrong="divides by zero" breaks="exactly 0 where the length is 0" says=["NaN in the gradient where the length is 0"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.norm(dim=-1)
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        return gradient.unsqueeze(-1) * x / length.unsqueeze(-1)


# %% wrong="forgets the gradient that arrives" breaks="the gradient that arrives" says=["it forgets the gradient that arrives"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.norm(dim=-1)
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        return x / length.clamp(min=1e-12).unsqueeze(-1)


# %% wrong="no dimension for the vector" says=["a dimension is missing (unsqueeze)"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.norm(dim=-1)
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        return gradient * x / length.clamp(min=1e-12)


# %% wrong="the slope of the square" breaks="times x / length" says=["the slope of the squared length"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.norm(dim=-1)
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        return 2 * x * gradient.unsqueeze(-1)


# %% wrong="the square itself" says=["this is the square of the length"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = (x * x).sum(-1)
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        return 2 * x * gradient.unsqueeze(-1)


# %% wrong="divides by the square" says=["divided once too often"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.norm(dim=-1)
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        return (gradient / length.clamp(min=1e-6) ** 2).unsqueeze(-1) * x


# %% wrong="a small number in the root" says=["a zero vector has the length 0.1"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = ((x * x).sum(-1) + 1e-2).sqrt()
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        return (gradient / length).unsqueeze(-1) * x


# %% wrong="the length of everything" breaks="returns the length of each vector" says=["the lengths have shape (), expected (3,)"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.norm()
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        return gradient * x / length.clamp(min=1e-12)


# %% wrong="keeps the dimension" breaks="of shape (…)" says=["the lengths have shape (1,), expected ()"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.norm(dim=-1, keepdim=True)
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        return gradient * x / length.clamp(min=1e-12)


# %% wrong="squares its argument in place" breaks="Leave `x` as it is" says=["an argument was changed"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.clone())
        return x.mul_(x).sum(-1).sqrt()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        length = x.norm(dim=-1, keepdim=True).clamp(min=1e-12)
        return gradient.unsqueeze(-1) * x / length


# %% wrong="an ordinary function" breaks="Write `Length`, a Function" says=["is no Function"]
def Length(x):
    return x.norm(dim=-1)


Length.apply = Length


# %% wrong="adds a small number to the length" breaks="however short the vector" says=["short vectors get too little"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.norm(dim=-1)
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        return gradient.unsqueeze(-1) * x / (length + 1e-6).unsqueeze(-1)


# %% wrong="cuts the length off below, too early" says=["short vectors get too little"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.norm(dim=-1)
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        return gradient.unsqueeze(-1) * x / length.clamp(min=1e-4).unsqueeze(-1)


# %% right="setup_context, nan_to_num"
class Length(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.linalg.vector_norm(x, dim=-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        return torch.einsum("...,...n->...n", gradient, (x / length[..., None]).nan_to_num(0.0))


# %% right="keeps the unit vectors alone, vjp in place of backward"
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.pow(2).sum(dim=-1, keepdim=True) ** 0.5
        unit = torch.zeros_like(x)
        rows = (length > 0).squeeze(-1)
        unit[rows] = x[rows] / length[rows]
        ctx.save_for_backward(unit)
        return length.squeeze(-1)

    @staticmethod
    def vjp(ctx, gradient):
        return ctx.saved_tensors[0] * gradient.unsqueeze(-1)


# %% right="a rule that is inherited"
class ByUnit(torch.autograd.Function):
    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        return torch.where(length == 0, 0.0, gradient / length).unsqueeze(-1) * x


class Length(ByUnit):
    @staticmethod
    def forward(ctx, x):
        length = torch.sqrt(torch.sum(x * x, dim=-1))
        ctx.save_for_backward(x, length)
        return length


# %% wrong="keeps x on the class" breaks="`Length.apply(x)`" says=["a second call overwrites what the first one's backward needs"]
def safe_length(x):
    return Length.apply(x)


class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        Length.x = x
        Length.y = x.norm(dim=-1)
        return Length.y

    @staticmethod
    def backward(ctx, g):
        return (g / torch.where(Length.y == 0, 1, Length.y)).unsqueeze(-1) * Length.x


# %% wrong="a threshold below which a vector is zero" says=["short vectors get too little"]
def safe_length(x):
    return Length.apply(x)


class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.norm(dim=-1)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return torch.where(y[..., None] > 1e-7, g[..., None] * x / y[..., None], 0)


# %% wrong="in float32" breaks="float32 or float64" says=["float64 beyond float32: the length: expected 5e+100, got inf"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        small = x.float()
        length = small.norm(dim=-1)
        ctx.save_for_backward(small, length)
        return length.to(x.dtype)

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        unit = x / torch.where(length == 0, 1, length).unsqueeze(-1)
        return gradient.unsqueeze(-1) * unit


# %% wrong="the lengths come back in float32" breaks="and of x's dtype" says=["the length has dtype torch.float32, expected torch.float64"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.norm(dim=-1)
        ctx.save_for_backward(x, length)
        return length.float()

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        unit = x / torch.where(length == 0, 1, length).unsqueeze(-1)
        return gradient.unsqueeze(-1) * unit


# %% wrong="vectors of one batch dimension" breaks="takes `x` of shape (…, n)" says=["the lengths have shape (2, 4), expected (2, 3)"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.norm(dim=1) if x.dim() > 1 else x.norm()
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        unit = x / torch.where(length == 0, 1, length).unsqueeze(-1)
        return gradient.unsqueeze(-1) * unit


# %% wrong="what arrives is written into" says=["backward writes into the gradient that arrives"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.linalg.vector_norm(x, dim=-1)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        safe = torch.where(y == 0, 1.0, y)
        gradient /= safe
        return gradient.unsqueeze(-1) * x


def safe_length(x):
    return Length.apply(x)


# %% wrong="computes the gradient in float32" breaks="float32 or float64" says=["seven digits alone"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        big = x.abs().amax(-1, keepdim=True)
        big = torch.where((big == 0) | big.isinf(), torch.ones_like(big), big)
        length = (x / big).pow(2).sum(-1).sqrt() * big.squeeze(-1)
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        length = length.unsqueeze(-1)
        slope = torch.where(length == 0, 0.0, x / torch.where(length == 0, 1.0, length))
        return (gradient.unsqueeze(-1).float() * slope.float()).to(x.dtype)


def safe_length(x):
    return Length.apply(x)


# %% wrong="writes into what arrives for one number a vector" breaks="takes `x` of shape (…, n)" says=["backward writes into the gradient that arrives"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        big = x.abs().amax(-1, keepdim=True)
        big = torch.where((big == 0) | big.isinf(), torch.ones_like(big), big)
        length = (x / big).pow(2).sum(-1).sqrt() * big.squeeze(-1)
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        length = length.unsqueeze(-1)
        slope = torch.where(length == 0, 0.0, x / torch.where(length == 0, 1.0, length))
        return (
            gradient.unsqueeze(-1).mul_(slope)
            if x.shape[-1] == 1
            else gradient.unsqueeze(-1) * slope
        )


def safe_length(x):
    return Length.apply(x)


# %% wrong="squeezes all dimensions" breaks="of shape (…)" says=["a single row, (1, 2)"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.norm(dim=-1, keepdim=True).squeeze()
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        length = length.unsqueeze(-1)
        slope = torch.where(length == 0, 0.0, x / torch.where(length == 0, 1.0, length))
        return gradient.unsqueeze(-1) * slope


def safe_length(x):
    return Length.apply(x)


# %% wrong="one zero vector stops all" breaks="returns, for each vector" says=["choose for each vector by itself"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        scale = x.abs().amax(dim=-1, keepdim=True)
        scale = torch.where(scale == 0, torch.ones_like(scale), scale)
        small = x / scale
        size = small.square().sum(dim=-1, keepdim=True).sqrt()
        ctx.save_for_backward(small, size)
        return (size * scale).squeeze(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        small, size = ctx.saved_tensors
        if (size == 0).any():
            return torch.zeros_like(small)
        safe = torch.where(size == 0, torch.ones_like(size), size)
        direction = small / safe
        return torch.where(size == 0, torch.zeros_like(small), gradient.unsqueeze(-1) * direction)


# %% wrong="takes the rows by a view" breaks="takes `x` of shape (…, n)" says=["shape (3, 2, 2), transposed", "Use .reshape"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.view(-1, x.shape[-1]).view(x.shape)
        scale = x.abs().amax(dim=-1, keepdim=True)
        scale = torch.where(scale == 0, torch.ones_like(scale), scale)
        small = x / scale
        size = small.square().sum(dim=-1, keepdim=True).sqrt()
        ctx.save_for_backward(small, size)
        return (size * scale).squeeze(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        small, size = ctx.saved_tensors
        safe = torch.where(size == 0, torch.ones_like(size), size)
        direction = small / safe
        return torch.where(size == 0, torch.zeros_like(small), gradient.unsqueeze(-1) * direction)


# %% right="scaled by the largest entry, once_differentiable"
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        scale = x.abs().amax(dim=-1, keepdim=True)
        scale = torch.where(scale == 0, torch.ones_like(scale), scale)
        small = x / scale
        size = small.square().sum(dim=-1, keepdim=True).sqrt()
        ctx.save_for_backward(small, size)
        return (size * scale).squeeze(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        small, size = ctx.saved_tensors
        safe = torch.where(size == 0, torch.ones_like(size), size)
        direction = small / safe
        return gradient.unsqueeze(-1) * direction


# %% wrong="empties what is kept" breaks="the gradient that arrives" says=["backward comes a second time (retain_graph=True): what is kept on ctx has to stay"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        scale = x.abs().amax(dim=-1, keepdim=True)
        scale = torch.where(scale == 0, torch.ones_like(scale), scale)
        small = x / scale
        size = small.square().sum(dim=-1, keepdim=True).sqrt()
        ctx.kept = [small, size]
        return (size * scale).squeeze(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        size, small = ctx.kept.pop(), ctx.kept.pop()
        safe = torch.where(size == 0, torch.ones_like(size), size)
        direction = small / safe
        return torch.where(size == 0, torch.zeros_like(small), gradient.unsqueeze(-1) * direction)


# %% wrong="takes what arrives by a view" breaks="the gradient that arrives" says=["Neither x nor what arrives in backward need be contiguous"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        scale = x.abs().amax(dim=-1, keepdim=True)
        scale = torch.where(scale == 0, torch.ones_like(scale), scale)
        small = x / scale
        size = small.square().sum(dim=-1, keepdim=True).sqrt()
        ctx.save_for_backward(small, size)
        return (size * scale).squeeze(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        small, size = ctx.saved_tensors
        safe = torch.where(size == 0, torch.ones_like(size), size)
        direction = small / safe
        return torch.where(
            size == 0,
            torch.zeros_like(small),
            gradient.view(-1, 1).view(*gradient.shape, 1) * direction,
        )


# %% wrong="a floor that float64 goes below" says=["short vectors get too little"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = (x * x).sum(-1).sqrt()
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        divisor = length.clamp(min=1e-30)
        return gradient.unsqueeze(-1) * (x / divisor.unsqueeze(-1))


def safe_length(x: torch.Tensor) -> torch.Tensor:
    """Given: the lengths, by your Function."""
    return Length.apply(x)


# %% wrong="zero by the sum of its entries" says=["the vector (3, -3) is not"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = (x * x).sum(-1).sqrt()
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        divisor = torch.where(x.sum(-1) == 0, 1.0, length)
        return gradient.unsqueeze(-1) * (x / divisor.unsqueeze(-1))


def safe_length(x):
    return Length.apply(x)


# %% wrong="scales all vectors by the largest number of all" says=["rows (3e-15, 4e-15), (3e18, 4e18): short vectors get too little"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.abs().max() if x.numel() else 1
        length = ((x / m) ** 2).sum(-1).sqrt() * m if x.any() else (x * x).sum(-1).sqrt()
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        safe = torch.where(length == 0, 1, length)
        return (gradient / safe).unsqueeze(-1) * x


def safe_length(x: torch.Tensor) -> torch.Tensor:
    """Given: the lengths, by your Function."""
    return Length.apply(x)


# %% wrong="keeps the factors of the first backward" breaks="the gradient that arrives" says=["with another gradient: multiply by what arrives each time"]
class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.square().sum(-1).sqrt()
        ctx.save_for_backward(x, length)
        ctx.factor = None
        return length

    @staticmethod
    def backward(ctx, gradient):
        x, length = ctx.saved_tensors
        if ctx.factor is None:
            ctx.factor = gradient / torch.where(length == 0, 1, length)
        return ctx.factor.unsqueeze(-1) * x
