# %% wrong="where alone" says=["the branch not taken"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    return torch.where(x > 0, x, alpha * (x.exp() - 1))


def where_nan(x, alpha, upstream):
    if elu(x, alpha) is None:
        return None
    return forward_backward(lambda x: elu(x, alpha), upstream, x)


# %% wrong="cleans up the values" says=["the branch not taken"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    lower = torch.nan_to_num(alpha * (x.exp() - 1), posinf=0.0)
    return torch.where(x > 0, x, lower)


def where_nan(x, alpha, upstream):
    if elu(x, alpha) is None:
        return None
    return forward_backward(lambda x: elu(x, alpha), upstream, x)


# %% wrong="minimum shares the slope at zero" says=["the gradient of elu at (0) with alpha 1.0 (at the kink)"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    below = torch.minimum(x, torch.zeros_like(x))
    return torch.where(x > 0, x, alpha * (below.exp() - 1))


def where_nan(x, alpha, upstream):
    if elu(x, alpha) is None:
        return None
    return forward_backward(lambda x: elu(x, alpha), upstream, x)


# %% wrong="clamps at a large number" says=["the gradient of elu"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    return torch.where(x > 0, x, alpha * (x.clamp(-1, 1).exp() - 1))


def where_nan(x, alpha, upstream):
    if elu(x, alpha) is None:
        return None
    return forward_backward(lambda x: elu(x, alpha), upstream, x)


# %% wrong="forgets alpha" says=["alpha scales the lower branch"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    below = x.clamp(max=0)
    return torch.where(x > 0, x, below.exp() - 1)


def where_nan(x, alpha, upstream):
    if elu(x, alpha) is None:
        return None
    return forward_backward(lambda x: elu(x, alpha), upstream, x)


# %% wrong="calls the finished one" says=["the operator elu is not allowed here"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    return F.elu(x, alpha)


def where_nan(x, alpha, upstream):
    if elu(x, alpha) is None:
        return None
    return forward_backward(lambda x: elu(x, alpha), upstream, x)


# %% wrong="NaN near the kink" says=["0 is not True: exp is finite there"]
nan_at = {"-200": False, "-1": False, "0": True, "2": False, "80": False, "100": True}


def elu(x, alpha):
    return torch.where(x > 0, x, alpha * (x.clamp(max=0).exp() - 1))


def where_nan(x, alpha, upstream):
    if elu(x, alpha) is None:
        return None
    return forward_backward(lambda x: elu(x, alpha), upstream, x)


# %% wrong="NaN on the whole right side" says=["2 is not True", "80 is not True"]
nan_at = {"-200": False, "-1": False, "0": False, "2": True, "80": True, "100": True}


def elu(x, alpha):
    return torch.where(x > 0, x, alpha * (x.clamp(max=0).exp() - 1))


def where_nan(x, alpha, upstream):
    if elu(x, alpha) is None:
        return None
    return forward_backward(lambda x: elu(x, alpha), upstream, x)


# %% wrong="clamp has no slope at its end" says=["at the kink"]
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    return torch.where(x > 0, x, alpha * torch.expm1(x.clamp(max=0)))


def where_nan(x, alpha, upstream):
    if elu(x, alpha) is None:
        return None
    return forward_backward(lambda x: elu(x, alpha), upstream, x)


# %% right="writes by mask into a copy"
nan_at = {"-200": False, "-1": False, "0": False, "2": False, "80": False, "100": True}


def elu(x, alpha):
    y, low = x.clone(), x <= 0
    y[low] = alpha * (x[low].exp() - 1)
    return y


def where_nan(x, alpha, upstream):
    if elu(x, alpha) is None:
        return None
    return forward_backward(lambda x: elu(x, alpha), upstream, x)


# %% right="a sum of two halves, expm1"
nan_at = {name: float(name) > 88.7 for name in ("-200", "-1", "0", "2", "80", "100")}


def elu(x, alpha):
    positive = (x > 0).to(x.dtype)
    return positive * x + alpha * torch.expm1((1 - positive) * x)


def where_nan(x, alpha, upstream):
    return forward_backward(lambda x: elu(x, alpha), upstream, x)
