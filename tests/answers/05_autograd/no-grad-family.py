# %% [markdown]
# Rules:
#
# - "no_grad: w += 1 works"
# - "inference_mode: w * 2 made there, times w later, works"
# - "inference_mode: w * 2 made there, plus w later, works"
# - "detach: w.detach() shares the memory of w"
# - "second layer frozen: the first gets a gradient"
# - "second layer under no_grad: the first gets a gradient"

# %% wrong="detach copies" breaks="detach: w.detach() shares the memory of w" says=["it is a view", "a view shares the version"]
no_grad_family = {
    "no_grad: w * 2 requires grad": False,
    "no_grad: torch.ones(3, requires_grad=True) requires grad": True,
    "no_grad: w += 1 works": True,
    "no_grad: w * 2 made there, times w later, works": True,
    "inference_mode: w * 2 made there, times w later, works": False,
    "inference_mode: w * 2 made there, plus w later, works": True,
    "detach: w.detach() shares the memory of w": False,
    "detach: writing to w.detach() changes the version of w": False,
    "detach: (w.detach() * w).sum() gives w a gradient": True,
    "requires_grad_: (w * 2).requires_grad_(False) works": False,
    "second layer frozen: the first gets a gradient": True,
    "second layer under no_grad: the first gets a gradient": False,
}


# %% wrong="inference mode is no_grad" breaks="inference_mode: w * 2 made there, times w later, works" says=["the product has to save it"]
no_grad_family = {
    "no_grad: w * 2 requires grad": False,
    "no_grad: torch.ones(3, requires_grad=True) requires grad": True,
    "no_grad: w += 1 works": True,
    "no_grad: w * 2 made there, times w later, works": True,
    "inference_mode: w * 2 made there, times w later, works": True,
    "inference_mode: w * 2 made there, plus w later, works": True,
    "detach: w.detach() shares the memory of w": True,
    "detach: writing to w.detach() changes the version of w": True,
    "detach: (w.detach() * w).sum() gives w a gradient": True,
    "requires_grad_: (w * 2).requires_grad_(False) works": False,
    "second layer frozen: the first gets a gradient": True,
    "second layer under no_grad: the first gets a gradient": False,
}


# %% wrong="inference tensors are locked away" breaks="inference_mode: w * 2 made there, plus w later, works" says=["a sum saves nothing"]
no_grad_family = {
    "no_grad: w * 2 requires grad": False,
    "no_grad: torch.ones(3, requires_grad=True) requires grad": True,
    "no_grad: w += 1 works": True,
    "no_grad: w * 2 made there, times w later, works": True,
    "inference_mode: w * 2 made there, times w later, works": False,
    "inference_mode: w * 2 made there, plus w later, works": False,
    "detach: w.detach() shares the memory of w": True,
    "detach: writing to w.detach() changes the version of w": True,
    "detach: (w.detach() * w).sum() gives w a gradient": True,
    "requires_grad_: (w * 2).requires_grad_(False) works": False,
    "second layer frozen: the first gets a gradient": True,
    "second layer under no_grad: the first gets a gradient": False,
}


# %% wrong="freezing cuts the graph" breaks="second layer frozen: the first gets a gradient" says=["the gradient passes through it"]
no_grad_family = {
    "no_grad: w * 2 requires grad": False,
    "no_grad: torch.ones(3, requires_grad=True) requires grad": True,
    "no_grad: w += 1 works": True,
    "no_grad: w * 2 made there, times w later, works": True,
    "inference_mode: w * 2 made there, times w later, works": False,
    "inference_mode: w * 2 made there, plus w later, works": True,
    "detach: w.detach() shares the memory of w": True,
    "detach: writing to w.detach() changes the version of w": True,
    "detach: (w.detach() * w).sum() gives w a gradient": True,
    "requires_grad_: (w * 2).requires_grad_(False) works": False,
    "second layer frozen: the first gets a gradient": False,
    "second layer under no_grad: the first gets a gradient": False,
}


# %% wrong="no_grad forbids leaves and writing" breaks="no_grad: w += 1 works" says=["no_grad stops operations only", "this is how optimizers write to the weights"]
no_grad_family = {
    "no_grad: w * 2 requires grad": False,
    "no_grad: torch.ones(3, requires_grad=True) requires grad": False,
    "no_grad: w += 1 works": False,
    "no_grad: w * 2 made there, times w later, works": True,
    "inference_mode: w * 2 made there, times w later, works": False,
    "inference_mode: w * 2 made there, plus w later, works": True,
    "detach: w.detach() shares the memory of w": True,
    "detach: writing to w.detach() changes the version of w": True,
    "detach: (w.detach() * w).sum() gives w a gradient": True,
    "requires_grad_: (w * 2).requires_grad_(False) works": False,
    "second layer frozen: the first gets a gradient": True,
    "second layer under no_grad: the first gets a gradient": False,
}


# %% wrong="frozen and no_grad are the same" breaks="second layer under no_grad: the first gets a gradient" says=["the way back was not recorded"]
no_grad_family = {
    "no_grad: w * 2 requires grad": False,
    "no_grad: torch.ones(3, requires_grad=True) requires grad": True,
    "no_grad: w += 1 works": True,
    "no_grad: w * 2 made there, times w later, works": True,
    "inference_mode: w * 2 made there, times w later, works": False,
    "inference_mode: w * 2 made there, plus w later, works": True,
    "detach: w.detach() shares the memory of w": True,
    "detach: writing to w.detach() changes the version of w": True,
    "detach: (w.detach() * w).sum() gives w a gradient": True,
    "requires_grad_: (w * 2).requires_grad_(False) works": False,
    "second layer frozen: the first gets a gradient": True,
    "second layer under no_grad: the first gets a gradient": True,
}


# %% right="another order, from the exceptions"
exceptions = {
    "second layer under no_grad: the first gets a gradient",
    "requires_grad_: (w * 2).requires_grad_(False) works",
    "inference_mode: w * 2 made there, times w later, works",
    "no_grad: w * 2 requires grad",
}
names = (
    "second layer under no_grad: the first gets a gradient",
    "second layer frozen: the first gets a gradient",
    "requires_grad_: (w * 2).requires_grad_(False) works",
    "detach: (w.detach() * w).sum() gives w a gradient",
    "detach: writing to w.detach() changes the version of w",
    "detach: w.detach() shares the memory of w",
    "inference_mode: w * 2 made there, plus w later, works",
    "inference_mode: w * 2 made there, times w later, works",
    "no_grad: w * 2 made there, times w later, works",
    "no_grad: w += 1 works",
    "no_grad: torch.ones(3, requires_grad=True) requires grad",
    "no_grad: w * 2 requires grad",
)
no_grad_family = {name: name not in exceptions for name in names}
