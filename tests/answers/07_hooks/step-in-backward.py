# %% [markdown]
# Rules:
#
# - "registers hooks on the parameters and returns their handles"
# - "is a whole step of SGD with momentum"
# - "velocity = gradient"
# - "velocity = momentum * velocity + gradient"
# - "used and set free **before the next one is made**"
# - "no `.grad` is left after `backward()`"
# - "never more than one"
# - "Parameters with `requires_grad=False` are in the list too"
# - "leave them be"
# - "With the handles removed, `backward()` takes no step"
# - "starts with velocities of its own"
# - "weight = weight - lr * velocity"
# - "hooks on the parameters"
#
# Admits:
#
# - "Parameters with `requires_grad=False`": the stem frozen, torch.float64
# - "Each call of `step_in_backward`": before=True
# - "`step_in_backward(parameters, lr, momentum)`": lr 0.1, no momentum

# %% wrong="a tensor hook: .grad comes after it" breaks="never more than one" says=["gradients at once", "set it to None"]
def step_in_backward(parameters, lr, momentum):
    velocities, handles = {}, []

    def hook_for(parameter):
        def step(grad):
            with torch.no_grad():
                velocity = velocities.setdefault(parameter, torch.zeros_like(parameter))
                velocity.mul_(momentum).add_(grad)
                parameter.sub_(lr * velocity)
                parameter.grad = None

        return step

    for parameter in parameters:
        if parameter.requires_grad:
            handles.append(parameter.register_hook(hook_for(parameter)))
    return handles


# %% wrong="keeps the gradients" says=["the gradients of earlier backwards are added in"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    def step(parameter):
        with torch.no_grad():
            velocity = velocities.setdefault(parameter, torch.zeros_like(parameter))
            velocity.mul_(momentum).add_(parameter.grad)
            parameter.sub_(lr * velocity)

    trained = [parameter for parameter in parameters if parameter.requires_grad]
    return [parameter.register_post_accumulate_grad_hook(step) for parameter in trained]


# %% wrong="zeros instead of None" breaks="no `.grad` is left after `backward()`" says=["gradients at once: use each in its own hook, then set it to None"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    def step(parameter):
        with torch.no_grad():
            velocity = velocities.setdefault(parameter, torch.zeros_like(parameter))
            velocity.mul_(momentum).add_(parameter.grad)
            parameter.sub_(lr * velocity)
            parameter.grad.zero_()

    trained = [parameter for parameter in parameters if parameter.requires_grad]
    return [parameter.register_post_accumulate_grad_hook(step) for parameter in trained]


# %% wrong="one step at the end, for all" breaks="used and set free **before the next one is made**" says=["gradients at once: use each in its own hook"]
def step_in_backward(parameters, lr, momentum):
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=lr, momentum=momentum)

    def step(parameter):
        if all(p.grad is not None for p in trained):
            optimizer.step()
            optimizer.zero_grad()

    return [parameter.register_post_accumulate_grad_hook(step) for parameter in trained]


# %% wrong="no velocity" breaks="is a whole step of SGD with momentum" says=["the velocity is missing"]
def step_in_backward(parameters, lr, momentum):
    def step(parameter):
        with torch.no_grad():
            parameter.sub_(lr * parameter.grad)
            parameter.grad = None

    trained = [parameter for parameter in parameters if parameter.requires_grad]
    return [parameter.register_post_accumulate_grad_hook(step) for parameter in trained]


# %% wrong="damps the gradient as well" breaks="velocity = gradient" says=["the gradient is multiplied by (1 - momentum)"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    def step(parameter):
        with torch.no_grad():
            velocity = velocities.setdefault(parameter, torch.zeros_like(parameter))
            velocity.mul_(momentum).add_((1 - momentum) * parameter.grad)
            parameter.sub_(lr * velocity)
            parameter.grad = None

    trained = [parameter for parameter in parameters if parameter.requires_grad]
    return [parameter.register_post_accumulate_grad_hook(step) for parameter in trained]


# %% wrong="forgets that some are frozen" breaks="Parameters with `requires_grad=False` are in the list too" says=["cannot register a hook on a tensor that doesn't require gradient", "RuntimeError"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    def step(parameter):
        with torch.no_grad():
            velocity = velocities.setdefault(parameter, torch.zeros_like(parameter))
            velocity.mul_(momentum).add_(parameter.grad)
            parameter.sub_(lr * velocity)
            parameter.grad = None

    return [parameter.register_post_accumulate_grad_hook(step) for parameter in parameters]


# %% wrong="loses the handles" breaks="registers hooks on the parameters and returns their handles" says=["returned None, not the handles"]
def step_in_backward(parameters, lr, momentum):
    for parameter in parameters:
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(lambda p: None)


# %% wrong="global velocities by place" says=["a second call, which has velocities of its own: stem.weight after backward number 1"]
VEL = {}


def step_in_backward(parameters, lr, momentum):
    hs = []
    for i, p in enumerate(parameters):
        if not p.requires_grad:
            continue

        @torch.no_grad()
        def step(q, i=i):
            VEL[i] = (
                momentum * VEL[i] + q.grad
                if i in VEL and VEL[i].shape == q.grad.shape and VEL[i].dtype == q.dtype
                else q.grad.clone()
            )
            q -= lr * VEL[i]
            q.grad = None

        hs.append(p.register_post_accumulate_grad_hook(step))
    return hs


# %% wrong="makes all trainable" breaks="leave them be" says=["stem.weight moved: its requires_grad is False, so leave it be"]
def step_in_backward(parameters, lr, momentum):
    v = {}

    def step(p):
        with torch.no_grad():
            v[p] = momentum * v.get(p, 0) + p.grad
            p.sub_(v[p], alpha=lr)
            p.grad = None

    for p in parameters:
        p.requires_grad_(True)
    return [p.register_post_accumulate_grad_hook(step) for p in parameters]


# %% right="an optimizer for each parameter"
def step_in_backward(parameters, lr, momentum):
    optimizers = {
        parameter: torch.optim.SGD([parameter], lr=lr, momentum=momentum)
        for parameter in parameters
        if parameter.requires_grad
    }

    def step(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    return [p.register_post_accumulate_grad_hook(step) for p in optimizers]


# %% right="a class that keeps its velocity"
class Stepper:
    def __init__(self, lr, momentum):
        self.lr, self.momentum, self.velocity = lr, momentum, None

    def __call__(self, parameter):
        first = self.velocity is None
        grad = parameter.grad
        self.velocity = grad.clone() if first else self.momentum * self.velocity + grad
        with torch.no_grad():
            parameter.copy_(parameter - self.lr * self.velocity)
        parameter.grad = None


def step_in_backward(parameters, lr, momentum):
    handles = []
    for parameter in filter(lambda p: p.requires_grad, parameters):
        stepper = Stepper(lr, momentum)
        handles.append(parameter.register_post_accumulate_grad_hook(stepper))
    return tuple(handles)


# %% right="data and id"
def step_in_backward(parameters, lr, momentum):
    buf = {}

    def hook(p):
        g = p.grad.data
        b = buf.get(id(p))
        b = g.clone() if b is None else momentum * b + g
        buf[id(p)] = b
        p.data = p.data - lr * b
        del p.grad

    return [p.register_post_accumulate_grad_hook(hook) for p in parameters if p.requires_grad]


# %% wrong="velocities in a default argument" breaks="starts with velocities of its own" says=["the velocities of an earlier call of step_in_backward go on"]
def step_in_backward(parameters, lr, momentum, velocities={}):
    @torch.no_grad()
    def step(p):
        velocities[p] = p.grad + momentum * velocities.get(p, 0)
        p -= lr * velocities[p]
        p.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="velocities by shape" breaks="hooks on the parameters" says=["parameters of one shape share a velocity"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    @torch.no_grad()
    def step(parameter):
        velocity = velocities.setdefault(parameter.shape, torch.zeros_like(parameter))
        velocity.mul_(momentum).add_(parameter.grad)
        parameter.sub_(lr * velocity)
        parameter.grad = None

    trained = [parameter for parameter in parameters if parameter.requires_grad]
    return [parameter.register_post_accumulate_grad_hook(step) for parameter in trained]


# %% wrong="handles that end nothing" breaks="With the handles removed, `backward()` takes no step" says=["a backward() after all handles were removed still changed the weights"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    @torch.no_grad()
    def step(parameter):
        velocity = velocities.setdefault(parameter, torch.zeros_like(parameter))
        velocity.mul_(momentum).add_(parameter.grad)
        parameter.sub_(lr * velocity)
        parameter.grad = None

    handles = []
    for parameter in parameters:
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(step)
            handles.append(parameter.register_hook(lambda grad: grad))
    return handles


# %% wrong="Nesterov's step" breaks="weight = weight - lr * velocity" says=["as Nesterov's: subtract lr * velocity, which is the gradient alone the first time"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    @torch.no_grad()
    def step(parameter):
        velocity = velocities.setdefault(parameter, torch.zeros_like(parameter))
        velocity.mul_(momentum).add_(parameter.grad)
        parameter.sub_(lr * (parameter.grad + momentum * velocity))
        parameter.grad = None

    trained = [parameter for parameter in parameters if parameter.requires_grad]
    return [parameter.register_post_accumulate_grad_hook(step) for parameter in trained]


# %% wrong="old grad of frozen ones cleared" says=["leave such a parameter be"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}
    for p in parameters:
        if not p.requires_grad:
            p.grad = None

    @torch.no_grad()
    def step(p):
        if p in velocities:
            velocity = momentum * velocities[p] + p.grad
        else:
            velocity = p.grad.clone()
        velocities[p] = velocity
        p.sub_(lr * velocity)
        p.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="float32 velocities" says=["in every digit"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    @torch.no_grad()
    def step(p):
        if p in velocities:
            velocity = momentum * velocities[p] + p.grad
        else:
            velocity = p.grad.clone()
        velocities[p] = velocity.float()
        p.sub_(lr * velocity)
        p.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="a gradient of zeros takes no step" says=["still moves by the velocity"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    @torch.no_grad()
    def step(p):
        if not p.grad.any():
            p.grad = None
            return
        if p in velocities:
            velocity = momentum * velocities[p] + p.grad
        else:
            velocity = p.grad.clone()
        velocities[p] = velocity
        p.sub_(lr * velocity)
        p.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="a gradient with inf takes no step" says=["an infinite gradient is a step"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    @torch.no_grad()
    def step(p):
        if not p.grad.isfinite().all():
            p.grad = None
            return
        if p in velocities:
            velocity = momentum * velocities[p] + p.grad
        else:
            velocity = p.grad.clone()
        velocities[p] = velocity
        p.sub_(lr * velocity)
        p.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="flattened by view" says=["a transposed parameter"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    @torch.no_grad()
    def step(p):
        if p in velocities:
            velocity = momentum * velocities[p] + p.grad
        else:
            velocity = p.grad.clone()
        velocities[p] = velocity
        p.view(-1).sub_(lr * velocity.reshape(-1))
        p.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="0-d by a slice of all" says=["a parameter without dimensions"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    @torch.no_grad()
    def step(p):
        if p in velocities:
            velocity = momentum * velocities[p] + p.grad
        else:
            velocity = p.grad.clone()
        velocities[p] = velocity
        p[:] = p - lr * velocity
        p.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="a fresh velocity until every parameter has its own" says=["of which the second has no gradient at first"]
def step_in_backward(parameters, lr, momentum):
    velocities, trained = {}, [p for p in parameters if p.requires_grad]

    @torch.no_grad()
    def step(p):
        if len(velocities) == len(trained):
            velocities[p] = momentum * velocities[p] + p.grad
        else:
            velocities[p] = p.grad.clone()
        p.sub_(lr * velocities[p])
        p.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in trained]


# %% wrong="one optimizer, with the frozen ones in it" breaks="leave them be" says=["a frozen parameter with a .grad moved"]
def step_in_backward(parameters, lr, momentum):
    optimizer = torch.optim.SGD(parameters, lr=lr, momentum=momentum)

    def step(parameter):
        optimizer.step()
        parameter.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="the last call's momentum for all" says=["two calls at once", "each call has its own"]
def step_in_backward(parameters: list[nn.Parameter], lr: float, momentum: float) -> list:
    velocities = {}
    step_in_backward.settings = lr, momentum

    @torch.no_grad()
    def step(parameter):
        if parameter in velocities:
            velocities[parameter].mul_(step_in_backward.settings[1]).add_(parameter.grad)
        else:
            velocities[parameter] = parameter.grad.clone()
        parameter.sub_(lr * velocities[parameter])
        parameter.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="the last call's lr for all" says=["two calls at once", "each call has its own"]
def step_in_backward(parameters: list[nn.Parameter], lr: float, momentum: float) -> list:
    velocities = {}
    step_in_backward.settings = lr, momentum

    @torch.no_grad()
    def step(parameter):
        if parameter in velocities:
            velocities[parameter].mul_(momentum).add_(parameter.grad)
        else:
            velocities[parameter] = parameter.grad.clone()
        parameter.sub_(step_in_backward.settings[0] * velocities[parameter])
        parameter.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="takes out earlier hooks" says=["a hook that the parameter had before is gone"]
def step_in_backward(parameters: list[nn.Parameter], lr: float, momentum: float) -> list:
    velocities = {}
    for p in parameters:
        if p._post_accumulate_grad_hooks:
            p._post_accumulate_grad_hooks.clear()

    @torch.no_grad()
    def step(parameter):
        if parameter in velocities:
            velocities[parameter].mul_(momentum).add_(parameter.grad)
        else:
            velocities[parameter] = parameter.grad.clone()
        parameter.sub_(lr * velocities[parameter])
        parameter.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="a momentum below 1" says=["momentum 1, lr 0, and no number"]
def step_in_backward(parameters, lr, momentum):
    velocity = {}
    momentum = min(momentum, 0.95)

    @torch.no_grad()
    def step(parameter):
        if parameter in velocity:
            velocity[parameter] = momentum * velocity[parameter] + parameter.grad
        else:
            velocity[parameter] = parameter.grad.clone()
        parameter -= lr * velocity[parameter]
        parameter.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="damps from the second step on" says=["from the second backward on the gradient is multiplied by (1 - momentum)"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    def step(parameter):
        with torch.no_grad():
            old = velocities.get(parameter)
            grad = parameter.grad
            velocity = grad.clone() if old is None else momentum * old + (1 - momentum) * grad
            velocities[parameter] = velocity
            parameter -= lr * velocity
        parameter.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="steps by the velocity itself" says=["the step is the velocity itself"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    def step(parameter):
        with torch.no_grad():
            old = velocities.get(parameter)
            grad = parameter.grad
            velocity = grad.clone() if old is None else momentum * old + grad
            velocities[parameter] = velocity
            parameter -= velocity
        parameter.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="uses the list of parameters up" says=["the caller's list of parameters was changed"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}
    mine = list(parameters)
    parameters.clear()
    parameters = mine

    def step(parameter):
        with torch.no_grad():
            old = velocities.get(parameter)
            grad = parameter.grad
            velocity = grad.clone() if old is None else momentum * old + grad
            velocities[parameter] = velocity
            parameter -= lr * velocity
        parameter.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="relies on a backward that makes no graph" breaks="is a whole step of SGD with momentum" says=["a backward that makes a graph: raised RuntimeError"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    def step(parameter):
        velocities[parameter] = momentum * velocities.get(parameter, 0) + parameter.grad
        parameter -= lr * velocities[parameter]
        parameter.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="velocities by address" breaks="velocity = momentum * velocity + gradient" says=["a velocity is the parameter's, wherever its numbers are"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    @torch.no_grad()
    def step(parameter):
        key = parameter.data_ptr()
        if key in velocities:
            velocities[key] = momentum * velocities[key] + parameter.grad
        else:
            velocities[key] = parameter.grad.clone()
        parameter -= lr * velocities[key]
        parameter.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="autograd is on afterwards" says=["called under no_grad, it switched autograd on"]
def step_in_backward(parameters, lr, momentum):
    torch.set_grad_enabled(False)
    velocities = {parameter: torch.zeros_like(parameter) for parameter in parameters}
    torch.set_grad_enabled(True)

    @torch.no_grad()
    def step(parameter):
        velocity = velocities[parameter].mul_(momentum).add_(parameter.grad)
        parameter -= lr * velocity
        parameter.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="the index is looked up when the hook runs" says=["a loop's variable is looked up when the hook runs"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    def step(parameter, index):
        with torch.no_grad():
            velocity = parameter.grad.clone()
            if index in velocities:
                velocity += momentum * velocities[index]
            velocities[index] = velocity
            parameter -= lr * velocity
        parameter.grad = None

    handles = []
    for index, p in enumerate(parameters):
        if p.requires_grad:
            handles.append(p.register_post_accumulate_grad_hook(lambda p: step(p, index)))
    return handles


# %% right="a hook on the node that accumulates, which runs last"
_nodes = []


def step_in_backward(parameters, lr, momentum):
    handles = []
    for parameter in parameters:
        if not parameter.requires_grad:
            continue
        with torch.enable_grad():
            node = parameter.view_as(parameter).grad_fn.next_functions[0][0]
        _nodes.append(node)  # a parameter doesn't keep it alive
        state = {}

        def step(*_, parameter=parameter, state=state):
            g = parameter.grad.detach()
            state["v"] = g if "v" not in state else momentum * state["v"] + g
            parameter.data.add_(state["v"], alpha=-lr)
            parameter.grad = None

        handles.append(node.register_hook(step))
    return handles


# %% wrong="each gradient is set free one hook late" breaks="no `.grad` is left after `backward()`" says=["after backward() 1 gradients are left"]
def step_in_backward(parameters, lr, momentum):
    velocities, waiting = {}, []

    def step(parameter):
        with torch.no_grad():
            v = parameter.grad + momentum * velocities.get(parameter, 0)
            velocities[parameter] = v
            parameter -= lr * v
        while waiting:
            waiting.pop().grad = None
        waiting.append(parameter)

    return [p.register_post_accumulate_grad_hook(step) for p in parameters if p.requires_grad]


# %% wrong="the first gradient twice" breaks="velocity = gradient" says=["subtract lr * velocity, which is the gradient alone the first time"]
def step_in_backward(parameters, lr, momentum):
    velocities = {}

    @torch.no_grad()
    def hook(p):
        velocity = velocities.setdefault(p, p.grad.clone())
        velocity.mul_(momentum).add_(p.grad)
        p.sub_(lr * velocity)
        p.grad = None

    return [p.register_post_accumulate_grad_hook(hook) for p in parameters if p.requires_grad]


# %% wrong="a parameter is found by its numbers" breaks="is a whole step of SGD with momentum" says=["1 of 17 cases fail", "two parameters of equal numbers, used in turn", "isn't found by its numbers"]
def step_in_backward(parameters: list[nn.Parameter], lr: float, momentum: float) -> list:

    trained = [p for p in parameters if p.requires_grad]
    velocities = [None] * len(trained)

    @torch.no_grad()
    def hook(p):
        index = next(i for i, q in enumerate(trained) if torch.equal(p, q))
        old = velocities[index]
        velocities[index] = p.grad if old is None else momentum * old + p.grad
        p -= lr * velocities[index]
        p.grad = None

    return [p.register_post_accumulate_grad_hook(hook) for p in parameters if p.requires_grad]


# %% wrong="a list's index compares by ==" breaks="is a whole step of SGD with momentum" says=["`==` met two parameters, as in a list's index"]
def step_in_backward(parameters, lr, momentum):
    trained = [p for p in parameters if p.requires_grad]
    velocities = [torch.zeros_like(p) for p in trained]

    @torch.no_grad()
    def hook(p):
        i = trained.index(p)
        velocities[i].mul_(momentum).add_(p.grad)
        p -= lr * velocities[i]
        p.grad = None

    return [p.register_post_accumulate_grad_hook(hook) for p in trained]


# %% wrong="one dict for all calls, emptied by each" breaks="starts with velocities of its own" says=["with one backward between them", "each call has its own velocities, lr and momentum, and leaves those of others alone"]
VELOCITIES = {}


def step_in_backward(parameters, lr, momentum):
    VELOCITIES.clear()

    @torch.no_grad()
    def hook(parameter):
        old = VELOCITIES.get(parameter, torch.zeros_like(parameter))
        VELOCITIES[parameter] = momentum * old + parameter.grad
        parameter.sub_(lr * VELOCITIES[parameter])
        parameter.grad = None

    return [p.register_post_accumulate_grad_hook(hook) for p in parameters if p.requires_grad]
