# %% [markdown]
# Rules:
#
# - "It returns a new module"
# - "zeros at first"
# - "of shape (size,)"
# - "`(1 - momentum) · mean + momentum · (mean of x over the batch)`"
# - "whether or not autograd records"
# - "In eval mode it doesn't"
# - "A batch of one row counts as any other"
# - "and so does one with a NaN"
# - "a batch without rows changes nothing"
# - "Then it returns `x - mean`"
# - "In backward, `mean` is a constant"
# - "it stays the tensor with which `module.mean` began"
# - "in the same memory"
# - "It never needs a gradient"
# - "`mean` is saved"
# - "a new module that loads it continues from there"
# - "computes in it"
# - "`x` isn't changed"
# - "The module has no parameter"
# - "Two modules share nothing"
# - "neither do a module and its `copy.deepcopy`"
#
# Admits:
#
# - "A batch of one row": a batch of one row
# - "one with a NaN": a NaN in one column
# - "a batch without rows": a batch without rows, between two others
# - "after `module.double()`": after double()
# - "whether or not autograd records": under no_grad

# %% wrong="keeps the graph" breaks="In backward, `mean` is a constant" says=["the gradient at x (mean is a constant)"]
class Average(nn.Module):
    def __init__(self, size, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        if self.training and len(x):
            new = (1 - self.momentum) * self.mean + self.momentum * x.mean(0)
            self.mean.copy_(new.detach())
            return x - new
        return x - self.mean


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% wrong="the recipe" breaks="It never needs a gradient" says=["mean requires grad: the graph of each batch hangs on it"]
class Average(nn.Module):
    def __init__(self, size, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        if self.training and len(x):
            self.mean += self.momentum * (x.mean(0) - self.mean)
        return x - self.mean


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% wrong="a plain attribute" says=["a plain attribute, or not persistent?"]
class Average(nn.Module):
    def __init__(self, size, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.mean = torch.zeros(size)

    def forward(self, x):
        with torch.no_grad():
            if self.training and len(x):
                self.mean.lerp_(x.mean(0).to(self.mean), self.momentum)
        return x - self.mean.clone()


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% wrong="a Parameter" breaks="The module has no parameter" says=["its parameters: expected 0, got 1"]
class Average(nn.Module):
    def __init__(self, size, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.mean = nn.Parameter(torch.zeros(size))

    def forward(self, x):
        with torch.no_grad():
            if self.training and len(x):
                self.mean.lerp_(x.mean(0), self.momentum)
        return x - self.mean.detach().clone()


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% wrong="updates in eval mode, and for an empty batch" says=["eval: mean (eval mode: it stays)", "a batch without rows, between two others"]
class Average(nn.Module):
    def __init__(self, size, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        with torch.no_grad():
            self.mean.lerp_(x.mean(0), self.momentum)
        return x - self.mean.clone()


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% wrong="momentum the wrong way round" breaks="`(1 - momentum) · mean + momentum · (mean of x over the batch)`" says=["momentum is the share of the new batch"]
class Average(nn.Module):
    def __init__(self, size, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))

    @torch.no_grad()
    def update(self, x):
        self.mean.mul_(self.momentum).add_((1 - self.momentum) * x.mean(0))

    def forward(self, x):
        if self.training and len(x):
            self.update(x)
        return x - self.mean.clone()


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% wrong="another tensor at every step" breaks="it stays the tensor with which `module.mean` began" says=["is another tensor than at first: update it in place"]
class Average(nn.Module):
    def __init__(self, size, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        if self.training and len(x):
            self.mean = (1 - self.momentum) * self.mean + self.momentum * x.detach().mean(0)
        return x - self.mean


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% wrong="subtracts the old mean" breaks="Then it returns `x - mean`" says=["the result is x minus the old mean: first update, then subtract"]
class Average(nn.Module):
    def __init__(self, size, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        y = x - self.mean.clone()
        with torch.no_grad():
            if self.training and x.shape[0] > 0:
                self.mean.lerp_(x.mean(0), self.momentum)
        return y


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% wrong="all of forward under no_grad" says=["only the update belongs under no_grad"]
class Average(nn.Module):
    def __init__(self, size, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))

    @torch.no_grad()
    def forward(self, x):
        if self.training and len(x):
            self.mean.lerp_(x.mean(0), self.momentum)
        return x - self.mean


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% wrong="not saved" breaks="`mean` is saved" says=["mean is not in its state dict"]
class Average(nn.Module):
    def __init__(self, size, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size), persistent=False)

    def forward(self, x):
        with torch.no_grad():
            if self.training and x.shape[0] > 0:
                self.mean.lerp_(x.mean(0), self.momentum)
        return x - self.mean.clone()


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% right="mul_ and add_ under no_grad"
class Average(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.momentum = momentum

    def forward(self, x):
        if self.training and x.numel():
            with torch.no_grad():
                self.mean *= 1 - self.momentum
                self.mean += self.momentum * x.mean(dim=0)
        return x - self.mean


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% right="a batch norm inside that is thrown away"
class Centre(nn.Module):
    def __init__(self, size, share):
        super().__init__()
        self.share = share
        self.register_buffer("mean", torch.full((size,), 0.0))

    def forward(self, batch):
        if self.training and batch.size(0) != 0:
            new = torch.einsum("bs->s", batch.detach()) / batch.size(0)
            self.mean.copy_(torch.lerp(self.mean, new, self.share))
        return torch.sub(batch, self.mean)


def moving_average_buffer(size, momentum=0.1):
    return Centre(size, momentum)


# %% wrong="one module for all" breaks="It returns a new module" says=["mean at first"]
class _Centre(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        if self.training and x.numel():
            batch = x.detach().sum(0) / x.shape[0]
            self.mean[:] = torch.lerp(self.mean, batch, self.momentum)
        return x.sub(self.mean)


def moving_average_buffer(size, momentum=0.1):
    if (size, momentum) not in _made:
        _made[size, momentum] = _Centre(size, momentum)
    return _made[size, momentum]


_made = {}


# %% wrong="a batch of one row is left out" breaks="A batch of one row counts as any other" says=["a batch of one row: call 2, train: mean was not updated by 1 row"]
def moving_average_buffer(size, momentum=0.1):
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size))

        def forward(self, x):
            if self.training and len(x) > 1:
                self.mean.lerp_(x.detach().mean(0), momentum)
            return x - self.mean

    return Average()


# %% wrong="updates where autograd records" breaks="whether or not autograd records" says=["under no_grad: call 1, train: mean was not updated"]
def moving_average_buffer(size, momentum=0.1):
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size))

        def forward(self, x):
            if self.training and torch.is_grad_enabled() and len(x):
                self.mean.lerp_(x.detach().mean(0), momentum)
            return x - self.mean

    return Average()


# %% wrong="the mean in float32" breaks="computes in it" says=["right to seven digits or so, in float64"]
def moving_average_buffer(size, momentum=0.1):
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size))

        def forward(self, x):
            if self.training and len(x):
                new = (1 - momentum) * self.mean.float() + momentum * x.detach().float().mean(0)
                self.mean.copy_(new)
            return x - self.mean

    return Average()


# %% wrong="takes the mean off in place" breaks="`x` isn't changed" says=["x was changed"]
def moving_average_buffer(size, momentum=0.1):
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size))

        def forward(self, x):
            if self.training and len(x):
                self.mean.lerp_(x.detach().mean(0), momentum)
            x.data.sub_(self.mean)
            return x * 1

    return Average()


# %% right="counts the batches in a second buffer"
def moving_average_buffer(size, momentum=0.1):
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size))
            self.register_buffer("calls", torch.tensor(0))

        def forward(self, x):
            if self.training and len(x):
                self.calls += 1
                self.mean.mul_(1 - momentum).add_(momentum * x.detach().mean(0))
            return x - self.mean

    return Average()


# %% wrong="a copy beside the buffer" breaks="a new module that loads it continues from there" says=["after a new module loaded this state"]
class Average(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))
        self.value = torch.zeros(size)

    def forward(self, x):
        if self.training and x.shape[0] > 0:
            with torch.no_grad():
                self.value = (1 - self.momentum) * self.value + self.momentum * x.mean(0)
                self.mean.copy_(self.value)
        return x - self.mean


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% wrong="data of a new tensor" breaks="in the same memory" says=["other memory than at first"]
class Average(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        if self.training and x.shape[0] > 0:
            with torch.no_grad():
                self.mean.data = (1 - self.momentum) * self.mean + self.momentum * x.mean(0)
        return x - self.mean


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% wrong="no update where autograd is off" says=["under no_grad: call 1, train: mean was not updated by 6 rows"]
class Average(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        if self.training and torch.is_grad_enabled() and len(x):
            with torch.no_grad():
                self.mean.copy_((1 - self.momentum) * self.mean + self.momentum * x.mean(0))
        return x - self.mean


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% wrong="one tensor for all modules of a size" breaks="Two modules share nothing" says=["another module's mean has moved with it"]
ZEROS = {}


class Average(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", ZEROS.setdefault(size, torch.zeros(size)))

    def forward(self, x):
        if self.training and len(x):
            with torch.no_grad():
                self.mean.copy_((1 - self.momentum) * self.mean + self.momentum * x.mean(0))
        return x - self.mean


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% wrong="subtracts in place of x" says=["x was changed: return a new tensor"]
class Average(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        if self.training and len(x):
            with torch.no_grad():
                self.mean.copy_((1 - self.momentum) * self.mean + self.momentum * x.mean(0))
        return x.sub_(self.mean)


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% wrong="subtracts in float32" says=["the result: right to seven digits or so"]
class Average(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        if self.training and len(x):
            with torch.no_grad():
                self.mean.copy_((1 - self.momentum) * self.mean + self.momentum * x.mean(0))
        return (x.float() - self.mean.float()).to(x.dtype)


def moving_average_buffer(size, momentum=0.1):
    return Average(size, momentum)


# %% wrong="a sum that never forgets" says=["the old mean keeps a share of 1 - momentum only"]
class Avg(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.momentum = momentum

    def forward(self, x):
        if self.training and x.shape[0] > 0:
            with torch.no_grad():
                self.mean += self.momentum * x.mean(0)
        return x - self.mean.detach().clone()


def moving_average_buffer(size, momentum=0.1):
    return Avg(size, momentum)


# %% wrong="the first batch is the mean" breaks="zeros at first" says=["the first batch has a share of momentum, as any other"]
class Avg(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.momentum = momentum
        self.first = True

    def forward(self, x):
        if self.training and x.shape[0] > 0:
            with torch.no_grad():
                if self.first:
                    self.mean.copy_(x.mean(0))
                    self.first = False
                else:
                    self.mean += self.momentum * (x.mean(0) - self.mean)
        return x - self.mean.detach().clone()


def moving_average_buffer(size, momentum=0.1):
    return Avg(size, momentum)


# %% wrong="one mean for all features" breaks="of shape (size,)" says=["a mean for each feature, over the batch alone"]
class Avg(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.momentum = momentum

    def forward(self, x):
        if self.training and x.shape[0] > 0:
            with torch.no_grad():
                self.mean += self.momentum * (x.mean() - self.mean)
        return x - self.mean.detach().clone()


def moving_average_buffer(size, momentum=0.1):
    return Avg(size, momentum)


# %% wrong="momentum fixed" says=["momentum is an argument; 0.1 is only its default"]
class Avg(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.momentum = momentum

    def forward(self, x):
        if self.training and x.shape[0] > 0:
            with torch.no_grad():
                self.mean += 0.1 * (x.mean(0) - self.mean)
        return x - self.mean.detach().clone()


def moving_average_buffer(size, momentum=0.1):
    return Avg(size, momentum)


# %% wrong="momentum as a float32 buffer" says=["after double()", "what goes through float32?"]
class Avg(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("momentum", torch.tensor(momentum))

    def forward(self, x):
        if self.training and x.shape[0] > 0:
            with torch.no_grad():
                self.mean += self.momentum * (x.mean(0) - self.mean)
        return x - self.mean.detach().clone()


def moving_average_buffer(size, momentum=0.1):
    return Avg(size, momentum)


# %% right="in-place sums under no_grad"
class Avg(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.momentum = momentum

    def forward(self, x):
        if self.training and x.shape[0] > 0:
            with torch.no_grad():
                self.mean += self.momentum * (x.mean(0) - self.mean)
        return x - self.mean.detach().clone()


def moving_average_buffer(size, momentum=0.1):
    return Avg(size, momentum)


# %% wrong="updates in eval mode, too" breaks="In eval mode it doesn't" says=["mean (eval mode: it stays)"]
def moving_average_buffer(size, momentum=0.1):
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size))

        def forward(self, x):
            if len(x):
                with torch.no_grad():
                    self.mean.lerp_(x.mean(0), momentum)
            return x - self.mean

    return Average()


# %% wrong="the mean of no rows" breaks="a batch without rows changes nothing" says=["a batch without rows has no mean, and changes nothing"]
def moving_average_buffer(size, momentum=0.1):
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size))

        def forward(self, x):
            if self.training:
                with torch.no_grad():
                    self.mean.lerp_(x.mean(0), momentum)
            return x - self.mean

    return Average()


# %% wrong="momentum of one half at most" says=["momentum 1.0: call 1, train: mean"]
def moving_average_buffer(size, momentum=0.1):
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size))

        def forward(self, x):
            if self.training and len(x):
                with torch.no_grad():
                    self.mean.lerp_(x.mean(0), min(momentum, 0.5))
            return x - self.mean

    return Average()


# %% wrong="a tensor that comes a second time in a row is left out" breaks="`(1 - momentum) · mean + momentum · (mean of x over the batch)`" says=["after the very same tensor came a second time"]
class Moving(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        if self.training and len(x) and x.data_ptr() != getattr(self, "last", 0):
            with torch.no_grad():
                self.mean.mul_(1 - self.momentum).add_(self.momentum * x.mean(0))
        self.last = x.data_ptr()
        return x - self.mean.clone()


def moving_average_buffer(size, momentum=0.1):
    return Moving(size, momentum)


# %% wrong="divides by at least 1" breaks="a batch without rows changes nothing" says=["mean was changed by a batch without rows"]
def moving_average_buffer(size, momentum=0.1):
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size, dtype=torch.float32))

        def forward(self, x):
            if self.training:
                with torch.no_grad():
                    self.mean.mul_(1 - momentum).add_(momentum * x.sum(0) / max(len(x), 1))
            return x - self.mean

    return Average()


# %% wrong="an update for each row" says=["one update for each batch, by its mean"]
def moving_average_buffer(size, momentum=0.1):
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size, dtype=torch.float32))

        def forward(self, x):
            if self.training and len(x) > 0:
                with torch.no_grad():
                    for row in x:
                        self.mean.mul_(1 - momentum).add_(momentum * row)
            return x - self.mean

    return Average()


# %% wrong="subtracts in place without a graph" breaks="`x` isn't changed" says=["x was changed: return a new tensor"]
def moving_average_buffer(size, momentum=0.1):
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size, dtype=torch.float32))

        def forward(self, x):
            if self.training and len(x) > 0:
                with torch.no_grad():
                    self.mean.mul_(1 - momentum).add_(momentum * x.mean(0))
            return x - self.mean if x.requires_grad else x.sub_(self.mean)

    return Average()


# %% wrong="updates for an x that needs a gradient" says=["a call in training did not update mean"]
def moving_average_buffer(size, momentum=0.1):
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size, dtype=torch.float32))

        def forward(self, x):
            if self.training and x.requires_grad and len(x) > 0:
                with torch.no_grad():
                    self.mean.mul_(1 - momentum).add_(momentum * x.mean(0))
            return x - self.mean

    return Average()


# %% wrong="momentum by position alone" says=["positional-only arguments"]
def moving_average_buffer(size: int, momentum: float = 0.1, /) -> nn.Module:
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size, dtype=torch.float32))

        def forward(self, x):
            if self.training and len(x) > 0:
                with torch.no_grad():
                    self.mean.mul_(1 - momentum).add_(momentum * x.mean(0))
            return x - self.mean.clone()

    return Average()


# %% wrong="starts from the first batch, in eval mode as well" breaks="In eval mode it doesn't" says=["a new module, in eval mode at once"]
def moving_average_buffer(size: int, momentum: float = 0.1) -> nn.Module:
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size, dtype=torch.float32))

        def forward(self, x):
            if not self.training and not self.mean.any():
                self.mean.data.copy_(x.detach().mean(0))
            if self.training and len(x) > 0:
                with torch.no_grad():
                    self.mean.mul_(1 - momentum).add_(momentum * x.mean(0))
            return x - self.mean.clone()

    return Average()


# %% wrong="replaces infinite numbers" breaks="Then it returns `x - mean`" says=["an infinite number, in eval mode"]
def moving_average_buffer(size: int, momentum: float = 0.1) -> nn.Module:
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size, dtype=torch.float32))

        def forward(self, x):
            if self.training and len(x) > 0:
                with torch.no_grad():
                    self.mean.mul_(1 - momentum).add_(momentum * x.mean(0))
            return torch.nan_to_num(x - self.mean.clone())

    return Average()


# %% wrong="clamps the batch's mean" breaks="`(1 - momentum) · mean + momentum · (mean of x over the batch)`" says=["huge numbers"]
class MovingAverage(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        if self.training and len(x) > 0:
            with torch.no_grad():
                self.mean.lerp_(x.mean(0).clamp(-1e4, 1e4), self.momentum)
        return x - self.mean.clone()


def moving_average_buffer(size, momentum=0.1):
    return MovingAverage(size, momentum)


# %% wrong="a hook that updates the first module, also in a copy" breaks="neither do a module and its `copy.deepcopy`" says=["a call of a copy.deepcopy has changed the first module's mean"]
def moving_average_buffer(size: int, momentum: float = 0.1) -> nn.Module:
    class TakeOff(nn.Module):
        def forward(self, x):
            return x - self.mean

    module = TakeOff()
    module.register_buffer("mean", torch.zeros(size))

    @torch.no_grad()
    def update(_, inputs):
        (x,) = inputs
        if module.training and len(x):
            module.mean.lerp_(x.mean(0), momentum)

    module.register_forward_pre_hook(update)
    return module


# %% wrong="doesn't learn in inference mode" breaks="whether or not autograd records" says=["under inference_mode", "mean was not updated"]
class MovingAverage(nn.Module):
    def __init__(self, size, momentum):
        super().__init__()
        self.size, self.momentum = size, momentum
        self.mean = nn.Buffer(torch.zeros(size))

    @property
    def learns(self):
        return self.training and not torch.is_inference_mode_enabled()

    def forward(self, x):
        if self.learns and x.shape[0]:
            self.mean.copy_(torch.lerp(self.mean, x.detach().mean(0), self.momentum))
        return x - self.mean


def moving_average_buffer(size: int, momentum: float = 0.1) -> nn.Module:
    return MovingAverage(size, momentum)


# %% wrong="a forward that takes off the first module's mean, also in a copy" breaks="neither do a module and its `copy.deepcopy`" says=["or has taken that off x"]
def moving_average_buffer(size: int, momentum: float = 0.1) -> nn.Module:
    module = nn.Module()
    module.register_buffer("mean", torch.zeros(size))
    module.forward = lambda x: x - module.mean.clone()

    def update(m, args):
        if m.training and len(args[0]):
            m.mean.lerp_(args[0].detach().mean(0), momentum)

    module.register_forward_pre_hook(update)
    return module


# %% right="a bound method as a hook, which a copy takes along"
def moving_average_buffer(size: int, momentum: float = 0.1) -> nn.Module:
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = nn.Buffer(torch.zeros(size))
            self.register_forward_pre_hook(self.update)

        @torch.no_grad()
        def update(self, module, args):
            (x,) = args
            if module.training and len(x):
                module.mean.lerp_(x.mean(0), momentum)

        def forward(self, x):
            return x - self.mean.clone()

    return Average()


# %% wrong="leaves out a batch with a NaN" breaks="and so does one with a NaN" says=["a NaN in one column, in training", "only a batch without rows is left out"]
def moving_average_buffer(size: int, momentum: float = 0.1) -> nn.Module:
    """A module that takes a moving average off its input (batch, size)."""

    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size))
            self.momentum = momentum

        def forward(self, x):
            if self.training:
                with torch.no_grad():
                    batch = x.mean(0)
                    if not batch.isnan().any():
                        self.mean.lerp_(batch, self.momentum)
            return x - self.mean

    return Average()


# %% wrong="subtracts by batch_norm, which keeps the buffer" says=["two calls, then a backward through both", "holds"]
def moving_average_buffer(size: int, momentum: float = 0.1) -> nn.Module:
    """A module that takes a moving average off its input (batch, size)."""

    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size))

        def forward(self, x):
            if self.training and len(x):
                with torch.no_grad():
                    self.mean.lerp_(x.mean(0), momentum)
            if not len(x):
                return x - self.mean
            return F.batch_norm(x, self.mean, torch.ones_like(self.mean), eps=0.0)

    return Average()
