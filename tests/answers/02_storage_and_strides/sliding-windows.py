# %% [markdown]
# Rules:
#
# - "`step` elements apart"
# - "A last window that would not be full is left out"
# - "`x` may itself be a view with any stride"
# - "Not a single element may be copied"
# - "step: int = 1"
# - "`1 <= k <= len(x)`"
# - "of shape (number of windows, `k`)"
#
# Admits:
#
# - "`1 <= k <= len(x)`": all of them one window
# - "k <= len(x)": windows of one
# - "may itself be a view with any stride": an expanded element
# - "A last window that would not be full": whose last window would not be full
# - "a view with any stride": stride 3
# - "with `step > k` the windows have gaps between them": gaps

# %% wrong="stacks slices" breaks="Not a single element may be copied" says=["a copy was made", "stack"]
def sliding_windows(x: torch.Tensor, k: int, step: int = 1) -> torch.Tensor:
    return torch.stack([x[i : i + k] for i in range(0, len(x) - k + 1, step)])


# %% wrong="assumes a step of 1 in memory" breaks="`x` may itself be a view with any stride" says=["x a view with stride 3: the result: a stride of 1 was assumed"]
def sliding_windows(x, k, step=1):
    return x.as_strided(((len(x) - k) // step + 1, k), (step, 1))


# %% wrong="one window too few" breaks="A last window that would not be full is left out" says=["has shape (3, 3), expected (4, 3)"]
def sliding_windows(x, k, step=1):
    return x.as_strided(((len(x) - k) // step, k), (step * x.stride(0), x.stride(0)))


# %% wrong="ignores the step" breaks="`step` elements apart" says=["has shape (7, 3), expected (4, 3)"]
def sliding_windows(x, k, step=1):
    return x.unfold(0, k, 1)


# %% wrong="cuts into blocks that do not overlap" says=["has shape (3, 3), expected (4, 3)"]
def sliding_windows(x, k, step=1):
    return x[: len(x) // k * k].view(-1, k)


# %% wrong="starts from the beginning of the storage" says=["7 of 16 cases fail", "x a view with stride 3: the result: it starts at box 0 of the storage"]
def sliding_windows(x, k, step=1):
    s = x.stride(0)
    return x.as_strided(((len(x) - k) // step + 1, k), (step * s, s), 0)


# %% right="unfold"
def sliding_windows(x, k, step=1):
    return x.unfold(0, k, step)


# %% right="every window, then every step-th of them"
def sliding_windows(x, k, step=1):
    return x.as_strided((len(x) - k + 1, k), x.stride() * 2)[::step]


# %% wrong="counts the windows as if there were no gaps" says=["has shape"]
def sliding_windows(x, k, step=1):
    return x.unfold(0, k, step)[: len(x) // step]


# %% wrong="a default of its own" breaks="step: int = 1" says=["sliding_windows(x, 3) with x of seven elements"]
def sliding_windows(x, k, step=2):
    return x.unfold(0, k, step)


# %% wrong="step inside the windows instead of between them" says=["step stands in the wrong place: it is between windows"]
def sliding_windows(x, k, step=1):
    s = x.stride(0)
    return x.as_strided(((len(x) - k) // step + 1, k), (s, step * s), x.storage_offset())


# %% wrong="one window less where it is the only one" breaks="`1 <= k <= len(x)`" says=["x of five elements, all of them one window: the result has shape (0, 5), expected (1, 5)"]
def sliding_windows(x, k, step=1):
    count = max((len(x) - k + step - 1) // step, 0) if len(x) == k else (len(x) - k) // step + 1
    return x.as_strided((count, k), (step * x.stride(0), x.stride(0)))


# %% wrong="an expanded x steps by 1" says=["x an expanded element: the result: a stride of 1 was assumed"]
def sliding_windows(x, k, step=1):
    own = x.stride(0) or 1
    return x.as_strided(((len(x) - k) // step + 1, k), (step * own, own))


# %% wrong="squeezes windows of one" breaks="of shape (number of windows, `k`)" says=["x of four elements, windows of one: the result has shape (2,), expected (2, 1)"]
def sliding_windows(x, k, step=1):
    return x.unfold(0, k, step).squeeze()


# %% wrong="through NumPy" says=["2 of 16 cases fail", "in torch.bfloat16: raised TypeError"]
def sliding_windows(x, k, step=1):
    count, own = (len(x) - k) // step + 1, x.stride(0) * x.itemsize
    make = np.lib.stride_tricks.as_strided
    return torch.from_numpy(make(x.numpy(), (count, k), (step * own, own)))


# %% wrong="windows side by side are cut from a copy" says=["1 of 16 cases fail", "windows side by side and a rest: a copy was made"]
def sliding_windows(x, k, step=1):
    if step == k:
        return x[: len(x) // k * k].contiguous().view(-1, k)
    return x.unfold(0, k, step)


# %% wrong="windows of an earlier tensor" says=["of nine other elements: the result"]
SEEN = {}


def sliding_windows(x, k, step=1):
    key = (len(x), k, step, x.stride(0), x.dtype)
    return SEEN.setdefault(key, x.unfold(0, k, step))


# %% wrong="no window where the step leads beyond the end" says=["2 of 16 cases fail", "a step beyond the end"]
def sliding_windows(x, k, step=1):
    windows = x.unfold(0, k, step)
    return windows[:0] if step > len(x) else windows


# %% wrong="the real part" says=["1 of 16 cases fail", "in torch.complex64"]
def sliding_windows(x, k, step=1):
    return (x.real if x.is_complex() else x).unfold(0, k, step)


# %% wrong="a copy where there is a gradient" says=["that requires a gradient", "a copy was made"]
def sliding_windows(x, k, step=1):
    x = x.clone() if x.requires_grad else x
    n = (len(x) - k) // step + 1
    s = x.stride(0)
    return x.as_strided((n, k), (step * s, s), x.storage_offset())


# %% right="sets an empty tensor onto the storage"
def sliding_windows(x: torch.Tensor, k: int, step: int = 1) -> torch.Tensor:
    starts = range(0, len(x) - k + 1, step)
    (stride,) = x.stride()
    note = (x.storage_offset(), (len(starts), k), (step * stride, stride))
    return torch.empty(0, dtype=x.dtype, device=x.device).set_(x.untyped_storage(), *note)


# %% wrong="cuts where windows lie side by side, though there is a rest" breaks="A last window that would not be full is left out" says=["windows side by side and a rest"]
def sliding_windows(x: torch.Tensor, k: int, step: int = 1) -> torch.Tensor:
    if step == k:
        return x.view(-1, k)
    return x.unfold(0, k, step)
