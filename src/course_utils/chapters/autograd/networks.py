"""Exercise 5.10: a network of two layers."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

import course_utils
from course_utils.chapters.autograd.products import NO_AUTOGRAD, check_each
from course_utils.chapters.autograd.raised import said_in_words
from course_utils.learner.calls import check_rules
from course_utils.learner.cases import every_case
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_parts


def network_by_autograd(x: Tensor, target: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
    """The cross entropy of two layers, and its gradients in ``w1``, ``b1``, ``w2``, ``b2``."""
    with torch.inference_mode(False), torch.enable_grad():
        w1, b1, w2, b2 = (w.clone().detach().requires_grad_() for w in weights)
        scores = F.relu(x.clone() @ w1 + b1) @ w2 + b2
        loss = F.cross_entropy(scores, target.clone())
        return loss.detach(), *torch.autograd.grad(loss, [w1, b1, w2, b2])


def network_slips(x, target, w1, b1, w2, b2) -> list[dict[str, Tensor]]:
    """For the loss and each gradient of two layers, what known slips lead to."""
    before, batch = x @ w1 + b1, len(x)
    h = before.relu()
    scores = h @ w2 + b2
    hot = F.one_hot(target, scores.shape[1]).to(x.dtype)

    def walk(g: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        g_h = (g @ w2.t()) * mask
        return x.t() @ g_h, g_h.sum(0), h.t() @ g, g.sum(0)

    right, mask = (scores.softmax(1) - hot) / batch, (before > 0).to(x.dtype)
    variants = {
        "the loss is a mean: divide its slope in the scores by the batch": (right * batch, mask),
        "slopes pass ReLU only where h is positive": (right, torch.ones_like(mask)),
        "subtract 1 at the target: softmax minus one-hot": (scores.softmax(1) / batch, mask),
        "the sign: softmax minus one-hot, not the other way round": (-right, mask),
        "at ReLU the slope is 0 or 1, not h itself": (right, h),
        "b1 belongs to h, and decides with it where slopes pass": (right, ((x @ w1) > 0).to(mask)),
        "divide by the batch, not by the number of classes": (
            right * batch / scores.shape[1],
            mask,
        ),
    }
    columns = hot.amax(0).expand_as(hot)
    everywhere = "one place in each row gets the -1, at its target: not a whole column"
    variants[everywhere] = (scores.softmax(1) - columns) / batch, mask
    narrow = F.one_hot(target)
    if narrow.shape[1] == 1:
        words = (
            "one_hot(target) is as wide as the largest target: tell it how many classes there are"
        )
        variants[words] = (scores.softmax(1) - narrow) / batch, mask
    plain = scores.exp() / scores.exp().sum(1, keepdim=True)
    overflow = "exp of large scores is infinite: take softmax and logsumexp"
    variants[overflow] = ((plain - hot) / batch, mask)
    across = (scores.softmax(0) - hot) / batch
    variants["softmax runs over the classes of each row, not over the batch"] = across, mask
    walks = {words: walk(*variant) for words, variant in variants.items()}
    w1s, b1s, w2s, b2s = walk(right, mask)
    walks["every row pays: the payments are added, not averaged"] = (
        w1s,
        b1s / batch,
        w2s,
        b2s / batch,
    )
    walks["w2 was multiplied by h, not by what went into ReLU"] = (
        w1s,
        b1s,
        before.t() @ right,
        b2s,
    )
    chosen, top = scores.gather(1, target[:, None])[:, 0], scores.max()
    each = scores.logsumexp(1) - chosen
    far = (scores - top).exp().sum(1).log() + top - chosen
    first = {
        "the mean over the batch, not the sum": each.sum(),
        "logsumexp minus the target's score, not the other way round": -each.mean(),
        "each row has a target of its own: scores[:, target] takes every row's from every row": (
            (scores.logsumexp(1)[:, None] - scores[:, target]).mean()
        ),
        "the target's score is not subtracted": scores.logsumexp(1).mean(),
        "exp of large scores is infinite: take logsumexp": torch.full_like(each.mean(), torch.inf),
        "subtract each row's own largest score, not that of all": far.mean(),
        overflow: -plain.gather(1, target[:, None])[:, 0].log().mean(),
    }
    return [first, *({words: found[n] for words, found in walks.items()} for n in range(4))]


def further_networks() -> list[tuple]:
    """Cases of `check_networks` at its limits: sizes of 1, values of 0, points that are equal."""
    x, w1 = torch.tensor([[1.0], [-0.5]]), torch.tensor([[2.0, -1.0, 1.0]])
    again, w2 = torch.tensor([[1.0], [-0.5], [1.0]]), torch.tensor([[1.0, -1], [0.5, 2], [0, 1]])
    # x @ w1 + b1 is (0, 0).
    edge = torch.tensor([[1.0, 2.0]]), torch.tensor([0]), torch.tensor([[2.0, -1.0], [-1.0, 0.5]])
    three = torch.tensor([[1.0, 0.0, -1.0], [0.5, 1.0, 2.0]]), torch.tensor([0.0, 0.3, -0.3])
    square, generator = torch.tensor([[1.0, -1, 0], [0.5, 2, 1], [0, 1, -2]]), torch.Generator()
    draw = lambda *size: torch.randn(size, generator=generator.manual_seed(5))  # noqa: E731
    return [
        ("seven points, three columns, five hidden values, four classes", draw(7, 3),
         torch.tensor([3, 0, 2, 3, 1, 0, 2]), draw(3, 5), draw(5), draw(5, 4), draw(4)),
        *((f"five classes, {kind}", x.to(kind), torch.tensor([4, 1]), w1.to(kind),
           torch.zeros(3, dtype=kind), draw(3, 5).to(kind), draw(5).to(kind))
          for kind in (torch.float64, torch.float32)),
        ("as many hidden values as classes", x, torch.tensor([0, 2]), w1, torch.zeros(3), square,
         torch.zeros(3)),
        ("hidden values of exactly 0", *edge, torch.zeros(2), *three),
        ("one column in x", x, torch.tensor([0, 1]), w1, torch.zeros(3), w2, torch.zeros(2)),
        ("a point that is there twice", again, torch.tensor([0, 1, 1]), w1, torch.zeros(3), w2,
         torch.zeros(2)),
        ("hidden values just above 0", again, torch.tensor([1, 1, 0]), 1e-7 * w1, torch.zeros(3),
         w2, torch.zeros(2)),
        ("one class", x, torch.tensor([0, 0]), w1, torch.zeros(3), w2[:, :1], torch.zeros(1)),
        ("as many points as classes, all of class 0", x, torch.tensor([0, 0]), w1,
         torch.tensor([0.1, 2.0, -0.3]), w2, torch.tensor([0.0, 0.5])),
        ("scores near -1000 and near 1000", x, torch.tensor([1, 0]), w1, torch.ones(3), 400 * w2,
         torch.tensor([-1000.0, 0.0])),
    ]  # fmt: skip


@ends_in_notebook
def check_network(try_network: Callable, *arguments: Tensor) -> None:
    """Compare an answer's loss and gradients of two layers with autograd's.

    Args:
        try_network: from the arguments to what ``watched`` says of the call.
        arguments: ``x``, ``target``, ``w1``, ``b1``, ``w2``, ``b2``.
    """
    arguments = tuple(t.to(course_utils.device).detach() for t in arguments)
    with said_in_words():
        answer, names, changed = try_network(*arguments)
    check_rules(names, changed, *NO_AUTOGRAD)
    what = ("the loss", *(f"the gradient of {name}" for name in ("w1", "b1", "w2", "b2")))
    parts = check_parts(answer, *what)
    check_each(what, parts, network_by_autograd(*arguments), network_slips(*arguments))


@ends_in_notebook
def check_networks(try_network: Callable, *cases: tuple) -> None:
    """:func:`check_network` for several cases: a name and the arguments."""
    with every_case() as case:
        for name, *arguments in cases:
            with case(name):
                check_network(try_network, *arguments)
