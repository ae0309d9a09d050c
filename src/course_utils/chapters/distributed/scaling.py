"""Exercise 17.12: what more ranks gain."""

from __future__ import annotations

from course_utils.chapters.distributed.launches import alone
from course_utils.learner.cases import every_case
from course_utils.learner.tracebacks import ends_in_notebook


def run_scaling(answer, cases: list) -> list:
    """The answer's result for each case."""
    return alone(lambda: [answer(*values) for values in cases], "scaling")


@ends_in_notebook
def check_scaling(try_scaling, cases):
    results = try_scaling(cases)
    slips = slips_of(results, cases)
    with every_case() as case:
        for values, result in zip(cases, results, strict=True):
            with case(f"{values[0]}, {values[1]} ranks, batch {values[2]}"):
                check_one_scaling(result, values, slips)


def number_of(got):
    """A plain number, or None."""
    got = got.item() if hasattr(got, "item") and getattr(got, "ndim", 1) == 0 else got
    return got if isinstance(got, (int, float)) and not isinstance(got, bool) else None


def near(got, value):
    return got is not None and abs(got - value) <= 1e-6 * abs(value)


def right_of(kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    weak = kind == "weak"
    fullest = batch if weak else (batch + ranks - 1) // ranks
    step = s * fullest + 2 * (ranks - 1) * (latency + nbytes / (ranks * bandwidth))
    speedup = batch * (ranks if weak else 1) * s / step
    found = {"step": step, "speedup": speedup, "rate": rate * (ranks if weak else 1)}
    return {**found, "efficiency": speedup / ranks}


def check_one_scaling(result, values, slips):
    right, (kind, ranks, batch, s, *_) = right_of(*values), values
    assert result is not None, "it returned None: is there an answer yet?"
    assert isinstance(result, dict), f"expected a dict, got {type(result).__name__}"
    missing = [key for key in right if key not in result]
    assert not missing, (
        f"the dict has no entry {missing[0]!r}; it has {', '.join(map(repr, result)) or 'none'}"
    )
    got = {key: number_of(result[key]) for key in right}
    wrong = [key for key in right if not near(got[key], right[key])]
    whole = batch * (ranks if kind == "weak" else 1)
    follows = {"speedup": whole * s / got["step"] if got["step"] else 0.0}
    follows["efficiency"] = (got["speedup"] or 0.0) / ranks
    told = [
        f"{key}: expected {right[key]:.6g}, got "
        + (repr(result[key]) if got[key] is None else f"{got[key]:.6g}")
        + slips.get(key, "")
        for key in wrong
        if not near(got[key], follows.get(key, float("nan"))) or key == wrong[0]
    ]
    assert not wrong, "; ".join(told)


def slips_of(results, cases):
    """For each entry, words for the slip that explains every wrong number of it."""
    known = {}
    for result, values in zip(results, cases, strict=True):
        if not isinstance(result, dict):
            continue
        right = right_of(*values)
        for key, slips in words_of(right, *values).items():
            got = number_of(result.get(key))
            if got is not None and not near(got, right[key]):
                fit = [why for slip, why in slips if near(got, slip)]
                known[key] = [why for why in known.get(key, fit) if why in fit]
    return {key: f" ({fit[0]})" for key, fit in known.items() if fit}


def words_of(right, kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    """What slips give for each entry, and what is said of them."""
    weak, step = kind == "weak", right["step"]
    fullest = batch if weak else (batch + ranks - 1) // ranks
    messages, chunk = 2 * (ranks - 1), nbytes / (ranks * bandwidth)
    ring, whole = messages * (latency + chunk), batch * (ranks if weak else 1)
    busy, rounded = ranks if weak else min(ranks, batch), "that is rounded; leave all digits"
    full = "the fullest rank has ⌈batch / ranks⌉ samples"
    full = "with weak scaling every rank has `batch` samples" if weak else full
    other = (batch + ranks - 1) // ranks if weak else batch
    turned = "turned round: with weak scaling each rank has `batch` samples, with strong a share"
    negative = "the number of samples is negative here: -(-a // b) is a / b, rounded up"
    divided = "a chunk takes its bytes divided by the bandwidth"
    factor = "the factor is the whole batch divided by `batch`"
    factors = (whole, whole * batch, 1 / whole, 1 / batch, 1 / (whole * batch), ranks - 1)
    samples = "its samples are those of all ranks: `batch` in strong scaling, more in weak"
    return {
        "step": [
            (s * batch / ranks + ring, full),
            (s * (batch // ranks) + ring, full),
            (s * -(-batch // ranks) + ring, full),
            (s * (batch // ranks + 1) + ring, full),
            (s * max(1, round(batch / ranks)) + ring, full),
            (s * fullest + messages * (latency + nbytes / bandwidth), "a message is one chunk"),
            (s * fullest, "the ring's messages are missing"),
            (s * batch + ring, "in strong scaling the ranks share the batch"),
            *[
                (s * fullest + times * latency + messages * chunk, "each message has its latency")
                for times in (1, 2)
            ],
            (s * fullest + messages / 2 * (latency + chunk), "the ring goes round twice"),
            *[
                (s * fullest + steps * (latency + chunk), "a ring of n ranks has 2 (n - 1) steps")
                for steps in range(-2, 3 * ranks + 3)
            ],
            (s * other + ring, turned),
            (s + ring, "`s` is the time of one sample: the fullest rank has more"),
            (s * (-batch // ranks) + ring, negative),
            (s * -(batch // ranks) + ring, negative),
            (s * fullest - ring, "the ring's time comes on top: add it"),
            (s * fullest + messages * (latency + chunk * ranks**2), "a message is one chunk"),
            (s * fullest + messages * chunk, "each message has its latency"),
            (s * fullest + messages * latency, "each message has bytes, which take time as well"),
            (s * fullest + messages * (latency + chunk * bandwidth), divided),
            (s * fullest + messages * (latency + chunk * bandwidth**2), divided),
            (s * fullest + messages * (latency + 1 / chunk if chunk else 0.0), divided),
            (
                s * fullest + messages * (latency + nbytes // ranks / bandwidth),
                "the bytes of a chunk were rounded down: B / n is a fraction here",
            ),
            (
                s * fullest + 2 * (busy - 1) * (latency + nbytes / (busy * bandwidth)),
                "a rank without a sample is in the ring as well: n stays the number of ranks",
            ),
            (s * fullest + messages * (latency + 8 * chunk), "β counts bytes, not bits"),
            (max(s * fullest, ring), "add both: here nothing is sent while a rank computes"),
            (round(step, 3), rounded),
        ],
        "speedup": [
            (batch * s / step, "all ranks' samples count"),
            (s * batch * ranks / step, "in strong scaling there are `batch` samples in all"),
            (s * fullest * ranks / step, "not every rank is as full as the fullest"),
            *[(batch * n * s / step, samples) for n in (1, ranks, ranks - 1, 1 / ranks)],
            (whole * s, "divide by the step's time"),
            (whole * s * step, "divide by the step's time"),
            (whole / step, "that is samples a second; divide by those of one rank, 1 / s"),
            (whole / step / s, "one rank makes 1 / s samples a second: divide by that"),
            (step / (whole * s), "that is turned over: one rank's speed is the divisor"),
            (round(right["speedup"], 3), rounded),
        ],
        "rate": [
            (rate, "the whole batch has grown"),
            (rate * ranks, "the whole batch has not grown"),
            (
                rate if weak else rate * ranks,
                "turned round: with weak scaling the whole batch grows, with strong it stays",
            ),
            (rate * ranks**0.5, "by the linear rule, not by the square root"),
            (rate / ranks, "multiply by the factor of the whole batch, don't divide"),
            *[(rate * n, factor) for n in factors],
        ],
        "efficiency": [
            (100 * right["efficiency"], "a share, not a percentage"),
            (s * fullest / step, "that is the share of a step in which the fullest rank computes"),
            (right["speedup"] / busy, "divide by all ranks, also those without a sample"),
            (right["speedup"], "divide by the number of ranks"),
            (right["speedup"] * ranks, "divide by the number of ranks"),
            (1 / right["speedup"], "turned over: efficiency is speedup / ranks"),
            (ranks / right["speedup"], "turned over: efficiency is speedup / ranks"),
            (round(right["efficiency"], 3), rounded),
        ],
    }
