# %% [markdown]
# Rules:
#
# - "Return the gradient of the operand"
# - "of shape `shape`"
# - "and of the same dtype"
# - "that broadcasting added in front"
# - "over every dimension that it widened from 1"
# - "If nothing was broadcast, the values stay as they are"
# - "A widened dimension may have size 0: the sum over nothing is 0"
# - "Leave the argument alone"
# - "Sum over every dimension"
#
# Admits:
#
# - "any number of dimensions": g.sum()
# - "any floating-point dtype": to(torch.float16)
# - "any number of dimensions and any": two in front
# - "A widened dimension may have size 0": (g[:0], {(1, 3)
# - "The gradient of the result": an expanded gradient, as sum() sends it

# %% wrong="sums the added dimensions alone" breaks="over every dimension that it widened from 1" says=["a widened one stays, with size 1", "has shape (3,), expected (2, 1)"]
def unbroadcast(gradient: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    while gradient.dim() > len(shape):
        gradient = gradient.sum(0)
    return gradient if gradient.shape == torch.Size(shape) else gradient.sum(0)


# %% wrong="drops the dimensions that it sums" breaks="of shape `shape`" says=["has shape (2,), expected (2, 1)", "a widened one stays"]
def unbroadcast(gradient, shape):
    added = gradient.dim() - len(shape)
    dims = list(range(added)) + [i + added for i, n in enumerate(shape) if n == 1]
    return gradient.sum(dims) if dims else gradient


# %% wrong="the mean, as if every element had voted" breaks="Sum over every dimension" says=["that is the mean; every copy was paid"]
def unbroadcast(gradient, shape):
    added = gradient.dim() - len(shape)
    dims = list(range(added)) + [i + added for i, n in enumerate(shape) if n == 1]
    return (gradient.mean(dims, keepdim=True) if dims else gradient).reshape(shape)


# %% wrong="takes one of the copies" breaks="Return the gradient of the operand" says=["that is one of the payments"]
def unbroadcast(gradient, shape):
    while gradient.dim() > len(shape):
        gradient = gradient[0]
    for dim, n in enumerate(shape):
        if n == 1:
            gradient = gradient[(slice(None),) * dim + (slice(0, 1),)]
    return gradient


# %% wrong="sums over everything when nothing was broadcast" breaks="If nothing was broadcast, the values stay as they are" says=["nothing was broadcast"]
def unbroadcast(gradient, shape):
    added = gradient.dim() - len(shape)
    dims = list(range(added)) + [i + added for i, n in enumerate(shape) if n == 1]
    total = gradient.sum(dims, keepdim=True)
    return total.expand(gradient.shape) if not dims else total.reshape(shape)


# %% wrong="in place on the argument" breaks="Leave the argument alone" says=["an argument was changed"]
def unbroadcast(gradient, shape):
    rows = gradient.shape[0] if gradient.dim() else 0
    for row in range(1, rows):
        gradient[0] += gradient[row]
    return gradient.sum_to_size(shape)


# %% right="PyTorch has it"
def unbroadcast(gradient, shape):
    return gradient.sum_to_size(shape)


# %% right="a loop from the right"
def unbroadcast(gradient, shape):
    result = gradient.clone()
    wanted = [1] * (gradient.dim() - len(shape)) + list(shape)
    for dim, n in enumerate(wanted):
        if n == 1 and result.shape[dim] != 1:
            result = (
                torch.stack([result.select(dim, i) for i in range(result.shape[dim])])
                .sum(0)
                .unsqueeze(dim)
                if result.shape[dim]
                else result.sum(dim, keepdim=True)
            )
    return result.view(shape)


# %% right="ask autograd"
def unbroadcast(gradient, shape):
    with torch.enable_grad():
        operand = torch.zeros(shape, dtype=gradient.dtype, device=gradient.device).requires_grad_()
        return torch.autograd.grad(operand.broadcast_to(gradient.shape), operand, gradient)[0]


# %% wrong="one dimension in front at most" breaks="that broadcasting added in front" says=["(4, 2, 3) to (3,)", "has shape (2, 3), expected (3,)"]
def unbroadcast(gradient, shape):
    if gradient.dim() > len(shape):
        gradient = gradient.sum(0)
    for dim, size in enumerate(shape):
        if size == 1:
            gradient = gradient.sum(dim, keepdim=True)
    return gradient if shape else gradient.sum()


# %% wrong="in float32" breaks="and of the same dtype" says=["has dtype torch.float32, expected torch.float64", "expected torch.float16"]
def unbroadcast(gradient, shape):
    return gradient.float().sum_to_size(shape)


# %% wrong="marks its argument" says=["an argument was changed"]
def unbroadcast(gradient, shape):
    return gradient.requires_grad_().sum_to_size(shape).detach()


# %% wrong="nothing is widened to size 0" breaks="A widened dimension may have size 0: the sum over nothing is 0" says=["(0, 3) to (1, 3), float32: the gradient (the sum over nothing is 0) has shape (0, 3), expected (1, 3)"]
def unbroadcast(gradient, shape):
    result = (
        gradient.sum(tuple(range(gradient.dim() - len(shape))))
        if gradient.dim() > len(shape)
        else gradient
    )
    for dim, n in enumerate(shape):
        if n == 1 and result.shape[dim] > 1:
            result = result.sum(dim, keepdim=True)
    return result


# %% wrong="asks for the largest" says=["(0, 3) to (1, 3), float32: raised RuntimeError: max()"]
def unbroadcast(gradient, shape):
    if gradient.abs().max() == 0:
        return gradient.new_zeros(shape)
    return gradient.sum_to_size(shape)


# %% wrong="two dimensions at most in front" breaks="that broadcasting added in front" says=["(4, 2, 3) to (), float64"]
def unbroadcast(gradient, shape):
    front = min(gradient.dim() - len(shape), 2)
    dims = list(range(front)) + [
        front + i for i, n in enumerate(shape) if n == 1 and gradient.shape[front + i] != 1
    ]
    return gradient.sum(dims).reshape(shape) if dims else gradient


# %% wrong="by sizes, not by places" says=["(3, 3, 3) to (3, 1), float32: ", "places count, from the end"]
def unbroadcast(gradient, shape):
    dims = []
    left = list(shape)
    for d, size in enumerate(gradient.shape):
        if size in left:
            left.remove(size)
        else:
            dims.append(d)
    if not dims:
        return gradient
    return gradient.sum(dims, keepdim=True).reshape(shape)


# %% wrong="nothing to sum, nothing written" judge="differs" says=["the sum over nothing is 0"]
def unbroadcast(gradient, shape):
    extra = gradient.ndim - len(shape)
    dims = list(range(extra))
    dims += [extra + i for i, size in enumerate(shape) if size == 1]
    if gradient.numel() == 0:
        return gradient.new_empty(shape)
    if not dims:
        return gradient
    return gradient.sum(dims, keepdim=True).reshape(shape)


# %% wrong="letters for four dimensions" says=["(2, 2, 2, 2, 2) to (2, 1, 2), bfloat16: "]
def unbroadcast(gradient, shape):
    letters = "abcd"[: gradient.ndim]
    behind = letters[gradient.ndim - len(shape) :]
    kept = "".join(x for x, size in zip(behind, shape, strict=True) if size != 1)
    return torch.einsum(f"{letters}->{kept}", gradient).reshape(shape)


# %% wrong="flattens the front, which nothing may be in" says=["(2, 0, 3) to (0, 3)", "(the sum over nothing is 0; with no element, a size given as -1 can't be told)"]
def unbroadcast(gradient: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    if gradient.dim() > len(shape):
        gradient = gradient.view(-1, *gradient.shape[gradient.dim() - len(shape) :]).sum(0)
    for i, s in enumerate(shape):
        if s == 1:
            gradient = gradient.sum(i, keepdim=True)
    return gradient


# %% wrong="leaves nan out" says=["a sum with nan is nan: leave nothing out"]
def unbroadcast(gradient: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    extra = gradient.dim() - len(shape)
    dims = list(range(extra)) + [
        extra + i for i, s in enumerate(shape) if s == 1 and gradient.shape[extra + i] != 1
    ]

    if dims:
        gradient = gradient.nansum(dims, keepdim=True)
    return gradient.reshape(shape)


# %% wrong="zeros of the usual dtype where nothing is summed" says=["has dtype torch.float32, expected torch.float64", "the sum over nothing is 0"]
def unbroadcast(gradient: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    if gradient.numel() == 0:
        return torch.zeros(shape)
    while gradient.dim() > len(shape):
        gradient = gradient.sum(0)
    for i, s in enumerate(shape):
        if s == 1:
            gradient = gradient.sum(i, keepdim=True)
    return gradient


# %% wrong="adds one row after the other, in half precision" says=["many small payments"]
def unbroadcast(gradient: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    while gradient.dim() > len(shape):
        total = torch.zeros_like(gradient[0]) if len(gradient) else gradient.sum(0)
        for part in gradient:
            total = total + part
        gradient = total
    for i, s in enumerate(shape):
        if s == 1:
            gradient = gradient.sum(i, keepdim=True)
    return gradient


# %% wrong="views the front of a transposed gradient" says=["view size is not compatible", "(a transposed gradient)"]
def unbroadcast(gradient, shape):
    extra = gradient.dim() - len(shape)
    if extra:
        gradient = gradient.view(gradient.shape[:extra].numel(), *gradient.shape[extra:]).sum(0)
    for i, n in enumerate(shape):
        if n == 1:
            gradient = gradient.sum(i, keepdim=True)
    return gradient


# %% wrong="letters for eight dimensions" says=["(of 32 dims)"]
def unbroadcast(gradient, shape):
    letters = "abcdefgh"[: gradient.dim()]
    extra = gradient.dim() - len(shape)
    kept = "".join(c for c, n in zip(letters[extra:], shape) if n != 1)
    return torch.einsum(f"{letters}->{kept}", gradient).reshape(shape)


# %% wrong="the last of the running sums" says=["(0, 3) to (1, 3)"]
def last(g, dims):
    for d in dims:
        g = g.cumsum(d).narrow(d, -1, 1)
    return g


def unbroadcast(gradient, shape):
    extra = gradient.dim() - len(shape)
    dims = list(range(extra)) + [i + extra for i, n in enumerate(shape) if n == 1]
    if dims:
        gradient = last(gradient, dims)
    return gradient.reshape(shape)


# %% wrong="an empty list of dimensions" says=["sum() over an empty list of dimensions is the sum over all"]
def unbroadcast(gradient: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    extra = gradient.dim() - len(shape)
    if extra:
        gradient = gradient.sum(list(range(extra)))
    widened = [i for i, n in enumerate(shape) if n == 1 and gradient.shape[i] != 1]
    return gradient.sum(widened, keepdim=True)


# %% wrong="by NumPy" says=["NumPy has no bfloat16"]
def unbroadcast(gradient: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    extra = gradient.dim() - len(shape)
    axes = list(range(extra))
    axes += [extra + i for i, size in enumerate(shape) if size == 1]
    total = gradient.detach().cpu().numpy().sum(axis=tuple(axes), keepdims=True).reshape(shape)
    return torch.as_tensor(total, dtype=gradient.dtype, device=gradient.device)


# %% wrong="reshapes the sum over no dimension" says=["(nothing was broadcast; too much was summed up: sum() over an empty list of dimensions is the sum over all, too)"]
def unbroadcast(gradient: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    extra = gradient.dim() - len(shape)
    dims = list(range(extra))
    dims += [
        extra + i for i, size in enumerate(shape) if size == 1 and gradient.shape[extra + i] != 1
    ]
    return gradient.sum(dims, keepdim=True).reshape(shape)
