# %% wrong="contiguous" says=["still holds 4000 bytes", "is it a copy"]
def release_the_storage(x: torch.Tensor) -> tuple[int, torch.Tensor]:
    return x.untyped_storage().nbytes(), x.contiguous()


# %% wrong="measures the elements, not the storage" says=["the bytes kept alive by", "expected 4000, got 40"]
def release_the_storage(x):
    return x.numel() * x.element_size(), x.clone()


# %% wrong="counts elements of the storage" says=["expected 4000, got 1000"]
def release_the_storage(x):
    return x.untyped_storage().nbytes() // x.itemsize, x.clone()


# %% wrong="deepcopy" says=["still holds 4000 bytes"]
def release_the_storage(x):
    import copy

    return x.untyped_storage().nbytes(), copy.deepcopy(x)


# %% wrong="detach" says=["still holds 4000 bytes"]
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
