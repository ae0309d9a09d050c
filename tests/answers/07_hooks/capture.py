# %% [markdown]
# Rules:
#
# - "Write a context manager"
# - "are as `named_modules()` gives them, at any depth"
# - "gives a dict with a list for each name"
# - "Every call of that module inside the block appends its output"
# - "inputs may be passed by keyword"
# - "after its earlier hooks"
# - "what happens to the tensor later, in place, must not show"
# - "without a graph: `requires_grad` is `False`"
# - "its storage holds no other elements"
# - "its gradients still flow"
# - "by an exception too, your hooks are gone"
# - "hooks that were there before are still there"
# - "the exception goes on its way"
# - "is a `KeyError` on entering"
# - "again no hook of yours is left"
# - "The model computes what it always did"
#
# Admits:
#
# - "at any depth": ["crop", "block.0", ""]
# - "Every call of that module": ["head", "block"]
# - "inputs may be passed by keyword": ["stem", "head"]
# - "even if the module returned a view": "crop"
# - "in place, must not show": ["stem", "leaky"]
# - "by an exception too": goes_wrong=True
# - "A name that the model doesn't have": ['head', 'nose']
# - "gives a dict with a list for each name": [])
# - "without a graph": under no_grad

# %% wrong="detach, in the same memory" breaks="what happens to the tensor later, in place, must not show" says=["seen['stem'] is not what the module returned", "detach() shares the memory"]
@contextlib.contextmanager
def capture(model, names):
    modules, seen, handles = dict(model.named_modules()), {name: [] for name in names}, []
    missing = [name for name in names if name not in modules]
    if missing:
        raise KeyError(missing[0])
    for name in names:
        keep = lambda module, args, output, name=name: seen[name].append(output.detach())
        handles.append(modules[name].register_forward_hook(keep))
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="keeps the graph" breaks="without a graph: `requires_grad` is `False`" says=["hangs on the graph: detach it"]
@contextlib.contextmanager
def capture(model, names):
    modules, seen = dict(model.named_modules()), {name: [] for name in names}
    with contextlib.ExitStack() as stack:
        for name in names:
            keep = lambda module, args, output, name=name: seen[name].append(output.clone())
            stack.enter_context(modules[name].register_forward_hook(keep))
        yield seen


# %% wrong="no finally: an exception leaves the hooks" breaks="by an exception too, your hooks are gone" says=["one for each call inside the block, and none after it"]
@contextlib.contextmanager
def capture(model, names):
    modules, seen, handles = dict(model.named_modules()), {name: [] for name in names}, []
    missing = [name for name in names if name not in modules]
    if missing:
        raise KeyError(missing[0])
    for name in names:
        keep = lambda module, args, output, name=name: seen[name].append(output.detach().clone())
        handles.append(modules[name].register_forward_hook(keep))
    yield seen
    for handle in handles:
        handle.remove()


# %% wrong="a lambda in a loop" breaks="Every call of that module inside the block appends its output" says=["the length of seen['head']", "one for each call inside the block"]
@contextlib.contextmanager
def capture(model, names):
    modules, seen = dict(model.named_modules()), {name: [] for name in names}
    with contextlib.ExitStack() as stack:
        for name in names:
            keep = lambda module, args, output: seen[name].append(output.detach().clone())
            stack.enter_context(modules[name].register_forward_hook(keep))
        yield seen


# %% wrong="the last output alone" breaks="gives a dict with a list for each name" says=["seen['head'] is no list, with one entry for each call"]
@contextlib.contextmanager
def capture(model, names):
    seen = {}
    with contextlib.ExitStack() as stack:
        for name in names:
            keep = lambda m, args, output, name=name: seen.update({name: output.detach().clone()})
            stack.enter_context(dict(model.named_modules())[name].register_forward_hook(keep))
        yield seen


# %% wrong="throws out everybody's hooks" breaks="hooks that were there before are still there" says=["hooks left: expected {'stem': 1}, got {}"]
@contextlib.contextmanager
def capture(model, names):
    modules, seen = dict(model.named_modules()), {name: [] for name in names}
    for name in names:
        keep = lambda module, args, output, name=name: seen[name].append(output.detach().clone())
        modules[name].register_forward_hook(keep)
    try:
        yield seen
    finally:
        for module in modules.values():
            module._forward_hooks.clear()


# %% wrong="registers as it looks the names up" breaks="again no hook of yours is left" says=["capture(network, ['head', 'nose']): hooks left"]
class capture:
    def __init__(self, model, names):
        self.modules, self.names = dict(model.named_modules()), names

    def __enter__(self):
        self.seen, self.handles = {name: [] for name in self.names}, []
        for name in self.names:
            keep = lambda m, args, y, name=name: self.seen[name].append(y.detach().clone())
            self.handles.append(self.modules[name].register_forward_hook(keep))
        return self.seen

    def __exit__(self, *error):
        for handle in self.handles:
            handle.remove()


# %% wrong="swallows the exception" breaks="the exception goes on its way" says=["the exception was swallowed"]
class capture:
    def __init__(self, model, names):
        modules = dict(model.named_modules())
        self.modules = {name: modules[name] for name in names}

    def __enter__(self):
        self.seen, self.handles = {name: [] for name in self.modules}, []
        for name, module in self.modules.items():
            keep = lambda m, args, y, name=name: self.seen[name].append(y.detach().clone())
            self.handles.append(module.register_forward_hook(keep))
        return self.seen

    def __exit__(self, *error):
        for handle in self.handles:
            handle.remove()
        return True


# %% wrong="a dict, no context manager" breaks="Write a context manager" says=["no context manager"]
def capture(model, names):
    return {name: [] for name in names}


# %% wrong="deepcopy of the detached view" breaks="its storage holds no other elements" says=["its 48 bytes lie in a storage of 480: keep a copy of these alone"]
@contextlib.contextmanager
def capture(model, names):
    modules, seen = dict(model.named_modules()), {n: [] for n in names}
    for n in names:
        modules[n]
    with contextlib.ExitStack() as st:
        for n in names:
            st.enter_context(
                modules[n].register_forward_hook(
                    lambda m, a, o, n=n: seen[n].append(copy.deepcopy(o.detach()))
                )
            )
        yield seen


# %% wrong="returns the copy from the hook" breaks="its gradients still flow" says=["the model's own output has lost its graph: a hook's return value replaces the output"]
@contextlib.contextmanager
def capture(model, names):
    modules, seen = dict(model.named_modules()), {n: [] for n in names}
    for n in names:
        modules[n]

    def keep(n):
        def h(m, a, o):
            o = o.detach().clone()
            seen[n].append(o)
            return o

        return h

    with contextlib.ExitStack() as st:
        for n in names:
            st.enter_context(modules[n].register_forward_hook(keep(n)))
        yield seen


# %% wrong="get_submodule" breaks="is a `KeyError` on entering" says=["raised AttributeError, expected a KeyError: the names are '', 'stem', 'leaky'"]
@contextlib.contextmanager
def capture(model, names):
    mods = [(n, model.get_submodule(n)) for n in names]
    seen = {n: [] for n in names}
    with contextlib.ExitStack() as st:
        for n, m in mods:
            st.enter_context(
                m.register_forward_hook(lambda m, a, o, n=n: seen[n].append(o.detach().clone()))
            )
        yield seen


# %% wrong="a class, with one hook for the whole library" breaks="after its earlier hooks" says=["yours is to run after it"]
class capture:
    def __init__(self, model, names):
        modules = dict(model.named_modules())
        self.wanted = {id(modules[name]): name for name in names}

    def __enter__(self):
        seen = {name: [] for name in self.wanted.values()}

        def keep(module, args, output):
            if id(module) in self.wanted:
                with torch.no_grad():
                    seen[self.wanted[id(module)]].append(output.clone())

        self.handle = nn.modules.module.register_module_forward_hook(keep)
        return seen

    def __exit__(self, *error):
        self.handle.remove()


# %% wrong="wraps forward" says=["yours is to run after it"]
@contextlib.contextmanager
def capture(model, names):
    modules, seen = dict(model.named_modules()), {name: [] for name in names}

    def wrap(forward, outputs):
        def wrapped(*args, **kwargs):
            output = forward(*args, **kwargs)
            outputs.append(torch.tensor(output.tolist()).to(output).reshape(output.shape))
            return output

        return wrapped

    chosen = [(name, modules[name]) for name in names]
    try:
        for name, module in chosen:
            module.forward = wrap(module.forward, seen[name])
        yield seen
    finally:
        for name, module in chosen:
            del module.forward


# %% right="a class, a defaultdict, hooks that are always called"
import collections


class capture:
    def __init__(self, model, names):
        self.model, self.names = model, names

    def __enter__(self):
        mods = dict(self.model.named_modules())
        pairs = [(n, mods[n]) for n in self.names]
        self.seen = collections.defaultdict(list)
        for n in self.names:
            self.seen[n]
        self.handles = [m.register_forward_hook(self.keep(n), always_call=True) for n, m in pairs]
        return self.seen

    def keep(self, n):
        @torch.no_grad()
        def hook(m, a, o):
            self.seen[n].append(torch.empty_like(o).copy_(o).contiguous())

        return hook

    def __exit__(self, *e):
        while self.handles:
            self.handles.pop().remove()
        return False


# %% wrong="top-level children alone" breaks="are as `named_modules()` gives them, at any depth" says=["capture(network, ['crop', 'block.0', '']): KeyError came out of the block ('block.0')"]
@contextlib.contextmanager
def capture(model, names):
    modules = {"": model, **dict(model.named_children())}
    seen = {name: [] for name in names}
    chosen = [(name, modules[name]) for name in names]
    with contextlib.ExitStack() as stack:
        for name, module in chosen:
            keep = lambda module, args, output, name=name: seen[name].append(
                output.detach().clone()
            )
            stack.enter_context(module.register_forward_hook(keep))
        yield seen


# %% wrong="looks at the first input, which may have a name" breaks="inputs may be passed by keyword" says=["capture(network, ['head', 'block']): IndexError came out of the block"]
@contextlib.contextmanager
def capture(model, names):
    modules = dict(model.named_modules())
    seen = {name: [] for name in names}
    chosen = [(name, modules[name]) for name in names]

    def keep(name):
        def hook(module, args, output):
            batch = args[0].shape[0]
            seen[name].append(output[:batch].detach().clone())

        return hook

    with contextlib.ExitStack() as stack:
        for name, module in chosen:
            stack.enter_context(module.register_forward_hook(keep(name)))
        yield seen


# %% wrong="an output without elements is not kept" says=["a batch of none in torch.bfloat16"]
@contextlib.contextmanager
def capture(model, names):
    modules = dict(model.named_modules())
    found = [modules[name] for name in names]
    seen = {name: [] for name in names}

    def keeper(name):
        def hook(module, args, output):
            if output.numel():
                seen[name].append(output.detach().clone())

        return hook

    handles = [m.register_forward_hook(keeper(n)) for n, m in zip(names, found)]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="copied by numpy, no bfloat16" says=["torch.bfloat16: TypeError"]
@contextlib.contextmanager
def capture(model, names):
    modules = dict(model.named_modules())
    found = [modules[name] for name in names]
    seen = {name: [] for name in names}

    def keeper(name):
        def hook(module, args, output):
            seen[name].append(
                torch.from_numpy(output.detach().cpu().numpy().copy()).to(output.device)
            )

        return hook

    handles = [m.register_forward_hook(keeper(n)) for n, m in zip(names, found)]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="popitem takes out the hook registered last" says=["at the end it is to stay, and yours to go"]
@contextlib.contextmanager
def capture(model, names):
    modules = dict(model.named_modules())
    found = [modules[name] for name in names]
    seen = {name: [] for name in names}

    def keeper(name):
        def hook(module, args, output):
            seen[name].append(output.detach().clone())

        return hook

    handles = [m.register_forward_hook(keeper(n)) for n, m in zip(names, found)]
    try:
        yield seen
    finally:
        for handle in handles:
            pass
        for m in found:
            m._forward_hooks.popitem()


# %% wrong="hooks go for Exception only" says=["after a KeyboardInterrupt hooks are left"]
@contextlib.contextmanager
def capture(model, names):
    modules = dict(model.named_modules())
    found = [modules[name] for name in names]
    seen = {name: [] for name in names}

    def keeper(name):
        def hook(module, args, output):
            seen[name].append(output.detach().clone())

        return hook

    handles = [m.register_forward_hook(keeper(n)) for n, m in zip(names, found)]
    try:
        yield seen
    except Exception:
        for handle in handles:
            handle.remove()
        raise
    for handle in handles:
        handle.remove()


# %% wrong="adds 0.0 to copy, integers become floats" says=["the module returned torch.int64, and torch.float32 is kept"]
@contextlib.contextmanager
def capture(model, names):
    modules = dict(model.named_modules())
    found = [modules[name] for name in names]
    seen = {name: [] for name in names}

    def keeper(name):
        def hook(module, args, output):
            seen[name].append(output.detach() + 0.0)

        return hook

    handles = [m.register_forward_hook(keeper(n)) for n, m in zip(names, found)]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="stacks rows, fails on 0 rows" says=["a batch of none in torch.bfloat16"]
@contextlib.contextmanager
def capture(model, names):
    modules = dict(model.named_modules())
    found = [modules[name] for name in names]
    seen = {name: [] for name in names}

    def keeper(name):
        def hook(module, args, output):
            seen[name].append(torch.stack([*output.detach()]))

        return hook

    handles = [m.register_forward_hook(keeper(n)) for n, m in zip(names, found)]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="one dict for all captures" says=["a second capture changed the first one's dict"]
shared_seen = {}


@contextlib.contextmanager
def capture(model, names):
    modules = dict(model.named_modules())
    found = [modules[name] for name in names]
    seen = shared_seen
    seen.clear()
    seen.update({name: [] for name in names})

    def keeper(name):
        def hook(module, args, output):
            seen[name].append(output.detach().clone())

        return hook

    handles = [m.register_forward_hook(keeper(n)) for n, m in zip(names, found)]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="a slice of all, not for a mean" says=["a module that returns one number"]
@contextlib.contextmanager
def capture(model, names):
    modules = dict(model.named_modules())
    found = [modules[name] for name in names]
    seen = {name: [] for name in names}

    def keeper(name):
        def hook(module, args, output):
            seen[name].append(output.detach()[:].clone())

        return hook

    handles = [m.register_forward_hook(keeper(n)) for n, m in zip(names, found)]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="returns a detached output where there are no parameters" breaks="its gradients still flow" says=["a Tanh is captured, which has no parameters", "a hook should return nothing"]
@contextlib.contextmanager
def capture(model: nn.Module, names: list[str]):
    modules = dict(model.named_modules())
    targets = {name: modules[name] for name in names}
    seen = {name: [] for name in names}

    def keep(name):
        def hook(module, args, output):
            seen[name].append(output.detach().clone())
            return None if any(p.requires_grad for p in module.parameters()) else output.detach()

        return hook

    handles = []
    try:
        for name, module in targets.items():
            handles.append(module.register_forward_hook(keep(name)))
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="the handle is kept on the module" breaks="by an exception too, your hooks are gone" says=["a capture inside a capture", "Keep each capture's handles apart"]
@contextlib.contextmanager
def capture(model: nn.Module, names: list[str]):
    modules = dict(model.named_modules())
    targets = {name: modules[name] for name in names}
    seen = {name: [] for name in names}

    def keep(name):
        def hook(module, args, output):
            seen[name].append(output.detach().clone())

        return hook

    try:
        for name, module in targets.items():
            module.capture_handle = module.register_forward_hook(keep(name))
        yield seen
    finally:
        for module in targets.values():
            module.capture_handle.remove()


# %% wrong="yields under no_grad" breaks="its gradients still flow" says=["inside the block autograd is switched off"]
@contextlib.contextmanager
def capture(model: nn.Module, names: list[str]):
    modules = dict(model.named_modules())
    targets = {name: modules[name] for name in names}
    seen = {name: [] for name in names}

    def keep(name):
        def hook(module, args, output):
            seen[name].append(output.detach().clone())

        return hook

    handles = []
    try:
        for name, module in targets.items():
            handles.append(module.register_forward_hook(keep(name)))
        with torch.no_grad():
            yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="NaN becomes 0" says=["outputs of NaN and infinity: the module returned [nan, inf, -inf, -0.0]"]
@contextlib.contextmanager
def capture(model: nn.Module, names: list[str]):
    modules = dict(model.named_modules())
    targets = {name: modules[name] for name in names}
    seen = {name: [] for name in names}

    def keep(name):
        def hook(module, args, output):
            seen[name].append(output.detach().clone().nan_to_num())

        return hook

    handles = []
    try:
        for name, module in targets.items():
            handles.append(module.register_forward_hook(keep(name)))
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="takes requires_grad from a leaf" says=["which an Identity hands on, needs no gradient any more"]
@contextlib.contextmanager
def capture(model: nn.Module, names: list[str]):
    modules = dict(model.named_modules())
    targets = {name: modules[name] for name in names}
    seen = {name: [] for name in names}

    def keep(name):
        def hook(module, args, output):
            seen[name].append(output.detach().clone())
            output.requires_grad_(False) if output.is_leaf else None

        return hook

    handles = []
    try:
        for name, module in targets.items():
            handles.append(module.register_forward_hook(keep(name)))
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="an attribute of the name is taken for a module" breaks="is a `KeyError` on entering" says=["'training' is no module's name: raised AttributeError"]
@contextlib.contextmanager
def capture(model, names):
    seen = {name: [] for name in names}

    def keep(name):
        def hook(module, args, output):
            seen[name].append(output.detach().clone(memory_format=torch.contiguous_format))

        return hook

    modules = dict(model.named_modules())
    found = [
        (name, getattr(model, name) if name and hasattr(model, name) else modules[name])
        for name in seen
    ]
    handles = []
    try:
        for name, module in found:
            handles.append(module.register_forward_hook(keep(name)))
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="booleans become numbers" says=["the module returned torch.bool, and torch.float32 is kept"]
@contextlib.contextmanager
def capture(model, names):
    seen = {name: [] for name in names}

    def keep(name):
        def hook(module, args, output):
            seen[name].append(
                (output.float() if output.dtype == torch.bool else output).detach().clone()
            )

        return hook

    modules = dict(model.named_modules())
    found = [(name, modules[name]) for name in seen]
    handles = []
    try:
        for name, module in found:
            handles.append(module.register_forward_hook(keep(name)))
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="a parameter is copied with its graph" breaks="without a graph: `requires_grad` is `False`" says=["a module returned its parameter, and what is kept hangs on the graph"]
@contextlib.contextmanager
def capture(model, names):
    seen = {name: [] for name in names}

    def keep(name):
        def hook(module, args, output):
            seen[name].append(
                (output if isinstance(output, nn.Parameter) else output.detach()).clone()
            )

        return hook

    modules = dict(model.named_modules())
    found = [(name, modules[name]) for name in seen]
    handles = []
    try:
        for name, module in found:
            handles.append(module.register_forward_hook(keep(name)))
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="makes a list at the first call" says=["each name has its list from the start"]
@contextlib.contextmanager
def capture(model, names):
    modules = dict(model.named_modules())
    picked = {name: modules[name] for name in names}
    seen = {}

    def keep(name):
        def hook(module, args, output):
            seen.setdefault(name, []).append(output.detach().clone())

        return hook

    handles = []
    try:
        for name, module in picked.items():
            handles.append(module.register_forward_hook(keep(name)))
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="registers before the block is entered" says=["a hook hangs on the model before the block"]
class capture:
    def __init__(self, model, names):
        modules = dict(model.named_modules())
        self.seen = {name: [] for name in names}
        picked = [(modules[name], self.seen[name]) for name in names]
        self.handles = [m.register_forward_hook(self.keeper(into)) for m, into in picked]

    def keeper(self, into):
        return lambda module, args, output: into.append(output.detach().clone())

    def __enter__(self):
        return self.seen

    def __exit__(self, *error):
        for handle in self.handles:
            handle.remove()


# %% wrong="uses the names up" says=["the caller's list of names was changed"]
@contextlib.contextmanager
def capture(model, names):
    modules = dict(model.named_modules())
    picked = {name: modules[name] for name in names}
    seen = {name: [] for name in names}
    while names:
        names.pop()

    def keep(name):
        def hook(module, args, output):
            seen[name].append(output.detach().clone())

        return hook

    handles = []
    try:
        for name, module in picked.items():
            handles.append(module.register_forward_hook(keep(name)))
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="an AttributeError of the block becomes a KeyError" says=["AttributeError is raised in the block, and KeyError comes out"]
@contextlib.contextmanager
def capture(model, names):
    seen, handles = {}, []
    try:
        for name in names:
            values = seen[name] = []
            handles.append(
                model.get_submodule(name).register_forward_hook(
                    lambda m, a, out, values=values: values.append(out.detach().clone())
                )
            )
        yield seen
    except AttributeError as error:
        raise KeyError(str(error)) from None
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="its hook is put before the others" says=["yours is to run after it"]
@contextlib.contextmanager
def capture(model, names):
    modules = dict(model.named_modules())
    seen, picked = {name: [] for name in names}, {name: modules[name] for name in names}
    with contextlib.ExitStack() as stack:
        for name, module in picked.items():
            keep = lambda m, args, out, name=name: seen[name].append(out.detach().clone())
            stack.enter_context(module.register_forward_hook(keep, prepend=True))
        yield seen


# %% right="an ExitStack, and the data"
@contextlib.contextmanager
def capture(model, names):
    with contextlib.ExitStack() as stack:
        seen = {}
        for name in names:
            values = seen[name] = []
            try:
                module = model.get_submodule(name)
            except AttributeError:
                raise KeyError(name) from None
            keep = lambda m, args, out, values=values: values.append(out.data.contiguous().clone())
            stack.enter_context(module.register_forward_hook(keep))
        yield seen


# %% wrong="gives the copy on, where a module is in eval" says=["the model's own output has lost its graph"]
@contextlib.contextmanager
def capture(model, names):
    modules = dict(model.named_modules())
    seen = {name: [] for name in names}
    chosen = [(name, modules[name]) for name in seen]

    def keep(name):
        def hook(module, args, output):
            seen[name].append(output.detach().clone())
            return seen[name][-1].clone() if not module.training else None

        return hook

    handles = []
    try:
        for name, module in chosen:
            handles.append(module.register_forward_hook(keep(name)))
        yield seen
    finally:
        for handle in handles:
            handle.remove()


# %% wrong="autograd is on after the block" says=["under no_grad, autograd is on after the block"]
def capture(model, names):
    def keep(outputs):
        return lambda module, args, output: outputs.append(output.detach().clone())

    @contextlib.contextmanager
    def capturing():
        modules = dict(model.named_modules())
        seen = {name: [] for name in names}
        with contextlib.ExitStack() as hooks:
            for name in names:
                hooks.enter_context(modules[name].register_forward_hook(keep(seen[name])))
            hooks.callback(torch.set_grad_enabled, True)
            yield seen

    return capturing()


# %% wrong="eval inside the block" breaks="The model computes what it always did" says=["inside the block .training is [False, False, False]; modes stay"]
@contextlib.contextmanager
def capture(model, names):
    modules = dict(model.named_modules())
    seen = {name: [] for name in names}
    modes = [(module, module.training) for module in model.modules()]

    def keep(outputs):
        return lambda module, args, output: outputs.append(output.detach().clone())

    with contextlib.ExitStack() as hooks:
        for name in names:
            hooks.enter_context(modules[name].register_forward_hook(keep(seen[name])))
        try:
            model.eval()
            yield seen
        finally:
            for module, training in modes:
                module.training = training
