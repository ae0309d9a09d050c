# %% [markdown]
# Rules:
#
# - "by double backward"
# - "the same, by forward over reverse"
# - "the point after so many Newton steps"
# - "Never write $H$ down"
# - "or the finished `hvp`"
# - "No tensor may be larger than a few vectors"
# - "The two products call `f` at `x` alone"
# - "Leave `x` and `v` as they are"
# - "`requires_grad` and `.grad`"
# - "also where `f` raises"
# - "Results are detached"
# - "also where `x` and `v` require grad"
# - "has to bring the gradient of Rosenbrock's valley from 233"
# - "`f` takes a 1-D tensor"
#
# Admits:
#
# - "`f` takes a 1-D tensor": in the bowl, one number
# - "the point after so many Newton steps": newton, no step at all
# - "after so many Newton steps": from one number, two steps
# - "than a few vectors": 100 numbers in float64

# %% wrong="writes the Hessian down" breaks="Never write $H$ down" says=["hessian, jacobian runs here: hvp_double makes the product itself"]
def hvp_double(f, x, v):
    return torch.autograd.functional.hessian(f, x.detach()) @ v


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="the Hessian row by row" breaks="No tensor may be larger than a few vectors" says=["is that the matrix?"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    rows = [torch.autograd.grad(entry, x, retain_graph=True)[0] for entry in g]
    return torch.stack(rows) @ v


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="the finished product" breaks="or the finished `hvp`" says=["hvp runs here: hvp_double makes the product itself"]
def hvp_double(f, x, v):
    return torch.autograd.functional.hvp(f, x, v)[1]


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="the gradient times v" says=["this is the gradient times v, entry by entry"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x)
    return g * v


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="forgets create_graph" says=["ask for it with create_graph=True"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x)
    return torch.autograd.grad(g @ v, x)[0]


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="forgets v" says=["the product with a vector of ones: where does v come in?"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g.sum(), x)[0]


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="jvp of the function" says=["the derivative of f along v: take that of its gradient"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


def hvp_forward(f, x, v):
    return torch.func.jvp(f, (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_double(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="the gradient, not its derivative" says=["this is the gradient itself"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[0]


def newton(f, x, steps):
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_double(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="forward calls double" breaks="the same, by forward over reverse" says=["hvp_forward never makes a dual tensor"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


def hvp_forward(f, x, v):
    return hvp_double(f, x, v)


def newton(f, x, steps):
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="double calls forward" breaks="by double backward" says=["hvp_double uses forward mode"]
def hvp_double(f, x, v):
    return hvp_forward(f, x, v)


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="a difference of gradients" breaks="The two products call `f` at `x` alone" says=["hvp_forward calls f at other points than x"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


def hvp_forward(f, x, v):
    g = torch.func.grad(f)
    h = 1e-3 if x.dtype == torch.float32 else 1e-5
    return (g(x + h * v) - g(x - h * v)) / (2 * h)


def newton(f, x, steps):
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="keeps the graph" breaks="Results are detached" says=["still requires grad: detach it"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x, create_graph=True)[0]


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="marks the argument" says=["an argument was left with requires_grad"]
def hvp_double(f, x, v):
    x.requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="leaves a gradient on the argument" breaks="`requires_grad` and `.grad`" says=["an argument was left with requires_grad and .grad"]
def hvp_double(f, x, v):
    x.requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    (g @ v).backward()
    return x.grad


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="gradient descent" says=["the step goes along the gradient: find p with H p = g"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x = x - 1e-3 * torch.func.grad(f)(x)
    return x


# %% wrong="Newton uphill" says=["the steps go uphill: subtract p"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x = x + solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="curvature of the start only" breaks="has to bring the gradient of Rosenbrock's valley from 233" says=["the curvature of the start is used throughout"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    start = x
    for _ in range(steps):
        x = x - solve(lambda v: hvp_forward(f, start, v), torch.func.grad(f)(x))
    return x


# %% wrong="in place on x" breaks="Leave `x` and `v` as they are" says=["an argument was changed"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x -= solve(lambda v: hvp_forward(f, x.clone(), v), torch.func.grad(f)(x))
    return x


# %% wrong="one step, whatever is asked" breaks="the point after so many Newton steps" says=["the point after 2 step(s)", "newton, no step at all"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(1):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="solves with the written matrix" says=["runs here: no matrix, please"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x = x - torch.linalg.solve(torch.func.hessian(f)(x), torch.func.grad(f)(x))
    return x


# %% wrong="stacks the products to a matrix" says=["is that the matrix?"]
def hvp_double(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        matrix = torch.stack([hvp_double(f, x, e) for e in torch.eye(len(x), dtype=x.dtype)])
        x = x - torch.linalg.solve(matrix, torch.func.grad(f)(x))
    return x


# %% right="vjp of grad, dual tensors, recursion"
def hvp_double(f, x, v):
    _, pull = torch.func.vjp(torch.func.grad(f), x.detach())
    return pull(v.detach())[0]


def hvp_forward(f, x, v):
    import torch.autograd.forward_ad as forward_ad

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.detach().requires_grad_(), v.detach())
        (g,) = torch.autograd.grad(f(dual), dual, create_graph=True)
        return forward_ad.unpack_dual(g).tangent.detach().clone()


def newton(f, x, steps):
    if steps == 0:
        return x.detach().clone()
    x = newton(f, x, steps - 1)
    slope = x.clone().requires_grad_()
    f(slope).backward()
    return x - solve(lambda v: hvp_double(f, x, v), slope.grad)


# %% right="backward of backward on leaves of its own, linearize"
def hvp_double(f, x, v):
    with torch.enable_grad():
        leaf = x.clone().detach().requires_grad_(True)
        f(leaf).backward(create_graph=True)
        g, leaf.grad = leaf.grad, None
        (g * v.detach()).sum().backward()
    return leaf.grad.detach()


def hvp_forward(f, x, v):
    _, push = torch.func.linearize(torch.func.grad(f), x.detach())
    return push(v.detach())


def newton(f, x, steps):
    point = x.detach().clone()
    while steps > 0:
        value_and_slope = torch.func.grad_and_value(f)(point)
        point -= solve(lambda v: hvp_double(f, point, v), value_and_slope[0])
        steps -= 1
    return point


# %% wrong="squeezes the product" breaks="`f` takes a 1-D tensor" says=["hvp_double in the bowl, one number: the product has shape (), expected (1,)"]
def hvp_double(f, x, v):
    _, pull = torch.func.vjp(torch.func.grad(f), x)
    return pull(v)[0].squeeze()


def hvp_forward(f, x, v):
    import torch.autograd.forward_ad as forward_ad

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.detach().requires_grad_(), v)
        (g,) = torch.autograd.grad(f(dual), dual, create_graph=True)
        return forward_ad.unpack_dual(g).tangent.detach().clone()


def newton(f, x, steps):
    if steps == 0:
        return x.clone()
    x = newton(f, x, steps - 1)
    slope = x.clone().requires_grad_()
    f(slope).backward()
    return x - solve(lambda v: hvp_double(f, x, v), slope.grad)


# %% wrong="a number times a vector" says=["hvp_double in the bowl, one number: raised RuntimeError"]
def hvp_double(f, x, v):
    leaf = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
    return torch.autograd.grad(g.squeeze() @ v, leaf)[0]


def hvp_forward(f, x, v):
    import torch.autograd.forward_ad as forward_ad

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.detach().requires_grad_(), v)
        (g,) = torch.autograd.grad(f(dual), dual, create_graph=True)
        return forward_ad.unpack_dual(g).tangent.detach().clone()


def newton(f, x, steps):
    if steps == 0:
        return x.clone()
    x = newton(f, x, steps - 1)
    slope = x.clone().requires_grad_()
    f(slope).backward()
    return x - solve(lambda v: hvp_double(f, x, v), slope.grad)


# %% wrong="divides by the length of v" breaks="the same, by forward over reverse" says=["NaN for v = 0"]
def hvp_double(f, x, v):
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        y = f(leaf)
        (g,) = torch.autograd.grad(y, leaf, create_graph=True)
        if not g.requires_grad:
            return torch.zeros_like(x)
        (product,) = torch.autograd.grad(g, leaf, v.detach(), allow_unused=True)
    return torch.zeros_like(leaf).detach() if product is None else product.detach()


def hvp_forward(f, x, v):
    return (
        torch.func.jvp(torch.func.grad(f), (x.detach(),), (v.detach() / v.norm(),))[1].detach()
        * v.norm()
    )


def newton(f, x, steps):
    x = x.detach().clone()
    for _ in range(steps):
        g = torch.func.grad(f)(x).detach()
        x = x - solve(lambda v: hvp_double(f, x, v), g)
    return x.detach()


def hessian_vector(f, x, v):
    return hvp_double(f, x, v), hvp_forward(f, x, v)


# %% wrong="goes backward into x itself" breaks="`requires_grad` and `.grad`" says=["changed the .grad that was there"]
def hvp_double(f, x, v):
    leaf = x.detach().requires_grad_() if not x.requires_grad else x
    (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
    (g * v.detach()).sum().backward()
    return leaf.grad


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x.detach(),), (v.detach(),))[1].detach()


def newton(f, x, steps):
    x = x.detach().clone()
    for _ in range(steps):
        g = torch.func.grad(f)(x).detach()
        x = x - solve(lambda v: hvp_double(f, x, v), g)
    return x.detach()


def hessian_vector(f, x, v):
    return hvp_double(f, x, v), hvp_forward(f, x, v)


# %% wrong="a product that hangs on x and v" breaks="also where `x` and `v` require grad" says=["where an argument requires grad, so does the result"]
def hvp_double(f, x, v):
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        y = f(leaf)
        (g,) = torch.autograd.grad(y, leaf, create_graph=True)
        if not g.requires_grad:
            return torch.zeros_like(x)
        (product,) = torch.autograd.grad(g, leaf, v.detach(), allow_unused=True)
    return torch.zeros_like(leaf).detach() if product is None else product.detach()


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    x = x.detach().clone()
    for _ in range(steps):
        g = torch.func.grad(f)(x).detach()
        x = x - solve(lambda v: hvp_double(f, x, v), g)
    return x.detach()


def hessian_vector(f, x, v):
    return hvp_double(f, x, v), hvp_forward(f, x, v)


# %% wrong="Newton's point hangs on x" breaks="also where `x` and `v` require grad" says=["where an argument requires grad, so does the result"]
def hvp_double(f, x, v):
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        y = f(leaf)
        (g,) = torch.autograd.grad(y, leaf, create_graph=True)
        if not g.requires_grad:
            return torch.zeros_like(x)
        (product,) = torch.autograd.grad(g, leaf, v.detach(), allow_unused=True)
    return torch.zeros_like(leaf).detach() if product is None else product.detach()


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x.detach(),), (v.detach(),))[1].detach()


def newton(f, x, steps):
    x = x.clone()
    for _ in range(steps):
        g = torch.func.grad(f)(x).detach()
        x = x - solve(lambda v: hvp_double(f, x, v), g)
    return x


def hessian_vector(f, x, v):
    return hvp_double(f, x, v), hvp_forward(f, x, v)


# %% wrong="the product in float32" breaks="by double backward" says=["seven digits alone"]
def hvp_double(f, x, v):
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        y = f(leaf)
        (g,) = torch.autograd.grad(y, leaf, create_graph=True)
        if not g.requires_grad:
            return torch.zeros_like(x)
        (product,) = torch.autograd.grad(g, leaf, v.detach(), allow_unused=True)
    return torch.zeros_like(leaf).detach() if product is None else product.float().to(x.dtype)


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x.detach(),), (v.detach(),))[1].detach()


def newton(f, x, steps):
    x = x.detach().clone()
    for _ in range(steps):
        g = torch.func.grad(f)(x).detach()
        x = x - solve(lambda v: hvp_double(f, x, v), g)
    return x.detach()


def hessian_vector(f, x, v):
    return hvp_double(f, x, v), hvp_forward(f, x, v)


# %% wrong="reverse over forward" breaks="the same, by forward over reverse" says=["f itself goes forward, and the gradient is taken of that"]
def hvp_double(f, x, v):
    leaf = x.detach().clone().requires_grad_()
    with torch.enable_grad():
        value = f(leaf)
        (g,) = torch.autograd.grad(value, leaf, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(leaf, requires_grad=False)
    (hv,) = torch.autograd.grad(g, leaf, v.detach(), allow_unused=True, materialize_grads=True)
    return hv.detach()


def hvp_forward(f, x, v):
    x, v = x.detach(), v.detach()
    return torch.func.grad(lambda p: torch.func.jvp(f, (p,), (v,))[1])(x).detach()


def newton(f, x, steps):
    point = x.detach().clone()
    for _ in range(steps):
        g = torch.func.grad(f)(point).detach()
        point = point - solve(lambda v: hvp_double(f, point, v), g)
    return point.detach()


# %% wrong="shortens long steps" says=["newton in the bowl from (-40, -30), one step: the point after 1 step(s): the step is shortened"]
def hvp_double(f: Callable, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
        (product,) = torch.autograd.grad(g, leaf, v.detach())
    return product


def hvp_forward(f: Callable, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.func.jvp(torch.func.grad(f), (x.detach(),), (v.detach(),))[1]


def newton(f: Callable, x: torch.Tensor, steps: int) -> torch.Tensor:
    x = x.detach().clone()
    for _ in range(steps):
        g = torch.func.grad(f)(x)
        p = solve(lambda v: hvp_double(f, x, v), g)
        x = x - p * min(1.0, 10.0 / float(p.norm() + 1e-12))
    return x


def hessian_vector(f: Callable, x: torch.Tensor, v: torch.Tensor) -> tuple:
    """Given: the product, both ways."""
    return hvp_double(f, x, v), hvp_forward(f, x, v)


# %% wrong="newton goes on in float64" says=["in float32, three steps: the point after 3 step(s) has dtype torch.float64, expected torch.float32"]
def hvp_double(f: Callable, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
        (product,) = torch.autograd.grad(g, leaf, v.detach())
    return product


def hvp_forward(f: Callable, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.func.jvp(torch.func.grad(f), (x.detach(),), (v.detach(),))[1]


def newton(f: Callable, x: torch.Tensor, steps: int) -> torch.Tensor:
    x = x.detach().double()
    for _ in range(steps):
        g = torch.func.grad(f)(x)
        x = x - solve(lambda v: hvp_double(f, x, v), g)
    return x


def hessian_vector(f: Callable, x: torch.Tensor, v: torch.Tensor) -> tuple:
    """Given: the product, both ways."""
    return hvp_double(f, x, v), hvp_forward(f, x, v)


# %% wrong="the gradient of the start, in float32" says=["in float32, three steps: the point after 3 step(s)"]
def hvp_double(f: Callable, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
        (product,) = torch.autograd.grad(g, leaf, v.detach())
    return product


def hvp_forward(f: Callable, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.func.jvp(torch.func.grad(f), (x.detach(),), (v.detach(),))[1]


def newton(f: Callable, x: torch.Tensor, steps: int) -> torch.Tensor:
    x = x.detach().clone()
    g0 = torch.func.grad(f)(x)
    for _ in range(steps):
        g = torch.func.grad(f)(x) if x.dtype == torch.float64 else g0
        x = x - solve(lambda v: hvp_double(f, x, v), g)
    return x


def hessian_vector(f: Callable, x: torch.Tensor, v: torch.Tensor) -> tuple:
    """Given: the product, both ways."""
    return hvp_double(f, x, v), hvp_forward(f, x, v)


# %% wrong="puts the flag back, but not where f raises" breaks="also where `f` raises" says=["where f raises, requires_grad of an argument is not as it was"]
def hvp_double(f, x, v):
    was = x.requires_grad
    x.requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    (product,) = torch.autograd.grad(g, x, v.detach())
    x.requires_grad_(was)
    return product.detach()


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x.detach(),), (v.detach(),))[1]


def newton(f, x, steps):
    x = x.detach()
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="remembers the recorded gradient of a tensor" says=["which had other numbers the first time gives other values"]
recorded = {}


def hvp_double(f, x, v):
    if (f, x) not in recorded:
        recorded.clear()
        leaf = x.detach().clone().requires_grad_()
        recorded[f, x] = leaf, torch.autograd.grad(f(leaf), leaf, create_graph=True)[0]
    leaf, g = recorded[f, x]
    return torch.autograd.grad(g, leaf, v.detach(), retain_graph=True)[0]


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x.detach(),), (v.detach(),))[1]


def newton(f, x, steps):
    x = x.detach()
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


# %% wrong="keeps the gradient by the function" says=["called with the same f at another x", "keep nothing by f"]
_graphs = {}


def hvp_double(f: Callable, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    if f not in _graphs:
        leaf = x.detach().clone().requires_grad_()
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
        _graphs[f] = (g, leaf)
    g, leaf = _graphs[f]
    return torch.autograd.grad(g, leaf, v.detach(), retain_graph=True)[0]


def hvp_forward(f: Callable, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.func.jvp(torch.func.grad(f), (x.detach(),), (v.detach(),))[1]


def newton(f: Callable, x: torch.Tensor, steps: int) -> torch.Tensor:
    point = x.detach().clone()
    for _ in range(steps):
        g = torch.func.grad(f)(point)
        point = point - solve(lambda v: hvp_forward(f, point, v), g)
    return point


def hessian_vector(f: Callable, x: torch.Tensor, v: torch.Tensor) -> tuple:
    """Given: the product, both ways."""
    return hvp_double(f, x, v), hvp_forward(f, x, v)
