"""Exercise ``loss-landscape``: the loss along a direction."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F

from course_utils.chapters.visualization.comparing import (
    FAILED,
    Before,
    as_somebody_left_it,
    check_left,
    check_seen,
    on_cpu,
    tried,
)
from course_utils.chapters.visualization.valleys import (
    FAR,
    MANY,
    PLACES_OF,
    loss_at,
    make_slice,
)
from course_utils.learner.tracebacks import ends_in_notebook


def seen_landscape(answer: Callable, kind: str, alphas: list[float]) -> tuple:
    """The losses, and what is not as it was."""
    model, direction, x, y = make_slice(kind)
    weights = [p.detach().clone() for p in model.parameters()]
    before, plan = Before(as_somebody_left_it(model)), [d.clone() for d in direction]
    seeds = torch.get_rng_state()
    losses, left = answer(model, direction, alphas, x, y), []
    if not torch.equal(seeds, torch.get_rng_state()):
        left.append("the global random state has changed: nothing is drawn here")
    if any(d.requires_grad for d in direction):
        left.append("the direction needs a gradient now; it is the caller's")
    if not all(map(torch.equal, weights, model.parameters())):
        pairs = zip(weights, model.parameters(), strict=True)
        near = all(torch.allclose(p, q, 1e-3, 1e-4) for p, q in pairs)
        why = "keep a copy, subtracting rounds" if near else "put them back at the end"
        left.append(f"the weights are not exactly what they were: {why}")
    left += [words for words in before.changes() if not (left and words.startswith("the values"))]
    if not all(map(torch.equal, plan, direction)):
        left.append("the direction has changed")
    if isinstance(losses, (list, tuple)):
        losses = [v if isinstance(v, torch.Tensor) else float(v) for v in losses]
    return on_cpu(losses), left


def mean_of_means(output: torch.Tensor, y: torch.Tensor, size: int) -> torch.Tensor:
    """The losses of blocks of samples, each of which counts as much as the others."""
    return torch.stack([*map(F.cross_entropy, output.split(size), y.split(size))]).mean()


def true_landscape(kind: str, alphas: list[float], known=True) -> tuple[torch.Tensor, dict]:
    """The losses, and those that slips lead to, if they are to be ``known``."""
    model, direction, x, y = make_slice(kind)
    weights = [p.detach() for p in model.parameters()]

    def norm(t, dims=None):
        return t.norm() if dims is None else t.flatten(1).norm(dim=1).view(-1, *[1] * (t.dim() - 1))

    names = [name.rpartition(".")[2] for name, _ in model.named_parameters()]
    frozen = [not p.requires_grad for p in model.parameters()]

    def along(scale, vectors=lambda w, d: 0 * d, pile=False):
        moves = [
            scale(w, d) if w.dim() > 1 else vectors(w, d)
            for w, d in zip(weights, direction, strict=True)
        ]
        return after(moves, pile)

    def after(moves, pile=False):
        moves = [torch.nan_to_num(m, 0, 0, 0) for m in moves]
        sums = np.cumsum(alphas).tolist() if pile else alphas
        return torch.tensor(
            [
                loss_at(model, [w + a * m for w, m in zip(weights, moves, strict=True)], x, y)
                for a in sums
            ]
        )

    def instead(loss, tied=True):
        """What another number than the loss would be; or with one name of a ``tied`` weight."""
        losses, names = [], [name for name, _ in model.named_parameters()]
        for a in alphas:
            moved = [
                w + a * torch.nan_to_num(right(w, d), 0, 0, 0) if w.dim() > 1 else w
                for w, d in zip(weights, direction, strict=True)
            ]
            with torch.no_grad():
                pairs = dict(zip(names, moved, strict=True))
                output = torch.func.functional_call(model, pairs, (x,), tie_weights=tied)
                losses.append(float(loss(output)))
        return torch.tensor(losses)

    def by(w, d, p):
        length = w.flatten(1).norm(p, dim=1) / d.flatten(1).norm(p, dim=1)
        return d * length.view(-1, *[1] * (w.dim() - 1))

    def right(w, d):
        return d * norm(w, 1) / norm(d, 1)

    def drifting(from_start=False):
        now, losses = list(weights), []
        for a in alphas:
            base = weights if from_start else now
            now = [
                w + a * torch.nan_to_num(right(p, d), 0, 0, 0) if w.dim() > 1 else w
                for w, p, d in zip(base, now, direction, strict=True)
            ]
            losses.append(loss_at(model, now, x, y))
        return torch.tensor(losses)

    def by_name(one_by_one):
        moves = []
        for name, w, d in zip(names, weights, direction, strict=True):
            if name == "weight" and w.dim() == 1:
                moves.append(d.sign() * w.abs() if one_by_one else d * norm(w) / norm(d))
            else:
                moves.append(right(w, d) if w.dim() > 1 else 0 * d)
        return after(moves)

    if not known:
        return along(right), {}
    pairs = list(zip(weights, direction, strict=True))
    still = [norm(w, 1) == 0 if w.dim() > 1 else None for w in weights]
    kept = [
        0 * d if s is None else d.where(s, right(w, d))
        for s, w, d in zip(still, weights, direction, strict=True)
    ]
    thawed = [
        0 * d if still or w.dim() < 2 else right(w, d)
        for still, w, d in zip(frozen, weights, direction, strict=True)
    ]
    twice = [m * (1 + (w.shape == (16, 16))) for m, (w, _) in zip(kept, pairs, strict=True)]
    slips = {
        "a filter of the weights that is 0 has the norm 0: it isn't moved": after(kept),
        "a weight that two layers share is one parameter, moved once": after(twice),
        "a weight that two layers share moves in both, not under its first name alone": instead(
            lambda out: F.cross_entropy(out, y), tied=False
        ),
        "the weights were not moved: that is the loss of the model as it came": along(
            lambda w, d: 0 * d
        ),
        "a BatchNorm's weight has one dimension: it isn't moved": by_name(True),
        "a BatchNorm's weight, of one dimension, isn't moved": by_name(False),
        "the frozen parameters stayed where they were; all are moved, frozen or not": after(thawed),
        "the sign of the step: plus alpha times the direction": along(lambda w, d: -right(w, d)),
        "the direction is not normalised": along(lambda w, d: d),
        "scaled by the whole tensor's norm; each filter has its own": along(
            lambda w, d: d * norm(w) / norm(d)
        ),
        "divided by the whole direction's norm; each filter d[i] has its own": along(
            lambda w, d: d * norm(w, 1) / norm(d)
        ),
        "multiplied by the whole weight's norm; each filter p[i] has its own": along(
            lambda w, d: d * norm(w) / norm(d, 1)
        ),
        "scaled to norm 1; wanted is the norm of the weight's filter": along(
            lambda w, d: d / norm(d, 1)
        ),
        "multiplied by the filter's norm, but not divided by the direction's own": along(
            lambda w, d: d * norm(w, 1)
        ),
        "biases are not moved": along(right, lambda w, d: d * norm(w) / norm(d)),
        "parameters of one dimension aren't moved": along(right, lambda w, d: d),
        "parameters of one dimension aren't moved: their entries aren't filters": along(
            right, lambda w, d: d.sign() * w.abs()
        ),
        "the 2-norm of each filter is asked for, not the 1-norm": along(lambda w, d: by(w, d, 1)),
        "the 2-norm of each filter is asked for, not its largest entry": along(
            lambda w, d: by(w, d, float("inf"))
        ),
        "a sum over the samples; cross_entropy's mean is asked for": instead(
            lambda out: F.cross_entropy(out, y, reduction="sum")
        ),
        "the mean over all samples; the mean of the blocks' means is another where the last block "
        "is shorter": tuple(
            instead(functools.partial(mean_of_means, y=y, size=size))
            for size in (32, 50, 64, 100, 128, 200, 256, 500, 512, 1000, 1024)
            if kind == MANY
        ),
        "cross_entropy gets the output as it is, without a softmax": instead(
            lambda out: F.cross_entropy(out.softmax(1), y)
        ),
        "the share of wrong answers; the loss is asked for": instead(
            lambda out: (out.argmax(1) != y).float().mean()
        ),
        "each alpha counts from the start, not from where the last one ended": along(
            right, pile=True
        ),
        "measure by the weights that the model came with, and count from them": drifting(),
        "measure by the weights that the model came with, not by where the last alpha led": (
            drifting(from_start=True)
        ),
        "a filter is all of p[i], not each of its kernels": along(
            lambda w, d: (
                d
                * w.norm(dim=tuple(range(2, w.dim())), keepdim=True)
                / d.norm(dim=tuple(range(2, w.dim())), keepdim=True)
                if w.dim() > 2
                else right(w, d)
            )
        ),
        "a filter is all of p[i], not each row along the last dimension": along(
            lambda w, d: d * w.norm(dim=-1, keepdim=True) / d.norm(dim=-1, keepdim=True)
        ),
        **{
            f"nothing is added to the norm, and be it {e:g}: a faint filter is scaled, too": along(
                lambda w, d, e=e: d * norm(w, 1) / (norm(d, 1) + e)
            )
            for e in (1e-6, 1e-8, 1e-10)
        },
        **{
            f"divided by {e:g} at least: a faint filter is divided by its own norm, too": along(
                lambda w, d, e=e: d * norm(w, 1) / norm(d, 1).clamp(min=e)
            )
            for e in (1e-12, torch.finfo(torch.float32).eps)
        },
        "the norm of a filter is taken over all its other dimensions, not the second alone": along(
            lambda w, d: d * w.norm(dim=1, keepdim=True) / d.norm(dim=1, keepdim=True)
        ),
        "differences to the first loss; the losses themselves are asked for": (
            along(right) - along(right)[:1]
        ),
        "a bias of two dimensions was left where it was: its name doesn't count": after(
            [
                0 * d if w.dim() < 2 or name == "bias" else right(w, d)
                for name, w, d in zip(names, weights, direction, strict=True)
            ]
        ),
        "the last parameter was left where it was": after(
            [right(w, d) if w.dim() > 1 else 0 * d for w, d in pairs[:-1]] + [0 * direction[-1]]
        ),
        "a parameter of three dimensions was left where it was": along(
            lambda w, d: 0 * d if w.dim() == 3 else right(w, d)
        ),
        "parameters of more than two dimensions were left where they were": along(
            lambda w, d: right(w, d) if w.dim() == 2 else 0 * d
        ),
        "filters are along the first dimension, p[i], not the second": along(
            lambda w, d: d * w.norm(dim=0, keepdim=True) / d.norm(dim=0, keepdim=True)
        ),
        "filters are along the first dimension, p[i]": along(
            lambda w, d: (
                d * (w.norm(dim=1, keepdim=True) / d.norm(dim=1, keepdim=True))
                if w.dim() > 2
                else d * w.norm(dim=0) / d.norm(dim=0)
            )
        ),
    }
    return along(right), slips


@ends_in_notebook
def check_slice(case, attempt, kind, alphas):
    def why(error: Exception) -> str:
        unfit = any(word in str(error) for word in ("size", "shape", "zip()", "imension"))
        if "view size" in str(error) and "conv" in kind:
            return "a weight may have gaps in memory, as in channels_last"
        return PLACES_OF.get(kind, "") * unfit if alphas else "without an alpha the list is empty"

    found = tried(case, kind, attempt, kind, alphas, why=why)
    if found is FAILED:
        return
    losses, left = found
    assert losses is not None, "it returned None: is there an answer yet?"
    truth, _ = true_landscape(kind, alphas, known=False)
    with case(f"{kind}: losses"):
        several = losses if isinstance(losses, (list, tuple)) else [losses]
        tensors = any(isinstance(value, torch.Tensor) for value in several)
        assert not tensors, "tensors came back, a list of floats is asked for: .item() gives one"
        values = torch.as_tensor(losses)
        assert not values.isnan().any(), (
            "NaN: where a filter of the direction is 0, its norm is, too; it stays 0"
            if "zeros" in kind
            else "NaN among the losses"
        )
        what = "the losses (of the weights plus alpha times the scaled direction)"
        if kind == FAR and torch.isclose(values[:1], truth[:1], 2e-3).all():
            what += ": each alpha counts from a copy of the weights; to go on from where the last"
            what += " one ended, or back by subtracting, rounds, and"
        check_seen(values, truth, what, lambda: true_landscape(kind, alphas)[1], 2e-3, 1e-4)
    with case(f"{kind}: the model afterwards"):
        check_left(left)
