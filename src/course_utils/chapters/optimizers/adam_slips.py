"""Adam's family with its known slips: what p each of them gives after a few steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

V_RAW = "v is not corrected: divide it by 1 - beta2 ** t before the root."
M_RAW = "m is not corrected: divide it by 1 - beta1 ** t."
FIRST = "m and v start at 0, not at the first gradient; so nothing would be left to correct."
FIRST_V = "v starts at 0, not at the first gradient's square."
NO_DECAY = "RMSprop's weight decay is left out: it is added to the gradient."
NO_EPS = "eps has no effect: add the argument's."
RATE_TWICE = "the decay that is added to the gradient is not multiplied by lr."
SQUARED = "v is the mean of squared gradients, not of their distances from m."
MAX_KEPT = "the largest v is beside v in the state, not in its place: v itself runs on."
STORED = "what is stored was already corrected: keep the uncorrected m and v in the state."
DEFAULTS = "the betas are the argument's, not (0.9, 0.999)."
LAST_TWO = "the largest v of all steps so far is kept, not that of the last two."
LOOKS_AHEAD = "that is NAdam: above the fraction bar is m alone, without a look ahead."
SIZES = "v is the mean of squared gradients, not of their sizes."
SWAPPED = "the betas have changed places."
SLIPS = (
    *(V_RAW, M_RAW, FIRST, "first, corrected", NO_DECAY, NO_EPS, RATE_TWICE, SQUARED),
    *(MAX_KEPT, STORED, DEFAULTS, SWAPPED, LAST_TWO, LOOKS_AHEAD, SIZES),
)


def adam_with(
    slip: str,
    kind: str,
    gradients: Iterable[float] = (2.0, 0.5, -0.25),
    weight_decay: float = 0.0,
    eps: float = 1e-8,
    lr: float = 0.1,
    betas: tuple[float, float] = (0.8, 0.9),
) -> float:
    """p after these steps from 1, if one ``slip`` is made."""
    p, m, v, top = 1.0, 0.0, 0.0, 0.0
    eps = 1e-8 if slip == NO_EPS else eps
    betas = (0.9, 0.999) if slip == DEFAULTS else betas
    b1, b2 = betas[::-1] if slip == SWAPPED else betas
    for t, grad in enumerate(gradients, start=1):
        if kind == "adamw":
            p -= lr * weight_decay * p
        elif not (kind == "rmsprop" and slip == NO_DECAY):
            grad += weight_decay * p * (lr if slip == RATE_TWICE else 1)
        if t == 1 and slip in (FIRST, "first, corrected"):
            m, v = grad, grad**2
        m = b1 * m + (1 - b1) * grad
        size = grad - m if slip == SQUARED and kind != "rmsprop" else grad
        last, v = v, b2 * v + (1 - b2) * (abs(size) if slip == SIZES else size**2)
        top = max(last if slip == LAST_TWO else top, v)
        v = top if slip == MAX_KEPT and kind == "amsgrad" else v
        below = top if kind == "amsgrad" else v
        above = b1 * m + (1 - b1) * grad if slip == LOOKS_AHEAD else m
        if kind == "rmsprop":
            above = grad
        elif slip != FIRST:
            below /= 1 if slip == V_RAW else 1 - b2**t
            above /= 1 if slip == M_RAW else 1 - b1**t
            m, v = (above, below) if slip == STORED else (m, v)
        p -= lr * above / (below ** (1 if slip == SIZES else 0.5) + eps)
    return p


def slips_of(kind: str, options: dict[str, Any]) -> dict[float, str]:
    """By the p that it gives: what was done wrong, for each slip that changes p."""
    right, found = adam_with("", kind, **options), {}
    for slip in SLIPS:
        wrong = adam_with(slip, kind, **options)
        words = FIRST if slip == "first, corrected" else slip
        words = FIRST_V if words == FIRST and kind == "rmsprop" else words
        if abs(wrong - right) > 2e-4:
            found[wrong] = words
    return found
