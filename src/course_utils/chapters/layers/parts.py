"""Which of the learner's layers the end of the chapter can build on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from course_utils.learner.devices import seeded


def first_of(result: Any) -> torch.Tensor:
    """The result, or the first of several."""
    return result[0] if isinstance(result, (tuple, list)) else result


def works(answer: Callable, truth: Callable, *args: Any) -> bool:
    """Whether ``answer(*args)`` is what ``truth(*args)`` is, with the gradient of each argument.

    Where a call gives several results, the first is compared. Whatever an unfinished answer does or
    raises, it doesn't work.

    Args:
        answer: the learner's function.
        truth: the library's.
        args: of both; gradients are asked for by the floating-point tensors among them.
    """

    def run(function: Callable) -> tuple:
        given = [
            arg.detach().clone().requires_grad_()
            if isinstance(arg, torch.Tensor) and arg.is_floating_point()
            else arg
            for arg in args
        ]
        leaves = [arg for arg in given if isinstance(arg, torch.Tensor) and arg.requires_grad]
        y = first_of(function(*given))
        weights = torch.arange(y.numel(), device=y.device).view(y.shape).cos()
        found = torch.autograd.grad((weights * y).sum(), leaves, materialize_grads=True)
        return y, *found

    right = run(truth)
    try:
        mine = run(answer)
        return all(
            torch.allclose(a, b, rtol=1e-3, atol=1e-4) for a, b in zip(mine, right, strict=True)
        )
    except Exception:
        return False


def library_norm(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    mean: torch.Tensor,
    var: torch.Tensor,
    training: bool,
) -> tuple:
    """PyTorch's batch norm, with new running statistics as the exercise wants them."""
    memory = mean.clone(), var.clone()
    return F.batch_norm(x, *memory, weight, bias, training), *memory


def library_heads(x: torch.Tensor, weights: Mapping[str, torch.Tensor], heads: int) -> torch.Tensor:
    """PyTorch's attention in several heads, of x (batch, time, width), without padding."""
    qkv = F.linear(x, weights["in_proj_weight"], weights["in_proj_bias"])
    q, k, v = qkv.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    return F.linear(y, weights["out_proj.weight"], weights["out_proj.bias"])


def choose_parts(linear: Callable, batch_norm: Callable, multi_head: Callable) -> tuple:
    """The learner's linear layer, batch norm and heads where they work, else PyTorch's."""
    normal, names = seeded(0), ("in_proj_weight", "in_proj_bias", "out_proj.weight")

    def heads_of(function: Callable) -> Callable:
        def run(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
            return function(x, dict(zip((*names, "out_proj.bias"), weights, strict=True)), 2)

        return run

    def norm_of(function: Callable, training: bool) -> Callable:
        return lambda *args: function(*args, *(t.clone() for t in memory), training)

    rows = normal(2, 5, 4), normal(3, 4), normal(3)
    pixels, memory = (
        (normal(4, 3, 2, 2), normal(3), normal(3)),
        (normal(3), 0.5 + normal(3).square()),
    )
    words = normal(2, 5, 4), normal(12, 4), normal(12), normal(4, 4), normal(4)
    norms = [
        works(norm_of(batch_norm, on), norm_of(library_norm, on), *pixels) for on in (True, False)
    ]
    return (
        linear if works(linear, F.linear, *rows) else F.linear,
        batch_norm if all(norms) else library_norm,
        multi_head
        if works(heads_of(multi_head), heads_of(library_heads), *words)
        else library_heads,
    )
