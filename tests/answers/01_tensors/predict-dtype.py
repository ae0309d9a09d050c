# %% [markdown]
# Rules:
#
# - "For each write `(dtype, shape)`"
# - "`(torch.float32, (2,))`"
# - "A number without dimensions has the shape `()`"
# - "By the table"

# %% wrong="NumPy's rules: no wrap-around, float64 everywhere" says=["a Python number of the same category", "of the default dtype", "a tensor of rank 0 is a guest"]
predict_dtype = {
    "small + 100": (torch.int16, (2,)),
    "small + 1.5": (torch.float64, (2,)),
    "small / 2": (torch.float64, (2,)),
    "whole // 2": (torch.int64, (2, 2)),
    "small * signed": (torch.int16, (2,)),
    "whole * half": (torch.float64, (2, 2)),
    "real + point": (torch.float64, (2,)),
    "whole + point": (torch.float64, (2, 2)),
    "real > whole": (torch.bool, (2, 2)),
    "(whole > 2).sum()": (torch.int64, ()),
    "small.sum()": (torch.int64, ()),
    "whole.sum() / 4": (torch.float64, ()),
}

# %% wrong="the larger number of bits wins" breaks="By the table" says=["3 of 12 predictions differ", "floats are the higher category", "the smallest kind that holds", "inside a category it changes nothing"]
predict_dtype = {
    "small + 100": (torch.uint8, (2,)),
    "small + 1.5": (torch.float32, (2,)),
    "small / 2": (torch.float32, (2,)),
    "whole // 2": (torch.int64, (2, 2)),
    "small * signed": (torch.uint8, (2,)),
    "whole * half": (torch.int64, (2, 2)),
    "real + point": (torch.float64, (2,)),
    "whole + point": (torch.float64, (2, 2)),
    "real > whole": (torch.bool, (2, 2)),
    "(whole > 2).sum()": (torch.int64, ()),
    "small.sum()": (torch.int64, ()),
    "whole.sum() / 4": (torch.float32, ()),
}

# %% wrong="sums keep the dtype, and a number has shape (1,)" breaks="A number without dimensions has the shape `()`" says=["so that they do not wrap", "counts them, in int64", "whole.sum() / 4 is not"]
predict_dtype = {
    "small + 100": (torch.uint8, (2,)),
    "small + 1.5": (torch.float32, (2,)),
    "small / 2": (torch.float32, (2,)),
    "whole // 2": (torch.int64, (2, 2)),
    "small * signed": (torch.int16, (2,)),
    "whole * half": (torch.float16, (2, 2)),
    "real + point": (torch.float32, (2,)),
    "whole + point": (torch.float64, (2, 2)),
    "real > whole": (torch.bool, (2, 2)),
    "(whole > 2).sum()": (torch.bool, (1,)),
    "small.sum()": (torch.uint8, (1,)),
    "whole.sum() / 4": (torch.float32, (1,)),
}

# %% wrong="dtypes alone" breaks="For each write `(dtype, shape)`" says=["small + 100: torch.uint8? write (dtype, shape)"]
predict_dtype = {
    "small + 100": torch.uint8,
    "small + 1.5": torch.float32,
    "small / 2": torch.float32,
    "whole // 2": torch.int64,
    "small * signed": torch.int16,
    "whole * half": torch.float16,
    "real + point": torch.float32,
    "whole + point": torch.float64,
    "real > whole": torch.bool,
    "(whole > 2).sum()": torch.int64,
    "small.sum()": torch.int64,
    "whole.sum() / 4": torch.float32,
}

# %% wrong="shapes of one number without the comma" breaks="`(torch.float32, (2,))`" says=["with the comma in (2,)"]
predict_dtype = {
    "small + 100": (torch.uint8, (2)),
    "small + 1.5": (torch.float32, (2)),
    "small / 2": (torch.float32, (2)),
    "whole // 2": (torch.int64, (2, 2)),
    "small * signed": (torch.int16, (2)),
    "whole * half": (torch.float16, (2, 2)),
    "real + point": (torch.float32, (2)),
    "whole + point": (torch.float64, (2, 2)),
    "real > whole": (torch.bool, (2, 2)),
    "(whole > 2).sum()": (torch.int64, ()),
    "small.sum()": (torch.int64, ()),
    "whole.sum() / 4": (torch.float32, ()),
}

# %% wrong="the smaller shape, and a number of shape (1,)" breaks="A number without dimensions has the shape `()`" says=["2 of 12 predictions differ", "whole * half is not (torch.float16, (2,)): the dtype is right, the shape isn't", "whole.sum() / 4 is not (torch.float32, (1,)): the dtype is right, the shape isn't"]
predict_dtype = {
    "small + 100": (torch.uint8, (2,)),
    "small + 1.5": (torch.float32, (2,)),
    "small / 2": (torch.float32, (2,)),
    "whole // 2": (torch.int64, (2, 2)),
    "small * signed": (torch.int16, (2,)),
    "whole * half": (torch.float16, (2,)),
    "real + point": (torch.float32, (2,)),
    "whole + point": (torch.float64, (2, 2)),
    "real > whole": (torch.bool, (2, 2)),
    "(whole > 2).sum()": (torch.int64, ()),
    "small.sum()": (torch.int64, ()),
    "whole.sum() / 4": (torch.float32, (1,)),
}


# %% right="other names of the dtypes, lists, torch.Size"
predict_dtype = {
    "small + 100": [torch.uint8, [2]],
    "small + 1.5": [torch.float, torch.Size([2])],
    "small / 2": [torch.float, [2]],
    "whole // 2": [torch.long, [2, 2]],
    "small * signed": [torch.short, [2]],
    "whole * half": [torch.half, [2, 2]],
    "real + point": [torch.float, [2]],
    "whole + point": [torch.double, [2, 2]],
    "real > whole": [torch.bool, [2, 2]],
    "(whole > 2).sum()": [torch.long, []],
    "small.sum()": [torch.long, []],
    "whole.sum() / 4": [torch.float, []],
}

# %% right="asked the machine, which nobody can forbid"
predict_dtype = {
    name: (eval(name).dtype, tuple(eval(name).shape))
    for name in (
        "small + 100", "small + 1.5", "small / 2", "whole // 2", "small * signed", "whole * half",
        "real + point", "whole + point", "real > whole", "(whole > 2).sum()", "small.sum()",
        "whole.sum() / 4",
    )
}  # fmt: skip
