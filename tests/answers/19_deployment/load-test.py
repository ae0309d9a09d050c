# %% [markdown]
# Rules:
#
# - "They are in no particular order"
# - "Return a dict of four floats"
# - "from the first request that was due"
# - "to the last answer"
# - "as those who had to wait felt it"
# - "by nearest rank"
# - "of the n sorted latencies"
# - "counted from 1"
# - "on average over that time"
# - "answers per second of that time"
#
# Admits:
#
# - "n at least 1": a single request
# - "in no particular order": requests in another order
# - "when the client got round to sending it": the client was held up
# - "from the first request that was due": the first is due later than 0

# %% wrong="latency from when it was sent" breaks="as those who had to wait felt it" says=["the client was held up: ", "mean latency: that counts from when the client got round to sending"]
def load_test(due, sent, done):
    latency = done - sent
    throughput = len(due) / (done.max() - due.min()).item()
    rank = -(-95 * len(due) // 100)
    return {
        "throughput": throughput,
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[rank - 1].item(),
        "in flight": throughput * latency.mean().item(),
    }


# %% wrong="in float32, from the times on" says=["a clock that has run for a month: ", "that was computed in float32"]
def load_test(due, sent, done):
    due, done = due.float(), done.float()
    latency = done - due
    throughput = len(due) / (done.max() - due.min()).item()
    rank = -(-95 * len(due) // 100)
    return {
        "throughput": throughput,
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[rank - 1].item(),
        "in flight": throughput * latency.mean().item(),
    }


# %% wrong="interpolated percentile" breaks="by nearest rank" says=["p95: that is between two measured values"]
def load_test(due, sent, done):
    latency = done - due
    throughput = len(due) / (done.max() - due.min()).item()
    return {
        "throughput": throughput,
        "mean latency": latency.mean().item(),
        "p95": torch.quantile(latency, 0.95).item(),
        "in flight": throughput * latency.mean().item(),
    }


# %% wrong="counts from 0" breaks="from the first request that was due" says=["throughput: that counts from 0"]
def load_test(due, sent, done):
    latency = done - due
    throughput = len(due) / done.max().item()
    rank = -(-95 * len(due) // 100)
    return {
        "throughput": throughput,
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[rank - 1].item(),
        "in flight": latency.sum().item() / (done.max() - due.min()).item(),
    }


# %% wrong="one rank too high, and believes that requests are sorted" breaks="counted from 1" says=["p95: that is one rank too high", "requests in another order"]
def load_test(due, sent, done):
    latency = done - due
    throughput = len(due) / (done[-1] - due[0]).item()
    rank = -(-95 * len(due) // 100)
    return {
        "throughput": throughput,
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[min(rank, len(due) - 1)].item(),
        "in flight": throughput * latency.mean().item(),
    }


# %% wrong="tensors instead of floats" breaks="Return a dict of four floats" says=["throughput is a Tensor, not a float"]
def load_test(due, sent, done):
    latency = done - due
    rank = -(-95 * len(due) // 100)
    throughput = len(due) / (done.max() - due.min())
    return {
        "throughput": throughput,
        "mean latency": latency.mean(),
        "p95": latency.sort().values[rank - 1],
        "in flight": throughput * latency.mean(),
    }


# %% wrong="the sum of latencies" says=["in flight: that is the sum of all latencies"]
def load_test(due, sent, done):
    latency = done - due
    rank = -(-95 * len(due) // 100)
    return {
        "throughput": len(due) / (done.max() - due.min()).item(),
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[rank - 1].item(),
        "in flight": latency.sum().item(),
    }


# %% right="by steps of the count, in plain Python"
def load_test(due, sent, done):
    starts, ends = due.tolist(), done.tolist()
    begin, end = min(starts), max(ends)
    events = sorted([(t, 1) for t in starts] + [(t, -1) for t in ends])
    area, count, last = 0.0, 0, begin
    for moment, change in events:
        area += count * (moment - last)
        count, last = count + change, moment
    latencies = sorted(b - a for a, b in zip(starts, ends))
    enough = next(k for k in range(1, len(starts) + 1) if 100 * k >= 95 * len(starts))
    return {
        "in flight": area / (end - begin),
        "p95": latencies[enough - 1],
        "mean latency": sum(latencies) / len(latencies),
        "throughput": len(starts) / (end - begin),
    }


# %% wrong="the measurement begins with the first that was sent" says=["the first was sent late: ", "throughput: that counts from when the first was sent"]
def load_test(due, sent, done):
    n = len(due)
    latency = done - due
    span = (done.max() - sent.min()).item()
    return {
        "throughput": n / span,
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[-(-95 * n // 100) - 1].item(),
        "in flight": latency.sum().item() / span,
    }


# %% wrong="believes that the arguments are in order" breaks="They are in no particular order" says=["throughput: that takes the arguments", "they are in no order"]
def load_test(due, sent, done):
    n = len(due)
    latency = done - due
    span = (done[-1] - due[0]).item()
    return {
        "throughput": n / span,
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[-(-95 * n // 100) - 1].item(),
        "in flight": latency.sum().item() / span,
    }


# %% wrong="the most in flight" breaks="on average over that time" says=["in flight: that is the most at any moment"]
def load_test(due, sent, done):
    n = len(due)
    latency = done - due
    span = (done.max() - due.min()).item()
    return {
        "throughput": n / span,
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[-(-95 * n // 100) - 1].item(),
        "in flight": float(max(((due <= t) & (t < done)).sum().item() for t in due)),
    }


# %% wrong="a percentile of what is not sorted" breaks="of the n sorted latencies" says=["p95: that is the entry at this place before sorting"]
def load_test(due, sent, done):
    n = len(due)
    latency = done - due
    span = (done.max() - due.min()).item()
    return {
        "throughput": n / span,
        "mean latency": latency.mean().item(),
        "p95": latency[-(-95 * n // 100) - 1].item(),
        "in flight": latency.sum().item() / span,
    }


# %% wrong="in flight until the last was due" breaks="to the last answer" says=["that divides by the time until the last was due"]
def load_test(due: torch.Tensor, sent: torch.Tensor, done: torch.Tensor) -> dict[str, float]:
    latency = done - due
    throughput = len(due) / (done.max() - due.min()).item()
    rank = (95 * len(due) + 99) // 100
    return {
        "throughput": throughput,
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[rank - 1].item(),
        "in flight": latency.sum().item() / max(1e-9, (due.max() - due.min()).item()),
    }


# %% wrong="in flight, as those who come see it" says=["that is counted only when a request comes in"]
def load_test(due, sent, done):
    n = len(due)
    latency = done - due
    span = done.max() - due.min()
    place = -(-95 * n // 100)
    return {
        "throughput": (n / span).item(),
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[place - 1].item(),
        "in flight": ((due[:, None] >= due) & (due[:, None] < done)).sum(1).double().mean().item(),
    }


# %% wrong="gaps instead of answers" breaks="answers per second of that time" says=["that leaves a request out"]
def load_test(due, sent, done):
    n = len(due)
    latency = done - due
    span = done.max() - due.min()
    place = -(-95 * n // 100)
    return {
        "throughput": ((n - 1) / span).item(),
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[place - 1].item(),
        "in flight": (latency.sum() / span).item(),
    }


# %% wrong="from the first answer on" says=["throughput: that counts from the first answer", "in flight: that divides by the time from the first answer"]
def load_test(due, sent, done):
    n = len(due)
    latency = done - due
    span = done.max() - done.min()
    place = -(-95 * n // 100)
    return {
        "throughput": (n / span).item(),
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[place - 1].item(),
        "in flight": (latency.sum() / span).item(),
    }


# %% wrong="sorts an argument in place" says=["changed"]
def load_test(due, sent, done):
    n = len(due)
    latency = done - due
    done.copy_(done.sort().values)
    span = done.max() - due.min()
    place = -(-95 * n // 100)
    return {
        "throughput": (n / span).item(),
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[place - 1].item(),
        "in flight": (latency.sum() / span).item(),
    }


# %% wrong="first and last entries, in flight as well" says=["in flight: that takes the arguments' last and first entries"]
def load_test(due, sent, done):
    n = len(due)
    latency = done - due
    span = done[-1] - due[0]
    place = -(-95 * n // 100)
    return {
        "throughput": (n / span).item(),
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[place - 1].item(),
        "in flight": (latency.sum() / span).item(),
    }


# %% wrong="the 95th of a hundred from when they were sent" says=["the slowest was sent late: p95: that counts from when the client got round"]
def load_test(due, sent, done):
    latency = done - due
    n = len(due)
    time = (done.max() - due.min()).item()
    return {
        "throughput": n / time,
        "mean latency": latency.mean().item(),
        "p95": (done - sent).sort().values[-(-95 * n // 100) - 1].item(),
        "in flight": latency.sum().item() / time,
    }


# %% wrong="the longest latency for the time" says=["throughput: that divides by the longest latency", "in flight: that divides by the longest latency"]
def load_test(due, sent, done):
    latency, n = done - due, len(due)
    period = latency.max().item()
    ordered = latency.sort().values
    return {
        "throughput": n / period,
        "mean latency": latency.mean().item(),
        "p95": ordered[-(-95 * n // 100) - 1].item(),
        "in flight": latency.sum().item() / period,
    }


# %% wrong="each sorted for itself" says=["were sorted each for itself"]
def load_test(due, sent, done):
    latency, n = done - due, len(due)
    period = (done.max() - due.min()).item()
    ordered = (done.sort().values - due.sort().values).sort().values
    return {
        "throughput": n / period,
        "mean latency": latency.mean().item(),
        "p95": ordered[-(-95 * n // 100) - 1].item(),
        "in flight": latency.sum().item() / period,
    }


# %% wrong="Little's law with the p95" says=["that is throughput times p95"]
def load_test(due, sent, done):
    latency, n = done - due, len(due)
    period = (done.max() - due.min()).item()
    ordered = latency.sort().values
    return {
        "throughput": n / period,
        "mean latency": latency.mean().item(),
        "p95": ordered[-(-95 * n // 100) - 1].item(),
        "in flight": n / period * ordered[-(-95 * n // 100) - 1].item(),
    }


# %% wrong="waits in float32" breaks="Return a dict of four floats" says=["only seven of its digits are right"]
def load_test(due, sent, done):
    waits = (done - due).float()
    span = (done.max() - due.min()).item()
    n = len(due)
    return {
        "throughput": n / span,
        "mean latency": waits.mean().item(),
        "p95": waits.sort().values[-(-95 * n // 100) - 1].item(),
        "in flight": waits.sum().item() / span,
    }


# %% wrong="rounds latencies to microseconds" breaks="Return a dict of four floats" says=["microseconds: mean latency: that is made of rounded times"]
def load_test(due, sent, done):
    waits = (done - due).round(decimals=6)
    span = (done.max() - due.min()).item()
    n = len(due)
    return {
        "throughput": n / span,
        "mean latency": waits.mean().item(),
        "p95": waits.sort().values[-(-95 * n // 100) - 1].item(),
        "in flight": waits.sum().item() / span,
    }


# %% wrong="three decimals" breaks="as those who had to wait felt it" says=["mean latency: that is rounded: give the number as it is"]
def load_test(due, sent, done):
    waits = done - due
    span = (done.max() - due.min()).item()
    n = len(due)
    return {
        "throughput": n / span,
        "mean latency": round(waits.mean().item(), 3),
        "p95": waits.sort().values[-(-95 * n // 100) - 1].item(),
        "in flight": waits.sum().item() / span,
    }


# %% wrong="equal latencies count once" says=["latencies that are equal were counted once: each request counts"]
def load_test(due: torch.Tensor, sent: torch.Tensor, done: torch.Tensor) -> dict[str, float]:
    latency = done - due
    throughput = len(due) / (done.max() - due.min()).item()
    different = latency.unique()
    rank = (95 * len(different) + 99) // 100
    return {
        "throughput": throughput,
        "mean latency": latency.mean().item(),
        "p95": different[rank - 1].item(),
        "in flight": throughput * latency.mean().item(),
    }


# %% wrong="no time before 0" says=["a clock that begins before 0: throughput"]
def load_test(due, sent, done):
    latency = done - due
    n = len(due)
    span = (done.max() - torch.minimum(due, sent).min().clamp(min=0)).item()
    return {
        "throughput": n / span,
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[-(-95 * n // 100) - 1].item(),
        "in flight": latency.sum().item() / span,
    }


# %% wrong="reads storages in order" says=["columns of a table"]
def load_test(due, sent, done):
    latency = done.view(-1, 1).squeeze(1) - due.as_strided(due.shape, (1,))
    time = (done.max() - due.min()).item()
    n = len(due)
    return {
        "throughput": n / time,
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[-(-95 * n // 100) - 1].item(),
        "in flight": latency.sum().item() / time,
    }


# %% wrong="counts by milliseconds, from 0 on" breaks="on average over that time" says=["the first is due later than 0: in flight: that is counted at moments", "microseconds: in flight: that is counted at moments"]
def load_test(due: torch.Tensor, sent: torch.Tensor, done: torch.Tensor) -> dict[str, float]:
    n = len(due)
    latency = done - due
    span = (done.max() - due.min()).item()
    moments = torch.arange(0, span, 0.001) + 0.0005
    waiting = (due[:, None] <= moments) & (moments < done[:, None])
    return {
        "throughput": n / span,
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[-(-95 * n // 100) - 1].item(),
        "in flight": waiting.sum(0).double().mean().item(),
    }


# %% wrong="counted at a thousand moments" breaks="on average over that time" says=["in flight: that only comes near"]
def load_test(due, sent, done):
    n = len(due)
    span = (done.max() - due.min()).item()
    latency = done - due
    moments = torch.linspace(due.min(), done.max(), 1000, dtype=torch.float64)
    present = ((due[:, None] <= moments) & (moments < done[:, None])).sum(0)
    return {
        "throughput": n / span,
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[-(-95 * n // 100) - 1].item(),
        "in flight": present.double().mean().item(),
    }


# %% wrong="gradients are on afterwards" says=["inside torch.no_grad() changes the caller's grad mode"]
import math


def load_test(due, sent, done):
    pairs = list(zip(due.tolist(), done.tolist(), strict=True))
    felt = sorted(end - begin for begin, end in pairs)
    n = len(felt)
    lasts = max(end for _, end in pairs) - min(begin for begin, _ in pairs)
    throughput, mean = n / lasts, math.fsum(felt) / n
    return {
        "throughput": throughput,
        "mean latency": mean,
        "p95": felt[n - n // 20 - 1],
        "in flight": throughput * mean,
    }


_once = load_test


def load_test(due, sent, done):
    torch.set_grad_enabled(False)
    found = _once(due, sent, done)
    torch.set_grad_enabled(True)
    return found


# %% wrong="until the request that was due last is answered" says=["or the answer to the request that was due last"]
def load_test(due, sent, done):
    order = due.argsort()
    due, done = due[order], done[order]
    latency, time = done - due, (done[-1] - due[0]).item()
    n = len(due)
    p95 = latency.sort().values[-(-95 * n // 100) - 1].item()
    return {
        "throughput": n / time,
        "mean latency": latency.mean().item(),
        "p95": p95,
        "in flight": latency.sum().item() / time,
    }
