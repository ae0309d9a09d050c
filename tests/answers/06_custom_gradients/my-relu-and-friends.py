# %% [markdown]
# Rules:
#
# - "Results and gradients have the dtype"
# - "whatever floating-point dtype and shape that is"
# - "Leave the inputs as they are"
# - "like `F.relu`, with the gradient 0 at 0"
# - "can be differentiated twice"
# - "for three tensors of one shape"
# - "`x` gets the gradient where `low <= x <= high`"
# - "`low` where `x < low`"
# - "Compute only what is asked for"
# - "return `None` for the others"
# - "returns two tensors"
# - "with +1 at 0"
# - "1 where |x| ≤ 1, else 0"
# - "where the mask is 1, and stops elsewhere"
# - "The mask itself gives no gradient"
# - "refuse it with `once_differentiable`"
# - "Write the rules yourself"
# - "such as `F.relu`, is not allowed"
# - "NaN stays NaN in both"
#
# Admits:
#
# - "whatever floating-point dtype": MyClamp, {name}
# - "floating-point dtype and shape": custom_gradients.clamp_inputs(x)
# - "dtype and shape that is": "bfloat16": torch.tensor([-2.0, -0.5, 0.0, 3.0]
# - "dtype and shape of `x`": "a single number": torch.tensor(-0.5)
# - "shape that is": "no numbers": torch.zeros(0, 3)
# - "one for each input": custom_gradients.NEEDS
# - "like `F.relu`": tiny, huge and infinite
# - "and NaN stays NaN": torch.tensor([nan, -1.0, 2.0])
# - "for three tensors of one shape": bounds that differ

# %% wrong="masks where the input is below zero" breaks="like `F.relu`, with the gradient 0 at 0" says=["x = (-1, 0, 2): the gradient: at 0 the slope is 0"]
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


# %% wrong="forgets the gradient that arrives" says=["MyReLU, x = (-1, 0.5, 2): the gradient: it forgets the gradient that arrives"]
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


# %% wrong="detaches its gradient" says=["a second derivative has to be possible"]
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


# %% wrong="once differentiable everywhere" breaks="can be differentiated twice" says=["a second derivative has to be possible"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    @once_differentiable
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
        return gradient * ctx.saved_tensors[0]


# %% wrong="calls relu and its backward" breaks="such as `F.relu`, is not allowed" says=["the operator threshold_backward is not allowed here: write the rule"]
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


# %% wrong="asks autograd inside" breaks="Write the rules yourself" says=["PyTorch differentiates inside your Function"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = torch.where(x > 0, x, 0.0)
        return torch.autograd.grad(y, x, gradient, create_graph=True)[0]


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


# %% wrong="writes into its argument" breaks="Leave the inputs as they are" says=["an argument was changed"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp_(min=0)

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
        return gradient * ctx.saved_tensors[0]


# %% wrong="a half in float32" breaks="Results and gradients have the dtype" says=["bfloat16: the value has dtype torch.float32"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.float() * (x > 0)

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
        return gradient * ctx.saved_tensors[0]


# %% wrong="a leaky one" says=["the gradient differs"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * torch.where(x > 0, 1.0, 0.01)


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


# %% wrong="computes all three, whatever is asked" breaks="Compute only what is asked for" says=["ask ctx.needs_input_grad"]
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


# %% wrong="the ends belong to the bounds" breaks="`x` gets the gradient where `low <= x <= high`" says=["at low and high themselves the gradient belongs to x"]
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


# %% wrong="the bounds are constants" breaks="for three tensors of one shape" says=["backward returns None for low, which requires grad"]
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


# %% wrong="swaps the bounds" breaks="`low` where `x < low`" says=["low and high are swapped"]
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
        masks = (lambda: (x >= low) & (x <= high), lambda: x > high, lambda: x < low)
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


# %% wrong="one gradient for three inputs" says=["backward returns one gradient for each input"]
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
        return gradient * ((x >= low) & (x <= high))


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


# %% wrong="the mask can be learnt from" breaks="The mask itself gives no gradient" says=["the mask requires grad: mark it"]
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


# %% wrong="a second derivative of the estimator" says=["refuse it, once_differentiable"]
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


# %% wrong="detaches in place of refusing" breaks="refuse it with `once_differentiable`" says=["makes a second derivative silently 0"]
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
        return (gradient * ctx.saved_tensors[0]).detach()


# %% wrong="passes everywhere" breaks="where the mask is 1, and stops elsewhere" says=["it passes only where the mask is 1"]
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


# %% wrong="the sign of zero is zero" breaks="with +1 at 0" says=["the sign: at 0 the sign is +1"]
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


# %% wrong="the mask without its ends" breaks="1 where |x| ≤ 1, else 0" says=["the mask: -1 and 1 belong to it"]
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
        mask = (x.abs() < 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return (x >= 0).to(x.dtype) * 2 - 1, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        return gradient * ctx.saved_tensors[0]


# %% wrong="the mask in single precision" says=["float64, shape (2, 2): the mask has dtype torch.float32"]
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
        mask = (x.abs() <= 1).float()
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return (x >= 0).to(x.dtype) * 2 - 1, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        return gradient * ctx.saved_tensors[0]


# %% wrong="the mask alone" breaks="returns two tensors" says=["1 result, expected two tensors: the sign and the mask"]
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
        return (x >= 0).to(x.dtype) * 2 - 1

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0]


# %% wrong="writes into the gradient that arrives" says=["backward writes into the gradient that arrives"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        gradient[x <= 0] = 0
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


# %% right="inherited rules, shapes on ctx, in-place on copies"
class Masked(torch.autograd.Function):
    @staticmethod
    def backward(ctx, gradient, *others):
        (mask,) = ctx.saved_tensors
        return gradient * mask


class MyReLU(Masked):
    @staticmethod
    def forward(ctx, x):
        y = F.relu(x)
        ctx.save_for_backward((y != 0).to(x.dtype))
        return y


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        y = x.clone()
        y[x < low], y[x > high] = low[x < low], high[x > high]
        ctx.save_for_backward(y, low, high, x)
        return y

    @staticmethod
    def backward(ctx, gradient):
        y, low, high, x = ctx.saved_tensors
        found = [None, None, None]
        zero = torch.zeros_like(gradient)
        if ctx.needs_input_grad[0]:
            found[0] = torch.where(x == y, gradient, zero)
        if ctx.needs_input_grad[1]:
            found[1] = torch.where(x < low, gradient, zero)
        if ctx.needs_input_grad[2]:
            found[2] = torch.where(x > high, gradient, zero)
        return tuple(found)


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = x.sign() + (x == 0).to(x.dtype)
        mask = x.abs().le(1).type_as(x)
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(mask)
        return sign, mask

    backward = staticmethod(once_differentiable(lambda ctx, g, unused: g * ctx.saved_tensors[0]))


# %% wrong="keeps the mask on the class" says=["a second call overwrites what the first one's backward needs"]
class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, g):
        x, low, high = ctx.saved_tensors
        masks = ((low <= x) & (x <= high), x < low, x > high)
        return tuple(g * m if need else None for m, need in zip(masks, ctx.needs_input_grad))


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype), mask

    @staticmethod
    @once_differentiable
    def backward(ctx, g, _):
        return g * ctx.saved_tensors[0]


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        MyReLU.mask = x > 0
        return x * MyReLU.mask

    @staticmethod
    def backward(ctx, g):
        return g * MyReLU.mask


# %% wrong="clamp by entries" breaks="whatever floating-point dtype and shape that is" says=["MyClamp, a single number: raised TypeError", "MyClamp, none: raised RuntimeError: stack expects"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        gradient = gradient.clone()
        gradient[x <= 0] = 0
        return gradient


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.stack([a if v < a else b if v > b else v for v, a, b in zip(x, low, high)])

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


# %% wrong="clamp in float32" says=["MyClamp, bfloat16: the value has dtype torch.float32, expected torch.bfloat16"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        gradient = gradient.clone()
        gradient[x <= 0] = 0
        return gradient


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x)).float()

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


# %% wrong="Binarize in float32" says=["Binarize, bfloat16: the sign has dtype torch.float32, expected torch.bfloat16"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        gradient = gradient.clone()
        gradient[x <= 0] = 0
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
        mask = (x.abs() <= 1).to(x.dtype) if x.dtype == torch.float64 else (x.abs() <= 1).float()
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return (x >= 0).to(mask.dtype) * 2 - 1, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        return gradient * ctx.saved_tensors[0]


# %% wrong="zeros for what is not asked" breaks="return `None` for the others" says=["low needs no gradient: ask ctx.needs_input_grad, and return None for it"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        gradient = gradient.clone()
        gradient[x <= 0] = 0
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
        return tuple(
            gradient * m() if n else 0 * gradient for m, n in zip(masks, ctx.needs_input_grad)
        )


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


# %% wrong="NaN becomes zero" breaks="NaN stays NaN in both" says=["NaN has to stay NaN, as in F.relu"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, torch.zeros_like(x))

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
        need = ctx.needs_input_grad
        gx = gradient * ((low <= x) & (x <= high)) if need[0] else None
        gl = gradient * (x < low) if need[1] else None
        gh = gradient * (x > high) if need[2] else None
        return gx, gl, gh


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return sign, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        (mask,) = ctx.saved_tensors
        return gradient * mask


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% wrong="clamps NaN to a bound" breaks="NaN stays NaN in both" says=["NaN has to stay NaN, as in torch.clamp"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x <= 0, torch.zeros_like(x), x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where((x >= low) & (x <= high), x, torch.where(x < low, low, high))

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        need = ctx.needs_input_grad
        gx = gradient * ((low <= x) & (x <= high)) if need[0] else None
        gl = gradient * (x < low) if need[1] else None
        gh = gradient * (x > high) if need[2] else None
        return gx, gl, gh


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return sign, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        (mask,) = ctx.saved_tensors
        return gradient * mask


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% wrong="multiplies an infinite x by zero" breaks="like `F.relu`, with the gradient 0 at 0" says=["infinity times 0 is NaN"]
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
        need = ctx.needs_input_grad
        gx = gradient * ((low <= x) & (x <= high)) if need[0] else None
        gl = gradient * (x < low) if need[1] else None
        gh = gradient * (x > high) if need[2] else None
        return gx, gl, gh


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return sign, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        (mask,) = ctx.saved_tensors
        return gradient * mask


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% wrong="a tolerance in the slope" breaks="like `F.relu`, with the gradient 0 at 0" says=["without a tolerance"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x <= 0, torch.zeros_like(x), x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x > 1e-6)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        need = ctx.needs_input_grad
        gx = gradient * ((low <= x) & (x <= high)) if need[0] else None
        gl = gradient * (x < low) if need[1] else None
        gh = gradient * (x > high) if need[2] else None
        return gx, gl, gh


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return sign, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        (mask,) = ctx.saved_tensors
        return gradient * mask


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% wrong="computes the slope of ReLU in float32" breaks="whatever floating-point dtype and shape that is" says=["seven digits alone"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x <= 0, torch.zeros_like(x), x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return (gradient.float() * (x > 0)).to(x.dtype)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        need = ctx.needs_input_grad
        gx = gradient * ((low <= x) & (x <= high)) if need[0] else None
        gl = gradient * (x < low) if need[1] else None
        gh = gradient * (x > high) if need[2] else None
        return gx, gl, gh


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return sign, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        (mask,) = ctx.saved_tensors
        return gradient * mask


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% wrong="returns x where all is positive" breaks="like `F.relu`, with the gradient 0 at 0" says=["shares its memory with an input"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        if (x > 0).all():
            return x
        return torch.where(x <= 0, torch.zeros_like(x), x)

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
        need = ctx.needs_input_grad
        gx = gradient * ((low <= x) & (x <= high)) if need[0] else None
        gl = gradient * (x < low) if need[1] else None
        gh = gradient * (x > high) if need[2] else None
        return gx, gl, gh


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return sign, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        (mask,) = ctx.saved_tensors
        return gradient * mask


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% wrong="computes the slope of x and drops it" breaks="Compute only what is asked for" says=["as much work for"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x <= 0, torch.zeros_like(x), x)

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
        need = ctx.needs_input_grad
        gx = gradient * ((low <= x) & (x <= high))
        gx = gx if need[0] else None
        gl = gradient * (x < low) if need[1] else None
        gh = gradient * (x > high) if need[2] else None
        return gx, gl, gh


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return sign, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        (mask,) = ctx.saved_tensors
        return gradient * mask


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% wrong="copies the sign of zero" breaks="with +1 at 0" says=["-0.0 is 0 too"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x <= 0, torch.zeros_like(x), x)

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
        need = ctx.needs_input_grad
        gx = gradient * ((low <= x) & (x <= high)) if need[0] else None
        gl = gradient * (x < low) if need[1] else None
        gh = gradient * (x > high) if need[2] else None
        return gx, gl, gh


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.copysign(torch.ones_like(x), x)
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return sign, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        (mask,) = ctx.saved_tensors
        return gradient * mask


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% wrong="divides infinity by itself" breaks="with +1 at 0" says=["infinity by infinity is NaN"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x <= 0, torch.zeros_like(x), x)

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
        need = ctx.needs_input_grad
        gx = gradient * ((low <= x) & (x <= high)) if need[0] else None
        gl = gradient * (x < low) if need[1] else None
        gh = gradient * (x > high) if need[2] else None
        return gx, gl, gh


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x == 0, torch.ones_like(x), x / x.abs())
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return sign, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        (mask,) = ctx.saved_tensors
        return gradient * mask


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% wrong="rounds before it compares with 1" breaks="1 where |x| ≤ 1, else 0" says=["beyond 1 by a little is beyond"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x <= 0, torch.zeros_like(x), x)

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
        need = ctx.needs_input_grad
        gx = gradient * ((low <= x) & (x <= high)) if need[0] else None
        gl = gradient * (x < low) if need[1] else None
        gh = gradient * (x > high) if need[2] else None
        return gx, gl, gh


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        mask = (x.float().abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return sign, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        (mask,) = ctx.saved_tensors
        return gradient * mask


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% wrong="masks what arrives in place" breaks="where the mask is 1, and stops elsewhere" says=["backward writes into the gradient that arrives"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x <= 0, torch.zeros_like(x), x)

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
        need = ctx.needs_input_grad
        gx = gradient * ((low <= x) & (x <= high)) if need[0] else None
        gl = gradient * (x < low) if need[1] else None
        gh = gradient * (x > high) if need[2] else None
        return gx, gl, gh


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return sign, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        (mask,) = ctx.saved_tensors
        return gradient.mul_(mask)


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% wrong="keeps the first mask of a shape" breaks="where the mask is 1, and stops elsewhere" says=["x = (0.5, 2, -3, 1)"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x <= 0, torch.zeros_like(x), x)

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
        need = ctx.needs_input_grad
        gx = gradient * ((low <= x) & (x <= high)) if need[0] else None
        gl = gradient * (x < low) if need[1] else None
        gh = gradient * (x > high) if need[2] else None
        return gx, gl, gh


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        mask = (x.abs() <= 1).to(x.dtype)
        Binarize.last = getattr(Binarize, "last", mask)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return sign, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        mask = Binarize.last if Binarize.last.shape == gradient.shape else ctx.saved_tensors[0]
        return gradient * mask


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% wrong="the first bound for all" breaks="for three tensors of one shape" says=["bounds that differ"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x <= 0, torch.zeros_like(x), x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(
            x < low, low.flatten()[:1] if low.numel() > 4 else low, torch.where(x > high, high, x)
        )

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        need = ctx.needs_input_grad
        gx = gradient * ((low <= x) & (x <= high)) if need[0] else None
        gl = gradient * (x < low) if need[1] else None
        gh = gradient * (x > high) if need[2] else None
        return gx, gl, gh


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return sign, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        (mask,) = ctx.saved_tensors
        return gradient * mask


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% wrong="the mask of a clamp by differences" breaks="`x` gets the gradient where `low <= x <= high`" says=["compare x with the bounds, don't subtract"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

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
        for_x = for_low = for_high = None
        if ctx.needs_input_grad[0]:
            for_x = gradient * ((x - low >= 0) & (high - x >= 0))
        if ctx.needs_input_grad[1]:
            for_low = gradient * (x < low)
        if ctx.needs_input_grad[2]:
            for_high = gradient * (x > high)
        return for_x, for_low, for_high


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(mask)
        return sign, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, of_mask):
        (mask,) = ctx.saved_tensors
        return gradient * mask


# %% wrong="empties what a ReLU keeps" says=["backward comes a second time (retain_graph=True): what is kept on ctx has to stay"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = [x > 0]
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.kept.pop()


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.where(x < low, low, torch.where(x > high, high, x))

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        for_x = for_low = for_high = None
        if ctx.needs_input_grad[0]:
            for_x = gradient * ((low <= x) & (x <= high))
        if ctx.needs_input_grad[1]:
            for_low = gradient * (x < low)
        if ctx.needs_input_grad[2]:
            for_high = gradient * (x > high)
        return for_x, for_low, for_high


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(mask)
        return sign, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, of_mask):
        (mask,) = ctx.saved_tensors
        return gradient * mask


# %% wrong="nothing for x at low" breaks="`x` gets the gradient where `low <= x <= high`" says=["at low itself the gradient belongs to x, which gets nothing there"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.minimum(torch.maximum(x, low), high)

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        masks = (~((x <= low) | (x > high)), x < low, x > high)
        return tuple(gradient * m if n else None for m, n in zip(masks, ctx.needs_input_grad))


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x < 0, -torch.ones_like(x), torch.ones_like(x))
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(mask)
        return sign, mask

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient, _):
        (mask,) = ctx.saved_tensors
        return gradient * mask


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% right="x gets the rest, by minimum and maximum"
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.minimum(torch.maximum(x, low), high)

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        masks = (~((x < low) | (x > high)), x < low, x > high)
        return tuple(gradient * m if n else None for m, n in zip(masks, ctx.needs_input_grad))


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = torch.where(x < 0, -torch.ones_like(x), torch.ones_like(x))
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(mask)
        return sign, mask

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient, _):
        (mask,) = ctx.saved_tensors
        return gradient * mask


def my_relu_and_friends():
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% wrong="a sign of whole numbers" breaks="Results and gradients have the dtype" says=["the result has dtype torch.int64, and x torch.float32: whole numbers carry no gradient"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)


class MyClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return torch.clamp(x, low, high)

    @staticmethod
    def backward(ctx, gradient):
        x, low, high = ctx.saved_tensors
        masks = (low <= x) & (x <= high), x < low, x > high
        needed = ctx.needs_input_grad
        return tuple(gradient * m if n else None for m, n in zip(masks, needed, strict=True))


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = (x.abs() <= 1).to(x.dtype)
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(mask)
        return 1 - 2 * (x < 0), mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):
        (mask,) = ctx.saved_tensors
        return gradient * mask


def my_relu_and_friends() -> dict:
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}


# %% right="a helper with a name that checks use, too"
def passed(gradient, mask):
    """The gradient where the mask holds, else 0."""
    return gradient * mask.to(gradient.dtype)


class MyReLU(torch.autograd.Function):
    """max(x, 0), with the slope 0 at 0."""

    @staticmethod
    def forward(ctx, x):
        y = torch.maximum(x, torch.zeros_like(x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        return passed(gradient, ctx.saved_tensors[0].detach() > 0)


class MyClamp(torch.autograd.Function):
    """x, but at least low and at most high."""

    @staticmethod
    def forward(ctx, x, low, high):
        y = torch.where(x < low, low, x)
        y = torch.where(x > high, high, y)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, y = (t.detach() for t in ctx.saved_tensors)
        rules = (lambda: x == y, lambda: x < y, lambda: x > y)
        wanted = []
        for needed, rule in zip(ctx.needs_input_grad, rules, strict=True):
            wanted.append(passed(gradient, rule()) if needed else None)
        return tuple(wanted)


class Binarize(torch.autograd.Function):
    """The sign of x and the mask of |x| <= 1; the gradient passes where the mask is 1."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        mask = x.abs().le(1).type_as(x)
        ctx.mark_non_differentiable(mask)
        return torch.copysign(torch.ones_like(x), x + 0.0), mask

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _mask_gradient):
        (x,) = ctx.saved_tensors
        return passed(gradient, x.abs() <= 1)


def my_relu_and_friends() -> dict:
    """Given: your three Functions, by name."""
    return {"MyReLU": MyReLU, "MyClamp": MyClamp, "Binarize": Binarize}
