"""What known slips make of a layer's result, so that a check can call them by their names.

Each function takes what the learner's function was given, and returns tensors that the known
misconceptions lead to: alone, or in a mapping from the words for the misconception.
"""

from __future__ import annotations

from itertools import permutations

import torch
import torch.nn.functional as F

RESET = "r multiplies all of b_n, its bias too, and comes after the product with the weight"
TURNED = "a row of w_hh belongs to an entry of the new state: multiply by its transpose"
COUNTED_LATE = "the loss counts each state with its graph: add it up before you detach it"
CELLS = {"rnn": torch.rnn_tanh_cell, "gru": torch.gru_cell, "lstm": torch.lstm_cell}


def overwritten_stamps(x, weight, stride, backwards):
    """What comes out if a stamp replaces what lies below it."""
    right = F.conv_transpose2d(x, weight, stride=stride)
    (kh, kw), places = (
        weight.shape[2:],
        [(i, j) for i in range(x.shape[2]) for j in range(x.shape[3])],
    )
    for i, j in places[::-1] if backwards else places:
        stamp = torch.einsum("nc,cdij->ndij", x[:, :, i, j], weight)
        right[:, :, stride * i : stride * i + kh, stride * j : stride * j + kw] = stamp
    return right


def with_gates(kind, x, state, weights, order, turned=None):
    """PyTorch's cell, the gates of its weights in another order, one of them with another sign."""
    changed = [torch.stack(weight.chunk(len(order)))[list(order)] for weight in weights]
    for weight in changed:
        weight[turned if turned is not None else []] *= -1
    return CELLS[kind](x, state, *(weight.flatten(0, 1) for weight in changed))


def common_slips(kind, x, state, weights, gates):
    """The cell without one of its biases, and with its gates' rows mixed."""
    w_ih, w_hh, b_ih, b_hh = weights
    mixed = [w.unflatten(0, (-1, gates)).transpose(0, 1).flatten(0, 1) for w in weights]
    slips = {
        "b_hh is missing": (w_ih, w_hh, b_ih, 0 * b_hh),
        "b_ih is missing": (w_ih, w_hh, 0 * b_ih, b_hh),
        "each product has a bias of its own; here b_ih is added twice": (w_ih, w_hh, b_ih, b_ih),
        "each product has a bias of its own; here b_hh is added twice": (w_ih, w_hh, b_hh, b_hh),
        "each gate is a block of rows; here the rows alternate": mixed,
    }
    return {words: CELLS[kind](x, state, *wrong) for words, wrong in slips.items()}


def soft_g(x, state, weights):
    """The LSTM's c if g were a sigmoid, which is (tanh(a / 2) + 1) / 2."""

    def with_g(factor, shift):
        changed = [torch.stack(weight.chunk(4)) for weight in weights]
        for weight in changed:
            weight[2] *= factor
        changed[2][2] += shift
        return torch.lstm_cell(x, state, *(weight.flatten(0, 1) for weight in changed))[1]

    return (with_g(0.5, 0) + with_g(0, 100)) / 2


def bptt_gradient(x, w_ih, w_hh, cuts, fresh=False, counted=None, early=False):
    """Cut before these steps; fresh: the state starts anew there.

    The loss counts the states after the steps in ``counted``, or all. ``early``: a state is cut
    off before the loss counts it.
    """
    w, total = w_hh.clone().requires_grad_(), w_hh.new_zeros(())
    h = x.new_zeros(x.shape[1], len(w))
    for t in range(len(x)):
        h = (h * (0 if fresh else 1)).detach() if t in cuts else h
        h = torch.rnn_tanh_cell(x[t], h, w_ih, w)
        h = h.detach() if early and t + 1 in cuts else h
        total = total + h.sum() * (counted is None or t in counted)
    return torch.autograd.grad(total, w)[0] if total.requires_grad else torch.zeros_like(w)


def torch_attention(q, k, v, mask, causal, diagonal=0, **options):
    """PyTorch's attention with any mask and causal at once."""
    added = q.new_zeros(q.shape[-2], k.shape[-2])
    if causal:
        added = added.masked_fill(torch.ones_like(added).tril(diagonal) == 0, -torch.inf)
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.where(mask, 0.0, -torch.inf).to(q.dtype)
    added = added if mask is None else added + mask
    added = added.expand(*q.shape[:-1], k.shape[-2])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=added, **options)


def weight_slips(q, k, v, mask, causal):
    """What slips after the scores make of the answer."""
    may = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device)
    late, may = k.shape[-2] - q.shape[-2], may.tril() if causal else may
    added = 0
    if mask is not None:
        may, added = (may & mask, 0) if mask.dtype == torch.bool else (may, mask)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5 + added
    columns = scores.masked_fill(~may, -torch.inf).softmax(-2) @ v
    words = "mask the scores before the softmax: here a row's weights no longer sum to 1"
    slips = {
        "the softmax goes over the keys, not over the queries": columns,
        "the softmax goes over the keys, not over the queries ": columns.nan_to_num(),
        words: (scores.softmax(-1) * may) @ v,
        "divide by the root of d, the last dimension of q, not by another root": torch_attention(
            q, k, v, mask, causal, scale=k.shape[-2] ** -0.5
        ),
    }
    if causal and late:
        words = "query i sees keys 0 to i, counted from the start, however many keys there are"
        slips[words] = torch_attention(q, k, v, mask, True, diagonal=late)
    return slips


def attention_slips(q, k, v, mask, causal):
    """What known slips make of the answer."""
    d = q.shape[-1]
    slips = {
        "divide the scores by the root of d": torch_attention(q, k, v, mask, causal, scale=1.0),
        "the root of d, not d itself": torch_attention(q, k, v, mask, causal, scale=1 / d),
    }
    words = "divide by the root of d, the last dimension of q, not of v"
    if v.shape[-1] != d:
        slips[words] = torch_attention(q, k, v, mask, causal, scale=v.shape[-1] ** -0.5)
    if causal:
        slips["query i sees key i itself too"] = torch_attention(q, k, v, mask, True, diagonal=-1)
        words = "query i sees keys 0 to i, but not the key behind that"
        slips[words] = torch_attention(q, k, v, mask, True, diagonal=1)
        slips["causal was not obeyed"] = torch_attention(q, k, v, mask, False)
    if mask is not None:
        slips["the mask was not obeyed"] = torch_attention(q, k, v, None, causal)
        if mask.dtype == torch.bool:
            slips["True means that a query may look"] = torch_attention(q, k, v, ~mask, causal)
            scores = q @ k.transpose(-2, -1) / d**0.5 * mask
            if causal:
                future = torch.ones_like(scores, dtype=torch.bool).triu(1)
                scores = scores.masked_fill(future, -torch.inf)
            words = "a masked score is minus infinity; a score of 0 still gets a weight"
            slips[words] = scores.softmax(-1) @ v
        else:
            words = "a floating mask is added after the division"
            slips[words] = torch_attention(q, k, v, mask / d**0.5, causal)
            words = (
                "a floating mask is added, whatever its numbers: they aren't read as true or false"
            )
            slips[words] = torch_attention(q, k, v, mask == 0, causal)
    return slips | weight_slips(q, k, v, mask, causal)


@torch.no_grad()
def head_slips(x, module, padding):
    """What known slips make of several heads: the module with other weights, or reshaped."""
    weights, heads, width = module.state_dict(), module.num_heads, x.shape[-1]
    q, k, v = weights["in_proj_weight"].chunk(3)
    b, c, d = weights["in_proj_bias"].chunk(3)
    wide, none = heads**-0.5, (width / heads) ** 0.5
    plain = {"out_proj.weight": torch.eye(width).to(x), "out_proj.bias": 0 * b}
    words = "queries first, then keys, then values"
    changes = {
        "divide by the root of a head's width, not of the whole": (
            [q * wide, k, v],
            [b * wide, c, d],
        ),
        "divide the scores by the root of a head's width": ([q * none, k, v], [b * none, c, d]),
        "in_proj_bias is missing": ([q, k, v], [0 * b] * 3),
        f"in_proj_weight holds {words}": ([k, q, v], [c, b, d]),
        f"in_proj_weight holds {words} ": ([v, k, q], [d, c, b]),
        f"in_proj_weight holds {words}  ": ([q, v, k], [b, d, c]),
    }
    changes = {
        name: {"in_proj_weight": torch.cat(w), "in_proj_bias": torch.cat(biases)}
        for name, (w, biases) in changes.items()
    }
    changes["the last projection is missing"] = plain
    words = "out_proj.weight is (out, in): multiply by its transpose"
    changes[words] = {"out_proj.weight": weights["out_proj.weight"].t()}
    changes["out_proj.bias is missing"] = {"out_proj.bias": 0 * b}
    run = lambda new: torch.func.functional_call(  # noqa: E731
        module, weights | new, (x, x, x), {"key_padding_mask": padding}
    )[0]
    slips = {name: run(new) for name, new in changes.items()}
    return slips | shape_slips(x, module, run(plain), padding)


@torch.no_grad()
def shape_slips(x, module, joined, padding):
    """Heads that are cut or joined by a reshape alone, and pads that are kept from looking."""
    n, time, width = x.shape
    mixed = joined.unflatten(-1, (module.num_heads, -1)).transpose(1, 2).reshape(n, time, width)
    parts = F.linear(x, module.in_proj_weight, module.in_proj_bias).chunk(3, -1)
    bare = [part.reshape(n, module.num_heads, time, -1) for part in parts]
    mask = None if padding is None else ~padding.view(n, 1, 1, time)
    cut = F.scaled_dot_product_attention(*bare, attn_mask=mask)
    told = "all queries come first, then all keys; here each head has its own three side by side"
    own = torch.cat(parts, -1).reshape(n, time, module.num_heads, 3, -1).permute(3, 0, 2, 1, 4)
    own = F.scaled_dot_product_attention(*own, attn_mask=mask).transpose(1, 2)
    words = "a head owns neighbouring features, the first the first of them; here they alternate"
    apart = [part.reshape(n, time, -1, module.num_heads).permute(0, 3, 1, 2) for part in parts]
    apart = F.scaled_dot_product_attention(*apart, attn_mask=mask).transpose(1, 2)
    mixes = "a head owns some of the features of every word; this reshape mixes words"
    slips = {
        words: module.out_proj(apart.reshape(n, time, width)),
        words + " ": module.out_proj(apart.transpose(2, 3).reshape(n, time, width)),
        told: module.out_proj(own.reshape(n, time, width)),
        mixes + " ": module.out_proj(cut.transpose(1, 2).reshape(n, time, width)),
        mixes: module.out_proj(cut.reshape(n, time, width)),
        "heads and words must change places again before the heads are joined": module.out_proj(
            mixed
        ),
    }
    if padding is not None:
        if n == module.num_heads:
            words = "padding[i] belongs to sentence i and to all of its heads, not to head i"
            heads = [part.unflatten(-1, (n, -1)).transpose(1, 2) for part in parts]
            y = F.scaled_dot_product_attention(*heads, attn_mask=~padding.unsqueeze(1))
            slips[words] = module.out_proj(y.transpose(1, 2).reshape(n, time, width))
        seen = module(x, x, x)[0]
        words = "padding hides keys: a pad may not be seen, though it may look"
        slips[words] = torch.where(padding.unsqueeze(-1), module.out_proj.bias, seen)
    return slips


def gradient_slips(x, w_ih, w_hh, k, right):
    """What known slips make of a truncated gradient, cut before the steps k, 2k, …"""
    time = len(x)
    cuts = range(k, time, k)
    slips = {
        "nothing is cut: this is the whole gradient": bptt_gradient(x, w_ih, w_hh, ()),
        TURNED: bptt_gradient(x, w_ih, w_hh.t(), cuts).t(),
        "the gradient has the layout of w_hh; this is its transpose": right.t(),
        "the graph is cut at every step": bptt_gradient(x, w_ih, w_hh, range(time)),
        "the state's values are carried over at a cut; here they start from zero": bptt_gradient(
            x, w_ih, w_hh, cuts, True
        ),
        "the first cut is before step k, not k - 1": bptt_gradient(
            x, w_ih, w_hh, range(k - 1, time, k)
        ),
        "the first cut is before step k, not k + 1": bptt_gradient(
            x, w_ih, w_hh, range(k + 1, time, k)
        ),
    }
    if time % k and time > k:
        words = "time need not be a multiple of k: the last, shorter piece counts, too"
        slips[words] = bptt_gradient(x[: time // k * k], w_ih, w_hh, cuts)
    slips |= {
        "the loss is a sum over the steps, not a mean": right / time,
        "the loss counts the states of every piece, not of the last alone": bptt_gradient(
            x, w_ih, w_hh, cuts, counted=range((time - 1) // k * k, time)
        ),
        "the loss counts every state, not the last alone": bptt_gradient(
            x, w_ih, w_hh, cuts, counted=[time - 1]
        ),
        "the loss counts every state, not the last of each piece": bptt_gradient(
            x, w_ih, w_hh, cuts, counted=[*range(k - 1, time - 1, k), time - 1]
        ),
        COUNTED_LATE: bptt_gradient(x, w_ih, w_hh, cuts, early=True),
        COUNTED_LATE + " ": bptt_gradient(x, w_ih, w_hh, range(k, time + 1, k), early=True),
        "the graph is cut before 2k, 3k and so on, not before k alone": bptt_gradient(
            x, w_ih, w_hh, [k]
        ),
        "the loss is a sum over the batch and the state, not a mean": right
        / x.shape[1]
        / len(w_hh),
        "the loss is a sum over steps, batch and state, not a mean": right
        / (time * x.shape[1] * len(w_hh)),
    }
    return slips


def lstm_slips(x, state, weights, order):
    """What known slips make of the LSTM's c; ``order`` is what to say of gates out of order."""
    slips = {"g goes through tanh, the three gates through the sigmoid": soft_g(x, state, weights)}
    w_ih, w_hh, b_ih, b_hh = weights
    more = b_ih.clone()
    more[len(more) // 4 : len(more) // 2] += 1  # of old, f began open
    words = "f is the sigmoid of a + b, as it is: nothing is added"
    slips[words] = torch.lstm_cell(x, state, w_ih, w_hh, more, b_hh)[1]
    for number, wrong in enumerate(list(permutations(range(4)))[1:]):
        slips[order + " " * number] = with_gates("lstm", x, state, weights, wrong)[1]
    return slips


def gru_slips(x, h, weights, order):
    """What known slips make of the GRU's state; ``order`` is what to say of gates out of order."""
    words = "z keeps the old state, 1 - z takes the new one"
    slips = {words: with_gates("gru", x, h, weights, (0, 1, 2), turned=1)}
    w_ih, w_hh, b_ih, b_hh = weights
    (a_r, a_z, a_n), (b_r, b_z, b_n) = (
        F.linear(x, w_ih, b_ih).chunk(3, 1),
        F.linear(h, w_hh, b_hh).chunk(3, 1),
    )
    r, z = (a_r + b_r).sigmoid(), (a_z + b_z).sigmoid()
    early = F.linear(r * h, w_hh.chunk(3)[2], b_hh.chunk(3)[2])
    slips[RESET] = (1 - z) * (a_n + early).tanh() + z * h
    outside = a_n + r * F.linear(h, w_hh.chunk(3)[2]) + b_hh.chunk(3)[2]
    slips[RESET + " "] = (1 - z) * outside.tanh() + z * h
    words = "r multiplies the part of b, the old state's, not that of a"
    slips[words] = (1 - z) * (r * a_n + b_n).tanh() + z * h
    for number, wrong in enumerate(list(permutations(range(3)))[1:]):
        slips[order + " " * number] = with_gates("gru", x, h, weights, wrong)
    return slips


def rnn_slips(x, h, weights):
    """What known slips make of the plain recurrent step."""
    w_ih, w_hh, b_ih, b_hh = weights
    a, b = F.linear(x, w_ih, b_ih), F.linear(h, w_hh, b_hh)
    return {
        "the tanh is missing": a + b,
        "the step goes through tanh, not relu": (a + b).relu(),
        TURNED: (a + h @ w_hh + b_hh).tanh(),
    }
