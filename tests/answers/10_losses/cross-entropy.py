# %% [markdown]
# Rules:
#
# - "in value"
# - "in the gradient by the logits"
# - "Scores may be as large as ±1000"
# - "int64 of shape (batch,), class numbers"
# - "of the shape and dtype of `logits`, probabilities"
# - "one number for each class"
# - "`label_smoothing`: from 0 to 1"
# - "rows with this class number don't count"
# - "It may be a number that isn't a class, like -100, or a class"
# - "It plays no part for probabilities"
# - "If all rows are ignored the result is `nan`"
# - "The result has shape (), and is float64 for float64 logits"
# - "Not allowed: the library's `cross_entropy` and `nll_loss`"
# - "Leave the arguments as they are"
#
# Admits:
#
# - "Scores may be as large as ±1000": scores up to 1000
# - "like -100, or a class": row 1 is of class 2, ignore_index=2
# - "from 0 to 1": label_smoothing=1
# - "If all rows are ignored": all ignored
# - "at least one row": one row, weighted
# - "It may be a number that isn't a class": row 1 has 255, ignore_index=255

# %% wrong="softmax, then log" breaks="Scores may be as large as ±1000" says=["scores up to 1000", "exp of a large score, or log of a tiny number"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    w = torch.ones(C, dtype=logits.dtype, device=logits.device) if weight is None else weight
    log_p = (logits.exp() / logits.exp().sum(1, keepdim=True)).log()
    if target.is_floating_point():
        soft = target * (1 - label_smoothing) + label_smoothing / C
        return -(w * soft * log_p).sum() / len(target)
    keep = target != ignore_index
    soft = F.one_hot(target[keep], C) * (1 - label_smoothing) + label_smoothing / C
    return -(w * soft * log_p[keep]).sum() / w[target[keep]].sum()


# %% wrong="divides by the rows" breaks="one number for each class" says=["divided by all rows", "weighted"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    w = torch.ones(C, dtype=logits.dtype, device=logits.device) if weight is None else weight
    log_p = logits.log_softmax(1)
    if target.is_floating_point():
        soft = target * (1 - label_smoothing) + label_smoothing / C
        return -(w * soft * log_p).sum() / len(target)
    keep = target != ignore_index
    soft = F.one_hot(target[keep], C) * (1 - label_smoothing) + label_smoothing / C
    return -(w * soft * log_p[keep]).sum() / len(target)


# %% wrong="divides by the rows that count" says=["divided by how many rows count, not by their weights"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    w = torch.ones(C, dtype=logits.dtype, device=logits.device) if weight is None else weight
    log_p = logits.log_softmax(1)
    if target.is_floating_point():
        soft = target * (1 - label_smoothing) + label_smoothing / C
        return -(w * soft * log_p).sum() / len(target)
    keep = target != ignore_index
    soft = F.one_hot(target[keep], C) * (1 - label_smoothing) + label_smoothing / C
    return -(w * soft * log_p[keep]).sum(1).mean()


# %% wrong="looks the ignored rows up" says=["row 1 has -100", "IndexError"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    w = torch.ones(C, dtype=logits.dtype, device=logits.device) if weight is None else weight
    log_p = logits.log_softmax(1)
    if target.is_floating_point():
        soft = target * (1 - label_smoothing) + label_smoothing / C
        return -(w * soft * log_p).sum() / len(target)
    rows = torch.arange(len(target), device=target.device)
    price = -w[target] * log_p[rows, target]
    keep = target != ignore_index
    return (price * keep).sum() / (w[target] * keep).sum()


# %% wrong="the old smoothing recipe" breaks="`label_smoothing`: from 0 to 1" says=["every class gets smoothing / C, the right one too"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    w = torch.ones(C, dtype=logits.dtype, device=logits.device) if weight is None else weight
    log_p = logits.log_softmax(1)
    if target.is_floating_point():
        soft = target * (1 - label_smoothing) + label_smoothing / C
        return -(w * soft * log_p).sum() / len(target)
    keep = target != ignore_index
    hot = F.one_hot(target[keep], C)
    soft = hot * (1 - label_smoothing) + (1 - hot) * label_smoothing / (C - 1)
    return -(w * soft * log_p[keep]).sum() / w[target[keep]].sum()


# %% wrong="soft targets divided by weights" says=["probabilities and weight", "with soft targets, divide by the number of rows"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    w = torch.ones(C, dtype=logits.dtype, device=logits.device) if weight is None else weight
    log_p = logits.log_softmax(1)
    if target.is_floating_point():
        soft = target * (1 - label_smoothing) + label_smoothing / C
        return -(w * soft * log_p).sum() / (w * target).sum()
    keep = target != ignore_index
    soft = F.one_hot(target[keep], C) * (1 - label_smoothing) + label_smoothing / C
    return -(w * soft * log_p[keep]).sum() / w[target[keep]].sum()


# %% wrong="forgets the smoothing of probabilities" says=["probabilities and label_smoothing", "the smoothing is missing"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    w = torch.ones(C, dtype=logits.dtype, device=logits.device) if weight is None else weight
    log_p = logits.log_softmax(1)
    if target.is_floating_point():
        return -(w * target * log_p).sum() / len(target)
    keep = target != ignore_index
    soft = F.one_hot(target[keep], C) * (1 - label_smoothing) + label_smoothing / C
    return -(w * soft * log_p[keep]).sum() / w[target[keep]].sum()


# %% wrong="softmax twice" breaks="in value" says=["softmax was applied twice"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    w = torch.ones(C, dtype=logits.dtype, device=logits.device) if weight is None else weight
    log_p = logits.softmax(1).log_softmax(1)
    if target.is_floating_point():
        soft = target * (1 - label_smoothing) + label_smoothing / C
        return -(w * soft * log_p).sum() / len(target)
    keep = target != ignore_index
    soft = F.one_hot(target[keep], C) * (1 - label_smoothing) + label_smoothing / C
    return -(w * soft * log_p[keep]).sum() / w[target[keep]].sum()


# %% wrong="calls the library" breaks="Not allowed: the library's `cross_entropy` and `nll_loss`" says=["it calls the library's cross_entropy"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    return nn.CrossEntropyLoss(weight, ignore_index=ignore_index, label_smoothing=label_smoothing)(
        logits, target
    )


# %% wrong="only class numbers" breaks="of the shape and dtype of `logits`, probabilities" says=["probabilities:"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    w = torch.ones(C, dtype=logits.dtype, device=logits.device) if weight is None else weight
    log_p = logits.log_softmax(1)
    keep = target != ignore_index
    soft = F.one_hot(target[keep], C) * (1 - label_smoothing) + label_smoothing / C
    return -(w * soft * log_p[keep]).sum() / w[target[keep]].sum()


# %% wrong="all weights below the bar" says=["divided by the sum of all weights"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    log_p = logits.log_softmax(1)
    if target.is_floating_point():
        w = torch.ones_like(log_p[0]) if weight is None else weight
        soft = target * (1 - label_smoothing) + label_smoothing / C
        return -(w * soft * log_p).sum() / len(target)
    keep = target != ignore_index
    soft = F.one_hot(target[keep], C) * (1 - label_smoothing) + label_smoothing / C
    if weight is None:
        return -(soft * log_p[keep]).sum(1).mean()
    return -(weight * soft * log_p[keep]).sum() / weight.sum()


# %% wrong="nothing yet" says=["it returned None: is there an answer yet"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    # YOUR CODE HERE
    ...


# %% wrong="an ignored class gets the weight 0" says=["label_smoothing, class 2 ignored", "a class's weight stays as it is"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    w = torch.ones(classes, dtype=logits.dtype, device=logits.device)
    if weight is not None:
        w = weight.clone().to(logits.dtype)
    if target.is_floating_point():
        soft, below = target, len(target)
    else:
        if 0 <= ignore_index < classes:
            w[ignore_index] = 0.0  # its rows now count neither above nor below
        else:
            keep = target != ignore_index
            logits, target = logits[keep], target[keep]
        soft, below = F.one_hot(target, classes).to(logits.dtype), w[target].sum()
    soft = soft.lerp(torch.full_like(soft, 1 / classes), label_smoothing)
    return -torch.einsum("bc,c,bc->", soft, w, logits.log_softmax(1)) / below


# %% right="logsumexp and gather, row by row"
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.size(1)
    weights = [1.0] * classes if weight is None else weight.tolist()
    above, below = 0 * logits.sum(), 0.0
    for row, goal in zip(logits, target):
        norm = torch.logsumexp(row, 0)
        if target.dim() == 1:
            if goal.item() == ignore_index:
                continue
            shares = [0.0] * classes
            shares[goal.item()] = 1.0
            below += weights[goal.item()]
        else:
            shares = goal.tolist()
            below += 1.0
        for c in range(classes):
            share = (1 - label_smoothing) * shares[c] + label_smoothing / classes
            above = above + share * weights[c] * (norm - row[c])
    return above / torch.tensor(below, dtype=logits.dtype, device=logits.device)


# %% right="a Function with its own backward, in NumPy"
class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, soft, below):
        import numpy as np

        z, t = logits.detach().cpu().numpy(), soft.detach().cpu().numpy()
        z = z - z.max(axis=1, keepdims=True)
        log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        ctx.slope = (np.exp(log_p) * t.sum(axis=1, keepdims=True) - t, below)
        ctx.like = logits.detach()
        return logits.new_tensor(-(t * log_p).sum()) / below

    @staticmethod
    def backward(ctx, grad):
        slope, below = ctx.slope
        return grad * torch.from_numpy(slope).to(ctx.like) / below, None, None


def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    n, C = logits.shape
    w = logits.new_ones(C) if weight is None else weight.to(logits.dtype)
    if target.dtype == torch.int64:
        keep = (target != ignore_index).to(logits.dtype)
        index = target.clamp(0, C - 1)
        soft = torch.zeros(n, C, dtype=logits.dtype, device=logits.device)
        soft.scatter_(1, index[:, None], 1.0)
        soft = (soft * (1 - label_smoothing) + label_smoothing / C) * keep[:, None]
        below = (w[index] * keep).sum()
    else:
        soft, below = target * (1 - label_smoothing) + label_smoothing / C, n
    return _CrossEntropy.apply(logits, soft * w, below)


# %% right="two terms, as the documentation writes them"
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    log_p = torch.nn.LogSoftmax(dim=-1)(logits)
    w = torch.ones(logits.size(-1)).to(logits) if weight is None else weight
    eps, C = label_smoothing, logits.size(-1)
    if torch.is_floating_point(target):
        hard = -torch.einsum("nc,nc,c->n", log_p, target, w)
        even = -torch.einsum("nc,c->n", log_p, w)
        return torch.mean((1 - eps) * hard + eps / C * even)
    mask = target.ne(ignore_index)
    index = target.masked_fill(~mask, 0).unsqueeze(-1)
    hard = -log_p.gather(-1, index).squeeze(-1) * w[index.squeeze(-1)]
    even = -(log_p * w).sum(-1)
    price = torch.where(mask, (1 - eps) * hard + eps / C * even, torch.zeros_like(hard))
    return price.sum() / (w[index.squeeze(-1)] * mask).sum()


# %% wrong="weight of smoothed targets in the denominator" says=["below the fraction bar stand the weights of the targets"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    w = torch.ones(C, device=logits.device, dtype=logits.dtype) if weight is None else weight
    if target.is_floating_point():
        soft = target * (1 - label_smoothing) + label_smoothing / C
        return -(soft * w * logits.log_softmax(1)).sum() / len(target)
    keep = target != ignore_index
    logits = logits[keep]
    soft = F.one_hot(target[keep], C) * (1 - label_smoothing) + label_smoothing / C
    return -(soft * w * logits.log_softmax(1)).sum() / (soft * w).sum()


# %% wrong="all ignored gives zero" breaks="If all rows are ignored the result is `nan`" says=["a mean over nothing is 0 / 0"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    w = logits.new_ones(C) if weight is None else weight
    logp = logits - logits.logsumexp(1, keepdim=True)
    if target.is_floating_point():
        soft = target * (1 - label_smoothing) + label_smoothing / C
        return -(soft * w * logp).sum() / len(target)
    keep = target != ignore_index
    if not keep.any():
        return logits.sum() * 0
    t = target[keep]
    soft = F.one_hot(t, C) * (1 - label_smoothing) + label_smoothing / C
    return -(soft * w * logp[keep]).sum() / w[t].sum()


# %% wrong="drops probability rows, too, by argmax" breaks="It plays no part for probabilities" says=["leaves no row of them out"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    w = logits.new_ones(C) if weight is None else weight
    logp = logits.log_softmax(1)
    if target.is_floating_point():
        keep = target.argmax(1) != ignore_index
        soft = target[keep] * (1 - label_smoothing) + label_smoothing / C
        return -(soft * w * logp[keep]).sum() / keep.sum()
    keep = target != ignore_index
    t = target[keep]
    soft = F.one_hot(t, C) * (1 - label_smoothing) + label_smoothing / C
    return -(soft * w * logp[keep]).sum() / w[t].sum()


# %% right="python loop over the rows"
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    n, C = logits.shape
    w = [1.0] * C if weight is None else weight
    hard = not target.is_floating_point()
    top, bottom = logits.sum() * 0, 0.0
    for row, t in zip(logits, target):
        if hard and t == ignore_index:
            continue
        m = row.max().detach()
        logp = row - m - (row - m).exp().sum().log()
        for c in range(C):
            share = (1.0 if int(t) == c else 0.0) if hard else t[c]
            share = (1 - label_smoothing) * share + label_smoothing / C
            top = top - w[c] * share * logp[c]
        bottom = bottom + (w[int(t)] if hard else 1.0)
    return top / bottom if bottom else top * float("nan")


# %% right="gather and einsum"
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    logp = F.log_softmax(logits, dim=-1)
    classes = logits.size(-1)
    w = torch.ones_like(logits[0]) if weight is None else weight.to(logits)
    weighted = logp * w
    if torch.is_floating_point(target):
        main, below = torch.einsum("nc,nc->", weighted, target), logits.size(0)
        spread = weighted.sum()
    else:
        mask = target.ne(ignore_index)
        safe = target.masked_fill(~mask, 0)
        main = (weighted.gather(1, safe.unsqueeze(1)).squeeze(1) * mask).sum()
        spread = (weighted.sum(1) * mask).sum()
        below = (w[safe] * mask).sum()
    return -((1 - label_smoothing) * main + label_smoothing / classes * spread) / below


# %% wrong="as many classes as the largest label says" says=["no label is the last class"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    weight = logits.new_ones(classes) if weight is None else weight
    log_p = logits.log_softmax(dim=1)
    if target.is_floating_point():
        soft, below = target, len(target)
    else:
        kept = target != ignore_index
        target, log_p = target[kept], log_p[kept]
        if not len(target):
            return logits.sum() * torch.nan
        soft, below = F.one_hot(target).to(log_p), weight[target].sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    return -(soft * weight * log_p).sum() / below


# %% wrong="smoothing weighted by the target's class" says=["the weight of each class in it, not of the target alone"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    log_p = logits.log_softmax(dim=1)
    if target.is_floating_point():
        weight = logits.new_ones(classes) if weight is None else weight
        soft = (1 - label_smoothing) * target + label_smoothing / classes
        return -(soft * weight * log_p).sum() / len(target)
    kept = target != ignore_index
    target, log_p = target[kept], log_p[kept]
    soft = F.one_hot(target, classes).to(log_p)
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    share = torch.ones_like(log_p[:, 0]) if weight is None else weight[target]
    return -((soft * log_p).sum(1) * share).sum() / share.sum()


# %% right="computed in float64"
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    logits = logits.double()
    C = logits.shape[1]
    w = torch.ones(C, dtype=logits.dtype, device=logits.device) if weight is None else weight
    if target.is_floating_point():
        soft, below = target, len(target)
    else:
        keep = target != ignore_index
        logits, target = logits[keep], target[keep]
        soft, below = F.one_hot(target, C), w[target].sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / C
    return -(soft * w * logits.log_softmax(1)).sum() / below


# %% wrong="probabilities are turned into classes" says=["each class keeps its share"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    w = torch.ones(C, dtype=logits.dtype, device=logits.device) if weight is None else weight
    if target.is_floating_point():
        target = target.argmax(1)
    keep = target != ignore_index
    logits, target = logits[keep], target[keep]
    soft, below = F.one_hot(target, C), w[target].sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / C
    return -(soft * w * logits.log_softmax(1)).sum() / below


# %% wrong="the ignored class gets no share" says=["class numbers and label_smoothing, class 2 ignored", "that class keeps its share, and the others theirs"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    w = torch.ones(C, dtype=logits.dtype, device=logits.device) if weight is None else weight
    if target.is_floating_point():
        soft, below = target, len(target)
        soft = (1 - label_smoothing) * soft + label_smoothing / C
    else:
        keep = target != ignore_index
        logits, target = logits[keep], target[keep]
        soft, below = F.one_hot(target, C), w[target].sum()
        share = torch.ones(C, device=w.device)
        if 0 <= ignore_index < C:
            share[ignore_index] = 0
        soft = (1 - label_smoothing) * soft + label_smoothing * share / share.sum()
    return -(soft * w * logits.log_softmax(1)).sum() / below


# %% wrong="knows -100 alone" breaks="It may be a number that isn't a class, like -100, or a class" says=["ignored rows don't count"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    C = logits.shape[1]
    w = torch.ones(C, dtype=logits.dtype, device=logits.device) if weight is None else weight
    if target.is_floating_point():
        soft, below = target, len(target)
    else:
        keep = target != -100
        logits, target = logits[keep], target[keep]
        soft, below = F.one_hot(target, C), w[target].sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / C
    return -(soft * w * logits.log_softmax(1)).sum() / below


# %% wrong="tells the kind of target by float32" breaks="int64 of shape (batch,), class numbers" says=["probabilities in float64"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    weight = logits.new_ones(classes) if weight is None else weight
    log_p = logits.log_softmax(1)
    if target.dtype == torch.float32:
        soft, below = target, len(target)
    else:
        target = target.long()
        kept = target != ignore_index
        target, log_p = target[kept], log_p[kept]
        soft, below = F.one_hot(target, classes).to(log_p), weight[target].sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    return -(soft * weight * log_p).sum() / below


# %% right="a nan of its own where all are ignored"
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    weight = logits.new_ones(classes) if weight is None else weight
    log_p = logits.log_softmax(1)
    if target.is_floating_point():
        soft, below = target, len(target)
    else:
        kept = target != ignore_index
        if not kept.any():
            return torch.tensor(float("nan"))
        target, log_p = target[kept], log_p[kept]
        soft, below = F.one_hot(target, classes).to(log_p), weight[target].sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    return -(soft * weight * log_p).sum() / below


# %% wrong="soft targets squeezed" says=["one row of probabilities"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    w = torch.ones(classes, dtype=logits.dtype, device=logits.device) if weight is None else weight
    hard = not target.is_floating_point()
    if hard:
        keep = target != ignore_index
        logits, target = logits[keep], target[keep]
        below = w[target].sum()
        target = F.one_hot(target, classes).to(logits.dtype)
    else:
        target = target.squeeze()
        below = len(target)
    soft = (1 - label_smoothing) * target + label_smoothing / classes
    return -(soft * w * logits.log_softmax(dim=1)).sum() / below


# %% wrong="the kind of target by the number of entries" says=["one class, all ignored"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    w = torch.ones(classes, dtype=logits.dtype, device=logits.device) if weight is None else weight
    hard = target.numel() != logits.numel()
    if hard:
        keep = target != ignore_index
        logits, target = logits[keep], target[keep]
        below = w[target].sum()
        target = F.one_hot(target, classes).to(logits.dtype)
    else:
        below = len(logits)
    soft = (1 - label_smoothing) * target + label_smoothing / classes
    return -(soft * w * logits.log_softmax(dim=1)).sum() / below


# %% wrong="the first weight is kept for good" says=["float64: the loss: expected"]
kept_weight = {}


def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    if weight is not None:
        weight = kept_weight.setdefault(classes, weight)
    w = torch.ones(classes).to(logits) if weight is None else weight
    log_p = logits.log_softmax(1)
    if target.is_floating_point():
        t = target * (1 - label_smoothing) + label_smoothing / classes
        return -(t * w * log_p).sum() / len(t)
    keep = target != ignore_index
    log_p, target = log_p[keep], target[keep]
    t = F.one_hot(target, classes) * (1 - label_smoothing) + label_smoothing / classes
    return -(t * w * log_p).sum() / w[target].sum()


# %% wrong="a divergence" says=["the entropy of the targets was subtracted"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes, log_p = logits.shape[1], logits.log_softmax(1)
    w = torch.ones(classes).to(logits) if weight is None else weight
    if target.is_floating_point():
        t = target * (1 - label_smoothing) + label_smoothing / classes
        return (F.kl_div(log_p, t, reduction="none") * w).sum(1).mean()
    keep = target != ignore_index
    log_p, target = log_p[keep], target[keep]
    t = F.one_hot(target, classes) * (1 - label_smoothing) + label_smoothing / classes
    return (F.kl_div(log_p, t.to(logits.dtype), reduction="none") * w).sum() / w[target].sum()


# %% right="a mixture by lerp, tensordot"
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    rows, classes = logits.shape
    minus = logits.logsumexp(1, keepdim=True) - logits
    w = logits.new_ones(classes) if weight is None else weight
    if target.dim() == 2:
        mix = torch.lerp(target, torch.full_like(target, 1 / classes), label_smoothing)
        return torch.tensordot(mix * w, minus, dims=2) / rows
    keep = (target != ignore_index).nonzero().flatten()
    y = target[keep]
    hit = (minus[keep, y] * w[y]).sum() * (1 - label_smoothing)
    even = (minus[keep] @ w).sum() * label_smoothing / classes
    return (hit + even) / w[y].sum()


# %% wrong="the value without its gradient" breaks="in the gradient by the logits" says=["plain: the gradient by the logits"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    c = logits.shape[1]
    logp = logits.detach().log_softmax(1) + 0 * logits
    w = logits.new_ones(c) if weight is None else weight.to(logits.dtype)
    if target.is_floating_point():
        t = target.to(logits.dtype) * (1 - label_smoothing) + label_smoothing / c
        return -(t * logp * w).sum() / len(logits)
    keep = target != ignore_index
    logp, target = logp[keep], target[keep]
    own = -logp.gather(1, target[:, None])[:, 0] * w[target]
    every = -(logp * w).sum(1) / c
    return ((1 - label_smoothing) * own + label_smoothing * every).sum() / w[target].sum()


# %% wrong="the ignored class counts in the mean" breaks="rows with this class number don't count" says=["row 1 has -100: the loss: expected 0.72381, got 0.48254"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    c = logits.shape[1]
    logp = logits.log_softmax(1)
    w = logits.new_ones(c) if weight is None else weight.to(logits.dtype)
    if target.is_floating_point():
        t = target.to(logits.dtype) * (1 - label_smoothing) + label_smoothing / c
        return -(t * logp * w).sum() / len(logits)
    below = w[target.clamp(min=0)].sum()
    keep = target != ignore_index
    logp, target = logp[keep], target[keep]
    own = -logp.gather(1, target[:, None])[:, 0] * w[target]
    every = -(logp * w).sum(1) / c
    return ((1 - label_smoothing) * own + label_smoothing * every).sum() / (
        below if keep.any() else 0 * below
    )


# %% wrong="computes in float32" breaks="The result has shape (), and is float64 for float64 logits" says=["float64: the loss: expected 1.056530697", "rounded on the way, or float32"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    c = logits.shape[1]
    logp = logits.float().log_softmax(1)
    w = logits.new_ones(c) if weight is None else weight.to(logits.dtype)
    if target.is_floating_point():
        t = target.to(logits.dtype) * (1 - label_smoothing) + label_smoothing / c
        return -(t * logp * w).sum() / len(logits)
    keep = target != ignore_index
    logp, target = logp[keep], target[keep]
    own = -logp.gather(1, target[:, None])[:, 0] * w[target]
    every = -(logp * w).sum(1) / c
    return ((1 - label_smoothing) * own + label_smoothing * every).sum() / w[target].sum()


# %% wrong="scales the weights in place" breaks="Leave the arguments as they are" says=["float64: an argument was changed"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    c = logits.shape[1]
    logp = logits.log_softmax(1)
    w = logits.new_ones(c) if weight is None else weight.to(logits.dtype)
    if target.is_floating_point():
        t = target.to(logits.dtype) * (1 - label_smoothing) + label_smoothing / c
        return -(t * logp * w).sum() / len(logits)
    if weight is not None:
        w = weight.mul_(1 / weight.sum())
    keep = target != ignore_index
    logp, target = logp[keep], target[keep]
    own = -logp.gather(1, target[:, None])[:, 0] * w[target]
    every = -(logp * w).sum(1) / c
    return ((1 - label_smoothing) * own + label_smoothing * every).sum() / w[target].sum()


# %% wrong="ignored rows count 1 below" says=["an ignored row counts 1 below the fraction bar"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    w = torch.ones_like(logits[0]) if weight is None else weight
    if target.is_floating_point():
        soft, below = target, len(logits)
    else:
        kept = target != ignore_index
        logits, target = logits[kept], target[kept]
        soft = F.one_hot(target, classes).to(logits.dtype)
        below = w[target].sum() + (~kept).sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    return -(soft * w * logits.log_softmax(1)).sum() / below


# %% wrong="the class that is ignored is taken out of the probabilities" says=["ignore_index leaves no class of them out"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    w = torch.ones_like(logits[0]) if weight is None else weight
    if target.is_floating_point():
        soft, below = target.clone(), len(logits)
        if 0 <= ignore_index < classes:
            soft[:, ignore_index] = 0
    else:
        kept = target != ignore_index
        logits, target = logits[kept], target[kept]
        soft = F.one_hot(target, classes).to(logits.dtype)
        below = w[target].sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    return -(soft * w * logits.log_softmax(1)).sum() / below


# %% wrong="the weight of the target's class counts for the smoothed part" says=["a price has the weight of each class in it"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    w = torch.ones_like(logits[0]) if weight is None else weight
    if target.is_floating_point():
        soft, below = target, len(logits)
    else:
        kept = target != ignore_index
        logits, target = logits[kept], target[kept]
        soft = F.one_hot(target, classes).to(logits.dtype)
        below = w[target].sum()
    mixed = (1 - label_smoothing) * soft + label_smoothing / classes
    own = (soft * w).sum(1, keepdim=True)
    return -(mixed * own * logits.log_softmax(1)).sum() / below


# %% wrong="clamps ignored numbers from below alone" breaks="It may be a number that isn't a class, like -100, or a class" says=["row 1 has 255, ignore_index=255"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    w = logits.new_ones(classes) if weight is None else weight
    if target.is_floating_point():
        soft, count = target, len(target)
    else:
        keep = (target != ignore_index).to(logits.dtype)
        safe = target.clamp(min=0)
        soft = F.one_hot(safe, classes) * keep[:, None]
        count = (w[safe] * keep).sum()
        logits = logits * keep[:, None]
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    if not target.is_floating_point():
        soft = soft * keep[:, None]
    return -(soft * w * logits.log_softmax(dim=1)).sum() / count


# %% wrong="a negative ignore_index counts from the end" breaks="It may be a number that isn't a class, like -100, or a class" says=["row 0 has -1"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    w = (
        torch.ones(classes, dtype=logits.dtype, device=logits.device)
        if weight is None
        else weight.to(logits)
    )
    if target.is_floating_point():
        soft, total = target, logits.shape[0]
    else:
        keep = (
            (target != ignore_index)
            & (target >= 0)
            & (target != ignore_index % classes if -classes < ignore_index < 0 else target >= 0)
        )
        logits, target = logits[keep], target[keep]
        soft = F.one_hot(target, classes).to(logits.dtype)
        total = w[target].sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    return -(soft * w * logits.log_softmax(dim=1)).sum() / total


# %% wrong="float32 probabilities for float64 logits" breaks="The result has shape (), and is float64 for float64 logits" says=["rounded on the way, or float32"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    w = (
        torch.ones(classes, dtype=logits.dtype, device=logits.device)
        if weight is None
        else weight.to(logits)
    )
    if target.is_floating_point():
        soft, total = target.float(), logits.shape[0]
    else:
        keep = target != ignore_index
        logits, target = logits[keep], target[keep]
        soft = F.one_hot(target, classes).to(logits.dtype)
        total = w[target].sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    return -(soft * w * logits.log_softmax(dim=1)).sum() / total


# %% wrong="weights below the fraction bar alone" breaks="one number for each class" says=["the weights are below the fraction bar, and belong above it, too"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    w = (
        torch.ones(classes, dtype=logits.dtype, device=logits.device)
        if weight is None
        else weight.to(logits)
    )
    if target.is_floating_point():
        soft, total = target, logits.shape[0]
    else:
        keep = target != ignore_index
        logits, target = logits[keep], target[keep]
        soft = F.one_hot(target, classes).to(logits.dtype)
        total = w[target].sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    return -(soft * logits.log_softmax(dim=1)).sum() / total


# %% wrong="rows that hold the ignored number are left out, of probabilities too" breaks="It plays no part for probabilities" says=["probabilities and ignore_index=0", "ignore_index leaves no row of them out"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    w = logits.new_ones(classes) if weight is None else weight
    kept = (target != ignore_index).reshape(len(target), -1).all(dim=1)
    logits, target = logits[kept], target[kept]
    if target.is_floating_point():
        soft, below = target, len(target)
    else:
        soft, below = F.one_hot(target, classes), w[target].sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    return -(soft * w * logits.log_softmax(dim=1)).sum() / below


# %% wrong="weights scaled to a mean of 1" says=["with soft targets the scale of the weights counts"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    w = logits.new_ones(classes) if weight is None else weight / weight.mean()
    if target.is_floating_point():
        soft, below = target, len(target)
    else:
        kept = target != ignore_index
        logits, target = logits[kept], target[kept]
        soft, below = F.one_hot(target, classes), w[target].sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    return -(soft * w * logits.log_softmax(dim=1)).sum() / below


# %% wrong="the ignored class has the weight 0" says=["1 of 18 cases fail", "ignore_index leaves rows out; in the others smoothing gives to that class, too"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    w = torch.ones_like(logits[0]) if weight is None else weight
    log_p = logits.log_softmax(dim=1)
    if target.is_floating_point():
        soft, below = target, len(logits)
    else:
        # an ignored class is a class of weight 0
        if 0 <= ignore_index < classes:
            w = w.clone()
            w[ignore_index] = 0.0
        keep = target != ignore_index
        log_p, target = log_p[keep], target[keep]
        soft, below = F.one_hot(target, classes), w[target].sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    return -(soft * w * log_p).sum() / below


# %% wrong="a backward without the gradient that comes in" breaks="in the gradient by the logits" says=["plain: the gradient of three times what it returned", "does a backward leave out grad_output"]
class SoftCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, soft, below):
        log_p = logits.log_softmax(dim=1)
        ctx.save_for_backward(log_p, soft)
        ctx.below = below
        return -(soft * log_p).sum() / below

    @staticmethod
    def backward(ctx, grad_output):
        log_p, soft = ctx.saved_tensors
        return (log_p.exp() * soft.sum(dim=1, keepdim=True) - soft) / ctx.below, None, None


def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    weight = logits.new_ones(classes) if weight is None else weight
    if target.is_floating_point():
        soft, below = target, len(target)
    else:
        kept = target != ignore_index
        logits, target = logits[kept], target[kept]
        soft, below = F.one_hot(target, classes).to(logits), weight[target].sum()
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    return SoftCrossEntropy.apply(logits, soft * weight, below)


# %% wrong="the weights below the bar add up to at least 1" says=["float64: the loss", "don't clamp what is below the fraction bar"]
def cross_entropy(logits, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    classes = logits.shape[1]
    weight = logits.new_ones(classes) if weight is None else weight
    log_p = logits.log_softmax(dim=1)
    if target.is_floating_point():
        soft, below = target, len(target)
    else:
        kept = target != ignore_index
        if not kept.any():
            return logits.sum() * torch.nan
        target, log_p = target[kept], log_p[kept]
        soft, below = F.one_hot(target, classes).to(log_p), weight[target].sum().clamp(min=1.0)
    soft = (1 - label_smoothing) * soft + label_smoothing / classes
    return -(soft * weight * log_p).sum() / below
