# %% [markdown]
# Rules:
#
# - "computes the same as `Trapped`"
# - "knows all its layers, those of every head"
# - "no parameter besides"
# - "`x` has any shape that ends with `sizes[0]`"
# - "a single point is enough"
# - "even where two sizes are equal"
# - "`[3]`: none"
# - "no ReLU behind it"
# - "Any name that `nn.ModuleDict` takes is allowed"
# - "Each call makes new layers"
# - "`sizes` and `heads` stay as they are"
# - "the caller may change them later"
# - "gives an `nn.Linear` the weight `value`"
# - "in the precision of that dtype"
# - "an optimizer made earlier continues to train it"
# - "Whether the weight needs a gradient stays as it was"
# - "and so does all else about the layer"
# - "its bias, mode, hooks and each `.grad`"
# - "`value` is only read"
# - "it must not change later, when the layer trains"
#
# Admits:
#
# - "even where two sizes are equal": two layers of one shape
# - "`[3]`: none": sizes [3], no hidden layer
# - "Any name that `nn.ModuleDict` takes is allowed": a head called "layers"
# - "a single point is enough": a single point
# - "any shape that ends with `sizes[0]`": a batch of batches
# - "It may be a view": a transposed view of thirds, float64
# - "gives an `nn.Linear` the weight `value`": a weight that isn't contiguous
# - "another layer's weight, which needs a gradient itself": a value that requires grad

# %% wrong="hands Trapped back" says=["knows no parameter: layers in a plain list or dict are unknown"]
def list_trap(sizes, heads):
    return Trapped(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="the dict is forgotten; a new Parameter" says=["the heads are still in a plain dict"]
class Half(Trapped):
    def __init__(self, sizes, heads):
        super().__init__(sizes, heads)
        self.layers = nn.ModuleList(self.layers)


def list_trap(sizes, heads):
    return Half(sizes, heads)


def set_weight(layer, value):
    layer.weight = nn.Parameter(value)


# %% wrong="the list is forgotten" breaks="knows all its layers, those of every head" says=["the layers are still in a plain list"]
def list_trap(sizes, heads):
    model = Trapped(sizes, heads)
    model.heads = nn.ModuleDict(model.heads)
    return model


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="a ReLU behind the head" breaks="no ReLU behind it" says=["a ReLU follows the head"]
class WithReLU(Trapped):
    def __init__(self, sizes, heads):
        super().__init__(sizes, heads)
        self.layers = nn.ModuleList(self.layers)
        self.heads = nn.ModuleDict(self.heads)

    def forward(self, x, head):
        return super().forward(x, head).relu()


def list_trap(sizes, heads):
    return WithReLU(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="a new Parameter" breaks="an optimizer made earlier continues to train it" says=["the optimizer's step did not move it"]
def list_trap(sizes, heads):
    model = Trapped(sizes, heads)
    model.layers, model.heads = nn.ModuleList(model.layers), nn.ModuleDict(model.heads)
    return model


def set_weight(layer, value):
    layer.weight = nn.Parameter(value.clone(), requires_grad=layer.weight.requires_grad)


# %% wrong="shares the memory of value" breaks="it must not change later, when the layer trains" says=["the weight uses its memory"]
def list_trap(sizes, heads):
    model = Trapped(sizes, heads)
    model.layers, model.heads = nn.ModuleList(model.layers), nn.ModuleDict(model.heads)
    return model


def set_weight(layer, value):
    layer.weight.data = value


# %% wrong="thaws a frozen weight" breaks="Whether the weight needs a gradient stays as it was" says=["a frozen weight", "it stays as it was"]
def list_trap(sizes, heads):
    model = Trapped(sizes, heads)
    model.layers, model.heads = nn.ModuleList(model.layers), nn.ModuleDict(model.heads)
    return model


def set_weight(layer, value):
    layer.weight.requires_grad_(False).copy_(value)
    layer.weight.requires_grad_(True)


# %% wrong="copies with autograd watching" says=["a leaf Variable that requires grad"]
def list_trap(sizes, heads):
    model = Trapped(sizes, heads)
    model.layers, model.heads = nn.ModuleList(model.layers), nn.ModuleDict(model.heads)
    return model


def set_weight(layer, value):
    layer.weight.copy_(value)


# %% wrong="add_module one by one, and the heads share one layer" says=["the parameters' shapes"]
class Shared(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.body = nn.Sequential()
        for m, n in zip(sizes, sizes[1:]):
            self.body.append(nn.Linear(m, n)).append(nn.ReLU())
        self.head = nn.Linear(sizes[-1], sum(heads.values()))
        self.names = heads

    def forward(self, x, head):
        parts = self.head(self.body(x)).split(list(self.names.values()), dim=1)
        return dict(zip(self.names, parts))[head]


def list_trap(sizes, heads):
    return Shared(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% right="Sequential and attributes by name"
class Free(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        pairs = [(nn.Linear(m, n), nn.ReLU()) for m, n in zip(sizes, sizes[1:])]
        self.body = nn.Sequential(*(part for pair in pairs for part in pair))
        for name, n in heads.items():
            self.add_module(f"head_{name}", nn.Linear(sizes[-1], n))

    def forward(self, x, head):
        return getattr(self, f"head_{head}")(self.body(x))


def list_trap(sizes, heads):
    return Free(sizes, heads)


def set_weight(layer, value):
    layer.load_state_dict({"weight": value}, strict=False)


# %% right="ParameterLists and F.linear"
class Raw(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        pairs = list(zip(sizes[:-1], sizes[1:]))
        self.weights = nn.ParameterList([torch.randn(n, m) / m**0.5 for m, n in pairs])
        self.biases = nn.ParameterList([torch.zeros(n) for _, n in pairs])
        self.ends = nn.ParameterDict({k: torch.randn(n, sizes[-1]) for k, n in heads.items()})
        self.shifts = nn.ParameterDict({k: torch.zeros(n) for k, n in heads.items()})

    def forward(self, x, head):
        for weight, bias in zip(self.weights, self.biases):
            x = F.linear(x, weight, bias).clamp(min=0)
        return F.linear(x, self.ends[head], self.shifts[head])


list_trap = Raw


def set_weight(layer, value):
    layer.weight.detach()[...] = value.detach()


# %% wrong="no ReLU before the head; thaws the weight" breaks="computes the same as `Trapped`" says=["just before the head, is missing"]
def list_trap(sizes, heads):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            parts = []
            for a, b in zip(sizes, sizes[1:]):
                parts += [nn.Linear(a, b), nn.ReLU()]
            self.body = nn.Sequential(*parts[:-1])
            self.heads = nn.ModuleDict({k: nn.Linear(sizes[-1], v) for k, v in heads.items()})

        def forward(self, x, head):
            return self.heads[head](self.body(x))

    return Net()


def set_weight(layer, value):
    layer.weight.detach().copy_(value)
    layer.weight.requires_grad_(True)


# %% right="Sequential and setattr; load_state_dict"
def list_trap(sizes, heads):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            parts = []
            for a, b in zip(sizes, sizes[1:]):
                parts += [nn.Linear(a, b), nn.ReLU()]
            self.body = nn.Sequential(*parts)
            for name, n in heads.items():
                self.add_module("head_" + name, nn.Linear(sizes[-1], n))

        def forward(self, x, head):
            return getattr(self, "head_" + head)(self.body(x))

    return Net()


def set_weight(layer, value):
    layer.load_state_dict({"weight": value}, strict=False)


# %% wrong="one layer for each pair of sizes" breaks="even where two sizes are equal" says=["one layer for equal sizes"]
class Table(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.steps = [f"{m}-{n}" for m, n in pairwise(sizes)]
        self.layers = nn.ModuleDict({f"{m}-{n}": nn.Linear(m, n) for m, n in pairwise(sizes)})
        self.heads = nn.ModuleDict({name: nn.Linear(sizes[-1], n) for name, n in heads.items()})

    def forward(self, x, head):
        for step in self.steps:
            x = self.layers[step](x).relu()
        return self.heads[head](x)


def list_trap(sizes, heads):
    return Table(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="takes the sizes off the caller's list" breaks="`sizes` and `heads` stay as they are" says=["sizes or heads is no longer as it was"]
class Popping(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.layers, size = nn.ModuleList(), sizes.pop(0)
        while sizes:
            self.layers.append(nn.Linear(size, sizes[0]))
            size = sizes.pop(0)
        self.heads = nn.ModuleDict({name: nn.Linear(size, n) for name, n in heads.items()})

    def forward(self, x, head):
        for layer in self.layers:
            x = layer(x).relu()
        return self.heads[head](x)


def list_trap(sizes, heads):
    return Popping(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="the weight by way of a list, in float32" breaks="in the precision of that dtype" says=["right to seven digits or so, in float64"]
class Freed(Trapped):
    def __init__(self, sizes, heads):
        super().__init__(sizes, heads)
        self.layers = nn.ModuleList(self.layers)
        self.heads = nn.ModuleDict(self.heads)


def list_trap(sizes, heads):
    return Freed(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(value.tolist()))


# %% wrong="one model for all calls" breaks="Each call makes new layers" says=["parameters in common"]
class Kept(Trapped):
    made = {}

    def __init__(self, sizes, heads):
        super().__init__(sizes, heads)
        self.layers = nn.ModuleList(self.layers)
        self.heads = nn.ModuleDict(self.heads)


def list_trap(sizes, heads):
    key = str((sizes, heads))
    if key not in Kept.made:
        Kept.made[key] = Kept(sizes, heads)
    return Kept.made[key]


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="one head for heads of one size" says=["two layers of one shape: the model knows one head for heads of one size"]
class Net(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(m, n) for m, n in pairwise(sizes))
        shared = {n: nn.Linear(sizes[-1], n) for n in heads.values()}
        self.heads = nn.ModuleDict({name: shared[n] for name, n in heads.items()})

    def forward(self, x, head):
        for layer in self.layers:
            x = layer(x).relu()
        return self.heads[head](x)


def list_trap(sizes, heads):
    return Net(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="freezes the value that it reads" breaks="`value` is only read" says=["value.requires_grad was changed"]
class Freed(Trapped):
    def __init__(self, sizes, heads):
        super().__init__(sizes, heads)
        self.layers = nn.ModuleList(self.layers)
        self.heads = nn.ModuleDict(self.heads)


def list_trap(sizes, heads):
    return Freed(sizes, heads)


def set_weight(layer, value):
    layer.weight.data.copy_(value.requires_grad_(False))


# %% wrong="heads as attributes, a head called layers" breaks="Any name that `nn.ModuleDict` takes is allowed" says=["setattr may push out your own attribute"]
class Net(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(sizes[i], sizes[i + 1]) for i in range(len(sizes) - 1)
        )
        [setattr(self, name, nn.Linear(sizes[-1], n)) for name, n in heads.items()]

    def forward(self, x, head):
        for layer in self.layers:
            x = F.relu(layer(x))
        return getattr(self, head)(x)


def list_trap(sizes, heads):
    return Net(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="the first head that is asked for stays" says=["the call says which head"]
class Net(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(sizes[i], sizes[i + 1]) for i in range(len(sizes) - 1)
        )
        self.heads = nn.ModuleDict({name: nn.Linear(sizes[-1], n) for name, n in heads.items()})

    def forward(self, x, head):
        for layer in self.layers:
            x = F.relu(layer(x))
        self.head = getattr(self, "head", None) or head
        return self.heads[self.head](x)


def list_trap(sizes, heads):
    return Net(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="a ReLU in place on the input" says=["changed x: only read it"]
class Net(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(sizes[i], sizes[i + 1]) for i in range(len(sizes) - 1)
        )
        self.heads = nn.ModuleDict({name: nn.Linear(sizes[-1], n) for name, n in heads.items()})

    def forward(self, x, head):
        for layer in self.layers:
            x = layer(x.relu_())
        return self.heads[head](x.relu_() if len(self.layers) else x)


def list_trap(sizes, heads):
    return Net(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="always float32" says=["the model in float64"]
class Net(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(sizes[i], sizes[i + 1]) for i in range(len(sizes) - 1)
        )
        self.heads = nn.ModuleDict({name: nn.Linear(sizes[-1], n) for name, n in heads.items()})

    def forward(self, x, head):
        x = x.float()
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.heads[head](x)


def list_trap(sizes, heads):
    return Net(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% right="data of a clone"
class Net(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(sizes[i], sizes[i + 1]) for i in range(len(sizes) - 1)
        )
        self.heads = nn.ModuleDict({name: nn.Linear(sizes[-1], n) for name, n in heads.items()})

    def forward(self, x, head):
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.heads[head](x)


def list_trap(sizes, heads):
    return Net(sizes, heads)


def set_weight(layer, value):
    layer.weight.data = value.detach().clone()


# %% wrong="layers in the order of their names" says=["twelve sizes, so eleven layers"]
class Free(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.layers = nn.ModuleDict(
            {str(i): nn.Linear(m, n) for i, (m, n) in enumerate(pairwise(sizes))}
        )
        self.heads = nn.ModuleDict({k: nn.Linear(sizes[-1], n) for k, n in heads.items()})

    def forward(self, x, head):
        for name in sorted(self.layers):
            x = self.layers[name](x).relu()
        return self.heads[head](x)


def list_trap(sizes, heads):
    return Free(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="heads made when they are first asked for" says=["a call makes layers: an optimizer that was made before it"]
class Free(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        body = []
        for m, n in pairwise(sizes):
            body += [nn.Linear(m, n), nn.ReLU()]
        self.body = nn.Sequential(*body)
        self.width, self.sizes = sizes[-1], heads
        self.heads = nn.ModuleDict()

    def forward(self, x, head):
        if head not in self.heads:
            self.heads[head] = nn.Linear(self.width, self.sizes[head])
        return self.heads[head](self.body(x))


def list_trap(sizes, heads):
    return Free(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="a ReLU where no hidden layer is" breaks="`[3]`: none" says=["no hidden layer, and so no ReLU"]
class Free(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(m, n) for m, n in pairwise(sizes))
        self.heads = nn.ModuleDict({k: nn.Linear(sizes[-1], n) for k, n in heads.items()})

    def forward(self, x, head):
        if not self.layers:
            x = x.relu()
        for layer in self.layers:
            x = layer(x).relu()
        return self.heads[head](x)


def list_trap(sizes, heads):
    return Free(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="adds the difference" breaks="gives an `nn.Linear` the weight `value`" says=["layer.weight after set_weight is value but for the last digits"]
class Free(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.body = nn.ModuleList()
        for m, n in zip(sizes[:-1], sizes[1:]):
            self.body.append(nn.Linear(m, n))
        self.out = nn.ModuleDict({k: nn.Linear(sizes[-1], n) for k, n in heads.items()})

    def forward(self, x, head):
        for layer in self.body:
            x = F.relu(layer(x))
        return self.out[head](x)


def list_trap(sizes, heads):
    return Free(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.add_(value - layer.weight)


# %% wrong="the bias starts anew as well" breaks="and so does all else about the layer" says=["the bias was changed as well"]
class Free(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.body = nn.ModuleList()
        for m, n in zip(sizes[:-1], sizes[1:]):
            self.body.append(nn.Linear(m, n))
        self.out = nn.ModuleDict({k: nn.Linear(sizes[-1], n) for k, n in heads.items()})

    def forward(self, x, head):
        for layer in self.body:
            x = F.relu(layer(x))
        return self.out[head](x)


def list_trap(sizes, heads):
    return Free(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)
        layer.bias.zero_()
    layer.weight.grad = None


# %% wrong="load_state_dict with assign=True" says=["it trains the old parameter object"]
class Free(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.body = nn.ModuleList()
        for m, n in zip(sizes[:-1], sizes[1:]):
            self.body.append(nn.Linear(m, n))
        self.out = nn.ModuleDict({k: nn.Linear(sizes[-1], n) for k, n in heads.items()})

    def forward(self, x, head):
        for layer in self.body:
            x = F.relu(layer(x))
        return self.out[head](x)


def list_trap(sizes, heads):
    return Free(sizes, heads)


def set_weight(layer, value):
    layer.load_state_dict({"weight": value.detach().clone(), "bias": layer.bias}, assign=True)


# %% right="pairs of a layer and its ReLU; index assignment"
class Free(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.body = nn.ModuleList()
        for m, n in zip(sizes[:-1], sizes[1:]):
            self.body.append(nn.Sequential(nn.Linear(m, n), nn.ReLU()))
        self.out = nn.ModuleDict({k: nn.Linear(sizes[-1], n) for k, n in heads.items()})

    def forward(self, x, head):
        for layer in self.body:
            x = layer(x)
        return self.out[head](x)


def list_trap(sizes, heads):
    return Free(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight[:] = value


# %% wrong="keeps the caller's dict" breaks="the caller may change them later" says=["the model reads sizes or heads when it runs"]
class Free(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.body = nn.ModuleList()
        for m, n in zip(sizes[:-1], sizes[1:]):
            self.body.append(nn.Sequential(nn.Linear(m, n), nn.ReLU()))
        self.sizes = sizes
        self.names = heads
        self.out = nn.ModuleDict({k: nn.Linear(sizes[-1], n) for k, n in heads.items()})

    def forward(self, x, head):
        for layer in self.body:
            x = layer(x)
        assert head in self.names
        return self.out[head](x)


def list_trap(sizes, heads):
    return Free(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight[:] = value


# %% wrong="heads in the order of their names" says=["model(x, 'one') gives what head 'two' gives"]
class Free(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.body = nn.ModuleList()
        for m, n in zip(sizes[:-1], sizes[1:]):
            self.body.append(nn.Sequential(nn.Linear(m, n), nn.ReLU()))
        self.out = nn.ModuleDict({k: nn.Linear(sizes[-1], n) for k, n in heads.items()})

    def forward(self, x, head):
        for layer in self.body:
            x = layer(x)
        return list(self.out.values())[sorted(self.out).index(head)](x)


def list_trap(sizes, heads):
    return Free(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight[:] = value


# %% wrong="the weight by way of half" says=["a transposed view of thirds, float64"]
class Free(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.body = nn.ModuleList()
        for m, n in zip(sizes[:-1], sizes[1:]):
            self.body.append(nn.Sequential(nn.Linear(m, n), nn.ReLU()))
        self.out = nn.ModuleDict({k: nn.Linear(sizes[-1], n) for k, n in heads.items()})

    def forward(self, x, head):
        for layer in self.body:
            x = layer(x)
        return self.out[head](x)


def list_trap(sizes, heads):
    return Free(sizes, heads)


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight[:] = value.half()


# %% wrong="a scale that is frozen" breaks="no parameter besides" says=["the model knows parameters besides its layers'"]
def list_trap(sizes, heads):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(m, n) for m, n in pairwise(sizes)])
            self.heads = nn.ModuleDict({k: nn.Linear(sizes[-1], n) for k, n in heads.items()})
            self.scale = nn.Parameter(torch.ones(1), requires_grad=False)

        def forward(self, x, head):
            for layer in self.layers:
                x = layer(x).relu()
            return self.heads[head](x)

    return Net()


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="clears the layer's gradients" breaks="its bias, mode, hooks and each `.grad`" says=["the gradient (.grad) of weight, bias was changed: it is the caller's"]
def list_trap(sizes, heads):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(m, n) for m, n in pairwise(sizes)])
            self.heads = nn.ModuleDict({k: nn.Linear(sizes[-1], n) for k, n in heads.items()})

        def forward(self, x, head):
            for layer in self.layers:
                x = layer(x).relu()
            return self.heads[head](x)

    return Net()


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)
    layer.zero_grad()


# %% wrong="times zero plus the value" breaks="gives an `nn.Linear` the weight `value`" says=["a weight that is NaN before: layer.weight is NaN still"]
def list_trap(sizes, heads):
    class Free(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(m, n) for m, n in pairwise(sizes))
            self.heads = nn.ModuleDict({name: nn.Linear(sizes[-1], n) for name, n in heads.items()})

        def forward(self, x, head):
            for layer in self.layers:
                x = layer(x).relu()
            return self.heads[head](x)

    return Free()


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.mul_(0).add_(value)


# %% wrong="writes into a flattened weight" breaks="gives an `nn.Linear` the weight `value`" says=["flatten and reshape give a copy of a weight that isn't contiguous"]
def list_trap(sizes, heads):
    class Free(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(m, n) for m, n in pairwise(sizes))
            self.heads = nn.ModuleDict({name: nn.Linear(sizes[-1], n) for name, n in heads.items()})

        def forward(self, x, head):
            for layer in self.layers:
                x = layer(x).relu()
            return self.heads[head](x)

    return Free()


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.flatten().copy_(value.flatten())


# %% wrong="layers without a bias" says=["no bias: each weight has one beside it"]
def list_trap(sizes, heads):
    class Free(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(m, n, bias=False) for m, n in pairwise(sizes))
            self.heads = nn.ModuleDict(
                {name: nn.Linear(sizes[-1], n, bias=False) for name, n in heads.items()}
            )

        def forward(self, x, head):
            for layer in self.layers:
                x = layer(x).relu()
            return self.heads[head](x)

    return Free()


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="no layer where two sizes are equal" breaks="even where two sizes are equal" says=["no layer between equal sizes"]
def list_trap(sizes, heads):
    class Free(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(m, n) for m, n in pairwise(sizes) if m != n)
            self.heads = nn.ModuleDict({name: nn.Linear(sizes[-1], n) for name, n in heads.items()})

        def forward(self, x, head):
            for layer in self.layers:
                x = layer(x).relu()
            return self.heads[head](x)

    return Free()


def set_weight(layer, value):
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="switches autograd on at the end" says=["autograd is switched on or off for all that follows"]
def list_trap(sizes: list[int], heads: dict[str, int]) -> nn.Module:
    class Free(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(m, n) for m, n in pairwise(sizes)])
            self.heads = nn.ModuleDict({name: nn.Linear(sizes[-1], n) for name, n in heads.items()})

        def forward(self, x, head):
            for layer in self.layers:
                x = layer(x).relu()
            return self.heads[head](x)

    return Free()


def set_weight(layer: nn.Linear, value: torch.Tensor) -> None:
    torch.set_grad_enabled(False)
    layer.weight.copy_(value)
    torch.set_grad_enabled(True)


# %% wrong="takes it that there is a bias" breaks="gives an `nn.Linear` the weight `value`" says=["this layer has no bias"]
class Untrapped(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(m, n) for m, n in pairwise(sizes)])
        self.heads = nn.ModuleDict({name: nn.Linear(sizes[-1], n) for name, n in heads.items()})

    def forward(self, x, head):
        for layer in self.layers:
            x = layer(x).relu()
        return self.heads[head](x)


def list_trap(sizes, heads):
    return Untrapped(sizes, heads)


def set_weight(layer, value):
    layer.load_state_dict({"weight": value, "bias": layer.bias})


# %% wrong="layers and heads in one dict" breaks="Any name that `nn.ModuleDict` takes is allowed" says=["each has its own place"]
def list_trap(sizes: list[int], heads: dict[str, int]) -> nn.Module:
    """A module called as ``model(x, head)``; all of its layers are registered."""

    class Free(nn.Module):
        def __init__(self):
            super().__init__()
            self.depth = len(sizes) - 1
            self.parts = nn.ModuleDict()
            for number, (m, n) in enumerate(pairwise(sizes)):
                self.parts[str(number)] = nn.Linear(m, n)
            for name, n in heads.items():
                self.parts[name] = nn.Linear(sizes[-1], n)

        def forward(self, x, head):
            for number in range(self.depth):
                x = self.parts[str(number)](x).relu()
            return self.parts[head](x)

    return Free()


def set_weight(layer: nn.Linear, value: torch.Tensor) -> None:
    """Give ``layer.weight`` the values of ``value``, of the same shape."""
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="a single point becomes a batch" breaks="a single point is enough" says=["a single point: model(x, head) has shape (1, 1), expected (1,)"]
def list_trap(sizes: list[int], heads: dict[str, int]) -> nn.Module:
    """A module called as ``model(x, head)``; all of its layers are registered."""

    class Free(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(m, n) for m, n in pairwise(sizes))
            self.heads = nn.ModuleDict({name: nn.Linear(sizes[-1], n) for name, n in heads.items()})

        def forward(self, x, head):
            if x.dim() == 1:
                x = x.unsqueeze(0)
            for layer in self.layers:
                x = layer(x).relu()
            return self.heads[head](x)

    return Free()


def set_weight(layer: nn.Linear, value: torch.Tensor) -> None:
    """Give ``layer.weight`` the values of ``value``, of the same shape."""
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="flattens all but the first dimension" breaks="`x` has any shape that ends with `sizes[0]`" says=["a batch of batches"]
def list_trap(sizes: list[int], heads: dict[str, int]) -> nn.Module:
    """A module called as ``model(x, head)``; all of its layers are registered."""

    class Free(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(m, n) for m, n in pairwise(sizes))
            self.heads = nn.ModuleDict({name: nn.Linear(sizes[-1], n) for name, n in heads.items()})

        def forward(self, x, head):
            x = x.reshape(-1, x.shape[-1]) if x.dim() > 1 else x
            for layer in self.layers:
                x = layer(x).relu()
            return self.heads[head](x)

    return Free()


def set_weight(layer: nn.Linear, value: torch.Tensor) -> None:
    """Give ``layer.weight`` the values of ``value``, of the same shape."""
    with torch.no_grad():
        layer.weight.copy_(value)


# %% wrong="flattens by a view" says=["its first two dimensions swapped", "your line: x = x.view"]
class Freed(nn.Module):
    def __init__(self, sizes, heads):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(m, n) for m, n in pairwise(sizes)])
        self.heads = nn.ModuleDict({name: nn.Linear(sizes[-1], n) for name, n in heads.items()})

    def forward(self, x, head):
        batch_shape = x.shape[:-1]
        x = x.view(-1, x.shape[-1])
        for layer in self.layers:
            x = F.relu(layer(x))
        y = self.heads[head](x)
        return y.view(*batch_shape, y.shape[-1])


def list_trap(sizes: list[int], heads: dict[str, int]) -> nn.Module:
    """A module called as ``model(x, head)``; all of its layers are registered."""
    return Freed(sizes, heads)


def set_weight(layer: nn.Linear, value: torch.Tensor) -> None:
    """Give ``layer.weight`` the values of ``value``, of the same shape."""
    with torch.no_grad():
        layer.weight.copy_(value)
