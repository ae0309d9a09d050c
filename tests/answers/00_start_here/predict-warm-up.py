# %% [markdown]
# Rules:
#
# - "For each expression write the shape of the result"
# - "as a tuple"
# - "if PyTorch refuses"
# - "`c.mean()` averages all elements"
# - "`c.mean(dim=0)` averages along dimension 0 only"
# - "a + b"

# %% wrong="left as it came" breaks="For each expression write the shape of the result" says=["5 of 5 predictions are still blank", "a + b, c + a"]
predict_warm_up = {
    "a + b": None,
    "c + a": None,
    "c + d": None,
    "c.mean()": None,
    "c.mean(dim=0)": None,
}

# %% wrong="the last one is left out" says=["1 of 5 predictions are still blank: c.mean(dim=0)"]
predict_warm_up = {
    "a + b": (4, 3),
    "c + a": (2, 3),
    "c + d": "error",
    "c.mean()": (),
    "c.mean(dim=0)": None,
}

# %% wrong="lines the shapes up from the left" breaks="if PyTorch refuses" says=["2 of 5", "c + a is not 'error'", "c + d is not (2, 3)", "from the right, not from the left"]
predict_warm_up = {
    "a + b": (4, 3),
    "c + a": "error",
    "c + d": (2, 3),
    "c.mean()": (),
    "c.mean(dim=0)": (3,),
}

# %% wrong="different sizes never fit" breaks="a + b" says=["2 of 5", "a + b is not 'error'", "a size 1 or a missing one is repeated"]
predict_warm_up = {
    "a + b": "error",
    "c + a": "error",
    "c + d": "error",
    "c.mean()": (),
    "c.mean(dim=0)": (3,),
}

# %% wrong="dim is what is kept" breaks="`c.mean(dim=0)` averages along dimension 0 only" says=["c.mean(dim=0) is not (2,)", "dim names the dimension that disappears"]
predict_warm_up = {
    "a + b": (4, 3),
    "c + a": (2, 3),
    "c + d": "error",
    "c.mean()": (),
    "c.mean(dim=0)": (2,),
}

# %% wrong="a mean keeps its dimensions" breaks="`c.mean()` averages all elements" says=["c.mean() is not (1,)", "which dimension would it still have?", "c.mean(dim=0) is not (1, 3)"]
predict_warm_up = {
    "a + b": (4, 3),
    "c + a": (2, 3),
    "c + d": "error",
    "c.mean()": (1,),
    "c.mean(dim=0)": (1, 3),
}

# %% wrong="a tuple without its comma" breaks="as a tuple" says=["c.mean(dim=0): write a tuple", "(3,) for one size", "not 3"]
predict_warm_up = {
    "a + b": (4, 3),
    "c + a": (2, 3),
    "c + d": "error",
    "c.mean()": (),
    "c.mean(dim=0)": (3),
}

# %% right="lists and torch.Size, in one stroke"
shapes = [[4, 3], torch.Size([2, 3]), "error", torch.Size([]), [3]]
predict_warm_up = dict(zip(["a + b", "c + a", "c + d", "c.mean()", "c.mean(dim=0)"], shapes))

# %% right="filled in place of None, in another order"
predict_warm_up = {
    "c.mean(dim=0)": (3,),
    "c.mean()": (),
    "c + d": "error",
    "c + a": (2, 3),
    "a + b": (4, 3),
}


# %% wrong="a shape in quotes" says=["a + b: write a tuple such as (2, 3)", "not '(4, 3)'"]
predict_warm_up = {
    "a + b": "(4, 3)",
    "c + a": "(2, 3)",
    "c + d": "error",
    "c.mean()": "()",
    "c.mean(dim=0)": "(3,)",
}


# %% wrong="a list of answers" says=["keep the dict, with a shape for each expression"]
predict_warm_up = [(4, 3), (2, 3), "error", (), (3,)]
