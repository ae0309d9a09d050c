# %% [markdown]
# Rules:
#
# - "*unequal* sizes"
# - "some perhaps empty"
# - "Fill `.grad` as one large batch would"
# - "the gradient of the mean `F.cross_entropy` over all examples"
# - "clipped once"
# - "to the global norm `max_norm`"
# - "Return the norm before clipping"
# - "Old gradients are forgotten"
# - "Frozen parameters arrive with `.grad` None, and keep it"
# - "Each piece passes through the model once"
# - "its `backward` runs before the next piece's forward"
# - "Nothing else of the model changes"
# - "nor do the pieces"
# - "Where the norm is at most `max_norm`"
# - "which may be infinite"
# - "it may also be zero"
#
# Admits:
#
# - "some perhaps empty": one piece is empty
# - "which may be infinite": float("inf")
# - "Frozen parameters": the first layer is frozen
# - "it may also be zero": a gradient of zero
# - "whatever they were": old gradients that are NaN and infinite
# - "Fill `.grad` as one large batch would": a weight that is stored transposed

# %% wrong="the mean of the means" breaks="*unequal* sizes" says=["the mean of the means"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels) / len(pieces)).backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()


# %% wrong="means added up" says=["means that are added up"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    for inputs, labels in pieces:
        if len(labels):
            F.cross_entropy(model(inputs), labels).backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()


# %% wrong="sums" breaks="the gradient of the mean `F.cross_entropy` over all examples" says=["sums that were never divided"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    for inputs, labels in pieces:
        F.cross_entropy(model(inputs), labels, reduction="sum").backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()


# %% right="weighted means: even the empty piece adds nothing"
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels) * len(labels) / count).backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()


# %% wrong="old gradients stay" breaks="Old gradients are forgotten" says=["the old gradients are still in it"]
def clip_and_accumulate(model, pieces, max_norm):
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels, reduction="sum") / count).backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()


# %% wrong="clips each piece" breaks="clipped once" says=["clipped to 0.1", "the norm"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels, reduction="sum") / count).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return norm.item()


# %% wrong="clips each entry" says=["that turns the direction"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels, reduction="sum") / count).backward()
    params = [p for p in model.parameters() if p.grad is not None]
    norm = sum(p.grad.square().sum() for p in params).sqrt()
    nn.utils.clip_grad_value_(params, max_norm)
    return norm.item()


# %% wrong="each parameter by itself" breaks="to the global norm `max_norm`" says=["each parameter was clipped alone"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels, reduction="sum") / count).backward()
    params = [p for p in model.parameters() if p.grad is not None]
    norm = sum(p.grad.square().sum() for p in params).sqrt()
    for p in params:
        nn.utils.clip_grad_norm_([p], max_norm)
    return norm.item()


# %% wrong="the norm after clipping" breaks="Return the norm before clipping" says=["the norm after clipping"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels, reduction="sum") / count).backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return (
        sum(p.grad.square().sum() for p in model.parameters() if p.grad is not None).sqrt().item()
    )


# %% wrong="always scales to the limit" breaks="Where the norm is at most `max_norm`" says=["a limit that is not reached"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels, reduction="sum") / count).backward()
    params = [p for p in model.parameters() if p.grad is not None]
    norm = sum(p.grad.square().sum() for p in params).sqrt().item()
    for p in params:
        p.grad.mul_(max_norm / norm if norm else 1.0)
    return norm


# %% wrong="one large batch" breaks="Each piece passes through the model once" says=["how often the model was called"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    x, y = (torch.cat(parts) for parts in zip(*pieces, strict=True))
    F.cross_entropy(model(x), y).backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()


# %% wrong="one backward for all losses" breaks="its `backward` runs before the next piece's forward" says=["all graphs were alive at once"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(labels) for _, labels in pieces)
    total = sum(F.cross_entropy(model(x), y, reduction="sum") for x, y in pieces) / count
    total.backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()


# %% wrong="0 / 0" breaks="it may also be zero" says=["a gradient of zero"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels, reduction="sum") / count).backward()
    params = [p for p in model.parameters() if p.grad is not None]
    norm = sum(p.grad.square().sum() for p in params).sqrt()
    if norm < max_norm:
        scale = norm / norm
    else:
        scale = max_norm / norm
    for p in params:
        p.grad.mul_(scale)
    return norm.item()


# %% wrong="takes a step as well" breaks="Nothing else of the model changes" says=["the weights were changed"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels, reduction="sum") / count).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    return norm.item()


# %% wrong="returns nothing" says=["returned None"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels, reduction="sum") / count).backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)


# %% right="autograd.grad, by hand"
def clip_and_accumulate(model, pieces, max_norm):
    params = [p for p in model.parameters() if p.requires_grad]
    totals = [torch.zeros_like(p) for p in params]
    seen = 0
    for inputs, labels in pieces:
        if len(labels) == 0:
            continue
        loss = F.cross_entropy(model(inputs), labels) * len(labels)
        for total, g in zip(totals, torch.autograd.grad(loss, params), strict=True):
            total += g
        seen += len(labels)
    totals = [total / seen for total in totals]
    norm = torch.cat([total.flatten() for total in totals]).norm()
    for p, total in zip(params, totals, strict=True):
        p.grad = total * (max_norm / norm if norm > max_norm else 1.0)
    return norm


# %% right="backward of sums, divided at the end"
def clip_and_accumulate(model, pieces, max_norm):
    for p in model.parameters():
        p.grad = None
    for inputs, labels in pieces:
        logp = model(inputs).log_softmax(-1)
        (-logp[torch.arange(len(labels), device=labels.device), labels].sum()).backward()
    n = sum(y.numel() for _, y in pieces)
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    for g in grads:
        g.div_(n)
    norm = float(torch.linalg.vector_norm(torch.stack([g.norm() for g in grads])))
    for g in grads:
        g.mul_(min(1.0, max_norm / (norm + 1e-6)))
    return norm


# %% wrong="clips after every piece, adding up" says=["clip once, after the last"]
def clip_and_accumulate(model, pieces, max_norm):

    n = sum(len(y) for _, y in pieces)
    model.zero_grad()
    for x, y in pieces:
        (F.cross_entropy(model(x), y, reduction="sum") / n).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return norm.item()


# %% wrong="scales small gradients up" says=["although the norm does not exceed"]
def clip_and_accumulate(model, pieces, max_norm):

    n = sum(len(y) for _, y in pieces)
    model.zero_grad()
    for x, y in pieces:
        (F.cross_entropy(model(x), y, reduction="sum") / n).backward()
    ps = [p for p in model.parameters() if p.grad is not None]
    norm = sum((p.grad**2).sum() for p in ps).sqrt()
    if max_norm != float("inf"):
        for p in ps:
            p.grad *= max_norm / (norm + 1e-12)
    return norm.item()


# %% wrong="clips each parameter alone, adding up the norms" says=["each parameter was clipped alone"]
def clip_and_accumulate(model, pieces, max_norm):

    n = sum(len(y) for _, y in pieces)
    for p in model.parameters():
        p.grad = None
    for x, y in pieces:
        F.cross_entropy(model(x), y, reduction="sum").div(n).backward()
    total = 0.0
    for p in model.parameters():
        if p.grad is not None:
            total += torch.nn.utils.clip_grad_norm_([p], max_norm).item() ** 2
    return total**0.5


# %% wrong="never clips" says=["it was not clipped"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    n = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        (F.cross_entropy(model(x), y, reduction="sum") / n).backward()
    return sum(p.grad.square().sum() for p in model.parameters() if p.grad is not None) ** 0.5


# %% right="autograd.grad with sums of its own"
def clip_and_accumulate(model, pieces, max_norm):

    ps = [p for p in model.parameters() if p.requires_grad]
    sums, n = [torch.zeros_like(p) for p in ps], 0
    for x, y in pieces:
        loss = F.cross_entropy(model(x), y, reduction="none").sum()
        for s, g in zip(sums, torch.autograd.grad(loss, ps)):
            s += g
        n += y.numel()
    flat = torch.cat([(s / n).flatten() for s in sums])
    norm = torch.linalg.vector_norm(flat)
    if norm > max_norm:
        flat = flat * (max_norm / norm)
    for p, g in zip(ps, flat.split([p.numel() for p in ps])):
        p.grad = g.view_as(p)
    return norm


# %% wrong="eval and back to train" says=["a part of it is in eval, and stays"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    model.eval()
    count = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        (F.cross_entropy(model(x), y, reduction="sum") / count).backward()
    model.train()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()


# %% wrong="empties the caller's list" says=["the list of pieces was changed"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(y) for _, y in pieces)
    while pieces:
        x, y = pieces.pop(0)
        (F.cross_entropy(model(x), y, reduction="sum") / count).backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()


# %% wrong="leaves its hooks" says=["a hook of yours is left"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    for p in model.parameters():
        if p.requires_grad:
            p.register_hook(lambda g: g)
    count = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        (F.cross_entropy(model(x), y, reduction="sum") / count).backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()


# %% right="means, times their share"
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        (F.cross_entropy(model(x), y, reduction="mean") * len(y) / count).backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()


# %% wrong="frozen ones in the norm" says=["a frozen parameter has .grad None"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        (F.cross_entropy(model(x), y, reduction="sum") / count).backward()
    norm = sum(p.grad.square().sum() for p in model.parameters()).sqrt().item()
    for p in model.parameters():
        p.grad *= min(1, max_norm / max(norm, 1e-12))
    return norm


# %% wrong="norm counts tied ones twice" says=["counts once"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        (F.cross_entropy(model(x), y, reduction="sum") / count).backward()
    return nn.utils.clip_grad_norm_(
        [p for m in model.modules() for p in m.parameters(recurse=False)], max_norm
    )


# %% wrong="frees the frozen" says=["a frozen parameter is no part of it"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    frozen = [p for p in model.parameters() if not p.requires_grad]
    model.requires_grad_(True)
    count = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        (F.cross_entropy(model(x), y, reduction="sum") / count).backward()
    for p in frozen:
        p.requires_grad_(False)
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm)


# %% wrong="always scaled down, 0 / 0 at zero" says=["is there a 0 / 0"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        (F.cross_entropy(model(x), y, reduction="sum") / count).backward()
    g = [p.grad for p in model.parameters() if p.grad is not None]
    norm = nn.utils.get_total_norm(g)
    for x in g:
        x /= (norm / max_norm).clamp(min=1) * (norm / norm)
    return norm


# %% wrong="clears the model's hooks" says=["a hook that was on the model before is gone"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels, reduction="sum") / count).backward()
    model._forward_hooks.clear()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm)


# %% wrong="gradients with a graph" breaks="Fill `.grad` as one large batch would" says=[".grad carries a graph"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    total = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        if len(y):
            loss = F.cross_entropy(model(x), y, reduction="sum") / total
            params = [p for p in model.parameters() if p.requires_grad]
            found = torch.autograd.grad(loss, params, create_graph=True)
            for p, g in zip(params, found, strict=True):
                p.grad = g if p.grad is None else p.grad + g
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm)


# %% wrong="the square of the norm" says=["that is its square: the root is missing"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    total = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        (F.cross_entropy(model(x), y, reduction="sum") / total).backward()
    squares = sum((p.grad**2).sum() for p in model.parameters() if p.grad is not None)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return squares


# %% wrong="the largest entry as the norm" says=["that is the largest entry"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    total = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        (F.cross_entropy(model(x), y, reduction="sum") / total).backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=float("inf"))


# %% right="sums, divided in place at the end"
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad(set_to_none=True)
    seen = 0
    for x, y in pieces:
        F.nll_loss(model(x).log_softmax(-1), y, reduction="sum").backward()
        seen += y.shape[0]
    with torch.no_grad():
        grads = [p.grad.div_(seen) for p in model.parameters() if p.requires_grad]
        norm = torch.linalg.vector_norm(torch.stack([g.norm() for g in grads]))
        if norm > max_norm:
            torch._foreach_mul_(grads, max_norm / norm)
    return norm


# %% wrong="asks the inputs for a gradient" says=["a piece's inputs or labels were changed"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    total = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        x.requires_grad_(True)
        (F.cross_entropy(model(x), y, reduction="sum") / total).backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm)


# %% wrong="empties each piece when it is done" breaks="nor do the pieces" says=["a piece's inputs or labels were changed"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    total = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        (F.cross_entropy(model(x), y, reduction="sum") / total).backward()
        x.zero_()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm)


# %% wrong="an empty piece is the end" breaks="some perhaps empty" says=["one piece is empty"]
def clip_and_accumulate(model, pieces, max_norm):
    total = sum(len(y) for _, y in pieces)
    model.zero_grad()
    for x, y in pieces:
        if len(y) == 0:
            break
        (F.cross_entropy(model(x), y, reduction="sum") / total).backward()
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)


# %% wrong="frozen parameters get zeros" breaks="Frozen parameters arrive with `.grad` None, and keep it" says=["0.weight is frozen: its .grad should stay None"]
def clip_and_accumulate(model, pieces, max_norm):
    total = sum(len(y) for _, y in pieces)
    model.zero_grad()
    for x, y in pieces:
        (F.cross_entropy(model(x), y, reduction="sum") / total).backward()
    for p in model.parameters():
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)


# %% wrong="an infinite limit is taken for a half" breaks="which may be infinite" says=["sizes 4 and 1, not clipped: 0.weight.grad"]
def clip_and_accumulate(model, pieces, max_norm):
    total = sum(len(y) for _, y in pieces)
    model.zero_grad()
    for x, y in pieces:
        (F.cross_entropy(model(x), y, reduction="sum") / total).backward()
    return torch.nn.utils.clip_grad_norm_(model.parameters(), min(max_norm, 0.5))


# %% wrong="a norm of matrices alone" says=["all gradients are one long vector, and that is the norm without the biases"]
def clip_and_accumulate(model, pieces, max_norm):
    for p in model.parameters():
        p.grad = None
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        loss = F.cross_entropy(model(inputs), labels, reduction="sum") / count
        loss.backward()
    trained = [p for p in model.parameters() if p.grad is not None]
    norm = torch.stack([p.grad.norm() for p in trained if p.ndim > 1]).norm().item()
    if norm > max_norm:
        for p in trained:
            p.grad.mul_(max_norm / norm)
    return norm


# %% wrong="the largest norm of a parameter" says=["all gradients are one long vector, and that is the largest norm of a single parameter"]
def clip_and_accumulate(model, pieces, max_norm):
    for p in model.parameters():
        p.grad = None
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        loss = F.cross_entropy(model(inputs), labels, reduction="sum") / count
        loss.backward()
    trained = [p for p in model.parameters() if p.grad is not None]
    norm = torch.stack([p.grad.norm() for p in trained]).max().item()
    if norm > max_norm:
        for p in trained:
            p.grad.mul_(max_norm / norm)
    return norm


# %% wrong="divides by a norm of 0" says=["a gradient of zero: raised ZeroDivisionError: the norm may be 0"]
def clip_and_accumulate(model, pieces, max_norm):
    for p in model.parameters():
        p.grad = None
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        loss = F.cross_entropy(model(inputs), labels, reduction="sum") / count
        loss.backward()
    trained = [p for p in model.parameters() if p.grad is not None]
    norm = torch.stack([p.grad.norm() for p in trained]).norm().item()
    factor = min(1.0, max_norm / norm)
    for p in trained:
        p.grad.mul_(factor)
    return norm


# %% wrong="the first piece's size for all" says=["count the examples of all"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = len(pieces[0][1]) * len(pieces)
    for x, y in pieces:
        loss = F.cross_entropy(model(x), y, reduction="sum") / count
        loss.backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm)


# %% wrong="gradients are cleared before each piece" says=["the last piece's alone are left"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        model.zero_grad()
        loss = F.cross_entropy(model(x), y, reduction="sum") / count
        loss.backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm)


# %% wrong="the sum of absolute values for the norm" says=["the sum of sizes, without squares"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        loss = F.cross_entropy(model(x), y, reduction="sum") / count
        loss.backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=1)


# %% wrong="reads a limit of 0 as none" says=["a limit of 0", "it was not clipped"]
def clip_and_accumulate(model, pieces, max_norm):
    total = sum(len(labels) for _, labels in pieces)
    model.zero_grad()
    for inputs, labels in pieces:
        loss = F.cross_entropy(model(inputs), labels, reduction="sum") / total
        loss.backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.stack([g.norm() for g in grads]).norm()
    if max_norm and norm > max_norm:
        for g in grads:
            g.mul_(max_norm / norm)
    return norm


# %% wrong="stops at an empty piece" says=["the first piece and the last are empty"]
def clip_and_accumulate(model, pieces, max_norm):
    total = sum(len(labels) for _, labels in pieces)
    model.zero_grad()
    for inputs, labels in pieces:
        if not len(labels):
            break
        loss = F.cross_entropy(model(inputs), labels, reduction="sum") / total
        loss.backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.stack([g.norm() for g in grads]).norm()
    if norm > max_norm:
        for g in grads:
            g.mul_(max_norm / norm)
    return norm


# %% right="means, each weighted by its share"
def clip_and_accumulate(
    model: nn.Module, pieces: list[tuple[torch.Tensor, torch.Tensor]], max_norm: float
) -> float:
    model.zero_grad()
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels) * (len(labels) / count)).backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm)


# %% wrong="a shared parameter is divided twice" says=["a parameter that two layers share was divided twice"]
def clip_and_accumulate(
    model: nn.Module, pieces: list[tuple[torch.Tensor, torch.Tensor]], max_norm: float
) -> float:
    model.zero_grad()
    count = 0
    for inputs, labels in pieces:
        F.cross_entropy(model(inputs), labels, reduction="sum").backward()
        count += len(labels)
    for module in model.modules():
        for p in module.parameters(recurse=False):
            if p.grad is not None:
                p.grad /= count
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm)


# %% wrong="view on every gradient" says=["a weight that is stored transposed", "take .reshape or .flatten"]
def clip_and_accumulate(
    model: nn.Module, pieces: list[tuple[torch.Tensor, torch.Tensor]], max_norm: float
) -> float:
    count = sum(len(labels) for _, labels in pieces)
    model.zero_grad()
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels, reduction="sum") / count).backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.cat([g.view(-1) for g in grads]).norm()
    if norm > max_norm:
        torch._foreach_mul_(grads, (max_norm / norm).item())
    return norm.item()


# %% wrong="the mean of the means of pieces that have examples" breaks="*unequal* sizes" says=["one piece is empty: the norm", "the mean of the means, of pieces that aren't empty"]
def clip_and_accumulate(
    model: nn.Module, pieces: list[tuple[torch.Tensor, torch.Tensor]], max_norm: float
) -> float:
    model.zero_grad()
    pieces = [piece for piece in pieces if len(piece[1])]
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels) / len(pieces)).backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()


# %% wrong="old gradients times zero" breaks="Old gradients are forgotten" says=["old gradients that are NaN and infinite", "times 0 that is NaN"]
def clip_and_accumulate(model, pieces, max_norm):
    for p in model.parameters():
        if p.grad is not None:
            p.grad *= 0
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels, reduction="sum") / count).backward()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()


# %% wrong="0 / 0 in the norm alone" breaks="it may also be zero" says=["a gradient of zero: the norm: expected 0.00000, got nan: is there a 0 / 0?"]
def clip_and_accumulate(model, pieces, max_norm):
    model.zero_grad()
    count = sum(len(labels) for _, labels in pieces)
    for inputs, labels in pieces:
        (F.cross_entropy(model(inputs), labels, reduction="sum") / count).backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    largest = max(grad.abs().max() for grad in grads)
    norm = largest * sum((grad / largest).square().sum() for grad in grads).sqrt()
    if norm > max_norm:
        for grad in grads:
            grad.mul_(max_norm / norm)
    return norm
