# %% [markdown]
# Rules:
#
# - "continues from the loader's place to the end of the epoch"
# - "then the next `for` does the next epoch"
# - "The last batch may be short"
# - "A batch is what `default_collate` makes"
# - "After a `break`, the next `for` continues after the last batch that came out"
# - "So it does after an error in the dataset"
# - "Each epoch has every item once"
# - "in an order that is shuffled again"
# - "(items, not whole batches)"
# - "follows from `seed` and the number of the epoch alone"
# - "in each process the same"
# - "Seed no global generator"
# - "called in a loop or between two"
# - "in a dict that `json` can write"
# - "its keys are texts"
# - "that does not change afterwards"
# - "new or used"
# - "leaves its dict as it is"
# - "whatever workers had fetched"
# - "`num_workers` workers make the batches"
# - "Items that were handed out before are not read again"
# - "Workers end when their `for` does, by `break` too"
#
# Admits:
#
# - "The last batch may be short": 17 items in fours
# - "A batch is what `default_collate` makes": items of a number and a dict
# - "After a `break`": every for left by break after a batch
# - "called in a loop or between two": the state asked for inside of the loop, after batch 2
# - "new or used": put into a loader that was used before

# %% wrong="counts what the sampler gave" breaks="whatever workers had fetched" says=["batches are lost", "not what workers had fetched"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        def __init__(self):
            self.epoch = self.given = 0

        def draw(self):
            order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            for batch in batches[self.given :]:
                self.given += 1
                yield batch

        def __iter__(self):
            yield from DataLoader(dataset, batch_sampler=self.draw(), num_workers=num_workers)
            self.epoch, self.given = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "given": self.given}

        def load_state_dict(self, state):
            self.epoch, self.given = state["epoch"], state["given"]

    return Loader()


# %% wrong="the epoch alone" breaks="continues from the loader's place to the end of the epoch" says=["it began the epoch again"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        epoch = 0

        def __iter__(self):
            order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
            yield from DataLoader(dataset, batch_size, sampler=order, num_workers=num_workers)
            self.epoch += 1

        def state_dict(self):
            return {"epoch": self.epoch}

        def load_state_dict(self, state):
            self.epoch = state["epoch"]

    return Loader()


# %% wrong="reads what is skipped" breaks="Items that were handed out before are not read again" says=["don't read what is skipped"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
            loader = DataLoader(dataset, batch_size, sampler=order, num_workers=num_workers)
            skip = self.done
            for n, batch in enumerate(loader):
                if n >= skip:
                    self.done += 1
                    yield batch
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], state["done"]

    return Loader()


# %% wrong="counts behind the yield" breaks="After a `break`, the next `for` continues after the last batch that came out" says=["batches come twice"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            for batch in DataLoader(
                dataset, batch_sampler=batches[self.done :], num_workers=num_workers
            ):
                yield batch
                self.done += 1
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], state["done"]

    return Loader()


# %% wrong="the state is the loader's own dict" breaks="that does not change afterwards" says=["changed when the loader continued"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        def __init__(self):
            self.state = {"epoch": 0, "done": 0}

        def __iter__(self):
            s = self.state
            order = np.random.default_rng([seed, s["epoch"]]).permutation(len(dataset)).tolist()
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            for batch in DataLoader(
                dataset, batch_sampler=batches[s["done"] :], num_workers=num_workers
            ):
                s["done"] += 1
                yield batch
            s["epoch"], s["done"] = s["epoch"] + 1, 0

        def state_dict(self):
            return self.state

        def load_state_dict(self, state):
            self.state = dict(state)

    return Loader()


# %% wrong="drops the short batch, one order for all epochs" says=["the items of epoch 0", "the last batch may be short"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            g = torch.Generator().manual_seed(seed)
            order = torch.randperm(len(dataset), generator=g).tolist()
            batches = [
                order[n : n + batch_size]
                for n in range(0, len(order) // batch_size * batch_size, batch_size)
            ]
            for batch in DataLoader(
                dataset, batch_sampler=batches[self.done :], num_workers=num_workers
            ):
                self.done += 1
                yield batch
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], state["done"]

    return Loader()


# %% right="an iterator class and one running number"
def resumable(dataset, batch_size, seed, num_workers=0):
    per_epoch = (len(dataset) + batch_size - 1) // batch_size

    class Place:
        def __init__(self):
            self.number = 0

        def batches(self, epoch):
            g = torch.Generator().manual_seed(1_000_003 * seed + epoch)
            return [
                part.tolist()
                for part in torch.randperm(len(dataset), generator=g).split(batch_size)
            ]

        def __iter__(self):
            epoch, done = divmod(self.number, per_epoch)
            rest = self.batches(epoch)[done:]
            inner = iter(DataLoader(dataset, batch_sampler=rest, num_workers=num_workers))
            for _ in rest:
                batch = next(inner)
                self.number += 1
                yield batch

        def __len__(self):
            return per_epoch

        def state_dict(self):
            return {"number": int(self.number), "seed": seed}

        def load_state_dict(self, state):
            self.number = state["number"]

    return Place()


# %% right="a sampler that skips, the loader counts"
class Skipping(torch.utils.data.Sampler):
    def __init__(self, n, seed):
        self.n, self.seed, self.epoch, self.skip = n, seed, 0, 0

    def __iter__(self):
        order = list(range(self.n))
        random.Random(f"{self.seed}-{self.epoch}").shuffle(order)
        return iter(order[self.skip :])

    def __len__(self):
        return self.n - self.skip


def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader(DataLoader):
        def __iter__(self):
            for batch in super().__iter__():
                self.sampler.skip = min(self.sampler.skip + self.batch_size, self.sampler.n)
                yield batch
            self.sampler.epoch, self.sampler.skip = self.sampler.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.sampler.epoch, "items": self.sampler.skip}

        def load_state_dict(self, state):
            self.sampler.epoch, self.sampler.skip = state["epoch"], state["items"]

    return Loader(
        dataset, batch_size, sampler=Skipping(len(dataset), seed), num_workers=num_workers
    )


# %% wrong="keeps one iterator with workers between loops" breaks="Workers end when their `for` does, by `break` too" says=["workers that still run after a for was left by break"]
class _Loader:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.bs, self.seed, self.nw = dataset, batch_size, seed, num_workers
        self.epoch, self.done, self.it = 0, 0, None

    def __iter__(self):
        return self

    def __next__(self):
        if self.it is None:
            order = (
                np.random.default_rng([self.seed, self.epoch])
                .permutation(len(self.dataset))
                .tolist()
            )
            rest = [order[i : i + self.bs] for i in range(0, len(order), self.bs)][self.done :]
            self.it = iter(DataLoader(self.dataset, batch_sampler=rest, num_workers=self.nw))
        try:
            batch = next(self.it)
        except StopIteration:
            self.epoch, self.done, self.it = self.epoch + 1, 0, None
            raise
        self.done += 1
        return batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, s):
        self.epoch, self.done, self.it = s["epoch"], s["done"], None


def resumable(dataset, batch_size, seed, num_workers=0):
    return _Loader(dataset, batch_size, seed, num_workers)


# %% wrong="NumPy numbers in the state" breaks="in a dict that `json` can write" says=["json can't write what state_dict() returned"]
class _Loader:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.bs, self.seed, self.nw = dataset, batch_size, seed, num_workers
        self.epoch, self.done, self.order = 0, 0, None

    def __iter__(self):
        self.order = np.random.default_rng([self.seed, self.epoch]).permutation(len(self.dataset))
        rest = [self.order[i : i + self.bs] for i in range(0, len(self.order), self.bs)][
            self.done :
        ]
        for batch in DataLoader(self.dataset, batch_sampler=rest, num_workers=self.nw):
            self.done += 1
            yield batch
        self.epoch, self.done = self.epoch + 1, 0

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done, "order": self.order}

    def load_state_dict(self, s):
        self.epoch, self.done = s["epoch"], s["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return _Loader(dataset, batch_size, seed, num_workers)


# %% right="the state is a list of what is left"
from random import Random

from torch.utils.data import Subset


class Remaining:
    def __init__(self, dataset, batch_size, seed, num_workers=0):
        self.dataset, self.batch_size, self.seed, self.num_workers = (
            dataset,
            batch_size,
            seed,
            num_workers,
        )
        self.epoch, self.left = -1, []

    def _begin(self):
        self.epoch += 1
        self.left = list(range(len(self.dataset)))
        Random(f"{self.seed} {self.epoch}").shuffle(self.left)

    def __iter__(self):
        if not self.left:
            self._begin()
        todo = Subset(self.dataset, list(self.left))
        for batch in DataLoader(todo, batch_size=self.batch_size, num_workers=self.num_workers):
            self.left = self.left[self.batch_size :]
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "left": list(self.left)}

    def load_state_dict(self, state):
        self.epoch, self.left = state["epoch"], list(state["left"])


def resumable(dataset, batch_size, seed, num_workers=0):
    return Remaining(dataset, batch_size, seed, num_workers)


# %% wrong="torch.tensor for a collate_fn" says=["default_collate"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            loader = DataLoader(
                dataset,
                batch_sampler=batches[self.done :],
                num_workers=num_workers,
                collate_fn=torch.tensor,
            )
            for batch in loader:
                self.done += 1
                yield batch
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], state["done"]

    return Loader()


# %% wrong="a list for a batch" breaks="A batch is what `default_collate` makes" says=["default_collate"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            loader = DataLoader(
                dataset,
                batch_sampler=batches[self.done :],
                num_workers=num_workers,
                collate_fn=list,
            )
            for batch in loader:
                self.done += 1
                yield batch
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], state["done"]

    return Loader()


# %% wrong="no workers, whatever was asked for" says=["num_workers=2", "made by workers"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            loader = DataLoader(dataset, batch_sampler=batches[self.done :], num_workers=0)
            for batch in loader:
                self.done += 1
                yield batch
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], state["done"]

    return Loader()


# %% wrong="shuffles whole batches" breaks="(items, not whole batches)" says=["whole batches are shuffled"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            order = list(range(len(dataset)))
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            places = np.random.default_rng([seed, self.epoch]).permutation(len(batches) - 1)
            batches = [*(batches[n] for n in places), batches[-1]]
            loader = DataLoader(
                dataset, batch_sampler=batches[self.done :], num_workers=num_workers
            )
            for batch in loader:
                self.done += 1
                yield batch
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], state["done"]

    return Loader()


# %% wrong="seeds the global generator" breaks="Seed no global generator" says=["torch's global generator is seeded"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            torch.manual_seed(seed + 1000 * self.epoch)
            order = torch.randperm(len(dataset)).tolist()
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            loader = DataLoader(
                dataset, batch_sampler=batches[self.done :], num_workers=num_workers
            )
            for batch in loader:
                self.done += 1
                yield batch
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], state["done"]

    return Loader()


# %% wrong="loads on top of where it stands" breaks="new or used" says=["a loader that was used before"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            loader = DataLoader(
                dataset, batch_sampler=batches[self.done :], num_workers=num_workers
            )
            for batch in loader:
                self.done += 1
                yield batch
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], max(self.done, state["done"])

    return Loader()


# %% wrong="goes on in the dict that was loaded" breaks="leaves its dict as it is" says=["the dict that was loaded was changed"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        def __init__(self):
            self.state = {"epoch": 0, "done": 0}

        def __iter__(self):
            s = self.state
            order = np.random.default_rng([seed, s["epoch"]]).permutation(len(dataset)).tolist()
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            rest = batches[s["done"] :]
            for batch in DataLoader(dataset, batch_sampler=rest, num_workers=num_workers):
                s["done"] += 1
                yield batch
            s["epoch"], s["done"] = s["epoch"] + 1, 0

        def state_dict(self):
            return dict(self.state)

        def load_state_dict(self, state):
            self.state = state

    return Loader()


# %% wrong="notes its place when a for ends" breaks="called in a loop or between two" says=["asked for inside of the loop"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            rest, came = batches[self.done :], 0
            try:
                for batch in DataLoader(dataset, batch_sampler=rest, num_workers=num_workers):
                    came += 1
                    yield batch
            except GeneratorExit:
                self.done += came
                raise
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], state["done"]

    return Loader()


# %% wrong="the hash of a text for a seed" breaks="in each process the same" says=["where strings have other hashes, it gave another order"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            order = (
                np.random.default_rng(abs(hash(f"{seed},{self.epoch}")))
                .permutation(len(dataset))
                .tolist()
            )
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            loader = DataLoader(
                dataset, batch_sampler=batches[self.done :], num_workers=num_workers
            )
            for batch in loader:
                self.done += 1
                yield batch
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], state["done"]

    return Loader()


# %% wrong="two workers at most" breaks="`num_workers` workers make the batches" says=["num_workers=3: items were made by workers [0, 1], expected [0, 1, 2]"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class Loader:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            loader = DataLoader(
                dataset, batch_sampler=batches[self.done :], num_workers=min(2, num_workers)
            )
            for batch in loader:
                self.done += 1
                yield batch
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], state["done"]

    return Loader()


# %% wrong="a generator that is replayed, never rewound" breaks="follows from `seed` and the number of the epoch alone" says=["put into a loader that was used before"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size, self.seed, self.num_workers = (
            dataset,
            batch_size,
            seed,
            num_workers,
        )
        self.epoch = self.done = 0

    def batches(self):
        self.g = getattr(self, "g", None) or torch.Generator().manual_seed(self.seed)
        self.at = getattr(self, "at", -1)
        while self.at < self.epoch:
            self.order = torch.randperm(len(self.dataset), generator=self.g).tolist()
            self.at += 1
        order = self.order
        return [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]

    def __iter__(self):
        batches = self.batches()
        if self.done >= len(batches):
            self.epoch, self.done = self.epoch + 1, 0
            batches = self.batches()
        for batch in DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        ):
            self.done += 1
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="one dict for all answers of state_dict" says=["or was asked again"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size, self.seed, self.num_workers = (
            dataset,
            batch_size,
            seed,
            num_workers,
        )
        self.place = {"epoch": 0, "done": 0}
        self.epoch = self.done = 0

    def batches(self):
        order = (
            np.random.default_rng([self.seed, self.epoch]).permutation(len(self.dataset)).tolist()
        )
        return [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]

    def __iter__(self):
        batches = self.batches()
        if self.done >= len(batches):
            self.epoch, self.done = self.epoch + 1, 0
            batches = self.batches()
        for batch in DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        ):
            self.done += 1
            yield batch

    def state_dict(self):
        self.place.update(epoch=self.epoch, done=self.done)
        return self.place

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="four orders, in turn" breaks="in an order that is shuffled again" says=["17 items in fours, num_workers=0: two epochs have the same order"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size, self.seed, self.num_workers = (
            dataset,
            batch_size,
            seed,
            num_workers,
        )
        self.epoch = self.done = 0

    def batches(self):
        order = (
            np.random.default_rng([self.seed, self.epoch % 4])
            .permutation(len(self.dataset))
            .tolist()
        )
        return [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]

    def __iter__(self):
        batches = self.batches()
        if self.done >= len(batches):
            self.epoch, self.done = self.epoch + 1, 0
            batches = self.batches()
        for batch in DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        ):
            self.done += 1
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="a seed of three bits" says=["seed 8 gave the same order as seed 0"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size, self.seed, self.num_workers = (
            dataset,
            batch_size,
            seed,
            num_workers,
        )
        self.epoch = self.done = 0

    def batches(self):
        order = (
            np.random.default_rng([self.seed % 8, self.epoch])
            .permutation(len(self.dataset))
            .tolist()
        )
        return [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]

    def __iter__(self):
        batches = self.batches()
        if self.done >= len(batches):
            self.epoch, self.done = self.epoch + 1, 0
            batches = self.batches()
        for batch in DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        ):
            self.done += 1
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="with workers, reads what is skipped" says=["items that were handed out before were read again"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class L:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            skip = self.done if num_workers else 0
            start = 0 if num_workers else self.done
            for k, batch in enumerate(
                DataLoader(dataset, batch_sampler=batches[start:], num_workers=num_workers)
            ):
                if k >= skip:
                    self.done += 1
                    yield batch
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], state["done"]

    return L()


# %% wrong="no batch where a batch is larger than the set" breaks="The last batch may be short" says=["9 items in twelves"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class L:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
            full = len(order) // batch_size
            batches = [order[n * batch_size : (n + 1) * batch_size] for n in range(full)]
            if full and len(order) % batch_size:
                batches.append(order[full * batch_size :])
            for batch in DataLoader(
                dataset, batch_sampler=batches[self.done :], num_workers=num_workers
            ):
                self.done += 1
                yield batch
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], state["done"]

    return L()


# %% wrong="numbers for keys" breaks="its keys are texts" says=["use texts for keys"]
def resumable(dataset, batch_size, seed, num_workers=0):
    class L:
        def __init__(self):
            self.epoch = self.done = 0

        def __iter__(self):
            order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            for batch in DataLoader(
                dataset, batch_sampler=batches[self.done :], num_workers=num_workers
            ):
                self.done += 1
                yield batch
            self.epoch, self.done = self.epoch + 1, 0

        def state_dict(self):
            return {0: self.epoch, 1: self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state.pop(0), state.pop(1)

    return L()


# %% right="the epoch counted when a for begins"
def resumable(dataset, batch_size, seed, num_workers=0):
    class L:
        def __init__(self):
            self.epoch, self.done = -1, 0

        def __iter__(self):
            if self.done == 0:
                self.epoch += 1
            order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
            batches = [order[n : n + batch_size] for n in range(0, len(order), batch_size)]
            for batch in DataLoader(
                dataset, batch_sampler=batches[self.done :], num_workers=num_workers
            ):
                self.done = (self.done + 1) % len(batches)
                yield batch

        def state_dict(self):
            return {"epoch": self.epoch, "done": self.done}

        def load_state_dict(self, state):
            self.epoch, self.done = state["epoch"], state["done"]

    return L()


# %% right="a Sampler class, the place in items"
def resumable(dataset, batch_size, seed, num_workers=0):
    from torch.utils.data import Sampler

    class Order(Sampler):
        def __init__(self, epoch, first):
            g = torch.Generator()
            g.manual_seed(seed * 100_003 + epoch)
            self.left = torch.randperm(len(dataset), generator=g).tolist()[first:]

        def __iter__(self):
            return iter(self.left)

        def __len__(self):
            return len(self.left)

    class Loader:
        place = [0, 0]

        def __iter__(self):
            epoch, first = self.place
            for batch in DataLoader(
                dataset, batch_size=batch_size, sampler=Order(epoch, first), num_workers=num_workers
            ):
                first = min(first + batch_size, len(dataset))
                self.place = [epoch, first] if first < len(dataset) else [epoch + 1, 0]
                yield batch

        def state_dict(self):
            return {"place": list(self.place)}

        def load_state_dict(self, state):
            self.place = list(state["place"])

    return Loader()


# %% wrong="stays at the end of its first epoch" breaks="then the next `for` does the next epoch" says=["17 items in fours, num_workers=0: batches in 9 epochs: expected 45, got 5"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers
        self.epoch = self.done = 0

    def __iter__(self):
        order = (
            np.random.default_rng([self.seed, self.epoch]).permutation(len(self.dataset)).tolist()
        )
        batches = [order[k : k + self.batch_size] for k in range(0, len(order), self.batch_size)]
        loader = DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        )
        for batch in loader:
            self.done += 1
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="items are drawn with replacement" breaks="Each epoch has every item once" says=["the items of epoch 0"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers
        self.epoch = self.done = 0

    def __iter__(self):
        order = (
            np.random.default_rng([self.seed, self.epoch])
            .choice(len(self.dataset), len(self.dataset))
            .tolist()
        )
        batches = [order[k : k + self.batch_size] for k in range(0, len(order), self.batch_size)]
        loader = DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        )
        for batch in loader:
            self.done += 1
            if self.done == len(batches):
                self.epoch, self.done = self.epoch + 1, 0
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="the order knows the size of a batch" says=["in batches of 4 the items come in another order than in one of 23"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers
        self.epoch = self.done = 0

    def __iter__(self):
        numbers = np.random.default_rng([self.seed, self.epoch, self.batch_size])
        order = numbers.permutation(len(self.dataset)).tolist()
        batches = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        loader = DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        )
        for batch in loader:
            self.done += 1
            if self.done == len(batches):
                self.epoch, self.done = self.epoch + 1, 0
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="the order knows the number of workers" says=["with num_workers=2 the items come in another order than without workers"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers
        self.epoch = self.done = 0

    def __iter__(self):
        numbers = np.random.default_rng([self.seed, self.epoch, self.num_workers])
        order = numbers.permutation(len(self.dataset)).tolist()
        batches = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        loader = DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        )
        for batch in loader:
            self.done += 1
            if self.done == len(batches):
                self.epoch, self.done = self.epoch + 1, 0
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="sixteen orders, in turn" says=["the order of epoch 16 is that of epoch 0: shuffle each epoch anew"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers
        self.epoch = self.done = 0

    def __iter__(self):
        numbers = np.random.default_rng([self.seed, self.epoch % 16])
        order = numbers.permutation(len(self.dataset)).tolist()
        batches = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        loader = DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        )
        for batch in loader:
            self.done += 1
            if self.done == len(batches):
                self.epoch, self.done = self.epoch + 1, 0
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="every second epoch is the last one, backwards" says=["the order of epoch 1 is that of epoch 0, backwards"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers
        self.epoch = self.done = 0

    def __iter__(self):
        numbers = np.random.default_rng([self.seed, self.epoch // 2])
        order = numbers.permutation(len(self.dataset)).tolist()
        if self.epoch % 2:
            order.reverse()
        batches = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        loader = DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        )
        for batch in loader:
            self.done += 1
            if self.done == len(batches):
                self.epoch, self.done = self.epoch + 1, 0
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="one order that begins elsewhere in each epoch" says=["the order of epoch 1 is that of epoch 0, begun elsewhere"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers
        self.epoch = self.done = 0

    def __iter__(self):
        order = np.random.default_rng(self.seed).permutation(len(self.dataset))
        order = np.roll(order, 3 * self.epoch).tolist()
        batches = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        loader = DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        )
        for batch in loader:
            self.done += 1
            if self.done == len(batches):
                self.epoch, self.done = self.epoch + 1, 0
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="sorted inside of each batch" says=["inside of each batch the items come sorted"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers
        self.epoch = self.done = 0

    def __iter__(self):
        numbers = np.random.default_rng([self.seed, self.epoch])
        order = numbers.permutation(len(self.dataset)).tolist()
        size = self.batch_size
        batches = [sorted(order[i : i + size]) for i in range(0, len(order), size)]
        loader = DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        )
        for batch in loader:
            self.done += 1
            if self.done == len(batches):
                self.epoch, self.done = self.epoch + 1, 0
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="one place for all loaders" says=["do all loaders share one place?"] judge="differs"
class Resumable:
    place = [0, 0]

    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers

    def __iter__(self):
        numbers = np.random.default_rng([self.seed, self.place[0]])
        order = numbers.permutation(len(self.dataset)).tolist()
        batches = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        loader = DataLoader(
            self.dataset, batch_sampler=batches[self.place[1] :], num_workers=self.num_workers
        )
        for batch in loader:
            self.place[1] += 1
            if self.place[1] == len(batches):
                self.place[:] = [self.place[0] + 1, 0]
            yield batch

    def state_dict(self):
        return {"epoch": self.place[0], "done": self.place[1]}

    def load_state_dict(self, state):
        self.place[:] = [state["epoch"], state["done"]]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="epoch on the class" says=["each keeps a place of its own"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers
        Resumable.epoch = self.done = 0

    def __iter__(self):
        epoch = self.epoch
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.dataset)).tolist()
        size = self.batch_size
        batches = [order[i : i + size] for i in range(0, len(order), size)]
        loader = DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        )
        for done, batch in enumerate(loader, self.done + 1):
            Resumable.epoch, self.done = epoch, done
            if done == len(batches):
                Resumable.epoch, self.done = epoch + 1, 0
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        Resumable.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="item 0 always first" says=["items came at place 0"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers
        self.epoch = self.done = 0

    def __iter__(self):
        epoch = self.epoch
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.dataset)).tolist()
        order = [0] + [i for i in order if i]
        size = self.batch_size
        batches = [order[i : i + size] for i in range(0, len(order), size)]
        loader = DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        )
        for done, batch in enumerate(loader, self.done + 1):
            self.epoch, self.done = epoch, done
            if done == len(batches):
                self.epoch, self.done = epoch + 1, 0
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="counted when asked for" says=["count a batch when it has come"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers
        self.epoch = self.done = 0

    def __iter__(self):
        epoch = self.epoch
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.dataset)).tolist()
        size = self.batch_size
        batches = [order[i : i + size] for i in range(0, len(order), size)]
        loader = DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        )
        rest = iter(loader)
        for done in range(self.done + 1, len(batches) + 1):
            self.epoch, self.done = epoch, done
            batch = next(rest)
            if done == len(batches):
                self.epoch, self.done = epoch + 1, 0
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="the process's number in the seed" says=["no number of a process"]
import os


class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers
        self.epoch = self.done = 0

    def __iter__(self):
        epoch = self.epoch
        order = (
            np.random.default_rng([self.seed, epoch, os.getpid()])
            .permutation(len(self.dataset))
            .tolist()
        )
        size = self.batch_size
        batches = [order[i : i + size] for i in range(0, len(order), size)]
        loader = DataLoader(
            self.dataset, batch_sampler=batches[self.done :], num_workers=self.num_workers
        )
        for done, batch in enumerate(loader, self.done + 1):
            self.epoch, self.done = epoch, done
            if done == len(batches):
                self.epoch, self.done = epoch + 1, 0
            yield batch

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="loaded place is told only from the next for on" breaks="called in a loop or between two" says=["asked between load_state_dict and the next for"]
import numpy as np
from torch.utils.data import DataLoader


class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers
        self.epoch = self.done = 0
        self.coming = None

    def __iter__(self):
        if self.coming:
            self.epoch, self.done = self.coming
            self.coming = None
        order = (
            np.random.default_rng([self.seed, self.epoch]).permutation(len(self.dataset)).tolist()
        )
        batches = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        rest = batches[self.done :]
        for batch in DataLoader(self.dataset, batch_sampler=rest, num_workers=self.num_workers):
            self.done += 1
            yield batch
        self.epoch += 1
        self.done = 0

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.coming = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="a place before its own is not taken" breaks="new or used" says=["put into a loader that was used before"]
import numpy as np
from torch.utils.data import DataLoader


class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers
        self.epoch = self.done = 0

    def __iter__(self):
        order = (
            np.random.default_rng([self.seed, self.epoch]).permutation(len(self.dataset)).tolist()
        )
        batches = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        rest = batches[self.done :]
        for batch in DataLoader(self.dataset, batch_sampler=rest, num_workers=self.num_workers):
            self.done += 1
            yield batch
        self.epoch += 1
        self.done = 0

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = (
            state["epoch"],
            max(self.done, state["done"]) if self.epoch == state["epoch"] else state["done"],
        )


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="hands on the state that was loaded, for that epoch" says=["asked when a batch has come since load_state_dict"]
class Loaded:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.given = dataset, batch_size, seed, num_workers
        self.epoch, self.done, self.loaded = 0, 0, None

    def __iter__(self):
        dataset, size, seed, workers = self.given
        order = np.random.default_rng([seed, self.epoch]).permutation(len(dataset)).tolist()
        batches = [order[start : start + size] for start in range(0, len(order), size)]
        rest = DataLoader(dataset, batch_sampler=batches[self.done :], num_workers=workers)
        for batch in rest:
            self.done += 1
            if self.done == len(batches):
                self.epoch, self.done = self.epoch + 1, 0
            yield batch

    def state_dict(self):
        if self.loaded and self.loaded["epoch"] == self.epoch:
            return dict(self.loaded)
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.loaded = dict(state)
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Loaded(dataset, batch_size, seed, num_workers)


# %% wrong="counts by len(batch), which is 2 for a pair" breaks="After a `break`, the next `for` continues after the last batch that came out" says=["a batch counts once, whatever it holds"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size, self.seed, self.num_workers = (
            dataset,
            batch_size,
            seed,
            num_workers,
        )
        self.epoch = self.done = 0

    def batches(self):
        order = (
            np.random.default_rng([self.seed, self.epoch]).permutation(len(self.dataset)).tolist()
        )
        return [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]

    def __iter__(self):
        rest = self.batches()[-(-self.done // self.batch_size) :]
        for batch in DataLoader(self.dataset, batch_sampler=rest, num_workers=self.num_workers):
            self.done += len(batch)
            yield batch
        self.epoch, self.done = self.epoch + 1, 0

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset, batch_size, seed, num_workers=0):
    return Resumable(dataset, batch_size, seed, num_workers)


# %% wrong="counts a batch that is still to come" breaks="So it does after an error in the dataset" says=["a dataset that raises, once: eight batches", "count a batch when it has come"]
def resumable(dataset, batch_size, seed, num_workers=0):
    each = -(-len(dataset) // batch_size)

    class Loader:
        total = 0

        def __iter__(self):
            epoch, done = divmod(self.total, each)
            order = np.random.default_rng([seed, epoch]).permutation(len(dataset)).tolist()
            left = order[done * batch_size :]
            batches = iter(DataLoader(dataset, batch_size, sampler=left, num_workers=num_workers))
            try:
                for self.total in range(epoch * each + done + 1, (epoch + 1) * each + 1):
                    yield next(batches)
            finally:
                del batches

        def state_dict(self):
            return {"total": self.total}

        def load_state_dict(self, state):
            self.total = state["total"]

    return Loader()


# %% right="one running number of the batches that have come"
def resumable(dataset, batch_size, seed, num_workers=0):
    each = -(-len(dataset) // batch_size)

    class Loader:
        total = 0

        def __iter__(self):
            epoch, done = divmod(self.total, each)
            order = np.random.default_rng([seed, epoch]).permutation(len(dataset)).tolist()
            left = order[done * batch_size :]
            batches = iter(DataLoader(dataset, batch_size, sampler=left, num_workers=num_workers))
            try:
                for batch in batches:
                    self.total += 1
                    yield batch
            finally:
                del batches

        def state_dict(self):
            return {"total": self.total}

        def load_state_dict(self, state):
            self.total = state["total"]

    return Loader()


# %% wrong="seeds NumPy's global generator, and puts its state back" breaks="Seed no global generator" says=["it called np.random.seed", "make a generator of its own"]
class Resumable:
    def __init__(self, dataset, batch_size, seed, num_workers):
        self.dataset, self.batch_size = dataset, batch_size
        self.seed, self.num_workers = seed, num_workers
        self.epoch, self.done = 0, 0

    def permutation(self):
        words = np.random.SeedSequence([self.seed, self.epoch]).generate_state(4)
        before = np.random.get_state()
        try:
            np.random.seed(words)
            return np.random.permutation(len(self.dataset)).tolist()
        finally:
            np.random.set_state(before)

    def __iter__(self):
        order = self.permutation()
        starts = range(self.done * self.batch_size, len(order), self.batch_size)
        groups = [order[start : start + self.batch_size] for start in starts]
        for batch in DataLoader(self.dataset, batch_sampler=groups, num_workers=self.num_workers):
            self.done += 1
            yield batch
        self.epoch, self.done = self.epoch + 1, 0

    def state_dict(self):
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state):
        self.epoch, self.done = state["epoch"], state["done"]


def resumable(dataset: Dataset, batch_size: int, seed: int, num_workers: int = 0) -> object:
    return Resumable(dataset, batch_size, seed, num_workers)
