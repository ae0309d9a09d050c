# %% wrong="writes the Hessian down" says=["a copy was made"]
def hvp_double(f, x, v):
    return torch.autograd.functional.hessian(f, x.detach()) @ v


def hvp_forward(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


def newton(f, x, steps):
    for _ in range(steps):
        x = x - solve(lambda v, here=x: hvp_forward(f, here, v), torch.func.grad(f)(x))
    return x


def hessian_vector(way, landscape, x, extra):
    ways = {"double": hvp_double, "forward": hvp_forward, "newton": newton}
    return ways[way](LANDSCAPES[landscape], x, extra)


# %% wrong="the gradient times v" says=["the product by double in the saddle at (1, 3)"]
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


def hessian_vector(way, landscape, x, extra):
    ways = {"double": hvp_double, "forward": hvp_forward, "newton": newton}
    return ways[way](LANDSCAPES[landscape], x, extra)


# %% wrong="forgets create_graph" says=["RuntimeError"]
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


def hessian_vector(way, landscape, x, extra):
    ways = {"double": hvp_double, "forward": hvp_forward, "newton": newton}
    return ways[way](LANDSCAPES[landscape], x, extra)


# %% wrong="jvp of the function" says=["the product by forward in the saddle"]
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


def hessian_vector(way, landscape, x, extra):
    ways = {"double": hvp_double, "forward": hvp_forward, "newton": newton}
    return ways[way](LANDSCAPES[landscape], x, extra)


# %% wrong="keeps the graph" says=["still requires grad: detach it"]
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


def hessian_vector(way, landscape, x, extra):
    ways = {"double": hvp_double, "forward": hvp_forward, "newton": newton}
    return ways[way](LANDSCAPES[landscape], x, extra)


# %% wrong="gradient descent" says=["the gradient still has the norm"]
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


def hessian_vector(way, landscape, x, extra):
    ways = {"double": hvp_double, "forward": hvp_forward, "newton": newton}
    return ways[way](LANDSCAPES[landscape], x, extra)


# %% wrong="Newton uphill" says=["Newton's method in the valley from (-1.2, 1)"]
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


def hessian_vector(way, landscape, x, extra):
    ways = {"double": hvp_double, "forward": hvp_forward, "newton": newton}
    return ways[way](LANDSCAPES[landscape], x, extra)


# %% wrong="curvature of the start only" says=["the gradient still has the norm"]
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


def hessian_vector(way, landscape, x, extra):
    ways = {"double": hvp_double, "forward": hvp_forward, "newton": newton}
    return ways[way](LANDSCAPES[landscape], x, extra)


# %% wrong="in place on x" says=["an argument was changed"]
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


def hessian_vector(way, landscape, x, extra):
    ways = {"double": hvp_double, "forward": hvp_forward, "newton": newton}
    return ways[way](LANDSCAPES[landscape], x, extra)


# %% right="vjp of grad, linearize, and a jvp under no_grad"
def hvp_double(f, x, v):
    _, pull = torch.func.vjp(torch.func.grad(f), x)
    return pull(v)[0]


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


def hessian_vector(way, landscape, x, extra):
    ways = {"double": hvp_double, "forward": hvp_forward, "newton": newton}
    return ways[way](LANDSCAPES[landscape], x, extra)
