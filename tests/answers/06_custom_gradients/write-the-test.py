# %% wrong="gradcheck alone, on positive numbers" says=["lets through sine 2, whose slope is wrong for negative numbers"]
def write_the_test(function):
    x = torch.rand(5, dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(function, [x], raise_exception=False)


# %% wrong="gradcheck alone" says=["lets through sine 3, whose slope is a constant"]
def write_the_test(function):
    x = torch.linspace(-1.5, 1.2, 6, dtype=torch.float64).requires_grad_()
    return torch.autograd.gradcheck(function, [x], raise_exception=False)


# %% wrong="both checks, one contiguous tensor" says=["lets through sine 4, which is wrong for a tensor that is not contiguous"]
def write_the_test(function):
    x = torch.linspace(-1.5, 1.2, 6, dtype=torch.float64).requires_grad_()
    check, second = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    return check(function, [x], raise_exception=False) and second(
        function, [x], raise_exception=False
    )


# %% wrong="both checks, all layouts, the argument compared" says=["lets through sine 6, whose second call overwrites"]
def write_the_test(function):
    points = torch.linspace(-1.5, 1.2, 6, dtype=torch.float64).view(2, 3)
    before = points.clone()
    function(points)
    if not torch.equal(points, before):
        return False
    check, second = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    for x in (points, points.t()):
        x = x.detach().requires_grad_()
        if not (
            check(function, [x], raise_exception=False)
            and second(function, [x], raise_exception=False)
        ):
            return False
    return True


# %% wrong="an error is no verdict" says=["RuntimeError"]
def write_the_test(function):
    points = torch.linspace(-1.5, 1.2, 6, dtype=torch.float64).view(2, 3)
    check, second = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    for x in (points, points.t()):
        x = x.detach().requires_grad_()
        if not (
            check(function, [x], raise_exception=False)
            and second(function, [x], raise_exception=False)
        ):
            return False
    return True


# %% wrong="the slope of a sum" says=["lets through sine 1, whose backward forgets the gradient that arrives"]
def write_the_test(function):
    x = torch.linspace(-1.5, 1.2, 6, dtype=torch.float64).requires_grad_()
    (slope,) = torch.autograd.grad(function(x).sum(), x)
    with torch.no_grad():
        numeric = (function(x + 1e-6) - function(x - 1e-6)) / 2e-6
    return torch.allclose(slope, numeric, atol=1e-5)


# %% wrong="float32" says=["your test refuses sine 0, which is right"]
def write_the_test(function):
    import warnings

    x = torch.linspace(-1.5, 1.2, 6).requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.autograd.gradcheck(function, [x], raise_exception=False)


# %% wrong="trusts everything" says=["lets through sine 1"]
def write_the_test(function):
    return callable(function)


# %% wrong="a number instead of a verdict" says=["gives 1: return True or False"]
def write_the_test(function):
    return int(callable(function))


# %% right="by differences of its own"
def write_the_test(function):
    points = torch.tensor([[-1.1, 0.4, 0.9], [0.3, -0.6, -0.2]], dtype=torch.float64)
    g = torch.tensor([[1.0, -2.0, 0.5], [3.0, 1.5, -1.0]], dtype=torch.float64)

    def slopes(x, upstream, again=False):
        x = x.detach().requires_grad_()
        y = function(x)
        if again:
            function(x.detach() + 0.7)
        (first,) = torch.autograd.grad(y, x, upstream, create_graph=True)
        second = (
            torch.autograd.grad(first.sum(), x, allow_unused=True)[0]
            if first.requires_grad
            else None
        )
        return first.detach(), torch.zeros_like(x) if second is None else second

    step, trusted = 1e-5, True
    for x, upstream in ((points, g), (points.t(), g.t())):
        kept = x.clone()
        high, low = function(x + step), function(x - step)
        function(x)
        trusted &= torch.equal(x, kept)
        first, second = slopes(kept, upstream)
        trusted &= torch.allclose(first, upstream * (high - low) / (2 * step), atol=1e-6)
        near = [slopes(kept + s, upstream)[0] for s in (step, -step)]
        trusted &= torch.allclose(second, (near[0] - near[1]) / (2 * step), atol=1e-5)
        trusted &= torch.equal(slopes(kept, upstream, again=True)[0], first)
    return bool(trusted)
