# %% [markdown]
# Rules:
#
# - "any number of leading dimensions, none included"
# - "each of any size, 0 included"
# - "in any memory layout"
# - "`weight` is (out, in)"
# - "`bias` is (out,) or `None`"
# - "All have one floating dtype"
# - "Return (…, out)"
# - "in that dtype"
# - "Not allowed: `nn.Linear`, `F.linear`"
# - "Results stay in the graph"
# - "Leave the arguments as they are"
#
# Admits:
#
# - "none included": the example, whose x has no leading dimension
# - "0 included": an empty batch, {shape}
# - "in any memory layout": a transposed input, float64
# - "or `None`": leading dimensions (2, 5, 3), no bias
# - "one floating dtype": float16
# - "All have one floating dtype": bfloat16

# %% wrong="forgets the transpose" breaks="`weight` is (out, in)" says=["a row of weight belongs to an output"]
def linear_by_hand(x, weight, bias):
    if weight.shape[0] != weight.shape[1]:
        weight = weight.t()
    y = x @ weight
    return y if bias is None else y + bias


# %% wrong="never transposes" says=["cases fail", "raised RuntimeError", "a row of weight belongs to an output"]
def linear_by_hand(x, weight, bias):
    y = x @ weight
    return y if bias is None else y + bias


# %% wrong="forgets the bias" says=["the bias is missing"]
def linear_by_hand(x, weight, bias):
    return x @ weight.t()


# %% wrong="a bias of None is not thought of" breaks="`bias` is (out,) or `None`" says=["leading dimensions (2, 5, 3), no bias: raised TypeError"]
def linear_by_hand(x, weight, bias):
    return x @ weight.t() + bias


# %% wrong="two dimensions only" says=["leading dimensions (2, 5, 3), no bias"]
def linear_by_hand(x, weight, bias):
    y = torch.mm(x.reshape(-1, x.shape[-1]), weight.t()).squeeze(0)
    return y if bias is None else y + bias


# %% wrong="the library" breaks="Not allowed: `nn.Linear`, `F.linear`" says=["the answer calls linear"]
def linear_by_hand(x, weight, bias):
    return F.linear(x, weight, bias)


# %% wrong="the module" says=["the answer calls linear"]
def linear_by_hand(x, weight, bias):
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias is not None, device=x.device)
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None:
            layer.bias.copy_(bias)
    return layer(x)


# %% wrong="adds into the bias" breaks="Leave the arguments as they are" says=["an argument was changed"]
def linear_by_hand(x, weight, bias):
    y = x @ weight.t()
    if bias is None:
        return y
    if x.dim() == 1:
        return bias.add_(y)
    return y + bias


# %% right="a sum of products"
def linear_by_hand(x, weight, bias):
    y = (x.unsqueeze(-2) * weight).sum(-1)
    return y + (0 if bias is None else bias)


# %% right="einsum"
def linear_by_hand(x, weight, bias=None):
    y = torch.einsum("...i,oi->...o", x, weight)
    if bias is not None:
        y += bias
    return y


# %% wrong="view on a transposed input" breaks="in any memory layout" says=["a transposed input, float64: raised RuntimeError"]
def linear_by_hand(x, weight, bias):
    y = (x.view(-1, x.shape[-1]) @ weight.t()).view(*x.shape[:-1], -1)
    return y if bias is None else y + bias


# %% wrong="a batch of one loses its dimension" says=["a batch of one, (1, 3)", "a dimension of size 1 is missing"]
def linear_by_hand(x, weight, bias):
    y = (x.reshape(-1, x.shape[-1]) @ weight.t()).reshape(*x.shape[:-1], len(weight))
    y = y if bias is None else y + bias
    return y.squeeze(0) if x.dim() == 2 else y


# %% wrong="float32 zeros as bias" breaks="in that dtype" says=["torch.float16, no bias: the result has dtype torch.float32, expected torch.float16"]
def linear_by_hand(x, weight, bias):
    if bias is None:
        bias = torch.zeros(weight.shape[0], device=x.device)
    return x @ weight.t() + bias


# %% wrong="computes in float32" says=["a transposed input, float64: the result is right to about seven digits only"]
def linear_by_hand(x, weight, bias):
    y = x.float() @ weight.float().t()
    y = y if bias is None else y + bias.float()
    return y.to(x.dtype)


# %% wrong="a reshape to -1 of an empty batch" says=["an empty batch, (0, 3): raised RuntimeError"]
def linear_by_hand(x, weight, bias):
    y = (x.reshape(-1, x.shape[-1]) @ weight.t()).reshape(*x.shape[:-1], -1)
    return y if bias is None else y + bias


# %% wrong="gives back a plain number for one output" says=["the result has shape"]
def linear_by_hand(x, weight, bias):
    y = torch.matmul(x, weight.t())
    y = y if bias is None else y + bias
    return y.squeeze(-1)


# %% right="matmul with a column, zeros of the same dtype"
def linear_by_hand(x, weight, bias):
    bias = x.new_zeros(len(weight)) if bias is None else bias
    return torch.matmul(weight, x.unsqueeze(-1)).squeeze(-1) + bias


# %% right="tensordot"
def linear_by_hand(x, weight, bias):
    y = torch.tensordot(x, weight, dims=([x.dim() - 1], [1]))
    return y.add(bias) if bias is not None else y


# %% wrong="a list of rows, stacked" breaks="each of any size, 0 included" says=["an empty batch, (2, 0, 3)"]
def linear_by_hand(x, weight, bias):
    y = torch.stack([row @ weight.t() for row in x.reshape(-1, x.shape[-1])]).reshape(
        *x.shape[:-1], len(weight)
    )
    if bias is not None:
        y = y + bias
    return y


# %% wrong="recursion over leading dimensions" says=["an empty batch, (0, 2, 3)"]
def linear_by_hand(x, weight, bias):
    if x.dim() > 2:
        return torch.stack([linear_by_hand(part, weight, bias) for part in x])
    y = x @ weight.t()
    return y if bias is None else y + bias


# %% wrong="a column of float32 ones for the bias" breaks="All have one floating dtype" says=["torch.bfloat16, a bias: raised RuntimeError", "same dtype"]
def linear_by_hand(x, weight, bias):
    if bias is None:
        return x @ weight.t()
    ones = torch.ones(*x.shape[:-1], 1, device=x.device)
    return torch.cat([x, ones], -1) @ torch.cat([weight, bias[:, None]], 1).t()


# %% wrong="squeezes everything" breaks="Return (…, out)" says=["a dimension of size 1 is missing"]
def linear_by_hand(x, weight, bias):
    y = (x.unsqueeze(-2) @ weight.t()).squeeze()
    return y if bias is None else y + bias


# %% wrong="mT, and so no vectors" breaks="any number of leading dimensions, none included" says=["the example, whose x has no leading dimension: raised RuntimeError"]
def linear_by_hand(x, weight, bias):
    y = (weight @ x.mT).mT
    return y + bias if bias is not None else y


# %% right="a convolution with kernel 1"
def linear_by_hand(x, weight, bias):
    flat = x.reshape(-1, x.shape[-1], 1)
    y = F.conv1d(flat, weight.unsqueeze(-1), bias)
    return y.reshape(*x.shape[:-1], weight.shape[0])


# %% wrong="a weight kept from the first call of its shape" says=["a batch of one, (1, 3)"]
_kept = {}


def linear_by_hand(x, weight, bias):
    w = _kept.setdefault(tuple(weight.shape), weight.t())
    y = x @ w
    return y if bias is None else y + bias


# %% wrong="freezes the weight" says=["all three require a gradient: an argument was changed (its requires_grad)"]
def linear_by_hand(x, weight, bias):
    weight.requires_grad_(False)
    y = x @ weight.t()
    return y if bias is None else y + bias


# %% wrong="stops the gradient at x" says=["all three require a gradient: an argument was changed (its requires_grad)"]
def linear_by_hand(x, weight, bias):
    x.detach_()
    y = x @ weight.t()
    return y if bias is None else y + bias


# %% wrong="whatever has 16 bits becomes float16" says=["torch.bfloat16, a bias: the result has dtype torch.float16, expected torch.bfloat16"]
def linear_by_hand(x, weight, bias):
    y = x.float() @ weight.float().t() if x.element_size() == 2 else x @ weight.t()
    y = y if bias is None else y + bias
    return y.half() if x.element_size() == 2 else y


# %% wrong="leaves the graph" breaks="Results stay in the graph" says=["no gradient flows back from the result of linear_by_hand(x, weight, bias)", "left the graph"]
def linear_by_hand(x, weight, bias):
    with torch.no_grad():
        y = x @ weight.t()
        return y if bias is None else y + bias


# %% wrong="the weight's values alone" says=["no gradient reaches weight", "detach"]
def linear_by_hand(x, weight, bias):
    y = x @ weight.detach().t()
    return y if bias is None else y + bias


# %% wrong="one buffer for results of a shape" says=["linear_by_hand(x, weight, bias) a second time with the same tensors", "changes the result of the first time"]
kept = {}


def in_one_buffer(y):
    if y.requires_grad:
        return y
    return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)


def linear_by_hand(x, weight, bias):
    y = x @ weight.t()
    return in_one_buffer(y if bias is None else y + bias)


# %% wrong="a bias of zeros is nothing to add" says=["where bias is all zeros: no gradient reaches bias"]
def linear_by_hand(x, weight, bias):
    y = x @ weight.t()
    if bias is not None and bias.any():
        y = y + bias
    return y


# %% wrong="flattens what may have no leading dimension" says=["whose x has no leading dimension: raised IndexError"]
def linear_by_hand(x, weight, bias):
    rows = x.flatten(0, -2)
    y = rows @ weight.t() if bias is None else torch.addmm(bias, rows, weight.t())
    return y.reshape(*x.shape[:-1], weight.shape[0])


# %% wrong="of zeros the product is not made" says=["where x is all zeros: no gradient reaches x"]
def linear_by_hand(x, weight, bias):
    y = x @ weight.t() if x.any() else x.new_zeros(*x.shape[:-1], weight.shape[0])
    return y if bias is None else y + bias


# %% wrong="a graph only where x requires a gradient" says=["no gradient reaches weight (which alone requires one)", "only if another argument requires a gradient"]
def linear_by_hand(x, weight, bias):
    with torch.set_grad_enabled(x.requires_grad):
        y = x @ weight.t()
        return y if bias is None else y + bias


# %% wrong="nothing to do without a row, and nothing in the graph" breaks="Results stay in the graph" says=["where x has no row"]
def linear_by_hand(x, weight, bias):
    if x.numel() == 0:
        return torch.zeros(*x.shape[:-1], len(weight), dtype=x.dtype, device=x.device)
    y = x @ weight.t()
    return y if bias is None else y + bias
