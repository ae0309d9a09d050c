# %% [markdown]
# Rules:
#
# - "on **four** ranks"
# - "parameters, gradients and Adam's two moments take together"
# - "on *one* rank"
# - "right before an optimizer's step"
# - "(Not the first one: Adam makes its moments in it.)"

# %% wrong="DDP divides too" says=["DDP is not", "more ranks save no byte"]
bytes_per_rank = {"DDP": 1, "stage 1": 1, "stage 2": 1, "stage 3": 1}


# %% wrong="one moment" breaks="parameters, gradients and Adam's two moments take together" says=["stage 1 is not 2.25", "two moments"]
bytes_per_rank = {"DDP": 3, "stage 1": 2.25, "stage 2": 1.5, "stage 3": 0.75}


# %% wrong="stage 1 divides the gradients" says=["1 of 4 predictions", "stage 1 is not 1.75"]
bytes_per_rank = {"DDP": 4, "stage 1": 1.75, "stage 2": 1.75, "stage 3": 1}


# %% wrong="stage 3 keeps the weights" says=["all four numbers of each parameter"]
bytes_per_rank = {"DDP": 4, "stage 1": 2.5, "stage 2": 1.75, "stage 3": 1.75}


# %% right="computed"
part = 1 / 4
bytes_per_rank = {
    "DDP": 1 + 1 + 2,
    "stage 1": 1 + 1 + 2 * part,
    "stage 2": 1 + part + 2 * part,
    "stage 3": 4 * part,
}


# %% right="floats"
bytes_per_rank = dict(zip(["DDP", "stage 1", "stage 2", "stage 3"], [4.0, 2.5, 1.75, 1.0]))


# %% wrong="each stage divides only its own part" says=["it adds to stage 1", "stage 3 is not 3.25"]
bytes_per_rank = {"DDP": 4, "stage 1": 2.5, "stage 2": 3.25, "stage 3": 3.25}


# %% wrong="all four ranks together" breaks="on *one* rank" says=["what all four ranks keep together"]
bytes_per_rank = {"DDP": 16, "stage 1": 10, "stage 2": 7, "stage 3": 4}


# %% wrong="the gradients are left out" breaks="right before an optimizer's step" says=["DDP is not 3"]
bytes_per_rank = {"DDP": 3, "stage 1": 1.5, "stage 2": 1.5, "stage 3": 0.75}


# %% wrong="two ranks" breaks="on **four** ranks" says=["3 of 4", "stage 3 is not 2"]
bytes_per_rank = {
    "DDP": 4,
    "stage 1": 3,
    "stage 2": 2.5,
    "stage 3": 2,
}


# %% wrong="no moments before the first step" breaks="(Not the first one: Adam makes its moments in it.)" says=["4 of 4", "DDP is not 2"]
bytes_per_rank = {
    "DDP": 2,
    "stage 1": 2,
    "stage 2": 1.25,
    "stage 3": 0.5,
}


# %% wrong="in bytes" says=["that is in bytes"]
P, S = 262_144, 262_144 // 4
bytes_per_rank = {
    "DDP": 16 * P,
    "stage 1": 8 * P + 8 * S,
    "stage 2": 4 * P + 12 * S,
    "stage 3": 16 * S,
}


# %% wrong="in MB of a million bytes" says=["that is in MB, of a million bytes"]
mb = 262_144 * 4 / 1e6
bytes_per_rank = {"DDP": 4 * mb, "stage 1": 2.5 * mb, "stage 2": 1.75 * mb, "stage 3": mb}
