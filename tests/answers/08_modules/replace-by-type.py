# %% [markdown]
# Rules:
#
# - "every module in `model`"
# - "a class or a tuple of classes"
# - "subclasses count"
# - "at any depth"
# - "`make` is called once for each such module"
# - "which nothing has changed before"
# - "its replacement is in all of them"
# - "What is replaced isn't searched any further"
# - "neither is its replacement"
# - "The replacement gets the old module's mode"
# - "`new.train(old.training)`"
# - "All else about it is as `make` left it"
# - "All other modules stay the same objects"
# - "with their hooks"
# - "names keep their order"
# - "A child may be `None`"
# - "Return the model"
# - "if `model` itself is of that kind, return its replacement"
#
# Admits:
#
# - "subclasses count": whose subclass ReLU6 is in the model
# - "a class or a tuple of classes": (Block, Conv2d, Linear)
# - "where a module was in several places": one of them in three places
# - "if `model` itself is of that kind": a model that is itself a ReLU

# %% wrong="the top level only" breaks="at any depth" says=["left as they were: features.0.norm, features.2.norm"]
def replace_by_type(model, kind, make):
    for name, child in model.named_children():
        if isinstance(child, kind):
            setattr(model, name, make(child).train(child.training))
    return model


# %% wrong="named_children leaves out second names" breaks="every module in `model`" says=["ReLUs in lists and dicts", "left as they were: c; there"]
def replace_by_type(model, kind, make):
    if isinstance(model, kind):
        return make(model).train(model.training)
    for name, child in model.named_children():
        setattr(model, name, replace_by_type(child, kind, make))
    return model


# %% wrong="each place has a replacement of its own" breaks="`make` is called once for each such module" says=["make was called 6 times for 3 modules: once for each"]
def replace_by_type(model, kind, make):
    if isinstance(model, kind):
        return make(model).train(model.training)
    for name, child in list(model._modules.items()):
        if child is not None:
            model._modules[name] = replace_by_type(child, kind, make)
    return model


# %% wrong="searches the replacement" breaks="neither is its replacement" says=["is a replacement searched?"]
def replace_by_type(model, kind, make, done=None):
    done = {} if done is None else done
    for name, child in list(model._modules.items()):
        if child is None:
            continue
        if isinstance(child, kind):
            if child not in done:
                done[child] = make(child).train(child.training)
            model._modules[name] = child = done[child]
        replace_by_type(child, kind, make, None)
    return model


# %% wrong="forgets the mode" breaks="The replacement gets the old module's mode" says=["the mode is not the old one's at"]
def replace_by_type(model, kind, make):
    done = {}

    def visit(module):
        if module is not None and module not in done:
            found = isinstance(module, kind)
            done[module] = make(module) if found else module
            for name in [] if found else module._modules:
                module._modules[name] = visit(module._modules[name])
        return done.get(module)

    return visit(model)


# %% wrong="works on a copy" breaks="All other modules stay the same objects" says=["make was called with a module that isn't the model's own"]
def replace_by_type(model, kind, make):
    import copy

    done = {}

    def visit(module):
        if module is not None and module not in done:
            found = isinstance(module, kind)
            done[module] = make(module).train(module.training) if found else module
            for name in [] if found else module._modules:
                module._modules[name] = visit(module._modules[name])
        return done.get(module)

    return visit(copy.deepcopy(model))


# %% wrong="the root is left" breaks="if `model` itself is of that kind, return its replacement" says=["a model that is itself a ReLU"]
def replace_by_type(model, kind, make):
    done = {}
    for parent in list(model.modules()):
        if isinstance(parent, kind):
            continue
        for name, child in list(parent._modules.items()):
            if isinstance(child, kind):
                if child not in done:
                    done[child] = make(child).train(child.training)
                parent._modules[name] = done[child]
    return model


# %% wrong="exact types only" breaks="subclasses count" says=["Hardtanh, whose subclass ReLU6 is in the model"]
def replace_by_type(model, kind, make):
    kinds, done = kind if isinstance(kind, tuple) else (kind,), {}

    def visit(module):
        if module is not None and module not in done:
            found = type(module) in kinds
            done[module] = make(module).train(module.training) if found else module
            for name in [] if found else module._modules:
                module._modules[name] = visit(module._modules[name])
        return done.get(module)

    return visit(model)


# %% wrong="deletes and adds, so the order changes" breaks="names keep their order" says=["the names are in another order than before"]
def replace_by_type(model, kind, make):
    done = {}

    def visit(module):
        if isinstance(module, kind):
            if module not in done:
                done[module] = make(module).train(module.training)
            return done[module]
        for name, child in list(module._modules.items()):
            if child is not None:
                new = visit(child)
                if new is not child:
                    del module._modules[name]
                    module.add_module(name, new)
        return module

    return visit(model)


# %% wrong="returns nothing" breaks="Return the model" says=["it returned NoneType, not a module"]
def replace_by_type(model, kind, make):
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, kind):
                setattr(parent, name, make(child))


# %% wrong="a second visit goes into the replacement" says=["it never ends: is a replacement searched"]
def replace_by_type(model, kind, make):
    done = {}

    def visit(module):
        if module is None:
            return None
        if isinstance(module, kind):
            if module not in done:
                done[module] = make(module).train(module.training)
            return done[module]
        for name in module._modules:
            module._modules[name] = visit(module._modules[name])
        return module

    return visit(model)


# %% right="paths first, from named_modules"
def replace_by_type(model, kind, make):
    if isinstance(model, kind):
        return make(model).train(model.training)
    places = [(n, m) for n, m in model.named_modules(remove_duplicate=False) if isinstance(m, kind)]
    inside = tuple(n + "." for n, _ in places)
    places = [(n, m) for n, m in places if not n.startswith(inside)]
    new = {}
    for _, old in places:
        if id(old) not in new:
            new[id(old)] = make(old)
            new[id(old)].train(old.training)
    for path, old in places:
        parent, _, last = path.rpartition(".")
        setattr(model.get_submodule(parent), last, new[id(old)])
    return model


# %% right="a stack, setattr, and a memo"
def replace_by_type(model, kind, make):
    root = nn.ModuleDict({"model": model})
    memo, stack, seen = {}, [root], set()
    while stack:
        parent = stack.pop()
        if id(parent) in seen:
            continue
        seen.add(id(parent))
        for name, child in parent._modules.items():
            if isinstance(child, kind):
                if id(child) not in memo:
                    memo[id(child)] = (child, make(child).train(child.training))
                parent._modules[name] = memo[id(child)][1]
            elif child is not None:
                stack.append(child)
    return root["model"]


# %% wrong="no child is None" breaks="A child may be `None`" says=["a child may be None"]
def replace_by_type(model, kind, make):
    if isinstance(model, kind):
        return make(model).train(model.training)
    places, stack, seen = [], [model], {id(model)}
    while stack:
        parent = stack.pop()
        for name, child in parent._modules.items():
            child.training
            if isinstance(child, kind):
                places.append((parent, name, child))
            elif id(child) not in seen:
                seen.add(id(child))
                stack.append(child)
    new = {}
    for parent, name, child in places:
        if id(child) not in new:
            new[id(child)] = make(child)
            new[id(child)].train(child.training)
        setattr(parent, name, new[id(child)])
    return model


# %% right="paths of the outermost ones"
def replace_by_type(model, kind, make):
    if isinstance(model, kind):
        new = make(model)
        return new.train(model.training)
    everything = list(model.named_modules(remove_duplicate=False))
    hit = {path for path, module in everything if isinstance(module, kind)}
    outer = [
        (path, module)
        for path, module in everything
        if path in hit and not any(path.startswith(other + ".") for other in hit)
    ]
    made = {}
    for path, module in outer:
        if module not in made:
            made[module] = make(module).train(module.training)
    for path, module in outer:
        parent, _, name = path.rpartition(".")
        model.get_submodule(parent)._modules[name] = made[module]
    return model


# %% wrong="searches inside what it replaces" breaks="What is replaced isn't searched any further" says=["SmallNet, (Block, Conv2d, Linear)"]
def replace_by_type(model, kind, make):
    done = {}

    def visit(module):
        if module in done:
            return done[module]
        done[module] = module
        for name, child in list(module._modules.items()):
            if child is not None:
                module._modules[name] = visit(child)
        if isinstance(module, kind):
            done[module] = make(module).train(module.training)
        return done[module]

    return visit(model)


# %% wrong="children that are None are deleted" says=["a child that is None is no longer there"]
def replace_by_type(model, kind, make):
    done = {}

    def visit(module):
        if module not in done:
            if isinstance(module, kind):
                done[module] = make(module).train(module.training)
            else:
                done[module] = module
                for name, child in list(module._modules.items()):
                    if child is None:
                        del module._modules[name]
                    else:
                        module._modules[name] = visit(child)
        return done[module]

    return visit(model)


# %% wrong="requires_grad as the old" says=["requires_grad of some parameters"]
def replace_by_type(model, kind, make):
    memo = {}

    def new_for(old):
        if old not in memo:
            memo[old] = make(old)
            memo[old].train(old.training).requires_grad_(False)
        return memo[old]

    if isinstance(model, kind):
        return new_for(model)
    seen = set()

    def walk(parent):
        if parent in seen:
            return
        seen.add(parent)
        for name, child in list(parent._modules.items()):
            if child is None:
                continue
            if isinstance(child, kind):
                parent._modules[name] = new_for(child)
            else:
                walk(child)

    walk(model)
    return model


# %% right="named_modules with duplicates"
def replace_by_type(model, kind, make):
    if isinstance(model, kind):
        return make(model).train(model.training)
    made, inside = {}, ()
    for path, module in list(model.named_modules(remove_duplicate=False)):
        if inside and path.startswith(inside):
            continue
        if isinstance(module, kind):
            if module not in made:
                made[module] = make(module).train(module.training)
            inside += (path + ".",)
            parent, _, name = path.rpartition(".")
            setattr(model.get_submodule(parent), name, made[module])
    return model


# %% wrong="only the first class of a tuple" breaks="a class or a tuple of classes" says=["SmallNet, (Block, Conv2d, Linear)"]
def replace_by_type(model, kind, make):
    made = {}

    def place(module):
        if module is None:
            return None
        if module in made:
            return made[module]
        made[module] = module
        if issubclass(type(module), kind) if isinstance(kind, type) else type(module) is kind[0]:
            made[module] = make(module)
            made[module].train(module.training)
            return made[module]
        for name, child in list(module._modules.items()):
            new = place(child)
            if new is not child:
                module._modules[name] = new
        return module

    return place(model)


# %% wrong="a copy of the old module" says=["make was called with a module that isn't the model's own"]
import copy


def replace_by_type(model, kind, make):
    memo = {}

    def go(m):
        if id(m) in memo:
            return memo[id(m)][1]
        if isinstance(m, kind):
            new = make(copy.deepcopy(m))
            new.train(m.training)
            memo[id(m)] = (m, new)
            return new
        memo[id(m)] = (m, m)
        for n in list(m._modules):
            c = m._modules[n]
            if c is not None:
                m._modules[n] = go(c)
        return m

    return go(model)


# %% wrong="the flag of the replacement alone" breaks="`new.train(old.training)`" says=["the mode is not the old one's at"]
def replace_by_type(model, kind, make):
    memo = {}

    def go(m):
        if id(m) in memo:
            return memo[id(m)][1]
        if isinstance(m, kind):
            new = make(m)
            new.training = m.training
            memo[id(m)] = (m, new)
            return new
        memo[id(m)] = (m, m)
        for n in list(m._modules):
            c = m._modules[n]
            if c is not None:
                m._modules[n] = go(c)
        return m

    return go(model)


# %% wrong="only layers without children" says=["Block"]
def replace_by_type(model, kind, make):
    memo = {}

    def go(m):
        if id(m) in memo:
            return memo[id(m)][1]
        if isinstance(m, kind) and not m._modules:
            new = make(m)
            new.train(m.training)
            memo[id(m)] = (m, new)
            return new
        memo[id(m)] = (m, m)
        for n in list(m._modules):
            c = m._modules[n]
            if c is not None:
                m._modules[n] = go(c)
        return m

    return go(model)


# %% right="a memo of pairs"
def replace_by_type(model, kind, make):
    memo = {}

    def go(m):
        if id(m) in memo:
            return memo[id(m)][1]
        if isinstance(m, kind):
            new = make(m)
            new.train(m.training)
            memo[id(m)] = (m, new)
            return new
        memo[id(m)] = (m, m)
        for n in list(m._modules):
            c = m._modules[n]
            if c is not None:
                m._modules[n] = go(c)
        return m

    return go(model)


# %% wrong="a memo as default argument" says=["the second call replaced nothing: is a memo kept between calls"]
def replace_by_type(model, kind, make, memo={}):
    def go(m):
        if id(m) in memo:
            return memo[id(m)][1]
        if isinstance(m, kind):
            new = make(m)
            new.train(m.training)
            memo[id(m)] = (m, new)
            return new
        memo[id(m)] = (m, m)
        for n in list(m._modules):
            c = m._modules[n]
            if c is not None:
                m._modules[n] = go(c)
        return m

    return go(model)


# %% wrong="freezes the replacement" says=["requires_grad of some parameters is no longer as it was"]
def replace_by_type(model, kind, make):
    memo = {}

    def go(m):
        if id(m) in memo:
            return memo[id(m)][1]
        if isinstance(m, kind):
            new = make(m)
            new.train(m.training)
            new.requires_grad_(False)
            memo[id(m)] = (m, new)
            return new
        memo[id(m)] = (m, m)
        for n in list(m._modules):
            c = m._modules[n]
            if c is not None:
                m._modules[n] = go(c)
        return m

    return go(model)


# %% wrong="the second place keeps the old module" breaks="its replacement is in all of them" says=["left as they were: c, d.z; there a module has a second name"]
def replace_by_type(model, kind, make):
    memo = {}

    def swap(old):
        if old not in memo:
            memo[old] = make(old)
            memo[old].train(old.training)
        return memo[old]

    seen = set()

    def visit(module):
        if module in seen:
            return
        seen.add(module)
        for name, child in module._modules.items():
            if isinstance(child, kind) and child not in memo:
                module._modules[name] = swap(child)
            elif child is not None:
                visit(child)

    if isinstance(model, kind):
        return swap(model)
    visit(model)
    return model


# %% wrong="takes the hooks of what stays" breaks="with their hooks" says=["have lost their hooks, or gained some"]
def replace_by_type(model, kind, make):
    memo = {}

    def swap(old):
        if old not in memo:
            memo[old] = make(old)
            memo[old].train(old.training)
        return memo[old]

    seen = set()

    def visit(module):
        if module in seen:
            return
        seen.add(module)
        module._forward_hooks.clear()
        for name, child in module._modules.items():
            if isinstance(child, kind):
                module._modules[name] = swap(child)
            elif child is not None:
                visit(child)

    if isinstance(model, kind):
        return swap(model)
    visit(model)
    return model


# %% wrong="searches the replacement, but not the old module in it" breaks="neither is its replacement" says=["make was called with a part of a replacement"]
def replace_by_type(model, kind, make):
    done = {}

    def visit(module):
        if module in done:
            return done[module]
        if isinstance(module, kind):
            new = make(module)
            new.train(module.training)
            done[module] = new
            for n, c in list(new._modules.items()):
                if c is not None and c is not module:
                    new._modules[n] = visit(c)
            return new
        done[module] = module
        for name, child in list(module._modules.items()):
            if child is not None:
                module._modules[name] = visit(child)
        return module

    return visit(model)


# %% wrong="makes replacements for parts of what is replaced" says=["make was called with a module inside one that is replaced"]
def replace_by_type(model, kind, make):
    if isinstance(model, kind):
        return make(model).train(model.training)
    found = [m for m in model.modules() if isinstance(m, kind)]
    new = {m: make(m).train(m.training) for m in found}
    for parent in [m for m in model.modules() if m not in new]:
        for name, child in parent._modules.items():
            if child in new:
                parent._modules[name] = new[child]
    return model


# %% wrong="puts the old module into eval mode first" breaks="which nothing has changed before" says=["the old module's mode was changed before make was called"]


def replace_by_type(model, kind, make):
    done = {}

    def visit(module):
        if module in done:
            return done[module]
        if isinstance(module, kind):
            mode = module.training
            new = make(module.eval())
            new.train(mode)
            done[module] = new
            return new
        done[module] = module
        for name, child in module._modules.items():
            if child is not None:
                module._modules[name] = visit(child)
        return module

    return visit(model)


# %% wrong="the first class of a tuple" breaks="a class or a tuple of classes" says=["each class of the tuple counts"]


def replace_by_type(model, kind, make):
    done = {}
    kind = kind[0] if isinstance(kind, tuple) else kind

    def visit(module):
        if module in done:
            return done[module]
        if isinstance(module, kind):
            new = make(module)
            new.train(module.training)
            done[module] = new
            return new
        done[module] = module
        for name, child in module._modules.items():
            if child is not None:
                module._modules[name] = visit(child)
        return module

    return visit(model)


# %% wrong="leaves the model itself" breaks="if `model` itself is of that kind, return its replacement" says=["the model itself is of that kind, and was not replaced"]


def replace_by_type(model, kind, make):
    done = {}

    def visit(module):
        if module in done:
            return done[module]
        if isinstance(module, kind):
            new = make(module)
            new.train(module.training)
            done[module] = new
            return new
        done[module] = module
        for name, child in module._modules.items():
            if child is not None:
                module._modules[name] = visit(child)
        return module

    if isinstance(model, kind):
        return model
    return visit(model)


# %% wrong="searches a replacement that is the old module" breaks="neither is its replacement" says=["make returns the old module itself", "that isn't searched"]
from collections.abc import Callable


def replace_by_type(model: nn.Module, kind: type | tuple, make: Callable) -> nn.Module:
    done = {}

    def visit(module):
        if module is None:
            return None
        if module in done:
            return done[module]
        if isinstance(module, kind):
            new = make(module)
            new.train(module.training)
            done[module] = new
            if new is not module:
                return new
        done[module] = module
        for name, child in list(module._modules.items()):
            new = visit(child)
            if new is not child:
                module._modules[name] = new
        return module

    return visit(model)


# %% wrong="takes an empty container for None" breaks="every module in `model`" says=["an empty container is a module as well"]
from collections.abc import Callable


def replace_by_type(model: nn.Module, kind: type | tuple, make: Callable) -> nn.Module:
    done = {}

    def visit(module):
        if module is None:
            return None
        if module in done:
            return done[module]
        if isinstance(module, kind):
            new = make(module)
            new.train(module.training)
            done[module] = new
            return new
        done[module] = module
        for name, child in list(module._modules.items()):
            new = visit(child) if child else child
            if new is not child:
                module._modules[name] = new
        return module

    return visit(model)


# %% wrong="keeps the old where the new is of its type" says=["of the same type, but others"]
from collections.abc import Callable


def replace_by_type(model: nn.Module, kind: type | tuple, make: Callable) -> nn.Module:
    done = {}

    def visit(module):
        if module is None:
            return None
        if module in done:
            return done[module]
        if isinstance(module, kind):
            new = make(module)
            new.train(module.training)
            if type(new) is type(module) and new is not module:
                new = module
            done[module] = new
            return new
        done[module] = module
        for name, child in list(module._modules.items()):
            new = visit(child)
            if new is not child:
                module._modules[name] = new
        return module

    return visit(model)


# %% wrong="casts replacements to float32" says=["the dtype of some parameters is no longer float64"]
from collections.abc import Callable


def replace_by_type(model: nn.Module, kind: type | tuple, make: Callable) -> nn.Module:
    done = {}

    def visit(module):
        if module is None:
            return None
        if module in done:
            return done[module]
        if isinstance(module, kind):
            new = make(module)
            new.train(module.training)
            new.float()
            done[module] = new
            return new
        done[module] = module
        for name, child in list(module._modules.items()):
            new = visit(child)
            if new is not child:
                module._modules[name] = new
        return module

    return visit(model)


# %% wrong="searches plain lists as well" says=["from a plain list"]
from collections.abc import Callable


def replace_by_type(model: nn.Module, kind: type | tuple, make: Callable) -> nn.Module:
    done = {}

    def visit(module):
        if module is None:
            return None
        if module in done:
            return done[module]
        if isinstance(module, kind):
            new = make(module)
            new.train(module.training)
            done[module] = new
            return new
        done[module] = module
        for name, child in list(module._modules.items()):
            new = visit(child)
            if new is not child:
                module._modules[name] = new
        for name, value in list(vars(module).items()):
            if isinstance(value, list):
                vars(module)[name] = [visit(v) if isinstance(v, nn.Module) else v for v in value]
        return module

    return visit(model)


# %% wrong="forgets a module that make gave back" breaks="`make` is called once for each such module" says=["make was called 5 times for 3 modules"]
def replace_by_type(model, kind, make):
    done = {}

    def place(module):
        if module in done:
            return done[module]
        if isinstance(module, kind):
            new = make(module)
            new.train(module.training)
            done[module] = new
            if new is module:
                done.pop(module)
            return new
        done[module] = module
        for name, child in list(module._modules.items()):
            if child is not None:
                module._modules[name] = place(child)
        return module

    return place(model)


# %% wrong="makes anew where the replacement is of the kind" breaks="`make` is called once for each such module" says=["make was called 5 times for 3 modules"]
def replace_by_type(model, kind, make):
    done = {}

    def place(module):
        if module in done and not isinstance(done[module], kind):
            return done[module]
        if isinstance(module, kind):
            new = make(module)
            new.train(module.training)
            done[module] = new
            return new
        done[module] = module
        for name, child in list(module._modules.items()):
            if child is not None:
                module._modules[name] = place(child)
        return module

    return place(model)


# %% wrong="the replacement takes over the old module's hooks" breaks="All else about it is as `make` left it" says=["hasn't the hooks that make gave it"]
def replace_by_type(model, kind, make):
    done = {}

    def place(module):
        if module in done:
            return done[module]
        if isinstance(module, kind):
            new = make(module)
            new.train(module.training)
            new._forward_hooks = module._forward_hooks
            done[module] = new
            return new
        done[module] = module
        for name, child in list(module._modules.items()):
            if child is not None:
                module._modules[name] = place(child)
        return module

    return place(model)


# %% wrong="clears the replacement's hooks" breaks="All else about it is as `make` left it" says=["hasn't the hooks that make gave it"]
def replace_by_type(model, kind, make):
    done = {}

    def place(module):
        if module in done:
            return done[module]
        if isinstance(module, kind):
            new = make(module)
            new.train(module.training)
            new._forward_hooks.clear()
            done[module] = new
            return new
        done[module] = module
        for name, child in list(module._modules.items()):
            if child is not None:
                module._modules[name] = place(child)
        return module

    return place(model)


# %% wrong="an empty replacement is made again" breaks="`make` is called once for each such module" says=["an empty container is False as a truth value"]
def replace_by_type(model, kind, make):
    made, seen = {}, set()

    def swap(old):
        made[old] = made.get(old) or make(old).train(old.training)
        return made[old]

    def visit(parent):
        if parent is None or parent in seen:
            return
        seen.add(parent)
        for name, child in list(parent._modules.items()):
            if isinstance(child, kind):
                parent._modules[name] = swap(child)
            else:
                visit(child)

    if isinstance(model, kind):
        return swap(model)
    visit(model)
    return model


# %% wrong="puts a replacement in place if it holds anything" says=["replaced by containers that are empty"]
def replace_by_type(model, kind, make):
    known = {}

    def visit(old):
        if old in known:
            return known[old]
        known[old] = old
        if isinstance(old, kind):
            known[old] = make(old).train(old.training) or old
        else:
            for name, child in old._modules.items():
                if child is not None:
                    old._modules[name] = visit(child)
        return known[old]

    return visit(model)


# %% wrong="equal layers share a replacement" breaks="`make` is called once for each such module" says=["make was called 2 times for 3 modules: equal modules have a replacement each"]
def replace_by_type(model, kind, make):
    done = {}

    def swap(old):
        key = (type(old), repr(old), old.training)
        if key not in done:
            done[key] = make(old).train(old.training)
        return done[key]

    def visit(module, seen):
        if module is None or module in seen:
            return
        seen.add(module)
        for name, child in list(module._modules.items()):
            if isinstance(child, kind):
                module._modules[name] = swap(child)
            else:
                visit(child, seen)

    if isinstance(model, kind):
        return swap(model)
    visit(model, set())
    return model


# %% wrong="moves the replacement to the dtype of the old one" breaks="All else about it is as `make` left it" says=["isn't as make left it: another dtype"]
from collections.abc import Callable


def replace_by_type(model, kind, make):
    done = {}

    def exchange(old):
        reference = next(
            (t for t in [*old.parameters(), *old.buffers()] if t.is_floating_point()), None
        )
        new = make(old)
        if reference is not None:
            new = new.to(device=reference.device, dtype=reference.dtype)
        return new.train(old.training)

    def visit(module):
        if module not in done:
            if isinstance(module, kind):
                done[module] = exchange(module)
            else:
                done[module] = module
                for name, child in module._modules.items():
                    if child is not None:
                        module._modules[name] = visit(child)
        return done[module]

    return visit(model)


# %% wrong="takes a name that begins alike for one inside" breaks="every module in `model`" says=["left as they were: 10, 11; a name that begins as another"]
from collections.abc import Callable


def replace_by_type(model: nn.Module, kind: type | tuple, make: Callable) -> nn.Module:
    """``model`` with ``make(old)`` in the place of each ``old`` that is an instance of ``kind``."""
    if isinstance(model, kind):
        return make(model).train(model.training)
    done, paths = {}, []
    for path, module in list(model.named_modules(remove_duplicate=False)):
        if path.startswith(tuple(paths)) or not isinstance(module, kind):
            continue
        paths.append(path)
        if module not in done:
            done[module] = make(module).train(module.training)
        parent, _, name = path.rpartition(".")
        model.get_submodule(parent)._modules[name] = done[module]
    return model


# %% wrong="what replaces a frozen module is frozen" breaks="All else about it is as `make` left it" says=["isn't as make left it: another dtype, or frozen"]
def replace_by_type(model, kind, make):
    done = {}

    def visit(module):
        if module in done:
            return done[module]
        if isinstance(module, kind):
            mode, old = module.training, list(module.parameters())
            done[module] = new = make(module)
            if old and not any(parameter.requires_grad for parameter in old):
                new.requires_grad_(False)
            return new.train(mode)
        done[module] = module
        for name, child in list(module._modules.items()):
            if child is not None:
                module._modules[name] = visit(child)
        return module

    return visit(model)
