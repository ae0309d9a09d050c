# %% [markdown]
# Rules:
#
# - "`batch` (the most samples that a rank may take at a time)"
# - "all whole numbers of samples from 1"
# - "(exactly full fits)"
# - "those with the fewest seconds a sample"
# - "the layout that is higher in the table"
# - "with the most samples"
# - "If nothing fits, return `None`"
# - "`budget` may be 0"
# - "Return `(layout, samples)`"
# - "a string and an `int`"
# - "It stays as it is"
# - "stage 3 takes 4 000 + 2 000"
#
# Admits:
#
# - "(exactly full fits)": exactly one sample
# - "if several need the same": two layouts with the same seconds
# - "If nothing fits": nothing fits
# - "`budget` may be 0": a budget of 0

# %% wrong="the first that fits" breaks="those with the fewest seconds a sample" says=["the first layout that fits is not always the fastest"]
def plan(job):
    P, W, L = job["parameters"], job["world_size"], job["largest"]
    S = -(-P // W)
    need = {
        "DDP": 16 * P,
        "stage 1": 8 * P + 8 * S,
        "stage 2": 4 * P + 12 * S,
        "stage 3": 16 * S + 8 * L,
    }
    for layout, taken in need.items():
        samples = min((job["budget"] - taken) // job["sample"], job["batch"])
        if samples >= 1:
            return layout, samples


# %% wrong="forgets the gathered layers" breaks="stage 3 takes 4 000 + 2 000" says=["stage 3 gathers two layers"]
def plan(job):
    P, W = job["parameters"], job["world_size"]
    S = -(-P // W)
    need = {"DDP": 16 * P, "stage 1": 8 * P + 8 * S, "stage 2": 4 * P + 12 * S, "stage 3": 16 * S}
    room = {k: min((job["budget"] - n) // job["sample"], job["batch"]) for k, n in need.items()}
    fits = [one for one in room.items() if one[1] >= 1]
    return min(fits, key=lambda one: seconds_per_sample(*one, job), default=None)


# %% wrong="no limit by the batch" breaks="`batch` (the most samples that a rank may take at a time)" says=["at most `batch` samples"]
def plan(job):
    P, W, L = job["parameters"], job["world_size"], job["largest"]
    S = -(-P // W)
    need = {
        "DDP": 16 * P,
        "stage 1": 8 * P + 8 * S,
        "stage 2": 4 * P + 12 * S,
        "stage 3": 16 * S + 8 * L,
    }
    fits = [(k, (job["budget"] - n) // job["sample"]) for k, n in need.items()]
    fits = [one for one in fits if one[1] >= 1]
    return min(fits, key=lambda one: seconds_per_sample(*one, job), default=None)


# %% wrong="the most samples" says=["the most samples, and more traffic"]
def plan(job):
    P, W, L = job["parameters"], job["world_size"], job["largest"]
    S = -(-P // W)
    need = {
        "DDP": 16 * P,
        "stage 1": 8 * P + 8 * S,
        "stage 2": 4 * P + 12 * S,
        "stage 3": 16 * S + 8 * L,
    }
    room = {k: min((job["budget"] - n) // job["sample"], job["batch"]) for k, n in need.items()}
    best = max(room, key=lambda layout: room[layout])
    return (best, room[best]) if room[best] >= 1 else None


# %% wrong="rounds the shard down" says=["a shard is rounded up"]
def plan(job):
    P, W, L = job["parameters"], job["world_size"], job["largest"]
    S = P // W
    need = {
        "DDP": 16 * P,
        "stage 1": 8 * P + 8 * S,
        "stage 2": 4 * P + 12 * S,
        "stage 3": 16 * S + 8 * L,
    }
    room = {k: min((job["budget"] - n) // job["sample"], job["batch"]) for k, n in need.items()}
    fits = [one for one in room.items() if one[1] >= 1]
    return min(fits, key=lambda one: seconds_per_sample(*one, job), default=None)


# %% wrong="the lower of equals" breaks="the layout that is higher in the table" says=["of equals, take the upper one"]
def plan(job):
    P, W, L = job["parameters"], job["world_size"], job["largest"]
    S = -(-P // W)
    need = {
        "DDP": 16 * P,
        "stage 1": 8 * P + 8 * S,
        "stage 2": 4 * P + 12 * S,
        "stage 3": 16 * S + 8 * L,
    }
    best, fewest = None, float("inf")
    for layout, taken in need.items():
        samples = min((job["budget"] - taken) // job["sample"], job["batch"])
        if samples >= 1 and seconds_per_sample(layout, samples, job) <= fewest:
            best, fewest = (layout, samples), seconds_per_sample(layout, samples, job)
    return best


# %% wrong="stage 1 counts one of the two moments" says=["it does not fit into the budget"]
def plan(job):
    P, W, L = job["parameters"], job["world_size"], job["largest"]
    S = -(-P // W)
    need = {
        "DDP": 16 * P,
        "stage 1": 8 * P + 4 * S,
        "stage 2": 4 * P + 12 * S,
        "stage 3": 16 * S + 8 * L,
    }
    room = {k: min((job["budget"] - n) // job["sample"], job["batch"]) for k, n in need.items()}
    fits = [one for one in room.items() if one[1] >= 1]
    return min(fits, key=lambda one: seconds_per_sample(*one, job), default=None)


# %% wrong="a layout alone" breaks="Return `(layout, samples)`" says=["is not 'stage 3'"]
def plan(job):
    return "stage 3"


# %% right="tries every number of samples"
def plan(job):
    P, S = job["parameters"], -(-job["parameters"] // job["world_size"])
    best, fewest = None, None
    for layout, whole, parts, extra in (
        ("DDP", 16, 0, 0),
        ("stage 1", 8, 8, 0),
        ("stage 2", 4, 12, 0),
        ("stage 3", 0, 16, 8 * job["largest"]),
    ):
        for samples in range(1, job["batch"] + 1):
            if whole * P + parts * S + extra + samples * job["sample"] > job["budget"]:
                break
            took = seconds_per_sample(layout, samples, job)
            if fewest is None or took < fewest or (took == fewest and best[0] == layout):
                best, fewest = [layout, samples], took
    return best


# %% right="sorted"
def plan(job):
    import math

    shard = math.ceil(job["parameters"] / job["world_size"])
    state = [4 * job["parameters"]] * 3, 4 * shard
    order = []
    for place, name in enumerate(["DDP", "stage 1", "stage 2", "stage 3"]):
        optimizer = 2 * (state[1] if place >= 1 else state[0][0])
        gradients = state[1] if place >= 2 else state[0][1]
        weights = state[1] + 8 * job["largest"] if place == 3 else state[0][2]
        left = job["budget"] - optimizer - gradients - weights
        samples = min(int(left // job["sample"]), job["batch"])
        if samples > 0:
            order.append((seconds_per_sample(name, samples, job), place, name, samples))
    return sorted(order)[0][2:] if order else None


# %% wrong="a budget that is exactly full doesn't count" breaks="(exactly full fits)" says=["exactly full fits"]
def plan(job):
    P, W, L = job["parameters"], job["world_size"], job["largest"]
    S = -(-P // W)
    best = None
    for layout, need in (
        ("DDP", 16 * P),
        ("stage 1", 8 * P + 8 * S),
        ("stage 2", 4 * P + 12 * S),
        ("stage 3", 16 * S + 8 * L),
    ):
        samples = 0
        while samples < job["batch"] and need + (samples + 1) * job["sample"] < job["budget"]:
            samples += 1
        if samples and (best is None or seconds_per_sample(layout, samples, job) < best[0]):
            best = seconds_per_sample(layout, samples, job), layout, samples
    return best and best[1:]


# %% right="tensors and argmin, the seconds by hand"
def plan(job):
    P, W, L = job["parameters"], job["world_size"], job["largest"]
    S = (P + W - 1) // W
    names = ["DDP", "stage 1", "stage 2", "stage 3"]
    need = torch.tensor([16 * P, 8 * P + 8 * S, 4 * P + 12 * S, 16 * S + 8 * L])
    samples = ((job["budget"] - need).clamp(min=0) // job["sample"]).clamp(max=job["batch"])
    sent = torch.tensor([2.0, 2.0, 2.0, 3.0], dtype=torch.float64) * 4 * P * (W - 1) / W
    seconds = job["seconds"] + sent / job["bandwidth"] / samples
    seconds[samples == 0] = float("inf")
    seconds = torch.where(samples == 0, torch.inf, seconds)
    if seconds.isinf().all():
        return None
    best = int(seconds.argmin())
    return [names[best], samples[best].item()]


# %% wrong="of equals the one with the most samples" says=["of equals, take the upper one"]
def plan(job):
    P, W, L = job["parameters"], job["world_size"], job["largest"]
    S = -(-P // W)
    need = {
        "DDP": 16 * P,
        "stage 1": 8 * P + 8 * S,
        "stage 2": 4 * P + 12 * S,
        "stage 3": 16 * S + 8 * L,
    }
    room = {k: min((job["budget"] - n) // job["sample"], job["batch"]) for k, n in need.items()}
    fits = [one for one in room.items() if one[1] >= 1]
    return min(fits, key=lambda one: (seconds_per_sample(*one, job), -one[1]), default=None)


# %% wrong="of equals the fewest samples" breaks="with the most samples" says=["of equals, take the most samples"]
def plan(job):
    P, W, L = job["parameters"], job["world_size"], job["largest"]
    S = -(-P // W)
    best, fewest = None, float("inf")
    for layout, taken in (
        ("DDP", 16 * P),
        ("stage 1", 8 * P + 8 * S),
        ("stage 2", 4 * P + 12 * S),
        ("stage 3", 16 * S + 8 * L),
    ):
        for samples in range(1, job["batch"] + 1):
            if taken + samples * job["sample"] <= job["budget"]:
                took = seconds_per_sample(layout, samples, job)
                if took < fewest:
                    best, fewest = (layout, samples), took
    return best


# %% wrong="takes what is used out of the caller's job" breaks="It stays as it is" says=["`job` was changed"]
def plan(job):
    P, W, L = job["parameters"], job["world_size"], job["largest"]
    S = -(-P // W)
    need = {
        "DDP": 16 * P,
        "stage 1": 8 * P + 8 * S,
        "stage 2": 4 * P + 12 * S,
        "stage 3": 16 * S + 8 * L,
    }
    budget = job.pop("budget")
    room = {k: min((budget - n) // job["sample"], job["batch"]) for k, n in need.items()}
    fits = [one for one in room.items() if one[1] >= 1]
    return min(fits, key=lambda one: seconds_per_sample(*one, job), default=None)


# %% wrong="the example's world written into the formula" says=["and W is 2 here"]
def plan(job):
    P, W = job["parameters"], 4
    S = -(-P // W)
    need = {"DDP": 16 * P, "stage 1": 8 * (P + S), "stage 2": 4 * P + 12 * S}
    need["stage 3"] = 16 * S + 8 * job["largest"]
    room = {name: (job["budget"] - used) // job["sample"] for name, used in need.items()}
    fits = [(name, min(most, job["batch"])) for name, most in room.items() if most >= 1]
    return min(fits, key=lambda one: seconds_per_sample(*one, job), default=None)


# %% wrong="stage 3 with room for one layer" says=["stage 3 gathers two layers"]
def plan(job):
    P, W = job["parameters"], job["world_size"]
    S = -(-P // W)
    need = {"DDP": 16 * P, "stage 1": 8 * (P + S), "stage 2": 4 * P + 12 * S}
    need["stage 3"] = 16 * S + 4 * job["largest"]
    room = {name: (job["budget"] - used) // job["sample"] for name, used in need.items()}
    fits = [(name, min(most, job["batch"])) for name, most in room.items() if most >= 1]
    return min(fits, key=lambda one: seconds_per_sample(*one, job), default=None)


# %% wrong="nearly equal seconds are taken for equal" says=["compare all their digits"]
def plan(job):
    P, L, W = job["parameters"], job["largest"], job["world_size"]
    S = -(-P // W)
    need = {
        "DDP": 16 * P,
        "stage 1": 8 * P + 8 * S,
        "stage 2": 4 * P + 12 * S,
        "stage 3": 16 * S + 8 * L,
    }
    best = None
    for layout, used in need.items():
        n = min(job["batch"], (job["budget"] - used) // job["sample"])
        if n < 1:
            continue
        t = seconds_per_sample(layout, n, job)
        if best is None or t < best[0] * 0.9999:
            best = t, layout, n
    return None if best is None else best[1:]


# %% wrong="no world is larger than four" says=["six ranks", "more samples fit"]
def plan(job):
    P, L, W = job["parameters"], job["largest"], job["world_size"]
    S = -(-P // (4 if W > 4 else W))
    need = {
        "DDP": 16 * P,
        "stage 1": 8 * P + 8 * S,
        "stage 2": 4 * P + 12 * S,
        "stage 3": 16 * S + 8 * L,
    }
    best = None
    for layout, used in need.items():
        n = min(job["batch"], (job["budget"] - used) // job["sample"])
        if n < 1:
            continue
        t = seconds_per_sample(layout, n, job)
        if best is None or t < best[0]:
            best = t, layout, n
    return None if best is None else best[1:]


# %% wrong="empty tuple for nothing" breaks="If nothing fits, return `None`" says=["or None if nothing fits"]
def plan(job: dict) -> tuple[str, int] | None:
    """The fastest layout that fits, and its number of samples; None if nothing fits."""
    whole, largest = job["parameters"], job["largest"]
    shard = -(-whole // job["world_size"])
    need = {
        "DDP": 16 * whole,
        "stage 1": 8 * whole + 8 * shard,
        "stage 2": 4 * whole + 12 * shard,
        "stage 3": 16 * shard + 8 * largest,
    }
    room = {layout: (job["budget"] - taken) // job["sample"] for layout, taken in need.items()}
    fits = [(layout, min(most, job["batch"])) for layout, most in room.items() if most >= 1]
    return min(fits, key=lambda one: seconds_per_sample(*one, job), default=())


# %% wrong="a gathered layer of two bytes a number" says=["it does not fit into the budget"]
def plan(job: dict) -> tuple[str, int] | None:
    """The fastest layout that fits, and its number of samples; None if nothing fits."""
    whole, largest = job["parameters"], job["largest"]
    shard = -(-whole // job["world_size"])
    need = {
        "DDP": 16 * whole,
        "stage 1": 8 * whole + 8 * shard,
        "stage 2": 4 * whole + 12 * shard,
        "stage 3": 16 * shard + 2 * largest,
    }
    room = {layout: (job["budget"] - taken) // job["sample"] for layout, taken in need.items()}
    fits = [(layout, min(most, job["batch"])) for layout, most in room.items() if most >= 1]
    return min(fits, key=lambda one: seconds_per_sample(*one, job), default=None)


# %% right="a list"
def plan(job: dict) -> tuple[str, int] | None:
    """The fastest layout that fits, and its number of samples; None if nothing fits."""
    whole, largest = job["parameters"], job["largest"]
    shard = -(-whole // job["world_size"])
    need = {
        "DDP": 16 * whole,
        "stage 1": 8 * whole + 8 * shard,
        "stage 2": 4 * whole + 12 * shard,
        "stage 3": 16 * shard + 8 * largest,
    }
    room = {layout: (job["budget"] - taken) // job["sample"] for layout, taken in need.items()}
    fits = [(layout, min(most, job["batch"])) for layout, most in room.items() if most >= 1]
    best = min(fits, key=lambda one: seconds_per_sample(*one, job), default=None)
    return list(best) if best else best


# %% wrong="no sample is a plan as well" breaks="all whole numbers of samples from 1" says=["no samples are no plan"]
def plan(job):
    P, W, L = job["parameters"], job["world_size"], job["largest"]
    S = -(-P // W)
    needs = {
        "DDP": 16 * P,
        "stage 1": 8 * P + 8 * S,
        "stage 2": 4 * P + 12 * S,
        "stage 3": 16 * S + 8 * L,
    }
    best = None
    for layout, need in needs.items():
        samples = min(job["batch"], (job["budget"] - need) // job["sample"])
        if samples < 0:
            continue
        seconds = seconds_per_sample(layout, max(samples, 1), job)
        if best is None or seconds < best[0]:
            best = seconds, layout, samples
    return best and best[1:]


# %% wrong="the samples as a float" breaks="a string and an `int`" says=["the samples are an `int`, here of type float"]
def plan(job):
    P, W, L = job["parameters"], job["world_size"], job["largest"]
    S = -(-P // W)
    needs = {
        "DDP": 16 * P,
        "stage 1": 8 * P + 8 * S,
        "stage 2": 4 * P + 12 * S,
        "stage 3": 16 * S + 8 * L,
    }
    best = None
    for layout, need in needs.items():
        samples = min(float(job["batch"]), (job["budget"] - need) / job["sample"] // 1)
        if samples < 1:
            continue
        seconds = seconds_per_sample(layout, samples, job)
        if best is None or seconds < best[0]:
            best = seconds, layout, samples
    return best and best[1:]


# %% wrong="on one rank always DDP" breaks="If nothing fits, return `None`" says=["one rank, and a byte too little", "does not fit"]
def plan(job):
    P, W, L = job["parameters"], job["world_size"], job["largest"]
    if W == 1:
        return "DDP", max(1, min(job["batch"], (job["budget"] - 16 * P) // job["sample"]))
    S = -(-P // W)
    needs = {
        "DDP": 16 * P,
        "stage 1": 8 * P + 8 * S,
        "stage 2": 4 * P + 12 * S,
        "stage 3": 16 * S + 8 * L,
    }
    best = None
    for layout, need in needs.items():
        samples = min(job["batch"], (job["budget"] - need) // job["sample"])
        if samples < 1:
            continue
        seconds = seconds_per_sample(layout, samples, job)
        if best is None or seconds < best[0]:
            best = seconds, layout, samples
    return best and best[1:]


# %% right="a float quotient, rounded up"
import math


def plan(job):
    p, s = job["parameters"], math.ceil(job["parameters"] / job["world_size"])
    sizes = {"DDP": 16 * p, "stage 1": 8 * p + 8 * s, "stage 2": 4 * p + 12 * s}
    sizes["stage 3"] = 16 * s + 8 * job["largest"]
    fits = []
    for layout, size in sizes.items():
        samples = min(job["batch"], (job["budget"] - size) // job["sample"])
        if samples >= 1:
            fits.append((layout, samples))
    return min(fits, key=lambda one: seconds_per_sample(*one, job), default=None)


# %% wrong="two rounded quotients" says=["take the upper one, also if it is exactly full"]
def plan(job):
    P, S = job["parameters"], -(-job["parameters"] // job["world_size"])
    need = {"DDP": 16 * P, "stage 1": 8 * P + 8 * S, "stage 2": 4 * P + 12 * S}
    need["stage 3"] = 16 * S + 8 * job["largest"]
    fits = []
    for layout, used in need.items():
        room = int(job["budget"] / job["sample"] - used / job["sample"])
        if room >= 1:
            fits.append((layout, min(room, job["batch"])))
    return min(fits, key=lambda one: seconds_per_sample(*one, job), default=None)


# %% wrong="the seconds as float32" breaks="those with the fewest seconds a sample" says=["compare all their digits"]
def plan(job: dict) -> tuple[str, int] | None:
    p, shard = job["parameters"], -(-job["parameters"] // job["world_size"])
    names = ["DDP", "stage 1", "stage 2", "stage 3"]
    sizes = [16 * p, 8 * p + 8 * shard, 4 * p + 12 * shard, 16 * shard + 8 * job["largest"]]
    room = (job["budget"] - torch.tensor(sizes)) // job["sample"]
    samples = room.clamp(max=job["batch"])
    if not (samples > 0).any():
        return None
    seconds = torch.stack(
        [torch.as_tensor(seconds_per_sample(name, n, job)) for name, n in zip(names, samples)]
    )
    seconds[samples < 1] = torch.inf
    place = int(seconds.argmin())
    return names[place], int(samples[place])


# %% wrong="the samples as a NumPy number" says=["the samples are an `int`, here of type int64"]
import numpy as np


def plan(job):
    P = job["parameters"]
    S = -(-P // job["world_size"])
    layouts = np.array(["DDP", "stage 1", "stage 2", "stage 3"])
    used = np.array([16 * P, 8 * P + 8 * S, 4 * P + 12 * S, 16 * S + 8 * job["largest"]])
    samples = np.minimum((job["budget"] - used) // job["sample"], job["batch"])
    fits = samples >= 1
    if not fits.any():
        return None
    layouts, samples = layouts[fits], samples[fits]
    seconds = [seconds_per_sample(layout, n, job) for layout, n in zip(layouts, samples)]
    best = np.argmin(seconds)
    return str(layouts[best]), samples[best]


# %% wrong="asserts a positive budget" breaks="`budget` may be 0" says=["a budget of 0: nothing fits"]
def plan(job):
    for key in ("parameters", "largest", "sample", "batch", "world_size", "budget"):
        assert job[key] > 0, f"{key} must be positive"
    P, L, S = job["parameters"], job["largest"], -(-job["parameters"] // job["world_size"])
    need = {
        "DDP": 16 * P,
        "stage 1": 8 * P + 8 * S,
        "stage 2": 4 * P + 12 * S,
        "stage 3": 16 * S + 8 * L,
    }
    found = []
    for layout, size in need.items():
        samples = min(job["batch"], (job["budget"] - size) // job["sample"])
        if samples >= 1:
            found.append((layout, samples))
    return min(found, key=lambda one: seconds_per_sample(*one, job), default=None)


# %% wrong="rounds the seconds to nine places" breaks="those with the fewest seconds a sample" says=["seconds that are all far below a microsecond", "compare all their digits"]
def plan(job):
    P, L, S = job["parameters"], job["largest"], -(-job["parameters"] // job["world_size"])
    need = {
        "DDP": 16 * P,
        "stage 1": 8 * P + 8 * S,
        "stage 2": 4 * P + 12 * S,
        "stage 3": 16 * S + 8 * L,
    }
    best, fewest = None, float("inf")
    for layout, used in need.items():
        samples = min(job["batch"], (job["budget"] - used) // job["sample"])
        seconds = round(seconds_per_sample(layout, samples, job), 9) if samples >= 1 else fewest
        if seconds < fewest:
            best, fewest = (layout, samples), seconds
    return best
