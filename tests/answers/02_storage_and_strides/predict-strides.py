# %% [markdown]
# Rules:
#
# - "For each, write `(size, stride, offset)`"
# - "x[2]"
# - "x.t()"
# - "Use the picture, a pencil and the formula"

# %% wrong="strides of a fresh tensor for every shape" breaks="x.t()" says=["differ from what the machine does", "a slice keeps the strides", "nothing moves"]
predict_strides = {
    "x[2]": ((4,), (1,), 8),
    "x[:, 1]": ((3,), (1,), 1),
    "x[1:, 1:3]": ((2, 2), (2, 1), 5),
    "x[:, ::2]": ((3, 2), (2, 1), 0),
    "x[::2, 3]": ((2,), (1,), 3),
    "x[2, 1]": ((), (), 9),
    "x.t()": ((4, 3), (3, 1), 0),
    "x.t()[1:]": ((3, 3), (3, 1), 1),
    "x.view(2, 6)": ((2, 6), (6, 1), 0),
    "x.diagonal()": ((3,), (1,), 0),
}

# %% wrong="every offset is zero" breaks="x[2]" says=["x[2] is not ((4,), (1,), 0)", "two rows of four lie before it", "it starts in box 1"]
predict_strides = {
    "x[2]": ((4,), (1,), 0),
    "x[:, 1]": ((3,), (4,), 0),
    "x[1:, 1:3]": ((2, 2), (4, 1), 0),
    "x[:, ::2]": ((3, 2), (4, 2), 0),
    "x[::2, 3]": ((2,), (8,), 0),
    "x[2, 1]": ((), (), 0),
    "x.t()": ((4, 3), (1, 4), 0),
    "x.t()[1:]": ((3, 3), (1, 4), 0),
    "x.view(2, 6)": ((2, 6), (6, 1), 0),
    "x.diagonal()": ((3,), (5,), 0),
}

# %% wrong="counts bytes" breaks="Use the picture, a pencil and the formula" says=["10 of 10 predictions differ", "x[:, 1] is not ((3,), (32,), 8)"]
predict_strides = {
    "x[2]": ((4,), (8,), 64),
    "x[:, 1]": ((3,), (32,), 8),
    "x[1:, 1:3]": ((2, 2), (32, 8), 40),
    "x[:, ::2]": ((3, 2), (32, 16), 0),
    "x[::2, 3]": ((2,), (64,), 24),
    "x[2, 1]": ((), (), 72),
    "x.t()": ((4, 3), (8, 32), 0),
    "x.t()[1:]": ((3, 3), (8, 32), 8),
    "x.view(2, 6)": ((2, 6), (48, 8), 0),
    "x.diagonal()": ((3,), (40,), 0),
}

# %% wrong="half of it" breaks="For each, write `(size, stride, offset)`" says=["6 of 10 predictions are still blank", "x.t()"]
predict_strides = {
    "x[2]": ((4,), (1,), 8),
    "x[:, 1]": ((3,), (4,), 1),
    "x[1:, 1:3]": ((2, 2), (4, 1), 5),
    "x[:, ::2]": ((3, 2), (4, 2), 0),
}

# %% right="lists, and sizes as torch.Size"
predict_strides = {
    "x[2]": [[4], [1], 8],
    "x[:, 1]": [[3], [4], 1],
    "x[1:, 1:3]": [torch.Size((2, 2)), [4, 1], 5],
    "x[:, ::2]": [[3, 2], [4, 2], 0],
    "x[::2, 3]": [[2], [8], 3],
    "x[2, 1]": [[], [], 9],
    "x.t()": [[4, 3], [1, 4], 0],
    "x.t()[1:]": [[3, 3], [1, 4], 1],
    "x.view(2, 6)": [[2, 6], [6, 1], 0],
    "x.diagonal()": [[3], [5], 0],
}
