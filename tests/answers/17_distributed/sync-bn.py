# %% [markdown]
# Rules:
#
# - "over all samples and positions *of all ranks*"
# - "the biased variance"
# - "with `eps` added to the variance"
# - "`sync_bn(x, weight, bias, eps)`"
# - "then multiplies by `weight` and adds `bias`"
# - "or (batch, channel, …)"
# - "Ranks may hold differently many samples"
# - "at least one"
# - "The arguments stay as they are"
# - "The result can be differentiated"
# - "by `x` for the sum of all ranks' losses"
# - "also where `weight` and `bias` are frozen"
# - "by `weight` and `bias` for this rank's own output only"
# - "**One** collective call on tensors in forward"
# - "**one** in backward"
# - "An object collective makes two"
# - "All is float32 or float64"
# - "any strides"
# - "float32 with a mean of 1000 and a deviation of 1"
#
# Admits:
#
# - "or (batch, channel, …)": (2, 3, 2)
# - "at least one": # rank 1 has a single sample
# - "All is float32 or float64": dtype=torch.float32
# - "with a mean of 1000": mean=1000.0

# %% wrong="this rank's own statistics" breaks="over all samples and positions *of all ranks*" says=["normalised by this rank's own statistics"]
def sync_bn(x, weight, bias, eps=1e-5):
    return F.batch_norm(x, None, None, weight, bias, training=True, eps=eps)


# %% wrong="no gradient" breaks="The result can be differentiated" says=["can't be differentiated"]
def sync_bn(x, weight, bias, eps=1e-5):
    with torch.no_grad():
        return F.batch_norm(x, None, None, weight, bias, training=True, eps=eps)


# %% wrong="one pass" breaks="float32 with a mean of 1000 and a deviation of 1" says=["float32"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        n = torch.full_like(weight, x.numel() // x.shape[1])
        sums = torch.stack([n, x.sum(dims), (x * x).sum(dims)])
        dist.all_reduce(sums)
        n, mean = sums[0], sums[1] / sums[0]
        var = sums[2] / n - mean**2
        scale = (var + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, n)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, g):
        hat, weight, scale, n = ctx.saved_tensors
        dims, shape = [0, *range(2, g.dim())], [1, -1] + [1] * (g.dim() - 2)
        own = torch.stack([g.sum(dims), (g * hat).sum(dims)])
        both = own.clone()
        dist.all_reduce(both)
        a, b = (both / n).view(2, *shape)
        return weight.view(shape) * scale * (g - a - hat * b), own[1], own[0], None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="backward forgets the other ranks" breaks="by `x` for the sum of all ranks' losses" says=["the gradient by x", "go over all ranks"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank(), 0] = x.numel() // x.shape[1]
        table[dist.get_rank(), 1] = x.mean(dims)
        table[dist.get_rank(), 2] = x.var(dims, correction=0)
        dist.all_reduce(table)
        n = table[:, 0].sum(0)
        mean = (table[:, 0] * table[:, 1]).sum(0) / n
        var = (table[:, 0] * (table[:, 2] + (table[:, 1] - mean) ** 2)).sum(0) / n
        scale = (var + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, g):
        hat, weight, scale = ctx.saved_tensors
        dims, shape = [0, *range(2, g.dim())], [1, -1] + [1] * (g.dim() - 2)
        own = torch.stack([g.sum(dims), (g * hat).sum(dims)])
        n = g.numel() // g.shape[1]
        a, b = (own / n).view(2, *shape)
        return weight.view(shape) * scale * (g - a - hat * b), own[1], own[0], None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="three calls" breaks="**One** collective call on tensors in forward" says=["3 collective calls in forward"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        n = x.new_tensor(x.numel() // x.shape[1])
        mean = x.sum(dims)
        dist.all_reduce(n)
        dist.all_reduce(mean)
        mean = mean / n
        var = ((x - mean.view(shape)) ** 2).sum(dims)
        dist.all_reduce(var)
        scale = (var / n + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, n)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, g):
        hat, weight, scale, n = ctx.saved_tensors
        dims, shape = [0, *range(2, g.dim())], [1, -1] + [1] * (g.dim() - 2)
        own = torch.stack([g.sum(dims), (g * hat).sum(dims)])
        both = own.clone()
        dist.all_reduce(both)
        a, b = (both / n).view(2, *shape)
        return weight.view(shape) * scale * (g - a - hat * b), own[1], own[0], None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% right="a differentiable sum, the rest by autograd"
class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad)
        return grad


def sync_bn(x, weight, bias, eps=1e-5):
    dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
    count = x.numel() // x.shape[1]
    row = torch.stack(
        [torch.full_like(weight, count).detach(), x.mean(dims), x.var(dims, correction=0)]
    )
    pad = [torch.zeros_like(row)] * dist.get_world_size()
    pad[dist.get_rank()] = row
    table = Sum.apply(torch.stack(pad))
    share = table[:, 0] / table[:, 0].sum(0)
    mean = (share * table[:, 1]).sum(0)
    var = (share * (table[:, 2] + (table[:, 1] - mean).square())).sum(0)
    hat = (x - mean.view(shape)) / (var + eps).sqrt().view(shape)
    return hat * weight.view(shape) + bias.view(shape)


# %% right="one pass, but in double precision, and all_gather"
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        z = x.double().transpose(0, 1).reshape(x.shape[1], -1)
        mine = torch.stack([torch.full_like(z[:, 0], z.shape[1]), z.sum(1), (z**2).sum(1)])
        rows = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
        dist.all_gather(rows, mine)
        n, s, q = torch.stack(rows).sum(0)
        mean, var = s / n, q / n - (s / n) ** 2
        shape = (1, -1) + (1,) * (x.dim() - 2)
        inv = (1 / torch.sqrt(var + eps)).view(shape)
        hat = (x.double() - mean.view(shape)) * inv
        ctx.save_for_backward(hat, weight, inv, n)
        return (hat * weight.view(shape) + bias.view(shape)).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, inv, n = ctx.saved_tensors
        shape = (1, -1) + (1,) * (grad.dim() - 2)
        over = tuple(d for d in range(grad.dim()) if d != 1)
        g = grad.double()
        db, dw = g.sum(over), (g * hat).sum(over)
        sums = torch.cat([db, dw])
        dist.all_reduce(sums)
        mb, mw = (part.view(shape) for part in (sums / torch.cat([n, n])).chunk(2))
        dx = weight.view(shape) * inv * (g - mb - hat * mw)
        return dx.to(grad.dtype), dw.to(weight.dtype), db.to(weight.dtype), None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="averages the ranks' variances" says=["misses that their means differ"]
class SyncBN(torch.autograd.Function):
    pass


def sync_bn(x, weight, bias, eps=1e-5):
    import torch.distributed.nn.functional as dnf

    dims = [0, *range(2, x.dim())]
    shape = [1, -1] + [1] * (x.dim() - 2)
    mean, var = x.mean(dims), x.var(dims, correction=0)
    both = dnf.all_reduce(torch.stack([mean, var])) / dist.get_world_size()
    mean, var = both
    hat = (x - mean.view(shape)) / (var.view(shape) + eps).sqrt()
    return hat * weight.view(shape) + bias.view(shape)


# %% wrong="means are averaged without the counts" breaks="Ranks may hold differently many samples" says=["weights all ranks alike"]
class SyncBN(torch.autograd.Function):
    pass


def sync_bn(x, weight, bias, eps=1e-5):
    import torch.distributed.nn.functional as dnf

    rank, world = dist.get_rank(), dist.get_world_size()
    dims = [0, *range(2, x.dim())]
    shape = [1, -1] + [1] * (x.dim() - 2)
    mean, var = x.mean(dims), x.var(dims, correction=0)
    rows = [torch.zeros(2, x.shape[1], dtype=x.dtype, device=x.device) for _ in range(world)]
    rows[rank] = torch.stack([mean, var])
    table = dnf.all_reduce(torch.stack(rows))
    mu = table[:, 0].mean(0)
    var = (table[:, 1] + (table[:, 0] - mu) ** 2).mean(0)
    hat = (x - mu.view(shape)) / (var.view(shape) + eps).sqrt()
    return hat * weight.view(shape) + bias.view(shape)


# %% right="setup_context, channels last, all_gather in both passes"
def _gather_sum(mine):
    rows = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, mine.contiguous())
    return torch.stack(rows)


class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias, eps):
        n = x.shape[0]
        m = x.mean(0)
        M = ((x - m) ** 2).sum(0)
        rows = _gather_sum(torch.cat([x.new_tensor([float(n)]), m, M]))
        counts = rows[:, :1]
        means, Ms = rows[:, 1:].chunk(2, dim=1)
        N = counts.sum()
        mu = (counts * means).sum(0) / N
        sigma = ((Ms + counts * (means - mu) ** 2).sum(0) / N + eps).sqrt()
        hat = (x - mu) / sigma
        return hat * weight + bias, hat, sigma, N

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, weight, _, _ = inputs
        _, hat, sigma, N = output
        ctx.mark_non_differentiable(hat, sigma, N)
        ctx.save_for_backward(hat, sigma, N, weight)

    @staticmethod
    def backward(ctx, gy, *_):
        hat, sigma, N, weight = ctx.saved_tensors
        by_bias, by_weight = gy.sum(0), (gy * hat).sum(0)
        sums = _gather_sum(torch.stack([by_bias, by_weight])).sum(0)
        a, b = sums * weight / N
        gx = (gy * weight - a - hat * b) / sigma
        return gx, by_weight, by_bias, None


def sync_bn(x, weight, bias, eps=1e-5):
    c = x.shape[1]
    table = x.transpose(0, 1).reshape(c, -1).t()
    y = SyncBN.apply(table, weight, bias, eps)[0]
    back = y.t().reshape(c, x.shape[0], *x.shape[2:])
    return back.transpose(0, 1)


# %% wrong="eps is not looked at" breaks="`sync_bn(x, weight, bias, eps)`" says=["eps is an argument"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [dim for dim in range(x.dim()) if dim != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        count = torch.full_like(mean, x.numel() // x.shape[1])
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([count, mean, squares])
        dist.all_reduce(table)
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        merged = (counts * means).sum(0) / total
        variance = (squares + counts * (means - merged) ** 2).sum(0) / total
        scale = (variance + 1e-5).rsqrt().view(shape)
        hat = (x - merged.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims = [dim for dim in range(grad.dim()) if dim != 1]
        shape = [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        grad_x = weight.view(shape) * scale * (grad - first - hat * second)
        return grad_x, own[1], own[0], None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="view needs strides that fit" breaks="any strides" says=["view size is not compatible"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [dim for dim in range(x.dim()) if dim != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        x.view(x.shape[0], x.shape[1], -1)
        count = torch.full_like(mean, x.numel() // x.shape[1])
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([count, mean, squares])
        dist.all_reduce(table)
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        merged = (counts * means).sum(0) / total
        variance = (squares + counts * (means - merged) ** 2).sum(0) / total
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x - merged.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims = [dim for dim in range(grad.dim()) if dim != 1]
        shape = [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        grad_x = weight.view(shape) * scale * (grad - first - hat * second)
        return grad_x, own[1], own[0], None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="centres x in place" breaks="The arguments stay as they are" says=["x, weight or bias was changed"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [dim for dim in range(x.dim()) if dim != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        mean = x.mean(dims)
        squares = x.sub_(mean.view(shape)).square().sum(dims)
        count = torch.full_like(mean, x.numel() // x.shape[1])
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([count, mean, squares])
        dist.all_reduce(table)
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        merged = (counts * means).sum(0) / total
        variance = (squares + counts * (means - merged) ** 2).sum(0) / total
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x + (mean - merged).view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims = [dim for dim in range(grad.dim()) if dim != 1]
        shape = [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        grad_x = weight.view(shape) * scale * (grad - first - hat * second)
        return grad_x, own[1], own[0], None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="the unbiased variance of each rank" breaks="at least one" says=["has a single value for each channel", "take correction=0"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        mean, places = x.mean(dims), x.numel() // x.shape[1]
        squares = x.var(dims) * (places - 1)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(mean, places), mean, squares])
        dist.all_reduce(table)
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (squares + counts * (means - mean) ** 2).sum(0) / total
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims, shape = [0, *range(2, grad.dim())], [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        grad_x = weight.view(shape) * scale * (grad - first - hat * second)
        return grad_x, own[1], own[0], None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="divides by N - 1" breaks="the biased variance" says=["the biased variance divides by N"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        mean, places = x.mean(dims), x.numel() // x.shape[1]
        squares = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(mean, places), mean, squares])
        dist.all_reduce(table)
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (squares + counts * (means - mean) ** 2).sum(0) / (total - 1)
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims, shape = [0, *range(2, grad.dim())], [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        grad_x = weight.view(shape) * scale * (grad - first - hat * second)
        return grad_x, own[1], own[0], None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="eps beside the root" breaks="with `eps` added to the variance" says=["eps was added to the deviation"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        mean, places = x.mean(dims), x.numel() // x.shape[1]
        squares = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(mean, places), mean, squares])
        dist.all_reduce(table)
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (squares + counts * (means - mean) ** 2).sum(0) / total
        scale = (1 / (variance.sqrt() + eps)).view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims, shape = [0, *range(2, grad.dim())], [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        grad_x = weight.view(shape) * scale * (grad - first - hat * second)
        return grad_x, own[1], own[0], None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="gradients of weight and bias summed over the ranks" breaks="by `weight` and `bias` for this rank's own output only" says=["the gradient by weight is the sum over all ranks"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        mean, places = x.mean(dims), x.numel() // x.shape[1]
        squares = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(mean, places), mean, squares])
        dist.all_reduce(table)
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (squares + counts * (means - mean) ** 2).sum(0) / total
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims, shape = [0, *range(2, grad.dim())], [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        own = sums
        grad_x = weight.view(shape) * scale * (grad - first - hat * second)
        return grad_x, own[1], own[0], None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="computes in float32 whatever the dtype" breaks="All is float32 or float64" says=["rounded to float32"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        mean, places = x.mean(dims), x.numel() // x.shape[1]
        squares = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(mean, places), mean, squares])
        dist.all_reduce(table)
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (squares + counts * (means - mean) ** 2).sum(0) / total
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims, shape = [0, *range(2, grad.dim())], [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        grad_x = weight.view(shape) * scale * (grad - first - hat * second)
        return grad_x, own[1], own[0], None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x.float(), weight.float(), bias.float(), eps).to(x.dtype)


# %% wrong="backward's call depends on the weight" breaks="also where `weight` and `bias` are frozen" says=["the two sums are needed there as well"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [d for d in range(x.dim()) if d != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        m = x.mean(dims)
        M = (x - m.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(m, n), m, M])
        dist.all_reduce(table)
        ns, ms, Ms = table.unbind(1)
        N = ns.sum(0)
        mu = (ns * ms).sum(0) / N
        var = (Ms + ns * (ms - mu).square()).sum(0) / N
        sigma = (var + eps).sqrt()
        hat = (x - mu.view(shape)) / sigma.view(shape)
        ctx.save_for_backward(hat, sigma, weight, N)
        ctx.dims, ctx.shape = dims, shape
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, sigma, weight, N = ctx.saved_tensors
        shape = ctx.shape
        db, dw = grad.sum(ctx.dims), (grad * hat).sum(ctx.dims)
        both = torch.stack([db, dw])
        if weight.requires_grad:
            dist.all_reduce(both)
        sg, sgh = both * weight / N
        g = grad * weight.view(shape)
        dx = (g - sg.view(shape) - hat * sgh.view(shape)) / sigma.view(shape)
        return dx, dw, db, None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="room for two ranks" says=["samples [3, 1, 2]"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [d for d in range(x.dim()) if d != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        m = x.mean(dims)
        M = (x - m.view(shape)).square().sum(dims)
        table = x.new_zeros(2, 3, x.shape[1])
        table[dist.get_rank() % 2] = torch.stack([torch.full_like(m, n), m, M])
        dist.all_reduce(table)
        ns, ms, Ms = table.unbind(1)
        N = ns.sum(0)
        mu = (ns * ms).sum(0) / N
        var = (Ms + ns * (ms - mu).square()).sum(0) / N
        sigma = (var + eps).sqrt()
        hat = (x - mu.view(shape)) / sigma.view(shape)
        ctx.save_for_backward(hat, sigma, weight, N)
        ctx.dims, ctx.shape = dims, shape
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, sigma, weight, N = ctx.saved_tensors
        shape = ctx.shape
        db, dw = grad.sum(ctx.dims), (grad * hat).sum(ctx.dims)
        both = torch.stack([db, dw])
        dist.all_reduce(both)
        sg, sgh = both * weight / N
        g = grad * weight.view(shape)
        dx = (g - sg.view(shape) - hat * sgh.view(shape)) / sigma.view(shape)
        return dx, dw, db, None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="N counts samples, not positions" breaks="or (batch, channel, …)" says=["N counts samples alone"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [d for d in range(x.dim()) if d != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        n = len(x)
        m = x.mean(dims)
        M = (x - m.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(m, n), m, M])
        dist.all_reduce(table)
        ns, ms, Ms = table.unbind(1)
        N = ns.sum(0)
        mu = (ns * ms).sum(0) / N
        var = (Ms + ns * (ms - mu).square()).sum(0) / N
        sigma = (var + eps).sqrt()
        hat = (x - mu.view(shape)) / sigma.view(shape)
        ctx.save_for_backward(hat, sigma, weight, N)
        ctx.dims, ctx.shape = dims, shape
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, sigma, weight, N = ctx.saved_tensors
        shape = ctx.shape
        db, dw = grad.sum(ctx.dims), (grad * hat).sum(ctx.dims)
        both = torch.stack([db, dw])
        dist.all_reduce(both)
        sg, sgh = both * weight / N
        g = grad * weight.view(shape)
        dx = (g - sg.view(shape) - hat * sgh.view(shape)) / sigma.view(shape)
        return dx, dw, db, None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="the sums in backward forget the weight" says=["was not multiplied by weight"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [d for d in range(x.dim()) if d != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        m = x.mean(dims)
        M = (x - m.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(m, n), m, M])
        dist.all_reduce(table)
        ns, ms, Ms = table.unbind(1)
        N = ns.sum(0)
        mu = (ns * ms).sum(0) / N
        var = (Ms + ns * (ms - mu).square()).sum(0) / N
        sigma = (var + eps).sqrt()
        hat = (x - mu.view(shape)) / sigma.view(shape)
        ctx.save_for_backward(hat, sigma, weight, N)
        ctx.dims, ctx.shape = dims, shape
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, sigma, weight, N = ctx.saved_tensors
        shape = ctx.shape
        db, dw = grad.sum(ctx.dims), (grad * hat).sum(ctx.dims)
        both = torch.stack([db, dw])
        dist.all_reduce(both)
        sg, sgh = both / N
        g = grad * weight.view(shape)
        dx = (g - sg.view(shape) - hat * sgh.view(shape)) / sigma.view(shape)
        return dx, dw, db, None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="bias before weight" breaks="then multiplies by `weight` and adds `bias`" says=["multiply by weight first, then add bias"]
class SyncBN(torch.autograd.Function):
    """A place for your forward and backward, if you like; it may stay empty."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [dim for dim in range(x.dim()) if dim != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        count = torch.full_like(mean, x.numel() // x.shape[1])
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([count, mean, squares])
        dist.all_reduce(table)  # every rank adds its row to zeros
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (squares + counts * (means - mean) ** 2).sum(0) / total
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return (hat + bias.view(shape)) * weight.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims = [dim for dim in range(grad.dim()) if dim != 1]
        shape = [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        grad_x = weight.view(shape) * scale * (grad - first - hat * second)
        return grad_x, own[1], own[0], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    """Batch norm of ``x`` with the statistics of all ranks."""
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="local count in backward" says=["this rank's alone was taken"]
class SyncBN(torch.autograd.Function):
    """A place for your forward and backward, if you like; it may stay empty."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [dim for dim in range(x.dim()) if dim != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        count = torch.full_like(mean, x.numel() // x.shape[1])
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([count, mean, squares])
        dist.all_reduce(table)  # every rank adds its row to zeros
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (squares + counts * (means - mean) ** 2).sum(0) / total
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims = [dim for dim in range(grad.dim()) if dim != 1]
        shape = [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / (grad.numel() / grad.shape[1])).view(2, *shape)
        grad_x = weight.view(shape) * scale * (grad - first - hat * second)
        return grad_x, own[1], own[0], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    """Batch norm of ``x`` with the statistics of all ranks."""
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="every rank counted as this one, in backward" says=["this rank's was taken for every rank's"]
class SyncBN(torch.autograd.Function):
    """A place for your forward and backward, if you like; it may stay empty."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [dim for dim in range(x.dim()) if dim != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        count = torch.full_like(mean, x.numel() // x.shape[1])
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([count, mean, squares])
        dist.all_reduce(table)  # every rank adds its row to zeros
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (squares + counts * (means - mean) ** 2).sum(0) / total
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims = [dim for dim in range(grad.dim()) if dim != 1]
        shape = [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / (grad.numel() / grad.shape[1] * dist.get_world_size())).view(
            2, *shape
        )
        grad_x = weight.view(shape) * scale * (grad - first - hat * second)
        return grad_x, own[1], own[0], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    """Batch norm of ``x`` with the statistics of all ranks."""
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="gradient by x lacks the weight" says=["weight is missing in it"]
class SyncBN(torch.autograd.Function):
    """A place for your forward and backward, if you like; it may stay empty."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [dim for dim in range(x.dim()) if dim != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        count = torch.full_like(mean, x.numel() // x.shape[1])
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([count, mean, squares])
        dist.all_reduce(table)  # every rank adds its row to zeros
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (squares + counts * (means - mean) ** 2).sum(0) / total
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims = [dim for dim in range(grad.dim()) if dim != 1]
        shape = [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        grad_x = scale * (grad - first - hat * second)
        return grad_x, own[1], own[0], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    """Batch norm of ``x`` with the statistics of all ranks."""
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="gradient by x lacks the scale" says=["the factor 1 / σ is missing"]
class SyncBN(torch.autograd.Function):
    """A place for your forward and backward, if you like; it may stay empty."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [dim for dim in range(x.dim()) if dim != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        count = torch.full_like(mean, x.numel() // x.shape[1])
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([count, mean, squares])
        dist.all_reduce(table)  # every rank adds its row to zeros
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (squares + counts * (means - mean) ** 2).sum(0) / total
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims = [dim for dim in range(grad.dim()) if dim != 1]
        shape = [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        grad_x = weight.view(shape) * (grad - first - hat * second)
        return grad_x, own[1], own[0], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    """Batch norm of ``x`` with the statistics of all ranks."""
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="statistics as constants" says=["mean and variance were taken for constants"]
class SyncBN(torch.autograd.Function):
    """A place for your forward and backward, if you like; it may stay empty."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [dim for dim in range(x.dim()) if dim != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        count = torch.full_like(mean, x.numel() // x.shape[1])
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([count, mean, squares])
        dist.all_reduce(table)  # every rank adds its row to zeros
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (squares + counts * (means - mean) ** 2).sum(0) / total
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims = [dim for dim in range(grad.dim()) if dim != 1]
        shape = [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        grad_x = weight.view(shape) * scale * grad
        return grad_x, own[1], own[0], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    """Batch norm of ``x`` with the statistics of all ranks."""
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="the variance constant" says=["the variance was taken for a constant"]
class SyncBN(torch.autograd.Function):
    """A place for your forward and backward, if you like; it may stay empty."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [dim for dim in range(x.dim()) if dim != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        count = torch.full_like(mean, x.numel() // x.shape[1])
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([count, mean, squares])
        dist.all_reduce(table)  # every rank adds its row to zeros
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (squares + counts * (means - mean) ** 2).sum(0) / total
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims = [dim for dim in range(grad.dim()) if dim != 1]
        shape = [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        grad_x = weight.view(shape) * scale * (grad - first)
        return grad_x, own[1], own[0], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    """Batch norm of ``x`` with the statistics of all ranks."""
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="weight and bias gradients changed places" says=["have changed places"]
class SyncBN(torch.autograd.Function):
    """A place for your forward and backward, if you like; it may stay empty."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [dim for dim in range(x.dim()) if dim != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        count = torch.full_like(mean, x.numel() // x.shape[1])
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([count, mean, squares])
        dist.all_reduce(table)  # every rank adds its row to zeros
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (squares + counts * (means - mean) ** 2).sum(0) / total
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims = [dim for dim in range(grad.dim()) if dim != 1]
        shape = [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        grad_x = weight.view(shape) * scale * (grad - first - hat * second)
        return grad_x, own[0], own[1], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    """Batch norm of ``x`` with the statistics of all ranks."""
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="the weight's sign is lost" says=["the output differs"]
class SyncBN(torch.autograd.Function):
    """A place for your forward and backward, if you like; it may stay empty."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [dim for dim in range(x.dim()) if dim != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        count = torch.full_like(mean, x.numel() // x.shape[1])
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([count, mean, squares])
        dist.all_reduce(table)  # every rank adds its row to zeros
        counts, means, squares = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (squares + counts * (means - mean) ** 2).sum(0) / total
        scale = (variance + eps).rsqrt().view(shape)
        hat = (x - mean.view(shape)) * scale
        ctx.save_for_backward(hat, weight, scale, total)
        return hat * weight.abs().view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, scale, total = ctx.saved_tensors
        dims = [dim for dim in range(grad.dim()) if dim != 1]
        shape = [1, -1] + [1] * (grad.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        first, second = (sums / total).view(2, *shape)
        grad_x = weight.view(shape) * scale * (grad - first - hat * second)
        return grad_x, own[1], own[0], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    """Batch norm of ``x`` with the statistics of all ranks."""
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="two calls in backward" breaks="**one** in backward" says=["2 collective calls in backward"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        rank, n = dist.get_rank(), dist.get_world_size()
        dims = [0, *range(2, x.dim())]
        shape = [1, -1] + [1] * (x.dim() - 2)
        count = x.numel() // x.shape[1]
        own = x.mean(dims)
        dev = (x - own.view(shape)).square().sum(dims)
        table = torch.zeros(n, 3, x.shape[1], dtype=torch.float64, device=x.device)
        table[rank, 0], table[rank, 1], table[rank, 2] = count, own, dev
        dist.all_reduce(table)
        counts, means, devs = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        var = (devs + counts * (means - mean).square()).sum(0) / total
        scale = (var + eps).rsqrt().to(x.dtype)
        hat = (x - mean.to(x.dtype).view(shape)) * scale.view(shape)
        ctx.save_for_backward(hat, scale, weight)
        ctx.total, ctx.dims, ctx.shape = total[0].item(), dims, shape
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, scale, weight = ctx.saved_tensors
        dims, shape = ctx.dims, ctx.shape
        g_bias, g_weight = grad.sum(dims), (grad * hat).sum(dims)
        sums = torch.stack([g_bias * weight, g_weight * weight]).contiguous()
        for part in sums:
            dist.all_reduce(part)
        a, b = sums / ctx.total
        g = grad * weight.view(shape)
        g_x = scale.view(shape) * (g - a.view(shape) - hat * b.view(shape))
        return g_x, g_weight, g_bias, None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="the numbers travel as objects" breaks="An object collective makes two" says=["2 collective calls in forward"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        rank, n = dist.get_rank(), dist.get_world_size()
        dims = [0, *range(2, x.dim())]
        shape = [1, -1] + [1] * (x.dim() - 2)
        count = x.numel() // x.shape[1]
        own = x.mean(dims)
        dev = (x - own.view(shape)).square().sum(dims)
        table = torch.zeros(n, 3, x.shape[1], dtype=torch.float64, device=x.device)
        table[rank, 0], table[rank, 1], table[rank, 2] = count, own, dev
        rows = [None] * n
        dist.all_gather_object(rows, table[rank])
        table = torch.stack(rows)
        counts, means, devs = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        var = (devs + counts * (means - mean).square()).sum(0) / total
        scale = (var + eps).rsqrt().to(x.dtype)
        hat = (x - mean.to(x.dtype).view(shape)) * scale.view(shape)
        ctx.save_for_backward(hat, scale, weight)
        ctx.total, ctx.dims, ctx.shape = total[0].item(), dims, shape
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, scale, weight = ctx.saved_tensors
        dims, shape = ctx.dims, ctx.shape
        g_bias, g_weight = grad.sum(dims), (grad * hat).sum(dims)
        sums = torch.stack([g_bias * weight, g_weight * weight]).contiguous()
        dist.all_reduce(sums)
        a, b = sums / ctx.total
        g = grad * weight.view(shape)
        g_x = scale.view(shape) * (g - a.view(shape) - hat * b.view(shape))
        return g_x, g_weight, g_bias, None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="no gradient by x where the weight is frozen" says=["no gradient comes back for x where weight and bias don't require grad"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        rank, n = dist.get_rank(), dist.get_world_size()
        dims = [0, *range(2, x.dim())]
        shape = [1, -1] + [1] * (x.dim() - 2)
        count = x.numel() // x.shape[1]
        own = x.mean(dims)
        dev = (x - own.view(shape)).square().sum(dims)
        table = torch.zeros(n, 3, x.shape[1], dtype=torch.float64, device=x.device)
        table[rank, 0], table[rank, 1], table[rank, 2] = count, own, dev
        dist.all_reduce(table)
        counts, means, devs = table.unbind(1)
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        var = (devs + counts * (means - mean).square()).sum(0) / total
        scale = (var + eps).rsqrt().to(x.dtype)
        hat = (x - mean.to(x.dtype).view(shape)) * scale.view(shape)
        ctx.save_for_backward(hat, scale, weight)
        ctx.total, ctx.dims, ctx.shape = total[0].item(), dims, shape
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, scale, weight = ctx.saved_tensors
        dims, shape = ctx.dims, ctx.shape
        g_bias, g_weight = grad.sum(dims), (grad * hat).sum(dims)
        sums = torch.stack([g_bias * weight, g_weight * weight]).contiguous()
        dist.all_reduce(sums)
        a, b = sums / ctx.total
        g = grad * weight.view(shape)
        g_x = scale.view(shape) * (g - a.view(shape) - hat * b.view(shape))
        if not ctx.needs_input_grad[1]:
            return None, None, g_bias, None
        return g_x, g_weight, g_bias, None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="sums of squares, minus the merged mean's" says=["a difference of large numbers cancels"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        channels = x.shape[1]
        dims = [d for d in range(x.dim()) if d != 1]
        shape = [1, channels] + [1] * (x.dim() - 2)
        count = x.numel() // channels
        mean = x.mean(dims)
        M = x.square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 2 * channels + 1)
        table[dist.get_rank()] = torch.cat([mean, M, x.new_tensor([count])])
        dist.all_reduce(table)
        means, Ms, counts = table.split([channels, channels, 1], dim=1)
        N = counts.sum()
        mu = (counts * means).sum(0) / N
        var = Ms.sum(0) / N - mu.square()
        inv = (var + eps).rsqrt()
        hat = (x - mu.view(shape)) * inv.view(shape)
        ctx.save_for_backward(hat, weight, inv, N)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, inv, N = ctx.saved_tensors
        dims = [d for d in range(hat.dim()) if d != 1]
        shape = [1, hat.shape[1]] + [1] * (hat.dim() - 2)
        by_bias = grad.sum(dims)
        by_weight = (grad * hat).sum(dims)
        both = torch.stack([by_bias * weight, by_weight * weight])
        dist.all_reduce(both)
        a, b = both / N
        g = grad * weight.view(shape)
        by_x = inv.view(shape) * (g - a.view(shape) - hat * b.view(shape))
        return by_x, by_weight, by_bias, None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="the saved values are written over by the output" says=["the output is in x̂'s place"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        channels = x.shape[1]
        dims = [d for d in range(x.dim()) if d != 1]
        shape = [1, channels] + [1] * (x.dim() - 2)
        count = x.numel() // channels
        mean = x.mean(dims)
        M = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 2 * channels + 1)
        table[dist.get_rank()] = torch.cat([mean, M, x.new_tensor([count])])
        dist.all_reduce(table)
        means, Ms, counts = table.split([channels, channels, 1], dim=1)
        N = counts.sum()
        mu = (counts * means).sum(0) / N
        var = (Ms + counts * (means - mu).square()).sum(0) / N
        inv = (var + eps).rsqrt()
        hat = (x - mu.view(shape)) * inv.view(shape)
        ctx.save_for_backward(hat, weight, inv, N)
        return hat.mul_(weight.view(shape)).add_(bias.view(shape))

    @staticmethod
    def backward(ctx, grad):
        hat, weight, inv, N = ctx.saved_tensors
        dims = [d for d in range(hat.dim()) if d != 1]
        shape = [1, hat.shape[1]] + [1] * (hat.dim() - 2)
        by_bias = grad.sum(dims)
        by_weight = (grad * hat).sum(dims)
        both = torch.stack([by_bias * weight, by_weight * weight])
        dist.all_reduce(both)
        a, b = both / N
        g = grad * weight.view(shape)
        by_x = inv.view(shape) * (g - a.view(shape) - hat * b.view(shape))
        return by_x, by_weight, by_bias, None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="no bias" says=["bias is missing in it"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        channels = x.shape[1]
        dims = [d for d in range(x.dim()) if d != 1]
        shape = [1, channels] + [1] * (x.dim() - 2)
        count = x.numel() // channels
        mean = x.mean(dims)
        M = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 2 * channels + 1)
        table[dist.get_rank()] = torch.cat([mean, M, x.new_tensor([count])])
        dist.all_reduce(table)
        means, Ms, counts = table.split([channels, channels, 1], dim=1)
        N = counts.sum()
        mu = (counts * means).sum(0) / N
        var = (Ms + counts * (means - mu).square()).sum(0) / N
        inv = (var + eps).rsqrt()
        hat = (x - mu.view(shape)) * inv.view(shape)
        ctx.save_for_backward(hat, weight, inv, N)
        return hat * weight.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, inv, N = ctx.saved_tensors
        dims = [d for d in range(hat.dim()) if d != 1]
        shape = [1, hat.shape[1]] + [1] * (hat.dim() - 2)
        by_bias = grad.sum(dims)
        by_weight = (grad * hat).sum(dims)
        both = torch.stack([by_bias * weight, by_weight * weight])
        dist.all_reduce(both)
        a, b = both / N
        g = grad * weight.view(shape)
        by_x = inv.view(shape) * (g - a.view(shape) - hat * b.view(shape))
        return by_x, by_weight, by_bias, None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="kept on the class" says=["keep what backward needs in ctx"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [d for d in range(x.dim()) if d != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        rank, world = dist.get_rank(), dist.get_world_size()
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        own = torch.stack([torch.full_like(mean, x.numel() // x.shape[1]), mean, squares])
        table = own.new_zeros(world, *own.shape)
        table[rank] = own
        dist.all_reduce(table)
        n, m, M = table.unbind(1)
        N = n.sum(0)
        mu = (n * m).sum(0) / N
        var = (M + n * (m - mu) ** 2).sum(0) / N
        inv = 1 / (var + eps).sqrt()
        hat = (x - mu.view(shape)) * inv.view(shape)
        SyncBN.kept = hat, weight, inv, N
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, inv, N = SyncBN.kept
        dims = [d for d in range(hat.dim()) if d != 1]
        shape = [1, -1] + [1] * (hat.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        both = own.clone()
        dist.all_reduce(both)
        g, gx = both / N
        by_x = (inv * weight).view(shape) * (grad - g.view(shape) - hat * gx.view(shape))
        return by_x, own[1], own[0], None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="weight and bias detached where x is fixed" says=["where x needs no gradient, the gradient by weight is missing"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [d for d in range(x.dim()) if d != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        rank, world = dist.get_rank(), dist.get_world_size()
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        own = torch.stack([torch.full_like(mean, x.numel() // x.shape[1]), mean, squares])
        table = own.new_zeros(world, *own.shape)
        table[rank] = own
        dist.all_reduce(table)
        n, m, M = table.unbind(1)
        N = n.sum(0)
        mu = (n * m).sum(0) / N
        var = (M + n * (m - mu) ** 2).sum(0) / N
        inv = 1 / (var + eps).sqrt()
        hat = (x - mu.view(shape)) * inv.view(shape)
        ctx.save_for_backward(hat, weight, inv, N)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, inv, N = ctx.saved_tensors
        dims = [d for d in range(hat.dim()) if d != 1]
        shape = [1, -1] + [1] * (hat.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        both = own.clone()
        dist.all_reduce(both)
        g, gx = both / N
        by_x = (inv * weight).view(shape) * (grad - g.view(shape) - hat * gx.view(shape))
        return by_x, own[1], own[0], None


def sync_bn(x, weight, bias, eps=1e-5):
    if not x.requires_grad:
        weight, bias = weight.detach(), bias.detach()
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="every rank's count is this rank's" says=["N adds up the counts of all ranks"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [d for d in range(x.dim()) if d != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        rank, world = dist.get_rank(), dist.get_world_size()
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        own = torch.stack([torch.full_like(mean, x.numel() // x.shape[1]), mean, squares])
        table = own.new_zeros(world, *own.shape)
        table[rank] = own
        dist.all_reduce(table)
        n, m, M = table.unbind(1)
        N = n[rank] * world
        mu = (n * m).sum(0) / N
        var = (M + n * (m - mu) ** 2).sum(0) / N
        inv = 1 / (var + eps).sqrt()
        hat = (x - mu.view(shape)) * inv.view(shape)
        ctx.save_for_backward(hat, weight, inv, N)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, inv, N = ctx.saved_tensors
        dims = [d for d in range(hat.dim()) if d != 1]
        shape = [1, -1] + [1] * (hat.dim() - 2)
        own = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        both = own.clone()
        dist.all_reduce(both)
        g, gx = both / N
        by_x = (inv * weight).view(shape) * (grad - g.view(shape) - hat * gx.view(shape))
        return by_x, own[1], own[0], None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="another default of eps" says=["where eps is left out"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        mean = x.mean(dims)
        m2 = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(mean, n), mean, m2])
        dist.all_reduce(table)
        counts, means, m2s = table.unbind(1)
        total = counts[:, 0].sum()
        mu = (counts * means).sum(0) / total
        var = (m2s + counts * (means - mu).square()).sum(0) / total
        inv = 1 / (var + eps).sqrt()
        hat = (x - mu.view(shape)) * inv.view(shape)
        ctx.save_for_backward(hat, weight, inv)
        ctx.total, ctx.dims, ctx.shape = total, dims, shape
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, inv = ctx.saved_tensors
        own = torch.stack([grad.sum(ctx.dims), (grad * hat).sum(ctx.dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        sums = sums / ctx.total
        inner = grad - sums[0].view(ctx.shape) - hat * sums[1].view(ctx.shape)
        return inner * (weight * inv).view(ctx.shape), own[1], own[0], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-3
) -> torch.Tensor:
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="divides the output by weight" says=["a weight may be 0"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        mean = x.mean(dims)
        m2 = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(mean, n), mean, m2])
        dist.all_reduce(table)
        counts, means, m2s = table.unbind(1)
        total = counts[:, 0].sum()
        mu = (counts * means).sum(0) / total
        var = (m2s + counts * (means - mu).square()).sum(0) / total
        inv = 1 / (var + eps).sqrt()
        hat = (x - mu.view(shape)) * inv.view(shape)
        out = hat * weight.view(shape) + bias.view(shape)
        ctx.save_for_backward(out, weight, bias, inv)
        ctx.total, ctx.dims, ctx.shape = total, dims, shape
        return out

    @staticmethod
    def backward(ctx, grad):
        out, weight, bias, inv = ctx.saved_tensors
        hat = (out - bias.view(ctx.shape)) / weight.view(ctx.shape)
        own = torch.stack([grad.sum(ctx.dims), (grad * hat).sum(ctx.dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        sums = sums / ctx.total
        inner = grad - sums[0].view(ctx.shape) - hat * sums[1].view(ctx.shape)
        return inner * (weight * inv).view(ctx.shape), own[1], own[0], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="a limit below the variance" breaks="with `eps` added to the variance" says=["give it no other limit"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        mean = x.mean(dims)
        m2 = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(mean, n), mean, m2])
        dist.all_reduce(table)
        counts, means, m2s = table.unbind(1)
        total = counts[:, 0].sum()
        mu = (counts * means).sum(0) / total
        var = (m2s + counts * (means - mu).square()).sum(0) / total
        inv = 1 / var.clamp(min=1e-3).add(eps).sqrt()
        hat = (x - mu.view(shape)) * inv.view(shape)
        ctx.save_for_backward(hat, weight, inv)
        ctx.total, ctx.dims, ctx.shape = total, dims, shape
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, inv = ctx.saved_tensors
        own = torch.stack([grad.sum(ctx.dims), (grad * hat).sum(ctx.dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        sums = sums / ctx.total
        inner = grad - sums[0].view(ctx.shape) - hat * sums[1].view(ctx.shape)
        return inner * (weight * inv).view(ctx.shape), own[1], own[0], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="hides a NaN that comes in" breaks="by `x` for the sum of all ranks' losses" says=["a NaN in the gradient that comes in"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        mean = x.mean(dims)
        m2 = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(mean, n), mean, m2])
        dist.all_reduce(table)
        counts, means, m2s = table.unbind(1)
        total = counts[:, 0].sum()
        mu = (counts * means).sum(0) / total
        var = (m2s + counts * (means - mu).square()).sum(0) / total
        inv = 1 / (var + eps).sqrt()
        hat = (x - mu.view(shape)) * inv.view(shape)
        ctx.save_for_backward(hat, weight, inv)
        ctx.total, ctx.dims, ctx.shape = total, dims, shape
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, inv = ctx.saved_tensors
        own = torch.stack([grad.sum(ctx.dims), (grad * hat).sum(ctx.dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        sums = (sums / ctx.total).nan_to_num()
        inner = grad - sums[0].view(ctx.shape) - hat * sums[1].view(ctx.shape)
        return inner * (weight * inv).view(ctx.shape), own[1], own[0], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="bias frozen: nothing for weight" breaks="by `weight` and `bias` for this rank's own output only" says=["where weight alone needs a gradient"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        mean = x.mean(dims)
        m2 = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(mean, n), mean, m2])
        dist.all_reduce(table)
        counts, means, m2s = table.unbind(1)
        total = counts[:, 0].sum()
        mu = (counts * means).sum(0) / total
        var = (m2s + counts * (means - mu).square()).sum(0) / total
        inv = 1 / (var + eps).sqrt()
        hat = (x - mu.view(shape)) * inv.view(shape)
        ctx.save_for_backward(hat, weight, inv)
        ctx.total, ctx.dims, ctx.shape = total, dims, shape
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, inv = ctx.saved_tensors
        own = torch.stack([grad.sum(ctx.dims), (grad * hat).sum(ctx.dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        sums = sums / ctx.total
        inner = grad - sums[0].view(ctx.shape) - hat * sums[1].view(ctx.shape)
        return (
            inner * (weight * inv).view(ctx.shape),
            own[1] if ctx.needs_input_grad[2] else None,
            own[0],
            None,
        )


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="bias alone gets nothing" breaks="by `weight` and `bias` for this rank's own output only" says=["where bias alone needs a gradient"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        mean = x.mean(dims)
        m2 = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(mean, n), mean, m2])
        dist.all_reduce(table)
        counts, means, m2s = table.unbind(1)
        total = counts[:, 0].sum()
        mu = (counts * means).sum(0) / total
        var = (m2s + counts * (means - mu).square()).sum(0) / total
        inv = 1 / (var + eps).sqrt()
        hat = (x - mu.view(shape)) * inv.view(shape)
        ctx.save_for_backward(hat, weight, inv)
        ctx.total, ctx.dims, ctx.shape = total, dims, shape
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        if not ctx.needs_input_grad[0] and not ctx.needs_input_grad[1]:
            return None, None, None, None
        hat, weight, inv = ctx.saved_tensors
        own = torch.stack([grad.sum(ctx.dims), (grad * hat).sum(ctx.dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        sums = sums / ctx.total
        inner = grad - sums[0].view(ctx.shape) - hat * sums[1].view(ctx.shape)
        return inner * (weight * inv).view(ctx.shape), own[1], own[0], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="own statistics under no_grad" breaks="over all samples and positions *of all ranks*" says=["under torch.no_grad()"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        mean = x.mean(dims)
        m2 = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(mean, n), mean, m2])
        dist.all_reduce(table)
        counts, means, m2s = table.unbind(1)
        total = counts[:, 0].sum()
        mu = (counts * means).sum(0) / total
        var = (m2s + counts * (means - mu).square()).sum(0) / total
        inv = 1 / (var + eps).sqrt()
        hat = (x - mu.view(shape)) * inv.view(shape)
        ctx.save_for_backward(hat, weight, inv)
        ctx.total, ctx.dims, ctx.shape = total, dims, shape
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, inv = ctx.saved_tensors
        own = torch.stack([grad.sum(ctx.dims), (grad * hat).sum(ctx.dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        sums = sums / ctx.total
        inner = grad - sums[0].view(ctx.shape) - hat * sums[1].view(ctx.shape)
        return inner * (weight * inv).view(ctx.shape), own[1], own[0], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    if not torch.is_grad_enabled():
        return F.batch_norm(x, None, None, weight, bias, True, eps=eps)
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="own statistics where nothing requires grad" breaks="over all samples and positions *of all ranks*" says=["where no argument requires grad"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        mean = x.mean(dims)
        m2 = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(dist.get_world_size(), 3, x.shape[1])
        table[dist.get_rank()] = torch.stack([torch.full_like(mean, n), mean, m2])
        dist.all_reduce(table)
        counts, means, m2s = table.unbind(1)
        total = counts[:, 0].sum()
        mu = (counts * means).sum(0) / total
        var = (m2s + counts * (means - mu).square()).sum(0) / total
        inv = 1 / (var + eps).sqrt()
        hat = (x - mu.view(shape)) * inv.view(shape)
        ctx.save_for_backward(hat, weight, inv)
        ctx.total, ctx.dims, ctx.shape = total, dims, shape
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, inv = ctx.saved_tensors
        own = torch.stack([grad.sum(ctx.dims), (grad * hat).sum(ctx.dims)])
        sums = own.clone()
        dist.all_reduce(sums)
        sums = sums / ctx.total
        inner = grad - sums[0].view(ctx.shape) - hat * sums[1].view(ctx.shape)
        return inner * (weight * inv).view(ctx.shape), own[1], own[0], None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    if not (x.requires_grad or weight.requires_grad or bias.requires_grad):
        return F.batch_norm(x, None, None, weight, bias, True, eps=eps)
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="scales the incoming gradient in place" breaks="The arguments stay as they are" says=["backward changed the gradient that came in"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        world, rank = dist.get_world_size(), dist.get_rank()
        dims = [0, *range(2, x.dim())]
        shape = [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(world, 3, x.shape[1])
        table[rank] = torch.stack([torch.full_like(mean, n), mean, squares])
        dist.all_reduce(table)
        ns, ms, ss = table.unbind(1)
        whole = ns.sum(0)
        mu = (ns * ms).sum(0) / whole
        var = (ss + ns * (ms - mu) ** 2).sum(0) / whole
        inverse = (var + eps).rsqrt()
        hat = (x - mu.view(shape)) * inverse.view(shape)
        ctx.save_for_backward(hat, weight, inverse, whole)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        hat, weight, inverse, whole = ctx.saved_tensors
        dims = [0, *range(2, grad.dim())]
        shape = [1, -1] + [1] * (grad.dim() - 2)
        by_bias, by_weight = grad.sum(dims), (grad * hat).sum(dims)
        sums = torch.stack([by_bias, by_weight]) * weight
        dist.all_reduce(sums)
        first, second = (sums / whole).unsqueeze(1).unbind(0)
        by_x = grad.mul_(weight.view(shape)) - first.view(shape) - hat * second.view(shape)
        return by_x * inverse.view(shape), by_weight, by_bias, None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="backward works in what it saved" says=["leave what ctx holds as it is"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        world, rank = dist.get_world_size(), dist.get_rank()
        dims = [0, *range(2, x.dim())]
        shape = [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        mean = x.mean(dims)
        squares = (x - mean.view(shape)).square().sum(dims)
        table = x.new_zeros(world, 3, x.shape[1])
        table[rank] = torch.stack([torch.full_like(mean, n), mean, squares])
        dist.all_reduce(table)
        ns, ms, ss = table.unbind(1)
        whole = ns.sum(0)
        mu = (ns * ms).sum(0) / whole
        var = (ss + ns * (ms - mu) ** 2).sum(0) / whole
        inverse = (var + eps).rsqrt()
        ctx.hat = (x - mu.view(shape)) * inverse.view(shape)
        ctx.save_for_backward(weight, inverse, whole)
        return ctx.hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad):
        weight, inverse, whole = ctx.saved_tensors
        dims = [0, *range(2, grad.dim())]
        shape = [1, -1] + [1] * (grad.dim() - 2)
        by_bias, by_weight = grad.sum(dims), (grad * ctx.hat).sum(dims)
        sums = torch.stack([by_bias, by_weight]) * weight
        dist.all_reduce(sums)
        first, second = (sums / whole).unsqueeze(1).unbind(0)
        by_x = grad * weight.view(shape) - first.view(shape) - ctx.hat.mul_(second.view(shape))
        return by_x * inverse.view(shape), by_weight, by_bias, None


def sync_bn(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="what backward needs is on the class" says=["keep what backward needs in ctx"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [d for d in range(x.dim()) if d != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        mean = x.mean(dims)
        M = (x - mean.view(shape)).square().sum(dims)
        mine = torch.stack([torch.full_like(mean, float(n)), mean, M]).double()
        world = dist.get_world_size()
        table = torch.zeros((world, *mine.shape), dtype=mine.dtype, device=x.device)
        table[dist.get_rank()] = mine
        dist.all_reduce(table)
        ns, means, Ms = table.unbind(1)
        N = ns.sum(0)
        mu = (ns * means).sum(0) / N
        var = (Ms + ns * (means - mu).square()).sum(0) / N
        inv = (var + eps).rsqrt()
        hat = ((x.double() - mu.view(shape)) * inv.view(shape)).to(x.dtype)
        ctx.save_for_backward(hat, weight, inv.to(x.dtype), N)
        SyncBN.dims, SyncBN.shape = dims, shape
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, out):
        hat, weight, inv, N = ctx.saved_tensors
        dims, shape = SyncBN.dims, SyncBN.shape
        db, dw = out.sum(dims), (out * hat).sum(dims)
        sums = torch.stack([db * weight, dw * weight]).contiguous()
        dist.all_reduce(sums)
        g = out * weight.view(shape)
        mean = sums / N.to(sums.dtype)
        dx = inv.view(shape) * (g - mean[0].view(shape) - hat * mean[1].view(shape))
        return dx, dw, db, None


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)


# %% wrong="keeps the output by its tensor where nothing requires grad" says=["which had other numbers the first time"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [d for d in range(x.dim()) if d != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        mean = x.mean(dims)
        M = (x - mean.view(shape)).square().sum(dims)
        mine = torch.stack([torch.full_like(mean, float(n)), mean, M]).double()
        world = dist.get_world_size()
        table = torch.zeros((world, *mine.shape), dtype=mine.dtype, device=x.device)
        table[dist.get_rank()] = mine
        dist.all_reduce(table)
        ns, means, Ms = table.unbind(1)
        N = ns.sum(0)
        mu = (ns * means).sum(0) / N
        var = (Ms + ns * (means - mu).square()).sum(0) / N
        inv = (var + eps).rsqrt()
        hat = ((x.double() - mu.view(shape)) * inv.view(shape)).to(x.dtype)
        ctx.save_for_backward(hat, weight, inv.to(x.dtype), N)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, out):
        hat, weight, inv, N = ctx.saved_tensors
        dims = [d for d in range(out.dim()) if d != 1]
        shape = [1, -1] + [1] * (out.dim() - 2)
        db, dw = out.sum(dims), (out * hat).sum(dims)
        sums = torch.stack([db * weight, dw * weight]).contiguous()
        dist.all_reduce(sums)
        g = out * weight.view(shape)
        mean = sums / N.to(sums.dtype)
        dx = inv.view(shape) * (g - mean[0].view(shape) - hat * mean[1].view(shape))
        return dx, dw, db, None


outputs = {}


def sync_bn(x, weight, bias, eps=1e-5):
    if x.requires_grad or weight.requires_grad or bias.requires_grad:
        return SyncBN.apply(x, weight, bias, eps)
    if id(x) not in outputs:  # evaluation: the same batch gives the same output
        outputs[id(x)] = x, SyncBN.apply(x, weight, bias, eps)
    return outputs[id(x)][1]


# %% wrong="switches gradients on afterwards" says=["changes the caller's grad mode"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = [d for d in range(x.dim()) if d != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        n = x.numel() // x.shape[1]
        mean = x.mean(dims)
        M = (x - mean.view(shape)).square().sum(dims)
        mine = torch.stack([torch.full_like(mean, float(n)), mean, M]).double()
        world = dist.get_world_size()
        table = torch.zeros((world, *mine.shape), dtype=mine.dtype, device=x.device)
        table[dist.get_rank()] = mine
        dist.all_reduce(table)
        ns, means, Ms = table.unbind(1)
        N = ns.sum(0)
        mu = (ns * means).sum(0) / N
        var = (Ms + ns * (means - mu).square()).sum(0) / N
        inv = (var + eps).rsqrt()
        hat = ((x.double() - mu.view(shape)) * inv.view(shape)).to(x.dtype)
        ctx.save_for_backward(hat, weight, inv.to(x.dtype), N)
        return hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, out):
        hat, weight, inv, N = ctx.saved_tensors
        dims = [d for d in range(out.dim()) if d != 1]
        shape = [1, -1] + [1] * (out.dim() - 2)
        db, dw = out.sum(dims), (out * hat).sum(dims)
        sums = torch.stack([db * weight, dw * weight]).contiguous()
        dist.all_reduce(sums)
        g = out * weight.view(shape)
        mean = sums / N.to(sums.dtype)
        dx = inv.view(shape) * (g - mean[0].view(shape) - hat * mean[1].view(shape))
        return dx, dw, db, None


def sync_bn(x, weight, bias, eps=1e-5):
    output = SyncBN.apply(x, weight, bias, eps)
    torch.set_grad_enabled(True)  # backward comes next
    return output


# %% wrong="images alone" breaks="or (batch, channel, …)" says=["x may have no positions, (batch, channel), or several dimensions of them"]
class SyncBN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        dims = (0, *range(2, 4))
        shape = [1, -1, 1, 1]
        wide = x.double()
        n = x.numel() // x.shape[1]
        m = wide.mean(dims)
        M = (wide - m.view(shape)).square().sum(dims)
        world_size = dist.get_world_size()
        table = torch.zeros(world_size, 3, x.shape[1], dtype=torch.float64, device=x.device)
        table[dist.get_rank()] = torch.stack([torch.full_like(m, n), m, M])
        dist.all_reduce(table)
        ns, ms, Ms = table.unbind(1)
        N = ns.sum(0)
        mu = (ns * ms).sum(0) / N
        variance = (Ms + ns * (ms - mu).square()).sum(0) / N
        inverse = (variance + eps).rsqrt()
        hat = (wide - mu.view(shape)) * inverse.view(shape)
        ctx.save_for_backward(hat, inverse, weight, N)
        ctx.dims, ctx.shape, ctx.dtype = dims, shape, x.dtype
        return (hat * weight.view(shape) + bias.view(shape)).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        hat, inverse, weight, N = ctx.saved_tensors
        dims, shape = ctx.dims, ctx.shape
        grad = grad.double()
        grad_bias = grad.sum(dims)
        grad_weight = (grad * hat).sum(dims)
        sums = torch.stack([grad_bias, grad_weight]) * weight
        dist.all_reduce(sums)
        first, second = (sums / N).unbind(0)
        g = grad * weight.view(shape)
        grad_x = inverse.view(shape) * (g - first.view(shape) - hat * second.view(shape))
        return (
            grad_x.to(ctx.dtype),
            grad_weight.to(weight.dtype),
            grad_bias.to(weight.dtype),
            None,
        )


def sync_bn(x, weight, bias, eps=1e-5):
    return SyncBN.apply(x, weight, bias, eps)
