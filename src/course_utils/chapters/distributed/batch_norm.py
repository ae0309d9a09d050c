"""Exercise 17.10: batch norm over all ranks."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from course_utils.chapters.distributed.launches import check_ran, launched, left_out
from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_close
from course_utils.learner.other_states import check_states
from course_utils.learner.ranks import count_traffic, rank_device
from course_utils.learner.tracebacks import ends_in_notebook


def run_sync_bn(answer, world_size: int, cases: list) -> list | str:
    """For each rank and case: output, gradients by x, weight, bias, and the calls of each pass."""

    def work(rank, world_size):
        found = []
        for shards, upstream, weight, bias, eps in cases:
            epses = left_out(answer, "eps", 1e-5) if eps is None else [eps]
            print(f"shape {tuple(shards[rank].shape)}, {shards[rank].dtype}")
            x, w, b = (t.detach().to(rank_device()) for t in (shards[rank], weight, bias))
            inputs = [t.clone().requires_grad_() for t in (x, w, b)]
            with count_traffic() as forward:
                y = answer(*inputs, *epses)
            if not isinstance(y, torch.Tensor) or y.shape != x.shape:
                found.append((y, None, [], [], True))
                continue
            assert y.requires_grad, "the result can't be differentiated: it has no grad_fn"
            with count_traffic() as backward:
                loss = (y * upstream[rank].to(y)).sum()
                grads = torch.autograd.grad(loss, inputs, allow_unused=True)
            thawed, again = x.clone().requires_grad_(), None
            result, given = answer(thawed, w, b, *epses), upstream[rank].to(y).clone()
            if result.requires_grad:
                (again,) = torch.autograd.grad(result, thawed, given, allow_unused=True)
            each = [*grads, again]  # the last one where weight and bias are frozen
            grads = [None if g is None else g.cpu() for g in each]
            calls = [[c.name for c in t.calls if "wrap" not in c.name] for t in (forward, backward)]
            kept = all(map(torch.equal, (t.detach() for t in inputs), (x, w, b)))
            kept = kept and (torch.equal(given, upstream[rank].to(y)) or "backward")
            later = other_gradients(answer, (x, w, b), epses, upstream[rank].to(y))
            found.append((y.detach().cpu(), [*grads, *later], *calls, kept))
        if world_size == 3:
            inputs = (t.detach().double() for t in (x, w, b))
            check_states(answer, *inputs, *epses, what="sync_bn(x, weight, bias, eps)")
        return found

    return launched(work, world_size)


def other_gradients(answer, tensors, epses, upstream):
    """By x where another forward comes before backward; by weight and bias where x needs none.

    Then by weight alone and by bias alone, outputs where nothing is recorded, by x where the
    gradient that comes in has a NaN, and by x when one graph goes back once more.
    """
    x, w, b = (t.clone().requires_grad_() for t in tensors)
    other = 2 * torch.cat([x.detach()] * 2)[..., None] - 1  # of another count and dimension
    first, _ = answer(x, w, b, *epses), answer(other, w, b, *epses)
    loss, by_x = (first * upstream).sum(), []
    for time in range(2):
        try:
            by_x += torch.autograd.grad(loss, x, allow_unused=True, retain_graph=not time)
        except Exception:  # what backward kept is of the other batch
            by_x.append(None)
    crossed, twice = by_x
    loss, alone = (answer(x.detach(), w, b, *epses) * upstream).sum(), (None, None)
    if loss.requires_grad:
        alone = torch.autograd.grad(loss, (w, b), allow_unused=True)
    own = []
    for place in (1, 2):  # weight alone, or bias alone
        inputs = [t.clone() for t in tensors]
        inputs[place].requires_grad_()
        loss = (answer(*inputs, *epses) * upstream).sum()
        found = [None]
        if loss.requires_grad:
            found = torch.autograd.grad(loss, inputs[place], allow_unused=True)
        own += found
    with torch.no_grad():
        outputs = [answer(x, w, b, *epses), answer(*tensors, *epses)]
    outputs.append(answer(*tensors, *epses))
    broken = upstream.clone()
    broken[0, 0] = torch.nan
    (hidden,) = torch.autograd.grad((answer(x, w, b, *epses) * broken).sum(), x, allow_unused=True)
    rest = [*own, *(y.detach() for y in outputs), hidden, twice]
    return [None if g is None else g.cpu() for g in (crossed, *alone, *rest)]


def normalised(x, weight, bias, eps):
    return F.batch_norm(x, None, None, weight, bias, training=True, eps=eps)


@ends_in_notebook
def check_sync_bn(try_sync_bn, world_size, cases):
    found = try_sync_bn(world_size, cases)
    hint = "x may have no positions, (batch, channel), or several dimensions of them."
    check_ran(found, world_size, "sync_bn", [("Dimension out of range", hint)])
    with every_case() as case:
        for number, (shards, upstream, weight, bias, eps) in enumerate(cases):
            said, eps = ("left out" if eps is None else f"{eps:g}"), eps or 1e-5
            x = torch.cat(shards).double().contiguous().requires_grad_()
            w, b = (t.double().requires_grad_() for t in (weight, bias))
            y = normalised(x, w, b, eps)
            g = torch.cat(upstream).double()
            (grad_x,) = torch.autograd.grad((y * g).sum(), x, retain_graph=True)
            sizes = [len(shard) for shard in shards]
            kind = shards[0].dtype
            loose = dict.fromkeys(("rtol", "atol"), 1e-2 if kind == torch.float32 else 1e-10)
            for rank, (part, part_grad) in enumerate(
                zip(y.split(sizes), grad_x.split(sizes), strict=True)
            ):
                result, grads, forward, backward, kept = found[rank][number]
                strides = "" if shards[rank].is_contiguous() else ", not contiguous"
                name = f"samples {sizes}, {kind}{strides}, eps {said}, rank {rank}"
                with case(f"{name}, output"):
                    alone = (
                        normalised(shards[rank].double(), w, b, eps)
                        if shards[rank][:, 0].numel() > 1
                        else part
                    )
                    own = (w.detach(), b.detach(), eps)
                    check_no_nan(result, shards)
                    check_bn_slips(result, shards, rank, *own, part, loose)
                    assert said != "left out" or near(result, part.detach().to(kind), loose), (
                        "the output is another one where eps is left out: it is 1e-5 then, as the "
                        "first line of the function says"
                    )
                    check_normalised(result, part.detach().to(kind), alone.detach(), loose)
                    assert kept, "x, weight or bias was changed: work on copies"
                    assert kept != "backward", (
                        "backward changed the gradient that came in, in place: it is the caller's"
                    )
                    assert len(forward) == 1, (
                        f"{len(forward)} collective calls in forward ({forward}), not 1: put "
                        "the numbers side by side into one tensor"
                    )
                shaped = grads is not None and result.dtype == kind
                if not shaped or not near(result, part.detach().to(kind), loose):
                    continue  # the gradients of another output say nothing
                with case(f"{name}, gradients"):
                    rows = slice(sum(sizes[:rank]), sum(sizes[: rank + 1]))
                    own = torch.autograd.grad((part * g[rows]).sum(), (w, b), retain_graph=True)
                    whole = torch.autograd.grad((y * g).sum(), (w, b), retain_graph=True)
                    check_grad_slips(
                        grads, (x, w, b, g, eps), rows, part_grad, own, whole, world_size, loose
                    )
                    check_sync_grads(
                        grads, result, part_grad.to(kind), [o.to(kind) for o in own], loose
                    )
                    assert len(backward) == 1, (
                        f"{len(backward)} collective calls in backward ({backward}), not 1: put "
                        "the numbers side by side into one tensor"
                    )


def near(result, right, loose):
    return torch.allclose(result, right, loose["rtol"], loose["atol"])


def check_no_nan(result, shards):
    if not isinstance(result, torch.Tensor) or not result.isnan().any():
        return
    single = [rank for rank, shard in enumerate(shards) if shard[:, 0].numel() == 1]
    assert not single, (
        f"NaN: rank {single[0]} has a single value for each channel, and var() and std() divide by "
        "its count less 1, which is 0: add up squared deviations, or take correction=0"
    )
    raise AssertionError("NaN: a variance below zero? The difference of two large numbers cancels")


def check_bn_slips(result, shards, rank, weight, bias, eps, right, loose):
    """What comes out when the ranks' means and variances are merged in ways that are often seen."""
    if not isinstance(result, torch.Tensor) or result.shape != right.shape:
        return
    if torch.allclose(result.double(), right, **loose):
        return
    flat = [x.double().movedim(1, 0).flatten(1) for x in shards]
    counts = torch.tensor([[x.shape[1]] for x in flat], dtype=torch.float64)
    means = torch.stack([x.mean(1) for x in flat])
    squares = torch.stack([x.var(1, correction=0) for x in flat])
    shares, equal = counts / counts.sum(), torch.full_like(counts, 1 / len(shards))
    true, plain = (shares * means).sum(0), means.mean(0)
    misses = "that is the average of the ranks' variances: it misses that their means differ"
    weights = "that weights all ranks alike: one with more samples counts for more"
    slips = [(true, (shares * squares).sum(0), misses), (plain, squares.mean(0), misses)]
    slips += [(true, squares.mean(0), misses), (plain, (shares * squares).sum(0), misses)]
    spread = (shares * (squares + (means - true) ** 2)).sum(0)
    slips += [
        (true, spread - eps + other, "eps is an argument: it was taken for 1e-5, or left out")
        for other in (1e-5, 0)
    ]
    n = counts.sum()
    whole = (shares * (squares + (means - true) ** 2)).sum(0)
    unbiased = "that divides by N - 1: the biased variance divides by N"
    slips += [(true, whole * n / (n - 1), unbiased)] if n > 1 else []
    every = counts[rank] * len(shards)
    mean = (counts * means).sum(0) / every
    spread = (counts * (squares + (means - mean) ** 2)).sum(0) / every
    slips += [(mean, spread, "N adds up the counts of all ranks, which differ from this rank's")]
    positions = flat[0].shape[1] // len(shards[0])
    uncounted = "N counts samples alone: with positions each sample gives several values a channel"
    spread = (shares * (positions * squares + (means - true) ** 2)).sum(0)
    slips += [(true, spread, uncounted)] if positions > 1 else []
    outside = "eps was added to the deviation: add it to the variance, under the root"
    slips += [(true, (whole.sqrt() + eps) ** 2 - eps, outside)]
    for mean in (plain, true):
        spread = squares + (means - mean) ** 2
        slips += [(mean, (part * spread).sum(0), weights) for part in (equal, shares)]
    x = shards[rank].double().movedim(1, -1)
    y = (((x - true) * (whole + eps).rsqrt() + bias) * weight).movedim(-1, 1)
    assert not torch.allclose(result.double(), y, **loose), (
        "the output: multiply by weight first, then add bias"
    )
    hat = (x - true) * (whole + eps).rsqrt()
    for other, words in (
        (hat * weight, "bias is missing in it"),
        (hat + bias, "it was not multiplied by weight"),
        (hat, "it is normalised, and weight and bias are missing in it"),
    ):
        slip = other.movedim(-1, 1)
        same = torch.allclose(result.double(), slip, **loose)
        assert not same or torch.allclose(slip, right, **loose), f"the output: {words}"
    for mean, square, words in slips:
        y = ((x - mean) * (square + eps).rsqrt() * weight + bias).movedim(-1, 1)
        if torch.allclose(result.double(), y, **loose) and not torch.allclose(y, right, **loose):
            raise AssertionError(f"the output: {words}")
    assert whole.min() > 1e-3, (
        "the output is off where the variance is small: add eps to it, and give it no other limit"
    )
    if shards[0].dtype == torch.float32 and abs(float(true.mean())) > 100:
        raise AssertionError(
            "the output is far off in float32, where the mean is 1000 times the deviation: a "
            "difference of large numbers cancels; take deviations from a mean first, then merge"
        )


def check_normalised(result, right, alone, loose):
    if isinstance(result, torch.Tensor) and result.shape == right.shape:
        if torch.allclose(result.double(), alone, **loose) and not torch.allclose(
            alone.to(right), right, **loose
        ):
            raise AssertionError(
                "normalised by this rank's own statistics, not by those of all ranks"
            )
        seven = right.dtype == result.dtype == torch.float64
        if seven and not torch.allclose(result, right, **loose):
            assert not torch.allclose(result, right, 1e-5, 1e-5), (
                "the output is right to a few digits only: x is float64, and on the way it was "
                "rounded to float32"
            )
    check_close(result, right, "the output", **loose)


def check_sync_grads(grads, result, grad_x, own, loose):
    for got, right, name in zip(grads[:3], [grad_x, *own], ("x", "weight", "bias"), strict=True):
        assert got is not None, f"no gradient comes back for {name}"
        assert not got.isnan().any() or right.isnan().any(), (
            f"the gradient by {name} has a NaN: a weight may be 0, so x̂ can't be had by dividing "
            "the output; keep it"
        )
        why = "" if name == "x" else ", of this rank's own samples"
        check_close(got, right, f"the gradient by {name}{why}", **loose)
    assert grads[3] is not None, (
        "no gradient comes back for x where weight and bias don't require grad: x still does"
    )
    assert torch.allclose(grads[3], grads[0], **loose), (
        "the gradient by x is another one where weight and bias don't require grad: the two sums "
        "are needed there as well"
    )
    same = grads[4] is not None and torch.allclose(grads[4], grads[0], **loose)
    assert same, (
        "the gradient by x is another one where a second batch goes forward before this one goes "
        "back, as with two such layers: keep what backward needs in ctx"
    )
    same = grads[13] is not None and torch.allclose(grads[13], grads[4], **loose)
    assert same, (
        "the gradient by x is another one when backward runs through the same graph once more: "
        "leave what ctx holds as it is"
    )
    for place, got in enumerate(grads[5:9]):
        same = got is not None and torch.allclose(got, own[place % 2], **loose)
        name = ("weight", "bias")[place % 2]
        frozen = "x needs no gradient" if place < 2 else f"{name} alone needs a gradient"
        assert same, f"where {frozen}, the gradient by {name} is missing, or another one"
    for got in grads[9:12]:
        assert near(got, result, loose), (
            "the output is another one under torch.no_grad(), or where no argument requires grad: "
            "the statistics are those of all ranks there as well"
        )
    hidden = grads[12] is None or not grads[12][:, 0].isnan().all()
    assert not hidden, (
        "a NaN in the gradient that comes in is hidden: it belongs in the gradient by x"
    )


def check_grad_slips(grads, inputs, rows, right, own, of_all, world_size, loose):
    """What comes out when backward's sums are taken in ways that are often seen."""
    x, weight, bias, upstream, eps = (
        t.detach() if isinstance(t, torch.Tensor) else t for t in inputs
    )
    dims, shape = [d for d in range(x.dim()) if d != 1], [1, -1] + [1] * (x.dim() - 2)
    mean, variance = (t.view(shape) for t in (x.mean(dims), x.var(dims, correction=0)))
    hat, sigma = (x - mean) / (variance + eps).sqrt(), (variance + eps).sqrt()
    g = upstream * weight.view(shape)

    def by_formula(sums, over, count=None, hat=hat):
        parts = [t[over] for t in (sums, sums * hat)]
        count = count or parts[0][:, 0].numel()
        first, second = (part.sum(dims).view(shape) / count for part in parts)
        return ((g - first - hat * second) / sigma)[rows]

    ours = x[rows][:, 0].numel()
    first, second = (t.mean(dims).view(shape) for t in (g, g * hat))
    uncounted = "N is the number of values of all ranks, and each rank has another count"
    slips = {
        "weight is missing in it": (right / weight.view(shape)),
        "the factor 1 / σ is missing": (right * sigma),
        "mean and variance were taken for constants: both sums of the formula are missing": (
            (g / sigma)[rows]
        ),
        "the mean was taken for a constant: the sum of g is missing": (
            ((g - hat * second) / sigma)[rows]
        ),
        "the variance was taken for a constant: the sum of g x̂ is missing": (
            ((g - first) / sigma)[rows]
        ),
        f"{uncounted}; this rank's alone was taken": by_formula(g, slice(None), ours),
        f"{uncounted}; this rank's was taken for every rank's": (
            by_formula(g, slice(None), ours * world_size)
        ),
        "the sums in backward go over all ranks, and only this rank's samples are in them": (
            by_formula(g, rows, x[:, 0].numel())
        ),
        "the sums in backward go over all ranks; this is autograd of this rank's own mean": (
            by_formula(g, rows)
        ),
        "in the two sums the incoming gradient was not multiplied by weight": by_formula(
            upstream, slice(None)
        ),
        "the output is in x̂'s place: was x̂ changed in place after it was saved?": by_formula(
            g, slice(None), hat=hat * weight.view(shape) + bias.view(shape)
        ),
    }
    for words, slip in slips.items():
        same = grads[0] is not None and torch.allclose(grads[0].double(), slip, **loose)
        assert not same or torch.allclose(slip, right, **loose), f"the gradient by x: {words}"
    turned = [got is not None and torch.allclose(got.double(), mine, **loose)
              for got, mine in zip(grads[1:3], own[::-1], strict=True)]  # fmt: skip
    assert not all(turned) or torch.allclose(own[0], own[1], **loose), (
        "the gradients by weight and bias have changed places: weight's is the sum of g x̂"
    )
    for got, mine, whole, name in zip(grads[1:], own, of_all, ("weight", "bias"), strict=False):
        same = got is not None and torch.allclose(got.double(), whole, **loose)
        assert not same or torch.allclose(whole, mine, **loose), (
            f"the gradient by {name} is the sum over all ranks: return this rank's own, DDP "
            "averages them"
        )


def bn_case(sizes, channels, places=(), dtype=torch.float64, mean=0.0, seed=0, eps=1e-5):
    """Shards whose means differ, upstream gradients, weight, bias and eps.

    Without places, and with three, memory holds the dimensions in reverse; with two, the channels
    last.
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    shards = [mean + rank + draw(n, channels, *places) for rank, n in enumerate(sizes)]
    if len(places) == 2:
        shards = [shard.contiguous(memory_format=torch.channels_last) for shard in shards]
    upstream = [draw(n, channels, *places) for n in sizes]
    if len(places) in (0, 3):
        shards, upstream = ([t.mT.contiguous().mT for t in part] for part in (shards, upstream))
    weight = 1 + draw(channels) / 4
    weight[1::2] *= -1
    return shards, upstream, weight, draw(channels), eps
