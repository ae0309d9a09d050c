# %% [markdown]
# Rules:
#
# - "returns a list of batches, each a list of indices"
# - "every index is in exactly one batch"
# - "all batches are full but at most one, and none is empty"
# - "of any two batches, one holds no length greater than any in the other"
# - "the batches are shuffled"
# - "items of *equal* length"
# - "equal `seed` and `epoch`, equal result, in another process too"
# - "Another epoch or another seed gives another order"
# - "seed 1 in epoch 0 is not seed 0 in epoch 1"
# - "the global generators of PyTorch, NumPy and Python stay as they are"
# - "returns a list of `draws` indices"
# - "with replacement, however few"
# - "In each draw every class is as likely as any other"
# - "and in a class every item"
# - "no draw depends on another"
# - "negative ones too, in any order and with gaps"
# - "Equal seeds give equal results"
# - "here too the global generators stay as they are"
#
# Admits:
#
# - "which has whole numbers": lengths near 2**30
# - "(1 or more)": one draw
# - "negative ones too": 2, 2, -1, 2, 2, -1, 2
# - "with gaps": of the classes 3, 7 and 40

# %% wrong="seeds the global generator" breaks="the global generators of PyTorch, NumPy and Python stay as they are" says=["it changed a global generator"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    torch.manual_seed(seed + epoch)
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    batches = [order[k : k + batch_size] for k in range(0, len(order), batch_size)]
    return [batches[i] for i in torch.randperm(len(batches)).tolist()]


def weighted_sampling(labels, draws, seed):
    torch.manual_seed(seed)
    counts = torch.tensor([labels.count(label) for label in labels])
    return torch.multinomial(1 / counts, draws, replacement=True).tolist()


# %% wrong="not shuffled; one draw" breaks="returns a list of `draws` indices" says=["the batches come in one order, whatever seed and epoch", "expected a list of indices"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    return [order[k : k + batch_size] for k in range(0, len(order), batch_size)]


def weighted_sampling(labels, draws, seed):
    weights = torch.tensor([1 / labels.count(label) for label in labels])
    return torch.multinomial(weights, 1, generator=torch.Generator().manual_seed(seed)).item()


# %% wrong="seed plus epoch" breaks="seed 1 in epoch 0 is not seed 0 in epoch 1" says=["seed 0, epoch 1 gave the order of seed 1, epoch 0"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng(seed + epoch)
    order = sorted(rng.permutation(len(lengths)).tolist(), key=lambda i: lengths[i])
    batches = [order[k : k + batch_size] for k in range(0, len(order), batch_size)]
    rng.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    weights = [1 / labels.count(label) for label in labels]
    return random.Random(seed).choices(range(len(labels)), weights, k=draws)


# %% wrong="shuffled without sorting; no weights" says=["sort by length before cutting", "as in the data: the weights do nothing"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    order = np.random.default_rng([seed, epoch]).permutation(len(lengths)).tolist()
    return [order[k : k + batch_size] for k in range(0, len(order), batch_size)]


def weighted_sampling(labels, draws, seed):
    return np.random.default_rng(seed).integers(0, len(labels), draws).tolist()


# %% wrong="drops the short batch; sorts the argument; weight for each class" says=["the indices in all batches, sorted", "are these classes? Each *item* needs a weight"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = sorted(rng.permutation(len(lengths)).tolist(), key=lambda i: lengths[i])
    batches = [order[k : k + batch_size] for k in range(0, len(order) - batch_size + 1, batch_size)]
    rng.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    classes = sorted(set(labels))
    weights = torch.tensor([1 / labels.count(c) for c in classes])
    generator = torch.Generator().manual_seed(seed)
    return torch.multinomial(weights, draws, replacement=True, generator=generator).tolist()


# %% wrong="weights by the count; a fixed seed" says=["the same items share a batch", "the shares are"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    batches = [order[k : k + batch_size] for k in range(0, len(order), batch_size)]
    random.Random(f"{seed}-{epoch}").shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    weights = [labels.count(label) for label in labels]
    return random.Random(0).choices(range(len(labels)), weights, k=draws)


# %% wrong="the seed does nothing" says=["another seed, the same draws"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    r = random.Random(f"{seed}-{epoch}")
    order = list(range(len(lengths)))
    r.shuffle(order)
    order.sort(key=lambda i: lengths[i])
    batches = [order[k : k + batch_size] for k in range(0, len(order), batch_size)]
    r.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    weights = [1 / labels.count(label) for label in labels]
    return random.Random(0).choices(range(len(labels)), weights, k=draws)


# %% wrong="lengths are sorted in place" says=["it changed its first argument"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    lengths.sort()
    batches = [order[k : k + batch_size] for k in range(0, len(order), batch_size)]
    np.random.default_rng([seed, epoch]).shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    weights = [1 / labels.count(label) for label in labels]
    return random.Random(seed).choices(range(len(labels)), weights, k=draws)


# %% right="random.Random, tuples, and a class first"
def bucket_sampler(lengths, batch_size, seed, epoch):
    chance = random.Random(f"{seed}/{epoch}")
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], chance.random()))
    batches = []
    while order:
        batches.append(tuple(order[:batch_size]))
        order = order[batch_size:]
    return chance.sample(batches, len(batches))


def weighted_sampling(labels, draws, seed):
    chance, members = random.Random(seed), {}
    for index, label in enumerate(labels):
        members.setdefault(label, []).append(index)
    return [chance.choice(members[chance.choice(sorted(members))]) for _ in range(draws)]


# %% right="lexsort and the library's sampler"
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, epoch))))
    order = np.lexsort((rng.random(len(lengths)), np.asarray(lengths, dtype=int)))
    cuts = list(range(batch_size, len(order), batch_size))
    batches = [part for part in np.split(order, cuts) if len(part)]
    return [batches[k].tolist() for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    from torch.utils.data import WeightedRandomSampler

    weights = [1 / labels.count(label) for label in labels]
    generator = torch.Generator()
    generator.manual_seed(seed)
    return list(WeightedRandomSampler(weights, draws, replacement=True, generator=generator))


# %% wrong="weights by the class's size" breaks="In each draw every class is as likely as any other" says=["the frequent class got the larger weight"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng((seed, epoch))
    order = rng.permutation(len(lengths))
    order = order[np.argsort([lengths[i] for i in order], kind="stable")]
    batches = [order[i : i + batch_size].tolist() for i in range(0, len(order), batch_size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    g = torch.Generator().manual_seed(seed)
    counts = torch.tensor([labels.count(c) for c in labels], dtype=torch.float)
    return torch.multinomial(counts / counts.sum(), draws, True, generator=g).tolist()


# %% wrong="equal parts by array_split; classes take turns" breaks="all batches are full but at most one, and none is empty" says=["batches are not full, at most one may be", "draw the class by chance"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = sorted(rng.permutation(len(lengths)).tolist(), key=lambda i: lengths[i])
    parts = np.array_split(order, max(1, -(-len(order) // batch_size)))
    batches = [part.tolist() for part in parts if len(part)]
    rng.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    rng, classes = random.Random(seed), sorted(set(labels))
    members = {c: [i for i, label in enumerate(labels) if label == c] for c in classes}
    return [rng.choice(members[classes[n % len(classes)]]) for n in range(draws)]


# %% wrong="seed and epoch in one number; without replacement where that is possible" breaks="with replacement, however few" says=["seed 1, epoch 0", "with replacement"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng(1000 * seed + epoch)
    order = sorted(rng.permutation(len(lengths)).tolist(), key=lambda i: lengths[i])
    batches = [order[k : k + batch_size] for k in range(0, len(order), batch_size)]
    rng.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    weights = torch.tensor([1 / labels.count(label) for label in labels])
    again = draws > len(labels)
    return torch.multinomial(
        weights, draws, again, generator=torch.Generator().manual_seed(seed)
    ).tolist()


# %% wrong="an array of batches, a sampler for a list" breaks="returns a list of batches, each a list of indices" says=["returned a tuple, expected a list", "returned a WeightedRandomSampler, expected a list"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = sorted(rng.permutation(len(lengths)).tolist(), key=lambda i: lengths[i])
    batches = [order[k : k + batch_size] for k in range(0, len(order), batch_size)]
    rng.shuffle(batches)
    return tuple(batches)


def weighted_sampling(labels, draws, seed):
    weights = [1 / labels.count(label) for label in labels]
    generator = torch.Generator().manual_seed(seed)
    return torch.utils.data.WeightedRandomSampler(weights, draws, generator=generator)


# %% wrong="an order of classes that is shuffled; labels in runs" says=["exactly as often"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = sorted(rng.permutation(len(lengths)).tolist(), key=lambda i: lengths[i])
    batches = [order[k : k + batch_size] for k in range(0, len(order), batch_size)]
    rng.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    rng, classes = random.Random(seed), sorted(set(labels))
    members = {c: [i for i, label in enumerate(labels) if label == c] for c in classes}
    order = [classes[n % len(classes)] for n in range(draws)]
    rng.shuffle(order)
    return [rng.choice(members[c]) for c in order]


# %% wrong="counts by bincount, which takes no negative label" breaks="negative ones too, in any order and with gaps" says=["-1"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = sorted(rng.permutation(len(lengths)).tolist(), key=lambda i: lengths[i])
    batches = [order[k : k + batch_size] for k in range(0, len(order), batch_size)]
    rng.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    labels = torch.tensor(labels)
    weights = 1 / labels.bincount()[labels]
    g = torch.Generator().manual_seed(seed)
    return torch.multinomial(weights, draws, True, generator=g).tolist()


# %% wrong="seed and epoch written one behind the other" says=["(seed, epoch) = (1, 10) and (11, 0) give the same order of batches"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    numbers = random.Random(f"{seed}{epoch}")
    order = list(range(len(lengths)))
    numbers.shuffle(order)
    order.sort(key=lengths.__getitem__)
    batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
    numbers.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    numbers, classes = random.Random(seed), sorted(set(labels))
    places = {c: [i for i, label in enumerate(labels) if label == c] for c in classes}
    return [numbers.choice(places[numbers.choice(classes)]) for _ in range(draws)]


# %% wrong="31 times the seed, 17 times the epoch" breaks="Another epoch or another seed gives another order" says=["(seed, epoch) = (0, 31) and (17, 0) give the same order of batches"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    numbers = random.Random(31 * seed + 17 * epoch)
    order = list(range(len(lengths)))
    numbers.shuffle(order)
    order.sort(key=lengths.__getitem__)
    batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
    numbers.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    numbers, classes = random.Random(seed), sorted(set(labels))
    places = {c: [i for i, label in enumerate(labels) if label == c] for c in classes}
    return [numbers.choice(places[numbers.choice(classes)]) for _ in range(draws)]


# %% wrong="the hash of a text" breaks="equal `seed` and `epoch`, equal result, in another process too" says=["hash() of a text differs from process to process"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    numbers = random.Random(hash(f"{seed},{epoch}"))
    order = list(range(len(lengths)))
    numbers.shuffle(order)
    order.sort(key=lengths.__getitem__)
    batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
    numbers.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    numbers, classes = random.Random(seed), sorted(set(labels))
    places = {c: [i for i, label in enumerate(labels) if label == c] for c in classes}
    return [numbers.choice(places[numbers.choice(classes)]) for _ in range(draws)]


# %% wrong="the short batch always last" breaks="the batches are shuffled" says=["9 lengths, batches of 4, eighty epochs", "never came first: shuffle the batches, the short one too"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    numbers = random.Random(f"{seed},{epoch}")
    order = list(range(len(lengths)))
    numbers.shuffle(order)
    order.sort(key=lengths.__getitem__)
    batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
    return numbers.sample(batches[:-1], max(len(batches) - 1, 0)) + batches[-1:]


def weighted_sampling(labels, draws, seed):
    numbers, classes = random.Random(seed), sorted(set(labels))
    places = {c: [i for i, label in enumerate(labels) if label == c] for c in classes}
    return [numbers.choice(places[numbers.choice(classes)]) for _ in range(draws)]


# %% wrong="the batches begin elsewhere, in one order" says=["the batches come in one order, only begun elsewhere"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    numbers = random.Random(f"{seed},{epoch}")
    order = list(range(len(lengths)))
    numbers.shuffle(order)
    order.sort(key=lengths.__getitem__)
    batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
    start = numbers.randrange(len(batches) or 1)
    return batches[start:] + batches[:start]


def weighted_sampling(labels, draws, seed):
    numbers, classes = random.Random(seed), sorted(set(labels))
    places = {c: [i for i, label in enumerate(labels) if label == c] for c in classes}
    return [numbers.choice(places[numbers.choice(classes)]) for _ in range(draws)]


# %% wrong="lengths and noise in float32; a number for one draw" breaks="of any two batches, one holds no length greater than any in the other" says=["lengths near 2**30", "one draw: it returned a number, expected a list of one"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    numbers = np.random.default_rng([seed, epoch])
    generator = torch.Generator().manual_seed(int(numbers.integers(2**60)))
    order = torch.tensor(lengths) + torch.rand(len(lengths), generator=generator)
    order = order.argsort().tolist()
    batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
    return [batches[n] for n in numbers.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    _, classes, counts = torch.tensor(labels).unique(return_inverse=True, return_counts=True)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.multinomial(1 / counts[classes], draws, replacement=True, generator=generator)
    return drawn.squeeze().tolist()


# %% wrong="equal lengths rotated by the epoch" breaks="items of *equal* length" says=["were shared out in 4 ways"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    n = len(lengths)
    order = [(i + epoch) % n for i in range(n)]
    order.sort(key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    rng.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    rng = np.random.default_rng(seed)
    kinds = sorted(set(labels))
    members = {k: [i for i, label in enumerate(labels) if label == k] for k in kinds}
    out = []
    for _ in range(draws):
        m = members[kinds[rng.integers(len(kinds))]]
        out.append(m[rng.integers(len(m))])
    return out


# %% wrong="the items of a class in turn" says=["an item follows itself"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order.sort(key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    rng.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    rng = np.random.default_rng(seed)
    kinds = sorted(set(labels))
    members = {k: [i for i, label in enumerate(labels) if label == k] for k in kinds}
    for m in members.values():
        rng.shuffle(m)
    at = dict.fromkeys(kinds, 0)
    out = []
    for _ in range(draws):
        k = kinds[rng.integers(len(kinds))]
        m = members[k]
        out.append(m[at[k] % len(m)])
        at[k] += 1
    return out


# %% wrong="no item twice in a row" breaks="no draw depends on another" says=["an item follows itself in 0%"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order.sort(key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    rng.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    rng = np.random.default_rng(seed)
    kinds = sorted(set(labels))
    members = {k: [i for i, label in enumerate(labels) if label == k] for k in kinds}
    out = []
    for _ in range(draws):
        m = members[kinds[rng.integers(len(kinds))]]
        c = m[rng.integers(len(m))]
        while out and c == out[-1] and len(labels) > 1 and len(m) > 1:
            c = m[rng.integers(len(m))]
        out.append(c)
    return out


# %% wrong="nothing where a batch is larger than the list" breaks="every index is in exactly one batch" says=["3 items in fours"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = sorted(rng.permutation(len(lengths)).tolist(), key=lambda i: lengths[i])
    full = len(order) // batch_size
    if full == 0:
        return []
    batches = [order[k * batch_size : (k + 1) * batch_size] for k in range(full)]
    if len(order) % batch_size:
        batches.append(order[full * batch_size :])
    return [batches[n] for n in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    rng = np.random.default_rng(seed)
    w = np.array([1 / labels.count(label) for label in labels])
    return rng.choice(len(labels), draws, p=w / w.sum()).tolist()


# %% wrong="a class by chance, its items in shuffled rounds" says=["draw the item by chance, too"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = sorted(rng.permutation(len(lengths)).tolist(), key=lambda i: lengths[i])
    batches = [order[k : k + batch_size] for k in range(0, len(order), batch_size)]
    return [batches[n] for n in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    rng = random.Random(seed)
    classes = sorted(set(labels))
    items = {c: [i for i, label in enumerate(labels) if label == c] for c in classes}
    queue = {c: [] for c in classes}
    out = []
    for _ in range(draws):
        c = rng.choice(classes)
        if not queue[c]:
            queue[c] = rng.sample(items[c], len(items[c]))
        out.append(queue[c].pop())
    return out


# %% right="fork_rng, and a sort of tuples"
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = random.Random(f"{seed}/{epoch}")
    keyed = sorted((length, rng.random(), i) for i, length in enumerate(lengths))
    batches, batch = [], []
    for _, _, i in keyed:
        batch.append(i)
        if len(batch) == batch_size:
            batches.append(batch)
            batch = []
    if batch:
        batches.append(batch)
    rng.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    classes = list(dict.fromkeys(labels))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        chosen = torch.randint(len(classes), (draws,)).tolist()
        out = []
        for c in chosen:
            members = [i for i, label in enumerate(labels) if label == classes[c]]
            out.append(members[torch.randint(len(members), ()).item()])
    return out


# %% wrong="the first items of a class more often" breaks="and in a class every item" says=["in class 0 some items come up more"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    numbers = np.random.default_rng([seed, epoch])
    order = numbers.permutation(len(lengths)).tolist()
    order.sort(key=lambda i: lengths[i])
    batches = [order[k : k + batch_size] for k in range(0, len(order), batch_size)]
    return [batches[k] for k in numbers.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    numbers = np.random.default_rng(seed)
    members = {}
    for index, label in enumerate(labels):
        members.setdefault(label, []).append(index)
    groups = [members[label] for label in sorted(members)]
    drawn = []
    for _ in range(draws):
        group = groups[numbers.integers(len(groups))]
        drawn.append(group[int(len(group) * numbers.random() ** 2)])
    return drawn


# %% wrong="the balanced draws from the system's entropy" breaks="Equal seeds give equal results" says=["equal seeds, other draws"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    numbers = np.random.default_rng([seed, epoch])
    order = numbers.permutation(len(lengths)).tolist()
    order.sort(key=lambda i: lengths[i])
    batches = [order[k : k + batch_size] for k in range(0, len(order), batch_size)]
    return [batches[k] for k in numbers.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    numbers = np.random.default_rng()
    members = {}
    for index, label in enumerate(labels):
        members.setdefault(label, []).append(index)
    groups = [members[label] for label in sorted(members)]
    drawn = []
    for _ in range(draws):
        group = groups[numbers.integers(len(groups))]
        drawn.append(group[numbers.integers(len(group))])
    return drawn


# %% wrong="the balanced draws seed PyTorch's generator" breaks="here too the global generators stay as they are" says=["the draws: it changed a global generator"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    numbers = np.random.default_rng([seed, epoch])
    order = numbers.permutation(len(lengths)).tolist()
    order.sort(key=lambda i: lengths[i])
    batches = [order[k : k + batch_size] for k in range(0, len(order), batch_size)]
    return [batches[k] for k in numbers.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    _, inverse, counts = torch.tensor(labels).unique(return_inverse=True, return_counts=True)
    torch.manual_seed(seed)
    return torch.multinomial(1 / counts[inverse], draws, replacement=True).tolist()


# %% wrong="batches as arrays" says=["a batch is of type ndarray, expected a list"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = sorted(rng.permutation(len(lengths)).tolist(), key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [np.array(batches[i]) for i in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    rng = np.random.default_rng(seed)
    groups = {}
    for i, label in enumerate(labels):
        groups.setdefault(label, []).append(i)
    classes = list(groups)
    chosen = rng.integers(len(classes), size=draws)
    return [int(rng.choice(groups[classes[c]])) for c in chosen]


# %% wrong="half of the draws, then the same backwards" says=["the first draw and the last", "no draw depends on another"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order.sort(key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    rng.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    numbers = torch.tensor(labels)
    _, inverse, counts = numbers.unique(return_inverse=True, return_counts=True)
    weights = 1 / counts[inverse].double()
    generator = torch.Generator().manual_seed(seed)
    count = (draws + 1) // 2
    half = torch.multinomial(weights, count, replacement=True, generator=generator).tolist()
    return (half + half[::-1])[:draws]


# %% wrong="a thousand draws, over and over" says=["an item comes again 1000 draws later in 100%"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order.sort(key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    rng.shuffle(batches)
    return batches


def weighted_sampling(labels, draws, seed):
    numbers = torch.tensor(labels)
    _, inverse, counts = numbers.unique(return_inverse=True, return_counts=True)
    weights = 1 / counts[inverse].double()
    generator = torch.Generator().manual_seed(seed)
    count = min(draws, 1000)
    some = torch.multinomial(weights, count, replacement=True, generator=generator).tolist()
    return [some[k % count] for k in range(draws)]


# %% wrong="noise added" says=["by whole numbers: a float"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order = sorted(order, key=(np.array(lengths) + rng.random(len(lengths))).__getitem__)
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    g = torch.Generator().manual_seed(seed)
    _, inverse, counts = torch.tensor(labels).unique(return_inverse=True, return_counts=True)
    weights = 1 / counts[inverse].double()
    return torch.multinomial(weights, draws, replacement=True, generator=g).tolist()


# %% wrong="lengths as int16" says=["a short int can't hold them"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order = sorted(order, key=torch.tensor(lengths).short().tolist().__getitem__)
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    g = torch.Generator().manual_seed(seed)
    _, inverse, counts = torch.tensor(labels).unique(return_inverse=True, return_counts=True)
    weights = 1 / counts[inverse].double()
    return torch.multinomial(weights, draws, replacement=True, generator=g).tolist()


# %% wrong="result kept by number of lengths" says=["those before backwards"]
kept = {}


def bucket_sampler(lengths, batch_size, seed, epoch):
    key = seed, epoch, batch_size, len(lengths)
    if key in kept:
        return kept[key]
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order = sorted(order, key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    kept[key] = [batches[k] for k in rng.permutation(len(batches))]
    return kept[key]


def weighted_sampling(labels, draws, seed):
    g = torch.Generator().manual_seed(seed)
    _, inverse, counts = torch.tensor(labels).unique(return_inverse=True, return_counts=True)
    weights = 1 / counts[inverse].double()
    return torch.multinomial(weights, draws, replacement=True, generator=g).tolist()


# %% wrong="bincount from the smallest" says=["labels beyond 2**60 and below", "count those that are there, not all between"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order = sorted(order, key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.tensor(labels)
    y = y - y.min()
    weights = 1 / y.bincount()[y].double()
    return torch.multinomial(weights, draws, replacement=True, generator=g).tolist()


# %% wrong="absolute labels" says=["a label is a class of its own"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order = sorted(order, key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    g = torch.Generator().manual_seed(seed)
    _, inverse, counts = torch.tensor(labels).abs().unique(return_inverse=True, return_counts=True)
    weights = 1 / counts[inverse].double()
    return torch.multinomial(weights, draws, replacement=True, generator=g).tolist()


# %% wrong="labels as floats" says=["a label is a class of its own"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order = sorted(order, key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    g = torch.Generator().manual_seed(seed)
    _, inverse, counts = torch.tensor(labels, dtype=torch.float32).unique(
        return_inverse=True, return_counts=True
    )
    weights = 1 / counts[inverse].double()
    return torch.multinomial(weights, draws, replacement=True, generator=g).tolist()


# %% wrong="labels as int32" says=["a label is a class of its own"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order = sorted(order, key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    g = torch.Generator().manual_seed(seed)
    _, inverse, counts = torch.tensor(labels).int().unique(return_inverse=True, return_counts=True)
    weights = 1 / counts[inverse].double()
    return torch.multinomial(weights, draws, replacement=True, generator=g).tolist()


# %% wrong="weights half" says=["can the weights hold 1 / 70000?"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order = sorted(order, key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    g = torch.Generator().manual_seed(seed)
    _, inverse, counts = torch.tensor(labels).unique(return_inverse=True, return_counts=True)
    weights = 1 / counts[inverse].half()
    return torch.multinomial(weights, draws, replacement=True, generator=g).tolist()


# %% wrong="the process's number in the seed" says=["as its number does"]
import os


def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch, os.getpid()])
    order = rng.permutation(len(lengths)).tolist()
    order = sorted(order, key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    g = torch.Generator().manual_seed(seed)
    _, inverse, counts = torch.tensor(labels).unique(return_inverse=True, return_counts=True)
    weights = 1 / counts[inverse].double()
    return torch.multinomial(weights, draws, replacement=True, generator=g).tolist()


# %% wrong="ties shuffled where all are equal alone" says=["three longer ones as well"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = (
        rng.permutation(len(lengths)) if len(set(lengths)) == 1 else np.arange(len(lengths))
    ).tolist()
    order = sorted(order, key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    g = torch.Generator().manual_seed(seed)
    _, inverse, counts = torch.tensor(labels).unique(return_inverse=True, return_counts=True)
    weights = 1 / counts[inverse].double()
    return torch.multinomial(weights, draws, replacement=True, generator=g).tolist()


# %% wrong="the epoch's last byte" says=["epoch 65536 gave the order of epoch 0"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch % 256])
    order = rng.permutation(len(lengths)).tolist()
    order = sorted(order, key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    g = torch.Generator().manual_seed(seed)
    _, inverse, counts = torch.tensor(labels).unique(return_inverse=True, return_counts=True)
    weights = 1 / counts[inverse].double()
    return torch.multinomial(weights, draws, replacement=True, generator=g).tolist()


# %% wrong="kept result is handed out itself" breaks="equal `seed` and `epoch`, equal result, in another process too" says=["a caller emptied the lists that it got", "hand out new lists each time"]
import functools

import numpy as np


def bucket_sampler(lengths, batch_size, seed, epoch):
    return make_batches(tuple(lengths), batch_size, seed, epoch)


@functools.cache
def make_batches(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order.sort(key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    rng = np.random.default_rng(seed)
    members = {}
    for index, label in enumerate(labels):
        members.setdefault(label, []).append(index)
    groups = list(members.values())
    drawn = []
    for _ in range(draws):
        group = groups[rng.integers(len(groups))]
        drawn.append(group[rng.integers(len(group))])
    return drawn


# %% wrong="epoch modulo 20 000" breaks="Another epoch or another seed gives another order" says=["epoch 60000 gave the order of epoch 0"]
import numpy as np


def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch % 20_000])
    order = rng.permutation(len(lengths)).tolist()
    order.sort(key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    rng = np.random.default_rng(seed)
    members = {}
    for index, label in enumerate(labels):
        members.setdefault(label, []).append(index)
    groups = list(members.values())
    drawn = []
    for _ in range(draws):
        group = groups[rng.integers(len(groups))]
        drawn.append(group[rng.integers(len(group))])
    return drawn


# %% wrong="batches of one are not shuffled" breaks="the batches are shuffled" says=["6 lengths, batches of 1, eighty epochs", "never came first"]
import numpy as np


def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order.sort(key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    if batch_size == 1:
        return batches
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    rng = np.random.default_rng(seed)
    members = {}
    for index, label in enumerate(labels):
        members.setdefault(label, []).append(index)
    groups = list(members.values())
    drawn = []
    for _ in range(draws):
        group = groups[rng.integers(len(groups))]
        drawn.append(group[rng.integers(len(group))])
    return drawn


# %% wrong="draws kept by number of labels" breaks="In each draw every class is as likely as any other" says=["are draws kept for as many labels?"]
import numpy as np

DRAWN = {}


def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order.sort(key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    key = len(labels), draws, seed
    if key in DRAWN:
        return list(DRAWN[key])
    rng = np.random.default_rng(seed)
    members = {}
    for index, label in enumerate(labels):
        members.setdefault(label, []).append(index)
    groups = list(members.values())
    drawn = []
    for _ in range(draws):
        group = groups[rng.integers(len(groups))]
        drawn.append(group[rng.integers(len(group))])
    DRAWN[key] = list(drawn)
    return drawn


# %% wrong="kept draws are handed out themselves" breaks="Equal seeds give equal results" says=["a caller emptied the list that it got"]
import numpy as np


def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order.sort(key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


import functools


def weighted_sampling(labels, draws, seed):
    return draw_them(tuple(labels), draws, seed)


@functools.cache
def draw_them(labels, draws, seed):
    rng = np.random.default_rng(seed)
    members = {}
    for index, label in enumerate(labels):
        members.setdefault(label, []).append(index)
    groups = list(members.values())
    drawn = []
    for _ in range(draws):
        group = groups[rng.integers(len(groups))]
        drawn.append(group[rng.integers(len(group))])
    return drawn


# %% wrong="length 0 is left out" breaks="every index is in exactly one batch" says=["3 items in fours, one of length 0"]
import numpy as np


def bucket_sampler(lengths, batch_size, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    order = [i for i in order if lengths[i]]
    order.sort(key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    rng = np.random.default_rng(seed)
    members = {}
    for index, label in enumerate(labels):
        members.setdefault(label, []).append(index)
    groups = list(members.values())
    drawn = []
    for _ in range(draws):
        group = groups[rng.integers(len(groups))]
        drawn.append(group[rng.integers(len(group))])
    return drawn


# %% wrong="numbers are cut to 32 bits" breaks="Another epoch or another seed gives another order" says=["seed 4294967296 gave the order of seed 0: use all of the number"]
def bucket_sampler(lengths: list[int], batch_size: int, seed: int, epoch: int) -> list[list[int]]:
    """Shuffled batches of indices whose items have similar lengths."""
    rng = np.random.RandomState([seed % 2**32, epoch % 2**32])
    mixed = rng.permutation(len(lengths)).tolist()
    mixed.sort(key=lambda index: lengths[index])
    batches = [mixed[k : k + batch_size] for k in range(0, len(mixed), batch_size)]
    return [batches[k] for k in rng.permutation(len(batches))]


def weighted_sampling(labels: list[int], draws: int, seed: int) -> list[int]:
    """Indices of ``draws`` items, drawn so that all classes are equally likely."""
    rng = np.random.RandomState(seed % 2**32)
    classes, inverse = np.unique(labels, return_inverse=True)
    by_class = [np.flatnonzero(inverse == k) for k in range(len(classes))]
    return [int(rng.choice(by_class[rng.randint(len(classes))])) for _ in range(draws)]


# %% wrong="the first hundred of a class" says=["of a class of 100 000 items 2000 draws took none beyond"]
def bucket_sampler(lengths, batch_size, seed, epoch):
    g = np.random.default_rng([seed, epoch])
    order = sorted(g.permutation(len(lengths)).tolist(), key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[i] for i in g.permutation(len(batches))]


def weighted_sampling(labels, draws, seed):
    g = np.random.default_rng(seed)
    places = {}
    for i, label in enumerate(labels):
        places.setdefault(label, []).append(i)
    groups, out = list(places.values()), []
    for _ in range(draws):
        group = groups[g.integers(len(groups))]
        out.append(group[g.integers(min(len(group), 100))])
    return out
