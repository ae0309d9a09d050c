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
    with every_case() as case:
        for values, result in zip(cases, try_scaling(cases), strict=True):
            with case(f"{values[0]}, {values[1]} ranks, batch {values[2]}"):
                check_one_scaling(result, *values)


def check_one_scaling(result, kind, ranks, batch, s, nbytes, latency, bandwidth, rate):
    weak = kind == "weak"
    fullest = batch if weak else (batch + ranks - 1) // ranks
    ring = 2 * (ranks - 1) * (latency + nbytes / (ranks * bandwidth))
    step, whole = s * fullest + ring, batch * (ranks if weak else 1)
    right = {"step": step, "speedup": whole * s / step, "rate": rate * (ranks if weak else 1)}
    right["efficiency"] = right["speedup"] / ranks
    assert result is not None, "it returned None: is there an answer yet?"
    assert isinstance(result, dict), f"expected a dict, got {type(result).__name__}"
    missing = [key for key in right if key not in result]
    assert not missing, (
        f"the dict has no entry {missing[0]!r}; it has {', '.join(map(repr, result)) or 'none'}"
    )
    messages, chunk = 2 * (ranks - 1), nbytes / (ranks * bandwidth)
    words = {
        "step": [
            (s * batch / ranks + ring, "the fullest rank has ⌈batch / ranks⌉ samples"),
            (
                s * fullest + 2 * (ranks - 1) * (latency + nbytes / bandwidth),
                "a message is one chunk",
            ),
            (s * fullest, "the ring's messages are missing"),
            (s * batch + ring, "in strong scaling the ranks share the batch"),
            (s * (batch // ranks) + ring, "the fullest rank has ⌈batch / ranks⌉ samples"),
            (s * fullest + latency + messages * chunk, "each message has its latency"),
            (s * fullest + messages / 2 * (latency + chunk), "the ring goes round twice"),
            (s * fullest + 2 * ranks * (latency + chunk), "a ring of n ranks has 2 (n - 1) steps"),
            (
                s * fullest + messages * (latency + nbytes // ranks / bandwidth),
                "the bytes of a chunk were rounded down: B / n is a fraction here",
            ),
        ],
        "speedup": [
            (batch * s / step, "all ranks' samples count"),
            (s * batch * ranks / step, "in strong scaling there are `batch` samples in all"),
            (s * fullest * ranks / step, "not every rank is as full as the fullest"),
        ],
        "rate": [
            (rate, "the whole batch has grown"),
            (rate * ranks, "the whole batch has not grown"),
            (rate * ranks**0.5, "by the linear rule, not by the square root"),
        ],
        "efficiency": [(100 * right["efficiency"], "a share, not a percentage")],
    }
    wrong = []
    for key, value in right.items():
        got = result.get(key)
        got = got.item() if hasattr(got, "item") else got
        number = isinstance(got, (int, float)) and not isinstance(got, bool)
        if number and abs(got - value) <= 1e-6 * abs(value):
            continue
        slip = [
            why
            for slip, why in words.get(key, [])
            if number and abs(got - slip) <= 1e-6 * abs(slip)
        ]
        wrong.append(
            f"{key}: expected {value:.6g}, got {f'{got:.6g}' if number else repr(got)}"
            + (f" ({slip[0]})" if slip else "")
        )
    assert not wrong, "; ".join(wrong)
