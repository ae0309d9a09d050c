# %% [markdown]
# Rules:
#
# - "the pair of the new `p` and the new buffer"
# - "`buffer` is `None` before the first step"
# - "With momentum 0 there is no buffer: return `None` for it"
# - "The arguments stay as they are"
# - "the new buffer shares no memory with `grad`"
# - "in place"
# - "to every parameter of every group"
# - "whose `.grad` isn't None"
# - "A group has its own options"
# - "Keep the buffers in `self.state`"
# - "so that `state_dict()` carries them"
# - "`step(closure)` calls the closure once"
# - "with gradients enabled"
# - "returns its loss"
# - "without one it returns `None`"
# - "`.grad` stays as it is"
# - "Between two steps a group's options may change"
# - "So name the five that are meant"
#
# Admits:
#
# - "`buffer` is `None` before the first step": a first step with momentum and decay 0.25
# - "`step(closure)`": steps by a closure
# - "every parameter of every group": gradients that are infinite or NaN
# - "such as `initial_lr` and `max_lr`": a group to which OneCycleLR has added max_lr
# - "a group's options may change": a group whose rate is 0 in the second step
# - "`state_dict()` carries them": from the old one's state_dict

# %% wrong="the first buffer is dampened too" says=["the first buffer is the gradient itself"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum:
        buffer = torch.zeros_like(d) if buffer is None else buffer
        buffer = momentum * buffer + (1 - dampening) * d
        d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k not in ("params", "initial_lr")}
            for p in group["params"]:
                if p.grad is not None:
                    new, self.state[p]["b"] = sgd_family(
                        p, p.grad, self.state[p].get("b"), **options
                    )
                    p.copy_(new)
        return loss


# %% wrong="a running mean instead of a sum" says=["running mean"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum:
        buffer = d.clone() if buffer is None else momentum * buffer + (1 - momentum) * d
        d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


# %% wrong="forgets dampening" says=["dampening is left out"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum:
        buffer = d.clone() if buffer is None else momentum * buffer + d
        d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


# %% wrong="dampens the old buffer" says=["a later step with dampening 0.5", "expected 2.85"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum:
        buffer = d.clone() if buffer is None else (1 - dampening) * (momentum * buffer + d)
        d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


# %% wrong="the decay goes past the buffer" says=["the decay belongs to the gradient"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad
    if momentum:
        buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
        d = d + momentum * buffer if nesterov else buffer
    return p - lr * d - lr * weight_decay * p, buffer


# %% wrong="forgets the decay" says=["weight_decay is left out"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad
    if momentum:
        buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
        d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


# %% wrong="Nesterov left out" says=["momentum without the look ahead"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum:
        buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
        d = buffer
    return p - lr * d, buffer


# %% wrong="Nesterov with the old buffer" says=["takes the new buffer, not the old one"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum:
        old = torch.zeros_like(d) if buffer is None else buffer
        buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
        d = d + momentum * old if nesterov else buffer
    return p - lr * d, buffer


# %% wrong="the rate inside the buffer" says=["the rate is inside the buffer"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = lr * (grad + weight_decay * p)
    if momentum:
        buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
        d = d + momentum * buffer if nesterov else buffer
    return p - d, buffer


# %% wrong="changes the gradient in place" breaks="The arguments stay as they are" says=["an argument was changed"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad
    d += weight_decay * p
    if momentum:
        buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
        d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


# %% wrong="the first buffer is the gradient's own memory" breaks="the new buffer shares no memory with `grad`" says=["shares the storage"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p if weight_decay else grad
    if momentum:
        buffer = d if buffer is None else momentum * buffer + (1 - dampening) * d
        d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


# %% wrong="climbs" says=["the step goes uphill"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum:
        buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
        d = d + momentum * buffer if nesterov else buffer
    return p + lr * d, buffer


# %% wrong="returns the parameter alone" breaks="the pair of the new `p` and the new buffer" says=["expected a pair"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    return p - lr * (grad + weight_decay * p)


# %% wrong="buffers in an attribute of its own" breaks="Keep the buffers in `self.state`" says=["the buffers are not in self.state"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum:
        buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
        d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})
        self.buffers = {}

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k not in ("params", "initial_lr")}
            for p in group["params"]:
                if p.grad is not None:
                    new, self.buffers[p] = sgd_family(p, p.grad, self.buffers.get(p), **options)
                    p.copy_(new)
        return loss


# %% wrong="the closure without gradients" breaks="with gradients enabled" says=["the closure"]
class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k not in ("params", "initial_lr")}
            for p in group["params"]:
                if p.grad is not None:
                    new, self.state[p]["b"] = sgd_family(
                        p, p.grad, self.state[p].get("b"), **options
                    )
                    p.copy_(new)
        return loss


# %% wrong="one rate for all groups" breaks="A group has its own options" says=["each group has its own lr"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum:
        buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
        d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    new, self.state[p]["b"] = sgd_family(
                        p, p.grad, self.state[p].get("b"), **self.defaults
                    )
                    p.copy_(new)
        return loss


# %% wrong="rebinds the name p" says=["moved nothing"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum:
        buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
        d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k not in ("params", "initial_lr")}
            for p in group["params"]:
                if p.grad is not None:
                    p, self.state[p]["b"] = sgd_family(p, p.grad, self.state[p].get("b"), **options)
        return loss


# %% wrong="does not skip parameters without a gradient" breaks="whose `.grad` isn't None" says=["a parameter without a gradient"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum:
        buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
        d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k not in ("params", "initial_lr")}
            for p in group["params"]:
                grad = torch.zeros_like(p) if p.grad is None else p.grad
                new, self.state[p]["b"] = sgd_family(p, grad, self.state[p].get("b"), **options)
                p.copy_(new)
        return loss


# %% right="in the manner of torch's own, on copies"
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    grad = grad.clone()
    if weight_decay != 0:
        grad.add_(p, alpha=weight_decay)
    if momentum != 0:
        if buffer is None:
            buffer = grad.clone()
        else:
            buffer = buffer.clone().mul_(momentum).add_(grad, alpha=1 - dampening)
        grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
    return p.add(grad, alpha=-lr), buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
            },
        )

    def step(self, closure=None):
        loss = closure() if closure else None
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                with torch.no_grad():
                    state = self.state[p]
                    new, buffer = sgd_family(
                        p.detach(),
                        p.grad,
                        state.get("momentum_buffer"),
                        group["lr"],
                        group["momentum"],
                        group["dampening"],
                        group["weight_decay"],
                        group["nesterov"],
                    )
                    if buffer is not None:
                        state["momentum_buffer"] = buffer
                    p -= p - new
        return loss


# %% right="the library steps on copies"
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    q = torch.nn.Parameter(p.detach().clone())
    optimizer = torch.optim.SGD(
        [q], lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=False
    )
    optimizer.param_groups[0].update(nesterov=nesterov, dampening=dampening)
    q.grad = grad.clone()
    if buffer is not None:
        optimizer.state[q]["momentum_buffer"] = buffer.clone()
    optimizer.step()
    return q.detach(), optimizer.state[q].get("momentum_buffer")


class Sgd(torch.optim.SGD):
    pass


# %% wrong="decay only with momentum" says=["weight_decay is left out"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):

    if momentum == 0:
        return p - lr * grad, None
    g = grad + weight_decay * p
    b = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    return p - lr * (g + momentum * b if nesterov else b), b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):

        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            o = {k: group[k] for k in ("lr", "momentum", "dampening", "weight_decay", "nesterov")}
            for p in group["params"]:
                if p.grad is None:
                    continue
                new, b = sgd_family(p, p.grad, self.state[p].get("b"), **o)
                p.copy_(new)
                self.state[p]["b"] = b
        return loss


# %% wrong="the first buffer has no decay in it" says=["the gradient with the decay in it"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):

    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    b = grad.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    return p - lr * (g + momentum * b if nesterov else b), b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):

        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            o = {k: group[k] for k in ("lr", "momentum", "dampening", "weight_decay", "nesterov")}
            for p in group["params"]:
                if p.grad is None:
                    continue
                new, b = sgd_family(p, p.grad, self.state[p].get("b"), **o)
                p.copy_(new)
                self.state[p]["b"] = b
        return loss


# %% wrong="Nesterov looks ahead with the old buffer" says=["the new buffer, not the old one"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):

    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    if buffer is None:
        return p - lr * g * (1 + momentum * nesterov), g.clone()
    b = momentum * buffer + (1 - dampening) * g
    return p - lr * (g + momentum * buffer if nesterov else b), b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):

        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            o = {k: group[k] for k in ("lr", "momentum", "dampening", "weight_decay", "nesterov")}
            for p in group["params"]:
                if p.grad is None:
                    continue
                new, b = sgd_family(p, p.grad, self.state[p].get("b"), **o)
                p.copy_(new)
                self.state[p]["b"] = b
        return loss


# %% wrong="the defaults' options for every group" says=["each group has its own lr"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):

    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    b = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    d = g + momentum * b if nesterov else b
    return p - lr * d, b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):

        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                d = self.defaults
                new, b = sgd_family(
                    p,
                    p.grad,
                    self.state[p].get("b"),
                    d["lr"],
                    d["momentum"],
                    d["dampening"],
                    d["weight_decay"],
                    d["nesterov"],
                )
                p.copy_(new)
                self.state[p]["b"] = b
        return loss


# %% right="a match statement, and a list for a pair"
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):

    coefficient = 1 - dampening
    effective = grad + weight_decay * p if weight_decay else grad
    match (momentum, buffer):
        case (0 | 0.0, _):
            new_buffer, direction = None, effective
        case (_, None):
            new_buffer = 1.0 * effective
            direction = effective * (1 + momentum) if nesterov else new_buffer
        case _:
            new_buffer = momentum * buffer + coefficient * effective
            direction = effective + momentum * new_buffer if nesterov else new_buffer
    return [p - lr * direction, new_buffer]


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):

        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    old = self.state[p]["v"] if "v" in self.state[p] else None
                    new, buf = sgd_family(
                        p.detach(),
                        p.grad.detach(),
                        old,
                        group["lr"],
                        group["momentum"],
                        group["dampening"],
                        group["weight_decay"],
                        group["nesterov"],
                    )
                    p.sub_(p - new)
                    if buf is not None:
                        self.state[p]["v"] = buf
        return loss


# %% wrong="skips a gradient of zeros" says=["a gradient of zeros is skipped"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    b = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    return p - lr * (g + momentum * b if nesterov else b), b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None or not p.grad.any():
                    continue
                options = {k: v for k, v in group.items() if k not in ("params", "initial_lr")}
                new, b = sgd_family(p, p.grad, self.state[p].get("b"), **options)
                p.copy_(new)
                self.state[p]["b"] = b
        return loss


# %% wrong="the rates of its first day" breaks="Between two steps a group's options may change" says=["anew in each step"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    b = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    return p - lr * (g + momentum * b if nesterov else b), b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})
        self.options = {
            id(group["params"][0]): {
                k: v for k, v in group.items() if k not in ("params", "initial_lr")
            }
            for group in self.param_groups
        }

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                options = self.options[id(group["params"][0])]
                new, b = sgd_family(p, p.grad, self.state[p].get("b"), **options)
                p.copy_(new)
                self.state[p]["b"] = b
        return loss


# %% wrong="momentum from the defaults" says=["momentum was read from self.defaults"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    b = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    return p - lr * (g + momentum * b if nesterov else b), b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                options = {
                    **{k: v for k, v in group.items() if k not in ("params", "initial_lr")},
                    "momentum": self.defaults["momentum"],
                }
                new, b = sgd_family(p, p.grad, self.state[p].get("b"), **options)
                p.copy_(new)
                self.state[p]["b"] = b
        return loss


# %% wrong="other memory under the parameter" breaks="in place" says=["has other memory now"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    b = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    return p - lr * (g + momentum * b if nesterov else b), b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                options = {k: v for k, v in group.items() if k not in ("params", "initial_lr")}
                new, b = sgd_family(p, p.grad, self.state[p].get("b"), **options)
                p.data = new
                self.state[p]["b"] = b
        return loss


# %% wrong="the loss as a number" breaks="returns its loss" says=["returned a float"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    b = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    return p - lr * (g + momentum * b if nesterov else b), b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                options = {k: v for k, v in group.items() if k not in ("params", "initial_lr")}
                new, b = sgd_family(p, p.grad, self.state[p].get("b"), **options)
                p.copy_(new)
                self.state[p]["b"] = b
        return None if loss is None else loss.item()


# %% wrong="buffers that belong to the class" says=["the buffers are not in self.state"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
    return p - lr * (d + momentum * buffer if nesterov else buffer), buffer


class Sgd(torch.optim.Optimizer):
    buffers = {}

    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            names = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            options = {k: group[k] for k in names}
            for p in group["params"]:
                if p.grad is not None:
                    # By the tensor itself: an id is given again when its tensor goes.
                    new, self.buffers[p] = sgd_family(p, p.grad, self.buffers.get(p), **options)
                    p.copy_(new)
        return loss


# %% wrong="buffers in the group" says=["the buffers are not in self.state"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
    return p - lr * (d + momentum * buffer if nesterov else buffer), buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            names = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            options = {k: group[k] for k in names}
            for p in group["params"]:
                if p.grad is not None:
                    new, group.setdefault("buffers", {})[id(p)] = sgd_family(
                        p, p.grad, group.get("buffers", {}).get(id(p)), **options
                    )
                    p.copy_(new)
        return loss


# %% wrong="the closure twice" breaks="`step(closure)` calls the closure once" says=["called the closure 2 times"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
    return p - lr * (d + momentum * buffer if nesterov else buffer), buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                closure()
                loss = closure()
        for group in self.param_groups:
            names = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            options = {k: group[k] for k in names}
            for p in group["params"]:
                if p.grad is not None:
                    new, self.state[p]["buffer"] = sgd_family(
                        p, p.grad, self.state[p].get("buffer"), **options
                    )
                    p.copy_(new)
        return loss


# %% wrong="the closure after the step" says=["steps by a closure"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
    return p - lr * (d + momentum * buffer if nesterov else buffer), buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            names = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            options = {k: group[k] for k in names}
            for p in group["params"]:
                if p.grad is not None:
                    new, self.state[p]["buffer"] = sgd_family(
                        p, p.grad, self.state[p].get("buffer"), **options
                    )
                    p.copy_(new)
        if closure is not None:
            with torch.enable_grad():
                return closure()
        return None


# %% wrong="the first parameter of a group alone" breaks="to every parameter of every group" says=["a parameter of group 1 has moved nothing"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
    return p - lr * (d + momentum * buffer if nesterov else buffer), buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            names = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            options = {k: group[k] for k in names}
            for p in group["params"][:1]:
                if p.grad is not None:
                    new, self.state[p]["buffer"] = sgd_family(
                        p, p.grad, self.state[p].get("buffer"), **options
                    )
                    p.copy_(new)
        return loss


# %% wrong="clears the gradient after the step" breaks="`.grad` stays as it is" says=["step() changed .grad"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
    return p - lr * (d + momentum * buffer if nesterov else buffer), buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            names = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            options = {k: group[k] for k in names}
            for p in group["params"]:
                if p.grad is not None:
                    new, self.state[p]["buffer"] = sgd_family(
                        p, p.grad, self.state[p].get("buffer"), **options
                    )
                    p.copy_(new)
                    p.grad = None
        return loss


# %% wrong="a buffer of zeros taken for the first step" breaks="`buffer` is `None` before the first step" says=["a buffer of zeros isn't None"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    direction = grad + weight_decay * p
    if momentum == 0:
        return p - lr * direction, None
    buffer = (
        direction.clone()
        if buffer is None or not buffer.any()
        else momentum * buffer + (1 - dampening) * direction
    )
    return p - lr * (direction + momentum * buffer if nesterov else buffer), buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        super().__init__(
            params,
            {
                **dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False),
                **options,
            },
        )

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k not in ("params", "initial_lr")}
            for p in group["params"]:
                if p.grad is not None:
                    new, self.state[p]["buffer"] = sgd_family(
                        p, p.grad, self.state[p].get("buffer"), **options
                    )
                    p.copy_(new)
        return loss


# %% wrong="zeros are skipped where there is no momentum" says=["a gradient of zeros is skipped"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    direction = grad + weight_decay * p
    if momentum == 0:
        return p - lr * direction, None
    buffer = (
        direction.clone() if buffer is None else momentum * buffer + (1 - dampening) * direction
    )
    return p - lr * (direction + momentum * buffer if nesterov else buffer), buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        super().__init__(
            params,
            {
                **dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False),
                **options,
            },
        )

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k not in ("params", "initial_lr")}
            for p in group["params"]:
                if p.grad is not None and (group["momentum"] or p.grad.any()):
                    new, self.state[p]["buffer"] = sgd_family(
                        p, p.grad, self.state[p].get("buffer"), **options
                    )
                    p.copy_(new)
        return loss


# %% wrong="the state by id" breaks="so that `state_dict()` carries them" says=["the keys of self.state are the parameters themselves"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    direction = grad + weight_decay * p
    if momentum == 0:
        return p - lr * direction, None
    buffer = (
        direction.clone() if buffer is None else momentum * buffer + (1 - dampening) * direction
    )
    return p - lr * (direction + momentum * buffer if nesterov else buffer), buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        super().__init__(
            params,
            {
                **dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False),
                **options,
            },
        )

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k not in ("params", "initial_lr")}
            for p in group["params"]:
                if p.grad is not None:
                    new, self.state[id(p)]["buffer"] = sgd_family(
                        p, p.grad, self.state[id(p)].get("buffer"), **options
                    )
                    p.copy_(new)
        return loss


# %% wrong="the first group alone" says=["only some of the parameters have a buffer"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    direction = grad + weight_decay * p
    if momentum == 0:
        return p - lr * direction, None
    buffer = (
        direction.clone() if buffer is None else momentum * buffer + (1 - dampening) * direction
    )
    return p - lr * (direction + momentum * buffer if nesterov else buffer), buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        super().__init__(
            params,
            {
                **dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False),
                **options,
            },
        )

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups[:1]:
            options = {k: v for k, v in group.items() if k not in ("params", "initial_lr")}
            for p in group["params"]:
                if p.grad is not None:
                    new, self.state[p]["buffer"] = sgd_family(
                        p, p.grad, self.state[p].get("buffer"), **options
                    )
                    p.copy_(new)
        return loss


# %% wrong="break at the first parameter without a gradient" says=["by continue, not by break"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    direction = grad + weight_decay * p
    if momentum == 0:
        return p - lr * direction, None
    buffer = (
        direction.clone() if buffer is None else momentum * buffer + (1 - dampening) * direction
    )
    return p - lr * (direction + momentum * buffer if nesterov else buffer), buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        super().__init__(
            params,
            {
                **dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False),
                **options,
            },
        )

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k not in ("params", "initial_lr")}
            for p in group["params"]:
                if p.grad is None:
                    break
                if True:
                    new, self.state[p]["buffer"] = sgd_family(
                        p, p.grad, self.state[p].get("buffer"), **options
                    )
                    p.copy_(new)
        return loss


# %% wrong="frozen ones are skipped" says=["ask for .grad alone"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    buffer = d if buffer is None else momentum * buffer + (1 - dampening) * d
    step = d + momentum * buffer if nesterov else buffer
    return p - lr * step, buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {
                k: group[k] for k in ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            }
            for p in group["params"]:
                if p.requires_grad and p.grad is not None:
                    new, buffer = sgd_family(p, p.grad, self.state[p].get("buffer"), **options)
                    p.copy_(new)
                    if buffer is not None:
                        self.state[p]["buffer"] = buffer
        return loss


# %% wrong="parameters kept when made" says=["ask for .grad alone"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    buffer = d if buffer is None else momentum * buffer + (1 - dampening) * d
    step = d + momentum * buffer if nesterov else buffer
    return p - lr * step, buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})
        self.mine = [list(g["params"]) for g in self.param_groups]

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group, mine in zip(self.param_groups, self.mine):
            options = {
                k: group[k] for k in ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            }
            for p in mine:
                if p.grad is not None:
                    new, buffer = sgd_family(p, p.grad, self.state[p].get("buffer"), **options)
                    p.copy_(new)
                    if buffer is not None:
                        self.state[p]["buffer"] = buffer
        return loss


# %% wrong="a first step with Nesterov does not look ahead" says=["a first Nesterov step: the new p: expected 2.85, got 2.9", "a first step with Nesterov looks ahead, too"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if not momentum:
        return p - lr * g, None
    if buffer is None:
        return p - lr * g, g.clone()
    b = momentum * buffer + (1 - dampening) * g
    return p - lr * (g + momentum * b if nesterov else b), b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k in self.defaults}
            for p in group["params"]:
                if p.grad is not None:
                    new, b = sgd_family(p, p.grad, self.state[p].get("b"), **options)
                    p.copy_(new)
                    if b is not None:
                        self.state[p]["b"] = b
        return loss


# %% wrong="the optimizer's decay is decoupled" says=["the decay goes past the buffer"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if not momentum:
        return p - lr * g, None
    b = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    return p - lr * (g + momentum * b if nesterov else b), b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k in self.defaults}
            decay = options.pop("weight_decay")
            for p in group["params"]:
                if p.grad is not None:
                    p.mul_(1 - options["lr"] * decay)
                    new, b = sgd_family(p, p.grad, self.state[p].get("b"), **options)
                    p.copy_(new)
                    if b is not None:
                        self.state[p]["b"] = b
        return loss


# %% wrong="always the rate 0.1" says=["lr is the argument's, not always 0.1"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    lr, g = 0.1, grad + weight_decay * p
    if not momentum:
        return p - lr * g, None
    b = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    return p - lr * (g + momentum * b if nesterov else b), b


class Sgd(torch.optim.SGD):
    pass


# %% wrong="a buffer whatever the momentum" breaks="With momentum 0 there is no buffer: return `None` for it" says=["without momentum there is no buffer: expected None for it"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, g.clone()
    new = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    d = g + momentum * new if nesterov else new
    return p - lr * d, new


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {
                k: group[k] for k in ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            }
            for p in group["params"]:
                if p.grad is not None:
                    new, b = sgd_family(p, p.grad, self.state[p].get("momentum_buffer"), **options)
                    p.copy_(new)
                    if b is not None:
                        self.state[p]["momentum_buffer"] = b
        return loss


# %% wrong="returns itself" breaks="without one it returns `None`" says=["step() without a closure returned"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    new = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    d = g + momentum * new if nesterov else new
    return p - lr * d, new


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {
                k: group[k] for k in ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            }
            for p in group["params"]:
                if p.grad is not None:
                    new, b = sgd_family(p, p.grad, self.state[p].get("momentum_buffer"), **options)
                    p.copy_(new)
                    if b is not None:
                        self.state[p]["momentum_buffer"] = b
        return self if closure is None else loss


# %% wrong="a buffer that is kept and never read" says=["each step begins without a buffer"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    b = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    return p - lr * (g + momentum * b if nesterov else b), b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {name: value for name, value in group.items() if name in self.defaults}
            for p in group["params"]:
                if p.grad is not None:
                    new, buffer = sgd_family(p, p.grad, None, **options)
                    self.state[p]["buffer"] = buffer
                    p.copy_(new)
        return loss


# %% wrong="one buffer for all parameters" says=["keep it in self.state[p], under p itself"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    b = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    return p - lr * (g + momentum * b if nesterov else b), b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        kept = self.state[self.param_groups[0]["params"][0]]
        for group in self.param_groups:
            options = {name: value for name, value in group.items() if name != "params"}
            for p in group["params"]:
                if p.grad is not None:
                    new, kept["buffer"] = sgd_family(p, p.grad, kept.get("buffer"), **options)
                    p.copy_(new)
        return loss


# %% wrong="the first group's options for all" says=["or from the first group: each group has its own"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    if buffer is None:
        buffer = g.clone()
    else:
        buffer = momentum * buffer + (1 - dampening) * g
    d = g + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {k: v for k, v in self.param_groups[0].items() if k in self.defaults}
            for p in group["params"]:
                if p.grad is None:
                    continue
                new, buffer = sgd_family(p, p.grad, self.state[p].get("buffer"), **options)
                p.copy_(new)
                if buffer is not None:
                    self.state[p]["buffer"] = buffer
        return loss


# %% wrong="the rate of the beginning" says=["lr was read from self.defaults: each group has its own"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    if buffer is None:
        buffer = g.clone()
    else:
        buffer = momentum * buffer + (1 - dampening) * g
    d = g + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k in self.defaults} | {
                "lr": self.defaults["lr"]
            }
            for p in group["params"]:
                if p.grad is None:
                    continue
                new, buffer = sgd_family(p, p.grad, self.state[p].get("buffer"), **options)
                p.copy_(new)
                if buffer is not None:
                    self.state[p]["buffer"] = buffer
        return loss


# %% wrong="the first step of all is undamped, not each parameter's first" says=["steps by a closure: a parameter's own first gradient is undamped"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    b = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    d = g + momentum * b if nesterov else b
    return p - lr * d, b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {
                name: group[name]
                for name in ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            }
            for p in group["params"]:
                if p.grad is None:
                    continue
                new, buffer = sgd_family(
                    p,
                    p.grad,
                    self.state[p].get(
                        "buffer", torch.zeros_like(p) if self.param_groups[0].get("run") else None
                    ),
                    **options,
                )
                p.copy_(new)
                self.state[p]["buffer"] = buffer
        self.param_groups[0]["run"] = True
        return loss


# %% wrong="lr scales the gradient before the buffer" says=["the new buffer: expected 1, got 0.1. the rate is inside the buffer", "a hundred steps, momentum 0.9: the rate is inside the buffer"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    g = lr * g
    b = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    d = g + momentum * b if nesterov else b
    return p - d, b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {
                name: group[name]
                for name in ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            }
            for p in group["params"]:
                if p.grad is None:
                    continue
                new, buffer = sgd_family(p, p.grad, self.state[p].get("buffer"), **options)
                p.copy_(new)
                self.state[p]["buffer"] = buffer
        return loss


# %% wrong="Nesterov looks ahead with the older buffer, or the gradient" says=["Nesterov takes the new buffer, not the older"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = grad + weight_decay * p
    if momentum == 0:
        return p - lr * g, None
    b = g.clone() if buffer is None else momentum * buffer + (1 - dampening) * g
    d = g + momentum * (g if buffer is None else buffer) if nesterov else b
    return p - lr * d, b


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {
                name: group[name]
                for name in ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            }
            for p in group["params"]:
                if p.grad is None:
                    continue
                new, buffer = sgd_family(p, p.grad, self.state[p].get("buffer"), **options)
                p.copy_(new)
                self.state[p]["buffer"] = buffer
        return loss


# %% wrong="misses a group that joins after the first step" says=["it joined by add_param_group"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    new = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
    step = d + momentum * new if nesterov else new
    return p - lr * step, new


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if not hasattr(self, "known"):
            self.known = list(self.param_groups)
        for group in self.known:
            options = {
                k: group[k] for k in ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            }
            for p in group["params"]:
                if p.grad is not None:
                    new, buffer = sgd_family(p, p.grad, self.state[p].get("buffer"), **options)
                    p.copy_(new)
                    if buffer is not None:
                        self.state[p]["buffer"] = buffer
        return loss


# %% wrong="the parameter as one row by view" says=["view size is not compatible"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    new = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
    step = d + momentum * new if nesterov else new
    return p - lr * step, new


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr, **options):
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {
                k: group[k] for k in ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            }
            for p in group["params"]:
                if p.grad is not None:
                    new, buffer = sgd_family(p, p.grad, self.state[p].get("buffer"), **options)
                    p.view(-1).copy_(new.view(-1))
                    if buffer is not None:
                        self.state[p]["buffer"] = buffer
        return loss


# %% wrong="keeps buffers in float32" says=["is near, but rounded on the way: is a buffer float32?"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    if buffer is None:
        buffer = d.clone()
    else:
        buffer = momentum * buffer + (1 - dampening) * d
    step = d + momentum * buffer if nesterov else buffer
    return p - lr * step, buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr: float, **options) -> None:
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        names = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
        for group in self.param_groups:
            options = {name: group[name] for name in names}
            for p in group["params"]:
                if p.grad is None:
                    continue
                new, buffer = sgd_family(p, p.grad, self.state[p].get("buffer"), **options)
                p.copy_(new)
                if buffer is not None:
                    self.state[p]["buffer"] = buffer.float()
        return loss


# %% wrong="takes a slice of all, not for 0-d" says=["tensors of no dimensions"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    if buffer is None:
        buffer = d.clone()
    else:
        buffer = momentum * buffer + (1 - dampening) * d
    step = d + momentum * buffer if nesterov else buffer
    return p[:] - lr * step, buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr: float, **options) -> None:
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        names = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
        for group in self.param_groups:
            options = {name: group[name] for name in names}
            for p in group["params"]:
                if p.grad is None:
                    continue
                new, buffer = sgd_family(p, p.grad, self.state[p].get("buffer"), **options)
                p.copy_(new)
                if buffer is not None:
                    self.state[p]["buffer"] = buffer
        return loss


# %% wrong="does not damp the decay" says=["is damped with it"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad
    if momentum == 0:
        return p - lr * (d + weight_decay * p), None
    if buffer is None:
        buffer = d + weight_decay * p
    else:
        buffer = momentum * buffer + (1 - dampening) * d + weight_decay * p
    step = d + momentum * buffer if nesterov else buffer
    return p - lr * step, buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr: float, **options) -> None:
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        names = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
        for group in self.param_groups:
            options = {name: group[name] for name in names}
            for p in group["params"]:
                if p.grad is None:
                    continue
                new, buffer = sgd_family(p, p.grad, self.state[p].get("buffer"), **options)
                p.copy_(new)
                if buffer is not None:
                    self.state[p]["buffer"] = buffer
        return loss


# %% wrong="a small momentum counts as none" says=["0.05 is momentum"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum < 0.1:
        return p - lr * d, None
    if buffer is None:
        buffer = d.clone()
    else:
        buffer = momentum * buffer + (1 - dampening) * d
    d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr: float, **options) -> None:
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {
                k: group[k] for k in ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            }
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                new, buffer = sgd_family(p, p.grad, state.get("buffer"), **options)
                p.copy_(new)
                if buffer is not None:
                    state["buffer"] = buffer
        return loss


# %% wrong="hands on every option of a group" says=["unexpected keyword argument 'initial_lr'"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
    return p - lr * (d + momentum * buffer if nesterov else buffer), buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr: float, **options) -> None:
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {name: value for name, value in group.items() if name != "params"}
            for p in group["params"]:
                if p.grad is not None:
                    state = self.state[p]
                    new, state["buffer"] = sgd_family(p, p.grad, state.get("buffer"), **options)
                    p.copy_(new)
        return loss


# %% wrong="all options of the group" says=["a scheduler adds initial_lr to each group"]
def sgd_family(
    p: torch.Tensor,
    grad: torch.Tensor,
    buffer: torch.Tensor | None,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
    d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr: float, **options) -> None:
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {name: value for name, value in group.items() if name != "params"}
            for p in group["params"]:
                if p.grad is None:
                    continue
                new, buffer = sgd_family(p, p.grad, self.state[p].get("buffer"), **options)
                p.copy_(new)
                self.state[p]["buffer"] = buffer
        return loss


# %% wrong="asks for gradients before the closure runs" says=["before the closure ran, which fills .grad"]
def sgd_family(
    p: torch.Tensor,
    grad: torch.Tensor,
    buffer: torch.Tensor | None,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
    d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr: float, **options) -> None:
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        todo = [
            (group, p) for group in self.param_groups for p in group["params"] if p.grad is not None
        ]
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        names = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
        for group, p in todo:
            options = {name: group[name] for name in names}
            new, buffer = sgd_family(p, p.grad, self.state[p].get("buffer"), **options)
            p.copy_(new)
            self.state[p]["buffer"] = buffer
        return loss


# %% wrong="all names of self.defaults" breaks="So name the five that are meant" says=["from the old one's state_dict", "load_state_dict adds 'differentiable' to self.defaults"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    q = nn.Parameter(p.detach().clone())
    q.grad = grad.detach().clone()
    optimizer = torch.optim.SGD(
        [q],
        lr=lr,
        momentum=momentum,
        dampening=dampening,
        weight_decay=weight_decay,
        nesterov=nesterov,
    )
    if buffer is not None and momentum:
        optimizer.state[q]["momentum_buffer"] = buffer.detach().clone()
    optimizer.step()
    return q.detach(), optimizer.state[q]["momentum_buffer"] if momentum else None


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr: float, **options) -> None:
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        wanted = tuple(self.defaults)
        with torch.no_grad():
            for group in self.param_groups:
                given = {name: group[name] for name in wanted}
                for p in filter(lambda p: p.grad is not None, group["params"]):
                    new, buffer = sgd_family(p, p.grad, self.state[p].get("buffer"), **given)
                    p.copy_(new)
                    self.state[p]["buffer"] = buffer
        return loss


# %% wrong="the gradients of before the closure" says=["steps by a closure: the gradients were taken before the closure ran"]
def sgd_family(
    p: torch.Tensor,
    grad: torch.Tensor,
    buffer: torch.Tensor | None,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """One step: the new p and the new buffer (None if momentum is 0)."""
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
    d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


class Sgd(torch.optim.Optimizer):
    """sgd_family for all parameters of all groups; the buffers lie in self.state."""

    def __init__(self, params, lr: float, **options) -> None:
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        """Move each parameter that has a gradient; the closure's loss, if one is given."""
        work = [
            (p, p.grad, group)
            for group in self.param_groups
            for p in group["params"]
            if p.grad is not None
        ]
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for p, grad, group in work:
            options = {
                k: group[k] for k in ("lr", "momentum", "dampening", "weight_decay", "nesterov")
            }
            state = self.state[p]
            new, state["buffer"] = sgd_family(p, grad, state.get("buffer"), **options)
            p.copy_(new)
        return loss


# %% wrong="momentum bound at the first step" says=["momentum was halved after five steps"]
def sgd_family(
    p: torch.Tensor,
    grad: torch.Tensor,
    buffer: torch.Tensor | None,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """One step: the new p and the new buffer (None if momentum is 0)."""
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    buffer = d.clone() if buffer is None else momentum * buffer + (1 - dampening) * d
    d = d + momentum * buffer if nesterov else buffer
    return p - lr * d, buffer


import functools


class Sgd(torch.optim.Optimizer):
    """sgd_family for all parameters of all groups; the buffers lie in self.state."""

    def __init__(self, params, lr: float, **options) -> None:
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        """Move each parameter that has a gradient; the closure's loss, if one is given."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            if "rule" not in self.__dict__.setdefault("rules", {}).setdefault(id(group), {}):
                names = ("momentum", "dampening", "weight_decay", "nesterov")
                fixed = {name: group[name] for name in names}
                self.rules[id(group)]["rule"] = functools.partial(sgd_family, **fixed)
            rule = self.rules[id(group)]["rule"]
            for p in group["params"]:
                if p.grad is not None:
                    state = self.state[p]
                    new, state["buffer"] = rule(p, p.grad, state.get("buffer"), group["lr"])
                    p.copy_(new)
        return loss


# %% wrong="skips a gradient that is not finite" says=["a gradient that is infinite or NaN is a gradient"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    direction = grad + weight_decay * p
    if momentum == 0:
        return p - lr * direction, None
    new = direction.clone() if buffer is None else momentum * buffer + (1 - dampening) * direction
    return p - lr * (direction + momentum * new if nesterov else new), new


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr: float, **options) -> None:
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        names = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
        for group in self.param_groups:
            options = {name: group[name] for name in names}
            for p in group["params"]:
                if p.grad is None or not p.grad.isfinite().all():
                    continue
                old = self.state[p].get("buffer")
                new, self.state[p]["buffer"] = sgd_family(p, p.grad, old, **options)
                p.copy_(new)
        return loss


# %% wrong="writes into p by a slice" breaks="to every parameter of every group" says=["a parameter may have no dimensions: p.copy_ writes"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    direction = grad + weight_decay * p
    if momentum == 0:
        return p - lr * direction, None
    new = direction.clone() if buffer is None else momentum * buffer + (1 - dampening) * direction
    return p - lr * (direction + momentum * new if nesterov else new), new


class Sgd(torch.optim.Optimizer):
    def __init__(self, params, lr: float, **options) -> None:
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        names = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
        for group in self.param_groups:
            options = {name: group[name] for name in names}
            for p in group["params"]:
                if p.grad is not None:
                    old = self.state[p].get("buffer")
                    new, self.state[p]["buffer"] = sgd_family(p, p.grad, old, **options)
                    p[:] = new
        return loss


# %% wrong="hands on all but three" breaks="So name the five that are meant" says=["a group to which OneCycleLR has added max_lr", "hand over those options that are meant"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    if buffer is None:
        buffer = d.clone()
    else:
        buffer = momentum * buffer + (1 - dampening) * d
    return p - lr * (d + momentum * buffer if nesterov else buffer), buffer


class Sgd(torch.optim.Optimizer):
    NOT_MEANT = {"params", "initial_lr", "differentiable"}

    def __init__(self, params, lr: float, **options) -> None:
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k not in self.NOT_MEANT}
            for p in group["params"]:
                if p.grad is not None:
                    state = self.state[p]
                    new, state["buffer"] = sgd_family(p, p.grad, state.get("buffer"), **options)
                    p.copy_(new)
        return loss


# %% wrong="a group of rate 0 is left out" breaks="to every parameter of every group" says=["a group whose rate is 0 in the second step", "its gradient goes into the buffer"]
def sgd_family(p, grad, buffer, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    d = grad + weight_decay * p
    if momentum == 0:
        return p - lr * d, None
    if buffer is None:
        buffer = d.clone()
    else:
        buffer = momentum * buffer + (1 - dampening) * d
    return p - lr * (d + momentum * buffer if nesterov else buffer), buffer


class Sgd(torch.optim.Optimizer):
    MEANT = "lr", "momentum", "dampening", "weight_decay", "nesterov"

    def __init__(self, params, lr: float, **options) -> None:
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {k: group[k] for k in self.MEANT}
            for p in group["params"]:
                if p.grad is not None and group["lr"]:
                    state = self.state[p]
                    new, state["buffer"] = sgd_family(p, p.grad, state.get("buffer"), **options)
                    p.copy_(new)
        return loss
