# %% [markdown]
# Rules:
#
# - "The order is `range(length)`"
# - "as a list of `int`"
# - "the permutation that `torch.randperm(length)` draws"
# - "after seeding with `seed + epoch`"
# - "Afterwards the global random state is as before"
# - "Each rank gets ⌈length / world_size⌉ indices"
# - "pad with the order's beginning"
# - "repeated as often as needed"
# - "each rank gets ⌊length / world_size⌋"
# - "and the order is cut"
# - "Rank r takes entries r, r + world_size, r + 2 · world_size"
# - "Do not make a `DistributedSampler`"
#
# Admits:
#
# - "`length` is 1 or more": ((1, 1, 2), plain)
# - "With `drop_last`": (2, 1, 3), cut
# - "or with `shuffle`": {"epoch": 3, "seed": seed}
# - "repeated as often as needed": (2, 4, 5)

# %% wrong="blocks instead of dealing" breaks="Rank r takes entries r, r + world_size, r + 2 · world_size" says=["deal like cards"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    order = list(range(length))
    if shuffle:
        order = torch.randperm(
            length, generator=torch.Generator().manual_seed(seed + epoch)
        ).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    order = (order * world_size)[: each * world_size]
    return order[rank * each : (rank + 1) * each]


# %% wrong="no padding" breaks="Each rank gets ⌈length / world_size⌉ indices" says=["2 indices; each rank gets ⌈7 / 3⌉ = 3"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    order = list(range(length))
    if shuffle:
        order = torch.randperm(
            length, generator=torch.Generator().manual_seed(seed + epoch)
        ).tolist()
    if drop_last:
        order = order[: length // world_size * world_size]
    return order[rank::world_size]


# %% wrong="pads once only" breaks="repeated as often as needed" says=["sampler_by_hand(2, 4, 5, shuffle=False)", "0 indices; each rank gets"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    order = list(range(length))
    if shuffle:
        order = torch.randperm(
            length, generator=torch.Generator().manual_seed(seed + epoch)
        ).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    order = (order + order[: each * world_size - length])[: each * world_size]
    return order[rank::world_size]


# %% wrong="epoch forgotten" breaks="after seeding with `seed + epoch`" says=["the seed of the shuffle is seed + epoch"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    order = list(range(length))
    if shuffle:
        order = torch.randperm(length, generator=torch.Generator().manual_seed(seed)).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    return [order[k % length] for k in range(rank, each * world_size, world_size)]


# %% wrong="global seed" breaks="Afterwards the global random state is as before" says=["the global random state changed"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    order = list(range(length))
    if shuffle:
        torch.manual_seed(seed + epoch)
        order = torch.randperm(length).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    return [order[k % length] for k in range(rank, each * world_size, world_size)]


# %% wrong="the library's sampler" breaks="Do not make a `DistributedSampler`" says=["this makes a DistributedSampler"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    sampler = DistributedSampler(range(length), world_size, rank, shuffle, seed, drop_last)
    sampler.set_epoch(epoch)
    return list(sampler)


# %% wrong="a tensor" breaks="as a list of `int`" says=["expected a list of int, got Tensor"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    order = torch.arange(length)
    if shuffle:
        order = torch.randperm(length, generator=torch.Generator().manual_seed(seed + epoch))
    each = length // world_size if drop_last else -(-length // world_size)
    return order.repeat(world_size)[: each * world_size][rank::world_size]


# %% right="itertools"
import itertools


def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    generator = torch.Generator()
    generator.manual_seed(seed + epoch)
    order = torch.randperm(length, generator=generator).tolist() if shuffle else range(length)
    left = length % world_size
    total = length - left if drop_last else length + (world_size - left) % world_size
    return list(itertools.islice(itertools.cycle(order), rank, total, world_size))


# %% right="a table of tensors"
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    g = torch.Generator().manual_seed(epoch + seed)
    order = torch.randperm(length, generator=g) if shuffle else torch.arange(length)
    if drop_last:
        each = length // world_size
        order = order[: each * world_size]
    else:
        each = (length + world_size - 1) // world_size
        order = torch.cat([order] * world_size)[: each * world_size]
    return order.view(each, world_size)[:, rank].tolist()


# %% wrong="pads with range, not with the shuffled beginning" breaks="pad with the order's beginning" says=["only the padding differs"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    g = torch.Generator().manual_seed(seed + epoch)
    order = torch.randperm(length, generator=g).tolist() if shuffle else list(range(length))
    if drop_last:
        total = length - length % world_size
        return order[:total][rank::world_size]
    i = 0
    while len(order) % world_size:
        order.append(i % length)
        i += 1
    return order[rank::world_size]


# %% right="numpy resize and a table"
import numpy as np


def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    if shuffle:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed + epoch)
            order = torch.randperm(length).numpy()
    else:
        order = np.arange(length)
    rounds = length // world_size
    if not drop_last and length % world_size:
        rounds += 1
    return np.resize(order, (rounds, world_size))[:, rank].tolist()


# %% wrong="a loop that never ends" says=["after 7 seconds", "was in sampler_by_hand"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    order = list(range(length))
    if shuffle:
        g = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(length, generator=g).tolist()
    while len(order) != length // world_size * world_size:
        if not drop_last:
            order.append(order[len(order) - length])
        else:
            order = order[:-1]
    return order[rank::world_size]


# %% wrong="the right seed, a permutation turned round" breaks="the permutation that `torch.randperm(length)` draws" says=["unshuffled cases are right"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    g = torch.Generator().manual_seed(seed + epoch)
    order = torch.randperm(length, generator=g).argsort() if shuffle else torch.arange(length)
    each = length // world_size if drop_last else -(-length // world_size)
    return order.repeat(world_size)[: each * world_size][rank::world_size].tolist()


# %% wrong="seeded with the epoch alone" says=["`seed` changes nothing"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    g = torch.Generator().manual_seed(epoch)
    order = torch.randperm(length, generator=g) if shuffle else torch.arange(length)
    each = length // world_size if drop_last else -(-length // world_size)
    return order.repeat(world_size)[: each * world_size][rank::world_size].tolist()


# %% wrong="seeds all of PyTorch, and puts its seed back" says=["the global random state changed"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    before = torch.initial_seed()
    torch.manual_seed(seed + epoch)
    order = torch.randperm(length).tolist() if shuffle else list(range(length))
    torch.manual_seed(before)
    each = length // world_size if drop_last else -(-length // world_size)
    return [order[place % length] for place in range(rank, each * world_size, world_size)]


# %% wrong="pads with the first sample alone" says=["one sample comes again and again"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    order = list(range(length))
    if shuffle:
        generator = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(length, generator=generator).tolist()
    while len(order) % world_size:
        order = order[:-1] if drop_last else [*order, order[0]]
    return order[rank::world_size]


# %% wrong="pads with the last sample" says=["not its end"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    order = list(range(length))
    if shuffle:
        generator = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(length, generator=generator).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    return (order + order[-1:] * world_size)[: each * world_size][rank::world_size]


# %% wrong="each rank shuffles with its own seed" says=["the seed must not depend on the rank"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    order = list(range(length))
    if shuffle:
        generator = torch.Generator().manual_seed(seed + epoch + rank)
        order = torch.randperm(length, generator=generator).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    return [order[place % length] for place in range(rank, each * world_size, world_size)]


# %% right="fork_rng, a table"
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + epoch)
        order = torch.randperm(length) if shuffle else torch.arange(length)
    each = length // world_size if drop_last else (length + world_size - 1) // world_size
    whole = order.repeat(world_size + 1)
    return whole[: each * world_size].view(-1, world_size)[:, rank].tolist()


# %% wrong="drop_last is forgotten where it shuffles" says=["each rank gets ⌊9 / 2⌋ = 4"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    order = list(range(length))
    if shuffle:
        order = torch.randperm(
            length, generator=torch.Generator().manual_seed(seed + epoch)
        ).tolist()
    each = length // world_size if drop_last and not shuffle else -(-length // world_size)
    return [order[i % length] for i in range(rank, each * world_size, world_size)]


# %% wrong="drop_last drops a round where nothing is left over" says=["each rank gets ⌊6 / 2⌋ = 3"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    order = list(range(length))
    if shuffle:
        order = torch.randperm(
            length, generator=torch.Generator().manual_seed(seed + epoch)
        ).tolist()
    each = (length - 1) // world_size if drop_last else -(-length // world_size)
    return [order[i % length] for i in range(rank, each * world_size, world_size)]


# %% wrong="seed times epoch" says=["seed + epoch"]
def sampler_by_hand(
    length: int,
    rank: int,
    world_size: int,
    epoch: int = 0,
    shuffle: bool = True,
    seed: int = 0,
    drop_last: bool = False,
) -> list[int]:
    """The indices that rank ``rank`` sees in this epoch."""
    order = list(range(length))
    if shuffle:
        generator = torch.Generator().manual_seed(seed * epoch)
        order = torch.randperm(length, generator=generator).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    return [order[place % length] for place in range(rank, each * world_size, world_size)]


# %% wrong="drop_last cuts the beginning" breaks="and the order is cut" says=["drop_last cuts the end of the order"]
def sampler_by_hand(
    length: int,
    rank: int,
    world_size: int,
    epoch: int = 0,
    shuffle: bool = True,
    seed: int = 0,
    drop_last: bool = False,
) -> list[int]:
    """The indices that rank ``rank`` sees in this epoch."""
    order = list(range(length))
    if shuffle:
        generator = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(length, generator=generator).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    if drop_last:
        order = order[length - each * world_size :]
    return (
        [order[place % len(order)] for place in range(rank, each * world_size, world_size)]
        if order
        else []
    )


# %% wrong="at least one sample for each rank" breaks="each rank gets ⌊length / world_size⌋" says=["each rank gets ⌊2 / 3⌋ = 0"]
def sampler_by_hand(
    length: int,
    rank: int,
    world_size: int,
    epoch: int = 0,
    shuffle: bool = True,
    seed: int = 0,
    drop_last: bool = False,
) -> list[int]:
    """The indices that rank ``rank`` sees in this epoch."""
    order = list(range(length))
    if shuffle:
        generator = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(length, generator=generator).tolist()
    each = max(1, length // world_size) if drop_last else -(-length // world_size)
    return [order[place % length] for place in range(rank, each * world_size, world_size)]


# %% wrong="the beginning once is all the padding" says=["each rank gets ⌈2 / 5⌉ = 1"]
def sampler_by_hand(
    length: int,
    rank: int,
    world_size: int,
    epoch: int = 0,
    shuffle: bool = True,
    seed: int = 0,
    drop_last: bool = False,
) -> list[int]:
    """The indices that rank ``rank`` sees in this epoch."""
    order = list(range(length))
    if shuffle:
        generator = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(length, generator=generator).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    order = (order + order)[: each * world_size]
    return order[rank::world_size]


# %% right="grows the order until it is long enough"
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    if shuffle:
        state = torch.get_rng_state()
        torch.manual_seed(seed + epoch)
        order = torch.randperm(length).tolist()
        torch.set_rng_state(state)
    else:
        order = [*range(length)]
    rounds, rest = divmod(length, world_size)
    if rest and not drop_last:
        rounds += 1
        while len(order) < rounds * world_size:
            order += order[: rounds * world_size - len(order)]
    return [order[k * world_size + rank] for k in range(rounds)]


# %% wrong="shuffles in every epoch but the first, asked or not" breaks="The order is `range(length)`" says=["it is shuffled, and shuffle=False"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    order = list(range(length))
    if shuffle or epoch:
        generator = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(length, generator=generator).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    return [order[place % length] for place in range(each * world_size)][rank::world_size]


# %% wrong="the state is not restored where nothing is left" says=["sampler_by_hand(1, 0, 2, drop_last=True): the global random state changed"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    if shuffle:
        before = torch.get_rng_state()
        torch.manual_seed(seed + epoch)
        order = torch.randperm(length).tolist()
        if length // world_size == 0 and drop_last:
            return []
        torch.set_rng_state(before)
    else:
        order = list(range(length))
    each = length // world_size if drop_last else -(-length // world_size)
    order = [order[place % length] for place in range(each * world_size)]
    return order[rank::world_size]


# %% wrong="a negative seed made positive" breaks="after seeding with `seed + epoch`" says=["also below 0 or large"]
def sampler_by_hand(
    length: int,
    rank: int,
    world_size: int,
    epoch: int = 0,
    shuffle: bool = True,
    seed: int = 0,
    drop_last: bool = False,
) -> list[int]:
    order = list(range(length))
    if shuffle:
        generator = torch.Generator().manual_seed(abs(seed + epoch))
        order = torch.randperm(length, generator=generator).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    return [order[place % length] for place in range(rank, each * world_size, world_size)]


# %% wrong="keeps the order by length and epoch" breaks="after seeding with `seed + epoch`" says=["an earlier call returned that"]
ORDERS = {}


def sampler_by_hand(
    length: int,
    rank: int,
    world_size: int,
    epoch: int = 0,
    shuffle: bool = True,
    seed: int = 0,
    drop_last: bool = False,
) -> list[int]:
    order = list(range(length))
    if shuffle:
        generator = torch.Generator().manual_seed(seed + epoch)
        order = ORDERS.setdefault(
            (length, epoch), torch.randperm(length, generator=generator).tolist()
        )
    each = length // world_size if drop_last else -(-length // world_size)
    return [order[place % length] for place in range(rank, each * world_size, world_size)]


# %% wrong="one list, kept and given again" says=["after the caller appended to its list, the same call gave another one"]
LISTS = {}


def sampler_by_hand(
    length: int,
    rank: int,
    world_size: int,
    epoch: int = 0,
    shuffle: bool = True,
    seed: int = 0,
    drop_last: bool = False,
) -> list[int]:
    order = list(range(length))
    if shuffle:
        generator = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(length, generator=generator).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    made = [order[place % length] for place in range(rank, each * world_size, world_size)]
    return LISTS.setdefault((length, rank, world_size, epoch, shuffle, seed, drop_last), made)


# %% wrong="seeds Python's random as well" breaks="Afterwards the global random state is as before" says=["the global random state changed"]
def sampler_by_hand(
    length: int,
    rank: int,
    world_size: int,
    epoch: int = 0,
    shuffle: bool = True,
    seed: int = 0,
    drop_last: bool = False,
) -> list[int]:
    order = list(range(length))
    if shuffle:
        random.seed(seed + epoch)
        generator = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(length, generator=generator).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    return [order[place % length] for place in range(rank, each * world_size, world_size)]


# %% wrong="a large epoch starts over" breaks="after seeding with `seed + epoch`" says=["the same order"]
def sampler_by_hand(
    length: int,
    rank: int,
    world_size: int,
    epoch: int = 0,
    shuffle: bool = True,
    seed: int = 0,
    drop_last: bool = False,
) -> list[int]:
    order = list(range(length))
    if shuffle:
        generator = torch.Generator().manual_seed(seed + epoch if seed else epoch % 1000)
        order = torch.randperm(length, generator=generator).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    return [order[place % length] for place in range(rank, each * world_size, world_size)]


# %% wrong="one rank is never shuffled" breaks="the permutation that `torch.randperm(length)` draws" says=["it is not shuffled"]
def sampler_by_hand(
    length: int,
    rank: int,
    world_size: int,
    epoch: int = 0,
    shuffle: bool = True,
    seed: int = 0,
    drop_last: bool = False,
) -> list[int]:
    order = list(range(length))
    if shuffle and world_size > 1:
        generator = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(length, generator=generator).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    return [order[place % length] for place in range(rank, each * world_size, world_size)]


# %% wrong="the seed counts from epoch 1 on" breaks="after seeding with `seed + epoch`" says=["sampler_by_hand(8, 1, 2, seed=4)", "`seed` changes nothing"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    order = list(range(length))
    if shuffle:
        generator = torch.Generator().manual_seed(seed + epoch if epoch else 0)
        order = torch.randperm(length, generator=generator).tolist()
    each = length // world_size if drop_last else -(-length // world_size)
    return [order[place % length] for place in range(rank, each * world_size, world_size)]


# %% wrong="rounds up by nearly a half" breaks="Each rank gets ⌈length / world_size⌉ indices" says=["sampler_by_hand(201, 0, 200, shuffle=False)", "each rank gets ⌈201 / 200⌉ = 2"]
def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    order = list(range(length))
    if shuffle:
        generator = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(length, generator=generator).tolist()
    each = length // world_size if drop_last else round(length / world_size + 0.49)
    return [order[place % length] for place in range(rank, each * world_size, world_size)]


# %% wrong="keeps the order for later calls, and pads the kept one" says=["keep nothing from earlier calls"]
orders = {}


def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    key = (length, seed + epoch, shuffle)
    if key not in orders:
        generator = torch.Generator().manual_seed(seed + epoch)
        orders[key] = torch.randperm(length, generator=generator).tolist()
        orders[key] = orders[key] if shuffle else list(range(length))
    order = orders[key]
    if drop_last:
        return order[: length // world_size * world_size][rank::world_size]
    total = -(-length // world_size) * world_size
    while len(order) < total:
        order += order[: total - len(order)]
    return order[:total][rank::world_size]


# %% wrong="the permutation that is kept is padded again" says=["make a new list for each call, and change none that you keep"]
kept_orders = {}


def sampler_by_hand(length, rank, world_size, epoch=0, shuffle=True, seed=0, drop_last=False):
    key = length, seed + epoch
    if shuffle and key not in kept_orders:
        generator = torch.Generator().manual_seed(seed + epoch)
        kept_orders[key] = torch.randperm(length, generator=generator).tolist()
    order = kept_orders[key] if shuffle else list(range(length))
    if drop_last:
        order = order[: length // world_size * world_size]
    else:
        missing = -(-length // world_size) * world_size - length
        order += [order[place % length] for place in range(missing)]
    return order[rank::world_size]
