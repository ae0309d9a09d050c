# %% [markdown]
# Rules:
#
# - "Return a list with a dict for each epoch"
# - "`x` of any dtype that the model takes"
# - "the mean **over the samples**"
# - "of the losses that the training steps saw"
# - "over the samples of `val`"
# - "after the epoch's steps"
# - "The loss is cross-entropy"
# - "one step of the optimizer for each training batch"
# - "in order"
# - "from that batch's gradient alone"
# - "as it is"
# - "may have an old `.grad` when `fit` is called"
# - "a frozen one too"
# - "training in training mode"
# - "evaluation in evaluation mode"
# - "without a graph"
# - "each batch of `train` once and then each of `val` once, no more"
# - "batches may be on another device than the model: move them there"
# - "`train` and `val` stay as they are"
# - "and so do the model's hooks"
# - "and what is frozen"
# - "plain Python floats"
# - "not rounded"
# - "which run in each call"
# - "at most the last batch's graph is still alive"
#
# Admits:
#
# - "(whole numbers, for an embedding)": whole numbers, for an embedding
# - "a single sample too": a last batch of one sample
# - "batches may be on another device than the model": batches on another device

# %% wrong="the mean of the batch means" breaks="the mean **over the samples**" says=["this is the mean of the batch means", "expected"]
def fit(model, train, val, optimizer, epochs):
    history = []
    where = next(model.parameters()).device
    for _ in range(epochs):
        model.train()
        losses = []
        for x, y in train:
            x, y = x.to(where), y.to(where)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        tests, hits = [], []
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(where), y.to(where)
                logits = model(x)
                tests.append(F.cross_entropy(logits, y).item())
                hits.append((logits.argmax(1) == y).float().mean().item())
        mean = lambda values: sum(values) / len(values)
        history.append(
            {"train_loss": mean(losses), "val_loss": mean(tests), "val_accuracy": mean(hits)}
        )
    return history


# %% wrong="train() once, before the epochs" breaks="training in training mode" says=["call model.train() in every epoch"]
def fit(model, train, val, optimizer, epochs):
    history = []
    where = next(model.parameters()).device
    model.train()
    for _ in range(epochs):
        total = n = 0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            n += len(y)
        model.eval()
        with torch.no_grad():
            tests = hits = m = 0
            for x, y in val:
                x, y = x.to(where), y.to(where)
                logits = model(x)
                tests += F.cross_entropy(logits, y, reduction="sum").item()
                hits += (logits.argmax(1) == y).sum().item()
                m += len(y)
        history.append({"train_loss": total / n, "val_loss": tests / m, "val_accuracy": hits / m})
    return history


# %% wrong="no eval" breaks="evaluation in evaluation mode" says=["a validation batch ran in training mode"]
def fit(model, train, val, optimizer, epochs):
    history = []
    where = next(model.parameters()).device
    for _ in range(epochs):
        model.train()
        total = n = 0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            n += len(y)
        with torch.no_grad():
            tests = hits = m = 0
            for x, y in val:
                x, y = x.to(where), y.to(where)
                logits = model(x)
                tests += F.cross_entropy(logits, y, reduction="sum").item()
                hits += (logits.argmax(1) == y).sum().item()
                m += len(y)
        history.append({"train_loss": total / n, "val_loss": tests / m, "val_accuracy": hits / m})
    return history


# %% wrong="eval() alone, and sums with graphs" says=["torch.no_grad() is missing", "earlier graphs are alive", "is a Tensor"]
def fit(model, train, val, optimizer, epochs):
    history = []
    where = next(model.parameters()).device
    for _ in range(epochs):
        model.train()
        total = n = 0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss * len(y)
            n += len(y)
        model.eval()
        tests = hits = m = 0
        for x, y in val:
            x, y = x.to(where), y.to(where)
            logits = model(x)
            tests += F.cross_entropy(logits, y, reduction="sum")
            hits += (logits.argmax(1) == y).sum()
            m += len(y)
        history.append({"train_loss": total / n, "val_loss": tests / m, "val_accuracy": hits / m})
    return history


# %% wrong="never forgets a gradient" breaks="from that batch's gradient alone" says=["no gradient is ever forgotten"]
def fit(model, train, val, optimizer, epochs):
    history = []
    where = next(model.parameters()).device
    for _ in range(epochs):
        model.train()
        total = n = 0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            n += len(y)
        model.eval()
        with torch.no_grad():
            tests = hits = m = 0
            for x, y in val:
                x, y = x.to(where), y.to(where)
                logits = model(x)
                tests += F.cross_entropy(logits, y, reduction="sum").item()
                hits += (logits.argmax(1) == y).sum().item()
                m += len(y)
        history.append({"train_loss": total / n, "val_loss": tests / m, "val_accuracy": hits / m})
    return history


# %% wrong="leaves the batches where they are" breaks="batches may be on another device than the model: move them there" says=["move x and y to the model's device"]
def fit(model, train, val, optimizer, epochs):
    history = []
    for _ in range(epochs):
        model.train()
        total = n = 0
        for x, y in train:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            n += len(y)
        model.eval()
        with torch.no_grad():
            tests = hits = m = 0
            for x, y in val:
                logits = model(x)
                tests += F.cross_entropy(logits, y, reduction="sum").item()
                hits += (logits.argmax(1) == y).sum().item()
                m += len(y)
        history.append({"train_loss": total / n, "val_loss": tests / m, "val_accuracy": hits / m})
    return history


# %% wrong="divides a sum of means by the samples, as the old template" breaks="over the samples of `val`" says=["a sum of batch means divided by the number of samples"]
def fit(model, train, val, optimizer, epochs):
    history = []
    where = next(model.parameters()).device
    for _ in range(epochs):
        model.train()
        total = n = 0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            n += len(y)
        model.eval()
        with torch.no_grad():
            tests = hits = m = 0
            for x, y in val:
                x, y = x.to(where), y.to(where)
                logits = model(x)
                tests += F.cross_entropy(logits, y).item()
                hits += (logits.argmax(1) == y).sum().item()
                m += len(y)
        history.append({"train_loss": total / n, "val_loss": tests / m, "val_accuracy": hits / m})
    return history


# %% wrong="squeezes, and so a batch of a single sample has none" says=["a batch of a single sample counts as 3", "squeeze() takes it away"]
def fit(model, train, val, optimizer, epochs):
    place = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        total = val_total = right = 0.0
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x.to(place)), y.to(place))
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        model.eval()
        with torch.no_grad():
            for x, y in val:
                logits, y = model(x.to(place)).squeeze(), y.to(place).squeeze()
                val_total += F.cross_entropy(logits, y).item() * len(logits)
                right += (logits.argmax(-1) == y).sum().item()
        n, m = sum(len(y) for _, y in train), sum(len(y) for _, y in val)
        losses = {"train_loss": total / n, "val_loss": val_total / m}
        history.append(losses | {"val_accuracy": right / m})
    return history


# %% right="lists of sums, inference mode, zero_grad after the step"
def fit(model, train, val, optimizer, epochs):
    where = next(model.parameters()).device

    def evaluate():
        model.eval()
        rows = []
        with torch.inference_mode():
            for x, y in val:
                logits, y = model(x.to(where)), y.to(where)
                loss = F.cross_entropy(logits, y, reduction="sum")
                rows.append(torch.stack([loss, (logits.argmax(1) == y).sum().float()]))
        return (torch.stack(rows).sum(0) / sum(len(y) for _, y in val)).tolist()

    history = []
    optimizer.zero_grad()
    for _ in range(epochs):
        model.train()
        losses = []
        for x, y in train:
            loss = F.cross_entropy(model(x.to(where)), y.to(where))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
            losses.append(loss.detach())
            del loss
        sizes = torch.tensor([len(y) for _, y in train], device=where)
        train_loss = (torch.stack(losses) * sizes).sum() / sizes.sum()
        val_loss, accuracy = evaluate()
        history.append(dict(train_loss=float(train_loss), val_loss=val_loss, val_accuracy=accuracy))
    return history


# %% right="nn.CrossEntropyLoss, log_softmax by hand in evaluation, numpy averages"
import numpy  # noqa: E402


def fit(model, train, val, optimizer, epochs):
    criterion = nn.CrossEntropyLoss()
    where = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        seen = []
        for x, y in train:
            model.train()
            model.zero_grad()
            loss = criterion(model(x.to(where)), y.to(where))
            loss.backward()
            optimizer.step()
            seen.append(float(loss))
        train_loss = numpy.average(seen, weights=[y.shape[0] for _, y in train])
        right = total = count = 0
        for x, y in val:
            model.eval()
            with torch.no_grad():
                scores = model(x.to(where)).log_softmax(-1)
            total -= scores.gather(1, y.to(where)[:, None]).sum().item()
            right += int((scores.argmax(-1) == y.to(where)).sum())
            count += y.numel()
        history.append(
            {
                "train_loss": float(train_loss),
                "val_loss": total / count,
                "val_accuracy": right / count,
            }
        )
    return history


# %% wrong="forgets gradients once an epoch" says=["gradients are forgotten once an epoch"]
def fit(model, train, val, optimizer, epochs):
    where = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        optimizer.zero_grad()
        total = 0.0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        model.eval()
        lost = hits = 0.0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(where), y.to(where)
                z = model(x)
                lost += F.cross_entropy(z, y).item() * len(y)
                hits += (z.argmax(1) == y).sum().item()
        n, m = sum(len(y) for _, y in train), sum(len(y) for _, y in val)
        history.append({"train_loss": total / n, "val_loss": lost / m, "val_accuracy": hits / m})
    return history


# %% wrong="accuracy in percent" says=["val_accuracy is 41.6667", "in percent; a share from 0 to 1"]
def fit(model, train, val, optimizer, epochs):
    where = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        model.eval()
        lost = hits = 0.0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(where), y.to(where)
                z = model(x)
                lost += F.cross_entropy(z, y).item() * len(y)
                hits += (z.argmax(1) == y).sum().item()
        n, m = sum(len(y) for _, y in train), sum(len(y) for _, y in val)
        history.append(
            {"train_loss": total / n, "val_loss": lost / m, "val_accuracy": 100 * hits / m}
        )
    return history


# %% right="one function for both passes, a module for the loss"
def fit(model, train, val, optimizer, epochs):
    criterion = nn.CrossEntropyLoss(reduction="sum")

    def go(batches, learn):
        model.train(learn)
        total, hits, samples = 0.0, 0, 0
        for x, y in batches:
            device_ = next(model.parameters()).device
            x, y = x.to(device=device_), y.to(device=device_)
            with torch.set_grad_enabled(learn):
                logits = model(x)
                loss = criterion(logits, y)
            if learn:
                (loss / y.shape[0]).backward()
                optimizer.step()
                optimizer.zero_grad(set_to_none=False)
            total += float(loss)
            hits += int((logits.detach().argmax(dim=-1) == y).sum())
            samples += y.size(0)
            del logits, loss
        return total / samples, hits / samples

    optimizer.zero_grad()
    out = []
    for _ in range(epochs):
        t, _ = go(train, True)
        v, a = go(val, False)
        out.append({"train_loss": t, "val_loss": v, "val_accuracy": a})
    return out


# %% wrong="zero_grad after the step alone" breaks="may have an old `.grad` when `fit` is called" says=["a gradient that was there before fit was called", "before the first backward()"]
def fit(model, train, val, optimizer, epochs):
    where = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            total += loss.item() * len(y)
        model.eval()
        lost = hits = 0.0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(where), y.to(where)
                z = model(x)
                lost += F.cross_entropy(z, y).item() * len(y)
                hits += (z.argmax(1) == y).sum().item()
        n, m = sum(len(y) for _, y in train), sum(len(y) for _, y in val)
        history.append({"train_loss": total / n, "val_loss": lost / m, "val_accuracy": hits / m})
    return history


# %% wrong="evaluates the training set once more" breaks="of the losses that the training steps saw" says=["the model was evaluated 6 times, expected 3", "without another pass"]
def fit(model, train, val, optimizer, epochs):
    where = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        model.eval()
        with torch.no_grad():
            total = sum(
                F.cross_entropy(model(x.to(where)), y.to(where)).item() * len(y) for x, y in train
            )
        lost = hits = 0.0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(where), y.to(where)
                z = model(x)
                lost += F.cross_entropy(z, y).item() * len(y)
                hits += (z.argmax(1) == y).sum().item()
        n, m = sum(len(y) for _, y in train), sum(len(y) for _, y in val)
        history.append({"train_loss": total / n, "val_loss": lost / m, "val_accuracy": hits / m})
    return history


# %% wrong="evaluates before the first epoch too" breaks="each batch of `train` once and then each of `val` once, no more" says=["once for each batch of val in each epoch"]
def fit(model, train, val, optimizer, epochs):
    where = next(model.parameters()).device
    history = []
    with torch.no_grad():
        for x, _ in val:
            model.eval()(x.to(where))
    for _ in range(epochs):
        model.train()
        total = 0.0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        model.eval()
        lost = hits = 0.0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(where), y.to(where)
                z = model(x)
                lost += F.cross_entropy(z, y).item() * len(y)
                hits += (z.argmax(1) == y).sum().item()
        n, m = sum(len(y) for _, y in train), sum(len(y) for _, y in val)
        history.append({"train_loss": total / n, "val_loss": lost / m, "val_accuracy": hits / m})
    return history


# %% wrong="grad mode stays off" says=["gradients were switched off and not on again"]
def fit(model, train, val, optimizer, epochs):
    where = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        torch.set_grad_enabled(True)
        total = 0.0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        model.eval()
        lost = hits = 0.0
        torch.set_grad_enabled(False)
        for x, y in val:
            x, y = x.to(where), y.to(where)
            z = model(x)
            lost += F.cross_entropy(z, y).item() * len(y)
            hits += (z.argmax(1) == y).sum().item()
        n, m = sum(len(y) for _, y in train), sum(len(y) for _, y in val)
        history.append({"train_loss": total / n, "val_loss": lost / m, "val_accuracy": hits / m})
    return history


# %% wrong="grad mode is never switched on again" says=["gradients were switched off and not on again", "ends with its block"]
def fit(model, train, val, optimizer, epochs):
    where = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        model.eval()
        lost = hits = 0.0
        torch.set_grad_enabled(False)
        for x, y in val:
            x, y = x.to(where), y.to(where)
            z = model(x)
            lost += F.cross_entropy(z, y).item() * len(y)
            hits += (z.argmax(1) == y).sum().item()
        n, m = sum(len(y) for _, y in train), sum(len(y) for _, y in val)
        history.append({"train_loss": total / n, "val_loss": lost / m, "val_accuracy": hits / m})
    return history


# %% wrong="normalises the batches in place" says=["values in the batches were changed"]
def fit(model, train, val, optimizer, epochs):
    where = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            x.mul_(1.0).add_(0.001)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        model.eval()
        lost = hits = 0.0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(where), y.to(where)
                z = model(x)
                lost += F.cross_entropy(z, y).item() * len(y)
                hits += (z.argmax(1) == y).sum().item()
        n, m = sum(len(y) for _, y in train), sum(len(y) for _, y in val)
        history.append({"train_loss": total / n, "val_loss": lost / m, "val_accuracy": hits / m})
    return history


# %% wrong="moves the batches in the caller's list" breaks="`train` and `val` stay as they are" says=["the lists of batches are not what they were"]
def fit(model, train, val, optimizer, epochs):
    where = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        train[:] = [(x.to(where), y.to(where)) for x, y in train]
        for x, y in train:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        model.eval()
        lost = hits = 0.0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(where), y.to(where)
                z = model(x)
                lost += F.cross_entropy(z, y).item() * len(y)
                hits += (z.argmax(1) == y).sum().item()
        n, m = sum(len(y) for _, y in train), sum(len(y) for _, y in val)
        history.append({"train_loss": total / n, "val_loss": lost / m, "val_accuracy": hits / m})
    return history


# %% wrong="squeezes the logits in training" says=["after a batch of one sample it raised", "does squeeze() take the batch's axis away"]
def fit(model, train, val, optimizer, epochs):
    where, history = next(model.parameters()).device, []
    for _ in range(epochs):
        model.train()
        total = count = 0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x).squeeze(), y)
            loss.backward()
            optimizer.step()
            total, count = total + loss.item() * len(y), count + len(y)
        row = {"train_loss": total / count}
        model.eval()
        total = right = count = 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(where), y.to(where)
                logits = model(x)
                total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                count += len(y)
        history.append(row | {"val_loss": total / count, "val_accuracy": right / count})
    return history


# %% wrong="squeezes the logits in evaluation" says=["after a batch of one sample it raised", "does squeeze() take the batch's axis away"]
def fit(model, train, val, optimizer, epochs):
    where, history = next(model.parameters()).device, []
    for _ in range(epochs):
        model.train()
        total = count = 0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total, count = total + loss.item() * len(y), count + len(y)
        row = {"train_loss": total / count}
        model.eval()
        total = right = count = 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(where), y.to(where)
                logits = model(x).squeeze()
                total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                count += len(y)
        history.append(row | {"val_loss": total / count, "val_accuracy": right / count})
    return history


# %% wrong="leaves out a batch of one sample" says=["the model saw a batch of"]
def fit(model, train, val, optimizer, epochs):
    where, history = next(model.parameters()).device, []
    for _ in range(epochs):
        model.train()
        total = count = 0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            if len(y) == 1:
                continue
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total, count = total + loss.item() * len(y), count + len(y)
        row = {"train_loss": total / count}
        model.eval()
        total = right = count = 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(where), y.to(where)
                logits = model(x)
                total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                count += len(y)
        history.append(row | {"val_loss": total / count, "val_accuracy": right / count})
    return history


# %% wrong="thaws what was frozen" says=["a frozen parameter moved: it was thawed"]
def fit(model, train, val, optimizer, epochs):
    where, history = next(model.parameters()).device, []
    model.requires_grad_(True)
    for _ in range(epochs):
        model.train()
        total = count = 0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total, count = total + loss.item() * len(y), count + len(y)
        row = {"train_loss": total / count}
        model.eval()
        total = right = count = 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(where), y.to(where)
                logits = model(x)
                total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                count += len(y)
        history.append(row | {"val_loss": total / count, "val_accuracy": right / count})
    return history


# %% wrong="gradients of what is trained are forgotten" breaks="a frozen one too" says=["a frozen parameter moved"]
def fit(model, train, val, optimizer, epochs):
    place = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total = n = 0
        for x, y in train:
            x, y = x.to(place), y.to(place)
            for p in model.parameters():
                p.grad = None if p.requires_grad else p.grad
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            n += len(y)
        row = {"train_loss": total / n}
        model.eval()
        total = n = right = 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(place), y.to(place)
                logits = model(x)
                total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                n += len(y)
        history.append(row | {"val_loss": total / n, "val_accuracy": right / n})
    return history


# %% wrong="clipped at 10" breaks="as it is" says=["clipped at a norm of 10.0"]
def fit(model, train, val, optimizer, epochs):
    place = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total = n = 0
        for x, y in train:
            x, y = x.to(place), y.to(place)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            optimizer.step()
            total += loss.item() * len(y)
            n += len(y)
        row = {"train_loss": total / n}
        model.eval()
        total = n = right = 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(place), y.to(place)
                logits = model(x)
                total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                n += len(y)
        history.append(row | {"val_loss": total / n, "val_accuracy": right / n})
    return history


# %% wrong="losses rounded" breaks="not rounded" says=["give it with all digits"]
def fit(model, train, val, optimizer, epochs):
    place = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total = n = 0
        for x, y in train:
            x, y = x.to(place), y.to(place)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            n += len(y)
        row = {"train_loss": total / n}
        model.eval()
        total = n = right = 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(place), y.to(place)
                logits = model(x)
                total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                n += len(y)
        history.append(row | {"val_loss": round(total / n, 4), "val_accuracy": right / n})
    return history


# %% wrong="the step's loss is a sum" says=["the step's loss is summed over the batch"]
def fit(model, train, val, optimizer, epochs):
    out = []
    dev = next(model.parameters()).device
    for _ in range(epochs):
        model.train()
        s = n = 0
        for x, y in train:
            x, y = x.to(dev), y.to(dev)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y, reduction="sum")
            loss.backward()
            optimizer.step()
            s, n = s + loss.item(), n + len(y)
        model.eval()
        vs = vr = vn = 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(dev), y.to(dev)
                z = model(x)
                vs += F.cross_entropy(z, y, reduction="sum").item()
                vr += (z.argmax(1) == y).sum().item()
                vn += len(y)
        out.append({"train_loss": s / n, "val_loss": vs / vn, "val_accuracy": vr / vn})
    return out


# %% wrong="softmax before cross_entropy" breaks="The loss is cross-entropy" says=["softmax comes before cross_entropy, which takes logits"]
def fit(model, train, val, optimizer, epochs):
    out = []
    dev = next(model.parameters()).device
    for _ in range(epochs):
        model.train()
        s = n = 0
        for x, y in train:
            x, y = x.to(dev), y.to(dev)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x).softmax(1), y)
            loss.backward()
            optimizer.step()
            s, n = s + loss.item() * len(y), n + len(y)
        model.eval()
        vs = vr = vn = 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(dev), y.to(dev)
                z = model(x)
                vs += F.cross_entropy(z.softmax(1), y).item() * len(y)
                vr += (z.argmax(1) == y).sum().item()
                vn += len(y)
        out.append({"train_loss": s / n, "val_loss": vs / vn, "val_accuracy": vr / vn})
    return out


# %% wrong="smoothed labels" says=["the step's loss has smoothed labels"]
def fit(model, train, val, optimizer, epochs):
    out = []
    dev = next(model.parameters()).device
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    for _ in range(epochs):
        model.train()
        s = n = 0
        for x, y in train:
            x, y = x.to(dev), y.to(dev)
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            s, n = s + loss.item() * len(y), n + len(y)
        model.eval()
        vs = vr = vn = 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(dev), y.to(dev)
                z = model(x)
                vs += criterion(z, y).item() * len(y)
                vr += (z.argmax(1) == y).sum().item()
                vn += len(y)
        out.append({"train_loss": s / n, "val_loss": vs / vn, "val_accuracy": vr / vn})
    return out


# %% wrong="one step an epoch" breaks="one step of the optimizer for each training batch" says=["one step an epoch, from all its gradients"]
def fit(model, train, val, optimizer, epochs):
    out = []
    dev = next(model.parameters()).device
    for _ in range(epochs):
        model.train()
        s = n = 0
        optimizer.zero_grad()
        for x, y in train:
            x, y = x.to(dev), y.to(dev)
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            s, n = s + loss.item() * len(y), n + len(y)
        optimizer.step()
        model.eval()
        vs = vr = vn = 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(dev), y.to(dev)
                z = model(x)
                vs += F.cross_entropy(z, y).item() * len(y)
                vr += (z.argmax(1) == y).sum().item()
                vn += len(y)
        out.append({"train_loss": s / n, "val_loss": vs / vn, "val_accuracy": vr / vn})
    return out


# %% right="generators, log_softmax and nll_loss"
def fit(model, train, val, optimizer, epochs):
    device_of = next(iter(model.state_dict().values())).device

    def batches(part):
        for x, y in part:
            yield x.to(device_of, non_blocking=True), y.to(device_of)

    history = []
    for epoch in range(epochs):
        model.train(True)
        seen = []
        for x, y in batches(train):
            with torch.enable_grad():
                model.zero_grad(set_to_none=True)
                nll = F.nll_loss(F.log_softmax(model(x), dim=-1), y)
                nll.backward()
                optimizer.step()
            seen.append((nll.item(), y.numel()))
            del nll
        model.train(False)
        with torch.inference_mode():
            results = [(model(x).float(), y) for x, y in batches(val)]
            z, y = torch.cat([r[0] for r in results]), torch.cat([r[1] for r in results])
            history.append(
                dict(
                    train_loss=sum(a * b for a, b in seen) / sum(b for _, b in seen),
                    val_loss=float(F.cross_entropy(z, y)),
                    val_accuracy=float((z.argmax(-1) == y).double().mean()),
                )
            )
    return history


# %% wrong="tensors in the history" breaks="plain Python floats" says=["train_loss is a Tensor: return Python floats"]
def fit(model, train, val, optimizer, epochs):
    device = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, seen = 0.0, 0
        for x, y in train:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(y)
            seen += len(y)
        model.eval()
        val_total, right, val_seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(device), y.to(device)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                val_seen += len(y)
        history.append(
            {
                "train_loss": total / seen,
                "val_loss": val_total / val_seen,
                "val_accuracy": right / val_seen,
            }
        )
    return history


# %% wrong="a list of losses with their graphs" breaks="at most the last batch's graph is still alive" says=["earlier graphs are alive"]
def fit(model, train, val, optimizer, epochs):
    device = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        losses, seen = [], 0
        for x, y in train:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss * len(y))
            seen += len(y)
        model.eval()
        val_total, right, val_seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(device), y.to(device)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                val_seen += len(y)
        history.append(
            {
                "train_loss": sum(losses).item() / seen,
                "val_loss": val_total / val_seen,
                "val_accuracy": right / val_seen,
            }
        )
    return history


# %% wrong="the last epoch alone" breaks="Return a list with a dict for each epoch" says=["the number of dicts in the history: expected 3, got 1"]
def fit(model, train, val, optimizer, epochs):
    device = next(model.parameters()).device
    for _ in range(epochs):
        model.train()
        total, seen = 0.0, 0
        for x, y in train:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            seen += len(y)
        model.eval()
        val_total, right, val_seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(device), y.to(device)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                val_seen += len(y)
        history = []
        history.append(
            {
                "train_loss": total / seen,
                "val_loss": val_total / val_seen,
                "val_accuracy": right / val_seen,
            }
        )
    return history


# %% wrong="evaluates before the epoch's steps" breaks="after the epoch's steps" says=["one step for each, in order", "the averages: epoch 1: val_loss is"]
def fit(model, train, val, optimizer, epochs):
    device = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.eval()
        val_total, right, val_seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(device), y.to(device)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                val_seen += len(y)
        model.train()
        total, seen = 0.0, 0
        for x, y in train:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            seen += len(y)
        entry = {"train_loss": total / seen, "val_loss": val_total / val_seen}
        history.append(entry | {"val_accuracy": right / val_seen})
    return history


# %% wrong="the batches shuffled" breaks="in order" says=["the model saw a batch of 2 where the training batch of 6 comes"]
def fit(model, train, val, optimizer, epochs):
    device = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, seen = 0.0, 0
        order = torch.randperm(len(train), generator=torch.Generator().manual_seed(1)).tolist()
        for x, y in [train[k] for k in order]:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            seen += len(y)
        model.eval()
        val_total, right, val_seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(device), y.to(device)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                val_seen += len(y)
        history.append(
            {
                "train_loss": total / seen,
                "val_loss": val_total / val_seen,
                "val_accuracy": right / val_seen,
            }
        )
    return history


# %% wrong="validation records a graph" breaks="without a graph" says=["a validation batch recorded a graph: torch.no_grad() is missing"]
def fit(model, train, val, optimizer, epochs):
    device = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, seen = 0.0, 0
        for x, y in train:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            seen += len(y)
        model.eval()
        val_total, right, val_seen = 0.0, 0, 0
        for x, y in val:
            x, y = x.to(device), y.to(device)
            logits = model(x)
            val_total += F.cross_entropy(logits, y).item() * len(y)
            right += (logits.argmax(1) == y).sum().item()
            val_seen += len(y)
        history.append(
            {
                "train_loss": total / seen,
                "val_loss": val_total / val_seen,
                "val_accuracy": right / val_seen,
            }
        )
    return history


# %% wrong="gradients are filled with zeros, frozen ones too" says=["or one of zeros, by which weight decay moves it"]
def fit(model, train, val, optimizer, epochs):
    device = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, seen = 0.0, 0
        for x, y in train:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad(set_to_none=False)
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            seen += len(y)
        model.eval()
        val_total, right, val_seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(device), y.to(device)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                val_seen += len(y)
        history.append(
            {
                "train_loss": total / seen,
                "val_loss": val_total / val_seen,
                "val_accuracy": right / val_seen,
            }
        )
    return history


# %% wrong="rounded to six digits" says=["give it with all digits"]
def fit(model, train, val, optimizer, epochs):
    device = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, seen = 0.0, 0
        for x, y in train:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            seen += len(y)
        model.eval()
        val_total, right, val_seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(device), y.to(device)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                val_seen += len(y)
        history.append(
            {
                "train_loss": round(total / seen, 6),
                "val_loss": round(val_total / val_seen, 6),
                "val_accuracy": right / val_seen,
            }
        )
    return history


# %% wrong="sums that are never begun anew" says=["this is over all epochs so far: begin each epoch's sums at 0"]
def fit(model, train, val, optimizer, epochs):
    device = next(model.parameters()).device
    history = []
    val_total, right, val_seen = 0.0, 0, 0
    for _ in range(epochs):
        model.train()
        total, seen = 0.0, 0
        for x, y in train:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            seen += len(y)
        model.eval()
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(device), y.to(device)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                val_seen += len(y)
        history.append(
            {
                "train_loss": total / seen,
                "val_loss": val_total / val_seen,
                "val_accuracy": right / val_seen,
            }
        )
    return history


# %% wrong="thaws everything when it is done" breaks="and what is frozen" says=["what is the caller's: requires_grad of"]
def fit(model, train, val, optimizer, epochs):
    where, history = next(model.parameters()).device, []
    for _ in range(epochs):
        entry, total, count = {}, 0.0, 0
        model.train()
        for x, y in train:
            loss = F.cross_entropy(model(x.to(where)), y.to(where))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, count = total + loss.item() * len(y), count + len(y)
        entry["train_loss"], total, count, right = total / count, 0.0, 0, 0
        model.eval()
        with torch.no_grad():
            for x, y in val:
                logits = model(x.to(where))
                total += F.cross_entropy(logits, y.to(where)).item() * len(y)
                right += (logits.argmax(1) == y.to(where)).sum().item()
                count += len(y)
        history.append(entry | {"val_loss": total / count, "val_accuracy": right / count})
    model.requires_grad_(True)
    return history


# %% wrong="leaves its hook" breaks="and so do the model's hooks" says=["what is the caller's: the hooks of"]
def fit(model, train, val, optimizer, epochs):
    where, history = next(model.parameters()).device, []
    model.register_forward_hook(lambda module, given, output: None)
    for _ in range(epochs):
        entry, total, count = {}, 0.0, 0
        model.train()
        for x, y in train:
            loss = F.cross_entropy(model(x.to(where)), y.to(where))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, count = total + loss.item() * len(y), count + len(y)
        entry["train_loss"], total, count, right = total / count, 0.0, 0, 0
        model.eval()
        with torch.no_grad():
            for x, y in val:
                logits = model(x.to(where))
                total += F.cross_entropy(logits, y.to(where)).item() * len(y)
                right += (logits.argmax(1) == y.to(where)).sum().item()
                count += len(y)
        history.append(entry | {"val_loss": total / count, "val_accuracy": right / count})
    return history


# %% wrong="asks for the gradient of its batches" says=["a batch requires a gradient now"]
def fit(model, train, val, optimizer, epochs):
    where, history = next(model.parameters()).device, []
    for _ in range(epochs):
        entry, total, count = {}, 0.0, 0
        model.train()
        for x, y in train:
            x = x.to(where).requires_grad_()
            loss = F.cross_entropy(model(x.to(where)), y.to(where))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, count = total + loss.item() * len(y), count + len(y)
        entry["train_loss"], total, count, right = total / count, 0.0, 0, 0
        model.eval()
        with torch.no_grad():
            for x, y in val:
                logits = model(x.to(where))
                total += F.cross_entropy(logits, y.to(where)).item() * len(y)
                right += (logits.argmax(1) == y.to(where)).sum().item()
                count += len(y)
        history.append(entry | {"val_loss": total / count, "val_accuracy": right / count})
    return history


# %% wrong="asks a buffer where the model is" says=["StopIteration"]
def fit(model, train, val, optimizer, epochs):
    where, history = next(model.buffers()).device, []
    for _ in range(epochs):
        entry, total, count = {}, 0.0, 0
        model.train()
        for x, y in train:
            loss = F.cross_entropy(model(x.to(where)), y.to(where))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, count = total + loss.item() * len(y), count + len(y)
        entry["train_loss"], total, count, right = total / count, 0.0, 0, 0
        model.eval()
        with torch.no_grad():
            for x, y in val:
                logits = model(x.to(where))
                total += F.cross_entropy(logits, y.to(where)).item() * len(y)
                right += (logits.argmax(1) == y.to(where)).sum().item()
                count += len(y)
        history.append(entry | {"val_loss": total / count, "val_accuracy": right / count})
    return history


# %% wrong="the training losses are summed in half precision" breaks="not rounded" says=["rounded, or in half precision?"]
def fit(model, train, val, optimizer, epochs):
    device = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, count = 0.0, 0
        for x, y in train:
            x, y = x.to(device), y.to(device)
            model.zero_grad()
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += (loss.detach().half() * len(y)).item()
            count += len(y)
            del loss
        model.eval()
        vloss, right, seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(device), y.to(device)
                out = model(x)
                vloss += F.cross_entropy(out, y, reduction="sum").item()
                right += (out.argmax(1) == y).sum().item()
                seen += len(y)
        history.append(
            {"train_loss": total / count, "val_loss": vloss / seen, "val_accuracy": right / seen}
        )
    return history


# %% wrong="right answers over the batches" says=["divided by the batches; divide by the samples"]
def fit(model, train, val, optimizer, epochs):
    device = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, count = 0.0, 0
        for x, y in train:
            x, y = x.to(device), y.to(device)
            model.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            count += len(y)
        model.eval()
        val_total, right, seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(device), y.to(device)
                scores = model(x)
                val_total += F.cross_entropy(scores, y, reduction="sum").item()
                right += (scores.argmax(1) == y).sum().item()
                seen += len(y)
        history.append(
            {
                "train_loss": total / count,
                "val_loss": val_total / seen,
                "val_accuracy": right / len(val),
            }
        )
    return history


# %% wrong="the same dict each time" says=["this is the last epoch's: a dict of its own for each epoch"]
def fit(model, train, val, optimizer, epochs):
    place = next(model.parameters()).device
    history, record = [], {}
    for _ in range(epochs):
        model.train()
        total, count = 0.0, 0
        for x, y in train:
            x, y = x.to(place), y.to(place)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            count += len(y)
        model.eval()
        val_total, hits, seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(place), y.to(place)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                hits += (logits.argmax(1) == y).sum().item()
                seen += len(y)
        record.update(
            {"train_loss": total / count, "val_loss": val_total / seen, "val_accuracy": hits / seen}
        )
        history.append(record)
    return history


# %% wrong="moves the batches to the notebook's device" says=["moved to a device where the model isn't"]
def fit(model, train, val, optimizer, epochs):
    out = []
    for _ in range(epochs):
        model.train()
        total, n = 0.0, 0
        for x, y in train:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            n += len(y)
        model.eval()
        vl, right, m = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(device), y.to(device)
                z = model(x)
                vl += F.cross_entropy(z, y).item() * len(y)
                right += (z.argmax(1) == y).sum().item()
                m += len(y)
        out.append({"train_loss": total / n, "val_loss": vl / m, "val_accuracy": right / m})
    return out


# %% wrong="train() only where the model as a whole isn't in training" says=["or a part of the model did"]
def fit(model, train, val, optimizer, epochs):
    dev = next(model.parameters()).device
    out = []
    for _ in range(epochs):
        if not model.training:
            model.train()
        total, n = 0.0, 0
        for x, y in train:
            x, y = x.to(dev), y.to(dev)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            n += len(y)
        model.eval()
        vl, right, m = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(dev), y.to(dev)
                z = model(x)
                vl += F.cross_entropy(z, y).item() * len(y)
                right += (z.argmax(1) == y).sum().item()
                m += len(y)
        out.append({"train_loss": total / n, "val_loss": vl / m, "val_accuracy": right / m})
    return out


# %% wrong="no step where the loss is exactly 0" breaks="one step of the optimizer for each training batch" says=["a batch whose loss is exactly 0", "batch 3 got 0 steps: one for each, whatever it is"]
def fit(model, train, val, optimizer, epochs):
    place = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, count = 0.0, 0
        for x, y in train:
            x, y = x.to(place), y.to(place)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            if loss.item() != 0:
                loss.backward()
                optimizer.step()
            total += loss.item() * len(y)
            count += len(y)
        model.eval()
        val_total, right, seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(place), y.to(place)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                seen += len(y)
        history.append(
            {
                "train_loss": total / count,
                "val_loss": val_total / seen,
                "val_accuracy": right / seen,
            }
        )
    return history


# %% wrong="no step where the loss is not finite" says=["a batch whose loss is infinite", "a batch whose loss is NaN", "batch 3 got 0 steps"]
def fit(model, train, val, optimizer, epochs):
    place = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, count = 0.0, 0
        for x, y in train:
            x, y = x.to(place), y.to(place)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            if torch.isfinite(loss):
                optimizer.step()
            total += loss.item() * len(y)
            count += len(y)
        model.eval()
        val_total, right, seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(place), y.to(place)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                seen += len(y)
        history.append(
            {
                "train_loss": total / count,
                "val_loss": val_total / seen,
                "val_accuracy": right / seen,
            }
        )
    return history


# %% wrong="divides by a full first batch times the number of batches" says=["this is as if each batch were as long as the first"]
def fit(model, train, val, optimizer, epochs):
    place = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, count = 0.0, 0
        for x, y in train:
            x, y = x.to(place), y.to(place)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            count += len(y)
        model.eval()
        val_total, right, seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(place), y.to(place)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                seen += len(y)
        history.append(
            {
                "train_loss": total / (len(train) * len(train[0][1])),
                "val_loss": val_total / seen,
                "val_accuracy": right / seen,
            }
        )
    return history


# %% wrong="leaves a NaN loss out of the average" says=["train_loss is 1.099, expected nan: each loss counts"]
def fit(model, train, val, optimizer, epochs):
    place = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, count = 0.0, 0
        for x, y in train:
            x, y = x.to(place), y.to(place)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            if loss == loss:
                total += loss.item() * len(y)
                count += len(y)
        model.eval()
        val_total, right, seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(place), y.to(place)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                seen += len(y)
        history.append(
            {
                "train_loss": total / count,
                "val_loss": val_total / seen,
                "val_accuracy": right / seen,
            }
        )
    return history


# %% wrong="turns non-finite gradients into zeros" says=["step() takes the gradient as backward() left it, neither cut off nor replaced"]
def fit(model, train, val, optimizer, epochs):
    place = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, count = 0.0, 0
        for x, y in train:
            x, y = x.to(place), y.to(place)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            for p in model.parameters():
                if p.grad is not None:
                    torch.nan_to_num_(p.grad, 0.0, 0.0, 0.0)
            optimizer.step()
            total += loss.item() * len(y)
            count += len(y)
        model.eval()
        val_total, right, seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(place), y.to(place)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                seen += len(y)
        history.append(
            {
                "train_loss": total / count,
                "val_loss": val_total / seen,
                "val_accuracy": right / seen,
            }
        )
    return history


# %% wrong="gradients below 1e-8 are cut to zero" says=["a batch whose loss is exactly 0", "neither cut off nor replaced"]
def fit(model, train, val, optimizer, epochs):
    place = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, count = 0.0, 0
        for x, y in train:
            x, y = x.to(place), y.to(place)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            for p in model.parameters():
                if p.grad is not None:
                    p.grad[p.grad.abs() < 1e-8] = 0
            optimizer.step()
            total += loss.item() * len(y)
            count += len(y)
        model.eval()
        val_total, right, seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(place), y.to(place)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                seen += len(y)
        history.append(
            {
                "train_loss": total / count,
                "val_loss": val_total / seen,
                "val_accuracy": right / seen,
            }
        )
    return history


# %% right="closure and tensors"
def fit(model, train, val, optimizer, epochs):
    place = next(iter(model.parameters())).device

    def measure(batches, after):
        parts, hits = [], 0
        for x, y in batches:
            target = y.to(place)

            def closure():
                optimizer.zero_grad(set_to_none=False)
                for p in model.parameters():
                    p.grad = None
                out = model(x.to(place))
                cost = nn.CrossEntropyLoss(reduction="sum")(out, target)
                parts.append(cost.detach().double())
                nonlocal hits
                hits += int(out.argmax(-1).eq(target).sum())
                if after:
                    (cost / len(target)).backward()
                return cost

            optimizer.step(closure) if after else closure()
        n = sum(len(y) for _, y in batches)
        return float(sum(parts)) / n, hits / n

    rows = []
    for _ in range(epochs):
        model.train(True)
        first = measure(train, True)[0]
        model.train(False)
        with torch.inference_mode():
            loss, accuracy = measure(val, False)
        rows.append(dict(train_loss=first, val_loss=loss, val_accuracy=accuracy))
    return rows


# %% wrong="calls model.forward, which runs no hooks" breaks="which run in each call" says=["the model's hooks did not run"]
def fit(model, train, val, optimizer, epochs):
    where = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, count = 0.0, 0
        for x, y in train:
            x, y = x.to(where), y.to(where)
            optimizer.zero_grad()
            loss = F.cross_entropy(model.forward(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            count += len(y)
        model.eval()
        val_total, right, val_count = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(where), y.to(where)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                val_count += len(y)
        history.append(
            {
                "train_loss": total / count,
                "val_loss": val_total / val_count,
                "val_accuracy": right / val_count,
            }
        )
    return history


# %% wrong="an accuracy of 0 is an int" breaks="plain Python floats" says=["val_accuracy is a int"]
def fit(model, train, val, optimizer, epochs):
    place = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, count = 0.0, 0
        for x, y in train:
            x, y = x.to(place), y.to(place)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            count += len(y)
        model.eval()
        val_total, right, val_count = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(place), y.to(place)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                val_count += len(y)
        history.append(
            {
                "train_loss": total / count,
                "val_loss": val_total / val_count,
                "val_accuracy": right / val_count if right else 0,
            }
        )
    return history


# %% wrong="no step where no gradient is left" breaks="one step of the optimizer for each training batch" says=["0, its gradient too; batch 3 got 0 steps"]
def fit(model, train, val, optimizer, epochs):
    place = next(model.parameters()).device
    history = []
    for _ in range(epochs):
        model.train()
        total, count = 0.0, 0
        for x, y in train:
            x, y = x.to(place), y.to(place)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            if any(p.grad is not None and p.grad.any() for p in model.parameters()):
                optimizer.step()
            total += loss.item() * len(y)
            count += len(y)
        model.eval()
        val_total, right, val_count = 0.0, 0, 0
        with torch.no_grad():
            for x, y in val:
                x, y = x.to(place), y.to(place)
                logits = model(x)
                val_total += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                val_count += len(y)
        history.append(
            {
                "train_loss": total / count,
                "val_loss": val_total / val_count,
                "val_accuracy": right / val_count,
            }
        )
    return history


# %% right="running means, inference mode"
def fit(model, train, val, optimizer, epochs):
    device = next(model.parameters()).device

    def one_step(x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    result = []
    for _ in range(epochs):
        entry = {"train_loss": 0.0, "val_loss": 0.0, "val_accuracy": 0.0}
        model.train()
        seen = 0
        for x, y in train:
            value = one_step(x.to(device), y.to(device))
            seen += len(y)
            entry["train_loss"] += (value - entry["train_loss"]) * len(y) / seen
        model.eval()
        seen = 0
        for x, y in val:
            with torch.inference_mode():
                y = y.to(device)
                out = model(x.to(device))
                value = float(F.cross_entropy(out, y))
                share = int((out.argmax(1) == y).sum()) / len(y)
            seen += len(y)
            entry["val_loss"] += (value - entry["val_loss"]) * len(y) / seen
            entry["val_accuracy"] += (share - entry["val_accuracy"]) * len(y) / seen
        result.append(entry)
    return result


# %% wrong="x in the dtype of the parameters" breaks="`x` of any dtype that the model takes" says=["the batches hold whole numbers here, for an embedding", "x keeps its dtype"]
def fit(model, train, val, optimizer, epochs):
    like = next(model.parameters())

    def run_through(batches, training):
        model.train(training)
        total, right, count = 0.0, 0, 0
        with torch.set_grad_enabled(training):
            for x, y in batches:
                x, y = x.to(like), y.to(like.device)
                logits = model(x)
                loss = F.cross_entropy(logits, y)
                if training:
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                total, count = total + loss.item() * len(y), count + len(y)
                right += int((logits.argmax(1) == y).sum())
        return total / count, right / count

    history = []
    for _ in range(epochs):
        train_loss = run_through(train, True)[0]
        val_loss, accuracy = run_through(val, False)
        history.append({"train_loss": train_loss, "val_loss": val_loss, "val_accuracy": accuracy})
    return history
