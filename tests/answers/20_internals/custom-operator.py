# %% [markdown]
# Rules:
#
# - "Register the sum that forgets as `internals::decayed_sum`"
# - "The result is new and contiguous"
# - "of the shape and dtype of `x`"
# - "The half types are computed in `float32` or better"
# - "rounded once"
# - "`x` may have any strides"
# - "sizes of 0"
# - "it is left as it is"
# - "What isn't finite reaches no earlier step"
# - "A tensor without a dimension raises a `ValueError`"
# - "a dtype that isn't floating a `TypeError`"
# - "a fake"
# - "slopes for `x`"
# - "(`decay` gets `None`)"
# - "differentiable twice"
# - "a rule for `vmap`"
# - "over any dimension of `x`"
# - "Over the only dimension of a vector that leaves no steps"
# - "`opcheck` must pass"
#
# Admits:
#
# - "`float16`": float16
# - "`bfloat16`": bfloat16
# - "or `float64`": float64
# - "any strides": an expanded column
# - "sizes of 0": no row
# - "a dtype that isn't floating": booleans
# - "over any dimension of `x`": vmap over the last of three

# %% wrong="a running sum without decay" says=["wrong values"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), 1.0, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="the rows run into each other" says=["each row begins anew"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy().reshape(1, -1), decay, out.reshape(1, -1))
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="writes into x" breaks="it is left as it is" says=["x was changed"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    x.detach().copy_(torch.from_numpy(out).reshape(x.shape)) if x.is_contiguous() else None
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="the strides of x" breaks="The result is new and contiguous" says=["the result is new and contiguous"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.empty_like(x).copy_(torch.from_numpy(out).reshape(x.shape))


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="contiguous input only" breaks="`x` may have any strides" says=["any strides will do"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = torch.as_strided(x.detach(), x.shape, torch.empty(x.shape).stride(), 0).to(
        torch.promote_types(x.dtype, torch.float32)
    )
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="float32 comes out" breaks="of the shape and dtype of `x`" says=["float64 in, float64 out"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).float()


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="float64 by float32" says=["float64 in, float64 out"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().float()
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="rounds at each step" breaks="rounded once" says=["rounded once, at the end"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.dim() == 0:
        raise ValueError("no steps")
    if not x.is_floating_point():
        raise TypeError("floating dtypes only")
    out = x.new_empty(x.shape)
    total = x.new_zeros(x.shape[:-1])
    for step in range(x.shape[-1]):
        total = x[..., step] + decay * total
        out[..., step] = total
    return out


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="no halves" breaks="The half types are computed in `float32` or better" says=["half types"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="a number is let in" breaks="A tensor without a dimension raises a `ValueError`" says=["raises a ValueError"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    x = x.reshape(1) if x.ndim == 0 else x
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="fails without rows" breaks="sizes of 0" says=["an empty result of the same shape"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(-1, x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="no fake" breaks="a fake" says=["a fake matrix"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="the fake keeps strides" breaks="`opcheck` must pass" says=["a fake transposed matrix", "test_faketensor"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty_like(x)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="the fake forgets the dtype" says=["a fake transposed matrix"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="no slopes" breaks="slopes for `x`" says=["no autograd formula was registered"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="slopes run forward" says=["backward runs the other way"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g, ctx.decay), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="slopes pass through" says=["each x reaches all later results"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return g * 1, None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="slopes grow" says=["backward decays like forward"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), 1 / ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="the decay in a global" says=["keeps its decay on its ctx"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    keep.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), keep.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="differentiable once" breaks="differentiable twice" says=["gradcheck"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    with torch.no_grad():
        return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="a slope for decay" breaks="(`decay` gets `None`)" says=["raised"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), g.sum(), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="no rule for vmap" breaks="a rule for `vmap`" says=["vmap"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


# %% wrong="the batch stays where it is" breaks="over any dimension of `x`" says=["move it to the front"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    return custom_operator(x, decay), in_dims[0]


# %% wrong="no operator" breaks="Register the sum that forgets as `internals::decayed_sum`" says=["register"]
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.dim() == 0:
        raise ValueError("no steps")
    if not x.is_floating_point():
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    out = np.empty(wide.shape, wide.numpy().dtype)
    total = np.zeros(wide.shape[:-1], out.dtype)
    for step in range(x.shape[-1]):
        total = wide.numpy()[..., step] + decay * total
        out[..., step] = total
    return torch.from_numpy(out).to(x.dtype)


# %% wrong="complex is let in" says=["complex numbers"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.dim() == 0:
        raise ValueError("needs a dimension of steps")
    if not (x.dtype.is_floating_point or x.is_complex()):
        raise TypeError("floating only")
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    total = torch.zeros(x.shape[:-1], dtype=wide, device=x.device)
    for t in range(x.shape[-1]):
        total = x[..., t].to(wide) + decay * total
        out[..., t] = total
    return out


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def setup(ctx, inputs, output):
    ctx.decay = inputs[1]


def slopes(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(slopes, setup_context=setup)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    return custom_operator(x.movedim(in_dims[0], 0), decay), 0


# %% right="by Numba"
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% right="by a matrix of powers, masked afterwards"
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if not x.is_floating_point():
        raise TypeError(str(x.dtype))
    if x.shape == ():
        raise ValueError("0-D")
    steps = x.shape[-1]
    power = torch.arange(steps)[:, None] - torch.arange(steps)
    parts = x.double()[..., None, :] * torch.tensor(decay, dtype=torch.float64) ** power.clamp(0)
    return torch.where(power >= 0, parts, 0).sum(-1).to(x.dtype).contiguous()


class Keep:
    def __init__(self, decay):
        self.decay = decay


custom_operator.register_fake(lambda x, decay: x.new_empty(tuple(x.shape)))
custom_operator.register_autograd(
    lambda ctx, g: (torch.flip(custom_operator(torch.flip(g, [-1]), ctx.keep.decay), [-1]), None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "keep", Keep(inputs[1])),
)


def for_each(info, dims, x, decay):
    if x.shape[:1] == x.shape:
        raise ValueError("an entry has no steps")
    return custom_operator(torch.moveaxis(x, dims[0], 0), decay), 0


torch.library.register_vmap("internals::decayed_sum", for_each)


# %% wrong="bool is let in" breaks="a dtype that isn't floating a `TypeError`" says=["booleans", "isn't floating raises a TypeError"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    """y[..., t] = x[..., t] + decay * y[..., t - 1], for x (..., steps), in a new tensor."""
    if x.dim() == 0:
        raise ValueError("decayed_sum needs a dimension of steps")
    if not x.is_floating_point() and x.dtype != torch.bool:
        raise TypeError(f"decayed_sum of {x.dtype}")
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    total, out = torch.zeros_like(wide[..., :1].sum(-1)), wide.new_empty(x.shape)
    for step in range(x.shape[-1]):
        out[..., step] = total = wide[..., step] + decay * total
    return out.to(x.dtype)


custom_operator.register_fake(lambda x, decay: x.new_empty(x.shape))


@custom_operator.register_vmap
def _(info, dims, x, decay):
    if x.dim() == 1:
        raise ValueError("no steps")
    return custom_operator(x.movedim(dims[0], 0), decay), 0


custom_operator.register_autograd(
    lambda ctx, g: (custom_operator(g.flip(-1), ctx.decay).flip(-1), None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "decay", inputs[1]),
)


# %% wrong="replaces what isn't finite" says=["one step, of NaN and infinities", "nothing is replaced"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    """y[..., t] = x[..., t] + decay * y[..., t - 1], for x (..., steps), in a new tensor."""
    if x.dim() == 0:
        raise ValueError("x has no dimension of steps")
    if not x.is_floating_point():
        raise TypeError(f"x is {x.dtype}, not floating")
    result = torch.empty(x.shape, dtype=x.dtype)
    total = torch.zeros(x.shape[:-1], dtype=torch.float64)
    for t in range(x.shape[-1]):
        total = torch.nan_to_num(x[..., t].double()) + decay * total
        result[..., t] = total
    return result


@custom_operator.register_fake
def _(x, decay):
    return x.new_empty(x.shape)


def setup(ctx, inputs, output):
    ctx.decay = inputs[1]


def back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(back, setup_context=setup)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    return custom_operator(x.movedim(in_dims[0], 0), decay), 0


# %% wrong="a decay of 1 at most" says=["a decay above 1", "any decay will do"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    """y[..., t] = x[..., t] + decay * y[..., t - 1], for x (..., steps), in a new tensor."""
    if x.dim() == 0:
        raise ValueError("x has no dimension of steps")
    if not x.is_floating_point():
        raise TypeError(f"x is {x.dtype}, not floating")
    decay = max(-1.0, min(1.0, decay))
    result = torch.empty(x.shape, dtype=x.dtype)
    total = torch.zeros(x.shape[:-1], dtype=torch.float64)
    for t in range(x.shape[-1]):
        total = x[..., t].double() + decay * total
        result[..., t] = total
    return result


@custom_operator.register_fake
def _(x, decay):
    return x.new_empty(x.shape)


def setup(ctx, inputs, output):
    ctx.decay = inputs[1]


def back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(back, setup_context=setup)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    return custom_operator(x.movedim(in_dims[0], 0), decay), 0


# %% wrong="slopes that need entries" says=["the gradient of no"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    """y[..., t] = x[..., t] + decay * y[..., t - 1], for x (..., steps), in a new tensor."""
    if x.dim() == 0:
        raise ValueError("x needs a dimension")
    if not x.is_floating_point():
        raise TypeError(f"{x.dtype} is not floating")
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    out = torch.empty(x.shape, dtype=x.dtype)
    total = torch.zeros(x.shape[:-1], dtype=wide.dtype)
    for t in range(x.shape[-1]):
        total = wide[..., t] + decay * total
        out[..., t] = total.to(x.dtype)
    return out


@custom_operator.register_fake
def _(x, decay):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def slopes(ctx, g):
    return custom_operator(g.contiguous().view(-1, g.shape[-1]).flip(-1), ctx.decay).flip(-1).view(
        g.shape
    ), None


custom_operator.register_autograd(slopes, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    return custom_operator(x.movedim(in_dims[0], 0), decay), 0


# %% wrong="slopes of half in half steps" says=["the gradient in bfloat16"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    """y[..., t] = x[..., t] + decay * y[..., t - 1], for x (..., steps), in a new tensor."""
    if x.dim() == 0:
        raise ValueError("x needs a dimension")
    if not x.is_floating_point():
        raise TypeError(f"{x.dtype} is not floating")
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    out = torch.empty(x.shape, dtype=x.dtype)
    total = torch.zeros(x.shape[:-1], dtype=wide.dtype)
    for t in range(x.shape[-1]):
        total = wide[..., t] + decay * total
        out[..., t] = total.to(x.dtype)
    return out


@custom_operator.register_fake
def _(x, decay):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def slopes(ctx, g):
    out, total = torch.empty_like(g), 0
    for t in reversed(range(g.shape[-1])):
        total = g[..., t] + ctx.decay * total
        out[..., t] = total
    return out, None


custom_operator.register_autograd(slopes, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    return custom_operator(x.movedim(in_dims[0], 0), decay), 0


# %% wrong="decay saved as a float32 tensor" says=["the gradient in float64, to all digits"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    """y[..., t] = x[..., t] + decay * y[..., t - 1], for x (..., steps), in a new tensor."""
    if x.dim() == 0:
        raise ValueError("x needs a dimension")
    if not x.is_floating_point():
        raise TypeError(f"{x.dtype} is not floating")
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    out = torch.empty(x.shape, dtype=x.dtype)
    total = torch.zeros(x.shape[:-1], dtype=wide.dtype)
    for t in range(x.shape[-1]):
        total = wide[..., t] + decay * total
        out[..., t] = total.to(x.dtype)
    return out


@custom_operator.register_fake
def _(x, decay):
    return x.new_empty(x.shape)


def keep(ctx, inputs, output):
    ctx.decay = float(torch.tensor(inputs[1]))


def slopes(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(slopes, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if x.ndim < 2:
        raise ValueError("no steps")
    return custom_operator(x.movedim(in_dims[0], 0), decay), 0


# %% wrong="a fake on the CPU" says=["the fake is on the device of x"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    """y[..., t] = x[..., t] + decay * y[..., t - 1], for x (..., steps), in a new tensor."""
    if x.dim() == 0:
        raise ValueError("x has no dimension")
    if not x.is_floating_point():
        raise TypeError(f"{x.dtype} is not floating")
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    out = torch.empty(x.shape, dtype=wide, device=x.device)
    total = torch.zeros(x.shape[:-1], dtype=wide, device=x.device)
    for t in range(x.shape[-1]):
        total = x[..., t].to(wide) + decay * total
        out[..., t] = total
    return out.to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype)


def _setup(ctx, inputs, output):
    ctx.decay = inputs[1]


def _slopes(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(_slopes, setup_context=_setup)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if in_dims[0] is None:
        return custom_operator(x, decay), None
    if x.ndim < 2:
        raise ValueError("no steps")
    return custom_operator(x.movedim(in_dims[0], 0), decay), 0


# %% wrong="a fake of three dimensions is turned like x" says=["a fake one in bfloat16, of three dimensions"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    """y[..., t] = x[..., t] + decay * y[..., t - 1], for x (..., steps), in a new tensor."""
    if x.dim() == 0:
        raise ValueError("x has no dimension")
    if not x.is_floating_point():
        raise TypeError(f"{x.dtype} is not floating")
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    out = torch.empty(x.shape, dtype=wide, device=x.device)
    total = torch.zeros(x.shape[:-1], dtype=wide, device=x.device)
    for t in range(x.shape[-1]):
        total = x[..., t].to(wide) + decay * total
        out[..., t] = total
    return out.to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return x.new_empty(x.shape) if x.dim() < 3 else torch.empty_like(x)


def _setup(ctx, inputs, output):
    ctx.decay = inputs[1]


def _slopes(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(_slopes, setup_context=_setup)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    if in_dims[0] is None:
        return custom_operator(x, decay), None
    if x.ndim < 2:
        raise ValueError("no steps")
    return custom_operator(x.movedim(in_dims[0], 0), decay), 0


# %% wrong="a vector's only dimension is scanned by vmap" breaks="Over the only dimension of a vector that leaves no steps" says=["vmap over a vector's only dimension", "the steps ran over the batch"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.ndim < 1:
        raise ValueError("no steps")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("floating dtypes only")
    wide = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    rows = wide.reshape(x.shape[:-1].numel(), x.shape[-1])
    out = np.empty(rows.shape, rows.numpy().dtype)
    scan_rows(rows.numpy(), decay, out)
    return torch.from_numpy(out).reshape(x.shape).to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def keep(ctx, inputs, output):
    ctx.decay = inputs[1]


def walk_back(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(walk_back, setup_context=keep)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    x = x.movedim(in_dims[0], 0)
    return custom_operator(x, decay), 0


# %% wrong="the rule for vmap detaches" says=["the rule for vmap detaches"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.dim() == 0:
        raise ValueError("needs a dimension of steps")
    if not x.is_floating_point():
        raise TypeError(f"floating dtypes only, not {x.dtype}")
    wide = x if x.dtype == torch.float64 else x.float()
    y = torch.empty(x.shape, dtype=wide.dtype, device=x.device)
    total = torch.zeros(x.shape[:-1], dtype=wide.dtype, device=x.device)
    for t in range(x.shape[-1]):
        total = wide[..., t] + decay * total
        y[..., t] = total
    return y.to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return x.new_empty(x.shape)


def setup_context(ctx, inputs, output):
    ctx.decay = inputs[1]


def slopes(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(slopes, setup_context=setup_context)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    x = x.movedim(in_dims[0], 0)
    if x.dim() == 1:
        raise ValueError("needs a dimension of steps")
    return torch.stack([custom_operator(r.detach(), decay) for r in x]), 0


# %% wrong="a clone where the decay is 0" says=["decay 0", "still new and contiguous"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.dim() == 0:
        raise ValueError("needs a dimension of steps")
    if not x.is_floating_point():
        raise TypeError(f"floating dtypes only, not {x.dtype}")
    wide = x if x.dtype == torch.float64 else x.float()
    if decay == 0.0:
        return x.clone()
    y = torch.empty(x.shape, dtype=wide.dtype, device=x.device)
    total = torch.zeros(x.shape[:-1], dtype=wide.dtype, device=x.device)
    for t in range(x.shape[-1]):
        total = wide[..., t] + decay * total
        y[..., t] = total
    return y.to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return x.new_empty(x.shape)


def setup_context(ctx, inputs, output):
    ctx.decay = inputs[1]


def slopes(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(slopes, setup_context=setup_context)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    x = x.movedim(in_dims[0], 0)
    if x.dim() == 1:
        raise ValueError("needs a dimension of steps")
    return custom_operator(x, decay), 0


# %% wrong="slopes by the size of the decay" says=["the gradient with a decay of -0.7"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.dim() == 0:
        raise ValueError("needs a dimension of steps")
    if not x.is_floating_point():
        raise TypeError(f"floating dtypes only, not {x.dtype}")
    wide = x if x.dtype == torch.float64 else x.float()
    y = torch.empty(x.shape, dtype=wide.dtype, device=x.device)
    total = torch.zeros(x.shape[:-1], dtype=wide.dtype, device=x.device)
    for t in range(x.shape[-1]):
        total = wide[..., t] + decay * total
        y[..., t] = total
    return y.to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return x.new_empty(x.shape)


def setup_context(ctx, inputs, output):
    ctx.decay = inputs[1]


def slopes(ctx, g):
    return custom_operator(g.flip(-1), abs(ctx.decay)).flip(-1), None


custom_operator.register_autograd(slopes, setup_context=setup_context)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    x = x.movedim(in_dims[0], 0)
    if x.dim() == 1:
        raise ValueError("needs a dimension of steps")
    return custom_operator(x, decay), 0


# %% wrong="another name" says=["it is registered as internals::decayed_sum"]
@torch.library.custom_op("internals::decaying_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.dim() == 0:
        raise ValueError("needs a dimension of steps")
    if not x.is_floating_point():
        raise TypeError(f"floating dtypes only, not {x.dtype}")
    wide = x if x.dtype == torch.float64 else x.float()
    y = torch.empty(x.shape, dtype=wide.dtype, device=x.device)
    total = torch.zeros(x.shape[:-1], dtype=wide.dtype, device=x.device)
    for t in range(x.shape[-1]):
        total = wide[..., t] + decay * total
        y[..., t] = total
    return y.to(x.dtype)


@custom_operator.register_fake
def _(x, decay):
    return x.new_empty(x.shape)


def setup_context(ctx, inputs, output):
    ctx.decay = inputs[1]


def slopes(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(slopes, setup_context=setup_context)


@custom_operator.register_vmap
def _(info, in_dims, x, decay):
    x = x.movedim(in_dims[0], 0)
    if x.dim() == 1:
        raise ValueError("needs a dimension of steps")
    return custom_operator(x, decay), 0


# %% wrong="by a matrix of powers" breaks="What isn't finite reaches no earlier step" says=["NaN and infinity among the steps", "reaches no earlier step"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if not x.is_floating_point():
        raise TypeError(str(x.dtype))
    if x.shape == ():
        raise ValueError("0-D")
    steps = x.shape[-1]
    power = torch.arange(steps)[:, None] - torch.arange(steps)
    matrix = torch.where(power >= 0, torch.tensor(decay, dtype=torch.float64) ** power.clamp(0), 0)
    return (x.double() @ matrix.t()).to(x.dtype).contiguous()


class Keep:
    def __init__(self, decay):
        self.decay = decay


custom_operator.register_fake(lambda x, decay: x.new_empty(tuple(x.shape)))
custom_operator.register_autograd(
    lambda ctx, g: (torch.flip(custom_operator(torch.flip(g, [-1]), ctx.keep.decay), [-1]), None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "keep", Keep(inputs[1])),
)


def for_each(info, dims, x, decay):
    if x.shape[:1] == x.shape:
        raise ValueError("an entry has no steps")
    return custom_operator(torch.moveaxis(x, dims[0], 0), decay), 0


torch.library.register_vmap("internals::decayed_sum", for_each)


# %% wrong="a running sum of x divided by powers" says=["two thousand steps", "carry the total along"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if not x.is_floating_point():
        raise TypeError(str(x.dtype))
    if x.shape == ():
        raise ValueError("0-D")
    steps = x.shape[-1]
    if decay == 0:
        return x.clone(memory_format=torch.contiguous_format)
    powers = torch.tensor(decay, dtype=torch.float64) ** torch.arange(steps)
    return ((x.double() / powers).cumsum(-1) * powers).to(x.dtype).contiguous()


class Keep:
    def __init__(self, decay):
        self.decay = decay


custom_operator.register_fake(lambda x, decay: x.new_empty(tuple(x.shape)))
custom_operator.register_autograd(
    lambda ctx, g: (torch.flip(custom_operator(torch.flip(g, [-1]), ctx.keep.decay), [-1]), None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "keep", Keep(inputs[1])),
)


def for_each(info, dims, x, decay):
    if x.shape[:1] == x.shape:
        raise ValueError("an entry has no steps")
    return custom_operator(torch.moveaxis(x, dims[0], 0), decay), 0


torch.library.register_vmap("internals::decayed_sum", for_each)


# %% wrong="slopes by a matrix of powers" says=["the gradient where a NaN arrives", "reaches no later x"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if not x.is_floating_point():
        raise TypeError(str(x.dtype))
    if x.shape == ():
        raise ValueError("0-D")
    total, out = 0, torch.empty(x.shape, dtype=torch.float64)
    for step in range(x.shape[-1]):
        out[..., step] = total = x[..., step].double() + decay * total
    return out.to(x.dtype, copy=True)


class Keep:
    def __init__(self, decay):
        self.decay = decay


custom_operator.register_fake(lambda x, decay: x.new_empty(tuple(x.shape)))


def slopes(ctx, g):
    power = torch.arange(g.shape[-1]) - torch.arange(g.shape[-1])[:, None]
    matrix = torch.tensor(ctx.keep.decay, dtype=torch.float64) ** power.clamp(0) * (power >= 0)
    return (g.double() @ matrix.t()).to(g.dtype), None


custom_operator.register_autograd(
    slopes,
    setup_context=lambda ctx, inputs, output: setattr(ctx, "keep", Keep(inputs[1])),
)


def for_each(info, dims, x, decay):
    if x.shape[:1] == x.shape:
        raise ValueError("an entry has no steps")
    return custom_operator(torch.moveaxis(x, dims[0], 0), decay), 0


torch.library.register_vmap("internals::decayed_sum", for_each)


# %% wrong="a single step is returned as a clone, which keeps the strides of x" breaks="The result is new and contiguous" says=["one step, the rows transposed", "clone() keeps them"]
@torch.library.custom_op("internals::decayed_sum", mutates_args=())
def custom_operator(x: torch.Tensor, decay: float) -> torch.Tensor:
    if x.dim() == 0:
        raise ValueError("a tensor without a dimension has no steps")
    if not x.is_floating_point():
        raise TypeError(f"{x.dtype} isn't a floating dtype")
    if x.shape[-1] <= 1:
        return x.clone()
    wide = x if x.dtype == torch.float64 else x.float()
    steps = [wide[..., 0]]
    for step in wide.unbind(-1)[1:]:
        steps.append(step + decay * steps[-1])
    return torch.stack(steps, -1).to(x.dtype)


custom_operator.register_fake(lambda x, decay: x.new_empty(x.shape))


def setup_context(ctx, inputs, output):
    _, ctx.decay = inputs


def backward_rule(ctx, g):
    return custom_operator(g.flip(-1), ctx.decay).flip(-1), None


custom_operator.register_autograd(backward_rule, setup_context=setup_context)


def vmap_rule(info, in_dims, x, decay):
    if x.dim() == 1:
        raise ValueError("no steps are left")
    return custom_operator(x.movedim(in_dims[0], 0), decay), 0


custom_operator.register_vmap(vmap_rule)
