# %% [markdown]
# Rules:
#
# - "the hardest positive and negative for each anchor"
# - "by Euclidean distance (not squared)"
# - "An anchor is not its own positive"
# - "An anchor without a positive or without a negative is left out"
# - "the mean is over the remaining anchors"
# - "0 if there are none"
# - "The gradient flows to anchor, positive and negative"
# - "is finite, also where two embeddings are equal"
# - "the mean price over the rows of `first`"
# - "Not allowed here: a Python loop over the rows"
# - "The temperature may be as small as 0.01"
# - "The gradient flows to both arguments"
# - "leaves its arguments as they are"
# - "They are float32, or float64; then the result is, too"
#
# Admits:
#
# - "An anchor without a positive": anchors without a positive
# - "0 if there are none": one class only, float64
# - "where two embeddings are equal": two equal embeddings of one class
# - "as small as 0.01": (2, 0.01)

# %% wrong="squared distances" breaks="by Euclidean distance (not squared)" says=["squared distances; Euclidean ones are asked for"]
def metric_losses(embeddings, labels, margin):
    d = (embeddings[:, None] - embeddings[None]).square().sum(2)
    same = labels[:, None] == labels[None]
    eye = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    keep = (same & ~eye).any(1) & (~same).any(1)
    if not keep.any():
        return d.sum() * 0
    far = d.masked_fill(~same | eye, -1).amax(1)
    near = d.masked_fill(same, torch.inf).amin(1)
    return F.relu(far - near + margin)[keep].mean()


def info_nce(first, second, temperature):
    return F.cross_entropy(
        first @ second.T / temperature, torch.arange(len(first), device=first.device)
    )


# %% wrong="a square root at zero" breaks="is finite, also where two embeddings are equal" says=["the slope of a square root at 0 is infinite"]
def metric_losses(embeddings, labels, margin):
    d = (embeddings[:, None] - embeddings[None]).square().sum(2).sqrt()
    same = labels[:, None] == labels[None]
    eye = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    keep = (same & ~eye).any(1) & (~same).any(1)
    if not keep.any():
        return embeddings.sum() * 0
    far = d.masked_fill(~same | eye, -1).amax(1)
    near = d.masked_fill(same, torch.inf).amin(1)
    return F.relu(far - near + margin)[keep].mean()


def info_nce(first, second, temperature):
    a, b = F.normalize(first, dim=1), F.normalize(second, dim=1)
    return F.cross_entropy(a @ b.T * temperature, torch.arange(len(a), device=a.device))


# %% wrong="fills with zeros" says=["the walk"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels[None]
    far = (d * same).amax(1)
    near = (d * ~same).amin(1)
    return F.relu(far - near + margin).mean()


def info_nce(first, second, temperature):
    a, b = F.normalize(first, dim=0), F.normalize(second, dim=0)
    return F.cross_entropy(a @ b.T / temperature, torch.arange(len(a), device=a.device))


# %% wrong="the easiest triplet" breaks="the hardest positive and negative for each anchor" says=["both the wrong way round: that is the easiest triplet"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    prices = []
    for i in range(len(d)):
        pos = [d[i, j] for j in range(len(d)) if labels[i] == labels[j] and i != j]
        neg = [d[i, j] for j in range(len(d)) if labels[i] != labels[j]]
        if pos and neg:
            prices.append(F.relu(min(pos) - max(neg) + margin))
    return torch.stack(prices).mean() if prices else d.sum() * 0


def info_nce(first, second, temperature):
    a, b = F.normalize(first, dim=1), F.normalize(second, dim=1)
    return F.cross_entropy(b @ a.T / temperature, torch.arange(len(a), device=a.device))


# %% wrong="keeps anchors without a positive" breaks="An anchor without a positive or without a negative is left out" says=["anchors without a positive"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels[None]
    far = d.masked_fill(~same, -torch.inf).amax(1)
    near = d.masked_fill(same, torch.inf).amin(1)
    return F.relu(far - near + margin).mean()


def info_nce(first, second, temperature):
    a, b = F.normalize(first, dim=1), F.normalize(second, dim=1)
    return F.cross_entropy(a @ b.T, torch.arange(len(a), device=a.device))


# %% wrong="a mean over nothing" breaks="0 if there are none" says=["one class only", "it should be 0 here"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels[None]
    own = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    keep = own.any(1) & (~same).any(1)
    far = d.masked_fill(~own, -torch.inf).amax(1)
    near = d.masked_fill(same, torch.inf).amin(1)
    return F.relu(far - near + margin)[keep].mean()


def info_nce(first, second, temperature):
    scores = torch.stack([F.cosine_similarity(row[None], second) for row in first]) / temperature
    return F.cross_entropy(scores, torch.arange(len(first), device=first.device))


# %% wrong="InfoNCE by a loop" breaks="Not allowed here: a Python loop over the rows" says=["is there a loop over rows"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels[None]
    own = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    keep = own.any(1) & (~same).any(1)
    if not keep.any():
        return d.sum() * 0
    far = d.masked_fill(~own, -torch.inf).amax(1)
    near = d.masked_fill(same, torch.inf).amin(1)
    return F.relu(far - near + margin)[keep].mean()


def info_nce(first, second, temperature):
    scores = torch.stack([F.cosine_similarity(row[None], second) for row in first]) / temperature
    return F.cross_entropy(scores, torch.arange(len(first), device=first.device))


# %% wrong="no cosines" says=["cosines are asked for: divide each row by its length"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels[None]
    own = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    keep = own.any(1) & (~same).any(1)
    if not keep.any():
        return d.sum() * 0
    far = d.masked_fill(~own, -torch.inf).amax(1)
    near = d.masked_fill(same, torch.inf).amin(1)
    return F.relu(far - near + margin)[keep].mean()


def info_nce(first, second, temperature):
    return F.cross_entropy(
        first @ second.T / temperature, torch.arange(len(first), device=first.device)
    )


# %% wrong="nothing yet" says=["it returned None: is there an answer yet", "info_nce returned None"]
def metric_losses(embeddings, labels, margin):
    # YOUR CODE HERE
    ...


def info_nce(first, second, temperature):
    # YOUR CODE HERE
    ...


# %% right="loops, and logsumexp"
def metric_losses(embeddings, labels, margin):
    names, prices = labels.tolist(), []
    for i, name in enumerate(names):
        pos = [j for j, other in enumerate(names) if other == name and j != i]
        neg = [j for j, other in enumerate(names) if other != name]
        if pos and neg:
            far = torch.linalg.vector_norm(embeddings[pos] - embeddings[i], dim=1).max()
            near = torch.linalg.vector_norm(embeddings[neg] - embeddings[i], dim=1).min()
            prices.append(torch.clamp(far - near + margin, min=0))
    if not prices:
        return embeddings.new_zeros(())
    return sum(prices) / len(prices)


def info_nce(first, second, temperature):
    a = first / first.norm(dim=1, keepdim=True)
    b = second / second.norm(dim=1, keepdim=True)
    scores = torch.einsum("id,jd->ij", a, b) / temperature
    return (torch.logsumexp(scores, 1) - scores.diagonal()).mean()


# %% right="the library's triplet loss on mined rows, cosine by broadcasting"
def metric_losses(embeddings, labels, margin):
    with torch.no_grad():
        d = (embeddings[:, None] - embeddings).norm(dim=-1)
        same = labels.view(-1, 1).eq(labels.view(1, -1))
        own = same.clone().fill_diagonal_(False)
        rows = (own.any(1) & (~same).any(1)).nonzero()[:, 0]
        far = torch.where(own, d, -1.0).argmax(1)[rows]
        near = torch.where(same, float("inf"), d).argmin(1)[rows]
    if len(rows) == 0:
        return embeddings.new_zeros(())

    def gap(other):
        return torch.linalg.vector_norm(embeddings[rows] - embeddings[other], dim=1)

    return (gap(far) - gap(near) + margin).relu().mean()


def info_nce(first, second, temperature):
    scores = F.cosine_similarity(first[:, None], second[None], dim=2).div(temperature)
    return -scores.log_softmax(dim=1).diag().mean()


# %% wrong="the negative is detached" breaks="The gradient flows to anchor, positive and negative" says=["no gradient flows to the negatives"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels
    positive = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    far = d.masked_fill(~positive, -torch.inf).amax(1)
    near = d.detach().masked_fill(same, torch.inf).amin(1)
    keep = positive.any(1) & (~same).any(1)
    if not keep.any():
        return embeddings.sum() * 0
    return F.relu(far[keep] - near[keep] + margin).mean()


def info_nce(first, second, temperature):
    scores = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T / temperature
    return F.cross_entropy(scores, torch.arange(len(first), device=first.device))


# %% wrong="only the anchor learns" says=["its positive and negative don't"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings.detach())
    same = labels[:, None] == labels
    positive = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    far = d.masked_fill(~positive, -torch.inf).amax(1)
    near = d.masked_fill(same, torch.inf).amin(1)
    keep = positive.any(1) & (~same).any(1)
    if not keep.any():
        return embeddings.sum() * 0
    return F.relu(far[keep] - near[keep] + margin).mean()


def info_nce(first, second, temperature):
    scores = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T / temperature
    return F.cross_entropy(scores, torch.arange(len(first), device=first.device))


# %% wrong="divides by all anchors, left out or not" breaks="the mean is over the remaining anchors" says=["left out of the mean"]
def metric_losses(embeddings, labels, margin):
    total = 0.0 * embeddings.sum()
    for i in range(len(labels)):
        own = [
            (embeddings[i] - embeddings[j]).norm()
            for j in range(len(labels))
            if labels[j] == labels[i] and i != j
        ]
        other = [
            (embeddings[i] - embeddings[j]).norm()
            for j in range(len(labels))
            if labels[j] != labels[i]
        ]
        if own and other:
            total = total + F.relu(max(own) - min(other) + margin)
    return total / len(labels)


def info_nce(first, second, temperature):
    scores = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T / temperature
    return F.cross_entropy(scores, torch.arange(len(first), device=first.device))


# %% wrong="mean over the active triplets only" says=["also those that cost 0"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels
    positive = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    far = d.masked_fill(~positive, -torch.inf).amax(1)
    near = d.masked_fill(same, torch.inf).amin(1)
    price = F.relu(far - near + margin)
    price = price[positive.any(1) & (~same).any(1)]
    active = price[price > 0]
    return active.mean() if len(active) else embeddings.sum() * 0


def info_nce(first, second, temperature):
    scores = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T / temperature
    return F.cross_entropy(scores, torch.arange(len(first), device=first.device))


# %% wrong="exp over a sum, overflows" breaks="The temperature may be as small as 0.01" says=["exp(1 / temperature) is too large"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels
    positive = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    far = d.masked_fill(~positive, -torch.inf).amax(1)
    near = d.masked_fill(same, torch.inf).amin(1)
    keep = positive.any(1) & (~same).any(1)
    if not keep.any():
        return embeddings.sum() * 0
    return F.relu(far[keep] - near[keep] + margin).mean()


def info_nce(first, second, temperature):
    scores = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T / temperature
    e = scores.exp()
    return -(e.diagonal() / e.sum(1)).log().mean()


# %% wrong="SimCLR: the rows of first are negatives, too" breaks="the mean price over the rows of `first`" says=["the rows of second alone"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels
    positive = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    far = d.masked_fill(~positive, -torch.inf).amax(1)
    near = d.masked_fill(same, torch.inf).amin(1)
    keep = positive.any(1) & (~same).any(1)
    if not keep.any():
        return embeddings.sum() * 0
    return F.relu(far[keep] - near[keep] + margin).mean()


def info_nce(first, second, temperature):
    a, b = F.normalize(first, dim=1), F.normalize(second, dim=1)
    n = len(a)
    scores = torch.cat([a @ b.T, (a @ a.T).fill_diagonal_(-torch.inf)], dim=1) / temperature
    return F.cross_entropy(scores, torch.arange(n, device=a.device))


# %% right="loops with pairwise_distance; cosine_similarity by broadcasting"
def metric_losses(embeddings, labels, margin):
    prices = []
    for i, mine in enumerate(labels.tolist()):
        own = [j for j, other in enumerate(labels.tolist()) if other == mine and j != i]
        others = [j for j, other in enumerate(labels.tolist()) if other != mine]
        if not own or not others:
            continue
        far = F.pairwise_distance(embeddings[i], embeddings[own]).max()
        near = F.pairwise_distance(embeddings[i], embeddings[others]).min()
        prices.append((far - near + margin).clamp(min=0))
    return torch.stack(prices).mean() if prices else embeddings.new_zeros(())


def info_nce(first, second, temperature):
    scores = F.cosine_similarity(first[:, None], second[None], dim=-1) / temperature
    return (scores.logsumexp(1) - scores.diagonal()).mean()


# %% right="indices of the hardest, then triplet_margin_loss"
def metric_losses(embeddings, labels, margin):
    with torch.no_grad():
        d = torch.cdist(embeddings, embeddings, compute_mode="donot_use_mm_for_euclid_dist")
        same = labels.unsqueeze(0) == labels.unsqueeze(1)
        own = same.clone().fill_diagonal_(False)
        far = torch.where(own, d, -1).argmax(1)
        near = torch.where(same, torch.inf, d).argmin(1)
        keep = own.any(1) & (~same).any(1)
    if not keep.any():
        return torch.zeros((), dtype=embeddings.dtype, device=embeddings.device)
    return F.triplet_margin_loss(
        embeddings[keep], embeddings[far[keep]], embeddings[near[keep]], margin=margin, eps=1e-12
    )


def info_nce(first, second, temperature):
    a = first / first.norm(dim=1, keepdim=True)
    b = second / second.norm(dim=1, keepdim=True)
    logp = (torch.einsum("id,jd->ij", a, b) / temperature).log_softmax(dim=1)
    return -logp.diag().mean()


# %% right="norm with masked zeros"
def metric_losses(embeddings, labels, margin):
    n = len(labels)
    squares = (embeddings[:, None] - embeddings[None]).pow(2).sum(2)
    zero = squares == 0
    d = torch.where(zero, 0, torch.where(zero, 1, squares).sqrt())
    eye = torch.eye(n, device=labels.device).bool()
    prices = []
    for i in range(n):
        own = d[i][(labels == labels[i]) & ~eye[i]]
        other = d[i][labels != labels[i]]
        if own.numel() and other.numel():
            prices.append(torch.relu(own.max() - other.min() + margin))
    return sum(prices) / len(prices) if prices else d.sum() * 0


def info_nce(first, second, temperature):
    def one(row):
        return torch.nn.functional.cosine_similarity(row[None], second, dim=1) / temperature

    return F.cross_entropy(torch.vmap(one)(first), torch.arange(len(first), device=first.device))


# %% wrong="distances in float32" breaks="They are float32, or float64; then the result is, too" says=["expected torch.float64"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings.float(), embeddings.float())
    same = labels[:, None] == labels
    own = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    keep = own.any(1) & (~same).any(1)
    far = d.masked_fill(~own, -math.inf).amax(1)[keep]
    near = d.masked_fill(same, math.inf).amin(1)[keep]
    return F.relu(far - near + margin).mean() if keep.any() else embeddings.sum() * 0


def info_nce(first, second, temperature):
    z = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T / temperature
    return F.cross_entropy(z, torch.arange(len(first), device=first.device))


# %% wrong="margin always 1" says=["the margin is the argument's, not 1"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels
    own = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    keep = own.any(1) & (~same).any(1)
    far = d.masked_fill(~own, -math.inf).amax(1)[keep]
    near = d.masked_fill(same, math.inf).amin(1)[keep]
    return F.relu(far - near + 1.0).mean() if keep.any() else embeddings.sum() * 0


def info_nce(first, second, temperature):
    z = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T / temperature
    return F.cross_entropy(z, torch.arange(len(first), device=first.device))


# %% wrong="positives told by a distance above 0" says=["two equal embeddings of one class are a pair"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels
    own = same & (d > 0)
    kept = own.any(1) & ~same.all(1)
    if not kept.any():
        return embeddings.sum() * 0
    return (
        (d.masked_fill(~own, -torch.inf).amax(1) - d.masked_fill(same, torch.inf).amin(1) + margin)[
            kept
        ]
        .clamp(min=0)
        .mean()
    )


def info_nce(first, second, temperature):
    return F.cross_entropy(
        F.normalize(first) @ F.normalize(second).T / temperature, torch.arange(len(first))
    )


# %% wrong="the hardest pair of the whole batch" says=["each anchor has its own hardest"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels
    own = same & ~torch.eye(len(labels), dtype=torch.bool)
    kept = own.any(1) & ~same.all(1)
    if not kept.any():
        return embeddings.sum() * 0
    return (d[own].max() - d[~same].min() + margin).clamp(min=0)


def info_nce(first, second, temperature):
    return F.cross_entropy(
        F.normalize(first) @ F.normalize(second).T / temperature, torch.arange(len(first))
    )


# %% wrong="the mean over all triplets" says=["not over all triplets"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    prices = []
    n = len(labels)
    for a in range(n):
        for p in range(n):
            for k in range(n):
                if p != a and labels[p] == labels[a] and labels[k] != labels[a]:
                    prices.append((d[a, p] - d[a, k] + margin).clamp(min=0))
    return torch.stack(prices).mean() if prices else embeddings.sum() * 0


def info_nce(first, second, temperature):
    return F.cross_entropy(
        F.normalize(first) @ F.normalize(second).T / temperature, torch.arange(len(first))
    )


# %% wrong="columns of length 1" says=["over dim=1; that is each column's"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels
    own = same & ~torch.eye(len(labels), dtype=torch.bool)
    kept = own.any(1) & ~same.all(1)
    if not kept.any():
        return embeddings.sum() * 0
    return (
        (d.masked_fill(~own, -torch.inf).amax(1) - d.masked_fill(same, torch.inf).amin(1) + margin)[
            kept
        ]
        .clamp(min=0)
        .mean()
    )


def info_nce(first, second, temperature):
    return F.cross_entropy(
        F.normalize(first, dim=0) @ F.normalize(second, dim=0).T / temperature,
        torch.arange(len(first)),
    )


# %% wrong="InfoNCE by distances" says=["cosines are asked for, not distances"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels
    own = same & ~torch.eye(len(labels), dtype=torch.bool)
    kept = own.any(1) & ~same.all(1)
    if not kept.any():
        return embeddings.sum() * 0
    return (
        (d.masked_fill(~own, -torch.inf).amax(1) - d.masked_fill(same, torch.inf).amin(1) + margin)[
            kept
        ]
        .clamp(min=0)
        .mean()
    )


def info_nce(first, second, temperature):
    return F.cross_entropy(-torch.cdist(first, second) / temperature, torch.arange(len(first)))


# %% wrong="a float32 zero where no anchor remains" says=["one class only, float64", "dtype torch.float32"]
def metric_losses(embeddings, labels, margin):
    distance = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels
    own = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    usable = own.any(1) & (~same).any(1)
    if not usable.any():
        return torch.tensor(0.0, device=embeddings.device)
    positive = distance.masked_fill(~own, -math.inf).amax(1)
    negative = distance.masked_fill(same, math.inf).amin(1)
    return (positive - negative + margin).clamp(min=0)[usable].mean()


def info_nce(first, second, temperature):
    a, b = F.normalize(first), F.normalize(second)
    return F.cross_entropy(a @ b.T / temperature, torch.arange(len(a), device=a.device))


# %% wrong="InfoNCE in float32" says=["temperature 2.0", "dtype torch.float32"]
def metric_losses(embeddings, labels, margin):
    distance = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels
    own = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    usable = own.any(1) & (~same).any(1)
    if not usable.any():
        return 0 * embeddings.sum()
    positive = distance.masked_fill(~own, -math.inf).amax(1)
    negative = distance.masked_fill(same, math.inf).amin(1)
    return (positive - negative + margin).clamp(min=0)[usable].mean()


def info_nce(first, second, temperature):
    a, b = F.normalize(first.float()), F.normalize(second.float())
    return F.cross_entropy(a @ b.T / temperature, torch.arange(len(a), device=a.device))


# %% wrong="the mean is cut at 0, not each price" says=["cut each at 0, before the mean"]
def metric_losses(embeddings, labels, margin):
    distance = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels
    own = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    usable = own.any(1) & (~same).any(1)
    if not usable.any():
        return 0 * embeddings.sum()
    positive = distance.masked_fill(~own, -math.inf).amax(1)
    negative = distance.masked_fill(same, math.inf).amin(1)
    return (positive - negative + margin)[usable].mean().clamp(min=0)


def info_nce(first, second, temperature):
    a, b = F.normalize(first), F.normalize(second)
    return F.cross_entropy(a @ b.T / temperature, torch.arange(len(a), device=a.device))


# %% wrong="filled with 1e4" says=["far apart"]
def metric_losses(embeddings, labels, margin):
    gap = embeddings[:, None] - embeddings[None]
    square = gap.square().sum(2)
    far = square.where(square > 0, 1).sqrt().where(square > 0, 0)
    same = labels[:, None] == labels
    friend = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    use = friend.any(1) & (~same).any(1)
    if not use.any():
        return embeddings.sum() * 0
    own = far.masked_fill(~friend, -torch.inf).amax(1)[use]
    other = far.masked_fill(same, 1e4).amin(1)[use]
    return (own - other + margin).clamp(min=0).mean()


def info_nce(first, second, temperature):
    scores = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T / temperature
    return F.cross_entropy(scores, torch.arange(len(first), device=first.device))


# %% wrong="labels compared as bytes" says=["labels of 2049 and 2305"]
def metric_losses(embeddings, labels, margin):
    gap = embeddings[:, None] - embeddings[None]
    square = gap.square().sum(2)
    far = square.where(square > 0, 1).sqrt().where(square > 0, 0)
    labels = labels.to(torch.uint8)
    same = labels[:, None] == labels
    friend = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    use = friend.any(1) & (~same).any(1)
    if not use.any():
        return embeddings.sum() * 0
    own = far.masked_fill(~friend, -torch.inf).amax(1)[use]
    other = far.masked_fill(same, torch.inf).amin(1)[use]
    return (own - other + margin).clamp(min=0).mean()


def info_nce(first, second, temperature):
    scores = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T / temperature
    return F.cross_entropy(scores, torch.arange(len(first), device=first.device))


# %% wrong="distances by squares and products" says=["far from the origin: the loss: expected", "loses its digits far from the origin"]
def metric_losses(embeddings, labels, margin):
    products = embeddings @ embeddings.T
    squares = products.diag()
    d = (squares[:, None] + squares - 2 * products).clamp(min=1e-12).sqrt()
    same = labels[:, None] == labels
    eye = torch.eye(len(labels), dtype=torch.bool, device=d.device)
    far = d.masked_fill(~same | eye, -math.inf).amax(1)
    near = d.masked_fill(same, math.inf).amin(1)
    ok = (same & ~eye).any(1) & (~same).any(1)
    return (far - near + margin)[ok].clamp(min=0).mean() if ok.any() else embeddings.sum() * 0


def info_nce(first, second, temperature):
    scores = F.normalize(first) @ F.normalize(second).T / temperature
    return F.cross_entropy(scores, torch.arange(len(scores), device=scores.device))


# %% wrong="embeddings scaled to length 1" says=["the embeddings were scaled to length 1"]
def metric_losses(embeddings, labels, margin):
    embeddings = F.normalize(embeddings)
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels
    eye = torch.eye(len(labels), dtype=torch.bool, device=d.device)
    far = d.masked_fill(~same | eye, -math.inf).amax(1)
    near = d.masked_fill(same, math.inf).amin(1)
    ok = (same & ~eye).any(1) & (~same).any(1)
    return (far - near + margin)[ok].clamp(min=0).mean() if ok.any() else embeddings.sum() * 0


def info_nce(first, second, temperature):
    scores = F.normalize(first) @ F.normalize(second).T / temperature
    return F.cross_entropy(scores, torch.arange(len(scores), device=scores.device))


# %% right="topk, cosine_similarity by broadcasting"
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings, compute_mode="donot_use_mm_for_euclid_dist")
    same = labels.unsqueeze(0).eq(labels.unsqueeze(1))
    itself = torch.eye(len(d), device=d.device, dtype=torch.bool)
    ok = (same.sum(1) > 1) & (same.sum(1) < len(d))
    if not ok.any():
        return 0 * embeddings.square().sum().clamp(max=0)
    far = d.where(same & ~itself, d.new_tensor(-1.0)).topk(1).values[:, 0]
    near = d.where(~same, d.new_tensor(torch.inf)).topk(1, largest=False).values[:, 0]
    return F.relu(far - near + margin)[ok].mean()


def info_nce(first, second, temperature):
    c = F.cosine_similarity(first.unsqueeze(1), second.unsqueeze(0), dim=2)
    return F.nll_loss((c / temperature).log_softmax(1), torch.arange(len(c), device=c.device))


# %% wrong="two rows at most" says=["five rows of three numbers: info_nce: expected"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels
    eye = torch.eye(len(labels), dtype=torch.bool, device=d.device)
    far = d.masked_fill(~same | eye, -math.inf).amax(1)
    near = d.masked_fill(same, math.inf).amin(1)
    ok = (same & ~eye).any(1) & (~same).any(1)
    return (far - near + margin)[ok].clamp(min=0).mean() if ok.any() else embeddings.sum() * 0


def info_nce(first, second, temperature):
    scores = F.normalize(first[:2]) @ F.normalize(second[:2]).T / temperature
    return F.cross_entropy(scores, torch.arange(len(scores), device=scores.device))


# %% wrong="an anchor is its own positive" breaks="An anchor is not its own positive" says=["an anchor is not its own positive"]
def metric_losses(embeddings, labels, margin):
    prices = []
    for i in range(len(labels)):
        same = labels == labels[i]
        other = labels != labels[i]
        if same.any() and other.any():

            def far(z):
                d = z - embeddings[i]
                s = d.square().sum(1)
                ok = s > 0
                return torch.where(ok, torch.where(ok, s, 1.0).sqrt(), 0.0)

            prices.append(
                (far(embeddings[same]).max() - far(embeddings[other]).min() + margin).relu()
            )
    if not prices:
        return embeddings.sum() * 0
    return torch.stack(prices).mean()


def info_nce(first, second, temperature):
    a, b = F.normalize(first, dim=1, eps=0), F.normalize(second, dim=1, eps=0)
    return F.cross_entropy(a @ b.t() / temperature, torch.arange(len(a)))


# %% wrong="the second's rows are constants" breaks="The gradient flows to both arguments" says=["info_nce's gradient by second is 0: is second detached?"]
def metric_losses(embeddings, labels, margin):
    prices = []
    for i in range(len(labels)):
        rest = torch.arange(len(labels)) != i
        same = (labels == labels[i]) & rest
        other = labels != labels[i]
        if same.any() and other.any():

            def far(z):
                d = z - embeddings[i]
                s = d.square().sum(1)
                ok = s > 0
                return torch.where(ok, torch.where(ok, s, 1.0).sqrt(), 0.0)

            prices.append(
                (far(embeddings[same]).max() - far(embeddings[other]).min() + margin).relu()
            )
    if not prices:
        return embeddings.sum() * 0
    return torch.stack(prices).mean()


def info_nce(first, second, temperature):
    a, b = F.normalize(first, dim=1, eps=0), F.normalize(second.detach(), dim=1, eps=0)
    return F.cross_entropy(a @ b.t() / temperature, torch.arange(len(a)))


# %% wrong="scales its rows in place" breaks="leaves its arguments as they are" says=["an argument was changed (its values)"]
def metric_losses(embeddings, labels, margin):
    prices = []
    for i in range(len(labels)):
        rest = torch.arange(len(labels)) != i
        same = (labels == labels[i]) & rest
        other = labels != labels[i]
        if same.any() and other.any():

            def far(z):
                d = z - embeddings[i]
                s = d.square().sum(1)
                ok = s > 0
                return torch.where(ok, torch.where(ok, s, 1.0).sqrt(), 0.0)

            prices.append(
                (far(embeddings[same]).max() - far(embeddings[other]).min() + margin).relu()
            )
    if not prices:
        return embeddings.sum() * 0
    return torch.stack(prices).mean()


def info_nce(first, second, temperature):
    with torch.no_grad():
        second /= second.norm(dim=1, keepdim=True)
    a, b = F.normalize(first, dim=1, eps=0), F.normalize(second, dim=1, eps=0)
    return F.cross_entropy(a @ b.t() / temperature, torch.arange(len(a)))


# %% wrong="the mean distance of the others" says=["the hardest of each kind counts, not the mean of all"]
def metric_losses(embeddings, labels, margin):
    prices = []
    for n in range(len(labels)):
        gaps = torch.linalg.vector_norm(embeddings - embeddings[n], dim=1)
        same = labels == labels[n]
        other = ~same
        same = same & (torch.arange(len(labels), device=labels.device) != n)
        if same.any() and other.any():
            prices.append((gaps[same].max() - gaps[other].mean() + margin).clamp(min=0))
    if not prices:
        return embeddings.sum() * 0
    return torch.stack(prices).mean()


def info_nce(first, second, temperature):
    cosines = F.cosine_similarity(first[:, None], second[None], dim=-1)
    return -(cosines / temperature).log_softmax(dim=1).diagonal().mean()


# %% wrong="the anchor is detached" says=["the anchor doesn't: detached?"]
def metric_losses(embeddings, labels, margin):
    prices = []
    for n in range(len(labels)):
        gaps = torch.linalg.vector_norm(embeddings - embeddings[n].detach(), dim=1)
        same = labels == labels[n]
        other = ~same
        same = same & (torch.arange(len(labels), device=labels.device) != n)
        if same.any() and other.any():
            prices.append((gaps[same].max() - gaps[other].min() + margin).clamp(min=0))
    if not prices:
        return embeddings.sum() * 0
    return torch.stack(prices).mean()


def info_nce(first, second, temperature):
    cosines = F.cosine_similarity(first[:, None], second[None], dim=-1)
    return -(cosines / temperature).log_softmax(dim=1).diagonal().mean()


# %% wrong="a temperature of 0.05 at least" says=["the temperature is the argument's, however small it is"]
def metric_losses(embeddings, labels, margin):
    prices = []
    for n in range(len(labels)):
        gaps = torch.linalg.vector_norm(embeddings - embeddings[n], dim=1)
        same = labels == labels[n]
        other = ~same
        same = same & (torch.arange(len(labels), device=labels.device) != n)
        if same.any() and other.any():
            prices.append((gaps[same].max() - gaps[other].min() + margin).clamp(min=0))
    if not prices:
        return embeddings.sum() * 0
    return torch.stack(prices).mean()


def info_nce(first, second, temperature):
    cosines = F.cosine_similarity(first[:, None], second[None], dim=-1)
    return -(cosines / max(temperature, 0.05)).log_softmax(dim=1).diagonal().mean()


# %% wrong="what doesn't count is filled with 1000" says=["fill what doesn't count with inf"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings, compute_mode="donot_use_mm_for_euclid_dist")
    same = labels[:, None] == labels
    positive = same & ~torch.eye(len(labels), dtype=torch.bool, device=d.device)
    kept = positive.any(1) & ~same.all(1)
    if not kept.any():
        return embeddings.sum() * 0
    far = d.masked_fill(~positive, -torch.inf).max(1).values
    near = d.masked_fill(same, 1000.0).min(1).values
    return (far - near + margin)[kept].clamp(min=0).mean()


def info_nce(first, second, temperature):
    scores = F.normalize(first, dim=1) @ F.normalize(second, dim=1).t() / temperature
    return F.cross_entropy(scores, torch.arange(len(first), device=first.device))


# %% wrong="the partner is not among the others" says=["the partner is a candidate, too"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings, compute_mode="donot_use_mm_for_euclid_dist")
    same = labels[:, None] == labels
    positive = same & ~torch.eye(len(labels), dtype=torch.bool, device=d.device)
    kept = positive.any(1) & ~same.all(1)
    if not kept.any():
        return embeddings.sum() * 0
    far = d.masked_fill(~positive, -torch.inf).max(1).values
    near = d.masked_fill(same, torch.inf).min(1).values
    return (far - near + margin)[kept].clamp(min=0).mean()


def info_nce(first, second, temperature):
    scores = F.normalize(first, dim=1) @ F.normalize(second, dim=1).t() / temperature
    off = scores.masked_fill(
        torch.eye(len(first), dtype=torch.bool, device=first.device), -torch.inf
    )
    return (off.logsumexp(1) - scores.diagonal()).mean()


# %% wrong="labels counted by bincount" says=["anchors without a positive; labels -1, 2, 9: raised RuntimeError"]
def metric_losses(embeddings, labels, margin):
    distance = torch.cdist(embeddings, embeddings)
    torch.bincount(labels)
    same = labels[:, None] == labels
    own = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    counts = own.any(1) & (~same).any(1)
    if not counts.any():
        return embeddings.sum() * 0
    far = distance.masked_fill(~own, -torch.inf).amax(1)
    near = distance.masked_fill(same, torch.inf).amin(1)
    return (far[counts] - near[counts] + margin).clamp(min=0).mean()


def info_nce(first, second, temperature):
    scores = F.normalize(first, dim=1) @ F.normalize(second, dim=1).t() / temperature
    return F.cross_entropy(scores, torch.arange(len(first), device=first.device))


# %% wrong="cosines of float64 with the digits of float32" says=["five rows of three numbers"]
def metric_losses(embeddings, labels, margin):
    distance = torch.cdist(embeddings, embeddings, compute_mode="donot_use_mm_for_euclid_dist")
    same = labels[:, None] == labels
    own = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    keep = own.any(1) & (~same).any(1)
    if not keep.any():
        return embeddings.sum() * 0
    far = distance.masked_fill(~own, -torch.inf).amax(1)[keep]
    near = distance.masked_fill(same, torch.inf).amin(1)[keep]
    return (far - near + margin).clamp(min=0).mean()


def info_nce(first, second, temperature):
    a, b = F.normalize(first, dim=1), F.normalize(second, dim=1)
    scores = (a.float() @ b.float().t()).to(a.dtype) / temperature
    return F.cross_entropy(scores, torch.arange(len(first), device=first.device))


# %% wrong="rows shorter than 0.01 are not made length 1" breaks="the mean price over the rows of `first`" says=["very short"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings, compute_mode="donot_use_mm_for_euclid_dist")
    same = labels[:, None] == labels
    itself = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    own, other = same & ~itself, ~same
    keep = own.any(1) & other.any(1)
    if not keep.any():
        return embeddings.sum() * 0
    far = d.masked_fill(~own, -torch.inf)[keep].amax(1)
    near = d.masked_fill(~other, torch.inf)[keep].amin(1)
    return (far - near + margin).relu().mean()


def info_nce(first, second, temperature):
    a, b = F.normalize(first, dim=1, eps=1e-2), F.normalize(second, dim=1, eps=1e-2)
    scores = a @ b.T / temperature
    return F.cross_entropy(scores, torch.arange(len(first), device=first.device))


# %% wrong="labels compared as float32" breaks="the hardest positive and negative for each anchor" says=["labels of 2 ** 24 and one more"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings, compute_mode="donot_use_mm_for_euclid_dist")
    same = labels[:, None].float() == labels.float()
    itself = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    own, other = same & ~itself, ~same
    keep = own.any(1) & other.any(1)
    if not keep.any():
        return embeddings.sum() * 0
    far = d.masked_fill(~own, -torch.inf)[keep].amax(1)
    near = d.masked_fill(~other, torch.inf)[keep].amin(1)
    return (far - near + margin).relu().mean()


def info_nce(first, second, temperature):
    a, b = F.normalize(first, dim=1), F.normalize(second, dim=1)
    scores = a @ b.T / temperature
    return F.cross_entropy(scores, torch.arange(len(first), device=first.device))


# %% wrong="a margin of at least 0.1" breaks="the hardest positive and negative for each anchor" says=["margin 0.05"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings, compute_mode="donot_use_mm_for_euclid_dist")
    same = labels[:, None] == labels
    itself = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    own, other = same & ~itself, ~same
    keep = own.any(1) & other.any(1)
    if not keep.any():
        return embeddings.sum() * 0
    far = d.masked_fill(~own, -torch.inf)[keep].amax(1)
    near = d.masked_fill(~other, torch.inf)[keep].amin(1)
    return (far - near + max(margin, 0.1)).relu().mean()


def info_nce(first, second, temperature):
    a, b = F.normalize(first, dim=1), F.normalize(second, dim=1)
    scores = a @ b.T / temperature
    return F.cross_entropy(scores, torch.arange(len(first), device=first.device))


# %% wrong="a temperature of at least 0.011" breaks="The temperature may be as small as 0.01" says=["very short rows, temperature 0.01"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings, compute_mode="donot_use_mm_for_euclid_dist")
    same = labels[:, None] == labels
    itself = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    own, other = same & ~itself, ~same
    keep = own.any(1) & other.any(1)
    if not keep.any():
        return embeddings.sum() * 0
    far = d.masked_fill(~own, -torch.inf)[keep].amax(1)
    near = d.masked_fill(~other, torch.inf)[keep].amin(1)
    return (far - near + margin).relu().mean()


def info_nce(first, second, temperature):
    a, b = F.normalize(first, dim=1), F.normalize(second, dim=1)
    scores = a @ b.T / max(temperature, 0.011)
    return F.cross_entropy(scores, torch.arange(len(first), device=first.device))


# %% wrong="lengths without a gradient" says=["a row's length has a gradient, too: is it detached?"]
def metric_losses(embeddings, labels, margin):
    distance = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels
    own = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    farthest = distance.masked_fill(~own, -torch.inf).amax(dim=1)
    nearest = distance.masked_fill(same, torch.inf).amin(dim=1)
    keep = own.any(dim=1) & (~same).any(dim=1)
    if not keep.any():
        return embeddings.sum() * 0
    return (farthest[keep] - nearest[keep] + margin).clamp(min=0).mean()


def info_nce(first, second, temperature):
    with torch.no_grad():
        scale = 1 / (first.norm(dim=1)[:, None] * second.norm(dim=1))
    scores = first @ second.T * scale / temperature
    return (scores.logsumexp(dim=1) - scores.diagonal()).mean()


# %% wrong="sums of absolute differences" says=["Euclidean distances are asked for"]
def metric_losses(embeddings, labels, margin):
    d = (embeddings[:, None] - embeddings).abs().sum(2)
    same = labels[:, None] == labels
    own = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    keep = own.any(1) & ~same.all(1)
    if not keep.any():
        return embeddings.sum() * 0
    far = d.masked_fill(~own, -torch.inf).amax(1)
    near = d.masked_fill(same, torch.inf).amin(1)
    return (far - near + margin)[keep].relu().mean()


def info_nce(first, second, temperature):
    z = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T / temperature
    return F.cross_entropy(z, torch.arange(len(z), device=z.device))
