# %% [markdown]
# Rules:
#
# - "Return a list of pairs `(name, noise)`"
# - "each name once"
# - "in a shuffled order"
# - "with `noise` a `float`"
# - "drawn from the standard normal distribution"
# - "the list depends on the names, the seed and the epoch, and on nothing else"
# - "not on the order in which the set is walked"
# - "not on hashes"
# - "not on what was drawn before"
# - "no two pairs of seed and epoch give the same order or the same noise"
# - "not 0, 1 and 1, 0"
# - "not 0, 31 and 1, 0 either"
# - "`names` and the global random states"
# - "the global random states of Python, NumPy and PyTorch are left as they were"
# - "the list belongs to the caller, who may change it"
#
# Admits:
#
# - "maybe empty": an empty set of names
# - "a set of printable strings": names that differ in capitals, blanks and accents alone
# - "who may change it": other names, and a list that the caller emptied

# %% wrong="walks the set" breaks="not on the order in which the set is walked" says=["sort the names first"]
def deterministic(names, seed, epoch):
    numbers = np.random.default_rng([seed, epoch])
    names = list(names)
    numbers.shuffle(names)
    return [(name, float(numbers.standard_normal())) for name in names]


# %% wrong="seeds the global generator" breaks="the global random states of Python, NumPy and PyTorch are left as they were" says=["PyTorch was changed"]
def deterministic(names, seed, epoch):
    torch.manual_seed(1000 * seed + epoch)
    names = sorted(names)
    order = torch.randperm(len(names)).tolist()
    noise = torch.randn(len(names)).tolist()
    return [(names[i], noise[i]) for i in order]


# %% wrong="adds seed and epoch" breaks="not 0, 1 and 1, 0" says=["(seed, epoch) = (0, 1) and (1, 0) give the same order", "no two pairs collide"]
def deterministic(names, seed, epoch):
    numbers = random.Random(seed + epoch)
    names = sorted(names)
    numbers.shuffle(names)
    return [(name, numbers.gauss(0, 1)) for name in names]


# %% wrong="draws from the global generators" says=["use a separate generator", "that of Python was changed"]
def deterministic(names, seed, epoch):
    names = sorted(names)
    random.shuffle(names)
    return [(name, random.gauss(0, 1)) for name in names]


# %% wrong="the noise of the seed alone" breaks="no two pairs of seed and epoch give the same order or the same noise" says=["give the same noise"]
def deterministic(names, seed, epoch):
    names = sorted(names)
    noise = np.random.default_rng(seed).standard_normal(len(names))
    random.Random(1000 * seed + epoch).shuffle(names)
    return list(zip(names, noise.tolist()))


# %% wrong="Python's hash mixes" says=["give the same order"]
def deterministic(names, seed, epoch):
    numbers = random.Random(int(str(seed) + str(epoch)))
    names = sorted(names)
    numbers.shuffle(names)
    return [(name, numbers.gauss(0, 1)) for name in names]


# %% wrong="never shuffles" breaks="in a shuffled order" says=["the names are in order, not shuffled"]
def deterministic(names, seed, epoch):
    numbers = np.random.default_rng([seed, epoch])
    return [(name, float(numbers.standard_normal())) for name in sorted(names)]


# %% wrong="uniform noise" breaks="drawn from the standard normal distribution" says=["expected about 0 and 1"]
def deterministic(names, seed, epoch):
    numbers = random.Random(f"{seed},{epoch}")
    names = sorted(names)
    numbers.shuffle(names)
    return [(name, numbers.random()) for name in names]


# %% wrong="NumPy's numbers" breaks="with `noise` a `float`" says=["isn't a Python float"]
def deterministic(names, seed, epoch):
    numbers = np.random.default_rng([seed, epoch])
    names = sorted(names)
    numbers.shuffle(names)
    return list(zip(names, numbers.standard_normal(len(names)).astype("float32")))


# %% right="random.Random from a text"
def deterministic(names, seed, epoch):
    numbers = random.Random(f"{seed}/{epoch}")
    names = sorted(names)
    numbers.shuffle(names)
    return [(name, numbers.gauss(0, 1)) for name in names]


# %% right="a torch generator, one number of both"
def deterministic(names, seed, epoch):
    generator = torch.Generator().manual_seed(1000 * seed + epoch)
    names = sorted(names)
    order = torch.randperm(len(names), generator=generator)
    noise = torch.randn(len(names), generator=generator, dtype=torch.float64)
    return [(names[int(i)], value.item()) for i, value in zip(order, noise)]


# %% right="hashes of the text decide"
import hashlib  # noqa: E402
import statistics  # noqa: E402


def deterministic(names, seed, epoch):
    def digest(name, what):
        text = f"{what}|{seed}|{epoch}|{name}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")

    normal = statistics.NormalDist()
    order = sorted(names, key=lambda name: (digest(name, "order"), name))
    return [(name, normal.inv_cdf((digest(name, "noise") + 0.5) / 2**56)) for name in order]


# %% wrong="the hash of a string as a seed" breaks="not on hashes" says=["hash() of a string is another in each process"]
def deterministic(names, seed, epoch):
    r = random.Random(hash(f"{seed}-{epoch}"))
    order = sorted(names)
    r.shuffle(order)
    return [(name, r.gauss(0, 1)) for name in order]


# %% right="a digest, and global states put back"
def deterministic(names, seed, epoch):
    import hashlib

    digest = int.from_bytes(hashlib.sha256(f"{seed}/{epoch}".encode()).digest()[:4], "big")
    before = np.random.get_state()
    try:
        np.random.seed(digest)
        order = np.random.permutation(sorted(names)).tolist() if names else []
        return list(zip(order, map(float, np.random.randn(len(order)))))
    finally:
        np.random.set_state(before)


# %% wrong="31 times the seed, plus the epoch" breaks="not 0, 31 and 1, 0 either" says=["(seed, epoch) = (0, 31) and (1, 0) give the same order"]
def deterministic(names, seed, epoch):
    numbers = random.Random(31 * seed + epoch)
    names = sorted(names)
    numbers.shuffle(names)
    return [(name, numbers.gauss(0, 1)) for name in names]


# %% wrong="997 times the epoch, plus the seed" says=["(seed, epoch) = (0, 1) and (997, 0) give the same order"]
def deterministic(names, seed, epoch):
    numbers = np.random.default_rng(seed + 997 * epoch)
    names = sorted(names)
    numbers.shuffle(names)
    return [(name, float(numbers.standard_normal())) for name in names]


# %% wrong="the noise from the epoch alone" says=["give the same noise"]
def deterministic(names, seed, epoch):
    order = random.Random(f"{seed}/{epoch}")
    names = sorted(names)
    order.shuffle(names)
    noise = np.random.default_rng(epoch).standard_normal(len(names))
    return list(zip(names, noise.tolist()))


# %% wrong="uses the set up" breaks="`names` and the global random states" says=["the set of names was changed"]
def deterministic(names, seed, epoch):
    numbers = random.Random(f"{seed}/{epoch}")
    order = sorted(names)
    names.clear()
    numbers.shuffle(order)
    return [(name, numbers.gauss(0, 1)) for name in order]


# %% right="float64 numbers of NumPy's, from a SeedSequence"
def deterministic(names, seed, epoch):
    numbers = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, epoch))))
    order = np.array(sorted(names), dtype=object)
    numbers.shuffle(order)
    return [(name, noise) for name, noise in zip(order, numbers.normal(size=len(order)))]


# %% wrong="kept by seed and epoch" judge="differs" breaks="the list depends on the names, the seed and the epoch, and on nothing else" says=["other names with the same seed and epoch gave the names of an earlier call"]
kept = {}


def deterministic(names, seed, epoch):
    if (seed, epoch) not in kept:
        numbers = random.Random(f"{seed},{epoch}")
        order = sorted(names)
        numbers.shuffle(order)
        kept[seed, epoch] = [(name, numbers.gauss(0, 1)) for name in order]
    return list(kept[seed, epoch])


# %% wrong="hands out the list that it keeps" breaks="the list belongs to the caller, who may change it" says=["the list that came out was emptied, and the next call gave something else"]
import functools


@functools.cache
def shuffled(names, seed, epoch):
    numbers = random.Random(f"{seed},{epoch}")
    order = sorted(names)
    numbers.shuffle(order)
    return [(name, numbers.gauss(0, 1)) for name in order]


def deterministic(names, seed, epoch):
    return shuffled(frozenset(names), seed, epoch)


# %% wrong="a generator kept on a class" breaks="not on what was drawn before" says=["the second call gives something else"]
class Generators:
    made = {}


def deterministic(names, seed, epoch):
    numbers = Generators.made.setdefault((seed, epoch), random.Random(f"{seed},{epoch}"))
    order = sorted(names)
    numbers.shuffle(order)
    return [(name, numbers.gauss(0, 1)) for name in order]


# %% right="1000 times the seed, plus the epoch: no two collide below 1000"
def deterministic(names, seed, epoch):
    numbers = random.Random(1000 * seed + epoch)
    order = sorted(names)
    numbers.shuffle(order)
    return [(name, numbers.gauss(0, 1)) for name in order]


# %% wrong="noise that rises" says=["the noise is in order: each name has a draw"]
def deterministic(names, seed, epoch):
    numbers = random.Random(f"{seed},{epoch}")
    order = sorted(names)
    numbers.shuffle(order)
    noise = sorted(numbers.gauss(0, 1) for _ in order)
    return list(zip(order, noise))


# %% wrong="the noise first" breaks="Return a list of pairs `(name, noise)`" says=["a pair is (name, noise), in this order"]
def deterministic(names, seed, epoch):
    numbers = random.Random(f"{seed},{epoch}")
    order = sorted(names)
    numbers.shuffle(order)
    return [(numbers.gauss(0, 1), name) for name in order]


# %% wrong="seed and epoch written one behind the other" says=["(seed, epoch) = (1, 11) and (11, 1) give the same order"]
def deterministic(names, seed, epoch):
    numbers = random.Random(f"{seed}{epoch}")
    order = sorted(names)
    numbers.shuffle(order)
    return [(name, numbers.gauss(0, 1)) for name in order]


# %% wrong="uniform noise of deviation 1" says=["beyond 3 or -3"]
def deterministic(names, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    names = sorted(names)
    order = rng.permutation(len(names))
    return [(names[i], float(rng.uniform(-(3**0.5), 3**0.5))) for i in order]


# %% wrong="noise standardised in each call" says=["draw each without regard"]
def deterministic(names, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    names = sorted(names)
    order = rng.permutation(len(names))
    z = rng.standard_normal(len(names))
    z = (z - z.mean()) / z.std()
    return [(names[i], float(z[k])) for k, i in enumerate(order)]


# %% wrong="the second half mirrors the first" says=["draw each without regard"]
def deterministic(names, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    names = sorted(names)
    order = rng.permutation(len(names))
    h = rng.standard_normal(-(-len(names) // 2)).tolist()
    noise = h + [-v for v in h]
    return [(names[i], noise[k]) for k, i in enumerate(order)]


# %% wrong="clipped at 3" says=["none of 4000 numbers is beyond 3 or -3"]
def deterministic(names, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    names = sorted(names)
    order = rng.permutation(len(names))
    return [(names[i], float(np.clip(rng.standard_normal(), -3, 3))) for i in order]


# %% wrong="deviation 0.9" says=["expected about 0 and 1"]
def deterministic(names, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    names = sorted(names)
    order = rng.permutation(len(names))
    return [(names[i], 0.9 * float(rng.standard_normal())) for i in order]


# %% wrong="sum of three uniforms" says=["none of 4000 numbers is beyond 3 or -3"]
def deterministic(names, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    names = sorted(names)
    order = rng.permutation(len(names))
    return [(names[i], 2 * float(rng.random(3).sum() - 1.5)) for i in order]


# %% wrong="fails for no names" says=["an empty set of names: raised IndexError"]
def deterministic(names, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    names = sorted(names)
    names[0]
    order = rng.permutation(len(names))
    return [(names[i], float(rng.standard_normal())) for i in order]


# %% wrong="the hash of a tuple that holds the names" says=["hash() of a string is another in each process"]
def deterministic(names, seed, epoch):
    rng = random.Random(hash((seed, epoch, tuple(sorted(names)))))
    order = sorted(names)
    rng.shuffle(order)
    return [(n, rng.gauss(0, 1)) for n in order]


# %% right="Philox with a key, argsort of draws"
def deterministic(names, seed, epoch):
    bits = np.random.Generator(np.random.Philox(key=[seed, epoch + 1]))
    listed = sorted(names)
    keys = bits.random(len(listed))
    return [(listed[i], float(v)) for i, v in zip(np.argsort(keys), bits.normal(size=len(listed)))]


# %% right="digests of the names and NormalDist"
def deterministic(names, seed, epoch):
    import hashlib
    from statistics import NormalDist

    def unit(*parts):
        digest = hashlib.sha512(repr(parts).encode()).digest()
        return (int.from_bytes(digest[:8], "big") + 0.5) / 2**64

    order = sorted(names, key=lambda name: unit(seed, epoch, name, "order"))
    return [(name, NormalDist().inv_cdf(unit(seed, epoch, name, "noise"))) for name in order]


# %% wrong="names drawn with replacement" breaks="each name once" says=["the names: expected", "each of them once"]
def deterministic(names, seed, epoch):
    numbers = np.random.default_rng([seed, epoch])
    order = sorted(names)
    order = [order[k] for k in numbers.integers(len(order), size=len(order))] if order else []
    return [(name, float(numbers.standard_normal())) for name in order]


# %% wrong="a tuple" says=["a tuple came back, where a list is asked for"]
def deterministic(names, seed, epoch):
    generator = np.random.default_rng([seed, epoch])
    ordered = sorted(names)
    order = generator.permutation(len(ordered))
    noise = generator.standard_normal(len(ordered))
    return tuple((ordered[i], float(v)) for i, v in zip(order, noise))


# %% wrong="noise grows with the epoch" says=["4000 numbers have mean"]
def deterministic(names, seed, epoch):
    generator = np.random.default_rng([seed, epoch])
    ordered = sorted(names)
    order = generator.permutation(len(ordered))
    noise = generator.standard_normal(len(ordered))
    return [(ordered[i], float(v) * (1 + epoch / 100)) for i, v in zip(order, noise)]


# %% wrong="sorts without regard to capitals" says=["names that differ in capitals, blanks and accents alone", "sort by the whole name"]
def deterministic(names, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = sorted(names, key=str.lower)
    rng.shuffle(order)
    return [(name, float(rng.standard_normal())) for name in order]


# %% wrong="a single name gets no noise" says=["one name", "it is drawn, for one name as well"]
def deterministic(names, seed, epoch):
    rng = np.random.default_rng([seed, epoch])
    order = sorted(names)
    if len(order) == 1:
        return [(order[0], 0.0)]
    rng.shuffle(order)
    return [(name, float(rng.standard_normal())) for name in order]


# %% wrong="remembers by seed, epoch and the number of names" breaks="the list depends on the names, the seed and the epoch, and on nothing else" says=["as many names, of which one is another, gave the names of an earlier call"]
remembered = {}


def deterministic(names, seed, epoch):
    if (seed, epoch, len(names)) not in remembered:
        generator = np.random.default_rng([seed, epoch])
        ordered = sorted(names)
        generator.shuffle(ordered)
        remembered[seed, epoch, len(names)] = [
            (name, float(generator.standard_normal())) for name in ordered
        ]
    return list(remembered[seed, epoch, len(names)])


# %% wrong="the noise of a name is that of the first call" says=["some got other noise than in a new process"]
def deterministic(names, seed, epoch):
    generator = np.random.default_rng([seed, epoch])
    ordered = sorted(names)
    order = generator.permutation(len(ordered))
    table = deterministic.__dict__.setdefault("noise", {})
    return [
        (
            ordered[i],
            table.setdefault(
                (ordered[i], seed, epoch),
                float(np.random.default_rng([seed, epoch, int(i)]).standard_normal()),
            ),
        )
        for i in order
    ]


# %% wrong="shuffles all but the last name" breaks="in a shuffled order" says=["shuffle them all together"]
def deterministic(names, seed, epoch):
    generator = np.random.default_rng([seed, epoch])
    ordered = sorted(names)
    order = np.append(generator.permutation(max(0, len(ordered) - 1)), np.arange(len(ordered))[-1:])
    noise = generator.standard_normal(len(ordered))
    return [(ordered[i], float(z)) for i, z in zip(order, noise, strict=True)]


# %% wrong="NumPy's state put back without the normal number in reserve" breaks="the global random states of Python, NumPy and PyTorch are left as they were" says=["the normal number that NumPy keeps in reserve, a part of its state, was changed"]
def deterministic(names, seed, epoch):
    before, ordered = np.random.get_state(), sorted(names)
    np.random.seed([seed, epoch])
    order = np.random.permutation(len(ordered))
    noise = np.random.standard_normal(len(ordered))
    np.random.set_state(before[:3])
    return [(ordered[i], float(value)) for i, value in zip(order, noise, strict=True)]
