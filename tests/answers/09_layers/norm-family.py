# %% [markdown]
# Rules:
#
# - "in any memory layout"
# - "may be far from zero"
# - "with means as in the picture"
# - "of the same shape and dtype"
# - "without weight and bias"
# - "`eps` is added under the root"
# - "`groups`, 1 or more, counts for `"group"` only"
# - "a group is a run of neighbouring channels"
# - "a number that does not divide C is a `ValueError`"
# - "groups: int = 1, eps: float = 1e-5"
# - "Not allowed: PyTorch's own norms, as above"
#
# Admits:
#
# - "in any memory layout": a channels-last view, 2 groups, a large eps
# - "may be far from zero": {kind}, numbers about 10000
# - "that does not divide C": {groups} groups of {channels} channels
# - "`groups`, 1 or more, counts for `"group"` only": which doesn't count here
# - "`x` is (N, C, H, W)": images of one pixel, which is its own mean

# %% wrong="divides by n - 1" breaks="without weight and bias" says=["divide the variance by n, not n - 1"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "rms":
        return x / (x.square().mean((1, 2, 3), keepdim=True) + eps).sqrt()
    if kind == "group":
        if c % groups:
            raise ValueError("groups")
        x, dims = x.reshape(n, groups, c // groups, h, w), (2, 3, 4)
    else:
        dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3)}[kind]
    y = (x - x.mean(dims, keepdim=True)) / (x.var(dims, keepdim=True) + eps).sqrt()
    return y.reshape(n, c, h, w)


# %% wrong="RMS norm subtracts the mean" says=["this is layer norm"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group":
        if c % groups:
            raise ValueError("groups")
        x = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    x = x - x.mean(dims, keepdim=True)
    y = x / (x.square().mean(dims, keepdim=True) + eps).sqrt()
    return y.reshape(n, c, h, w)


# %% wrong="layer norm over channels only" breaks="with means as in the picture" says=["not over the channels alone"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group":
        if c % groups:
            raise ValueError("groups")
        x = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        dims = {"batch": (0, 2, 3), "layer": (1,), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind != "rms":
        x = x - x.mean(dims, keepdim=True)
    y = x / (x.square().mean(dims, keepdim=True) + eps).sqrt()
    return y.reshape(n, c, h, w)


# %% wrong="batch and instance mixed up" says=["this is instance norm", "this is batch norm"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group":
        if c % groups:
            raise ValueError("groups")
        x = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        dims = {"batch": (2, 3), "layer": (1, 2, 3), "instance": (0, 2, 3), "rms": (1, 2, 3)}[kind]
    if kind != "rms":
        x = x - x.mean(dims, keepdim=True)
    y = x / (x.square().mean(dims, keepdim=True) + eps).sqrt()
    return y.reshape(n, c, h, w)


# %% wrong="groups of every second channel" breaks="a group is a run of neighbouring channels" says=["a group is a run of neighbouring channels"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group":
        if c % groups:
            raise ValueError("groups")
        x = x.reshape(n, c // groups, groups, h, w)
        dims = (1, 3, 4)
    else:
        dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind != "rms":
        x = x - x.mean(dims, keepdim=True)
    y = x / (x.square().mean(dims, keepdim=True) + eps).sqrt()
    return y.reshape(n, c, h, w)


# %% wrong="view" breaks="in any memory layout" says=["a channels-last view, 2 groups, a large eps: raised RuntimeError"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group":
        if c % groups:
            raise ValueError("groups")
        x = x.view(n, groups, -1)
        dims = 2
    else:
        dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind != "rms":
        x = x - x.mean(dims, keepdim=True)
    y = x / (x.square().mean(dims, keepdim=True) + eps).sqrt()
    return y.reshape(n, c, h, w)


# %% wrong="eps outside the root" breaks="`eps` is added under the root" says=["eps is added under the root"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group":
        if c % groups:
            raise ValueError("groups")
        x = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind != "rms":
        x = x - x.mean(dims, keepdim=True)
    y = x / (x.square().mean(dims, keepdim=True).sqrt() + eps)
    return y.reshape(n, c, h, w)


# %% wrong="lets the rest of the channels fall" says=["3 groups of 4 channels: what is raised"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group":
        c = c // groups * groups
        x = x[:, :c]
        x = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind != "rms":
        x = x - x.mean(dims, keepdim=True)
    y = x / (x.square().mean(dims, keepdim=True) + eps).sqrt()
    return y.reshape(n, c, h, w)


# %% wrong="the library" breaks="Not allowed: PyTorch's own norms, as above" says=["the answer calls layer_norm", "the answer calls rms_norm"]
def norm_family(x, kind, groups=1, eps=1e-5):
    return {
        "batch": lambda: F.batch_norm(x, None, None, training=True, eps=eps),
        "layer": lambda: F.layer_norm(x, x.shape[1:], eps=eps),
        "instance": lambda: F.instance_norm(x, eps=eps),
        "group": lambda: F.group_norm(x, groups, eps=eps),
        "rms": lambda: F.rms_norm(x, x.shape[1:], eps=eps),
    }[kind]()


# %% wrong="in place" says=["an argument was changed"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group":
        if c % groups:
            raise ValueError("groups")
        x = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind != "rms":
        x -= x.mean(dims, keepdim=True)
    y = x / (x.square().mean(dims, keepdim=True) + eps).sqrt()
    return y.reshape(n, c, h, w)


# %% right="group norm in the middle of everything"
def norm_family(x, kind, groups=1, eps=1e-5):
    if kind == "batch":
        return norm_family(x.transpose(0, 1), "layer", eps=eps).transpose(0, 1)
    groups = {"layer": 1, "rms": 1, "instance": x.shape[1]}.get(kind, groups)
    if x.shape[1] % groups != 0:
        raise ValueError(groups)
    rows = x.flatten(1).reshape(len(x) * groups, -1)
    var, mean = torch.var_mean(rows, 1, keepdim=True, correction=0)
    if kind == "rms":
        var, mean = var + mean**2, 0
    return ((rows - mean) * (var + eps).rsqrt()).reshape(x.shape)


# %% right="loops over index sets"
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c = x.shape[:2]
    if kind == "group" and c % groups:
        raise ValueError
    size = c // groups
    sets = {
        "batch": [(slice(None), slice(i, i + 1)) for i in range(c)],
        "layer": [(slice(j, j + 1), slice(None)) for j in range(n)],
        "instance": [(slice(j, j + 1), slice(i, i + 1)) for j in range(n) for i in range(c)],
        "group": [
            (slice(j, j + 1), slice(i, i + size)) for j in range(n) for i in range(0, c, size)
        ],
    }
    y = torch.empty_like(x)
    for where in sets["layer" if kind == "rms" else kind]:
        part = x[where]
        part = part if kind == "rms" else part - part.mean()
        y[where] = part / (part.pow(2).mean() + eps) ** 0.5
    return y


# %% wrong="layer norm over the last dimension" says=["not over the last dimension alone"]
def norm_family(x, kind, groups=1, eps=1e-5):
    if kind == "rms":
        return x / (x.square().mean((1, 2, 3), keepdim=True) + eps).sqrt()
    if kind == "group":
        n, c, h, w = x.shape
        if c % groups:
            raise ValueError("groups")
        z = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        z, dims = x, {"batch": (0, 2, 3), "layer": (3,), "instance": (2, 3)}[kind]
    var, mean = torch.var_mean(z, dim=dims, correction=0, keepdim=True)
    return ((z - mean) / (var + eps).sqrt()).reshape(x.shape)


# %% wrong="rms over each channel" says=["not over the pixels alone"]
def norm_family(x, kind, groups=1, eps=1e-5):
    if kind == "rms":
        return x / (x.square().mean((2, 3), keepdim=True) + eps).sqrt()
    if kind == "group":
        n, c, h, w = x.shape
        if c % groups:
            raise ValueError("groups")
        z = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        z, dims = x, {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3)}[kind]
    var, mean = torch.var_mean(z, dim=dims, correction=0, keepdim=True)
    return ((z - mean) / (var + eps).sqrt()).reshape(x.shape)


# %% wrong="groups is the number of channels in a group" says=["groups says how many there are"]
def norm_family(x, kind, groups=1, eps=1e-5):
    if kind == "rms":
        return x / (x.square().mean((1, 2, 3), keepdim=True) + eps).sqrt()
    if kind == "group":
        n, c, h, w = x.shape
        if c % groups:
            raise ValueError("groups")
        z = x.reshape(n, c // groups, groups, h, w)
        dims = (2, 3, 4)
    else:
        z, dims = x, {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3)}[kind]
    var, mean = torch.var_mean(z, dim=dims, correction=0, keepdim=True)
    return ((z - mean) / (var + eps).sqrt()).reshape(x.shape)


# %% right="einops style loops"
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group" and c % groups != 0:
        raise ValueError(f"{groups} groups of {c} channels")
    pieces = {
        "batch": lambda: [x[:, i : i + 1] for i in range(c)],
        "layer": lambda: list(x.split(1)),
        "rms": lambda: list(x.split(1)),
        "instance": lambda: [x[i : i + 1, j : j + 1] for i in range(n) for j in range(c)],
        "group": lambda: [p for i in range(n) for p in x[i : i + 1].chunk(groups, 1)],
    }[kind]()
    done = []
    for p in pieces:
        centre = 0 if kind == "rms" else p.mean()
        done.append((p - centre) * torch.rsqrt(((p - centre) ** 2).mean() + eps))
    if kind == "batch":
        return torch.cat(done, 1)
    if kind in ("layer", "rms"):
        return torch.cat(done, 0)
    per = len(done) // n
    return torch.cat([torch.cat(done[i * per : (i + 1) * per], 1) for i in range(n)], 0)


# %% wrong="E[x²] - E[x]²" breaks="may be far from zero" says=["layer, numbers about 10000: layer norm is right near zero and wrong at a mean of 10000"]
def norm_family(x, kind, groups=1, eps=1e-5):
    z, dims = x, {"batch": (0, 2, 3), "instance": (2, 3)}.get(kind, (1, 2, 3))
    if kind == "group":
        if x.shape[1] % groups:
            raise ValueError("groups")
        z, dims = x.reshape(len(x), groups, -1), (2,)
    mean = 0 if kind == "rms" else z.mean(dims, keepdim=True)
    var = z.square().mean(dims, keepdim=True) - (0 if kind == "rms" else mean**2)
    return ((z - mean) / (var + eps).sqrt()).reshape(x.shape)


# %% wrong="computes in float32" breaks="of the same shape and dtype" says=["group norm has dtype torch.float32, expected torch.float64"]
def norm_family(x, kind, groups=1, eps=1e-5):
    z, dims = x.float(), {"batch": (0, 2, 3), "instance": (2, 3)}.get(kind, (1, 2, 3))
    if kind == "group":
        if x.shape[1] % groups:
            raise ValueError("groups")
        z, dims = z.reshape(len(x), groups, -1), (2,)
    mean = 0 if kind == "rms" else z.mean(dims, keepdim=True)
    var = (z - mean).square().mean(dims, keepdim=True)
    return ((z - mean) / (var + eps).sqrt()).reshape(x.shape)


# %% wrong="whole groups only by assert" breaks="a number that does not divide C is a `ValueError`" says=["3 groups of 4 channels: what is raised"]
def norm_family(x, kind, groups=1, eps=1e-5):
    z, dims = x, {"batch": (0, 2, 3), "instance": (2, 3)}.get(kind, (1, 2, 3))
    if kind == "group":
        assert x.shape[1] % groups == 0, "groups"
        z, dims = x.reshape(len(x), groups, -1), (2,)
    mean = 0 if kind == "rms" else z.mean(dims, keepdim=True)
    var = (z - mean).square().mean(dims, keepdim=True)
    return ((z - mean) / (var + eps).sqrt()).reshape(x.shape)


# %% wrong="freezes its argument" says=["an argument was changed"]
def norm_family(x, kind, groups=1, eps=1e-5):
    z, dims = x, {"batch": (0, 2, 3), "instance": (2, 3)}.get(kind, (1, 2, 3))
    if kind == "group":
        if x.shape[1] % groups:
            raise ValueError("groups")
        z, dims = x.reshape(len(x), groups, -1), (2,)
    x.requires_grad_(False)
    mean = 0 if kind == "rms" else z.mean(dims, keepdim=True)
    var = (z - mean).square().mean(dims, keepdim=True)
    return ((z - mean) / (var + eps).sqrt()).reshape(x.shape)


# %% wrong="batch by E[x²] - E[x]²" says=["batch norm is right near zero"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group":
        if c % groups != 0:
            raise ValueError("groups")
        y = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        y = x
        dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind == "batch":
        m = y.mean(dims, keepdim=True)
        v = y.square().mean(dims, keepdim=True) - m.square()
        return ((y - m) / (v + eps).sqrt()).reshape(x.shape)
    if kind != "rms":
        y = y - y.mean(dims, keepdim=True)
    y = y / (y.square().mean(dims, keepdim=True) + eps).sqrt()
    return y.reshape(x.shape)


# %% wrong="instance by E[x²] - E[x]²" says=["instance norm is right near zero"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group":
        if c % groups != 0:
            raise ValueError("groups")
        y = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        y = x
        dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind == "instance":
        m = y.mean(dims, keepdim=True)
        v = y.square().mean(dims, keepdim=True) - m.square()
        return ((y - m) / (v + eps).sqrt()).reshape(x.shape)
    if kind != "rms":
        y = y - y.mean(dims, keepdim=True)
    y = y / (y.square().mean(dims, keepdim=True) + eps).sqrt()
    return y.reshape(x.shape)


# %% wrong="group by E[x²] - E[x]²" says=["group norm is right near zero"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group":
        if c % groups != 0:
            raise ValueError("groups")
        y = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        y = x
        dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind == "group":
        m = y.mean(dims, keepdim=True)
        v = y.square().mean(dims, keepdim=True) - m.square()
        return ((y - m) / (v + eps).sqrt()).reshape(x.shape)
    if kind != "rms":
        y = y - y.mean(dims, keepdim=True)
    y = y / (y.square().mean(dims, keepdim=True) + eps).sqrt()
    return y.reshape(x.shape)


# %% wrong="groups must divide whatever the kind" breaks="`groups`, 1 or more, counts for `\"group\"` only" says=["which doesn't count here"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if c % groups != 0:
        raise ValueError("groups")
    if kind == "group":
        y = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        y = x
        dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind != "rms":
        y = y - y.mean(dims, keepdim=True)
    y = y / (y.square().mean(dims, keepdim=True) + eps).sqrt()
    return y.reshape(x.shape)


# %% wrong="rms in float32" says=["seven digits"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group":
        if c % groups != 0:
            raise ValueError("groups")
        y = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        y = x
        dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind != "rms":
        y = y - y.mean(dims, keepdim=True)
    y = y / (y.square().mean(dims, keepdim=True) + eps).sqrt()
    return y.reshape(x.shape) if kind != "rms" else y.float().to(x.dtype)


# %% wrong="a fixed eps" says=["eps is an argument; 1e-5"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group":
        if c % groups != 0:
            raise ValueError("groups")
        y = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        y = x
        dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind != "rms":
        y = y - y.mean(dims, keepdim=True)
    y = y / (y.square().mean(dims, keepdim=True) + 1e-5).sqrt()
    return y.reshape(x.shape)


# %% wrong="all but rms and groups in float32" says=["layer, one image, float64, a transposed view: layer norm is right to about seven digits only"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group" and c % groups:
        raise ValueError("does not divide")
    if kind == "rms":
        return x / (x.square().mean((1, 2, 3), keepdim=True) + eps).sqrt()
    if kind == "group":
        z = x.reshape(n, groups, -1)
        var, mean = torch.var_mean(z, dim=2, correction=0, keepdim=True)
        return ((z - mean) / (var + eps).sqrt()).reshape(x.shape)
    dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3)}[kind]
    x0, x = x, x.float()
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    return ((x - mean) / (var + eps).sqrt()).to(x0.dtype)


# %% wrong="one channel is taken for a batch norm" says=["instance, images of one channel"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "group" and c % groups:
        raise ValueError("does not divide")
    if kind == "rms":
        return x / (x.square().mean((1, 2, 3), keepdim=True) + eps).sqrt()
    if kind == "group":
        z = x.reshape(n, groups, -1)
        var, mean = torch.var_mean(z, dim=2, correction=0, keepdim=True)
        return ((z - mean) / (var + eps).sqrt()).reshape(x.shape)
    dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3) if c > 1 else (0, 2, 3)}[
        kind
    ]
    var, mean = torch.var_mean(x, dim=dims, correction=0, keepdim=True)
    return (x - mean) / (var + eps).sqrt()


# %% wrong="split takes groups for a size" says=["groups says how many there are, not how many channels each has", "one group of an image that requires a gradient: group norm: groups says"]
def norm_family(x, kind, groups=1, eps=1e-5):
    N, C, H, W = x.shape
    if kind == "group" and C % groups:
        raise ValueError
    if kind == "group":
        parts = [norm_family(p, "layer", eps=eps) for p in x.split(groups, 1)]
        return torch.cat(parts, 1)
    d = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind == "rms":
        return x * torch.rsqrt(x.pow(2).mean(d, keepdim=True) + eps)
    v, m = torch.var_mean(x, d, keepdim=True, correction=0)
    return (x - m) * torch.rsqrt(v + eps)


# %% wrong="the error of reshape" says=["expected 'ValueError', got 'RuntimeError'"]
def norm_family(x, kind, groups=1, eps=1e-5):
    N, C, H, W = x.shape
    if kind == "group":
        r = x.reshape(N, groups, C // groups, H, W)
        v, m = torch.var_mean(r, (2, 3, 4), keepdim=True, correction=0)
        return ((r - m) / (v + eps).sqrt()).reshape(x.shape)
    d = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind == "rms":
        return x * torch.rsqrt(x.pow(2).mean(d, keepdim=True) + eps)
    v, m = torch.var_mean(x, d, keepdim=True, correction=0)
    return (x - m) * torch.rsqrt(v + eps)


# %% right="index_add by labels"
def norm_family(x, kind, groups=1, eps=1e-5):
    N, C, H, W = x.shape
    if kind == "group" and C % groups:
        raise ValueError("no")
    n = torch.arange(N, device=x.device).view(N, 1, 1, 1)
    c = torch.arange(C, device=x.device).view(1, C, 1, 1)
    label = {"batch": c + 0 * n, "layer": n + 0 * c, "rms": n + 0 * c, "instance": n * C + c}.get(
        kind
    )
    if kind == "group":
        label = n * groups + c // (C // groups)
    label = label.expand(N, C, H, W).reshape(-1)
    flat = x.reshape(-1)
    count = torch.bincount(label).to(x.dtype)
    total = lambda t: torch.zeros(len(count), dtype=x.dtype, device=x.device).index_add(0, label, t)
    if kind != "rms":
        flat = flat - (total(flat) / count)[label]
    power = total(flat.square()) / count
    return (flat / (power + eps).sqrt()[label]).reshape(x.shape)


# %% wrong="a larger eps by default" breaks="groups: int = 1, eps: float = 1e-5" says=["groups and eps left out"]
def norm_family(x, kind, groups=1, eps=1e-3):
    if kind == "group":
        if x.shape[1] % groups:
            raise ValueError("groups")
        y = x.reshape(len(x), groups, -1)
        y = y - y.mean(2, keepdim=True)
        return (y / (y.square().mean(2, keepdim=True) + eps).sqrt()).reshape(x.shape)
    dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    y = x if kind == "rms" else x - x.mean(dims, keepdim=True)
    return y / (y.square().mean(dims, keepdim=True) + eps).sqrt()


# %% wrong="as many groups as channels at most" says=["8 groups of 4 channels: what is raised"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c = x.shape[:2]
    if kind == "group":
        groups = min(groups, c)
        if c % groups:
            raise ValueError("groups must divide the channels")
        y = x.reshape(n, groups, c // groups, *x.shape[2:])
        dim = (2, 3, 4)
    else:
        y = x
        dim = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind == "rms":
        return y / (y.square().mean(dim, keepdim=True) + eps).sqrt()
    var, mean = torch.var_mean(y, dim, correction=0, keepdim=True)
    return ((y - mean) / (var + eps).sqrt()).reshape(x.shape)


# %% wrong="rms by the variance" says=["not of the variance: no mean is taken off"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "rms":
        return x / (x.var((1, 2, 3), correction=0, keepdim=True) + eps).sqrt()
    if kind == "group":
        if c % groups:
            raise ValueError("groups")
        y, dims = x.reshape(n, groups, c // groups, h, w), (2, 3, 4)
    else:
        y, dims = x, {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3)}[kind]
    var, mean = torch.var_mean(y, dim=dims, correction=0, keepdim=True)
    return ((y - mean) / (var + eps).sqrt()).reshape(x.shape)


# %% wrong="rms by a view" breaks="in any memory layout" says=["rms, one image, float64, a transposed view: raised RuntimeError"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "rms":
        return x / (x.view(n, -1).square().mean(1).view(n, 1, 1, 1) + eps).sqrt()
    if kind == "group":
        if c % groups != 0:
            raise ValueError("groups must divide the channels")
        parts = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        parts = x
        dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3)}[kind]
    var, mean = torch.var_mean(parts, dim=dims, correction=0, keepdim=True)
    return ((parts - mean) / (var + eps).sqrt()).reshape(x.shape)


# %% wrong="a single pixel is left as it is" says=["instance, images of one pixel, which is its own mean: instance norm"]
def norm_family(x, kind, groups=1, eps=1e-5):
    n, c, h, w = x.shape
    if kind == "rms":
        return x / (x.square().mean((1, 2, 3), keepdim=True) + eps).sqrt()
    if kind == "group":
        if c % groups != 0:
            raise ValueError("groups must divide the channels")
        parts = x.reshape(n, groups, c // groups, h, w)
        dims = (2, 3, 4)
    else:
        parts = x
        dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3)}[kind]
    if kind == "instance" and h * w == 1:
        return x
    var, mean = torch.var_mean(parts, dim=dims, correction=0, keepdim=True)
    return ((parts - mean) / (var + eps).sqrt()).reshape(x.shape)


# %% wrong="the statistics under no_grad" says=["the gradient of x is that of a fixed mean and variance"]
def norm_family(x, kind, groups=1, eps=1e-5):
    if kind == "group":
        if x.shape[1] % groups:
            raise ValueError("groups do not divide the channels")
        rows = x.reshape(x.shape[0], groups, -1, 1)
        return norm_family(rows, "instance", eps=eps).reshape(x.shape)
    dims = {"batch": (0, 2, 3), "instance": (2, 3)}.get(kind, (1, 2, 3))
    with torch.no_grad():
        mean = 0 if kind == "rms" else x.mean(dims, keepdim=True)
        square = (x - mean).square().mean(dims, keepdim=True)
    return (x - mean) / (square + eps).sqrt()


# %% wrong="one buffer for results of a shape" says=["norm_family(x, \"batch\", 2) a second time with the same tensors", "changes the result of the first time"]
kept = {}


def in_one_buffer(y):
    if y.requires_grad:
        return y
    return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)


def norm_family(x, kind, groups=1, eps=1e-5):
    if kind == "group":
        if x.shape[1] % groups:
            raise ValueError(f"{groups} groups do not divide {x.shape[1]} channels")
        rows = x.reshape(x.shape[0], groups, -1, 1)
        return norm_family(rows, "instance", eps=eps).reshape(x.shape)
    dims = {"batch": (0, 2, 3), "instance": (2, 3)}.get(kind, (1, 2, 3))
    centred = x if kind == "rms" else x - x.mean(dims, keepdim=True)
    return in_one_buffer(centred / (centred.square().mean(dims, keepdim=True) + eps).sqrt())


# %% wrong="the root of a squared root" says=["where x is all zeros: the gradient of x has a NaN"]
def norm_family(x: torch.Tensor, kind: str, groups: int = 1, eps: float = 1e-5) -> torch.Tensor:
    n, c, h, w = x.shape
    if kind == "group":
        if c % groups:
            raise ValueError("groups must divide the channels")
        z = x.reshape(n, groups, -1)
        return norm_family(z.unsqueeze(-1), "instance", eps=eps).reshape(n, c, h, w)
    dims = {"batch": (0, 2, 3), "instance": (2, 3)}.get(kind, (1, 2, 3))
    if kind != "rms":
        x = x - x.mean(dims, keepdim=True)
    rms = x.pow(2).mean(dims, keepdim=True).pow(0.5)
    scale = torch.sqrt(rms * rms + eps)  # eps under the root
    return x / scale


# %% wrong="as many chunks as there should be groups" breaks="a number that does not divide C is a `ValueError`" says=["3 groups of 5 channels: what is raised"]
def norm_family(x: torch.Tensor, kind: str, groups: int = 1, eps: float = 1e-5) -> torch.Tensor:
    if kind == "group":
        parts = x.chunk(groups, dim=1)
        if len(parts) != groups:
            raise ValueError(f"{x.shape[1]} channels give no {groups} groups")
        return torch.cat([norm_family(part, "layer", eps=eps) for part in parts], dim=1)
    dims = {"batch": (0, 2, 3), "layer": (1, 2, 3), "instance": (2, 3), "rms": (1, 2, 3)}[kind]
    if kind == "rms":
        return x * (x.square().mean(dims, keepdim=True) + eps).rsqrt()
    var, mean = torch.var_mean(x, dims, correction=0, keepdim=True)
    return (x - mean) * (var + eps).rsqrt()


# %% wrong="one number for the whole tensor is taken off" says=["instance norm is right where all means are 10000 and wrong where some are -10000", "take off each mean"]
def norm_family(x, kind, groups=1, eps=1e-5):
    if kind == "group" and x.shape[1] % groups:
        raise ValueError("groups")
    if kind == "rms":
        return x * (x.square().mean((1, 2, 3), keepdim=True) + eps).rsqrt()
    y = x - x.detach().mean()
    if kind == "group":
        y = y.reshape(len(x), groups, -1, *x.shape[2:])
    dims = {"batch": (0, 2, 3), "instance": (2, 3), "group": (2, 3, 4)}.get(kind, (1, 2, 3))
    first, second = y.mean(dims, keepdim=True), y.square().mean(dims, keepdim=True)
    var = (second - first.square()).clamp(min=0)
    return ((y - first) * (var + eps).rsqrt()).reshape(x.shape)
