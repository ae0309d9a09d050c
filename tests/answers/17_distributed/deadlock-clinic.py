# %% wrong="the causes in the order of their table" says=["patient 1 is not 'order'", "patient 6 is not 'device'"]
words = "order skip exception uneven branch device".split()
deadlock_clinic = dict(zip((f"patient {n}" for n in range(1, 7)), words))

# %% wrong="order and branch mixed up" says=["patient 3 is not 'branch'", "patient 4 is not 'order'"]
deadlock_clinic = {
    "patient 1": "uneven",
    "patient 2": "device",
    "patient 3": "branch",
    "patient 4": "order",
    "patient 5": "skip",
    "patient 6": "exception",
}

# %% wrong="did not look at what was printed" says=["patient 1 is not 'skip'", "count the batches"]
deadlock_clinic = {
    "patient 1": "skip",
    "patient 2": "device",
    "patient 3": "order",
    "patient 4": "branch",
    "patient 5": "uneven",
    "patient 6": "exception",
}

# %% wrong="words of their own" says=["'different order' is none of"]
deadlock_clinic = {
    "patient 1": "uneven",
    "patient 2": "device",
    "patient 3": "different order",
    "patient 4": "branch",
    "patient 5": "skip",
    "patient 6": "exception",
}

# %% wrong="device and skip" says=["patient 5 is not 'device'", "patient 2 is not 'skip'"]
deadlock_clinic = {
    "patient 1": "uneven",
    "patient 2": "skip",
    "patient 3": "order",
    "patient 4": "branch",
    "patient 5": "device",
    "patient 6": "exception",
}

# %% right="filled in one by one"
deadlock_clinic = {}
deadlock_clinic["patient 6"] = "exception"
deadlock_clinic["patient 5"] = "skip"
deadlock_clinic["patient 4"] = "branch"
deadlock_clinic["patient 3"] = "order"
deadlock_clinic["patient 2"] = "device"
deadlock_clinic["patient 1"] = "uneven"

# %% right="zipped"
words = "uneven device order branch skip exception".split()
deadlock_clinic = dict(zip((f"patient {n}" for n in range(1, 7)), words))
