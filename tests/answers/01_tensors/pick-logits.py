# %% [markdown]
# Rules:
#
# - "by `gather`"
# - "or (batch, time, classes) with (batch, time)"
# - "The result has the shape of the labels"
# - "(batch, classes) with (batch,)"
# - "by lists of indices"
# - "Do not make a table of batch × batch on the way"
# - "`logits` has shape (..., classes)"
# - "A gradient flows back to the logits that were picked"
#
# Admits:
#
# - "(batch, time, classes)": "(batch, time, classes)"
# - "`labels` has the shape (...)": (classes,) and a label of shape ()
# - "(batch, classes) with (batch,)": a batch of none
# - "`logits` has shape": transposed logits and labels

# %% wrong="picks every label from every row, then the diagonal" breaks="Do not make a table of batch × batch on the way" says=["gather ran 0 times", "a copy was made: index allocated"]
def pick_logits(logits, labels):
    return logits[:, labels].diagonal()


def pick_logits_by_index(logits, labels):
    return logits[:, labels].diagonal()


# %% wrong="forgets to pair the labels with the rows" says=["has shape (3, 3), expected (3,)"]
def pick_logits(logits, labels):
    return logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1)


def pick_logits_by_index(logits, labels):
    return logits[:, labels]


# %% wrong="squeezes every size of 1" breaks="(batch, classes) with (batch,)" says=["a batch of one: pick_logits(logits, labels) has shape (), expected (1,)"]
def pick_logits(logits, labels):
    return logits.gather(-1, labels.unsqueeze(-1)).squeeze()


def pick_logits_by_index(logits, labels):
    return logits[torch.arange(len(labels)), labels]


# %% wrong="leaves the dimension of size 1" breaks="The result has the shape of the labels" says=["has shape (3, 1), expected (3,): a dimension of size 1"]
def pick_logits(logits, labels):
    return logits.gather(-1, labels.unsqueeze(-1))


def pick_logits_by_index(logits, labels):
    return logits[torch.arange(len(labels)), labels]


# %% wrong="gathers along the batch" says=["the first three photos: pick_logits(logits, labels) has shape (1, 3)", "IndexError"]
def pick_logits(logits, labels):
    return logits.gather(0, labels.unsqueeze(0))


def pick_logits_by_index(logits, labels):
    return logits[labels, torch.arange(len(labels))]


# %% wrong="for a table only" breaks="or (batch, time, classes) with (batch, time)" says=["IndexError", "Dimension"]
def pick_logits(logits, labels):
    return (
        logits.gather(1, labels.unsqueeze(2)).squeeze(2)
        if logits.dim() > 2 and 0
        else (
            logits.gather(1, labels.unsqueeze(1)).select(2 if logits.dim() > 2 else 1, 0)
            if logits.dim() == 2
            else logits.gather(7, labels)
        )
    )


def pick_logits_by_index(logits, labels):
    return logits[torch.arange(len(labels)), labels]


# %% wrong="gather both times" says=["by one index, not by"]
def pick_logits(logits, labels):
    return logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1)


def pick_logits_by_index(logits, labels):
    return logits.gather(1, labels[:, None])[:, 0]


# %% right="take_along_dim, and a flat index"
def pick_logits(logits, labels):
    return torch.take_along_dim(logits, labels[..., None], dim=logits.dim() - 1)[..., 0]


def pick_logits_by_index(logits, labels):
    starts = torch.arange(len(labels), device=labels.device).mul_(logits.shape[1]).add_(labels)
    return (
        logits.reshape(-1)[starts] if logits.is_contiguous() else logits[range(len(labels)), labels]
    )


# %% right="a flat gather, and a Python range"
def pick_logits(logits, labels):
    flat = logits.reshape(-1, logits.shape[-1])
    return torch.gather(flat, 1, labels.reshape(-1, 1)).reshape(labels.shape)


def pick_logits_by_index(logits, labels):
    return logits[range(len(logits)), labels]


# %% wrong="views what is transposed" breaks="`logits` has shape (..., classes)" says=["RuntimeError", "view size is not compatible"]
def pick_logits(logits, labels):
    flat = logits.view(-1, logits.shape[-1])
    return flat.gather(1, labels.reshape(-1, 1)).view(labels.shape)


def pick_logits_by_index(logits, labels):
    return logits.view(-1)[torch.arange(len(labels)) * logits.shape[1] + labels]


# %% right="a boolean mask of (batch, classes)"
def pick_logits(logits, labels):
    return torch.gather(logits, -1, labels[..., None])[..., 0]


def pick_logits_by_index(logits, labels):
    return logits[torch.arange(logits.shape[1], device=labels.device) == labels[:, None]]


# %% wrong="a product with a one-hot table" breaks="by `gather`" says=["gather ran 0 times; use it once"]
def pick_logits(logits, labels):
    return (logits * F.one_hot(labels, logits.shape[-1])).sum(-1)


def pick_logits_by_index(logits, labels):
    return logits[torch.arange(len(labels), device=labels.device), labels]


# %% wrong="stacks what a loop picks" breaks="by lists of indices" says=["by one index, not by select", "a batch of none: raised RuntimeError: stack expects"]
def pick_logits(logits, labels):
    return logits.gather(-1, labels[..., None])[..., 0]


def pick_logits_by_index(logits, labels):
    return torch.stack([logits[i, labels[i]] for i in range(len(labels))])


# %% wrong="detaches the logits" breaks="A gradient flows back to the logits that were picked" says=["no gradient flows back"]
def pick_logits(logits, labels):
    return logits.detach().gather(-1, labels.unsqueeze(-1)).squeeze(-1)


def pick_logits_by_index(logits, labels):
    rows = torch.arange(len(labels), device=labels.device)
    return logits[rows, labels]


# %% wrong="takes the data by index" says=["no gradient flows back"]
def pick_logits(logits, labels):
    return logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1)


def pick_logits_by_index(logits, labels):
    rows = torch.arange(len(labels), device=labels.device)
    return logits.data[rows, labels]


# %% wrong="keeps scores by the tensors they came from" says=["which had other numbers the first time gives other values"]
import functools


@functools.lru_cache(maxsize=8)
def pick_logits(logits, labels):
    return logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1)


@functools.lru_cache(maxsize=8)
def pick_logits_by_index(logits, labels):
    return logits[torch.arange(len(labels), device=labels.device), labels]


# %% wrong="writes each result into one tensor" says=["changes the result of the first time"]
_room = {}


def pick_logits(logits, labels):
    picked = logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    if picked.requires_grad:
        return picked
    key = picked.shape, picked.dtype
    if key not in _room:
        _room[key] = torch.empty_like(picked)
    return _room[key].copy_(picked)


def pick_logits_by_index(logits, labels):
    return logits[torch.arange(len(labels), device=labels.device), labels]
