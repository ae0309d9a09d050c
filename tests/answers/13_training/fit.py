# %% wrong="the mean of the batch means" says=["this is the mean of the batch means", "expected"]
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


# %% wrong="train() once, before the epochs" says=["call model.train() in every epoch"]
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


# %% wrong="no eval" says=["a validation batch ran in training mode"]
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


# %% wrong="never forgets a gradient" says=["no gradient is ever forgotten"]
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


# %% wrong="leaves the batches where they are" says=["move x and y to the model's device"]
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


# %% wrong="divides a sum of means by the samples, as the old template" says=["a sum of batch means divided by the number of samples"]
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


# %% wrong="zero_grad after the step alone" says=["a gradient that was there before fit was called", "before the first backward()"]
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


# %% wrong="evaluates the training set once more" says=["the model was evaluated 6 times, expected 3", "without another pass"]
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


# %% wrong="evaluates before the first epoch too" says=["once for each batch of val in each epoch"]
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


# %% wrong="moves the batches in the caller's list" says=["the lists of batches are not what they were"]
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


# %% wrong="gradients of what is trained are forgotten" says=["a frozen parameter moved"]
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


# %% wrong="clipped at 10" says=["clipped at a norm of 10.0"]
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


# %% wrong="losses rounded" says=["give it with all digits"]
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


# %% wrong="softmax before cross_entropy" says=["softmax comes before cross_entropy, which takes logits"]
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


# %% wrong="one step an epoch" says=["one step an epoch, from all its gradients"]
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
