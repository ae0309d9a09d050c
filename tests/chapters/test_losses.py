"""The right values and slips that the chapter on losses compares with."""

import functools
import math

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

from course_utils.chapters.losses import (
    check_imbalance,
    check_info_nce,
    check_number,
    check_triplets,
    every_case,
    info_nce_truth,
    kl_truths,
    left_on_the_cpu,
    names_of_calls,
    padded_batch,
    penalty_truth,
    pinball_truth,
    priced,
    sequence_truths,
    trained_as_given,
    value_and_gradient,
)
from course_utils.chapters.losses.embeddings import triplet_truth
from course_utils.chapters.losses.own_loss import generalised_truth
from course_utils.chapters.losses.rare_classes import imbalance_truth


def test_a_right_number_passes():
    check_number(torch.tensor(2.0, requires_grad=True), 2, "the loss")
    check_number(2, torch.tensor(2.0), "the loss", tensor=False)
    check_number(torch.tensor(torch.nan), torch.nan, "the loss")
    check_number(torch.tensor(torch.inf), math.inf, "the loss")


@pytest.mark.parametrize(
    ("actual", "words"),
    [
        (None, "the loss is None: is there an answer yet"),
        (..., "the loss is still the placeholder"),
        (2.0, "the loss is of type float"),
        (torch.ones(1), "has shape \\(1,\\), expected one number"),
        (torch.tensor(3.0), "expected 2, got 3 \\(one too many\\)"),
        (torch.tensor(torch.nan), "expected 2, got nan \\(0 / 0\\)"),
        (torch.tensor(5.0), "expected 2, got 5$"),
    ],
)
def test_a_wrong_number_is_told_in_words(actual, words):
    slips = {"one too many": 3, "0 / 0": math.nan}
    with pytest.raises(AssertionError, match=words):
        check_number(actual, 2, "the loss", slips)


def test_what_is_no_number_is_said():
    with pytest.raises(AssertionError, match="'two', expected a number"):
        check_number("two", 2, "the loss", tensor=False)


def test_a_loss_without_a_graph_is_refused():
    leaf = torch.ones(2, requires_grad=True)
    value, gradient = value_and_gradient(leaf.sum(), [leaf])
    assert not value.requires_grad
    assert gradient.tolist() == [1, 1]
    for loss, words in ((None, "returned None"), (1.0, "float"), (leaf.sum().detach(), "gradient")):
        with pytest.raises(AssertionError, match=words):
            value_and_gradient(loss, [leaf])


class Forgetful(torch.autograd.Function):
    """A sum whose backward leaves out the gradient that comes in."""

    @staticmethod
    def forward(ctx, x):
        ctx.size = x.shape
        return x.sum()

    @staticmethod
    def backward(ctx, grad_output):
        return torch.ones(ctx.size)


def test_a_backward_that_leaves_out_what_comes_in_is_refused():
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(AssertionError, match="three times what it returned isn't three times"):
        value_and_gradient(Forgetful.apply(leaf), [leaf])


def brought_over(weight, logits):
    return logits * weight.to(logits)


class Loss(nn.Module):
    """A loss that keeps its weight as ``keep`` has it."""

    def __init__(self, keep, weight):
        super().__init__()
        keep(self, weight)

    def forward(self, logits, target):
        return self.call(logits)


@pytest.mark.parametrize(
    ("keep", "behind"),
    [
        (lambda loss, w: setattr(loss, "call", lambda z: z * w.to(z)), True),
        (lambda loss, w: setattr(loss, "call", functools.partial(torch.mul, w.to("meta"))), False),
        (lambda loss, w: setattr(loss, "call", lambda z, kept=[w]: z * kept[0].to(z)), True),
        (lambda loss, w: setattr(loss, "call", functools.partial(brought_over, w)), True),
        (lambda loss, w: setattr(loss, "call", torch.sum), False),
    ],
)
def test_a_tensor_that_a_move_leaves_behind_is_found(keep, behind):
    loss = Loss(keep, torch.ones(2))
    assert left_on_the_cpu(loss, torch.ones(2), torch.zeros(2)) == behind


def test_a_weight_that_came_as_a_parameter_is_counted_where_it_is_trained():
    def assigned(weight, q):
        loss = nn.Module()
        loss.weight = weight
        return loss

    weight = torch.ones(2)
    assert trained_as_given(assigned, "cpu", weight, 0.5) == 1
    assert trained_as_given(lambda w, q: nn.CrossEntropyLoss(w), "cpu", weight, 0.5) == 0
    assert trained_as_given(assigned, "cpu", None, 0.5) == trained_as_given(assigned, "cpu") == 0


def test_the_names_of_calls_are_noted():
    with names_of_calls() as calls:
        nn.CrossEntropyLoss()(torch.zeros(1, 2), torch.tensor([0]))
    assert "cross_entropy" in calls.names


def test_sequences_by_hand():
    groups = [[priced(1.0, 2.0, 3.0)], [priced(6.0), priced()]]
    assert padded_batch(groups[1])[2].tolist() == [1, 0]
    found = {per: (right.item(), slips) for per, right, _, slips in sequence_truths(groups)}
    assert found["token"][0] == pytest.approx(3)
    assert found["sequence"][0] == pytest.approx(4)
    slips = found["token"][1]
    assert slips["a mean of the batches' means depends on the split"].item() == pytest.approx(4)
    assert slips["divided by all positions, padded ones too"][0].item() == pytest.approx(2.4)
    padded = slips["the padding is priced, too: lengths alone says what is real"]
    full = 12 + math.log(2)  # the empty sequence has a position of padding
    assert [number.item() for number in padded] == pytest.approx([full / 5, full / 4, 3])


def test_truths_agree_with_the_library():
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(6, 3, generator=generator)
    y, ill = torch.randint(3, (6,), generator=generator), (z[:, 1] > 0).float()
    assert torch.allclose(generalised_truth(z, y, None, 1e-3)[0], F.cross_entropy(z, y), atol=1e-2)
    plain = F.binary_cross_entropy_with_logits(z[:, 0], ill, pos_weight=torch.tensor(3.0))
    assert torch.allclose(imbalance_truth(z[:, 0], ill, 3.0, 0.0)[0], plain)
    p, q = z.softmax(dim=1), z.flip(0).softmax(dim=1)
    library = F.kl_div(q.log(), p, reduction="batchmean")
    assert torch.allclose(kl_truths(p, q)["KL(p‖q)"][0], library)
    half = F.l1_loss(z, torch.zeros_like(z)).double() / 2
    assert torch.allclose(pinball_truth(z, torch.zeros_like(z), 0.5)[0], half)
    assert info_nce_truth(z, z, 0.01)[0] < 0.01


def test_triplets_and_penalties_by_hand():
    line, labels = torch.tensor([[0.0], [1.0], [3.0], [7.0]]), torch.tensor([0, 0, 1, 1])
    assert triplet_truth(line, labels, 1.0)[0] == 0.75
    assert triplet_truth(line, torch.arange(4), 1.0)[0] == 0
    model = nn.Linear(2, 1)
    model.weight.detach().copy_(torch.tensor([[1.0, -2.0]]))
    right, slopes, _ = penalty_truth(model, 0.1, 0.01)
    assert float(right) == pytest.approx(0.35)
    assert sorted(slopes) == ["weight"]


def test_a_wrong_number_of_no_known_slip_gets_the_other_words():
    with pytest.raises(AssertionError, match="got 5 \\(look at the sign\\)"):
        check_number(5, 2, "it", {"three": 3}, tensor=False, otherwise="look at the sign")


def test_a_detached_focal_factor_is_named():
    logits, target = torch.tensor([0.0, 2.0]), torch.tensor([1.0, 0.0])
    right, slope, _ = imbalance_truth(logits, target, 3.0, 2.0)
    check_imbalance((right, slope), logits, target, 3.0, 2.0)
    leaf, sign = logits.clone().requires_grad_(), 2 * target - 1
    factor = (-sign * logits).sigmoid() ** 2 * (1 + 2 * target)
    (-(factor * F.logsigmoid(sign * leaf)).mean()).backward()
    with pytest.raises(AssertionError, match="is it detached"):
        check_imbalance((right, leaf.grad), logits, target, 3.0, 2.0)


def test_gradients_of_triplets_are_compared_where_they_are_unique():
    labels, places = torch.tensor([0, 0, 1]), torch.tensor([[0.0], [2.0], [3.5]])
    # anchor 0: 2 - 3.5 + 1 < 0; anchor 1: 2 - 1.5 + 1 = 1.5; anchor 2 has no positive
    loss, slope = torch.tensor(0.75), torch.tensor([[-0.5], [1.0], [-0.5]])
    check_triplets((loss, slope), places, labels, 1.0)
    with pytest.raises(AssertionError, match="negatives: detached"):
        check_triplets((loss, torch.tensor([[-0.5], [0.5], [0.0]])), places, labels, 1.0)
    with pytest.raises(AssertionError, match="the anchor gets its gradient"):
        check_triplets((loss, torch.tensor([[0.0], [1.0], [0.0]])), places, labels, 1.0)
    with pytest.raises(AssertionError, match="no gradient flows back"):
        check_triplets((loss, None), places, labels, 1.0)
    same, anything = torch.zeros(3, 1), torch.tensor([[7.0], [0.0], [0.0]])
    check_triplets((torch.tensor(1.0), anything), same, labels, 1.0)


def test_info_nce_needs_a_gradient_by_both_arguments():
    first, second = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0))
    leaves = [first.clone().requires_grad_(), second.clone().requires_grad_()]
    loss = info_nce_truth(*leaves, 0.5)[0]
    one, two = torch.autograd.grad(loss, leaves)
    check_info_nce((loss.detach(), one, two), first, second, 0.5)
    with pytest.raises(AssertionError, match="by second is 0: is second detached"):
        check_info_nce((loss.detach(), one, 0 * two), first, second, 0.5)
    with pytest.raises(AssertionError, match="is too large"):
        check_info_nce((torch.tensor(torch.nan), one, two), first, second, 0.5)


def failing(trials):
    """What a check says that compares each (actual, right, slips, guess) in a case of its own."""
    outer = every_case()
    for number, (actual, right, slips, guess) in enumerate(trials):
        with outer(f"case {number}"):
            check_number(torch.tensor(actual), right, "it", slips, guess=guess)
    with pytest.raises(AssertionError) as caught:
        outer.__exit__(None, None, None)
    return str(caught.value)


def test_a_slip_is_named_only_where_it_fits_in_every_failing_case():
    fits, other = (2.0, 1.0, {"a slip": 2.0}, ""), (5.0, 3.0, {"a slip": 4.0}, "")
    assert failing([fits, (4.0, 3.0, {"a slip": 4.0}, "")]).count("(a slip)") == 2
    assert "a slip" not in failing([fits, other])
    # Where the slip would have given the right number, something else went wrong.
    assert "a slip" not in failing([fits, (5.0, 3.0, {"a slip": 3.0}, "")])
    # A nan says nothing.
    assert failing([fits, (math.nan, 3.0, {"a slip": 4.0}, "")]).count("a slip") == 1


def test_a_slip_may_give_several_numbers():
    several = (2.0, 1.0, {"a slip": (9.0, 2.0)}, ""), (4.0, 3.0, {"a slip": (4.0, 8.0)}, "")
    assert failing(several).count("(a slip)") == 2


def test_a_guess_is_said_only_if_nothing_else_fails():
    large, small = (2.0, 1.0, {}, "clamped?"), (2.0, 1.0, {}, "")
    assert "(clamped?)" in failing([large])
    assert "clamped" not in failing([large, small])
