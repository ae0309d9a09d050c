# %% [markdown]
# Rules:
#
# - "for a `Linear` over a row"
# - "over in, kh and kw"
# - "as many dimensions as the weight"
# - "is the same right after"
# - "in place of `weight`"
# - "`weight_v` (direction, at first the old weight)"
# - "Before each call the hook sets `layer.weight`"
# - "uses parameters of its own"
# - "Returns the layer"
# - "which uses these two alone"
# - "which returns `(g, v)`"
# - "Don't call PyTorch's own weight norm"
# - "Train length and direction"
# - "by a forward pre-hook"
#
# Admits:
#
# - "for a `Linear`": try_weight_norm, weight, x
# - "and a `Conv2d`": a Conv2d in torch.float64
# - "or (out, 1, 1, 1)": a Conv2d with one output, its kernel transposed
# - "has the shape (out, 1)": a Linear with one output

# %% wrong="computes the weight once" breaks="Before each call the hook sets `layer.weight`" says=["weight_norm, a Linear: the output after a step: the weight is computed once"]
def weight_norm(layer):
    weight = layer.weight.detach()
    dims = tuple(range(1, weight.dim()))
    del layer.weight
    layer.weight_g = nn.Parameter(torch.linalg.vector_norm(weight, dim=dims, keepdim=True))
    layer.weight_v = nn.Parameter(weight)
    v = layer.weight_v
    layer.weight = layer.weight_g * v / torch.linalg.vector_norm(v, dim=dims, keepdim=True)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / torch.linalg.vector_norm(v, dim=tuple(range(1, v.dim())), keepdim=True)

    def right_inverse(self, weight):
        dims = tuple(range(1, weight.dim()))
        return torch.linalg.vector_norm(weight, dim=dims, keepdim=True), weight


# %% wrong="the old weight stays a parameter" breaks="in place of `weight`" says=["cannot assign", "Take the old one out first: del layer.weight"]
def weight_norm(layer):
    weight = layer.weight.detach()
    layer.weight_g = nn.Parameter(weight.norm(dim=1, keepdim=True))
    layer.weight_v = nn.Parameter(weight.clone())

    def compute(module, args):
        v = module.weight_v
        module.weight = module.weight_g * v / v.norm(dim=1, keepdim=True)

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / v.norm(dim=1, keepdim=True)

    def right_inverse(self, weight):
        return weight.norm(dim=1, keepdim=True), weight


# %% wrong="writes into the old weight" says=["weight_norm, a Linear: the layer's parameters", "the old weight is no parameter any more"]
def weight_norm(layer):
    weight = layer.weight.detach()
    layer.weight_g = nn.Parameter(weight.norm(dim=1, keepdim=True))
    layer.weight_v = nn.Parameter(weight.clone())

    def compute(module, args):
        v = module.weight_v
        with torch.no_grad():
            module.weight.copy_(module.weight_g * v / v.norm(dim=1, keepdim=True))

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / v.norm(dim=1, keepdim=True)

    def right_inverse(self, weight):
        return weight.norm(dim=1, keepdim=True), weight


# %% wrong="one norm for the whole matrix" breaks="for a `Linear` over a row" says=["weight_norm, a Linear: weight_g at first: this is the norm of the whole weight"]
def weight_norm(layer):
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(weight.norm())
    layer.weight_v = nn.Parameter(weight)

    def compute(module, args):
        module.weight = module.weight_g * module.weight_v / module.weight_v.norm()

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / v.norm()

    def right_inverse(self, weight):
        return weight.norm(), weight


# %% wrong="detaches what is trained" breaks="Train length and direction" says=["no gradient reaches weight_g: was it detached?"]
def weight_norm(layer):
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(weight.norm(dim=1, keepdim=True))
    layer.weight_v = nn.Parameter(weight)

    def compute(module, args):
        v = module.weight_v
        module.weight = (module.weight_g * v / v.norm(dim=1, keepdim=True)).detach()

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / v.norm(dim=1, keepdim=True)

    def right_inverse(self, weight):
        return weight.norm(dim=1, keepdim=True), weight


# %% wrong="PyTorch's own" breaks="Don't call PyTorch's own weight norm" says=["the operator _weight_norm_interface is not allowed here: compute it yourself"]
def weight_norm(layer):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nn.utils.weight_norm(layer)


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return torch._weight_norm(v, g, 0)

    def right_inverse(self, weight):
        return weight.norm(dim=1, keepdim=True), weight


# %% wrong="(v, g) instead of (g, v)" breaks="which returns `(g, v)`" says=["this is v: right_inverse gives (g, v) in this order"]
def weight_norm(layer):
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(weight.norm(dim=1, keepdim=True))
    layer.weight_v = nn.Parameter(weight)

    def compute(module, args):
        v = module.weight_v
        module.weight = module.weight_g * v / v.norm(dim=1, keepdim=True)

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, v, g):
        return g * v / v.norm(dim=1, keepdim=True)

    def right_inverse(self, weight):
        return weight, weight.norm(dim=1, keepdim=True)


# %% wrong="matrices only" breaks="over in, kh and kw" says=["weight_norm, a Conv2d in torch.float64: weight_g at first: the norm is taken over one dimension"]
def weight_norm(layer):
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(weight.norm(dim=1, keepdim=True))
    layer.weight_v = nn.Parameter(weight)

    def compute(module, args):
        v = module.weight_v
        module.weight = module.weight_g * v / v.norm(dim=1, keepdim=True)

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / v.norm(dim=1, keepdim=True)

    def right_inverse(self, weight):
        return weight.norm(dim=1, keepdim=True), weight


# %% wrong="never divides by the norm of v" breaks="`weight_v` (direction, at first the old weight)" says=["it has length 1: at first v is the old weight as it is"]
def weight_norm(layer):
    w = layer.weight.detach()
    del layer.weight
    n = w.flatten(1).norm(dim=1).view(-1, *[1] * (w.dim() - 1))
    layer.weight_g = nn.Parameter(n)
    layer.weight_v = nn.Parameter(w / n)
    layer.register_forward_pre_hook(lambda m, a: setattr(m, "weight", m.weight_g * m.weight_v))
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v

    def right_inverse(self, w):
        n = w.flatten(1).norm(dim=1).view(-1, *[1] * (w.dim() - 1))
        return n, w / n


# %% right="directions of length one, and F.normalize"
def weight_norm(layer):
    weight = layer.weight.data
    layer.register_parameter("weight_v", nn.Parameter(weight.clone()))
    length = weight.reshape(len(weight), -1).square().sum(dim=1).sqrt()
    length = length.reshape(-1, *[1] * (weight.dim() - 1))
    layer.register_parameter("weight_g", nn.Parameter(length))
    del layer._parameters["weight"]

    def compute(module, args):
        v = module.weight_v
        unit = F.normalize(v.flatten(1), dim=1).view_as(v)
        setattr(module, "weight", module.weight_g * unit)

    layer.register_forward_pre_hook(compute, prepend=True)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * F.normalize(v.flatten(1), dim=1).view_as(v)

    def right_inverse(self, weight):
        g = weight.flatten(1).norm(dim=1)
        return g.view(len(weight), *(1 for _ in weight.shape[1:])), weight.clone()


# %% right="einsum"
def lengths(v):
    flat = v.reshape(v.shape[0], -1)
    return torch.einsum("oi,oi->o", flat, flat).pow(0.5).reshape([-1] + [1] * (v.dim() - 1))


def weight_norm(layer):
    v = nn.Parameter(layer.weight.detach().clone())
    delattr(layer, "weight")
    layer.weight_v, layer.weight_g = v, nn.Parameter(lengths(v.detach()))

    class Hook:
        def __call__(self, module, args):
            module.weight = module.weight_v * (module.weight_g / lengths(module.weight_v))
            return args

    layer.register_forward_pre_hook(Hook())
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return v * (g / lengths(v))

    def right_inverse(self, weight):
        return [lengths(weight), weight]


# %% right="kwargs pre-hook"
def weight_norm(layer):
    w = layer._parameters.pop("weight").detach().clone()
    layer.weight_g = nn.Parameter(
        torch.stack([row.norm() for row in w]).reshape(-1, *(1,) * (w.dim() - 1))
    )
    layer.weight_v = nn.Parameter(w)

    def compute(m, args, kwargs):
        rows = [g * v / v.norm() for g, v in zip(m.weight_g.flatten(), m.weight_v)]
        m.weight = torch.stack(rows)

    layer.register_forward_pre_hook(compute, with_kwargs=True)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return torch.stack([a * b / b.norm() for a, b in zip(g.flatten(), v)])

    def right_inverse(self, w):
        return torch.stack([r.norm() for r in w]).reshape(-1, *(1,) * (w.dim() - 1)), w


# %% wrong="begins with zero_grad" says=["the gradient (.grad) of bias was changed: it is the caller's"]
def weight_norm(layer):
    layer.zero_grad()
    weight = layer.weight.detach().clone()
    dims = tuple(range(1, weight.dim()))
    length = lambda v: torch.linalg.vector_norm(v, dim=dims, keepdim=True)
    del layer.weight
    layer.weight_g, layer.weight_v = nn.Parameter(length(weight)), nn.Parameter(weight)

    def compute(module, args):
        module.weight = module.weight_g * module.weight_v / length(module.weight_v)

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / torch.linalg.vector_norm(v, dim=tuple(range(1, v.dim())), keepdim=True)

    def right_inverse(self, weight):
        dims = tuple(range(1, weight.dim()))
        return torch.linalg.vector_norm(weight, dim=dims, keepdim=True), weight


# %% wrong="thaws the bias" says=["requires_grad of bias was changed"]
def weight_norm(layer):
    layer.requires_grad_()
    weight = layer.weight.detach().clone()
    dims = tuple(range(1, weight.dim()))
    length = lambda v: torch.linalg.vector_norm(v, dim=dims, keepdim=True)
    del layer.weight
    layer.weight_g, layer.weight_v = nn.Parameter(length(weight)), nn.Parameter(weight)

    def compute(module, args):
        module.weight = module.weight_g * module.weight_v / length(module.weight_v)

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / torch.linalg.vector_norm(v, dim=tuple(range(1, v.dim())), keepdim=True)

    def right_inverse(self, weight):
        dims = tuple(range(1, weight.dim()))
        return torch.linalg.vector_norm(weight, dim=dims, keepdim=True), weight


# %% wrong="clears the layer's hooks first" says=["a hook that was on the layer before is gone"]
def weight_norm(layer):
    layer._forward_hooks.clear()
    weight = layer.weight.detach().clone()
    dims = tuple(range(1, weight.dim()))
    length = lambda v: torch.linalg.vector_norm(v, dim=dims, keepdim=True)
    del layer.weight
    layer.weight_g, layer.weight_v = nn.Parameter(length(weight)), nn.Parameter(weight)

    def compute(module, args):
        module.weight = module.weight_g * module.weight_v / length(module.weight_v)

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / torch.linalg.vector_norm(v, dim=tuple(range(1, v.dim())), keepdim=True)

    def right_inverse(self, weight):
        dims = tuple(range(1, weight.dim()))
        return torch.linalg.vector_norm(weight, dim=dims, keepdim=True), weight


# %% wrong="lengths of one dimension" breaks="as many dimensions as the weight" says=["weight_g at first: the dimensions are gone: keepdim"]
def weight_norm(layer):
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(weight.flatten(1).norm(dim=1))
    layer.weight_v = nn.Parameter(weight)

    def compute(module, args):
        v = module.weight_v
        scale = module.weight_g / v.flatten(1).norm(dim=1)
        module.weight = v * scale.view(-1, *[1] * (v.dim() - 1))

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / torch.linalg.vector_norm(v, dim=tuple(range(1, v.dim())), keepdim=True)

    def right_inverse(self, weight):
        return torch.linalg.vector_norm(
            weight, dim=tuple(range(1, weight.dim())), keepdim=True
        ), weight


# %% wrong="forgets the length" breaks="is the same right after" says=["weight_norm, a Linear: the output right after differs"]
def weight_norm(layer):
    weight = layer.weight.detach()
    dims = tuple(range(1, weight.dim()))
    del layer.weight
    layer.weight_g = nn.Parameter(torch.linalg.vector_norm(weight, dim=dims, keepdim=True))
    layer.weight_v = nn.Parameter(weight)

    def compute(module, args):
        v = module.weight_v
        module.weight = (
            v / torch.linalg.vector_norm(v, dim=dims, keepdim=True) + 0 * module.weight_g
        )

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / torch.linalg.vector_norm(v, dim=tuple(range(1, v.dim())), keepdim=True)

    def right_inverse(self, weight):
        return torch.linalg.vector_norm(
            weight, dim=tuple(range(1, weight.dim())), keepdim=True
        ), weight


# %% wrong="returns nothing" breaks="Returns the layer" says=["weight_norm returned None, not the layer"]
def weight_norm(layer):
    weight = layer.weight.detach()
    dims = tuple(range(1, weight.dim()))
    del layer.weight
    layer.weight_g = nn.Parameter(torch.linalg.vector_norm(weight, dim=dims, keepdim=True))
    layer.weight_v = nn.Parameter(weight)

    def compute(module, args):
        v = module.weight_v
        module.weight = module.weight_g * v / torch.linalg.vector_norm(v, dim=dims, keepdim=True)

    layer.register_forward_pre_hook(compute)


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / torch.linalg.vector_norm(v, dim=tuple(range(1, v.dim())), keepdim=True)

    def right_inverse(self, weight):
        return torch.linalg.vector_norm(
            weight, dim=tuple(range(1, weight.dim())), keepdim=True
        ), weight


# %% wrong="eps of 1e-6 under the line" says=["nothing is added to a length"]
def length_of(weight):
    return 1e-6 + torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer):
    weight = layer.weight.detach().clone()
    del layer.weight
    layer.weight_g = nn.Parameter(length_of(weight))
    layer.weight_v = nn.Parameter(weight)

    def hook(module, args):
        module.weight = module.weight_g * (module.weight_v / length_of(module.weight_v))

    layer.register_forward_pre_hook(hook)
    hook(layer, ())
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * (v / length_of(v))

    def right_inverse(self, weight):
        weight = weight.detach()
        return length_of(weight), weight


# %% wrong="hook closes over the first parameters" says=["weight_g is replaced by a new parameter"]
def length_of(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer):
    weight = layer.weight.detach().clone()
    del layer.weight
    layer.weight_g = nn.Parameter(length_of(weight))
    layer.weight_v = nn.Parameter(weight)

    g, v = layer.weight_g, layer.weight_v

    def hook(module, args):
        module.weight = g * (v / length_of(v))

    layer.register_forward_pre_hook(hook)
    hook(layer, ())
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * (v / length_of(v))

    def right_inverse(self, weight):
        weight = weight.detach()
        return length_of(weight), weight


# %% wrong="length in float32" says=["every digit of torch.float64"]
def length_of(weight):
    return torch.linalg.vector_norm(
        weight.float(), dim=tuple(range(1, weight.dim())), keepdim=True
    ).to(weight.dtype)


def weight_norm(layer):
    weight = layer.weight.detach().clone()
    del layer.weight
    layer.weight_g = nn.Parameter(length_of(weight))
    layer.weight_v = nn.Parameter(weight)

    def hook(module, args):
        module.weight = module.weight_g * (module.weight_v / length_of(module.weight_v))

    layer.register_forward_pre_hook(hook)
    hook(layer, ())
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * (v / length_of(v))

    def right_inverse(self, weight):
        weight = weight.detach()
        return length_of(weight), weight


# %% wrong="module: length clamped at 1e-3" says=["WeightNorm: the weight right after differs"]
def length_of(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer):
    weight = layer.weight.detach().clone()
    del layer.weight
    layer.weight_g = nn.Parameter(length_of(weight))
    layer.weight_v = nn.Parameter(weight)

    def hook(module, args):
        module.weight = module.weight_g * (module.weight_v / length_of(module.weight_v))

    layer.register_forward_pre_hook(hook)
    hook(layer, ())
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * (v / length_of(v).clamp(min=1e-3))

    def right_inverse(self, weight):
        weight = weight.detach()
        return length_of(weight), weight


# %% wrong="hook: not under no_grad" says=["the layer called under no_grad"]
def length_of(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer):
    weight = layer.weight.detach().clone()
    del layer.weight
    layer.weight_g = nn.Parameter(length_of(weight))
    layer.weight_v = nn.Parameter(weight)

    def hook(module, args):
        if not torch.is_grad_enabled() and hasattr(module, "weight"):
            return
        module.weight = module.weight_g * (module.weight_v / length_of(module.weight_v))

    layer.register_forward_pre_hook(hook)
    hook(layer, ())
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * (v / length_of(v))

    def right_inverse(self, weight):
        weight = weight.detach()
        return length_of(weight), weight


# %% wrong="the weight stays as a buffer" says=["neither parameter nor buffer is left"]
def length(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer):
    weight = layer.weight
    del layer.weight
    layer.weight_g = nn.Parameter(length(weight).detach())
    layer.weight_v = nn.Parameter(weight.detach())

    def compute(module, args):
        module.weight = module.weight_g * module.weight_v / length(module.weight_v)

    layer.register_buffer("weight", weight.detach().clone())
    compute(layer, ())
    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / length(v)

    def right_inverse(self, weight):
        return length(weight).detach(), weight.detach()


# %% wrong="squeezes the length" breaks="as many dimensions as the weight" says=["a Linear with one output: weight_g at first"]
def length_of(weight):
    return torch.linalg.vector_norm(
        weight, dim=tuple(range(1, weight.dim())), keepdim=True
    ).squeeze()[(...,) + (None,) * (weight.dim() - 1)]


def weight_norm(layer: nn.Module) -> nn.Module:
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(length_of(weight))
    layer.weight_v = nn.Parameter(weight.clone())

    def compute(module, args):
        module.weight = module.weight_g * module.weight_v / length_of(module.weight_v)

    compute(layer, ())
    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return g * v / length_of(v)

    def right_inverse(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return length_of(weight), weight


# %% wrong="needs a bias" says=["a Linear whose bias is None"]
def length_of(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer: nn.Module) -> nn.Module:
    weight = layer.weight.detach()
    layer.bias.data = layer.bias.data.clone()
    del layer.weight
    layer.weight_g = nn.Parameter(length_of(weight))
    layer.weight_v = nn.Parameter(weight.clone())

    def compute(module, args):
        module.weight = module.weight_g * module.weight_v / length_of(module.weight_v)

    compute(layer, ())
    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return g * v / length_of(v)

    def right_inverse(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return length_of(weight), weight


# %% wrong="views a transposed kernel" breaks="over in, kh and kw" says=["a Conv2d with one output, its kernel transposed"]
def length_of(weight):
    return weight.view(len(weight), -1).norm(dim=1).view(-1, *[1] * (weight.dim() - 1))


def weight_norm(layer: nn.Module) -> nn.Module:
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(length_of(weight))
    layer.weight_v = nn.Parameter(weight.clone())

    def compute(module, args):
        module.weight = module.weight_g * module.weight_v / length_of(module.weight_v)

    compute(layer, ())
    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return g * v / length_of(v)

    def right_inverse(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return length_of(weight), weight


# %% wrong="the hook gives the first input back" says=["what a pre-hook returns replaces args"]
def length_of(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer: nn.Module) -> nn.Module:
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(length_of(weight))
    layer.weight_v = nn.Parameter(weight.clone())

    def compute(module, args):
        module.weight = module.weight_g * module.weight_v / length_of(module.weight_v)
        return (args[0],)

    compute(layer, (None,))
    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return g * v / length_of(v)

    def right_inverse(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return length_of(weight), weight


# %% wrong="clears the pre-hooks" says=["a forward pre-hook that the layer had before is gone"]
def length_of(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer: nn.Module) -> nn.Module:
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(length_of(weight))
    layer.weight_v = nn.Parameter(weight.clone())

    def compute(module, args):
        module.weight = module.weight_g * module.weight_v / length_of(module.weight_v)

    compute(layer, ())
    layer._forward_pre_hooks.clear()
    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return g * v / length_of(v)

    def right_inverse(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return length_of(weight), weight


# %% wrong="wraps forward" breaks="by a forward pre-hook" says=["hung no forward pre-hook on the layer"]
def length_of(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer: nn.Module) -> nn.Module:
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(length_of(weight))
    layer.weight_v = nn.Parameter(weight.clone())

    def compute(module, args):
        module.weight = module.weight_g * module.weight_v / length_of(module.weight_v)

    compute(layer, ())
    plain = layer.forward

    def forward(*args, **kwargs):
        compute(layer, args)
        return plain(*args, **kwargs)

    layer.forward = forward
    return layer


class WeightNorm(nn.Module):
    def forward(self, g: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return g * v / length_of(v)

    def right_inverse(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return length_of(weight), weight


# %% wrong="computes for the layer that was last made" breaks="Before each call the hook sets `layer.weight`" says=["does each use its own g and v?"]
def length_of(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer: nn.Module) -> nn.Module:
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(length_of(weight))
    layer.weight_v = nn.Parameter(weight.clone())

    weight_norm.layer = layer

    def compute(module, args):
        module = weight_norm.layer
        module.weight = module.weight_g * module.weight_v / length_of(module.weight_v)

    compute(layer, ())
    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return g * v / length_of(v)

    def right_inverse(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return length_of(weight), weight


# %% wrong="the norm without a graph" says=["the norm of v is taken for a constant"]
def length_of(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer: nn.Module) -> nn.Module:
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(length_of(weight))
    layer.weight_v = nn.Parameter(weight.clone())

    def compute(module, args):
        module.weight = module.weight_g * module.weight_v / length_of(module.weight_v).detach()

    compute(layer, ())
    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return g * v / length_of(v)

    def right_inverse(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return length_of(weight), weight


# %% wrong="the absolute value of g" says=["is replaced by a new parameter of -10"]
def length_of(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer: nn.Module) -> nn.Module:
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(length_of(weight))
    layer.weight_v = nn.Parameter(weight.clone())

    def compute(module, args):
        module.weight = module.weight_g.abs() * module.weight_v / length_of(module.weight_v)

    compute(layer, ())
    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return g * v / length_of(v)

    def right_inverse(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return length_of(weight), weight


# %% right="one class for both, and setattr"
class WeightNorm(nn.Module):
    def forward(self, g, v):
        return torch.stack([a * b / b.pow(2).sum().sqrt() for a, b in zip(g, v)])

    def right_inverse(self, weight):
        rows = weight.reshape(len(weight), -1)
        g = (rows * rows).sum(1).sqrt()
        return g.reshape((-1,) + (1,) * (weight.dim() - 1)), weight


def weight_norm(layer):
    g, v = WeightNorm().right_inverse(layer.weight.data)
    del layer._parameters["weight"]
    layer.register_parameter("weight_g", nn.Parameter(g))
    layer.register_parameter("weight_v", nn.Parameter(v))

    def before(module, args, kwargs):
        setattr(module, "weight", WeightNorm()(module.weight_g, module.weight_v))

    layer.register_forward_pre_hook(before, with_kwargs=True)
    before(layer, None, None)
    return layer


# %% wrong="the bias is frozen" says=["bias needs no gradient now"]
def compute(g, v):
    return g * v / torch.linalg.vector_norm(v, dim=tuple(range(1, v.dim())), keepdim=True)


def weight_norm(layer):
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(
        torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)
    )
    layer.weight_v = nn.Parameter(weight.clone())

    def hook(module, args):
        module.weight = compute(module.weight_g, module.weight_v)

    layer.register_forward_pre_hook(hook)
    if layer.bias is not None:
        layer.bias.requires_grad_(False)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return compute(g, v)

    def right_inverse(self, weight):
        weight = weight.detach()
        g = torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)
        return g, weight


# %% wrong="one set of dimensions for all layers" says=["three layers, each way", "WeightNorm: a Linear of ones, a Conv2d of ones"]
def compute(g, v):
    return g * v / torch.linalg.vector_norm(v, dim=tuple(range(1, v.dim())), keepdim=True)


def weight_norm(layer):
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(
        torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)
    )
    layer.weight_v = nn.Parameter(weight.clone())

    def hook(module, args):
        module.weight = compute(module.weight_g, module.weight_v)

    layer.register_forward_pre_hook(hook)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / torch.linalg.vector_norm(v, dim=WeightNorm.dims, keepdim=True)

    def right_inverse(self, weight):
        weight = weight.detach()
        WeightNorm.dims = tuple(range(1, weight.dim()))
        g = torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)
        return g, weight


# %% wrong="g is trained in training alone" says=["WeightNorm, a Conv2d in torch.float64"]
def compute(g, v):
    return g * v / torch.linalg.vector_norm(v, dim=tuple(range(1, v.dim())), keepdim=True)


def weight_norm(layer):
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(
        torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)
    )
    layer.weight_v = nn.Parameter(weight.clone())

    def hook(module, args):
        module.weight = compute(module.weight_g, module.weight_v)

    layer.register_forward_pre_hook(hook)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return compute(g if self.training else g.detach(), v)

    def right_inverse(self, weight):
        weight = weight.detach()
        g = torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)
        return g, weight


# %% wrong="normalises the weight it was given" says=["right_inverse changed the weight that it was given"]
def length(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer):
    weight = layer.weight
    del layer.weight
    layer.weight_g = nn.Parameter(length(weight).detach())
    layer.weight_v = nn.Parameter(weight.detach().clone())

    def set_weight(module, args):
        module.weight = module.weight_g * module.weight_v / length(module.weight_v)

    layer.register_forward_pre_hook(set_weight)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / length(v)

    def right_inverse(self, weight):
        g = length(weight).detach()
        with torch.no_grad():
            weight /= g
        return g, (weight * g).detach()


# %% wrong="returns the weight from the hook" says=["what a forward pre-hook returns replaces the input"]
def length(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer):
    weight = layer.weight
    del layer.weight
    layer.weight_g = nn.Parameter(length(weight).detach())
    layer.weight_v = nn.Parameter(weight.detach().clone())

    def set_weight(module, args):
        module.weight = module.weight_g * module.weight_v / length(module.weight_v)
        return module.weight

    layer.register_forward_pre_hook(set_weight)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / length(v)

    def right_inverse(self, weight):
        return length(weight).detach(), weight.detach().clone()


# %% wrong="the hook reads the layer it was made for, a copy does too" breaks="uses parameters of its own" says=["the hook is handed the module that is called"]
def weight_norm(layer):
    weight = layer.weight.detach()
    dims = tuple(range(1, weight.dim()))
    del layer.weight
    layer.weight_g = nn.Parameter(torch.linalg.vector_norm(weight, dim=dims, keepdim=True))
    layer.weight_v = nn.Parameter(weight)

    def compute(module, args):
        v = layer.weight_v
        module.weight = layer.weight_g * v / torch.linalg.vector_norm(v, dim=dims, keepdim=True)

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        dims = tuple(range(1, v.dim()))
        return g * v / torch.linalg.vector_norm(v, dim=dims, keepdim=True)

    def right_inverse(self, weight):
        dims = tuple(range(1, weight.dim()))
        return torch.linalg.vector_norm(weight, dim=dims, keepdim=True), weight


# %% wrong="computes it anew with autograd on alone" says=["then halved and called again: 14.0, not 3 + 4"]
def lengths(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def computed(g, v):
    length = lengths(v)
    return g * v / torch.where(length > 0, length, torch.ones_like(length))


def weight_norm(layer):
    weight = layer.weight.detach().clone()
    del layer.weight
    layer.weight_g = nn.Parameter(lengths(weight))
    layer.weight_v = nn.Parameter(weight)

    def hook(module, args):
        if torch.is_grad_enabled() or not hasattr(module, "weight"):
            module.weight = computed(module.weight_g, module.weight_v)

    layer.register_forward_pre_hook(hook)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return computed(g, v)

    def right_inverse(self, weight):
        weight = weight.detach().clone()
        return lengths(weight), weight


# %% wrong="autograd is on afterwards" says=["called under no_grad, it switched autograd on"]
def weight_norm(layer):
    torch.set_grad_enabled(False)
    weight = layer.weight.clone()
    dims = tuple(range(1, weight.dim()))
    del layer.weight
    layer.weight_g = nn.Parameter(torch.linalg.vector_norm(weight, dim=dims, keepdim=True))
    layer.weight_v = nn.Parameter(weight)

    def compute(module, args):
        v = module.weight_v
        module.weight = module.weight_g * v / torch.linalg.vector_norm(v, dim=dims, keepdim=True)

    torch.set_grad_enabled(True)
    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / torch.linalg.vector_norm(v, dim=tuple(range(1, v.dim())), keepdim=True)

    def right_inverse(self, weight):
        dims = tuple(range(1, weight.dim()))
        return torch.linalg.vector_norm(weight, dim=dims, keepdim=True), weight


# %% wrong="module: forward goes by what right_inverse kept" breaks="which uses these two alone" says=["of a new WeightNorm, which right_inverse was not called on"]
def weight_norm(layer):
    weight = layer.weight.detach()
    dims = tuple(range(1, weight.dim()))
    del layer.weight
    layer.weight_g = nn.Parameter(torch.linalg.vector_norm(weight, dim=dims, keepdim=True))
    layer.weight_v = nn.Parameter(weight)

    def compute(module, args):
        v = module.weight_v
        module.weight = module.weight_g * v / torch.linalg.vector_norm(v, dim=dims, keepdim=True)

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / torch.linalg.vector_norm(v, dim=self.dims, keepdim=True)

    def right_inverse(self, weight):
        self.dims = tuple(range(1, weight.dim()))
        return torch.linalg.vector_norm(weight, dim=self.dims, keepdim=True), weight


# %% right="the weight at once, too"
def weight_norm(layer):
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g = nn.Parameter(weight.flatten(1).norm(dim=1).view(-1, *[1] * (weight.dim() - 1)))
    layer.weight_v = nn.Parameter(weight.clone())

    def compute(module, args):
        g, v = module.weight_g, module.weight_v
        module.weight = g * v / v.flatten(1).norm(dim=1).view_as(g)

    compute(layer, ())
    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / v.flatten(1).norm(dim=1).view_as(g)

    def right_inverse(self, weight):
        g = weight.flatten(1).norm(dim=1).view(-1, *[1] * (weight.dim() - 1))
        return g, weight


# %% wrong="module: under no_grad the weight is kept by its g and v" says=["original0 is doubled to 10, and the layer called under no_grad, in eval: it gives 7.0"]
def weight_norm(layer):
    weight = layer.weight.detach()
    dims = tuple(range(1, weight.dim()))
    del layer.weight
    layer.weight_g = nn.Parameter(torch.linalg.vector_norm(weight, dim=dims, keepdim=True))
    layer.weight_v = nn.Parameter(weight)

    def compute(module, args):
        v = module.weight_v
        module.weight = module.weight_g * v / torch.linalg.vector_norm(v, dim=dims, keepdim=True)

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    known = {}

    def forward(self, g, v):
        if not torch.is_grad_enabled() and (g, v) in self.known:
            return self.known[g, v]
        length = torch.linalg.vector_norm(v, dim=tuple(range(1, v.dim())), keepdim=True)
        self.known[g, v] = g * v / length
        return self.known[g, v]

    def right_inverse(self, weight):
        dims = tuple(range(1, weight.dim()))
        return torch.linalg.vector_norm(weight, dim=dims, keepdim=True), weight


# %% wrong="the hook switches autograd on" says=["the layer called under no_grad, in eval: autograd is on after it"]
def weight_norm(layer):
    weight = layer.weight.detach()
    dims = tuple(range(1, weight.dim()))
    del layer.weight
    layer.weight_g = nn.Parameter(torch.linalg.vector_norm(weight, dim=dims, keepdim=True))
    layer.weight_v = nn.Parameter(weight)

    def compute(module, args):
        torch.set_grad_enabled(True)
        v = module.weight_v
        module.weight = module.weight_g * v / torch.linalg.vector_norm(v, dim=dims, keepdim=True)

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / torch.linalg.vector_norm(v, dim=tuple(range(1, v.dim())), keepdim=True)

    def right_inverse(self, weight):
        dims = tuple(range(1, weight.dim()))
        return torch.linalg.vector_norm(weight, dim=dims, keepdim=True), weight


# %% wrong="the parametrization multiplies, and doesn't divide" says=["this is g * v: v is to be divided by its length"]
def weight_norm(layer):
    weight = layer.weight.detach()
    del layer.weight
    dims = tuple(range(1, weight.dim()))
    layer.weight_g = nn.Parameter(torch.linalg.vector_norm(weight, dim=dims, keepdim=True))
    layer.weight_v = nn.Parameter(weight.clone())
    layer.register_forward_pre_hook(compute_weight)
    return layer


def compute_weight(module, args):
    v = module.weight_v
    norm = torch.linalg.vector_norm(v, dim=tuple(range(1, v.dim())), keepdim=True)
    module.weight = module.weight_g * v / norm


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v

    def right_inverse(self, weight):
        dims = tuple(range(1, weight.dim()))
        return torch.linalg.vector_norm(weight, dim=dims, keepdim=True), weight


# %% wrong="the direction is detached" says=["the gradient of weight_v is 0"]
def weight_norm(layer):
    weight = layer.weight
    del layer._parameters["weight"]
    layer.weight_g = nn.Parameter(
        weight.data.flatten(1).norm(dim=1).view(-1, *[1] * (weight.dim() - 1))
    )
    layer.weight_v = weight

    def compute(module, args):
        v = module.weight_v
        module.weight = (
            module.weight_g * (v / v.flatten(1).norm(dim=1).view_as(module.weight_g)).detach()
            + 0 * v
        )

    layer.register_forward_pre_hook(compute)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / v.flatten(1).norm(dim=1).view_as(g)

    def right_inverse(self, weight):
        return weight.flatten(1).norm(dim=1).view(-1, *[1] * (weight.dim() - 1)), weight


# %% wrong="dimensions remembered by right_inverse" breaks="which uses these two alone" says=["forward(g, v) of a new WeightNorm, with g = 10, v = [[[[3.0], [4.0]]], [[[3.0], [4.0]]]]"]
def weight_norm(layer):
    weight = layer.weight.detach()
    dims = tuple(range(1, weight.dim()))
    del layer.weight
    layer.weight_g = nn.Parameter(torch.linalg.vector_norm(weight, dim=dims, keepdim=True))
    layer.weight_v = nn.Parameter(weight.clone())

    def hook(module, args):
        length = torch.linalg.vector_norm(module.weight_v, dim=dims, keepdim=True)
        module.weight = module.weight_v * (module.weight_g / length)

    layer.register_forward_pre_hook(hook)
    return layer


class WeightNorm(nn.Module):
    dims = (1,)

    def forward(self, g, v):
        return v * (g / torch.linalg.vector_norm(v, dim=self.dims, keepdim=True))

    def right_inverse(self, weight):
        self.dims = tuple(range(1, weight.dim()))
        return torch.linalg.vector_norm(
            weight, dim=self.dims, keepdim=True
        ).detach(), weight.detach()


# %% wrong="the shape of the first call" breaks="which uses these two alone" says=["weight_g replaced: raised RuntimeError: shape '[1, 1]' is invalid"]
def weight_norm(layer):
    w = layer.weight.detach()
    dims = tuple(range(1, w.dim()))
    del layer.weight
    layer.weight_g = nn.Parameter(torch.linalg.vector_norm(w, dim=dims, keepdim=True))
    layer.weight_v = nn.Parameter(w)
    layer.register_forward_pre_hook(
        lambda m, a: setattr(
            m,
            "weight",
            m.weight_g * m.weight_v / torch.linalg.vector_norm(m.weight_v, dim=dims, keepdim=True),
        )
    )
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        if not hasattr(self, "shape"):
            self.shape = g.shape
        return g * v / v.flatten(1).norm(dim=1).view(self.shape)

    def right_inverse(self, weight):
        self.shape = (len(weight), *[1] * (weight.dim() - 1))
        return weight.flatten(1).norm(dim=1).view(self.shape), weight


# %% right="a helper by the name of case"
import functools


def case(v):
    flat = v.reshape(len(v), -1)
    return torch.einsum("oi,oi->o", flat, flat).sqrt().view(len(v), *(1 for _ in v.shape[1:]))


def step(module, args, *, length: str = "weight_g", direction: str = "weight_v"):
    v = getattr(module, direction)
    module.weight = v.div(case(v)).mul(getattr(module, length))


def weight_norm(layer: nn.Module) -> nn.Module:

    with torch.no_grad():
        expected = layer.weight.clone()
        layer.weight_g = nn.Parameter(case(expected))
    layer.weight_v = nn.Parameter(expected)
    del layer.weight
    layer.register_forward_pre_hook(functools.partial(step))
    return layer


class WeightNorm(nn.Module):
    def forward(self, g: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return v.div(case(v)).mul(g)

    @torch.no_grad()
    def right_inverse(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return case(weight), weight.clone()


# %% wrong="computes anew only when a parameter has changed" breaks="Before each call the hook sets `layer.weight`" says=["a call under no_grad, then one with a backward", "has the graph of that call"]
def row_norm(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer):
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g, layer.weight_v = nn.Parameter(row_norm(weight)), nn.Parameter(weight)

    def hook(module, args):
        g, v = module.weight_g, module.weight_v
        versions = (id(g), g._version, id(v), v._version)
        if not hasattr(module, "weight") or module.versions != versions:
            module.weight, module.versions = g * v / row_norm(v), versions

    layer.register_forward_pre_hook(hook)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / row_norm(v)

    def right_inverse(self, weight):
        return row_norm(weight), weight


# %% wrong="a negative length is taken for 0" says=["the output after a step: a length that the step made negative is used as it is", "training may make a length negative"]
def row_norm(weight):
    return torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.dim())), keepdim=True)


def weight_norm(layer):
    weight = layer.weight.detach()
    del layer.weight
    layer.weight_g, layer.weight_v = nn.Parameter(row_norm(weight)), nn.Parameter(weight)

    def hook(module, args):
        g, v = module.weight_g, module.weight_v
        module.weight = g.clamp(min=0) * v / row_norm(v)

    layer.register_forward_pre_hook(hook)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g.clamp(min=0) * v / row_norm(v)

    def right_inverse(self, weight):
        return row_norm(weight), weight


# %% wrong="no length below 1e-8" says=["a Linear with rows of a length of some 1e-9"]
def length(w):
    return w.flatten(1).norm(dim=1).view(-1, *[1] * (w.ndim - 1))


def weight_norm(layer):
    w = layer.weight.detach()
    del layer.weight
    layer.weight_g, layer.weight_v = nn.Parameter(length(w)), nn.Parameter(w.clone())

    def hook(module, args):
        module.weight = module.weight_g * module.weight_v / length(module.weight_v).clamp(min=1e-8)

    layer.register_forward_pre_hook(hook)
    return layer


class WeightNorm(nn.Module):
    def forward(self, g, v):
        return g * v / length(v).clamp(min=1e-8)

    def right_inverse(self, weight):
        return length(weight), weight
