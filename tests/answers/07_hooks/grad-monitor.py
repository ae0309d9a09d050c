# %% [markdown]
# Rules:
#
# - "It hooks every module"
# - "that has no children"
# - "at any depth"
# - "returns `(norms, handles)`"
# - "(as `named_modules()` gives it)"
# - "With each `backward()` the list gets one number"
# - "a Python `float`"
# - "of the module's **output**"
# - "the norm of the gradient"
# - "over all its elements"
# - "may be in half precision, too"
# - "Training goes on as if you were not looking"
# - "a run under `no_grad` works as before"
# - "of a forward pass after all handles were removed nothing is noted"
#
# Admits:
#
# - "at any depth": two steps of a patient in two containers
# - "With each `backward()`": check_case(2, True, 0)
# - "in half precision": a model in half precision

# %% wrong="a lambda in a loop" breaks="With each `backward()` the list gets one number" says=["'0.0.layer1' has 0 numbers, expected 2", "what does a lambda look up, when?"]
def grad_monitor(model):
    norms, handles = {}, []
    for name, module in model.named_modules():
        if not list(module.children()):
            norms[name] = []
            hook = lambda module, grad_input, grad_output: norms[name].append(
                grad_output[0].norm().item()
            )
            handles.append(module.register_full_backward_hook(hook))
    return norms, handles


ill_layer = "layer4"


# %% wrong="the gradient of the input; and the layer behind" breaks="of the module's **output**" says=["this is the norm of the gradient of the module's input", "it is not 'layer5': its gradient is of ordinary size"]
def grad_monitor(model):
    norms, handles = {}, []
    for name, module in model.named_modules():
        if not list(module.children()):
            values = norms.setdefault(name, [])
            hook = lambda m, grad_input, g, values=values: values.append(
                grad_input[0].norm().item()
            )
            handles.append(module.register_full_backward_hook(hook))
    return norms, handles


ill_layer = "layer5"


# %% wrong="tensors in the list; the layer that is told least" breaks="a Python `float`" says=["is a Tensor, not a plain float", "it is not 'layer2': next to no gradient reaches it, but neither does any reach a layer closer"]
def grad_monitor(model):
    norms, handles = {}, []
    for name, module in model.named_modules():
        if not list(module.children()):
            values = norms.setdefault(name, [])
            hook = lambda m, i, grad_output, values=values: values.append(grad_output[0].norm())
            handles.append(module.register_full_backward_hook(hook))
    return norms, handles


ill_layer = "layer2"


# %% wrong="children only" breaks="at any depth" says=["'0.0.layer1' is missing", "every module without children, at any depth"]
def grad_monitor(model):
    norms, handles = {}, []
    for name, module in model.named_children():
        values = norms.setdefault(name, [])
        hook = lambda m, i, grad_output, values=values: values.append(grad_output[0].norm().item())
        handles.append(module.register_full_backward_hook(hook))
    return norms, handles


ill_layer = "layer4"


# %% wrong="containers too; no answer about the layer" breaks="that has no children" says=["'0.0' does not belong here", "ill_layer is still None"]
def grad_monitor(model):
    norms, handles = {}, []
    for name, module in model.named_modules():
        values = norms.setdefault(name, [])
        hook = lambda m, i, grad_output, values=values: values.append(grad_output[0].norm().item())
        handles.append(module.register_full_backward_hook(hook))
    return norms, handles


ill_layer = None


# %% wrong="returns the norms alone" breaks="returns `(norms, handles)`" says=["not (norms, handles)"]
def grad_monitor(model):
    norms = {}
    for name, module in model.named_modules():
        if not list(module.children()):
            values = norms.setdefault(name, [])
            hook = lambda m, i, grad_output, values=values: values.append(
                grad_output[0].norm().item()
            )
            module.register_full_backward_hook(hook)
    return norms


ill_layer = "layer4"


# %% wrong="handles of nothing" breaks="of a forward pass after all handles were removed nothing is noted" says=["14 lists grew after all handles were removed"]
def grad_monitor(model):
    norms, handles = {}, []
    for name, module in model.named_modules():
        if not list(module.children()):
            values = norms.setdefault(name, [])
            hook = lambda m, i, grad_output, values=values: values.append(
                grad_output[0].norm().item()
            )
            module.register_full_backward_hook(hook)
    return norms, handles


ill_layer = "layer4"


# %% wrong="mean of the absolute values" breaks="the norm of the gradient" says=["this is the mean of the absolute values, not the norm"]
def grad_monitor(model):
    norms, handles = {}, []
    for name, module in model.named_modules():
        if not list(module.children()):
            values = norms.setdefault(name, [])
            hook = lambda m, i, grads, values=values: values.append(grads[0].abs().mean().item())
            handles.append(module.register_full_backward_hook(hook))
    return norms, handles


ill_layer = "layer4"


# %% wrong="changes the gradient while it looks" breaks="Training goes on as if you were not looking" says=["the monitor changes the training", "What it returns replaces the gradient"]
def grad_monitor(model):
    norms, handles = {}, []
    for name, module in model.named_modules():
        if not list(module.children()):

            def hook(module, grad_input, grad_output, values=norms.setdefault(name, [])):
                values.append(grad_output[0].norm().item())
                return (2 * grad_input[0],) if isinstance(module, nn.Identity) else None

            handles.append(module.register_full_backward_hook(hook))
    return norms, handles


ill_layer = "layer4"


# %% wrong="returns the norm from the hook" says=["What a backward hook returns replaces grad_input"]
def grad_monitor(model):
    norms, hs = {}, []

    def hook(n):
        def h(m, i, o):
            norms[n].append(o[0].norm().item())
            return i[0] * 1.0

        return h

    for n, m in model.named_modules():
        if not len(list(m.children())):
            norms[n] = []
            hs.append(
                m.register_full_backward_hook(
                    lambda m, i, o, n=n: norms[n].append(o[0].norm().item()) or norms[n][-1]
                )
            )
    return norms, hs


ill_layer = "layer6"


# %% right="a tensor hook from within a forward hook"
def grad_monitor(model):
    norms = {}

    def watch(name):
        def on_grad(grad):
            norms[name].append(float(torch.linalg.vector_norm(grad)))

        def on_output(module, args, output):
            if output.requires_grad:
                output.register_hook(on_grad)

        return on_output

    handles = []
    for name, module in model.named_modules():
        if sum(1 for _ in module.children()) == 0:
            norms[name] = []
            handles.append(module.register_forward_hook(watch(name)))
    return norms, handles


ill_layer = "layer4"


# %% right="a backward pre-hook and partial"
def grad_monitor(model):
    from functools import partial

    def note(values, module, grad_output):
        values.append(grad_output[0].double().square().sum().sqrt().item())

    leaves = {name: module for name, module in model.named_modules() if not [*module.children()]}
    norms = {name: [] for name in leaves}
    return norms, tuple(
        module.register_full_backward_pre_hook(partial(note, norms[name]))
        for name, module in leaves.items()
    )


ill_layer = "layer" + str(4)


# %% right="OrderedDict, numpy"
import collections


def grad_monitor(model):
    import numpy as np

    norms, handles = collections.OrderedDict(), []
    for n, m in model.named_modules():
        if any(True for _ in m.children()):
            continue
        store = norms.setdefault(n, [])

        def hook(mod, g, store=store):
            store.append(float(np.linalg.norm(g[0].cpu().double().numpy())))

        handles.append(m.register_full_backward_pre_hook(hook))
    return norms, handles


ill_layer = "layer4"


# %% wrong="a tensor hook, whether or not there is a graph" breaks="a run under `no_grad` works as before" says=["a run under no_grad raised", "ask output.requires_grad"]
def grad_monitor(model):
    norms, handles = {}, []
    for name, module in model.named_modules():
        if not list(module.children()):
            norms[name] = []

            def on_output(module, args, output, values=norms[name]):
                output.register_hook(lambda grad: values.append(grad.norm().item()))

            handles.append(module.register_forward_hook(on_output))
    return norms, handles


ill_layer = "layer4"


# %% wrong="the first norm for ever" says=["[1], over all elements of the gradient of its output: this is the number of the first backward again"]
def grad_monitor(model):
    norms, handles = {}, []
    for name, module in model.named_modules():
        if not list(module.children()):
            norms[name] = []

            def hook(module, grad_input, grad_output, values=norms[name]):
                values.append(values[0] if values else grad_output[0].norm().item())

            handles.append(module.register_full_backward_hook(hook))
    return norms, handles


ill_layer = "layer4"


# %% wrong="a mean over the rows" breaks="over all its elements" says=["this is the mean over the rows: one norm goes over all elements"]
def grad_monitor(model):
    norms, handles = {}, []
    for name, module in model.named_modules():
        if not list(module.children()):
            norms[name] = []

            def hook(module, grad_input, grad_output, values=norms[name]):
                values.append(grad_output[0].norm(dim=1).mean().item())

            handles.append(module.register_full_backward_hook(hook))
    return norms, handles


ill_layer = "layer4"


# %% wrong="thaws what is frozen" says=["requires_grad of 0.0.layer1.bias was changed"]
def grad_monitor(model):
    model.requires_grad_()

    def note(values):
        return lambda module, args, grads: values.append(grads[0].norm().item())

    norms, handles = {}, []
    for name, module in model.named_modules():
        if not list(module.children()):
            norms[name] = []
            handles.append(module.register_full_backward_hook(note(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="clears every forward hook first" says=["the hooks are not those that were there before"]
def grad_monitor(model):
    for module in model.modules():
        module._forward_hooks.clear()

    def note(values):
        return lambda module, args, grads: values.append(grads[0].norm().item())

    norms, handles = {}, []
    for name, module in model.named_modules():
        if not list(module.children()):
            norms[name] = []
            handles.append(module.register_full_backward_hook(note(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="linear layers alone" breaks="It hooks every module" says=["'0.0.tanh1' is missing", "every module without children"]
def grad_monitor(model):
    def note(values):
        return lambda module, _, grad_output: values.append(grad_output[0].norm().item())

    leaves = {n: m for n, m in model.named_modules() if isinstance(m, nn.Linear)}
    norms = {name: [] for name in leaves}
    return norms, [m.register_full_backward_hook(note(norms[n])) for n, m in leaves.items()]


ill_layer = "layer4"


# %% wrong="the last part of each name" breaks="(as `named_modules()` gives it)" says=["'0.0.layer1' is missing", "at any depth, by its full name"]
def grad_monitor(model):
    def note(values):
        return lambda module, _, grad_output: values.append(grad_output[0].norm().item())

    leaves = {n.rpartition(".")[2]: m for n, m in model.named_modules() if not list(m.children())}
    norms = {name: [] for name in leaves}
    return norms, [m.register_full_backward_hook(note(norms[n])) for n, m in leaves.items()]


ill_layer = "layer4"


# %% wrong="a model without children is left out" says=["a single Linear has no children"]
def grad_monitor(model):
    norms, handles = {}, []

    def make(values):
        def hook(module, grad_output):
            number = grad_output[0].norm().item()
            values.append(number)

        return hook

    for name, module in model.named_modules():
        if name and not [*module.children()]:
            norms[name] = []
            handles.append(module.register_full_backward_pre_hook(make(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="norm in float32" says=["a gradient of three times 1e-60"]
def grad_monitor(model):
    norms, handles = {}, []

    def make(values):
        def hook(module, grad_output):
            number = grad_output[0].float().norm().item()
            values.append(number)

        return hook

    for name, module in model.named_modules():
        if not [*module.children()]:
            norms[name] = []
            handles.append(module.register_full_backward_pre_hook(make(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="each forward is noted once, not each backward" says=["give two numbers in each list"]
def grad_monitor(model):
    norms, handles = {}, []

    def make(values):
        def on_output(module, args, output):
            if output.requires_grad:

                def note(grad):
                    values.append(grad.norm().item())
                    handle.remove()

                handle = output.register_hook(note)

        return on_output

    for name, module in model.named_modules():
        if not [*module.children()]:
            norms[name] = []
            handles.append(module.register_forward_hook(make(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="a container is known by its type" says=["and only these"]
def grad_monitor(model):
    norms, handles = {}, []

    def make(values):
        def hook(module, grad_output):
            number = grad_output[0].norm().item()
            values.append(number)

        return hook

    for name, module in model.named_modules():
        if not isinstance(module, (nn.Sequential, nn.ModuleList)):
            norms[name] = []
            handles.append(module.register_full_backward_pre_hook(make(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="lists made at the first backward" says=["before any backward()"]
def grad_monitor(model):
    norms, handles = {}, []

    def make(name):
        def hook(module, grad_output):
            number = grad_output[0].norm().item()
            norms.setdefault(name, []).append(number)

        return hook

    for name, module in model.named_modules():
        if not [*module.children()]:
            handles.append(module.register_full_backward_pre_hook(make(name)))
    return norms, handles


ill_layer = "layer4"


# %% wrong="NaN is not noted" says=["are noted, too"]
def grad_monitor(model):
    norms, handles = {}, []

    def make(values):
        def hook(module, grad_output):
            number = grad_output[0].norm().item()
            if number == number:
                values.append(number)

        return hook

    for name, module in model.named_modules():
        if not [*module.children()]:
            norms[name] = []
            handles.append(module.register_full_backward_pre_hook(make(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="zero is not noted" says=["are noted, too"]
def grad_monitor(model):
    norms, handles = {}, []

    def make(values):
        def hook(module, grad_output):
            number = grad_output[0].norm().item()
            if number:
                values.append(number)

        return hook

    for name, module in model.named_modules():
        if not [*module.children()]:
            norms[name] = []
            handles.append(module.register_full_backward_pre_hook(make(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="infinite is not noted" says=["are noted, too"]
def grad_monitor(model):
    norms, handles = {}, []

    def make(values):
        def hook(module, grad_output):
            number = grad_output[0].norm().item()
            if number != float("inf"):
                values.append(number)

        return hook

    for name, module in model.named_modules():
        if not [*module.children()]:
            norms[name] = []
            handles.append(module.register_full_backward_pre_hook(make(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="waits for a gradient of the input" says=["whatever there is of the input's"]
def grad_monitor(model):
    norms, handles = {}, []

    def hook_for(values):
        def hook(module, grad_input, grad_output):
            if grad_input and grad_input[0] is not None:
                values.append(grad_output[0].norm().item())

        return hook

    for name, module in model.named_modules():
        if not [*module.children()]:
            norms[name] = []
            handles.append(module.register_full_backward_hook(hook_for(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="a batch of no rows is not noted" says=["a batch of 0"]
def grad_monitor(model):
    norms, handles = {}, []

    def hook_for(values):
        def hook(module, grad_output):
            if len(grad_output[0]):
                values.append(grad_output[0].norm().item())

        return hook

    for name, module in model.named_modules():
        if not [*module.children()]:
            norms[name] = []
            handles.append(module.register_full_backward_pre_hook(hook_for(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="asks the grad mode, not the output" breaks="Training goes on as if you were not looking" says=["a frozen first layer", "the grad mode says nothing about one tensor"]
def grad_monitor(model: nn.Module) -> tuple[dict[str, list[float]], list]:
    norms, handles = {}, []

    def watch(values):
        def hook(module, args, output):
            if torch.is_grad_enabled():
                handles.append(output.register_hook(lambda grad: values.append(grad.norm().item())))

        return hook

    for name, module in model.named_modules():
        if next(module.children(), None) is None:
            norms[name] = []
            handles.append(module.register_forward_hook(watch(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="returns the gradient, detached" breaks="Training goes on as if you were not looking" says=["a loss made of a gradient (create_graph=True)", "a hook that looks returns nothing"]
def grad_monitor(model: nn.Module) -> tuple[dict[str, list[float]], list]:
    norms, handles = {}, []

    def watch(values):
        def hook(module, grad_output):
            values.append(grad_output[0].norm().item())
            return (grad_output[0].detach(),)

        return hook

    for name, module in model.named_modules():
        if next(module.children(), None) is None:
            norms[name] = []
            handles.append(module.register_full_backward_pre_hook(watch(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="returns the gradient without infinity" breaks="Training goes on as if you were not looking" says=["which is infinite, trains otherwise"]
def grad_monitor(model: nn.Module) -> tuple[dict[str, list[float]], list]:
    norms, handles = {}, []

    def watch(values):
        def hook(module, grad_output):
            values.append(grad_output[0].norm().item())
            return (grad_output[0].nan_to_num(),)

        return hook

    for name, module in model.named_modules():
        if next(module.children(), None) is None:
            norms[name] = []
            handles.append(module.register_full_backward_pre_hook(watch(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="one list of handles for all monitors" breaks="returns `(norms, handles)`" says=["two monitors on a network", "each has its own lists and handles"]
all_handles = []


def grad_monitor(model: nn.Module) -> tuple[dict[str, list[float]], list]:
    norms, handles = {}, all_handles

    def watch(values):
        def hook(module, grad_output):
            values.append(grad_output[0].norm().item())

        return hook

    for name, module in model.named_modules():
        if next(module.children(), None) is None:
            norms[name] = []
            handles.append(module.register_full_backward_pre_hook(watch(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="clears the hooks that are there" breaks="Training goes on as if you were not looking" says=["leaves other hooks alone"]
def grad_monitor(model: nn.Module) -> tuple[dict[str, list[float]], list]:
    norms, handles = {}, []

    def watch(values):
        def hook(module, grad_output):
            values.append(grad_output[0].norm().item())

        return hook

    for name, module in model.named_modules():
        if next(module.children(), None) is None:
            norms[name] = []
            module._backward_pre_hooks.clear()
            module._backward_hooks.clear()
            module._forward_hooks.clear()
            handles.append(module.register_full_backward_pre_hook(watch(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="needs a batch" breaks="over all its elements" says=["the norm goes over all elements of any shape"]
def grad_monitor(model: nn.Module) -> tuple[dict[str, list[float]], list]:
    norms, handles = {}, []

    def watch(values):
        def hook(module, grad_output):
            values.append(grad_output[0].flatten(1).norm(dim=1).norm().item())

        return hook

    for name, module in model.named_modules():
        if next(module.children(), None) is None:
            norms[name] = []
            handles.append(module.register_full_backward_pre_hook(watch(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="clears .grad" breaks="Training goes on as if you were not looking" says=["twice, trains otherwise once a monitor is on"]
def grad_monitor(model: nn.Module) -> tuple[dict[str, list[float]], list]:
    norms, handles = {}, []

    def watch(values):
        def hook(module, grad_output):
            values.append(grad_output[0].norm().item())
            for p in module.parameters():
                p.grad = None

        return hook

    for name, module in model.named_modules():
        if next(module.children(), None) is None:
            norms[name] = []
            handles.append(module.register_full_backward_pre_hook(watch(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="frozen layers are left out" breaks="It hooks every module" says=["it has a list all the same"]
def grad_monitor(model: nn.Module) -> tuple[dict[str, list[float]], list]:
    norms, handles = {}, []

    def watch(values):
        def hook(module, grad_output):
            values.append(grad_output[0].norm().item())

        return hook

    for name, module in model.named_modules():
        if (
            not module._modules
            and any(p.requires_grad for p in module.parameters())
            or not module._modules
            and not list(module.parameters())
        ):
            norms[name] = []
            handles.append(module.register_full_backward_pre_hook(watch(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="infinity becomes a large number" breaks="the norm of the gradient" says=["gradients of 0, infinity and NaN are noted, too"]
def grad_monitor(model: nn.Module) -> tuple[dict[str, list[float]], list]:
    norms, handles = {}, []

    def watch(values):
        def hook(module, grad_output):
            values.append(min(grad_output[0].norm().item(), 1e30))

        return hook

    for name, module in model.named_modules():
        if next(module.children(), None) is None:
            norms[name] = []
            handles.append(module.register_full_backward_pre_hook(watch(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="retain_grad on each output" breaks="Training goes on as if you were not looking" says=["the model's output keeps its gradient now"]
def grad_monitor(model):
    norms, handles = {}, []

    def watch(values):
        def hook(module, args, output):
            if output.requires_grad:
                output.retain_grad()
                output.register_hook(lambda grad: values.append(grad.norm().item()))

        return hook

    for name, module in model.named_modules():
        if not list(module.children()):
            norms[name] = []
            handles.append(module.register_forward_hook(watch(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="one child is no child" breaks="that has no children" says=["a Sequential of one Linear has a child"]
def grad_monitor(model):
    norms, handles = {}, []

    def watch(values):
        def hook(module, args, output):
            if output.requires_grad:
                output.register_hook(lambda grad: values.append(grad.norm().item()))

        return hook

    for name, module in model.named_modules():
        if len(list(module.modules())) < 3:
            norms[name] = []
            handles.append(module.register_forward_hook(watch(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="a Sequential is a container" breaks="that has no children" says=["an empty Sequential, 1, has none"]
def grad_monitor(model):
    norms, handles = {}, []

    def watch(values):
        def hook(module, args, output):
            if output.requires_grad:
                output.register_hook(lambda grad: values.append(grad.norm().item()))

        return hook

    for name, module in model.named_modules():
        if not isinstance(module, nn.Sequential) and not list(module.children()):
            norms[name] = []
            handles.append(module.register_forward_hook(watch(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="outputs of two dimensions alone" breaks="over all its elements" says=["an input of shape (3, 1, 4, 2): of an output of 36 ones the norm is 6"]
def grad_monitor(model):
    norms, handles = {}, []

    def watch(values):
        def hook(module, args, output):
            if output.requires_grad and output.dim() < 3:
                output.register_hook(lambda grad: values.append(grad.norm().item()))

        return hook

    for name, module in model.named_modules():
        if not list(module.children()):
            norms[name] = []
            handles.append(module.register_forward_hook(watch(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="the model's own handle is not in the list" breaks="of a forward pass after all handles were removed nothing is noted" says=["all handles are removed, and a number was noted"]
def grad_monitor(model):
    norms, handles = {}, []

    def watch(values):
        def hook(module, args, output):
            if output.requires_grad:
                output.register_hook(lambda grad: values.append(grad.norm().item()))

        return hook

    for name, module in model.named_modules():
        if not list(module.children()):
            norms[name] = []
            handle = module.register_forward_hook(watch(norms[name]))
            if name:
                handles.append(handle)
    return norms, handles


ill_layer = "layer4"


# %% wrong="makes every output need a gradient" says=["its output requires a gradient now"]
def grad_monitor(model):
    norms, handles = {}, []

    def watch(into):
        def hook(module, args, output):
            output.requires_grad_() if not output.requires_grad else None
            output.register_hook(lambda grad: into.append(grad.norm().item()))

        return hook

    for name, module in model.named_modules():
        if not list(module.children()):
            norms[name] = []
            handles.append(module.register_forward_hook(watch(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="asks for the grad mode when it is made" says=["a monitor that was made under no_grad"]
def grad_monitor(model):
    on = torch.is_grad_enabled()
    norms, handles = {}, []

    def watch(into):
        def hook(module, args, output):
            if on and output.requires_grad:
                output.register_hook(lambda grad: into.append(grad.norm().item()))

        return hook

    for name, module in model.named_modules():
        if not list(module.children()):
            norms[name] = []
            handles.append(module.register_forward_hook(watch(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="autograd is on afterwards" breaks="a run under `no_grad` works as before" says=["called under no_grad, it switched autograd on"]
def grad_monitor(model):
    def note(values):
        return lambda module, _, grad_output: values.append(grad_output[0].norm().item())

    leaves = {name: m for name, m in model.named_modules() if not list(m.children())}
    norms = {name: [] for name in leaves}
    handles = [m.register_full_backward_hook(note(norms[name])) for name, m in leaves.items()]
    torch.set_grad_enabled(True)
    return norms, handles


ill_layer = "layer4"


# %% wrong="the largest singular value" breaks="over all its elements" says=["this is the largest singular value"]
def grad_monitor(model):
    def note(values):
        def hook(module, _, grad_output):
            values.append(torch.linalg.matrix_norm(grad_output[0], 2).item())

        return hook

    leaves = {name: m for name, m in model.named_modules() if not list(m.children())}
    norms = {name: [] for name in leaves}
    handles = [m.register_full_backward_hook(note(norms[name])) for name, m in leaves.items()]
    return norms, handles


ill_layer = "layer4"


# %% wrong="in training mode alone" breaks="With each `backward()` the list gets one number" says=["this module alone is in eval mode, and noted all the same"]
def grad_monitor(model):
    def note(values):
        def hook(module, _, grad_output):
            if module.training:
                values.append(grad_output[0].norm().item())

        return hook

    leaves = {name: m for name, m in model.named_modules() if not list(m.children())}
    norms = {name: [] for name in leaves}
    handles = [m.register_full_backward_hook(note(norms[name])) for name, m in leaves.items()]
    return norms, handles


ill_layer = "layer4"


# %% wrong="one dict for all calls" breaks="returns `(norms, handles)`" says=["does not belong here", "and none of another call"]
def grad_monitor(model, norms={}):
    def note(values):
        return lambda module, _, grad_output: values.append(grad_output[0].norm().item())

    handles = []
    for name, module in model.named_modules():
        if not list(module.children()):
            norms.setdefault(name, [])
            handles.append(module.register_full_backward_hook(note(norms[name])))
    return norms, handles


network = make_patient(seed=1)
noted, handles = grad_monitor(network)
ill_layer = "layer4"


# %% wrong="a hook that switches autograd on" breaks="a run under `no_grad` works as before" says=["a run under no_grad of a monitored network: autograd is on after it"]
def grad_monitor(model):
    norms, handles = {}, []

    def listen(values):
        def hook(module, args, output):
            torch.set_grad_enabled(True)
            if output.requires_grad:
                output.register_hook(lambda grad: values.append(grad.norm().item()))

        return hook

    for name, module in model.named_modules():
        if not list(module.children()):
            norms[name] = []
            handles.append(module.register_forward_hook(listen(norms[name])))
    return norms, handles


ill_layer = "layer4"


# %% wrong="a place for a child is a child" breaks="that has no children" says=["nor has 10, where a child was registered as None"]
def grad_monitor(model: nn.Module) -> tuple[dict[str, list[float]], list]:
    norms: dict[str, list[float]] = {}
    handles = []
    for name, module in model.named_modules():
        if module._modules:
            continue
        norms[name] = []

        def hook(module, grad_output, values=norms[name]):
            (grad,) = grad_output
            values.append(float(grad.norm()))

        handles.append(module.register_full_backward_pre_hook(hook))
    return norms, handles


ill_layer = "layer4"


# %% wrong="both names of a module" breaks="(as `named_modules()` gives it)" says=["each once, as named_modules() has them"]
def grad_monitor(model):
    norms, handles = {}, []
    for name, m in model.named_modules(remove_duplicate=False):
        if not list(m.children()):
            norms[name] = []
            handles.append(
                m.register_full_backward_pre_hook(
                    lambda m, g, v=norms[name]: v.append(float(g[0].norm()))
                )
            )
    return norms, handles


ill_layer = "layer4"


# %% wrong="a name that begins another one's" breaks="that has no children" says=["norms has ['0.0', '10']"]
def grad_monitor(model):
    names = [n for n, _ in model.named_modules()]
    norms, handles = {}, []
    for name, m in model.named_modules():
        if any(o != name and o.startswith(name) for o in names):
            continue
        norms[name] = []
        handles.append(
            m.register_full_backward_pre_hook(
                lambda m, g, v=norms[name]: v.append(float(g[0].norm()))
            )
        )
    return norms, handles


ill_layer = "layer4"


# %% wrong="squares in the gradient's dtype" breaks="may be in half precision, too" says=["1 of 16 cases fail", "a model in torch.float16, and a gradient of six times 1000", "sum them in a wider dtype"]
def grad_monitor(model: nn.Module) -> tuple[dict[str, list[float]], list]:

    norms, handles = {}, []
    for name, module in model.named_modules():
        if not list(module.children()):
            norms[name] = []

            def hook(module, grad_output, kept=norms[name]):
                kept.append(grad_output[0].square().sum().sqrt().item())

            handles.append(module.register_full_backward_pre_hook(hook))
    return norms, handles


ill_layer = "layer4"


# %% wrong="numpy, which has no bfloat16" breaks="may be in half precision, too" says=["1 of 16 cases fail", "a model in torch.bfloat16", "backward() raised Got unsupported ScalarType BFloat16"]
def grad_monitor(model: nn.Module) -> tuple[dict[str, list[float]], list]:

    import numpy as np

    norms, handles = {}, []
    for name, module in model.named_modules():
        if not list(module.children()):
            norms[name] = []

            def hook(module, grad_output, kept=norms[name]):
                kept.append(float(np.linalg.norm(grad_output[0].detach().cpu().numpy())))

            handles.append(module.register_full_backward_pre_hook(hook))
    return norms, handles


ill_layer = "layer4"
