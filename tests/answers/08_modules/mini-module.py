# %% wrong="a shared parameter is listed twice" says=["named_parameters: expected", "right.weight, again.weight: listed a second time?"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.buffers
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.walk("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach() for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="the old holder of a name stays" says=["one name: parameter, text", "one name: module, parameter"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.buffers
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach() for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="everything is found in __dict__, and lists too" says=["one name: parameter, text"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.buffers
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer and drawer is self.__dict__:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach() for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="not persistent is saved all the same" says=["left.cache, right.cache", "not persistent, so not to be saved"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.buffers
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach() for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items()})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="the state holds copies" says=["the dict after the model changed in place"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.buffers
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach().clone() for name, p in self.params.items()}
        state.update({n: b.clone() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in own.items():
                dict(self.named_parameters()).get(name, tensor).copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="the state hangs on the graph" says=["state_dict, detached", "those that require grad"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.buffers
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="train() stops at the children" says=["root.eval()", "training of root, left, right, inner, inner.leaf"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.buffers
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.training = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach() for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="train() returns nothing" says=["it does not return the module"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.buffers
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach() for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="loads what fits, then complains" says=["after a load that failed (nothing is loaded)"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.buffers
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach() for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        with torch.no_grad():
            for name, tensor in own.items():
                if name in state and name not in wrong:
                    tensor.copy_(state[name])
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")


def mini_module():
    return MiniModule


# %% wrong="names only the first that is missing" says=["the message does not name"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.buffers
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach() for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError("the state does not fit")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="a broadcast shape is let through" says=["(1,) in place of (2,): no RuntimeError was raised"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.buffers
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach() for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="new parameters when loading" says=["are new objects, or not leaves"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.buffers
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach() for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        for name, tensor in own.items():
            *path, last = name.split(".")
            module = self
            for part in path:
                module = getattr(module, part)
            kind = MiniParameter if last in module.params else torch.clone
            setattr(module, last, kind(state[name]))


def mini_module():
    return MiniModule


# %% wrong="derived from nn.Module" says=["is derived from nn.Module: write it yourself"]
class MiniModule(nn.Module):
    pass


def mini_module():
    return MiniModule


# %% wrong="a buffer's new value is a plain attribute" says=["one name: buffer, tensor"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach() for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="children first" says=["the first name is the module's own"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.buffers
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value
        for name, value in self.__dict__[drawer].items():
            yield name, value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach() for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="unknown names are None" says=["no AttributeError: hasattr(module, 'nose') is True"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.buffers
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        return None

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach() for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="the name of an old buffer makes a buffer of every tensor" says=["one name: buffer, text, tensor"]
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.saved
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach() for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% right="three dicts, small generators"
class MiniModule:
    def __init__(self):
        for drawer in ("params", "buffers", "children", "saved"):
            self.__dict__[drawer] = {}
        self.__dict__["training"] = True

    def __setattr__(self, name, value):
        was_buffer = name in self.buffers
        for drawer in (self.params, self.children, self.buffers, self.__dict__):
            if name in drawer:
                del drawer[name]
        if isinstance(value, MiniParameter):
            self.params[name] = value
        elif isinstance(value, MiniModule):
            self.children[name] = value
        elif was_buffer and isinstance(value, torch.Tensor):
            self.buffers[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("params", "buffers", "children"):
            if name in self.__dict__[drawer]:
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for drawer in (self.params, self.children, self.__dict__):
            drawer.pop(name, None)
        self.buffers[name] = tensor
        self.saved[name] = persistent

    def walk(self, drawer):
        for name, value in self.__dict__[drawer].items():
            yield name, value
        for name, child in self.children.items():
            for inner, value in child.walk(drawer):
                yield f"{name}.{inner}", value

    def once(self, drawer):
        seen = set()
        for name, value in self.walk(drawer):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.once("params")

    def named_buffers(self):
        return self.once("buffers")

    def train(self, mode=True):
        self.training = mode
        for child in self.children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: p.detach() for name, p in self.params.items()}
        state.update({n: b.detach() for n, b in self.buffers.items() if self.saved[n]})
        for name, child in self.children.items():
            for inner, tensor in child.state_dict().items():
                state[f"{name}.{inner}"] = tensor
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% right="one dict of all things, recursion over modules"
def mini_module():
    class Tiny:
        def __init__(self):
            object.__setattr__(self, "things", {})
            object.__setattr__(self, "kinds", {})
            self.training = True

        def __setattr__(self, name, value):
            kind = "plain"
            if isinstance(value, MiniParameter):
                kind = "parameter"
            elif isinstance(value, Tiny):
                kind = "module"
            elif isinstance(value, torch.Tensor) and self.kinds.get(name, "").startswith("buffer"):
                kind = self.kinds[name]
            self.put(name, value, kind)

        def put(self, name, value, kind):
            self.things.pop(name, None)
            self.things[name], self.kinds[name] = value, kind

        def __getattr__(self, name):
            try:
                return self.things[name]
            except KeyError:
                raise AttributeError(f"no {name} here") from None

        def register_buffer(self, name, tensor, persistent=True):
            self.put(name, tensor, "buffer" if persistent else "buffer, not saved")

        def __call__(self, *args, **kwargs):
            return self.forward(*args, **kwargs)

        def modules(self, prefix=""):
            yield prefix, self
            for name, thing in self.things.items():
                if self.kinds[name] == "module":
                    yield from thing.modules(prefix + name + ".")

        def everything(self):
            for prefix, module in self.modules():
                for name, thing in module.things.items():
                    yield prefix + name, thing, module.kinds[name]

        def listed(self, start):
            found = {}
            for name, thing, kind in self.everything():
                if kind.startswith(start) and not any(thing is old for old in found.values()):
                    found[name] = thing
            return found.items()

        def named_parameters(self):
            return self.listed("parameter")

        def named_buffers(self):
            return self.listed("buffer")

        def train(self, mode=True):
            for _, module in self.modules():
                module.training = mode
            return self

        def eval(self):
            return self.train(mode=False)

        def state_dict(self):
            return {
                n: t.detach() for n, t, kind in self.everything() if kind in ("parameter", "buffer")
            }

        def load_state_dict(self, state):
            mine, problems = self.state_dict(), []
            for name in {*mine, *state}:
                if name not in state:
                    problems.append("missing: " + name)
                elif name not in mine:
                    problems.append("unexpected: " + name)
                elif mine[name].shape != state[name].shape:
                    problems.append("shape: " + name)
            if problems:
                raise RuntimeError("\n".join(problems))
            for name, tensor in state.items():
                mine[name][...] = tensor

    return Tiny
