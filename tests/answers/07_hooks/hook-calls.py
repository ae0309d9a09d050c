# %% [markdown]
# Rules:
#
# - "How often does the hook run"
# - "nn.Sequential(layer, nn.Tanh(), layer)(x)"
# - "layer.forward(x)"
# - "A layer has one forward hook"

# %% wrong="forward runs the hooks too" breaks="layer.forward(x)" says=["layer.forward(x) is not 1: the hooks are called by Module.__call__"]
hook_calls = {
    "layer(x)": 1,
    "layer.forward(x)": 1,
    "nn.Sequential(layer, nn.Tanh(), layer)(x)": 2,
    "F.linear(x, layer.weight, layer.bias)": 0,
    "handle.remove(); layer(x)": 0,
}

# %% wrong="a container calls forward; a hook runs once for each model" breaks="nn.Sequential(layer, nn.Tanh(), layer)(x)" says=["nn.Sequential(layer, nn.Tanh(), layer)(x) is not 1: it runs at each call of the layer"]
hook_calls = {
    "layer(x)": 1,
    "layer.forward(x)": 0,
    "nn.Sequential(layer, nn.Tanh(), layer)(x)": 1,
    "F.linear(x, layer.weight, layer.bias)": 0,
    "handle.remove(); layer(x)": 0,
}

# %% wrong="the hook is attached to the weight; a removed one runs a last time" breaks="A layer has one forward hook" says=["F.linear(x, layer.weight, layer.bias) is not 1: the hook is attached to the module", "the hook is gone"]
hook_calls = {
    "layer(x)": 1,
    "layer.forward(x)": 0,
    "nn.Sequential(layer, nn.Tanh(), layer)(x)": 2,
    "F.linear(x, layer.weight, layer.bias)": 1,
    "handle.remove(); layer(x)": 1,
}

# %% wrong="one is left blank" says=["1 of 5 predictions are still blank: layer.forward(x)"]
hook_calls = {
    "layer(x)": 1,
    "layer.forward(x)": None,
    "nn.Sequential(layer, nn.Tanh(), layer)(x)": 2,
    "F.linear(x, layer.weight, layer.bias)": 0,
    "handle.remove(); layer(x)": 0,
}

# %% wrong="True/False" breaks="How often does the hook run" says=["layer(x) is not True: expected a number, not True or False"]
hook_calls = {
    "layer(x)": True,
    "layer.forward(x)": False,
    "nn.Sequential(layer, nn.Tanh(), layer)(x)": 2,
    "F.linear(x, layer.weight, layer.bias)": False,
    "handle.remove(); layer(x)": False,
}


# %% right="counted by a run"
test_layer, test_calls = nn.Linear(2, 2), []
test_handle = test_layer.register_forward_hook(lambda *_: test_calls.append(1))
test_counts = []
for call in (
    lambda x: test_layer(x),
    lambda x: test_layer.forward(x),
    lambda x: nn.Sequential(test_layer, nn.Tanh(), test_layer)(x),
    lambda x: F.linear(x, test_layer.weight, test_layer.bias),
    lambda x: (test_handle.remove(), test_layer(x)),
):
    test_calls.clear()
    call(torch.ones(1, 2))
    test_counts.append(len(test_calls))
hook_calls = {
    name: torch.tensor(count)
    for name, count in zip(
        [
            "layer(x)",
            "layer.forward(x)",
            "nn.Sequential(layer, nn.Tanh(), layer)(x)",
            "F.linear(x, layer.weight, layer.bias)",
            "handle.remove(); layer(x)",
        ],
        test_counts,
        strict=True,
    )
}

# %% right="floats"
hook_calls = dict(
    [
        ("nn.Sequential(layer, nn.Tanh(), layer)(x)", 2.0),
        ("layer(x)", 1.0),
        ("F.linear(x, layer.weight, layer.bias)", 0.0),
        ("handle.remove(); layer(x)", 0.0),
        ("layer.forward(x)", 0.0),
    ]
)
