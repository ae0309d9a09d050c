"""Exercise 6.9: a gradient for each sample, clipped; and the trainings that need it."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from course_utils.chapters.custom_gradients.watching import (
    left_behind,
    require_digits,
    words_of_states,
)
from course_utils.learner.calls import python_calls
from course_utils.learner.changes import forbid_changes
from course_utils.learner.devices import device
from course_utils.learner.operators import count_operators
from course_utils.learner.tracebacks import ends_in_notebook, what_was_raised
from course_utils.learner.values import agrees, check_value


def _sample_loss(weights: dict, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The loss summed over x (batch, in), y (batch,); or of one sample, x (in,), y ()."""
    hidden = torch.tanh(x @ weights["w1"].t() + weights["b1"])
    return F.cross_entropy(hidden @ weights["w2"].t(), y, reduction="sum")


def draw_case(
    batch: int, sizes: tuple[int, int, int], dtype=torch.float64, seed=0, scale=1
) -> tuple:
    """Random weights, x and y for a network of these sizes (in, hidden, classes)."""
    generator = torch.Generator().manual_seed(batch + 100 * seed)
    shapes = {"w1": (sizes[1], sizes[0]), "b1": sizes[1:2], "w2": (sizes[2], sizes[1])}
    draw = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    x = torch.randn(batch, sizes[0], generator=generator).t().contiguous().t()  # column by column
    y = torch.randint(sizes[2], (batch,), generator=generator)
    draw["w2"] *= scale
    names = reversed(draw) if seed else draw  # the order of a dict says nothing
    weights = {name: draw[name].to(device, dtype) for name in names}
    return weights, x.to(device, dtype), y.to(device)


def run_samples(function, weights, x, y, states=False):
    """The gradients of each sample; how many operations ran; what it left on the arguments.

    In other states of these, too, if asked.
    """
    before = dict(weights)
    with count_operators() as counts:
        try:
            answer, names = python_calls(function, weights, x, y)
        except (ValueError, RuntimeError) as error:
            hint = "; in_dims says where the samples lie: None for the weights, 0 for x and y"
            if "register a hook" in str(error):
                hint = ": weights and x may come without requires_grad, so switch it on in your own"
            elif not str(error).startswith("vmap"):
                raise
            raise AssertionError(f"{error}{hint}") from None
    short = {name.rpartition(".")[2] for name in names}
    facts = {"left": left_behind(x, *before.values()), "count": counts.total()}
    facts["keys"] = [*map(id, weights.values())] == [*map(id, before.values())]
    facts["vmap"] = bool(short & {"vmap", "_vmap", "vmap_impl", "_flat_vmap"})
    facts["needs"] = False
    if isinstance(answer, dict):
        facts["needs"] = any(getattr(t, "requires_grad", False) for t in answer.values())
        answer = {k: t.detach() if isinstance(t, torch.Tensor) else t for k, t in answer.items()}
    for tensor in before.values():
        tensor.requires_grad_(False).grad = None
    amiss = states and (
        words_of_states(function, before, x, y) or _words_of_one_asked(function, before, x, y)
    )
    return facts | {"answer": answer, "amiss": amiss}


def _words_of_one_asked(function, weights, x, y):
    """Words for what a function does where one weight alone requires grad; "" if nothing."""
    for name in weights:
        given = {key: w.detach().clone().requires_grad_(key == name) for key, w in weights.items()}
        where = f"where {name} requires grad, and no other weight does,"
        try:
            answer = function(given, x, y)
        except Exception as error:
            return f"{where} it {what_was_raised(error)}"
        if any(w.requires_grad != (key == name) for key, w in given.items()):
            return f"{where} requires_grad of a weight is not as it was: leaves of your own"
        if set(answer) != set(weights) or any(t.requires_grad for t in answer.values()):
            return f"{where} the result differs: the gradients of all weights, detached"
    return ""


def _without_tanh_slope(weights, x, y):
    """The gradients of w1 and b1 for each sample, if tanh passed every gradient on as it came."""
    logits = torch.tanh(x @ weights["w1"].t() + weights["b1"]) @ weights["w2"].t()
    hot = F.one_hot(y, logits.shape[1]).to(logits)
    after = (logits.softmax(-1) - hot) @ weights["w2"]
    return {"w1": torch.einsum("bo,bi->boi", after, x), "b1": after}


def _each(weights, x, y):
    """The right gradients of each sample."""
    return torch.func.vmap(torch.func.grad(_sample_loss), in_dims=(None, 0, 0))(weights, x, y)


@ends_in_notebook
def check_samples(
    try_samples, way, batch, sizes, dtype=torch.float64, seed=0, scale=1, states=False
):
    """Check the gradients of one batch; how many operations they took."""
    __tracebackhide__ = True
    weights, x, y = draw_case(batch, sizes, dtype, seed, scale)
    names = list(weights)
    with forbid_changes(x, y, *weights.values()):
        found = try_samples(way, weights, x, y, states)
    answer, name = found["answer"], f"by_{way}"
    weights = {key: weights[key] for key in names}
    assert answer is not None, f"{name} gives None: is there an answer yet?"
    assert found["keys"], "the dict of weights was changed: leave it as it is"
    assert isinstance(answer, dict), f"{name} gives {type(answer).__name__}, expected a dict"
    assert sorted(answer) == sorted(names), f"the keys are {sorted(answer)}, expected {names}"
    assert not found["left"], (
        f"an argument was left with {' and '.join(found['left'])}: leaves of your own"
    )
    unbent = _without_tanh_slope(weights, x, y)
    leaves = [w.requires_grad_() for w in weights.values()]
    losses = [_sample_loss(weights, *one) for one in zip(x, y, strict=True)]
    rows = [torch.autograd.grad(loss, leaves) for loss in losses]
    for key, *parts in zip(names, *rows, strict=True):
        truth = torch.stack(parts)
        slips = {
            "of the mean loss: the batch's size divides them, so take the sum": truth / batch,
            "added up over the samples so far: each step needs a fresh gradient": truth.cumsum(0),
            "each row is 0: an empty .grad was kept, or one that was emptied later": 0 * truth,
            "every row holds the gradient of the whole batch": truth.sum(0).expand_as(truth),
            "the outer product is the other way round": truth.transpose(1, -1),
        }
        if batch > 1:
            slips["one gradient for the whole batch: each sample needs its own"] = truth.sum(0)
        if seed:
            earlier = _each(*draw_case(batch, sizes, dtype, seed - 1))[key]
            slips["the answer of the call before: keep nothing between calls"] = earlier
        if key in unbent:
            bent = "the slope of tanh is missing: catch the gradient of x @ w1.t() + b1, before it"
            slips[bent] = unbent[key]
        lost = scale > 1 and isinstance(answer[key], torch.Tensor) and answer[key].isnan().any()
        words = (
            "a softmax may become 0, and its logarithm infinite: F.cross_entropy takes the logits"
        )
        assert not lost, f"the gradients of {key} are NaN: {words}"
        check_value(answer[key], truth, f"the gradients of {key}", slips, 1e-4, 1e-5)
        require_digits(answer[key], truth, f"the gradients of {key}", 1e-10, 1e-11)
    assert not found["needs"], "the gradients still require grad: detach them"
    assert not found["amiss"], found["amiss"]
    assert way != "vmap" or found["vmap"], "by_vmap does not call torch.func.vmap"
    assert way != "hooks" or not found["vmap"], "by_hooks calls vmap: catch the layers' gradients"
    return found["count"]


@ends_in_notebook
def check_work_of_batches(try_samples, way):
    """Check batches of 3 and 6 samples, and that a large one takes no more operations."""
    __tracebackhide__ = True
    few, many = (check_samples(try_samples, way, batch, (2, 4, 3)) for batch in (3, 6))
    if way == "loop":
        return
    assert few == many, f"{few} operations for 3 samples, {many} for 6: is there a loop?"
    many = try_samples(way, *draw_case(1500, (2, 4, 3)))["count"]
    words = f"{few} operations for 3 samples, {many} for 1500: does it go in chunks?"
    assert few == many, words


def _near(x, y):
    """Whether an answer is a tensor that agrees with another to nearly all digits."""
    same = isinstance(x, torch.Tensor) and x.shape == y.shape and x.dtype == y.dtype
    return same and torch.allclose(x, y, 1e-10, 0)


def clip_inputs():
    """Gradients and a limit for clip_and_average, by name."""
    one = {"w": torch.tensor([[3.0, 4.0], [0.0, 1.0]])}
    two = {"a": torch.tensor([[3.0], [0.0]]), "b": torch.tensor([[4.0], [1.0]])}
    w1 = torch.arange(24.0, dtype=torch.float64).view(2, 3, 4)
    deep = {"w1": w1, "b1": torch.ones(2, 3).double()}
    kernel = {"kernel": torch.arange(24.0).view(2, 3, 2, 2, 1), "scale": torch.ones(2, 1)}
    three = {"w": torch.tensor([[3.0, 4], [0, 0], [0, 2]])}
    return {
        "(3, 4) and (0, 1), limit 1": (one, 1.0),
        "(3, 4) and (0, 1), limit 10": (one, 10.0),
        "two zeros, limit 1": ({"w": torch.zeros(2, 3)}, 1.0),
        "two weights, limit 1": (two, 1.0),
        "w1 (2, 3, 4) and b1 (2, 3) in float64, limit 3": (deep, 3.0),
        "a kernel (2, 3, 2, 2, 1) and a scale (2, 1), limit 3": (kernel, 3.0),
        "three weights, limit 1": (two | {"c": torch.tensor([[12.0], [0.0]])}, 1.0),
        "(3, 4) and (0, 1), limit 0.5": (one, 0.5),
        "gradients that require grad": ({"w": one["w"].clone().requires_grad_()}, 1.0),
        "(3, 4), (0, 0) and (0, 2), limit 1": (three, 1.0),
        "one sample, (1, 1, 2), limit 1, the key 7": ({7: one["w"][None, :1]}, 1.0),
        "w1 transposed, limit 3": ({"w1": w1.transpose(1, 2)}, 3.0),
        "w1 / 1e6, limit 1e-5": ({"w1": w1 / 1e6}, 1e-5),
        "w1 / 1e12, limit 1e-11": ({"w1": w1 / 1e12}, 1e-11),
        "a limit that is a whole number, 3": (deep, 3),
        "a norm just above the limit, in float64": ({"w": torch.tensor([[3.0002, 4]]).double()}, 5),
        "one number a sample, limit 1": ({"w": torch.tensor([[3.0], [0.5], [-2.0]])}, 1.0),
    }


@ends_in_notebook
def check_clip(clip_and_average, gradients, limit):
    """Check one clipped mean."""
    __tracebackhide__ = True
    gradients = {key: g.to(device) for key, g in gradients.items()}
    given = dict(gradients)
    with forbid_changes(*gradients.values()):
        answer = clip_and_average(given, limit)
    kept = [*map(id, given.values())] == [*map(id, gradients.values())]
    assert kept, "the dict of gradients was changed: leave it as it is"
    assert answer is not None, "clip_and_average gives None: is there an answer yet?"
    assert isinstance(answer, dict), f"it gives {type(answer).__name__}, expected a dict of tensors"
    assert sorted(answer) == sorted(gradients), f"the keys are {sorted(answer)}"

    def mean(key, factors):
        return torch.einsum("b,b...->...", factors.to(gradients[key].dtype), gradients[key]) / len(
            factors
        )

    norms = {key: g.flatten(1).norm(dim=1) for key, g in gradients.items()}
    total = torch.stack(list(norms.values())).norm(dim=0)
    added, most = sum(norms.values()), torch.stack([*norms.values()]).amax(0)
    whole = sum((mean(key, torch.ones_like(total)) ** 2).sum() for key in gradients).sqrt()
    for key in gradients:
        factors = torch.where(total > limit, limit / total, 1.0)
        truth, alone = mean(key, factors), torch.where(norms[key] > limit, limit / norms[key], 1.0)
        slips = {
            "clip each sample, then average: this clips the average": mean(
                key, torch.ones_like(total)
            )
            * (limit / whole).clamp(max=1),
            "short gradients are left alone, not stretched": mean(
                key, (limit / total).nan_to_num(0)
            ),
            "a sample's norm is over all its entries together": mean(key, alone),
            "norms don't add up: take the root of the sum of all squares": mean(
                key, torch.where(added > limit, limit / added, 1.0)
            ),
            "not the largest norm of an entry: one norm of all entries together": mean(
                key, torch.where(most > limit, limit / most, 1.0)
            ),
            "average over the samples: this is their sum": truth * len(total),
            "nothing was clipped": mean(key, torch.ones_like(total)),
            "each number was clipped by itself: scale the whole vector": gradients[key]
            .clamp(-limit, limit)
            .mean(0),
            "long samples are left out, not scaled down": mean(key, (total <= limit).float()),
            "a zero counts in the mean as well: divide by the number of all samples": truth
            * len(total)
            / total.count_nonzero().clamp(min=1),
        }
        for dim in (-2, -3):
            wide = gradients[key]
            if wide.dim() > -dim and wide.shape[dim] == len(total):
                words = f"the samples' factors meet dimension {dim}, not the first: give them as "
                off = wide * factors.view(-1, *[1] * (-1 - dim))
                slips[f"{words}many dimensions as the entry has"] = off.mean(0)
        padded, raised = ((limit / (total + 1e-6)), (limit / total.clamp(min=1e-6)))
        for factors in (padded.clamp(max=1), raised.clamp(max=1)):
            slip = mean(key, factors)
            if slip.dtype == torch.float64 and not torch.allclose(slip, truth, 1e-8, 0):
                words = "something was added to the norm, or it was cut off below: "
                assert not _near(answer[key], slip), f"{words}limit / norm, as it is"
        assert not torch.isnan(torch.as_tensor(answer[key])).any(), (
            f"{key} is NaN: the norm of a sample may be 0, and 0 / 0 is NaN"
        )
        small = min(1, limit)
        if limit < 1e-5 and isinstance(answer[key], torch.Tensor):
            few = answer[key].norm() < 0.99 * truth.norm()
            words = (
                "tiny gradients come out too small: was something added to the norm, or is there "
            )
            assert not few, f"{words}a least norm?"
        check_value(answer[key], truth, str(key), slips, 1e-4, 1e-6 * small)
        require_digits(answer[key], truth, str(key), atol=1e-12 * small)


def rows_of(by_vmap, weights, x, y):
    """The gradient of each sample as one long row (batch, numbers)."""
    rows = _each(weights, x, y)
    if agrees(lambda: by_vmap(weights, x, y), rows):
        rows = by_vmap(weights, x, y)
    return torch.cat([rows[key].flatten(1) for key in weights], dim=1)


def _clip_ours(gradients, limit):
    """The mean of the clipped gradients."""
    flat = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    factors = (limit / flat.norm(dim=1)).clamp(max=1)
    return {key: torch.einsum("b,b...->...", factors, g) / len(g) for key, g in gradients.items()}


def moons(count, wrong):
    """Points of two moons, their labels, of which some are wrong, and which these are."""
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(2, (count,), generator=generator)
    angle = torch.pi * torch.rand(count, generator=generator)
    x = torch.stack([angle.cos() + y - 0.5, (angle.sin() - 0.25) * (1 - 2 * y)], dim=1)
    x = x + 0.1 * torch.randn(count, 2, generator=generator)
    bad = torch.randperm(count, generator=generator)[:wrong]
    y[bad] = 1 - y[bad]
    shapes = {"w1": (16, 2), "b1": (16,), "w2": (2, 16)}
    weights = {key: 0.5 * torch.randn(size, generator=generator) for key, size in shapes.items()}
    return x, y, bad, weights


def train(by_vmap, clip_and_average, weights, x, y, steps=300, rate=2.0):
    """The weights after clipped steps, by the learner's functions where they are right."""
    each, clip = _each, _clip_ours
    ours = each(weights, x, y)
    if agrees(lambda: by_vmap(weights, x, y), ours):
        each = by_vmap
    if agrees(lambda: clip_and_average(ours, 1.0), _clip_ours(ours, 1.0)):
        clip = clip_and_average
    for _ in range(steps):
        mean = clip(each(weights, x, y), 1.0)
        weights = {key: weights[key] - rate * mean[key] for key in weights}
    return weights
