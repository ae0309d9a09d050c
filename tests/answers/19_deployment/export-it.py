# %% [markdown]
# Rules:
#
# - "so that the export accepts it"
# - "computes the same"
# - "with a free number of rows"
# - "what was exported is right for every input"
# - "Where `crop` raises, yours may raise anything"
# - "Leave `x` as it is"
#
# Admits:
#
# - "right for every input": bright as a whole, with numbers below 0
# - "(rows, 6), one row or more": one row
# - "`n` is a 0-D int64 tensor": no column
# - "right for every input": a mean of exactly a half

# %% wrong="the programs as they are" breaks="so that the export accepts it" says=["torch.export refuses it", "No Python `if`"]
def export_it(program, *inputs):
    return {"night": night, "settle": settle, "crop": crop, "bright": bright}[program](*inputs)


# %% wrong="crop without checks" breaks="Where `crop` raises, yours may raise anything" says=["it has to raise", "cut short in silence"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        return torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))[0]
    if program == "crop":
        return x[:, : inputs[1].item()]
    return x[x.mean(1) > 0.5]


# %% wrong="the upper check alone" says=["crop: ", "minus 2 columns"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        return torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))[0]
    if program == "crop":
        n = inputs[1].item()
        torch._check(n <= x.shape[1])
        return x[:, :n]
    return x[x.mean(1) > 0.5]


# %% wrong="each pixel chooses; the loop is a division" says=["night: ", "settle: ", "halved, again and again"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.where(x < 0.5, 1 - x, x)
    if program == "settle":
        return x / x.abs().max().clamp(min=1)
    if program == "crop":
        n = inputs[1].item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[1])
        return x[:, :n]
    return x[x.mean(1) > 0.5]


# %% wrong="forgets the sign, and that a half isn't below a half" says=["a mean of exactly a half isn't below a half", "the size of a negative number counts as well"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.cond(x.mean() <= 0.5, lambda x: 1 - x, lambda x: x.clone(), (x,))
    if program == "settle":
        return torch.while_loop(lambda x: x.max() > 1, lambda x: (x / 2,), (x.clone(),))[0]
    if program == "crop":
        n = inputs[1].item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[1])
        return x[:, :n]
    return x[x.mean(1) > 0.5]


# %% wrong="bright multiplies by the mask" breaks="computes the same" says=["bright: ", "shape"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        return torch.while_loop(lambda x: x.abs().max() >= 1, lambda x: (x / 2,), (x.clone(),))[0]
    if program == "crop":
        n = inputs[1].item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[1])
        return x[:, :n]
    return x * (x.mean(1, keepdim=True) > 0.5)


# %% wrong="settle works in place" breaks="Leave `x` as it is" says=["an argument was changed"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        x.div_(2.0 ** x.abs().max().clamp(min=1).log2().ceil())
        return x.clone()
    if program == "crop":
        n = inputs[1].item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[1])
        return x[:, :n]
    return x[x.mean(1) > 0.5]


# %% wrong="the mean over the batch's columns, halved once" says=["bright: ", "settle: ", "halved once"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        return torch.where(x.abs().max() > 1, x / 2, x)
    if program == "crop":
        n = inputs[1].item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[1])
        return x[:, :n]
    return x[x.amax(1) > 0.5]


# %% right="cond, a power of two, narrow, nonzero"
def export_it(program, *inputs):
    x, *rest = inputs
    if program == "night":
        return torch.cond(x.mean() < 0.5, lambda x: 1 - x, lambda x: x.clone(), (x,))
    if program == "settle":
        doublings = x.abs().max().clamp(min=1).frexp()
        exact = doublings.mantissa == 0.5
        return torch.ldexp(x, -(doublings.exponent - exact.to(torch.int32)))
    if program == "crop":
        n = rest[0].item()
        torch._check(n >= 0)
        torch._check(n <= 6)
        return torch.narrow(x, 1, 0, n)
    keep = (x.sum(1) / x.shape[1] > 0.5).nonzero().squeeze(1)
    return x.index_select(0, keep)


# %% wrong="each row is inverted by itself" says=["night: ", "each row by itself"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.where(x.mean(1, keepdim=True) < 0.5, 1 - x, x)
    if program == "settle":
        return torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))[0]
    if program == "crop":
        n = inputs[1].item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[1])
        return x[:, :n]
    return x[x.mean(1) > 0.5]


# %% wrong="each number is inverted by itself" says=["each number by itself"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.where(x < 0.5, 1 - x, x)
    if program == "settle":
        return torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))[0]
    if program == "crop":
        n = inputs[1].item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[1])
        return x[:, :n]
    return x[x.mean(1) > 0.5]


# %% wrong="a half counts as bright" says=["a mean of exactly a half isn't above a half"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.cond(x.mean() < 0.5, lambda x: 1 - x, lambda x: x.clone(), (x,))
    if program == "settle":
        return torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))[0]
    if program == "crop":
        n = inputs[1].item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[1])
        return x[:, :n]
    return x[x.mean(1) >= 0.5]


# %% wrong="settles by a logarithm" says=["a logarithm is rounded", "halve while it is above 1"]
def export_it(program: str, *inputs: torch.Tensor) -> torch.Tensor:
    x, *rest = inputs
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        return x / 2 ** x.abs().max().log2().ceil().clamp(min=0)
    if program == "crop":
        width = rest[0].item()
        torch._check(width >= 0)
        torch._check(width <= x.shape[1])
        return x[:, :width]
    return x[x.mean(1) > 0.5]


# %% right="settles by the exponent"
def export_it(program: str, *inputs: torch.Tensor) -> torch.Tensor:
    x, *rest = inputs
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        mantissa, exponent = torch.frexp(x.abs().max())
        times = torch.where(mantissa == 0.5, exponent - 1, exponent).clamp(min=0)
        return torch.ldexp(x, -times)
    if program == "crop":
        width = rest[0].item()
        torch._check(width >= 0)
        torch._check(width <= x.shape[1])
        return x[:, :width]
    return x[x.mean(1) > 0.5]


# %% wrong="as many rows as now" breaks="with a free number of rows" says=["torch.export refuses it"]
def export_it(program: str, *inputs: torch.Tensor) -> torch.Tensor:
    """What ``night(x)``, ``settle(x)``, ``crop(x, n)`` or ``bright(x)`` gives, for the export.

    ``program`` is the name; it is known while exporting, so you may branch on it.
    """
    x, *rest = inputs
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        (y,) = torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))
        return y
    if program == "crop":
        width = rest[0].item()
        torch._check(width >= 0)
        torch._check(width <= x.shape[1])
        return x[:, :width]
    keep = [x[i : i + 1][x[i : i + 1].mean(1) > 0.5] for i in range(x.shape[0])]
    return torch.cat(keep)


# %% wrong="settle ten times" breaks="what was exported is right for every input" says=["settle: "]
def export_it(program: str, *inputs: torch.Tensor) -> torch.Tensor:
    """What ``night(x)``, ``settle(x)``, ``crop(x, n)`` or ``bright(x)`` gives, for the export.

    ``program`` is the name; it is known while exporting, so you may branch on it.
    """
    x, *rest = inputs
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        for _ in range(10):
            x = torch.where(x.abs().max() > 1, x / 2, x)
        return x
    if program == "crop":
        width = rest[0].item()
        torch._check(width >= 0)
        torch._check(width <= x.shape[1])
        return x[:, :width]
    return x[x.mean(1) > 0.5]


# %% wrong="squeezes the rows" says=["bright: "]
def export_it(program: str, *inputs: torch.Tensor) -> torch.Tensor:
    """What ``night(x)``, ``settle(x)``, ``crop(x, n)`` or ``bright(x)`` gives, for the export.

    ``program`` is the name; it is known while exporting, so you may branch on it.
    """
    x, *rest = inputs
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        (y,) = torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))
        return y
    if program == "crop":
        width = rest[0].item()
        torch._check(width >= 0)
        torch._check(width <= x.shape[1])
        return x[:, :width]
    return x[(x.mean(1) > 0.5).nonzero().squeeze()]


# %% wrong="a logarithm, for small numbers as well" says=["none is above 1 here"]
def export_it(program, *inputs):
    if program == "night":
        (x,) = inputs
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        (x,) = inputs
        return x / 2 ** torch.ceil(torch.log2(x.abs().max()))
    if program == "crop":
        x, n = inputs
        width = n.item()
        torch._check(width >= 0)
        torch._check(width <= x.shape[1])
        return x[:, :width]
    (x,) = inputs
    return x[x.mean(1) > 0.5]


# %% wrong="ten halvings at most" says=["a number is still above 1"]
def export_it(program, *inputs):
    if program == "night":
        (x,) = inputs
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        (x,) = inputs
        for _ in range(10):
            x = torch.where(x.abs().max() > 1, x / 2, x)
        return x
    if program == "crop":
        x, n = inputs
        width = n.item()
        torch._check(width >= 0)
        torch._check(width <= x.shape[1])
        return x[:, :width]
    (x,) = inputs
    return x[x.mean(1) > 0.5]


# %% wrong="blends by multiplying" breaks="what was exported is right for every input" says=["an infinite number", "a NaN came of it"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        dark = (x.mean() < 0.5).to(x.dtype)
        return dark * (1 - x) + (1 - dark) * x
    if program == "settle":
        return torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))[0]
    if program == "crop":
        n = inputs[1].item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[1])
        return x[:, :n]
    return x[x.mean(1) > 0.5]


# %% wrong="asks for what isn't bright and what isn't dark" breaks="what was exported is right for every input" says=["a mean that is a NaN", "a row whose mean is a NaN"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.where(x.mean() >= 0.5, x, 1 - x)
    if program == "settle":
        return torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))[0]
    if program == "crop":
        n = inputs[1].item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[1])
        return x[:, :n]
    return x[~(x.mean(1) <= 0.5)]


# %% wrong="the last columns, and the dark rows" says=["the last n columns", "the dark rows came"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        return torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))[0]
    if program == "crop":
        n = inputs[1].item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[1])
        return x[:, x.shape[1] - n :]
    return x[x.mean(1) < 0.5]


# %% wrong="a mask of columns" says=["a mask has one truth value for each row"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        return torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))[0]
    if program == "crop":
        n = inputs[1].item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[1])
        return x[:, :n]
    return x[x.mean(0) > 0.5]


# %% wrong="night by the size of x minus 0 or 1" breaks="computes the same" says=["numbers below 0 stay below 0"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return ((x.mean() < 0.5).float() - x).abs()
    if program == "settle":
        (y,) = torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))
        return y
    if program == "crop":
        width = inputs[1].item()
        torch._check(width >= 0)
        torch._check(width <= x.shape[1])
        return x[:, :width]
    return x[x.mean(1) > 0.5]


# %% wrong="bright by a sum of 3.01" breaks="what was exported is right for every input" says=["a row's mean is just above a half"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        (y,) = torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))
        return y
    if program == "crop":
        width = inputs[1].item()
        torch._check(width >= 0)
        torch._check(width <= x.shape[1])
        return x[:, :width]
    return x[x.sum(1) > 3.01]


# %% wrong="a single row is bright" breaks="computes the same" says=["one dark row: the dark rows came"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        (y,) = torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))
        return y
    if program == "crop":
        width = inputs[1].item()
        torch._check(width >= 0)
        torch._check(width <= x.shape[1])
        return x[:, :width]
    keep = x.mean(1) > 0.5
    return x[keep] if x.shape[0] > 1 else x


# %% wrong="a NaN is taken for small" breaks="what was exported is right for every input" says=["the largest size is a NaN", "the program halves no time"]
def export_it(program: str, *inputs: torch.Tensor) -> torch.Tensor:
    x, *rest = inputs
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        (y,) = torch.while_loop(lambda x: (x.abs() > 1).any(), lambda x: (x / 2,), (x.clone(),))
        return y
    if program == "crop":
        width = rest[0].item()
        torch._check(width >= 0)
        torch._check(width <= x.shape[1])
        return x[:, :width]
    return x[x.mean(1) > 0.5]


# %% wrong="bright by numbers cut to 0 and 1" breaks="what was exported is right for every input" says=["numbers above 1 and below 0 count in a mean as they are"]
def export_it(program: str, *inputs: torch.Tensor) -> torch.Tensor:
    x, *rest = inputs
    if program == "night":
        return torch.where(x.mean() < 0.5, 1 - x, x)
    if program == "settle":
        (y,) = torch.while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x.clone(),))
        return y
    if program == "crop":
        width = rest[0].item()
        torch._check(width >= 0)
        torch._check(width <= x.shape[1])
        return x[:, :width]
    return x[x.clamp(0, 1).mean(1) > 0.5]


# %% wrong="a row's mean without its NaN" says=["a NaN in a row: a NaN isn't left out of a row's mean"]
def export_it(program, *inputs):
    x = inputs[0]
    if program == "night":
        return torch.cond(x.mean() < 0.5, lambda x: 1 - x, lambda x: x.clone(), (x,))
    if program == "settle":
        (y,) = torch.while_loop(lambda y: y.abs().max() > 1, lambda y: (y / 2,), (x.clone(),))
        return y
    if program == "crop":
        width = inputs[1].item()
        torch._check(width >= 0)
        torch._check(width <= x.shape[1])
        return x[:, :width]
    return x[x.nanmean(1) > 0.5]
