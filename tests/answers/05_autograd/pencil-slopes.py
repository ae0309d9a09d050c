# %% [markdown]
# Rules:
#
# - "Write down the value of `out`"
# - "and its slopes in `p`, `b` and `a`"
# - "`out = p + a`"
# - "`p = a * b`"

# %% wrong="one way to a" breaks="`out = p + a`" says=["slope in a is not 5", "add both"]
pencil_slopes = {"out": 12, "slope in p": 1, "slope in b": 2, "slope in a": 5}


# %% wrong="the straight way alone" breaks="`p = a * b`" says=["slope in a is not 1: two ways lead to a"]
pencil_slopes = {"out": 12, "slope in p": 1, "slope in b": 2, "slope in a": 1}


# %% wrong="values in place of slopes" breaks="and its slopes in `p`, `b` and `a`" says=["slope in p is not 10", "slope in b is not 5"]
pencil_slopes = {"out": 12, "slope in p": 10, "slope in b": 5, "slope in a": 6}


# %% wrong="only the value" breaks="Write down the value of `out`" says=["3 of 4 predictions are still blank"]
pencil_slopes = {"out": 12, "slope in p": None, "slope in b": None, "slope in a": None}


# %% right="floats"
pencil_slopes = {
    "out": 2.0 * 5.0 + 2.0,
    "slope in p": 1.0,
    "slope in b": 2.0,
    "slope in a": 5.0 + 1.0,
}


# %% right="asked a tensor"
a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
p = a * b
(p + a).backward()
pencil_slopes = {
    "out": p + a,
    "slope in p": torch.tensor(1.0),
    "slope in b": b.grad,
    "slope in a": a.grad,
}


# %% right="nudged by a hundredth"
def out(a: float, b: float) -> float:
    return a * b + a


pencil_slopes = {
    "out": out(2, 5),
    "slope in p": 1,
    "slope in b": (out(2, 5.01) - out(2, 5)) / 0.01,
    "slope in a": (out(2.01, 5) - out(2, 5)) / 0.01,
}
