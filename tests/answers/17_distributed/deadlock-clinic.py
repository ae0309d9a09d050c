# %% [markdown]
# Rules:
#
# - "Each cause fits once"
# - "both make the same calls, in another order"
# - "one rank leaves before it has made a single call"
# - "one rank stumbled over its data"
# - "one rank has more batches than the other"
# - "one rank's tensor is where this backend doesn't look"
# - "Give each patient its cause"

# %% wrong="the causes in the order of their table" says=["patient 1 is not 'order'", "patient 6 is not 'device'"]
words = "order skip exception uneven branch device".split()
deadlock_clinic = dict(zip((f"patient {n}" for n in range(1, 7)), words))

# %% wrong="order and branch mixed up" breaks="both make the same calls, in another order" says=["patient 3 is not 'branch'", "patient 4 is not 'order'"]
deadlock_clinic = {
    "patient 1": "uneven",
    "patient 2": "device",
    "patient 3": "branch",
    "patient 4": "order",
    "patient 5": "skip",
    "patient 6": "exception",
}

# %% wrong="did not look at what was printed" breaks="one rank has more batches than the other" says=["patient 1 is not 'skip'", "count the batches"]
deadlock_clinic = {
    "patient 1": "skip",
    "patient 2": "device",
    "patient 3": "order",
    "patient 4": "branch",
    "patient 5": "uneven",
    "patient 6": "exception",
}

# %% wrong="words of their own" breaks="Give each patient its cause" says=["'different order' is none of"]
deadlock_clinic = {
    "patient 1": "uneven",
    "patient 2": "device",
    "patient 3": "different order",
    "patient 4": "branch",
    "patient 5": "skip",
    "patient 6": "exception",
}

# %% wrong="device and skip" breaks="one rank's tensor is where this backend doesn't look" says=["patient 5 is not 'device'", "patient 2 is not 'skip'"]
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


# %% wrong="one cause for all" breaks="Each cause fits once" says=["5 of 6"]
deadlock_clinic = {
    "patient 1": "skip",
    "patient 2": "skip",
    "patient 3": "skip",
    "patient 4": "skip",
    "patient 5": "skip",
    "patient 6": "skip",
}


# %% wrong="uneven and skip mixed up" breaks="one rank leaves before it has made a single call" says=["patient 1 is not 'skip'", "patient 5 is not 'uneven'"]
deadlock_clinic = {
    "patient 1": "skip",
    "patient 2": "device",
    "patient 3": "order",
    "patient 4": "branch",
    "patient 5": "uneven",
    "patient 6": "exception",
}


# %% wrong="branch and exception mixed up" breaks="one rank stumbled over its data" says=["patient 6 is not 'branch'"]
deadlock_clinic = {
    "patient 1": "uneven",
    "patient 2": "device",
    "patient 3": "order",
    "patient 4": "exception",
    "patient 5": "skip",
    "patient 6": "branch",
}
