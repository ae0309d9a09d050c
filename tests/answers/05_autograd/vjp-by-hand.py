# %% wrong="the two gradients of matmul in the wrong order" says=["gradient 1 of the matmul rule", "each gradient has its operand's shape"]
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


# %% wrong="logsumexp by exp over sum of exp" says=["exp(1000) is infinite, its share in the sum is not"]
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


# %% wrong="forgets the upstream gradient of logsumexp" says=["gradient 1 of the logsumexp rule"]
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


# %% wrong="mean and variance as constants" says=["mean and variance depend on x as well"]
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


# %% wrong="the variance of a sample" says=["of the layer_norm rule"]
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


# %% wrong="the bias gets no gradient" says=["2 gradients, not 3"]
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


# %% wrong="the gradients of weight and bias per sample" says=["gradient 2 of the layer_norm rule"]
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
