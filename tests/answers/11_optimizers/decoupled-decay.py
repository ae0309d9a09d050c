# %% [markdown]
# Rules:
#
# - "for any loss and any number of steps"
# - "`True` or `False`"
# - "**one** step with lr = 0.1"
# - "with `.grad` as given"
# - "Write where `w` is afterwards, to three decimals"

# %% wrong="weight decay is L2, everywhere" breaks="`True` or `False`" says=["same: AdamW is not True", "goes past m and v"]
decayed = dict.fromkeys(
    (
        "same: SGD",
        "same: SGD, momentum=0.9, nesterov=True",
        "same: RMSprop",
        "same: Adam",
        "same: AdamW",
        "SGD, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.05, gradient 0",
        "AdamW, weight_decay=0.5, gradient 0",
        "AdamW, weight_decay=0.5, gradient None",
        "AdamW, weight_decay=0.5, gradient 3",
    )
)
decayed = dict(zip(decayed, (True,) * 5 + (0.95, 0.9, 0.9, 0.95, 1.0, 0.85), strict=True))

# %% wrong="momentum spoils the equality" breaks="for any loss and any number of steps" says=["nesterov=True is not False", "just as the loss would do it"]
decayed = dict.fromkeys(
    (
        "same: SGD",
        "same: SGD, momentum=0.9, nesterov=True",
        "same: RMSprop",
        "same: Adam",
        "same: AdamW",
        "SGD, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.05, gradient 0",
        "AdamW, weight_decay=0.5, gradient 0",
        "AdamW, weight_decay=0.5, gradient None",
        "AdamW, weight_decay=0.5, gradient 3",
    )
)
decayed = dict(
    zip(decayed, (True, False, True, True, False, 0.95, 0.9, 0.9, 0.95, 1, 0.85), strict=True)
)

# %% wrong="Adam decays in proportion" breaks="**one** step with lr = 0.1" says=["weight_decay=0.05, gradient 0 is not 0.995", "a tenth of the decay"]
decayed = dict.fromkeys(
    (
        "same: SGD",
        "same: SGD, momentum=0.9, nesterov=True",
        "same: RMSprop",
        "same: Adam",
        "same: AdamW",
        "SGD, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.05, gradient 0",
        "AdamW, weight_decay=0.5, gradient 0",
        "AdamW, weight_decay=0.5, gradient None",
        "AdamW, weight_decay=0.5, gradient 3",
    )
)
decayed = dict(zip(decayed, (True,) * 4 + (False, 0.95, 0.95, 0.995, 0.95, 1, 0.85), strict=True))

# %% wrong="AdamW decays what has no gradient" breaks="with `.grad` as given" says=["gradient None is not 0.95", "skipped, decay and all"]
decayed = dict.fromkeys(
    (
        "same: SGD",
        "same: SGD, momentum=0.9, nesterov=True",
        "same: RMSprop",
        "same: Adam",
        "same: AdamW",
        "SGD, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.05, gradient 0",
        "AdamW, weight_decay=0.5, gradient 0",
        "AdamW, weight_decay=0.5, gradient None",
        "AdamW, weight_decay=0.5, gradient 3",
    )
)
decayed = dict(zip(decayed, (True,) * 4 + (False, 0.95, 0.9, 0.9, 0.95, 0.95, 0.85), strict=True))

# %% wrong="a step in proportion to the gradient" breaks="Write where `w` is afterwards, to three decimals" says=["gradient 3 is not 0.65"]
decayed = dict.fromkeys(
    (
        "same: SGD",
        "same: SGD, momentum=0.9, nesterov=True",
        "same: RMSprop",
        "same: Adam",
        "same: AdamW",
        "SGD, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.05, gradient 0",
        "AdamW, weight_decay=0.5, gradient 0",
        "AdamW, weight_decay=0.5, gradient None",
        "AdamW, weight_decay=0.5, gradient 3",
    )
)
decayed = dict(zip(decayed, (True,) * 4 + (False, 0.95, 0.9, 0.9, 0.95, 1, 0.65), strict=True))

# %% wrong="some are blank" says=["predictions are still blank"]
decayed = dict.fromkeys(
    (
        "same: SGD",
        "same: SGD, momentum=0.9, nesterov=True",
        "same: RMSprop",
        "same: Adam",
        "same: AdamW",
        "SGD, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.05, gradient 0",
        "AdamW, weight_decay=0.5, gradient 0",
        "AdamW, weight_decay=0.5, gradient None",
        "AdamW, weight_decay=0.5, gradient 3",
    )
)
decayed["same: SGD"] = True

# %% right="ints where they are whole"
decayed = dict.fromkeys(
    (
        "same: SGD",
        "same: SGD, momentum=0.9, nesterov=True",
        "same: RMSprop",
        "same: Adam",
        "same: AdamW",
        "SGD, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.05, gradient 0",
        "AdamW, weight_decay=0.5, gradient 0",
        "AdamW, weight_decay=0.5, gradient None",
        "AdamW, weight_decay=0.5, gradient 3",
    )
)
decayed = {name: None for name in decayed}
for name in decayed:
    if name.startswith("same"):
        decayed[name] = "AdamW" not in name
    elif name.startswith("Adam,"):
        decayed[name] = 0.9
    else:
        decayed[name] = {"None": 1, "3": 0.85}.get(name.split()[-1], 0.95)

# %% right="asked the machine"
decayed = dict.fromkeys(
    (
        "same: SGD",
        "same: SGD, momentum=0.9, nesterov=True",
        "same: RMSprop",
        "same: Adam",
        "same: AdamW",
        "SGD, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.5, gradient 0",
        "Adam, weight_decay=0.05, gradient 0",
        "AdamW, weight_decay=0.5, gradient 0",
        "AdamW, weight_decay=0.5, gradient None",
        "AdamW, weight_decay=0.5, gradient 3",
    )
)
for name in decayed:
    if name.startswith("same"):
        decayed[name] = name != "same: AdamW"
        continue
    kind, decay, grad = name.split(", ")
    w = torch.nn.Parameter(torch.tensor([1.0]))
    w.grad = None if "None" in grad else torch.tensor([float(grad.split()[1])])
    getattr(torch.optim, kind)([w], lr=0.1, weight_decay=float(decay.split("=")[1])).step()
    decayed[name] = round(w.item(), 3)


# %% right="numbers as tensors of float32"
decayed = {
    **{
        "same: SGD": True,
        "same: SGD, momentum=0.9, nesterov=True": True,
        "same: RMSprop": True,
        "same: Adam": True,
        "same: AdamW": False,
        "SGD, weight_decay=0.5, gradient 0": 0.95,
        "Adam, weight_decay=0.5, gradient 0": 0.9,
        "Adam, weight_decay=0.05, gradient 0": 0.9,
        "AdamW, weight_decay=0.5, gradient 0": 0.95,
        "AdamW, weight_decay=0.5, gradient None": 1.0,
        "AdamW, weight_decay=0.5, gradient 3": 0.85,
    },
    "SGD, weight_decay=0.5, gradient 0": torch.tensor(0.95),
}


# %% right="floats of more digits"
decayed = {
    "same: SGD": True,
    "same: SGD, momentum=0.9, nesterov=True": True,
    "same: RMSprop": True,
    "same: Adam": True,
    "same: AdamW": False,
    "SGD, weight_decay=0.5, gradient 0": 0.95,
    "Adam, weight_decay=0.5, gradient 0": 0.9,
    "Adam, weight_decay=0.05, gradient 0": 0.9,
    "AdamW, weight_decay=0.5, gradient 0": 0.95,
    "AdamW, weight_decay=0.5, gradient None": 1.0,
    "AdamW, weight_decay=0.5, gradient 3": 0.8500000001,
}
