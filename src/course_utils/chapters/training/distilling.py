"""Exercise 13.12: the teacher's loss, and what known slips give."""

from __future__ import annotations

import torch

from course_utils.learner.checks import check_close
from course_utils.learner.gradients import gradient_of


def right_loss(student, teacher, labels, temperature, alpha, power=2, slip=""):
    p, q = (student, teacher) if slip == "swap" else (teacher, student)
    own, dim = (1 if slip == "hot" else temperature), (0 if slip == "samples" else 1)
    p, q = (p / temperature).log_softmax(dim), (q / own).log_softmax(dim)
    divergence = (p.exp() * (p - q)).sum(1).mean() / (student.shape[1] if slip == "each" else 1)
    divergence = divergence * (len(labels) if slip == "sum" else 1)
    rows = torch.arange(len(labels), device=labels.device)
    logits = student / temperature if slip == "cool" else student
    hard = -logits.log_softmax(1)[rows, labels].mean()
    alpha = 1 - alpha if slip == "turned" else alpha
    return alpha * temperature**power * divergence + (1 - alpha) * hard


def check_loss(found, wide, right):
    """The slips first, then the value."""
    slips = {
        "the divergence is the wrong way round: F.kl_div takes the student first": {"slip": "swap"},
        "the factor T squared is missing": {"power": 0},
        "the factor is T instead of T squared": {"power": 1},
        "the divergence is averaged over the classes too: reduction='batchmean'": {"slip": "each"},
        "the divergence is summed over the samples: reduction='batchmean'": {"slip": "sum"},
        "the softmax runs over the samples, not the classes: dim=1": {"slip": "samples"},
        "the student's logits are not divided by T": {"slip": "hot"},
        "the cross-entropy with the labels uses no temperature": {"slip": "cool"},
        "alpha weighs the teacher's part, 1 - alpha the labels'": {"slip": "turned"},
    }
    one = isinstance(found, torch.Tensor) and found.numel() == 1
    value = found.item() if one else float("nan")

    def near(a, b):
        return abs(a - b) <= 1e-4 * (1 + abs(b))

    for words, slip in slips.items():
        wrong = right_loss(*wide, **slip).item()
        assert near(wrong, right.item()) or not near(value, wrong), words
    assert not one or value == value, "the loss is NaN: the logarithm of a softmax that became 0?"
    check_close(found, right.to(found.dtype) if one else right, "the loss", rtol=1e-4, atol=1e-5)


def run_distill(distill, student, teacher, labels, temperature, alpha) -> list:
    """The gradients for the student and for the teacher."""
    return gradient_of(distill, student, teacher, labels, temperature, alpha)
