# %% [markdown]
# Rules:
#
# - "Give each line its place, from 1 to 14"
# - "There is one call forward and one `backward()`"
# - "model: full backward hook"
# - "b.weight: post-accumulate hook"

# %% wrong="the way back in the order of the way forward" breaks="There is one call forward and one `backward()`" says=["a: full backward hook is not 8", "everything inside a is done", "whose hooks are on which side"]
hook_order = {
    "model: forward pre-hook": 1,
    "model: forward hook": 5,
    "model: full backward pre-hook": 6,
    "model: full backward hook": 14,
    "a: forward hook": 2,
    "a: full backward pre-hook": 7,
    "a: full backward hook": 8,
    "b: forward pre-hook": 3,
    "b: forward hook": 4,
    "b: full backward pre-hook": 10,
    "b: full backward hook": 13,
    "b.weight: tensor hook": 11,
    "b.weight: post-accumulate hook": 12,
    "h: tensor hook": 9,
}

# %% wrong="the model's hooks wait for nothing" breaks="model: full backward hook" says=["model: full backward hook is not 7", "it shows the gradient of x, the last of all to be known"]
hook_order = {
    "model: forward pre-hook": 1,
    "model: forward hook": 5,
    "model: full backward pre-hook": 6,
    "model: full backward hook": 7,
    "a: forward hook": 2,
    "a: full backward pre-hook": 13,
    "a: full backward hook": 14,
    "b: forward pre-hook": 3,
    "b: forward hook": 4,
    "b: full backward pre-hook": 8,
    "b: full backward hook": 11,
    "b.weight: tensor hook": 9,
    "b.weight: post-accumulate hook": 10,
    "h: tensor hook": 12,
}

# %% wrong="gradients are accumulated at the very end" breaks="b.weight: post-accumulate hook" says=["b.weight: post-accumulate hook is not 14", "as soon as .grad is filled"]
hook_order = {
    "model: forward pre-hook": 1,
    "model: forward hook": 5,
    "model: full backward pre-hook": 6,
    "model: full backward hook": 13,
    "a: forward hook": 2,
    "a: full backward pre-hook": 11,
    "a: full backward hook": 12,
    "b: forward pre-hook": 3,
    "b: forward hook": 4,
    "b: full backward pre-hook": 7,
    "b: full backward hook": 9,
    "b.weight: tensor hook": 8,
    "b.weight: post-accumulate hook": 14,
    "h: tensor hook": 10,
}

# %% wrong="counts from zero" breaks="Give each line its place, from 1 to 14" says=["model: forward pre-hook: 0 is no place from 1 to 14"]
hook_order = {
    "model: forward pre-hook": 0,
    "model: forward hook": 4,
    "model: full backward pre-hook": 5,
    "model: full backward hook": 13,
    "a: forward hook": 1,
    "a: full backward pre-hook": 11,
    "a: full backward hook": 12,
    "b: forward pre-hook": 2,
    "b: forward hook": 3,
    "b: full backward pre-hook": 6,
    "b: full backward hook": 9,
    "b.weight: tensor hook": 7,
    "b.weight: post-accumulate hook": 8,
    "h: tensor hook": 10,
}

# %% right="a list of lines, counted"
hook_order = {
    line: place
    for place, line in enumerate(
        [
            "model: forward pre-hook",
            "a: forward hook",
            "b: forward pre-hook",
            "b: forward hook",
            "model: forward hook",
            "model: full backward pre-hook",
            "b: full backward pre-hook",
            "b.weight: tensor hook",
            "b.weight: post-accumulate hook",
            "b: full backward hook",
            "h: tensor hook",
            "a: full backward pre-hook",
            "a: full backward hook",
            "model: full backward hook",
        ],
        start=1,
    )
}
