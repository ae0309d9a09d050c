# %% [markdown]
# Rules:
#
# - "with the same result"
# - "for every float32 tensor"
# - "between 10⁻³⁰ and 10³⁰ in size"
# - "whose numbers are 0"
# - "`torch.compile` has to make **one** graph of each"
# - "nothing in it may wait"
# - "Put into the dict functions"
#
# Admits:
#
# - "with at least one element": a single number
# - "for every float32 tensor": two dimensions
# - "10⁻³⁰ and 10³⁰": 1e-30

# %% wrong="the broken branch" says=["the host waits for a value"]
graph_breaks = {
    "branch": lambda x: x * 2 if x.sum() > 0 else x - 1,
    "scale": lambda x: x / torch.where(x.any(), x.abs().max(), 1.0),
    "positive": lambda x: x.clamp(min=0).sum(),
}


# %% wrong="each element for itself" breaks="with the same result" says=["one condition for the whole tensor: its sum"]
graph_breaks = {
    "branch": lambda x: torch.where(x > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.any(), x.abs().max(), 1.0),
    "positive": lambda x: x.clamp(min=0).sum(),
}


# %% wrong="divides by zero" breaks="whose numbers are 0" says=["where all elements are 0, they stay 0"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / x.abs().max(),
    "positive": lambda x: x.clamp(min=0).sum(),
}


# %% wrong="the item stays" says=["the host waits for a value (item)"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / (x.abs().max().item() or 1.0),
    "positive": lambda x: x.clamp(min=0).sum(),
}


# %% wrong="the largest, not the largest magnitude" says=["the largest size counts"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.any(), x.max(), 1.0),
    "positive": lambda x: x.clamp(min=0).sum(),
}


# %% wrong="a tiny number in the divisor" breaks="between 10⁻³⁰ and 10³⁰ in size" says=["scale: the result for"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / (x.abs().max() + 1e-3),
    "positive": lambda x: x.clamp(min=0).sum(),
}


# %% wrong="one scale a row" breaks="for every float32 tensor" says=["scale, two dimensions"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / x.abs().amax(-1, keepdim=True).clamp(min=1e-30),
    "positive": lambda x: x.clamp(min=0).sum(),
}


# %% wrong="the mask stays" breaks="nothing in it may wait" says=["the host waits for a value (mask)"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.any(), x.abs().max(), 1.0),
    "positive": lambda x: x[x > 0].sum(),
}


# %% wrong="the sum of all" says=["positive: the result for"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.any(), x.abs().max(), 1.0),
    "positive": lambda x: x.sum().clamp(min=0),
}


# %% wrong="the magnitudes" says=["elements below 0 count as 0, not with their size"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.any(), x.abs().max(), 1.0),
    "positive": lambda x: x.abs().sum(),
}


# %% wrong="the mask is counted" says=["positive: the result for"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.any(), x.abs().max(), 1.0),
    "positive": lambda x: (x > 0).sum(),
}


# %% wrong="switched off inside" says=["the graph breaks"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.any(), x.abs().max(), 1.0),
    "positive": lambda x: torch.compiler.disable(F.relu)(x).sum(),
}


# %% wrong="a break by hand" breaks="`torch.compile` has to make **one** graph of each" says=["the graph breaks"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.any(), x.abs().max(), 1.0),
    "positive": lambda x: (x.clamp(min=0), torch._dynamo.graph_break())[0].sum(),
}


# %% wrong="only two of them" breaks="Put into the dict functions" says=["there is no function in the dict"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.any(), x.abs().max(), 1.0),
}


# %% right="named functions, sums of products"
def branch(x):
    rises = (x.sum() > 0).to(x.dtype)
    return rises * (x * 2) + (1 - rises) * (x - 1)


def scale(x):
    top = x.abs().amax()
    return x / (top + (top == 0))


def positive(x):
    return torch.where(x > 0, x, 0).sum()


graph_breaks = {"positive": positive, "scale": scale, "branch": branch}


# %% right="relu and nan_to_num"
graph_breaks = {
    "branch": lambda x: (x * 2).where(x.sum() > 0, x - 1),
    "scale": lambda x: torch.nan_to_num(x / x.abs().max()),
    "positive": lambda x: F.relu(x).sum(),
}


# %% wrong="a floor under the divisor" says=["scale: the result for [1e-12, -4e-12, 2e-12]"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / x.abs().max().clamp(min=1e-8),
    "positive": lambda x: x.clamp(min=0).sum(),
}


# %% wrong="normalize of the library, with its eps" says=["scale: the result for", "small numbers are lost"]
graph_breaks = {
    "branch": None,
    "scale": None,
    "positive": None,
}
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: F.normalize(x.flatten(), p=float("inf"), dim=0).view(x.shape),
    "positive": lambda x: x.clamp(min=0).sum(),
}


# %% wrong="small numbers are added to 1" says=["branch: the result for", "small numbers are lost"]
graph_breaks = {
    "branch": None,
    "scale": None,
    "positive": None,
}
graph_breaks = {
    "branch": lambda x: (x.sum() > 0) * (x + 1) + x - 1,
    "scale": lambda x: x / torch.where(x.any(), x.abs().max(), 1.0),
    "positive": lambda x: x.clamp(min=0).sum(),
}


# %% right="half of the sum and of its sizes"
graph_breaks = {
    "branch": None,
    "scale": None,
    "positive": None,
}
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.any(), x.abs().max(), 1.0),
    "positive": lambda x: (x.abs() + x).sum() / 2,
}


# %% wrong="clamps in place" says=["positive: its argument was changed: the broken one leaves it as it is"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.any(), x.abs().max(), 1.0),
    "positive": lambda x: x.clamp_(min=0).sum(),
}


# %% wrong="half of the sum and of the sizes" says=["what is below 0 isn't cancelled by as much"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.abs().max() > 0, x.abs().max(), 1.0),
    "positive": lambda x: (x.sum() + x.abs().sum()) / 2,
}


# %% wrong="the largest of each row" says=["one number for the whole tensor, not one for each row"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: (
        x / torch.where(x.abs().amax(-1, keepdim=True) == 0, 1.0, x.abs().amax(-1, keepdim=True))
    ),
    "positive": lambda x: x.clamp(min=0).sum(),
}


# %% wrong="clamped at the wrong side" says=["what is above 0 is added up, not what is below"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.abs().max() == 0, 1.0, x.abs().max()),
    "positive": lambda x: x.clamp(max=0).sum(),
}


# %% wrong="the argument overwritten" says=["its argument was changed"]
graph_breaks = {
    "branch": lambda x: x.copy_(torch.where(x.sum() > 0, x * 2, x - 1)),
    "scale": lambda x: x / torch.where(x.abs().max() == 0, 1.0, x.abs().max()),
    "positive": lambda x: torch.where(x > 0, x, 0.0).sum(),
}


# %% wrong="scale squared and rooted" says=["squares of large numbers are infinite"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where((x * x).max() == 0, 1.0, (x * x).max().sqrt()),
    "positive": lambda x: torch.where(x > 0, x, 0.0).sum(),
}


# %% wrong="a scale for each column" says=["not one for each column"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.abs().max() == 0, 1.0, x.abs().max(0).values),
    "positive": lambda x: torch.where(x > 0, x, 0.0).sum(),
}


# %% wrong="the sign of the sum" says=["where the sum is 0, it is x - 1"]
graph_breaks = {
    "branch": lambda x: x * (1.5 + x.sum().sign() / 2) - (1 - x.sum().sign()) / 2,
    "scale": lambda x: x / torch.where(x.abs().max() == 0, 1, x.abs().max()),
    "positive": lambda x: x.relu().sum(),
}


# %% wrong="the largest, by where" says=["the largest size counts, also where no element is above 0"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: torch.where(x.any(), x / x.max(), x),
    "positive": lambda x: x.relu().sum(),
}


# %% wrong="numbers below 1e-20 stay as they are" says=["small numbers are lost"]
graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": lambda x: x / torch.where(x.abs().max() < 1e-20, 1.0, x.abs().max()),
    "positive": lambda x: torch.where(x > 0, x, 0).sum(),
}


# %% wrong="drops dimensions of size 1" says=["three dimensions, one of size 1: the result for"]
def scaled(x):
    largest = x.abs().max()
    return x / torch.where(largest == 0, torch.ones_like(largest), largest)


graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1).squeeze(),
    "scale": scaled,
    "positive": lambda x: torch.where(x > 0, x, 0.0).sum(),
}


# %% wrong="the largest over two dimensions" says=["scale, three dimensions, one of size 1"]
def scaled(x):
    largest = x.abs().amax((0, 1)) if x.dim() > 1 else x.abs().max()
    return x / torch.where(largest == 0, torch.ones_like(largest), largest)


graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": scaled,
    "positive": lambda x: torch.where(x > 0, x, 0.0).sum(),
}


# %% wrong="the infinity norm of a matrix" says=["scale, two dimensions: the result differs: the largest size of an element, not the largest sum of a row"]
def scale(x):
    largest = torch.linalg.norm(x, float("inf"))
    return x / torch.where(largest > 0, largest, 1.0)


graph_breaks = {
    "branch": lambda x: torch.where(x.sum() > 0, x * 2, x - 1),
    "scale": scale,
    "positive": lambda x: x.clamp(min=0).sum(),
}


# %% wrong="torch.cond" breaks="nothing in it may wait" says=["branch: torch.cond waits for its condition"]
graph_breaks = {
    "branch": lambda x: torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t - 1, (x,)),
    "scale": lambda x: x / torch.where(x.any(), x.abs().max(), 1.0),
    "positive": lambda x: x.clamp(min=0).sum(),
}
