# %% wrong="contiguous" says=["every box once, only in another order", "expected True, got False"]
def is_dense(x: torch.Tensor) -> bool:
    return x.is_contiguous()


# %% wrong="compares with the whole storage" says=["the rest of the storage does not matter"]
def is_dense(x):
    return x.numel() * x.itemsize == x.untyped_storage().nbytes()


# %% wrong="a span without gaps on average" says=["overlap", "expected False, got True"]
def is_dense(x):
    if x.numel() == 0:
        return True
    span = sum((n - 1) * s for n, s in zip(x.shape, x.stride())) + 1
    return span == x.numel()


# %% wrong="does not drop dimensions of size 1" says=["a dimension of size 1 is never stepped along"]
def is_dense(x):
    expected = 1
    for stride, size in sorted(zip(x.stride(), x.shape)):
        if stride != expected:
            return False
        expected *= size
    return True


# %% wrong="looks for holes only" says=["boxes are read thrice", "expected False, got True"]
def is_dense(x):
    if x.numel() == 0:
        return True
    return (
        1 in x.stride() or x.numel() == 1 if x.dim() < 2 else x.stride(-1) == 1 or x.stride(0) == 1
    )


# %% right="list every position"
def is_dense(x):
    positions = torch.zeros(1, dtype=torch.int64)
    for size, stride in zip(x.shape, x.stride()):
        positions = (positions[:, None] + stride * torch.arange(size)).flatten()
    return positions.sort().values.tolist() == list(range(x.numel()))


# %% right="permute to descending strides and ask for contiguity"
def is_dense(x):
    x = x.squeeze()
    return x.permute(sorted(range(x.dim()), key=x.stride, reverse=True)).is_contiguous()


# %% wrong="squeezes its argument in place" says=["an argument was changed"]
def is_dense(x):
    x.squeeze_()
    return x.permute(sorted(range(x.dim()), key=x.stride, reverse=True)).is_contiguous()


# %% right="NumPy's answer, of NumPy's type"
def is_dense(x):
    positions = np.zeros(1, dtype=int)
    for size, stride in zip(x.shape, x.stride()):
        positions = np.add.outer(positions, stride * np.arange(size)).ravel()
    return np.all(np.sort(positions) == np.arange(x.numel()))
