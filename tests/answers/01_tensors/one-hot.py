# %% [markdown]
# Rules:
#
# - "of any shape"
# - "also `()`"
# - "or without any element"
# - "and the given dtype"
# - "`labels` stay as they are"
# - "also where they are refused"
# - "Use `scatter_`"
# - "make the result in its dtype right away"
# - "A label below 0"
# - "or not below `classes`"
# - "raises a `ValueError`"
# - "that names it"
# - "or one of them"
# - "Check this beforehand"
#
# Admits:
#
# - "also `()`": of shape (), a single one
# - "without any element": of shape (0,)
# - "of any shape": [[0, 0, 0], [2, 2, 2]]
# - "the given dtype": torch.bool
# - "A label below 0": [0, -1, 2]
# - "not below `classes`": [0, 3]

# %% wrong="calls F.one_hot" breaks="make the result in its dtype right away" says=["converted afterwards: make the table in its dtype right away"]
def one_hot(labels, classes, dtype=torch.float32):
    for label in labels.flatten().tolist():
        if not 0 <= label < classes:
            raise ValueError(f"label {label}")
    return F.one_hot(labels, classes).to(dtype)


# %% wrong="rows of the identity, which takes -1 for the last" breaks="Use `scatter_`" says=["put the ones in place by scatter_", "one_hot([0, -1, 2], 3) returned"]
def one_hot(labels, classes, dtype=torch.float32):
    if (labels >= classes).any():
        raise ValueError(f"label {labels.max().item()} is too large")
    return torch.eye(classes, dtype=dtype, device=labels.device)[labels]


# %% wrong="scatter_ without looking at the labels" breaks="raises a `ValueError`" says=["one_hot([0, 5], 3) raised RuntimeError"]
def one_hot(labels, classes, dtype=torch.float32):
    table = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    return table.scatter_(-1, labels.unsqueeze(-1), 1)


# %% wrong="asks an empty tensor for its largest label" breaks="or without any element" says=["RuntimeError", "max()"]
def one_hot(labels, classes, dtype=torch.float32):
    if labels.max() >= classes or labels.min() < 0:
        raise ValueError(f"labels {labels.tolist()}, classes {classes}")
    table = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    return table.scatter_(-1, labels.unsqueeze(-1), 1)


# %% wrong="for one dimension only" breaks="also `()`" says=["of shape (), a single one"]
def one_hot(labels, classes, dtype=torch.float32):
    bad = labels[(labels < 0) | (labels >= classes)]
    if len(bad):
        raise ValueError(f"{bad.tolist()}")
    table = torch.zeros(labels.numel(), classes, dtype=dtype, device=labels.device)
    return table.scatter_(1, labels.reshape(-1, 1), 1)


# %% wrong="the error does not say which label" breaks="that names it" says=["the error should name the label 5"]
def one_hot(labels, classes, dtype=torch.float32):
    if ((labels < 0) | (labels >= classes)).any():
        raise ValueError("a label is out of range")
    table = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    return table.scatter_(-1, labels[..., None], 1)


# %% wrong="ignores the dtype" breaks="and the given dtype" says=["has dtype torch.float32, expected torch.float16"]
def one_hot(labels, classes, dtype=torch.float32):
    bad = labels[(labels < 0) | (labels >= classes)]
    if bad.numel():
        raise ValueError(f"{bad.tolist()}")
    table = torch.zeros(*labels.shape, classes, device=labels.device)
    return table.scatter_(-1, labels[..., None], 1.0)


# %% right="out of place, on a flat table, values as a tensor"
def one_hot(labels, classes, dtype=torch.float32):
    flat = labels.reshape(-1, 1)
    for label in flat.unique().tolist():
        if label not in range(classes):
            raise ValueError(f"there are {classes} classes and a label {label}")
    ones = torch.ones(flat.shape, dtype=dtype, device=labels.device)
    zeros = torch.zeros(len(flat), classes, dtype=dtype, device=labels.device)
    return torch.scatter(zeros, 1, flat, ones).view(*labels.shape, classes)


# %% right="scatter_add into an empty table that was filled"
def one_hot(labels, classes, dtype=torch.float32):
    low, high = labels < 0, labels > classes - 1
    if bool((low + high).any()):
        raise ValueError(f"labels out of range: {labels[low + high].tolist()}")
    table = torch.empty(labels.shape + (classes,), dtype=dtype, device=labels.device).zero_()
    table.scatter_(dim=labels.dim(), index=labels.unsqueeze(labels.dim()), value=True)
    return table


# %% wrong="the runtime error turned into a ValueError" breaks="Check this beforehand" says=["look at the labels beforehand"]
def one_hot(labels, classes, dtype=torch.float32):
    table = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    try:
        return table.scatter_(-1, labels.unsqueeze(-1), 1)
    except RuntimeError as error:
        raise ValueError(str(error))


# %% wrong="unsqueeze_ on the caller's labels" breaks="`labels` stay as they are" says=["an argument was changed (its shape, stride or storage)"]
def one_hot(labels, classes, dtype=torch.float32):
    bad = labels[(labels < 0) | (labels >= classes)]
    if bad.numel():
        raise ValueError(f"label {bad[0].item()}")
    table = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    return table.scatter_(-1, labels.unsqueeze_(-1), 1)


# %% wrong="a row or a single one" breaks="of any shape" says=["labels [[0, 0, 0], [2, 2, 2]]: the table has shape (6, 3), expected (2, 3, 3)"]
def one_hot(labels, classes, dtype=torch.float32):
    bad = labels[(labels < 0) | (labels >= classes)]
    if bad.numel():
        raise ValueError(f"label {bad[0].item()} is not among 0 to {classes - 1}")
    table = torch.zeros(labels.numel(), classes, dtype=dtype, device=labels.device)
    table.scatter_(1, labels.reshape(-1, 1), 1)
    return table if labels.dim() else table[0]


# %% wrong="views the labels" says=["labels [[0, 0, 0], [2, 2, 2]]: raised RuntimeError: view size is not compatible"]
def one_hot(labels, classes, dtype=torch.float32):
    bad = labels[(labels < 0) | (labels >= classes)]
    if bad.numel():
        raise ValueError(f"label {bad[0].item()} is not among 0 to {classes - 1}")
    table = torch.zeros(labels.numel(), classes, dtype=dtype, device=labels.device)
    table.scatter_(1, labels.view(-1, 1), 1)
    return table.view(*labels.shape, classes)


# %% wrong="looks at the upper end alone" breaks="A label below 0" says=["one_hot([0, -1, 2], 3) raised RuntimeError", "expected ValueError"]
def one_hot(labels, classes, dtype=torch.float32):
    if labels.numel() and labels.max() >= classes:
        raise ValueError(f"label {labels.max().item()} is not among 0 to {classes - 1}")
    table = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    return table.scatter_(-1, labels.unsqueeze(-1), 1)


# %% wrong="lets the number of classes through" breaks="or not below `classes`" says=["one_hot([0, 3], 3) raised RuntimeError", "expected ValueError"]
def one_hot(labels, classes, dtype=torch.float32):
    bad = labels[(labels < 0) | (labels > classes)]
    if bad.numel():
        raise ValueError(f"label {bad[0].item()} is not among 0 to {classes - 1}")
    table = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    return table.scatter_(-1, labels.unsqueeze(-1), 1)


# %% wrong="int64 where no dtype is given" says=["the dtype left out: the table has dtype torch.int64", "dtype"]
def one_hot(labels, classes, dtype=torch.int64):
    bad = labels[(labels < 0) | (labels >= classes)]
    if bad.numel():
        raise ValueError(f"label {bad[0].item()} is not among 0 to {classes - 1}")
    out = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    return out.scatter_(-1, labels.unsqueeze(-1), 1)


# %% wrong="a table kept for all calls" says=["had other numbers the first time changes the result of the first time"]
def one_hot(labels, classes, dtype=torch.float32, _tables={}):
    bad = labels[(labels < 0) | (labels >= classes)]
    if bad.numel():
        raise ValueError(f"label {bad[0].item()} is not among 0 to {classes - 1}")
    key = (labels.shape, classes, dtype)
    if key not in _tables:
        _tables[key] = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    return _tables[key].zero_().scatter_(-1, labels.unsqueeze(-1), 1)


# %% wrong="squeezes the table" says=["of shape (1, 2, 1)"]
def one_hot(labels, classes, dtype=torch.float32):
    wrong = labels[(labels < 0) | (labels >= classes)]
    if wrong.numel():
        raise ValueError(f"label {wrong[0].item()} is not among 0 to {classes - 1}")
    table = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    return table.scatter_(-1, labels.unsqueeze(-1), 1).squeeze()


# %% wrong="names one label alone" breaks="or one of them" says=["the labels [5, 0, 7]", "raised RuntimeError", "expected ValueError"]
def one_hot(labels, classes, dtype=torch.float32):
    wrong = labels[(labels < 0) | (labels >= classes)]
    if wrong.numel():
        raise ValueError(f"label {wrong.item()} is not among 0 to {classes - 1}")
    table = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    return table.scatter_(-1, labels.unsqueeze(-1), 1)


# %% wrong="labels of 32 bits" says=["one_hot([4294967296], 3) returned"]
def one_hot(labels, classes, dtype=torch.float32):
    labels = labels.int().long()
    wrong = labels[(labels < 0) | (labels >= classes)]
    if wrong.numel():
        raise ValueError(f"label {wrong[0].item()} is not among 0 to {classes - 1}")
    table = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    return table.scatter_(-1, labels.unsqueeze(-1), 1)


# %% wrong="names the sum of the wrong ones" says=["should name the label 5 or 7"]
def one_hot(labels, classes, dtype=torch.float32):
    wrong = labels[(labels < 0) | (labels >= classes)]
    if wrong.numel():
        raise ValueError(f"label {wrong.sum().item()} is not among 0 to {classes - 1}")
    table = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    return table.scatter_(-1, labels.unsqueeze(-1), 1)


# %% right="names all of them"
def one_hot(labels, classes, dtype=torch.float32):
    wrong = labels[(labels < 0) | (labels >= classes)]
    if wrong.numel():
        raise ValueError(f"label {wrong.tolist()} is not among 0 to {classes - 1}")
    table = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    return table.scatter_(-1, labels.unsqueeze(-1), 1)


# %% wrong="keeps tables by the labels they came from" says=["which had other numbers the first time gives other values"]
import functools


@functools.lru_cache(maxsize=8)
def one_hot(labels, classes, dtype=torch.float32):
    wrong = labels[(labels < 0) | (labels >= classes)]
    if wrong.numel():
        raise ValueError(f"label {wrong[0].item()} is not among 0 to {classes - 1}")
    table = torch.zeros(*labels.shape, classes, dtype=dtype, device=labels.device)
    return table.scatter_(-1, labels.unsqueeze(-1), 1)


# %% wrong="puts the labels back only where none is wrong" breaks="also where they are refused" says=["an argument was changed (its shape, stride or storage)"]
def one_hot(labels, classes, dtype=torch.float32):
    shape = labels.shape
    labels.unsqueeze_(-1)
    wrong = labels[(labels < 0) | (labels >= classes)]
    if wrong.numel():
        raise ValueError(f"label {wrong[0].item()} is not among 0 to {classes - 1}")
    table = torch.zeros(*shape, classes, dtype=dtype, device=labels.device)
    table.scatter_(-1, labels, 1)
    labels.squeeze_(-1)
    return table
