# %% [markdown]
# Rules:
#
# - "returns a dict of four numbers"
# - "T(n) in seconds"
# - "With `kind="weak"` every rank has `batch` samples"
# - "the `batch` is divided as evenly as possible"
# - "the fullest rank sets the pace"
# - "samples a second of all ranks"
# - "divided by those of one rank alone"
# - "speedup divided by the number of ranks"
# - "the learning rate by the linear rule"
# - "`rate` belongs to one rank with `batch`"
# - "``bandwidth`` in bytes a second"
#
# Admits:
#
# - "With `kind="weak"`": ("weak", 2, 64)
# - "divided as evenly as possible": ("strong", 8, 20)

# %% wrong="a fraction of a sample" breaks="the `batch` is divided as evenly as possible" says=["the fullest rank has ⌈batch / ranks⌉ samples"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    weak = kind == "weak"
    step = s * (batch if weak else batch / ranks) + 2 * (ranks - 1) * (
        latency + nbytes / ranks / bandwidth
    )
    speedup = batch * (ranks if weak else 1) * s / step
    return {
        "step": step,
        "speedup": speedup,
        "efficiency": speedup / ranks,
        "rate": rate * (ranks if weak else 1),
    }


# %% wrong="whole tensor in each message" says=["a message is one chunk"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    weak = kind == "weak"
    step = s * (batch if weak else -(-batch // ranks)) + 2 * (ranks - 1) * (
        latency + nbytes / bandwidth
    )
    speedup = batch * (ranks if weak else 1) * s / step
    return {
        "step": step,
        "speedup": speedup,
        "efficiency": speedup / ranks,
        "rate": rate * (ranks if weak else 1),
    }


# %% wrong="speedup in time only" says=["all ranks' samples count"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    weak = kind == "weak"
    step = s * (batch if weak else -(-batch // ranks)) + 2 * (ranks - 1) * (
        latency + nbytes / ranks / bandwidth
    )
    speedup = batch * s / step
    return {
        "step": step,
        "speedup": speedup,
        "efficiency": speedup / ranks,
        "rate": rate * (ranks if weak else 1),
    }


# %% wrong="the rate always grows" breaks="`rate` belongs to one rank with `batch`" says=["the whole batch has not grown"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    weak = kind == "weak"
    step = s * (batch if weak else -(-batch // ranks)) + 2 * (ranks - 1) * (
        latency + nbytes / ranks / bandwidth
    )
    speedup = batch * (ranks if weak else 1) * s / step
    return {"step": step, "speedup": speedup, "efficiency": speedup / ranks, "rate": rate * ranks}


# %% wrong="a tuple" breaks="returns a dict of four numbers" says=["expected a dict, got tuple"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    return 1.0, 1.0, 1.0, rate


# %% wrong="the two kinds have changed places" says=["turned round: with weak scaling each rank has `batch` samples"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    weak = kind == "weak"
    fullest = batch if kind == "strong" else -(-batch // ranks)
    every = batch * ranks if weak else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / (ranks * bandwidth))
    speedup = every / step * s
    return {
        "step": step,
        "speedup": speedup,
        "efficiency": speedup / ranks,
        "rate": rate * every / batch,
    }


# %% wrong="rounded up with a minus sign that is lost" says=["the number of samples is negative here"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    weak = kind == "weak"
    fullest = batch if weak else -batch // ranks
    every = batch * ranks if weak else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / (ranks * bandwidth))
    speedup = every / step * s
    return {
        "step": step,
        "speedup": speedup,
        "efficiency": speedup / ranks,
        "rate": rate * every / batch,
    }


# %% wrong="a step for each rank of the ring, there and back" says=["a ring of n ranks has 2 (n - 1) steps"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    weak = kind == "weak"
    fullest = batch if weak else -(-batch // ranks)
    every = batch * ranks if weak else batch
    step = s * fullest + (2 * ranks - 1) * (latency + nbytes / (ranks * bandwidth))
    speedup = every / step * s
    return {
        "step": step,
        "speedup": speedup,
        "efficiency": speedup / ranks,
        "rate": rate * every / batch,
    }


# %% wrong="the samples of all ranks, and not their speed" says=["divide by the step's time"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    weak = kind == "weak"
    fullest = batch if weak else -(-batch // ranks)
    every = batch * ranks if weak else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / (ranks * bandwidth))
    speedup = every * s
    return {
        "step": step,
        "speedup": speedup,
        "efficiency": speedup / ranks,
        "rate": rate * every / batch,
    }


# %% right="weak and strong apart"
import math


def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    talk = 0.0
    for _ in range(2 * (ranks - 1)):
        talk += latency + nbytes / (ranks * bandwidth)
    if kind == "weak":
        step = talk + batch * s
        per_second, rate = ranks * batch / step, rate * ranks
    else:
        step = talk + math.ceil(batch / ranks) * s
        per_second = batch / step
    return dict(
        step=step, speedup=per_second / (1 / s), efficiency=per_second * s / ranks, rate=rate
    )


# %% right="tensors"
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    n = torch.tensor(float(ranks), dtype=torch.float64)
    samples = (
        torch.ceil(batch / n) if kind == "strong" else torch.tensor(batch, dtype=torch.float64)
    )
    whole = batch if kind == "strong" else batch * n
    step = samples * s + 2 * (n - 1) * latency + 2 * (n - 1) / n * nbytes / bandwidth
    speedup = whole * s / step
    found = {
        "step": step,
        "speedup": speedup,
        "efficiency": speedup / n,
        "rate": rate * whole / batch,
    }
    return {key: float(value) for key, value in found.items()}


# %% wrong="every rank counted as full" breaks="samples a second of all ranks" says=["not every rank is as full as the fullest"]
import math


def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    each = batch if kind == "weak" else math.ceil(batch / ranks)
    step = s * each + 2 * (ranks - 1) * (latency + nbytes / (ranks * bandwidth))
    speedup = each * ranks / step * s
    return {
        "step": step,
        "speedup": speedup,
        "efficiency": speedup / ranks,
        "rate": rate * (ranks if kind == "weak" else 1),
    }


# %% wrong="a loop that never ends" says=["after 7 seconds", "was in scaling"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    fullest = 0
    while fullest * ranks != batch:
        fullest += 1
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / ranks / bandwidth)
    return {"step": step, "speedup": batch / step * s, "efficiency": 0.0, "rate": rate}


# %% wrong="the bytes of a chunk rounded down" says=["the bytes of a chunk were rounded down"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    fullest = batch if kind == "weak" else -(-batch // ranks)
    whole = batch * ranks if kind == "weak" else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes // ranks / bandwidth)
    speedup = whole / step * s
    found = {"step": step, "speedup": speedup, "efficiency": speedup / ranks}
    return {**found, "rate": rate * whole / batch}


# %% wrong="one latency for all messages" breaks="T(n) in seconds" says=["each message has its latency"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    fullest = batch if kind == "weak" else -(-batch // ranks)
    whole = batch * ranks if kind == "weak" else batch
    step = s * fullest + latency + 2 * (ranks - 1) * nbytes / ranks / bandwidth
    speedup = whole / step * s
    found = {"step": step, "speedup": speedup, "efficiency": speedup / ranks}
    return {**found, "rate": rate * whole / batch}


# %% wrong="the samples rounded down" breaks="the fullest rank sets the pace" says=["the fullest rank has ⌈batch / ranks⌉ samples"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    fullest = batch if kind == "weak" else batch // ranks
    whole = batch * ranks if kind == "weak" else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / ranks / bandwidth)
    speedup = whole / step * s
    found = {"step": step, "speedup": speedup, "efficiency": speedup / ranks}
    return {**found, "rate": rate * whole / batch}


# %% wrong="efficiency in percent" breaks="speedup divided by the number of ranks" says=["a share, not a percentage"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    fullest = batch if kind == "weak" else -(-batch // ranks)
    whole = batch * ranks if kind == "weak" else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / ranks / bandwidth)
    speedup = whole / step * s
    found = {"step": step, "speedup": speedup, "efficiency": 100 * speedup / ranks}
    return {**found, "rate": rate * whole / batch}


# %% wrong="a misspelt entry" says=["the dict has no entry 'speedup'"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    fullest = batch if kind == "weak" else -(-batch // ranks)
    whole = batch * ranks if kind == "weak" else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / ranks / bandwidth)
    speedup = whole / step * s
    found = {"step": step, "speed-up": speedup, "efficiency": speedup / ranks}
    return {**found, "rate": rate * whole / batch}


# %% wrong="the square root rule" breaks="the learning rate by the linear rule" says=["by the linear rule"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    fullest = batch if kind == "weak" else -(-batch // ranks)
    whole = batch * ranks if kind == "weak" else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / ranks / bandwidth)
    speedup = whole / step * s
    found = {"step": step, "speedup": speedup, "efficiency": speedup / ranks}
    return {**found, "rate": rate * (whole / batch) ** 0.5}


# %% wrong="busy ranks only" says=["a rank without a sample is in the ring as well"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    if kind == "strong":
        ranks = min(ranks, batch)
    fullest = batch if kind == "weak" else -(-batch // ranks)
    whole = batch * ranks if kind == "weak" else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / ranks / bandwidth)
    speedup = whole / step * s
    found = {"step": step, "speedup": speedup, "efficiency": speedup / ranks}
    return {**found, "rate": rate * whole / batch}


# %% wrong="a fraction where ranks are more than samples" says=["6 ranks, batch 4", "the fullest rank has ⌈batch / ranks⌉ samples"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    fullest = batch if kind == "weak" else -(-batch // ranks)
    if kind == "strong" and batch < ranks:
        fullest = batch / ranks
    whole = batch * ranks if kind == "weak" else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / ranks / bandwidth)
    speedup = whole / step * s
    found = {"step": step, "speedup": speedup, "efficiency": speedup / ranks}
    return {**found, "rate": rate * whole / batch}


# %% wrong="bandwidth in bits" breaks="``bandwidth`` in bytes a second" says=["β counts bytes, not bits"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    fullest = batch if kind == "weak" else -(-batch // ranks)
    whole = batch * ranks if kind == "weak" else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + 8 * nbytes / ranks / bandwidth)
    speedup = whole / step * s
    found = {"step": step, "speedup": speedup, "efficiency": speedup / ranks}
    return {**found, "rate": rate * whole / batch}


# %% wrong="samples a second for the speedup" breaks="divided by those of one rank alone" says=["that is samples a second"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    fullest = batch if kind == "weak" else -(-batch // ranks)
    whole = batch * ranks if kind == "weak" else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / ranks / bandwidth)
    speedup = whole / step
    found = {"step": step, "speedup": speedup, "efficiency": speedup / ranks}
    return {**found, "rate": rate * whole / batch}


# %% wrong="sending and computing at the same time" says=["add both"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    fullest = batch if kind == "weak" else -(-batch // ranks)
    whole = batch * ranks if kind == "weak" else batch
    step = max(s * fullest, 2 * (ranks - 1) * (latency + nbytes / ranks / bandwidth))
    speedup = whole / step * s
    found = {"step": step, "speedup": speedup, "efficiency": speedup / ranks}
    return {**found, "rate": rate * whole / batch}


# %% wrong="rounded to three digits" says=["that is rounded; leave all digits"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    fullest = batch if kind == "weak" else -(-batch // ranks)
    whole = batch * ranks if kind == "weak" else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / ranks / bandwidth)
    speedup = whole / step * s
    found = {
        "step": round(step, 3),
        "speedup": round(speedup, 3),
        "efficiency": round(speedup / ranks, 3),
    }
    return {**found, "rate": rate * whole / batch}


# %% wrong="the batch is divided with weak scaling as well" breaks="With `kind=\"weak\"` every rank has `batch` samples" says=["with weak scaling every rank has `batch` samples"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    weak = kind == "weak"
    fullest = -(-batch // ranks)
    every = batch * ranks if weak else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / (ranks * bandwidth))
    speedup = every / step * s
    return {
        "step": step,
        "speedup": speedup,
        "efficiency": speedup / ranks,
        "rate": rate * ranks if weak else rate,
    }


# %% wrong="the rate the other way round" says=["turned round: with weak scaling the whole batch grows"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    weak = kind == "weak"
    fullest = batch if weak else -(-batch // ranks)
    every = batch * ranks if weak else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / (ranks * bandwidth))
    speedup = every / step * s
    return {
        "step": step,
        "speedup": speedup,
        "efficiency": speedup / ranks,
        "rate": rate * ranks if not weak else rate,
    }


# %% wrong="efficiency is one over the speedup" says=["turned over: efficiency is speedup / ranks"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    weak = kind == "weak"
    fullest = batch if weak else -(-batch // ranks)
    every = batch * ranks if weak else batch
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / (ranks * bandwidth))
    speedup = every / step * s
    return {
        "step": step,
        "speedup": speedup,
        "efficiency": 1 / speedup,
        "rate": rate * ranks if weak else rate,
    }


# %% wrong="the share of computing" says=["that is the share of a step in which the fullest rank computes"]
def scaling(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    if kind == "weak":
        fullest, samples, factor = batch, batch * ranks, ranks
    else:
        fullest, samples, factor = -(-batch // ranks), batch, 1
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / (ranks * bandwidth))
    speedup = samples / step * s
    return {
        "step": step,
        "speedup": speedup,
        "efficiency": s * fullest / step,
        "rate": rate * factor,
    }


# %% wrong="no latency without bytes" breaks="T(n) in seconds" says=["the ring's messages are missing"]
def scaling(
    kind: str,
    ranks: int,
    batch: int,
    s: float,
    nbytes: int,
    latency: float,
    bandwidth: float,
    rate: float,
) -> dict[str, float]:
    fullest = batch if kind == "weak" else -(-batch // ranks)
    everything = batch * ranks if kind == "weak" else batch
    wire = 2 * (ranks - 1) * (latency + nbytes / (ranks * bandwidth))
    wire = wire if nbytes else 0.0
    step = s * fullest + wire
    speedup = everything / step * s
    new = rate * ranks if kind == "weak" else rate
    return {"step": step, "speedup": speedup, "efficiency": speedup / ranks, "rate": new}


# %% wrong="chunks of at most eight ranks" breaks="T(n) in seconds" says=["weak, 16 ranks"]
def scaling(
    kind: str,
    ranks: int,
    batch: int,
    s: float,
    nbytes: int,
    latency: float,
    bandwidth: float,
    rate: float,
) -> dict[str, float]:
    fullest = batch if kind == "weak" else -(-batch // ranks)
    everything = batch * ranks if kind == "weak" else batch
    wire = 2 * (ranks - 1) * (latency + nbytes / (min(ranks, 8) * bandwidth))
    step = s * fullest + wire
    speedup = everything / step * s
    new = rate * ranks if kind == "weak" else rate
    return {"step": step, "speedup": speedup, "efficiency": speedup / ranks, "rate": new}


# %% wrong="a step takes a microsecond at least" breaks="T(n) in seconds" says=["expected 5.01e-09, got 1e-06"]
def scaling(
    kind: str,
    ranks: int,
    batch: int,
    s: float,
    nbytes: int,
    latency: float,
    bandwidth: float,
    rate: float,
) -> dict[str, float]:
    fullest = batch if kind == "weak" else -(-batch // ranks)
    everything = batch * ranks if kind == "weak" else batch
    wire = 2 * (ranks - 1) * (latency + nbytes / (ranks * bandwidth))
    step = s * fullest + wire
    step = max(step, 1e-6)
    speedup = everything / step * s
    new = rate * ranks if kind == "weak" else rate
    return {"step": step, "speedup": speedup, "efficiency": speedup / ranks, "rate": new}
