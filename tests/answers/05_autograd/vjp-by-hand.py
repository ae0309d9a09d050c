# %% [markdown]
# Rules:
#
# - "a pair, for `a` and for `b`"
# - "`a` (n, k), `b` (k, m)"
# - "the gradient of `x`, computed from the *result* `y`"
# - "which has one dimension or more"
# - "`gradient` has one dimension less than `x`"
# - "It has to be finite for rows around 1000"
# - "also side by side"
# - "a triple, for `x`, `weight` and `bias`"
# - "along each row, with the variance divided by d"
# - "The normalised value is"
# - "All tensors are float32 or float64"
# - "any dimension may have size 0"
# - "Use formulas"
# - "no `backward`"
# - "`autograd.grad`"
# - "`torch.func`"
# - "none of PyTorch's own"
# - "Leave the arguments alone"
#
# Admits:
#
# - "any dimension may have size 0": n, k, m =
# - "In `matmul_vjp` and `softmax_vjp` any dimension": x of shape
# - "which has one dimension or more": x (2, 2, 3), float64
# - "rows around 1000 and around −1000": rows near 1000 and near -1000
# - "one dimension less than `x`": x (3,), gradient ()
# - "All tensors are float32 or float64": b (2, 4), float64
# - "`x` of shape (batch, d)": one row, float64

# %% wrong="the two gradients of matmul in the wrong order" breaks="a pair, for `a` and for `b`" says=["that is the gradient of the other factor: compare the shapes"]
def matmul_vjp(gradient, a, b):
    return a.t() @ gradient, gradient @ b.t()


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    gx = scale * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return gx, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="softmax element by element" says=["every entry of y depends on every entry of x in its row"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return gradient * y * (1 - y)


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    gx = scale * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return gx, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="logsumexp by exp over sum of exp" breaks="It has to be finite for rows around 1000" says=["exp of large numbers is infinite"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient[..., None] * x.exp() / x.exp().sum(-1, keepdim=True)


def layer_norm_vjp(gradient, x, weight):
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    gx = scale * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return gx, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="forgets the upstream gradient of logsumexp" says=["the upstream gradient is missing"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    gx = scale * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return gx, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="mean and variance as constants" breaks="The normalised value is" says=["mean and variance depend on x as well"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    return scale * g, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="the variance of a sample" breaks="along each row, with the variance divided by d" says=["divide the variance by d, not by d - 1"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    scale = (x.var(-1, correction=1, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    gx = scale * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return gx, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="the bias gets no gradient" breaks="a triple, for `x`, `weight` and `bias`" says=["2 parts came back"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    gx = scale * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return gx, (gradient * normal).sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="the gradients of weight and bias per sample" says=["gets the sum of all payments"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    gx = scale * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return gx, gradient * normal, gradient


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% right="Jacobians written out, einsum"
def matmul_vjp(gradient, a, b):
    return [torch.einsum("nm,km->nk", gradient, b), torch.einsum("nk,nm->km", a, gradient)]


def softmax_vjp(gradient, y):
    jacobian = torch.diag_embed(y) - y.unsqueeze(-1) * y.unsqueeze(-2)
    return torch.einsum("...i,...ij->...j", gradient, jacobian)


def logsumexp_vjp(gradient, x):
    top = x.amax(-1, keepdim=True)
    share = (x - top).exp()
    return share / share.sum(-1, keepdim=True) * gradient[..., None]


def layer_norm_vjp(gradient, x, weight):
    d = x.shape[-1]
    centred = x - x.sum(-1, keepdim=True) / d
    deviation = ((centred**2).sum(-1, keepdim=True) / d + 1e-5).sqrt()
    normal = centred / deviation
    g = gradient * weight
    inner = g / deviation - normal * (g * normal).sum(-1, keepdim=True) / (d * deviation)
    return inner - inner.sum(-1, keepdim=True) / d, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="softmax by autograd" breaks="`autograd.grad`" says=["the answer calls autograd.grad", "write it without the library's own"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    with torch.enable_grad():
        x = y.log().detach().requires_grad_()
        return torch.autograd.grad(x.softmax(-1), x, gradient)[0]


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    gx = scale * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return gx, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="logsumexp by torch.func" breaks="`torch.func`" says=["the answer calls autograd.grad"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return torch.func.vjp(lambda x: x.logsumexp(-1), x)[1](gradient)[0]


def layer_norm_vjp(gradient, x, weight):
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    gx = scale * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return gx, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="one maximum for all rows" breaks="also side by side" says=["subtract each row's own maximum"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    e = (x - x.max()).exp() if x.numel() else x.exp()
    return gradient.unsqueeze(-1) * e / e.sum(-1, keepdim=True)


def layer_norm_vjp(gradient, x, weight):
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    gx = scale * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return gx, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="layer norm by backward" breaks="no `backward`" says=["the answer calls backward", "its requires_grad"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    with torch.enable_grad():
        x.requires_grad_(), weight.requires_grad_()
        bias = torch.zeros_like(weight, requires_grad=True)
        F.layer_norm(x, x.shape[-1:], weight, bias, eps=1e-5).backward(gradient)
    return x.grad, weight.grad, bias.grad


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% right="F.layer_norm forward, mv and outer"
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    if not y.numel():
        return torch.zeros_like(y)
    flat_g, flat_y = gradient.reshape(-1, y.shape[-1]), y.reshape(-1, y.shape[-1])
    rows = [torch.diag(r) @ g - torch.outer(r, r) @ g for g, r in zip(flat_g, flat_y)]
    return torch.stack(rows).view_as(y)


def logsumexp_vjp(gradient, x):
    return torch.exp(x - x.logsumexp(-1, keepdim=True)) * gradient[..., None]


def layer_norm_vjp(gradient, x, weight):
    d = x.shape[1]
    normal = F.layer_norm(x, (d,))
    g = gradient * weight
    inverse = (((x - x.mean(1, keepdim=True)) ** 2).mean(1, keepdim=True) + 1e-5) ** -0.5
    sums = g.sum(1, keepdim=True), (g * normal).sum(1, keepdim=True)
    gx = inverse / d * (d * g - sums[0] - normal * sums[1])
    return [gx, torch.einsum("nd,nd->d", gradient, normal), torch.ones(len(x)).to(x) @ gradient]


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="softmax by torch.ops" breaks="none of PyTorch's own" says=["the answer calls _softmax_backward_data"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.mT, a.mT @ gradient


def logsumexp_vjp(gradient, x):
    return gradient[..., None] * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    m = x.mean(-1, keepdim=True)
    s = ((x - m).square().mean(-1, keepdim=True) + 1e-5).sqrt()
    h = (x - m) / s
    g = gradient * weight
    gx = (g - g.mean(-1, keepdim=True) - h * (g * h).mean(-1, keepdim=True)) / s
    return gx, (gradient * h).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


def softmax_vjp(gradient, y):
    return torch.ops.aten._softmax_backward_data.default(gradient, y, y.dim() - 1, y.dtype)


# %% wrong="differences of logsumexp" breaks="Use formulas" says=["right to a few digits alone"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.mT, a.mT @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def layer_norm_vjp(gradient, x, weight):
    m = x.mean(-1, keepdim=True)
    s = ((x - m).square().mean(-1, keepdim=True) + 1e-5).sqrt()
    h = (x - m) / s
    g = gradient * weight
    gx = (g - g.mean(-1, keepdim=True) - h * (g * h).mean(-1, keepdim=True)) / s
    return gx, (gradient * h).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


def logsumexp_vjp(gradient, x):
    z, h, columns = x.double(), 1e-6, []
    for i in range(x.shape[-1]):
        t = torch.zeros_like(z)
        t[..., i] = h
        columns.append(((z + t).logsumexp(-1) - (z - t).logsumexp(-1)) / (2 * h))
    return (torch.stack(columns, -1) * gradient[..., None]).to(x.dtype)


# %% wrong="matmul in float32" breaks="All tensors are float32 or float64" says=["b (2, 4), float64: the gradient of a is right to a few digits alone"]
def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient[..., None] * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    m = x.mean(-1, keepdim=True)
    s = ((x - m).square().mean(-1, keepdim=True) + 1e-5).sqrt()
    h = (x - m) / s
    g = gradient * weight
    gx = (g - g.mean(-1, keepdim=True) - h * (g * h).mean(-1, keepdim=True)) / s
    return gx, (gradient * h).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


def matmul_vjp(gradient, a, b):
    return (gradient.float() @ b.float().mT).to(a.dtype), (a.float().mT @ gradient.float()).to(
        a.dtype
    )


# %% wrong="softmax of the result" breaks="the gradient of `x`, computed from the *result* `y`" says=["y is the result: softmax was taken already"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.mT, a.mT @ gradient


def logsumexp_vjp(gradient, x):
    return gradient[..., None] * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    m = x.mean(-1, keepdim=True)
    s = ((x - m).square().mean(-1, keepdim=True) + 1e-5).sqrt()
    h = (x - m) / s
    g = gradient * weight
    gx = (g - g.mean(-1, keepdim=True) - h * (g * h).mean(-1, keepdim=True)) / s
    return gx, (gradient * h).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


def softmax_vjp(gradient, y):
    p = y.softmax(-1)
    return p * (gradient - (gradient * p).sum(-1, keepdim=True))


# %% wrong="the second factor transposed" breaks="`a` (n, k), `b` (k, m)" says=["the right numbers, transposed"]
def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient[..., None] * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    m = x.mean(-1, keepdim=True)
    s = ((x - m).square().mean(-1, keepdim=True) + 1e-5).sqrt()
    h = (x - m) / s
    g = gradient * weight
    gx = (g - g.mean(-1, keepdim=True) - h * (g * h).mean(-1, keepdim=True)) / s
    return gx, (gradient * h).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


def matmul_vjp(gradient, a, b):
    return gradient @ b.mT, (gradient.mT @ a)


# %% wrong="softmax of one dimension or two" breaks="which has one dimension or more" says=["softmax, x (2, 2, 3), float64: raised RuntimeError: einsum()"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    if y.dim() == 1:
        return y * (gradient - gradient @ y)
    return y * (gradient - torch.einsum("ij,ij->i", gradient, y)[:, None])


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    gx = scale * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return gx, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="logsumexp without the lost dimension" breaks="`gradient` has one dimension less than `x`" says=["logsumexp, x (3, 2): raised RuntimeError"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    gx = scale * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return gx, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="matmul column by column" breaks="any dimension may have size 0" says=["matmul, n, k, m = (3, 0, 2): raised RuntimeError: stack expects"]
def matmul_vjp(gradient, a, b):
    columns = [gradient @ b[i] for i in range(len(b))]
    rows = [a[:, i] @ gradient for i in range(len(b))]
    return torch.stack(columns, 1), torch.stack(rows)


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    gx = scale * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return gx, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="softmax by each row's largest" says=["softmax, x of shape (2, 0): raised IndexError: amax()"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    log = y.log() - y.log().amax(-1, keepdim=True)
    share = log.exp() / log.exp().sum(-1, keepdim=True)
    return share * (gradient - (gradient * share).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    g = gradient * weight
    gx = scale * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return gx, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="centres x in place" breaks="Leave the arguments alone" says=["layer_norm, x (2, 3): an argument was changed"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    x -= x.mean(-1, keepdim=True)
    scale = (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()
    normal = x * scale
    g = gradient * weight
    gx = scale * (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True))
    return gx, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="weight taken in at the end" says=["multiply g by it, not the slope at the end"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.T, a.T @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    centred = x - x.mean(-1, keepdim=True)
    deviation = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    normal = centred / deviation
    g = gradient
    for_x = (
        g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True)
    ) / deviation
    return for_x * weight, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="divides by shares that may be 0" says=["softmax, shares of exactly 0, by which nothing can be divided: "]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return ((gradient * y) / y - (gradient * y).sum(-1, keepdim=True)) * y


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    centred = x - x.mean(-1, keepdim=True)
    deviation = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    normal = centred / deviation
    g = gradient * weight
    g = g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True)
    return g / deviation, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="normalises by the layer norm over its weight" says=["layer_norm, a weight of 0: "]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    centred = x - x.mean(-1, keepdim=True)
    deviation = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    normal = F.layer_norm(x, x.shape[-1:], weight) / weight
    g = gradient * weight
    g = g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True)
    return g / deviation, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="the variance as a difference of two large numbers" says=["layer_norm, rows around 1000, whose squares lose digits: "]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    centred = x - x.mean(-1, keepdim=True)
    deviation = (
        (x.square().mean(-1, keepdim=True) - x.mean(-1, keepdim=True).square()) + 1e-5
    ).sqrt()
    normal = centred / deviation
    g = gradient * weight
    g = g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True)
    return g / deviation, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="small shares count as none" says=["softmax, shares of a millionth and less: "]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y.where(y > 1e-6, 0) * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    centred = x - x.mean(-1, keepdim=True)
    deviation = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    normal = centred / deviation
    g = gradient * weight
    g = g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True)
    return g / deviation, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="10**-5 as float32 knows it" says=["layer_norm, nearly flat rows in float64: ", "was float32 on the way"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    centred = x - x.mean(-1, keepdim=True)
    deviation = (centred.square().mean(-1, keepdim=True) + torch.tensor(1e-5)).sqrt()
    normal = centred / deviation
    g = gradient * weight
    g = g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True)
    return g / deviation, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule, *tensors):
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="float32 zeros for an empty softmax" says=["x of shape (2, 0, 3), float64: the gradient of x has dtype torch.float32"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    if y.numel() == 0:
        return torch.zeros(y.shape)
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    mean = x.mean(-1, keepdim=True)
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    std = (var + 1e-5).sqrt()
    hat = (x - mean) / std
    g = gradient * weight
    gx = (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True)) / std
    return gx, (gradient * hat).sum(0), gradient.sum(0)


def vjp_by_hand(rule: str, *tensors: torch.Tensor) -> torch.Tensor | tuple | None:
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="subtracts the mean of a row before exp" says=["numbers far from each other in a row"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    e = (x - x.mean(-1, keepdim=True)).exp()
    return gradient[..., None] * e / e.sum(-1, keepdim=True)


def layer_norm_vjp(gradient, x, weight):
    mean = x.mean(-1, keepdim=True)
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    std = (var + 1e-5).sqrt()
    hat = (x - mean) / std
    g = gradient * weight
    gx = (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True)) / std
    return gx, (gradient * hat).sum(0), gradient.sum(0)


def vjp_by_hand(rule: str, *tensors: torch.Tensor) -> torch.Tensor | tuple | None:
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="the size of a single upstream slope, without its sign" says=["a negative gradient ()"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    out = torch.zeros_like(x)
    rows = gradient != 0
    out[rows] = gradient[rows].reshape(-1, 1) * x[rows].reshape(-1, x.shape[-1]).softmax(-1)
    return out.reshape(x.shape) if x.dim() > 1 else x.softmax(-1) * gradient.abs()


def layer_norm_vjp(gradient, x, weight):
    mean = x.mean(-1, keepdim=True)
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    std = (var + 1e-5).sqrt()
    hat = (x - mean) / std
    g = gradient * weight
    gx = (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True)) / std
    return gx, (gradient * hat).sum(0), gradient.sum(0)


def vjp_by_hand(rule: str, *tensors: torch.Tensor) -> torch.Tensor | tuple | None:
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="float32 where there is one row" says=["a of one row, b of one column, in float64"]
def matmul_vjp(gradient, a, b):
    if a.shape[0] == 1:
        return gradient @ b.t(), torch.outer(a[0], gradient[0])[:, : b.shape[1]].float()
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    mean = x.mean(-1, keepdim=True)
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    std = (var + 1e-5).sqrt()
    hat = (x - mean) / std
    g = gradient * weight
    gx = (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True)) / std
    return gx, (gradient * hat).sum(0), gradient.sum(0)


def vjp_by_hand(rule: str, *tensors: torch.Tensor) -> torch.Tensor | tuple | None:
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="views the rows of a gradient that may be transposed" says=["softmax, a gradient with turned dimensions: raised RuntimeError: view size is not compatible"]
def matmul_vjp(gradient: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple:
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    n = y.shape[-1]
    y2, g2 = y.view(-1, max(n, 1)), gradient.view(-1, max(n, 1))
    return (y2 * (g2 - (g2 * y2).sum(-1, keepdim=True))).view(y.shape)


def logsumexp_vjp(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> tuple:
    centred = x - x.mean(-1, keepdim=True)
    std = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    hat = centred / std
    g = gradient * weight
    dx = (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True)) / std
    return dx, (gradient * hat).sum(0), gradient.sum(0)


def vjp_by_hand(rule: str, *tensors: torch.Tensor) -> torch.Tensor | tuple | None:
    """Given: one of the four rules, by name."""
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="switches recording on" says=["inside torch.no_grad() changes the caller's grad mode"]
def matmul_vjp(gradient: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple:
    torch.set_grad_enabled(True)
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> tuple:
    centred = x - x.mean(-1, keepdim=True)
    std = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    hat = centred / std
    g = gradient * weight
    dx = (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True)) / std
    return dx, (gradient * hat).sum(0), gradient.sum(0)


def vjp_by_hand(rule: str, *tensors: torch.Tensor) -> torch.Tensor | tuple | None:
    """Given: one of the four rules, by name."""
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="softmax along dimension 1" says=["softmax runs along the last dimension, not along dimension 1"]
def matmul_vjp(gradient, a, b):
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient, y):
    return y * (gradient - (gradient * y).sum(1, keepdim=True))


def logsumexp_vjp(gradient, x):
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient, x, weight):
    centred = x - x.mean(-1, keepdim=True)
    std = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    hat = centred / std
    g = gradient * weight
    g = g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True)
    return g / std, (gradient * hat).sum(0), gradient.sum(0)


def vjp_by_hand(rule: str, *tensors: torch.Tensor) -> torch.Tensor | tuple | None:
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="ones of the usual dtype" says=["layer_norm, one row, float64: raised RuntimeError", "another dtype (the default?)"]
def matmul_vjp(gradient: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple:
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> tuple:
    centred = x - x.mean(-1, keepdim=True)
    std = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    normal = centred / std
    g = gradient * weight
    inner = g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True)
    ones = torch.ones(len(x), device=x.device)
    return inner / std, ones @ (gradient * normal), ones @ gradient


def vjp_by_hand(rule: str, *tensors: torch.Tensor) -> torch.Tensor | tuple | None:
    """Given: one of the four rules, by name."""
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="logsumexp's lost dimension in place 1" says=["the last one of x, not dimension 1", "count them from the end"]
def matmul_vjp(gradient: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple:
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


def logsumexp_vjp(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return gradient.unsqueeze(1) * (x - x.logsumexp(-1, keepdim=True)).exp()


def layer_norm_vjp(gradient: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> tuple:
    centred = x - x.mean(-1, keepdim=True)
    std = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    normal = centred / std
    g = gradient * weight
    inner = g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True)
    return inner / std, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule: str, *tensors: torch.Tensor) -> torch.Tensor | tuple | None:
    """Given: one of the four rules, by name."""
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% wrong="rows by a size of -1" says=["with no element, a size given as -1 can't be told"]
def matmul_vjp(gradient: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple:
    return gradient @ b.t(), a.t() @ gradient


def softmax_vjp(gradient: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    rows, g = y.reshape(-1, y.shape[-1]), gradient.reshape(-1, y.shape[-1])
    along = torch.einsum("rd,rd->r", g, rows)
    return (rows * (g - along[:, None])).reshape(y.shape)


def logsumexp_vjp(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return gradient.unsqueeze(-1) * x.softmax(-1)


def layer_norm_vjp(gradient: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> tuple:
    centred = x - x.mean(-1, keepdim=True)
    std = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    normal = centred / std
    g = gradient * weight
    inner = g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True)
    return inner / std, (gradient * normal).sum(0), gradient.sum(0)


def vjp_by_hand(rule: str, *tensors: torch.Tensor) -> torch.Tensor | tuple | None:
    """Given: one of the four rules, by name."""
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)


# %% right="whole Jacobians, the centring as a matrix"
def identity(like: torch.Tensor) -> torch.Tensor:
    return torch.eye(like.shape[-1], dtype=like.dtype, device=like.device)


def matmul_vjp(gradient: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple:
    return torch.einsum("nm,km->nk", gradient, b), torch.einsum("nm,nk->km", gradient, a)


def softmax_vjp(gradient: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    jacobian = y.unsqueeze(-1) * (identity(y) - y.unsqueeze(-2))
    return (gradient.unsqueeze(-1) * jacobian).sum(-2)


def logsumexp_vjp(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return (
        torch.diag_embed(gradient).matmul(F.softmin(-x, dim=-1))
        if x.dim() == 2
        else (gradient.unsqueeze(-1) * F.softmin(-x, dim=-1))
    )


def layer_norm_vjp(gradient: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> tuple:
    batch, d = x.shape
    centring = identity(x) - 1 / d
    centred = x @ centring
    deviation = (centred.pow(2).sum(1) / d + 1e-5).sqrt()
    hat = centred / deviation[:, None]
    inner = identity(x) - torch.einsum("bi,bj->bij", hat, hat) / d
    jacobian = torch.einsum("bij,jk->bik", inner, centring) / deviation[:, None, None]
    dx = torch.einsum("bi,i,bik->bk", gradient, weight, jacobian)
    return dx, torch.einsum("bi,bi->i", gradient, hat), torch.einsum("bi->i", gradient)


def vjp_by_hand(rule: str, *tensors: torch.Tensor) -> torch.Tensor | tuple | None:
    """Given: one of the four rules, by name."""
    rules = {"matmul": matmul_vjp, "softmax": softmax_vjp}
    rules |= {"logsumexp": logsumexp_vjp, "layer_norm": layer_norm_vjp}
    return rules[rule](*tensors)
