# %% [markdown]
# Rules:
#
# - "`True` or `False` where a line is a statement"
# - "else a number"
# - "`model.w` is replaced by a new `nn.Parameter`"

# %% wrong="backward overwrites" breaks="else a number" says=["gradients add up"]
after = {
    "grad after two backwards": 2.0,
    "zero_grad() leaves a tensor of zeros": False,
    "w after two steps, cleared in between": 0.0,
    "w after two steps, never cleared": 0.0,
    "w when cleared between backward and step": 1.0,
    "a Parameter made after the optimizer moves": False,
}

# %% wrong="zero_grad leaves zeros" breaks="`True` or `False` where a line is a statement" says=["set_to_none"]
after = {
    "grad after two backwards": 4.0,
    "zero_grad() leaves a tensor of zeros": True,
    "w after two steps, cleared in between": 0.0,
    "w after two steps, never cleared": -0.5,
    "w when cleared between backward and step": 1.0,
    "a Parameter made after the optimizer moves": False,
}

# %% wrong="the optimizer asks the model" breaks="`model.w` is replaced by a new `nn.Parameter`" says=["the tensors that it was given"]
after = {
    "grad after two backwards": 4.0,
    "zero_grad() leaves a tensor of zeros": False,
    "w after two steps, cleared in between": 0.0,
    "w after two steps, never cleared": -0.5,
    "w when cleared between backward and step": 1.0,
    "a Parameter made after the optimizer moves": True,
}

# %% wrong="step uses what was cleared" says=["nothing is left to step with"]
after = {
    "grad after two backwards": 4.0,
    "zero_grad() leaves a tensor of zeros": False,
    "w after two steps, cleared in between": 0.0,
    "w after two steps, never cleared": -0.5,
    "w when cleared between backward and step": 0.5,
    "a Parameter made after the optimizer moves": False,
}

# %% wrong="half of it is blank" says=["predictions are still blank"]
after = dict.fromkeys(
    (
        "grad after two backwards",
        "zero_grad() leaves a tensor of zeros",
        "w after two steps, cleared in between",
        "w after two steps, never cleared",
        "w when cleared between backward and step",
        "a Parameter made after the optimizer moves",
    )
)
after["grad after two backwards"] = 4.0

# %% right="asked the machine"
w = torch.nn.Parameter(torch.tensor(1.0))
for _ in range(2):
    (2 * w).backward()
after = {
    "grad after two backwards": w.grad.item(),
    "zero_grad() leaves a tensor of zeros": False,
    "w after two steps, cleared in between": 0,
    "w after two steps, never cleared": -0.5,
    "w when cleared between backward and step": 1,
    "a Parameter made after the optimizer moves": False,
}

# %% right="with dict() and numbers of another type"
after = dict.fromkeys(
    (
        "grad after two backwards",
        "zero_grad() leaves a tensor of zeros",
        "w after two steps, cleared in between",
        "w after two steps, never cleared",
        "w when cleared between backward and step",
        "a Parameter made after the optimizer moves",
    )
)
after = {name: value for name, value in zip(after, (4, False, 0, -0.5, 1.0, False), strict=True)}


# %% right="an answer to the older edition, with two lines more"
after = {
    "grad after two backwards": 4,
    "zero_grad() leaves a tensor of zeros": False,
    "w after two steps, cleared in between": 0,
    "w after two steps, never cleared": -0.5,
    "w when cleared between backward and step": 1,
    "a cleared weight moves on, momentum 0.9": False,
    "the same after zero_grad(set_to_none=False)": True,
    "a Parameter made after the optimizer moves": False,
}
