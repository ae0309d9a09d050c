# %% [markdown]
# Rules:
#
# - "The logits are float32 or float64"
# - "no sequence need fill it"
# - "The price of a position is its cross-entropy"
# - "a tensor of shape (), in float64 for float64 logits"
# - "the mean over all real positions of all batches"
# - "with `per="sequence"` the mean of the sequences' own means"
# - "The result is the same however the sequences are spread over batches"
# - "neither for the number"
# - "nor for the gradient, which is 0 there"
# - "It may hold `nan`, `inf`, `-inf`"
# - "A sequence of length 0 counts for nothing"
# - "a batch may hold nothing else"
# - "Leave the arguments as they are"
# - "per: str = "token""
#
# Admits:
#
# - "float32 or float64": float64, the short one first
# - "no sequence need fill it": no sequence fills the time
# - "targets such as -1 or 999": the padding holds inf and -inf, and 999 as targets
# - "A sequence of length 0": an empty sequence, first and last
# - "a batch may hold nothing else": a batch of empty sequences

# %% wrong="a mean of the batches' means" breaks="The result is the same however the sequences are spread over batches" says=["the same in two batches", "a mean of the batches' means depends on the split"]
def sequence_loss(batches, per="token"):
    means = []
    for logits, targets, lengths in batches:
        real = torch.arange(targets.shape[1], device=targets.device) < lengths[:, None]
        prices = logits.new_zeros(targets.shape)
        prices[real] = F.cross_entropy(logits[real], targets[real], reduction="none")
        if per == "token":
            means.append(prices.sum() / lengths.sum())
        else:
            means.append((prices.sum(1) / lengths.clamp(min=1)).sum() / (lengths > 0).sum())
    return torch.stack(means).mean()


# %% wrong="multiplies by the mask" breaks="neither for the number" says=["the padding got in: nan times 0 is nan", "the padding holds inf"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for logits, targets, lengths in batches:
        real = torch.arange(targets.shape[1], device=targets.device) < lengths[:, None]
        safe = targets.where(real, 0)
        prices = F.cross_entropy(logits.transpose(1, 2), safe, reduction="none") * real
        sums.append(prices.sum(1))
        counts.append(lengths)
    sums, counts = torch.cat(sums), torch.cat(counts)
    if per == "token":
        return sums.sum() / counts.sum()
    return (sums / counts.clamp(min=1)).sum() / (counts > 0).sum()


# %% wrong="where after the price: the gradient is nan" breaks="nor for the gradient, which is 0 there" says=["the padding holds nan", "a price masked afterwards leaves nan times 0 behind"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for logits, targets, lengths in batches:
        real = torch.arange(targets.shape[1], device=targets.device) < lengths[:, None]
        safe = targets.where(real, 0)
        prices = F.cross_entropy(logits.transpose(1, 2), safe, reduction="none").where(real, 0)
        sums.append(prices.sum(1))
        counts.append(lengths)
    sums, counts = torch.cat(sums), torch.cat(counts)
    if per == "token":
        return sums.sum() / counts.sum()
    return (sums / counts.clamp(min=1)).sum() / (counts > 0).sum()


# %% wrong="counts empty sequences" breaks="A sequence of length 0 counts for nothing" says=["an empty sequence", "empty sequences are counted"]
def sequence_loss(batches, per="token"):
    every, own = [], []
    for logits, targets, lengths in batches:
        for row, goal, n in zip(logits, targets, lengths.tolist()):
            prices = F.cross_entropy(row[:n], goal[:n], reduction="none")
            every.append(prices)
            own.append(prices.sum() / max(n, 1))
    return torch.cat(every).mean() if per == "token" else torch.stack(own).mean()


# %% wrong="an empty sequence gives nan" says=["an empty sequence"]
def sequence_loss(batches, per="token"):
    every, own = [], []
    for logits, targets, lengths in batches:
        for row, goal, n in zip(logits, targets, lengths.tolist()):
            prices = F.cross_entropy(row[:n], goal[:n], reduction="none")
            every.append(prices)
            own.append(prices.mean())
    return torch.cat(every).mean() if per == "token" else torch.stack(own).mean()


# %% wrong="divides by all positions" breaks="the mean over all real positions of all batches" says=["divided by all positions, padded ones too"]
def sequence_loss(batches, per="token"):
    total, places, own = 0, 0, []
    for logits, targets, lengths in batches:
        for row, goal, n in zip(logits, targets, lengths.tolist()):
            if n:
                total = total + F.cross_entropy(row[:n], goal[:n], reduction="sum")
                own.append(F.cross_entropy(row[:n], goal[:n]))
        places += targets.numel()
    return total / places if per == "token" else torch.stack(own).mean()


# %% wrong="knows one mean only" breaks="with `per=\"sequence\"` the mean of the sequences' own means" says=["that is the other one of the two means"]
def sequence_loss(batches, per="token"):
    every = []
    for logits, targets, lengths in batches:
        for row, goal, n in zip(logits, targets, lengths.tolist()):
            every.append(F.cross_entropy(row[:n], goal[:n], reduction="none"))
    return torch.cat(every).mean()


# %% wrong="a float" breaks="a tensor of shape (), in float64 for float64 logits" says=["float, not a tensor"]
def sequence_loss(batches, per="token"):
    total, count = 0.0, 0
    for logits, targets, lengths in batches:
        for row, goal, n in zip(logits, targets, lengths.tolist()):
            total += F.cross_entropy(row[:n], goal[:n], reduction="sum").item()
            count += n
    return total / count


# %% wrong="writes into the padding" breaks="Leave the arguments as they are" says=["an argument was changed"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for logits, targets, lengths in batches:
        real = torch.arange(targets.shape[1], device=targets.device) < lengths[:, None]
        targets[~real] = -100
        clean = logits.masked_fill(~real[..., None], 0)
        sums.append(F.cross_entropy(clean.transpose(1, 2), targets, reduction="none").sum(1))
        counts.append(lengths)
    sums, counts = torch.cat(sums), torch.cat(counts)
    if per == "token":
        return sums.sum() / counts.sum()
    return (sums[counts > 0] / counts[counts > 0]).mean()


# %% wrong="nothing yet" says=["it returned None: is there an answer yet"]
def sequence_loss(batches, per="token"):
    """The mean cross-entropy."""
    # YOUR CODE HERE


# %% right="a loop over sequences"
def sequence_loss(batches, per="token"):
    kept = [
        F.cross_entropy(row[:n], goal[:n], reduction="none")
        for logits, targets, lengths in batches
        for row, goal, n in zip(logits, targets, lengths.tolist())
        if n > 0
    ]
    if per == "sequence":
        return torch.stack([prices.mean() for prices in kept]).mean()
    return torch.cat(kept).mean()


# %% right="masked_fill before the price, ignore_index, float64 sums"
def sequence_loss(batches, per="token"):
    total, below = 0.0, 0.0
    for logits, targets, lengths in batches:
        steps = torch.arange(logits.size(1), device=logits.device)
        pad = steps.unsqueeze(0) >= lengths.unsqueeze(1)
        flat = logits.masked_fill(pad.unsqueeze(2), 0.0).flatten(0, 1)
        goal = targets.masked_fill(pad, -100).flatten()
        prices = F.cross_entropy(flat, goal, reduction="none").view(targets.shape).double()
        if per == "token":
            total, below = total + prices.sum(), below + lengths.sum()
        else:
            total = total + (prices.sum(1) / lengths.clamp(min=1)).sum()
            below = below + (lengths > 0).sum()
    return total / below


# %% right="weights each token, gathers log-softmax"
def sequence_loss(batches, per="token"):
    counts = torch.cat([lengths for _, _, lengths in batches]).to(batches[0][0].dtype)
    loss = batches[0][0].new_zeros(())
    for logits, targets, lengths in batches:
        for i in range(len(lengths)):
            n = int(lengths[i])
            if n == 0:
                continue
            log_p = torch.log_softmax(logits[i, :n], dim=-1)
            picked = log_p[torch.arange(n), targets[i, :n]]
            share = 1 / counts.sum() if per == "token" else 1 / (n * (counts > 0).sum())
            loss = loss - picked.sum() * share
    return loss


# %% wrong="mean of the batches' means" says=["depends on the split"]
def sequence_loss(batches, per="token"):
    values = []
    for logits, targets, lengths in batches:
        rows = [
            F.cross_entropy(z[:n], y[:n], reduction="none")
            for z, y, n in zip(logits, targets, lengths.tolist())
            if n
        ]
        values.append(
            torch.cat(rows).mean()
            if per == "token"
            else torch.stack([r.mean() for r in rows]).mean()
        )
    return torch.stack(values).mean()


# %% right="a share for each token, one dot product"
def sequence_loss(batches, per="token"):
    loss = 0
    tokens = sum(int(n.sum()) for _, _, n in batches)
    sequences = sum(int((n > 0).sum()) for _, _, n in batches)
    for logits, targets, lengths in batches:
        rows, places = (
            torch.arange(targets.shape[1], device=lengths.device) < lengths[:, None]
        ).nonzero(as_tuple=True)
        z, y = logits[rows, places], targets[rows, places]
        price = z.logsumexp(-1) - z.gather(-1, y[:, None]).squeeze(-1)
        if per == "token":
            share = torch.full_like(price, 1 / tokens)
        else:
            share = 1 / (sequences * lengths[rows]).to(price)
        loss = loss + torch.dot(price, share)
    return loss


# %% wrong="a batch of empty sequences gives nan" breaks="a batch may hold nothing else" says=["a batch of empty sequences"]
def sequence_loss(batches, per="token"):
    prices, own, counts = [], [], []
    for logits, targets, lengths in batches:
        real = torch.arange(targets.shape[1], device=targets.device) < lengths[:, None]
        mean = F.cross_entropy(logits[real], targets[real])
        prices.append(mean * real.sum())
        counts.append(real.sum())
        for row, goal, n in zip(logits, targets, lengths.tolist()):
            own += [F.cross_entropy(row[:n], goal[:n])] if n else []
    if per == "token":
        return torch.stack(prices).sum() / torch.stack(counts).sum()
    return torch.stack(own).mean()


# %% wrong="-100 is written into the caller's targets" says=["an argument was changed: leave"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for logits, targets, lengths in batches:
        real = torch.arange(targets.shape[1], device=targets.device) < lengths[:, None]
        targets[~real] = -100
        clean = logits.masked_fill(~real[:, :, None], 0)
        prices = F.cross_entropy(clean.transpose(1, 2), targets, reduction="none")
        sums.append(prices.sum(1))
        counts.append(lengths)
    sums, counts = torch.cat(sums), torch.cat(counts)
    if per == "token":
        return sums.sum() / counts.sum()
    return (sums / counts.clamp(min=1)).sum() / (counts > 0).sum()


# %% wrong="empties the caller's list" says=["the list of batches was changed"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    while batches:
        logits, targets, lengths = batches.pop()
        real = torch.arange(targets.shape[1], device=targets.device) < lengths[:, None]
        prices = logits.new_zeros(targets.shape)
        prices[real] = F.cross_entropy(logits[real], targets[real], reduction="none")
        sums.append(prices.sum(1))
        counts.append(lengths)
    sums, counts = torch.cat(sums), torch.cat(counts)
    if per == "token":
        return sums.sum() / counts.sum()
    return (sums / counts.clamp(min=1)).sum() / (counts > 0).sum()


# %% right="one sequence after the other, no mask"
def sequence_loss(batches, per="token"):
    rows = [
        F.cross_entropy(row[:n], goal[:n], reduction="none")
        for logits, targets, lengths in batches
        for row, goal, n in zip(logits, targets, lengths.tolist())
        if n
    ]
    if per == "token":
        return torch.cat(rows).mean()
    return sum(row.mean() for row in rows) / len(rows)


# %% wrong="float32 whatever the logits" breaks="The logits are float32 or float64" says=["expected torch.float64"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for z, y, n in batches:
        for row in range(len(n)):
            k = int(n[row])
            if k:
                sums.append(F.cross_entropy(z[row, :k].float(), y[row, :k], reduction="sum"))
                counts.append(k)
    sums, counts = torch.stack(sums), torch.tensor(counts, device=sums[0].device)
    return sums.sum() / counts.sum() if per == "token" else (sums / counts).mean()


# %% wrong="sorts all but the lengths" says=["float64, the short one first"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for z, y, n in batches:
        order = n.argsort(descending=True)
        z, y = z[order], y[order]
        for row in range(len(n)):
            k = int(n[row])
            if k:
                sums.append(F.cross_entropy(z[row, :k], y[row, :k], reduction="sum"))
                counts.append(k)
    sums, counts = torch.stack(sums), torch.tensor(counts, device=sums[0].device)
    return sums.sum() / counts.sum() if per == "token" else (sums / counts).mean()


# %% right="nan and inf made finite before the price, then masked"
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for logits, targets, lengths in batches:
        real = torch.arange(targets.shape[1], device=targets.device) < lengths[:, None]
        p = F.cross_entropy(
            logits.nan_to_num(0.0, 0.0, 0.0).transpose(1, 2),
            targets.clamp(0, logits.shape[2] - 1),
            reduction="none",
        )
        sums.append((p * real).sum(1))
        counts.append(lengths)
    sums, counts = torch.cat(sums), torch.cat(counts)
    if per == "token":
        return sums.sum() / counts.sum()
    return (sums[counts > 0] / counts[counts > 0]).mean()


# %% wrong="a mask as wide as the longest sequence" breaks="no sequence need fill it" says=["no sequence fills the time"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for logits, targets, lengths in batches:
        mask = torch.arange(int(lengths.max()), device=logits.device) < lengths[:, None]
        for row in range(len(lengths)):
            if int(lengths[row]) == 0:
                continue
            z, y = logits[row][mask[row]], targets[row][mask[row]]
            sums.append(F.cross_entropy(z, y, reduction="sum"))
            counts.append(int(lengths[row]))
    sums, counts = torch.stack(sums), torch.tensor(counts, device=sums[0].device)
    return sums.sum() / counts.sum() if per == "token" else (sums / counts).mean()


# %% wrong="an empty sequence ends its batch" says=["an empty sequence, first and last"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for logits, targets, lengths in batches:
        for z, y, n in zip(logits, targets, lengths.tolist()):
            if n == 0:
                break
            sums.append(F.cross_entropy(z[:n], y[:n], reduction="sum"))
            counts.append(n)
    sums, counts = torch.stack(sums), torch.tensor(counts, device=sums[0].device)
    return sums.sum() / counts.sum() if per == "token" else (sums / counts).mean()


# %% wrong="default is sequence" breaks="per: str = \"token\"" says=["per left out"]
def sequence_loss(batches, per="sequence"):
    sums, counts = [], []
    for logits, targets, lengths in batches:
        for row in range(len(logits)):
            n = int(lengths[row])
            if n:
                sums.append(F.cross_entropy(logits[row, :n], targets[row, :n], reduction="sum"))
                counts.append(n)
    sums = torch.stack(sums)
    counts = torch.tensor(counts, device=sums.device)
    if per == "token":
        return sums.sum() / counts.sum()
    return (sums / counts).mean()


# %% wrong="the log of a softmax" breaks="The price of a position is its cross-entropy" says=["scores down to -900"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for logits, targets, lengths in batches:
        for row in range(len(logits)):
            n = int(lengths[row])
            if n:
                sums.append(-logits[row, :n].softmax(dim=1)[range(n), targets[row, :n]].log().sum())
                counts.append(n)
    sums = torch.stack(sums)
    counts = torch.tensor(counts, device=sums.device)
    if per == "token":
        return sums.sum() / counts.sum()
    return (sums / counts).mean()


# %% wrong="float32 inside, float64 outside" says=["rounded on the way"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for logits, targets, lengths in batches:
        for row in range(len(logits)):
            n = int(lengths[row])
            if n:
                sums.append(
                    F.cross_entropy(logits[row, :n].float(), targets[row, :n], reduction="sum")
                )
                counts.append(n)
    sums = torch.stack(sums)
    counts = torch.tensor(counts, device=sums.device)
    if per == "token":
        return (sums.sum() / counts.sum()).to(batches[0][0].dtype)
    return (sums / counts).mean().to(batches[0][0].dtype)


# %% wrong="large numbers for inf, then masked" breaks="It may hold `nan`, `inf`, `-inf`" says=["the padding holds inf and -inf", "the padding got in"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for z, y, n in batches:
        real = torch.arange(z.shape[1], device=z.device) < n[:, None]
        y = y.clamp(0, z.shape[2] - 1)
        price = F.cross_entropy(z.nan_to_num().transpose(1, 2), y, reduction="none")
        sums.append((price * real).sum(1))
        counts.append(n)
    s, c = torch.cat(sums), torch.cat(counts)
    if per == "token":
        return s.sum() / c.sum()
    return (s[c > 0] / c[c > 0]).mean()


# %% right="prices of the real positions, split by lengths"
def sequence_loss(batches, per="token"):
    values = []
    for z, y, n in batches:
        keep = torch.arange(z.shape[1], device=z.device).expand(z.shape[:2]) < n.unsqueeze(1)
        z, y = z[keep], y[keep].unsqueeze(-1)
        price = z.logsumexp(-1) - z.gather(-1, y).squeeze(-1)
        values += [part for part in price.split(n.tolist()) if len(part)]
    if per == "token":
        return torch.cat(values).mean()
    return sum(part.mean() for part in values) / len(values)


# %% wrong="targets tell what is real" says=["the padding is priced, too: lengths alone says what is real"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for logits, targets, lengths in batches:
        real = (targets >= 0) & (targets < logits.shape[2]) & (lengths[:, None] > 0)
        prices = logits.new_zeros(real.shape)
        prices[real] = F.cross_entropy(logits[real], targets[real], reduction="none")
        sums.append(prices.sum(dim=1))
        counts.append(lengths)
    sums, counts = torch.cat(sums), torch.cat(counts)
    if per == "token":
        return sums.sum() / counts.sum()
    some = counts > 0
    return (sums[some] / counts[some]).mean()


# %% wrong="an empty sequence's mean is 0 / 0" says=["0 / 0: an empty sequence has no mean"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for logits, targets, lengths in batches:
        real = torch.arange(logits.shape[1], device=logits.device) < lengths[:, None]
        price = F.cross_entropy(logits[real], targets[real], reduction="none")
        rows = real.nonzero()[:, 0]
        sums.append(logits.new_zeros(len(logits)).index_add(0, rows, price))
        counts.append(lengths)
    sums, counts = torch.cat(sums), torch.cat(counts)
    if per == "token":
        return sums.sum() / counts.sum()
    return (sums / counts).mean()


# %% wrong="a batch's mean times its count, which is nan for a batch of nothing" says=["nor has a batch of nothing"]
def sequence_loss(batches, per="token"):
    total, count, means = 0, 0, []
    for logits, targets, lengths in batches:
        real = torch.arange(logits.shape[1], device=logits.device) < lengths[:, None]
        total = total + F.cross_entropy(logits[real], targets[real]) * real.sum()
        count = count + real.sum()
        for row, target, n in zip(logits, targets, lengths.tolist()):
            if n:
                means.append(F.cross_entropy(row[:n], target[:n]))
    if per == "token":
        return total / count
    return torch.stack(means).mean()


# %% wrong="each row's time below the bar" breaks="the mean over all real positions of all batches" says=["divided by all positions, padded ones too"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for logits, targets, lengths in batches:
        for row in range(len(lengths)):
            n = int(lengths[row])
            if n > 0:
                price = F.cross_entropy(logits[row, :n], targets[row, :n], reduction="sum")
                sums.append(price)
                counts.append(targets.shape[1])
    sums = torch.stack(sums)
    counts = torch.tensor(counts, device=sums.device, dtype=sums.dtype)
    if per == "token":
        return sums.sum() / counts.sum()
    return (sums / counts).mean()


# %% wrong="the price of class 0" breaks="The price of a position is its cross-entropy" says=["three classes, targets 1 and 2"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for logits, targets, lengths in batches:
        for row in range(len(lengths)):
            n = int(lengths[row])
            if n > 0:
                price = -logits[row, :n].log_softmax(1)[:, 0].sum()
                sums.append(price)
                counts.append(n)
    sums = torch.stack(sums)
    counts = torch.tensor(counts, device=sums.device, dtype=sums.dtype)
    if per == "token":
        return sums.sum() / counts.sum()
    return (sums / counts).mean()


# %% wrong="a batch's mean times its rows, the empty ones too" breaks="A sequence of length 0 counts for nothing" says=["an empty sequence, first and last", "a batch's mean counts once for each token, or each sequence that isn't empty"]
def sequence_loss(batches, per="token"):
    total, count = 0.0, 0
    for logits, targets, lengths in batches:
        real = torch.arange(logits.shape[1]) < lengths[:, None]
        if not real.any():
            continue
        if per == "token":
            n = int(lengths.sum())
            total = total + F.cross_entropy(logits[real], targets[real], reduction="sum")
        else:
            n = len(lengths)
            rows = [
                F.cross_entropy(z[m], t[m]) for z, t, m in zip(logits, targets, real) if m.any()
            ]
            total = total + torch.stack(rows).mean() * n
        count += n
    return total / count


# %% wrong="a batch's mean of sequences times its tokens" says=["a batch's mean counts once for each token, or each sequence that isn't empty"]
def sequence_loss(batches, per="token"):
    total, count = 0.0, 0
    for logits, targets, lengths in batches:
        keep = lengths > 0
        n = int(lengths.sum())
        if n == 0:
            continue
        if per == "token":
            real = torch.arange(logits.shape[1], device=lengths.device) < lengths[:, None]
            price = F.cross_entropy(logits[real], targets[real])
        else:
            rows = [
                F.cross_entropy(z[:k], t[:k])
                for z, t, k in zip(logits[keep], targets[keep], lengths[keep])
            ]
            price = torch.stack(rows).mean()
        total, count = total + price * n, count + n
    return total / count


# %% right="one sequence at a time, joined by index_add"
def sequence_loss(batches, per="token"):
    prices, owners, first = [], [], 0
    for z, t, n in batches:
        for i, k in enumerate(n.tolist()):
            log_p = F.log_softmax(z[i, :k], dim=-1)
            prices.append(F.nll_loss(log_p, t[i, :k], reduction="none"))
            owners.append(torch.full((k,), first + i, device=z.device))
        first += len(n)
    prices, owners = torch.cat(prices), torch.cat(owners)
    if per == "token":
        return prices.mean()
    _, owners, counts = owners.unique(return_inverse=True, return_counts=True)
    sums = prices.new_zeros(len(counts)).index_add(0, owners, prices)
    return (sums / counts).mean()


# %% wrong="a probability of 1e-8 at least" breaks="The price of a position is its cross-entropy" says=["scores down to -900", "a probability was clamped"]
def sequence_loss(batches, per="token"):
    prices, means = [], []
    for logits, targets, lengths in batches:
        for row, goal, n in zip(logits, targets, lengths.tolist(), strict=True):
            p = row[:n].softmax(dim=-1).gather(1, goal[:n, None]).squeeze(1)
            prices.append(-p.clamp(min=1e-8).log())
            means += [prices[-1].mean()] if n else []
    return torch.cat(prices).mean() if per == "token" else torch.stack(means).mean()


# %% wrong="goes by the sum: a price of 0 counts as empty" breaks="A sequence of length 0 counts for nothing" says=["a sequence of length 2 whose prices are 0"]
def sequence_loss(batches, per="token"):
    sums, counts = [], []
    for logits, targets, lengths in batches:
        real = torch.arange(targets.shape[1], device=targets.device) < lengths[:, None]
        prices = logits.new_zeros(targets.shape)
        prices[real] = F.cross_entropy(logits[real], targets[real], reduction="none")
        sums.append(prices.sum(dim=1))
        counts.append(lengths)
    sums, counts = torch.cat(sums), torch.cat(counts)
    if per == "token":
        return sums.sum() / counts.sum()
    return (sums[sums > 0] / counts[sums > 0]).mean()
