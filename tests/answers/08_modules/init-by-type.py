# %% [markdown]
# Rules:
#
# - "at any depth"
# - "`model` itself included"
# - "frozen or not"
# - "a subclass counts as its parent"
# - "weights normal"
# - "mean 0"
# - "variance 2 / fan_in"
# - "weights uniform between ±√(6 / (n_in + n_out))"
# - "Bias 0, if any"
# - "weight 1, bias 0, if any"
# - "Its running statistics stay"
# - "other layers (`Conv1d` and `ConvTranspose2d` among them)"
# - "`requires_grad`, `.grad`, dtypes"
# - "the modes"
# - "the Parameter objects"
# - "The numbers are drawn from PyTorch's global generator"
# - "anew for each layer"
# - "you don't seed it"
# - "the mean square of each linear layer's output"
# - "as a list of numbers"
# - "standard deviation `stds[i]`"
# - "Between two layers there is a ReLU"
# - "Layer i goes from `sizes[i]` to `sizes[i + 1]` numbers"
#
# Admits:
#
# - "`model` itself included": a model that is itself a Linear
# - "frozen or not": frozen (a new start all the same)
# - "dtypes": a model in float64

# %% wrong="only the top level" breaks="at any depth" says=["inner.deep.0", "as PyTorch starts it"]
def init_by_type(model):
    for module in model.children():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        if isinstance(module, (nn.Conv2d, nn.Linear)) and module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    return [1.0]


# %% wrong="fan_out, batch norm's bias 1, no ReLU in the prediction" says=["is that for fan_out", "the bias is not 0: 0 is the neutral start"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d) and module.affine:
            nn.init.ones_(module.weight)
            nn.init.ones_(module.bias)
        if isinstance(module, (nn.Conv2d, nn.Linear)) and module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    found, q = [], 1.0
    for n, std in zip(sizes, stds):
        q *= n * std**2
        found.append(q)
    return found


# %% wrong="no ReLU in the prediction" breaks="Between two layers there is a ReLU" says=["a ReLU halves the mean square on its way"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d) and module.affine:
            nn.init.ones_(module.weight)
        if isinstance(module, (nn.Conv2d, nn.Linear, nn.BatchNorm2d)) and module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    found, q = [], 1.0
    for n, std in zip(sizes, stds):
        q *= n * std**2
        found.append(q)
    return found


# %% wrong="halved at once" breaks="the mean square of each linear layer's output" says=["an output is measured before it"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d) and module.affine:
            nn.init.ones_(module.weight)
        if isinstance(module, (nn.Conv2d, nn.Linear, nn.BatchNorm2d)) and module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    found, q = [], 1.0
    for n, std in zip(sizes, stds):
        q *= n * std**2 / 2
        found.append(q)
    return found


# %% wrong="xavier normal, variance 1 / fan_in" says=["0.577 if they are uniform", "the 2 makes up for the ReLU"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="linear")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_normal_(module.weight)
        elif isinstance(module, nn.BatchNorm2d) and module.affine:
            nn.init.ones_(module.weight)
        if isinstance(module, (nn.Conv2d, nn.Linear, nn.BatchNorm2d)) and module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    return [1.0]


# %% wrong="everything with a weight" says=["norm.weight: it was changed", "table.weight: it was changed"]
def init_by_type(model):
    for name, parameter in model.named_parameters():
        if parameter.dim() == 4:
            nn.init.kaiming_normal_(parameter)
        elif parameter.dim() == 2:
            nn.init.xavier_uniform_(parameter)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
        else:
            nn.init.ones_(parameter)


def predict_squares(sizes, stds):
    found, q = [], 2.0
    for n, std in zip(sizes, stds):
        q *= n * std**2 / 2
        found.append(q)
    return found


# %% wrong="new Parameters" breaks="the Parameter objects" says=["some Parameters are new objects"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            module.weight = nn.Parameter(nn.init.kaiming_normal_(torch.empty_like(module.weight)))
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d) and module.affine:
            nn.init.ones_(module.weight)
        if isinstance(module, (nn.Conv2d, nn.Linear, nn.BatchNorm2d)) and module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    found, q = [], 2.0
    for n, std in zip(sizes, stds):
        q *= n * std**2 / 2
        found.append(q)
    return found


# %% wrong="the running statistics as well; subclasses left out" says=["own, Projection", "inner.deep.1.running_mean: it was changed"]
def init_by_type(model):
    for module in model.modules():
        if type(module) is nn.Conv2d:
            nn.init.kaiming_normal_(module.weight)
        elif type(module) is nn.Linear:
            nn.init.xavier_uniform_(module.weight)
        elif type(module) is nn.BatchNorm2d:
            module.reset_parameters()
        if type(module) in (nn.Conv2d, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    found, q = [], 2.0
    for n, std in zip(sizes, stds):
        q *= n * std**2 / 2
        found.append(q)
    return found


# %% wrong="all positive" breaks="mean 0" says=["the mean is", "not 0"]
def init_by_type(model):
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Conv2d):
                std = (2 / module.weight[0].numel()) ** 0.5
                module.weight.copy_(torch.rand_like(module.weight) * std)
            elif isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
            elif isinstance(module, nn.BatchNorm2d) and module.affine:
                nn.init.ones_(module.weight)
            if (
                isinstance(module, (nn.Conv2d, nn.Linear, nn.BatchNorm2d))
                and module.bias is not None
            ):
                module.bias.zero_()


def predict_squares(sizes, stds):
    found, q = [], 2.0
    for n, std in zip(sizes, stds):
        q *= n * std**2 / 2
        found.append(q)
    return found


# %% right="by hand, through apply; tensors for the squares"
@torch.no_grad()
def start(module):
    bias = getattr(module, "bias", None)
    if isinstance(module, nn.Conv2d):
        module.weight.normal_(0, (2 / module.weight[0].numel()) ** 0.5)
    elif isinstance(module, nn.Linear):
        bound = (6 / (module.in_features + module.out_features)) ** 0.5
        module.weight.uniform_(-bound, bound)
    elif isinstance(module, nn.BatchNorm2d):
        if module.affine:
            module.weight.fill_(1)
    else:
        return
    if bias is not None:
        bias.zero_()


def init_by_type(model):
    return model.apply(start)


def predict_squares(sizes, stds):
    factors = (
        torch.tensor(sizes[: len(stds)], dtype=torch.float64) * torch.tensor(stds).double() ** 2
    )
    return (2 * (factors / 2).cumprod(0)).tolist()


# %% right="a table of types; recursion over the layers"
STARTS = {
    nn.Conv2d: lambda w: nn.init.kaiming_normal_(w, a=0, mode="fan_in"),
    nn.Linear: nn.init.xavier_uniform_,
    nn.BatchNorm2d: nn.init.ones_,
}


def init_by_type(model):
    for module in model.modules():
        for kind, init in STARTS.items():
            if isinstance(module, kind):
                for name, parameter in module.named_parameters(recurse=False):
                    init(parameter) if name == "weight" else nn.init.constant_(parameter, 0.0)


def predict_squares(sizes, stds, q=2.0):
    if not stds:
        return ()
    q = sizes[0] * stds[0] * stds[0] * q / 2
    return (q, *predict_squares(sizes[1:], stds[1:], q))


# %% wrong="the model itself is left out" breaks="`model` itself included" says=["a model that is itself a Linear"]
def init_by_type(model):
    @torch.no_grad()
    def start(module):
        if isinstance(module, nn.Conv2d):
            w = module.weight
            fan_in = w[0].numel()
            w.copy_(torch.randn_like(w).mul((2 / fan_in) ** 0.5))
        elif isinstance(module, nn.Linear):
            w = module.weight
            bound = (6 / sum(w.shape)) ** 0.5
            w.copy_((2 * torch.rand_like(w) - 1) * bound)
        elif isinstance(module, nn.BatchNorm2d):
            if module.affine:
                module.weight.fill_(1)
        else:
            return
        if module.bias is not None:
            module.bias.zero_()

    [child.apply(start) for child in model.children()]


def predict_squares(sizes, stds):
    factors = torch.tensor([n * s**2 / 2 for n, s in zip(sizes, stds)], dtype=torch.float64)
    return (2 * factors.cumprod(0)).tolist()


# %% wrong="every batch norm" says=["norm1d.weight: it was changed"]
def init_by_type(model):
    @torch.no_grad()
    def start(module):
        if isinstance(module, nn.Conv2d):
            w = module.weight
            fan_in = w[0].numel()
            w.copy_(torch.randn_like(w).mul((2 / fan_in) ** 0.5))
        elif isinstance(module, nn.Linear):
            w = module.weight
            bound = (6 / sum(w.shape)) ** 0.5
            w.copy_((2 * torch.rand_like(w) - 1) * bound)
        elif isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            if module.affine:
                module.weight.fill_(1)
        else:
            return
        if module.bias is not None:
            module.bias.zero_()

    model.apply(start)


def predict_squares(sizes, stds):
    factors = torch.tensor([n * s**2 / 2 for n, s in zip(sizes, stds)], dtype=torch.float64)
    return (2 * factors.cumprod(0)).tolist()


# %% wrong="every bias; the statistics; the layer's output size" says=["norm.bias: it was changed", "sizes[i], not sizes[i + 1]"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            module.reset_parameters()
        if getattr(module, "bias", None) is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    q, out = 1.0, []
    for i, s in enumerate(stds):
        q = sizes[i + 1] * s * s * q / (2 if i else 1)
        out.append(q)
    return out


# %% wrong="stds taken for variances" breaks="standard deviation `stds[i]`" says=["the variance is their square"]
def init_by_type(model):
    @torch.no_grad()
    def start(module):
        if isinstance(module, nn.Conv2d):
            w = module.weight
            fan_in = w[0].numel()
            w.copy_(torch.randn_like(w).mul((2 / fan_in) ** 0.5))
        elif isinstance(module, nn.Linear):
            w = module.weight
            bound = (6 / sum(w.shape)) ** 0.5
            w.copy_((2 * torch.rand_like(w) - 1) * bound)
        elif isinstance(module, nn.BatchNorm2d):
            if module.affine:
                module.weight.fill_(1)
        else:
            return
        if module.bias is not None:
            module.bias.zero_()

    model.apply(start)


def predict_squares(sizes, stds):
    factors = torch.tensor([n * s / 2 for n, s in zip(sizes, stds)], dtype=torch.float64)
    return (2 * factors.cumprod(0)).tolist()


# %% right="match, and recursion"
def init_by_type(model):
    for module in [model, *model.modules()]:
        match module:
            case nn.Conv2d():
                nn.init.normal_(
                    module.weight.data,
                    0,
                    (
                        2
                        / (
                            module.in_channels
                            // module.groups
                            * module.kernel_size[0]
                            * module.kernel_size[1]
                        )
                    )
                    ** 0.5,
                )
                if module.bias is not None:
                    module.bias.data = torch.zeros_like(module.bias)
            case nn.Linear():
                a = (6 / (module.in_features + module.out_features)) ** 0.5
                nn.init.uniform_(module.weight.data, -a, a)
                if module.bias is not None:
                    module.bias.data.zero_()
            case nn.BatchNorm2d(affine=True):
                module.weight.data.fill_(1)
                module.bias.data.fill_(0)


def predict_squares(sizes, stds, q=1.0):
    if not stds:
        return []
    out = sizes[0] * stds[0] ** 2 * q
    return [out, *predict_squares(sizes[1:], stds[1:], out / 2)]


# %% wrong="by the name of the class" says=["own, Projection(in_features=100, out_features=220, bias=False), a subclass of Linear: weight: the std"]
def init_by_type(model):
    for module in model.modules():
        kind = type(module).__name__
        if kind == "Conv2d":
            nn.init.kaiming_normal_(module.weight)
        elif kind == "Linear":
            nn.init.xavier_uniform_(module.weight)
        elif kind == "BatchNorm2d" and module.weight is not None:
            nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, before = [], 1.0
    for n, std in zip(sizes, stds):
        squares.append(n * std**2 * before)
        before = squares[-1] / 2
    return squares


# %% wrong="every kind of convolution" breaks="other layers (`Conv1d` and `ConvTranspose2d` among them)" says=["other1d.weight: it was changed", "other_up.weight: it was changed"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.modules.conv._ConvNd):
            nn.init.kaiming_normal_(module.weight)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d) and module.weight is not None:
            nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, before = [], 1.0
    for n, std in zip(sizes, stds):
        squares.append(n * std**2 * before)
        before = squares[-1] / 2
    return squares


# %% wrong="new data in float32" says=["a model in float64: the dtypes afterwards"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            std = (2 / module.weight[0].numel()) ** 0.5
            module.weight.data = std * torch.randn(module.weight.shape, device=module.weight.device)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, before = [], 1.0
    for n, std in zip(sizes, stds):
        squares.append(n * std**2 * before)
        before = squares[-1] / 2
    return squares


# %% wrong="a seed for each layer" breaks="you don't seed it" says=["two layers of one shape: they have the same weights", "under two seeds: the same weights"]
def init_by_type(model):
    for module in model.modules():
        torch.manual_seed(0)
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, before = [], 1.0
    for n, std in zip(sizes, stds):
        squares.append(n * std**2 * before)
        before = squares[-1] / 2
    return squares


# %% wrong="a gain for the linear layers; empties the list" says=["with a gain of √2: that belongs to a ReLU", "changed its lists"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight, gain=nn.init.calculate_gain("relu"))
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, before = [], 1.0
    for std in stds:
        squares.append(sizes.pop(0) * std**2 * before)
        before = squares[-1] / 2
    return squares


# %% wrong="takes the sizes off the list" says=["changed its lists"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, before = [], 1.0
    for std in stds:
        squares.append(sizes.pop(0) * std**2 * before)
        before = squares[-1] / 2
    return squares


# %% wrong="autograd stays off" says=["autograd is switched on or off for all that follows"]
def init_by_type(model):
    torch.set_grad_enabled(False)
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            module.weight.normal_(0, (2 / module.weight[0].numel()) ** 0.5)
        elif isinstance(module, nn.Linear):
            bound = (6 / sum(module.weight.shape)) ** 0.5
            module.weight.uniform_(-bound, bound)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                module.weight.fill_(1)
        else:
            continue
        if module.bias is not None:
            module.bias.zero_()


def predict_squares(sizes, stds):
    squares, before = [], 1.0
    for n, std in zip(sizes, stds):
        squares.append(n * std**2 * before)
        before = squares[-1] / 2
    return squares


# %% wrong="a generator for each layer" says=["two layers of one shape: they have the same weights"]
def init_by_type(model):
    pass
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            torch.nn.init.kaiming_normal_(
                m.weight, generator=torch.Generator(m.weight.device).manual_seed(m.weight.numel())
            )
        elif isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)
        if isinstance(m, (nn.Conv2d, nn.Linear)) and m.bias is not None:
            nn.init.zeros_(m.bias)
    pass


def predict_squares(sizes, stds):
    squares, before = [], 1.0
    for n, std in zip(sizes, stds):
        squares.append(n * std**2 * before)
        before = squares[-1] / 2
    return squares


# %% wrong="Conv2d's subclasses left out" breaks="a subclass counts as its parent" says=["does it reach this layer?"]
def init_by_type(model):
    for m in model.modules():
        if type(m) is nn.Conv2d:
            fan_in = m.in_channels // m.groups * m.kernel_size[0] * m.kernel_size[1]
            nn.init.normal_(m.weight, 0.0, (2 / fan_in) ** 0.5)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        if isinstance(m, nn.Linear):
            bound = (6 / (m.in_features + m.out_features)) ** 0.5
            nn.init.uniform_(m.weight, -bound, bound)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        if isinstance(m, nn.BatchNorm2d):
            if m.affine:
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)


def predict_squares(sizes, stds):
    q, out = 2.0, []
    for n, s in zip(sizes, stds):
        q = n * s * s * q / 2
        out.append(q)
    return out


# %% wrong="BatchNorm2d's subclasses left out" says=["a subclass of BatchNorm2d, weight and bias frozen (a new start all the same)"]
def init_by_type(model):
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            fan_in = m.in_channels // m.groups * m.kernel_size[0] * m.kernel_size[1]
            nn.init.normal_(m.weight, 0.0, (2 / fan_in) ** 0.5)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        if isinstance(m, nn.Linear):
            bound = (6 / (m.in_features + m.out_features)) ** 0.5
            nn.init.uniform_(m.weight, -bound, bound)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        if type(m) is nn.BatchNorm2d:
            if m.affine:
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)


def predict_squares(sizes, stds):
    q, out = 2.0, []
    for n, s in zip(sizes, stds):
        q = n * s * s * q / 2
        out.append(q)
    return out


# %% wrong="puts the generator back" breaks="The numbers are drawn from PyTorch's global generator" says=["move PyTorch's global generator on"]
def init_by_type(model):
    with torch.random.fork_rng(devices=[]):
        _init(model)


def _init(model):
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            fan_in = m.in_channels // m.groups * m.kernel_size[0] * m.kernel_size[1]
            nn.init.normal_(m.weight, 0.0, (2 / fan_in) ** 0.5)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        if isinstance(m, nn.Linear):
            bound = (6 / (m.in_features + m.out_features)) ** 0.5
            nn.init.uniform_(m.weight, -bound, bound)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        if isinstance(m, nn.BatchNorm2d):
            if m.affine:
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)


def predict_squares(sizes, stds):
    q, out = 2.0, []
    for n, s in zip(sizes, stds):
        q = n * s * s * q / 2
        out.append(q)
    return out


# %% wrong="integers" says=["no whole numbers"]
def init_by_type(model):
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            fan_in = m.in_channels // m.groups * m.kernel_size[0] * m.kernel_size[1]
            nn.init.normal_(m.weight, 0.0, (2 / fan_in) ** 0.5)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        if isinstance(m, nn.Linear):
            bound = (6 / (m.in_features + m.out_features)) ** 0.5
            nn.init.uniform_(m.weight, -bound, bound)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        if isinstance(m, nn.BatchNorm2d):
            if m.affine:
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)


def predict_squares(sizes, stds):
    q, out = 2.0, []
    for n, s in zip(sizes, stds):
        q = n * s * s * q / 2
        out.append(round(q))
    return out


# %% wrong="equal draws for linear layers of one shape" breaks="anew for each layer" says=["linear and twin, two linear layers of one shape"]
def init_by_type(model):
    seen = {}
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            elif isinstance(module, nn.Linear):
                if module.weight.shape not in seen:
                    seen[module.weight.shape] = nn.init.xavier_uniform_(
                        torch.empty_like(module.weight)
                    )
                module.weight.copy_(seen[module.weight.shape])
            elif isinstance(module, nn.BatchNorm2d):
                if module.weight is not None:
                    module.weight.fill_(1)
            else:
                continue
            if module.bias is not None:
                module.bias.zero_()


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for i, std in enumerate(stds):
        q = sizes[i] * std**2 * q
        if i:
            q /= 2
        squares.append(q)
    return squares


# %% wrong="the squares as a tensor" breaks="as a list of numbers" says=["is of type Tensor, expected a list of numbers"]
def init_by_type(model):
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            elif isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
            elif isinstance(module, nn.BatchNorm2d):
                if module.weight is not None:
                    module.weight.fill_(1)
            else:
                continue
            if module.bias is not None:
                module.bias.zero_()


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for i, std in enumerate(stds):
        q = sizes[i] * std**2 * q
        if i:
            q /= 2
        squares.append(q)
    return torch.tensor(squares)


# %% wrong="fan_in without the kernel" breaks="variance 2 / fan_in" says=["for a kernel of one tap: each tap is a product"]
def init_by_type(model):
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Conv2d):
                module.weight.normal_(0, (2 / module.weight.shape[1]) ** 0.5)
            elif isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
            elif isinstance(module, nn.BatchNorm2d):
                if module.weight is not None:
                    module.weight.fill_(1)
            else:
                continue
            if module.bias is not None:
                module.bias.zero_()


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for i, std in enumerate(stds):
        q = sizes[i] * std**2 * q
        if i:
            q /= 2
        squares.append(q)
    return squares


# %% wrong="n_in twice in the bound" breaks="weights uniform between ±√(6 / (n_in + n_out))" says=["for n_in twice: inputs and outputs both count"]
def init_by_type(model):
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            elif isinstance(module, nn.Linear):
                module.weight.uniform_(
                    -((6 / (2 * module.in_features)) ** 0.5), (6 / (2 * module.in_features)) ** 0.5
                )
            elif isinstance(module, nn.BatchNorm2d):
                if module.weight is not None:
                    module.weight.fill_(1)
            else:
                continue
            if module.bias is not None:
                module.bias.zero_()


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for i, std in enumerate(stds):
        q = sizes[i] * std**2 * q
        if i:
            q /= 2
        squares.append(q)
    return squares


# %% wrong="roots of the squares" says=["mean squares are wanted, not their roots"]
def init_by_type(model):
    def start(m):
        if isinstance(m, nn.Conv2d):
            fan = m.weight[0].numel()
            with torch.no_grad():
                m.weight.normal_(0, (2 / fan) ** 0.5)
        elif isinstance(m, nn.Linear):
            b = (6 / sum(m.weight.shape)) ** 0.5
            with torch.no_grad():
                m.weight.uniform_(-b, b)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                m.weight.data.fill_(1)
        else:
            return
        if m.bias is not None:
            m.bias.data.zero_()

    model.apply(start)


def predict_squares(sizes, stds):
    out, q = [], 1.0
    for i, s in enumerate(stds):
        q = q * sizes[i] * s * s
        out.append(q**0.5)
        q /= 2
    return out


# %% wrong="leaves frozen layers out" says=["linear, Linear(in_features=300, out_features=200, bias=True), weight frozen (a new start all the same): weight: the std"]
def init_by_type(model):
    def start(m):
        if not all(p.requires_grad for p in m.parameters(recurse=False)):
            return
        if isinstance(m, nn.Conv2d):
            fan = m.weight[0].numel()
            with torch.no_grad():
                m.weight.normal_(0, (2 / fan) ** 0.5)
        elif isinstance(m, nn.Linear):
            b = (6 / sum(m.weight.shape)) ** 0.5
            with torch.no_grad():
                m.weight.uniform_(-b, b)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                m.weight.data.fill_(1)
        else:
            return
        if m.bias is not None:
            m.bias.data.zero_()

    model.apply(start)


def predict_squares(sizes, stds):
    out, q = [], 1.0
    for i, s in enumerate(stds):
        q = q * sizes[i] * s * s
        out.append(q)
        q /= 2
    return out


# %% wrong="clears the gradients" breaks="`requires_grad`, `.grad`, dtypes" says=["all layers: the .grad of conv.weight, conv.bias"]
def init_by_type(model):
    def start(m):
        if isinstance(m, nn.Conv2d):
            fan = m.weight[0].numel()
            with torch.no_grad():
                m.weight.normal_(0, (2 / fan) ** 0.5)
        elif isinstance(m, nn.Linear):
            b = (6 / sum(m.weight.shape)) ** 0.5
            with torch.no_grad():
                m.weight.uniform_(-b, b)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                m.weight.data.fill_(1)
        else:
            return
        if m.bias is not None:
            m.bias.data.zero_()

    model.apply(start)
    model.zero_grad()


def predict_squares(sizes, stds):
    out, q = [], 1.0
    for i, s in enumerate(stds):
        q = q * sizes[i] * s * s
        out.append(q)
        q /= 2
    return out


# %% wrong="fan_in without groups" says=["fan_in without the groups"]
def init_by_type(model):
    def start(m):
        if isinstance(m, nn.Conv2d):
            fan = m.in_channels * m.kernel_size[0] * m.kernel_size[1]
            with torch.no_grad():
                m.weight.normal_(0, (2 / fan) ** 0.5)
        elif isinstance(m, nn.Linear):
            b = (6 / sum(m.weight.shape)) ** 0.5
            with torch.no_grad():
                m.weight.uniform_(-b, b)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                m.weight.data.fill_(1)
        else:
            return
        if m.bias is not None:
            m.bias.data.zero_()

    model.apply(start)


def predict_squares(sizes, stds):
    out, q = [], 1.0
    for i, s in enumerate(stds):
        q = q * sizes[i] * s * s
        out.append(q)
        q /= 2
    return out


# %% right="apply, normal_ and uniform_"
def init_by_type(model):
    def start(m):
        if isinstance(m, nn.Conv2d):
            fan = m.weight[0].numel()
            with torch.no_grad():
                m.weight.normal_(0, (2 / fan) ** 0.5)
        elif isinstance(m, nn.Linear):
            b = (6 / sum(m.weight.shape)) ** 0.5
            with torch.no_grad():
                m.weight.uniform_(-b, b)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                m.weight.data.fill_(1)
        else:
            return
        if m.bias is not None:
            m.bias.data.zero_()

    model.apply(start)


def predict_squares(sizes, stds):
    out, q = [], 1.0
    for i, s in enumerate(stds):
        q = q * sizes[i] * s * s
        out.append(q)
        q /= 2
    return out


# %% wrong="a list as default argument" says=["how many numbers: expected 3, got 5"]
def init_by_type(model):
    def start(m):
        if isinstance(m, nn.Conv2d):
            fan = m.weight[0].numel()
            with torch.no_grad():
                m.weight.normal_(0, (2 / fan) ** 0.5)
        elif isinstance(m, nn.Linear):
            b = (6 / sum(m.weight.shape)) ** 0.5
            with torch.no_grad():
                m.weight.uniform_(-b, b)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                m.weight.data.fill_(1)
        else:
            return
        if m.bias is not None:
            m.bias.data.zero_()

    model.apply(start)


def predict_squares(sizes, stds, out=[]):
    q = 1.0
    for i, s in enumerate(stds):
        q = q * sizes[i] * s * s
        out.append(q)
        q /= 2
    return out


# %% wrong="uniform weights for convolutions" breaks="weights normal" says=["0.683 if they are normal"]
def init_by_type(model):
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_uniform_(m.weight)
        elif isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                nn.init.ones_(m.weight)
        else:
            continue
        if m.bias is not None:
            nn.init.zeros_(m.bias)


def predict_squares(sizes, stds):
    out, now = [], 1.0
    for i, std in enumerate(stds):
        out.append(now * sizes[i] * std**2)
        now = out[-1] / 2
    return out


# %% wrong="biases stay" breaks="Bias 0, if any" says=["the bias is not 0"]
def init_by_type(model):
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight)
        elif isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                nn.init.ones_(m.weight)
        else:
            continue
        if m.bias is not None and isinstance(m, nn.BatchNorm2d):
            nn.init.zeros_(m.bias)


def predict_squares(sizes, stds):
    out, now = [], 1.0
    for i, std in enumerate(stds):
        out.append(now * sizes[i] * std**2)
        now = out[-1] / 2
    return out


# %% wrong="a batch norm's bias is 1" breaks="weight 1, bias 0, if any" says=["the bias is not 0: 0 is the neutral start"]
def init_by_type(model):
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight)
        elif isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                nn.init.ones_(m.weight)
        else:
            continue
        if m.bias is not None:
            nn.init.constant_(m.bias, float(isinstance(m, nn.BatchNorm2d)))


def predict_squares(sizes, stds):
    out, now = [], 1.0
    for i, std in enumerate(stds):
        out.append(now * sizes[i] * std**2)
        now = out[-1] / 2
    return out


# %% wrong="the running statistics start anew" breaks="Its running statistics stay" says=["own_batch.running_mean: it was changed"]
def init_by_type(model):
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight)
        elif isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
        elif isinstance(m, nn.BatchNorm2d):
            m.reset_running_stats()
            if m.weight is not None:
                nn.init.ones_(m.weight)
        else:
            continue
        if m.bias is not None:
            nn.init.zeros_(m.bias)


def predict_squares(sizes, stds):
    out, now = [], 1.0
    for i, std in enumerate(stds):
        out.append(now * sizes[i] * std**2)
        now = out[-1] / 2
    return out


# %% wrong="ends in training mode" breaks="the modes" says=["training of each module"]
def init_by_type(model):
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight)
        elif isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                nn.init.ones_(m.weight)
        else:
            continue
        if m.bias is not None:
            nn.init.zeros_(m.bias)
    model.train()


def predict_squares(sizes, stds):
    out, now = [], 1.0
    for i, std in enumerate(stds):
        out.append(now * sizes[i] * std**2)
        now = out[-1] / 2
    return out


# %% wrong="sums over a layer's outputs" breaks="Layer i goes from `sizes[i]` to `sizes[i + 1]` numbers" says=["sizes[i], not sizes[i + 1]"]
def init_by_type(model):
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight)
        elif isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                nn.init.ones_(m.weight)
        else:
            continue
        if m.bias is not None:
            nn.init.zeros_(m.bias)


def predict_squares(sizes, stds):
    out, now = [], 1.0
    for i, std in enumerate(stds):
        out.append(now * sizes[i + 1] * std**2)
        now = out[-1] / 2
    return out


# %% wrong="clears the .grad of each bias" breaks="`requires_grad`, `.grad`, dtypes" says=["all layers: the .grad of conv.bias"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            fan = module.weight[0].numel()
            with torch.no_grad():
                module.weight.normal_(0, (2 / fan) ** 0.5)
        elif isinstance(module, nn.Linear):
            bound = (6 / (module.in_features + module.out_features)) ** 0.5
            with torch.no_grad():
                module.weight.uniform_(-bound, bound)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)
            module.bias.grad = None


def predict_squares(sizes, stds):
    found, q = [], 1.0
    for n, std in zip(sizes, stds):
        found.append(n * std**2 * q)
        q = found[-1] / 2
    return found


# %% wrong="the variance as standard deviation" says=["the variance was taken for the standard deviation"]
def init_by_type(model):
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            m.weight.data.normal_(0, 2 / m.weight[0].numel())
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        elif isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                nn.init.ones_(m.weight)
            if m.bias is not None:
                nn.init.zeros_(m.bias)


def predict_squares(sizes, stds):
    q, result = 2.0, []
    for n, std in zip(sizes, stds):
        q = n * std**2 * q / 2
        result.append(q)
    return result


# %% wrong="draws and measures" says=["random numbers were drawn"]
def init_by_type(model):
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        elif isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                nn.init.ones_(m.weight)
            if m.bias is not None:
                nn.init.zeros_(m.bias)


def predict_squares(sizes, stds):
    h, result = torch.randn(2000, sizes[0]), []
    for m, n, std in zip(sizes, sizes[1:], stds):
        h = h @ (torch.randn(m, n) * std)
        result.append(h.square().mean().item())
        h = h.relu()
    return result


# %% wrong="Conv3d as well" breaks="other layers (`Conv1d` and `ConvTranspose2d` among them)" says=["other3d.weight: it was changed"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Conv3d)):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for size, std in zip(sizes, stds):
        q = size * std**2 * q
        squares.append(q)
        q = q / 2
    return squares


# %% wrong="a Bilinear is linear, too" breaks="other layers (`Conv1d` and `ConvTranspose2d` among them)" says=["other_pair.weight: it was changed"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, (nn.Linear, nn.Bilinear)) and module.weight.dim() > 1:
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for size, std in zip(sizes, stds):
        q = size * std**2 * q
        squares.append(q)
        q = q / 2
    return squares


# %% wrong="instance norms as well" breaks="other layers (`Conv1d` and `ConvTranspose2d` among them)" says=["other_instance.weight: it was changed"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, (nn.BatchNorm2d, nn.InstanceNorm2d)):
            if module.weight is not None:
                nn.init.ones_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for size, std in zip(sizes, stds):
        q = size * std**2 * q
        squares.append(q)
        q = q / 2
    return squares


# %% wrong="frozen convolutions keep their numbers" breaks="frozen or not" says=["weight frozen (a new start all the same): weight: the std"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            if not module.weight.requires_grad:
                continue
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for size, std in zip(sizes, stds):
        q = size * std**2 * q
        squares.append(q)
        q = q / 2
    return squares


# %% wrong="a frozen bias keeps its numbers" breaks="frozen or not" says=["bias frozen (a new start all the same): the bias is not 0"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None and module.bias.requires_grad:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for size, std in zip(sizes, stds):
        q = size * std**2 * q
        squares.append(q)
        q = q / 2
    return squares


# %% wrong="a frozen norm keeps its numbers" breaks="frozen or not" says=["weight and bias frozen (a new start all the same): the weight is not 1"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None and module.weight.requires_grad:
                nn.init.ones_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for size, std in zip(sizes, stds):
        q = size * std**2 * q
        squares.append(q)
        q = q / 2
    return squares


# %% wrong="a normal cut off at two standard deviations" breaks="weights normal" says=["a normal that is cut off at two standard deviations"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            std = (2 / module.weight[0].numel()) ** 0.5
            nn.init.trunc_normal_(module.weight, 0, std, -2 * std, 2 * std)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for size, std in zip(sizes, stds):
        q = size * std**2 * q
        squares.append(q)
        q = q / 2
    return squares


# %% wrong="rounds to six digits" breaks="the mean square of each linear layer's output" says=["rounded? A small mean square"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for size, std in zip(sizes, stds):
        q = size * std**2 * q
        squares.append(round(q, 6))
        q = q / 2
    return squares


# %% wrong="halves for the last ReLU alone" breaks="Between two layers there is a ReLU" says=["every ReLU on the way halves, not only the last"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for size, std in zip(sizes, stds):
        q = size * std**2 * q
        squares.append(q / 2 if squares else q)
    return squares


# %% wrong="no ReLU where sizes are equal" breaks="Between two layers there is a ReLU" says=["three layers of one size", "a ReLU halves the mean square"]
def init_by_type(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes: list[int], stds: list[float]) -> list[float]:
    squares = []
    q = 1.0
    for n, std in zip(sizes, stds):
        q = n * std**2 * q
        squares.append(q)
        q = q / 2 if n != sizes[-1] else q
    return squares


# %% wrong="no ReLU behind large weights" says=["three layers of one size"]
def init_by_type(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes: list[int], stds: list[float]) -> list[float]:
    squares = []
    q = 1.0
    for n, std in zip(sizes, stds):
        q = n * std**2 * q
        squares.append(q)
        q = q / 2 if std < 1 else q
    return squares


# %% wrong="square linear layers are left out" says=["square, Linear", "does it reach this layer?"]
def init_by_type(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="relu")
        elif isinstance(module, nn.Linear) and module.out_features != module.in_features:
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes: list[int], stds: list[float]) -> list[float]:
    squares = []
    q = 1.0
    for n, std in zip(sizes, stds):
        q = n * std**2 * q
        squares.append(q)
        q = q / 2
    return squares


# %% wrong="a bound that is four per cent too large" breaks="weights uniform between ±√(6 / (n_in + n_out))" says=["expected just below the bound"]
def init_by_type(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight, gain=1.04)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes: list[int], stds: list[float]) -> list[float]:
    squares = []
    q = 1.0
    for n, std in zip(sizes, stds):
        q = n * std**2 * q
        squares.append(q)
        q = q / 2
    return squares


# %% wrong="multiplies by the stride" breaks="variance 2 / fan_in" says=["mix, Conv2d"]
def init_by_type(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="relu")
            module.weight.data.mul_(module.stride[0])
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes: list[int], stds: list[float]) -> list[float]:
    squares = []
    q = 1.0
    for n, std in zip(sizes, stds):
        q = n * std**2 * q
        squares.append(q)
        q = q / 2
    return squares


# %% wrong="leaves out convolutions with padding" says=["mix, Conv2d", "does it reach this layer?"]
def init_by_type(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, nn.Conv2d) and module.dilation == (1, 1) and module.padding == (0, 0):
            nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes: list[int], stds: list[float]) -> list[float]:
    squares = []
    q = 1.0
    for n, std in zip(sizes, stds):
        q = n * std**2 * q
        squares.append(q)
        q = q / 2
    return squares


# %% wrong="divides by the standard deviation" says=["the second all zeros"]
def init_by_type(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes: list[int], stds: list[float]) -> list[float]:
    squares = []
    q = 1.0
    for n, std in zip(sizes, stds):
        q = n * std * (std**2 / std) * q
        squares.append(q)
        q = q / 2
    return squares


# %% wrong="one layer gives an empty list" breaks="as a list of numbers" says=["one layer: ", "how many numbers: expected 1, got 0"]
def init_by_type(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes: list[int], stds: list[float]) -> list[float]:
    squares = []
    q = 1.0
    for n, std in zip(sizes, stds):
        q = n * std**2 * q
        squares.append(q)
        q = q / 2
    return squares if len(squares) > 1 else []


# %% wrong="a generator of its own" breaks="The numbers are drawn from PyTorch's global generator" says=["the same seed, twice", "not from one of your own"]
def init_by_type(model):
    generator = torch.Generator()
    generator.seed()
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
        elif isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight, generator=generator)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                nn.init.ones_(m.weight)
        else:
            continue
        if m.bias is not None:
            nn.init.zeros_(m.bias)


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for i, std in enumerate(stds):
        q = sizes[i] * std**2 * (q / 2 if i else q)
        squares.append(q)
    return squares


# %% wrong="the input's mean square where there is no layer" breaks="the mean square of each linear layer's output" says=["no layer", "expected 0, got 1"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for i, std in enumerate(stds):
        if i > 0:
            q = q / 2
        q = sizes[i] * std**2 * q
        squares.append(q)
    return squares or [1.0]


# %% wrong="stops where a layer gives nothing" breaks="the mean square of each linear layer's output" says=["the second all zeros", "expected 3, got 2"]
def init_by_type(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes, stds):
    squares, q = [], 1.0
    for i, std in enumerate(stds):
        if i > 0:
            q = q / 2
        q = sizes[i] * std**2 * q
        squares.append(q)
        if q == 0:
            break
    return squares


# %% wrong="trunc_normal_, whose bounds are -2 and 2" breaks="weights normal" says=["wide", "a normal that is cut off at two standard deviations has less"]
import math


def init_by_type(model: nn.Module) -> None:
    """He normal as in JAX: a truncated normal."""
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            fan_in = m.weight[0].numel()
            nn.init.trunc_normal_(m.weight, mean=0.0, std=math.sqrt(2 / fan_in))
        elif isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                nn.init.ones_(m.weight)
        else:
            continue
        if m.bias is not None:
            nn.init.zeros_(m.bias)


def predict_squares(sizes: list[int], stds: list[float]) -> list[float]:
    squares = []
    for i, std in enumerate(stds):
        squares.append(sizes[i] * std**2 * (squares[-1] / 2 if squares else 1.0))
    return squares


# %% wrong="multiplies in float32" breaks="the mean square of each linear layer's output" says=["numbers that float32 lacks", "A small mean square is as good a number as any other"]
def init_by_type(model: nn.Module) -> None:
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
        elif isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
        elif isinstance(m, nn.BatchNorm2d):
            if m.weight is not None:
                nn.init.ones_(m.weight)
        else:
            continue
        if m.bias is not None:
            nn.init.zeros_(m.bias)


def predict_squares(sizes: list[int], stds: list[float]) -> list[float]:
    gains = torch.tensor(sizes[:-1], dtype=torch.float32) * torch.tensor(stds).square()
    gains[1:] /= 2
    return gains.cumprod(0).tolist()


# %% wrong="a normal that is cut off at three standard deviations" breaks="weights normal" says=["none is beyond 3 std"]
def init_by_type(model: nn.Module) -> None:
    """Start convolutions, linear layers and batch norms of ``model``, in place."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            s = (2 / module.weight[0].numel()) ** 0.5
            nn.init.trunc_normal_(module.weight, 0.0, s, -3 * s, 3 * s)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            if module.weight is not None:
                nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def predict_squares(sizes: list[int], stds: list[float]) -> list[float]:
    """The mean square of each layer's output, for an input of mean square 1."""
    squares, before = [], 1.0
    for n, std in zip(sizes, stds, strict=False):
        squares.append(n * std**2 * before)
        before = squares[-1] / 2
    return squares
