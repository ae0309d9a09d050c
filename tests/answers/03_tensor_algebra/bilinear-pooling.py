# %% [markdown]
# Rules:
#
# - "For `x` of shape (batch, channel, height, width)"
# - "return (batch, channel²)"
# - "float32 or float64"
# - "its signed square root"
# - "each image's vector divided by its length"
# - "No matrix may be written out for each pixel"
# - "One product for the whole batch"
# - "no loop"
# - "An image of zeros gives zeros, not NaN"
# - "The gradient is finite, also where a channel is all zero"
# - "Tiny numbers up to 1e-12 may be added for that"
# - "each image's vector"
# - "flattened row by row"
#
# Admits:
#
# - "float32 or float64": in float32
# - "An image of zeros": of zeros
# - "also where a channel is all zero": with a channel that is all zero
# - "of shape (batch, channel, height, width)": that is a transposed slice
# - "one pixel": of one pixel, 3 and -4

# %% wrong="no care for the gradient at zero" breaks="The gradient is finite, also where a channel is all zero" says=["the gradient, x with a channel that is all zero: it is not finite", "the gradient, x of zeros"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    pooled = flat @ flat.mT / flat.shape[2]
    return F.normalize((pooled.sign() * pooled.abs().sqrt()).flatten(1), dim=1)


# %% wrong="forgets to divide by the length" breaks="each image's vector divided by its length" says=["of one pixel, 3 and -4: the result differs", "expected 0.428571, got 3"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    pooled = flat @ flat.mT / flat.shape[2]
    return (pooled.sign() * (pooled.abs() + 1e-12).sqrt()).flatten(1)


# %% wrong="a root without a sign" breaks="its signed square root" says=["of one pixel, 3 and -4", "differs"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    pooled = flat @ flat.mT / flat.shape[2]
    return F.normalize((pooled.abs() + 1e-12).sqrt().flatten(1), dim=1)


# %% wrong="writes out a matrix for each pixel" breaks="No matrix may be written out for each pixel" says=["a copy was made: mul allocated"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    pooled = (flat[:, :, None] * flat[:, None]).mean(-1)
    return F.normalize((pooled.sign() * (pooled.abs() + 1e-12).sqrt()).flatten(1), dim=1)


# %% wrong="a loop over the batch" breaks="One product for the whole batch" says=["one for the whole batch will do"]
def bilinear_pooling(x):
    rows = []
    for image in x:
        flat = image.flatten(1)
        pooled = flat @ flat.T / flat.shape[1]
        rows.append((pooled.sign() * (pooled.abs() + 1e-12).sqrt()).flatten())
    return F.normalize(torch.stack(rows), dim=1)


# %% wrong="normalises the rows of each matrix" breaks="flattened row by row" says=["of one pixel, 3 and -4", "differs"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    pooled = flat @ flat.mT / flat.shape[2]
    return F.normalize(pooled.sign() * (pooled.abs() + 1e-12).sqrt(), dim=2).flatten(1)


# %% wrong="divides zeros by their length" breaks="An image of zeros gives zeros, not NaN" says=["of zeros", "differs", "got nan"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    pooled = flat @ flat.mT / flat.shape[2]
    rooted = pooled.sign() * (pooled.abs() + 1e-12).sqrt()
    return (rooted / rooted.norm(dim=(1, 2), keepdim=True)).flatten(1)


# %% wrong="leaves the matrix as it is" breaks="return (batch, channel²)" says=["has shape (1, 2, 2), expected (1, 4)"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    pooled = flat @ flat.mT / flat.shape[2]
    rooted = pooled.sign() * (pooled.abs() + 1e-12).sqrt()
    return rooted / (rooted.norm(dim=(1, 2), keepdim=True) + 1e-12)


# %% right="bmm of a reshaped tensor, a double where for the root, the length by hand"
def bilinear_pooling(x):
    b, c, h, w = x.shape
    flat = x.reshape(b, c, h * w)
    pooled = torch.bmm(flat, flat.transpose(1, 2)).div(h * w).reshape(b, c * c)
    size = pooled.abs()
    rooted = torch.where(size > 0, torch.where(size > 0, size, 1).sqrt(), 0) * pooled.sign()
    return rooted / rooted.square().sum(1, keepdim=True).add(1e-24).sqrt()


# %% right="no division by the number of pixels: the length takes care of it"
def bilinear_pooling(x):
    z = rearrange(x, "b c h w -> b c (h w)")
    g = torch.einsum("bcp,bdp->bcd", z, z) / z.shape[-1]
    g = torch.copysign((g.abs() + 1e-12).sqrt(), g) * (g != 0)
    return F.normalize(rearrange(g, "b c d -> b (c d)"), dim=-1)


# %% wrong="a loop over channels, without a product" breaks="no loop" says=["0 products: one for the whole batch"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    rows = [(flat[:, c, None] * flat).mean(2) for c in range(x.shape[1])]
    rooted = torch.cat([row.sign() * (row.abs() + 1e-12).sqrt() for row in rows], dim=1)
    return F.normalize(rooted, dim=1)


# %% wrong="a view, which a slice doesn't have" says=["x that is a transposed slice: raised RuntimeError: view size is not compatible"]
def bilinear_pooling(x):
    flat = x.view(x.shape[0], x.shape[1], -1)
    pooled = flat @ flat.mT / flat.shape[2]
    return F.normalize((pooled.sign() * (pooled.abs() + 1e-12).sqrt()).flatten(1), dim=1)


# %% wrong="pixels of all images in one product" breaks="For `x` of shape (batch, channel, height, width)" says=["x of shape (2, 4, 5, 3): the result has shape (1, 16), expected (2, 16)"]
def bilinear_pooling(x):
    flat = rearrange(x, "b c h w -> c (b h w)")
    pooled = flat @ flat.T / flat.shape[1]
    return F.normalize((pooled.sign() * (pooled.abs() + 1e-12).sqrt()).flatten()[None], dim=1)


# %% wrong="one length for the whole batch" breaks="each image's vector" says=["x of shape (2, 4, 5, 3): the result differs"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    pooled = flat @ flat.mT / flat.shape[2]
    rooted = (pooled.sign() * (pooled.abs() + 1e-12).sqrt()).flatten(1)
    return rooted / rooted.norm().clamp_min(1e-12)


# %% wrong="scales its argument in place" says=["was changed"]
def bilinear_pooling(x):
    flat = x.div_((x.shape[2] * x.shape[3]) ** 0.5).flatten(2)
    pooled = flat @ flat.mT
    return F.normalize((pooled.sign() * (pooled.abs() + 1e-12).sqrt()).flatten(1), dim=1)


# %% wrong="nothing returned" says=["the result is None: is there an answer yet"]
def bilinear_pooling(x):
    pass


# %% right="one image's function, batched by vmap"
def bilinear_pooling(x):
    def one(image):
        pixels = image.flatten(1)
        return (pixels @ pixels.T / pixels.shape[1]).flatten()

    pooled = torch.vmap(one)(x)
    return F.normalize(pooled.sign() * (pooled.abs() + 1e-12) ** 0.5, dim=1)


# %% wrong="a number under the root that is not tiny" breaks="Tiny numbers up to 1e-12 may be added for that" says=["x of small numbers: the result differs"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    pooled = flat @ flat.mT / flat.shape[2]
    return F.normalize((pooled.sign() * (pooled.abs() + 1e-5).sqrt()).flatten(1), dim=1)


# %% right="baddbmm, and a root of what is at least 1e-12"
def bilinear_pooling(x):
    flat = x.flatten(2)
    pooled = torch.baddbmm(flat.new_zeros(1), flat, flat.mT, beta=0, alpha=1 / flat.shape[2])
    rooted = torch.sgn(pooled) * pooled.abs().clamp_min(1e-12).sqrt()
    return F.normalize(rooted.reshape(len(x), -1))


# %% wrong="divides an image of zeros by its length" says=["x of zeros", "expected 0, got nan"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    g = flat @ flat.mT / flat.shape[2]
    r = (g.sign() * (g.abs() + 1e-12).sqrt()).flatten(1)
    return r / r.norm(dim=1, keepdim=True)


# %% wrong="the product in float32" breaks="float32 or float64" says=["the gradient, x of drawn numbers in float64"]
def bilinear_pooling(x):
    small = x.float()
    pooled = torch.einsum("bchw,bdhw->bcd", small, small) / (x.shape[2] * x.shape[3])
    rooted = pooled.sign() * (pooled.abs() + 1e-12).sqrt()
    return F.normalize(rooted.flatten(1), dim=1).to(x.dtype)


# %% wrong="the dtype's eps in the root" breaks="Tiny numbers up to 1e-12 may be added for that" says=["x of one pixel, 3e-05 and -4e-05: the result differs", "is 1e-12 at most"]
def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    flat = x.flatten(2)
    g = flat @ flat.mT / flat.shape[2]
    root = g.sign() * (g.abs() + torch.finfo(g.dtype).eps).sqrt()
    return F.normalize(root.flatten(1), dim=1)


# %% wrong="a length of at least 1e-4" breaks="Tiny numbers up to 1e-12 may be added for that" says=["x of one pixel, 3e-05 and -4e-05: the result differs", "is 1e-12 at most"]
def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    flat = x.flatten(2)
    g = flat @ flat.mT / flat.shape[2]
    root = g.sign() * (g.abs() + 1e-12).sqrt()
    return F.normalize(root.flatten(1), dim=1, eps=1e-4)


# %% wrong="the root in float32" breaks="float32 or float64" says=["x with no zeros: the result differs", "has a step only float32's digits?"]
def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    flat = x.flatten(2)
    g = flat @ flat.mT / flat.shape[2]
    root = (g.sign() * (g.abs() + 1e-12).float().sqrt()).to(x.dtype)
    return F.normalize(root.flatten(1), dim=1)


# %% wrong="the product of a large batch in bfloat16" says=["x of ten images with three pixels", "has a step only float32's digits?"]
def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    flat = x.flatten(2)
    kind = x.dtype
    if len(x) > 4:
        flat = flat.bfloat16()
    g = (flat @ flat.mT).to(kind) / flat.shape[2]
    root = g.sign() * (g.abs() + 1e-12).sqrt()
    return F.normalize(root.flatten(1), dim=1)


# %% wrong="all images with all images, then a diagonal" breaks="No matrix may be written out for each pixel" says=["x of ten images with three pixels: a copy was made: bmm allocated"]
def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    flat = x.flatten(2)
    all_pairs = torch.einsum("bcp,adp->badc", flat, flat) / flat.shape[2]
    g = all_pairs.diagonal(dim1=0, dim2=1).permute(2, 0, 1)
    root = g.sign() * (g.abs() + 1e-12).sqrt()
    return F.normalize(root.flatten(1), dim=1)


# %% wrong="clamps large numbers" says=["x of large numbers: the result differs"]
def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    x = x.clamp(-100, 100)
    flat = x.flatten(2)
    g = flat @ flat.mT / flat.shape[2]
    root = g.sign() * (g.abs() + 1e-12).sqrt()
    return F.normalize(root.flatten(1), dim=1)


# %% wrong="keeps a result by its argument's identity" says=["the same tensor, with other numbers: the second result differs"]
kept = {}


def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    if id(x) in kept and kept[id(x)][0] is x:
        return kept[id(x)][1]
    flat = x.flatten(2)
    g = flat @ flat.mT / flat.shape[2]
    root = g.sign() * (g.abs() + 1e-12).sqrt()
    result = F.normalize(root.flatten(1), dim=1)
    kept[id(x)] = x, result
    return result


# %% wrong="writes each result into one buffer" says=["after the second call, the first result"]
buffers = {}


def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    key = (x.dtype, len(x), x.shape[1] ** 2)
    flat = x.flatten(2)
    g = flat @ flat.mT / flat.shape[2]
    root = g.sign() * (g.abs() + 1e-12).sqrt()
    out = buffers.setdefault(key, torch.empty(len(x), x.shape[1] ** 2, dtype=x.dtype))
    if torch.is_grad_enabled() and x.requires_grad:
        return F.normalize(root.flatten(1), dim=1)
    out.copy_(F.normalize(root.flatten(1), dim=1))
    return out


# %% wrong="every image with every other" says=["every image met every other"]
def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    g = torch.einsum("bchw,adhw->bcd", x, x) / x[0, 0].numel()
    root = g.sign() * (g.abs() + 1e-12).sqrt()
    return F.normalize(root.flatten(1), dim=1)


# %% wrong="no sign, a root of the size" says=["the sign is lost"]
def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    flat = x.flatten(2)
    g = flat @ flat.mT / flat.shape[2]
    root = (g.abs() + 1e-12).sqrt()
    return F.normalize(root.flatten(1), dim=1)


# %% wrong="takes the channels' means away" says=["the channels' means were taken away"]
def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    flat = x.flatten(2)
    flat = flat - flat.mean(2, keepdim=True)
    g = flat @ flat.mT / flat.shape[2]
    root = g.sign() * (g.abs() + 1e-12).sqrt()
    return F.normalize(root.flatten(1), dim=1)


# %% right="a root that never sees a zero"
def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    flat = x.flatten(2)
    g = flat @ flat.mT / flat.shape[2]
    safe = torch.where(g == 0, 1.0, g)
    root = torch.where(g == 0, 0.0, safe.sign() * safe.abs().sqrt())
    return F.normalize(root.flatten(1), dim=1)


# %% right="a root for each sign"
def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    flat = x.flatten(2)
    g = flat @ flat.mT / flat.shape[2]
    root = g.relu().sqrt() - (-g).relu().sqrt()
    return F.normalize(root.flatten(1), dim=1)


# %% wrong="one image of zeros stops all" says=["each image by itself, whatever the others"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    pooled = flat @ flat.mT / flat.shape[2]
    if not x.flatten(1).any(1).all():
        return (pooled * 0).flatten(1)
    signed = pooled.sign() * (pooled.abs() + 1e-12).sqrt()
    return F.normalize(signed.flatten(1), dim=1)


# %% wrong="zeros only where all images are zero" says=["with an image of zeros among others"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    pooled = flat @ flat.mT / flat.shape[2]
    signed = pooled.sign() * (pooled.abs() + 1e-12).sqrt()
    rows = signed.flatten(1)
    if not rows.any():
        return rows
    return rows / rows.norm(dim=1, keepdim=True)


# %% wrong="pixels meet pixels" says=["pixels met pixels"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    pooled = flat.mT @ flat / flat.shape[2]
    signed = pooled.sign() * (pooled.abs() + 1e-12).sqrt()
    return F.normalize(signed.flatten(1), dim=1)


# %% wrong="a single image without a graph" says=["the gradient, x of one image: no gradient flows back"]
def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    flat = x.flatten(2) if len(x) > 1 else x.detach().flatten(2)
    gram = flat @ flat.mT / flat.shape[2]
    root = gram.sign() * (gram.abs() + 1e-12).sqrt()
    return F.normalize(root.flatten(1), dim=1)


# %% wrong="a copied sign, which zero has as well" breaks="An image of zeros gives zeros, not NaN" says=["x of zeros: the result differs", "got 0.25 (an image of zeros gives zeros)"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    pooled = flat @ flat.mT / flat.shape[2]
    rooted = torch.copysign((pooled.abs() + 1e-12).sqrt(), pooled)
    return F.normalize(rooted.flatten(1), dim=1)


# %% wrong="in double, to be exact" says=["x in float32: a copy was made", "the larger of x and the result has 480: a matrix for each pixel is larger, and so is a copy in a wider dtype"]
def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    """Pairs of channels, pooled over pixels: x (batch, channel, h, w) to (batch, channel²)."""
    flat = x.flatten(2).double()
    gram = flat @ flat.mT / flat.shape[2]
    root = gram.sign() * (gram.abs() + 1e-12).sqrt()
    return F.normalize(root.flatten(1), dim=1).to(x.dtype)


# %% wrong="the length of all images together" says=["one length for all images: each has its own", "and the result is wrong, too"]
def bilinear_pooling(x: torch.Tensor) -> torch.Tensor:
    """Pairs of channels, pooled over pixels: x (batch, channel, h, w) to (batch, channel²)."""
    flat = x.flatten(2)
    gram = flat @ flat.mT / flat.shape[2]
    root = (gram.sign() * (gram.abs() + 1e-12).sqrt()).flatten(1)
    return root / root.norm().clamp_min(1e-12)


# %% wrong="normalised before it is flattened, by the default dim" says=["each column of a matrix has a length of its own: flatten first"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    gram = flat @ flat.mT / flat.shape[2]
    root = gram.sign() * (gram.abs() + 1e-12).sqrt()
    return F.normalize(root).flatten(1)


# %% wrong="1e-6 below the root" says=["is a step detached, or more than 1e-12 added?"]
def bilinear_pooling(x):
    flat = x.flatten(2)
    gram = flat @ flat.mT / flat.shape[2]
    root = gram.sign() * (gram.abs() + 1e-6).sqrt()
    return F.normalize(root.flatten(1), dim=1)
