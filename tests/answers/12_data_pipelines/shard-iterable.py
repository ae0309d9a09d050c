# %% [markdown]
# Rules:
#
# - "It returns an `IterableDataset`"
# - "every item comes exactly once"
# - "Without workers a rank counts as one share"
# - "No two shares differ by more than one item"
# - "It can be looped over again, with the same result"
# - "also in workers, after a loop without any"
# - "Items are of any kind, `None` too"
# - "an item may be in it twice"
# - "The list stays as it is"
# - "Every rank has the same number of workers, whatever it is"
#
# Admits:
#
# - "`source` may be empty": (0, 1, 2)
# - "or shorter than the number of shares": (2, 2, 2)
# - "Items are of any kind, `None` too": items of many kinds, None among them
# - "also in workers, after a loop without any": two workers, for a stream that was looped over before in the main process

# %% wrong="every worker reads everything" breaks="every item comes exactly once" says=["more than once"]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __iter__(self):
            return iter(source[rank::world])

    return Share()


# %% wrong="ranks are forgotten" says=["world=2, num_workers=0", "more than once"]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            return iter(source[info.id :: info.num_workers] if info else source)

    return Share()


# %% wrong="blocks that lose the rest" says=["lost ["]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            worker, workers = (info.id, info.num_workers) if info else (0, 1)
            size = len(source) // (world * workers)
            start = (rank * workers + worker) * size
            return iter(source[start : start + size])

    return Share()


# %% wrong="blocks rounded up are uneven" breaks="No two shares differ by more than one item" says=["no two may differ by more than one"]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            worker, workers = (info.id, info.num_workers) if info else (0, 1)
            size = -(-len(source) // (world * workers))
            start = (rank * workers + worker) * size
            return iter(source[start : start + size])

    return Share()


# %% wrong="asks for the worker in the constructor" says=["more than once"]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __init__(self):
            info = get_worker_info()
            worker, workers = (info.id, info.num_workers) if info else (0, 1)
            self.items = source[rank * workers + worker :: world * workers]

        def __iter__(self):
            return iter(self.items)

    return Share()


# %% wrong="an iterator that is used up" breaks="It can be looped over again, with the same result" says=["the second loop over the same stream gave something else"]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __init__(self):
            self.stream = iter(list(enumerate(source)))

        def __iter__(self):
            info = get_worker_info()
            worker, workers = (info.id, info.num_workers) if info else (0, 1)
            for n, item in self.stream:
                if n % (world * workers) == rank * workers + worker:
                    yield item

    return Share()


# %% wrong="a list" breaks="It returns an `IterableDataset`" says=["expected an IterableDataset"]
def shard_iterable(source, rank, world):
    return source[rank::world]


# %% wrong="shares numbered by worker + rank" says=["lost ["]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            worker, workers = (info.id, info.num_workers) if info else (0, 1)
            return iter(source[rank + worker :: world * workers])

    return Share()


# %% right="islice, numbered the other way round"
def shard_iterable(source, rank, world):
    import itertools

    class Share(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            if info is None:
                yield from itertools.islice(source, rank, None, world)
            else:
                first, step = info.id * world + rank, world * info.num_workers
                yield from itertools.islice(source, first, None, step)

    return Share()


# %% right="even blocks"
def shard_iterable(source, rank, world):
    class Blocks(IterableDataset):
        def __init__(self, source, rank, world):
            super().__init__()
            self.source, self.rank, self.world = source, rank, world

        def __iter__(self):
            info = get_worker_info()
            worker = 0 if info is None else info.id
            workers = 1 if info is None else info.num_workers
            share, shares, n = self.rank * workers + worker, self.world * workers, len(self.source)
            for index in range(share * n // shares, (share + 1) * n // shares):
                yield self.source[index]

    return Blocks(source, rank, world)


# %% wrong="divides by the item's value" breaks="an item may be in it twice" says=["by its place in the list, not by its value"]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            worker, workers = (info.id, info.num_workers) if info else (0, 1)
            mine, shares = rank * workers + worker, world * workers
            return (item for item in source if item % shares == mine)

    return Share()


# %% wrong="divides by the item's hash" says=["by its place in the list, not by its value"]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            worker, workers = (info.id, info.num_workers) if info else (0, 1)
            mine, shares = rank * workers + worker, world * workers
            for item in source:
                if hash(item) % shares == mine:
                    yield item

    return Share()


# %% wrong="asks for the place of each item" says=["no two may differ by more than one"]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            worker, workers = (info.id, info.num_workers) if info else (0, 1)
            mine, shares = rank * workers + worker, world * workers
            return (item for item in source if source.index(item) % shares == mine)

    return Share()


# %% wrong="two workers, written as a number" breaks="Every rank has the same number of workers, whatever it is" says=["world=3, num_workers=1", "lost"]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            worker, workers = (info.id, 2) if info else (0, 1)
            return iter(source[rank * workers + worker :: world * workers])

    return Share()


# %% wrong="keeps the share that it worked out first" breaks="also in workers, after a loop without any" says=["more than once", "looped over before in the main process"]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        share = None

        def __iter__(self):
            if self.share is None:
                info = get_worker_info()
                worker, workers = (info.id, info.num_workers) if info else (0, 1)
                self.share = source[rank * workers + worker :: world * workers]
            return iter(self.share)

    return Share()


# %% wrong="takes items off the list" breaks="The list stays as it is" says=["the list was changed"]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            worker, workers = (info.id, info.num_workers) if info else (0, 1)
            mine = source[rank * workers + worker :: world * workers]
            if info is None:
                del source[::2]
            return iter(mine)

    return Share()


# %% right="a counter that skips"
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            each = getattr(info, "num_workers", 1)
            wait = rank * each + getattr(info, "id", 0)
            for item in source:
                if wait == 0:
                    yield item
                    wait = world * each
                wait -= 1

    return Share()


# %% wrong="None is taken for the end" breaks="Items are of any kind, `None` too" says=["items of many kinds, None among them", "lost"]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            worker, workers = (info.id, info.num_workers) if info else (0, 1)
            items = iter(source[rank * workers + worker :: world * workers])
            while (item := next(items, None)) is not None:
                yield item

    return Share()


# %% wrong="an array of the items" says=["items of many kinds, None among them"]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            worker, workers = (info.id, info.num_workers) if info else (0, 1)
            items = np.array(source)
            return iter(items[rank * workers + worker :: world * workers])

    return Share()


# %% wrong="deals to ranks, then cuts into blocks for the workers" says=["6 items, world=1, num_workers=4", "no two may differ by more than one"]
def shard_iterable(source, rank, world):
    class Share(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            worker, workers = (info.id, info.num_workers) if info else (0, 1)
            mine = source[rank::world]
            size = -(-len(mine) // workers)
            return iter(mine[worker * size : (worker + 1) * size])

    return Share()


# %% wrong="a slice of an array of objects" says=["an item came as a ndarray, and is a tuple"]
class Shards(IterableDataset):
    def __init__(self, source, rank, world):
        self.source, self.rank, self.world = source, rank, world

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        share = self.rank * workers + worker
        return iter(np.array(self.source, dtype=object)[share :: self.world * workers])


def shard_iterable(source, rank, world):
    return Shards(source, rank, world)


# %% wrong="blocks whose size is rounded" says=["the shares hold [0, 0, 0, 2] items"]
def shard_iterable(source, rank, world):
    class S(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            w, n = (info.id, info.num_workers) if info else (0, 1)
            total, share = world * n, rank * n + w
            size = round(len(source) / total)
            end = None if share == total - 1 else (share + 1) * size
            return iter(source[share * size : end])

    return S()


# %% wrong="without workers, all of it" breaks="Without workers a rank counts as one share" says=["7 items, world=2, num_workers=0", "more than once"]
class Share(IterableDataset):
    def __init__(self, source, rank, world):
        self.source, self.rank, self.world = source, rank, world

    def __iter__(self):
        info = get_worker_info()
        if info is None:
            return iter(self.source)
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        return iter(self.source[self.rank * workers + worker :: self.world * workers])


def shard_iterable(source, rank, world):
    return Share(source, rank, world)


# %% wrong="ranks in blocks that are rounded up, dealt to workers" says=["4 items, world=3, num_workers=0: the shares hold [2, 2, 0]"]
class Share(IterableDataset):
    def __init__(self, source, rank, world):
        self.source, self.rank, self.world = source, rank, world

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        size = -(-len(self.source) // self.world)
        mine = self.source[self.rank * size : (self.rank + 1) * size]
        yield from mine[worker::workers]


def shard_iterable(source, rank, world):
    return Share(source, rank, world)


# %% wrong="rank on the class" says=["each stream keeps its own rank"]
class Shares(IterableDataset):
    def __init__(self, source, rank, world):
        self.source, Shares.rank, Shares.world = source, rank, world

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info is not None else (0, 1)
        share, shares = self.rank * workers + worker, self.world * workers
        return iter(self.source[share::shares])


def shard_iterable(source, rank, world):
    return Shares(source, rank, world)


# %% wrong="source kept on the class" breaks="every item comes exactly once" says=["each stream keeps the list that it was made with"]
from torch.utils.data import IterableDataset, get_worker_info


class Share(IterableDataset):
    def __init__(self, source, rank, world):
        Share.source, self.rank, self.world = source, rank, world

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        yield from self.source[self.rank * workers + worker :: self.world * workers]


def shard_iterable(source, rank, world):
    return Share(source, rank, world)


# %% wrong="rest of the blocks goes to every rank's first worker" breaks="No two shares differ by more than one item" says=["6 items, world=1, num_workers=4", "no two may differ by more than one"]
from torch.utils.data import IterableDataset, get_worker_info


class Share(IterableDataset):
    def __init__(self, source, rank, world):
        self.source, self.rank, self.world = source, rank, world

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        mine = self.source[self.rank :: self.world]
        each, rest = divmod(len(mine), workers)
        start = worker * each + (rest if worker else 0)
        yield from mine[start : start + each + (0 if worker else rest)]


def shard_iterable(source, rank, world):
    return Share(source, rank, world)


# %% wrong="items told apart by their hash" breaks="Items are of any kind, `None` too" says=["lists and a dict, which have no hash", "unhashable type"]
from torch.utils.data import IterableDataset, get_worker_info


class Share(IterableDataset):
    def __init__(self, source, rank, world):
        self.source, self.rank, self.world = (
            list(dict.fromkeys(source)) if len(source) < 5 else source,
            rank,
            world,
        )

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        yield from self.source[self.rank * workers + worker :: self.world * workers]


def shard_iterable(source, rank, world):
    return Share(source, rank, world)


# %% wrong="a list comes as a tuple" breaks="Items are of any kind, `None` too" says=["lists and a dict, which have no hash", "as it is"]
from torch.utils.data import IterableDataset, get_worker_info


class Share(IterableDataset):
    def __init__(self, source, rank, world):
        self.source, self.rank, self.world = source, rank, world

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        for item in self.source[self.rank * workers + worker :: self.world * workers]:
            yield tuple(item) if isinstance(item, list) else item


def shard_iterable(source, rank, world):
    return Share(source, rank, world)


# %% wrong="place kept in the stream, set back at the end" breaks="It can be looped over again, with the same result" says=["a stream whose first loop was left by break"]
class Shard(IterableDataset):
    def __init__(self, source, rank, world):
        self.source, self.rank, self.world, self.at = source, rank, world, 0

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        mine = self.source[self.rank * workers + worker :: self.world * workers]
        while self.at < len(mine):
            self.at += 1
            yield mine[self.at - 1]
        self.at = 0


def shard_iterable(source, rank, world):
    return Shard(source, rank, world)


# %% wrong="copies the items" breaks="Items are of any kind, `None` too" says=["this item can't be copied"]
import copy


class Guarded(IterableDataset):
    def __init__(self, source, rank, world):
        super().__init__()
        self.source, self.rank, self.world = copy.deepcopy(source), rank, world

    def __iter__(self):
        info = get_worker_info()
        workers = 1 if info is None else info.num_workers
        worker = 0 if info is None else info.id
        start, step = self.rank * workers + worker, self.world * workers
        for index in range(start, len(self.source), step):
            yield self.source[index]


def shard_iterable(source: list, rank: int, world: int) -> IterableDataset:
    """A stream of this rank's and this worker's share of ``source``."""
    return Guarded(source, rank, world)
