# %% [markdown]
# Rules:
#
# - "It logs, at `step`"
# - "every parameter, under `parameters/` and its name"
# - "classes derived from it, too"
# - "as in `named_modules()`; at any depth"
# - "the share of its units that are dead on `x`"
# - "a float"
# - "where a channel is dead if it is 0 for each sample at each place"
# - "which may put out numbers below 0"
# - "0 means 0: a unit that puts out 1e-12 once lives"
# - "and in float64 one that puts out 1e-60"
# - "The model is looked at in **eval mode**"
# - "left as it was: the mode of each module"
# - "hooks, gradients and buffers"
# - "also where the model raises"
#
# Admits:
#
# - "(batch, channel, height, width)": convolutions, BatchNorm, dropout
# - "which may put out numbers below 0": a derived ReLU that puts out numbers below 0
# - "in float64 one that puts out 1e-60": faint units, in float64

# %% wrong="the stub" says=["it returned None, not a dict: is there an answer yet?"]
def histograms_that_tell(writer, model, x, step):
    pass


# %% wrong="the share of zeros" says=["that is the share of zeros; a unit is dead if all of its outputs are 0"]
def histograms_that_tell(writer, model, x, step):
    shares, handles = {}, []
    modes = [(m, m.training) for m in model.modules()]
    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):

            def look(module, args, output, name=name):
                writer.add_histogram("activations/" + name, output, step)
                shares[name] = (output == 0).float().mean().item()

            handles.append(module.register_forward_hook(look))
    with torch.no_grad():
        model.eval()(x)
    for handle in handles:
        handle.remove()
    for m, mode in modes:
        m.training = mode
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    return shares


# %% wrong="in training mode, and a hook left" says=["a hook is left", "BatchNorm saw the batch in training mode"]
def histograms_that_tell(writer, model, x, step):
    shares = {}
    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):

            def look(module, args, output, name=name):
                writer.add_histogram("activations/" + name, output, step)
                dead = (output == 0).transpose(0, 1).flatten(1).all(1)
                shares[name] = dead.float().mean().item()

            module.register_forward_hook(look)
    with torch.no_grad():
        model(x)
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    return shares


# %% wrong="train() afterwards" breaks="left as it was: the mode of each module" says=["(train or eval)"]
def histograms_that_tell(writer, model, x, step):
    outputs, handles = {}, []
    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):
            look = lambda m, a, out, name=name: outputs.update({name: out})
            handles.append(module.register_forward_hook(look))
    model.eval()
    with torch.no_grad():
        model(x)
    model.train()
    for handle in handles:
        handle.remove()
    for name, out in outputs.items():
        writer.add_histogram("activations/" + name, out, step)
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    return {
        n: (o.amax((0, *range(2, o.dim()))) == 0).float().mean().item() for n, o in outputs.items()
    }


# %% wrong="children only, and the wrong step" says=["the names of the ReLUs", "its steps: expected [7], got [0]"]
def histograms_that_tell(writer, model, x, step):
    shares, h = {}, x
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    with torch.no_grad():
        for name, module in model.named_children():
            h = module(h)
            if isinstance(module, nn.ReLU):
                writer.add_histogram("activations/" + name, h, 0)
                shares[name] = (h == 0).all(0).float().mean().item()
    for m, mode in modes:
        m.training = mode
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    return shares


# %% wrong="the number, not the share" breaks="the share of its units that are dead on `x`" says=["that is the number of dead units, not their share"]
def histograms_that_tell(writer, model, x, step):
    outputs, handles = {}, []
    modes = [(m, m.training) for m in model.modules()]
    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):
            look = lambda m, a, out, name=name: outputs.update({name: out})
            handles.append(module.register_forward_hook(look))
    with torch.no_grad():
        model.eval()(x)
    for handle in handles:
        handle.remove()
    for m, mode in modes:
        m.training = mode
    for name, out in outputs.items():
        writer.add_histogram("activations/" + name, out, step)
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    return {n: (o.amax((0, *range(2, o.dim()))) == 0).sum().item() for n, o in outputs.items()}


# %% right="a copy of the model does the looking"
def histograms_that_tell(writer, model, x, step):
    import copy

    twin, shares = copy.deepcopy(model).eval(), {}
    for name, p in twin.named_parameters():
        writer.add_histogram(f"parameters/{name}", p.detach().cpu().numpy(), step)

    def look(name):
        def hook(module, args, output):
            writer.add_histogram(f"activations/{name}", output.detach().cpu().numpy(), step)
            units = output.detach().movedim(1, 0).reshape(output.shape[1], -1)
            shares[name] = (units.abs().max(1).values == 0).float().mean().item()

        return hook

    for name, module in twin.named_modules():
        if isinstance(module, nn.ReLU):
            module.register_forward_hook(look(name))
    twin(x)
    return shares


# %% right="one hook for the whole library"
def histograms_that_tell(writer, model, x, step):
    names = {module: name for name, module in model.named_modules()}
    modes, shares = {m: m.training for m in names}, {}

    def hook(module, args, output):
        if isinstance(module, nn.ReLU) and module in names:
            name = names[module]
            writer.add_histogram("activations/" + name, output, step)
            dims = [d for d in range(output.dim()) if d != 1]
            shares[name] = float((output.count_nonzero(dims) == 0).double().mean())

    try:
        with nn.modules.module.register_module_forward_hook(hook), torch.no_grad():
            model.eval()
            model(x)
    finally:
        for m, mode in modes.items():
            m.training = mode
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    return shares


# %% wrong="each place of a map is a unit" breaks="where a channel is dead if it is 0 for each sample at each place" says=["here a unit is a whole channel"]
def histograms_that_tell(writer, model, x, step):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    outs, handles = {}, []
    for name, m in model.named_modules():
        if isinstance(m, nn.ReLU):
            handles.append(
                m.register_forward_hook(
                    lambda _m, _i, o, name=name: outs.__setitem__(name, o.clone())
                )
            )
    with torch.no_grad():
        model(x)
    for h in handles:
        h.remove()
    for m, mode in modes.items():
        m.training = mode
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    for name, o in outs.items():
        writer.add_histogram("activations/" + name, o, step)
    return {n: (o == 0).all(0).float().mean().item() for n, o in outs.items()}


# %% wrong="a lambda that looks the name up too late" breaks="as in `named_modules()`; at any depth" says=["looked up too late"]
def histograms_that_tell(writer, model, x, step):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    outs, handles = {}, []
    for name, m in model.named_modules():
        if isinstance(m, nn.ReLU):
            handles.append(
                m.register_forward_hook(lambda _m, _i, o: outs.__setitem__(name, o.clone()))
            )
    with torch.no_grad():
        model(x)
    for h in handles:
        h.remove()
    for m, mode in modes:
        m.training = mode
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    for name, o in outs.items():
        writer.add_histogram("activations/" + name, o, step)
    return {
        n: (o == 0).transpose(0, 1).flatten(1).all(1).float().mean().item() for n, o in outs.items()
    }


# %% wrong="clears other people's hooks" breaks="hooks, gradients and buffers" says=["a hook of somebody else's is gone"]
def histograms_that_tell(writer, model, x, step):
    outputs = {}
    modes = [(m, m.training) for m in model.modules()]
    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):
            look = lambda m, a, out, name=name: outputs.update({name: out.clone()})
            module.register_forward_hook(look)
    with torch.no_grad():
        model.eval()(x)
    for m, mode in modes:
        m.training = mode
        m._forward_hooks.clear()
    for name, out in outputs.items():
        writer.add_histogram("activations/" + name, out, step)
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    return {
        n: (o.amax((0, *range(2, o.dim()))) == 0).float().mean().item() for n, o in outputs.items()
    }


# %% wrong="keeps the output itself, and looks after the pass" says=["a later module that works in place", "keep a copy"]
def histograms_that_tell(writer, model, x, step):
    outputs, handles = {}, []
    modes = [(m, m.training) for m in model.modules()]
    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):
            look = lambda m, a, out, name=name: outputs.update({name: out.detach()})
            handles.append(module.register_forward_hook(look))
    with torch.no_grad():
        model.eval()(x)
    for handle in handles:
        handle.remove()
    for m, mode in modes:
        m.training = mode
    for name, out in outputs.items():
        writer.add_histogram("activations/" + name, out, step)
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    return {
        n: (o.amax((0, *range(2, o.dim()))) == 0).float().mean().item() for n, o in outputs.items()
    }


# %% wrong="only the parameters that train" breaks="every parameter, under `parameters/` and its name" says=["the event file has no such histogram", "frozen"]
def histograms_that_tell(writer, model, x, step):
    shares, handles = {}, []
    modes = [(m, m.training) for m in model.modules()]
    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):

            def look(module, args, output, name=name):
                writer.add_histogram("activations/" + name, output, step)
                dead = (output == 0).transpose(0, 1).flatten(1).all(1)
                shares[name] = dead.float().mean().item()

            handles.append(module.register_forward_hook(look))
    with torch.no_grad():
        model.eval()(x)
    for handle in handles:
        handle.remove()
    for m, mode in modes:
        m.training = mode
    for name, p in model.named_parameters():
        if p.requires_grad:
            writer.add_histogram("parameters/" + name, p, step)
    return shares


# %% wrong="logs each unit's largest output" says=["that is the histogram of the units' largest outputs"]
def histograms_that_tell(writer, model, x, step):
    shares, handles = {}, []
    modes = [(m, m.training) for m in model.modules()]
    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):

            def look(module, args, output, name=name):
                peaks = output.transpose(0, 1).flatten(1).amax(1)
                writer.add_histogram("activations/" + name, peaks, step)
                shares[name] = (peaks == 0).float().mean().item()

            handles.append(module.register_forward_hook(look))
    with torch.no_grad():
        model.eval()(x)
    for handle in handles:
        handle.remove()
    for m, mode in modes:
        m.training = mode
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    return shares


# %% wrong="wipes the caller's gradients" says=["it is the caller's"]
def histograms_that_tell(writer, model, x, step):
    shares, handles = {}, []
    modes = [(m, m.training) for m in model.modules()]
    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):

            def look(module, args, output, name=name):
                writer.add_histogram("activations/" + name, output.detach(), step)
                dead = (output == 0).transpose(0, 1).flatten(1).all(1)
                shares[name] = dead.float().mean().item()

            handles.append(module.register_forward_hook(look))
    model.eval()(x)
    model.zero_grad()
    for handle in handles:
        handle.remove()
    for m, mode in modes:
        m.training = mode
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    return shares


# %% wrong="counts what is below a thousandth as dead" says=["compare with 0 itself"]
def histograms_that_tell(writer, model, x, step):
    from functools import partial

    outputs, handles = {}, []
    modes = {m: m.training for m in model.modules()}
    for name, m in model.named_modules():
        if isinstance(m, nn.ReLU):
            handles.append(
                m.register_forward_hook(
                    partial(lambda name, m, a, o: outputs.__setitem__(name, o.clone()), name)
                )
            )
    with torch.no_grad():
        model.eval()(x)
    for h in handles:
        h.remove()
    for m, mode in modes.items():
        m.training = mode
    for n, p in model.named_parameters():
        writer.add_histogram(f"parameters/{n}", p, step)
    for n, o in outputs.items():
        writer.add_histogram(f"activations/{n}", o, step)
    return {
        n: (o.abs() < 1e-3).transpose(0, 1).flatten(1).all(1).float().mean().item()
        for n, o in outputs.items()
    }


# %% wrong="dead by isclose" breaks="0 means 0: a unit that puts out 1e-12 once lives" says=["compare with 0 itself"]
def histograms_that_tell(writer, model, x, step):
    from functools import partial

    outputs, handles = {}, []
    modes = {m: m.training for m in model.modules()}
    for name, m in model.named_modules():
        if isinstance(m, nn.ReLU):
            handles.append(
                m.register_forward_hook(
                    partial(lambda name, m, a, o: outputs.__setitem__(name, o.clone()), name)
                )
            )
    with torch.no_grad():
        model.eval()(x)
    for h in handles:
        h.remove()
    for m, mode in modes.items():
        m.training = mode
    for n, p in model.named_parameters():
        writer.add_histogram(f"parameters/{n}", p, step)
    for n, o in outputs.items():
        writer.add_histogram(f"activations/{n}", o, step)
    return {
        n: torch.isclose(o, torch.zeros(())).transpose(0, 1).flatten(1).all(1).float().mean().item()
        for n, o in outputs.items()
    }


# %% wrong="leaves out a class derived from nn.ReLU" breaks="classes derived from it, too" says=["one of a class derived from nn.ReLU"]
def histograms_that_tell(writer, model, x, step):
    outputs, handles = {}, []
    modes = {m: m.training for m in model.modules()}
    for name, m in model.named_modules():
        if type(m) is nn.ReLU:
            handles.append(
                m.register_forward_hook(
                    lambda m, a, o, name=name: outputs.__setitem__(name, o.detach().clone())
                )
            )
    model.eval()
    model(x)
    for m, mode in modes.items():
        m.training = mode
    for h in handles:
        h.remove()
    for n, p in model.named_parameters():
        writer.add_histogram(f"parameters/{n}", p, step)
    for n, o in outputs.items():
        writer.add_histogram(f"activations/{n}", o, step)
    return {
        n: (o == 0).transpose(0, 1).flatten(1).all(1).float().mean().item()
        for n, o in outputs.items()
    }


# %% wrong="dead by the first sample" says=["the share of units that are 0 for the first sample; look at all of them"]
def histograms_that_tell(writer, model, x, step):
    was = {m: m.training for m in model.modules()}
    outs, hs = {}, []
    for n, m in model.named_modules():
        if isinstance(m, nn.ReLU):
            hs.append(m.register_forward_hook(lambda m, i, o, n=n: outs.__setitem__(n, o.clone())))
    model.eval()
    with torch.no_grad():
        model(x)
    for h in hs:
        h.remove()
    for m, t in was.items():
        m.training = t
    for n, p in model.named_parameters():
        writer.add_histogram("parameters/" + n, p, step)
    result = {}
    for n, o in outs.items():
        writer.add_histogram("activations/" + n, o, step)
        result[n] = (
            (o[0].flatten(1).sum(1) == 0).float().mean().item()
            if o.dim() > 2
            else (o[0] == 0).float().mean().item()
        )
    return result


# %% wrong="logs the outputs without their zeros" says=["the zeros are missing"]
def histograms_that_tell(writer, model, x, step):
    was = {m: m.training for m in model.modules()}
    outs, hs = {}, []
    for n, m in model.named_modules():
        if isinstance(m, nn.ReLU):
            hs.append(m.register_forward_hook(lambda m, i, o, n=n: outs.__setitem__(n, o.clone())))
    model.eval()
    with torch.no_grad():
        model(x)
    for h in hs:
        h.remove()
    for m, t in was.items():
        m.training = t
    for n, p in model.named_parameters():
        writer.add_histogram("parameters/" + n, p, step)
    result = {}
    for n, o in outs.items():
        writer.add_histogram("activations/" + n, o[o > 0], step)
        result[n] = (o == 0).transpose(0, 1).flatten(1).all(1).float().mean().item()
    return result


# %% right="logs in the hook, removes by an ExitStack"
def histograms_that_tell(writer, model, x, step):
    from contextlib import ExitStack

    results = {}

    def watch(name):
        def hook(module, args, output):
            flat = output.detach().movedim(1, 0).reshape(output.shape[1], -1)
            results[name] = float(((flat != 0).sum(1) == 0).double().mean())
            writer.add_histogram("activations/" + name, output.detach().clone(), step)

        return hook

    with ExitStack() as stack, torch.inference_mode():
        for module in model.modules():
            stack.callback(setattr, module, "training", module.training)
        for name, module in model.named_modules():
            if issubclass(type(module), nn.ReLU):
                stack.callback(module.register_forward_hook(watch(name)).remove)
        model.eval()
        model(x)
    for name, p in model.named_parameters():
        writer.add_histogram(f"parameters/{name}", p.detach().cpu().numpy(), step)
    return results


# %% wrong="no step" breaks="It logs, at `step`" says=["hand step to add_histogram"]
from functools import partial


def histograms_that_tell(writer, model, x, step):
    dead, modes = {}, {m: m.training for m in model.modules()}

    def look(name, module, args, out):
        writer.add_histogram(f"activations/{name}", out.detach().cpu(), step)
        dead[name] = (out == 0).transpose(0, 1).flatten(1).all(1).float().mean().item()

    handles = [
        m.register_forward_hook(partial(look, n))
        for n, m in model.named_modules()
        if isinstance(m, nn.ReLU)
    ]
    model.eval()
    try:
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
        for m, mode in modes.items():
            m.training = mode
    for name, p in model.named_parameters():
        writer.add_histogram(f"parameters/{name}", p.detach().cpu())
    return dead


# %% wrong="not in eval mode" breaks="The model is looked at in **eval mode**" says=["training mode"]
from functools import partial


def histograms_that_tell(writer, model, x, step):
    dead, modes = {}, {m: m.training for m in model.modules()}

    def look(name, module, args, out):
        writer.add_histogram(f"activations/{name}", out.detach().cpu(), step)
        dead[name] = (out == 0).transpose(0, 1).flatten(1).all(1).float().mean().item()

    handles = [
        m.register_forward_hook(partial(look, n))
        for n, m in model.named_modules()
        if isinstance(m, nn.ReLU)
    ]
    try:
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
        for m, mode in modes.items():
            m.training = mode
    for name, p in model.named_parameters():
        writer.add_histogram(f"parameters/{name}", p.detach().cpu(), step)
    return dead


# %% wrong="a tensor, not a number" breaks="a float" says=["a share is a float, and a tensor came back"]
def histograms_that_tell(writer, model, x, step):
    modes = {module: module.training for module in model.modules()}
    dead, handles = {}, []

    def watch(name):
        def hook(module, inputs, output):
            out = output.detach()
            writer.add_histogram(f"activations/{name}", out, step)
            dead[name] = (out == 0).transpose(0, 1).flatten(1).all(1).float().mean()

        return hook

    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):
            handles.append(module.register_forward_hook(watch(name)))
    model.eval()
    with torch.no_grad():
        model(x)
    for handle in handles:
        handle.remove()
    for module, mode in modes.items():
        module.training = mode
    for name, parameter in model.named_parameters():
        writer.add_histogram(f"parameters/{name}", parameter, step)
    return dead


# %% wrong="the share of units that live" says=["that is the share of units that live"]
def histograms_that_tell(writer, model, x, step):
    modes = {m: m.training for m in model.modules()}
    outputs, handles = {}, []
    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):

            def keep(m, inputs, out, name=name):
                outputs[name] = out.detach().clone()

            handles.append(module.register_forward_hook(keep))
    model.eval()
    with torch.no_grad():
        model(x)
    for handle in handles:
        handle.remove()
    for module, mode in modes.items():
        module.training = mode
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    shares = {}
    for name, out in outputs.items():
        writer.add_histogram("activations/" + name, out, step)
        shares[name] = 1 - (out == 0).transpose(0, 1).flatten(1).all(1).float().mean().item()
    return shares


# %% wrong="squares that underflow" says=["2, share of dead units: a unit that puts out next to nothing lives"]
def histograms_that_tell(writer, model, x, step):
    modes = {module: module.training for module in model.modules()}
    kept, handles = {}, []

    def keep(name, module, args, output):
        kept[name] = output.detach().clone()

    from functools import partial

    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):
            handles.append(module.register_forward_hook(partial(keep, name)))
    model.eval()
    with torch.no_grad():
        model(x)
    for handle in handles:
        handle.remove()
    for module, mode in modes.items():
        module.training = mode
    for name, parameter in model.named_parameters():
        writer.add_histogram(f"parameters/{name}", parameter, step)
    dead = {}
    for name, out in kept.items():
        writer.add_histogram(f"activations/{name}", out, step)
        dead[name] = (out.transpose(0, 1).flatten(1).square().sum(1) == 0).float().mean().item()
    return dead


# %% wrong="the model itself is left out" says=["the model itself is a ReLU"]
def histograms_that_tell(writer, model, x, step) -> dict[str, float]:
    for name, parameter in model.named_parameters():
        writer.add_histogram(f"parameters/{name}", parameter, step)
    outputs = {}

    def keeper(name):
        def hook(module, args, out):
            outputs[name] = out.detach().clone()

        return hook

    relus = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.ReLU) and name
    }
    modes = {module: module.training for module in model.modules()}
    handles = [module.register_forward_hook(keeper(name)) for name, module in relus.items()]
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
        for module, was in modes.items():
            module.training = was
    shares = {}
    for name, out in outputs.items():
        writer.add_histogram(f"activations/{name}", out, step)
        shares[name] = (out == 0).transpose(0, 1).flatten(1).all(1).float().mean().item()
    return shares


# %% wrong="modes by train" says=["the mode of"]
def histograms_that_tell(writer, model, x, step) -> dict[str, float]:
    for name, parameter in model.named_parameters():
        writer.add_histogram(f"parameters/{name}", parameter, step)
    outputs = {}

    def keeper(name):
        def hook(module, args, out):
            outputs[name] = out.detach().clone()

        return hook

    relus = {name: module for name, module in model.named_modules() if isinstance(module, nn.ReLU)}
    modes = {module: module.training for module in model.modules()}
    handles = [module.register_forward_hook(keeper(name)) for name, module in relus.items()]
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
        for module, was in modes.items():
            module.train(was)
    shares = {}
    for name, out in outputs.items():
        writer.add_histogram(f"activations/{name}", out, step)
        shares[name] = (out == 0).transpose(0, 1).flatten(1).all(1).float().mean().item()
    return shares


# %% wrong="squeezes the output" says=["one unit, one image, under no_grad"]
def histograms_that_tell(writer, model, x, step):
    shares, handles = {}, []
    modes = {m: m.training for m in model.modules()}

    def watch(name):
        def hook(module, args, output):
            output = output.squeeze()
            output = output[None] if output.dim() < 2 else output
            writer.add_histogram(f"activations/{name}", output, step)
            shares[name] = (output == 0).transpose(0, 1).flatten(1).all(1).float().mean().item()

        return hook

    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):
            handles.append(module.register_forward_hook(watch(name)))
    try:
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
        for module, mode in modes.items():
            module.training = mode
    for name, parameter in model.named_parameters():
        writer.add_histogram(f"parameters/{name}", parameter, step)
    return shares


# %% wrong="switches recording off and on" says=["the caller had switched it off"]
def histograms_that_tell(writer, model, x, step):
    shares, handles = {}, []
    modes = {m: m.training for m in model.modules()}

    def watch(name):
        def hook(module, args, output):
            writer.add_histogram(f"activations/{name}", output, step)
            shares[name] = (output == 0).transpose(0, 1).flatten(1).all(1).float().mean().item()

        return hook

    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):
            handles.append(module.register_forward_hook(watch(name)))
    try:
        model.eval()
        torch.set_grad_enabled(False)
        model(x)
    finally:
        torch.set_grad_enabled(True)
        for handle in handles:
            handle.remove()
        for module, mode in modes.items():
            module.training = mode
    for name, parameter in model.named_parameters():
        writer.add_histogram(f"parameters/{name}", parameter, step)
    return shares


# %% wrong="puts back only where all went well" breaks="also where the model raises" says=["a hook is left", "in a `finally`"]
def histograms_that_tell(writer, model, x, step):
    shares, handles = {}, []
    modes = {m: m.training for m in model.modules()}

    def watch(name):
        def hook(module, args, output):
            writer.add_histogram(f"activations/{name}", output, step)
            shares[name] = (output == 0).transpose(0, 1).flatten(1).all(1).float().mean().item()

        return hook

    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):
            handles.append(module.register_forward_hook(watch(name)))
    model.eval()
    with torch.no_grad():
        model(x)
    for handle in handles:
        handle.remove()
    for module, mode in modes.items():
        module.training = mode
    for name, parameter in model.named_parameters():
        writer.add_histogram(f"parameters/{name}", parameter, step)
    return shares


# %% wrong="dead where all of a unit's outputs are equal" says=["one unit, one image, under no_grad, what is returned: 4", "puts out the same number everywhere lives"]
def histograms_that_tell(writer, model, x, step):
    modes = {m: m.training for m in model.modules()}
    shares, handles, tensors = {}, [], {}

    def hook_for(name):
        def hook(module, args, out):
            tensors[name] = out.detach().clone()
            flat = out.transpose(0, 1).flatten(1)
            shares[name] = (flat.amax(1) == flat.amin(1)).float().mean().item()

        return hook

    try:
        for name, module in model.named_modules():
            if isinstance(module, nn.ReLU):
                handles.append(module.register_forward_hook(hook_for(name)))
        model.eval()
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
        for module, mode in modes.items():
            module.training = mode
    for name, p in model.named_parameters():
        writer.add_histogram(f"parameters/{name}", p, step)
    for name, t in tensors.items():
        writer.add_histogram(f"activations/{name}", t, step)
    return shares


# %% wrong="dead is what is never above 0" breaks="which may put out numbers below 0" says=["a derived ReLU that puts out numbers below 0, what is returned", "a unit that puts out numbers below 0 lives"]
def histograms_that_tell(writer, model, x, step):
    shares, handles = {}, []
    modes = [(m, m.training) for m in model.modules()]
    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):

            def look(module, args, output, name=name):
                writer.add_histogram("activations/" + name, output, step)
                peaks = output.transpose(0, 1).flatten(1).amax(1)
                shares[name] = (peaks <= 0).float().mean().item()

            handles.append(module.register_forward_hook(look))
    try:
        with torch.no_grad():
            model.eval()(x)
    finally:
        for handle in handles:
            handle.remove()
        for m, mode in modes:
            m.training = mode
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    return shares


# %% wrong="takes away the dimension of a batch of one" says=["one unit, one image, under no_grad, what is returned", "a batch of one image is a batch, too"]
def histograms_that_tell(writer, model, x, step):
    shares, handles = {}, []
    modes = [(m, m.training) for m in model.modules()]
    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):

            def look(module, args, output, name=name):
                writer.add_histogram("activations/" + name, output, step)
                seen = output.squeeze()
                dead = (
                    (seen == 0).transpose(0, 1).flatten(1).all(1) if seen.dim() > 1 else seen == 0
                )
                shares[name] = dead.float().mean().item()

            handles.append(module.register_forward_hook(look))
    try:
        with torch.no_grad():
            model.eval()(x)
    finally:
        for handle in handles:
            handle.remove()
        for m, mode in modes:
            m.training = mode
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    return shares


# %% wrong="a largest output of 0 is dead" says=["a derived ReLU that puts out numbers below 0, what is returned", "a unit whose largest output is 0, and others below 0, lives"]
def histograms_that_tell(writer, model, x, step):
    shares, handles = {}, []
    modes = [(m, m.training) for m in model.modules()]
    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):

            def look(module, args, output, name=name):
                writer.add_histogram("activations/" + name, output, step)
                peaks = output.transpose(0, 1).flatten(1).amax(1)
                shares[name] = (peaks == 0).float().mean().item()

            handles.append(module.register_forward_hook(look))
    try:
        with torch.no_grad():
            model.eval()(x)
    finally:
        for handle in handles:
            handle.remove()
        for m, mode in modes:
            m.training = mode
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    return shares


# %% wrong="outputs in float32" breaks="and in float64 one that puts out 1e-60" says=["faint units, in float64, what is returned", "rounded to float32"]
def histograms_that_tell(writer, model, x, step):
    shares, handles = {}, []
    modes = [(m, m.training) for m in model.modules()]
    for name, module in model.named_modules():
        if isinstance(module, nn.ReLU):

            def look(module, args, output, name=name):
                output = output.detach().float().cpu()
                writer.add_histogram("activations/" + name, output, step)
                dead = (output == 0).transpose(0, 1).flatten(1).all(1)
                shares[name] = dead.float().mean().item()

            handles.append(module.register_forward_hook(look))
    try:
        with torch.no_grad():
            model.eval()(x)
    finally:
        for handle in handles:
            handle.remove()
        for m, mode in modes:
            m.training = mode
    for name, p in model.named_parameters():
        writer.add_histogram("parameters/" + name, p, step)
    return shares
