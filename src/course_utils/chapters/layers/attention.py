"""Attention: by hand, in many heads, and the library's own."""

from __future__ import annotations

import re

import torch
import torch.nn as nn

from course_utils.chapters.layers.digits import check_digits
from course_utils.chapters.layers.slips import attention_slips, head_slips, torch_attention
from course_utils.chapters.layers.trials import refused
from course_utils.learner.calls import check_rules, watched
from course_utils.learner.devices import device, seeded
from course_utils.learner.tracebacks import what_was_raised

FUSED = ("*scaled_dot_product*", "*multi_head_attention*", "_transformer_encoder*")


def check_attention_1(try_attention, q, k, v, mask=None, causal=False):
    added = mask is not None and mask.is_floating_point()
    wide = *(t.detach().double() for t in (q, k, v)), mask.double() if added else mask, causal
    right, slips = torch_attention(*wide).to(q.dtype), attention_slips(*wide)
    try:
        y, names, changed = try_attention(q, k, v, mask, causal)
    except RuntimeError as error:
        raise with_reason(error, try_attention, q, k, v, mask, causal) from None
    check_rules(names, changed, *FUSED)
    blind = (right == 0).all(-1)
    if isinstance(y, torch.Tensor) and y.shape == right.shape:
        rows = y[blind]
        assert not rows.isnan().any(), "a query that sees nothing got NaN (0/0), expected zeros"
        assert (rows == 0).all(), "a query that sees nothing still got a mean, expected zeros"
        if (q.abs().max() > 50) & (y.isnan().any() or (y == 0).all(-1).any()):
            raise AssertionError("NaN or zeros: does the exponential of a large score overflow?")
    check_digits(y, right, "the result", slips, rtol=1e-3, atol=1e-4)


def with_reason(error: RuntimeError, try_attention, q, k, v, mask, causal) -> Exception:
    """What the call raised, with words where its sizes tell what went wrong."""
    told, wide = str(error), (*q.shape[:-1], k.shape[-2])
    odd = mask is not None and mask.shape != wide[-2:] and re.search("size|shape|dimension", told)
    if odd and refused(lambda: try_attention(q, k, v, None, causal)) == "nothing":
        shapes = f"here {tuple(mask.shape)}, for scores {wide}"
        words = f"a mask may have any shape that broadcasts to (…, T, S): {shapes}"
        return AssertionError(f"raised RuntimeError: {told}; {words}")
    sizes = {n for t in (q, k, v, mask) if t is not None for n in t.shape}
    met = re.search(r"tensor a \((\d+)\) must match the size of tensor b \((\d+)\)", told)
    strange = [n for n in map(int, met.groups()) if n not in sizes] if met else []
    if causal and strange:
        words = f"no dimension here is {strange[0]}: is a causal mask kept from an earlier call?"
        return AssertionError(f"raised RuntimeError: {told}; {words}")
    if causal and mask is None and wide[-2] != wide[-1] and "size" in told:
        words = f"T and S may differ: the causal mask is {wide[-2:]} here"
        return AssertionError(f"raised RuntimeError: {told}; {words}")
    if "dtype" in told or "scalar type" in told:
        words = f"all floating tensors are {q.dtype} here: is one that you make, such as a mask?"
        return AssertionError(f"raised RuntimeError: {told}; {words}")
    return error


def run_with_weights(function, x, weights: dict, *rest) -> tuple:
    """What ``watched`` says of a call, and words for what it did to the dict of weights."""
    given = dict(weights)
    result, names, changed = watched(function, x, weights, *rest)
    gone = [name for name in given if name not in weights]
    come = [name for name in weights if name not in given]
    other = [name for name in given if name in weights and weights[name] is not given[name]]
    spoilt = [f"{gone[0]} was taken out (pop does that)"] if gone else []
    spoilt += [f"{come[0]} was added"] if come else []
    spoilt += [f"{other[0]} was replaced"] if other else []
    return result, names, changed, spoilt


def check_dict(spoilt: list[str]) -> None:
    """Refuse a dict of weights that is not as it was."""
    assert not spoilt, f"the dict weights is the caller's: {'; '.join(spoilt)}"


def check_attention_2(
    try_multi_head, batch, time, width, heads, lengths=None, dtype=None, again=0, front=False
):
    """``again``: other numbers of the same sizes; ``front``: the pads come first."""
    module, normal = (
        nn.MultiheadAttention(width, heads, batch_first=True, device=device, dtype=dtype),
        seeded(time + 100 * again),
    )
    weights = {name: (normal(*p.shape) / 2).to(p) for name, p in module.named_parameters()}
    _ = module.load_state_dict(weights)
    weights = dict(reversed(weights.items()))  # looked up by name, not by place
    x, padding = normal(batch, time, width).to(module.in_proj_weight), None
    x = x.detach()
    if lengths:
        padding = torch.arange(time, device=device) >= torch.tensor(lengths, device=device).view(
            -1, 1
        )
        padding = padding.flip(1) if front else padding
    with torch.no_grad():
        right = module(x, x, x, key_padding_mask=padding)[0]
        slips = {} if padding is None else {"padding was not obeyed": module(x, x, x)[0]}
        if padding is not None:
            turned = module(x, x, x, key_padding_mask=~padding, need_weights=False)[0]
            slips["True means pad here: ignore this key"] = turned
            words = "no query may see a pad, but a pad may look: its answer isn't zeros"
            slips[words] = right.masked_fill(padding.unsqueeze(-1), 0)
            slips[words + " "] = torch.where(padding.unsqueeze(-1), module.out_proj.bias, right)
            words = "a pad whose features are zeros is still seen: in_proj_bias gives it a key"
            blank = x.masked_fill(padding.unsqueeze(-1), 0)
            slips[words] = module(blank, blank, blank, need_weights=False)[0]
            words = "pads may stand anywhere, not behind the words alone: the mask says where"
            last = padding.sort(1).values
            slips[words] = module(x, x, x, key_padding_mask=last, need_weights=False)[0]
    slips |= head_slips(x, module, padding)
    try:
        y, names, changed, spoilt = try_multi_head(x, weights, heads, padding)
    except Exception as error:
        told = what_was_raised(error)
        in_order = {name: weights[name] for name, _ in module.named_parameters()}
        alone = lengths and refused(lambda: try_multi_head(x, weights, heads, None)) == "nothing"
        if alone and "overflow" in str(error):
            words = f"a number such as -1e9 is too large for {x.dtype}; minus infinity is not"
            raise AssertionError(f"{told}; {words}") from None
        if alone and ("dtype" in str(error) or "scalar type" in str(error)):
            words = f"without padding it runs: is its mask {x.dtype}, as all floating tensors are?"
            raise AssertionError(f"{told}; {words}") from None
        if alone:
            words = "without padding it runs; padding is (N, T), and scores of all heads are"
            raise AssertionError(f"{told}; {words} (N, heads, T, T)") from None
        if refused(lambda: try_multi_head(x, in_order, heads, padding)) != "nothing":
            raise
        words = "the dict's entries come in any order: look each up by its name"
        raise AssertionError(f"{told}; {words}") from None
    check_dict(spoilt)
    check_rules(names, changed, *FUSED)
    check_digits(y, right, "the result", slips, rtol=1e-3, atol=1e-4)
