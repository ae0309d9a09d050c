# %% wrong="calls sum" says=["total: sum ran, which is not allowed here"]
puzzles = {"total": lambda x: x.sum()}

# %% wrong="a boolean mask instead of whole numbers" says=["eye of 3 has dtype torch.bool"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "eye": lambda n: torch.arange(n)[:, None] == torch.arange(n),
}

# %% wrong="the outer product the other way round" says=["outer of", "the same sizes in another order"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: y[:, None] * x,
}

# %% wrong="calls cumsum" says=["running sum: cumsum ran"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "eye": lambda n: (torch.arange(n)[:, None] == torch.arange(n)) * 1,
    "lower": lambda n: (torch.arange(n)[:, None] >= torch.arange(n)) * 1,
    "running sum": lambda x: x.cumsum(0),
}

# %% wrong="the upper triangle" says=["lower of 3 differs"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "eye": lambda n: (torch.arange(n)[:, None] == torch.arange(n)) * 1,
    "lower": lambda n: (torch.arange(n)[:, None] <= torch.arange(n)) * 1,
}

# %% wrong="rolls the wrong way, reverses by flip" says=["reverse: flip ran"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "eye": lambda n: (index(n)[:, None] == index(n)) * 1,
    "lower": lambda n: (index(n)[:, None] >= index(n)) * 1,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: x.flip(0),
}

# %% wrong="rolls the wrong way" says=["roll of [3, 1, 4, 1], 1 differs"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "eye": lambda n: (index(n)[:, None] == index(n)) * 1,
    "lower": lambda n: (index(n)[:, None] >= index(n)) * 1,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] + k) % len(x) == index(len(x))) * 1 @ x,
}

# %% wrong="indexes with numbers" says=["differences: ", "ran, which is not allowed here"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "eye": lambda n: (index(n)[:, None] == index(n)) * 1,
    "lower": lambda n: (index(n)[:, None] >= index(n)) * 1,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - x[index(len(x)) - 1] * (index(len(x)) > 0),
}

# %% wrong="counts equal numbers as smaller" says=["rank of [3, 1, 4, 1] differs"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "eye": lambda n: (index(n)[:, None] == index(n)) * 1,
    "lower": lambda n: (index(n)[:, None] >= index(n)) * 1,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "one hot": lambda x, n: (x[:, None] == index(n)) * 1,
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "rank": lambda x: (x[:, None] >= x) * 1 @ (x * 0 + 1),
}


# %% right="functions with names, rows on the left, a loop over nothing"
def ones(x):
    return (x == x) * 1


def total(x):
    return ones(x) @ x


def between(n, test):
    i = torch.arange(n)
    return test(i[:, None], i[None, :]) * 1


puzzles = {
    "total": total,
    "outer": lambda x, y: x[:, None] @ y[None, :],
    "eye": lambda n: between(n, lambda i, j: i == j),
    "lower": lambda n: between(n, lambda i, j: ~(i < j)),
    "running sum": lambda x: x @ between(len(x), lambda i, j: i <= j),
    "differences": lambda x: between(len(x), lambda i, j: (i == j) * 1 - (i - 1 == j) * 1) @ x,
    "reverse": lambda x: x @ between(len(x), lambda i, j: i == len(x) - 1 - j),
    "roll": lambda x, k: x @ between(len(x), lambda i, j: (j - i - k) % len(x) == 0),
    "one hot": lambda x, n: (torch.arange(n) == x[:, None]).long(),
    "histogram": lambda x, n: ones(x) @ (torch.arange(n) == x[:, None]).long(),
    "rank": lambda x: ones(x) @ ((x[:, None] < x) * 1),
    "segment sum": lambda x, s, n: x @ ((s[:, None] == torch.arange(n)) * 1),
}
