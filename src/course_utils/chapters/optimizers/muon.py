"""Muon: the cases of its exercise, and what known slips give."""

from __future__ import annotations

from typing import Any

import torch

from course_utils.chapters.optimizers.muon_slips import A_SUM, L2_DECAY, muon_with, slip_of
from course_utils.chapters.optimizers.steps import pair_of, told
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close
from course_utils.learner.devices import device


def check_muon(answer, case_of, slips=None, **options):
    """Compare a step with the expected p; the first entry names a slip."""
    options = {"lr": 0.1, **options}
    dtype: Any = options.pop("dtype", torch.float64)
    # In bfloat16, whatever the order of the products, the rounds err by less than this.
    loose = options.pop("loose", 0.0045)
    p, grad, buffer, right, mean = (torch.tensor(v, dtype=dtype).to(device) for v in case_of)
    with forbid_changes(p, grad, buffer):
        new, kept = pair_of(answer(p, grad, buffer, **options), "muon_and_friends")
    assert isinstance(kept, torch.Tensor), f"the buffer is {kept!r}, no tensor"
    assert new.shape == p.shape, f"p has shape {tuple(new.shape)}, expected {tuple(p.shape)}"
    for name, part in (("p", new), ("buffer", kept)):
        low = "bfloat16" if part.dtype == torch.bfloat16 else "another dtype"
        words = f"expected {p.dtype}, as p has it: only the rounds may be in {low}"
        assert part.dtype == p.dtype, f"the new {name} is {part.dtype}, {words}"
    got, first = new.flatten()[0].item(), right.flatten()[0].item()
    known = slips or {}
    if not any(abs(number - got) <= 0.001 for number in known if number != "nan"):
        known = {**known, got: slip_of(new, p, grad, buffer, **options)}
    told(got, first, "p[0, 0]", known, atol=loose, near=0.001)
    words = known.get(got, "")
    check_close(new, right, "the new p", atol=0.01, rtol=0, because=words.strip("."))
    _, summed, _ = muon_with(A_SUM, p, grad, buffer, **options)
    _, _, direction = muon_with("", p, grad, buffer, **options)
    turned = {"lr": 1.0, "weight_decay": 0.0, "momentum": 0.0, "nesterov": False}
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    rounds = muon_with("", 0 * p, mean, 0 * p, **turned)[0] / -factor
    wrong = {
        A_SUM: summed,
        "that is the direction; the running mean is kept": direction,
        "the direction alone is orthogonalised; the running mean is kept as it is": rounds,
        "the direction was divided in place, and it is the buffer": mean / mean.norm(),
        "it was left as it was: it changes in each step, with momentum 0 as well": buffer,
    }
    words = next((said for said, part in wrong.items() if torch.allclose(kept, part, 0.02)), "")
    what = "the new buffer, a running mean,"
    check_close(kept, mean, what, atol=0.02, rtol=0.02, because=words.strip("."))


ZEROS = "Is it 0 / 0? Divide by at least 1e-7."


HALF = "Is it float16, which ends at 65504? The rounds are in p's dtype, or in bfloat16."


DECAYS = (
    "p is multiplied by 1 - lr · weight_decay all the same, and weight_decay is 0.1 by default."
)


ROW = {
    -0.06: "that is 1, not 0.70: take five rounds with these coefficients, nothing more exact.",
    -0.0654: "that is what four rounds give.",
    0.0418: "the step goes uphill.",
    -0.3: "the direction was not orthogonalised.",
    -0.0241: "the factor is below 1 here: it is at least 1.",
    -0.0724: "rows / columns, not columns / rows: a row's factor is 1.",
}


MUON_CASES = {  # p, grad, buffer, the new p, the new buffer; slips by p[0, 0]; options
    "a row with a small gradient": (
        (
            [[0.0] * 3],
            [[3e-4, 4e-4, 0]],
            [[0.0] * 3],
            [[-0.0418, -0.0557, 0]],
            [[1.5e-5, 2e-5, 0]],
        ),
        {},
        {},
    ),
    "a row with a very small gradient": (
        (
            [[0.0] * 3],
            [[2.4e-4, 3.2e-4, 0]],
            [[0.0] * 3],
            [[-0.0418, -0.0557, 0]],
            [[1.2e-5, 1.6e-5, 0]],
        ),
        {},
        {},
    ),
    "a row": (
        ([[0.0] * 3], [[3.0, 4, 0]], [[0.0] * 3], [[-0.0418, -0.0557, 0]], [[0.15, 0.2, 0]]),
        ROW,
        {},
    ),
    "a row in float32, lr 0.05": (
        ([[0.0] * 3], [[3.0, 4, 0]], [[0.0] * 3], [[-0.0209, -0.0279, 0]], [[0.15, 0.2, 0]]),
        {-0.0418: "lr is the argument's, not always 0.1."},
        {"lr": 0.05, "dtype": torch.float32},
    ),
    "a column": (
        (
            [[0.0], [0], [0]],
            [[3.0], [4], [0]],
            [[0.0], [0], [0]],
            [[-0.0724], [-0.0965], [0]],
            [[0.15], [0.2], [0]],
        ),
        {
            -0.0418: "a column has more rows than columns: its factor is not 1.",
            -0.0241: "rows / columns, not columns / rows.",
            -0.1254: "the factor is the *root* of rows / columns.",
            -0.1039: ROW[-0.06],
        },
        {},
    ),
    "a matrix, divided by its norm, the root of the sum of all squares": (
        (
            [[0.0, 0, 0], [0, 0, 0]],
            [[3.0, 0, 0], [0, 1, 1]],
            [[0.0, 0, 0], [0, 0, 0]],
            [[-0.0683, 0, 0], [0, -0.0801, -0.0801]],
            [[0.3, 0, 0], [0, 0.1, 0.1]],
        ),
        {-0.1: ROW[-0.06]},
        {"momentum": 0.9},
    ),
    "a later step, Nesterov": (
        ([[0.0, 0]], [[3.0, 0]], [[0.0, 5]], [[-0.0609, -0.0339]], [[1.5, 2.5]]),
        {
            -0.0358: "that is the direction without the look ahead, or with the old buffer's: it "
            "takes the new buffer.",
            -0.0671: A_SUM,
            -0.0535: A_SUM,
        },
        {"momentum": 0.5},
    ),
    "a later step, no Nesterov": (
        ([[0.0, 0]], [[3.0, 0]], [[0.0, 5]], [[-0.0358, -0.0597]], [[1.5, 2.5]]),
        {-0.0609: "nesterov=False was not heeded.", -0.0535: A_SUM, -0.0671: A_SUM},
        {"momentum": 0.5, "nesterov": False},
    ),
    "a gradient of zeros, later": (
        ([[0.0, 0]], [[0.0, 0]], [[3.0, 4]], [[-0.0418, -0.0557]], [[1.5, 2]]),
        {0.0: "a gradient of zeros is a gradient: the buffer fades, and p moves by it."},
        {"momentum": 0.5},
    ),
    "momentum 0": (
        ([[0.0, 0]], [[3.0, 4]], [[5.0, 0]], [[-0.0418, -0.0557]], [[3.0, 4]]),
        {},
        {"momentum": 0.0},
    ),
    "weight decay 0.5": (
        ([[2.0, 2]], [[3.0, 4]], [[0.0, 0]], [[1.8582, 1.8443]], [[0.15, 0.2]]),
        {
            1.9582: "there is no weight decay.",
            1.9565: L2_DECAY,
            0.9582: "the decay is not multiplied by lr.",
        },
        {"weight_decay": 0.5},
    ),
    "a column, weight decay 0.5": (
        (
            [[1.0], [1], [1]],
            [[3.0], [4], [0]],
            [[0.0], [0], [0]],
            [[0.8776], [0.8535], [0.95]],
            [[0.15], [0.2], [0]],
        ),
        {
            0.841: "the decay takes off lr * weight_decay times p: the factor is the step's alone.",
            0.9276: "there is no weight decay.",
        },
        {"weight_decay": 0.5},
    ),
    "weight decay 5": (
        ([[2.0, 2]], [[3.0, 4]], [[0.0, 0]], [[0.9582, 0.9443]], [[0.15, 0.2]]),
        {
            0.9791: "the decay comes before the step: it takes off lr * weight_decay times the old "
            "p.",
            1.9582: "there is no weight decay.",
            1.9526: L2_DECAY,
        },
        {"weight_decay": 5.0},
    ),
    "lr 0": (
        ([[1.0, 2]], [[3.0, 4]], [[0.0, 0]], [[1.0, 2]], [[0.15, 0.2]]),
        {},
        {"lr": 0.0},
    ),
    "a square matrix": (
        (
            [[0.0, 0], [0, 0]],
            [[3.0, 0], [0, 4]],
            [[0.0, 0], [0, 0]],
            [[-0.0723, 0], [0, -0.1119]],
            [[0.15, 0], [0, 0.2]],
        ),
        {},
        {"loose": 0.01},
    ),
    "a tall matrix": (
        (
            [[0.0, 0], [0, 0], [0, 0]],
            [[3.0, 0], [4, 0], [0, 5]],
            [[0.0, 0], [0, 0], [0, 0]],
            [[-0.0814, 0], [-0.1086, 0], [0, -0.1357]],
            [[0.15, 0], [0.2, 0], [0, 0.25]],
        ),
        {-0.1138: "a tall matrix is turned by .T; reshape mixes its rows and columns."},
        {},
    ),
    "a row with a large gradient": (
        (
            [[0.0] * 3],
            [[3e6, 4e6, 0]],
            [[0.0] * 3],
            [[-0.0418, -0.0557, 0]],
            [[1.5e5, 2e5, 0]],
        ),
        {"nan": HALF},
        {},
    ),
    "a gradient of zeros": (
        ([[1.0, 2]], [[0.0, 0]], [[0.0, 0]], [[0.99, 1.98]], [[0.0, 0]]),
        {"nan": ZEROS, 1.0: DECAYS},
        {},
    ),
}
