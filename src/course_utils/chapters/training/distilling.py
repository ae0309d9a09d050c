"""Exercise 13.12: the teacher's loss, and what known slips give."""

from __future__ import annotations

from math import isfinite

import torch
import torch.nn.functional as F

from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close
from course_utils.learner.devices import device
from course_utils.learner.gradients import gradient_of
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_value

# Samples, classes, temperature, alpha; then, where they aren't the usual ones: seed, size, dtype.
PLAIN = [
    (4, 3, 1.0, 0.5),
    (5, 4, 4.0, 0.9),
    (3, 6, 2.5, 1.0),
    (3, 6, 2.0, 0.0),
    (1, 3, 2.0, 0.6),
    (4, 5, 0.5, 0.7),
    (4, 5, 20.0, 0.8),
]
DISTILLED: dict[str, tuple] = {
    "{} samples, {} classes, T = {}, alpha = {}".format(*how): how for how in PLAIN
}
DISTILLED["float64, logits far apart"] = (4, 5, 1.0, 0.9, 0, 12.0, torch.float64)
DISTILLED["logits in the thousands"] = (3, 4, 2.0, 0.7, 0, 1000.0)


def right_loss(student, teacher, labels, temperature, alpha, power=2, slip=""):
    temperature = max(temperature, 1.0) if slip == "at least 1" else temperature
    p, q = (student, teacher) if slip == "swap" else (teacher, student)
    own, dim = (1 if slip == "hot" else temperature), (0 if slip == "samples" else 1)
    own = 1 / temperature if slip in ("times", "both times") else own
    other = dict.fromkeys(("warmer", "both times"), 1 / temperature)
    his = ({"cold": 1} | other).get(slip, temperature)
    p, q = (p / his).log_softmax(dim), (q / own).log_softmax(dim)
    divergence = (p.exp() * (p - q)).sum(1).mean() / (student.shape[1] if slip == "each" else 1)
    divergence = divergence * (len(labels) if slip == "sum" else 1)
    if slip == "squares":
        divergence = (student - teacher).square().mean() / temperature**2
    rows = torch.arange(len(labels), device=labels.device)
    logits = student / temperature if slip == "cool" else student
    hard = -logits.log_softmax(1)[rows, labels].mean()
    alpha = 1 - alpha if slip == "turned" else alpha
    if slip == "entropy":
        divergence = divergence - (p.exp() * p).sum(1).mean()
    weight = {"unweighted": 1.0, "both": (1 - alpha) * temperature**2}.get(slip, 1 - alpha)
    weight = -weight if slip == "minus" else weight
    weight = weight * len(labels) if slip == "summed" else weight
    factor = 2**temperature if slip == "power" else temperature**power
    return alpha * factor * divergence + weight * hard


def distill_once(
    distill, n, classes, temperature, alpha, number=0, size=2.0, dtype=torch.float32
) -> tuple:
    """What came back, the arguments in float64, and as they were given."""
    generator = torch.Generator().manual_seed(number)
    z, t = (size * torch.randn(n, classes, generator=generator, dtype=torch.float64) for _ in "zt")
    labels = torch.randint(classes, (n,), generator=generator).to(device)
    wide, mine = (
        (z.to(device, kind), t.to(device, kind), labels, temperature, alpha)
        for kind in (torch.float64, dtype)
    )
    with forbid_changes(*mine[:3]):
        found = distill(*mine)
    assert found is not None, "distill returned None: is there an answer yet?"
    return found, wide, mine


SLIPS: dict[str, dict] = {
    "the divergence is the wrong way round: F.kl_div takes the student first": {"slip": "swap"},
    "the factor T squared is missing": {"power": 0},
    "the factor is T instead of T squared": {"power": 1},
    "the divergence is averaged over the classes too: reduction='batchmean'": {"slip": "each"},
    "the divergence is summed over the samples: reduction='batchmean'": {"slip": "sum"},
    "the softmax runs over the samples, not the classes: dim=1": {"slip": "samples"},
    "a temperature below 1 was taken for 1; any positive one is used": {"slip": "at least 1"},
    "the student's logits are not divided by T": {"slip": "hot"},
    "the student's logits are multiplied by T, where they are divided": {"slip": "times"},
    "the teacher's logits are not divided by T": {"slip": "cold"},
    "the teacher's logits are multiplied by T, where they are divided": {"slip": "warmer"},
    "the divergence is divided by T squared, where it is multiplied": {"power": -2},
    "the factor is 2 to the power of T, where it is T squared": {"slip": "power"},
    "the labels' part is taken off, where it is added": {"slip": "minus"},
    "the cross-entropy with the labels uses no temperature": {"slip": "cool"},
    "alpha weighs the teacher's part, 1 - alpha the labels'": {"slip": "turned"},
    "the labels' part has the weight 1 - alpha": {"slip": "unweighted"},
    "T squared belongs to the teacher's part alone": {"slip": "both"},
    "the logits are multiplied by T, where they are divided": {"slip": "both times"},
    "this is a squared difference of logits; the first part is a divergence": {"slip": "squares"},
    "the labels' part is summed over the samples, where it is a mean": {"slip": "summed"},
    "this is a cross-entropy with the teacher; the divergence is less by the teacher's entropy": {
        "slip": "entropy"
    },
}
LOG_TARGET = (
    "the loss is NaN for small logits too: does F.kl_div get the teacher's logarithms as if they "
    "were probabilities? log_target=True"
)
CUT_OFF = (
    "right for small logits, and not for those in the thousands: are they cut off, by clamp() say? "
    "Logits may be large, and log_softmax takes them as they are"
)
TOO_LARGE = (
    "the loss is NaN or infinite for large logits alone: a softmax that became 0, and its "
    "logarithm? Take log_softmax for both"
)


SQUEEZED = (
    "of a single sample the divergence is divided by the classes, as if they were samples: does "
    "squeeze() take the batch's axis away?"
)


def near(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-4 * (1 + abs(b))


def is_scalar(found) -> bool:
    return isinstance(found, torch.Tensor) and found.numel() == 1


def number(found) -> float:
    """A loss as a number; NaN for what isn't a scalar."""
    return found.item() if is_scalar(found) else float("nan")


def one_slip_in(tried: list[tuple]) -> str:
    """Words for what explains each wrong one of the pairs (found, the float64 arguments), or ""."""
    losses = [(number(found), right_loss(*wide).item(), wide) for found, wide in tried]
    wrong = [one for one in losses if not near(one[0], one[1])]
    if not wrong or not all(is_scalar(found) for found, _ in tried):
        return ""
    if not any(isfinite(value) for value, _, _ in wrong):
        small = any(wide[1].abs().max() < 100 for _, _, wide in wrong)
        if not small or all(value != value for value, _, _ in wrong):
            return LOG_TARGET if small else TOO_LARGE
    each = [right_loss(*wide, slip="each").item() for _, _, wide in wrong]
    as_each = all(near(one[0], loss) for one, loss in zip(wrong, each, strict=True))
    if as_each and all(len(one[2][0]) == 1 for one in wrong):
        return SQUEEZED
    for words, slip in SLIPS.items():
        if all(near(value, right_loss(*wide, **slip).item()) for value, _, wide in wrong):
            return words
    part = _part_in(wrong, losses)
    large = all(max(z.abs().max() for z in wide[:2]) > 100 for _, _, wide in wrong)
    return CUT_OFF if large and not part and len(wrong) < len(losses) else part


def _part_in(wrong: list[tuple], losses: list[tuple]) -> str:
    """Words for the part that is wrong, where cases of that part alone tell it."""
    parts = {0.0: "the labels' part", 1.0: "the teacher's part"}
    alone = {wide[4] for _, _, wide in losses} & parts.keys()
    bad = {wide[4] for _, _, wide in wrong} & parts.keys()
    if alone != parts.keys() or len(bad) != 1:
        return ""
    good = next(iter(parts.keys() - bad))
    return f"with alpha = {good:g} it is right, and so is {parts[good]}; look at the other part"


def check_loss(found, wide, slip=""):
    """Compare with the right loss; ``slip`` has words that explain all that is wrong."""
    right = right_loss(*wide)
    assert not slip or near(number(found), right.item()), slip
    one = isinstance(found, torch.Tensor) and found.numel() == 1
    fine = one and found.dtype == torch.float64
    loose = dict.fromkeys(("rtol", "atol"), 1e-9) if fine else {"rtol": 1e-4, "atol": 1e-5}
    words = "the loss"
    if fine and near(found.item(), right.item()):
        words += ", right to four digits or so only (computed in float32, or from a softmax that "
        words += "was bounded before its logarithm?)"
    check_close(found, right.to(found.dtype) if one else right, words, **loose)


def check_slope(mine, wide):
    """Compare the student's gradient with that of the right loss."""
    student, teacher, labels, _, alpha = wide
    z = student.clone().requires_grad_()
    losses = right_loss(z, teacher, *wide[2:]), (1 - alpha) * F.cross_entropy(z, labels)
    whole, hard = (torch.autograd.grad(loss, z)[0].to(mine.dtype) for loss in losses)
    slips = {
        "the teacher's part gives the student none: no detach on the student's logits": hard,
        "the labels' part gives the student none: no detach on the student's logits": whole - hard,
        "the student gets none: no detach, no item": torch.zeros_like(whole),
    }
    check_value(mine, whole, "the student's gradient", slips, rtol=1e-3, atol=1e-5)


@ends_in_notebook
def run_distill(distill, student, teacher, labels, temperature, alpha) -> list:
    """The gradients for the student and for the teacher."""
    mine = [z.detach().clone().requires_grad_() for z in (student, teacher)]
    for z in mine:
        z.grad = torch.full_like(z, 0.5)
    distill(*mine, labels, temperature, alpha)
    words = "requires_grad of the {} was changed: it is the caller's; detach() gives another tensor"
    old = "an old .grad of the {} was changed: it is the caller's, as the logits are"
    for name, z in zip(("student", "teacher"), mine, strict=True):
        assert z.requires_grad, words.format(name)
        kept = z.grad is not None and bool((z.grad == 0.5).all())
        assert kept, old.format(name)
    return gradient_of(distill, student, teacher, labels, temperature, alpha)
