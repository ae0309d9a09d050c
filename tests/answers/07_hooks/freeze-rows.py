# %% wrong="writes to the gradient" says=["a hook that writes to it writes to all rows", "rows [0] of 3"]
def freeze_rows(embedding, rows):
    def hook(grad):
        grad[rows] = 0
        return grad

    return embedding.weight.register_hook(hook)


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="trains only these rows" says=["these rows alone get a gradient: it is they that should stay"]
def freeze_rows(embedding, rows):
    mask = torch.zeros_like(embedding.weight)
    mask[rows] = 1
    return embedding.weight.register_hook(lambda grad: grad * mask)


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="no handle; and a row without gradient never moves" says=["not the handle of a hook", "SGD, weight_decay=0.1 is not False", "added by the optimizer, after every hook", "left a velocity behind"]
def freeze_rows(embedding, rows):
    def hook(grad):
        grad = grad.clone()
        grad[rows] = 0
        return grad

    embedding.weight.register_hook(hook)


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": False,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": False,
    "Adam": False,
    "Adam, after a step": False,
    "AdamW": False,
}


# %% wrong="freezes the whole table" says=["not the handle of a hook"]
def freeze_rows(embedding, rows):
    embedding.weight.requires_grad_(False)


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": True,
    "SGD, momentum=0.9, after a step": True,
    "Adam": True,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="a hook that returns nothing" says=["no row is frozen: does the hook return the new gradient?"]
def freeze_rows(embedding, rows):
    def hook(grad):
        grad = grad.clone()
        grad[rows] = 0

    return embedding.weight.register_hook(hook)


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="Adam decays like AdamW" says=["Adam is not True: a mean of zeros is zero"]
def freeze_rows(embedding, rows):
    def hook(grad):
        grad = grad.clone()
        grad[rows] = 0
        return grad

    return embedding.weight.register_hook(hook)


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": True,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="zeroes the values instead" says=["the table itself"]
def freeze_rows(embedding, rows):
    with torch.no_grad():
        embedding.weight[rows] = 0

    def hook(grad):
        grad = grad.clone()
        grad[rows] = 0
        return grad

    return embedding.weight.register_hook(hook)


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="no negative rows, and a mask of one dtype" says=["rows [-1] of 3", "a negative index counts from the end"]
def freeze_rows(embedding, rows):
    keep = torch.tensor([[0.0 if i in rows else 1.0] for i in range(len(embedding.weight))])
    return embedding.weight.register_hook(lambda g: g * keep)


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% right="index_fill"
def freeze_rows(embedding, rows):
    index = torch.tensor(rows, dtype=torch.long, device=embedding.weight.device) % len(
        embedding.weight
    )
    return embedding.weight.register_hook(lambda grad: grad.index_fill(0, index, 0))


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="after accumulation, in place" says=["a gradient from before was erased"]
def freeze_rows(embedding, rows):
    def hook(parameter):
        for row in rows:
            parameter.grad[row].zero_()

    return embedding.weight.register_post_accumulate_grad_hook(hook)


the_frozen_row_moves = {
    "AdamW": True,
    "Adam": False,
    "Adam, after a step": True,
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
}


# %% right="diag"
def freeze_rows(embedding, rows):
    w = embedding.weight
    d = torch.ones(w.shape[0], dtype=w.dtype, device=w.device)
    d[list(rows)] = 0
    return w.register_hook(lambda g: torch.diag(d) @ g)


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="an empty list becomes a float tensor" says=["rows [] of 3", "say dtype=torch.long"]
def freeze_rows(embedding, rows):
    frozen = torch.zeros(len(embedding.weight), 1, dtype=torch.bool)
    frozen[torch.tensor(rows)] = True
    return embedding.weight.register_hook(lambda grad: grad.masked_fill(frozen.to(grad.device), 0))


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="0 and 1 for truth values" says=["SGD is not 0: expected True or False"]
def freeze_rows(embedding, rows):
    frozen = torch.zeros(len(embedding.weight), dtype=torch.bool, device=embedding.weight.device)
    frozen[rows] = True
    return embedding.weight.register_hook(lambda grad: torch.where(frozen[:, None], 0 * grad, grad))


the_frozen_row_moves = {
    "SGD": 0,
    "SGD, weight_decay=0.1": 1,
    "SGD, momentum=0.9": 0,
    "SGD, momentum=0.9, after a step": 1,
    "Adam": 0,
    "Adam, after a step": 1,
    "AdamW": 1,
}


# %% right="rows put together again"
def freeze_rows(embedding, rows):
    count = len(embedding.weight)
    frozen = {row % count for row in rows}

    def hook(grad):
        return torch.stack([0 * g if i in frozen else g for i, g in enumerate(grad)])

    return embedding.weight.register_hook(hook)


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}
