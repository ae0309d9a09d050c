# %% [markdown]
# Rules:
#
# - "For each, write three truth values"
# - "is_leaf, requires_grad"
# - "has a gradient afterwards"

# %% wrong="a leaf must require grad" breaks="is_leaf, requires_grad" says=["c is not (False, False, False)", "a leaf and gets nothing"]
predict_leaf_and_grad = {
    "w": (True, True, True),
    "c": (False, False, False),
    "w * c": (False, True, False),
    "c * c": (False, False, False),
    "kept": (False, True, True),
    "quiet": (False, False, False),
    "frozen": (False, False, False),
    "double": (False, True, False),
    "parameter": (True, True, True),
    "unused": (True, True, False),
}

# %% wrong="backward fills every grad on its way" breaks="has a gradient afterwards" says=["w * c is not (False, True, True)", "only handed on"]
predict_leaf_and_grad = {
    "w": (True, True, True),
    "c": (True, False, False),
    "w * c": (False, True, True),
    "c * c": (True, False, False),
    "kept": (False, True, True),
    "quiet": (True, False, False),
    "frozen": (True, False, False),
    "double": (False, True, True),
    "parameter": (True, True, True),
    "unused": (True, True, False),
}

# %% wrong="a conversion keeps the leaf" says=["1 of 10 predictions differs", "the conversion is an operation"]
predict_leaf_and_grad = {
    "w": (True, True, True),
    "c": (True, False, False),
    "w * c": (False, True, False),
    "c * c": (True, False, False),
    "kept": (False, True, True),
    "quiet": (True, False, False),
    "frozen": (True, False, False),
    "double": (True, True, True),
    "parameter": (True, True, True),
    "unused": (True, True, False),
}

# %% wrong="words instead of truth values" breaks="For each, write three truth values" says=["three times True or False"]
predict_leaf_and_grad = dict.fromkeys(
    ("w", "c", "w * c", "c * c", "kept", "quiet", "frozen", "double", "parameter", "unused"), "leaf"
)

# %% wrong="an unused leaf gets zeros" says=["unused is not (True, True, True)", "does not depend on it"]
predict_leaf_and_grad = {
    "w": (True, True, True),
    "c": (True, False, False),
    "w * c": (False, True, False),
    "c * c": (True, False, False),
    "kept": (False, True, True),
    "quiet": (True, False, False),
    "frozen": (True, False, False),
    "double": (False, True, False),
    "parameter": (True, True, True),
    "unused": (True, True, True),
}

# %% right="lists, built by groups"
nothing, handed_on, collects = [True, False, False], [False, True, False], [True, True, True]
predict_leaf_and_grad = dict.fromkeys(("c", "c * c", "quiet", "frozen"), nothing)
predict_leaf_and_grad |= dict.fromkeys(("w * c", "double"), handed_on)
predict_leaf_and_grad |= dict.fromkeys(("w", "parameter"), collects)
predict_leaf_and_grad |= {"kept": [False, True, True], "unused": [True, True, False]}


# %% wrong="a list of answers" says=["keep the dict, with an entry for each tensor"]
predict_leaf_and_grad = [(True, True, True)] * 10
