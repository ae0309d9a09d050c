# %% [markdown]
# Rules:
#
# - "a dict with"
# - "all that the forward pass saves"
# - "the batch included where it is saved"
# - "parameters not"
# - "linear layers with a bias"
# - "is the number of rows"
# - "the bytes of an element"
# - "(one buffer the size of each parameter)"
# - "(two)"
# - "without computing the step"
# - "Sizes may be huge"
#
# Admits:
#
# - "in any order behind a first linear layer": activations in a row
# - "is the number of rows": float64, one row
# - "`("gelu",)`": ends with GELU
# - "Sizes may be huge": huge
# - "2, 4 or 8": bfloat16
# - "Sizes may be huge": huge, together above 2**63

# %% wrong="no bias" breaks="linear layers with a bias" says=["biases are parameters, too"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += sizes[0] * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1 if name in ("relu", "tanh") else k)  # tensor k goes into layer k
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="elements" says=["each has itemsize bytes"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1 if name in ("relu", "tanh") else k)  # tensor k goes into layer k
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch,
    }


# %% wrong="always float32" breaks="the bytes of an element" says=["not always 4"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1 if name in ("relu", "tanh") else k)  # tensor k goes into layer k
    parameters *= 4
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * 4,
    }


# %% wrong="Adam keeps one" breaks="(two)" says=["Adam keeps two averages"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1 if name in ("relu", "tanh") else k)  # tensor k goes into layer k
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 1}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="SGD keeps one" says=["plain SGD keeps nothing"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1 if name in ("relu", "tanh") else k)  # tensor k goes into layer k
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 1, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="momentum keeps two" breaks="(one buffer the size of each parameter)" says=["momentum keeps one buffer"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1 if name in ("relu", "tanh") else k)  # tensor k goes into layer k
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 2, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="every output" breaks="all that the forward pass saves" says=["one that no layer needs again"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1)  # tensor k goes into layer k
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="every tensor" breaks="parameters not" says=["only what its gradient needs"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept |= {k, k + 1}  # tensor k goes into layer k
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="each layer its own" says=["a tensor that two layers save is there once"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], []
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.append(k + 1 if name in ("relu", "tanh") else k)  # tensor k goes into layer k
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="GELU like ReLU" says=["GELU saves its input"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1 if name in ("relu", "tanh", "gelu") else k)  # tensor k goes into layer k
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="always the input" says=["ReLU and tanh save their result"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k)  # tensor k goes into layer k
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="the batch is no activation" breaks="the batch included where it is saved" says=["the batch that goes into the first"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1 if name in ("relu", "tanh") else k)  # tensor k goes into layer k
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept if k) * batch * itemsize,
    }


# %% wrong="for one row" breaks="is the number of rows" says=["that is for one row"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1 if name in ("relu", "tanh") else k)  # tensor k goes into layer k
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * itemsize,
    }


# %% wrong="a key is missing" breaks="a dict with" says=["the dict has no optimizer"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1 if name in ("relu", "tanh") else k)  # tensor k goes into layer k
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimiser": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% right="backwards, with names"
def memory_ledger(layers, batch, optimizer, itemsize):
    linears = [sizes for name, *sizes in layers if name == "linear"]
    weights = sum(i * o + o for i, o in linears) * itemsize
    needed, total, widths, after = False, 0, [], 0
    for name, *sizes in layers:
        widths.append(sizes[0] if name == "linear" else after)
        after = sizes[1] if name == "linear" else after
    for (name, *_), width in zip(reversed(layers), reversed(widths), strict=True):
        if name in ("relu", "tanh") and not needed:
            total += width
        if name in ("linear", "gelu"):
            total += width
        needed = name in ("linear", "gelu")
    states = 2 if optimizer == "adam" else int(optimizer == "momentum")
    return dict(
        activations=total * batch * itemsize,
        optimizer=states * weights,
        gradients=weights,
        parameters=weights,
    )


# %% right="runs the step on the device meta"
def memory_ledger(layers, batch, optimizer, itemsize):
    dtype = {2: torch.half, 4: torch.float32, 8: torch.float64}[itemsize]
    parts = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}
    with torch.device("meta"):
        model = nn.Sequential(
            *(
                nn.Linear(*sizes, dtype=dtype) if name == "linear" else parts[name]()
                for name, *sizes in layers
            )
        )
        x = torch.empty(batch, layers[0][1], dtype=dtype)
    own = {p.untyped_storage()._cdata for p in model.parameters()}
    kept = {}

    def pack(tensor):
        kept[tensor.untyped_storage()._cdata] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = model(x)
    size = sum(p.nbytes for p in model.parameters())
    states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    saved = sum(t.nbytes for key, t in kept.items() if key not in own)
    del y
    return {"parameters": size, "gradients": size, "optimizer": states * size, "activations": saved}


# %% wrong="results count only where a linear layer reads them" says=["activations in a row"]
def memory_ledger(layers, batch, optimizer, itemsize):
    numbers, kept, width = 0, 0, 0
    for name, *sizes in layers:
        if name == "linear":
            numbers += (sizes[0] + 1) * sizes[1]
            kept += sizes[0]
            width = sizes[1]
        elif name == "gelu":
            kept += width
    if layers[-1][0] in ("relu", "tanh"):
        kept += width
    size = numbers * itemsize
    states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * size
    kept *= batch * itemsize
    return {"parameters": size, "gradients": size, "optimizer": states, "activations": kept}


# %% wrong="tanh saves what goes into it" says=["tanh saves its result, as ReLU does"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1 if name in ("relu",) else k)  # tensor k goes into layer k
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="the last result is kept" says=["the last result is saved only where the last layer needs it"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1 if name in ("relu", "tanh") else k)  # tensor k goes into layer k
    kept.add(len(layers))
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="four bytes always" says=["optimizer: each element has itemsize bytes, not always 4"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate(layers):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1 if name in ("relu", "tanh") else k)  # tensor k goes into layer k
    itemsize = 4
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="takes layers off the list" says=["layers was changed: it is the caller's list"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    """Bytes of ``parameters``, ``gradients``, ``optimizer`` and ``activations``."""
    width, parameters = layers[0][1], 0
    widths, kept = [width], set()
    for k, (name, *sizes) in enumerate([layers.pop(0) for _ in range(len(layers))]):
        if name == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            width = sizes[1]
        widths.append(width)
        kept.add(k + 1 if name in ("relu", "tanh") else k)  # tensor k goes into layer k
    parameters *= itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="a bias as long as the input" says=["a bias has an element for each output"]
def memory_ledger(layers, batch, optimizer, itemsize):
    numbers, kept, width, sizes = 0, set(), None, {}
    for k, layer in enumerate(layers):
        kind = layer[0]
        if kind == "linear":
            inputs, outputs = layer[1:]
            numbers += inputs * outputs + inputs
            sizes[k], width = inputs, outputs
            kept.add(k)
        elif kind == "gelu":
            kept.add(k)
        else:
            kept.add(k + 1)
        sizes.setdefault(k, width)
        sizes[k + 1] = width
    parameters = numbers * itemsize
    states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    activations = sum(sizes[k] for k in kept) * batch * itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": states * parameters,
        "activations": activations,
    }


# %% wrong="a gradient of the batch as well" says=["those of the parameters alone are there"]
def memory_ledger(layers, batch, optimizer, itemsize):
    numbers, kept, width, sizes = 0, set(), None, {}
    for k, layer in enumerate(layers):
        kind = layer[0]
        if kind == "linear":
            inputs, outputs = layer[1:]
            numbers += inputs * outputs + outputs
            sizes[k], width = inputs, outputs
            kept.add(k)
        elif kind == "gelu":
            kept.add(k)
        else:
            kept.add(k + 1)
        sizes.setdefault(k, width)
        sizes[k + 1] = width
    parameters = numbers * itemsize
    states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    activations = sum(sizes[k] for k in kept) * batch * itemsize
    return {
        "parameters": parameters,
        "gradients": parameters + sizes[0] * batch * itemsize,
        "optimizer": states * parameters,
        "activations": activations,
    }


# %% wrong="a mask where nothing else keeps the result" says=["ends with ReLU: activations are not what the step takes"]
def memory_ledger(layers, batch, optimizer, itemsize):
    parameters, sizes, kept, masks = 0, [], set(), 0
    for k, layer in enumerate(layers):
        if layer[0] == "linear":
            _, i, o = layer
            parameters += i * o + o
            if k == 0:
                sizes.append(i)
            sizes.append(o)
            kept.add(k)
        else:
            sizes.append(sizes[-1])
            if layer[0] == "relu" and k + 1 == len(layers):
                masks += sizes[-1] * batch
            else:
                kept.add(k if layer[0] == "gelu" else k + 1)
    p = parameters * itemsize
    return {
        "parameters": p,
        "gradients": p,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * p,
        "activations": sum(sizes[k] for k in kept) * batch * itemsize + masks,
    }


# %% wrong="widths in a set" says=["tensors of the same size are several tensors"]
def memory_ledger(layers, batch, optimizer, itemsize):
    parameters, sizes, kept = 0, [], set()
    for k, layer in enumerate(layers):
        if layer[0] == "linear":
            _, i, o = layer
            parameters += i * o + o
            if k == 0:
                sizes.append(i)
            sizes.append(o)
            kept.add(k)
        else:
            sizes.append(sizes[-1])
            kept.add(k if layer[0] == "gelu" else k + 1)
    p = parameters * itemsize
    return {
        "parameters": p,
        "gradients": p,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * p,
        "activations": sum({sizes[k] for k in kept}) * batch * itemsize,
    }


# %% wrong="the last result is forgotten" says=["a result that the last layer saves is counted, too"]
def memory_ledger(layers, batch, optimizer, itemsize):
    parameters, sizes, kept = 0, [], set()
    for k, layer in enumerate(layers):
        if layer[0] == "linear":
            _, i, o = layer
            parameters += i * o + o
            if k == 0:
                sizes.append(i)
            sizes.append(o)
            kept.add(k)
        else:
            sizes.append(sizes[-1])
            kept.add(k if layer[0] == "gelu" else k + 1)
    kept.discard(len(layers))
    p = parameters * itemsize
    return {
        "parameters": p,
        "gradients": p,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * p,
        "activations": sum(sizes[k] for k in kept) * batch * itemsize,
    }


# %% wrong="of two equal activations the second keeps nothing" says=["ends with tanh twice: activations"]
def memory_ledger(layers, batch, optimizer, itemsize):
    parameters, kept, width = 0, {}, layers[0][1]
    for n, (kind, *sizes) in enumerate(layers):
        if kind == "linear":
            parameters += (sizes[0] + 1) * sizes[1]
            kept[n], width = sizes
        elif kind == "gelu":
            kept[n] = width
        elif layers[n - 1][0] != kind:
            kept[n + 1] = width
    own = parameters * itemsize
    states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    activations = batch * itemsize * sum(kept.values())
    return {
        "parameters": own,
        "gradients": own,
        "optimizer": states * own,
        "activations": activations,
    }


# %% wrong="tanh behind ReLU keeps its input" says=["ends with four: activations"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    widths, kept, parameters = [layers[0][1]], set(), 0
    for k, layer in enumerate(layers):
        if layer[0] == "linear":
            parameters += layer[1] * layer[2] + layer[2]
            widths.append(layer[2])
            kept.add(k)
        else:
            widths.append(widths[-1])
            kept.add(
                k
                if layer[0] == "gelu" or (layer[0] == "tanh" and layers[k - 1][0] == "relu")
                else k + 1
            )
    buffers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    return {
        "parameters": parameters * itemsize,
        "gradients": parameters * itemsize,
        "optimizer": buffers * parameters * itemsize,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="relu behind relu keeps nothing new" says=["ends with four: activations"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    widths, kept, parameters = [layers[0][1]], set(), 0
    for k, layer in enumerate(layers):
        if layer[0] == "linear":
            parameters += layer[1] * layer[2] + layer[2]
            widths.append(layer[2])
            kept.add(k)
        else:
            widths.append(widths[-1])
            kept.add(
                k
                if layer[0] == "gelu" or (layer[0] == "relu" and layers[k - 1][0] == "relu")
                else k + 1
            )
    buffers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    return {
        "parameters": parameters * itemsize,
        "gradients": parameters * itemsize,
        "optimizer": buffers * parameters * itemsize,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="a row at least" says=["no row: activations"]
def memory_ledger(layers, batch, optimizer, itemsize):
    count, widths, kept = 0, [layers[0][1]], set()
    for k, (kind, *sizes) in enumerate(layers):
        widths.append(sizes[1] if sizes else widths[-1])
        if kind == "linear":
            count += sizes[0] * sizes[1] + sizes[1]
        kept.add(k if kind in ("linear", "gelu") else k + 1)
    parameters = count * itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(max(1, batch) * widths[k] for k in kept) * itemsize,
    }


# %% wrong="bytes as floats" says=["parameters is of type float, expected an int"]
def memory_ledger(layers, batch, optimizer, itemsize):
    count, widths, kept = 0, [layers[0][1]], set()
    for k, (kind, *sizes) in enumerate(layers):
        widths.append(sizes[1] if sizes else widths[-1])
        if kind == "linear":
            count += sizes[0] * sizes[1] + sizes[1]
        kept.add(k if kind in ("linear", "gelu") else k + 1)
    parameters = float(count * itemsize)
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(batch * widths[k] for k in kept) * itemsize,
    }


# %% wrong="a single column is not kept" says=["one column: activations"]
def memory_ledger(layers, batch, optimizer, itemsize):
    count, widths, kept = 0, [layers[0][1]], set()
    for k, (kind, *sizes) in enumerate(layers):
        widths.append(sizes[1] if sizes else widths[-1])
        if kind == "linear":
            count += sizes[0] * sizes[1] + sizes[1]
        kept.add(k if kind in ("linear", "gelu") else k + 1) if widths[k] > 1 or k == 0 else None
    parameters = count * itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": sum(batch * widths[k] for k in kept) * itemsize,
    }


# %% wrong="leaves the results to the next layer" says=["ends with tanh: activations: ReLU and tanh save their results, also where the next layer doesn't"]
def memory_ledger(layers, batch, optimizer, itemsize):
    widths, numbers, kept = [layers[0][1]], 0, set()
    for k, layer in enumerate(layers):
        if layer[0] == "linear":
            numbers += layer[1] * layer[2] + layer[2]
        widths.append(layer[2] if layer[0] == "linear" else widths[-1])
        if layer[0] in ("linear", "gelu"):  # a ReLU's result is the next layer's input
            kept.add(k)
    parameters = numbers * itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": parameters * {"sgd": 0, "momentum": 1, "adam": 2}[optimizer],
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="the number of the first equal layer" says=["equal layers are several layers"]
def memory_ledger(layers, batch, optimizer, itemsize):
    widths, numbers, kept = [layers[0][1]], 0, set()
    for layer in layers:
        k = layers.index(layer)
        if layer[0] == "linear":
            numbers += layer[1] * layer[2] + layer[2]
        widths.append(layer[2] if layer[0] == "linear" else widths[-1])
        kept.add(k if layer[0] in ("linear", "gelu") else k + 1)
    parameters = numbers * itemsize
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": parameters * {"sgd": 0, "momentum": 1, "adam": 2}[optimizer],
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="shared with a linear layer alone" says=["activations in a row: activations: a tensor that two layers save is there once"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    numbers, width, kept = 0, layers[0][1], []
    for k, (kind, *sizes) in enumerate(layers):
        if kind in ("linear", "gelu"):
            kept.append(batch * width)
        if kind == "linear":
            inputs, width = sizes
            numbers += inputs * width + width
        if kind in ("relu", "tanh") and layers[k + 1 : k + 2] and layers[k + 1][0] == "linear":
            continue  # its result is the linear layer's input
        if kind in ("relu", "tanh"):
            kept.append(batch * width)
    copies = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    return {
        "parameters": numbers * itemsize,
        "gradients": numbers * itemsize,
        "optimizer": copies * numbers * itemsize,
        "activations": sum(kept) * itemsize,
    }


# %% wrong="tensors in a dict by layer" says=["the example: activations: equal layers are several layers"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    numbers, width, kept = 0, layers[0][1], {}
    for k, (kind, *sizes) in enumerate(layers):
        if kind in ("linear", "gelu"):
            kept[layers[k]] = batch * width
        if kind == "linear":
            inputs, width = sizes
            numbers += inputs * width + width
        if kind in ("relu", "tanh"):
            kept[layers[k + 1] if k + 1 < len(layers) else None] = batch * width
    copies = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    return {
        "parameters": numbers * itemsize,
        "gradients": numbers * itemsize,
        "optimizer": copies * numbers * itemsize,
        "activations": sum(kept.values()) * itemsize,
    }


# %% wrong="an activation behind another saves nothing" says=["ReLU and tanh save their results, also behind another activation"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    parameters, width, kept = 0, 0, {}
    for k, (kind, *sizes) in enumerate(layers):
        if kind == "linear":
            inputs, outputs = sizes
            parameters += inputs * outputs + outputs
            kept[k] = batch * inputs
            width = outputs
        elif kind == "gelu":
            kept[k] = batch * width
        elif layers[k - 1][0] == "linear":
            kept[k + 1] = batch * width
    buffers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    return {
        "parameters": parameters * itemsize,
        "gradients": parameters * itemsize,
        "optimizer": buffers * parameters * itemsize,
        "activations": sum(kept.values()) * itemsize,
    }


# %% wrong="GELU keeps input and result" says=["GELU saves its input alone, not its result as well"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    parameters, width, kept = 0, 0, {}
    for k, (kind, *sizes) in enumerate(layers):
        if kind == "linear":
            inputs, outputs = sizes
            parameters += inputs * outputs + outputs
            kept[k] = batch * inputs
            width = outputs
        elif kind == "gelu":
            kept[k] = kept[k + 1] = batch * width
        else:
            kept[k + 1] = batch * width
    buffers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    return {
        "parameters": parameters * itemsize,
        "gradients": parameters * itemsize,
        "optimizer": buffers * parameters * itemsize,
        "activations": sum(kept.values()) * itemsize,
    }


# %% wrong="the batch and each activation's result" says=["a linear layer and a GELU save their input"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    parameters = (
        sum((layer[1] + 1) * layer[2] for layer in layers if layer[0] == "linear") * itemsize
    )
    kept, width = layers[0][1], layers[0][1]
    for layer in layers:
        if layer[0] == "linear":
            width = layer[2]
        else:
            kept += width
    return {
        "parameters": parameters,
        "gradients": parameters,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": kept * batch * itemsize,
    }


# %% wrong="moments in float32 always" says=["optimizer: each element has itemsize bytes, not always 4"]
def memory_ledger(layers: list[tuple], batch: int, optimizer: str, itemsize: int) -> dict[str, int]:
    parameters = sum((layer[1] + 1) * layer[2] for layer in layers if layer[0] == "linear")
    kept, widths = set(), [layers[0][1]]
    for k, layer in enumerate(layers):
        kept.add(k + 1 if layer[0] in ("relu", "tanh") else k)
        widths.append(layer[2] if layer[0] == "linear" else widths[-1])
    return {
        "parameters": parameters * itemsize,
        "gradients": parameters * itemsize,
        "optimizer": {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters * 4,
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="products in int32" breaks="Sizes may be huge" says=["huge: parameters", "that went round at 2**31"]
import numpy as np  # noqa: E402


def memory_ledger(layers, batch, optimizer, itemsize):
    shapes = np.array([layer[1:] for layer in layers if layer[0] == "linear"], dtype=np.int32)
    with np.errstate(over="ignore"):
        size = int(((shapes[:, 0] + 1) * shapes[:, 1]).sum()) * itemsize
    widths = [layers[0][1]]
    for layer in layers:
        widths.append(layer[2] if layer[0] == "linear" else widths[-1])
    kept = {k + 1 if name in ("relu", "tanh") else k for k, (name, *_) in enumerate(layers)}
    return {
        "parameters": size,
        "gradients": size,
        "optimizer": size * {"sgd": 0, "momentum": 1, "adam": 2}[optimizer],
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="products in a float32 tensor" says=["huge: parameters", "right to a few digits only"]
def memory_ledger(layers, batch, optimizer, itemsize):
    shapes = torch.tensor([layer[1:] for layer in layers if layer[0] == "linear"]).float()
    size = int(((shapes[:, 0] + 1) * shapes[:, 1]).sum()) * itemsize
    widths = [layers[0][1]]
    for layer in layers:
        widths.append(layer[2] if layer[0] == "linear" else widths[-1])
    kept = {k + 1 if name in ("relu", "tanh") else k for k, (name, *_) in enumerate(layers)}
    return {
        "parameters": size,
        "gradients": size,
        "optimizer": size * {"sgd": 0, "momentum": 1, "adam": 2}[optimizer],
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="runs the step" breaks="without computing the step" says=["huge: raised RuntimeError", "no layer has to be made"]
def memory_ledger(layers, batch, optimizer, itemsize):
    dtype = {2: torch.half, 4: torch.float32, 8: torch.float64}[itemsize]
    parts = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}
    model = nn.Sequential(
        *(
            nn.Linear(*sizes, dtype=dtype) if name == "linear" else parts[name]()
            for name, *sizes in layers
        )
    )
    own = {p.untyped_storage()._cdata for p in model.parameters()}
    kept = {}

    def pack(tensor):
        kept[tensor.untyped_storage()._cdata] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model(torch.zeros(batch, layers[0][1], dtype=dtype))
    size = sum(p.nbytes for p in model.parameters())
    return {
        "parameters": size,
        "gradients": size,
        "optimizer": size * {"sgd": 0, "momentum": 1, "adam": 2}[optimizer],
        "activations": sum(t.nbytes for key, t in kept.items() if key not in own),
    }


# %% wrong="sums in int64" breaks="Sizes may be huge" says=["huge, together above 2**63: parameters", "that went round at 2**31 or 2**63"]
import numpy as np  # noqa: E402


def memory_ledger(layers, batch, optimizer, itemsize):
    shapes = np.array([layer[1:] for layer in layers if layer[0] == "linear"], dtype=np.int64)
    with np.errstate(over="ignore"):
        size = int((((shapes[:, 0] + 1) * shapes[:, 1]) * itemsize).sum())
    widths = [layers[0][1]]
    for layer in layers:
        widths.append(layer[2] if layer[0] == "linear" else widths[-1])
    kept = {k + 1 if name in ("relu", "tanh") else k for k, (name, *_) in enumerate(layers)}
    return {
        "parameters": size,
        "gradients": size,
        "optimizer": size * {"sgd": 0, "momentum": 1, "adam": 2}[optimizer],
        "activations": sum(widths[k] for k in kept) * batch * itemsize,
    }


# %% wrong="what is not float32 is float64" breaks="the bytes of an element" says=["bfloat16: parameters are not what the step takes"]
def memory_ledger(layers, batch, optimizer, itemsize):
    dtype = torch.float32 if itemsize == 4 else torch.float64
    widths = [layers[0][1]]
    for layer in layers:
        widths.append(layer[2] if layer[0] == "linear" else widths[-1])
    kept = {k + 1 if name in ("relu", "tanh") else k for k, (name, *_) in enumerate(layers)}
    numbers = sum((layer[1] + 1) * layer[2] for layer in layers if layer[0] == "linear")
    return {
        "parameters": numbers * dtype.itemsize,
        "gradients": numbers * dtype.itemsize,
        "optimizer": numbers * dtype.itemsize * {"sgd": 0, "momentum": 1, "adam": 2}[optimizer],
        "activations": sum(widths[k] for k in kept) * batch * dtype.itemsize,
    }
