"""What known slips make of a range test of one weight, in every one of its cases."""

from __future__ import annotations

import math

CONSTANT = "each step was taken with the first rate: take the one that was noted for it"
LINE_SLIPS = {
    "momentum": "that is SGD with momentum; a plain step was asked for",
    "uncleared": "gradients were never cleared",
    "constant": CONSTANT,
    "anew": "each rate starts from the first weights; it is one run",
    "none": "no step was taken",
    "unnoted": "the rate and the loss that end the run are noted, too",
    "the first": "four times the *smallest* loss so far ends it, not four times the first",
    "before": "four times the *smallest* loss so far ends it, not four times the one before",
    "never": "it never stops",
}


def range_of_line(
    x: float, lowest: float, highest: float, steps: int, slip: str = ""
) -> tuple[list[float], list[float]]:
    """The rates and the losses of a range test of the weight 1, for the input x and the target 0.

    ``slip`` is a key of ``LINE_SLIPS``.
    """
    w, gathered, rates, losses = 1.0, 0.0, [], []
    for k in range(steps):
        rate = lowest * (highest / lowest) ** (k / (steps - 1))
        loss = (w * x) * (w * x)
        smallest = min([*losses, loss])
        against = {"the first": [*losses, loss][0], "before": [loss, *losses][-1]}
        ends = not math.isfinite(loss) or loss > 4 * against.get(slip, smallest)
        if ends and slip == "unnoted":
            break
        rates.append(rate)
        losses.append(loss)
        if ends and not (slip == "never" and math.isfinite(loss)):
            break
        gradient = 2 * w * x * x
        gathered = {"momentum": 0.9, "uncleared": 1.0}.get(slip, 0.0) * gathered + gradient
        used = {"constant": lowest, "none": 0.0}.get(slip, rate)
        w = (1.0 if slip == "anew" else w) - used * (2 * x * x if slip == "anew" else gathered)
    return rates, losses
