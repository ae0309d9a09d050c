"""Eight einsums: what is right, and what an answer may not call."""

from __future__ import annotations

import torch

from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_close
from course_utils.learner.devices import device


def truths_of_eight(draw, b, t, s, h, d, n, k, m, o) -> dict:
    """For each name of the table: operands of these sizes, and the result without einsum."""
    u, v, p = draw(n), draw(k), draw(b, t, h, s)
    square, x, y, q, keys = draw(n, n), draw(n, k), draw(n, k), draw(b, t, h, d), draw(b, s, h, d)
    first, w, second, left, right = (
        draw(b, n),
        draw(o, n, m),
        draw(b, m),
        draw(b, n, k),
        draw(b, k, m),
    )
    between = (q[:, :, None] * keys[:, None]).sum(-1).transpose(2, 3)
    return {
        "trace": ([square], square.trace()),
        "column sums": ([x], x.sum(0)),
        "outer": ([u, v], u[:, None] * v),
        "row by row": ([x, y], (x * y).sum(1)),
        "batched product": ([left, right], left @ right),
        "bilinear": ([first, w, second], ((first @ w).movedim(0, 1) * second[:, None]).sum(-1)),
        "scores": ([q, keys], between),
        "mix": ([p, keys], (p[..., None] * keys.transpose(1, 2)[:, None]).sum(3)),
    }


def sums_of(string: str) -> str:
    """Which letters an einsum string sums over, and which of them one dimension alone has."""
    left, arrow, right = string.replace(" ", "").partition("->")
    if not arrow:
        words = "without an arrow every letter that appears twice is summed over"
        return f"{words}, and the others stand in the alphabet's order"
    over = [a for a in dict.fromkeys(left) if a.isalpha() and a not in right]
    if not over:
        return "it sums over no letter"
    alone = [a for a in over if left.count(a) == 1]
    words = f"it sums over {', '.join(over)}"
    return words + f"; in one operand alone: {', '.join(alone)}" * bool(alone and "," in left)


def check_strings(strings, names, kind, seed, *sizes):
    """Compare einsum by a learner's strings with the results without einsum, name by name."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*size):
        return torch.randn(size, generator=generator, dtype=torch.float64).to(device)

    truths = truths_of_eight(draw, *sizes)
    with every_case() as case:
        for name in names:
            operands, expected = truths[name]
            string = strings.get(name)
            with case(f"{name}, {string!r}, {kind}"):
                assert isinstance(string, str), "is there an answer yet? write an einsum string"
                try:
                    result = torch.einsum(string, *operands)
                except (RuntimeError, ValueError) as error:
                    told = ": a letter stands for two sizes" * ("not broadcast" in str(error))
                    raise AssertionError(f"einsum refuses {string!r} ({error}){told}") from None
                check_close(result, expected, f"the result ({sums_of(string)})")
