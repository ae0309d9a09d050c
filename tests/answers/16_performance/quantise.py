# %% [markdown]
# Rules:
#
# - "leaves `x` as it is"
# - "but at most 0"
# - "/ 255`, float32"
# - "where that is 0 in float32, the scale is 1"
# - "`zero = round(−128 − low / scale)`"
# - "int32"
# - "`q = round(x / scale) + zero`"
# - "limited to −128…127"
# - "int8"
# - "in the shape of `x`"
# - "`scale` and `zero` have shape `()`"
# - "each index along it has its own"
# - "(perhaps negative)"
# - "with size 1 in all other dimensions"
#
# Admits:
#
# - "(perhaps negative)": not contiguous
# - "where that is 0 in float32": too small for a scale
# - "a float32 tensor that isn't empty": a number
# - "dim: int | None = None": all negative

# %% wrong="0 is not in the range" breaks="but at most 0" says=["0 must lie in the range"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="256 steps" breaks="/ 255`, float32" says=["255 steps"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 256
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="symmetric" says=["that is symmetric"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = torch.maximum(high, -low) / 127
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="one scale for all" breaks="each index along it has its own" says=["one scale for the whole tensor"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.full_like(scale, float((x.max().clamp(min=0) - x.min().clamp(max=0)) / 255))
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="divides by zero" breaks="where that is 0 in float32, the scale is 1" says=["where all values are 0, the scale is 1"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="unsigned" says=["q begins at -128"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(0, 255).to(torch.int8)
    return q, scale, zero


# %% wrong="the sign of zero" breaks="`zero = round(−128 − low / scale)`" says=["the sign of low / scale is turned"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 + low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="cut off" says=["values are cut off"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.trunc(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="rounded down" says=["values are rounded down"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.floor(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="zero in float32" breaks="int32" says=["zero has dtype torch.float32"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="q in int32" breaks="int8" says=["q has dtype torch.int32"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int32)
    return q, scale, zero


# %% wrong="another dim" breaks="(perhaps negative)" says=["scale has shape"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim - 1, 0).reshape(x.shape[dim - 1], -1)
        shape = [1] * x.dim()
        shape[dim - 1] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="no kept dimensions" breaks="with size 1 in all other dimensions" says=["scale has shape"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape = [-1]
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="limits are symmetric" says=["steps away from x"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-100, 100).to(torch.int8)
    return q, scale, zero


# %% wrong="zero is never added" says=["q: zero is missing"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = torch.round(x / scale).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="nothing yet" says=["is there an answer yet"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    _ = q, scale, zero


# %% right="with lists of dimensions"
def quantise(x, dim=None):
    if x.dim() == 0 or dim is None:
        low, high = x.amin(), x.amax()
    else:
        others = [d for d in range(x.dim()) if d != dim % x.dim()]
        low = x.amin(others, keepdim=True) if others else x
        high = x.amax(others, keepdim=True) if others else x
    low, high = torch.clamp_max(low, 0.0), torch.clamp_min(high, 0.0)
    scale = (high - low).div(255.0)
    scale = scale.masked_fill(scale == 0, 1.0)
    zero = (-128 - low / scale).round().int()
    return (x.div(scale).round().int() + zero).clamp(-128, 127).to(torch.int8), scale, zero


# %% right="each slice by itself, stacked"
def quantise(x, dim=None):
    if dim is not None:
        parts = [quantise(part) for part in x.unbind(dim)]
        q = torch.stack([part[0] for part in parts], dim)
        shape = [1] * x.dim()
        shape[dim] = len(parts)
        return q, *(torch.stack([part[k] for part in parts]).view(shape) for k in (1, 2))
    low, high = min(x.min().item(), 0.0), max(x.max().item(), 0.0)
    scale = torch.tensor((high - low) / 255).item() or 1.0
    zero = round(-128 - low / scale)
    q = torch.clamp(torch.round(x / scale) + zero, -128, 127).to(torch.int8)
    device = x.device
    return (
        q,
        torch.tensor(scale, device=device),
        torch.tensor(zero, dtype=torch.int32, device=device),
    )


# %% wrong="not limited" breaks="limited to −128…127" says=["two halves", "wrapped around"]
def quantise(x, dim=None):
    others = None if dim is None else [d for d in range(x.dim()) if d != dim % x.dim()]
    if others is None:
        low, high = x.min(), x.max()
    elif others:
        low, high = x.amin(others, keepdim=True), x.amax(others, keepdim=True)
    else:
        low = high = x
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low / scale).to(torch.int32)
    q = torch.round(x / scale) + zero
    return q.to(torch.int8), scale, zero


# %% wrong="works in place" breaks="leaves `x` as it is" says=["x itself was changed"]
def quantise(x, dim=None):
    others = None if dim is None else [d for d in range(x.dim()) if d != dim % x.dim()]
    if others is None:
        low, high = x.min(), x.max()
    elif others:
        low, high = x.amin(others, keepdim=True), x.amax(others, keepdim=True)
    else:
        low = high = x.clone()
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low / scale).to(torch.int32)
    q = x.div_(scale).round_().add(zero).clamp(-128, 127)
    return q.to(torch.int8), scale, zero


# %% wrong="no other dimension means all" says=["one dimension, a scale for each: scale has shape"]
def quantise(x, dim=None):
    others = None if dim is None else [d for d in range(x.dim()) if d != dim % x.dim()]
    if others is None:
        low, high = x.min(), x.max()
    else:
        low, high = x.amin(others, keepdim=True), x.amax(others, keepdim=True)
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127)
    return q.to(torch.int8), scale, zero


# %% wrong="cut off after the shift" says=["values are cut off"]
def quantise(x, dim=None):
    others = None if dim is None else [d for d in range(x.dim()) if d != dim % x.dim()]
    if others is None:
        low, high = x.min(), x.max()
    elif others:
        low, high = x.amin(others, keepdim=True), x.amax(others, keepdim=True)
    else:
        low = high = x
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low / scale).to(torch.int32)
    q = (x / scale + zero).clamp(-128, 127)
    return q.to(torch.int8), scale, zero


# %% wrong="rounded once" breaks="`q = round(x / scale) + zero`" says=["round x / scale, and add zero"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = torch.round(x / scale - 128 - low.clamp(max=0) / scale).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="the first axis goes where dim is" says=["the last of three dimensions: scale"]
def quantise(x, dim=None):
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(0, dim).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low / scale).int()
    return (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8), scale, zero


# %% wrong="rows for a number" breaks="in the shape of `x`" says=["a number: q has shape"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``q`` (int8), ``scale`` (float32) and ``zero`` (int32), so that x ≈ (q - zero) * scale."""
    if x.dim() == 0:
        x = x[None]
    if dim is None:
        low, high = x.min(), x.max()
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="scale of shape (1,)" breaks="`scale` and `zero` have shape `()`" says=["scale has shape"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``q`` (int8), ``scale`` (float32) and ``zero`` (int32), so that x ≈ (q - zero) * scale."""
    if dim is None:
        low, high = x.min()[None], x.max()[None]
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.dim()
        shape[dim] = -1
        low, high = rows.amin(1).view(shape), rows.amax(1).view(shape)
    scale = (high.clamp(min=0) - low.clamp(max=0)) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low.clamp(max=0) / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="a small scale becomes 1" says=["small numbers: scale: only a scale of 0 becomes 1"]
def quantise(x, dim=None):
    dims = [d for d in range(x.dim()) if dim is None or d != dim % x.dim()]
    keep = dim is not None
    low = x.amin(dims, keepdim=keep) if dims or not keep else x
    high = x.amax(dims, keepdim=keep) if dims or not keep else x
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale < 1e-8, 1.0, scale)
    zero = (-128 - low / scale).round().to(torch.int32)
    q = ((x / scale).round() + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="as many values below 0 as above" says=["int8 begins at -128, not at -127"]
def quantise(x, dim=None):
    dims = [d for d in range(x.dim()) if dim is None or d != dim % x.dim()]
    keep = dim is not None
    low = x.amin(dims, keepdim=keep) if dims or not keep else x
    high = x.amax(dims, keepdim=keep) if dims or not keep else x
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = (-128 - low / scale).round().to(torch.int32)
    q = ((x / scale).round() + zero).clamp(-127, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="cuts zero off" says=["zero: round to the nearest whole number"]
def quantise(x, dim=None):
    dims = [d for d in range(x.dim()) if dim is None or d != dim % x.dim()]
    keep = dim is not None
    low = x.amin(dims, keepdim=keep) if dims or not keep else x
    high = x.amax(dims, keepdim=keep) if dims or not keep else x
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = (-128 - low / scale).trunc().to(torch.int32)
    q = ((x / scale).round() + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="a small number for 0" says=["a scale has no least value, be it 1e-08"]
def quantise(x, dim=None):
    if dim is None:
        low, high = x.min(), x.max()
    else:
        dims = [d for d in range(x.dim()) if d != dim % x.dim()]
        low, high = (x.amin(dims, keepdim=True), x.amax(dims, keepdim=True)) if dims else (x, x)
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = scale.clamp(min=1e-8)
    zero = torch.round(-128 - low / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="a small number added" says=["nothing is added to a scale, be it 1e-08"]
def quantise(x, dim=None):
    if dim is None:
        low, high = x.min(), x.max()
    else:
        dims = [d for d in range(x.dim()) if d != dim % x.dim()]
        low, high = (x.amin(dims, keepdim=True), x.amax(dims, keepdim=True)) if dims else (x, x)
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = scale + 1e-8
    zero = torch.round(-128 - low / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="rounded with zero" says=["a range of 255, with halves: q: round x / scale by itself"]
def quantise(x, dim=None):
    dims = list(range(x.ndim)) if dim is None else [d for d in range(x.ndim) if d != dim % x.ndim]
    low, high = (
        (x.amin(dims, keepdim=dim is not None), x.amax(dims, keepdim=dim is not None))
        if dims
        else (x.clone(), x.clone())
    )
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low / scale)
    q = torch.round(x / scale + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero.to(torch.int32)


# %% wrong="asks the range, not the scale" says=["too small for a scale: scale: where it is 0 in float32"]
def quantise(x, dim=None):
    dims = list(range(x.ndim)) if dim is None else [d for d in range(x.ndim) if d != dim % x.ndim]
    low, high = (
        (x.amin(dims, keepdim=dim is not None), x.amax(dims, keepdim=dim is not None))
        if dims
        else (x.clone(), x.clone())
    )
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = torch.where(high == low, 1.0, (high - low) / 255)
    zero = torch.round(-128 - low / scale)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero.to(torch.int32)


# %% wrong="a scale below 1e-12 becomes 1" says=["far smaller numbers: scale: only a scale of 0 becomes 1"]
def quantise(x, dim=None):
    dims = list(range(x.dim()))
    if dim is not None:
        dims.remove(dim % x.dim())
    if dim is None:
        low, high = x.min(), x.max()
    elif dims:
        low, high = x.amin(dims, keepdim=True), x.amax(dims, keepdim=True)
    else:
        low, high = x, x
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale < 1e-12, torch.ones_like(scale), scale)
    zero = torch.round(-128 - low / scale)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero.to(torch.int32)


# %% wrong="by the inverse of the scale" says=["hardly enough for one: q: divide by the scale"]
def quantise(x, dim=None):
    dims = list(range(x.dim()))
    if dim is not None:
        dims.remove(dim % x.dim())
    if dim is None:
        low, high = x.min(), x.max()
    elif dims:
        low, high = x.amin(dims, keepdim=True), x.amax(dims, keepdim=True)
    else:
        low, high = x, x
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    zero = torch.round(-128 - low / scale)
    q = (torch.round(x * (1 / scale)) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero.to(torch.int32)


# %% wrong="flattens by view without a dim" says=["quantise(x, dim) with tensors that have gaps in memory"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.view(-1).min(), x.view(-1).max()
    else:
        dim = dim % x.ndim
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.ndim
        shape[dim] = x.shape[dim]
        low, high = rows.amin(1).reshape(shape), rows.amax(1).reshape(shape)
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="a range along dim instead of for each index" says=["take the extremes over all other dimensions"]
def quantise(x, dim=None):
    if dim is None:
        low, high = x.min(), x.max()
    else:
        low, high = x.amin(dim, keepdim=True), x.amax(dim, keepdim=True)
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low / scale).to(torch.int32)
    return (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8), scale, zero


# %% wrong="a dim of size 1 is the whole" says=["a dimension of size 1"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if (
        dim is None
        or x.shape[dim] == 1
        and x.ndim == 1
        and False
        or (dim is not None and x.shape[dim] == 1)
    ):
        low, high = x.min(), x.max()
    else:
        dim = dim % x.ndim
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.ndim
        shape[dim] = x.shape[dim]
        low, high = rows.amin(1).reshape(shape), rows.amax(1).reshape(shape)
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="three dimensions at most" says=["four dimensions: scale has shape"]
def quantise(x, dim=None):
    if x.dim() > 3:
        dim = None if dim is None else dim % 3
    dims = [d for d in range(x.dim()) if dim is None or d != dim % x.dim()]
    if x.dim() and dims:
        low, high = x.amin(dims, keepdim=dim is not None), x.amax(dims, keepdim=dim is not None)
    else:
        low, high = x, x
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="dim -2 taken for the last" says=["the last but one: scale"]
def quantise(x, dim=None):
    dims = [
        d
        for d in range(x.dim())
        if dim is None or d != (dim % x.dim() if dim != -2 or x.dim() > 2 else 1)
    ]
    if x.dim() and dims:
        low, high = x.amin(dims, keepdim=dim is not None), x.amax(dims, keepdim=dim is not None)
    else:
        low, high = x, x
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="a range of one dimension, limited in place" says=["one dimension, a scale for each: x itself was changed"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        dims = [d for d in range(x.ndim) if d != dim % x.ndim]
        low = x.amin(dims, keepdim=True) if dims else x
        high = x.amax(dims, keepdim=True) if dims else x.clone()
    low, high = low.clamp_(max=0), high.clamp_(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low / scale).to(torch.int32)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="times 1 / scale, zero as well" says=["zero: divide by the scale; 1 / scale is infinite"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if dim is None:
        low, high = x.min(), x.max()
    else:
        dims = [d for d in range(x.ndim) if d != dim % x.ndim]
        low = x.amin(dims, keepdim=True) if dims else x
        high = x.amax(dims, keepdim=True) if dims else x
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    inverse = 1 / scale
    zero = torch.round(-128 - low * inverse).to(torch.int32)
    q = (torch.round(x * inverse) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero


# %% wrong="a scale is float32's epsilon at least" says=["zeros: scale: where it is 0, it becomes 1","a scale has no least value, be it 1.19209e-07"]
def quantise(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Affine int8 quantisation, per tensor or per channel (as the observers do it)."""
    eps = torch.finfo(torch.float32).eps
    if dim is None:
        low, high = torch.aminmax(x)
    else:
        rows = x.movedim(dim, 0).reshape(x.shape[dim], -1)
        shape = [1] * x.ndim
        shape[dim] = x.shape[dim]
        low, high = (value.reshape(shape) for value in torch.aminmax(rows, dim=1))
    low, high = torch.clamp(low, max=0.0), torch.clamp(high, min=0.0)
    scale = torch.clamp((high - low) / 255, min=eps)
    zero = torch.round(-128 - low / scale).to(torch.int32)
    q = torch.clamp(torch.round(x / scale) + zero, -128, 127).to(torch.int8)
    return q, scale, zero
