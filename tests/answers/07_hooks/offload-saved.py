# %% [markdown]
# Rules:
#
# - "A float32 tensor that isn't a parameter"
# - "is kept in half precision"
# - "(`torch.float16`)"
# - "Everything else is kept exactly"
# - "Indices and masks can't be rounded"
# - "What is kept exactly must not be the tensor itself"
# - "and needs no copy"
# - "gives the tensor again"
# - "with the dtype"
# - "shape and device that it had"
# - "or a tuple, list or dict of tensors and plain values such as a dtype"
#
# Admits:
#
# - "A float32 tensor": ([[0.1, -7.0]], torch.float32)
# - "Indices and masks": ([True, False], torch.bool)
# - "Indices": ([3, 2**40], torch.int64)
# - "float64 or complex numbers": torch.complex64
# - "shape and device that it had": (0.1, torch.float32)
# - "dtype, shape": ([[]], torch.float32)
# - "Everything else": ([1 / 3, 2.0], torch.float16)
# - "Parameters live anyway": a CNN, with a batch in

# %% wrong="everything in half" breaks="Indices and masks can't be rounded" says=["torch.int64: [3, 1099511627776], kept and brought back"]
def offload_saved(tensor):
    return tensor.half(), tensor.dtype


def bring_back(kept):
    return kept[0].to(kept[1])


# %% wrong="comes back in half" breaks="with the dtype" says=["has dtype torch.float16, expected torch.float32"]
def offload_saved(tensor):
    return tensor.half() if tensor.dtype == torch.float32 else tensor.detach()


def bring_back(kept):
    return kept


# %% wrong="everything comes back in float32" says=["has dtype torch.float32, expected torch.int64"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.half()
    return tensor.detach()


def bring_back(kept):
    return kept.float()


# %% wrong="copies of parameters" breaks="A float32 tensor that isn't a parameter" says=["a CNN, with a batch in torch.float32", "bytes are kept", "a parameter or what is kept exactly copied?"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32:
        return tensor.half(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept):
    return kept[0].to(kept[1])


# %% wrong="the tensor itself" breaks="What is kept exactly must not be the tensor itself" says=["a CNN, with a batch in torch.float64: the output is never set free"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.half(), tensor.dtype
    return tensor, tensor.dtype


def bring_back(kept):
    return kept[0].to(kept[1])


# %% wrong="float64 too" breaks="Everything else is kept exactly" says=["torch.float64: [0.3333333333333333], kept and brought back: it was rounded, and should be kept exactly"]
def offload_saved(tensor):
    if tensor.is_floating_point() and not isinstance(tensor, nn.Parameter):
        return tensor.half(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept):
    return kept[0].to(kept[1])


# %% wrong="bfloat16" breaks="(`torch.float16`)" says=["this is bfloat16's rounding, not float16's"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.bfloat16(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept):
    return kept[0].to(kept[1])


# %% wrong="keeps it as it is" breaks="is kept in half precision" says=["it comes back unrounded: was it kept in float16?"]
def offload_saved(tensor):
    return tensor.detach()


def bring_back(kept):
    return kept


# %% wrong="clones what is kept exactly" breaks="and needs no copy" says=["bytes are kept", "a parameter or what is kept exactly copied?"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.half(), tensor.dtype
    return tensor.detach().clone(), tensor.dtype


def bring_back(kept):
    return kept[0].to(kept[1])


# %% wrong="hides it in a function" breaks="or a tuple, list or dict of tensors and plain values such as a dtype" says=["keep tensors and plain values, not"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        tensor = tensor.half().float()
    tensor = tensor.detach()
    return lambda: tensor


def bring_back(kept):
    return kept()


# %% right="a dict, and what is half was float32"
def offload_saved(tensor):
    halved = tensor.dtype is torch.float32 and not isinstance(tensor, nn.Parameter)
    if halved:
        return {"half": tensor.detach().to(torch.float16)}
    return {"exact": tensor.data}


def bring_back(kept):
    return kept["half"].to(torch.float32) if "half" in kept else kept["exact"]


# %% right="its bits as int16; leaves are left alone"
def offload_saved(tensor):
    if tensor.dtype != torch.float32 or isinstance(tensor, nn.Parameter):
        return tensor.view_as(tensor).detach(), False
    return tensor.detach().half().view(torch.int16), True


def bring_back(kept):
    tensor, small = kept
    return tensor.view(torch.float16).float() if small else tensor


# %% right="dtype string"
def offload_saved(tensor):
    small = tensor.dtype == torch.float and not isinstance(tensor, torch.nn.Parameter)
    with torch.no_grad():
        return [
            tensor.to(torch.half) if small else tensor.view(tensor.shape).detach(),
            str(tensor.dtype),
        ]


def bring_back(kept):
    return kept[0].to(getattr(torch, kept[1].split(".")[1]))


# %% wrong="float16 was float32" says=["torch.float16", "has dtype torch.float32, expected torch.float16"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.half()
    return tensor.detach()


def bring_back(kept):
    return kept.float() if kept.dtype == torch.float16 else kept


# %% right="a view of a parameter is spared, too"
def offload_saved(tensor):
    base = tensor if tensor._base is None else tensor._base
    if tensor.dtype != torch.float32 or isinstance(base, nn.Parameter):
        return (tensor.detach(),)
    return tensor.half(), torch.float32


def bring_back(kept):
    return kept[0].to(kept[1]) if len(kept) == 2 else kept[0]


# %% wrong="a flat copy" breaks="shape and device that it had" says=["has shape (1,), expected ()"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.half().flatten(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept):
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="bfloat16 in half too" says=["torch.bfloat16"]
def offload_saved(tensor):
    if tensor.dtype in (torch.float32, torch.bfloat16) and not isinstance(tensor, nn.Parameter):
        return tensor.detach().half(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept):
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="a leaf that needs a gradient taken for a parameter" says=["and is no parameter, comes back as"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not (tensor.is_leaf and tensor.requires_grad):
        return tensor.detach().half(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept):
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="parameter: also only if it needs a gradient" says=["a parameter that is frozen comes back as"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not (
        isinstance(tensor, nn.Parameter) and tensor.requires_grad
    ):
        return tensor.detach().half(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept):
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="exact ones made contiguous" says=["a transposed tensor of torch.int64 was copied"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.detach().half(), tensor.dtype
    return tensor.detach().contiguous(), tensor.dtype


def bring_back(kept):
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="by way of lists: shape of an empty one lost" says=["comes back with shape (0,)"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return torch.tensor(
            tensor.tolist(), dtype=torch.float16, device=tensor.device
        ), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept):
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="popped, not twice" says=["the second time gave KeyError"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return {"t": tensor.detach().half(), "d": tensor.dtype}
    return {"t": tensor.detach(), "d": tensor.dtype}


def bring_back(kept):
    tensor, dtype = kept.pop("t"), kept.pop("d")
    return tensor.to(dtype)


# %% wrong="clamped at 65000" says=["the largest of float16 and NaN"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.detach().clamp(-65000, 65000).half(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept):
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="NaN lost" says=["the largest of float16 and NaN"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.detach().nan_to_num(0).half(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept):
    tensor, dtype = kept
    return tensor.to(dtype)


# %% right="a list is kept"
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return [tensor.detach().half(), tensor.dtype]
    return [tensor.detach(), tensor.dtype]


def bring_back(kept):
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="all of four bytes in half" breaks="Indices and masks can't be rounded" says=["a transposed tensor of torch.int32 was copied or converted"]
def offload_saved(tensor: torch.Tensor) -> torch.Tensor | tuple | list | dict:
    if tensor.dtype.itemsize == 4 and not isinstance(tensor, nn.Parameter):
        return tensor.half(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept: torch.Tensor | tuple | list | dict) -> torch.Tensor:
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="parameters as they are" breaks="What is kept exactly must not be the tensor itself" says=["a parameter: the tensor itself is kept"]
def offload_saved(tensor: torch.Tensor) -> torch.Tensor | tuple | list | dict:
    if isinstance(tensor, nn.Parameter):
        return tensor, tensor.dtype
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.half(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept: torch.Tensor | tuple | list | dict) -> torch.Tensor:
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="integers as they are" breaks="What is kept exactly must not be the tensor itself" says=["torch.int64: the tensor itself is kept"]
def offload_saved(tensor: torch.Tensor) -> torch.Tensor | tuple | list | dict:
    if not tensor.is_floating_point():
        return tensor, tensor.dtype
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.half(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept: torch.Tensor | tuple | list | dict) -> torch.Tensor:
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="masks as bytes" breaks="and needs no copy" says=["a transposed tensor of torch.bool was copied or converted"]
def offload_saved(tensor: torch.Tensor) -> torch.Tensor | tuple | list | dict:
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.half(), tensor.dtype
    return (tensor.to(torch.uint8) if tensor.dtype == torch.bool else tensor.detach()), tensor.dtype


def bring_back(kept: torch.Tensor | tuple | list | dict) -> torch.Tensor:
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="all views exactly" breaks="A float32 tensor that isn't a parameter" says=["a transposed view of a float32 tensor that is no parameter"]
def offload_saved(tensor: torch.Tensor) -> torch.Tensor | tuple | list | dict:
    if (
        tensor.dtype == torch.float32
        and not isinstance(tensor, nn.Parameter)
        and tensor._base is None
    ):
        return tensor.half(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept: torch.Tensor | tuple | list | dict) -> torch.Tensor:
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="int16 in half" breaks="Everything else is kept exactly" says=["a transposed tensor of torch.int16 was copied or converted"]
def offload_saved(tensor: torch.Tensor) -> torch.Tensor | tuple | list | dict:
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.half(), tensor.dtype
    return (tensor.detach() if tensor.dtype != torch.int16 else tensor.half()), tensor.dtype


def bring_back(kept: torch.Tensor | tuple | list | dict) -> torch.Tensor:
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="small numbers become zero" breaks="is kept in half precision" says=["expected it rounded to float16"]
def offload_saved(tensor: torch.Tensor) -> torch.Tensor | tuple | list | dict:
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return torch.where(tensor.abs() < 6e-5, 0, tensor).half(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept: torch.Tensor | tuple | list | dict) -> torch.Tensor:
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="complex numbers in single precision" breaks="Everything else is kept exactly" says=["torch.complex128: [(0.3333333333333333+2j)], kept and brought back"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.detach().half(), tensor.dtype
    if tensor.is_complex():
        return tensor.detach().to(torch.complex64), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept):
    return kept[0].to(kept[1])


# %% wrong="half of the whole storage" says=["a column (a view of a float32 matrix): 4 bytes are enough, 8 are kept"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        tensor = tensor.detach()
        whole = tensor.as_strided((tensor.untyped_storage().nbytes() // 4,), (1,), 0).half()
        return whole.as_strided(
            tensor.shape, tensor.stride(), tensor.storage_offset()
        ), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept):
    return kept[0].to(kept[1])


# %% wrong="keeps one for each address" says=["had other numbers the first time"] judge="differs"
seen = {}


def offload_saved(tensor):
    key = tensor.data_ptr(), tensor.shape
    if key in seen:
        return seen[key]
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        seen[key] = tensor.detach().half(), tensor.dtype
        return seen[key]
    seen[key] = tensor.detach(), tensor.dtype
    return seen[key]


def bring_back(kept):
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="clamps infinity" says=["of which float16 holds all but the last"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.detach().clamp(-65504, 65504).half(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept):
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="keeps exactly what half makes zero" says=["of which float16 holds all but the last"]
def offload_saved(tensor):
    if (
        tensor.dtype == torch.float32
        and (tensor.half() == 0).sum() == (tensor == 0).sum()
        and not isinstance(tensor, nn.Parameter)
    ):
        return tensor.detach().half(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept):
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="brought back into one buffer" breaks="gives the tensor again" says=["changes the result of the first time"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.half(), tensor.dtype
    return tensor.detach(), tensor.dtype


buffers = {}


def bring_back(kept):
    tensor, dtype = kept
    if tensor.dtype == dtype:
        return tensor
    key = (tensor.shape, tensor.device)
    if key not in buffers:
        buffers[key] = torch.empty_like(tensor, dtype=dtype)
    return buffers[key].copy_(tensor)


# %% wrong="autograd is on afterwards" says=["changes the caller's grad mode"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.half(), tensor.dtype
    return tensor.detach(), tensor.dtype


def bring_back(kept):
    torch.set_grad_enabled(False)
    tensor = kept[0].to(kept[1])
    torch.set_grad_enabled(True)
    return tensor


# %% wrong="kept in one buffer for each shape" breaks="gives the tensor again" says=["ones are kept, then twos, which lie where the ones lay"]
buffers = {}


def offload_saved(tensor):
    if tensor.dtype != torch.float32 or isinstance(tensor, nn.Parameter):
        return tensor.detach(), tensor.dtype
    if tensor.shape not in buffers:
        buffers[tensor.shape] = torch.empty_like(tensor.detach(), dtype=torch.float16)
    return buffers[tensor.shape].copy_(tensor.detach()), tensor.dtype


def bring_back(kept):
    return kept[0].to(kept[1])


# %% wrong="brought back once for each address" breaks="gives the tensor again" says=["an address or an id tells nothing about the numbers"] judge="differs"
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter):
        return tensor.half(), tensor.dtype
    return tensor.detach(), tensor.dtype


known = {}


def bring_back(kept):
    tensor, dtype = kept
    key = (tensor.data_ptr(), tensor.shape, dtype)
    if key not in known:
        known[key] = tensor.to(dtype)
    return known[key]


# %% wrong="one copy for each address" breaks="gives the tensor again" says=["Each is kept by itself: an address is used again"] judge="differs"
_seen = {}


def offload_saved(tensor):
    """A tensor that is saved twice shares one copy."""
    if tensor.dtype != torch.float32 or isinstance(tensor, nn.Parameter):
        return tensor.detach(), tensor.dtype
    key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor._version)
    if key not in _seen:
        _seen[key] = tensor.detach().half()
    return _seen[key], tensor.dtype


def bring_back(kept):
    tensor, dtype = kept
    return tensor.to(dtype)


# %% wrong="the exact type of a parameter" breaks="A float32 tensor that isn't a parameter" says=["a parameter of a subclass of nn.Parameter comes back as"]
def offload_saved(tensor):
    if tensor.dtype == torch.float32 and type(tensor) is not nn.Parameter:
        return {"tensor": tensor.detach().half(), "dtype": tensor.dtype}
    return {"tensor": tensor.detach(), "dtype": tensor.dtype}


def bring_back(kept):
    return kept["tensor"].to(kept["dtype"])


# %% wrong="the default dtype on the way back" breaks="with the dtype" says=["where the default dtype is float64, comes back in torch.float64"]
def offload_saved(tensor):
    small = tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter)
    return [tensor.detach().half() if small else tensor.detach(), small]


def bring_back(kept):
    tensor, small = kept
    return tensor.to(torch.get_default_dtype()) if small else tensor


# %% wrong="buffers exactly, too" breaks="is kept in half precision" says=["a buffer comes back as"]
def offload_saved(tensor):
    if tensor.dtype != torch.float32 or isinstance(tensor, (nn.Parameter, nn.Buffer)):
        return tensor.detach(), tensor.dtype
    return tensor.detach().half(), tensor.dtype


def bring_back(kept):
    return kept[0].to(kept[1])
