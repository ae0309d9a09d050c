# %% [markdown]
# Rules:
#
# - "without `nn.Module` and without `nn.Parameter`"
# - "instances of subclasses, too"
# - "anything else a plain attribute"
# - "A name holds one thing"
# - "a plain tensor of any shape and dtype assigned to a buffer's name is the buffer from then on"
# - "as persistent as the old one"
# - "A name that doesn't exist is an `AttributeError`"
# - "here, too, the name's old holder is gone"
# - "frozen or not"
# - "The module's own first, then child after child with all below it"
# - "each in the order of assignment"
# - "Each parameter once, under its first name"
# - "likewise, persistent or not"
# - "`module(...)` calls `forward(...)`"
# - "`True` at first"
# - "here and in all children at any depth"
# - "and return the module"
# - "detached and in the model's memory"
# - "parameters and persistent buffers"
# - "shared ones under each of their names"
# - "which stay the same objects of the same dtype"
# - "`state` is only read"
# - "If a name is missing"
# - "has another shape"
# - "whose message contains every such name"
# - "nothing was loaded"
#
# Admits:
#
# - "instances of subclasses, too": special parameter
# - "a plain tensor of any shape and dtype": buffer, longer tensor
# - "anything else a plain attribute": a list of modules
# - "frozen or not": last.weight is frozen
# - "persistent or not": fleeting, tensor

# %% wrong="a shared parameter is listed twice" breaks="Each parameter once, under its first name" says=["named_parameters: expected", "right.weight, again.weight: listed a second time?"]
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


# %% wrong="the old holder of a name stays" breaks="A name holds one thing" says=["one name: parameter, text", "one name: module, parameter"]
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


# %% wrong="not persistent is saved all the same" breaks="parameters and persistent buffers" says=["left.cache, right.cache", "not persistent, so not to be saved"]
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


# %% wrong="the state holds copies" breaks="detached and in the model's memory" says=["the dict after the model changed in place"]
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


# %% wrong="train() returns nothing" breaks="and return the module" says=["it does not return the module"]
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


# %% wrong="loads what fits, then complains" breaks="nothing was loaded" says=["after a load that failed (nothing is loaded)"]
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


# %% wrong="names only the first that is missing" breaks="whose message contains every such name" says=["the message does not name"]
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


# %% wrong="a broadcast shape is let through" breaks="has another shape" says=["(1,) in place of (2,): no RuntimeError was raised"]
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


# %% wrong="new parameters when loading" breaks="which stay the same objects of the same dtype" says=["are new objects, or not leaves"]
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


# %% wrong="derived from nn.Module" breaks="without `nn.Module` and without `nn.Parameter`" says=["is derived from nn.Module: write it yourself"]
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


# %% wrong="children first" breaks="The module's own first, then child after child with all below it" says=["the first name is the module's own"]
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


# %% wrong="unknown names are None" breaks="A name that doesn't exist is an `AttributeError`" says=["no AttributeError: hasattr(module, 'nose') is True"]
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


# %% wrong="the name of an old buffer makes a buffer of every tensor" breaks="anything else a plain attribute" says=["one name: buffer, text, tensor"]
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


# %% wrong="once fleeting, always fleeting; loads before it looks" says=["one name: fleeting, buffer: state_dict()", "what register_buffer says last", "nothing is loaded"]
class MiniModule:
    def __init__(self):
        self.__dict__.update(_p={}, _b={}, _m={}, _np=set(), training=True)

    def __setattr__(self, name, value):
        if (
            name in self._b
            and isinstance(value, torch.Tensor)
            and not isinstance(value, MiniParameter)
        ):
            self._b[name] = value
            return
        for d in (self._p, self._b, self._m, self.__dict__):
            d.pop(name, None)
        if isinstance(value, MiniParameter):
            self._p[name] = value
        elif isinstance(value, MiniModule):
            self._m[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for d in ("_p", "_b", "_m"):
            if name in self.__dict__.get(d, {}):
                return self.__dict__[d][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        for d in (self._p, self._m, self._b, self.__dict__):
            d.pop(name, None)
        self._b[name] = tensor
        if not persistent:
            self._np.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._m.items():
            yield from child._walk(prefix + name + ".")

    def _list(self, drawer):
        seen = set()
        for prefix, module in self._walk():
            for name, t in module.__dict__[drawer].items():
                if id(t) not in seen:
                    seen.add(id(t))
                    yield prefix + name, t

    def named_parameters(self):
        return self._list("_p")

    def named_buffers(self):
        return self._list("_b")

    def train(self, mode=True):
        for _, module in self._walk():
            module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        out = {}
        for prefix, m in self._walk():
            for name, t in [*m._p.items(), *m._b.items()]:
                if name not in m._np:
                    out[prefix + name] = t.detach()
        return out

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = set(own) ^ set(state)
        for name in own.keys() & state.keys():
            if own[name].shape != state[name].shape:
                bad.add(name)
            else:
                own[name].copy_(state[name])
        if bad:
            raise RuntimeError(", ".join(bad))


def mini_module():
    return MiniModule


# %% wrong="register_buffer leaves a plain attribute in front" breaks="here, too, the name's old holder is gone" says=["one name: number, buffer: the type of x"]
class MiniModule:
    def __init__(self):
        vars(self)["box"] = {}
        self.training = True

    def __setattr__(self, name, value):
        kind, _ = self.box.get(name, (None, None))
        if isinstance(value, MiniParameter):
            new = "parameter"
        elif isinstance(value, MiniModule):
            new = "child"
        elif kind in ("kept", "fleeting") and isinstance(value, torch.Tensor):
            self.box[name] = (kind, value)
            return
        else:
            new = None
        self.box.pop(name, None)
        vars(self).pop(name, None)
        if new:
            self.box[name] = (new, value)
        else:
            vars(self)[name] = value

    def __getattr__(self, name):
        box = vars(self).get("box", {})
        if name in box:
            return box[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.box.pop(name, None)
        self.box[name] = ("kept" if persistent else "fleeting", tensor)

    def of(self, *kinds):
        for name, (kind, value) in self.box.items():
            if kind in kinds:
                yield name, value
        for name, (kind, value) in self.box.items():
            if kind == "child":
                for n, t in value.of(*kinds):
                    yield f"{name}.{n}", t

    def named_parameters(self):
        seen = []
        for name, t in self.of("parameter"):
            if not any(t is s for s in seen):
                seen.append(t)
                yield name, t

    def named_buffers(self):
        seen = []
        for name, t in self.of("kept", "fleeting"):
            if not any(t is s for s in seen):
                seen.append(t)
                yield name, t

    def train(self, mode=True):
        self.training = mode
        for kind, value in self.box.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: t.data for name, t in self.of("parameter", "kept")}

    def load_state_dict(self, state):
        mine = {name: t.shape for name, t in self.state_dict().items()}
        theirs = {name: t.shape for name, t in state.items()}
        bad = {name for name, _ in mine.items() ^ theirs.items()}
        if bad:
            raise RuntimeError("does not fit: " + " ".join(sorted(bad)))
        for name, t in self.state_dict().items():
            t[...] = state[name]


def mini_module():
    return MiniModule


# %% right="one ordered list of slots"
class MiniModule:
    def __init__(self):
        self.__dict__["slots"] = []
        self.__dict__["training"] = True

    def _drop(self, name):
        self.__dict__["slots"] = [s for s in self.slots if s[1] != name]
        self.__dict__.pop(name, None)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            kind = "p"
        elif isinstance(value, MiniModule):
            kind = "m"
        elif isinstance(value, torch.Tensor):
            for s in self.slots:
                if s[1] == name and s[0] in ("b", "v"):
                    s[2] = value
                    return
            kind = None
        else:
            kind = None
        self._drop(name)
        if kind is None:
            self.__dict__[name] = value
        else:
            self.slots.append([kind, name, value])

    def __getattr__(self, name):
        for _, n, value in self.__dict__.get("slots", []):
            if n == name:
                return value
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._drop(name)
        self.slots.append(["b" if persistent else "v", name, tensor])

    def _all(self, kinds, prefix=""):
        for kind, name, value in self.slots:
            if kind in kinds:
                yield prefix + name, value
        for kind, name, value in self.slots:
            if kind == "m":
                yield from value._all(kinds, prefix + name + ".")

    def _once(self, kinds):
        found = {}
        for name, t in self._all(kinds):
            found.setdefault(id(t), (name, t))
        return list(found.values())

    def named_parameters(self):
        return self._once("p")

    def named_buffers(self):
        return self._once("bv")

    def train(self, mode=True):
        self.training = mode
        for kind, _, child in self.slots:
            if kind == "m":
                child.train(mode)
        return self

    def eval(self):
        self.train(mode=False)
        return self

    def state_dict(self):
        return {name: t.detach() for name, t in self._all("pb")}

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = [n for n in own if n not in state] + [n for n in state if n not in own]
        wrong += [n for n in own if n in state and own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(f"does not fit: {wrong}")
        for n in own:
            own[n].copy_(state[n])


def mini_module():
    return MiniModule


# %% right="one dict of tagged parts"
class MiniModule:
    def __init__(self):
        vars(self).update(parts={}, fleeting=set(), training=True)

    def __setattr__(self, name, value):
        keeps = isinstance(value, torch.Tensor) and self.parts.get(name, ("",))[0] == "buffer"
        if isinstance(value, MiniParameter):
            self.put(name, "parameter", value)
        elif isinstance(value, MiniModule):
            self.put(name, "child", value)
        elif keeps:
            self.parts[name] = ("buffer", value)
        else:
            self.put(name, None, value)

    def put(self, name, kind, value):
        vars(self).pop(name, None)
        self.parts.pop(name, None)
        self.fleeting.discard(name)
        if kind is None:
            vars(self)[name] = value
        else:
            self.parts[name] = (kind, value)

    def __getattr__(self, name):
        parts = vars(self).get("parts", {})
        if name in parts:
            return parts[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.put(name, "buffer", tensor)
        if not persistent:
            self.fleeting.add(name)

    def walk(self, prefix=""):
        for name, (kind, value) in self.parts.items():
            if kind != "child":
                yield prefix + name, kind, value, name in self.fleeting
        for name, (kind, value) in self.parts.items():
            if kind == "child":
                yield from value.walk(prefix + name + ".")

    def listed(self, wanted):
        seen = set()
        for name, kind, value, _ in self.walk():
            if kind == wanted and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.listed("parameter")

    def named_buffers(self):
        return self.listed("buffer")

    def train(self, mode=True):
        self.training = mode
        for kind, value in self.parts.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, _, value, fleeting in self.walk() if not fleeting}

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
        if wrong:
            raise RuntimeError(" ".join(wrong))
        for name, value in own.items():
            value.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="lists what is not frozen" breaks="frozen or not" says=["last.weight is frozen, yet it is a parameter"]
class MiniModule:
    def __init__(self):
        vars(self).update(parts={}, fleeting=set(), training=True)

    def __setattr__(self, name, value):
        keeps = isinstance(value, torch.Tensor) and self.parts.get(name, ("",))[0] == "buffer"
        if isinstance(value, MiniParameter):
            self.put(name, "parameter", value)
        elif isinstance(value, MiniModule):
            self.put(name, "child", value)
        elif keeps:
            self.parts[name] = ("buffer", value)
        else:
            self.put(name, None, value)

    def put(self, name, kind, value):
        vars(self).pop(name, None)
        self.parts.pop(name, None)
        self.fleeting.discard(name)
        if kind is None:
            vars(self)[name] = value
        else:
            self.parts[name] = (kind, value)

    def __getattr__(self, name):
        parts = vars(self).get("parts", {})
        if name in parts:
            return parts[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.put(name, "buffer", tensor)
        if not persistent:
            self.fleeting.add(name)

    def walk(self, prefix=""):
        for name, (kind, value) in self.parts.items():
            if kind != "child":
                yield prefix + name, kind, value, name in self.fleeting
        for name, (kind, value) in self.parts.items():
            if kind == "child":
                yield from value.walk(prefix + name + ".")

    def listed(self, wanted):
        seen = set()
        for name, kind, value, _ in self.walk():
            if (
                kind == wanted
                and id(value) not in seen
                and (value.requires_grad or kind == "buffer")
            ):
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.listed("parameter")

    def named_buffers(self):
        return self.listed("buffer")

    def train(self, mode=True):
        self.training = mode
        for kind, value in self.parts.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, _, value, fleeting in self.walk() if not fleeting}

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
        if wrong:
            raise RuntimeError(" ".join(wrong))
        for name, value in own.items():
            value.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="one set of names for all modules" says=["each module has its own drawers"]
class MiniModule:
    fleeting = set()

    def __init__(self):
        vars(self).update(parts={}, training=True)

    def __setattr__(self, name, value):
        keeps = isinstance(value, torch.Tensor) and self.parts.get(name, ("",))[0] == "buffer"
        if isinstance(value, MiniParameter):
            self.put(name, "parameter", value)
        elif isinstance(value, MiniModule):
            self.put(name, "child", value)
        elif keeps:
            self.parts[name] = ("buffer", value)
        else:
            self.put(name, None, value)

    def put(self, name, kind, value):
        vars(self).pop(name, None)
        self.parts.pop(name, None)
        self.fleeting.discard(name)
        if kind is None:
            vars(self)[name] = value
        else:
            self.parts[name] = (kind, value)

    def __getattr__(self, name):
        parts = vars(self).get("parts", {})
        if name in parts:
            return parts[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.put(name, "buffer", tensor)
        if not persistent:
            self.fleeting.add(name)

    def walk(self, prefix=""):
        for name, (kind, value) in self.parts.items():
            if kind != "child":
                yield prefix + name, kind, value, name in self.fleeting
        for name, (kind, value) in self.parts.items():
            if kind == "child":
                yield from value.walk(prefix + name + ".")

    def listed(self, wanted):
        seen = set()
        for name, kind, value, _ in self.walk():
            if kind == wanted and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.listed("parameter")

    def named_buffers(self):
        return self.listed("buffer")

    def train(self, mode=True):
        self.training = mode
        for kind, value in self.parts.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, _, value, fleeting in self.walk() if not fleeting}

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
        if wrong:
            raise RuntimeError(" ".join(wrong))
        for name, value in own.items():
            value.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="a buffer of two modules twice" says=["last.twin: listed a second time?"]
class MiniModule:
    def __init__(self):
        vars(self).update(parts={}, fleeting=set(), training=True)

    def __setattr__(self, name, value):
        keeps = isinstance(value, torch.Tensor) and self.parts.get(name, ("",))[0] == "buffer"
        if isinstance(value, MiniParameter):
            self.put(name, "parameter", value)
        elif isinstance(value, MiniModule):
            self.put(name, "child", value)
        elif keeps:
            self.parts[name] = ("buffer", value)
        else:
            self.put(name, None, value)

    def put(self, name, kind, value):
        vars(self).pop(name, None)
        self.parts.pop(name, None)
        self.fleeting.discard(name)
        if kind is None:
            vars(self)[name] = value
        else:
            self.parts[name] = (kind, value)

    def __getattr__(self, name):
        parts = vars(self).get("parts", {})
        if name in parts:
            return parts[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.put(name, "buffer", tensor)
        if not persistent:
            self.fleeting.add(name)

    def walk(self, prefix=""):
        for name, (kind, value) in self.parts.items():
            if kind != "child":
                yield prefix + name, kind, value, name in self.fleeting
        for name, (kind, value) in self.parts.items():
            if kind == "child":
                yield from value.walk(prefix + name + ".")

    def listed(self, wanted):
        seen = set()
        for name, kind, value, _ in self.walk():
            if kind == wanted and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.listed("parameter")

    def named_buffers(self):
        return [(name, value) for name, kind, value, _ in self.walk() if kind == "buffer"]

    def train(self, mode=True):
        self.training = mode
        for kind, value in self.parts.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, _, value, fleeting in self.walk() if not fleeting}

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
        if wrong:
            raise RuntimeError(" ".join(wrong))
        for name, value in own.items():
            value.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="takes what it loads out of the dict" breaks="`state` is only read" says=["lost some of its names"]
class MiniModule:
    def __init__(self):
        vars(self).update(parts={}, fleeting=set(), training=True)

    def __setattr__(self, name, value):
        keeps = isinstance(value, torch.Tensor) and self.parts.get(name, ("",))[0] == "buffer"
        if isinstance(value, MiniParameter):
            self.put(name, "parameter", value)
        elif isinstance(value, MiniModule):
            self.put(name, "child", value)
        elif keeps:
            self.parts[name] = ("buffer", value)
        else:
            self.put(name, None, value)

    def put(self, name, kind, value):
        vars(self).pop(name, None)
        self.parts.pop(name, None)
        self.fleeting.discard(name)
        if kind is None:
            vars(self)[name] = value
        else:
            self.parts[name] = (kind, value)

    def __getattr__(self, name):
        parts = vars(self).get("parts", {})
        if name in parts:
            return parts[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.put(name, "buffer", tensor)
        if not persistent:
            self.fleeting.add(name)

    def walk(self, prefix=""):
        for name, (kind, value) in self.parts.items():
            if kind != "child":
                yield prefix + name, kind, value, name in self.fleeting
        for name, (kind, value) in self.parts.items():
            if kind == "child":
                yield from value.walk(prefix + name + ".")

    def listed(self, wanted):
        seen = set()
        for name, kind, value, _ in self.walk():
            if kind == wanted and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.listed("parameter")

    def named_buffers(self):
        return self.listed("buffer")

    def train(self, mode=True):
        self.training = mode
        for kind, value in self.parts.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, _, value, fleeting in self.walk() if not fleeting}

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
        if wrong:
            raise RuntimeError(" ".join(wrong))
        for name, value in own.items():
            value.copy_(state.pop(name))


def mini_module():
    return MiniModule


# %% wrong="the very type, no subclass" breaks="instances of subclasses, too" says=["one name: special parameter"]
class MiniModule:
    def __init__(self):
        vars(self).update(parts={}, fleeting=set(), training=True)

    def __setattr__(self, name, value):
        keeps = isinstance(value, torch.Tensor) and self.parts.get(name, ("",))[0] == "buffer"
        if type(value) is MiniParameter:
            self.put(name, "parameter", value)
        elif isinstance(value, MiniModule):
            self.put(name, "child", value)
        elif keeps:
            self.parts[name] = ("buffer", value)
        else:
            self.put(name, None, value)

    def put(self, name, kind, value):
        vars(self).pop(name, None)
        self.parts.pop(name, None)
        self.fleeting.discard(name)
        if kind is None:
            vars(self)[name] = value
        else:
            self.parts[name] = (kind, value)

    def __getattr__(self, name):
        parts = vars(self).get("parts", {})
        if name in parts:
            return parts[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.put(name, "buffer", tensor)
        if not persistent:
            self.fleeting.add(name)

    def walk(self, prefix=""):
        for name, (kind, value) in self.parts.items():
            if kind != "child":
                yield prefix + name, kind, value, name in self.fleeting
        for name, (kind, value) in self.parts.items():
            if kind == "child":
                yield from value.walk(prefix + name + ".")

    def listed(self, wanted):
        seen = set()
        for name, kind, value, _ in self.walk():
            if kind == wanted and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.listed("parameter")

    def named_buffers(self):
        return self.listed("buffer")

    def train(self, mode=True):
        self.training = mode
        for kind, value in self.parts.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, _, value, fleeting in self.walk() if not fleeting}

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
        if wrong:
            raise RuntimeError(" ".join(wrong))
        for name, value in own.items():
            value.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="level by level" says=["own ones first, then each child with all below"]
class MiniModule:
    def __init__(self):
        vars(self).update(parts={}, fleeting=set(), training=True)

    def __setattr__(self, name, value):
        keeps = isinstance(value, torch.Tensor) and self.parts.get(name, ("",))[0] == "buffer"
        if isinstance(value, MiniParameter):
            self.put(name, "parameter", value)
        elif isinstance(value, MiniModule):
            self.put(name, "child", value)
        elif keeps:
            self.parts[name] = ("buffer", value)
        else:
            self.put(name, None, value)

    def put(self, name, kind, value):
        vars(self).pop(name, None)
        self.parts.pop(name, None)
        self.fleeting.discard(name)
        if kind is None:
            vars(self)[name] = value
        else:
            self.parts[name] = (kind, value)

    def __getattr__(self, name):
        parts = vars(self).get("parts", {})
        if name in parts:
            return parts[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.put(name, "buffer", tensor)
        if not persistent:
            self.fleeting.add(name)

    def walk(self, prefix=""):
        level = [(prefix, self)]
        while level:
            below = []
            for prefix, module in level:
                for name, (kind, value) in module.parts.items():
                    if kind == "child":
                        below.append((prefix + name + ".", value))
                    else:
                        yield prefix + name, kind, value, name in module.fleeting
            level = below

    def listed(self, wanted):
        seen = set()
        for name, kind, value, _ in self.walk():
            if kind == wanted and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.listed("parameter")

    def named_buffers(self):
        return self.listed("buffer")

    def train(self, mode=True):
        self.training = mode
        for kind, value in self.parts.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, _, value, fleeting in self.walk() if not fleeting}

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
        if wrong:
            raise RuntimeError(" ".join(wrong))
        for name, value in own.items():
            value.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="writes into the old buffer" breaks="a plain tensor of any shape and dtype assigned to a buffer's name is the buffer from then on" says=["one name: buffer, longer tensor: module.x = (longer tensor) raised RuntimeError"]
class MiniModule:
    def __init__(self):
        vars(self).update(parts={}, fleeting=set(), training=True)

    def __setattr__(self, name, value):
        keeps = isinstance(value, torch.Tensor) and self.parts.get(name, ("",))[0] == "buffer"
        if isinstance(value, MiniParameter):
            self.put(name, "parameter", value)
        elif isinstance(value, MiniModule):
            self.put(name, "child", value)
        elif keeps:
            self.parts[name][1].copy_(value)
        else:
            self.put(name, None, value)

    def put(self, name, kind, value):
        vars(self).pop(name, None)
        self.parts.pop(name, None)
        self.fleeting.discard(name)
        if kind is None:
            vars(self)[name] = value
        else:
            self.parts[name] = (kind, value)

    def __getattr__(self, name):
        parts = vars(self).get("parts", {})
        if name in parts:
            return parts[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.put(name, "buffer", tensor)
        if not persistent:
            self.fleeting.add(name)

    def walk(self, prefix=""):
        for name, (kind, value) in self.parts.items():
            if kind != "child":
                yield prefix + name, kind, value, name in self.fleeting
        for name, (kind, value) in self.parts.items():
            if kind == "child":
                yield from value.walk(prefix + name + ".")

    def listed(self, wanted):
        seen = set()
        for name, kind, value, _ in self.walk():
            if kind == wanted and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.listed("parameter")

    def named_buffers(self):
        return self.listed("buffer")

    def train(self, mode=True):
        self.training = mode
        for kind, value in self.parts.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, _, value, fleeting in self.walk() if not fleeting}

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
        if wrong:
            raise RuntimeError(" ".join(wrong))
        for name, value in own.items():
            value.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="the checkpoint's tensors themselves" says=["load_state_dict, all fits"]
class MiniModule:
    def __init__(self):
        vars(self).update(parts={}, fleeting=set(), training=True)

    def __setattr__(self, name, value):
        keeps = isinstance(value, torch.Tensor) and self.parts.get(name, ("",))[0] == "buffer"
        if isinstance(value, MiniParameter):
            self.put(name, "parameter", value)
        elif isinstance(value, MiniModule):
            self.put(name, "child", value)
        elif keeps:
            self.parts[name] = ("buffer", value)
        else:
            self.put(name, None, value)

    def put(self, name, kind, value):
        vars(self).pop(name, None)
        self.parts.pop(name, None)
        self.fleeting.discard(name)
        if kind is None:
            vars(self)[name] = value
        else:
            self.parts[name] = (kind, value)

    def __getattr__(self, name):
        parts = vars(self).get("parts", {})
        if name in parts:
            return parts[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.put(name, "buffer", tensor)
        if not persistent:
            self.fleeting.add(name)

    def walk(self, prefix=""):
        for name, (kind, value) in self.parts.items():
            if kind != "child":
                yield prefix + name, kind, value, name in self.fleeting
        for name, (kind, value) in self.parts.items():
            if kind == "child":
                yield from value.walk(prefix + name + ".")

    def listed(self, wanted):
        seen = set()
        for name, kind, value, _ in self.walk():
            if kind == wanted and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.listed("parameter")

    def named_buffers(self):
        return self.listed("buffer")

    def train(self, mode=True):
        self.training = mode
        for kind, value in self.parts.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, _, value, fleeting in self.walk() if not fleeting}

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
        if wrong:
            raise RuntimeError(" ".join(wrong))
        for name, value in own.items():
            value.data = state[name].detach()


def mini_module():
    return MiniModule


# %% wrong="assigns new data" says=["load_state_dict, float64 values"]
class MiniModule:
    def __init__(self):
        vars(self).update(parts={}, fleeting=set(), training=True)

    def __setattr__(self, name, value):
        keeps = isinstance(value, torch.Tensor) and self.parts.get(name, ("",))[0] == "buffer"
        if isinstance(value, MiniParameter):
            self.put(name, "parameter", value)
        elif isinstance(value, MiniModule):
            self.put(name, "child", value)
        elif keeps:
            self.parts[name] = ("buffer", value)
        else:
            self.put(name, None, value)

    def put(self, name, kind, value):
        vars(self).pop(name, None)
        self.parts.pop(name, None)
        self.fleeting.discard(name)
        if kind is None:
            vars(self)[name] = value
        else:
            self.parts[name] = (kind, value)

    def __getattr__(self, name):
        parts = vars(self).get("parts", {})
        if name in parts:
            return parts[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.put(name, "buffer", tensor)
        if not persistent:
            self.fleeting.add(name)

    def walk(self, prefix=""):
        for name, (kind, value) in self.parts.items():
            if kind != "child":
                yield prefix + name, kind, value, name in self.fleeting
        for name, (kind, value) in self.parts.items():
            if kind == "child":
                yield from value.walk(prefix + name + ".")

    def listed(self, wanted):
        seen = set()
        for name, kind, value, _ in self.walk():
            if kind == wanted and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.listed("parameter")

    def named_buffers(self):
        return self.listed("buffer")

    def train(self, mode=True):
        self.training = mode
        for kind, value in self.parts.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, _, value, fleeting in self.walk() if not fleeting}

    def load_state_dict(self, state):
        own = {name: value for name, _, value, fleeting in self.walk() if not fleeting}
        wrong = sorted(set(own) ^ set(state))
        wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
        if wrong:
            raise RuntimeError(" ".join(wrong))
        for name, value in own.items():
            value.data = state[name].detach()


def mini_module():
    return MiniModule


# %% wrong="children only where the own mode changes" says=["the root is in that mode, a leaf isn't"]
class MiniModule:
    def __init__(self):
        vars(self).update(parts={}, fleeting=set(), training=True)

    def __setattr__(self, name, value):
        keeps = isinstance(value, torch.Tensor) and self.parts.get(name, ("",))[0] == "buffer"
        if isinstance(value, MiniParameter):
            self.put(name, "parameter", value)
        elif isinstance(value, MiniModule):
            self.put(name, "child", value)
        elif keeps:
            self.parts[name] = ("buffer", value)
        else:
            self.put(name, None, value)

    def put(self, name, kind, value):
        vars(self).pop(name, None)
        self.parts.pop(name, None)
        self.fleeting.discard(name)
        if kind is None:
            vars(self)[name] = value
        else:
            self.parts[name] = (kind, value)

    def __getattr__(self, name):
        parts = vars(self).get("parts", {})
        if name in parts:
            return parts[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.put(name, "buffer", tensor)
        if not persistent:
            self.fleeting.add(name)

    def walk(self, prefix=""):
        for name, (kind, value) in self.parts.items():
            if kind != "child":
                yield prefix + name, kind, value, name in self.fleeting
        for name, (kind, value) in self.parts.items():
            if kind == "child":
                yield from value.walk(prefix + name + ".")

    def listed(self, wanted):
        seen = set()
        for name, kind, value, _ in self.walk():
            if kind == wanted and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.listed("parameter")

    def named_buffers(self):
        return self.listed("buffer")

    def train(self, mode=True):
        if self.training == mode:
            return self
        self.training = mode
        for kind, value in self.parts.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, _, value, fleeting in self.walk() if not fleeting}

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
        if wrong:
            raise RuntimeError(" ".join(wrong))
        for name, value in own.items():
            value.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="None takes a name away" says=["one name: parameter, None: raised AttributeError"]
class MiniModule:
    def __init__(self):
        vars(self).update(parts={}, fleeting=set(), training=True)

    def __setattr__(self, name, value):
        if value is None:
            self.parts.pop(name, None)
            return
        keeps = isinstance(value, torch.Tensor) and self.parts.get(name, ("",))[0] == "buffer"
        if isinstance(value, MiniParameter):
            self.put(name, "parameter", value)
        elif isinstance(value, MiniModule):
            self.put(name, "child", value)
        elif keeps:
            self.parts[name] = ("buffer", value)
        else:
            self.put(name, None, value)

    def put(self, name, kind, value):
        vars(self).pop(name, None)
        self.parts.pop(name, None)
        self.fleeting.discard(name)
        if kind is None:
            vars(self)[name] = value
        else:
            self.parts[name] = (kind, value)

    def __getattr__(self, name):
        parts = vars(self).get("parts", {})
        if name in parts:
            return parts[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.put(name, "buffer", tensor)
        if not persistent:
            self.fleeting.add(name)

    def walk(self, prefix=""):
        for name, (kind, value) in self.parts.items():
            if kind != "child":
                yield prefix + name, kind, value, name in self.fleeting
        for name, (kind, value) in self.parts.items():
            if kind == "child":
                yield from value.walk(prefix + name + ".")

    def listed(self, wanted):
        seen = set()
        for name, kind, value, _ in self.walk():
            if kind == wanted and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.listed("parameter")

    def named_buffers(self):
        return self.listed("buffer")

    def train(self, mode=True):
        self.training = mode
        for kind, value in self.parts.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, _, value, fleeting in self.walk() if not fleeting}

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
        if wrong:
            raise RuntimeError(" ".join(wrong))
        for name, value in own.items():
            value.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="as many numbers will do" says=["another shape for as many numbers: (1,) in place of (): no RuntimeError"]
class MiniModule:
    def __init__(self):
        vars(self).update(parts={}, fleeting=set(), training=True)

    def __setattr__(self, name, value):
        keeps = isinstance(value, torch.Tensor) and self.parts.get(name, ("",))[0] == "buffer"
        if isinstance(value, MiniParameter):
            self.put(name, "parameter", value)
        elif isinstance(value, MiniModule):
            self.put(name, "child", value)
        elif keeps:
            self.parts[name] = ("buffer", value)
        else:
            self.put(name, None, value)

    def put(self, name, kind, value):
        vars(self).pop(name, None)
        self.parts.pop(name, None)
        self.fleeting.discard(name)
        if kind is None:
            vars(self)[name] = value
        else:
            self.parts[name] = (kind, value)

    def __getattr__(self, name):
        parts = vars(self).get("parts", {})
        if name in parts:
            return parts[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.put(name, "buffer", tensor)
        if not persistent:
            self.fleeting.add(name)

    def walk(self, prefix=""):
        for name, (kind, value) in self.parts.items():
            if kind != "child":
                yield prefix + name, kind, value, name in self.fleeting
        for name, (kind, value) in self.parts.items():
            if kind == "child":
                yield from value.walk(prefix + name + ".")

    def listed(self, wanted):
        seen = set()
        for name, kind, value, _ in self.walk():
            if kind == wanted and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.listed("parameter")

    def named_buffers(self):
        return self.listed("buffer")

    def train(self, mode=True):
        self.training = mode
        for kind, value in self.parts.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, _, value, fleeting in self.walk() if not fleeting}

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [
            name for name in own if name in state and own[name].numel() != state[name].numel()
        ]
        if wrong:
            raise RuntimeError(" ".join(wrong))
        for name, value in own.items():
            value.copy_(state[name].view_as(value))


def mini_module():
    return MiniModule


# %% wrong="a tensor for a parameter's name is copied into it" says=["one name: parameter, tensor: named_parameters()"]
class MiniModule:
    def __init__(self):
        vars(self).update(parts={}, fleeting=set(), training=True)

    def __setattr__(self, name, value):
        kind, held = self.parts.get(name, ("", None))
        if kind == "parameter" and type(value) is torch.Tensor:
            with torch.no_grad():
                held.copy_(value)
            return
        keeps = isinstance(value, torch.Tensor) and self.parts.get(name, ("",))[0] == "buffer"
        if isinstance(value, MiniParameter):
            self.put(name, "parameter", value)
        elif isinstance(value, MiniModule):
            self.put(name, "child", value)
        elif keeps:
            self.parts[name] = ("buffer", value)
        else:
            self.put(name, None, value)

    def put(self, name, kind, value):
        vars(self).pop(name, None)
        self.parts.pop(name, None)
        self.fleeting.discard(name)
        if kind is None:
            vars(self)[name] = value
        else:
            self.parts[name] = (kind, value)

    def __getattr__(self, name):
        parts = vars(self).get("parts", {})
        if name in parts:
            return parts[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.put(name, "buffer", tensor)
        if not persistent:
            self.fleeting.add(name)

    def walk(self, prefix=""):
        for name, (kind, value) in self.parts.items():
            if kind != "child":
                yield prefix + name, kind, value, name in self.fleeting
        for name, (kind, value) in self.parts.items():
            if kind == "child":
                yield from value.walk(prefix + name + ".")

    def listed(self, wanted):
        seen = set()
        for name, kind, value, _ in self.walk():
            if kind == wanted and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.listed("parameter")

    def named_buffers(self):
        return self.listed("buffer")

    def train(self, mode=True):
        self.training = mode
        for kind, value in self.parts.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, _, value, fleeting in self.walk() if not fleeting}

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
        if wrong:
            raise RuntimeError(" ".join(wrong))
        for name, value in own.items():
            value.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="loads whole numbers only" says=["load_state_dict, all fits: scale, loaded: expected 13.5, got 13"]
class MiniModule:
    def __init__(self):
        vars(self).update(parts={}, fleeting=set(), training=True)

    def __setattr__(self, name, value):
        keeps = isinstance(value, torch.Tensor) and self.parts.get(name, ("",))[0] == "buffer"
        if isinstance(value, MiniParameter):
            self.put(name, "parameter", value)
        elif isinstance(value, MiniModule):
            self.put(name, "child", value)
        elif keeps:
            self.parts[name] = ("buffer", value)
        else:
            self.put(name, None, value)

    def put(self, name, kind, value):
        vars(self).pop(name, None)
        self.parts.pop(name, None)
        self.fleeting.discard(name)
        if kind is None:
            vars(self)[name] = value
        else:
            self.parts[name] = (kind, value)

    def __getattr__(self, name):
        parts = vars(self).get("parts", {})
        if name in parts:
            return parts[name][1]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.put(name, "buffer", tensor)
        if not persistent:
            self.fleeting.add(name)

    def walk(self, prefix=""):
        for name, (kind, value) in self.parts.items():
            if kind != "child":
                yield prefix + name, kind, value, name in self.fleeting
        for name, (kind, value) in self.parts.items():
            if kind == "child":
                yield from value.walk(prefix + name + ".")

    def listed(self, wanted):
        seen = set()
        for name, kind, value, _ in self.walk():
            if kind == wanted and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self.listed("parameter")

    def named_buffers(self):
        return self.listed("buffer")

    def train(self, mode=True):
        self.training = mode
        for kind, value in self.parts.values():
            if kind == "child":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, _, value, fleeting in self.walk() if not fleeting}

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
        if wrong:
            raise RuntimeError(" ".join(wrong))
        for name, value in own.items():
            value.data.copy_(state[name].long())


def mini_module():
    return MiniModule


# %% wrong="named_parameters of an exhausted generator" says=["when it is called once more"]
class MiniModule:
    def __init__(self):
        self.__dict__["_p"] = {}
        self.__dict__["_b"] = {}
        self.__dict__["_m"] = {}
        self.__dict__["_np"] = set()
        self.__dict__["_seen"] = set()
        self.__dict__["training"] = True

    def _drop(self, name):
        for d in (self._p, self._b, self._m, self.__dict__):
            d.pop(name, None)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            keep = self._p
        elif isinstance(value, MiniModule):
            keep = self._m
        elif isinstance(value, torch.Tensor) and name in self._b:
            self._b[name] = value
            return
        else:
            keep = self.__dict__
        self._drop(name)
        self._np.discard(name)
        keep[name] = value

    def __getattr__(self, name):
        for d in ("_p", "_b", "_m"):
            if d in self.__dict__ and name in self.__dict__[d]:
                return self.__dict__[d][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._drop(name)
        self._np.discard(name)
        self._b[name] = tensor
        if not persistent:
            self._np.add(name)

    def _all(self, which, prefix=""):
        for name, value in self.__dict__[which].items():
            yield prefix + name, value
        for name, child in self._m.items():
            yield from child._all(which, prefix + name + ".")

    def _once(self, which):
        seen = self._seen
        for name, value in self._all(which):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self._once("_p")

    def named_buffers(self):
        return self._once("_b")

    def train(self, mode=True):
        self.training = mode
        for child in self._m.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def _state(self, prefix=""):
        out = {}
        for name, value in self._p.items():
            out[prefix + name] = value.detach()
        for name, value in self._b.items():
            if name not in self._np:
                out[prefix + name] = value.detach()
        for name, child in self._m.items():
            out.update(child._state(prefix + name + "."))
        return out

    def state_dict(self):
        return self._state()

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [n for n in own if n in state and own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(", ".join(wrong))
        with torch.no_grad():
            for n, v in own.items():
                v.copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="state dict caches" says=["asked again after left.late was assigned"]
class MiniModule:
    def __init__(self):
        self.__dict__["_p"] = {}
        self.__dict__["_b"] = {}
        self.__dict__["_m"] = {}
        self.__dict__["_np"] = set()
        self.__dict__["training"] = True

    def _drop(self, name):
        for d in (self._p, self._b, self._m, self.__dict__):
            d.pop(name, None)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            keep = self._p
        elif isinstance(value, MiniModule):
            keep = self._m
        elif isinstance(value, torch.Tensor) and name in self._b:
            self._b[name] = value
            return
        else:
            keep = self.__dict__
        self._drop(name)
        self._np.discard(name)
        keep[name] = value

    def __getattr__(self, name):
        for d in ("_p", "_b", "_m"):
            if d in self.__dict__ and name in self.__dict__[d]:
                return self.__dict__[d][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._drop(name)
        self._np.discard(name)
        self._b[name] = tensor
        if not persistent:
            self._np.add(name)

    def _all(self, which, prefix=""):
        for name, value in self.__dict__[which].items():
            yield prefix + name, value
        for name, child in self._m.items():
            yield from child._all(which, prefix + name + ".")

    def _once(self, which):
        seen = set()
        for name, value in self._all(which):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self._once("_p")

    def named_buffers(self):
        return self._once("_b")

    def train(self, mode=True):
        self.training = mode
        for child in self._m.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def _state(self, prefix=""):
        out = {}
        for name, value in self._p.items():
            out[prefix + name] = value.detach()
        for name, value in self._b.items():
            if name not in self._np:
                out[prefix + name] = value.detach()
        for name, child in self._m.items():
            out.update(child._state(prefix + name + "."))
        return out

    def state_dict(self):
        if "_cache" not in self.__dict__:
            self.__dict__["_cache"] = self._state()
        return self.__dict__["_cache"]

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [n for n in own if n in state and own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(", ".join(wrong))
        with torch.no_grad():
            for n, v in own.items():
                v.copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="saves buffers of floats alone" says=["counter"]
class MiniModule:
    def __init__(self):
        self.__dict__["_p"] = {}
        self.__dict__["_b"] = {}
        self.__dict__["_m"] = {}
        self.__dict__["_np"] = set()
        self.__dict__["training"] = True

    def _drop(self, name):
        for d in (self._p, self._b, self._m, self.__dict__):
            d.pop(name, None)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            keep = self._p
        elif isinstance(value, MiniModule):
            keep = self._m
        elif isinstance(value, torch.Tensor) and name in self._b:
            self._b[name] = value
            return
        else:
            keep = self.__dict__
        self._drop(name)
        self._np.discard(name)
        keep[name] = value

    def __getattr__(self, name):
        for d in ("_p", "_b", "_m"):
            if d in self.__dict__ and name in self.__dict__[d]:
                return self.__dict__[d][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._drop(name)
        self._np.discard(name)
        self._b[name] = tensor
        if not persistent:
            self._np.add(name)

    def _all(self, which, prefix=""):
        for name, value in self.__dict__[which].items():
            yield prefix + name, value
        for name, child in self._m.items():
            yield from child._all(which, prefix + name + ".")

    def _once(self, which):
        seen = set()
        for name, value in self._all(which):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return self._once("_p")

    def named_buffers(self):
        return self._once("_b")

    def train(self, mode=True):
        self.training = mode
        for child in self._m.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def _state(self, prefix=""):
        out = {}
        for name, value in self._p.items():
            out[prefix + name] = value.detach()
        for name, value in self._b.items():
            if name not in self._np and value.dtype.is_floating_point:
                out[prefix + name] = value.detach()
        for name, child in self._m.items():
            out.update(child._state(prefix + name + "."))
        return out

    def state_dict(self):
        return self._state()

    def load_state_dict(self, state):
        own = self.state_dict()
        wrong = sorted(set(own) ^ set(state))
        wrong += [n for n in own if n in state and own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError(", ".join(wrong))
        with torch.no_grad():
            for n, v in own.items():
                v.copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="a buffer's new value is copied into the old tensor" says=["a float64 tensor assigned to a float32 buffer's name", "the old one, which others may hold, stays"]
class MiniModule:
    def __init__(self):
        self.__dict__["training"] = True
        self.__dict__["_params"] = {}
        self.__dict__["_bufs"] = {}
        self.__dict__["_kids"] = {}
        self.__dict__["_fleeting"] = set()

    def _forget(self, name):
        self.__dict__.pop(name, None)
        for drawer in (self._params, self._bufs, self._kids):
            drawer.pop(name, None)
        self._fleeting.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._params[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._kids[name] = value
        elif isinstance(value, torch.Tensor) and name in self._bufs:
            self._bufs[name].copy_(value) if value.shape == self._bufs[
                name
            ].shape else self._bufs.__setitem__(name, value)
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_params", "_bufs", "_kids"):
            if name in self.__dict__.get(drawer, {}):
                return self.__dict__[drawer][name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._bufs[name] = tensor
        if not persistent:
            self._fleeting.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, kid in self._kids.items():
            yield from kid._walk(prefix + name + ".")

    def named_parameters(self):
        seen = set()
        for prefix, m in self._walk():
            for name, p in m._params.items():
                if id(p) not in seen:
                    seen.add(id(p))
                    yield prefix + name, p

    def named_buffers(self):
        seen = set()
        for prefix, m in self._walk():
            for name, b in m._bufs.items():
                if id(b) not in seen:
                    seen.add(id(b))
                    yield prefix + name, b

    def train(self, mode=True):
        for _, m in self._walk():
            m.__dict__["training"] = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {}
        for prefix, m in self._walk():
            for name, p in m._params.items():
                state[prefix + name] = p.detach()
            for name, b in m._bufs.items():
                if name not in m._fleeting:
                    state[prefix + name] = b.detach()
        return state

    def load_state_dict(self, state):
        mine = self.state_dict()
        bad = [n for n in mine if n not in state] + [n for n in state if n not in mine]
        bad += [n for n in mine if n in state and state[n].shape != mine[n].shape]
        if bad:
            raise RuntimeError("does not fit: " + ", ".join(bad))
        with torch.no_grad():
            for n in mine:
                mine[n].copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="parameters compared by their values" says=["two objects are two parameters, whatever their values"]
class MiniModule:
    def __init__(self):
        self.__dict__["training"] = True
        self.__dict__["_params"] = {}
        self.__dict__["_bufs"] = {}
        self.__dict__["_kids"] = {}
        self.__dict__["_fleeting"] = set()

    def _forget(self, name):
        self.__dict__.pop(name, None)
        for drawer in (self._params, self._bufs, self._kids):
            drawer.pop(name, None)
        self._fleeting.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._params[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._kids[name] = value
        elif isinstance(value, torch.Tensor) and name in self._bufs:
            self._bufs[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_params", "_bufs", "_kids"):
            if name in self.__dict__.get(drawer, {}):
                return self.__dict__[drawer][name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._bufs[name] = tensor
        if not persistent:
            self._fleeting.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, kid in self._kids.items():
            yield from kid._walk(prefix + name + ".")

    def named_parameters(self):
        seen = set()
        for prefix, m in self._walk():
            for name, p in m._params.items():
                if not any(p.shape == q.shape and bool((p == q).all()) for q in seen):
                    seen.add(p)
                    yield prefix + name, p

    def named_buffers(self):
        seen = set()
        for prefix, m in self._walk():
            for name, b in m._bufs.items():
                if id(b) not in seen:
                    seen.add(id(b))
                    yield prefix + name, b

    def train(self, mode=True):
        for _, m in self._walk():
            m.__dict__["training"] = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {}
        for prefix, m in self._walk():
            for name, p in m._params.items():
                state[prefix + name] = p.detach()
            for name, b in m._bufs.items():
                if name not in m._fleeting:
                    state[prefix + name] = b.detach()
        return state

    def load_state_dict(self, state):
        mine = self.state_dict()
        bad = [n for n in mine if n not in state] + [n for n in state if n not in mine]
        bad += [n for n in mine if n in state and state[n].shape != mine[n].shape]
        if bad:
            raise RuntimeError("does not fit: " + ", ".join(bad))
        with torch.no_grad():
            for n in mine:
                mine[n].copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="loads through .data, and shares memory with the dict" says=["change with the model: copy their values"]
class MiniModule:
    def __init__(self):
        self.__dict__["training"] = True
        self.__dict__["_params"] = {}
        self.__dict__["_bufs"] = {}
        self.__dict__["_kids"] = {}
        self.__dict__["_fleeting"] = set()

    def _forget(self, name):
        self.__dict__.pop(name, None)
        for drawer in (self._params, self._bufs, self._kids):
            drawer.pop(name, None)
        self._fleeting.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._params[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._kids[name] = value
        elif isinstance(value, torch.Tensor) and name in self._bufs:
            self._bufs[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_params", "_bufs", "_kids"):
            if name in self.__dict__.get(drawer, {}):
                return self.__dict__[drawer][name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._bufs[name] = tensor
        if not persistent:
            self._fleeting.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, kid in self._kids.items():
            yield from kid._walk(prefix + name + ".")

    def named_parameters(self):
        seen = set()
        for prefix, m in self._walk():
            for name, p in m._params.items():
                if id(p) not in seen:
                    seen.add(id(p))
                    yield prefix + name, p

    def named_buffers(self):
        seen = set()
        for prefix, m in self._walk():
            for name, b in m._bufs.items():
                if id(b) not in seen:
                    seen.add(id(b))
                    yield prefix + name, b

    def train(self, mode=True):
        for _, m in self._walk():
            m.__dict__["training"] = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {}
        for prefix, m in self._walk():
            for name, p in m._params.items():
                state[prefix + name] = p.detach()
            for name, b in m._bufs.items():
                if name not in m._fleeting:
                    state[prefix + name] = b.detach()
        return state

    def load_state_dict(self, state):
        mine = self.state_dict()
        bad = [n for n in mine if n not in state] + [n for n in state if n not in mine]
        bad += [n for n in mine if n in state and state[n].shape != mine[n].shape]
        if bad:
            raise RuntimeError("does not fit: " + ", ".join(bad))
        for prefix, m in self._walk():
            for d in (m._params, m._bufs):
                for name, x in d.items():
                    if prefix + name in state:
                        x.data = state[prefix + name].detach().to(x.dtype)


def mini_module():
    return MiniModule


# %% wrong="buffers are not detached in the state dict" says=["state_dict, detached"]
class MiniModule:
    def __init__(self):
        self.__dict__["training"] = True
        self.__dict__["_params"] = {}
        self.__dict__["_bufs"] = {}
        self.__dict__["_kids"] = {}
        self.__dict__["_fleeting"] = set()

    def _forget(self, name):
        self.__dict__.pop(name, None)
        for drawer in (self._params, self._bufs, self._kids):
            drawer.pop(name, None)
        self._fleeting.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._params[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._kids[name] = value
        elif isinstance(value, torch.Tensor) and name in self._bufs:
            self._bufs[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_params", "_bufs", "_kids"):
            if name in self.__dict__.get(drawer, {}):
                return self.__dict__[drawer][name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._bufs[name] = tensor
        if not persistent:
            self._fleeting.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, kid in self._kids.items():
            yield from kid._walk(prefix + name + ".")

    def named_parameters(self):
        seen = set()
        for prefix, m in self._walk():
            for name, p in m._params.items():
                if id(p) not in seen:
                    seen.add(id(p))
                    yield prefix + name, p

    def named_buffers(self):
        seen = set()
        for prefix, m in self._walk():
            for name, b in m._bufs.items():
                if id(b) not in seen:
                    seen.add(id(b))
                    yield prefix + name, b

    def train(self, mode=True):
        for _, m in self._walk():
            m.__dict__["training"] = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {}
        for prefix, m in self._walk():
            for name, p in m._params.items():
                state[prefix + name] = p.detach()
            for name, b in m._bufs.items():
                if name not in m._fleeting:
                    state[prefix + name] = b
        return state

    def load_state_dict(self, state):
        mine = self.state_dict()
        bad = [n for n in mine if n not in state] + [n for n in state if n not in mine]
        bad += [n for n in mine if n in state and state[n].shape != mine[n].shape]
        if bad:
            raise RuntimeError("does not fit: " + ", ".join(bad))
        with torch.no_grad():
            for n in mine:
                mine[n].copy_(state[n])


def mini_module():
    return MiniModule


# %% right="four private dicts, a set of seen ids"
class MiniModule:
    def __init__(self):
        object.__setattr__(self, "_p", {})
        object.__setattr__(self, "_b", {})
        object.__setattr__(self, "_c", {})
        object.__setattr__(self, "_np", set())
        self.training = True

    def _drop(self, name, keep=None):
        for d in (self._p, self._b, self._c, self.__dict__):
            if d is not keep:
                d.pop(name, None)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            where = self._p
        elif isinstance(value, MiniModule):
            where = self._c
        elif isinstance(value, torch.Tensor) and name in self._b:
            where = self._b
        else:
            where = self.__dict__
        self._drop(name, where)
        where[name] = value

    def __getattr__(self, name):
        d = self.__dict__
        for k in ("_p", "_b", "_c"):
            if k in d and name in d[k]:
                return d[k][name]
        raise AttributeError(name)

    def __call__(self, *a, **k):
        return self.forward(*a, **k)

    def register_buffer(self, name, tensor, persistent=True):
        self._drop(name, self._b)
        self._b[name] = tensor
        (self._np.discard if persistent else self._np.add)(name)

    def _all(self, kind, prefix=""):
        for n, v in self.__dict__[kind].items():
            yield prefix + n, v
        for n, c in self._c.items():
            yield from c._all(kind, prefix + n + ".")

    def named_parameters(self):
        seen = set()
        for n, p in self._all("_p"):
            if id(p) not in seen:
                seen.add(id(p))
                yield n, p

    def named_buffers(self):
        seen = set()
        for n, p in self._all("_b"):
            if id(p) not in seen:
                seen.add(id(p))
                yield n, p

    def train(self, mode=True):
        self.training = mode
        for c in self._c.values():
            c.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def _saved(self, prefix=""):
        out = {prefix + n: p for n, p in self._p.items()}
        out.update({prefix + n: b for n, b in self._b.items() if n not in self._np})
        for n, c in self._c.items():
            out.update(c._saved(prefix + n + "."))
        return out

    def state_dict(self):
        return {n: t.detach() for n, t in self._saved().items()}

    def load_state_dict(self, state):
        mine = self._saved()
        bad = sorted(set(mine) ^ set(state)) + [
            n for n in mine if n in state and mine[n].shape != state[n].shape
        ]
        if bad:
            raise RuntimeError(", ".join(bad))
        with torch.no_grad():
            for n in mine:
                mine[n].copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="a child takes on the mode" says=["a child in eval mode, assigned to a module in training mode", "to assign a child sets none"]
class MiniModule:
    def __init__(self):
        object.__setattr__(self, "_p", {})
        object.__setattr__(self, "_b", {})
        object.__setattr__(self, "_c", {})
        object.__setattr__(self, "_np", set())
        self.training = True

    def _drop(self, name, keep=None):
        for d in (self._p, self._b, self._c, self.__dict__):
            if d is not keep:
                d.pop(name, None)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            where = self._p
        elif isinstance(value, MiniModule):
            where = self._c
            value.train(self.training)
        elif isinstance(value, torch.Tensor) and name in self._b:
            where = self._b
        else:
            where = self.__dict__
        self._drop(name, where)
        where[name] = value

    def __getattr__(self, name):
        d = self.__dict__
        for k in ("_p", "_b", "_c"):
            if k in d and name in d[k]:
                return d[k][name]
        raise AttributeError(name)

    def __call__(self, *a, **k):
        return self.forward(*a, **k)

    def register_buffer(self, name, tensor, persistent=True):
        self._drop(name, self._b)
        self._b[name] = tensor
        (self._np.discard if persistent else self._np.add)(name)

    def _all(self, kind, prefix=""):
        for n, v in self.__dict__[kind].items():
            yield prefix + n, v
        for n, c in self._c.items():
            yield from c._all(kind, prefix + n + ".")

    def named_parameters(self):
        seen = set()
        for n, p in self._all("_p"):
            if id(p) not in seen:
                seen.add(id(p))
                yield n, p

    def named_buffers(self):
        seen = set()
        for n, p in self._all("_b"):
            if id(p) not in seen:
                seen.add(id(p))
                yield n, p

    def train(self, mode=True):
        self.training = mode
        for c in self._c.values():
            c.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def _saved(self, prefix=""):
        out = {prefix + n: p for n, p in self._p.items()}
        out.update({prefix + n: b for n, b in self._b.items() if n not in self._np})
        for n, c in self._c.items():
            out.update(c._saved(prefix + n + "."))
        return out

    def state_dict(self):
        return {n: t.detach() for n, t in self._saved().items()}

    def load_state_dict(self, state):
        mine = self._saved()
        bad = sorted(set(mine) ^ set(state)) + [
            n for n in mine if n in state and mine[n].shape != state[n].shape
        ]
        if bad:
            raise RuntimeError(", ".join(bad))
        with torch.no_grad():
            for n in mine:
                mine[n].copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="parameters compared by their memory" says=["two objects are two parameters, even in one memory: compare by id"]
class MiniModule:
    def __init__(self):
        object.__setattr__(self, "_p", {})
        object.__setattr__(self, "_b", {})
        object.__setattr__(self, "_c", {})
        object.__setattr__(self, "_np", set())
        self.training = True

    def _drop(self, name, keep=None):
        for d in (self._p, self._b, self._c, self.__dict__):
            if d is not keep:
                d.pop(name, None)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            where = self._p
        elif isinstance(value, MiniModule):
            where = self._c
        elif isinstance(value, torch.Tensor) and name in self._b:
            where = self._b
        else:
            where = self.__dict__
        self._drop(name, where)
        where[name] = value

    def __getattr__(self, name):
        d = self.__dict__
        for k in ("_p", "_b", "_c"):
            if k in d and name in d[k]:
                return d[k][name]
        raise AttributeError(name)

    def __call__(self, *a, **k):
        return self.forward(*a, **k)

    def register_buffer(self, name, tensor, persistent=True):
        self._drop(name, self._b)
        self._b[name] = tensor
        (self._np.discard if persistent else self._np.add)(name)

    def _all(self, kind, prefix=""):
        for n, v in self.__dict__[kind].items():
            yield prefix + n, v
        for n, c in self._c.items():
            yield from c._all(kind, prefix + n + ".")

    def named_parameters(self):
        seen = set()
        for n, p in self._all("_p"):
            if p.data_ptr() not in seen:
                seen.add(p.data_ptr())
                yield n, p

    def named_buffers(self):
        seen = set()
        for n, p in self._all("_b"):
            if id(p) not in seen:
                seen.add(id(p))
                yield n, p

    def train(self, mode=True):
        self.training = mode
        for c in self._c.values():
            c.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def _saved(self, prefix=""):
        out = {prefix + n: p for n, p in self._p.items()}
        out.update({prefix + n: b for n, b in self._b.items() if n not in self._np})
        for n, c in self._c.items():
            out.update(c._saved(prefix + n + "."))
        return out

    def state_dict(self):
        return {n: t.detach() for n, t in self._saved().items()}

    def load_state_dict(self, state):
        mine = self._saved()
        bad = sorted(set(mine) ^ set(state)) + [
            n for n in mine if n in state and mine[n].shape != state[n].shape
        ]
        if bad:
            raise RuntimeError(", ".join(bad))
        with torch.no_grad():
            for n in mine:
                mine[n].copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="a buffer takes tensors of its dtype alone" says=["one name: buffer, whole numbers: named_buffers(): expected ['x'], got []"]
class MiniModule:
    def __init__(self):
        object.__setattr__(self, "_p", {})
        object.__setattr__(self, "_b", {})
        object.__setattr__(self, "_c", {})
        object.__setattr__(self, "_np", set())
        self.training = True

    def _drop(self, name, keep=None):
        for d in (self._p, self._b, self._c, self.__dict__):
            if d is not keep:
                d.pop(name, None)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            where = self._p
        elif isinstance(value, MiniModule):
            where = self._c
        elif (
            isinstance(value, torch.Tensor)
            and name in self._b
            and value.dtype == self._b[name].dtype
        ):
            where = self._b
        else:
            where = self.__dict__
        self._drop(name, where)
        where[name] = value

    def __getattr__(self, name):
        d = self.__dict__
        for k in ("_p", "_b", "_c"):
            if k in d and name in d[k]:
                return d[k][name]
        raise AttributeError(name)

    def __call__(self, *a, **k):
        return self.forward(*a, **k)

    def register_buffer(self, name, tensor, persistent=True):
        self._drop(name, self._b)
        self._b[name] = tensor
        (self._np.discard if persistent else self._np.add)(name)

    def _all(self, kind, prefix=""):
        for n, v in self.__dict__[kind].items():
            yield prefix + n, v
        for n, c in self._c.items():
            yield from c._all(kind, prefix + n + ".")

    def named_parameters(self):
        seen = set()
        for n, p in self._all("_p"):
            if id(p) not in seen:
                seen.add(id(p))
                yield n, p

    def named_buffers(self):
        seen = set()
        for n, p in self._all("_b"):
            if id(p) not in seen:
                seen.add(id(p))
                yield n, p

    def train(self, mode=True):
        self.training = mode
        for c in self._c.values():
            c.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def _saved(self, prefix=""):
        out = {prefix + n: p for n, p in self._p.items()}
        out.update({prefix + n: b for n, b in self._b.items() if n not in self._np})
        for n, c in self._c.items():
            out.update(c._saved(prefix + n + "."))
        return out

    def state_dict(self):
        return {n: t.detach() for n, t in self._saved().items()}

    def load_state_dict(self, state):
        mine = self._saved()
        bad = sorted(set(mine) ^ set(state)) + [
            n for n in mine if n in state and mine[n].shape != state[n].shape
        ]
        if bad:
            raise RuntimeError(", ".join(bad))
        with torch.no_grad():
            for n in mine:
                mine[n].copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="an error about shapes that names none" says=["the message does not name right.seen"]
class MiniModule:
    def __init__(self):
        object.__setattr__(self, "_p", {})
        object.__setattr__(self, "_b", {})
        object.__setattr__(self, "_c", {})
        object.__setattr__(self, "_np", set())
        self.training = True

    def _drop(self, name, keep=None):
        for d in (self._p, self._b, self._c, self.__dict__):
            if d is not keep:
                d.pop(name, None)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            where = self._p
        elif isinstance(value, MiniModule):
            where = self._c
        elif isinstance(value, torch.Tensor) and name in self._b:
            where = self._b
        else:
            where = self.__dict__
        self._drop(name, where)
        where[name] = value

    def __getattr__(self, name):
        d = self.__dict__
        for k in ("_p", "_b", "_c"):
            if k in d and name in d[k]:
                return d[k][name]
        raise AttributeError(name)

    def __call__(self, *a, **k):
        return self.forward(*a, **k)

    def register_buffer(self, name, tensor, persistent=True):
        self._drop(name, self._b)
        self._b[name] = tensor
        (self._np.discard if persistent else self._np.add)(name)

    def _all(self, kind, prefix=""):
        for n, v in self.__dict__[kind].items():
            yield prefix + n, v
        for n, c in self._c.items():
            yield from c._all(kind, prefix + n + ".")

    def named_parameters(self):
        seen = set()
        for n, p in self._all("_p"):
            if id(p) not in seen:
                seen.add(id(p))
                yield n, p

    def named_buffers(self):
        seen = set()
        for n, p in self._all("_b"):
            if id(p) not in seen:
                seen.add(id(p))
                yield n, p

    def train(self, mode=True):
        self.training = mode
        for c in self._c.values():
            c.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def _saved(self, prefix=""):
        out = {prefix + n: p for n, p in self._p.items()}
        out.update({prefix + n: b for n, b in self._b.items() if n not in self._np})
        for n, c in self._c.items():
            out.update(c._saved(prefix + n + "."))
        return out

    def state_dict(self):
        return {n: t.detach() for n, t in self._saved().items()}

    def load_state_dict(self, state):
        mine = self._saved()
        bad = sorted(set(mine) ^ set(state)) + [
            n for n in mine if n in state and mine[n].shape != state[n].shape
        ]
        for n in mine:
            if n in state and mine[n].shape != state[n].shape:
                raise RuntimeError("size mismatch")
        if bad:
            raise RuntimeError(", ".join(bad))
        with torch.no_grad():
            for n in mine:
                mine[n].copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="one argument for forward" breaks="`module(...)` calls `forward(...)`" says=["module(x, shift=1.0) calls forward"]
class MiniModule:
    def __init__(self):
        object.__setattr__(self, "_p", {})
        object.__setattr__(self, "_b", {})
        object.__setattr__(self, "_c", {})
        object.__setattr__(self, "_np", set())
        self.training = True

    def _drop(self, name, keep=None):
        for d in (self._p, self._b, self._c, self.__dict__):
            if d is not keep:
                d.pop(name, None)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            where = self._p
        elif isinstance(value, MiniModule):
            where = self._c
        elif isinstance(value, torch.Tensor) and name in self._b:
            where = self._b
        else:
            where = self.__dict__
        self._drop(name, where)
        where[name] = value

    def __getattr__(self, name):
        d = self.__dict__
        for k in ("_p", "_b", "_c"):
            if k in d and name in d[k]:
                return d[k][name]
        raise AttributeError(name)

    def __call__(self, x):
        return self.forward(x)

    def register_buffer(self, name, tensor, persistent=True):
        self._drop(name, self._b)
        self._b[name] = tensor
        (self._np.discard if persistent else self._np.add)(name)

    def _all(self, kind, prefix=""):
        for n, v in self.__dict__[kind].items():
            yield prefix + n, v
        for n, c in self._c.items():
            yield from c._all(kind, prefix + n + ".")

    def named_parameters(self):
        seen = set()
        for n, p in self._all("_p"):
            if id(p) not in seen:
                seen.add(id(p))
                yield n, p

    def named_buffers(self):
        seen = set()
        for n, p in self._all("_b"):
            if id(p) not in seen:
                seen.add(id(p))
                yield n, p

    def train(self, mode=True):
        self.training = mode
        for c in self._c.values():
            c.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def _saved(self, prefix=""):
        out = {prefix + n: p for n, p in self._p.items()}
        out.update({prefix + n: b for n, b in self._b.items() if n not in self._np})
        for n, c in self._c.items():
            out.update(c._saved(prefix + n + "."))
        return out

    def state_dict(self):
        return {n: t.detach() for n, t in self._saved().items()}

    def load_state_dict(self, state):
        mine = self._saved()
        bad = sorted(set(mine) ^ set(state)) + [
            n for n in mine if n in state and mine[n].shape != state[n].shape
        ]
        if bad:
            raise RuntimeError(", ".join(bad))
        with torch.no_grad():
            for n in mine:
                mine[n].copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="modes for two levels" breaks="here and in all children at any depth" says=["(which holds nothing): expected [False, False, False, False, False, False, False]"]
class MiniModule:
    def __init__(self):
        object.__setattr__(self, "_p", {})
        object.__setattr__(self, "_b", {})
        object.__setattr__(self, "_c", {})
        object.__setattr__(self, "_np", set())
        self.training = True

    def _drop(self, name, keep=None):
        for d in (self._p, self._b, self._c, self.__dict__):
            if d is not keep:
                d.pop(name, None)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            where = self._p
        elif isinstance(value, MiniModule):
            where = self._c
        elif isinstance(value, torch.Tensor) and name in self._b:
            where = self._b
        else:
            where = self.__dict__
        self._drop(name, where)
        where[name] = value

    def __getattr__(self, name):
        d = self.__dict__
        for k in ("_p", "_b", "_c"):
            if k in d and name in d[k]:
                return d[k][name]
        raise AttributeError(name)

    def __call__(self, *a, **k):
        return self.forward(*a, **k)

    def register_buffer(self, name, tensor, persistent=True):
        self._drop(name, self._b)
        self._b[name] = tensor
        (self._np.discard if persistent else self._np.add)(name)

    def _all(self, kind, prefix=""):
        for n, v in self.__dict__[kind].items():
            yield prefix + n, v
        for n, c in self._c.items():
            yield from c._all(kind, prefix + n + ".")

    def named_parameters(self):
        seen = set()
        for n, p in self._all("_p"):
            if id(p) not in seen:
                seen.add(id(p))
                yield n, p

    def named_buffers(self):
        seen = set()
        for n, p in self._all("_b"):
            if id(p) not in seen:
                seen.add(id(p))
                yield n, p

    def train(self, mode=True):
        self.training = mode
        for c in self._c.values():
            c.training = mode
            for d in c._c.values():
                d.training = mode
        return self

    def eval(self):
        return self.train(False)

    def _saved(self, prefix=""):
        out = {prefix + n: p for n, p in self._p.items()}
        out.update({prefix + n: b for n, b in self._b.items() if n not in self._np})
        for n, c in self._c.items():
            out.update(c._saved(prefix + n + "."))
        return out

    def state_dict(self):
        return {n: t.detach() for n, t in self._saved().items()}

    def load_state_dict(self, state):
        mine = self._saved()
        bad = sorted(set(mine) ^ set(state)) + [
            n for n in mine if n in state and mine[n].shape != state[n].shape
        ]
        if bad:
            raise RuntimeError(", ".join(bad))
        with torch.no_grad():
            for n in mine:
                mine[n].copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="autograd stays off after a load" says=["autograd is switched on or off for all that follows"]
class MiniModule:
    def __init__(self):
        object.__setattr__(self, "_p", {})
        object.__setattr__(self, "_b", {})
        object.__setattr__(self, "_c", {})
        object.__setattr__(self, "_np", set())
        self.training = True

    def _drop(self, name, keep=None):
        for d in (self._p, self._b, self._c, self.__dict__):
            if d is not keep:
                d.pop(name, None)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            where = self._p
        elif isinstance(value, MiniModule):
            where = self._c
        elif isinstance(value, torch.Tensor) and name in self._b:
            where = self._b
        else:
            where = self.__dict__
        self._drop(name, where)
        where[name] = value

    def __getattr__(self, name):
        d = self.__dict__
        for k in ("_p", "_b", "_c"):
            if k in d and name in d[k]:
                return d[k][name]
        raise AttributeError(name)

    def __call__(self, *a, **k):
        return self.forward(*a, **k)

    def register_buffer(self, name, tensor, persistent=True):
        self._drop(name, self._b)
        self._b[name] = tensor
        (self._np.discard if persistent else self._np.add)(name)

    def _all(self, kind, prefix=""):
        for n, v in self.__dict__[kind].items():
            yield prefix + n, v
        for n, c in self._c.items():
            yield from c._all(kind, prefix + n + ".")

    def named_parameters(self):
        seen = set()
        for n, p in self._all("_p"):
            if id(p) not in seen:
                seen.add(id(p))
                yield n, p

    def named_buffers(self):
        seen = set()
        for n, p in self._all("_b"):
            if id(p) not in seen:
                seen.add(id(p))
                yield n, p

    def train(self, mode=True):
        self.training = mode
        for c in self._c.values():
            c.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def _saved(self, prefix=""):
        out = {prefix + n: p for n, p in self._p.items()}
        out.update({prefix + n: b for n, b in self._b.items() if n not in self._np})
        for n, c in self._c.items():
            out.update(c._saved(prefix + n + "."))
        return out

    def state_dict(self):
        return {n: t.detach() for n, t in self._saved().items()}

    def load_state_dict(self, state):
        mine = self._saved()
        bad = sorted(set(mine) ^ set(state)) + [
            n for n in mine if n in state and mine[n].shape != state[n].shape
        ]
        if bad:
            raise RuntimeError(", ".join(bad))
        torch.set_grad_enabled(False)
        for n in mine:
            mine[n].copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="a buffer's new value is always saved" breaks="as persistent as the old one" says=["one name: fleeting, tensor: state_dict(): expected [], got ['x']", "as persistent as the buffer"]
class MiniModule:
    def __init__(self):
        d = self.__dict__
        d["slots"] = {}
        d["plain"] = {}
        d["training"] = True

    def __setattr__(self, name, value):
        d = self.__dict__
        old = d["slots"].get(name)
        if isinstance(value, MiniParameter):
            kind = "p"
        elif isinstance(value, MiniModule):
            kind = "m"
        elif old and old[0] in "bn" and isinstance(value, torch.Tensor):
            d["slots"][name] = ("b", value)
            return
        else:
            d["slots"].pop(name, None)
            d[name] = value
            return
        self._put(name, kind, value)

    def _put(self, name, kind, value):
        self.__dict__.pop(name, None)
        self.__dict__["slots"].pop(name, None)
        self.__dict__["slots"][name] = (kind, value)

    def __getattr__(self, name):
        slots = self.__dict__.get("slots", {})
        if name in slots:
            return slots[name][1]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._put(name, "b" if persistent else "n", tensor)

    def _walk(self, kinds, prefix=""):
        for name, (kind, value) in self.__dict__["slots"].items():
            if kind in kinds:
                yield prefix + name, value
        for name, (kind, value) in self.__dict__["slots"].items():
            if kind == "m":
                yield from value._walk(kinds, prefix + name + ".")

    def _once(self, kinds):
        seen, out = set(), []
        for name, value in self._walk(kinds):
            if id(value) not in seen:
                seen.add(id(value))
                out.append((name, value))
        return out

    def named_parameters(self):
        return self._once("p")

    def named_buffers(self):
        return self._once("bn")

    def train(self, mode=True):
        self.__dict__["training"] = mode
        for kind, value in self.__dict__["slots"].values():
            if kind == "m":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {n: v.detach() for n, v in self._walk("pb")}

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [
            n
            for n in {**own, **state}
            if n not in own or n not in state or own[n].shape != state[n].shape
        ]
        if bad:
            raise RuntimeError(str(bad))
        with torch.no_grad():
            for n, v in own.items():
                v.copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="names in the order of the alphabet" breaks="each in the order of assignment" says=["what is shared goes by the name that was assigned first"]
class MiniModule:
    def __init__(self):
        d = self.__dict__
        d["slots"] = {}
        d["plain"] = {}
        d["training"] = True

    def __setattr__(self, name, value):
        d = self.__dict__
        old = d["slots"].get(name)
        if isinstance(value, MiniParameter):
            kind = "p"
        elif isinstance(value, MiniModule):
            kind = "m"
        elif old and old[0] in "bn" and isinstance(value, torch.Tensor):
            kind = old[0]
            d["slots"][name] = (kind, value)
            return
        else:
            d["slots"].pop(name, None)
            d[name] = value
            return
        self._put(name, kind, value)

    def _put(self, name, kind, value):
        self.__dict__.pop(name, None)
        self.__dict__["slots"].pop(name, None)
        self.__dict__["slots"][name] = (kind, value)

    def __getattr__(self, name):
        slots = self.__dict__.get("slots", {})
        if name in slots:
            return slots[name][1]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._put(name, "b" if persistent else "n", tensor)

    def _walk(self, kinds, prefix=""):
        for name, (kind, value) in sorted(self.__dict__["slots"].items()):
            if kind in kinds:
                yield prefix + name, value
        for name, (kind, value) in sorted(self.__dict__["slots"].items()):
            if kind == "m":
                yield from value._walk(kinds, prefix + name + ".")

    def _once(self, kinds):
        seen, out = set(), []
        for name, value in self._walk(kinds):
            if id(value) not in seen:
                seen.add(id(value))
                out.append((name, value))
        return out

    def named_parameters(self):
        return self._once("p")

    def named_buffers(self):
        return self._once("bn")

    def train(self, mode=True):
        self.__dict__["training"] = mode
        for kind, value in self.__dict__["slots"].values():
            if kind == "m":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {n: v.detach() for n, v in self._walk("pb")}

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [
            n
            for n in {**own, **state}
            if n not in own or n not in state or own[n].shape != state[n].shape
        ]
        if bad:
            raise RuntimeError(str(bad))
        with torch.no_grad():
            for n, v in own.items():
                v.copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="only persistent buffers are listed" breaks="likewise, persistent or not" says=["a buffer that isn't persistent is a buffer all the same"]
class MiniModule:
    def __init__(self):
        d = self.__dict__
        d["slots"] = {}
        d["plain"] = {}
        d["training"] = True

    def __setattr__(self, name, value):
        d = self.__dict__
        old = d["slots"].get(name)
        if isinstance(value, MiniParameter):
            kind = "p"
        elif isinstance(value, MiniModule):
            kind = "m"
        elif old and old[0] in "bn" and isinstance(value, torch.Tensor):
            kind = old[0]
            d["slots"][name] = (kind, value)
            return
        else:
            d["slots"].pop(name, None)
            d[name] = value
            return
        self._put(name, kind, value)

    def _put(self, name, kind, value):
        self.__dict__.pop(name, None)
        self.__dict__["slots"].pop(name, None)
        self.__dict__["slots"][name] = (kind, value)

    def __getattr__(self, name):
        slots = self.__dict__.get("slots", {})
        if name in slots:
            return slots[name][1]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._put(name, "b" if persistent else "n", tensor)

    def _walk(self, kinds, prefix=""):
        for name, (kind, value) in self.__dict__["slots"].items():
            if kind in kinds:
                yield prefix + name, value
        for name, (kind, value) in self.__dict__["slots"].items():
            if kind == "m":
                yield from value._walk(kinds, prefix + name + ".")

    def _once(self, kinds):
        seen, out = set(), []
        for name, value in self._walk(kinds):
            if id(value) not in seen:
                seen.add(id(value))
                out.append((name, value))
        return out

    def named_parameters(self):
        return self._once("p")

    def named_buffers(self):
        return self._once("b")

    def train(self, mode=True):
        self.__dict__["training"] = mode
        for kind, value in self.__dict__["slots"].values():
            if kind == "m":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {n: v.detach() for n, v in self._walk("pb")}

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [
            n
            for n in {**own, **state}
            if n not in own or n not in state or own[n].shape != state[n].shape
        ]
        if bad:
            raise RuntimeError(str(bad))
        with torch.no_grad():
            for n, v in own.items():
                v.copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="a new module evaluates" breaks="`True` at first" says=["leaf.training of a new leaf: expected ('plain', True), got ('plain', False)"]
class MiniModule:
    def __init__(self):
        d = self.__dict__
        d["slots"] = {}
        d["plain"] = {}
        d["training"] = False

    def __setattr__(self, name, value):
        d = self.__dict__
        old = d["slots"].get(name)
        if isinstance(value, MiniParameter):
            kind = "p"
        elif isinstance(value, MiniModule):
            kind = "m"
        elif old and old[0] in "bn" and isinstance(value, torch.Tensor):
            kind = old[0]
            d["slots"][name] = (kind, value)
            return
        else:
            d["slots"].pop(name, None)
            d[name] = value
            return
        self._put(name, kind, value)

    def _put(self, name, kind, value):
        self.__dict__.pop(name, None)
        self.__dict__["slots"].pop(name, None)
        self.__dict__["slots"][name] = (kind, value)

    def __getattr__(self, name):
        slots = self.__dict__.get("slots", {})
        if name in slots:
            return slots[name][1]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._put(name, "b" if persistent else "n", tensor)

    def _walk(self, kinds, prefix=""):
        for name, (kind, value) in self.__dict__["slots"].items():
            if kind in kinds:
                yield prefix + name, value
        for name, (kind, value) in self.__dict__["slots"].items():
            if kind == "m":
                yield from value._walk(kinds, prefix + name + ".")

    def _once(self, kinds):
        seen, out = set(), []
        for name, value in self._walk(kinds):
            if id(value) not in seen:
                seen.add(id(value))
                out.append((name, value))
        return out

    def named_parameters(self):
        return self._once("p")

    def named_buffers(self):
        return self._once("bn")

    def train(self, mode=True):
        self.__dict__["training"] = mode
        for kind, value in self.__dict__["slots"].values():
            if kind == "m":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {n: v.detach() for n, v in self._walk("pb")}

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [
            n
            for n in {**own, **state}
            if n not in own or n not in state or own[n].shape != state[n].shape
        ]
        if bad:
            raise RuntimeError(str(bad))
        with torch.no_grad():
            for n, v in own.items():
                v.copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="the state has each tensor once" breaks="shared ones under each of their names" says=["state_dict: not in it: right.weight", "shared ones are under each name"]
class MiniModule:
    def __init__(self):
        d = self.__dict__
        d["slots"] = {}
        d["plain"] = {}
        d["training"] = True

    def __setattr__(self, name, value):
        d = self.__dict__
        old = d["slots"].get(name)
        if isinstance(value, MiniParameter):
            kind = "p"
        elif isinstance(value, MiniModule):
            kind = "m"
        elif old and old[0] in "bn" and isinstance(value, torch.Tensor):
            kind = old[0]
            d["slots"][name] = (kind, value)
            return
        else:
            d["slots"].pop(name, None)
            d[name] = value
            return
        self._put(name, kind, value)

    def _put(self, name, kind, value):
        self.__dict__.pop(name, None)
        self.__dict__["slots"].pop(name, None)
        self.__dict__["slots"][name] = (kind, value)

    def __getattr__(self, name):
        slots = self.__dict__.get("slots", {})
        if name in slots:
            return slots[name][1]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._put(name, "b" if persistent else "n", tensor)

    def _walk(self, kinds, prefix=""):
        for name, (kind, value) in self.__dict__["slots"].items():
            if kind in kinds:
                yield prefix + name, value
        for name, (kind, value) in self.__dict__["slots"].items():
            if kind == "m":
                yield from value._walk(kinds, prefix + name + ".")

    def _once(self, kinds):
        seen, out = set(), []
        for name, value in self._walk(kinds):
            if id(value) not in seen:
                seen.add(id(value))
                out.append((name, value))
        return out

    def named_parameters(self):
        return self._once("p")

    def named_buffers(self):
        return self._once("bn")

    def train(self, mode=True):
        self.__dict__["training"] = mode
        for kind, value in self.__dict__["slots"].values():
            if kind == "m":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {n: v.detach() for n, v in self._once("pb")}

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [
            n
            for n in {**own, **state}
            if n not in own or n not in state or own[n].shape != state[n].shape
        ]
        if bad:
            raise RuntimeError(str(bad))
        with torch.no_grad():
            for n, v in own.items():
                v.copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="a missing name is let through" breaks="If a name is missing" says=["a name is missing: no RuntimeError was raised"]
class MiniModule:
    def __init__(self):
        d = self.__dict__
        d["slots"] = {}
        d["plain"] = {}
        d["training"] = True

    def __setattr__(self, name, value):
        d = self.__dict__
        old = d["slots"].get(name)
        if isinstance(value, MiniParameter):
            kind = "p"
        elif isinstance(value, MiniModule):
            kind = "m"
        elif old and old[0] in "bn" and isinstance(value, torch.Tensor):
            kind = old[0]
            d["slots"][name] = (kind, value)
            return
        else:
            d["slots"].pop(name, None)
            d[name] = value
            return
        self._put(name, kind, value)

    def _put(self, name, kind, value):
        self.__dict__.pop(name, None)
        self.__dict__["slots"].pop(name, None)
        self.__dict__["slots"][name] = (kind, value)

    def __getattr__(self, name):
        slots = self.__dict__.get("slots", {})
        if name in slots:
            return slots[name][1]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._put(name, "b" if persistent else "n", tensor)

    def _walk(self, kinds, prefix=""):
        for name, (kind, value) in self.__dict__["slots"].items():
            if kind in kinds:
                yield prefix + name, value
        for name, (kind, value) in self.__dict__["slots"].items():
            if kind == "m":
                yield from value._walk(kinds, prefix + name + ".")

    def _once(self, kinds):
        seen, out = set(), []
        for name, value in self._walk(kinds):
            if id(value) not in seen:
                seen.add(id(value))
                out.append((name, value))
        return out

    def named_parameters(self):
        return self._once("p")

    def named_buffers(self):
        return self._once("bn")

    def train(self, mode=True):
        self.__dict__["training"] = mode
        for kind, value in self.__dict__["slots"].values():
            if kind == "m":
                value.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {n: v.detach() for n, v in self._walk("pb")}

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [n for n in state if n not in own or own[n].shape != state[n].shape]
        if bad:
            raise RuntimeError(str(bad))
        with torch.no_grad():
            for n in state:
                own[n].copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="eval freezes" says=["a parameter's requires_grad was changed"]
class MiniModule:
    def __init__(self):
        d = self.__dict__
        d["slots"] = {}
        d["plain"] = {}
        d["training"] = True

    def __setattr__(self, name, value):
        d = self.__dict__
        old = d["slots"].get(name)
        if isinstance(value, MiniParameter):
            kind = "p"
        elif isinstance(value, MiniModule):
            kind = "m"
        elif old and old[0] in "bn" and isinstance(value, torch.Tensor):
            kind = old[0]
            d["slots"][name] = (kind, value)
            return
        else:
            d["slots"].pop(name, None)
            d[name] = value
            return
        self._put(name, kind, value)

    def _put(self, name, kind, value):
        self.__dict__.pop(name, None)
        self.__dict__["slots"].pop(name, None)
        self.__dict__["slots"][name] = (kind, value)

    def __getattr__(self, name):
        slots = self.__dict__.get("slots", {})
        if name in slots:
            return slots[name][1]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._put(name, "b" if persistent else "n", tensor)

    def _walk(self, kinds, prefix=""):
        for name, (kind, value) in self.__dict__["slots"].items():
            if kind in kinds:
                yield prefix + name, value
        for name, (kind, value) in self.__dict__["slots"].items():
            if kind == "m":
                yield from value._walk(kinds, prefix + name + ".")

    def _once(self, kinds):
        seen, out = set(), []
        for name, value in self._walk(kinds):
            if id(value) not in seen:
                seen.add(id(value))
                out.append((name, value))
        return out

    def named_parameters(self):
        return self._once("p")

    def named_buffers(self):
        return self._once("bn")

    def train(self, mode=True):
        self.__dict__["training"] = mode
        for kind, value in self.__dict__["slots"].values():
            if kind == "m":
                value.train(mode)
        return self

    def eval(self):
        for _, p in self.named_parameters():
            p.requires_grad_(False)
        return self.train(False)

    def state_dict(self):
        return {n: v.detach() for n, v in self._walk("pb")}

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [
            n
            for n in {**own, **state}
            if n not in own or n not in state or own[n].shape != state[n].shape
        ]
        if bad:
            raise RuntimeError(str(bad))
        with torch.no_grad():
            for n, v in own.items():
                v.copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="a module that holds nothing is never put into evaluation mode" breaks="here and in all children at any depth" says=["root.eval(): training of root", "which holds nothing"]
class MiniModule:
    def __init__(self):
        self.__dict__["_p"] = {}
        self.__dict__["_b"] = {}
        self.__dict__["_c"] = {}
        self.__dict__["_np"] = set()
        self.__dict__["training"] = True

    def _forget(self, name):
        for drawer in (self._p, self._b, self._c, self.__dict__):
            drawer.pop(name, None)
        self._np.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._p[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._c[name] = value
        elif name in self._b and isinstance(value, torch.Tensor):
            self._b[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_p", "_b", "_c"):
            if name in self.__dict__.get(drawer, {}):
                return self.__dict__[drawer][name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._b[name] = tensor
        if not persistent:
            self._np.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._c.items():
            yield from child._walk(prefix + name + ".")

    def _list(self, drawer):
        seen = set()
        for prefix, module in self._walk():
            for name, value in module.__dict__[drawer].items():
                if id(value) not in seen:
                    seen.add(id(value))
                    yield prefix + name, value

    def named_parameters(self):
        return self._list("_p")

    def named_buffers(self):
        return self._list("_b")

    def train(self, mode=True):
        for _, module in self._walk():
            if mode or module._p or module._b or module._c:
                module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        found = {}
        for prefix, module in self._walk():
            for name, value in module._p.items():
                found[prefix + name] = value.detach()
            for name, value in module._b.items():
                if name not in module._np:
                    found[prefix + name] = value.detach()
        return found

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = sorted(set(own) ^ set(state))
        bad += [n for n in own if n in state and own[n].shape != state[n].shape]
        if bad:
            raise RuntimeError(", ".join(bad))
        for name, value in own.items():
            value.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="copies into the old buffer where shape and dtype agree" says=["nothing is copied into it"]
class MiniModule:
    def __init__(self):
        for drawer in ("_parameters", "_buffers", "_children"):
            self.__dict__[drawer] = {}
        self.__dict__["_unsaved"] = set()
        self.__dict__["training"] = True

    def _forget(self, name):
        for drawer in (self._parameters, self._buffers, self._children, self.__dict__):
            drawer.pop(name, None)
        self._unsaved.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._children[name] = value
        elif isinstance(value, torch.Tensor) and name in self._buffers:
            if (
                self._buffers[name].shape == value.shape
                and self._buffers[name].dtype == value.dtype
            ):
                self._buffers[name].copy_(value)
            else:
                self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_parameters", "_buffers", "_children"):
            if name in self.__dict__.get(drawer, {}):
                return self.__dict__[drawer][name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._unsaved.add(name)

    def _walk(self, drawer, prefix=""):
        for name, value in self.__dict__[drawer].items():
            yield prefix + name, value, self, name
        for name, child in self._children.items():
            yield from child._walk(drawer, prefix + name + ".")

    def named_parameters(self):
        seen = set()
        for name, value, _, _ in self._walk("_parameters"):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_buffers(self):
        seen = set()
        for name, value, _, _ in self._walk("_buffers"):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def train(self, mode=True):
        self.training = mode
        for child in self._children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: value.detach() for name, value, _, _ in self._walk("_parameters")}
        for full, value, owner, name in self._walk("_buffers"):
            if name not in owner._unsaved:
                state[full] = value.detach()
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [n for n in own if n not in state]
        bad += [n for n in state if n not in own]
        bad += [n for n in own if n in state and own[n].shape != state[n].shape]
        if bad:
            raise RuntimeError("do not fit: " + ", ".join(bad))
        with torch.no_grad():
            for n, t in own.items():
                t.copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="a name that isn't saved somewhere is saved nowhere" says=["whether a buffer is saved is noted for each module"]
class MiniModule:
    def __init__(self):
        for drawer in ("_parameters", "_buffers", "_children"):
            self.__dict__[drawer] = {}
        self.__dict__["_unsaved"] = set()
        self.__dict__["training"] = True

    def _forget(self, name):
        for drawer in (self._parameters, self._buffers, self._children, self.__dict__):
            drawer.pop(name, None)
        self._unsaved.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._children[name] = value
        elif isinstance(value, torch.Tensor) and name in self._buffers:
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_parameters", "_buffers", "_children"):
            if name in self.__dict__.get(drawer, {}):
                return self.__dict__[drawer][name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._unsaved.add(name)

    def _walk(self, drawer, prefix=""):
        for name, value in self.__dict__[drawer].items():
            yield prefix + name, value, self, name
        for name, child in self._children.items():
            yield from child._walk(drawer, prefix + name + ".")

    def named_parameters(self):
        seen = set()
        for name, value, _, _ in self._walk("_parameters"):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_buffers(self):
        seen = set()
        for name, value, _, _ in self._walk("_buffers"):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def train(self, mode=True):
        self.training = mode
        for child in self._children.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {name: value.detach() for name, value, _, _ in self._walk("_parameters")}
        for full, value, owner, name in self._walk("_buffers"):
            if not any(name in o._unsaved for _, _, o, _ in self._walk("_buffers")):
                state[full] = value.detach()
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [n for n in own if n not in state]
        bad += [n for n in state if n not in own]
        bad += [n for n in own if n in state and own[n].shape != state[n].shape]
        if bad:
            raise RuntimeError("do not fit: " + ", ".join(bad))
        with torch.no_grad():
            for n, t in own.items():
                t.copy_(state[n])


def mini_module():
    return MiniModule


# %% wrong="a tensor that requires grad is no buffer" breaks="a plain tensor of any shape and dtype assigned to a buffer's name is the buffer from then on" says=["one name: buffer, tensor that requires grad: named_buffers()"]
class MiniModule:
    def __init__(self):
        self.__dict__["_parameters"] = {}
        self.__dict__["_buffers"] = {}
        self.__dict__["_modules"] = {}
        self.__dict__["_transient"] = set()
        self.__dict__["training"] = True

    def _forget(self, name):
        for drawer in (self._parameters, self._buffers, self._modules, self.__dict__):
            drawer.pop(name, None)
        self._transient.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._modules[name] = value
        elif isinstance(value, torch.Tensor) and name in self._buffers and not value.requires_grad:
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_parameters", "_buffers", "_modules"):
            held = self.__dict__.get(drawer, {})
            if name in held:
                return held[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._transient.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._modules.items():
            yield from child._walk(prefix + name + ".")

    def named_parameters(self):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def named_buffers(self):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in module._buffers.items():
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def train(self, mode=True):
        for _, module in self._walk():
            module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {}
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                state[prefix + name] = tensor.detach()
            for name, tensor in module._buffers.items():
                if name not in module._transient:
                    state[prefix + name] = tensor.detach()
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [n for n in own if n not in state or state[n].shape != own[n].shape]
        bad += [n for n in state if n not in own]
        if bad:
            raise RuntimeError("these do not fit: " + ", ".join(bad))
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="None leaves a name with the buffers" breaks="anything else a plain attribute" says=["one name: buffer, None, tensor: named_buffers()"]
class MiniModule:
    def __init__(self):
        self.__dict__["_parameters"] = {}
        self.__dict__["_buffers"] = {}
        self.__dict__["_modules"] = {}
        self.__dict__["_transient"] = set()
        self.__dict__["training"] = True

    def _forget(self, name):
        for drawer in (self._parameters, self._buffers, self._modules, self.__dict__):
            drawer.pop(name, None)
        self._transient.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._modules[name] = value
        elif (value is None or isinstance(value, torch.Tensor)) and name in self._buffers:
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_parameters", "_buffers", "_modules"):
            held = self.__dict__.get(drawer, {})
            if name in held:
                return held[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._transient.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._modules.items():
            yield from child._walk(prefix + name + ".")

    def named_parameters(self):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                if tensor is not None and id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def named_buffers(self):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in module._buffers.items():
                if tensor is not None and id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def train(self, mode=True):
        for _, module in self._walk():
            module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {}
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                state[prefix + name] = tensor.detach()
            for name, tensor in module._buffers.items():
                if tensor is not None and name not in module._transient:
                    state[prefix + name] = tensor.detach()
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [n for n in own if n not in state or state[n].shape != own[n].shape]
        bad += [n for n in state if n not in own]
        if bad:
            raise RuntimeError("these do not fit: " + ", ".join(bad))
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="a child leaves the buffer of its name" breaks="A name holds one thing" says=["one name: buffer, module: named_buffers()"]
class MiniModule:
    def __init__(self):
        self.__dict__["_parameters"] = {}
        self.__dict__["_buffers"] = {}
        self.__dict__["_modules"] = {}
        self.__dict__["_transient"] = set()
        self.__dict__["training"] = True

    def _forget(self, name):
        for drawer in (self._parameters, self._buffers, self._modules, self.__dict__):
            drawer.pop(name, None)
        self._transient.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._parameters.pop(name, None)
            self.__dict__.pop(name, None)
            self._modules[name] = value
        elif isinstance(value, torch.Tensor) and name in self._buffers:
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_parameters", "_buffers", "_modules"):
            held = self.__dict__.get(drawer, {})
            if name in held:
                return held[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._transient.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._modules.items():
            yield from child._walk(prefix + name + ".")

    def named_parameters(self):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def named_buffers(self):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in module._buffers.items():
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def train(self, mode=True):
        for _, module in self._walk():
            module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {}
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                state[prefix + name] = tensor.detach()
            for name, tensor in module._buffers.items():
                if name not in module._transient:
                    state[prefix + name] = tensor.detach()
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [n for n in own if n not in state or state[n].shape != own[n].shape]
        bad += [n for n in state if n not in own]
        if bad:
            raise RuntimeError("these do not fit: " + ", ".join(bad))
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="tells buffers apart by data_ptr" breaks="likewise, persistent or not" says=["two buffers in one memory: named_buffers()"]
class MiniModule:
    def __init__(self):
        self.__dict__["_parameters"] = {}
        self.__dict__["_buffers"] = {}
        self.__dict__["_modules"] = {}
        self.__dict__["_transient"] = set()
        self.__dict__["training"] = True

    def _forget(self, name):
        for drawer in (self._parameters, self._buffers, self._modules, self.__dict__):
            drawer.pop(name, None)
        self._transient.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._modules[name] = value
        elif isinstance(value, torch.Tensor) and name in self._buffers:
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_parameters", "_buffers", "_modules"):
            held = self.__dict__.get(drawer, {})
            if name in held:
                return held[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._transient.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._modules.items():
            yield from child._walk(prefix + name + ".")

    def named_parameters(self):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def named_buffers(self):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in module._buffers.items():
                if tensor.data_ptr() not in seen:
                    seen.add(tensor.data_ptr())
                    yield prefix + name, tensor

    def train(self, mode=True):
        for _, module in self._walk():
            module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {}
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                state[prefix + name] = tensor.detach()
            for name, tensor in module._buffers.items():
                if name not in module._transient:
                    state[prefix + name] = tensor.detach()
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [n for n in own if n not in state or state[n].shape != own[n].shape]
        bad += [n for n in state if n not in own]
        if bad:
            raise RuntimeError("these do not fit: " + ", ".join(bad))
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="modules in a list are children" breaks="anything else a plain attribute" says=["a list is a plain attribute"]
class MiniModule:
    def __init__(self):
        self.__dict__["_parameters"] = {}
        self.__dict__["_buffers"] = {}
        self.__dict__["_modules"] = {}
        self.__dict__["_transient"] = set()
        self.__dict__["training"] = True

    def _forget(self, name):
        for drawer in (self._parameters, self._buffers, self._modules, self.__dict__):
            drawer.pop(name, None)
        self._transient.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._modules[name] = value
        elif isinstance(value, torch.Tensor) and name in self._buffers:
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value
            if isinstance(value, list):
                for i, part in enumerate(value):
                    if isinstance(part, MiniModule):
                        self._modules[f"{name}.{i}"] = part

    def __getattr__(self, name):
        for drawer in ("_parameters", "_buffers", "_modules"):
            held = self.__dict__.get(drawer, {})
            if name in held:
                return held[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._transient.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._modules.items():
            yield from child._walk(prefix + name + ".")

    def named_parameters(self):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def named_buffers(self):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in module._buffers.items():
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def train(self, mode=True):
        for _, module in self._walk():
            module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {}
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                state[prefix + name] = tensor.detach()
            for name, tensor in module._buffers.items():
                if name not in module._transient:
                    state[prefix + name] = tensor.detach()
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [n for n in own if n not in state or state[n].shape != own[n].shape]
        bad += [n for n in state if n not in own]
        if bad:
            raise RuntimeError("these do not fit: " + ", ".join(bad))
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="makes the list of parameters once" says=["the lists, asked again after left.late", "walk the tree at each call"]
class MiniModule:
    def __init__(self):
        self.__dict__["_parameters"] = {}
        self.__dict__["_buffers"] = {}
        self.__dict__["_modules"] = {}
        self.__dict__["_transient"] = set()
        self.__dict__["training"] = True

    def _forget(self, name):
        for drawer in (self._parameters, self._buffers, self._modules, self.__dict__):
            drawer.pop(name, None)
        self._transient.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._modules[name] = value
        elif isinstance(value, torch.Tensor) and name in self._buffers:
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_parameters", "_buffers", "_modules"):
            held = self.__dict__.get(drawer, {})
            if name in held:
                return held[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._transient.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._modules.items():
            yield from child._walk(prefix + name + ".")

    def named_parameters(self):
        if "_listed" not in self.__dict__:
            self.__dict__["_listed"] = list(self._list())
        return self._listed

    def _list(self):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def named_buffers(self):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in module._buffers.items():
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def train(self, mode=True):
        for _, module in self._walk():
            module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {}
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                state[prefix + name] = tensor.detach()
            for name, tensor in module._buffers.items():
                if name not in module._transient:
                    state[prefix + name] = tensor.detach()
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [n for n in own if n not in state or state[n].shape != own[n].shape]
        bad += [n for n in state if n not in own]
        if bad:
            raise RuntimeError("these do not fit: " + ", ".join(bad))
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="compares the first size alone" breaks="has another shape" says=["another shape for right.seen, the first size fits"]
class MiniModule:
    def __init__(self):
        self.__dict__["_parameters"] = {}
        self.__dict__["_buffers"] = {}
        self.__dict__["_modules"] = {}
        self.__dict__["_transient"] = set()
        self.__dict__["training"] = True

    def _forget(self, name):
        for drawer in (self._parameters, self._buffers, self._modules, self.__dict__):
            drawer.pop(name, None)
        self._transient.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._modules[name] = value
        elif isinstance(value, torch.Tensor) and name in self._buffers:
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_parameters", "_buffers", "_modules"):
            held = self.__dict__.get(drawer, {})
            if name in held:
                return held[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._transient.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._modules.items():
            yield from child._walk(prefix + name + ".")

    def named_parameters(self):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def named_buffers(self):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in module._buffers.items():
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def train(self, mode=True):
        for _, module in self._walk():
            module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {}
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                state[prefix + name] = tensor.detach()
            for name, tensor in module._buffers.items():
                if name not in module._transient:
                    state[prefix + name] = tensor.detach()
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [n for n in own if n not in state or state[n].shape[:1] != own[n].shape[:1]]
        bad += [n for n in state if n not in own]
        if bad:
            raise RuntimeError("these do not fit: " + ", ".join(bad))
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name].expand_as(tensor))


def mini_module():
    return MiniModule


# %% wrong="children of direct subclasses only" breaks="instances of subclasses, too" says=["an instance of a subclass of a subclass is a child, too"]
class MiniModule:
    def __init__(self) -> None:
        self.__dict__.update(
            _parameters={}, _buffers={}, _children={}, _unsaved=set(), training=True
        )

    def _forget(self, name):
        self._parameters.pop(name, None)
        self._buffers.pop(name, None)
        self._children.pop(name, None)
        self._unsaved.discard(name)
        self.__dict__.pop(name, None)

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif type(value) is MiniModule or type(value).__bases__ == (MiniModule,):
            self._forget(name)
            self._children[name] = value
        elif name in self._buffers and isinstance(value, torch.Tensor):
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name: str) -> object:
        for drawer in ("_parameters", "_buffers", "_children"):
            found = self.__dict__.get(drawer, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name: str, tensor: torch.Tensor, persistent: bool = True) -> None:
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._unsaved.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._children.items():
            yield from child._walk(prefix + name + ".")

    def named_parameters(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                if id(p) not in seen:
                    seen.add(id(p))
                    yield prefix + name, p

    def named_buffers(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, b in module._buffers.items():
                if id(b) not in seen:
                    seen.add(id(b))
                    yield prefix + name, b

    def train(self, mode: bool = True) -> "MiniModule":
        for _, module in self._walk():
            module.__dict__["training"] = mode
        return self

    def eval(self) -> "MiniModule":
        return self.train(False)

    def state_dict(self) -> dict[str, torch.Tensor]:
        state = {}
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                state[prefix + name] = p.detach()
            for name, b in module._buffers.items():
                if name not in module._unsaved:
                    state[prefix + name] = b.detach()
        return state

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        mine = self.state_dict()
        wrong = [name for name in mine if name not in state]
        wrong += [name for name in state if name not in mine]
        wrong += [name for name in state if name in mine and state[name].shape != mine[name].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in mine.items():
                tensor.copy_(state[name])


def mini_module() -> type:
    return MiniModule


# %% wrong="whole numbers may be missing" breaks="If a name is missing" says=["a buffer of another dtype has to be there, too"]
class MiniModule:
    def __init__(self) -> None:
        self.__dict__.update(
            _parameters={}, _buffers={}, _children={}, _unsaved=set(), training=True
        )

    def _forget(self, name):
        self._parameters.pop(name, None)
        self._buffers.pop(name, None)
        self._children.pop(name, None)
        self._unsaved.discard(name)
        self.__dict__.pop(name, None)

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._children[name] = value
        elif name in self._buffers and isinstance(value, torch.Tensor):
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name: str) -> object:
        for drawer in ("_parameters", "_buffers", "_children"):
            found = self.__dict__.get(drawer, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name: str, tensor: torch.Tensor, persistent: bool = True) -> None:
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._unsaved.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._children.items():
            yield from child._walk(prefix + name + ".")

    def named_parameters(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                if id(p) not in seen:
                    seen.add(id(p))
                    yield prefix + name, p

    def named_buffers(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, b in module._buffers.items():
                if id(b) not in seen:
                    seen.add(id(b))
                    yield prefix + name, b

    def train(self, mode: bool = True) -> "MiniModule":
        for _, module in self._walk():
            module.__dict__["training"] = mode
        return self

    def eval(self) -> "MiniModule":
        return self.train(False)

    def state_dict(self) -> dict[str, torch.Tensor]:
        state = {}
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                state[prefix + name] = p.detach()
            for name, b in module._buffers.items():
                if name not in module._unsaved:
                    state[prefix + name] = b.detach()
        return state

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        mine = self.state_dict()
        wrong = [
            name
            for name in mine
            if name not in state and mine[name].dtype.is_floating_point is not False
        ]
        wrong += [name for name in state if name not in mine]
        wrong += [name for name in state if name in mine and state[name].shape != mine[name].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in mine.items():
                tensor.copy_(state[name])


def mini_module() -> type:
    return MiniModule


# %% wrong="loads through float32" says=["copy_ as it is: float32 has 24 bits"]
class MiniModule:
    def __init__(self) -> None:
        self.__dict__.update(
            _parameters={}, _buffers={}, _children={}, _unsaved=set(), training=True
        )

    def _forget(self, name):
        self._parameters.pop(name, None)
        self._buffers.pop(name, None)
        self._children.pop(name, None)
        self._unsaved.discard(name)
        self.__dict__.pop(name, None)

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._children[name] = value
        elif name in self._buffers and isinstance(value, torch.Tensor):
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name: str) -> object:
        for drawer in ("_parameters", "_buffers", "_children"):
            found = self.__dict__.get(drawer, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name: str, tensor: torch.Tensor, persistent: bool = True) -> None:
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._unsaved.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._children.items():
            yield from child._walk(prefix + name + ".")

    def named_parameters(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                if id(p) not in seen:
                    seen.add(id(p))
                    yield prefix + name, p

    def named_buffers(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, b in module._buffers.items():
                if id(b) not in seen:
                    seen.add(id(b))
                    yield prefix + name, b

    def train(self, mode: bool = True) -> "MiniModule":
        for _, module in self._walk():
            module.__dict__["training"] = mode
        return self

    def eval(self) -> "MiniModule":
        return self.train(False)

    def state_dict(self) -> dict[str, torch.Tensor]:
        state = {}
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                state[prefix + name] = p.detach()
            for name, b in module._buffers.items():
                if name not in module._unsaved:
                    state[prefix + name] = b.detach()
        return state

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        mine = self.state_dict()
        wrong = [name for name in mine if name not in state]
        wrong += [name for name in state if name not in mine]
        wrong += [name for name in state if name in mine and state[name].shape != mine[name].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in mine.items():
                tensor.copy_(state[name].float())


def mini_module() -> type:
    return MiniModule


# %% wrong="a missing bias is None" breaks="A name that doesn't exist is an `AttributeError`" says=["hasattr(module, 'bias') is True"]
class MiniModule:
    def __init__(self) -> None:
        self.__dict__.update(
            _parameters={}, _buffers={}, _children={}, _unsaved=set(), training=True
        )

    def _forget(self, name):
        self._parameters.pop(name, None)
        self._buffers.pop(name, None)
        self._children.pop(name, None)
        self._unsaved.discard(name)
        self.__dict__.pop(name, None)

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._children[name] = value
        elif name in self._buffers and isinstance(value, torch.Tensor):
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name: str) -> object:
        for drawer in ("_parameters", "_buffers", "_children"):
            found = self.__dict__.get(drawer, {})
            if name in found:
                return found[name]
        if name == "bias":
            return None
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name: str, tensor: torch.Tensor, persistent: bool = True) -> None:
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._unsaved.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._children.items():
            yield from child._walk(prefix + name + ".")

    def named_parameters(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                if id(p) not in seen:
                    seen.add(id(p))
                    yield prefix + name, p

    def named_buffers(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, b in module._buffers.items():
                if id(b) not in seen:
                    seen.add(id(b))
                    yield prefix + name, b

    def train(self, mode: bool = True) -> "MiniModule":
        for _, module in self._walk():
            module.__dict__["training"] = mode
        return self

    def eval(self) -> "MiniModule":
        return self.train(False)

    def state_dict(self) -> dict[str, torch.Tensor]:
        state = {}
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                state[prefix + name] = p.detach()
            for name, b in module._buffers.items():
                if name not in module._unsaved:
                    state[prefix + name] = b.detach()
        return state

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        mine = self.state_dict()
        wrong = [name for name in mine if name not in state]
        wrong += [name for name in state if name not in mine]
        wrong += [name for name in state if name in mine and state[name].shape != mine[name].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in mine.items():
                tensor.copy_(state[name])


def mini_module() -> type:
    return MiniModule


# %% wrong="drawers of the class, for all modules" says=["Each has drawers of its own, made in __init__"]
class MiniModule:
    _parameters, _buffers, _children, _unsaved = {}, {}, {}, set()

    def __init__(self) -> None:
        self.__dict__.update(training=True)

    def _forget(self, name):
        self._parameters.pop(name, None)
        self._buffers.pop(name, None)
        self._children.pop(name, None)
        self._unsaved.discard(name)
        self.__dict__.pop(name, None)

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._children[name] = value
        elif name in self._buffers and isinstance(value, torch.Tensor):
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name: str) -> object:
        for drawer in ("_parameters", "_buffers", "_children"):
            found = getattr(MiniModule, drawer)
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name: str, tensor: torch.Tensor, persistent: bool = True) -> None:
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._unsaved.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._children.items():
            yield from child._walk(prefix + name + ".")

    def named_parameters(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                if id(p) not in seen:
                    seen.add(id(p))
                    yield prefix + name, p

    def named_buffers(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, b in module._buffers.items():
                if id(b) not in seen:
                    seen.add(id(b))
                    yield prefix + name, b

    def train(self, mode: bool = True) -> "MiniModule":
        for _, module in self._walk():
            module.__dict__["training"] = mode
        return self

    def eval(self) -> "MiniModule":
        return self.train(False)

    def state_dict(self) -> dict[str, torch.Tensor]:
        state = {}
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                state[prefix + name] = p.detach()
            for name, b in module._buffers.items():
                if name not in module._unsaved:
                    state[prefix + name] = b.detach()
        return state

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        mine = self.state_dict()
        wrong = [name for name in mine if name not in state]
        wrong += [name for name in state if name not in mine]
        wrong += [name for name in state if name in mine and state[name].shape != mine[name].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in mine.items():
                tensor.copy_(state[name])


def mini_module() -> type:
    return MiniModule


# %% wrong="persistent by keyword alone" says=["positional arguments"]
class MiniModule:
    def __init__(self) -> None:
        self.__dict__.update(
            _parameters={}, _buffers={}, _children={}, _unsaved=set(), training=True
        )

    def _forget(self, name):
        self._parameters.pop(name, None)
        self._buffers.pop(name, None)
        self._children.pop(name, None)
        self._unsaved.discard(name)
        self.__dict__.pop(name, None)

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._children[name] = value
        elif name in self._buffers and isinstance(value, torch.Tensor):
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name: str) -> object:
        for drawer in ("_parameters", "_buffers", "_children"):
            found = self.__dict__.get(drawer, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name: str, tensor: torch.Tensor, *, persistent: bool = True) -> None:
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._unsaved.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._children.items():
            yield from child._walk(prefix + name + ".")

    def named_parameters(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                if id(p) not in seen:
                    seen.add(id(p))
                    yield prefix + name, p

    def named_buffers(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, b in module._buffers.items():
                if id(b) not in seen:
                    seen.add(id(b))
                    yield prefix + name, b

    def train(self, mode: bool = True) -> "MiniModule":
        for _, module in self._walk():
            module.__dict__["training"] = mode
        return self

    def eval(self) -> "MiniModule":
        return self.train(False)

    def state_dict(self) -> dict[str, torch.Tensor]:
        state = {}
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                state[prefix + name] = p.detach()
            for name, b in module._buffers.items():
                if name not in module._unsaved:
                    state[prefix + name] = b.detach()
        return state

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        mine = self.state_dict()
        wrong = [name for name in mine if name not in state]
        wrong += [name for name in state if name not in mine]
        wrong += [name for name in state if name in mine and state[name].shape != mine[name].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in mine.items():
                tensor.copy_(state[name])


def mini_module() -> type:
    return MiniModule


# %% wrong="every name with two underscores is None" breaks="A name that doesn't exist is an `AttributeError`" says=["hasattr(module, '__nose__') is True"]
class MiniModule:
    def __init__(self) -> None:
        self.__dict__.update(
            _parameters={}, _buffers={}, _children={}, _unsaved=set(), training=True
        )

    def _forget(self, name):
        self._parameters.pop(name, None)
        self._buffers.pop(name, None)
        self._children.pop(name, None)
        self._unsaved.discard(name)
        self.__dict__.pop(name, None)

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._children[name] = value
        elif name in self._buffers and isinstance(value, torch.Tensor):
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            return None
        for drawer in ("_parameters", "_buffers", "_children"):
            found = self.__dict__.get(drawer, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name: str, tensor: torch.Tensor, persistent: bool = True) -> None:
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._unsaved.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._children.items():
            yield from child._walk(prefix + name + ".")

    def named_parameters(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                if id(p) not in seen:
                    seen.add(id(p))
                    yield prefix + name, p

    def named_buffers(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, b in module._buffers.items():
                if id(b) not in seen:
                    seen.add(id(b))
                    yield prefix + name, b

    def train(self, mode: bool = True) -> "MiniModule":
        for _, module in self._walk():
            module.__dict__["training"] = mode
        return self

    def eval(self) -> "MiniModule":
        return self.train(False)

    def state_dict(self) -> dict[str, torch.Tensor]:
        state = {}
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                state[prefix + name] = p.detach()
            for name, b in module._buffers.items():
                if name not in module._unsaved:
                    state[prefix + name] = b.detach()
        return state

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        mine = self.state_dict()
        wrong = [name for name in mine if name not in state]
        wrong += [name for name in state if name not in mine]
        wrong += [name for name in state if name in mine and state[name].shape != mine[name].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in mine.items():
                tensor.copy_(state[name])


def mini_module() -> type:
    return MiniModule


# %% wrong="a plain attribute hides the child that follows it" breaks="A name holds one thing" says=["one name: text, module"]
class MiniModule:
    def __init__(self) -> None:
        self.__dict__.update(
            _parameters={}, _buffers={}, _children={}, _unsaved=set(), training=True
        )

    def _forget(self, name):
        self._parameters.pop(name, None)
        self._buffers.pop(name, None)
        self._children.pop(name, None)
        self._unsaved.discard(name)
        self.__dict__.pop(name, None)

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._parameters.pop(name, None)
            self._buffers.pop(name, None)
            self._children[name] = value
        elif name in self._buffers and isinstance(value, torch.Tensor):
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name: str) -> object:
        for drawer in ("_parameters", "_buffers", "_children"):
            found = self.__dict__.get(drawer, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name: str, tensor: torch.Tensor, persistent: bool = True) -> None:
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._unsaved.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._children.items():
            yield from child._walk(prefix + name + ".")

    def named_parameters(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                if id(p) not in seen:
                    seen.add(id(p))
                    yield prefix + name, p

    def named_buffers(self) -> object:
        seen = set()
        for prefix, module in self._walk():
            for name, b in module._buffers.items():
                if id(b) not in seen:
                    seen.add(id(b))
                    yield prefix + name, b

    def train(self, mode: bool = True) -> "MiniModule":
        for _, module in self._walk():
            module.__dict__["training"] = mode
        return self

    def eval(self) -> "MiniModule":
        return self.train(False)

    def state_dict(self) -> dict[str, torch.Tensor]:
        state = {}
        for prefix, module in self._walk():
            for name, p in module._parameters.items():
                state[prefix + name] = p.detach()
            for name, b in module._buffers.items():
                if name not in module._unsaved:
                    state[prefix + name] = b.detach()
        return state

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        mine = self.state_dict()
        wrong = [name for name in mine if name not in state]
        wrong += [name for name in state if name not in mine]
        wrong += [name for name in state if name in mine and state[name].shape != mine[name].shape]
        if wrong:
            raise RuntimeError(f"these do not fit: {wrong}")
        with torch.no_grad():
            for name, tensor in mine.items():
                tensor.copy_(state[name])


def mini_module() -> type:
    return MiniModule


# %% wrong="None keeps the buffer's name" breaks="anything else a plain attribute" says=["one name: buffer, None"]
class MiniModule:
    def __init__(self):
        for name in ("_parameters", "_buffers", "_modules"):
            self.__dict__[name] = {}
        self.__dict__["_kept_out"] = set()
        self.__dict__["training"] = True

    def _forget(self, name):
        for drawer in (self._parameters, self._buffers, self._modules, self.__dict__):
            drawer.pop(name, None)
        self._kept_out.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._modules[name] = value
        elif isinstance(value, torch.Tensor) and name in self._buffers:
            self._buffers[name] = value
        elif value is None and name in self._buffers:
            self._buffers.pop(name)
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(drawer, {}):
                return self.__dict__[drawer][name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._kept_out.add(name)

    def _walk(self, prefix=""):
        for name, value in self._parameters.items():
            yield prefix + name, value, "parameter"
        for name, value in self._buffers.items():
            yield prefix + name, value, "hidden" if name in self._kept_out else "buffer"
        for name, child in self._modules.items():
            yield from child._walk(prefix + name + ".")

    def _once(self, kinds):
        seen = set()
        for name, value, kind in self._walk():
            if kind in kinds and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def named_parameters(self):
        return list(self._once(("parameter",)))

    def named_buffers(self):
        return list(self._once(("hidden", "buffer")))

    def train(self, mode=True):
        self.training = mode
        for child in self._modules.values():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        return {name: value.detach() for name, value, kind in self._walk() if kind != "hidden"}

    def load_state_dict(self, state):
        own = self.state_dict()
        odd = [n for n in own if n not in state] + [n for n in state if n not in own]
        odd += [n for n in own if n in state and own[n].shape != state[n].shape]
        if odd:
            raise RuntimeError(f"does not fit: {odd}")
        with torch.no_grad():
            for name, value in own.items():
                value.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="names three names at most" breaks="whose message contains every such name" says=["two names missing, two unexpected", "does not name left.nose"]
class MiniModule:
    """Knows its parameters, buffers and children, their names and their mode."""

    def __init__(self):
        self.__dict__.update(
            _parameters={}, _buffers={}, _children={}, _transient=set(), training=True
        )

    def _forget(self, name):
        for drawer in (self._parameters, self._buffers, self._children, self.__dict__):
            drawer.pop(name, None)
        self._transient.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._children[name] = value
        elif isinstance(value, torch.Tensor) and name in self._buffers:
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_parameters", "_buffers", "_children"):
            if name in self.__dict__.get(drawer, {}):
                return self.__dict__[drawer][name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._transient.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._children.items():
            yield from child._walk(prefix + name + ".")

    def _listed(self, drawer):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in getattr(module, drawer).items():
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def named_parameters(self):
        return self._listed("_parameters")

    def named_buffers(self):
        return self._listed("_buffers")

    def train(self, mode=True):
        for _, module in self._walk():
            module.__dict__["training"] = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {}
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                state[prefix + name] = tensor.detach()
            for name, tensor in module._buffers.items():
                if name not in module._transient:
                    state[prefix + name] = tensor.detach()
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [n for n in own if n not in state]
        bad += [n for n in state if n not in own]
        bad += [n for n in own if n in state and own[n].shape != state[n].shape]
        if bad:
            raise RuntimeError("these don't fit: " + ", ".join(bad[:3]))
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% wrong="the root's notes count for the whole tree" breaks="parameters and persistent buffers" says=["whether a buffer is saved is noted for each module"]
class MiniModule:
    """Knows its parameters, buffers and children, their names and their mode."""

    def __init__(self):
        self.__dict__.update(
            _parameters={}, _buffers={}, _children={}, _transient=set(), training=True
        )

    def _forget(self, name):
        for drawer in (self._parameters, self._buffers, self._children, self.__dict__):
            drawer.pop(name, None)
        self._transient.discard(name)

    def __setattr__(self, name, value):
        if isinstance(value, MiniParameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._forget(name)
            self._children[name] = value
        elif isinstance(value, torch.Tensor) and name in self._buffers:
            self._buffers[name] = value
        else:
            self._forget(name)
            self.__dict__[name] = value

    def __getattr__(self, name):
        for drawer in ("_parameters", "_buffers", "_children"):
            if name in self.__dict__.get(drawer, {}):
                return self.__dict__[drawer][name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._transient.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._children.items():
            yield from child._walk(prefix + name + ".")

    def _listed(self, drawer):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in getattr(module, drawer).items():
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def named_parameters(self):
        return self._listed("_parameters")

    def named_buffers(self):
        return self._listed("_buffers")

    def train(self, mode=True):
        for _, module in self._walk():
            module.__dict__["training"] = mode
        return self

    def eval(self):
        return self.train(False)

    def state_dict(self):
        state = {}
        for prefix, module in self._walk():
            for name, tensor in module._parameters.items():
                state[prefix + name] = tensor.detach()
            for name, tensor in module._buffers.items():
                if name not in self._transient and name not in module._transient:
                    state[prefix + name] = tensor.detach()
        return state

    def load_state_dict(self, state):
        own = self.state_dict()
        bad = [n for n in own if n not in state]
        bad += [n for n in state if n not in own]
        bad += [n for n in own if n in state and own[n].shape != state[n].shape]
        if bad:
            raise RuntimeError("these don't fit: " + ", ".join(bad))
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module():
    return MiniModule


# %% right="one drawer for all, told apart by type"
class MiniModule:
    def __init__(self):
        d = self.__dict__
        d["kept"] = {}
        d["saved"] = {}
        d["training"] = True

    def __setattr__(self, name, value):
        old = self.kept.get(name)
        is_buffer = isinstance(old, torch.Tensor) and not isinstance(old, MiniParameter)
        if is_buffer and isinstance(value, torch.Tensor) and not isinstance(value, MiniParameter):
            self.kept[name] = value
            return
        self.kept.pop(name, None)
        self.saved.pop(name, None)
        self.__dict__.pop(name, None)
        if isinstance(value, (MiniParameter, MiniModule)):
            self.kept[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        kept = self.__dict__.get("kept", {})
        if name in kept:
            return kept[name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        self.kept.pop(name, None)
        self.__dict__.pop(name, None)
        self.kept[name] = tensor
        self.saved[name] = persistent

    def everything(self, prefix=""):
        out = []
        for name, thing in self.kept.items():
            if not isinstance(thing, MiniModule):
                out.append((prefix + name, thing, self.saved.get(name, True)))
        for name, thing in self.kept.items():
            if isinstance(thing, MiniModule):
                out.extend(thing.everything(prefix + name + "."))
        return out

    def pick(self, parameters):
        seen, out = [], []
        for name, thing, _ in self.everything():
            if isinstance(thing, MiniParameter) == parameters and not any(thing is t for t in seen):
                seen.append(thing)
                out.append((name, thing))
        return out

    def named_parameters(self):
        return self.pick(True)

    def named_buffers(self):
        return self.pick(False)

    def train(self, mode=True):
        self.training = mode
        for thing in self.kept.values():
            if isinstance(thing, MiniModule):
                thing.train(mode)
        return self

    def eval(self):
        return self.train(mode=False)

    def state_dict(self):
        return {name: thing.detach() for name, thing, saved in self.everything() if saved}

    def load_state_dict(self, state):
        mine = self.state_dict()
        wrong = set(mine) ^ set(state)
        wrong |= {n for n in set(mine) & set(state) if mine[n].shape != state[n].shape}
        if wrong:
            raise RuntimeError(str(sorted(wrong)))
        for n, t in mine.items():
            t.copy_(state[n].detach())


def mini_module():
    return MiniModule


# %% wrong="the buffers that are saved come first" breaks="each in the order of assignment" says=["in the order of assignment, persistent or not"]
class MiniModule:
    def __init__(self) -> None:
        drawers = {"_parameters": {}, "_buffers": {}, "_temporary": {}, "_modules": {}}
        self.__dict__.update(drawers, training=True)

    def _forget(self, name):
        for drawer in ("_parameters", "_buffers", "_temporary", "_modules"):
            self.__dict__[drawer].pop(name, None)
        self.__dict__.pop(name, None)

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, torch.Tensor) and not isinstance(value, MiniParameter):
            for drawer in (self._buffers, self._temporary):
                if name in drawer:
                    drawer[name] = value
                    return
        self._forget(name)
        if isinstance(value, MiniParameter):
            self._parameters[name] = value
        elif isinstance(value, MiniModule):
            self._modules[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name: str) -> object:
        for drawer in ("_parameters", "_buffers", "_temporary", "_modules"):
            if name in self.__dict__.get(drawer, {}):
                return self.__dict__[drawer][name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name: str, tensor: torch.Tensor, persistent: bool = True) -> None:
        self._forget(name)
        (self._buffers if persistent else self._temporary)[name] = tensor

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._modules.items():
            yield from child._walk(prefix + name + ".")

    def _once(self, *drawers):
        seen = set()
        for prefix, module in self._walk():
            for drawer in drawers:
                for name, tensor in getattr(module, drawer).items():
                    if id(tensor) not in seen:
                        seen.add(id(tensor))
                        yield prefix + name, tensor

    def named_parameters(self) -> object:
        return self._once("_parameters")

    def named_buffers(self) -> object:
        return self._once("_buffers", "_temporary")

    def train(self, mode: bool = True) -> "MiniModule":
        for _, module in self._walk():
            module.__dict__["training"] = mode
        return self

    def eval(self) -> "MiniModule":
        return self.train(False)

    def state_dict(self) -> dict[str, torch.Tensor]:
        return {
            prefix + name: tensor.detach()
            for prefix, module in self._walk()
            for drawer in (module._parameters, module._buffers)
            for name, tensor in drawer.items()
        }

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        own = self.state_dict()
        wrong = set(own) ^ set(state)
        wrong |= {n for n in set(own) & set(state) if own[n].shape != state[n].shape}
        if wrong:
            raise RuntimeError(f"missing, unexpected or of another shape: {sorted(wrong)}")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module() -> type:
    """The class that the check looks at."""
    return MiniModule


# %% wrong="contiguous tensors for the file" breaks="detached and in the model's memory" says=["no copy, contiguous or not"]
class MiniModule:
    def __init__(self) -> None:
        self.__dict__.update(
            _parameters={}, _buffers={}, _modules={}, _unsaved=set(), training=True
        )

    def _forget(self, name):
        for drawer in (self._parameters, self._buffers, self._modules, self.__dict__):
            drawer.pop(name, None)
        self._unsaved.discard(name)

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, MiniParameter):
            drawer = self._parameters
        elif isinstance(value, MiniModule):
            drawer = self._modules
        elif isinstance(value, torch.Tensor) and name in self._buffers:
            self._buffers[name] = value
            return
        else:
            drawer = self.__dict__
        self._forget(name)
        drawer[name] = value

    def __getattr__(self, name: str) -> object:
        for drawer in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(drawer, {}):
                return self.__dict__[drawer][name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name: str, tensor: torch.Tensor, persistent: bool = True) -> None:
        self._forget(name)
        self._buffers[name] = tensor
        if not persistent:
            self._unsaved.add(name)

    def _walk(self, prefix=""):
        yield prefix, self
        for name, child in self._modules.items():
            yield from child._walk(prefix + name + ".")

    def _once(self, drawer):
        seen = set()
        for prefix, module in self._walk():
            for name, tensor in getattr(module, drawer).items():
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def named_parameters(self) -> object:
        return self._once("_parameters")

    def named_buffers(self) -> object:
        return self._once("_buffers")

    def train(self, mode: bool = True) -> "MiniModule":
        for _, module in self._walk():
            module.__dict__["training"] = mode
        return self

    def eval(self) -> "MiniModule":
        return self.train(False)

    def _own(self):
        for prefix, module in self._walk():
            for name, tensor in {**module._parameters, **module._buffers}.items():
                if name not in module._unsaved:
                    yield prefix + name, tensor.detach()

    def state_dict(self) -> dict[str, torch.Tensor]:
        return {name: tensor.contiguous() for name, tensor in self._own()}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        own = dict(self._own())
        wrong = [n for n in {**own, **state} if n not in own or n not in state]
        wrong += [n for n in own if n in state and own[n].shape != state[n].shape]
        if wrong:
            raise RuntimeError("does not fit: " + ", ".join(wrong))
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])


def mini_module() -> type:
    """The class that the check looks at."""
    return MiniModule
