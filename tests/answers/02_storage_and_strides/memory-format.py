# %% wrong="the row-major strides of (8, 32, 64, 3), in that order" says=["nhwc_strides is not (6144, 192, 3, 1)", "the right numbers; now in the order batch, channel, height, width"]
nhwc_strides = (6144, 192, 3, 1)


def memory_format(size: tuple[int, ...], stride: tuple[int, ...]) -> str:
    return "contiguous"


# %% wrong="the strides of a contiguous batch" says=["nhwc_strides is not (6144, 2048, 64, 1)", "from one channel to the next"]
nhwc_strides = (3 * 32 * 64, 32 * 64, 64, 1)


def memory_format(size, stride):
    return "contiguous" if stride[-1] == 1 else "channels_last"


# %% wrong="asks only which stride is 1" says=["the stride of the only channel does not count", "expected 'both', got 'contiguous'"]
nhwc_strides = (6144, 1, 192, 3)


def memory_format(size, stride):
    return "contiguous" if stride[3] == 1 else "channels_last" if stride[1] == 1 else "neither"


# %% wrong="one channel is always both" says=["memory_format(", "expected 'neither', got 'both'"]
nhwc_strides = (6144, 1, 192, 3)


def memory_format(size, stride):
    n, c, h, w = size
    if c == 1 or h == w == 1:
        return "both"
    if tuple(stride) == (c * h * w, h * w, w, 1):
        return "contiguous"
    return "channels_last" if tuple(stride) == (c * h * w, 1, c * w, c) else "neither"


# %% wrong="counts strides that are never used" says=["expected 'both'"]
nhwc_strides = (6144, 1, 192, 3)


def memory_format(size, stride):
    n, c, h, w = size
    planes = tuple(stride) == (c * h * w, h * w, w, 1)
    pixels = tuple(stride) == (c * h * w, 1, c * w, c)
    if planes and pixels:
        return "both"
    return "contiguous" if planes else "channels_last" if pixels else "neither"


# %% wrong="no prediction" says=["nhwc_strides is still None", "predict the four strides first"]
nhwc_strides = None


def memory_format(size, stride):
    return "both"


# %% right="by the machine's own eyes"
nhwc_strides = [6144, 1, 192, 3]


def memory_format(size, stride):
    x = torch.empty_strided(size, stride)
    planes, pixels = x.is_contiguous(), x.is_contiguous(memory_format=torch.channels_last)
    return {3: "both", 1: "contiguous", 2: "channels_last", 0: "neither"}[planes + 2 * pixels]


# %% right="a set of dimensions that count"
nhwc_strides = (32 * 64 * 3, 1, 64 * 3, 3)


def memory_format(size, stride):
    n, c, h, w = size
    used = [d for d in range(4) if size[d] != 1]
    fits = {
        "contiguous": (c * h * w, h * w, w, 1),
        "channels_last": (h * w * c, 1, w * c, c),
    }
    names = [name for name, steps in fits.items() if all(stride[d] == steps[d] for d in used)]
    return "both" if len(names) == 2 else names[0] if names else "neither"
