# %% [markdown]
# Rules:
#
# - "`bias` (out,) are equal on all ranks"
# - "on all ranks equal to"
# - "`gelu(x @ up.T) @ down.T + bias`"
# - "each of the four has the gradient"
# - "`x.grad` and `bias.grad` whole and equal on all ranks"
# - "`up.grad` and `down.grad` for this rank's slices"
# - "**one** collective in the forward pass"
# - "and **one** in the backward pass"
# - "each an all-reduce"
# - "It may be called again with the same tensors"
# - "also where no backward pass followed"
# - "when they hold other numbers by then"
# - "and under `torch.no_grad()`"
# - "a call leaves nothing behind on them"
#
# Admits:
#
# - "with one rank it is the formula itself": 1 rank: the formula
# - "It may be called again with the same tensors": a second call with the same tensors

# %% wrong="the bias on every rank" breaks="`bias` (out,) are equal on all ranks" says=["y holds the bias 2 times"]
def tensor_parallel(x, up, down, bias):
    class Enter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            grad = grad.clone()
            dist.all_reduce(grad)
            return grad

    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part):
            part = part.clone()
            dist.all_reduce(part)
            return part

        @staticmethod
        def backward(ctx, grad):
            return grad

    return Leave.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T + bias)


# %% wrong="nothing at the entry" breaks="`x.grad` and `bias.grad` whole and equal on all ranks" says=["x.grad holds only what this rank's hidden units contribute"]
def tensor_parallel(x, up, down, bias):
    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part):
            part = part.clone()
            dist.all_reduce(part)
            return part

        @staticmethod
        def backward(ctx, grad):
            return grad

    return Leave.apply(F.gelu(x @ up.T) @ down.T) + bias


# %% wrong="the differentiable all-reduce" says=["up.grad is 2 times what it should be", "summed again"]
def tensor_parallel(x, up, down, bias):
    from torch.distributed._functional_collectives import all_reduce

    return all_reduce(F.gelu(x @ up.T) @ down.T, "sum", dist.group.WORLD) + bias


# %% wrong="no sum at the exit" breaks="on all ranks equal to" says=["y holds this rank's part alone"]
def tensor_parallel(x, up, down, bias):
    return F.gelu(x @ up.T) @ down.T + bias


# %% wrong="gathers the hidden units" says=["collectives forward and", "expected 1 and 1"]
def tensor_parallel(x, up, down, bias):
    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part):
            part = part.clone()
            dist.all_reduce(part)
            dist.barrier()
            return part

        @staticmethod
        def backward(ctx, grad):
            return grad

    class Enter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            grad = grad.clone()
            dist.all_reduce(grad)
            return grad

    y = Sum.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T)
    again = Sum.apply(torch.zeros(1))
    return y + bias + 0 * again


# %% wrong="all-reduce on a detached part" says=["down.grad is None"]
def tensor_parallel(x, up, down, bias):
    part = (F.gelu(x @ up.T) @ down.T).detach()
    dist.all_reduce(part)
    return part + bias


# %% right="hooks and a difference"
def tensor_parallel(x, up, down, bias):
    entry = x * 1.0

    def add_up(grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad)
        return grad

    if entry.requires_grad:
        entry.register_hook(add_up)
    part = F.linear(F.gelu(F.linear(entry, up)), down)
    whole = part.detach().clone()
    dist.all_reduce(whole)
    return part + (whole - part.detach()) + bias


# %% right="the functional collectives in one Function"
class Conjugate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, forward):
        ctx.forward_too = forward
        return Conjugate.total(x) if forward else x.clone()

    @staticmethod
    def backward(ctx, grad):
        return (grad if ctx.forward_too else Conjugate.total(grad)), None

    @staticmethod
    def total(x):
        import torch.distributed._functional_collectives as functional

        return functional.wait_tensor(functional.all_reduce(x.detach(), "sum", dist.group.WORLD))


def tensor_parallel(x, up, down, bias):
    hidden = torch.einsum("bi,hi->bh", Conjugate.apply(x, False), up)
    return torch.addmm(bias, torch.ones(len(x), 0), torch.ones(0, len(bias))) + Conjugate.apply(
        torch.einsum("bh,oh->bo", F.gelu(hidden), down), True
    )


# %% wrong="each rank adds its share of the bias" says=["bias.grad is 1/2", "add the whole bias after the sum"]
class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        g = g.clone()
        dist.all_reduce(g)
        return g


class Exit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        part = part.clone()
        dist.all_reduce(part)
        return part

    @staticmethod
    def backward(ctx, g):
        return g


def tensor_parallel(x, up, down, bias):
    return Exit.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T + bias / dist.get_world_size())


# %% wrong="gathers the contributions and adds them up" breaks="each an all-reduce" says=["allgather was called", "all-reduces"]
def everyones(t):
    parts = [torch.empty_like(t) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, t.contiguous())
    return sum(parts)


class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return everyones(g)


class Exit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        return everyones(part)

    @staticmethod
    def backward(ctx, g):
        return g


def tensor_parallel(x, up, down, bias):
    return Exit.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T) + bias


# %% right="DTensor"
from torch.distributed.tensor import Replicate


def tensor_parallel(x, up, down, bias):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    dx = DTensor.from_local(x, mesh, [Replicate()], run_check=False)
    du = DTensor.from_local(up, mesh, [Shard(0)], run_check=False)
    dd = DTensor.from_local(down, mesh, [Shard(1)], run_check=False)
    y = F.gelu(dx @ du.T) @ dd.T
    return y.redistribute(mesh, [Replicate()]).to_local() + bias


# %% right="one Function with the whole backward by hand"
class MLP(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, up, down, bias):
        ctx.save_for_backward(x, up, down)
        y = F.linear(F.gelu(F.linear(x, up)), down)
        dist.all_reduce(y)
        return y + bias

    @staticmethod
    def backward(ctx, g):
        x, up, down = ctx.saved_tensors
        with torch.enable_grad():
            z = (x.detach() @ up.detach().T).requires_grad_()
            h = F.gelu(z)
        (gz,) = torch.autograd.grad(h, z, g @ down)
        gx = gz @ up
        dist.all_reduce(gx)
        return gx, gz.T @ x, torch.einsum("bo,bh->oh", g, h.detach()), g.sum(0)


tensor_parallel = MLP.apply


# %% right="all-reduce in place behind autograd's back"
def tensor_parallel(x, up, down, bias):
    class Entry(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            g = g.contiguous().clone()
            dist.all_reduce(g)
            return g

    y = F.gelu(Entry.apply(x) @ up.T) @ down.T
    dist.all_reduce(y.data)
    return y + bias


# %% wrong="a hook that stays on x" says=["a hook on x is still there", "a second call"]
def tensor_parallel(x, up, down, bias):
    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part):
            part = part.clone()
            dist.all_reduce(part)
            return part

        @staticmethod
        def backward(ctx, grad):
            return grad

    def add_up(grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad

    x.register_hook(add_up)
    return Leave.apply(F.gelu(x @ up.T) @ down.T) + bias


# %% wrong="a hook on x that removes itself after a backward pass" breaks="also where no backward pass followed" says=["hook on x"]
def tensor_parallel(x, up, down, bias):
    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part):
            part = part.clone()
            dist.all_reduce(part)
            return part

        @staticmethod
        def backward(ctx, grad):
            return grad

    def add_up(grad):
        handle.remove()
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad

    handle = x.register_hook(add_up)
    return Leave.apply(F.gelu(x @ up.T) @ down.T) + bias


# %% wrong="a barrier before the all-reduce" breaks="**one** collective in the forward pass" says=["2 collectives forward and 1 backward", "barrier was called"]
class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        whole = part.clone()
        dist.barrier()
        dist.all_reduce(whole)
        return whole

    @staticmethod
    def backward(ctx, grad):
        return grad


def tensor_parallel(x, up, down, bias):
    return Leave.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T) + bias


# %% wrong="an attribute on x" breaks="a call leaves nothing behind on them" says=["x has a new attribute after the call (ready)"]
class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        whole = part.clone()
        dist.all_reduce(whole)
        return whole

    @staticmethod
    def backward(ctx, grad):
        return grad


def tensor_parallel(x, up, down, bias):
    x.ready = True
    return Leave.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T) + bias


# %% wrong="one buffer for all calls" says=["after a first call one with twice as many rows fails"]
buffers = {}


class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        whole = buffers.setdefault("y", part.clone()).copy_(part)
        dist.all_reduce(whole)
        return whole

    @staticmethod
    def backward(ctx, grad):
        return grad


def tensor_parallel(x, up, down, bias):
    return Leave.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T) + bias


# %% wrong="a buffer for each shape" breaks="It may be called again with the same tensors" says=["the result of one call of tensor_parallel was changed by the next"]
buffers = {}


class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part, bias):
        whole = buffers.setdefault(part.shape, part.clone()).copy_(part)
        dist.all_reduce(whole)
        return whole.add_(bias)

    @staticmethod
    def backward(ctx, grad):
        return grad, grad.sum(0)


def tensor_parallel(x, up, down, bias):
    return Leave.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T, bias)


# %% wrong="the mean of the parts" says=["y holds the mean of the ranks' parts"]
class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        whole = part.clone()
        dist.all_reduce(whole)
        whole /= dist.get_world_size()
        return whole

    @staticmethod
    def backward(ctx, grad):
        return grad


def tensor_parallel(x, up, down, bias):
    return Leave.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T) + bias


# %% wrong="the mean in the exit's backward" says=["up.grad is 1/2 of what it should be", "goes back to each part as it is"]
class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        whole = part.clone()
        dist.all_reduce(whole)
        return whole

    @staticmethod
    def backward(ctx, grad):
        return grad / dist.get_world_size()


def tensor_parallel(x, up, down, bias):
    return Leave.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T) + bias


# %% wrong="gelu by tanh" breaks="`gelu(x @ up.T) @ down.T + bias`" says=["gelu's approximation by tanh"]
class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        whole = part.clone()
        dist.all_reduce(whole)
        return whole

    @staticmethod
    def backward(ctx, grad):
        return grad


def tensor_parallel(x, up, down, bias):
    return Leave.apply(F.gelu(Enter.apply(x) @ up.T, approximate="tanh") @ down.T) + bias


# %% wrong="gelu after the second matrix" says=["not after the second"]
def tensor_parallel(
    x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """gelu(x @ up.T) @ down.T + bias, where each rank holds some of the hidden units."""

    class Enter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            grad = grad.clone()
            dist.all_reduce(grad)
            return grad

    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part):
            whole = part.clone()
            dist.all_reduce(whole)
            return whole

        @staticmethod
        def backward(ctx, grad):
            return grad

    return Leave.apply(F.gelu((Enter.apply(x) @ up.T) @ down.T)) + bias


# %% wrong="relu in place of gelu" says=["y comes from relu"]
def tensor_parallel(
    x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """gelu(x @ up.T) @ down.T + bias, where each rank holds some of the hidden units."""

    class Enter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            grad = grad.clone()
            dist.all_reduce(grad)
            return grad

    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part):
            whole = part.clone()
            dist.all_reduce(whole)
            return whole

        @staticmethod
        def backward(ctx, grad):
            return grad

    return Leave.apply(F.relu(Enter.apply(x) @ up.T) @ down.T) + bias


# %% wrong="the entry averages" says=["added up, not averaged"]
def tensor_parallel(
    x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """gelu(x @ up.T) @ down.T + bias, where each rank holds some of the hidden units."""

    class Enter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            grad = grad.clone()
            dist.all_reduce(grad)
            return grad / dist.get_world_size()

    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part):
            whole = part.clone()
            dist.all_reduce(whole)
            return whole

        @staticmethod
        def backward(ctx, grad):
            return grad

    return Leave.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T) + bias


# %% wrong="the bias goes through the entry" breaks="and **one** in the backward pass" says=["the bias is whole on each rank"]
def tensor_parallel(
    x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """gelu(x @ up.T) @ down.T + Enter.apply(bias), where each rank holds some of the hidden units."""

    class Enter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            grad = grad.clone()
            dist.all_reduce(grad)
            return grad

    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part):
            whole = part.clone()
            dist.all_reduce(whole)
            return whole

        @staticmethod
        def backward(ctx, grad):
            return grad

    return Leave.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T) + Enter.apply(bias)


# %% wrong="the first matrix goes through the entry" breaks="`up.grad` and `down.grad` for this rank's slices" says=["up.grad is the sum of all ranks' slices"]
def tensor_parallel(
    x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """gelu(x @ Enter.apply(up).T) @ down.T + bias, where each rank holds some of the hidden units."""

    class Enter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            grad = grad.clone()
            dist.all_reduce(grad)
            return grad

    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part):
            whole = part.clone()
            dist.all_reduce(whole)
            return whole

        @staticmethod
        def backward(ctx, grad):
            return grad

    return Leave.apply(F.gelu(Enter.apply(x) @ Enter.apply(up).T) @ down.T) + bias


# %% wrong="the largest part in place of the sum" says=["y holds the largest of the ranks' parts"]
def tensor_parallel(
    x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """gelu(x @ up.T) @ down.T + bias, where each rank holds some of the hidden units."""

    class Enter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            grad = grad.clone()
            dist.all_reduce(grad)
            return grad

    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part):
            whole = part.clone()
            dist.all_reduce(whole, dist.ReduceOp.MAX)
            return whole

        @staticmethod
        def backward(ctx, grad):
            return grad

    return Leave.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T) + bias


# %% wrong="the parts travel in half precision" says=["rounded to half precision"]
def tensor_parallel(
    x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """gelu(x @ up.T) @ down.T + bias, where each rank holds some of the hidden units."""

    class Enter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            grad = grad.clone()
            dist.all_reduce(grad)
            return grad

    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part):
            whole = part.bfloat16()
            dist.all_reduce(whole)
            return whole.float()

        @staticmethod
        def backward(ctx, grad):
            return grad

    return Leave.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T) + bias


# %% wrong="bias detached" breaks="each of the four has the gradient" says=["bias.grad is None"]
def tensor_parallel(
    x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """gelu(x @ up.T) @ down.T + bias.detach(), where each rank holds some of the hidden units."""

    class Enter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            grad = grad.clone()
            dist.all_reduce(grad)
            return grad

    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part):
            whole = part.clone()
            dist.all_reduce(whole)
            return whole

        @staticmethod
        def backward(ctx, grad):
            return grad

    return Leave.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T) + bias.detach()


# %% wrong="each rank its own part" says=["y holds this rank's part alone"]
class Entry(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Exit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        part = part.clone()
        dist.all_reduce(part)
        return part

    @staticmethod
    def backward(ctx, grad):
        return grad


def tensor_parallel(x, up, down, bias):
    h = F.gelu(Entry.apply(x) @ up.T)
    return h @ down.T + bias


# %% wrong="the sum on rank 0 alone" says=["rank 0 has the right y, and rank 1 hasn't"]
class Entry(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Exit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        part = part.clone()
        dist.reduce(part, 0)
        return part

    @staticmethod
    def backward(ctx, grad):
        return grad


def tensor_parallel(x, up, down, bias):
    h = F.gelu(Entry.apply(x) @ up.T)
    return Exit.apply(h @ down.T) + bias


# %% wrong="the differentiable all-reduce alone" says=["x.grad holds only what this rank's hidden units contribute, 2 times"]
def tensor_parallel(x, up, down, bias):
    import torch.distributed.nn.functional as together

    part = F.gelu(x @ up.T) @ down.T
    return together.all_reduce(part) + bias


# %% wrong="the bias on rank 0 alone" says=["bias.grad is zero on a rank"]
class Entry(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Exit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        total = part.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, grad):
        return grad


def tensor_parallel(x, up, down, bias):
    hidden = F.gelu(Entry.apply(x) @ up.T)
    return Exit.apply(hidden @ down.T + bias * (dist.get_rank() == 0))


# %% wrong="no bias" says=["the bias is missing in y"]
class Entry(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Exit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        total = part.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, grad):
        return grad


def tensor_parallel(x, up, down, bias):
    hidden = F.gelu(Entry.apply(x) @ up.T)
    return Exit.apply(hidden @ down.T)


# %% wrong="hidden units of all ranks added up" says=["hidden units are added up, each to another one"]
class Entry(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad)
        return grad


class Exit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        total = part.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, grad):
        return grad


def tensor_parallel(
    x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    return F.gelu(Exit.apply(Entry.apply(x) @ up.T)) @ down.T + bias


# %% wrong="clears the .grad of x" breaks="a call leaves nothing behind on them" says=["x.grad is not added to what was there before"]
class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        part = part.clone()
        dist.all_reduce(part)
        return part

    @staticmethod
    def backward(ctx, grad):
        return grad


def tensor_parallel(x, up, down, bias):
    x.grad = None
    return Leave.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T) + bias


# %% wrong="the entry of the first call with this shape" says=["a later call, with other numbers in an x of the same shape"]
entries = {}


class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        whole = part.clone()
        dist.all_reduce(whole)
        return whole

    @staticmethod
    def backward(ctx, grad):
        return grad


def tensor_parallel(x, up, down, bias):
    if x.shape not in entries:
        entries[x.shape] = Enter.apply(x)
    return Leave.apply(F.gelu(entries[x.shape] @ up.T) @ down.T) + bias


# %% wrong="a hook where there is no graph" breaks="and under `torch.no_grad()`" says=["under torch.no_grad(), where no graph is made, tensor_parallel raised RuntimeError"]
class Exit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        total = part.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, grad):
        return grad


def summed(grad):
    grad = grad.clone()
    dist.all_reduce(grad)
    return grad


def tensor_parallel(x, up, down, bias):
    entry = x.view_as(x)  # a hook on this one doesn't stay on x
    entry.register_hook(summed)
    return Exit.apply(F.gelu(entry @ up.T) @ down.T) + bias


# %% wrong="a slice turned once for all evaluations" breaks="when they hold other numbers by then" says=["with other numbers in the same tensors"]
turned = {}


class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        whole = part.clone()
        dist.all_reduce(whole)
        return whole

    @staticmethod
    def backward(ctx, grad):
        return grad


def tensor_parallel(x, up, down, bias):
    if torch.is_grad_enabled():
        return Leave.apply(F.gelu(Enter.apply(x) @ up.T) @ down.T) + bias
    if down not in turned:
        turned[down] = down.T.contiguous()
    return Leave.apply(F.gelu(x @ up.T) @ turned[down]) + bias
