# %% [markdown]
# Rules:
#
# - "the **distinct** scores"
# - "ascending"
# - "when `score >= threshold` is called a 1"
# - "All three are float tensors of the same length"
# - "counts at the argument `threshold`"
# - "rows the truth, columns what was said"
# - "0 before 1"
# - "labels (sample,), 0 or 1, integers or bools"
# - "nothing from scikit-learn"
#
# Admits:
#
# - "integers or bools": bools, and logits below 0
# - "at least one is 1": all of them 1
# - "some of which may be infinite": infinite scores, twice each

# %% wrong="the stub" says=["None is not (precision, recall, thresholds, matrix): is there an answer yet?"]
def pr_and_confusion(scores, labels, threshold):
    pass


# %% wrong="above, not at" breaks="when `score >= threshold` is called a 1" says=["precision", "recall", "equal to the threshold counts as called"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique()
    said = scores > thresholds[:, None]
    hits = (said & labels.bool()).sum(1)
    truth, calls = labels.bool(), scores > threshold
    matrix = torch.stack(
        [torch.stack([((truth == i) & (calls == j)).sum() for j in (0, 1)]) for i in (0, 1)]
    )
    return hits / said.sum(1), hits / labels.sum(), thresholds, matrix


# %% wrong="one threshold for each sample" breaks="the **distinct** scores" says=["recall (hits among those that are a 1, at each threshold): one entry for each sample; equal scores are one threshold", "thresholds: thresholds: equal scores are one threshold"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.sort().values
    said = scores >= thresholds[:, None]
    hits = (said & labels.bool()).sum(1)
    matrix = (2 * labels.long() + (scores >= threshold)).bincount(minlength=4).view(2, 2)
    return hits / said.sum(1), hits / labels.sum(), thresholds, matrix


# %% wrong="rows and columns swapped; descending" says=["descending; wanted ascending", "rows and columns have changed places: rows are the truth"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique().flip(0)
    said = scores >= thresholds[:, None]
    hits = (said & labels.bool()).sum(1)
    matrix = (2 * labels.long() + (scores >= threshold)).bincount(minlength=4).view(2, 2)
    return hits / said.sum(1), hits / labels.sum(), thresholds, matrix.T


# %% wrong="scikit-learn" breaks="nothing from scikit-learn" says=["scikit-learn ran; here it is done by hand"]
def pr_and_confusion(scores, labels, threshold):
    from sklearn.metrics import confusion_matrix, precision_recall_curve

    truth, s = labels.cpu().numpy(), scores.cpu().numpy()
    precision, recall, thresholds = precision_recall_curve(truth, s)
    matrix = confusion_matrix(truth, s >= threshold, labels=[0, 1])
    return tuple(torch.tensor(a.copy()) for a in (precision[:-1], recall[:-1], thresholds, matrix))


# %% wrong="with the last point (1, 0)" breaks="All three are float tensors of the same length" says=["without the point (1, 0) of libraries"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique()
    said = scores >= thresholds[:, None]
    hits = (said & labels.bool()).sum(1)
    matrix = (2 * labels.long() + (scores >= threshold)).bincount(minlength=4).view(2, 2)
    one, zero = torch.ones(1).to(scores), torch.zeros(1).to(scores)
    return (
        torch.cat([hits / said.sum(1), one]),
        torch.cat([hits / labels.sum(), zero]),
        thresholds,
        matrix,
    )


# %% wrong="bincount without minlength; precision and recall swapped" says=["precision and recall have changed places", "none called, scores in half: raised RuntimeError", "a cell of the matrix may be empty"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique()
    said = scores >= thresholds[:, None]
    hits = (said & labels.bool()).sum(1)
    matrix = (2 * labels.long() + (scores >= threshold)).bincount().view(2, 2)
    return hits / labels.sum(), hits / said.sum(1), thresholds, matrix


# %% right="plain Python"
def pr_and_confusion(scores, labels, threshold):
    pairs = list(zip(scores.tolist(), [int(v) for v in labels.tolist()]))
    steps = sorted({s for s, _ in pairs})
    positives = sum(t for _, t in pairs)
    precision, recall = [], []
    for step in steps:
        called = [t for s, t in pairs if s >= step]
        precision.append(sum(called) / len(called))
        recall.append(sum(called) / positives)
    matrix = [[0, 0], [0, 0]]
    for s, t in zip(scores, labels):
        matrix[int(t)][int(s >= threshold)] += 1
    return (
        torch.tensor(precision),
        torch.tensor(recall),
        torch.tensor(steps, dtype=scores.dtype),
        torch.tensor(matrix),
    )


# %% right="sort and cumulative sums"
def pr_and_confusion(scores, labels, threshold):
    order = scores.argsort(descending=True)
    s, t = scores[order], labels[order].double()
    hits = t.cumsum(0)
    last = torch.cat([s[1:] != s[:-1], torch.ones(1, dtype=torch.bool, device=s.device)])
    count = torch.arange(1, len(s) + 1, device=s.device)[last]
    hits = hits[last]
    said, truth = scores >= threshold, labels.bool()
    cells = [(~truth & ~said), (~truth & said), (truth & ~said), (truth & said)]
    matrix = torch.stack([c.sum() for c in cells]).reshape(2, 2).float()
    return (hits / count).flip(0), (hits / t.sum()).flip(0), s[last].flip(0), matrix


# %% wrong="a hundred even thresholds" says=["there are 4 distinct scores"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = torch.linspace(0, 1, 100)
    said = scores >= thresholds[:, None]
    hits = (said & (labels == 1)).sum(1)
    now = scores >= threshold
    matrix = torch.bincount(2 * labels.long() + now.long(), minlength=4).reshape(2, 2)
    return hits / said.sum(1).clamp(min=1), hits / labels.sum(), thresholds, matrix


# %% right="~ on integer labels, beside bools"
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique()
    said = scores >= thresholds[:, None]
    hits = (said & (labels == 1)).sum(1)
    now = scores >= threshold
    tp, fp = (now & labels).sum(), (now & ~labels).sum()
    fn, tn = (~now & labels).sum(), (~now & ~labels).sum()
    return hits / said.sum(1), hits / labels.sum(), thresholds, torch.tensor([[tn, fp], [fn, tp]])


# %% right="matrix products of one-hot rows"
def pr_and_confusion(scores, labels, threshold):
    y = labels.float()
    thresholds = torch.unique(scores)
    said = scores.unsqueeze(0).ge(thresholds.unsqueeze(1)).float()
    hits = torch.einsum("ts,s->t", said, y)
    truth = F.one_hot(labels.long(), 2)
    now = F.one_hot(scores.ge(threshold).long(), 2)
    return hits / said.sum(dim=1), hits / y.sum(), thresholds, truth.T.float() @ now.float()


# %% wrong="the matrix at 0.5, whatever the threshold" breaks="counts at the argument `threshold`" says=["counts at 0.5, not at the argument"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique()
    said = scores >= thresholds[:, None]
    hits = (said & labels.bool()).sum(1)
    matrix = (2 * labels.long() + (scores >= 0.5)).bincount(minlength=4).view(2, 2)
    return hits / said.sum(1), hits / labels.sum(), thresholds, matrix


# %% wrong="accuracy for precision; hits of the zeros for recall" says=["that is the accuracy at each threshold", "that is the share of the zeros that were called a 1"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique()
    said, one = scores >= thresholds[:, None], labels.bool()
    accuracy = (said == one).float().mean(1)
    matrix = (2 * labels.long() + (scores >= threshold)).bincount(minlength=4).view(2, 2)
    return accuracy, (said & ~one).sum(1) / (~one).sum().clamp(min=1), thresholds, matrix


# %% wrong="the matrix as four numbers" says=["two rows of two: rows are the truth"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique()
    said = scores >= thresholds[:, None]
    hits = (said & labels.bool()).sum(1)
    matrix = (2 * labels.long() + (scores >= threshold)).bincount(minlength=4)
    return hits / said.sum(1), hits / labels.sum(), thresholds, matrix


# %% wrong="a margin of a thousandth" says=["scores as close as these are two thresholds"]
def pr_and_confusion(scores, labels, threshold):
    t = scores.unique()
    one = labels.bool()
    s = scores > t[:, None] - 1e-3
    h = (s & one).sum(1)
    c = (scores >= threshold).long()
    return h / s.sum(1), h / one.sum(), t, (2 * one.long() + c).bincount(minlength=4).view(2, 2)


# %% wrong="a margin beside the argument threshold" says=["without a margin"]
def pr_and_confusion(scores, labels, threshold):
    t = scores.unique()
    one = labels.bool()
    s = scores >= t[:, None]
    h = (s & one).sum(1)
    c = (scores > threshold - 1e-2).long()
    return h / s.sum(1), h / one.sum(), t, (2 * one.long() + c).bincount(minlength=4).view(2, 2)


# %% wrong="precision that never falls" says=["it may fall as the threshold rises"]
def pr_and_confusion(scores, labels, threshold):
    t = scores.unique()
    said = scores >= t[:, None]
    hits = (said & labels.bool()).sum(1)
    truth = labels.long()
    m = torch.bincount(2 * truth + (scores >= threshold).long(), minlength=4).view(2, 2)
    return (hits / said.sum(1)).cummax(0).values, hits / truth.sum(), t, m


# %% wrong="thresholds behind a sigmoid" says=["not their sigmoid"]
def pr_and_confusion(scores, labels, threshold):
    scores = scores.sigmoid()
    t = scores.unique()
    said = scores >= t[:, None]
    hits = (said & labels.bool()).sum(1)
    truth = labels.long()
    m = torch.bincount(2 * truth + (scores >= threshold).long(), minlength=4).view(2, 2)
    return hits / said.sum(1), hits / truth.sum(), t, m


# %% wrong="cumulative sums that cut ties apart" says=["equal scores come in together"]
def pr_and_confusion(scores, labels, threshold):
    order = scores.argsort(descending=True)
    hits = labels[order].long().cumsum(0)
    said = torch.arange(1, len(scores) + 1, device=scores.device)
    t, first = scores[order], torch.ones(len(scores), dtype=torch.bool, device=scores.device)
    first[1:] = t[1:] != t[:-1]
    truth = labels.long()
    m = torch.bincount(2 * truth + (scores >= threshold).long(), minlength=4).view(2, 2)
    return (hits / said)[first].flip(0), (hits / truth.sum())[first].flip(0), t[first].flip(0), m


# %% wrong="the matrix at the nearest score" says=["not at the nearest score"]
def pr_and_confusion(scores, labels, threshold):
    t = scores.unique()
    said = scores >= t[:, None]
    hits = (said & labels.bool()).sum(1)
    truth = labels.long()
    i = min(int(torch.searchsorted(t, threshold)), len(t) - 1)
    m = torch.bincount(2 * truth + (scores >= t[i]).long(), minlength=4).view(2, 2)
    return hits / said.sum(1), hits / truth.sum(), t, m


# %% right="index_add over the distinct scores"
def pr_and_confusion(scores, labels, threshold):
    t, inverse = torch.unique(scores, return_inverse=True)
    ones = torch.zeros(len(t), device=t.device, dtype=torch.long).index_add_(
        0, inverse, labels.long()
    )
    all_ = torch.zeros_like(ones).index_add_(0, inverse, torch.ones_like(labels, dtype=torch.long))
    hits, said = ones.flip(0).cumsum(0).flip(0), all_.flip(0).cumsum(0).flip(0)
    m = torch.zeros(2, 2, dtype=torch.long, device=t.device)
    m.index_put_(
        (labels.long(), (scores >= threshold).long()),
        torch.ones(len(scores), dtype=torch.long, device=t.device),
        accumulate=True,
    )
    return hits.double() / said, hits.double() / labels.long().sum(), t, m


# %% wrong="from the highest threshold down" breaks="ascending" says=["descending; wanted ascending"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique().flip(0)
    truth = labels.bool()
    said = scores >= thresholds[:, None]
    hits = (said & truth).sum(1)
    precision = hits / said.sum(1)
    recall = hits / truth.sum()
    now = scores >= threshold
    matrix = torch.bincount(2 * truth.long() + now.long(), minlength=4).view(2, 2)
    return precision, recall, thresholds, matrix


# %% wrong="the matrix turned" breaks="rows the truth, columns what was said" says=["rows are the truth"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique()
    truth = labels.bool()
    said = scores >= thresholds[:, None]
    hits = (said & truth).sum(1)
    precision = hits / said.sum(1)
    recall = hits / truth.sum()
    now = scores >= threshold
    matrix = torch.bincount(2 * truth.long() + now.long(), minlength=4).view(2, 2).T
    return precision, recall, thresholds, matrix


# %% wrong="1 before 0" breaks="0 before 1" says=["1 comes before 0"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique()
    truth = labels.bool()
    said = scores >= thresholds[:, None]
    hits = (said & truth).sum(1)
    precision = hits / said.sum(1)
    recall = hits / truth.sum()
    now = scores >= threshold
    matrix = torch.bincount(2 * truth.long() + now.long(), minlength=4).view(2, 2).flip(0, 1)
    return precision, recall, thresholds, matrix


# %% wrong="hits counted in the labels' dtype" breaks="labels (sample,), 0 or 1, integers or bools" says=["hits counted in uint8 begin anew at 256"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique()
    truth = labels.bool()
    said = scores >= thresholds[:, None]
    hits = (said * labels).sum(1, dtype=torch.uint8 if labels.dtype == torch.bool else labels.dtype)
    precision = hits / said.sum(1)
    recall = hits / truth.sum()
    now = scores >= threshold
    matrix = torch.bincount(2 * truth.long() + now.long(), minlength=4).view(2, 2)
    return precision, recall, thresholds, matrix


# %% wrong="hits in half precision" says=["counts in half precision are rounded"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique()
    truth = labels.bool()
    said = scores >= thresholds[:, None]
    hits = said.half() @ truth.half()
    precision = hits / said.sum(1)
    recall = hits / truth.sum()
    now = scores >= threshold
    matrix = torch.bincount(2 * truth.long() + now.long(), minlength=4).view(2, 2)
    return precision, recall, thresholds, matrix


# %% wrong="the matrix in bytes" says=["counts in uint8 begin anew at 256"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique()
    truth = labels.bool()
    said = scores >= thresholds[:, None]
    hits = (said & truth).sum(1)
    precision = hits / said.sum(1)
    recall = hits / truth.sum()
    now = scores >= threshold
    matrix = torch.bincount(2 * truth.long() + now.long(), minlength=4).to(torch.uint8).view(2, 2)
    return precision, recall, thresholds, matrix


# %% wrong="rounds the scores to float32" says=["scores that are close: thresholds", "of shape (3,), and there are 4 distinct scores"]
def pr_and_confusion(scores, labels, threshold):
    scores, labels = scores.float(), labels.bool()
    thresholds = scores.unique()
    said = scores >= thresholds[:, None]
    hits = (said & labels).sum(1)
    calls = (scores >= threshold).long()
    matrix = (2 * labels.long() + calls).bincount(minlength=4).view(2, 2)
    return hits / said.sum(1), hits / labels.sum(), thresholds, matrix


# %% wrong="thresholds that are lists" says=["thresholds: a float tensor is asked for; that is of the kind list"]
def pr_and_confusion(scores, labels, threshold):
    truth = labels.bool()
    thresholds = scores.unique()
    said = scores >= thresholds[:, None]
    hits = (said & truth).sum(1)
    precision = hits / said.sum(1)
    recall = hits / truth.sum()
    called = scores >= threshold
    matrix = torch.bincount(2 * truth.long() + called.long(), minlength=4).reshape(2, 2)
    return precision, recall, thresholds.tolist(), matrix


# %% wrong="a small number below the line" says=["nothing is added below the line"]
def pr_and_confusion(scores, labels, threshold):
    truth = labels.bool()
    thresholds = scores.unique()
    said = scores >= thresholds[:, None]
    hits = (said & truth).sum(1)
    precision = hits / (said.sum(1) + 1e-6)
    recall = hits / truth.sum()
    called = scores >= threshold
    matrix = torch.bincount(2 * truth.long() + called.long(), minlength=4).reshape(2, 2)
    return precision, recall, thresholds, matrix


# %% wrong="recall against the negatives" says=["hits divided by the number of zeros"]
def pr_and_confusion(scores, labels, threshold):
    truth = labels.bool()
    thresholds = scores.unique()
    said = scores >= thresholds[:, None]
    hits = (said & truth).sum(1)
    precision = hits / said.sum(1)
    recall = hits / (~truth).sum()
    now = scores >= threshold
    matrix = torch.bincount(2 * truth.long() + now.long(), minlength=4).reshape(2, 2)
    return precision, recall, thresholds, matrix


# %% wrong="labels as an index" says=["0 and 1 as an index pick the samples 0 and 1"]
def pr_and_confusion(scores, labels, threshold):
    truth = labels
    thresholds = scores.unique()
    said = scores >= thresholds[:, None]
    hits = said[:, truth].sum(1)
    precision = hits / said.sum(1)
    recall = hits / truth.sum()
    now = scores >= threshold
    matrix = torch.bincount(2 * truth.long() + now.long(), minlength=4).reshape(2, 2)
    return precision, recall, thresholds, matrix


# %% wrong="thresholds with recall 1 but the highest of them left out, as libraries draw it" says=["of shape (3,), and there are 4 thresholds"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique()
    truth = labels.bool()
    said = scores >= thresholds[:, None]
    hits = (said & truth).sum(1)
    precision, recall = hits / said.sum(1), hits / truth.sum()
    first = int((recall == 1).sum()) - 1
    cells = 2 * truth.long() + (scores >= threshold).long()
    matrix = cells.bincount(minlength=4).view(2, 2)
    return precision[first:], recall[first:], thresholds[first:], matrix


# %% wrong="thresholds without a hit left out" says=["none called, scores in half: recall: recall (hits among those that are a 1, at each threshold): of shape (3,)"]
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique()
    truth = labels.bool()
    said = scores >= thresholds[:, None]
    hits = (said & truth).sum(1)
    some = hits > 0
    cells = 2 * truth.long() + (scores >= threshold).long()
    matrix = cells.bincount(minlength=4).view(2, 2)
    return (hits / said.sum(1))[some], (hits / truth.sum())[some], thresholds[some], matrix


# %% wrong="cumulative sums, an entry for each sample" says=["the example: precision: precision (hits among those called, at each threshold): one entry for each sample", "the example: recall: recall (hits among those that are a 1, at each threshold): one entry for each sample"]
def pr_and_confusion(scores, labels, threshold):
    truth = labels.bool()
    thresholds, order = scores.sort()
    hits = truth[order].long().flip(0).cumsum(0).flip(0)
    precision = hits / torch.arange(len(scores), 0, -1, device=scores.device)
    cells = 2 * truth.long() + (scores >= threshold).long()
    return precision, hits / truth.sum(), thresholds, cells.bincount(minlength=4).view(2, 2)


# %% wrong="counts in the dtype of the scores" says=["2499 in half, labels in uint8: precision"]
def pr_and_confusion(scores, labels, threshold):
    truth, thresholds = labels.bool(), scores.unique()
    said = (scores >= thresholds[:, None]).to(scores.dtype)
    hits = (said * truth).sum(1)
    matrix = (2 * truth + (scores >= threshold)).bincount(minlength=4).view(2, 2)
    return hits / said.sum(1), hits / truth.to(scores.dtype).sum(), thresholds, matrix


# %% wrong="looks for the argument threshold among the scores" says=["may be above all scores"]
def pr_and_confusion(scores, labels, threshold):
    truth, thresholds = labels.bool(), scores.unique()
    said = scores >= thresholds[:, None]
    hits = (said & truth).sum(1)
    place = int(torch.searchsorted(thresholds, threshold))
    matrix = (2 * truth + said[place]).bincount(minlength=4).view(2, 2)
    return hits / said.sum(1), hits / truth.sum(), thresholds, matrix


# %% wrong="an index adds once" says=["an index that occurs twice is added to once"]
def pr_and_confusion(scores, labels, threshold):
    truth, thresholds = labels.bool(), scores.unique()
    said = scores >= thresholds[:, None]
    hits = (said & truth).sum(1)
    matrix = torch.zeros(2, 2, dtype=torch.long, device=scores.device)
    matrix[truth.long(), (scores >= threshold).long()] += 1
    return hits / said.sum(1), hits / truth.sum(), thresholds, matrix


# %% wrong="the matrix in the dtype of the scores" says=["2499 in half, labels in uint8: matrix", "counts in half precision are rounded"]
def pr_and_confusion(scores, labels, threshold):
    truth, thresholds = labels.bool(), scores.unique()
    said = scores >= thresholds[:, None]
    hits = (said & truth).sum(1)
    one, called = truth.to(scores.dtype), (scores >= threshold).to(scores.dtype)
    pairs = [(1 - one, 1 - called), (1 - one, called), (one, 1 - called), (one, called)]
    matrix = torch.stack([(a * b).sum() for a, b in pairs]).view(2, 2)
    return hits / said.sum(1), hits / truth.sum(), thresholds, matrix


# %% wrong="the row of the first score that reaches the threshold" breaks="counts at the argument `threshold`" says=["the argument threshold is above all scores: nothing is called a 1 then"]
def pr_and_confusion(scores, labels, threshold):
    truth = labels.bool()
    thresholds = scores.unique()
    said = scores >= thresholds[:, None]
    hits = (said & truth).sum(1)
    at = said[(thresholds >= threshold).int().argmax()]
    matrix = (2 * truth.long() + at.long()).bincount(minlength=4).view(2, 2)
    return hits / said.sum(1), hits / truth.sum(), thresholds, matrix


# %% right="inverted integers: ~1 is -2, and its last bit is what counts"
def pr_and_confusion(scores, labels, threshold):
    thresholds = scores.unique()
    said = scores >= thresholds[:, None]
    hits = (said & labels.bool()).sum(1)
    at = scores >= threshold
    cells = [[~labels & ~at, ~labels & at], [labels & ~at, labels & at]]
    matrix = torch.tensor([[int(cell.bool().sum()) for cell in row] for row in cells])
    return hits / said.sum(1), hits / labels.sum(), thresholds, matrix


# %% wrong="scores merged by their differences" breaks="the **distinct** scores" says=["infinite scores, twice each: thresholds: thresholds: equal scores are one threshold"]
def pr_and_confusion(scores, labels, threshold):
    truth = labels.bool()
    ordered, order = scores.sort(descending=True, stable=True)
    last = torch.cat([ordered.diff() != 0, torch.ones(1, dtype=torch.bool, device=scores.device)])
    ends = last.nonzero().flatten()
    tps = truth[order].long().cumsum(0)[ends].float()
    precision = tps / (ends + 1)
    recall = tps / truth.sum()
    said = scores >= threshold
    matrix = torch.stack(
        [
            torch.stack([(~truth & ~said).sum(), (~truth & said).sum()]),
            torch.stack([(truth & ~said).sum(), (truth & said).sum()]),
        ]
    )
    return precision.flip(0), recall.flip(0), ordered[ends].flip(0), matrix
