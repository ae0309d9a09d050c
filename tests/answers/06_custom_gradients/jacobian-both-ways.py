# %% [markdown]
# Rules:
#
# - "at `x`, of shape (m, n)"
# - "by reverse mode"
# - "the same by forward mode"
# - "a row a pass"
# - "by the cheaper of the two"
# - "by rows if m < n, by columns if n < m"
# - "For m = n either will do"
# - "`torch.func.jacrev`, `jacfwd`"
# - "`torch.autograd.functional.jacobian` are not allowed"
# - "You may call `f` once more to learn m"
# - "Results are detached"
# - "also where `x` requires grad"
# - "Leave `x` as it is: its `requires_grad` and its `.grad`"
# - "also where `f` raises"
# - "and returns one with m"
# - "`f` takes a 1-D tensor with n entries"
#
# Admits:
#
# - "and returns one with m": "one number": torch.tensor
# - "For m = n either will do": jacobian_both_ways of square
# - "a 1-D tensor with n entries": "partly constant": torch.tensor([3.0])
# - "takes a 1-D tensor": dtype=torch.float64

# %% wrong="columns stacked as rows" breaks="at `x`, of shape (m, n)" says=["rows and columns are swapped"]
def by_rows(f, x):
    x = x.detach().clone().requires_grad_()
    y = f(x)
    rows = [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(len(y))]
    return torch.stack(rows)


def by_columns(f, x):
    eye = torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([torch.func.jvp(f, (x.detach(),), (v,))[1] for v in eye])


def jacobian_both_ways(f, x):
    return by_columns(f, x) if len(x) <= len(f(x)) else by_rows(f, x)


# %% wrong="the finished ones" breaks="`torch.func.jacrev`, `jacfwd`" says=["jacrev runs here", "jacfwd runs here"]
def by_rows(f, x):
    return torch.func.jacrev(f)(x)


def by_columns(f, x):
    return torch.func.jacfwd(f)(x)


def jacobian_both_ways(f, x):
    return by_columns(f, x) if len(x) <= len(f(x)) else by_rows(f, x)


# %% wrong="the finished one of autograd" breaks="`torch.autograd.functional.jacobian` are not allowed" says=["jacobian runs here"]
def by_rows(f, x):
    return torch.autograd.functional.jacobian(f, x)


def by_columns(f, x):
    eye = torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([torch.func.jvp(f, (x.detach(),), (v,))[1] for v in eye]).t()


def jacobian_both_ways(f, x):
    return by_columns(f, x) if len(x) <= len(f(x)) else by_rows(f, x)


# %% wrong="columns by reverse mode" breaks="the same by forward mode" says=["by_columns never makes a dual tensor"]
def by_rows(f, x):
    x = x.detach().clone().requires_grad_()
    y = f(x)
    rows = [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(len(y))]
    return torch.stack(rows)


def by_columns(f, x):
    return by_rows(f, x)


def jacobian_both_ways(f, x):
    return by_columns(f, x) if len(x) <= len(f(x)) else by_rows(f, x)


# %% wrong="rows by forward mode" breaks="by reverse mode" says=["by_rows uses forward mode"]
def by_rows(f, x):
    return by_columns(f, x)


def by_columns(f, x):
    eye = torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([torch.func.jvp(f, (x.detach(),), (v,))[1] for v in eye]).t()


def jacobian_both_ways(f, x):
    return by_columns(f, x) if len(x) <= len(f(x)) else by_rows(f, x)


# %% wrong="differences" says=["by_rows makes no backward pass"]
def by_rows(f, x):
    eye = 1e-4 * torch.eye(len(x), dtype=x.dtype, device=x.device)
    x64 = x.double()
    columns = [(f(x64 + h) - f(x64 - h)) / 2e-4 for h in eye.double()]
    return torch.stack(columns, dim=1).to(x.dtype)


def by_columns(f, x):
    eye = torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([torch.func.jvp(f, (x.detach(),), (v,))[1] for v in eye]).t()


def jacobian_both_ways(f, x):
    return by_columns(f, x) if len(x) <= len(f(x)) else by_rows(f, x)


# %% wrong="the graph is gone after the first row" says=["retain_graph=True keeps it for the next"]
def by_rows(f, x):
    x = x.detach().clone().requires_grad_()
    y = f(x)
    rows = [torch.autograd.grad(y[i], x)[0] for i in range(len(y))]
    return torch.stack(rows)


def by_columns(f, x):
    eye = torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([torch.func.jvp(f, (x.detach(),), (v,))[1] for v in eye]).t()


def jacobian_both_ways(f, x):
    return by_columns(f, x) if len(x) <= len(f(x)) else by_rows(f, x)


# %% wrong="always by rows" breaks="by the cheaper of the two" says=["3 results, 2 inputs: forward mode alone needs fewer passes"]
def by_rows(f, x):
    x = x.detach().clone().requires_grad_()
    y = f(x)
    rows = [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(len(y))]
    return torch.stack(rows)


def by_columns(f, x):
    eye = torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([torch.func.jvp(f, (x.detach(),), (v,))[1] for v in eye]).t()


def jacobian_both_ways(f, x):
    return by_rows(f, x)


# %% wrong="the other way round" breaks="by rows if m < n, by columns if n < m" says=["3 results, 2 inputs: forward mode alone", "2 results, 3 inputs: reverse mode alone"]
def by_rows(f, x):
    x = x.detach().clone().requires_grad_()
    y = f(x)
    rows = [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(len(y))]
    return torch.stack(rows)


def by_columns(f, x):
    eye = torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([torch.func.jvp(f, (x.detach(),), (v,))[1] for v in eye]).t()


def jacobian_both_ways(f, x):
    return by_rows(f, x) if len(x) <= len(f(x)) else by_columns(f, x)


# %% wrong="marks the argument" breaks="Leave `x` as it is: its `requires_grad` and its `.grad`" says=["x was left with requires_grad"]
def by_rows(f, x):
    x.requires_grad_()
    y = f(x)
    rows = [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(len(y))]
    return torch.stack(rows)


def by_columns(f, x):
    eye = torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([torch.func.jvp(f, (x.detach(),), (v,))[1] for v in eye]).t()


def jacobian_both_ways(f, x):
    return by_columns(f, x) if len(x) <= len(f(x)) else by_rows(f, x)


# %% wrong="leaves gradients on the argument" breaks="Leave `x` as it is: its `requires_grad` and its `.grad`" says=["x was left with requires_grad and .grad"]
def by_rows(f, x):
    rows, x = [], x.requires_grad_()
    for i in range(len(f(x))):
        x.grad = None
        f(x)[i].backward()
        rows.append(x.grad.clone())
    return torch.stack(rows)


def by_columns(f, x):
    eye = torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([torch.func.jvp(f, (x.detach(),), (v,))[1] for v in eye]).t()


def jacobian_both_ways(f, x):
    return by_columns(f, x) if len(x) <= len(f(x)) else by_rows(f, x)


# %% wrong="the graph is kept" breaks="Results are detached" says=["still requires grad: detach it"]
def by_rows(f, x):
    x = x.detach().clone().requires_grad_()
    y = f(x)
    rows = [torch.autograd.grad(y[i], x, create_graph=True)[0] for i in range(len(y))]
    return torch.stack(rows)


def by_columns(f, x):
    eye = torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([torch.func.jvp(f, (x.detach(),), (v,))[1] for v in eye]).t()


def jacobian_both_ways(f, x):
    return by_columns(f, x) if len(x) <= len(f(x)) else by_rows(f, x)


# %% wrong="the sum of the rows" breaks="a row a pass" says=["has shape (2,), expected (3, 2)"]
def by_rows(f, x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad(f(x).sum(), x)[0]


def by_columns(f, x):
    eye = torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([torch.func.jvp(f, (x.detach(),), (v,))[1] for v in eye]).t()


def jacobian_both_ways(f, x):
    return by_columns(f, x) if len(x) <= len(f(x)) else by_rows(f, x)


# %% wrong="adds up in .grad" says=["each row holds the ones before it as well"]
def by_rows(f, x):
    x, rows = x.detach().requires_grad_(), []
    for i in range(len(f(x))):
        f(x)[i].backward()
        rows.append(x.grad.clone())
    return torch.stack(rows)


def by_columns(f, x):
    eye = torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([torch.func.jvp(f, (x.detach(),), (v,))[1] for v in eye]).t()


def jacobian_both_ways(f, x):
    return by_columns(f, x) if len(x) <= len(f(x)) else by_rows(f, x)


# %% right="vmap over vjp and linearize"
def by_rows(f, x):
    y, pull = torch.func.vjp(f, x.detach())
    return torch.func.vmap(pull)(torch.eye(y.numel(), dtype=y.dtype, device=y.device))[0]


def by_columns(f, x):
    _, push = torch.func.linearize(f, x.detach())
    return torch.stack([push(v) for v in torch.eye(len(x)).to(x)], 1)


def jacobian_both_ways(f, x):
    with torch.no_grad():
        m, n = f(x).shape[0], x.shape[0]
    return (by_rows, by_columns)[n <= m](f, x)


# %% right="is_grads_batched and dual tensors"
import torch.autograd.forward_ad as forward_ad


def by_rows(f, x):
    leaf = torch.tensor(x.tolist(), dtype=x.dtype, device=x.device, requires_grad=True)
    y = f(leaf)
    unit = torch.eye(len(y)).to(y)
    return torch.autograd.grad(y, leaf, unit, is_grads_batched=True)[0]


def by_columns(f, x):
    columns, x = [], x.detach()
    for j in range(len(x)):
        v = torch.zeros_like(x)
        v[j] = 1
        with forward_ad.dual_level():
            y = forward_ad.unpack_dual(f(forward_ad.make_dual(x, v)))
            rate = torch.zeros_like(y.primal) if y.tangent is None else y.tangent
            columns.append(rate.clone())
    return torch.stack(columns, dim=-1)


def jacobian_both_ways(f, x):
    if f(x).numel() < x.numel():
        return by_rows(f, x)
    return by_columns(f, x)


# %% wrong="neither for equal sizes" breaks="For m = n either will do" says=["jacobian_both_ways of square, 2 results, 2 inputs: it gives None"]
def by_rows(f, x):
    leaf = x.clone().requires_grad_()
    y = f(leaf)
    rows = [torch.autograd.grad(one, leaf, retain_graph=True)[0] for one in y]
    return torch.stack(rows)


def by_columns(f, x):
    columns = [torch.func.jvp(f, (x,), (unit,))[1] for unit in torch.eye(len(x)).to(x)]
    return torch.stack(columns, 1)


def jacobian_both_ways(f, x):
    m, n = len(f(x)), len(x)
    if m < n:
        return by_rows(f, x)
    if n < m:
        return by_columns(f, x)


# %% wrong="squeezes one row" breaks="and returns one with m" says=["by_rows of one number at [1.0, 2.0, -1.0]: the Jacobian has shape (3,), expected (1, 3)"]
def by_rows(f, x):
    leaf = x.clone().requires_grad_()
    y = f(leaf)
    rows = [torch.autograd.grad(one, leaf, retain_graph=True)[0] for one in y]
    return torch.stack(rows).squeeze(0)


def by_columns(f, x):
    columns = [torch.func.jvp(f, (x,), (unit,))[1] for unit in torch.eye(len(x)).to(x)]
    return torch.stack(columns, 1).squeeze(0)


def jacobian_both_ways(f, x):
    return by_rows(f, x) if len(f(x)) < len(x) else by_columns(f, x)


# %% wrong="in float32" breaks="`f` takes a 1-D tensor with n entries" says=["the Jacobian has dtype torch.float32, expected torch.float64"]
def by_rows(f, x):
    x = x.float()
    leaf = x.clone().requires_grad_()
    y = f(leaf)
    rows = [torch.autograd.grad(one, leaf, retain_graph=True)[0] for one in y]
    return torch.stack(rows)


def by_columns(f, x):
    x = x.float()
    columns = [torch.func.jvp(f, (x,), (unit,))[1] for unit in torch.eye(len(x), device=x.device)]
    return torch.stack(columns, 1)


def jacobian_both_ways(f, x):
    return by_rows(f, x) if len(f(x)) < len(x) else by_columns(f, x)


# %% wrong="f is called twice to learn m" breaks="You may call `f` once more to learn m" says=["are enough"]
def by_rows(f, x):
    leaf = x.detach().requires_grad_()
    y = f(leaf)
    rows = [
        torch.autograd.grad(
            y, leaf, g, retain_graph=True, allow_unused=True, materialize_grads=True
        )[0]
        for g in torch.eye(len(y), dtype=y.dtype)
    ]
    return torch.stack(rows).detach()


def by_columns(f, x):
    columns = [torch.func.jvp(f, (x.detach(),), (v,))[1] for v in torch.eye(len(x), dtype=x.dtype)]
    return torch.stack(columns, dim=1).detach()


def jacobian_both_ways(f, x):
    m = len(f(x.detach())) + 0 * len(f(x.detach()))
    return by_rows(f, x) if m < len(x) else by_columns(f, x)


# %% wrong="switches x on and off" breaks="Leave `x` as it is: its `requires_grad` and its `.grad`" says=["an argument was changed (its requires_grad)"]
def by_rows(f, x):
    with torch.enable_grad():
        leaf = x.requires_grad_()
        y = f(leaf)
        rows = [
            torch.autograd.grad(y, leaf, e, retain_graph=True, allow_unused=True)[0]
            if y.requires_grad
            else None
            for e in torch.eye(y.numel(), dtype=y.dtype)
        ]
    rows = [torch.zeros_like(x) if r is None else r for r in rows]
    x.requires_grad_(False)
    return torch.stack(rows).detach() if rows else x.new_zeros(0, x.numel())


def by_columns(f, x):
    x = x.detach()
    columns = [torch.func.jvp(f, (x,), (e,))[1] for e in torch.eye(x.numel(), dtype=x.dtype)]
    return torch.stack(columns, dim=1).detach()


def jacobian_both_ways(f, x):
    m = f(x.detach()).numel()
    return by_rows(f, x) if m < x.numel() else by_columns(f, x)


# %% wrong="clears x.grad" breaks="Leave `x` as it is: its `requires_grad` and its `.grad`" says=["changed the .grad that was there"]
def by_rows(f, x):
    with torch.enable_grad():
        x.grad = None
        leaf = x.detach().clone().requires_grad_()
        y = f(leaf)
        rows = [
            torch.autograd.grad(y, leaf, e, retain_graph=True, allow_unused=True)[0]
            if y.requires_grad
            else None
            for e in torch.eye(y.numel(), dtype=y.dtype)
        ]
    rows = [torch.zeros_like(x) if r is None else r for r in rows]
    return torch.stack(rows).detach() if rows else x.new_zeros(0, x.numel())


def by_columns(f, x):
    x = x.detach()
    columns = [torch.func.jvp(f, (x,), (e,))[1] for e in torch.eye(x.numel(), dtype=x.dtype)]
    return torch.stack(columns, dim=1).detach()


def jacobian_both_ways(f, x):
    m = f(x.detach()).numel()
    return by_rows(f, x) if m < x.numel() else by_columns(f, x)


# %% wrong="columns that hang on x" breaks="also where `x` requires grad" says=["where an argument requires grad, so does the result"]
def by_rows(f, x):
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        y = f(leaf)
        rows = [
            torch.autograd.grad(y, leaf, e, retain_graph=True, allow_unused=True)[0]
            if y.requires_grad
            else None
            for e in torch.eye(y.numel(), dtype=y.dtype)
        ]
    rows = [torch.zeros_like(x) if r is None else r for r in rows]
    return torch.stack(rows).detach() if rows else x.new_zeros(0, x.numel())


def by_columns(f, x):
    columns = [torch.func.jvp(f, (x,), (e,))[1] for e in torch.eye(x.numel(), dtype=x.dtype)]
    return torch.stack(columns, dim=1)


def jacobian_both_ways(f, x):
    m = f(x.detach()).numel()
    return by_rows(f, x) if m < x.numel() else by_columns(f, x)


# %% wrong="rows in float32" breaks="at `x`, of shape (m, n)" says=["seven digits alone"]
def by_rows(f, x):
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        y = f(leaf)
        rows = [
            torch.autograd.grad(y, leaf, e, retain_graph=True, allow_unused=True)[0]
            if y.requires_grad
            else None
            for e in torch.eye(y.numel(), dtype=y.dtype)
        ]
    rows = [torch.zeros_like(x) if r is None else r for r in rows]
    return torch.stack(rows).float().to(x.dtype) if rows else x.new_zeros(0, x.numel())


def by_columns(f, x):
    x = x.detach()
    columns = [torch.func.jvp(f, (x,), (e,))[1] for e in torch.eye(x.numel(), dtype=x.dtype)]
    return torch.stack(columns, dim=1).detach()


def jacobian_both_ways(f, x):
    m = f(x.detach()).numel()
    return by_rows(f, x) if m < x.numel() else by_columns(f, x)


# %% wrong="learns m from a whole Jacobian" breaks="You may call `f` once more to learn m" says=["both modes run"]
def by_rows(f, x):
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        y = f(leaf)
        rows = [
            torch.autograd.grad(y, leaf, e, retain_graph=True, allow_unused=True)[0]
            if y.requires_grad
            else None
            for e in torch.eye(y.numel(), dtype=y.dtype)
        ]
    rows = [torch.zeros_like(x) if r is None else r for r in rows]
    return torch.stack(rows).detach() if rows else x.new_zeros(0, x.numel())


def by_columns(f, x):
    x = x.detach()
    columns = [torch.func.jvp(f, (x,), (e,))[1] for e in torch.eye(x.numel(), dtype=x.dtype)]
    return torch.stack(columns, dim=1).detach()


def jacobian_both_ways(f, x):
    m = len(by_rows(f, x))
    return by_rows(f, x) if m < x.numel() else by_columns(f, x)


# %% wrong="keeps m by the number of inputs" breaks="by the cheaper of the two" says=["reverse mode alone needs fewer passes"]
def by_rows(f, x):
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        y = f(leaf)
        rows = [
            torch.autograd.grad(y, leaf, e, retain_graph=True, allow_unused=True)[0]
            if y.requires_grad
            else None
            for e in torch.eye(y.numel(), dtype=y.dtype)
        ]
    rows = [torch.zeros_like(x) if r is None else r for r in rows]
    return torch.stack(rows).detach() if rows else x.new_zeros(0, x.numel())


def by_columns(f, x):
    x = x.detach()
    columns = [torch.func.jvp(f, (x,), (e,))[1] for e in torch.eye(x.numel(), dtype=x.dtype)]
    return torch.stack(columns, dim=1).detach()


def jacobian_both_ways(f, x):
    m = jacobian_both_ways.__dict__.setdefault(x.numel(), f(x.detach()).numel())
    return by_rows(f, x) if m < x.numel() else by_columns(f, x)


# %% wrong="works on x where it requires grad, and gives .grad back" says=["with tensors that an operator made from others that require grad raised"]
def by_rows(f, x):
    leaf = x if x.requires_grad else x.detach().requires_grad_()
    y = f(leaf)
    old = x.grad
    rows = []
    for e in torch.eye(y.numel(), dtype=y.dtype):
        leaf.grad = None
        y.backward(e, retain_graph=True)
        rows.append(leaf.grad)
    x.grad = old
    return torch.stack(rows)


def by_columns(f, x):
    x = x.detach()
    columns = []
    for e in torch.eye(x.numel(), dtype=x.dtype):
        _, column = torch.func.jvp(f, (x,), (e,))
        columns.append(column)
    return torch.stack(columns, dim=1)


def jacobian_both_ways(f, x):
    m = f(x.detach()).numel()
    return by_rows(f, x) if m < x.numel() else by_columns(f, x)


# %% wrong="by rows for a single input" says=["forward mode alone needs fewer passes"]
def by_rows(f, x):
    leaf = x.detach().clone().requires_grad_()
    y = f(leaf)
    rows = []
    for e in torch.eye(y.numel(), dtype=y.dtype):
        (row,) = torch.autograd.grad(y, leaf, e, retain_graph=True)
        rows.append(row)
    return torch.stack(rows)


def by_columns(f, x):
    x = x.detach()
    columns = []
    for e in torch.eye(x.numel(), dtype=x.dtype):
        _, column = torch.func.jvp(f, (x,), (e,))
        columns.append(column)
    return torch.stack(columns, dim=1)


def jacobian_both_ways(f, x):
    m = f(x.detach()).numel()
    return by_rows(f, x) if m < x.numel() or x.numel() == 1 else by_columns(f, x)


# %% wrong="a single number comes as a row" says=["by_rows of running sum at [2.0]: the Jacobian"]
def by_rows(f: Callable, x: torch.Tensor) -> torch.Tensor:
    leaf = x.detach().clone().requires_grad_()
    with torch.enable_grad():
        y = f(leaf)
    eye = torch.eye(len(y), dtype=y.dtype)
    rows = [
        torch.autograd.grad(y, leaf, e, retain_graph=True, materialize_grads=True)[0] for e in eye
    ]
    return torch.stack(rows) if len(rows) > 1 or x.numel() > 1 else rows[0]


def by_columns(f: Callable, x: torch.Tensor) -> torch.Tensor:
    x = x.detach()
    eye = torch.eye(len(x), dtype=x.dtype)
    return torch.stack([torch.func.jvp(f, (x,), (e,))[1] for e in eye], dim=1).detach()


def jacobian_both_ways(f: Callable, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        m = len(f(x))
    return by_rows(f, x) if m < len(x) else by_columns(f, x)


# %% wrong="puts the flag back, but not where f raises" breaks="also where `f` raises" says=["where f raises, requires_grad of an argument is not as it was"]
def by_rows(f, x):
    was = x.requires_grad
    x.requires_grad_(True)
    y = f(x)
    rows = [torch.autograd.grad(entry, x, retain_graph=True)[0] for entry in y]
    x.requires_grad_(was)
    return torch.stack(rows)


def by_columns(f, x):
    x = x.detach()
    units = torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([torch.func.jvp(f, (x,), (one,))[1] for one in units], dim=1)


def jacobian_both_ways(f, x):
    return by_rows(f, x) if len(f(x.detach())) < len(x) else by_columns(f, x)


# %% wrong="remembers how many results a function has" says=["pairs at [3.0, 2.0]: for this x 1 results, 2 inputs: reverse mode alone"]
def by_rows(f, x):
    x = x.detach().requires_grad_()
    y = f(x)
    return torch.stack([torch.autograd.grad(entry, x, retain_graph=True)[0] for entry in y])


def by_columns(f, x):
    x = x.detach()
    units = torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([torch.func.jvp(f, (x,), (one,))[1] for one in units], dim=1)


lengths = {}


def jacobian_both_ways(f, x):
    if f not in lengths:
        lengths[f] = len(f(x.detach()))
    return by_rows(f, x) if lengths[f] < len(x) else by_columns(f, x)


# %% wrong="remembers the rows of a tensor" says=["which had other numbers the first time gives other values"]
def by_rows(f, x):
    x = x.detach().requires_grad_()
    y = f(x)
    return torch.stack([torch.autograd.grad(entry, x, retain_graph=True)[0] for entry in y])


found = {}


def by_columns(f, x):
    if (f, x) not in found:
        at = x.detach()
        units = torch.eye(len(x), dtype=x.dtype, device=x.device)
        columns = [torch.func.jvp(f, (at,), (one,))[1] for one in units]
        found[f, x] = torch.stack(columns, dim=1)
    return found[f, x].clone()


def jacobian_both_ways(f, x):
    return by_rows(f, x) if len(f(x.detach())) < len(x) else by_columns(f, x)


# %% wrong="chooses the mode of a function once" breaks="by the cheaper of the two" says=["pairs at [3.0, 2.0]: for this x 1 results, 2 inputs: reverse mode alone"]
def by_rows(f, x):
    x = x.detach().requires_grad_()
    y = f(x)
    return torch.stack([torch.autograd.grad(entry, x, retain_graph=True)[0] for entry in y])


def by_columns(f, x):
    x = x.detach()
    units = torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([torch.func.jvp(f, (x,), (one,))[1] for one in units], dim=1)


modes = {}


def jacobian_both_ways(f, x):
    if f not in modes:
        modes[f] = by_rows if len(f(x.detach())) < len(x) else by_columns
    return modes[f](f, x)


# %% wrong="leaves the dual level open where f raises" breaks="also where `f` raises" says=["where f raises, a dual level stays open"]
def by_rows(f: Callable, x: torch.Tensor) -> torch.Tensor:
    leaf = x.detach().requires_grad_()
    y = f(leaf)
    rows = torch.eye(len(y), dtype=y.dtype)
    return torch.stack([torch.autograd.grad(y, leaf, g, retain_graph=True)[0] for g in rows])


def by_columns(f: Callable, x: torch.Tensor) -> torch.Tensor:
    x = x.detach()
    columns = []
    for v in torch.eye(len(x), dtype=x.dtype):
        level = forward_ad.enter_dual_level()
        y = f(forward_ad.make_dual(x, v))
        columns.append(forward_ad.unpack_dual(y).tangent)
        forward_ad.exit_dual_level(level=level)
    return torch.stack(columns, dim=1)


def jacobian_both_ways(f: Callable, x: torch.Tensor) -> torch.Tensor:
    m, n = len(f(x.detach())), len(x)
    return by_rows(f, x) if m < n else by_columns(f, x)


# %% wrong="directions in the default dtype" says=["by_columns of running sum at [2.0]: the Jacobian has dtype torch.float32, expected torch.float64", "jacobian_both_ways of running sum"]
def by_rows(f: Callable, x: torch.Tensor) -> torch.Tensor:
    leaf = x.detach().clone().requires_grad_()
    y = f(leaf)
    rows = [torch.autograd.grad(y, leaf, e, retain_graph=True)[0] for e in torch.eye(len(y))]
    return torch.stack(rows)


def by_columns(f: Callable, x: torch.Tensor) -> torch.Tensor:
    x = x.detach()
    return torch.stack([torch.func.jvp(f, (x,), (e,))[1] for e in torch.eye(len(x))], dim=1)


def jacobian_both_ways(f: Callable, x: torch.Tensor) -> torch.Tensor:
    return by_rows(f, x) if len(f(x.detach())) < len(x) else by_columns(f, x)
