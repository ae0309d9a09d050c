# %% [markdown]
# Rules:
#
# - "Number 0 is right"
# - "its backward forgets the gradient that arrives"
# - "its slope is wrong for negative numbers"
# - "right, but a constant for the second derivative"
# - "it reads memory in order"
# - "it changes its argument"
# - "so a second call overwrites what the first one needs"
# - "returns `True` if the function's values and gradients can be trusted, else `False`"
# - "nor what the function should be"
# - "an error is no verdict"
# - "The others are broken"
#
# Admits:
#
# - "are a sine, a cube and a bell curve": ("sine", "cube", "bell")
# - "The others are broken": range(7)

# %% wrong="gradcheck alone, on positive numbers" breaks="its slope is wrong for negative numbers" says=["lets through sine 2, whose slope is wrong for negative numbers"]
def write_the_test(function):
    x = torch.rand(5, dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(function, [x], raise_exception=False)


# %% wrong="gradcheck alone" breaks="right, but a constant for the second derivative" says=["lets through sine 3, whose slope is a constant"]
def write_the_test(function):
    x = torch.linspace(-1.5, 1.2, 6, dtype=torch.float64).requires_grad_()
    return torch.autograd.gradcheck(function, [x], raise_exception=False)


# %% wrong="both checks, one contiguous tensor" breaks="it reads memory in order" says=["lets through sine 4, which is wrong for a tensor that is not contiguous"]
def write_the_test(function):
    x = torch.linspace(-1.5, 1.2, 6, dtype=torch.float64).requires_grad_()
    check, second = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    return check(function, [x], raise_exception=False) and second(
        function, [x], raise_exception=False
    )


# %% wrong="both checks, all layouts, the argument compared" breaks="so a second call overwrites what the first one needs" says=["lets through sine 6, whose second call overwrites"]
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


# %% wrong="an error is no verdict" breaks="an error is no verdict" says=["sine 5: your test raised RuntimeError", "An error is no verdict"]
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


# %% wrong="the slope of a sum" breaks="its backward forgets the gradient that arrives" says=["lets through sine 1, whose backward forgets the gradient that arrives"]
def write_the_test(function):
    x = torch.linspace(-1.5, 1.2, 6, dtype=torch.float64).requires_grad_()
    (slope,) = torch.autograd.grad(function(x).sum(), x)
    with torch.no_grad():
        numeric = (function(x + 1e-6) - function(x - 1e-6)) / 2e-6
    return torch.allclose(slope, numeric, atol=1e-5)


# %% wrong="float32" breaks="Number 0 is right" says=["your test refuses sine 0, which is right"]
def write_the_test(function):
    import warnings

    x = torch.linspace(-1.5, 1.2, 6).requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.autograd.gradcheck(function, [x], raise_exception=False)


# %% wrong="trusts everything" breaks="The others are broken" says=["lets through sine 1"]
def write_the_test(function):
    return callable(function)


# %% wrong="a number instead of a verdict" breaks="returns `True` if the function's values and gradients can be trusted, else `False`" says=["gives 1: return True or False"]
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


# %% wrong="knows the sine" breaks="nor what the function should be" says=["your test refuses cube 0, which is right"]
def write_the_test(function):
    x = torch.linspace(-1.5, 1.2, 6, dtype=torch.float64).view(2, 3)
    before = x.clone()
    y = function(x)
    if not torch.equal(x, before) or not torch.allclose(y, x.sin()):
        return False
    for x in (x, x.t()):
        x = x.detach().requires_grad_()
        first, g = function(x), torch.arange(6.0).double().view(x.shape)
        function(x.detach() + 1)
        (slope,) = torch.autograd.grad(first, x, g, create_graph=True)
        if not torch.allclose(slope, g * x.cos()):
            return False
        (bend,) = torch.autograd.grad(slope.sum(), x, allow_unused=True, materialize_grads=True)
        if not torch.allclose(bend, -g * x.sin()):
            return False
    return True


# %% wrong="the two verdicts the other way round" says=["your test refuses sine 0", "lets through sine 1"]
def write_the_test(function):
    points = torch.tensor([[-1.2, 0.4, 1.1], [0.7, -0.3, -0.8]], dtype=torch.float64)

    x = points.requires_grad_()
    return not torch.autograd.gradcheck(function, [x], raise_exception=False)


# %% wrong="an error counts as right" says=["lets through sine 1"]
def write_the_test(function):
    check, twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    points = torch.tensor([[-1.2, 0.4, 1.1], [0.7, -0.3, -0.8]], dtype=torch.float64)

    try:
        for x in (points, points.t()):
            x = x.detach().requires_grad_()
            check(function, [x], raise_exception=False) and twice(
                function, [x], raise_exception=False
            )
    except RuntimeError:
        return False
    return True


# %% wrong="the argument is compared with itself" breaks="it changes its argument" says=["lets through sine 5, which changes its argument"]
def write_the_test(function):
    check, twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    points = torch.tensor([[-1.2, 0.4, 1.1], [0.7, -0.3, -0.8]], dtype=torch.float64)

    before = points
    function(points)
    try:
        for x in (points, points.t()):
            x = x.detach().requires_grad_()
            if not check(function, [x], raise_exception=False):
                return False
            if not twice(function, [x], raise_exception=False):
                return False
    except RuntimeError:
        pass
    a = points.clone().requires_grad_()
    (alone,) = torch.autograd.grad(function(a).sum(), a)
    first, _ = function(a), function(2 * a)
    (later,) = torch.autograd.grad(first.sum(), a)
    return torch.equal(points, before) and torch.equal(alone, later)


# %% right="a helper inside, errors caught, a truth value of PyTorch's"
def write_the_test(function):
    points = torch.tensor([-1.7, -0.9, -0.2, 0.6, 1.3, 0.35], dtype=torch.float64)

    def passes(x):
        x = x.detach().clone(memory_format=torch.preserve_format).requires_grad_()
        kept = x.detach().clone()
        try:
            torch.autograd.gradcheck(function, (x,))
            torch.autograd.gradgradcheck(function, (x,))
            one = function(x)
            function((x + 1).detach())
            up = torch.linspace(-2, 3, x.numel(), dtype=x.dtype).view(x.shape)
            (late,) = torch.autograd.grad(one, x, up)
            (early,) = torch.autograd.grad(function(x), x, up)
        except Exception:
            return torch.tensor(False)
        return (x == kept).all() & torch.isclose(late, early).all()

    return passes(points) & passes(points.view(2, 3).t()) & passes(points[::2])


# %% wrong="zero, and no negative number" says=["lets through cube 2"]
def write_the_test(function):
    points = torch.tensor([[0.0, 0.4, 0.9], [1.3, 1.1, 0.3]], dtype=torch.float64)
    try:
        kept = points.clone()
        function(points)
        if not torch.equal(points, kept):
            return False
        x = points.clone().requires_grad_()
        if not torch.autograd.gradcheck(function, [x], raise_exception=False):
            return False
        if not torch.autograd.gradgradcheck(function, [x], raise_exception=False):
            return False
        turned = points.t().detach().requires_grad_()
        if not torch.autograd.gradcheck(function, [turned], raise_exception=False):
            return False
        (alone,) = torch.autograd.grad(function(x).sum(), x)
        first = function(x)
        function((points + 0.3).requires_grad_())
        (late,) = torch.autograd.grad(first.sum(), x)
        return torch.equal(alone, late)
    except Exception:
        return False
