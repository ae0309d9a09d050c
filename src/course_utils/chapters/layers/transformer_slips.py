"""What known slips make of the tiny transformer's scores, each by the words for it.

``make`` gives the library's model with its weights; each slip spoils such a model, and runs it.
"""

from __future__ import annotations

from functools import partial
from itertools import permutations

import torch
import torch.nn.functional as F


@torch.no_grad()
def transformer_slips(make, ids, right, heads):
    """All of them, by their words."""
    slips = {"a letter must not see the ones after it: the mask is not causal": make()(ids, False)}
    slips |= outer_slips(make, ids, right) | eps_slips(make, ids) | order_slips(make, ids)
    slips |= block_slips(make, ids, heads, make().token.weight.shape[1])
    return slips | weight_slips(make, ids, heads)


def weight_slips(make, ids, heads):
    """What the scores are if the blocks use a weight that isn't theirs, turned or not at all."""
    width = make().token.weight.shape[1]
    changes = {
        "no gelu: the small net is linear": lambda block, _: setattr(
            block, "activation", torch.clone
        ),
        "norm2 has a weight of its own, which isn't norm1's": lambda block, _: (
            block.norm2.weight.copy_(block.norm1.weight)
        ),
        "out_proj.weight is (out, in): multiply by its transpose": lambda block, _: (
            block.self_attn.out_proj.weight.copy_(block.self_attn.out_proj.weight.t().clone())
        ),
        "out_proj is missing: it mixes what the heads found": lambda block, _: (
            block.self_attn.out_proj.weight.copy_(torch.eye(width))
        ),
        "divide the scores by the root of a head's width": lambda block, _: (
            block.self_attn.in_proj_weight[:width].mul_((width / heads) ** 0.5)
        ),
        "every block has weights of its own; here all use those of block 0": lambda block, first: (
            block.load_state_dict(first.state_dict())
        ),
    }
    words = "a head owns a run of neighbouring features, not every second or fourth"
    changes[words] = lambda block, _: block.self_attn.in_proj_weight.copy_(
        block.self_attn.in_proj_weight.view(3, -1, heads, width).transpose(1, 2).flatten(0, 2)
    )
    for number, order in enumerate(list(permutations(range(3)))[1:]):
        words = "in_proj_weight holds queries first, then keys, then values" + " " * number
        changes[words] = lambda block, _, order=order: block.self_attn.in_proj_weight.copy_(
            torch.cat([block.self_attn.in_proj_weight.chunk(3)[part] for part in order])
        )
    slips = {}
    for words, change in changes.items():
        model = make()
        for block in model.encoder.layers:
            change(block, model.encoder.layers[0])
        slips[words] = model(ids)
    return slips


def block_slips(make, ids, heads, width):
    """What slips inside the blocks make of the scores: the library's model, spoilt."""
    slips, spoilt = {}, {}

    def forget(block, step):
        def forward(x, src_mask=None, **_):
            start = block.norm1(x) if step in (0, 3) else x
            y = block._sa_block(block.norm1(x), src_mask, None)
            x = y if step == 1 else start + y
            start = block.norm2(x) if step == 0 else x
            y = block._ff_block(block.norm2(x))
            return y if step == 2 else start + y

        block.forward = forward

    def by_view(block, cut, back=False):
        def forward(x, src_mask=None, **_):
            attention, y = block.self_attn, block.norm1(x)
            n, time, _ = y.shape
            parts = F.linear(y, attention.in_proj_weight).chunk(3, -1)
            whole = [part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in parts]
            bare = [part.reshape(n, heads, time, -1) for part in parts]
            q, k, v = bare if cut else whole
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            y = y.transpose(1, 2) if back else y
            x = x + attention.out_proj(y.reshape(n, time, -1))
            return x + block._ff_block(block.norm2(x))

        block.forward = forward

    words = "a head owns some of the features of every letter; this view mixes letters"
    spoilt[words] = lambda block: by_view(block, True)
    spoilt[words + " "] = lambda block: by_view(block, True, True)
    words = "heads and letters must change places again before the heads are joined"
    spoilt[words] = lambda block: by_view(block, False)
    for step, name in ((1, "attention"), (2, "the small net")):
        words = f"its input is added after {name}: the x + is missing"
        spoilt[words] = lambda block, step=step: forget(block, step)
    words = "a step is added to x itself, not to its norm"
    spoilt[words] = lambda block: forget(block, 0)
    spoilt[words + " "] = lambda block: forget(block, 3)
    words = f"attention has {heads} heads, each with its own part of the features"
    spoilt[words] = lambda block: setattr(block.self_attn, "num_heads", 1)
    for count in (2, 4, 8):
        if count != heads and width % count == 0:
            words = f"heads says how many heads there are; here there are {count} in any case"
            spoilt[words] = lambda block, count=count: setattr(block.self_attn, "num_heads", count)
    words = "divide the scores by the root of a head's width, not of the whole"
    spoilt[words] = lambda block: block.self_attn.in_proj_weight[:width].mul_(heads**-0.5)
    for words, change in spoilt.items():
        model = make()
        for block in model.encoder.layers:
            change(block)
        slips[words] = model(ids)
    for count in range(1, len(make().encoder.layers)):
        model = make()
        model.encoder.layers = model.encoder.layers[:count]
        slips[f"only {count} of the blocks ran"] = model(ids)
    return slips


def outer_slips(make, ids, right):
    """What slips outside the blocks, and other activations and norms, make of the scores."""

    def in_blocks(**attributes):
        return lambda model: [
            setattr(block, name, value)
            for block in model.encoder.layers
            for name, value in attributes.items()
        ]

    by_tanh = in_blocks(activation=lambda x: F.gelu(x, approximate="tanh"))
    spoilt = {
        "the last norm is missing": lambda model: setattr(model.encoder, "norm", None),
        "the places are missing": lambda model: model.place.weight.zero_(),
        "the places count from 0; here from 1": lambda model: model.place.weight.copy_(
            model.place.weight.roll(-1, 0)
        ),
        "place.weight has a row for each place, counted from the front": lambda model: (
            model.place.weight[: ids.shape[1]].copy_(model.place.weight[-ids.shape[1] :].clone())
        ),
        "the places count from 0; here they are backwards": lambda model: model.place.weight[
            : ids.shape[1]
        ].copy_(model.place.weight[: ids.shape[1]].flip(0).clone()),
        "the last norm has a weight: encoder.norm.weight": lambda model: (
            model.encoder.norm.weight.fill_(1)
        ),
        "the norms have weights, such as norm1.weight": lambda model: [
            norm.weight.fill_(1) for norm in norms_of(model)
        ],
        "the norms take the mean off: this is RMS norm": lambda model: [
            setattr(norm, "forward", partial(rms, norm)) for norm in norms_of(model)
        ],
        "norm2 is of x with attention's answer added, not of the x before": lambda model: [
            setattr(block, "forward", partial(beside, block)) for block in model.encoder.layers
        ],
        "x is the row of token.weight as it is, not times a root": lambda model: setattr(
            model.token, "forward", partial(enlarged, model.token)
        ),
        "the activation is the exact gelu, not relu": in_blocks(activation=F.relu),
        "the activation is the exact gelu, not gelu by tanh": by_tanh,
        "each norm comes before its step, not after it": in_blocks(norm_first=False),
    }
    slips = {
        "the scores themselves are wanted, without softmax": right.softmax(-1),
        "the scores themselves are wanted, without log_softmax": right.log_softmax(-1),
    }
    for words, change in spoilt.items():
        model = make()
        change(model)
        slips[words] = model(ids)
    return slips


def norms_of(model) -> list:
    """All layer norms of such a model."""
    return [module for module in model.modules() if isinstance(module, torch.nn.LayerNorm)]


def rms(norm, x):
    """What RMS norm makes of x, with the weight of a layer norm."""
    return F.rms_norm(x, x.shape[-1:], norm.weight, norm.eps)


def beside(block, x, src_mask=None, **_):
    """A block whose two steps both begin at the x that came in."""
    attended = block._sa_block(block.norm1(x), src_mask, None)
    return x + attended + block._ff_block(block.norm2(x))


def enlarged(table, ids):
    """The rows of a table times the root of their width, as some transformers have it."""
    return table.weight[ids] * table.weight.shape[1] ** 0.5


def eps_slips(make, ids):
    """What a wrong eps in the norms makes of the scores."""
    slips = {}
    for number, eps in enumerate((1e-6, 1e-8, 1e-12, 0.0, 1e-3)):
        model = make()
        for norm in norms_of(model):
            norm.eps = eps
        slips["the norms add an eps of 1e-5 to the variance" + " " * number] = model(ids)
    return slips


def order_slips(make, ids):
    """What the scores are if the blocks run in the order of their numbers, sorted as words."""
    model = make()
    blocks = list(model.encoder.layers)
    by_words = sorted(range(len(blocks)), key=str)
    model.encoder.layers = torch.nn.ModuleList([blocks[number] for number in by_words])
    slips = {"the blocks run by number; sorted as words, 10 comes before 2": model(ids)}
    model.encoder.layers = torch.nn.ModuleList(blocks[::-1])
    words = "the blocks run from 0 on: the numbers count, not their order in the dict"
    slips[words] = model(ids)
    if len(blocks) > 10:
        model.encoder.layers = torch.nn.ModuleList([blocks[0], blocks[10], *blocks[2:]])
        words = "encoder.layers.1 begins the names of block 10, too: compare with the dot after it"
        slips[words] = model(ids)
    return slips
