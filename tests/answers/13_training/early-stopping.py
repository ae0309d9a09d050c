# %% [markdown]
# Rules:
#
# - "until `patience` epochs in a row brought no improvement"
# - "or `most` epochs are done"
# - "An improvement is a loss below `best - min_delta`"
# - "`best` is the loss of the last improvement"
# - "and infinity before the first"
# - "A loss of NaN or +infinity is never an improvement"
# - "the weights **and buffers**"
# - "it had after the best epoch"
# - "in the same parameter objects"
# - "each of its own dtype"
# - "bfloat16 too"
# - "Without any improvement it stays as it is"
# - "each epoch begins with what the one before it left"
# - "gradients are on"
# - "Modes, `requires_grad` and `.grad` are the business of `epoch()`"
# - "counted from 1 (0 if there was none)"
# - "how many were run"
#
# Admits:
#
# - "`most` epochs are done": most reached before patience
# - "A loss of NaN": NaN first, NaN between
# - "+infinity": infinity first
# - "Without any improvement": nothing but NaN
# - "and infinity before the first": losses above 1e12: best begins at infinity

# %% wrong="keeps the live state dict" breaks="it had after the best epoch" says=["the last epoch's; load the best ones at the end, and from a copy"]
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


# %% wrong="a shallow copy of the dict" says=["what state_dict() hands out are the live tensors"]
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


# %% wrong="compares with the epoch before" breaks="`best` is the loss of the last improvement" says=["slow progress adds up", "compared with the epoch before, not with the last improvement"]
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


# %% wrong="one epoch too many" says=["one epoch too many: stop when patience epochs"]
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


# %% wrong="counts from 0" breaks="counted from 1 (0 if there was none)" says=["the best epoch is counted from 0"]
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


# %% wrong="new parameter objects" breaks="in the same parameter objects" says=["the parameter is another object"]
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
        fits = loss - loss == 0  # false for NaN and for infinity
        if fits and (threshold is None or loss < threshold):
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


# %% wrong="keeps parameters, no buffers" breaks="the weights **and buffers**" says=["only the parameters were kept, keep the buffers too"]
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


# %% wrong="puts the best back after every bad epoch" breaks="each epoch begins with what the one before it left" says=["epoch 4 began with the values of epoch 2: put the best back once, at the end"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept, n = float("inf"), 0, 0, None, 0
    while n < most and bad < patience:
        n += 1
        loss = epoch()
        if loss < best - min_delta:
            best, bad, best_epoch = loss, 0, n
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
            if kept is not None:
                model.load_state_dict(kept)
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, n


# %% wrong="calls epoch() under no_grad" breaks="gradients are on" says=["gradients were off when epoch() was called"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept, n = float("inf"), 0, 0, None, 0
    while n < most and bad < patience:
        n += 1
        with torch.no_grad():
            loss = epoch()
        if loss < best - min_delta:
            best, bad, best_epoch = loss, 0, n
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, n


# %% wrong="the first loss counts, whatever it is" breaks="A loss of NaN or +infinity is never an improvement" says=["infinity twice", "after the run should have stopped"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept, n = float("inf"), 0, 0, None, 0
    while n < most and bad < patience:
        n += 1
        loss = epoch()
        if loss < best - min_delta or (n == 1 and loss == loss):
            best, bad, best_epoch = loss, 0, n
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, n


# %% wrong="best follows each lower loss" says=["best moves with each lower loss", "slow progress adds up"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept, n = float("inf"), 0, 0, None, 0
    while n < most and bad < patience:
        n += 1
        loss = epoch()
        if loss < best - min_delta:
            best, bad, best_epoch = loss, 0, n
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
            best = min(best, loss)
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, n


# %% wrong="a tie counts" breaks="An improvement is a loss below `best - min_delta`" says=["a loss that equals best - min_delta is no improvement"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept, n = float("inf"), 0, 0, None, 0
    while n < most and bad < patience:
        n += 1
        loss = epoch()
        if loss <= best - min_delta:
            best, bad, best_epoch = loss, 0, n
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, n


# %% wrong="bad epochs counted in total" breaks="until `patience` epochs in a row brought no improvement" says=["counted in total, not in a row"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept, n = float("inf"), 0, 0, None, 0
    while n < most and bad < patience:
        n += 1
        loss = epoch()
        if loss < best - min_delta:
            best, best_epoch = loss, n
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, n


# %% wrong="min_delta forgotten" says=["min_delta is not used"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept, n = float("inf"), 0, 0, None, 0
    while n < most and bad < patience:
        n += 1
        loss = epoch()
        if loss < best:
            best, bad, best_epoch = loss, 0, n
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, n


# %% wrong="never loads what it kept" says=["load the best ones at the end"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, n = float("inf"), 0, 0, 0
    while n < most and bad < patience:
        n += 1
        loss = epoch()
        if loss < best - min_delta:
            best, bad, best_epoch = loss, 0, n
        else:
            bad += 1
    return best_epoch, n


# %% wrong="keeps copies in half" says=["lost digits: what dtype were they kept in?"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, number, kept = float("inf"), 0, 0, 0, None
    while number < most and bad < patience:
        loss = epoch()
        number += 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, number, 0
            kept = {
                name: value.half() if value.is_floating_point() else value.clone()
                for name, value in model.state_dict().items()
            }
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="leaves the model in eval" breaks="Modes, `requires_grad` and `.grad` are the business of `epoch()`" says=["a mode (train or eval) was changed"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, number, kept = float("inf"), 0, 0, 0, None
    while number < most and bad < patience:
        loss = epoch()
        number += 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, number, 0
            kept = {name: value.clone() for name, value in model.state_dict().items()}
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    model.eval()
    return best_epoch, number


# %% wrong="sets all to training before an epoch" says=["a mode (train or eval) was changed"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, number, kept = float("inf"), 0, 0, 0, None
    while number < most and bad < patience:
        model.train()
        loss = epoch()
        number += 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, number, 0
            kept = {name: value.clone() for name, value in model.state_dict().items()}
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="forgets the gradients at the end" says=["the gradient was changed"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, number, kept = float("inf"), 0, 0, 0, None
    while number < most and bad < patience:
        loss = epoch()
        number += 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, number, 0
            kept = {name: value.clone() for name, value in model.state_dict().items()}
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    model.zero_grad()
    return best_epoch, number


# %% wrong="thaws everything at the end" says=["requires_grad was changed"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, number, kept = float("inf"), 0, 0, 0, None
    while number < most and bad < patience:
        loss = epoch()
        number += 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, number, 0
            kept = {name: value.clone() for name, value in model.state_dict().items()}
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    model.requires_grad_(True)
    return best_epoch, number


# %% wrong="min_delta as a share of the best" says=["losses near 10", "min_delta isn't a share of best"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, number, kept = float("inf"), 0, 0, 0, None
    while number < most and bad < patience:
        loss = epoch()
        number += 1
        if loss < (best - min_delta * best if best < float("inf") else best):
            best, best_epoch, bad = loss, number, 0
            kept = {name: value.clone() for name, value in model.state_dict().items()}
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="keeps what is trained, and the buffers" says=["requires_grad=False was not put back"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept = float("inf"), 0, 0, None
    for number in range(1, most + 1):
        loss = epoch()
        if loss < best - min_delta:
            best, best_epoch, bad = loss, number, 0
            kept = {
                k: v.clone()
                for k, v in [*model.named_parameters(), *model.named_buffers()]
                if v.requires_grad or k in dict(model.named_buffers())
            }
        else:
            bad += 1
            if bad == patience:
                break
    if kept is not None:
        model.load_state_dict({k: v.detach() for k, v in kept.items()}, strict=False)
    return best_epoch, number


# %% right="the distance from the last improvement, copies under no_grad"
def early_stopping(model, epoch, patience, min_delta, most):
    record = [float("inf"), 0]
    snapshot = {}
    number = 0
    while number < most and number - record[1] < patience:
        number += 1
        value = epoch()
        if value < float("inf") and value < record[0] - min_delta:
            record = [value, number]
            snapshot = {
                name: tensor.detach().clone() for name, tensor in model.state_dict().items()
            }
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if name in snapshot:
                tensor.copy_(snapshot[name])
    return record[1], number


# %% wrong="keeps the state before the epoch" says=["are not those of epoch 2"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, at, bad, kept = float("inf"), 0, 0, None
    for n in range(1, most + 1):
        before = copy.deepcopy(model.state_dict())
        loss = epoch()
        if loss < best - min_delta:
            best, at, bad, kept = loss, n, 0, before
        else:
            bad += 1
            if bad == patience:
                break
    if kept:
        model.load_state_dict(kept)
    return at, n


# %% wrong="runs on behind most" breaks="or `most` epochs are done" says=["the best is the last, all epochs done: epoch() was called after the run should have stopped"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, kept, bad = float("inf"), 0, None, 0
    for number in range(1, most + patience + 1):
        loss = epoch()
        if loss < best - min_delta and loss < float("inf"):
            best, best_epoch, bad = loss, number, 0
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
        if bad >= patience:
            break
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="ten before the first" breaks="and infinity before the first" says=["losses above 1e12: best begins at infinity: how often epoch() was called: expected 4, got 2"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, kept, bad = 10.0, 0, None, 0
    for number in range(1, most + 1):
        loss = epoch()
        if loss < best - min_delta and loss < float("inf"):
            best, best_epoch, bad = loss, number, 0
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
        if bad >= patience:
            break
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="without any improvement, the weights of the beginning" breaks="Without any improvement it stays as it is" says=["without any improvement the model stays as it is"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad = float("inf"), 0, 0
    kept = copy.deepcopy(model.state_dict())
    for number in range(1, most + 1):
        loss = epoch()
        if loss < best - min_delta and loss < float("inf"):
            best, best_epoch, bad = loss, number, 0
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
        if bad >= patience:
            break
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="says how many there might be" breaks="how many were run" says=["(best epoch, epochs run): expected (2, 4), got (2, 99)"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, kept, bad = float("inf"), 0, None, 0
    for number in range(1, most + 1):
        loss = epoch()
        if loss < best - min_delta and loss < float("inf"):
            best, best_epoch, bad = loss, number, 0
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
        if bad >= patience:
            break
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, most


# %% wrong="kept in float32, the counter too" says=["lost digits: what dtype were they kept in?"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, kept, bad = float("inf"), 0, None, 0
    for number in range(1, most + 1):
        loss = epoch()
        if loss < best - min_delta and loss < float("inf"):
            best, best_epoch, bad = loss, number, 0
            kept = {n: v.float().clone() for n, v in model.state_dict().items()}
        else:
            bad += 1
        if bad >= patience:
            break
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="ends an epoch before most" says=["one epoch too few where patience doesn't end it"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, number, bad, kept = float("inf"), 0, 0, 0, None
    while number < most - 1 and bad < patience:
        loss, number, bad = epoch(), number + 1, bad + 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, number, 0
            kept = copy.deepcopy(model.state_dict())
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="the first epoch is the best where none was" says=["without any improvement the best epoch is 0, not 1"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, number, bad, kept = float("inf"), 1, 0, 0, None
    while number < most and bad < patience:
        loss, number, bad = epoch(), number + 1, bad + 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, number, 0
            kept = copy.deepcopy(model.state_dict())
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="clears hooks at the end" says=["a hook was changed"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, number, bad, kept = float("inf"), 0, 0, 0, None
    while number < most and bad < patience:
        loss, number, bad = epoch(), number + 1, bad + 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, number, 0
            kept = copy.deepcopy(model.state_dict())
    if kept is not None:
        model.load_state_dict(kept)
    model._forward_hooks.clear()
    return best_epoch, number


# %% wrong="order of the pair" says=["the two have changed places"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, kept, bad, done = float("inf"), 0, None, 0, 0
    while done < most and bad < patience:
        loss = epoch()
        done += 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, done, 0
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    return done, best_epoch


# %% wrong="best of all losses, not of improvements" says=["that is the epoch of the lowest loss"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, kept, bad, done = float("inf"), 0, None, 0, 0
    losses = []
    while done < most and bad < patience:
        loss = epoch()
        done += 1
        losses.append(loss if loss == loss else float("inf"))
        if loss < best - min_delta:
            best, best_epoch, bad = loss, done, 0
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
    if done:
        best_epoch = 1 + losses.index(min(losses)) if best_epoch else 0
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, done


# %% wrong="first epoch always best" says=["the first epoch counts as an improvement, whatever its loss"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, kept, bad, done = float("inf"), 0, None, 0, 0
    while done < most and bad < patience:
        loss = epoch()
        done += 1
        if done == 1 or loss < best - min_delta:
            best, best_epoch, bad = loss, done, 0
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, done


# %% wrong="NaN ends at once" says=["NaN ends the run"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, kept, bad, done = float("inf"), 0, None, 0, 0
    while done < most and bad < patience:
        loss = epoch()
        done += 1
        if loss != loss:
            break
        if loss < best - min_delta:
            best, best_epoch, bad = loss, done, 0
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, done


# %% wrong="copies tensors that it holds from before the first epoch" says=["epoch() may put a new tensor in a buffer's place"]
def early_stopping(model, epoch, patience, min_delta, most):
    own = model.state_dict()
    best, best_epoch, kept, bad, number = float("inf"), 0, None, 0, 0
    while number < most and bad < patience:
        loss = epoch()
        number += 1
        if loss < best - min_delta:
            best, best_epoch, kept, bad = loss, number, copy.deepcopy(own), 0
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="a best loss of 0 is taken for none" says=["a best loss of 0 is taken for none"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, kept, bad, number = None, 0, None, 0, 0
    while number < most and bad < patience:
        loss = epoch()
        number += 1
        if loss < (best or float("inf")) - min_delta:
            best, best_epoch, kept, bad = loss, number, copy.deepcopy(model.state_dict()), 0
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="gradients only where the model is in training mode" says=["gradients were off when epoch() was called"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, kept, bad, number = float("inf"), 0, None, 0, 0
    while number < most and bad < patience:
        with torch.set_grad_enabled(model.training):
            loss = epoch()
        number += 1
        if loss < best - min_delta:
            best, best_epoch, kept, bad = loss, number, copy.deepcopy(model.state_dict()), 0
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="rounds the loss" says=["neither rounded nor in float32"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept = float("inf"), 0, 0, None
    for number in range(1, most + 1):
        loss = round(epoch(), 4)
        if loss < best - min_delta:
            best, best_epoch, bad = loss, number, 0
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
        if bad == patience:
            break
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, number


# %% wrong="two epochs at least" says=["a single epoch, most = 1"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, kept, bad, done = float("inf"), 0, None, 0, 0
    while done < max(most, 2) and bad < patience:
        loss = epoch()
        done += 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, done, 0
            kept = copy.deepcopy(model.state_dict())
        else:
            bad += 1
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, done


# %% wrong="one vector of all weights" breaks="each of its own dtype" says=["a parameter of float32 is of float64 now"]
def early_stopping(model, epoch, patience, min_delta, most):
    vectors = nn.utils.parameters_to_vector, nn.utils.vector_to_parameters
    best, best_epoch, bad, kept, done = float("inf"), 0, 0, None, 0
    while done < most and bad < patience:
        loss = epoch()
        done += 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, done, 0
            buffers = {name: value.clone() for name, value in model.named_buffers()}
            kept = vectors[0](model.parameters()).detach().clone(), buffers
        else:
            bad += 1
    if kept is not None:
        vectors[1](kept[0], model.parameters())
        for name, value in model.named_buffers():
            value.copy_(kept[1][name])
    return best_epoch, done


# %% wrong="all weights in float64 at the end" says=["a parameter of float32 is of float64 now"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept, done = float("inf"), 0, 0, None, 0
    while done < most and bad < patience:
        loss = epoch()
        done, bad = done + 1, bad + 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, done, 0
            kept = {name: value.double().clone() for name, value in model.state_dict().items()}
    if kept is not None:
        model.double().load_state_dict(kept)
    return best_epoch, done


# %% right="the difference, compared with min_delta"
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept = float("inf"), 0, 0, None
    for done in range(1, most + 1):
        loss = epoch()
        if best - loss > min_delta:
            best, best_epoch, bad, kept = loss, done, 0, copy.deepcopy(model.state_dict())
        else:
            bad += 1
        if bad >= patience:
            break
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, done


# %% wrong="copies back into tensors of the beginning" says=["epoch() may put a new tensor in a buffer's place", "and at the end"]
def early_stopping(model, epoch, patience, min_delta, most):
    live = model.state_dict()
    best, best_epoch, bad, kept, done = float("inf"), 0, 0, None, 0
    while done < most and bad < patience:
        loss = epoch()
        done, bad = done + 1, bad + 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, done, 0
            kept = copy.deepcopy(model.state_dict())
    for name, value in (kept or {}).items():
        live[name].copy_(value)
    return best_epoch, done


# %% wrong="puts the first module back alone" says=["the parameter of float32 was not put back with the others"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept, done = float("inf"), 0, 0, None, 0
    while done < most and bad < patience:
        loss = epoch()
        done, bad = done + 1, bad + 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, done, 0
            kept = copy.deepcopy(model[0].state_dict())
    if kept is not None:
        model[0].load_state_dict(kept)
    return best_epoch, done


# %% wrong="keeps float32 in bfloat16" says=["the parameter of float32 was not put back with the others, or lost digits"]
def early_stopping(model, epoch, patience, min_delta, most):
    half = {torch.float32: torch.bfloat16}
    best, best_epoch, bad, kept, done = float("inf"), 0, 0, None, 0
    while done < most and bad < patience:
        loss = epoch()
        done, bad = done + 1, bad + 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, done, 0
            state = model.state_dict().items()
            kept = {
                key: value.to(half.get(value.dtype, value.dtype), copy=True) for key, value in state
            }
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch, done


# %% wrong="weights and buffers in one vector" breaks="each of its own dtype" says=["num_batches_tracked lost digits", "in one vector all are of one dtype"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept, done = float("inf"), 0, 0, None, 0
    while done < most and bad < patience:
        loss = epoch()
        done, bad = done + 1, bad + 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, done, 0
            kept = torch.cat([value.flatten() for value in model.state_dict().values()])
    if kept is not None:
        values = list(model.state_dict().values())
        parts = kept.split([value.numel() for value in values])
        for value, part in zip(values, parts, strict=True):
            value.copy_(part.view(value.shape))
    return best_epoch, done


# %% wrong="keeps NumPy arrays" breaks="bfloat16 too" says=["a parameter is of bfloat16, which NumPy doesn't know: keep tensors"]
def early_stopping(model, epoch, patience, min_delta, most):
    best, best_epoch, bad, kept, done = float("inf"), 0, 0, {}, 0
    while done < most and bad < patience:
        loss = epoch()
        done, bad = done + 1, bad + 1
        if loss < best - min_delta:
            best, best_epoch, bad = loss, done, 0
            state = model.state_dict().items()
            kept = {name: value.cpu().numpy().copy() for name, value in state}
    for name, array in kept.items():
        model.state_dict()[name].copy_(torch.from_numpy(array))
    return best_epoch, done
