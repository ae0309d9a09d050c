# %% [markdown]
# Rules:
#
# - "by one `as_strided`"
# - "summed over the last two dimensions"
# - "multiplied by it, element by element"
# - "either may be any view"
# - "No loop"
# - "no convolution"
# - "no `F.unfold`"
# - "The result has shape (height − kernel height + 1"
# - "the kernel is not larger than the image"
# - "floats of one dtype"
#
# Admits:
#
# - "the kernel is not larger than the image": a kernel as large as the image
# - "any view": an expanded row, and a transposed kernel
# - "floats of one dtype": in float64
# - "either may be any view": a slice with an offset

# %% wrong="calls conv2d" breaks="no convolution" says=["convolution ran: take the windows as a view"]
def one_channel(image: torch.Tensor, kernel: torch.Tensor) -> torch.Tensor:
    return F.conv2d(image[None, None], kernel[None, None])[0, 0]


# %% wrong="calls F.unfold, which copies" breaks="no `F.unfold`" says=["im2col ran"]
def one_channel(image, kernel):
    columns = F.unfold(image[None, None], tuple(kernel.shape))[0]
    high = image.shape[0] - kernel.shape[0] + 1
    return (kernel.reshape(1, -1) @ columns).view(high, -1)


# %% wrong="assumes a contiguous image" breaks="either may be any view" says=["a slice with an offset: the result: the strides of a contiguous tensor were assumed", "a transposed image: the result: the strides of a contiguous"]
def one_channel(image, kernel):
    (h, w), (kh, kw) = image.shape, kernel.shape
    windows = image.as_strided((h - kh + 1, w - kw + 1, kh, kw), (w, 1, w, 1))
    return (windows * kernel).sum(dim=(2, 3))


# %% wrong="starts at box 0" says=["4 of 18 cases fail", "a slice with an offset: the result: it starts at box 0"]
def one_channel(image, kernel):
    (h, w), (kh, kw) = image.shape, kernel.shape
    windows = image.as_strided((h - kh + 1, w - kw + 1, kh, kw), image.stride() * 2, 0)
    return (windows * kernel).sum(dim=(2, 3))


# %% wrong="mirrors the kernel, as in mathematics" breaks="multiplied by it, element by element" says=["the kernel is upside down"]
def one_channel(image, kernel):
    windows = image.unfold(0, kernel.shape[0], 1).unfold(1, kernel.shape[1], 1)
    return (windows * kernel.flip(0, 1)).sum(dim=(2, 3))


# %% wrong="a loop over the places" breaks="No loop" says=["a slice with an offset: no view of the windows was made"]
def one_channel(image, kernel):
    (h, w), (kh, kw) = image.shape, kernel.shape
    result = image.new_empty(h - kh + 1, w - kw + 1)
    for i in range(h - kh + 1):
        for j in range(w - kw + 1):
            result[i, j] = (image[i : i + kh, j : j + kw] * kernel).sum()
    return result


# %% wrong="one window too few" breaks="The result has shape (height − kernel height + 1" says=["has shape (1, 1), expected (2, 2)"]
def one_channel(image, kernel):
    (h, w), (kh, kw) = image.shape, kernel.shape
    windows = image.as_strided((h - kh, w - kw, kh, kw), image.stride() * 2)
    return (windows * kernel).sum(dim=(2, 3))


# %% wrong="sums over everything" breaks="summed over the last two dimensions" says=["the sum is over all windows at once"]
def one_channel(image, kernel):
    windows = image.unfold(0, kernel.shape[0], 1).unfold(1, kernel.shape[1], 1)
    return (windows * kernel).sum()


# %% wrong="rows and columns exchanged inside the window" breaks="by one `as_strided`" says=["rows and columns are exchanged inside the window"]
def one_channel(image, kernel):
    (h, w), (kh, kw), (down, right) = image.shape, kernel.shape, image.stride()
    size = (h - kh + 1, w - kw + 1, kh, kw)
    windows = image.as_strided(size, (down, right, right, down))
    return (windows * kernel).sum(dim=(2, 3))


# %% wrong="spoils the image" says=["an argument was changed"]
def one_channel(image, kernel):
    windows = image.unfold(0, kernel.shape[0], 1).unfold(1, kernel.shape[1], 1)
    result = (windows * kernel).sum(dim=(2, 3))
    image[:1].mul_(2)
    return result


# %% wrong="forgets return" says=["the result is None"]
def one_channel(image, kernel):
    windows = image.unfold(0, kernel.shape[0], 1).unfold(1, kernel.shape[1], 1)
    (windows * kernel).sum(dim=(2, 3))


# %% right="unfold twice and an einsum"
def one_channel(image, kernel):
    windows = image.unfold(0, kernel.shape[0], 1).unfold(1, kernel.shape[1], 1)
    return torch.einsum("hwij,ij->hw", windows, kernel)


# %% right="the window first, then the place, and a tensordot"
def one_channel(image, kernel):
    (h, w), (kh, kw) = image.shape, kernel.shape
    size = (kh, kw, h - kh + 1, w - kw + 1)
    views = torch.as_strided(image, size, image.stride() * 2, image.storage_offset())
    return torch.tensordot(kernel, views, dims=2)


# %% right="a matrix product of flattened windows"
def one_channel(image, kernel):
    windows = image.unfold(0, kernel.size(0), 1).unfold(1, kernel.size(1), 1)
    return windows.flatten(2) @ kernel.flatten()


# %% wrong="in float32" breaks="floats of one dtype" says=["a kernel of 2 × 3, in float64: the result"]
def one_channel(image, kernel):
    (height, width), (kh, kw) = image.shape, kernel.shape
    size = (height - kh + 1, width - kw + 1, kh, kw)
    windows = image.as_strided(size, image.stride() * 2)
    return (windows.float() * kernel.float()).sum(dim=(2, 3)).to(image.dtype)


# %% wrong="squeezes the result" breaks="the kernel is not larger than the image" says=["a kernel as large as the image: the result has shape (), expected (1, 1)"]
def one_channel(image, kernel):
    windows = image.unfold(0, kernel.shape[0], 1).unfold(1, kernel.shape[1], 1)
    return (windows * kernel).sum(dim=(2, 3)).squeeze()


# %% wrong="the kernel is contiguous" says=["an expanded row, and a transposed kernel: the result: the kernel's numbers were read as they lie"]
def one_channel(image, kernel):
    windows = image.unfold(0, kernel.shape[0], 1).unfold(1, kernel.shape[1], 1)
    flat = kernel.as_strided((kernel.numel(),), (1,))
    return windows.flatten(2) @ flat


# %% wrong="halves give float32" says=["1 of 18 cases fail", "in torch.float16: the result has dtype torch.float32"]
def one_channel(image, kernel):
    windows = image.unfold(0, len(kernel), 1).unfold(1, kernel.shape[1], 1)
    if image.dtype == torch.float16:
        windows = windows.float()
    return (windows * kernel).sum((2, 3))


# %% wrong="leaves out where the kernel is 0" says=["1 of 18 cases fail", "times 0, either is NaN: the result differs"]
def one_channel(image, kernel):
    windows = image.unfold(0, len(kernel), 1).unfold(1, kernel.shape[1], 1)
    used = kernel != 0
    return (windows[..., used] * kernel[used]).sum(-1)


# %% wrong="passes over NaN" says=["1 of 18 cases fail", "times 0, either is NaN: the result differs"]
def one_channel(image, kernel):
    windows = image.unfold(0, len(kernel), 1).unfold(1, kernel.shape[1], 1)
    return (windows * kernel).nansum((2, 3))


# %% wrong="a kernel of one number times the image in place" says=["2 of 18 cases fail", "a kernel of one number, with fractions: an argument was changed"]
def one_channel(image, kernel):
    windows = image.unfold(0, len(kernel), 1).unfold(1, kernel.shape[1], 1)
    if kernel.numel() == 1:
        return windows.mul_(kernel)[:, :, 0, 0]
    return (windows * kernel).sum((2, 3))


# %% wrong="products in bfloat16" says=["a kernel of one number, with fractions: the result differs"]
def one_channel(image, kernel):
    windows = image.unfold(0, len(kernel), 1).unfold(1, kernel.shape[1], 1)
    if image.dtype == torch.float64:
        return (windows * kernel).sum((2, 3))
    return (windows * kernel).bfloat16().sum((2, 3)).to(image.dtype)


# %% wrong="a column is read as a row" says=["2 of 18 cases fail", "a column of ones: the result has shape"]
def one_channel(image, kernel):
    kernel = kernel.t() if kernel.shape[1] == 1 else kernel
    windows = image.unfold(0, len(kernel), 1).unfold(1, kernel.shape[1], 1)
    return (windows * kernel).sum((2, 3))


# %% wrong="a loop over the rows of the kernel" breaks="No loop" says=["2 products ran", "multiply all windows by the kernel at once, without a loop"]
def one_channel(image, kernel):
    total = 0
    windows = image.unfold(0, len(kernel), 1).unfold(1, kernel.shape[1], 1)
    for i, row in enumerate(kernel):
        total = total + (windows[:, :, i] * row).sum(-1)
    return total


# %% wrong="kernel read as it lies" breaks="either may be any view" says=["read as they lie"]
def one_channel(image, kernel):
    (h, w), (kh, kw) = image.shape, kernel.shape
    windows = image.as_strided(
        (h - kh + 1, w - kw + 1, kh, kw), image.stride() * 2, image.storage_offset()
    )
    return (windows * kernel.as_strided((kh, kw), (kw, 1))).sum((2, 3))


# %% wrong="steps like the kernel inside a window" says=["a kernel of 2 × 3, in float64: the result: inside a window the kernel's strides were taken"]
def one_channel(image: torch.Tensor, kernel: torch.Tensor) -> torch.Tensor:
    (h, w), (kh, kw) = image.shape, kernel.shape
    size = (h - kh + 1, w - kw + 1, kh, kw)
    windows = image.as_strided(size, image.stride() + kernel.stride())
    return (windows * kernel).sum((2, 3))


# %% wrong="keeps the windows by address and shape" breaks="either may be any view" says=["1 of 18 cases fail", "this square, turned: in the same place, with other strides"]
_windows = {}


def one_channel(image, kernel):
    key = (image.data_ptr(), image.dtype, image.shape, kernel.shape)
    if key not in _windows:
        _windows[key] = image.unfold(0, kernel.shape[0], 1).unfold(1, kernel.shape[1], 1)
    return (_windows[key] * kernel).sum((-2, -1))
