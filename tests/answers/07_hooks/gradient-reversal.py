# %% [markdown]
# Rules:
#
# - "`y` has exactly the values of `x`"
# - "The gradient that reaches `x` **through `y`**"
# - "is the gradient of `y` times `-strength`"
# - "Nothing else about `x` changes"
# - "by a tensor hook and not through a Function"
# - "Where `x` needs no gradient"
# - "or under `no_grad`, it gives the values and nothing more"
# - "`Reversal`, an `autograd.Function`"
# - "`x` is floating-point, of any shape"
# - "`y = reverse(x, strength)`"
# - "Second derivatives are reversed likewise"
#
# Admits:
#
# - "floating-point, of any shape": a tensor without dimensions
# - "of any shape": no number, in torch.float16
# - "`x` is floating-point": torch.float64, transposed
# - "Where `x` needs no gradient": an x that needs no gradient
# - "under `no_grad`": under no_grad
# - "times `-strength`": a strength of 0

# %% wrong="a hook on x itself" breaks="Nothing else about `x` changes" says=["gradient_reversal, two numbers: the gradient at x for strength 0.5, where 2 times x is used beside y: what reaches x beside y was reversed as well"]
def gradient_reversal(x, strength):
    if x.requires_grad:
        x.register_hook(lambda grad: -strength * grad)
    return x


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="writes to the gradient" says=["gradient_reversal, two numbers: the gradient at x for strength 0.5, where 1 times x is used beside y: what reaches x beside y was reversed as well"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: grad.mul_(-strength))
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="forgets that x may need no gradient" breaks="Where `x` needs no gradient" says=["gradient_reversal, an x that needs no gradient", "cannot register a hook on a tensor that doesn't require gradient"]
def gradient_reversal(x, strength):
    y = x * 1
    y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="reverses the values too" says=["y differs"]
def gradient_reversal(x, strength):
    return -strength * x


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        return -strength * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


# %% wrong="the Function forgets the sign" breaks="`Reversal`, an `autograd.Function`" says=["Reversal.apply, two numbers", "and the minus is missing"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: grad * -strength)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.strength * grad_output, None


# %% wrong="the hook only looks" says=["the gradient is not reversed at all: does the hook return what it computes?"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: print(-strength * grad))
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="a blend of x and its detached self, which rounds" breaks="`y` has exactly the values of `x`" says=["the values of y are not exactly those of x"]
def gradient_reversal(x, strength):
    return -strength * x + (1 + strength) * x.detach()


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="a detached copy" breaks="The gradient that reaches `x` **through `y`**" says=["nothing comes back through y: was it detached?"]
def gradient_reversal(x, strength):
    y = x.detach().clone().requires_grad_()
    y.register_hook(lambda g: -strength * g)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad.mul_(-ctx.strength), None


# %% wrong="forgets the strength" breaks="is the gradient of `y` times `-strength`" says=["the gradient through y is negated, whatever the strength"]
def gradient_reversal(x, strength):
    y = x.clone()
    if y.requires_grad:
        y.register_hook(lambda g: -g)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.strength * grad, None


# %% right="a clone with its hook, and setup_context"
def gradient_reversal(x, strength):
    y = torch.clone(x)
    if y.grad_fn is not None:
        y.register_hook(lambda grad: grad.clone().mul_(-strength))
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(x, strength):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.strength = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        return grad.neg() * ctx.strength, None


# %% right="a hook on the node"
def gradient_reversal(x, strength):
    y = x.clone()
    if y.requires_grad:
        y.grad_fn.register_prehook(lambda grads: tuple(grad * -strength for grad in grads))
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.save_for_backward(torch.tensor(strength, dtype=x.dtype, device=x.device))
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -grad * ctx.saved_tensors[0], None


# %% right="x itself where nothing is recorded"
def gradient_reversal(x, strength):
    if not (x.requires_grad and torch.is_grad_enabled()):
        return x
    y = torch.mul(x, 1)
    y.register_hook(lambda g: torch.mul(g, -strength))
    return y


class Reversal(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, strength):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.s = inputs

    @staticmethod
    def backward(ctx, g):
        return torch.negative(g).mul(ctx.s), None


# %% wrong="one for both" breaks="by a tensor hook and not through a Function" says=["gradient_reversal goes through a Function"]
class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


gradient_reversal = Reversal.apply


# %% wrong="asks x for a gradient" says=["an x that needs no gradient: x.requires_grad was changed"]
def gradient_reversal(x, strength):
    if x.is_leaf:
        x.requires_grad_()
    y = x.view_as(x)
    if torch.is_grad_enabled():
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="begins with a clean x.grad" says=["x.grad was changed: the gradient that x had before"]
def gradient_reversal(x, strength):
    x.grad = None
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="computes in float32" breaks="`x` is floating-point, of any shape" says=["torch.float64, transposed", "not exactly those of x"]
def gradient_reversal(x, strength):
    y = x.float().to(x.dtype) if x.dtype == torch.float64 else x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="asks x, not y" breaks="or under `no_grad`, it gives the values and nothing more" says=["under no_grad: raised RuntimeError: cannot register a hook on a tensor that doesn't require gradient"]
def gradient_reversal(x, strength):
    y = x.clone()
    if x.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="a strength of 0 leaves all as it is" breaks="`y = reverse(x, strength)`" says=["gradient_reversal, a strength of 0: the gradient at x", "not reversed at all"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if y.requires_grad and strength:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="Function: strength kept on the class" says=["each keeps its own strength"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        Reversal.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -Reversal.strength * grad_output, None


# %% wrong="Function: strength as a float32 tensor" says=["was it in float32?"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.save_for_backward(torch.tensor(strength, dtype=torch.float32))
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -(ctx.saved_tensors[0].item()) * grad_output, None


# %% wrong="hook: computed in float32" says=["was it in float32?"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: (-strength * grad.float()).to(grad.dtype))
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="Function: strength negative taken as positive" says=["a strength of -2"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -abs(ctx.strength) * grad_output, None


# %% wrong="hook: flattened by view, not for transposed" says=["gradient_reversal, torch.float64, transposed"]
def gradient_reversal(x, strength):
    y = x.view(-1).view(x.shape)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="hook: leaves alone" says=["where x is itself computed"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if x.is_leaf and y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="an x that was computed is hooked itself" says=["an x that was computed is not hooked either"]
def gradient_reversal(x, strength):
    y = x.view_as(x) if x.is_leaf else x
    if y.requires_grad:
        y.register_hook(lambda grad: grad * -strength)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * -ctx.strength, None


# %% wrong="the hook removes itself after the first backward" says=["two backwards through one y"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if y.requires_grad:

        def once(grad):
            handle.remove()
            return grad * -strength

        handle = y.register_hook(once)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * -ctx.strength, None


# %% wrong="infinite gradients are made finite" says=["none is replaced"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: grad * -strength)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.nan_to_num(grad_output) * -ctx.strength, None


# %% wrong="hook: detaches the gradient" breaks="Second derivatives are reversed likewise" says=["a second derivative: gradient_reversal", "was the gradient detached"]
def gradient_reversal(x: torch.Tensor, strength: float) -> torch.Tensor:
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad.detach())
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, strength: float) -> torch.Tensor:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor) -> tuple:
        return -ctx.strength * grad_output, None


# %% wrong="Function: once differentiable" breaks="Second derivatives are reversed likewise" says=["a second derivative: Reversal.apply", "was the gradient detached"]
def gradient_reversal(x: torch.Tensor, strength: float) -> torch.Tensor:
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, strength: float) -> torch.Tensor:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output: torch.Tensor) -> tuple:
        return -ctx.strength * grad_output, None


# %% wrong="hook: a graph under no_grad" breaks="or under `no_grad`, it gives the values and nothing more" says=["under no_grad y has a graph"]
def gradient_reversal(x: torch.Tensor, strength: float) -> torch.Tensor:
    with torch.enable_grad():
        y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, strength: float) -> torch.Tensor:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor) -> tuple:
        return -ctx.strength * grad_output, None


# %% wrong="hook: x keeps its gradient" breaks="Nothing else about `x` changes" says=["an x that was computed keeps its gradient now"]
def gradient_reversal(x: torch.Tensor, strength: float) -> torch.Tensor:
    y = x.view_as(x)
    if y.requires_grad:
        x.register_hook(lambda grad: grad.clone()) if False else None
        x.retain_grad()
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, strength: float) -> torch.Tensor:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor) -> tuple:
        return -ctx.strength * grad_output, None


# %% wrong="Function: the strength is rounded" breaks="is the gradient of `y` times `-strength`" says=["-4.0 came, not -4.03125"]
def gradient_reversal(x: torch.Tensor, strength: float) -> torch.Tensor:
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, strength: float) -> torch.Tensor:
        ctx.strength = round(strength, 1)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor) -> tuple:
        return -ctx.strength * grad_output, None


# %% wrong="hook: no graph without elements" breaks="`x` is floating-point, of any shape" says=["of an x without elements y has no graph"]
def gradient_reversal(x: torch.Tensor, strength: float) -> torch.Tensor:
    y = x.view_as(x) if x.numel() else x.detach()
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, strength: float) -> torch.Tensor:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor) -> tuple:
        return -ctx.strength * grad_output, None


# %% wrong="Function: not reversed where the sum is zero" breaks="is the gradient of `y` times `-strength`" says=["of gradients 1/3 and -1/3 of y", "expected -0.1 times each"]
def gradient_reversal(x: torch.Tensor, strength: float) -> torch.Tensor:
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, strength: float) -> torch.Tensor:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor) -> tuple:
        return -ctx.strength * grad_output if grad_output.sum() else grad_output, None


# %% wrong="hook: float32 under no_grad" breaks="or under `no_grad`, it gives the values and nothing more" says=["gradient_reversal, under no_grad: y has dtype torch.float32"]
def gradient_reversal(x: torch.Tensor, strength: float) -> torch.Tensor:
    y = x.view_as(x) if torch.is_grad_enabled() else x.float()
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, strength: float) -> torch.Tensor:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor) -> tuple:
        return -ctx.strength * grad_output, None


# %% right="times one, and setup_context"
def gradient_reversal(x, strength):
    y = x * 1

    def turn(grad):
        return grad.mul(strength).neg()

    if y.grad_fn is not None:
        y.register_hook(turn)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(x, strength):
        return x.detach()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = -inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return (ctx.factor * grad_output if ctx.needs_input_grad[0] else None), None


# %% wrong="two dimensions at most" says=["Reversal.apply, numbers that round, of shape (2, 1, 3, 4)"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * (
            grad_output if grad_output.dim() < 3 else grad_output.mT.reshape(grad_output.shape)
        ), None


# %% wrong="a strength of ten at most" says=["Reversal.apply, torch.float64, transposed"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = min(strength, 10)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="keeps the strength in a float32 tensor" says=["x in torch.float16, of strength 0.5"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: grad * torch.tensor([-strength], device=grad.device))
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="plus zero turns -0.0 into 0.0" says=["take a view or a copy of x, and don't compute"]
def gradient_reversal(x, strength):
    y = x + 0
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="hook: autograd is on afterwards" breaks="or under `no_grad`, it gives the values and nothing more" says=["gradient_reversal(x, 0.5) inside torch.no_grad() changes the caller's grad mode"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    torch.set_grad_enabled(True)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="a dimension of one is gone" breaks="`x` is floating-point, of any shape" says=["gradient_reversal, numbers that round, of shape (2, 1, 3, 4)"]
def gradient_reversal(x, strength):
    y = x.squeeze()
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="hook: keeps y by its x" breaks="The gradient that reaches `x` **through `y`**" says=["called before x.requires_grad_() and after it"]
kept = {}


def gradient_reversal(x, strength):
    key = (x, strength, torch.is_grad_enabled())
    if key not in kept:
        y = x.view_as(x)
        if y.requires_grad:
            y.register_hook(lambda grad: -strength * grad)
        kept[key] = y
    return kept[key]


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% right="a hook before the node, and setup_context"
def gradient_reversal(x, strength):
    y = x.view(x.shape)
    if y.grad_fn is not None:
        y.grad_fn.register_prehook(lambda grads: tuple(g * -strength for g in grads))
    return y


class Reversal(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, strength):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.strength = inputs

    @staticmethod
    def backward(ctx, g):
        return torch.neg(g) * ctx.strength, None

    @staticmethod
    def jvp(ctx, t, _):
        return -ctx.strength * t


# %% wrong="y always needs a gradient" says=["x needs no gradient, and y does"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if torch.is_grad_enabled():
        y.requires_grad_()
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


# %% wrong="no gradient where the strength is 0" breaks="is the gradient of `y` times `-strength`" says=["Reversal.apply, x in torch.float16, of strength 0, (1 * y).sum().backward() left no gradient"]
def gradient_reversal(x: torch.Tensor, strength: float) -> torch.Tensor:
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: grad * -strength)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        if not ctx.strength or not ctx.needs_input_grad[0]:
            return None, None  # nothing comes through
        return grad_output * -ctx.strength, None


# %% wrong="none for a gradient of zeros" breaks="is the gradient of `y` times `-strength`" says=["Reversal.apply, x in torch.float16, of strength 2, (0 * y).sum().backward() left no gradient"]
def gradient_reversal(x, strength):
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda grad: -strength * grad)
    return y


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        if not grad_output.any():
            return None, None
        return -ctx.strength * grad_output, None
