# %% [markdown]
# Rules:
#
# - "the full name of the last layer's bias"
# - "how many names `named_parameters()` lists"
# - "how many numbers they hold together"

# %% wrong="children are counted from one" breaks="the full name of the last layer's bias" says=["name of the last layer's bias is not '3.bias'", "numbered from 0"]
read_the_names = {
    "name of the last layer's bias": "3.bias",
    "how many names": 4,
    "how many numbers": 26,
}


# %% wrong="the ReLU takes no number" says=["is not '1.bias'", "the ReLU included"]
read_the_names = {
    "name of the last layer's bias": "1.bias",
    "how many names": 4,
    "how many numbers": 26,
}


# %% wrong="the ReLU has a weight; biases forgotten" says=["how many names is not 6", "how many numbers is not 20"]
read_the_names = {
    "name of the last layer's bias": "2.bias",
    "how many names": 6,
    "how many numbers": 20,
}


# %% wrong="one left blank" says=["1 of 3 predictions are still blank: how many numbers"]
read_the_names = {
    "name of the last layer's bias": "2.bias",
    "how many names": 4,
    "how many numbers": None,
}


# %% right="computed with a pencil"
read_the_names = {
    "name of the last layer's bias": "2" + "." + "bias",
    "how many names": 2 + 2,
    "how many numbers": 3 * 4 + 4 + 4 * 2 + 2,
}


# %% right="asks the machine"
listed = dict(tiny.named_parameters())
read_the_names = dict(
    zip(
        ["name of the last layer's bias", "how many names", "how many numbers"],
        [list(listed)[-1], len(listed), sum(p.numel() for p in listed.values())],
    )
)


# %% wrong="a number in quotes" says=["how many names is not '4': in quotes it is a text"]
read_the_names = {
    "name of the last layer's bias": "2.bias",
    "how many names": "4",
    "how many numbers": 26,
}


# %% wrong="a name for each layer" breaks="how many names `named_parameters()` lists" says=["how many names is not 2"]
read_the_names = {
    "name of the last layer's bias": "2.bias",
    "how many names": 2,
    "how many numbers": 26,
}


# %% wrong="the weights' numbers alone" breaks="how many numbers they hold together" says=["how many numbers is not 20"]
read_the_names = {
    "name of the last layer's bias": "2.bias",
    "how many names": 4,
    "how many numbers": 20,
}
