# %% wrong="detach, in the same memory" says=["seen['stem'] is not what the module returned", "detach() shares the memory"]
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


# %% wrong="keeps the graph" says=["hangs on the graph: detach it"]
@contextlib.contextmanager
def capture(model, names):
    modules, seen = dict(model.named_modules()), {name: [] for name in names}
    with contextlib.ExitStack() as stack:
        for name in names:
            keep = lambda module, args, output, name=name: seen[name].append(output.clone())
            stack.enter_context(modules[name].register_forward_hook(keep))
        yield seen


# %% wrong="no finally: an exception leaves the hooks" says=["one for each call inside the block, and none after it"]
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


# %% wrong="a lambda in a loop" says=["the length of seen['head']", "one for each call inside the block"]
@contextlib.contextmanager
def capture(model, names):
    modules, seen = dict(model.named_modules()), {name: [] for name in names}
    with contextlib.ExitStack() as stack:
        for name in names:
            keep = lambda module, args, output: seen[name].append(output.detach().clone())
            stack.enter_context(modules[name].register_forward_hook(keep))
        yield seen


# %% wrong="the last output alone" says=["seen['head'] is no list, with one entry for each call"]
@contextlib.contextmanager
def capture(model, names):
    seen = {}
    with contextlib.ExitStack() as stack:
        for name in names:
            keep = lambda m, args, output, name=name: seen.update({name: output.detach().clone()})
            stack.enter_context(dict(model.named_modules())[name].register_forward_hook(keep))
        yield seen


# %% wrong="throws out everybody's hooks" says=["hooks left: expected {'stem': 1}, got {}"]
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


# %% wrong="registers as it looks the names up" says=["capture(network, ['head', 'nose']): hooks left"]
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


# %% wrong="swallows the exception" says=["the exception was swallowed"]
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


# %% wrong="a dict, no context manager" says=["no context manager"]
def capture(model, names):
    return {name: [] for name in names}


# %% right="a class, with one hook for the whole library"
class capture:
    def __init__(self, model, names):
        modules = dict(model.named_modules())
        self.wanted = {id(modules[name]): name for name in names}

    def __enter__(self):
        seen = {name: [] for name in self.wanted.values()}

        def keep(module, args, output):
            if id(module) in self.wanted:
                with torch.no_grad():
                    seen[self.wanted[id(module)]].append(output * 1)

        self.handle = nn.modules.module.register_module_forward_hook(keep)
        return seen

    def __exit__(self, *error):
        self.handle.remove()


# %% right="wraps forward"
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
