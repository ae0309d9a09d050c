# %% [markdown]
# Rules:
#
# - "register a hook on `embedding.weight`"
# - "return its handle"
# - "is zero in these rows"
# - "unchanged in all others"
# - "What was in `weight.grad` before stays"
# - "After `handle.remove()` every row gets its gradient again"
# - "of any floating dtype"
# - "It may be empty"
# - "a negative index counts from the end"
# - "Write `True` if it does"
# - "a weight decay of 0, and of 0.01 in AdamW"
# - "a hook can be finer"
# - "what a `backward()` **adds** to `weight.grad`"
#
# Admits:
#
# - "of any floating dtype": torch.bfloat16
# - "a list of indices": [2, 0]
# - "It may be empty": [])
# - "a negative index counts from the end": [-1]
# - "`rows` is a list": [1, -3]

# %% wrong="writes to the gradient" breaks="what a `backward()` **adds** to `weight.grad`" says=["a hook that writes to it writes to all rows", "rows [0] of 3"]
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


# %% wrong="trains only these rows" breaks="unchanged in all others" says=["these rows alone get a gradient: it is they that should stay"]
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


# %% wrong="freezes the whole table" breaks="return its handle" says=["not the handle of a hook"]
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


# %% wrong="a hook that returns nothing" breaks="is zero in these rows" says=["no row is frozen: does the hook return the new gradient?"]
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


# %% wrong="Adam decays like AdamW" breaks="a weight decay of 0, and of 0.01 in AdamW" says=["Adam is not True: a mean of zeros is zero"]
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


# %% wrong="zeroes the values instead" breaks="a hook can be finer" says=["the table itself"]
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


# %% wrong="after accumulation, in place" breaks="What was in `weight.grad` before stays" says=["a gradient from before was erased"]
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


# %% wrong="a matrix product, in which an infinite row spoils the others" says=["every digit, infinity and NaN", "unchanged in all others"]
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


# %% wrong="an empty list becomes a float tensor" breaks="It may be empty" says=["rows [] of 3", "say dtype=torch.long"]
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


# %% wrong="0 and 1 for truth values" breaks="Write `True` if it does" says=["SGD is not 0: expected True or False"]
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
        return torch.stack([torch.zeros_like(g) if i in frozen else g for i, g in enumerate(grad)])

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


# %% wrong="a hook on the module" breaks="register a hook on `embedding.weight`" says=["rows [0] of 3: weight.grad after weight.sum().backward(), an expanded number: no row is frozen"]
def freeze_rows(embedding, rows):
    frozen = torch.zeros_like(embedding.weight[:, :1], dtype=torch.bool)
    frozen[rows] = True

    def zero(module, grad_input, grad_output):
        if module.weight.grad is not None:
            module.weight.grad.masked_fill_(frozen, 0)

    return embedding.register_full_backward_hook(zero)


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="the handle of another hook" breaks="After `handle.remove()` every row gets its gradient again" says=["weight.grad after handle.remove(), which is to free all rows (is a hook left?)", "differs"]
def freeze_rows(embedding, rows):
    frozen = torch.zeros_like(embedding.weight[:, :1], dtype=torch.bool)
    frozen[rows] = True
    embedding.weight.register_hook(lambda grad: grad.masked_fill(frozen, 0))
    return embedding.weight.register_hook(lambda grad: None)


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="a mask in float32" breaks="of any floating dtype" says=["in torch.bfloat16: raised RuntimeError", "has changed the type of value"]
def freeze_rows(embedding, rows):
    keep = torch.ones(len(embedding.weight), 1, device=embedding.weight.device)
    keep[rows] = 0
    return embedding.weight.register_hook(lambda grad: grad * keep)


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="negative numbers meet no row" breaks="a negative index counts from the end" says=["rows [-1] of 3", "a negative index counts from the end: -1 is the last row"]
def freeze_rows(embedding, rows):
    numbers = torch.arange(len(embedding.weight), device=embedding.weight.device)
    frozen = torch.tensor([number.item() in rows for number in numbers], device=numbers.device)
    return embedding.weight.register_hook(lambda grad: grad.masked_fill(frozen[:, None], 0))


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="rows kept on the embedding, a second call overwrites" says=["each call has rows of its own"]
def freeze_rows(embedding, rows):
    embedding.frozen = list(rows)

    def hook(grad):
        grad = grad.clone()
        if embedding.frozen:
            grad[embedding.frozen] = 0
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


# %% wrong="computed in float32" says=["unchanged in all others"]
def freeze_rows(embedding, rows):
    mask = torch.zeros(len(embedding.weight), 1, dtype=torch.bool, device=embedding.weight.device)
    for row in rows:
        mask[row] = True
    return embedding.weight.register_hook(
        lambda grad: grad.float().masked_fill(mask, 0).to(grad.dtype)
    )


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="NaN and inf cleaned elsewhere" says=["unchanged in all others"]
def freeze_rows(embedding, rows):
    mask = torch.zeros(len(embedding.weight), 1, dtype=torch.bool, device=embedding.weight.device)
    for row in rows:
        mask[row] = True
    return embedding.weight.register_hook(lambda grad: grad.nan_to_num().masked_fill(mask, 0))


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="a product with zeros, in the weight's dtype" says=["0 times infinity is NaN"]
def freeze_rows(embedding, rows):
    mask = torch.zeros(len(embedding.weight), 1, dtype=torch.bool, device=embedding.weight.device)
    mask[torch.tensor(rows, dtype=torch.long)] = True
    return embedding.weight.register_hook(lambda grad: grad * (~mask).to(grad.dtype))


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="makes the caller's indices positive" says=["the caller's list of rows was changed"]
def freeze_rows(embedding, rows):
    rows[:] = [r % len(embedding.weight) for r in rows]
    mask = torch.zeros(len(embedding.weight), 1, dtype=torch.bool, device=embedding.weight.device)
    mask[torch.tensor(rows, dtype=torch.long)] = True
    return embedding.weight.register_hook(lambda grad: grad.masked_fill(mask, 0))


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="all rows frozen are taken for none" says=["all rows of a table are frozen"]
def freeze_rows(embedding, rows):
    mask = torch.zeros(len(embedding.weight), 1, dtype=torch.bool, device=embedding.weight.device)
    mask[torch.tensor(rows, dtype=torch.long)] = True
    return embedding.weight.register_hook(
        lambda grad: None if mask.all() else grad.masked_fill(mask, 0)
    )


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="sets padding_idx, too" breaks="After `handle.remove()` every row gets its gradient again" says=["Was more than the hook set up?"]
def freeze_rows(embedding: nn.Embedding, rows: list[int]) -> torch.utils.hooks.RemovableHandle:
    weight = embedding.weight
    mask = torch.zeros(len(weight), 1, dtype=torch.bool, device=weight.device)
    mask[rows] = True
    embedding.padding_idx = rows[0] if rows else None
    return weight.register_hook(lambda grad: grad.masked_fill(mask, 0))


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="clears NaN in the table" says=["the table itself was changed"]
def freeze_rows(embedding: nn.Embedding, rows: list[int]) -> torch.utils.hooks.RemovableHandle:
    weight = embedding.weight
    mask = torch.zeros(len(weight), 1, dtype=torch.bool, device=weight.device)
    mask[rows] = True
    with torch.no_grad():
        weight.masked_fill_(mask & (weight != weight), 0)
    return weight.register_hook(lambda grad: grad.masked_fill(mask, 0))


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="tiny gradients become zero" breaks="unchanged in all others" says=["1e+300, 0.0]: zero in this row, and unchanged in all others"]
def freeze_rows(embedding: nn.Embedding, rows: list[int]) -> torch.utils.hooks.RemovableHandle:
    weight = embedding.weight
    mask = torch.zeros(len(weight), 1, dtype=torch.bool, device=weight.device)
    mask[rows] = True
    return weight.register_hook(lambda grad: grad.masked_fill(mask | (grad.abs() < 1e-8), 0))


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% right="a clone that is written to"
def freeze_rows(embedding: nn.Embedding, rows: list[int]) -> torch.utils.hooks.RemovableHandle:
    weight = embedding.weight
    mask = torch.zeros(len(weight), 1, dtype=torch.bool, device=weight.device)
    mask[rows] = True

    def hook(grad):
        grad = grad.clone()
        grad[rows] = 0
        return grad

    return weight.register_hook(hook)


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="rounds the frozen rows of the table" says=["the table itself, which is not to be changed"]
def freeze_rows(embedding, rows):
    mask = torch.zeros(len(embedding.weight), 1, dtype=torch.bool, device=embedding.weight.device)
    mask[rows] = True
    with torch.no_grad():
        embedding.weight[rows] = embedding.weight[rows].half().to(embedding.weight.dtype)
    return embedding.weight.register_hook(lambda grad: grad.masked_fill(mask, 0))


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="a padding row is left out" breaks="is zero in these rows" says=["all rows of a table are frozen"]
def freeze_rows(embedding, rows):
    mask = torch.zeros(len(embedding.weight), 1, dtype=torch.bool, device=embedding.weight.device)
    mask[rows] = True
    if embedding.padding_idx is not None:
        mask[embedding.padding_idx] = False
    return embedding.weight.register_hook(lambda grad: grad.masked_fill(mask, 0))


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="takes all hooks of the weight out" says=["a hook that weight had before is gone"]
def freeze_rows(embedding, rows):
    weight = embedding.weight
    mask = torch.zeros(weight.shape[0], 1, dtype=torch.bool, device=weight.device)
    mask[rows] = True
    weight.register_hook(lambda grad: grad.masked_fill(mask, 0))

    class Handle:
        def remove(self):
            weight._backward_hooks.clear()

    return Handle()


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="autograd is on afterwards" says=["called under no_grad, it switched autograd on"]
def freeze_rows(embedding, rows):
    torch.set_grad_enabled(False)
    frozen = torch.zeros_like(embedding.weight[:, :1], dtype=torch.bool)
    frozen[rows] = True
    torch.set_grad_enabled(True)
    return embedding.weight.register_hook(lambda grad: grad.masked_fill(frozen, 0))


the_frozen_row_moves = {
    "SGD": False,
    "SGD, weight_decay=0.1": True,
    "SGD, momentum=0.9": False,
    "SGD, momentum=0.9, after a step": True,
    "Adam": False,
    "Adam, after a step": True,
    "AdamW": True,
}


# %% wrong="a float tensor of no rows" says=["an empty list makes a float tensor: say dtype=torch.long"]
def freeze_rows(embedding, rows):
    def hook(grad):
        mask = torch.zeros(len(grad), 1, dtype=torch.bool, device=grad.device)
        mask[torch.tensor(rows)] = True
        return grad.masked_fill(mask, 0)

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


# %% wrong="a row that is named twice is subtracted twice" says=["a row that is named twice is taken off twice"]
def freeze_rows(embedding, rows):
    def hook(grad):
        rest = grad.clone()
        for row in rows:
            rest[row] -= grad[row]
        return rest

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
