# %% [markdown]
# Rules:
#
# - "a pair `(factor, smoothing)` of two numbers"
# - "for all logits and labels"
# - "1 - e for the right class, e / (C - 1) for each other"
# - "whose rows don't sum to 1"
# - "`one_hot * (1 - e) + e / (C - 1)`"
# - "small enough that `smoothing` is at most 1"
#
# Admits:
#
# - "`classes` ≥ 2": (0.1, 2)
# - "`smoothing` is at most 1": (("others", 0.75), ("everyone", 1.0))

# %% wrong="thinks that they are the same" says=["PyTorch's share goes to all classes", "what do the recipe's rows sum to"]
def smoothing_recipe(e, classes, recipe):
    return 1.0, e


# %% wrong="the inverse" says=["that leads from PyTorch to the recipe, not back"]
def smoothing_recipe(e, classes, recipe):
    return 1.0, e * (classes - 1) / classes


# %% wrong="forgets the factor for everyone" breaks="whose rows don't sum to 1" says=["what do the recipe's rows sum to"]
def smoothing_recipe(e, classes, recipe):
    spread = e * classes / (classes - 1)
    return (1.0, spread) if recipe == "others" else (1.0, spread / (1 - e + spread))


# %% wrong="does not divide by the factor" breaks="`one_hot * (1 - e) + e / (C - 1)`" says=["the factor multiplies the equal shares as well"]
def smoothing_recipe(e, classes, recipe):
    spread = e * classes / (classes - 1)
    return (1.0, spread) if recipe == "others" else (1 + e / (classes - 1), spread)


# %% wrong="one over the factor" says=["that is one over the factor"]
def smoothing_recipe(e, classes, recipe):
    spread = e * classes / (classes - 1)
    rows = 1 + e / (classes - 1)
    return (1.0, spread) if recipe == "others" else (1 / rows, spread / rows)


# %% wrong="the smoothing alone" breaks="a pair `(factor, smoothing)` of two numbers" says=["not (factor, smoothing)"]
def smoothing_recipe(e, classes, recipe):
    return e * classes / (classes - 1)


# %% wrong="one over e" says=["raised ZeroDivisionError", "e may be 0"]
def smoothing_recipe(e: float, classes: int, recipe: str) -> tuple[float, float]:
    others = classes - 1
    if recipe == "others":
        return 1.0, 1 / (others / (e * classes))
    # odds of the equal shares against the single 1
    odds = (1 - e) * others / (e * classes)
    return 1 + e / others, 1 / (1 + odds)


# %% right="solved for the two entries of the target row"
def smoothing_recipe(e, classes, recipe):
    other = e / (classes - 1)
    right = 1 - e if recipe == "others" else 1 - e + other
    factor = right + (classes - 1) * other
    return [factor, classes * other / factor]


# %% right="a table of both, in tensors"
def smoothing_recipe(e, classes, recipe):
    e, c = torch.tensor(float(e), dtype=torch.float64), classes
    return {
        "others": (torch.tensor(1.0), e * c / (c - 1)),
        "everyone": ((c - 1 + e) / (c - 1), e * c / (c - 1 + e)),
    }[recipe]


# %% wrong="rounded to two digits" breaks="for all logits and labels" says=["the smoothing", "rounded on the way: keep all digits"]
def smoothing_recipe(e, classes, recipe):
    spread, rows = e * classes / (classes - 1), 1 + e / (classes - 1)
    return (
        (1, round(spread, 2)) if recipe == "others" else (round(rows, 2), round(spread / rows, 2))
    )


# %% wrong="factor from what is left" breaks="small enough that `smoothing` is at most 1" says=["smoothing_recipe(1.0, 4,"]
def smoothing_recipe(e, classes, recipe):
    spread, rows = e * classes / (classes - 1), 1 + e / (classes - 1)
    if recipe == "others":
        return 1, spread
    smoothing = spread / rows
    return (1 - e) / (1 - smoothing), smoothing


# %% right="the entries of a row, in a list"
def smoothing_recipe(e, classes, recipe):
    other = e / (classes - 1)
    right = 1 - e if recipe == "others" else 1 - e + other
    factor = right + (classes - 1) * other
    return [factor, other * classes / factor]


# %% wrong="the smoothing of others is e" breaks="1 - e for the right class, e / (C - 1) for each other" says=["PyTorch's share goes to all classes, the right one too"]
def smoothing_recipe(e, classes, recipe):
    if recipe == "others":
        return 1, e
    factor = 1 + e / (classes - 1)
    return factor, e * classes / (classes - 1) / factor


# %% wrong="the smoothing cut off at 0.9" says=["it may be as large as 1: don't cut it off"]
def smoothing_recipe(e, classes, recipe):
    share = e * classes / (classes - 1)
    factor = 1.0 if recipe == "others" else 1 - e + share
    return factor, min(share / factor, 0.9)


# %% wrong="rounded to three digits" says=["rounded on the way: keep all digits"]
def smoothing_recipe(e, classes, recipe):
    share = e * classes / (classes - 1)
    factor = 1.0 if recipe == "others" else 1 - e + share
    return round(factor, 3), round(share / factor, 3)


# %% wrong="everyone: the smoothing is e over the factor" says=["e is not yet the sum of all equal shares"]
def smoothing_recipe(e, classes, recipe):
    if recipe == "others":
        return 1, e * classes / (classes - 1)
    return 1 + e / (classes - 1), e / (1 + e / (classes - 1))


# %% wrong="smoothing first" says=["the factor comes first"]
def smoothing_recipe(e, classes, recipe):
    if recipe == "others":
        return e * classes / (classes - 1), 1
    return 1 + e / (classes - 1), e * classes / (classes - 1 + e)


# %% wrong="everyone: the factor is 1 + e / C" says=["not e / C"]
def smoothing_recipe(e, classes, recipe):
    if recipe == "others":
        return 1, e * classes / (classes - 1)
    return 1 + e / classes, e * classes / (classes - 1 + e)


# %% wrong="the other recipe" breaks="`one_hot * (1 - e) + e / (C - 1)`" says=["that is the other recipe's factor"]
def smoothing_recipe(e, classes, recipe):
    spread = e * classes / (classes - 1)
    if recipe == "everyone":
        return 1.0, spread
    total = 1 - e + spread
    return total, spread / total


# %% wrong="C / (C - 1) taken for 1 where C is large" breaks="1 - e for the right class, e / (C - 1) for each other" says=["0.05, 1000"]
def smoothing_recipe(e, classes, recipe):
    spread = e * classes / (classes - 1) if classes < 100 else e
    if recipe == "others":
        return 1.0, spread
    total = 1 - e + spread
    return total, spread / total


# %% wrong="both in one tensor" breaks="a pair `(factor, smoothing)` of two numbers" says=["a tuple of two numbers is asked for"]
def smoothing_recipe(e, classes, recipe):
    row = torch.full((classes,), e / (classes - 1))
    row[0] = 1 - e + (row[0] if recipe == "everyone" else 0)
    return torch.stack([row.sum(), classes * row[1] / row.sum()])


# %% wrong="a small share alone" breaks="for all logits and labels" says=["1 - d is only near 1 / (1 + d)"]
def smoothing_recipe(e, classes, recipe):
    extra = e / (classes - 1)
    if recipe == "others":
        return 1.0, e + extra
    return 1 + extra, (e + extra) * (1 - extra)
