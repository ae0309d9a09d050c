# %% [markdown]
# Rules:
#
# - "how many bytes of storage it keeps alive"
# - "whose storage holds its own elements and nothing else"
# - "dtype and device"
# - "Leave the given tensor as it is"
# - "return two things"
# - "Given any tensor"
# - "same values, shape"
#
# Admits:
#
# - "any tensor": a single number
# - "Given any": that requires a gradient
# - "bytes of storage": an expanded row
# - "holds its own elements": an empty slice, in torch.float64
# - "dtype and device": in torch.bool
# - "Given any tensor": float16

# %% wrong="contiguous" breaks="whose storage holds its own elements and nothing else" says=["bytes that the tensor keeps: expected 40, got 2400 (is it a copy?)", "is it a copy"]
def release_the_storage(x: torch.Tensor) -> tuple[int, torch.Tensor]:
    return x.untyped_storage().nbytes(), x.contiguous()


# %% wrong="measures the elements, not the storage" breaks="how many bytes of storage it keeps alive" says=["expected 2400, got 40 (these are the bytes of its elements"]
def release_the_storage(x):
    return x.numel() * x.element_size(), x.clone()


# %% wrong="counts elements of the storage" says=["expected 2400, got 600 (this counts elements: the storage is asked for in bytes)"]
def release_the_storage(x):
    return x.untyped_storage().nbytes() // x.itemsize, x.clone()


# %% wrong="deepcopy" says=["bytes that the tensor keeps: expected 40, got 2400 (is it a copy?)"]
def release_the_storage(x):
    import copy

    return x.untyped_storage().nbytes(), copy.deepcopy(x)


# %% wrong="detach" says=["bytes that the tensor keeps: expected 40, got 2400 (is it a copy?)"]
def release_the_storage(x):
    return x.untyped_storage().nbytes(), x.detach()


# %% wrong="the tensor alone" breaks="return two things" says=["return the pair (bytes, tensor)"]
def release_the_storage(x):
    return x.clone()


# %% right="an empty tensor, filled"
def release_the_storage(x):
    fresh = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    with torch.no_grad():
        fresh.copy_(x)
    return len(x.untyped_storage()), fresh


# %% right="cat of one part, shaped like before"
def release_the_storage(x):
    kept = x.untyped_storage().nbytes()
    return [kept, torch.cat([x.reshape(-1)]).view(x.shape)]


# %% right="clone"
def release_the_storage(x):
    return x.untyped_storage().nbytes(), x.clone()


# %% wrong="frees the storage of its argument" breaks="Leave the given tensor as it is" says=["an argument was changed (its shape, stride or storage)"]
def release_the_storage(x):
    held, copy = x.untyped_storage().nbytes(), x.clone()
    x.untyped_storage().resize_(0)
    return held, copy


# %% wrong="nothing yet" says=["the result is None: is there an answer yet, and does it return a value?"]
def release_the_storage(x):
    """Bytes of storage that ``x`` keeps alive, and an equal tensor that keeps only its own."""
    # YOUR CODE HERE


# %% wrong="x + 0, bool becomes int" breaks="dtype and device" says=["in torch.bool", "dtype torch.int64, expected torch.bool"]
def release_the_storage(x):
    return x.untyped_storage().nbytes(), x + 0


# %% wrong="through a list" says=["in torch.float16", "dtype torch.float32, expected torch.float16"]
def release_the_storage(x):
    return x.untyped_storage().nbytes(), torch.tensor(x.tolist())


# %% wrong="through NumPy" breaks="Given any tensor" says=["that requires a gradient: raised RuntimeError"]
def release_the_storage(x):
    return x.untyped_storage().nbytes(), torch.from_numpy(x.cpu().numpy().copy()).to(x.device)


# %% wrong="row by row" breaks="same values, shape" says=["an expanded row: the tensor has shape (120,), expected (4, 30)", "a single number: raised TypeError"]
def release_the_storage(x):
    whole = torch.cat([row.reshape(-1) for row in x]) if x.numel() else x.clone().flatten()
    return x.untyped_storage().nbytes(), whole.clone()


# %% wrong="contiguous, where a stride is 0" says=["1 of 20 cases fail", "a single number, expanded to (1, 1): bytes that the tensor keeps: expected 4, got 2400"]
def release_the_storage(x):
    own = x.contiguous() if 0 in x.stride() else x.clone()
    return x.untyped_storage().nbytes(), own


# %% wrong="NaN becomes 0" says=["1 of 20 cases fail", "of which the first is NaN: the tensor differs"]
def release_the_storage(x):
    return x.untyped_storage().nbytes(), x.clone().nan_to_num()


# %% wrong="through float32" says=["x of whole numbers that float64 would round: the tensor"]
def release_the_storage(x):
    own = x.clone() if x.is_complex() else x.float().clone().to(x.dtype)
    return x.untyped_storage().nbytes(), own


# %% wrong="the real part" says=["transposed, in torch.complex64: the tensor"]
def release_the_storage(x):
    return x.untyped_storage().nbytes(), x.real.clone()


# %% wrong="a transposed tensor in the order of its boxes" says=["1 of 20 cases fail", "transposed, in torch.complex64: the tensor differs"]
def release_the_storage(x):
    kept = x.untyped_storage().nbytes()
    if x.dim() == 2 and x.stride(0) == 1 < x.stride(1):
        return kept, x.t().clone().view(x.shape)
    return kept, x.clone()


# %% wrong="through NumPy, detached" breaks="Given any tensor" says=["1 of 20 cases fail", "in bfloat16, that requires a gradient: raised TypeError"]
def release_the_storage(x):
    return x.untyped_storage().nbytes(), torch.from_numpy(x.detach().cpu().numpy().copy())


# %% wrong="own storage assumed where the bytes fit" breaks="whose storage holds its own elements and nothing else" says=["a whole storage, expanded", "is it a copy"]
def release_the_storage(x):
    if x.untyped_storage().nbytes() <= x.numel() * x.itemsize:
        return x.untyped_storage().nbytes(), x
    return x.untyped_storage().nbytes(), x.clone()


# %% wrong="through tolist, which forgets the columns of no rows" breaks="same values, shape" says=["no rows", "expected (0, 3)"]
def release_the_storage(x):
    return x.untyped_storage().nbytes(), torch.tensor(x.tolist(), dtype=x.dtype, device=x.device)


# %% wrong="copies where the storage is larger" says=["windows that overlap", "its storage holds boxes that are no element of it"]
def release_the_storage(x):
    kept = x.untyped_storage().nbytes()
    return kept, x.clone() if kept > x.nbytes else x


# %% wrong="one buffer for copies of a shape" says=["the new tensor a second time with the same tensors", "changes the result of the first time"]
kept = {}


def release_the_storage(x):
    own = kept.setdefault((x.shape, x.dtype), torch.empty(x.shape, dtype=x.dtype))
    return x.untyped_storage().nbytes(), own.copy_(x.detach())
