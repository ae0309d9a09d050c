# %% [markdown]
# Rules:
#
# - "what is the value of `Sevens.apply(x)`"
# - "The author of `Sevens` made the slope up"
# - "x.grad from 2 * Sevens.apply(x)"
# - "x.grad from Sevens.apply(5 * x)"
# - "x.grad from x * Sevens.apply(x)"

# %% wrong="the slope of the function" breaks="The author of `Sevens` made the slope up" says=["the engine asks backward and never looks at forward", "x.grad from x * Sevens.apply(x) is not 27"]
believe_the_rule = {
    "value of Sevens.apply(x)": 9,
    "x.grad from Sevens.apply(x)": 6,
    "x.grad from 2 * Sevens.apply(x)": 12,
    "x.grad from Sevens.apply(5 * x)": 150,
    "x.grad from x * Sevens.apply(x)": 27,
}


# %% wrong="seven, whatever arrives" breaks="x.grad from 2 * Sevens.apply(x)" says=["what arrives is 2, and backward multiplies it by 7", "the rule of 5 * x"]
believe_the_rule = {
    "value of Sevens.apply(x)": 9,
    "x.grad from Sevens.apply(x)": 7,
    "x.grad from 2 * Sevens.apply(x)": 7,
    "x.grad from Sevens.apply(5 * x)": 7,
    "x.grad from x * Sevens.apply(x)": 7,
}


# %% wrong="the value by the rule too" breaks="what is the value of `Sevens.apply(x)`" says=["forward alone makes the value"]
believe_the_rule = {
    "value of Sevens.apply(x)": 21,
    "x.grad from Sevens.apply(x)": 7,
    "x.grad from 2 * Sevens.apply(x)": 14,
    "x.grad from Sevens.apply(5 * x)": 35,
    "x.grad from x * Sevens.apply(x)": 42,
}


# %% wrong="half of the product rule" breaks="x.grad from x * Sevens.apply(x)" says=["one part goes through Sevens with 3 arriving"]
believe_the_rule = {
    "value of Sevens.apply(x)": 9,
    "x.grad from Sevens.apply(x)": 7,
    "x.grad from 2 * Sevens.apply(x)": 14,
    "x.grad from Sevens.apply(5 * x)": 35,
    "x.grad from x * Sevens.apply(x)": 21,
}


# %% wrong="one blank left" says=["1 of 5 predictions are still blank"]
believe_the_rule = {
    "value of Sevens.apply(x)": 9,
    "x.grad from Sevens.apply(x)": 7,
    "x.grad from 2 * Sevens.apply(x)": 14,
    "x.grad from Sevens.apply(5 * x)": 35,
    "x.grad from x * Sevens.apply(x)": None,
}


# %% wrong="seven is the value's factor" breaks="x.grad from Sevens.apply(5 * x)" says=["x.grad from Sevens.apply(5 * x) is not 7", "x.grad from x * Sevens.apply(x) is not 16"]
believe_the_rule = {
    "value of Sevens.apply(x)": 9,
    "x.grad from Sevens.apply(x)": 7,
    "x.grad from 2 * Sevens.apply(x)": 14,
    "x.grad from Sevens.apply(5 * x)": 7,
    "x.grad from x * Sevens.apply(x)": 16,
}


# %% right="by the machine"
def slope(function):
    x = torch.tensor(3.0, requires_grad=True)
    function(x).backward()
    return x.grad


believe_the_rule = {
    "value of Sevens.apply(x)": Sevens.apply(torch.tensor(3.0)),
    "x.grad from Sevens.apply(x)": slope(Sevens.apply),
    "x.grad from 2 * Sevens.apply(x)": slope(lambda x: 2 * Sevens.apply(x)),
    "x.grad from Sevens.apply(5 * x)": slope(lambda x: Sevens.apply(5 * x)),
    "x.grad from x * Sevens.apply(x)": slope(lambda x: x * Sevens.apply(x)),
}


# %% right="whole numbers, worked out"
believe_the_rule = {
    "value of Sevens.apply(x)": 3**2,
    "x.grad from Sevens.apply(x)": 7,
    "x.grad from 2 * Sevens.apply(x)": 2 * 7,
    "x.grad from Sevens.apply(5 * x)": 5 * 7,
    "x.grad from x * Sevens.apply(x)": 3 * 7 + 3**2,
}
