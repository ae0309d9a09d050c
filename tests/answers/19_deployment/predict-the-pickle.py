# %% [markdown]
# Rules:
#
# - "if `torch.load(file)` gives it back"
# - "a class of the notebook must be found under its old name"
# - "if `torch.save` itself fails"

# %% wrong="thinks that weights_only takes whole modules" breaks="a class of the notebook must be found under its old name" says=["whole is not 'loads'", "class's name"]
predict_the_pickle = {
    "state": "loads",
    "whole": "loads",
    "optimizer": "loads",
    "function": "can't be saved",
    "parameter": "loads",
    "trap": "runs code",
    "numbers": "loads",
    "settings": "needs a class",
}


# %% wrong="only a whole file can be a trap" breaks="if `torch.load(file)` gives it back" says=["trap is not 'loads'", "however deep"]
predict_the_pickle = {
    "state": "loads",
    "whole": "needs a class",
    "optimizer": "loads",
    "function": "can't be saved",
    "parameter": "loads",
    "trap": "loads",
    "numbers": "loads",
    "settings": "needs a class",
}


# %% wrong="lambdas travel" breaks="if `torch.save` itself fails" says=["function is not 'runs code'", "none to be found by"]
predict_the_pickle = {
    "state": "loads",
    "whole": "needs a class",
    "optimizer": "needs a class",
    "function": "runs code",
    "parameter": "needs a class",
    "trap": "runs code",
    "numbers": "loads",
    "settings": "loads",
}


# %% right="filled in by groups"
predict_the_pickle = dict.fromkeys(["numbers", "state", "parameter", "optimizer"], "loads")
predict_the_pickle |= {"whole": "needs a class", "settings": "needs a class"}
predict_the_pickle |= {"trap": "runs code", "function": "can't be saved"}
