# %% [markdown]
# Rules:
#
# - "the gradient of `F.mse_loss`"
# - "averaged over all batches"
# - "*of all ranks*"
# - "The ranks send as much as in *one* backward"
# - "Nothing but the model's `.grad` changes"
# - "weights, modes"
# - "(a part of the model is in eval)"
# - "the batches and the global random state stay as they are"
# - "global random state"
# - "The next ordinary forward and backward must synchronise again"
# - "the same batch may be in it twice"
#
# Admits:
#
# - "a list of one or more `(x, y)`": steps=1
# - "the same batch may be in it twice": where the list holds the same batch twice
# - "(a part of the model is in eval)": it was computed in another mode

# %% wrong="no_sync around backward alone" says=["expected one all_reduce: forward *and* backward"]
def no_sync(ddp, batches):
    for number, (x, y) in enumerate(batches):
        loss = F.mse_loss(ddp(x), y) / len(batches)
        with ddp.no_sync() if number < len(batches) - 1 else nullcontext():
            loss.backward()


# %% wrong="no division" breaks="averaged over all batches" says=["the gradient is 3 times too large: a sum of means"]
def no_sync(ddp, batches):
    with ddp.no_sync():
        for x, y in batches[:-1]:
            F.mse_loss(ddp(x), y).backward()
    x, y = batches[-1]
    F.mse_loss(ddp(x), y).backward()


# %% wrong="never synchronises" breaks="*of all ranks*" says=["the ranks sent nothing"]
def no_sync(ddp, batches):
    with ddp.no_sync():
        for x, y in batches:
            (F.mse_loss(ddp(x), y) / len(batches)).backward()


# %% wrong="synchronises each time" breaks="The ranks send as much as in *one* backward" says=["3 calls", "expected one all_reduce"]
def no_sync(ddp, batches):
    for x, y in batches:
        (F.mse_loss(ddp(x), y) / len(batches)).backward()


# %% wrong="takes a step" breaks="weights, modes" says=["only .grad may change, no step is made"]
def no_sync(ddp, batches):
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    for number, (x, y) in enumerate(batches):
        with nullcontext() if number == len(batches) - 1 else ddp.no_sync():
            (F.mse_loss(ddp(x), y) / len(batches)).backward()
    optimizer.step()


# %% right="by the switch behind no_sync"
def no_sync(ddp, batches):
    *early, last = batches
    ddp.require_backward_grad_sync = False
    for x, y in early:
        F.mse_loss(ddp(x), y).div(len(batches)).backward()
    ddp.require_backward_grad_sync = True
    F.mse_loss(ddp(last[0]), last[1]).div(len(batches)).backward()


# %% right="recursive, squares by hand"
def no_sync(ddp, batches, share=None):
    share = share or 1 / len(batches)
    (x, y), rest = batches[0], batches[1:]
    with ddp.no_sync() if rest else nullcontext():
        ((ddp(x) - y) ** 2).mean().mul(share).backward()
    if rest:
        no_sync(ddp, rest, share)


# %% right="one large batch"
def no_sync(ddp, batches):
    x, y = (torch.cat(parts) for parts in zip(*batches))
    F.mse_loss(ddp(x), y).backward()


# %% wrong="zeroes the gradients before each batch" says=["the gradient of the last batch alone"]
def no_sync(ddp, batches):
    for x, y in batches:
        ddp.zero_grad()
        F.mse_loss(ddp(x), y).backward()


# %% right="all forwards first"
def no_sync(ddp, batches):
    losses = []
    with ddp.no_sync():
        for x, y in batches[:-1]:
            losses.append(F.mse_loss(ddp(x), y))
        for loss in losses:
            (loss / len(batches)).backward()
    x, y = batches[-1]
    (F.mse_loss(ddp(x), y) / len(batches)).backward()


# %% wrong="leaves the model in eval" says=["only .grad may change"]
def no_sync(ddp, batches):
    ddp.eval()
    for number, (x, y) in enumerate(batches):
        with nullcontext() if number == len(batches) - 1 else ddp.no_sync():
            (F.mse_loss(ddp(x), y) / len(batches)).backward()


# %% wrong="puts all of the model into training" breaks="(a part of the model is in eval)" says=["only .grad may change"]
def no_sync(ddp, batches):
    ddp.train()
    for number, (x, y) in enumerate(batches):
        with nullcontext() if number == len(batches) - 1 else ddp.no_sync():
            (F.mse_loss(ddp(x), y) / len(batches)).backward()


# %% wrong="takes the last batch out of the caller's list" breaks="the batches and the global random state stay as they are" says=["the list of batches, or a batch in it, was changed"]
def no_sync(ddp, batches):
    share = 1 / len(batches)
    while batches:
        x, y = batches.pop()
        with ddp.no_sync() if batches else nullcontext():
            (F.mse_loss(ddp(x), y) * share).backward()


# %% wrong="trains the frozen parameter as well" breaks="Nothing but the model's `.grad` changes" says=["only .grad may change"]
def no_sync(ddp, batches):
    for p in ddp.parameters():
        p.requires_grad_(True)
    for number, (x, y) in enumerate(batches):
        with nullcontext() if number == len(batches) - 1 else ddp.no_sync():
            (F.mse_loss(ddp(x), y) / len(batches)).backward()


# %% wrong="the sum over samples, divided by their number" breaks="the gradient of `F.mse_loss`" says=["is the mean over all numbers, not over samples alone"]
def no_sync(ddp, batches):
    samples = sum(len(x) for x, _ in batches)
    for number, (x, y) in enumerate(batches, start=1):
        with nullcontext() if number == len(batches) else ddp.no_sync():
            (F.mse_loss(ddp(x), y, reduction="sum") / samples).backward()


# %% wrong="divides by the ranks as well" says=["DDP averages over the ranks already"]
def no_sync(ddp, batches):
    for number, (x, y) in enumerate(batches, start=1):
        with nullcontext() if number == len(batches) else ddp.no_sync():
            (F.mse_loss(ddp(x), y) / len(batches) / dist.get_world_size()).backward()


# %% wrong="synchronises with the first batch" says=["the ranks have different gradients"]
def no_sync(ddp, batches):
    for number, (x, y) in enumerate(batches):
        with nullcontext() if number == 0 else ddp.no_sync():
            (F.mse_loss(ddp(x), y) / len(batches)).backward()


# %% wrong="lets the batches require gradients" says=["a tensor of a batch requires grad now"]
def no_sync(ddp, batches):
    for number, (x, y) in enumerate(batches, start=1):
        with nullcontext() if number == len(batches) else ddp.no_sync():
            (F.mse_loss(ddp(x.requires_grad_()), y) / len(batches)).backward()


# %% wrong="leaves the switch off" breaks="The next ordinary forward and backward must synchronise again" says=["no longer synchronises"]
def no_sync(ddp, batches):
    for number, (x, y) in enumerate(batches, start=1):
        ddp.require_backward_grad_sync = number == len(batches)
        (F.mse_loss(ddp(x), y) / len(batches)).backward()
    ddp.require_backward_grad_sync = False


# %% wrong="seeds the random numbers" breaks="global random state" says=["the global random state was changed"]
def no_sync(ddp, batches):
    torch.manual_seed(0)
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if i < len(batches) - 1 else nullcontext():
            (F.mse_loss(ddp(x), y) / len(batches)).backward()


# %% wrong="all-reduces by hand, and doesn't divide" says=["2 times too large: the sum over the ranks, not their mean"]
def no_sync(ddp, batches):
    for x, y in batches:
        (F.mse_loss(ddp.module(x), y) / len(batches)).backward()
    params = [p for p in ddp.parameters() if p.grad is not None]
    flat = torch.cat([p.grad.flatten() for p in params])
    dist.all_reduce(flat)
    for p, part in zip(params, flat.split([p.numel() for p in params])):
        p.grad = part.view_as(p)


# %% wrong="clips the gradient" says=["in every number"]
def no_sync(ddp, batches):
    for i, (x, y) in enumerate(batches):
        with nullcontext() if i == len(batches) - 1 else ddp.no_sync():
            (F.mse_loss(ddp(x), y) / len(batches)).backward()
    torch.nn.utils.clip_grad_norm_(ddp.parameters(), 1e-2)


# %% right="early batches by the inner model"
def no_sync(ddp, batches):
    n = len(batches)
    for i, (x, y) in enumerate(batches):
        model = ddp if i == n - 1 else ddp.module
        ((model(x) - y).square().mean() / n).backward()


# %% right="one backward over all losses"
def no_sync(ddp, batches):
    with ddp.no_sync():
        early = sum((F.mse_loss(ddp(x), y) for x, y in batches[:-1]), torch.zeros(()))
    x, y = batches[-1]
    ((early + F.mse_loss(ddp(x), y)) / len(batches)).backward()


# %% wrong="divides all losses but the last" says=["the last batch's loss was not divided by 3"]
def no_sync(ddp, batches):
    with ddp.no_sync():
        for x, y in batches[:-1]:
            (F.mse_loss(ddp(x), y) / len(batches)).backward()
    x, y = batches[-1]
    F.mse_loss(ddp(x), y).backward()


# %% wrong="the sum of the squares" says=["is their mean, not their sum"]
def no_sync(ddp, batches):
    for number, (x, y) in enumerate(batches):
        last = number == len(batches) - 1
        with nullcontext() if last else ddp.no_sync():
            (F.mse_loss(ddp(x), y, reduction="sum") / len(batches)).backward()


# %% wrong="leaves a communication hook" says=["in an ordinary step after it, .grad is no longer the average"]
def no_sync(ddp, batches):
    def mean(state, bucket):
        total = dist.all_reduce(bucket.buffer().div_(dist.get_world_size()), async_op=True)
        return total.get_future().then(lambda done: done.value()[0] / len(batches))

    ddp.register_comm_hook(None, mean)
    for number, (x, y) in enumerate(batches):
        last = number == len(batches) - 1
        with nullcontext() if last else ddp.no_sync():
            loss = F.mse_loss(ddp(x), y)
            loss.backward()


# %% wrong="switches DDP off and sends by hand" says=["after it an ordinary backward no longer synchronises"]
def no_sync(ddp, batches):
    ddp.require_backward_grad_sync = False
    for x, y in batches:
        with nullcontext():
            loss = F.mse_loss(ddp(x), y) / len(batches)
            loss.backward()
    held = [p for p in ddp.parameters() if p.grad is not None]
    flat = torch.cat([p.grad.flatten() for p in held]) / dist.get_world_size()
    dist.all_reduce(flat)
    for p, g in zip(held, flat.split([p.numel() for p in held])):
        p.grad = g.view(p.shape).clone()


# %% wrong="zeros for a frozen parameter" says=["a frozen parameter has a .grad now"]
def no_sync(ddp: DDP, batches: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if i < len(batches) - 1 else nullcontext():
            loss = F.mse_loss(ddp(x), y) / len(batches)
            loss.backward()
    for p in ddp.parameters():
        if p.grad is None:
            p.grad = torch.zeros_like(p)


# %% wrong="rounds the gradient to float32" breaks="the gradient of `F.mse_loss`" says=["right to seven digits only"]
def no_sync(ddp: DDP, batches: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if i < len(batches) - 1 else nullcontext():
            loss = F.mse_loss(ddp(x), y) / len(batches)
            loss.backward()
    for p in ddp.parameters():
        if p.grad is not None:
            p.grad = p.grad.float().to(p.dtype)


# %% wrong="another default dtype stays" breaks="Nothing but the model's `.grad` changes" says=["the default dtype"]
def no_sync(ddp: DDP, batches: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float64)
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if i < len(batches) - 1 else nullcontext():
            loss = F.mse_loss(ddp(x), y) / len(batches)
            loss.backward()


# %% wrong="thaws everything" says=["41 numbers have a .grad, expected 37", "was something frozen or thawed?"]
def no_sync(ddp, batches):
    for p in ddp.parameters():
        p.requires_grad_(True)
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if i < len(batches) - 1 else nullcontext():
            (F.mse_loss(ddp(x), y) / len(batches)).backward()


# %% wrong="the last batch has a smaller share" breaks="averaged over all batches" says=["added up with the factors 0.5, 0.5, 0.333: each counts alike"]
def no_sync(ddp, batches):
    *others, (x, y) = batches
    with torch.random.fork_rng():
        with ddp.no_sync():
            for a, b in others:
                (F.mse_loss(ddp(a), b) / len(others)).backward()
        (F.mse_loss(ddp(x), y) / len(batches)).backward()


# %% wrong="knows the last batch by identity" breaks="the same batch may be in it twice" says=["where the list holds the same batch twice: all_reduce, all_reduce, expected one"]
def no_sync(ddp: DDP, batches: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    for batch in batches:
        x, y = batch
        with nullcontext() if batch is batches[-1] else ddp.no_sync():
            (F.mse_loss(ddp(x), y) / len(batches)).backward()


# %% wrong="takes each batch once" breaks="the same batch may be in it twice" says=["the same batch twice, .grad is not the average"]
def no_sync(ddp: DDP, batches: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    *others, last = {id(batch): batch for batch in batches}.values()
    with ddp.no_sync():
        for x, y in others:
            (F.mse_loss(ddp(x), y) / len(batches)).backward()
    (F.mse_loss(ddp(last[0]), last[1]) / len(batches)).backward()
