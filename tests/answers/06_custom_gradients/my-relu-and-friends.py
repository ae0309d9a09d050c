# %% wrong="masks where the input is below zero" says=["the gradient of MyReLU of (-1, 0, 2) (at 0 it is 0)"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        gradient = gradient.clone()
        gradient[x < 0] = 0
        return gradient


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        masks = (lambda: (x >= low) & (x <= high), lambda: x < low, lambda: x > high)
        return tuple(gradient * m() if n else None for m, n in zip(masks, ctx.needs_input_grad))


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return (x >= 0).to(x.dtype) * 2 - 1, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        return gradient * ctx.saved_tensors[0]


def my_relu_and_friends(name, upstream, *inputs):
    functions = {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}
    written = "backward" in vars(functions[name])
    return report(functions[name].apply, upstream, *inputs) if written else None


# %% wrong="forgets the gradient that arrives" says=["the gradient of MyReLU of (-1, 0.5, 2)"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return (x > 0).to(x.dtype)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        masks = (lambda: (x >= low) & (x <= high), lambda: x < low, lambda: x > high)
        return tuple(gradient * m() if n else None for m, n in zip(masks, ctx.needs_input_grad))


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return (x >= 0).to(x.dtype) * 2 - 1, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        return gradient * ctx.saved_tensors[0]


def my_relu_and_friends(name, upstream, *inputs):
    functions = {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}
    written = "backward" in vars(functions[name])
    return report(functions[name].apply, upstream, *inputs) if written else None


# %% wrong="once differentiable everywhere" says=["MyReLU of (-1, 0.5, 2): a second derivative has to be possible"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return (gradient * (x > 0)).detach()


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        masks = (lambda: (x >= low) & (x <= high), lambda: x < low, lambda: x > high)
        return tuple(gradient * m() if n else None for m, n in zip(masks, ctx.needs_input_grad))


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return (x >= 0).to(x.dtype) * 2 - 1, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        return gradient * ctx.saved_tensors[0]


def my_relu_and_friends(name, upstream, *inputs):
    functions = {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}
    written = "backward" in vars(functions[name])
    return report(functions[name].apply, upstream, *inputs) if written else None


# %% wrong="calls relu and its backward" says=["the operator threshold_backward is not allowed here: write the rule"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.relu()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(gradient, x, 0)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        masks = (lambda: (x >= low) & (x <= high), lambda: x < low, lambda: x > high)
        return tuple(gradient * m() if n else None for m, n in zip(masks, ctx.needs_input_grad))


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return (x >= 0).to(x.dtype) * 2 - 1, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        return gradient * ctx.saved_tensors[0]


def my_relu_and_friends(name, upstream, *inputs):
    functions = {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}
    written = "backward" in vars(functions[name])
    return report(functions[name].apply, upstream, *inputs) if written else None


# %% wrong="computes all three, whatever is asked" says=["ask ctx.needs_input_grad"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        return gradient * ((x >= low) & (x <= high)), gradient * (x < low), gradient * (x > high)


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return (x >= 0).to(x.dtype) * 2 - 1, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        return gradient * ctx.saved_tensors[0]


def my_relu_and_friends(name, upstream, *inputs):
    functions = {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}
    written = "backward" in vars(functions[name])
    return report(functions[name].apply, upstream, *inputs) if written else None


# %% wrong="the ends belong to the bounds" says=["gradient 1 of 3 asked for in MyClamp"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        masks = (lambda: (x > low) & (x < high), lambda: x <= low, lambda: x >= high)
        return tuple(gradient * m() if n else None for m, n in zip(masks, ctx.needs_input_grad))


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return (x >= 0).to(x.dtype) * 2 - 1, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        return gradient * ctx.saved_tensors[0]


def my_relu_and_friends(name, upstream, *inputs):
    functions = {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}
    written = "backward" in vars(functions[name])
    return report(functions[name].apply, upstream, *inputs) if written else None


# %% wrong="the bounds are constants" says=["gradient 2 of 3 asked for in MyClamp"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        return gradient * ((x >= low) & (x <= high)), None, None


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return (x >= 0).to(x.dtype) * 2 - 1, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        return gradient * ctx.saved_tensors[0]


def my_relu_and_friends(name, upstream, *inputs):
    functions = {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}
    written = "backward" in vars(functions[name])
    return report(functions[name].apply, upstream, *inputs) if written else None


# %% wrong="the mask can be learnt from" says=["the mask requires grad: mark it as non-differentiable"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        masks = (lambda: (x >= low) & (x <= high), lambda: x < low, lambda: x > high)
        return tuple(gradient * m() if n else None for m, n in zip(masks, ctx.needs_input_grad))


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        return (x >= 0).to(x.dtype) * 2 - 1, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        return gradient * ctx.saved_tensors[0]


def my_relu_and_friends(name, upstream, *inputs):
    functions = {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}
    written = "backward" in vars(functions[name])
    return report(functions[name].apply, upstream, *inputs) if written else None


# %% wrong="a second derivative of the estimator" says=["refuse the second derivative"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        masks = (lambda: (x >= low) & (x <= high), lambda: x < low, lambda: x > high)
        return tuple(gradient * m() if n else None for m, n in zip(masks, ctx.needs_input_grad))


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return (x >= 0).to(x.dtype) * 2 - 1, mask

    @staticmethod
    def backward(ctx, gradient, _):
        return gradient * ctx.saved_tensors[0]


def my_relu_and_friends(name, upstream, *inputs):
    functions = {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}
    written = "backward" in vars(functions[name])
    return report(functions[name].apply, upstream, *inputs) if written else None


# %% wrong="passes everywhere" says=["it passes where the mask is 1"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        masks = (lambda: (x >= low) & (x <= high), lambda: x < low, lambda: x > high)
        return tuple(gradient * m() if n else None for m, n in zip(masks, ctx.needs_input_grad))


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return (x >= 0).to(x.dtype) * 2 - 1, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        return gradient


def my_relu_and_friends(name, upstream, *inputs):
    functions = {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}
    written = "backward" in vars(functions[name])
    return report(functions[name].apply, upstream, *inputs) if written else None


# %% wrong="the sign of zero is zero" says=["the sign in Binarize of (-2, -0.5, 0, 3)"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        masks = (lambda: (x >= low) & (x <= high), lambda: x < low, lambda: x > high)
        return tuple(gradient * m() if n else None for m, n in zip(masks, ctx.needs_input_grad))


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return x.sign(), mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        return gradient * ctx.saved_tensors[0]


def my_relu_and_friends(name, upstream, *inputs):
    functions = {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}
    written = "backward" in vars(functions[name])
    return report(functions[name].apply, upstream, *inputs) if written else None


# %% right="setup_context, masks saved, where instead of products"
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.maximum(x, torch.zeros_like(x))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output > 0)

    @staticmethod
    def backward(ctx, gradient):
        return torch.where(ctx.saved_tensors[0], gradient, torch.zeros_like(gradient))


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(x, low, high):
        return torch.minimum(torch.maximum(x, low), high)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, low, high = inputs
        ctx.save_for_backward(x < low, x > high)

    @staticmethod
    def backward(ctx, gradient):
        under, over = ctx.saved_tensors
        of_x = of_low = of_high = None
        if ctx.needs_input_grad[0]:
            of_x = gradient.masked_fill(under | over, 0)
        if ctx.needs_input_grad[1]:
            of_low = gradient.masked_fill(~under, 0)
        if ctx.needs_input_grad[2]:
            of_high = gradient.masked_fill(~over, 0)
        return of_x, of_low, of_high


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y, mask = torch.ones_like(x), torch.zeros_like(x)
        y[x < 0] = -1
        mask[(x >= -1) & (x <= 1)] = 1
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(x)
        return y, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, *gradients):
        (x,) = ctx.saved_tensors
        return gradients[0].masked_fill(x.abs() > 1, 0.0)


def my_relu_and_friends(name, upstream, *inputs):
    functions = {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}
    written = "backward" in vars(functions[name])
    return report(functions[name].apply, upstream, *inputs) if written else None
