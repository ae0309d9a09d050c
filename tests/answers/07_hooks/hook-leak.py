# %% wrong="the leaky one" says=["a row (as the stem put it out, before the ReLU)", "differs"]
def hook_leak(model, batches):
    rows = []
    model.stem.register_forward_hook(lambda module, args, output: rows.append(output[0]))
    for x in batches:
        model(x)
    return rows


# %% wrong="detached, a view, and in the ReLU's reach" says=["a row (as the stem put it out, before the ReLU)"]
def hook_leak(model, batches):
    rows = []
    with model.stem.register_forward_hook(lambda m, args, output: rows.append(output[0].detach())):
        for x in batches:
            model(x)
    return rows


# %% wrong="copies the whole output" says=["a row of 24 bytes holds 1200: clone it"]
def hook_leak(model, batches):
    rows = []
    keep = lambda m, args, output: rows.append(output.detach().clone()[0])
    with model.stem.register_forward_hook(keep):
        for x in batches:
            model(x)
    return rows


# %% wrong="keeps the graph" says=["a row hangs on the graph: detach it"]
def hook_leak(model, batches):
    rows = []
    with model.stem.register_forward_hook(lambda m, args, output: rows.append(output[0].clone())):
        for x in batches:
            model(x)
    return rows


# %% wrong="never removes the hook" says=["hooks after 1 calls with two batches", "these two are not yours"]
def hook_leak(model, batches):
    rows = []
    model.stem.register_forward_hook(lambda m, args, y: rows.append(y[0].detach().clone()))
    for x in batches:
        model(x)
    return rows


# %% wrong="no finally" says=["hooks after 2 calls with a second batch of the wrong shape"]
def hook_leak(model, batches):
    rows = []
    handle = model.stem.register_forward_hook(lambda m, args, y: rows.append(y[0].detach().clone()))
    for x in batches:
        model(x)
    handle.remove()
    return rows


# %% wrong="swallows the error" says=["how many rows: expected 'RuntimeError', got 1"]
def hook_leak(model, batches):
    rows = []
    with model.stem.register_forward_hook(lambda m, a, y: rows.append(y[0].detach().clone())):
        try:
            for x in batches:
                model(x)
        except RuntimeError:
            pass
    return rows


# %% wrong="a list that outlives the call" says=["how many rows: expected 2, got 4"]
def hook_leak(model, batches, rows=[]):
    with model.stem.register_forward_hook(lambda m, a, y: rows.append(y[0].detach().clone())):
        for x in batches:
            model(x)
    return list(rows)


# %% wrong="keeps the outputs somewhere else" says=["graphs still alive after 1 calls with two batches"]
outputs = []


def hook_leak(model, batches):
    rows = []
    with model.stem.register_forward_hook(lambda m, a, y: rows.append(y[0].detach().clone())):
        for x in batches:
            outputs.append(model(x))
    return rows


# %% wrong="asks the stem alone" says=["runs of the whole model after 1 calls with two batches: expected 2, got 0"]
def hook_leak(model, batches):
    return [model.stem(x)[0].detach().clone() for x in batches]


# %% right="under no_grad, with a finally"
def hook_leak(model, batches):
    rows = []

    def keep(module, args, output):
        rows.append(torch.cat([output[0]]))

    handle = model.stem.register_forward_hook(keep)
    try:
        with torch.no_grad():
            [model(x) for x in batches]
    finally:
        handle.remove()
    return rows


# %% right="one hook for each batch, and a new tensor of numbers"
def hook_leak(model, batches):
    def first_row(x):
        found = []
        with model.stem.register_forward_hook(lambda m, a, y: found.append(y[0].tolist())):
            model(x)
        return torch.tensor(found[0], device=x.device)

    return [first_row(x) for x in batches]
