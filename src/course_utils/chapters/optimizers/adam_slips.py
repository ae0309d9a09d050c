"""Adam's family with its known slips: what p each of them gives after a few steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

V_RAW = "v is not corrected: divide it by 1 - beta2 ** t before the root."
M_RAW = "m is not corrected: divide it by 1 - beta1 ** t."
NO_CORRECTION = "There is no bias correction."
FIRST = "m and v start at 0, not at the first gradient; so nothing would be left to correct."
FIRST_V = "v starts at 0, not at the first gradient's square."
NO_DECAY = "RMSprop's weight decay is left out: it is added to the gradient."
CORRECTED = "RMSprop corrects nothing."
NO_EPS = "eps has no effect: add the argument's."
INSIDE = "eps stands outside the root."
LATE = "eps is added after the correction, not before."
RATE_TWICE = "the decay that is added to the gradient is not multiplied by lr."
NO_RATE = "the decay is not multiplied by lr."
AFTERWARDS = "the decay comes before the step: it takes off lr * weight_decay times the old p."
L2_HERE = "that is Adam: in AdamW the decay goes past m and v."
DECOUPLED = "that is AdamW: Adam's decay is added to the gradient, and so goes through m and v."
SQUARED = "v is the mean of squared gradients, not of their distances from m."
MAX_KEPT = "the largest v is beside v in the state, not in its place: v itself runs on."
OF_V = "Take the maximum of v itself, and correct it afterwards."
IS_ADAM = "that is Adam: which v do you divide by?"
STORED = "what is stored was already corrected: keep the uncorrected m and v in the state."
DEFAULTS = "the betas are the argument's, not (0.9, 0.999)."
LAST_TWO = "the largest v of all steps so far is kept, not that of the last two."
LOOKS_AHEAD = "that is NAdam: above the fraction bar is m alone, without a look ahead."
SIZES = "v is the mean of squared gradients, not of their sizes."
CORRECTS_DEFAULTS = "the correction takes the argument's betas, not 0.9 and 0.999."
SWAPPED = "the betas have changed places."
RATE_IN_M = "the rate multiplies the whole step: m keeps the gradients, not lr times them."
BEHIND = "t is one behind: count first, the first step's t is 1."
SLIPS = (
    *(V_RAW, M_RAW, NO_CORRECTION, FIRST, "first, corrected", NO_DECAY, CORRECTED, NO_EPS, INSIDE),
    *(LATE, RATE_TWICE, NO_RATE, AFTERWARDS, L2_HERE, DECOUPLED, SQUARED, MAX_KEPT, OF_V, IS_ADAM),
    *(STORED, "stored m", "stored v", DEFAULTS, SWAPPED, LAST_TWO, LOOKS_AHEAD, SIZES),
    *("m behind", "v behind", BEHIND, CORRECTS_DEFAULTS, RATE_IN_M),
)
SPOKEN = {
    **{"first, corrected": FIRST, "stored m": STORED, "stored v": STORED},
    **{"m behind": BEHIND, "v behind": BEHIND},
}


def adam_with(
    slip: str,
    kind: str,
    gradients: Iterable[float] = (2.0, 0.5, -0.25),
    weight_decay: float = 0.0,
    eps: float = 1e-8,
    lr: float = 0.1,
    betas: tuple[float, float] = (0.8, 0.9),
    halved: bool = False,
) -> float:
    """p after these steps from 1, if one ``slip`` is made; with ``halved``, lr halves each time."""
    p, m, v, top = 1.0, 0.0, 0.0, 0.0
    eps = 1e-8 if slip == NO_EPS else eps
    betas = (0.9, 0.999) if slip == DEFAULTS else betas
    b1, b2 = betas[::-1] if slip == SWAPPED else betas
    past = (kind == "adamw" or slip == DECOUPLED) and slip != L2_HERE and kind != "rmsprop"
    for t, grad in enumerate(gradients, start=1):
        rate = lr / 2 ** (t - 1) if halved else lr
        pull = weight_decay * p * (1 if slip == NO_RATE else rate)
        if past and slip != AFTERWARDS:
            p -= pull
        elif not past and not (kind == "rmsprop" and slip == NO_DECAY):
            grad += weight_decay * p * (rate if slip == RATE_TWICE else 1)
        if t == 1 and slip in (FIRST, "first, corrected"):
            m, v = grad, grad**2
        in_m = rate if slip == RATE_IN_M and kind != "rmsprop" else 1
        m = b1 * m + (1 - b1) * in_m * grad
        size = grad - m if slip == SQUARED and kind != "rmsprop" else grad
        last, v = v, b2 * v + (1 - b2) * (abs(size) if slip == SIZES else size**2)
        behind = max(1, t - 1)
        scale_m = 1 - b1 ** (behind if slip in ("m behind", BEHIND) else t)
        scale_v = 1 - b2 ** (behind if slip in ("v behind", BEHIND) else t)
        if slip == CORRECTS_DEFAULTS:
            scale_m, scale_v = 1 - 0.9**t, 1 - 0.999**t
        top = max(last if slip == LAST_TWO else top, v / scale_v if slip == OF_V else v)
        v = top if slip == MAX_KEPT and kind == "amsgrad" else v
        below = top if kind == "amsgrad" and slip != IS_ADAM else v
        above = b1 * m + (1 - b1) * grad if slip == LOOKS_AHEAD else m
        eps_here = eps
        if kind == "rmsprop":
            above, below = grad, below / scale_v if slip == CORRECTED else below
        elif slip not in (FIRST, NO_CORRECTION):
            eps_here /= scale_v**0.5 if slip == LATE else 1
            below /= (
                1 if slip in (V_RAW, OF_V) and (slip == V_RAW or kind == "amsgrad") else scale_v
            )
            above /= 1 if slip == M_RAW else scale_m
            m = above if slip in (STORED, "stored m") else m
            v = below if slip in (STORED, "stored v") else v
        root = (below + eps) ** 0.5 if slip == INSIDE else below ** (1 if slip == SIZES else 0.5)
        p -= rate / in_m * above / (root + (0 if slip == INSIDE else eps_here))
        p -= weight_decay * rate * p if past and slip == AFTERWARDS else 0
    return p


def slips_of(kind: str, options: dict[str, Any], least: float = 2e-4) -> dict[float, str]:
    """By the p that it gives: what was done wrong, for each slip that changes p by ``least``."""
    right, found = adam_with("", kind, **options), {}
    for slip in SLIPS:
        wrong = adam_with(slip, kind, **options)
        words = SPOKEN.get(slip, slip)
        words = FIRST_V if words == FIRST and kind == "rmsprop" else words
        if abs(wrong - right) > least:
            found.setdefault(wrong, words)
    return found
