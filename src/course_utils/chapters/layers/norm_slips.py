"""What known slips make of batch norm, of its backward pass and of its family.

Each function takes what the learner's function was given, and returns mappings from the words for a
misconception to the tensor that it leads to.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F


def batch_norm_slips(x, weight, bias, mean, var, training, momentum, eps, right):
    """What known slips make of y."""
    column = (-1, 1, 1)
    slips = {"weight and bias are missing": (right - bias.view(column)) / weight.view(column)}
    used = mean, var
    if training:
        used = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
    centre, spread = (t.view(column) for t in used)
    scale, shift = weight.view(column), bias.view(column)
    outside = (x - centre) / (spread.sqrt() + eps) * scale + shift
    slips["eps is added to the variance, under the root"] = outside
    words = "divide by the root of the variance, not by the variance itself"
    slips[words] = (x - centre) / (spread + eps) * scale + shift
    slips["eps is missing: it is added to the variance"] = (
        x - centre
    ) / spread.sqrt() * scale + shift
    for dims, where in (((0,), "batch"), ((2, 3), "pixels"), ((1, 2, 3), "image")):
        own, middle = torch.var_mean(x, dims, correction=0, keepdim=True)
        words = f"a channel's mean goes over the batch and all pixels, not over the {where} alone"
        slips[words] = (x - middle) / (own + eps).sqrt() * scale + shift
    if x.numel() > x.shape[1]:
        used = "in training the batch's statistics are used, in eval the running ones"
        stats, fresh = (mean.clone(), var.clone()), (x.mean((0, 2, 3)), x.var((0, 2, 3)))
        slips[used] = F.batch_norm(x, *stats, weight, bias, not training, momentum, eps)
        words = "normalise by the batch's own statistics, not by the updated running ones"
        moved = [torch.lerp(old, new, momentum) for old, new in zip(stats, fresh, strict=True)]
        if training and momentum < 1:  # at 1 they hold the batch's own, divided by n - 1
            slips[words] = F.batch_norm(x, *moved, weight, bias, False, momentum, eps)
        words = "the batch is normalised by the variance divided by n, not n - 1"
        stats = x.mean((0, 2, 3)), x.var((0, 2, 3))
        slips[words] = F.batch_norm(x, *stats, weight, bias, False, momentum, eps)
    return slips


def backward_slips(grad, x, weight, eps, right):
    """What known slips make of grad_x."""
    var = x.var((0, 2, 3), correction=0, keepdim=True)
    std, scale = (var + eps).sqrt(), weight.view(-1, 1, 1)
    g = grad * scale
    hat = (x - x.mean((0, 2, 3), keepdim=True)) / var.sqrt()
    part = hat * (g * hat).mean((0, 2, 3), keepdim=True)
    inner = (x - x.mean((0, 2, 3), keepdim=True)) / std
    hat_part = inner * (g * inner).mean((0, 2, 3), keepdim=True)
    mean = g.mean((0, 2, 3), keepdim=True)
    wide = (x.var((0, 2, 3), keepdim=True) + eps).sqrt()
    other = (x - x.mean((0, 2, 3), keepdim=True)) / wide
    rough = var.sqrt() + eps
    outer = (x - x.mean((0, 2, 3), keepdim=True)) / rough
    outside = (g - mean - outer * (g * outer).mean((0, 2, 3), keepdim=True)) / rough
    unbiased = (g - mean - other * (g * other).mean((0, 2, 3), keepdim=True)) / wide
    return {
        "mean and variance depend on x too: gradients flow through them": g / std,
        "the variance depends on x too: the part along hat is still there": (g - mean) / std,
        "the gradient arrives at y, after the weight: multiply by it": right / scale,
        "a negative weight turns the gradient round: here its sign is lost": right * scale.sign(),
        "the batch was normalised by the variance divided by n, not n - 1": unbiased,
        "divide by the standard deviation, as the forward pass did": right * std,
        "eps is part of the hat as well": (g - mean - part) / std,
        "eps is added to the variance, under the root": outside,
        "eps is missing everywhere, or a fixed 1e-5: it is an argument": (g - mean - part)
        / var.sqrt(),
        "the part along hat is hat times the mean of g hat; here x less its mean is not divided": (
            g - mean - hat_part * std
        )
        / std,
        "the part along 1, which is the mean of g, is still there": right + mean / std,
        "the part along hat takes the mean of g hat, divided by n, not n - 1": right
        - hat_part / (x.numel() // x.shape[1] - 1) / std,
        "subtract the part along 1, which is the mean of g, not its sum": right
        + (mean - g.sum((0, 2, 3), keepdim=True)) / std,
    }


def sum_slips(grad, x, weight, eps):
    """What known slips make of grad_weight and grad_bias."""
    var, mean = torch.var_mean(x, (0, 2, 3), correction=0, keepdim=True)
    hat, n = (x - mean) / (var + eps).sqrt(), x.numel() // x.shape[1]
    words = "weight and bias are used once for each value: a sum, not a mean"
    of_weight = {
        words: (grad * hat).sum((0, 2, 3)) / n,
        "weight multiplies the hat, not x": (grad * x).sum((0, 2, 3)),
        "weight multiplies the hat, divided by the standard deviation": (grad * (x - mean)).sum(
            (0, 2, 3)
        ),
        "eps is part of the hat as well": (grad * (x - mean) / var.sqrt()).sum((0, 2, 3)),
    }
    of_bias, swapped = grad.sum((0, 2, 3)), "grad_weight comes before grad_bias: they are swapped"
    of_weight["weight itself doesn't enter its own gradient"] = (grad * hat).sum((0, 2, 3)) * weight
    of_weight[swapped] = of_bias
    return of_weight, {
        words: of_bias / n,
        "weight multiplies the hat alone, not the bias": of_bias * weight,
        swapped: (grad * hat).sum((0, 2, 3)),
    }


def memory_slips(x, mean, var, training, momentum):
    """What known slips make of the new running mean, and of the new running variance."""
    batch = torch.var_mean(x, (0, 2, 3), correction=0)[::-1]
    slips = {}, {}
    for found, old, new in zip(slips, (mean, var), batch, strict=True):
        if not training:
            found["in eval the running statistics stay as they are"] = torch.lerp(
                old, new, momentum
            )
            continue
        found["momentum is the share of the new value"] = torch.lerp(new, old, momentum)
        words = "momentum is an argument; 0.1 is only its default"
        unbiased = x.var((0, 2, 3)) if old is var else new
        found[words] = torch.lerp(old, unbiased, 0.1)
        found["training updates the running statistics; this is the old value"] = old
        if momentum < 1:  # at 1 the batch's alone is right
            found["mix the batch's value with the old one; this is the batch's alone"] = new
    if training:
        words = "the running variance takes the unbiased one: divided by n - 1"
        slips[1][words] = torch.lerp(var, batch[1], momentum)
        words = "the running variance takes variances, not standard deviations"
        slips[1][words] = torch.lerp(var, x.var((0, 2, 3)).sqrt(), momentum)
        words = "n counts all values of a channel, those of every pixel, not the images alone"
        by_image = batch[1] * len(x) / max(len(x) - 1, 1)
        slips[1][words] = torch.lerp(var, by_image, momentum)
    return slips


def norm_slips(x, kind, groups, eps):
    """What known slips make of a norm, over wrong dimensions and with other variances."""
    rms, y, dims = kind == "rms", x, {"batch": (0, 2, 3), "instance": (2, 3)}.get(kind, (1, 2, 3))
    if kind == "group":
        y, dims = x.reshape(len(x), groups, -1, *x.shape[2:]), (2, 3, 4)

    def normed(y, dims, correction=0, outside=False):
        mean = 0 if rms else y.mean(dims, keepdim=True)
        var = (y - mean).square().mean(dims, keepdim=True)
        if correction:
            var = y.var(dims, keepdim=True)
        return ((y - mean) / (var.sqrt() + eps if outside else (var + eps).sqrt())).reshape(x.shape)

    slips = {"eps is added under the root": normed(y, dims, outside=True)}
    mean = 0 if rms else y.mean(dims, keepdim=True)
    var, words = (y - mean).square().mean(dims, keepdim=True), "eps is an argument; "
    slips[words + "1e-5 is only its default"] = ((y - mean) / (var + 1e-5).sqrt()).reshape(x.shape)
    slips[words + "it is missing here"] = ((y - mean) / var.sqrt()).reshape(x.shape)
    if rms:
        words = "divide by the root of the mean square, not of the variance: no mean is taken off"
        slips[words] = x / (x.var(dims, correction=0, keepdim=True) + eps).sqrt()
    else:
        slips["divide the variance by n, not n - 1 (correction=0)"] = normed(y, dims, 1)
    if kind in ("layer", "rms"):
        for words, wrong in {"channels": 1, "pixels": (2, 3), "last dimension": 3}.items():
            words = f"one mean for each image, over channels and pixels, not over the {words} alone"
            slips[words] = normed(x, wrong)
    if kind == "group":
        words = "groups says how many there are, not how many channels each has"
        swapped = x.reshape(len(x), -1, groups, *x.shape[2:])
        slips[words] = normed(swapped, dims)
        turned = normed(swapped.transpose(1, 2), dims).reshape(len(x), groups, -1, *x.shape[2:])
        words = "a group is a run of neighbouring channels, not every second or third"
        slips[words] = turned.transpose(1, 2).reshape(x.shape)
    return slips
