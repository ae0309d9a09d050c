"""What known slips make of a step of Muon: the new p and the new buffer, by the words for them."""

from __future__ import annotations

import torch

A_SUM = "the buffer is a running mean here, not a sum: the gradient comes in times 1 - momentum."
L2_DECAY = "the decay went into the gradient: p is multiplied by 1 - lr * weight_decay."
NO_RATE = "the decay is not multiplied by lr."
EXACT = "that is 1, not 0.70: take five rounds with these coefficients, nothing more exact."
AHEAD = (
    "that is the direction without the look ahead, or with the old buffer's: it takes the new"
    " buffer."
)
WHOLE = "the gradient enters the direction times 1 - momentum, not whole."
LARGEST = "divide by the root of the sum of all squares, not by the largest singular value."
TURNED = (
    "a tall matrix is turned by .T before the rounds, and turned back after them, not reshaped."
)
NO_ROOT = "the factor is the *root* of rows / columns."
UPSIDE = "rows / columns, not columns / rows."
BELOW = "the factor is at least 1."
CUT = "rows / columns is cut off by //."
FLOOR = "the floor of the norm is 1e-7: a small direction is made as long as a large one."
ROUNDS = "{} rounds were taken, five are asked for."
SLIPS = (
    *(A_SUM, L2_DECAY, NO_RATE, EXACT, AHEAD, WHOLE, LARGEST, TURNED, NO_ROOT, UPSIDE, BELOW, CUT),
    *(ROUNDS.format(count) for count in (3, 4, 6, 10)),
)


def muon_with(
    slip, p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True, floor=1e-7
):
    """The new p, the new buffer and the direction of a step in which one ``slip`` is made."""
    old, given = buffer, grad + weight_decay * p if slip == L2_DECAY else grad
    buffer = momentum * old + given * (1 if slip == A_SUM else 1 - momentum)
    direction = buffer
    if nesterov:
        own = given if slip == WHOLE else (1 - momentum) * given
        direction = own + momentum * (old if slip == AHEAD else buffer)
    turns = slip == TURNED and p.shape[0] > p.shape[1]
    X = direction.T if turns else direction
    size = torch.linalg.matrix_norm(X, 2) if slip == LARGEST else X.norm()
    X = X / size.clamp(min=floor)
    if slip == EXACT:
        U, sizes, V = torch.linalg.svd(X, full_matrices=False)
        X = U @ (sizes > 1e-6).to(X).diag() @ V
    count = next((n for n in (3, 4, 6, 10) if slip == ROUNDS.format(n)), 5)
    for _ in range(0 if slip == EXACT else count):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    ratio = p.shape[0] / p.shape[1]
    ratio = {UPSIDE: 1 / ratio, CUT: ratio // 1}.get(slip, ratio)
    factor = (ratio if slip == BELOW else max(1, ratio)) ** (1 if slip == NO_ROOT else 0.5)
    decay = 1 if slip == L2_DECAY else 1 - weight_decay * (1 if slip == NO_RATE else lr)
    return p * decay - lr * factor * X.reshape(p.shape), buffer, direction


def slip_of(new, p, grad, buffer, **options):
    """The words of the slips that give this new p and differ from the right one; or none."""
    given = [tensor.double() for tensor in (p, grad, buffer)]
    right, near = muon_with("", *given, **options)[0], 0.01 * options["lr"]
    wrong = {slip: muon_with(slip, *given, **options)[0] for slip in SLIPS}
    floors = [muon_with("", *given, **options, floor=10.0**-k)[0] for k in range(1, 7)]
    fits = [slip for slip, found in wrong.items() if _told_by(new, found, right, near)]
    fits += [FLOOR] if any(_told_by(new, found, right, near) for found in floors) else []
    return " Or: ".join(dict.fromkeys(fits))


def _told_by(new, wrong, right, near):
    return torch.allclose(new.double(), wrong, 0, near) and (wrong - right).abs().max() > 2 * near
