# %% [markdown]
# Rules:
#
# - "Write each as a `lambda` or a function"
# - "above all `sum`"
# - "indexing by numbers or tensors"
# - "other functions of PyTorch"
# - "and taking the numbers out"
# - "as `tolist`, NumPy"
# - "and `for a in x` do"
# - "No loops"
# - "and no more for a long input than for a short one"
# - "A boolean becomes a whole number"
# - "has the slow specification of each"
#
# Admits:
#
# - "Each 1-D tensor has at least one entry": (y[:1], 3)
# - "at least one entry": (few[:1], 3)
# - "`a`, `b`, `n` and `k` are Python numbers": (x, -1), (x, 0), (x, 6)
# - "except `keep`, which is boolean": (few, some), (few, ~some)

# %% wrong="blank" breaks="Write each as a `lambda` or a function" says=["6 of 6 cases fail", "total: it is None: is there an answer yet?"]
puzzles = {}

# %% wrong="calls sum" breaks="above all `sum`" says=["total: sum ran, which is not allowed here", "1 of 6"]
index = torch.arange
puzzles = {
    "total": lambda x: x.sum(),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="calls cumsum and flip" breaks="other functions of PyTorch" says=["2 of 6", "running sum: cumsum ran", "reverse: flip ran"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: x.cumsum(0),
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: x.flip(0),
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="the outer product the other way round" says=["rows and columns have changed places"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: y[:, None] * x,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="rolls the wrong way" says=["roll: of [3, 1, 4, 1], 1: it rolls the other way"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] + k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="does not wrap around" says=["roll: of [3, 1, 4, 1], 1: what falls off at one end comes back"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: (index(len(x))[:, None] - k == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="indexes with tensors" breaks="indexing by numbers or tensors" says=["differences: an index that is a tensor or a mask ran, which is not allowed here"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - x[index(len(x)) - 1] * (index(len(x)) > 0),
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="adds from the end, subtracts the next" breaks="has the slow specification of each" says=["it runs from the other end", "the entry after it was taken away"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] <= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) - 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="a running sum that leaves the entry itself out" says=["running sum: of [3, 1, 4, 1]: the entry itself counts, too"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] > index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="a loop over tolist, made a tensor by arange" breaks="and taking the numbers out" says=["total: tolist takes numbers out"]
index = torch.arange
puzzles = {
    "total": lambda x: torch.arange(1) + sum(x.tolist()),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="a loop over the rows of a NumPy array" breaks="as `tolist`, NumPy" says=["total: numpy takes numbers out"]
index = torch.arange
puzzles = {
    "total": lambda x: torch.arange(1) * 0 + sum(int(a) for a in x.numpy()),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="a loop over the tensor" breaks="and `for a in x` do" says=["total: int(), a loop over a tensor (for a in x, sum(x)) takes numbers out"]
index = torch.arange
puzzles = {
    "total": lambda x: torch.arange(1) + sum(int(a) for a in x),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}


# %% wrong="a loop over products" breaks="No loops" says=["total: ", "operators ran for", "is there a loop?"]
def sum_of(x):
    total = 0
    for place in range(len(x)):
        total = total + (torch.arange(len(x)) == place) * 1 @ x
    return total


index = torch.arange
puzzles = {
    "total": lambda x: sum_of(x),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="builds a tensor from a list" says=["linspace: tensor takes numbers out of a tensor or puts them in"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: torch.tensor([a + (b - a) * i // (n - 1) for i in range(n)]) * 1,
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="divides too early" says=["linspace: of 1, 9, 4", "divide last"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) // (n - 1) * index(n),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="one number short of the end" says=["linspace: of 0, 10, 6: b is missing: n numbers have n - 1 steps"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // n,
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="an equal bound does not count" says=["bucketize: of [3, 1, 4, 1], [1, 3, 9]: a bound that is equal counts"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] > bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="zeros in front" says=["pad to: of [3, 1, 4, 1], 6: the zeros stand in front"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] - (n - len(x)) == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="pads and does not cut" says=["pad to: ", "what is more than that is cut off"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (
        (index(n + (len(x) - n) * (len(x) > n))[:, None] == index(len(x))) * 1 @ x
    ),
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="keeps what should go" says=["compress: of [3, 1, 4, 1], [True, False, True, True]: these are the entries that should go"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](~keep * 1)) & ~keep) * 1 @ x
    ),
}

# %% wrong="zeros where an entry goes, nothing moved" says=["compress: of [3, 1, 4, 1]", "has to move to the front"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: x * keep,
}

# %% wrong="a mask that is not a number" breaks="A boolean becomes a whole number" says=["histogram: ", "only what is equal counts"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] <= x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}

# %% wrong="segments that are averaged over all" says=["segment sum: ", "differs"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ (x - x + s),
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}


# %% wrong="einsum for the outer product" says=["outer: einsum ran, which is not allowed here"]
puzzles = {"outer": lambda x, y: torch.einsum("i,j->ij", x, y)}


# %% right="functions with names, rows on the left"
def ones(x):
    return (x == x) * 1


def between(n, m, test):
    return test(torch.arange(n)[:, None], torch.arange(m)[None, :]) * 1


puzzles = {
    "total": lambda x: ones(x) @ x,
    "outer": lambda x, y: x[:, None] @ y[None, :],
    "running sum": lambda x: x @ between(len(x), len(x), lambda i, j: ~(i > j)),
    "differences": lambda x: (
        between(*[len(x)] * 2, lambda i, j: (i == j) * 1 - (i - 1 == j) * 1) @ x
    ),
    "reverse": lambda x: x @ between(len(x), len(x), lambda i, j: i == len(x) - 1 - j),
    "roll": lambda x, k: x @ between(len(x), len(x), lambda i, j: (j - i - k) % len(x) == 0),
    "pad to": lambda x, n: x @ between(x.shape[0], n, lambda i, j: i == j),
    "linspace": lambda a, b, n: ((n - 1) * a + torch.arange(n) * (b - a)) // (n - 1),
    "bucketize": lambda x, bounds: ones(bounds) @ (bounds[:, None] <= x).long(),
    "histogram": lambda x, n: ones(x) @ (torch.arange(n) == x[:, None]).long(),
    "segment sum": lambda x, s, n: x @ ((s[:, None] == torch.arange(n)) * 1),
    "compress": lambda x, keep: compress(x, keep.long()),
}


def compress(x, keep):
    place = puzzles["running sum"](keep) - keep
    return (x * keep) @ ((place[:, None] == torch.arange(len(x))) & (keep[:, None] == 1)).long()


# %% right="differences composed of other answers"
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (
        ((index(len(x))[:, None] > index(len(x))) | (index(len(x))[:, None] == index(len(x))))
        * 1
        @ x
    ),
    "differences": lambda x: (
        x
        - puzzles["roll"](x, 1)
        + puzzles["total"](x * (index(len(x)) == len(x) - 1)) * (index(len(x)) == 0)
    ),
    "reverse": lambda x: puzzles["roll"](
        ((0 - index(len(x))[:, None]) % len(x) == index(len(x))) * 1 @ x, -1
    ),
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: puzzles["segment sum"](x * 0 + 1, x, n),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}


# %% wrong="slices by numbers" says=["a slice, such as x[1:] ran"]
def _i(x):
    return torch.arange(len(x))


puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: ((_i(x)[:, None] >= _i(x)) * 1) @ x,
    "differences": lambda x: x - ((_i(x)[:, None] == _i(x) + 1) * 1) @ x,
    "reverse": lambda x: ((_i(x)[:, None] + _i(x) == len(x) - 1) * 1) @ x,
    "roll": lambda x, k: (((_i(x)[:, None] - k) % len(x) == _i(x)) * 1) @ x,
    "pad to": lambda x, n: ((torch.arange(n)[:, None] == _i(x)) * 1) @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: ((bounds <= x[:, None]) * 1) @ (bounds * 0 + 1),
    "histogram": lambda x, n: ((torch.arange(n)[:, None] == x) * 1) @ (x * 0 + 1),
    "segment sum": lambda x, s, n: ((torch.arange(n)[:, None] == s) * 1) @ x,
    "compress": lambda x, keep: (
        (((_i(x)[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1) @ x
    ),
}


puzzles["differences"] = lambda x: x - ((_i(x)[:, None] == _i(x) + 1) * 1)[:, :-1] @ x[:-1]


# %% wrong="torch.dot" says=["total: dot ran, which is not allowed"]
def _i(x):
    return torch.arange(len(x))


puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: ((_i(x)[:, None] >= _i(x)) * 1) @ x,
    "differences": lambda x: x - ((_i(x)[:, None] == _i(x) + 1) * 1) @ x,
    "reverse": lambda x: ((_i(x)[:, None] + _i(x) == len(x) - 1) * 1) @ x,
    "roll": lambda x, k: (((_i(x)[:, None] - k) % len(x) == _i(x)) * 1) @ x,
    "pad to": lambda x, n: ((torch.arange(n)[:, None] == _i(x)) * 1) @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: ((bounds <= x[:, None]) * 1) @ (bounds * 0 + 1),
    "histogram": lambda x, n: ((torch.arange(n)[:, None] == x) * 1) @ (x * 0 + 1),
    "segment sum": lambda x, s, n: ((torch.arange(n)[:, None] == s) * 1) @ x,
    "compress": lambda x, keep: (
        (((_i(x)[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1) @ x
    ),
}


puzzles["total"] = lambda x: torch.dot(x, x * 0 + 1)


# %% wrong="doubles the step" breaks="and no more for a long input than for a short one" says=["running sum: ", "operators ran for 64 entries", "for fewer: is there a loop?"]
def _i(x):
    return torch.arange(len(x))


puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: ((_i(x)[:, None] >= _i(x)) * 1) @ x,
    "differences": lambda x: x - ((_i(x)[:, None] == _i(x) + 1) * 1) @ x,
    "reverse": lambda x: ((_i(x)[:, None] + _i(x) == len(x) - 1) * 1) @ x,
    "roll": lambda x, k: (((_i(x)[:, None] - k) % len(x) == _i(x)) * 1) @ x,
    "pad to": lambda x, n: ((torch.arange(n)[:, None] == _i(x)) * 1) @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: ((bounds <= x[:, None]) * 1) @ (bounds * 0 + 1),
    "histogram": lambda x, n: ((torch.arange(n)[:, None] == x) * 1) @ (x * 0 + 1),
    "segment sum": lambda x, s, n: ((torch.arange(n)[:, None] == s) * 1) @ x,
    "compress": lambda x, keep: (
        (((_i(x)[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1) @ x
    ),
}


def running(x):
    step, n = 1, x.shape[0]
    while step < n:
        x = x + ((_i(x)[:, None] == _i(x) + step) * 1) @ x
        step = step * 2
    return x


puzzles["running sum"] = running


puzzles["compress"] = lambda x, keep: (
    (((_i(x)[:, None] == ((_i(x)[:, None] >= _i(x)) * 1) @ (keep * 1) - 1) & keep) * 1) @ x
)


# %% wrong="rows and columns where there are as many" says=["outer: of [2, 7], [3, 8]: rows and columns have changed places"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: (x[:, None] * y).T if len(x) == len(y) else x[:, None] * y,
    "running sum": lambda x: ((index(len(x))[:, None] >= index(len(x))) * 1) @ x,
    "differences": lambda x: x - ((index(len(x))[:, None] - 1 == index(len(x))) * 1) @ x,
    "reverse": lambda x: ((index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1) @ x,
    "roll": lambda x, k: (((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1) @ x,
    "pad to": lambda x, n: ((index(n)[:, None] == index(len(x))) * 1) @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: ((bounds <= x[:, None]) * 1) @ (bounds * 0 + 1),
    "histogram": lambda x, n: ((index(n)[:, None] == x) * 1) @ (x * 0 + 1),
    "segment sum": lambda x, s, n: ((index(n)[:, None] == s) * 1) @ x,
    "compress": lambda x, keep: (
        (
            (
                ((index(len(x))[:, None] >= index(len(x))) * 1) @ (keep * 1) - 1
                == index(len(x))[:, None]
            )
            & keep
        )
        * 1
        @ x
    ),
}


# %% wrong="a running sum in float32" says=["running sum: of [1152921504606846977, 1, -6]"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (((index(len(x))[:, None] >= index(len(x))) * 1.0) @ (x * 1.0)).long(),
    "differences": lambda x: x - ((index(len(x))[:, None] - 1 == index(len(x))) * 1) @ x,
    "reverse": lambda x: ((index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1) @ x,
    "roll": lambda x, k: (((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1) @ x,
    "pad to": lambda x, n: ((index(n)[:, None] == index(len(x))) * 1) @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: ((bounds <= x[:, None]) * 1) @ (bounds * 0 + 1),
    "histogram": lambda x, n: ((index(n)[:, None] == x) * 1) @ (x * 0 + 1),
    "segment sum": lambda x, s, n: ((index(n)[:, None] == s) * 1) @ x,
    "compress": lambda x, keep: (
        (
            (
                ((index(len(x))[:, None] >= index(len(x))) * 1) @ (keep * 1) - 1
                == index(len(x))[:, None]
            )
            & keep
        )
        * 1
        @ x
    ),
}


# %% wrong="a falling line is rounded to its beginning" says=["// rounds down, below zero as well"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: ((index(len(x))[:, None] >= index(len(x))) * 1) @ x,
    "differences": lambda x: x - ((index(len(x))[:, None] - 1 == index(len(x))) * 1) @ x,
    "reverse": lambda x: ((index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1) @ x,
    "roll": lambda x, k: (((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1) @ x,
    "pad to": lambda x, n: ((index(n)[:, None] == index(len(x))) * 1) @ x,
    "linspace": lambda a, b, n: (
        a + (b - a) * index(n) // (n - 1) if b >= a else a - (a - b) * index(n) // (n - 1)
    ),
    "bucketize": lambda x, bounds: ((bounds <= x[:, None]) * 1) @ (bounds * 0 + 1),
    "histogram": lambda x, n: ((index(n)[:, None] == x) * 1) @ (x * 0 + 1),
    "segment sum": lambda x, s, n: ((index(n)[:, None] == s) * 1) @ x,
    "compress": lambda x, keep: (
        (
            (
                ((index(len(x))[:, None] >= index(len(x))) * 1) @ (keep * 1) - 1
                == index(len(x))[:, None]
            )
            & keep
        )
        * 1
        @ x
    ),
}


# %% wrong="a line in float32" says=["linspace: of 0, 1000000000, 4"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: ((index(len(x))[:, None] >= index(len(x))) * 1) @ x,
    "differences": lambda x: x - ((index(len(x))[:, None] - 1 == index(len(x))) * 1) @ x,
    "reverse": lambda x: ((index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1) @ x,
    "roll": lambda x, k: (((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1) @ x,
    "pad to": lambda x, n: ((index(n)[:, None] == index(len(x))) * 1) @ x,
    "linspace": lambda a, b, n: (a + (b - a) * 1.0 * index(n) // (n - 1)).long(),
    "bucketize": lambda x, bounds: ((bounds <= x[:, None]) * 1) @ (bounds * 0 + 1),
    "histogram": lambda x, n: ((index(n)[:, None] == x) * 1) @ (x * 0 + 1),
    "segment sum": lambda x, s, n: ((index(n)[:, None] == s) * 1) @ x,
    "compress": lambda x, keep: (
        (
            (
                ((index(len(x))[:, None] >= index(len(x))) * 1) @ (keep * 1) - 1
                == index(len(x))[:, None]
            )
            & keep
        )
        * 1
        @ x
    ),
}


# %% wrong="what is too large is counted in the last" says=["histogram", "belongs nowhere"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: ((index(len(x))[:, None] >= index(len(x))) * 1) @ x,
    "differences": lambda x: x - ((index(len(x))[:, None] - 1 == index(len(x))) * 1) @ x,
    "reverse": lambda x: ((index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1) @ x,
    "roll": lambda x, k: (((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1) @ x,
    "pad to": lambda x, n: ((index(n)[:, None] == index(len(x))) * 1) @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: ((bounds <= x[:, None]) * 1) @ (bounds * 0 + 1),
    "histogram": lambda x, n: (
        (((index(n)[:, None] == x) | ((index(n)[:, None] == n - 1) & (x > n - 1))) * 1)
        @ (x * 0 + 1)
    ),
    "segment sum": lambda x, s, n: ((index(n)[:, None] == s) * 1) @ x,
    "compress": lambda x, keep: (
        (
            (
                ((index(len(x))[:, None] >= index(len(x))) * 1) @ (keep * 1) - 1
                == index(len(x))[:, None]
            )
            & keep
        )
        * 1
        @ x
    ),
}


# %% wrong="what is below 0 is added to the first" says=["segment sum", "belongs nowhere"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: ((index(len(x))[:, None] >= index(len(x))) * 1) @ x,
    "differences": lambda x: x - ((index(len(x))[:, None] - 1 == index(len(x))) * 1) @ x,
    "reverse": lambda x: ((index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1) @ x,
    "roll": lambda x, k: (((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1) @ x,
    "pad to": lambda x, n: ((index(n)[:, None] == index(len(x))) * 1) @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: ((bounds <= x[:, None]) * 1) @ (bounds * 0 + 1),
    "histogram": lambda x, n: ((index(n)[:, None] == x) * 1) @ (x * 0 + 1),
    "segment sum": lambda x, s, n: ((index(n)[:, None] == s * (s > 0)) * 1) @ x,
    "compress": lambda x, keep: (
        (
            (
                ((index(len(x))[:, None] >= index(len(x))) * 1) @ (keep * 1) - 1
                == index(len(x))[:, None]
            )
            & keep
        )
        * 1
        @ x
    ),
}


# %% wrong="through float64 and back" breaks="other functions of PyTorch" says=["total: double ran, which is not allowed here"]
puzzles = {
    "total": lambda x: (x.double() @ (x.double() * 0 + 1)).long(),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1 @ x,
    "differences": lambda x: (
        x - (torch.arange(len(x))[:, None] == torch.arange(len(x)) + 1) * 1 @ x
    ),
    "reverse": lambda x: (
        (torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1 @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x))[:, None] - k) % len(x) == torch.arange(len(x))) * 1 @ x
    ),
    "pad to": lambda x, n: (torch.arange(n)[:, None] == torch.arange(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: (bounds <= x[:, None]) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (torch.arange(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (torch.arange(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((torch.arange(len(x))[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1 @ x
    ),
}


# %% wrong="unsqueeze in place of None" breaks="other functions of PyTorch" says=["outer: unsqueeze ran"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x.unsqueeze(1) * y,
    "running sum": lambda x: (torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1 @ x,
    "differences": lambda x: (
        x - (torch.arange(len(x))[:, None] == torch.arange(len(x)) + 1) * 1 @ x
    ),
    "reverse": lambda x: (
        (torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1 @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x))[:, None] - k) % len(x) == torch.arange(len(x))) * 1 @ x
    ),
    "pad to": lambda x, n: (torch.arange(n)[:, None] == torch.arange(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: (bounds <= x[:, None]) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (torch.arange(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (torch.arange(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((torch.arange(len(x))[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1 @ x
    ),
}


# %% wrong="view in place of None" breaks="other functions of PyTorch" says=["outer: view ran"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x.view(-1, 1) * y,
    "running sum": lambda x: (torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1 @ x,
    "differences": lambda x: (
        x - (torch.arange(len(x))[:, None] == torch.arange(len(x)) + 1) * 1 @ x
    ),
    "reverse": lambda x: (
        (torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1 @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x))[:, None] - k) % len(x) == torch.arange(len(x))) * 1 @ x
    ),
    "pad to": lambda x, n: (torch.arange(n)[:, None] == torch.arange(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: (bounds <= x[:, None]) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (torch.arange(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (torch.arange(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((torch.arange(len(x))[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1 @ x
    ),
}


# %% wrong="an outer product of one row that is flat" says=["outer: of [2], [3, 1, 4, 1]: the result has shape (4,), expected (1, 4)"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: (x[:, None] * y) if len(x) > 1 else x * y,
    "running sum": lambda x: (torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1 @ x,
    "differences": lambda x: (
        x - (torch.arange(len(x))[:, None] == torch.arange(len(x)) + 1) * 1 @ x
    ),
    "reverse": lambda x: (
        (torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1 @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x))[:, None] - k) % len(x) == torch.arange(len(x))) * 1 @ x
    ),
    "pad to": lambda x, n: (torch.arange(n)[:, None] == torch.arange(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: (bounds <= x[:, None]) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (torch.arange(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (torch.arange(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((torch.arange(len(x))[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1 @ x
    ),
}


# %% wrong="sums of segments in float32" says=["segment sum: of [1152921504606846977, 1, -6], [2, 0, 2], 3", "a float has too few digits"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1 @ x,
    "differences": lambda x: (
        x - (torch.arange(len(x))[:, None] == torch.arange(len(x)) + 1) * 1 @ x
    ),
    "reverse": lambda x: (
        (torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1 @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x))[:, None] - k) % len(x) == torch.arange(len(x))) * 1 @ x
    ),
    "pad to": lambda x, n: (torch.arange(n)[:, None] == torch.arange(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: (bounds <= x[:, None]) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (torch.arange(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (((torch.arange(n)[:, None] == s) * 1.0) @ (x * 1.0)).long(),
    "compress": lambda x, keep: (
        ((torch.arange(len(x))[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1 @ x
    ),
}


# %% wrong="loses a zero that is kept" says=["a zero that is kept keeps its place as well"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1 @ x,
    "differences": lambda x: (
        x - (torch.arange(len(x))[:, None] == torch.arange(len(x)) + 1) * 1 @ x
    ),
    "reverse": lambda x: (
        (torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1 @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x))[:, None] - k) % len(x) == torch.arange(len(x))) * 1 @ x
    ),
    "pad to": lambda x, n: (torch.arange(n)[:, None] == torch.arange(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: (bounds <= x[:, None]) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (torch.arange(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (torch.arange(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((torch.arange(len(x))[:, None] == puzzles["running sum"]((x * keep > 0) * 1) - 1) & keep)
        * 1
        @ x
    ),
}


# %% wrong="keeps a single entry always" says=["compress: of [3], [False]"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1 @ x,
    "differences": lambda x: (
        x - (torch.arange(len(x))[:, None] == torch.arange(len(x)) + 1) * 1 @ x
    ),
    "reverse": lambda x: (
        (torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1 @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x))[:, None] - k) % len(x) == torch.arange(len(x))) * 1 @ x
    ),
    "pad to": lambda x, n: (torch.arange(n)[:, None] == torch.arange(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: (bounds <= x[:, None]) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (torch.arange(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (torch.arange(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        x
        if len(x) < 2
        else ((torch.arange(len(x))[:, None] == puzzles["running sum"](keep * 1) - 1) & keep)
        * 1
        @ x
    ),
}


# %% wrong="adds what goes to what stays" says=["an entry that goes was added to one that stays"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1 @ x,
    "differences": lambda x: (
        x - (torch.arange(len(x))[:, None] == torch.arange(len(x)) + 1) * 1 @ x
    ),
    "reverse": lambda x: (
        (torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1 @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x))[:, None] - k) % len(x) == torch.arange(len(x))) * 1 @ x
    ),
    "pad to": lambda x, n: (torch.arange(n)[:, None] == torch.arange(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: (bounds <= x[:, None]) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (torch.arange(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (torch.arange(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        (torch.arange(len(x))[:, None] == puzzles["running sum"](keep * 1) - 1) * 1 @ x
    ),
}


# %% wrong="keeps a total by its length" says=["total: of [1, -1, 2, -1]: the result"]
import functools


@functools.lru_cache
def by_length(n):
    return []


def total(x):
    kept = by_length(len(x))
    if not kept:
        kept.append(x @ (x * 0 + 1))
    return kept[0]


puzzles = {
    "total": total,
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1 @ x,
    "differences": lambda x: (
        x - (torch.arange(len(x))[:, None] == torch.arange(len(x)) + 1) * 1 @ x
    ),
    "reverse": lambda x: (
        (torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1 @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x))[:, None] - k) % len(x) == torch.arange(len(x))) * 1 @ x
    ),
    "pad to": lambda x, n: (torch.arange(n)[:, None] == torch.arange(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: (bounds <= x[:, None]) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (torch.arange(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (torch.arange(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((torch.arange(len(x))[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1 @ x
    ),
}


# %% wrong="rolls by k modulo 64" says=["roll: of [-30, 7, -20, 17, -10, 27, 0], -101: the result differs"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1 @ x,
    "differences": lambda x: (
        x - (torch.arange(len(x))[:, None] == torch.arange(len(x)) + 1) * 1 @ x
    ),
    "reverse": lambda x: (
        (torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1 @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x))[:, None] - k % 64) % len(x) == torch.arange(len(x))) * 1 @ x
    ),
    "pad to": lambda x, n: (torch.arange(n)[:, None] == torch.arange(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: (bounds <= x[:, None]) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (torch.arange(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (torch.arange(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((torch.arange(len(x))[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1 @ x
    ),
}


# %% wrong="the last taken from the first" says=["there the row does not close"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1 @ x,
    "differences": lambda x: (
        x - ((torch.arange(len(x))[:, None] - 1) % len(x) == torch.arange(len(x))) * 1 @ x
    ),
    "reverse": lambda x: (
        (torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1 @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x))[:, None] - k) % len(x) == torch.arange(len(x))) * 1 @ x
    ),
    "pad to": lambda x, n: (torch.arange(n)[:, None] == torch.arange(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: (bounds <= x[:, None]) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (torch.arange(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (torch.arange(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((torch.arange(len(x))[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1 @ x
    ),
}


# %% wrong="whether a number is there" says=["how often, not whether"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1 @ x,
    "differences": lambda x: (
        x - (torch.arange(len(x))[:, None] == torch.arange(len(x)) + 1) * 1 @ x
    ),
    "reverse": lambda x: (
        (torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1 @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x))[:, None] - k) % len(x) == torch.arange(len(x))) * 1 @ x
    ),
    "pad to": lambda x, n: (torch.arange(n)[:, None] == torch.arange(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: (bounds <= x[:, None]) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: ((torch.arange(n)[:, None] == x) * 1 @ (x * 0 + 1) > 0) * 1,
    "segment sum": lambda x, s, n: (torch.arange(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((torch.arange(len(x))[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1 @ x
    ),
}


# %% right="nothing to do where nothing moves"
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1 @ x,
    "differences": lambda x: (
        x - (torch.arange(len(x))[:, None] == torch.arange(len(x)) + 1) * 1 @ x
    ),
    "reverse": lambda x: (
        (torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1 @ x
    ),
    "roll": lambda x, k: (
        x
        if k % len(x) == 0
        else ((torch.arange(len(x))[:, None] - k) % len(x) == torch.arange(len(x))) * 1 @ x
    ),
    "pad to": lambda x, n: (
        x if n == len(x) else (torch.arange(n)[:, None] == torch.arange(len(x))) * 1 @ x
    ),
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: (bounds <= x[:, None]) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (torch.arange(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (torch.arange(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((torch.arange(len(x))[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1 @ x
    ),
}


# %% wrong="rolls through float32" says=["roll: of [1152921504606846977, 1, -6]", "a float has too few digits"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1 @ x,
    "differences": lambda x: (
        x - (torch.arange(len(x))[:, None] - 1 == torch.arange(len(x))) * 1 @ x
    ),
    "reverse": lambda x: (
        (torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1 @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x))[:, None] - k) % len(x) == torch.arange(len(x))) * 1.0 @ (x * 1.0)
    ).long(),
    "pad to": lambda x, n: (torch.arange(n)[:, None] == torch.arange(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: (bounds <= x[:, None]) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (x == torch.arange(n)[:, None]) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (s == torch.arange(n)[:, None]) * 1 @ x,
    "compress": lambda x, keep: (
        ((torch.arange(len(x))[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1 @ x
    ),
}


# %% wrong="at least one number" says=["pad to: of [3, 1, 4, 1], 0: the result"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: ((torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1) @ x,
    "differences": lambda x: (
        (
            (torch.arange(len(x))[:, None] == torch.arange(len(x))) * 1
            - (torch.arange(len(x))[:, None] == torch.arange(len(x)) + 1) * 1
        )
        @ x
    ),
    "reverse": lambda x: (
        ((torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1) @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x)) == (torch.arange(len(x))[:, None] - k) % len(x)) * 1) @ x
    ),
    "pad to": lambda x, n: ((torch.arange(n or 1)[:, None] == torch.arange(len(x))) * 1) @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: ((bounds <= x[:, None]) * 1) @ (bounds * 0 + 1),
    "histogram": lambda x, n: ((torch.arange(n)[:, None] == x) * 1) @ (x * 0 + 1),
    "segment sum": lambda x, s, n: ((torch.arange(n)[:, None] == s) * 1) @ x,
    "compress": lambda x, keep: (
        (((torch.arange(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1) @ x
    ),
}


# %% wrong="no more than fifty numbers can be told apart" says=["segment sum: of [3, 1, 4, 1], [60, 0, 60, 60], 70"]
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: ((torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1) @ x,
    "differences": lambda x: (
        (
            (torch.arange(len(x))[:, None] == torch.arange(len(x))) * 1
            - (torch.arange(len(x))[:, None] == torch.arange(len(x)) + 1) * 1
        )
        @ x
    ),
    "reverse": lambda x: (
        ((torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1) @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x)) == (torch.arange(len(x))[:, None] - k) % len(x)) * 1) @ x
    ),
    "pad to": lambda x, n: ((torch.arange(n)[:, None] == torch.arange(len(x))) * 1) @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: ((bounds <= x[:, None]) * 1) @ (bounds * 0 + 1),
    "histogram": lambda x, n: ((torch.arange(n)[:, None] == x) * 1) @ (x * 0 + 1),
    "segment sum": lambda x, s, n: puzzles["pad to"](((torch.arange(50)[:, None] == s) * 1) @ x, n),
    "compress": lambda x, keep: (
        (((torch.arange(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1) @ x
    ),
}


# %% wrong="t() in place of .T" breaks="other functions of PyTorch" says=["outer: t ran, which is not allowed here"]
index = torch.arange
puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: (y[:, None] * x).t(),
    "running sum": lambda x: (index(len(x))[:, None] >= index(len(x))) * 1 @ x,
    "differences": lambda x: x - (index(len(x))[:, None] == index(len(x)) + 1) * 1 @ x,
    "reverse": lambda x: (index(len(x))[:, None] + index(len(x)) == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: ((index(len(x))[:, None] - k) % len(x) == index(len(x))) * 1 @ x,
    "pad to": lambda x, n: (index(n)[:, None] == index(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * index(n) // (n - 1),
    "bucketize": lambda x, bounds: (x[:, None] >= bounds) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (index(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (index(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((index(len(x))[:, None] + 1 == puzzles["running sum"](keep * 1)) & keep) * 1 @ x
    ),
}


# %% wrong="a bucket ends where the next begins" says=["bucketize: of [3, 1, 4, 1], [3, 1, 4, 1]", "these bounds are in no order"]
def steps(x):
    return torch.arange(len(x))


def bucketize(x, bounds):
    """Between bounds j and j + 1 the bucket is j + 1; behind the last one there is no other."""
    j = steps(bounds)
    following = (j == j[:, None] + 1) * 1 @ bounds
    inside = (bounds <= x[:, None]) & ((x[:, None] < following) | (j == len(bounds) - 1))
    return inside * 1 @ (j + 1)


puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (steps(x) <= steps(x)[:, None]) * 1 @ x,
    "differences": lambda x: x - (steps(x) + 1 == steps(x)[:, None]) * 1 @ x,
    "reverse": lambda x: (steps(x) + steps(x)[:, None] == len(x) - 1) * 1 @ x,
    "roll": lambda x, k: (steps(x) == (steps(x)[:, None] - k) % len(x)) * 1 @ x,
    "pad to": lambda x, n: (torch.arange(n)[:, None] == steps(x)) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": bucketize,
    "histogram": lambda x, n: (torch.arange(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (torch.arange(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((steps(x)[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1 @ x
    ),
}


# %% wrong="ones by dividing by itself" says=["what you divide by, an entry or n, may be 0"]
puzzles = {
    "total": lambda x: x @ (x // x),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: (torch.arange(len(x))[:, None] >= torch.arange(len(x))) * 1 @ x,
    "differences": lambda x: (
        x - (torch.arange(len(x))[:, None] == torch.arange(len(x)) + 1) * 1 @ x
    ),
    "reverse": lambda x: (
        (torch.arange(len(x))[:, None] + torch.arange(len(x)) == len(x) - 1) * 1 @ x
    ),
    "roll": lambda x, k: (
        ((torch.arange(len(x))[:, None] - k) % len(x) == torch.arange(len(x))) * 1 @ x
    ),
    "pad to": lambda x, n: (torch.arange(n)[:, None] == torch.arange(len(x))) * 1 @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: (bounds <= x[:, None]) * 1 @ (bounds * 0 + 1),
    "histogram": lambda x, n: (torch.arange(n)[:, None] == x) * 1 @ (x * 0 + 1),
    "segment sum": lambda x, s, n: (torch.arange(n)[:, None] == s) * 1 @ x,
    "compress": lambda x, keep: (
        ((torch.arange(len(x))[:, None] == puzzles["running sum"](keep * 1) - 1) & keep) * 1 @ x
    ),
}


# %% wrong="products in float64" says=["running sum: of [1152921504606846977, 1, -6]", "a float has too few digits"]
def places(n):
    return torch.arange(n, dtype=torch.float64)


def apply(mask, x):
    one = torch.arange(1, 2, dtype=torch.float64)
    return ((mask * one) @ (x * one)).long()


puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: apply(places(len(x))[:, None] >= places(len(x)), x),
    "differences": lambda x: x - apply(places(len(x))[:, None] == places(len(x)) + 1, x),
    "reverse": lambda x: apply(places(len(x))[:, None] + places(len(x)) == len(x) - 1, x),
    "roll": lambda x, k: apply((places(len(x))[:, None] - k) % len(x) == places(len(x)), x),
    "pad to": lambda x, n: apply(places(n)[:, None] == places(len(x)), x),
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: apply(bounds <= x[:, None], bounds * 0 + 1),
    "histogram": lambda x, n: apply(torch.arange(n)[:, None] == x, x * 0 + 1),
    "segment sum": lambda x, s, n: apply(torch.arange(n)[:, None] == s, x),
    "compress": lambda x, keep: apply(
        (puzzles["running sum"](keep * 1) - 1 == torch.arange(len(x))[:, None]) & keep, x
    ),
}


# %% wrong="compares by a difference" says=["bucketize", "their difference may be beyond int64: compare the two"]
def upto(x):
    return torch.arange(len(x))


def at_least_zero(x):
    return (x >= 0).long()


def is_zero(x):
    return (x == 0).long()


puzzles = {
    "total": lambda x: x @ (x * 0 + 1),
    "outer": lambda x, y: x[:, None] * y,
    "running sum": lambda x: at_least_zero(upto(x)[:, None] - upto(x)) @ x,
    "differences": lambda x: x - is_zero(upto(x)[:, None] - upto(x) - 1) @ x,
    "reverse": lambda x: is_zero(upto(x)[:, None] + upto(x) - len(x) + 1) @ x,
    "roll": lambda x, k: is_zero((upto(x)[:, None] - upto(x) - k) % len(x)) @ x,
    "pad to": lambda x, n: is_zero(torch.arange(n)[:, None] - upto(x)) @ x,
    "linspace": lambda a, b, n: a + (b - a) * torch.arange(n) // (n - 1),
    "bucketize": lambda x, bounds: at_least_zero(x[:, None] - bounds) @ (bounds * 0 + 1),
    "histogram": lambda x, n: is_zero(torch.arange(n)[:, None] - x) @ (x * 0 + 1),
    "segment sum": lambda x, s, n: is_zero(torch.arange(n)[:, None] - s) @ x,
    "compress": lambda x, keep: (
        is_zero(puzzles["running sum"](keep.long()) * keep - 1 - upto(x)[:, None]) @ x
    ),
}
