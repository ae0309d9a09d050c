# %% [markdown]
# Rules:
#
# - "the mean over time of the sentence `[1, 2, 0, 0]`"
# - "then row 0 set to 9 under `no_grad`"
# - "`padding_idx=0`, `e([0, 0, 1]).sum().backward()`"
# - "`padding_idx=0`, `(e([1]) @ e.weight.t()).sum().backward()`"
# - "`max_norm=1`, `e([1])`"
# - "`e.weight[2]`"
# - "`scale_grad_by_freq=True`, `e([1, 1, 2]).sum().backward()`"
# - "rows stored in the coalesced gradient"
# - "`from_pretrained(torch.ones(3, 1), padding_idx=0)`"
# - "`e.weight.requires_grad`"

# %% wrong="believes that padding_idx masks" says=["mean is not 3.0: pads enter the mean", "edited is not 0", "tied is not 0"]
embedding_details = {
    "mean": 3.0,
    "edited": 0,
    "grad": 0,
    "tied": 0,
    "looked_up": 1,
    "not_looked_up": 4,
    "often": 1,
    "rows": 2,
    "pretrained": 0,
    "trains": False,
}


# %% wrong="thinks max_norm works on what is returned" breaks="`max_norm=1`, `e([1])`" says=["looked_up is not 2: the row is longer than 1"]
embedding_details = {
    "mean": 1.5,
    "edited": 9,
    "grad": 0,
    "tied": 2,
    "looked_up": 2,
    "not_looked_up": 4,
    "often": 1,
    "rows": 2,
    "pretrained": 1,
    "trains": False,
}


# %% wrong="thinks max_norm shortens all rows" breaks="`e.weight[2]`" says=["not_looked_up is not 1: only rows that are looked up"]
embedding_details = {
    "mean": 1.5,
    "edited": 9,
    "grad": 0,
    "tied": 2,
    "looked_up": 1,
    "not_looked_up": 1,
    "often": 1,
    "rows": 2,
    "pretrained": 1,
    "trains": False,
}


# %% wrong="takes the frequencies and repeats for nothing" says=["often is not 2: word 1 occurs twice", "rows is not 3"]
embedding_details = {
    "mean": 1.5,
    "edited": 9,
    "grad": 0,
    "tied": 2,
    "looked_up": 1,
    "not_looked_up": 4,
    "often": 2,
    "rows": 3,
    "pretrained": 1,
    "trains": True,
}


# %% wrong="half done" says=["2 of 10 predictions are still blank: rows, trains"]
embedding_details = {
    "mean": 1.5,
    "edited": 9,
    "grad": 0,
    "tied": 2,
    "looked_up": 1,
    "not_looked_up": 4,
    "often": 1,
    "rows": None,
    "pretrained": 1,
    "trains": None,
}


# %% right="floats and tensors made plain"
embedding_details = {
    "mean": 1.5,
    "edited": 9.0,
    "grad": 0.0,
    "tied": 2.0,
    "looked_up": 1.0,
    "not_looked_up": 4,
    "often": 1.0,
    "rows": 2,
    "pretrained": 1.0,
    "trains": False,
}


# %% right="asked of the machine"
def grad_of(ids, **options):
    e = nn.Embedding(3, 1, **options)
    e(torch.tensor(ids)).sum().backward()
    return e.weight.grad


embedding_details = dict(mean=6 / 4, edited=9, tied=2, looked_up=1, not_looked_up=4, pretrained=1)
embedding_details["grad"] = grad_of([0, 0, 1], padding_idx=0)[0].item()
embedding_details["often"] = grad_of([1, 1, 2], scale_grad_by_freq=True)[1].item()
embedding_details["rows"] = grad_of([1, 1, 2], sparse=True).coalesce().indices().shape[1]
embedding_details["trains"] = nn.Embedding.from_pretrained(torch.ones(3, 1)).weight.requires_grad


# %% wrong="reads frozen as trained, and texts for numbers" says=["trains is not True: freeze=True is its default", "rows is not '2': in quotes it is a text"]
embedding_details = {
    "mean": 1.5,
    "edited": 9,
    "grad": 0,
    "tied": 2,
    "looked_up": 1,
    "not_looked_up": 4,
    "often": 1,
    "rows": "2",
    "pretrained": 1,
    "trains": True,
}


# %% right="PyTorch's own values, unrounded"
def table(**options):
    e = nn.Embedding(3, 1, **options)
    with torch.no_grad():
        e.weight.copy_(torch.tensor([[0.0], [2], [4]]))
    return e


long = table(max_norm=1)
short = long(torch.tensor([1])).detach()
embedding_details = dict(mean=1.5, edited=9, grad=0, tied=2, often=1, rows=2, trains=False)
embedding_details["looked_up"] = long.weight[1].item()
embedding_details["not_looked_up"] = long.weight[2].item()
embedding_details["pretrained"] = nn.Embedding.from_pretrained(torch.ones(3, 1)).weight[0].detach()


# %% wrong="a pad's row stays out of the mean" breaks="the mean over time of the sentence `[1, 2, 0, 0]`" says=["mean is not 3.0"]
embedding_details = {
    "mean": 3.0,
    "edited": 9,
    "grad": 0,
    "tied": 2,
    "looked_up": 1,
    "not_looked_up": 4,
    "often": 1,
    "rows": 2,
    "pretrained": 1,
    "trains": False,
}


# %% wrong="the look-up of a pad is 0" breaks="then row 0 set to 9 under `no_grad`" says=["edited is not 0"]
embedding_details = {
    "mean": 1.5,
    "edited": 0,
    "grad": 0,
    "tied": 2,
    "looked_up": 1,
    "not_looked_up": 4,
    "often": 1,
    "rows": 2,
    "pretrained": 1,
    "trains": False,
}


# %% wrong="a pad gets a gradient from its look-up" breaks="`padding_idx=0`, `e([0, 0, 1]).sum().backward()`" says=["grad is not 2"]
embedding_details = {
    "mean": 1.5,
    "edited": 9,
    "grad": 2,
    "tied": 2,
    "looked_up": 1,
    "not_looked_up": 4,
    "often": 1,
    "rows": 2,
    "pretrained": 1,
    "trains": False,
}


# %% wrong="a pad gets no gradient at all" breaks="`padding_idx=0`, `(e([1]) @ e.weight.t()).sum().backward()`" says=["tied is not 0"]
embedding_details = {
    "mean": 1.5,
    "edited": 9,
    "grad": 0,
    "tied": 0,
    "looked_up": 1,
    "not_looked_up": 4,
    "often": 1,
    "rows": 2,
    "pretrained": 1,
    "trains": False,
}


# %% wrong="frequencies count for nothing" breaks="`scale_grad_by_freq=True`, `e([1, 1, 2]).sum().backward()`" says=["often is not 2"]
embedding_details = {
    "mean": 1.5,
    "edited": 9,
    "grad": 0,
    "tied": 2,
    "looked_up": 1,
    "not_looked_up": 4,
    "often": 2,
    "rows": 2,
    "pretrained": 1,
    "trains": False,
}


# %% wrong="a row for each look-up" breaks="rows stored in the coalesced gradient" says=["rows is not 3"]
embedding_details = {
    "mean": 1.5,
    "edited": 9,
    "grad": 0,
    "tied": 2,
    "looked_up": 1,
    "not_looked_up": 4,
    "often": 1,
    "rows": 3,
    "pretrained": 1,
    "trains": False,
}


# %% wrong="a pretrained pad is set to 0" breaks="`from_pretrained(torch.ones(3, 1), padding_idx=0)`" says=["pretrained is not 0"]
embedding_details = {
    "mean": 1.5,
    "edited": 9,
    "grad": 0,
    "tied": 2,
    "looked_up": 1,
    "not_looked_up": 4,
    "often": 1,
    "rows": 2,
    "pretrained": 0,
    "trains": False,
}


# %% wrong="what is pretrained trains" breaks="`e.weight.requires_grad`" says=["trains is not True"]
embedding_details = {
    "mean": 1.5,
    "edited": 9,
    "grad": 0,
    "tied": 2,
    "looked_up": 1,
    "not_looked_up": 4,
    "often": 1,
    "rows": 2,
    "pretrained": 1,
    "trains": True,
}
