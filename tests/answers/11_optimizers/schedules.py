# %% [markdown]
# Rules:
#
# - "in the usual order unless it says otherwise"
# - "the list of the `total` rates of a run"
# - "they rise linearly: base / warmup, 2 · base / warmup, … up to base"
# - "the k-th of them, from k = 0"
# - "The other n = total - warmup follow half a cosine"
# - "floor ≤ base"
# - "0 ≤ warmup ≤ total"
# - "The entries are plain numbers"
# - "floor: float = 0.0"

# %% wrong="the milestone's own step is late" says=["multistep is not", "milestones count calls"]
rates = dict.fromkeys(
    ("multistep", "multistep, old order", "warm-up", "cosine", "plateau", "chained", "sequential")
)
rates["multistep"] = [1, 1, 1, 0.5, 0.25]
for name, guess in (
    ("multistep, old order", [1, 0.5, 0.25, 0.25, 0.25]),
    ("warm-up", [0.25, 0.5, 0.75, 1, 1]),
    ("cosine", [1, 0.5, 0, 0.5, 1, 0.5]),
    ("plateau", [1, 1, 1, 1, 0.5, 0.5]),
    ("chained", [0.5, 0.25, 0.25, 0.125, 0.0625]),
    ("sequential", [0.5, 0.5, 1, 0.5, 0.25]),
):
    rates[name] = guess


# %% wrong="the old order changes nothing" breaks="in the usual order unless it says otherwise" says=["old order is not", "one step too early"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 1, 0.5, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


# %% wrong="a cosine that stays down, a hasty plateau" says=["after T_max it climbs again", "when patience is exceeded"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0, 0, 0],
    "plateau": [1, 1, 1, 0.5, 0.5, 0.25],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


# %% wrong="chained is sequential, warm-up from zero" says=["both factors at once", "its own count", "it starts at start_factor"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0, 0.25, 0.5, 0.75, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.5, 1, 0.5, 0.25],
    "sequential": [0.5, 0.5, 0.25, 0.125, 0.0625],
}


# %% wrong="the warm-up starts at zero" breaks="they rise linearly: base / warmup, 2 · base / warmup, … up to base" says=["the first step is wasted at rate 0"]
rates = dict.fromkeys(
    ("multistep", "multistep, old order", "warm-up", "cosine", "plateau", "chained", "sequential")
)


def schedules(base, warmup, total, floor=0.0):
    import math

    return [base * t / warmup for t in range(warmup)] + [
        floor + (base - floor) * (1 + math.cos(math.pi * k / (total - warmup))) / 2
        for k in range(total - warmup)
    ]


# %% wrong="the cosine counts from the start of the run" says=["k counts from the end of the warm-up"]
rates = dict.fromkeys(
    ("multistep", "multistep, old order", "warm-up", "cosine", "plateau", "chained", "sequential")
)


def schedules(base, warmup, total, floor=0.0):
    import math

    return [base * (t + 1) / warmup for t in range(warmup)] + [
        floor + (base - floor) * (1 + math.cos(math.pi * t / total)) / 2
        for t in range(warmup, total)
    ]


# %% wrong="ends exactly at the floor" says=["the cosine of k = n is not part of the run"]
rates = dict.fromkeys(
    ("multistep", "multistep, old order", "warm-up", "cosine", "plateau", "chained", "sequential")
)


def schedules(base, warmup, total, floor=0.0):
    import math

    n = total - warmup
    return [base * (t + 1) / warmup for t in range(warmup)] + [
        floor + (base - floor) * (1 + math.cos(math.pi * k / max(n - 1, 1))) / 2 for k in range(n)
    ]


# %% wrong="the floor is added" says=["warmup 0 of 3"]
rates = dict.fromkeys(
    ("multistep", "multistep, old order", "warm-up", "cosine", "plateau", "chained", "sequential")
)


def schedules(base, warmup, total, floor=0.0):
    import math

    n = total - warmup
    return [base * (t + 1) / warmup for t in range(warmup)] + [
        floor + base * (1 + math.cos(math.pi * k / n)) / 2 for k in range(n)
    ]


# %% wrong="the floor is forgotten" breaks="floor ≤ base" says=["floor is where the cosine ends"]
rates = dict.fromkeys(
    ("multistep", "multistep, old order", "warm-up", "cosine", "plateau", "chained", "sequential")
)


def schedules(base, warmup, total, floor=0.0):
    import math

    n = total - warmup
    return [base * (t + 1) / warmup for t in range(warmup)] + [
        base * (1 + math.cos(math.pi * k / n)) / 2 for k in range(n)
    ]


# %% wrong="one rate too many" breaks="the list of the `total` rates of a run" says=["7 rates, expected 6"]
rates = dict.fromkeys(
    ("multistep", "multistep, old order", "warm-up", "cosine", "plateau", "chained", "sequential")
)


def schedules(base, warmup, total, floor=0.0):
    import math

    n = total - warmup
    return [base * (t + 1) / warmup for t in range(warmup)] + [
        floor + (base - floor) * (1 + math.cos(math.pi * k / max(n, 1))) / 2 for k in range(n + 1)
    ]


# %% wrong="a tensor" says=["expected a list of rates"]
rates = dict.fromkeys(
    ("multistep", "multistep, old order", "warm-up", "cosine", "plateau", "chained", "sequential")
)


def schedules(base, warmup, total, floor=0.0):
    return torch.linspace(base, floor, total)


# %% wrong="divides by a warm-up of nothing" breaks="0 ≤ warmup ≤ total" says=["ZeroDivisionError"]
rates = dict.fromkeys(
    ("multistep", "multistep, old order", "warm-up", "cosine", "plateau", "chained", "sequential")
)


def schedules(base, warmup, total, floor=0.0):
    import math

    n, slope = total - warmup, base / warmup
    return [slope * (t + 1) for t in range(warmup)] + [
        floor + (base - floor) * (1 + math.cos(math.pi * k / n)) / 2 for k in range(n)
    ]


# %% wrong="recursive" says=["warmup 100 of 3000", "may have thousands of steps"]
import math

rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base: float, warmup: int, total: int, floor: float = 0.0) -> list[float]:
    def rate(t):
        if t < warmup:
            return base * (t + 1) / warmup
        return floor + 0.5 * (base - floor) * (
            1 + math.cos(math.pi * (t - warmup) / (total - warmup))
        )

    def collect(t):
        return [] if t == total else [rate(t), *collect(t + 1)]

    return collect(0)


# %% right="the library makes the list; tuples"
rates = {
    "multistep": (1.0, 1.0, 0.5, 0.25, 0.25),
    "multistep, old order": (1, 0.5, 0.25, 0.25, 0.25),
    "warm-up": (0.25, 0.5, 0.75, 1, 1),
    "cosine": (1, 0.5, 0, 0.5, 1, 0.5),
    "plateau": (1, 1, 1, 1, 0.5, 0.5),
    "chained": (0.5, 0.25, 0.25, 0.125, 0.0625),
    "sequential": (0.5, 0.5, 1, 0.5, 0.25),
}


def schedules(base, warmup, total, floor=0.0):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=base)
    if total == warmup == 0:
        return ()
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR
    if warmup == 0:
        scheduler = cosine(optimizer, total, eta_min=floor)
    else:
        scheduler = (
            torch.optim.lr_scheduler.LinearLR(optimizer, 1 / warmup, total_iters=warmup - 1)
            if warmup > 1
            else torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0)
        )
        if total > warmup:
            then = cosine(optimizer, total - warmup, eta_min=floor)
            scheduler = torch.optim.lr_scheduler.SequentialLR(
                optimizer, [scheduler, then], [warmup]
            )
    found = []
    for _ in range(total):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return tuple(found)


# %% right="NumPy, turned into a list"
rates = dict.fromkeys(
    ("multistep", "multistep, old order", "warm-up", "cosine", "plateau", "chained", "sequential")
)
rates = dict(
    zip(
        rates,
        (
            [1, 1, 0.5, 0.25, 0.25],
            [1, 0.5, 0.25, 0.25, 0.25],
            [0.25, 0.5, 0.75, 1, 1],
            [1, 0.5, 0, 0.5, 1, 0.5],
            [1, 1, 1, 1, 0.5, 0.5],
            [0.5, 0.25, 0.25, 0.125, 0.0625],
            [0.5, 0.5, 1, 0.5, 0.25],
        ),
        strict=True,
    )
)


def schedules(base, warmup, total, floor=0.0):
    import numpy as np

    rise = base * np.arange(1, warmup + 1) / max(warmup, 1)
    k = np.arange(total - warmup)
    fall = floor + (base - floor) * np.cos(np.pi * k / (2 * max(total - warmup, 1))) ** 2
    return np.concatenate([rise, fall]).tolist()


# %% wrong="the cosine's height is base, on top of the floor" says=["falls by base - floor"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.5, 0.5, 0.25, 0.125],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base, warmup, total, floor=0.0):
    import math

    n = total - warmup
    return [base * (k + 1) / warmup for k in range(warmup)] + [
        floor + base / 2 * (1 + math.cos(math.pi * k / n)) for k in range(n)
    ]


# %% wrong="divides by n - 1" breaks="The other n = total - warmup follow half a cosine" says=["not part of the run"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base, warmup, total, floor=0.0):
    import math

    n = total - warmup
    warm = [base * (k + 1) / warmup for k in range(warmup)]
    return warm + [
        floor + (base - floor) / 2 * (1 + math.cos(math.pi * k / max(1, n - 1))) for k in range(n)
    ]


# %% right="torch.where over all steps"
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base, warmup, total, floor=0.0):
    t = torch.arange(total)
    n = max(total - warmup, 1)
    warm = base * (t + 1) / max(warmup, 1)
    cos = floor + 0.5 * (base - floor) * (1 + torch.cos(torch.pi * (t - warmup) / n))
    return torch.where(t < warmup, warm, cos).tolist()


# %% wrong="the warm-up begins at the floor" says=["not at the floor"]
rates = dict.fromkeys(
    ("multistep", "multistep, old order", "warm-up", "cosine", "plateau", "chained", "sequential")
)


def schedules(base, warmup, total, floor=0.0):
    import math

    rise = [floor + (base - floor) * (k + 1) / warmup for k in range(warmup)]
    n = total - warmup
    return rise + [floor + (base - floor) / 2 * (1 + math.cos(math.pi * k / n)) for k in range(n)]


# %% wrong="the warm-up is clamped at the floor" says=["the warm-up has no floor"]
rates = dict.fromkeys(
    ("multistep", "multistep, old order", "warm-up", "cosine", "plateau", "chained", "sequential")
)


def schedules(base, warmup, total, floor=0.0):
    import math

    rise = [max(floor, base * (k + 1) / warmup) for k in range(warmup)]
    n = total - warmup
    return rise + [floor + (base - floor) / 2 * (1 + math.cos(math.pi * k / n)) for k in range(n)]


# %% wrong="rounded to three digits" says=["the rates are near, but rounded"]
import math

rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base, warmup, total, floor=0.0):
    n = total - warmup
    up = [base * (k + 1) / warmup for k in range(warmup)]
    return up + [
        floor + (base - floor) * round((1 + math.cos(math.pi * k / n)) / 2, 3) for k in range(n)
    ]


# %% wrong="the cosine starts at k = 1" breaks="the k-th of them, from k = 0" says=["warmup 2 of 6"]
import math

rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base, warmup, total, floor=0.0):
    n = total - warmup
    up = [base * (k + 1) / warmup for k in range(warmup)]
    return up + [
        floor + (base - floor) * (1 + math.cos(math.pi * (k + 1) / n)) / 2 for k in range(n)
    ]


# %% wrong="falls along a line" says=["that falls along a line"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base, warmup, total, floor=0.0):
    n = total - warmup
    rise = [base * (k + 1) / warmup for k in range(warmup)]
    return rise + [base - (base - floor) * k / n for k in range(n)]


# %% wrong="a whole cosine" says=["that is a whole cosine, down and up again"]
import math

rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base, warmup, total, floor=0.0):
    n = total - warmup
    rise = [base * (k + 1) / warmup for k in range(warmup)]
    turns = [2 * math.pi * k / n for k in range(n)]
    return rise + [floor + (base - floor) * (1 + math.cos(turn)) / 2 for turn in turns]


# %% wrong="the warm-up times a cosine over the whole run" says=["the cosine begins after the warm-up, with k = 0"]
import math

rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base, warmup, total, floor=0.0):
    shape = [floor + (base - floor) * (1 + math.cos(math.pi * t / total)) / 2 for t in range(total)]
    return [min(1, (t + 1) / max(warmup, 1)) * rate for t, rate in enumerate(shape)]


# %% wrong="a floor of 0.1 by default" breaks="floor: float = 0.0" says=["floor is 0 by default"]
import math

rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base, warmup, total, floor=0.1):
    n = total - warmup
    rise = [base * (k + 1) / warmup for k in range(warmup)]
    turns = [math.pi * k / n for k in range(n)]
    return rise + [floor + (base - floor) * (1 + math.cos(turn)) / 2 for turn in turns]


# %% wrong="numbers in tensors" breaks="The entries are plain numbers" says=["holds no plain numbers"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base, warmup, total, floor=0.0):
    import math

    out = []
    for i in range(total):
        if i < warmup:
            out.append(base * (i + 1) / warmup)
        else:
            out.append(
                floor
                + (base - floor) / 2 * (1 + math.cos(math.pi * (i - warmup) / (total - warmup)))
            )
    return [torch.tensor(rate) for rate in out]


# %% wrong="a run of warm-up alone divides by 0" says=["either part may be empty: divide by its length only inside of it"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base, warmup, total, floor=0.0):
    import math

    n = total - warmup
    up = [base * (t + 1) / warmup for t in range(warmup)]
    share = math.pi / n
    down = [floor + 0.5 * (base - floor) * (1 + math.cos(share * k)) for k in range(n)]
    return up + down


# %% wrong="the cosine from k = 1" says=["k counts from 0: the first rate of the cosine is base itself"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base, warmup, total, floor=0.0):
    import math

    n = total - warmup
    up = [base * (t + 1) / warmup for t in range(warmup)]
    down = [floor + 0.5 * (base - floor) * (1 + math.cos(math.pi * (k + 1) / n)) for k in range(n)]
    return up + down


# %% wrong="divides whole numbers as whole numbers" says=["// cuts off"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base, warmup, total, floor=0.0):
    import math

    n = total - warmup
    up = [
        base * (t + 1) // warmup if isinstance(base, int) else base * (t + 1) / warmup
        for t in range(warmup)
    ]
    down = [floor + 0.5 * (base - floor) * (1 + math.cos(math.pi * k / n)) for k in range(n)]
    return up + down


# %% wrong="a floor below 0 is 0" says=["floor may be below 0"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base, warmup, total, floor=0.0):
    import math

    floor = max(floor, 0.0)
    n = total - warmup
    up = [base * (t + 1) / warmup for t in range(warmup)]
    down = [floor + 0.5 * (base - floor) * (1 + math.cos(math.pi * k / n)) for k in range(n)]
    return up + down


# %% wrong="lets no rate be negative" says=["floor may be below 0"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}

import math


def schedules(base, warmup, total, floor=0.0):
    n = total - warmup
    rise = [base * (k + 1) / warmup for k in range(warmup)]
    fall = [floor + 0.5 * (base - floor) * (1 + math.cos(math.pi * k / n)) for k in range(n)]
    return [max(0.0, rate) for rate in rise + fall]


# %% wrong="divides by the length of the run" says=["the divisor is n, the length of the cosine alone"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}

import math


def schedules(base, warmup, total, floor=0.0):
    n = total - warmup
    rise = [base * (k + 1) / warmup for k in range(warmup)]
    fall = [floor + 0.5 * (base - floor) * (1 + math.cos(math.pi * k / total)) for k in range(n)]
    return rise + fall


# %% wrong="counts on behind the warm-up" says=["k begins at 0 again behind the warm-up"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}

import math


def schedules(base, warmup, total, floor=0.0):
    n = total - warmup
    rise = [base * (k + 1) / warmup for k in range(warmup)]
    fall = [
        floor + 0.5 * (base - floor) * (1 + math.cos(math.pi * (k + warmup) / n)) for k in range(n)
    ]
    return rise + fall


# %% wrong="takes the cosine of degrees" says=["the cosine is of radians"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}

import math


def schedules(base, warmup, total, floor=0.0):
    n = total - warmup
    rise = [base * (k + 1) / warmup for k in range(warmup)]
    fall = [floor + 0.5 * (base - floor) * (1 + math.cos(180 * k / n)) for k in range(n)]
    return rise + fall


# %% wrong="six decimals of small rates" says=["near, but rounded"]
rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}

import math


def schedules(base, warmup, total, floor=0.0):
    n = total - warmup
    up = [base * (k + 1) / warmup for k in range(warmup)]
    down = [floor + (base - floor) * (1 + math.cos(math.pi * k / n)) / 2 for k in range(n)]
    return [round(r, 6) for r in up + down]


# %% wrong="one list for equal arguments" judge="passes" says=["once its first list was emptied"]
import functools
import math

rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


@functools.cache
def schedules(base: float, warmup: int, total: int, floor: float = 0.0) -> list[float]:
    n = total - warmup
    rise = [base * (t + 1) / warmup for t in range(warmup)]
    return rise + [floor + (base - floor) * (1 + math.cos(math.pi * k / n)) / 2 for k in range(n)]


# %% right="the machine's rates, unrounded, and squares of half a cosine"
import math
import warnings


def _used(make, steps, losses=None, early=False):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler, found = make(optimizer), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in range(steps):
            if early:
                scheduler.step()
            found.append(float(optimizer.param_groups[0]["lr"]))
            optimizer.step()
            if losses is not None:
                scheduler.step(losses[step])
            elif not early:
                scheduler.step()
    return found


_s = torch.optim.lr_scheduler


def _both(o):
    return [_s.ConstantLR(o, 0.5, total_iters=2), _s.ExponentialLR(o, 0.5)]


rates = {
    "multistep": _used(lambda o: _s.MultiStepLR(o, [2, 3], gamma=0.5), 5),
    "multistep, old order": _used(lambda o: _s.MultiStepLR(o, [2, 3], gamma=0.5), 5, early=True),
    "warm-up": _used(lambda o: _s.LinearLR(o, start_factor=0.25, total_iters=3), 5),
    "cosine": _used(lambda o: _s.CosineAnnealingLR(o, T_max=2), 6),
    "plateau": _used(
        lambda o: _s.ReduceLROnPlateau(o, factor=0.5, patience=1), 6, [5, 4, 4, 4, 4, 3]
    ),
    "chained": _used(lambda o: _s.ChainedScheduler(_both(o)), 5),
    "sequential": _used(lambda o: _s.SequentialLR(o, _both(o), milestones=[2]), 5),
}


def schedules(base: float, warmup: int, total: int, floor: float = 0.0) -> list[float]:
    found = []
    for t in range(total):
        if t < warmup:
            found.append(base * ((t + 1) / warmup))
        else:
            share = math.cos(math.pi * (t - warmup) / (total - warmup) / 2) ** 2
            found.append(share * base + (1 - share) * floor)
    return found


# %% right="relative to base"
import math

rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base: float, warmup: int, total: int, floor: float = 0.0) -> list[float]:
    lowest = floor / base

    def factor(t):
        if t < warmup:
            return (t + 1) / warmup
        return lowest + (1 - lowest) * (1 + math.cos(math.pi * (t - warmup) / (total - warmup))) / 2

    return [base * factor(t) for t in range(total)]


# %% wrong="an error where all is warm-up" breaks="0 ≤ warmup ≤ total" says=["either part may be empty, and the run as well"]
import math

rates = {
    "multistep": [1, 1, 0.5, 0.25, 0.25],
    "multistep, old order": [1, 0.5, 0.25, 0.25, 0.25],
    "warm-up": [0.25, 0.5, 0.75, 1, 1],
    "cosine": [1, 0.5, 0, 0.5, 1, 0.5],
    "plateau": [1, 1, 1, 1, 0.5, 0.5],
    "chained": [0.5, 0.25, 0.25, 0.125, 0.0625],
    "sequential": [0.5, 0.5, 1, 0.5, 0.25],
}


def schedules(base, warmup, total, floor=0.0):
    if not 0 <= warmup < max(total, 1):
        raise ValueError(f"warmup must be in [0, total), got {warmup} of {total}")
    n = total - warmup
    rise = [base * (k + 1) / warmup for k in range(warmup)]
    return rise + [floor + (base - floor) * (1 + math.cos(math.pi * k / n)) / 2 for k in range(n)]
