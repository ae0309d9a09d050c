"""Normalisation: batch norm by hand, and its family."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from course_utils.chapters.layers.digits import check_digits
from course_utils.chapters.layers.norm_slips import (
    backward_slips,
    batch_norm_slips,
    memory_slips,
    norm_slips,
    sum_slips,
)
from course_utils.learner.calls import check_rules
from course_utils.learner.values import check_parts

NORMS = ("*batch_norm*", "*layer_norm*", "*group_norm*", "*instance_norm*", "*rms_norm*")
FAR = (
    "{} is right near zero and wrong at a mean of 10000: E[x²] - E[x]² loses its digits there; take"
    " the mean off before you square or multiply"
)
MIXED = (
    "{} is right where all means are 10000 and wrong where some are -10000: take off each mean "
    "before you square or multiply, not one number for the whole tensor"
)


def check_batch_norm_1(try_batch_norm, x, training, normal, *options):
    """``options``: momentum and eps, or nothing, where they were left out."""
    momentum, eps = options or (0.1, 1e-5)
    weight, bias, mean, var = normal(4, x.shape[1]).to(x.dtype).unbind()
    learned = [t.clone().requires_grad_() for t in (weight, bias)]
    var = var.square() + 0.5
    new_mean, new_var = mean.clone(), var.clone()
    right = F.batch_norm(x, new_mean, new_var, weight, bias, training, momentum, eps)
    result, names, changed = try_batch_norm(x, *learned, mean, var, training, *options)
    check_rules(names, changed, *NORMS)
    y, found_mean, found_var = check_parts(result, "y", "new_mean", "new_var")
    slips = batch_norm_slips(x, weight, bias, mean, var, training, momentum, eps, right)
    of_mean, of_var = memory_slips(x, mean, var, training, momentum)
    check_digits(y, right, "y", slips, 1e-4, 1e-4)
    check_digits(found_mean, new_mean, "the new running mean", of_mean)
    check_digits(found_var, new_var, "the new running variance", of_var)


def signs(kind, x):
    """1 or -1 for each number: the same for those that share a mean, and for others another."""
    image, channel = (torch.arange(n, device=x.device) for n in x.shape[:2])
    image = image.unsqueeze(1)
    which = {"batch": channel, "layer": image, "instance": image + channel}
    odd = which.get(kind, image + channel // 2) % 2  # two channels for each group
    return (1 - 2 * odd)[..., None, None]


def shifts(kind, x):
    """What moves the numbers, and what to say where a result is wrong there alone."""
    return (0, ""), (10_000, FAR), (10_000 * signs(kind, x), MIXED)


def check_far(part, right, name, slips, rtol=2e-4, off=3e-2, words=FAR):
    """One result for numbers about 10000, ``off`` by that much; with ``slips``, about 0."""
    if slips is not None:
        check_digits(part, right, name, slips, rtol, 1e-4)
    close = isinstance(part, torch.Tensor) and part.shape == right.shape
    close = close and torch.allclose(part.detach().float(), right, off / 3, off)
    assert close, words.format(name)
    check_digits(part, right, name, rtol=off / 3, atol=off)


def check_batch_norm_far(try_batch_norm, normal):
    """Training on numbers about 10000, in float32, beside the same numbers about 0."""
    x, (weight, bias) = normal(4, 2, 2, 3), normal(2, 2).unbind()
    names = ("y", "the new running mean", "the new running variance")
    for shift, words in shifts("batch", x):
        moved = x + shift
        mean, var = (torch.full_like(weight, value) for value in (0.0, 1.0))
        memory = [mean.double(), var.double()]
        y = F.batch_norm(moved.double(), *memory, weight.double(), bias.double(), True)
        result, _, changed = try_batch_norm(moved, weight, bias, mean, var, True)
        check_rules([], changed)
        parts = check_parts(result, "y", "new_mean", "new_var")
        given = moved, weight, bias, mean, var, True, 0.1, 1e-5
        slips = [
            batch_norm_slips(*given, y.float()),
            *memory_slips(moved, mean, var, True, 0.1),
        ]
        for name, part, right, known in zip(names, parts, (y, *memory), slips, strict=True):
            check_far(part, right.float(), name, None if words else known, 1e-4, words=words)


def check_batch_norm_3(try_batch_norm_backward, x, normal, *options, silent=False):
    """``options``: eps, or nothing, where it was left out; ``silent``: a weight is 0."""
    eps = options[0] if options else 1e-5
    weight, grad = normal(x.shape[1]).to(x.dtype), normal(*x.shape).to(x.dtype)
    if silent:
        weight[-1] = 0
    if not x.is_contiguous():
        grad = torch.empty_like(x).copy_(grad)
    given = grad, x, weight
    grad, x, weight = (t.double() for t in given)
    z, w, b = (t.clone().requires_grad_() for t in (x, weight, torch.zeros_like(weight)))
    y = F.batch_norm(z, None, None, w, b, True, 0.1, eps)
    right = torch.autograd.grad(y, (z, w, b), grad)
    slips = [
        backward_slips(grad, x, weight, eps, right[0]),
        *sum_slips(grad, x, weight, eps),
    ]
    result, names, changed = try_batch_norm_backward(*given, *options)
    check_rules(names, changed, *NORMS, "grad", "backward")
    names = ("grad_x", "grad_weight", "grad_bias")
    for number, part in enumerate(check_parts(result, *names)):
        truth = right[number].to(given[1].dtype)
        words = f"{names[number]} has a nan where the weight is 0: nothing is divided by a weight"
        assert not (silent and isinstance(part, torch.Tensor) and part.isnan().any()), words
        check_digits(part, truth, names[number], slips[number], 1e-4, 1e-4)
        off = (part - truth).abs().max() / truth.abs().max()
        words = f"{names[number]} is right to ten digits or so, and float64 has fifteen"
        told = f"{words}: are these differences of the loss? formulas are asked for"
        assert truth.dtype != torch.float64 or off < 1e-12, told


def check_backward_far(try_batch_norm_backward, normal):
    """Backward on float32 numbers about 10000, beside the same numbers about 0."""
    x, some, weight = normal(4, 2, 3, 3), normal(4, 2, 3, 3), normal(2)
    centred = some - some.mean((0, 2, 3), keepdim=True)  # what the mean is off by cancels
    near, far, mixed = shifts("batch", x)
    trials = (*near, some, 3e-2), (*far, some, 3e-2), (*far, centred, 1e-4), (*mixed, some, 3e-2)
    for shift, told, grad, off in trials:
        moved = x + shift
        wide, w, b = (t.double().requires_grad_() for t in (moved, weight, 0 * weight))
        y = F.batch_norm(wide, None, None, w, b, training=True)
        right = torch.autograd.grad(y, (wide, w, b), grad.double())
        result, _, changed = try_batch_norm_backward(grad, moved, weight, 1e-5)
        check_rules([], changed)
        wide = grad.double(), moved.double(), weight.double(), 1e-5
        slips = [backward_slips(*wide, right[0]), *sum_slips(*wide)]
        names = ("grad_x", "grad_weight", "grad_bias")
        parts = check_parts(result, *names)
        for name, part, truth, known in zip(names, parts, right, slips, strict=True):
            close = off if name == "grad_weight" else 3e-2
            known = None if told else known
            check_far(part, truth.float(), name, known, 1e-4, close, told)


def check_norm_family(try_norm_family, x, kind, *options):
    """``options``: groups and eps, as far as they were given."""
    groups = options[0] if options else 1
    eps = options[1] if len(options) > 1 else 1e-5
    whole = x.shape[1:]
    norms = {
        "batch": F.batch_norm(x, None, None, training=True, eps=eps),
        "layer": F.layer_norm(x, whole, eps=eps),
        "instance": F.instance_norm(x, eps=eps),
        "group": F.group_norm(x, groups if kind == "group" else 1, eps=eps),
        "rms": F.rms_norm(x, whole, eps=eps),
    }
    right = norms.pop(kind)
    slips = norm_slips(x, kind, groups, eps)
    slips |= {f"this is {name} norm": wrong for name, wrong in norms.items()}
    y, names, changed = try_norm_family(x, kind, *options)
    check_rules(names, changed, *NORMS)
    check_digits(y, right, f"{kind} norm", slips, atol=1e-4)


def check_norm_far(try_norm_family, kind, normal):
    """A norm of float32 numbers about 10000, beside the same numbers about 0."""
    x = normal(3, 4, 2, 3)
    for shift, words in shifts(kind, x):
        moved = x + shift
        y, _, _ = try_norm_family(moved, kind, 2, 1e-5)
        wide = moved.double()
        right = {
            "batch": lambda x: F.batch_norm(x, None, None, training=True),
            "layer": lambda x: F.layer_norm(x, x.shape[1:]),
            "instance": F.instance_norm,
            "group": lambda x: F.group_norm(x, 2),
        }[kind](wide).float()
        known = None if words else norm_slips(x, kind, 2, 1e-5)
        check_far(y, right, f"{kind} norm", known, words=words)
