# %% [markdown]
# Rules:
#
# - "does the same without a single wait inside"
# - "does the same"
# - "perhaps empty"
# - "Some parameters may be frozen"
# - "or not used by the model"
# - "or not held by the optimizer"
# - "old gradients may be there, also of these"
# - "a floating-point tensor (steps,)"
# - "a 0-dim int64 tensor"
# - "`losses` has no graph"
# - "has the dtype of the losses"
# - "(float32 where there are none)"
# - "The weights afterwards are those of `chatty`"
#
# Admits:
#
# - "perhaps empty": no batch
# - "Some parameters may be frozen": frozen, with old gradients
# - "or not used by the model": a layer that isn't used
# - "or not held by the optimizer": a parameter that isn't held
# - "has the dtype of the losses": float64
# - "does the same": a model in eval mode
# - "(float32 where there are none)": no batch, float64

# %% wrong="the chatty loop itself" breaks="a floating-point tensor (steps,)" says=["losses is of type list, expected a tensor"]
def hidden_syncs(model, optimizer, batches):
    return chatty(model, optimizer, batches)


# %% wrong="the chatty loop, wrapped" breaks="does the same without a single wait inside" says=["the host waited for the device: item"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = chatty(model, optimizer, batches)
    return torch.tensor(losses, device=device), torch.tensor(hits, device=device)


# %% wrong="keeps the graph" breaks="`losses` has no graph" says=["keeps the graph of every step alive"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        losses.append(loss)
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="moves the loss to the CPU" says=["the host waited for the device: cpu 3 times"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        losses.append(loss.detach().cpu())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses).to(device) if losses else torch.zeros(0, device=device), hits


# %% wrong="always divides by the norm" says=["whose norm is below 1 is left as it is"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        for g in grads:
            g.div_(norm)
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="clips each parameter alone" says=["not one for each parameter"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        for g in grads:
            g.mul_((1 / g.norm()).clamp(max=1))
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="does not clip" breaks="The weights afterwards are those of `chatty`" says=["the gradients are not clipped"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="never zeroes gradients" says=["old gradients are still in .grad"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        model.train()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="a Python maximum" says=["the host waited for the device: item"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        for g in grads:
            g.div_(max(norm, 1))
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="the mean of the hits" says=["hits has dtype torch.float"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], torch.zeros((), device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).float().mean()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="fails without batches" breaks="perhaps empty" says=["no batch"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses), hits


# %% wrong="hits is a number" says=["hits is of type int"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        losses.append(loss.detach())
        hits = int((scores.argmax(1) == y).sum())
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="the losses in float32" breaks="has the dtype of the losses" says=["float64: losses has dtype torch.float32"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = (
        torch.zeros(len(batches), device=device),
        torch.zeros((), dtype=torch.int64, device=device),
    )
    n = 0
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        losses[n] = loss.detach()
        n += 1
        hits = hits + (scores.argmax(1) == y).sum()
    return losses, hits


# %% right="the library clips; a mask's sum"
def hidden_syncs(model, optimizer, batches):
    kept, right = [], [torch.zeros((), dtype=torch.int64, device=device)]
    for x, y in batches:
        for p in (p for group in optimizer.param_groups for p in group["params"]):
            p.grad = None
        scores = model(x)
        loss = nn.CrossEntropyLoss()(scores, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        with torch.no_grad():
            kept.append(loss.clone())
            right.append(scores.max(dim=1).indices.eq(y).sum())
    empty = torch.empty(0, device=device)
    return torch.stack(kept) if kept else empty, torch.stack(right).sum()


# %% right="preallocated, with torch.where"
def hidden_syncs(model, optimizer, batches):
    first = next(model.parameters())
    losses = torch.zeros(
        len(batches), device=first.device, dtype=first.dtype if batches else torch.float32
    )
    hits = torch.zeros((), dtype=torch.long, device=first.device)
    for n, (x, y) in enumerate(batches):
        optimizer.zero_grad(set_to_none=True)
        scores = model(x)
        loss = F.nll_loss(scores.log_softmax(1), y)
        loss.backward()
        flat = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        norm = torch.linalg.vector_norm(flat)
        factor = torch.where(norm > 1, norm.reciprocal(), torch.ones_like(norm))
        for p in model.parameters():
            if p.grad is not None:
                p.grad *= factor
        optimizer.step()
        losses[n] = loss.detach()
        hits += torch.count_nonzero(scores.argmax(dim=-1) == y)
    return losses, hits


# %% wrong="clears the model, not what the optimizer holds" breaks="old gradients may be there, also of these" says=["frozen, with old gradients", "an old gradient that the optimizer doesn't hold stays"]
def hidden_syncs(
    model: nn.Module, optimizer: torch.optim.SGD, batches: list
) -> tuple[torch.Tensor, torch.Tensor]:
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        model.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        scale = (1 / norm).clamp(max=1)
        for g in grads:
            g.mul_(scale)
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="the gradients of what isn't frozen" breaks="or not used by the model" says=["an old gradient that the optimizer doesn't hold stays", "a layer that isn't used", "may have no gradient"]
def hidden_syncs(
    model: nn.Module, optimizer: torch.optim.SGD, batches: list
) -> tuple[torch.Tensor, torch.Tensor]:
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.requires_grad]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        scale = (1 / norm).clamp(max=1)
        for g in grads:
            g.mul_(scale)
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="the gradients of the optimizer's parameters" breaks="Some parameters may be frozen" says=["an old gradient that the optimizer doesn't hold stays"]
def hidden_syncs(
    model: nn.Module, optimizer: torch.optim.SGD, batches: list
) -> tuple[torch.Tensor, torch.Tensor]:
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [
            p.grad
            for group in optimizer.param_groups
            for p in group["params"]
            if p.grad is not None
        ]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        scale = (1 / norm).clamp(max=1)
        for g in grads:
            g.mul_(scale)
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="begins by clearing the gradients of the whole model" breaks="or not held by the optimizer" says=["a parameter that isn't held: the weights differ from those of the chatty loop"]
def hidden_syncs(model, optimizer, batches):
    for p in model.parameters():
        if p.requires_grad:
            p.grad = None
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        scale = (1 / torch.stack([g.square().sum() for g in grads]).sum().sqrt()).clamp(max=1)
        for g in grads:
            g.mul_(scale)
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="thaws the model at the end" says=["requires_grad of 2.weight, 2.bias was changed"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        scale = (1 / torch.stack([g.square().sum() for g in grads]).sum().sqrt()).clamp(max=1)
        for g in grads:
            g.mul_(scale)
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    model.requires_grad_()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="puts the model into training mode" says=["the model was put into training mode"]
def hidden_syncs(
    model: nn.Module, optimizer: torch.optim.SGD, batches: list
) -> tuple[torch.Tensor, torch.Tensor]:
    """Train as ``chatty`` does; losses (steps,) and hits () as tensors on the device."""
    model.train()
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        scale = (1 / norm).clamp(max=1)
        for g in grads:
            g.mul_(scale)
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="takes the batches out of the list" says=["batches is the caller's list"]
def hidden_syncs(
    model: nn.Module, optimizer: torch.optim.SGD, batches: list
) -> tuple[torch.Tensor, torch.Tensor]:
    """Train as ``chatty`` does; losses (steps,) and hits () as tensors on the device."""
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    while batches:
        x, y = batches.pop(0)
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        scale = (1 / norm).clamp(max=1)
        for g in grads:
            g.mul_(scale)
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="a vector of hits" breaks="a 0-dim int64 tensor" says=["hits has shape"]
def hidden_syncs(
    model: nn.Module, optimizer: torch.optim.SGD, batches: list
) -> tuple[torch.Tensor, torch.Tensor]:
    """Train as ``chatty`` does; losses (steps,) and hits () as tensors on the device."""
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        scale = (1 / norm).clamp(max=1)
        for g in grads:
            g.mul_(scale)
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits[None]


# %% wrong="no losses, no dtype" breaks="(float32 where there are none)" says=["no batch: losses has dtype"]
def hidden_syncs(
    model: nn.Module, optimizer: torch.optim.SGD, batches: list
) -> tuple[torch.Tensor, torch.Tensor]:
    """Train as ``chatty`` does; losses (steps,) and hits () as tensors on the device."""
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        scale = (1 / norm).clamp(max=1)
        for g in grads:
            g.mul_(scale)
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device, dtype=torch.int64), hits


# %% wrong="compares the scores of a second forward pass, after the step" says=["longer: hits: the scores from before the step are compared"]
def hidden_syncs(model, optimizer, batches):
    losses = []
    place = next((p.device for p in model.parameters()), torch.device("cpu"))
    hits = torch.zeros((), dtype=torch.int64, device=place)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = sum(g.square().sum() for g in grads).sqrt()
        factor = (1 / norm).clamp(max=1)
        for g in grads:
            g.mul_(factor)
        optimizer.step()
        losses.append(loss.detach())
        hits += (model(x).argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=place), hits


# %% wrong="the last batch's hits" says=["hits: those of the last batch alone"]
def hidden_syncs(model, optimizer, batches):
    losses = []
    place = next((p.device for p in model.parameters()), torch.device("cpu"))
    hits = torch.zeros((), dtype=torch.int64, device=place)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = sum(g.square().sum() for g in grads).sqrt()
        factor = (1 / norm).clamp(max=1)
        for g in grads:
            g.mul_(factor)
        optimizer.step()
        losses.append(loss.detach())
        hits = (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=place), hits


# %% wrong="the norm over the optimizer's parameters" says=["a parameter that isn't held", "also where the optimizer doesn't hold a parameter"]
def hidden_syncs(model, optimizer, batches):
    losses = []
    place = next((p.device for p in model.parameters()), torch.device("cpu"))
    hits = torch.zeros((), dtype=torch.int64, device=place)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [
            p.grad
            for group in optimizer.param_groups
            for p in group["params"]
            if p.grad is not None
        ]
        norm = sum(g.square().sum() for g in grads).sqrt()
        factor = (1 / norm).clamp(max=1)
        for g in grads:
            g.mul_(factor)
        optimizer.step()
        losses.append(loss.detach())
        hits += (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=place), hits


# %% wrong="gradients filled with zeros" says=["weight decay moves it"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], None
    place = next(model.parameters()).device
    hits = torch.zeros((), dtype=torch.int64, device=place)
    for x, y in batches:
        optimizer.zero_grad(set_to_none=False)
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        factor = (1 / norm).clamp(max=1)
        for g in grads:
            g.mul_(factor)
        optimizer.step()
        losses.append(loss.detach())
        hits += (scores.argmax(1) == y).sum()
    if not losses:
        return torch.zeros(0, device=place), hits
    return torch.stack(losses), hits


# %% wrong="zero norm gives NaN" says=["the weights afterwards are NaN: where all gradients are 0, so is their norm"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], None
    place = next(model.parameters()).device
    hits = torch.zeros((), dtype=torch.int64, device=place)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        factor = torch.where(norm > 1, 1, norm) / norm
        for g in grads:
            g.mul_(factor)
        optimizer.step()
        losses.append(loss.detach())
        hits += (scores.argmax(1) == y).sum()
    if not losses:
        return torch.zeros(0, device=place), hits
    return torch.stack(losses), hits


# %% wrong="losses after the step" says=["those from after the step"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], None
    place = next(model.parameters()).device
    hits = torch.zeros((), dtype=torch.int64, device=place)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        factor = (1 / norm).clamp(max=1)
        for g in grads:
            g.mul_(factor)
        optimizer.step()
        losses.append(F.cross_entropy(model(x), y).detach())
        hits += (scores.argmax(1) == y).sum()
    if not losses:
        return torch.zeros(0, device=place), hits
    return torch.stack(losses), hits


# %% wrong="no root" says=["the norm is the root of the sum of all squares"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=next(model.parameters()).device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        losses.append(loss.detach())
        hits += (scores.argmax(1) == y).sum()
    return (torch.stack(losses) if losses else torch.zeros(0, device=hits.device)), hits


# %% wrong="half-precision losses widened" says=["bfloat16: losses has dtype torch.float32"]
def hidden_syncs(model, optimizer, batches):
    place = next(model.parameters()).device
    losses = [torch.zeros(0, device=place)]
    hits = torch.zeros((), dtype=torch.int64, device=place)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        wide = torch.promote_types(loss.dtype, torch.float32)
        losses.append(loss.detach().to(wide).reshape(1))
        hits += (scores.argmax(1) == y).sum()
    return torch.cat(losses[1:] or losses), hits


# %% wrong="shared parameters counted twice" says=["a parameter that two layers share counts once"]
def hidden_syncs(
    model: nn.Module, optimizer: torch.optim.SGD, batches: list
) -> tuple[torch.Tensor, torch.Tensor]:
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [
            p.grad
            for part in model.modules()
            for p in part.parameters(recurse=False)
            if p.grad is not None
        ]
        norm = sum(g.square().sum() for g in grads).sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        losses.append(loss.detach())
        hits += (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="a least factor" says=["the factor has no least value"]
def hidden_syncs(
    model: nn.Module, optimizer: torch.optim.SGD, batches: list
) -> tuple[torch.Tensor, torch.Tensor]:
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = sum(g.square().sum() for g in grads).sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(1e-3, 1))
        optimizer.step()
        losses.append(loss.detach())
        hits += (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="a zero gradient for what isn't used" says=["with zeros in its place weight decay moves it"]
def hidden_syncs(
    model: nn.Module, optimizer: torch.optim.SGD, batches: list
) -> tuple[torch.Tensor, torch.Tensor]:
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        for p in model.parameters():
            if p.grad is None and p.requires_grad:
                p.grad = torch.zeros_like(p)
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = sum(g.square().sum() for g in grads).sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        losses.append(loss.detach())
        hits += (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="the first group's learning rate for all" says=["two groups of parameters", "each group of parameters has its own learning rate"]
def hidden_syncs(model, optimizer, batches):
    device = next(model.parameters()).device
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        factor = (1 / norm).clamp(max=1)
        for g in grads:
            g.mul_(factor)
        for group in optimizer.param_groups:
            group["lr"] = optimizer.param_groups[0]["lr"]
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="a second forward pass for the hits" says=["the model runs once in each step"]
def hidden_syncs(model, optimizer, batches):
    device = next(model.parameters()).device
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        factor = (1 / norm).clamp(max=1)
        for g in grads:
            g.mul_(factor)
        hits = hits + (model(x).argmax(1) == y).sum()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="losses in one buffer" says=["called twice: losses: the second call wrote into the first one"]
def hidden_syncs(model, optimizer, batches, kept={}):
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    if not losses:
        return torch.zeros(0, device=device), hits
    losses = torch.stack(losses)
    place = kept.setdefault((losses.shape, losses.dtype), torch.empty_like(losses))
    return place.copy_(losses), hits


# %% wrong="kept by its arguments" says=["called twice: the weights differ from those of the chatty loop: called again, it trains again"]
def hidden_syncs(model, optimizer, batches, kept={}):
    if (model, id(batches)) in kept:
        return kept[model, id(batches)]
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    losses = torch.stack(losses) if losses else torch.zeros(0, device=device)
    kept[model, id(batches)] = losses, hits
    return losses, hits


# %% wrong="no losses, the dtype of the parameters" breaks="(float32 where there are none)" says=["no batch, float64: losses has dtype torch.float64"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    none = next(model.parameters()).new_empty(0).detach()
    return torch.stack(losses) if losses else none, hits


# %% wrong="into training mode and back" breaks="does the same" says=["a model in eval mode: the weights differ from those of the chatty loop: the model was put into training mode", "a norm in eval mode"]
def hidden_syncs(model, optimizer, batches):
    modes = [part.training for part in model.modules()]
    model.train()
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    for part, mode in zip(model.modules(), modes, strict=True):
        part.training = mode
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits


# %% wrong="the mode of the whole model for all of its parts" says=["a norm in eval mode: the model, or a part of it, is in another mode"]
def hidden_syncs(model, optimizer, batches):
    losses, hits = [], torch.zeros((), dtype=torch.int64, device=device)
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
        for g in grads:
            g.mul_((1 / norm).clamp(max=1))
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (scores.argmax(1) == y).sum()
    model.train(model.training)
    return torch.stack(losses) if losses else torch.zeros(0, device=device), hits
