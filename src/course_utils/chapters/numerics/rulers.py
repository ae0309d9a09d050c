"""Exercise 4.12: a ruler that fits the data; and what the library offers in place of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from course_utils.chapters.numerics.notes import Answer, check_form, few_digits
from course_utils.learner.cases import every_case
from course_utils.learner.changes import forbid_changes
from course_utils.learner.values import agrees


def check_white(
    answer: Answer, case: every_case, x: torch.Tensor, name: str, loose: float = 1e-3
) -> None:
    """That a set of points is white, and made from x by one matrix."""
    n, d = x.shape
    with case(name):
        with forbid_changes(x):
            z = answer(x)
        check_form(z, x, "z")
        words = "there is NaN: a root of a negative number, or 0 / 0?"
        if x.float().isinf().any():
            words = "there is NaN: float32 takes such numbers for infinity; stay in float64"
        assert not z.isnan().any(), words
        few = few_digits(z) and not few_digits(x)
        assert not few, "z has float32's digits alone: compute in the dtype of x"
        z, centred, one = z.double(), x.double() - x.double().mean(0), torch.eye(d).to(z).double()
        mean = z.mean(0).abs().max().item()
        q, free = torch.linalg.qr(centred)[0], z - z.mean(0)
        bent = (free - q @ (q.T @ free)).abs().max() > 10 * loose * (1 + free.abs().max())
        words = "z is not (x - m) W, with one W for all rows: is a row cut, scaled or turned alone?"
        assert mean < loose or not bent, words
        assert mean < loose, f"a column has the mean {mean:.3g}, not 0: subtract it first"
        cov = z.T @ z / (n - 1)
        off = (cov - one).abs().max().item()
        biased = (cov * (n - 1) / n - one).abs().max() < loose / 10
        words = "the variance is 1 with the divisor n, asked for is n - 1"
        assert off < loose or not biased, words
        twin = (cov.diagonal() - 1).abs().max() < loose
        words = (
            f"each variance is 1, yet two columns have the covariance {off:.3g}: they vary together"
        )
        assert off < loose or not twin, words
        words = "orthonormal columns have the variance 1 / (n - 1): a factor is missing"
        assert off < loose or (cov * (n - 1) - one).abs().max() > loose, words
        squared = 1 / torch.linalg.eigvalsh(centred.T @ centred / (n - 1)).flip(0)
        far = (torch.linalg.eigvalsh(cov) / squared - 1).abs().max()
        assert off < loose or far > loose, "divided by the variance, not by its root"
        turned = (torch.linalg.eigvalsh(cov) * squared.flip(0) ** 2 - 1).abs().max()
        words = "multiplied by the root of the eigenvalue: divide by it"
        assert off < loose or turned > loose, words
        words = f"the covariance is off the identity by {off:.3g}"
        for cure, turned in _turned(centred.T @ centred / (n - 1), x.dtype):
            if d > 1 and z.allclose(centred @ turned, rtol=loose, atol=loose):
                words = f"{words}: {cure}"
        spread = torch.linalg.eigvalsh(cov)
        if spread[0] < 1 - loose and spread[-1] < 1 + loose:
            words = f"{words}: it is too small; is there an eps, or a bound, for small variances?"
        elif x.double().abs().max() > 1e3 * centred.abs().max():
            words = f"{words}: so far from the origin, subtract the mean before all else"
        assert off < loose, words
        fit = centred @ (torch.linalg.pinv(centred) @ z)
        words = "white, but not (x - m) W: are rows mixed up?"
        assert (fit - z).abs().max() < 10 * loose, words


def _turned(cov: torch.Tensor, dtype: torch.dtype) -> list[tuple[str, torch.Tensor]]:
    """Words, and a W with a factor that should be transposed."""
    values, vectors = torch.linalg.eigh(cov.to(dtype))
    by_rows = "an eigenvector is a column of V, so it is (x - m) V, not (x - m) Vᵀ"
    lower = "zᵀ = L⁻¹ (x - m)ᵀ, so it is z = (x - m) L⁻ᵀ, with L⁻¹ transposed"
    return [
        (by_rows, (vectors.T / values.sqrt()).to(cov.dtype)),
        (lower, torch.linalg.inv(torch.linalg.cholesky(cov))),
    ]


def check_white_far(answer: Answer, case: every_case, cloud: torch.Tensor) -> None:
    """A point far out; many columns; deviations that are exact numbers, far from the origin."""
    many = torch.arange(160.0).view(20, 8).square().sin().to(cloud)
    check_white(answer, case, many, "20 points in 8-D")
    more = torch.arange(400.0).view(200, 2).square().sin().to(cloud)
    check_white(answer, case, more.cumsum(0), "200 points in 2-D, which wander")
    far = torch.cat([cloud, 30 * cloud[:1]])
    check_white(answer, case, far, "a cloud and one point far out")
    grid = cloud.new_tensor([[4096, 4112], [-4096, -4080], [0, 16], [0, -48]]).repeat(2, 1)
    name = "a thin cloud of whole numbers, moved by 2**22, in float32"
    check_white(answer, case, grid + 2**22, name)


def _white_by_qr(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.qr(x - x.mean(0))[0] * (len(x) - 1) ** 0.5


def _soft(scores: torch.Tensor, mask: torch.Tensor, dim: int = -1) -> torch.Tensor:
    return scores.masked_fill(~mask, -torch.inf).softmax(dim).masked_fill(~mask, 0)


def _distances(x: torch.Tensor, y: torch.Tensor, how: str = "cdist") -> torch.Tensor:
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


CORNERS = torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
MASK = torch.tensor([[True, True, False], [False, True, False]])
# By name: what the library offers, and the value of a small example.
LIBRARY: dict[str, tuple[Answer, Answer]] = {
    "pairwise_three_ways": (_distances, lambda f: f(CORNERS, CORNERS, "gram")),
    "whiten": (_white_by_qr, lambda f: f(CORNERS).T.cov()),
    "masked_softmax": (_soft, lambda f: f(CORNERS[:2, :1].expand(2, 3), MASK)),
}


def solved(names: Mapping[str, Any], name: str) -> Answer:
    """The learner's function of a name where it does a small example right, else the library's.

    Args:
        names: where the learner's functions lie, such as ``globals()``.
        name: one of ``LIBRARY``.
    """
    library, example = LIBRARY[name]
    if agrees(lambda: example(names[name]), example(library), atol=1e-2):
        return names[name]
    print(f"{name} is not solved yet: the library steps in")
    return library
