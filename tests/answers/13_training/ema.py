# %% [markdown]
# Rules:
#
# - "It returns a new dict"
# - "in any order"
# - "`d * average + (1 - d) * state`"
# - "in their own dtype"
# - "(1 + \text{step}) / (10 + \text{step})"
# - "all others, such as `num_batches_tracked`, as in `state`"
# - "The arguments stay as they are"
# - "the result shares no memory with `state`"
# - "returns a context manager, and changes nothing yet"
# - "Inside the block the model has the values of `average`, buffers included"
# - "those again that it had when the block began"
# - "whatever the block raises"
# - "(KeyboardInterrupt too)"
# - "a forward pass in training mode included"
# - "which may put a new"
# - "an optimizer's step"
# - "whatever their dtype"
# - "(two names"
# - "What `average` holds stays as it is"
# - "the parameters are the same objects"
# - "and modes, hooks, `requires_grad`, `.grad` and grad mode are what they were"
# - "inside the block too"
# - "floating-point entries (`is_floating_point()`)"
#
# Admits:
#
# - "in their own dtype": torch.bfloat16
# - "(KeyboardInterrupt too)": a block that is interrupted
# - "grad mode": a block where gradients are off
# - "when the block began": a second block, after a step

# %% wrong="averages the counter too" breaks="all others, such as `num_batches_tracked`, as in `state`" says=["tracked"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {name: d * average[name] + (1 - d) * value for name, value in state.items()}


def swapped_in(model, average):
    @contextlib.contextmanager
    def swapping():
        own = copy.deepcopy(model.state_dict())
        model.load_state_dict(average)
        try:
            yield
        finally:
            model.load_state_dict(own)

    return swapping()


# %% wrong="no warm-up" breaks="(1 + \\text{step}) / (10 + \\text{step})" says=["without the warm-up"]
def ema(average, state, step, decay):
    d = decay
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


def swapped_in(model, average):
    @contextlib.contextmanager
    def swapping():
        own = copy.deepcopy(model.state_dict())
        model.load_state_dict(average)
        try:
            yield
        finally:
            model.load_state_dict(own)

    return swapping()


# %% wrong="the other way round" breaks="`d * average + (1 - d) * state`" says=["d belongs to the average, 1 - d to the state"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: (1 - d) * average[name] + d * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


def swapped_in(model, average):
    @contextlib.contextmanager
    def swapping():
        own = copy.deepcopy(model.state_dict())
        model.load_state_dict(average)
        try:
            yield
        finally:
            model.load_state_dict(own)

    return swapping()


# %% wrong="in place" breaks="The arguments stay as they are" says=["an argument was changed"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    for name, value in state.items():
        if value.is_floating_point():
            average[name].mul_(d).add_(value, alpha=1 - d)
        else:
            average[name].copy_(value)
    return average


def swapped_in(model, average):
    @contextlib.contextmanager
    def swapping():
        own = copy.deepcopy(model.state_dict())
        model.load_state_dict(average)
        try:
            yield
        finally:
            model.load_state_dict(own)

    return swapping()


# %% wrong="the counter is the model's own" breaks="the result shares no memory with `state`" says=["tracked shares its memory with state: clone it"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value
        for name, value in state.items()
    }


def swapped_in(model, average):
    @contextlib.contextmanager
    def swapping():
        own = copy.deepcopy(model.state_dict())
        model.load_state_dict(average)
        try:
            yield
        finally:
            model.load_state_dict(own)

    return swapping()


# %% wrong="max for min" says=["weight"]
def ema(average, state, step, decay):
    d = max(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


def swapped_in(model, average):
    @contextlib.contextmanager
    def swapping():
        own = copy.deepcopy(model.state_dict())
        model.load_state_dict(average)
        try:
            yield
        finally:
            model.load_state_dict(own)

    return swapping()


# %% wrong="no finally" breaks="whatever the block raises" says=["a block that raises", "put them back in a finally"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


def swapped_in(model, average):
    @contextlib.contextmanager
    def swapping():
        own = copy.deepcopy(model.state_dict())
        model.load_state_dict(average)
        yield
        model.load_state_dict(own)

    return swapping()


# %% wrong="keeps the live tensors" says=["take copies on the way in, not the live tensors"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


def swapped_in(model, average):
    @contextlib.contextmanager
    def swapping():
        own = model.state_dict()
        model.load_state_dict(average)
        try:
            yield
        finally:
            model.load_state_dict(own)

    return swapping()


# %% wrong="parameters only" breaks="Inside the block the model has the values of `average`, buffers included" says=["buffers included"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


def swapped_in(model, average):
    @contextlib.contextmanager
    def swapping():
        own = {name: p.detach().clone() for name, p in model.named_parameters()}
        model.load_state_dict({**model.state_dict(), **{name: average[name] for name in own}})
        try:
            yield
        finally:
            model.load_state_dict({**model.state_dict(), **own})

    return swapping()


# %% wrong="assign=True: other objects, shared memory" breaks="the parameters are the same objects" says=["the parameters are other objects"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


def swapped_in(model, average):
    @contextlib.contextmanager
    def swapping():
        own = copy.deepcopy(model.state_dict())
        model.load_state_dict(average, assign=True)
        try:
            yield
        finally:
            model.load_state_dict(own, assign=True)

    return swapping()


# %% wrong="no context manager" says=["no context manager"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


def swapped_in(model, average):
    model.load_state_dict(average)


# %% right="lerp and a class"
class Swap:
    def __init__(self, model, average):
        self.model, self.average = model, average

    def __enter__(self):
        self.own = {n: t.clone() for n, t in self.model.state_dict().items()}
        self.model.load_state_dict(self.average)
        return self.model

    def __exit__(self, *error):
        self.model.load_state_dict(self.own)
        return False


swapped_in = Swap


def ema(average, state, step, decay):
    warm = (1 + step) / (10 + step)
    d = warm if warm < decay else decay
    result = {}
    for name in state:
        if state[name].dtype.is_floating_point:
            result[name] = torch.lerp(average[name], state[name], 1 - d)
        else:
            result[name] = torch.clone(state[name])
    return result


# %% right="float64 inside, values swapped through no_grad copies"
def ema(average, state, step, decay):
    d = min(decay, (step + 1) / (step + 10))
    new = copy.deepcopy(state)
    for name, tensor in new.items():
        if torch.is_floating_point(tensor):
            mixed = average[name].double() * d + tensor.double() * (1.0 - d)
            new[name] = mixed.to(tensor.dtype)
    return new


@contextlib.contextmanager
def swapped_in(model, average):
    tensors, recording = model.state_dict(keep_vars=True), torch.is_grad_enabled()
    kept = {name: tensor.detach().clone() for name, tensor in tensors.items()}
    with torch.no_grad(), contextlib.ExitStack() as stack:
        stack.callback(lambda: [model.state_dict()[n].copy_(value) for n, value in kept.items()])
        for name, tensor in tensors.items():
            tensor.copy_(average[name])
        with torch.set_grad_enabled(recording):
            yield model


# %% wrong="counters taken as they are, state shared; assign=True" says=["tracked shares its memory with state", "the parameters are other objects"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        n: v.lerp(state[n], 1 - d) if v.is_floating_point() else state[n]
        for n, v in average.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    own = copy.deepcopy(model.state_dict())
    model.load_state_dict(average, assign=True)
    try:
        yield model
    finally:
        model.load_state_dict(own, assign=True)


# %% wrong="works in place on the average" breaks="It returns a new dict" says=["an argument was changed", "not all values, buffers included"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    for n, v in average.items():
        if v.is_floating_point():
            v.mul_(d).add_(state[n], alpha=1 - d)
        else:
            v.copy_(state[n])
    return average


@contextlib.contextmanager
def swapped_in(model, average):
    own = {n: v.clone() for n, v in model.state_dict().items()}
    try:
        for n, p in model.named_parameters():
            p.data.copy_(average[n])
        yield
    finally:
        model.load_state_dict(own)


# %% wrong="an ExitStack that swaps when it is made" breaks="returns a context manager, and changes nothing yet" says=["the model changed when swapped_in was called"]
def ema(average, state, step, decay):
    d = decay if decay < (1 + step) / (10 + step) else (1 + step) / (10 + step)

    def mix(a, s):
        if not torch.is_floating_point(s):
            return s.clone()
        return (s.double() + d * (a.double() - s.double())).to(s.dtype)

    return {name: mix(average[name], state[name]) for name in state}


def swapped_in(model, average):
    stack = contextlib.ExitStack()
    live = model.state_dict()
    for name, tensor in live.items():
        stack.callback(tensor.copy_, tensor.clone())
        tensor.copy_(average[name])
    return stack


# %% wrong="exchanges the data" breaks="What `average` holds stays as it is" says=["the average changed when the model did"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


def swapped_in(model, average):
    @contextlib.contextmanager
    def swapping():
        mine = model.state_dict(keep_vars=True)
        own = {name: mine[name].data for name in average}
        for name in own:
            mine[name].data = average[name]
        try:
            yield
        finally:
            for name in own:
                mine[name].data = own[name]

    return swapping()


# %% wrong="takes the model's values when it is called" breaks="those again that it had when the block began" says=["those of when the block began"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


def swapped_in(model, average):
    own = copy.deepcopy(model.state_dict())

    @contextlib.contextmanager
    def swapping():
        model.load_state_dict(average)
        try:
            yield
        finally:
            model.load_state_dict(own)

    return swapping()


# %% wrong="puts back after an Exception alone" breaks="(KeyboardInterrupt too)" says=["a block that is interrupted", "put them back in a finally"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


def swapped_in(model, average):
    @contextlib.contextmanager
    def swapping():
        own = copy.deepcopy(model.state_dict())
        model.load_state_dict(average)
        try:
            yield
        except Exception:
            model.load_state_dict(own)
            raise
        else:
            model.load_state_dict(own)

    return swapping()


# %% wrong="the block runs under no_grad" breaks="inside the block too" says=["inside the block grad mode is another: gradients are off"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


def swapped_in(model, average):
    @contextlib.contextmanager
    def swapping():
        own = copy.deepcopy(model.state_dict())
        with torch.no_grad():
            model.load_state_dict(average)
            try:
                yield
            finally:
                model.load_state_dict(own)

    return swapping()


# %% wrong="switches to evaluation" says=["inside the block: the mode of"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


def swapped_in(model, average):
    @contextlib.contextmanager
    def swapping():
        own = copy.deepcopy(model.state_dict())
        model.load_state_dict(average)
        model.eval()
        try:
            yield
        finally:
            model.load_state_dict(own)
            model.train()

    return swapping()


# %% wrong="swallows what the block raises" says=["what the block raised"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


def swapped_in(model, average):
    @contextlib.contextmanager
    def swapping():
        own = copy.deepcopy(model.state_dict())
        model.load_state_dict(average)
        try:
            yield
        except BaseException:
            pass
        finally:
            model.load_state_dict(own)

    return swapping()


# %% right="float64 inside, an ExitStack"
def ema(average, state, step, decay):
    d = decay if decay < (1 + step) / (10 + step) else (1 + step) / (10 + step)

    def mix(a, s):
        if not torch.is_floating_point(s):
            return s.clone()
        return (s.double() + d * (a.double() - s.double())).to(s.dtype)

    return {name: mix(average[name], state[name]) for name in state}


@contextlib.contextmanager
def swapped_in(model, average):
    with contextlib.ExitStack() as stack:
        stack.callback(model.load_state_dict, copy.deepcopy(model.state_dict()))
        for name, tensor in model.state_dict().items():
            tensor.copy_(average[name])
        yield stack


# %% wrong="float64 averaged in float32" breaks="in their own dtype" says=["torch.float64: weight, right to seven digits or so: was float64 computed in float32?"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: (d * average[name].float() + (1 - d) * value.float()).to(value.dtype)
        if value.is_floating_point()
        else value.clone()
        for name, value in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    own = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(own)


# %% wrong="gradients on inside, whatever they were" says=["a block where gradients are off: inside the block grad mode is another: gradients are on"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    own = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(average)
    try:
        with torch.enable_grad():
            yield
    finally:
        model.load_state_dict(own)


# %% wrong="gradients are left off" breaks="and modes, hooks, `requires_grad`, `.grad` and grad mode are what they were" says=["after the block grad mode is another than before it"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    own = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(average)
    try:
        yield
    finally:
        torch.set_grad_enabled(False)
        model.load_state_dict(own)


# %% wrong="gradients are on after the block" says=["after the block grad mode is another than before it"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    own = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(own)
        torch.set_grad_enabled(True)


# %% wrong="leaves out what has no dimension" says=["the names"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
        if value.dim() or not value.is_floating_point()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    own = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(own)


# %% wrong="no warm-up after 10 steps" says=["step 17, decay 0.999", "without the warm-up"]
def ema(average, state, step, decay):
    d = decay if step > 10 else min(decay, (1 + step) / (10 + step))
    return {
        k: (d * average[k] + (1 - d) * v) if v.is_floating_point() else v.clone()
        for k, v in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    kept = {k: v.clone() for k, v in model.state_dict().items()}
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(kept)


# %% wrong="the values of the first block are put back after the second" says=["a second block, after a step"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        k: (d * average[k] + (1 - d) * v) if v.is_floating_point() else v.clone()
        for k, v in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    if not hasattr(model, "_kept"):
        model._kept = {k: v.clone() for k, v in model.state_dict().items()}
    kept = model._kept
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(kept)


# %% wrong="puts back what it kept in float32" says=["have lost digits: keep each in its own dtype"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        k: (d * average[k] + (1 - d) * v) if v.is_floating_point() else v.clone()
        for k, v in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    kept = {k: v.float().clone() for k, v in model.state_dict().items()}
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(kept)


# %% right="a class, add with alpha"
def ema(average, state, step, decay):
    weight = 1.0 - min(float(decay), (step + 1.0) / (step + 10.0))
    result = {}
    for name in state:
        new = state[name]
        if torch.is_floating_point(new):
            result[name] = average[name].add(new - average[name], alpha=weight)
        else:
            result[name] = new.detach().clone()
    return result


def swapped_in(model, average):
    class Swap:
        def __enter__(self):
            with torch.no_grad():
                live = model.state_dict()
                self.kept = {name: value.clone() for name, value in live.items()}
                for name, value in live.items():
                    value.copy_(average[name])
            return model

        def __exit__(self, *error):
            with torch.no_grad():
                for name, value in model.state_dict().items():
                    value.copy_(self.kept[name])
            return None

    return Swap()


# %% wrong="floats alone are put back" breaks="a forward pass in training mode included" says=["after the block the model's own values"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    new = {}
    for name, value in state.items():
        if value.is_floating_point():
            new[name] = d * average[name] + (1 - d) * value
        else:
            new[name] = value.clone()
    return new


@contextlib.contextmanager
def swapped_in(model, average):
    kept = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(
            {n: v for n, v in kept.items() if v.is_floating_point()}, strict=False
        )


# %% wrong="the d of the step behind" says=["this is the d of step 1: steps are counted from 0"]
def ema(average, state, step, decay):
    d = min(decay, (2 + step) / (11 + step))
    new = {}
    for name, value in state.items():
        if value.is_floating_point():
            new[name] = d * average[name] + (1 - d) * value
        else:
            new[name] = value.clone()
    return new


@contextlib.contextmanager
def swapped_in(model, average):
    kept = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(kept)


# %% wrong="the average's part alone" says=["this is the average's part alone"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    own = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(own)


# %% wrong="takes the state's part off" says=["outside of what lies between average and state"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] - (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    own = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(own)


# %% wrong="counts from 9" says=["at step 0 d is 0.1000, the lesser of decay and"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (9 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    own = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(own)


# %% wrong="forgets the gradients when it is called" says=["when swapped_in was called, before the block"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


def swapped_in(model, average):
    model.zero_grad()

    @contextlib.contextmanager
    def swapping():
        own = copy.deepcopy(model.state_dict())
        model.load_state_dict(average)
        try:
            yield
        finally:
            model.load_state_dict(own)

    return swapping()


# %% wrong="the average in float32" says=["a second block, after a step: inside the block not all values"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    own = copy.deepcopy(model.state_dict())
    model.load_state_dict({name: value.float() for name, value in average.items()})
    try:
        yield
    finally:
        model.load_state_dict(own)


# %% wrong="asks for the average's gradients" says=["in average requires a gradient now"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    own = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    for value in average.values():
        value.requires_grad_(value.is_floating_point())
    try:
        yield
    finally:
        model.load_state_dict(own)


# %% wrong="weights averaged by name, not buffers" says=["norm.running_mean: this is the state's part alone"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    result = {}
    for name, value in state.items():
        if "running" not in name and value.is_floating_point():
            result[name] = d * average[name] + (1 - d) * value
        else:
            result[name] = value.clone()
    return result


@contextlib.contextmanager
def swapped_in(model, average):
    old = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(old)


# %% wrong="error swallowed" says=["swallowed on the way out?"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    result = {}
    for name, value in state.items():
        if value.is_floating_point():
            result[name] = d * average[name] + (1 - d) * value
        else:
            result[name] = value.clone()
    return result


@contextlib.contextmanager
def swapped_in(model, average):
    old = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield
    except BaseException:
        pass
    finally:
        model.load_state_dict(old)


# %% wrong="float32 in between" says=["was float64 computed in float32?"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    result = {}
    for name, value in state.items():
        if value.is_floating_point():
            result[name] = (d * average[name].float() + (1 - d) * value.float()).to(value.dtype)
        else:
            result[name] = value.clone()
    return result


@contextlib.contextmanager
def swapped_in(model, average):
    old = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(old)


# %% wrong="keeps the values in an attribute of the model" says=["the model has a new attribute, kept: all else stays"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        k: d * average[k] + (1 - d) * v if v.is_floating_point() else v.clone()
        for k, v in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    model.kept = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield model
    finally:
        model.load_state_dict(model.kept)


# %% wrong="keeps the model's values in the average meanwhile" says=["inside the block average holds other values"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        k: d * average[k] + (1 - d) * v if v.is_floating_point() else v.clone()
        for k, v in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    kept = copy.deepcopy(model.state_dict())
    given = copy.copy(average)
    model.load_state_dict(given)
    average.update({n: v for n, v in kept.items()})
    try:
        yield
    finally:
        model.load_state_dict(kept)
        average.update(given)


# %% wrong="keeps the values of the outermost block alone" says=["after a block inside the block"]
KEPT = {}


def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        k: d * average[k] + (1 - d) * v if v.is_floating_point() else v.clone()
        for k, v in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    KEPT.setdefault(id(model), copy.deepcopy(model.state_dict()))
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(KEPT[id(model)])


# %% wrong="a NaN in the state is skipped" breaks="`d * average + (1 - d) * state`" says=["a NaN in the state", "the formula holds for each number"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    new = {}
    for name, value in state.items():
        if value.is_floating_point():
            new[name] = torch.where(
                value.isnan(), average[name], d * average[name] + (1 - d) * value
            )
        else:
            new[name] = value.clone()
    return new


@contextlib.contextmanager
def swapped_in(model, average):
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    try:
        model.load_state_dict(average)
        yield model
    finally:
        model.load_state_dict(kept)


# %% wrong="d as a tensor in the entry's dtype" says=["Was d rounded to"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: torch.tensor(d, dtype=value.dtype) * average[name]
        + (1 - torch.tensor(d, dtype=value.dtype)) * value
        if value.is_floating_point()
        else value.clone()
        for name, value in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    before = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(before)


# %% wrong="averages complex entries" breaks="floating-point entries (`is_floating_point()`)" says=["phase, no entry of floating-point numbers"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value
        if value.is_floating_point() or value.is_complex()
        else value.clone()
        for name, value in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    before = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(before)


# %% wrong="takes the state where the average isn't finite" says=["what is NaN in the average stays NaN"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: (d * average[name] + (1 - d) * value).where(average[name].isfinite(), value)
        if value.is_floating_point()
        else value.clone()
        for name, value in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    before = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(before)


# %% wrong="adds the difference to what is there" says=["inside the block not all values"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * average[name] + (1 - d) * value if value.is_floating_point() else value.clone()
        for name, value in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    before = copy.deepcopy(model.state_dict())
    with torch.no_grad():
        for name, value in model.state_dict().items():
            value.add_(average[name] - value)
    try:
        yield
    finally:
        model.load_state_dict(before)


# %% wrong="a ValueError ends in the manager" says=["what the block raised"]
import contextlib
import copy


def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    new = {}
    for name, value in state.items():
        if value.is_floating_point():
            new[name] = d * average[name] + (1 - d) * value
        else:
            new[name] = value.clone()
    return new


@contextlib.contextmanager
def swapped_in(model, average):
    before = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield
    except ValueError:
        pass
    finally:
        model.load_state_dict(before)


# %% wrong="pairs the entries by their order" breaks="in any order" says=["pair entries by name"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    result = {}
    with torch.no_grad():
        for (name, value), old in zip(state.items(), average.values()):
            if value.is_floating_point():
                result[name] = d * old + (1 - d) * value
            else:
                result[name] = value.clone()
    return result


@contextlib.contextmanager
def swapped_in(model, average):
    before = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield model
    finally:
        model.load_state_dict(before)


# %% wrong="a decay of 1 skips the warm-up" says=["step 4, decay 1.0"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    d = min(d, 0.9999)
    d = d if decay < 1 else 1.0
    result = {}
    with torch.no_grad():
        for name, value in state.items():
            if value.is_floating_point():
                result[name] = d * average[name] + (1 - d) * value
            else:
                result[name] = value.clone()
    return result


@contextlib.contextmanager
def swapped_in(model, average):
    before = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield model
    finally:
        model.load_state_dict(before)


# %% wrong="data exchanged, buffers by named_buffers()" says=["it raised KeyError: 'second.table': state_dict() has a buffer that two modules share twice"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        name: d * old + (1 - d) * state[name] if old.is_floating_point() else state[name].clone()
        for name, old in average.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    tensors = dict(model.named_parameters()) | dict(model.named_buffers())
    tensors = {name: tensors[name] for name in average}
    kept = {name: value.data for name, value in tensors.items()}
    for name, value in tensors.items():
        value.data = average[name]  # no copy: only the pointers are exchanged
    try:
        yield
    finally:
        for name, value in tensors.items():
            value.data = kept[name]


# %% wrong="parameters are the average's own for a while" breaks="an optimizer's step" says=["a second block, after a step: the average changed when the model did"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        n: d * average[n] + (1 - d) * v if v.is_floating_point() else v.clone()
        for n, v in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    own = {name: parameter.data for name, parameter in model.named_parameters()}
    rest = {n: v.clone() for n, v in model.state_dict().items() if n not in own}
    try:
        for name, parameter in model.named_parameters():
            parameter.data = average[name].data
        model.load_state_dict({name: average[name] for name in rest}, strict=False)
        yield
    finally:
        for name, parameter in model.named_parameters():
            parameter.data = own[name]
        model.load_state_dict(rest, strict=False)


# %% wrong="copies back into the tensors of before the block" breaks="which may put a new" says=["a second block, after a step", "ask model.state_dict() anew on the way out"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        n: d * average[n] + (1 - d) * v if v.is_floating_point() else v.clone()
        for n, v in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    live = model.state_dict()
    own = {name: value.clone() for name, value in live.items()}
    for name, value in live.items():
        value.copy_(average[name])
    try:
        yield
    finally:
        for name, value in live.items():
            value.copy_(own[name])


# %% wrong="keeps NumPy arrays" breaks="whatever their dtype" says=["a block that raises ValueError", "of bfloat16, which NumPy doesn't know: keep tensors"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    return {
        n: d * average[n] + (1 - d) * v if v.is_floating_point() else v.clone()
        for n, v in state.items()
    }


@contextlib.contextmanager
def swapped_in(model, average):
    own = {name: value.numpy().copy() for name, value in model.state_dict().items()}
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict({name: torch.from_numpy(array) for name, array in own.items()})


# %% wrong="works in place on a deep copy" breaks="(two names" says=["one tensor under two names", "averaged twice"]
def ema(average, state, step, decay):
    d = min(decay, (1 + step) / (10 + step))
    new = copy.deepcopy(average)
    for name, value in new.items():
        if value.is_floating_point():
            value.mul_(d).add_((1 - d) * state[name])
        else:
            new[name] = state[name].clone()
    return new


@contextlib.contextmanager
def swapped_in(model, average):
    own = copy.deepcopy(model.state_dict())
    model.load_state_dict(average)
    try:
        yield
    finally:
        model.load_state_dict(own)
