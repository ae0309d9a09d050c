# %% [markdown]
# Rules:
#
# - "The arithmetic is done in the dtype that is named"
# - "Write `True`, `False` or a number"
# - "gap after 1e8, float32"
# - "256 + 1, bfloat16"

# %% wrong="counts as on paper" breaks="The arithmetic is done in the dtype that is named" says=["5 of 5 predictions differ", "from 2**24 on the marks are 2 apart", "all three are rounded"]
float_gaps = {
    "2**24 + 1 == 2**24, float32": False,
    "gap after 1e8, float32": 1,
    "256 + 1, bfloat16": 257,
    "70_000 fits into float16": True,
    "0.1 + 0.2 == 0.3, float64": True,
}


# %% wrong="one power of two too many" breaks="gap after 1e8, float32" says=["gap after 1e8, float32 is not 16", "use the rule with k = 26"]
float_gaps = {
    "2**24 + 1 == 2**24, float32": True,
    "gap after 1e8, float32": 16,
    "256 + 1, bfloat16": 256,
    "70_000 fits into float16": False,
    "0.1 + 0.2 == 0.3, float64": False,
}


# %% wrong="rounds halfway up" breaks="256 + 1, bfloat16" says=["256 + 1, bfloat16 is not 258", "from 2**8 on the marks are 2 apart"]
float_gaps = {
    "2**24 + 1 == 2**24, float32": True,
    "gap after 1e8, float32": 8,
    "256 + 1, bfloat16": 258,
    "70_000 fits into float16": False,
    "0.1 + 0.2 == 0.3, float64": False,
}


# %% wrong="leaves one blank" breaks="Write `True`, `False` or a number" says=["1 of 5 predictions are still blank: 70_000 fits into float16"]
float_gaps = {
    "2**24 + 1 == 2**24, float32": True,
    "gap after 1e8, float32": 8,
    "256 + 1, bfloat16": 256,
    "70_000 fits into float16": None,
    "0.1 + 0.2 == 0.3, float64": False,
}


# %% right="asks the machine"
float_gaps = {
    "2**24 + 1 == 2**24, float32": (torch.tensor(2.0**24) + 1 == 2.0**24).item(),
    "gap after 1e8, float32": torch.nextafter(torch.tensor(1e8), torch.tensor(2e8)) - 1e8,
    "256 + 1, bfloat16": torch.tensor(256, dtype=torch.bfloat16) + 1,
    "70_000 fits into float16": torch.tensor(7e4).half().isfinite().item(),
    "0.1 + 0.2 == 0.3, float64": 0.1 + 0.2 == 0.3,
}


# %% right="whole powers of two as floats"
float_gaps = {
    "2**24 + 1 == 2**24, float32": 16777216 == 2**24,
    "gap after 1e8, float32": 2.0**3,
    "256 + 1, bfloat16": 2.0**8,
    "70_000 fits into float16": 70_000 <= 65504,
    "0.1 + 0.2 == 0.3, float64": False,
}
