# %% [markdown]
# Rules:
#
# - "N may be 0"
# - "`stride` (1 or more)"
# - "It returns what `F.conv_transpose2d` returns"
# - "`padding` pixels cut from each side"
# - "`padding` may exceed the kernel"
# - "They may be views with gaps"
# - "the result has their dtype"
# - "Not allowed: `F.conv_transpose1d`, `2d`, `3d`, `torch.convolution`"
# - "modules that call them"
# - "stride: int = 1, padding: int = 0"
#
# Admits:
#
# - "N may be 0": no image
# - "`padding` may exceed the kernel": padding 3 around a kernel of 2 x 3
# - "may require a gradient": an image and weights that require a gradient
# - "views with gaps": an input and weights with gaps in memory, float64

# %% wrong="the library" breaks="Not allowed: `F.conv_transpose1d`, `2d`, `3d`, `torch.convolution`" says=["the answer calls conv_transpose2d"]
def transposed_conv(x, weight, stride=1, padding=0):
    return F.conv_transpose2d(x, weight, stride=stride, padding=padding)


# %% wrong="the module" breaks="modules that call them" says=["the answer calls conv_transpose2d"]
def transposed_conv(x, weight, stride=1, padding=0):
    c, d, *k = weight.shape
    layer = nn.ConvTranspose2d(c, d, tuple(k), stride, padding, bias=False, device=x.device)
    layer.weight = nn.Parameter(weight.clone())
    return layer(x)


# %% wrong="the operator below" says=["the answer calls convolution"]
def transposed_conv(x, weight, stride=1, padding=0):
    return torch.convolution(x, weight, None, [stride] * 2, [padding] * 2, [1, 1], True, [0, 0], 1)


# %% wrong="padding is not cut" says=["padding is cut from the result here"]
def transposed_conv(x, weight, stride=1, padding=0):
    n, _, h, w = x.shape
    _, d, kh, kw = weight.shape
    y = x.new_zeros(n, d, (h - 1) * stride + kh, (w - 1) * stride + kw)
    for i in range(h):
        for j in range(w):
            stamp = torch.einsum("nc,cdkl->ndkl", x[:, :, i, j], weight)
            y[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw] += stamp
    return y


# %% wrong="spreads the input and forgets to turn the kernel" breaks="It returns what `F.conv_transpose2d` returns" says=["the kernel is upside down"]
def transposed_conv(x, weight, stride=1, padding=0):
    n, c, h, w = x.shape
    kh, kw = weight.shape[2:]
    wide = x.new_zeros(n, c, (h - 1) * stride + 1, (w - 1) * stride + 1)
    wide[:, :, ::stride, ::stride] = x
    y = F.conv2d(F.pad(wide, (kw - 1, kw - 1, kh - 1, kh - 1)), weight.transpose(0, 1))
    return y[:, :, padding : y.shape[2] - padding, padding : y.shape[3] - padding]


# %% wrong="stamps one pixel apart" breaks="`stride` (1 or more)" says=["one channel, stride 2: the result: the stamps are stride pixels apart"]
def transposed_conv(x, weight, stride=1, padding=0):
    n, _, h, w = x.shape
    _, d, kh, kw = weight.shape
    y = x.new_zeros(n, d, h + kh - 1, w + kw - 1)
    for i in range(h):
        for j in range(w):
            y[:, :, i : i + kh, j : j + kw] += torch.einsum("nc,cdkl->ndkl", x[:, :, i, j], weight)
    return y[:, :, padding : y.shape[2] - padding, padding : y.shape[3] - padding]


# %% wrong="overlaps are overwritten" says=["where stamps overlap they add up"]
def transposed_conv(x, weight, stride=1, padding=0):
    n, _, h, w = x.shape
    _, d, kh, kw = weight.shape
    y = x.new_zeros(n, d, (h - 1) * stride + kh, (w - 1) * stride + kw)
    for i in range(h):
        for j in range(w):
            stamp = torch.einsum("nc,cdkl->ndkl", x[:, :, i, j], weight)
            y[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw] = stamp
    return y[:, :, padding : y.shape[2] - padding, padding : y.shape[3] - padding]


# %% wrong="an ordinary convolution" says=["has shape", "2 channels to 3, padding 1"]
def transposed_conv(x, weight, stride=1, padding=0):
    return F.conv2d(x, weight.transpose(0, 1), stride=stride, padding=padding)


# %% right="stamps in a loop"
@torch.no_grad()
def transposed_conv(x, weight, stride=1, padding=0):
    n, _, h, w = x.shape
    _, d, kh, kw = weight.shape
    y = x.new_zeros(n, d, (h - 1) * stride + kh, (w - 1) * stride + kw)
    for i in range(kh):
        for j in range(kw):
            tap = torch.einsum("nchw,cd->ndhw", x, weight[:, :, i, j])
            y[:, :, i : i + h * stride : stride, j : j + w * stride : stride][:, :, :h, :w] += tap
    return y[:, :, padding : y.shape[2] - padding, padding : y.shape[3] - padding]


# %% right="fold"
def transposed_conv(x, weight, stride=1, padding=0):
    columns = torch.einsum("nchw,cdkl->ndklhw", x, weight).flatten(1, 3).flatten(2)
    size = [(n - 1) * stride - 2 * padding + k for n, k in zip(x.shape[2:], weight.shape[2:])]
    return F.fold(columns, size, weight.shape[2:], stride=stride, padding=padding)


# %% right="vjp"
def transposed_conv(x, weight, stride=1, padding=0):
    h, w = ((n - 1) * stride - 2 * padding + k for n, k in zip(x.shape[2:], weight.shape[2:]))
    image = torch.zeros(len(x), weight.shape[1], h, w, dtype=x.dtype, device=x.device)
    return torch.func.vjp(lambda image: F.conv2d(image, weight, None, stride, padding), image)[1](
        x
    )[0]


# %% right="PyTorch's own gradient of a convolution"
def transposed_conv(x, weight, stride=1, padding=0):
    h, w = ((n - 1) * stride - 2 * padding + k for n, k in zip(x.shape[2:], weight.shape[2:]))
    return torch.nn.grad.conv2d_input((len(x), weight.shape[1], h, w), weight, x, stride, padding)


# %% wrong="cuts with a negative slice: empty at padding 0" says=["the slice padding:-padding is empty"]
def transposed_conv(x, weight, stride=1, padding=0):
    n, c, h, w = x.shape
    _, d, kh, kw = weight.shape
    y = x.new_zeros(n, d, (h - 1) * stride + kh, (w - 1) * stride + kw)
    for i in range(h):
        for j in range(w):
            y[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw] += torch.einsum(
                "nc,cdij->ndij", x[:, :, i, j], weight
            )
    return y[:, :, padding:-padding, padding:-padding]


# %% right="loop over the taps of the kernel"
def transposed_conv(x, weight, stride=1, padding=0):
    (n, _, h, w), (_, d, kh, kw) = x.shape, weight.shape
    y = torch.zeros(
        n, d, (h - 1) * stride + kh, (w - 1) * stride + kw, dtype=x.dtype, device=x.device
    )
    for a in range(kh):
        for b in range(kw):
            y[
                :, :, a : a + (h - 1) * stride + 1 : stride, b : b + (w - 1) * stride + 1 : stride
            ] += torch.tensordot(x, weight[:, :, a, b], dims=([1], [0])).movedim(-1, 1)
    H, Wd = y.shape[2:]
    return y[..., padding : H - padding, padding : Wd - padding]


# %% wrong="always float64" says=["the result has dtype torch.float64, expected torch.float32"]
def transposed_conv(x, weight, stride=1, padding=0):
    x, weight = x.double(), weight.double()
    h, w = ((n - 1) * stride - 2 * padding + k for n, k in zip(x.shape[2:], weight.shape[2:]))
    image = torch.zeros(len(x), weight.shape[1], h, w, dtype=x.dtype, device=x.device)
    image.requires_grad_()
    y = F.conv2d(image, weight, stride=stride, padding=padding)
    return torch.autograd.grad(y, image, x)[0]


# %% wrong="stamps into float32 zeros" breaks="the result has their dtype" says=["float64: the result has dtype torch.float32, expected torch.float64"]
def transposed_conv(x, weight, stride=1, padding=0):
    (n, _, h, w), (_, d, kh, kw) = x.shape, weight.shape
    y = torch.zeros(n, d, (h - 1) * stride + kh, (w - 1) * stride + kw, device=x.device)
    for a in range(kh):
        for b in range(kw):
            rows = slice(a, a + (h - 1) * stride + 1, stride)
            columns = slice(b, b + (w - 1) * stride + 1, stride)
            y[:, :, rows, columns] += torch.einsum("nchw,cd->ndhw", x, weight[:, :, a, b])
    return y[..., padding : y.shape[2] - padding, padding : y.shape[3] - padding]


# %% wrong="pads by the kernel less the padding" breaks="`padding` may exceed the kernel" says=["padding 3 around a kernel of 2 x 3: raised RuntimeError"]
def transposed_conv(x, weight, stride=1, padding=0):
    n, c, h, w = x.shape
    kh, kw = weight.shape[2:]
    wide = x.new_zeros(n, c, (h - 1) * stride + 1, (w - 1) * stride + 1)
    wide[:, :, ::stride, ::stride] = x
    turned = weight.flip(2, 3).transpose(0, 1)
    return F.conv2d(wide, turned, padding=(kh - 1 - padding, kw - 1 - padding))


# %% wrong="keeps the images in a list" breaks="N may be 0" says=["no image: raised"]
def transposed_conv(x, weight, stride=1, padding=0):
    images = []
    for image in x:
        (_, h, w), (_, d, kh, kw) = image.shape, weight.shape
        y = x.new_zeros(d, (h - 1) * stride + kh, (w - 1) * stride + kw)
        for i in range(h):
            for j in range(w):
                stamp = torch.einsum("c,cdkl->dkl", image[:, i, j], weight)
                y[:, i * stride : i * stride + kh, j * stride : j * stride + kw] += stamp
        images.append(y[:, padding : y.shape[1] - padding, padding : y.shape[2] - padding])
    return torch.stack(images)


# %% right="a wide image, padded or cut"
def transposed_conv(x, weight, stride=1, padding=0):
    n, c, h, w = x.shape
    kh, kw = weight.shape[2:]
    wide = x.new_zeros(n, c, (h - 1) * stride + 1, (w - 1) * stride + 1)
    wide[:, :, ::stride, ::stride] = x
    p, q = kh - 1 - padding, kw - 1 - padding
    return F.conv2d(F.pad(wide, (q, q, p, p)), weight.flip(2, 3).transpose(0, 1))


# %% right="a matrix for the convolution, transposed"
def transposed_conv(x, weight, stride=1, padding=0):
    sizes = [(n - 1) * stride - 2 * padding + k for n, k in zip(x.shape[2:], weight.shape[2:])]
    d, (h, w) = weight.shape[1], sizes
    pixels = torch.eye(d * h * w, dtype=x.dtype, device=x.device).view(-1, d, h, w)
    matrix = F.conv2d(pixels, weight.detach(), stride=stride, padding=padding).flatten(1)
    return (x.flatten(1) @ matrix.t()).unflatten(1, (d, h, w))


# %% wrong="cuts one side twice" breaks="`padding` pixels cut from each side" says=["not twice from the first"]
def transposed_conv(x, weight, stride=1, padding=0):
    n, c, h, w = x.shape
    _, d, kh, kw = weight.shape
    full = x.new_zeros(n, d, (h - 1) * stride + kh, (w - 1) * stride + kw)
    for i in range(h):
        for j in range(w):
            full[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw] += torch.einsum(
                "nc,cdij->ndij", x[:, :, i, j], weight
            )
    return full[:, :, 2 * padding :, 2 * padding :]


# %% wrong="padded for square kernels" says=["one pixel of value 2: the result has shape (1, 1, 2, 1)"]
def transposed_conv(x, weight, stride=1, padding=0):
    n, c, h, w = x.shape
    k = weight.shape[2]
    up = x.new_zeros(n, c, (h - 1) * stride + 1, (w - 1) * stride + 1)
    up[:, :, ::stride, ::stride] = x
    y = F.conv2d(up, weight.flip(2, 3).transpose(0, 1), padding=k - 1)
    H, W = y.shape[2:]
    return y[:, :, padding : H - padding, padding : W - padding]


# %% right="backward on an image of ones"
def transposed_conv(x, weight, stride=1, padding=0):
    kh, kw = weight.shape[2:]
    with torch.enable_grad():
        image = torch.ones(
            len(x),
            weight.shape[1],
            (x.shape[2] - 1) * stride - 2 * padding + kh,
            (x.shape[3] - 1) * stride - 2 * padding + kw,
            dtype=x.dtype,
            device=x.device,
            requires_grad=True,
        )
        y = F.conv2d(image, weight.detach(), stride=stride, padding=padding)
        (y * x.detach()).sum().backward()
    return image.grad


# %% wrong="view where there may be gaps" breaks="They may be views with gaps" says=["an input and weights with gaps in memory, float64: raised RuntimeError"]
def transposed_conv(x, weight, stride=1, padding=0):
    n, c, h, w = x.shape
    _, d, kh, kw = weight.shape
    full = x.new_zeros(n, d, (h - 1) * stride + kh, (w - 1) * stride + kw)
    for i in range(h):
        for j in range(w):
            full[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw] += (
                x.view(n, c, -1)[:, :, i * w + j] @ weight.view(c, -1)
            ).view(n, d, kh, kw)
    return full[:, :, padding : full.shape[2] - padding, padding : full.shape[3] - padding].detach()


# %% wrong="stride 2 by default" breaks="stride: int = 1, padding: int = 0" says=["stride and padding left out", "by default stride is 1"]
def transposed_conv(x, weight, stride=2, padding=0):
    (n, _, height, width), (_, d, kh, kw) = x.shape, weight.shape
    y = x.new_zeros(n, d, (height - 1) * stride + kh, (width - 1) * stride + kw)
    for i in range(height):
        for j in range(width):
            stamp = torch.einsum("nc,cdhw->ndhw", x[:, :, i, j], weight)
            y[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw] += stamp
    return y[:, :, padding : y.shape[2] - padding, padding : y.shape[3] - padding].detach()


# %% wrong="freezes the weights" says=["an image and weights that require a gradient: an argument was changed (its requires_grad)"]
def transposed_conv(x, weight, stride=1, padding=0):
    weight.requires_grad_(False)
    (n, _, h, w), (_, d, kh, kw) = x.shape, weight.shape
    full = x.new_zeros(n, d, (h - 1) * stride + kh, (w - 1) * stride + kw)
    with torch.no_grad():
        for i in range(h):
            for j in range(w):
                stamp = torch.einsum("nc,cdhw->ndhw", x[:, :, i, j], weight)
                full[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw] += stamp
    height, width = full.shape[2:]
    return full[:, :, padding : height - padding, padding : width - padding]


# %% wrong="a view of a view in place, with a graph" says=["here x and weight require a gradient: add up under torch.no_grad()"]
def transposed_conv(x, weight, stride=1, padding=0):
    n, _, h, w = x.shape
    _, d, kh, kw = weight.shape
    y = x.new_zeros(n, d, (h - 1) * stride + kh, (w - 1) * stride + kw)
    for i in range(kh):
        for j in range(kw):
            tap = torch.einsum("nchw,cd->ndhw", x, weight[:, :, i, j])
            y[:, :, i : i + h * stride : stride, j : j + w * stride : stride][:, :, :h, :w] += tap
    return y[:, :, padding : y.shape[2] - padding, padding : y.shape[3] - padding]


# %% wrong="backward through the weight, which gets a gradient of zeros" says=["an image and weights that require a gradient: an argument was changed (its grad)"]
def transposed_conv(x, weight, stride=1, padding=0):
    (n, _, h, w), (_, d, kh, kw) = x.shape, weight.shape
    size = ((h - 1) * stride - 2 * padding + kh, (w - 1) * stride - 2 * padding + kw)
    image = torch.zeros(n, d, *size, dtype=x.dtype, device=x.device, requires_grad=True)
    F.conv2d(image, weight, stride=stride, padding=padding).backward(x)
    return image.grad


# %% wrong="through numpy" says=["an image and weights that require a gradient: raised RuntimeError: Can't call numpy()"]
def transposed_conv(x, weight, stride=1, padding=0):
    import numpy as np

    a, k = x.numpy(), weight.numpy()
    n, c, h, w = a.shape
    _, d, kh, kw = k.shape
    height, width = (h - 1) * stride + kh, (w - 1) * stride + kw
    y = np.zeros((n, d, height, width), dtype=a.dtype)
    for i in range(h):
        for j in range(w):
            y[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw] += np.einsum(
                "nc,cdij->ndij", a[:, :, i, j], k
            )
    return torch.from_numpy(y[:, :, padding : height - padding, padding : width - padding])


# %% wrong="a row of pixels is made too high" says=["a row of pixels"]
def transposed_conv(x, weight, stride=1, padding=0):
    x, weight = x.detach(), weight.detach()
    n, c, h, w = x.shape
    d, kh, kw = weight.shape[1:]
    full = x.new_zeros(
        n,
        d,
        max(h - 1, 1) * stride + kh if h == 1 and stride > 1 else (h - 1) * stride + kh,
        (w - 1) * stride + kw,
    )
    for i in range(kh):
        for j in range(kw):
            part = torch.einsum("nchw,cd->ndhw", x, weight[:, :, i, j])
            full[
                :, :, i : i + (h - 1) * stride + 1 : stride, j : j + (w - 1) * stride + 1 : stride
            ] += part
    return full[:, :, padding : full.shape[2] - padding, padding : full.shape[3] - padding]


# %% wrong="one buffer for results of a shape" says=["transposed_conv(x, weight, 2, 1) a second time with the same tensors", "changes the result of the first time"]
kept = {}


def in_one_buffer(y):
    if y.requires_grad:
        return y
    return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)


def transposed_conv(x, weight, stride=1, padding=0):
    sizes = [
        (n - 1) * stride - 2 * padding + k
        for n, k in zip(x.shape[2:], weight.shape[2:], strict=True)
    ]
    image = x.new_zeros(x.shape[0], weight.shape[1], *sizes).requires_grad_()
    with torch.enable_grad():
        y = F.conv2d(image, weight, stride=stride, padding=padding)
    return in_one_buffer(torch.autograd.grad(y, image, x)[0])


# %% right="the gradient that torch.nn.grad writes"
def transposed_conv(x, weight, stride=1, padding=0):
    n, _, h, w = x.shape
    size = [(a - 1) * stride - 2 * padding + b for a, b in zip((h, w), weight.shape[2:])]
    shape = (n, weight.shape[1], *size)
    return torch.nn.grad.conv2d_input(shape, weight, x, stride=stride, padding=padding)


# %% wrong="the kernel's height for both sides" says=["the height takes kh, the width takes kw"]
def transposed_conv(x, weight, stride=1, padding=0):
    (n, _, h, w), (_, d, kh, kw) = x.shape, weight.shape
    full = x.new_zeros(n, d, (h - 1) * stride + max(kh, kw), (w - 1) * stride + max(kh, kw))
    for i in range(kh):
        for j in range(kw):
            part = torch.einsum("nchw,cd->ndhw", x.detach(), weight.detach()[:, :, i, j])
            rows = slice(i, i + (h - 1) * stride + 1, stride)
            full[:, :, rows, j : j + (w - 1) * stride + 1 : stride] += part
    height, width = ((m - 1) * stride + kh - padding for m in (h, w))
    return full[:, :, padding:height, padding:width]


# %% wrong="a negative padding for conv2d" says=["padding 3 around a kernel of 2 x 3: raised RuntimeError", "then pixels are cut, not added"]
def transposed_conv(x, weight, stride=1, padding=0):
    (n, c, h, w), (kh, kw) = x.shape, weight.shape[2:]
    spread = x.new_zeros(n, c, (h - 1) * stride + 1, (w - 1) * stride + 1)
    spread[:, :, ::stride, ::stride] = x.detach()
    turned = weight.detach().flip(2, 3).transpose(0, 1)
    return F.conv2d(spread, turned, padding=(kh - 1 - padding, kw - 1 - padding))
