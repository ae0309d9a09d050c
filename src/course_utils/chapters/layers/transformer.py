"""The last exercise: a tiny transformer."""

from __future__ import annotations

from course_utils.chapters.layers.slips import block_slips, outer_slips
from course_utils.learner.calls import check_rules
from course_utils.learner.devices import seeded
from course_utils.learner.values import check_value


def check_tiny_transformer_1(
    letters, make_model, try_tiny_transformer, batch, time, heads=4, seed=1, **options
):
    def make():
        return make_model(seed, 0.5, heads=heads, **options).requires_grad_(False)

    model = make()
    weights = {name: p.clone() for name, p in model.named_parameters()}
    ids = (seeded(seed)(batch, time).abs() * 1000).long() % len(letters)
    y, _, spoilt = try_tiny_transformer(ids, weights, heads)
    check_rules([], spoilt)
    right, whole = model(ids), model(ids, causal=False)
    slips = {"a letter must not see the ones behind it: the mask is not causal": whole}
    slips |= outer_slips(make, ids, right)
    slips |= block_slips(make, ids, heads, model.token.weight.shape[1])
    check_value(y, right, "the result", slips, rtol=1e-3, atol=1e-3)
