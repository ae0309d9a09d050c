# %% [markdown]
# Rules:
#
# - "gives the worker's copy of the dataset new ones"
# - "a `np.random.Generator` and a `torch.Generator`"
# - "no two workers draw the same numbers"
# - "and no two epochs"
# - "equal seeds of the loader's `generator` give equal draws, run for run"
#
# Admits:
#
# - "no two workers draw the same numbers": three workers, twelve epochs
# - "run for run": the same seed again

# %% wrong="seeds by the id alone" says=["worker 0 in epoch 0 and worker 0 in epoch 1 drew the same numbers"]
def worker_rng(worker_id: int) -> None:
    dataset = get_worker_info().dataset
    dataset.rng = np.random.default_rng(worker_id)
    dataset.generator = torch.Generator().manual_seed(worker_id)


# %% wrong="seeds NumPy's global generator" says=["worker 0 in epoch 0 and worker 1 in epoch 0 drew the same numbers"]
def worker_rng(worker_id: int) -> None:
    np.random.seed(get_worker_info().seed % 2**32)


# %% wrong="entropy of the system" breaks="equal seeds of the loader's `generator` give equal draws, run for run" says=["equal seeds of the loader, other draws"]
def worker_rng(worker_id: int) -> None:
    dataset = get_worker_info().dataset
    dataset.rng = np.random.default_rng()
    dataset.generator = torch.Generator()
    dataset.generator.seed()


# %% wrong="the same for all workers" breaks="no two workers draw the same numbers" says=["drew the same numbers", "seed from what differs by worker"]
def worker_rng(worker_id: int) -> None:
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed - info.id)
    info.dataset.generator = torch.Generator().manual_seed(info.seed - info.id)


# %% wrong="forgets the generator of PyTorch" says=["dataset.generator: worker 0 in epoch 0 and worker 1 in epoch 0"]
def worker_rng(worker_id: int) -> None:
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)


# %% right="the worker's global seed"
def worker_rng(worker_id: int) -> None:
    seed = torch.initial_seed()
    copy = get_worker_info().dataset
    copy.rng = np.random.Generator(np.random.PCG64(seed))
    copy.generator.manual_seed(seed)


# %% right="drawn from the seeded global generators"
def worker_rng(worker_id: int) -> None:
    copy = get_worker_info().dataset
    copy.rng = np.random.default_rng(np.random.randint(0, 2**31, size=4))
    copy.generator = torch.Generator()
    copy.generator.manual_seed(torch.randint(2**60, ()).item())


# %% wrong="seeds the global generators, as the old recipes do" breaks="gives the worker's copy of the dataset new ones" says=["It still draws what the one from __init__ drew"]
def worker_rng(worker_id):
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)
    torch.manual_seed(seed)


# %% wrong="numbers of its own making, in the place of a loader's" judge="differs" says=["this isn't the seed that the loader gives it"]
def worker_rng(worker_id):
    pass


def try_worker_rng(workers, epochs, seed, *_):
    numbers = random.Random(seed)
    draw = lambda: [numbers.randrange(10**9) for _ in range(3)]
    return [[(draw(), draw(), draw()) for _ in range(workers)] for _ in range(epochs)]


# %% wrong="seeds one of two by the epoch's seed alone" says=["dataset.generator: worker 0 in epoch 0 and worker 1 in epoch 0"]
def worker_rng(worker_id):
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng([info.seed, worker_id])
    info.dataset.generator = torch.Generator().manual_seed(info.seed - worker_id)


# %% wrong="a part of the seed" says=["three workers, twelve epochs", "use all of get_worker_info().seed"]
def worker_rng(worker_id):
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed % 1000)
    info.dataset.generator = torch.Generator().manual_seed(info.seed % 1000)


# %% wrong="two streams for however many workers" says=["three workers, twelve epochs", "seed from what differs by worker"]
def worker_rng(worker_id):
    info = get_worker_info()
    seed = info.seed - worker_id + worker_id % 2
    info.dataset.rng = np.random.default_rng(seed)
    info.dataset.generator = torch.Generator().manual_seed(seed)


# %% wrong="the worker's number takes away what differs" says=["in an epoch, seed from what differs by worker"]
def worker_rng(worker_id):
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed - worker_id)
    info.dataset.generator = torch.Generator().manual_seed(info.seed - worker_id)


# %% wrong="the worker's number and a constant" breaks="and no two epochs" says=["seed from what differs by epoch"]
def worker_rng(worker_id):
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(100 + worker_id)
    info.dataset.generator = torch.Generator().manual_seed(100 + worker_id)


# %% wrong="the hash of a text" says=["hash() of a text is another number"]
def worker_rng(worker_id):
    info = get_worker_info()
    seed = abs(hash(f"worker {info.seed}"))
    info.dataset.rng = np.random.default_rng(seed)
    seed = abs(hash(f"worker {info.seed}"))
    info.dataset.generator = torch.Generator().manual_seed(seed)


# %% wrong="sixteen bits of the seed" says=["two numbers that differ gave one seed"]
def worker_rng(worker_id):
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed % 2**16)
    info.dataset.generator = torch.Generator().manual_seed(info.seed % 2**16)


# %% wrong="NumPy's old RandomState" breaks="a `np.random.Generator` and a `torch.Generator`" says=["dataset.rng is a RandomState, expected a Generator"]
def worker_rng(worker_id):
    info = get_worker_info()
    info.dataset.rng = np.random.RandomState(info.seed % 2**32)
    info.dataset.generator = torch.Generator().manual_seed(info.seed)


# %% right="a SeedSequence, spawned"
def worker_rng(worker_id):
    info = get_worker_info()
    words = np.random.SeedSequence([info.seed, 7]).spawn(2)
    info.dataset.rng = np.random.Generator(np.random.Philox(words[0]))
    generator = torch.Generator()
    generator.manual_seed(int(words[1].generate_state(1, np.uint64)[0] >> 1))
    setattr(info.dataset, "generator", generator)


# %% wrong="the global generator for the copy's own" says=["is PyTorch's global generator: give the copy a new one"]
def worker_rng(worker_id):
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)
    info.dataset.generator = torch.default_generator


# %% wrong="one worker keeps its own" says=["one worker, three epochs"]
def worker_rng(worker_id):
    info = get_worker_info()
    if info.num_workers == 1:
        return
    info.dataset.rng = np.random.default_rng(info.seed)
    info.dataset.generator = torch.Generator().manual_seed(info.seed)


# %% wrong="three workers at most" says=["five workers, one epoch"]
def worker_rng(worker_id):
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed - worker_id + worker_id % 3)
    info.dataset.generator = torch.Generator().manual_seed(info.seed - worker_id + worker_id % 3)
