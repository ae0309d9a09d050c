# %% [markdown]
# Rules:
#
# - "is the true label among the `k` largest scores"
# - "which may be larger than the number of classes"
# - "Return a list of floats"
# - "one for each `k`"
# - "in the order of `ks`"
# - "**Ties count against the label.**"
# - "itself included"
# - "that is at least as large as its own"
# - "Go through the scores once, for all `k` together"
# - "at most one sort or `topk`"
# - "For what share of the examples"
#
# Admits:
#
# - "may be larger than the number of classes": a k above the number of classes, no ties
# - "with at least one row and no `nan`": infinite scores
# - "at least one row": three rows
# - "`logits` has shape (batch, classes)": scores in torch.float16
# - "Ties count against the label": equal scores everywhere

# %% wrong="topk, which takes anyone among equals" breaks="**Ties count against the label.**" says=["expected [0.0, 1.0], got [0.5, 1.0] (ties count against the label)"]
def topk_accuracy(logits, labels, ks):
    top = logits.topk(min(max(ks), logits.shape[1]), dim=1).indices
    hits = top == labels[:, None]
    return [hits[:, :k].any(dim=1).float().mean().item() for k in ks]


# %% wrong="counts only what is larger" breaks="itself included" says=["expected [0.0, 1.0], got [0.5, 1.0] (ties count against the label)"]
def topk_accuracy(logits, labels, ks):
    own = logits.gather(1, labels[:, None])
    rank = (logits > own).sum(dim=1)
    return [(rank < k).float().mean().item() for k in ks]


# %% wrong="one topk for each k" breaks="at most one sort or `topk`" says=["3 × sort or topk", "go through the scores once, for all k"]
def topk_accuracy(logits, labels, ks):
    own, shares = logits.gather(1, labels[:, None])[:, 0], []
    for k in ks:
        top = logits.topk(min(k + 1, logits.shape[1]), dim=1).values
        inside = own > top[:, k] if k < logits.shape[1] else torch.ones(len(own)) > 0
        shares.append(inside.double().mean().item())
    return shares


# %% wrong="topk of a k that is too large" breaks="which may be larger than the number of classes" says=["RuntimeError", "selected index k out of range"]
def topk_accuracy(logits, labels, ks):
    top = logits.topk(max(ks), dim=1).indices
    return [(top[:, :k] == labels[:, None]).any(1).float().mean().item() for k in ks]


# %% wrong="a tensor instead of numbers" breaks="Return a list of floats" says=["a list of Python floats, as item() gives them"]
def topk_accuracy(logits, labels, ks):
    own = logits.gather(1, labels[:, None])
    rank = (logits >= own).sum(dim=1)
    return [(rank <= k).float().mean() for k in ks]


# %% wrong="the share for the largest k alone" breaks="one for each `k`" says=["a k above the number of classes, no ties: topk_accuracy(logits, labels, (5, 2, 1)): expected [1.0, 1.0, 0.0], got [1.0]"]
def topk_accuracy(logits, labels, ks):
    own = logits.gather(1, labels[:, None])
    rank = (logits >= own).sum(dim=1)
    return [(rank <= max(ks)).float().mean().item()]


# %% wrong="compares anew for each k" breaks="Go through the scores once, for all `k` together" says=["twenty k", "each k makes a tensor as large as the scores: go through them once"]
def topk_accuracy(logits, labels, ks):
    own = logits.gather(1, labels[:, None])
    return [((logits >= own).sum(dim=1) <= k).double().mean().item() for k in ks]


# %% right="row by row"
def topk_accuracy(logits, labels, ks):
    ranks = [(logits[i] >= logits[i].gather(0, labels[i])).sum() for i in range(len(labels))]
    rank = torch.stack(ranks)
    return [(rank <= k).float().mean().item() for k in ks]


# %% wrong="compares the rows with all labels" breaks="is the true label among the `k` largest scores" says=["the example: topk_accuracy(logits, labels, (1, 2))"]
def topk_accuracy(logits, labels, ks):
    own = logits[:, labels]
    rank = (logits >= own[:, :1]).sum(dim=1)
    return [(rank <= k).float().mean().item() for k in ks]


# %% right="sorted once, and a search for the label's score"
def topk_accuracy(logits, labels, ks):
    own = logits.take_along_dim(labels[:, None], dim=1)
    rising = logits.sort(dim=1).values
    rank = logits.shape[1] - torch.searchsorted(rising.contiguous(), own.contiguous())
    shares = (rank <= torch.tensor(ks, device=rank.device)).double().mean(dim=0)
    return shares.tolist()


# %% right="ranks as Python numbers"
def topk_accuracy(logits, labels, ks):
    picked = logits[torch.arange(len(labels), device=labels.device), labels]
    ranks = torch.count_nonzero(~(logits < picked[:, None]), dim=1).tolist()
    return [sum(rank <= k for rank in ranks) / len(ranks) for k in ks]


# %% wrong="takes nearly equal scores for ties" breaks="that is at least as large as its own" says=["scores of 1 and 1.000001", "nearly equal is not equal"]
def topk_accuracy(logits, labels, ks):
    own = logits.gather(1, labels[:, None])
    rank = ((logits > own) | torch.isclose(logits, own)).sum(dim=1)
    return [(rank <= k).double().mean().item() for k in ks]


# %% wrong="a difference" says=["infinite scores", "inf - inf is nan: compare"]
def topk_accuracy(logits, labels, ks):
    own = logits.gather(1, labels[:, None])
    rank = (logits - own >= 0).sum(1)
    return [(rank <= k).float().mean().item() for k in ks]


# %% wrong="float32 scores" says=["scores in torch.float64", "1 + 1e-12 is not 1 there"]
def topk_accuracy(logits, labels, ks):
    p = logits.float()
    rank = (p >= p.gather(1, labels[:, None])).sum(1)
    return [(rank <= k).float().mean().item() for k in ks]


# %% wrong="the mean in the scores' dtype" says=["three rows: topk_accuracy(logits, labels, (1, 2)): expected [0.33333"]
def topk_accuracy(logits, labels, ks):
    rank = (logits >= logits.gather(1, labels[:, None])).sum(1)
    return [(rank <= k).to(torch.bfloat16).mean().item() for k in ks]


# %% right="one topk that sees one more"
def topk_accuracy(logits, labels, ks):
    many = min(max(ks) + 1, logits.shape[1])
    best = logits.topk(many, dim=1).values
    own = logits.take_along_dim(labels[:, None], 1)
    ahead = (best >= own).sum(1)
    inside = {k: ahead.le(k) if k < logits.shape[1] else torch.ones_like(ahead) for k in ks}
    return [inside[k].double().mean().item() for k in ks]


# %% right="a histogram of the ranks"
def topk_accuracy(logits, labels, ks):
    rank = torch.count_nonzero(logits.ge(logits.gather(1, labels.reshape(-1, 1))), dim=1)
    upto = rank.bincount(minlength=logits.shape[1] + 1).cumsum(0).tolist()
    return [upto[min(k, logits.shape[1])] / len(rank) for k in ks]


# %% wrong="in rising order of k" breaks="in the order of `ks`" says=["(5, 2, 1)", "expected [1.0, 1.0, 0.0], got [0.0, 1.0, 1.0]"]
def topk_accuracy(logits, labels, ks):
    own = logits.gather(1, labels[:, None])
    rank = (logits >= own).sum(1)
    return [(rank <= k).double().mean().item() for k in sorted(ks)]


# %% wrong="percent" breaks="For what share of the examples" says=["expected [0.0, 1.0], got [0.0, 100.0]"]
def topk_accuracy(logits, labels, ks):
    own = logits.gather(1, labels[:, None])
    rank = (logits >= own).sum(1)
    return [100 * (rank <= k).double().mean().item() for k in ks]


# %% wrong="asks each k once" says=["one share for each of ks"]
def topk_accuracy(logits, labels, ks):
    own = logits.gather(1, labels[:, None])
    rank = (logits >= own).sum(1)
    return [(rank <= k).double().mean().item() for k in dict.fromkeys(ks)]


# %% wrong="a mean in half precision" says=["scores in torch.float16"]
def topk_accuracy(logits, labels, ks):
    own = logits.gather(1, labels[:, None])
    rank = (logits >= own).sum(1)
    return [(rank <= k).to(logits.dtype).mean().item() for k in ks]


# %% wrong="a tuple" breaks="Return a list of floats" says=["a list, one for each k"]
def topk_accuracy(logits, labels, ks):
    own = logits.gather(1, labels[:, None])
    rank = (logits >= own).sum(dim=1)
    return tuple((rank <= k).float().mean().item() for k in ks)


# %% wrong="counts in 8 bits" says=["2997 equal scores"]
def topk_accuracy(logits, labels, ks):
    own = logits.gather(1, labels[:, None])
    rank = (logits >= own).sum(dim=1, dtype=torch.uint8)
    return [(rank <= k).float().mean().item() for k in ks]


# %% wrong="counts in half precision" says=["2997 equal scores", "a rank of 2997"]
def topk_accuracy(logits, labels, ks):
    own = logits.gather(1, labels[:, None])
    rank = (logits >= own).half().sum(dim=1)
    return [(rank <= k).float().mean().item() for k in ks]


# %% wrong="ranks among the largest alone, and so overlooks a tie with one left out" breaks="**Ties count against the label.**" says=["equal scores everywhere", "a score for all: ties count against the label"]
def topk_accuracy(logits, labels, ks):
    best = logits.topk(min(max(ks), logits.shape[1]), dim=1)
    own = logits.gather(1, labels[:, None])
    among = (best.indices == labels[:, None]).any(dim=1)
    rank = (best.values >= own).sum(dim=1)
    return [(among & (rank <= k)).double().mean().item() for k in ks]


# %% right="one topk, and an index for each k"
def topk_accuracy(logits, labels, ks):
    width = logits.shape[1]
    best = logits.topk(min(max(ks) + 1, width), dim=1).values
    own = logits.gather(1, labels[:, None])
    return [(own > best[:, [k]]).double().mean().item() if k < width else 1.0 for k in ks]


# %% wrong="keeps shares by the tensors they came from" says=["which had other numbers the first time gives 0.5, and 1.0 without"]
import functools


@functools.lru_cache(maxsize=8)
def topk_accuracy(logits, labels, ks):
    own = logits.gather(1, labels[:, None])
    rank = (logits >= own).sum(dim=1)
    return [(rank <= k).double().mean().item() for k in ks]
