# %% [markdown]
# Rules:
#
# - "what shape has each result"
# - "Write a tuple such as `(4, 5)`"
# - "`()` for none"
# - "(2, 3) @ (3,)"
# - "(2, 3) @ (2, 3)"
# - "(7, 2, 3) @ (3, 4)"
# - "torch.bmm of (7, 2, 3) and (3, 4)"

# %% wrong="blank" breaks="what shape has each result" says=["7 of 7 predictions are still blank"]
product_shapes = {
    "(3,) @ (3,)": None,
    "(2, 3) @ (3,)": None,
    "(2, 3) * (3,)": None,
    "(2, 3) @ (2, 3)": None,
    "(7, 2, 3) @ (3, 4)": None,
    "(5, 1, 2, 3) @ (6, 3, 4)": None,
    "torch.bmm of (7, 2, 3) and (3, 4)": None,
}

# %% wrong="one dimension too many for the dot product" breaks="`()` for none" says=["so no dimension is left"]
product_shapes = {
    "(3,) @ (3,)": (1,),
    "(2, 3) @ (3,)": (2,),
    "(2, 3) * (3,)": (2, 3),
    "(2, 3) @ (2, 3)": "error",
    "(7, 2, 3) @ (3, 4)": (7, 2, 4),
    "(5, 1, 2, 3) @ (6, 3, 4)": (5, 6, 2, 4),
    "torch.bmm of (7, 2, 3) and (3, 4)": "error",
}

# %% wrong="a product that keeps its column" breaks="(2, 3) @ (3,)" says=["one dot product for each row"]
product_shapes = {
    "(3,) @ (3,)": (),
    "(2, 3) @ (3,)": (2, 1),
    "(2, 3) * (3,)": (2, 3),
    "(2, 3) @ (2, 3)": "error",
    "(7, 2, 3) @ (3, 4)": (7, 2, 4),
    "(5, 1, 2, 3) @ (6, 3, 4)": (5, 6, 2, 4),
    "torch.bmm of (7, 2, 3) and (3, 4)": "error",
}

# %% wrong="takes * for a product of matrices, @ for the other" breaks="(2, 3) @ (2, 3)" says=["2 of 7", "sums nothing", "the last size of the left"]
product_shapes = {
    "(3,) @ (3,)": (),
    "(2, 3) @ (3,)": (2,),
    "(2, 3) * (3,)": (2,),
    "(2, 3) @ (2, 3)": (2, 3),
    "(7, 2, 3) @ (3, 4)": (7, 2, 4),
    "(5, 1, 2, 3) @ (6, 3, 4)": (5, 6, 2, 4),
    "torch.bmm of (7, 2, 3) and (3, 4)": "error",
}

# %% wrong="the batch does not broadcast" breaks="(7, 2, 3) @ (3, 4)" says=["2 of 7", "serves each of the 7", "(5, 1) with (6,)"]
product_shapes = {
    "(3,) @ (3,)": (),
    "(2, 3) @ (3,)": (2,),
    "(2, 3) * (3,)": (2, 3),
    "(2, 3) @ (2, 3)": "error",
    "(7, 2, 3) @ (3, 4)": "error",
    "(5, 1, 2, 3) @ (6, 3, 4)": (5, 1, 2, 4),
    "torch.bmm of (7, 2, 3) and (3, 4)": "error",
}

# %% wrong="bmm that broadcasts" breaks="torch.bmm of (7, 2, 3) and (3, 4)" says=["1 of 7", "take exactly their shapes"]
product_shapes = {
    "(3,) @ (3,)": (),
    "(2, 3) @ (3,)": (2,),
    "(2, 3) * (3,)": (2, 3),
    "(2, 3) @ (2, 3)": "error",
    "(7, 2, 3) @ (3, 4)": (7, 2, 4),
    "(5, 1, 2, 3) @ (6, 3, 4)": (5, 6, 2, 4),
    "torch.bmm of (7, 2, 3) and (3, 4)": (7, 2, 4),
}

# %% right="lists and sizes in place of tuples"
product_shapes = {
    "(3,) @ (3,)": [],
    "(2, 3) @ (3,)": [2],
    "(2, 3) * (3,)": torch.Size([2, 3]),
    "(2, 3) @ (2, 3)": "error",
    "(7, 2, 3) @ (3, 4)": [7, 2, 4],
    "(5, 1, 2, 3) @ (6, 3, 4)": torch.Size((5, 6, 2, 4)),
    "torch.bmm of (7, 2, 3) and (3, 4)": "error",
}

# %% right="asked of the machine"
x = torch.ones(7, 2, 3)
product_shapes = {
    "(3,) @ (3,)": (torch.ones(3) @ torch.ones(3)).shape,
    "(2, 3) @ (3,)": (x[0] @ torch.ones(3)).shape,
    "(2, 3) * (3,)": (x[0] * torch.ones(3)).shape,
    "(2, 3) @ (2, 3)": "error",
    "(7, 2, 3) @ (3, 4)": (x @ torch.ones(3, 4)).shape,
    "(5, 1, 2, 3) @ (6, 3, 4)": (torch.ones(5, 1, 2, 3) @ torch.ones(6, 3, 4)).shape,
    "torch.bmm of (7, 2, 3) and (3, 4)": "error",
}

# %% wrong="a tuple without its comma" breaks="Write a tuple such as `(4, 5)`" says=["(2, 3) @ (3,): it is 2; a shape is a tuple, (4,) with its comma"]
product_shapes = {
    "(3,) @ (3,)": (),
    "(2, 3) @ (3,)": (2),
    "(2, 3) * (3,)": (2, 3),
    "(2, 3) @ (2, 3)": "error",
    "(7, 2, 3) @ (3, 4)": (7, 2, 4),
    "(5, 1, 2, 3) @ (6, 3, 4)": (5, 6, 2, 4),
    "torch.bmm of (7, 2, 3) and (3, 4)": "error",
}


# %% wrong="a shape written as a string" breaks="Write a tuple such as `(4, 5)`" says=["(2, 3) @ (3,): it is '(2,)'; a shape is a tuple"]
product_shapes = {
    "(3,) @ (3,)": (),
    "(2, 3) @ (3,)": "(2,)",
    "(2, 3) * (3,)": (2, 3),
    "(2, 3) @ (2, 3)": "error",
    "(7, 2, 3) @ (3, 4)": (7, 2, 4),
    "(5, 1, 2, 3) @ (6, 3, 4)": (5, 6, 2, 4),
    "torch.bmm of (7, 2, 3) and (3, 4)": "error",
}


# %% wrong="the error's class in place of the word" says=["a shape is a tuple"]
product_shapes = {
    "(3,) @ (3,)": (),
    "(2, 3) @ (3,)": (2,),
    "(2, 3) * (3,)": (2, 3),
    "(2, 3) @ (2, 3)": "error",
    "(7, 2, 3) @ (3, 4)": (7, 2, 4),
    "(5, 1, 2, 3) @ (6, 3, 4)": (5, 6, 2, 4),
    "torch.bmm of (7, 2, 3) and (3, 4)": RuntimeError,
}
