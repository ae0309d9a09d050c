# %% [markdown]
# Rules:
#
# - "the share of samples whose largest logit is the label's"
# - "the share whose label is among the `k` largest logits"
# - "an int64 tensor (classes, classes)"
# - "true classes in rows"
# - "the mean of F1 over **all** classes"
# - "where F1 is 0/0, it counts as 0"
# - "The three numbers are Python floats"
# - "Counts are exact for up to 2**24 samples"
# - "The result is the same under any split into batches"
# - "A batch may be empty"
# - "No value is read from the device before the last batch is in"
# - "`batches` stays as it is"
# - "With no sample at all"
# - "or no batch, raise `ValueError`"
#
# Admits:
#
# - "float32, float16 or bfloat16": float16, more samples than it can count
# - "A batch may be empty": a class that never occurs, an empty batch, k = 1
# - "`1 <= k <= classes`": k = 7 of 8
# - "logits of shape (n, classes)": 300 classes in bfloat16, which make 90 000 pairs
# - "`1 <= k <= classes`": k = 4 of 4
# - "The result is the same under any split into batches": the example in two batches
# - "With no sample at all": no sample
# - "or no batch": no batch

# %% wrong="averages the batches" breaks="The result is the same under any split into batches" says=["this is the mean of the batches' F1", "were the batches' shares averaged?"]
def metrics(batches, classes, k):
    if not sum(len(y) for _, y in batches):
        raise ValueError("no samples")
    rows, confusion = [], 0
    for z, y in batches:
        if not len(y):
            continue
        one = torch.bincount(y * classes + z.argmax(1), minlength=classes**2).view(classes, classes)
        right = one.diagonal()
        f1 = 2 * right / (one.sum(0) + one.sum(1)).clamp(min=1)
        top = (z.topk(k).indices == y[:, None]).any(1).float().mean()
        rows.append(torch.stack([right.sum() / len(y), top, f1.mean()]))
        confusion = confusion + one
    a, t, f = torch.stack(rows).mean(0).tolist()
    return {"accuracy": a, "top_k": t, "macro_f1": f, "confusion": confusion}


# %% wrong="item() in the loop" breaks="No value is read from the device before the last batch is in" says=["keep tensors in the loop, and read once at the end"]
def metrics(batches, classes, k):
    confusion, right, top, n = 0, 0, 0, 0
    for z, y in batches:
        confusion = confusion + torch.bincount(y * classes + z.argmax(1), minlength=classes**2)
        right += (z.argmax(1) == y).sum().item()
        top += (z.topk(k).indices == y[:, None]).sum().item()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    confusion = confusion.view(classes, classes)
    f1 = 2 * confusion.diagonal() / (confusion.sum(0) + confusion.sum(1)).clamp(min=1)
    return {
        "accuracy": right / n,
        "top_k": top / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="rows are the predictions" breaks="true classes in rows" says=["transposed: rows are the true classes"]
def metrics(batches, classes, k):
    confusion, top, n = 0, 0, 0
    for z, y in batches:
        confusion = confusion + torch.bincount(z.argmax(1) * classes + y, minlength=classes**2)
        top = top + (z.topk(k).indices == y[:, None]).sum()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    confusion = confusion.view(classes, classes)
    right = confusion.diagonal()
    f1 = 2 * right / (confusion.sum(0) + confusion.sum(1)).clamp(min=1)
    return {
        "accuracy": right.sum().item() / n,
        "top_k": top.item() / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="0/0 stays NaN" breaks="where F1 is 0/0, it counts as 0" says=["NaN; what is 0/0 for an F1 counts as 0"]
def metrics(batches, classes, k):
    confusion, top, n = 0, 0, 0
    for z, y in batches:
        confusion = confusion + torch.bincount(y * classes + z.argmax(1), minlength=classes**2)
        top = top + (z.topk(k).indices == y[:, None]).sum()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    confusion = confusion.view(classes, classes)
    right = confusion.diagonal()
    precision, recall = right / confusion.sum(0), right / confusion.sum(1)
    f1 = 2 * precision * recall / (precision + recall)
    return {
        "accuracy": right.sum().item() / n,
        "top_k": top.item() / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="the classes that occur" breaks="the mean of F1 over **all** classes" says=["this is the mean over the classes that occur"]
def metrics(batches, classes, k):
    confusion, top, n = 0, 0, 0
    for z, y in batches:
        confusion = confusion + torch.bincount(y * classes + z.argmax(1), minlength=classes**2)
        top = top + (z.topk(k).indices == y[:, None]).sum()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    confusion = confusion.view(classes, classes)
    right, both = confusion.diagonal(), confusion.sum(0) + confusion.sum(1)
    f1 = 2 * right[both > 0] / both[both > 0]
    return {
        "accuracy": right.sum().item() / n,
        "top_k": top.item() / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="counts in the logits' dtype" breaks="Counts are exact for up to 2**24 samples" says=["was a count kept in half precision?"]
def metrics(batches, classes, k):
    confusion, right, top, n = 0, 0, 0, 0
    for z, y in batches:
        confusion = confusion + torch.bincount(y * classes + z.argmax(1), minlength=classes**2)
        for row in range(0, len(y), 50):
            hit = z[row : row + 50].argmax(1) == y[row : row + 50]
            right = right + hit.to(z.dtype).sum()
        top = top + (z.topk(k).indices == y[:, None]).sum()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    confusion = confusion.view(classes, classes)
    f1 = 2 * confusion.diagonal() / (confusion.sum(0) + confusion.sum(1)).clamp(min=1)
    return {
        "accuracy": right.item() / n,
        "top_k": top.item() / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="accuracy for F1" says=["this is the accuracy (micro F1)"]
def metrics(batches, classes, k):
    confusion, top, n = 0, 0, 0
    for z, y in batches:
        confusion = confusion + torch.bincount(y * classes + z.argmax(1), minlength=classes**2)
        top = top + (z.topk(k).indices == y[:, None]).sum()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    confusion = confusion.view(classes, classes)
    share = confusion.diagonal().sum().item() / n
    return {"accuracy": share, "top_k": top.item() / n, "confusion": confusion, "macro_f1": share}


# %% wrong="divides by zero without samples" breaks="With no sample at all" says=["raised ZeroDivisionError"]
def metrics(batches, classes, k):
    confusion, top, n = 0, 0, 0
    for z, y in batches:
        confusion = confusion + torch.bincount(y * classes + z.argmax(1), minlength=classes**2)
        top = top + (z.topk(k).indices == y[:, None]).sum()
        n += len(y)
    confusion = confusion.view(classes, classes)
    right = confusion.diagonal()
    f1 = 2 * right / (confusion.sum(0) + confusion.sum(1)).clamp(min=1)
    return {
        "accuracy": right.sum().item() / n,
        "top_k": top.item() / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% right="one-hot products, float64, ranks by comparison"
def metrics(batches, classes, k):
    n = sum(y.shape[0] for _, y in batches)
    if n == 0:
        raise ValueError("nothing to measure")
    parts, hits = [], []
    for z, y in batches:
        guess = F.one_hot(z.argmax(-1), classes).double()
        parts.append(F.one_hot(y, classes).double().T @ guess)
        own = z.gather(1, y[:, None])
        hits.append(((z > own).sum(1) < k).sum())
    table = torch.stack(parts).sum(0)
    tp = table.diag()
    fp, fn = table.sum(0) - tp, table.sum(1) - tp
    f1 = torch.where(tp > 0, 2 * tp / (2 * tp + fp + fn), 0)
    return {
        "macro_f1": float(f1.mean()),
        "confusion": table.long(),
        "top_k": float(torch.stack(hits).sum()) / n,
        "accuracy": float(tp.sum()) / n,
    }


# %% right="everything at the end, by loops over classes"
def metrics(batches, classes, k):
    if not batches or sum(map(len, [y for _, y in batches])) == 0:
        raise ValueError
    z = torch.cat([z for z, _ in batches]).float()
    y = torch.cat([y for _, y in batches])
    guess = z.argmax(1)
    rows = [[((y == t) & (guess == p)).sum() for p in range(classes)] for t in range(classes)]
    confusion = torch.stack([torch.stack(row) for row in rows])
    values = []
    for c in range(classes):
        tp = confusion[c, c].item()
        rest = confusion[c].sum().item() + confusion[:, c].sum().item()
        values.append(2 * tp / rest if rest else 0.0)
    top = z.argsort(1, descending=True)[:, :k]
    return {
        "accuracy": (guess == y).double().mean().item(),
        "top_k": (top == y.unsqueeze(1)).any(1).double().mean().item(),
        "confusion": confusion,
        "macro_f1": sum(values) / classes,
    }


# %% wrong="a list of each batch's predictions, read batch by batch" says=["keep tensors in the loop, and read once at the end"]
def metrics(batches, classes, k):
    truth, guess, hits = [], [], 0
    for z, y in batches:
        truth += y.tolist()
        guess += z.argmax(1).tolist()
        hits = hits + (z.float().topk(k, 1).indices == y[:, None]).sum()
    if not truth:
        raise ValueError("no sample")
    c = torch.zeros(classes, classes, dtype=torch.int64, device=z.device)
    for t, g in zip(truth, guess):
        c[t, g] += 1
    tp, f = c.diag().double(), (c.sum(0) + c.sum(1)).double()
    f1 = torch.where(f > 0, 2 * tp / f.clamp(min=1), 0.0)
    return {
        "accuracy": tp.sum().item() / len(truth),
        "top_k": hits.item() / len(truth),
        "confusion": c,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="to NumPy in each batch" says=["20 batches 80 times"]
def metrics(batches, classes, k):
    c, hits, n = np.zeros((classes, classes), dtype=np.int64), 0, 0
    for z, y in batches:
        where = z.device
        z, y = z.float().cpu().numpy(), y.cpu().numpy()
        np.add.at(c, (y, z.argmax(1)), 1)
        hits += (np.argsort(-z, axis=1)[:, :k] == y[:, None]).sum()
        n += len(y)
    if n == 0:
        raise ValueError("no sample")
    tp, f = np.diag(c), c.sum(0) + c.sum(1)
    return {
        "accuracy": float(tp.sum() / n),
        "top_k": float(hits / n),
        "confusion": torch.from_numpy(c).to(where),
        "macro_f1": float(np.where(f > 0, 2 * tp / np.maximum(f, 1), 0).mean()),
    }


# %% wrong="the smallest k" says=["this is the share among the k smallest logits"]
def metrics(batches, classes, k):
    z, y = torch.cat([z.float() for z, _ in batches]), torch.cat([y for _, y in batches])
    if len(y) == 0:
        raise ValueError("no sample")
    p = z.argmax(1)
    c = (classes * y + p).bincount(minlength=classes**2).view(classes, classes)
    f1 = (2 * c.diag() / (c.sum(0) + c.sum(1))).nan_to_num(0)
    top = (z.argsort(1)[:, :k] == y[:, None]).any(1).float().mean()
    return {
        "accuracy": (p == y).float().mean().item(),
        "top_k": top.item(),
        "confusion": c,
        "macro_f1": f1.mean().item(),
    }


# %% right="one-hot matrices multiplied"
def metrics(batches, classes, k):
    if sum(y.numel() for _, y in batches) == 0:
        raise ValueError("there is no sample")
    z = torch.cat([z for z, _ in batches])
    y = torch.cat([y for _, y in batches])
    eye = torch.eye(classes, dtype=torch.float64, device=z.device)
    c = torch.einsum("nt,np->tp", eye[y], eye[z.argmax(1)]).round().long()
    scores = []
    for i in range(classes):
        both = (c[i].sum() + c[:, i].sum()).item()
        scores.append(2 * c[i, i].item() / both if both else 0.0)
    rank = (z > z.gather(1, y[:, None])).sum(1)
    return {
        "accuracy": c.trace().item() / len(y),
        "top_k": (rank < k).double().mean().item(),
        "confusion": c,
        "macro_f1": sum(scores) / classes,
    }


# %% right="counts by index_put and scikit-learn at the end"
def metrics(batches, classes, k):
    from sklearn.metrics import f1_score

    matrix, hits, n = None, 0, 0
    for z, y in batches:
        if matrix is None:
            matrix = torch.zeros((classes, classes), dtype=torch.long, device=z.device)
        if len(y) == 0:
            continue
        n += len(y)
        matrix.index_put_((y, z.argmax(1)), torch.ones_like(y), accumulate=True)
        hits = hits + (z.sort(1, descending=True).indices[:, :k] == y.unsqueeze(1)).sum()
    if n == 0:
        raise ValueError
    m = matrix.cpu().numpy()
    t, p = np.divmod(np.repeat(np.arange(classes**2), m.reshape(-1)), classes)
    return {
        "accuracy": float(np.trace(m)) / n,
        "top_k": float(hits) / n,
        "confusion": matrix,
        "macro_f1": float(f1_score(t, p, labels=range(classes), average="macro", zero_division=0)),
    }


# %% wrong="reads nothing, and says nothing" says=["the accuracy of 20 batches: expected"]
def metrics(batches, classes, k):
    if not sum(len(labels) for _, labels in batches):
        raise ValueError("no samples")
    zeros = torch.zeros(classes, classes, dtype=torch.int64)
    return {"accuracy": 0.0, "top_k": 0.0, "macro_f1": 0.0, "confusion": zeros}


# %% wrong="a log line in each batch" says=["2 batches read 7 times from the device, 20 batches 43 times"]
def metrics(batches, classes, k):
    c, hits, n = 0, 0, 0
    for z, y in batches:
        c = c + (classes * y + z.argmax(1)).bincount(minlength=classes**2)
        hits = hits + (z.topk(k).indices == y[:, None]).sum()
        n += len(y)
        print(end=f"{hits} of {n}, {c.sum():d}"[:0])
    if n == 0:
        raise ValueError("no samples")
    c = c.view(classes, classes)
    f1 = 2 * c.diag() / (c.sum(0) + c.sum(1)).clamp(min=1)
    return {
        "accuracy": c.trace().item() / n,
        "top_k": hits.item() / n,
        "confusion": c,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="a whole tensor in a log line" says=["keep tensors in the loop, and read once at the end"]
def metrics(batches, classes, k):
    c, hits, n = 0, 0, 0
    for z, y in batches:
        c = c + (classes * y + z.argmax(1)).bincount(minlength=classes**2)
        hits = hits + (z.topk(k).indices == y[:, None]).sum()
        n += len(y)
        print(end=f"so far {c}"[:0])
    if n == 0:
        raise ValueError("no samples")
    c = c.view(classes, classes)
    f1 = 2 * c.diag() / (c.sum(0) + c.sum(1)).clamp(min=1)
    return {
        "accuracy": c.trace().item() / n,
        "top_k": hits.item() / n,
        "confusion": c,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="adds one at each pair of tensors" says=["keep tensors in the loop, and read once at the end"]
def metrics(batches, classes, k):
    c, hits, n = torch.zeros(classes, classes, dtype=torch.int64, device=device), 0, 0
    for z, y in batches:
        for t, p in zip(y, z.argmax(1)):
            c[t, p] += 1
        hits = hits + (z.topk(k).indices == y[:, None]).sum()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    c = c.view(classes, classes)
    f1 = 2 * c.diag() / (c.sum(0) + c.sum(1)).clamp(min=1)
    return {
        "accuracy": c.trace().item() / n,
        "top_k": hits.item() / n,
        "confusion": c,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="one more than k" breaks="the share whose label is among the `k` largest logits" says=["top_k: ", "expected"]
def metrics(batches, classes, k):
    c, hits, n = 0, 0, 0
    for z, y in batches:
        c = c + (classes * y + z.argmax(1)).bincount(minlength=classes**2)
        hits = hits + (z.topk(min(k + 1, classes)).indices == y[:, None]).sum()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    c = c.view(classes, classes)
    f1 = 2 * c.diag() / (c.sum(0) + c.sum(1)).clamp(min=1)
    return {
        "accuracy": c.trace().item() / n,
        "top_k": hits.item() / n,
        "confusion": c,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="uses the batches up" breaks="`batches` stays as it is" says=["the list of batches is not what it was"]
def metrics(batches, classes, k):
    c, hits, n = 0, 0, 0
    while batches:
        z, y = batches.pop()
        c = c + (classes * y + z.argmax(1)).bincount(minlength=classes**2)
        hits = hits + (z.topk(k).indices == y[:, None]).sum()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    c = c.view(classes, classes)
    f1 = 2 * c.diag() / (c.sum(0) + c.sum(1)).clamp(min=1)
    return {
        "accuracy": c.trace().item() / n,
        "top_k": hits.item() / n,
        "confusion": c,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="softmax before the largest k" says=["logits hundreds apart, k = 5", "top_k"]
def metrics(batches, classes, k):
    counts, hits, samples = 0, 0, 0
    for logits, labels in batches:
        pairs = classes * labels + logits.argmax(1)
        counts = counts + pairs.bincount(minlength=classes**2)
        top = logits.softmax(1).topk(k, dim=1).indices
        hits = hits + (top == labels[:, None]).sum()
        samples += len(labels)
    if samples == 0:
        raise ValueError("no samples")
    counts = counts.view(classes, classes)
    right = counts.diagonal()
    f1 = 2 * right / (counts.sum(0) + counts.sum(1)).clamp(min=1)
    return {
        "accuracy": right.sum().item() / samples,
        "top_k": hits.item() / samples,
        "confusion": counts,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="an empty first batch is taken for no sample" breaks="A batch may be empty" says=["the first batch is empty, k = 7 of 8: raised ValueError"]
def metrics(batches, classes, k):
    if not batches or not len(batches[0][1]):
        raise ValueError
    confusion, hits = None, None
    for logits, labels in batches:
        pairs = (
            (labels * classes + logits.argmax(1))
            .bincount(minlength=classes**2)
            .view(classes, classes)
        )
        top = (logits.topk(k, dim=1).indices == labels[:, None]).sum()
        confusion = pairs if confusion is None else confusion + pairs
        hits = top if hits is None else hits + top
    n = 0 if confusion is None else int(confusion.sum())
    if n == 0:
        raise ValueError("no sample")
    tp = confusion.diagonal().double()
    both = (confusion.sum(0) + confusion.sum(1)).double()
    f1 = torch.where(both > 0, 2 * tp / both, 0.0)
    return {
        "accuracy": confusion.trace().item() / n,
        "top_k": hits.item() / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="the device of the first batch" breaks="or no batch, raise `ValueError`" says=["no batch"]
def metrics(batches, classes, k):
    confusion = torch.zeros(classes, classes, dtype=torch.int64, device=batches[0][0].device)
    hits = 0
    for logits, labels in batches:
        pairs = (
            (labels * classes + logits.argmax(1))
            .bincount(minlength=classes**2)
            .view(classes, classes)
        )
        top = (logits.topk(k, dim=1).indices == labels[:, None]).sum()
        confusion = pairs if confusion is None else confusion + pairs
        hits = top if hits is None else hits + top
    n = 0 if confusion is None else int(confusion.sum())
    if n == 0:
        raise ValueError("no sample")
    tp = confusion.diagonal().double()
    both = (confusion.sum(0) + confusion.sum(1)).double()
    f1 = torch.where(both > 0, 2 * tp / both, 0.0)
    return {
        "accuracy": confusion.trace().item() / n,
        "top_k": float(hits) / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="five at most" says=["the first batch is empty, k = 7 of 8"]
def metrics(batches, classes, k):
    confusion, hits = None, None
    for logits, labels in batches:
        pairs = (
            (labels * classes + logits.argmax(1))
            .bincount(minlength=classes**2)
            .view(classes, classes)
        )
        top = (logits.topk(min(k, 5), dim=1).indices == labels[:, None]).sum()
        confusion = pairs if confusion is None else confusion + pairs
        hits = top if hits is None else hits + top
    n = 0 if confusion is None else int(confusion.sum())
    if n == 0:
        raise ValueError("no sample")
    tp = confusion.diagonal().double()
    both = (confusion.sum(0) + confusion.sum(1)).double()
    f1 = torch.where(both > 0, 2 * tp / both, 0.0)
    return {
        "accuracy": confusion.trace().item() / n,
        "top_k": hits.item() / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="batches taken out of the list" says=["of 3 and 2 samples: it isn't what it was"]
def metrics(batches, classes, k):
    confusion, hits = None, None
    while batches:
        logits, labels = batches.pop(0)
        pairs = (
            (labels * classes + logits.argmax(1))
            .bincount(minlength=classes**2)
            .view(classes, classes)
        )
        top = (logits.topk(k, dim=1).indices == labels[:, None]).sum()
        confusion = pairs if confusion is None else confusion + pairs
        hits = top if hits is None else hits + top
    n = 0 if confusion is None else int(confusion.sum())
    if n == 0:
        raise ValueError("no sample")
    tp = confusion.diagonal().double()
    both = (confusion.sum(0) + confusion.sum(1)).double()
    f1 = torch.where(both > 0, 2 * tp / both, 0.0)
    return {
        "accuracy": confusion.trace().item() / n,
        "top_k": hits.item() / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="to(device='cpu') in each batch" says=["2 batches read"]
def metrics(batches, classes, k):
    c = torch.zeros(classes, classes, dtype=torch.int64)
    hits = n = 0
    for z, y in batches:
        z, y = z.to(device="cpu"), y.to(torch.device("cpu"))
        c += (classes * y + z.argmax(1)).bincount(minlength=classes**2).view(classes, classes)
        hits = hits + (z.topk(k, 1).indices == y[:, None]).sum()
        n += len(y)
    if n == 0:
        raise ValueError
    tp = c.diagonal()
    f1 = 2 * tp / (c.sum(0) + c.sum(1)).clamp(min=1)
    return {
        "accuracy": tp.sum().item() / n,
        "top_k": hits.item() / n,
        "confusion": c,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="F1 weighted by support" says=["this is weighted by how often a class occurs"]
def metrics(batches, classes, k):
    c = torch.zeros(classes, classes, dtype=torch.int64)
    hits = n = 0
    for z, y in batches:
        c += (classes * y + z.argmax(1)).bincount(minlength=classes**2).view(classes, classes)
        hits = hits + (z.topk(k, 1).indices == y[:, None]).sum()
        n += len(y)
    if n == 0:
        raise ValueError
    tp = c.diagonal()
    f1 = 2 * tp / (c.sum(0) + c.sum(1)).clamp(min=1)
    return {
        "accuracy": tp.sum().item() / n,
        "top_k": hits.item() / n,
        "confusion": c,
        "macro_f1": ((f1 * c.sum(1)).sum() / n).item(),
    }


# %% wrong="counts the larger logits up to k" says=["this is the share among the k + 1 largest logits"]
def metrics(batches, classes, k):
    c = torch.zeros(classes, classes, dtype=torch.int64)
    hits = n = 0
    for z, y in batches:
        c += (classes * y + z.argmax(1)).bincount(minlength=classes**2).view(classes, classes)
        own = z.gather(1, y[:, None])
        hits = hits + ((z > own).sum(1) <= k).sum()
        n += len(y)
    if n == 0:
        raise ValueError
    tp = c.diagonal()
    f1 = 2 * tp / (c.sum(0) + c.sum(1)).clamp(min=1)
    return {
        "accuracy": tp.sum().item() / n,
        "top_k": hits.item() / n,
        "confusion": c,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="the matrix in floats" breaks="an int64 tensor (classes, classes)" says=["the matrix has dtype torch.float32, expected torch.int64"]
def metrics(batches, classes, k):
    if sum(len(y) for _, y in batches) == 0:
        raise ValueError("no sample")
    device = batches[0][0].device
    confusion = torch.zeros(classes * classes, dtype=torch.int64, device=device)
    hits = torch.zeros((), dtype=torch.int64, device=device)
    for logits, labels in batches:
        labels = labels.to(device)
        confusion += (classes * labels + logits.argmax(1)).bincount(minlength=classes**2)
        hits += (logits.topk(k, dim=1).indices == labels[:, None]).sum()
    confusion = confusion.view(classes, classes)
    n = confusion.sum().item()
    tp = confusion.diagonal().double()
    f1 = 2 * tp / (confusion.sum(0) + confusion.sum(1)).clamp(min=1)
    return {
        "accuracy": tp.sum().item() / n,
        "top_k": hits.item() / n,
        "confusion": confusion.float(),
        "macro_f1": f1.mean().item(),
    }


# %% wrong="F1 as a tensor" breaks="The three numbers are Python floats" says=["is a Tensor, not a Python float"]
def metrics(batches, classes, k):
    if sum(len(y) for _, y in batches) == 0:
        raise ValueError("no sample")
    device = batches[0][0].device
    confusion = torch.zeros(classes * classes, dtype=torch.int64, device=device)
    hits = torch.zeros((), dtype=torch.int64, device=device)
    for logits, labels in batches:
        labels = labels.to(device)
        confusion += (classes * labels + logits.argmax(1)).bincount(minlength=classes**2)
        hits += (logits.topk(k, dim=1).indices == labels[:, None]).sum()
    confusion = confusion.view(classes, classes)
    n = confusion.sum().item()
    tp = confusion.diagonal().double()
    f1 = 2 * tp / (confusion.sum(0) + confusion.sum(1)).clamp(min=1)
    return {
        "accuracy": tp.sum().item() / n,
        "top_k": hits.item() / n,
        "confusion": confusion,
        "macro_f1": f1.mean(),
    }


# %% wrong="accuracy as a share of the classes" breaks="the share of samples whose largest logit is the label's" says=["this is the mean of the classes' recalls"]
def metrics(batches, classes, k):
    if sum(len(y) for _, y in batches) == 0:
        raise ValueError("no sample")
    device = batches[0][0].device
    confusion = torch.zeros(classes * classes, dtype=torch.int64, device=device)
    hits = torch.zeros((), dtype=torch.int64, device=device)
    for logits, labels in batches:
        labels = labels.to(device)
        confusion += (classes * labels + logits.argmax(1)).bincount(minlength=classes**2)
        hits += (logits.topk(k, dim=1).indices == labels[:, None]).sum()
    confusion = confusion.view(classes, classes)
    n = confusion.sum().item()
    tp = confusion.diagonal().double()
    f1 = 2 * tp / (confusion.sum(0) + confusion.sum(1)).clamp(min=1)
    return {
        "accuracy": (tp / confusion.sum(1).clamp(min=1)).mean().item(),
        "top_k": hits.item() / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="labels as bytes" says=["300 classes in bfloat16, which make 90 000 pairs: 1 of 4 cases fail", "numbered up to 89999: does the dtype hold that?"]
def metrics(batches, classes, k):
    if sum(len(y) for _, y in batches) == 0:
        raise ValueError("no sample")
    device = batches[0][0].device
    confusion = torch.zeros(classes * classes, dtype=torch.int64, device=device)
    hits = torch.zeros((), dtype=torch.int64, device=device)
    for logits, labels in batches:
        labels = labels.to(device)
        confusion += (classes * labels.to(torch.uint8) + logits.argmax(1).to(torch.uint8)).bincount(
            minlength=classes**2
        )
        hits += (logits.topk(k, dim=1).indices == labels[:, None]).sum()
    confusion = confusion.view(classes, classes)
    n = confusion.sum().item()
    tp = confusion.diagonal().double()
    f1 = 2 * tp / (confusion.sum(0) + confusion.sum(1)).clamp(min=1)
    return {
        "accuracy": tp.sum().item() / n,
        "top_k": hits.item() / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="labels and predictions in int16" says=["numbered up to 89999: does the dtype hold that?"]
def metrics(batches, classes, k):
    if sum(len(y) for _, y in batches) == 0:
        raise ValueError("no sample")
    device = batches[0][0].device
    confusion = torch.zeros(classes * classes, dtype=torch.int64, device=device)
    hits = torch.zeros((), dtype=torch.int64, device=device)
    for logits, labels in batches:
        labels = labels.to(device)
        confusion += (classes * labels.to(torch.int16) + logits.argmax(1).to(torch.int16)).bincount(
            minlength=classes**2
        )
        hits += (logits.topk(k, dim=1).indices == labels[:, None]).sum()
    confusion = confusion.view(classes, classes)
    n = confusion.sum().item()
    tp = confusion.diagonal().double()
    f1 = 2 * tp / (confusion.sum(0) + confusion.sum(1)).clamp(min=1)
    return {
        "accuracy": tp.sum().item() / n,
        "top_k": hits.item() / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="the classes that the labels hold" says=["this is the mean over the classes that the labels hold"]
def metrics(batches, classes, k):
    if sum(len(y) for _, y in batches) == 0:
        raise ValueError("no sample")
    device = batches[0][0].device
    confusion = torch.zeros(classes * classes, dtype=torch.int64, device=device)
    hits = torch.zeros((), dtype=torch.int64, device=device)
    for logits, labels in batches:
        labels = labels.to(device)
        confusion += (classes * labels + logits.argmax(1)).bincount(minlength=classes**2)
        hits += (logits.topk(k, dim=1).indices == labels[:, None]).sum()
    confusion = confusion.view(classes, classes)
    n = confusion.sum().item()
    tp = confusion.diagonal().double()
    f1 = 2 * tp / (confusion.sum(0) + confusion.sum(1)).clamp(min=1)
    return {
        "accuracy": tp.sum().item() / n,
        "top_k": hits.item() / n,
        "confusion": confusion,
        "macro_f1": f1[confusion.sum(1) > 0].mean().item(),
    }


# %% wrong="the mean recall as F1" says=["the mean of the classes' recalls; F1 takes the precisions"]
def metrics(batches, classes, k):
    hits, table, n = 0, 0, 0
    for logits, labels in batches:
        top = logits.topk(k, dim=1).indices
        hits = hits + (top == labels[:, None]).any(1).sum()
        guess = logits.argmax(1)
        flat = torch.bincount(labels * classes + guess, minlength=classes * classes)
        table = table + flat
        n += len(labels)
    if n == 0:
        raise ValueError("no sample")
    table = table.view(classes, classes)
    right = table.diag().double()
    return {
        "accuracy": (right.sum() / n).item(),
        "top_k": (hits / n).item(),
        "confusion": table,
        "macro_f1": (right / table.sum(1).clamp(min=1)).mean().item(),
    }


# %% wrong="the mean precision as F1" says=["the mean of the classes' precisions; F1 takes the recalls"]
def metrics(batches, classes, k):
    hits, table, n = 0, 0, 0
    for logits, labels in batches:
        top = logits.topk(k, dim=1).indices
        hits = hits + (top == labels[:, None]).any(1).sum()
        guess = logits.argmax(1)
        flat = torch.bincount(labels * classes + guess, minlength=classes * classes)
        table = table + flat
        n += len(labels)
    if n == 0:
        raise ValueError("no sample")
    table = table.view(classes, classes)
    right = table.diag().double()
    return {
        "accuracy": (right.sum() / n).item(),
        "top_k": (hits / n).item(),
        "confusion": table,
        "macro_f1": (right / table.sum(0).clamp(min=1)).mean().item(),
    }


# %% wrong="F1 without its factor 2" says=["this is half of F1"]
def metrics(batches, classes, k):
    hits, table, n = 0, 0, 0
    for logits, labels in batches:
        top = logits.topk(k, dim=1).indices
        hits = hits + (top == labels[:, None]).any(1).sum()
        guess = logits.argmax(1)
        flat = torch.bincount(labels * classes + guess, minlength=classes * classes)
        table = table + flat
        n += len(labels)
    if n == 0:
        raise ValueError("no sample")
    table = table.view(classes, classes)
    right = table.diag().double()
    total = table.sum(0).double() + table.sum(1).double()
    f1 = torch.where(total == 0, 0.0, right / total.clamp(min=1))
    return {
        "accuracy": (right.sum() / n).item(),
        "top_k": (hits / n).item(),
        "confusion": table,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="0/0 counts as 1 in F1" says=["where 0/0 counts as 1"]
def metrics(batches, classes, k):
    hits, table, n = 0, 0, 0
    for logits, labels in batches:
        top = logits.topk(k, dim=1).indices
        hits = hits + (top == labels[:, None]).any(1).sum()
        guess = logits.argmax(1)
        flat = torch.bincount(labels * classes + guess, minlength=classes * classes)
        table = table + flat
        n += len(labels)
    if n == 0:
        raise ValueError("no sample")
    table = table.view(classes, classes)
    right = table.diag().double()
    total = table.sum(0).double() + table.sum(1).double()
    f1 = torch.where(total == 0, 1.0, 2 * right / total.clamp(min=1))
    return {
        "accuracy": (right.sum() / n).item(),
        "top_k": (hits / n).item(),
        "confusion": table,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="top k over the batches" says=["top_k's count, divided by the batches"]
def metrics(batches, classes, k):
    hits, table, n = 0, 0, 0
    for logits, labels in batches:
        top = logits.topk(k, dim=1).indices
        hits = hits + (top == labels[:, None]).any(1).sum()
        guess = logits.argmax(1)
        flat = torch.bincount(labels * classes + guess, minlength=classes * classes)
        table = table + flat
        n += len(labels)
    if n == 0:
        raise ValueError("no sample")
    table = table.view(classes, classes)
    right = table.diag().double()
    total = table.sum(0).double() + table.sum(1).double()
    f1 = torch.where(total == 0, 0.0, 2 * right / total.clamp(min=1))
    return {
        "accuracy": (right.sum() / n).item(),
        "top_k": (hits / len(batches)).item(),
        "confusion": table,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="top k over samples times k" says=["divided by k as well"]
def metrics(batches, classes, k):
    hits, table, n = 0, 0, 0
    for logits, labels in batches:
        top = logits.topk(k, dim=1).indices
        hits = hits + (top == labels[:, None]).any(1).sum()
        guess = logits.argmax(1)
        flat = torch.bincount(labels * classes + guess, minlength=classes * classes)
        table = table + flat
        n += len(labels)
    if n == 0:
        raise ValueError("no sample")
    table = table.view(classes, classes)
    right = table.diag().double()
    total = table.sum(0).double() + table.sum(1).double()
    f1 = torch.where(total == 0, 0.0, 2 * right / total.clamp(min=1))
    return {
        "accuracy": (right.sum() / n).item(),
        "top_k": (hits / n / k).item(),
        "confusion": table,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="the largest logit left out" says=["the largest is among the k"]
def metrics(batches, classes, k):
    hits, table, n = 0, 0, 0
    for logits, labels in batches:
        top = logits.topk(k, dim=1).indices[:, 1:] if k > 1 else logits.topk(1, dim=1).indices
        hits = hits + (top == labels[:, None]).any(1).sum()
        guess = logits.argmax(1)
        flat = torch.bincount(labels * classes + guess, minlength=classes * classes)
        table = table + flat
        n += len(labels)
    if n == 0:
        raise ValueError("no sample")
    table = table.view(classes, classes)
    right = table.diag().double()
    total = table.sum(0).double() + table.sum(1).double()
    f1 = torch.where(total == 0, 0.0, 2 * right / total.clamp(min=1))
    return {
        "accuracy": (right.sum() / n).item(),
        "top_k": (hits / n).item(),
        "confusion": table,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="accuracy as a percentage" says=["the accuracy in percent"]
def metrics(batches, classes, k):
    hits, table, n = 0, 0, 0
    for logits, labels in batches:
        top = logits.topk(k, dim=1).indices
        hits = hits + (top == labels[:, None]).any(1).sum()
        guess = logits.argmax(1)
        flat = torch.bincount(labels * classes + guess, minlength=classes * classes)
        table = table + flat
        n += len(labels)
    if n == 0:
        raise ValueError("no sample")
    table = table.view(classes, classes)
    right = table.diag().double()
    total = table.sum(0).double() + table.sum(1).double()
    f1 = torch.where(total == 0, 0.0, 2 * right / total.clamp(min=1))
    return {
        "accuracy": 100 * (right.sum() / n).item(),
        "top_k": (hits / n).item(),
        "confusion": table,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="F1 with three digits" says=["F1 rounded to 3 digits"]
def metrics(batches, classes, k):
    hits, table, n = 0, 0, 0
    for logits, labels in batches:
        top = logits.topk(k, dim=1).indices
        hits = hits + (top == labels[:, None]).any(1).sum()
        guess = logits.argmax(1)
        flat = torch.bincount(labels * classes + guess, minlength=classes * classes)
        table = table + flat
        n += len(labels)
    if n == 0:
        raise ValueError("no sample")
    table = table.view(classes, classes)
    right = table.diag().double()
    total = table.sum(0).double() + table.sum(1).double()
    f1 = torch.where(total == 0, 0.0, 2 * right / total.clamp(min=1))
    return {
        "accuracy": (right.sum() / n).item(),
        "top_k": (hits / n).item(),
        "confusion": table,
        "macro_f1": round(f1.mean().item(), 3),
    }


# %% wrong="the last batch is all that counts" says=["top_k: ", "this is the last batch's alone"]
def metrics(batches, classes, k):
    hits, table, n = 0, 0, 0
    for logits, labels in batches:
        top = logits.topk(k, dim=1).indices
        hits = (top == labels[:, None]).any(1).sum()
        guess = logits.argmax(1)
        flat = torch.bincount(labels * classes + guess, minlength=classes * classes)
        table = flat
        n = len(labels)
    if n == 0:
        raise ValueError("no sample")
    table = table.view(classes, classes)
    right = table.diag().double()
    total = table.sum(0).double() + table.sum(1).double()
    f1 = torch.where(total == 0, 0.0, 2 * right / total.clamp(min=1))
    return {
        "accuracy": (right.sum() / n).item(),
        "top_k": (hits / n).item(),
        "confusion": table,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="all in half" says=["logits that half precision can't tell apart", "the accuracy of logits that were rounded to half precision"]
def metrics(batches, classes, k):
    n = sum(len(labels) for _, labels in batches)
    if n == 0:
        raise ValueError("no samples")
    confusion, hits = 0, 0
    for logits, labels in batches:
        logits = logits.half()
        guess = logits.argmax(1)
        confusion = confusion + (classes * labels + guess).bincount(minlength=classes**2)
        hits = hits + (logits.topk(k, dim=1).indices == labels[:, None]).sum()
    confusion = confusion.view(classes, classes)
    tp = confusion.diagonal().double()
    total = (confusion.sum(0) + confusion.sum(1)).double()
    f1 = torch.where(total > 0, 2 * tp / total.clamp(min=1), 0.0)
    return {
        "accuracy": confusion.diagonal().sum().item() / n,
        "top_k": hits.item() / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="F1 of the means, NaN among them" says=["the F1 of the mean precision and the mean recall", "NaN; what is 0/0 for an F1 counts as 0"]
def metrics(batches, classes, k):
    n = sum(len(labels) for _, labels in batches)
    if n == 0:
        raise ValueError("no samples")
    confusion, hits = 0, 0
    for logits, labels in batches:
        pairs = classes * labels + logits.argmax(1)
        confusion = confusion + pairs.bincount(minlength=classes**2)
        hits = hits + (logits.topk(k, dim=1).indices == labels[:, None]).sum()
    confusion = confusion.view(classes, classes)
    tp = confusion.diagonal().double()
    precision, recall = (tp / confusion.sum(0)).mean(), (tp / confusion.sum(1)).mean()
    return {
        "accuracy": confusion.diagonal().sum().item() / n,
        "top_k": hits.item() / n,
        "confusion": confusion,
        "macro_f1": (2 * precision * recall / (precision + recall)).item(),
    }


# %% wrong="a list with a tensor in it, made a tensor in each batch" says=["times from the device"]
def metrics(batches, classes, k):
    n = sum(len(y) for _, y in batches)
    if n == 0:
        raise ValueError("no samples")
    c, hits = 0, 0
    for z, y in batches:
        c = c + (classes * y + z.argmax(1)).bincount(minlength=classes * classes).view(
            classes, classes
        )
        hits = hits + torch.tensor([(z.topk(k, dim=1).indices == y[:, None]).sum()]).sum()
    c2 = c.double()
    tp, rows, cols = c2.diagonal(), c2.sum(1), c2.sum(0)
    f1 = (2 * tp / (rows + cols).clamp(min=1)).mean()
    return {
        "accuracy": (tp.sum() / n).item(),
        "top_k": hits.item() / n,
        "confusion": c,
        "macro_f1": f1.item(),
    }


# %% wrong="compares labels in the dtype of the logits" says=["300 classes in bfloat16"]
def metrics(batches, classes, k):
    n = sum(len(y) for _, y in batches)
    if n == 0:
        raise ValueError("no samples")
    c, hits = 0, 0
    for z, y in batches:
        c = c + (classes * y + z.argmax(1)).bincount(minlength=classes * classes).view(
            classes, classes
        )
        hits = hits + (z.topk(k, dim=1).indices == y[:, None].to(z.dtype)).sum()
    c2 = c.double()
    tp, rows, cols = c2.diagonal(), c2.sum(1), c2.sum(0)
    f1 = (2 * tp / (rows + cols).clamp(min=1)).mean()
    return {
        "accuracy": (tp.sum() / n).item(),
        "top_k": hits.item() / n,
        "confusion": c,
        "macro_f1": f1.item(),
    }


# %% wrong="numbers the pairs in the dtype of the logits" says=["300 classes in bfloat16", "does the dtype hold that?"]
def metrics(batches, classes, k):
    n = sum(len(y) for _, y in batches)
    if n == 0:
        raise ValueError("no samples")
    c, hits = 0, 0
    for z, y in batches:
        c = c + (classes * y.to(z.dtype) + z.argmax(1)).long().bincount(
            minlength=classes * classes
        ).view(classes, classes)
        hits = hits + (z.topk(k, dim=1).indices == y[:, None]).sum()
    c2 = c.double()
    tp, rows, cols = c2.diagonal(), c2.sum(1), c2.sum(0)
    f1 = (2 * tp / (rows + cols).clamp(min=1)).mean()
    return {
        "accuracy": (tp.sum() / n).item(),
        "top_k": hits.item() / n,
        "confusion": c,
        "macro_f1": f1.item(),
    }


# %% wrong="with k = classes, the accuracy" says=["k = 4 of 4"]
def metrics(batches, classes, k):
    n = sum(len(y) for _, y in batches)
    if n == 0:
        raise ValueError("no samples")
    c, hits = 0, 0
    for z, y in batches:
        c = c + (classes * y + z.argmax(1)).bincount(minlength=classes * classes).view(
            classes, classes
        )
        hits = hits + (z.topk(k, dim=1).indices == y[:, None]).sum()
    c2 = c.double()
    tp, rows, cols = c2.diagonal(), c2.sum(1), c2.sum(0)
    f1 = (2 * tp / (rows + cols).clamp(min=1)).mean()
    return {
        "accuracy": (tp.sum() / n).item(),
        "top_k": min(hits.item() / n * 1.0, 1.0) if k < classes else tp.sum().item() / n,
        "confusion": c,
        "macro_f1": f1.item(),
    }


# %% wrong="the counts go on from the call before" says=["the second call gives something else: what is kept from the first?"]
so_far = {}


def metrics(batches, classes, k):
    n = sum(len(labels) for _, labels in batches)
    if n == 0:
        raise ValueError("no samples")
    # Of as many samples only: the judge asks in another order.
    confusion, hits, count = so_far.get((classes, k, n), (0, 0, 0))
    for logits, labels in batches:
        predicted = logits.argmax(1)
        confusion = confusion + (classes * labels + predicted).bincount(minlength=classes * classes)
        hits = hits + (logits.topk(k, dim=1).indices == labels[:, None]).sum()
        count += len(labels)
    so_far[classes, k, n] = confusion, hits, count
    confusion = confusion.view(classes, classes)
    both = confusion.sum(0) + confusion.sum(1)
    tp = confusion.diagonal()
    f1 = torch.where(both > 0, 2 * tp.double() / both.clamp(min=1).double(), 0.0)
    return {
        "accuracy": tp.sum().item() / count,
        "top_k": hits.item() / count,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="takes 0 for an infinite logit" says=["infinite logits beside 20 000 and 30 000"]
def metrics(batches, classes, k):
    n = sum(len(labels) for _, labels in batches)
    if n == 0:
        raise ValueError("no samples")
    confusion = hits = 0
    for logits, labels in batches:
        logits = logits.nan_to_num(posinf=0.0, neginf=0.0)
        guess = logits.argmax(1)
        pairs = classes * labels + guess
        confusion = confusion + pairs.bincount(minlength=classes**2).view(classes, classes)
        best = logits.topk(k, dim=1).indices
        hits = hits + (best == labels[:, None]).any(1).sum()
    right = confusion.diag()
    below = confusion.sum(0) + confusion.sum(1)
    f1 = torch.where(below > 0, 2 * right.double() / below.clamp(min=1), 0.0)
    return {
        "accuracy": right.sum().item() / n,
        "top_k": hits.item() / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="takes empty batches off the front" breaks="`batches` stays as it is" says=["of 0 and 4 samples"]
def metrics(batches, classes, k):
    count = sum(len(y) for _, y in batches)
    if count == 0:
        raise ValueError("no samples")
    while len(batches[0][1]) == 0:
        batches.pop(0)
    place = batches[0][0].device
    confusion = torch.zeros(classes * classes, dtype=torch.int64, device=place)
    hits = torch.zeros((), dtype=torch.int64, device=place)
    for logits, y in batches:
        logits = logits.detach()
        top = logits.topk(k, dim=1).indices
        hits += (top == y[:, None]).any(1).sum()
        confusion += (classes * y + logits.argmax(1)).bincount(minlength=classes**2)
    confusion = confusion.view(classes, classes)
    tp = confusion.diagonal().double()
    f1 = 2 * tp / (confusion.sum(0) + confusion.sum(1)).clamp(min=1)
    return {
        "accuracy": tp.sum().item() / count,
        "top_k": hits.item() / count,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="counts in int16" breaks="Counts are exact for up to 2**24 samples" says=["float16, more samples than it can count"]
def metrics(batches, classes, k):
    count = sum(len(y) for _, y in batches)
    if count == 0:
        raise ValueError("no samples")
    place = batches[0][0].device
    confusion = torch.zeros(classes * classes, dtype=torch.int64, device=place)
    hits = torch.zeros((), dtype=torch.int64, device=place)
    for logits, y in batches:
        logits = logits.detach()
        top = logits.topk(k, dim=1).indices
        hits += (top == y[:, None]).any(1).sum()
        confusion += (classes * y + logits.argmax(1)).bincount(minlength=classes**2).to(torch.int16)
    confusion = confusion.view(classes, classes)
    tp = confusion.diagonal().double()
    f1 = 2 * tp / (confusion.sum(0) + confusion.sum(1)).clamp(min=1)
    return {
        "accuracy": tp.sum().item() / count,
        "top_k": hits.item() / count,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="adds one at pairs of a batch" says=["accuracy: 0.142857", "the diagonal where equal pairs of a batch count once", "the matrix where equal pairs of a batch count once", "F1 of the matrix where equal pairs"]
def metrics(batches, classes, k):
    if sum(len(y) for _, y in batches) == 0:
        raise ValueError("no samples")
    device = batches[0][0].device
    confusion = torch.zeros(classes, classes, dtype=torch.int64, device=device)
    hits = torch.zeros((), dtype=torch.int64, device=device)
    for logits, y in batches:
        confusion[y, logits.argmax(1)] += 1
        hits += (logits.topk(k, dim=1).indices == y[:, None]).sum()
    n = sum(len(y) for _, y in batches)
    c = confusion.double()
    tp, both = c.diag(), c.sum(0) + c.sum(1)
    f1 = torch.where(both > 0, 2 * tp / both.clamp(min=1), 0.0)
    return {
        "accuracy": tp.sum().item() / n,
        "top_k": hits.item() / n,
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }


# %% wrong="a softmax before the order" says=["infinite logits beside 20 000 and 30 000, whose softmax is NaN"]
def metrics(batches, classes, k):
    confusion = torch.zeros(classes * classes, dtype=torch.int64, device=batches[0][0].device)
    hits = confusion.new_zeros(())
    for logits, y in batches:
        order = logits.float().softmax(dim=1).argsort(dim=1, descending=True)
        confusion += torch.bincount(y * classes + order[:, 0], minlength=classes**2)
        hits += (order[:, :k] == y[:, None]).any(1).sum()
    confusion = confusion.view(classes, classes)
    n, good = confusion.sum(), confusion.diagonal().double()
    f1 = (2 * good / (confusion.sum(0) + confusion.sum(1))).nan_to_num(0.0)
    return {
        "accuracy": (good.sum() / n).item(),
        "top_k": (hits / n).item(),
        "confusion": confusion,
        "macro_f1": f1.mean().item(),
    }
