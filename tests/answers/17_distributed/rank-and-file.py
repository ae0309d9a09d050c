# %% [markdown]
# Rules:
#
# - "Predict, with Python values"
# - "`add_up` is the function above"
# - "a rank counts from 0"
# - "what rank 2 of `launch(add_up, 3)` returns"
# - "its length in the notebook afterwards"
# - "How many `A` are certainly printed before the first `B`?"
# - "`os.environ["WORLD_SIZE"]` in a rank"
# - "the local rank of rank 6"

# %% wrong="counts ranks from 1, sums what one rank has" breaks="a rank counts from 0" says=["sum on rank 0 is not 1.0", "all three", "local rank of 6 is not 3", "count from 0"]
rank_and_file = {
    "sum on rank 2": 3.0,
    "sum on rank 0": 1.0,
    "length of notes": 0,
    "A before B": 3,
    "WORLD_SIZE": "3",
    "local rank of 6": 3,
}

# %% wrong="shared memory" breaks="its length in the notebook afterwards" says=["length of notes is not 3", "its own memory"]
rank_and_file = {
    "sum on rank 2": 6.0,
    "sum on rank 0": 6.0,
    "length of notes": 3,
    "A before B": 3,
    "WORLD_SIZE": "3",
    "local rank of 6": 2,
}

# %% wrong="a number in the environment, a barrier for one" says=["WORLD_SIZE is not 3", "always a string", "A before B is not 1"]
rank_and_file = {
    "sum on rank 2": 6.0,
    "sum on rank 0": 6.0,
    "length of notes": 0,
    "A before B": 1,
    "WORLD_SIZE": 3,
    "local rank of 6": 2,
}

# %% wrong="one left blank" says=["1 of 6 predictions are still blank: A before B"]
rank_and_file = {
    "sum on rank 2": 6.0,
    "sum on rank 0": 6.0,
    "length of notes": 0,
    "A before B": None,
    "WORLD_SIZE": "3",
    "local rank of 6": 2,
}

# %% right="computed, whole numbers"
ranks = range(3)
total = sum(rank + 1 for rank in ranks)
rank_and_file = {"sum on rank 2": total, "sum on rank 0": total, "length of notes": len([])}
rank_and_file.update({"A before B": len(ranks), "WORLD_SIZE": str(len(ranks))})
rank_and_file["local rank of 6"] = 6 % 4

# %% right="other order"
rank_and_file = dict(
    [("local rank of 6", 2), ("WORLD_SIZE", "3"), ("A before B", 3), ("length of notes", 0)]
)
rank_and_file |= {"sum on rank 0": 6.0, "sum on rank 2": 6.0}


# %% wrong="sums the ranks' numbers, not rank + 1" breaks="`add_up` is the function above" says=["each rank hands in rank + 1"]
rank_and_file = {
    "sum on rank 2": 3.0,
    "sum on rank 0": 3.0,
    "length of notes": 0,
    "A before B": 3,
    "WORLD_SIZE": "3",
    "local rank of 6": 2,
}


# %% wrong="a tensor, as an all-reduce leaves it" breaks="Predict, with Python values" says=["a tensor with dimensions is among the predictions", "write plain numbers"]
rank_and_file = {
    "sum on rank 2": torch.tensor([6.0]),
    "sum on rank 0": torch.tensor([6.0]),
    "length of notes": 0,
    "A before B": 3,
    "WORLD_SIZE": "3",
    "local rank of 6": 2,
}


# %% wrong="the sum is on rank 0 alone" breaks="what rank 2 of `launch(add_up, 3)` returns" says=["sum on rank 2 is not 3.0", "1 of 6"]
rank_and_file = {
    "sum on rank 2": 3.0,
    "sum on rank 0": 6.0,
    "length of notes": 0,
    "A before B": 3,
    "WORLD_SIZE": "3",
    "local rank of 6": 2,
}


# %% wrong="a barrier does not wait" breaks="How many `A` are certainly printed before the first `B`?" says=["A before B is not 1", "1 of 6"]
rank_and_file = {
    "sum on rank 2": 6.0,
    "sum on rank 0": 6.0,
    "length of notes": 0,
    "A before B": 1,
    "WORLD_SIZE": "3",
    "local rank of 6": 2,
}


# %% wrong="the number of ranks as an int" breaks="`os.environ[\"WORLD_SIZE\"]` in a rank" says=["WORLD_SIZE is not 3", "1 of 6"]
rank_and_file = {
    "sum on rank 2": 6.0,
    "sum on rank 0": 6.0,
    "length of notes": 0,
    "A before B": 3,
    "WORLD_SIZE": 3,
    "local rank of 6": 2,
}


# %% wrong="the rank among all machines" breaks="the local rank of rank 6" says=["local rank of 6 is not 6", "1 of 6"]
rank_and_file = {
    "sum on rank 2": 6.0,
    "sum on rank 0": 6.0,
    "length of notes": 0,
    "A before B": 3,
    "WORLD_SIZE": "3",
    "local rank of 6": 6,
}
