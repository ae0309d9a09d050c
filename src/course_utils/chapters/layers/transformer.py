"""The last exercise: a tiny transformer."""

from __future__ import annotations

import torch

from course_utils.chapters.layers.attention import check_dict, run_with_weights
from course_utils.chapters.layers.transformer_slips import transformer_slips
from course_utils.learner.calls import check_rules
from course_utils.learner.devices import seeded
from course_utils.learner.values import check_value


def weighing(scores: torch.Tensor) -> torch.Tensor:
    """A fixed weight for each score, so that their sum has a gradient that tells them apart."""
    return torch.arange(scores.numel(), device=scores.device).view(scores.shape).cos()


def gradients_of(scores: torch.Tensor, weights: dict) -> dict:
    """What the weighted sum of the scores sends back to each weight, or None."""
    found = torch.autograd.grad(
        (scores * weighing(scores)).sum(), tuple(weights.values()), allow_unused=True
    )
    return dict(zip(weights, found, strict=True))


def run_tiny_transformer(tiny_transformer, ids: torch.Tensor, weights: dict, heads: int) -> tuple:
    """What ``run_with_weights`` says, of a second call the scores and the weights' gradients, more.

    More is the name of a weight that gets no gradient where it alone requires one, if there is one.

    Raises:
        AssertionError: a step in place overwrote what the backward pass needs, or the scores are
            those of an earlier call.
    """
    earlier = tiny_transformer(ids, {name: weight / 2 for name, weight in weights.items()}, heads)
    told = run_with_weights(tiny_transformer, ids, weights, heads)
    if isinstance(told[0], torch.Tensor) and isinstance(earlier, torch.Tensor):
        same = told[0].shape == earlier.shape and torch.equal(told[0], earlier)
        words = "the scores are those of an earlier call with other weights: are weights kept?"
        assert not same, words
        if not told[3]:
            blocks = {name: w / 2 if "layers" in name else w for name, w in weights.items()}
            other = tiny_transformer(ids, blocks, heads)
            words = "other weights in the blocks give the same scores: are they kept between calls?"
            assert not torch.equal(told[0], other), words
    leaves = {name: weight.detach().clone().requires_grad_() for name, weight in weights.items()}
    scores, gradients = None, None
    if not told[3]:
        scores = tiny_transformer(ids, dict(leaves), heads)
    if isinstance(scores, torch.Tensor) and scores.requires_grad:
        try:
            gradients = gradients_of(scores, leaves)
        except RuntimeError as error:
            if "inplace operation" not in str(error):
                raise
            words = "a step in place, such as x += …, overwrites what a norm keeps for its backward"
            raise AssertionError(f"{words}: write x = x + …") from None
        scores = scores.detach()
    return *told, scores, gradients, gradients and lost_alone(tiny_transformer, ids, leaves, heads)


def lost_alone(tiny_transformer, ids: torch.Tensor, weights: dict, heads: int) -> str:
    """A weight that gets no gradient where the others require none: one of two, or none."""
    for name in ("encoder.norm.weight", "token.weight"):
        one = {key: weight.detach().requires_grad_(key == name) for key, weight in weights.items()}
        if not tiny_transformer(ids, one, heads).requires_grad:
            return name
    return ""


def check_tiny_transformer_1(
    letters, make_model, try_tiny_transformer, batch, time, heads=4, seed=1, scale=0.5, **options
):
    def make():
        return make_model(seed, scale, heads=heads, **options).requires_grad_(False)

    model = make()
    named = list(model.named_parameters())
    if len(model.encoder.layers) < 11:  # block 1 before 0, but not behind 10
        named.reverse()
    weights = {name: p.clone() for name, p in named}
    ids = (seeded(seed)(batch, time).abs() * 1000).long() % len(letters)
    ids[:, :1] = 0  # a letter that padding_idx=0 would leave out
    try:
        y, _, changed, spoilt, again, gradients, lost = try_tiny_transformer(ids, weights, heads)
    except RuntimeError as error:
        if f"({len(weights['place.weight'])})" not in str(error):
            raise
        words = "place.weight has a row for each place of the longest piece: take the first T"
        raise AssertionError(f"raised RuntimeError: {error}; {words}") from None
    check_dict(spoilt)
    check_rules([], changed)
    right = model(ids)
    atol = min(1e-3, 3e-4 * right.abs().max().item())
    slips = {} if near(y, right, atol) else transformer_slips(make, ids, right, heads)
    if isinstance(y, torch.Tensor) and isinstance(again, torch.Tensor) and y.shape == right.shape:
        assert not y.isnan().any(), (
            "NaN: does a letter see itself, too? A softmax over nothing is 0/0"
        )
        assert torch.allclose(y, again, 1e-3, 1e-3 * right.abs().max().item()), (
            "two calls give two results: is there a dropout? (PyTorch's block has 0.1 by default)"
        )
    check_value(y, right, "the result", slips, rtol=1e-3, atol=atol)
    assert gradients is not None, "no gradient flows from the scores to the weights"
    check_gradients(make, ids, gradients)
    why = "is the graph made only if another weight does?"
    assert not lost, f"no gradient reaches {lost}, which alone requires one: {why}"


def scores_by_a_copy(model, ids):
    """The model's scores, with a table that is detached behind the last norm."""
    x, time = model.token(ids) + model.place.weight[: ids.shape[1]], ids.shape[1]
    mask = torch.nn.Transformer.generate_square_subsequent_mask(time, device=ids.device)
    return model.encoder(x, mask=mask, is_causal=True) @ model.token.weight.detach().t()


def near(found, right: torch.Tensor, atol: float) -> bool:
    """Whether a tensor of this shape was found, with these numbers: then no slip is looked for."""
    same = isinstance(found, torch.Tensor) and found.shape == right.shape
    return same and found.dtype == right.dtype and torch.allclose(found, right, 1e-3, atol)


def check_gradients(make, ids, found: dict) -> None:
    """Compare the gradients of all weights with the model's own."""

    def of(model):
        leaves = dict(model.requires_grad_().named_parameters())
        return gradients_of(model(ids), leaves)

    none = [name for name, gradient in found.items() if gradient is None]
    assert not none, f"no gradient reaches {', '.join(none[:3])}"
    right = of(make())
    sizes = {name: 3e-4 * gradient.abs().max().item() for name, gradient in right.items()}
    if all(near(found[name], gradient, sizes[name]) for name, gradient in right.items()):
        return
    cut, padded, tied = make(), make(), make()
    tied.forward = lambda ids: scores_by_a_copy(tied, ids)
    cut.token.forward = lambda ids: cut.token.weight.detach()[ids]
    padded.token.padding_idx = 0
    slips = {
        "the look-up passes no gradient on: the table is detached there": of(cut),
        "the scores pass no gradient on to the table: it is detached there": of(tied),
        "letter 0 is no pad: with padding_idx its row gets no gradient from the look-up": of(
            padded
        ),
    }
    for name, gradient in right.items():
        wrong = {words: gradients[name] for words, gradients in slips.items()}
        check_value(found[name], gradient, f"the gradient of {name}", wrong, 1e-3, sizes[name])
