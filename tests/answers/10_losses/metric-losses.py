# %% wrong="squared distances" says=["squared distances; Euclidean ones are asked for"]
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


# %% wrong="a square root at zero" says=["the slope of a square root at 0 is infinite"]
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


# %% wrong="the easiest triplet" says=["both the wrong way round: that is the easiest triplet"]
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


# %% wrong="keeps anchors without a positive" says=["anchors without a positive"]
def metric_losses(embeddings, labels, margin):
    d = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels[None]
    far = d.masked_fill(~same, -torch.inf).amax(1)
    near = d.masked_fill(same, torch.inf).amin(1)
    return F.relu(far - near + margin).mean()


def info_nce(first, second, temperature):
    a, b = F.normalize(first, dim=1), F.normalize(second, dim=1)
    return F.cross_entropy(a @ b.T, torch.arange(len(a), device=a.device))


# %% wrong="a mean over nothing" says=["one class only", "it should be 0 here"]
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


# %% wrong="InfoNCE by a loop" says=["is there a loop over rows"]
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


# %% wrong="nothing yet" says=["it returned None: is there an answer yet", "info_nce is None"]
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
        return torch.tensor(0.0, device=embeddings.device)
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
