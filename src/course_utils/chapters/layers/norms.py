"""Normalisation: batch norm by hand, and its family."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from course_utils.chapters.layers.slips import (
    backward_slips,
    batch_norm_slips,
    norm_slips,
    sum_slips,
)
from course_utils.learner.calls import check_rules
from course_utils.learner.values import check_parts, check_value

NORMS = ("*batch_norm*", "*layer_norm*", "*group_norm*", "*instance_norm*", "*rms_norm*")


def check_batch_norm_1(try_batch_norm, x, training, normal, momentum=0.1, eps=1e-5):
    weight, bias, mean, var = normal(4, x.shape[1]).to(x.dtype).unbind()
    args = x, weight, bias, mean, var.square() + 0.5, training, momentum, eps
    var, new_mean, new_var = args[4], mean.clone(), args[4].clone()
    right = F.batch_norm(x, new_mean, new_var, weight, bias, training, momentum, eps)
    result, names, changed = try_batch_norm(*args)
    check_rules(names, changed, *NORMS)
    y, found_mean, found_var = check_parts(result, "y", "new_mean", "new_var")
    double = x.dtype == torch.double
    slips = batch_norm_slips(*args, right)
    check_value(y, right, "y", slips, 1e-4, 1e-5 if double else 1e-4)
    mean_slips, var_slips = {}, {}
    if training:
        words = "momentum is the share of the new value"
        mean_slips[words] = momentum * mean + (1 - momentum) * x.mean((0, 2, 3))
        words = "the running variance takes the unbiased one: divided by n - 1"
        var_slips[words] = (1 - momentum) * var + momentum * x.var((0, 2, 3), correction=0)
    check_value(found_mean, new_mean, "the new running mean", mean_slips)
    check_value(found_var, new_var, "the new running variance", var_slips)


def check_batch_norm_3(try_batch_norm_backward, x, normal, eps=1e-5):
    x, weight, grad = x.double(), normal(x.shape[1]).double(), normal(*x.shape).double()
    z, w, b = (t.clone().requires_grad_() for t in (x, weight, torch.zeros_like(weight)))
    y = F.batch_norm(z, None, None, w, b, True, 0.1, eps)
    right = torch.autograd.grad(y, (z, w, b), grad)
    stats = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
    constant = F.batch_norm(z, *stats, weight, b.detach(), False, 0.1, eps)
    (direct,) = torch.autograd.grad(constant, z, grad)
    slips = {
        "mean and variance depend on x too: gradients flow through them": direct,
        "the variance depends on x too: the part along hat is still there": direct
        - direct.mean((0, 2, 3), keepdim=True),
        "the gradient arrives at y, behind the weight: multiply by it": right[0]
        / weight.view(-1, 1, 1),
    }
    slips = [
        slips | backward_slips(grad, x, weight, eps, right[0]),
        *sum_slips(grad, x, eps),
    ]
    result, names, changed = try_batch_norm_backward(grad, x, weight, eps)
    check_rules(names, changed, *NORMS, "grad", "backward")
    names = ("grad_x", "grad_weight", "grad_bias")
    for number, part in enumerate(check_parts(result, *names)):
        check_value(part, right[number], names[number], slips[number], 1e-5, 1e-7)


def check_norm_family(try_norm_family, x, kind, groups=1, eps=1e-5):
    whole = x.shape[1:]
    norms = {
        "batch": F.batch_norm(x, None, None, training=True, eps=eps),
        "layer": F.layer_norm(x, whole, eps=eps),
        "instance": F.instance_norm(x, eps=eps),
        "group": F.group_norm(x, groups, eps=eps),
        "rms": F.rms_norm(x, whole, eps=eps),
    }
    right = norms.pop(kind)
    slips = {f"this is {name} norm": wrong for name, wrong in norms.items()}
    slips |= norm_slips(x, kind, groups, eps)
    y, names, changed = try_norm_family(x, kind, groups, eps)
    check_rules(names, changed, *NORMS)
    check_value(y, right, f"{kind} norm", slips, atol=1e-4)
