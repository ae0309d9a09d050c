# %% wrong="keeps the live state dict" says=["the last epoch's; state_dict() hands out the live tensors"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept = float("inf"), 0, 0, None
    for number in range(1, most + 1):
        loss = epoch()
        if loss < best - min_delta:
            best, best_epoch, bad, kept = loss, number, 0, model.state_dict()
        else:
            bad += 1
        if bad >= patience:
            break
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="a shallow copy of the dict" says=["state_dict() hands out the live tensors"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept = float("inf"), 0, 0, None
    for number in range(1, most + 1):
        loss = epoch()
        if loss < best - min_delta:
            best, best_epoch, bad, kept = loss, number, 0, dict(model.state_dict())
        else:
            bad += 1
        if bad >= patience:
            break
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="compares with the epoch before" says=["slow progress adds up", "how often epoch() was called: expected"]
def early_stopping(model, epoch, patience, min_delta, most):
    last, best_epoch, bad, kept = float("inf"), 0, 0, None
    for number in range(1, most + 1):
        loss = epoch()
        if loss < last - min_delta:
            best_epoch, bad, kept = number, 0, copy.deepcopy(model.state_dict())
        else:
            bad += 1
        last = loss
        if bad >= patience:
            break
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="one epoch too many" says=["epoch() was called"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept = float("inf"), 0, 0, None
    for number in range(1, most + 1):
        loss = epoch()
        if loss < best - min_delta:
            best, best_epoch, bad, kept = loss, number, 0, copy.deepcopy(model.state_dict())
        else:
            bad += 1
        if bad > patience:
            break
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="restores parameters only" says=["the model's buffers", "are not those of epoch"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept = float("inf"), 0, 0, None
    for number in range(1, most + 1):
        loss = epoch()
        if loss < best - min_delta:
            best, best_epoch, bad = loss, number, 0
            kept = [p.detach().clone() for p in model.parameters()]
        else:
            bad += 1
        if bad >= patience:
            break
    if kept is not None:
        with torch.no_grad():
            for p, value in zip(model.parameters(), kept):
                p.copy_(value)
    return best_epoch, number


# %% wrong="a first NaN is the best for ever" says=["NaN first, NaN between"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept = None, 0, 0, None
    for number in range(1, most + 1):
        loss = epoch()
        if best is None or loss < best - min_delta:
            best, best_epoch, bad, kept = loss, number, 0, copy.deepcopy(model.state_dict())
        else:
            bad += 1
        if bad >= patience:
            break
    model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="counts from 0" says=["(best epoch, epochs run)"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept = float("inf"), 0, 0, None
    for number in range(most):
        loss = epoch()
        if loss < best - min_delta:
            best, best_epoch, bad, kept = loss, number, 0, copy.deepcopy(model.state_dict())
        else:
            bad += 1
        if bad >= patience:
            break
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number + 1


# %% wrong="new parameter objects" says=["the parameter is another object"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept = float("inf"), 0, 0, None
    for number in range(1, most + 1):
        loss = epoch()
        if loss < best - min_delta:
            best, best_epoch, bad, kept = loss, number, 0, copy.deepcopy(model)
        else:
            bad += 1
        if bad >= patience:
            break
    if kept is not None:
        model.__dict__.update(kept.__dict__)
    return best_epoch, number


# %% right="a list of all losses, clones, copied in place"
def early_stopping(model, epoch, patience, min_delta, most):
    improved, losses, copies = [], [], {}
    best = float("inf")
    while len(losses) < most:
        losses.append(epoch())
        if best - losses[-1] > min_delta:
            best = losses[-1]
            improved.append(len(losses))
            copies = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        if len(losses) - (improved[-1] if improved else 0) >= patience:
            break
    state = model.state_dict()
    with torch.no_grad():
        for name, value in copies.items():
            state[name].copy_(value)
    return [improved[-1] if improved else 0, len(losses)]


# %% right="saved to a buffer"
import io  # noqa: E402


def early_stopping(model, epoch, patience, min_delta, most):
    threshold, waited, best, done = None, 0, 0, 0
    buffer = None
    for done in range(1, most + 1):
        loss = epoch()
        nan = loss != loss
        if not nan and (threshold is None or loss < threshold):
            threshold, waited, best = loss - min_delta, 0, done
            buffer = io.BytesIO()
            torch.save(model.state_dict(), buffer)
        else:
            waited += 1
            if waited == patience:
                break
    if buffer is not None:
        buffer.seek(0)
        model.load_state_dict(torch.load(buffer))
    return (best, done)


# %% wrong="keeps parameters, no buffers" says=["only the parameters were kept, keep the buffers too"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, where, bad, kept, n = float("inf"), 0, 0, None, 0
    while n < most and bad < patience:
        n += 1
        loss = epoch()
        if loss < best - min_delta:
            best, bad, where = loss, 0, n
            kept = [p.detach().clone() for p in model.parameters()]
        else:
            bad += 1
    if kept:
        with torch.no_grad():
            for p, k in zip(model.parameters(), kept):
                p.copy_(k)
    return where, n


# %% wrong="NaN slips through a turned comparison" says=["NaN first", "after the run should have stopped"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, where, bad, kept, n = float("inf"), 0, 0, None, 0
    for n in range(1, most + 1):
        loss = epoch()
        if loss >= best - min_delta:
            bad += 1
            if bad >= patience:
                break
        else:
            best, bad, where, kept = loss, 0, n, copy.deepcopy(model.state_dict())
    if kept:
        model.load_state_dict(kept)
    return where, n


# %% right="a deep copy of the model, copied back tensor by tensor"
def early_stopping(model, epoch, patience, min_delta, most):
    from itertools import chain

    def walk(best, twin, where, bad, n):
        if n == most or bad == patience:
            return twin, where, n
        loss = epoch()
        if loss < best - min_delta:
            return walk(loss, copy.deepcopy(model), n + 1, 0, n + 1)
        return walk(best, twin, where, bad + 1, n + 1)

    twin, where, n = walk(float("inf"), None, 0, 0, 0)
    if twin is not None:
        for mine, theirs in zip(
            chain(model.parameters(), model.buffers()), chain(twin.parameters(), twin.buffers())
        ):
            mine.data.copy_(theirs.data)
    return [where, n][0], n
