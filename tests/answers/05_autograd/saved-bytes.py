# %% [markdown]
# Rules:
#
# - "write how many bytes of storage it keeps for backward"
# - "A storage that several rules keep counts once"
# - "`where` keeps its condition"
# - "calls `function(*inputs)` once"
# - "how many bytes of storage autograd keeps for its backward"
# - "each storage once"
# - "and the inputs' storages not at all"
# - "Count whole storages, not elements"
# - "a view keeps all of its storage alive"
# - "Leave the inputs as they are"
# - "and no hook behind, also where `function` raises"
# - "its error is"
#
# Admits:
#
# - "`function(*inputs)` once, which gives one tensor": nothing is recorded
# - "the inputs' storages": both slices lie in an input's storage
# - "inputs' storages not at all": an input may begin in the middle of its storage
# - "bytes of storage": its numbers have 8 bytes each
# - "Count whole storages, not elements": an expanded tensor has few boxes of its own
# - "each storage once": two rules keep the log-softmax: one storage

# %% wrong="counts every saved tensor" says=["h * h is not 12800", "one storage of 32 · 50 · 4 bytes", "expected 0, got 48 (each storage once, the inputs' not at all"]
kept_bytes = {
    "h + 1": 0,
    "h * h": 12800,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 8400,
    "F.cross_entropy(h @ w, t)": 8964,
    "F.relu(h) @ w": 12800,
}


def saved_bytes(function, *inputs):
    total = []

    def pack(t):
        total.append(t.numel() * t.itemsize)
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        function(*inputs)
    return sum(total)


# %% wrong="everything that is computed is kept" breaks="write how many bytes of storage it keeps for backward" says=["h + 1 is not 6400: the slope is 1", "it keeps only the shape", "an expanded tensor has few boxes"]
kept_bytes = {
    "h + 1": 6400,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 200,
    "h / h.sum()": 6400,
    "torch.where(h > 0, h, 0.0)": 6400,
    "h @ w": 1280,
    "F.cross_entropy(h @ w, t)": 4,
    "F.relu(h) @ w": 7680,
}


def saved_bytes(function, *inputs):
    kept = {}

    def pack(t):
        kept[t.untyped_storage().data_ptr()] = t
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        function(*inputs)
    for x in inputs:
        kept.pop(x.untyped_storage().data_ptr(), None)
    return sum(t.numel() * t.itemsize for t in kept.values())


# %% wrong="masks as floats" breaks="`where` keeps its condition" says=["a truth value is one byte", "expected 24, got 6"]
kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 6400,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    kept = {}

    def pack(t):
        kept[t.untyped_storage().data_ptr()] = t
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        function(*inputs)
    for x in inputs:
        kept.pop(x.untyped_storage().data_ptr(), None)
    return sum(t.numel() for t in kept.values())


# %% wrong="the size of the result" breaks="how many bytes of storage autograd keeps for its backward" says=["predictions are still blank", "expected 0, got 24"]
kept_bytes = {"h + 1": 0}


def saved_bytes(function, *inputs):
    return function(*inputs).untyped_storage().nbytes()


# %% right="reads the graph"
kept_bytes = dict.fromkeys(("h + 1", "h.sum(0)"), 0)
kept_bytes |= dict.fromkeys(
    ("h * h", "h.exp()", "F.relu(h)", "h @ w", "F.relu(h) @ w"), 4 * 32 * 50
)
kept_bytes |= {"h / h.sum()": 6400 + 4, "torch.where(h > 0, h, 0.0)": 32 * 50}
kept_bytes["F.cross_entropy(h @ w, t)"] = 4 * (32 * 50 + 32 * 10 + 1)


def saved_bytes(function, *inputs):
    result = function(*inputs)
    waiting, seen, storages = [result.grad_fn], set(), {}
    while waiting:
        fn = waiting.pop()
        if fn is None or fn in seen:
            continue
        seen.add(fn)
        for name in dir(fn):
            value = getattr(fn, name) if name.startswith("_saved_") else None
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, torch.Tensor):
                    storages[part.untyped_storage().data_ptr()] = part.untyped_storage().nbytes()
        waiting += [after for after, _ in fn.next_functions]
    mine = {x.untyped_storage().data_ptr() for x in inputs}
    return sum(n for place, n in storages.items() if place not in mine)


# %% wrong="knows inputs by identity" breaks="and the inputs' storages not at all" says=["linear of [(2, 3), (4, 3)]", "the storage is an input's"]
kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    kept = {}

    def pack(t):
        if not any(t is x for x in inputs):
            kept[t.untyped_storage().data_ptr()] = t.untyped_storage()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        function(*inputs)
    return sum(storage.nbytes() for storage in kept.values())


# %% wrong="where the tensor begins, not its storage" breaks="a view keeps all of its storage alive" says=["rows of exp, multiplied of [(2, 3)]", "two are of one", "a slice of x lies in the storage of x"]
kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    kept = {}

    def pack(t):
        kept[t.data_ptr()] = t
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        function(*inputs)
    for x in inputs:
        kept.pop(x.data_ptr(), None)
    return sum(t.untyped_storage().nbytes() for t in kept.values())


# %% wrong="keeps nothing alive" breaks="each storage once" says=["exp, fifty times of [(40, 64)]", "a freed storage's address is used again"]
kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    sizes = {}

    def pack(t):
        sizes[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return None

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        function(*inputs)
    for x in inputs:
        sizes.pop(x.untyped_storage().data_ptr(), None)
    return sum(sizes.values())


# %% right="a list of tensors, storages by address"
kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    held = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: held.append(t) or t, lambda t: t):
        result = function(*inputs)
    own = {x.untyped_storage()._cdata for x in inputs}
    sizes = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in held}
    del result
    return sum(size for which, size in sizes.items() if which not in own)


# %% wrong="inputs by the address of their first number" says=["an input may begin in the middle of its storage"]
kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    storages = {}

    def pack(t):
        storages[t.untyped_storage().data_ptr()] = t.untyped_storage()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        _ = function(*inputs)
    for x in inputs:
        storages.pop(x.data_ptr(), None)
    return sum(s.nbytes() for s in storages.values())


# %% wrong="elements, not storages" breaks="Count whole storages, not elements" says=["rows of exp, multiplied of [(2, 3)]", "expected 24, got 12"]
kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    held = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: held.append(t) or t, lambda t: t):
        result = function(*inputs)
    own = {x.untyped_storage()._cdata for x in inputs}
    sizes = {t.untyped_storage()._cdata: t.numel() * t.itemsize for t in held}
    del result
    return sum(size for which, size in sizes.items() if which not in own)


# %% wrong="calls it once more, to see the result" breaks="calls `function(*inputs)` once" says=["the function was called 2 times, not once"]
kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    held = []
    if not function(*inputs).requires_grad:
        return 0
    with torch.autograd.graph.saved_tensors_hooks(lambda t: held.append(t) or t, lambda t: t):
        result = function(*inputs)
    own = {x.untyped_storage()._cdata for x in inputs}
    sizes = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in held}
    del result
    return sum(size for which, size in sizes.items() if which not in own)


# %% wrong="goes backward as well" breaks="Leave the inputs as they are" says=["an input was changed", "no backward is needed to count"]
kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    held = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: held.append(t) or t, lambda t: t):
        result = function(*inputs)
        if result.requires_grad:
            result.sum().backward()
    own = {x.untyped_storage()._cdata for x in inputs}
    sizes = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in held}
    return sum(size for which, size in sizes.items() if which not in own)


# %% wrong="one storage for two rules is counted twice" breaks="A storage that several rules keep counts once" says=["F.relu(h) @ w is not 12800: relu and the product keep the same tensor"]
kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 8964,
    "F.relu(h) @ w": 12800,
}


def saved_bytes(function, *inputs):
    held = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: held.append(t) or t, lambda t: t):
        result = function(*inputs)
    own = {x.untyped_storage()._cdata for x in inputs}
    sizes = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in held}
    del result
    return sum(size for which, size in sizes.items() if which not in own)


# %% wrong="leaves that require grad are taken for inputs" says=["relu(x + 1) @ ones of [(2, 3)]", "a weight that it makes is no input"]
kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    storages = {}

    def pack(tensor):
        if tensor.is_leaf and tensor.requires_grad:
            return tensor
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(*inputs)
    for x in inputs:
        storages.pop(x.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())


# %% wrong="inputs by their numbers" says=["a clone, squared of [(2, 3)]", "equal numbers in another storage"]
kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    storages = {}

    def pack(tensor):
        if any(tensor.shape == x.shape and torch.equal(tensor, x) for x in inputs):
            return tensor
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(*inputs)
    for x in inputs:
        storages.pop(x.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())


# %% wrong="takes the inputs' gradients away" says=["an input was changed"]
kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(*inputs)
    for x in inputs:
        x.grad = None
        storages.pop(x.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())


# %% wrong="calls the function with copies" says=["gaps are copied: call it with the inputs themselves"]
kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    storages = {}
    inputs = [x.clone() for x in inputs]

    def pack(tensor):
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        _result = function(*inputs)
    for x in inputs:
        storages.pop(x.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())


# %% wrong="takes every parameter for an input" says=["a parameter that the function has is no input"]

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    storages = {}

    def pack(tensor):
        if isinstance(tensor, nn.Parameter):
            return tensor
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        function(*inputs)
    for x in inputs:
        storages.pop(x.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())


# %% wrong="switches recording on" says=["inside torch.no_grad(): the number of bytes: expected 0, got 24 (who calls it under no_grad"]

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        with torch.enable_grad():
            function(*inputs)
    for x in inputs:
        storages.pop(x.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())


# %% wrong="a float" says=["is a float, not a whole number (int)"]

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        function(*inputs)
    for x in inputs:
        storages.pop(x.untyped_storage().data_ptr(), None)
    return 1.0 * sum(storage.nbytes() for storage in storages.values())


# %% wrong="counts floats alone" says=["whole numbers are kept, too: which rows were taken", "a byte each"]

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    storages = {}

    def pack(tensor):
        if not tensor.is_floating_point():
            return tensor
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        function(*inputs)
    for x in inputs:
        storages.pop(x.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())


# %% wrong="relies on a first input" says=["exp of no input"]

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    storages = {inputs[0].untyped_storage().data_ptr(): inputs[0].untyped_storage()}

    def pack(tensor):
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        function(*inputs)
    for x in inputs:
        storages.pop(x.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())


# %% wrong="takes the hooks off by hand" breaks="and no hook behind, also where `function` raises" says=["hooks stayed on after the call, or after one in which function raised"]

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t)
    hooks.__enter__()
    function(*inputs)
    hooks.__exit__()
    for x in inputs:
        storages.pop(x.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())


# %% wrong="walks the graph, past lists of tensors" says=["which rows were taken"]

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    result = function(*inputs)
    own = {x.untyped_storage().data_ptr() for x in inputs}
    found, seen, waiting = {}, set(), [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting += [n for n, _ in node.next_functions]
        for name in dir(node):
            if name.startswith("_saved_"):
                t = getattr(node, name)
                if isinstance(t, torch.Tensor):
                    found[t.untyped_storage().data_ptr()] = t.untyped_storage()
    return sum(st.nbytes() for p, st in found.items() if p not in own)


# %% wrong="keeps the error of the function back" breaks="its error is" says=["its error was kept back: let it through"]

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    try:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            function(*inputs)
    except Exception:
        return 0
    for tensor in inputs:
        storages.pop(tensor.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())


# %% wrong="packs nothing, as nobody unpacks" says=["it goes backward itself: pack returns what unpack needs"]

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(*inputs)
    for tensor in inputs:
        storages.pop(tensor.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())


# %% wrong="each storage once in all calls" says=["a weight of its own counts in each call"]

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


ALL = {}


def saved_bytes(function, *inputs):
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in ALL:
            ALL[storage.data_ptr()] = storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(*inputs)
    for tensor in inputs:
        storages.pop(tensor.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())


# %% wrong="recording is on afterwards" says=["grad mode was changed"]

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(*inputs)
    torch.set_grad_enabled(True)
    for tensor in inputs:
        storages.pop(tensor.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())


# %% wrong="the storages of contiguous inputs alone" says=["an input with gaps in memory is an input"]

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function, *inputs):
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(*inputs)
    for tensor in inputs:
        storages.pop(tensor.contiguous().untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())


# %% wrong="raises an error of its own" says=["function raised, and another error came out: let its own through"]
from collections.abc import Callable

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function: Callable, *inputs: torch.Tensor) -> int:
    try:
        found = {}

        def pack(t):
            s = t.untyped_storage()
            found[s.data_ptr()] = s
            return t

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            function(*inputs)
        for t in inputs:
            found.pop(t.untyped_storage().data_ptr(), None)
        return sum(s.nbytes() for s in found.values())
    except Exception as error:
        raise RuntimeError("the function failed") from error


# %% wrong="where the function fails, nothing is kept" says=["its error was kept back: let it through"]
from collections.abc import Callable

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function: Callable, *inputs: torch.Tensor) -> int:
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage
        return tensor

    try:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            function(*inputs)
    except RuntimeError:
        return 0
    for x in inputs:
        kept.pop(x.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in kept.values())


# %% wrong="one dict for all calls" says=["asked again: an earlier call's bytes don't count"]
from collections.abc import Callable

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function: Callable, *inputs: torch.Tensor, _kept: dict = {}) -> int:
    def pack(tensor):
        storage = tensor.untyped_storage()
        _kept[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(*inputs)
    for x in inputs:
        _kept.pop(x.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in _kept.values())


# %% right="sizes by address, for the graph holds on to each storage"
from collections.abc import Callable

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function: Callable, *inputs: torch.Tensor) -> int:
    sizes = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        sizes.setdefault(storage.data_ptr(), storage.nbytes())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(*inputs)
    own = {tensor.untyped_storage().data_ptr() for tensor in inputs}
    return sum(size for address, size in sizes.items() if address not in own)


# %% wrong="takes the hooks off after an Exception alone" breaks="and no hook behind, also where `function` raises" says=["hooks stayed on after the call"]
from collections.abc import Callable

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


def saved_bytes(function: Callable, *inputs: torch.Tensor) -> int:
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
    hooks.__enter__()
    try:
        function(*inputs)
    except Exception:
        hooks.__exit__(None, None, None)
        raise
    hooks.__exit__(None, None, None)
    own = {tensor.untyped_storage().data_ptr() for tensor in inputs}
    return sum(storage.nbytes() for address, storage in kept.items() if address not in own)


# %% wrong="keeps the answer for equal arguments" says=["asked again for the same function and inputs, the answer didn't call function"]
import functools
from collections.abc import Callable

kept_bytes = {
    "h + 1": 0,
    "h * h": 6400,
    "h.exp()": 6400,
    "F.relu(h)": 6400,
    "h.sum(0)": 0,
    "h / h.sum()": 6404,
    "torch.where(h > 0, h, 0.0)": 1600,
    "h @ w": 6400,
    "F.cross_entropy(h @ w, t)": 7684,
    "F.relu(h) @ w": 6400,
}


@functools.cache
def saved_bytes(function: Callable, *inputs: torch.Tensor) -> int:
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(*inputs)
    for tensor in inputs:
        storages.pop(tensor.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())
