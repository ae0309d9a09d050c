# %% wrong="contiguous" says=["holds 4000 bytes, 40 of its own", "is it a copy"]
def release_the_storage(x: torch.Tensor) -> tuple[int, torch.Tensor]:
    return x.untyped_storage().nbytes(), x.contiguous()


# %% wrong="measures the elements, not the storage" says=["expected 4000, got 40 (measure the storage"]
def release_the_storage(x):
    return x.numel() * x.element_size(), x.clone()


# %% wrong="counts elements of the storage" says=["expected 4000, got 1000 (measure the storage, in bytes)"]
def release_the_storage(x):
    return x.untyped_storage().nbytes() // x.itemsize, x.clone()


# %% wrong="deepcopy" says=["holds 4000 bytes, 40 of its own"]
def release_the_storage(x):
    import copy

    return x.untyped_storage().nbytes(), copy.deepcopy(x)


# %% wrong="detach" says=["holds 4000 bytes, 40 of its own"]
def release_the_storage(x):
    return x.untyped_storage().nbytes(), x.detach()


# %% wrong="the tensor alone" says=["return (bytes, tensor)"]
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


# %% wrong="frees the storage of its argument" says=["an argument was changed (its shape, stride or storage)"]
def release_the_storage(x):
    held, copy = x.untyped_storage().nbytes(), x.clone()
    x.untyped_storage().resize_(0)
    return held, copy


# %% wrong="nothing yet" says=["is None: is there an answer yet"]
def release_the_storage(x):
    """Bytes of storage that ``x`` keeps alive, and an equal tensor that keeps only its own."""
    # YOUR CODE HERE
