# %% [markdown]
# Rules:
#
# - "perhaps empty"
# - "leaves the list and the tensors as they are"
# - "plain numbers"
# - "of any shapes"
# - "the largest power of two"
# - "at most 2²⁴"
# - "for which no entry times `scale` becomes `inf`"
# - "that aren't 0"
# - "become 0 in float16 without a scale"
# - "how many do so after scaling"
# - "Large gradients may need a scale below 1"
#
# Admits:
#
# - "perhaps empty": an empty list
# - "of any shapes": a matrix and two numbers
# - "Large gradients": far too large

# %% wrong="only the first tensor" says=["look at all the tensors"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:

    def lost(scale):
        return sum(int(((g != 0) & ((g * scale).half() == 0)).sum()) for g in gradients)

    scale = 2.0**24
    while any((g * scale).half().isinf().any() for g in gradients[:1]):
        scale /= 2
    return scale, lost(1.0), lost(scale)


# %% wrong="positive entries alone" breaks="for which no entry times `scale` becomes `inf`" says=["look at all the tensors"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:

    def lost(scale):
        return sum(int(((g != 0) & ((g * scale).half() == 0)).sum()) for g in gradients)

    scale = 2.0**24
    while any(((g * scale).half() == torch.inf).any() for g in gradients):
        scale /= 2
    return scale, lost(1.0), lost(scale)


# %% wrong="stops at 1" says=["becomes inf"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:

    def lost(scale):
        return sum(int(((g != 0) & ((g * scale).half() == 0)).sum()) for g in gradients)

    scale = 2.0**24
    while any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
        if scale <= 1:
            break
    return scale, lost(1.0), lost(scale)


# %% wrong="no limit above" breaks="at most 2²⁴" says=["scale is above 2**24"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:

    def lost(scale):
        return sum(int(((g != 0) & ((g * scale).half() == 0)).sum()) for g in gradients)

    scale = 2.0**30
    while any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
    return scale, lost(1.0), lost(scale)


# %% wrong="GradScaler's start" says=["a larger power of two would fit"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:

    def lost(scale):
        return sum(int(((g != 0) & ((g * scale).half() == 0)).sum()) for g in gradients)

    scale = 2.0**16
    while any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
    return scale, lost(1.0), lost(scale)


# %% wrong="zeros count as lost" breaks="that aren't 0" says=["entries that were 0 before are not lost"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:

    def lost(scale):
        return sum(int(((g * scale).half() == 0).sum()) for g in gradients)

    scale = 2.0**24
    while any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
    return scale, lost(1.0), lost(scale)


# %% wrong="one step too far" breaks="the largest power of two" says=["would fit as well"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:

    def lost(scale):
        return sum(int(((g != 0) & ((g * scale).half() == 0)).sum()) for g in gradients)

    scale = 2.0**24
    while any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
    return scale / 2, lost(1.0), lost(scale / 2)


# %% wrong="lost and kept swapped" says=["lost is wrong"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:

    def lost(scale):
        return sum(int(((g != 0) & ((g * scale).half() == 0)).sum()) for g in gradients)

    scale = 2.0**24
    while any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
    return scale, lost(scale), lost(1.0)


# %% wrong="bfloat16" breaks="become 0 in float16 without a scale" says=["becomes inf"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:

    def lost(scale):
        return sum(int(((g != 0) & ((g * scale).bfloat16() == 0)).sum()) for g in gradients)

    scale = 2.0**24
    while any((g * scale).bfloat16().isinf().any() for g in gradients):
        scale /= 2
    return scale, lost(1.0), lost(scale)


# %% wrong="limit by 65504 itself" says=["would fit as well"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:

    def lost(scale):
        return sum(int(((g != 0) & ((g * scale).half() == 0)).sum()) for g in gradients)

    scale = 2.0**24
    while any(((g * scale).abs() > 65504).any() for g in gradients):
        scale /= 2
    return scale, lost(1.0), lost(scale)


# %% wrong="not a power of two" says=["not a power of two"]
def mixed_precision_errors(gradients):
    top = max((float(g.abs().max()) for g in gradients if g.numel()), default=0.0)
    scale = min(2.0**24, 65504 / top) if top else 2.0**24

    def lost(s):
        return sum(int(((g != 0) & ((g * s).half() == 0)).sum()) for g in gradients)

    return scale, lost(1.0), lost(scale)


# %% wrong="nothing yet" says=["is there an answer yet"]
def mixed_precision_errors(gradients):
    pass


# %% right="from the exponent of the largest"
import math  # noqa: E402


def mixed_precision_errors(gradients):
    flat = torch.cat([g.reshape(-1) for g in gradients] or [torch.zeros(0)]).double()
    top = flat.abs().max().item() if len(flat) else 0.0
    exponent = 24
    if top:
        exponent = min(24, math.floor(math.log2(65520 / top)))
        if top * 2.0**exponent >= 65520:
            exponent -= 1

    def lost(scale):
        return torch.count_nonzero(flat).item() - torch.count_nonzero((flat * scale).half()).item()

    scale = math.ldexp(1.0, exponent)
    return scale, lost(1.0), lost(scale)


# %% wrong="no tensor at all" breaks="perhaps empty" says=["an empty list: raised"]
def mixed_precision_errors(gradients):
    every = torch.cat([g.flatten() for g in gradients])
    scale = 2.0**24
    while (every * scale).half().isinf().any():
        scale /= 2
    lost, after = ((every != 0) & ((every * by).half() == 0) for by in (1.0, scale))
    return scale, int(lost.sum()), int(after.sum())


# %% wrong="only vectors" says=["a matrix and two numbers: raised"]
def mixed_precision_errors(gradients):
    every = torch.cat([torch.zeros(1), *(torch.atleast_1d(g) for g in gradients)])
    scale = 2.0**24
    while (every * scale).half().isinf().any():
        scale /= 2
    lost, after = ((every != 0) & ((every * by).half() == 0) for by in (1.0, scale))
    return scale, int(lost.sum()), int(after.sum())


# %% wrong="scales in place" breaks="leaves the list and the tensors as they are" says=["the gradients themselves were changed"] judge="differs"
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:

    def lost(scale):
        return sum(int(((g != 0) & ((g * scale).half() == 0)).sum()) for g in gradients)

    for g in gradients:
        g.mul_(2.0)
    scale = 2.0**24
    while any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
    return scale, lost(1.0), lost(scale)


# %% wrong="never below 1" breaks="Large gradients may need a scale below 1" says=["a scale of 1 an entry becomes inf", "it may be below 1"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:

    def lost(scale):
        return sum(int(((g != 0) & ((g * scale).half() == 0)).sum()) for g in gradients)

    scale = 2.0**24
    while scale > 1 and any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
    return scale, lost(1.0), lost(scale)


# %% wrong="rounded before it is scaled" breaks="how many do so after scaling" says=["multiply first, then round"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:

    def lost(scale):
        return sum(int(((g != 0) & ((g.half() * scale) == 0)).sum()) for g in gradients)

    scale = 2.0**24
    while any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
    return scale, lost(1.0), lost(scale)


# %% wrong="tensors come back" breaks="plain numbers" says=["scale is of type"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:
    """The scale, and how many entries underflow in float16 without it and with it."""

    def lost(scale):
        return sum(int(((g != 0) & ((g * scale).half() == 0)).sum()) for g in gradients)

    scale = 2.0**24
    while any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
    return torch.tensor(scale), lost(1.0), lost(scale)


# %% wrong="one dimension at least" breaks="of any shapes" says=["a matrix and two numbers: raised"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:
    """The scale, and how many entries underflow in float16 without it and with it."""

    gradients = [row for g in gradients for row in g]

    def lost(scale):
        return sum(int(((g != 0) & ((g * scale).half() == 0)).sum()) for g in gradients)

    scale = 2.0**24
    while any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
    return scale, lost(1.0), lost(scale)


# %% wrong="empties the caller's list" breaks="leaves the list and the tensors as they are" says=["the caller's list was changed"] judge="differs"
def mixed_precision_errors(gradients):
    flat = torch.zeros(0, device=gradients[0].device if gradients else "cpu")
    while gradients:
        flat = torch.cat([flat, gradients.pop().flatten()])
    scale = 2.0**24
    while (flat * scale).half().isinf().any():
        scale /= 2
    there = flat != 0
    lost = [int((there & ((flat * s).half() == 0)).sum()) for s in (1.0, scale)]
    return scale, *lost


# %% wrong="all below the smallest number" says=["about half of float16's smallest: lost is wrong: what is more than half"]
def mixed_precision_errors(gradients):
    values = torch.cat([torch.zeros(1)] + [g.detach().flatten().cpu() for g in gradients]).double()
    scale = 2.0**24
    while (values.float() * scale).half().isinf().any():
        scale /= 2

    def lost(s):
        return int(((values != 0) & ((values * s).abs() < 2.0**-24)).sum())

    return scale, lost(1), lost(scale)


# %% wrong="all below the smallest normal number" says=["float16 has numbers below 6.1e-5"]
def mixed_precision_errors(gradients):
    values = torch.cat([torch.zeros(1)] + [g.detach().flatten().cpu() for g in gradients]).double()
    scale = 2.0**24
    while (values.float() * scale).half().isinf().any():
        scale /= 2

    def lost(s):
        return int(((values != 0) & ((values * s).abs() < torch.finfo(torch.float16).tiny)).sum())

    return scale, lost(1), lost(scale)


# %% wrong="scales in place, and back" says=["far too large: the gradients themselves were changed"]
def mixed_precision_errors(gradients):
    scale = 2.0**24

    def fits():
        return not any((g * scale).half().isinf().any() for g in gradients)

    while not fits():
        scale /= 2
    lost = sum(int(((g != 0) & (g.half() == 0)).sum()) for g in gradients)
    after = 0
    for g in gradients:
        g.mul_(scale)
        after += int(((g != 0) & (g.half() == 0)).sum())
        g.div_(scale)
    return scale, lost, after


# %% wrong="only what stays lost" says=["also entries that float16 held may be lost"]
def mixed_precision_errors(gradients):
    values = torch.cat([torch.zeros(1)] + [g.detach().flatten().cpu() for g in gradients])
    scale = 2.0**24
    while (values * scale).half().isinf().any():
        scale /= 2
    before = (values != 0) & (values.half() == 0)
    if scale < 1:
        scale_lost = int(before.sum())
    else:
        scale_lost = int((before & ((values * scale).half() == 0)).sum())
    return scale, int(before.sum()), scale_lost


# %% wrong="below float16's smallest number, once scaled" says=["once scaled: lost_scaled is wrong: what is more than half of float16's smallest"]
def mixed_precision_errors(gradients):
    scale = 2.0**24
    while any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
    lost = sum(int(((g != 0) & (g.half() == 0)).sum()) for g in gradients)
    lost_scaled = sum(int(((g != 0) & ((g * scale).abs() < 2.0**-24)).sum()) for g in gradients)
    return scale, lost, lost_scaled


# %% wrong="no scale below 2 to the -24" breaks="Large gradients may need a scale below 1" says=["near float32's largest: with this scale an entry becomes inf"]
def mixed_precision_errors(gradients):
    def halves(scale):
        return [(gradient * scale).half() for gradient in gradients]

    powers = [2.0**power for power in range(24, -25, -1)]
    fits = (p for p in powers if not any(half.isinf().any() for half in halves(p)))
    scale = next(fits, powers[-1])

    def lost(scale):
        pairs = zip(gradients, halves(scale), strict=True)
        return sum(((g != 0) & (half == 0)).sum().item() for g, half in pairs)

    return scale, lost(1.0), lost(scale)


# %% wrong="zeros with a sign count" breaks="that aren't 0" says=["all small: lost is wrong: entries that were 0 before are not lost"]
def mixed_precision_errors(gradients):
    scale = 2.0**24
    while any((gradient * scale).half().isinf().any() for gradient in gradients):
        scale /= 2

    def lost(scale):
        return sum(
            ((g.signbit() | (g != 0)) & ((g * scale).half() == 0)).sum().item() for g in gradients
        )

    return scale, lost(1.0), lost(scale)


# %% wrong="equal entries count once" breaks="become 0 in float16 without a scale" says=["all small: lost is wrong"]
def mixed_precision_errors(gradients):
    scale = 2.0**24
    while any((gradient * scale).half().isinf().any() for gradient in gradients):
        scale /= 2

    def lost(scale):
        return sum(
            ((g != 0) & ((g * scale).half() == 0)).sum().item()
            for g in map(torch.unique, gradients)
        )

    return scale, lost(1.0), lost(scale)


# %% wrong="a number loses nothing" breaks="of any shapes" says=["a matrix and two numbers: lost is wrong"]
def mixed_precision_errors(gradients):
    scale = 2.0**24
    while any((gradient * scale).half().isinf().any() for gradient in gradients):
        scale /= 2

    def lost(scale):
        return sum(
            ((g != 0) & ((g * scale).half() == 0)).sum().item() for g in gradients if g.dim()
        )

    return scale, lost(1.0), lost(scale)


# %% wrong="flattens by view" says=["gaps in memory"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:
    scale = 2.0**24
    gradients = [g.view(-1) for g in gradients]
    while any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
    lost = sum(((g != 0) & (g.half() == 0)).sum().item() for g in gradients)
    scaled = sum(((g != 0) & ((g * scale).half() == 0)).sum().item() for g in gradients)
    return scale, lost, scaled


# %% wrong="each tensor once" says=["one tensor twice in the list: lost is wrong"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:
    scale = 2.0**24
    gradients = list({id(g): g for g in gradients}.values())
    while any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
    lost = sum(((g != 0) & (g.half() == 0)).sum().item() for g in gradients)
    scaled = sum(((g != 0) & ((g * scale).half() == 0)).sum().item() for g in gradients)
    return scale, lost, scaled


# %% wrong="counts what is lost after scaling only if it was kept before" says=["count each by itself"]
def mixed_precision_errors(gradients: list[torch.Tensor]) -> tuple[float, int, int]:
    scale = 2.0**24
    while any((g * scale).half().isinf().any() for g in gradients):
        scale /= 2
    lost = sum(((g != 0) & (g.half() == 0)).sum().item() for g in gradients)
    scaled = sum(((g.half() != 0) & ((g * scale).half() == 0)).sum().item() for g in gradients)
    return scale, lost, scaled
