# %% wrong="order and branch mixed up" says=["patient 1 is not 'branch'", "patient 5 is not 'order'"]
deadlock_clinic = {
    "patient 1": "branch",
    "patient 2": "skip",
    "patient 3": "exception",
    "patient 4": "uneven",
    "patient 5": "order",
    "patient 6": "device",
}

# %% wrong="did not look at what was printed" says=["patient 4 is not 'skip'", "count the batches"]
deadlock_clinic = {
    "patient 1": "order",
    "patient 2": "uneven",
    "patient 3": "exception",
    "patient 4": "skip",
    "patient 5": "branch",
    "patient 6": "device",
}

# %% wrong="words of their own" says=["'different order' is none of"]
deadlock_clinic = {
    "patient 1": "different order",
    "patient 2": "skip",
    "patient 3": "exception",
    "patient 4": "uneven",
    "patient 5": "branch",
    "patient 6": "device",
}

# %% wrong="device and skip" says=["patient 2 is not 'device'", "patient 6 is not 'skip'"]
deadlock_clinic = {
    "patient 1": "order",
    "patient 2": "device",
    "patient 3": "exception",
    "patient 4": "uneven",
    "patient 5": "branch",
    "patient 6": "skip",
}

# %% right="filled in one by one"
deadlock_clinic = {}
deadlock_clinic["patient 6"] = "device"
deadlock_clinic["patient 5"] = "branch"
deadlock_clinic["patient 4"] = "uneven"
deadlock_clinic["patient 3"] = "exception"
deadlock_clinic["patient 2"] = "skip"
deadlock_clinic["patient 1"] = "order"

# %% right="zipped"
words = "order skip exception uneven branch device".split()
deadlock_clinic = dict(zip((f"patient {n}" for n in range(1, 7)), words))
