# %% [markdown]
# Rules:
#
# - "(the gradient is right)"
# - "(an error is raised, in forward or in backward)"
# - "and a gradient that is not that of the values returned"
# - "those that are not fine"
# - "a function of `x` that returns the same values"
# - "has the right gradient"
# - "leaves `x` as it was"
# - "float32 or float64"
# - "one element or more"
#
# Admits:
#
# - "one element or more": torch.tensor([-0.07])
# - "float32 or float64": three.to(torch.float64)

# %% wrong="every edit is an error" breaks="(the gradient is right)" says=["edit_sin is not 'error'", "a sum needs neither of its terms", "behind .data nothing counts"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "error",
    "edit_sum": "error",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "error",
    "edit_detached": "error",
    "edit_data": "error",
    "edit_leaf": "error",
}
repaired = {}


# %% wrong="only leaves are protected" breaks="(an error is raised, in forward or in backward)" says=["predictions differ", "exp saves its result"]
verdicts = {
    "edit_exp": "wrong",
    "edit_sin": "wrong",
    "edit_sum": "wrong",
    "edit_square": "wrong",
    "edit_slice": "wrong",
    "edit_constant": "wrong",
    "edit_added": "wrong",
    "edit_detached": "wrong",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {
    "edit_exp": lambda x: x.exp() + 1,
    "edit_square": lambda x: (x + 1) ** 2 + (x + 1) + 1,
    "edit_slice": lambda x: torch.cat([x[:1] * 0, x[1:].sigmoid()]),
    "edit_constant": lambda x: x + 2,
    "edit_detached": lambda x: x.tanh() / 2,
    "edit_data": lambda x: x.tanh() / 2,
    "edit_leaf": lambda x: (x + 1) * (x + 1),
}


# %% wrong="a detached edit goes unnoticed" breaks="and a gradient that is not that of the values returned" says=["edit_detached is not 'wrong'", "the edit is noticed"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "wrong",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {
    "edit_exp": lambda x: x.exp() + 1,
    "edit_square": lambda x: (x + 1) ** 2 + (x + 1) + 1,
    "edit_slice": lambda x: torch.cat([x[:1] * 0, x[1:].sigmoid()]),
    "edit_constant": lambda x: x + 2,
    "edit_detached": lambda x: x.tanh() / 2,
    "edit_data": lambda x: x.tanh() / 2,
    "edit_leaf": lambda x: (x + 1) * (x + 1),
}


# %% wrong="the repair drops the edit" breaks="a function of `x` that returns the same values" says=["repaired['edit_exp'] with x of 3, float32: its result"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {
    "edit_exp": lambda x: x.exp(),
    "edit_square": lambda x: (x + 1) ** 2 + (x + 1) + 1,
    "edit_slice": lambda x: torch.cat([x[:1] * 0, x[1:].sigmoid()]),
    "edit_constant": lambda x: x + 2,
    "edit_detached": lambda x: x.tanh() / 2,
    "edit_data": lambda x: x.tanh() / 2,
    "edit_leaf": lambda x: (x + 1) * (x + 1),
}


# %% wrong="hides the edit behind .data" breaks="has the right gradient" says=["repaired['edit_exp'] with x of 3, float32: the gradient of x"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {
    "edit_exp": lambda x: (lambda y: (y.data.add_(1), y)[1])(x.exp()),
    "edit_square": lambda x: (x + 1) ** 2 + (x + 1) + 1,
    "edit_slice": lambda x: torch.cat([x[:1] * 0, x[1:].sigmoid()]),
    "edit_constant": lambda x: x + 2,
    "edit_detached": lambda x: x.tanh() / 2,
    "edit_data": lambda x: x.tanh() / 2,
    "edit_leaf": lambda x: (x + 1) * (x + 1),
}


# %% wrong="repairs by detaching" says=["repaired['edit_square'] with x of 3, float32"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {
    "edit_exp": lambda x: x.exp() + 1,
    "edit_square": lambda x: (x + 1) ** 2 + (x + 2).detach(),
    "edit_slice": lambda x: torch.cat([x[:1] * 0, x[1:].sigmoid()]),
    "edit_constant": lambda x: x + 2,
    "edit_detached": lambda x: x.tanh() / 2,
    "edit_data": lambda x: x.tanh() / 2,
    "edit_leaf": lambda x: (x + 1) * (x + 1),
}


# %% wrong="writes to the leaf all the same" breaks="leaves `x` as it was" says=["it changes its argument x"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {
    "edit_exp": lambda x: x.exp() + 1,
    "edit_square": lambda x: (x + 1) ** 2 + (x + 1) + 1,
    "edit_slice": lambda x: torch.cat([x[:1] * 0, x[1:].sigmoid()]),
    "edit_constant": lambda x: x + 2,
    "edit_detached": lambda x: x.tanh() / 2,
    "edit_data": lambda x: x.tanh() / 2,
    "edit_leaf": lambda x: (x.data.add_(1), x * x)[1],
}


# %% wrong="sets the first entry after the sigmoid, and keeps its slope" says=["repaired['edit_slice'] with x of 3, float32: the gradient of x"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {
    "edit_exp": lambda x: x.exp() + 1,
    "edit_square": lambda x: (x + 1) ** 2 + (x + 1) + 1,
    "edit_slice": lambda x: x.sigmoid() - torch.cat([x[:1].sigmoid().detach(), 0 * x[1:]]),
    "edit_constant": lambda x: x + 2,
    "edit_detached": lambda x: x.tanh() / 2,
    "edit_data": lambda x: x.tanh() / 2,
    "edit_leaf": lambda x: (x + 1) * (x + 1),
}


# %% wrong="one repair is missing" breaks="those that are not fine" says=["repaired['edit_leaf'] with x of 3, float32: is there an answer yet?"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {
    "edit_exp": lambda x: x.exp() + 1,
    "edit_square": lambda x: (x + 1) ** 2 + (x + 1) + 1,
    "edit_slice": lambda x: torch.cat([x[:1] * 0, x[1:].sigmoid()]),
    "edit_constant": lambda x: x + 2,
    "edit_detached": lambda x: x.tanh() / 2,
    "edit_data": lambda x: x.tanh() / 2,
}


# %% right="other formulas, cat and masks"
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {
    "edit_exp": lambda x: x.exp() + 1,
    "edit_square": lambda x: (x + 1) ** 2 + (x + 1) + 1,
    "edit_slice": lambda x: torch.cat([torch.zeros_like(x[:1]), x[1:].sigmoid()]),
    "edit_constant": lambda x: x + 2,
    "edit_detached": lambda x: x.tanh() / 2,
    "edit_data": lambda x: x.tanh() / 2,
    "edit_leaf": lambda x: (x + 1) * (x + 1),
}


# %% right="clones before each edit"
verdicts = dict.fromkeys(("edit_sin", "edit_sum", "edit_added"), "fine")
verdicts |= {
    f"edit_{n}": "error" for n in ("exp", "square", "slice", "constant", "detached", "leaf")
}
verdicts["edit_data"] = "wrong"
repaired = {}


def by_clone(make, edit):
    def function(x):
        y = make(x).clone()
        edit(y)
        return y

    return function


def set_first(y):
    y[0] = 0


def square(x):
    h = x + 1
    y = h * h
    h = h.clone()
    h += 1
    return y + h


def leaf(x):
    x = x.clone()
    x += 1
    return x * x


repaired["edit_exp"] = by_clone(torch.exp, lambda y: y.add_(1))
repaired["edit_slice"] = by_clone(torch.sigmoid, set_first)
repaired["edit_detached"] = by_clone(torch.tanh, lambda y: y.mul_(0.5))
repaired["edit_data"] = repaired["edit_detached"]
repaired["edit_square"], repaired["edit_leaf"] = square, leaf
repaired["edit_constant"] = lambda x: x * torch.ones(len(x), dtype=x.dtype, device=x.device) + 2


# %% wrong="float32 in the middle" breaks="float32 or float64" says=["its result differs"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}


def _slice(x):
    y = x.sigmoid().clone()
    y[0] = 0
    return y


repaired = {
    "edit_exp": lambda x: x.exp() + 1,
    "edit_square": lambda x: (x + 1) * (x + 1) + (x + 2),
    "edit_slice": _slice,
    "edit_constant": lambda x: x + 2,
    "edit_detached": lambda x: 0.5 * x.tanh(),
    "edit_data": lambda x: x.tanh() * 0.5,
    "edit_leaf": lambda x: (x + 1) ** 2,
}


repaired["edit_exp"] = lambda x: (x.float().exp() + 1).to(x.dtype)


# %% wrong="the judge of the verdicts is rebound" says=["edit_exp", "exp saves its result"]
def _slice(x):
    y = x.sigmoid().clone()
    y[0] = 0
    return y


repaired = {
    "edit_exp": lambda x: x.exp() + 1,
    "edit_square": lambda x: (x + 1) * (x + 1) + (x + 2),
    "edit_slice": _slice,
    "edit_constant": lambda x: x + 2,
    "edit_detached": lambda x: 0.5 * x.tanh(),
    "edit_data": lambda x: x.tanh() * 0.5,
    "edit_leaf": lambda x: (x + 1) ** 2,
}


verdict_on = lambda *args: "fine"
verdicts = dict.fromkeys((function.__name__ for function in CASES), "fine")


# %% wrong="two entries at least" breaks="one element or more" says=["repaired['edit_slice'] with x of 1, float32: raised IndexError"]
verdicts = dict.fromkeys(("edit_sin", "edit_sum", "edit_added"), "fine")
verdicts |= {
    f"edit_{n}": "error" for n in ("exp", "square", "slice", "constant", "detached", "leaf")
}
verdicts["edit_data"] = "wrong"
repaired = {}
repaired["edit_exp"] = lambda x: x.exp() + 1
repaired["edit_square"] = lambda x: (x + 1) * (x + 1) + (x + 2)
repaired["edit_constant"] = lambda x: x * torch.ones_like(x) + 2
repaired["edit_detached"] = lambda x: x.tanh() * 0.5
repaired["edit_data"] = lambda x: x.tanh() * 0.5
repaired["edit_leaf"] = lambda x: (x + 1) ** 2


def without_first(x):
    rest = x[1:].sigmoid()
    return torch.cat([torch.stack([0 * x[1]]), rest])


repaired["edit_slice"] = without_first


# %% wrong="the leaf is moved and moved back" breaks="leaves `x` as it was" says=["it changes its argument x"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {}
repaired["edit_exp"] = lambda x: x.exp() + 1
repaired["edit_square"] = lambda x: (x + 1) ** 2 + x + 2
repaired["edit_constant"] = lambda x: x * torch.ones_like(x) + 2
repaired["edit_detached"] = lambda x: x.tanh() * 0.5
repaired["edit_data"] = lambda x: x.tanh() * 0.5


def leaf_repaired(x):
    with torch.no_grad():
        x += 1
    y = x.clone() ** 2
    with torch.no_grad():
        x -= 1
    return y


repaired["edit_leaf"] = leaf_repaired


def slice_repaired(x):
    y = x.sigmoid().clone()
    y[0] = 0
    return y


repaired["edit_slice"] = slice_repaired


# %% wrong="zeroes all that equal the first" says=["repaired['edit_slice'] with x of 5, float32, some numbers equal: "]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {}


def slice_repaired(x):
    y = x.sigmoid()
    return torch.where(y == y[0], 0.0, y)


repaired["edit_exp"] = lambda x: x.exp() + 1
repaired["edit_square"] = lambda x: (x + 1) * (x + 1) + (x + 2)
repaired["edit_slice"] = slice_repaired
repaired["edit_constant"] = lambda x: x * torch.ones_like(x) + 2
repaired["edit_detached"] = lambda x: x.tanh() * 0.5
repaired["edit_data"] = lambda x: x.tanh() * 0.5
repaired["edit_leaf"] = lambda x: (x + 1) * (x + 1)


# %% wrong="a square by its logarithm" says=["repaired['edit_leaf'] with x of 5, float32, some numbers equal: "]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {}


def slice_repaired(x):
    y = x.sigmoid().clone()
    y[0] = 0
    return y


repaired["edit_exp"] = lambda x: x.exp() + 1
repaired["edit_square"] = lambda x: (2 * (x + 1).abs().log()).exp() + (x + 2)
repaired["edit_slice"] = slice_repaired
repaired["edit_constant"] = lambda x: x * torch.ones_like(x) + 2
repaired["edit_detached"] = lambda x: x.tanh() * 0.5
repaired["edit_data"] = lambda x: x.tanh() * 0.5
repaired["edit_leaf"] = lambda x: (2 * (x + 1).abs().log()).exp()


# %% wrong="zeroes the smallest" says=["repaired['edit_slice'] with x of 5, float32, some numbers equal: "]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {}


def slice_repaired(x):
    y = x.sigmoid().clone()
    y[x.argmin()] = 0
    return y


repaired["edit_exp"] = lambda x: x.exp() + 1
repaired["edit_square"] = lambda x: (x + 1) * (x + 1) + (x + 2)
repaired["edit_slice"] = slice_repaired
repaired["edit_constant"] = lambda x: x * torch.ones_like(x) + 2
repaired["edit_detached"] = lambda x: x.tanh() * 0.5
repaired["edit_data"] = lambda x: x.tanh() * 0.5
repaired["edit_leaf"] = lambda x: (x + 1) * (x + 1)


# %% wrong="leaves a hook on x" says=["leave it as it was, without a hook"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {}


def slice_(x):
    y = x.sigmoid().clone()
    y[0] = 0
    return y


def square(x):
    h = x + 1
    y = h * h
    h = h + 1
    return y + h


def constant(x):
    m = torch.ones_like(x)
    y = x * m
    m = m + 1
    return y + m


repaired["edit_exp"] = lambda x: x.exp() + 1
repaired["edit_square"] = square
repaired["edit_slice"] = slice_
repaired["edit_constant"] = constant
repaired["edit_detached"] = lambda x: x.tanh() * 0.5
repaired["edit_data"] = lambda x: x.tanh() * 0.5
repaired["edit_leaf"] = lambda x: (x + 1) * (x + 1)


def mended(x):
    if x.requires_grad:
        x.register_hook(lambda g: g * 0.5)
    y = x.tanh()
    return y - 0.5 * y.detach()


repaired["edit_detached"] = mended


# %% wrong="tanh by exponentials" says=["far from 0: its result differs"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {}


def slice_(x):
    y = x.sigmoid().clone()
    y[0] = 0
    return y


def square(x):
    h = x + 1
    y = h * h
    h = h + 1
    return y + h


def constant(x):
    m = torch.ones_like(x)
    y = x * m
    m = m + 1
    return y + m


repaired["edit_exp"] = lambda x: x.exp() + 1
repaired["edit_square"] = square
repaired["edit_slice"] = slice_
repaired["edit_constant"] = constant
repaired["edit_detached"] = lambda x: x.tanh() * 0.5
repaired["edit_data"] = lambda x: x.tanh() * 0.5
repaired["edit_leaf"] = lambda x: (x + 1) * (x + 1)


def mended(x):
    e = (2 * x).exp()
    return 0.5 * (e - 1) / (e + 1)


repaired["edit_detached"] = mended


# %% wrong="ones for eight elements at most" says=["with x of 65, float32"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {}


def slice_(x):
    y = x.sigmoid().clone()
    y[0] = 0
    return y


def square(x):
    h = x + 1
    y = h * h
    h = h + 1
    return y + h


def constant(x):
    m = torch.ones_like(x)
    y = x * m
    m = m + 1
    return y + m


repaired["edit_exp"] = lambda x: x.exp() + 1
repaired["edit_square"] = square
repaired["edit_slice"] = slice_
repaired["edit_constant"] = constant
repaired["edit_detached"] = lambda x: x.tanh() * 0.5
repaired["edit_data"] = lambda x: x.tanh() * 0.5
repaired["edit_leaf"] = lambda x: (x + 1) * (x + 1)


def mended(x):
    m = torch.ones(8, dtype=x.dtype)[: len(x)]
    y = x * m
    return y + (m + 1)


repaired["edit_constant"] = mended


# %% wrong="the first times a mask" says=["the first not finite: its result differs"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {}


def fixed_exp(x):
    y = x.exp()
    return y + 1


def fixed_square(x):
    h = x + 1
    y = h * h
    h = h + 1
    return y + h


def fixed_slice(x):
    mask = torch.ones_like(x)
    mask[0] = 0
    return x.sigmoid() * mask


def fixed_constant(x):
    m = torch.ones_like(x)
    y = x * m
    m = m + 1
    return y + m


def fixed_half(x):
    return x.tanh() * 0.5


def fixed_leaf(x):
    x = x + 1
    return x * x


repaired["edit_exp"] = fixed_exp
repaired["edit_square"] = fixed_square
repaired["edit_slice"] = fixed_slice
repaired["edit_constant"] = fixed_constant
repaired["edit_detached"] = fixed_half
repaired["edit_data"] = fixed_half
repaired["edit_leaf"] = fixed_leaf


# %% wrong="writes into x and puts back what was there" says=["it changes its argument x"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {}


def fixed_exp(x):
    y = x.exp()
    return y + 1


def fixed_square(x):
    h = x + 1
    y = h * h
    h = h + 1
    return y + h


def fixed_slice(x):
    first = x[0].item()
    with torch.no_grad():
        x[0] = -torch.inf
    y = x.sigmoid()
    with torch.no_grad():
        x[0] = first
    return y


def fixed_constant(x):
    m = torch.ones_like(x)
    y = x * m
    m = m + 1
    return y + m


def fixed_half(x):
    return x.tanh() * 0.5


def fixed_leaf(x):
    x = x + 1
    return x * x


repaired["edit_exp"] = fixed_exp
repaired["edit_square"] = fixed_square
repaired["edit_slice"] = fixed_slice
repaired["edit_constant"] = fixed_constant
repaired["edit_detached"] = fixed_half
repaired["edit_data"] = fixed_half
repaired["edit_leaf"] = fixed_leaf


# %% wrong="one of the squares in float32" says=["with x of 3, float64: its result differs"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {}


def fixed_exp(x):
    y = x.exp()
    return y + 1


def fixed_square(x):
    h = torch.add(x, 1).float()
    return (h * h + h + 1).to(x.dtype)


def fixed_slice(x):
    y = x.sigmoid().clone()
    y[0] = 0
    return y


def fixed_constant(x):
    m = torch.ones_like(x)
    y = x * m
    m = m + 1
    return y + m


def fixed_half(x):
    return x.tanh() * 0.5


def fixed_leaf(x):
    x = x + 1
    return x * x


repaired["edit_exp"] = fixed_exp
repaired["edit_square"] = fixed_square
repaired["edit_slice"] = fixed_slice
repaired["edit_constant"] = fixed_constant
repaired["edit_detached"] = fixed_half
repaired["edit_data"] = fixed_half
repaired["edit_leaf"] = fixed_leaf


# %% right="puts the zero in out of place, pads"
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {}


def fixed_exp(x):
    y = x.exp()
    return y + 1


def fixed_square(x):
    h = x + 1
    y = h * h
    h = h + 1
    return y + h


def fixed_slice(x):
    return x.sigmoid().index_put((torch.tensor([0]),), torch.tensor(0.0, dtype=x.dtype))


def fixed_constant(x):
    m = torch.ones_like(x)
    y = x * m
    m = m + 1
    return y + m


def fixed_half(x):
    return x.tanh() * 0.5


def fixed_leaf(x):
    x = x + 1
    return x * x


repaired["edit_exp"] = fixed_exp
repaired["edit_square"] = fixed_square
repaired["edit_slice"] = fixed_slice
repaired["edit_constant"] = fixed_constant
repaired["edit_detached"] = fixed_half
repaired["edit_data"] = fixed_half
repaired["edit_leaf"] = fixed_leaf


# %% wrong="a list of verdicts" says=["keep the dict, with a verdict for each function"]
verdicts = ["error", "fine", "fine", "error", "error", "error", "fine", "error", "wrong", "error"]
repaired = {}


# %% wrong="a nan becomes a number" says=["repaired['edit_data'] with x of 3, float64, the first not finite: its result differs"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {}


def mend_slice(x):
    y = x.sigmoid().clone()
    y[0] = 0
    return y


repaired["edit_exp"] = lambda x: x.exp() + 1
repaired["edit_square"] = lambda x: (x + 1) * (x + 1) + (x + 2)
repaired["edit_slice"] = mend_slice
repaired["edit_constant"] = lambda x: x + 2
repaired["edit_detached"] = lambda x: x.tanh() * 0.5
repaired["edit_data"] = lambda x: x.nan_to_num().tanh() * 0.5
repaired["edit_leaf"] = lambda x: (x + 1) * (x + 1)


# %% wrong="the infinite becomes a large number" says=["repaired['edit_leaf'] with x of 3, float64, far from 0, the first not finite: its result differs", "expected inf"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {}


def mend_slice(x):
    y = x.sigmoid().clone()
    y[0] = 0
    return y


repaired["edit_exp"] = lambda x: x.exp() + 1
repaired["edit_square"] = lambda x: (x + 1) * (x + 1) + (x + 2)
repaired["edit_slice"] = mend_slice
repaired["edit_constant"] = lambda x: x + 2
repaired["edit_detached"] = lambda x: x.tanh() * 0.5
repaired["edit_data"] = lambda x: 0.5 * x.tanh()
repaired["edit_leaf"] = lambda x: (x.clamp(-1e30, 1e30) + 1) ** 2


# %% wrong="a square, multiplied out" says=["repaired['edit_leaf'] with x of 3, float64, far from 0, the first not finite: its result", "expected inf, got nan"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {}


def _exp(x):
    return x.exp() + 1


def _square(x):
    h = x + 1
    y = h * h
    h = h + 1
    return y + h


def _slice(x):
    y = x.sigmoid().clone()
    y[0] = 0
    return y


def _constant(x):
    m = torch.ones_like(x)
    y = x * m
    m = m + 1
    return y + m


def _half(x):
    return x.tanh() * 0.5


def _leaf(x):
    return x * x + 2 * x + 1


repaired["edit_exp"] = _exp
repaired["edit_square"] = _square
repaired["edit_slice"] = _slice
repaired["edit_constant"] = _constant
repaired["edit_detached"] = _half
repaired["edit_data"] = _half
repaired["edit_leaf"] = _leaf


# %% wrong="a constant that is kept and edited" says=["repaired['edit_constant'] with x of 3, float32: called again, its result differs", "must not count in the next"]
verdicts = {
    "edit_exp": "error",
    "edit_sin": "fine",
    "edit_sum": "fine",
    "edit_square": "error",
    "edit_slice": "error",
    "edit_constant": "error",
    "edit_added": "fine",
    "edit_detached": "error",
    "edit_data": "wrong",
    "edit_leaf": "error",
}
repaired = {}


def _exp(x):
    return x.exp() + 1


def _square(x):
    h = x + 1
    y = h * h
    h = h + 1
    return y + h


def _slice(x):
    y = x.sigmoid().clone()
    y[0] = 0
    return y


def _constant(x, m=torch.ones(1)):
    m = m.to(x)
    y = x * m.clone()
    m += 1
    return y + m


def _half(x):
    return x.tanh() * 0.5


def _leaf(x):
    x = x + 1
    return x * x


repaired["edit_exp"] = _exp
repaired["edit_square"] = _square
repaired["edit_slice"] = _slice
repaired["edit_constant"] = _constant
repaired["edit_detached"] = _half
repaired["edit_data"] = _half
repaired["edit_leaf"] = _leaf
