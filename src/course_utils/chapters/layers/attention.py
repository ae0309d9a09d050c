"""Attention: by hand, in many heads, and the library's own."""

from __future__ import annotations

import torch
import torch.nn as nn

from course_utils.chapters.layers.slips import attention_slips, head_slips, torch_attention
from course_utils.learner.calls import check_rules
from course_utils.learner.devices import device, seeded
from course_utils.learner.values import check_value

FUSED = ("*scaled_dot_product*", "*multi_head_attention*", "_transformer_encoder*")


def check_attention_1(try_attention, q, k, v, mask=None, causal=False):
    right, slips = (
        torch_attention(q, k, v, mask, causal),
        attention_slips(q, k, v, mask, causal),
    )
    y, names, changed = try_attention(q, k, v, mask, causal)
    check_rules(names, changed, *FUSED)
    blind = (right == 0).all(-1)
    if isinstance(y, torch.Tensor) and y.shape == right.shape:
        rows = y[blind]
        assert not rows.isnan().any(), "a query that sees nothing got NaN (0/0), expected zeros"
        assert (rows == 0).all(), "a query that sees nothing still got a mean, expected zeros"
        if (q.abs().max() > 50) & (y.isnan().any() or (y == 0).all(-1).any()):
            raise AssertionError("NaN or zeros: does the exponential of a large score overflow?")
    check_value(y, right, "the result", slips, rtol=1e-3, atol=1e-4)


def check_attention_2(try_multi_head, batch, time, width, heads, lengths=None):
    module, normal = (
        nn.MultiheadAttention(width, heads, batch_first=True, device=device),
        seeded(time),
    )
    weights = {name: normal(*p.shape) / 2 for name, p in module.named_parameters()}
    _ = module.load_state_dict(weights)
    x, padding = normal(batch, time, width), None
    if lengths:
        padding = torch.arange(time, device=device) >= torch.tensor(lengths, device=device).view(
            -1, 1
        )
    with torch.no_grad():
        right = module(x, x, x, key_padding_mask=padding)[0]
        slips = {} if padding is None else {"padding was not obeyed": module(x, x, x)[0]}
        if padding is not None:
            turned = module(x, x, x, key_padding_mask=~padding, need_weights=False)[0]
            slips["True means pad here: ignore this key"] = turned
    slips |= head_slips(x, module, padding)
    y, names, spoilt = try_multi_head(x, weights, heads, padding)
    check_rules(names, spoilt, *FUSED)
    check_value(y, right, "the result", slips, rtol=1e-3, atol=1e-4)
