# %% [markdown]
# Rules:
#
# - "Pad with"
# - "Make all windows a view"
# - "one `torch.einsum` or another single product"
# - "No loop"
# - "no convolution"
# - "no `F.unfold`"
# - "`x` may be any view"
# - "// stride + 1"
# - "stride: int = 1, padding: int = 0"
# - "`x` (batch, in, height, width)"
#
# Admits:
#
# - "`x` (batch, in, height, width)": two images
# - "padding": a stride and padding
# - "may be any view": a channels_last image
# - "`x` may be any view": a slice (with gaps and an offset)

# %% wrong="calls conv2d" breaks="no convolution" says=["convolution ran", "take the windows as a view"]
def conv_by_strides(x, weight, stride=1, padding=0):
    return F.conv2d(x, weight, stride=stride, padding=padding)


# %% wrong="calls unfold, which copies" breaks="no `F.unfold`" says=["im2col ran"]
def conv_by_strides(x, weight, stride=1, padding=0):
    kh, kw = weight.shape[2:]
    columns = F.unfold(x, (kh, kw), stride=stride, padding=padding)
    height = (x.shape[2] + 2 * padding - kh) // stride + 1
    width = (x.shape[3] + 2 * padding - kw) // stride + 1
    return (weight.flatten(1) @ columns).view(x.shape[0], weight.shape[0], height, width)


# %% wrong="assumes a contiguous image" breaks="`x` may be any view" says=["a channels_last image (strides in another order)", "the strides of a contiguous tensor were assumed"]
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding,) * 4) if padding else x
    b, c, h, w = x.shape
    o, _, kh, kw = weight.shape
    size = (b, c, (h - kh) // stride + 1, (w - kw) // stride + 1, kh, kw)
    windows = x.as_strided(size, (c * h * w, h * w, w * stride, stride, w, 1))
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% wrong="forgets the stride between the windows" breaks="// stride + 1" says=["8 of 22 cases fail", "the windows do not move on as stride says"]
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding,) * 4)
    (b, c, h, w), (sb, sc, sh, sw) = x.shape, x.stride()
    o, _, kh, kw = weight.shape
    size = (b, c, (h - kh) // stride + 1, (w - kw) // stride + 1, kh, kw)
    windows = x.as_strided(size, (sb, sc, sh, sw, sh, sw))
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% wrong="flips the kernel, as in mathematics" says=["a contiguous image", "the kernel is upside down"]
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding,) * 4)
    kh, kw = weight.shape[2:]
    windows = x.unfold(2, kh, stride).unfold(3, kw, stride)
    return torch.einsum("bchwij,ocij->bohw", windows, weight.flip(2, 3))


# %% wrong="a loop over the positions" breaks="No loop" says=["no view of the windows was made"]
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding,) * 4)
    kh, kw = weight.shape[2:]
    rows = range(0, x.shape[2] - kh + 1, stride)
    columns = range(0, x.shape[3] - kw + 1, stride)
    result = x.new_empty(x.shape[0], weight.shape[0], len(rows), len(columns))
    for i, top in enumerate(rows):
        for j, left in enumerate(columns):
            patch = x[:, :, top : top + kh, left : left + kw]
            result[:, :, i, j] = torch.einsum("bcij,ocij->bo", patch, weight)
    return result


# %% wrong="forgets the padding" breaks="Pad with" says=["7 of 22 cases fail", "the padding is missing"]
def conv_by_strides(x, weight, stride=1, padding=0):
    kh, kw = weight.shape[2:]
    windows = x.unfold(2, kh, stride).unfold(3, kw, stride)
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% right="Tensor.unfold twice and tensordot"
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding, padding, padding, padding))
    windows = x.unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    return torch.tensordot(windows, weight, dims=([1, 4, 5], [1, 2, 3])).permute(0, 3, 1, 2)


# %% right="windows in another order of dimensions, a matrix product"
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, [padding] * 4)
    (n, c, h, w), (sn, sc, sh, sw) = x.shape, x.stride()
    o, _, kh, kw = weight.shape
    high, wide = (h - kh) // stride + 1, (w - kw) // stride + 1
    patches = x.as_strided(
        (n, high, wide, c, kh, kw),
        (sn, sh * stride, sw * stride, sc, sh, sw),
        x.storage_offset(),
    )
    return (patches.flatten(3) @ weight.flatten(1).t()).movedim(-1, 1)


# %% wrong="one product for each output channel" breaks="one `torch.einsum` or another single product" says=["one einsum, not 3 products"]
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding,) * 4)
    windows = x.unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    result = x.new_empty(x.shape[0], weight.shape[0], windows.shape[2], windows.shape[3])
    for channel in range(weight.shape[0]):
        result[:, channel] = torch.einsum("bchwij,cij->bhw", windows, weight[channel])
    return result


# %% wrong="pads two sides only" says=["stride 2, padding 1: the result: two numbers pad the width alone"]
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding,) * 2)
    windows = x.unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% wrong="stride inside the windows instead of between them" breaks="Make all windows a view" says=["a stride alone; stride 2, padding 0: the result: stride stands in the wrong place"]
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding,) * 4)
    (b, c, h, w), (sb, sc, sh, sw) = x.shape, x.stride()
    o, _, kh, kw = weight.shape
    size = (b, c, (h - kh) // stride + 1, (w - kw) // stride + 1, kh, kw)
    windows = x.as_strided(size, (sb, sc, sh, sw, sh * stride, sw * stride))
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% wrong="starts at box 0" says=["a slice (with gaps and an offset)", "it starts at box 0 of the storage"]
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding,) * 4) if padding else x
    (b, c, h, w), (sb, sc, sh, sw) = x.shape, x.stride()
    o, _, kh, kw = weight.shape
    size = (b, c, (h - kh) // stride + 1, (w - kw) // stride + 1, kh, kw)
    windows = x.as_strided(size, (sb, sc, sh * stride, sw * stride, sh, sw), 0)
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% wrong="defaults of its own" breaks="stride: int = 1, padding: int = 0" says=["neither stride nor padding: the result has shape"]
def conv_by_strides(x, weight, stride=1, padding=1):
    x = F.pad(x, (padding, padding, padding, padding))
    windows = x.unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    return torch.einsum("bihwkl,oikl->bohw", windows, weight)


# %% wrong="the first image alone" breaks="`x` (batch, in, height, width)" says=["two images; neither stride nor padding: the result has shape (1, 3, 4, 2), expected (2, 3, 4, 2)"]
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding,) * 4)
    windows = x.unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    return torch.einsum("chwij,ocij->ohw", windows[0], weight)[None]


# %% wrong="an empty batch is ambiguous" says=["1 of 22 cases fail", "no image, in torch.float16"]
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding, padding, padding, padding))
    kh, kw = weight.shape[2:]
    windows = x.unfold(2, kh, stride).unfold(3, kw, stride)
    columns = windows.permute(0, 2, 3, 1, 4, 5).flatten(3).reshape(len(x), -1, weight[0].numel())
    result = columns @ weight.reshape(len(weight), -1).t()
    return result.transpose(1, 2).reshape(*result.shape[::2], *windows.shape[2:4])


# %% wrong="NaN becomes 0" says=["2 of 22 cases fail", "a NaN in the image"]
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding, padding, padding, padding))
    kh, kw = weight.shape[2:]
    windows = x.nan_to_num().unfold(2, kh, stride).unfold(3, kw, stride)
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% wrong="no step beyond the kernel" says=["2 of 22 cases fail", "a stride beyond the kernel"]
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding, padding, padding, padding))
    kh, kw = weight.shape[2:]
    windows = x.unfold(2, kh, min(stride, max(kh, kw))).unfold(3, kw, min(stride, max(kh, kw)))
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% wrong="pads only beside a stride" says=["4 of 22 cases fail", "a channels_last image, padded; stride 1, padding 2: the result: the padding is missing"]
def conv_by_strides(x, weight, stride=1, padding=0):
    padding = padding if stride > 1 else 0
    x = F.pad(x, (padding, padding, padding, padding))
    kh, kw = weight.shape[2:]
    windows = x.unfold(2, kh, stride).unfold(3, kw, stride)
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% wrong="a padding of 1 at most" says=["2 of 22 cases fail", "a channels_last image, padded"]
def conv_by_strides(x, weight, stride=1, padding=0):
    padding = min(padding, 1)
    x = F.pad(x, (padding, padding, padding, padding))
    kh, kw = weight.shape[2:]
    windows = x.unfold(2, kh, stride).unfold(3, kw, stride)
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% wrong="what was padded is taken for contiguous" says=["1 of 22 cases fail", "a channels_last image, padded; stride 1, padding 2: the result: the strides of a contiguous tensor were assumed"]
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding, padding, padding, padding))
    (batch, channels, height, width), (kh, kw) = x.shape, weight.shape[2:]
    b, c, down, right = x.stride()
    if padding:
        b, c, down, right = channels * height * width, height * width, width, 1
    places = (height - kh) // stride + 1, (width - kw) // stride + 1
    size = (batch, channels, *places, kh, kw)
    windows = x.as_strided(size, (b, c, down * stride, right * stride, down, right))
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% wrong="a 1 × 1 kernel goes everywhere" says=["1 of 22 cases fail", "a 1 × 1 kernel; stride 2, padding 0"]
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding, padding, padding, padding))
    kh, kw = weight.shape[2:]
    stride = 1 if kh == kw == 1 else stride
    windows = x.unfold(2, kh, stride).unfold(3, kw, stride)
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% wrong="stride for the rows alone" breaks="// stride + 1" says=["stride counts in both directions"]
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding, padding, padding, padding))
    b, c, h, w = x.shape
    o, _, kh, kw = weight.shape
    sb, sc, sh, sw = x.stride()
    size = (b, c, (h - kh) // stride + 1, (w - kw) // stride + 1, kh, kw)
    windows = x.as_strided(size, (sb, sc, sh * stride, sw, sh, sw), x.storage_offset())
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% wrong="strides from before the padding" breaks="Pad with" says=["from before the padding"]
def conv_by_strides(x, weight, stride=1, padding=0):
    sb, sc, sh, sw = x.stride()
    x = F.pad(x, (padding, padding, padding, padding))
    b, c, h, w = x.shape
    o, _, kh, kw = weight.shape
    size = (b, c, (h - kh) // stride + 1, (w - kw) // stride + 1, kh, kw)
    windows = x.as_strided(size, (sb, sc, sh * stride, sw * stride, sh, sw), x.storage_offset())
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% wrong="padding before stride" says=["stride 2, padding 1"]
def conv_by_strides(x, weight, padding=0, stride=1):
    x = F.pad(x, (padding, padding, padding, padding))
    b, c, h, w = x.shape
    out, _, kh, kw = weight.shape
    nh, nw = (h - kh) // stride + 1, (w - kw) // stride + 1
    sb, sc, sh, sw = x.stride()
    windows = x.as_strided(
        (b, c, nh, nw, kh, kw), (sb, sc, sh * stride, sw * stride, sh, sw), x.storage_offset()
    )
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% right="without a gradient"
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x.detach(), (padding, padding, padding, padding))
    b, c, h, w = x.shape
    out, _, kh, kw = weight.shape
    nh, nw = (h - kh) // stride + 1, (w - kw) // stride + 1
    sb, sc, sh, sw = x.stride()
    windows = x.as_strided(
        (b, c, nh, nw, kh, kw), (sb, sc, sh * stride, sw * stride, sh, sw), x.storage_offset()
    )
    return torch.einsum("bchwij,ocij->bohw", windows, weight.detach())


# %% right="an empty result for no image, else vmap over the images"
def conv_by_strides(
    x: torch.Tensor, weight: torch.Tensor, stride: int = 1, padding: int = 0
) -> torch.Tensor:
    def step(image):
        windows = image.unfold(1, weight.size(2), stride).unfold(2, weight.size(3), stride)
        return torch.tensordot(weight, windows, dims=([1, 2, 3], [0, 3, 4]))

    padded = F.pad(x, (padding, padding, padding, padding))
    if not len(padded):
        size = [(n - k) // stride + 1 for n, k in zip(padded.shape[2:], weight.shape[2:])]
        return padded.new_empty((0, weight.size(0), *size))
    return torch.func.vmap(step)(padded)


# %% wrong="conv2d where there is no image" breaks="no convolution" says=["1 of 22 cases fail", "no image, in torch.float16; neither stride nor padding: convolution ran"]
def conv_by_strides(x, weight, stride=1, padding=0):
    if not x.numel():
        return F.conv2d(x, weight, stride=stride, padding=padding)
    x = F.pad(x, (padding,) * 4)
    windows = x.unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% right="addmm"
def conv_by_strides(x, weight, stride=1, padding=0):
    x = F.pad(x, (padding,) * 4)
    windows = x.unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    b, c, h, w = windows.shape[:4]
    rows = windows.permute(0, 2, 3, 1, 4, 5).reshape(b * h * w, weight[0].numel())
    result = torch.addmm(x.new_zeros(len(weight)), rows, weight.flatten(1).t())
    return result.view(b, h, w, len(weight)).permute(0, 3, 1, 2)


# %% wrong="windows side by side by a reshape that leaves no row over" says=["windows side by side, and a row left over", "raised RuntimeError"]
def conv_by_strides(
    x: torch.Tensor, weight: torch.Tensor, stride: int = 1, padding: int = 0
) -> torch.Tensor:
    kh, kw = weight.shape[2:]
    padded = F.pad(x, (padding, padding, padding, padding))
    if stride == kh == kw and stride > 1:
        n, c, h, w = padded.shape
        windows = padded.reshape(n, c, h // kh, kh, w // kw, kw).transpose(3, 4)
    else:
        windows = padded.unfold(2, kh, stride).unfold(3, kw, stride)
    return torch.einsum("nchwij,ocij->nohw", windows, weight)


# %% wrong="no result where the kernel is larger than the image" breaks="// stride + 1" says=["an image that the kernel fits once it is padded"]
def conv_by_strides(x, weight, stride=1, padding=0):
    kh, kw = weight.shape[2:]
    if kh > x.shape[2] or kw > x.shape[3]:
        return x.new_zeros(len(x), len(weight), 0, 0)
    x = F.pad(x, (padding,) * 4)
    windows = x.unfold(2, kh, stride).unfold(3, kw, stride)
    return torch.einsum("bchwij,ocij->bohw", windows, weight)


# %% wrong="one padded image for each size, whatever its dtype" says=["the sizes of a case before, in torch.float32"]
PADDED = {}


def conv_by_strides(x, weight, stride=1, padding=0):
    batch, channels, height, width = x.shape
    if padding:
        size = batch, channels, height + 2 * padding, width + 2 * padding
        padded = PADDED.setdefault((size, padding), x.new_zeros(size))
        padded[:, :, padding:-padding, padding:-padding] = x
        x = padded
    kh, kw = weight.shape[2:]
    windows = x.unfold(2, kh, stride).unfold(3, kw, stride)
    return torch.einsum("bchwij,ocij->bohw", windows, weight)
