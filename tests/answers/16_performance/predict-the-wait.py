# %% [markdown]
# Rules:
#
# - "no kernel is launched (a view"
# - "new memory gets the same values"
# - "a kernel computes new values"
# - "the host continues at once"
# - "For each line choose one word"

# %% wrong="a blank is left" breaks="For each line choose one word" says=["1 of 10 predictions are still blank"]
LINES = [
    "x.reshape(-1)",
    "x.T.reshape(-1)",
    "x.add_(1)",
    "if (x > 0).any(): pass",
    "x.to(torch.float32)",
    "x[x > 0]",
    "torch.where(x > 0, x, 0)",
    "print(x)",
    "x.expand(8, 1000, 1000)",
    "torch.empty_like(x)",
]
words = "nothing copies computes waits nothing waits computes waits nothing nothing".split()
predict_the_wait = dict(zip(LINES, words, strict=True)) | {"print(x)": None}

# %% wrong="a view costs a copy" breaks="no kernel is launched (a view" says=["4 of 10", "a row of all elements is a view", "stride 0"]
LINES = [
    "x.reshape(-1)",
    "x.T.reshape(-1)",
    "x.add_(1)",
    "if (x > 0).any(): pass",
    "x.to(torch.float32)",
    "x[x > 0]",
    "torch.where(x > 0, x, 0)",
    "print(x)",
    "x.expand(8, 1000, 1000)",
    "torch.empty_like(x)",
]
words = "copies copies computes waits copies waits computes waits copies copies".split()
predict_the_wait = dict(zip(LINES, words, strict=True))

# %% wrong="in place is nothing, a mask is computed" breaks="a kernel computes new values" says=["in place means no new memory", "how many"]
LINES = [
    "x.reshape(-1)",
    "x.T.reshape(-1)",
    "x.add_(1)",
    "if (x > 0).any(): pass",
    "x.to(torch.float32)",
    "x[x > 0]",
    "torch.where(x > 0, x, 0)",
    "print(x)",
    "x.expand(8, 1000, 1000)",
    "torch.empty_like(x)",
]
words = "nothing copies nothing waits nothing computes computes waits nothing nothing".split()
predict_the_wait = dict(zip(LINES, words, strict=True))

# %% wrong="where waits as a branch does" breaks="the host continues at once" says=["the shape is known beforehand"]
LINES = [
    "x.reshape(-1)",
    "x.T.reshape(-1)",
    "x.add_(1)",
    "if (x > 0).any(): pass",
    "x.to(torch.float32)",
    "x[x > 0]",
    "torch.where(x > 0, x, 0)",
    "print(x)",
    "x.expand(8, 1000, 1000)",
    "torch.empty_like(x)",
]
words = "nothing copies computes waits nothing waits waits waits nothing nothing".split()
predict_the_wait = dict(zip(LINES, words, strict=True))

# %% wrong="a transposed view reshapes for free" breaks="new memory gets the same values" says=["don't follow each other in memory"]
LINES = [
    "x.reshape(-1)",
    "x.T.reshape(-1)",
    "x.add_(1)",
    "if (x > 0).any(): pass",
    "x.to(torch.float32)",
    "x[x > 0]",
    "torch.where(x > 0, x, 0)",
    "print(x)",
    "x.expand(8, 1000, 1000)",
    "torch.empty_like(x)",
]
words = "nothing nothing computes waits nothing waits computes waits nothing nothing".split()
predict_the_wait = dict(zip(LINES, words, strict=True))

# %% right="grouped by word"
predict_the_wait = {
    line: word
    for word, lines in {
        "waits": ["print(x)", "if (x > 0).any(): pass", "x[x > 0]"],
        "copies": ["x.T.reshape(-1)"],
        "computes": ["torch.where(x > 0, x, 0)", "x.add_(1)"],
        "nothing": [
            "x.reshape(-1)",
            "x.to(torch.float32)",
            "x.expand(8, 1000, 1000)",
            "torch.empty_like(x)",
        ],
    }.items()
    for line in lines
}
